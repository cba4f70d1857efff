/* store/joint_pose: where a joint is and how far it is open.

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
    const csim_quat q = csimi_load_quat(j->frame[end]);
    const csimi_place_kind kind = j->end[end].kind;
    if (kind != CSIMI_PLACE_RIGID && kind != CSIMI_PLACE_LINK) return q;
    return csim_quat_mul(csimi_place_axes(s, j->end + end), q);
}

CSIMI_FN csimi_joint_pose csimi_joint_at(const csimi_state *s, const csimi_joint *j) {
    csimi_joint_pose p;
    p.a = csimi_place_point(s, j->end);
    p.b = csimi_place_point(s, j->end + 1);
    p.d = csim_sub(p.a, p.b);
    p.of = p.base = p.turn = csim_pose_identity().rotation;
    if (!csimi_joint_has_axes(j->kind) && j->axes < 0) return p;
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

CSIMI_FN csim_real csimi_nearest_turn(csim_real angle, csim_real last) {
    const csim_real turns = (last - angle) / (2 * CSIMI_PI), half = turns < 0 ? CSIM_R(-0.5) : CSIM_R(0.5);
    return angle + 2 * CSIMI_PI * (csim_real)csimi_cut(turns + half, -INT32_MAX, INT32_MAX);
}

/* The coordinate; angles are taken on the turn nearest to the last one. */
CSIMI_FN csim_real csimi_joint_coordinate(const csimi_joint *j, const csimi_joint_pose *p) {
    if (j->kind == CSIM_JOINT_SLIDER) return csim_dot(csim_rotate(p->base, csim_v3(1, 0, 0)), p->d);
    if (j->kind != CSIM_JOINT_HINGE) return csim_length(p->d);
    return csimi_nearest_turn(2 * CSIMI_ATAN2(p->turn.x, p->turn.w), j->position);
}

CSIMI_FN const csimi_joint *csimi_geared(const csim_world *w, const csimi_joint *j, int k) {
    return j->gear[k] < 0 ? NULL : w->store.joint + w->store.link[j->gear[k]].item;
}

CSIMI_FN csim_real csimi_gear_error(const csim_world *w, const csimi_state *s, const csimi_joint *j) {
    csim_real q[2];
    int k;
    for (k = 0; k < 2; k++) {
        const csimi_joint *other = csimi_geared(w, j, k);
        csimi_joint_pose p;
        if (!other) {
            q[k] = s->link_position[7 * (size_t)j->end[k].item];
            continue;
        }
        p = csimi_joint_at(s, other);
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
    case CSIM_JOINT_WHEEL: /* have settings of axes */
    case CSIM_JOINT_SIX:
    case CSIM_JOINT_MOUSE:
    case CSIM_JOINT_COUNT_:
    default: return 0;
    }
}

CSIMI_FN bool csimi_joint_one_sided(const csimi_joint *j, int which) {
    return which == CSIMI_ROW_LIMIT ? j->lower < j->upper : j->kind == CSIM_JOINT_ROPE;
}
