/* Rest: what lies still is certified by one look and stays to the last bit; what has a reason to move moves. */
#include "check.h"

static csim_world *world_of(csim_real tolerance, csim_vec3 gravity, csim_real friction) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id id;
    d.gravity = gravity;
    d.solver.tolerance = tolerance;
    STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), friction, &id), CSIM_OK);
    return w;
}

static csim_body_id place(csim_world *w, csim_motion motion, csim_shape shape, csim_vec3 where, csim_real friction) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id = {0, 0, 0};
    d.shapes = &shape;
    d.shape_count = 1;
    d.motion = motion;
    d.surface.friction = friction;
    d.pose.position = where;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

static csim_body_id put(csim_world *w, csim_shape shape, csim_real x, csim_real z, csim_real friction) {
    return place(w, CSIM_DYNAMIC, shape, csim_v3(x, 0, z), friction);
}

static csim_vec3 at(const csim_world *w, csim_body_id id) {
    csim_pose p = csim_pose_identity();
    STATUS(csim_body_get_pose(w, id, &p), CSIM_OK);
    return p.position;
}

static csim_step_stats run(csim_world *w, int steps) {
    while (steps-- > 0) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    return csim_world_stats(w);
}

static csim_shape cube(void) { return csim_box(csim_v3(CSIM_R(0.25), CSIM_R(0.25), CSIM_R(0.25))); }

/* Six piles, of three to eight boxes that overhang, at two tolerances: no bit of a pose changes once they rest. */
TEST(a_pile_comes_to_rest_to_the_last_bit) {
    int k, i;
    for (k = 0; k < 6; k++) {
        const csim_real tolerance = CSIM_R(k % 2 ? 1e-3 : TOL(1e-6, 1e-3));
        csim_world *w = world_of(tolerance, csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
        const csim_contact_info *contact;
        csim_body_id box[8];
        csim_vec3 was[8];
        csim_step_stats s;
        double deepest = 0;
        int count;
        CASE("pile %d", k);
        for (i = 0; i < 3 + k; i++)
            box[i] = put(w, cube(), CSIM_R(0.02) * (csim_real)((i * 7 + k) % 5),
                         CSIM_R(0.26) + CSIM_R(0.505) * (csim_real)i, CSIM_R(0.5));
        run(w, 400);
        for (i = 0; i < 3 + k; i++) was[i] = at(w, box[i]);
        s = run(w, 1);
        CHECK(s.result == CSIM_RESULT_CONVERGED && s.total_iterations == 0 && csim_world_rms_speed(w) <= 0);
        CHECK(csim_certificate_worst(&s.certificate) <= (double)tolerance);
        run(w, 200);
        contact = csim_world_contacts(w, &count);
        for (i = 0; i < count; i++) deepest = fmax(deepest, -(double)contact[i].gap);
        CHECK(csim_world_stats(w).penetration == deepest); /* as deep as when it came to rest, to the last bit too */
        for (i = 0; i < 3 + k; i++) {
            const csim_vec3 now = at(w, box[i]);
            CHECK(now.x == was[i].x && now.y == was[i].y && now.z == was[i].z);
        }
        csim_destroy_world(w);
    }
}

/* A stack of ten that stands is at rest within a second: what a solve leaves of its impulses does not keep it moving, in
   float either. */
TEST(a_stack_of_ten_comes_to_rest_in_float_too) {
    csim_world *w = world_of(CSIM_R(1e-3), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    csim_step_stats s;
    int i, iterations = 0;
    for (i = 0; i < 10; i++)
        place(w, CSIM_DYNAMIC, csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.5), CSIM_R(0.5))),
              csim_v3(0, 0, CSIM_R(0.5) + (csim_real)i), CSIM_R(0.5));
    for (i = 0; i < 100; i++) {
        s = run(w, 1);
        EQUAL((int)s.result, (int)CSIM_RESULT_CONVERGED);
        iterations += s.total_iterations;
    }
    printf("    %d iterations\n", iterations);
    CHECK(s.total_iterations == 0 && csim_world_rms_speed(w) <= 0);
    CHECK(iterations < 200);
    csim_destroy_world(w);
}

#ifndef CONDSIM_FLOAT /* which knows no such hair, and rests within the tolerance itself */
/* Eleven columns of 20 boxes, each half a micrometre into the next: impulses as coarse as the tolerance lets them be,
   and the pushing out of the overlaps, would keep seven of them trembling for seconds. */
TEST(a_column_a_hair_too_deep_stands) {
    csim_real turn = CSIM_R(0.3);
    int k, i;
    for (k = 0; k < 11; k++) {
        csim_world *w = world_of(CSIM_R(1e-3), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.6));
        csim_step_stats s;
        CASE("column %d", k);
        for (i = 0; i < 20; i++) {
            const csim_real x = CSIM_R(0.008) * (csim_real)((7 * i + 3 * k) % 11 - 5);
            const csim_real y = CSIM_R(0.008) * (csim_real)((5 * i + 2 * k * k) % 11 - 5);
            csim_pose pose = csim_pose_identity();
            const csim_body_id id = put(w, cube(), 0, CSIM_R(0.25), CSIM_R(0.6));
            turn = turn < 0 ? -turn / 2 : CSIM_R(0.01) * (csim_real)(i + k) - turn;
            pose.position = csim_v3(x, y, CSIM_R(0.25) + CSIM_R(0.4999995) * (csim_real)i);
            pose.rotation = csim_quat_axis_angle(csim_v3(0, 0, 1), turn);
            STATUS(csim_body_set_pose(w, id, pose), CSIM_OK);
        }
        s = run(w, 100);
        CHECK(s.result == CSIM_RESULT_CONVERGED && s.total_iterations == 0 && csim_world_rms_speed(w) <= 0);
        csim_destroy_world(w);
    }
}
#endif

/* 30 m up float knows heights to 2e-6 m: a pile that overlaps by twice that is not pushed apart, and rests at once. */
TEST(overlaps_of_rounding_push_nothing) {
    csim_world *w = world_of(CSIM_R(TOL(5e-5, 1e-3)), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    csim_body_id box[6];
    csim_vec3 was[6];
    csim_step_stats s;
    int i;
    place(w, CSIM_STATIC, csim_box(csim_v3(5, 5, CSIM_R(0.5))), csim_v3(0, 0, CSIM_R(29.5)), CSIM_R(0.5));
    for (i = 0; i < 6; i++) {
        const double z = 30.25 + (0.5 - TOL(0, 4e-6)) * i;
        box[i] = put(w, cube(), CSIM_R(0.01) * (csim_real)(i % 3), CSIM_R(z), CSIM_R(0.5));
        was[i] = at(w, box[i]);
    }
    s = run(w, 100);
    CHECK(s.result == CSIM_RESULT_CONVERGED && s.total_iterations == 0 && csim_world_rms_speed(w) <= 0);
    for (i = 0; i < 6; i++) NEAR((double)at(w, box[i]).z, (double)was[i].z, TOL(1e-9, 2e-6));
    csim_destroy_world(w);
}

/* Depths are told after the step: of what stands by the gaps it had, of what was pushed out where it is now. */
TEST(what_was_pushed_out_is_as_deep_as_it_is_now) {
    csim_world *w = world_of(CSIM_R(TOL(5e-5, 1e-3)), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    const csim_body_id box = put(w, cube(), 0, CSIM_R(0.248), CSIM_R(0.5));
    const csim_step_stats s = run(w, 1);
    CHECK((double)at(w, box).z > 0.2481);
    NEAR(s.penetration, 0.25 - (double)at(w, box).z, TOL(1e-9, 1e-6));
    csim_destroy_world(w);
}

/* On a slope of 20 degrees, by the friction: a hundredth less than its tangent and the box slides as it must, with
   that hundredth of the weight's pull; a hundredth more and it stays. */
TEST(a_slope_lets_go_at_the_angle_of_friction) {
    const double angle = 20 * 3.14159265358979 / 180, g = 9.81;
    int k;
    for (k = 0; k < 3; k++) {
        const double mu = tan(angle) * (k == 0 ? 0.99 : k == 1 ? 1.01 : 0.8), a = g * (sin(angle) - mu * cos(angle));
        csim_world *w =
            world_of(CSIM_R(TOL(5e-5, 1e-3)), csim_v3(CSIM_R(g * sin(angle)), 0, CSIM_R(-g * cos(angle))), CSIM_R(mu));
        const csim_body_id id = put(w, cube(), 0, CSIM_R(0.25), CSIM_R(mu));
        double way;
        run(w, 100);
        way = (double)at(w, id).x;
        if (k == 1)
            NEAR(way, 0, 1e-6);
        else
            NEAR(way, a * 0.01 * 0.01 * 100 * 101 / 2, TOL(2e-3, 2e-2) * a);
        csim_destroy_world(w);
    }
}

/* A ball that rolls at a hundredth of a metre a second without friction rolls on, and a box at rest answers a force. */
TEST(what_has_a_reason_to_move_moves) {
    csim_world *w = world_of(CSIM_R(TOL(5e-5, 1e-3)), csim_v3(0, 0, CSIM_R(-9.81)), 0);
    const csim_body_id ball = put(w, csim_sphere(CSIM_R(0.1)), -3, CSIM_R(0.1), 0);
    const csim_body_id box = put(w, cube(), 3, CSIM_R(0.25), 0);
    csim_vec3 from;
    STATUS(csim_body_set_velocity(w, ball, csim_v3(CSIM_R(0.01), 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    run(w, 100);
    NEAR((double)at(w, ball).x, -2.99, TOL(1e-9, 5e-5)); /* float: a hundred roundings near 3 */
    from = at(w, box);
    run(w, 20);
    CHECK(at(w, box).x == from.x);
    STATUS(csim_body_set_velocity(w, box, csim_v3(CSIM_R(0.01), 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    run(w, 100);
    NEAR((double)at(w, box).x - (double)from.x, 0.01, TOL(1e-9, 5e-5));
    csim_destroy_world(w);
}

/* A rod on a hinge that is let go from level is at rest for one step only. */
TEST(a_turning_point_is_no_rest) {
    csim_world *w = world_of(CSIM_R(TOL(5e-5, 1e-3)), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    const csim_body_id rod = put(w, csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.05), CSIM_R(0.05))), 0, 3, CSIM_R(0.5));
    csim_joint_def d = csim_default_joint_def();
    csim_link_id joint;
    int i, turns = 0;
    double before = 0;
    d.kind = CSIM_JOINT_HINGE;
    d.a.body = rod;
    d.a.point = d.b.point = csim_v3(CSIM_R(-0.5), 0, 3);
    d.axis = csim_v3(0, 1, 0);
    STATUS(csim_create_joint(w, &d, &joint), CSIM_OK);
    for (i = 0; i < 500; i++) {
        csim_vec3 v, turn;
        run(w, 1);
        STATUS(csim_body_get_velocity(w, rod, &v, &turn), CSIM_OK);
        turns += (double)turn.y * before < 0;
        if (turn.y < 0 || turn.y > 0) before = (double)turn.y;
    }
    CHECK(turns >= 4); /* half a period is .97 s at first */
    csim_destroy_world(w);
}

/* ---- what stands is told as the narrow phase would find it, and steps that are known are passed over: a twin that is
   told nothing, because its contacts count as out of their order and its steps as unlike, computes for itself and has
   the same bits, whatever is done to the two. Two of them have bounded frames: by name, and within a budget. */

typedef struct twin {
    csim_world *world;
    csim_body_id box[12], table, pusher;
} twin;

static twin make_twin(int k) {
    const csim_real half = CSIM_R(0.5);
    twin t;
    int i;
    t.world = world_of(CSIM_R(k < 4 ? TOL(5e-5, 1e-3) : 1e-3), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    if (k == 5) STATUS(csim_world_set_budget(t.world, 1200), CSIM_OK);
    if (k == 4) {
        csim_solver_params params = csim_default_solver_params();
        params.solver = CSIM_SOLVER_BOUNDED;
        params.tolerance = t.world->def.solver.tolerance;
        STATUS(csim_world_set_solver(t.world, &params), CSIM_OK);
    }
    t.table = place(t.world, CSIM_STATIC, csim_box(csim_v3(2, 2, half / 2)), csim_v3(0, 0, half / 2), half);
    t.pusher = place(t.world, CSIM_KINEMATIC, cube(), csim_v3(-2, 0, CSIM_R(0.76)), half);
    for (i = 0; i < 12; i++) {
        csim_shape shape = cube();
        if (k < 4 ? (i + k) % 4 == 1 : i == 7) shape = csim_cylinder(CSIM_R(0.25), CSIM_R(0.25));
        t.box[i] =
            put(t.world, shape, CSIM_R(0.6) * (csim_real)(i % 3) + CSIM_R(0.03) * (csim_real)((5 * i + k) % 4) - 1,
                CSIM_R(0.76) + CSIM_R(0.51) * (csim_real)(i / 3), CSIM_R(0.5));
    }
    return t;
}

/* Everything that may change what meets what, each after the world has come to rest again. */
static void do_to(const twin *t, int step) {
    csim_world *w = t->world;
    csim_pose pose = csim_pose_identity();
    pose.position = csim_v3(0, 0, CSIM_R(0.249));
    switch (step) {
    case 200: STATUS(csim_body_set_pose(w, t->table, pose), CSIM_OK); break;
    case 240: STATUS(csim_body_add_force(w, t->box[9], csim_v3(0, 0, 1000), csim_v3(0, 0, 0)), CSIM_OK); break;
    case 300: STATUS(csim_body_set_friction(w, t->table, CSIM_R(0.1)), CSIM_OK); break;
    case 340: STATUS(csim_body_set_enabled(w, t->box[11], false), CSIM_OK); break;
    case 360: STATUS(csim_body_set_enabled(w, t->box[11], true), CSIM_OK); break;
    case 400: STATUS(csim_destroy_body(w, t->box[10]), CSIM_OK); break;
    case 440:
        STATUS(csim_body_set_velocity(w, t->pusher, csim_v3(CSIM_R(0.5), 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
        break;
    case 480: STATUS(csim_body_set_velocity(w, t->pusher, csim_v3(0, 0, 0), csim_v3(0, 0, 0)), CSIM_OK); break;
    case 540: STATUS(csim_body_set_filter(w, t->box[6], 2, 2, 0), CSIM_OK); break;
    case 590: STATUS(csim_world_set_gravity(w, csim_v3(0, 0, CSIM_R(-9.9))), CSIM_OK); break;
    case 640: STATUS(csim_body_set_motion(w, t->table, CSIM_KINEMATIC), CSIM_OK); break;
    case 690: (void)put(w, cube(), 3, CSIM_R(0.26), CSIM_R(0.5)); break;
    case 720: {
        csim_solver_params params = csim_default_solver_params();
        params.tolerance = CSIM_R(2e-6);
        STATUS(csim_world_set_solver(w, &params), CSIM_OK);
        break;
    }
    default: break;
    }
}

SLOW_IN_FLOAT(what_stands_is_told_as_it_would_be_found) {
    int k, step;
    for (k = 0; k < 6; k++) {
        twin a = make_twin(k), b = make_twin(k);
        int count, other, rests = 0, known = 0;
        const int slow = k < 4 ? 1 : 5; /* bounded frames calm down, certified ones stand */
        for (step = 0; step < 760 * slow; step++) {
            const csim_real h = step / slow >= 500 && step / slow < 520 ? CSIM_R(0.004) : CSIM_R(0.01);
            csim_events told, found;
            CASE("twins %d, step %d", k, step);
            do_to(&a, step % slow ? 0 : step / slow);
            do_to(&b, step % slow ? 0 : step / slow);
            b.world->scattered = true;
            b.world->alike = 0;
            known += csimi_step_is_known(a.world, h);
            STATUS(csim_world_step(a.world, h), CSIM_OK);
            STATUS(csim_world_step(b.world, h), CSIM_OK);
            csim_world_contacts(a.world, &count);
            csim_world_contacts(b.world, &other);
            told = csim_world_events(a.world);
            found = csim_world_events(b.world);
            rests += csim_world_rms_speed(a.world) <= 0;
            if (count == other && csim_world_hash(a.world) == csim_world_hash(b.world) &&
                told.touching_count == found.touching_count && told.begin_count == found.begin_count &&
                told.end_count == found.end_count && told.hit_count == found.hit_count &&
                told.move_count == found.move_count && a.world->stats.step == b.world->stats.step &&
                a.world->stats.flags == b.world->stats.flags && a.world->stats.contacts == b.world->stats.contacts &&
                csim_certificate_worst(&a.world->stats.certificate) ==
                    csim_certificate_worst(&b.world->stats.certificate))
                continue;
            CHECK(count == other && told.touching_count == found.touching_count);
            CHECK(csim_world_hash(a.world) == csim_world_hash(b.world));
            CHECK(a.world->stats.flags == b.world->stats.flags);
            CHECK(false);
            break;
        }
        CHECK(rests > 200);
        CHECK(known > 50);
        csim_destroy_world(a.world);
        csim_destroy_world(b.world);
    }
}

/* ---- islands that stand are passed over while others move: a rod swings for ever beside towers of up to four boxes, to
   which things are done at random; a twin that knows nothing has the same bits and the same figures. */

enum { TOWERS = 5 };
typedef struct town {
    csim_world *world;
    csim_body_id box[TOWERS][4], table, rod;
} town;

static town make_town(int k) {
    town t;
    csim_joint_def d = csim_default_joint_def();
    csim_link_id joint;
    int i, n;
    t.world = world_of(CSIM_R(1e-3), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    if (k == 1) {
        csim_solver_params params = csim_default_solver_params();
        params.solver = CSIM_SOLVER_BOUNDED;
        params.tolerance = CSIM_R(1e-3);
        STATUS(csim_world_set_solver(t.world, &params), CSIM_OK);
    }
    t.table = place(t.world, CSIM_STATIC, csim_box(csim_v3(9, 1, CSIM_R(0.25))), csim_v3(4, 0, CSIM_R(0.25)), 1);
    for (i = 0; i < TOWERS; i++)
        for (n = 0; n < 4; n++)
            t.box[i][n] = put(t.world, n == 3 && i % 2 ? csim_cylinder(CSIM_R(0.25), CSIM_R(0.25)) : cube(),
                              (csim_real)i + CSIM_R(0.02) * (csim_real)((i + n) % 3),
                              CSIM_R(0.755) + CSIM_R(0.505) * (csim_real)n, CSIM_R(0.5));
    t.rod = put(t.world, csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.05), CSIM_R(0.05))), -6, 4, CSIM_R(0.5));
    d.kind = CSIM_JOINT_HINGE;
    d.a.body = t.rod;
    d.a.point = d.b.point = csim_v3(CSIM_R(-6.5), 0, 4);
    d.axis = csim_v3(0, 1, 0);
    STATUS(csim_create_joint(t.world, &d, &joint), CSIM_OK);
    return t;
}

static void do_to_town(const town *t, int what, int tower, int floor, csim_real x) {
    csim_world *w = t->world;
    const csim_body_id id = t->box[tower][floor]; /* may be gone: what is done to it is refused then */
    switch (what) {
    case 0: (void)csim_body_add_force(w, id, csim_v3(1000 * x, 0, 0), csim_v3(0, 0, 0)); break;
    case 1: (void)csim_body_set_velocity(w, id, csim_v3(0, 3 * x, 0), csim_v3(0, 0, 0)); break;
    case 2: (void)csim_destroy_body(w, id); break;
    case 3: (void)csim_body_set_friction(w, id, CSIM_R(0.6) + x / 2); break;
    case 4: (void)put(w, csim_sphere(CSIM_R(0.1)), 2 + 4 * x, 4, CSIM_R(0.5)); break;
    case 5: STATUS(csim_world_set_gravity(w, csim_v3(x / 100, 0, CSIM_R(-9.81))), CSIM_OK); break;
    case 6: (void)csim_body_set_filter(w, id, 2, x > 0 ? 2 : 3, 0); break;
    case 7: STATUS(csim_body_set_friction(w, t->table, CSIM_R(0.8) + x / 2), CSIM_OK); break;
    case 8: (void)csim_body_set_restitution(w, id, CSIM_R(0.5) + x / 2); break;
    default: (void)csim_body_set_enabled(w, id, x > 0); break;
    }
}

/* What worlds with bounded frames keep of contacts and bodies, which the hash does not know of. */
static bool keeps_the_same(const csim_world *a, const csim_world *b) {
    int i;
    for (i = 0; i < a->store.count.kept; i++) {
        const csimi_kept *p = a->store.kept + i, *q = b->store.kept + i;
        if (p->pair != q->pair || p->calm != q->calm || p->bounded != q->bounded || p->sag != q->sag) return false;
    }
    for (i = 0; i < a->store.count.bodies; i++) {
        const csimi_pace *p = &a->store.body[i].pace, *q = &b->store.body[i].pace;
        if (p->wait != q->wait || p->misses != q->misses || a->store.body[i].sigma != b->store.body[i].sigma)
            return false;
    }
    return true;
}

SLOW_IN_FLOAT(islands_that_stand_are_passed_over_to_the_last_bit) {
    int k, step;
    for (k = 0; k < 6; k++) {
        const town a = make_town(k % 2), b = make_town(k % 2);
        int passed = 0;
        for (step = 0; step < 2500; step++) {
            const csim_real h = step / 100 == 12 ? CSIM_R(0.004) : CSIM_R(0.01);
            const csim_step_stats *s = &a.world->stats, *t = &b.world->stats;
            int known;
            CASE("towns %d, step %d", k, step);
            if (step % 150 == 149) {
                const int what = (int)check_random(0, 10), tower = (int)check_random(0, TOWERS);
                const int floor = (int)check_random(0, 4);
                const csim_real x = CSIM_R(check_random(-0.5, 0.5));
                do_to_town(&a, what, tower, floor, x);
                do_to_town(&b, what, tower, floor, x);
            }
            b.world->scattered = true;
            b.world->alike = 0;
            known = a.world->known.contacts;
            STATUS(csim_world_step(a.world, h), CSIM_OK);
            STATUS(csim_world_step(b.world, h), CSIM_OK);
            passed += known > 0 && a.world->known.contacts > 0;
            if (csim_world_hash(a.world) == csim_world_hash(b.world) && s->islands == t->islands &&
                s->largest_island == t->largest_island && s->contacts == t->contacts && s->touching == t->touching &&
                s->flags == t->flags && s->result == t->result && s->total_iterations == t->total_iterations &&
                s->penetration == t->penetration && keeps_the_same(a.world, b.world) &&
                memcmp(&s->certificate, &t->certificate, sizeof(double) * 12) == 0)
                continue;
            CHECK(csim_world_hash(a.world) == csim_world_hash(b.world));
            CHECK(s->islands == t->islands && s->largest_island == t->largest_island);
            CHECK(s->touching == t->touching && s->total_iterations == t->total_iterations);
            CHECK(keeps_the_same(a.world, b.world));
            CHECK(false);
            break;
        }
        CHECK(passed > 800);
        csim_destroy_world(a.world);
        csim_destroy_world(b.world);
    }
}

/* What is told of a touch is told anew after a change that wakes nobody. */
TEST(a_known_step_tells_the_data_of_today) {
    csim_world *w = world_of(CSIM_R(TOL(5e-5, 1e-3)), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    const csim_body_id box = put(w, cube(), 0, CSIM_R(0.25), CSIM_R(0.5));
    int data = 0, shape_data = 0;
    csim_events told;
    run(w, 60);
    CHECK(csimi_step_is_known(w, CSIM_R(0.01)));
    STATUS(csim_body_set_user_data(w, box, &data), CSIM_OK);
    STATUS(csim_body_set_shape_user_data(w, box, 0, &shape_data), CSIM_OK);
    run(w, 1);
    told = csim_world_events(w);
    CHECK(told.touching_count == 1);
    CHECK(told.touching[0].user_data_a == &data || told.touching[0].user_data_b == &data);
    CHECK(told.touching[0].shape_user_data_a == &shape_data || told.touching[0].shape_user_data_b == &shape_data);
    csim_destroy_world(w);
}

/* A body that is made into a world of known steps is moved by the next. */
TEST(a_known_step_ends_when_a_body_is_made) {
    csim_world *w = world_of(CSIM_R(TOL(5e-5, 1e-3)), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    csim_body_id ball;
    (void)put(w, cube(), 0, CSIM_R(0.25), CSIM_R(0.5));
    run(w, 60);
    CHECK(csimi_step_is_known(w, CSIM_R(0.01)) && !csimi_step_is_known(w, CSIM_R(0.02)));
    ball = put(w, csim_sphere(CSIM_R(0.1)), 0, 2, CSIM_R(0.5));
    run(w, 1);
    CHECK(at(w, ball).z < 2);
    csim_destroy_world(w);
}

/* A force lets a body look farther ahead, and so does a longer step: a slope below an edge of a box, which only these
   reach, is met in their step alone, though the box stands and the bounds of a slope are all there is. */
TEST(a_force_looks_ahead_for_its_own_step) {
    csim_world *w = world_of(CSIM_R(TOL(5e-5, 1e-3)), csim_v3(0, 0, CSIM_R(-9.81)), CSIM_R(0.5));
    const csim_body_id box = put(w, cube(), 0, CSIM_R(0.25), CSIM_R(0.5));
    const double reach =
        (double)csim_default_world_def().contact_distance + 2 * 1e-4 * 9.81; /* at most, of what stands */
    const double away = reach + 2e-3;
    csim_body_id slope;
    int k, count[6];
    STATUS(csim_create_ground(w, csim_v3(CSIM_R(-0.25 - 0.6 * away), 0, CSIM_R(-0.8 * away)),
                              csim_v3(CSIM_R(0.6), 0, CSIM_R(0.8)), CSIM_R(0.5), &slope),
           CSIM_OK);
    run(w, 30);
    for (k = 0; k < 6; k++) {
        if (k == 1) STATUS(csim_body_add_force(w, box, csim_v3(0, 0, -30000), csim_v3(0, 0, 0)), CSIM_OK);
        if (k == 3) run(w, 30);
        STATUS(csim_world_step(w, CSIM_R(k == 4 ? 0.02 : 0.01)), CSIM_OK);
        csim_world_contacts(w, count + k);
    }
    CHECK(count[0] == 4 && count[1] == 6 && count[2] == 4);
    CHECK(count[3] == 4 && count[4] == 6 && count[5] == 4);
    csim_destroy_world(w);
}
