/* step/still: what lies in bed (store/bed.c) within reach of what is awake, and who of it is touched. */
#include "private.h"

#ifndef CONDSIM_NO_SLEEP

/* ---- what lies in bed near what is awake */

CSIMI_FN void csimi_still_layout(csimi_detector *d, const csimi_counts *n, csimi_arena *arena) {
    const size_t leaves = csimi_has_bed(n) ? (size_t)csimi_look_leaves(n) : 0;
    d->near = CSIMI_PUSH(arena, uint64_t, leaves);
    d->seen = CSIMI_PUSH(arena, unsigned char, leaves);
}

/* Shell's sort: few are near, and the order of a walk through the tree is not that of a world restored. */
static void csimi_sort_near(uint64_t *key, int count) {
    int gap = 1, i, k;
    while (gap < count / 9) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (i = gap; i < count; i++) {
            const uint64_t x = key[i];
            for (k = i; k >= gap && key[k - gap] > x; k -= gap) key[k] = key[k - gap];
            key[k] = x;
        }
}

CSIMI_FN int csimi_still_near(csimi_detector *d) {
    const csimi_store *s = &d->world->store;
    const csimi_look *l = &s->look;
    const csim_real h = d->frame->h;
    /* the margin that detect.c gives to what does not move, and the thickness, which boxes of the tree do not hold */
    const csim_real grow = d->world->def.contact_distance / 2 + d->ahead * h * h * d->fall + s->bed_thickness;
    const csim_vec3 g = csim_v3(grow, grow, grow);
    int i, leaf, count = 0;
    if (s->bedded == 0 || d->count == 0) return 0;
    CSIMI_MEMSET(d->seen, 0, (size_t)l->tree.leaf_high);
    for (i = 0; i < d->count; i++) {
        csimi_bounds_walk walk;
        if (d->group[i] == 0) continue; /* static, or kinematic while nobody sleeps */
        csimi_bounds_walk_in(&walk, &l->tree, csim_sub(csimi_load3(d->lower + 3 * i), g),
                             csim_add(csimi_load3(d->upper + 3 * i), g));
        while ((leaf = csimi_bounds_next(&walk)) >= 0) {
            if (d->seen[leaf] || !csimi_lies(s, l->leaf_body[leaf])) continue; /* one leaf may be near to several */
            d->seen[leaf] = 1;
            d->near[count++] = (uint64_t)l->leaf_body[leaf] << 32 | (uint32_t)l->leaf_part[leaf];
        }
    }
    csimi_sort_near(d->near, count); /* by slot, then by part */
    return count;
}

CSIMI_FN int csimi_still_about(const csim_world *w, csim_vec3 lower, csim_vec3 upper, csim_real grow, uint64_t *shape) {
    const csimi_store *s = &w->store;
    const csimi_look *l = &s->look;
    const csim_real r = grow + s->bed_thickness;
    const csim_vec3 g = csim_v3(r, r, r);
    csimi_bounds_walk walk;
    int leaf, count = 0;
    if (s->bedded == 0) return 0;
    csimi_bounds_walk_in(&walk, &l->tree, csim_sub(lower, g), csim_add(upper, g));
    while ((leaf = csimi_bounds_next(&walk)) >= 0) {
        const csimi_body *b = s->body + l->leaf_body[leaf];
        if (b->shape_count > 0 && csimi_lies(s, l->leaf_body[leaf])) /* bodies of nodes have leaves too */
            shape[count++] = (uint64_t)(b->first_shape + l->leaf_part[leaf]);
    }
    csimi_sort_near(shape, count);
    return count;
}

/* Whether a kinematic body is on its way. */
static bool csimi_goes(const csimi_store *s, const csimi_body *b) {
    if (b->rigid >= 0) return csimi_any(s->state.velocity + 6 * (size_t)b->rigid, 6);
    if (b->tree >= 0)
        return csimi_any(s->state.coord_rate + 3 * (size_t)s->state.tree[b->tree].first_block,
                         3 * s->state.tree[b->tree].block_count);
    return csimi_any(s->state.v + 3 * (size_t)b->first_node, 3 * b->node_count) ||
           csimi_any(s->state.frame_velocity + 3 * (size_t)b->first_frame, 3 * b->frame_count); /* edges that turn */
}

CSIMI_FN bool csimi_touch_wakes(csimi_detector *d, int body_a, int body_b) {
    const csimi_store *s = &d->world->store;
    const bool a = csimi_lies(s, body_a) && s->body[body_a].motion == CSIM_DYNAMIC;
    const bool b = csimi_lies(s, body_b) && s->body[body_b].motion == CSIM_DYNAMIC;
    const int other = a ? body_b : body_a; /* the one that is not asleep, if only one is */
    if (!a && !b) return false; /* a contact as any */
    if (a && b) return true; /* they sleep on the contacts they have */
    /* ground and what stands still push nobody */
    if (csimi_lies(s, other) || (s->body[other].motion != CSIM_DYNAMIC && !csimi_goes(s, s->body + other))) return true;
    csimi_wake_island(d->world, a ? body_a : body_b);
    d->woke = true; /* its items lie behind what this step sees: it begins anew */
    return true;
}
#endif
