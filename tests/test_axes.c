/* Joints with settings of axes: springs and dampers against backward Euler's own recursion and the motion it tends to,
   coordinates against finite differences, limits, cones, wheels, rods, mice, forces, and what is refused. */
#include "joint_scenes.h"

/* A body without shapes. */
static csim_body_id body_at(csim_world *w, double mass, double ix, double iy, double iz, csim_vec3 at) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id = {0, 0, 0};
    d.mass = (csim_real)mass;
    d.inertia.m[0] = (csim_real)ix;
    d.inertia.m[4] = (csim_real)iy;
    d.inertia.m[8] = (csim_real)iz;
    d.pose.position = at;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

static csim_joint_def joint_of(csim_joint_kind kind, csim_body_id a, csim_body_id b, csim_vec3 at) {
    csim_joint_def d = csim_default_joint_def();
    d.kind = kind;
    d.a.body = a;
    d.b.body = b;
    d.a.point = d.b.point = at;
    d.axis = csim_v3(1, 0, 0);
    return d;
}

static csim_link_id make(csim_world *w, const csim_joint_def *d) {
    csim_link_id id = {0, 0, 0};
    STATUS(csim_create_joint(w, d, &id), CSIM_OK);
    return id;
}

static csim_axis_state axis_of(const csim_world *w, csim_link_id id, csim_axis axis) {
    csim_axis_state s;
    memset(&s, 0, sizeof s);
    STATUS(csim_joint_get_axis(w, id, axis, &s), CSIM_OK);
    return s;
}

static csim_joint_state state_of(const csim_world *w, csim_link_id id) {
    csim_joint_state s;
    memset(&s, 0, sizeof s);
    STATUS(csim_joint_get(w, id, &s), CSIM_OK);
    return s;
}

static void run(csim_world *w, double seconds, double h) {
    int i, n = (int)(seconds / h + 0.5);
    for (i = 0; i < n; i++) STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
}

/* ---- springs */

typedef struct oscillator {
    csim_joint_kind kind;
    csim_axis axis;
    bool by_frequency;
    double mass, stiffness, damping, target, rate;
} oscillator;

static csim_world *oscillator_world(const oscillator *o, double start, double speed, csim_link_id *id) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    const bool turn = o->axis >= CSIM_AXIS_TWIST;
    csim_body_id b = body_at(w, turn ? 1 : o->mass, turn ? o->mass : 1, 1, 1, csim_v3(0, 0, 0));
    csim_joint_def d = joint_of(o->kind, b, nobody, csim_v3(0, 0, 0));
    csim_axis_def *a = d.axes + o->axis;
    const double omega = sqrt(o->stiffness / o->mass);
    if (o->by_frequency) {
        a->spring.frequency = (csim_real)(omega / (2 * pi));
        a->spring.ratio = (csim_real)(o->damping / (2 * omega * o->mass));
    } else {
        a->spring.stiffness = (csim_real)o->stiffness;
        a->spring.damping = (csim_real)o->damping;
    }
    a->target = (csim_real)(o->target - start); /* the joint is made at 0 */
    a->rate = (csim_real)o->rate;
    *id = make(w, &d);
    STATUS(csim_body_set_velocity(w, b, turn ? csim_v3(0, 0, 0) : csim_v3((csim_real)speed, 0, 0),
                                  turn ? csim_v3((csim_real)speed, 0, 0) : csim_v3(0, 0, 0)),
           CSIM_OK);
    return w;
}

/* m v+ = m v - h k (x + h v+ - target) - h c (v+ - rate), x+ = x + h v+: the step itself, to rounding. */
TEST(a_spring_is_backward_euler_to_rounding) {
    static const oscillator list[] = {
        {CSIM_JOINT_SLIDER, CSIM_AXIS_X, false, 2, 50, 3, 0.4, 0},
        {CSIM_JOINT_SLIDER, CSIM_AXIS_X, true, 2, 50, 3, 0.4, 0},
        {CSIM_JOINT_SLIDER, CSIM_AXIS_X, false, 2, 0, 8, 0, 1.5}, /* a damper that aims at a rate */
        {CSIM_JOINT_HINGE, CSIM_AXIS_TWIST, false, 0.7, 20, 0.5, -0.3, 0.2},
        {CSIM_JOINT_HINGE, CSIM_AXIS_TWIST, true, 0.7, 20, 0.5, -0.3, 0},
        {CSIM_JOINT_SIX, CSIM_AXIS_X, false, 2, 5e9, 0, 0.1, 0}, /* stiff beyond any explicit step */
        {CSIM_JOINT_WHEEL, CSIM_AXIS_TWIST, false, 0.7, 20, 0.5, 0.9, 0},
    };
    const double h = 0.01;
    int i, n;
    for (i = 0; i < (int)(sizeof list / sizeof *list); i++) {
        const oscillator *o = list + i;
        csim_link_id id;
        double x = 0.2, v = 0.7, off = 0, force = 0;
        csim_world *w = oscillator_world(o, x, v, &id);
        CASE("kind %d, case %d", (int)o->kind, i);
        for (n = 0; n < 200; n++) {
            const double before = v;
            csim_axis_state s;
            v = (o->mass * v - h * o->stiffness * (x - o->target) + h * o->damping * o->rate) /
                (o->mass + h * h * o->stiffness + h * o->damping);
            x += h * v;
            STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
            CHECK(csim_world_stats(w).result == CSIM_RESULT_CONVERGED);
            s = axis_of(w, id, o->axis);
            off = fmax(off, fmax(fabs((double)s.position + 0.2 - x), fabs((double)s.speed - v)));
            force = fmax(force, fabs((double)s.force - o->mass * (v - before) / h));
        }
        printf("    case %d: off by %.2g of 1, force by %.2g\n", i, off, force);
        FIGURE("spring_off", off);
        CHECK(off < TOL(1e-10, 2e-4));
        CHECK(force < TOL(1e-7, 2e-1));
        csim_destroy_world(w);
    }
}

/* x'' + 2 zeta omega x' + omega^2 x = 0: the error halves with the step. */
TEST(a_spring_tends_to_the_motion_of_an_oscillator) {
    const oscillator o = {CSIM_JOINT_SLIDER, CSIM_AXIS_X, true, 2, 50, 3, 0, 0};
    const double omega = 5, zeta = 3 / (2 * 2 * omega), wd = omega * sqrt(1 - zeta * zeta);
    const double t = 0.8, exact = exp(-zeta * omega * t) * (0.2 * cos(wd * t) + 0.2 * zeta * omega / wd * sin(wd * t));
    double last = 0;
    int k;
    for (k = 0; k < 5; k++) {
        const double h = 0.01 / (1 << k);
        csim_link_id id;
        csim_world *w = oscillator_world(&o, 0.2, 0, &id);
        double off;
        run(w, t, h);
        off = fabs((double)axis_of(w, id, CSIM_AXIS_X).position + 0.2 - exact);
        printf("    h = %g: off by %.3g\n", h, off);
        if (k > 0 && sizeof(csim_real) == 8) NEAR(last / off, 2, 0.1);
        if (k == 0) FIGURE("oscillator_off", off);
        CHECK(off < 0.01);
        last = off;
        csim_destroy_world(w);
    }
}

/* Springs of any stiffness, free in space and out of line: energy with theirs never grows. */
TEST(springs_never_gain_energy) {
    int k, n;
    for (k = 0; k < 12; k++) {
        csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
        csim_body_id a = body_at(w, 1, 0.1, 0.1, 0.1, csim_v3(0, 0, 0));
        csim_body_id b = body_at(w, 3, 0.4, 0.4, 0.4, csim_v3(CSIM_R(0.5), CSIM_R(0.2), 0));
        csim_joint_def d = joint_of(k % 3 == 0 ? CSIM_JOINT_DISTANCE : k % 3 == 1 ? CSIM_JOINT_BALL : CSIM_JOINT_SIX, b,
                                    a, csim_v3(CSIM_R(0.2), 0, CSIM_R(0.1)));
        const double stiff = pow(10, k / 3 * 2.0);
        double energy, worst = 0, start;
        int i;
        d.a.point = csim_v3(CSIM_R(0.4), CSIM_R(0.1), CSIM_R(0.1));
        d.length = CSIM_R(0.5);
        if (k % 3 == 1) d.a.point = d.b.point;
        for (i = k % 3 == 1 ? 3 : 0; i < (k % 3 == 0 ? 1 : 6); i++) d.axes[i].spring.stiffness = (csim_real)stiff;
        make(w, &d);
        STATUS(csim_body_set_velocity(w, a, csim_v3(1, 2, -1), csim_v3(CSIM_R(0.3), 2, 1)), CSIM_OK);
        run(w, 0.01, 0.01);
        start = energy = csim_world_totals(w).kinetic + csim_world_totals(w).elastic;
        for (n = 0; n < 300; n++) {
            double now;
            run(w, 0.01, 0.01);
            now = csim_world_totals(w).kinetic + csim_world_totals(w).elastic;
            worst = fmax(worst, now - energy);
            energy = now;
        }
        CASE("kind %d, stiffness %g", (int)d.kind, stiff);
        printf("    kind %d, stiffness %6g: %.4g J of %.4g after 3 s, largest gain %.2g\n", (int)d.kind, stiff, energy,
               start, worst);
        FIGURE("spring_gain", fmax(worst, 0) / start);
        CHECK(worst < TOL(1e-8, 1e-4) * start);
        csim_destroy_world(w);
    }
}

/* A door and a lever between two free bodies: the frequency is that of the motion which the joint leaves, not that of a
   body by itself. Undamped, a period brings it back. */
TEST(frequencies_are_those_of_the_jointed_bodies) {
    int k;
    for (k = 0; k < 3; k++) {
        csim_world *w = joint_world(CSIM_MIDPOINT, 0);
        csim_body_id a = body_at(w, 3, 0.2, 0.3, 0.4, csim_v3(0, CSIM_R(0.7), 0)), b = nobody;
        csim_joint_def d;
        csim_link_id id;
        csim_axis axis = k == 2 ? CSIM_AXIS_X : CSIM_AXIS_TWIST;
        double most = 0;
        int i;
        if (k > 0) b = body_at(w, 2, 0.5, 0.4, 0.3, csim_v3(0, CSIM_R(-0.4), CSIM_R(0.3)));
        d = joint_of(k == 2 ? CSIM_JOINT_SLIDER : CSIM_JOINT_HINGE, a, b, csim_v3(0, 0, 0));
        d.axes[axis].spring.frequency = 2;
        d.axes[axis].target = CSIM_R(0.01); /* small: only the linear motion has a frequency */
        id = make(w, &d);
        for (i = 1; i <= 1000; i++) {
            run(w, 0.0005, 0.0005);
            most = fmax(most, (double)axis_of(w, id, axis).position);
        }
        CASE("case %d", k);
        printf("    case %d: 0.02 out and back to %.2g, most %.6f\n", k, (double)axis_of(w, id, axis).position, most);
        NEAR(most, 0.02, 1e-4);
        NEAR(axis_of(w, id, axis).position, 0, TOL(1e-5, 1e-4));
        csim_destroy_world(w);
    }
}

TEST(bounds_of_spring_forces_hold) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    csim_body_id b = body_at(w, 2, 1, 1, 1, csim_v3(0, 0, 0));
    csim_joint_def d = joint_of(CSIM_JOINT_SLIDER, b, nobody, csim_v3(0, 0, 0));
    csim_link_id id;
    d.axes[0].spring.frequency = 4;
    d.axes[0].spring.ratio = 1;
    d.axes[0].spring_force = 6;
    d.axes[0].target = 10;
    id = make(w, &d);
    run(w, 1, 0.01);
    NEAR(axis_of(w, id, CSIM_AXIS_X).speed, 3, TOL(1e-9, 1e-4)); /* F t / m */
    NEAR(axis_of(w, id, CSIM_AXIS_X).force, 6, TOL(1e-9, 1e-3));
    d.axes[0].spring_force = 0; /* any */
    STATUS(csim_joint_set_axis(w, id, CSIM_AXIS_X, d.axes), CSIM_OK);
    run(w, 5, 0.01);
    NEAR(axis_of(w, id, CSIM_AXIS_X).position, 10, TOL(1e-6, 1e-3));
    csim_destroy_world(w);
}

/* ---- coordinates against finite differences */

static double unit(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 16777216.0 * 2 - 1;
}

static csim_vec3 any(unsigned *seed, double size) {
    const csim_real x = (csim_real)(size * unit(seed)), y = (csim_real)(size * unit(seed));
    return csim_v3(x, y, (csim_real)(size * unit(seed)));
}

static csimi_axes_pose axes_pose(const csim_world *w) {
    return csimi_axes_at(&w->store.state, w->store.joint, w->store.axes);
}

static csim_pose moved(csim_pose p, csim_vec3 v, csim_vec3 turn, double t) {
    p.position = csim_madd(p.position, (csim_real)t, v);
    p.rotation = csim_quat_mul(csim_quat_exp(csim_scale((csim_real)t, turn)), p.rotation);
    return p;
}

TEST(rates_are_derivatives_of_coordinates) {
    const double step = TOL(1e-6, 1e-2);
    unsigned seed = 7;
    double worst = 0;
    int n, i;
    for (n = 0; n < 400; n++) {
        csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
        const csim_vec3 start = any(&seed, 1);
        csim_body_id b = body_at(w, 1, 1, 1, 1, start), a = body_at(w, 1, 1, 1, 1, any(&seed, 1));
        csim_joint_def d = joint_of(CSIM_JOINT_SIX, a, b, any(&seed, 1));
        csim_pose pose[2], then;
        csim_vec3 v[2], turn[2], spin = any(&seed, n % 4 == 0 ? 0.001 : 1.5);
        csimi_axes_pose p[2], now;
        csim_link_id id;
        int side;
        if (csim_length(spin) > CSIM_R(2.6)) spin = csim_scale(CSIM_R(0.5), spin);
        d.axis = any(&seed, 1);
        d.axis2 = any(&seed, 1);
        d.cone[0] = CSIM_R(0.7);
        d.cone[1] = CSIM_R(1.1);
        id = make(w, &d);
        STATUS(csim_body_get_pose(w, a, pose), CSIM_OK);
        STATUS(csim_body_get_pose(w, b, pose + 1), CSIM_OK);
        pose[0] = moved(pose[0], csim_v3(0, 0, 0), spin, 1);
        for (i = 0; i < 2; i++) v[i] = any(&seed, 1), turn[i] = any(&seed, 1);
        for (i = 0; i < 2; i++) {
            STATUS(csim_body_set_pose(w, i ? b : a, pose[i]), CSIM_OK);
            STATUS(csim_body_set_velocity(w, i ? b : a, v[i], turn[i]), CSIM_OK);
        }
        now = axes_pose(w);
        for (i = 0; i < 6; i++) w->store.axes[0].position[i] = now.q[i];
        for (side = 0; side < 2; side++) {
            for (i = 0; i < 2; i++) {
                then = moved(pose[i], v[i], turn[i], side ? -step : step);
                STATUS(csim_body_set_pose(w, i ? b : a, then), CSIM_OK);
            }
            p[side] = axes_pose(w);
        }
        for (i = 0; i < 2; i++) STATUS(csim_body_set_pose(w, i ? b : a, pose[i]), CSIM_OK);
        for (i = 0; i < 7; i++) {
            const double rate = i < 6 ? (double)(p[0].q[i] - p[1].q[i]) / (2 * step)
                                      : (double)(p[0].cone - p[1].cone) / (2 * step);
            const double said =
                i < 6 ? (double)axis_of(w, id, (csim_axis)i).speed
                      : (double)csim_dot(now.turn[3], csim_sub(turn[0], turn[1]));
            if (i == 6 && !(csim_length(csim_v3(0, now.q[4], now.q[5])) > CSIM_R(0.05))) continue; /* its tip */
            worst = fmax(worst, fabs(rate - said));
        }
        csim_destroy_world(w);
    }
    printf("    rates off by %.2g at most\n", worst);
    FIGURE("rates_off", worst);
    CHECK(worst < TOL(1e-7, 2e-2));
}

/* ---- limits and cones */

TEST(soft_limits_bear_by_their_stiffness_and_hard_ones_hold) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 10);
    csim_body_id a = body_at(w, 2, 1, 1, 1, csim_v3(0, 0, 0)), b = body_at(w, 2, 1, 1, 1, csim_v3(5, 0, 0));
    csim_joint_def d = joint_of(CSIM_JOINT_SIX, a, nobody, csim_v3(0, 0, 0));
    csim_link_id soft, hard;
    csim_axis_state s;
    double above = 1;
    int i;
    d.axis2 = csim_v3(0, 0, 1);
    for (i = 0; i < 6; i++)
        if (i != 2) d.axes[i].hold = CSIM_HOLD_LOCKED;
    d.axes[2].limited = true;
    d.axes[2].lower = CSIM_R(-0.5);
    d.axes[2].upper = 1;
    hard = make(w, &d);
    d.a.body = b;
    d.a.point = d.b.point = csim_v3(5, 0, 0);
    d.axes[2].limit.stiffness = 400;
    d.axes[2].limit.damping = 40;
    soft = make(w, &d);
    for (i = 0; i < 500; i++) {
        run(w, 0.01, 0.01);
        s = axis_of(w, soft, CSIM_AXIS_Z);
        CHECK((double)s.force >= 0); /* never pulls */
        if ((double)s.position > -0.5) CHECK((double)s.force < 1e-9);
        above = fmin(above, (double)axis_of(w, hard, CSIM_AXIS_Z).position);
    }
    NEAR(above, -0.5, TOL(1e-9, 1e-4));
    NEAR(axis_of(w, hard, CSIM_AXIS_Z).force, 20, TOL(1e-6, 1e-2));
    s = axis_of(w, soft, CSIM_AXIS_Z);
    NEAR(s.position, -0.5 - 20.0 / 400, TOL(1e-7, 1e-4)); /* m g / k beyond */
    NEAR(s.force, 20, TOL(1e-6, 1e-2));
    NEAR(state_of(w, soft).force.z, 20, TOL(1e-6, 1e-2));
    CHECK((double)state_of(w, soft).error < TOL(1e-9, 1e-4) && (double)state_of(w, soft).error_angle < TOL(1e-9, 1e-4));
    csim_destroy_world(w);
}

/* A rod on a ball joint at its end, let go level: a round cone stops it at its angle, a twist limit its spin. */
TEST(cones_and_twists_stop_a_rod) {
    int k;
    for (k = 0; k < 3; k++) { /* hard, soft, an ellipse */
        csim_world *w = joint_world(CSIM_BACKWARD_EULER, 10);
        csim_body_id rod = body_at(w, 1, 0.01, 0.1, 0.1, csim_v3(CSIM_R(0.5), 0, 0));
        csim_joint_def d = joint_of(CSIM_JOINT_BALL, rod, nobody, csim_v3(0, 0, 0));
        csim_link_id id;
        double y, z, deep = 0, twist = 0;
        int i;
        d.cone[0] = CSIM_R(0.6);
        d.cone[1] = k == 2 ? CSIM_R(0.3) : CSIM_R(0.6);
        d.axis2 = csim_v3(0, 0, 1);
        d.axes[CSIM_AXIS_TWIST].limited = true;
        d.axes[CSIM_AXIS_TWIST].lower = CSIM_R(-0.2);
        d.axes[CSIM_AXIS_TWIST].upper = CSIM_R(0.3);
        d.axes[CSIM_AXIS_SWING_Y].spring.damping = d.axes[CSIM_AXIS_SWING_Z].spring.damping = 3;
        d.axes[CSIM_AXIS_TWIST].spring.damping = CSIM_R(0.01);
        if (k == 1) {
            d.cone_limit.stiffness = 500;
            d.cone_limit.damping = 5;
        }
        id = make(w, &d);
        STATUS(csim_body_set_velocity(w, rod, csim_v3(0, 1, 0), csim_v3(3, 0, 2)), CSIM_OK);
        for (i = 0; i < 4000; i++) {
            double e;
            STATUS(csim_world_step(w, CSIM_R(0.005)), CSIM_OK);
            y = (double)axis_of(w, id, CSIM_AXIS_SWING_Y).position;
            z = (double)axis_of(w, id, CSIM_AXIS_SWING_Z).position;
            e = hypot(y / 0.6, z / (double)d.cone[1]) - 1;
            deep = fmax(deep, e);
            twist = fmax(twist, fmax((double)axis_of(w, id, CSIM_AXIS_TWIST).position - 0.3,
                                     -0.2 - (double)axis_of(w, id, CSIM_AXIS_TWIST).position));
        }
        CASE("case %d", k);
        printf("    case %d: beyond the cone by %.2g, the twist by %.2g; swing %.4f %.4f, open %.2g\n", k, deep, twist,
               y, z, (double)state_of(w, id).error);
        CHECK(deep < (k == 1 ? 0.2 : TOL(1e-8, 1e-3)));
        CHECK(twist < TOL(1e-8, 1e-3));
        /* at rest it hangs on the wall below: m g cos / k deeper where that is soft */
        NEAR(y, k == 1 ? 0.6 + 10 * 0.5 * cos(0.608) / 500 : 0.6, k == 1 ? 1e-3 : TOL(1e-6, 1e-2));
        NEAR(z, 0, TOL(1e-4, 1e-2));
        NEAR(state_of(w, id).force.z, 10, TOL(1e-3, 1e-1));
        NEAR(state_of(w, id).torque.y, -10 * 0.5 * cos(y), TOL(1e-3, 1e-1));
        CHECK((double)state_of(w, id).error < TOL(1e-9, 1e-4));
        csim_destroy_world(w);
    }
}

/* ---- the kinds */

TEST(a_wheel_springs_spins_and_steers) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    csim_body_id car = body_at(w, 10, 2, 2, 2, csim_v3(0, 0, 0));
    csim_body_id wheel = body_at(w, 1, 0.2, 0.1, 0.1, csim_v3(0, 1, 0));
    csim_joint_def d = joint_of(CSIM_JOINT_WHEEL, wheel, car, csim_v3(0, 1, 0));
    csim_link_id id;
    double h = 0.01;
    STATUS(csim_body_set_motion(w, car, CSIM_STATIC), CSIM_OK);
    d.axis = csim_v3(0, 1, 0);
    d.axis2 = csim_v3(0, 0, 1);
    d.axes[CSIM_AXIS_Z].spring.frequency = 2;
    d.axes[CSIM_AXIS_Z].spring.ratio = CSIM_R(0.7);
    d.axes[CSIM_AXIS_Z].limited = true;
    d.axes[CSIM_AXIS_Z].lower = CSIM_R(-0.1);
    d.axes[CSIM_AXIS_Z].upper = CSIM_R(0.1);
    d.axes[CSIM_AXIS_SWING_Z].motor.kind = CSIM_MOTOR_POSITION; /* steering */
    d.axes[CSIM_AXIS_SWING_Z].motor.force = 1000;
    d.axes[CSIM_AXIS_SWING_Z].motor.speed = 1;
    d.axes[CSIM_AXIS_TWIST].motor.kind = CSIM_MOTOR_VELOCITY;
    d.axes[CSIM_AXIS_TWIST].motor.target = 20;
    d.axes[CSIM_AXIS_TWIST].motor.force = 100;
    id = make(w, &d);
    run(w, 1, h);
    NEAR(axis_of(w, id, CSIM_AXIS_TWIST).position, 19.9, TOL(1e-6, 1e-2)); /* three turns; 0.1 behind by its start */
    d.axes[CSIM_AXIS_SWING_Z].motor.target = CSIM_R(0.4);
    STATUS(csim_joint_set_axis(w, id, CSIM_AXIS_SWING_Z, d.axes + CSIM_AXIS_SWING_Z), CSIM_OK);
    run(w, 1, h);
    NEAR(axis_of(w, id, CSIM_AXIS_SWING_Z).position, 0.4, TOL(1e-3, 1e-2));
    NEAR(axis_of(w, id, CSIM_AXIS_TWIST).speed, 20, TOL(1e-6, 1e-2));
    CHECK((double)state_of(w, id).error < TOL(1e-8, 1e-3) && (double)state_of(w, id).error_angle < TOL(1e-7, 1e-3));
    STATUS(csim_body_add_force(w, wheel, csim_v3(0, 0, 5000), csim_v3(0, 0, 0)), CSIM_OK); /* a kerb: not beyond the limit */
    run(w, h, h);
    CHECK((double)axis_of(w, id, CSIM_AXIS_Z).position < 0.1 + TOL(1e-9, 1e-4));
    run(w, 3, h);
    NEAR(axis_of(w, id, CSIM_AXIS_Z).position, 0, TOL(1e-6, 1e-3));
    csim_destroy_world(w);
}

TEST(rods_with_springs_and_between_limits) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 10);
    csim_particle_def p = csim_default_particle_def();
    csim_body_id a, b;
    csim_joint_def d = csim_default_joint_def();
    csim_link_id spring, between;
    double low = 9, high = 0;
    int i;
    p.mass = 2;
    p.position = csim_v3(0, 0, -1);
    STATUS(csim_create_particle(w, &p, &a), CSIM_OK);
    p.position = csim_v3(3, 0, -1);
    STATUS(csim_create_particle(w, &p, &b), CSIM_OK);
    d.kind = CSIM_JOINT_DISTANCE;
    d.a.body = a;
    d.a.point = csim_v3(0, 0, -1);
    d.axes[0].spring.stiffness = 200;
    d.axes[0].spring.damping = 10;
    spring = make(w, &d);
    d = csim_default_joint_def();
    d.kind = CSIM_JOINT_DISTANCE;
    d.a.body = b;
    d.a.point = csim_v3(3, 0, -1);
    d.b.point = csim_v3(3, 0, 0);
    d.axes[0].limited = true;
    d.axes[0].lower = CSIM_R(0.4);
    d.axes[0].upper = CSIM_R(1.5);
    between = make(w, &d);
    STATUS(csim_body_set_velocity(w, b, csim_v3(CSIM_R(0.1), 0, 8), csim_v3(0, 0, 0)), CSIM_OK);
    for (i = 0; i < 600; i++) {
        run(w, 0.01, 0.01);
        low = fmin(low, (double)axis_of(w, between, CSIM_AXIS_X).position);
        high = fmax(high, (double)axis_of(w, between, CSIM_AXIS_X).position);
    }
    NEAR(axis_of(w, spring, CSIM_AXIS_X).position, 1 + 20.0 / 200, TOL(1e-6, 1e-3));
    NEAR(state_of(w, spring).force.z, 20, TOL(1e-4, 1e-1));
    NEAR(low, 0.4, TOL(1e-8, 1e-4));
    NEAR(high, 1.5, TOL(1e-8, 1e-4));
    csim_destroy_world(w);
}

/* A rod of 1 m, its axis held by name, whose particle is put 1.3 m away: .3 m off. */
TEST(a_held_rod_says_how_far_it_is_off) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    csim_particle_def p = csim_default_particle_def();
    csim_joint_def d = csim_default_joint_def();
    csim_pose pose = csim_pose_identity();
    csim_body_id a;
    csim_link_id id;
    p.position = csim_v3(0, 0, -1);
    STATUS(csim_create_particle(w, &p, &a), CSIM_OK);
    d.kind = CSIM_JOINT_DISTANCE;
    d.a.body = a;
    d.a.point = p.position;
    d.axes[0].hold = CSIM_HOLD_LOCKED;
    id = make(w, &d);
    NEAR(state_of(w, id).error, 0, TOL(1e-14, 1e-6));
    pose.position = csim_v3(0, 0, CSIM_R(-1.3));
    STATUS(csim_body_set_pose(w, a, pose), CSIM_OK);
    NEAR(state_of(w, id).error, 0.3, TOL(1e-14, 1e-6));
    csim_destroy_world(w);
}

/* A mouse drags a rigid body by a corner, a particle and a node of a solid to its target. */
TEST(a_mouse_drags_bodies_and_nodes) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    static const csim_real vertex[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int tet[4] = {0, 1, 2, 3};
    csim_soft_def soft = csim_default_soft_def();
    csim_particle_def p = csim_default_particle_def();
    csim_body_id body[3];
    csim_joint_def d = csim_default_joint_def();
    csim_link_id id[3];
    csim_joint_state s;
    int i, k;
    body[0] = body_at(w, 2, 0.1, 0.1, 0.1, csim_v3(0, 5, 0));
    STATUS(csim_create_particle(w, &p, body + 1), CSIM_OK);
    soft.pose.position = csim_v3(0, 10, 0);
    soft.vertices = vertex;
    soft.vertex_count = 4;
    soft.tets = tet;
    soft.tet_count = 1;
    STATUS(csim_create_soft(w, &soft, body + 2), CSIM_OK);
    for (i = 0; i < 3; i++) {
        d.kind = CSIM_JOINT_MOUSE;
        d.a.body = body[i];
        d.a.point = d.b.point = csim_v3(i == 0 ? CSIM_R(0.2) : 0, (csim_real)(i == 0 ? 5 : i == 1 ? 0 : 10), 0);
        id[i] = make(w, &d);
        STATUS(csim_joint_set_anchor(w, id[i], csim_add(d.b.point, csim_v3(1, 0, CSIM_R(0.5)))), CSIM_OK);
    }
    run(w, 4, 0.01);
    for (i = 0; i < 3; i++) {
        CASE("body %d", i);
        for (k = 0; k < 3; k++) NEAR(axis_of(w, id[i], (csim_axis)k).position, 0, 0.02); /* it may turn about it */
        s = state_of(w, id[i]);
        CHECK(!s.broken && s.a.index1 == body[i].index1 && s.b.index1 == 0);
    }
    csim_destroy_world(w);
}

TEST(forces_breaking_and_lists) {
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 10);
    csim_body_id b = body_at(w, 2, 1, 1, 1, csim_v3(1, 0, 0));
    csim_joint_def d = joint_of(CSIM_JOINT_SIX, b, nobody, csim_v3(0, 0, 0));
    csim_link_id id, list[2];
    csim_axis_state s;
    int i;
    d.axis2 = csim_v3(0, 0, 1);
    for (i = 0; i < 6; i++) d.axes[i].hold = CSIM_HOLD_LOCKED;
    d.axes[0].hold = CSIM_HOLD_FREE;
    d.break_torque = 30;
    id = make(w, &d);
    EQUAL(csim_world_joints(w, list, 2), 1);
    CHECK(list[0].index1 == id.index1);
    EQUAL(csim_body_joints(w, b, list, 2), 1);
    EQUAL(csim_body_joints(w, nobody, list, 2), -1);
    run(w, 0.1, 0.01);
    s = axis_of(w, id, CSIM_AXIS_Z);
    CHECK(s.locked && !axis_of(w, id, CSIM_AXIS_X).locked);
    NEAR(s.force, 20, TOL(1e-7, 1e-2));
    NEAR(axis_of(w, id, CSIM_AXIS_SWING_Y).force, -20, TOL(1e-7, 1e-2));
    NEAR(state_of(w, id).torque.y, -20, TOL(1e-7, 1e-2));
    STATUS(csim_body_add_force(w, b, csim_v3(0, 0, -20), csim_v3(0, 0, 0)), CSIM_OK);
    run(w, 0.01, 0.01);
    EQUAL(csim_world_broken(w, list, 2), 1);
    run(w, 0.5, 0.01);
    CHECK(state_of(w, id).broken && (double)state_of(w, id).position > -1);
    CHECK((double)csim_length(state_of(w, id).force) <= 0);
    csim_destroy_world(w);
}

/* ---- every solver, every integrator that takes joints, saving, growing, refusing */

static csim_world *mixed(csim_solver solver, csim_integrator integrator, csim_link_id *id) {
    csim_world *w = joint_world(integrator, 10);
    csim_solver_params p = csim_default_solver_params();
    csim_body_id a = body_at(w, 1, 0.1, 0.1, 0.1, csim_v3(CSIM_R(0.5), 0, 0));
    csim_body_id b = body_at(w, 2, 0.2, 0.3, 0.2, csim_v3(CSIM_R(1.5), 0, 0));
    csim_joint_def d = joint_of(CSIM_JOINT_BALL, a, nobody, csim_v3(0, 0, 0));
    p.solver = solver;
    p.tolerance = TOL(1e-9, 1e-5);
    p.max_iterations = 100000;
    STATUS(csim_world_set_solver(w, &p), CSIM_OK);
    d.axes[CSIM_AXIS_SWING_Y].spring.stiffness = 60;
    d.axes[CSIM_AXIS_SWING_Y].spring.damping = 2;
    d.axes[CSIM_AXIS_TWIST].limited = true;
    d.axes[CSIM_AXIS_TWIST].upper = CSIM_R(0.1);
    d.axes[CSIM_AXIS_TWIST].limit.frequency = 5;
    d.axes[CSIM_AXIS_TWIST].limit.ratio = 1;
    id[0] = make(w, &d);
    d = joint_of(CSIM_JOINT_SLIDER, b, a, csim_v3(1, 0, 0));
    d.axes[0].spring.frequency = 3;
    d.axes[0].spring.ratio = CSIM_R(0.5);
    id[1] = make(w, &d);
    STATUS(csim_body_set_velocity(w, b, csim_v3(0, 1, 0), csim_v3(1, 0, 0)), CSIM_OK);
    return w;
}

TEST(solvers_agree_on_soft_rows) {
    static const csim_solver list[] = {CSIM_SOLVER_AUTO, CSIM_SOLVER_COND, CSIM_SOLVER_SWEEP, CSIM_SOLVER_PGS,
                                       CSIM_SOLVER_NEWTON_PROXIMAL, CSIM_SOLVER_APGD};
    csim_link_id id[2];
    double q[6][3];
    int i, k;
    for (i = 0; i < 6; i++) {
        csim_world *w = mixed(list[i], CSIM_BACKWARD_EULER, id);
        CASE("%s", csim_describe_solver(list[i]).name);
        run(w, 0.2, 0.01);
        q[i][0] = (double)axis_of(w, id[0], CSIM_AXIS_SWING_Y).position;
        q[i][1] = (double)axis_of(w, id[0], CSIM_AXIS_TWIST).position;
        q[i][2] = (double)axis_of(w, id[1], CSIM_AXIS_X).position;
        for (k = 0; k < 3; k++) NEAR(q[i][k], q[0][k], TOL(list[i] == CSIM_SOLVER_COND ? 1e-4 : 1e-6, 1e-2));
        for (k = 0; k < 3; k++) FIGURE("solvers_off", q[i][k] - q[0][k]);
        printf("    %-16s %.9f %.9f %.9f\n", csim_describe_solver(list[i]).name, q[i][0], q[i][1], q[i][2]);
        csim_destroy_world(w);
    }
}

TEST(midpoint_worlds_keep_the_energy_of_springs) {
    static const csim_integrator list[2] = {CSIM_MIDPOINT, CSIM_TWO_STEP};
    int k;
    for (k = 0; k < 2; k++) {
        csim_world *w = joint_world(list[k], 0);
        csim_body_id b = body_at(w, 2, 1, 1, 1, csim_v3(0, 0, 0));
        csim_joint_def d = joint_of(CSIM_JOINT_SLIDER, b, nobody, csim_v3(0, 0, 0));
        double start, off = 0;
        int i;
        d.axes[0].spring.stiffness = 50;
        make(w, &d);
        STATUS(csim_body_set_velocity(w, b, csim_v3(1, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
        start = csim_world_totals(w).kinetic + csim_world_totals(w).elastic;
        for (i = 0; i < 2000; i++) {
            run(w, 0.01, 0.01);
            off = fmax(off, fabs(csim_world_totals(w).kinetic + csim_world_totals(w).elastic - start));
        }
        CASE("integrator %d", (int)list[k]);
        printf("    integrator %d: energy off by %.2g of %.2g J\n", (int)list[k], off, start);
        CHECK(off < (k == 0 ? TOL(1e-9, 1e-3) : 0.05) * start);
        csim_destroy_world(w);
    }
}

TEST(saved_axes_go_on_to_the_bit) {
    csim_link_id id[2], more;
    csim_world *w = mixed(CSIM_SOLVER_AUTO, CSIM_BACKWARD_EULER, id);
    csim_joint_def d;
    unsigned char *memory;
    size_t bytes = 0;
    uint64_t hash;
    run(w, 0.2, 0.01);
    STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
    memory = (unsigned char *)malloc(bytes);
    REQUIRE(memory != NULL);
    STATUS(csim_world_save(w, memory, &bytes), CSIM_OK);
    run(w, 0.2, 0.01);
    hash = csim_world_hash(w);
    STATUS(csim_world_restore(w, memory, bytes), CSIM_OK);
    run(w, 0.2, 0.01);
    CHECK(csim_world_hash(w) == hash);
    d = joint_of(CSIM_JOINT_HINGE, body_at(w, 1, 1, 1, 1, csim_v3(0, 3, 0)), nobody, csim_v3(0, 3, 0));
    d.limited = true;
    d.upper = 1;
    more = make(w, &d); /* a plain one is given an axis, with what it had */
    d.axes[CSIM_AXIS_TWIST].spring.stiffness = 1;
    STATUS(csim_joint_set_axis(w, more, CSIM_AXIS_SWING_Y, d.axes), CSIM_OK);
    STATUS(csim_joint_set_limits(w, more, true, 0, 2), CSIM_OK);
    STATUS(csim_destroy_link(w, id[0]), CSIM_OK); /* others behind it move up */
    run(w, 0.2, 0.01);
    CHECK(axis_of(w, id[1], CSIM_AXIS_Y).locked && axis_of(w, more, CSIM_AXIS_Y).locked);
    STATUS(csim_destroy_link(w, more), CSIM_OK);
    STATUS(csim_destroy_link(w, id[1]), CSIM_OK);
    EQUAL(w->store.count.axes, 0);
    run(w, 0.1, 0.01);
    free(memory);
    csim_destroy_world(w);
}

TEST(a_fixed_block_holds_as_many_as_it_says) {
    static unsigned char memory[1 << 20];
    unsigned char *block = memory + (64 - (size_t)memory % 64);
    csim_world_def wd = csim_default_world_def();
    csim_world *w = NULL;
    csim_joint_def d;
    csim_link_id id = {0, 0, 0}, first;
    size_t bytes, plain;
    wd.capacity.bodies = wd.capacity.rigids = 2;
    wd.capacity.links = 2;
    STATUS(csim_world_bytes(&wd, &plain, NULL), CSIM_OK);
    wd.capacity.axes = 1;
    STATUS(csim_world_bytes(&wd, &bytes, NULL), CSIM_OK);
    CHECK(bytes > plain && bytes < sizeof memory - 64);
    STATUS(csim_create_world_in(&wd, block, bytes, &w, NULL), CSIM_OK);
    d = joint_of(CSIM_JOINT_SIX, body_at(w, 1, 1, 1, 1, csim_v3(0, 0, 0)), nobody, csim_v3(0, 0, 0));
    first = make(w, &d);
    EQUAL(csim_create_joint(w, &d, &id), CSIM_CAPACITY);
    CHECK(strstr(csim_last_error(w), "capacity.axes") != NULL);
    STATUS(csim_destroy_link(w, first), CSIM_OK);
    STATUS(csim_create_joint(w, &d, &id), CSIM_OK);
    run(w, 0.1, 0.01);
    csim_destroy_world(w);
}

typedef struct refusal {
    const char *field;
    csim_status status;
    void (*spoil)(csim_joint_def *d);
} refusal;
static void spoil_hold(csim_joint_def *d) { d->axes[0].hold = (csim_hold)9; }
static void spoil_both(csim_joint_def *d) { d->axes[0].hold = CSIM_HOLD_LOCKED; }
static void spoil_stiff(csim_joint_def *d) { d->axes[0].spring.stiffness = -1; }
static void spoil_nan(csim_joint_def *d) { d->axes[0].spring.frequency = (csim_real)NAN; }
static void spoil_ratio(csim_joint_def *d) { d->axes[1].limit.ratio = -1; }
static void spoil_lower(csim_joint_def *d) { d->axes[2].lower = 1; }
static void spoil_target(csim_joint_def *d) { d->axes[2].target = (csim_real)INFINITY; }
static void spoil_force(csim_joint_def *d) { d->axes[2].spring_force = -1; }
static void spoil_motor(csim_joint_def *d) { d->axes[5].motor.kind = (csim_motor_kind)7; }
static void spoil_cone(csim_joint_def *d) { d->cone[0] = 1; }
static void spoil_cone_nan(csim_joint_def *d) { d->cone[0] = d->cone[1] = (csim_real)NAN; }
static void spoil_beside(csim_joint_def *d) { d->cone[0] = d->cone[1] = 1, d->axes[4].limited = true; }
static void spoil_axis(csim_joint_def *d) { d->axis = csim_v3(0, 0, 0); }
static void spoil_axis2(csim_joint_def *d) { d->axis2.x = (csim_real)NAN; }
static void spoil_rope(csim_joint_def *d) { d->kind = CSIM_JOINT_ROPE; }
static void spoil_rod(csim_joint_def *d) { d->kind = CSIM_JOINT_DISTANCE, d->axes[3].spring.damping = 1; }

TEST(settings_are_refused_by_name) {
    static const refusal list[] = {
        {"hold", CSIM_OUT_OF_RANGE, spoil_hold},      {"hold", CSIM_OUT_OF_RANGE, spoil_both},
        {"stiffness", CSIM_OUT_OF_RANGE, spoil_stiff}, {"frequency", CSIM_NOT_FINITE, spoil_nan},
        {"ratio", CSIM_OUT_OF_RANGE, spoil_ratio},    {"lower", CSIM_OUT_OF_RANGE, spoil_lower},
        {"target", CSIM_NOT_FINITE, spoil_target},    {"spring_force", CSIM_OUT_OF_RANGE, spoil_force},
        {"motor.kind", CSIM_OUT_OF_RANGE, spoil_motor}, {"cone", CSIM_OUT_OF_RANGE, spoil_cone},
        {"cone", CSIM_OUT_OF_RANGE, spoil_cone_nan},  {"cone", CSIM_OUT_OF_RANGE, spoil_beside},
        {"axis", CSIM_OUT_OF_RANGE, spoil_axis},      {"axis2", CSIM_NOT_FINITE, spoil_axis2},
        {"axes", CSIM_WRONG_KIND, spoil_rope},        {"axes", CSIM_WRONG_KIND, spoil_rod},
    };
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 0);
    csim_body_id b = body_at(w, 1, 1, 1, 1, csim_v3(0, 0, 0)), dot;
    csim_particle_def p = csim_default_particle_def();
    csim_joint_def d;
    csim_link_id id = {0, 0, 0}, six;
    csim_axis_state s;
    size_t i;
    for (i = 0; i < sizeof list / sizeof *list; i++) {
        CASE("%s %d", list[i].field, (int)i);
        d = joint_of(CSIM_JOINT_SIX, b, nobody, csim_v3(0, 0, 0));
        d.axes[0].spring.stiffness = 1;
        list[i].spoil(&d);
        EQUAL(csim_create_joint(w, &d, &id), list[i].status);
        CHECK(strstr(csim_last_error(w), list[i].field) != NULL);
        CHECK(id.index1 == 0);
    }
    STATUS(csim_create_particle(w, &p, &dot), CSIM_OK);
    d = joint_of(CSIM_JOINT_WHEEL, dot, nobody, csim_v3(0, 0, 0));
    EQUAL(csim_create_joint(w, &d, &id), CSIM_WRONG_KIND);
    d = joint_of(CSIM_JOINT_SIX, b, nobody, csim_v3(0, 0, 0));
    six = make(w, &d);
    EQUAL(csim_joint_set_axis(w, six, (csim_axis)6, d.axes), CSIM_OUT_OF_RANGE);
    EQUAL(csim_joint_set_axis(w, six, CSIM_AXIS_X, NULL), CSIM_NULL_ARGUMENT);
    d.axes[0].spring.damping = (csim_real)NAN;
    EQUAL(csim_joint_set_axis(w, six, CSIM_AXIS_X, d.axes), CSIM_NOT_FINITE);
    EQUAL(csim_joint_get_axis(w, id, CSIM_AXIS_X, &s), CSIM_STALE_ID);
    EQUAL(csim_joint_set_anchor(w, six, csim_v3((csim_real)NAN, 0, 0)), CSIM_NOT_FINITE);
    csim_destroy_world(w);
}

/* ---- links of trees */

/* The same as a tree of one link, of which the inertia is a ball's: then it turns as a body does. */
static csim_body_id link_at(csim_world *w, double mass, double inertia, csim_vec3 at) {
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def t = csim_default_tree_def();
    csim_body_id id = {0, 0, 0};
    link.joint = CSIM_TREE_FLOATING;
    link.mass = (csim_real)mass;
    link.inertia.m[0] = link.inertia.m[4] = link.inertia.m[8] = (csim_real)inertia;
    t.links = &link, t.link_count = 1;
    t.pose.position = at;
    t.velocity = csim_v3(0, CSIM_R(0.5), 0);
    t.angular_velocity = csim_v3(CSIM_R(0.5), 1, CSIM_R(-0.7));
    STATUS(csim_create_tree(w, &t, &id), CSIM_OK);
    return id;
}

static void joint_for_links(int kind, csim_joint_def *d) {
    int i;
    switch (kind) {
    case 0: /* a hinge between its stops, with a spring */
        d->kind = CSIM_JOINT_HINGE;
        d->axes[CSIM_AXIS_TWIST].limited = true;
        d->axes[CSIM_AXIS_TWIST].upper = CSIM_R(0.6), d->axes[CSIM_AXIS_TWIST].lower = CSIM_R(-0.6);
        d->axes[CSIM_AXIS_TWIST].spring.stiffness = 2;
        break;
    case 1: d->kind = CSIM_JOINT_HINGE; break;
    case 2: d->kind = CSIM_JOINT_SLIDER, d->axis = csim_v3(0, 1, CSIM_R(-0.5)); break;
    case 3: d->kind = CSIM_JOINT_WELD; break;
    case 4: /* a shoulder */
        d->kind = CSIM_JOINT_BALL;
        d->cone[0] = CSIM_R(0.3), d->cone[1] = CSIM_R(0.5);
        d->axes[CSIM_AXIS_TWIST].limited = true;
        d->axes[CSIM_AXIS_TWIST].upper = CSIM_R(0.1), d->axes[CSIM_AXIS_TWIST].lower = CSIM_R(-0.1);
        break;
    case 5: /* axes locked: it moves in a plane and turns about its normal */
        d->kind = CSIM_JOINT_SIX;
        d->axes[CSIM_AXIS_X].hold = CSIM_HOLD_LOCKED;
        d->axes[CSIM_AXIS_SWING_Y].hold = d->axes[CSIM_AXIS_SWING_Z].hold = CSIM_HOLD_LOCKED;
        break;
    default: /* springs along all axes, turns too, and a motor */
        d->kind = CSIM_JOINT_SIX;
        for (i = 0; i < 6; i++) d->axes[i].spring.stiffness = 40, d->axes[i].spring.damping = 1;
        d->axes[CSIM_AXIS_TWIST].motor.kind = CSIM_MOTOR_VELOCITY;
        d->axes[CSIM_AXIS_TWIST].motor.target = 1, d->axes[CSIM_AXIS_TWIST].motor.force = CSIM_R(0.3);
    }
}

/* Joints of every sort hold a link as they hold a rigid body, to the world and to another. */
TEST(joints_hold_links_as_they_hold_bodies) {
    int kind, pair, step, i;
    for (kind = 0; kind < 7; kind++)
        for (pair = 0; pair < 2; pair++) {
            csim_body_id id[2], base[2] = {{0, 0, 0}, {0, 0, 0}};
            csim_link_id link[2];
            csim_world *w[2];
            csim_pose p, q;
            double open = 0;
            CASE("kind %d, %s", kind, pair ? "on a body" : "on the world");
            for (i = 0; i < 2; i++) {
                csim_joint_def d;
                w[i] = joint_world(CSIM_BACKWARD_EULER, 9.81);
                if (i) {
                    id[i] = link_at(w[i], 2, 0.1, csim_v3(CSIM_R(0.3), 0, 0));
                } else {
                    id[i] = body_at(w[i], 2, 0.1, 0.1, 0.1, csim_v3(CSIM_R(0.3), 0, 0));
                    csim_body_set_velocity(w[i], id[i], csim_v3(0, CSIM_R(0.5), 0), csim_v3(CSIM_R(0.5), 1, CSIM_R(-0.7)));
                }
                if (pair) base[i] = body_at(w[i], 3, 0.2, 0.2, 0.2, csim_v3(CSIM_R(-0.4), 0, CSIM_R(0.1)));
                d = joint_of(CSIM_JOINT_BALL, id[i], base[i], csim_v3(0, 0, 0));
                joint_for_links(kind, &d);
                link[i] = make(w[i], &d);
            }
            for (step = 0; step < 300; step++)
                for (i = 0; i < 2; i++) {
                    STATUS(csim_world_step(w[i], CSIM_R(0.002)), CSIM_OK);
                    if (i) open = fmax(open, (double)(state_of(w[1], link[1]).error + state_of(w[1], link[1]).error_angle));
                }
            STATUS(csim_body_get_pose(w[0], id[0], &p), CSIM_OK);
            STATUS(csim_tree_link_pose(w[1], id[1], 0, &q), CSIM_OK);
            NEAR(csim_length(csim_sub(p.position, q.position)), 0, TOL(2e-5, 5e-3));
            NEAR(csim_length(csim_sub(csim_rotate(p.rotation, csim_v3(1, 2, 3)), csim_rotate(q.rotation, csim_v3(1, 2, 3)))),
                 0, TOL(2e-4, 5e-2));
            if (kind < 6) NEAR(open, 0, TOL(1e-8, 2e-4));
            for (i = 0; i < 6 && kind != 1 && kind != 2 && kind != 3; i++) {
                const csim_axis_state a = axis_of(w[0], link[0], (csim_axis)i), b = axis_of(w[1], link[1], (csim_axis)i);
                NEAR(b.position, a.position, TOL(5e-5, 2e-2));
                NEAR(b.speed, a.speed, TOL(1e-3, 0.1));
                if (kind == 5 && (i == 0 || i > 3)) NEAR(b.position, 0, TOL(1e-8, 2e-4));
            }
            for (i = 0; i < 2; i++) csim_destroy_world(w[i]);
        }
}

/* A tree of two links on a ball: its cone and the limits of its twist are a joint beside it; a mouse draws its end. */
TEST(a_joint_beside_a_ball_of_a_tree_is_its_cone) {
    csim_tree_link_def link[2];
    csim_tree_def t = csim_default_tree_def();
    csim_world *w = joint_world(CSIM_BACKWARD_EULER, 9.81);
    csim_joint_def d = csim_default_joint_def();
    csim_body_id id = {0, 0, 0};
    csim_link_id cone, mouse;
    csim_vec3 at;
    csim_pose p;
    int i;
    for (i = 0; i < 2; i++) link[i] = csim_default_tree_link_def();
    link[1].parent = 0;
    link[1].joint = CSIM_TREE_BALL;
    link[1].mass = 1;
    link[1].inertia.m[0] = link[1].inertia.m[4] = link[1].inertia.m[8] = CSIM_R(0.02);
    link[1].centre = csim_v3(CSIM_R(0.4), 0, 0);
    t.links = link, t.link_count = 2;
    STATUS(csim_create_tree(w, &t, &id), CSIM_OK);
    d.kind = CSIM_JOINT_SIX;
    d.a.body = d.b.body = id;
    d.a.node = 1;
    d.axis = csim_v3(1, 0, 0);
    d.cone[0] = d.cone[1] = CSIM_R(0.5);
    d.axes[CSIM_AXIS_TWIST].limited = true;
    d.axes[CSIM_AXIS_TWIST].lower = CSIM_R(-0.2), d.axes[CSIM_AXIS_TWIST].upper = CSIM_R(0.2);
    cone = make(w, &d);
    for (i = 0; i < 600; i++) { /* it hangs down as far as the cone lets it */
        const csim_real turn[3] = {CSIM_R(0.02), 0, 0};
        STATUS(csim_tree_add_forces(w, id, turn), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(0.005)), CSIM_OK);
        if (i < 300) continue;
        CHECK(axis_of(w, cone, CSIM_AXIS_TWIST).position < CSIM_R(0.2) + CSIM_R(TOL(1e-6, 1e-3)));
        STATUS(csim_tree_link_pose(w, id, 1, &p), CSIM_OK);
        at = csim_rotate(p.rotation, csim_v3(1, 0, 0));
        CHECK((double)at.x > cos(0.5) - TOL(1e-6, 1e-3));
    }
    NEAR(at.z, -sin(0.5), TOL(1e-3, 1e-2));
    NEAR(axis_of(w, cone, CSIM_AXIS_TWIST).position, 0.2, TOL(1e-3, 1e-2));
    d = csim_default_joint_def();
    d.kind = CSIM_JOINT_MOUSE;
    d.a.body = id;
    d.a.node = 1;
    d.a.point = d.b.point = csim_pose_point(p, csim_v3(CSIM_R(0.4), 0, 0));
    for (i = 0; i < 3; i++) d.axes[i].spring.frequency = 10, d.axes[i].spring.ratio = 1;
    mouse = make(w, &d);
    STATUS(csim_joint_set_anchor(w, mouse, csim_v3(CSIM_R(0.4), 0, 0)), CSIM_OK);
    for (i = 0; i < 400; i++) STATUS(csim_world_step(w, CSIM_R(0.005)), CSIM_OK);
    STATUS(csim_tree_link_pose(w, id, 1, &p), CSIM_OK);
    NEAR(csim_length(csim_sub(csim_pose_point(p, csim_v3(CSIM_R(0.4), 0, 0)), csim_v3(CSIM_R(0.4), 0, 0))),
         9.81 / (4 * pi * pi * 100), 5e-4); /* it hangs below by g / omega^2 */
    csim_destroy_world(w);
}
