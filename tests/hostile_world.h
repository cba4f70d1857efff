/* A small world with one of everything, for tests of what a snapshot may say: every array of CSIMI_WORLD_ARRAYS has
   items. hostile_make makes the field and the modes it refers to first, hostile_free gives them back. */
#ifndef HOSTILE_WORLD_H
#define HOSTILE_WORLD_H

#include "../examples/modes/modes.h"

static struct {
    csim_modes *modes;
    const csim_field *field;
    uint64_t memory[1 << 17];
    csim_body_id body[12];
    csim_link_id link[7];
    int bodies, links;
} hostile;

static const csim_real hostile_x[24] = {
    0, 0, 0,           CSIM_R(0.2), 0, 0,           0, CSIM_R(0.1), 0,           CSIM_R(0.2), CSIM_R(0.1), 0,
    0, 0, CSIM_R(0.1), CSIM_R(0.2), 0, CSIM_R(0.1), 0, CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.2), CSIM_R(0.1), CSIM_R(0.1)};
static const int hostile_tets[24] = {0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7};
static const int hostile_faces[36] = {0, 3, 1, 0, 2, 3, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                      2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};

static bool hostile_make(void) {
    modes_def d = modes_default();
    csim_mesh_field_def m = csim_default_mesh_field_def();
    void *block = (void *)(((uintptr_t)hostile.memory + 63) / 64 * 64);
    d.vertices = m.vertices = hostile_x;
    d.vertex_count = m.vertex_count = 8;
    d.tets = hostile_tets;
    d.tet_count = 6;
    d.modes = 4;
    d.derivatives = 2;
    m.triangles = hostile_faces;
    m.triangle_count = 12;
    m.resolution = 8;
    return modes_create(&d, NULL, &hostile.modes, NULL) == CSIM_OK &&
           csim_create_mesh_field_in(&m, block, sizeof hostile.memory - 64, &hostile.field, NULL) == CSIM_OK;
}

static void hostile_free(void) { modes_destroy(hostile.modes, NULL); }

static bool hostile_rigid(csim_world *w, csim_shape *shape, csim_real x) {
    csim_rigid_def d = csim_default_rigid_def();
    d.shapes = shape;
    d.shape_count = 1;
    d.pose.position = csim_v3(x, 0, CSIM_R(0.3));
    return csim_create_rigid(w, &d, &hostile.body[hostile.bodies++]) == CSIM_OK;
}

static bool hostile_bodies(csim_world *w) {
    csim_vec3 point[8];
    csim_shape shape[4];
    csim_particle_def p = csim_default_particle_def();
    csim_soft_def s = csim_default_soft_def();
    csim_cloth_def c = csim_default_cloth_def();
    csim_cable_def cable = csim_default_cable_def();
    csim_tree_def t = csim_default_tree_def();
    csim_tree_link_def l[4];
    csim_reduced_def r = csim_default_reduced_def();
    int i;
    bool ok = csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 1, &hostile.body[hostile.bodies++]) == CSIM_OK;
    for (i = 0; i < 8; i++) point[i] = csim_v3(hostile_x[3 * i], hostile_x[3 * i + 1], hostile_x[3 * i + 2]);
    shape[0] = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    shape[1] = csim_hull(point, 8);
    shape[2] = csim_capsule(CSIM_R(0.05), CSIM_R(0.1));
    shape[3] = csim_field_shape(hostile.field);
    for (i = 0; i < 4; i++) ok = hostile_rigid(w, shape + i, CSIM_R(0.4) * (csim_real)i) && ok;
    p.position = csim_v3(0, 1, CSIM_R(0.02));
    p.radius = CSIM_R(0.05);
    ok = csim_create_particle(w, &p, &hostile.body[hostile.bodies++]) == CSIM_OK && ok;
    s.vertices = c.vertices = hostile_x;
    s.vertex_count = c.vertex_count = 8;
    s.tets = hostile_tets;
    s.tet_count = 6;
    s.pose.position = csim_v3(1, 1, CSIM_R(0.001));
    ok = csim_create_soft(w, &s, &hostile.body[hostile.bodies++]) == CSIM_OK && ok;
    c.triangles = hostile_faces;
    c.triangle_count = 12;
    c.pose.position = csim_v3(2, 1, CSIM_R(0.2));
    ok = csim_create_cloth(w, &c, &hostile.body[hostile.bodies++]) == CSIM_OK && ok;
    cable.start = csim_v3(0, 2, 1);
    cable.end = csim_v3(1, 2, 1);
    cable.segments = 4;
    cable.start_end = CSIM_CABLE_CLAMPED;
    ok = csim_create_cable(w, &cable, &hostile.body[hostile.bodies++]) == CSIM_OK && ok;
    for (i = 0; i < 4; i++) {
        l[i] = csim_default_tree_link_def();
        l[i].parent = i == 3 ? 0 : i - 1;
        l[i].joint = i == 0   ? CSIM_TREE_FLOATING
                     : i == 1 ? CSIM_TREE_REVOLUTE
                     : i == 2 ? CSIM_TREE_PRISMATIC
                              : CSIM_TREE_BALL;
        l[i].frame.position = csim_v3(0, CSIM_R(0.3), 0);
        l[i].shapes = shape;
        l[i].shape_count = i < 3;
        l[i].effort = i == 1 ? 5 : 0;
        l[i].mass = 1;
        l[i].armature = i ? CSIM_R(0.1) : 0;
    }
    t.links = l;
    t.link_count = 4;
    t.pose.position = csim_v3(3, 0, 1);
    ok = csim_create_tree(w, &t, &hostile.body[hostile.bodies++]) == CSIM_OK && ok;
    r.modes = hostile.modes;
    r.pose.position = csim_v3(3, 2, CSIM_R(0.001));
    return csim_create_reduced(w, &r, &hostile.body[hostile.bodies++]) == CSIM_OK && ok;
}

/* A hinge, a slider, a gear of both, a spring, a clamp, a joint with springs and a cone, an exclusion. */
static bool hostile_links(csim_world *w) {
    csim_joint_def j = csim_default_joint_def();
    csim_spring_def s = csim_default_spring_def();
    csim_clamp_def c = csim_default_clamp_def();
    bool ok;
    j.kind = CSIM_JOINT_HINGE;
    j.a.body = hostile.body[1];
    j.b.body = hostile.body[2];
    j.a.point = j.b.point = csim_v3(CSIM_R(0.2), 0, CSIM_R(0.3));
    ok = csim_create_joint(w, &j, &hostile.link[0]) == CSIM_OK;
    j.kind = CSIM_JOINT_SLIDER;
    j.a.body = hostile.body[3];
    ok = csim_create_joint(w, &j, &hostile.link[1]) == CSIM_OK && ok;
    j.kind = CSIM_JOINT_GEAR;
    j.first = hostile.link[0];
    j.second = hostile.link[1];
    ok = csim_create_joint(w, &j, &hostile.link[2]) == CSIM_OK && ok;
    s.a.body = hostile.body[5];
    s.b.body = hostile.body[6];
    ok = csim_create_spring(w, &s, &hostile.link[3]) == CSIM_OK && ok;
    c.cable = hostile.body[8];
    c.body = hostile.body[4];
    c.at_end = true;
    ok = csim_create_clamp(w, &c, &hostile.link[4]) == CSIM_OK && ok;
    j = csim_default_joint_def();
    j.a.body = hostile.body[2];
    j.cone[0] = j.cone[1] = 1;
    j.axes[CSIM_AXIS_TWIST].spring.stiffness = j.axes[CSIM_AXIS_TWIST].spring.damping = 1;
    ok = csim_create_joint(w, &j, &hostile.link[5]) == CSIM_OK && ok;
    hostile.links = 7;
    return csim_create_exclusion(w, hostile.body[1], hostile.body[3], &hostile.link[6]) == CSIM_OK && ok;
}

/* One of everything, some steps old, with slots that are free again; null when something of it could not be made. */
static csim_world *hostile_world(void) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    csim_particle_def p = csim_default_particle_def();
    csim_body_id gone[2];
    int i;
    bool ok;
    hostile.bodies = hostile.links = 0;
    def.budget = 1000000; /* contacts are kept then */
    def.can_sleep = true;
    def.solver.max_iterations = 20;
    if (csim_create_world(&def, &w, NULL) != CSIM_OK) return NULL;
    ok = csim_create_particle(w, &p, &gone[0]) == CSIM_OK && hostile_bodies(w) && hostile_links(w);
    p.position = csim_v3(0, 5, 5);
    ok = ok && csim_create_particle(w, &p, &gone[1]) == CSIM_OK;
    for (i = 0; i < 3; i++) ok = ok && csim_world_step(w, CSIM_R(0.005)) == CSIM_OK;
    ok = ok && csim_destroy_body(w, gone[0]) == CSIM_OK && csim_destroy_body(w, gone[1]) == CSIM_OK;
    ok = ok && csim_body_set_awake(w, hostile.body[6], false) == CSIM_OK; /* with what hangs on it */
    for (i = 0; i < 2; i++) ok = ok && csim_world_step(w, CSIM_R(0.005)) == CSIM_OK;
    if (ok) return w;
    csim_destroy_world(w);
    return NULL;
}

#endif
