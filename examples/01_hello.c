/* A box falls on the ground. Build: cc 01_hello.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

int main(void) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def box = csim_default_rigid_def();
    csim_shape cube = csim_box(csim_v3(0.5, 0.5, 0.5)); /* half sizes, m */
    csim_world *world;
    csim_body_id ground, id;
    csim_pose at;
    if (csim_create_world(&def, &world, NULL) != CSIM_OK) return 1;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 0.5, &ground); /* a point, up, friction */
    box.shapes = &cube, box.shape_count = 1, box.pose.position.z = 2;
    csim_create_rigid(world, &box, &id);
    while (csim_world_step(world, 0.1) == CSIM_OK && !csim_body_get_pose(world, id, &at) && at.position.z > 0.501)
        printf("%.1f s: %.3f m above the ground\n", csim_world_stats(world).time, at.position.z - 0.5);
    puts(csim_world_stats(world).result == CSIM_RESULT_CONVERGED ? "it stands, certified" : csim_last_error(world));
    csim_destroy_world(world);
    return 0;
}
