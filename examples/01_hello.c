/* A soft cube falls on the ground and a rigid plate on the cube. Build: cc 01_hello.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
#include <stdio.h>

int main(void) {
    static const csim_real corners[24] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1};
    static const int tets[24] = {0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7};
    csim_shape box = csim_box(csim_v3(CSIM_R(0.15), CSIM_R(0.15), CSIM_R(0.02))); /* half sizes, m */
    csim_world_def def = csim_default_world_def();
    csim_soft_def soft = csim_default_soft_def();
    csim_rigid_def rigid = csim_default_rigid_def();
    csim_body_id ground, cube, plate;
    csim_world *world;
    csim_pose pose;
    int i;
    soft.vertices = corners, soft.vertex_count = 8, soft.tets = tets, soft.tet_count = 6, soft.scale = CSIM_R(0.2);
    soft.pose.position = csim_v3(CSIM_R(-0.1), CSIM_R(-0.1), CSIM_R(0.1));
    rigid.shapes = &box, rigid.shape_count = 1, rigid.pose.position = csim_v3(0, 0, CSIM_R(0.5));
    if (csim_create_world(&def, &world, NULL) != CSIM_OK) return 1;
    if (csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground) != CSIM_OK ||
        csim_create_soft(world, &soft, &cube) != CSIM_OK || csim_create_rigid(world, &rigid, &plate) != CSIM_OK)
        return printf("%s\n", csim_last_error(world)), 1;
    for (i = 1; i <= 100; ++i) {
        if (csim_world_step(world, CSIM_R(0.01)) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
        csim_body_get_pose(world, plate, &pose);
        if (i % 10) continue;
        printf("%.1f s: plate at %.4f m, %d contacts, certified: %s\n", i * 0.01, (double)pose.position.z,
               csim_world_stats(world).touching,
               csim_world_stats(world).result == CSIM_RESULT_CONVERGED ? "yes" : "no");
    }
    csim_destroy_world(world);
    return 0;
}
