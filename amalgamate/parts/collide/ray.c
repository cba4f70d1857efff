/* collide/ray: where the way of a point enters a shape. Everything happens in the frame of the shape; x is the origin,
   w the way, fractions of it are t. */
#include "private.h"

/* The part of a way inside something convex: it enters at `first` through the face of `normal` and leaves at `last`. */
typedef struct csimi_stay {
    csim_real first, last;
    csim_vec3 normal;
    uint32_t feature;
} csimi_stay;

static csimi_stay csimi_stay_all(void) {
    csimi_stay s;
    s.first = -CSIMI_HUGE;
    s.last = CSIMI_HUGE;
    s.normal = csim_v3(0, 0, 1);
    s.feature = 0;
    return s;
}

/* What is left of a stay below the plane n . y = offset. */
static void csimi_stay_below(csimi_stay *s, csim_vec3 n, csim_real offset, csim_vec3 x, csim_vec3 w, uint32_t feature) {
    const csim_real above = csim_dot(n, x) - offset, rise = csim_dot(n, w);
    if (rise < 0) {
        if (above <= s->first * -rise) return;
        s->first = above / -rise;
        s->normal = n;
        s->feature = feature;
    } else if (rise > 0) {
        s->last = csimi_min(s->last, -above / rise);
    } else if (above > 0) {
        s->last = -CSIMI_HUGE;
    }
}

static int csimi_stay_told(const csimi_stay *s, csim_real most, csimi_ray_hit *hit) {
    if (!(s->first <= s->last)) return 0;
    if (s->first <= 0) return s->last > 0 ? CSIMI_RAY_BEGINS_INSIDE : 0;
    if (s->first > most) return 0;
    hit->fraction = s->first;
    hit->normal = s->normal;
    hit->feature = s->feature;
    return CSIMI_RAY_ENTERS;
}

/* Fractions at which a line is at distance r of a point; m: from the point to the origin. By way of the nearest point
   of the line, so that an origin far away costs no digits. */
static bool csimi_stay_round(csim_vec3 m, csim_vec3 w, csim_real r, csim_real *first, csim_real *last) {
    const csim_real square = csim_dot(w, w);
    csim_real middle, half;
    csim_vec3 d;
    if (!(square > 0)) {
        *first = -CSIMI_HUGE;
        *last = CSIMI_HUGE;
        return csim_dot(m, m) <= r * r;
    }
    middle = -csim_dot(m, w) / square;
    d = csim_madd(m, middle, w);
    half = r * r - csim_dot(d, d);
    if (!(half >= 0)) return false;
    half = CSIMI_SQRT(half / square);
    *first = middle - half;
    *last = middle + half;
    return true;
}

static int csimi_ray_ball(csim_vec3 centre, csim_real r, csim_vec3 x, csim_vec3 w, csim_real most, uint32_t feature,
                          csimi_ray_hit *hit) {
    csimi_stay s = csimi_stay_all();
    int found;
    if (!csimi_stay_round(csim_sub(x, centre), w, r, &s.first, &s.last)) return 0;
    s.feature = feature;
    found = csimi_stay_told(&s, most, hit);
    if (found & CSIMI_RAY_ENTERS) hit->normal = csim_normalize(csim_sub(csim_madd(x, hit->fraction, w), centre));
    return found;
}

/* Through the barrel where it is met between the ends, else through the ball at that end. */
static int csimi_ray_capsule(const csim_geometry *g, csim_vec3 x, csim_vec3 w, csim_real most, csimi_ray_hit *hit) {
    csim_vec3 m = csim_v3(x.x, x.y, 0);
    csimi_stay s = csimi_stay_all();
    csim_real z, t;
    if (!csimi_stay_round(m, csim_v3(w.x, w.y, 0), g->radius, &s.first, &s.last)) return 0;
    t = csimi_max(s.first, 0);
    z = x.z + t * w.z;
    if (csimi_abs(z) > g->half_height)
        return csimi_ray_ball(csim_v3(0, 0, z > 0 ? g->half_height : -g->half_height), g->radius, x, w, most,
                              z > 0 ? 1u : 2u, hit);
    s.normal = csim_normalize(csim_madd(m, s.first, csim_v3(w.x, w.y, 0)));
    return csimi_stay_told(&s, most, hit);
}

static int csimi_ray_cylinder(const csim_geometry *g, csim_vec3 x, csim_vec3 w, csim_real most, csimi_ray_hit *hit) {
    const csim_vec3 m = csim_v3(x.x, x.y, 0), across = csim_v3(w.x, w.y, 0);
    csimi_stay s = csimi_stay_all();
    if (!csimi_stay_round(m, across, g->radius, &s.first, &s.last)) return 0;
    s.normal = csim_normalize(csim_madd(m, s.first, across));
    csimi_stay_below(&s, csim_v3(0, 0, 1), g->half_height, x, w, 1);
    csimi_stay_below(&s, csim_v3(0, 0, -1), g->half_height, x, w, 2);
    return csimi_stay_told(&s, most, hit);
}

static int csimi_ray_box(const csim_geometry *g, csim_vec3 x, csim_vec3 w, csim_real most, csimi_ray_hit *hit) {
    static const uint32_t digit[3] = {1, 3, 9};
    csimi_stay s = csimi_stay_all();
    csim_real half[3];
    int k;
    csimi_store3(half, g->half);
    for (k = 0; k < 3; k++) { /* zones of csim_shape_distance: 13 is the middle, a digit to the base 3 an axis */
        const csim_vec3 n = csim_v3(k == 0, k == 1, k == 2);
        csimi_stay_below(&s, n, half[k], x, w, 13 + digit[k]);
        csimi_stay_below(&s, csim_scale(-1, n), half[k], x, w, 13 - digit[k]);
        if (s.first > s.last) return 0;
    }
    return csimi_stay_told(&s, most, hit);
}

static int csimi_ray_hull(const csim_hull_data *h, csim_vec3 x, csim_vec3 w, csim_real most, csimi_ray_hit *hit) {
    csimi_stay s = csimi_stay_all();
    int i;
    for (i = 0; i < h->face_count && s.first <= s.last; i++)
        csimi_stay_below(&s, csimi_load3(h->normal + 3 * i), h->offset[i], x, w, (uint32_t)i);
    return csimi_stay_told(&s, most, hit);
}

/* ---- heights: along the way the height above a triangle is linear. The way is cut where it crosses lines of the grid
   and diagonals of its cells, and enters where the sign changes: no seam lets it through. */

typedef struct csimi_height_ray {
    const csim_field *f;
    csim_vec3 x, w;
    csim_real inverse[2]; /* 1 / w, 0 where w is */
    csim_real most;
    csimi_ray_hit *hit;
} csimi_height_ray;

/* Above a triangle of a cell at fraction t. */
static csim_real csimi_height_over(const csimi_height_ray *r, int i, int j, int half, csim_real t, csim_vec3 *n) {
    const csim_vec3 a = csimi_height_node(r->f, i, j), c = csimi_height_node(r->f, i + 1, j + 1);
    const csim_vec3 b = half ? csimi_height_node(r->f, i, j + 1) : csimi_height_node(r->f, i + 1, j);
    const csim_vec3 p = csim_madd(r->x, t, r->w);
    *n = half ? csim_cross(csim_sub(c, a), csim_sub(b, a)) : csim_cross(csim_sub(b, a), csim_sub(c, a));
    return csim_dot(*n, csim_sub(p, a)) / n->z;
}

/* Between fractions a and b over one triangle. */
static bool csimi_height_piece(const csimi_height_ray *r, int i, int j, csim_real a, csim_real b) {
    const csim_real cell = (csim_real)r->f->cell, t = (a + b) / 2;
    const csim_real u = (r->x.x + t * r->w.x) / cell - (csim_real)i, v = (r->x.y + t * r->w.y) / cell - (csim_real)j;
    const int half = v > u;
    csim_vec3 n;
    const csim_real above = csimi_height_over(r, i, j, half, a, &n), below = csimi_height_over(r, i, j, half, b, &n);
    csim_real at;
    if (!(above >= 0 && below < 0)) return false;
    at = a + (b - a) * (above / (above - below));
    if (at > r->most) return false;
    r->hit->fraction = at;
    r->hit->normal = csim_normalize(n);
    r->hit->feature = 2 * (uint32_t)(j * r->f->n[0] + i) + (uint32_t)half;
    return true;
}

static csim_real csimi_height_top(const csim_field *f, int i, int j) {
    return csimi_max(csimi_max(csimi_height_node(f, i, j).z, csimi_height_node(f, i + 1, j).z),
                     csimi_max(csimi_height_node(f, i, j + 1).z, csimi_height_node(f, i + 1, j + 1).z));
}

static bool csimi_height_in_cell(const csimi_height_ray *r, int i, int j, csim_real a, csim_real b) {
    const csim_real cell = (csim_real)r->f->cell, slope = r->w.x - r->w.y;
    csim_real t;
    if (csimi_min(r->x.z + a * r->w.z, r->x.z + b * r->w.z) > csimi_height_top(r->f, i, j)) return false;
    if (slope > 0 || slope < 0) { /* the diagonal of the cell */
        t = (cell * (csim_real)(i - j) - (r->x.x - r->x.y)) / slope;
        if (t > a && t < b) return csimi_height_piece(r, i, j, a, t) || csimi_height_piece(r, i, j, t, b);
    }
    return csimi_height_piece(r, i, j, a, b);
}

/* The fraction at which the way leaves the cell along an axis. */
static csim_real csimi_height_leaves(csim_real x, csim_real inverse, csim_real cell, int i) {
    if (inverse > 0) return (cell * (csim_real)(i + 1) - x) * inverse;
    if (inverse < 0) return (cell * (csim_real)i - x) * inverse;
    return CSIMI_HUGE;
}

static bool csimi_height_walk(const csimi_height_ray *r, csim_real first, csim_real last) {
    const csim_field *f = r->f;
    const csim_real cell = (csim_real)f->cell;
    int i = csimi_cut((r->x.x + first * r->w.x) / cell, 0, f->n[0] - 2);
    int j = csimi_cut((r->x.y + first * r->w.y) / cell, 0, f->n[1] - 2), steps;
    csim_real t = first;
    for (steps = 0; steps < f->n[0] + f->n[1] + 4; steps++) {
        const csim_real a = csimi_height_leaves(r->x.x, r->inverse[0], cell, i);
        const csim_real b = csimi_height_leaves(r->x.y, r->inverse[1], cell, j);
        const csim_real next = csimi_min(csimi_max(csimi_min(a, b), t), last);
        if (csimi_height_in_cell(r, i, j, t, next)) return true;
        if (next >= last || next > r->most) return false;
        t = next;
        if (a <= b) i += r->w.x > 0 ? 1 : -1;
        if (b <= a) j += r->w.y > 0 ? 1 : -1;
        if (i < 0 || j < 0 || i > f->n[0] - 2 || j > f->n[1] - 2) return false;
    }
    return false;
}

static int csimi_ray_heights(const csim_field *f, csim_vec3 x, csim_vec3 w, csim_real most, csimi_ray_hit *hit) {
    const csim_real wide = (csim_real)(f->cell * (double)(f->n[0] - 1)),
                    deep = (csim_real)(f->cell * (double)(f->n[1] - 1));
    csimi_height_ray r;
    csimi_stay s = csimi_stay_all();
    csim_vec3 n;
    int found = 0, i, j;
    csim_real u, v, first, last, at;
    r.f = f;
    r.x = x;
    r.w = w;
    r.most = most;
    r.hit = hit;
    r.inverse[0] = w.x > 0 || w.x < 0 ? 1 / w.x : 0;
    r.inverse[1] = w.y > 0 || w.y < 0 ? 1 / w.y : 0;
    csimi_stay_below(&s, csim_v3(1, 0, 0), wide, x, w, CSIMI_NO_FEATURE);
    csimi_stay_below(&s, csim_v3(-1, 0, 0), 0, x, w, CSIMI_NO_FEATURE);
    csimi_stay_below(&s, csim_v3(0, 1, 0), deep, x, w, CSIMI_NO_FEATURE);
    csimi_stay_below(&s, csim_v3(0, -1, 0), 0, x, w, CSIMI_NO_FEATURE);
    first = csimi_max(s.first, 0);
    last = s.last; /* cut only where the heights end: the same bits however far the search goes */
    if (!(first <= csimi_min(last, most))) return 0;
    u = (x.x + first * w.x) / (csim_real)f->cell;
    v = (x.y + first * w.y) / (csim_real)f->cell;
    i = csimi_cut(u, 0, f->n[0] - 2);
    j = csimi_cut(v, 0, f->n[1] - 2);
    at = csimi_height_over(&r, i, j, v - (csim_real)j > u - (csim_real)i, first, &n);
    if (at < 0) { /* through a wall, or from within */
        if (s.first > 0) return csimi_stay_told(&s, most, hit);
        found = CSIMI_RAY_BEGINS_INSIDE;
    } else if (w.z < 0) { /* nothing is above the highest node */
        first = csimi_max(first, ((csim_real)f->high[2] - x.z) / w.z * (1 - 4 * CSIMI_EPS));
    }
    if (w.z > 0) last = csimi_min(last, ((csim_real)f->high[2] - x.z) / w.z * (1 + 4 * CSIMI_EPS));
    if (!(first <= csimi_min(last, most))) return found;
    return found | (csimi_height_walk(&r, first, last) ? CSIMI_RAY_ENTERS : 0);
}

/* ---- triangles */

/* Roundings of such a volume: where a way goes through an edge or a corner, one of the triangles there must have it. */
static csim_real csimi_seam(csim_vec3 way, csim_vec3 a, csim_vec3 b) {
    return 8 * CSIMI_EPS * (csimi_abs(way.x) + csimi_abs(way.y) + csimi_abs(way.z)) *
           (csimi_abs(a.x) + csimi_abs(a.y) + csimi_abs(a.z)) * (csimi_abs(b.x) + csimi_abs(b.y) + csimi_abs(b.z));
}

CSIMI_FN bool csimi_ray_triangle(const csim_vec3 *corner, csim_vec3 origin, csim_vec3 way, bool both, csim_real most,
                                 csim_real *fraction, csim_real *weight) {
    const csim_vec3 n = csim_cross(csim_sub(corner[1], corner[0]), csim_sub(corner[2], corner[0]));
    const csim_real rise = csim_dot(n, way);
    csim_vec3 d[3];
    csim_real side[3], sum = 0;
    int k;
    if (!(rise < 0) && !(both && rise > 0)) return false;
    for (k = 0; k < 3; k++) d[k] = csim_sub(corner[k], origin);
    *fraction = csim_dot(n, d[0]) / rise;
    if (!(*fraction >= 0 && *fraction <= most)) return false;
    for (k = 0; k < 3; k++) { /* volumes of the way with the edges */
        side[k] = -csim_dot(way, csim_cross(d[(k + 1) % 3], d[(k + 2) % 3]));
        if (rise > 0) side[k] = -side[k];
        if (side[k] < 0 && side[k] < -csimi_seam(way, d[(k + 1) % 3], d[(k + 2) % 3])) return false;
        side[k] = csimi_max(side[k], 0);
        sum += side[k];
    }
    if (!(sum > 0)) return false;
    for (k = 0; k < 3; k++) weight[k] = side[k] / sum;
    return true;
}

/* The first triangle of a level; the feature is its number. Numbers and normals of others are not read: each is one
   more place of memory. */
static CSIMI_NOINLINE int csimi_ray_triangles(const csim_field *f, csim_vec3 x, csim_vec3 w, csim_real most,
                                              csimi_ray_hit *hit) {
    const csimi_triangles t = csimi_triangles_of(f);
    csimi_surface_ray ray;
    csim_vec3 n;
    int place, k, met = -1;
    csimi_surface_ray_along(&ray, &t.surface, x, w, csim_v3(0, 0, 0), most);
    while ((place = csimi_surface_ray_met(&ray, x, w, t.two_sided)) >= 0) {
        csim_vec3 corner[3];
        csim_real fraction, weight[3];
        for (k = 0; k < 3; k++) corner[k] = csimi_triangle_corner(&t, place, k);
        if (!csimi_ray_triangle(corner, x, w, t.two_sided, ray.most, &fraction, weight)) continue;
        if (met >= 0 && !(fraction < ray.most) && csimi_triangle_name(&t, place) > csimi_triangle_name(&t, met))
            continue;
        met = place;
        ray.most = fraction;
    }
    if (met < 0) return 0;
    n = csimi_triangle_normal(&t.surface, met);
    hit->normal = csim_dot(n, w) > 0 ? csim_scale(-1, n) : n;
    hit->fraction = ray.most;
    hit->feature = csimi_triangle_name(&t, met);
    return CSIMI_RAY_ENTERS;
}

CSIMI_FN int csimi_ray_at(const csim_geometry *g, const csim_hull_data *hulls, csim_pose p, csim_vec3 origin,
                          csim_vec3 way, csim_real most, csimi_ray_hit *hit) {
    const csim_vec3 x = csim_pose_local(p, origin), w = csim_unrotate(p.rotation, way);
    int found = 0;
    switch (g->kind) {
    case CSIM_SHAPE_HALF_SPACE: {
        csimi_stay s = csimi_stay_all();
        csimi_stay_below(&s, csim_v3(0, 0, 1), 0, x, w, 0);
        found = csimi_stay_told(&s, most, hit);
        break;
    }
    case CSIM_SHAPE_SPHERE: found = csimi_ray_ball(csim_v3(0, 0, 0), g->radius, x, w, most, 0, hit); break;
    case CSIM_SHAPE_CAPSULE: found = csimi_ray_capsule(g, x, w, most, hit); break;
    case CSIM_SHAPE_BOX: found = csimi_ray_box(g, x, w, most, hit); break;
#ifndef CONDSIM_NO_CYLINDERS
    case CSIM_SHAPE_CYLINDER: found = csimi_ray_cylinder(g, x, w, most, hit); break;
#else
    case CSIM_SHAPE_CYLINDER: break;
#endif
    case CSIM_SHAPE_HULL: found = csimi_ray_hull(hulls + g->hull, x, w, most, hit); break;
    case CSIM_SHAPE_MESH: found = csimi_ray_mesh(g->field, x, w, 0, most, hit); break;
    case CSIM_SHAPE_HEIGHTS: found = csimi_ray_heights(g->field, x, w, most, hit); break;
    case CSIM_SHAPE_TRIANGLES: found = csimi_ray_triangles(g->field, x, w, most, hit); break;
    case CSIM_SHAPE_COUNT_: break;
    }
    if (found & CSIMI_RAY_ENTERS) hit->normal = csim_rotate(p.rotation, hit->normal);
    return found;
}
