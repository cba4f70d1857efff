/* A door with a closer, a wheel on its suspension, an arm on a shoulder, and a crate dragged by a corner.
   Build: cc 07_joints.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

static csim_body_id box(csim_world *world, csim_real x, csim_real y, csim_real z, csim_vec3 at) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape shape = csim_box(csim_v3(x / 2, y / 2, z / 2));
    csim_body_id id = {0, 0, 0};
    def.shapes = &shape;
    def.shape_count = 1;
    def.density = 200;
    def.pose.position = at;
    csim_create_rigid(world, &def, &id);
    return id;
}

/* A joint of a to the world, both ends at a point. */
static csim_joint_def joint(csim_joint_kind kind, csim_body_id a, csim_vec3 at) {
    csim_joint_def def = csim_default_joint_def();
    def.kind = kind;
    def.a.body = a;
    def.a.point = def.b.point = at;
    return def;
}

int main(void) {
    csim_world_def world_def = csim_default_world_def();
    csim_world *world;
    csim_error error;
    csim_body_id door, wheel, arm, crate;
    csim_link_id hinge, strut, shoulder, mouse;
    csim_joint_def def;
    csim_axis_state axis[3];
    csim_pose pose;
    int step;

    if (csim_create_world(&world_def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    door = box(world, 1, CSIM_R(0.05), 2, csim_v3(CSIM_R(0.5), 0, 1));
    wheel = box(world, CSIM_R(0.2), CSIM_R(0.6), CSIM_R(0.6), csim_v3(0, 5, 1));
    arm = box(world, CSIM_R(0.6), CSIM_R(0.1), CSIM_R(0.1), csim_v3(CSIM_R(5.3), 0, 1));
    crate = box(world, CSIM_R(0.4), CSIM_R(0.4), CSIM_R(0.4), csim_v3(0, 10, 0));

    /* a hinge between its stops, closed by a spring; the door swings in */
    def = joint(CSIM_JOINT_HINGE, door, csim_v3(0, 0, 1));
    def.axes[CSIM_AXIS_TWIST].limited = true;
    def.axes[CSIM_AXIS_TWIST].upper = CSIM_R(1.5);
    def.axes[CSIM_AXIS_TWIST].spring.frequency = CSIM_R(0.25);
    def.axes[CSIM_AXIS_TWIST].spring.ratio = 1;
    csim_create_joint(world, &def, &hinge);
    csim_body_set_velocity(world, door, csim_v3(0, 1, 0), csim_v3(0, 0, 2));

    /* a wheel: x is its axle, z its suspension; a motor spins it, another one holds the steering at 0.3 rad */
    def = joint(CSIM_JOINT_WHEEL, wheel, csim_v3(0, 5, 1));
    def.axis = csim_v3(1, 0, 0);
    def.axis2 = csim_v3(0, 0, 1);
    def.axes[CSIM_AXIS_Z].spring.stiffness = 2000;
    def.axes[CSIM_AXIS_Z].spring.damping = 300;
    def.axes[CSIM_AXIS_TWIST].motor.kind = CSIM_MOTOR_VELOCITY;
    def.axes[CSIM_AXIS_TWIST].motor.target = 10;
    def.axes[CSIM_AXIS_TWIST].motor.force = 5;
    def.axes[CSIM_AXIS_SWING_Z].spring.frequency = 4;
    def.axes[CSIM_AXIS_SWING_Z].spring.ratio = 1;
    def.axes[CSIM_AXIS_SWING_Z].target = CSIM_R(0.3);
    csim_create_joint(world, &def, &strut);

    /* a shoulder: the arm may swing 0.8 rad up and down, half as far to the sides, and twist a little */
    def = joint(CSIM_JOINT_BALL, arm, csim_v3(5, 0, 1));
    def.axis = csim_v3(1, 0, 0);
    def.axis2 = csim_v3(0, 0, 1);
    def.cone[0] = CSIM_R(0.8);
    def.cone[1] = CSIM_R(0.4);
    def.cone_limit.stiffness = 500; /* its wall gives way */
    def.cone_limit.damping = 20;
    def.axes[CSIM_AXIS_TWIST].limited = true;
    def.axes[CSIM_AXIS_TWIST].lower = CSIM_R(-0.2);
    def.axes[CSIM_AXIS_TWIST].upper = CSIM_R(0.2);
    csim_create_joint(world, &def, &shoulder);

    /* a mouse at a corner of the crate, with at most 200 N along each axis */
    def = joint(CSIM_JOINT_MOUSE, crate, csim_v3(CSIM_R(0.2), CSIM_R(10.2), CSIM_R(0.2)));
    for (step = 0; step < 3; ++step) {
        def.axes[step].spring.frequency = 3;
        def.axes[step].spring.ratio = 1;
        def.axes[step].spring_force = 200;
    }
    csim_create_joint(world, &def, &mouse);

    for (step = 1; step <= 600; ++step) {
        csim_joint_set_anchor(world, mouse, csim_v3(CSIM_R(0.2) + CSIM_R(0.002) * (csim_real)step, CSIM_R(10.2), 1));
        if (csim_world_step(world, CSIM_R(0.01)) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
        if (step % 150) continue;
        csim_joint_get_axis(world, hinge, CSIM_AXIS_TWIST, axis);
        csim_joint_get_axis(world, shoulder, CSIM_AXIS_SWING_Y, axis + 1);
        csim_joint_get_axis(world, strut, CSIM_AXIS_SWING_Z, axis + 2);
        printf("%.1f s: door at %.2f rad, arm at %.2f, wheel steered by %.2f", (double)step / 100,
               (double)axis[0].position, (double)axis[1].position, (double)axis[2].position);
        csim_joint_get_axis(world, strut, CSIM_AXIS_TWIST, axis);
        csim_joint_get_axis(world, strut, CSIM_AXIS_Z, axis + 1);
        csim_body_get_pose(world, crate, &pose);
        printf(" turns at %.2f rad/s, %.3f m low, crate at x %.1f\n", (double)axis[0].speed,
               -(double)axis[1].position, (double)pose.position.x);
    }
    csim_destroy_world(world);
    return 0;
}
