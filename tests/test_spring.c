/* Springs: the force they report against momentum and against the law, and what they do beyond what they bear. */
#include "check.h"
#include <math.h>

static const csim_integrator integrators[] = {CSIM_BACKWARD_EULER, CSIM_MIDPOINT, CSIM_TWO_STEP, CSIM_HALF_STEP};

static csim_world *weightless(csim_integrator integrator) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    d.gravity = csim_v3(0, 0, 0);
    d.integrator = integrator;
    STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
    return w;
}

static csim_body_id particle(csim_world *w, double mass, double x, double v, csim_motion motion) {
    csim_particle_def d = csim_default_particle_def();
    csim_body_id id = {0, 0, 0};
    d.mass = (csim_real)mass;
    d.position.x = (csim_real)x;
    d.velocity.x = (csim_real)v;
    d.motion = motion;
    STATUS(csim_create_particle(w, &d, &id), CSIM_OK);
    return id;
}

/* From a body to the origin of the world. */
static csim_link_id spring(csim_world *w, csim_body_id a, double rest, double k, double c, double most) {
    csim_spring_def d = csim_default_spring_def();
    csim_link_id id = {0, 0, 0};
    d.a.body = a;
    d.rest_length = (csim_real)rest;
    d.stiffness = (csim_real)k;
    d.damping = (csim_real)c;
    d.break_force = (csim_real)most;
    STATUS(csim_create_spring(w, &d, &id), CSIM_OK);
    return id;
}

static csim_spring_state state_of(const csim_world *w, csim_link_id id) {
    csim_spring_state s;
    memset(&s, 0, sizeof s);
    STATUS(csim_spring_get(w, id, &s), CSIM_OK);
    return s;
}

static double speed(const csim_world *w, csim_body_id id) {
    csim_vec3 v = csim_v3(0, 0, 0);
    STATUS(csim_body_get_end_velocity(w, id, &v, NULL), CSIM_OK);
    return (double)v.x;
}

static double place(const csim_world *w, csim_body_id id) {
    csim_pose p;
    STATUS(csim_body_get_pose(w, id, &p), CSIM_OK);
    return (double)p.position.x;
}

/* The force of a step is what changes momentum in it: m (v+ - v) = -h F, to rounding where the step is one for forces
   along a line. */
TEST(force_is_the_change_of_momentum) {
    const double m = 2, k = 300, c = 4, h = 0.01, rest = 1;
    int type, i;
    for (type = 0; type < 2; type++) { /* the variational ones look at forces between the ends of their steps */
        csim_world *w = weightless(integrators[type]);
        csim_body_id body = particle(w, m, 1.3, 0.7, CSIM_DYNAMIC);
        csim_link_id id = spring(w, body, rest, k, c, 0);
        double v = speed(w, body), worst = 0;
        CASE("integrator %d", (int)integrators[type]);
        CHECK(state_of(w, id).force >= 0 && state_of(w, id).force <= 0); /* of no step yet */
        NEAR(state_of(w, id).length, 1.3, TOL(1e-15, 1e-7));
        for (i = 0; i < 100; i++) {
            const double before = v;
            STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
            v = speed(w, body);
            worst = fmax(worst, fabs(m * (v - before) / h + (double)state_of(w, id).force));
            NEAR(state_of(w, id).length, place(w, body), TOL(1e-15, 1e-7));
        }
        CHECK(worst <= TOL(1e-9, 5e-2)); /* rounding of lengths near 1 times k + c / h, twice in midpoint worlds */
        FIGURE("spring_force_off", worst);
        printf("    of 90 N: off by %.2g\n", worst);
        csim_destroy_world(w);
    }
}

/* A body that moves at a constant rate: the force is that of the law at the end of the step, or half way. It lets go in
   the first step in which that is more than it bears, and in no other. */
TEST(breaks_at_its_force) {
    const double k = 50, c = 2, v = 0.4, h = 0.01, rest = 0.5;
    int type, push, i;
    for (type = 0; type < 4; type++)
        for (push = 0; push < 2; push++) {
            csim_world *w = weightless(integrators[type]);
            const double away = push ? -v : v, most = 7.05;
            csim_body_id body = particle(w, 1, rest, away, CSIM_KINEMATIC);
            csim_link_id id = spring(w, body, rest, k, c, most), told[2];
            int broke = -1, due = -1;
            CASE("integrator %d, push %d", (int)integrators[type], push);
            for (i = 1; i <= 60; i++) {
                const double t = type == 0 ? i * h : (i - 0.5) * h, law = k * away * t + c * away;
                csim_events e;
                STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
                e = csim_world_events(w);
                if (due < 0 && fabs(law) > most) due = i;
                if (broke < 0) NEAR(state_of(w, id).force, law, TOL(1e-11, 1e-3)); /* c / h times rounding */
                EQUAL(e.break_count, csim_world_broken(w, told, 2));
                if (e.break_count == 0) continue;
                CHECK(broke < 0);
                broke = i;
                CHECK(e.breaks[0].joint.index1 == id.index1 && e.breaks[0].joint.generation == id.generation);
                CHECK(told[0].index1 == id.index1 && told[0].generation == id.generation);
                CHECK(e.breaks[0].body_a.index1 == body.index1 && e.breaks[0].body_b.index1 == 0);
            }
            CHECK(due > 20);
            EQUAL(broke, due);
            CHECK(state_of(w, id).broken && fabs((double)state_of(w, id).force) <= 0);
            STATUS(csim_destroy_link(w, id), CSIM_OK);
            csim_destroy_world(w);
        }
}

/* A weight on a spring that bears a little more or a little less than it: m g held at rest, and let fall. */
TEST(holds_what_it_can) {
    const double m = 3, g = 9.81, k = 2000, h = 0.01;
    int less, i;
    for (less = 0; less < 2; less++) {
        csim_world_def d = csim_default_world_def();
        csim_particle_def p = csim_default_particle_def();
        csim_spring_def s = csim_default_spring_def();
        csim_world *w;
        csim_body_id body;
        csim_link_id id;
        csim_pose pose;
        double fell;
        STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
        p.mass = (csim_real)m;
        STATUS(csim_create_particle(w, &p, &body), CSIM_OK);
        s.a.body = body;
        s.b.point = csim_v3(0, 0, 1);
        s.stiffness = (csim_real)k;
        s.rest_length = (csim_real)(1 - m * g / k); /* it hangs at rest */
        s.break_force = (csim_real)(m * g * (less ? 1 - 1e-3 : 1 + 1e-3)); /* float rounds 1 m times k by 2e-4 N */
        STATUS(csim_create_spring(w, &s, &id), CSIM_OK);
        for (i = 0; i < 50; i++) STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        STATUS(csim_body_get_pose(w, body, &pose), CSIM_OK);
        fell = less ? g * h * h * 49 * 50 / 2 : 0; /* backward Euler, after the step that broke it */
        NEAR(pose.position.z, -fell, TOL(1e-9, 1e-4));
        CHECK(state_of(w, id).broken == (less == 1));
        if (!less) NEAR(state_of(w, id).force, m * g, TOL(1e-9, 2e-2));
        csim_destroy_world(w);
    }
}

/* Of two bodies: what held them apart counts no more, neither in energy nor in momentum, and they are two islands. */
TEST(broken_holds_nothing) {
    csim_world *w = weightless(CSIM_BACKWARD_EULER);
    csim_spring_def s = csim_default_spring_def();
    csim_body_id a = particle(w, 1, 0, -3, CSIM_DYNAMIC), b = particle(w, 2, 1, 1, CSIM_DYNAMIC);
    csim_link_id id;
    csim_totals before, after;
    double va, vb;
    int i;
    s.a.body = a;
    s.b.body = b;
    s.b.point.x = 1;
    s.break_force = 20;
    STATUS(csim_create_spring(w, &s, &id), CSIM_OK);
    before = csim_world_totals(w);
    for (i = 0; i < 100 && !state_of(w, id).broken; i++) STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
    CHECK(state_of(w, id).broken && i > 3 && (double)state_of(w, id).force > 20);
    CHECK(state_of(w, id).a.index1 == a.index1 && state_of(w, id).b.index1 == b.index1);
    after = csim_world_totals(w);
    NEAR(after.momentum[0], before.momentum[0], TOL(1e-13, 1e-5)); /* rounding of 20 steps */
    CHECK(after.elastic <= 0 && after.elastic >= 0 && after.kinetic < before.kinetic);
    va = speed(w, a);
    vb = speed(w, b);
    for (i = 0; i < 10; i++) STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
    NEAR(speed(w, a), va, TOL(1e-14, 1e-6)); /* rounding */
    NEAR(speed(w, b), vb, TOL(1e-14, 1e-6));
    EQUAL(csim_world_broken(w, NULL, 0), 0);
    EQUAL(csim_body_links(w, a, NULL, 0), 1); /* it stays until it is destroyed */
    STATUS(csim_destroy_body(w, a), CSIM_OK);
    CHECK(!csim_link_valid(w, id));
    csim_destroy_world(w);
}

/* A row of particles and bodies on springs that snap one after the other. */
static void row_of_springs(csim_world *w) {
    csim_body_id id[8];
    csim_spring_def s = csim_default_spring_def();
    csim_link_id link;
    int i;
    for (i = 0; i < 8; i++) {
        if (i % 2) {
            const csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
            STATUS(csim_create_shape(w, box, csim_v3((csim_real)i, 0, 0), id + i), CSIM_OK);
        } else
            id[i] = particle(w, 1, i, 0, i == 0 ? CSIM_STATIC : CSIM_DYNAMIC);
    }
    for (i = 0; i + 1 < 8; i++) {
        s.a.body = id[i], s.b.body = id[i + 1];
        s.a.point.x = (csim_real)i, s.b.point.x = (csim_real)(i + 1);
        s.stiffness = 3000;
        s.break_force = (csim_real)(150 - 18 * i);
        STATUS(csim_create_spring(w, &s, &link), CSIM_OK);
    }
}

/* What was saved before and after springs broke goes on with the same bits, in a fixed block too, and plays back. */
TEST(breaking_is_saved_and_played) {
    static double log_memory[1 << 15], scratch[1 << 15]; /* aligned */
    static double block[1 << 16];
    csim_world_def d = csim_default_world_def();
    csim_world *w, *other, *fixed;
    csim_recording r;
    csim_replay play;
    size_t bytes, need = 0;
    void *saved;
    int i, cut, total = 0;
    d.gravity = csim_v3(0, 0, CSIM_R(-9.81));
    STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
    row_of_springs(w);
    STATUS(csim_record_start(&r, log_memory, sizeof log_memory, scratch, sizeof scratch, 0), CSIM_OK);
    for (i = 0; i < 60; i++) {
        STATUS(csim_record_step(&r, w, CSIM_R(0.01)), CSIM_OK);
        total += csim_world_events(w).break_count;
    }
    CHECK(total >= 2);
    printf("    %d of 7 springs broke\n", total);
    STATUS(csim_create_world(&d, &other, NULL), CSIM_OK);
    STATUS(csim_replay_open(&play, log_memory, r.used, scratch, sizeof scratch), CSIM_OK);
    STATUS(csim_replay_seek(&play, other, play.steps), CSIM_OK);
    EQUAL(play.differs, 0);
    CHECK(csim_world_hash(other) == csim_world_hash(w));
    csim_destroy_world(other);

    d.capacity = csim_world_used(w);
    d.capacity.contacts = 64;
    STATUS(csim_world_bytes(&d, &bytes, NULL), CSIM_OK);
    REQUIRE(bytes + 64 <= sizeof block);
    for (cut = 0; cut < 60; cut += 6) { /* saved there, and gone on with in a block */
        char *at = (char *)block + (64 - (size_t)((uintptr_t)block % 64)) % 64;
        CASE("saved after %d", cut);
        STATUS(csim_create_world(&d, &other, NULL), CSIM_OK);
        row_of_springs(other);
        for (i = 0; i < cut; i++) STATUS(csim_world_step(other, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_world_save(other, NULL, &need), CSIM_OK);
        saved = malloc(need);
        STATUS(csim_world_save(other, saved, &need), CSIM_OK);
        STATUS(csim_create_world_in(&d, at, bytes, &fixed, NULL), CSIM_OK);
        STATUS(csim_world_restore(fixed, saved, need), CSIM_OK);
        EQUAL(csim_world_broken(fixed, NULL, 0), csim_world_broken(other, NULL, 0));
        for (; i < 60; i++) STATUS(csim_world_step(fixed, CSIM_R(0.01)), CSIM_OK);
        CHECK(csim_world_hash(fixed) == csim_world_hash(w));
        free(saved);
        csim_destroy_world(fixed);
        csim_destroy_world(other);
    }
    csim_destroy_world(w);
}

TEST(what_is_no_spring) {
    csim_world *w = weightless(CSIM_BACKWARD_EULER);
    csim_body_id body = particle(w, 1, 1, 0, CSIM_DYNAMIC);
    csim_link_id id = spring(w, body, 1, 0, 0, 1), pin, none = {0, 0, 0};
    csim_pin_def d = csim_default_pin_def();
    csim_spring_state s;
    d.a.body = body;
    d.b.point.x = 1;
    STATUS(csim_create_pin(w, &d, &pin), CSIM_OK);
    EQUAL(csim_spring_get(w, pin, &s), CSIM_WRONG_KIND);
    EQUAL(csim_spring_get(w, none, &s), CSIM_STALE_ID);
    EQUAL(csim_spring_get(w, id, NULL), CSIM_NULL_ARGUMENT);
    EQUAL(csim_spring_get(NULL, id, &s), CSIM_NULL_ARGUMENT);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK); /* no stiffness, no damping: nothing */
    CHECK(!state_of(w, id).broken);
    STATUS(csim_destroy_link(w, id), CSIM_OK);
    EQUAL(csim_spring_get(w, id, &s), CSIM_STALE_ID);
    csim_destroy_world(w);
}
