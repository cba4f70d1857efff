/* What tests of joints begin with. */
#ifndef JOINT_SCENES_H
#define JOINT_SCENES_H
#include "check.h"
#include <math.h>

static const double pi = 3.14159265358979323846;
static const csim_body_id nobody = {0, 0, 0};

static csim_world *joint_world(csim_integrator integrator, double gravity) {
    csim_world_def wd = csim_default_world_def();
    csim_world *w = NULL;
    wd.integrator = integrator;
    wd.gravity = csim_v3(0, 0, (csim_real)-gravity);
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    return w;
}

#endif
