/* Bodies and shapes changed while a world runs, against exact motions and conserved quantities. */
#include "check.h"
#include "../amalgamate/parts/world/alter.h"
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
    STATUS(csim_create_particle(w, &pd, &particle), CSIM_OK);
    STATUS(csim_body_add_impulse_at(w, particle, csim_v3(4, 0, 0), csim_v3(1, 1, 1)), CSIM_OK);
    csim_body_get_velocity(w, particle, &v, NULL);
    NEAR((double)v.x, 2, 1e-6);
    STATUS(csim_body_set_motion(w, id, CSIM_STATIC), CSIM_OK);
    STATUS(csim_body_add_impulse_at(w, id, J, x), CSIM_OK);
    csim_body_get_velocity(w, id, &v, NULL);
    CHECK(!(csim_length(v) > 0));
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
    STATUS(csim_body_set_damping(w, tree, 1, 1), CSIM_WRONG_KIND);
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
