/* A world in memory of your own: the size is asked first, nothing is allocated, and a full capacity is a status, not a
   crash. Define CONDSIM_NO_HEAP and no malloc is linked. Build: cc 04_no_heap.c -lm */
#define CONDSIM_IMPLEMENTATION
#define CONDSIM_NO_HEAP
#define CONDSIM_NO_LOADERS
#include "../condsim.h"
#include <stdio.h>

static union {
    unsigned char bytes[1 << 19];
    double align[1];
} memory;

int main(void) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def rigid = csim_default_rigid_def();
    csim_shape ball = csim_sphere(CSIM_R(0.1));
    csim_world *world;
    csim_body_id id;
    csim_pose pose;
    csim_error error;
    csim_status status;
    unsigned char *block = memory.bytes + (64 - (uintptr_t)memory.bytes % 64) % 64;
    size_t bytes;
    int i;

    def.capacity.bodies = def.capacity.rigids = def.capacity.shapes = 3;
    def.capacity.contacts = def.capacity.pairs = 16;
    def.capacity.nodes = 1, def.capacity.tets = 1, def.capacity.surface = 1, def.capacity.triangles = 1;
    def.capacity.hulls = 1, def.capacity.links = 1, def.capacity.matrix_blocks = 16;
    if (csim_world_bytes(&def, &bytes, &error) != CSIM_OK ||
        csim_create_world_in(&def, block, sizeof memory - 64, &world, &error) != CSIM_OK)
        return printf("%s\n", error.text), 1;
    printf("the world fits in half a megabyte: %s\n", bytes <= sizeof memory - 64 ? "yes" : "no");
    if (csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id) != CSIM_OK) return 1;
    rigid.shapes = &ball, rigid.shape_count = 1;
    for (i = 0; i < 3; ++i) { /* the ground is a body too: the third ball has no room */
        rigid.pose.position = csim_v3(CSIM_R(0.3) * (csim_real)i, 0, CSIM_R(0.5));
        status = csim_create_rigid(world, &rigid, &id);
        printf("ball %d: %s\n", i + 1, status == CSIM_OK ? "created" : csim_status_text(status));
    }
    for (i = 0; i < 100; ++i)
        if (csim_world_step(world, CSIM_R(0.01)) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
    csim_world_bodies(world, &id, 1);
    csim_body_get_pose(world, id, &pose);
    printf("after a second: %d bodies, %d contacts\n", csim_world_body_count(world), csim_world_stats(world).touching);
    csim_destroy_world(world);
    return 0;
}
