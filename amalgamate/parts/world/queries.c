/* world/queries: the doors of queries, and what they ask of one leaf of the tree. */
#include "private.h"

enum { CSIMI_QUERY_GUARD = 0x435351u }; /* "CSQ" */

CSIM_API csim_query_def csim_default_query_def(void) {
    csim_query_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.category = d.mask = 0xffffffffu;
    d.guard = CSIMI_QUERY_GUARD;
    return d;
}

/* What is searched, and what was found so far. */
typedef struct csimi_search {
    const csim_world *w;
    const csim_query_def *def;
    csim_vec3 origin, way;
    csim_query_hit *hits; /* [capacity], in order: at first those of the lowest keys */
    int capacity, kept, found;
    bool any;         /* one is enough */
    csim_real most;   /* fractions or distances above it cannot be told */
    int ignore;       /* slot, -1: none */
    csim_pose pose;   /* of the rigid body `posed`: most have one shape, but not all */
    int posed;
    const csimi_convex *cast;  /* shapes that are cast or overlap */
    csim_vec3 lower, upper;    /* their bounds */
} csimi_search;

/* ---- refusals */

static bool csimi_query_refused(const csim_query_def *def, csim_status status, const char *fn, const char *field,
                                const char *allowed) {
    csimi_deny(def && def->guard == CSIMI_QUERY_GUARD ? def->error : NULL, status, fn, field, allowed);
    return true;
}

static bool csimi_query_bad_vec(const csim_query_def *def, const char *fn, const char *field, csim_vec3 v) {
    csim_error own, *error = def && def->error ? def->error : &own;
    return csimi_check_vec(error, fn, field, v) != CSIM_OK ||
           (csimi_max(csimi_abs(v.x), csimi_max(csimi_abs(v.y), csimi_abs(v.z))) > CSIM_R(1e9) &&
            csimi_query_refused(def, CSIM_OUT_OF_RANGE, fn, field, "coordinates within 1e9 m"));
}

/* Checks what all have in common and starts a search. */
static bool csimi_query_start(csimi_search *q, const csim_world *w, const csim_query_def *def, csim_vec3 origin,
                              csim_vec3 way, csim_query_hit *hits, int capacity, const char *fn) {
    csim_error own;
    int slot;
    CSIMI_MEMSET(q, 0, sizeof *q);
    if (def && def->guard != CSIMI_QUERY_GUARD)
        return !csimi_query_refused(def, CSIM_DEF_NOT_INITIALISED, fn, "def", "made by csim_default_query_def()");
    if (!w) return !csimi_query_refused(def, CSIM_NULL_ARGUMENT, fn, "world", "not null");
    if (w->locked) return !csimi_query_refused(def, CSIM_LOCKED, fn, NULL, NULL);
    if (capacity < 0) return !csimi_query_refused(def, CSIM_OUT_OF_RANGE, fn, "capacity", "at least 0");
    if (!hits && capacity > 0) return !csimi_query_refused(def, CSIM_NULL_ARGUMENT, fn, "hits", "not null");
    if (csimi_query_bad_vec(def, fn, "origin", origin) || csimi_query_bad_vec(def, fn, "way", way)) return false;
    q->w = w;
    q->def = def;
    q->origin = origin;
    q->way = way;
    q->hits = hits;
    q->capacity = capacity;
    q->most = 1;
    q->ignore = q->posed = -1;
    if (def && def->ignore.index1 != 0 && csimi_find_body(w, def->ignore, fn, &slot, &own) == CSIM_OK) q->ignore = slot;
    return w->live_bodies > 0;
}

/* ---- hits */

static bool csimi_query_asks(const csimi_search *q, int slot, int part) {
    const csimi_store *s = &q->w->store;
    const csimi_body *b = s->body + slot;
    const int shape = b->shape_count > 0 ? b->first_shape + part : -1;
    const csim_surface_def *surface = csimi_surface_def_of(s, slot, shape);
    if (slot == q->ignore || b->disabled) return false;
    if (shape >= 0 && s->skin[shape].sensor && !(q->def && q->def->sensors)) return false;
    return !q->def || ((surface->category & q->def->mask) && (surface->mask & q->def->category));
}

/* By value (fraction or distance), slot, index. */
static bool csimi_hit_before(const csim_query_hit *a, const csim_query_hit *b, bool by_distance) {
    const csim_real x = by_distance ? a->distance : a->fraction, y = by_distance ? b->distance : b->fraction;
    if (x < y || x > y) return x < y;
    if (a->body.index1 != b->body.index1) return a->body.index1 < b->body.index1;
    return a->index < b->index;
}

static csim_query_hit csimi_hit_of(const csimi_search *q, int slot, csim_query_part part, int index) {
    const csimi_store *s = &q->w->store;
    const csimi_body *b = s->body + slot;
    csim_query_hit h;
    CSIMI_MEMSET(&h, 0, sizeof h);
    h.body = csimi_body_id_of(q->w, slot);
    h.user_data = b->user_data;
    h.shape_user_data = part == CSIM_QUERY_SHAPE ? s->skin[b->first_shape + index].user_data : NULL;
    h.part = part;
    h.index = index;
    h.link = part == CSIM_QUERY_SHAPE ? s->shape_link[b->first_shape + index] : -1;
    return h;
}

/* Puts a hit into its place. A full array keeps what comes first; a search for one needs nothing behind it. */
static void csimi_keep_hit(csimi_search *q, const csim_query_hit *h, bool by_distance, bool one) {
    int at = q->kept;
    if (q->def && q->def->accept && !q->def->accept(q->def->user, h->body, h->user_data, h->part, h->index)) return;
    q->found++;
    if (q->any) return;
    if (q->kept == q->capacity && (at == 0 || !csimi_hit_before(h, q->hits + at - 1, by_distance))) return;
    if (q->kept < q->capacity)
        q->kept++;
    else
        at--;
    for (; at > 0 && csimi_hit_before(h, q->hits + at - 1, by_distance); at--) q->hits[at] = q->hits[at - 1];
    q->hits[at] = *h;
    if (one) q->most = by_distance ? h->distance : h->fraction;
}

static csim_pose csimi_query_pose(csimi_search *q, int slot, int shape) {
    const csimi_store *s = &q->w->store;
    if (s->body[slot].kind != CSIM_RIGID)
        return csim_pose_mul(csimi_shape_pose(s, &s->state, shape), s->shape[shape].local);
    if (q->posed != slot) q->pose = csimi_body_pose(s, &s->state, slot);
    q->posed = slot;
    return csim_pose_mul(q->pose, s->shape[shape].local);
}

/* The nodes of an edge of a cable. */
static void csimi_query_edge(const csimi_store *s, int slot, int part, csim_real *ends) {
    const int *node = s->state.edge_node + 2 * (size_t)(s->body[slot].first_frame + part);
    int k;
    for (k = 0; k < 2; k++) csimi_store3(ends + 3 * k, csimi_load3(s->state.x + 3 * (size_t)node[k]));
}

/* How far along the edge a point is, as weights of its nodes. */
static void csimi_weigh_edge(const csim_real *ends, csim_vec3 x, csim_real *weight) {
    const csim_vec3 a = csimi_load3(ends), e = csim_sub(csimi_load3(ends + 3), a);
    const csim_real square = csim_dot(e, e);
    weight[1] = square > 0 ? csimi_clamp(csim_dot(csim_sub(x, a), e) / square, 0, 1) : 0;
    weight[0] = 1 - weight[1];
}

/* An edge of a cable or a particle as a shape: axis along z. */
static csim_geometry csimi_query_round(const csim_real *ends, csim_real radius, csim_pose *pose) {
    const csim_vec3 a = csimi_load3(ends), b = csimi_load3(ends + 3), e = csim_sub(b, a);
    const csim_real length = csim_length(e);
    csim_geometry g;
    CSIMI_MEMSET(&g, 0, sizeof g);
    g.kind = length > 0 ? CSIM_SHAPE_CAPSULE : CSIM_SHAPE_SPHERE;
    g.local = csim_pose_identity();
    g.hull = -1;
    g.radius = radius;
    g.half_height = length / 2;
    g.bound = radius + length / 2;
    pose->position = csim_scale(CSIM_R(0.5), csim_add(a, b));
    pose->rotation = length > 0 ? csimi_quat_from_z(csim_scale(1 / length, e)) : csim_quat_identity();
    return g;
}

static csim_query_part csimi_part_of(const csimi_body *b) {
    if (b->shape_count > 0) return CSIM_QUERY_SHAPE;
    if (b->kind == CSIM_BODY_CABLE) return CSIM_QUERY_EDGE;
    return b->kind == CSIM_PARTICLE ? CSIM_QUERY_PARTICLE : CSIM_QUERY_TRIANGLE;
}

/* Geometry and pose of a leaf that is a shape or round; ends: of edges and particles. */
static const csim_geometry *csimi_leaf_shape(csimi_search *q, int slot, int part, csim_geometry *own, csim_pose *pose,
                                             csim_real *ends) {
    const csimi_store *s = &q->w->store;
    const csimi_body *b = s->body + slot;
    if (b->shape_count > 0) {
        *pose = csimi_query_pose(q, slot, b->first_shape + part);
        return s->shape + b->first_shape + part;
    }
    if (b->kind == CSIM_BODY_CABLE) {
        csimi_query_edge(s, slot, part, ends);
    } else {
        csimi_store3(ends, csimi_load3(s->state.x + 3 * (size_t)b->first_node));
        csimi_store3(ends + 3, csimi_load3(ends));
    }
    *own = csimi_query_round(ends, b->radius, pose);
    return own;
}

/* ---- rays */

static void csimi_tell_entry(csimi_search *q, csim_query_hit *h, csim_real fraction, csim_vec3 normal, bool one) {
    h->fraction = fraction;
    h->distance = fraction * csim_length(q->way);
    h->point = csim_madd(q->origin, fraction, q->way);
    h->normal = normal;
    csimi_keep_hit(q, h, false, one);
}

static CSIMI_NOINLINE void csimi_ray_leaf(csimi_search *q, int slot, int part, bool one) {
    const csimi_store *s = &q->w->store;
    const csimi_body *b = s->body + slot;
    csim_geometry own;
    csim_pose pose;
    csim_real ends[6];
    csimi_ray_hit ray;
    csim_query_hit h;
    const csim_geometry *g = csimi_leaf_shape(q, slot, part, &own, &pose, ends);
    const int found = csimi_ray_at(g, s->hull, pose, q->origin, q->way, q->most, &ray);
    if (found == 0) return;
    h = csimi_hit_of(q, slot, csimi_part_of(b), part);
    if ((found & CSIMI_RAY_BEGINS_INSIDE) && q->def && q->def->inside) {
        ray.fraction = 0;
        ray.normal = csimi_against(q->way);
        ray.feature = 0;
    } else if (!(found & CSIMI_RAY_ENTERS)) {
        return;
    }
    h.feature = h.part == CSIM_QUERY_SHAPE ? ray.feature : 0;
    if (h.part == CSIM_QUERY_EDGE) csimi_weigh_edge(ends, csim_madd(q->origin, ray.fraction, q->way), h.weight);
    csimi_tell_entry(q, &h, ray.fraction, ray.normal, one);
}

static void csimi_corners_of(const csimi_surface *surface, int face, csim_real *corner) {
    int k;
    for (k = 0; k < 3; k++)
        csimi_store3(corner + 3 * k,
                     csimi_load3(surface->x + 3 * (size_t)surface->triangle[3 * (size_t)face + (size_t)k]));
}

static csim_query_hit csimi_face_hit(const csimi_search *q, int slot, int face) {
    const csimi_store *s = &q->w->store;
    return csimi_hit_of(q, slot, CSIM_QUERY_TRIANGLE, s->face_triangle[s->body[slot].first_triangle + face]);
}

/* A solid around a point; the triangle nearest to it. */
static bool csimi_query_inside(const csimi_search *q, int slot, const csimi_surface *surface, csim_vec3 x,
                               csimi_surface_hit *hit) {
    csim_vec3 lower, upper;
    CSIMI_MEMSET(hit, 0, sizeof *hit);
    if (q->w->store.body[slot].kind == CSIM_BODY_CLOTH) return false;
    csimi_surface_bounds(surface, &lower, &upper);
    if (x.x < lower.x || x.y < lower.y || x.z < lower.z || x.x > upper.x || x.y > upper.y || x.z > upper.z)
        return false;
    return csimi_surface_nearest(surface, x, CSIMI_HUGE, NULL, hit) && hit->inside;
}

static CSIMI_NOINLINE void csimi_ray_surface(csimi_search *q, int slot, bool one) {
    const csimi_surface surface = csimi_look_surface(&q->w->store, slot);
    const bool sheet = q->w->store.body[slot].kind == CSIM_BODY_CLOTH;
    csimi_surface_ray ray;
    csimi_surface_hit nearest;
    int face, k;
    if (q->def && q->def->inside && csimi_query_inside(q, slot, &surface, q->origin, &nearest)) {
        csim_query_hit h = csimi_face_hit(q, slot, nearest.triangle);
        h.part = CSIM_QUERY_INSIDE;
        csimi_tell_entry(q, &h, 0, csimi_against(q->way), one);
    }
    csimi_surface_ray_along(&ray, &surface, q->origin, q->way, csim_v3(0, 0, 0), q->most);
    while ((face = csimi_surface_ray_met(&ray, q->origin, q->way, sheet)) >= 0) {
        csim_real corner[9], t, weight[3];
        csim_vec3 x[3], n;
        csim_query_hit h;
        csimi_corners_of(&surface, face, corner);
        for (k = 0; k < 3; k++) x[k] = csimi_load3(corner + 3 * k);
        if (!csimi_ray_triangle(x, q->origin, q->way, sheet, q->most, &t, weight)) continue;
        h = csimi_face_hit(q, slot, face);
        for (k = 0; k < 3; k++) h.weight[k] = weight[k];
        n = csimi_triangle_normal(&surface, face);
        csimi_tell_entry(q, &h, t, csim_dot(n, q->way) > 0 ? csim_scale(-1, n) : n, one);
        if (q->any && q->found > 0) return;
        ray.most = q->most;
    }
}

static void csimi_query_ray(csimi_search *q, bool one) {
    const csimi_look *l = &q->w->store.look;
    csimi_bounds_ray ray;
    int leaf;
    csimi_bounds_ray_along(&ray, &l->tree, q->origin, q->way, csim_v3(0, 0, 0), 1);
    while ((leaf = csimi_bounds_ray_next(&ray)) >= 0) {
        const int slot = l->leaf_body[leaf];
        if (!csimi_query_asks(q, slot, l->leaf_part[leaf])) continue;
        if (q->w->store.body[slot].triangle_count > 0)
            csimi_ray_surface(q, slot, one);
        else
            csimi_ray_leaf(q, slot, l->leaf_part[leaf], one);
        if (q->any && q->found > 0) return;
        ray.most = q->most;
    }
}

CSIM_API bool csim_world_cast_ray(const csim_world *w, const csim_query_def *def, csim_vec3 origin, csim_vec3 way,
                                  csim_query_hit *hit) {
    csimi_search q;
    csim_query_hit first;
    if (!csimi_query_start(&q, w, def, origin, way, &first, hit ? 1 : -1, "csim_world_cast_ray")) return false;
    csimi_query_ray(&q, true);
    if (q.kept > 0) *hit = first;
    return q.kept > 0;
}

CSIM_API int csim_world_cast_ray_all(const csim_world *w, const csim_query_def *def, csim_vec3 origin, csim_vec3 way,
                                     csim_query_hit *hits, int capacity) {
    csimi_search q;
    if (!csimi_query_start(&q, w, def, origin, way, hits, capacity, "csim_world_cast_ray_all")) return 0;
    csimi_query_ray(&q, false);
    return q.found;
}

CSIM_API bool csim_world_ray_meets(const csim_world *w, const csim_query_def *def, csim_vec3 origin, csim_vec3 way) {
    csimi_search q;
    if (!csimi_query_start(&q, w, def, origin, way, NULL, 0, "csim_world_ray_meets")) return false;
    q.any = true;
    csimi_query_ray(&q, false);
    return q.found > 0;
}

/* ---- casts and overlaps. An overlap is a cast that goes nowhere. */

static CSIMI_NOINLINE void csimi_cast_leaf(csimi_search *q, int slot, int part, bool one) {
    const csimi_store *s = &q->w->store;
    csim_geometry own;
    csim_pose pose;
    csim_real ends[6];
    csimi_ray_hit ray;
    csim_vec3 point;
    csim_query_hit h;
    const csim_geometry *g = csimi_leaf_shape(q, slot, part, &own, &pose, ends);
    if (!csimi_cast_at(q->cast, q->way, g, s->hull, pose, q->most, &ray, &point)) return;
    h = csimi_hit_of(q, slot, csimi_part_of(s->body + slot), part);
    h.feature = h.part == CSIM_QUERY_SHAPE ? ray.feature : 0;
    if (h.part == CSIM_QUERY_EDGE) csimi_weigh_edge(ends, point, h.weight);
    h.point = point;
    h.normal = ray.normal;
    h.fraction = ray.fraction;
    h.distance = ray.fraction * csim_length(q->way);
    csimi_keep_hit(q, &h, false, one);
}

/* The first triangle that is met, of those the one that comes first in the user's order. False: none. */
static CSIMI_NOINLINE bool csimi_cast_faces(csimi_search *q, int slot, const csimi_surface *surface,
                                            csim_query_hit *first) {
    const csim_vec3 half = csim_scale(CSIM_R(0.5), csim_sub(q->upper, q->lower));
    csimi_surface_ray ray;
    csim_real corner[9], t, most = q->most;
    bool found = false;
    int face;
    CSIMI_MEMSET(first, 0, sizeof *first);
    csimi_surface_ray_along(&ray, surface, csim_add(q->lower, half), q->way, half, most);
    while ((face = csimi_surface_ray_next(&ray)) >= 0) {
        csimi_convex piece;
        csim_vec3 on, n;
        csim_query_hit h;
        csimi_corners_of(surface, face, corner);
        csimi_convex_points(&piece, corner, 3);
        if (!csimi_convex_cast(q->cast, q->way, &piece, most, &t, &on, &n)) continue;
        h = csimi_face_hit(q, slot, face);
        h.fraction = t;
        if (found && !csimi_hit_before(&h, first, false)) continue;
        h.point = on;
        h.normal = n;
        h.distance = t * csim_length(q->way);
        csimi_closest_triangle(on, csimi_load3(corner), csimi_load3(corner + 3), csimi_load3(corner + 6), h.weight);
        *first = h;
        found = true;
        ray.most = most = t;
    }
    return found;
}

static CSIMI_NOINLINE void csimi_cast_surface(csimi_search *q, int slot, bool one) {
    const csimi_surface surface = csimi_look_surface(&q->w->store, slot);
    csim_query_hit h;
    csimi_surface_hit nearest;
    const bool found = csimi_cast_faces(q, slot, &surface, &h);
    const csim_vec3 middle = q->cast->kind == CSIM_SHAPE_HULL
                                 ? csim_pose_point(q->cast->pose, csimi_load3(q->cast->point))
                                 : q->cast->pose.position;
    if (!(found && !(h.fraction > 0)) && csimi_query_inside(q, slot, &surface, middle, &nearest)) {
        h = csimi_face_hit(q, slot, nearest.triangle);
        h.part = CSIM_QUERY_INSIDE;
        h.point = middle;
        h.normal = csimi_against(q->way);
    } else if (!found) {
        return;
    }
    csimi_keep_hit(q, &h, false, one);
}

static void csimi_query_cast(csimi_search *q, bool one) {
    const csimi_look *l = &q->w->store.look;
    const csim_vec3 half = csim_scale(CSIM_R(0.5), csim_sub(q->upper, q->lower));
    csimi_bounds_ray ray;
    int leaf;
    csimi_bounds_ray_along(&ray, &l->tree, csim_add(q->lower, half), q->way, half, 1);
    while ((leaf = csimi_bounds_ray_next(&ray)) >= 0) {
        const int slot = l->leaf_body[leaf];
        if (!csimi_query_asks(q, slot, l->leaf_part[leaf])) continue;
        if (q->w->store.body[slot].triangle_count > 0)
            csimi_cast_surface(q, slot, one);
        else
            csimi_cast_leaf(q, slot, l->leaf_part[leaf], one);
        ray.most = q->most;
    }
}

/* A shape of the user as a convex set; own: where its geometry is kept. */
static bool csimi_query_shape(csimi_search *q, const csim_shape *shape, csim_pose pose, csimi_convex *c,
                              csim_geometry *own, const char *fn) {
    csim_error said, *error = q->def && q->def->error ? q->def->error : &said;
    csim_pose at;
    if (!shape) return !csimi_query_refused(q->def, CSIM_NULL_ARGUMENT, fn, "shape", "not null");
    if (csimi_only_static(shape->kind) || shape->kind == CSIM_SHAPE_MESH)
        return !csimi_query_refused(q->def, CSIM_OUT_OF_RANGE, fn, "shape", "convex and bounded");
    if (csimi_check_pose(error, fn, "pose", pose) != CSIM_OK) return false;
    if (csimi_check_shape(fn, shape, error) != CSIM_OK) return false;
    at = shape->local;
    at.rotation = csim_quat_normalize(at.rotation);
    pose.rotation = csim_quat_normalize(pose.rotation);
    at = csim_pose_mul(pose, at);
    if (shape->kind == CSIM_SHAPE_HULL) {
        csimi_convex_points(c, &shape->points->x, shape->point_count);
        c->pose = at;
    } else {
        if (csim_shape_bake(shape, own, NULL, error) != CSIM_OK) return false;
        csimi_convex_of(c, own, NULL, at);
    }
    q->cast = c;
    csimi_convex_bounds(c, &q->lower, &q->upper);
    return true;
}

CSIM_API bool csim_world_cast_shape(const csim_world *w, const csim_query_def *def, const csim_shape *shape,
                                    csim_pose pose, csim_vec3 way, csim_query_hit *hit) {
    static const char fn[] = "csim_world_cast_shape";
    csimi_search q;
    csimi_convex c;
    csim_geometry own;
    csim_query_hit first;
    if (!csimi_query_start(&q, w, def, pose.position, way, &first, hit ? 1 : -1, fn)) return false;
    if (!csimi_query_shape(&q, shape, pose, &c, &own, fn)) return false;
    csimi_query_cast(&q, true);
    if (q.kept > 0) *hit = first;
    return q.kept > 0;
}

static int csimi_query_overlap(const csim_world *w, const csim_query_def *def, const csim_shape *shape, csim_pose pose,
                               csim_query_hit *hits, int capacity, const char *fn) {
    csimi_search q;
    csimi_convex c;
    csim_geometry own;
    int i;
    if (!csimi_query_start(&q, w, def, pose.position, csim_v3(0, 0, 0), hits, capacity, fn)) return 0;
    if (!csimi_query_shape(&q, shape, pose, &c, &own, fn)) return 0;
    q.most = 0;
    csimi_query_cast(&q, false);
    for (i = 0; i < q.kept; i++) {
        hits[i].point = hits[i].normal = csim_v3(0, 0, 0);
        CSIMI_MEMSET(hits[i].weight, 0, sizeof hits[i].weight);
    }
    return q.found;
}

CSIM_API int csim_world_overlap_shape(const csim_world *w, const csim_query_def *def, const csim_shape *shape,
                                      csim_pose pose, csim_query_hit *hits, int capacity) {
    return csimi_query_overlap(w, def, shape, pose, hits, capacity, "csim_world_overlap_shape");
}

CSIM_API int csim_world_overlap_box(const csim_world *w, const csim_query_def *def, csim_vec3 lower, csim_vec3 upper,
                                    csim_query_hit *hits, int capacity) {
    static const char fn[] = "csim_world_overlap_box";
    csim_pose pose = csim_pose_identity();
    csim_shape box;
    if (csimi_query_bad_vec(def, fn, "lower", lower) || csimi_query_bad_vec(def, fn, "upper", upper)) return 0;
    box = csim_box(csim_scale(CSIM_R(0.5), csim_sub(upper, lower)));
    pose.position = csim_scale(CSIM_R(0.5), csim_add(lower, upper));
    return csimi_query_overlap(w, def, &box, pose, hits, capacity, fn);
}

/* ---- closest points */

static void csimi_near_leaf(csimi_search *q, int slot, int part) {
    const csimi_store *s = &q->w->store;
    csim_geometry own;
    csim_pose pose;
    csim_real ends[6];
    csim_vec3 n = csim_v3(0, 0, 1);
    uint32_t zone = 0;
    csim_query_hit h;
    const csim_geometry *g = csimi_leaf_shape(q, slot, part, &own, &pose, ends);
    csim_real d;
    if (g->kind == CSIM_SHAPE_TRIANGLES) {
        d = csimi_distance_triangles(g->field, csim_pose_local(pose, q->origin),
                                     csimi_max(q->most, (csim_real)g->field->lower[1]), &n, &zone);
        n = csim_rotate(pose.rotation, n);
    } else {
        d = csimi_distance_at(g, s->hull, pose, q->origin, &n, &zone);
    }
    if (!(d <= q->most)) return;
    h = csimi_hit_of(q, slot, csimi_part_of(s->body + slot), part);
    h.feature = h.part == CSIM_QUERY_SHAPE ? zone : 0;
    h.distance = d;
    h.normal = n;
    h.point = csim_madd(q->origin, -d, n);
    if (h.part == CSIM_QUERY_EDGE) csimi_weigh_edge(ends, h.point, h.weight);
    csimi_keep_hit(q, &h, true, true);
}

static void csimi_near_surface(csimi_search *q, int slot) {
    const csimi_surface surface = csimi_look_surface(&q->w->store, slot);
    csimi_surface_hit near;
    csim_query_hit h;
    bool inside = csimi_query_inside(q, slot, &surface, q->origin, &near);
    int k;
    if (!inside && !(q->most >= 0 && csimi_surface_nearest(&surface, q->origin, q->most, NULL, &near))) return;
    h = csimi_face_hit(q, slot, near.triangle);
    h.distance = inside ? -near.distance : near.distance;
    if (!(h.distance <= q->most)) return;
    h.point = near.point;
    h.normal = near.normal;
    if (near.distance > 0) h.normal = csim_scale(1 / h.distance, csim_sub(q->origin, near.point));
    for (k = 0; k < 3; k++) h.weight[k] = near.weight[k];
    csimi_keep_hit(q, &h, true, true);
}

CSIM_API bool csim_world_closest_point(const csim_world *w, const csim_query_def *def, csim_vec3 point,
                                       csim_real within, csim_query_hit *hit) {
    static const char fn[] = "csim_world_closest_point";
    const csimi_look *l;
    csimi_search q;
    csimi_bounds_near near;
    csim_query_hit first;
    int leaf;
    if (!csimi_query_start(&q, w, def, point, csim_v3(0, 0, 0), &first, hit ? 1 : -1, fn)) return false;
    if (!csimi_finite(within) || within < 0)
        return !csimi_query_refused(def, CSIM_OUT_OF_RANGE, fn, "within", "at least 0 m");
    l = &w->store.look;
    q.most = within;
    csimi_bounds_near_to(&near, &l->tree, point, within < CSIM_R(1e12) ? within * within : CSIM_R(1e24));
    while ((leaf = csimi_bounds_near_next(&near)) >= 0) {
        const int slot = l->leaf_body[leaf];
        if (!csimi_query_asks(&q, slot, l->leaf_part[leaf])) continue;
        if (w->store.body[slot].triangle_count > 0)
            csimi_near_surface(&q, slot);
        else
            csimi_near_leaf(&q, slot, l->leaf_part[leaf]);
        near.most = q.most > 0 ? csimi_min(near.most, q.most * q.most * (1 + 8 * CSIMI_EPS)) : 0;
    }
    if (q.kept > 0) *hit = first;
    return q.kept > 0;
}
