/* Record and replay: a game writes down what it does to a world; a bug report is the bytes.
   Build: cc 11_record.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

enum { LOG = 1 << 20, SCRATCH = 1 << 20, STEPS = 300 };
static double log_memory[LOG / 8], scratch[SCRATCH / 8]; /* aligned */

static csim_world *world_of(double stabilization) {
    csim_world_def def = csim_default_world_def();
    csim_world *world = NULL;
    def.stabilization = (csim_real)stabilization;
    csim_create_world(&def, &world, NULL);
    return world;
}

int main(void) {
    csim_world *game = world_of(0.8), *desk = world_of(0.8), *other = world_of(0.3);
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.2), CSIM_R(0.2)));
    csim_rigid_def def = csim_default_rigid_def();
    csim_body_id ground, crate[4];
    csim_recording recording;
    csim_replay replay;
    int i;
    if (!game || !desk || !other) return 1;

    /* the game: any calls, and csim_record_step in the place of csim_world_step */
    csim_record_start(&recording, log_memory, sizeof log_memory, scratch, sizeof scratch, 100);
    csim_create_ground(game, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground);
    def.shapes = &box;
    def.shape_count = 1;
    for (i = 0; i < 4; ++i) {
        def.pose.position = csim_v3(CSIM_R(0.05) * (csim_real)i, 0, CSIM_R(0.2) + CSIM_R(0.4) * (csim_real)i);
        csim_create_rigid(game, &def, crate + i);
    }
    for (i = 0; i < STEPS; ++i) {
        if (i == 150) csim_body_add_force(game, crate[3], csim_v3(4000, 0, 0), csim_v3(0, 0, 0));
        if (i == 250) csim_destroy_body(game, crate[0]);
        if (csim_record_step(&recording, game, CSIM_R(0.01)) != CSIM_OK) return 1;
    }
    printf("%d steps in %s 100 kB\n", STEPS, recording.used < 100 * 1024 ? "less than" : "more than");

    /* at the desk: the same steps, any of them, in any order */
    if (csim_replay_open(&replay, log_memory, recording.used, scratch, sizeof scratch) != CSIM_OK) return 1;
    csim_replay_seek(&replay, desk, STEPS);
    printf("played %d steps: %s, the end is %s\n", (int)replay.step,
           replay.differs ? "differs" : "every hash is the same",
           csim_world_hash(desk) == csim_world_hash(game) ? "the same" : "another");
    csim_replay_seek(&replay, desk, 151);
    printf("back at step %d, right after the push\n", (int)replay.step);

    /* a world that is set otherwise */
    if (csim_replay_open(&replay, log_memory, recording.used, scratch, sizeof scratch) != CSIM_OK) return 1;
    csim_replay_seek(&replay, other, STEPS);
    printf("with other settings: %s\n", replay.differs ? "differs, and says at which step" : "the same");
    csim_destroy_world(game);
    csim_destroy_world(desk);
    csim_destroy_world(other);
    return 0;
}
