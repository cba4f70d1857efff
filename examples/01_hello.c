/* A crate falls on the ground. Build: cc 01_hello.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

int main(void) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def crate = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.5), CSIM_R(0.5))); /* half sizes, m */
    csim_body_id ground, id;
    csim_world *world;
    csim_pose pose;
    int i;
    if (csim_create_world(&def, &world, NULL) != CSIM_OK) return 1;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground);
    crate.shapes = &box, crate.shape_count = 1, crate.pose.position = csim_v3(0, 0, 2);
    if (csim_create_rigid(world, &crate, &id) != CSIM_OK) return puts(csim_last_error(world)), 1;
    for (i = 1; i <= 60; ++i) {
        if (csim_world_step(world, CSIM_R(1) / 60) != CSIM_OK) return puts(csim_last_error(world)), 1;
        csim_body_get_pose(world, id, &pose);
        if (i % 10 == 0)
            printf("%.2f s: crate at %.4f m, certified: %s\n", i / 60.0, (double)pose.position.z,
                   csim_world_stats(world).result == CSIM_RESULT_CONVERGED ? "yes" : "no");
    }
    csim_destroy_world(world);
    return 0;
}
