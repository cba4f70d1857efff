/* Debug drawing: how many lines, points and triangles there are of each kind, and where. */
#include "check.h"
#include <math.h>

typedef struct drawn {
    int points[CSIM_DRAW_KIND_COUNT_], lines[CSIM_DRAW_KIND_COUNT_], triangles[CSIM_DRAW_KIND_COUNT_], kept;
    csim_vec3 from[4000], to[4000];
    csim_draw_kind kind[4000];
    uint32_t colour[4000];
} drawn;

static drawn all;

static void on_point(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 at) {
    (void)colour, (void)at;
    ((drawn *)user)->points[kind]++;
}
static void on_line(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 from, csim_vec3 to) {
    drawn *d = (drawn *)user;
    d->lines[kind]++;
    if (d->kept == 4000) return;
    d->from[d->kept] = from;
    d->to[d->kept] = to;
    d->colour[d->kept] = colour;
    d->kind[d->kept++] = kind;
}
static void on_triangle(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 a, csim_vec3 b, csim_vec3 c) {
    (void)colour, (void)a, (void)b, (void)c;
    ((drawn *)user)->triangles[kind]++;
}

static csim_draw pens(unsigned kinds) {
    csim_draw d = csim_default_draw();
    d.point = on_point;
    d.line = on_line;
    d.triangle = on_triangle;
    d.user = &all;
    d.kinds = kinds;
    memset(&all, 0, sizeof all);
    return d;
}

static unsigned only(csim_draw_kind kind) { return 1u << kind; }

static csim_world *empty(double gravity) {
    csim_world_def wd = csim_default_world_def();
    csim_world *w = NULL;
    wd.gravity = csim_v3(0, 0, (csim_real)-gravity);
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    return w;
}

static csim_body_id put(csim_world *w, csim_shape shape, double x, double z) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id = {0, 0, 0};
    d.shapes = &shape;
    d.shape_count = 1;
    d.pose.position = csim_v3((csim_real)x, 0, (csim_real)z);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

TEST(shapes_are_drawn_where_they_are) {
    static const csim_real half[3] = {CSIM_R(0.1), CSIM_R(0.2), CSIM_R(0.3)};
    csim_world *w = empty(0);
    csim_draw d;
    double worst = 0, edge[3] = {0, 0, 0};
    int i;
    put(w, csim_box(csim_v3(half[0], half[1], half[2])), 1, 2);
    d = pens(only(CSIM_DRAW_SHAPES));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_SHAPES], 12);
    for (i = 0; i < 12; i++) { /* from corner to corner, four along each axis */
        const csim_vec3 a = csim_sub(all.from[i], csim_v3(1, 0, 2)), e = csim_sub(all.to[i], all.from[i]);
        worst = fmax(worst, fabs(fabs((double)a.x) - 0.1) + fabs(fabs((double)a.y) - 0.2));
        worst = fmax(worst, fabs(fabs((double)a.z) - 0.3));
        edge[0] += fabs((double)e.x), edge[1] += fabs((double)e.y), edge[2] += fabs((double)e.z);
    }
    CHECK(worst < TOL(1e-12, 1e-6));
    for (i = 0; i < 3; i++) NEAR(edge[i], 8 * (double)half[i], TOL(1e-12, 1e-5));
    csim_destroy_world(w);
    w = empty(0);
    put(w, csim_sphere(CSIM_R(0.7)), 3, 0);
    d = pens(only(CSIM_DRAW_SHAPES));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_SHAPES], 48);
    for (i = 0; i < 48; i++) NEAR(csim_length(csim_sub(all.from[i], csim_v3(3, 0, 0))), 0.7, TOL(1e-12, 1e-6));
    csim_destroy_world(w);
    w = empty(0);
    put(w, csim_capsule(CSIM_R(0.2), CSIM_R(0.5)), 0, 0);
    d = pens(only(CSIM_DRAW_SHAPES));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_SHAPES], 2 * 16 + 4 * 16 + 4);
    for (i = 0; i < all.kept; i++) { /* on the surface: 0.2 from the axis */
        csim_vec3 x = all.from[i];
        x.z = (csim_real)fmax(0, fabs((double)x.z) - 0.5);
        NEAR(csim_length(x), 0.2, TOL(1e-12, 1e-6));
    }
    csim_destroy_world(w);
}

TEST(surfaces_cables_and_particles) {
    static const csim_real vertex[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int tet[4] = {0, 1, 2, 3};
    csim_world *w = empty(0);
    csim_soft_def soft = csim_default_soft_def();
    csim_cable_def cable = csim_default_cable_def();
    csim_particle_def p = csim_default_particle_def();
    csim_body_id id;
    csim_draw d = pens(csim_default_draw().kinds);
    soft.vertices = vertex;
    soft.vertex_count = 4;
    soft.tets = tet;
    soft.tet_count = 1;
    STATUS(csim_create_soft(w, &soft, &id), CSIM_OK);
    cable.start = csim_v3(2, 0, 0);
    cable.end = csim_v3(3, 0, 0);
    cable.segments = 7;
    STATUS(csim_create_cable(w, &cable, &id), CSIM_OK);
    STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.triangles[CSIM_DRAW_SURFACES], 4);
    EQUAL(all.lines[CSIM_DRAW_SHAPES], 7);
    EQUAL(all.points[CSIM_DRAW_SHAPES], 1);
    d = pens(only(CSIM_DRAW_BOUNDS));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_BOUNDS], 12);
    csim_destroy_world(w);
}

static void corners(csim_vec3 *low, csim_vec3 *high) {
    int i;
    *low = *high = all.from[0];
    for (i = 0; i < all.kept; i++) {
        const csim_vec3 a = all.from[i], b = all.to[i];
        *low = csim_v3(csimi_min(low->x, csimi_min(a.x, b.x)), csimi_min(low->y, csimi_min(a.y, b.y)),
                       csimi_min(low->z, csimi_min(a.z, b.z)));
        *high = csim_v3(csimi_max(high->x, csimi_max(a.x, b.x)), csimi_max(high->y, csimi_max(a.y, b.y)),
                        csimi_max(high->z, csimi_max(a.z, b.z)));
    }
}

/* A sphere, and a solid whose box is that of its corners. */
TEST(bounds_are_drawn_where_they_are) {
    static const csim_real vertex[12] = {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3};
    static const int tet[4] = {0, 1, 2, 3};
    static const csim_real wanted[2][6] = {{CSIM_R(4.5), CSIM_R(-0.5), CSIM_R(5.5), CSIM_R(5.5), CSIM_R(0.5), CSIM_R(6.5)},
                                           {2, 3, 4, 3, 5, 7}};
    int kind, k;
    for (kind = 0; kind < 2; kind++) {
        csim_world *w = empty(0);
        csim_soft_def soft = csim_default_soft_def();
        csim_body_id id;
        csim_draw d;
        csim_vec3 low, high;
        csim_real got[6];
        CASE("kind %d", kind);
        soft.vertices = vertex;
        soft.vertex_count = 4;
        soft.tets = tet;
        soft.tet_count = 1;
        soft.pose.position = csim_v3(2, 3, 4);
        if (kind) STATUS(csim_create_soft(w, &soft, &id), CSIM_OK);
        else put(w, csim_sphere(CSIM_R(0.5)), 5, 6);
        d = pens(only(CSIM_DRAW_BOUNDS));
        STATUS(csim_world_draw(w, &d), CSIM_OK);
        EQUAL(all.lines[CSIM_DRAW_BOUNDS], 12);
        corners(&low, &high);
        csimi_store3(got, low);
        csimi_store3(got + 3, high);
        for (k = 0; k < 6; k++) NEAR(got[k], wanted[kind][k], 1e-6);
        csim_destroy_world(w);
    }
}

TEST(contacts_and_impulses_carry_the_weight) {
    csim_world *w = empty(10);
    csim_body_id ground;
    csim_draw d;
    csim_vec3 sum = csim_v3(0, 0, 0);
    uint64_t hash;
    int i, count;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    put(w, csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1))), 0, 0.1); /* 8 kg */
    for (i = 0; i < 20; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    hash = csim_world_hash(w);
    csim_world_contacts(w, &count);
    d = pens(only(CSIM_DRAW_CONTACTS) | only(CSIM_DRAW_IMPULSES));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.points[CSIM_DRAW_CONTACTS], count);
    EQUAL(all.lines[CSIM_DRAW_CONTACTS], count);
    CHECK(count >= 4 && all.lines[CSIM_DRAW_IMPULSES] >= 3);
    for (i = 0; i < all.kept; i++)
        if (all.kind[i] == CSIM_DRAW_IMPULSES) sum = csim_add(sum, csim_sub(all.to[i], all.from[i]));
    NEAR(sum.z, 0.1 * 8 * 10 * 0.01, TOL(1e-4, 1e-4) * 0.1); /* per_impulse m g h */
    CHECK(csim_world_hash(w) == hash);
    d = pens(only(CSIM_DRAW_CENTRES) | only(CSIM_DRAW_BOUNDS));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_CENTRES], 6); /* the ground has a pose, too */
    EQUAL(all.lines[CSIM_DRAW_BOUNDS], 12);
    csim_destroy_world(w);
}

TEST(joints_and_their_limits) {
    csim_world *w = empty(0);
    csim_body_id arm = put(w, csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.1), CSIM_R(0.1))), 0.5, 0);
    csim_joint_def j = csim_default_joint_def();
    csim_link_id id;
    csim_draw d;
    double worst = 0;
    int i;
    j.a.body = arm;
    j.axis = csim_v3(1, 0, 0);
    j.cone[0] = j.cone[1] = CSIM_R(0.6);
    j.axes[CSIM_AXIS_TWIST].limited = true;
    j.axes[CSIM_AXIS_TWIST].upper = 1;
    STATUS(csim_create_joint(w, &j, &id), CSIM_OK);
    d = pens(only(CSIM_DRAW_JOINTS) | only(CSIM_DRAW_LIMITS));
    d.size = 2;
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.points[CSIM_DRAW_JOINTS], 2);
    EQUAL(all.lines[CSIM_DRAW_JOINTS], 4);           /* the way between the points, three axes */
    EQUAL(all.lines[CSIM_DRAW_LIMITS], 2 * 16 + 2); /* an arc, a rim, a hand each */
    for (i = 0; i < all.kept; i++) /* the rim of the cone is 0.6 rad off the axis, 2 m out */
        if (all.kind[i] == CSIM_DRAW_LIMITS && fabs((double)all.from[i].x) > 0.5)
            worst = fmax(worst, fabs((double)all.from[i].x - 2 * cos(0.6)));
    CHECK(worst < TOL(1e-12, 1e-6));
    STATUS(csim_destroy_link(w, id), CSIM_OK);
    j = csim_default_joint_def();
    j.kind = CSIM_JOINT_SLIDER;
    j.a.body = arm;
    j.limited = true;
    j.lower = -1;
    j.upper = 3;
    STATUS(csim_create_joint(w, &j, &id), CSIM_OK);
    d = pens(only(CSIM_DRAW_LIMITS));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_LIMITS], 1);
    NEAR(csim_length(csim_sub(all.to[0], all.from[0])), 4, TOL(1e-12, 1e-5));
    csim_destroy_world(w);
}

TEST(islands_have_a_leader_and_a_colour) {
    csim_world *w = empty(10);
    csim_body_id ground, first;
    csim_draw d;
    int room[16], i, k, lines[2] = {0, 0};
    uint32_t colour[2] = {0, 0};
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    for (k = 0; k < 2; k++)
        for (i = 0; i < 3; i++)
            first = put(w, csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1))), 5.0 * k, 0.1 + 0.2 * i);
    (void)first;
    for (i = 0; i < 10; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    d = pens(only(CSIM_DRAW_ISLANDS));
    EQUAL(csim_world_draw(w, &d), CSIM_NULL_ARGUMENT);
    d.islands = room;
    d.island_count = 6;
    EQUAL(csim_world_draw(w, &d), CSIM_CAPACITY);
    EQUAL(all.kept, 0);
    d.island_count = 16;
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_ISLANDS], 4); /* two of three to the lowest, twice */
    for (i = 0; i < all.kept; i++) {
        k = all.from[i].x > 2;
        lines[k]++;
        colour[k] = all.colour[i];
        NEAR(all.to[i].z, 0.1, 1e-3);
    }
    CHECK(lines[0] == 2 && lines[1] == 2 && colour[0] != colour[1]);
    csim_destroy_world(w);
}

/* A square of 8 x 8 cells on a body that is turned: each edge once, all of them or those near a point. */
TEST(edges_of_levels_are_drawn_once) {
    enum { SIDE = 8, EDGES = 2 * SIDE * (SIDE + 1) + SIDE * SIDE };
    static csim_real x[3 * (SIDE + 1) * (SIDE + 1)];
    static int t[6 * SIDE * SIDE];
    static double block[1 << 15];
    csim_triangle_field_def fd = csim_default_triangle_field_def();
    const csim_field *field = NULL;
    csim_rigid_def d = csim_default_rigid_def();
    csim_world *w = empty(0);
    csim_draw pen;
    csim_shape shape;
    csim_error error;
    csim_body_id id;
    size_t bytes;
    int i, j, k, n = 0;
    for (j = 0; j <= SIDE; j++)
        for (i = 0; i <= SIDE; i++, n++) x[3 * n] = (csim_real)i, x[3 * n + 1] = (csim_real)j, x[3 * n + 2] = 0;
    for (n = j = 0; j < SIDE; j++)
        for (i = 0; i < SIDE; i++) {
            const int a = i + (SIDE + 1) * j;
            t[n++] = a, t[n++] = a + 1, t[n++] = a + SIDE + 2;
            t[n++] = a, t[n++] = a + SIDE + 2, t[n++] = a + SIDE + 1;
        }
    fd.vertices = x, fd.vertex_count = (SIDE + 1) * (SIDE + 1), fd.triangles = t, fd.triangle_count = 2 * SIDE * SIDE;
    STATUS(csim_triangle_field_bytes(&fd, &bytes, &error), CSIM_OK);
    CHECK(bytes < sizeof block - 64);
    STATUS(csim_create_triangle_field_in(&fd, (char *)block + (64 - (size_t)block % 64) % 64, bytes, &field, &error),
           CSIM_OK);
    shape = csim_field_shape(field);
    d.shapes = &shape, d.shape_count = 1, d.motion = CSIM_STATIC;
    d.pose.position = csim_v3(1, 2, 3);
    d.pose.rotation = csim_quat_axis_angle(csim_v3(1, 0, 0), CSIM_R(1.5707963267948966)); /* y of the level is z */
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    pen = pens(only(CSIM_DRAW_SHAPES));
    STATUS(csim_world_draw(w, &pen), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_SHAPES], EDGES);
    for (i = 0; i < all.kept; i++) {
        const double length = (double)csim_length(csim_sub(all.to[i], all.from[i]));
        NEAR((double)all.from[i].y, 2, TOL(1e-14, 1e-5));
        CHECK(fabs(length - 1) < 1e-5 || fabs(length - sqrt(2)) < 1e-5);
        for (k = 0; k < i; k++)
            CHECK(csim_length(csim_sub(csim_add(all.from[k], all.to[k]), csim_add(all.from[i], all.to[i]))) >
                  CSIM_R(0.1)); /* no two in one place */
    }
    pen = pens(only(CSIM_DRAW_SHAPES));
    pen.around = csim_v3(CSIM_R(3.5), 2, CSIM_R(5.5)), pen.within = CSIM_R(0.1); /* cell 2, 2, on its diagonal */
    STATUS(csim_world_draw(w, &pen), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_SHAPES], 5);
    for (i = 0; i < 5; i++) NEAR((double)csim_length(csim_sub(all.from[i], pen.around)), 0.5 * sqrt(2), 1e-5);
    pen = pens(only(CSIM_DRAW_SHAPES));
    pen.triangles = 10;
    STATUS(csim_world_draw(w, &pen), CSIM_OK);
    CHECK(all.lines[CSIM_DRAW_SHAPES] >= 12 && all.lines[CSIM_DRAW_SHAPES] <= 30);
    csim_destroy_world(w);
}

static void *aligned(double *block) { return (char *)block + (64 - (size_t)block % 64) % 64; }

static void put_field(csim_world *w, const csim_field *field) {
    const csim_shape shape = csim_field_shape(field);
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id;
    d.shapes = &shape, d.shape_count = 1, d.motion = CSIM_STATIC;
    d.pose.position = csim_v3(1, 2, 3);
    d.pose.rotation = csim_quat_axis_angle(csim_v3(0, 0, 1), CSIM_R(1.5707963267948966));
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
}

/* Hills of 8 x 5 cells: each edge of the triangles once, both its ends on nodes. */
TEST(height_fields_are_drawn_by_their_edges) {
    enum { X = 8, Y = 5, EDGES = X * (Y + 1) + Y * (X + 1) + X * Y };
    static double block[1 << 13];
    csim_real z[(X + 1) * (Y + 1)];
    csim_height_field_def h = csim_default_height_field_def();
    const csim_field *field = NULL;
    csim_world *w = empty(0);
    csim_error error;
    csim_draw pen;
    size_t bytes;
    int i, k;
    for (i = 0; i < (X + 1) * (Y + 1); i++) z[i] = CSIM_R(0.01) * (csim_real)(i * i % 37);
    h.heights = z, h.count_x = X + 1, h.count_y = Y + 1, h.cell = CSIM_R(0.5);
    STATUS(csim_height_field_bytes(&h, &bytes, &error), CSIM_OK);
    CHECK(bytes < sizeof block - 64);
    STATUS(csim_create_height_field_in(&h, aligned(block), bytes, &field, &error), CSIM_OK);
    put_field(w, field);
    pen = pens(only(CSIM_DRAW_SHAPES));
    STATUS(csim_world_draw(w, &pen), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_SHAPES], EDGES);
    for (i = 0; i < all.kept; i++) {
        for (k = 0; k < 2; k++) { /* the field's x is the world's y */
            const csim_vec3 x = csim_sub(k ? all.to[i] : all.from[i], csim_v3(1, 2, 3));
            const int n = (int)((double)x.y / 0.5 + 0.5) + (X + 1) * (int)(-(double)x.x / 0.5 + 0.5);
            NEAR((double)x.z, (double)(float)z[n], TOL(1e-7, 1e-6));
        }
        for (k = 0; k < i; k++)
            CHECK(csim_length(csim_sub(csim_add(all.from[k], all.to[k]), csim_add(all.from[i], all.to[i]))) >
                  CSIM_R(0.1));
    }
    pen = pens(only(CSIM_DRAW_SHAPES));
    pen.around = csim_v3(CSIM_R(-0.25), CSIM_R(3.25), 3), pen.within = CSIM_R(0.1); /* the middle of one cell */
    STATUS(csim_world_draw(w, &pen), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_SHAPES], 5);
    pen = pens(only(CSIM_DRAW_SHAPES));
    pen.triangles = 8;
    STATUS(csim_world_draw(w, &pen), CSIM_OK);
    CHECK(all.lines[CSIM_DRAW_SHAPES] >= 12 && all.lines[CSIM_DRAW_SHAPES] <= 20);
    csim_destroy_world(w);
}

/* A cube as a grid: its net lies on its faces, covers all six, and is the same from each side. */
TEST(meshes_are_drawn_by_a_net_over_their_surface) {
    static const int t[36] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                              2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    static double block[1 << 17];
    csim_mesh_field_def m = csim_default_mesh_field_def();
    csim_real x[24];
    const csim_field *field = NULL;
    csim_world *w = empty(0);
    csim_error error;
    csim_draw pen;
    size_t bytes;
    int i, k, on[6] = {0, 0, 0, 0, 0, 0};
    for (i = 0; i < 24; i++) x[i] = i / 3 >> i % 3 & 1 ? CSIM_R(0.5) : CSIM_R(-0.5);
    m.vertices = x, m.vertex_count = 8, m.triangles = t, m.triangle_count = 12;
    m.resolution = 16;
    STATUS(csim_mesh_field_bytes(&m, &bytes, &error), CSIM_OK);
    CHECK(bytes < sizeof block - 64);
    STATUS(csim_create_mesh_field_in(&m, aligned(block), bytes, &field, &error), CSIM_OK);
    put_field(w, field);
    pen = pens(only(CSIM_DRAW_SHAPES));
    STATUS(csim_world_draw(w, &pen), CSIM_OK);
    CHECK(all.lines[CSIM_DRAW_SHAPES] > 6 * 2 * 15 * 14);
    for (i = 0; i < all.kept; i++) {
        const csim_vec3 p = csim_sub(all.from[i], csim_v3(1, 2, 3)), q = csim_sub(all.to[i], csim_v3(1, 2, 3));
        const double cell = (double)csim_field_get_info(field).cell;
        double c[3] = {(double)p.x, (double)p.y, (double)p.z}, most = 0;
        CHECK((double)csim_length(csim_sub(p, q)) < 2 * cell);
        for (k = 0; k < 3; k++) {
            most = fmax(most, fabs(c[k]));
            if (fabs(fabs(c[k]) - 0.5) < 1e-3) on[2 * k + (c[k] > 0)]++;
        }
        CHECK(fabs(most - 0.5) < 0.75 * cell); /* edges are cut by half a cell, corners by two thirds */
    }
    for (i = 0; i < 6; i++) CHECK(on[i] == on[0] && on[i] > 2 * 14 * 13); /* two lines a cell */
    pen = pens(only(CSIM_DRAW_SHAPES));
    pen.triangles = 40;
    STATUS(csim_world_draw(w, &pen), CSIM_OK);
    CHECK(all.lines[CSIM_DRAW_SHAPES] > 0 && all.lines[CSIM_DRAW_SHAPES] <= 60);
    csim_destroy_world(w);
}

TEST(what_sleeps_has_a_colour) {
    csim_world_def wd = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id ground;
    csim_draw d;
    int i, asleep = 0;
    wd.can_sleep = true;
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, -1), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    put(w, csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1))), 0, -0.9);
    for (i = 0; i < 200; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    EQUAL(csim_world_stats(w).asleep, 1);
    put(w, csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1))), 3, 5);
    d = pens(only(CSIM_DRAW_SHAPES) | only(CSIM_DRAW_SLEEP));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    EQUAL(all.lines[CSIM_DRAW_SLEEP], 0);
    for (i = 0; i < all.kept; i++) asleep += all.colour[i] == d.colour[CSIM_DRAW_SLEEP];
    EQUAL(asleep, 12); /* the box that lies there, not the one in the air, nor the ground */
    d = pens(only(CSIM_DRAW_SHAPES));
    STATUS(csim_world_draw(w, &d), CSIM_OK);
    for (i = 0; i < all.kept; i++) CHECK(all.colour[i] == d.colour[CSIM_DRAW_SHAPES]);
    csim_destroy_world(w);
}

TEST(what_cannot_be_drawn_is_refused) {
    csim_world *w = empty(10);
    csim_draw d = pens(0x1ff);
    csim_draw none;
    d.kinds = only(CSIM_DRAW_SHAPES);
    put(w, csim_box(csim_v3(1, 1, 1)), 0, 0);
    EQUAL(csim_world_draw(NULL, &d), CSIM_NULL_ARGUMENT);
    EQUAL(csim_world_draw(w, NULL), CSIM_NULL_ARGUMENT);
    memset(&none, 0, sizeof none);
    EQUAL(csim_world_draw(w, &none), CSIM_DEF_NOT_INITIALISED);
    d.triangles = -1;
    EQUAL(csim_world_draw(w, &d), CSIM_OUT_OF_RANGE);
    d.triangles = 1;
    d.size = (csim_real)NAN;
    EQUAL(csim_world_draw(w, &d), CSIM_OUT_OF_RANGE);
    none = csim_default_draw(); /* no callbacks: nothing to do */
    STATUS(csim_world_draw(w, &none), CSIM_OK);
    csim_destroy_world(w);
}
