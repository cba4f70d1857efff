/* Articulated trees: kinematics, mass matrix, bias and Jacobians against differences of poses; against rigid bodies;
   drives, limits, momentum, contact, and what a definition can get wrong. */
#include "check.h"
#include <math.h>

enum { LINKS = 12, RATES = 48 };

static double uniform(double a, double b) { return check_random(a, b); }
static csim_real real(double a, double b) { return (csim_real)check_random(a, b); }
static csim_vec3 vector(double size) { return csim_v3(real(-size, size), real(-size, size), real(-size, size)); }
static csim_quat turn(void) { return csim_quat_exp(vector(2)); }

static csim_world *make_world(csim_vec3 gravity, csim_integrator integrator) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_error error;
    d.gravity = gravity;
    d.integrator = integrator;
    if (csim_create_world(&d, &w, &error) != CSIM_OK) printf("%s\n", error.text);
    return w;
}

static csim_mat3 diagonal(double a, double b, double c) {
    csim_mat3 m;
    memset(&m, 0, sizeof m);
    m.m[0] = (csim_real)a;
    m.m[4] = (csim_real)b;
    m.m[8] = (csim_real)c;
    return m;
}

/* An inertia with all products, turned from its principal axes. */
static csim_mat3 some_inertia(double size) {
    csim_mat3 R = csim_quat_matrix(turn()), D = diagonal(size * uniform(1, 2), size * uniform(1, 2), size * 1.5), T, I;
    csimi_matmul(R.m, D.m, T.m);
    csimi_matmulT(T.m, R.m, I.m);
    I.m[3] = I.m[1];
    I.m[6] = I.m[2];
    I.m[7] = I.m[5];
    return I;
}

/* A tree of random shape with every kind of joint; root: of the first link. */
static int random_links(csim_tree_link_def *links, csim_tree_joint root, int count) {
    int i;
    for (i = 0; i < count; i++) {
        csim_tree_link_def *d = links + i;
        *d = csim_default_tree_link_def();
        d->parent = i == 0 ? -1 : (int)uniform(0, i);
        d->joint = i == 0 ? root : (csim_tree_joint)((i + (int)uniform(0, 3)) % 4);
        d->frame.position = vector(0.5);
        d->frame.rotation = turn();
        d->axis = vector(1);
        d->rotation = turn();
        d->position = real(-1, 1);
        d->mass = real(0.5, 2);
        d->centre = vector(0.2);
        d->inertia = some_inertia(0.05);
        d->armature = d->joint == CSIM_TREE_FLOATING ? 0 : real(0, 0.1);
    }
    return count;
}

typedef struct robot {
    csim_world *w;
    csim_body_id id;
    int links, positions, rates;
    csim_tree_link_def link[LINKS];
} robot;

static robot make_robot(csim_tree_joint root, int count, csim_vec3 gravity) {
    robot r;
    csim_tree_def d = csim_default_tree_def();
    csim_real rate[RATES];
    int i;
    memset(&r, 0, sizeof r);
    r.w = make_world(gravity, CSIM_BACKWARD_EULER);
    d.links = r.link;
    d.link_count = random_links(r.link, root, count);
    d.pose.position = vector(1);
    d.pose.rotation = turn();
    STATUS(csim_create_tree(r.w, &d, &r.id), CSIM_OK);
    csim_tree_sizes(r.w, r.id, &r.links, &r.positions, &r.rates);
    for (i = 0; i < r.rates; i++) rate[i] = real(-1, 1);
    STATUS(csim_tree_set_state(r.w, r.id, NULL, rate), CSIM_OK);
    return r;
}

/* Moves the joints along the given rates (user's order) for e seconds, rates kept. */
static void move(robot *r, const csim_real *rates, double e) {
    csimi_state *s = &r->w->store.state;
    csimi_step step;
    csim_real v[RATES + 24];
    int i, k;
    memset(&step, 0, sizeof step);
    memset(v, 0, sizeof v);
    step.h = (csim_real)e;
    step.theta = step.sigma = 1;
    for (i = 0; i < r->links; i++)
        for (k = 0; k < s->tree_link[i].dofs; k++) v[s->tree_link[i].coord + k] = rates[s->tree_link[i].dof + k];
    csimi_tree_advance(s, &step, v, s);
}

static const csim_tree_joint roots[5] = {CSIM_TREE_FIXED, CSIM_TREE_REVOLUTE, CSIM_TREE_PRISMATIC, CSIM_TREE_BALL,
                                         CSIM_TREE_FLOATING};

/* Differences of float poses are good to about eps / e of a metre: the double build is the test of the formulas. */
#define STEP TOL(1e-6, 1e-2)
#define BOUND TOL(1e-8, 3e-3)

TEST(jacobian_is_the_derivative_of_positions) {
    int c, i, k;
    for (c = 0; c < 10; c++) {
        robot r = make_robot(roots[c % 5], 9, csim_v3(0, 0, -9));
        csim_real J[3 * RATES], rates[RATES];
        CASE("root %d", c % 5);
        csim_tree_get_state(r.w, r.id, NULL, rates);
        for (i = 0; i < r.links; i++) {
            csim_pose p, before, after;
            csim_vec3 local = vector(0.5), x, v, w, jv, d, turned;
            csim_quat q;
            csim_tree_link_pose(r.w, r.id, i, &p);
            x = csim_pose_point(p, local);
            STATUS(csim_tree_jacobian(r.w, r.id, i, x, J), CSIM_OK);
            STATUS(csim_tree_link_velocity(r.w, r.id, i, x, &v, &w), CSIM_OK);
            jv = csim_v3(0, 0, 0);
            for (k = 0; k < r.rates; k++)
                jv = csim_madd(jv, rates[k], csim_v3(J[k], J[r.rates + k], J[2 * r.rates + k]));
            NEAR(csim_length(csim_sub(jv, v)), 0, TOL(1e-13, 1e-5));
            {
                csim_real was[7 * LINKS];
                csim_tree_get_state(r.w, r.id, was, NULL);
                move(&r, rates, -STEP);
                csim_tree_link_pose(r.w, r.id, i, &before);
                csim_tree_set_state(r.w, r.id, was, NULL);
                move(&r, rates, STEP);
                csim_tree_link_pose(r.w, r.id, i, &after);
                csim_tree_set_state(r.w, r.id, was, NULL);
            }
            d = csim_scale((csim_real)(0.5 / STEP),
                           csim_sub(csim_pose_point(after, local), csim_pose_point(before, local)));
            NEAR(csim_length(csim_sub(d, v)), 0, BOUND);
            FIGURE("jacobian_off", fmax((double)csim_length(csim_sub(d, v)), 0));
            q = csim_quat_mul(after.rotation, csim_quat_conj(before.rotation));
            turned = csim_scale((csim_real)((q.w < 0 ? -1 : 1) / STEP), csim_v3(q.x, q.y, q.z));
            NEAR(csim_length(csim_sub(turned, w)), 0, BOUND);
        }
        csim_destroy_world(r.w);
    }
}

/* Kinetic energy from the velocities of the links, in double. */
static double kinetic_of_links(const robot *r) {
    double sum = 0;
    int i;
    for (i = 0; i < r->links; i++) {
        csim_pose p;
        csim_vec3 v, w, b;
        csim_real L[3], u[3];
        csim_tree_link_pose(r->w, r->id, i, &p);
        csim_tree_link_velocity(r->w, r->id, i, csim_pose_point(p, r->link[i].centre), &v, &w);
        b = csim_unrotate(p.rotation, w);
        csimi_store3(u, b);
        csimi_mul3(r->link[i].inertia.m, u, L);
        sum += (double)(r->link[i].mass * csim_dot(v, v) + csim_dot(b, csimi_load3(L))) / 2;
    }
    return sum;
}

TEST(mass_matrix_gives_the_kinetic_energy_of_the_links) {
    int c, i, k;
    for (c = 0; c < 20; c++) {
        robot r = make_robot(roots[c % 5], 10, csim_v3(1, 2, -9));
        csim_real M[RATES * RATES], rates[RATES];
        double energy = 0, armature = 0, links = kinetic_of_links(&r);
        CASE("root %d", c % 5);
        csim_tree_get_state(r.w, r.id, NULL, rates);
        STATUS(csim_tree_mass_matrix(r.w, r.id, M), CSIM_OK);
        for (i = 0; i < r.rates; i++)
            for (k = 0; k < r.rates; k++) {
                energy += (double)(rates[i] * M[i * r.rates + k] * rates[k]) / 2;
                CHECK(!(M[i * r.rates + k] < M[k * r.rates + i]) && !(M[i * r.rates + k] > M[k * r.rates + i]));
            }
        for (i = 0; i < r.links; i++) {
            int at = 0, n = 0;
            csim_tree_link_place(r.w, r.id, i, NULL, &at, &n);
            for (k = 0; k < n; k++) armature += (double)(r.link[i].armature * rates[at + k] * rates[at + k]) / 2;
        }
        NEAR((energy - armature) / links, 1, TOL(1e-12, 1e-5));
        FIGURE("kinetic_off", (energy - armature) / links - 1);
        NEAR(csim_world_totals(r.w).kinetic / energy, 1, TOL(1e-12, 1e-5));
        csim_destroy_world(r.w);
    }
}

/* Principle of virtual power with accelerations from differences of the links' velocities: joint force k is the power
   of inertia and weight in the motion that a unit of rate k makes. */
TEST(inverse_dynamics_is_newton_and_euler_on_every_link) {
    int c, i, k, side;
    for (c = 0; c < 20; c++) {
        csim_vec3 g = csim_v3(1, 2, -9);
        robot r = make_robot(roots[c % 5], 8, g);
        csim_real rates[RATES], a[RATES], force[RATES], was[7 * LINKS], other[RATES], unit[RATES];
        double wanted[RATES], size = 0;
        csim_vec3 v[2][LINKS], L[2][LINKS];
        CASE("root %d", c % 5);
        for (i = 0; i < r.rates; i++) a[i] = real(-2, 2);
        csim_tree_get_state(r.w, r.id, was, rates);
        STATUS(csim_tree_inverse_dynamics(r.w, r.id, a, force), CSIM_OK);
        for (side = 0; side < 2; side++) { /* half a step back and forth: momenta of the links */
            double e = side ? STEP : -STEP;
            for (k = 0; k < r.rates; k++) other[k] = rates[k] + (csim_real)(e / 2) * a[k]; /* mean over the way */
            move(&r, other, e);
            for (k = 0; k < r.rates; k++) other[k] = rates[k] + (csim_real)e * a[k];
            csim_tree_set_state(r.w, r.id, NULL, other);
            for (i = 0; i < r.links; i++) {
                csim_pose p;
                csim_vec3 w;
                csim_real u[3], l[3];
                csim_tree_link_pose(r.w, r.id, i, &p);
                csim_tree_link_velocity(r.w, r.id, i, csim_pose_point(p, r.link[i].centre), &v[side][i], &w);
                csimi_store3(u, csim_unrotate(p.rotation, w));
                csimi_mul3(r.link[i].inertia.m, u, l);
                L[side][i] = csim_rotate(p.rotation, csimi_load3(l));
            }
            csim_tree_set_state(r.w, r.id, was, rates);
        }
        for (k = 0; k < r.rates; k++) {
            wanted[k] = 0;
            memset(unit, 0, sizeof unit);
            unit[k] = 1;
            csim_tree_set_state(r.w, r.id, NULL, unit);
            for (i = 0; i < r.links; i++) {
                csim_pose p;
                csim_vec3 vk, wk;
                csim_vec3 acceleration = csim_scale((csim_real)(0.5 / STEP), csim_sub(v[1][i], v[0][i]));
                csim_vec3 torque = csim_scale((csim_real)(0.5 / STEP), csim_sub(L[1][i], L[0][i]));
                csim_tree_link_pose(r.w, r.id, i, &p);
                csim_tree_link_velocity(r.w, r.id, i, csim_pose_point(p, r.link[i].centre), &vk, &wk);
                wanted[k] += (double)(r.link[i].mass * csim_dot(csim_sub(acceleration, g), vk) + csim_dot(torque, wk));
            }
        }
        csim_tree_set_state(r.w, r.id, NULL, rates);
        for (i = 0; i < r.links; i++) {
            int at = 0, n = 0;
            csim_tree_link_place(r.w, r.id, i, NULL, &at, &n);
            for (k = 0; k < n; k++) wanted[at + k] += (double)(r.link[i].armature * a[at + k]);
        }
        for (k = 0; k < r.rates; k++) size = fmax(size, fabs(wanted[k]));
        for (k = 0; k < r.rates; k++) {
            NEAR((double)force[k] / size, wanted[k] / size, TOL(1e-8, 2e-2));
            FIGURE("inverse_off", ((double)force[k] - wanted[k]) / size);
        }
        { /* the same as M a + C */
            csim_real M[RATES * RATES], C[RATES];
            csim_tree_mass_matrix(r.w, r.id, M);
            csim_tree_bias(r.w, r.id, C);
            for (k = 0; k < r.rates; k++) {
                double sum = (double)C[k];
                for (i = 0; i < r.rates; i++) sum += (double)(M[k * r.rates + i] * a[i]);
                NEAR(sum / size, (double)force[k] / size, TOL(1e-12, 1e-5));
            }
        }
        csim_destroy_world(r.w);
    }
}

/* Links welded together are one rigid body: M of the floating root is its mass, first moment and inertia. */
TEST(welded_links_weigh_what_the_composite_weighs) {
    csim_world *w = make_world(csim_v3(0, 0, -9), CSIM_BACKWARD_EULER);
    csim_tree_link_def link[4];
    csim_shape shape[4], placed[4];
    csim_tree_def d = csim_default_tree_def();
    csim_rigid_def rigid = csim_default_rigid_def();
    csim_pose at[4];
    csim_body_id tree, body;
    csim_real M[36], skew[9], mr[3], II[9], RI[9], wanted;
    csim_mass mass;
    csim_mat3 R;
    csim_vec3 c;
    int i, k;
    for (i = 0; i < 4; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i == 0 ? -1 : i == 3 ? 1 : i - 1;
        link[i].joint = i == 0 ? CSIM_TREE_FLOATING : CSIM_TREE_FIXED;
        link[i].frame.position = vector(1);
        link[i].frame.rotation = turn();
        shape[i] = i % 2 ? csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.2), CSIM_R(0.3))) : csim_sphere(CSIM_R(0.2));
        shape[i].local.position = vector(0.3);
        shape[i].local.rotation = turn();
        link[i].shapes = shape + i;
        link[i].shape_count = 1;
        at[i] = i == 0 ? csim_pose_identity() : csim_pose_mul(at[link[i].parent], link[i].frame);
        placed[i] = shape[i];
        placed[i].local = csim_pose_mul(at[i], shape[i].local);
    }
    d.links = link;
    d.link_count = 4;
    d.pose.position = vector(1);
    d.pose.rotation = rigid.pose.rotation = turn();
    rigid.shapes = placed;
    rigid.shape_count = 4;
    STATUS(csim_create_tree(w, &d, &tree), CSIM_OK);
    STATUS(csim_create_rigid(w, &rigid, &body), CSIM_OK);
    STATUS(csim_tree_mass_matrix(w, tree, M), CSIM_OK);
    csim_body_get_mass(w, body, &mass);
    c = csim_rotate(rigid.pose.rotation, mass.centre);
    csimi_store3(mr, csim_scale(mass.mass, c));
    csimi_skew(mr, skew);
    R = csim_quat_matrix(rigid.pose.rotation);
    csimi_matmul(R.m, mass.inertia.m, RI);
    csimi_matmulT(RI, R.m, II);
    for (i = 0; i < 3; i++)
        for (k = 0; k < 3; k++) {
            csim_real x[3];
            csimi_store3(x, c);
            NEAR(M[6 * i + k] / mass.mass, i == k ? 1 : 0, TOL(1e-13, 1e-6));
            NEAR(M[6 * i + 3 + k], -skew[3 * i + k], TOL(1e-11, 1e-3));
            wanted = II[3 * i + k] + mass.mass * ((i == k ? csim_dot(c, c) : 0) - x[i] * x[k]);
            NEAR(M[6 * (3 + i) + 3 + k], wanted, TOL(1e-10, 1e-2));
        }
    { /* ... and after a second of flight they are where the body is */
        csim_pose p, q;
        csim_body_set_velocity(w, body, csim_cross(csim_v3(1, 2, 3), c), csim_v3(1, 2, 3));
        csim_body_set_velocity(w, tree, csim_v3(0, 0, 0), csim_v3(1, 2, 3));
        csim_body_get_pose(w, tree, &p);
        p.position = csim_add(p.position, csim_v3(10, 0, 0));
        csim_body_set_pose(w, body, p);
        for (i = 0; i < 1000; i++) STATUS(csim_world_step(w, CSIM_R(1e-3)), CSIM_OK);
        csim_body_get_pose(w, tree, &p);
        csim_body_get_pose(w, body, &q);
        NEAR(csim_length(csim_sub(csim_add(p.position, csim_v3(10, 0, 0)), q.position)), 0, 0.02); /* O(h) both */
    }
    csim_destroy_world(w);
}

/* ---- against maximal coordinates */

/* A chain of rods on ball joints: rigid bodies with pins, and a tree. Both are of first order in h: what they differ by
   must halve with it. */
static double chain_difference(double h) {
    enum { RODS = 3 };
    csim_world *w = make_world(csim_v3(0, 0, CSIM_R(-9.81)), CSIM_BACKWARD_EULER);
    csim_tree_link_def link[RODS];
    csim_tree_def d = csim_default_tree_def();
    csim_shape rod = csim_box(csim_v3(CSIM_R(0.03), CSIM_R(0.04), CSIM_R(0.2)));
    csim_body_id tree, body[RODS];
    csim_quat tilt = csim_quat_axis_angle(csim_v3(1, CSIM_R(0.3), 0), CSIM_R(1.2));
    csim_vec3 half = csim_rotate(tilt, csim_v3(0, 0, CSIM_R(-0.2))), joint = csim_v3(0, 0, 0);
    double worst = 0;
    int i, steps = (int)(0.25 / h + 0.5);
    for (i = 0; i < RODS; i++) {
        csim_rigid_def r = csim_default_rigid_def();
        csim_pin_def pin = csim_default_pin_def();
        csim_link_id id;
        link[i] = csim_default_tree_link_def();
        link[i].parent = i - 1;
        link[i].joint = CSIM_TREE_BALL;
        link[i].frame.position = csim_v3(0, 0, i == 0 ? 0 : CSIM_R(-0.4));
        rod.local.position = csim_v3(0, 0, CSIM_R(-0.2));
        link[i].shapes = &rod;
        link[i].shape_count = 1;
        r.pose.position = csim_add(csim_v3(5, 0, 0), csim_add(joint, half));
        r.pose.rotation = tilt;
        r.mass = 8 * CSIM_R(0.03) * CSIM_R(0.04) * CSIM_R(0.2) * 1000;
        r.inertia =
            diagonal((double)r.mass * (0.04 * 0.04 + 0.2 * 0.2) / 3, (double)r.mass * (0.03 * 0.03 + 0.2 * 0.2) / 3,
                     (double)r.mass * (0.03 * 0.03 + 0.04 * 0.04) / 3);
        STATUS(csim_create_rigid(w, &r, body + i), CSIM_OK);
        pin.a.body = body[i];
        pin.a.point = csim_add(csim_v3(5, 0, 0), joint);
        if (i > 0) {
            pin.b.body = body[i - 1];
        }
        pin.b.point = pin.a.point;
        STATUS(csim_create_pin(w, &pin, &id), CSIM_OK);
        joint = csim_madd(joint, 2, half);
    }
    link[0].rotation = tilt;
    d.links = link;
    d.link_count = RODS;
    d.no_self_contact = true;
    STATUS(csim_create_tree(w, &d, &tree), CSIM_OK);
    for (i = 0; i < steps; i++) STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
    for (i = 0; i < RODS; i++) {
        csim_pose p, q;
        csim_tree_link_pose(w, tree, i, &p);
        csim_body_get_pose(w, body[i], &q);
        worst = fmax(worst, (double)csim_length(csim_sub(
                                csim_add(csim_v3(5, 0, 0), csim_pose_point(p, rod.local.position)), q.position)));
    }
    csim_destroy_world(w);
    return worst;
}

TEST(chain_is_the_chain_of_rigid_bodies_with_pins) {
    double coarse = chain_difference(2e-3), fine = chain_difference(1e-3);
    printf("    2 ms %.4g m, 1 ms %.4g m\n", coarse, fine);
    CHECK(fine < 3e-3);
    NEAR(coarse / fine, 2, TOL(0.15, 0.3)); /* first order */
    FIGURE("chain_2ms", coarse);
    FIGURE("chain_1ms", fine);
}

/* ---- conserved quantities */

/* Free flight without gravity: momentum and energy of a tumbling tree drift with the first order of h. */
static void flight(double h, double *momentum, double *energy, csim_integrator integrator) {
    robot r = make_robot(CSIM_TREE_FLOATING, 6, csim_v3(0, 0, 0));
    csim_totals a = csim_world_totals(r.w), b;
    double size = 0, angular = 0;
    int i, k, steps = (int)(0.2 / h + 0.5);
    csim_world_set_integrator(r.w, integrator);
    for (i = 0; i < steps; i++) STATUS(csim_world_step(r.w, (csim_real)h), CSIM_OK);
    b = csim_world_totals(r.w);
    *momentum = 0;
    for (k = 0; k < 3; k++) {
        *momentum += fabs(b.momentum[k] - a.momentum[k]) + fabs(b.angular_momentum[k] - a.angular_momentum[k]);
        size += fabs(a.momentum[k]);
        angular += fabs(a.angular_momentum[k]);
    }
    *momentum /= size + angular;
    *energy = fabs(b.kinetic - a.kinetic) / a.kinetic;
    csim_destroy_world(r.w);
}

TEST(free_flight_keeps_momentum_and_energy_to_first_order) {
    double m[2], e[2];
    check.random = 77;
    flight(1e-3, m, e, CSIM_BACKWARD_EULER);
    check.random = 77;
    flight(5e-4, m + 1, e + 1, CSIM_BACKWARD_EULER);
    printf("    momentum %.2g, %.2g; energy %.2g, %.2g\n", m[0], m[1], e[0], e[1]);
    FIGURE("flight_momentum", m[0]);
    FIGURE("flight_energy", e[0]);
    CHECK(m[0] < 2e-3 && e[0] < 1e-2);
    NEAR(m[0] / m[1], 2, TOL(0.3, 0.6));
    if (CSIM_REAL_SIZE == 8) NEAR(e[0] / e[1], 2, 0.3); /* float: 3e-5 is what its rounding leaves of the energy */
}

/* ---- one joint with known answers */

typedef struct pendulum {
    csim_world *w;
    csim_body_id id;
} pendulum;

/* A point mass of 2 kg half a metre below a hinge about y: I = 0.5, weight torque -2 g 0.5 sin q. */
static pendulum make_pendulum(void (*change)(csim_tree_link_def *d), csim_real gravity) {
    pendulum p;
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def d = csim_default_tree_def();
    p.w = make_world(csim_v3(0, 0, -gravity), CSIM_BACKWARD_EULER);
    link.joint = CSIM_TREE_REVOLUTE;
    link.axis = csim_v3(0, 1, 0);
    link.mass = 2;
    link.centre = csim_v3(0, 0, CSIM_R(-0.5));
    if (change) change(&link);
    d.links = &link;
    d.link_count = 1;
    STATUS(csim_create_tree(p.w, &d, &p.id), CSIM_OK);
    return p;
}

static double angle_of(const pendulum *p, double *rate) {
    csim_real q = 0, v = 0;
    csim_tree_get_state(p->w, p->id, &q, &v);
    if (rate) *rate = (double)v;
    return (double)q;
}

static void stiff_drive(csim_tree_link_def *d) {
    d->stiffness = CSIM_R(1e6);
    d->rate_gain = CSIM_R(1e4);
    d->target = CSIM_R(0.7);
}

/* One implicit step by hand: (I + h kd + h^2 kp) v = I v + h (kp (t - q) - m g l sin q). */
TEST(drive_takes_the_implicit_step) {
    pendulum p = make_pendulum(stiff_drive, 10);
    double q = 0, v = 0, h = 0.05;
    csim_real drive;
    int i;
    for (i = 0; i < 40; i++) {
        double rate, now;
        v = (0.5 * v + h * (1e6 * (0.7 - q) - 10 * sin(q))) / (0.5 + h * 1e4 + h * h * 1e6);
        q += h * v;
        STATUS(csim_world_step(p.w, (csim_real)h), CSIM_OK);
        now = angle_of(&p, &rate);
        NEAR(now, q, TOL(1e-12, 1e-5));
        NEAR(rate, v, TOL(1e-11, 2e-4));
        FIGURE("drive_off", fmax(fabs(now - q), fabs(rate - v)));
    }
    STATUS(csim_tree_get_effort(p.w, p.id, 0, &drive, NULL), CSIM_OK);
    NEAR(drive, 10 * sin(q), TOL(1e-6, 1)); /* carries the weight: 1e6 times the rounding of the angle */
    csim_destroy_world(p.w);
}

static void weak_drive(csim_tree_link_def *d) {
    stiff_drive(d);
    d->effort = 3;
}

/* A chain of four links swung to and fro by drives of 5 N m. */
static robot weak_chain(void) {
    robot r;
    csim_tree_def d = csim_default_tree_def();
    int i;
    memset(&r, 0, sizeof r);
    r.w = make_world(csim_v3(0, 0, -10), CSIM_BACKWARD_EULER);
    for (i = 0; i < 4; i++) {
        csim_tree_link_def *l = r.link + i;
        *l = csim_default_tree_link_def();
        l->parent = i - 1;
        l->joint = CSIM_TREE_REVOLUTE;
        l->axis = csim_v3(0, 1, 0);
        l->frame.position = csim_v3(0, 0, CSIM_R(i == 0 ? 0 : -0.3));
        l->mass = CSIM_R(0.3);
        l->centre = csim_v3(0, 0, CSIM_R(-0.15));
        l->inertia = diagonal(0.01, 0.01, 0.01);
        l->stiffness = 60;
        l->rate_gain = 2;
        l->effort = 5;
    }
    d.links = r.link;
    d.link_count = 4;
    STATUS(csim_create_tree(r.w, &d, &r.id), CSIM_OK);
    return r;
}

/* Drives get rows where they turn out to need them: the motion is that of rows for all from the start. */
TEST(drives_at_their_effort_are_found) {
    robot a = weak_chain(), b = weak_chain();
    int step, i, rows = 0, steps = 400;
    for (step = 0; step < steps; step++) {
        csim_real q[4], p[4], drive;
        for (i = 0; i < 4; i++) {
            const csim_real target = CSIM_R(step / 100 % 2 ? -0.1 * i : 0.2);
            csim_tree_set_target(a.w, a.id, i, target, 0);
            csim_tree_set_target(b.w, b.id, i, target, 0);
            b.w->store.link_impulse[CSIMI_TREE_JOINT_ROWS * i + 3] = 1; /* as if each had been beyond its limit */
        }
        STATUS(csim_world_step(a.w, CSIM_R(2e-3)), CSIM_OK);
        STATUS(csim_world_step(b.w, CSIM_R(2e-3)), CSIM_OK);
        csim_tree_get_state(a.w, a.id, q, NULL);
        csim_tree_get_state(b.w, b.id, p, NULL);
        for (i = 0; i < 4; i++) {
            NEAR(q[i], p[i], TOL(1e-9, 2e-3));
            FIGURE("rows_off", q[i] - p[i]);
            STATUS(csim_tree_get_effort(a.w, a.id, i, &drive, NULL), CSIM_OK);
            CHECK(fabs((double)drive) <= 5 * (1 + TOL(1e-9, 1e-4)));
            rows += fabs((double)drive) > 5 * (1 - TOL(1e-9, 1e-4));
        }
    }
    printf("    %d of %d drives were at their effort\n", rows, 4 * steps);
    FIGURE("at_effort", rows / (4.0 * steps));
    CHECK(rows > steps / 10 && rows < 3 * steps); /* both kinds are seen */
    csim_destroy_world(a.w);
    csim_destroy_world(b.w);
}

/* Which drives needed rows is nothing that a failed step leaves behind. */
TEST(a_rejected_step_leaves_drives_as_they_were) {
    static unsigned char before[1 << 20], after[1 << 20];
    robot r = weak_chain();
    csim_solver_params p = r.w->def.solver;
    size_t bytes = sizeof before, same = sizeof after;
    int i;
    for (i = 0; i < 4; i++) csim_tree_set_target(r.w, r.id, i, 3, 0);
    r.w->def.on_uncertified = CSIM_REJECT_UNCERTIFIED;
    p.tolerance = CSIM_R(1e-30); /* nothing is good enough */
    p.max_iterations = 1;
    STATUS(csim_world_set_solver(r.w, &p), CSIM_OK);
    STATUS(csim_world_save(r.w, before, &bytes), CSIM_OK);
    STATUS(csim_world_step(r.w, CSIM_R(2e-3)), CSIM_UNCERTIFIED);
    STATUS(csim_world_save(r.w, after, &same), CSIM_OK);
    EQUAL(bytes, same);
    CHECK(memcmp(before, after, bytes) == 0);
    csim_destroy_world(r.w);
}

static void drive_limited_later(csim_tree_link_def *d) {
    stiff_drive(d);
    d->effort_later = true;
}

/* Unlimited it is the drive without the coordinate behind it; limited, it accelerates by effort / I, also in a world
   that goes back to before the effort was given. */
TEST(effort_is_given_later) {
    pendulum p = make_pendulum(drive_limited_later, 0), never = make_pendulum(stiff_drive, 0);
    const csim_real zero = 0;
    const double h = 1e-3;
    double rate, other;
    static unsigned char memory[1 << 20];
    size_t bytes = sizeof memory;
    uint64_t hash[2];
    int i, k;
    for (i = 0; i < 20; i++) {
        STATUS(csim_world_step(p.w, (csim_real)h), CSIM_OK);
        STATUS(csim_world_step(never.w, (csim_real)h), CSIM_OK);
        NEAR(angle_of(&p, &rate), angle_of(&never, &other), TOL(1e-13, 1e-6));
        NEAR(rate, other, TOL(1e-10, 1e-4));
    }
    STATUS(csim_tree_set_drive(never.w, never.id, 0, 1000, 10, 3), CSIM_OUT_OF_RANGE);
    CHECK(strstr(csim_last_error(never.w), "effort_later") != NULL);
    STATUS(csim_world_save(p.w, memory, &bytes), CSIM_OK);
    for (k = 0; k < 2; k++) {
        if (k == 1) STATUS(csim_world_restore(p.w, memory, bytes), CSIM_OK);
        STATUS(csim_tree_set_state(p.w, p.id, &zero, &zero), CSIM_OK);
        STATUS(csim_tree_set_drive(p.w, p.id, 0, CSIM_R(1e6), CSIM_R(1e4), 3), CSIM_OK);
        for (i = 1; i <= 50; i++) {
            STATUS(csim_world_step(p.w, (csim_real)h), CSIM_OK);
            angle_of(&p, &rate);
            NEAR(rate, 6 * h * i, TOL(1e-9, 1e-4));
        }
        hash[k] = csim_world_hash(p.w);
    }
    CHECK(hash[0] == hash[1]);
    csim_destroy_world(never.w);
    csim_destroy_world(p.w);
}

/* Far from its target the drive gives all it has: constant acceleration effort / I. Near it, it is the implicit drive.
 */
TEST(drive_gives_at_most_its_effort) {
    pendulum p = make_pendulum(weak_drive, 0), free_drive = make_pendulum(stiff_drive, 0);
    double h = 1e-3, rate;
    csim_real drive, q = CSIM_R(0.699999), v = 0;
    int i;
    for (i = 1; i <= 100; i++) {
        STATUS(csim_world_step(p.w, (csim_real)h), CSIM_OK);
        angle_of(&p, &rate);
        NEAR(rate, 6 * h * i, TOL(1e-9, 1e-4));
        FIGURE("effort_off", rate - 6 * h * i);
        CHECK(csim_world_stats(p.w).result == CSIM_RESULT_CONVERGED);
    }
    csim_tree_get_effort(p.w, p.id, 0, &drive, NULL);
    NEAR(drive, 3, TOL(1e-6, 1e-3));
    STATUS(csim_tree_set_state(p.w, p.id, &q, &v), CSIM_OK);
    STATUS(csim_tree_set_state(free_drive.w, free_drive.id, &q, &v), CSIM_OK);
    for (i = 0; i < 20; i++) {
        STATUS(csim_world_step(p.w, (csim_real)h), CSIM_OK);
        STATUS(csim_world_step(free_drive.w, (csim_real)h), CSIM_OK);
        NEAR(angle_of(&p, NULL), angle_of(&free_drive, NULL), TOL(1e-10, 1e-5));
    }
    csim_destroy_world(p.w);
    csim_destroy_world(free_drive.w);
}

static void limited(csim_tree_link_def *d) {
    d->lower = CSIM_R(-0.5);
    d->upper = CSIM_R(0.3);
    d->position = CSIM_R(0.2);
    d->rate = 5;
}

TEST(limit_stops_the_joint_and_carries_its_weight) {
    pendulum p = make_pendulum(limited, 10);
    double deepest = 0, rate, q = 0;
    csim_real limit;
    int i;
    for (i = 0; i < 3000; i++) {
        csim_vec3 tip;
        csim_pose pose;
        csim_tree_link_pose(p.w, p.id, 0, &pose);
        tip = csim_pose_point(pose, csim_v3(0, 0, CSIM_R(-0.5)));
        STATUS(csim_tree_add_link_force(p.w, p.id, 0, tip, csim_v3(i < 1500 ? -40 : 40, 0, 0), csim_v3(0, 0, 0)),
               CSIM_OK);
        STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
        q = angle_of(&p, &rate);
        deepest = fmax(deepest, fmax(-0.5 - q, q - 0.3));
        if (i == 1499) NEAR(q, 0.3, TOL(1e-9, 1e-5)); /* -x at the tip turns it up about y */
        if (i == 1499) {
            csim_tree_get_effort(p.w, p.id, 0, NULL, &limit);
            NEAR(limit, -(40 * 0.5 * cos(0.3) - 10 * sin(0.3)), TOL(1e-6, 1e-2));
        }
    }
    NEAR(q, -0.5, TOL(1e-9, 1e-5));
    FIGURE("limit_overrun", fmax(deepest, 0));
    CHECK(deepest < TOL(1e-9, 1e-5));
    csim_destroy_world(p.w);
}

static void soft_limited(csim_tree_link_def *d) {
    limited(d);
    d->limit.stiffness = 400;
    d->limit.damping = 8;
    d->friction = CSIM_R(0.05);
    d->stiffness = 3; /* a drive of limited effort has a massless coordinate of its own beside it */
    d->effort = CSIM_R(0.4);
}

static void soft_by_frequency(csim_tree_link_def *d) {
    limited(d);
    d->limit.frequency = 4;
    d->limit.ratio = CSIM_R(0.3);
}

static void soft_and_bouncing(csim_tree_link_def *d) {
    limited(d);
    d->limit.stiffness = 500;
}

/* Backward Euler of one joint by hand: a limit bears -kappa (v + bias) where that pushes. */
static void limit_by_hand(double h, double I, double k, double c, double *q, double *v, double *force) {
    const double lower = -0.5, upper = 0.3, kappa = h * h * k + h * c;
    const int side = *q - lower < upper - *q ? 1 : -1; /* the nearer one; the other is far */
    const double gap = side > 0 ? *q - lower : upper - *q, bias = gap < 0 ? h * k * gap / kappa : gap / h;
    const double lambda = fmax(0, -(side * *v + bias) / (1 / I + 1 / kappa));
    *v += side * lambda / I;
    *q += h * *v;
    *force = side * lambda / h;
}

TEST(soft_limits_push_as_by_hand) {
    void (*const kind[2])(csim_tree_link_def *) = {soft_and_bouncing, soft_by_frequency};
    const double h = 2e-3, I = 0.5, omega = 2 * 3.14159265358979323846 * 4;
    int type, i;
    for (type = 0; type < 2; type++) {
        const double k = type ? I * omega * omega : 500, c = type ? 2 * 0.3 * I * omega : 0;
        pendulum p = make_pendulum(kind[type], 0);
        double q = 0.2, v = 5, force, deepest = 0, rate, most = 0;
        CASE("kind %d", type);
        for (i = 0; i < 400; i++) {
            csim_real limit;
            limit_by_hand(h, I, k, c, &q, &v, &force);
            STATUS(csim_world_step(p.w, (csim_real)h), CSIM_OK);
            NEAR(angle_of(&p, &rate), q, TOL(1e-10, 2e-3)); /* float: rounding of many bounces adds up */
            NEAR(rate, v, TOL(1e-8, 5e-2));
            STATUS(csim_tree_get_effort(p.w, p.id, 0, NULL, &limit), CSIM_OK);
            NEAR((double)limit, force, TOL(1e-6, 3));
            most = fmax(most, fabs(force));
            deepest = fmax(deepest, fmax(-0.5 - q, q - 0.3));
        }
        CHECK(deepest > 0.05 && most > 10); /* it gave way */
        csim_destroy_world(p.w);
    }
}

/* What goes in comes out: the energy of a soft limit is the joint's, but for what backward Euler takes, of first order
   in h. Against gravity it holds a weight at k (q - limit). */
TEST(soft_limits_keep_energy_and_bear_weight) {
    double lost[2];
    csim_real force;
    int i, k;
    for (k = 0; k < 2; k++) {
        const double h = 1e-4 / (k + 1);
        pendulum p = make_pendulum(soft_and_bouncing, 0);
        const csim_totals before = csim_world_totals(p.w);
        csim_totals t;
        double within = 0;
        for (i = 0; i < 1500 * (k + 1); i++) {
            STATUS(csim_world_step(p.w, (csim_real)h), CSIM_OK);
            t = csim_world_totals(p.w);
            within = fmax(within, t.elastic);
        }
        lost[k] = 1 - (t.kinetic + t.elastic) / (before.kinetic + before.elastic);
        CHECK(within > 0.95 * before.kinetic); /* all of it, when it turns round */
        CHECK(lost[k] > 0 && lost[k] < 0.02);
        csim_destroy_world(p.w);
    }
    NEAR(lost[0] / lost[1], 2, TOL(0.1, 0.5));
    {
        pendulum p = make_pendulum(soft_limited, 10);
        const csim_softness hard = {0, 0, 0, 0}, stiff = {CSIM_R(1e4), 100, 0, 0};
        double q, torque;
        for (i = 0; i < 4000; i++) {
            csim_pose pose;
            csim_vec3 tip;
            csim_tree_link_pose(p.w, p.id, 0, &pose);
            tip = csim_pose_point(pose, csim_v3(0, 0, CSIM_R(-0.5)));
            STATUS(csim_tree_add_link_force(p.w, p.id, 0, tip, csim_v3(-40, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
            if (i == 2000) STATUS(csim_tree_set_limit_softness(p.w, p.id, 0, &stiff), CSIM_OK);
            if (i == 3000) STATUS(csim_tree_set_limit_softness(p.w, p.id, 0, &hard), CSIM_OK);
            STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
            if (i % 1000 != 999 || i < 1999) continue;
            q = angle_of(&p, NULL);
            STATUS(csim_tree_get_effort(p.w, p.id, 0, NULL, &force), CSIM_OK);
            torque = 40 * 0.5 * cos(q) - 10 * sin(q); /* less friction and drive */
            NEAR(-(double)force, torque, 0.5);
            if (i < 3000) NEAR(-(double)force, (i < 2000 ? 400 : 1e4) * (q - 0.3), TOL(1e-6, 3e-2));
            if (i > 3000) NEAR(q, 0.3, TOL(1e-9, 1e-5));
        }
        csim_destroy_world(p.w);
    }
}

/* A chain with soft limits against the same chain without, whose links hold six-axes joints with the same limits: rows
   of another kind on other coordinates. */
TEST(soft_limits_are_those_of_joints) {
    csim_tree_link_def link[5];
    csim_world *w[2];
    csim_body_id id[2];
    int type, i;
    for (type = 0; type < 2; type++) {
        csim_tree_def d = csim_default_tree_def();
        w[type] = make_world(csim_v3(0, 0, CSIM_R(-9.81)), CSIM_BACKWARD_EULER);
        for (i = 0; i < 5; i++) {
            link[i] = csim_default_tree_link_def();
            link[i].parent = i - 1;
            link[i].joint = CSIM_TREE_REVOLUTE;
            link[i].axis = csim_v3(0, 1, 0);
            link[i].frame.position = csim_v3(i ? CSIM_R(0.3) : 0, 0, 0);
            link[i].mass = 1;
            link[i].centre = csim_v3(CSIM_R(0.15), 0, 0);
            link[i].inertia = diagonal(0.01, 0.02, 0.02);
            if (type) continue;
            link[i].lower = CSIM_R(-0.1);
            link[i].upper = CSIM_R(0.2);
            link[i].limit.stiffness = 300;
            link[i].limit.damping = 1;
        }
        d.links = link;
        d.link_count = 5;
        STATUS(csim_create_tree(w[type], &d, id + type), CSIM_OK);
        for (i = 0; i < 5 && type; i++) {
            csim_joint_def j = csim_default_joint_def();
            csim_link_id made;
            j.kind = CSIM_JOINT_SIX;
            j.a.body = id[1];
            j.a.node = i;
            j.b.body = id[1];
            j.b.node = i - 1;
            if (i == 0) j.b.body.index1 = 0;
            j.a.point = j.b.point = csim_v3(CSIM_R(0.3) * (csim_real)i, 0, 0);
            j.axis = csim_v3(0, 1, 0);
            j.axes[CSIM_AXIS_TWIST].limited = true;
            j.axes[CSIM_AXIS_TWIST].lower = CSIM_R(-0.1);
            j.axes[CSIM_AXIS_TWIST].upper = CSIM_R(0.2);
            j.axes[CSIM_AXIS_TWIST].limit.stiffness = 300;
            j.axes[CSIM_AXIS_TWIST].limit.damping = 1;
            STATUS(csim_create_joint(w[1], &j, &made), CSIM_OK);
        }
    }
    for (i = 0; i < 400; i++) {
        csim_real q[2][5];
        int k;
        for (type = 0; type < 2; type++) {
            STATUS(csim_world_step(w[type], CSIM_R(2e-3)), CSIM_OK);
            STATUS(csim_tree_get_state(w[type], id[type], q[type], NULL), CSIM_OK);
        }
        for (k = 0; k < 5; k++) NEAR((double)q[0][k], (double)q[1][k], TOL(1e-7, 5e-3)); /* tolerance of the solver */
    }
    for (type = 0; type < 2; type++) csim_destroy_world(w[type]);
}

/* What a snapshot holds of them, and what is refused. */
TEST(soft_limits_are_saved_and_checked) {
    static unsigned char memory[1 << 16];
    size_t bytes = sizeof memory;
    pendulum p = make_pendulum(soft_limited, 10), other = make_pendulum(limited, 10);
    csim_softness wrong = {-1, 0, 0, 0}, soft = {10, 0, 0, 0};
    uint64_t hash[2];
    int i, k;
    for (i = 0; i < 60; i++) STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
    STATUS(csim_world_save(p.w, memory, &bytes), CSIM_OK);
    for (k = 0; k < 2; k++) {
        if (k) STATUS(csim_world_restore(p.w, memory, bytes), CSIM_OK);
        for (i = 0; i < 200; i++) STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
        hash[k] = csim_world_hash(p.w);
    }
    CHECK(hash[0] == hash[1]);
    EQUAL(csim_tree_set_limit_softness(p.w, p.id, 0, &wrong), CSIM_OUT_OF_RANGE);
    wrong.stiffness = (csim_real)NAN;
    EQUAL(csim_tree_set_limit_softness(p.w, p.id, 0, &wrong), CSIM_NOT_FINITE);
    EQUAL(csim_tree_set_limit_softness(p.w, p.id, 0, NULL), CSIM_NULL_ARGUMENT);
    EQUAL(csim_tree_set_limit_softness(p.w, p.id, 1, &soft), CSIM_OUT_OF_RANGE);
    EQUAL(csim_tree_set_limit_softness(other.w, other.id, 0, &soft), CSIM_OUT_OF_RANGE);
    CHECK(strstr(csim_last_error(other.w), "hard limits") != NULL);
    csim_destroy_world(p.w);
    csim_destroy_world(other.w);
}

static void rubbing(csim_tree_link_def *d) {
    d->friction = 2;
    d->rate = 3;
}

/* I dw/dt = -2 for 0.75 s, and then it stays. */
TEST(dry_friction_stops_a_joint_in_time_and_holds_it) {
    pendulum p = make_pendulum(rubbing, 0);
    double rate, before;
    csim_real push = CSIM_R(1.99);
    int i;
    for (i = 1; i <= 740; i++) {
        STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
        angle_of(&p, &rate);
        NEAR(rate, 3 - 4 * 1e-3 * i, TOL(1e-9, 1e-4));
    }
    for (; i <= 760; i++) STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
    before = angle_of(&p, &rate);
    NEAR(rate, 0, TOL(1e-12, 1e-6));
    for (i = 0; i < 100; i++) {
        STATUS(csim_tree_add_forces(p.w, p.id, &push), CSIM_OK);
        STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
    }
    NEAR(angle_of(&p, NULL), before, TOL(1e-9, 1e-5));
    csim_destroy_world(p.w);
}

/* Gravity compensation, and forces of inverse dynamics, leave a tree where it is. */
TEST(compensated_tree_floats_and_inverse_dynamics_moves_it_as_asked) {
    int c, i, k;
    for (c = 0; c < 4; c++) {
        robot r = make_robot(roots[c], 7, csim_v3(1, 2, -9));
        csim_real zero[RATES], rates[RATES], a[RATES], force[RATES];
        memset(zero, 0, sizeof zero);
        csim_tree_set_state(r.w, r.id, NULL, zero);
        for (i = 0; i < r.links; i++) STATUS(csim_tree_set_gravity_compensation(r.w, r.id, i, 1), CSIM_OK);
        for (i = 0; i < 50; i++) STATUS(csim_world_step(r.w, CSIM_R(1e-2)), CSIM_OK);
        csim_tree_get_state(r.w, r.id, NULL, rates);
        for (k = 0; k < r.rates; k++) NEAR(rates[k], 0, TOL(1e-11, 1e-3));
        for (i = 0; i < r.links; i++) STATUS(csim_tree_set_gravity_compensation(r.w, r.id, i, 0), CSIM_OK);
        for (k = 0; k < r.rates; k++) a[k] = real(-1, 1);
        csim_tree_set_state(r.w, r.id, NULL, zero);
        STATUS(csim_tree_inverse_dynamics(r.w, r.id, a, force), CSIM_OK);
        STATUS(csim_tree_add_forces(r.w, r.id, force), CSIM_OK);
        STATUS(csim_world_step(r.w, CSIM_R(1e-3)), CSIM_OK);
        csim_tree_get_state(r.w, r.id, NULL, rates);
        for (k = 0; k < r.rates; k++) NEAR((double)rates[k] / 1e-3, a[k], TOL(1e-9, 2e-2));
        csim_destroy_world(r.w);
    }
}

/* A slab that ends at z = 0. */
static void put_floor(csim_world *w) {
    const csim_shape slab = csim_box(csim_v3(2, 2, CSIM_R(0.5)));
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id;
    d.shapes = &slab, d.shape_count = 1, d.motion = CSIM_STATIC;
    d.pose.position = csim_v3(0, 0, CSIM_R(-0.5));
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
}

/* A link that gravity pulls by twenty shares, 20 mm above a floor that it would pass by 35 mm in its first step: what
   it may fall beyond the one share that every margin has is looked for too. */
TEST(a_link_that_falls_by_many_shares_is_met_in_time) {
    int floating, i;
    for (floating = 0; floating < 2; floating++) {
        csim_world *w = make_world(csim_v3(0, 0, CSIM_R(-10)), CSIM_BACKWARD_EULER);
        csim_shape cube = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
        csim_tree_link_def link = csim_default_tree_link_def();
        csim_tree_def d = csim_default_tree_def();
        csim_body_id id;
        double deepest = 0;
        put_floor(w);
        link.shapes = &cube, link.shape_count = 1;
        link.joint = floating ? CSIM_TREE_FLOATING : CSIM_TREE_PRISMATIC;
        link.axis = csim_v3(0, 0, 1);
        d.links = &link, d.link_count = 1;
        d.pose.position = csim_v3(0, 0, CSIM_R(0.12));
        STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
        STATUS(csim_body_set_gravity_scale(w, id, 20), CSIM_OK);
        for (i = 0; i < 20; i++) {
            csim_pose pose;
            STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
            STATUS(csim_tree_link_pose(w, id, 0, &pose), CSIM_OK);
            deepest = fmax(deepest, 0.1 - (double)pose.position.z);
        }
        CASE("%s: %g mm deep", floating ? "floating" : "on a rail", 1000 * deepest);
        CHECK(deepest < TOL(1e-8, 1e-5)); /* what the solver leaves */
        csim_destroy_world(w);
    }
}

/* What margins know of forces, against the step that they make from rest. */
TEST(accelerations_of_pushed_links_are_those_of_a_step) {
    int c, i, k, trial;
    for (c = 0; c < 5; c++)
        for (trial = 0; trial < 10; trial++) {
            robot r = make_robot(roots[c], 7, csim_v3(0, 0, 0));
            const csimi_state *s = &r.w->store.state;
            csim_real zero[RATES] = {0}, force[RATES];
            csimi_giving give[7];
            double largest = 0, off = 0;
            for (k = 0; k < r.rates; k++) force[k] = k % 3 == trial % 3 ? real(-1, 1) : 0;
            csim_tree_set_state(r.w, r.id, NULL, zero);
            CHECK(!csimi_tree_pushed(s, 0, give));
            STATUS(csim_tree_add_forces(r.w, r.id, force), CSIM_OK);
            csimi_tree_study(s, 0, s->coord_rate, NULL, 0);
            CHECK(csimi_tree_pushed(s, 0, give));
            STATUS(csim_world_step(r.w, CSIM_R(1e-5)), CSIM_OK);
            for (i = 0; i < r.links; i++) {
                csim_vec3 turn, v = csimi_link_velocity(s, i, csimi_link_pose(s, 0).position, s->coord_rate, &turn);
                largest = fmax(largest, (double)csim_length(v) + (double)csim_length(turn));
                off = fmax(off, (double)csim_length(csim_madd(v, CSIM_R(-1e-5), give[i].A.v)));
                off = fmax(off, (double)csim_length(csim_madd(turn, CSIM_R(-1e-5), give[i].A.w)));
            }
            CASE("root %d, trial %d: off by %g of %g", c, trial, off, largest);
            CHECK(off <= TOL(1e-6, 1e-2) * largest); /* the second order of the step; what float leaves of a chain */
            csim_destroy_world(r.w);
        }
}

enum { PUSHED, ALONG_A_RAIL, BY_THE_RAIL, BY_THE_BODY, AT_THE_TIP, BY_THE_SHOULDER, BY_THE_ELBOW, HOW_MANY };

/* A link at rest just above a floor, which forces of the user would take 37 mm into it in the first step: they are part
   of how far its contacts are looked for, through joints too. The arm lies along x, its elbow at 0.6; a torque that
   lifts the forearm drives the elbow down. Midpoint worlds: the first meeting, not how they leave it. */
TEST(a_link_that_is_pushed_hard_is_met_in_time) {
    static const char *const name[HOW_MANY] = {"pushed", "along a rail", "by the rail", "by the body", "at the tip",
                                               "by the shoulder", "by the elbow"};
    const csim_real a = 200, m = 3; /* m/s^2, kg */
    int how, integrator, i, k;
    for (how = 0; how < HOW_MANY; how++)
        for (integrator = CSIM_BACKWARD_EULER; integrator <= CSIM_MIDPOINT; integrator++) {
            csim_world *w = make_world(csim_v3(0, 0, 0), (csim_integrator)integrator);
            csim_shape part = csim_sphere(CSIM_R(0.1));
            csim_tree_link_def link[2] = {csim_default_tree_link_def(), csim_default_tree_link_def()};
            csim_tree_def d = csim_default_tree_def();
            csim_body_id id;
            double deepest = 0;
            put_floor(w);
            d.links = link, d.link_count = how < AT_THE_TIP ? 1 : 2;
            d.pose.position = csim_v3(0, 0, CSIM_R(0.11));
            for (k = 0; k < 2; k++) {
                link[k].shapes = &part, link[k].shape_count = 1;
                link[k].mass = m;
                if (how >= AT_THE_TIP) { /* the ball at the far end of each */
                    part.local.position = link[k].centre = csim_v3(CSIM_R(0.6), 0, 0);
                    link[k].inertia = diagonal(0.01, 0.01, 0.01);
                    link[k].joint = CSIM_TREE_REVOLUTE;
                    link[k].axis = csim_v3(0, 1, 0);
                    link[k].parent = k - 1;
                    link[k].frame.position = csim_v3(k ? CSIM_R(0.6) : 0, 0, 0);
                } else {
                    link[k].joint = how == PUSHED || how == BY_THE_BODY ? CSIM_TREE_FLOATING : CSIM_TREE_PRISMATIC;
                    link[k].axis = csim_v3(0, 0, 1);
                }
            }
            STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
            for (i = 0; i < (integrator == CSIM_MIDPOINT ? 3 : 5); i++) {
                csim_real force[2] = {0, 0};
                const csim_vec3 down = csim_v3(0, 0, -a * m);
                csim_pose pose;
                if (how == BY_THE_RAIL) force[0] = -a * m;
                if (how == BY_THE_SHOULDER) force[0] = a * m * CSIM_R(1.2); /* about y: down in front */
                if (how == BY_THE_ELBOW) force[1] = -a * m * CSIM_R(0.6);
                if (how >= BY_THE_SHOULDER || how == BY_THE_RAIL)
                    STATUS(csim_tree_add_forces(w, id, force), CSIM_OK);
                else if (how == BY_THE_BODY)
                    STATUS(csim_body_add_force(w, id, down, csim_v3(0, 0, 0)), CSIM_OK);
                else
                    STATUS(csim_tree_add_link_force(w, id, d.link_count - 1,
                                                    csim_v3(how == AT_THE_TIP ? CSIM_R(1.2) : 0, 0, CSIM_R(0.1)), down,
                                                    csim_v3(0, 0, 0)), CSIM_OK);
                STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
                for (k = 0; k < d.link_count; k++) {
                    STATUS(csim_tree_link_pose(w, id, k, &pose), CSIM_OK);
                    deepest = fmax(deepest, 0.1 - (double)csim_pose_point(pose, link[k].centre).z);
                }
            }
            CASE("%s, integrator %d: %g mm deep", name[how], integrator, 1000 * deepest);
            CHECK(deepest < 1e-4);
            csim_destroy_world(w);
        }
}

/* A bar on a joint at its middle, which stays where it is: its end is what a torque drives down. */
TEST(a_link_that_is_turned_hard_is_met_in_time) {
    csim_world *w = make_world(csim_v3(0, 0, 0), CSIM_BACKWARD_EULER);
    csim_shape bar = csim_box(csim_v3(CSIM_R(0.6), CSIM_R(0.05), CSIM_R(0.05)));
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def d = csim_default_tree_def();
    csim_body_id id;
    double deepest = 0;
    int i;
    put_floor(w);
    link.shapes = &bar, link.shape_count = 1;
    link.mass = 3, link.inertia = diagonal(0.1, 0.36, 0.36);
    link.joint = CSIM_TREE_REVOLUTE, link.axis = csim_v3(0, 1, 0);
    d.links = &link, d.link_count = 1;
    d.pose.position = csim_v3(0, 0, CSIM_R(0.06));
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    for (i = 0; i < 5; i++) {
        const csim_real torque = CSIM_R(0.36 * 200 / 0.6); /* 200 m/s^2 at the end */
        csim_pose pose;
        STATUS(csim_tree_add_forces(w, id, &torque), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
        STATUS(csim_tree_link_pose(w, id, 0, &pose), CSIM_OK);
        deepest = fmax(deepest, -(double)csim_pose_point(pose, csim_v3(CSIM_R(0.6), 0, CSIM_R(-0.05))).z);
    }
    CASE("%g mm deep", 1000 * deepest);
    CHECK(deepest < 1e-4);
    csim_destroy_world(w);
}

/* ---- contact */

/* A box that hangs on a floating tree falls, slides and stops as a rigid box does. */
TEST(link_slides_like_a_rigid_body) {
    csim_world *w = make_world(csim_v3(0, 0, CSIM_R(-9.81)), CSIM_BACKWARD_EULER);
    csim_shape box = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.15), CSIM_R(0.1)));
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def d = csim_default_tree_def();
    csim_rigid_def r = csim_default_rigid_def();
    csim_body_id ground, tree, body;
    csim_pose p, q;
    int i;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.3), &ground), CSIM_OK);
    link.joint = CSIM_TREE_FLOATING;
    link.shapes = r.shapes = &box;
    link.shape_count = r.shape_count = 1;
    d.links = &link;
    d.link_count = 1;
    d.surface.friction = r.surface.friction = CSIM_R(0.3);
    d.pose.position = csim_v3(0, 0, CSIM_R(0.1));
    r.pose.position = csim_v3(0, 5, CSIM_R(0.1));
    d.velocity = r.velocity = csim_v3(2, 0, 0);
    STATUS(csim_create_tree(w, &d, &tree), CSIM_OK);
    STATUS(csim_create_rigid(w, &r, &body), CSIM_OK);
    for (i = 0; i < 100; i++) {
        STATUS(csim_world_step(w, CSIM_R(1e-2)), CSIM_OK);
        CHECK(csim_world_stats(w).result == CSIM_RESULT_CONVERGED);
        csim_body_get_pose(w, tree, &p);
        csim_body_get_pose(w, body, &q);
        NEAR(csim_length(csim_sub(csim_add(p.position, csim_v3(0, 5, 0)), q.position)), 0, TOL(1e-7, 1e-4));
        FIGURE("slide_off", csim_length(csim_sub(csim_add(p.position, csim_v3(0, 5, 0)), q.position)));
    }
    NEAR(p.position.x, 0.669585, TOL(1e-5, 1e-4)); /* validation 1: the exact discrete distance at 10 ms */
    csim_destroy_world(w);
}

/* Momentum of a tree and a rigid body that hit each other: the contact gives to one what it takes from the other. */
TEST(impact_between_a_tree_and_a_body_keeps_momentum) {
    csim_world *w = make_world(csim_v3(0, 0, 0), CSIM_BACKWARD_EULER);
    csim_shape ball = csim_sphere(CSIM_R(0.1));
    csim_tree_link_def link[3];
    csim_tree_def d = csim_default_tree_def();
    csim_rigid_def r = csim_default_rigid_def();
    csim_body_id tree, body;
    csim_real M[64], rates[8], L[3], spin[3];
    csim_mass mass;
    csim_vec3 v, o, x;
    csim_pose p;
    int i, k, touched = 0;
    for (i = 0; i < 3; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i - 1;
        link[i].joint = i == 0 ? CSIM_TREE_FLOATING : CSIM_TREE_REVOLUTE;
        link[i].axis = csim_v3(0, 1, 0);
        link[i].frame.position = csim_v3(0, 0, CSIM_R(0.3));
        link[i].shapes = &ball;
        link[i].shape_count = 1;
    }
    d.links = link;
    d.link_count = 3;
    d.surface.friction = 0; /* across the gap that closes in this step friction would have an arm */
    STATUS(csim_create_tree(w, &d, &tree), CSIM_OK);
    r.shapes = &ball;
    r.shape_count = 1;
    r.pose.position = csim_v3(CSIM_R(-0.21), 0, CSIM_R(0.62));
    r.velocity = csim_v3(3, 0, 0);
    STATUS(csim_create_rigid(w, &r, &body), CSIM_OK);
    csim_body_get_mass(w, body, &mass);
    for (i = 0; i < 10 && !touched; i++) {
        csim_tree_mass_matrix(w, tree, M); /* the step's own M; the tree rests, so that it has no bias */
        csim_body_get_pose(w, body, &p);
        STATUS(csim_world_step(w, CSIM_R(1e-3)), CSIM_OK);
        touched = csim_world_stats(w).touching;
    }
    EQUAL(touched, 1);
    csim_tree_get_state(w, tree, NULL, rates);
    csim_body_get_velocity(w, body, &v, &o);
    x = csim_scale(mass.mass, v);
    csimi_store3(L, x);
    for (k = 0; k < 3; k++) { /* the root's rows of M are momentum and angular momentum about its origin, here 0 */
        double sum = (double)L[k];
        for (i = 0; i < 8; i++) sum += (double)(M[8 * k + i] * rates[i]);
        NEAR(sum / (double)(3 * mass.mass), k == 0 ? 1 : 0, TOL(1e-12, 1e-5));
        FIGURE("impact_off", sum / (double)(3 * mass.mass) - (k == 0));
    }
    csimi_store3(spin, csim_add(csim_cross(p.position, x), csim_scale(mass.inertia.m[0], o)));
    csimi_store3(L, csim_cross(p.position, csim_v3(3 * mass.mass, 0, 0)));
    for (k = 0; k < 3; k++) {
        double sum = (double)(spin[k] - L[k]);
        for (i = 0; i < 8; i++) sum += (double)(M[8 * (3 + k) + i] * rates[i]);
        NEAR(sum / (double)(3 * mass.mass), 0, TOL(1e-12, 1e-5));
        FIGURE("impact_off", sum / (double)(3 * mass.mass));
    }
    csim_destroy_world(w);
}

/* ---- bookkeeping */

TEST(state_is_saved_restored_and_survives_removal_of_others) {
    robot r = make_robot(CSIM_TREE_FLOATING, 7, csim_v3(0, 0, -9));
    csim_tree_def d = csim_default_tree_def();
    csim_tree_link_def link[3];
    csim_body_id other;
    csim_real before[7 * LINKS], after[7 * LINKS], M[RATES * RATES], N[RATES * RATES];
    size_t bytes = 0;
    uint64_t hash;
    void *memory;
    int i;
    csim_world *w;
    d.links = link;
    d.link_count = random_links(link, CSIM_TREE_BALL, 3);
    STATUS(csim_create_tree(r.w, &d, &other), CSIM_OK);
    csim_destroy_body(r.w, other);
    CHECK(!csim_body_valid(r.w, other));
    STATUS(csim_create_tree(r.w, &d, &other), CSIM_OK);
    for (i = 0; i < 20; i++) STATUS(csim_world_step(r.w, CSIM_R(1e-3)), CSIM_OK);
    STATUS(csim_world_save(r.w, NULL, &bytes), CSIM_OK);
    memory = malloc(bytes);
    STATUS(csim_world_save(r.w, memory, &bytes), CSIM_OK);
    for (i = 0; i < 20; i++) STATUS(csim_world_step(r.w, CSIM_R(1e-3)), CSIM_OK);
    hash = csim_world_hash(r.w);
    STATUS(csim_world_restore(r.w, memory, bytes), CSIM_OK);
    for (i = 0; i < 20; i++) STATUS(csim_world_step(r.w, CSIM_R(1e-3)), CSIM_OK);
    CHECK(hash == csim_world_hash(r.w));
    w = make_world(csim_v3(0, 0, -9), CSIM_BACKWARD_EULER); /* into a world that never held a tree */
    STATUS(csim_world_restore(w, memory, bytes), CSIM_OK);
    for (i = 0; i < 20; i++) STATUS(csim_world_step(w, CSIM_R(1e-3)), CSIM_OK);
    CHECK(hash == csim_world_hash(w));
    csim_destroy_world(w);
    free(memory);
    { /* the second tree stays what it is when the first goes */
        csim_tree_get_state(r.w, other, before, NULL);
        csim_tree_mass_matrix(r.w, other, M);
        STATUS(csim_destroy_body(r.w, r.id), CSIM_OK);
        csim_tree_get_state(r.w, other, after, NULL);
        csim_tree_mass_matrix(r.w, other, N);
        for (i = 0; i < 7; i++) CHECK(!(before[i] < after[i] || before[i] > after[i]));
        for (i = 0; i < 25; i++) NEAR(M[i], N[i], 0);
        STATUS(csim_world_step(r.w, CSIM_R(1e-3)), CSIM_OK);
    }
    csim_destroy_world(r.w);
}

/* A pendulum of three links at a place of its own, a spring from the ground to its last link, a pin to its second. */
static csim_body_id tied_pendulum(csim_world *w, int k) {
    csim_tree_def d = csim_default_tree_def();
    csim_tree_link_def link[3];
    csim_spring_def spring = csim_default_spring_def();
    csim_pin_def pin = csim_default_pin_def();
    csim_body_id id;
    csim_link_id tie;
    int i;
    for (i = 0; i < 3; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i - 1;
        link[i].joint = CSIM_TREE_BALL;
        link[i].frame.position = csim_v3(i ? CSIM_R(0.5) : 0, 0, 0);
        link[i].mass = CSIM_R(1 + k);
        link[i].centre = csim_v3(CSIM_R(0.25), 0, 0);
        link[i].inertia = diagonal(0.02, 0.03, 0.03);
    }
    d.links = link;
    d.link_count = 3;
    d.pose.position = csim_v3(0, (csim_real)(3 * k), 0);
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    spring.a.body = pin.a.body = id;
    spring.a.node = 2;
    spring.a.point = csim_v3(CSIM_R(1.5), (csim_real)(3 * k), 0);
    spring.b.point = csim_v3(2, (csim_real)(3 * k), 1);
    spring.stiffness = 50;
    STATUS(csim_create_spring(w, &spring, &tie), CSIM_OK);
    pin.a.node = 1;
    pin.a.point = pin.b.point = csim_v3(CSIM_R(0.75), (csim_real)(3 * k), 0);
    STATUS(csim_create_pin(w, &pin, &tie), CSIM_OK);
    return id;
}

/* Springs and pins stay with their links when the first, middle or last of three trees goes: the two that are left move
   as where the third never was. */
TEST(ties_of_links_survive_removal_of_other_trees) {
    int gone, k, i, step;
    for (gone = 0; gone < 3; gone++) {
        csim_world *w[2];
        csim_body_id id[2][3];
        csim_real x[2][12];
        for (i = 0; i < 2; i++) {
            w[i] = make_world(csim_v3(0, 0, -9), CSIM_BACKWARD_EULER);
            for (k = 0; k < 3; k++)
                if (i == 0 || k != gone) id[i][k] = tied_pendulum(w[i], k);
        }
        STATUS(csim_destroy_body(w[0], id[0][gone]), CSIM_OK);
        for (step = 0; step < 20; step++)
            for (i = 0; i < 2; i++) STATUS(csim_world_step(w[i], CSIM_R(0.01)), CSIM_OK);
        for (k = 0; k < 3; k++) {
            if (k == gone) continue;
            CASE("gone %d, tree %d", gone, k);
            for (i = 0; i < 2; i++) csim_tree_get_state(w[i], id[i][k], x[i], NULL);
            for (i = 0; i < 12; i++) NEAR(x[0][i], x[1][i], TOL(1e-12, 1e-5));
            CHECK(fabs((double)x[0][8]) < 0.9999); /* the last link turned */
        }
        for (i = 0; i < 2; i++) csim_destroy_world(w[i]);
    }
}

/* The second of three pendulums swings while the others sleep, which puts its links elsewhere in memory, and back when
   one is pushed: it moves as in a world where nobody sleeps. */
TEST(ties_of_links_survive_sleep) {
    csim_world *w[2];
    csim_body_id id[2][3];
    csim_real rate[9], x[2][12];
    bool awake = true;
    int i, k, step;
    for (i = 0; i < 9; i++) rate[i] = i < 6 ? 0 : 2;
    for (i = 0; i < 2; i++) {
        csim_world_def d = csim_default_world_def();
        d.gravity = csim_v3(0, 0, 0);
        d.can_sleep = i == 0;
        STATUS(csim_create_world(&d, w + i, NULL), CSIM_OK);
        for (k = 0; k < 3; k++) id[i][k] = tied_pendulum(w[i], k);
        STATUS(csim_tree_set_state(w[i], id[i][1], NULL, rate), CSIM_OK);
    }
    for (step = 0; step < 120; step++) {
        if (step == 100) {
            STATUS(csim_body_is_awake(w[0], id[0][0], &awake), CSIM_OK);
            CHECK(!awake);
            for (i = 0; i < 2; i++) STATUS(csim_tree_set_state(w[i], id[i][0], NULL, rate), CSIM_OK);
        }
        for (i = 0; i < 2; i++) STATUS(csim_world_step(w[i], CSIM_R(0.01)), CSIM_OK);
    }
    STATUS(csim_body_is_awake(w[0], id[0][1], &awake), CSIM_OK);
    CHECK(awake);
    for (k = 0; k < 3; k++) {
        CASE("tree %d", k);
        for (i = 0; i < 2; i++) csim_tree_get_state(w[i], id[i][k], x[i], NULL);
        for (i = 0; i < 12; i++) NEAR(x[0][i], x[1][i], TOL(1e-9, 1e-4));
    }
    for (i = 0; i < 2; i++) csim_destroy_world(w[i]);
}

static const char *refused(csim_tree_link_def *link, int count, csim_status wanted) {
    static csim_world *w;
    static char text[400];
    csim_tree_def d = csim_default_tree_def();
    csim_body_id id;
    if (!w) w = make_world(csim_v3(0, 0, -9), CSIM_BACKWARD_EULER);
    d.links = link;
    d.link_count = count;
    STATUS(csim_create_tree(w, &d, &id), wanted);
    snprintf(text, sizeof text, "%s", csim_last_error(w));
    EQUAL(csim_world_body_count(w), 0);
    return text;
}

TEST(definitions_are_refused_with_the_link_named) {
    csim_tree_link_def good[4], link[4];
    csim_shape plane = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1)), bad = csim_sphere(-1);
    int i;
    for (i = 0; i < 4; i++) {
        good[i] = csim_default_tree_link_def();
        good[i].parent = i - 1;
        good[i].joint = CSIM_TREE_REVOLUTE;
        good[i].mass = 1;
        good[i].inertia = diagonal(1, 1, 1);
    }
#define WRONG(what, status, words)   \
    memcpy(link, good, sizeof link); \
    what;                            \
    CASE("%s", #what);               \
    CHECK(strstr(refused(link, 4, status), words) != NULL)
    WRONG(link[2].parent = 2, CSIM_OUT_OF_RANGE, "link 2: parent");
    WRONG(link[2].parent = 3, CSIM_OUT_OF_RANGE, "link 2: parent");
    WRONG(link[2].parent = -1, CSIM_OUT_OF_RANGE, "link 2: parent");
    WRONG(link[0].parent = 0, CSIM_OUT_OF_RANGE, "link 0: parent");
    WRONG(link[1].joint = CSIM_TREE_FLOATING, CSIM_OUT_OF_RANGE, "link 1: joint");
    WRONG(link[1].joint = (csim_tree_joint)9, CSIM_OUT_OF_RANGE, "link 1: joint");
    WRONG(link[3].axis = csim_v3(0, 0, 0), CSIM_OUT_OF_RANGE, "link 3: axis");
    WRONG(link[3].axis.x = (csim_real)NAN, CSIM_NOT_FINITE, "link 3: axis.x");
    WRONG(link[1].mass = -1, CSIM_OUT_OF_RANGE, "link 1: mass");
    WRONG(link[1].inertia.m[0] = -1, CSIM_OUT_OF_RANGE, "link 1: inertia");
    WRONG(link[1].inertia.m[1] = 1, CSIM_OUT_OF_RANGE, "link 1: inertia");
    WRONG(link[1].damping = -1, CSIM_OUT_OF_RANGE, "link 1: damping");
    WRONG(link[1].stiffness = -1, CSIM_OUT_OF_RANGE, "link 1: stiffness");
    WRONG(link[1].rate_gain = -1, CSIM_OUT_OF_RANGE, "link 1: rate_gain");
    WRONG(link[1].effort = -1, CSIM_OUT_OF_RANGE, "link 1: effort");
    WRONG((link[1].joint = CSIM_TREE_BALL, link[1].effort_later = true), CSIM_OUT_OF_RANGE, "link 1: limits, friction");
    WRONG((link[1].joint = CSIM_TREE_BALL, link[1].limit.stiffness = 1), CSIM_OUT_OF_RANGE, "link 1: limits, friction");
    WRONG(link[1].limit.damping = -1, CSIM_OUT_OF_RANGE, "damping");
    WRONG(link[1].armature = (csim_real)INFINITY, CSIM_NOT_FINITE, "link 1: armature");
    WRONG(link[1].gravity_compensation = 2, CSIM_OUT_OF_RANGE, "link 1: gravity_compensation");
    WRONG(link[1].frame.rotation.w = 2, CSIM_OUT_OF_RANGE, "link 1: frame.rotation");
    WRONG((link[1].joint = CSIM_TREE_BALL, link[1].lower = 0, link[1].upper = 1), CSIM_OUT_OF_RANGE, "link 1: limits");
    WRONG((link[1].shapes = &plane, link[1].shape_count = 1), CSIM_OUT_OF_RANGE, "link 1: shapes");
    WRONG((link[1].shapes = &bad, link[1].shape_count = 1), CSIM_OUT_OF_RANGE, "radius");
    WRONG(link[1].shape_count = 1, CSIM_NULL_ARGUMENT, "link 1: shapes");
    WRONG((link[3].mass = 0, link[3].inertia = diagonal(0, 0, 0)), CSIM_OUT_OF_RANGE, "positive definite");
#undef WRONG
}

TEST(a_link_names_the_one_it_hangs_on) {
    robot r = make_robot(roots[0], 9, csim_v3(0, 0, -9));
    int i, parent = 7;
    STATUS(csim_tree_link_parent(r.w, r.id, 0, &parent), CSIM_OK);
    EQUAL(parent, -1);
    STATUS(csim_tree_link_parent(r.w, r.id, r.links, &parent), CSIM_OUT_OF_RANGE);
    STATUS(csim_tree_link_parent(r.w, r.id, 0, NULL), CSIM_NULL_ARGUMENT);
    for (i = 1; i < r.links; i++) {
        STATUS(csim_tree_link_parent(r.w, r.id, i, &parent), CSIM_OK);
        EQUAL(parent, r.link[i].parent);
    }
    csim_destroy_world(r.w);
}

/* A robot that falls with a joint at the end of its range: nothing presses, and the impulse of the range is what
   rounding leaves of everything else; it is certified against that. */
TEST(a_joint_at_its_end_is_certified_in_free_fall) {
    csim_world *w = make_world(csim_v3(0, 0, CSIM_R(-9.81)), CSIM_BACKWARD_EULER);
    csim_tree_link_def link[3];
    csim_tree_def d = csim_default_tree_def();
    csim_shape shape[3];
    csim_body_id id;
    int i;
    for (i = 0; i < 3; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i - 1;
        link[i].joint = i == 0 ? CSIM_TREE_FLOATING : i == 1 ? CSIM_TREE_REVOLUTE : CSIM_TREE_PRISMATIC;
        link[i].frame.position = i == 1 ? csim_v3(CSIM_R(0.03), 0, 0) : csim_v3(0, 0, CSIM_R(0.05));
        shape[i] = i ? csim_capsule(CSIM_R(0.011), CSIM_R(0.02))
                     : csim_box(csim_v3(CSIM_R(0.025), CSIM_R(0.02), CSIM_R(0.012)));
        if (i) shape[i].local.position = csim_v3(0, 0, CSIM_R(0.03));
        link[i].shapes = shape + i;
        link[i].shape_count = 1;
        link[i].damping = i == 2 ? 1 : i ? CSIM_R(2e-3) : 0;
    }
    link[1].axis = csim_v3(0, 1, 0);
    link[2].lower = 0, link[2].upper = CSIM_R(0.02);
    d.links = link;
    d.link_count = 3;
    d.pose.rotation = csim_quat_axis_angle(csim_v3(0, 1, 1), CSIM_R(0.5));
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    for (i = 0; i < 50; i++) {
        STATUS(csim_world_step(w, CSIM_R(0.005)), CSIM_OK);
        CASE("step %d: contact %g", i, csim_world_stats(w).certificate.contact);
        EQUAL(csim_world_stats(w).result, CSIM_RESULT_CONVERGED);
    }
    csim_destroy_world(w);
}

/* An impulse at a point of a link: M change = J' impulse for every link of trees of every joint. */
/* ---- what joints carry */

static csim_vec3 knee; /* the axis of link 4, link axes */

/* A floating root with two arms of two links each, of which spheres touch the ground, and joints of every kind. */
static csim_body_id legged(csim_world *w, csim_vec3 at) {
    static const csim_tree_joint kind[6] = {CSIM_TREE_FLOATING, CSIM_TREE_REVOLUTE, CSIM_TREE_PRISMATIC,
                                            CSIM_TREE_BALL,     CSIM_TREE_REVOLUTE, CSIM_TREE_FIXED};
    static const int parent[6] = {-1, 0, 1, 0, 3, 4};
    csim_tree_link_def link[6];
    csim_tree_def d = csim_default_tree_def();
    csim_shape ball = csim_sphere(CSIM_R(0.1));
    csim_body_id id = {0, 0, 0};
    int i;
    ball.local.position = csim_v3(CSIM_R(0.02), 0, CSIM_R(-0.1));
    for (i = 0; i < 6; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = parent[i];
        link[i].joint = kind[i];
        link[i].axis = csim_normalize(vector(1));
        if (i == 4) knee = link[i].axis;
        link[i].frame.position = i ? csim_v3(i < 3 ? CSIM_R(0.3) : CSIM_R(-0.3), CSIM_R(0.1), CSIM_R(-0.05)) : vector(0);
        link[i].mass = (csim_real)(1 + 0.5 * i);
        link[i].inertia = some_inertia(0.05);
        link[i].centre = vector(0.1);
        link[i].damping = CSIM_R(0.1) * (csim_real)(i > 0);
        link[i].shapes = i == 2 || i == 5 ? &ball : NULL;
        link[i].shape_count = i == 2 || i == 5;
        if (i == 1 || i == 2) link[i].lower = CSIM_R(-0.2), link[i].upper = CSIM_R(0.2), link[i].friction = CSIM_R(0.3);
        if (i == 4) link[i].stiffness = 40, link[i].rate_gain = 2, link[i].effort = 3;
    }
    d.links = link;
    d.link_count = 6;
    d.pose.position = at;
    d.pose.rotation = turn();
    d.velocity = vector(0.5);
    d.angular_velocity = vector(0.5);
    d.reactions = true;
    d.surface.rolling_resistance = CSIM_R(0.02);
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    return id;
}

/* Nothing holds a root that floats: what its "joint" gives it is 0, to the solver, whatever pushes, touches and holds
   on to any link; and along its axis a joint gives what damping, drive, limit and friction do. */
SLOW_IN_FLOAT(reactions_balance) {
    const double h = 2e-3;
    double off[2] = {0, 0}, along = 0, largest = 0;
    int run, step, k;
    for (run = 0; run < 12; run++) {
        csim_world *w = make_world(csim_v3(0, 0, CSIM_R(-9.81)), run % 3 == 2 ? CSIM_MIDPOINT : CSIM_BACKWARD_EULER);
        csim_spring_def s = csim_default_spring_def();
        csim_joint_def j = csim_default_joint_def();
        csim_rigid_def r = csim_default_rigid_def();
        csim_body_id ground, id, other, crate;
        csim_link_id made;
        csim_pose pose;
        csim_vec3 axis;
        csim_solver_params params = csim_default_solver_params();
        double *worst = off + (run % 3 == 2 || run % 4 == 2); /* joints with rows of the middle of the step */
        CASE("run %d", run);
        params.tolerance = (csim_real)TOL(1e-11, 1e-5);
        params.max_iterations = 20000;
        STATUS(csim_world_set_solver(w, &params), CSIM_OK);
        STATUS(csim_create_ground(w, csim_v3(0, 0, CSIM_R(-0.35)), csim_v3(0, 0, 1), CSIM_R(0.6), &ground), CSIM_OK);
        id = legged(w, csim_v3(0, 0, 0));
        axis = knee;
        other = legged(w, csim_v3(0, 0, CSIM_R(0.4)));
        if (run % 2) {
            STATUS(csim_body_set_damping(w, id, CSIM_R(0.7), 0), CSIM_OK);
            STATUS(csim_body_set_gravity_scale(w, id, CSIM_R(0.6)), CSIM_OK);
        }
        r.mass = 2;
        r.inertia = some_inertia(0.1);
        r.pose.position = csim_v3(CSIM_R(0.5), 0, 0);
        STATUS(csim_create_rigid(w, &r, &crate), CSIM_OK);
        s.a.body = id, s.a.node = 5, s.b.body = other, s.b.node = 1;
        s.a.point = csim_v3(CSIM_R(-0.5), 0, 0), s.b.point = csim_v3(CSIM_R(0.3), CSIM_R(0.2), CSIM_R(0.4));
        s.stiffness = 200, s.damping = 3;
        STATUS(csim_create_spring(w, &s, &made), CSIM_OK);
        j.kind = run % 4 == 0 ? CSIM_JOINT_HINGE : run % 4 == 1 ? CSIM_JOINT_SLIDER : run % 4 == 2 ? CSIM_JOINT_SIX : CSIM_JOINT_WHEEL;
        j.a.body = id, j.a.node = 2, j.b.body = crate;
        j.a.point = j.b.point = csim_v3(CSIM_R(0.4), CSIM_R(0.1), 0);
        j.axis = vector(1);
        if (j.kind == CSIM_JOINT_HINGE) j.limited = true, j.lower = CSIM_R(-0.01), j.upper = CSIM_R(0.01);
        if (j.kind == CSIM_JOINT_SIX) {
            for (k = 1; k < 6; k++) j.axes[k].spring.stiffness = 50, j.axes[k].spring.damping = 1;
            j.cone[0] = j.cone[1] = CSIM_R(0.05);
            j.axes[CSIM_AXIS_X].hold = CSIM_HOLD_LOCKED;
        }
        STATUS(csim_create_joint(w, &j, &made), CSIM_OK);
        j = csim_default_joint_def();
        j.kind = CSIM_JOINT_GEAR;
        j.a.body = id, j.a.node = 4, j.b.body = other, j.b.node = 2, j.ratio = CSIM_R(0.7);
        if (run % 3 == 0) STATUS(csim_create_joint(w, &j, &made), CSIM_OK);
        for (step = 0; step < 150; step++) {
            csim_real rate[2][12], drive, limit;
            csim_vec3 force, torque, at;
            int place;
            for (k = 0; k < 6; k++) {
                csim_tree_link_pose(w, id, k, &pose);
                at = csim_add(pose.position, vector(0.2));
                STATUS(csim_tree_add_link_force(w, id, k, at, vector(5), vector(1)), CSIM_OK);
            }
            STATUS(csim_body_add_force_at(w, id, vector(5), vector(0.3)), CSIM_OK);
            STATUS(csim_tree_get_state(w, id, NULL, rate[0]), CSIM_OK);
            csim_tree_link_pose(w, id, 4, &pose); /* the axis where the step begins */
            STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
            if (csim_world_stats(w).stopped > 0) continue;
            STATUS(csim_tree_get_state(w, id, NULL, rate[1]), CSIM_OK);
            STATUS(csim_tree_get_reaction(w, id, 0, &force, &torque), CSIM_OK);
            *worst = fmax(*worst, fmax((double)csim_length(force), (double)csim_length(torque)));
            STATUS(csim_tree_get_reaction(w, id, 4, &force, &torque), CSIM_OK);
            largest = fmax(largest, (double)csim_length(force));
            STATUS(csim_tree_get_effort(w, id, 4, &drive, &limit), CSIM_OK);
            STATUS(csim_tree_link_place(w, id, 4, NULL, &place, NULL), CSIM_OK);
            if (run % 3) /* where a gear gives nothing; of midpoint worlds rates are those of the middle */
                along = fmax(along, fabs((double)csim_dot(torque, csim_rotate(pose.rotation, axis)) - (double)drive +
                                         0.1 * (double)(run % 3 == 2 ? (rate[0][place] + rate[1][place]) / 2
                                                                     : rate[1][place])));
        }
        csim_destroy_world(w);
    }
    printf("    of up to %.3g N: off by %.2g, rows of the middle by %.2g, along an axis by %.2g\n", largest, off[0], off[1],
           along);
    FIGURE("reaction_off", off[0]);
    CHECK(off[0] < TOL(1e-6, 2)); /* float: its rounding, of up to 5000 N */
    CHECK(off[1] < 2);            /* to first order in h */
    CHECK(along < TOL(1e-6, 0.5));
}

/* A beam of two links fixed to the world, by statics; and two links fixed to each other that fly and spin, against two
   rigid bodies welded there. */
TEST(reactions_of_fixed_links) {
    csim_tree_link_def link[3];
    csim_tree_def d = csim_default_tree_def();
    csim_rigid_def r = csim_default_rigid_def();
    csim_joint_def j = csim_default_joint_def();
    csim_joint_state weld;
    csim_world *w = make_world(csim_v3(0, 0, -10), CSIM_BACKWARD_EULER);
    csim_vec3 force, torque;
    csim_body_id id, body[2];
    csim_link_id made;
    const double h = TOL(1e-4, 5e-3); /* float: the weld's rows round positions of 1 m over h^2 */
    double scale;
    int i;
    for (i = 0; i < 3; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i - 1;
        link[i].joint = CSIM_TREE_FIXED;
        link[i].mass = (csim_real)(4 - i);
        link[i].centre = csim_v3(CSIM_R(0.25) * (csim_real)(3 - i), 0, 0);
        link[i].frame.position = csim_v3(i == 2, 0, 0);
    }
    d.links = link;
    d.link_count = 3;
    d.reactions = true;
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    STATUS(csim_tree_add_link_force(w, id, 2, csim_v3(2, 0, 0), csim_v3(0, 5, 0), csim_v3(1, 0, 0)), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    STATUS(csim_tree_get_reaction(w, id, 1, &force, &torque), CSIM_OK);
    NEAR(force.x, 0, TOL(1e-12, 1e-5)); /* rounding */
    NEAR(force.y, -5, TOL(1e-12, 1e-5));
    NEAR(force.z, 50, TOL(1e-12, 1e-4));
    NEAR(torque.x, -1, TOL(1e-12, 1e-5));
    NEAR(torque.y, -(3 * 0.5 + 2 * 1.25) * 10, TOL(1e-12, 1e-4));
    NEAR(torque.z, -10, TOL(1e-12, 1e-5));
    STATUS(csim_tree_get_reaction(w, id, 2, NULL, &torque), CSIM_OK);
    NEAR(torque.y, -2 * 0.25 * 10, TOL(1e-12, 1e-5));
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK); /* the push was for one step */
    STATUS(csim_tree_get_reaction(w, id, 2, &force, NULL), CSIM_OK);
    NEAR(force.y, 0, TOL(1e-12, 1e-5));
    STATUS(csim_destroy_body(w, id), CSIM_OK);

    link[0].joint = CSIM_TREE_FLOATING;
    for (i = 0; i < 2; i++) {
        link[i].inertia = r.inertia = some_inertia(0.3);
        link[i].frame.position = csim_v3(i, 0, 0);
        r.mass = link[i].mass;
        r.centre = link[i].centre;
        r.pose.position = csim_v3((csim_real)i, 0, 0);
        r.angular_velocity = csim_v3(1, -2, 3);
        r.velocity = csim_cross(r.angular_velocity, csim_add(r.pose.position, r.centre));
        STATUS(csim_create_rigid(w, &r, body + i), CSIM_OK);
    }
    d.link_count = 2;
    d.angular_velocity = csim_v3(1, -2, 3);
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    j.kind = CSIM_JOINT_WELD;
    j.a.body = body[1];
    j.b.body = body[0];
    j.a.point = j.b.point = csim_v3(1, 0, 0);
    STATUS(csim_create_joint(w, &j, &made), CSIM_OK);
    for (i = 1; i < TOL(3000, 100); i++) {
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        if (i % 20) continue;
        STATUS(csim_tree_get_reaction(w, id, 1, &force, &torque), CSIM_OK);
        STATUS(csim_joint_get(w, made, &weld), CSIM_OK);
        scale = 1 + (double)csim_length(weld.force); /* of first order in h */
        CHECK(scale > 5);
        NEAR((double)csim_length(csim_sub(force, weld.force)) / scale, 0, TOL(2e-3, 0.2));
        NEAR((double)csim_length(csim_sub(torque, weld.torque)) / scale, 0, TOL(2e-3, 0.2));
    }
    EQUAL(csim_tree_get_reaction(w, id, 2, &force, NULL), CSIM_OUT_OF_RANGE);
    EQUAL(csim_tree_get_reaction(w, body[0], 0, &force, NULL), CSIM_WRONG_KIND);
    d.reactions = false;
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    EQUAL(csim_tree_get_reaction(w, id, 1, &force, NULL), CSIM_WRONG_KIND);
    csim_destroy_world(w);
}

TEST(an_impulse_at_a_link_changes_all_rates) {
    int root, k, i, j;
    for (root = 0; root < (int)(sizeof roots / sizeof roots[0]); root++) {
        robot r = make_robot(roots[root], 9, csim_v3(0, 0, -9));
        const int n = r.rates;
        csim_real M[60 * 60], J[3 * 60], before[60], after[60];
        csim_vec3 p = csim_v3(CSIM_R(0.3), CSIM_R(-0.8), CSIM_R(0.5)), at = csim_v3(CSIM_R(0.2), CSIM_R(0.1), 1);
        double largest = 0;
        REQUIRE(n <= 60);
        for (k = 0; k < r.links; k++) {
            CASE("root %d, link %d", root, k);
            STATUS(csim_tree_mass_matrix(r.w, r.id, M), CSIM_OK);
            STATUS(csim_tree_jacobian(r.w, r.id, k, at, J), CSIM_OK);
            STATUS(csim_tree_get_state(r.w, r.id, NULL, before), CSIM_OK);
            STATUS(csim_tree_add_link_impulse(r.w, r.id, k, at, p), CSIM_OK);
            STATUS(csim_tree_get_state(r.w, r.id, NULL, after), CSIM_OK);
            for (i = 0; i < n; i++) {
                double sum = 0;
                for (j = 0; j < n; j++) sum += (double)M[n * i + j] * (double)(after[j] - before[j]);
                NEAR(sum, J[i] * p.x + J[n + i] * p.y + J[2 * n + i] * p.z, TOL(1e-11, 1e-3));
                largest = fmax(largest, fabs((double)(after[i] - before[i])));
            }
        }
        CHECK(largest > 0.01);
        STATUS(csim_tree_add_link_impulse(r.w, r.id, r.links, at, p), CSIM_OUT_OF_RANGE);
        STATUS(csim_tree_add_link_impulse(r.w, r.id, 0, at, csim_v3(CSIM_R(NAN), 0, 0)), CSIM_NOT_FINITE);
        csim_destroy_world(r.w);
    }
}

/* What a joint is given while the world runs is what it would have been made with. */
TEST(joints_of_trees_are_changed_while_they_move) {
    static const int later[2] = {0, 1};
    double q[2], rate[2];
    int k, i;
    for (k = 0; k < 2; k++) {
        pendulum p = make_pendulum(later[k] ? NULL : limited, 10);
        if (later[k]) {
            csim_real start = CSIM_R(0.2), speed = 5;
            STATUS(csim_tree_set_state(p.w, p.id, &start, &speed), CSIM_OK);
            STATUS(csim_tree_set_limits(p.w, p.id, 0, CSIM_R(-0.5), CSIM_R(0.3)), CSIM_OK);
        }
        STATUS(csim_tree_set_friction(p.w, p.id, 0, CSIM_R(0.2), CSIM_R(0.3)), CSIM_OK);
        for (i = 0; i < 40; i++) STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
        q[k] = angle_of(&p, rate + k);
        CHECK(fabs(q[k]) > 0.1 && q[k] < 0.3 + TOL(1e-9, 1e-5));
        STATUS(csim_tree_set_limits(p.w, p.id, 0, 1, -1), CSIM_OK); /* none: it swings through */
        STATUS(csim_tree_set_state(p.w, p.id, NULL, (csim_real[]){5}), CSIM_OK);
        for (i = 0; i < 100; i++) STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
        CHECK(angle_of(&p, NULL) > 0.4);
        STATUS(csim_tree_set_friction(p.w, p.id, 0, 0, 1000), CSIM_OK); /* stuck */
        for (i = 0; i < 3; i++) STATUS(csim_world_step(p.w, CSIM_R(1e-3)), CSIM_OK);
        angle_of(&p, rate + k);
        NEAR(rate[k], 0, TOL(1e-9, 1e-5));
        STATUS(csim_tree_set_friction(p.w, p.id, 0, -1, 0), CSIM_OUT_OF_RANGE);
        STATUS(csim_tree_set_limits(p.w, p.id, 0, CSIM_R(NAN), 0), CSIM_NOT_FINITE);
        csim_destroy_world(p.w);
    }
    NEAR(q[0], q[1], TOL(1e-12, 1e-6));
}

/* Five links whose dry friction makes a row each, in a fixed block: one row too few is refused and changes nothing; as
   many as are needed, which csim_world_used tells, step as a world on the heap does. */
TEST(rows_of_joints_in_a_fixed_block) {
    csim_tree_link_def link[5];
    csim_tree_def d = csim_default_tree_def();
    csim_world_def def = csim_default_world_def();
    csim_world *w[3];
    uint64_t hash, heap;
    void *block;
    size_t bytes;
    int i, k, rows;
    for (i = 0; i < 5; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i - 1;
        link[i].joint = CSIM_TREE_REVOLUTE;
        link[i].axis = csim_v3(0, 1, CSIM_R(0.1) * (csim_real)i);
        link[i].frame.position = csim_v3(CSIM_R(0.2), 0, 0);
        link[i].mass = 1;
        link[i].centre = csim_v3(CSIM_R(0.1), 0, 0);
        link[i].friction = CSIM_R(0.3);
        link[i].rate = (csim_real)(i - 2);
    }
    d.links = link;
    d.link_count = 5;
    for (k = 0; k < 3; k++) { /* the heap, enough, too few */
        csim_body_id id;
        rows = k ? 6 - k : 1;
        def.capacity.bodies = def.capacity.trees = 1;
        def.capacity.tree_links = 5;
        def.capacity.coords = 4;
        def.capacity.tree_rows = rows;
        block = NULL;
        if (k == 0) {
            STATUS(csim_create_world(&def, w, NULL), CSIM_OK);
        } else {
            STATUS(csim_world_bytes(&def, &bytes, NULL), CSIM_OK);
            REQUIRE((block = malloc(bytes + 64)) != NULL);
            STATUS(csim_create_world_in(&def, (char *)block + (64 - (size_t)block % 64), bytes, w + k, NULL), CSIM_OK);
            EQUAL(csim_world_capacity(w[k]).tree_rows, rows);
        }
        STATUS(csim_create_tree(w[k], &d, &id), CSIM_OK);
        hash = csim_world_hash(w[k]);
        for (i = 0; i < (k < 2 ? 20 : 1); i++)
            STATUS(csim_world_step(w[k], CSIM_R(0.01)), k < 2 ? CSIM_OK : CSIM_CAPACITY);
        EQUAL(csim_world_used(w[k]).tree_rows, 5);
        if (k == 0) {
            heap = csim_world_hash(w[0]);
            CHECK(heap != hash);
        } else if (k == 1) {
            CHECK(csim_world_hash(w[1]) == heap);
        } else {
            CHECK(strstr(csim_last_error(w[2]), "tree_rows") != NULL);
            CHECK(csim_world_hash(w[2]) == hash);
        }
        csim_destroy_world(w[k]);
        free(block);
    }
}
