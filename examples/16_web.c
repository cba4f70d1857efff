/* A die is thrown: four functions for a page, and a main that calls them in a terminal. Build: cc 16_web.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"

static csim_world *world;
static csim_body_id ground, die;

int start(void) {
    csim_shape cube = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_rigid_def def = csim_default_rigid_def();
    def.shapes = &cube, def.shape_count = 1;
    def.pose.position = csim_v3(0, 0, CSIM_R(0.8));
    def.velocity = csim_v3(1, 0, 0), def.angular_velocity = csim_v3(3, 5, 2);
    csim_destroy_world(world); /* null at first: a page may begin again */
    if (csim_create_world(NULL, &world, NULL) != CSIM_OK) return 0;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.6), &ground);
    return csim_create_rigid(world, &def, &die) == CSIM_OK;
}

/* What is there to draw: position and w, x, y, z of the rotation, as numbers one after another. */
double *pose(void) {
    static double at[7];
    csim_pose p = csim_pose_identity();
    csim_body_get_pose(world, die, &p);
    at[0] = p.position.x, at[1] = p.position.y, at[2] = p.position.z;
    at[3] = p.rotation.w, at[4] = p.rotation.x, at[5] = p.rotation.y, at[6] = p.rotation.z;
    return at;
}

int step(double seconds) { return csim_world_step(world, (csim_real)seconds) == CSIM_OK; }
int certified(void) { return csim_world_stats(world).result == CSIM_RESULT_CONVERGED; }

#ifndef __wasm__
#include <stdio.h>

int main(void) {
    int i;
    if (!start()) return 1;
    for (i = 1; i <= 90 && step(1.0 / 60); ++i)
        if (i % 15 == 0)
            printf("%.2f s: %6.3f %6.3f %6.3f%s\n", i / 60.0, pose()[0], pose()[1], pose()[2],
                   certified() ? "" : " missed");
    csim_destroy_world(world);
    return i == 91 ? 0 : 1;
}
#endif
