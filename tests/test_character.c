/* Characters: planes against the distance functions of shapes, slides against Dykstra's projections, moves against what
   they may not go through. */
#include "check.h"
#include <math.h>

static csim_world *empty(void) {
    csim_world_def wd = csim_default_world_def();
    csim_world *w = NULL;
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    return w;
}

static csim_body_id put(csim_world *w, csim_shape shape, csim_pose pose, csim_motion motion) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id = {0, 0, 0};
    d.shapes = &shape;
    d.shape_count = 1;
    d.pose = pose;
    d.motion = motion;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

static csim_real draw(double size) { return (csim_real)(check_random(-1, 1) * size); }
static csim_vec3 draw3(double size) {
    const csim_real x = draw(size), y = draw(size);
    return csim_v3(x, y, draw(size));
}
static csim_pose draw_pose(double size) {
    csim_pose p;
    p.position = draw3(size);
    p.rotation = csim_quat_exp(draw3(2));
    return p;
}

static csim_mover mover(csim_vec3 a, csim_vec3 b, double radius) {
    csim_mover m;
    m.a = a;
    m.b = b;
    m.radius = (csim_real)radius;
    return m;
}

/* Distance of the axis of a capsule to a convex shape: a convex function along it. */
static double axis_distance(const csim_geometry *g, csim_pose pose, const csim_mover *m) {
    double low = 0, high = 1;
    int k;
    for (k = 0; k < 200; k++) {
        const double s = low + (high - low) / 3, t = high - (high - low) / 3;
        const csim_vec3 e = csim_sub(m->b, m->a);
        const double f = (double)csim_shape_distance(g, NULL, pose, csim_madd(m->a, (csim_real)s, e), NULL, NULL);
        const double h = (double)csim_shape_distance(g, NULL, pose, csim_madd(m->a, (csim_real)t, e), NULL, NULL);
        if (f < h) high = t;
        else low = s;
    }
    return (double)csim_shape_distance(g, NULL, pose, csim_madd(m->a, (csim_real)low, csim_sub(m->b, m->a)), NULL,
                                       NULL);
}

TEST(planes_are_those_of_the_nearest_points) {
    double worst = 0, tilt = 0;
    int n, met = 0;
    for (n = 0; n < 600; n++) {
        csim_world *w = empty();
        const csim_shape shape = n % 3 == 0   ? csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.2), CSIM_R(0.8)))
                                 : n % 3 == 1 ? csim_sphere(CSIM_R(0.6))
                                              : csim_capsule(CSIM_R(0.3), CSIM_R(0.5));
        const csim_pose pose = draw_pose(1);
        const csim_mover m = mover(draw3(1.5), draw3(1.5), 0.2);
        csim_geometry g;
        csim_plane p;
        double d;
        put(w, shape, pose, CSIM_STATIC);
        STATUS(csim_shape_bake(&shape, &g, NULL, NULL), CSIM_OK);
        d = axis_distance(&g, pose, &m);
        if (d > 0.01) {
            const int count = csim_world_capsule_planes(w, NULL, &m, 1, &p, 1);
            CHECK((count == 1) == (d - 0.2 <= 1));
            if (count == 1) {
                double far = 1e9;
                int k;
                met++;
                worst = fmax(worst, fabs((double)p.gap - (d - 0.2)));
                for (k = 0; k <= 10; k++) /* the plane keeps the axis on its side, at least as far */
                    far = fmin(far, (double)csim_dot(p.normal, csim_sub(csim_madd(m.a, (csim_real)k / 10,
                                                                                   csim_sub(m.b, m.a)),
                                                                        p.point)));
                tilt = fmax(tilt, d - far);
            }
        }
        csim_destroy_world(w);
    }
    printf("    %d met: gaps off by %.2g m, planes tilted by %.2g m\n", met, worst, tilt);
    CHECK(met > 200);
    FIGURE("gaps_off", worst);
    CHECK(worst < TOL(1e-7, 1e-4));
    CHECK(tilt < TOL(1e-6, 1e-3));
}

/* x is the point of a convex set nearest to `way` if it is in the set and (way - x) . (y - x) <= 0 for all y of it. */
TEST(slides_are_the_nearest_ways) {
    double outside = 0, nearer = 0;
    int n, i, k, tried = 0, bent = 0;
    for (n = 0; n < 2000; n++) {
        csim_plane p[7];
        const int count = n % 8;
        const csim_vec3 way = draw3(1);
        csim_vec3 x;
        memset(p, 0, sizeof p);
        for (i = 0; i < count; i++) {
            p[i].normal = csim_normalize(draw3(1));
            p[i].gap = n % 2 ? 0 : CSIM_R(0.1) + draw(0.1);
        }
        x = csim_slide(p, count, 0, way);
        bent += csim_length(csim_sub(x, way)) > 0;
        for (i = 0; i < count; i++) outside = fmax(outside, -(double)(p[i].gap + csim_dot(p[i].normal, x)));
        for (k = 0; k < 100; k++) {
            const csim_vec3 y = csim_madd(k % 2 ? x : csim_v3(0, 0, 0), CSIM_R(0.3), draw3(1));
            bool in = true;
            for (i = 0; i < count; i++) in = in && p[i].gap + csim_dot(p[i].normal, y) >= 0;
            if (!in) continue;
            tried++;
            nearer = fmax(nearer, (double)csim_dot(csim_sub(way, x), csim_sub(y, x)));
        }
    }
    printf("    %d of 2000 bent, outside by %.2g, %d others nearer by %.2g\n", bent, outside, tried, nearer);
    CHECK(bent > 1000 && tried > 20000);
    FIGURE("slides_outside", outside);
    FIGURE("slides_nearer", nearer);
    FIGURE("slides_tried", tried);
    CHECK(outside < TOL(1e-12, 1e-4));
    CHECK(nearer < TOL(1e-12, 1e-4));
}

TEST(slides_push_out_and_stay_in_corners) {
    csim_plane p[4];
    csim_vec3 x;
    memset(p, 0, sizeof p);
    p[0].normal = csim_v3(1, 0, 0);
    p[1].normal = csim_v3(-1, 0, 0);
    p[0].gap = CSIM_R(-0.1);
    x = csim_slide(p, 1, CSIM_R(0.01), csim_v3(0, 1, 0));
    NEAR(x.x, 0.11, TOL(1e-12, 1e-6));
    NEAR(x.y, 1, 0);
    x = csim_slide(p, 2, 0, csim_v3(0, 1, 0)); /* pressed from both sides: the least of two evils */
    CHECK(fabs((double)x.x) <= 0.1 + 1e-6);
    x = csim_slide(NULL, 3, 0, csim_v3(0, 1, 0));
    NEAR(x.y, 1, 0);
}

/* ---- moves */

static double nearest_gap(const csim_world *w, const csim_mover *m) {
    csim_plane p;
    return csim_world_capsule_planes(w, NULL, m, 1, &p, 1) ? (double)p.gap : 1;
}

TEST(moves_slide_along_walls_and_stop_in_corners) {
    csim_world *w = empty();
    csim_mover m = mover(csim_v3(0, 0, CSIM_R(0.5)), csim_v3(0, 0, CSIM_R(1.3)), 0.4);
    csim_pose pose = csim_pose_identity();
    csim_body_id ground;
    csim_plane at[8];
    csim_vec3 gone;
    int count;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    pose.position = csim_v3(3, 0, 0);
    put(w, csim_box(csim_v3(1, 10, 5)), pose, CSIM_STATIC); /* a wall at x = 2 */
    gone = csim_world_move_capsule(w, NULL, &m, csim_v3(5, 3, 0), CSIM_R(0.01), at, 8, &count);
    NEAR(gone.x, 1.59, TOL(1e-6, 1e-3)); /* up to the wall, less the skin */
    NEAR(gone.y, 3, TOL(1e-6, 1e-3));    /* all of the way along it */
    NEAR(gone.z, 0, TOL(1e-6, 1e-3));
    EQUAL(count, 1);
    NEAR(at[0].normal.x, -1, TOL(1e-7, 1e-3));
    pose.position = csim_v3(0, 5, 0);
    put(w, csim_box(csim_v3(10, 1, 5)), pose, CSIM_STATIC); /* another one at y = 4 */
    gone = csim_world_move_capsule(w, NULL, &m, csim_v3(50, 30, -3), CSIM_R(0.01), at, 8, &count);
    NEAR(gone.x, 1.59, TOL(1e-6, 1e-3));
    NEAR(gone.y, 3.59, TOL(1e-6, 1e-3));
    NEAR(gone.z, -0.09, TOL(1e-6, 1e-3)); /* to the ground as well */
    EQUAL(count, 3);
    csim_destroy_world(w);
}

/* A capsule sent about at random among boxes, balls, a cloth and a cable: it never overlaps, and most of what is open
   to it is gone. */
TEST(moves_never_end_in_anything) {
    csim_world *w = empty();
    csim_mover m = mover(csim_v3(0, 0, 5), csim_v3(0, 0, CSIM_R(5.8)), 0.3);
    csim_cable_def cable = csim_default_cable_def();
    csim_body_id id;
    double worst = 1, far = 0, asked = 0;
    int n;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id), CSIM_OK);
    for (n = 0; n < 60; n++) {
        csim_pose pose = draw_pose(6);
        pose.position.z = (csim_real)fabs((double)pose.position.z);
        if (csim_length(csim_sub(pose.position, m.a)) < 2) continue;
        put(w, n % 2 ? csim_box(csim_v3(CSIM_R(0.8), CSIM_R(0.3), CSIM_R(0.6))) : csim_sphere(CSIM_R(0.7)), pose,
            CSIM_STATIC);
    }
    cable.start = csim_v3(-5, -3, 2);
    cable.end = csim_v3(5, -3, 2);
    cable.segments = 20;
    cable.radius = CSIM_R(0.1);
    STATUS(csim_create_cable(w, &cable, &id), CSIM_OK);
    for (n = 0; n < 3000; n++) {
        csim_vec3 way = draw3(0.6), gone;
        if (fabs((double)m.a.x) > 5) way.x = m.a.x > 0 ? CSIM_R(-0.3) : CSIM_R(0.3);
        if (fabs((double)m.a.y) > 5) way.y = m.a.y > 0 ? CSIM_R(-0.3) : CSIM_R(0.3);
        if (m.a.z > 5) way.z = CSIM_R(-0.3);
        gone = csim_world_move_capsule(w, NULL, &m, way, CSIM_R(0.01), NULL, 0, NULL);
        m.a = csim_add(m.a, gone);
        m.b = csim_add(m.b, gone);
        worst = fmin(worst, nearest_gap(w, &m));
        far += (double)csim_length(gone);
        asked += (double)csim_length(way);
    }
    printf("    nearest to anything %.4f m, went %.0f of %.0f m\n", worst, far, asked);
    CHECK(worst > 0);
    FIGURE("moves_gone", far / asked);
    CHECK(far > 0.5 * asked);
    csim_destroy_world(w);
}

TEST(planes_know_how_fast_things_are) {
    csim_world *w = empty();
    csim_mover m = mover(csim_v3(2, 0, CSIM_R(0.9)), csim_v3(2, 0, CSIM_R(1.7)), 0.3);
    csim_body_id id = put(w, csim_box(csim_v3(3, 3, CSIM_R(0.5))), csim_pose_identity(), CSIM_KINEMATIC);
    csim_plane p;
    STATUS(csim_body_set_velocity(w, id, csim_v3(0, 0, 1), csim_v3(0, 0, 2)), CSIM_OK);
    EQUAL(csim_world_capsule_planes(w, NULL, &m, CSIM_R(0.2), &p, 1), 1);
    NEAR(p.gap, 0.1, TOL(1e-9, 1e-5));
    NEAR(p.velocity.x, 0, TOL(1e-9, 1e-5));
    NEAR(p.velocity.y, 4, TOL(1e-9, 1e-4));
    NEAR(p.velocity.z, 1, TOL(1e-9, 1e-5));
    csim_destroy_world(w);
}

TEST(what_is_no_capsule_is_refused) {
    csim_world *w = empty();
    csim_mover m = mover(csim_v3(0, 0, 1), csim_v3(0, 0, 1), 0.3); /* a ball */
    csim_query_def def = csim_default_query_def();
    csim_error error;
    csim_plane p[2];
    csim_query_hit hit;
    csim_vec3 gone;
    csim_body_id ground;
    int count;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    EQUAL(csim_world_capsule_planes(w, NULL, &m, 1, p, 2), 1);
    NEAR(p[0].gap, 0.7, TOL(1e-12, 1e-6));
    CHECK(csim_world_cast_capsule(w, NULL, &m, csim_v3(0, 0, -2), &hit));
    NEAR(hit.distance, 0.7, TOL(1e-9, 1e-5));
    def.error = &error;
    m.radius = 0;
    EQUAL(csim_world_capsule_planes(w, &def, &m, 1, p, 2), 0);
    CHECK(strstr(error.text, "capsule.radius") != NULL);
    m.radius = 1;
    EQUAL(csim_world_capsule_planes(w, &def, &m, (csim_real)NAN, p, 2), 0);
    CHECK(strstr(error.text, "within") != NULL);
    m.a.x = (csim_real)NAN;
    gone = csim_world_move_capsule(w, &def, &m, csim_v3(1, 0, 0), CSIM_R(0.01), p, 2, &count);
    CHECK(csim_length(gone) <= 0 && count == 0 && strstr(error.text, "capsule.a") != NULL);
    CHECK(!csim_world_cast_capsule(w, &def, NULL, csim_v3(0, 0, -2), &hit));
    m.a = m.b;
    gone = csim_world_move_capsule(w, &def, &m, csim_v3((csim_real)INFINITY, 0, 0), CSIM_R(0.01), p, 2, &count);
    CHECK(csim_length(gone) <= 0);
    csim_destroy_world(w);
}

/* A trigger zone stops nobody, unless it is asked for; nor does what is disabled, or what the filter keeps out. */
TEST(characters_go_through_sensors) {
    csim_world *w = empty();
    csim_pose at = csim_pose_identity();
    csim_shape zone = csim_box(csim_v3(1, 1, 1));
    csim_query_def query = csim_default_query_def();
    const csim_mover m = mover(csim_v3(-2, 0, 0), csim_v3(-2, 0, 1), 0.3);
    csim_plane p[4];
    csim_body_id id;
    csim_vec3 gone;
    zone.sensor = true;
    id = put(w, zone, at, CSIM_STATIC);
    gone = csim_world_move_capsule(w, NULL, &m, csim_v3(4, 0, 0), CSIM_R(0.01), NULL, 0, NULL);
    NEAR(gone.x, 4, TOL(1e-12, 1e-5));
    EQUAL(csim_world_capsule_planes(w, NULL, &m, 3, p, 4), 0);
    query.sensors = true;
    EQUAL(csim_world_capsule_planes(w, &query, &m, 3, p, 4), 1);
    csim_destroy_body(w, id);
    id = put(w, csim_box(csim_v3(1, 1, 1)), at, CSIM_STATIC);
    EQUAL(csim_world_capsule_planes(w, NULL, &m, 3, p, 4), 1);
    query.mask = 2;
    EQUAL(csim_world_capsule_planes(w, &query, &m, 3, p, 4), 0);
    STATUS(csim_body_set_enabled(w, id, false), CSIM_OK);
    EQUAL(csim_world_capsule_planes(w, NULL, &m, 3, p, 4), 0);
    csim_destroy_world(w);
}
