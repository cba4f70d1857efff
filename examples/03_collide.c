/* The lowest level: functions without state. Where does a box that stands on an edge touch another, and how far is a
   point from a capsule? Build: cc 03_collide.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

int main(void) {
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.5), CSIM_R(0.5)));
    const csim_shape capsule = csim_capsule(CSIM_R(0.2), CSIM_R(0.4));
    csim_geometry cube, pill;
    csim_pose below = csim_pose_identity(), above = csim_pose_identity();
    csim_touch touch[8];
    csim_vec3 normal;
    csim_error error;
    csim_real distance;
    uint32_t feature;
    int i, count;

    if (csim_shape_bake(&box, &cube, NULL, &error) != CSIM_OK ||
        csim_shape_bake(&capsule, &pill, NULL, &error) != CSIM_OK)
        return printf("%s\n", error.text), 1;
    above.position = csim_v3(0, 0, CSIM_R(1.3));
    above.rotation = csim_quat_axis_angle(csim_v3(0, 1, 0), CSIM_R(0.7853981633974483));
    count = csim_collide(&cube, above, &cube, below, NULL, CSIM_R(0.1), touch, 8);
    printf("box on its edge over a box: %d points\n", count);
    for (i = 0; i < count && i < 8; ++i)
        printf("  gap %.4f m, normal up: %.3f, at y = %.3f\n", (double)touch[i].gap, (double)touch[i].normal.z,
               (double)touch[i].point_b.y);
    distance = csim_shape_distance(&pill, NULL, below, csim_v3(CSIM_R(0.3), 0, CSIM_R(0.8)), &normal, &feature);
    printf("point to capsule: %.4f m, along x %.3f, z %.3f\n", (double)distance, (double)normal.x, (double)normal.z);
    return 0;
}
