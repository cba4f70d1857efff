/* collide/raymesh: rays through the distance grid of a mesh. In the cell around a node the distance is a product of
   quadratic splines, along a line a polynomial of degree 6. Its Bernstein coefficients bound it and count its roots
   (Descartes), so that an entry is neither missed nor searched for where there is none; between cells near the surface
   the distances themselves say how far nothing can be. */
#include "private.h"

enum { CSIMI_POLY = 7, CSIMI_HALVINGS = 24 };

typedef struct csimi_mesh_ray {
    const csim_field *f;
    csim_real x[3], w[3]; /* in cells, node 0 at 1/2: cell i goes from i to i + 1 */
    csim_real level, speed; /* speed: cells a fraction 1 */
    bool exact;             /* closed mesh: neighbouring values differ by no more than a cell */
} csimi_mesh_ray;

static csim_real csimi_poly_at(const csim_real *b, csim_real s) {
    csim_real c[CSIMI_POLY];
    int i, k;
    CSIMI_MEMCPY(c, b, sizeof c);
    for (k = CSIMI_POLY - 1; k > 0; k--)
        for (i = 0; i < k; i++) c[i] += s * (c[i + 1] - c[i]);
    return c[0];
}

/* Coefficients on [first, last] from those on [0, 1]. */
static void csimi_poly_part(const csim_real *b, csim_real first, csim_real last, csim_real *part) {
    const csim_real s = last > 0 ? first / last : 0;
    int i, k;
    CSIMI_MEMCPY(part, b, CSIMI_POLY * sizeof *part);
    for (k = 1; k < CSIMI_POLY; k++) /* [0, last] */
        for (i = CSIMI_POLY - 1; i >= k; i--) part[i] = part[i - 1] + last * (part[i] - part[i - 1]);
    for (k = CSIMI_POLY - 1; k > 0; k--) /* the right end of it */
        for (i = 0; i < k; i++) part[i] += s * (part[i + 1] - part[i]);
}

/* 0: never from above 0 to below; 1: once, and no other change of sign; 2: perhaps. */
static int csimi_poly_falls(const csim_real *b) {
    int i, changes = 0, falls = 0;
    csim_real last = 0;
    for (i = 0; i < CSIMI_POLY; i++) {
        if (!(b[i] > 0 || b[i] < 0)) continue;
        if (last > 0 && b[i] < 0) falls++;
        if (last * b[i] < 0) changes++;
        last = b[i];
    }
    return falls == 0 ? 0 : changes == 1 ? 1 : 2;
}

/* Where b goes from above to below 0, once, in [0, 1]: halvings of the bracket and secants in turns. */
static csim_real csimi_poly_root(const csim_real *b) {
    csim_real low = 0, high = 1, at_low = b[0], at_high = b[CSIMI_POLY - 1], s, y;
    int k;
    for (k = 0; k < 100 && high - low > CSIMI_EPS; k++) {
        s = (low + high) / 2;
        if (k % 2 == 0 && at_low > at_high)
            s = csimi_clamp(low + (high - low) * (at_low / (at_low - at_high)), low, high);
        y = csimi_poly_at(b, s);
        if (y > 0) {
            low = s;
            at_low = y;
        } else {
            high = s;
            at_high = y;
        }
        if (!(y > 0 || y < 0)) break;
    }
    return high;
}

/* The first fall through 0 in [0, 1]: halves, the left one first; the k-th of 2^depth parts. */
static bool csimi_poly_first(const csim_real *b, csim_real *root) {
    int depth = 0;
    long k = 0;
    for (;;) {
        const csim_real width = 1 / (csim_real)(1L << depth), first = (csim_real)k * width;
        csim_real part[CSIMI_POLY];
        int falls;
        csimi_poly_part(b, first, first + width, part);
        falls = csimi_poly_falls(part);
        if (falls == 1 || (falls == 2 && depth == CSIMI_HALVINGS && part[0] > 0 && part[CSIMI_POLY - 1] < 0)) {
            *root = first + width * csimi_poly_root(part);
            return true;
        }
        if (falls == 2 && depth < CSIMI_HALVINGS) {
            k *= 2;
            depth++;
            continue;
        }
        for (k++; k % 2 == 0 && depth > 0; depth--) k /= 2;
        if (depth == 0) return false;
    }
}

/* Weights of the three nodes across a cell along the way from u to v (places in the cell, 0..1), as coefficients of
   degree 2 times their binomials: blossoms of the splines. */
static void csimi_spline_along(csim_real u, csim_real v, csim_real w[3][3]) {
    const csim_real s[3] = {u, u, v}, t[3] = {u, v, v};
    int k;
    for (k = 0; k < 3; k++) {
        const csim_real twice = k == 1 ? CSIM_R(2.0) : CSIM_R(1.0);
        w[0][k] = twice * (1 - s[k]) * (1 - t[k]) / 2;
        w[2][k] = twice * s[k] * t[k] / 2;
        w[1][k] = twice - w[0][k] - w[2][k];
    }
}

/* Bernstein coefficients of distance - level in a cell between fractions a and b; false: of one sign by the values. */
static bool csimi_mesh_poly(const csimi_mesh_ray *r, const int *cell, csim_real a, csim_real b, csim_real *poly) {
    static const csim_real binomial[CSIMI_POLY] = {1, 6, 15, 20, 15, 6, 1};
    const float *value = csimi_field_value(r->f);
    csim_real along[3][3][3], flat[5], row[3], low = CSIMI_HUGE, high = -CSIMI_HUGE;
    int i, j, k, m, n;
    for (i = 0; i < 3; i++)
        csimi_spline_along(csimi_clamp(r->x[i] + a * r->w[i] - (csim_real)cell[i], 0, 1),
                           csimi_clamp(r->x[i] + b * r->w[i] - (csim_real)cell[i], 0, 1), along[i]);
    for (m = 0; m < CSIMI_POLY; m++) poly[m] = 0;
    for (k = 0; k < 3; k++) {
        for (m = 0; m < 5; m++) flat[m] = 0;
        for (j = 0; j < 3; j++) {
            const float *c = value + ((size_t)(cell[2] + k - 1) * (size_t)r->f->n[1] + (size_t)(cell[1] + j - 1)) *
                                         (size_t)r->f->n[0] + cell[0] - 1;
            for (m = 0; m < 3; m++) row[m] = 0;
            for (i = 0; i < 3; i++) {
                const csim_real d = (csim_real)c[i] - r->level;
                low = csimi_min(low, d);
                high = csimi_max(high, d);
                for (m = 0; m < 3; m++) row[m] += along[0][i][m] * d;
            }
            for (m = 0; m < 3; m++)
                for (n = 0; n < 3; n++) flat[m + n] += along[1][j][m] * row[n];
        }
        for (m = 0; m < 3; m++)
            for (n = 0; n < 5; n++) poly[m + n] += along[2][k][m] * flat[n];
    }
    for (m = 0; m < CSIMI_POLY; m++) poly[m] /= binomial[m];
    return low <= 0 && high >= 0;
}

/* The fraction up to which, from t on, no cell can have the surface, in whole cells' distance; t: look closely. */
static csim_real csimi_mesh_clear(const csimi_mesh_ray *r, const int *cell, csim_real t) {
    const csim_field *f = r->f;
    const csim_real d = (csim_real)csimi_field_value(f)[((size_t)cell[2] * (size_t)f->n[1] + (size_t)cell[1]) *
                                                            (size_t)f->n[0] + (size_t)cell[0]] - r->level;
    /* the point is 0.9 cells from its node, the nodes of a cell 2.6 from any of its points */
    const csim_real cells = csimi_abs(d) / (csim_real)f->cell - CSIM_R(3.6);
    return r->exact && cells > CSIM_R(0.5) && r->speed > 0 ? t + cells / r->speed : t;
}

static bool csimi_mesh_march(const csimi_mesh_ray *r, csim_real first, csim_real last, csim_real most,
                             csim_real *fraction) {
    const int cells = 4 * (r->f->n[0] + r->f->n[1] + r->f->n[2]) + 16;
    csim_real t = first, poly[CSIMI_POLY], root, clear, next;
    int steps, k, cell[3];
    for (steps = 0; steps < cells && t < csimi_min(last, most); steps++) {
        for (k = 0; k < 3; k++) { /* where the way goes on, when it is on a border of cells */
            const csim_real y = r->x[k] + t * r->w[k];
            cell[k] = csimi_cut(y, 0, r->f->n[k]);
            if (r->w[k] < 0 && (csim_real)cell[k] >= y - 8 * CSIMI_EPS * y) cell[k]--;
            if (r->w[k] > 0 && (csim_real)(cell[k] + 1) <= y + 8 * CSIMI_EPS * y) cell[k]++;
            cell[k] = csimi_imin(csimi_imax(cell[k], 1), r->f->n[k] - 2);
        }
        clear = csimi_mesh_clear(r, cell, t);
        if (clear > t) {
            t = clear;
            continue;
        }
        for (k = 0, next = last; k < 3; k++) {
            const csim_real end = (csim_real)(cell[k] + (r->w[k] > 0)), w = r->w[k];
            if (w > 0 || w < 0) next = csimi_min(next, (end - r->x[k]) / w);
        }
        if (!(next > t)) next = csimi_min(last, t + CSIM_R(1e-6) / csimi_max(r->speed, CSIMI_TINY));
        if (csimi_mesh_poly(r, cell, t, next, poly) && csimi_poly_first(poly, &root)) {
            *fraction = t + (next - t) * root; /* of the whole cell: the same bits however far the search goes */
            return *fraction <= most;
        }
        t = next;
    }
    return false;
}

/* How far the point at fraction t is beyond the level. */
static csim_real csimi_mesh_beyond(const csim_field *f, csim_vec3 x, csim_vec3 w, csim_real level, csim_real t) {
    csim_vec3 n;
    return csimi_distance_mesh(f, csim_madd(x, t, w), &n) - level;
}

/* Outside of the grid a level above 0 may lie too. What is told there may be more than the distance: steps are half of
   it, or what the distance is at least, less a cell. Flat ways come to the surface by halvings: within that little of
   it there is one root. False: the grid begins at *t, or nothing does. */
static bool csimi_mesh_approach(const csim_field *f, csim_vec3 x, csim_vec3 w, csim_real level, csim_real end,
                                csim_real *t) {
    const csim_real speed = csim_length(w), cell = (csim_real)f->cell;
    const csim_real small = 64 * CSIMI_EPS * cell * (csim_real)f->n[0], near = cell * CSIM_R(1e-4);
    int k;
    for (k = 0; k < 600 && *t < end; k++) {
        const csim_real d = csimi_mesh_beyond(f, x, w, level, *t);
        csim_real high = *t + 256 * d / speed;
        if (d <= small) return true;
        if (d < near && csimi_mesh_beyond(f, x, w, level, high) < 0) {
            for (k = 0; k < 60; k++) {
                const csim_real middle = (*t + high) / 2;
                *(csimi_mesh_beyond(f, x, w, level, middle) > 0 ? t : &high) = middle;
            }
            return true;
        }
        *t += csimi_max(csimi_least_mesh(f, csim_madd(x, *t, w)) - level - cell, d / 2) / speed;
    }
    return false;
}

static csim_vec3 csimi_mesh_normal(const csim_field *f, csim_vec3 p) {
    csim_vec3 n;
    csimi_distance_mesh(f, p, &n);
    return n;
}

CSIMI_FN int csimi_ray_mesh(const csim_field *f, csim_vec3 origin, csim_vec3 way, csim_real level, csim_real most,
                            csimi_ray_hit *hit) {
    csimi_mesh_ray r;
    csim_real first = 0, last = CSIMI_HUGE, outer = 0;
    csim_vec3 n;
    int k, found = csimi_distance_mesh(f, origin, &n) <= level ? CSIMI_RAY_BEGINS_INSIDE : 0;
    r.f = f;
    r.level = level;
    r.exact = f->open == 0 && f->flipped == 0 && f->crowded == 0;
    csimi_store3(r.x, origin);
    csimi_store3(r.w, way);
    for (k = 0; k < 3; k++) {
        /* nodes 1 .. n - 2: beyond them the distance is told from there */
        const csim_real low = CSIM_R(1.5), high = (csim_real)f->n[k] - CSIM_R(1.5);
        r.x[k] = (r.x[k] - (csim_real)f->lower[k]) / (csim_real)f->cell + CSIM_R(0.5);
        r.w[k] /= (csim_real)f->cell;
        if (r.w[k] > 0 || r.w[k] < 0) {
            const csim_real a = (low - r.x[k]) / r.w[k], b = (high - r.x[k]) / r.w[k];
            first = csimi_max(first, csimi_min(a, b));
            last = csimi_min(last, csimi_max(a, b));
        } else if (r.x[k] < low || r.x[k] > high) {
            last = -1;
        }
    }
    r.speed = CSIMI_SQRT(r.w[0] * r.w[0] + r.w[1] * r.w[1] + r.w[2] * r.w[2]);
    hit->feature = 0;
    if (!(r.speed > 0)) return found;
    if (level > 0 && !found &&
        csimi_mesh_approach(f, origin, way, level, first <= last ? csimi_min(first, most) : most, &outer)) {
        hit->fraction = outer;
        found |= outer <= most ? CSIMI_RAY_ENTERS : 0;
    } else if (first <= last && csimi_mesh_march(&r, first, last, most, &hit->fraction)) {
        found |= CSIMI_RAY_ENTERS;
    } else if (level > 0 && !found && first <= last &&
               csimi_mesh_approach(f, origin, way, level, most, &last)) { /* behind the grid */
        hit->fraction = last;
        found |= last <= most ? CSIMI_RAY_ENTERS : 0;
    }
    if (found & CSIMI_RAY_ENTERS) hit->normal = csimi_mesh_normal(f, csim_madd(origin, hit->fraction, way));
    return found;
}
