/* step/joint_sides: what the rows of joints are made of. */
#include "private.h"

/* 3 / tr(J M^-1 J') of terms on rigid bodies; 0: from A. */
static csim_real csimi_terms_mass(const csimi_state *s, int n, const int *block, const csim_real *J) {
    csim_real trace = 0, JI[9]; /* of J M^-1 J', 1/kg */
    int i, k;
    for (i = 0; i < n; i++, J += 9) {
        const int rigid = (block[i] - s->node_count) / 2;
        if (block[i] >= csimi_first_frame_block(s)) return 0; /* of trees: from A */
        if (s->rigid_mode[rigid] != CSIMI_FREE) continue;
        if ((block[i] - s->node_count) % 2 == 0) { /* the first of a body's two blocks is its place */
            for (k = 0; k < 9; k++) trace += J[k] * J[k] / s->rigid_mass[rigid];
            continue;
        }
        csimi_matmul(J, s->rigid_inverse + 9 * (size_t)rigid, JI);
        for (k = 0; k < 9; k++) trace += JI[k] * J[k];
    }
    return trace > 0 ? 3 / trace : 0;
}

/* Side of a row from terms on rigid bodies or links; sign -1 for the second side. */
static void csimi_joint_side(csimi_step_frame *f, const csimi_state *s, csim_contact *c, int second, int n,
                             const int *block, const csim_real *J) {
    csim_real moved[3];
    const csim_side side = csimi_terms_side(f, n, block, J, moved);
    int k;
    if (second)
        c->b = side;
    else
        c->a = side;
    /* A holds M / theta */
    c->mass[second] = csimi_terms_mass(s, n, block, J) / f->theta;
    for (k = 0; k < 3; k++) moved[k] = second ? -moved[k] : moved[k]; /* u = R (side a - side b) + phi */
    csimi_addmul3(c->R, moved, c->phi);
}

/* How fast what a place is on turns, times D (3x3, of a rigid body or a link), as terms; returns how many. A link's
   points move linearly with where they are: those a metre along x and y tell how it turns. */
static CSIMI_NOINLINE int csimi_turn_terms(const csimi_state *s, const csimi_place *p, const csim_real *D, int *block,
                                           csim_real *J) {
    csim_real base[9 * CSIMI_PLACE_TERMS], off[9 * CSIMI_PLACE_TERMS], W[9];
    csim_vec3 at;
    int n, i, k, axis;
    if (p->kind == CSIMI_PLACE_RIGID) {
        block[0] = s->node_count + 2 * p->item + 1;
        CSIMI_MEMCPY(J, D, 9 * sizeof *J);
        return 1;
    }
    if (p->kind != CSIMI_PLACE_LINK) return 0; /* the world does not turn */
    at = csimi_place_point(s, p);              /* any point of the link would do: differences alone count */
    n = csimi_place_terms(s, p, at, block, base);
    for (axis = 0; axis < 2; axis++) {
        csimi_place_terms(s, p, csim_add(at, csim_v3(axis == 0, axis == 1, 0)), block, off);
        for (i = 0; i < n; i++)
            for (k = 0; k < 3; k++) { /* w x e_x = (0, w_z, -w_y), w x e_y = (-w_z, 0, w_x) */
                /* w_x from the point along y; w_y and w_z from that along x */
                if (axis == 1) {
                    J[9 * i + k] = off[9 * i + 6 + k] - base[9 * i + 6 + k];
                    continue;
                }
                J[9 * i + 3 + k] = base[9 * i + 6 + k] - off[9 * i + 6 + k];
                J[9 * i + 6 + k] = off[9 * i + 3 + k] - base[9 * i + 3 + k];
            }
    }
    for (i = 0; i < n; i++) {
        csimi_matmul(D, J + 9 * i, W);
        CSIMI_MEMCPY(J + 9 * i, W, sizeof W);
    }
    return n;
}

/* Rate of the coordinate of a hinge or slider as terms of one row each, times factor; returns how many. */
static CSIMI_NOINLINE int csimi_coordinate_terms(const csimi_state *s, const csimi_joint *j, csim_real factor,
                                                 int *block, csim_real *J) {
    const csimi_joint_pose p = csimi_joint_at(s, j);
    const csim_vec3 axis = csim_scale(factor, csim_rotate(p.base, csim_v3(1, 0, 0))); /* of b, as of the coordinate */
    csim_real D[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, W[9];
    int end, n = 0, k, count;
    for (end = 0; end < 2; end++) {
        const csim_vec3 e = csim_scale(end ? -1 : 1, axis);
        const csimi_place *at = j->end + end;
        csimi_store3(D, e); /* first row of D: J has the rate in its first row */
        if (j->kind == CSIM_JOINT_HINGE) {
            n += csimi_turn_terms(s, at, D, block + n, J + 9 * n);
        } else if (at->kind == CSIMI_PLACE_RIGID) {
            CSIMI_MEMSET(J + 9 * n, 0, 18 * sizeof *J);
            block[n] = s->node_count + 2 * at->item;
            csimi_store3(J + 9 * n++, e);
            block[n] = s->node_count + 2 * at->item + 1;
            /* at the point of a on both bodies, as a slider's own row is: e . (w x r) = (r x e) . w */
            csimi_store3(J + 9 * n++, csim_cross(csim_sub(p.a, csimi_load3(s->com + 3 * (size_t)at->item)), e));
        } else if (at->kind == CSIMI_PLACE_LINK) {
            count = csimi_place_terms(s, at, p.a, block + n, J + 9 * n);
            for (k = n; k < n + count; k++) {
                csimi_matmul(D, J + 9 * k, W);
                CSIMI_MEMCPY(J + 9 * k, W, sizeof W);
            }
            n += count;
        }
    }
    return n;
}

/* End k of a gear: the coordinate of a joint, or that of the joint of a tree that a link hangs on. */
CSIMI_FN void csimi_gear_side(csim_world *w, csimi_step_frame *f, const csimi_state *s, const csimi_joint *j, int k,
                              csim_contact *c) {
    const csim_real factor = k ? j->scale * j->ratio : j->scale; /* first - ratio second, in metres */
    const csimi_joint *other = csimi_geared(w, j, k);
    csim_real J[9 * 2 * CSIMI_PLACE_TERMS];
    int block[2 * CSIMI_PLACE_TERMS], n = 1;
    if (other) {
        n = csimi_coordinate_terms(s, other, factor, block, J);
    } else {
        const csimi_tree_link *link = s->tree_link + j->end[k].item;
        CSIMI_MEMSET(J, 0, 9 * sizeof *J);
        block[0] = csimi_first_coord_block(s) + s->tree[link->tree].first_block + link->coord / 3;
        J[link->coord % 3] = factor; /* coordinates are packed by threes */
    }
    csimi_joint_side(f, s, c, k, n, block, J);
}

CSIMI_FN void csimi_turn_side(csimi_step_frame *f, const csimi_state *s, const csimi_place *p, const csim_real *D,
                              csim_contact *c, int second) {
    csim_real J[9 * CSIMI_PLACE_TERMS];
    int block[CSIMI_PLACE_TERMS];
    const int n = csimi_turn_terms(s, p, D, block, J);
    csimi_joint_side(f, s, c, second, n, block, J);
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
    half = f->h * csim_length(turn) / 2; /* rad, t/2 */
    return half > 0 ? csim_madd(com, CSIMI_SIN(half) / half, csim_sub(point, com)) : point;
}

CSIMI_FN bool csimi_link_weighs(const csimi_state *s, const csimi_place *p) {
    const csimi_tree_link *l = s->tree_link + p->item;
    return p->kind == CSIMI_PLACE_LINK && s->tree[l->tree].mode == CSIMI_FREE && l->mass > 0 &&
           l->inertia[0] + l->inertia[3] + l->inertia[5] > 0;
}

/* scale^2 = tr(sum of 1/m) / tr(sum of I^-1): a turn of the bodies moves as much mass as a push. */
CSIMI_FN csim_real csimi_turn_scale(const csimi_state *s, const csimi_place *a, const csimi_place *b) {
    csim_real push = 0, turn = 0;
    int end;
    for (end = 0; end < 2; end++) {
        const csimi_place *p = end ? b : a;
        const int k = p->item;
        if (csimi_link_weighs(s, p)) { /* the link by itself */
            const csimi_tree_link *l = s->tree_link + k;
            push += 3 / l->mass;                                         /* what hangs on the link is left out */
            turn += 9 / (l->inertia[0] + l->inertia[3] + l->inertia[5]); /* 3 / mean moment: tr I^-1 of a round one */
        }
        if (p->kind != CSIMI_PLACE_RIGID || s->rigid_mode[k] != CSIMI_FREE) continue;
        push += 3 / s->rigid_mass[k];
        turn +=
            s->rigid_inverse[9 * (size_t)k] + s->rigid_inverse[9 * (size_t)k + 4] + s->rigid_inverse[9 * (size_t)k + 8];
    }
    return turn > 0 ? CSIMI_SQRT(push / turn) : 1; /* m, near the radius of gyration; nothing turns: any */
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
