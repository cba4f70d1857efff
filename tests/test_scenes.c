/* The scenes against known answers: rows of the validation table carry their number in the name of the test.
   CONDSIM_LONG=1 in the environment runs the standing scenes and the creep for their full time and the solids in their
   full size. */
#include "check.h"
#include <math.h>

#include "../examples/scenes/columns.c"
#include "../examples/scenes/all.h"
#include "scene_run.h"

static const double g = 9.81, pi = 3.14159265358979323846;

/* Float worlds reach 1e-5 at best. */
static const double tight = TOL(1e-10, 1e-5);

/* ---- small worlds that no scene has */

static csim_world *make_world(csim_integrator integrator, csim_real gravity, double tolerance) {
    csim_world_def def = csim_default_world_def();
    csim_world *world = NULL;
    def.gravity = csim_v3(0, 0, gravity);
    def.integrator = integrator;
    def.solver.tolerance = (csim_real)tolerance;
    STATUS(csim_create_world(&def, &world, NULL), CSIM_OK);
    return world;
}

static csim_body_id make_ground(csim_world *w, csim_vec3 normal, double friction) {
    csim_body_id id;
    memset(&id, 0, sizeof id);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), normal, (csim_real)friction, &id), CSIM_OK);
    return id;
}

static csim_body_id make_rigid(csim_world *w, csim_rigid_def *d, const csim_shape *shapes, int count) {
    csim_body_id id;
    memset(&id, 0, sizeof id);
    d->shapes = shapes;
    d->shape_count = count;
    STATUS(csim_create_rigid(w, d, &id), CSIM_OK);
    return id;
}

static csim_vec3 position_of(const csim_world *w, csim_body_id id) {
    csim_pose p = csim_pose_identity();
    csim_body_get_pose(w, id, &p);
    return p.position;
}

static csim_vec3 end_velocity_of(const csim_world *w, csim_body_id id) {
    csim_vec3 v = csim_v3(0, 0, 0), a;
    csim_body_get_end_velocity(w, id, &v, &a);
    return v;
}

static bool step(csim_world *w, double h) {
    const csim_status status = csim_world_step(w, (csim_real)h);
    if (status != CSIM_OK) CASE("%s", csim_last_error(w));
    STATUS(status, CSIM_OK);
    return status == CSIM_OK;
}

/* ---- 1 */

TEST(box_slides_to_a_stop_1) {
    const double h = 0.01, mu = 0.3, distance = 0.669585; /* v <- v - mu g h, x <- x + h v */
    csim_world *w = make_world(CSIM_BACKWARD_EULER, CSIM_R(-9.81), tight);
    csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_rigid_def d = scene_rigid_def(1, mu, 0, 0, 0.1);
    csim_body_id id;
    double exact = 0, v = 2;
    int k;
    d.velocity = scene_v3(2, 0, 0);
    make_ground(w, csim_v3(0, 0, 1), mu);
    id = make_rigid(w, &d, &box, 1);
    for (k = 0; k < 100 && step(w, h); k++) {
        v = fmax(0, v - mu * g * h);
        exact += h * v;
    }
    NEAR(exact, distance, 1e-6); /* the table's number */
    NEAR(position_of(w, id).x, exact,
         TOL(1e-9, 1e-4) * 1); /* relative to 1 m; float: 68 steps of rounding and tolerance */
    NEAR(csim_length(end_velocity_of(w, id)), 0, TOL(1e-9, 1e-4));
    csim_destroy_world(w);
}

/* ---- 2 */

TEST(incline_slides_with_the_right_acceleration_2) {
    run r = run_scene("incline", "mu=0.3 angle=20", 0.01, 2, tight, -1);
    NEAR(figure(&r, "acceleration"), 0.589702, 1e-6); /* the table's number */
    NEAR(figure(&r, "acceleration"), figure(&r, "acceleration_exact"),
         TOL(1e-9, 1e-4) * g); /* the discrete path is exact */
    scene_close(r.s);
    r = run_scene("incline", "angle=30 direction=diagonal mu=0.5", 0.01, 2, tight, -1); /* friction is isotropic */
    NEAR(figure(&r, "acceleration"), figure(&r, "acceleration_exact"), TOL(1e-9, 1e-4) * g);
    scene_close(r.s);
}

TEST(incline_does_not_creep_2) {
    const char *const slopes[] = {"mu=0.3 angle=10", "mu=0.5"}; /* the second: half a degree below the friction angle */
    int i;
    for (i = 0; i < 2; i++) {
        run r = run_scene("incline", slopes[i], 0.01, 105, 0, -1);
        CHECK(figure(&r, "creep_m") < TOL(1e-9, 1e-5)); /* the row's; float: 0.1 m moved by an ulp now and then */
        scene_close(r.s);
    }
}

TEST(soft_block_does_not_creep_2) {
    const char *const slopes[] = {"body=soft mu=0.3 angle=10", "body=soft mu=0.5"};
    int i;
    for (i = 0; i < 2; i++) {
        run r = run_scene("incline", slopes[i], 0.01, long_runs() ? 105 : 15, 0, -1);
        CHECK(figure(&r, "creep_m") < TOL(1e-9, 1e-5));
        EQUAL(r.sums.uncertified, 0);
        scene_close(r.s);
    }
}

DOUBLE_TEST(friction_angle_is_a_threshold_2) { /* 1e-6 of the weight is less than float resolves */
    const double mu = 0.5, above = 2,
                 push = mu * 1e-6 * g * cos(atan(mu)); /* g (sin - mu cos) at tan = mu (1 + 1e-6) */
    char text[64];
    run r;
    snprintf(text, sizeof text, "mu=0.5 settle=0 angle=%.15g", atan(mu * (1 - 1e-6)) * 180 / pi);
    r = run_scene("incline", text, 0.01, above, tight, -1);
    CHECK(figure(&r, "creep_m") < 1e-9);
    scene_close(r.s);
    snprintf(text, sizeof text, "mu=0.5 settle=0 angle=%.15g", atan(mu * (1 + 1e-6)) * 180 / pi);
    r = run_scene("incline", text, 0.01, above, tight, -1);
    NEAR(figure(&r, "acceleration"), push, 1e-3 * push); /* 1e-10 of the weight is 2e-4 of what is left of it */
    scene_close(r.s);
}

/* ---- 3 */

DOUBLE_TEST(pushed_box_of_table_one_3) { /* figures of 1e-4 mm over 1 m are below float */
    static const double y[] = {0.1226, 0.0122, 0.0012}, z[] = {0.6131, 0.0612, 0.0061}; /* mm, the paper's */
    static const char *const kv[] = {"kv=1e3 stabilization=0 shift=0", "kv=1e4 stabilization=0 shift=0",
                                     "kv=1e5 stabilization=0 shift=0"};
    int i;
    for (i = 0; i < 3; i++) {
        run r = run_scene("sliding-box", kv[i], 0, 0, 0, CSIM_MIDPOINT);
        NEAR(figure(&r, "error_y_mm"), y[i], 2e-4);
        NEAR(figure(&r, "error_z_mm"), z[i], 2e-4);
        scene_close(r.s);
    }
}

TEST(pushed_box_with_defaults_3) {
    static const char *const ways[] = {"", "direction=diagonal", "kv=1e4"};
    const double mm = TOL(1e-6, 1); /* the issue's; float: ulps of 1 m over 100 steps, at 1e-5 of the force */
    int i, integrator;
    for (integrator = 0; integrator < 2; integrator++)
        for (i = 0; i < 2; i++) {
            run r = run_scene("sliding-box", ways[i], 0, 0, 0, integrator);
            CHECK(figure(&r, "error_y_mm") < mm);
            CHECK(figure(&r, "error_z_mm") < mm);
            CHECK(figure(&r, "error_x_mm") < mm);
            scene_close(r.s);
        }
}

/* ---- 4 */

DOUBLE_TEST(anisotropic_slide_4) { /* orders are measured in double */
    /* stops at t = 0.617488 at (0.347649, 0.167073); first order: backward Euler brakes a whole step ahead */
    double error[3];
    int i;
    for (i = 0; i < 3; i++) {
        const double h = 1e-3 / (1 << i);
        run r = run_scene("anisotropic", "", h, 0.7, 1e-9, -1);
        NEAR(figure(&r, "stop_time_s"), 0.617488, 2 * h);
        error[i] = hypot(figure(&r, "x_m") - 0.347649, figure(&r, "y_m") - 0.167073);
        scene_close(r.s);
    }
    CHECK(error[0] < 1e-3); /* |v| h / 2 of the path */
    CHECK(error[0] / error[1] > 1.8 && error[0] / error[1] < 2.2);
    CHECK(error[1] / error[2] > 1.7 && error[1] / error[2] < 2.3); /* the table's six digits begin to show */
}

/* ---- 5 */

TEST(sphere_slides_then_rolls_5) {
    const double h = 1e-3, mu = 0.3, r = 0.1;
    csim_world *w = make_world(CSIM_BACKWARD_EULER, CSIM_R(-9.81), tight);
    csim_shape ball = csim_sphere((csim_real)r);
    csim_rigid_def d = scene_rigid_def(1, mu, 0, 0, r);
    double rolls = -1, at = 0;
    csim_body_id id;
    int k;
    d.velocity = scene_v3(2, 0, 0);
    make_ground(w, csim_v3(0, 0, 1), mu);
    id = make_rigid(w, &d, &ball, 1);
    for (k = 1; k <= 400 && step(w, h); k++) {
        csim_vec3 v, a;
        csim_body_get_end_velocity(w, id, &v, &a);
        if (rolls < 0 && (double)v.x - (double)a.y * r < TOL(1e-9, 1e-4)) {
            rolls = k * h;
            at = (double)position_of(w, id).x;
        }
    }
    NEAR(rolls, 0.194165, h);
    NEAR(at, 0.332855, 1.5 * h * 1.43 + mu * g * rolls * h); /* a step of 1.43 m/s and half a step of the braking */
    NEAR(end_velocity_of(w, id).x, 1.428571428571,
         TOL(1e-8, 1e-4)); /* angular momentum about the ground is kept exactly */
    csim_destroy_world(w);
}

/* ---- 9 and the rest of what phi promises */

TEST(bouncing_ball_9) {
    const double h = 0.01, e = 0.8;
    static const char *const names[] = {"apex_1_m", "apex_2_m", "apex_3_m", "apex_4_m", "apex_5_m"};
    run r = run_scene("bounce", "", h, 0, 0, CSIM_BACKWARD_EULER);
    double bound = 0;
    int n;
    for (n = 0; n < 5; n++) {
        /* an impact is seen up to one step early: gap <= h u. The bounce then starts that much higher, and the discrete
           flight keeps v^2/2 + g x - g h v / 2: both make the energy too large by no more than this, and e^2 of it is
           left at the next impact */
        const double u = pow(e, n) * sqrt(2 * g);
        bound = e * e * bound + h * u * (e * (1 - e) / 2 + (1 - e * e));
        NEAR(figure(&r, names[n]), pow(e, 2 * (n + 1)), bound);
    }
    NEAR(figure(&r, "rest_time_s"), 4.063713, 5 * h);
    CHECK(figure(&r, "lowest_mm") > -TOL(1e-3, 1e-2));
    scene_close(r.s);
}

/* What falls: a ball, a particle, a box on its face, a box on its corner. */
static csim_body_id make_faller(csim_world *w, int kind, double height) {
    csim_shape shape = kind == 0 ? csim_sphere(CSIM_R(0.1)) : csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_rigid_def d = scene_rigid_def(1, 0.5, 0, 0, height + (kind == 3 ? 0.1 * sqrt(3.0) : 0.1));
    csim_body_id id;
    if (kind == 1) {
        csim_particle_def p = csim_default_particle_def();
        memset(&id, 0, sizeof id);
        p.position = scene_v3(0, 0, height);
        STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
        return id;
    }
    if (kind == 3) d.pose.rotation = csim_quat_mul(scene_turn(1, 0, 0, atan(sqrt(2.0))), scene_turn(0, 0, 1, pi / 4));
    return make_rigid(w, &d, &shape, 1);
}

TEST(plastic_impacts_of_backward_euler) {
    int kind, k;
    for (kind = 0; kind < 4; kind++) {
        csim_world *w = make_world(CSIM_BACKWARD_EULER, CSIM_R(-9.81), tight);
        make_ground(w, csim_v3(0, 0, 1), 0.5);
        make_faller(w, kind, 1);
        CASE("kind %d", kind);
        for (k = 0; k < 300 && step(w, 0.01); k++)
            CHECK(csim_world_stats(w).penetration < TOL(1e-6, 1e-5));
        csim_destroy_world(w);
    }
}

TEST(plastic_impacts_of_midpoint) {
    const double h = 0.01, u = sqrt(2 * g);
    int kind, k;
    for (kind = 0; kind < 3; kind++) {
        csim_world *w = make_world(CSIM_MIDPOINT, CSIM_R(-9.81), tight);
        csim_body_id id;
        make_ground(w, csim_v3(0, 0, 1), 0.5);
        id = make_faller(w, kind, 1);
        CASE("kind %d", kind);
        for (k = 0; k < 300 && step(w, h); k++) {
            csim_vec3 v, a;
            csim_body_get_velocity(w, id, &v, &a);
            CHECK(csim_world_stats(w).penetration < 0.05 * h * u); /* at impact, */
            if (k < 250) continue;
            CHECK(csim_world_stats(w).penetration < TOL(1e-6, 1e-5)); /* and at rest */
            CHECK(csim_length(v) < TOL(1e-9, 1e-4));
        }
        csim_destroy_world(w);
    }
}

/* ---- 10 */

static void collide_balls(csim_integrator integrator, double e, double offset, csim_vec3 *v1, csim_vec3 *v2) {
    csim_world *w = make_world(integrator, 0, tight);
    csim_shape ball = csim_sphere(CSIM_R(0.1));
    csim_rigid_def d = scene_rigid_def(1, 0, -0.3, offset, 0);
    csim_body_id a, b;
    int k;
    d.surface.restitution = (csim_real)e;
    d.velocity = scene_v3(1, 0, 0);
    a = make_rigid(w, &d, &ball, 1);
    d.pose.position = d.velocity = csim_v3(0, 0, 0);
    b = make_rigid(w, &d, &ball, 1);
    for (k = 0; k < 30 && step(w, 0.01); k++) {
    }
    *v1 = end_velocity_of(w, a);
    *v2 = end_velocity_of(w, b);
    csim_destroy_world(w);
}

TEST(two_spheres_10) {
    static const double e[] = {0, 0.3, 0.8, 1};
    int i, integrator;
    for (integrator = 0; integrator < 2; integrator++)
        for (i = 0; i < 4; i++) {
            csim_vec3 v1, v2;
            CASE("integrator %d e %g", integrator, e[i]);
            collide_balls((csim_integrator)integrator, e[i], 0, &v1, &v2);
            NEAR(v1.x, (1 - e[i]) / 2, TOL(1e-9, 1e-5));
            NEAR(v2.x, (1 + e[i]) / 2, TOL(1e-9, 1e-5));
            collide_balls((csim_integrator)integrator, e[i], 0.1, &v1, &v2); /* off the line */
            NEAR(v1.x + v2.x, 1, TOL(1e-12, 1e-6));
            NEAR(v1.y + v2.y, 0, TOL(1e-12, 1e-6));
            if (e[i] >= 1) NEAR(csim_dot(v1, v2), 0, TOL(1e-9, 1e-5)); /* 90 degrees apart */
        }
}

/* Balls of different mass thrown at each other, tumbling boxes: nothing outside pushes. */
TEST(free_bodies_keep_momentum) {
    int integrator, i, k, c;
    for (integrator = 0; integrator < 2; integrator++) {
        csim_world *w = make_world((csim_integrator)integrator, 0, 5e-5);
        csim_totals before, after;
        double size = 0;
        for (i = 0; i < 16; i++) {
            csim_shape shape =
                i % 2 ? csim_sphere(CSIM_R(0.05)) : csim_box(csim_v3(CSIM_R(0.05), CSIM_R(0.04), CSIM_R(0.06)));
            csim_rigid_def d =
                scene_rigid_def(check_random(0.1, 10), 0.5, 0.15 * (i % 4), 0.15 * (i / 4), 0.02 * (i % 3));
            d.velocity = scene_v3(check_random(-1, 1), check_random(-1, 1), check_random(-1, 1));
            d.velocity = csim_madd(d.velocity, -2, d.pose.position); /* towards each other */
            d.angular_velocity = scene_v3(check_random(-3, 3), check_random(-3, 3), check_random(-3, 3));
            d.surface.restitution = CSIM_R(0.3);
            make_rigid(w, &d, &shape, 1);
            size += (double)d.mass * (double)csim_length(d.velocity);
        }
        before = csim_world_totals(w);
        for (k = 0; k < 100 && step(w, 0.01); k++) {
        }
        after = csim_world_totals(w);
        CASE("integrator %d", integrator);
        CHECK(csim_world_stats(w).step == 100);
        for (c = 0; c < 3; c++)
            NEAR(after.momentum[c], before.momentum[c], TOL(1e-12, 1e-5) * size); /* rounding of 100 steps */
        csim_destroy_world(w);
    }
}

/* ---- 16 */

/* A rod of 1 m with a point at each end, foot on the floor, head at a wall; how far the foot went in 2 s, m. */
static double ladder(double degrees, double floor_mu, double wall_mu) {
    const double r = 1e-6, half = 0.5, angle = degrees * pi / 180;
    csim_world *w = make_world(CSIM_BACKWARD_EULER, CSIM_R(-9.81), 1e-10);
    csim_rigid_def d = scene_rigid_def(1, 1, r + half * cos(angle), 0, r + half * sin(angle));
    csim_shape ends[2];
    csim_body_id id;
    csim_pose p;
    double foot;
    int k;
    ends[0] = ends[1] = csim_sphere((csim_real)r);
    ends[0].local.position = scene_v3(half, 0, 0); /* foot: away from the wall */
    ends[1].local.position = scene_v3(-half, 0, 0);
    d.inertia.m[0] = CSIM_R(1e-3);
    d.inertia.m[4] = d.inertia.m[8] = CSIM_R(1.0 / 12);
    d.pose.rotation = scene_turn(0, 1, 0, angle);
    make_ground(w, csim_v3(0, 0, 1), floor_mu * floor_mu); /* the pair's friction is the geometric mean with 1 */
    make_ground(w, csim_v3(1, 0, 0), wall_mu * wall_mu);
    id = make_rigid(w, &d, ends, 2);
    for (k = 0; k < 200 && step(w, 0.01); k++) {
    }
    csim_body_get_pose(w, id, &p);
    foot = (double)csim_pose_point(p, scene_v3(half, 0, 0)).x - (r + 2 * half * cos(angle));
    csim_destroy_world(w);
    return foot;
}

DOUBLE_TEST(ladder_16) { /* the threshold is nearer than float resolves */
    CHECK(fabs(ladder(60, 0.288675 * 1.0005, 0)) < 1e-9);
    CHECK(ladder(60, 0.288675 * 0.9995, 0) > 1e-4);
    CHECK(fabs(ladder(56.6015 + 0.05, 0.3, 0.3)) < 1e-9);
    CHECK(ladder(56.6015 - 0.05, 0.3, 0.3) > 1e-4);
}

/* ---- 17 */

/* Four blocks of 1 m, each shifted by share / (2 i) beyond the one below; how far the top one fell in 5 s, m. */
static double overhang(double share) {
    csim_world *w = make_world(CSIM_BACKWARD_EULER, CSIM_R(-9.81), 5e-5);
    csim_shape block = csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.25), CSIM_R(0.1)));
    csim_shape table = csim_box(csim_v3(1, 1, CSIM_R(0.5)));
    csim_rigid_def d = scene_rigid_def(0, 0.5, -1, 0, -0.5);
    csim_body_id top;
    double x = -0.5, start, fell; /* of the centre of a block flush with the edge at x = 0 */
    int i, k;
    memset(&top, 0, sizeof top);
    d.motion = CSIM_STATIC;
    make_rigid(w, &d, &table, 1);
    for (i = 4; i >= 1; i--) {
        x += share / (2 * i);
        d = scene_rigid_def(1, 0.5, x, 0, 0.1 + 0.2 * (4 - i));
        top = make_rigid(w, &d, &block, 1);
    }
    NEAR(x + 0.5, share * 1.041667, 1e-6);
    start = (double)position_of(w, top).z;
    for (k = 0; k < 500 && step(w, 0.01); k++) {
    }
    fell = start - (double)position_of(w, top).z;
    csim_destroy_world(w);
    return fell;
}

TEST(overhanging_blocks_17) {
    CHECK(fabs(overhang(0.99)) < TOL(1e-6, 1e-4)); /* as standing scenes: the push of a certified step */
    CHECK(overhang(1.01) > 0.1);
}

/* ---- 18 */

/* Sum of n . impulse / h over the contacts of which exactly one body lies above z. */
static double load_through(const csim_world *w, double z, double h) {
    int count = 0, i;
    const csim_contact_info *c = csim_world_contacts(w, &count);
    double sum = 0;
    for (i = 0; i < count; i++)
        if (fabs((double)c[i].point.z - z) < 0.01) sum += fabs((double)c[i].normal_impulse) / h;
    return sum;
}

TEST(stack_carries_its_weight_18) {
    scene_options o = scene_default_options();
    char why[SCENE_TEXT];
    scene *s;
    int i;
    o.tolerance = tight;
    s = scene_open("stack", &o, why, sizeof why);
    REQUIRE(s != NULL);
    for (i = 0; i < 200 && scene_step(s); i++) {
    }
    for (i = 0; i < 10; i++) {
        CASE("level %d", i);
        NEAR(load_through(s->world, 0.2 * i, s->h) / ((10 - i) * g), 1, TOL(1e-8, 1e-3));
    }
    scene_close(s);
}

TEST(pyramid_carries_its_weight_18) {
    const int base = 5;
    csim_world *w = make_world(CSIM_BACKWARD_EULER, CSIM_R(-9.81), tight);
    csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    int level, i, k;
    make_ground(w, csim_v3(0, 0, 1), 0.5);
    for (level = 0; level < base; level++)
        for (i = 0; i < base - level; i++) {
            csim_rigid_def d = scene_rigid_def(1, 0.5, 0.24 * (i - (base - level - 1) * 0.5), 0, 0.1 + 0.2 * level);
            make_rigid(w, &d, &box, 1);
        }
    for (k = 0; k < 200 && step(w, 0.01); k++) {
    }
    for (level = 0; level < base; level++) {
        const int above = (base - level) * (base - level + 1) / 2;
        CASE("level %d", level);
        NEAR(load_through(w, 0.2 * level, 0.01) / (above * g), 1, TOL(1e-6, 1e-3));
    }
    csim_destroy_world(w);
}

/* ---- scenes that stand */

static void stand(const char *name, const char *settings, double drift_mm, double penetration_mm) {
    const double seconds = long_runs() ? 600 : CSIM_REAL_SIZE == 8 ? 10 : 3;
    run r = run_scene(name, settings, 0, seconds, 0, -1);
    CASE("%s %s", name, settings);
    CHECK(figure(&r, "stands") > 0);
    if (CSIM_REAL_SIZE == 8) {
        CHECK(figure(&r, "drift_mm") < drift_mm);
        CHECK(figure(&r, "sat_mm") < penetration_mm);
        CHECK(1e3 * r.sums.max[COLUMN_penetration] < penetration_mm);
        EQUAL(r.sums.uncertified, 0);
    }
    scene_close(r.s);
}

/* Drift: the issue's. Penetration where it gives none: 0.05 mm, what it asks of the heavy stacks. */
TEST(stack_stands) { stand("stack", "", 0.1, 0.05); }
TEST(card_house_stands) { stand("card-house", "", 0.025, 0.05); }
TEST(arch_stands) { stand("arch", "", 0.1, 0.05); }
TEST(thin_arch_stands) { stand("arch", "thickness=0.115", 0.1, 0.05); }

DOUBLE_TEST(heavy_stacks_stand) { /* a mass ratio of 1000 is asked in double */
    stand("heavy-stack", "", 1, 0.05); /* their drift is not asked; this only says that nothing happens */
    stand("heavy-stack", "variant=v", 1, 0.05);
    stand("heavy-stack", "variant=p", 1, 0.05);
}

/* COND alone, at small and large gains of its virtual nodes: every step converges below the cap, and stays as still as
   the issue asks of the default solver. */
LONG_IN_FLOAT(cond_alone_stands_at_any_gain) {
    static const char *const name[] = {"sliding-box", "stack", "heavy-stack", "arch", "card-house"};
    static const char *const gain[] = {"gain=30", "gain=1e3", "gain=1e4"};
    int k, j;
    for (k = 0; k < 5; k++)
        for (j = 0; j < 3; j++) {
            scene_options o = scene_default_options();
            run r;
            if (CSIM_REAL_SIZE == 4 && k == 2) continue; /* a mass ratio of 1000 is asked in double */
            o.solver = CSIM_SOLVER_COND;
            o.seconds = long_runs() ? 60 : k ? 2 : 1;
            o.tolerance = 5e-5;
            r = run_with(name[k], gain[j], &o);
            CASE("%s %s", name[k], gain[j]);
            if (k) CHECK(figure(&r, "stands") > 0);
            if (CSIM_REAL_SIZE == 8) EQUAL(r.sums.uncertified, 0);
            if (CSIM_REAL_SIZE == 8) CHECK(r.sums.max[COLUMN_iterations] < 600);
            if (CSIM_REAL_SIZE == 8) CHECK(1e3 * r.sums.max[COLUMN_penetration] < 0.001);
            if (CSIM_REAL_SIZE == 8 && k) CHECK(figure(&r, "drift_mm") < 0.001);
            scene_close(r.s);
        }
}

TEST(too_thin_arch_falls) {
    run r = run_scene("arch", "thickness=0.1", 0, 10, 0, -1);
    CHECK(!(figure(&r, "stands") > 0));
    scene_close(r.s);
}

/* ---- solids */

static void drop(const char *file, double seconds, double latest) {
    char text[200];
    run r;
    snprintf(text, sizeof text, "mesh=%s others=0", file);
    r = run_scene("drop-mesh", text, 0, seconds, 0, -1);
    CASE("%s", file);
    if (CSIM_REAL_SIZE == 8) {
        EQUAL(r.sums.uncertified, 0);
        CHECK(figure(&r, "rest_time_s") >= 0);
        CHECK(figure(&r, "rest_time_s") <= latest);
    }
    EQUAL(figure(&r, "inverted"), 0);
    CHECK(r.sums.max[COLUMN_penetration] < TOL(1e-6, 1e-4));
    scene_close(r.s);
}

SLOW_TEST(shipped_mesh_comes_to_rest) { drop("examples/scenes/mascot.msh", 7, 5); }

NEEDS("../shared/real/meshes/raptorTetra_8418.vtu", meshes_of_others_come_to_rest) {
    drop("../shared/real/meshes/raptorTetra_8418.vtu", 5, 3);
    drop("../shared/real/meshes/liver.msh", 6, 5);
}

static const char *const solid_scenes[] = {"ball", "squeeze", "mat", "soft-mat"};

/* Coarse meshes by default: a tenth of the nodes. */
static run run_solid(int which) {
    scene_options o = scene_default_options();
    o.size = long_runs() ? 0 : which < 2 ? 4 : 13;
    return run_with(solid_scenes[which], "", &o);
}

TEST(solids_of_the_comparison_stay_whole_and_outside) {
    int i;
    for (i = 0; i < 4; i++) {
        run r = run_solid(i);
        CASE("%s", solid_scenes[i]);
        EQUAL(figure(&r, "inverted"), 0);
        CHECK(1e3 * r.sums.max[COLUMN_penetration] <= TOL(1e-6, 1e-2)); /* mm, as the fold must */
        scene_close(r.s);
    }
}

DOUBLE_TEST(solids_of_the_comparison_are_certified) { /* asked in double */
    int i;
    for (i = 0; i < 4; i++) {
        run r = run_solid(i);
        CASE("%s", solid_scenes[i]);
        EQUAL(r.sums.uncertified, 0);
        scene_close(r.s);
    }
}

/* Coarse spaces that grow as n^(2/3) keep the iterations of a mat: 338 and 2738 nodes, dropped and dragged. */
DOUBLE_TEST(iterations_of_a_mat_hardly_grow_with_its_size) { /* asked in double */
    static const int size[2] = {13, 37};
    double mean[2];
    int i;
    for (i = 0; i < 2; i++) {
        scene_options o = scene_default_options();
        run r;
        o.size = size[i];
        o.tolerance = 5e-5;
        o.seconds = long_runs() ? 0 : 1.1;
        r = run_with("soft-mat", "", &o);
        mean[i] = columns_mean(&r.sums, COLUMN_iterations);
        EQUAL(r.sums.uncertified, 0);
        scene_close(r.s);
    }
    printf("    growth %.2f at 8.1 times the nodes: %.1f and %.1f\n", mean[1] / mean[0], mean[0], mean[1]);
    CHECK(mean[1] <= 1.2 * mean[0]);
}

/* A thin mat has nearly twice the groups of a ball; with those of a ball it takes 47 products a step. */
DOUBLE_TEST(a_mat_is_folded_in_forty_products_a_step) { /* asked in double */
    scene_options o = scene_default_options();
    run r = run_with("soft-mat", "", &o);
    printf("    %.1f products a step\n", figure(&r, "products_mean"));
    CHECK(figure(&r, "products_mean") <= 40);
    EQUAL(r.sums.uncertified, 0);
    scene_close(r.s);
}

/* In free flight a solid moves as its coarse part says: it is not iterated down from the velocity of the step before. */
TEST(solid_in_flight_takes_two_iterations) {
    scene_options o = scene_default_options();
    run r;
    o.size = 4;
    o.tolerance = TOL(5e-5, 1e-3);
    o.seconds = 0.08; /* it lands after a tenth */
    r = run_with("ball", "", &o);
    EQUAL(r.sums.max[COLUMN_contacts], 0);
    CHECK(r.sums.max[COLUMN_iterations] <= TOL(2, 8)); /* float: 24 before; A v rounds to a thousandth of m g h */
    EQUAL(r.sums.uncertified, 0);
    scene_close(r.s);
}

/* A ragdoll with a cape is one island with cloth and joints, and its joints are closed by solving it again and again.
   Sweeps through a factor leave little to the next solve: no product, where COND's few iterations before them took 250
   of A a step, and Newton's factors at once, where a start is near, as much as 85 sweeps. The first solve of a step leaves its factor to the others, which test_auto.c looks at. */
TEST(joints_of_an_island_with_cloth_close_in_few_solves) {
    scene_options o = scene_default_options();
    const csimi_step_frame *frame; /* begins the scratch of a step */
    run r;
    o.h = 1 / 60.0;
    o.tolerance = 1e-3;
    o.seconds = 1;
    r = run_with("ragdoll-cape", "", &o);
    printf("    %.0f products a step\n", figure(&r, "products_mean"));
    CHECK(figure(&r, "products_mean") < 20);
    EQUAL(r.sums.uncertified, 0);
    frame = (const csimi_step_frame *)(void *)csimi_arena_in(r.s->world->store.scratch, 1 << 16).base;
    CHECK(frame->shelf.list && frame->shelf.room.used > 100000); /* bytes */
    scene_close(r.s);
}

/* A mixed heap comes to rest. */
TEST(soft_and_rigid_bodies_rest_in_one_heap) {
    scene_options o = scene_default_options();
    run r;
    o.seconds = 4; /* rest is called rest after a second of it */
    r = run_with("heap", "", &o);
    CHECK(figure(&r, "rest_time_s") > 0);
    CHECK(csim_world_stats(r.s->world).penetration < TOL(1e-7, 1e-5));
    scene_close(r.s);
}

TEST(gripped_ball_is_lifted_and_held) {
    static const char *const ways[] = {"E=1e5", "E=1e6", "E=1e7", "gain=30", "gain=1e4", "drive=kinematic"};
    int i;
    for (i = 0; i < 6; i++) {
        scene_options o = scene_default_options();
        run r;
        o.size = long_runs() ? 0 : 4;
        r = run_with("ball-grip", ways[i], &o);
        CASE("%s", ways[i]);
        CHECK(figure(&r, "lifted_mm") > 90);
        CHECK(figure(&r, "slip_mm") < 0.1);
        EQUAL(figure(&r, "inverted"), 0);
        if (CSIM_REAL_SIZE == 8) EQUAL(r.sums.uncertified, 0);
        scene_close(r.s);
    }
}

/* Pulled to twice its length at nu 0.45 between held ends: the linear law loses more than a third of its volume, the
   stable neo-Hookean one keeps it within a tenth, as in the figure of the non-smooth Newton paper. */
TEST(neo_hookean_block_keeps_its_volume_when_stretched) {
    static const char *const ways[] = {"material=co-rotational", "material=neo-hookean"};
    double ratio[2];
    int i;
    for (i = 0; i < 2; i++) {
        scene_options o = scene_default_options();
        run r;
        o.size = 3;
        r = run_with("stretch", ways[i], &o);
        ratio[i] = figure(&r, "volume_ratio");
        EQUAL(figure(&r, "inverted"), 0);
        EQUAL(r.sums.uncertified, 0);
        scene_close(r.s);
    }
    CHECK(ratio[0] < 0.67);
    NEAR(ratio[1], 1, 0.1);
}

LONG_TEST(soft_fingers_lift_what_they_hold) {
    scene_options o = scene_default_options();
    run r;
    r = run_with("pneunet", "", &o);
    CHECK(figure(&r, "rise_mm") > 90);
    EQUAL(figure(&r, "inverted"), 0);
    if (CSIM_REAL_SIZE == 8) EQUAL(r.sums.uncertified, 0);
    scene_close(r.s);
    r = run_with("soft-gripper", "", &o);
    CHECK(figure(&r, "rise_mm") > 49);
    CHECK(figure(&r, "slip_mm") < 1);
    if (CSIM_REAL_SIZE == 8) EQUAL(r.sums.uncertified, 0);
    scene_close(r.s);
}

LONG_IN_FLOAT(sheet_rests_on_the_sphere) {
    scene_options o = scene_default_options();
    run r;
    o.size = long_runs() ? 0 : 15;
    r = run_with("cloth", "", &o);
    CHECK(figure(&r, "surface_depth_mm") < TOL(1e-6, 1e-2));
    if (CSIM_REAL_SIZE == 8) CHECK(figure(&r, "creep_um_per_s") < 1);
    if (CSIM_REAL_SIZE == 8) CHECK(figure(&r, "rest_time_s") > 0);
    scene_close(r.s);
}

TEST(mix_runs_with_every_option) {
    static const char *const ways[] = {"", "law=proximal", "law=invertible", "shift=0 gain=30",
                                       "stabilization=0.2 slop=1e-4"};
    int i;
    for (i = 0; i < 5; i++) {
        run r = run_scene("mix", ways[i], 0, 2, 0, -1);
        CASE("%s", ways[i]);
        CHECK(r.sums.contact_steps > 100);
        CHECK(r.sums.max[COLUMN_penetration] < 0.01); /* nothing flies apart or falls through */
        CHECK(r.sums.max[COLUMN_kinetic] < 50);
        scene_close(r.s);
    }
}

/* ---- the frame itself */

TEST(scene_refuses_with_a_sentence) {
    scene_options o = scene_default_options();
    char why[SCENE_TEXT] = "";
    scene *s;
    CHECK(!scene_open("stak", &o, why, sizeof why) && strstr(why, "stak") && strstr(why, "card-house"));
    CHECK(scene_set(&o, "muu=1") && !scene_open("stack", &o, why, sizeof why));
    CHECK(strstr(why, "muu") && strstr(why, "mu, "));
    o = scene_default_options();
    CHECK(scene_set(&o, "mu=slippery") && !scene_open("stack", &o, why, sizeof why) && strstr(why, "slippery"));
    o = scene_default_options();
    CHECK(scene_set(&o, "variant=z") && !scene_open("heavy-stack", &o, why, sizeof why) && strstr(why, "g|v|p"));
    o = scene_default_options();
    CHECK(scene_set(&o, "mesh=no/such/file.msh") && !scene_open("drop-mesh", &o, why, sizeof why));
    CHECK(strstr(why, "no/such/file.msh") != NULL);
    CHECK(!scene_set(&o, "mu") && !scene_set(&o, "=1"));
    o = scene_default_options();
    o.h = 7;
    s = scene_open("stack", &o, why, sizeof why);
    REQUIRE(s != NULL);
    CHECK(!scene_step(s) && strstr(s->error, "1e-7..1")); /* the library's own sentence */
    scene_close(s);
}

TEST(structured_meshes_fill_their_shapes) {
    scene_mesh m;
    double volume = 0;
    int t;
    REQUIRE(scene_mesh_ball(&m, 7, 3, 0.05));
    EQUAL(m.vertex_count, 1400);
    EQUAL(m.tet_count, 7350);
    for (t = 0; t < m.tet_count; t++) {
        const double v = scene_mesh_volume(&m, m.tets + 4 * t);
        CHECK(v > 1e-9);
        volume += v;
    }
    NEAR(volume, 4 * pi / 3 * 1.25e-4, 0.03 * 5.2e-4); /* inscribed, 42 triangles across each of 6 sides */
    scene_mesh_free(&m);
    REQUIRE(scene_mesh_box(&m, 26, 26, 1, scene_v3(-0.13, -0.13, 0), scene_v3(0.13, 0.13, 0.01)));
    EQUAL(m.vertex_count, 1458);
    EQUAL(m.tet_count, 4056);
    scene_mesh_free(&m);
}

/* The independent depth against depths known by construction. */
TEST(sat_depth_of_known_overlaps) {
    double corner[8][3], tilt = pi / 4;
    sat_shape box, ball;
    sat_pose a = {{0, 0, 0}, {1, 0, 0, 0}}, b = {{0.15, 0, 0}, {1, 0, 0, 0}};
    int i, k;
    for (i = 0; i < 8; i++)
        for (k = 0; k < 3; k++) corner[i][k] = (i >> k & 1 ? 1 : -1) * 0.1;
    REQUIRE(sat_from_points(&box, corner, 8));
    EQUAL(box.normal_count, 3);
    EQUAL(box.edge_count, 3);
    sat_sphere(&ball, 0.1);
    NEAR(sat_depth(&box, &a, &box, &b), 0.05, 1e-15);
    NEAR(sat_depth(&ball, &a, &box, &b), 0.05, 1e-15);
    NEAR(sat_depth(&ball, &a, &ball, &b), 0.05, 1e-15);
    a.rotation[0] = cos(tilt / 2); /* on edge: reaches sqrt 2 as far along x */
    a.rotation[3] = sin(tilt / 2);
    b.position[0] = 0.2;
    NEAR(sat_depth(&box, &a, &box, &b), 0.1 * sqrt(2.0) - 0.1, 1e-15);
    NEAR(sat_floor_depth(&box, &a), 0.1, 1e-15);
    sat_free(&box);
}

/* ---- robots */

/* The built-in quadruped and, where it is, the file: certified in every task. */
static void quadruped_case(const char *settings, double seconds, double lowest, double highest) {
    run r = run_scene("quadruped", settings, 0, seconds, 0, -1);
    CHECK(figure(&r, "uncertified") <= 0);
    CHECK(figure(&r, "lowest_m") > lowest && figure(&r, "highest_m") < highest);
    EQUAL((int)figure(&r, "dof"), 18);
    scene_close(r.s);
}

TEST(quadruped_trots_hangs_falls_and_fidgets) {
    quadruped_case("urdf=none task=trot", 2, 0.3, 0.6); /* stays on its feet */
    quadruped_case("urdf=none task=hang", 1, 0.6, 1.3);
    quadruped_case("urdf=none task=drop", 1.5, 0.05, 1);
    quadruped_case("urdf=none task=random", 1, 0.1, 0.7);
    quadruped_case("task=trot", 2, 0.4, 0.56);
    quadruped_case("task=drop", 1.5, 0.05, 1);
}

/* Where only its feet stop at the ground the limp robot falls through and hangs from them. */
TEST(quadruped_hangs_by_its_feet) {
    run r = run_scene("quadruped", "urdf=none task=feet", 0, 2, 0, -1);
    CHECK(figure(&r, "lowest_m") < -0.1 && figure(&r, "lowest_m") > -0.4); /* legs of 0.6 m, bent or not */
    CHECK(figure(&r, "contacts_mean") > 2);
    CHECK(figure(&r, "uncertified") <= 0);
    scene_close(r.s);
}

/* Effort limits of the file (80 N m) leave a trot as it is, but for the landing of the start. Only drives at their limit
   have a row: with rows for all of them contacts see limp legs, and 26 of the 1000 steps stopped at the cap of sweeps. */
TEST(quadruped_trots_with_limited_efforts) {
    run a = run_scene("quadruped", "task=trot", 0, 1, 0, -1),
        b = run_scene("quadruped", "task=trot effort=1", 0, 1, 0, -1);
    CHECK(figure(&b, "uncertified") <= 0);
    CHECK(figure(&b, "iterations_mean") < figure(&a, "iterations_mean") + 1);
    NEAR(figure(&a, "lowest_m"), figure(&b, "lowest_m"), 0.03);
    scene_close(a.s);
    scene_close(b.s);
}

TEST(arm_draws_its_circle) {
    run r = run_scene("arm", "", 0, 4, 0, -1);
    CHECK(figure(&r, "uncertified") <= 0);
    CHECK(figure(&r, "track_error_mm") < 2);
    scene_close(r.s);
}

TEST(arm_folds_the_mat) {
    scene_options o = scene_default_options();
    run r;
    o.size = 8;
    r = run_with("mat-fold", "", &o);
    CHECK(figure(&r, "uncertified") <= 0);
    CHECK(figure(&r, "edge_moved_m") > 0.27); /* of 0.3: laid on the other edge */
    CHECK(figure(&r, "deepest_mm") < 0.01);
    EQUAL((int)figure(&r, "inverted"), 0);
    scene_close(r.s);
}

/* Every kind of body, shape, material and joint in one pen: one heap, in which each kind touches another kind. */
SLOW_LONG_IN_FLOAT(everything_comes_to_rest_in_one_heap) {
    run r = run_scene("everything", "", 0, 0, 0, -1);
    EQUAL((int)figure(&r, "bodies"), 21);
    EQUAL((int)figure(&r, "kinds_touching"), CSIM_BODY_KIND_COUNT_);
    CHECK(figure(&r, "in_heap") >= 15);
    if (CSIM_REAL_SIZE == 8) CHECK(figure(&r, "rest_time_s") > 0); /* float: another heap, which trembles longer */
    CHECK(figure(&r, "uncertified") <= 4); /* of 400: chaotic, the bits of a sine decide between 0 and 4 */
    scene_close(r.s);
}

/* A variation of `everything` whose mat flew apart when points could keep their side of any layer within 120 degrees of
   the one they were met with, not of the nearest alone. */
DOUBLE_TEST(everything_holds_where_a_mat_wraps) { /* float: another heap */
    int k, deep = 0;
    for (k = 0; k < 6; k++) { /* chaotic: in one of twelve frictions a corner of the mat is 80 mm deep in the heap */
        scene_options o = scene_default_options();
        char text[64];
        run r;
        o.seed = 10;
        o.h = 1.0 / 60;
        o.seconds = 0.3;
        snprintf(text, sizeof text, "E=1.249e5 mu=%.4f mass=2.6", 0.486 + 1e-4 * k);
        r = run_with("everything", text, &o);
        CHECK(figure(&r, "uncertified") <= 0);
        deep += !(figure(&r, "penetration_mm") < 10);
        scene_close(r.s);
    }
    CHECK(deep <= 1);
}

/* In forty iterations hardly a step of it is solved: what is kept is no answer, and gains nothing. Worlds ended tens of
   kilometres away, or at numbers that are none. */
TEST(everything_gains_nothing_where_solves_miss) {
    static const char *const settings[2] = {"E=2.49e5 mu=1.11 mass=0.82", "E=4.93e5 mu=0.74 mass=1.4"};
    static const int seed[2] = {16, 35};
    int k, i;
    for (k = 0; k < 2; k++) {
        scene_options o = scene_default_options();
        char text[64], why[SCENE_TEXT] = "", *word;
        csim_solver_params p;
        scene *s;
        o.seed = (unsigned long long)seed[k];
        o.h = 1.0 / 60;
        o.steps = 30;
        snprintf(text, sizeof text, "%s", settings[k]);
        for (word = strtok(text, " "); word; word = strtok(NULL, " ")) CHECK(scene_set(&o, word));
        s = scene_open("everything", &o, why, sizeof why);
        REQUIRE(s != NULL);
        p = csim_default_solver_params();
        p.max_iterations = 40;
        STATUS(csim_world_set_solver(s->world, &p), CSIM_OK);
        for (i = 0; i < o.steps; i++) CHECK(scene_step(s));
        scene_finish(s);
        CASE("%s", settings[k]);
        CHECK(scene_figure_of(s, "uncertified") > 10);
        CHECK(scene_figure_of(s, "energy_gain_max") < 0.2); /* of a step; solids of the scene give or take some */
        scene_close(s);
    }
}

/* Two fingers of 12 N hold a ball that needs mu = m (g + 5) / 24 while it is shaken: a slipping one falls. */
TEST(hand_holds_the_soft_ball_where_statics_says) {
    run r = run_scene("soft-ball", "", 0, long_runs() ? 11 : 4, 0, -1);
    char text[64];
    double mu = figure(&r, "mu_statics");
    CHECK(figure(&r, "held") > 0);
    CHECK(figure(&r, "slip_mm") < 1);
    NEAR(mu, 0.3, 0.01);
    scene_close(r.s);
    r = run_scene("soft-ball", "paths=1", 0, 1.5, 0, -1); /* looks along the ways of fingers put them back */
    CHECK(figure(&r, "held") > 0 && figure(&r, "slip_mm") < 1);
    scene_close(r.s);
    if (!long_runs()) return;
    snprintf(text, sizeof text, "mu=%.5f", 1.03 * mu);
    r = run_scene("soft-ball", text, 0, 0, 0, -1);
    CHECK(figure(&r, "held") > 0);
    scene_close(r.s);
    snprintf(text, sizeof text, "mu=%.5f", 0.97 * mu);
    r = run_scene("soft-ball", text, 0, 0, 0, -1);
    CHECK(figure(&r, "held") < 1);
    scene_close(r.s);
}
