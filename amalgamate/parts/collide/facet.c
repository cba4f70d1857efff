/* collide/facet: one triangle of a level as a point or shape meets it. A triangle alone would stop what slides
   over its edges; so a contact counts only where the surface around it has no nearer point: its normal must lie among
   those that the edge or corner has, which on flat and hollow edges are none but those of the triangles. */
#include "private.h"

/* The triangle as the side of it where the middle of a shape is. False: it is behind one that has one side. */
CSIMI_FN bool csimi_facet_of(csimi_facet *f, const csimi_triangles *t, int place, csim_vec3 middle) {
    csim_vec3 n = csimi_level_normal(t, place), e;
    const bool back = csim_dot(n, csim_sub(middle, csimi_triangle_corner(t, place, 0))) < 0;
    csim_real longest = 0;
    int k;
    if (back && !t->two_sided) return false;
    f->mesh = t;
    f->place = place;
    if (back) n = csim_scale(-1, n);
    f->n = n;
    for (k = 0; k < 3; k++) { /* counter-clockwise from that side */
        f->corner[k] = back ? (3 - k) % 3 : k;
        f->edge[k] = 3 * place + (back ? 2 - k : k);
        csimi_store3(f->vertex + 3 * k, csimi_triangle_corner(t, place, f->corner[k]));
    }
    csimi_store3(f->normal, n);
    for (k = 0; k < 3; k++) {
        e = csim_sub(csimi_load3(f->vertex + 3 * ((k + 1) % 3)), csimi_load3(f->vertex + 3 * k));
        longest = csimi_max(longest, csim_length(e));
        csimi_store3(f->normal + 3 + 3 * k, csim_normalize(csim_cross(e, n)));
    }
    f->offset = csim_dot(n, csimi_load3(f->vertex));
    f->size = longest;
    return true;
}

static csim_vec3 csimi_facet_corner(const csimi_facet *f, int k) { return csimi_load3(f->vertex + 3 * k); }

CSIMI_FN csimi_fold csimi_facet_fold(const csimi_facet *f, int k) {
    const int flats = csimi_triangle_flats(f->mesh, f->place);
    return flats >> f->edge[k] % 3 & 1 ? CSIMI_FOLD_FLAT : csimi_triangle_fold(f->mesh, f->edge[k], f->n);
}

/* Whether the surface goes on beyond an edge, and does not fall. */
static bool csimi_facet_goes_on(const csimi_facet *f, int k) {
    const csimi_fold fold = csimi_facet_fold(f, k);
    return fold == CSIMI_FOLD_FLAT || fold == CSIMI_FOLD_HOLLOW;
}

/* What of the triangle reaches farthest along n: bits of its corners. */
static int csimi_facet_support(const csimi_facet *f, csim_vec3 n) {
    csim_real h[3], top;
    int k, bits = 0;
    for (k = 0; k < 3; k++) h[k] = csim_dot(n, csim_sub(csimi_facet_corner(f, k), csimi_facet_corner(f, 0)));
    top = csimi_max(h[0], csimi_max(h[1], h[2]));
    for (k = 0; k < 3; k++) bits |= h[k] >= top - 2 * CSIMI_FACET_FLAT * f->size ? 1 << k : 0;
    return bits;
}

/* The edge between two corners of a set of three bits; -1: it is not two. */
static int csimi_facet_edge_of(int bits) { return bits == 3 ? 0 : bits == 6 ? 1 : bits == 5 ? 2 : -1; }

CSIMI_FN bool csimi_facet_allows(const csimi_facet *f, csim_vec3 n, bool *snaps) {
    const csim_real sine = csim_length(csim_cross(n, f->n));
    int bits, k;
    *snaps = false;
    if (csim_dot(n, f->n) > 0 && sine <= 4 * CSIMI_FACET_FLAT) return true;
    bits = csimi_facet_support(f, n);
    k = csimi_facet_edge_of(bits);
    if (csim_dot(n, f->n) < -CSIMI_FACET_FLAT)
        return f->mesh->two_sided && k >= 0 && csimi_facet_fold(f, k) == CSIMI_FOLD_BORDER;
    if (k >= 0) {
        const csimi_fold fold = csimi_facet_fold(f, k);
        csim_vec3 d;
        *snaps = csimi_facet_goes_on(f, k);
        if (fold != CSIMI_FOLD_CONVEX) return fold == CSIMI_FOLD_BORDER;
        d = csim_sub(csimi_triangle_opposite(f->mesh, f->edge[k]), csimi_facet_corner(f, k));
        return csim_dot(n, d) <= 4 * CSIMI_FACET_FLAT * csim_length(d);
    }
    for (k = 0; k < 3 && bits != 1 << k; k++) {
    }
    if (k == 3 || csimi_triangle_ring_below(f->mesh, f->place, f->corner[k], n)) return true;
    *snaps = csimi_facet_goes_on(f, k) && csimi_facet_goes_on(f, (k + 2) % 3);
    return false;
}

/* To the triangle; less than 0 behind it, not beside it. */
CSIMI_FN csim_real csimi_facet_distance(const csimi_facet *f, csim_vec3 x, csim_vec3 *n) {
    csim_real w[3], d, s;
    csim_vec3 r = x;
    int k;
    const int feature =
        csimi_closest_triangle(x, csimi_facet_corner(f, 0), csimi_facet_corner(f, 1), csimi_facet_corner(f, 2), w);
    s = csim_dot(f->n, csim_sub(x, csimi_facet_corner(f, 0)));
    *n = f->n;
    if (feature == 0) return s;
    for (k = 0; k < 3; k++) r = csim_madd(r, -w[k], csimi_facet_corner(f, k));
    d = csim_length(r);
    if (d > 64 * CSIMI_EPS * (f->size + csimi_abs(f->offset))) *n = csim_scale(1 / d, r);
    return d;
}

/* Whether x, beyond edge k, is over the triangle there, and the edge is hollow: then the plane goes on behind that. */
static bool csimi_facet_extends(const csimi_facet *f, int k, csim_vec3 x) {
    const csimi_triangles *t = f->mesh;
    const int other = t->beyond[f->edge[k]];
    csim_vec3 n;
    int i;
    if (csimi_facet_fold(f, k) != CSIMI_FOLD_HOLLOW) return false;
    n = csimi_level_normal(t, other / 3);
    for (i = 1; i < 3; i++) {
        const csim_vec3 a = csimi_triangle_corner(t, other / 3, (other + i) % 3);
        const csim_vec3 e = csim_sub(csimi_triangle_corner(t, other / 3, (other + i + 1) % 3), a);
        if (csim_dot(csim_cross(e, n), csim_sub(x, a)) > CSIM_R(1e-4) * csim_dot(e, e)) return false;
    }
    return true;
}

/* A point against the triangle: over it, and over what a hollow edge would be without its other side, by its plane;
   else by the nearest edge or corner, where no neighbour is nearer. */
CSIMI_FN bool csimi_facet_point(const csimi_facet *f, csim_vec3 x, csim_real within, csim_real depth, csim_vec3 *n,
                                csim_real *distance) {
    const csim_real s = csim_dot(f->n, csim_sub(x, csimi_facet_corner(f, 0)));
    bool snaps, over = true;
    int k;
    if (s > within || s < -depth) return false;
    *n = f->n;
    *distance = csimi_facet_distance(f, x, n);
    if (csimi_abs(*distance) > csimi_max(within, depth)) return false;
    for (k = 0; k < 3 && over; k++) {
        const csim_real out = csim_dot(csimi_load3(f->normal + 3 + 3 * k), csim_sub(x, csimi_facet_corner(f, k)));
        over = !(out > CSIMI_FACET_FLAT * f->size * CSIM_R(1e-3)) || csimi_facet_extends(f, k, x);
    }
    if (over) {
        *n = f->n;
        *distance = s;
        return true;
    }
    return s >= 0 && *distance <= within && csimi_facet_allows(f, *n, &snaps);
}

/* Of feet alike the nearer one stays; of those behind, the nearest: there is one way out. */
static int csimi_keep_foot(csimi_foot *foot, int count, int most, const csimi_foot *one) {
    int i, at;
    for (i = 0; i < count; i++) {
        if (one->distance < 0 && foot[i].distance < 0) {
            if (one->distance > foot[i].distance) foot[i] = *one;
            return count;
        }
        if (csim_dot(foot[i].normal, one->normal) < CSIM_R(0.9999)) continue;
        if (one->distance < foot[i].distance) foot[i] = *one;
        return count;
    }
    if (count == most && !(one->distance < foot[most - 1].distance)) return count;
    at = count < most ? count++ : most - 1;
    for (; at > 0 && one->distance < foot[at - 1].distance; at--) foot[at] = foot[at - 1];
    foot[at] = *one;
    return count;
}

/* What most triangles are to a point: out of reach of their planes, or beyond what is flat. */
static bool csimi_point_passes(const csimi_triangles *t, int place, csim_vec3 x, csim_real within, csim_real depth) {
    const csim_vec3 n = csimi_level_normal(t, place), a = csimi_triangle_corner(t, place, 0);
    const csim_real s = csim_dot(n, csim_sub(x, a));
    const int flats = csimi_triangle_flats(t, place);
    int k;
    if (t->two_sided ? csimi_abs(s) > within : s > within || s < -depth) return true;
    for (k = 0; k < 3; k++) {
        const csim_vec3 u = csimi_triangle_corner(t, place, k);
        const csim_vec3 e = csim_sub(csimi_triangle_corner(t, place, (k + 1) % 3), u);
        const bool flat = (flats >> k & 1) && (flats >> (3 + k) & 1) && (flats >> (3 + (k + 1) % 3) & 1);
        if (csim_dot(csim_cross(e, n), csim_sub(x, u)) > CSIM_R(1e-9) * csim_dot(e, e) && flat) return true;
    }
    return false;
}

static int csimi_feet_in(const csimi_triangles *t, csim_vec3 x, csim_real within, csim_real depth, csim_real reach,
                         csimi_foot *foot, int most) {
    const csim_vec3 r = csim_v3(reach, reach, reach);
    csimi_surface_walk walk = csimi_surface_walk_in(&t->surface, csim_sub(x, r), csim_add(x, r));
    int place, count = 0;
    while ((place = csimi_surface_walk_next(&walk)) >= 0) {
        csimi_facet f;
        csimi_foot one;
        if (csimi_point_passes(t, place, x, within, depth)) continue;
        /* as the side that is shown: what is behind one side is told from the front */
        csimi_facet_of(&f, t, place,
                       t->two_sided ? x : csim_add(csimi_triangle_corner(t, place, 0), csimi_level_normal(t, place)));
        one.name = csimi_triangle_name(t, place);
        if (csimi_facet_point(&f, x, within, depth, &one.normal, &one.distance))
            count = csimi_keep_foot(foot, count, most, &one);
    }
    return count;
}

/* What is deep behind is looked for where nothing is near. */
CSIMI_FN int csimi_triangles_feet(const csim_field *field, csim_vec3 x, csim_real within, csimi_foot *foot, int most) {
    const csimi_triangles t = csimi_triangles_of(field);
    const csim_real depth = t.two_sided ? 0 : t.depth;
    const int count = csimi_feet_in(&t, x, within, depth, within, foot, most);
    return count > 0 || depth <= within ? count : csimi_feet_in(&t, x, within, depth, depth, foot, most);
}
