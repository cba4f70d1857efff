/* collide/distance: signed distance of a point to a shape. Everything happens in the frame of the shape. */
#include "private.h"

/* A direction with a fallback: the normal must never be zero. */
static csim_vec3 csimi_direction(csim_vec3 d, csim_vec3 otherwise) {
    csim_vec3 n = csim_normalize(d);
    return csim_dot(n, n) > 0 ? n : otherwise;
}

/* Zones: 1 above, 2 below, 0 between the ends of the segment. */
static csim_real csimi_distance_capsule(const csim_geometry *g, csim_vec3 x, csim_vec3 *n, uint32_t *zone) {
    csim_real z = csimi_clamp(x.z, -g->half_height, g->half_height);
    csim_vec3 d = csim_v3(x.x, x.y, x.z - z);
    *zone = x.z > g->half_height ? 1u : x.z < -g->half_height ? 2u : 0u;
    *n = csimi_direction(d, g->half_height > 0 ? csim_v3(1, 0, 0) : csim_v3(0, 0, 1));
    return csim_length(d) - g->radius;
}

/* Zones: one digit to the base 3 for each axis: 0 beyond the low face, 1 between, 2 beyond the high face. The point
   nearest to an inner one lies on the face it is least deep under. */
static csim_real csimi_distance_box(const csim_geometry *g, csim_vec3 x, csim_vec3 *n, uint32_t *zone) {
    csim_real p[3], half[3], out[3], d[3];
    uint32_t digit = 1;
    int k, top = 0;
    bool inside;
    csimi_store3(p, x);
    csimi_store3(half, g->half);
    for (k = 0; k < 3; ++k) {
        out[k] = csimi_abs(p[k]) - half[k];
        if (out[k] > out[top]) top = k;
    }
    inside = out[top] <= 0;
    for (k = 0, *zone = 0; k < 3; ++k, digit *= 3) {
        bool beyond = k == top || out[k] > 0;
        csim_real side = p[k] < 0 ? CSIM_R(-1) : CSIM_R(1);
        *zone += beyond ? digit * (p[k] < 0 ? 0u : 2u) : digit;
        d[k] = !beyond ? 0 : inside ? side : side * out[k];
    }
    *n = csim_normalize(csimi_load3(d));
    return inside ? out[top] : csim_length(csimi_load3(d));
}

/* Zones: 0 side, 1 top, 2 bottom, 3 top rim, 4 bottom rim. */
static csim_real csimi_distance_cylinder(const csim_geometry *g, csim_vec3 x, csim_vec3 *n, uint32_t *zone) {
    csim_vec3 axial = csim_v3(0, 0, x.z < 0 ? -1 : 1), radial = csim_v3(1, 0, 0);
    csim_real across = csim_length(csim_v3(x.x, x.y, 0)), along = csimi_abs(x.z) - g->half_height;
    uint32_t below = x.z < 0;
    if (across > 0) radial = csim_v3(x.x / across, x.y / across, 0);
    across -= g->radius;
    if (across > 0 && along > 0) {
        csim_vec3 d = csim_madd(csim_scale(across, radial), along, axial);
        *zone = 3 + below;
        *n = csimi_direction(d, radial);
        return csim_length(d);
    }
    *zone = across > along ? 0 : 1 + below;
    *n = across > along ? radial : axial;
    return csimi_max(across, along);
}

/* ---- hulls */

/* True when the projection of x onto the face lies in its polygon. */
static bool csimi_over_face(const csim_hull_data *h, int face, csim_vec3 x) {
    int start = h->face_start[face], end = h->face_start[face + 1], i;
    csim_vec3 n = csimi_load3(h->normal + 3 * face), from = csimi_load3(h->vertex + 3 * h->face_vertex[end - 1]);
    for (i = start; i < end; ++i) {
        csim_vec3 to = csimi_load3(h->vertex + 3 * h->face_vertex[i]);
        if (csim_dot(csim_cross(n, csim_sub(to, from)), csim_sub(x, from)) < 0) return false;
        from = to;
    }
    return true;
}

/* The vector from the nearest point of all edges to x; zone of that edge or corner. */
static csim_vec3 csimi_from_edges(const csim_hull_data *h, csim_vec3 x, uint32_t *zone) {
    csim_vec3 nearest = csim_v3(0, 0, 0);
    csim_real least = 0;
    int i;
    for (i = 0; i < h->edge_count; ++i) {
        int a = h->edge_vertex[2 * i], b = h->edge_vertex[2 * i + 1];
        csim_vec3 p = csimi_load3(h->vertex + 3 * a), e = csim_sub(csimi_load3(h->vertex + 3 * b), p), d, r;
        csim_real length = csim_dot(e, e), t, square;
        d = csim_sub(x, p);
        t = csim_dot(d, e);
        r = t <= 0 ? d : t >= length ? csim_sub(d, e) : csim_madd(d, -t / length, e);
        square = csim_dot(r, r);
        if (i > 0 && square >= least) continue;
        least = square;
        nearest = r;
        *zone = t <= 0 ? 0x200u + (uint32_t)a : t >= length ? 0x200u + (uint32_t)b : 0x100u + (uint32_t)i;
    }
    return nearest;
}

/* Zones: face number, 0x100 + edge number, 0x200 + vertex number. */
static csim_real csimi_distance_hull(const csim_geometry *g, const csim_hull_data *h, csim_vec3 x, csim_vec3 *n,
                                     uint32_t *zone) {
    csim_real most = -CSIMI_HUGE, d;
    csim_vec3 r;
    int i, top = 0;
    for (i = 0; i < h->face_count; ++i) {
        d = csim_dot(csimi_load3(h->normal + 3 * i), x) - h->offset[i];
        if (d > 0 && csimi_over_face(h, i, x)) break;
        if (d <= most) continue;
        most = d;
        top = i;
    }
    if (i < h->face_count) {
        most = d;
        top = i;
    }
    *n = csimi_load3(h->normal + 3 * top);
    *zone = (uint32_t)top;
    if (most <= 0 || i < h->face_count) return most;
    r = csimi_from_edges(h, x, zone);
    d = csim_length(r);
    if (d > 64 * CSIMI_EPS * g->bound) *n = csim_scale(1 / d, r); /* else r is rounding: the face tells more */
    return d;
}

CSIMI_FN csim_real csimi_distance_at(const csim_geometry *g, const csim_hull_data *hulls, csim_pose p, csim_vec3 point,
                                     csim_vec3 *normal, uint32_t *feature) {
    csim_vec3 x = csim_pose_local(p, point), n = csim_v3(0, 0, 1);
    csim_real d = 0;
    uint32_t zone = 0;
    switch (csimi_kind_of(g)) {
    case CSIM_SHAPE_HALF_SPACE: d = x.z; break;
    case CSIM_SHAPE_SPHERE:
        n = csimi_direction(x, n);
        d = csim_length(x) - g->radius;
        break;
    case CSIM_SHAPE_CAPSULE: d = csimi_distance_capsule(g, x, &n, &zone); break;
    case CSIM_SHAPE_BOX: d = csimi_distance_box(g, x, &n, &zone); break;
    case CSIM_SHAPE_CYLINDER: d = csimi_distance_cylinder(g, x, &n, &zone); break;
    case CSIM_SHAPE_HULL: d = csimi_distance_hull(g, hulls + g->hull, x, &n, &zone); break;
    case CSIM_SHAPE_MESH: d = csimi_distance_mesh(g->field, x, &n); break;
    case CSIM_SHAPE_HEIGHTS: d = csimi_distance_heights(g->field, x, CSIMI_HUGE, &n); break;
    case CSIM_SHAPE_TRIANGLES: d = csimi_distance_triangles(g->field, x, CSIMI_HUGE, &n, &zone); break;
    case CSIM_SHAPE_COUNT_: break;
    }
    if (normal) *normal = csim_rotate(p.rotation, n);
    if (feature) *feature = zone;
    return d;
}

CSIMI_FN csim_real csimi_distance_within(const csim_geometry *g, const csim_hull_data *hulls, csim_pose p,
                                         csim_vec3 point, csim_real within, csim_vec3 *normal) {
    csimi_foot foot;
    if (g->kind == CSIM_SHAPE_HEIGHTS) {
        const csim_real d = csimi_distance_heights(g->field, csim_pose_local(p, point), within, normal);
        *normal = csim_rotate(p.rotation, *normal);
        return d;
    }
    if (g->kind != CSIM_SHAPE_TRIANGLES) return csimi_distance_at(g, hulls, p, point, normal, NULL);
    if (csimi_triangles_feet(g->field, csim_pose_local(p, point), within, &foot, 1) == 0) return CSIMI_HUGE;
    *normal = csim_rotate(p.rotation, foot.normal);
    return foot.distance;
}

CSIM_API csim_real csim_shape_distance(const csim_geometry *geometry, const csim_hull_data *hulls, csim_pose pose,
                                       csim_vec3 point, csim_vec3 *normal, uint32_t *feature) {
    return csimi_distance_at(geometry, hulls, csim_pose_mul(pose, geometry->local), point, normal, feature);
}

CSIM_API csim_real csim_hull_overhang(const csim_vec3 *points, int point_count, const csim_hull_data *hull) {
    csim_real most = 0;
    csim_geometry g;
    int i;
    if (!points || !hull || hull->vertex_count < 4) return 0;
    CSIMI_MEMSET(&g, 0, sizeof g);
    g.kind = CSIM_SHAPE_HULL;
    g.local = csim_pose_identity();
    csimi_bound_hull(hull, &g);
    for (i = 0; i < point_count; ++i)
        most = csimi_max(most, csim_shape_distance(&g, hull, csim_pose_identity(), points[i], NULL, NULL));
    return most;
}
