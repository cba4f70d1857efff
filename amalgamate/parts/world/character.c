/* world/character: planes in reach of a capsule, slides along them, and moves. */
#include "private.h"

enum { CSIMI_PLANE_PARTS = 64, CSIMI_PLANE_SAMPLES = 5, CSIMI_MOVES = 8 };

/* ---- planes */

typedef struct csimi_reach {
    const csim_world *w;
    const csim_query_def *def;
    csimi_convex core; /* the axis */
    csim_real ends[6], radius, within;
    csim_plane *plane;
    int count, capacity;
} csimi_reach;

/* Keeps the nearest; of two alike the nearer one. */
static void csimi_keep_plane(csimi_reach *r, const csim_plane *p) {
    int i, at;
    if (!(p->gap <= r->within)) return;
    if (r->def && r->def->accept && !r->def->accept(r->def->user, p->body, p->user_data, p->part, p->index)) return;
    for (i = 0; i < r->count; i++) {
        const csim_plane *o = r->plane + i;
        if (o->body.index1 != p->body.index1 || csim_dot(o->normal, p->normal) < CSIM_R(0.999)) continue;
        if (o->gap <= p->gap) return;
        for (; i + 1 < r->count; i++) r->plane[i] = r->plane[i + 1];
        r->count--;
    }
    if (r->count == r->capacity && !(p->gap < r->plane[r->count - 1].gap)) return;
    at = r->count < r->capacity ? r->count++ : r->count - 1;
    for (; at > 0 && p->gap < r->plane[at - 1].gap; at--) r->plane[at] = r->plane[at - 1];
    r->plane[at] = *p;
}

static csim_plane csimi_plane_of(const csimi_reach *r, int slot, csim_query_part part, int index) {
    csim_plane p;
    CSIMI_MEMSET(&p, 0, sizeof p);
    p.body = csimi_body_id_of(r->w, slot);
    p.user_data = r->w->store.body[slot].user_data;
    p.part = part;
    p.index = index;
    return p;
}

static csim_vec3 csimi_axis_point(const csimi_reach *r, csim_real share) {
    const csim_vec3 a = csimi_load3(r->ends);
    return csim_madd(a, share, csim_sub(csimi_load3(r->ends + 3), a));
}

static csim_vec3 csimi_shape_velocity(const csimi_reach *r, int shape, csim_vec3 point) {
    const csimi_place place = csimi_shape_place(&r->w->store, shape, point);
    return csimi_place_velocity(&r->w->store.state, &place, point);
}

/* By points of the axis, where distances of convex sets do not tell: shapes that are not convex, and overlaps that
   reach the axis, of which the deepest point counts. */
static CSIMI_NOINLINE void csimi_sample_planes(csimi_reach *r, int shape, csim_pose pose, bool deepest, csim_plane p) {
    const csimi_store *s = &r->w->store;
    csim_plane best = p;
    int i;
    best.gap = CSIMI_HUGE;
    for (i = 0; i < CSIMI_PLANE_SAMPLES; i++) {
        const csim_vec3 x = csimi_axis_point(r, (csim_real)i / (CSIMI_PLANE_SAMPLES - 1));
        p.gap = csimi_distance_at(s->shape + shape, s->hull, pose, x, &p.normal, NULL);
        p.point = csim_madd(x, -p.gap, p.normal);
        p.gap -= r->radius;
        p.velocity = csimi_shape_velocity(r, shape, p.point);
        if (!deepest) csimi_keep_plane(r, &p);
        if (p.gap < best.gap) best = p;
    }
    if (deepest) csimi_keep_plane(r, &best);
}

/* Of a level of triangles: those in reach whose side is shown to the middle of the capsule, where none is nearer. */
static CSIMI_NOINLINE void csimi_level_planes(csimi_reach *r, int shape, csim_pose pose, csim_plane p) {
    const csimi_triangles t = csimi_triangles_of(r->w->store.shape[shape].field);
    const csim_real grow = r->radius + r->within;
    const csim_vec3 a = csim_pose_local(pose, csimi_axis_point(r, 0));
    const csim_vec3 b = csim_pose_local(pose, csimi_axis_point(r, 1));
    const csim_vec3 e = csim_v3(grow, grow, grow), middle = csim_scale(CSIM_R(0.5), csim_add(a, b));
    csim_real ends[6];
    csimi_convex axis, face;
    csimi_surface_walk walk;
    csimi_facet f;
    int place;
    csimi_store3(ends, a);
    csimi_store3(ends + 3, b);
    csimi_convex_segment(&axis, ends, 0);
    walk = csimi_surface_walk_in(
        &t.surface, csim_sub(csim_v3(csimi_min(a.x, b.x), csimi_min(a.y, b.y), csimi_min(a.z, b.z)), e),
        csim_add(csim_v3(csimi_max(a.x, b.x), csimi_max(a.y, b.y), csimi_max(a.z, b.z)), e));
    while ((place = csimi_surface_walk_next(&walk)) >= 0) {
        csim_vec3 n, on;
        bool snaps;
        if (!csimi_facet_of(&f, &t, place, middle)) continue;
        csimi_convex_points(&face, f.vertex, 3);
        p.gap = csimi_convex_distance(&axis, csim_v3(0, 0, 0), &face, &on, &n);
        if (!(p.gap > 0)) n = f.n, on = middle; /* the axis goes through it */
        if (!csimi_facet_allows(&f, n, &snaps)) continue;
        p.normal = csim_rotate(pose.rotation, n);
        p.point = csim_pose_point(pose, on);
        p.gap -= r->radius;
        csimi_keep_plane(r, &p);
    }
}

static CSIMI_NOINLINE void csimi_shape_plane(csimi_reach *r, int slot, int index) {
    const csimi_store *s = &r->w->store;
    const int shape = s->body[slot].first_shape + index;
    const csim_geometry *g = s->shape + shape;
    const csim_pose pose = csim_pose_mul(csimi_shape_pose(s, &s->state, shape), g->local);
    csim_plane p = csimi_plane_of(r, slot, CSIM_QUERY_SHAPE, index);
    csimi_convex b;
    if (g->kind == CSIM_SHAPE_TRIANGLES) {
        csimi_level_planes(r, shape, pose, p);
        return;
    }
    if (csimi_only_static(g->kind) || g->kind == CSIM_SHAPE_MESH) {
        csimi_sample_planes(r, shape, pose, false, p);
        return;
    }
    csimi_convex_of(&b, g, s->hull, pose);
    p.gap = csimi_convex_distance(&r->core, csim_v3(0, 0, 0), &b, &p.point, &p.normal);
    if (!(p.gap > 0)) {
        csimi_sample_planes(r, shape, pose, true, p);
        return;
    }
    p.gap -= r->radius;
    p.velocity = csimi_shape_velocity(r, shape, p.point);
    csimi_keep_plane(r, &p);
}

/* An edge of a cable or a particle: a segment with a radius. */
static CSIMI_NOINLINE void csimi_round_plane(csimi_reach *r, int slot, csim_query_part part, int index) {
    const csimi_store *s = &r->w->store;
    const csimi_body *b = s->body + slot;
    const int edge = b->first_frame + index;
    const int *node = part == CSIM_QUERY_EDGE ? s->state.edge_node + 2 * (size_t)edge : &b->first_node;
    const csim_vec3 x = csimi_load3(s->state.x + 3 * (size_t)node[0]);
    csim_plane p = csimi_plane_of(r, slot, part, index);
    csim_real ends[6];
    csimi_convex c;
    csimi_place place;
    csimi_store3(ends, x);
    csimi_store3(ends + 3, part == CSIM_QUERY_EDGE ? csimi_load3(s->state.x + 3 * (size_t)node[1]) : x);
    csimi_convex_segment(&c, ends, b->radius);
    p.gap = csimi_convex_distance(&r->core, csim_v3(0, 0, 0), &c, &p.point, &p.normal) - r->radius;
    if (p.gap <= -r->radius) p.normal = csim_v3(0, 0, 1); /* the axis is in it */
    place = part == CSIM_QUERY_EDGE ? csimi_place_edge(&s->state, edge, p.point) : csimi_place_node(node[0]);
    p.velocity = csimi_place_velocity(&s->state, &place, p.point);
    csimi_keep_plane(r, &p);
}

static CSIMI_NOINLINE void csimi_triangle_plane(csimi_reach *r, int slot, const csimi_surface *surface, int face) {
    const csimi_store *s = &r->w->store;
    const csimi_body *b = s->body + slot;
    csim_plane p = csimi_plane_of(r, slot, CSIM_QUERY_TRIANGLE, s->face_triangle[b->first_triangle + face]);
    const csim_vec3 flat = csimi_triangle_normal(surface, face), middle = csimi_axis_point(r, CSIM_R(0.5));
    csim_real corner[9], weight[3];
    csimi_convex c;
    int node[3], k;
    for (k = 0; k < 3; k++) {
        const int v = surface->triangle[3 * face + k];
        csimi_store3(corner + 3 * k, csimi_load3(surface->x + 3 * (size_t)v));
        node[k] = s->surface_node[b->first_surface + v];
    }
    csimi_convex_points(&c, corner, 3);
    p.gap = csimi_convex_distance(&r->core, csim_v3(0, 0, 0), &c, &p.point, &p.normal);
    if (!(p.gap > 0)) p.normal = flat, p.point = middle; /* the axis goes through it */
    if (b->kind != CSIM_BODY_CLOTH && csim_dot(p.normal, flat) < 0) return; /* from inside */
    p.gap -= r->radius;
    csimi_closest_triangle(p.point, csimi_load3(corner), csimi_load3(corner + 3), csimi_load3(corner + 6), weight);
    for (k = 0; k < 3; k++)
        p.velocity = csim_madd(p.velocity, weight[k], csimi_load3(s->state.v + 3 * (size_t)node[k]));
    csimi_keep_plane(r, &p);
}

static CSIMI_NOINLINE void csimi_surface_planes(csimi_reach *r, int slot) {
    const csimi_surface surface = csimi_look_surface(&r->w->store, slot);
    const csim_real grow = r->radius + r->within;
    csim_vec3 lower, upper;
    csimi_surface_walk walk;
    int face;
    csimi_convex_bounds(&r->core, &lower, &upper);
    walk = csimi_surface_walk_in(&surface, csim_sub(lower, csim_v3(grow, grow, grow)),
                                 csim_add(upper, csim_v3(grow, grow, grow)));
    while ((face = csimi_surface_walk_next(&walk)) >= 0) csimi_triangle_plane(r, slot, &surface, face);
}

static CSIMI_NOINLINE bool csimi_capsule_refused(const csim_world *w, const csim_query_def *def, const csim_mover *c,
                                  csim_real within, const char *fn) {
    csim_error own, *error = def && def->error ? def->error : &own;
    if (def && def->guard != csim_default_query_def().guard) return true;
    if (w && w->locked) return csimi_deny(error, CSIM_LOCKED, fn, NULL, NULL) != CSIM_OK;
    if (!c) return csimi_missing(error, fn, "capsule") != CSIM_OK;
    if (csimi_check_vec(error, fn, "capsule.a", c->a) || csimi_check_vec(error, fn, "capsule.b", c->b)) return true;
    if (!(c->radius > 0 && c->radius <= CSIM_R(1e9)))
        return csimi_unfit(error, fn, "capsule.radius", (double)c->radius, "above 0, at most 1e9") != CSIM_OK;
    if (!(within >= 0 && within <= CSIM_R(1e9)))
        return csimi_unfit(error, fn, "within", (double)within, "0..1e9") != CSIM_OK;
    return false;
}

static CSIMI_NOINLINE bool csimi_way_refused(const csim_query_def *def, csim_vec3 way, const char *fn) {
    csim_error own;
    return csimi_check_vec(def && def->error ? def->error : &own, fn, "way", way) != CSIM_OK;
}

/* The capsule as a shape about its middle. */
static csim_shape csimi_capsule_shape(const csim_mover *c, csim_real grow, csim_pose *pose) {
    const csim_vec3 e = csim_sub(c->b, c->a);
    const csim_real length = csim_length(e);
    pose->position = csim_madd(c->a, CSIM_R(0.5), e);
    pose->rotation = length > 0 ? csimi_quat_from_z(csim_scale(1 / length, e)) : csim_quat_identity();
    return length > 0 ? csim_capsule(c->radius + grow, length / 2) : csim_sphere(c->radius + grow);
}

/* What the boxes of leaves have in reach, by slot and part, so that the past of the tree is not seen in the answer. */
typedef struct csimi_parts {
    int slot[CSIMI_PLANE_PARTS], part[CSIMI_PLANE_PARTS], count;
} csimi_parts;

static void csimi_part_in_reach(csimi_parts *p, int slot, int part) {
    int at = p->count, i;
    while (at > 0 && (slot < p->slot[at - 1] || (slot == p->slot[at - 1] && part < p->part[at - 1]))) at--;
    if (at == CSIMI_PLANE_PARTS) return;
    if (p->count < CSIMI_PLANE_PARTS) p->count++;
    for (i = p->count - 1; i > at; i--) {
        p->slot[i] = p->slot[i - 1];
        p->part[i] = p->part[i - 1];
    }
    p->slot[at] = slot;
    p->part[at] = part;
}

/* As queries: sensors only if asked for, nothing that is disabled, and what the filter lets through. */
static bool csimi_capsule_asks(const csimi_store *s, const csim_query_def *def, int slot, int part) {
    const csimi_body *b = s->body + slot;
    const int shape = b->shape_count > 0 ? b->first_shape + part : -1;
    const csim_surface_def *surface = csimi_surface_def_of(s, slot, shape);
    if (b->disabled || (shape >= 0 && s->skin[shape].sensor && !(def && def->sensors))) return false;
    return !def || ((surface->category & def->mask) && (surface->mask & def->category));
}

static CSIMI_NOINLINE void csimi_parts_in_reach(const csimi_reach *r, const csim_query_def *def, csimi_parts *p) {
    const csimi_store *s = &r->w->store;
    const csimi_look *l = &s->look;
    const csim_real grow = r->radius + r->within;
    csimi_bounds_walk walk;
    csim_vec3 lower, upper;
    int leaf, ignore = -1;
    if (def && def->ignore.index1 != 0 && csimi_find_body(r->w, def->ignore, "", &ignore, NULL)) ignore = -1;
    csimi_convex_bounds(&r->core, &lower, &upper);
    csimi_bounds_walk_in(&walk, &l->tree, csim_sub(lower, csim_v3(grow, grow, grow)),
                         csim_add(upper, csim_v3(grow, grow, grow)));
    while ((leaf = csimi_bounds_next(&walk)) >= 0) {
        const int slot = l->leaf_body[leaf], part = l->leaf_part[leaf];
        if (slot != ignore && csimi_capsule_asks(s, def, slot, part)) csimi_part_in_reach(p, slot, part);
    }
}

CSIM_API int csim_world_capsule_planes(const csim_world *w, const csim_query_def *def, const csim_mover *capsule,
                                       csim_real within, csim_plane *planes, int capacity) {
    csimi_parts parts;
    csimi_reach r;
    int i;
    if (!w || !planes || capacity < 1 || csimi_capsule_refused(w, def, capsule, within, "csim_world_capsule_planes"))
        return 0;
    CSIMI_MEMSET(&r, 0, sizeof r);
    r.w = w;
    r.def = def;
    csimi_store3(r.ends, capsule->a);
    csimi_store3(r.ends + 3, capsule->b);
    csimi_convex_segment(&r.core, r.ends, 0);
    r.radius = capsule->radius;
    r.within = within;
    r.plane = planes;
    r.capacity = csimi_imin(capacity, CSIM_PLANES_MOST);
    parts.count = 0;
    if (w->live_bodies > 0) csimi_parts_in_reach(&r, def, &parts);
    for (i = 0; i < parts.count; i++) {
        const csimi_body *b = w->store.body + parts.slot[i];
        if (b->shape_count > 0)
            csimi_shape_plane(&r, parts.slot[i], parts.part[i]);
        else if (b->triangle_count > 0)
            csimi_surface_planes(&r, parts.slot[i]);
        else
            csimi_round_plane(&r, parts.slot[i],
                              b->kind == CSIM_BODY_CABLE ? CSIM_QUERY_EDGE : CSIM_QUERY_PARTICLE, parts.part[i]);
    }
    return r.count;
}

/* ---- slides */

/* The largest violation of the planes by x. */
static double csimi_slide_violation(const csim_plane *planes, int count, csim_real skin, const double *x) {
    double worst = 0;
    int i;
    for (i = 0; i < count; i++) {
        const csim_vec3 n = planes[i].normal;
        const double by = (double)(skin - planes[i].gap) - (double)n.x * x[0] - (double)n.y * x[1] - (double)n.z * x[2];
        if (by > worst) worst = by;
    }
    return worst;
}

/* The point nearest to way on m planes, m <= 3: way + N' y with N N' y = l - N way. False: they are parallel. */
static bool csimi_slide_on(const csim_plane *const *on, int m, csim_real skin, csim_vec3 way, double *x) {
    double G[3][4], y[3] = {0, 0, 0};
    int i, k, p;
    for (i = 0; i < m; i++) {
        for (k = 0; k < m; k++) G[i][k] = (double)csim_dot(on[i]->normal, on[k]->normal);
        G[i][3] = (double)(skin - on[i]->gap) - (double)csim_dot(on[i]->normal, way);
    }
    for (p = 0; p < m; p++) { /* symmetric and positive: no pivoting */
        if (!(G[p][p] > 1e-6)) return false;
        for (i = p + 1; i < m; i++) {
            const double f = G[i][p] / G[p][p];
            for (k = p; k < m; k++) G[i][k] -= f * G[p][k];
            G[i][3] -= f * G[p][3];
        }
    }
    for (p = m - 1; p >= 0; p--) {
        y[p] = G[p][3];
        for (k = p + 1; k < m; k++) y[p] -= G[p][k] * y[k];
        y[p] /= G[p][p];
    }
    x[0] = (double)way.x, x[1] = (double)way.y, x[2] = (double)way.z;
    for (i = 0; i < m; i++) {
        x[0] += y[i] * (double)on[i]->normal.x;
        x[1] += y[i] * (double)on[i]->normal.y;
        x[2] += y[i] * (double)on[i]->normal.z;
    }
    return true;
}

typedef struct csimi_slide {
    const csim_plane *planes;
    int count;
    csim_real skin;
    csim_vec3 way;
    double tolerance, violation, distance, best[3];
} csimi_slide;

/* The nearest of those that keep to all planes; where none does, the one that violates them least. */
static void csimi_slide_try(csimi_slide *s, const csim_plane *const *on, int m) {
    double x[3], away = 0, by;
    if (!csimi_slide_on(on, m, s->skin, s->way, x)) return;
    by = csimi_slide_violation(s->planes, s->count, s->skin, x);
    by = by > s->tolerance ? by : 0;
    away += (x[0] - (double)s->way.x) * (x[0] - (double)s->way.x);
    away += (x[1] - (double)s->way.y) * (x[1] - (double)s->way.y);
    away += (x[2] - (double)s->way.z) * (x[2] - (double)s->way.z);
    if (by > s->violation || (by >= s->violation && away >= s->distance)) return;
    s->violation = by;
    s->distance = away;
    CSIMI_MEMCPY(s->best, x, sizeof x);
}

CSIM_API csim_vec3 csim_slide(const csim_plane *planes, int count, csim_real skin, csim_vec3 way) {
    const csim_plane *on[3] = {NULL, NULL, NULL};
    csimi_slide s;
    int i, j, k;
    count = planes ? csimi_imin(count, CSIM_PLANES_MOST) : 0;
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.planes = planes;
    s.count = count;
    s.skin = skin;
    s.way = way;
    s.tolerance = 64 * (double)CSIMI_EPS * (1 + (double)csim_length(way));
    s.violation = s.distance = 1e300;
    csimi_slide_try(&s, on, 0);
    for (i = 0; i < count && (s.violation > 0 || s.distance > 0); i++) { /* unless the way itself is open */
        on[0] = planes + i;
        csimi_slide_try(&s, on, 1);
        for (j = 0; j < i; j++) {
            on[1] = planes + j;
            csimi_slide_try(&s, on, 2);
            for (k = 0; k < j; k++) {
                on[2] = planes + k;
                csimi_slide_try(&s, on, 3);
            }
        }
    }
    return csim_v3((csim_real)s.best[0], (csim_real)s.best[1], (csim_real)s.best[2]);
}

/* ---- moves */

CSIM_API bool csim_world_cast_capsule(const csim_world *w, const csim_query_def *def, const csim_mover *capsule,
                                      csim_vec3 way, csim_query_hit *hit) {
    csim_shape shape;
    csim_pose pose;
    if (csimi_capsule_refused(w, def, capsule, 0, "csim_world_cast_capsule")) return false;
    shape = csimi_capsule_shape(capsule, 0, &pose);
    return csim_world_cast_shape(w, def, &shape, pose, way, hit);
}

/* What of a step the capsule can go before it meets something that no plane told of. What it touches and leaves does
   not stop it. */
static CSIMI_NOINLINE csim_real csimi_move_clear(const csim_world *w, const csim_query_def *def, csim_mover thin,
                                                 csim_vec3 step, csim_real skin) {
    csim_query_hit hit;
    int look;
    for (look = 0; look < 2; look++) {
        if (!csim_world_cast_capsule(w, def, &thin, step, &hit)) return 1;
        if (hit.fraction > 0) return hit.fraction * CSIM_R(0.999);
        if (csim_dot(hit.normal, step) < 0) return 0;
        thin.radius -= csimi_min(skin, thin.radius) / 2;
    }
    return 1;
}

CSIM_API csim_vec3 csim_world_move_capsule(const csim_world *w, const csim_query_def *def, const csim_mover *capsule,
                                           csim_vec3 way, csim_real skin, csim_plane *planes, int capacity,
                                           int *count) {
    static const char fn[] = "csim_world_move_capsule";
    csim_plane reach[CSIM_PLANES_MOST];
    csim_mover at;
    csim_vec3 left = way, gone = csim_v3(0, 0, 0);
    int k;
    if (count) *count = 0;
    if (csimi_capsule_refused(w, def, capsule, skin, fn) || csimi_way_refused(def, way, fn)) return gone;
    at = *capsule;
    for (k = 0; k < CSIMI_MOVES; k++) {
        const csim_real length = csim_length(left);
        const int n = csim_world_capsule_planes(w, def, &at, length + 2 * skin, reach, CSIM_PLANES_MOST);
        csim_vec3 step = csim_slide(reach, n, skin, left);
        const csim_real clear = csimi_move_clear(w, def, at, step, skin);
        step = csim_scale(clear, step);
        at.a = csim_add(at.a, step);
        at.b = csim_add(at.b, step);
        gone = csim_add(gone, step);
        left = csim_sub(left, step);
        if (!(csim_length(step) > CSIM_R(1e-3) * skin + 16 * CSIMI_EPS * csim_length(way))) break;
    }
    if (planes && capacity > 0) {
        k = csim_world_capsule_planes(w, def, &at, 2 * skin, planes, capacity);
        if (count) *count = k;
    }
    return gone;
}
