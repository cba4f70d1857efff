/* world/touch: cables against cables and against themselves: edges as capsules, closest point to closest point. */
#include "private.h"

CSIMI_FN void csimi_edges_layout(csimi_edges *e, const csimi_counts *n, csimi_arena *arena) {
    const size_t edges = (size_t)n->frames;
    e->margin = CSIMI_PUSH(arena, csim_real, edges);
    e->frame = CSIMI_PUSH(arena, int, edges);
    e->lower = CSIMI_PUSH(arena, csim_real, 3 * edges);
    e->upper = CSIMI_PUSH(arena, csim_real, 3 * edges);
    e->group = CSIMI_PUSH(arena, int, edges);
    e->broad = csimi_push(arena, csimi_broad_scratch((int)edges), 1);
}

/* ---- bounds */

/* How far an edge may come in this step; one margin an edge, so that a whip's tip does not widen its handle. */
static csim_real csimi_edge_margin(const csimi_detector *d, int frame) {
    const csimi_state *s = &d->world->store.state;
    const int *node = s->edge_node + 2 * frame;
    csim_real h = d->frame->h, g = csim_length(csimi_load3(s->gravity)), speed = 0, push = 0;
    int k;
    for (k = 0; k < 2; k++) {
        speed = csimi_max(speed, csim_length(csimi_load3(s->v + 3 * node[k])));
        push = csimi_max(push, csim_length(csimi_load3(s->node_force + 3 * node[k])) / s->node_mass[node[k]]);
    }
    return d->world->def.contact_distance / 2 + d->ahead * h * (speed + h * (g + push));
}

static void csimi_add_edge(csimi_detector *d, const csimi_body *b, int group, int frame) {
    csimi_edges *e = &d->edges;
    const csimi_state *s = &d->world->store.state;
    const csim_real *p = s->x + 3 * s->edge_node[2 * frame], *q = s->x + 3 * s->edge_node[2 * frame + 1];
    csim_real grow = b->radius + b->surface.thickness;
    int k, i = e->count++;
    e->frame[i] = frame;
    e->group[i] = group;
    e->margin[i] = csimi_edge_margin(d, frame);
    grow += e->margin[i];
    for (k = 0; k < 3; k++) {
        e->lower[3 * i + k] = csimi_min(p[k], q[k]) - grow;
        e->upper[3 * i + k] = csimi_max(p[k], q[k]) + grow;
    }
}

/* ---- one pair of edges */

/* Edges so near along the cable that they always touch: less than four radii of cable between them. */
static bool csimi_edges_next(const csimi_state *s, const csimi_body *b, int i, int j) {
    int apart = csimi_imax(i, j) - csimi_imin(i, j);
    if (b->closed) apart = csimi_imin(apart, b->frame_count - apart);
    return apart < 2 || (csim_real)(apart - 1) * s->edge_data[6 * i] < 4 * (b->radius + b->surface.thickness);
}

/* Whether a point at share t of edge k is the start of the edge after it. */
static bool csimi_edge_passes(const csimi_body *b, int k, csim_real t) {
    return t >= 1 && (b->closed || k + 1 < b->first_frame + b->frame_count);
}

/* Closest points of the centrelines of two edges. */
static csim_vec3 csimi_edge_closest(const csimi_state *s, const int *edge, csim_real *t, csim_vec3 *point) {
    csim_vec3 x[2], d[2];
    int k;
    for (k = 0; k < 2; k++) {
        x[k] = csimi_load3(s->x + 3 * s->edge_node[2 * edge[k]]);
        d[k] = csim_sub(csimi_load3(s->x + 3 * s->edge_node[2 * edge[k] + 1]), x[k]);
    }
    csimi_closest_segments(x[0], d[0], x[1], d[1], t, t + 1);
    for (k = 0; k < 2; k++) point[k] = csim_madd(x[k], t[k], d[k]);
    return csim_sub(point[0], point[1]);
}

CSIMI_FN csim_real csimi_edge_distance(const csimi_state *s, int a, int b) {
    csim_vec3 point[2];
    csim_real t[2];
    int edge[2];
    edge[0] = a;
    edge[1] = b;
    return csim_length(csimi_edge_closest(s, edge, t, point));
}

static void csimi_touch_edges(csimi_detector *d, int i, int j) {
    const csimi_store *s = &d->world->store;
    const csimi_state *state = &s->state;
    csim_vec3 point[2], n;
    csim_real t[2], radius[2], distance, reach = d->edges.margin[i] + d->edges.margin[j];
    csimi_found_contact *c;
    int edge[2], slot[2], k;
    uint64_t key[2];
    edge[0] = d->edges.frame[i];
    edge[1] = d->edges.frame[j];
    for (k = 0; k < 2; k++) {
        slot[k] = s->frame_body[edge[k]];
        radius[k] = s->body[slot[k]].radius + s->body[slot[k]].surface.thickness;
        key[k] = csimi_side_key(s, slot[k], (uint32_t)(edge[k] - s->body[slot[k]].first_frame) | 0x10000000u);
    }
    if (slot[0] == slot[1] && csimi_edges_next(state, s->body + slot[0], edge[0], edge[1])) return;
    n = csimi_edge_closest(state, edge, t, point);
    distance = csim_length(n);
    if (!(distance - radius[0] - radius[1] <= reach)) return;
    for (k = 0; k < 2; k++)
        if (csimi_edge_passes(s->body + slot[k], edge[k], t[k])) return; /* the next edge has the same point */
    if (slot[0] != slot[1] && !csimi_may_touch(d, slot[0], slot[1])) return;
    c = csimi_next_found(d, slot[0], slot[1], csimi_mix64(key[0], key[1]));
    if (!c) return;
    if (distance > 0)
        n = csim_scale(1 / distance, n);
    else
        n = csim_rotate(csimi_load_quat(state->frame + 4 * edge[1]), csim_v3(1, 0, 0));
    c->normal = n;
    c->radius = radius[0] + radius[1];
    c->gap = distance - c->radius;
    c->point_a = csim_madd(point[0], -radius[0], n);
    c->point_b = csim_madd(point[1], radius[1], n);
    c->meet = csim_scale(CSIM_R(0.5), csim_add(c->point_a, c->point_b));
    c->a = csimi_place_edge(state, edge[0], c->meet);
    c->b = csimi_place_edge(state, edge[1], c->meet);
}

/* All edges of cables that may touch an edge; pairs found, beyond the capacity too. */
CSIMI_FN int csimi_touch_cables(csimi_detector *d) {
    const csim_world *w = d->world;
    csimi_edges *e = &d->edges;
    int i, k, cables = 0, self = 0, found;
    e->count = 0;
    for (i = 0; i < w->live_bodies; i++) {
        const csimi_body *b = w->store.body + w->store.body_list[i];
        if (b->kind != CSIM_BODY_CABLE) continue;
        cables++;
        self += b->self_contact;
    }
    if (cables + self < 2) return 0;
    for (i = 0; i < w->live_bodies; i++) {
        int slot = w->store.body_list[i];
        const csimi_body *b = w->store.body + slot;
        for (k = 0; b->kind == CSIM_BODY_CABLE && k < b->frame_count; k++)
            csimi_add_edge(d, b, b->self_contact ? -1 : slot, b->first_frame + k);
    }
    found = csimi_broad_pairs(e->count, e->lower, e->upper, e->group, d->pairs, w->store.capacity.pairs, e->broad);
    for (i = 0; i < csimi_imin(found, w->store.capacity.pairs); i++)
        csimi_touch_edges(d, d->pairs[2 * i], d->pairs[2 * i + 1]);
    return found;
}
