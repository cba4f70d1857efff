/* Meshes by distance grids, and height fields: distances, signs, mass, what is refused, and what lies on them. */
#include "check.h"
#include "field_memory.h"

#include "../examples/scenes/mesh.c"

static csim_real uniform(double low, double high) { return (csim_real)check_random(low, high); }
static csim_vec3 random_point(double size) {
    csim_real x = uniform(-size, size), y = uniform(-size, size);
    return csim_v3(x, y, uniform(-size, size));
}

/* ---- meshes */

typedef struct soup {
    int nv, nt;
    csim_real *x;
    int *t;
} soup;

static soup make_soup(int nv, int nt) {
    soup s;
    s.nv = nv;
    s.nt = nt;
    s.x = (csim_real *)calloc(3 * (size_t)nv, sizeof(csim_real));
    s.t = (int *)calloc(3 * (size_t)nt, sizeof(int));
    return s;
}

static void free_soup(soup *s) {
    free(s->x);
    free(s->t);
}

static soup make_box(csim_vec3 half) {
    static const int t[36] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                              2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};
    soup s = make_soup(8, 12);
    int i;
    for (i = 0; i < 8; i++)
        csimi_store3(s.x + 3 * i,
                     csim_v3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z));
    memcpy(s.t, t, sizeof t);
    return s;
}

/* Rings of longitude; a pole at each end. */
static soup make_ball(int rings, int around, double radius) {
    soup s = make_soup(rings * around + 2, 2 * rings * around);
    int i, j, n = 0;
    for (i = 0; i < rings; i++)
        for (j = 0; j < around; j++) {
            const double a = 3.14159265358979 * (i + 1) / (rings + 1), b = 2 * 3.14159265358979 * j / around;
            csimi_store3(s.x + 3 * (i * around + j),
                         csim_v3((csim_real)(radius * sin(a) * cos(b)), (csim_real)(radius * sin(a) * sin(b)),
                                 (csim_real)(radius * cos(a))));
        }
    s.x[3 * rings * around + 2] = (csim_real)radius;
    s.x[3 * rings * around + 5] = (csim_real)-radius;
    for (j = 0; j < around; j++) {
        const int next = (j + 1) % around;
        int *t = s.t + 3 * n++;
        t[0] = rings * around, t[1] = j, t[2] = next;
        for (i = 0; i + 1 < rings; i++) {
            t = s.t + 3 * n;
            t[0] = t[3] = i * around + j;
            t[1] = (i + 1) * around + j;
            t[2] = t[4] = (i + 1) * around + next;
            t[5] = i * around + next;
            n += 2;
        }
        t = s.t + 3 * n++;
        t[0] = rings * around + 1, t[1] = (rings - 1) * around + next, t[2] = (rings - 1) * around + j;
    }
    return s;
}

static bool load_soup(const char *name, soup *s) {
    csim_mesh mesh;
    char path[200];
    snprintf(path, sizeof path, "../shared/real/meshes/%s", name);
    if (csim_mesh_load_file(path, NULL, &mesh, NULL)) return false;
    *s = make_soup(mesh.vertex_count, mesh.triangle_count);
    memcpy(s->x, mesh.vertices, 3 * sizeof(csim_real) * (size_t)s->nv);
    memcpy(s->t, mesh.triangles, 3 * sizeof(int) * (size_t)s->nt);
    csim_mesh_free(&mesh);
    return true;
}

static csim_mesh_field_def def_of(const soup *s, int resolution) {
    csim_mesh_field_def d = csim_default_mesh_field_def();
    d.vertices = s->x;
    d.vertex_count = s->nv;
    d.triangles = s->t;
    d.triangle_count = s->nt;
    d.resolution = resolution;
    return d;
}

static const csim_field *field_of(const csim_mesh_field_def *d) {
    const csim_field *f = NULL;
    csim_error error;
    size_t bytes = 0;
    void *block;
    STATUS(csim_mesh_field_bytes(d, &bytes, &error), CSIM_OK);
    block = block_of(bytes);
    if (csim_create_mesh_field_in(d, block, bytes, &f, &error)) printf("%s\n", error.text);
    if (!f) exit(3);
    return f;
}

/* Distance to every triangle in turn, and the solid angle of them all over 4 pi, in double. */
static double brute(const soup *s, csim_vec3 p, double *winding) {
    double best = 1e9, sum = 0;
    int i, k;
    for (i = 0; i < s->nt; i++) {
        csim_vec3 x[3], c = p;
        csim_real w[3];
        double v[3][3], l[3], det, den;
        for (k = 0; k < 3; k++) {
            x[k] = csimi_load3(s->x + 3 * s->t[3 * i + k]);
            v[k][0] = (double)x[k].x - (double)p.x;
            v[k][1] = (double)x[k].y - (double)p.y;
            v[k][2] = (double)x[k].z - (double)p.z;
            l[k] = sqrt(v[k][0] * v[k][0] + v[k][1] * v[k][1] + v[k][2] * v[k][2]);
        }
        csimi_closest_triangle(p, x[0], x[1], x[2], w);
        for (k = 0; k < 3; k++) c = csim_madd(c, -w[k], x[k]);
        best = fmin(best, (double)csim_length(c));
#define DOT(a, b) (v[a][0] * v[b][0] + v[a][1] * v[b][1] + v[a][2] * v[b][2])
        det = v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) - v[0][1] * (v[1][0] * v[2][2] - v[1][2] * v[2][0]) +
              v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
        den = l[0] * l[1] * l[2] + DOT(0, 1) * l[2] + DOT(1, 2) * l[0] + DOT(2, 0) * l[1];
#undef DOT
        if (det != 0 || den != 0) sum += 2 * atan2(det, den);
    }
    *winding = sum / (4 * 3.14159265358979323846);
    return best;
}

static csim_vec3 random_node(const csim_field *f, double *value) {
    const int i = (int)check_random(0, f->n[0]), j = (int)check_random(0, f->n[1]), k = (int)check_random(0, f->n[2]);
    *value = (double)csimi_field_value(f)[(k * f->n[1] + j) * f->n[0] + i];
    return csim_v3((csim_real)(f->lower[0] + f->cell * i), (csim_real)(f->lower[1] + f->cell * j),
                   (csim_real)(f->lower[2] + f->cell * k));
}

/* Every node drawn has the exact distance and the side that the exact winding number tells. */
static int check_nodes(const soup *s, const csim_field *f, int count) {
    const double size = f->cell * (f->n[0] + f->n[1] + f->n[2]);
    int i, inside = 0;
    for (i = 0; i < count; i++) {
        double value, winding, exact;
        csim_vec3 p = random_node(f, &value);
        exact = brute(s, p, &winding);
        NEAR(fabs(value), exact, TOL(1e-7, 1e-6) * size); /* kept as floats */
        if (exact > 1e-6 * size && fabs(winding - 0.5) > 1e-6) EQUAL(value<0, winding> 0.5);
        inside += value < 0;
    }
    return inside;
}

TEST(nodes_of_a_box_and_a_ball_are_exact) {
    const csim_vec3 half = csim_v3(CSIM_R(0.3), CSIM_R(0.2), CSIM_R(0.1));
    soup box = make_box(half), ball = make_ball(23, 40, 0.5);
    csim_mesh_field_def d = def_of(&box, 24);
    const csim_field *f = field_of(&d);
    csim_shape shape = csim_box(half);
    csim_geometry g;
    csim_mass m, exact;
    int i, k;
    STATUS(csim_shape_bake(&shape, &g, NULL, NULL), CSIM_OK);
    for (i = 0; i < 4000; i++) {
        double value;
        csim_vec3 n, p = random_node(f, &value);
        NEAR(value, csim_shape_distance(&g, NULL, csim_pose_identity(), p, &n, NULL), 1e-7);
        p = random_point(
            0.6); /* between nodes and beyond the grid: never more than it is, give or take a cell's worth */
        value = (double)csimi_distance_mesh(f, p, &n) -
                (double)csim_shape_distance(&g, NULL, csim_pose_identity(), p, NULL, NULL);
        CHECK(value < 0.5 * f->cell);
        NEAR(csim_length(n), 1, TOL(1e-14, 1e-5));
    }
    EQUAL(check_nodes(&box, f, 300) > 30, 1);
    /* the mass of the mesh is that of the box */
    shape = csim_field_shape(f);
    STATUS(csim_shape_mass(&shape, 1000, &m, NULL), CSIM_OK);
    shape = csim_box(half);
    STATUS(csim_shape_mass(&shape, 1000, &exact, NULL), CSIM_OK);
    NEAR(m.mass, exact.mass, TOL(1e-12, 1e-4) * exact.mass);
    for (k = 0; k < 9; k++) NEAR(m.inertia.m[k], exact.inertia.m[k], TOL(1e-11, 1e-4) * exact.inertia.m[0]);
    CHECK((double)csim_length(m.centre) < TOL(1e-14, 1e-6));
    /* a ball: linear between nodes of distance 0.05 or so is off by cell^2 / 8R twice at most, and the mesh by its sag
     */
    d = def_of(&ball, 20);
    f = field_of(&d);
    check_nodes(&ball, f, 300);
    for (i = 0; i < 4000; i++) {
        csim_vec3 n, p = random_point(0.57);
        const double r = (double)csim_length(p);
        if (r < 0.2) continue;
        NEAR(csimi_distance_mesh(f, p, &n), r - 0.5, 0.05 * 0.05 / 4 / r + 0.5 * 0.006);
        if (r < 0.57) CHECK((double)csim_dot(n, csim_scale(1 / (csim_real)r, p)) > 0.98);
    }
    free_soup(&box);
    free_soup(&ball);
}

/* What is told to be a plane within a box is one at every point of that box. */
TEST(a_grid_is_a_plane_where_it_is_one) {
    soup box = make_box(csim_v3(CSIM_R(0.3), CSIM_R(0.2), CSIM_R(0.1)));
    csim_mesh_field_def d = def_of(&box, 24);
    const csim_field *f = field_of(&d);
    int planes = 0, reliefs = 0, i, k;
    for (i = 0; i < 4000; i++) {
        const csim_vec3 at = random_point(0.35), half = csim_scale(CSIM_R(0.1), random_point(0.35));
        const csim_vec3 size = csim_v3(csimi_abs(half.x), csimi_abs(half.y), csimi_abs(half.z));
        csim_pose plane;
        const csimi_under under = csimi_field_under(f, csim_sub(at, size), csim_add(at, size), at, &plane);
        planes += under == CSIMI_UNDER_PLANE;
        reliefs += under == CSIMI_UNDER_RELIEF;
        for (k = 0; under == CSIMI_UNDER_PLANE && k < 20; k++) {
            const csim_vec3 p = csim_add(at, csim_v3(size.x * CSIM_R(check_random(-1, 1)), size.y * CSIM_R(check_random(-1, 1)),
                                                     size.z * CSIM_R(check_random(-1, 1))));
            csim_vec3 n, up = csim_rotate(plane.rotation, csim_v3(0, 0, 1));
            NEAR(csimi_distance_mesh(f, p, &n), csim_dot(up, csim_sub(p, plane.position)), 3e-6); /* nodes are floats */
            CHECK(csim_dot(n, up) > CSIM_R(0.9999));
        }
    }
    CHECK(planes > 200 && reliefs > 200);
    free_soup(&box);
}

/* The gradient is that of the distance inside each cell. */
TEST(normals_are_gradients) {
    soup ball = make_ball(11, 20, 0.5);
    csim_mesh_field_def d = def_of(&ball, 12);
    const csim_field *f = field_of(&d);
    const double e = TOL(1e-6, 1e-4);
    int i, k;
    for (i = 0; i < 500; i++) {
        csim_vec3 p = random_point(0.55), n, other;
        double g[3], length = 0;
        bool inner = true;
        for (k = 0; k < 3; k++) {
            double t = (((double)(k == 0 ? p.x : k == 1 ? p.y : p.z)) - f->lower[k]) / f->cell;
            inner = inner && t - floor(t) > 0.02 && t - floor(t) < 0.98;
        }
        if (!inner) continue;
        csimi_distance_mesh(f, p, &n);
        for (k = 0; k < 3; k++) {
            csim_vec3 step =
                csim_v3((csim_real)(k == 0 ? e : 0), (csim_real)(k == 1 ? e : 0), (csim_real)(k == 2 ? e : 0));
            g[k] = ((double)csimi_distance_mesh(f, csim_add(p, step), &other) -
                    (double)csimi_distance_mesh(f, csim_sub(p, step), &other)) /
                   (2 * e);
            length += g[k] * g[k];
        }
        length = sqrt(length);
        NEAR(n.x, g[0] / length, TOL(1e-6, 2e-2));
        NEAR(n.y, g[1] / length, TOL(1e-6, 2e-2));
        NEAR(n.z, g[2] / length, TOL(1e-6, 2e-2));
    }
    free_soup(&ball);
}

NEEDS("../shared/real/meshes/spot.obj", bunny_and_spot_have_the_right_signs) {
    static const char *const names[] = {"bunny.obj", "spot.obj"};
    int k, i;
    for (k = 0; k < 2; k++) {
        soup s;
        csim_mesh_field_def d;
        csim_field_info info;
        const csim_field *f;
        REQUIRE(load_soup(names[k], &s));
        CASE("%s", names[k]);
        d = def_of(&s, 32);
        f = field_of(&d);
        info = csim_field_get_info(f);
        printf("    %s: %d x %d x %d nodes, %d samples, %d KiB; open %d, flipped %d, crowded %d; off by %.2g cells\n",
               names[k], info.nodes[0], info.nodes[1], info.nodes[2], info.samples, (int)(info.bytes / 1024),
               info.open_edges, info.flipped_edges, info.crowded_edges, (double)(info.error / info.cell));
        CHECK(check_nodes(&s, f, 300) > 10);
        for (i = 0; i < 300; i++) { /* anywhere: off by less than a cell, as the figure of the grid says */
            double winding, exact, value;
            csim_vec3 n, p = csim_v3(uniform(f->low[0], f->high[0]), uniform(f->low[1], f->high[1]),
                                     uniform(f->low[2], f->high[2]));
            exact = brute(&s, p, &winding);
            value = (double)csimi_distance_mesh(f, p, &n);
            NEAR(fabs(value), exact, f->cell);
            if (exact > f->cell) EQUAL(value<0, winding> 0.5);
        }
        free_soup(&s);
    }
}

/* ---- imperfect meshes */

static void flip(soup *s, int triangle) {
    const int v = s->t[3 * triangle];
    s->t[3 * triangle] = s->t[3 * triangle + 1];
    s->t[3 * triangle + 1] = v;
}

TEST(holes_and_flipped_triangles) {
    soup s = make_ball(15, 24, 0.5);
    csim_mesh_field_def d;
    csim_error error;
    const csim_field *f, *none = NULL;
    csim_field_info info;
    size_t bytes;
    void *block;
    int i;
    flip(&s, 100), flip(&s, 205), flip(&s, 300); /* no neighbours */
    s.nt -= 1;                                   /* the last one */
    d = def_of(&s, 24);
    f = field_of(&d);
    info = csim_field_get_info(f);
    EQUAL(info.open_edges, 3);
    EQUAL(info.flipped_edges, 9);
    EQUAL(info.crowded_edges, 0);
    check_nodes(&s, f, 500);
    for (i = 0; i < 3000; i++) { /* as good as whole, away from the surface */
        csim_vec3 n, p = random_point(0.6);
        const double r = (double)csim_length(p);
        if (r > 0.4 && r < 0.6) continue;
        EQUAL((double)csimi_distance_mesh(f, p, &n) < 0, r < 0.5);
    }
    NEAR(info.volume, 0.51, 0.015); /* 4 pi / 3 0.5^3 is 0.5236, the mesh has less */
    d.strict = true;
    STATUS(csim_mesh_field_bytes(&d, &bytes, NULL), CSIM_OK);
    block = block_of(bytes);
    STATUS(csim_create_mesh_field_in(&d, block, bytes, &none, &error), CSIM_BAD_MESH);
    CHECK(strstr(error.text, "open, flipped or crowded") && strstr(error.text, "strict") && !none);
    d.strict = false;
    for (i = 0; i < s.nt; i++) flip(&s, i);
    STATUS(csim_create_mesh_field_in(&d, block, bytes, &none, &error), CSIM_BAD_MESH);
    CHECK(strstr(error.text, "inside out") != NULL);
    free_soup(&s);
    s = make_box(csim_v3(1, 1, 1));
    d = def_of(&s, 8);
    d.triangle_count = 2;
    STATUS(csim_create_mesh_field_in(&d, block, bytes, &none, &error), CSIM_BAD_MESH);
    CHECK(strstr(error.text, "encloses something") && !none);
    s.t = (int *)realloc(s.t, 39 * sizeof(int));
    memcpy(s.t + 36, s.t, 3 * sizeof(int)); /* a face twice: three triangles at each of its edges */
    s.nt = 13;
    d = def_of(&s, 8);
    EQUAL(csim_field_get_info(field_of(&d)).crowded_edges, 3);
    free_soup(&s);
}

TEST(definitions_are_refused_by_name) {
    soup s = make_box(csim_v3(1, 1, 1));
    csim_real heights[6] = {0, 1, 2, 3, 4, 5};
    csim_mesh_field_def d;
    csim_height_field_def h;
    csim_shape shape;
    csim_geometry g;
    csim_error e;
    const csim_field *f = NULL;
    size_t bytes = 0, needed;
    void *block = block_of(1 << 20);
    int bad[36];
    csim_real nan[24], far[24];
#define REFUSED(change, status, word)                                      \
    d = def_of(&s, 8);                                                     \
    change;                                                                \
    STATUS(csim_mesh_field_bytes(&d, &bytes, &e), status);                 \
    CHECK(strstr(e.text, word) != NULL);                                   \
    STATUS(csim_create_mesh_field_in(&d, block, 1 << 20, &f, &e), status); \
    CHECK(strstr(e.text, word) && !f)
    memcpy(bad, s.t, sizeof bad);
    bad[7] = 8;
    memcpy(nan, s.x, sizeof nan);
    nan[5] = (csim_real)NAN;
    memcpy(far, s.x, sizeof far);
    far[5] = CSIM_R(1e7);
    REFUSED(d.guard = 0, CSIM_DEF_NOT_INITIALISED, "def");
    REFUSED(d.vertex_count = 2, CSIM_OUT_OF_RANGE, "vertex_count");
    REFUSED(d.triangle_count = 0, CSIM_OUT_OF_RANGE, "triangle_count");
    REFUSED(d.vertices = NULL, CSIM_NULL_ARGUMENT, "vertices");
    REFUSED(d.triangles = NULL, CSIM_NULL_ARGUMENT, "triangles");
    REFUSED(d.triangles = bad, CSIM_BAD_MESH, "triangles");
    REFUSED(d.vertices = nan, CSIM_NOT_FINITE, "vertices");
    REFUSED(d.vertices = far, CSIM_OUT_OF_RANGE, "vertices");
    REFUSED(d.scale = 0, CSIM_OUT_OF_RANGE, "scale");
    REFUSED(d.scale = (csim_real)INFINITY, CSIM_NOT_FINITE, "scale");
    REFUSED(d.scale = CSIM_R(1e-8), CSIM_BAD_MESH, "longest side");
    REFUSED(d.resolution = 3, CSIM_OUT_OF_RANGE, "resolution");
    REFUSED(d.resolution = 401, CSIM_OUT_OF_RANGE, "resolution");
    REFUSED(d.spacing = -1, CSIM_OUT_OF_RANGE, "spacing");
    REFUSED(d.spacing = CSIM_R(1e-4), CSIM_OUT_OF_RANGE, "spacing");
    REFUSED(d.spacing = (csim_real)NAN, CSIM_NOT_FINITE, "spacing");
#undef REFUSED
    d = def_of(&s, 8);
    STATUS(csim_mesh_field_bytes(&d, NULL, &e), CSIM_NULL_ARGUMENT);
    STATUS(csim_mesh_field_bytes(NULL, &bytes, &e), CSIM_NULL_ARGUMENT);
    STATUS(csim_mesh_field_bytes(&d, &needed, &e), CSIM_OK);
    STATUS(csim_create_mesh_field_in(&d, block, needed - 1, &f, &e), CSIM_CAPACITY);
    STATUS(csim_create_mesh_field_in(&d, (char *)block + 8, needed, &f, &e), CSIM_OUT_OF_RANGE);
    STATUS(csim_create_mesh_field_in(&d, NULL, needed, &f, &e), CSIM_NULL_ARGUMENT);
    STATUS(csim_create_mesh_field_in(&d, block, needed, NULL, &e), CSIM_NULL_ARGUMENT);
    STATUS(csim_create_mesh_field_in(&d, block, needed, &f, &e), CSIM_OK);
    shape = csim_field_shape(NULL);
    STATUS(csim_shape_bake(&shape, &g, NULL, &e), CSIM_NULL_ARGUMENT);
    CHECK(strstr(e.text, "field") != NULL);
#define REFUSED(change, status, word)                                        \
    h = csim_default_height_field_def();                                     \
    h.heights = heights, h.count_x = 3, h.count_y = 2;                       \
    change;                                                                  \
    f = NULL;                                                                \
    STATUS(csim_height_field_bytes(&h, &bytes, &e), status);                 \
    CHECK(strstr(e.text, word) != NULL);                                     \
    STATUS(csim_create_height_field_in(&h, block, 1 << 20, &f, &e), status); \
    CHECK(strstr(e.text, word) && !f)
    REFUSED(h.guard = 1, CSIM_DEF_NOT_INITIALISED, "def");
    REFUSED(h.count_x = 1, CSIM_OUT_OF_RANGE, "count_x");
    REFUSED(h.count_y = 20001, CSIM_OUT_OF_RANGE, "count_y");
    REFUSED(h.cell = 0, CSIM_OUT_OF_RANGE, "cell");
    REFUSED(h.cell = (csim_real)NAN, CSIM_NOT_FINITE, "cell");
    REFUSED(h.heights = NULL, CSIM_NULL_ARGUMENT, "heights");
    heights[4] = (csim_real)NAN;
    REFUSED(h.cell = 1, CSIM_NOT_FINITE, "heights");
    heights[4] = CSIM_R(2e6);
    REFUSED(h.cell = 1, CSIM_OUT_OF_RANGE, "heights");
#undef REFUSED
    free_soup(&s);
}

/* The same call gives the same bytes; bytes move; damaged or cut ones are refused. */
TEST(bytes_can_be_kept_and_opened_again) {
    soup s = make_ball(9, 16, 0.5);
    csim_mesh_field_def d = def_of(&s, 12);
    const csim_field *f = field_of(&d), *g = field_of(&d), *back = NULL;
    const size_t bytes = csim_field_get_info(f).bytes;
    unsigned char *copy = (unsigned char *)block_of(bytes + 64) + 8;
    csim_error e;
    size_t i;
    CHECK(memcmp(f, g, bytes) == 0);
    memcpy(copy, f, bytes);
    STATUS(csim_open_field(copy, bytes, &back, &e), CSIM_OK);
    for (i = 0; i < 200; i++) {
        csim_vec3 p = random_point(1), n, m;
        CHECK(csimi_distance_mesh(f, p, &n) == csimi_distance_mesh(back, p, &m) && n.x == m.x && n.z == m.z);
    }
    back = NULL;
    for (i = 0; i < 300; i++) {
        const size_t at = (size_t)check_random(0, (double)bytes);
        copy[at] ^= 4;
        STATUS(csim_open_field(copy, bytes, &back, &e), CSIM_BAD_SNAPSHOT);
        STATUS(csim_open_field(copy, at, &back, &e), CSIM_BAD_SNAPSHOT);
        copy[at] ^= 4;
    }
    STATUS(csim_open_field(copy + 1, bytes, &back, &e), CSIM_BAD_SNAPSHOT);
    STATUS(csim_open_field(NULL, bytes, &back, &e), CSIM_NULL_ARGUMENT);
    CHECK(back == NULL);
    free_soup(&s);
}

/* ---- worlds */

static csim_world *make_world(csim_real gravity) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    def.gravity = csim_v3(0, 0, -gravity);
    if (csim_create_world(&def, &w, NULL)) exit(3);
    return w;
}

static csim_body_id add_rigid(csim_world *w, csim_shape shape, csim_vec3 at, csim_motion motion) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id;
    memset(&id, 0, sizeof id);
    d.shapes = &shape;
    d.shape_count = 1;
    d.pose.position = at;
    d.motion = motion;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

static csim_body_id add_block(csim_world *w, csim_real half, csim_vec3 at) {
    csim_soft_def d = csim_default_soft_def();
    csim_body_id id;
    scene_mesh mesh;
    memset(&id, 0, sizeof id);
    if (!scene_mesh_box(&mesh, 3, 3, 3, csim_v3(-half, -half, -half), csim_v3(half, half, half))) exit(3);
    d.vertices = mesh.vertices;
    d.vertex_count = mesh.vertex_count;
    d.tets = mesh.tets;
    d.tet_count = mesh.tet_count;
    d.corner_contact = true;
    d.stiffness_damping = CSIM_R(0.01);
    d.pose.position = at;
    STATUS(csim_create_soft(w, &d, &id), CSIM_OK);
    scene_mesh_free(&mesh);
    return id;
}

static csim_vec3 centre_of(const csim_world *w, csim_body_id id) {
    csim_pose pose;
    STATUS(csim_body_get_pose(w, id, &pose), CSIM_OK);
    return pose.position;
}

typedef struct outcome {
    double speed, penetration;
    int uncertified;
} outcome;

static outcome run(csim_world *w, double seconds, double h) {
    outcome o = {0, 0, 0};
    int i;
    for (i = 0; i < (int)(seconds / h + 0.5); i++) {
        csim_step_stats stats;
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        stats = csim_world_stats(w);
        o.penetration = fmax(o.penetration, stats.penetration);
        o.uncertified += stats.result != CSIM_RESULT_CONVERGED;
    }
    o.speed = csim_world_rms_speed(w);
    return o;
}

/* A soft cube on the head of the bunny, a ball in the hollow of its feet when it stands on its ears: at rest,
   certified, and not in it. */
NEEDS("../shared/real/meshes/bunny.obj", ball_and_cube_rest_on_the_bunny) {
    const csim_vec3 at[2] = {{CSIM_R(-0.0541), CSIM_R(0.5726), CSIM_R(-0.0048)},
                             {CSIM_R(-0.0541), CSIM_R(0.09), CSIM_R(0.0437)}};
    soup s;
    csim_mesh_field_def d;
    const csim_field *f;
    int k;
    REQUIRE(load_soup("bunny.obj", &s));
    d = def_of(&s, 48);
    f = field_of(&d);
    d.scale = CSIM_R(0.5) / (csim_real)(f->cell * 48); /* half a metre long */
    f = field_of(&d);
    for (k = 0; k < 2; k++) {
        csim_world *w = make_world(0);
        csim_body_id id;
        csim_vec3 before;
        outcome o;
        STATUS(csim_world_set_gravity(w, csim_v3(0, k ? CSIM_R(9.81) : CSIM_R(-9.81), 0)), CSIM_OK);
        add_rigid(w, csim_field_shape(f), csim_v3(0, 0, 0), CSIM_STATIC);
        if (k == 0) {
            id = add_block(w, CSIM_R(0.04), at[0]);
        } else {
            csim_rigid_def r = csim_default_rigid_def();
            csim_shape ball = csim_sphere(CSIM_R(0.03));
            r.shapes = &ball;
            r.shape_count = 1;
            r.pose.position = at[1];
            r.angular_damping = 5; /* nothing else ends its rolling to and fro */
            STATUS(csim_create_rigid(w, &r, &id), CSIM_OK);
        }
        o = run(w, k ? 20 : 3, 0.01);
        CHECK(o.uncertified <= 3);
        CHECK(o.penetration < 0.006); /* of the impact of a soft corner */
        before = centre_of(w, id);
        o = run(w, 1, 0.01);
        printf("    %s: speed %.1e m/s, penetration %.1e m\n", k ? "ball" : "cube", o.speed, o.penetration);
        EQUAL(o.uncertified, 0);
        CHECK(o.speed < TOL(3e-6, 1e-3));
        CHECK(o.penetration < TOL(1e-6, 1e-4));
        CHECK((double)csim_length(csim_sub(centre_of(w, id), before)) < TOL(1e-6, 1e-3));
        CHECK((double)csimi_distance_mesh(f, before, &before) < 0.06); /* still on it */
        csim_destroy_world(w);
    }
    free_soup(&s);
}

/* Every kind of shape on and under a mesh of a box, which must lie as
   they do on and under the box itself. */
TEST(meshes_fall_and_rest) {
    const csim_vec3 half = csim_v3(CSIM_R(0.2), CSIM_R(0.15), CSIM_R(0.1));
    soup s = make_box(half);
    csim_mesh_field_def d = def_of(&s, 16);
    const csim_field *f = field_of(&d);
    const csim_vec3 p[4] = {{0, 0, CSIM_R(0.07)},
                            {CSIM_R(0.06), 0, CSIM_R(-0.05)},
                            {CSIM_R(-0.04), CSIM_R(0.05), CSIM_R(-0.05)},
                            {CSIM_R(-0.04), CSIM_R(-0.05), CSIM_R(-0.05)}};
    int k, below;
    for (k = 0; k < 6; k++)
        for (below = 0; below < 2; below++) {
            csim_world *w = make_world(CSIM_R(9.81));
            csim_shape shape = k == 0   ? csim_sphere(CSIM_R(0.05))
                               : k == 1 ? csim_capsule(CSIM_R(0.05), CSIM_R(0.05))
                               : k == 2 ? csim_box(csim_v3(CSIM_R(0.06), CSIM_R(0.05), CSIM_R(0.05)))
                               : k == 3 ? csim_cylinder(CSIM_R(0.06), CSIM_R(0.05))
                               : k == 4 ? csim_hull(p, 4)
                                        : csim_field_shape(f);
            csim_vec3 at = csim_v3(0, 0,
                                   CSIM_R(0.11) + (k == 4             ? CSIM_R(0.05)
                                                   : k == 5 || k == 1 ? CSIM_R(0.1)
                                                                      : CSIM_R(0.05)));
            csim_body_id low, top;
            double height;
            outcome o;
            CASE("shape %d %s", k, below ? "below" : "above");
            if (below && (k == 0 || k == 1 || k == 4)) {
                csim_destroy_world(w); /* nothing lies on a ball, the end of a capsule, a corner */
                continue;
            }
            low = add_rigid(w, below ? shape : csim_field_shape(f), csim_v3(0, 0, 0), CSIM_STATIC);
            if (k == 1) shape.local.rotation = csim_quat_axis_angle(csim_v3(0, 1, 0), CSIM_R(1.5707963));
            if (k == 1) at.z = CSIM_R(0.165);
            if (below) at.z = CSIM_R(0.16) + (k == 5 ? CSIM_R(0.05) : 0);
            top = add_rigid(w, below ? csim_field_shape(f) : shape, at, CSIM_DYNAMIC);
            o = run(w, 1, 0.01);
            EQUAL(o.uncertified, 0);
            CHECK(o.penetration < TOL(1e-6, 1e-4));
            CHECK(o.speed < TOL(1e-6, 1e-3));
            height = (double)centre_of(w, top).z - (double)centre_of(w, low).z;
            NEAR(height, k == 4 ? 0.15 : k == 5 ? 0.2 : 0.15, TOL(2e-6, 1e-4));
            FIGURE("mesh_height_off", height - (k == 5 ? 0.2 : 0.15));
            FIGURE("mesh_deep", o.penetration);
            csim_destroy_world(w);
        }
    free_soup(&s);
}

/* A mesh of somebody else falls on flat ground. */
NEEDS("../shared/real/meshes/spot.obj", spot_falls_and_rests) {
    soup spot;
    csim_mesh_field_def d;
    const csim_field *f;
    csim_world *w = make_world(CSIM_R(9.81));
    csim_body_id ground, id;
    csim_mass mass;
    outcome o;
    REQUIRE(load_soup("spot.obj", &spot));
    d = def_of(&spot, 48);
    f = field_of(&d);
    id = add_rigid(w, csim_field_shape(f), csim_v3(0, 0, 2), CSIM_DYNAMIC);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.8), &ground), CSIM_OK);
    STATUS(csim_body_get_mass(w, id, &mass), CSIM_OK);
    o = run(w, 5, 0.01);
    printf("    spot: %.4g kg, falls in to %.2g m, speed at rest %.1e m/s\n", (double)mass.mass, o.penetration, o.speed);
    NEAR(mass.mass, 1000 * f->volume, TOL(1e-12, 1e-4) * 1000 * f->volume);
    CHECK(o.speed < TOL(1e-7, 1e-3) && o.uncertified == 0);
    csim_destroy_world(w);
    free_soup(&spot);
}

/* A drum that lies flat has far more samples that are as deep as contacts: the same are told whatever the rounding. */
TEST(samples_that_lie_as_deep_keep_their_names) {
    enum { AROUND = 24, MOST = 64 };
    soup s = make_soup(2 * AROUND, 4 * AROUND - 4);
    csim_shape ground = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1)), drum;
    csim_geometry flat, g;
    csim_touch first[MOST], touch[MOST];
    const csim_field *f;
    csim_mesh_field_def d;
    csim_pose at = csim_pose_identity(), still = csim_pose_identity();
    int i, k, n, m, at_t = 0;
    for (i = 0; i < AROUND; i++) {
        const double a = 2 * 3.14159265358979 * i / AROUND;
        const int next = (i + 1) % AROUND, side[6] = {i, next, AROUND + next, i, AROUND + next, AROUND + i};
        const int cap[6] = {0, i + 1, i, AROUND, AROUND + i, AROUND + i + 1};
        csimi_store3(s.x + 3 * i, csim_v3((csim_real)(0.1 * cos(a)), (csim_real)(0.1 * sin(a)), CSIM_R(-0.03)));
        csimi_store3(s.x + 3 * (AROUND + i), csim_v3(s.x[3 * i], s.x[3 * i + 1], CSIM_R(0.03)));
        for (k = 0; k < 6; k++) s.t[at_t++] = side[k];
        for (k = 0; k < 6 && i > 0 && i < AROUND - 1; k++) s.t[at_t++] = cap[k];
    }
    CHECK(at_t == 3 * s.nt);
    d = def_of(&s, 16);
    f = field_of(&d);
    drum = csim_field_shape(f);
    STATUS(csim_shape_bake(&drum, &g, NULL, NULL), CSIM_OK);
    STATUS(csim_shape_bake(&ground, &flat, NULL, NULL), CSIM_OK);
    still.position = at.position = csim_v3(0, 0, CSIM_R(0.03));
    n = csim_collide(&g, at, &flat, csim_pose_identity(), NULL, CSIM_R(0.002), first, MOST);
    CHECK(n >= 4 && n < AROUND);
    for (i = 0; i < 100; i++) {
        const csim_vec3 off = random_point(1e-8), turn = random_point(1);
        CASE("round %d", i);
        at.position = csim_add(still.position, off);
        at.rotation = csim_quat_axis_angle(csim_normalize(turn), CSIM_R(1e-8));
        m = csim_collide(&g, at, &flat, csim_pose_identity(), NULL, CSIM_R(0.002), touch, MOST);
        CHECK(m == n);
        for (k = 0; k < n && k < m; k++) CHECK(touch[k].feature == first[k].feature);
    }
    free_soup(&s);
}

/* Restored where its field is known, refused where it is not. */
TEST(snapshots_find_their_field) {
    soup s = make_ball(9, 16, 0.2);
    csim_mesh_field_def d = def_of(&s, 12);
    const csim_field *f = field_of(&d);
    csim_world *w = make_world(CSIM_R(9.81)), *other = make_world(CSIM_R(9.81)), *bare = make_world(CSIM_R(9.81));
    csim_body_id id;
    size_t bytes = 0;
    void *saved;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 1, &id), CSIM_OK);
    add_rigid(w, csim_field_shape(f), csim_v3(0, 0, CSIM_R(0.25)), CSIM_DYNAMIC);
    add_rigid(other, csim_field_shape(f), csim_v3(0, 0, 0), CSIM_STATIC);
    run(w, 0.1, 0.01);
    STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
    saved = block_of(bytes);
    STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
    STATUS(csim_world_restore(bare, saved, bytes), CSIM_BAD_SNAPSHOT);
    CHECK(strstr(csim_last_error(bare), "field") && csim_world_body_count(bare) == 0);
    STATUS(csim_world_restore(other, saved, bytes), CSIM_OK);
    run(w, 0.3, 0.01);
    run(other, 0.3, 0.01);
    CHECK(csim_world_hash(w) == csim_world_hash(other));
    csim_destroy_world(w);
    csim_destroy_world(other);
    csim_destroy_world(bare);
    free_soup(&s);
}

/* Two balls of triangles in the air: what one gets the other loses. */
TEST(meshes_that_collide_keep_momentum) {
    soup s = make_ball(13, 20, 0.2);
    csim_mesh_field_def d = def_of(&s, 16);
    const csim_field *f = field_of(&d);
    csim_world *w = make_world(0);
    csim_totals before, after;
    csim_body_id a, b;
    int i, k, touched = 0;
    a = add_rigid(w, csim_field_shape(f), csim_v3(0, 0, 0), CSIM_DYNAMIC);
    b = add_rigid(w, csim_field_shape(f), csim_v3(CSIM_R(0.5), CSIM_R(0.1), 0), CSIM_DYNAMIC);
    STATUS(csim_body_set_velocity(w, b, csim_v3(-3, 0, CSIM_R(0.2)), csim_v3(0, 0, 0)), CSIM_OK);
    before = csim_world_totals(w);
    for (i = 0; i < 30; i++) {
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        touched += csim_world_stats(w).touching > 0;
    }
    after = csim_world_totals(w);
    CHECK(touched > 0 && (double)centre_of(w, a).x < -1e-3);
    for (k = 0; k < 3; k++) {
        NEAR(after.momentum[k], before.momentum[k], TOL(1e-11, 1e-4) * before.mass);
        NEAR(after.angular_momentum[k], before.angular_momentum[k], TOL(2e-4, 1e-3) * before.mass); /* of order h */
    }
    csim_destroy_world(w);
    free_soup(&s);
}

/* ---- heights */

static const csim_field *heights_of(int nx, int ny, double cell, double (*height)(double x, double y)) {
    csim_height_field_def d = csim_default_height_field_def();
    csim_real *z = (csim_real *)calloc((size_t)(nx * ny), sizeof(csim_real));
    const csim_field *f = NULL;
    size_t bytes = 0;
    int i, j;
    for (j = 0; j < ny; j++)
        for (i = 0; i < nx; i++) z[j * nx + i] = (csim_real)height(cell * i, cell * j);
    d.heights = z;
    d.count_x = nx;
    d.count_y = ny;
    d.cell = (csim_real)cell;
    STATUS(csim_height_field_bytes(&d, &bytes, NULL), CSIM_OK);
    STATUS(csim_create_height_field_in(&d, block_of(bytes), bytes, &f, NULL), CSIM_OK);
    if (!f) exit(3);
    free(z);
    return f;
}

static double hills(double x, double y) { return 0.3 * sin(3 * x) * cos(2 * y) + 0.05 * sin(20 * x + y); }
static double slope(double x, double y) { return 0.25 * x + 0 * y; } /* exact in float at the nodes used */
static double flat(double x, double y) { return 0 * (x + y); }
static double bowl(double x, double y) { return 2 * ((x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5)); }

/* Against every triangle, and the two walls and the height below it tell the side. */
TEST(distance_to_heights_is_exact) {
    const csim_field *f = heights_of(21, 17, 0.1, hills);
    int i, a, b, half, k, inside = 0, normals = 0;
    for (i = 0; i < 4000; i++) {
        csim_vec3 p = csim_v3(uniform(-0.3, 2.3), uniform(-0.3, 1.9), uniform(-0.8, 0.9)), n, c, foot = p;
        double best = 1e9, value = (double)csimi_distance_heights(f, p, CSIMI_HUGE, &n), step;
        const double px = fmin(fmax((double)p.x, 0), 2), py = fmin(fmax((double)p.y, 0), 1.6);
        const double beyond = hypot((double)p.x - px, (double)p.y - py);
        bool below = false;
        for (b = 0; b < 16; b++)
            for (a = 0; a < 20; a++)
                for (half = 0; half < 2; half++) {
                    csim_vec3 x[3];
                    csim_real w[3];
                    const double u = px / 0.1 - a, v = py / 0.1 - b;
                    x[0] = csimi_height_node(f, a, b);
                    x[1] = half ? csimi_height_node(f, a + 1, b + 1) : csimi_height_node(f, a + 1, b);
                    x[2] = half ? csimi_height_node(f, a, b + 1) : csimi_height_node(f, a + 1, b + 1);
                    if (u >= -1e-9 && u <= 1 + 1e-9 && v >= -1e-9 && v <= 1 + 1e-9 && (half ? v >= u : v <= u)) {
                        const double z =
                            half ? (double)x[0].z + u * (double)(x[1].z - x[2].z) + v * (double)(x[2].z - x[0].z)
                                 : (double)x[0].z + u * (double)(x[1].z - x[0].z) + v * (double)(x[2].z - x[1].z);
                        if ((double)p.z < z) below = true;
                    }
                    csimi_closest_triangle(p, x[0], x[1], x[2], w);
                    c = csim_v3(0, 0, 0);
                    for (k = 0; k < 3; k++) c = csim_madd(c, w[k], x[k]);
                    if ((double)csim_length(csim_sub(p, c)) < best)
                        best = (double)csim_length(csim_sub(p, c)), foot = c;
                }
        if (below && beyond > 0) best = fmin(best, beyond);
        if (below && beyond == 0) best = -fmin(best, fmin(fmin(px, 2 - px), fmin(py, 1.6 - py)));
        NEAR(value, best, TOL(1e-7, 2e-6)); /* 16 cells are beyond reach here */
        inside += best < 0;
        step = 1e-3; /* the normal leads away from what is nearest: one step out adds a step, where nothing else is
                        nearer */
        if (fabs(best) > 0.01 &&
            (double)csimi_distance_heights(f, csim_madd(p, (csim_real)step, n), CSIMI_HUGE, &c) - value > 0.99 * step)
            normals++;
        CHECK((double)csimi_distance_heights(f, csim_madd(p, (csim_real)step, n), CSIMI_HUGE, &c) - value <
              step * 1.001 + TOL(1e-9, 2e-6));
        (void)foot;
    }
    CHECK(inside > 1000 && inside < 3000);
    CHECK(normals > 3200);
}

/* Of boxes and of a mesh with many samples, on hills: every touch is as deep as its own point is when it is asked by
   itself, and of a box the deepest of all corners, of the middles of its long edges and of the nodes are among them. */
TEST(touches_on_heights_are_what_their_points_say) {
    enum { MOST = 512 };
    const csim_field *f = heights_of(33, 33, 0.05, hills);
    csim_shape ground = csim_field_shape(f), box = csim_box(csim_v3(CSIM_R(0.12), CSIM_R(0.09), CSIM_R(0.07))),
               many;
    soup s = make_ball(15, 24, 0.2);
    csim_mesh_field_def d = def_of(&s, 24);
    static csim_touch touch[MOST];
    csim_geometry level, g[2];
    int i, k, kind, corners = 0, nodes = 0, most = 0;
    many = csim_field_shape(field_of(&d));
    STATUS(csim_shape_bake(&ground, &level, NULL, NULL), CSIM_OK);
    STATUS(csim_shape_bake(&box, g, NULL, NULL), CSIM_OK);
    STATUS(csim_shape_bake(&many, g + 1, NULL, NULL), CSIM_OK);
    for (i = 0; i < 600; i++) {
        const csim_real margin = uniform(0.002, 0.04);
        const csim_pose still = csim_pose_identity();
        csim_pose at = csim_pose_identity();
        double least[2] = {1, 1}, told[2] = {1, 1};
        csim_vec3 x, normal;
        int n;
        kind = i % 6 == 5;
        at.rotation = csim_quat_axis_angle(csim_normalize(random_point(1)), uniform(-3, 3));
        at.position = csim_v3(uniform(0.4, 1.2), uniform(0.4, 1.2), 0);
        at.position.z = (csim_real)hills((double)at.position.x, (double)at.position.y) + uniform(0, kind ? 0.2 : 0.25);
        n = csim_collide(g + kind, at, &level, still, NULL, margin, touch, MOST);
        CASE("round %d, %d touches", i, n);
        CHECK(n <= MOST);
        for (k = 0; k < n; k++) {
            const bool node = touch[k].feature >> 31;
            const double gap = (double)(node ? csim_shape_distance(g + kind, NULL, at, touch[k].point_b, &normal, NULL)
                                             : csim_shape_distance(&level, NULL, still, touch[k].point_a, &normal, NULL));
            NEAR(touch[k].gap, gap, TOL(1e-12, 1e-6));
            CHECK(touch[k].gap <= margin);
            told[node] = fmin(told[node], gap);
            corners += !node;
            nodes += node;
        }
        if (kind && n > most) most = n;
        for (k = 0; k < 12 && !kind; k++) {
            x = csim_v3((csim_real)(k / 4 - 1) * CSIM_R(0.12), k & 1 ? CSIM_R(0.09) : CSIM_R(-0.09),
                        k & 2 ? CSIM_R(0.07) : CSIM_R(-0.07));
            x = csim_pose_point(at, x);
            least[0] = fmin(least[0], (double)csim_shape_distance(&level, NULL, still, x, NULL, NULL));
        }
        for (k = 0; k < 33 * 33 && !kind; k++) {
            double gap;
            if (!csimi_height_peak(f, k % 33, k / 33)) continue;
            x = csimi_height_node(f, k % 33, k / 33);
            gap = (double)csim_shape_distance(g, NULL, at, x, &normal, NULL);
            if (csim_dot(normal, csimi_field_normal(f, x)) < CSIM_R(-0.5)) least[1] = fmin(least[1], gap);
        }
        for (k = 0; k < 2; k++)
            if (least[k] < (double)margin - 1e-6) NEAR(told[k], least[k], TOL(1e-12, 1e-6));
    }
    CHECK(corners > 1000 && nodes > 1000);
    CHECK(most > 24); /* more than are remembered */
    free_soup(&s);
}

/* Fraction of the way at which it goes through a triangle, by Cramer's rule; 2: not at all. */
static double through(const csim_vec3 *x, csim_vec3 o, csim_vec3 w) {
    const double e[3] = {(double)x[1].x - (double)x[0].x, (double)x[1].y - (double)x[0].y, (double)x[1].z - (double)x[0].z};
    const double f[3] = {(double)x[2].x - (double)x[0].x, (double)x[2].y - (double)x[0].y, (double)x[2].z - (double)x[0].z};
    const double r[3] = {(double)o.x - (double)x[0].x, (double)o.y - (double)x[0].y, (double)o.z - (double)x[0].z};
    const double d[3] = {-(double)w.x, -(double)w.y, -(double)w.z};
#define DET(a, b, c) \
    (a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]))
    const double all = DET(e, f, d), u = DET(r, f, d) / all, v = DET(e, r, d) / all, t = DET(e, f, r) / all;
#undef DET
    return u >= -1e-9 && v >= -1e-9 && u + v <= 1 + 1e-9 && t >= 0 && t <= 1 ? t : 2;
}

/* Steep and flat rays over many cells, from above all hills: the first of all triangles. */
/* With a bound it is the same number, to the last bit, or one that is above the bound as well. */
TEST(distance_to_heights_within_a_bound) {
    const csim_field *f = heights_of(21, 17, 0.1, hills);
    int i, within_count = 0;
    for (i = 0; i < 20000; i++) {
        const csim_vec3 p = csim_v3((csim_real)check_random(-0.2, 2.2), (csim_real)check_random(-0.2, 1.8),
                                    (csim_real)check_random(-0.3, 0.8));
        const csim_real bound = (csim_real)check_random(0, 0.3);
        csim_vec3 n, m;
        const csim_real d = csimi_distance_heights(f, p, CSIMI_HUGE, &n), e = csimi_distance_heights(f, p, bound, &m);
        CASE("at %g %g %g, bound %g", (double)p.x, (double)p.y, (double)p.z, (double)bound);
        if (d <= bound) {
            CHECK(memcmp(&d, &e, sizeof d) == 0 && memcmp(&n, &m, sizeof n) == 0);
            within_count++;
        } else {
            CHECK(e > bound && e >= d);
        }
    }
    CHECK(within_count > 4000 && within_count < 16000);
}

TEST(rays_on_heights_meet_the_first_triangle) {
    const csim_field *f = heights_of(21, 17, 0.1, hills);
    const csim_shape shape = csim_field_shape(f);
    csim_geometry g;
    int i, a, b, half, hits = 0;
    STATUS(csim_shape_bake(&shape, &g, NULL, NULL), CSIM_OK);
    for (i = 0; i < 2000; i++) {
        const csim_vec3 o = csim_v3(uniform(0, 2), uniform(0, 1.6), CSIM_R(0.4));
        const csim_vec3 w = csim_sub(csim_v3(uniform(0, 2), uniform(0, 1.6), uniform(-0.6, 0.3)), o);
        csimi_ray_hit hit;
        double first = 2;
        bool found;
        for (b = 0; b < 16; b++)
            for (a = 0; a < 20; a++)
                for (half = 0; half < 2; half++) {
                    csim_vec3 x[3];
                    x[0] = csimi_height_node(f, a, b);
                    x[1] = half ? csimi_height_node(f, a + 1, b + 1) : csimi_height_node(f, a + 1, b);
                    x[2] = half ? csimi_height_node(f, a, b + 1) : csimi_height_node(f, a + 1, b + 1);
                    first = fmin(first, through(x, o, w));
                }
        found = csimi_ray_at(&g, NULL, csim_pose_identity(), o, w, 1, &hit) == CSIMI_RAY_ENTERS;
        EQUAL(found, first <= 1);
        if (found) NEAR(hit.fraction, first, TOL(1e-9, 1e-3));
        hits += found;
    }
    CHECK(hits > 500 && hits < 1900);
}

/* A slope of triangles carries as the plane it is: ball, box, capsule and soft cube go the same way on both. */
TEST(a_slope_of_heights_is_a_plane) {
    const csim_field *f = heights_of(33, 33, 0.125, slope);
    csim_vec3 up = csim_normalize(csim_v3(CSIM_R(-0.25), 0, 1));
    int k, on;
    for (k = 0; k < 4; k++) {
        csim_vec3 end[2];
        double worst = 0;
        CASE("body %d", k);
        for (on = 0; on < 2; on++) {
            csim_world *w = make_world(CSIM_R(9.81));
            const csim_vec3 at = csim_madd(csim_v3(3, 2, CSIM_R(0.75)), CSIM_R(0.12), up);
            csim_body_id ground, id;
            csim_rigid_def d = csim_default_rigid_def();
            csim_shape shape = k == 0   ? csim_sphere(CSIM_R(0.1))
                               : k == 1 ? csim_capsule(CSIM_R(0.1), CSIM_R(0.1))
                                        : csim_box(csim_v3(CSIM_R(0.12), CSIM_R(0.1), CSIM_R(0.1)));
            outcome o;
            if (on) {
                ground = add_rigid(w, csim_field_shape(f), csim_v3(0, 0, 0), CSIM_STATIC);
                STATUS(csim_body_set_friction(w, ground, CSIM_R(0.08)), CSIM_OK);
            } else {
                STATUS(csim_create_ground(w, csim_v3(0, 0, 0), up, CSIM_R(0.08), &ground), CSIM_OK);
            }
            if (k == 3) {
                id = add_block(w, CSIM_R(0.1), at);
            } else {
                d.shapes = &shape;
                d.shape_count = 1;
                d.pose.position = at;
                d.pose.rotation = csim_quat_axis_angle(csim_v3(0, 1, 0), (csim_real)-atan(0.25));
                if (k == 1)
                    d.pose.rotation =
                        csim_quat_mul(d.pose.rotation, csim_quat_axis_angle(csim_v3(1, 0, 0), CSIM_R(1.57079632679)));
                STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
            }
            o = run(w, k == 3 ? 0.6 : 1, 0.01);
            EQUAL(o.uncertified, 0);
            worst = fmax(worst, o.penetration);
            end[on] = centre_of(w, id);
            csim_destroy_world(w);
        }
        CHECK((double)end[0].x < 2.9); /* it went */
        /* round bodies alike to rounding; a box that lands has contacts in another order, a cube goes by the tolerance
         */
        CHECK((double)csim_length(csim_sub(end[0], end[1])) < (k < 2 ? TOL(1e-12, 1e-4) : TOL(2e-4, 2e-3)));
        FIGURE(k == 0 ? "slope_ball" : k == 1 ? "slope_capsule" : k == 2 ? "slope_box" : "slope_cube",
               csim_length(csim_sub(end[0], end[1])));
        printf("    body %d: %.1e m apart after %.2f m\n", k, (double)csim_length(csim_sub(end[0], end[1])),
               3 - (double)end[0].x);
    }
}

/* Ball, box and soft cube in a bowl and on flat heights: at rest, certified, not in it; a peak carries a box. */
TEST(bodies_rest_on_heights) {
    int k, ground;
    for (ground = 0; ground < 2; ground++)
        for (k = 0; k < 4; k++) {
            const csim_field *f = ground ? heights_of(41, 41, 0.025, bowl) : heights_of(11, 11, 0.1, flat);
            csim_world *w = make_world(CSIM_R(9.81));
            csim_shape shape = k == 0   ? csim_sphere(CSIM_R(0.05))
                               : k == 1 ? csim_box(csim_v3(CSIM_R(0.08), CSIM_R(0.05), CSIM_R(0.05)))
                                        : csim_cylinder(CSIM_R(0.05), CSIM_R(0.05));
            const csim_vec3 at = csim_v3(CSIM_R(0.53), CSIM_R(0.48), CSIM_R(0.09));
            csim_rigid_def d = csim_default_rigid_def();
            csim_body_id id;
            outcome o;
            CASE("%s, body %d", ground ? "bowl" : "flat", k);
            add_rigid(w, csim_field_shape(f), csim_v3(0, 0, 0), CSIM_STATIC);
            d.shapes = &shape;
            d.shape_count = 1;
            d.pose.position = at;
            d.angular_damping = 5;
            if (k == 3)
                id = add_block(w, CSIM_R(0.05), at);
            else
                STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
            run(w, k == 3 ? 2 : 5, 0.01);
            o = run(w, 0.5, 0.01);
            printf("    %s, body %d: speed %.1e m/s, penetration %.1e m\n", ground ? "bowl" : "flat", k, o.speed,
                   o.penetration);
            EQUAL(o.uncertified, 0);
            CHECK(o.speed < TOL(1e-4, 1e-3));
            CHECK(o.penetration < TOL(1e-6, 1e-4));
            CHECK((double)centre_of(w, id).z > 0.03);
            csim_destroy_world(w);
        }
}
