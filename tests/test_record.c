/* Recordings: what is played back is what was, to the bit, whatever calls there were; logs that were cut. */
#include "check.h"

enum { STEPS = 120 };
enum { ROOM = 1 << 16 };
static double log_memory[1 << 18], own_scratch[ROOM]; /* aligned */
static double scratch[3 * ROOM];                        /* the middle third is given away */
static uint64_t hashes[STEPS + 1];

static csim_world *empty(void) {
    csim_world_def wd = csim_default_world_def();
    csim_world *w = NULL;
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    return w;
}

static csim_body_id crate(csim_world *w, double x, double z) {
    csim_rigid_def d = csim_default_rigid_def();
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_body_id id = {0, 0, 0};
    d.shapes = &box;
    d.shape_count = 1;
    d.pose.position = csim_v3((csim_real)x, 0, (csim_real)z);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

/* A world that is pushed, filled, emptied, jointed and set otherwise while it runs. */
static csim_recording record(int every, size_t bytes, int *done) {
    csim_world *w = empty();
    csim_recording r;
    csim_body_id body[4], ground, more = {0, 0, 0};
    csim_joint_def j = csim_default_joint_def();
    csim_solver_params p = csim_default_solver_params();
    csim_link_id link;
    csim_motor motor;
    const csim_shape ball = csim_sphere(CSIM_R(0.11));
    int i;
    for (i = 0; i < 3 * ROOM; i++) scratch[i] = 7;
    STATUS(csim_record_start(&r, log_memory, bytes, scratch + ROOM, ROOM * sizeof *scratch, every), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    for (i = 0; i < 4; i++) body[i] = crate(w, 0.02 * i, 0.1 + 0.2 * i);
    j.kind = CSIM_JOINT_HINGE;
    j.a.body = body[3];
    j.b.body = body[2];
    j.a.point = j.b.point = csim_v3(0, 0, CSIM_R(0.6));
    STATUS(csim_create_joint(w, &j, &link), CSIM_OK);
    for (i = 0; i < STEPS; i++) {
        csim_status status;
        if (i % 7 == 3) STATUS(csim_body_add_force(w, body[i % 3], csim_v3(20, 5, 0), csim_v3(0, 0, 1)), CSIM_OK);
        if (i == 20) more = crate(w, 1, 0.5);
        if (i == 40) STATUS(csim_body_set_velocity(w, more, csim_v3(-2, 0, 1), csim_v3(0, 3, 0)), CSIM_OK);
        if (i == 50) STATUS(csim_body_add_shape(w, body[1], &ball, NULL), CSIM_OK);
        if (i == 55) STATUS(csim_body_set_shape_enabled(w, body[1], 0, false), CSIM_OK);
        if (i == 58) STATUS(csim_body_set_shape(w, body[1], 0, NULL), CSIM_OK);
        if (i == 59) STATUS(csim_body_set_density(w, body[1], 500), CSIM_OK);
        if (i == 60) STATUS(csim_destroy_body(w, body[0]), CSIM_OK), body[0] = body[1];
        if (i == 70) {
            motor.kind = CSIM_MOTOR_VELOCITY;
            motor.target = 3;
            motor.speed = 1;
            motor.force = 2;
            STATUS(csim_joint_set_motor(w, link, &motor), CSIM_OK);
        }
        if (i == 80) p.tolerance = CSIM_R(1e-4), STATUS(csim_world_set_solver(w, &p), CSIM_OK);
        status = csim_record_step(&r, w, i % 2 ? CSIM_R(0.01) : CSIM_R(0.008));
        if (status == CSIM_CAPACITY && bytes < sizeof log_memory) break;
        STATUS(status, CSIM_OK);
        hashes[i + 1] = csim_world_hash(w);
    }
    *done = i;
    for (i = 0; i < ROOM && scratch[i] == 7 && scratch[2 * ROOM + i] == 7; i++) {
    }
    EQUAL(i, ROOM); /* nothing is written beside what was given */
    csim_destroy_world(w);
    return r;
}

TEST(what_is_played_is_what_was) {
    static const int to[] = {STEPS, 77, 30, 31, 90, 1, 0, 119};
    int every, k, done;
    for (every = 0; every <= 25; every += 25) {
        const csim_recording r = record(every, sizeof log_memory, &done);
        csim_world *w = empty();
        csim_replay p;
        CASE("every %d", every);
        EQUAL(done, STEPS);
        STATUS(csim_replay_open(&p, log_memory, r.used, own_scratch, sizeof own_scratch), CSIM_OK);
        EQUAL((int)p.steps, STEPS);
        for (k = 0; k < (int)(sizeof to / sizeof *to); k++) {
            STATUS(csim_replay_seek(&p, w, to[k]), CSIM_OK);
            EQUAL((int)p.step, to[k]);
            EQUAL((int)p.differs, 0);
            if (to[k] > 0) CHECK(csim_world_hash(w) == hashes[to[k]]);
        }
        printf("    every %d: %d kB for %d steps\n", every, (int)(r.used / 1024), STEPS);
        EQUAL(csim_replay_seek(&p, w, STEPS + 1), CSIM_OUT_OF_RANGE);
        EQUAL(csim_replay_seek(&p, w, -1), CSIM_OUT_OF_RANGE);
        csim_destroy_world(w);
    }
}

/* A world with other settings is told at the step where that shows. */
TEST(a_replay_says_at_which_step_it_differs) {
    int done;
    const csim_recording r = record(0, sizeof log_memory, &done);
    csim_world_def wd = csim_default_world_def();
    csim_world *w = NULL;
    csim_replay p;
    STATUS(csim_replay_open(&p, log_memory, r.used, own_scratch, sizeof own_scratch), CSIM_OK);
    wd.stabilization = CSIM_R(0.3);
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    STATUS(csim_replay_seek(&p, w, STEPS), CSIM_OK);
    CHECK(p.differs >= 1 && p.differs < STEPS && p.step == p.differs);
    CHECK(csim_world_hash(w) != hashes[p.differs]);
    printf("    differs from step %d on\n", (int)p.differs);
    csim_destroy_world(w);
}

TEST(a_full_log_is_whole) {
    int done;
    const csim_recording r = record(0, sizeof log_memory / 128, &done);
    csim_world *w = empty();
    csim_replay p;
    CHECK(done > 1 && done < STEPS && r.used <= sizeof log_memory / 128);
    STATUS(csim_replay_open(&p, log_memory, r.used, own_scratch, sizeof own_scratch), CSIM_OK);
    EQUAL((int)p.steps, done);
    STATUS(csim_replay_seek(&p, w, done), CSIM_OK);
    CHECK(p.differs == 0 && csim_world_hash(w) == hashes[done]);
    csim_destroy_world(w);
}

/* What may be set beside the state, the solver and the budget, is played back too: also where it was set before a step
   that the log had no room for, and a smaller one came. */
TEST(settings_are_played_back) {
    csim_world *w = empty();
    csim_recording r;
    csim_replay p;
    csim_solver_params solver = csim_default_solver_params();
    csim_body_id ground, many[20];
    size_t room;
    int i, k, done = 0;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    for (i = 0; i < 3; i++) crate(w, 0.02 * i, 0.1 + 0.21 * i);
    STATUS(csim_record_start(&r, log_memory, sizeof log_memory, scratch, sizeof scratch, 0), CSIM_OK);
    for (i = 0; i < 40; i++) {
        if (i == 10) STATUS(csim_world_set_budget(w, 1), CSIM_OK); /* bounded frames: other bits */
        if (i == 20) STATUS(csim_world_set_budget(w, 0), CSIM_OK);
        if (i == 30) {
            solver.tolerance = CSIM_R(0.01);
            STATUS(csim_world_set_solver(w, &solver), CSIM_OK);
            for (k = 0; k < 20; k++) many[k] = crate(w, 5 + k, 5);
            room = r.bytes;
            r.bytes = r.used + 1024; /* settings, and no whole snapshot */
            STATUS(csim_record_step(&r, w, CSIM_R(0.01)), CSIM_CAPACITY);
            r.bytes = room;
            for (k = 19; k >= 0; k--) STATUS(csim_destroy_body(w, many[k]), CSIM_OK);
        }
        STATUS(csim_record_step(&r, w, CSIM_R(0.01)), CSIM_OK);
        hashes[++done] = csim_world_hash(w);
    }
    csim_destroy_world(w);
    w = empty();
    STATUS(csim_replay_open(&p, log_memory, r.used, own_scratch, sizeof own_scratch), CSIM_OK);
    for (i = 0; i < 3; i++) { /* forth, back behind both settings, and forth */
        const int to = i == 1 ? 5 : done;
        STATUS(csim_replay_seek(&p, w, to), CSIM_OK);
        EQUAL((int)p.differs, 0);
        CHECK(csim_world_hash(w) == hashes[to]);
    }
    csim_destroy_world(w);
}

/* The world that plays must know the fields that are in a log. One that does not is told so at every seek that needs
   them; the second was told OK, of a world that was no step of the log. */
TEST(a_seek_that_failed_is_no_place_to_go_on_from) {
    static const int to[] = {8, 8, 3, 20, 0, 1, 12, 20}; /* at 20 the field is gone, and a snapshot says all */
    static double memory[1 << 12];
    static csim_real heights[16];
    csim_height_field_def h = csim_default_height_field_def();
    csim_rigid_def d = csim_default_rigid_def();
    const csim_field *hills = NULL;
    csim_world *w = empty();
    csim_shape floor;
    csim_body_id id;
    csim_recording r;
    csim_replay p;
    int i;
    h.heights = heights, h.count_x = h.count_y = 4;
    STATUS(csim_create_height_field_in(&h, (void *)(((uintptr_t)memory + 63) / 64 * 64), sizeof memory - 64, &hills,
                                       NULL), CSIM_OK);
    floor = csim_field_shape(hills);
    d.motion = CSIM_STATIC;
    d.shapes = &floor, d.shape_count = 1;
    STATUS(csim_record_start(&r, log_memory, sizeof log_memory, scratch + ROOM, ROOM * sizeof *scratch, 5), CSIM_OK);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    (void)crate(w, 1.5, 0.3);
    for (i = 0; i < 20; i++) {
        if (i == 13) STATUS(csim_destroy_body(w, id), CSIM_OK);
        STATUS(csim_record_step(&r, w, CSIM_R(0.01)), CSIM_OK);
        hashes[i + 1] = csim_world_hash(w);
    }
    csim_destroy_world(w);
    w = empty();
    STATUS(csim_replay_open(&p, log_memory, r.used, own_scratch, sizeof own_scratch), CSIM_OK);
    for (i = 0; i < (int)(sizeof to / sizeof *to); i++) {
        CASE("seek %d to %d", i, to[i]);
        STATUS(csim_replay_seek(&p, w, to[i]), to[i] == 20 ? CSIM_OK : CSIM_BAD_SNAPSHOT);
        if (to[i] == 20) CHECK(p.step == 20 && p.differs == 0 && csim_world_hash(w) == hashes[20]);
    }
    csim_destroy_world(w);
}

TEST(logs_from_anywhere_do_no_harm) {
    int done, n, refused = 0, other = 0;
    const csim_recording r = record(25, sizeof log_memory, &done);
    unsigned char *copy = (unsigned char *)malloc(r.used + 8);
    csim_replay p;
    REQUIRE(copy != NULL);
    EQUAL(csim_replay_open(&p, log_memory, 0, own_scratch, 8), CSIM_BAD_SNAPSHOT);
    EQUAL(csim_replay_open(&p, NULL, 8, own_scratch, 8), CSIM_NULL_ARGUMENT);
    for (n = 0; n < 300; n++) {
        const size_t cut = n % 3 == 0 ? (size_t)(check_random(0, 1) * (double)r.used) : r.used;
        csim_world *w = empty();
        int k;
        memcpy(copy, log_memory, r.used);
        for (k = 0; k < 3; k++)
            copy[(size_t)(check_random(0, 1) * (double)(n % 2 ? 4000 : r.used - 1))] ^= (unsigned char)(1 << n % 8);
        if (csim_replay_open(&p, copy, cut, own_scratch, sizeof own_scratch) != CSIM_OK ||
            csim_replay_seek(&p, w, p.steps) != CSIM_OK)
            refused++;
        else
            other += p.differs != 0;
        csim_destroy_world(w);
    }
    printf("    of 300: %d refused, %d differ\n", refused, other);
    CHECK(refused > 100);
    free(copy);
}
