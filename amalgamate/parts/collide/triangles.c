/* collide/triangles: levels of triangles, exactly as they are given: their bytes, what is beyond an edge or around a
   corner, the nearest point, what lies in a box. Behind the header: corners, normals, boxes of the tree, triangles in
   the order of the tree, the edge on the other side of each edge, names. */
#include "private.h"

/* ---- bytes */

CSIMI_FN size_t csimi_triangles_reals(const csim_field *f) { return 3 * ((size_t)f->n[0] + (size_t)f->n[1]); }

CSIMI_FN size_t csimi_triangles_used(const csim_field *f) {
    return sizeof *f + sizeof(csim_real) * csimi_triangles_reals(f) +
           sizeof(float) * 6 * (size_t)csimi_surface_boxes(f->n[1]) + sizeof(int) * 7 * (size_t)f->n[1];
}

CSIMI_FN csimi_triangles csimi_triangles_of(const csim_field *f) {
    csimi_triangles t;
    const csim_real *x = (const csim_real *)(const void *)(f + 1);
    const float *box = (const float *)(const void *)(x + csimi_triangles_reals(f));
    const int leaves = csimi_surface_leaves(f->n[1]);
    const int *face = (const int *)(const void *)(box + 6 * (size_t)csimi_imax(4, 2 * leaves));
    const size_t count = (size_t)f->n[1];
    t.surface.count = f->n[1];
    t.surface.x = x;
    t.normal = x + 3 * (size_t)f->n[0];
    t.surface.box = (float *)(uintptr_t)box;
    t.surface.leaves = leaves;
    t.surface.triangle = face;
    t.beyond = face + 3 * count;
    t.name = face + 6 * count;
    t.two_sided = f->lower[0] > 0;
    t.depth = (csim_real)f->lower[1];
    t.near = (csim_real)f->error;
    return t;
}

CSIMI_FN uint32_t csimi_triangle_name(const csimi_triangles *t, int place) {
    return (uint32_t)(t->name[place] & CSIMI_TRIANGLES_NAME);
}

CSIMI_FN int csimi_triangle_flats(const csimi_triangles *t, int place) { return t->name[place] >> 24 & 63; }

CSIMI_FN csim_vec3 csimi_level_normal(const csimi_triangles *t, int place) {
    return csimi_load3(t->normal + 3 * (size_t)place);
}

CSIMI_FN csim_vec3 csimi_triangle_corner(const csimi_triangles *t, int place, int k) {
    return csimi_load3(t->surface.x + 3 * (size_t)t->surface.triangle[3 * (size_t)place + (size_t)k]);
}

/* Indices inside, numbers finite: what a walk needs to end where it should. */
CSIMI_FN bool csimi_triangles_sound(const csim_field *f) {
    const csimi_triangles t = csimi_triangles_of(f);
    const size_t reals = csimi_triangles_reals(f), count = 3 * (size_t)f->n[1];
    size_t i;
    if (!(f->lower[1] >= 0 && f->lower[1] <= 1e6 && f->error >= 0 && f->error <= 1)) return false;
    for (i = 0; i < reals; i++)
        if (!(t.surface.x[i] >= -CSIMI_HUGE && t.surface.x[i] <= CSIMI_HUGE)) return false;
    for (i = 0; i < 6 * (size_t)csimi_surface_boxes(f->n[1]); i++)
        if (!(t.surface.box[i] >= -1e30f && t.surface.box[i] <= 1e30f)) return false;
    for (i = 0; i < 3 * (size_t)f->n[0]; i++)
        if (!(csimi_abs(t.surface.x[i]) <= CSIM_R(1e6))) return false;
    for (i = 0; i < count; i++) {
        if (t.surface.triangle[i] < 0 || t.surface.triangle[i] >= f->n[0]) return false;
        if (t.beyond[i] < CSIMI_TRIANGLES_CROWD || t.beyond[i] >= (int)count) return false;
        if (i < count / 3 && (t.name[i] < 0 || (t.name[i] & CSIMI_TRIANGLES_NAME) >= f->n[1])) return false;
    }
    return true;
}

/* ---- beyond an edge */

/* The corner that the triangle on the other side of an edge has beside it. */
CSIMI_FN csim_vec3 csimi_triangle_opposite(const csimi_triangles *t, int edge) {
    const int other = t->beyond[edge];
    return csimi_triangle_corner(t, other / 3, (other % 3 + 2) % 3);
}

/* How the surface goes on beyond an edge, seen from the side of the normal n of its triangle. */
CSIMI_FN csimi_fold csimi_triangle_fold(const csimi_triangles *t, int edge, csim_vec3 n) {
    const csim_vec3 a = csimi_triangle_corner(t, edge / 3, edge % 3);
    const csim_vec3 e = csim_normalize(csim_sub(csimi_triangle_corner(t, edge / 3, (edge + 1) % 3), a));
    const csim_vec3 inner = csim_sub(csimi_triangle_corner(t, edge / 3, (edge + 2) % 3), a);
    csim_vec3 over;
    csim_real rise, across, small;
    if (t->beyond[edge] < 0) return CSIMI_FOLD_BORDER;
    over = csim_sub(csimi_triangle_opposite(t, edge), a);
    over = csim_madd(over, -csim_dot(over, e), e);
    across = csim_length(over);
    rise = csim_dot(n, over);
    small = CSIMI_FACET_FLAT * across + 2 * t->near;
    if (csim_dot(over, inner) >= 0 && csimi_abs(rise) <= small) return CSIMI_FOLD_CONVEX; /* folded back */
    if (csimi_abs(rise) <= small) return CSIMI_FOLD_FLAT;
    return rise > 0 ? CSIMI_FOLD_HOLLOW : CSIMI_FOLD_CONVEX;
}

/* n points from corner a of a triangle into the open: whether no triangle around the corner rises against it, going
   round from one edge of it; *closed: the way came back. */
static bool csimi_ring_below(const csimi_triangles *t, int place, int k, bool back, csim_vec3 n, bool *closed) {
    const int *face = t->surface.triangle;
    const int v = face[3 * (size_t)place + (size_t)k];
    int edge = 3 * place + (back ? (k + 2) % 3 : k), steps;
    *closed = false;
    for (steps = 0; steps < CSIMI_TRIANGLES_RING; steps++) {
        const int other = t->beyond[edge], first = other - other % 3;
        int at, far;
        csim_vec3 d;
        if (other < 0) return true;
        at = face[other] == v ? other % 3 : (other % 3 + 1) % 3; /* v in the next triangle */
        edge = first + (at == other % 3 ? (at + 2) % 3 : at);
        far = at == other % 3 ? (at + 2) % 3 : (at + 1) % 3;
        d = csim_sub(csimi_load3(t->surface.x + 3 * (size_t)face[first + far]),
                     csimi_load3(t->surface.x + 3 * (size_t)v));
        if (csim_dot(n, d) > CSIMI_FACET_FLAT * csim_length(d)) return false;
        if (first == 3 * place) {
            *closed = true;
            return true;
        }
    }
    return true;
}

CSIMI_FN bool csimi_triangle_ring_below(const csimi_triangles *t, int place, int k, csim_vec3 n) {
    const csim_vec3 x = csimi_triangle_corner(t, place, k);
    bool closed;
    int i;
    for (i = 1; i < 3; i++) {
        const csim_vec3 d = csim_sub(csimi_triangle_corner(t, place, (k + i) % 3), x);
        if (csim_dot(n, d) > CSIMI_FACET_FLAT * csim_length(d)) return false;
    }
    if (!csimi_ring_below(t, place, k, false, n, &closed)) return false;
    return closed || csimi_ring_below(t, place, k, true, n, &closed);
}

/* ---- points */

/* Signed where they have one side: behind it within the depth is inside. */
CSIMI_FN csim_real csimi_distance_triangles(const csim_field *f, csim_vec3 p, csim_real within, csim_vec3 *n,
                                            uint32_t *name) {
    const csimi_triangles t = csimi_triangles_of(f);
    csimi_surface_hit hit;
    csim_vec3 d;
    csim_real side = 1;
    if (!csimi_surface_nearest(&t.surface, p, within, NULL, &hit)) return CSIMI_HUGE;
    if (!t.two_sided && hit.inside && !hit.border && hit.distance <= t.depth) side = -1;
    d = csim_sub(p, hit.point);
    *n = hit.normal;
    if (hit.distance > 64 * CSIMI_EPS * (csimi_abs(p.x) + csimi_abs(p.y) + csimi_abs(p.z) + (csim_real)f->cell))
        *n = csim_scale(side / hit.distance, d);
    else if (side > 0 && csim_dot(d, *n) < 0)
        *n = csim_scale(-1, *n);
    if (name) *name = csimi_triangle_name(&t, hit.triangle);
    return side * hit.distance;
}

/* ---- what lies in a box */

static bool csimi_segment_in_box(csim_vec3 a, csim_vec3 b, csim_vec3 lower, csim_vec3 upper) {
    csim_real x[3], d[3], low[3], high[3], first = 0, last = 1;
    int k;
    csimi_store3(x, a);
    csimi_store3(d, csim_sub(b, a));
    csimi_store3(low, lower);
    csimi_store3(high, upper);
    for (k = 0; k < 3; k++) {
        if (d[k] > 0 || d[k] < 0) {
            const csim_real s = (low[k] - x[k]) / d[k], t = (high[k] - x[k]) / d[k];
            first = csimi_max(first, csimi_min(s, t));
            last = csimi_min(last, csimi_max(s, t));
        } else if (x[k] < low[k] || x[k] > high[k]) {
            return false;
        }
    }
    return first <= last;
}

/* Whether a triangle may have a point in a box: by its own box, and by its plane, n its normal. */
static bool csimi_triangle_in_box(const csimi_triangles *t, int place, csim_vec3 n, csim_vec3 lower, csim_vec3 upper) {
    const csim_vec3 a = csimi_triangle_corner(t, place, 0), b = csimi_triangle_corner(t, place, 1),
                    c = csimi_triangle_corner(t, place, 2), middle = csim_scale(CSIM_R(0.5), csim_add(lower, upper)),
                    half = csim_scale(CSIM_R(0.5), csim_sub(upper, lower));
    const csim_real reach = csimi_abs(n.x) * half.x + csimi_abs(n.y) * half.y + csimi_abs(n.z) * half.z;
    return csimi_max(a.x, csimi_max(b.x, c.x)) >= lower.x && csimi_min(a.x, csimi_min(b.x, c.x)) <= upper.x &&
           csimi_max(a.y, csimi_max(b.y, c.y)) >= lower.y && csimi_min(a.y, csimi_min(b.y, c.y)) <= upper.y &&
           csimi_max(a.z, csimi_max(b.z, c.z)) >= lower.z && csimi_min(a.z, csimi_min(b.z, c.z)) <= upper.z &&
           csimi_abs(csim_dot(n, csim_sub(middle, a))) <= reach * (1 + 16 * CSIMI_EPS) + 2 * t->near;
}

/* Twice the area along the normal. */
static csim_vec3 csimi_triangle_area(const csimi_triangles *t, int place) {
    const csim_vec3 a = csimi_triangle_corner(t, place, 0);
    return csim_cross(csim_sub(csimi_triangle_corner(t, place, 1), a), csim_sub(csimi_triangle_corner(t, place, 2), a));
}

/* Whether a triangle ends in a box: at an edge behind which its plane does not go on. */
static bool csimi_triangle_ends_in(const csimi_triangles *t, int place, csim_vec3 lower, csim_vec3 upper) {
    const int flats = csimi_triangle_flats(t, place);
    int k;
    for (k = 0; k < 3; k++)
        if (!(flats >> k & 1) && csimi_segment_in_box(csimi_triangle_corner(t, place, k),
                                                      csimi_triangle_corner(t, place, (k + 1) % 3), lower, upper))
            return true;
    return false;
}

static bool csimi_triangle_on(const csimi_triangles *t, int place, csim_vec3 at, csim_vec3 n) {
    int k;
    for (k = 0; k < 3; k++)
        if (!(csimi_abs(csim_dot(n, csim_sub(csimi_triangle_corner(t, place, k), at))) <= 2 * t->near)) return false;
    return true;
}

/* Whether all triangles in a box lie on the plane of one. */
static bool csimi_triangles_on(const csimi_triangles *t, csim_vec3 lower, csim_vec3 upper, int chosen) {
    const csim_vec3 n = csimi_level_normal(t, chosen), at = csimi_triangle_corner(t, chosen, 0);
    csimi_surface_walk walk = csimi_surface_walk_in(&t->surface, lower, upper);
    int place;
    while ((place = csimi_surface_walk_next(&walk)) >= 0)
        if (csimi_triangle_in_box(t, place, csimi_level_normal(t, place), lower, upper) &&
            !csimi_triangle_on(t, place, at, n))
            return false;
    return true;
}

/* The plane of the first or largest triangle in a box; false: others look elsewhere, or one ends there. */
static bool csimi_triangles_plane(const csimi_triangles *t, csim_vec3 lower, csim_vec3 upper, bool largest, int *chosen,
                                  bool *even) {
    csimi_surface_walk walk = csimi_surface_walk_in(&t->surface, lower, upper);
    csim_real most = 0;
    csim_vec3 n = lower, at = lower;
    int place;
    *chosen = -1;
    *even = true;
    while ((place = csimi_surface_walk_next(&walk)) >= 0) {
        const csim_vec3 own = csimi_level_normal(t, place);
        csim_real size = 1;
        if (!csimi_triangle_in_box(t, place, own, lower, upper)) continue;
        if (*chosen >= 0 && csim_dot(own, n) < CSIM_R(0.999)) return false;
        if (csimi_triangle_ends_in(t, place, lower, upper)) return false;
        if (*chosen >= 0 && !largest) *even = *even && csimi_triangle_on(t, place, at, n);
        if (largest) size = csim_length(csimi_triangle_area(t, place));
        if (!(size > most)) continue;
        most = size;
        *chosen = place;
        n = own;
        at = csimi_triangle_corner(t, place, 0);
    }
    return true;
}

/* The triangles of a box are one plane when they are flat in it and all edges in the box are flat: what they cover has
   no border there. Where the first does not give the plane well enough the largest does. */
CSIMI_FN csimi_under csimi_triangles_under(const csim_field *f, csim_vec3 lower, csim_vec3 upper, csim_vec3 middle,
                                           csim_vec3 *at, csim_vec3 *normal) {
    const csimi_triangles t = csimi_triangles_of(f);
    int chosen;
    bool even;
    if (!csimi_triangles_plane(&t, lower, upper, false, &chosen, &even)) return CSIMI_UNDER_RELIEF;
    if (chosen < 0) return CSIMI_UNDER_NOTHING;
    if (!even) {
        csimi_triangles_plane(&t, lower, upper, true, &chosen, &even);
        even = csimi_triangles_on(&t, lower, upper, chosen);
    }
    if (!even) return CSIMI_UNDER_RELIEF;
    *normal = csimi_level_normal(&t, chosen);
    *at = csimi_triangle_corner(&t, chosen, 0);
    if (csim_dot(*normal, csim_sub(middle, *at)) >= 0) return CSIMI_UNDER_PLANE;
    if (!t.two_sided) return CSIMI_UNDER_NOTHING;
    *normal = csim_scale(-1, *normal);
    return CSIMI_UNDER_PLANE;
}
