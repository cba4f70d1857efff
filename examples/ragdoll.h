/* ragdoll: a body of fifteen parts, capsules on joints with limits, from a height and a mass, to copy and to change. It
   stands at pose.position, arms down, looks along its x axis; y is its left. SI units; include condsim.h before this. */
#ifndef RAGDOLL_H
#define RAGDOLL_H

enum { RAGDOLL_PARTS = 15 };

typedef struct ragdoll_def {
    csim_pose pose; /* of the point between its soles */
    csim_real height, mass;
    csim_vec3 velocity, spin; /* of the whole, about its hips; m/s, rad/s */
    csim_real friction;
    csim_real slackness; /* of the joints: 1 is a limp body, less is stiffer */
} ragdoll_def;

typedef struct ragdoll {
    csim_body_id part[RAGDOLL_PARTS];
    csim_link_id joint[RAGDOLL_PARTS]; /* of a part to the one that it hangs on; [0]: none */
} ragdoll;

/* One part: what it hangs on, and by which joint; the ends of its capsule and its radius, in heights; its share of the
   mass. Shares and lengths are those of Winter's tables, rounded. A ball may swing as far as `reach` forward and back
   and `aside`, and twist; a hinge turns about y from `lower` to `upper`. rad. */
typedef struct ragdoll_part {
    int parent;
    bool hinge;
    csim_real joint[3], from[3], to[3], radius, mass;
    csim_real reach, aside, twist, lower, upper;
} ragdoll_part;

#define R(x) CSIM_R(x)
static const ragdoll_part ragdoll_parts[9] = {
    /* hips, chest, head */
    {-1, false, {0, 0, 0}, {0, R(-0.03), R(0.55)}, {0, R(0.03), R(0.55)}, R(0.07), R(0.142), 0, 0, 0, 0, 0},
    {0, false, {0, 0, R(0.6)}, {0, 0, R(0.67)}, {0, 0, R(0.76)}, R(0.085), R(0.355), R(0.6), R(0.4), R(0.5), 0, 0},
    {1, false, {0, 0, R(0.86)}, {0, 0, R(0.91)}, {0, 0, R(0.94)}, R(0.06), R(0.081), R(0.7), R(0.6), R(1.0), 0, 0},
    /* the left: upper arm, forearm, hand; thigh, shank, foot */
    {1, false, {0, R(0.129), R(0.82)}, {0, R(0.129), R(0.8)}, {0, R(0.129), R(0.65)},
     R(0.026), R(0.028), R(1.4), R(1.2), R(0.8), 0, 0},
    {3, true, {0, R(0.129), R(0.63)}, {0, R(0.129), R(0.61)}, {0, R(0.129), R(0.51)},
     R(0.022), R(0.016), 0, 0, 0, R(-2.4), 0},
    {4, false, {0, R(0.129), R(0.485)}, {0, R(0.129), R(0.465)}, {0, R(0.129), R(0.42)},
     R(0.02), R(0.006), R(0.8), R(0.5), R(0.3), 0, 0},
    {0, false, {0, R(0.055), R(0.53)}, {0, R(0.055), R(0.5)}, {0, R(0.055), R(0.32)},
     R(0.045), R(0.1), R(1.2), R(0.6), R(0.4), 0, 0},
    {6, true, {0, R(0.055), R(0.285)}, {0, R(0.055), R(0.255)}, {0, R(0.055), R(0.075)},
     R(0.033), R(0.0465), 0, 0, 0, 0, R(2.3)},
    {7, true, {0, R(0.055), R(0.04)}, {R(-0.02), R(0.055), R(0.025)}, {R(0.09), R(0.055), R(0.025)},
     R(0.025), R(0.0145), 0, 0, 0, R(-0.5), R(0.6)},
};
#undef R

static ragdoll_def ragdoll_default(void) {
    ragdoll_def d;
    d.pose = csim_pose_identity();
    d.height = CSIM_R(1.75);
    d.mass = 70;
    d.velocity = d.spin = csim_v3(0, 0, 0);
    d.friction = CSIM_R(0.6);
    d.slackness = 1;
    return d;
}

/* Part i of the fifteen: those of the right are those of the left with y turned round. */
static ragdoll_part ragdoll_part_of(int i) {
    ragdoll_part p = ragdoll_parts[i < 9 ? i : i - 6];
    if (i < 9) return p;
    p.joint[1] = -p.joint[1];
    p.from[1] = -p.from[1];
    p.to[1] = -p.to[1];
    if (p.parent >= 3) p.parent += 6;
    return p;
}

static csim_vec3 ragdoll_point(const ragdoll_def *d, const csim_real *x) {
    return csim_pose_point(d->pose, csim_scale(d->height, csim_v3(x[0], x[1], x[2])));
}

/* A capsule from a to b, in heights, on a part whose origin is at `centre` and whose axes are the figure's. */
static csim_shape ragdoll_capsule(const ragdoll_def *d, const csim_real *a, const csim_real *b, csim_real radius,
                                  const csim_real *centre) {
    const csim_vec3 from = csim_v3(a[0], a[1], a[2]), to = csim_v3(b[0], b[1], b[2]), z = csim_v3(0, 0, 1);
    const csim_vec3 along = csim_normalize(csim_sub(to, from)), about = csim_cross(z, along);
    const csim_real turn = csim_dot(z, along) > CSIM_R(-0.999999) ? 1 + csim_dot(z, along) : 0;
    csim_shape s = csim_capsule(d->height * radius, d->height * csim_length(csim_sub(to, from)) / 2);
    s.local.position = csim_scale(CSIM_R(0.5), csim_add(from, to));
    s.local.position = csim_scale(d->height, csim_sub(s.local.position, csim_v3(centre[0], centre[1], centre[2])));
    s.local.rotation.w = turn; /* the least turn of z into its length */
    s.local.rotation.x = turn > 0 ? about.x : 1;
    s.local.rotation.y = turn > 0 ? about.y : 0;
    s.local.rotation.z = turn > 0 ? about.z : 0;
    s.local.rotation = csim_quat_normalize(s.local.rotation);
    return s;
}

/* A part's axes are the figure's: x ahead, y to its left, z up as it stands. */
static csim_status ragdoll_limb(csim_world *world, const ragdoll_def *d, int i, csim_body_id *id) {
    static const csim_real hips[3] = {0, 0, CSIM_R(0.55)};
    static const csim_real right[3] = {0, CSIM_R(-0.085), CSIM_R(0.805)}, left[3] = {0, CSIM_R(0.085), CSIM_R(0.805)};
    const ragdoll_part p = ragdoll_part_of(i);
    csim_rigid_def body = csim_default_rigid_def();
    csim_shape shape[2];
    csim_real centre[3];
    int k;
    for (k = 0; k < 3; ++k) centre[k] = (p.from[k] + p.to[k]) / 2;
    shape[0] = ragdoll_capsule(d, p.from, p.to, p.radius, centre);
    if (i == 1) shape[1] = ragdoll_capsule(d, right, left, CSIM_R(0.045), centre); /* the shoulders are the chest's */
    body.pose.position = ragdoll_point(d, centre);
    body.pose.rotation = d->pose.rotation;
    body.shapes = shape;
    body.shape_count = i == 1 ? 2 : 1;
    body.mass = d->mass * p.mass;
    body.surface.friction = d->friction;
    body.angular_velocity = d->spin;
    body.velocity = csim_add(
        d->velocity, csim_cross(d->spin, csim_sub(body.pose.position, ragdoll_point(d, hips))));
    return csim_create_rigid(world, &body, id);
}

/* A joint's x axis points down the limb and its z axis ahead: a swing about y is forward and back. */
static csim_status ragdoll_hang(csim_world *world, const ragdoll_def *d, const ragdoll_part *p, ragdoll *r, int i) {
    csim_joint_def j = csim_default_joint_def();
    csim_axis_def *twist = j.axes + CSIM_AXIS_TWIST;
    const csim_real damping = d->mass * d->height * d->height * CSIM_R(0.02) / d->slackness;
    int k;
    j.a.body = r->part[i];
    j.b.body = r->part[p->parent];
    j.a.point = j.b.point = ragdoll_point(d, p->joint);
    j.kind = p->hinge ? CSIM_JOINT_HINGE : CSIM_JOINT_BALL;
    j.axis = csim_rotate(d->pose.rotation, p->hinge ? csim_v3(0, 1, 0) : csim_v3(0, 0, -1));
    j.axis2 = csim_rotate(d->pose.rotation, csim_v3(1, 0, 0));
    twist->limited = true;
    twist->lower = p->hinge ? p->lower : -p->twist;
    twist->upper = p->hinge ? p->upper : p->twist;
    for (k = CSIM_AXIS_TWIST; k <= (p->hinge ? CSIM_AXIS_TWIST : CSIM_AXIS_SWING_Z); ++k)
        j.axes[k].spring.damping = damping * (p->mass < CSIM_R(0.05) ? CSIM_R(0.2) : 1);
    if (!p->hinge) {
        j.cone[0] = p->reach;
        j.cone[1] = p->aside;
    }
    return csim_create_joint(world, &j, r->joint + i);
}

/* Fifteen bodies and fourteen joints. What was made before a failure stays. */
static csim_status ragdoll_create(csim_world *world, const ragdoll_def *d, ragdoll *r) {
    csim_status status = CSIM_OK;
    int i;
    for (i = 0; i < RAGDOLL_PARTS && status == CSIM_OK; ++i) {
        const ragdoll_part p = ragdoll_part_of(i);
        status = ragdoll_limb(world, d, i, r->part + i);
        if (status == CSIM_OK && i > 0) status = ragdoll_hang(world, d, &p, r, i);
    }
    return status;
}

#endif
