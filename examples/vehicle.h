/* vehicle: a car of four wheels, to copy and to change. It goes along its x axis, y is its left, z its top.

   vehicle_create makes five bodies: the wheels hang on the chassis by wheel joints. vehicle_create_tree makes the same
   car as one articulated body, which takes a fraction of the time. Both are driven by vehicle_drive. SI units; include
   condsim.h before this. */
#ifndef VEHICLE_H
#define VEHICLE_H

typedef struct vehicle_def {
    csim_pose pose;                   /* of the middle of the chassis; the axles lie `drop` below it */
    csim_vec3 half;                   /* of the chassis, a box, m */
    csim_real mass, wheel_mass;       /* of the chassis, of one wheel, kg */
    csim_real base, track, drop;      /* between the axles; between left and right wheels; m */
    csim_real radius, width;          /* of a wheel, m */
    csim_real frequency, ratio;       /* of the chassis on its springs, Hz; damping ratio */
    csim_real travel;                 /* of a wheel up and down, m */
    csim_real torque;                 /* of the motor at each wheel, at most, N m */
    csim_real friction;               /* of the tyres */
} vehicle_def;

typedef struct vehicle {
    csim_body_id chassis;    /* the tree, if it is one */
    csim_body_id wheel[4];   /* left front, right front, left rear, right rear */
    csim_link_id joint[4];
    bool tree;
    int spin[4], steer[2];   /* links of a tree */
    csim_real radius, torque;
} vehicle;

static vehicle_def vehicle_default(void) {
    vehicle_def d;
    d.pose = csim_pose_identity();
    d.half = csim_v3(2, CSIM_R(0.8), CSIM_R(0.35));
    d.mass = 1200;
    d.wheel_mass = 25;
    d.base = CSIM_R(2.6);
    d.track = CSIM_R(1.6);
    d.drop = CSIM_R(0.4);
    d.radius = CSIM_R(0.35);
    d.width = CSIM_R(0.24);
    d.frequency = CSIM_R(1.5);
    d.ratio = CSIM_R(0.5);
    d.travel = CSIM_R(0.2);
    d.torque = 400;
    d.friction = 1;
    return d;
}

/* Stiffness and damping that carry a quarter of the chassis at its frequency, and where the spring rests so that the
   car stands as it is drawn. */
static void vehicle_spring(const vehicle_def *d, csim_real *stiffness, csim_real *damping, csim_real *rest) {
    const csim_real w = CSIM_R(6.2831853071795865) * d->frequency, share = d->mass / 4;
    *stiffness = share * w * w;
    *damping = 2 * d->ratio * share * w;
    *rest = -share * CSIM_R(9.81) / *stiffness;
}

static csim_vec3 vehicle_axle(const vehicle_def *d, int wheel) {
    return csim_v3(wheel < 2 ? d->base / 2 : -d->base / 2, wheel % 2 ? -d->track / 2 : d->track / 2, -d->drop);
}

/* A cylinder along y. */
static csim_shape vehicle_tyre(const vehicle_def *d) {
    csim_shape s = csim_cylinder(d->radius, d->width / 2);
    s.local.rotation = csim_quat_axis_angle(csim_v3(1, 0, 0), CSIM_R(1.5707963267948966));
    return s;
}

static csim_status vehicle_mount(csim_world *world, const vehicle_def *d, vehicle *v, int i) {
    csim_joint_def j = csim_default_joint_def();
    csim_axis_def *up = j.axes + CSIM_AXIS_Z, *steer = j.axes + CSIM_AXIS_SWING_Z;
    j.kind = CSIM_JOINT_WHEEL;
    j.a.body = v->wheel[i];
    j.b.body = v->chassis;
    j.a.point = j.b.point = csim_pose_point(d->pose, vehicle_axle(d, i));
    j.axis = csim_rotate(d->pose.rotation, csim_v3(0, 1, 0));
    j.axis2 = csim_rotate(d->pose.rotation, csim_v3(0, 0, 1));
    vehicle_spring(d, &up->spring.stiffness, &up->spring.damping, &up->target);
    up->limited = true;
    up->lower = -d->travel;
    up->upper = d->travel;
    if (i < 2) {
        steer->spring.stiffness = 20000;
        steer->spring.damping = 1000;
    }
    j.axes[CSIM_AXIS_TWIST].motor.kind = CSIM_MOTOR_VELOCITY;
    return csim_create_joint(world, &j, v->joint + i);
}

/* Bodies and joints. What was made before a failure stays. */
static csim_status vehicle_create(csim_world *world, const vehicle_def *d, vehicle *v) {
    csim_rigid_def body = csim_default_rigid_def();
    csim_shape shape = csim_box(d->half);
    csim_status status;
    int i;
    v->tree = false;
    v->radius = d->radius;
    v->torque = d->torque;
    body.shapes = &shape;
    body.shape_count = 1;
    body.mass = d->mass;
    body.pose = d->pose;
    status = csim_create_rigid(world, &body, &v->chassis);
    body.mass = d->wheel_mass;
    body.surface.friction = d->friction;
    shape = vehicle_tyre(d);
    for (i = 0; i < 4 && status == CSIM_OK; ++i) {
        body.pose.position = csim_pose_point(d->pose, vehicle_axle(d, i));
        status = csim_create_rigid(world, &body, v->wheel + i);
        if (status == CSIM_OK) status = vehicle_mount(world, d, v, i);
    }
    return status;
}

static csim_tree_link_def vehicle_link(int parent, csim_tree_joint joint, csim_vec3 axis, csim_vec3 at) {
    csim_tree_link_def l = csim_default_tree_link_def();
    l.parent = parent;
    l.joint = joint;
    l.axis = axis;
    l.frame.position = at;
    return l;
}

/* The chassis, and for each wheel a strut that slides, in front one that turns, and the wheel. Struts weigh nothing. */
static csim_status vehicle_create_tree(csim_world *world, const vehicle_def *d, vehicle *v) {
    const csim_vec3 none = csim_v3(0, 0, 0), y = csim_v3(0, 1, 0), z = csim_v3(0, 0, 1);
    csim_tree_def tree = csim_default_tree_def();
    csim_tree_link_def link[11];
    csim_shape box = csim_box(d->half), tyre = vehicle_tyre(d);
    int i, count = 1;
    v->tree = true;
    v->radius = d->radius;
    v->torque = d->torque;
    link[0] = vehicle_link(-1, CSIM_TREE_FLOATING, z, none);
    link[0].shapes = &box;
    link[0].shape_count = 1;
    link[0].mass = d->mass;
    for (i = 0; i < 4; ++i) {
        csim_tree_link_def *l = link + count;
        *l = vehicle_link(0, CSIM_TREE_PRISMATIC, z, vehicle_axle(d, i));
        vehicle_spring(d, &l->stiffness, &l->rate_gain, &l->target);
        l->lower = -d->travel;
        l->upper = d->travel;
        ++count;
        if (i < 2) {
            link[count] = vehicle_link(count - 1, CSIM_TREE_REVOLUTE, z, none);
            link[count].stiffness = 20000;
            link[count].rate_gain = 1000;
            v->steer[i] = count++;
        }
        link[count] = vehicle_link(count - 1, CSIM_TREE_REVOLUTE, y, none);
        link[count].shapes = &tyre;
        link[count].shape_count = 1;
        link[count].mass = d->wheel_mass;
        link[count].rate_gain = 1000;
        link[count].effort = d->torque;
        v->spin[i] = count++;
    }
    tree.links = link;
    tree.link_count = count;
    tree.pose = d->pose;
    tree.no_self_contact = true;
    tree.surface.friction = d->friction;
    return csim_create_tree(world, &tree, &v->chassis);
}

/* Steers the front wheels to an angle (rad, left above 0) and drives all four towards a speed (m/s) with a share of
   their torque; speed 0 brakes. From the next step on. */
static csim_status vehicle_drive(csim_world *world, const vehicle *v, csim_real steer, csim_real speed,
                                 csim_real share) {
    csim_status status = CSIM_OK;
    csim_axis_def axis;
    int i;
    for (i = 0; i < 4 && status == CSIM_OK; ++i) {
        if (v->tree) {
            status = csim_tree_set_drive(world, v->chassis, v->spin[i], 0, 1000, share * v->torque);
            if (status == CSIM_OK) status = csim_tree_set_target(world, v->chassis, v->spin[i], 0, speed / v->radius);
            if (status == CSIM_OK && i < 2) status = csim_tree_set_target(world, v->chassis, v->steer[i], steer, 0);
            continue;
        }
        axis = csim_default_joint_def().axes[CSIM_AXIS_TWIST];
        axis.motor.kind = CSIM_MOTOR_VELOCITY;
        axis.motor.target = speed / v->radius;
        axis.motor.force = share * v->torque;
        status = csim_joint_set_axis(world, v->joint[i], CSIM_AXIS_TWIST, &axis);
        axis = csim_default_joint_def().axes[CSIM_AXIS_SWING_Z];
        axis.spring.stiffness = 20000;
        axis.spring.damping = 1000;
        axis.target = steer;
        if (status == CSIM_OK && i < 2) status = csim_joint_set_axis(world, v->joint[i], CSIM_AXIS_SWING_Z, &axis);
    }
    return status;
}

#endif
