/* collide/hull: convex hulls of points, and their mass moments.

   The combinatorics are exact: points are put on a grid of 2^20 steps along their principal axes, where the orientation
   of four points is an integer below 2^63, so that the incremental hull can never contradict itself. Nearly flat
   neighbours then grow together into polygons, and the corners get back their true coordinates. */
#include "private.h"

#define CSIMI_GRID 1048575 /* 2^20 - 1 */
#define CSIMI_WELD 16      /* grid steps: corners within are one corner; half of it, faces within are one face */
enum { CSIMI_NONE = 255 };

/* A closed surface of triangles, counter-clockwise from outside. */
typedef struct csimi_hull_mesh {
    int count, triangle_count;
    double weld[3];    /* along each axis, grid steps: CSIMI_WELD and the rounding of the coordinates */
    csim_vec3 axis[3]; /* principal axes, each divided by the extent along it: turn normals of the grid back */
    int32_t grid[3 * CSIM_HULL_MAX_VERTICES];
    unsigned char triangle[3 * CSIM_HULL_MAX_FACES];
} csimi_hull_mesh;

/* ---- the grid */

/* Middle of the points, the largest coordinate about it, and the principal axes as columns of V. */
static void csimi_hull_axes(const csim_vec3 *points, int count, csim_vec3 *middle, csim_real *size, csim_real *V) {
    csim_real C[9], values[3], x[3];
    csim_vec3 sum = csim_v3(0, 0, 0);
    int i, k;
    for (i = 0; i < count; ++i) sum = csim_madd(sum, CSIM_R(1) / (csim_real)count, points[i]);
    *middle = sum;
    *size = 0;
    for (i = 0; i < count; ++i) {
        csimi_store3(x, csim_sub(points[i], sum));
        for (k = 0; k < 3; ++k) *size = csimi_max(*size, csimi_abs(x[k]));
    }
    for (k = 0; k < 9; ++k) C[k] = 0;
    for (i = 0; i < count; ++i) {
        csimi_store3(x, csim_scale(*size > 0 ? 1 / *size : 0, csim_sub(points[i], sum)));
        for (k = 0; k < 9; ++k) C[k] += x[k / 3] * x[k % 3];
    }
    csimi_eigen_sym3(C, values, V);
}

/* Where the grid lies: a coordinate is dot(axis, x - middle) between low and low + extent. */
typedef struct csimi_hull_grid {
    csim_vec3 middle, axis[3];
    csim_real low[3], extent[3];
} csimi_hull_grid;

/* False when the points are flat: their least extent is below 1e-6 of the largest, or mostly rounding. */
static CSIMI_NOINLINE bool csimi_hull_lay(const csim_vec3 *points, int count, csimi_hull_mesh *m, csimi_hull_grid *g) {
    csim_real V[9], size;
    int i, k;
    csimi_hull_axes(points, count, &g->middle, &size, V);
    if (!(size > CSIMI_TINY)) return false;
    for (k = 0; k < 3; ++k) {
        csim_real low = CSIMI_HUGE, high = -CSIMI_HUGE, rounding;
        g->axis[k] = csim_v3(V[k] / size, V[3 + k] / size, V[6 + k] / size);
        for (i = 0; i < count; ++i) {
            csim_real x = csim_dot(g->axis[k], csim_sub(points[i], g->middle));
            low = csimi_min(low, x);
            high = csimi_max(high, x);
        }
        if (!(high - low > CSIM_R(1e-6))) return false; /* the largest extent is some 1 to 4 */
        rounding = 8 * CSIMI_EPS * (1 + csim_length(g->middle) / size);
        m->weld[k] = CSIMI_WELD + (double)(rounding / (high - low)) * CSIMI_GRID;
        if (m->weld[k] > CSIMI_GRID / 16) return false;
        m->axis[k] = csim_scale(1 / (high - low), csim_v3(V[k], V[3 + k], V[6 + k]));
        g->low[k] = low;
        g->extent[k] = high - low;
    }
    return true;
}

static void csimi_hull_put(csimi_hull_mesh *m, const csimi_hull_grid *g, int corner, csim_vec3 p) {
    int k;
    for (k = 0; k < 3; ++k) {
        double x = (double)((csim_dot(g->axis[k], csim_sub(p, g->middle)) - g->low[k]) / g->extent[k]);
        m->grid[3 * corner + k] = (int32_t)(x * CSIMI_GRID + 0.5);
    }
}

static bool csimi_hull_snap(const csim_vec3 *points, int count, csimi_hull_mesh *m) {
    csimi_hull_grid g;
    int i;
    m->count = count;
    if (!csimi_hull_lay(points, count, m, &g)) return false;
    for (i = 0; i < count; ++i) csimi_hull_put(m, &g, i, points[i]);
    return true;
}

/* (b - a) x (c - a): each component is below 2^41. */
static void csimi_grid_normal(const csimi_hull_mesh *m, int a, int b, int c, int64_t *n) {
    const int32_t *p = m->grid + 3 * a, *q = m->grid + 3 * b, *r = m->grid + 3 * c;
    int64_t d[3], e[3];
    int k;
    for (k = 0; k < 3; ++k) {
        d[k] = q[k] - p[k];
        e[k] = r[k] - p[k];
    }
    for (k = 0; k < 3; ++k) n[k] = d[(k + 1) % 3] * e[(k + 2) % 3] - d[(k + 2) % 3] * e[(k + 1) % 3];
}

/* Positive when d is on the side of abc from which abc is counter-clockwise; exact: below 3 2^61. */
static int64_t csimi_grid_above(const csimi_hull_mesh *m, const int64_t *n, int a, int d) {
    const int32_t *p = m->grid + 3 * a, *q = m->grid + 3 * d;
    return n[0] * (q[0] - p[0]) + n[1] * (q[1] - p[1]) + n[2] * (q[2] - p[2]);
}

static double csimi_grid_length(const int64_t *n) {
    double x = (double)n[0], y = (double)n[1], z = (double)n[2];
    return (double)CSIMI_SQRT((csim_real)(x * x + y * y + z * z));
}

/* ---- the hull of triangles */

/* How far point i is from the first count corners: from a point, a line or a plane. */
static double csimi_grid_away(const csimi_hull_mesh *m, const int *corner, int count, int i) {
    int64_t n[3];
    double away;
    int k;
    if (count == 1) {
        for (k = 0; k < 3; ++k) n[k] = m->grid[3 * i + k] - m->grid[3 * corner[0] + k];
        return csimi_grid_length(n);
    }
    csimi_grid_normal(m, corner[0], corner[1], count == 2 ? i : corner[2], n);
    if (count == 2) return csimi_grid_length(n);
    away = (double)csimi_grid_above(m, n, corner[0], i);
    return away < 0 ? -away : away;
}

/* The faces of a tetrahedron; false when it is flat. */
static bool csimi_hull_first(csimi_hull_mesh *m, int *corner) {
    static const unsigned char face[12] = {0, 1, 2, 0, 2, 3, 0, 3, 1, 1, 3, 2};
    int64_t n[3], height;
    int i;
    csimi_grid_normal(m, corner[0], corner[1], corner[2], n);
    height = csimi_grid_above(m, n, corner[0], corner[3]);
    if (height > 0) { /* the fourth must lie below the first face */
        i = corner[1];
        corner[1] = corner[2];
        corner[2] = i;
    }
    for (i = 0; i < 12; ++i) m->triangle[i] = (unsigned char)corner[face[i]];
    m->triangle_count = 4;
    return height != 0;
}

/* A tetrahedron of points far apart; false when there is none. */
static bool csimi_hull_start(csimi_hull_mesh *m, int *corner) {
    int step, i;
    corner[0] = 0;
    for (i = 1; i < m->count; ++i)
        if (m->grid[3 * i] < m->grid[3 * corner[0]]) corner[0] = i;
    for (step = 1; step < 4; ++step) {
        double most = 0;
        for (corner[step] = 0, i = 0; i < m->count; ++i) {
            double away = csimi_grid_away(m, corner, step, i);
            if (away <= most) continue;
            most = away;
            corner[step] = i;
        }
    }
    return csimi_hull_first(m, corner);
}

/* True when one of the triangles of the list has the directed edge a b. */
static bool csimi_has_edge(const unsigned char *triangle, int count, int a, int b) {
    int i;
    for (i = 0; i < count; ++i) {
        const unsigned char *t = triangle + 3 * i;
        if ((t[0] == a && t[1] == b) || (t[1] == a && t[2] == b) || (t[2] == a && t[0] == b)) return true;
    }
    return false;
}

/* Takes away the triangles that point p sees and joins p to the rim they leave. p sees a triangle when it is strictly
   above it: then the rim is one loop and no new triangle is degenerate, coplanar points included. */
static void csimi_hull_insert(csimi_hull_mesh *m, int p) {
    unsigned char seen[3 * CSIM_HULL_MAX_FACES];
    int i, k, count = 0, kept = 0;
    for (i = 0; i < m->triangle_count; ++i) {
        const unsigned char *t = m->triangle + 3 * i;
        int64_t n[3];
        bool visible;
        csimi_grid_normal(m, t[0], t[1], t[2], n);
        visible = csimi_grid_above(m, n, t[0], p) > 0;
        for (k = 0; k < 3; ++k)
            if (visible)
                seen[3 * count + k] = t[k];
            else
                m->triangle[3 * kept + k] = t[k];
        count += visible;
        kept += !visible;
    }
    for (i = 0; i < 3 * count; ++i) {
        int a = seen[i], b = seen[i % 3 == 2 ? i - 2 : i + 1];
        if (csimi_has_edge(seen, count, b, a)) continue;
        CONDSIM_ASSERT(kept < CSIM_HULL_MAX_FACES);
        m->triangle[3 * kept] = (unsigned char)a;
        m->triangle[3 * kept + 1] = (unsigned char)b;
        m->triangle[3 * kept + 2] = (unsigned char)p;
        ++kept;
    }
    m->triangle_count = kept;
}

/* True when point p is one of the corners on the list, within the weld. */
static bool csimi_hull_welded(const csimi_hull_mesh *m, const unsigned char *list, int count, int p) {
    int i, k;
    for (i = 0; i < count; ++i) {
        const int32_t *a = m->grid + 3 * list[i], *b = m->grid + 3 * p;
        for (k = 0; k < 3; ++k) {
            double d = a[k] - b[k];
            if (d > m->weld[k] || -d > m->weld[k]) break;
        }
        if (k == 3) return true;
    }
    return false;
}

static csim_status csimi_hull_flat(const char *function, csim_error *error) {
    return csimi_deny(error, CSIM_BAD_MESH, function, "points",
                      "points that are not all in one plane (1e-6 of their extent)");
}

static CSIMI_NOINLINE csim_status csimi_hull_triangulate(const char *function, const csim_vec3 *points, int count,
                                                         csimi_hull_mesh *m, csim_error *error) {
    unsigned char used[CSIM_HULL_MAX_VERTICES];
    int corner[4], i, n = 4;
    CONDSIM_ASSERT(count >= 4 && count <= CSIM_HULL_MAX_VERTICES);
    if (!csimi_hull_snap(points, count, m) || !csimi_hull_start(m, corner)) return csimi_hull_flat(function, error);
    for (i = 0; i < 4; ++i) used[i] = (unsigned char)corner[i];
    for (i = 0; i < count; ++i) {
        if (csimi_hull_welded(m, used, n, i)) continue; /* the four, too */
        csimi_hull_insert(m, i);
        used[n++] = (unsigned char)i;
    }
    return CSIM_OK;
}

/* ---- clouds of more points than a hull has corners */

/* The point that is farthest outside a triangle of the hull so far, -1: none is, beyond the weld. The score adds a
   little of the distance from the middle, squared: of points that tie in a plane it takes a corner of their outline. */
static int csimi_hull_farthest(const csimi_hull_mesh *m, const csimi_hull_grid *g, const csim_vec3 *points, int count,
                               const csim_vec3 *chosen) {
    csim_real most = 0;
    int t, i, k, best = -1;
    for (t = 0; t < m->triangle_count; ++t) {
        const unsigned char *c = m->triangle + 3 * t;
        csim_vec3 up = csim_v3(0, 0, 0);
        int64_t n[3];
        double length;
        csimi_grid_normal(m, c[0], c[1], c[2], n);
        length = csimi_grid_length(n);
        for (k = 0; k < 3; ++k)
            up = csim_madd(up, (csim_real)((double)n[k] / length * CSIMI_GRID) / g->extent[k], g->axis[k]);
        for (i = 0; i < count; ++i) {
            const csim_vec3 r = csim_sub(points[i], g->middle);
            const csim_real height = csim_dot(up, csim_sub(points[i], chosen[c[0]]));
            csim_real score = height, x;
            if (!(height > CSIMI_WELD)) continue;
            for (k = 0; k < 3; ++k) {
                x = csim_dot(g->axis[k], r) / g->extent[k];
                score += x * x;
            }
            if (score <= most) continue;
            most = score;
            best = i;
        }
    }
    return best;
}

/* Corners of the hull of a cloud, the one farthest outside next, until nothing is outside or there are 64. How many;
   0: the cloud is flat. */
static CSIMI_NOINLINE int csimi_hull_choose(const csim_vec3 *points, int count, csim_vec3 *chosen) {
    csimi_hull_mesh m;
    csimi_hull_grid g;
    int corner[4] = {0, 1, 2, 3}, k, i;
    if (!csimi_hull_lay(points, count, &m, &g)) return 0;
    for (k = 0; k < 4; ++k) {
        double most = -1;
        int best = 0;
        for (i = 0; i < count; ++i) {
            double away;
            csimi_hull_put(&m, &g, k, points[i]);
            away = k ? csimi_grid_away(&m, corner, k, k) : CSIMI_GRID - (double)m.grid[0];
            if (away <= most) continue;
            most = away;
            best = i;
        }
        csimi_hull_put(&m, &g, k, chosen[k] = points[best]);
    }
    if (!csimi_hull_first(&m, corner)) return 0;
    for (; k < CSIM_HULL_MAX_VERTICES; ++k) {
        i = csimi_hull_farthest(&m, &g, points, count, chosen);
        if (i < 0) break;
        csimi_hull_put(&m, &g, k, chosen[k] = points[i]);
        csimi_hull_insert(&m, k);
    }
    return k;
}

/* ---- polygons */

/* Which polygon each triangle belongs to, and how many polygons meet at each corner. */
typedef struct csimi_hull_faces {
    int face_count;
    unsigned char face[CSIM_HULL_MAX_FACES];
    unsigned char seed[CSIM_HULL_MAX_FACES]; /* the triangle each polygon grew from */
    unsigned char valence[CSIM_HULL_MAX_VERTICES];
    unsigned char next[CSIM_HULL_MAX_VERTICES]; /* along the outline at hand */
} csimi_hull_faces;

/* True when triangle t turns the same way as the seed and its corners lie in the seed's plane within half the weld. */
static bool csimi_is_flat(const csimi_hull_mesh *m, const int64_t *n, int seed, int t, bool exact) {
    const unsigned char *corner = m->triangle + 3 * t;
    int64_t own[3];
    double slack = 0, along = 0;
    int k;
    csimi_grid_normal(m, corner[0], corner[1], corner[2], own);
    for (k = 0; k < 3; ++k) {
        double a = (double)n[k];
        along += a * (double)own[k];
        slack += (a < 0 ? -a : a) * m->weld[k] / 2;
    }
    if (exact) slack = 0;
    if (!(along > 0)) return false;
    for (k = 0; k < 3; ++k) {
        double away = (double)csimi_grid_above(m, n, m->triangle[3 * seed], corner[k]);
        if (away > slack || -away > slack) return false;
    }
    return true;
}

/* The largest triangle left over starts a polygon, which takes in neighbours as long as they lie in its plane. */
static void csimi_grow_face(const csimi_hull_mesh *m, csimi_hull_faces *f, int seed, bool exact) {
    const unsigned char *corner = m->triangle + 3 * seed;
    unsigned char list[3 * CSIM_HULL_MAX_FACES];
    int64_t n[3];
    int t, k, count = 1;
    bool grown = true;
    csimi_grid_normal(m, corner[0], corner[1], corner[2], n);
    f->face[seed] = (unsigned char)f->face_count;
    f->seed[f->face_count] = (unsigned char)seed;
    CSIMI_MEMCPY(list, corner, 3);
    while (grown) {
        grown = false;
        for (t = 0; t < m->triangle_count; ++t) {
            corner = m->triangle + 3 * t;
            if (f->face[t] != CSIMI_NONE || !csimi_is_flat(m, n, seed, t, exact)) continue;
            for (k = 0; k < 3; ++k)
                if (csimi_has_edge(list, count, corner[(k + 1) % 3], corner[k])) break;
            if (k == 3) continue;
            f->face[t] = (unsigned char)f->face_count;
            CSIMI_MEMCPY(list + 3 * count, corner, 3);
            ++count;
            grown = true;
        }
    }
    ++f->face_count;
}

static CSIMI_NOINLINE void csimi_group_faces(const csimi_hull_mesh *m, csimi_hull_faces *f, bool exact) {
    int t;
    f->face_count = 0;
    CSIMI_MEMSET(f->face, CSIMI_NONE, sizeof f->face);
    for (;;) {
        double most = -1;
        int seed = -1;
        for (t = 0; t < m->triangle_count; ++t) {
            const unsigned char *c = m->triangle + 3 * t;
            int64_t n[3];
            double area;
            if (f->face[t] != CSIMI_NONE) continue;
            csimi_grid_normal(m, c[0], c[1], c[2], n);
            area = csimi_grid_length(n);
            if (area <= most) continue;
            most = area;
            seed = t;
        }
        if (seed < 0) return;
        csimi_grow_face(m, f, seed, exact);
    }
}

/* Fills next with the outline of a polygon and returns a corner of it; -1 when it is no single loop. */
static int csimi_outline(const csimi_hull_mesh *m, csimi_hull_faces *f, int face) {
    int t, u, k, count = 0, first = -1, at;
    CSIMI_MEMSET(f->next, CSIMI_NONE, sizeof f->next);
    for (t = 0; t < m->triangle_count; ++t)
        for (k = 0; k < 3 && f->face[t] == face; ++k) {
            int a = m->triangle[3 * t + k], b = m->triangle[3 * t + (k + 1) % 3];
            for (u = 0; u < m->triangle_count; ++u)
                if (f->face[u] == face && csimi_has_edge(m->triangle + 3 * u, 1, b, a)) break;
            if (u < m->triangle_count) continue;
            if (f->next[a] != CSIMI_NONE) return -1; /* touches itself */
            f->next[a] = (unsigned char)b;
            first = a;
            ++count;
        }
    if (first < 0) return -1;
    for (at = f->next[first]; at != first && count > 0; --count) at = f->next[at];
    return count == 1 ? first : -1;
}

/* Writes the outlines without the corners where only two polygons meet, numbered as in points. */
static bool csimi_write_faces(const csimi_hull_mesh *m, csimi_hull_faces *f, csim_hull_data *hull) {
    int face, at, first, count = 0;
    CSIMI_MEMSET(f->valence, 0, sizeof f->valence);
    for (face = 0; face < f->face_count; ++face) {
        if ((first = at = csimi_outline(m, f, face)) < 0) return false;
        do {
            ++f->valence[at];
            at = f->next[at];
        } while (at != first);
    }
    for (face = 0; face < f->face_count; ++face) {
        first = at = csimi_outline(m, f, face);
        hull->face_start[face] = (short)count;
        do {
            if (f->valence[at] > 2) hull->face_vertex[count++] = (unsigned char)at;
            at = f->next[at];
        } while (at != first);
        if (count < hull->face_start[face] + 3) return false;
    }
    hull->face_start[face] = (short)count;
    hull->face_count = face;
    return true;
}

/* The corners in use, renumbered in the order of points. */
static void csimi_write_vertices(const csim_vec3 *points, csimi_hull_faces *f, int count, csim_hull_data *hull) {
    int i, n = 0;
    for (i = 0; i < count; ++i) {
        if (f->valence[i] <= 2) continue;
        csimi_store3(hull->vertex + 3 * n, points[i]);
        f->next[i] = (unsigned char)n++;
    }
    hull->vertex_count = n;
    for (i = 0; i < hull->face_start[hull->face_count]; ++i) hull->face_vertex[i] = f->next[hull->face_vertex[i]];
}

/* Every edge once, from its first vertex to its second in its first face; false when the surface is not closed. */
static CSIMI_NOINLINE bool csimi_write_edges(csim_hull_data *hull) {
    int face, other, i, k, n = 0, sides = hull->face_start[hull->face_count];
    for (face = 0; face < hull->face_count; ++face) {
        int start = hull->face_start[face], end = hull->face_start[face + 1];
        for (i = start; i < end; ++i) {
            int a = hull->face_vertex[i], b = hull->face_vertex[i + 1 < end ? i + 1 : start], found = 0;
            for (other = face + 1; other < hull->face_count; ++other) {
                int from = hull->face_start[other], to = hull->face_start[other + 1];
                for (k = from; k < to; ++k) {
                    if (hull->face_vertex[k] != b || hull->face_vertex[k + 1 < to ? k + 1 : from] != a) continue;
                    if (++found > 1 || n >= CSIM_HULL_MAX_EDGES) return false;
                    hull->edge_vertex[2 * n] = (unsigned char)a;
                    hull->edge_vertex[2 * n + 1] = (unsigned char)b;
                    hull->edge_face[2 * n] = (unsigned char)face;
                    hull->edge_face[2 * n + 1] = (unsigned char)other;
                    ++n;
                }
            }
        }
    }
    hull->edge_count = n;
    return 2 * n == sides && hull->vertex_count + hull->face_count == n + 2;
}

/* Newell's normal: twice the area. */
static csim_vec3 csimi_polygon_normal(const csim_hull_data *hull, int face) {
    int start = hull->face_start[face], end = hull->face_start[face + 1], i;
    csim_vec3 origin = csimi_load3(hull->vertex + 3 * hull->face_vertex[start]), n = csim_v3(0, 0, 0);
    for (i = start + 1; i + 1 < end; ++i) {
        csim_vec3 p = csim_sub(csimi_load3(hull->vertex + 3 * hull->face_vertex[i]), origin);
        csim_vec3 q = csim_sub(csimi_load3(hull->vertex + 3 * hull->face_vertex[i + 1]), origin);
        n = csim_add(n, csim_cross(p, q));
    }
    return csim_normalize(n);
}

/* The plane with normal n that touches the hull from outside; how far below it the lowest corner of the face is. */
static csim_real csimi_face_sag(const csim_hull_data *hull, int face, csim_vec3 n, csim_real *offset) {
    csim_real lowest = CSIMI_HUGE;
    int i;
    *offset = -CSIMI_HUGE;
    for (i = 0; i < hull->vertex_count; ++i)
        *offset = csimi_max(*offset, csim_dot(n, csimi_load3(hull->vertex + 3 * i)));
    for (i = hull->face_start[face]; i < hull->face_start[face + 1]; ++i)
        lowest = csimi_min(lowest, csim_dot(n, csimi_load3(hull->vertex + 3 * hull->face_vertex[i])));
    return *offset - lowest;
}

/* The planes hold every vertex. The polygon's own normal is exact where the polygon is large; a sliver of a few grid
   steps takes that of its first triangle on the grid, which no vertex is above by more than half a step. */
static CSIMI_NOINLINE void csimi_write_planes(const csimi_hull_mesh *m, const csimi_hull_faces *f,
                                              csim_hull_data *hull) {
    int face, k;
    for (face = 0; face < hull->face_count; ++face) {
        const unsigned char *t = m->triangle + 3 * f->seed[face];
        csim_vec3 own = csimi_polygon_normal(hull, face), coarse = csim_v3(0, 0, 0);
        csim_real own_offset, coarse_offset;
        int64_t n[3];
        bool exact;
        csimi_grid_normal(m, t[0], t[1], t[2], n);
        for (k = 0; k < 3; ++k) coarse = csim_madd(coarse, (csim_real)n[k], m->axis[k]);
        coarse = csim_normalize(coarse);
        exact = csimi_face_sag(hull, face, own, &own_offset) <= csimi_face_sag(hull, face, coarse, &coarse_offset) &&
                csim_dot(own, coarse) > 0;
        csimi_store3(hull->normal + 3 * face, exact ? own : coarse);
        hull->offset[face] = exact ? own_offset : coarse_offset;
    }
}

static CSIMI_NOINLINE csim_status csimi_hull_of_few(const char *function, const csim_vec3 *points, int count,
                                                    csim_hull_data *hull, csim_error *error) {
    csimi_hull_mesh m;
    csimi_hull_faces f;
    int exact; /* growing within a slack may fail on strange shapes; without it, it cannot */
    csim_status status = csimi_hull_triangulate(function, points, count, &m, error);
    if (status != CSIM_OK) return status;
    for (exact = 0; exact < 2; ++exact) {
        CSIMI_MEMSET(hull, 0, sizeof *hull); /* unused parts too: hulls are compared and saved as bytes */
        csimi_group_faces(&m, &f, exact == 1);
        if (!csimi_write_faces(&m, &f, hull)) continue;
        csimi_write_vertices(points, &f, count, hull);
        if (!csimi_write_edges(hull)) continue;
        csimi_write_planes(&m, &f, hull);
        return CSIM_OK;
    }
    return csimi_deny(error, CSIM_BAD_MESH, function, "points", "points that span a convex body");
}

CSIMI_FN CSIMI_NOINLINE csim_status csimi_hull_build(const char *function, const csim_vec3 *points, int count,
                                                     csim_hull_data *hull, csim_error *error) {
    csim_vec3 chosen[CSIM_HULL_MAX_VERTICES];
    if (count <= CSIM_HULL_MAX_VERTICES) return csimi_hull_of_few(function, points, count, hull, error);
    count = csimi_hull_choose(points, count, chosen);
    return count ? csimi_hull_of_few(function, chosen, count, hull, error) : csimi_hull_flat(function, error);
}

/* ---- mass */

/* Adds the volume, first and second moments of the tetrahedron 0 a b c. */
CSIMI_FN void csimi_add_tetrahedron(const double *a, const double *b, const double *c, double *volume, double *first,
                                  double *second) {
    double s[3], v = 0;
    int i, j, k = 0;
    for (i = 0; i < 3; ++i) {
        int y = (i + 1) % 3, z = (i + 2) % 3;
        s[i] = a[i] + b[i] + c[i];
        v += a[i] * (b[y] * c[z] - b[z] * c[y]) / 6;
    }
    for (i = 0; i < 3; ++i) {
        first[i] += v / 4 * s[i];
        for (j = i; j < 3; ++j) second[k++] += v / 20 * (a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + s[i] * s[j]);
    }
    *volume += v;
}

/* From tetrahedra to a point inside: the sums have no cancelling parts. */
static CSIMI_NOINLINE csim_status csimi_moments_of_few(const char *function, const csim_vec3 *points, int count,
                                                       double *volume, double *centre, double *second,
                                                       csim_error *error) {
    csimi_hull_mesh m;
    double x[9], middle[3] = {0, 0, 0}, first[3] = {0, 0, 0};
    int i, j, k;
    csim_status status = csimi_hull_triangulate(function, points, count, &m, error);
    if (status != CSIM_OK) return status;
    for (k = 0, *volume = 0; k < 6; ++k) second[k] = 0;
    for (i = 0; i < 3 * m.triangle_count; ++i) {
        csim_vec3 p = points[m.triangle[i]];
        middle[0] += (double)p.x / (3 * m.triangle_count);
        middle[1] += (double)p.y / (3 * m.triangle_count);
        middle[2] += (double)p.z / (3 * m.triangle_count);
    }
    for (i = 0; i < m.triangle_count; ++i) {
        for (k = 0; k < 3; ++k) {
            csim_vec3 p = points[m.triangle[3 * i + k]];
            x[3 * k] = (double)p.x - middle[0];
            x[3 * k + 1] = (double)p.y - middle[1];
            x[3 * k + 2] = (double)p.z - middle[2];
        }
        csimi_add_tetrahedron(x, x + 3, x + 6, volume, first, second);
    }
    for (i = 0, k = 0; i < 3; ++i) {
        double shift = first[i] / *volume;
        for (j = i; j < 3; ++j) second[k++] -= shift * first[j];
        centre[i] = middle[i] + shift;
    }
    return CSIM_OK;
}

CSIMI_FN CSIMI_NOINLINE csim_status csimi_hull_moments(const char *function, const csim_vec3 *points, int count,
                                                       double *volume, double *centre, double *second,
                                                       csim_error *error) {
    csim_vec3 chosen[CSIM_HULL_MAX_VERTICES];
    if (count > CSIM_HULL_MAX_VERTICES) {
        count = csimi_hull_choose(points, count, chosen);
        if (!count) return csimi_hull_flat(function, error);
        points = chosen;
    }
    return csimi_moments_of_few(function, points, count, volume, centre, second, error);
}

#undef CSIMI_GRID
#undef CSIMI_WELD
