/* world/joint: making joints. */
#include "private.h"

static void csimi_joint_defaults(csim_joint_def *d) {
    int i;
    CSIMI_MEMSET(d, 0, sizeof *d);
    d->axis = csim_v3(0, 0, 1);
    d->length = -1;
    d->motor.speed = CSIM_R(1e9);
    for (i = 0; i < 6; i++) d->axes[i].motor.speed = CSIM_R(1e9);
    d->ratio = 1;
    d->guard = CSIMI_GUARD;
}

CSIM_API csim_joint_def csim_default_joint_def(void) {
    csim_joint_def d;
    csimi_joint_defaults(&d);
    return d;
}

/* Whether a definition needs settings of axes, which cost more than the plain rows of a kind. */
static bool csimi_joint_wants_axes(const csim_joint_def *d) {
    int i;
    if (d->kind >= CSIM_JOINT_WHEEL || d->cone[0] > 0) return true;
    for (i = 0; i < 6; i++)
        if (csimi_axis_used(d->axes + i) || d->axes[i].hold != CSIM_HOLD_AS_KIND) return true;
    return false;
}

static csim_status csimi_check_joint_axes(csim_error *e, const char *fn, const csim_joint_def *d) {
    csim_status s;
    int i;
    for (i = 0; i < 6; i++)
        if ((s = csimi_check_axis(e, fn, d->kind, i, d->axes + i)) != 0) return s;
    for (i = 0; i < 2; i++)
        if (!(d->cone[i] >= 0 && d->cone[i] <= 3) || (d->cone[0] > 0) != (d->cone[1] > 0))
            return csimi_unfit(e, fn, "cone", (double)d->cone[i], "both 0, or both above 0 and at most 3 rad");
    if (d->cone[0] > 0 && (d->axes[CSIM_AXIS_SWING_Y].limited || d->axes[CSIM_AXIS_SWING_Z].limited))
        return csimi_unfit(e, fn, "cone", (double)d->cone[0], "0 beside limits of swings");
    return csimi_check_softness(e, fn, &d->cone_limit);
}

static csim_status csimi_check_joint(csim_error *e, const char *fn, const csim_joint_def *d) {
    static const csimi_field fields[] = {
        CSIMI_WITHIN(csim_joint_def, length, -1e9, 1e9, "below 0 (as it is now) or 0..1e9"),
        CSIMI_ANY(csim_joint_def, lower), CSIMI_ANY(csim_joint_def, upper), CSIMI_ANY(csim_joint_def, ratio),
        CSIMI_AT_LEAST_0(csim_joint_def, break_force), CSIMI_AT_LEAST_0(csim_joint_def, break_torque)};
    csim_status s = csimi_check_guard(e, fn, "made by csim_default_joint_def()", d->guard);
    if (s) return s;
    if ((unsigned)d->kind >= (unsigned)CSIM_JOINT_COUNT_)
        return csimi_unfit(e, fn, "kind", (double)(int)d->kind, "a csim_joint_kind");
    if ((s = csimi_check_fields(e, fn, d, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_vec(e, fn, "axis", d->axis)) != 0) return s;
    if ((s = csimi_check_motor(e, fn, &d->motor)) != 0) return s;
    if (d->lower > d->upper) return csimi_unfit(e, fn, "lower", (double)d->lower, "at most upper");
    if ((s = csimi_check_vec(e, fn, "axis2", d->axis2)) != 0) return s;
    if ((csimi_joint_has_coordinate(d->kind) || csimi_joint_wants_axes(d)) && !(csim_length(d->axis) > CSIMI_EPS))
        return csimi_unfit(e, fn, "axis", (double)csim_length(d->axis), "a direction");
    if ((d->limited || d->motor.kind != CSIM_MOTOR_NONE) && !csimi_joint_has_coordinate(d->kind))
        return csimi_unfit(e, fn, d->limited ? "limited" : "motor.kind", 1, "hinges and sliders only");
    if (d->kind == CSIM_JOINT_GEAR && !(csimi_abs(d->ratio) > 0)) return csimi_unfit(e, fn, "ratio", 0, "not 0");
    return csimi_check_joint_axes(e, fn, d);
}

/* End k of a gear: a hinge or slider, or, where no joint is named, a link on a joint of one coordinate. */
static csim_status csimi_gear_end(csim_world *w, const csim_joint_def *d, const char *fn, int k, csimi_joint *j,
                                  int *bodies) {
    const csim_link_id id = k ? d->second : d->first;
    const csim_attachment *at = k ? &d->b : &d->a;
    const csimi_state *s = &w->store.state;
    csim_status status;
    bool fits;
    if (id.index1 == 0 && csim_body_valid(w, at->body) && w->store.body[at->body.index1 - 1].kind == CSIM_BODY_TREE) {
        if ((status = csimi_attach(w, at, fn, j->end + k, bodies + k)) != 0) return status;
        fits = s->tree_link[j->end[k].item].dofs == 1;
    } else {
        if ((status = csimi_find_link(w, id, fn, j->gear + k, &w->error)) != 0) return status;
        fits = w->store.link[j->gear[k]].kind == CSIMI_JOINT &&
               csimi_joint_has_coordinate(w->store.joint[w->store.link[j->gear[k]].item].kind);
    }
    if (fits) return CSIM_OK;
    return csimi_deny(&w->error, CSIM_WRONG_KIND, fn, k ? "second" : "first",
                      "a hinge or slider, or a link on a joint of one coordinate");
}

static csim_status csimi_gear_ends(csim_world *w, const csim_joint_def *d, const char *fn, csimi_joint *j,
                                   int *bodies) {
    csim_status status;
    int k;
    for (k = 0; k < 2; k++)
        if ((status = csimi_gear_end(w, d, fn, k, j, bodies)) != 0) return status;
    if (j->gear[0] == j->gear[1] && (j->gear[0] >= 0 || j->end[0].item == j->end[1].item))
        return csimi_unfit(&w->error, fn, "second", (double)j->gear[1], "another joint than first");
    j->ratio = d->ratio;
    j->offset = 0;
    j->offset = csimi_gear_error(w, &w->store.state, j);
    return CSIM_OK;
}

/* The shortest turn that takes x to the axis. */
static csim_quat csimi_axis_turn(csim_vec3 axis) {
    const csim_vec3 n = csim_normalize(axis), v = csim_cross(csim_v3(1, 0, 0), n);
    csim_quat q = csim_pose_identity().rotation;
    const csim_real w = 1 + n.x, length = CSIMI_SQRT(w * w + csim_dot(v, v));
    if (!(length > CSIM_R(1e-3))) {
        q.w = 0;
        q.z = 1;
        return q;
    }
    q.w = w / length;
    q.x = v.x / length;
    q.y = v.y / length;
    q.z = v.z / length;
    return q;
}

/* x along the axis, z as near to axis2 as it can be. */
static csim_quat csimi_axes_turn_of(csim_vec3 axis, csim_vec3 axis2) {
    const csim_quat q = csimi_axis_turn(axis);
    const csim_vec3 across = csim_unrotate(q, axis2);
    csim_real half;
    if (!(csimi_abs(across.y) + csimi_abs(across.z) > CSIMI_EPS * csim_length(axis2))) return q;
    half = CSIMI_ATAN2(-across.y, across.z) / 2;
    return csim_quat_mul(q, csim_quat_exp(csim_v3(2 * half, 0, 0)));
}

static void csimi_joint_frames(const csimi_state *s, const csim_joint_def *d, csimi_joint *j) {
    const bool axes = csimi_joint_wants_axes(d);
    const csim_quat world = axes && d->kind == CSIM_JOINT_MOUSE    ? csim_pose_identity().rotation
                            : axes                                 ? csimi_axes_turn_of(d->axis, d->axis2)
                            : csimi_joint_has_coordinate(d->kind) ? csimi_axis_turn(d->axis)
                                                                   : csim_pose_identity().rotation;
    int end;
    for (end = 0; end < 2; end++) {
        csim_quat q = world;
        if (j->end[end].kind != CSIMI_PLACE_GROUND && csimi_place_has_axes(j->end + end) &&
            (axes || csimi_joint_has_axes(d->kind)))
            q = csim_quat_mul(csim_quat_conj(csimi_place_axes(s, j->end + end)), q);
        csimi_store_quat(j->frame[end], q);
    }
}

/* Whether what is asked needs the axes of both bodies. */
static bool csimi_joint_turns(const csim_joint_def *d) {
    int i;
    if (d->kind == CSIM_JOINT_WHEEL || d->cone[0] > 0) return true;
    for (i = 3; i < 6; i++)
        if (csimi_axis_used(d->axes + i) || d->axes[i].hold == CSIM_HOLD_LOCKED) return true;
    return false;
}

/* Settings of axes of a joint that has been written. */
static void csimi_joint_write_axes(csimi_store *s, const csim_joint_def *d, int item) {
    csimi_joint *j = s->joint + item;
    csimi_axes *ax;
    csimi_axes_pose p;
    int i;
    csimi_axes_take(s, item);
    ax = s->axes + j->axes;
    CSIMI_MEMCPY(ax->axis, d->axes, sizeof ax->axis);
    CSIMI_MEMCPY(ax->cone, d->cone, sizeof ax->cone);
    ax->cone_limit = d->cone_limit;
    csimi_axes_inherit(s, j);
    for (i = 0; i < 3 && j->kind == CSIM_JOINT_MOUSE; i++) {
        csim_softness *spring = &ax->axis[i].spring;
        if (csimi_is_soft(spring)) continue;
        spring->frequency = 5;
        spring->ratio = CSIM_R(0.7);
    }
    p = csimi_axes_at(&s->state, j, ax);
    for (i = 0; i < 6; i++) ax->position[i] = p.q[i];
    if (csimi_axes_main(j->kind) >= 0) j->position = p.q[csimi_axes_main(j->kind)];
}

/* Everything of the joint but its link. */
static csim_status csimi_joint_fill(csim_world *w, const csim_joint_def *d, const char *fn, csimi_joint *j,
                                    int *bodies) {
    csim_status status;
    int k;
    CSIMI_MEMSET(j, 0, sizeof *j);
    j->kind = d->kind;
    j->gear[0] = j->gear[1] = j->axes = -1;
    j->end[0] = j->end[1] = csimi_place_ground(csim_v3(0, 0, 0));
    bodies[0] = bodies[1] = -1;
    j->limited = d->limited;
    j->lower = d->lower;
    j->upper = d->upper;
    j->motor = d->motor;
    j->break_force = d->break_force;
    j->break_torque = d->break_torque;
    j->scale = 1;
    for (k = 0; k < CSIMI_JOINT_ROWS; k++) j->row[k] = -1;
    if (d->kind == CSIM_JOINT_GEAR) return csimi_gear_ends(w, d, fn, j, bodies);
    if ((status = csimi_link_ends(w, &d->a, &d->b, fn, j->end, bodies)) != 0) return status;
    for (k = 0; k < 2; k++)
        if ((csimi_joint_has_axes(d->kind) || csimi_joint_turns(d)) && !csimi_place_has_axes(j->end + k))
            return csimi_deny(&w->error, CSIM_WRONG_KIND, fn, k ? "b.body" : "a.body",
                              "a rigid body or a link of a tree");
    csimi_joint_frames(&w->store.state, d, j);
    {
        const csimi_joint_pose p = csimi_joint_at(&w->store.state, j);
        j->length = d->length < 0 ? csim_length(p.d) : d->length;
        j->position = csimi_joint_coordinate(j, &p);
    }
    return CSIM_OK;
}

/* Shared by the two doors: fn names the one that was used. */
static csim_status csimi_create_joint(csim_world *w, const csim_joint_def *def, const char *fn, csim_link_id *id) {
    csimi_joint joint;
    csimi_counts need;
    csimi_store *s;
    int bodies[2], item;
    csim_status status = csimi_check_joint(&w->error, fn, def);
    if (status) return status;
    if ((status = csimi_check_integrator(&w->def, w->def.integrator, 0, 1, fn, &w->error)) != 0) return status;
    if ((status = csimi_joint_fill(w, def, fn, &joint, bodies)) != 0) return status;
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    need.joints++;
    if (csimi_joint_wants_axes(def)) {
        need.axes++;
        need.matrix_blocks += CSIMI_AXES_SLACKS;
    }
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    item = s->count.joints++;
    joint.link = csimi_take_link(w, CSIMI_JOINT, item, bodies, def->break_force);
    s->joint[item] = joint;
    if (csimi_joint_wants_axes(def)) csimi_joint_write_axes(s, def, item);
    s->link[joint.link].apart = !def->collide &&
                                (def->kind <= CSIM_JOINT_WELD || def->kind == CSIM_JOINT_WHEEL ||
                                 def->kind == CSIM_JOINT_SIX) &&
                                joint.end[0].kind == CSIMI_PLACE_RIGID && joint.end[1].kind == CSIMI_PLACE_RIGID;
    csimi_finish_link(w, joint.link, id);
    return CSIM_OK;
}

CSIM_API csim_status csim_create_joint(csim_world *w, const csim_joint_def *def, csim_link_id *id) {
    csim_status status = csimi_start_create(w, def, id, "csim_create_joint");
    return status ? status : csimi_create_joint(w, def, "csim_create_joint", id);
}

CSIM_API csim_status csim_create_pin(csim_world *w, const csim_pin_def *def, csim_link_id *id) {
    static const char fn[] = "csim_create_pin";
    csim_joint_def d;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    csimi_joint_defaults(&d);
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_pin_def()", def->guard)) != 0) return status;
    d.a = def->a;
    d.b = def->b;
    d.break_force = def->break_force;
    return csimi_create_joint(w, &d, fn, id);
}
