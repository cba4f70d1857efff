/* Queries of worlds with every kind of body against brute force: every shape, edge and triangle is asked through public
   getters, by ways of its own: rays and cast balls by steps of the distance, triangles by Cramer's rule and by the foot
   of the point, insides by counting crossings. QUERY_CASES=1000000 QUERY_SEED=7: the long form. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include "../amalgamate/parts/world/queries.h"
#include "../examples/modes/modes.h"
#include <math.h>

/* ---- a world of everything */

static const csim_field *ball_field, *hill_field;
static csim_modes *bar_modes;
static csim_real grid_x[3 * 64];
static int grid_tet[4 * 6 * 27], grid_nodes, grid_tets;

static csim_vec3 draw(double size) {
    return csim_v3((csim_real)check_random(-size, size), (csim_real)check_random(-size, size),
                   (csim_real)check_random(-size, size));
}

static csim_pose draw_pose(double size) {
    csim_pose p;
    p.position = draw(size);
    p.rotation = csim_quat_axis_angle(csim_add(draw(1), csim_v3(0, 0, CSIM_R(0.01))), (csim_real)check_random(-3, 3));
    return p;
}

/* n cells of six tets along each of three sides. */
static void make_grid(int nx, int ny, int nz, double cell) {
    static const int path[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int i, j, k, p, d, s;
    grid_nodes = grid_tets = 0;
    for (k = 0; k <= nz; k++)
        for (j = 0; j <= ny; j++)
            for (i = 0; i <= nx; i++, grid_nodes++) {
                grid_x[3 * grid_nodes] = (csim_real)(cell * i);
                grid_x[3 * grid_nodes + 1] = (csim_real)(cell * j);
                grid_x[3 * grid_nodes + 2] = (csim_real)(cell * k);
            }
    for (k = 0; k < nz; k++)
        for (j = 0; j < ny; j++)
            for (i = 0; i < nx; i++)
                for (p = 0; p < 6; p++, grid_tets++) {
                    int at[3], *t = grid_tet + 4 * grid_tets;
                    at[0] = i, at[1] = j, at[2] = k;
                    t[0] = i + (nx + 1) * (j + (ny + 1) * k);
                    for (d = 0; d < 3; d++) {
                        at[path[p][d]]++;
                        t[d + 1] = at[0] + (nx + 1) * (at[1] + (ny + 1) * at[2]);
                    }
                    if (p == 1 || p == 2 || p == 5) s = t[1], t[1] = t[2], t[2] = s;
                }
}

/* A ball of triangles around the origin as a mesh field, hills as heights, modes of a bar; kept for all worlds. */
static void make_fields(void) {
    csim_mesh_field_def m = csim_default_mesh_field_def();
    csim_height_field_def h = csim_default_height_field_def();
    static csim_real x[3 * 82], z[12 * 9];
    static int t[3 * 160];
    size_t bytes;
    csim_error error;
    modes_def b = modes_default();
    void *block = NULL;
    int i, j, n = 0;
    if (ball_field) return;
    for (j = 1; j < 6; j++)
        for (i = 0; i < 16; i++) {
            const double a = 3.14159265 * j / 6, c = 2 * 3.14159265 * i / 16, r = 0.5 + 0.08 * sin(3 * c) * sin(a);
            x[3 * (16 * (j - 1) + i)] = (csim_real)(r * sin(a) * cos(c));
            x[3 * (16 * (j - 1) + i) + 1] = (csim_real)(r * sin(a) * sin(c));
            x[3 * (16 * (j - 1) + i) + 2] = (csim_real)(r * cos(a));
        }
    x[3 * 80 + 2] = CSIM_R(0.5);
    x[3 * 81 + 2] = CSIM_R(-0.5);
    for (i = 0; i < 16; i++) {
        const int k = (i + 1) % 16;
        t[n++] = 80, t[n++] = i, t[n++] = k;
        t[n++] = 81, t[n++] = 64 + k, t[n++] = 64 + i;
        for (j = 0; j < 4; j++) {
            t[n++] = 16 * j + i, t[n++] = 16 * j + 16 + i, t[n++] = 16 * j + k;
            t[n++] = 16 * j + k, t[n++] = 16 * j + 16 + i, t[n++] = 16 * j + 16 + k;
        }
    }
    m.vertices = x;
    m.vertex_count = 82;
    m.triangles = t;
    m.triangle_count = n / 3;
    m.resolution = 16;
    STATUS(csim_mesh_field_bytes(&m, &bytes, &error), CSIM_OK);
    REQUIRE(posix_memalign(&block, 64, bytes) == 0);
    STATUS(csim_create_mesh_field_in(&m, block, bytes, &ball_field, &error), CSIM_OK);
    for (i = 0; i < 12 * 9; i++) z[i] = (csim_real)(0.4 * sin(1.3 * i) + 0.2 * cos(0.7 * i));
    h.heights = z;
    h.count_x = 12;
    h.count_y = 9;
    h.cell = CSIM_R(0.7);
    STATUS(csim_height_field_bytes(&h, &bytes, &error), CSIM_OK);
    REQUIRE(posix_memalign(&block, 64, bytes) == 0);
    STATUS(csim_create_height_field_in(&h, block, bytes, &hill_field, &error), CSIM_OK);
    make_grid(3, 1, 1, 0.3);
    b.vertices = grid_x;
    b.vertex_count = grid_nodes;
    b.tets = grid_tet;
    b.tet_count = grid_tets;
    b.modes = 4;
    b.derivatives = 2;
    STATUS(modes_create(&b, NULL, &bar_modes, &error), CSIM_OK);
}

static csim_shape draw_shape(int kind) {
    static csim_vec3 point[10];
    const csim_real a = (csim_real)check_random(0.05, 0.4), c = (csim_real)check_random(0.05, 0.4);
    int i;
    for (i = 0; i < 10; i++) point[i] = draw(0.4);
    switch (kind) {
    case 0: return csim_sphere(a);
    case 1: return csim_capsule(a, c);
    case 2: return csim_box(csim_v3(a, c, (csim_real)check_random(0.05, 0.4)));
    case 3: return csim_cylinder(a, c);
    case 4: return csim_hull(point, 10);
    default: return csim_field_shape(ball_field);
    }
}

static void put_rigid(csim_world *w, int k) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape[3];
    csim_body_id id;
    int i;
    d.shape_count = k % 7 == 6 ? 3 : 1;
    for (i = 0; i < d.shape_count; i++) {
        shape[i] = draw_shape(d.shape_count == 3 ? i : k % 6);
        if (d.shape_count == 3) shape[i].local = draw_pose(0.4);
    }
    d.shapes = shape;
    d.pose = draw_pose(3);
    d.velocity = draw(2);
    d.angular_velocity = draw(3);
    d.motion = k % 5 == 4 ? CSIM_STATIC : k % 5 == 3 ? CSIM_KINEMATIC : CSIM_DYNAMIC;
    d.surface.category = 1u << (k % 3);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
}

static void put_soft(csim_world *w, csim_vec3 at) {
    csim_soft_def d = csim_default_soft_def();
    csim_body_id id;
    make_grid(2, 2, 2, 0.25);
    d.vertices = grid_x;
    d.vertex_count = grid_nodes;
    d.tets = grid_tet;
    d.tet_count = grid_tets;
    d.pose.position = at;
    d.velocity = draw(1);
    d.young = 10000;
    STATUS(csim_create_soft(w, &d, &id), CSIM_OK);
}

static void put_cloth(csim_world *w, csim_vec3 at) {
    enum { SIDE = 6 };
    csim_cloth_def d = csim_default_cloth_def();
    csim_real x[3 * SIDE * SIDE];
    int t[6 * SIDE * SIDE], i, j, n = 0;
    csim_body_id id;
    for (i = 0; i < SIDE * SIDE; i++) {
        x[3 * i] = CSIM_R(0.2) * (csim_real)(i % SIDE);
        x[3 * i + 1] = CSIM_R(0.2) * (csim_real)(i / SIDE);
        x[3 * i + 2] = (csim_real)check_random(0, 0.05);
    }
    for (j = 0; j + 1 < SIDE; j++)
        for (i = 0; i + 1 < SIDE; i++) {
            const int a = SIDE * j + i;
            t[n++] = a, t[n++] = a + 1, t[n++] = a + SIDE;
            t[n++] = a + 1, t[n++] = a + SIDE + 1, t[n++] = a + SIDE;
        }
    d.vertices = x;
    d.vertex_count = SIDE * SIDE;
    d.triangles = t;
    d.triangle_count = n / 3;
    d.pose.position = at;
    STATUS(csim_create_cloth(w, &d, &id), CSIM_OK);
}

static void put_cable(csim_world *w, csim_vec3 at) {
    csim_cable_def d = csim_default_cable_def();
    csim_body_id id;
    d.start = at;
    d.end = csim_add(at, csim_v3(CSIM_R(1.5), CSIM_R(0.3), CSIM_R(0.2)));
    d.segments = 10;
    d.radius = CSIM_R(0.03);
    STATUS(csim_create_cable(w, &d, &id), CSIM_OK);
}

static void put_tree(csim_world *w, csim_vec3 at) {
    csim_tree_def d = csim_default_tree_def();
    csim_tree_link_def link[4];
    csim_shape shape[4];
    csim_body_id id;
    int i;
    for (i = 0; i < 4; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i - 1;
        link[i].joint = i == 0 ? CSIM_TREE_FLOATING : CSIM_TREE_REVOLUTE;
        link[i].frame.position = i == 0 ? csim_v3(0, 0, 0) : csim_v3(CSIM_R(0.4), 0, 0);
        link[i].axis = csim_v3(0, 1, CSIM_R(0.3));
        link[i].rate = (csim_real)(i == 0 ? 0 : i);
        shape[i] = i % 2 ? csim_capsule(CSIM_R(0.08), CSIM_R(0.15)) : csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.15), CSIM_R(0.1)));
        link[i].shapes = shape + i;
        link[i].shape_count = 1;
    }
    d.links = link;
    d.link_count = 4;
    d.pose.position = at;
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
}

static void put_others(csim_world *w) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_reduced_def r = csim_default_reduced_def();
    csim_shape hills = csim_field_shape(hill_field);
    csim_real q[6] = {CSIM_R(0.3), CSIM_R(-0.2), CSIM_R(0.1), 0, 0, 0};
    csim_body_id id;
    int k;
    d.motion = CSIM_STATIC;
    d.shapes = &hills;
    d.shape_count = 1;
    d.pose.position = csim_v3(-3, -3, CSIM_R(-3.5));
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, CSIM_R(-4.5)), csim_v3(CSIM_R(0.1), 0, 1), CSIM_R(0.5), &id), CSIM_OK);
    r.modes = bar_modes;
    r.pose.position = csim_v3(CSIM_R(-1.5), CSIM_R(-1.5), 1);
    r.q = q;
    STATUS(csim_create_reduced(w, &r, &id), CSIM_OK);
    for (k = 0; k < 12; k++) {
        csim_particle_def p = csim_default_particle_def();
        p.position = draw(3);
        p.radius = (csim_real)check_random(0, 0.2);
        p.velocity = draw(2);
        STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
    }
}

static csim_world *make_world(int rigid) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_error error;
    int k;
    make_fields();
    STATUS(csim_create_world(&d, &w, &error), CSIM_OK);
    for (k = 0; k < rigid; k++) put_rigid(w, k);
    put_soft(w, csim_v3(1, 1, 1));
    put_cloth(w, csim_v3(-1, 0, 2));
    put_cable(w, csim_v3(0, -2, 1));
    put_tree(w, csim_v3(-2, 1, 0));
    put_others(w);
    return w;
}

/* ---- brute force: a list of what there is, read from getters */

typedef struct item {
    csim_body_id body;
    uint32_t category;
    csim_query_part part;
    int index;
    csim_geometry shape; /* shapes; capsules, balls of cables and particles */
    const csim_hull_data *hull;
    csim_pose pose;
    csim_real x[9]; /* corners of triangles, ends of edges */
    bool sheet;
} item;

enum { ITEMS = 4000 };
static item items[ITEMS];
static int item_count;

static item *next_item(csim_body_id id, csim_query_part part, int index) {
    item *t = items + item_count++;
    memset(t, 0, sizeof *t);
    t->body = id;
    t->part = part;
    t->index = index;
    return t;
}

static void list_shapes(const csim_world *w, csim_body_id id, csim_body_kind kind) {
    int i, link;
    for (i = 0; i < csim_body_shape_count(w, id); i++) {
        const csim_geometry *g;
        item *t = next_item(id, CSIM_QUERY_SHAPE, i);
        STATUS(csim_body_shape(w, id, i, &g, &t->hull), CSIM_OK);
        t->shape = *g;
        if (t->shape.hull >= 0) t->shape.hull = 0;
        if (kind == CSIM_BODY_TREE) {
            STATUS(csim_tree_shape_link(w, id, i, &link), CSIM_OK);
            STATUS(csim_tree_link_pose(w, id, link, &t->pose), CSIM_OK);
        } else {
            STATUS(csim_body_get_pose(w, id, &t->pose), CSIM_OK);
        }
    }
}

static void list_nodes(const csim_world *w, csim_body_id id, csim_body_kind kind) {
    static csim_real x[3 * 400];
    const int *tri;
    int i, k, n = 0;
    csim_real r = 0;
    REQUIRE(csim_body_node_count(w, id) <= 400);
    STATUS(csim_body_get_nodes(w, id, x, 3), CSIM_OK);
    if (kind == CSIM_PARTICLE) {
        memcpy(next_item(id, CSIM_QUERY_PARTICLE, 0)->x, x, 3 * sizeof *x);
        return;
    }
    if (kind == CSIM_BODY_CABLE) {
        STATUS(csim_cable_get_radius(w, id, &r), CSIM_OK);
        for (i = 0; i < csim_cable_edge_count(w, id); i++) {
            item *t = next_item(id, CSIM_QUERY_EDGE, i);
            memcpy(t->x, x + 3 * i, 6 * sizeof *x);
            t->shape.radius = r;
        }
        return;
    }
    STATUS(csim_body_surface(w, id, &tri, &n), CSIM_OK);
    for (i = 0; i < n; i++) {
        item *t = next_item(id, CSIM_QUERY_TRIANGLE, i);
        t->sheet = kind == CSIM_BODY_CLOTH;
        for (k = 0; k < 3; k++) memcpy(t->x + 3 * k, x + 3 * tri[3 * i + k], 3 * sizeof *x);
    }
}

static void list_items(const csim_world *w) {
    static csim_body_id ids[300];
    int i, n = csim_world_bodies(w, ids, 300), first;
    item_count = 0;
    for (i = 0; i < n; i++) {
        csim_body_kind kind;
        STATUS(csim_body_get_kind(w, ids[i], &kind), CSIM_OK);
        first = item_count;
        if (csim_body_shape_count(w, ids[i]) > 0)
            list_shapes(w, ids[i], kind);
        else
            list_nodes(w, ids[i], kind);
        for (; first < item_count; first++) { /* what no getter tells */
            items[first].category = w->store.body[ids[i].index1 - 1].surface.category;
            if (kind == CSIM_PARTICLE) items[first].shape.radius = w->store.body[ids[i].index1 - 1].radius;
        }
    }
    CHECK(item_count > 100);
}

/* Distance to a segment, the nearer end by clamping. */
static double segment_off(const csim_real *x, csim_vec3 p) {
    const double e[3] = {(double)(x[3] - x[0]), (double)(x[4] - x[1]), (double)(x[5] - x[2])};
    const double d[3] = {(double)(p.x - x[0]), (double)(p.y - x[1]), (double)(p.z - x[2])};
    const double ee = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
    double t = (d[0] * e[0] + d[1] * e[1] + d[2] * e[2]) / (ee > 0 ? ee : 1), sum = 0;
    int k;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    for (k = 0; k < 3; k++) sum += (d[k] - t * e[k]) * (d[k] - t * e[k]);
    return sqrt(sum);
}

static void cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* The foot on the plane where it is inside, else the nearest edge. */
static double triangle_off(const csim_real *x, csim_vec3 p) {
    double e[3][3], d[3][3], n[3], c[3], best = 1e300, out = 0;
    int k, m;
    const double q[3] = {(double)p.x, (double)p.y, (double)p.z};
    for (k = 0; k < 3; k++)
        for (m = 0; m < 3; m++) {
            e[k][m] = (double)x[3 * ((k + 1) % 3) + m] - (double)x[3 * k + m];
            d[k][m] = q[m] - (double)x[3 * k + m];
        }
    cross(e[0], e[1], n);
    for (k = 0; k < 3; k++) {
        csim_real ends[6];
        cross(e[k], d[k], c);
        out += dot(c, n) < 0;
        memcpy(ends, x + 3 * k, 3 * sizeof *x);
        memcpy(ends + 3, x + 3 * ((k + 1) % 3), 3 * sizeof *x);
        best = fmin(best, segment_off(ends, p));
    }
    return out == 0 ? fabs(dot(d[0], n)) / sqrt(dot(n, n)) : best;
}

/* Signed; triangles without sign. */
static double item_off(const item *t, csim_vec3 p) {
    csim_real ends[6];
    if (t->part == CSIM_QUERY_SHAPE) return (double)csim_shape_distance(&t->shape, t->hull, t->pose, p, NULL, NULL);
    if (t->part == CSIM_QUERY_EDGE) return segment_off(t->x, p) - (double)t->shape.radius;
    if (t->part == CSIM_QUERY_TRIANGLE) return triangle_off(t->x, p);
    memcpy(ends, t->x, 3 * sizeof *ends);
    memcpy(ends + 3, t->x, 3 * sizeof *ends);
    return segment_off(ends, p) - (double)t->shape.radius;
}

/* By Cramer's rule: fraction, or -1. front: only against its normal. */
static double triangle_ray(const item *t, csim_vec3 o, csim_vec3 w, bool front) {
    double a[3], b[3], d[3], s[3], p[3], q[3], det, u, v, r;
    int k;
    const double x[3] = {(double)o.x, (double)o.y, (double)o.z};
    d[0] = (double)w.x, d[1] = (double)w.y, d[2] = (double)w.z;
    for (k = 0; k < 3; k++) {
        a[k] = (double)t->x[3 + k] - (double)t->x[k];
        b[k] = (double)t->x[6 + k] - (double)t->x[k];
        s[k] = x[k] - (double)t->x[k];
    }
    cross(d, b, p);
    det = dot(a, p);
    if (det == 0 || (front && det < 0)) return -1;
    u = dot(s, p) / det;
    cross(s, a, q);
    v = dot(d, q) / det;
    r = dot(b, q) / det;
    return u >= 0 && v >= 0 && u + v <= 1 && r >= 0 && r <= 1 ? r : -1;
}

/* Whether a point is in a closed body, by the crossings of a ray that hits no edge. */
static bool body_holds(csim_body_id id, csim_vec3 p) {
    int i, crossings = 0;
    for (i = 0; i < item_count; i++)
        if (items[i].body.index1 == id.index1 && items[i].part == CSIM_QUERY_TRIANGLE && !items[i].sheet)
            crossings += triangle_ray(items + i, p, csim_v3(CSIM_R(7.31), CSIM_R(5.77), CSIM_R(9.13)), false) >= 0;
    return crossings % 2 == 1;
}

/* A ball of radius r from o by w against an item, by steps; -1: passes, -2: grazes too long to tell. What it begins in
   counts as 0, and for points (r = 0) not at all. */
static double item_traced(const item *t, csim_vec3 o, csim_vec3 w, double r) {
    const double speed = (double)csim_length(w), near = TOL(1e-12, 1e-6),
                 pace = t->shape.kind == CSIM_SHAPE_MESH ? 0.5 : 1; /* a grid's distance is not always below the true */
    double at = 0;
    int k;
    if (t->part == CSIM_QUERY_TRIANGLE && r == 0) return triangle_ray(t, o, w, !t->sheet);
    if (item_off(t, o) <= r) {
        if (r > 0) return 0;
        if (t->shape.kind != CSIM_SHAPE_MESH && t->shape.kind != CSIM_SHAPE_HEIGHTS) return -1; /* convex */
        for (k = 0; k < 600 && at <= 1; k++) { /* out of it first: what is hollow may be met again */
            const double d = item_off(t, csim_madd(o, (csim_real)at, w));
            if (d > 1e4 * near) break;
            at += fmax(pace * -d, 1e4 * near) / speed;
        }
        if (at > 1) return -1;
        if (k == 600) return -2; /* along its wall */
    }
    for (k = 0; k < 600; k++) {
        const double d = item_off(t, csim_madd(o, (csim_real)at, w)) - r;
        if (d <= near) return at;
        at += pace * d / speed;
        if (at > 1) return -1;
    }
    return -2;
}

static long compared, unclear;

/* The first hit of all items; unclear ones are left to the next case. */
static bool first_of_all(csim_vec3 o, csim_vec3 w, double r, uint32_t mask, double *fraction, int *which) {
    int i;
    *fraction = 2;
    *which = -1;
    for (i = 0; i < item_count; i++) {
        double t;
        if (!(items[i].category & mask)) continue;
        t = item_traced(items + i, o, w, r);
        if (r > 0 && t != 0 && items[i].part == CSIM_QUERY_TRIANGLE && !items[i].sheet &&
            body_holds(items[i].body, o))
            t = 0;
        if (t == -2) return false;
        if (t < 0 || t >= *fraction) continue;
        *fraction = t;
        *which = i;
    }
    return true;
}

static void same_first(bool found, const csim_query_hit *hit, csim_vec3 o, csim_vec3 w, double r, uint32_t mask) {
    double t;
    int which;
    const double length = (double)csim_length(w), near = TOL(1e-9, 2e-4) * 6; /* of a world of 6 m */
    if (!first_of_all(o, w, r, mask, &t, &which)) {
        unclear++;
        return;
    }
    compared++;
    if (found != (which >= 0) || (found && fabs((double)hit->fraction - t) * length > near)) {
        /* at grazing ways the fraction is a root of the roundings: then both must be on the surface of what they met */
        const int i = which;
        const csim_vec3 x = csim_madd(o, found ? hit->fraction : (csim_real)t, w);
        bool grazes = false;
        int k;
        for (k = 0; k < item_count; k++)
            grazes |= (found ? items[k].body.index1 == hit->body.index1 : k == i) &&
                      fabs(item_off(items + k, x) - r) < near &&
                      item_off(items + k, csim_madd(x, (csim_real)(TOL(1e-3, 1e-2) / length), w)) - r > TOL(-1e-5, -1e-3);
        CHECK(grazes);
        return;
    }
    if (found && which >= 0 && r == 0) {
        /* another may be as near */
        CHECK(hit->body.index1 == items[which].body.index1 ||
              fabs((double)hit->fraction - t) * length < near);
        NEAR(csim_length(hit->normal), 1, TOL(1e-12, 1e-5));
    }
}

static csim_query_def masked(uint32_t mask) {
    csim_query_def d = csim_default_query_def();
    d.mask = mask;
    return d;
}

static void compare_ray(const csim_world *w, int number) {
    const csim_vec3 o = draw(4), way = number % 3 ? csim_sub(draw(3), o) : csim_v3(0, 0, (csim_real)check_random(-9, 9));
    const uint32_t mask = number % 5 == 4 ? 2u : 0xffffffffu;
    const csim_query_def d = masked(mask);
    csim_query_hit hit, all[64];
    const bool found = csim_world_cast_ray(w, &d, o, way, &hit);
    int n, i;
    same_first(found, &hit, o, way, 0, mask);
    EQUAL(csim_world_ray_meets(w, &d, o, way), found);
    n = csim_world_cast_ray_all(w, &d, o, way, all, 64);
    EQUAL(n > 0, found);
    for (i = 0; i < n && i < 64; i++) {
        if (i == 0) NEAR(all[0].fraction, hit.fraction, 0);
        CHECK(i == 0 || all[i - 1].fraction <= all[i].fraction);
    }
}

static void compare_ball(const csim_world *w, int number) {
    const csim_vec3 o = draw(4), way = csim_sub(draw(3), o);
    const csim_shape ball = csim_sphere((csim_real)check_random(0.02, 0.6));
    csim_pose pose = csim_pose_identity();
    csim_query_hit hit;
    bool found;
    (void)number;
    pose.position = o;
    found = csim_world_cast_shape(w, NULL, &ball, pose, way, &hit);
    same_first(found, &hit, o, way, (double)ball.radius, 0xffffffffu);
}

static void compare_overlap(const csim_world *w, int number) {
    const csim_shape ball = csim_sphere((csim_real)check_random(0.02, 0.8));
    csim_pose pose = csim_pose_identity();
    static csim_query_hit hits[400];
    int n, i, k, want = 0;
    (void)number;
    pose.position = draw(4);
    n = csim_world_overlap_shape(w, NULL, &ball, pose, hits, 400);
    for (i = 0; i < item_count; i = k) { /* one for a body of triangles */
        double off = 1e300;
        k = i;
        do off = fmin(off, item_off(items + k, pose.position));
        while (++k < item_count && items[k].part == CSIM_QUERY_TRIANGLE && items[k].body.index1 == items[i].body.index1);
        if (fabs(off - (double)ball.radius) < TOL(1e-9, 1e-4)) {
            unclear++;
            return;
        }
        want += off < (double)ball.radius || (items[i].part == CSIM_QUERY_TRIANGLE &&
                                              body_holds(items[i].body, pose.position));
    }
    compared++;
    EQUAL(n, want);
    for (i = 1; i < n; i++)
        CHECK(hits[i - 1].body.index1 < hits[i].body.index1 ||
              (hits[i - 1].body.index1 == hits[i].body.index1 && hits[i - 1].index < hits[i].index));
}

static void compare_closest(const csim_world *w, int number) {
    const csim_vec3 p = draw(4);
    const double within = number % 2 ? check_random(0, 1) : 100;
    csim_query_hit hit;
    const bool found = csim_world_closest_point(w, NULL, p, (csim_real)within, &hit);
    double best = 1e300;
    int i;
    for (i = 0; i < item_count; i++) best = fmin(best, item_off(items + i, p));
    for (i = 0; i < item_count; i++) /* inside of solids the distance is the nearest of its own triangles, negative */
        if (items[i].part == CSIM_QUERY_TRIANGLE && (i == 0 || items[i - 1].body.index1 != items[i].body.index1) &&
            body_holds(items[i].body, p)) {
            double own = 1e300;
            int k;
            for (k = i; k < item_count && items[k].body.index1 == items[i].body.index1; k++)
                own = fmin(own, item_off(items + k, p));
            best = fmin(best, -own);
        }
    if (fabs(best - within) < TOL(1e-9, 1e-5)) return;
    compared++;
    EQUAL(found, best < within);
    if (found) NEAR(hit.distance, best, TOL(6e-9, 1e-5));
}

static void compare_all(const csim_world *w, long cases, long first) {
    long k;
    list_items(w);
    for (k = first; k < first + cases; k++) {
        CASE("number %ld", k);
        switch (k % 4) {
        case 0: compare_ray(w, (int)(k / 4)); break;
        case 1: compare_ball(w, (int)(k / 4)); break;
        case 2: compare_overlap(w, (int)(k / 4)); break;
        default: compare_closest(w, (int)(k / 4)); break;
        }
    }
}

/* What moves bodies: steps, setters, creation and removal, restoring. */
static void change(csim_world *w, int round) {
    static csim_body_id ids[300];
    csim_body_kind kind;
    csim_real x[3 * 400];
    const int n = csim_world_bodies(w, ids, 300);
    int i, k;
    for (i = 0; i < 3; i++) csim_world_step(w, CSIM_R(0.01));
    for (i = 0; i < n; i++) {
        STATUS(csim_body_get_kind(w, ids[i], &kind), CSIM_OK);
        if (check_random(0, 1) < 0.6) continue;
        if (kind == CSIM_PARTICLE || kind == CSIM_BODY_TREE || kind == CSIM_BODY_REDUCED ||
            (kind == CSIM_RIGID && i < 30)) {
            STATUS(csim_body_set_pose(w, ids[i], draw_pose(2.5)), CSIM_OK);
        } else if (kind != CSIM_RIGID) {
            STATUS(csim_body_get_nodes(w, ids[i], x, 3), CSIM_OK);
            for (k = 0; k < csim_body_node_count(w, ids[i]); k++)
                if (check_random(0, 1) < 0.5)
                    STATUS(csim_body_set_node(w, ids[i], k, csim_add(csimi_load3(x + 3 * k), draw(0.02)),
                                              csim_v3(0, 0, 0)), CSIM_OK);
        }
    }
    if (round % 2 == 0) {
        STATUS(csim_destroy_body(w, ids[(int)check_random(0, 20)]), CSIM_OK);
        put_rigid(w, round);
    }
    if (round % 3 == 2) {
        for (i = 0; i < n; i++)
            if (csim_body_get_kind(w, ids[i], &kind) == CSIM_OK && kind == CSIM_SOFT)
                STATUS(csim_destroy_body(w, ids[i]), CSIM_OK);
        put_soft(w, draw(2));
        put_cable(w, draw(2));
    }
}

static void against_brute_force(long cases) {
    const long rounds = 8;
    csim_world *w;
    int round;
    if (getenv("QUERY_SEED"))
        for (round = atoi(getenv("QUERY_SEED")); round > 0; round--) check_random(0, 1);
    w = make_world(40);
    compared = unclear = 0;
    for (round = 0; round < rounds; round++) {
        compare_all(w, cases / rounds, 0);
        change(w, round);
    }
    if (cases > 1600) printf("query_cases=%ld query_unclear=%ld\n", compared, unclear);
    CHECK(compared > cases * 9 / 10);
    csim_destroy_world(w);
}

TEST(queries_find_what_brute_force_finds) { against_brute_force(1600); }

/* In float ways that graze differ by roundings in every few thousand. */
LONG_TEST(a_million_queries_find_what_brute_force_finds) { against_brute_force(CSIM_REAL_SIZE == 8 ? 1002000 : 1600); }

/* Answers are those of a world that was restored, whose tree is another. */
TEST(queries_do_not_depend_on_the_past) {
    csim_world *w = make_world(40), *v = make_world(40);
    static csim_query_hit a[64], b[64];
    size_t bytes = 0;
    void *snapshot;
    int k, n;
    for (k = 0; k < 3; k++) change(w, 1);
    STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
    snapshot = malloc(bytes);
    STATUS(csim_world_save(w, snapshot, &bytes), CSIM_OK);
    STATUS(csim_world_restore(v, snapshot, bytes), CSIM_OK);
    for (k = 0; k < 500; k++) {
        const csim_vec3 o = draw(4), way = csim_sub(draw(3), o);
        int i;
        CASE("number %d", k);
        n = csim_world_cast_ray_all(w, NULL, o, way, a, 64);
        EQUAL(csim_world_cast_ray_all(v, NULL, o, way, b, 64), n);
        for (i = 0; i < n; i++) {
            a[i].body.world = b[i].body.world = 0;
            CHECK(memcmp(&a[i].fraction, &b[i].fraction, sizeof a[i].fraction) == 0 && a[i].index == b[i].index &&
                  a[i].body.index1 == b[i].body.index1);
        }
    }
    free(snapshot);
    csim_destroy_world(w);
    csim_destroy_world(v);
}

/* What is hit says what part of its body it is. */
TEST(parts_are_named) {
    csim_world *w = make_world(0);
    csim_query_def q = csim_default_query_def();
    csim_query_hit hit[64];
    csim_shape ball = csim_sphere(CSIM_R(0.05));
    int seen[CSIM_QUERY_INSIDE + 1] = {0, 0, 0, 0, 0}, i, k, n;
    for (k = 0; k < 400; k++) {
        const csim_vec3 o = draw(4), way = csim_sub(draw(3), o);
        csim_pose pose = csim_pose_identity();
        pose.position = o;
        n = csim_world_cast_ray_all(w, &q, o, way, hit, 60);
        n = n < 60 ? n : 60;
        n += csim_world_cast_shape(w, &q, &ball, pose, way, hit + n);
        n += csim_world_closest_point(w, &q, o, 2, hit + n);
        for (i = 0; i < n; i++) {
            csim_body_kind kind = CSIM_RIGID;
            csim_query_part part;
            STATUS(csim_body_get_kind(w, hit[i].body, &kind), CSIM_OK);
            part = kind == CSIM_PARTICLE     ? CSIM_QUERY_PARTICLE
                   : kind == CSIM_BODY_CABLE ? CSIM_QUERY_EDGE
                   : csim_body_shape_count(w, hit[i].body) > 0 ? CSIM_QUERY_SHAPE
                                                               : CSIM_QUERY_TRIANGLE;
            CHECK(hit[i].part == part || (part == CSIM_QUERY_TRIANGLE && hit[i].part == CSIM_QUERY_INSIDE));
            seen[hit[i].part]++;
        }
    }
    for (i = 0; i < CSIM_QUERY_INSIDE; i++) CHECK(seen[i] > 0);
    csim_destroy_world(w);
}

static bool refuse_first(void *user, csim_body_id body, void *data, csim_query_part part, int index) {
    (void)data;
    (void)part;
    (void)index;
    return body.index1 != *(uint32_t *)user;
}

/* A row of balls along x. */
TEST(queries_filter_order_and_refuse) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_error error;
    csim_query_def q = csim_default_query_def();
    csim_query_hit hit, hits[3];
    csim_body_id id[5];
    csim_shape shape = csim_sphere(1);
    csim_pose pose = csim_pose_identity();
    const csim_vec3 o = csim_v3(-10, 0, 0), way = csim_v3(40, 0, 0);
    int k;
    STATUS(csim_create_world(&d, &w, &error), CSIM_OK);
    CHECK(!csim_world_cast_ray(w, NULL, o, way, &hit)); /* empty */
    for (k = 0; k < 5; k++) {
        csim_rigid_def r = csim_default_rigid_def();
        r.shapes = &shape;
        r.shape_count = 1;
        r.pose.position = csim_v3((csim_real)(5 * k), 0, 0);
        r.surface.category = 1u << k;
        STATUS(csim_create_rigid(w, &r, id + k), CSIM_OK);
    }
    CHECK(csim_world_cast_ray(w, NULL, o, way, &hit));
    NEAR(hit.point.x, -1, TOL(1e-14, 1e-6));
    NEAR(hit.distance, 9, TOL(1e-14, 1e-6));
    NEAR(hit.normal.x, -1, TOL(1e-14, 1e-6));
    EQUAL(hit.body.index1, id[0].index1);
    EQUAL(csim_world_cast_ray_all(w, NULL, o, way, hits, 3), 5); /* the first three of five */
    for (k = 0; k < 3; k++) EQUAL(hits[k].body.index1, id[k].index1);
    q.mask = 4u;
    CHECK(csim_world_cast_ray(w, &q, o, way, &hit) && hit.body.index1 == id[2].index1);
    q = csim_default_query_def();
    q.ignore = id[0];
    CHECK(csim_world_cast_ray(w, &q, o, way, &hit) && hit.body.index1 == id[1].index1);
    q = csim_default_query_def();
    q.accept = refuse_first;
    q.user = &id[0].index1;
    CHECK(csim_world_cast_ray(w, &q, o, way, &hit) && hit.body.index1 == id[1].index1);
    q = csim_default_query_def();
    CHECK(csim_world_cast_ray(w, &q, csim_v3(0, 0, 0), way, &hit) && hit.body.index1 == id[1].index1);
    q.inside = true;
    CHECK(csim_world_cast_ray(w, &q, csim_v3(0, 0, 0), way, &hit) && hit.body.index1 == id[0].index1);
    NEAR(hit.fraction, 0, 0);
    EQUAL(csim_world_overlap_box(w, NULL, csim_v3(-2, -2, -2), csim_v3(6, 2, 2), hits, 3), 2);
    CHECK(csim_world_closest_point(w, NULL, csim_v3(CSIM_R(7.4), 0, 0), 5, &hit) && hit.body.index1 == id[1].index1);
    CHECK(!csim_world_closest_point(w, NULL, csim_v3(CSIM_R(7.5), 0, 0), 1, &hit));
    pose.position = o;
    CHECK(csim_world_cast_shape(w, NULL, &shape, pose, way, &hit));
    NEAR(hit.distance, 8, TOL(1e-9, 1e-4));
    /* refused, with a sentence */
    q.error = &error;
    shape = csim_half_space(o, way);
    CHECK(!csim_world_cast_shape(w, &q, &shape, pose, way, &hit));
    EQUAL(error.status, CSIM_OUT_OF_RANGE);
    CHECK(!csim_world_cast_ray(w, &q, csim_v3(CSIM_R(1e300) * CSIM_R(1e300), 0, 0), way, &hit));
    EQUAL(error.status, CSIM_NOT_FINITE);
    CHECK(!csim_world_cast_ray(w, &q, o, way, NULL));
    EQUAL(csim_world_cast_ray_all(w, &q, o, way, NULL, 1), 0);
    EQUAL(error.status, CSIM_NULL_ARGUMENT);
    CHECK(!csim_world_closest_point(w, &q, o, -1, &hit));
    EQUAL(error.status, CSIM_OUT_OF_RANGE);
    q.guard = 0;
    CHECK(!csim_world_cast_ray(w, &q, o, way, &hit));
    CHECK(!csim_world_cast_ray(NULL, NULL, o, way, &hit));
    csim_destroy_world(w);
}

/* A cast box and capsule among everything: no earlier overlap along the way, and an overlap right behind the hit. */
DOUBLE_TEST(casts_of_shapes_stop_at_the_first_overlap) {
    csim_world *w = make_world(40);
    csim_query_hit hit;
    int k, m, hits = 0;
    for (k = 0; k < 400; k++) {
        const csim_shape shape = draw_shape(1 + k % 4);
        csim_pose pose = draw_pose(4), at;
        const csim_vec3 way = csim_sub(draw(2), pose.position);
        const bool found = csim_world_cast_shape(w, NULL, &shape, pose, way, &hit);
        const double end = found ? (double)hit.fraction : 1;
        CASE("number %d", k);
        hits += found && end > 0;
        for (m = 0; m < 12; m++) {
            const double t = (end - TOL(1e-7, 2e-3)) * m / 12;
            if (!(t > 0)) break;
            at = pose;
            at.position = csim_madd(pose.position, (csim_real)t, way);
            EQUAL(csim_world_overlap_shape(w, NULL, &shape, at, NULL, 0), 0);
        }
        /* where it grazes it may be over before it is deep */
        if (!found || csim_dot(hit.normal, csim_normalize(way)) > -TOL(0.05, 0.3)) continue;
        at = pose;
        at.position = csim_madd(pose.position, (csim_real)(end + TOL(1e-5, 5e-3)), way);
        CHECK(csim_world_overlap_shape(w, NULL, &shape, at, NULL, 0) > 0);
    }
    CHECK(hits > 100);
    csim_destroy_world(w);
}
