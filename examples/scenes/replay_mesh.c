/* replay_mesh: triangles of the shapes a scene shows; see replay.h. */
#include "replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int mesh_room(replay_mesh *m, int vertex_count, int triangle_count) {
    m->vertex_count = vertex_count;
    m->triangle_count = triangle_count;
    m->vertex = (float *)malloc(3 * sizeof(float) * (size_t)vertex_count + 1);
    m->triangle = (int *)malloc(3 * sizeof(int) * (size_t)triangle_count + 1);
    if (m->vertex && m->triangle) return 0;
    replay_mesh_free(m);
    return REPLAY_NO_MEMORY;
}

void replay_mesh_free(replay_mesh *m) {
    free(m->vertex);
    free(m->triangle);
    memset(m, 0, sizeof *m);
}

int replay_mesh_copy(replay_mesh *m, const float *vertex, int vertex_count, const int *triangle, int triangle_count) {
    if (mesh_room(m, vertex_count, triangle_count)) return REPLAY_NO_MEMORY;
    memcpy(m->vertex, vertex, 3 * sizeof(float) * (size_t)vertex_count);
    memcpy(m->triangle, triangle, 3 * sizeof(int) * (size_t)triangle_count);
    return 0;
}

/* v turned by the unit quaternion q: v + 2 w (u x v) + 2 u x (u x v), u the vector part. */
static void turn(const float q[4], const float v[3], float out[3]) {
    float c[3], d[3];
    int k;
    c[0] = q[2] * v[2] - q[3] * v[1], c[1] = q[3] * v[0] - q[1] * v[2], c[2] = q[1] * v[1] - q[2] * v[0];
    d[0] = q[2] * c[2] - q[3] * c[1], d[1] = q[3] * c[0] - q[1] * c[2], d[2] = q[1] * c[1] - q[2] * c[0];
    for (k = 0; k < 3; ++k) out[k] = v[k] + 2 * (q[0] * c[k] + d[k]);
}

int replay_mesh_add(replay_mesh *m, const replay_mesh *other, const float *position, const float *quaternion) {
    const float unturned[4] = {1, 0, 0, 0};
    replay_mesh sum;
    int i, k;
    if (mesh_room(&sum, m->vertex_count + other->vertex_count, m->triangle_count + other->triangle_count))
        return REPLAY_NO_MEMORY;
    if (m->vertex_count) memcpy(sum.vertex, m->vertex, 3 * sizeof(float) * (size_t)m->vertex_count);
    if (m->triangle_count) memcpy(sum.triangle, m->triangle, 3 * sizeof(int) * (size_t)m->triangle_count);
    for (i = 0; i < other->vertex_count; ++i) {
        float *to = sum.vertex + 3 * (m->vertex_count + i);
        turn(quaternion ? quaternion : unturned, other->vertex + 3 * i, to);
        for (k = 0; k < 3 && position; ++k) to[k] += position[k];
    }
    for (i = 0; i < 3 * other->triangle_count; ++i)
        sum.triangle[3 * m->triangle_count + i] = other->triangle[i] + m->vertex_count;
    replay_mesh_free(m);
    *m = sum;
    return 0;
}

int replay_mesh_box(replay_mesh *m, float hx, float hy, float hz) {
    static const int triangle[36] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                     2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    float vertex[24];
    int i;
    for (i = 0; i < 8; ++i) {
        vertex[3 * i] = i & 1 ? hx : -hx;
        vertex[3 * i + 1] = i & 2 ? hy : -hy;
        vertex[3 * i + 2] = i & 4 ? hz : -hz;
    }
    return replay_mesh_copy(m, vertex, 8, triangle, 12);
}

/* A surface of revolution about z: rings of the profile (radius, z) from bottom to top between two poles. */
static int revolve(replay_mesh *m, const float *radius, const float *z, int rings, int sides, float low, float high) {
    int i, k, n = 0, *t;
    float *v;
    if (mesh_room(m, rings * sides + 2, 2 * rings * sides)) return REPLAY_NO_MEMORY;
    for (i = 0, v = m->vertex; i < rings; ++i)
        for (k = 0; k < sides; ++k, v += 3) {
            double angle = 6.283185307179586 * k / sides;
            v[0] = radius[i] * (float)cos(angle), v[1] = radius[i] * (float)sin(angle), v[2] = z[i];
        }
    v[0] = v[1] = v[3] = v[4] = 0, v[2] = low, v[5] = high;
    for (k = 0, t = m->triangle; k < sides; ++k) {
        int next = (k + 1) % sides;
        t[n++] = rings * sides, t[n++] = next, t[n++] = k;
        for (i = 0; i + 1 < rings; ++i) {
            int a = i * sides + k, b = i * sides + next;
            t[n++] = a, t[n++] = b, t[n++] = b + sides;
            t[n++] = a, t[n++] = b + sides, t[n++] = a + sides;
        }
        t[n++] = rings * sides + 1, t[n++] = (rings - 1) * sides + k, t[n++] = (rings - 1) * sides + next;
    }
    return 0;
}

enum { SIDES = 32, HALF_RINGS = 8 };

int replay_mesh_capsule(replay_mesh *m, float radius, float half_height) {
    float r[2 * HALF_RINGS], z[2 * HALF_RINGS];
    int i;
    for (i = 0; i < HALF_RINGS; ++i) {
        double angle = 1.5707963267948966 * i / HALF_RINGS; /* from the equator to the last ring before the pole */
        r[HALF_RINGS + i] = r[HALF_RINGS - 1 - i] = radius * (float)cos(angle);
        z[HALF_RINGS + i] = half_height + radius * (float)sin(angle);
        z[HALF_RINGS - 1 - i] = -z[HALF_RINGS + i];
    }
    return revolve(m, r, z, 2 * HALF_RINGS, SIDES, -half_height - radius, half_height + radius);
}

int replay_mesh_sphere(replay_mesh *m, float radius) {
    float r[2 * HALF_RINGS - 1], z[2 * HALF_RINGS - 1];
    int i;
    for (i = 0; i < 2 * HALF_RINGS - 1; ++i) {
        double angle = 3.141592653589793 * (i + 1) / (2 * HALF_RINGS);
        r[i] = radius * (float)sin(angle);
        z[i] = -radius * (float)cos(angle);
    }
    return revolve(m, r, z, 2 * HALF_RINGS - 1, SIDES, -radius, radius);
}

int replay_mesh_cylinder(replay_mesh *m, float radius, float half_height) {
    float r[2], z[2];
    r[0] = r[1] = radius;
    z[0] = -half_height, z[1] = half_height;
    return revolve(m, r, z, 2, SIDES, -half_height, half_height);
}

/* ---- convex hull: every plane through three points that has all others on one side is a face. O(n^4), but few
   points come in, and coplanar ones need no special care. */

enum { HULL_MOST = 256 };

typedef struct hull {
    const float *p;
    int count;
    double near; /* points this near to a plane are in it */
    int in_face[HULL_MOST], in_count;
    unsigned char (*known)[HULL_MOST]; /* [face][point]: is the point in the face */
    int known_count;
} hull;

static void sub3(const float *a, const float *b, double out[3]) {
    int k;
    for (k = 0; k < 3; ++k) out[k] = (double)a[k] - (double)b[k];
}

static void cross3(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static int is_known(const hull *h, int i, int j, int k) {
    int f;
    for (f = 0; f < h->known_count; ++f)
        if (h->known[f][i] && h->known[f][j] && h->known[f][k]) return 1;
    return 0;
}

/* Is the plane of points i, j, k a face? Fills its points and its outward normal. */
static int is_face(hull *h, int i, int j, int k, double normal[3]) {
    double a[3], b[3], length;
    int q, side = 0;
    sub3(h->p + 3 * j, h->p + 3 * i, a);
    sub3(h->p + 3 * k, h->p + 3 * i, b);
    cross3(a, b, normal);
    length = sqrt(dot3(normal, normal));
    if (length <= h->near * sqrt(dot3(a, a) + dot3(b, b))) return 0; /* in one line */
    for (q = 0; q < 3; ++q) normal[q] /= length;
    h->in_count = 0;
    for (q = 0; q < h->count; ++q) {
        double d, to[3];
        sub3(h->p + 3 * q, h->p + 3 * i, to);
        d = dot3(normal, to);
        if (fabs(d) <= h->near)
            h->in_face[h->in_count++] = q;
        else if (side * d < 0)
            return 0;
        else
            side = d > 0 ? 1 : -1;
    }
    if (side > 0)
        for (q = 0; q < 3; ++q) normal[q] = -normal[q];
    return side != 0;
}

/* Marks the face's points, so that its other triples are passed over. */
static void remember(hull *h) {
    int q;
    for (q = 0; q < h->in_count; ++q) h->known[h->known_count][h->in_face[q]] = 1;
    ++h->known_count;
}

/* Puts the corners of the face's polygon in order into loop (Jarvis' march in the plane); returns how many. */
static int walk_face(const hull *h, const double normal[3], int *loop) {
    double axis[3], d[3], e[3], c[3];
    int start = h->in_face[0], at, best, n = 0, i;
    double least = 0, far = 0, near2 = h->near * h->near;
    sub3(h->p + 3 * h->in_face[1], h->p + 3 * start, axis);
    for (i = 0; i < h->in_count; ++i) { /* the first along an axis of the plane is a corner; of equals, an end */
        double along, length2;
        sub3(h->p + 3 * h->in_face[i], h->p + 3 * h->in_face[0], d);
        along = dot3(d, axis) / sqrt(dot3(axis, axis));
        length2 = dot3(d, d);
        if (along < least - h->near || (along <= least + h->near && length2 > far))
            least = along, far = length2, start = h->in_face[i];
    }
    at = start;
    do {
        loop[n++] = at;
        best = -1;
        for (i = 0; i < h->in_count; ++i) {
            double turned;
            if (h->in_face[i] == at) continue;
            sub3(h->p + 3 * h->in_face[i], h->p + 3 * at, d);
            if (dot3(d, d) <= near2) continue; /* the same point twice */
            if (best < 0) {
                best = h->in_face[i];
                continue;
            }
            sub3(h->p + 3 * best, h->p + 3 * at, e);
            cross3(e, d, c);
            turned = dot3(c, normal);
            if (turned < -h->near * sqrt(dot3(d, d)) ||
                (turned <= h->near * sqrt(dot3(d, d)) && dot3(d, d) > dot3(e, e) && dot3(d, e) > 0))
                best = h->in_face[i];
        }
        at = best;
        if (at >= 0) sub3(h->p + 3 * at, h->p + 3 * start, d);
    } while (at >= 0 && dot3(d, d) > near2 && n < h->in_count);
    return n;
}

int replay_mesh_hull(replay_mesh *m, const float *points, int count) {
    hull h;
    double normal[3], size = 0;
    int loop[HULL_MOST], *triangle, i, j, k, q, n, made = 0, bad, most = 2 * count;
    memset(m, 0, sizeof *m);
    if (count < 4 || count > HULL_MOST) return REPLAY_BAD_CALL;
    for (i = 0; i < 3 * count; ++i)
        if (fabs((double)points[i] - (double)points[i % 3]) > size)
            size = fabs((double)points[i] - (double)points[i % 3]);
    h.p = points, h.count = count, h.near = 2e-6 * size, h.known_count = 0;
    h.known = (unsigned char(*)[HULL_MOST])calloc((size_t)most, sizeof *h.known);
    triangle = (int *)malloc(3 * sizeof(int) * (size_t)most);
    for (i = 0; h.known && triangle && i < count; ++i)
        for (j = i + 1; j < count; ++j)
            for (k = j + 1; k < count && h.known_count < most; ++k) {
                if (is_known(&h, i, j, k) || !is_face(&h, i, j, k, normal)) continue;
                remember(&h);
                n = walk_face(&h, normal, loop);
                for (q = 2; q < n && made < most; ++q, ++made)
                    triangle[3 * made] = loop[0], triangle[3 * made + 1] = loop[q - 1],
                    triangle[3 * made + 2] = loop[q];
            }
    if (!h.known || !triangle)
        bad = REPLAY_NO_MEMORY;
    else
        bad = made < 4 ? REPLAY_BAD_CALL : replay_mesh_copy(m, points, count, triangle, made);
    free(h.known);
    free(triangle);
    return bad;
}

/* ---- where a distance is 0: surface nets (Gibson 1998). A vertex in every cell that it crosses, in the middle of the
   crossings of the cell's edges; four of them around every edge that it crosses. */

typedef struct level {
    int n[3]; /* nodes */
    float low[3], cell;
    float *value;
    int *vertex; /* of the cell above each node, -1: none */
} level;

static int level_at(const level *g, int i, int j, int k) { return i + g->n[0] * (j + g->n[1] * k); }

/* Marks the cell at a node as crossed or not; x: its vertex. */
static int level_cell(const level *g, const int at[3], float x[3]) {
    double sum[3] = {0, 0, 0};
    int edge, k, crossings = 0;
    for (edge = 0; edge < 12; ++edge) { /* along axis edge / 4, at the corner (edge & 1, edge & 2) of the others */
        const int a = edge / 4, b = (a + 1) % 3, c = (a + 2) % 3;
        int from[3], to[3];
        double p, q;
        for (k = 0; k < 3; ++k) from[k] = at[k];
        from[b] += edge & 1, from[c] += edge >> 1 & 1;
        for (k = 0; k < 3; ++k) to[k] = from[k] + (k == a);
        p = g->value[level_at(g, from[0], from[1], from[2])], q = g->value[level_at(g, to[0], to[1], to[2])];
        if ((p < 0) == (q < 0)) continue;
        for (k = 0; k < 3; ++k) sum[k] += from[k] + (k == a ? p / (p - q) : 0);
        ++crossings;
    }
    for (k = 0; k < 3 && crossings; ++k) x[k] = g->low[k] + g->cell * (float)(sum[k] / crossings);
    return crossings > 0;
}

/* The vertices, where m has room, and how many there are. */
static int level_vertices(level *g, replay_mesh *m) {
    int at[3], count = 0;
    for (at[2] = 0; at[2] < g->n[2]; ++at[2])
        for (at[1] = 0; at[1] < g->n[1]; ++at[1])
            for (at[0] = 0; at[0] < g->n[0]; ++at[0]) {
                float x[3];
                const int cell = at[0] + 1 < g->n[0] && at[1] + 1 < g->n[1] && at[2] + 1 < g->n[2];
                const int crossed = cell && level_cell(g, at, x);
                g->vertex[level_at(g, at[0], at[1], at[2])] = crossed ? count : -1;
                if (!crossed) continue;
                if (m->vertex) memcpy(m->vertex + 3 * count, x, sizeof x);
                ++count;
            }
    return count;
}

/* The triangles, where m has room, and how many there are. */
static int level_triangles(const level *g, replay_mesh *m) {
    int a, k, at[3], count = 0;
    for (a = 0; a < 3; ++a)
        for (at[2] = 0; at[2] < g->n[2]; ++at[2])
            for (at[1] = 0; at[1] < g->n[1]; ++at[1])
                for (at[0] = 0; at[0] < g->n[0]; ++at[0]) {
                    const int b = (a + 1) % 3, c = (a + 2) % 3, node = level_at(g, at[0], at[1], at[2]);
                    const int step[3] = {1, g->n[0], g->n[0] * g->n[1]};
                    int corner[4];
                    if (at[a] + 1 >= g->n[a] || at[b] < 1 || at[c] < 1) continue;
                    if ((g->value[node] < 0) == (g->value[node + step[a]] < 0)) continue;
                    corner[0] = g->vertex[node - step[b] - step[c]], corner[2] = g->vertex[node];
                    corner[1] = g->vertex[node - step[c]], corner[3] = g->vertex[node - step[b]];
                    for (k = 0; k < 4 && corner[k] >= 0; ++k) {
                    }
                    if (k < 4) continue;
                    for (k = 0; k < 2 && m->triangle; ++k) {
                        int *t = m->triangle + 3 * (count + k);
                        const int outward = g->value[node] < 0;
                        t[0] = corner[0], t[outward ? 1 : 2] = corner[1 + k], t[outward ? 2 : 1] = corner[2 + k];
                    }
                    count += 2;
                }
    return count;
}

int replay_mesh_level(replay_mesh *m, replay_distance *distance, const void *user, const float low[3],
                      const float high[3], int cells) {
    level g;
    size_t nodes = 1;
    int at[3], k, vertices, triangles, bad = REPLAY_NO_MEMORY;
    memset(m, 0, sizeof *m);
    g.cell = 0;
    for (k = 0; k < 3; ++k) g.cell = high[k] - low[k] > g.cell ? high[k] - low[k] : g.cell;
    if (cells < 2 || cells > 256 || !(g.cell > 0)) return REPLAY_BAD_CALL;
    g.cell /= (float)cells;
    for (k = 0; k < 3; ++k) {
        g.n[k] = 3 + (int)ceil((double)(high[k] - low[k]) / (double)g.cell - 1e-4);
        g.low[k] = (low[k] + high[k] - g.cell * (float)(g.n[k] - 1)) / 2;
        nodes *= (size_t)g.n[k];
    }
    g.value = (float *)malloc(nodes * sizeof *g.value);
    g.vertex = (int *)malloc(nodes * sizeof *g.vertex);
    if (g.value && g.vertex) {
        for (at[2] = 0; at[2] < g.n[2]; ++at[2])
            for (at[1] = 0; at[1] < g.n[1]; ++at[1])
                for (at[0] = 0; at[0] < g.n[0]; ++at[0]) {
                    float x[3];
                    for (k = 0; k < 3; ++k) x[k] = g.low[k] + g.cell * (float)at[k];
                    g.value[level_at(&g, at[0], at[1], at[2])] = (float)distance(user, x);
                }
        vertices = level_vertices(&g, m);
        triangles = level_triangles(&g, m);
        bad = triangles == 0 ? REPLAY_BAD_CALL : mesh_room(m, vertices, triangles);
        if (!bad) {
            level_vertices(&g, m);
            level_triangles(&g, m);
        }
    }
    free(g.value);
    free(g.vertex);
    return bad;
}
