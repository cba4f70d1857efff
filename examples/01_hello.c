/* A soft block falls on the ground and a rigid box on the block. Build: cc 01_hello.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

int main(void) {
    static const int corner[24] = {0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7};
    csim_real vertices[125 * 3]; /* a grid of 5 x 5 x 5, 5 cm apart; six tets in each of its 64 cells */
    int tets[64 * 24], i;
    csim_world *world;
    csim_body_id ground, block, cube;
    csim_pose pose;
    csim_world_def def = csim_default_world_def();
    csim_soft_def soft = csim_default_soft_def();
    csim_rigid_def rigid = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(CSIM_R(0.05), CSIM_R(0.05), CSIM_R(0.05)));

    for (i = 0; i < 125 * 3; ++i)
        vertices[i] = CSIM_R(0.05) * (csim_real)(i / 3 / (i % 3 ? i % 3 == 1 ? 5 : 25 : 1) % 5);
    for (i = 0; i < 64 * 24; ++i) {
        const int c = i / 24, k = corner[i % 24]; /* bits of k: one further along x, y, z */
        tets[i] = c % 4 + c / 4 % 4 * 5 + c / 16 * 25 + (k & 1) + (k >> 1 & 1) * 5 + (k >> 2) * 25;
    }
    if (csim_create_world(&def, &world, NULL) != CSIM_OK) return 1;
    soft.vertices = vertices, soft.vertex_count = 125, soft.tets = tets, soft.tet_count = 64 * 6;
    soft.pose.position = csim_v3(CSIM_R(-0.1), CSIM_R(-0.1), CSIM_R(0.1));
    rigid.shapes = &box, rigid.shape_count = 1, rigid.pose.position = csim_v3(CSIM_R(0.02), 0, CSIM_R(0.5));
    if (csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground) != CSIM_OK ||
        csim_create_soft(world, &soft, &block) != CSIM_OK || csim_create_rigid(world, &rigid, &cube) != CSIM_OK)
        return printf("%s\n", csim_last_error(world)), 1;
    for (i = 1; i <= 100; ++i) {
        if (csim_world_step(world, CSIM_R(0.01)) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
        csim_body_get_pose(world, cube, &pose);
        if (i % 10 == 0)
            printf("%.1f s: box at %.4f m, %2d contacts, certified: %s\n", csim_world_stats(world).time,
                   (double)pose.position.z, csim_world_stats(world).touching,
                   csim_world_stats(world).result == CSIM_RESULT_CONVERGED ? "yes" : "no");
    }
    csim_destroy_world(world);
    return 0;
}
