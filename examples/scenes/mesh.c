#include "mesh.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool scene_mesh_alloc(scene_mesh *m, int vertices, int tets) {
    m->vertex_count = vertices;
    m->tet_count = 0;
    m->vertices = (csim_real *)calloc((size_t)vertices * 3, sizeof(csim_real));
    m->tets = (int *)calloc((size_t)tets * 4, sizeof(int));
    if (m->vertices && m->tets) return true;
    scene_mesh_free(m);
    return false;
}

void scene_mesh_free(scene_mesh *m) {
    free(m->vertices);
    free(m->tets);
    memset(m, 0, sizeof *m);
}

static double scene_mesh_volume(const scene_mesh *m, const int *t) {
    double e[3][3];
    int i, k;
    for (i = 0; i < 3; i++)
        for (k = 0; k < 3; k++) e[i][k] = (double)m->vertices[3 * t[i + 1] + k] - (double)m->vertices[3 * t[0] + k];
    return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
            e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

static void scene_mesh_add_tet(scene_mesh *m, int a, int b, int c, int d) {
    int *t = m->tets + 4 * m->tet_count++;
    t[0] = a;
    t[1] = b;
    t[2] = c;
    t[3] = d;
    if (scene_mesh_volume(m, t) < 0) {
        t[1] = c;
        t[2] = b;
    }
}

/* Six tets about the diagonal of the cell (Kuhn): faces of neighbours agree. */
static void scene_mesh_cells(scene_mesh *m, int nx, int ny, int nz) {
    static const int path[6][2] = {{1, 2}, {2, 1}, {1, 4}, {4, 1}, {2, 4}, {4, 2}};
    int i, j, k, p, b;
    for (k = 0; k < nz; k++)
        for (j = 0; j < ny; j++)
            for (i = 0; i < nx; i++) {
                int corner[8];
                for (b = 0; b < 8; b++)
                    corner[b] = ((k + (b >> 2)) * (ny + 1) + j + (b >> 1 & 1)) * (nx + 1) + i + (b & 1);
                for (p = 0; p < 6; p++)
                    scene_mesh_add_tet(m, corner[0], corner[path[p][0]], corner[path[p][0] | path[p][1]], corner[7]);
            }
}

bool scene_mesh_box(scene_mesh *m, int nx, int ny, int nz, csim_vec3 low, csim_vec3 high) {
    int i, j, k;
    csim_real *x;
    if (!scene_mesh_alloc(m, (nx + 1) * (ny + 1) * (nz + 1), 6 * nx * ny * nz)) return false;
    x = m->vertices;
    for (k = 0; k <= nz; k++)
        for (j = 0; j <= ny; j++)
            for (i = 0; i <= nx; i++) {
                *x++ = low.x + (high.x - low.x) * (csim_real)i / (csim_real)nx;
                *x++ = low.y + (high.y - low.y) * (csim_real)j / (csim_real)ny;
                *x++ = low.z + (high.z - low.z) * (csim_real)k / (csim_real)nz;
            }
    scene_mesh_cells(m, nx, ny, nz);
    return true;
}

bool scene_mesh_cut(scene_mesh *m, int nx, int ny, int nz, csim_vec3 low, csim_vec3 high,
                    bool (*keep)(const void *user, int i, int j, int k), const void *user, int *number) {
    int t, v, c, kept = 0, used = 0, *to;
    if (!scene_mesh_box(m, nx, ny, nz, low, high)) return false;
    to = number ? number : (int *)malloc(sizeof(int) * (size_t)m->vertex_count);
    if (!to) {
        scene_mesh_free(m);
        return false;
    }
    for (v = 0; v < m->vertex_count; v++) to[v] = -1;
    for (t = 0; t < m->tet_count; t++) {
        int cell = t / 6;
        if (!keep(user, cell % nx, cell / nx % ny, cell / nx / ny)) continue;
        for (c = 0; c < 4; c++) to[m->tets[4 * kept + c] = m->tets[4 * t + c]] = 0;
        kept++;
    }
    for (v = 0; v < m->vertex_count; v++) {
        if (to[v] < 0) continue;
        for (c = 0; c < 3; c++) m->vertices[3 * used + c] = m->vertices[3 * v + c];
        to[v] = used++;
    }
    for (t = 0; t < 4 * kept; t++) m->tets[t] = to[m->tets[t]];
    m->vertex_count = used;
    m->tet_count = kept;
    if (!number) free(to);
    return true;
}

/* Where a point p of the cube [-1, 1]^3 goes in a ball of radius 1 whose core reaches to `core` of it: inside, half way
   between the cube and its sphere, so that neither the corners nor the edges of the core become flat. */
static void scene_mesh_round(const double *p, double core, double *x) {
    double largest = fmax(fabs(p[0]), fmax(fabs(p[1]), fabs(p[2])));
    double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    double round = length > 0 ? largest / length : 1, share = 0.5 * largest;
    int k;
    for (k = 0; k < 3; k++) x[k] = core * p[k] * (1 - share + share * round);
}

/* A vertex of the core: its place, and for the surface its number there. */
static int scene_mesh_core(scene_mesh *m, int core, double share, double radius, int *surface) {
    int i, j, k, n = 0, v = 0;
    for (k = 0; k <= core; k++)
        for (j = 0; j <= core; j++)
            for (i = 0; i <= core; i++, v++) {
                double p[3], x[3];
                p[0] = 2.0 * i / core - 1;
                p[1] = 2.0 * j / core - 1;
                p[2] = 2.0 * k / core - 1;
                scene_mesh_round(p, share, x);
                m->vertices[3 * v] = (csim_real)(radius * x[0]);
                m->vertices[3 * v + 1] = (csim_real)(radius * x[1]);
                m->vertices[3 * v + 2] = (csim_real)(radius * x[2]);
                surface[v] = i == 0 || j == 0 || k == 0 || i == core || j == core || k == core ? n++ : -1;
            }
    return n;
}

/* Layer l of the shell, 1..layers: from the core's surface towards the sphere along the ray. */
static void scene_mesh_layer(scene_mesh *m, const int *surface, int core_count, int surface_count, int layer,
                             int layers, double radius) {
    int v, k;
    for (v = 0; v < core_count; v++) {
        csim_real *x = m->vertices + 3 * v,
                  *out = m->vertices + 3 * (core_count + (layer - 1) * surface_count + surface[v]);
        double length = sqrt((double)(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])), share = (double)layer / layers;
        if (surface[v] < 0) continue;
        for (k = 0; k < 3; k++) out[k] = (csim_real)((double)x[k] * ((1 - share) + share * radius / length));
    }
}

/* The prism between a triangle and its copy further out: three tets, diagonals from the smaller index, so that
   neighbours agree. */
static void scene_mesh_prism(scene_mesh *m, int a, int b, int c, int A, int B, int C) {
    int t;
    while (a > b || a > c) { /* turn the smallest to the front */
        t = a, a = b, b = c, c = t;
        t = A, A = B, B = C, C = t;
    }
    if (b < c) {
        scene_mesh_add_tet(m, a, b, c, C);
        scene_mesh_add_tet(m, a, b, C, B);
    } else {
        scene_mesh_add_tet(m, a, b, c, B);
        scene_mesh_add_tet(m, a, c, B, C);
    }
    scene_mesh_add_tet(m, a, A, B, C);
}

static int scene_mesh_at(int v, int layer, const int *surface, int core_count, int surface_count) {
    return layer == 0 ? v : core_count + (layer - 1) * surface_count + surface[v];
}

/* Triangles of the core's surface are faces of its tets with all three vertices on one side of the cube. */
static bool scene_mesh_on_side(int v, int side, int core) {
    int c[3];
    c[0] = v % (core + 1);
    c[1] = v / (core + 1) % (core + 1);
    c[2] = v / ((core + 1) * (core + 1));
    return c[side % 3] == (side < 3 ? 0 : core);
}

static void scene_mesh_shell(scene_mesh *m, int core, int layers, const int *surface, int core_count,
                             int surface_count) {
    int core_tets = m->tet_count, t, face, side, layer;
    for (t = 0; t < core_tets; t++)
        for (face = 0; face < 4; face++) {
            int a = m->tets[4 * t + (face + 1) % 4], b = m->tets[4 * t + (face + 2) % 4],
                c = m->tets[4 * t + (face + 3) % 4];
            for (side = 0; side < 6; side++) {
                if (!scene_mesh_on_side(a, side, core) || !scene_mesh_on_side(b, side, core) ||
                    !scene_mesh_on_side(c, side, core))
                    continue;
                for (layer = 0; layer < layers; layer++)
                    scene_mesh_prism(m, scene_mesh_at(a, layer, surface, core_count, surface_count),
                                     scene_mesh_at(b, layer, surface, core_count, surface_count),
                                     scene_mesh_at(c, layer, surface, core_count, surface_count),
                                     scene_mesh_at(a, layer + 1, surface, core_count, surface_count),
                                     scene_mesh_at(b, layer + 1, surface, core_count, surface_count),
                                     scene_mesh_at(c, layer + 1, surface, core_count, surface_count));
            }
        }
}

bool scene_mesh_ball(scene_mesh *m, int core, int layers, double radius) {
    int core_count = (core + 1) * (core + 1) * (core + 1), surface_count = 6 * core * core + 2, layer;
    int tets = 6 * core * core * core + 3 * 12 * core * core * layers;
    double share = (double)core / (core + 2 * layers); /* of the radius: elements of one size */
    int *surface = (int *)malloc(sizeof(int) * (size_t)core_count);
    if (!surface || !scene_mesh_alloc(m, core_count + layers * surface_count, tets)) {
        free(surface);
        return false;
    }
    scene_mesh_core(m, core, share, radius, surface);
    for (layer = 1; layer <= layers; layer++)
        scene_mesh_layer(m, surface, core_count, surface_count, layer, layers, radius);
    scene_mesh_cells(m, core, core, core);
    scene_mesh_shell(m, core, layers, surface, core_count, surface_count);
    free(surface);
    return true;
}
