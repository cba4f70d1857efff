/* What is under the mouse, in front of a robot, around an explosion? Build: cc 05_queries.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

static const char *name_of(const csim_query_hit *hit) {
    return hit->user_data ? (const char *)hit->user_data : "ground";
}

static void put(csim_world *world, csim_shape shape, csim_vec3 at, char *name) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_body_id id;
    def.shapes = &shape;
    def.shape_count = 1;
    def.pose.position = at;
    def.user_data = name;
    csim_create_rigid(world, &def, &id);
}

int main(void) {
    static char crate[] = "crate", ball[] = "ball", rope[] = "rope";
    csim_world_def world_def = csim_default_world_def();
    csim_cable_def cable = csim_default_cable_def();
    csim_query_def query = csim_default_query_def();
    csim_query_hit hit, hits[8];
    csim_world *world;
    csim_body_id ground, id;
    csim_error error;
    csim_pose pose = csim_pose_identity();
    const csim_shape probe = csim_sphere(CSIM_R(0.2));
    int i, count;

    if (csim_create_world(&world_def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground);
    put(world, csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.5), CSIM_R(0.5))), csim_v3(0, 0, CSIM_R(0.5)), crate);
    put(world, csim_sphere(CSIM_R(0.25)), csim_v3(2, 0, CSIM_R(0.25)), ball);
    cable.start = csim_v3(-2, -1, CSIM_R(0.7));
    cable.end = csim_v3(-2, 1, CSIM_R(0.7));
    cable.segments = 8;
    cable.radius = CSIM_R(0.05);
    cable.user_data = rope;
    csim_create_cable(world, &cable, &id);

    /* the first thing on a way */
    if (csim_world_cast_ray(world, NULL, csim_v3(-4, 0, 1), csim_v3(8, 0, CSIM_R(-1.2)), &hit))
        printf("ray: %s at x = %.3f, normal z %.2f\n", name_of(&hit), (double)hit.point.x, (double)hit.normal.z);
    /* everything on it */
    count = csim_world_cast_ray_all(world, NULL, csim_v3(-4, 0, 1), csim_v3(8, 0, CSIM_R(-1.2)), hits, 8);
    for (i = 0; i < count && i < 8; ++i)
        printf("  %d: %s, %.3f m away\n", i, name_of(hits + i), (double)hits[i].distance);
    /* a robot's hand coming down: how far? The ground is not asked */
    query.ignore = ground;
    pose.position = csim_v3(CSIM_R(0.6), 0, 3);
    if (csim_world_cast_shape(world, &query, &probe, pose, csim_v3(0, 0, -3), &hit))
        printf("cast: %s after %.3f m\n", name_of(&hit), (double)hit.distance);
    /* what is in a box */
    count = csim_world_overlap_box(world, &query, csim_v3(-1, -1, 0), csim_v3(2, 1, 1), hits, 8);
    for (i = 0; i < count && i < 8; ++i) printf("in the box: %s\n", name_of(hits + i));
    /* the nearest surface */
    if (csim_world_closest_point(world, NULL, csim_v3(1, 0, CSIM_R(0.6)), 10, &hit))
        printf("closest: %s, %.3f m\n", name_of(&hit), (double)hit.distance);
    csim_destroy_world(world);
    return 0;
}
