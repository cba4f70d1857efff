/* CONDSIM_SINGLE: no arithmetic in double, against what is known without it. Five boxes fall on each other and stand:
   the ground carries their weight, each interface that of the boxes above it, and nothing sinks. At a tolerance of 1e-3
   and at the default; sh tests/switches.sh builds and runs it. */
#define CONDSIM_FLOAT
#ifndef NOT_SINGLE
#define CONDSIM_SINGLE
#endif
#define CONDSIM_TINY
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
#include <math.h>
#include <stdio.h>

enum { BOXES = 5, STEPS = 300 };

/* The largest error of the weight that an interface carries, as a share of it. Bodies are numbered from below. */
static double weigh(const csim_world *w, csim_body_id lowest, double h) {
    double worst = 0, up[BOXES] = {0};
    int count, i;
    const csim_contact_info *c = csim_world_contacts(w, &count);
    for (i = 0; i < count; i++) {
        const bool a = c[i].body_a.index1 > c[i].body_b.index1;
        up[(a ? c[i].body_a : c[i].body_b).index1 - lowest.index1] += (a ? 1 : -1) * (double)c[i].impulse.z;
    }
    for (i = 0; i < BOXES; i++) {
        const double weight = (BOXES - i) * 8.0 * 9.81 * h, off = fabs(up[i] - weight) / weight;
        if (off > worst) worst = off;
    }
    return worst;
}

/* Steps missed while they fall, error of the weights at the end, height of the last and speed. */
static int stack(double tolerance) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def rigid = csim_default_rigid_def();
    csim_shape shape = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_body_id ground, box[BOXES];
    csim_world *w = NULL;
    csim_pose pose;
    csim_vec3 v, turn;
    double weights, sunk, speed;
    int i, missed = 0;
    def.solver.tolerance = CSIM_R(tolerance);
    rigid.shapes = &shape, rigid.shape_count = 1, rigid.mass = 8;
    if (csim_create_world(&def, &w, NULL) != CSIM_OK) return 1;
    if (csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground) != CSIM_OK) return 1;
    for (i = 0; i < BOXES; i++) {
        rigid.pose.position = csim_v3(CSIM_R(0.01) * (csim_real)(i % 2), 0, CSIM_R(0.1) + CSIM_R(0.22) * (csim_real)i);
        if (csim_create_rigid(w, &rigid, box + i) != CSIM_OK) return 1;
    }
    for (i = 0; i < STEPS; i++) {
        if (csim_world_step(w, CSIM_R(0.01)) != CSIM_OK) return 1;
        missed += csim_world_stats(w).result != CSIM_RESULT_CONVERGED;
    }
    weights = weigh(w, box[0], 0.01);
    (void)csim_body_get_pose(w, box[BOXES - 1], &pose);
    (void)csim_body_get_velocity(w, box[BOXES - 1], &v, &turn);
    sunk = fabs((double)pose.position.z - (0.1 + 0.2 * (BOXES - 1)));
    speed = sqrt((double)(v.x * v.x + v.y * v.y + v.z * v.z));
    csim_destroy_world(w);
    printf("tolerance %g: %d of %d steps missed, weights to %.1e, %.1e m off, %.1e m/s\n", tolerance, missed, STEPS,
           weights, sunk, speed);
    return missed > 0 || !(weights < tolerance) || !(sunk < 1e-4) ||
           !(speed < BOXES * tolerance * 9.81 * 0.01 + 1e-5);
}

int main(void) { return stack(1e-3) + stack(5e-5); }
