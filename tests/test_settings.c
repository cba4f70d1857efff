/* Every setting of a definition does what its comment says, to the digits: one step of one body, answers by hand. Written
   for what a mutation of the library survived; only public functions, so that nothing of its inside is taken for granted. */
#include "check.h"
#include <math.h>

#define CLOSE TOL(1e-12, 1e-5) /* a few roundings of numbers of about 1 */
static const double h = 0.01;

static csim_world *world_of(const csim_world_def *def) {
    csim_world *w = NULL;
    csim_error error;
    if (csim_create_world(def, &w, &error) != CSIM_OK) {
        printf("%s\n", error.text);
        exit(3);
    }
    return w;
}

static csim_world_def weightless(void) {
    csim_world_def d = csim_default_world_def();
    d.gravity = csim_v3(0, 0, 0);
    d.solver.tolerance = TOL(1e-12, 1e-5);
    return d;
}

/* A ball of radius 5 cm and 1 kg; touches the ground z = 0 at z = 0.05. */
static csim_body_id add_ball(csim_world *w, double z, double vx, double vz, double friction, double restitution) {
    csim_particle_def d = csim_default_particle_def();
    csim_body_id id;
    d.position = csim_v3(0, 0, (csim_real)z);
    d.velocity = csim_v3((csim_real)vx, 0, (csim_real)vz);
    d.radius = CSIM_R(0.05);
    d.surface.friction = (csim_real)friction;
    d.surface.restitution = (csim_real)restitution;
    STATUS(csim_create_particle(w, &d, &id), CSIM_OK);
    return id;
}

static csim_body_id add_ground(csim_world *w, double friction) {
    csim_body_id id;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), (csim_real)friction, &id), CSIM_OK);
    return id;
}

static void step_once(csim_world *w) { STATUS(csim_world_step(w, (csim_real)h), CSIM_OK); }

static csim_vec3 position_of(csim_world *w, csim_body_id id) {
    csim_pose pose;
    STATUS(csim_body_get_pose(w, id, &pose), CSIM_OK);
    return pose.position;
}

static void move_to(csim_world *w, csim_body_id id, double y) {
    csim_pose pose = csim_pose_identity();
    pose.position = csim_v3(0, (csim_real)y, 0);
    STATUS(csim_body_set_pose(w, id, pose), CSIM_OK);
}

static csim_vec3 velocity_of(csim_world *w, csim_body_id id) {
    csim_vec3 v;
    STATUS(csim_body_get_velocity(w, id, &v, NULL), CSIM_OK);
    return v;
}

static csim_vec3 spin_of(csim_world *w, csim_body_id id) {
    csim_vec3 v, spin;
    STATUS(csim_body_get_velocity(w, id, &v, &spin), CSIM_OK);
    return spin;
}

/* ---- stabilisation of contacts */

/* Where a resting ball that is `deep` in the ground comes out after one step. */
static double height_after(double deep, double share, double slop, double speed) {
    csim_world_def d = weightless();
    csim_world *w;
    csim_body_id ball;
    double z;
    d.stabilization = (csim_real)share;
    d.slop = (csim_real)slop;
    d.push_out_speed = (csim_real)speed;
    w = world_of(&d);
    add_ground(w, 0);
    ball = add_ball(w, 0.05 - deep, 0, 0, 0, 0);
    step_once(w);
    z = (double)position_of(w, ball).z;
    csim_destroy_world(w);
    return z;
}

TEST(stabilisation_takes_its_share_of_a_penetration) {
    const csim_world_def d = csim_default_world_def();
    NEAR(d.stabilization, 0.8, 1e-7);
    NEAR(d.push_out_speed, 1, 0);
    NEAR(d.slop, 0, 0);
    NEAR(d.restitution_threshold, 0.2, 1e-7);
    NEAR(height_after(0.01, 0.8, 0, 1), 0.05 - 0.002, CLOSE);
    NEAR(height_after(0.01, 0.3, 0, 1), 0.05 - 0.007, CLOSE);
    NEAR(height_after(0.01, 1, 0, 10), 0.05, CLOSE);
    NEAR(height_after(0.01, 0, 0, 1), 0.05 - 0.01, CLOSE);
}

TEST(nothing_is_pushed_out_faster_than_push_out_speed) {
    NEAR(height_after(0.04, 1, 0, 0.5), 0.01 + 0.5 * h, CLOSE);
    NEAR(height_after(0.04, 1, 0, 3), 0.01 + 3 * h, CLOSE);
    NEAR(height_after(0.04, 1, 0, 0), 0.01, CLOSE);
    NEAR(height_after(0.04, 0.5, 0, 3), 0.01 + 0.02, CLOSE); /* slower than the limit: the share */
}

TEST(slop_is_left_alone) {
    NEAR(height_after(0.01, 1, 0.004, 10), 0.05 - 0.004, CLOSE);
    NEAR(height_after(0.003, 1, 0.004, 10), 0.05 - 0.003, CLOSE);
    NEAR(height_after(0.01, 0.5, 0.004, 10), 0.05 - 0.01 + 0.5 * 0.006, CLOSE);
}

/* ---- restitution */

/* Normal velocity after a step in which a ball at `speed` down would pass the ground. */
static double bounced(double speed, double restitution, double threshold, csim_integrator integrator) {
    csim_world_def d = weightless();
    csim_world *w;
    csim_body_id ball;
    double v;
    d.integrator = integrator;
    d.restitution_threshold = (csim_real)threshold;
    w = world_of(&d);
    add_ground(w, 0);
    ball = add_ball(w, 0.05 + 0.3 * speed * h, 0, -speed, 0, restitution);
    step_once(w);
    v = (double)velocity_of(w, ball).z;
    csim_destroy_world(w);
    return v;
}

TEST(restitution_gives_back_its_share_above_the_threshold) {
    NEAR(bounced(1, 0.5, 0.2, CSIM_BACKWARD_EULER), 0.5, CLOSE);
    NEAR(bounced(2, 0.9, 0.2, CSIM_BACKWARD_EULER), 1.8, CLOSE);
    NEAR(bounced(1, 0.5, 1.5, CSIM_BACKWARD_EULER), -0.3, CLOSE); /* too slow to bounce: it closes the gap and rests */
    NEAR(bounced(1, 0, 0.2, CSIM_BACKWARD_EULER), -0.3, CLOSE);
}

/* A bounce that gravity alone brings about: two-step looks half a step on, and there the ball, particle or sphere, is
   1.02 h from the ground at 1 m/s. */
TEST(gravity_of_the_step_makes_a_bounce) {
    int kind, falls;
    for (kind = 0; kind < 2; kind++)
        for (falls = 0; falls < 2; falls++) {
            csim_world_def d = weightless();
            csim_rigid_def r = csim_default_rigid_def();
            const csim_shape sphere = csim_sphere(CSIM_R(0.05));
            const double z = 0.05 + 1.52 * h;
            csim_world *w;
            csim_body_id ball;
            CASE("kind %d, falls %d", kind, falls);
            d.integrator = CSIM_TWO_STEP;
            d.gravity.z = falls ? -10 : 0;
            w = world_of(&d);
            add_ground(w, 0);
            if (kind == 0) {
                ball = add_ball(w, z, 0, -1, 0, 0.5);
            } else {
                r.shapes = &sphere;
                r.shape_count = 1;
                r.pose.position.z = (csim_real)z;
                r.velocity.z = -1;
                r.surface.restitution = CSIM_R(0.5);
                STATUS(csim_create_rigid(w, &r, &ball), CSIM_OK);
            }
            step_once(w);
            NEAR(velocity_of(w, ball).z, falls ? 0.5 : -1, CLOSE);
            csim_destroy_world(w);
        }
}

TEST(the_larger_restitution_counts) {
    csim_world_def d = weightless();
    csim_world *w = world_of(&d);
    const csim_body_id low = add_ball(w, 0, 0, 1, 0, 0.3), high = add_ball(w, 0.105, 0, -1, 0, 0.6);
    step_once(w); /* two of 1 kg at 2 m/s against each other: they part at 0.6 times that */
    NEAR(velocity_of(w, low).z, -0.6, CLOSE);
    NEAR(velocity_of(w, high).z, 0.6, CLOSE);
    csim_destroy_world(w);
}

/* ---- friction of a pair */

static csim_real quarter(void *user, const csim_pair_info *pair) {
    (void)user, (void)pair;
    return CSIM_R(0.25);
}

static double slowed(double ball, double ground, bool own_rule) {
    csim_world_def d = weightless();
    csim_world *w;
    csim_body_id id;
    double v;
    d.gravity = csim_v3(0, 0, -10);
    if (own_rule) d.mix_friction = quarter;
    w = world_of(&d);
    add_ground(w, ground);
    id = add_ball(w, 0.05, 1, 0, ball, 0);
    step_once(w);
    v = (double)velocity_of(w, id).x;
    csim_destroy_world(w);
    return 1 - v;
}

TEST(friction_of_a_pair_is_the_root_of_the_product) {
    NEAR(slowed(0.4, 0.9, false), 0.6 * 10 * h, CLOSE);
    NEAR(slowed(0.9, 0.4, false), 0.6 * 10 * h, CLOSE);
    NEAR(slowed(0, 0.9, false), 0, CLOSE);
    NEAR(slowed(0.4, 0, false), 0, CLOSE);
    NEAR(slowed(0.4, 0.9, true), 0.25 * 10 * h, CLOSE);
}

/* A step of a ball of 10 N that rests on ground of friction 1, with 0.2 along x and 0.6 along y, under a force. */
static csim_contact_info pulled(double fx, double fy, bool own_rule, csim_vec3 *v) {
    csim_world_def d = weightless();
    csim_particle_def p = csim_default_particle_def();
    csim_contact_info of;
    csim_world *w;
    csim_body_id id;
    int count;
    d.gravity = csim_v3(0, 0, -10);
    if (own_rule) d.mix_friction = quarter;
    w = world_of(&d);
    add_ground(w, 1);
    p.position.z = p.radius = CSIM_R(0.05);
    p.mass = 1;
    p.surface.friction = CSIM_R(0.04);
    p.surface.friction2 = CSIM_R(0.36);
    STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
    STATUS(csim_body_add_force(w, id, csim_v3((csim_real)fx, (csim_real)fy, 0), csim_v3(0, 0, 0)), CSIM_OK);
    step_once(w);
    *v = velocity_of(w, id);
    of = *csim_world_contacts(w, &count);
    EQUAL(count, 1);
    csim_destroy_world(w);
    return of;
}

TEST(what_sticks_on_an_ellipse_is_told_to_stick) {
    static const double pull[9][2] = {{1.9, 0}, {0, 3},   {0, 5.9},   {1, 5},  {1.5, 3.8},
                                      {2.1, 0}, {0, 6.1}, {1.5, 4.2}, {1, 5.5}};
    csim_vec3 v;
    int i;
    for (i = 0; i < 9; i++) {
        const bool holds = pull[i][0] * pull[i][0] / 4 + pull[i][1] * pull[i][1] / 36 < 1; /* N: of what friction can */
        const csim_contact_info c = pulled(pull[i][0], pull[i][1], false, &v);
        CASE("%g N along x, %g N along y", pull[i][0], pull[i][1]);
        EQUAL(holds, i < 5);
        EQUAL(csim_length(v) < CSIM_R(1e-6), holds);
        EQUAL(c.state, holds ? CSIM_CONTACT_STICK : CSIM_CONTACT_SLIP);
    }
}

/* A rule of the user mixes what acts along friction_direction. */
TEST(a_mixing_rule_leaves_friction2_alone) {
    csim_vec3 v;
    (void)pulled(4, 0, true, &v);
    NEAR(v.x, (4 - 2.5) * h, CLOSE);
    (void)pulled(0, 8, true, &v);
    NEAR(v.y, (8 - 6) * h, CLOSE);
}

/* ---- damping and forces of users */

static csim_body_id add_box(csim_world *w, double linear_damping, double angular_damping) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_body_id id;
    d.shapes = &box;
    d.shape_count = 1;
    d.mass = 2;
    d.velocity = csim_v3(3, 0, 0);
    d.angular_velocity = csim_v3(0, 0, 2);
    d.linear_damping = (csim_real)linear_damping;
    d.angular_damping = (csim_real)angular_damping;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

/* Backward Euler of v' = -c v: a factor 1 / (1 + h c) a step. */
TEST(damping_slows_what_it_is_of) {
    csim_world_def d = weightless();
    csim_world *w = world_of(&d);
    const csim_body_id both = add_box(w, 5, 20), turns = add_box(w, 0, 20), moves = add_box(w, 5, 0);
    move_to(w, turns, 2);
    move_to(w, moves, 4);
    step_once(w);
    NEAR(velocity_of(w, both).x, 3 / (1 + 5 * h), CLOSE);
    NEAR(spin_of(w, both).z, 2 / (1 + 20 * h), CLOSE);
    NEAR(velocity_of(w, turns).x, 3, CLOSE);
    NEAR(spin_of(w, turns).z, 2 / (1 + 20 * h), CLOSE);
    NEAR(velocity_of(w, moves).x, 3 / (1 + 5 * h), CLOSE);
    NEAR(spin_of(w, moves).z, 2, CLOSE);
    csim_destroy_world(w);
}

TEST(forces_act_for_one_step) {
    csim_world_def d = weightless();
    csim_world *w = world_of(&d);
    const csim_body_id box = add_box(w, 0, 0), ball = add_ball(w, 5, 0, 0, 0, 0);
    const double inertia = 2 * 0.04 / 6; /* a cube of 20 cm and 2 kg: m a^2 / 6 */
    int i;
    STATUS(csim_body_add_force(w, box, csim_v3(0, 4, 0), csim_v3(0, 0, 1)), CSIM_OK);
    STATUS(csim_body_add_force(w, ball, csim_v3(0, 0, 3), csim_v3(0, 0, 0)), CSIM_OK);
    STATUS(csim_body_add_force(w, ball, csim_v3(0, 0, 4), csim_v3(0, 0, 0)), CSIM_OK); /* they add up */
    for (i = 0; i < 3; i++) {
        step_once(w);
        NEAR(velocity_of(w, box).y, 4 / 2.0 * h, CLOSE);
        NEAR(spin_of(w, box).z, 2 + h / inertia, TOL(1e-11, 1e-4));
        NEAR(velocity_of(w, ball).z, 7 * h, CLOSE);
    }
    csim_destroy_world(w);
}

/* ---- joints */

static const csim_body_id nobody = {0, 0, 0};

/* A box on a slider along x whose coordinate is 0 now. */
static csim_world *rail(double lower, double upper, double vx, double push_out_speed, csim_body_id *box) {
    csim_world_def d = weightless();
    csim_joint_def j = csim_default_joint_def();
    csim_link_id id;
    csim_world *w;
    d.push_out_speed = (csim_real)push_out_speed;
    w = world_of(&d);
    *box = add_box(w, 0, 0);
    STATUS(csim_body_set_velocity(w, *box, csim_v3((csim_real)vx, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    j.kind = CSIM_JOINT_SLIDER;
    j.a.body = *box;
    j.b.body = nobody;
    j.axis = csim_v3(1, 0, 0);
    j.limited = true;
    j.lower = (csim_real)lower;
    j.upper = (csim_real)upper;
    STATUS(csim_create_joint(w, &j, &id), CSIM_OK);
    return w;
}

static double moved(double lower, double upper, double vx, double push_out_speed) {
    csim_body_id box;
    csim_world *w = rail(lower, upper, vx, push_out_speed, &box);
    double x;
    step_once(w);
    x = (double)position_of(w, box).x;
    csim_destroy_world(w);
    return x;
}

TEST(limits_of_joints_push_one_way) {
    NEAR(moved(0, 1, 1, 1), h, CLOSE); /* off the lower limit: free */
    NEAR(moved(0, 1, -1, 1), 0, CLOSE);
    NEAR(moved(-1, 0, -1, 1), -h, CLOSE); /* off the upper one */
    NEAR(moved(-1, 0, 1, 1), 0, CLOSE);
    NEAR(moved(-1, 1, 3, 1), 3 * h, CLOSE);           /* far from both */
    NEAR(moved(-1, 0.02, 3, 1), 0.02, CLOSE);         /* just to the limit, not a step short of it */
    NEAR(moved(-0.02, 1, -3, 1), -0.02, CLOSE);
}

/* A box beyond its limit returns no faster than contacts push out. */
TEST(limits_of_joints_push_no_faster_than_push_out_speed) {
    NEAR(moved(0.5, 1, 0, 1), h, TOL(1e-9, 1e-5));
    NEAR(moved(0.5, 1, 0, 2), 2 * h, TOL(1e-9, 1e-5));
    NEAR(moved(-1, -0.5, 0, 2), -2 * h, TOL(1e-9, 1e-5));
    NEAR(moved(0.005, 1, 0, 2), 0.8 * 0.005, TOL(1e-9, 1e-5)); /* slower than that: the share of stabilisation */
}

/* ---- snapshots, flags */

static csim_world *pendulum(csim_integrator integrator, bool built, csim_link_id *pin) {
    csim_world_def d = csim_default_world_def();
    csim_world *w;
    d.integrator = integrator;
    w = world_of(&d);
    if (built) {
        csim_body_id box = add_box(w, 0, 0);
        csim_joint_def j = csim_default_joint_def();
        j.a.body = box;
        j.a.point = csim_v3(0, CSIM_R(0.5), 0);
        j.b.point = j.a.point;
        STATUS(csim_create_joint(w, &j, pin), CSIM_OK);
        add_ground(w, 0.5);
        add_ball(w, 0.05, 0.5, 0, 0.5, 0);
    }
    return w;
}

TEST(snapshots_keep_the_integrator_and_the_last_step) {
    const csim_integrator kinds[2] = {CSIM_MIDPOINT, CSIM_BACKWARD_EULER};
    int k, i;
    for (k = 0; k < 2; k++) {
        csim_link_id pin, same;
        csim_world *w = pendulum(kinds[k], true, &pin), *other = pendulum(kinds[1 - k], false, NULL);
        csim_joint_state a, b;
        size_t bytes = 0;
        void *saved;
        CASE("integrator %d", (int)kinds[k]);
        same = pin;
        same.world = add_ball(other, 0, 0, 0, 0, 0).world; /* the ball goes when the snapshot comes */
        for (i = 0; i < 5; i++) STATUS(csim_world_step(w, CSIM_R(0.004)), CSIM_OK);
        STATUS(csim_world_save(w, NULL, &bytes), CSIM_OK);
        saved = malloc(bytes);
        REQUIRE(saved);
        STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
        STATUS(csim_world_restore(other, saved, bytes), CSIM_OK);
        STATUS(csim_joint_get(w, pin, &a), CSIM_OK); /* force: impulse over the last step */
        STATUS(csim_joint_get(other, same, &b), CSIM_OK);
        CHECK(csim_length(a.force) > 1);
        CHECK(memcmp(&a.force, &b.force, sizeof a.force) == 0);
        for (i = 0; i < 5; i++) {
            STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
            STATUS(csim_world_step(other, CSIM_R(0.01)), CSIM_OK);
            CHECK(csim_world_hash(w) == csim_world_hash(other));
        }
        free(saved);
        csim_destroy_world(w);
        csim_destroy_world(other);
    }
}

/* Nonlinear equations that are asked for more digits than there are say that they are not solved; to a tolerance that can be
   met they are. No contact is there whose certificate could say it instead. */
TEST(half_steps_that_do_not_settle_are_flagged) {
    int k;
    for (k = 0; k < 2; k++) {
        csim_world_def d = weightless();
        csim_spring_def s = csim_default_spring_def();
        csim_body_id a, b;
        csim_link_id id;
        csim_world *w;
        int i, flagged = 0;
        d.integrator = CSIM_HALF_STEP;
        d.solver.tolerance = k ? TOL(1e-10, 1e-4) : TOL(1e-20, 1e-12);
        w = world_of(&d);
        a = add_ball(w, 0, 1, 0, 0, 0);
        b = add_ball(w, 1, -1, 0.3, 0, 0);
        s.a.body = a;
        s.b.body = b;
        s.stiffness = 5000;
        STATUS(csim_create_spring(w, &s, &id), CSIM_OK);
        for (i = 0; i < 20; i++) {
            step_once(w);
            flagged += (csim_world_stats(w).flags & CSIM_FLAG_UNCERTIFIED) != 0;
        }
        CASE("tolerance %g: %d of 20 steps flagged", (double)d.solver.tolerance, flagged);
        CHECK(k ? flagged == 0 : flagged >= 15);
        csim_destroy_world(w);
    }
}
