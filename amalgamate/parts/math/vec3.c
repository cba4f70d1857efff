/* math/vec3: what of vectors and quaternions is too long for a header. */
#include "private.h"

/* The plain square loses numbers beyond the square root of the range: those take the scaled way. */
CSIM_API csim_real csim_length(csim_vec3 a) {
    csim_real square = csim_dot(a, a), scale;
    if (square > CSIMI_TINY && square < CSIMI_HUGE) return CSIMI_SQRT(square);
    scale = csimi_max(csimi_abs(a.x), csimi_max(csimi_abs(a.y), csimi_abs(a.z)));
    if (!(scale > 0) || !csimi_finite(scale)) return square == 0 ? scale : square;
    a = csim_v3(a.x / scale, a.y / scale, a.z / scale);
    return scale * CSIMI_SQRT(csim_dot(a, a));
}

CSIM_API csim_vec3 csim_normalize(csim_vec3 a) {
    csim_real square = csim_dot(a, a), scale, length;
    if (!(square > CSIMI_TINY && square < CSIMI_HUGE)) { /* far from 1, zero or not finite */
        scale = csimi_max(csimi_abs(a.x), csimi_max(csimi_abs(a.y), csimi_abs(a.z)));
        if (!(scale > 0)) return csim_v3(0, 0, 0);
        a = csim_v3(a.x / scale, a.y / scale, a.z / scale);
        square = csim_dot(a, a);
    }
    length = CSIMI_SQRT(square);
    return csim_v3(a.x / length, a.y / length, a.z / length);
}

CSIM_API csim_quat csim_quat_normalize(csim_quat q) {
    csim_real scale = csimi_max(csimi_max(csimi_abs(q.w), csimi_abs(q.x)), csimi_max(csimi_abs(q.y), csimi_abs(q.z)));
    csim_real s;
    if (!(scale > 0)) return csim_quat_identity();
    q.w /= scale;
    q.x /= scale;
    q.y /= scale;
    q.z /= scale;
    s = 1 / CSIMI_SQRT(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    q.w *= s;
    q.x *= s;
    q.y *= s;
    q.z *= s;
    return q;
}

/* cos(t/2) and sin(t/2)/t times the vector; near zero by series, the first term left out is below rounding. */
CSIM_API csim_quat csim_quat_exp(csim_vec3 w) {
    csim_real square = csim_dot(w, w), factor;
    csim_quat q;
    if (square < CSIM_R(1e-4)) {
        factor = CSIM_R(0.5) - square * (1 - square / 80) / 48;
        q.w = 1 - square * (1 - square * (1 - square / 120) / 48) / 8;
    } else {
        csim_real angle = csim_length(w), half = angle / 2;
        factor = CSIMI_SIN(half) / angle;
        q.w = CSIMI_COS(half);
    }
    q.x = factor * w.x;
    q.y = factor * w.y;
    q.z = factor * w.z;
    return q;
}

CSIM_API csim_quat csim_quat_axis_angle(csim_vec3 axis, csim_real angle) {
    csim_vec3 n = csim_normalize(axis);
    csim_quat q;
    csim_real s = CSIMI_SIN(angle / 2);
    if (csim_dot(n, n) == 0) return csim_quat_identity();
    q.w = CSIMI_COS(angle / 2);
    q.x = s * n.x;
    q.y = s * n.y;
    q.z = s * n.z;
    return q;
}

CSIM_API csim_mat3 csim_quat_matrix(csim_quat q) {
    csim_real xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    csim_real xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z, wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    csim_mat3 R;
    R.m[0] = 1 - 2 * (yy + zz);
    R.m[1] = 2 * (xy - wz);
    R.m[2] = 2 * (xz + wy);
    R.m[3] = 2 * (xy + wz);
    R.m[4] = 1 - 2 * (xx + zz);
    R.m[5] = 2 * (yz - wx);
    R.m[6] = 2 * (xz - wy);
    R.m[7] = 2 * (yz + wx);
    R.m[8] = 1 - 2 * (xx + yy);
    return R;
}
