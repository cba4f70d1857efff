/* step/found: ids and records of contacts, filters of pairs, and what all narrow phases share. */
#include "private.h"

/* ---- ids and filters */

CSIMI_FN uint64_t csimi_side_key(const csimi_store *s, int slot, uint32_t part) {
    /* with the generation: a body that takes over a slot has no contacts of the one before */
    return csimi_mix64(((uint64_t)s->body[slot].generation << 32) | (uint32_t)slot, part);
}

CSIMI_FN uint64_t csimi_shape_key(const csimi_store *s, const csimi_object *o) {
    /* by its number in the body: its place among all shapes changes when other bodies go */
    return csimi_side_key(s, o->body, (uint32_t)(o->item - s->body[o->body].first_shape));
}

CSIMI_FN uint64_t csimi_point_key(const csimi_store *s, int slot, uint32_t part) {
    return csimi_side_key(s, slot, part | 0x40000000u); /* apart from shapes of the same number */
}

CSIMI_FN int csimi_own_shape(const csimi_store *s, int slot, int shape) {
    return shape < 0 ? -1 : shape - s->body[slot].first_shape;
}

CSIMI_FN csim_pair_info csimi_pair_of(const csim_world *w, int a, int shape_a, int b, int shape_b) {
    const csimi_store *s = &w->store;
    const csim_surface_def *A = csimi_surface_def_of(s, a, shape_a), *B = csimi_surface_def_of(s, b, shape_b);
    csim_pair_info p;
    p.body_a = csimi_body_id_of(w, a);
    p.body_b = csimi_body_id_of(w, b);
    p.shape_a = csimi_own_shape(s, a, shape_a); /* as the user counts them */
    p.shape_b = csimi_own_shape(s, b, shape_b);
    p.material_a = A->material;
    p.material_b = B->material;
    p.friction_a = A->friction;
    p.friction_b = B->friction;
    p.restitution_a = A->restitution;
    p.restitution_b = B->restitution;
    p.user_data_a = s->body[a].user_data;
    p.user_data_b = s->body[b].user_data;
    p.shape_user_data_a = shape_a >= 0 ? s->skin[shape_a].user_data : NULL;
    p.shape_user_data_b = shape_b >= 0 ? s->skin[shape_b].user_data : NULL;
    return p;
}

/* Not inlined: sorting takes a kilobyte of stack, which detection need not carry on. */
CSIMI_FN CSIMI_NOINLINE void csimi_list_excluded(csimi_detector *d, uint64_t *other) {
    const csimi_store *s = &d->world->store;
    int i;
    d->excluded_count = 0;
    for (i = 0; i < s->count.links; i++) {
        const csimi_link *l = s->link + i;
        if (!l->alive || !l->apart || csimi_link_broken(s, l)) continue; /* a broken joint keeps nobody apart */
        d->excluded[d->excluded_count++] = (uint64_t)csimi_imin(l->body[0], l->body[1]) << 32 |
                                           (uint64_t)csimi_imax(l->body[0], l->body[1]);
    }
    csimi_radix_sort(d->excluded_count, &d->excluded, &other); /* by the upper 32 bits, the low slot */
}

static bool csimi_excluded(const csimi_detector *d, int a, int b) {
    const uint64_t low = (uint64_t)csimi_imin(a, b), pair = low << 32 | (uint64_t)csimi_imax(a, b);
    int first = 0, end = d->excluded_count;
    while (first < end) { /* the first pair of the low one */
        const int middle = (first + end) / 2;
        if (d->excluded[middle] >> 32 < low)
            first = middle + 1;
        else
            end = middle;
    }
    for (; first < d->excluded_count && d->excluded[first] >> 32 == low; first++) /* sorted by the low one alone */
        if (d->excluded[first] == pair) return true;
    return false;
}

CSIMI_FN bool csimi_may_touch(const csimi_detector *d, int a, int shape_a, int b, int shape_b) {
    const csim_world *w = d->world;
    const csim_surface_def *p = csimi_surface_def_of(&w->store, a, shape_a),
                           *q = csimi_surface_def_of(&w->store, b, shape_b);
    if ((p->category & q->mask) == 0 || (q->category & p->mask) == 0) return false; /* both must want it */
    if (p->group > 0 && p->group == q->group) return false;                         /* 0: no group */
    if (csimi_excluded(d, a, b)) return false;
    if (w->def.filter) { /* last, for it costs a call of the user's */
        csim_pair_info info = csimi_pair_of(w, a, shape_a, b, shape_b);
        return w->def.filter(w->def.callback_user, &info);
    }
    return true;
}

/* ---- found contacts */

CSIMI_FN csimi_found_contact *csimi_take_found(csimi_detector *d, int body_a, int body_b) {
    csimi_step_frame *f = d->frame;
    csimi_found_contact *c = f->found + f->found_count;
    if (d->sleepers && csimi_touch_wakes(d, body_a, body_b)) return NULL; /* not counted: it is none */
    d->needed++; /* counted without room too, so that a failed step tells how much it wants */
    if (f->found_count >= d->room) return NULL;
    f->found_count++;
    c->body_a = body_a;
    c->body_b = body_b;
    return c;
}

CSIMI_FN void csimi_begin_found(const csimi_detector *d, csimi_found_contact *c, uint64_t id) {
    const int body_a = c->body_a, body_b = c->body_b;
    CSIMI_MEMSET(c, 0, sizeof *c);
    if (csimi_keeps(d->world)) CSIMI_MEMSET(d->frame->kept + (c - d->frame->found), 0, sizeof *d->frame->kept);
    c->id = id;
    c->body_a = body_a;
    c->body_b = body_b;
    c->part_a = c->part_b = -1; /* of a body of nodes, until told else */
#if CSIMI_HAS_NODES
    c->shape_b = c->surface_b = c->self = -1;
#endif
}

CSIMI_FN csimi_found_contact *csimi_next_found(csimi_detector *d, int body_a, int body_b, uint64_t id) {
    csimi_found_contact *c = csimi_take_found(d, body_a, body_b);
    if (c) csimi_begin_found(d, c, id);
    return c;
}

/* ---- geometry that narrow phases share */

CSIMI_FN bool csimi_near(const csimi_detector *d, const csimi_object *b, csim_vec3 x, csim_real grow) {
    const csim_real *lo = d->lower + 3 * (b - d->object), *hi = d->upper + 3 * (b - d->object); /* its margin in them */
    return x.x >= lo[0] - grow && x.x <= hi[0] + grow && x.y >= lo[1] - grow && x.y <= hi[1] + grow &&
           x.z >= lo[2] - grow && x.z <= hi[2] + grow;
}

CSIMI_FN csim_geometry csimi_ball(csim_real radius) {
    csim_geometry g;
    CSIMI_MEMSET(&g, 0, sizeof g);
    g.kind = CSIM_SHAPE_SPHERE;
    g.local = csim_pose_identity();
    g.bound = g.radius = radius;
    g.hull = -1;
    return g;
}

/* The point `meet` moving with a triangle, whose foot has the weights; with the edge first that the foot is nearest. */
CSIMI_FN csimi_place csimi_place_over(const csimi_state *s, const int *node, const csim_real *foot, csim_vec3 meet) {
    /* the corner with the least weight faces that edge, and goes last */
    const int last = foot[0] < foot[1] && foot[0] < foot[2] ? 0 : foot[1] < foot[2] ? 1 : 2;
    csimi_place at;
    csim_real weight[3];
    int corner[3], k;
    for (k = 0; k < 3; k++) {
        corner[k] = node[(last + 1 + k) % 3];
        weight[k] = foot[(last + 1 + k) % 3];
    }
    at = csimi_place_face(corner, weight, 0); /* the foot itself */
    return csimi_place_off_face(s, corner, weight, csim_sub(meet, csimi_place_point(s, &at)));
}
