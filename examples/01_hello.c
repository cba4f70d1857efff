/* A box falls on the ground. Build: cc 01_hello.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

int main(void) {
    csim_world *world;
    csim_body_id ground, box;
    csim_pose at;
    if (csim_create_world(NULL, &world, NULL) != CSIM_OK) return 1; /* null: the defaults; metres, kilograms, seconds */
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 0.5, &ground); /* a point, up, friction */
    csim_create_shape(world, csim_box(csim_v3(0.5, 0.5, 0.5)), csim_v3(0, 0, 2), &box); /* half sizes, where */
    while (csim_world_step(world, 0.1) == CSIM_OK && !csim_body_get_pose(world, box, &at) && at.position.z > 0.501)
        printf("%.1f s: %.3f m above the ground\n", csim_world_stats(world).time, at.position.z - 0.5);
    puts(csim_world_stats(world).result == CSIM_RESULT_CONVERGED ? "it stands, certified" : csim_last_error(world));
    csim_destroy_world(world);
}
