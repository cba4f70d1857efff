/* The variational integrators of Kaufman's thesis, ch. 4-5: energy with and without contact, order, friction against
   the velocity at the end of the step, and what they refuse. Formulas are compared with solutions of the thesis'
   equations in plain numbers, which share no code with the library. */
#include "check.h"
#include <math.h>

static const char *const names[] = {"euler", "midpoint", "two-step", "half-step"};
static const csim_integrator variational[] = {CSIM_TWO_STEP, CSIM_HALF_STEP};

static csim_world *make_world(csim_integrator integrator, double gravity) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    d.integrator = integrator;
    d.gravity = csim_v3(0, 0, (csim_real)-gravity);
    d.restitution_threshold = 0;
    d.stabilization = 0; /* it pushes, and so gives energy */
    d.solver.tolerance = TOL(1e-13, 1e-5);
    d.on_uncertified = CSIM_REJECT_UNCERTIFIED;
    STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
    return w;
}

static csim_body_id add_particle(csim_world *w, csim_vec3 x, csim_vec3 v, double restitution, double friction) {
    csim_particle_def d = csim_default_particle_def();
    csim_body_id id = {0, 0, 0};
    d.position = x;
    d.velocity = v;
    d.surface.restitution = (csim_real)restitution;
    d.surface.friction = (csim_real)friction;
    STATUS(csim_create_particle(w, &d, &id), CSIM_OK);
    return id;
}

static csim_vec3 position_of(const csim_world *w, csim_body_id id) {
    csim_pose p;
    STATUS(csim_body_get_pose(w, id, &p), CSIM_OK);
    return p.position;
}

static csim_vec3 end_velocity_of(const csim_world *w, csim_body_id id) {
    csim_vec3 v;
    STATUS(csim_body_get_end_velocity(w, id, &v, NULL), CSIM_OK);
    return v;
}

static double energy_of(const csim_world *w) {
    csim_totals t = csim_world_totals(w);
    return t.kinetic + t.gravity + t.elastic;
}

/* A step that is certified. */
static void step(csim_world *w, double h) {
    csim_step_stats s;
    STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
    s = csim_world_stats(w);
    if (s.certificate.dynamics > TOL(1e-11, 1e-4) || s.certificate.contact > TOL(1e-11, 1e-4) ||
        (s.flags & CSIM_FLAG_UNCERTIFIED))
        NEAR(s.certificate.dynamics + s.certificate.contact, 0, TOL(1e-11, 1e-4));
}

/* ---- thesis 4.8.1: V = g q over a floor. Free flight follows the parabola to rounding in both, and an elastic impact
   turns v about where it stands: nothing is left that could change the energy, whatever h is. */

/* Bounces until there were so many; the largest change of the energy, relative. */
static double bounce(csim_integrator integrator, double h, double height, long wanted, double *lowest) {
    csim_world *w = make_world(integrator, 9.81);
    csim_body_id ground, id;
    double before, off = 0, last = 0;
    long bounces = 0, steps = 0;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 0, &ground), CSIM_OK);
    id = add_particle(w, csim_v3(0, 0, (csim_real)height), csim_v3(0, 0, 0), 1, 0);
    before = energy_of(w);
    while (bounces < wanted && steps < 100 * wanted) {
        double v;
        step(w, h);
        steps++;
        v = (double)end_velocity_of(w, id).z;
        bounces += v > 0 && last < 0;
        last = v;
        *lowest = fmin(*lowest, (double)position_of(w, id).z / height);
        off = fmax(off, fabs(energy_of(w) - before) / before);
    }
    EQUAL(bounces, wanted);
    csim_destroy_world(w);
    return off;
}

/* A motion that is kept exactly meets the floor in the same phase of the step again and again, so twenty heights share
   the bounces. */
TEST(bouncing_particle_keeps_its_energy_over_thousands_of_bounces) {
    /* steps per bounce: about 9, 18, 40; the thesis takes one height and h = 0.1, 0.01, 0.001 */
    static const double h[] = {0.1, 0.01, 0.001}, height[] = {1, 0.04, 0.002};
    int k, i, j;
    for (k = 0; k < 2; k++)
        for (i = 0; i < 3; i++) {
            double off = 0, lowest = 0;
            for (j = 0; j < (check_long() ? 20 : 5); j++) /* 500 bounces from each height */
                off = fmax(off, bounce(variational[k], h[i], height[i] * (1 + 0.03 * j), 500, &lowest));
            CASE("%s, h = %g: energy off by %.3g", names[variational[k]], h[i], off);
            FIGURE(variational[k] == CSIM_HALF_STEP ? "half_bounce" : "two_bounce", off);
            NEAR(off, 0, TOL(1e-11, 5e-3));    /* 2e4 roundings, each of 1e-16 (6e-8), and they need not cancel */
            NEAR(lowest, 0, TOL(1e-12, 1e-6)); /* impacts turn it ahead of the floor */
        }
}

/* Apexes under restitution as for the other integrators (validation 9): e^2 of the height before, to O(h). */
TEST(restitution_takes_its_share_9) {
    int k;
    for (k = 0; k < 2; k++) {
        csim_world *w = make_world(variational[k], 9.81);
        csim_body_id ground, id;
        double apex = 0, last = 0;
        int steps = 0;
        STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 0, &ground), CSIM_OK);
        id = add_particle(w, csim_v3(0, 0, 1), csim_v3(0, 0, 0), 0.8, 0);
        for (; steps < 5000; steps++) {
            double v;
            step(w, 1e-3);
            v = (double)end_velocity_of(w, id).z;
            if (last > 0 && v <= 0) break;
            last = v;
            if (v > 0) apex = fmax(apex, (double)position_of(w, id).z);
        }
        CASE("%s: apex %.5f", names[variational[k]], apex);
        NEAR(apex, 0.64, 0.01); /* h v = 4 mm */
        csim_destroy_world(w);
    }
}

/* ---- thesis 4.8.2: V = |q|^2 (|q|^2 - 1)^2 in the plane, by forces that the test gives */

static double ring(csim_vec3 q, csim_vec3 *force) {
    double s = (double)(q.x * q.x + q.y * q.y), d = (s - 1) * (s - 1) + 2 * s * (s - 1); /* dV/ds */
    if (force) *force = csim_scale((csim_real)(-2 * d), csim_v3(q.x, q.y, 0));
    return s * (s - 1) * (s - 1);
}

typedef struct oscillator {
    csim_world *w;
    csim_body_id id;
    void *saved;
    size_t room;
} oscillator;

/* One step with F where the scheme takes it: at q + h/2 v_k, or at the middle of the step, which is found by repeating
   the step from a saved world. */
static void oscillator_step(oscillator *o, bool half, double h) {
    csim_vec3 x = position_of(o->w, o->id), v = end_velocity_of(o->w, o->id), force, next, had = x;
    size_t bytes = o->room;
    int i;
    ring(csim_madd(x, (csim_real)(h / 2), v), &force);
    if (!half) {
        csim_body_add_force(o->w, o->id, force, csim_v3(0, 0, 0));
        step(o->w, h);
        return;
    }
    STATUS(csim_world_save(o->w, o->saved, &bytes), CSIM_OK);
    for (i = 0; i < 60; i++) {
        STATUS(csim_world_restore(o->w, o->saved, bytes), CSIM_OK);
        csim_body_add_force(o->w, o->id, force, csim_v3(0, 0, 0));
        step(o->w, h);
        next = position_of(o->w, o->id);
        if ((double)csim_length(csim_sub(next, had)) < TOL(1e-15, 1e-8)) return;
        had = next;
        ring(csim_scale(CSIM_R(0.5), csim_add(x, next)), &force);
    }
}

/* Largest deviation of the energy from its start over the given steps, relative to the start; turns counts how often
   the radius passes a maximum. */
static double energy_band(oscillator *o, bool half, double h, long steps, long *turns) {
    csim_vec3 v = end_velocity_of(o->w, o->id);
    double start = ring(position_of(o->w, o->id), NULL) + (double)csim_dot(v, v) / 2, band = 0, was = 0, is = 0;
    long i;
    for (i = 0; i < steps; i++) {
        csim_vec3 q;
        double r;
        oscillator_step(o, half, h);
        q = position_of(o->w, o->id);
        v = end_velocity_of(o->w, o->id);
        r = (double)csim_dot(q, q);
        if (turns) *turns += is > was && is >= r;
        was = is;
        is = r;
        band = fmax(band, fabs(ring(q, NULL) + (double)csim_dot(v, v) / 2 - start) / start);
    }
    return band;
}

static oscillator make_oscillator(csim_integrator integrator, bool floor) {
    oscillator o;
    o.w = make_world(integrator, 0);
    if (floor) {
        csim_body_id ground;
        STATUS(csim_create_ground(o.w, csim_v3(0, 0, 0), csim_v3(0, 1, 0), 0, &ground), CSIM_OK);
    }
    o.id = add_particle(o.w, csim_v3(CSIM_R(0.9), CSIM_R(0.9), 0), csim_v3(CSIM_R(0.3), 0, 0), 1, 0);
    o.room = 0;
    STATUS(csim_world_save(o.w, NULL, &o.room), CSIM_OK);
    o.room += 4096; /* contacts that come */
    o.saved = malloc(o.room);
    return o;
}

static void free_oscillator(oscillator *o) {
    free(o->saved);
    csim_destroy_world(o->w);
}

SLOW_TEST(oscillator_keeps_its_energy_band_over_thousands_of_oscillations) {
    int k;
    for (k = 0; k < 2; k++) {
        oscillator o = make_oscillator(variational[k], false);
        const bool half = variational[k] == CSIM_HALF_STEP;
        double h = 0.1, first, last;
        long turns = 0, wanted = check_long() ? 10000 : 2000;
        first = energy_band(&o, half, h, 1000, &turns);
        while (turns < wanted) energy_band(&o, half, h, 1000, &turns);
        last = energy_band(&o, half, h, 1000, &turns);
        CASE("%s: band of the first %.4g, of the last %.4g, %ld oscillations", names[variational[k]], first, last,
             turns);
        FIGURE(half ? "half_first" : "two_first", first);
        FIGURE(half ? "half_last" : "two_last", last);
        CHECK(turns >= wanted);
        CHECK(last < 1.2 * first + TOL(0, 0.02)); /* the band of a later stretch is about the wandered start */
        CHECK(first < 0.3);
        free_oscillator(&o);
    }
}

TEST(the_band_shrinks_with_the_square_of_the_step) {
    int k;
    for (k = 0; k < 2; k++) {
        const bool half = variational[k] == CSIM_HALF_STEP;
        oscillator a = make_oscillator(variational[k], false), b = make_oscillator(variational[k], false);
        double coarse = energy_band(&a, half, 0.04, 2000, NULL), fine = energy_band(&b, half, 0.02, 4000, NULL);
        CASE("%s: %.4g, %.4g", names[variational[k]], coarse, fine);
        NEAR(coarse / fine, 4, TOL(0.4, 0.5));
        FIGURE(half ? "half_falls" : "two_falls", coarse / fine);
        free_oscillator(&a);
        free_oscillator(&b);
    }
}

/* Frictionless contact, q2 >= 0: impacts keep |v| and stand in for nothing else, so the band does not widen with their
   number. */
SLOW_IN_FLOAT(oscillator_against_a_wall_keeps_its_band) {
    int k;
    for (k = 0; k < 2; k++) {
        oscillator o = make_oscillator(variational[k], true);
        const bool half = variational[k] == CSIM_HALF_STEP;
        long turns = 0;
        double first = energy_band(&o, half, 0.02, 5000, &turns), last = 0;
        int i;
        for (i = 0; i < 10; i++) last = energy_band(&o, half, 0.02, 5000, &turns);
        CASE("%s: band %.4g first, %.4g last", names[variational[k]], first, last);
        CHECK(last < 1.5 * first + TOL(0, 0.02));
        CHECK((double)position_of(o.w, o.id).y > -0.05);
        free_oscillator(&o);
    }
}

/* ---- forces of the world itself */

static csim_link_id add_spring(csim_world *w, csim_body_id a, csim_body_id b, csim_vec3 pa, csim_vec3 pb, double rest,
                               double k) {
    csim_spring_def d = csim_default_spring_def();
    csim_link_id id = {0, 0, 0};
    d.a.body = a;
    d.a.point = pa;
    d.b.body = b;
    d.b.point = pb;
    d.rest_length = (csim_real)rest;
    d.stiffness = (csim_real)k;
    STATUS(csim_create_spring(w, &d, &id), CSIM_OK);
    return id;
}

static const csim_body_id nothing = {0, 0, 0};

/* Force of a spring of rest length 1 and stiffness 100 to the origin, and gravity, on 1 kg. */
static void pull(const double *q, double *f) {
    double r = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]), c = -100 * (r - 1) / r;
    int i;
    for (i = 0; i < 3; i++) f[i] = c * q[i];
    f[2] -= 9.81;
}

/* The schemes in plain numbers: thesis (4.62)-(4.67) and (4.50) by fixed point. */
static void plain_step(bool half, double h, double *q, double *v) {
    double m[3], f[3], next[3];
    int i, k;
    for (i = 0; i < 3; i++) next[i] = q[i] + h * v[i];
    for (k = 0; k < (half ? 200 : 1); k++) {
        for (i = 0; i < 3; i++) m[i] = half ? (q[i] + next[i]) / 2 : q[i] + h / 2 * v[i];
        pull(m, f);
        for (i = 0; i < 3; i++) next[i] = q[i] + h * (v[i] + h / 2 * f[i]);
    }
    for (i = 0; i < 3; i++) {
        q[i] = next[i];
        v[i] += h * f[i];
    }
}

TEST(spring_pendulum_follows_the_equations_of_the_thesis) {
    int k, i;
    for (k = 0; k < 2; k++) {
        csim_world *w = make_world(variational[k], 9.81);
        csim_body_id id = add_particle(w, csim_v3(CSIM_R(1.3), CSIM_R(0.2), 0), csim_v3(0, 1, 0), 0, 0);
        double q[3] = {1.3, 0.2, 0}, v[3] = {0, 1, 0};
        add_spring(w, id, nothing, csim_v3(0, 0, 0), csim_v3(0, 0, 0), 1, 100);
        for (i = 0; i < 200; i++) {
            step(w, 0.02);
            plain_step(variational[k] == CSIM_HALF_STEP, 0.02, q, v);
        }
        CASE("%s", names[variational[k]]);
        NEAR(position_of(w, id).x, q[0], TOL(1e-9, 5e-3)); /* 200 steps of 1e-13 (1e-6), spread by the motion */
        NEAR(position_of(w, id).y, q[1], TOL(1e-9, 5e-3));
        NEAR(position_of(w, id).z, q[2], TOL(1e-9, 5e-3));
        csim_destroy_world(w);
    }
}

/* A rigid body on two springs off its centre: rotations, and forces that turn with it. Its inertias differ by spread.
 */
static csim_pose hung_body(csim_integrator integrator, double h, double spread) {
    csim_world *w = make_world(integrator, 9.81);
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id = {0, 0, 0};
    csim_pose p;
    int i, steps = (int)(1 / h + 0.5);
    d.mass = 2;
    d.inertia.m[0] = CSIM_R(0.5 - spread);
    d.inertia.m[4] = CSIM_R(0.5);
    d.inertia.m[8] = CSIM_R(0.5 + spread);
    d.angular_velocity = csim_v3(1, 2, CSIM_R(-1.5));
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    add_spring(w, id, nothing, csim_v3(CSIM_R(0.5), 0, 0), csim_v3(CSIM_R(0.6), CSIM_R(0.1), 1), 0.8, 80);
    add_spring(w, id, nothing, csim_v3(CSIM_R(-0.4), CSIM_R(0.3), CSIM_R(0.1)), csim_v3(CSIM_R(-0.7), 0, CSIM_R(1.1)),
               0.7, 60);
    for (i = 0; i < steps; i++) step(w, h);
    STATUS(csim_body_get_pose(w, id, &p), CSIM_OK);
    csim_destroy_world(w);
    return p;
}

static double apart(csim_pose a, csim_pose b) {
    double turn = fabs((double)(a.rotation.w * b.rotation.w + a.rotation.x * b.rotation.x +
                                a.rotation.y * b.rotation.y + a.rotation.z * b.rotation.z));
    return (double)csim_length(csim_sub(a.position, b.position)) + 2 * sqrt(fmax(0, 1 - turn * turn));
}

/* Of second order in all but the gyroscopic term, which the library takes before the other torques: with three
   different inertias first order in the rotation, as in its other integrators. */
DOUBLE_TEST(both_are_of_second_order) { /* float cannot see the fine steps */
    int k;
    for (k = 0; k < 4; k++) {
        const double spread = k < 2 ? 0 : 0.2, order = k < 2 ? 2 : 1;
        const csim_integrator integrator = variational[k % 2];
        csim_pose fine = hung_body(integrator, 1.0 / 8192, spread);
        double a = apart(hung_body(integrator, 1.0 / 64, spread), fine);
        double b = apart(hung_body(integrator, 1.0 / 128, spread), fine);
        double c = apart(hung_body(integrator, 1.0 / 256, spread), fine);
        CASE("%s, spread %g: errors %.3g %.3g %.3g", names[integrator], spread, a, b, c);
        NEAR(log(a / b) / log(2.0), order, 0.25);
        NEAR(log(b / c) / log(2.0), order, 0.12);
        CHECK(apart(fine, hung_body(variational[1 - k % 2], 1.0 / 8192, spread)) < (k < 2 ? 1e-6 : 1e-3));
    }
}

/* A soft cube of five elements that spins and swings. */
static csim_world *soft_cube(csim_integrator integrator, csim_material material) {
    static const csim_real x[24] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
    static const int tets[20] = {0, 1, 3, 4, 1, 2, 3, 6, 1, 4, 5, 6, 3, 4, 6, 7, 1, 3, 4, 6};
    csim_world *w = make_world(integrator, 0);
    csim_soft_def d = csim_default_soft_def();
    csim_body_id id = {0, 0, 0};
    int i;
    d.vertices = x;
    d.vertex_count = 8;
    d.tets = tets;
    d.tet_count = 5;
    d.young = 20000;
    d.material = material;
    d.stiffness_damping = 0;
    STATUS(csim_create_soft(w, &d, &id), CSIM_OK);
    for (i = 0; i < 8; i++)
        csim_body_set_node(
            w, id, i, csim_v3(x[3 * i], x[3 * i + 1], x[3 * i + 2]),
            csim_v3(-x[3 * i + 1] + CSIM_R(0.4) * x[3 * i + 2], x[3 * i], CSIM_R(0.5) * x[3 * i] - CSIM_R(0.3)));
    return w;
}

TEST(soft_cube_keeps_energy_and_momentum) {
    static const csim_material materials[] = {CSIM_COROTATIONAL, CSIM_ST_VENANT_KIRCHHOFF, CSIM_NEO_HOOKEAN};
    int k, m, i, c;
    for (m = 0; m < 3; m++)
        for (k = 0; k < 2; k++) {
            csim_world *w = soft_cube(variational[k], materials[m]);
            csim_totals before = csim_world_totals(w), now = before;
            double start = energy_of(w), band = 0, late = 0, h = k == 0 ? 2e-3 : 0.02;
            for (i = 0; i < 2000; i++) {
                double off;
                step(w, h);
                off = fabs(energy_of(w) - start) / start;
                band = fmax(band, i < 1000 ? off : 0);
                late = fmax(late, i < 1000 ? 0 : off);
            }
            now = csim_world_totals(w);
            CASE("%s, material %d: band %.3g, later %.3g", names[variational[k]], (int)materials[m], band, late);
            FIGURE(k ? "half_cube" : "two_cube", fmax(band, late));
            CHECK(band < 0.1);
            CHECK(late < 1.5 * band + TOL(0, 0.02));
            for (c = 0; c < 3; c++) {
                NEAR(now.momentum[c], before.momentum[c], TOL(1e-9, 0.5)); /* 500 kg m/s, 2000 solves */
                NEAR(now.angular_momentum[c], before.angular_momentum[c], TOL(1e-6, 2));
            }
            csim_destroy_world(w);
        }
}

/* ---- joints: the half steps of a two-step world are closed to rounding, its whole steps lie on the chord */

TEST(hinged_pendulum_keeps_its_energy) {
    csim_world *w = make_world(CSIM_TWO_STEP, 9.81);
    csim_rigid_def d = csim_default_rigid_def();
    csim_joint_def j = csim_default_joint_def();
    csim_joint_state s;
    csim_body_id id = {0, 0, 0};
    csim_link_id link;
    int i;
    double start, band = 0, late = 0, open = 0, h = 0.005;
    d.pose.position = csim_v3(1, 0, 0);
    d.mass = 1;
    d.inertia.m[0] = d.inertia.m[4] = d.inertia.m[8] = CSIM_R(0.1);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    j.kind = CSIM_JOINT_HINGE;
    j.a.body = id;
    j.axis = csim_v3(0, 1, 0);
    STATUS(csim_create_joint(w, &j, &link), CSIM_OK);
    start = energy_of(w);
    for (i = 0; i < 8000; i++) {
        step(w, h);
        *(i < 4000 ? &band : &late) = fmax(i < 4000 ? band : late, fabs(energy_of(w) - start) / 9.81);
        STATUS(csim_joint_get(w, link, &s), CSIM_OK);
        open = fmax(open, (double)s.error);
    }
    CASE("band %.3g, later %.3g, open %.3g m", band, late, open);
    FIGURE("two_hinge", fmax(band, late));
    FIGURE("two_hinge_open", open);
    CHECK(band < TOL(1e-3, 1e-2));
    CHECK(late < 1.5 * band + TOL(0, 0.01));
    NEAR(open, 0, TOL(1e-4, 2e-4)); /* the sagitta (h w)^2 L / 8 of a step, w = 4 rad/s: 5e-5 m */
    csim_destroy_world(w);
}

/* ---- sleep */

/* What is never awake, the ground of static boxes, is where it was at half a step too: a world that may sleep falls on
   it as one that may not, to the bit. */
TEST(what_lies_still_is_there_at_half_a_step) {
    const csim_shape slab = csim_box(csim_v3(2, 2, CSIM_R(0.1))), ball = csim_sphere(CSIM_R(0.2));
    csim_vec3 last[2];
    int k, i;
    for (k = 0; k < 2; k++) {
        csim_world_def d = csim_default_world_def();
        csim_rigid_def r = csim_default_rigid_def();
        csim_world *w = NULL;
        csim_body_id id;
        d.integrator = CSIM_TWO_STEP;
        d.can_sleep = k == 1;
        d.sleep_time = 100;
        STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
        r.shapes = &slab, r.shape_count = 1;
        r.motion = CSIM_STATIC;
        r.pose.position = csim_v3(0, 0, CSIM_R(-0.1));
        STATUS(csim_create_rigid(w, &r, &id), CSIM_OK);
        r.shapes = &ball;
        r.motion = CSIM_DYNAMIC;
        r.pose.position = csim_v3(0, 0, CSIM_R(0.5));
        r.velocity = csim_v3(1, 0, 0);
        STATUS(csim_create_rigid(w, &r, &id), CSIM_OK);
        for (i = 0; i < 60; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        last[k] = position_of(w, id);
        CHECK(last[k].z > CSIM_R(0.19));
        csim_destroy_world(w);
    }
    CHECK(memcmp(last, last + 1, sizeof *last) == 0);
}

/* ---- friction */

/* A particle thrown along the floor stops after v0 / (mu g) for good: at the end of that step its velocity is 0, not
   minus what the middle had. */
TEST(friction_opposes_the_velocity_at_the_end_of_the_step) {
    int k, i;
    for (k = 0; k < 2; k++) {
        csim_world *w = make_world(variational[k], 9.81);
        csim_body_id ground, id;
        double h = 0.013, last, energy;
        STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.3), &ground), CSIM_OK);
        id = add_particle(w, csim_v3(0, 0, 0), csim_v3(2, 0, 0), 0, 0.3);
        energy = energy_of(w);
        for (i = 0; i < 100; i++) {
            double v, now;
            step(w, h);
            v = (double)end_velocity_of(w, id).x;
            now = energy_of(w);
            CASE("%s, step %d", names[variational[k]], i);
            NEAR(v, fmax(0, 2 - 0.3 * 9.81 * h * (i + 1)), TOL(1e-10, 1e-4));
            CHECK(now <= energy + TOL(1e-12, 1e-5));
            energy = now;
        }
        last = (double)position_of(w, id).x;
        NEAR(last, 2 * 2 / (2 * 0.3 * 9.81),
             0.5 * 0.3 * 9.81 * h * h + TOL(1e-9, 1e-4)); /* all but the last step exact */
        csim_destroy_world(w);
    }
}

/* On a belt the slip is against the belt. */
TEST(friction_is_against_what_moves) {
    int k, i;
    for (k = 0; k < 2; k++) {
        csim_world *w = make_world(variational[k], 9.81);
        csim_rigid_def d = csim_default_rigid_def();
        csim_shape box = csim_box(csim_v3(50, 1, CSIM_R(0.5)));
        csim_body_id belt = {0, 0, 0}, id;
        d.shapes = &box;
        d.shape_count = 1;
        d.motion = CSIM_KINEMATIC;
        d.velocity = csim_v3(CSIM_R(0.7), 0, 0);
        d.pose.position.z = CSIM_R(-0.5);
        d.surface.friction = CSIM_R(0.5);
        STATUS(csim_create_rigid(w, &d, &belt), CSIM_OK);
        id = add_particle(w, csim_v3(0, 0, 0), csim_v3(0, 0, 0), 0, 0.5);
        for (i = 0; i < 40; i++) {
            step(w, 0.01);
            CASE("%s, step %d", names[variational[k]], i);
            NEAR(end_velocity_of(w, id).x, fmin(0.7, 0.5 * 9.81 * 0.01 * (i + 1)), TOL(1e-10, 1e-4));
        }
        csim_destroy_world(w);
    }
}

/* Boxes on boxes with the settings that a user gets: certified, at rest, upright. */
TEST(a_stack_stands) {
    int k, i;
    for (k = 0; k < 2; k++) {
        csim_world_def wd = csim_default_world_def();
        csim_world *w = NULL;
        csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
        csim_body_id ground, id[5];
        csim_step_stats s;
        wd.integrator = variational[k];
        STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
        STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
        for (i = 0; i < 5; i++) {
            csim_rigid_def d = csim_default_rigid_def();
            d.shapes = &box;
            d.shape_count = 1;
            d.pose.position = csim_v3(0, 0, (csim_real)(0.1 + 0.2 * i));
            STATUS(csim_create_rigid(w, &d, id + i), CSIM_OK);
        }
        for (i = 0; i < 300; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        s = csim_world_stats(w);
        CASE("%s: penetration %.3g m, speed %.3g m/s", names[variational[k]], s.penetration, csim_world_rms_speed(w));
        CHECK((s.flags & CSIM_FLAG_UNCERTIFIED) == 0);
        NEAR(s.penetration, 0, 1e-5);
        NEAR(csim_world_rms_speed(w), 0, 1e-3);
        NEAR(position_of(w, id[4]).z, 0.9, 1e-4);
        csim_destroy_world(w);
    }
}

/* ---- a failed step, a saved world */

TEST(a_step_that_fails_leaves_no_trace_and_a_saved_world_goes_on) {
    int k, i;
    for (k = 0; k < 2; k++) {
        csim_world *w = soft_cube(variational[k], CSIM_COROTATIONAL);
        csim_solver_params hasty = csim_default_solver_params(), patient;
        size_t bytes = 0;
        void *saved;
        uint64_t hash;
        csim_totals before;
        for (i = 0; i < 5; i++) step(w, 1e-3);
        STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
        saved = malloc(bytes);
        STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
        hash = csim_world_hash(w);
        before = csim_world_totals(w);
        patient = hasty;
        patient.tolerance = TOL(1e-13, 1e-5);
        hasty.tolerance = CSIM_R(1e-15);
        hasty.max_iterations = 1;
        STATUS(csim_world_set_solver(w, &hasty), CSIM_OK);
        CASE("%s", names[variational[k]]);
        STATUS(csim_world_step(w, 1), CSIM_UNCERTIFIED);
        STATUS(csim_world_set_solver(w, &patient), CSIM_OK);
        CHECK(csim_world_hash(w) == hash);
        CHECK(memcmp(&before, (csim_world_totals(w), &before), sizeof before) == 0);
        STATUS(csim_world_restore(w, saved, bytes), CSIM_OK);
        for (i = 0; i < 5; i++) step(w, 1e-3);
        hash = csim_world_hash(w);
        STATUS(csim_world_restore(w, saved, bytes), CSIM_OK);
        for (i = 0; i < 5; i++) step(w, 1e-3);
        CHECK(csim_world_hash(w) == hash);
        free(saved);
        csim_destroy_world(w);
    }
}

/* ---- what is not defined */

static void add_tree(csim_world *w, csim_status expected) {
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def d = csim_default_tree_def();
    csim_body_id id;
    csim_shape ball = csim_sphere(CSIM_R(0.1));
    link.shapes = &ball;
    link.shape_count = 1;
    d.links = &link;
    d.link_count = 1;
    STATUS(csim_create_tree(w, &d, &id), expected);
}

static void add_pin(csim_world *w, csim_status expected) {
    csim_pin_def d = csim_default_pin_def();
    csim_link_id id;
    d.a.body = add_particle(w, csim_v3(1, 0, 0), csim_v3(0, 0, 0), 0, 0);
    d.a.point = d.b.point = csim_v3(1, 0, 0);
    STATUS(csim_create_pin(w, &d, &id), expected);
}

TEST(combinations_without_a_meaning_are_refused_in_a_sentence) {
    int k;
    for (k = 0; k < 2; k++) {
        csim_world *w = make_world(variational[k], 9.81);
        csim_world_def d = csim_default_world_def();
        csim_error error;
        csim_world *other = NULL;
        CASE("%s", names[variational[k]]);
        add_tree(w, CSIM_UNSUPPORTED);
        CHECK(strstr(csim_last_error(w), "mass of a tree") != NULL);
        EQUAL(csim_world_body_count(w), 0);
        STATUS(csim_world_set_integrator(w, CSIM_BACKWARD_EULER), CSIM_OK);
        add_tree(w, CSIM_OK);
        STATUS(csim_world_set_integrator(w, variational[k]), CSIM_UNSUPPORTED);
        STATUS(csim_world_set_integrator(w, CSIM_MIDPOINT), CSIM_OK);
        csim_destroy_world(w);
        w = make_world(variational[k], 9.81);
        add_pin(w, k == 0 ? CSIM_OK : CSIM_UNSUPPORTED);
        STATUS(csim_world_set_integrator(w, CSIM_HALF_STEP), k == 0 ? CSIM_UNSUPPORTED : CSIM_OK);
        csim_destroy_world(w);
        d.integrator = variational[k];
        d.law = CSIM_LAW_PROXIMAL;
        STATUS(csim_create_world(&d, &other, &error), k == 0 ? CSIM_OK : CSIM_UNSUPPORTED);
        if (k == 0) {
            STATUS(csim_world_set_integrator(other, CSIM_HALF_STEP), CSIM_UNSUPPORTED);
            csim_destroy_world(other);
        } else
            CHECK(strstr(error.text, "CSIM_LAW_STRICT") != NULL);
    }
}

/* The bytes of a half-step world do not make one of a world whose law it refuses. */
TEST(a_snapshot_brings_no_refused_integrator) {
    csim_world *w = make_world(CSIM_HALF_STEP, 9.81), *other = NULL;
    csim_world_def d = csim_default_world_def();
    size_t bytes = 0;
    void *saved;
    add_particle(w, csim_v3(0, 0, 1), csim_v3(0, 0, 0), 0, 0);
    STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
    saved = malloc(bytes);
    STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
    d.law = CSIM_LAW_PROXIMAL;
    STATUS(csim_create_world(&d, &other, NULL), CSIM_OK);
    STATUS(csim_world_restore(other, saved, bytes), CSIM_BAD_SNAPSHOT);
    free(saved);
    csim_destroy_world(w);
    csim_destroy_world(other);
}
