/* Hard joints: closed loops (validation 34), every kind against its geometry, limits, motors, gears, breaking,
   momentum, and what the definitions refuse. */
#include "joint_scenes.h"

/* A bar of given mass between two points of the plane y = 0, as thin as a tenth of it. Touches nothing. */
static csim_body_id bar(csim_world *w, double mass, double x0, double z0, double x1, double z1) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id = {0, 0, 0};
    const double length = hypot(x1 - x0, z1 - z0), thin = 0.1 * length;
    d.mass = (csim_real)mass;
    d.inertia.m[0] = (csim_real)(mass * 2 * thin * thin / 12);
    d.inertia.m[4] = d.inertia.m[8] = (csim_real)(mass * (length * length + thin * thin) / 12);
    d.pose.position = csim_v3((csim_real)((x0 + x1) / 2), 0, (csim_real)((z0 + z1) / 2));
    d.pose.rotation = csim_quat_axis_angle(csim_v3(0, 1, 0), (csim_real)-atan2(z1 - z0, x1 - x0));
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

static csim_joint_def joint_at(csim_joint_kind kind, csim_body_id a, csim_body_id b, double x, double z) {
    csim_joint_def d = csim_default_joint_def();
    d.kind = kind;
    d.a.body = a;
    d.b.body = b;
    d.a.point = d.b.point = csim_v3((csim_real)x, 0, (csim_real)z);
    d.axis = csim_v3(0, -1, 0); /* angles count from x towards z */
    return d;
}

static csim_link_id make(csim_world *w, const csim_joint_def *d) {
    csim_link_id id = {0, 0, 0};
    STATUS(csim_create_joint(w, d, &id), CSIM_OK);
    return id;
}

static csim_joint_state state_of(const csim_world *w, csim_link_id id) {
    csim_joint_state s;
    memset(&s, 0, sizeof s);
    STATUS(csim_joint_get(w, id, &s), CSIM_OK);
    return s;
}

static double worst_error(const csim_world *w, const csim_link_id *ids, int n) {
    double worst = 0;
    int i;
    for (i = 0; i < n; i++) {
        csim_joint_state s = state_of(w, ids[i]);
        worst = fmax(worst, fmax((double)s.error, (double)s.error_angle));
    }
    return worst;
}

static int seconds_of(int quick, int full) { return getenv("CONDSIM_LONG") ? full : quick; }

/* Closure: rounding of positions near 1 and of the solver, m. */
#define CLOSED TOL(1e-9, 2e-5)

/* ---- 34: closed loops */

TEST(four_bar_closes_34) {
    /* crank 0.2, coupler 0.5, rocker 0.4, ground 0.5, driven at one turn a second */
    const double a = 0.2, b = 0.5, c = 0.4, g = 0.5, h = 0.01;
    const double cx = a, elbow = acos((b * b + (g - cx) * (g - cx) - c * c) / (2 * b * (g - cx)));
    const double px = a + b * cos(elbow), pz = b * sin(elbow);
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_body_id crank = bar(w, 1, 0, 0, a, 0), coupler = bar(w, 2, a, 0, px, pz), rocker = bar(w, 1, px, pz, g, 0);
    csim_joint_def d = joint_at(CSIM_JOINT_HINGE, crank, nobody, 0, 0);
    csim_link_id id[4];
    double closure = 0, geometry = 0, rocker0 = atan2(pz, px - g);
    int i, steps = (int)(seconds_of(10, 3600) / h), missed = 0;
    d.motor.kind = CSIM_MOTOR_VELOCITY;
    d.motor.target = (csim_real)(2 * pi);
    d.motor.force = 100;
    id[0] = make(w, &d);
    d = joint_at(CSIM_JOINT_HINGE, coupler, crank, a, 0), id[1] = make(w, &d);
    d = joint_at(CSIM_JOINT_HINGE, rocker, coupler, px, pz), id[2] = make(w, &d);
    d = joint_at(CSIM_JOINT_HINGE, rocker, nobody, g, 0), id[3] = make(w, &d);
    for (i = 0; i < steps; i++) {
        double angle, x, z, r, turn;
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        missed += csim_world_stats(w).result != CSIM_RESULT_CONVERGED;
        closure = fmax(closure, worst_error(w, id, 4));
        angle = (double)state_of(w, id[0]).position;
        x = a * cos(angle) - g, z = a * sin(angle), r = hypot(x, z);
        turn = atan2(z, x) - acos((c * c + r * r - b * b) / (2 * c * r)); /* of the rocker: Freudenstein's loop */
        geometry = fmax(geometry, fabs(remainder((double)state_of(w, id[3]).position + rocker0 - turn, 2 * pi)));
    }
    printf("    four-bar: closure %.2g m, rocker off by %.2g rad, %d of %d missed, driven %.9f turns\n", closure,
           geometry, missed, steps, (double)state_of(w, id[0]).position / (2 * pi));
    FIGURE("four_bar_open", closure);
    FIGURE("rocker_off", geometry);
    CHECK(closure < CLOSED);
    CHECK(geometry < TOL(1e-8, 1e-3));
    NEAR(state_of(w, id[0]).position, 2 * pi * h * steps, TOL(1e-7, 1e-2) * steps * h);
    CHECK(missed == 0);
    csim_destroy_world(w);
}

TEST(slider_crank_closes_34) {
    const double r = 0.1, l = 0.3, h = 0.01;
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_body_id crank = bar(w, 1, 0, 0, r, 0), rod = bar(w, 1, r, 0, r + l, 0),
                 piston = bar(w, 2, r + l - 0.05, 0, r + l + 0.05, 0);
    csim_joint_def d = joint_at(CSIM_JOINT_HINGE, crank, nobody, 0, 0);
    csim_link_id id[4];
    double closure = 0, geometry = 0;
    int i, steps = (int)(seconds_of(10, 3600) / h), missed = 0;
    d.motor.kind = CSIM_MOTOR_VELOCITY;
    d.motor.target = 5;
    d.motor.force = 100;
    id[0] = make(w, &d);
    d = joint_at(CSIM_JOINT_HINGE, rod, crank, r, 0), id[1] = make(w, &d);
    d = joint_at(CSIM_JOINT_HINGE, piston, rod, r + l, 0), id[2] = make(w, &d);
    d = joint_at(CSIM_JOINT_SLIDER, piston, nobody, r + l, 0);
    d.axis = csim_v3(1, 0, 0);
    id[3] = make(w, &d);
    for (i = 0; i < steps; i++) {
        double angle, x;
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        missed += csim_world_stats(w).result != CSIM_RESULT_CONVERGED;
        closure = fmax(closure, worst_error(w, id, 4));
        angle = (double)state_of(w, id[0]).position;
        x = r * cos(angle) + sqrt(l * l - r * r * sin(angle) * sin(angle)) - r - l;
        geometry = fmax(geometry, fabs((double)state_of(w, id[3]).position - x));
    }
    printf("    slider-crank: closure %.2g m, piston off by %.2g m, %d of %d missed\n", closure, geometry, missed,
           steps);
    FIGURE("crank_open", closure);
    FIGURE("piston_off", geometry);
    CHECK(closure < CLOSED);
    CHECK(geometry < TOL(1e-8, 1e-4));
    CHECK(missed == 0);
    csim_destroy_world(w);
}

/* A chain of 50 links hangs level from one end and falls, 50 000 kg at the other. */
SLOW_TEST(chain_of_50_links_at_50000_to_1_closes_34) {
    enum { LINKS = 50 };
    const double l = 0.1, h = TOL(0.005, 0.005);
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_body_id last = nobody, load;
    csim_link_id id[LINKS + 1];
    double closure = 0;
    long iterations = 0;
    int i, steps = (int)(seconds_of(2, 60) / h), missed = 0;
    for (i = 0; i <= LINKS; i++) {
        csim_body_id next = i < LINKS ? bar(w, 1, i * l, 0, (i + 1) * l, 0) : bar(w, TOL(50000, 100), i * l, 0, i * l + 0.5, 0);
        csim_joint_def d = joint_at(CSIM_JOINT_BALL, next, last, i * l, 0);
        id[i] = make(w, &d);
        last = next;
    }
    load = last;
    for (i = 0; i < steps; i++) {
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        missed += csim_world_stats(w).result != CSIM_RESULT_CONVERGED;
        iterations += csim_world_stats(w).total_iterations;
        closure = fmax(closure, worst_error(w, id, LINKS + 1));
    }
    {
        csim_pose p;
        csim_body_get_pose(w, load, &p);
        printf("    chain: closure %.2g m, %.1f iterations a step, %d of %d missed, load at %.3f %.3f %.3f\n", closure,
               (double)iterations / steps, missed, steps, (double)p.position.x, (double)p.position.y,
               (double)p.position.z);
        CHECK(hypot((double)p.position.x, (double)p.position.z) < LINKS * l + 0.5);
    }
    FIGURE("chain_open", closure);
    FIGURE("chain_iterations", (double)iterations / steps);
    CHECK(closure < TOL(1e-9, 2e-3)); /* in float: a load of 100, of which each link bears 24 bits */
    CHECK(missed == 0);
    csim_destroy_world(w);
}

/* Twenty links of 1 kg with a load, let go from level: how fast the fastest link turns in the third second, rad/s;
   infinite when a step fails. */
static double chain_spin(csim_solver solver, bool geometric, double load, double h) {
    enum { LINKS = 20 };
    csim_world_def wd = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id last = nobody, body[LINKS + 1];
    csim_joint_def d;
    double most = 0;
    int i, k, steps = (int)(3 / h + 0.5);
    wd.solver.solver = solver;
    wd.solver.tolerance = TOL(1e-8, 1e-4);
    wd.solver.max_iterations = 20000;
    wd.geometric = geometric;
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    for (i = 0; i <= LINKS; i++) {
        body[i] = bar(w, i < LINKS ? 1 : load, i * 0.1, 0, (i + (i < LINKS ? 1 : 5)) * 0.1, 0);
        d = joint_at(CSIM_JOINT_BALL, body[i], last, i * 0.1, 0);
        make(w, &d);
        last = body[i];
    }
    for (k = 0; k < steps; k++) {
        if (csim_world_step(w, (csim_real)h) != CSIM_OK) most = INFINITY;
        for (i = 0; i < LINKS && 3 * k > 2 * steps; i++) {
            csim_vec3 v, turn = csim_v3(0, 0, 0);
            STATUS(csim_body_get_velocity(w, body[i], &v, &turn), CSIM_OK);
            most = fmax(most, (double)csim_length(turn));
        }
    }
    csim_destroy_world(w);
    return most;
}

/* Long steps of light links under a heavy load: with the diagonal geometric stiffness they swing as a pendulum does,
   sqrt(2 g / 2.2 m) = 3 rad/s and some waves; without it they whirl. By the sweeps and by Newton. */
SLOW_TEST(geometric_stiffness_keeps_a_loaded_chain) {
    static const csim_solver solver[2] = {CSIM_SOLVER_AUTO, CSIM_SOLVER_NEWTON_PROXIMAL};
    int k, j;
    for (k = 0; k < 2; k++)
        for (j = 0; j < 2; j++) {
            const double load = j ? 100 : TOL(5000, 100), h = j ? 0.03 : 0.01; /* float: links bear 24 bits */
            const double with = chain_spin(solver[k], true, load, h), without = chain_spin(solver[k], false, load, h);
            CASE("%s, load %g kg, h %g s", csim_describe_solver(solver[k]).name, load, h);
            printf("    %-16s load %4g kg, h %g s: links turn at %.3g rad/s with it, %.3g without\n",
                   csim_describe_solver(solver[k]).name, load, h, with, without);
            CHECK(with < TOL(6, 12));
            CHECK(without > 50);
        }
}

/* ---- the other kinds, limits, motors, gears */

static void run(csim_world *w, double seconds, double h) {
    int i, n = (int)(seconds / h + 0.5);
    for (i = 0; i < n; i++) STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
}

TEST(weld_carries_force_and_torque) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_body_id beam = bar(w, 3, 0, 0, 2, 0);
    csim_joint_def d = joint_at(CSIM_JOINT_WELD, beam, nobody, 0, 0);
    csim_link_id id = make(w, &d);
    csim_joint_state s;
    run(w, 1, 0.01);
    s = state_of(w, id);
    NEAR(s.force.z, 3 * 9.81, TOL(1e-6, 1e-2));       /* a cantilever: its weight ... */
    NEAR(s.torque.y, -3 * 9.81 * 1, TOL(1e-6, 1e-2)); /* ... at half its length: x cross z is -y, held back */
    CHECK((double)s.error < CLOSED && (double)s.error_angle < CLOSED);
    csim_destroy_world(w);
}

TEST(limits_hold_and_let_go) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_body_id arm = bar(w, 2, 0, 0, 1, 0), box = bar(w, 1, 5, 0, 5.2, 0);
    csim_joint_def d = joint_at(CSIM_JOINT_HINGE, arm, nobody, 0, 0);
    csim_link_id hinge, slider;
    csim_motor up;
    d.limited = true;
    d.lower = CSIM_R(-0.5);
    d.upper = CSIM_R(0.25);
    hinge = make(w, &d);
    d = joint_at(CSIM_JOINT_SLIDER, box, nobody, 5.1, 0);
    d.axis = csim_v3(0, 0, 1);
    d.limited = true;
    d.lower = CSIM_R(-0.3);
    d.upper = 1;
    slider = make(w, &d);
    run(w, 2, 0.01);
    NEAR(state_of(w, hinge).position, -0.5, TOL(1e-9, 1e-4));
    NEAR(state_of(w, hinge).along, 2 * 9.81 * 0.5 * cos(0.5), TOL(1e-5, 1e-2));
    NEAR(state_of(w, slider).position, -0.3, TOL(1e-9, 1e-4));
    NEAR(state_of(w, slider).along, 9.81, TOL(1e-6, 1e-2));
    up.kind = CSIM_MOTOR_POSITION;
    up.target = 2;
    up.speed = 1;
    up.force = 1000;
    STATUS(csim_joint_set_motor(w, slider, &up), CSIM_OK);
    up.kind = CSIM_MOTOR_VELOCITY;
    STATUS(csim_joint_set_motor(w, hinge, &up), CSIM_OK);
    run(w, 0.5, 0.01);
    NEAR(state_of(w, slider).position, 0.2, TOL(1e-6, 1e-3)); /* half a second at most 1 m/s */
    run(w, 2, 0.01);
    NEAR(state_of(w, hinge).position, 0.25, TOL(1e-9, 1e-4)); /* the upper limits are stronger than motors */
    NEAR(state_of(w, slider).position, 1, TOL(1e-9, 1e-4));
    STATUS(csim_joint_set_limits(w, slider, false, 0, 0), CSIM_OK);
    run(w, 2, 0.01);
    NEAR(state_of(w, slider).position, 2, TOL(1e-9, 1e-4)); /* free of it, the drive arrives */
    csim_destroy_world(w);
}

TEST(motor_force_is_bounded) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    csim_body_id box = bar(w, 2, 0, 0, 0.2, 0);
    csim_joint_def d = joint_at(CSIM_JOINT_SLIDER, box, nobody, 0.1, 0);
    csim_link_id id;
    d.axis = csim_v3(1, 0, 0);
    d.motor.kind = CSIM_MOTOR_VELOCITY;
    d.motor.target = 3;
    d.motor.force = 4;
    id = make(w, &d);
    run(w, 1, 0.01);
    NEAR(state_of(w, id).speed, 4.0 / 2.0, TOL(1e-9, 1e-4)); /* F t / m */
    NEAR(state_of(w, id).along, 4, TOL(1e-9, 1e-4));
    run(w, 1, 0.01);
    NEAR(state_of(w, id).speed, 3, TOL(1e-9, 1e-4));
    csim_destroy_world(w);
}

TEST(gear_couples_hinges_and_a_rack) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    csim_body_id wheel[3];
    csim_link_id hinge[3], gear[2];
    csim_joint_def d;
    int i;
    for (i = 0; i < 3; i++) {
        wheel[i] = bar(w, 1 + i, 2.0 * i - 0.1, 0, 2.0 * i + 0.1, 0);
        d = joint_at(i < 2 ? CSIM_JOINT_HINGE : CSIM_JOINT_SLIDER, wheel[i], nobody, 2.0 * i, 0);
        if (i == 2) d.axis = csim_v3(1, 0, 0);
        if (i == 0) {
            d.motor.kind = CSIM_MOTOR_VELOCITY;
            d.motor.target = 6;
            d.motor.force = 50;
        }
        hinge[i] = make(w, &d);
    }
    d = csim_default_joint_def();
    d.kind = CSIM_JOINT_GEAR;
    d.first = hinge[0];
    d.second = hinge[1];
    d.ratio = -2;
    gear[0] = make(w, &d);
    d.first = hinge[2];
    d.second = hinge[1];
    d.ratio = CSIM_R(0.25);
    gear[1] = make(w, &d);
    run(w, 3, 0.01);
    NEAR(state_of(w, hinge[0]).position, 18, TOL(1e-6, 1e-2)); /* nearly three turns, counted */
    NEAR(state_of(w, hinge[1]).position, -9, TOL(1e-6, 1e-2));
    NEAR(state_of(w, hinge[2]).position, -2.25, TOL(1e-6, 1e-2));
    CHECK((double)state_of(w, gear[0]).error < CLOSED && (double)state_of(w, gear[1]).error < CLOSED);
    STATUS(csim_destroy_link(w, hinge[1]), CSIM_OK); /* both gears go with it */
    CHECK(!csim_link_valid(w, gear[0]) && !csim_link_valid(w, gear[1]) && csim_link_valid(w, hinge[2]));
    run(w, 0.1, 0.01);
    NEAR(state_of(w, hinge[2]).speed, -0.75, TOL(1e-6, 1e-3));
    csim_destroy_world(w);
}

TEST(rope_and_rod_keep_their_length) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_particle_def p = csim_default_particle_def();
    csim_body_id a, b;
    csim_joint_def d;
    csim_link_id rope, rod;
    double slack = 1;
    int i;
    p.position = csim_v3(0, 0, CSIM_R(-0.2));
    STATUS(csim_create_particle(w, &p, &a), CSIM_OK);
    p.position = csim_v3(1, 0, 0);
    STATUS(csim_create_particle(w, &p, &b), CSIM_OK);
    d = joint_at(CSIM_JOINT_ROPE, a, nobody, 0, 0);
    d.length = 1;
    rope = make(w, &d);
    d = joint_at(CSIM_JOINT_DISTANCE, b, nobody, 0, 0);
    rod = make(w, &d);
    for (i = 0; i < 200; i++) {
        run(w, 0.01, 0.01);
        slack = fmin(slack, (double)state_of(w, rope).position);
        CHECK((double)state_of(w, rope).position <= 1 + CLOSED);
        NEAR(state_of(w, rod).position, 1, CLOSED);
    }
    CHECK(slack < 0.3); /* it fell freely at first */
    NEAR(state_of(w, rope).force.z, 9.81, TOL(1e-6, 1e-2));
    csim_destroy_world(w);
}

/* A tree of a fixed root with two wheels, a rack and a link on a ball, each by itself. */
static csim_body_id wheels(csim_world *w) {
    csim_tree_link_def link[5];
    csim_tree_def d = csim_default_tree_def();
    csim_body_id id = {0, 0, 0};
    int i;
    for (i = 0; i < 5; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i ? 0 : -1;
        link[i].joint = i == 0   ? CSIM_TREE_FIXED
                        : i == 4 ? CSIM_TREE_BALL
                        : i == 3 ? CSIM_TREE_PRISMATIC
                                 : CSIM_TREE_REVOLUTE;
        link[i].axis = i == 3 ? csim_v3(1, 0, 0) : csim_v3(0, -1, 0);
        link[i].frame.position = csim_v3((csim_real)i, 0, 0);
        link[i].mass = (csim_real)(1 + i);
        link[i].inertia.m[0] = link[i].inertia.m[4] = link[i].inertia.m[8] = CSIM_R(0.1) * (csim_real)(1 + i);
    }
    d.links = link;
    d.link_count = 5;
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    return id;
}

static csim_joint_def gear_of(csim_body_id a, int first, csim_body_id b, int second, double ratio) {
    csim_joint_def d = csim_default_joint_def();
    d.kind = CSIM_JOINT_GEAR;
    d.a.body = a;
    d.a.node = first;
    d.b.body = b;
    d.b.node = second;
    d.ratio = (csim_real)ratio;
    return d;
}

/* A torque on one wheel turns what is geared to it: with q1 = r q2 the inertia is I1 + I2 / r^2, and a wheel of a tree, a
   rack of it and a rigid body on a hinge turn as one. */
TEST(gears_couple_joints_of_trees) {
    const double h = 0.01, torque[5] = {3, 0, 0, 0, 0};
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    const csim_body_id tree = wheels(w), wheel = bar(w, 1, 6.9, 0, 7.1, 0);
    const double body = (0.2 * 0.2 + 0.02 * 0.02) / 12; /* of the bar about y */
    csim_joint_def d = joint_at(CSIM_JOINT_HINGE, wheel, nobody, 7, 0);
    const csim_link_id hinge = make(w, &d);
    csim_link_id gear[3];
    csim_real q[8], v[8], force[8];
    double rate = 0, angle = 0, turn;
    size_t bytes = 0;
    void *saved;
    uint64_t hash[2];
    csim_body_id told;
    int i, k;
    d = gear_of(tree, 1, tree, 2, -2), gear[0] = make(w, &d);
    d = gear_of(tree, 3, tree, 2, 0.25), gear[1] = make(w, &d);
    d = gear_of(nobody, 0, tree, 2, 0.5), d.first = hinge, gear[2] = make(w, &d);
    told = state_of(w, gear[0]).a;
    CHECK(told.index1 == tree.index1 && state_of(w, gear[2]).a.index1 == 0);
    /* seen from the first wheel: q2 = -q1 / 2, rack q3 = -q1 / 8, hinge -q1 / 4 */
    turn = 0.2 + 0.3 / 4 + 4.0 / 64 + body / 16;
    for (i = 0; i < 300; i++) {
        for (k = 0; k < 6; k++) force[k] = (csim_real)(k < 5 ? torque[k] : 0);
        STATUS(csim_tree_add_forces(w, tree, force), CSIM_OK);
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        rate += h * 3 / turn;
        angle += h * rate;
        STATUS(csim_tree_get_state(w, tree, q, v), CSIM_OK);
        NEAR((double)v[0] / rate, 1, TOL(1e-7, 1e-3));
        NEAR((double)q[0] / angle, 1, TOL(1e-7, 1e-3));
        for (k = 0; k < 3; k++) CHECK((double)state_of(w, gear[k]).error < TOL(1e-9, 1e-4) * (1 + angle));
    }
    NEAR((double)state_of(w, hinge).speed / rate, -0.25, TOL(1e-7, 1e-3));
    /* it takes from the first wheel what the others need */
    NEAR((double)state_of(w, gear[0]).along, -(0.3 / 4 + 4.0 / 64 + body / 16) * 3 / turn, TOL(1e-5, 5e-2));
    STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
    saved = malloc(bytes);
    STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
    for (k = 0; k < 2; k++) {
        if (k) STATUS(csim_world_restore(w, saved, bytes), CSIM_OK);
        run(w, 0.2, h);
        hash[k] = csim_world_hash(w);
    }
    CHECK(hash[0] == hash[1]);
    free(saved);
    d = gear_of(tree, 4, tree, 2, 1);
    EQUAL(csim_create_joint(w, &d, gear), CSIM_WRONG_KIND); /* a ball */
    d = gear_of(tree, 2, tree, 2, 1);
    EQUAL(csim_create_joint(w, &d, gear), CSIM_OUT_OF_RANGE);
    d = gear_of(tree, 9, tree, 2, 1);
    EQUAL(csim_create_joint(w, &d, gear), CSIM_OUT_OF_RANGE);
    d = gear_of(wheel, 0, tree, 2, 1);
    EQUAL(csim_create_joint(w, &d, gear), CSIM_STALE_ID); /* names neither a joint nor a link */
    STATUS(csim_destroy_body(w, tree), CSIM_OK);
    for (k = 0; k < 3; k++) CHECK(!csim_link_valid(w, gear[k]));
    CHECK(csim_link_valid(w, hinge));
    run(w, 0.1, h);
    csim_destroy_world(w);
}

/* Hinges and sliders that hold links, geared, move as those that hold rigid bodies. */
TEST(gears_couple_joints_on_links) {
    csim_world *w[2];
    csim_link_id hinge[2][3], gear[2][2];
    int type, i, k;
    for (type = 0; type < 2; type++) {
        w[type] = joint_world(CSIM_BACKWARD_EULER, 0);
        for (i = 0; i < 3; i++) {
            csim_body_id wheel;
            csim_joint_def d;
            if (type) {
                csim_tree_link_def link = csim_default_tree_link_def();
                csim_tree_def t = csim_default_tree_def();
                const double m = 1 + i, long2 = 0.2 * 0.2, thin2 = 0.02 * 0.02;
                link.joint = CSIM_TREE_FLOATING;
                link.mass = (csim_real)m;
                link.inertia.m[0] = (csim_real)(m * 2 * thin2 / 12);
                link.inertia.m[4] = link.inertia.m[8] = (csim_real)(m * (long2 + thin2) / 12);
                t.pose.position.x = (csim_real)(2.0 * i);
                t.links = &link;
                t.link_count = 1;
                STATUS(csim_create_tree(w[1], &t, &wheel), CSIM_OK);
            } else
                wheel = bar(w[0], 1 + i, 2.0 * i - 0.1, 0, 2.0 * i + 0.1, 0);
            d = joint_at(i < 2 ? CSIM_JOINT_HINGE : CSIM_JOINT_SLIDER, wheel, nobody, 2.0 * i + 0.02 * i, 0);
            if (i == 2) d.axis = csim_v3(1, 0, 0);
            if (i == 0) {
                d.motor.kind = CSIM_MOTOR_VELOCITY;
                d.motor.target = 6;
                d.motor.force = CSIM_R(0.01);
            }
            hinge[type][i] = make(w[type], &d);
        }
        for (i = 0; i < 2; i++) {
            csim_joint_def d = csim_default_joint_def();
            d.kind = CSIM_JOINT_GEAR;
            d.first = hinge[type][i ? 2 : 0];
            d.second = hinge[type][1];
            d.ratio = i ? CSIM_R(0.05) : -2;
            gear[type][i] = make(w[type], &d);
        }
    }
    for (i = 0; i < 200; i++) {
        for (type = 0; type < 2; type++) STATUS(csim_world_step(w[type], CSIM_R(0.01)), CSIM_OK);
        for (k = 0; k < 3; k++) { /* float: closing of turns */
            const csim_joint_state a = state_of(w[0], hinge[0][k]), b = state_of(w[1], hinge[1][k]);
            NEAR((double)a.position, (double)b.position, TOL(1e-7, 1e-3));
            NEAR((double)a.speed, (double)b.speed, TOL(1e-6, 1e-2));
        }
        for (k = 0; k < 2; k++) CHECK((double)state_of(w[1], gear[1][k]).error < TOL(1e-8, 2e-4));
    }
    CHECK((double)state_of(w[1], hinge[1][0]).position > 1); /* it turned */
    for (type = 0; type < 2; type++) csim_destroy_world(w[type]);
}

TEST(joints_break_and_tell) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_body_id beam = bar(w, 3, 0, 0, 2, 0);
    csim_joint_def d = joint_at(CSIM_JOINT_WELD, beam, nobody, 0, 0);
    csim_link_id id, told[2];
    d.break_force = 100;
    d.break_torque = 25; /* it bears 29.4 N m */
    id = make(w, &d);
    CHECK(csim_world_broken(w, NULL, 0) == 0);
    run(w, 0.01, 0.01);
    EQUAL(csim_world_broken(w, told, 2), 1);
    CHECK(told[0].index1 == id.index1 && told[0].generation == id.generation);
    CHECK(state_of(w, id).broken);
    run(w, 0.5, 0.01);
    EQUAL(csim_world_broken(w, told, 2), 0);
    CHECK((double)state_of(w, id).error > 0.5);
    csim_destroy_world(w);
}

TEST(joints_conserve_momentum) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    csim_body_id body[4];
    csim_totals before, after;
    csim_joint_def d;
    int i, k;
    for (i = 0; i < 4; i++) { /* the same inertia about every axis: nothing but the joints acts */
        csim_rigid_def r = csim_default_rigid_def();
        r.mass = (csim_real)(1 + i);
        r.inertia.m[0] = r.inertia.m[4] = r.inertia.m[8] = CSIM_R(0.1) * r.mass;
        r.pose.position = csim_v3(CSIM_R(0.5) + (csim_real)i, 0, CSIM_R(0.1) * (csim_real)i);
        STATUS(csim_create_rigid(w, &r, body + i), CSIM_OK);
    }
    for (i = 0; i < 3; i++) {
        d = joint_at(i == 0   ? CSIM_JOINT_BALL
                     : i == 1 ? CSIM_JOINT_HINGE
                              : CSIM_JOINT_WELD,
                     body[i + 1], body[i], i + 1, 0.1 * i);
        make(w, &d);
    }
    STATUS(csim_body_set_velocity(w, body[0], csim_v3(1, 2, 3), csim_v3(CSIM_R(0.5), -1, CSIM_R(0.3))), CSIM_OK);
    run(w, 0.01, 0.01); /* the impulse of the start is shared out */
    before = csim_world_totals(w);
    run(w, 3, 0.01);
    after = csim_world_totals(w);
    for (k = 0; k < 3; k++) { /* rounding of 300 steps; the arms end where joints close */
        NEAR(after.momentum[k], before.momentum[k], TOL(1e-12, 1e-4));
        NEAR(after.angular_momentum[k], before.angular_momentum[k], TOL(1e-9, 1e-3));
        FIGURE("momentum_off", after.momentum[k] - before.momentum[k]);
        FIGURE("angular_off", after.angular_momentum[k] - before.angular_momentum[k]);
    }
    printf("    of 1 kg m/s and 3 kg m^2/s: momentum off by %.2g, angular momentum by %.2g\n",
           fabs(after.momentum[2] - before.momentum[2]), fabs(after.angular_momentum[1] - before.angular_momentum[1]));
    csim_destroy_world(w);
}

/* ---- midpoint worlds: the work of closed joints is nothing */

static double mechanical(const csim_world *w) {
    csim_totals t = csim_world_totals(w);
    return t.kinetic + t.gravity + t.elastic;
}

static csim_link_id midpoint_joint(csim_world *w, csim_joint_kind kind, csim_body_id a, csim_body_id b, double x,
                                   double z) {
    csim_joint_def d = joint_at(kind, a, b, x, z);
    return make(w, &d);
}

/* A double pendulum, a four-bar left to itself, a slider-crank, and a double pendulum on ball joints that swings out of
   its plane: the farthest energy from the start, J. */
static double midpoint_energy(int kind, double h, int steps, double *closure) {
    static const csim_joint_kind ends[4] = {CSIM_JOINT_HINGE, CSIM_JOINT_HINGE, CSIM_JOINT_SLIDER, CSIM_JOINT_BALL};
    csim_world *w = joint_world(CSIM_MIDPOINT, 9.81);
    csim_body_id b[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    csim_link_id id[4];
    double start, off = 0;
    int i, n = 0;
    if (kind == 0 || kind == 3) {
        b[0] = bar(w, 1, 0, 0, 1, 0), b[1] = bar(w, 1, 1, 0, 2, 0);
        id[n++] = midpoint_joint(w, ends[kind], b[0], nobody, 0, 0);
        id[n++] = midpoint_joint(w, ends[kind], b[1], b[0], 1, 0);
        if (kind == 3)
            STATUS(csim_body_set_velocity(w, b[1], csim_v3(0, CSIM_R(0.5), 0), csim_v3(0, 0, 0)), CSIM_OK);
    } else {
        const double x = kind == 1 ? 0.48 : 0.6, z = kind == 1 ? 0.4 : 0;
        b[0] = bar(w, 1, 0, 0, kind == 1 ? 0 : 0.05, 0.2), b[1] = bar(w, 2, kind == 1 ? 0 : 0.05, 0.2, x, z);
        b[2] = bar(w, 2, kind == 1 ? x : x - 0.05, z, kind == 1 ? 0.5 : x + 0.05, 0);
        id[n++] = midpoint_joint(w, CSIM_JOINT_HINGE, b[0], nobody, 0, 0);
        id[n++] = midpoint_joint(w, CSIM_JOINT_HINGE, b[1], b[0], kind == 1 ? 0 : 0.05, 0.2);
        id[n++] = midpoint_joint(w, CSIM_JOINT_HINGE, b[2], b[1], x, z);
        if (kind == 1) {
            id[n++] = midpoint_joint(w, CSIM_JOINT_HINGE, b[2], nobody, 0.5, 0);
        } else {
            csim_joint_def d = joint_at(ends[kind], b[2], nobody, x, z);
            d.axis = csim_v3(1, 0, 0);
            id[n++] = make(w, &d);
        }
    }
    start = mechanical(w);
    for (i = 0, *closure = 0; i < steps; i++) {
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        off = fmax(off, fabs(mechanical(w) - start));
        *closure = fmax(*closure, i > 0 ? worst_error(w, id, n) : 0);
    }
    csim_destroy_world(w);
    return off;
}

TEST(midpoint_worlds_keep_the_energy_of_joints_34) {
    static const char *const name[4] = {"double pendulum", "four-bar", "slider-crank", "spatial pendulum"};
    const int steps = getenv("CONDSIM_LONG") ? 100000 : 2000;
    int kind;
    for (kind = 0; kind < 4; kind++) {
        double closure, off = midpoint_energy(kind, 0.005, steps, &closure);
        CASE("%s", name[kind]);
        printf("    %s: energy off by %.2g J, closure %.2g m, %d steps\n", name[kind], off, closure, steps);
        FIGURE("midpoint_open", closure);
        FIGURE(kind == 3 ? "midpoint_space_off" : "midpoint_plane_off", off);
        CHECK(closure < TOL(1e-9, 1e-4));
        /* what is not closed times the forces, 1e-11 m 100 N a step; space: turns of both ends differ to third order */
        CHECK(off < TOL((kind == 3 ? 1e-7 : 2e-9) * steps, 0.3));
    }
}

/* ---- saving, removing, refusing */

TEST(saved_joints_go_on_to_the_bit) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_body_id a = bar(w, 1, 0, 0, 1, 0), b = bar(w, 2, 1, 0, 2, 0), c = bar(w, 1, 7, 0, 8, 0);
    csim_joint_def d = joint_at(CSIM_JOINT_HINGE, a, nobody, 0, 0);
    csim_link_id one, two;
    unsigned char *memory;
    size_t bytes = 0;
    uint64_t hash;
    one = make(w, &d);
    d = joint_at(CSIM_JOINT_BALL, b, a, 1, 0);
    two = make(w, &d);
    run(w, 0.3, 0.01);
    STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
    memory = (unsigned char *)malloc(bytes);
    REQUIRE(memory != NULL);
    STATUS(csim_world_save(w, memory, &bytes), CSIM_OK);
    run(w, 0.3, 0.01);
    hash = csim_world_hash(w);
    STATUS(csim_world_restore(w, memory, bytes), CSIM_OK);
    run(w, 0.3, 0.01);
    CHECK(csim_world_hash(w) == hash);
    STATUS(csim_destroy_body(w, c), CSIM_OK); /* bodies behind it would move up */
    STATUS(csim_destroy_body(w, a), CSIM_OK); /* takes both joints along */
    CHECK(!csim_link_valid(w, one) && !csim_link_valid(w, two) && csim_body_valid(w, b));
    run(w, 0.1, 0.01);
    free(memory);
    csim_destroy_world(w);
}

static unsigned char *bytes_of(const csim_world *w, size_t *bytes) {
    unsigned char *memory;
    STATUS(csim_world_save(w, NULL, bytes), CSIM_OK);
    memory = (unsigned char *)malloc(*bytes);
    if (memory) STATUS(csim_world_save(w, memory, bytes), CSIM_OK);
    return memory;
}

static csim_real mixed_friction(void *user, const csim_pair_info *pair) {
    (void)pair;
    return *(const csim_real *)user;
}

/* A step may fail after the rows of its joints were written: the iterations run out, or a number is none. Joints
   hold numbers of their last step (rows, axes, impulses), which must then be what they were. */
TEST(a_failed_step_leaves_joints_as_they_were) {
    csim_world_def wd = csim_default_world_def();
    csim_solver_params few;
    csim_world *w = NULL;
    csim_particle_def p = csim_default_particle_def();
    csim_body_id a, b, id;
    csim_real friction = 0;
    csim_joint_def d;
    unsigned char *before, *after;
    size_t bytes = 0, again = 0;
    uint64_t hash;
    int k;
    wd.on_uncertified = CSIM_REJECT_UNCERTIFIED;
    wd.mix_friction = mixed_friction;
    wd.callback_user = &friction;
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    p.position = csim_v3(9, 9, 0);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 0, &id), CSIM_OK);
    STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
    a = bar(w, 1, 0, 3, 1, 3);
    b = bar(w, 2, 1, 3, 2, 3);
    d = joint_at(CSIM_JOINT_HINGE, a, nobody, 0, 3);
    d.motor.kind = CSIM_MOTOR_VELOCITY;
    d.motor.force = 1;
    make(w, &d);
    d = joint_at(CSIM_JOINT_BALL, b, a, 1, 3);
    make(w, &d);
    run(w, 0.3, 0.01);
    before = bytes_of(w, &bytes);
    REQUIRE(before != NULL);
    for (k = 0; k < 2; k++) {
        CASE("%s", k ? "no number" : "iterations");
        if (k == 0) {
            few = wd.solver;
            few.max_iterations = 1;
            few.tolerance = CSIM_R(1e-15);
            STATUS(csim_world_set_solver(w, &few), CSIM_OK);
            EQUAL(csim_world_step(w, CSIM_R(0.01)), CSIM_UNCERTIFIED);
            STATUS(csim_world_set_solver(w, &wd.solver), CSIM_OK);
        } else {
            friction = (csim_real)NAN;
            EQUAL(csim_world_step(w, CSIM_R(0.01)), CSIM_NON_FINITE_RESULT);
            friction = 0;
        }
        after = bytes_of(w, &again);
        REQUIRE(after != NULL);
        CHECK(again == bytes && memcmp(before, after, bytes) == 0);
        free(after);
    }
    run(w, 0.1, 0.01); /* goes on as if nothing had been */
    hash = csim_world_hash(w);
    STATUS(csim_world_restore(w, before, bytes), CSIM_OK);
    run(w, 0.1, 0.01);
    CHECK(csim_world_hash(w) == hash);
    free(before);
    csim_destroy_world(w);
}

typedef struct refusal {
    const char *field;
    csim_status status;
    void (*spoil)(csim_joint_def *d);
} refusal;

static void spoil_kind(csim_joint_def *d) { d->kind = (csim_joint_kind)99; }
static void spoil_guard(csim_joint_def *d) { d->guard = 0; }
static void spoil_axis(csim_joint_def *d) { d->axis = csim_v3(0, 0, 0); }
static void spoil_axis_nan(csim_joint_def *d) { d->axis.x = (csim_real)NAN; }
static void spoil_length(csim_joint_def *d) { d->length = (csim_real)NAN; }
static void spoil_lower(csim_joint_def *d) { d->lower = 1; }
static void spoil_upper(csim_joint_def *d) { d->upper = (csim_real)INFINITY; }
static void spoil_limited(csim_joint_def *d) { d->kind = CSIM_JOINT_WELD, d->limited = true; }
static void spoil_motor(csim_joint_def *d) { d->motor.kind = (csim_motor_kind)7; }
static void spoil_target(csim_joint_def *d) { d->motor.target = (csim_real)NAN; }
static void spoil_speed(csim_joint_def *d) { d->motor.speed = 0; }
static void spoil_force(csim_joint_def *d) { d->motor.force = -1; }
static void spoil_break(csim_joint_def *d) { d->break_force = -1; }
static void spoil_twist(csim_joint_def *d) { d->break_torque = -1; }
static void spoil_ratio(csim_joint_def *d) { d->kind = CSIM_JOINT_GEAR, d->ratio = 0; }
static void spoil_gear(csim_joint_def *d) { d->kind = CSIM_JOINT_GEAR; }
static void spoil_point(csim_joint_def *d) { d->a.point.z = (csim_real)NAN; }
static void spoil_bodies(csim_joint_def *d) { d->a.body = nobody; }

TEST(definitions_are_refused_by_name) {
    static const refusal list[] = {
        {"kind", CSIM_OUT_OF_RANGE, spoil_kind},         {"guard", CSIM_DEF_NOT_INITIALISED, spoil_guard},
        {"axis", CSIM_OUT_OF_RANGE, spoil_axis},         {"axis", CSIM_NOT_FINITE, spoil_axis_nan},
        {"length", CSIM_NOT_FINITE, spoil_length},       {"lower", CSIM_OUT_OF_RANGE, spoil_lower},
        {"upper", CSIM_NOT_FINITE, spoil_upper},         {"limited", CSIM_OUT_OF_RANGE, spoil_limited},
        {"motor.kind", CSIM_OUT_OF_RANGE, spoil_motor},  {"target", CSIM_NOT_FINITE, spoil_target},
        {"speed", CSIM_OUT_OF_RANGE, spoil_speed},       {"force", CSIM_OUT_OF_RANGE, spoil_force},
        {"break_force", CSIM_OUT_OF_RANGE, spoil_break}, {"break_torque", CSIM_OUT_OF_RANGE, spoil_twist},
        {"ratio", CSIM_OUT_OF_RANGE, spoil_ratio},       {"id", CSIM_STALE_ID, spoil_gear},
        {"point", CSIM_NOT_FINITE, spoil_point},         {"a and b", CSIM_STALE_ID, spoil_bodies},
    };
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_body_id a = bar(w, 1, 0, 0, 1, 0);
    csim_particle_def p = csim_default_particle_def();
    csim_joint_def d;
    csim_joint_state state;
    csim_link_id id = {0, 0, 0}, ball;
    csim_motor motor = csim_default_joint_def().motor;
    uint64_t hash = csim_world_hash(w);
    size_t i;
    for (i = 0; i < sizeof list / sizeof *list; i++) {
        CASE("%s", list[i].field);
        d = joint_at(CSIM_JOINT_HINGE, a, nobody, 0, 0);
        list[i].spoil(&d);
        EQUAL(csim_create_joint(w, &d, &id), list[i].status);
        CHECK(strstr(csim_last_error(w), list[i].field) != NULL);
        CHECK(csim_world_hash(w) == hash && id.index1 == 0);
    }
    EQUAL(csim_create_joint(w, NULL, &id), CSIM_NULL_ARGUMENT);
    d = joint_at(CSIM_JOINT_BALL, a, nobody, 0, 0);
    ball = make(w, &d);
    EQUAL(csim_joint_set_motor(w, ball, &motor), CSIM_WRONG_KIND);
    EQUAL(csim_joint_set_limits(w, ball, true, 0, 1), CSIM_WRONG_KIND);
    EQUAL(csim_joint_get(w, id, &state), CSIM_STALE_ID);
    EQUAL(csim_joint_get(w, ball, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_create_particle(w, &p, &a), CSIM_OK);
    d = joint_at(CSIM_JOINT_HINGE, a, nobody, 0, 0);
    EQUAL(csim_create_joint(w, &d, &id), CSIM_WRONG_KIND);
    csim_destroy_world(w);
}

/* Bodies know how many ends of joints are on them, whatever is made, broken off, destroyed and restored. */
TEST(bodies_count_the_ends_of_their_joints) {
    csim_world_def def = csim_default_world_def();
    const csim_shape ball = csim_sphere(CSIM_R(0.1));
    csim_world *w = NULL;
    csim_body_id body[8];
    csim_link_id link[64], held[64];
    unsigned char *saved = NULL;
    size_t bytes = 0;
    int bodies = 0, links = 0, round, i, k, most = 0;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    for (round = 0; round < 400; round++) {
        const int what = (int)check_random(0, 7);
        if (what < 2 && bodies < 8) {
            STATUS(csim_create_shape(w, ball, csim_v3((csim_real)bodies, 0, (csim_real)round), body + bodies), CSIM_OK);
            bodies++;
        } else if (what < 4 && bodies > 1) {
            csim_joint_def d = csim_default_joint_def();
            d.kind = (csim_joint_kind)(int)check_random(0, 3.99);
            d.a.body = body[(int)check_random(0, bodies - 0.01)];
            d.a.point = csim_v3((csim_real)check_random(-1, 1), 0, 0);
            if (check_random(0, 1) < 0.7) d.b.body = body[(int)check_random(0, bodies - 0.01)];
            d.b.point = csim_v3(0, (csim_real)check_random(-1, 1), 0);
            if (d.a.body.index1 == d.b.body.index1) continue;
            if (csim_world_links(w, NULL, 0) < 60) STATUS(csim_create_joint(w, &d, link), CSIM_OK);
        } else if (what == 4) {
            links = csim_world_links(w, held, 64);
            if (links > 0) STATUS(csim_destroy_link(w, held[(int)check_random(0, links - 0.01)]), CSIM_OK);
        } else if (what == 5 && bodies > 0) {
            i = (int)check_random(0, bodies - 0.01);
            STATUS(csim_destroy_body(w, body[i]), CSIM_OK);
            body[i] = body[--bodies];
        } else if (what == 6) {
            STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
            REQUIRE((saved = (unsigned char *)realloc(saved, bytes)) != NULL);
            STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
            STATUS(csim_world_restore(w, saved, bytes), CSIM_OK);
        }
        for (i = 0; i < w->store.count.bodies; i++) {
            int ends = 0;
            if (!w->store.body[i].alive) continue;
            for (k = 0; k < w->store.count.joints; k++) {
                const csimi_link *l = w->store.link + w->store.joint[k].link;
                ends += (l->body[0] == i) + (l->body[1] == i);
            }
            CASE("round %d, body %d", round, i);
            EQUAL(w->store.body[i].joints, ends);
            most = csimi_imax(most, ends);
        }
    }
    CHECK(most > 3);
    free(saved);
    csim_destroy_world(w);
}
