/* stack: two boxes fall on each other on a microcontroller: no heap, one block of memory, the certificate over the
   serial line. Arduino IDE or PlatformIO; a Raspberry Pi Pico or any board with 128 kB of memory, half of it for the
   block. Install the library by its ZIP (make dist), or lay condsim.h beside this file. */
#define CONDSIM_TINY
#define CONDSIM_NO_HEAP
#define CONDSIM_NO_STDIO
#define CONDSIM_FLOAT
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"

static unsigned char memory[56 * 1024] __attribute__((aligned(64)));
static csim_world *world;
static csim_body_id boxes[2];
static int steps;

/* CONDSIM_TINY has no sentences: the number is a line of docs/errors.md. */
static void refused(csim_status status) {
    Serial.print("refused: ");
    Serial.print((double)status, 0);
    Serial.println("");
    world = 0;
}

void setup() {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def rigid = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(0.05f, 0.05f, 0.05f));
    csim_body_id ground;
    csim_status status;
    int i;
    Serial.begin(115200);
    def.capacity.bodies = 3;
    def.capacity.contacts = 16;
    def.capacity.pairs = 4;
    def.solver.solver = CSIM_SOLVER_SWEEP;
    def.solver.window = 4;
    def.solver.tolerance = 1e-3f;
    status = csim_create_world_in(&def, memory, sizeof memory, &world, 0);
    if (status != CSIM_OK) return refused(status);
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 0.5f, &ground);
    rigid.shapes = &box, rigid.shape_count = 1;
    for (i = 0; i < 2; ++i) {
        rigid.pose.position = csim_v3(0, 0, 0.06f + 0.11f * (float)i);
        csim_create_rigid(world, &rigid, &boxes[i]);
    }
}

void loop() {
    csim_pose pose;
    if (!world || csim_world_step(world, 0.01f) != CSIM_OK) return delay(1000);
    if (++steps % 20 == 0 && csim_body_get_pose(world, boxes[1], &pose) == CSIM_OK) {
        Serial.print("upper box at ");
        Serial.print(pose.position.z, 4);
        Serial.println(csim_world_stats(world).result == CSIM_RESULT_CONVERGED ? " m, certified" : " m");
    }
    delay(10);
}
