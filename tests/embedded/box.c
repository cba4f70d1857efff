/* One box falls, tilted, on a plane: 8 contacts, the sweeps. */
#include "program.h"
#define CONDSIM_TINY
#define CONDSIM_NO_ROUND
#define CONDSIM_NO_STACKS
#define CONDSIM_NO_RESTRAINT
#define CONDSIM_NO_PARTICLES
#include "condsim.h"

static union {
    unsigned char bytes[64 * 1024];
    uint64_t align;
} room;
static csim_world *world;
static size_t block;

int program_begin(void) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def rigid = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(CSIM_R(0.05), CSIM_R(0.05), CSIM_R(0.05)));
    csim_body_id id;
    unsigned char *memory = room.bytes + (64 - (uintptr_t)room.bytes % 64) % 64;
    def.capacity.bodies = 2;
    def.capacity.rigids = 2;
    def.capacity.shapes = 2;
    def.capacity.contacts = 8;
    def.capacity.pairs = 2;
    def.solver.solver = CSIM_SOLVER_SWEEP;
    def.solver.window = 2;
#ifdef BOX_CERTIFY
    def.solver.certify = BOX_CERTIFY;
#endif
    if (csim_world_bytes(&def, &block, NULL) != CSIM_OK || block > sizeof room - 64) return 1;
    if (csim_create_world_in(&def, memory, block, &world, NULL) != CSIM_OK) return 2;
    if (csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id) != CSIM_OK) return 3;
    rigid.shapes = &box;
    rigid.shape_count = 1;
    rigid.pose.position = csim_v3(0, 0, CSIM_R(0.1));
    rigid.pose.rotation.w = CSIM_R(0.99), rigid.pose.rotation.x = CSIM_R(0.1), rigid.pose.rotation.y = CSIM_R(0.1);
    return csim_create_rigid(world, &rigid, &id) != CSIM_OK;
}

int program_step(void) { return csim_world_step(world, CSIM_R(0.01)) != CSIM_OK; }
uint64_t program_hash(void) { return csim_world_hash(world); }
size_t program_block(void) { return block; }
