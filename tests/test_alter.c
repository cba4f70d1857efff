/* Bodies and shapes changed while a world runs, against exact motions and conserved quantities. */
#include "check.h"
#include "../amalgamate/parts/world/alter.h"
#include "../examples/modes/modes.h"
#include <math.h>

static csim_world *empty_world(double gravity) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    def.gravity = csim_v3(0, 0, (csim_real)-gravity);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    return w;
}

static csim_body_id put(csim_world *w, const csim_shape *shapes, int count, csim_vec3 at, csim_motion motion) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id;
    d.shapes = shapes;
    d.shape_count = count;
    d.pose.position = at;
    d.motion = motion;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

static csim_vec3 draw(double size) {
    return csim_v3((csim_real)check_random(-size, size), (csim_real)check_random(-size, size),
                   (csim_real)check_random(-size, size));
}

static csim_quat draw_turn(double most) {
    return csim_quat_axis_angle(csim_add(draw(1), csim_v3(0, 0, CSIM_R(0.01))), (csim_real)check_random(-most, most));
}

/* An impulse J at x changes momentum by J and angular momentum about the origin by x cross J; a force F h. */
TEST(pushes_at_points) {
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.2), CSIM_R(0.3)));
    csim_world *w = empty_world(0);
    csim_particle_def pd = csim_default_particle_def();
    csim_body_id id = put(w, &box, 1, csim_v3(1, 2, 3), CSIM_DYNAMIC), particle;
    csim_vec3 v, J, x, L;
    csim_totals before, after;
    int i;
    for (i = 0; i < 20; i++) {
        csim_pose pose;
        pose.position = draw(2);
        pose.rotation = draw_turn(3);
        STATUS(csim_body_set_pose(w, id, pose), CSIM_OK);
        STATUS(csim_body_set_velocity(w, id, draw(1), i % 2 ? draw(3) : csim_v3(0, 0, 0)), CSIM_OK);
        J = draw(100), x = csim_add(pose.position, draw(0.3));
        before = csim_world_totals(w);
        if (i % 2) {
            STATUS(csim_body_add_impulse_at(w, id, J, x), CSIM_OK);
        } else { /* turns little in 1e-6 s */
            STATUS(csim_body_add_force_at(w, id, csim_scale(CSIM_R(1e6), J), x), CSIM_OK);
            STATUS(csim_body_set_velocity(w, id, csim_v3(0, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
            before = csim_world_totals(w);
            STATUS(csim_world_step(w, CSIM_R(1e-6)), CSIM_OK);
        }
        after = csim_world_totals(w);
        L = csim_cross(x, J);
        NEAR(after.momentum[0] - before.momentum[0], (double)J.x, TOL(1e-9, 1e-3));
        NEAR(after.momentum[1] - before.momentum[1], (double)J.y, TOL(1e-9, 1e-3));
        NEAR(after.momentum[2] - before.momentum[2], (double)J.z, TOL(1e-9, 1e-3));
        /* the step moved the centre by h v: 1e-6 of its momentum */
        NEAR(after.angular_momentum[0] - before.angular_momentum[0], (double)L.x, i % 2 ? TOL(1e-9, 2e-3) : 1e-2);
        NEAR(after.angular_momentum[1] - before.angular_momentum[1], (double)L.y, i % 2 ? TOL(1e-9, 2e-3) : 1e-2);
        NEAR(after.angular_momentum[2] - before.angular_momentum[2], (double)L.z, i % 2 ? TOL(1e-9, 2e-3) : 1e-2);
    }
    pd.mass = 2, pd.position = csim_v3(9, 0, 0);
    for (i = 0; i < 2; i++) { /* the second has a speed of its own, which stays */
        pd.velocity = csim_v3(0, (csim_real)(3 * i), 0);
        STATUS(csim_create_particle(w, &pd, &particle), CSIM_OK);
        STATUS(csim_body_add_impulse_at(w, particle, csim_v3(4, 0, 0), csim_v3(1, 1, 1)), CSIM_OK);
        csim_body_get_velocity(w, particle, &v, NULL);
        NEAR((double)v.x, 2, 1e-6);
        NEAR((double)v.y, 3 * i, 1e-6);
    }
    STATUS(csim_body_set_motion(w, id, CSIM_STATIC), CSIM_OK);
    STATUS(csim_body_add_impulse_at(w, id, J, x), CSIM_OK);
    csim_body_get_velocity(w, id, &v, NULL);
    CHECK(!(csim_length(v) > 0));
    csim_destroy_world(w);
}

/* A velocity and a spin given to a solid and a cable are those of every node, about the mean of the nodes. */
TEST(nodes_turn_with_their_body) {
    static const csim_real vertex[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int tet[4] = {0, 1, 2, 3};
    const double u[3] = {1, -2, 3}, spin[3] = {0.5, 2, -1};
    csim_world *w = empty_world(0);
    csim_soft_def soft = csim_default_soft_def();
    csim_cable_def cable = csim_default_cable_def();
    csim_body_id id[3];
    int k, i, c;
    soft.vertices = vertex;
    soft.vertex_count = 4;
    soft.tets = tet;
    soft.tet_count = 1;
    for (k = 0; k < 2; k++) {
        soft.pose.position = csim_v3((csim_real)(3 * k), 0, 0);
        STATUS(csim_create_soft(w, &soft, id + k), CSIM_OK);
    }
    cable.start = csim_v3(0, 3, 0);
    cable.end = csim_v3(1, 3, 1);
    cable.segments = 6;
    STATUS(csim_create_cable(w, &cable, id + 2), CSIM_OK);
    for (k = 0; k < 3; k++) {
        csim_real x[21], v[21];
        double mean[3] = {0, 0, 0};
        const int n = csim_body_node_count(w, id[k]);
        CASE("body %d", k);
        REQUIRE(n > 0 && n <= 7);
        STATUS(csim_body_set_velocity(w, id[k], csim_v3(1, -2, 3), csim_v3(CSIM_R(0.5), 2, -1)), CSIM_OK);
        STATUS(csim_body_get_nodes(w, id[k], x, 3), CSIM_OK);
        STATUS(csim_body_get_node_velocities(w, id[k], v, 3), CSIM_OK);
        for (i = 0; i < 3 * n; i++) mean[i % 3] += (double)x[i] / n;
        for (i = 0; i < n; i++)
            for (c = 0; c < 3; c++) {
                const int a = (c + 1) % 3, b = (c + 2) % 3;
                const double p = (double)x[3 * i + a] - mean[a], q = (double)x[3 * i + b] - mean[b];
                NEAR(v[3 * i + c], u[c] + spin[a] * q - spin[b] * p, TOL(1e-13, 1e-5));
            }
    }
    csim_destroy_world(w);
}

/* Free fall under scaled gravity, and the decay of damping, step by step. */
TEST(gravity_and_damping) {
    const csim_shape ball = csim_sphere(CSIM_R(0.1));
    const double scale[4] = {1, 0, -1, 2.5}, h = 0.01, d = 3;
    csim_world *w = empty_world(10);
    csim_body_id id[8];
    csim_particle_def pd = csim_default_particle_def();
    csim_real got;
    int i, k;
    for (i = 0; i < 4; i++) {
        id[i] = put(w, &ball, 1, csim_v3((csim_real)i, 0, 0), CSIM_DYNAMIC);
        pd.position = csim_v3((csim_real)i, 5, 0);
        STATUS(csim_create_particle(w, &pd, id + 4 + i), CSIM_OK);
    }
    for (i = 0; i < 8; i++) {
        STATUS(csim_body_get_gravity_scale(w, id[i], &got), CSIM_OK);
        NEAR((double)got, 1, 0);
        STATUS(csim_body_set_gravity_scale(w, id[i], (csim_real)scale[i % 4]), CSIM_OK);
        STATUS(csim_body_get_gravity_scale(w, id[i], &got), CSIM_OK);
        NEAR((double)got, scale[i % 4], 1e-7);
    }
    for (k = 1; k <= 20; k++) {
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        for (i = 0; i < 8; i++) {
            csim_vec3 v;
            csim_body_get_velocity(w, id[i], &v, NULL);
            NEAR((double)v.z, -10 * scale[i % 4] * h * k, TOL(1e-12, 1e-5));
        }
    }
    for (i = 0; i < 8; i++) {
        STATUS(csim_body_set_gravity_scale(w, id[i], 0), CSIM_OK);
        STATUS(csim_body_set_velocity(w, id[i], csim_v3(1, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
        STATUS(csim_body_set_damping(w, id[i], (csim_real)d, 0), CSIM_OK);
    }
    for (k = 1; k <= 10; k++) STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
    for (i = 0; i < 8; i++) {
        csim_vec3 v;
        csim_body_get_velocity(w, id[i], &v, NULL);
        NEAR((double)v.x, pow(1 + h * d, -10), TOL(1e-12, 1e-5)); /* backward Euler */
    }
    csim_destroy_world(w);
}

/* ---- pushes at points of every kind of body */

enum { SOLID, SHEET, CABLE, TREE, REDUCED, HELD, KINDS };
static csim_modes *bar_modes[2]; /* free, and held at an end */

/* A bar of 3 x 1 x 1 cells of six tets, 16 vertices. */
static csim_real bar_x[48];
static int bar_tet[72];

static void make_bar(void) {
    static const int path[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int step[3] = {4, 2, 1}, held[4] = {0, 1, 2, 3};
    modes_def d = modes_default();
    csim_error error;
    int i, p, k, n = 0;
    for (i = 0; i < 16; i++) {
        bar_x[3 * i] = (csim_real)(i / 4) * CSIM_R(0.2) - CSIM_R(0.3);
        bar_x[3 * i + 1] = (csim_real)(i / 2 % 2) * CSIM_R(0.2);
        bar_x[3 * i + 2] = (csim_real)(i % 2) * CSIM_R(0.15);
    }
    for (i = 0; i < 3; i++)
        for (p = 0; p < 6; p++, n++) {
            int *t = bar_tet + 4 * n, hold;
            t[0] = 4 * i;
            for (k = 0; k < 3; k++) t[k + 1] = t[k] + step[path[p][k]];
            if (p == 1 || p == 2 || p == 5) hold = t[1], t[1] = t[2], t[2] = hold;
        }
    d.vertices = bar_x;
    d.vertex_count = 16;
    d.tets = bar_tet;
    d.tet_count = 18;
    d.modes = 4;
    d.derivatives = 2;
    STATUS(modes_create(&d, NULL, bar_modes, &error), CSIM_OK);
    d.fixed = held;
    d.fixed_count = 4;
    STATUS(modes_create(&d, NULL, bar_modes + 1, &error), CSIM_OK);
}

static csim_body_id make_kind(csim_world *w, int kind) {
    static const int sheet[12] = {0, 2, 3, 0, 3, 1, 2, 4, 5, 2, 5, 3};
    static csim_shape shape[3];
    csim_tree_link_def link[3];
    csim_soft_def soft = csim_default_soft_def();
    csim_cloth_def cloth = csim_default_cloth_def();
    csim_cable_def cable = csim_default_cable_def();
    csim_tree_def tree = csim_default_tree_def();
    csim_reduced_def reduced = csim_default_reduced_def();
    csim_real x[18];
    csim_body_id id;
    int i;
    memset(&id, 0, sizeof id);
    if (kind == SOLID) {
        soft.vertices = bar_x;
        soft.vertex_count = 16;
        soft.tets = bar_tet;
        soft.tet_count = 18;
        soft.stiffness_damping = 0;
        STATUS(csim_create_soft(w, &soft, &id), CSIM_OK);
    } else if (kind == SHEET) {
        for (i = 0; i < 6; i++) {
            x[3 * i] = (csim_real)(i / 2) * CSIM_R(0.3) - CSIM_R(0.3);
            x[3 * i + 1] = (csim_real)(i % 2) * CSIM_R(0.2);
            x[3 * i + 2] = (csim_real)(i % 4) * CSIM_R(0.02);
        }
        cloth.vertices = x;
        cloth.vertex_count = 6;
        cloth.triangles = sheet;
        cloth.triangle_count = 4;
        cloth.stiffness_damping = 0;
        STATUS(csim_create_cloth(w, &cloth, &id), CSIM_OK);
    } else if (kind == CABLE) {
        cable.start = csim_v3(CSIM_R(-0.3), 0, 0);
        cable.end = csim_v3(CSIM_R(0.3), CSIM_R(0.1), 0);
        cable.segments = 4;
        cable.radius = CSIM_R(0.05);
        STATUS(csim_create_cable(w, &cable, &id), CSIM_OK);
    } else if (kind == TREE) {
        for (i = 0; i < 3; i++) {
            link[i] = csim_default_tree_link_def();
            shape[i] = i == 1 ? csim_capsule(CSIM_R(0.06), CSIM_R(0.08))
                              : csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.07), CSIM_R(0.05)));
            link[i].shapes = shape + i;
            link[i].shape_count = 1;
            link[i].parent = i - 1;
            link[i].joint = i == 0 ? CSIM_TREE_FLOATING : i == 1 ? CSIM_TREE_BALL : CSIM_TREE_REVOLUTE;
            link[i].frame.position = csim_v3(i ? CSIM_R(0.25) : CSIM_R(-0.2), 0, 0);
            link[i].armature = i == 2 ? CSIM_R(0.01) : 0;
        }
        tree.links = link;
        tree.link_count = 3;
        tree.pose.position = csim_v3(CSIM_R(-0.2), 0, 0);
        STATUS(csim_create_tree(w, &tree, &id), CSIM_OK);
    } else {
        reduced.modes = bar_modes[kind == HELD];
        reduced.stiffness_damping = 0;
        STATUS(csim_create_reduced(w, &reduced, &id), CSIM_OK);
    }
    return id;
}

/* All that moves of a body, at most 100 numbers. */
static int motion_of(const csim_world *w, csim_body_id id, int kind, double *out) {
    csim_real v[120];
    csim_vec3 a, b;
    int i, n = 0, rates = 0;
    if (kind == TREE) {
        STATUS(csim_tree_sizes(w, id, NULL, NULL, &n), CSIM_OK);
        STATUS(csim_tree_get_state(w, id, NULL, v), CSIM_OK);
    } else {
        n = 3 * csim_body_node_count(w, id);
        STATUS(csim_body_get_node_velocities(w, id, v, 3), CSIM_OK);
    }
    for (i = 0; i < n; i++) out[i] = (double)v[i];
    if (kind == CABLE) {
        STATUS(csim_cable_get_spins(w, id, v, 3), CSIM_OK);
        for (i = 0; i < 12; i++) out[n++] = (double)v[i] * 0.05; /* m/s at the surface */
    }
    if (kind == REDUCED || kind == HELD) {
        STATUS(csim_reduced_get_state(w, id, NULL, v), CSIM_OK);
        rates = (int)(kind == REDUCED ? bar_modes[0] : bar_modes[1])->modes;
        for (i = 0; i < rates; i++) out[n++] = (double)v[i];
        csim_body_get_velocity(w, id, &a, &b);
        out[n++] = (double)a.x, out[n++] = (double)a.y, out[n++] = (double)b.z;
    }
    return n;
}

/* Velocity of what of the body is nearest to a point, by what queries and getters tell; *at: where that is. */
static csim_vec3 speed_at(const csim_world *w, csim_body_id id, int kind, csim_vec3 point, csim_vec3 *at) {
    csim_real x[60], v[60], spin[12];
    csim_vec3 sum = csim_v3(0, 0, 0), on = sum;
    const int *triangle = NULL;
    csim_query_hit hit;
    int i, count = 0;
    memset(&hit, 0, sizeof hit);
    CHECK(csim_world_closest_point(w, NULL, point, 10, &hit));
    *at = kind == TREE || (kind == CABLE && hit.distance < 0) ? point : hit.point;
    if (kind == TREE) {
        STATUS(csim_tree_link_velocity(w, id, hit.link, point, &sum, NULL), CSIM_OK);
        return sum;
    }
    STATUS(csim_body_get_nodes(w, id, x, 3), CSIM_OK);
    STATUS(csim_body_get_node_velocities(w, id, v, 3), CSIM_OK);
    if (kind != CABLE) STATUS(csim_body_surface(w, id, &triangle, &count), CSIM_OK);
    for (i = 0; i < (kind == CABLE ? 2 : 3); i++) {
        const int node = 3 * (kind == CABLE ? hit.index + i : triangle[3 * hit.index + i]);
        sum = csim_madd(sum, hit.weight[i], csim_v3(v[node], v[node + 1], v[node + 2]));
        on = csim_madd(on, hit.weight[i], csim_v3(x[node], x[node + 1], x[node + 2]));
    }
    if (kind != CABLE) return sum;
    STATUS(csim_cable_get_spins(w, id, spin, 3), CSIM_OK);
    return csim_add(sum, csim_cross(csim_v3(spin[3 * hit.index], spin[3 * hit.index + 1], spin[3 * hit.index + 2]),
                                    csim_sub(*at, on)));
}

/* An impulse J at what is nearest to a point changes momentum by J, angular momentum by x cross J, and the energy by J
   times the mean of the velocities there before and after: of the velocities that do the first two, only M^-1 J' does
   the last. A force F for h does what F h does. */
TEST(pushes_at_points_of_every_kind) {
    int kind, i, k, c, n;
    make_bar();
    for (kind = 0; kind < KINDS; kind++)
        for (i = 0; i < 24; i++) {
            const bool force = i % 3 == 2;
            const csim_real h = CSIM_R(1e-6);
            csim_world *w[2];
            csim_body_id id[2];
            csim_totals before, after;
            csim_real rate[20];
            csim_vec3 at, u[2], J = draw(2), L, x = draw(0.4);
            double got[2][120], largest = 0;
            if (kind == HELD) x.x = CSIM_R(0.35); /* the other end does not move */
            CASE("kind %d, push %d", kind, i);
            for (k = 0; k < 2; k++) {
                w[k] = empty_world(0);
                id[k] = make_kind(w[k], kind);
            }
            if (!force) {
                if (kind != HELD && kind != TREE)
                    STATUS(csim_body_set_velocity(w[0], id[0], draw(1), draw(1)), CSIM_OK);
                for (k = 0; k < 20; k++) rate[k] = (csim_real)check_random(-1, 1);
                if (kind == TREE) STATUS(csim_tree_set_state(w[0], id[0], NULL, rate), CSIM_OK);
                if (kind >= REDUCED) {
                    csim_real q[20];
                    for (k = 0; k < 20; k++) q[k] = (csim_real)check_random(-0.1, 0.1);
                    STATUS(csim_reduced_set_state(w[0], id[0], q, rate), CSIM_OK);
                }
                u[0] = speed_at(w[0], id[0], kind, x, &at);
                before = csim_world_totals(w[0]);
                STATUS(csim_body_add_impulse_at(w[0], id[0], J, x), CSIM_OK);
                after = csim_world_totals(w[0]);
                u[1] = speed_at(w[0], id[0], kind, x, &at);
                L = csim_cross(at, J);
                for (c = 0; c < 3 && kind != HELD; c++) {
                    const double p = (double)(c == 0 ? J.x : c == 1 ? J.y : J.z);
                    const double l = (double)(c == 0 ? L.x : c == 1 ? L.y : L.z);
                    NEAR(after.momentum[c] - before.momentum[c], p, TOL(1e-10, 1e-3));
                    NEAR(after.angular_momentum[c] - before.angular_momentum[c], l, TOL(1e-10, 1e-3));
                }
                NEAR((after.kinetic - before.kinetic) / (1 + after.kinetic),
                     (double)csim_dot(J, csim_add(u[0], u[1])) / 2 / (1 + after.kinetic), TOL(1e-10, 1e-4));
                CHECK(csim_dot(J, u[1]) > csim_dot(J, u[0]));
            } else {
                STATUS(csim_body_add_force_at(w[0], id[0], csim_scale(1 / h, J), x), CSIM_OK);
                STATUS(csim_body_add_impulse_at(w[1], id[1], J, x), CSIM_OK);
                for (k = 0; k < 2; k++) {
                    STATUS(csim_world_step(w[k], h), CSIM_OK);
                    n = motion_of(w[k], id[k], kind, got[k]);
                }
                for (k = 0; k < n; k++) largest = fmax(largest, fabs(got[1][k]));
                CHECK(largest > 0.01);
                for (k = 0; k < n; k++) NEAR(got[0][k] / largest, got[1][k] / largest, TOL(1e-3, 5e-3));
            }
            /* it lasts one step */
            if (force) {
                STATUS(csim_world_step(w[0], h), CSIM_OK);
                motion_of(w[0], id[0], kind, got[1]);
                for (k = 0; k < n; k++) NEAR(got[0][k] / largest, got[1][k] / largest, TOL(1e-3, 5e-3));
            }
            /* what stands does not move, a single node neither */
            if (kind < TREE) {
                csim_real v[60], at_node[60];
                STATUS(csim_body_set_node_motion(w[1], id[1], 1, CSIM_STATIC), CSIM_OK);
                STATUS(csim_body_get_nodes(w[1], id[1], at_node, 3), CSIM_OK);
                STATUS(csim_body_add_impulse_at(w[1], id[1], J, csim_v3(at_node[3], at_node[4], at_node[5])), CSIM_OK);
                STATUS(csim_body_get_node_velocities(w[1], id[1], v, 3), CSIM_OK);
                for (c = 0; c < 3; c++) NEAR((double)v[3 + c], 0, 0);
            }
            STATUS(csim_body_set_motion(w[1], id[1], CSIM_STATIC), CSIM_OK);
            n = motion_of(w[1], id[1], kind, got[0]);
            STATUS(csim_body_add_impulse_at(w[1], id[1], J, x), CSIM_OK);
            STATUS(csim_body_add_impulse_at(w[1], id[1], csim_v3((csim_real)NAN, 0, 0), x), CSIM_NOT_FINITE);
            STATUS(csim_body_add_force_at(w[1], id[1], J, csim_v3(0, (csim_real)NAN, 0)), CSIM_NOT_FINITE);
            motion_of(w[1], id[1], kind, got[1]);
            for (k = 0; k < n; k++) NEAR(got[0][k], got[1][k], 0);
            for (k = 0; k < 2; k++) csim_destroy_world(w[k]);
        }
    for (k = 0; k < 2; k++) modes_destroy(bar_modes[k], NULL);
}

/* Nodes of a body and the turns of the edges of a cable: all that a rigid motion takes along. */
static int place_of(const csim_world *w, csim_body_id id, int kind, csim_real *x) {
    int n = 3 * csim_body_node_count(w, id);
    STATUS(csim_body_get_nodes(w, id, x, 3), CSIM_OK);
    if (kind != CABLE) return n;
    STATUS(csim_cable_get_frames(w, id, x + n, 4), CSIM_OK);
    return n + 16;
}

/* Bodies of nodes take poses, velocities, torques and masses as rigid ones do: a pose keeps all lengths and strains and
   is told again, a torque is the change of angular momentum, mass and inertia are those of the kinetic energy. */
TEST(bodies_of_nodes_move_as_one_piece) {
    int kind, i, k, c, n;
    make_bar();
    for (i = 0; i < 20; i++) { /* a particle has no turn, wherever it is */
        csim_world *w = empty_world(0);
        csim_particle_def d = csim_default_particle_def();
        csim_body_id id;
        csim_vec3 v, turn;
        csim_mass m;
        d.position = draw(1), d.velocity = draw(3), d.mass = (csim_real)check_random(0.1, 3);
        STATUS(csim_create_particle(w, &d, &id), CSIM_OK);
        STATUS(csim_body_get_velocity(w, id, &v, &turn), CSIM_OK);
        STATUS(csim_body_get_mass(w, id, &m), CSIM_OK);
        CHECK(csim_length(turn) == 0 && m.inertia.m[0] == 0 && m.inertia.m[4] == 0 && m.inertia.m[8] == 0);
        NEAR((double)csim_length(csim_sub(v, d.velocity)), 0, TOL(1e-14, 1e-6));
        STATUS(csim_body_add_force(w, id, draw(1), draw(1)), CSIM_WRONG_KIND);
        csim_destroy_world(w);
    }
    for (kind = 0; kind < TREE; kind++)
        for (i = 0; i < 20; i++) {
            const csim_real h = CSIM_R(1e-6);
            csim_world *w = empty_world(0);
            csim_body_id id = make_kind(w, kind);
            csim_vec3 force = draw(2), torque = draw(2), u = draw(2), spin = draw(3), v, turn, at;
            csim_totals t, later;
            csim_pose pose, to, got;
            csim_mass m, twice;
            csim_real x[80], y[80], I[3];
            CASE("kind %d, draw %d", kind, i);
            if (kind == SHEET || kind == CABLE) { /* strained, that turns of parts are seen */
                n = place_of(w, id, kind, x);
                STATUS(csim_body_set_node(w, id, 1, csim_add(csim_v3(x[3], x[4], x[5]), draw(0.02)), draw(0)), CSIM_OK);
            }
            n = place_of(w, id, kind, x);
            STATUS(csim_body_get_pose(w, id, &pose), CSIM_OK);
            to.position = draw(3);
            to.rotation = draw_turn(3);
            t = csim_world_totals(w);
            STATUS(csim_body_set_pose(w, id, to), CSIM_OK);
            later = csim_world_totals(w);
            NEAR(later.elastic, t.elastic, TOL(1e-9, 2e-3) * (1 + t.elastic));
            STATUS(csim_body_get_pose(w, id, &got), CSIM_OK);
            NEAR((double)csim_length(csim_sub(got.position, to.position)), 0, TOL(1e-14, 2e-6));
            place_of(w, id, kind, y);
            for (k = 0; k < n && k < 3 * csim_body_node_count(w, id); k += 3) {
                v = csim_pose_point(to, csim_sub(csim_v3(x[k], x[k + 1], x[k + 2]), pose.position));
                NEAR((double)csim_length(csim_sub(v, csim_v3(y[k], y[k + 1], y[k + 2]))), 0, TOL(1e-14, 2e-6));
            }
            /* what a velocity gave is told again */
            STATUS(csim_body_set_velocity(w, id, u, spin), CSIM_OK);
            STATUS(csim_body_get_velocity(w, id, &v, &turn), CSIM_OK);
            NEAR((double)csim_length(csim_sub(v, u)), 0, TOL(1e-13, 1e-5));
            NEAR((double)csim_length(csim_sub(turn, spin)), 0, TOL(1e-10, 1e-3));
            STATUS(csim_body_get_end_velocity(w, id, &v, &turn), CSIM_OK);
            NEAR((double)csim_length(csim_sub(turn, spin)), 0, TOL(1e-10, 1e-3));
            STATUS(csim_body_get_mass(w, id, &m), CSIM_OK);
            for (c = 0; c < 3; c++)
                I[c] = m.inertia.m[3 * c] * spin.x + m.inertia.m[3 * c + 1] * spin.y + m.inertia.m[3 * c + 2] * spin.z;
            t = csim_world_totals(w);
            NEAR(t.mass, (double)m.mass, TOL(1e-13, 1e-6) * t.mass);
            NEAR(2 * t.kinetic, (double)(m.mass * csim_dot(u, u) + csim_dot(spin, csim_v3(I[0], I[1], I[2]))),
                 TOL(1e-12, 1e-5) * t.kinetic);
            /* twice the mass in the same place: twice the momenta */
            twice = m, twice.mass *= 2;
            STATUS(csim_body_set_mass(w, id, &twice), CSIM_OK);
            later = csim_world_totals(w);
            for (c = 0; c < 3; c++) {
                NEAR(later.momentum[c], 2 * t.momentum[c], TOL(1e-12, 1e-5) * (1 + t.mass));
                NEAR(later.angular_momentum[c], 2 * t.angular_momentum[c], TOL(1e-12, 1e-5) * (1 + 10 * t.mass));
            }
            STATUS(csim_body_set_mass(w, id, &m), CSIM_OK);
            twice.mass = (csim_real)TOL(1e-300, 1e-37);
            STATUS(csim_body_set_mass(w, id, &twice), CSIM_OUT_OF_RANGE);
            /* force and torque for one step */
            STATUS(csim_body_set_velocity(w, id, draw(0), draw(0)), CSIM_OK);
            STATUS(csim_body_set_pose(w, id, to), CSIM_OK);
            csim_body_get_pose(w, id, &got);
            at = got.position;
            STATUS(csim_body_add_force(w, id, csim_scale(1 / h, force), csim_scale(1 / h, torque)), CSIM_OK);
            STATUS(csim_world_step(w, h), CSIM_OK);
            later = csim_world_totals(w);
            v = csim_add(csim_cross(at, force), torque);
            for (c = 0; c < 3; c++) {
                NEAR(later.momentum[c], (double)(c == 0 ? force.x : c == 1 ? force.y : force.z), TOL(1e-6, 5e-3));
                NEAR(later.angular_momentum[c], (double)(c == 0 ? v.x : c == 1 ? v.y : v.z), TOL(2e-5, 1e-2));
            }
            csim_destroy_world(w);
        }
    for (k = 0; k < 2; k++) modes_destroy(bar_modes[k], NULL);
}

/* A straight cable that spins about itself: its nodes stand, the turns of its edges fall by 1 / (1 + h d) in a step. */
TEST(damping_of_a_spinning_cable) {
    const double h = 0.01, d = 3;
    csim_world *w = empty_world(0);
    csim_cable_def cable = csim_default_cable_def();
    csim_real frame[4 * 6], spin[3 * 6], linear = 5, angular = 5;
    csim_body_id id, other;
    int i, k;
    cable.end = csim_v3(1, 0, 0);
    cable.segments = 6;
    cable.mass_damping = 2;
    STATUS(csim_create_cable(w, &cable, &id), CSIM_OK);
    STATUS(csim_body_get_damping(w, id, &linear, &angular), CSIM_OK);
    NEAR((double)linear, 2, 0);
    NEAR((double)angular, 2, 0);
    STATUS(csim_body_set_damping(w, id, 1, (csim_real)d), CSIM_OK);
    STATUS(csim_body_get_damping(w, id, &linear, NULL), CSIM_OK);
    STATUS(csim_body_get_damping(w, id, NULL, &angular), CSIM_OK);
    NEAR((double)linear, 1, 0);
    NEAR((double)angular, d, 0);
    STATUS(csim_cable_get_frames(w, id, frame, 4), CSIM_OK);
    for (i = 0; i < 6; i++) {
        csim_quat q = {frame[4 * i], frame[4 * i + 1], frame[4 * i + 2], frame[4 * i + 3]};
        STATUS(csim_cable_set_frame(w, id, i, q, csim_v3(7, 0, 0)), CSIM_OK);
    }
    for (k = 1; k <= 20; k++) {
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        STATUS(csim_cable_get_spins(w, id, spin, 3), CSIM_OK);
        for (i = 0; i < 6; i++) NEAR((double)spin[3 * i], 7 * pow(1 + h * d, -k), TOL(1e-9, 2e-2)); /* stiff cable */
    }
    other = put(w, NULL, 0, csim_v3(3, 0, 0), CSIM_STATIC);
    STATUS(csim_body_set_damping(w, other, CSIM_R(0.5), CSIM_R(0.25)), CSIM_OK);
    STATUS(csim_body_get_damping(w, other, &linear, &angular), CSIM_OK);
    NEAR((double)linear, 0.5, 0);
    NEAR((double)angular, 0.25, 0);
    EQUAL(csim_body_get_damping(NULL, id, &linear, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_destroy_body(w, other), CSIM_OK);
    EQUAL(csim_body_get_damping(w, other, &linear, NULL), CSIM_STALE_ID);
    csim_destroy_world(w);
}

/* Trees and reduced bodies fall under their share of gravity, and damping takes the share 1 - 1 / (1 + h d) of every
   rate in a step: A (1 + h d) M, backward Euler. */
TEST(gravity_and_damping_of_trees) {
    const double h = 0.01, d = 3;
    int kind, k, i;
    make_bar();
    for (kind = TREE; kind <= REDUCED; kind++) {
        csim_world *w = empty_world(10);
        const csim_body_id id = make_kind(w, kind);
        double got[120];
        csim_real rate[20], scale = 0;
        csim_vec3 v;
        csim_totals then, now;
        int n, links;
        CASE("kind %d", kind);
        STATUS(csim_body_get_gravity_scale(w, id, &scale), CSIM_OK);
        NEAR((double)scale, 1, 0);
        STATUS(csim_body_set_gravity_scale(w, id, CSIM_R(-0.5)), CSIM_OK);
        STATUS(csim_body_get_gravity_scale(w, id, &scale), CSIM_OK);
        NEAR((double)scale, -0.5, 0);
        then = csim_world_totals(w);
        for (k = 1; k <= 20; k++) {
            STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
            csim_body_get_velocity(w, id, &v, NULL);
            NEAR((double)v.z, 5 * h * k, TOL(1e-9, 1e-4));
        }
        now = csim_world_totals(w); /* the energy of the share: it falls as the speed grows, but for h / 2 of the way */
        NEAR(now.gravity - then.gravity, -now.mass * 5 * (5 * h * h * 20 * 21 / 2), TOL(1e-8, 1e-2));
        STATUS(csim_body_set_gravity_scale(w, id, 0), CSIM_OK);
        STATUS(csim_body_set_damping(w, id, (csim_real)d, 0), CSIM_OK);
        STATUS(csim_body_get_damping(w, id, &scale, NULL), CSIM_OK);
        NEAR((double)scale, d, 0);
        STATUS(csim_body_set_velocity(w, id, csim_v3(1, 2, -1), csim_v3(0, 0, 0)), CSIM_OK);
        if (kind == TREE) { /* slow: the square of the rates drops out */
            STATUS(csim_tree_sizes(w, id, &links, NULL, &n), CSIM_OK);
            for (i = 0; i < n; i++) rate[i] = (csim_real)check_random(-1e-5, 1e-5);
            STATUS(csim_tree_set_state(w, id, NULL, rate), CSIM_OK);
        }
        for (k = 1; k <= 10; k++) STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        if (kind == TREE) {
            n = motion_of(w, id, kind, got);
            for (i = 0; i < n; i++) NEAR(got[i] * 1e5, (double)rate[i] * 1e5 * pow(1 + h * d, -10), TOL(1e-5, 1e-3));
        } else {
            csim_body_get_velocity(w, id, &v, NULL);
            NEAR((double)v.x, pow(1 + h * d, -10), TOL(1e-9, 1e-5));
            NEAR((double)v.y, 2 * pow(1 + h * d, -10), TOL(1e-9, 1e-5));
        }
        csim_destroy_world(w);
    }
    for (k = 0; k < 2; k++) modes_destroy(bar_modes[k], NULL);
}

/* Twice the mass is half the speed of the same push; the velocity of the material stays where the centre moves. */
TEST(mass) {
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_world *w = empty_world(0);
    csim_body_id id = put(w, &box, 1, csim_v3(0, 0, 0), CSIM_DYNAMIC);
    csim_mass m, got;
    csim_vec3 v, turn;
    csim_pose pose;
    STATUS(csim_body_get_mass(w, id, &m), CSIM_OK);
    m.mass *= 2;
    STATUS(csim_body_set_mass(w, id, &m), CSIM_OK);
    STATUS(csim_body_add_impulse_at(w, id, csim_v3(16, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    csim_body_get_velocity(w, id, &v, NULL);
    NEAR((double)v.x, 1, TOL(1e-12, 1e-6)); /* 8 kg once */
    STATUS(csim_body_set_velocity(w, id, csim_v3(0, 0, 0), csim_v3(0, 0, 2)), CSIM_OK);
    m.centre = csim_v3(CSIM_R(0.05), 0, 0);
    STATUS(csim_body_set_mass(w, id, &m), CSIM_OK);
    csim_body_get_velocity(w, id, &v, &turn);
    NEAR((double)v.y, 0.1, TOL(1e-12, 1e-6));
    csim_body_get_pose(w, id, &pose);
    NEAR((double)csim_length(pose.position), 0, TOL(1e-15, 1e-7));
    STATUS(csim_body_get_mass(w, id, &got), CSIM_OK);
    NEAR((double)got.centre.x, 0.05, 1e-8);
    m.mass = 0;
    STATUS(csim_body_set_mass(w, id, &m), CSIM_OUT_OF_RANGE);
    m.mass = (csim_real)NAN;
    STATUS(csim_body_set_mass(w, id, &m), CSIM_NOT_FINITE);
    m.mass = 1, m.inertia.m[1] = 1;
    STATUS(csim_body_set_mass(w, id, &m), CSIM_OUT_OF_RANGE); /* not symmetric */
    STATUS(csim_body_set_mass(w, id, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_body_get_mass(w, id, &m), CSIM_OK);
    CHECK(memcmp(&m, &got, sizeof m) == 0);
    csim_destroy_world(w);
}

/* A kinematic body is where it was sent after one step, from any pose to any other. */
TEST(move_to) {
    csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_world *w = empty_world(10);
    csim_body_id id, free_body;
    int i;
    box.local.position = csim_v3(CSIM_R(0.3), 0, 0); /* its centre is not its origin */
    id = put(w, &box, 1, csim_v3(0, 0, 0), CSIM_KINEMATIC);
    for (i = 0; i < 200; i++) {
        csim_pose to, pose;
        csim_quat d;
        to.position = draw(3);
        to.rotation = draw_turn(3.1);
        STATUS(csim_body_move_to(w, id, to, CSIM_R(1) / 60), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
        csim_body_get_pose(w, id, &pose);
        NEAR((double)csim_length(csim_sub(pose.position, to.position)), 0, TOL(1e-12, 2e-5));
        d = csim_quat_mul(pose.rotation, csim_quat_conj(to.rotation));
        NEAR(fabs((double)d.x) + fabs((double)d.y) + fabs((double)d.z), 0, TOL(1e-12, 1e-5));
    }
    free_body = put(w, &box, 1, csim_v3(9, 0, 0), CSIM_DYNAMIC);
    STATUS(csim_body_move_to(w, free_body, csim_pose_identity(), CSIM_R(0.1)), CSIM_WRONG_KIND);
    STATUS(csim_body_move_to(w, id, csim_pose_identity(), 0), CSIM_OUT_OF_RANGE);
    csim_destroy_world(w);
}

/* So is one of nodes, every node of it, and a tree or reduced body that floats. */
TEST(every_kind_is_moved_to) {
    int kind, i, k, n;
    make_bar();
    for (kind = 0; kind < KINDS; kind++) {
        csim_world *w = empty_world(10), *twin = empty_world(10);
        csim_body_id id = make_kind(w, kind), there = make_kind(twin, kind);
        const csim_real h = CSIM_R(1) / 60;
        CASE("kind %d", kind);
        STATUS(csim_body_move_to(w, id, csim_pose_identity(), h), CSIM_WRONG_KIND);
        STATUS(csim_body_set_motion(w, id, CSIM_KINEMATIC), CSIM_OK);
        if (kind == HELD) {
            STATUS(csim_body_move_to(w, id, csim_pose_identity(), h), CSIM_WRONG_KIND);
        }
        for (i = 0; i < 20 && kind != HELD; i++) {
            csim_real x[80], y[80];
            csim_pose to, pose;
            csim_quat d;
            to.position = draw(3);
            to.rotation = draw_turn(3);
            STATUS(csim_body_set_pose(twin, there, to), CSIM_OK);
            STATUS(csim_body_move_to(w, id, to, h), CSIM_OK);
            STATUS(csim_world_step(w, h), CSIM_OK);
            if (kind < TREE) {
                n = place_of(w, id, kind, x);
                place_of(twin, there, kind, y);
                for (k = 0; k < 3 * csim_body_node_count(w, id); k++) NEAR(x[k], (double)y[k], TOL(1e-11, 1e-4));
                for (; k < n; k += 4) { /* one turn by either of two quaternions */
                    const csim_real same = x[k] * y[k] + x[k + 1] * y[k + 1] + x[k + 2] * y[k + 2] + x[k + 3] * y[k + 3];
                    NEAR(fabs((double)same), 1, TOL(1e-11, 1e-4));
                }
                continue;
            }
            csim_body_get_pose(w, id, &pose);
            NEAR((double)csim_length(csim_sub(pose.position, to.position)), 0, TOL(1e-11, 1e-4));
            d = csim_quat_mul(pose.rotation, csim_quat_conj(to.rotation));
            NEAR(fabs((double)d.x) + fabs((double)d.y) + fabs((double)d.z), 0, TOL(1e-11, 1e-4));
        }
        csim_destroy_world(w);
        csim_destroy_world(twin);
    }
    for (k = 0; k < 2; k++) modes_destroy(bar_modes[k], NULL);
}

/* Sent to where it is, a body of nodes has no way to go, without rounding: what sleeps on it sleeps on, and awake is
   carried where it goes. */
TEST(what_is_sent_to_where_it_is_wakes_nobody) {
    static const int half[6] = {0, 1, 6, 0, 6, 5};
    csim_real x[75];
    int t[96];
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_cloth_def cloth = csim_default_cloth_def();
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id sheet, on;
    csim_pose pose;
    csim_vec3 v;
    bool awake = true;
    int i;
    for (i = 0; i < 75; i++) x[i] = i % 3 == 2 ? 0 : CSIM_R(0.07) * (csim_real)(i % 3 ? i / 15 : i / 3 % 5);
    for (i = 0; i < 96; i++) t[i] = i / 24 * 5 + i / 6 % 4 + half[i % 6];
    d.can_sleep = true;
    STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
    cloth.vertices = x, cloth.vertex_count = 25;
    cloth.triangles = t, cloth.triangle_count = 32;
    STATUS(csim_create_cloth(w, &cloth, &sheet), CSIM_OK);
    STATUS(csim_body_set_motion(w, sheet, CSIM_KINEMATIC), CSIM_OK);
    on = put(w, &box, 1, csim_v3(CSIM_R(0.15), CSIM_R(0.12), CSIM_R(0.11)), CSIM_DYNAMIC);
    for (i = 0; i < 400 && awake; i++) {
        STATUS(csim_body_get_pose(w, sheet, &pose), CSIM_OK);
        STATUS(csim_body_move_to(w, sheet, pose, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_body_is_awake(w, on, &awake), CSIM_OK);
    }
    CHECK(!awake);
    for (i = 0; i < 5; i++) { /* what sleeps is not woken either */
        STATUS(csim_body_move_to(w, sheet, pose, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_body_is_awake(w, on, &awake), CSIM_OK);
        CHECK(!awake);
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_body_is_awake(w, on, &awake), CSIM_OK);
        CHECK(!awake);
    }
    STATUS(csim_body_get_velocity(w, sheet, &v, NULL), CSIM_OK);
    CHECK(csim_length(v) == 0);
    pose.position.z += CSIM_R(0.01);
    STATUS(csim_body_move_to(w, sheet, pose, CSIM_R(0.01)), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    STATUS(csim_body_is_awake(w, on, &awake), CSIM_OK);
    CHECK(awake);
    csim_destroy_world(w);
}

/* Filters, restitution and whether a body is there at all, changed under a ball that lies on it. */
TEST(filter_and_enabled) {
    const csim_shape ball = csim_sphere(CSIM_R(0.1)), slab = csim_box(csim_v3(1, 1, CSIM_R(0.1)));
    csim_world *w = empty_world(10);
    csim_body_id floor = put(w, &slab, 1, csim_v3(0, 0, CSIM_R(-0.1)), CSIM_STATIC);
    csim_body_id id = put(w, &ball, 1, csim_v3(0, 0, CSIM_R(0.1)), CSIM_DYNAMIC);
    csim_query_hit hit;
    csim_surface_def surface;
    csim_motion motion = CSIM_STATIC;
    csim_vec3 v;
    csim_pose pose;
    bool enabled;
    int i, pass;
    for (pass = 0; pass < 2; pass++) {
        CASE("pass %d", pass);
        for (i = 0; i < 3; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        EQUAL(csim_world_events(w).touching_count, 1);
        if (pass) STATUS(csim_body_set_enabled(w, floor, false), CSIM_OK);
        else STATUS(csim_body_set_filter(w, id, 2, 4, 0), CSIM_OK);
        CHECK(csim_world_cast_ray(w, NULL, csim_v3(CSIM_R(0.5), 0, 1), csim_v3(0, 0, -2), &hit) == !pass);
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        EQUAL(csim_world_events(w).end_count, 1);
        csim_body_get_velocity(w, id, &v, NULL);
        NEAR((double)v.z, -0.1, TOL(1e-6, 1e-5)); /* it falls */
        if (pass) STATUS(csim_body_set_enabled(w, floor, true), CSIM_OK);
        else STATUS(csim_body_set_filter(w, id, 1, ~0u, 0), CSIM_OK);
        for (i = 0; i < 20; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        EQUAL(csim_world_events(w).touching_count, 1);
    }
    CASE("%s", "");
    /* what is not enabled stays where it is, and keeps what it was */
    STATUS(csim_body_set_enabled(w, id, false), CSIM_OK);
    STATUS(csim_body_get_enabled(w, id, &enabled), CSIM_OK);
    CHECK(!enabled);
    STATUS(csim_body_set_motion(w, id, CSIM_DYNAMIC), CSIM_WRONG_KIND);
    csim_body_get_pose(w, id, &pose);
    for (i = 0; i < 5; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    EQUAL(csim_world_events(w).move_count, 0);
    STATUS(csim_body_set_enabled(w, id, true), CSIM_OK);
    STATUS(csim_body_get_motion(w, id, &motion), CSIM_OK);
    EQUAL(motion, CSIM_DYNAMIC);
    /* a bounce by a coefficient set after */
    STATUS(csim_body_set_restitution(w, id, CSIM_R(0.5)), CSIM_OK);
    STATUS(csim_body_set_restitution(w, id, 2), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_get_surface(w, id, &surface), CSIM_OK);
    NEAR((double)surface.restitution, 0.5, 0);
    STATUS(csim_body_set_velocity(w, id, csim_v3(0, 0, -2), csim_v3(0, 0, 0)), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
    csim_body_get_velocity(w, id, &v, NULL);
    NEAR((double)v.z, 1, 1e-3);
    csim_destroy_world(w);
}

/* A shape keeps the surface it was given later when that of its body changes, until it is told to have none. */
TEST(own_surfaces_stay) {
    const csim_shape two[2] = {csim_sphere(CSIM_R(0.1)), csim_sphere(CSIM_R(0.2))};
    const csim_real body[3] = {CSIM_R(0.25), CSIM_R(0.75), CSIM_R(0.125)}, first[3] = {1, 1, CSIM_R(0.125)};
    csim_world *w = empty_world(10);
    const csim_body_id id = put(w, two, 2, csim_v3(0, 0, 1), CSIM_DYNAMIC);
    csim_surface_def own = csim_default_surface_def(), got;
    int k;
    own.friction = 1;
    STATUS(csim_body_set_shape_surface(w, id, 0, &own), CSIM_OK);
    for (k = 0; k < 3; k++) {
        CASE("change %d", k);
        if (k == 2) STATUS(csim_body_set_shape_surface(w, id, 0, NULL), CSIM_OK);
        STATUS(csim_body_set_friction(w, id, body[k]), CSIM_OK);
        STATUS(csim_body_get_shape_surface(w, id, 0, &got), CSIM_OK);
        NEAR((double)got.friction, (double)first[k], 0);
        STATUS(csim_body_get_shape_surface(w, id, 1, &got), CSIM_OK);
        NEAR((double)got.friction, (double)body[k], 0);
    }
    csim_destroy_world(w);
}

/* Surfaces, flags and pointers of single shapes, of links too; a world that was saved with them goes on the same. */
TEST(shapes_one_by_one) {
    csim_tree_link_def link[2];
    csim_tree_def d = csim_default_tree_def();
    csim_shape shape[2];
    csim_surface_def icy = csim_default_surface_def(), got;
    const csim_shape slab = csim_box(csim_v3(4, 4, CSIM_R(0.1)));
    csim_world *w = empty_world(10);
    csim_body_id floor = put(w, &slab, 1, csim_v3(0, 0, CSIM_R(-0.1)), CSIM_STATIC), tree;
    char names[2];
    void *user = NULL;
    bool sensor = true;
    size_t bytes = 0;
    void *saved;
    uint64_t hash;
    int i, at = 5;
    icy.friction = 0;
    for (i = 0; i < 2; i++) {
        shape[i] = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
        shape[i].user_data = names + i;
        link[i] = csim_default_tree_link_def();
        link[i].shapes = shape + i, link[i].shape_count = 1, link[i].parent = i - 1;
        link[i].joint = i ? CSIM_TREE_PRISMATIC : CSIM_TREE_FLOATING;
        link[i].axis = csim_v3(1, 0, 0);
        link[i].frame.position = csim_v3(i ? CSIM_R(0.5) : 0, 0, 0);
    }
    shape[1].surface = &icy;
    d.links = link, d.link_count = 2, d.pose.position = csim_v3(0, 0, CSIM_R(0.1));
    STATUS(csim_create_tree(w, &d, &tree), CSIM_OK);
    STATUS(csim_body_get_shape_link(w, tree, 1, &at), CSIM_OK);
    EQUAL(at, 1);
    STATUS(csim_body_get_shape_user_data(w, tree, 1, &user), CSIM_OK);
    CHECK(user == names + 1);
    STATUS(csim_body_set_shape_user_data(w, tree, 1, names), CSIM_OK);
    STATUS(csim_body_get_shape_user_data(w, tree, 1, &user), CSIM_OK);
    CHECK(user == names);
    STATUS(csim_body_get_shape_sensor(w, tree, 0, &sensor), CSIM_OK);
    CHECK(!sensor);
    STATUS(csim_body_get_shape_surface(w, tree, 1, &got), CSIM_OK);
    CHECK(!(got.friction > 0));
    STATUS(csim_body_set_friction(w, tree, CSIM_R(0.25)), CSIM_OK); /* of the shapes that have none of their own */
    STATUS(csim_body_get_shape_surface(w, tree, 0, &got), CSIM_OK);
    NEAR((double)got.friction, 0.25, 0);
    STATUS(csim_body_get_shape_surface(w, tree, 1, &got), CSIM_OK);
    CHECK(!(got.friction > 0));
    for (i = 0; i < 3; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    csim_world_save(w, NULL, &bytes);
    saved = malloc(bytes);
    STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
    for (i = 0; i < 5; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    hash = csim_world_hash(w);
    STATUS(csim_body_set_shape_surface(w, tree, 1, NULL), CSIM_OK);
    STATUS(csim_body_get_shape_surface(w, tree, 1, &got), CSIM_OK);
    NEAR((double)got.friction, 0.25, 0);
    STATUS(csim_body_set_shape_sensor(w, tree, 1, true), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    EQUAL(csim_world_events(w).end_count, 1); /* it touched, now it sees */
    EQUAL(csim_world_events(w).sensor_begin_count, 1);
    STATUS(csim_world_restore(w, saved, bytes), CSIM_OK);
    STATUS(csim_body_get_shape_sensor(w, tree, 1, &sensor), CSIM_OK);
    CHECK(!sensor);
    for (i = 0; i < 5; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    CHECK(csim_world_hash(w) == hash);
    /* refusals */
    STATUS(csim_body_set_shape_surface(w, tree, 2, &icy), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_set_shape_sensor(w, tree, -1, true), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_get_shape_surface(w, tree, 7, &got), CSIM_OUT_OF_RANGE);
    icy.friction = (csim_real)NAN;
    STATUS(csim_body_set_shape_surface(w, tree, 0, &icy), CSIM_NOT_FINITE);
    STATUS(csim_body_set_surface(w, floor, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_body_set_damping(w, tree, -1, 1), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_set_gravity_scale(w, floor, 1e4), CSIM_OUT_OF_RANGE);
    STATUS(csim_destroy_body(w, tree), CSIM_OK);
    STATUS(csim_body_set_filter(w, tree, 1, 1, 0), CSIM_STALE_ID);
    STATUS(csim_body_set_user_data(NULL, tree, NULL), CSIM_NULL_ARGUMENT);
    free(saved);
    csim_destroy_world(w);
}

/* Links and contacts of one body are those of the world that name it. */
TEST(lists) {
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_world *w = empty_world(10);
    csim_body_id ground, id[4];
    csim_link_id link[3], got[8];
    csim_spring_def spring = csim_default_spring_def();
    const csim_contact_info *all;
    csim_contact_info one[64];
    int i, k, n, sum = 0;
    csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground);
    for (i = 0; i < 4; i++) id[i] = put(w, &box, 1, csim_v3(0, 0, (csim_real)(0.1 + 0.2 * i)), CSIM_DYNAMIC);
    for (i = 0; i < 3; i++) {
        spring.a.body = id[i], spring.b.body = id[i + 1];
        spring.a.point = csim_v3(0, 0, (csim_real)(0.1 + 0.2 * i));
        spring.b.point = csim_v3(0, 0, (csim_real)(0.3 + 0.2 * i));
        STATUS(csim_create_spring(w, &spring, link + i), CSIM_OK);
    }
    EQUAL(csim_world_links(w, got, 8), 3);
    EQUAL(csim_body_links(w, id[1], got, 8), 2);
    CHECK(got[0].index1 == link[0].index1 && got[1].index1 == link[1].index1 && csim_link_valid(w, got[1]));
    EQUAL(csim_body_links(w, id[0], NULL, 0), 1);
    EQUAL(csim_body_links(w, ground, got, 8), 0);
    EQUAL(csim_world_links(NULL, got, 8), 0);
    for (i = 0; i < 3; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    all = csim_world_contacts(w, &n);
    CHECK(n >= 16);
    for (i = 0; i < 4; i++) {
        const int count = csim_body_contacts(w, id[i], one, 64);
        for (k = 0; k < count; k++) CHECK(one[k].body_a.index1 == id[i].index1 || one[k].body_b.index1 == id[i].index1);
        sum += count;
    }
    sum += csim_body_contacts(w, ground, NULL, 0);
    EQUAL(sum, 2 * n);
    CHECK(all[0].shape_a == 0);
    csim_destroy_world(w);
}

/* ---- destroying */

enum { CROWD = 32 };
typedef struct known {
    csim_pose pose;
    csim_vec3 v, spin;
    csim_mass mass;
    int shapes, nodes, joints;
    double size; /* of all its shapes */
} known;

static known know(const csim_world *w, csim_body_id id) {
    known k;
    int i;
    memset(&k, 0, sizeof k);
    STATUS(csim_body_get_pose(w, id, &k.pose), CSIM_OK);
    STATUS(csim_body_get_velocity(w, id, &k.v, &k.spin), CSIM_OK);
    STATUS(csim_body_get_mass(w, id, &k.mass), CSIM_OK);
    k.shapes = csim_body_shape_count(w, id);
    k.nodes = csim_body_node_count(w, id);
    k.joints = csim_body_joints(w, id, NULL, 0);
    for (i = 0; i < k.shapes; i++) {
        const csim_geometry *g;
        csim_pose at;
        STATUS(csim_body_shape(w, id, i, &g, &at), CSIM_OK);
        k.size += (double)g->bound * (i + 1);
    }
    return k;
}

/* Ids of all contacts that are not of a body, in any order, as their number and sums; impulses too. */
static void tally(const csim_world *w, uint32_t but, double *sum) {
    int pass, i, count;
    memset(sum, 0, 4 * sizeof *sum);
    for (pass = 0; pass < 2; pass++) {
        const csim_contact_info *c = pass ? csim_world_sleeping_contacts(w, &count) : csim_world_contacts(w, &count);
        for (i = 0; i < count; i++) {
            if (c[i].body_a.index1 == but || c[i].body_b.index1 == but) continue;
            sum[0] += 1;
            sum[1] += (double)(c[i].id >> 40);
            sum[2] += (double)(c[i].id & 0xffffffu);
            sum[3] += (double)c[i].point.x; /* added in any order: compared to rounding */
        }
    }
}

static csim_body_id crowd_add(csim_world *w) {
    csim_shape shape[3];
    csim_particle_def pd = csim_default_particle_def();
    const int kind = (int)check_random(0, 4.999);
    const csim_vec3 at = csim_v3((csim_real)check_random(-1, 1), (csim_real)check_random(-1, 1),
                                 (csim_real)check_random(0.4, 2));
    csim_real corner[24];
    csim_body_id id;
    int i;
    for (i = 0; i < 24; i++) corner[i] = (csim_real)((i / 3 >> i % 3 & 1) ? 0.15 : -0.15);
    shape[0] = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.15), (csim_real)check_random(0.1, 0.2)));
    shape[1] = shape[2] = csim_sphere((csim_real)check_random(0.1, 0.2));
    shape[1].local.position = csim_v3(CSIM_R(0.2), 0, 0);
    if (kind == 3) shape[0] = csim_hull(corner, 8);
    if (kind < 4) return put(w, shape, kind == 2 ? 3 : kind == 1 ? 2 : 1, at, CSIM_DYNAMIC);
    pd.position = at;
    pd.radius = CSIM_R(0.1);
    STATUS(csim_create_particle(w, &pd, &id), CSIM_OK);
    return id;
}

/* The places that a body leaves are filled by others: of every other body all stays as it was, of contacts those that
   were not its own, and what is saved is taken back and goes on with the same bits. */
TEST(destroying_disturbs_no_other) {
    static csim_body_id id[CROWD], now[CROWD];
    static known was[CROWD];
    int pass, round, i, n, gone = 0, with_contacts = 0, asleep = 0;
    for (pass = 0; pass < 4; pass++) {
        csim_world_def def = csim_default_world_def();
        csim_world *w = NULL, *other = NULL;
        def.can_sleep = pass & 1;
        def.budget = pass & 2 ? 2000 : 0;
        STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
        STATUS(csim_create_world(&def, &other, NULL), CSIM_OK);
        csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id[0]);
        for (i = 1; i < CROWD; i++) id[i] = crowd_add(w);
        for (i = 1; i < CROWD; i += 7) {
            csim_joint_def jd = csim_default_joint_def();
            csim_link_id link;
            csim_body_kind a, b;
            jd.kind = CSIM_JOINT_BALL;
            jd.a.body = id[i], jd.b.body = id[(i + 3) % CROWD];
            csim_body_get_kind(w, id[i], &a), csim_body_get_kind(w, id[(i + 3) % CROWD], &b);
            if (a == CSIM_RIGID && b == CSIM_RIGID) STATUS(csim_create_joint(w, &jd, &link), CSIM_OK);
        }
        for (round = 0; round < 24; round++) {
            const int victim = round == 23 ? 0 : (int)check_random(1, CROWD - 0.001); /* at last the ground */
            double before[4], after[4];
            size_t bytes = 0;
            unsigned char *saved;
            CASE("pass %d round %d", pass, round);
            for (i = 0; i < CROWD && def.can_sleep && round % 3 == 0; i++)
                STATUS(csim_body_set_awake(w, id[i], i % 5 == 4), CSIM_OK); /* most islands; one body wakes its own */
            for (i = 0; i < round % 3; i++) STATUS(csim_world_step(w, CSIM_R(0.005)), CSIM_OK);
            asleep += csim_world_stats(w).asleep;
            for (i = 0; i < CROWD; i++) was[i] = know(w, id[i]);
            tally(w, id[victim].index1, before);
            tally(w, 0, after);
            with_contacts += after[0] > before[0];
            STATUS(csim_destroy_body(w, id[victim]), CSIM_OK);
            tally(w, id[victim].index1, after);
            for (i = 0; i < 3; i++) NEAR(after[i], before[i], 0);
            NEAR(after[3], before[3], TOL(1e-9, 1e-3));
            n = csim_world_bodies(w, now, CROWD);
            EQUAL(n, CROWD - 1);
            for (i = 0; i < CROWD; i++) {
                known k;
                if (i == victim) continue;
                CHECK(now[i - (i > victim)].index1 == id[i].index1);
                k = know(w, id[i]);
                k.joints = was[i].joints; /* those to the body that goes go with it */
                CHECK(memcmp(&k, was + i, sizeof k) == 0);
            }
            gone++;
            STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
            saved = (unsigned char *)malloc(bytes);
            STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
            STATUS(csim_world_restore(other, saved, bytes), CSIM_OK);
            free(saved);
            for (i = 0; i < 2 && round % 8 == 7; i++) { /* both chains of contacts, those built since and those anew */
                const int next = CROWD / 2 + 3 * i;
                csim_body_id twin[CROWD];
                csim_world_bodies(other, twin, CROWD);
                csim_world_bodies(w, now, CROWD);
                STATUS(csim_destroy_body(other, twin[next]), CSIM_OK);
                STATUS(csim_destroy_body(w, now[next]), CSIM_OK);
                STATUS(csim_world_step(other, CSIM_R(0.005)), CSIM_OK);
                STATUS(csim_world_step(w, CSIM_R(0.005)), CSIM_OK);
                CHECK(csim_world_hash(w) == csim_world_hash(other));
            }
            while (csim_world_body_count(w) < CROWD) crowd_add(w);
            csim_world_bodies(w, id, CROWD);
        }
        csim_destroy_world(w);
        csim_destroy_world(other);
    }
    CHECK(gone == 96 && with_contacts > 40 && asleep > 100);
}

/* ---- shapes that come and go */

static csim_shape at(csim_shape s, double x, double y, double z) {
    s.local.position = csim_v3((csim_real)x, (csim_real)y, (csim_real)z);
    s.local.rotation = csim_quat_axis_angle(csim_v3(1, 2, 3), (csim_real)x);
    return s;
}

/* Four bodies on a slope, of boxes, hulls, a ball and a capsule: made at once, or of one shape each, shuffled by calls
   until they are the same. */
static csim_world *reshaped(bool later, csim_body_id *id) {
    static csim_vec3 corner[14];
    csim_shape s[4][3], own;
    csim_world *w = empty_world(10);
    int i, k, number = -1;
    for (i = 0; i < 14; i++)
        corner[i] = csim_scale(CSIM_R(0.1), csim_v3((csim_real)(i % 3 - 1), (csim_real)(i % 5 - 2), (csim_real)(i % 7 - 3)));
    for (i = 0; i < 4; i++) {
        s[i][0] = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.2), CSIM_R(0.15)));
        s[i][1] = at(csim_hull(corner, 14 - i), 0.3, 0.1, 0);
        s[i][2] = at(i % 2 ? csim_sphere(CSIM_R(0.1)) : csim_capsule(CSIM_R(0.1), CSIM_R(0.2)), -0.3, 0, 0.1);
    }
    s[2][1] = at(csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.1), CSIM_R(0.1))), 0.2, 0, 0.1);
    csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(CSIM_R(0.1), 0, 1), CSIM_R(0.3), id);
    for (i = 0; i < 4; i++)
        id[1 + i] = put(w, s[i], later ? 1 : 3, csim_v3((csim_real)(i * 1.3), 0, CSIM_R(0.6)), CSIM_DYNAMIC);
    if (!later) return w;
    for (k = 0; k < 4; k++) {
        i = (k * 3 + 1) % 4;
        own = at(csim_hull(corner, 8), 0, 1, 0); /* wrong ones first: a hull where none stays, none where one does */
        STATUS(csim_body_add_shape(w, id[1 + i], i == 2 ? &own : s[0], &number), CSIM_OK);
        EQUAL(number, 1);
        STATUS(csim_body_add_shape(w, id[1 + i], k % 2 ? &own : s[i] + 2, &number), CSIM_OK);
        EQUAL(number, 2);
        STATUS(csim_body_set_shape(w, id[1 + i], 1, NULL), CSIM_OK);
        STATUS(csim_body_add_shape(w, id[1 + i], s[i] + 1, &number), CSIM_OK);
        EQUAL(number, 1); /* the lowest that is free */
        STATUS(csim_body_set_shape(w, id[1 + i], 2, s[i] + 2), CSIM_OK);
        STATUS(csim_body_set_density(w, id[1 + i], csim_default_rigid_def().density), CSIM_OK);
    }
    return w;
}

TEST(shapes_come_and_go_as_if_they_had_been_made_so) {
    csim_body_id id[5], other[5];
    csim_world *a = reshaped(false, id), *b = reshaped(true, other);
    csim_mass m, n;
    csim_pose p, q;
    int i, step;
    for (i = 1; i < 5; i++) {
        STATUS(csim_body_get_mass(a, id[i], &m), CSIM_OK);
        STATUS(csim_body_get_mass(b, other[i], &n), CSIM_OK);
        NEAR((double)n.mass, (double)m.mass, i == 3 ? 0 : TOL(1e-12, 1e-5) * (double)m.mass); /* 3: without a hull */
        NEAR((double)csim_length(csim_sub(n.centre, m.centre)), 0, i == 3 ? 0 : TOL(1e-12, 1e-6));
        for (step = 0; step < 9; step++)
            NEAR((double)n.inertia.m[step], (double)m.inertia.m[step],
                 i == 3 ? 0 : TOL(1e-12, 1e-5) * (double)m.inertia.m[0]);
        STATUS(csim_body_set_mass(b, other[i], &m), CSIM_OK); /* the last bits of the hulls */
        STATUS(csim_body_get_pose(a, id[i], &p), CSIM_OK);
        STATUS(csim_body_set_pose(a, id[i], p), CSIM_OK);
        STATUS(csim_body_set_pose(b, other[i], p), CSIM_OK);
    }
    CHECK(csim_world_used(b).hulls > csim_world_used(a).hulls); /* some were replaced */
    for (step = 0; step < 120; step++) {
        STATUS(csim_world_step(a, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_world_step(b, CSIM_R(0.01)), CSIM_OK);
        EQUAL(csim_world_stats(b).contacts, csim_world_stats(a).contacts);
    }
    for (i = 1; i < 5; i++) {
        csim_body_get_pose(a, id[i], &p), csim_body_get_pose(b, other[i], &q);
        CHECK(!memcmp(&p, &q, sizeof p));
    }
    CHECK(csim_world_hash(a) == csim_world_hash(b));
    csim_destroy_world(a), csim_destroy_world(b);
}

/* A tree of two links on a slope, made at once, or of wrong shapes that calls make right. */
static csim_world *reshaped_tree(bool later, csim_body_id *id) {
    static csim_vec3 corner[8];
    csim_shape s[3], wrong = csim_sphere(CSIM_R(0.3));
    csim_tree_link_def link[2];
    csim_tree_def d = csim_default_tree_def();
    csim_world *w = empty_world(10);
    csim_body_id ground;
    int i, number = -1;
    for (i = 0; i < 8; i++)
        corner[i] = csim_scale(CSIM_R(0.1), csim_v3((csim_real)(i % 2), (csim_real)(i / 2 % 2), (csim_real)(i / 4)));
    s[0] = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.1), CSIM_R(0.1)));
    s[1] = at(csim_hull(corner, 8), 0.1, 0, 0);
    s[2] = at(csim_capsule(CSIM_R(0.05), CSIM_R(0.2)), 0.3, 0, 0.05);
    for (i = 0; i < 2; i++) link[i] = csim_default_tree_link_def();
    link[0].joint = CSIM_TREE_FLOATING;
    link[1].joint = CSIM_TREE_REVOLUTE;
    link[1].parent = 0;
    link[1].axis = csim_v3(0, 1, 0);
    link[1].frame.position = csim_v3(CSIM_R(0.25), 0, 0);
    link[0].shapes = later ? &wrong : s, link[0].shape_count = 1;
    link[1].shapes = later ? &wrong : s + 1, link[1].shape_count = later ? 1 : 2;
    d.links = link, d.link_count = 2;
    d.pose.position = csim_v3(0, 0, 1);
    csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(CSIM_R(0.2), 0, 1), CSIM_R(0.3), &ground);
    STATUS(csim_create_tree(w, &d, id), CSIM_OK);
    if (!later) return w;
    STATUS(csim_body_set_shape(w, *id, 0, s), CSIM_OK);
    STATUS(csim_tree_add_shape(w, *id, 1, s + 1, &number), CSIM_OK); /* in the place of the wrong one later */
    EQUAL(number, 2);
    STATUS(csim_body_set_shape(w, *id, 1, NULL), CSIM_OK);
    STATUS(csim_tree_add_shape(w, *id, 0, &wrong, &number), CSIM_OK); /* what is free is link 1's */
    EQUAL(number, 3);
    STATUS(csim_body_set_shape(w, *id, 3, NULL), CSIM_OK);
    STATUS(csim_tree_add_shape(w, *id, 1, s + 1, &number), CSIM_OK);
    EQUAL(number, 1);
    STATUS(csim_body_set_shape(w, *id, 2, s + 2), CSIM_OK);
    STATUS(csim_body_get_shape_link(w, *id, 2, &number), CSIM_OK);
    EQUAL(number, 1);
    for (i = 0; i < 2; i++) STATUS(csim_tree_set_link_density(w, *id, i, link[i].density), CSIM_OK);
    return w;
}

TEST(shapes_of_links_come_and_go_as_if_they_had_been_made_so) {
    csim_body_id id, other, rigid;
    csim_world *a = reshaped_tree(false, &id), *b = reshaped_tree(true, &other);
    csim_real A[49], B[49];
    csim_shape ball = csim_sphere(CSIM_R(0.1)), plane = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1));
    csim_mass none;
    csim_pose p, q;
    uint64_t hash = csim_world_hash(b);
    int i, number = 9;
    memset(&none, 0, sizeof none);
    rigid = put(b, &ball, 1, csim_v3(9, 9, 9), CSIM_STATIC);
    STATUS(csim_tree_add_shape(b, other, 2, &ball, &number), CSIM_OUT_OF_RANGE);
    STATUS(csim_tree_add_shape(b, other, -1, &ball, &number), CSIM_OUT_OF_RANGE);
    STATUS(csim_tree_add_shape(b, other, 0, &plane, &number), CSIM_OUT_OF_RANGE);
    STATUS(csim_tree_add_shape(b, rigid, 0, &ball, &number), CSIM_WRONG_KIND);
    STATUS(csim_body_add_shape(b, other, &ball, &number), CSIM_WRONG_KIND);
    CHECK(strstr(csim_last_error(b), "csim_tree_add_shape") != NULL);
    STATUS(csim_tree_add_shape(b, other, 0, NULL, &number), CSIM_NULL_ARGUMENT);
    STATUS(csim_body_set_density(b, other, 1), CSIM_WRONG_KIND);
    STATUS(csim_tree_set_link_density(b, other, 0, 0), CSIM_OUT_OF_RANGE);
    STATUS(csim_tree_set_link_mass(b, other, 0, &none), CSIM_OUT_OF_RANGE);
    STATUS(csim_tree_set_link_mass(b, other, 0, NULL), CSIM_NULL_ARGUMENT);
    EQUAL(number, 9);
    STATUS(csim_destroy_body(b, rigid), CSIM_OK);
    CHECK(csim_world_hash(b) == hash);
    STATUS(csim_tree_mass_matrix(a, id, A), CSIM_OK);
    STATUS(csim_tree_mass_matrix(b, other, B), CSIM_OK);
    for (i = 0; i < 49; i++) NEAR((double)B[i], (double)A[i], TOL(1e-12, 1e-5) * (double)A[0]);
    for (i = 0; i < 120; i++) {
        STATUS(csim_world_step(a, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_world_step(b, CSIM_R(0.01)), CSIM_OK);
        EQUAL(csim_world_stats(b).contacts, csim_world_stats(a).contacts);
    }
    for (i = 0; i < 2; i++) {
        STATUS(csim_tree_link_pose(a, id, i, &p), CSIM_OK);
        STATUS(csim_tree_link_pose(b, other, i, &q), CSIM_OK);
        NEAR((double)csim_length(csim_sub(p.position, q.position)), 0, TOL(1e-9, 1e-3));
    }
    CHECK((double)p.position.z < 0.6); /* it lies on the slope */
    csim_destroy_world(a), csim_destroy_world(b);
}

/* A ball on a table of two boards: what becomes of it, of events, rays, sleep and snapshots when boards go. */
TEST(what_lies_on_a_shape_that_goes) {
    enum { GO, OFF, OTHER, WAYS };
    int way, bounded, sleeps, i, number = -1;
    for (way = 0; way < 4 * WAYS; way++) {
        csim_world_def def = csim_default_world_def();
        csim_world *w = NULL;
        csim_shape board[2], ball = csim_sphere(CSIM_R(0.1)), low;
        csim_body_id table, id, lift;
        csim_query_hit hit;
        csim_events e;
        csim_pose pose;
        double before;
        size_t bytes = 0;
        void *saved;
        uint64_t hash;
        char name;
        bool on = true;
        bounded = way / WAYS % 2;
        sleeps = way < 2 * WAYS;
        CASE("way %d, bounded %d, sleeps %d", way % WAYS, bounded, sleeps);
        def.can_sleep = sleeps;
        def.budget = bounded ? 20000 : 0;
        STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
        for (i = 0; i < 2; i++) board[i] = at(csim_box(csim_v3(CSIM_R(0.5), 1, CSIM_R(0.1))), i, 0, -0.1);
        board[0].local.rotation = board[1].local.rotation = csim_quat_identity();
        board[1].user_data = &name;
        low = board[1];
        low.local.position.z -= CSIM_R(0.05);
        table = put(w, board, 2, csim_v3(0, 0, 0), CSIM_STATIC);
        id = put(w, &ball, 1, csim_v3(1, 0, CSIM_R(0.1)), CSIM_DYNAMIC);
        for (i = 0; i < 120; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        EQUAL(csim_world_stats(w).asleep, sleeps);
        CHECK(csim_world_cast_ray(w, NULL, csim_v3(CSIM_R(1.2), 0, 1), csim_v3(0, 0, -2), &hit) && hit.index == 1);
        if (way % WAYS == GO) STATUS(csim_body_set_shape(w, table, 1, NULL), CSIM_OK);
        if (way % WAYS == OFF) STATUS(csim_body_set_shape_enabled(w, table, 1, false), CSIM_OK);
        if (way % WAYS == OTHER) STATUS(csim_body_set_shape(w, table, 1, &low), CSIM_OK);
        EQUAL(csim_body_shape_count(w, table), 2);
        EQUAL(csim_body_get_shape_enabled(w, table, 1, &on), way % WAYS == GO ? CSIM_OUT_OF_RANGE : CSIM_OK);
        CHECK(on == (way % WAYS != OFF));
        i = csim_world_cast_ray(w, NULL, csim_v3(CSIM_R(1.2), 0, 1), csim_v3(0, 0, -2), &hit);
        EQUAL(i, way % WAYS == OTHER);
        if (i) NEAR((double)hit.point.z, -0.05, TOL(1e-12, 1e-6));
        csim_world_save(w, NULL, &bytes);
        saved = malloc(bytes);
        STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK); /* it is awake, and begins to fall */
        e = csim_world_events(w);
        EQUAL(csim_world_stats(w).asleep, 0);
        EQUAL(e.end_count, 1);
        for (i = 0; i < e.end_count; i++)
            if (e.ends[i].shape_a == 1) CHECK(e.ends[i].shape_user_data_a == &name);
        for (i = 0; i < 40; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        csim_body_get_pose(w, id, &pose);
        if (way % WAYS == OTHER)
            NEAR((double)pose.position.z, 0.05, 2e-3); /* it lies 5 cm lower */
        else
            NEAR((double)pose.position.z, 0.1 - 9.81 * 0.41 * 0.42 / 2, TOL(1e-9, 1e-5)); /* free fall in 41 steps */
        hash = csim_world_hash(w);
        STATUS(csim_world_restore(w, saved, bytes), CSIM_OK);
        for (i = 0; i < 41; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        CHECK(csim_world_hash(w) == hash);
        STATUS(csim_world_restore(w, saved, bytes), CSIM_OK);
        if (way % WAYS == GO) STATUS(csim_body_add_shape(w, table, board + 1, &number), CSIM_OK), EQUAL(number, 1);
        if (way % WAYS == OFF) STATUS(csim_body_set_shape_enabled(w, table, 1, true), CSIM_OK);
        if (way % WAYS == OTHER) STATUS(csim_body_set_shape(w, table, 1, board + 1), CSIM_OK);
        for (i = 0; i < 10; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK); /* back in time: nothing happened */
        EQUAL(csim_world_events(w).touching_count, 1);
        csim_body_get_pose(w, id, &pose);
        NEAR((double)pose.position.z, 0.1, TOL(1e-5, 1e-5));
        for (i = 0; i < 120; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        EQUAL(csim_world_stats(w).asleep, sleeps);
        board[1].local.position.z += CSIM_R(0.02); /* another board comes up: it wakes and is lifted */
        board[1].local.position.y = -3;
        lift = put(w, &ball, 1, csim_v3(0, 3, 0), CSIM_STATIC);
        STATUS(csim_body_add_shape(w, lift, board + 1, &number), CSIM_OK);
        EQUAL(number, 1);
        for (i = 0; i < 80; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        csim_body_get_pose(w, id, &pose);
        NEAR((double)pose.position.z, 0.12, 3e-3);
        board[1].local.position.z -= CSIM_R(0.001); /* so little that the pair is looked at: nothing may be kept of it */
        before = (double)pose.position.z;
        STATUS(csim_body_set_shape(w, lift, 1, board + 1), CSIM_OK);
        for (i = 0; i < 80; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        csim_body_get_pose(w, id, &pose);
        NEAR((double)pose.position.z, before - 0.001, 3e-4);
        free(saved);
        csim_destroy_world(w);
    }
}

TEST(shapes_that_are_refused) {
    static double block[1 << 16];
    void *aligned = (char *)block + (64 - (size_t)block % 64) % 64;
    const csim_shape ball = csim_sphere(CSIM_R(0.1)), plane = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1));
    const csim_vec3 flat[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
    const csim_shape hull = csim_hull(flat, 4);
    csim_particle_def pd = csim_default_particle_def();
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id id, still, particle;
    csim_shape wrong = ball;
    uint64_t hash;
    size_t bytes;
    int i, number = 7;
    def.capacity.bodies = 3, def.capacity.shapes = 4, def.capacity.nodes = 1, def.capacity.hulls = 1;
    def.gravity = csim_v3(0, 0, 0);
    STATUS(csim_world_bytes(&def, &bytes, NULL), CSIM_OK);
    CHECK(bytes <= sizeof block - 64);
    STATUS(csim_create_world_in(&def, aligned, bytes, &w, NULL), CSIM_OK);
    id = put(w, &ball, 1, csim_v3(0, 0, 0), CSIM_DYNAMIC);
    still = put(w, &plane, 1, csim_v3(0, 0, -3), CSIM_STATIC);
    STATUS(csim_create_particle(w, &pd, &particle), CSIM_OK);
    hash = csim_world_hash(w);
    wrong.radius = -1;
    STATUS(csim_body_add_shape(NULL, id, &ball, &number), CSIM_NULL_ARGUMENT);
    STATUS(csim_body_add_shape(w, id, NULL, &number), CSIM_NULL_ARGUMENT);
    STATUS(csim_body_add_shape(w, id, &wrong, &number), CSIM_OUT_OF_RANGE);
    CHECK(strstr(csim_last_error(w), "radius") != NULL);
    STATUS(csim_body_add_shape(w, id, &hull, &number), CSIM_BAD_MESH);
    STATUS(csim_body_add_shape(w, id, &plane, &number), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_add_shape(w, particle, &ball, &number), CSIM_WRONG_KIND);
    STATUS(csim_body_set_shape(w, id, 1, &ball), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_set_shape(w, id, -1, NULL), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_set_shape_enabled(w, id, 1, false), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_set_density(w, id, 0), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_set_density(w, still, 1), CSIM_OUT_OF_RANGE);
    CHECK(strstr(csim_last_error(w), "at least one that has a mass") != NULL);
    CHECK(csim_world_hash(w) == hash);
    EQUAL(number, 7);
    for (i = 0; i < 2; i++) STATUS(csim_body_add_shape(w, id, &ball, &number), CSIM_OK);
    STATUS(csim_body_add_shape(w, still, &ball, &number), CSIM_CAPACITY);
    CHECK(strstr(csim_last_error(w), "capacity.shapes") != NULL);
    STATUS(csim_body_set_shape(w, id, 1, NULL), CSIM_OK);
    STATUS(csim_body_set_shape(w, id, 1, &ball), CSIM_OUT_OF_RANGE); /* it is gone */
    STATUS(csim_body_set_shape_sensor(w, id, 1, true), CSIM_OUT_OF_RANGE);
    STATUS(csim_body_add_shape(w, still, &ball, &number), CSIM_CAPACITY); /* its number is the body's */
    STATUS(csim_body_add_shape(w, id, &ball, &number), CSIM_OK);
    EQUAL(number, 1);
    csim_destroy_world(w);
    /* a heap world grows; all shapes removed, the body stays what it was */
    w = empty_world(0);
    id = put(w, &ball, 1, csim_v3(0, 0, 0), CSIM_DYNAMIC);
    for (i = 1; i < 300; i++) STATUS(csim_body_add_shape(w, id, &ball, &number), CSIM_OK);
    EQUAL(number, 299);
    for (i = 0; i < 300; i++) STATUS(csim_body_set_shape(w, id, i, NULL), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    STATUS(csim_body_set_density(w, id, 1), CSIM_OUT_OF_RANGE);
    STATUS(csim_destroy_body(w, id), CSIM_OK);
    csim_destroy_world(w);
}
