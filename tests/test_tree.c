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
        NEAR(csim_world_totals(r.w).kinetic / energy, 1, TOL(1e-12, 1e-5));
        csim_destroy_world(r.w);
    }
}

/* Principle of virtual power with accelerations from differences of the links' velocities: joint force k is the power of
   inertia and weight in the motion that a unit of rate k makes. */
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
        for (k = 0; k < r.rates; k++) NEAR((double)force[k] / size, wanted[k] / size, TOL(1e-8, 2e-2));
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
