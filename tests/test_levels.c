/* Floors of many triangles, and what goes over them: the edges between triangles of one plane are not there. */
#include "check.h"
#include "field_memory.h"

#include "../examples/scenes/columns.h"
#include "../examples/scenes/scene.h"
#include "scene_run.h"

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
