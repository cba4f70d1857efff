/* Ten particles in a row, a spring between neighbours, fall on a plane: COND. */
#include "program.h"
#define CONDSIM_TINY
#define CONDSIM_NO_ROUND
#define CONDSIM_NO_BOXES
#define CONDSIM_NO_RIGID
#define CONDSIM_NO_RESTRAINT
#define CONDSIM_WITH_COND
#define CONDSIM_WITH_SPRINGS
#define CONDSIM_NO_SWEEP
#include "condsim.h"

enum { PARTICLES = 10 };
static union {
    unsigned char bytes[512 * 1024];
    uint64_t align;
} room;
static csim_world *world;
static size_t block;

int program_begin(void) {
    csim_world_def def = csim_default_world_def();
    csim_particle_def particle = csim_default_particle_def();
    csim_spring_def spring = csim_default_spring_def();
    csim_body_id id, last;
    csim_link_id link;
    unsigned char *memory = room.bytes + (64 - (uintptr_t)room.bytes % 64) % 64;
    int i;
    def.capacity.bodies = PARTICLES + 1;
    def.capacity.rigids = 1;
    def.capacity.shapes = 1;
    def.capacity.nodes = PARTICLES;
    def.capacity.links = PARTICLES - 1;
    def.capacity.contacts = PARTICLES;
    def.capacity.pairs = PARTICLES;
    def.capacity.matrix_blocks = 4 + PARTICLES + 2 * (PARTICLES - 1); /* of the ground; each, and two a spring */
    def.solver.solver = CSIM_SOLVER_COND;
    def.solver.cond.acceleration = CSIM_ACCELERATION_ANDERSON;
    def.solver.window = 4;
    if (csim_world_bytes(&def, &block, NULL) != CSIM_OK || block > sizeof room - 64) return 1;
    if (csim_create_world_in(&def, memory, block, &world, NULL) != CSIM_OK) return 2;
    if (csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id) != CSIM_OK) return 3;
    spring.stiffness = 500;
    spring.damping = 1;
    for (i = 0; i < PARTICLES; ++i) {
        particle.mass = CSIM_R(0.1);
        particle.radius = CSIM_R(0.02);
        particle.position = csim_v3(CSIM_R(0.1) * (csim_real)i, 0, CSIM_R(0.05) + CSIM_R(0.02) * (csim_real)i);
        if (csim_create_particle(world, &particle, &id) != CSIM_OK) return 4;
        spring.a.body = last, spring.b.body = id;
        if (i > 0 && csim_create_spring(world, &spring, &link) != CSIM_OK) return 5;
        last = id;
    }
    return 0;
}

int program_step(void) { return csim_world_step(world, CSIM_R(0.01)) != CSIM_OK; }
uint64_t program_hash(void) { return csim_world_hash(world); }
size_t program_block(void) { return block; }
