/* math/vec3: the small types of the interface. Right-handed; matrices are row-major; quaternions are (w, x, y, z). */
#ifndef CSIM_VEC3_H
#define CSIM_VEC3_H

#include "../base/config.h"

/* Point, vector, or three numbers of any kind. */
typedef struct csim_vec3 {
    csim_real x, y, z;
} csim_vec3;

/* Unit quaternion, w first; body axes to world axes. */
typedef struct csim_quat {
    csim_real w, x, y, z;
} csim_quat;

/* 3x3 matrix, row-major: m[3 * row + column]. */
typedef struct csim_mat3 {
    csim_real m[9];
} csim_mat3;

/* A pose: world point = position + rotation * body point. */
typedef struct csim_pose {
    csim_vec3 position; /* m */
    csim_quat rotation;
} csim_pose;

CSIM_INLINE csim_vec3 csim_v3(csim_real x, csim_real y, csim_real z) {
    const csim_vec3 v = {x, y, z};
    return v;
}
CSIM_INLINE csim_vec3 csim_add(csim_vec3 a, csim_vec3 b) { return csim_v3(a.x + b.x, a.y + b.y, a.z + b.z); }
CSIM_INLINE csim_vec3 csim_sub(csim_vec3 a, csim_vec3 b) { return csim_v3(a.x - b.x, a.y - b.y, a.z - b.z); }
CSIM_INLINE csim_vec3 csim_scale(csim_real s, csim_vec3 a) { return csim_v3(s * a.x, s * a.y, s * a.z); }
/* a + s b */
CSIM_INLINE csim_vec3 csim_madd(csim_vec3 a, csim_real s, csim_vec3 b) {
    return csim_v3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
CSIM_INLINE csim_real csim_dot(csim_vec3 a, csim_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
CSIM_INLINE csim_vec3 csim_cross(csim_vec3 a, csim_vec3 b) {
    return csim_v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

CSIM_INLINE csim_quat csim_quat_identity(void) {
    const csim_quat q = {1, 0, 0, 0};
    return q;
}
CSIM_INLINE csim_quat csim_quat_mul(csim_quat a, csim_quat b) {
    csim_quat q;
    q.w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z;
    q.x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y;
    q.y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x;
    q.z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w;
    return q;
}
CSIM_INLINE csim_quat csim_quat_conj(csim_quat q) {
    q.x = -q.x;
    q.y = -q.y;
    q.z = -q.z;
    return q;
}
/* Rotates a vector from body to world axes. */
CSIM_INLINE csim_vec3 csim_rotate(csim_quat q, csim_vec3 v) {
    csim_vec3 u = csim_v3(q.x, q.y, q.z);
    csim_vec3 t = csim_scale(2, csim_cross(u, v));
    return csim_add(csim_madd(v, q.w, t), csim_cross(u, t));
}
/* Rotates a vector from world to body axes. */
CSIM_INLINE csim_vec3 csim_unrotate(csim_quat q, csim_vec3 v) { return csim_rotate(csim_quat_conj(q), v); }
CSIM_INLINE csim_vec3 csim_pose_point(csim_pose p, csim_vec3 body_point) {
    return csim_add(p.position, csim_rotate(p.rotation, body_point));
}
CSIM_INLINE csim_vec3 csim_pose_local(csim_pose p, csim_vec3 world_point) {
    return csim_unrotate(p.rotation, csim_sub(world_point, p.position));
}
CSIM_INLINE csim_pose csim_pose_identity(void) {
    csim_pose p;
    p.position = csim_v3(0, 0, 0);
    p.rotation = csim_quat_identity();
    return p;
}
/* Pose of a thing held by a body: first inner, then outer. */
CSIM_INLINE csim_pose csim_pose_mul(csim_pose outer, csim_pose inner) {
    csim_pose p;
    p.position = csim_pose_point(outer, inner.position);
    p.rotation = csim_quat_mul(outer.rotation, inner.rotation);
    return p;
}

/* Rotation by angle [rad] about an axis (normalised here; a zero axis gives the identity). */
CSIM_API csim_quat csim_quat_axis_angle(csim_vec3 axis, csim_real angle);
/* exp of a rotation vector [rad]: the rotation by |w| about w. */
CSIM_API csim_quat csim_quat_exp(csim_vec3 rotation_vector);
/* q / |q|; the identity for zero. */
CSIM_API csim_quat csim_quat_normalize(csim_quat q);
/* The rotation matrix of a unit quaternion: columns are the turned axes. */
CSIM_API csim_mat3 csim_quat_matrix(csim_quat q);
/* |a| */
CSIM_API csim_real csim_length(csim_vec3 a);
/* a / |a|, or (0,0,0) when a is zero. */
CSIM_API csim_vec3 csim_normalize(csim_vec3 a);

#endif
