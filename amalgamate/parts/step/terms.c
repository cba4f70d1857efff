/* step/terms: what rows of all kinds are made of: terms of both sides, and phi of a gap. */
#include "private.h"

/* ---- sides */

/* n terms, appended to the frame as one side; what is not an unknown goes with its velocity into moved. */
CSIMI_FN csim_side csimi_terms_side(csimi_step_frame *f, int n, const int *block, const csim_real *J,
                                    csim_real *moved) {
    csim_term *t = f->terms + f->term_count;
    csim_side side;
    int k, count = 0;
    moved[0] = moved[1] = moved[2] = 0;
    for (k = 0; k < n; k++) {
        if (f->skip[block[k]]) {
            csimi_addmul3(J + 9 * k, f->v + 3 * block[k], moved);
            continue;
        }
        t->block = block[k];
        CSIMI_MEMCPY(t->J, J + 9 * k, sizeof t->J);
        t++, count++;
    }
    side.first = f->term_count;
    side.count = count;
    f->term_count += count;
    return side;
}

/* Whether a place is on a rigid body that is given and stands: no terms, and nothing moves. */
static bool csimi_stands(const csimi_step_frame *f, const csimi_state *s, const csimi_place *p) {
    if (p->kind != CSIMI_PLACE_RIGID || s->rigid_mode[p->item] == CSIMI_FREE) return false;
    return !csimi_any(f->v + 3 * ((size_t)s->node_count + 2 * (size_t)p->item), 6);
}

/* The terms of a place. */
static csim_side csimi_side_of(csimi_step_frame *f, const csimi_state *s, const csimi_place *p, csim_vec3 point,
                               csim_real *mass, csim_real *moved) {
    csim_real J[9 * CSIMI_PLACE_TERMS];
    int block[CSIMI_PLACE_TERMS], n;
    *mass = 0;
    /* terms of what stands would be worked out only to be dropped */
    if (csimi_stands(f, s, p)) return csimi_terms_side(f, 0, NULL, NULL, moved);
    n = csimi_place_terms(s, p, point, block, J);
    *mass = p->kind == CSIMI_PLACE_NODE ? 0 : csimi_place_mass(s, p, J) / f->theta; /* of a node: from A */
    return csimi_terms_side(f, n, block, J, moved);
}

/* Both sides of a row; phi += R (the velocity of what is given). */
CSIMI_FN void csimi_sides(csimi_step_frame *f, const csimi_state *s, const csimi_place *a, csim_vec3 point_a,
                          const csimi_place *b, csim_vec3 point_b, csim_contact *c) {
    csim_real moved_a[3], moved_b[3];
    int k;
    c->a = csimi_side_of(f, s, a, point_a, c->mass, moved_a);
    c->b = csimi_side_of(f, s, b, point_b, c->mass + 1, moved_b);
    for (k = 0; k < 3; k++) moved_a[k] -= moved_b[k];
    csimi_addmul3(c->R, moved_a, c->phi);
}

/* ---- phi. A gap may close and not cross, gap / h; an overlap loses the share `stabilization` a step (Anitescu). An
   approach that ends in this step comes back with e: u_n = -e u_n- at backward Euler, and where u_n is the mean of both
   ends, as in midpoint worlds, u_n = (1 - e) / 2 u_n-, in place of the gap, never beside it. */

static csim_real csimi_gap_velocity(const csim_world_def *def, csim_real gap, csim_real h) {
    csim_real deep;
    if (gap >= 0) return gap / h;
    deep = csimi_min(gap + def->slop, 0);
    /* slop is left, and the push is no faster than push_out_speed, or what was deep would be thrown */
    return csimi_max(def->stabilization * deep / h, -def->push_out_speed);
}

CSIMI_FN csim_real csimi_phi(const csim_world *w, const csimi_step_frame *f, csim_real gap, csim_real restitution,
                             csim_real approach, csim_real free_end) {
    const csim_world_def *def = &w->def;
    csim_real phi = csimi_gap_velocity(def, gap, f->h), e = approach < -def->restitution_threshold ? restitution : 0;
    /* these solvers have their own use for gaps: no share, no speed limit, no bounce */
    if (csimi_solver_gaps(def->solver.solver)) return gap / f->h;
    if (def->integrator == CSIM_BACKWARD_EULER)
        /* the faster of push out and bounce, not the sum */
        return e > 0 && gap + f->h * approach < 0 ? csimi_min(phi, e * approach) : phi;
    if (def->integrator == CSIM_TWO_STEP) /* every bounce that gravity brings about in this step, too */
        return e > 0 && gap + f->h * csimi_min(approach, free_end) < 0 ? csimi_min(phi, e * approach) : phi;
    /* an impact is stopped at e = 0 too: at the midpoint phi = 0 would be e = 1 */
    if (approach < 0 && gap + f->h * (3 - e) / 2 * csimi_min(approach, free_end) < 0) return -(1 - e) / 2 * approach;
    return phi;
}

static csim_vec3 csimi_side_velocity(const csimi_step_frame *f, csim_side side, const csim_real *v) {
    csim_real u[3] = {0, 0, 0};
    int k;
    for (k = side.first; k < side.first + side.count; k++)
        csimi_addmul3(f->terms[k].J, v + 3 * (size_t)f->terms[k].block, u);
    return csimi_load3(u);
}

/* J v of the terms of a row, of side a less that of b; given motions have no terms: they are in phi. */
CSIMI_FN csim_vec3 csimi_sides_velocity(const csimi_step_frame *f, const csim_contact *c, const csim_real *v) {
    return csim_sub(csimi_side_velocity(f, c->a, v), csimi_side_velocity(f, c->b, v));
}

/* u += R J v of the terms of a row, at the velocities v_k of the start of the step. */
CSIMI_FN void csimi_row_velocity(const csimi_step_frame *f, const csim_contact *c, csim_real *u) {
    csim_real relative[3];
    csimi_store3(relative, csimi_sides_velocity(f, c, f->vk));
    csimi_addmul3(c->R, relative, u);
}

/* Half-step: friction opposes v_{k+1} = 2 v - v_k, thesis (4.51). The tangential rows carry half of it, v - v_k / 2:
   with the same lambda the law is the same. phi holds -u of the ground. */
CSIMI_FN void csimi_slip_of_the_end(const csimi_step_frame *f, csim_contact *c, int first) {
    csim_real u[3] = {0, 0, 0};
    int k;
    csimi_row_velocity(f, c, u);
    for (k = first; k < first + 2; k++) c->phi[k] = (c->phi[k] - u[k]) / 2;
}
