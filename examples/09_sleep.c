/* A stack falls asleep and costs nothing; a ball that hits it wakes it. Build: cc 09_sleep.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
#include <stdio.h>

static void tell(const csim_world *world, const char *when) {
    const csim_step_stats stats = csim_world_stats(world);
    printf("%s: %d awake, %d asleep; the step looked at %d contacts\n", when, stats.awake, stats.asleep,
           stats.contacts);
}

int main(void) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def crate = csim_default_rigid_def();
    csim_particle_def ball = csim_default_particle_def();
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.25), CSIM_R(0.25), CSIM_R(0.25)));
    csim_body_id ground, id, top = {0, 0, 0};
    csim_world *world;
    csim_error error;
    bool awake = true;
    int i;

    def.can_sleep = true;
    if (csim_create_world(&def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground);
    crate.shapes = &box;
    crate.shape_count = 1;
    for (i = 0; i < 8; ++i) { /* two stacks of four */
        crate.pose.position =
            csim_v3(CSIM_R(2.0) * (csim_real)(i / 4), 0, CSIM_R(0.25) + CSIM_R(0.5) * (csim_real)(i % 4));
        csim_create_rigid(world, &crate, i == 3 ? &top : &id);
    }

    csim_world_step(world, CSIM_R(0.01));
    tell(world, "at first");
    for (i = 0; i < 100; ++i) csim_world_step(world, CSIM_R(0.01));
    tell(world, "after a second");
    csim_body_is_awake(world, top, &awake);
    printf("the topmost crate is %s\n", awake ? "awake" : "asleep");

    ball.position = csim_v3(0, 0, CSIM_R(2.2));
    ball.radius = CSIM_R(0.1);
    ball.damping = 1;
    csim_create_particle(world, &ball, &id);
    for (i = 0; i < 10; ++i) csim_world_step(world, CSIM_R(0.01));
    tell(world, "while the ball falls");
    for (i = 0; i < 10; ++i) csim_world_step(world, CSIM_R(0.01));
    tell(world, "when it has hit");
    for (i = 0; i < 200; ++i) csim_world_step(world, CSIM_R(0.01));
    tell(world, "two seconds later");
    csim_destroy_world(world);
    return 0;
}
