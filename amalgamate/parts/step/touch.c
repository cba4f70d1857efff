/* step/touch: edges against edges, closest point to closest point: cables, whose edges are capsules, and surfaces,
   where vertices against triangles (points.c) leave what crosses: borders and folds of sheets, and all that a cable
   meets between its nodes. */
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
        /* points between the ends are no faster than the faster end */
        speed = csimi_max(speed, csim_length(csimi_load3(s->v + 3 * node[k])));
        /* gravity beyond the g that all have, which the return adds */
        push = csimi_max(push, csim_length(csimi_load3(s->node_force + 3 * node[k])) / s->node_mass[node[k]] +
                                   csimi_max(csimi_abs(s->node_gravity[node[k]]) - 1, 0) * g);
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
    if (b->closed) apart = csimi_imin(apart, b->frame_count - apart); /* the other way round the ring */
    /* edge_data: an edge's length at rest; those beside each other share a node */
    return apart < 2 || (csim_real)(apart - 1) * s->edge_data[6 * i] < 4 * (b->radius + b->surface.thickness);
}

/* Whether a point at share t of edge k is the start of the edge after it. */
static bool csimi_edge_passes(const csimi_body *b, int k, csim_real t) {
    /* the last edge of an open cable keeps its end */
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
        /* bit 28 keeps numbers of edges apart from those of shapes and vertices */
        key[k] = csimi_side_key(s, slot[k], (uint32_t)(edge[k] - s->body[slot[k]].first_frame) | 0x10000000u);
    }
    if (slot[0] == slot[1] && csimi_edges_next(state, s->body + slot[0], edge[0], edge[1])) return;
    n = csimi_edge_closest(state, edge, t, point);
    distance = csim_length(n);
    if (!(distance - radius[0] - radius[1] <= reach)) return; /* out of reach, or not a number */
    for (k = 0; k < 2; k++)
        if (csimi_edge_passes(s->body + slot[k], edge[k], t[k])) return; /* the next edge has the same point */
    /* filters are of two bodies: a cable that touches itself has been asked by self_contact */
    if (slot[0] != slot[1] && !csimi_may_touch(d, slot[0], -1, slot[1], -1)) return;
    c = csimi_next_found(d, slot[0], slot[1], csimi_mix64(key[0], key[1]));
    if (!c) return; /* no room, or one of them slept */
    if (distance > 0)
        n = csim_scale(1 / distance, n);
    else
        /* the lines cross: any direction across the second will do */
        n = csim_rotate(csimi_load_quat(state->frame + 4 * edge[1]), csim_v3(1, 0, 0));
    c->normal = n;
    c->radius = radius[0] + radius[1];
    c->gap = distance - c->radius;
    c->point_a = csim_madd(point[0], -radius[0], n); /* n points from b to a */
    /* midway between the surfaces: both impulses act at one point and keep angular momentum */
    c->meet = csim_scale(CSIM_R(0.5), csim_add(c->point_a, csim_madd(point[1], radius[1], n)));
    c->a = csimi_place_edge(state, edge[0], c->meet);
    c->b = csimi_place_edge(state, edge[1], c->meet);
}

/* All edges of cables that may touch an edge; pairs found, beyond the capacity too. */
CSIMI_FN CSIMI_NOINLINE int csimi_touch_cables(csimi_detector *d) {
    const csim_world *w = d->world;
    csimi_edges *e = &d->edges;
    int i, k, cables = 0, self = 0, found;
    e->count = 0;
    for (i = 0; i < w->store.active_count; i++) {
        const csimi_body *b = w->store.body + w->store.active[i];
        if (b->kind != CSIM_BODY_CABLE) continue;
        cables++;
        self += b->self_contact;
    }
    for (i = 0; i < d->near_count && cables > 0; i++) cables += w->store.body[d->near[i] >> 32].kind == CSIM_BODY_CABLE;
    if (cables + self < 2) return 0; /* one that does not touch itself has no partner */
    for (i = 0; i < w->store.active_count; i++) {
        int slot = w->store.active[i];
        const csimi_body *b = w->store.body + slot;
        for (k = 0; b->kind == CSIM_BODY_CABLE && !b->disabled && k < b->frame_count; k++)
            /* -1: its edges pair with each other too */
            csimi_add_edge(d, b, b->self_contact ? -1 : slot, b->first_frame + k);
    }
    for (i = 0; i < d->near_count; i++) {
        const int slot = (int)(d->near[i] >> 32);
        const csimi_body *b = w->store.body + slot;
        /* one group a body: what sleeps does not pair with itself */
        if (b->kind == CSIM_BODY_CABLE) csimi_add_edge(d, b, slot, b->first_frame + (int)(d->near[i] & 0xffffffffu));
    }
    found = csimi_broad_pairs(e->count, e->lower, e->upper, e->group, d->pairs, w->store.capacity.pairs, e->broad);
    for (i = 0; i < csimi_imin(found, w->store.capacity.pairs); i++)
        csimi_touch_edges(d, d->pairs[2 * i], d->pairs[2 * i + 1]);
    return found;
}

/* ---- edges of sheets, and of cables at surfaces */

enum { CSIMI_WINGS = 2 }; /* an inner edge has two triangles */

/* An edge and the third corners of its triangles; their ways in the step. A vertex: an edge without length. */
typedef struct csimi_sheet_edge {
    int node[2 + CSIMI_WINGS];
    csim_vec3 x[2 + CSIMI_WINGS], way[2 + CSIMI_WINGS];
    int wings;
    csim_vec3 out; /* sum of the normals of the triangles, as they are wound */
} csimi_sheet_edge;

/* Edges of the first body, one after the other, against the surface of the second. */
typedef struct csimi_edge_search {
    int slot[2];
    const csimi_surface *surface;
    csim_vec3 mean;  /* way of the second's nodes */
    csim_real grow;  /* how far off the way a contact begins */
    csim_real reach; /* how near what touches now may be: radii, thickness and a margin */
    csimi_sheet_edge e[2];
    int frame;                 /* the first is a cable and this its edge; sheets: -1 */
    bool ends;                 /* known: */
    csim_real end[2], rate[2]; /* how far the ends of a cable's edge are from the surface, how that grows in the step */
} csimi_edge_search;

static void csimi_sheet_corner(const csimi_detector *d, csimi_sheet_edge *e, int k, int node) {
    const csimi_state *s = &d->world->store.state;
    e->node[k] = node;
    e->x[k] = csimi_load3(s->x + 3 * (size_t)node);
    /* ahead: 1.5 where contacts stop an impact (3 - e) / 2 steps ahead, else 1 */
    e->way[k] = csim_scale(d->ahead * d->frame->h, csimi_load3(s->v + 3 * (size_t)node));
}

static csim_vec3 csimi_sheet_at(const csimi_sheet_edge *e, int k, csim_real time) {
    return csim_madd(e->x[k], time, e->way[k]);
}

/* Where two edges that move on come within reach of each other: shares t along them, direction n from the second to the
   first, time of the step. Conservative advancement: no point of one comes nearer to the other faster than `most`. */
static bool csimi_sheet_edges_meet(const csimi_sheet_edge *e, csim_real reach, csim_real *t, csim_vec3 *n,
                                   csim_real *time) {
    csim_real most = 0, distance;
    int k, i, j;
    for (i = 0; i < 2; i++)
        /* points between corners move by means of theirs: no two of both edges are faster than the fastest corners */
        for (j = 0; j < 2; j++) most = csimi_max(most, csim_length(csim_sub(e[0].way[i], e[1].way[j])));
    for (*time = 0, k = 0; k < 32 && *time <= 1; k++) {
        csim_vec3 x[2], along[2];
        for (i = 0; i < 2; i++) {
            x[i] = csimi_sheet_at(e + i, 0, *time);
            along[i] = csim_sub(csimi_sheet_at(e + i, 1, *time), x[i]);
        }
        csimi_closest_segments(x[0], along[0], x[1], along[1], t, t + 1);
        *n = csim_sub(csim_madd(x[0], t[0], along[0]), csim_madd(x[1], t[1], along[1]));
        distance = csim_length(*n);
        if (distance <= reach) {
            *n = csim_normalize(distance > 0 ? *n : csim_cross(along[0], along[1])); /* they cross: no way between */
            /* what is met at an end of an edge is a vertex, which has contacts of its own (points.c) */
            return t[0] > CSIM_R(1e-3) && t[0] < CSIM_R(0.999) &&
                   (e[1].node[0] == e[1].node[1] || (t[1] > CSIM_R(1e-3) && t[1] < CSIM_R(0.999)));
        }
        if (!(most > 0)) return false; /* neither comes nearer */
        *time += csimi_max(distance - reach, reach / 64) / most; /* at least a 64th of reach: it comes to an end */
    }
    return false;
}

/* Whether a corner at one edge lies over a triangle at the other, seen along n: its own contact holds what is flat. */
static bool csimi_sheet_guards(const csimi_sheet_edge *e, const csimi_sheet_edge *other, csim_real time, csim_vec3 n) {
    int k, wing;
    for (wing = 2; wing < 2 + other->wings; wing++) {
        const csim_vec3 a = csimi_sheet_at(other, 0, time), b = csimi_sheet_at(other, 1, time);
        const csim_vec3 c = csimi_sheet_at(other, wing, time);
        /* twice the area, its sign the winding as seen along n */
        const csim_real area = csim_dot(n, csim_cross(csim_sub(b, a), csim_sub(c, a)));
        for (k = 0; k < 2 + e->wings; k++) {
            const csim_vec3 p = csimi_sheet_at(e, k, time);
            if (csim_dot(n, csim_cross(csim_sub(b, a), csim_sub(p, a))) * area >= 0 &&
                csim_dot(n, csim_cross(csim_sub(c, b), csim_sub(p, b))) * area >= 0 &&
                csim_dot(n, csim_cross(csim_sub(a, c), csim_sub(p, c))) * area >= 0)
                return true;
        }
    }
    return false;
}

/* 1: both triangles rise from the edge along n, a ridge or border seen from below; 0: one is flat; -1: one falls, and
   is nearer itself. */
static int csimi_sheet_ridge(const csimi_sheet_edge *e, csim_real time, csim_vec3 n) {
    const csim_vec3 x = csimi_sheet_at(e, 0, time), along = csim_normalize(csim_sub(csimi_sheet_at(e, 1, time), x));
    int k, ridge = 1;
    for (k = 2; k < 2 + e->wings; k++) {
        csim_vec3 w = csim_sub(csimi_sheet_at(e, k, time), x);
        csim_real rise = csim_dot(n, csim_normalize(csim_madd(w, -csim_dot(w, along), along)));
        /* 0.1: a slope of 6 degrees */
        if (rise < CSIM_R(-0.1)) return -1;
        if (rise < CSIM_R(0.1)) ridge = 0;
    }
    return ridge;
}

/* Third corners of the triangles at the edge from u to v of a surface, behind its ends. */
static void csimi_sheet_wings(const csimi_detector *d, const csimi_surface *surface, const int *surface_node, int u,
                              int v, csimi_sheet_edge *e) {
    const csim_vec3 x = csimi_load3(surface->x + 3 * (size_t)u);
    csimi_surface_walk walk = csimi_surface_walk_in(surface, x, x);
    int i, k;
    e->wings = 0;
    e->out = csim_v3(0, 0, 0);
    csimi_sheet_corner(d, e, 2, surface_node[u]); /* where numbers are beyond floats the walk finds none of them */
    /* the walk gives whole leaves: the triangles that have both ends are picked out */
    while ((i = csimi_surface_walk_next(&walk)) >= 0 && e->wings < CSIMI_WINGS) {
        const int *t = surface->triangle + 3 * (size_t)i;
        for (k = 0; k < 3; k++)
            if ((t[k] == u && t[(k + 1) % 3] == v) || (t[k] == v && t[(k + 1) % 3] == u)) {
                csimi_sheet_corner(d, e, 2 + e->wings++, surface_node[t[(k + 2) % 3]]);
                e->out = csim_add(e->out, csimi_triangle_normal(surface, i));
            }
    }
}

/* csimi_sheet_ridge for vertex v, of all triangles around it; e gets the corners of the one that lies most across n. -1
   also where a triangle before this one has the vertex: it was seen there. */
static int csimi_sheet_peak(const csimi_detector *d, const csimi_edge_search *q, int triangle, int v, csim_real time,
                            csim_vec3 n, csimi_sheet_edge *e) {
    const csimi_surface *surface = q->surface;
    const int *node = d->world->store.surface_node + d->world->store.body[q->slot[1]].first_surface;
    const csim_vec3 x = csimi_load3(surface->x + 3 * (size_t)v);
    csimi_surface_walk walk = csimi_surface_walk_in(surface, x, x);
    csim_real most = -1;
    int i, k, best[2] = {0, 0};
    e->out = csim_v3(0, 0, 0);
    while ((i = csimi_surface_walk_next(&walk)) >= 0) {
        const int *t = surface->triangle + 3 * (size_t)i;
        const csim_vec3 normal = csimi_triangle_normal(surface, i);
        for (k = 0; k < 3 && t[k] != v; k++) {
        }
        if (k == 3) continue; /* not at v */
        csimi_sheet_corner(d, e, 2, node[t[(k + 1) % 3]]);
        csimi_sheet_corner(d, e, 3, node[t[(k + 2) % 3]]);
        e->wings = 2;
        /* each vertex has a contact for one of its triangles, not for all */
        if (i < triangle || csimi_sheet_ridge(e, time, n) < 0) return -1;
        e->out = csim_add(e->out, normal);
        if (csimi_abs(csim_dot(normal, n)) <= most) continue;
        most = csimi_abs(csim_dot(normal, n));
        best[0] = e->node[2], best[1] = e->node[3];
    }
    for (k = 0; k < 2; k++) csimi_sheet_corner(d, e, 2 + k, best[k]);
    return 1;
}

/* Whether two edges of one sheet were neighbours at rest. */
static bool csimi_sheet_neighbours(const csimi_store *s, const csimi_body *b, const csimi_sheet_edge *e) {
    csim_vec3 x[4], d[2];
    csim_real t[2];
    int k;
    for (k = 0; k < 4; k++)
        x[k] = csimi_load3(s->surface_rest +
                           3 * ((size_t)b->first_surface + (size_t)s->node_user[e[k / 2].node[k % 2]]));
    /* by the shape at rest: when it folds, what was apart may touch */
    for (k = 0; k < 2; k++) d[k] = csim_sub(x[2 * k + 1], x[2 * k]);
    csimi_closest_segments(x[0], d[0], x[2], d[1], t, t + 1);
    return csim_length(csim_sub(csim_madd(x[0], t[0], d[0]), csim_madd(x[2], t[1], d[1]))) < b->self_distance;
}

/* The surface as the nodes at the ends of a cable's edge see it. */
static void csimi_edge_ends(csimi_detector *d, csimi_edge_search *q) {
    const csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + q->slot[1];
    const csimi_sheet_edge *e = q->e;
    int i, k;
    for (k = 0; k < 2; k++) {
        const csim_real within = q->grow + csim_length(csim_sub(e->x[1], e->x[0]));
        csimi_surface_hit hit;
        csim_vec3 way = e->way[k], away;
        q->end[k] = within; /* where nothing is nearer */
        q->rate[k] = 0;
        if (B->kind == CSIM_BODY_CLOTH) { /* no inside */
            if (!csimi_surface_nearest(q->surface, e->x[k], within, NULL, &hit)) continue;
            q->end[k] = hit.distance;
        } else if (!csimi_surface_gap(&d->surfaces, q->slot[1], e->x[k], within, -1, &hit, q->end + k)) {
            continue;
        }
        for (i = 0; i < 3; i++) {
            const int node = s->surface_node[B->first_surface + q->surface->triangle[3 * hit.triangle + i]];
            way = csim_madd(way, -hit.weight[i] * d->ahead * d->frame->h, csimi_load3(s->state.v + 3 * (size_t)node));
        }
        /* end is below 0 inside: away is outward there too */
        away = hit.distance > 0 ? csim_scale(1 / q->end[k], csim_sub(e->x[k], hit.point)) : hit.normal;
        q->rate[k] = csim_dot(away, way); /* m in the step */
    }
    q->ends = true;
}

/* How much of a contact a cable's edge leaves to its nodes, as on shapes (narrow.c); below 0: all of it. */
static csim_real csimi_edge_left(csimi_detector *d, csimi_edge_search *q, csim_real t, csim_real time, csim_vec3 n) {
    const csimi_body *A = d->world->store.body + q->slot[0];
    const csimi_sheet_edge *e = q->e;
    const csim_real r = A->radius + A->surface.thickness;
    const csim_vec3 along = csim_sub(csimi_sheet_at(e, 1, time), csimi_sheet_at(e, 0, time));
    csim_real bulge;
    if (!q->ends) csimi_edge_ends(d, q);
    /* how much nearer the surface is than the line between the distances of the ends says */
    bulge = (1 - t) * (q->end[0] + time * q->rate[0]) + t * (q->end[1] + time * q->rate[1]) -
            csim_dot(n, csim_sub(csim_madd(csimi_sheet_at(e, 0, time), t, along), csimi_sheet_at(e + 1, 0, time)));
    return bulge < r / 20 ? -1 : csimi_clamp((r / 2 - bulge) / 4, 0, r / 10);
}

/* Where the line of a cable's edge is inside a solid at the edge or vertex e[1], which is its nearest, n points out all
   the same. False: that is met from another side. */
static bool csimi_edge_outward(csimi_detector *d, const csimi_edge_search *q, csim_real t, int u, int v, csim_vec3 *n) {
    const csimi_sheet_edge *e = q->e;
    csimi_surface_hit hit;
    csim_real gap;
    const int *corner;
    /* cloth has no inside; else n may be outward already */
    if (d->world->store.body[q->slot[1]].kind == CSIM_BODY_CLOTH || csim_dot(*n, e[1].out) >= 0) return true;
    if (!csimi_surface_gap(&d->surfaces, q->slot[1], csim_madd(e->x[0], t, csim_sub(e->x[1], e->x[0])), q->grow, -1,
                           &hit, &gap) ||
        !hit.inside) /* met from another side */
        return false;
    corner = q->surface->triangle + 3 * (size_t)hit.triangle;
    *n = csim_scale(-1, *n);
    /* the nearest triangle is one at this edge */
    return (corner[0] == u || corner[1] == u || corner[2] == u) && (corner[0] == v || corner[1] == v || corner[2] == v);
}

static void csimi_sheet_found(csimi_detector *d, const csimi_edge_search *q, const csim_real *t, csim_vec3 n,
                              csim_real left) {
    const csimi_store *s = &d->world->store;
    const csimi_sheet_edge *e = q->e;
    uint64_t key[2];
    csim_vec3 point[2];
    csim_real r[2], weight[3];
    csimi_found_contact *c;
    csimi_place place[2];
    int k;
    for (k = 0; k < 2; k++) {
        const int slot = q->slot[k];
        const uint32_t u = (uint32_t)s->node_user[e[k].node[0]], v = (uint32_t)s->node_user[e[k].node[1]];
        /* the lower number first: the id does not depend on who finds the edge */
        key[k] = csimi_mix64(csimi_point_key(s, slot, u < v ? u : v), u < v ? v : u);
        r[k] = s->body[slot].radius + s->body[slot].surface.thickness;
        point[k] = csim_madd(e[k].x[0], t[k], csim_sub(e[k].x[1], e[k].x[0]));
    }
    r[0] -= left; /* sinks as deep as its nodes leave */
    c = csimi_next_found(d, q->slot[0], q->slot[1], csimi_mix64(key[0], key[1]));
    if (!c) return;
    c->normal = n;
    c->radius = r[0] + r[1];
    c->gap = csim_dot(n, csim_sub(point[0], point[1])) - c->radius; /* now, though they may meet later */
    c->point_a = csim_madd(point[0], -r[0], n);
    c->meet = q->frame >= 0 ? point[0] : csim_scale(CSIM_R(0.5), csim_add(point[0], point[1])); /* as its nodes */
    for (k = 0; k < 2; k++) {
        const bool vertex = e[k].node[0] == e[k].node[1];
        const int *corner = e[k].node;
        /* a vertex carries two other corners of a triangle, an edge one */
        const int triangle[3] = {corner[0], corner[vertex ? 3 : 1], corner[2]};
        weight[0] = 1 - t[k];
        weight[1] = t[k];
        weight[2] = 0;
        place[k] = k == 0 && q->frame >= 0 ? csimi_place_edge(&s->state, q->frame, c->meet)
                                           : csimi_place_over(&s->state, triangle, weight, c->meet);
    }
    c->a = place[0];
    c->b = csimi_place_follow(&s->state, place[1]); /* vertices of reduced bodies move by coordinates */
}

/* Edge k of a triangle of the second against the edge at hand. Flat against flat the vertices say all where there are
   any. An inner edge is met from the triangle in which its ends rise. */
static CSIMI_NOINLINE void csimi_sheet_pair(csimi_detector *d, csimi_edge_search *q, int triangle, int k) {
    const csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + q->slot[0], *B = s->body + q->slot[1];
    const int *node = s->surface_node + B->first_surface, *v = q->surface->triangle + 3 * (size_t)triangle;
    const int from = v[k], to = v[(k + 1) % 3], *p = q->e[0].node;
    csimi_sheet_edge *e = q->e;
    csim_real t[2], time, left = 0;
    csim_vec3 n;
    int ridge[2], low, other;
    csimi_sheet_corner(d, e + 1, 0, node[from]);
    csimi_sheet_corner(d, e + 1, 1, node[to]);
    low = csimi_imin(p[0], p[1]) - csimi_imin(e[1].node[0], e[1].node[1]);
    other = csimi_imax(p[0], p[1]) - csimi_imax(e[1].node[0], e[1].node[1]);
    /* of one sheet: each pair once, none that share a node, none that were neighbours at rest */
    if (q->slot[0] == q->slot[1] &&
        (low > 0 || (low == 0 && other >= 0) || e[1].node[0] == p[0] || e[1].node[0] == p[1] ||
         e[1].node[1] == p[0] || e[1].node[1] == p[1] || csimi_sheet_neighbours(s, A, e)))
        return;
    if (!csimi_sheet_edges_meet(e, q->reach, t, &n, &time)) return;
    csimi_sheet_wings(d, q->surface, node, from, to, e + 1);
    if (e[1].wings == 2 && from > to) return;
    if (q->frame >= 0 && !csimi_edge_outward(d, q, t[0], from, to, &n)) return;
    ridge[0] = csimi_sheet_ridge(e, time, n);
    ridge[1] = csimi_sheet_ridge(e + 1, time, csim_scale(-1, n));
    if (ridge[0] < 0 || ridge[1] < 0) return; /* that triangle is nearer than the edge */
    if (ridge[0] + ridge[1] == 0 && (csimi_sheet_guards(e, e + 1, time, n) || csimi_sheet_guards(e + 1, e, time, n)))
        return;
    if (q->frame >= 0 && (left = csimi_edge_left(d, q, t[0], time, n)) < 0) return;
    csimi_sheet_found(d, q, t, n, left);
}

/* Corner k of a triangle against the edge of a cable. */
static CSIMI_NOINLINE void csimi_sheet_corner_pair(csimi_detector *d, csimi_edge_search *q, int triangle, int k) {
    const csimi_store *s = &d->world->store;
    const int v = q->surface->triangle[3 * (size_t)triangle + (size_t)k];
    const int node = s->surface_node[s->body[q->slot[1]].first_surface + v];
    csim_real t[2], time, left;
    csim_vec3 n;
    csimi_sheet_corner(d, q->e + 1, 0, node); /* a vertex: no length */
    csimi_sheet_corner(d, q->e + 1, 1, node);
    if (!csimi_sheet_edges_meet(q->e, q->reach, t, &n, &time)) return;
    if (csimi_sheet_peak(d, q, triangle, v, time, csim_scale(-1, n), q->e + 1) < 0) return;
    if (!csimi_edge_outward(d, q, t[0], v, v, &n) || (left = csimi_edge_left(d, q, t[0], time, n)) < 0) return;
    csimi_sheet_found(d, q, t, n, left);
}

/* The mean way of a sheet's nodes and the farthest that one of them goes from it. */
static csim_real csimi_sheet_way(const csimi_detector *d, const csimi_body *b, csim_vec3 *mean) {
    const csimi_state *s = &d->world->store.state;
    const csim_real h = d->ahead * d->frame->h;
    csim_real most = 0;
    int i;
    *mean = csim_v3(0, 0, 0);
    for (i = b->first_node; i < b->first_node + b->node_count; i++)
        *mean = csim_madd(*mean, h / (csim_real)b->node_count, csimi_load3(s->v + 3 * (size_t)i));
    for (i = b->first_node; i < b->first_node + b->node_count; i++)
        most = csimi_max(most, csim_length(csim_madd(*mean, -h, csimi_load3(s->v + 3 * (size_t)i))));
    return most;
}

static void csimi_edge_search_start(csimi_edge_search *q, csimi_detector *d, const csimi_object *a,
                                    const csimi_object *b, csim_real margin) {
    const csimi_body *A = d->world->store.body + a->body, *B = d->world->store.body + b->body;
    q->slot[0] = a->body;
    q->slot[1] = b->body;
    q->surface = csimi_surface_of(&d->surfaces, b->body);
    q->reach = A->radius + A->surface.thickness + B->radius + B->surface.thickness + margin;
    /* the search goes with the mean way, so that a sheet that flies as a whole is no larger for it */
    q->grow = csimi_sheet_way(d, B, &q->mean) + q->reach;
    q->frame = -1;
}

/* Widens a box by where a corner is in the step, beside the mean way of the second body. */
static void csimi_search_widen(const csimi_edge_search *q, csim_vec3 x, csim_vec3 way, csim_vec3 *low,
                               csim_vec3 *high) {
    const csim_vec3 y = csim_add(x, csim_sub(way, q->mean));
    *low = csim_v3(csimi_min(low->x, csimi_min(x.x, y.x)), csimi_min(low->y, csimi_min(x.y, y.y)),
                   csimi_min(low->z, csimi_min(x.z, y.z)));
    *high = csim_v3(csimi_max(high->x, csimi_max(x.x, y.x)), csimi_max(high->y, csimi_max(x.y, y.y)),
                    csimi_max(high->z, csimi_max(x.z, y.z)));
}

/* Whether a triangle comes into a box in the step: the tree knows of all what the fastest of them does. */
static bool csimi_search_near(const csimi_detector *d, const csimi_edge_search *q, int triangle, csim_vec3 low,
                              csim_vec3 high) {
    const csimi_store *s = &d->world->store;
    const int *node = s->surface_node + s->body[q->slot[1]].first_surface;
    csim_vec3 lower = csimi_load3(s->state.x + 3 * (size_t)node[q->surface->triangle[3 * (size_t)triangle]]);
    csim_vec3 upper = lower;
    int k;
    for (k = 0; k < 3; k++) {
        const size_t at = 3 * (size_t)node[q->surface->triangle[3 * (size_t)triangle + (size_t)k]];
        csimi_search_widen(q, csimi_load3(s->state.x + at),
                           csim_scale(d->ahead * d->frame->h, csimi_load3(s->state.v + at)), &lower, &upper);
    }
    return lower.x <= high.x && lower.y <= high.y && lower.z <= high.z && upper.x >= low.x && upper.y >= low.y &&
           upper.z >= low.z;
}

/* The edge at hand against the triangles near its way. */
static void csimi_edge_search_on(csimi_detector *d, csimi_edge_search *q) {
    const csim_vec3 extra = csim_v3(q->grow, q->grow, q->grow);
    const csim_real beside = q->reach * CSIM_R(1.001);
    const csim_vec3 touching = csim_v3(beside, beside, beside);
    csim_vec3 low = q->e->x[0], high = low;
    csimi_surface_walk walk;
    int i, j;
    for (i = 0; i < 2; i++) csimi_search_widen(q, q->e->x[i], q->e->way[i], &low, &high);
    /* by the boxes, which are of the start, and then triangle by triangle */
    walk = csimi_surface_walk_in(q->surface, csim_sub(low, extra), csim_add(high, extra));
    low = csim_sub(low, touching);
    high = csim_add(high, touching);
    while ((i = csimi_surface_walk_next(&walk)) >= 0) {
        if (!csimi_search_near(d, q, i, low, high)) continue;
        for (j = 0; j < 3; j++) {
            csimi_sheet_pair(d, q, i, j);
            if (q->frame >= 0) csimi_sheet_corner_pair(d, q, i, j);
        }
    }
}

/* Edges of one sheet against those of another, or of its own. */
CSIMI_FN void csimi_touch_sheets(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    const csimi_state *state = &d->world->store.state;
    const csimi_body *A = d->world->store.body + a->body;
    csimi_edge_search q;
    csimi_sheet_edge *e = q.e;
    int m, k;
    csimi_edge_search_start(&q, d, a, b, d->world->def.contact_distance);
    for (m = A->first_membrane; m < A->first_membrane + A->membrane_count; m++)
        for (k = 0; k < 3; k++) {
            const int *node = state->membrane + 3 * (size_t)m, beyond = state->membrane_beyond[3 * m + k];
            csimi_sheet_corner(d, e, 0, node[(k + 1) % 3]);
            csimi_sheet_corner(d, e, 1, node[(k + 2) % 3]);
            if (beyond >= 0 && e->node[0] > e->node[1]) continue; /* the triangle beyond has it */
            csimi_sheet_corner(d, e, 2, node[k]); /* the corner across from the edge */
            e->wings = 1 + (beyond >= 0);
            if (beyond >= 0) csimi_sheet_corner(d, e, 3, beyond);
            csimi_edge_search_on(d, &q);
        }
}

/* Edges of a cable against the edges and vertices of a solid or sheet; its nodes meet the triangles (narrow.c). */
CSIMI_FN void csimi_touch_surface(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    const csimi_body *A = d->world->store.body + a->body;
    csimi_edge_search q;
    int i, k;
    csimi_edge_search_start(&q, d, a, b, a->push + b->push); /* without speed: ways are followed */
    q.e->wings = 0;
    for (i = 0; i < A->frame_count; i++) {
        q.frame = A->first_frame + i;
        q.ends = false; /* asked for by the first contact */
        for (k = 0; k < 2; k++) csimi_sheet_corner(d, q.e, k, d->world->store.state.edge_node[2 * q.frame + k]);
        csimi_edge_search_on(d, &q);
    }
}
