/* world/definitions: what every definition begins with. */
#include "private.h"
#include "../io/mesh.h"

CSIM_API csim_world_def csim_default_world_def(void) {
    CSIMI_BLANK(csim_world_def, d);
    d.gravity = csim_v3(0, 0, CSIM_R(-9.81));
    d.integrator = CSIM_BACKWARD_EULER;
    d.solver = csim_default_solver_params();
    d.geometric = true;
    d.law = CSIM_LAW_STRICT;
    d.omega[0] = d.omega[1] = CSIM_R(1e-3);
    d.contact_distance = CSIM_R(1e-3);
    d.stabilization = CSIM_R(0.8);
    d.push_out_speed = 1;
    d.restitution_threshold = CSIM_R(0.2);
    d.touch_distance = CSIM_R(1e-4);
    d.hit_speed = 1;
    d.sleep_speed = CSIM_R(0.01);
    d.sleep_drift = CSIM_R(2e-4);
    d.sleep_time = CSIM_R(0.5);
    return d;
}

CSIM_API csim_world_def csim_realtime_world_def(void) {
    csim_world_def d = csim_default_world_def();
    d.solver.tolerance = CSIM_R(1e-3);
    d.budget = 50000;
    d.can_sleep = true;
    return d;
}

CSIM_API csim_world_def csim_balanced_world_def(void) {
    csim_world_def d = csim_realtime_world_def();
    d.budget = 500000;
    return d;
}

CSIM_API csim_world_def csim_certified_world_def(void) { return csim_default_world_def(); }

CSIM_API csim_world_def csim_reference_world_def(void) {
    csim_world_def d = csim_default_world_def();
    d.solver.tolerance = sizeof(csim_real) == sizeof(double) ? CSIM_R(1e-8) : CSIM_R(1e-5);
    d.solver.max_iterations = 20000;
    return d;
}

CSIM_API csim_surface_def csim_default_surface_def(void) {
    csim_surface_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.friction = CSIM_R(0.5);
    d.friction2 = -1;
    d.friction_direction = csim_v3(1, 0, 0);
    d.category = 1;
    d.mask = 0xffffffffu;
    return d;
}

CSIM_API csim_particle_def csim_default_particle_def(void) {
    CSIMI_BLANK(csim_particle_def, d);
    d.mass = 1;
    d.surface = csim_default_surface_def();
    return d;
}

CSIM_API csim_rigid_def csim_default_rigid_def(void) {
    CSIMI_BLANK(csim_rigid_def, d);
    d.pose = csim_pose_identity();
    d.density = 1000;
    d.surface = csim_default_surface_def();
    d.can_sleep = true;
    return d;
}

CSIM_API csim_soft_def csim_default_soft_def(void) {
    CSIMI_BLANK(csim_soft_def, d);
    d.pose = csim_pose_identity();
    d.scale = 1;
    d.young = CSIM_R(1e5);
    d.poisson = CSIM_R(0.4);
    d.density = 1000;
    d.stiffness_damping = CSIM_R(1e-3);
    d.surface = csim_default_surface_def();
    return d;
}

CSIM_API csim_soft_def csim_mesh_soft_def(const csim_mesh *mesh) {
    csim_soft_def d = csim_default_soft_def();
    if (!mesh) return d;
    d.vertices = mesh->vertices;
    d.vertex_count = mesh->vertex_count;
    d.tets = mesh->tets;
    d.tet_count = mesh->tet_count;
    return d;
}

CSIM_API csim_spring_def csim_default_spring_def(void) {
    CSIMI_BLANK(csim_spring_def, d);
    d.rest_length = -1;
    d.stiffness = 1000;
    return d;
}

CSIM_API csim_pin_def csim_default_pin_def(void) {
    CSIMI_BLANK(csim_pin_def, d);
    return d;
}
