/* store/axes_pose: the coordinates along the six axes of a joint, and how they change.

   The turn of a against b is q = swing twist: the twist about x is applied first, the swing s = (0, s_y, s_z), a
   rotation vector across x, takes x of b to x of a. With x and x' these two and w the rate of a against b,
       d twist / dt = w . (x + x') / (1 + x . x'),        d|s| / dt = w . (x x x') / |x x x'|. */
#include "private.h"

/* ---- kinds: what each of them holds, and which axis its coordinate is */

typedef struct csimi_joint_row_of {
    unsigned locked; /* bits by csim_axis */
    int main;
} csimi_joint_row_of;

static csimi_joint_row_of csimi_joint_table(csim_joint_kind kind) {
    static const csimi_joint_row_of row[CSIM_JOINT_COUNT_] = {
        {7u, -1},                /* ball */
        {0x37u, CSIM_AXIS_TWIST}, /* hinge: all but the twist */
        {0x3eu, CSIM_AXIS_X},    /* slider */
        {0x3fu, -1},             /* weld */
        {1u, CSIM_AXIS_X},       /* distance */
        {0, CSIM_AXIS_X},        /* rope: has no settings */
        {0, -1},                 /* gear: nor this */
        {0x33u, CSIM_AXIS_TWIST}, /* wheel: along z and the spin are free */
        {0, -1},                 /* six */
        {0, -1},                 /* mouse */
    };
    return row[(unsigned)kind < (unsigned)CSIM_JOINT_COUNT_ ? kind : CSIM_JOINT_SIX];
}

CSIMI_FN int csimi_axes_main(csim_joint_kind kind) { return csimi_joint_table(kind).main; }

CSIMI_FN bool csimi_axis_used(const csim_axis_def *a) {
    return a->limited || a->motor.kind != CSIM_MOTOR_NONE || csimi_is_soft(&a->spring);
}

CSIMI_FN bool csimi_axis_locked(csim_joint_kind kind, const csim_axis_def *a, int i) {
    if (a->hold != CSIM_HOLD_AS_KIND) return a->hold == CSIM_HOLD_LOCKED;
    return (csimi_joint_table(kind).locked >> i & 1u) && !csimi_axis_used(a);
}

CSIMI_FN bool csimi_axes_turn(const csimi_joint *j) {
    return csimi_place_has_axes(j->end) && csimi_place_has_axes(j->end + 1) && j->kind != CSIM_JOINT_DISTANCE &&
           j->kind != CSIM_JOINT_MOUSE;
}

CSIMI_FN bool csimi_axes_points(const csimi_joint *j, const csimi_axes *ax) {
    int i;
    if (!csimi_axes_turn(j)) return true;
    for (i = 0; i < 3; i++)
        if (!csimi_axis_locked(j->kind, ax->axis + i, i)) return false;
    return true;
}

/* ---- coordinates */

/* Swing and its directions: p = (y, z) of x' in the axes of b, r = |p| = sin|s|, s_y = -f p_z, s_z = f p_y with
   f = |s| / sin|s|, df / d|s| = (sin|s| - |s| cos|s|) / sin^2|s|; both by their series where they cancel. */
static void csimi_swing_at(csimi_axes_pose *out, csim_vec3 x, const csim_vec3 *axes) {
    const csim_vec3 along = csim_unrotate(out->at.base, x);
    const csim_real r2 = along.y * along.y + along.z * along.z, r = CSIMI_SQRT(r2), angle = CSIMI_ATAN2(r, along.x);
    const bool small = r < csimi_max(CSIM_R(1e-3), CSIMI_SQRT(CSIMI_SQRT(CSIMI_EPS)));
    csim_real f = small ? 1 + r2 / 6 : angle / r;
    csim_real slope = small ? (1 + CSIM_R(0.4) * r2) / 3 : (r - angle * along.x) / (r2 * r); /* the above over r */
    csim_vec3 df;
    if (small && along.x < 0) { /* turned over: no direction is better than another */
        f = CSIMI_PI / csimi_max(r, CSIM_R(1e-3));
        slope = 0;
    }
    df = csim_scale(slope, csim_cross(axes[0], x));
    out->q[CSIM_AXIS_SWING_Y] = -f * along.z;
    out->q[CSIM_AXIS_SWING_Z] = f * along.y;
    out->turn[1] = csim_sub(csim_scale(-f, csim_cross(x, axes[2])), csim_scale(along.z, df));
    out->turn[2] = csim_add(csim_scale(f, csim_cross(x, axes[1])), csim_scale(along.y, df));
}

/* The wall of the cone: m (1 - e), e = |(s_y / c_y, s_z / c_z)|, m the smaller half angle: a round one is c - |s|. */
static void csimi_cone_at(csimi_axes_pose *out, const csim_real *cone) {
    const csim_real y = out->q[CSIM_AXIS_SWING_Y] / cone[0], z = out->q[CSIM_AXIS_SWING_Z] / cone[1];
    const csim_real m = csimi_min(cone[0], cone[1]), e = CSIMI_SQRT(y * y + z * z);
    out->cone = m * (1 - e);
    out->turn[3] = csim_v3(0, 0, 0);
    if (!(e > CSIMI_EPS)) return;
    out->turn[3] = csim_add(csim_scale(-m * y / (e * cone[0]), out->turn[1]),
                            csim_scale(-m * z / (e * cone[1]), out->turn[2]));
}

static void csimi_turns_at(csimi_axes_pose *out, const csimi_axes *ax) {
    const csim_quat q = out->at.turn;
    const csim_vec3 x = csim_rotate(out->at.of, csim_v3(1, 0, 0));
    csim_vec3 axes[3];
    int k;
    for (k = 0; k < 3; k++)
        axes[k] = csim_rotate(out->at.base, csim_v3(k == 0 ? 1 : 0, k == 1 ? 1 : 0, k == 2 ? 1 : 0));
    out->q[CSIM_AXIS_TWIST] = csimi_nearest_turn(2 * CSIMI_ATAN2(q.x, q.w), ax->position[CSIM_AXIS_TWIST]);
    out->turn[0] = csim_scale(1 / csimi_max(1 + csim_dot(axes[0], x), CSIM_R(1e-3)), csim_add(axes[0], x));
    csimi_swing_at(out, x, axes);
    if (ax->cone[0] > 0) csimi_cone_at(out, ax->cone);
}

CSIMI_FN csimi_axes_pose csimi_axes_at(const csimi_state *s, const csimi_joint *j, const csimi_axes *ax) {
    csimi_axes_pose out;
    int k;
    CSIMI_MEMSET(&out, 0, sizeof out);
    out.at = csimi_joint_at(s, j);
    if (j->kind == CSIM_JOINT_DISTANCE) {
        csim_real R[9], n[3];
        const csim_real length = csim_length(out.at.d);
        csimi_store3(n, length > 0 ? csim_scale(1 / length, out.at.d) : csim_v3(0, 0, 1));
        csimi_frame(n, NULL, R);
        for (k = 0; k < 3; k++) out.push[k] = csimi_load3(R + 3 * k);
        out.q[0] = length;
        return out;
    }
    for (k = 0; k < 3; k++)
        out.push[k] = csim_rotate(out.at.base, csim_v3(k == 0 ? 1 : 0, k == 1 ? 1 : 0, k == 2 ? 1 : 0));
    for (k = 0; k < 3; k++) out.q[k] = csim_dot(out.push[k], out.at.d);
    if (csimi_axes_turn(j)) csimi_turns_at(&out, ax);
    return out;
}

/* ---- energy */

static double csimi_spring_store(csim_real stiffness, csim_real error) {
    return (double)stiffness * (double)error * (double)error / 2;
}

/* How far a coordinate is beyond its limits. */
static csim_real csimi_beyond(const csim_axis_def *a, csim_real q) {
    return a->limited ? csimi_max(0, q - a->upper) + csimi_max(0, a->lower - q) : 0;
}

/* With the stiffness of the last step, which a frequency may have given. */
CSIMI_FN double csimi_axes_energy(const csim_world *w) {
    double energy = 0;
    int i, k;
    for (i = 0; i < w->store.count.axes; i++) {
        const csimi_axes *ax = w->store.axes + i;
        const csimi_joint *j = w->store.joint + w->store.link[ax->link].item;
        const csimi_axes_pose p = csimi_axes_at(&w->store.state, j, ax);
        for (k = 0; k < 6 && !j->broken; k++) {
            const csim_real unit = k < 3 ? 1 : j->scale;
            const csim_real rest = ax->axis[k].target + (j->kind == CSIM_JOINT_DISTANCE ? j->length : 0);
            energy += csimi_spring_store(ax->stiff[k + 6], unit * (p.q[k] - rest));
            if (k < 4 || !(ax->cone[0] > 0))
                energy += csimi_spring_store(ax->stiff[k], unit * csimi_beyond(ax->axis + k, p.q[k]));
            else if (k == 4)
                energy += csimi_spring_store(ax->stiff[k], unit * csimi_min(0, p.cone));
        }
    }
    return energy;
}
