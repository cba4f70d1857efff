/* A walker: slopes, stairs, a lift, a crate to push, a beam to crouch under, a soft mat. It is no body of the world: a
   few numbers, and functions of the world as it lies. Build: cc 08_character.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include "walker.h"
#include <stdio.h>

#define R(x) CSIM_R(x)

static csim_body_id box(csim_world *world, csim_vec3 half, csim_vec3 at, csim_real tilt, csim_motion motion) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape shape = csim_box(half);
    csim_body_id id = {0, 0, 0};
    def.shapes = &shape;
    def.shape_count = 1;
    def.density = 200;
    def.motion = motion;
    def.pose.position = at;
    def.pose.rotation = csim_quat_axis_angle(csim_v3(0, 1, 0), tilt);
    csim_create_rigid(world, &def, &id);
    return id;
}

static void tell(const char *what, const walker *c) {
    printf("%-22s x %5.2f z %5.2f%s\n", what, (double)c->feet.x, (double)c->feet.z, c->stands ? "" : ", in the air");
}

int main(void) {
    csim_world_def def = csim_default_world_def();
    csim_soft_def mat = csim_default_soft_def();
    csim_world *world;
    csim_error error;
    csim_body_id id, crate, lift;
    csim_pose pose;
    csim_vec3 v = {2, 0, 0}, none = {0, 0, 0};
    walker c = {{0, 0, R(0.01)}, {0, 0, 0}, R(1.8), {0, 0, 0}, true};
    static const csim_real cube[24] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
    static const int tets[24] = {0, 1, 2, 6, 0, 2, 3, 6, 0, 3, 7, 6, 0, 7, 4, 6, 0, 4, 5, 6, 0, 5, 1, 6};
    int i;
    if (csim_create_world(&def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    csim_create_ground(world, none, csim_v3(0, 0, 1), R(0.5), &id);
    for (i = 0; i < 4; ++i) /* stairs of 0.25 m from x = 2 on */
        box(world, csim_v3(R(0.5), 1, R(0.125) * (csim_real)(i + 1)),
            csim_v3(R(2.5) + (csim_real)i, 0, R(0.125) * (csim_real)(i + 1)), 0, CSIM_STATIC);
    box(world, csim_v3(2, 1, R(0.1)), csim_v3(R(7.9), 0, R(0.4)), R(0.254), CSIM_STATIC); /* a ramp down */
    box(world, csim_v3(R(0.2), 1, R(0.1)), csim_v3(12, 0, R(1.3)), 0, CSIM_STATIC);      /* a beam 1.2 m up */
    crate = box(world, csim_v3(R(0.3), R(0.3), R(0.3)), csim_v3(15, 0, R(0.3)), 0, CSIM_DYNAMIC);
    lift = box(world, csim_v3(1, 1, R(0.05)), csim_v3(21, 0, R(0.05)), 0, CSIM_KINEMATIC);
    box(world, csim_v3(1, 1, R(0.1)), csim_v3(-4, 0, 0), R(-1.1), CSIM_STATIC); /* too steep */
    mat.vertices = cube;
    mat.vertex_count = 8;
    mat.tets = tets;
    mat.tet_count = 6;
    mat.young = R(1e5);
    mat.scale = 1;
    mat.pose.position = csim_v3(R(-2.5), R(2.5), 0);
    csim_create_soft(world, &mat, &id);

#define STEPS(n, wish, crouch)                       \
    for (i = 0; i < (n); ++i) {                      \
        walker_walk(world, &c, (wish), (crouch), R(0.01));  \
        if (csim_world_step(world, R(0.01)) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1; \
    }
    STEPS(250, v, false);
    tell("up the stairs", &c);
    STEPS(250, v, false);
    tell("down the ramp", &c);
    STEPS(200, v, false);
    tell("stopped by the beam", &c);
    STEPS(100, v, true);
    tell("crouched under it", &c);
    STEPS(100, v, false);
    csim_body_get_pose(world, crate, &pose);
    printf("pushed the crate to    x %5.2f\n", (double)pose.position.x);
    c.feet = csim_v3(21, 0, R(0.11));
    csim_body_set_velocity(world, lift, csim_v3(R(0.5), 0, 1), none);
    STEPS(200, none, false);
    tell("up on the lift", &c);
    c.feet = csim_v3(-2, 3, R(1.2));
    c.stands = false;
    STEPS(200, none, false);
    tell("on the soft mat", &c);
    c.feet = csim_v3(-2, 0, R(0.01));
    STEPS(200, csim_v3(-2, 0, 0), false);
    tell("before the steep slope", &c);
    csim_destroy_world(world);
    return 0;
}
