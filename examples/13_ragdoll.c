/* A body of fifteen capsules is pushed and falls. Build: cc 13_ragdoll.c -lm (ragdoll.h lies beside it) */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include "ragdoll.h"
#include <stdio.h>

int main(void) {
    csim_world_def def = csim_default_world_def();
    ragdoll_def body = ragdoll_default();
    csim_world *world;
    csim_error error;
    csim_body_id ground;
    ragdoll r;
    int i, k;
    if (csim_create_world(&def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.6), &ground);
    body.velocity = csim_v3(CSIM_R(1.5), 0, 0);
    if (ragdoll_create(world, &body, &r) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
    for (i = 1; i <= 300; ++i) {
        csim_joint_state joint;
        csim_real open = 0;
        csim_pose hips, head;
        if (csim_world_step(world, CSIM_R(0.01)) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
        if (i % 50) continue;
        for (k = 1; k < RAGDOLL_PARTS; ++k)
            if (csim_joint_get(world, r.joint[k], &joint) == CSIM_OK && joint.error > open) open = joint.error;
        csim_body_get_pose(world, r.part[0], &hips);
        csim_body_get_pose(world, r.part[2], &head);
        printf("%.1f s: hips %.1f m high, head %.1f, joints open by less than a micrometre: %s, moving: %s\n",
               i * 0.01, (double)hips.position.z, (double)head.position.z, open < CSIM_R(1e-6) ? "yes" : "no",
               csim_world_rms_speed(world) > 1e-2 ? "yes" : "no");
    }
    csim_destroy_world(world);
    return 0;
}
