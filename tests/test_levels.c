/* Floors of many triangles, and what goes over them: the edges between triangles of one plane are not there. */
#include "check.h"
#include "field_memory.h"

#include "../examples/scenes/columns.h"
#include "../examples/scenes/scene.h"
#include "scene_run.h"

#include <time.h>

/* ---- one body against a flat part of a field, and against the plane that it is */

enum { ACROSS = 33 };
static const csim_real level_cell = CSIM_R(0.125);

/* Heights: a plane of this slope, exact in float, with a step up beyond x = 3. */
static const csim_field *ramp(double slope) {
    csim_height_field_def d = csim_default_height_field_def();
    csim_real z[ACROSS * ACROSS];
    const csim_field *f = NULL;
    size_t bytes = 0;
    void *block;
    int i, j;
    for (j = 0; j < ACROSS; j++)
        for (i = 0; i < ACROSS; i++)
            z[j * ACROSS + i] = (csim_real)(slope * 0.125 * i + (i > 24 ? 1 : 0));
    d.heights = z;
    d.count_x = d.count_y = ACROSS;
    d.cell = level_cell;
    STATUS(csim_height_field_bytes(&d, &bytes, NULL), CSIM_OK);
    block = block_of(bytes);
    STATUS(csim_create_height_field_in(&d, block, bytes, &f, NULL), CSIM_OK);
    return f;
}

static csim_shape any_shape(int kind, const csim_vec3 *corner) {
    csim_shape s = csim_sphere(CSIM_R(0.15));
    if (kind == 1) s = csim_capsule(CSIM_R(0.1), CSIM_R(0.15));
    if (kind == 2) s = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.15), CSIM_R(0.1)));
    if (kind == 3) s = csim_cylinder(CSIM_R(0.15), CSIM_R(0.1));
    if (kind == 4) s = csim_hull(corner, 4);
    return s;
}

static csim_quat any_turn(void) {
    return csim_quat_exp(csim_v3((csim_real)check_random(-2, 2), (csim_real)check_random(-2, 2),
                                 (csim_real)check_random(-2, 2)));
}

static csim_real least_gap(const csim_touch *t, int count) {
    csim_real gap = 1;
    int i;
    for (i = 0; i < count; i++) gap = csimi_min(gap, t[i].gap);
    return gap;
}

/* Contacts with a plane of 2048 triangles are those with the half-space, number and place; near the step there are
   others, and never fewer: what is in reach is told. */
TEST(a_plane_of_triangles_is_a_half_space) {
    static const csim_vec3 corner[4] = {
        {CSIM_R(0.2), 0, CSIM_R(-0.1)},
        {CSIM_R(-0.1), CSIM_R(0.2), CSIM_R(-0.1)},
        {CSIM_R(-0.1), CSIM_R(-0.2), CSIM_R(-0.1)},
        {0, 0, CSIM_R(0.2)}};
    static const double slopes[3] = {0, 0.25, -0.5};
    int k, i, j, touched = 0, free = 0, both = 0;
    for (k = 0; k < 3; k++) {
        const csim_shape floor = csim_field_shape(ramp(slopes[k]));
        const csim_shape plane = csim_half_space(csim_v3(0, 0, 0), csim_v3((csim_real)-slopes[k], 0, 1));
        csim_geometry f, h;
        STATUS(csim_shape_bake(&floor, &f, NULL, NULL), CSIM_OK);
        STATUS(csim_shape_bake(&plane, &h, NULL, NULL), CSIM_OK);
        for (i = 0; i < 4000; i++) {
            const csim_shape s = any_shape(i % 5, corner);
            const double x = check_random(0.3, i % 2 ? 2.6 : 3.4), y = check_random(0.3, 3.7);
            csim_geometry g;
            csim_hull_data hull;
            csim_touch a[64], b[64];
            csim_pose at;
            int na, nb;
            STATUS(csim_shape_bake(&s, &g, &hull, NULL), CSIM_OK);
            g.hull = g.kind == CSIM_SHAPE_HULL ? 0 : -1;
            at.position = csim_v3((csim_real)x, (csim_real)y, (csim_real)(slopes[k] * x + check_random(-0.05, 0.35)));
            at.rotation = any_turn();
            na = csim_collide(&g, at, &f, csim_pose_identity(), &hull, CSIM_R(0.02), a, 64);
            nb = csim_collide(&g, at, &h, csim_pose_identity(), &hull, CSIM_R(0.02), b, 64);
            CASE("slope %g, shape %d at x %g: %d and %d contacts", slopes[k], i % 5, x, na, nb);
            if (x > 2.5) { /* the step may be in reach */
                both += na != nb;
                CHECK(nb == 0 || na > 0);
                continue;
            }
            EQUAL(na, nb);
            for (j = 0; j < na; j++) {
                NEAR(a[j].gap, b[j].gap, TOL(1e-12, 1e-5));
                NEAR(csim_length(csim_sub(a[j].point_a, b[j].point_a)), 0, TOL(1e-9, 1e-4));
                NEAR(csim_length(csim_sub(a[j].normal, b[j].normal)), 0, TOL(1e-12, 1e-6));
            }
            touched += na > 0;
            free += na == 0;
        }
    }
    CHECK(touched > 3000 && free > 1000 && both > 100);
}

/* A wheel against heights that bend and against a grid of distances: never deeper than it says. */
TEST(a_wheel_over_relief_tells_its_deepest_point) {
    csim_height_field_def d = csim_default_height_field_def();
    csim_real z[ACROSS * ACROSS];
    const csim_field *f = NULL;
    csim_geometry field, g;
    csim_shape wheel = csim_cylinder(CSIM_R(0.3), CSIM_R(0.1)), floor;
    size_t bytes = 0;
    void *block;
    int i, j, rolled = 0;
    for (j = 0; j < ACROSS; j++)
        for (i = 0; i < ACROSS; i++)
            z[j * ACROSS + i] = (csim_real)(0.1 * sin(0.4 * i) + 0.06 * cos(0.5 * j));
    d.heights = z;
    d.count_x = d.count_y = ACROSS;
    d.cell = level_cell;
    STATUS(csim_height_field_bytes(&d, &bytes, NULL), CSIM_OK);
    block = block_of(bytes);
    STATUS(csim_create_height_field_in(&d, block, bytes, &f, NULL), CSIM_OK);
    floor = csim_field_shape(f);
    STATUS(csim_shape_bake(&floor, &field, NULL, NULL), CSIM_OK);
    STATUS(csim_shape_bake(&wheel, &g, NULL, NULL), CSIM_OK);
    for (i = 0; i < 300; i++) {
        csim_touch t[160];
        csim_pose at;
        csim_real gap;
        double deepest = 1;
        int n;
        at.position = csim_v3((csim_real)check_random(0.6, 3.4), (csim_real)check_random(0.6, 3.4),
                              (csim_real)check_random(0.28, 0.42));
        at.rotation = csim_quat_mul(csim_quat_axis_angle(csim_v3(0, 0, 1), (csim_real)check_random(0, 6.28)),
                                    csim_quat_axis_angle(csim_v3(1, 0, 0), CSIM_R(1.5707963267948966)));
        n = csim_collide(&g, at, &field, csim_pose_identity(), NULL, CSIM_R(0.05), t, 160);
        gap = least_gap(t, n);
        for (j = 0; j < 3 * 180; j++) { /* the two rims and the circle between them, two degrees apart */
            const double a = j % 180 * 3.14159265358979 / 90;
            const csim_vec3 local = csim_v3((csim_real)(0.3 * cos(a)), (csim_real)(0.3 * sin(a)),
                                            CSIM_R(0.1) * (csim_real)(j / 180 - 1));
            csim_vec3 normal;
            deepest = fmin(deepest, (double)csimi_distance_heights(f, csim_pose_point(at, local), CSIMI_HUGE, &normal));
        }
        CASE("wheel %d at %g %g", i, (double)at.position.x, (double)at.position.y);
        if (deepest > 0.04) continue;
        rolled++;
        CHECK((double)gap <= deepest + TOL(1e-5, 5e-4));
        CHECK((double)gap >= deepest - 4e-4); /* on a ridge between two looks */
    }
    CHECK(rolled > 100);
}

/* ---- bodies of every kind go over it */

SLOW_TEST(bodies_slide_and_roll_over_triangles_as_over_a_plane) {
    static const char *const floors[] = {"floor=heights", "floor=heights speed=9 cell=0.07", "floor=mesh",
                                         "floor=triangles", "floor=triangles speed=7 cell=0.11"};
    static const double step[] = {1.0 / 120, 1.0 / 60, 1.0 / 200, 1.0 / 120, 1.0 / 60};
    int i;
    for (i = 0; i < 5; i++) {
        scene_options o = scene_default_options();
        run r;
        if (i == 2 && CSIM_REAL_SIZE == 4 && !long_runs()) continue;
        o.h = step[i];
        o.seconds = long_runs() ? 4 : 0.5;
        o.size = 26;
        o.seed = (unsigned long long)i;
        o.tolerance = TOL(0, 5e-5); /* float does not get farther */
        r = run_with("floor-of-triangles", floors[i], &o);
        /* soft bodies move as the certificate of the solver lets them, in float as its digits */
        CHECK(figure(&r, "speed_change") < TOL(1e-6, 2e-4));
        CHECK(figure(&r, "rise_um") < TOL(1, 50)); /* the nodes of a grid are floats */
        CHECK(figure(&r, "uncertified") <= TOL(0, 2));
        scene_close(r.s);
    }
}

/* ---- large levels */

/* Hills of 2 side^2 triangles of half a metre, the first corner at (-extent, -extent). */
static void hills(int side, csim_real **vertex, int **triangle) {
    int i, j;
    *vertex = (csim_real *)malloc(3 * (size_t)(side + 1) * (size_t)(side + 1) * sizeof(csim_real));
    *triangle = (int *)malloc(6 * (size_t)side * (size_t)side * sizeof(int));
    for (j = 0; j <= side; j++)
        for (i = 0; i <= side; i++) {
            csim_real *x = *vertex + 3 * ((size_t)j * (size_t)(side + 1) + (size_t)i);
            const double at[2] = {0.5 * (i - side / 2), 0.5 * (j - side / 2)};
            x[0] = (csim_real)at[0], x[1] = (csim_real)at[1];
            x[2] = (csim_real)(0.3 * sin(0.7 * at[0]) * cos(0.9 * at[1]));
        }
    for (j = 0; j < side; j++)
        for (i = 0; i < side; i++) {
            int *t = *triangle + 6 * ((size_t)j * (size_t)side + (size_t)i);
            const int low = j * (side + 1) + i, high = low + side + 1;
            t[0] = low, t[1] = low + 1, t[2] = high + 1;
            t[3] = low, t[4] = high + 1, t[5] = high;
        }
}

static double milliseconds(void) { return 1e3 * (double)clock() / CLOCKS_PER_SEC; }

enum { OVER = 40, LOOKS = 90 };

/* OVER bodies of five kinds above the middle, over a level or what floor puts there. */
static csim_world *above(const csim_shape *level, void (*floor)(csim_world *)) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def d = csim_default_rigid_def();
    const csim_vec3 corner[4] = {csim_v3(CSIM_R(0.2), 0, CSIM_R(-0.1)), csim_v3(CSIM_R(-0.15), CSIM_R(0.15), CSIM_R(-0.1)),
                                 csim_v3(CSIM_R(-0.1), CSIM_R(-0.2), CSIM_R(-0.1)), csim_v3(0, 0, CSIM_R(0.2))};
    csim_world *w = NULL;
    csim_body_id id;
    int i;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    if (level) {
        d.motion = CSIM_STATIC;
        d.shapes = level, d.shape_count = 1;
        STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    }
    if (floor) floor(w);
    d = csim_default_rigid_def();
    for (i = 0; i < OVER; i++) {
        const csim_shape s = any_shape(i % 5, corner);
        d.shapes = &s, d.shape_count = 1;
        d.pose.position = csim_v3(CSIM_R(0.83) * (csim_real)(i % 7 - 3), CSIM_R(0.79) * (csim_real)(i / 7 - 3), 1);
        STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    }
    return w;
}

/* Mean milliseconds of a step, after the first. */
static double steps_of(csim_world *w, long *contacts) {
    double from = 0;
    int i;
    for (*contacts = i = 0; i < LOOKS; i++) {
        if (i == 1) from = milliseconds();
        STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
        *contacts += csim_world_stats(w).contacts;
    }
    return (milliseconds() - from) / (LOOKS - 1);
}

/* Built, saved, opened elsewhere; over it goes what goes over its middle alone, with the same contacts. */
LONG_TEST(a_level_of_a_million_triangles) {
    static const int sides[2] = {40, 708};
    double took[3];
    long contacts[3];
    uint64_t hash[3];
    int k;
    for (k = 0; k < 3; k++) {
        csim_triangle_field_def d = csim_default_triangle_field_def();
        const csim_field *field = NULL;
        const int side = sides[k > 0];
        csim_real *vertex;
        int *triangle;
        size_t bytes, kept;
        unsigned char *block, *again = NULL;
        csim_shape level;
        csim_world *w;
        double from = milliseconds(), built;
        hills(side, &vertex, &triangle);
        d.vertices = vertex, d.vertex_count = (side + 1) * (side + 1);
        d.triangles = triangle, d.triangle_count = 2 * side * side;
        STATUS(csim_triangle_field_bytes(&d, &bytes, NULL), CSIM_OK);
        block = (unsigned char *)block_of(bytes);
        from = milliseconds();
        STATUS(csim_create_triangle_field_in(&d, block, bytes, &field, NULL), CSIM_OK);
        built = milliseconds() - from;
        kept = csim_field_get_info(field).bytes;
        free(vertex), free(triangle);
        if (k == 2) {
            again = (unsigned char *)block_of(kept);
            memcpy(again, field, kept);
            memset(block, 0xA5, bytes);
            from = milliseconds();
            STATUS(csim_open_field(again, kept, &field, NULL), CSIM_OK);
            built = milliseconds() - from;
        }
        level = csim_field_shape(field);
        w = above(&level, NULL);
        took[k] = steps_of(w, contacts + k);
        hash[k] = csim_world_hash(w);
        printf("    %d triangles %s in %.0f ms, %.0f bytes each; a step of %d bodies %.3f ms, %ld contacts\n",
               d.triangle_count, k == 2 ? "opened" : "built", built, (double)kept / d.triangle_count, OVER, took[k],
               contacts[k]);
        csim_destroy_world(w);
    }
    NEAR(contacts[1], contacts[0], 0.02 * (double)contacts[0]); /* in another order, and so to other bits */
    EQUAL(contacts[1], contacts[2]);
    CHECK(hash[1] == hash[2]);
}

static void tiles(csim_world *w, int side) {
    const csim_shape tile = csim_box(csim_v3(CSIM_R(0.24), CSIM_R(0.24), CSIM_R(0.1)));
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id;
    int i;
    d.motion = CSIM_STATIC;
    d.shapes = &tile, d.shape_count = 1;
    for (i = 0; i < side * side; i++) {
        d.pose.position = csim_v3(CSIM_R(0.5) * (csim_real)(i % side - side / 2),
                                  CSIM_R(0.5) * (csim_real)(i / side - side / 2), 0);
        STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    }
}

static void few_tiles(csim_world *w) { tiles(w, 16); }
static void many_tiles(csim_world *w) { tiles(w, 317); }

/* They are out of the way of a step from so many on, and are there all the same: touched, moved, saved, destroyed. */
TEST(many_static_shapes_lie_in_bed) {
    const csim_shape ball = csim_sphere(CSIM_R(0.15));
    csim_rigid_def d = csim_default_rigid_def();
    csim_world_def def = csim_default_world_def();
    csim_pose pose = csim_pose_identity();
    csim_world *w = above(NULL, few_tiles), *other = NULL;
    const int before = w->live_bodies;
    csim_body_id id, tile;
    csim_body_id list[400];
    uint64_t hash;
    void *kept;
    size_t bytes;
    int i;
    d.shapes = &ball, d.shape_count = 1;
    d.pose.position = csim_v3(3, 3, CSIM_R(0.25));
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    for (i = 0; i < 60; i++) STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
    EQUAL(w->store.active_count, OVER + 1);
    EQUAL(w->store.bedded, before - OVER);
    STATUS(csim_body_get_pose(w, id, &pose), CSIM_OK);
    NEAR(pose.position.z, 0.25, 1e-3); /* on a tile */
    STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
    kept = malloc(bytes);
    STATUS(csim_world_save(w, kept, &bytes), CSIM_OK);
    for (i = 0; i < 30; i++) STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
    hash = csim_world_hash(w);
    STATUS(csim_world_restore(w, kept, bytes), CSIM_OK);
    STATUS(csim_create_world(&def, &other, NULL), CSIM_OK);
    STATUS(csim_world_restore(other, kept, bytes), CSIM_OK);
    for (i = 0; i < 30; i++) {
        STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
        STATUS(csim_world_step(other, CSIM_R(1) / 60), CSIM_OK);
    }
    CHECK(csim_world_hash(w) == hash);
    CHECK(csim_world_hash(other) == hash);
    csim_destroy_world(other);
    free(kept);
    /* its tile goes down: the ball falls; the others go away: those left get up */
    i = csim_world_bodies(w, list, 400);
    for (tile = id; i > 0; i--) {
        csim_pose at;
        STATUS(csim_body_get_pose(w, list[i - 1], &at), CSIM_OK);
        if (csim_length(csim_sub(at.position, csim_v3(3, 3, 0))) < CSIM_R(0.01)) tile = list[i - 1];
    }
    pose = csim_pose_identity();
    pose.position = csim_v3(3, 3, -1);
    STATUS(csim_body_set_pose(w, tile, pose), CSIM_OK);
    for (i = 0; i < 60; i++) STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
    STATUS(csim_body_get_pose(w, id, &pose), CSIM_OK);
    NEAR(pose.position.z, -0.75, 1e-3);
    for (i = csim_world_bodies(w, list, 400); i > 0 && w->live_bodies > OVER + 40; i--)
        if (w->store.body[list[i - 1].index1 - 1].motion == CSIM_STATIC) STATUS(csim_destroy_body(w, list[i - 1]), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
    EQUAL(w->store.active_count, w->live_bodies);
    csim_destroy_world(w);
}

LONG_TEST(a_hundred_thousand_static_shapes) {
    double took[2], memory[2];
    long contacts[2];
    int k;
    for (k = 0; k < 2; k++) {
        csim_world *w = above(NULL, k ? many_tiles : few_tiles);
        took[k] = steps_of(w, contacts + k);
        printf("    %d static shapes: a step of %d bodies %.3f ms, %ld contacts\n", k ? 317 * 317 : 16 * 16, OVER, took[k],
               contacts[k]);
        memory[k] = (double)csim_world_stats(w).memory_bytes;
        csim_destroy_world(w);
    }
    CHECK(memory[1] < 8e3 * 317 * 317); /* half as much again as there is, and no room for contacts that never come */
    CHECK(contacts[0] > 20 * LOOKS);
    EQUAL(contacts[0], contacts[1]);
}
