/* store/joint_state: where a joint is and how far it is open, and what a program asks of joints and sets.

   Every row of a joint measures how far the joint is open in the axes of b. A turn enters as scale times the angle, so
   that all rows are in metres and their masses alike. */
#include "private.h"

/* ---- where a joint is */

CSIMI_FN bool csimi_joint_has_axes(csim_joint_kind kind) {
    return kind == CSIM_JOINT_HINGE || kind == CSIM_JOINT_SLIDER || kind == CSIM_JOINT_WELD;
}

CSIMI_FN bool csimi_joint_has_coordinate(csim_joint_kind kind) {
    return kind == CSIM_JOINT_HINGE || kind == CSIM_JOINT_SLIDER;
}

static csim_quat csimi_joint_axes(const csimi_state *s, const csimi_joint *j, int end) {
    csim_quat q = csimi_load_quat(j->frame[end]);
    if (j->end[end].kind != CSIMI_PLACE_RIGID) return q;
    return csim_quat_mul(csimi_load_quat(s->rotation + 4 * (size_t)j->end[end].item), q);
}

CSIMI_FN csimi_joint_pose csimi_joint_at(const csimi_state *s, const csimi_joint *j) {
    csimi_joint_pose p;
    p.a = csimi_place_point(s, j->end);
    p.b = csimi_place_point(s, j->end + 1);
    p.d = csim_sub(p.a, p.b);
    p.of = p.base = p.turn = csim_pose_identity().rotation;
    if (!csimi_joint_has_axes(j->kind)) return p;
    p.of = csimi_joint_axes(s, j, 0);
    p.base = csimi_joint_axes(s, j, 1);
    p.turn = csim_quat_mul(csim_quat_conj(p.base), p.of);
    if (p.turn.w < 0) {
        p.turn.w = -p.turn.w;
        p.turn.x = -p.turn.x;
        p.turn.y = -p.turn.y;
        p.turn.z = -p.turn.z;
    }
    return p;
}

/* The coordinate; angles are taken on the turn nearest to the last one. */
CSIMI_FN csim_real csimi_joint_coordinate(const csimi_joint *j, const csimi_joint_pose *p) {
    csim_real angle, turns;
    if (j->kind == CSIM_JOINT_SLIDER) return csim_dot(csim_rotate(p->base, csim_v3(1, 0, 0)), p->d);
    if (j->kind != CSIM_JOINT_HINGE) return csim_length(p->d);
    angle = 2 * CSIMI_ATAN2(p->turn.x, p->turn.w);
    turns = (j->position - angle) / (2 * CSIMI_PI);
    return angle + 2 * CSIMI_PI * (csim_real)(int)(turns + (turns < 0 ? CSIM_R(-0.5) : CSIM_R(0.5)));
}

CSIMI_FN csim_real csimi_gear_error(const csim_world *w, const csimi_state *s, const csimi_joint *j) {
    csim_real q[2];
    int k;
    for (k = 0; k < 2; k++) {
        const csimi_joint *other = w->store.joint + w->store.link[j->gear[k]].item;
        csimi_joint_pose p = csimi_joint_at(s, other);
        q[k] = csimi_joint_coordinate(other, &p);
    }
    return q[0] - j->ratio * q[1] - j->offset;
}

/* Length that makes metres of the coordinate. */
CSIMI_FN csim_real csimi_joint_unit(const csimi_joint *j) { return j->kind == CSIM_JOINT_HINGE ? j->scale : 1; }

CSIMI_FN bool csimi_limit_is_lower(const csimi_joint *j) { return 2 * j->position < j->lower + j->upper; }

/* How far row `which` is open at s, m, in the axes of the row. */
CSIMI_FN void csimi_joint_error(const csim_world *w, const csimi_state *s, const csimi_joint *j, int which,
                                csim_real *error) {
    csimi_joint_pose p = csimi_joint_at(s, j);
    csim_vec3 e = csim_v3(0, 0, 0);
    csim_real d[3];
    if (which == CSIMI_ROW_LIMIT) {
        e.x = csimi_joint_unit(j) * (csimi_joint_coordinate(j, &p) - (csimi_limit_is_lower(j) ? j->lower : j->upper));
    } else if (which == CSIMI_ROW_TURN && j->kind == CSIM_JOINT_HINGE) {
        csim_vec3 axis = csim_rotate(p.turn, csim_v3(1, 0, 0));
        e = csim_scale(j->scale, csim_v3(0, -axis.z, axis.y));
    } else if (which == CSIMI_ROW_TURN) {
        e = csim_scale(2 * j->scale, csim_v3(p.turn.x, p.turn.y, p.turn.z));
    } else if (j->kind == CSIM_JOINT_SLIDER) {
        e = csim_unrotate(p.base, p.d);
    } else if (j->kind == CSIM_JOINT_DISTANCE || j->kind == CSIM_JOINT_ROPE) {
        e.x = csim_length(p.d) - j->length;
        if (j->kind == CSIM_JOINT_ROPE) e.x = -e.x;
    } else if (j->kind == CSIM_JOINT_GEAR) {
        e.x = j->scale * csimi_gear_error(w, s, j);
    } else {
        csimi_store3(d, p.d);
        csimi_mul3(j->R, d, error);
        return;
    }
    csimi_store3(error, e);
}

/* Components of a row that must hold at the end of the step, as bits. */
CSIMI_FN unsigned csimi_joint_mask(const csimi_joint *j, int which) {
    if (which == CSIMI_ROW_LIMIT) return 1;
    if (which == CSIMI_ROW_TURN) return j->kind == CSIM_JOINT_HINGE ? 6u : 7u;
    switch (j->kind) {
    case CSIM_JOINT_BALL:
    case CSIM_JOINT_HINGE:
    case CSIM_JOINT_WELD: return 7;
    case CSIM_JOINT_SLIDER: return 6;
    case CSIM_JOINT_DISTANCE:
    case CSIM_JOINT_ROPE:
    case CSIM_JOINT_GEAR: return 1;
    case CSIM_JOINT_COUNT_:
    default: return 0;
    }
}

CSIMI_FN bool csimi_joint_one_sided(const csimi_joint *j, int which) {
    return which == CSIMI_ROW_LIMIT ? j->lower < j->upper : j->kind == CSIM_JOINT_ROPE;
}

/* Rate of the coordinate as terms with one row each, times factor. */
CSIMI_FN int csimi_joint_coordinate_terms(const csimi_state *s, const csimi_joint *j, csim_real factor, int *block,
                                          csim_real *J) {
    const csimi_joint_pose p = csimi_joint_at(s, j);
    const csim_vec3 axis = csim_scale(factor, csim_rotate(p.base, csim_v3(1, 0, 0)));
    int end, n = 0, k;
    for (k = 0; k < 36; k++) J[k] = 0;
    for (end = 0; end < 2; end++) {
        const csim_vec3 e = csim_scale(end ? -1 : 1, axis);
        const int rigid = j->end[end].item;
        if (j->end[end].kind != CSIMI_PLACE_RIGID) continue;
        if (j->kind == CSIM_JOINT_SLIDER) {
            block[n] = s->node_count + 2 * rigid;
            csimi_store3(J + 9 * n++, e);
        }
        block[n] = s->node_count + 2 * rigid + 1;
        csimi_store3(J + 9 * n++, j->kind == CSIM_JOINT_HINGE
                                      ? e
                                      : csim_cross(csim_sub(p.a, csimi_load3(s->com + 3 * (size_t)rigid)), e));
    }
    return n;
}

CSIMI_FN csim_status csimi_joint_range(csim_error *e, const char *fn, const char *field, double value,
                                       const char *allowed) {
    return csimi_fail(e, CSIM_OUT_OF_RANGE, fn, field, true, value, allowed);
}

CSIMI_FN csim_status csimi_check_motor(csim_error *e, const char *fn, const csim_motor *m) {
    static const csimi_field fields[] = {CSIMI_ANY(csim_motor, target), CSIMI_POSITIVE(csim_motor, speed),
                                         CSIMI_AT_LEAST_0(csim_motor, force)};
    if ((unsigned)m->kind >= (unsigned)CSIM_MOTOR_COUNT_)
        return csimi_joint_range(e, fn, "motor.kind", (double)(int)m->kind, "a csim_motor_kind");
    return csimi_check_fields(e, fn, m, fields, CSIMI_COUNT_OF(fields));
}

/* ---- the public getters and setters */

static csim_status csimi_find_joint(const csim_world *w, csim_link_id id, const char *fn, int *item,
                                    csim_error *error) {
    int slot;
    csim_status s = csimi_find_link(w, id, fn, &slot, error);
    if (s) return s;
    if (w->store.link[slot].kind != CSIMI_JOINT)
        return csimi_fail(error, CSIM_WRONG_KIND, fn, "id", true, (double)id.index1, "a joint or pin");
    *item = w->store.link[slot].item;
    return CSIM_OK;
}

/* Rate of the coordinate at the end velocities. */
static csim_real csimi_joint_speed(const csimi_state *s, const csimi_joint *j) {
    const csimi_joint_pose p = csimi_joint_at(s, j);
    csim_real J[36], speed = 0;
    int block[4], k, n;
    if (!csimi_joint_has_coordinate(j->kind)) {
        const csim_vec3 v = csim_sub(csimi_place_velocity(s, j->end, p.a), csimi_place_velocity(s, j->end + 1, p.b));
        const csim_real length = csim_length(p.d);
        return length > 0 ? csim_dot(p.d, v) / length : 0;
    }
    n = csimi_joint_coordinate_terms(s, j, 1, block, J);
    for (k = 0; k < n; k++)
        speed += csim_dot(csimi_load3(J + 9 * k), csimi_load3(s->velocity + 3 * (size_t)(block[k] - s->node_count)));
    return speed;
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
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, fn, NULL, false, 0, NULL);
    if ((status = csimi_find_joint(w, id, fn, &item, &w->error)) != 0) return status;
    *j = w->store.joint + item;
    if (!csimi_joint_has_coordinate((*j)->kind))
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", true, (double)id.index1, "a hinge or slider");
    return CSIM_OK;
}

CSIM_API csim_status csim_joint_set_motor(csim_world *w, csim_link_id id, const csim_motor *motor) {
    csimi_joint *j = NULL;
    csim_status status = csimi_change_joint(w, id, "csim_joint_set_motor", &j);
    if (status) return status;
    if (!motor) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, "csim_joint_set_motor", "motor", false, 0, "a motor");
    if ((status = csimi_check_motor(&w->error, "csim_joint_set_motor", motor)) != 0) return status;
    j->motor = *motor;
    return CSIM_OK;
}

CSIM_API csim_status csim_joint_set_limits(csim_world *w, csim_link_id id, bool limited, csim_real lower,
                                           csim_real upper) {
    static const char fn[] = "csim_joint_set_limits";
    csimi_joint *j = NULL;
    csim_status status = csimi_change_joint(w, id, fn, &j);
    if (status) return status;
    if (!csimi_finite(lower) || !csimi_finite(upper))
        return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, csimi_finite(lower) ? "upper" : "lower", false, 0,
                          "-1e9..1e9");
    if (!(csimi_abs(lower) <= CSIM_R(1e9) && csimi_abs(upper) <= CSIM_R(1e9) && lower <= upper))
        return csimi_joint_range(&w->error, fn, "lower", (double)lower, "-1e9..1e9, at most upper");
    j->limited = limited;
    j->lower = lower;
    j->upper = upper;
    return CSIM_OK;
}

CSIM_API int csim_world_broken(const csim_world *w, csim_link_id *ids, int capacity) {
    int i, n = 0;
    for (i = 0; w && i < w->store.count.joints; i++) {
        const csimi_joint *j = w->store.joint + i;
        if (!j->broke) continue;
        if (ids && n < capacity) {
            ids[n].index1 = (uint32_t)j->link + 1u;
            ids[n].generation = w->store.link[j->link].generation;
            ids[n].world = w->stamp;
        }
        n++;
    }
    return n;
}
