/* Two cars, one of bodies and joints, one a tree, side by side: they set off, turn and brake.
   Build: cc 12_vehicle.c -lm (vehicle.h lies beside it) */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include "vehicle.h"
#include <stdio.h>

int main(void) {
    csim_world_def def = csim_default_world_def();
    vehicle_def car = vehicle_default();
    csim_body_id ground;
    csim_world *world;
    csim_error error;
    vehicle jointed, tree;
    csim_pose a, b;
    int i;
    if (csim_create_world(&def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 1, &ground);
    car.pose.position.z = car.radius + car.drop;
    if (vehicle_create(world, &car, &jointed) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
    car.pose.position.y = 20;
    if (vehicle_create_tree(world, &car, &tree) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;

    for (i = 0; i < 180; ++i) {
        const csim_real t = (csim_real)i / 60;
        const csim_real steer = t > 1 && t < 2 ? CSIM_R(0.1) : 0, speed = t < 2 ? 10 : 0;
        if (i % 30 == 0 && i > 0) {
            csim_body_get_pose(world, jointed.chassis, &a);
            csim_body_get_pose(world, tree.chassis, &b);
            printf("%.1f s: jointed at %5.1f %5.1f, tree at %5.1f %5.1f\n", (double)t, (double)a.position.x,
                   (double)a.position.y, (double)b.position.x, (double)b.position.y - 20);
        }
        vehicle_drive(world, &jointed, steer, speed, 1);
        vehicle_drive(world, &tree, steer, speed, 1);
        if (csim_world_step(world, CSIM_R(1) / 60) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
    }
    csim_body_get_pose(world, jointed.chassis, &a);
    csim_body_get_pose(world, tree.chassis, &b);
    printf("3.0 s: jointed at %5.1f %5.1f, tree at %5.1f %5.1f; %.2f m high\n", (double)a.position.x,
           (double)a.position.y, (double)b.position.x, (double)b.position.y - 20, (double)a.position.z);
    csim_destroy_world(world);
    return 0;
}
