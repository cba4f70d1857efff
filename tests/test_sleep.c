/* Sleep: who falls asleep and who must not, what wakes whom, and that a step costs what is awake: counted, not
   timed. */
#include "check.h"
#include "hostile_world.h"

static csim_world *make_world(void) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    d.can_sleep = true;
    STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
    return w;
}

static csim_body_id ground(csim_world *w) {
    csim_body_id id = {0, 0, 0};
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id), CSIM_OK);
    return id;
}

static csim_body_id box_of(csim_world *w, csim_real x, csim_real y, csim_real z, csim_real half, csim_motion motion) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape s = csim_box(csim_v3(half, half, half));
    csim_body_id id = {0, 0, 0};
    d.shapes = &s;
    d.shape_count = 1;
    d.motion = motion;
    d.pose.position = csim_v3(x, y, z);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

static csim_body_id crate(csim_world *w, csim_real x, csim_real y, csim_real z) {
    return box_of(w, x, y, z, CSIM_R(0.25), CSIM_DYNAMIC);
}

static csim_step_stats step(csim_world *w) {
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    return csim_world_stats(w);
}

/* Steps until everything is asleep, at most so many; how many they were. */
static int settle(csim_world *w, int most) {
    int i;
    for (i = 0; i < most; i++)
        if (step(w).awake == 0) return i + 1;
    return most + 1;
}

static bool awake(const csim_world *w, csim_body_id id) {
    bool is = false;
    STATUS(csim_body_is_awake(w, id, &is), CSIM_OK);
    return is;
}

static csim_vec3 at(const csim_world *w, csim_body_id id) {
    csim_pose p = csim_pose_identity();
    STATUS(csim_body_get_pose(w, id, &p), CSIM_OK);
    return p.position;
}

static csim_real speed(const csim_world *w, csim_body_id id) {
    csim_vec3 v = csim_v3(0, 0, 0), turn;
    STATUS(csim_body_get_velocity(w, id, &v, &turn), CSIM_OK);
    return csim_length(v) + csim_length(turn);
}

/* ---- a field of stacks */

enum { SIDE = 10, HIGH = 4, CRATES = SIDE * SIDE * HIGH };

static csim_world *stacks(csim_body_id *id) {
    csim_world *w = make_world();
    int i;
    ground(w);
    for (i = 0; i < CRATES; i++)
        id[i] = crate(w, CSIM_R(0.8) * (csim_real)(i / HIGH % SIDE), CSIM_R(0.8) * (csim_real)(i / HIGH / SIDE),
                      CSIM_R(0.25) + CSIM_R(0.5) * (csim_real)(i % HIGH));
    return w;
}

TEST(crates_asleep_cost_no_pair_no_contact_no_island) {
    csim_body_id id[CRATES];
    csim_world *w = stacks(id);
    csim_step_stats s;
    uint64_t hash;
    int i, n;
    s = step(w);
    EQUAL(s.awake, CRATES);
    EQUAL(s.islands, SIDE * SIDE);
    CHECK(settle(w, 120) <= 120);
    EQUAL(csim_world_events(w).sleep_count, CRATES);
    CHECK(csim_world_events(w).sleeps[0].asleep);
    hash = csim_world_hash(w);
    for (i = 0; i < 100; i++) {
        s = step(w);
        EQUAL(s.asleep, CRATES);
        EQUAL(s.awake + s.pairs + s.contacts + s.islands + s.touching, 0);
        EQUAL(csim_world_events(w).end_count + csim_world_events(w).begin_count + csim_world_events(w).sleep_count, 0);
    }
    CHECK(csim_world_hash(w) == hash);
    (void)csim_world_contacts(w, &n);
    EQUAL(n, 0);
    (void)csim_world_sleeping_contacts(w, &n);
    CHECK(n >= 4 * CRATES);
    (void)csim_world_ended(w, &n);
    EQUAL(n, 0); /* a contact that sleeps has not ended */
    STATUS(csim_body_set_velocity(w, id[HIGH * 37 + 2], csim_v3(0, 0, 1), csim_v3(0, 0, 0)), CSIM_OK);
    s = step(w);
    EQUAL(s.woke, HIGH);
    EQUAL(csim_world_events(w).sleep_count, HIGH);
    EQUAL(csim_world_events(w).end_count + csim_world_events(w).begin_count, 0); /* they have touched all the time */
    EQUAL(s.awake, HIGH);
    EQUAL(s.asleep, CRATES - HIGH);
    EQUAL(s.islands, 1);
    CHECK(s.pairs <= 2 * HIGH && s.contacts <= 8 * HIGH);
    for (i = 0; i < CRATES; i++) EQUAL(awake(w, id[i]), i / HIGH == 37);
    CHECK(settle(w, 200) <= 200);
    csim_destroy_world(w);
}

/* What wakes goes on from the impulses it slept on: it does not start. */
TEST(waking_does_not_shake) {
    csim_body_id id[CRATES];
    csim_world *w = stacks(id);
    csim_vec3 before[CRATES];
    csim_real most = 0, far = 0;
    int i, k, n, began = 0;
    REQUIRE(settle(w, 120) <= 120);
    for (i = 0; i < CRATES; i++) before[i] = at(w, id[i]);
    STATUS(csim_world_set_gravity(w, csim_v3(0, 0, CSIM_R(-9.80))), CSIM_OK);
    for (k = 0; k < 10; k++) {
        const csim_contact_info *c;
        EQUAL(step(w).awake, CRATES);
        c = csim_world_contacts(w, &n);
        for (i = 0; i < n; i++) began += c[i].began && k == 0;
        for (i = 0; i < CRATES; i++) {
            most = csimi_max(most, speed(w, id[i]));
            far = csimi_max(far, csim_length(csim_sub(at(w, id[i]), before[i])));
        }
    }
    EQUAL(began, 0);
    NEAR(most, 0, TOL(1e-3, 2e-3)); /* free fall of one step is 0.1 m/s */
    NEAR(far, 0, TOL(2e-5, 5e-5));
    csim_destroy_world(w);
}

/* ---- every kind of body */

enum { KINDS = 7 };

static csim_body_id make_kind(csim_world *w, int kind, csim_real x) {
    csim_particle_def p = csim_default_particle_def();
    csim_soft_def s = csim_default_soft_def();
    csim_cloth_def c = csim_default_cloth_def();
    csim_cable_def cable = csim_default_cable_def();
    csim_tree_def t = csim_default_tree_def();
    csim_tree_link_def l[2];
    csim_shape shape = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_reduced_def r = csim_default_reduced_def();
    csim_body_id id = {0, 0, 0};
    switch (kind) {
    case 0: return crate(w, x, 0, CSIM_R(0.25));
    case 1:
        p.position = csim_v3(x, 0, CSIM_R(0.05));
        p.radius = CSIM_R(0.05);
        p.damping = 10; /* nothing else stops a ball that rolls */
        STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
        break;
    case 2:
        s.vertices = hostile_x;
        s.vertex_count = 8;
        s.tets = hostile_tets;
        s.tet_count = 6;
        s.mass_damping = 5;
        s.pose.position = csim_v3(x, 0, CSIM_R(0.001));
        STATUS(csim_create_soft(w, &s, &id), CSIM_OK);
        break;
    case 3:
        c.vertices = hostile_x;
        c.vertex_count = 4;
        c.triangles = hostile_faces;
        c.triangle_count = 2;
        c.mass_damping = 5;
        c.pose.position = csim_v3(x, 0, CSIM_R(0.01));
        STATUS(csim_create_cloth(w, &c, &id), CSIM_OK);
        break;
    case 4:
        cable.start = csim_v3(x, 0, CSIM_R(0.02));
        cable.end = csim_v3(x, 1, CSIM_R(0.02));
        cable.segments = 5;
        cable.mass_damping = 5;
        STATUS(csim_create_cable(w, &cable, &id), CSIM_OK);
        break;
    case 5:
        l[0] = l[1] = csim_default_tree_link_def();
        l[0].parent = -1;
        l[0].joint = CSIM_TREE_FLOATING;
        l[1].parent = 0;
        l[1].joint = CSIM_TREE_REVOLUTE;
        l[1].axis = csim_v3(1, 0, 0);
        l[1].frame.position = csim_v3(0, CSIM_R(0.25), 0);
        l[1].damping = 1;
        l[1].stiffness = 5;
        l[0].shapes = l[1].shapes = &shape;
        l[0].shape_count = l[1].shape_count = 1;
        t.links = l;
        t.link_count = 2;
        t.pose.position = csim_v3(x, 0, CSIM_R(0.1));
        STATUS(csim_create_tree(w, &t, &id), CSIM_OK);
        break;
    default:
        r.modes = hostile.modes;
        r.mass_damping = 5;
        r.pose.position = csim_v3(x, 0, CSIM_R(0.001));
        STATUS(csim_create_reduced(w, &r, &id), CSIM_OK);
        break;
    }
    return id;
}

TEST(every_kind_falls_asleep_and_wakes) {
    csim_body_id id[KINDS], all[KINDS + 1];
    int k, i;
    REQUIRE(hostile_make());
    for (k = 0; k < KINDS; k++) { /* each alone */
        csim_world *w = make_world();
        CASE("kind %d alone", k);
        ground(w);
        id[k] = make_kind(w, k, 0);
        CHECK(settle(w, 1500) <= 1500);
        CHECK(!awake(w, id[k]));
        NEAR(speed(w, id[k]), 0, 0);
        STATUS(csim_body_add_force(w, id[k], csim_v3(0, 0, 1), csim_v3(0, 0, 0)), CSIM_OK);
        CHECK(awake(w, id[k]));
        EQUAL(step(w).awake, 1);
        csim_destroy_world(w);
    }
    { /* all in one world: each sleeps by itself, one that wakes leaves the others as they are, bit for bit */
        csim_world *w = make_world();
        CASE("all together");
        ground(w);
        for (k = 0; k < KINDS; k++) id[k] = make_kind(w, k, 2 * (csim_real)k);
        CHECK(settle(w, 1500) <= 1500);
        for (k = 0; k < KINDS; k++) {
            csim_vec3 was[KINDS];
            CASE("kind %d wakes among all", k);
            for (i = 0; i < KINDS; i++) was[i] = at(w, id[i]);
            STATUS(csim_body_set_awake(w, id[k], true), CSIM_OK);
            STATUS(csim_body_add_force(w, id[k], csim_v3(0, 0, 2), csim_v3(0, 0, 0)), CSIM_OK);
            for (i = 0; i < 3; i++) EQUAL(step(w).awake, 1);
            for (i = 0; i < KINDS; i++) {
                csim_vec3 now = at(w, id[i]);
                EQUAL(awake(w, id[i]), i == k);
                if (i != k) CHECK(memcmp(&now, was + i, sizeof now) == 0);
            }
            CHECK(settle(w, 600) <= 600);
        }
        EQUAL(csim_world_bodies(w, all, KINDS + 1), KINDS + 1); /* in the order they were made */
        for (k = 0; k < KINDS; k++) EQUAL(all[k + 1].index1, id[k].index1);
        csim_destroy_world(w);
    }
    hostile_free();
}

/* ---- what wakes */

static void drop_ball(csim_world *w, csim_real x) {
    csim_particle_def p = csim_default_particle_def();
    csim_body_id id;
    p.position = csim_v3(x, 0, CSIM_R(0.8));
    p.radius = CSIM_R(0.05);
    p.velocity = csim_v3(0, 0, -5);
    STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
}

TEST(each_cause_wakes_the_island_and_no_other) {
    enum { CAUSES = 12 };
    static const char *const name[CAUSES] = {"touch",    "force",       "velocity",       "pose",
                                             "friction", "destruction", "a link",         "motion",
                                             "awake",    "a mass near", "a ground moved", "a ground created"};
    int cause;
    for (cause = 0; cause < CAUSES; cause++) {
        csim_world *w = make_world();
        csim_body_id shelf = box_of(w, 0, 0, CSIM_R(-0.5), CSIM_R(0.5), CSIM_STATIC), low, high, other, made;
        csim_body_id other_shelf = box_of(w, 5, 0, CSIM_R(-0.5), CSIM_R(0.5), CSIM_STATIC);
        csim_spring_def spring = csim_default_spring_def();
        csim_link_id link;
        csim_pose pose = csim_pose_identity();
        int i;
        CASE("%s", name[cause]);
        low = crate(w, 0, 0, CSIM_R(0.25));
        high = crate(w, 0, 0, CSIM_R(0.75));
        other = crate(w, 5, 0, CSIM_R(0.25));
        REQUIRE(settle(w, 200) <= 200);
        switch (cause) {
        case 0: drop_ball(w, 0); break;
        case 1: STATUS(csim_body_add_force(w, high, csim_v3(0, 0, 1), csim_v3(0, 0, 0)), CSIM_OK); break;
        case 2: STATUS(csim_body_set_velocity(w, high, csim_v3(0, 0, 0), csim_v3(0, 0, 1)), CSIM_OK); break;
        case 3:
            pose.position = csim_v3(0, 0, CSIM_R(1.2));
            STATUS(csim_body_set_pose(w, high, pose), CSIM_OK);
            break;
        case 4: STATUS(csim_body_set_friction(w, low, CSIM_R(0.1)), CSIM_OK); break;
        case 5: STATUS(csim_destroy_body(w, shelf), CSIM_OK); break;
        case 6:
            spring.a.body = high;
            spring.a.point = at(w, high);
            spring.b.point = csim_v3(0, 0, 2);
            STATUS(csim_create_spring(w, &spring, &link), CSIM_OK);
            break;
        case 7: STATUS(csim_body_set_motion(w, shelf, CSIM_KINEMATIC), CSIM_OK); break;
        case 8: STATUS(csim_body_set_awake(w, low, true), CSIM_OK); break;
        case 9: made = crate(w, CSIM_R(0.49), 0, CSIM_R(0.75)); break; /* overlaps by a centimetre */
        case 10:
            pose.position = csim_v3(0, 0, CSIM_R(-0.6));
            STATUS(csim_body_set_pose(w, shelf, pose), CSIM_OK);
            break;
        case 11: made = box_of(w, CSIM_R(0.7), 0, CSIM_R(0.5), CSIM_R(0.5), CSIM_STATIC); break;
        }
        (void)made;
        for (i = 0; i < 12; i++) {
            EQUAL(step(w).asleep >= 1, 1);
            CHECK(!awake(w, other));
        }
        CHECK(awake(w, low) && awake(w, high));
        if (cause == 5 || cause == 10) CHECK(at(w, low).z < CSIM_R(0.2)); /* nothing hangs in the air */
        STATUS(csim_destroy_body(w, other_shelf), CSIM_OK);
        step(w);
        CHECK(awake(w, other));
        csim_destroy_world(w);
    }
}

TEST(questions_and_nothing_new_wake_nobody) {
    csim_world *w = make_world();
    csim_body_id shelf = ground(w), a = crate(w, 0, 0, CSIM_R(0.25)), belt, out[4];
    csim_query_hit hit;
    csim_pose pose;
    csim_vec3 v, turn;
    bool found = false;
    int i;
    belt = box_of(w, 0, 2, CSIM_R(0.25), CSIM_R(0.25), CSIM_KINEMATIC);
    REQUIRE(settle(w, 200) <= 200);
    STATUS(csim_world_set_gravity(w, csim_v3(0, 0, CSIM_R(-9.81))), CSIM_OK);
    STATUS(csim_body_add_force(w, a, csim_v3(0, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    STATUS(csim_body_set_velocity(w, belt, csim_v3(0, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    STATUS(csim_body_get_pose(w, a, &pose), CSIM_OK);
    STATUS(csim_body_get_velocity(w, a, &v, &turn), CSIM_OK);
    (void)csim_world_bodies(w, out, 4);
    found = csim_world_cast_ray(w, NULL, csim_v3(0, 0, 3), csim_v3(0, 0, -5), &hit);
    CHECK(found && hit.body.index1 == a.index1); /* it is seen where it lies */
    NEAR(hit.point.z, 0.5, 1e-3);
    STATUS(csim_body_set_velocity(w, shelf, csim_v3(0, 0, 0), csim_v3(0, 0, 0)), CSIM_WRONG_KIND);
    STATUS(csim_body_set_friction(w, a, -1), CSIM_OUT_OF_RANGE); /* what fails changes nothing */
    for (i = 0; i < 5; i++) EQUAL(step(w).asleep, 1);
    csim_destroy_world(w);
}

/* A lift under a crate: set going it wakes it, stopped it lets it sleep; a kinematic body that passes pushes. */
TEST(moved_ground_wakes_what_lies_on_it) {
    csim_world *w = make_world();
    csim_body_id lift = box_of(w, 0, 0, CSIM_R(-0.5), CSIM_R(0.5), CSIM_KINEMATIC), a = crate(w, 0, 0, CSIM_R(0.25));
    csim_body_id ram;
    csim_real z;
    int i;
    REQUIRE(settle(w, 200) <= 200);
    z = at(w, a).z;
    STATUS(csim_body_set_velocity(w, lift, csim_v3(0, 0, CSIM_R(0.1)), csim_v3(0, 0, 0)), CSIM_OK);
    for (i = 0; i < 100; i++) EQUAL(step(w).awake, 1);
    NEAR(at(w, a).z - z, 0.1, 2e-3);
    STATUS(csim_body_set_velocity(w, lift, csim_v3(0, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    REQUIRE(settle(w, 200) <= 200);
    ram = box_of(w, 1, 0, CSIM_R(0.6), CSIM_R(0.2), CSIM_KINEMATIC);
    for (i = 0; i < 10; i++) EQUAL(step(w).awake, 0);
    STATUS(csim_body_set_velocity(w, ram, csim_v3(-1, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    for (i = 0; i < 100 && !awake(w, a); i++) step(w);
    CHECK(i > 20 && i < 100); /* when it is there, not when it starts */
    for (i = 0; i < 20; i++) step(w);
    CHECK(at(w, a).x < CSIM_R(-0.1));
    csim_destroy_world(w);
}

/* Paths of what spins fast stop at sleepers of every shape, whom the next step's contact wakes. */
TEST(paths_lead_into_no_sleeper) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_rigid_def r = csim_default_rigid_def();
    csim_shape rod = csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.02), CSIM_R(0.02)));
    csim_body_id a, tree, spinner;
    int i, woke = 0;
    d.can_sleep = d.follow_paths = true;
    STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
    ground(w);
    REQUIRE(hostile_make());
    a = crate(w, 0, CSIM_R(0.6), CSIM_R(0.25));
    tree = make_kind(w, 5, CSIM_R(-0.6));
    REQUIRE(settle(w, 600) <= 600);
    r.shapes = &rod;
    r.shape_count = 1;
    r.pose.position = csim_v3(0, 0, CSIM_R(0.1));
    r.angular_velocity = csim_v3(0, 0, 60);
    STATUS(csim_create_rigid(w, &r, &spinner), CSIM_OK);
    for (i = 0; i < 60; i++) {
        woke += step(w).woke;
        CHECK(at(w, a).y > CSIM_R(0.5) && at(w, tree).x < CSIM_R(-0.5));
    }
    CASE("%d woke, spin %g", woke, (double)speed(w, spinner));
    CHECK(woke > 0);
    csim_destroy_world(w);
    hostile_free();
}

/* A joint at rest sleeps; its motor set going wakes it; a drive told the same again does not. */
TEST(motors_and_drives_wake) {
    csim_world *w = make_world();
    csim_joint_def j = csim_default_joint_def();
    csim_tree_def t = csim_default_tree_def();
    csim_tree_link_def l = csim_default_tree_link_def();
    csim_shape shape = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_motor motor;
    csim_body_id door = crate(w, CSIM_R(0.5), 0, 1), arm;
    csim_link_id hinge;
    j.kind = CSIM_JOINT_HINGE;
    j.a.body = door;
    j.a.point = j.b.point = csim_v3(0, 0, 1);
    j.axis = csim_v3(0, 0, 1);
    STATUS(csim_create_joint(w, &j, &hinge), CSIM_OK);
    l.parent = -1;
    l.joint = CSIM_TREE_REVOLUTE;
    l.axis = csim_v3(0, 0, 1);
    l.stiffness = 50;
    l.rate_gain = 10;
    l.shapes = &shape;
    l.shape_count = 1;
    t.links = &l;
    t.link_count = 1;
    t.pose.position = csim_v3(3, 0, 1);
    STATUS(csim_create_tree(w, &t, &arm), CSIM_OK);
    REQUIRE(settle(w, 300) <= 300);
    STATUS(csim_tree_set_target(w, arm, 0, 0, 0), CSIM_OK);
    EQUAL(step(w).awake, 0);
    STATUS(csim_tree_set_target(w, arm, 0, CSIM_R(0.5), 0), CSIM_OK);
    EQUAL(step(w).awake, 1);
    CHECK(awake(w, arm) && !awake(w, door));
    motor = j.motor;
    motor.kind = CSIM_MOTOR_VELOCITY;
    motor.target = 1;
    motor.force = 1000;
    STATUS(csim_joint_set_motor(w, hinge, &motor), CSIM_OK);
    EQUAL(step(w).awake, 2);
    CHECK(speed(w, door) > CSIM_R(0.1));
    csim_destroy_world(w);
}

/* ---- who must not sleep */

TEST(nothing_freezes_in_the_air) {
    csim_world *w = make_world();
    csim_particle_def p = csim_default_particle_def();
    csim_body_id thrown, hung;
    csim_joint_def j = csim_default_joint_def();
    csim_link_id link;
    int i, turned = 0;
    csim_real before = 1, top = 0;
    p.position = csim_v3(0, 0, 1);
    p.velocity = csim_v3(0, 0, 2);
    STATUS(csim_create_particle(w, &p, &thrown), CSIM_OK);
    hung = box_of(w, CSIM_R(4.05), 0, 1, CSIM_R(0.05), CSIM_DYNAMIC); /* a pendulum of a second, 50 mm wide */
    j.a.body = hung;
    j.a.point = csim_v3(CSIM_R(4.05), 0, 1);
    j.b.point = csim_v3(4, 0, CSIM_R(1.5));
    j.kind = CSIM_JOINT_DISTANCE;
    STATUS(csim_create_joint(w, &j, &link), CSIM_OK);
    for (i = 0; i < 400; i++) {
        csim_vec3 v, turn;
        CHECK(step(w).awake == 2);
        STATUS(csim_body_get_velocity(w, hung, &v, &turn), CSIM_OK);
        turned += v.x * before < 0; /* it stands still for an instant */
        before = v.x;
        top = csimi_max(top, at(w, thrown).z);
    }
    CHECK(turned >= 3);
    NEAR(top, 1 + 2 * 2 / (2 * 9.81), 0.02);
    CHECK(at(w, thrown).z < -10);
    csim_destroy_world(w);
}

/* A damped particle sinks at g / alpha from the first second on, a creep that is known exactly. Faster than sleep_drift
   it never sleeps; slower it may be stopped, which is the bound that docs/sleep.md states. */
TEST(creep_above_the_bound_never_sleeps) {
    static const double rate[3] = {4, 1.1, 0.9}; /* of sleep_drift */
    int k, i;
    for (k = 0; k < 3; k++) {
        csim_world *w = make_world();
        const csim_world_def d = csim_default_world_def();
        csim_particle_def p = csim_default_particle_def();
        csim_body_id id;
        CASE("%g times the bound", rate[k]);
        p.damping = CSIM_R(9.81) / (d.sleep_drift * (csim_real)rate[k]);
        STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
        for (i = 0; i < 1000; i++) {
            const csim_step_stats s = step(w);
            if (k < 2) EQUAL(s.asleep, 0);
        }
        if (k < 2) NEAR(at(w, id).z, -10 * rate[k] * (double)d.sleep_drift, TOL(1e-6, 2e-5));
        EQUAL(awake(w, id), k < 2);
        csim_destroy_world(w);
    }
}

/* The same of a block that is dragged: slower than sleep_speed by far, and its steps are certified. */
TEST(a_block_on_a_slow_belt_never_sleeps) {
    csim_world *w = make_world();
    csim_body_id belt = box_of(w, 0, 0, -1, 1, CSIM_KINEMATIC), a = crate(w, 0, 0, CSIM_R(0.25));
    const csim_real v = CSIM_R(1e-5);
    int i;
    STATUS(csim_body_set_velocity(w, belt, csim_v3(v, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    for (i = 0; i < 1000; i++) step(w);
    NEAR(at(w, a).x, 10 * (double)v, TOL(2e-5, 2e-5)); /* it may sleep a step at a time: the belt wakes it */
    csim_destroy_world(w);
}

/* And of a cable across two others, whose nodes stand still while their edges turn as rollers do. */
TEST(a_cable_on_slow_rollers_never_sleeps) {
    csim_world *w = make_world();
    csim_cable_def d = csim_default_cable_def();
    csim_body_id a, roller;
    const csim_real radius = CSIM_R(0.05), v = CSIM_R(1e-5);
    csim_real frame[4];
    int i;
    d.radius = radius;
    d.segments = 1;
    for (i = -1; i < 2; i += 2) {
        d.start = csim_v3(CSIM_R(0.15) * (csim_real)i, CSIM_R(-0.5), 0);
        d.end = csim_v3(d.start.x, CSIM_R(0.5), 0);
        STATUS(csim_create_cable(w, &d, &roller), CSIM_OK);
        STATUS(csim_body_set_motion(w, roller, CSIM_KINEMATIC), CSIM_OK);
        STATUS(csim_cable_get_frames(w, roller, frame, 4), CSIM_OK);
        STATUS(csim_cable_set_frame(w, roller, 0, csimi_load_quat(frame), csim_v3(0, v / radius, 0)), CSIM_OK);
    }
    d.start = csim_v3(CSIM_R(-0.3), 0, 2 * radius);
    d.end = csim_v3(CSIM_R(0.3), 0, 2 * radius);
    d.segments = 3;
    d.young = CSIM_R(1e7);
    d.mass_damping = 5;
    STATUS(csim_create_cable(w, &d, &a), CSIM_OK);
    for (i = 0; i < 1000; i++) step(w);
    NEAR(at(w, a).x, 10 * (double)v, TOL(2e-6, 2e-5));
    csim_destroy_world(w);
}

/* Who may not sleep, as it was told or for a sensor that it carries, outweighs who was told to, be it itself. */
TEST(who_may_not_sleep_is_put_to_bed_by_nobody) {
    int k, i;
    for (k = 0; k < 4; k++) {
        csim_world *w = make_world();
        csim_rigid_def d = csim_default_rigid_def();
        csim_shape s[2];
        csim_body_id id[2], apart;
        const bool sees = k % 2 != 0; /* the lower of two */
        CASE("%s, %s told to sleep", sees ? "a sensor" : "can_sleep false", k < 2 ? "what lies on it is" : "it is");
        ground(w);
        s[0] = csim_box(csim_v3(CSIM_R(0.25), CSIM_R(0.25), CSIM_R(0.25)));
        s[1] = csim_sphere(CSIM_R(0.1));
        s[1].sensor = true;
        d.shapes = s;
        d.shape_count = sees ? 2 : 1;
        d.pose.position = csim_v3(0, 0, CSIM_R(0.25));
        STATUS(csim_create_rigid(w, &d, id), CSIM_OK);
        id[1] = crate(w, 0, 0, CSIM_R(0.75));
        apart = crate(w, 3, 0, 2); /* in the air */
        if (!sees) STATUS(csim_body_set_can_sleep(w, id[0], false), CSIM_OK);
        for (i = 0; i < 70; i++) step(w);
        STATUS(csim_body_set_awake(w, id[k < 2], false), CSIM_OK);
        for (i = 0; i < 3; i++) {
            step(w);
            CHECK(awake(w, id[0]) && awake(w, id[1]));
        }
        STATUS(csim_body_set_awake(w, apart, false), CSIM_OK);
        step(w);
        CHECK(!awake(w, apart)); /* whatever others do */
        csim_destroy_world(w);
    }
}

/* What was told to sleep when it could not does not stop in the air when it may again. */
TEST(told_to_sleep_is_of_the_next_step) {
    csim_world *w = make_world();
    csim_body_id a = crate(w, 0, 0, 1);
    int i;
    STATUS(csim_body_set_can_sleep(w, a, false), CSIM_OK);
    STATUS(csim_body_set_awake(w, a, false), CSIM_OK);
    EQUAL(step(w).asleep, 0);
    STATUS(csim_body_set_can_sleep(w, a, true), CSIM_OK);
    for (i = 0; i < 10; i++) EQUAL(step(w).asleep, 0);
    STATUS(csim_body_set_awake(w, a, false), CSIM_OK);
    EQUAL(step(w).asleep, 1);
    csim_destroy_world(w);
}

TEST(one_that_may_not_sleep_keeps_its_island_awake) {
    csim_world *w = make_world();
    csim_body_id low, high, apart;
    int i;
    ground(w);
    low = crate(w, 0, 0, CSIM_R(0.25));
    high = crate(w, 0, 0, CSIM_R(0.75));
    apart = crate(w, 3, 0, CSIM_R(0.25));
    STATUS(csim_body_set_can_sleep(w, high, false), CSIM_OK);
    for (i = 0; i < 120; i++) step(w);
    CHECK(awake(w, low) && awake(w, high) && !awake(w, apart));
    STATUS(csim_body_set_can_sleep(w, high, true), CSIM_OK);
    step(w);
    CHECK(!awake(w, low));
    STATUS(csim_body_set_can_sleep(w, low, false), CSIM_OK); /* wakes it */
    CHECK(awake(w, low) && awake(w, high));
    STATUS(csim_body_set_awake(w, apart, true), CSIM_OK);
    STATUS(csim_body_set_awake(w, apart, false), CSIM_OK);
    step(w);
    CHECK(!awake(w, apart));
    csim_destroy_world(w);
}

/* ---- bits */

/* A run that is saved and restored in every step, into another world at times, goes on with the same bits. */
static void restore_in(csim_world *to, const csim_world *from, unsigned char *bytes, size_t room) {
    size_t size = room;
    STATUS(csim_world_save(from, bytes, &size), CSIM_OK);
    STATUS(csim_world_restore(to, bytes, size), CSIM_OK);
    CHECK(csim_world_hash(to) == csim_world_hash(from));
}

static void act(csim_world *w, csim_body_id *id, int i) {
    csim_particle_def p = csim_default_particle_def();
    csim_body_id made;
    if (i == 90) STATUS(csim_body_set_velocity(w, id[0], csim_v3(1, 0, 1), csim_v3(0, 1, 0)), CSIM_OK);
    if (i == 130) STATUS(csim_body_add_force(w, id[2], csim_v3(0, 0, 5), csim_v3(0, 0, 0)), CSIM_OK);
    if (i == 150) STATUS(csim_body_set_awake(w, id[5], true), CSIM_OK);
    if (i == 170) STATUS(csim_world_set_gravity(w, csim_v3(0, CSIM_R(0.1), CSIM_R(-9.81))), CSIM_OK);
    if (i != 200) return;
    p.position = csim_v3(4, 0, CSIM_R(0.3));
    p.radius = CSIM_R(0.04);
    STATUS(csim_create_particle(w, &p, &made), CSIM_OK);
    STATUS(csim_destroy_body(w, id[3]), CSIM_OK);
}

TEST(what_slept_and_woke_goes_on_with_the_bits_of_a_restored_run) {
    enum { ROOM = 1 << 21 };
    csim_body_id id[KINDS];
    csim_world *w, *v;
    unsigned char *bytes = (unsigned char *)malloc(ROOM);
    int i, k, slept = 0, woke = 0;
    REQUIRE(hostile_make() && bytes);
    w = make_world();
    v = make_world();
    ground(w);
    ground(v);
    for (k = 0; k < KINDS; k++) id[k] = make_kind(w, k, 2 * (csim_real)k);
    for (k = 0; k < KINDS; k++) (void)make_kind(v, k, 2 * (csim_real)k); /* knows the modes */
    for (i = 0; i < 300; i++) {
        csim_step_stats s;
        act(w, id, i);
        restore_in(v, w, bytes, ROOM);
        s = step(w);
        slept += s.fell_asleep;
        woke += s.woke;
        if (i % 7 == 3) restore_in(v, v, bytes, ROOM);
        step(v);
        CASE("step %d", i);
        if (csim_world_hash(w) != csim_world_hash(v)) break;
    }
    EQUAL(i, 300);
    CASE("%d fell asleep, %d woke", slept, woke);
    CHECK(slept > KINDS && woke >= KINDS);
    free(bytes);
    csim_destroy_world(w);
    csim_destroy_world(v);
    hostile_free();
}

/* A world that does not sleep wakes what a snapshot says is asleep. */
TEST(a_world_that_does_not_sleep_wakes_whom_it_is_given) {
    enum { ROOM = 1 << 18 };
    static unsigned char bytes[ROOM];
    csim_world_def d = csim_default_world_def();
    csim_world *w = make_world(), *v = NULL;
    csim_body_id a;
    size_t size = ROOM;
    int i;
    csim_contact_info const *c;
    ground(w);
    a = crate(w, 0, 0, CSIM_R(0.25));
    REQUIRE(settle(w, 200) <= 200);
    step(w);
    STATUS(csim_world_save(w, bytes, &size), CSIM_OK);
    STATUS(csim_create_world(&d, &v, NULL), CSIM_OK);
    STATUS(csim_world_restore(v, bytes, size), CSIM_OK);
    EQUAL(step(v).awake, 1);
    c = csim_world_contacts(v, &i);
    CHECK(i >= 4 && !c[0].began);
    for (i = 0; i < 100; i++) EQUAL(step(v).asleep, 0);
    (void)a;
    csim_destroy_world(w);
    csim_destroy_world(v);
}

/* A step that fails after it has woken somebody leaves him asleep. */
TEST(a_step_that_fails_wakes_nobody) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id a, b;
    uint64_t hash;
    size_t bytes = 0;
    void *block;
    d.can_sleep = true;
    d.capacity.bodies = 4;
    d.capacity.contacts = 6;
    STATUS(csim_world_bytes(&d, &bytes, NULL), CSIM_OK);
    block = malloc(bytes + 64);
    REQUIRE(block);
    STATUS(csim_create_world_in(&d, (void *)(((uintptr_t)block + 63) / 64 * 64), bytes, &w, NULL), CSIM_OK);
    ground(w);
    a = crate(w, 0, 0, CSIM_R(0.25));
    REQUIRE(settle(w, 200) <= 200);
    b = crate(w, 0, 0, CSIM_R(0.7499)); /* four contacts more than there is room for */
    hash = csim_world_hash(w);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_CAPACITY);
    CHECK(!awake(w, a) && csim_world_hash(w) == hash);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_CAPACITY);
    EQUAL(csim_world_used(w).contacts, 8);
    STATUS(csim_destroy_body(w, b), CSIM_OK);
    EQUAL(step(w).asleep, 1);
    free(block);
}

/* What touches is still told of when islands fall asleep: in a block made for many pairs the room of the solve, which is
   given back by then, is less than theirs. */
TEST(a_block_for_many_pairs_has_room_to_fall_asleep) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    size_t bytes = 0;
    void *block;
    d.can_sleep = true;
    d.capacity.bodies = 4;
    d.capacity.contacts = 6;
    d.capacity.pairs = 5000;
    STATUS(csim_world_bytes(&d, &bytes, NULL), CSIM_OK);
    block = malloc(bytes + 64);
    REQUIRE(block);
    STATUS(csim_create_world_in(&d, (void *)(((uintptr_t)block + 63) / 64 * 64), bytes, &w, NULL), CSIM_OK);
    ground(w);
    (void)crate(w, 0, 0, CSIM_R(0.25));
    CHECK(settle(w, 200) <= 200);
    EQUAL(step(w).asleep, 1);
    free(block);
}

/* ---- everything at once, by chance */

TEST(random_worlds_keep_their_promises) {
    enum { ROOM = 1 << 22, MOST = 12 };
    unsigned char *bytes = (unsigned char *)malloc(ROOM);
    const int runs = check_long() ? 60 : 2;
    int run, i, k;
    REQUIRE(hostile_make() && bytes);
    for (run = 0; run < runs; run++) {
        csim_world *w = make_world();
        csim_body_id id[MOST];
        csim_vec3 was[MOST];
        bool slept[MOST];
        int count = 0;
        ground(w);
        for (i = 0; i < 200; i++) {
            csim_step_stats s;
            int sleepers = 0;
            CASE("run %d step %d", run, i);
            if (count < MOST && check_random(0, 1) < 0.1)
                id[count++] = make_kind(w, (int)check_random(0, 6.99), (csim_real)check_random(0, 3));
            k = count > 0 ? (int)check_random(0, count - 0.01) : 0;
            if (count > 0 && check_random(0, 1) < 0.03)
                STATUS(csim_body_add_force(w, id[k], csim_v3(0, 0, 20), csim_v3(0, 0, 0)), CSIM_OK);
            if (count > 0 && check_random(0, 1) < 0.03) STATUS(csim_body_set_awake(w, id[k], false), CSIM_OK);
            if (count > 0 && check_random(0, 1) < 0.02) {
                STATUS(csim_destroy_body(w, id[k]), CSIM_OK);
                id[k] = id[--count];
            }
            for (k = 0; k < count; k++) {
                slept[k] = !awake(w, id[k]);
                was[k] = at(w, id[k]);
            }
            if (check_random(0, 1) < 0.2) {
                size_t size = ROOM;
                STATUS(csim_world_save(w, bytes, &size), CSIM_OK);
                s = step(w);
                {
                    const uint64_t after = csim_world_hash(w);
                    STATUS(csim_world_restore(w, bytes, size), CSIM_OK);
                    s = step(w);
                    CHECK(csim_world_hash(w) == after);
                }
            } else {
                s = step(w);
            }
            for (k = 0; k < count; k++) {
                csim_vec3 now = at(w, id[k]);
                sleepers += !awake(w, id[k]);
                if (slept[k] && !awake(w, id[k])) CHECK(memcmp(&now, was + k, sizeof now) == 0);
            }
            EQUAL(s.asleep, sleepers);
            EQUAL(s.awake + s.asleep, count);
        }
        csim_destroy_world(w);
    }
    free(bytes);
    hostile_free();
}
