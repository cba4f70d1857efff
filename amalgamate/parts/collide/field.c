/* collide/field: the doors of fields, distances to them, and the points that stand for a mesh. */
#include "private.h"

#define CSIMI_FIELD_MAGIC 0x3264696569667363ull /* "csfieid2" on a little-endian machine */
enum { CSIMI_FIELD_RINGS = 16 }; /* cells a point over heights looks around */
static const csim_real CSIMI_FIELD_LOOK = CSIM_R(8192.0); /* nodes of a grid that are looked at for a plane */

CSIM_API csim_mesh_field_def csim_default_mesh_field_def(void) {
    csim_mesh_field_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.scale = 1;
    d.resolution = 48;
    d.guard = CSIMI_FIELD_GUARD;
    return d;
}

CSIM_API csim_height_field_def csim_default_height_field_def(void) {
    csim_height_field_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.cell = 1;
    d.guard = CSIMI_FIELD_GUARD;
    return d;
}

CSIM_API csim_shape csim_field_shape(const csim_field *field) {
    csim_shape s = csim_sphere(0);
    s.kind = csimi_field_kind(field);
    s.field = field;
    return s;
}

/* ---- bytes */

CSIMI_FN size_t csimi_field_values(const csim_field *f) { return (size_t)f->n[0] * (size_t)f->n[1] * (size_t)f->n[2]; }

static size_t csimi_field_used(const csim_field *f) {
    if (f->n[2] == CSIMI_FIELD_TRIANGLES) return csimi_triangles_used(f);
    return sizeof *f + sizeof(float) * (csimi_field_values(f) + 3 * (size_t)f->samples + 4 * (size_t)f->blocks);
}

static size_t csimi_field_size(const csim_field *f) { return (csimi_field_used(f) + 7) / 8 * 8; }

CSIMI_FN const float *csimi_field_value(const csim_field *f) { return (const float *)(const void *)(f + 1); }
static const float *csimi_field_sample(const csim_field *f) { return csimi_field_value(f) + csimi_field_values(f); }
static const float *csimi_field_block(const csim_field *f) { return csimi_field_sample(f) + 3 * (size_t)f->samples; }

static uint64_t csimi_field_hash(const csim_field *f) {
    const unsigned char *from = (const unsigned char *)&f->hash + sizeof f->hash;
    return csimi_fnv(CSIMI_FNV_START, from, (size_t)f->bytes - (size_t)(from - (const unsigned char *)f));
}

CSIMI_FN void csimi_field_seal(csim_field *f) {
    const size_t used = csimi_field_used(f);
    f->magic = CSIMI_FIELD_MAGIC;
    f->bytes = csimi_field_size(f);
    CSIMI_MEMSET((unsigned char *)f + used, 0, (size_t)f->bytes - used);
    f->hash = csimi_field_hash(f);
}

static bool csimi_all_finite64(const double *x, int count) {
    int k;
    for (k = 0; k < count; k++)
        if (!(x[k] > -1e300 && x[k] < 1e300)) return false;
    return true;
}

static bool csimi_box_sound(const csim_field *f) {
    int i;
    if (!(f->cell > 0) || !csimi_all_finite64(&f->cell, 1) || !csimi_all_finite64(f->lower, 3) ||
        !csimi_all_finite64(f->low, 3) || !csimi_all_finite64(f->high, 3))
        return false;
    for (i = 0; i < 3; i++)
        if (!(f->low[i] <= f->high[i])) return false;
    return true;
}

/* Heights have two nodes at least along both sides and no samples; a grid has what its splines read around a node, and
   a ball for each block of samples. */
static bool csimi_field_sound(const csim_field *f) {
    const size_t values = csimi_field_values(f), count = values + 3 * (size_t)f->samples + 4 * (size_t)f->blocks;
    const float *x = csimi_field_value(f);
    size_t i;
    if (f->n[2] == CSIMI_FIELD_TRIANGLES) return f->blocks == 0 && csimi_triangles_sound(f) && csimi_box_sound(f);
    if (f->n[2] == 1 ? f->n[0] < 2 || f->n[1] < 2 || f->samples > 0 : f->n[0] < 4 || f->n[1] < 4 || f->n[2] < 4)
        return false;
    if (f->blocks != f->samples / CSIMI_SAMPLE_BLOCK + (f->samples % CSIMI_SAMPLE_BLOCK > 0)) return false;
    if (!csimi_box_sound(f) || !csimi_all_finite64(&f->error, 1) || !csimi_all_finite64(&f->volume, 1) ||
        !csimi_all_finite64(f->centre, 3) || !csimi_all_finite64(f->second, 6))
        return false;
    for (i = 0; i < count; i++)
        if (!(x[i] >= -1e30f && x[i] <= 1e30f)) return false;
    return true;
}

CSIM_API csim_status csim_open_field(const void *block, size_t bytes, const csim_field **field, csim_error *error) {
    static const char fn[] = "csim_open_field";
    const csim_field *f = (const csim_field *)block;
    int k, most = 20000;
    if (!block || !field) return csimi_missing(error, fn, block ? "field" : "block");
    if ((uintptr_t)block % 8 != 0 || bytes < sizeof *f || f->magic != CSIMI_FIELD_MAGIC)
        return csimi_deny(error, CSIM_BAD_SNAPSHOT, fn, "block",
                          "bytes of a field, aligned to 8, of a machine of the same byte order");
    if (f->n[2] == CSIMI_FIELD_TRIANGLES && f->samples != (int)sizeof(csim_real))
        return csimi_fail(error, CSIM_BAD_SNAPSHOT, fn, "bytes of a number", (double)f->samples,
                          "triangles made by a build with this csim_real");
    if (f->n[2] == CSIMI_FIELD_TRIANGLES) most = 10000000;
    for (k = 0; k < 3; k++)
        if (f->n[k] < 1 || f->n[k] > most || f->samples < 0 || f->blocks < 0 || csimi_field_values(f) > SIZE_MAX / 64)
            return csimi_fail(error, CSIM_BAD_SNAPSHOT, fn, "nodes", (double)f->n[k], "1..20000, of triangles 1e7");
    if (f->bytes > bytes || f->bytes != csimi_field_size(f))
        return csimi_fail(error, CSIM_BAD_SNAPSHOT, fn, "bytes", (double)bytes,
                          "all the bytes of the field, made by this version");
    if (f->hash != csimi_field_hash(f)) return csimi_deny(error, CSIM_BAD_SNAPSHOT, fn, "hash", "undamaged bytes");
    if (!csimi_field_sound(f))
        return csimi_deny(error, CSIM_BAD_SNAPSHOT, fn, "numbers", "finite, of a grid and its samples");
    *field = f;
    return CSIM_OK;
}

CSIM_API csim_field_info csim_field_get_info(const csim_field *f) {
    csim_field_info i;
    int k;
    CSIMI_MEMSET(&i, 0, sizeof i);
    if (!f) return i;
    i.bytes = (size_t)f->bytes;
    for (k = 0; k < 3; k++) i.nodes[k] = f->n[k];
    i.samples = f->n[2] == CSIMI_FIELD_TRIANGLES ? 0 : f->samples;
    i.cell = (csim_real)f->cell;
    i.error = (csim_real)f->error;
    i.open_edges = f->open;
    i.flipped_edges = f->flipped;
    i.crowded_edges = f->crowded;
    i.volume = (csim_real)f->volume;
    return i;
}

/* ---- distance grids */

/* Quadratic B-splines of the distances at the nodes, and their gradient, which is continuous: a ball in a groove has
   one contact, and where its normal jumped it would rattle. Planes are exact. x at least a cell from the border. */
static csim_real csimi_grid_distance(const csim_field *f, const csim_real *x, csim_vec3 *gradient) {
    const float *value = csimi_field_value(f);
    csim_real w[3][3], slope[3][3], g[3] = {0, 0, 0}, d = 0;
    int at[3], i, j, k;
    for (k = 0; k < 3; k++) {
        csim_real t = (x[k] - (csim_real)f->lower[k]) / (csim_real)f->cell + CSIM_R(0.5);
        at[k] = csimi_cut(t, 1, f->n[k] - 2);
        t -= (csim_real)at[k]; /* 0..1 across the cell around the node */
        w[k][0] = (1 - t) * (1 - t) / 2;
        w[k][1] = CSIM_R(0.5) + t * (1 - t);
        w[k][2] = t * t / 2;
        slope[k][0] = t - 1;
        slope[k][1] = 1 - 2 * t;
        slope[k][2] = t;
    }
    for (k = 0; k < 3; k++)
        for (j = 0; j < 3; j++) {
            const float *row = value +
                               ((size_t)(at[2] + k - 1) * (size_t)f->n[1] + (size_t)(at[1] + j - 1)) * (size_t)f->n[0] +
                               at[0] - 1;
            csim_real sum = 0, along = 0;
            for (i = 0; i < 3; i++) {
                sum += w[0][i] * (csim_real)row[i];
                along += slope[0][i] * (csim_real)row[i];
            }
            d += w[2][k] * w[1][j] * sum;
            g[0] += w[2][k] * w[1][j] * along;
            g[1] += w[2][k] * slope[1][j] * sum;
            g[2] += slope[2][k] * w[1][j] * sum;
        }
    *gradient = csim_scale(1 / (csim_real)f->cell, csimi_load3(g));
    return d;
}

/* The grid without its outermost cells, where the splines end; the surface lies within. */
static csim_vec3 csimi_grid_clamp(const csim_field *f, csim_vec3 p) {
    csim_real x[3];
    int k;
    csimi_store3(x, p);
    for (k = 0; k < 3; k++)
        x[k] = csimi_clamp(x[k], (csim_real)(f->lower[k] + f->cell),
                           (csim_real)(f->lower[k] + f->cell * (double)(f->n[k] - 2)));
    return csimi_load3(x);
}

/* x: the nearest point of the grid to p. For any s in the grid (p - x).(s - x) <= 0: |p - s|^2 >= |p - x|^2 + |x -
 * s|^2. */
CSIMI_FN csim_real csimi_least_mesh(const csim_field *f, csim_vec3 p) {
    const csim_vec3 x = csimi_grid_clamp(f, p), out = csim_sub(p, x);
    csim_real at[3], d, far = csim_dot(out, out);
    csim_vec3 g;
    csimi_store3(at, x);
    d = csimi_grid_distance(f, at, &g);
    return far > 0 ? CSIMI_SQRT(far + d * d) : d;
}

/* Outside of the grid: from the foot s of a point of the grid, the line to p leaves the grid at a point with a better
   foot; at the nearest point they are the same. */
CSIMI_FN csim_real csimi_distance_mesh(const csim_field *f, csim_vec3 p, csim_vec3 *n) {
    csim_vec3 x = csimi_grid_clamp(f, p), g, s, out = csim_sub(p, x);
    csim_real at[3], d, t;
    int k;
    for (k = 0;; k++) {
        csimi_store3(at, x);
        d = csimi_grid_distance(f, at, &g);
        *n = csim_normalize(g);
        if (!(csim_dot(*n, *n) > 0)) *n = csim_v3(0, 0, 1);
        if (!(csim_dot(out, out) > 0)) return d;
        s = csim_madd(x, -csimi_max(d, 0), *n);
        if (k == 4) break;
        t = csim_dot(out, csim_sub(p, s)); /* x lies on the border that `out` crosses */
        t = csim_dot(out, csim_sub(x, s)) / t;
        x = csimi_grid_clamp(f, csim_madd(s, csimi_clamp(t, 0, 1), csim_sub(p, s)));
    }
    *n = csim_normalize(csim_sub(p, s));
    return csim_length(csim_sub(p, s));
}

/* ---- heights */

CSIMI_FN csim_vec3 csimi_height_node(const csim_field *f, int i, int j) {
    return csim_v3((csim_real)(f->cell * (double)i), (csim_real)(f->cell * (double)j),
                   (csim_real)csimi_field_value(f)[(size_t)j * (size_t)f->n[0] + (size_t)i]);
}

/* Triangle `half` of cell i, j, counter-clockwise from above. */
static void csimi_height_triangle(const csim_field *f, int i, int j, int half, csim_vec3 *x) {
    x[0] = csimi_height_node(f, i, j);
    x[1] = half ? csimi_height_node(f, i + 1, j + 1) : csimi_height_node(f, i + 1, j);
    x[2] = half ? csimi_height_node(f, i, j + 1) : csimi_height_node(f, i + 1, j + 1);
}

static int csimi_height_cell(const csim_field *f, csim_real x, int k) {
    return csimi_cut(x / (csim_real)f->cell, 0, f->n[k] - 2);
}

/* How far p is above the surface at its own x and y (clamped to the field); the slope's normal there. */
static csim_real csimi_height_above(const csim_field *f, csim_vec3 p, csim_vec3 *n) {
    const int i = csimi_height_cell(f, p.x, 0), j = csimi_height_cell(f, p.y, 1);
    const csim_real cell = (csim_real)f->cell;
    const csim_real u = csimi_clamp(p.x / cell - (csim_real)i, 0, 1), v = csimi_clamp(p.y / cell - (csim_real)j, 0, 1);
    csim_vec3 x[3];
    csimi_height_triangle(f, i, j, v > u, x);
    *n = csim_normalize(csim_cross(csim_sub(x[1], x[0]), csim_sub(x[2], x[0])));
    return v > u ? p.z - (x[0].z + u * (x[1].z - x[2].z) + v * (x[2].z - x[0].z))
                 : p.z - (x[0].z + u * (x[1].z - x[0].z) + v * (x[2].z - x[1].z));
}

/* What the coordinates of a point over a cell are rounded by, with room to spare. */
static csim_real csimi_height_rounding(const csim_field *f, csim_vec3 p) {
    return 8 * CSIMI_EPS * (csimi_abs(p.x) + csimi_abs(p.y) + (csim_real)f->cell);
}

/* How far p is, along x and y, from what lies outside of its own cell; rounded down. */
static csim_real csimi_height_inside(const csim_field *f, csim_vec3 p, int i, int j) {
    const csim_real cell = (csim_real)f->cell, u = p.x - cell * (csim_real)i, v = p.y - cell * (csim_real)j;
    const csim_real in = csimi_min(csimi_min(u, cell - u), csimi_min(v, cell - v));
    return csimi_max(0, in - csimi_height_rounding(f, p));
}

static csim_real csimi_height_out(csim_real x, csim_real low, csim_real high, csim_real rounding) {
    return csimi_max(0, csimi_max(low - x, x - high) - rounding);
}

/* Whether the box around the two triangles of a cell is farther from p than `far`. */
static bool csimi_height_beside(const csim_field *f, csim_vec3 p, int a, int b, csim_real far) {
    const float *z = csimi_field_value(f) + (size_t)b * (size_t)f->n[0] + (size_t)a, *over = z + f->n[0];
    const csim_real cell = (csim_real)f->cell, round = csimi_height_rounding(f, p);
    const csim_real z0 = (csim_real)z[0], z1 = (csim_real)z[1], z2 = (csim_real)over[0], z3 = (csim_real)over[1];
    const csim_real low = csimi_min(csimi_min(z0, z1), csimi_min(z2, z3));
    const csim_real high = csimi_max(csimi_max(z0, z1), csimi_max(z2, z3));
    csim_vec3 d;
    d.x = csimi_height_out(p.x, cell * (csim_real)a, cell * (csim_real)(a + 1), round);
    d.y = csimi_height_out(p.y, cell * (csim_real)b, cell * (csim_real)(b + 1), round);
    d.z = csimi_height_out(p.z, low, high, round + 8 * CSIMI_EPS * csimi_abs(p.z));
    return csim_dot(d, d) > far * far * (1 + 32 * CSIMI_EPS);
}

/* The nearest point of the surface, ring of cells by ring until none can be nearer, or none as near as `within`. */
static csim_real csimi_height_nearest(const csim_field *f, csim_vec3 p, csim_real within, csim_real best,
                                      csim_vec3 *foot) {
    const int i = csimi_height_cell(f, p.x, 0), j = csimi_height_cell(f, p.y, 1);
    const csim_real cell = (csim_real)f->cell, inside = csimi_height_inside(f, p, i, j);
    int ring, a, b, half;
    for (ring = 0; ring <= CSIMI_FIELD_RINGS && (csim_real)(ring - 1) * cell + inside < csimi_min(best, within); ring++)
        for (b = csimi_imax(j - ring, 0); b <= csimi_imin(j + ring, f->n[1] - 2); b++)
            for (a = csimi_imax(i - ring, 0); a <= csimi_imin(i + ring, f->n[0] - 2); a++) {
                if (a != i - ring && a != i + ring && b != j - ring && b != j + ring) continue;
                if (csimi_height_beside(f, p, a, b, csimi_min(best, within))) continue;
                for (half = 0; half < 2; half++) {
                    csim_vec3 x[3], c;
                    csim_real w[3], d;
                    csimi_height_triangle(f, a, b, half, x);
                    csimi_closest_triangle(p, x[0], x[1], x[2], w);
                    c = csim_madd(csim_madd(csim_scale(w[0], x[0]), w[1], x[1]), w[2], x[2]);
                    d = csim_length(csim_sub(p, c));
                    if (!(d < best)) continue;
                    best = d;
                    *foot = c;
                }
            }
    return csimi_min(best, (csim_real)CSIMI_FIELD_RINGS * cell);
}

/* Whether all of the solid that is no farther from p than `far` along x and y is farther below. */
static bool csimi_height_deep(const csim_field *f, csim_vec3 p, csim_real far) {
    const int i = csimi_height_cell(f, p.x + far, 0) + 1, j = csimi_height_cell(f, p.y + far, 1) + 1;
    int a, b;
    for (b = csimi_height_cell(f, p.y - far, 1); b <= j; b++)
        for (a = csimi_height_cell(f, p.x - far, 0); a <= i; a++)
            if (!(csimi_height_node(f, a, b).z < p.z - far)) return false;
    return true;
}

/* Of the solid below the surface, which ends in walls at the border of the field. */
CSIMI_FN csim_real csimi_distance_heights(const csim_field *f, csim_vec3 p, csim_real within, csim_vec3 *n) {
    csim_vec3 rest = p, foot, slope, wall = csim_v3(0, 0, 0);
    csim_real beyond, above, d, inner;
    if (within < (csim_real)f->cell && csimi_height_deep(f, p, csimi_max(within, 0))) {
        *n = csim_v3(0, 0, 1);
        return CSIMI_HUGE; /* more than that */
    }
    rest.x = csimi_clamp(p.x, 0, (csim_real)(f->cell * (double)(f->n[0] - 1)));
    rest.y = csimi_clamp(p.y, 0, (csim_real)(f->cell * (double)(f->n[1] - 1)));
    beyond = csim_length(csim_sub(p, rest));
    above = csimi_height_above(f, rest, &slope);
    *n = slope;
    if (beyond > 0 && above <= 0) { /* beside the walls */
        *n = csim_scale(1 / beyond, csim_sub(p, rest));
        return beyond;
    }
    foot = csim_sub(rest, csim_v3(0, 0, above));
    if (!(beyond > 0) && above > within && within < 0) return above; /* no deeper than straight down */
    if (above <= 0 && !(beyond > 0)) within = CSIMI_HUGE; /* how deep it is, whatever that is */
    d = csimi_height_nearest(f, p, within, csim_length(csim_sub(p, foot)), &foot);
    inner = csim_length(csim_sub(p, foot));
    if (inner > 64 * CSIMI_EPS * (csimi_abs(p.x) + csimi_abs(p.y) + csimi_abs(p.z) + (csim_real)f->cell))
        *n = csim_scale((above < 0 ? -1 : 1) / inner, csim_sub(p, foot));
    if (above > 0 || beyond > 0) return d;
    inner = csimi_min(p.x, (csim_real)(f->cell * (double)(f->n[0] - 1)) - p.x);
    wall.x = p.x > (csim_real)(f->cell * (double)(f->n[0] - 1)) / 2 ? CSIM_R(1.0) : CSIM_R(-1.0);
    if (csimi_min(p.y, (csim_real)(f->cell * (double)(f->n[1] - 1)) - p.y) < inner) {
        inner = csimi_min(p.y, (csim_real)(f->cell * (double)(f->n[1] - 1)) - p.y);
        wall = csim_v3(0, p.y > (csim_real)(f->cell * (double)(f->n[1] - 1)) / 2 ? CSIM_R(1.0) : CSIM_R(-1.0), 0);
    }
    if (inner < d) *n = wall;
    return -csimi_min(inner, d);
}

CSIMI_FN int csimi_height_planes(const csim_field *f, csim_vec3 p, csim_real within, csimi_height_plane *plane,
                                 int most) {
    const int rings = csimi_cut(within / (csim_real)f->cell + 1, 1, CSIMI_FIELD_RINGS);
    const int i = csimi_height_cell(f, p.x, 0), j = csimi_height_cell(f, p.y, 1);
    int a, b, half, count = 0, k;
    for (b = csimi_imax(j - rings, 0); b <= csimi_imin(j + rings, f->n[1] - 2); b++)
        for (a = csimi_imax(i - rings, 0); a <= csimi_imin(i + rings, f->n[0] - 2); a++)
            for (half = 0; half < 2; half++) {
                csim_vec3 x[3], n;
                csim_real w[3], d;
                csimi_height_triangle(f, a, b, half, x);
                n = csim_normalize(csim_cross(csim_sub(x[1], x[0]), csim_sub(x[2], x[0])));
                d = csim_dot(n, csim_sub(p, x[0]));
                if (!(d > 0 && d <= within) || csimi_closest_triangle(p, x[0], x[1], x[2], w) != 0) continue;
                for (k = csimi_imin(count, most - 1); k > 0 && plane[k - 1].distance > d; k--) plane[k] = plane[k - 1];
                if (k == most - 1 && count == most && plane[k].distance <= d) continue;
                plane[k].normal = n;
                plane[k].distance = d;
                plane[k].triangle = 2 * (uint32_t)(b * f->n[0] + a) + (uint32_t)half;
                count = csimi_imin(count + 1, most);
            }
    return count;
}

/* The pose at x whose z axis is the unit normal n, by the least turn. */
static csim_pose csimi_plane_pose(csim_vec3 x, csim_vec3 n) {
    csim_pose p;
    p.position = x;
    p.rotation.w = n.z > CSIM_R(-0.999999) ? 1 + n.z : 0;
    p.rotation.x = n.z > CSIM_R(-0.999999) ? -n.y : 1;
    p.rotation.y = n.z > CSIM_R(-0.999999) ? n.x : 0;
    p.rotation.z = 0;
    p.rotation = csim_quat_normalize(p.rotation);
    return p;
}

/* The plane through three corners of the nodes first[] to last[], at the first of them, its z axis outward; whether
   all of the nodes lie on it, to the rounding of the floats they are kept as; *top: the highest. */
static bool csimi_height_plane_of(const csim_field *f, const int *first, const int *last, csim_pose *plane,
                                  csim_real *top) {
    const csim_vec3 x = csimi_height_node(f, first[0], first[1]);
    const csim_real east = csimi_height_node(f, last[0], first[1]).z, north = csimi_height_node(f, first[0], last[1]).z;
    const csim_real along = (east - x.z) / (csim_real)(last[0] - first[0]);
    const csim_real across = (north - x.z) / (csim_real)(last[1] - first[1]);
    const csim_real near = CSIM_R(5e-7) * (csimi_abs(x.z) + csimi_abs(east) + csimi_abs(north));
    const csim_vec3 n = csim_normalize(csim_v3(-along / (csim_real)f->cell, -across / (csim_real)f->cell, CSIM_R(1.0)));
    bool even = true;
    int i, j;
    *top = x.z;
    for (j = first[1]; j <= last[1]; j++)
        for (i = first[0]; i <= last[0]; i++) {
            const csim_real z = csimi_height_node(f, i, j).z;
            const csim_real flat = x.z + along * (csim_real)(i - first[0]) + across * (csim_real)(j - first[1]);
            *top = csimi_max(*top, z);
            even = even && csimi_abs(z - flat) <= near;
        }
    *plane = csimi_plane_pose(x, n);
    return even;
}

static csimi_under csimi_height_under(const csim_field *f, csim_vec3 lower, csim_vec3 upper, csim_pose *plane) {
    csim_real low[3], high[3], top;
    int first[2], last[2], k;
    csimi_store3(low, lower);
    csimi_store3(high, upper);
    for (k = 0; k < 2; k++) {
        if (!(low[k] >= 0 && high[k] <= (csim_real)(f->cell * (double)(f->n[k] - 1)))) return CSIMI_UNDER_RELIEF;
        first[k] = csimi_height_cell(f, low[k], k);
        last[k] = csimi_height_cell(f, high[k], k) + 1;
    }
    if (csimi_height_plane_of(f, first, last, plane, &top)) return CSIMI_UNDER_PLANE;
    return low[2] > top ? CSIMI_UNDER_NOTHING : CSIMI_UNDER_RELIEF;
}

/* Whether the distances at the nodes first[] to last[] of a grid are those of one plane, to the rounding of floats. */
static bool csimi_grid_plane_of(const csim_field *f, const int *first, const int *last, csim_pose *plane) {
    const float *value = csimi_field_value(f);
    const size_t along[3] = {1, (size_t)f->n[0], (size_t)f->n[0] * (size_t)f->n[1]};
    const size_t at = along[0] * (size_t)first[0] + along[1] * (size_t)first[1] + along[2] * (size_t)first[2];
    const csim_real v = (csim_real)value[at], cell = (csim_real)f->cell;
    csim_real slope[3], near = csimi_abs(v), length;
    csim_vec3 n, x;
    int i[3], k;
    for (k = 0; k < 3; k++) {
        const int far = last[k] - first[k];
        const csim_real end = (csim_real)value[at + along[k] * (size_t)far];
        slope[k] = (end - v) / (csim_real)far;
        near += csimi_abs(end);
    }
    length = csim_length(csimi_load3(slope));
    if (!(csimi_abs(length / cell - 1) < CSIM_R(1e-3))) return false;
    near *= CSIM_R(5e-7);
    for (i[2] = 0; i[2] <= last[2] - first[2]; i[2]++)
        for (i[1] = 0; i[1] <= last[1] - first[1]; i[1]++)
            for (i[0] = 0; i[0] <= last[0] - first[0]; i[0]++) {
                csim_real flat = v, z = (csim_real)value[at + along[2] * (size_t)i[2] + along[1] * (size_t)i[1] +
                                                         (size_t)i[0]];
                for (k = 0; k < 3; k++) flat += slope[k] * (csim_real)i[k];
                if (!(csimi_abs(z - flat) <= near)) return false;
            }
    n = csim_scale(1 / length, csimi_load3(slope));
    x = csim_v3((csim_real)(f->lower[0] + f->cell * (double)first[0]),
                (csim_real)(f->lower[1] + f->cell * (double)first[1]),
                (csim_real)(f->lower[2] + f->cell * (double)first[2]));
    *plane = csimi_plane_pose(csim_madd(x, -v * cell / length, n), n);
    return true;
}

/* All that splines within the box read. */
static csimi_under csimi_grid_under(const csim_field *f, csim_vec3 lower, csim_vec3 upper, csim_pose *plane) {
    csim_real low[3], high[3], nodes = 1;
    int first[3], last[3], k;
    csimi_store3(low, lower);
    csimi_store3(high, upper);
    for (k = 0; k < 3; k++) {
        const csim_real cell = (csim_real)f->cell, start = (csim_real)f->lower[k], end = (csim_real)(f->n[k] - 1);
        if ((high[k] - start) / cell < 0 || (low[k] - start) / cell > end) return CSIMI_UNDER_NOTHING;
        first[k] = csimi_cut((low[k] - start) / cell - 1, 0, f->n[k] - 2);
        last[k] = csimi_cut((high[k] - start) / cell + 2, 1, f->n[k] - 1);
        nodes *= (csim_real)(last[k] - first[k] + 1);
    }
    if (!(nodes <= CSIMI_FIELD_LOOK)) return CSIMI_UNDER_RELIEF;
    return csimi_grid_plane_of(f, first, last, plane) ? CSIMI_UNDER_PLANE : CSIMI_UNDER_RELIEF;
}

CSIMI_FN csimi_under csimi_field_under(const csim_field *f, csim_vec3 lower, csim_vec3 upper, csim_vec3 middle,
                                       csim_pose *plane) {
    csim_vec3 at = middle, n = middle;
    csimi_under under;
    if (f->n[2] == 1) return csimi_height_under(f, lower, upper, plane);
    if (f->n[2] != CSIMI_FIELD_TRIANGLES) return csimi_grid_under(f, lower, upper, plane);
    under = csimi_triangles_under(f, lower, upper, middle, &at, &n);
    if (under == CSIMI_UNDER_PLANE) *plane = csimi_plane_pose(at, n);
    return under;
}

/* Above the middle of its neighbours along x, y or the diagonal of the cells. */
CSIMI_FN bool csimi_height_peak(const csim_field *f, int i, int j) {
    const csim_real z = csimi_height_node(f, i, j).z, small = (csim_real)f->cell * CSIM_R(1e-6);
    const bool x = i > 0 && i + 1 < f->n[0], y = j > 0 && j + 1 < f->n[1];
    if (!x || !y) return true;
    return csimi_height_node(f, i - 1, j).z + csimi_height_node(f, i + 1, j).z < 2 * z - small ||
           csimi_height_node(f, i, j - 1).z + csimi_height_node(f, i, j + 1).z < 2 * z - small ||
           csimi_height_node(f, i - 1, j - 1).z + csimi_height_node(f, i + 1, j + 1).z < 2 * z - small;
}

CSIMI_FN csim_vec3 csimi_field_normal(const csim_field *f, csim_vec3 p) {
    csim_vec3 n, west, east, south, north;
    int i, j;
    if (f->n[2] == CSIMI_FIELD_TRIANGLES) return csim_v3(0, 0, 0); /* nothing asks: they offer no points */
    if (f->n[2] > 1) {
        csimi_distance_mesh(f, p, &n);
        return n;
    }
    i = csimi_cut(p.x / (csim_real)f->cell + CSIM_R(0.5), 0, f->n[0] - 1);
    j = csimi_cut(p.y / (csim_real)f->cell + CSIM_R(0.5), 0, f->n[1] - 1);
    west = csimi_height_node(f, csimi_imax(i - 1, 0), j);
    east = csimi_height_node(f, csimi_imin(i + 1, f->n[0] - 1), j);
    south = csimi_height_node(f, i, csimi_imax(j - 1, 0));
    north = csimi_height_node(f, i, csimi_imin(j + 1, f->n[1] - 1));
    return csim_normalize(csim_cross(csim_sub(east, west), csim_sub(north, south)));
}

/* ---- making heights */

static csim_status csimi_check_heights(const csim_height_field_def *d, const char *fn, csim_error *error) {
    int i;
    if (!d) return csimi_missing(error, fn, "def");
    if (d->guard != CSIMI_FIELD_GUARD)
        return csimi_deny(error, CSIM_DEF_NOT_INITIALISED, fn, "def", "made by csim_default_height_field_def()");
    if (d->count_x < 2 || d->count_x > 20000 || d->count_y < 2 || d->count_y > 20000)
        return csimi_unfit(error, fn, d->count_x < 2 || d->count_x > 20000 ? "count_x" : "count_y",
                           (double)(d->count_x < 2 || d->count_x > 20000 ? d->count_x : d->count_y), "2..20000");
    if (!csimi_finite(d->cell))
        return csimi_fail(error, CSIM_NOT_FINITE, fn, "cell", (double)d->cell, "above 0, at most 1e4");
    if (!(d->cell > 0) || d->cell > 10000)
        return csimi_unfit(error, fn, "cell", (double)d->cell, "above 0, at most 1e4");
    if (!d->heights) return csimi_missing(error, fn, "heights");
    for (i = 0; i < d->count_x * d->count_y; i++) {
        if (!csimi_finite(d->heights[i]))
            return csimi_fail(error, CSIM_NOT_FINITE, fn, "heights", (double)d->heights[i], "finite numbers");
        if (csimi_abs(d->heights[i]) > CSIM_R(1e6))
            return csimi_unfit(error, fn, "heights", (double)d->heights[i], "-1e6..1e6");
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_height_field_bytes(const csim_height_field_def *def, size_t *bytes, csim_error *error) {
    static const char fn[] = "csim_height_field_bytes";
    csim_status s = csimi_check_heights(def, fn, error);
    if (s) return s;
    if (!bytes) return csimi_missing(error, fn, "bytes");
    *bytes = sizeof(csim_field) + (sizeof(float) * (size_t)def->count_x * (size_t)def->count_y + 7) / 8 * 8;
    return CSIM_OK;
}

CSIM_API csim_status csim_create_height_field_in(const csim_height_field_def *def, void *block, size_t bytes,
                                                 const csim_field **field, csim_error *error) {
    static const char fn[] = "csim_create_height_field_in";
    csim_field *f = (csim_field *)block;
    size_t needed = 0;
    float *value;
    int i;
    csim_status s = csimi_check_heights(def, fn, error);
    if (s) return s;
    csim_height_field_bytes(def, &needed, error);
    if ((s = csimi_check_block(fn, block, bytes, needed, field, error)) != 0) return s;
    CSIMI_MEMSET(f, 0, sizeof *f);
    f->n[0] = def->count_x;
    f->n[1] = def->count_y;
    f->n[2] = 1;
    f->cell = (double)def->cell;
    f->high[0] = f->cell * (double)(def->count_x - 1);
    f->high[1] = f->cell * (double)(def->count_y - 1);
    f->high[2] = f->low[2] = (double)def->heights[0];
    value = (float *)(void *)(f + 1);
    for (i = 0; i < def->count_x * def->count_y; i++) {
        value[i] = (float)def->heights[i];
        if ((double)value[i] < f->low[2]) f->low[2] = (double)value[i];
        if ((double)value[i] > f->high[2]) f->high[2] = (double)value[i];
    }
    f->low[2] -= f->high[0] + f->high[1]; /* the solid below */
    csimi_field_seal(f);
    *field = f;
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_block(const char *fn, const void *block, size_t bytes, size_t needed,
                                       const csim_field **field, csim_error *error) {
    if (!block || !field) return csimi_missing(error, fn, block ? "field" : "block");
    if ((uintptr_t)block % 64 != 0) return csimi_deny(error, CSIM_OUT_OF_RANGE, fn, "block", "aligned to 64 bytes");
    if (bytes < needed)
        return csimi_fail(error, CSIM_CAPACITY, fn, "bytes", (double)bytes, "at least what the definition needs");
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_mesh_list(const csim_real *vertices, int vertex_count, const int *triangles,
                                           int triangle_count, csim_real scale, const char *fn, csim_error *error) {
    int i;
    if (vertex_count < 3 || vertex_count > 10000000)
        return csimi_unfit(error, fn, "vertex_count", (double)vertex_count, "3..1e7");
    if (triangle_count < 1 || triangle_count > 10000000)
        return csimi_unfit(error, fn, "triangle_count", (double)triangle_count, "1..1e7");
    if (!vertices || !triangles) return csimi_missing(error, fn, vertices ? "triangles" : "vertices");
    if (!csimi_finite(scale)) return csimi_deny(error, CSIM_NOT_FINITE, fn, "scale", "finite");
    if (!(scale > 0) || scale > CSIM_R(1e9))
        return csimi_unfit(error, fn, "scale", (double)scale, "above 0, at most 1e9");
    for (i = 0; i < 3 * vertex_count; i++) {
        const csim_real x = vertices[i];
        if (!csimi_finite(x)) return csimi_fail(error, CSIM_NOT_FINITE, fn, "vertices", (double)x, "finite numbers");
        if (!(csimi_abs(x) * scale <= CSIM_R(1e6)))
            return csimi_unfit(error, fn, "vertices", (double)x, "within 1e6 m when scaled");
    }
    for (i = 0; i < 3 * triangle_count; i++)
        if (triangles[i] < 0 || triangles[i] >= vertex_count)
            return csimi_fail(error, CSIM_BAD_MESH, fn, "triangles", (double)triangles[i], "0..vertex_count - 1");
    return CSIM_OK;
}

/* ---- what collision asks of a field */

CSIMI_FN csim_vec3 csimi_sample_of(const csim_field *f, int i) {
    const float *x = csimi_field_sample(f) + 3 * (size_t)i;
    return csim_v3((csim_real)x[0], (csim_real)x[1], (csim_real)x[2]);
}

CSIMI_FN csim_vec3 csimi_sample_block(const csim_field *f, int block, csim_real *radius) {
    const float *x = csimi_field_block(f) + 4 * (size_t)block;
    *radius = (csim_real)x[3];
    return csim_v3((csim_real)x[0], (csim_real)x[1], (csim_real)x[2]);
}

#undef CSIMI_FIELD_MAGIC
