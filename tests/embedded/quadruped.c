/* A quadruped of 13 links with drives drops on its feet and stands. */
#include "program.h"
#define CONDSIM_TINY
#define CONDSIM_NO_ROUND
#define CONDSIM_NO_PARTICLES
#define CONDSIM_WITH_TREE
#include "condsim.h"

enum { LINKS = 13, CONTACTS = 16 };
static union {
    unsigned char bytes[768 * 1024];
    uint64_t align;
} room;
static csim_world *world;
static size_t block;
static csim_tree_link_def link[LINKS];
static csim_shape shape[LINKS];

static void leg_link(int i, int parent, csim_vec3 at, csim_vec3 axis, csim_vec3 half, csim_real length) {
    link[i] = csim_default_tree_link_def();
    link[i].parent = parent;
    link[i].joint = CSIM_TREE_REVOLUTE;
    link[i].frame.position = at;
    link[i].axis = axis;
    link[i].stiffness = 60;
    link[i].rate_gain = 2;
    shape[i] = csim_box(half);
    shape[i].local.position = csim_v3(0, 0, -length / 2);
    link[i].shapes = shape + i, link[i].shape_count = 1;
}

static void build(void) {
    const csim_real thigh = CSIM_R(0.2), shank = CSIM_R(0.2);
    int leg;
    link[0] = csim_default_tree_link_def();
    link[0].joint = CSIM_TREE_FLOATING;
    link[0].mass = 6;
    shape[0] = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.1), CSIM_R(0.04)));
    link[0].shapes = shape, link[0].shape_count = 1;
    for (leg = 0; leg < 4; ++leg) {
        const csim_real x = leg & 1 ? CSIM_R(0.2) : CSIM_R(-0.2), side = leg & 2 ? CSIM_R(1) : CSIM_R(-1);
        const int hip = 1 + 3 * leg;
        leg_link(hip, 0, csim_v3(x, side * CSIM_R(0.1), 0), csim_v3(1, 0, 0),
                 csim_v3(CSIM_R(0.03), CSIM_R(0.03), CSIM_R(0.03)), 0);
        leg_link(hip + 1, hip, csim_v3(0, side * CSIM_R(0.05), 0), csim_v3(0, 1, 0),
                 csim_v3(CSIM_R(0.02), CSIM_R(0.02), thigh / 2), thigh);
        leg_link(hip + 2, hip + 1, csim_v3(0, 0, -thigh), csim_v3(0, 1, 0),
                 csim_v3(CSIM_R(0.012), CSIM_R(0.012), shank / 2), shank);
        link[hip + 1].position = link[hip + 1].target = CSIM_R(0.6);
        link[hip + 2].position = link[hip + 2].target = CSIM_R(-1.2);
        link[hip + 2].lower = CSIM_R(-2.5), link[hip + 2].upper = CSIM_R(-0.1);
    }
}

int program_begin(void) {
    csim_world_def def = csim_default_world_def();
    csim_tree_def tree = csim_default_tree_def();
    csim_body_id id;
    unsigned char *memory = room.bytes + (64 - (uintptr_t)room.bytes % 64) % 64;
    build();
    def.capacity.bodies = 2;
    def.capacity.rigids = 1;
    def.capacity.shapes = LINKS + 1;
    def.capacity.trees = 1;
    def.capacity.tree_links = LINKS;
    def.capacity.coords = 6;
    def.capacity.contacts = CONTACTS;
    def.capacity.pairs = LINKS; /* with the ground */
    def.capacity.tree_rows = 8; /* both limits of four knees; drives are not bounded */
    def.capacity.matrix_blocks = 4 + 28;
    def.solver.solver = CSIM_SOLVER_SWEEP;
    def.solver.window = 4;
    if (csim_world_bytes(&def, &block, NULL) != CSIM_OK || block > sizeof room - 64) return 1;
    if (csim_create_world_in(&def, memory, block, &world, NULL) != CSIM_OK) return 2;
    if (csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.8), &id) != CSIM_OK) return 3;
    tree.links = link, tree.link_count = LINKS;
    tree.pose.position = csim_v3(0, 0, CSIM_R(0.4));
    tree.no_self_contact = true;
    return csim_create_tree(world, &tree, &id) != CSIM_OK;
}

int program_step(void) { return csim_world_step(world, CSIM_R(0.005)) != CSIM_OK; }
uint64_t program_hash(void) { return csim_world_hash(world); }
size_t program_block(void) { return block; }
