/* collide/meshfield: from a triangle mesh to distances on a grid: exact distance to the triangles at every node, sign
   by the generalized winding number, mass moments, and the points that stand for the surface. */
#include "private.h"

enum { CSIMI_PAD = 3 }; /* cells of the grid beyond the mesh */
enum { CSIMI_SPLITS = 64 }; /* most pieces of an edge */
enum { CSIMI_FAR_AWAY = 3 }; /* radii of a cluster of triangles from which its dipole stands for it */
static const double CSIMI_UNSURE = 0.25; /* winding numbers within this of 1/2 are summed exactly */
enum { CSIMI_LEAF_TRIANGLES = 4 }; /* as surface.c has them */

/* A branch of the tree as one dipole: area vector, middle, and what lies within radius of it. */
typedef struct csimi_cluster {
    csim_vec3 area, middle;
    csim_real weight, radius;
} csimi_cluster;

typedef struct csimi_mesh_build {
    const csim_mesh_field_def *def;
    csim_field *field;
    csim_vec3 low, high; /* of the vertices that triangles use */
    csim_real cell, spacing;
    size_t most_samples;
    csim_real *x;          /* [3 vertex_count], scaled */
    int *face, *order;     /* triangles in the order of the tree; [max(3 triangle_count, samples)] to work in */
    uint64_t *key, *other; /* [3 triangle_count or samples] */
    csimi_cluster *cluster;
    csimi_surface surface;
    float *sample;
    bool closed;
} csimi_mesh_build;

/* ---- checks and sizes */

static csim_status csimi_check_mesh_field(const csim_mesh_field_def *d, const char *fn, csim_error *error) {
    csim_status status;
    if (!d) return csimi_missing(error, fn, "def");
    if (d->guard != CSIMI_FIELD_GUARD)
        return csimi_deny(error, CSIM_DEF_NOT_INITIALISED, fn, "def", "made by csim_default_mesh_field_def()");
    if ((status = csimi_check_mesh_list(d->vertices, d->vertex_count, d->triangles, d->triangle_count, d->scale, fn,
                                        error)) != CSIM_OK)
        return status;
    if (!csimi_finite(d->spacing)) return csimi_deny(error, CSIM_NOT_FINITE, fn, "spacing", "finite");
    if (d->resolution < 4 || d->resolution > 400)
        return csimi_unfit(error, fn, "resolution", (double)d->resolution, "4..400");
    return CSIM_OK;
}

static csim_vec3 csimi_mesh_corner(const csim_mesh_field_def *d, int triangle, int k) {
    return csim_scale(d->scale, csimi_load3(d->vertices + 3 * (size_t)d->triangles[3 * (size_t)triangle + (size_t)k]));
}

/* Pieces the edges of a triangle are cut into: of one edge, of the longest. */
static int csimi_edge_pieces(const csimi_mesh_build *m, csim_vec3 a, csim_vec3 b) {
    return csimi_cut(csim_length(csim_sub(b, a)) / m->spacing + CSIM_R(0.999), 1, CSIMI_SPLITS);
}

static int csimi_triangle_pieces(const csimi_mesh_build *m, int triangle) {
    int k, n = 1;
    for (k = 0; k < 3; k++)
        n = csimi_imax(n, csimi_edge_pieces(m, csimi_mesh_corner(m->def, triangle, k),
                                            csimi_mesh_corner(m->def, triangle, (k + 1) % 3)));
    return n;
}

/* Size of the grid and an upper bound of the samples. */
static csim_status csimi_mesh_size(csimi_mesh_build *m, csim_field *f, const char *fn, csim_error *error) {
    const csim_mesh_field_def *d = m->def;
    csim_vec3 size;
    csim_real longest;
    int i, k, extent[3];
    m->low = csim_v3(CSIMI_HUGE, CSIMI_HUGE, CSIMI_HUGE);
    m->high = csim_scale(-1, m->low);
    for (i = 0; i < 3 * d->triangle_count; i++) {
        const csim_vec3 x = csimi_mesh_corner(d, i / 3, i % 3);
        m->low = csim_v3(csimi_min(m->low.x, x.x), csimi_min(m->low.y, x.y), csimi_min(m->low.z, x.z));
        m->high = csim_v3(csimi_max(m->high.x, x.x), csimi_max(m->high.y, x.y), csimi_max(m->high.z, x.z));
    }
    size = csim_sub(m->high, m->low);
    longest = csimi_max(size.x, csimi_max(size.y, size.z));
    if (!(longest > CSIM_R(1e-6)))
        return csimi_fail(error, CSIM_BAD_MESH, fn, "longest side", (double)longest, "above 1e-6 m");
    m->cell = longest / (csim_real)d->resolution;
    m->spacing = d->spacing > 0 ? d->spacing : 2 * m->cell;
    if (d->spacing < 0 || m->spacing < longest / 1000)
        return csimi_unfit(error, fn, "spacing", (double)d->spacing, "0, or at least 1e-3 of the longest side");
    extent[0] = (int)(size.x / m->cell + CSIM_R(0.999));
    extent[1] = (int)(size.y / m->cell + CSIM_R(0.999));
    extent[2] = (int)(size.z / m->cell + CSIM_R(0.999));
    CSIMI_MEMSET(f, 0, sizeof *f);
    for (k = 0; k < 3; k++) f->n[k] = csimi_imax(extent[k], 1) + 1 + 2 * CSIMI_PAD;
    m->most_samples = (size_t)d->vertex_count;
    for (i = 0; i < d->triangle_count; i++) {
        const size_t n = (size_t)csimi_triangle_pieces(m, i);
        m->most_samples += 3 * (n - 1) + (n - 1) * (n > 1 ? n - 2 : 0) / 2;
    }
    if (m->most_samples > 100000000)
        return csimi_unfit(error, fn, "samples", (double)m->most_samples, "at most 1e8: a larger spacing");
    return CSIM_OK;
}

/* What stays, then scratch. */
static void csimi_mesh_layout(csimi_mesh_build *m, const csim_field *f, csimi_arena *arena) {
    const size_t nv = (size_t)m->def->vertex_count, nt = (size_t)m->def->triangle_count, samples = m->most_samples;
    const size_t items = 3 * nt > samples ? 3 * nt : samples, blocks = samples / CSIMI_SAMPLE_BLOCK + 1;
    csimi_push(arena, sizeof *f + 8 + sizeof(float) * (csimi_field_values(f) + 3 * samples + 4 * blocks), 1);
    m->x = CSIMI_PUSH(arena, csim_real, 3 * nv);
    m->face = CSIMI_PUSH(arena, int, 3 * nt);
    m->order = CSIMI_PUSH(arena, int, 3 * items);
    m->key = CSIMI_PUSH(arena, uint64_t, 2 * items);
    m->other = m->key ? m->key + items : NULL;
    m->sample = CSIMI_PUSH(arena, float, 3 * samples);
    m->surface.box = CSIMI_PUSH(arena, float, 6 * (size_t)csimi_surface_boxes(m->def->triangle_count));
    m->cluster = CSIMI_PUSH(arena, csimi_cluster, csimi_surface_boxes(m->def->triangle_count));
}

/* ---- edges */

/* Edges sorted by low and high vertex; the entries are 3 triangle + edge in the low half. */
static const uint64_t *csimi_sort_edges(const csimi_mesh_build *m) {
    const int *t = m->def->triangles, count = 3 * m->def->triangle_count;
    uint64_t *key = m->key, *other = m->other;
    int pass, i;
    for (i = 0; i < count; i++) key[i] = (uint64_t)i;
    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < count; i++) {
            const uint32_t e = (uint32_t)(key[i] & 0xffffffffu);
            const int a = t[e], b = t[e % 3 == 2 ? e - 2 : e + 1];
            key[i] = (uint64_t)(pass ? csimi_imin(a, b) : csimi_imax(a, b)) << 32 | e;
        }
        csimi_radix_sort(count, &key, &other);
    }
    return key;
}

static void csimi_add_sample(csimi_mesh_build *m, csim_vec3 x) {
    float *s = m->sample + 3 * (size_t)m->field->samples++;
    s[0] = (float)x.x;
    s[1] = (float)x.y;
    s[2] = (float)x.z;
}

/* Counts what is wrong with the edges, marks their first triangle, and puts samples on each edge once. */
static void csimi_study_edges(csimi_mesh_build *m, int *suspect) {
    const csim_mesh_field_def *d = m->def;
    const int *t = d->triangles;
    const uint64_t *key = csimi_sort_edges(m);
    int i, j, k, count = 3 * d->triangle_count;
    for (i = 0; i < count; i = j) {
        const uint32_t e = (uint32_t)(key[i] & 0xffffffffu);
        const int a = t[e], b = t[e % 3 == 2 ? e - 2 : e + 1];
        const csim_vec3 xa = csimi_load3(m->x + 3 * (size_t)a), xb = csimi_load3(m->x + 3 * (size_t)b);
        const int n = csimi_edge_pieces(m, xa, xb);
        int along = 0;
        for (j = i; j < count; j++) {
            const uint32_t o = (uint32_t)(key[j] & 0xffffffffu);
            const int p = t[o], q = t[o % 3 == 2 ? o - 2 : o + 1];
            if (csimi_imin(p, q) != csimi_imin(a, b) || csimi_imax(p, q) != csimi_imax(a, b)) break;
            along += p == a ? 1 : -1;
        }
        if (a == b) continue; /* of a triangle without area */
        m->field->open += j - i == 1;
        m->field->crowded += j - i > 2;
        m->field->flipped += j - i == 2 && along != 0;
        if ((j - i != 2 || along != 0) && *suspect < 0) *suspect = (int)(e / 3);
        for (k = 1; k < n; k++) csimi_add_sample(m, csim_madd(xa, (csim_real)k / (csim_real)n, csim_sub(xb, xa)));
    }
    m->closed = *suspect < 0;
}

/* Vertices in use, and the insides of large triangles. Uses order. */
static void csimi_study_faces(csimi_mesh_build *m) {
    const csim_mesh_field_def *d = m->def;
    int i, j, k;
    for (i = 0; i < d->triangle_count; i++) {
        const int n = csimi_triangle_pieces(m, i);
        const csim_vec3 a = csimi_mesh_corner(d, i, 0), b = csimi_mesh_corner(d, i, 1), c = csimi_mesh_corner(d, i, 2);
        for (j = 1; j < n - 1; j++)
            for (k = 1; k < n - j; k++)
                csimi_add_sample(m, csim_madd(csim_madd(a, (csim_real)j / (csim_real)n, csim_sub(b, a)),
                                              (csim_real)k / (csim_real)n, csim_sub(c, a)));
    }
    for (i = 0; i < d->vertex_count; i++) m->order[i] = 0;
    for (i = 0; i < 3 * d->triangle_count; i++) m->order[d->triangles[i]] = 1;
    for (i = 0; i < d->vertex_count; i++)
        if (m->order[i]) csimi_add_sample(m, csimi_load3(m->x + 3 * (size_t)i));
}

/* ---- the winding number */

static double csimi_solid_angle(csim_vec3 a, csim_vec3 b, csim_vec3 c) { /* van Oosterom and Strackee 1983 */
    const csim_real la = csim_length(a), lb = csim_length(b), lc = csim_length(c);
    const csim_real det = csim_dot(a, csim_cross(b, c));
    const csim_real den = la * lb * lc + csim_dot(a, b) * lc + csim_dot(b, c) * la + csim_dot(c, a) * lb;
    return det == 0 && den == 0 ? 0 : 2 * (double)CSIMI_ATAN2(det, den);
}

/* Dipoles from the leaves up (Barill, Dickson, Schmidt, Levin and Jacobson 2018, first order). */
static void csimi_mesh_clusters(csimi_mesh_build *m) {
    const csimi_surface *s = &m->surface;
    int i, k, t;
    for (i = 2 * s->leaves - 1; i > 0; i--) {
        csimi_cluster *c = m->cluster + i;
        const float *box = s->box + csimi_surface_box(i);
        csim_vec3 corner;
        CSIMI_MEMSET(c, 0, sizeof *c);
        if (i < s->leaves) {
            for (k = 0; k < 2; k++) {
                const csimi_cluster *child = c + i + k;
                c->area = csim_add(c->area, child->area);
                c->middle = csim_madd(c->middle, child->weight, child->middle);
                c->weight += child->weight;
            }
        } else {
            const int first = CSIMI_LEAF_TRIANGLES * (i - s->leaves);
            for (t = first; t < csimi_imin(first + CSIMI_LEAF_TRIANGLES, s->count); t++) {
                const csim_vec3 p = csimi_load3(s->x + 3 * (size_t)s->triangle[3 * t]);
                const csim_vec3 q = csimi_load3(s->x + 3 * (size_t)s->triangle[3 * t + 1]);
                const csim_vec3 r = csimi_load3(s->x + 3 * (size_t)s->triangle[3 * t + 2]);
                const csim_vec3 area = csim_scale(CSIM_R(0.5), csim_cross(csim_sub(q, p), csim_sub(r, p)));
                const csim_real weight = csim_length(area);
                c->area = csim_add(c->area, area);
                c->middle = csim_madd(c->middle, weight / 3, csim_add(p, csim_add(q, r)));
                c->weight += weight;
            }
        }
        if (!(c->weight > 0)) continue;
        c->middle = csim_scale(1 / c->weight, c->middle);
        corner = csim_v3(csimi_max(c->middle.x - (csim_real)box[0], (csim_real)box[12] - c->middle.x),
                         csimi_max(c->middle.y - (csim_real)box[4], (csim_real)box[16] - c->middle.y),
                         csimi_max(c->middle.z - (csim_real)box[8], (csim_real)box[20] - c->middle.z));
        c->radius = csim_length(corner);
    }
}

static double csimi_winding(const csimi_mesh_build *m, csim_vec3 p, bool exact) {
    const csimi_surface *s = &m->surface;
    double sum = 0;
    int stack[64], top = 0, t;
    stack[top++] = 1;
    while (top > 0) {
        const int node = stack[--top];
        const csimi_cluster *c = m->cluster + node;
        const csim_vec3 d = csim_sub(c->middle, p);
        const csim_real square = csim_dot(d, d);
        if (!(c->weight > 0)) continue;
        if (!exact && square > CSIMI_FAR_AWAY * CSIMI_FAR_AWAY * c->radius * c->radius) {
            sum += (double)(csim_dot(c->area, d) / (square * CSIMI_SQRT(square)));
        } else if (node < s->leaves) {
            stack[top++] = 2 * node + 1;
            stack[top++] = 2 * node;
        } else {
            const int first = CSIMI_LEAF_TRIANGLES * (node - s->leaves);
            for (t = first; t < csimi_imin(first + CSIMI_LEAF_TRIANGLES, s->count); t++)
                sum += csimi_solid_angle(csim_sub(csimi_load3(s->x + 3 * (size_t)s->triangle[3 * t]), p),
                                         csim_sub(csimi_load3(s->x + 3 * (size_t)s->triangle[3 * t + 1]), p),
                                         csim_sub(csimi_load3(s->x + 3 * (size_t)s->triangle[3 * t + 2]), p));
        }
    }
    sum /= 4 * 3.14159265358979323846;
    if (!exact && sum > 0.5 - CSIMI_UNSURE && sum < 0.5 + CSIMI_UNSURE) return csimi_winding(m, p, true);
    return sum;
}

/* ---- the grid */

static csim_vec3 csimi_mesh_node(const csim_field *f, int i, int j, int k) {
    return csim_v3((csim_real)(f->lower[0] + f->cell * (double)i), (csim_real)(f->lower[1] + f->cell * (double)j),
                   (csim_real)(f->lower[2] + f->cell * (double)k));
}

/* Along each row the last node bounds the search, and, where the mesh is closed and both are farther from it than from
   each other, gives its side. Returns how many nodes are inside less how many are inside out. */
static int64_t csimi_mesh_distances(csimi_mesh_build *m, float *value) {
    const csim_field *f = m->field;
    const csim_real cell = (csim_real)f->cell;
    int64_t inside = 0;
    size_t at = 0;
    int i, j, k;
    for (k = 0; k < f->n[2]; k++)
        for (j = 0; j < f->n[1]; j++) {
            csim_real last = CSIMI_HUGE, before = 0;
            double winding = 0;
            for (i = 0; i < f->n[0]; i++, at++) {
                const csim_vec3 p = csimi_mesh_node(f, i, j, k);
                csimi_surface_hit hit;
                if (!csimi_surface_nearest(&m->surface, p, last, NULL, &hit))
                    csimi_surface_nearest(&m->surface, p, CSIMI_HUGE, NULL, &hit);
                if (!m->closed || !(i > 0 && before + hit.distance > cell * CSIM_R(1.001)))
                    winding = csimi_winding(m, p, false);
                inside += (winding > 0.5) - (winding < -0.5);
                value[at] = (float)(winding > 0.5 ? -hit.distance : hit.distance);
                before = hit.distance;
                last = (before + cell) * CSIM_R(1.01);
            }
        }
    return inside;
}

/* Adds a cube of side `cell` about x to the moments. */
static void csimi_add_cube(double share, const double *x, double cell, double *volume, double *first, double *second) {
    const double v = share * cell * cell * cell;
    int i, j, k = 0;
    *volume += v;
    for (i = 0; i < 3; i++) {
        first[i] += v * x[i];
        for (j = i; j < 3; j++) second[k++] += v * (x[i] * x[j] + (i == j ? cell * cell / 12 : 0));
    }
}

/* Moments of where the grid's distance is negative: whole cells, and 4 x 4 x 4 parts of those that are cut, as far as
   the middle of a part is below the surface. */
static void csimi_grid_moments(const csim_field *f, double *volume, double *first, double *second) {
    const float *value = csimi_field_value(f);
    int i, j, k, c, part;
    for (k = 0; k + 1 < f->n[2]; k++)
        for (j = 0; j + 1 < f->n[1]; j++)
            for (i = 0; i + 1 < f->n[0]; i++) {
                double v[8], x[3];
                int below = 0;
                for (c = 0; c < 8; c++) {
                    v[c] = (double)value[((size_t)(k + (c >> 2)) * (size_t)f->n[1] + (size_t)(j + (c >> 1 & 1))) *
                                             (size_t)f->n[0] + (size_t)(i + (c & 1))];
                    below += v[c] < 0;
                }
                if (below == 0) continue;
                for (part = 0; part < (below == 8 ? 1 : 64); part++) {
                    const double side = below == 8 ? 1 : 0.25;
                    double t[3], d = 0, share;
                    for (c = 0; c < 3; c++) t[c] = below == 8 ? 0.5 : ((part >> 2 * c & 3) + 0.5) / 4;
                    for (c = 0; c < 8; c++)
                        d += v[c] * (c & 1 ? t[0] : 1 - t[0]) * (c >> 1 & 1 ? t[1] : 1 - t[1]) *
                             (c >> 2 ? t[2] : 1 - t[2]);
                    share = 0.5 - d / (side * f->cell);
                    share = below == 8 || share > 1 ? 1 : share < 0 ? 0 : share;
                    x[0] = f->lower[0] + f->cell * (i + t[0]);
                    x[1] = f->lower[1] + f->cell * (j + t[1]);
                    x[2] = f->lower[2] + f->cell * (k + t[2]);
                    csimi_add_cube(share, x, side * f->cell, volume, first, second);
                }
            }
}

/* Of the mesh where it is closed and agrees with the grid (it overlaps itself nowhere), else of the grid. */
static void csimi_mesh_moments(const csimi_mesh_build *m, csim_field *f) {
    double volume[2] = {0, 0}, first[2][3] = {{0, 0, 0}, {0, 0, 0}}, second[2][6], difference;
    int i, j, k, which;
    for (k = 0; k < 12; k++) second[k / 6][k % 6] = 0;
    csimi_grid_moments(f, volume, first[0], second[0]);
    for (i = 0; i < m->surface.count; i++) {
        double x[9];
        for (k = 0; k < 9; k++)
            x[k] = (double)m->x[3 * (size_t)m->face[3 * i + k / 3] + (size_t)(k % 3)] - f->lower[k % 3];
        csimi_add_tetrahedron(x, x + 3, x + 6, volume + 1, first[1], second[1]);
    }
    difference = volume[1] / volume[0] - 1;
    which = m->closed && difference < 0.1 && difference > -0.1;
    f->volume = volume[which];
    for (i = 0, k = 0; i < 3; i++) f->centre[i] = first[which][i] / volume[which];
    for (i = 0, k = 0; i < 3; i++)
        for (j = i; j < 3; j++, k++) f->second[k] = second[which][k] - f->centre[i] * f->centre[j] * volume[which];
    for (i = 0; i < 3 && which == 1; i++) f->centre[i] += f->lower[i];
}

/* ---- samples */

/* Along a Morton curve, in blocks with a ball around each; how far the grid's surface is off them. */
static void csimi_write_samples(csimi_mesh_build *m) {
    csim_field *f = m->field;
    float *to = (float *)(void *)(f + 1) + csimi_field_values(f), *block;
    const float *from = m->sample;
    int i, k, b;
    csimi_order_points(f->samples, from, m->order, m->key);
    f->blocks = (f->samples + CSIMI_SAMPLE_BLOCK - 1) / CSIMI_SAMPLE_BLOCK;
    for (i = 0; i < f->samples; i++) {
        csim_vec3 x, n;
        for (k = 0; k < 3; k++) to[3 * i + k] = from[3 * (size_t)m->order[i] + (size_t)k];
        x = csimi_sample_of(f, i);
        f->error = (double)csimi_max((csim_real)f->error, csimi_abs(csimi_distance_mesh(f, x, &n)));
    }
    block = to + 3 * (size_t)f->samples;
    for (b = 0; b < f->blocks; b++) {
        const int first = CSIMI_SAMPLE_BLOCK * b, end = csimi_imin(first + CSIMI_SAMPLE_BLOCK, f->samples);
        csim_vec3 sum = csim_v3(0, 0, 0);
        csim_real most = 0;
        for (i = first; i < end; i++) sum = csim_madd(sum, 1 / (csim_real)(end - first), csimi_sample_of(f, i));
        for (i = first; i < end; i++) most = csimi_max(most, csim_length(csim_sub(csimi_sample_of(f, i), sum)));
        block[4 * b] = (float)sum.x;
        block[4 * b + 1] = (float)sum.y;
        block[4 * b + 2] = (float)sum.z;
        block[4 * b + 3] = (float)(most * CSIM_R(1.00001)) + (float)f->cell * 1e-3f;
    }
}

/* ---- the doors */

CSIM_API csim_status csim_mesh_field_bytes(const csim_mesh_field_def *def, size_t *bytes, csim_error *error) {
    static const char fn[] = "csim_mesh_field_bytes";
    csimi_mesh_build m;
    csim_field f;
    csimi_arena arena = csimi_arena_counting();
    csim_status s = csimi_check_mesh_field(def, fn, error);
    if (s) return s;
    if (!bytes) return csimi_missing(error, fn, "bytes");
    CSIMI_MEMSET(&m, 0, sizeof m);
    m.def = def;
    if ((s = csimi_mesh_size(&m, &f, fn, error)) != 0) return s;
    csimi_mesh_layout(&m, &f, &arena);
    *bytes = arena.used;
    return CSIM_OK;
}

/* Vertices, scaled; the surface in the order of its tree. */
static void csimi_mesh_surface(csimi_mesh_build *m) {
    const csim_mesh_field_def *d = m->def;
    int i, k;
    for (i = 0; i < 3 * d->vertex_count; i++) m->x[i] = d->scale * d->vertices[i];
    csimi_surface_order(d->triangle_count, d->triangles, m->x, m->order, m->key);
    for (i = 0; i < d->triangle_count; i++)
        for (k = 0; k < 3; k++) m->face[3 * i + k] = d->triangles[3 * m->order[i] + k];
    m->surface.count = d->triangle_count;
    m->surface.triangle = m->face;
    m->surface.x = m->x;
    csimi_surface_refit(&m->surface);
    csimi_mesh_clusters(m);
}

CSIM_API csim_status csim_create_mesh_field_in(const csim_mesh_field_def *def, void *block, size_t bytes,
                                               const csim_field **field, csim_error *error) {
    static const char fn[] = "csim_create_mesh_field_in";
    csimi_mesh_build m;
    csimi_arena arena;
    csim_field *f = (csim_field *)block;
    size_t needed = 0;
    int suspect = -1, k;
    int64_t inside;
    csim_status s = csim_mesh_field_bytes(def, &needed, error);
    if (s) return s;
    if ((s = csimi_check_block(fn, block, bytes, needed, field, error)) != 0) return s;
    CSIMI_MEMSET(&m, 0, sizeof m);
    m.def = def;
    m.field = f;
    csimi_mesh_size(&m, f, fn, error);
    arena = csimi_arena_in(block, bytes);
    csimi_mesh_layout(&m, f, &arena);
    f->cell = (double)m.cell;
    for (k = 0; k < 3; k++) {
        csim_real low[3], high[3];
        csimi_store3(low, m.low);
        csimi_store3(high, m.high);
        f->low[k] = (double)low[k];
        f->high[k] = (double)high[k];
        f->lower[k] = ((double)low[k] + (double)high[k] - f->cell * (double)(f->n[k] - 1)) / 2;
    }
    csimi_mesh_surface(&m);
    csimi_study_edges(&m, &suspect);
    csimi_study_faces(&m);
    if (def->strict && suspect >= 0)
        return csimi_fail(error, CSIM_BAD_MESH, fn, "triangles: one at an open, flipped or crowded edge",
                          (double)suspect, "strict: every edge in two triangles that run through it both ways");
    inside = csimi_mesh_distances(&m, (float *)(void *)(f + 1));
    if (inside <= 0)
        return csimi_fail(error, CSIM_BAD_MESH, fn, "triangles: nodes of the grid inside", (double)inside,
                          inside < 0 ? "an inside: this mesh is inside out" : "a mesh that encloses something");
    csimi_mesh_moments(&m, f);
    csimi_write_samples(&m);
    csimi_field_seal(f);
    *field = f;
    return CSIM_OK;
}
