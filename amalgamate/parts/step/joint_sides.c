/* step/joint_sides: what the rows of joints are made of. */
#include "private.h"

/* 3 / tr(J M^-1 J') of terms on rigid bodies. */
static csim_real csimi_terms_mass(const csimi_state *s, int n, const int *block, const csim_real *J) {
    csim_real trace = 0, JI[9];
    int i, k;
    for (i = 0; i < n; i++, J += 9) {
        const int rigid = (block[i] - s->node_count) / 2;
        if (s->rigid_mode[rigid] != CSIMI_FREE) continue;
        if ((block[i] - s->node_count) % 2 == 0) {
            for (k = 0; k < 9; k++) trace += J[k] * J[k] / s->rigid_mass[rigid];
            continue;
        }
        csimi_matmul(J, s->rigid_inverse + 9 * (size_t)rigid, JI);
        for (k = 0; k < 9; k++) trace += JI[k] * J[k];
    }
    return trace > 0 ? 3 / trace : 0;
}

/* Side of a row from terms on rigid bodies; sign -1 for the second side. */
CSIMI_FN void csimi_joint_side(csimi_step_frame *f, const csimi_state *s, csim_contact *c, int second, int n,
                             const int *block, const csim_real *J) {
    csim_real moved[3];
    const csim_side side = csimi_terms_side(f, n, block, J, moved);
    int k;
    if (second)
        c->b = side;
    else
        c->a = side;
    c->mass[second] = csimi_terms_mass(s, n, block, J) / f->theta;
    for (k = 0; k < 3; k++) moved[k] = second ? -moved[k] : moved[k];
    csimi_addmul3(c->R, moved, c->phi);
}

/* The point that goes the way of an end: R+ r - R r = theta x (sin(t/2) / (t/2) Rm r) for turns theta, t = |theta|,
   Rm half of it. At the start of a step the point itself. */
CSIMI_FN csim_vec3 csimi_joint_way(const csimi_step_frame *f, const csimi_state *s, const csimi_place *p,
                                 csim_vec3 point) {
    csim_vec3 com, turn;
    csim_real half;
    if (p->kind != CSIMI_PLACE_RIGID || s != &f->next) return point;
    com = csimi_load3(s->com + 3 * (size_t)p->item);
    turn = csimi_load3(f->v + 3 * ((size_t)s->node_count + 2 * (size_t)p->item + 1));
    half = f->h * csim_length(turn) / 2;
    return half > 0 ? csim_madd(com, CSIMI_SIN(half) / half, csim_sub(point, com)) : point;
}

/* scale^2 = tr(sum of 1/m) / tr(sum of I^-1): a turn of the bodies moves as much mass as a push. */
CSIMI_FN csim_real csimi_turn_scale(const csimi_state *s, const csimi_place *a, const csimi_place *b) {
    csim_real push = 0, turn = 0;
    int end;
    for (end = 0; end < 2; end++) {
        const csimi_place *p = end ? b : a;
        const int k = p->item;
        if (p->kind != CSIMI_PLACE_RIGID || s->rigid_mode[k] != CSIMI_FREE) continue;
        push += 3 / s->rigid_mass[k];
        turn +=
            s->rigid_inverse[9 * (size_t)k] + s->rigid_inverse[9 * (size_t)k + 4] + s->rigid_inverse[9 * (size_t)k + 8];
    }
    return turn > 0 ? CSIMI_SQRT(push / turn) : 1;
}

/* R J v + phi of a row at the velocities of the frame. */
CSIMI_FN void csimi_joint_row_velocity(const csimi_step_frame *f, const csim_contact *c, csim_real *u) {
    csim_real sum[3] = {0, 0, 0}, y[3];
    int side, k, i;
    for (side = 0; side < 2; side++) {
        const csim_side *x = side ? &c->b : &c->a;
        for (k = x->first; k < x->first + x->count; k++) {
            csimi_mul3(f->terms[k].J, f->v + 3 * (size_t)f->terms[k].block, y);
            for (i = 0; i < 3; i++) sum[i] += side ? -y[i] : y[i];
        }
    }
    for (i = 0; i < 3; i++) u[i] = c->phi[i];
    csimi_addmul3(c->R, sum, u);
}
