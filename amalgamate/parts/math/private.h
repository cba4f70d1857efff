/* math/private: 3x3 algebra on plain arrays of 9 (row-major) and 3. */
#ifndef CSIMI_MATH_PRIVATE_H
#define CSIMI_MATH_PRIVATE_H

#include "../base/private.h"
#include "vec3.h"

CSIM_INLINE void csimi_store3(csim_real *p, csim_vec3 v) { p[0] = v.x; p[1] = v.y; p[2] = v.z; }
CSIM_INLINE csim_vec3 csimi_load3(const csim_real *p) { return csim_v3(p[0], p[1], p[2]); }
/* w x y z */
CSIM_INLINE void csimi_store_quat(csim_real *p, csim_quat q) { p[0] = q.w; p[1] = q.x; p[2] = q.y; p[3] = q.z; }
CSIM_INLINE csim_quat csimi_load_quat(const csim_real *p) {
    const csim_quat q = {p[0], p[1], p[2], p[3]};
    return q;
}
/* y = M x, y += M x, y += M' x for one 3x3 block */
CSIM_INLINE void csimi_mul3(const csim_real *M, const csim_real *x, csim_real *y) {
    csim_real a = x[0], b = x[1], c = x[2];
    y[0] = M[0] * a + M[1] * b + M[2] * c;
    y[1] = M[3] * a + M[4] * b + M[5] * c;
    y[2] = M[6] * a + M[7] * b + M[8] * c;
}
CSIM_INLINE void csimi_addmul3(const csim_real *M, const csim_real *x, csim_real *y) {
    csim_real a = x[0], b = x[1], c = x[2];
    y[0] += M[0] * a + M[1] * b + M[2] * c;
    y[1] += M[3] * a + M[4] * b + M[5] * c;
    y[2] += M[6] * a + M[7] * b + M[8] * c;
}
CSIM_INLINE void csimi_addmulT3(const csim_real *M, const csim_real *x, csim_real *y) {
    csim_real a = x[0], b = x[1], c = x[2];
    y[0] += M[0] * a + M[3] * b + M[6] * c;
    y[1] += M[1] * a + M[4] * b + M[7] * c;
    y[2] += M[2] * a + M[5] * b + M[8] * c;
}
/* [w]x so that [w]x r = w x r */
CSIM_INLINE void csimi_skew(const csim_real *w, csim_real *S) {
    S[0] = S[4] = S[8] = 0;
    S[1] = -w[2];
    S[2] = w[1];
    S[3] = w[2];
    S[5] = -w[0];
    S[6] = -w[1];
    S[7] = w[0];
}
CSIM_INLINE csimi_bits csimi_bits_of(const csim_real *x) {
    csimi_bits bits;
    CSIMI_MEMCPY(&bits, x, sizeof bits);
    return bits;
}
/* Whether M is the identity, as most terms of problems are: a point moves with its own block. By its bits, without a
   branch for each; a zero with a sign is taken for something else. */
CSIM_INLINE bool csimi_is_identity(const csim_real *M) {
    static const csim_real one = 1;
    const csimi_bits i = csimi_bits_of(&one);
    if (csimi_bits_of(M) != i) return false; /* most that are not one differ here: arms have a zero */
    return ((csimi_bits_of(M + 4) ^ i) | (csimi_bits_of(M + 8) ^ i) | csimi_bits_of(M + 1) | csimi_bits_of(M + 2) |
            csimi_bits_of(M + 3) | csimi_bits_of(M + 5) | csimi_bits_of(M + 6) | csimi_bits_of(M + 7)) == 0;
}
/* y += M x, y -= M x and y += M' x summed in double */
CSIM_INLINE void csimi_addmul3_wide(const csim_real *M, const csim_real *x, csimi_wide *y) {
    const csimi_wide a = (csimi_wide)x[0], b = (csimi_wide)x[1], c = (csimi_wide)x[2];
    y[0] = y[0] + (csimi_wide)M[0] * a + (csimi_wide)M[1] * b + (csimi_wide)M[2] * c;
    y[1] = y[1] + (csimi_wide)M[3] * a + (csimi_wide)M[4] * b + (csimi_wide)M[5] * c;
    y[2] = y[2] + (csimi_wide)M[6] * a + (csimi_wide)M[7] * b + (csimi_wide)M[8] * c;
}
CSIM_INLINE void csimi_submul3_wide(const csim_real *M, const csim_real *x, csimi_wide *y) {
    const csimi_wide a = (csimi_wide)x[0], b = (csimi_wide)x[1], c = (csimi_wide)x[2];
    y[0] = y[0] - (csimi_wide)M[0] * a - (csimi_wide)M[1] * b - (csimi_wide)M[2] * c;
    y[1] = y[1] - (csimi_wide)M[3] * a - (csimi_wide)M[4] * b - (csimi_wide)M[5] * c;
    y[2] = y[2] - (csimi_wide)M[6] * a - (csimi_wide)M[7] * b - (csimi_wide)M[8] * c;
}
CSIM_INLINE void csimi_addmulT3_wide(const csim_real *M, const csimi_wide *x, csimi_wide *y) {
    y[0] += (csimi_wide)M[0] * x[0] + (csimi_wide)M[3] * x[1] + (csimi_wide)M[6] * x[2];
    y[1] += (csimi_wide)M[1] * x[0] + (csimi_wide)M[4] * x[1] + (csimi_wide)M[7] * x[2];
    y[2] += (csimi_wide)M[2] * x[0] + (csimi_wide)M[5] * x[1] + (csimi_wide)M[8] * x[2];
}
/* Square root to the precision of csimi_wide unless x is near the smallest float: of lengths to be compared; 0 for
   0, NaN for NaN and negative numbers. */
CSIM_INLINE csimi_wide csimi_root(csimi_wide x) {
    const csimi_wide y = (csimi_wide)CSIMI_SQRT((csim_real)x);
    return sizeof x > sizeof(csim_real) && y > 0 ? CSIMI_WIDE(0.5) * (y + x / y) : y;
}
CSIM_INLINE csimi_wide csimi_sqrt64(csimi_wide x) { /* the same for any x */
    const csimi_wide y = csimi_root(x);
    return sizeof x > sizeof(csim_real) && y > 0 ? CSIMI_WIDE(0.5) * (y + x / y) : y;
}

/* ---- decompose.c */

/* C = A B, C = A B' C = A' B for 3x3; C must not alias A or B */
CSIMI_FN void csimi_matmul(const csim_real *A, const csim_real *B, csim_real *C);
CSIMI_FN void csimi_matmulT(const csim_real *A, const csim_real *B, csim_real *C);
CSIMI_FN void csimi_matTmul(const csim_real *A, const csim_real *B, csim_real *C);
/* Inverse of a general 3x3; false (and untouched) when |det| is below 1e-3 eps^2 of the scale cubed or not finite. */
CSIMI_FN bool csimi_inverse3(const csim_real *A, csim_real *inv);

/* Eigenvalues (ascending) and eigenvectors (columns of V, right-handed) of a symmetric 3x3, by Jacobi rotations. */
CSIMI_FN void csimi_eigen_sym3(const csim_real *A, csim_real *eigenvalues, csim_real *V);
/* F = U diag(s) V' with det U = det V = +1, s[0] >= s[1] >= |s[2]|, s[2] signed by det F. Finite for every finite F. */
CSIMI_FN void csimi_svd3(const csim_real *F, csim_real *U, csim_real *s, csim_real *V);
/* Rotation of the polar decomposition F = R S with det R = +1, continuous through inversion where s1 + s2 > 0. A proper
   rotation for every F; the identity when F is zero or not finite. Some 40 ns near a rotation, 500 ns else. */
CSIMI_FN void csimi_polar3(const csim_real *F, csim_real *R);

/* An orthonormal frame whose first row is the unit vector n: rows n, t1, t2, right-handed, a function of n alone that
   jumps only across the latitude n_z = -0.6; hint (may be null, any length) turns t1 towards its tangential part unless
   it lies along n. */
CSIMI_FN void csimi_frame(const csim_real *n, const csim_real *hint, csim_real *R);

#endif
