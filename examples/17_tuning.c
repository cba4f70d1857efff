/* Speed against accuracy: a wall of 20 crates, every other one a tenth as heavy, is hit by a ball; what the same
   second takes and gives under other settings. Build: cc 17_tuning.c -lm */
#define CONDSIM_OWN_MATH 1 /* the same figures with any C library */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

enum { WIDE = 5, HIGH = 4 };

static void run(const char *name, csim_world_def def, csim_real h) {
    csim_rigid_def body = csim_default_rigid_def();
    csim_shape cube = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.2), CSIM_R(0.2))), ball = csim_sphere(CSIM_R(0.15));
    const int steps = (int)(1 / h + CSIM_R(0.5));
    double iterations = 0, deepest = 0, depth = 0;
    csim_body_id ground, id;
    csim_world *world;
    int i, certified = 0;
    if (csim_create_world(&def, &world, NULL) != CSIM_OK) return;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.6), &ground);
    body.shapes = &cube, body.shape_count = 1;
    for (i = 0; i < WIDE * HIGH; ++i) {
        body.mass = i % 2 ? 10 : 100;
        body.pose.position.y = CSIM_R(0.41) * (csim_real)(i % WIDE);
        body.pose.position.z = CSIM_R(0.2) + CSIM_R(0.4) * (csim_real)(i / WIDE);
        csim_create_rigid(world, &body, &id);
    }
    body.shapes = &ball, body.mass = 40;
    body.pose.position = csim_v3(-1, CSIM_R(0.82), CSIM_R(0.8)), body.velocity = csim_v3(8, 0, 1);
    csim_create_rigid(world, &body, &id);
    for (i = 0; i < steps && csim_world_step(world, h) == CSIM_OK; ++i) {
        const csim_step_stats stats = csim_world_stats(world);
        iterations += stats.iterations;
        certified += stats.result == CSIM_RESULT_CONVERGED;
        depth = 1e3 * stats.penetration;
        if (depth > deepest) deepest = depth;
    }
    printf("%-20s %3d of %3d certified, %3.0f iterations a step, at most %4.1f mm deep, at the end %.2f\n", name,
           certified, steps, iterations / steps, deepest, depth);
    csim_destroy_world(world);
}

int main(void) {
    const csim_real h = CSIM_R(1) / 60;
    csim_world_def def = csim_certified_world_def(), loose = def, seldom = def, bounded = csim_realtime_world_def();
    csim_world_def tight = bounded;
    loose.solver.tolerance = CSIM_R(1e-3);
    seldom.solver.certify = 10;
    tight.budget = 5000;
    bounded.solver.solver = CSIM_SOLVER_BOUNDED;
    run("real time", csim_realtime_world_def(), h); /* the four presets */
    run("balanced", csim_balanced_world_def(), h);
    run("certified, 5e-5", def, h);
    run("reference, 1e-8", csim_reference_world_def(), h);
    run("half the step", def, h / 2); /* of certified, as the next two */
    run("tolerance 1e-3", loose, h);
    run("asked every tenth", seldom, h);
    run("a tenth of real time", tight, h);
    run("bounded alone", bounded, h);
    return 0;
}
