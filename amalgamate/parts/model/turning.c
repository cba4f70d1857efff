/* model/turning: what fast trees gain by turning, taken away. The bias of a tree is worked out at the start of a step:
   where a link turns by a good part of a radian in it, the rates it leads to carry more energy at the positions that
   they lead to, and the next bias is larger still. Such trees get rates that

       keep momentum    P and L about the centre of mass are those before plus the impulses of the step, L where
                        there is energy for it,
       gain nothing     kinetic energy after <= kinetic energy before + max(0, u.w), w the impulses but for the bias.

   Rates are the motion as one rigid body (locked) with the same momentum, and the rest, which has none: the two share
   no energy, so that the rest alone is made smaller. Trees that hang on the world keep no momentum: all is the rest. */
#include "private.h"

typedef struct csimi_flight {
    double kinetic, locked;  /* J: of the tree, and of the same momentum as one rigid body */
    csim_real m;
    csim_vec3 centre;        /* of mass, from the origin of the first link */
    csim_vec3 P, L, spin;    /* momentum, about the centre; spin of the rigid body */
    csim_real inverse[9];    /* of its inertia about the centre */
} csimi_flight;

static bool csimi_floats(const csimi_state *s, const csimi_tree *tree) {
    return s->tree_link[tree->first_link].joint == CSIM_TREE_FLOATING;
}

/* Spin and energy of the momentum as one rigid body. */
static void csimi_flight_lock(csimi_flight *f) {
    csim_real L[3], spin[3];
    csimi_store3(L, f->L);
    csimi_mul3(f->inverse, L, spin);
    f->spin = csimi_load3(spin);
    f->locked = (double)(csim_dot(f->P, f->P) / f->m + csim_dot(f->L, f->spin)) / 2;
}

/* The flight of a tree; false: its inertia has no inverse. Leaves csimi_tree_study of it. */
static bool csimi_flight_of(const csimi_state *s, int t, const csim_real *rate, csimi_flight *f) {
    const csimi_tree *tree = s->tree + t;
    const csimi_link_work *root = s->link_work + tree->first_link;
    csim_real I[9];
    csim_vec3 c;
    csimi_tree_study(s, t, rate, NULL, 0);
    f->kinetic = csimi_tree_power(s, t, rate, rate) / 2;
    f->m = root->C.m;
    if (!csimi_floats(s, tree)) return true;
    f->centre = c = csim_scale(1 / f->m, root->C.mc);
    f->P = root->H.v;
    f->L = csim_sub(root->H.w, csim_cross(c, f->P));
    I[0] = root->C.I[0] - f->m * (c.y * c.y + c.z * c.z);
    I[4] = root->C.I[3] - f->m * (c.x * c.x + c.z * c.z);
    I[8] = root->C.I[5] - f->m * (c.x * c.x + c.y * c.y);
    I[1] = I[3] = root->C.I[1] + f->m * c.x * c.y;
    I[2] = I[6] = root->C.I[2] + f->m * c.x * c.z;
    I[5] = I[7] = root->C.I[4] + f->m * c.y * c.z;
    if (!csimi_inverse3(I, f->inverse)) return false;
    csimi_flight_lock(f);
    return true;
}

/* Whether a link turns far in a step. The rates of all joints together are the most it can be. */
static bool csimi_tree_turns(const csimi_state *s, int t, csim_real h, const csim_real *rate) {
    const csimi_tree *tree = s->tree + t;
    csim_real sum = 0;
    int i;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + i;
        const csim_real *u = rate + link->coord;
        if (link->joint == CSIM_TREE_REVOLUTE) sum += csimi_abs(u[0]);
        if (link->dofs >= 3) sum += csim_length(csimi_load3(u + link->dofs - 3));
    }
    if (!(h * sum > CSIMI_TREE_TURNING)) return false;
    (void)csimi_tree_measure(s, t, rate);
    return csimi_tree_bias_share(s, t, h) < 1;
}

/* Less spin, and, where the way alone has more, less of that. */
static void csimi_flight_slow(csimi_flight *f, double most) {
    const double way = (double)(csim_dot(f->P, f->P) / f->m) / 2, spin = f->locked - way;
    f->spin = csim_scale(most > way ? (csim_real)csimi_sqrt64((most - way) / spin) : 0, f->spin);
    if (way > most) f->P = csim_scale((csim_real)csimi_sqrt64(most / way), f->P);
}

/* The momentum of a flight made that of `aim`, of the rest as much as energy leaves room for. */
static void csimi_flight_follow(csimi_flight *f, csimi_flight *aim, double most, csim_real *base, double *share) {
    const double rest = f->kinetic - f->locked;
    csim_vec3 v, w;
    CSIMI_MEMCPY(aim->inverse, f->inverse, sizeof f->inverse);
    csimi_flight_lock(aim);
    if (aim->locked > most) { /* at the positions that the step has found it would take more than there is */
        aim->L = f->L;
        csimi_flight_lock(aim);
    }
    *share = rest > 0 && aim->locked + rest > most ? csimi_sqrt64((most > aim->locked ? most - aim->locked : 0) / rest)
                                                   : 1;
    if (aim->locked > most) csimi_flight_slow(aim, most);
    v = csim_sub(csimi_load3(base), csim_sub(csim_scale(1 / f->m, f->P), csim_cross(f->spin, f->centre)));
    w = csim_sub(csimi_load3(base + 3), f->spin);
    v = csim_madd(csim_sub(csim_scale(1 / f->m, aim->P), csim_cross(aim->spin, f->centre)), (csim_real)*share, v);
    csimi_store3(base, v);
    csimi_store3(base + 3, csim_madd(aim->spin, (csim_real)*share, w));
}

static void csimi_tree_settle(const csimi_state *s, int t, const csimi_step *step, const csim_real *vk,
                              const csim_real *v, csimi_state *next) {
    const csimi_tree *tree = s->tree + t;
    csim_real *end = next->coord_rate + 3 * (size_t)tree->first_block;
    csimi_flight then, aim, now;
    csimi_twist bias;
    csim_real taken; /* s: of the bias */
    double most, share = 1;
    int c;
    if (!csimi_flight_of(s, t, vk, &then)) return;
    bias = s->link_work[tree->first_link].F;
    taken = step->h * csimi_tree_bias_share(s, t, step->h);
    most = (double)taken * csimi_tree_power(s, t, v, NULL) - csimi_tree_power(s, t, v, vk) / (double)step->theta;
    if (!csimi_flight_of(s, t, v, &now)) return;
    most += 2 * now.kinetic / (double)step->theta;
    most = then.kinetic + (most > 0 ? most : 0);
    if (!csimi_flight_of(s, t, end, &aim) || !csimi_flight_of(next, t, end, &now)) return;
    if (csimi_floats(s, tree)) {
        aim.L = csim_madd(aim.L, taken, csim_sub(bias.w, csim_cross(aim.centre, bias.v)));
        aim.P = csim_madd(aim.P, taken, bias.v);
        csimi_flight_follow(&now, &aim, most, end, &share);
        end += 6;
    } else if (now.kinetic > most) {
        share = csimi_sqrt64(most / now.kinetic);
    }
    for (c = csimi_floats(s, tree) ? 6 : 0; c < 3 * tree->block_count && share < 1; c++) *end++ *= (csim_real)share;
}

CSIMI_FN void csimi_trees_settle(const csimi_state *s, const csimi_step *step, const csim_real *vk, const csim_real *v,
                                 csimi_state *next) {
    int t;
    for (t = 0; t < s->tree_count; t++) {
        const csimi_tree *tree = s->tree + t;
        const size_t first = 3 * (size_t)(csimi_first_coord_block(s) + tree->first_block);
        if (tree->mode != CSIMI_FREE || tree->modes > 0) continue;
        if (csimi_tree_turns(s, t, step->h, vk + first) ||
            csimi_tree_turns(next, t, step->h, next->coord_rate + 3 * (size_t)tree->first_block))
            csimi_tree_settle(s, t, step, vk + first, v + first, next);
    }
}
