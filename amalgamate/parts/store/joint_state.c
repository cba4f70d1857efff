/* store/joint_state: what a program asks of joints and sets. */
#include "private.h"

CSIMI_FN csim_status csimi_check_motor(csim_error *e, const char *fn, const csim_motor *m) {
    static const csimi_field fields[] = {
        CSIMI_ANY(csim_motor, target), CSIMI_POSITIVE(csim_motor, speed), CSIMI_AT_LEAST_0(csim_motor, force)};
    if ((unsigned)m->kind >= (unsigned)CSIM_MOTOR_COUNT_)
        return csimi_unfit(e, fn, "motor.kind", (double)(int)m->kind, "a csim_motor_kind");
    return csimi_check_fields(e, fn, m, fields, CSIMI_COUNT_OF(fields));
}

/* ---- settings of axes */

CSIMI_FN csim_status csimi_check_axis(csim_error *e, const char *fn, csim_joint_kind kind, int i,
                                      const csim_axis_def *a) {
    static const csimi_field fields[] = {
        CSIMI_ANY(csim_axis_def, lower), CSIMI_ANY(csim_axis_def, upper), CSIMI_ANY(csim_axis_def, target),
        CSIMI_ANY(csim_axis_def, rate), CSIMI_AT_LEAST_0(csim_axis_def, spring_force)};
    const bool used = csimi_axis_used(a) || csimi_is_soft(&a->limit) || a->hold != CSIM_HOLD_AS_KIND;
    csim_status s;
    if ((s = csimi_check_fields(e, fn, a, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_enum(e, fn, "hold", (int)a->hold, CSIM_HOLD_COUNT_)) != 0) return s;
    if ((s = csimi_check_softness(e, fn, &a->limit)) != 0) return s;
    if ((s = csimi_check_softness(e, fn, &a->spring)) != 0) return s;
    if ((s = csimi_check_motor(e, fn, &a->motor)) != 0) return s;
    if (a->lower > a->upper) return csimi_unfit(e, fn, "lower", (double)a->lower, "at most upper");
    if (a->hold == CSIM_HOLD_LOCKED && csimi_axis_used(a))
        return csimi_unfit(e, fn, "hold", (double)(int)a->hold, "not locked beside a limit, spring or motor");
    if (used && (kind == CSIM_JOINT_GEAR || kind == CSIM_JOINT_ROPE || (kind == CSIM_JOINT_DISTANCE && i > 0) ||
                 (kind == CSIM_JOINT_MOUSE && i > 2)))
        return csimi_fail(e, CSIM_WRONG_KIND, fn, "axes", (double)i, "an axis that this kind has");
    return CSIM_OK;
}

CSIMI_FN void csimi_axes_take(csimi_store *s, int joint) {
    csimi_joint *j = s->joint + joint;
    const int i = s->count.axes++;
    csimi_axes *ax = s->axes + i;
    int k;
    CSIMI_MEMSET(ax, 0, sizeof *ax);
    CSIMI_MEMSET(s->state.slack_rate + 12 * i, 0, 12 * sizeof(csim_real));
    CSIMI_MEMSET(s->slack_rep + 12 * i, 0, 12 * sizeof(csim_real));
    CSIMI_MEMSET(s->state.slack_force + 12 * i, 0, 12 * sizeof(csim_real));
    for (k = 0; k < 6; k++) ax->axis[k].motor.speed = CSIM_R(1e9);
    for (k = 0; k < CSIMI_AXES_LINES; k++) ax->row[k] = -1;
    for (k = 0; k < CSIMI_JOINT_ROWS; k++) j->row[k] = -1;
    ax->link = j->link;
    if (csimi_axes_main(j->kind) >= 0) ax->position[csimi_axes_main(j->kind)] = j->position;
    j->axes = i;
    s->count.matrix_blocks += CSIMI_AXES_SLACKS;
}

CSIMI_FN void csimi_axes_drop(csimi_store *s, int joint) {
    const int gone = s->joint[joint].axes;
    int i;
    if (gone < 0) return;
    csimi_remove(s, CSIMI_AXIS_axes, gone, 1);
    s->count.matrix_blocks -= CSIMI_AXES_SLACKS;
    for (i = 0; i < s->count.joints; i++)
        if (s->joint[i].axes > gone) s->joint[i].axes--;
}

/* ---- the public getters and setters */

static csim_status csimi_find_joint(const csim_world *w, csim_link_id id, const char *fn, int *item,
                                    csim_error *error) {
    int slot;
    csim_status s = csimi_find_link(w, id, fn, &slot, error);
    if (s) return s;
    if (w->store.link[slot].kind != CSIMI_JOINT)
        return csimi_fail(error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a joint or pin");
    *item = w->store.link[slot].item;
    return CSIM_OK;
}

static csim_vec3 csimi_end_spin(const csimi_state *s, const csimi_place *end) {
    csim_vec3 turn = csim_v3(0, 0, 0);
    if (end->kind == CSIMI_PLACE_RIGID) return csimi_load3(s->velocity + 6 * (size_t)end->item + 3);
    if (end->kind == CSIMI_PLACE_LINK)
        csimi_link_velocity(s, end->item, csimi_place_point(s, end), s->coord_rate, &turn);
    return turn;
}

/* Rate along an axis at the end velocities. */
static csim_real csimi_axis_speed(const csimi_state *s, const csimi_joint *j, const csimi_axes *ax,
                                  const csimi_axes_pose *p, int i) {
    csim_vec3 at = p->at.b;
    csimi_place base = j->end[1];
    if (i >= 3) return csim_dot(p->turn[i - 3], csim_sub(csimi_end_spin(s, j->end), csimi_end_spin(s, j->end + 1)));
    if (!csimi_axes_points(j, ax)) {
        at = p->at.a;
        base = csimi_place_beside(s, &base, at);
    }
    return csim_dot(p->push[i], csim_sub(csimi_place_velocity(s, j->end, p->at.a), csimi_place_velocity(s, &base, at)));
}

/* Force along an axis in the last step: what holds, the limit and the spring. */
static csim_real csimi_axis_force(const csimi_joint *j, const csimi_axes *ax, int i, csim_real per_h) {
    const int c = i % 3, turn = i / 3;
    csim_real sum = ax->impulse[3 * (CSIMI_LINE_HOLD + turn) + c] + ax->impulse[3 * (CSIMI_LINE_SPRING + turn) + c];
    if (!(turn && c > 0 && ax->cone[0] > 0)) sum += ax->impulse[3 * (CSIMI_LINE_LIMIT + turn) + c];
    return per_h * (turn ? j->scale : 1) * sum;
}

/* What a joint with settings of axes says of itself. */
static void csimi_axes_get(const csim_world *w, const csimi_joint *j, csim_real per_h, csim_joint_state *out) {
    const csimi_axes *ax = w->store.axes + j->axes;
    const csimi_axes_pose p = csimi_axes_at(&w->store.state, j, ax);
    const int main = csimi_axes_main(j->kind);
    csim_real error[2] = {0, 0};
    csim_real x[3] = {0, 0, 0};
    int i;
    csimi_addmulT3(j->R, j->impulse, x);
    out->force = csim_scale(per_h, csimi_load3(x));
    out->torque = csim_scale(per_h * j->scale, csimi_load3(j->impulse + 3));
    if (main >= 0) {
        out->speed = csimi_axis_speed(&w->store.state, j, ax, &p, main);
        out->along = csimi_axis_force(j, ax, main, per_h);
    }
    for (i = 0; i < (csimi_axes_turn(j) ? 6 : 3); i++) {
        const csim_real e = p.q[i] - (j->kind == CSIM_JOINT_DISTANCE ? j->length : 0);
        if (csimi_axis_locked(j->kind, ax->axis + i, i)) error[i / 3] += e * e;
    }
    out->error = CSIMI_SQRT(error[0]);
    out->error_angle = CSIMI_SQRT(error[1]);
}

/* Rate of the coordinate at the end velocities. */
static csim_real csimi_joint_speed(const csimi_state *s, const csimi_joint *j) {
    const csimi_joint_pose p = csimi_joint_at(s, j);
    const csim_vec3 axis = csim_rotate(p.base, csim_v3(1, 0, 0));
    const csimi_place base = csimi_place_beside(s, j->end + 1, p.a);
    const csim_vec3 v = csimi_place_velocity(s, j->end, p.a);
    const csim_real length = csim_length(p.d);
    if (j->kind == CSIM_JOINT_HINGE)
        return csim_dot(axis, csim_sub(csimi_end_spin(s, j->end), csimi_end_spin(s, j->end + 1)));
    if (j->kind == CSIM_JOINT_SLIDER) return csim_dot(axis, csim_sub(v, csimi_place_velocity(s, &base, p.a)));
    return length > 0 ? csim_dot(p.d, csim_sub(v, csimi_place_velocity(s, j->end + 1, p.b))) / length : 0;
}

/* Force of one row, world axes. */
static csim_vec3 csimi_joint_row_force(const csimi_joint *j, int which, csim_real factor) {
    csim_real x[3] = {0, 0, 0};
    csimi_addmulT3(j->R, j->impulse + 3 * which, x);
    return csim_scale(factor, csimi_load3(x));
}

CSIM_API csim_status csim_joint_get(const csim_world *w, csim_link_id id, csim_joint_state *out) {
    const csimi_joint *j;
    csim_real per_h, error[3];
    int item, which;
    csim_status status;
    if (!w || !out) return CSIM_NULL_ARGUMENT;
    if ((status = csimi_find_joint(w, id, "csim_joint_get", &item, NULL)) != 0) return status;
    j = w->store.joint + item;
    per_h = w->last_h > 0 ? 1 / (csim_real)w->last_h : 0;
    CSIMI_MEMSET(out, 0, sizeof *out);
    out->kind = j->kind;
    out->broken = j->broken;
    out->position = j->position;
    for (which = 0; which < 2; which++) {
        const int slot = w->store.link[j->link].body[which];
        if (slot >= 0) *(which ? &out->b : &out->a) = csimi_body_id_of(w, slot);
    }
    if (j->axes >= 0) {
        csimi_axes_get(w, j, per_h, out);
        return CSIM_OK;
    }
    if (j->kind == CSIM_JOINT_GEAR) {
        out->along = per_h * j->scale * j->impulse[0];
        out->error = csimi_abs(csimi_gear_error(w, &w->store.state, j)); /* of the first coordinate */
        return CSIM_OK;
    }
    out->speed = csimi_joint_speed(&w->store.state, j);
    out->force = csimi_joint_row_force(j, CSIMI_ROW_POINT, per_h);
    out->torque = csimi_joint_row_force(j, CSIMI_ROW_TURN, per_h * j->scale);
    if (j->kind == CSIM_JOINT_HINGE)
        out->torque = csim_add(out->torque, csimi_joint_row_force(j, CSIMI_ROW_LIMIT, per_h * j->scale));
    else
        out->force = csim_add(out->force, csimi_joint_row_force(j, CSIMI_ROW_LIMIT, per_h));
    which = j->kind == CSIM_JOINT_HINGE ? CSIMI_ROW_TURN : CSIMI_ROW_POINT;
    out->along = per_h * csimi_joint_unit(j) * (j->impulse[3 * which] + j->impulse[3 * CSIMI_ROW_LIMIT]);
    for (which = CSIMI_ROW_POINT; which <= CSIMI_ROW_TURN; which++) {
        const unsigned mask = csimi_joint_mask(j, which);
        csim_vec3 e;
        if (which == CSIMI_ROW_TURN && !csimi_joint_has_axes(j->kind)) continue;
        csimi_joint_error(w, &w->store.state, j, which, error);
        e = csim_v3(mask & 1u ? error[0] : 0, mask & 2u ? error[1] : 0, mask & 4u ? error[2] : 0);
        if (which == CSIMI_ROW_POINT)
            out->error = j->kind == CSIM_JOINT_ROPE ? csimi_max(-e.x, 0) : csim_length(e);
        else
            out->error_angle = csim_length(e) / j->scale;
    }
    return CSIM_OK;
}

/* The joint of a call that changes it. */
static csim_status csimi_change_joint(csim_world *w, csim_link_id id, const char *fn, csimi_joint **j) {
    csim_status status;
    int item;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, fn, NULL, NULL);
    if ((status = csimi_find_joint(w, id, fn, &item, &w->error)) != 0) return status;
    *j = w->store.joint + item;
    return CSIM_OK;
}

/* One that has a coordinate which motors and limits act on; axis: its settings, null: the joint's own. */
static csim_status csimi_change_coordinate(csim_world *w, csim_link_id id, const char *fn, csimi_joint **j,
                                           csim_axis_def **axis) {
    const csim_status status = csimi_change_joint(w, id, fn, j);
    *axis = NULL;
    if (status) return status;
    if ((*j)->axes >= 0 && csimi_axes_main((*j)->kind) >= 0)
        *axis = w->store.axes[(*j)->axes].axis + csimi_axes_main((*j)->kind);
    else if (!csimi_joint_has_coordinate((*j)->kind))
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a hinge or slider");
    return CSIM_OK;
}

CSIM_API csim_status csim_joint_set_motor(csim_world *w, csim_link_id id, const csim_motor *motor) {
    csimi_joint *j = NULL;
    csim_axis_def *axis;
    csim_status status = csimi_change_coordinate(w, id, "csim_joint_set_motor", &j, &axis);
    if (status) return status;
    if (!motor) return csimi_deny(&w->error, CSIM_NULL_ARGUMENT, "csim_joint_set_motor", "motor", "a motor");
    if ((status = csimi_check_motor(&w->error, "csim_joint_set_motor", motor)) != 0) return status;
    *(axis ? &axis->motor : &j->motor) = *motor;
    csimi_wake_link(w, j->link);
    return CSIM_OK;
}

CSIM_API csim_status csim_joint_set_limits(csim_world *w, csim_link_id id, bool limited, csim_real lower,
                                           csim_real upper) {
    static const char fn[] = "csim_joint_set_limits";
    csimi_joint *j = NULL;
    csim_axis_def *axis;
    csim_status status = csimi_change_coordinate(w, id, fn, &j, &axis);
    if (status) return status;
    if (!csimi_finite(lower) || !csimi_finite(upper))
        return csimi_deny(&w->error, CSIM_NOT_FINITE, fn, csimi_finite(lower) ? "upper" : "lower", "-1e9..1e9");
    if (!(csimi_abs(lower) <= CSIM_R(1e9) && csimi_abs(upper) <= CSIM_R(1e9) && lower <= upper))
        return csimi_unfit(&w->error, fn, "lower", (double)lower, "-1e9..1e9, at most upper");
    *(axis ? &axis->limited : &j->limited) = limited;
    *(axis ? &axis->lower : &j->lower) = lower;
    *(axis ? &axis->upper : &j->upper) = upper;
    csimi_wake_link(w, j->link);
    return CSIM_OK;
}

/* What a hinge or slider was made with goes to its axis, when it is given settings of axes. */
CSIMI_FN void csimi_axes_inherit(csimi_store *s, const csimi_joint *j) {
    csim_axis_def *a = s->axes[j->axes].axis + (csimi_axes_main(j->kind) < 0 ? 0 : csimi_axes_main(j->kind));
    if (!csimi_joint_has_coordinate(j->kind) || csimi_axis_used(a) || a->hold != CSIM_HOLD_AS_KIND) return;
    a->limited = j->limited;
    a->lower = j->lower;
    a->upper = j->upper;
    a->motor = j->motor;
}

CSIM_API csim_status csim_joint_set_axis(csim_world *w, csim_link_id id, csim_axis axis, const csim_axis_def *def) {
    static const char fn[] = "csim_joint_set_axis";
    csimi_joint *j = NULL;
    csimi_counts need;
    csim_status status = csimi_change_joint(w, id, fn, &j);
    int item;
    if (status) return status;
    if (!def) return csimi_missing(&w->error, fn, "def");
    if ((status = csimi_check_enum(&w->error, fn, "axis", (int)axis, CSIM_AXIS_COUNT_)) != 0) return status;
    if ((status = csimi_check_axis(&w->error, fn, j->kind, (int)axis, def)) != 0) return status;
    if (j->kind == CSIM_JOINT_GEAR || j->kind == CSIM_JOINT_ROPE || (axis >= CSIM_AXIS_TWIST && !csimi_axes_turn(j)))
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "axis", (double)(int)axis, "an axis it has");
    item = (int)(j - w->store.joint);
    if (j->axes < 0) {
        need = w->store.count;
        need.axes++;
        need.matrix_blocks += CSIMI_AXES_SLACKS;
        if ((status = csimi_make_room(w, need, fn)) != 0) return status;
        j = w->store.joint + item;
        csimi_axes_take(&w->store, item);
        csimi_axes_inherit(&w->store, j);
        csimi_sync_state(&w->store);
        w->pattern_stale = true;
    }
    w->store.axes[j->axes].axis[axis] = *def;
    csimi_wake_link(w, j->link);
    return CSIM_OK;
}

CSIM_API csim_status csim_joint_get_axis(const csim_world *w, csim_link_id id, csim_axis axis, csim_axis_state *out) {
    static const char fn[] = "csim_joint_get_axis";
    const csimi_axes *ax;
    const csimi_joint *j;
    csimi_axes_pose p;
    csim_status status;
    int item;
    if (!w || !out) return CSIM_NULL_ARGUMENT;
    if ((status = csimi_find_joint(w, id, fn, &item, NULL)) != 0) return status;
    j = w->store.joint + item;
    if ((unsigned)axis >= (unsigned)CSIM_AXIS_COUNT_) return CSIM_OUT_OF_RANGE;
    if (j->axes < 0) return CSIM_WRONG_KIND;
    ax = w->store.axes + j->axes;
    p = csimi_axes_at(&w->store.state, j, ax);
    CSIMI_MEMSET(out, 0, sizeof *out);
    out->position = p.q[axis];
    out->locked = csimi_axis_locked(j->kind, ax->axis + axis, (int)axis);
    if (axis < CSIM_AXIS_TWIST || csimi_axes_turn(j))
        out->speed = csimi_axis_speed(&w->store.state, j, ax, &p, (int)axis);
    out->force = csimi_axis_force(j, ax, (int)axis, w->last_h > 0 ? 1 / (csim_real)w->last_h : 0);
    return CSIM_OK;
}

CSIM_API csim_status csim_joint_set_anchor(csim_world *w, csim_link_id id, csim_vec3 point) {
    static const char fn[] = "csim_joint_set_anchor";
    csimi_joint *j = NULL;
    csim_status status = csimi_change_joint(w, id, fn, &j);
    if (status) return status;
    if ((status = csimi_check_vec(&w->error, fn, "point", point)) != 0) return status;
    if (j->kind == CSIM_JOINT_GEAR || j->end[1].kind != CSIMI_PLACE_GROUND)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a joint to the world");
    j->end[1] = csimi_place_ground(point);
    csimi_wake_link(w, j->link);
    return CSIM_OK;
}

/* ---- lists */

CSIM_API int csim_world_joints(const csim_world *w, csim_link_id *ids, int capacity) {
    int i, n = w ? w->store.count.joints : 0;
    for (i = 0; i < n && ids && i < capacity; i++) ids[i] = csimi_link_id_of(w, w->store.joint[i].link);
    return n;
}

CSIM_API int csim_body_joints(const csim_world *w, csim_body_id body, csim_link_id *ids, int capacity) {
    int i, slot, n = 0;
    if (!w || csimi_find_body(w, body, "csim_body_joints", &slot, NULL)) return -1;
    for (i = 0; i < w->store.count.joints; i++) {
        const csimi_link *l = w->store.link + w->store.joint[i].link;
        if (l->body[0] != slot && l->body[1] != slot) continue;
        if (ids && n < capacity) ids[n] = csimi_link_id_of(w, w->store.joint[i].link);
        n++;
    }
    return n;
}
