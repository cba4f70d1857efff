/* math/decompose: products, inverse, eigenvalues, singular values and rotation part of 3x3 matrices. */
#include "private.h"

CSIMI_FN void csimi_matmul(const csim_real *A, const csim_real *B, csim_real *C) {
    int i;
    for (i = 0; i < 3; i++) {
        csim_real a = A[3 * i], b = A[3 * i + 1], c = A[3 * i + 2];
        C[3 * i] = a * B[0] + b * B[3] + c * B[6];
        C[3 * i + 1] = a * B[1] + b * B[4] + c * B[7];
        C[3 * i + 2] = a * B[2] + b * B[5] + c * B[8];
    }
}

CSIMI_FN void csimi_matmulT(const csim_real *A, const csim_real *B, csim_real *C) {
    int i;
    for (i = 0; i < 3; i++) csimi_mul3(B, A + 3 * i, C + 3 * i);
}

CSIMI_FN void csimi_matTmul(const csim_real *A, const csim_real *B, csim_real *C) {
    int i;
    for (i = 0; i < 3; i++) {
        csim_real a = A[i], b = A[3 + i], c = A[6 + i];
        C[3 * i] = a * B[0] + b * B[3] + c * B[6];
        C[3 * i + 1] = a * B[1] + b * B[4] + c * B[7];
        C[3 * i + 2] = a * B[2] + b * B[5] + c * B[8];
    }
}

/* C = cofactors of A: C' = det(A) A^-1, and for a rotation C = A. */
static void csimi_cofactor3(const csim_real *A, csim_real *C) {
    C[0] = A[4] * A[8] - A[5] * A[7];
    C[1] = A[5] * A[6] - A[3] * A[8];
    C[2] = A[3] * A[7] - A[4] * A[6];
    C[3] = A[2] * A[7] - A[1] * A[8];
    C[4] = A[0] * A[8] - A[2] * A[6];
    C[5] = A[1] * A[6] - A[0] * A[7];
    C[6] = A[1] * A[5] - A[2] * A[4];
    C[7] = A[2] * A[3] - A[0] * A[5];
    C[8] = A[0] * A[4] - A[1] * A[3];
}

/* Largest entry; infinite or NaN when one entry is. */
static csim_real csimi_scale3(const csim_real *A) {
    csim_real m = 0, sum = 0;
    int i;
    for (i = 0; i < 9; i++) {
        m = csimi_max(m, csimi_abs(A[i]));
        sum += A[i] - A[i];
    }
    return m + sum;
}

CSIMI_FN bool csimi_inverse3(const csim_real *A, csim_real *inv) {
    csim_real S[9], C[9], scale = csimi_scale3(A), det;
    int i, j;
    if (!(scale > 0) || !csimi_finite(scale)) return false;
    for (i = 0; i < 9; i++) S[i] = A[i] / scale;
    csimi_cofactor3(S, C);
    det = S[0] * C[0] + S[1] * C[1] + S[2] * C[2];
    if (!(csimi_abs(det) > CSIM_R(1e-3) * CSIMI_EPS * CSIMI_EPS)) return false;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) inv[3 * i + j] = C[3 * j + i] / det / scale;
    return true;
}

/* Turns columns p and q of a 3x3 matrix: (p, q) <- (c p - s q, s p + c q). */
static void csimi_turn_columns(csim_real *A, int p, int q, csim_real c, csim_real s) {
    int i;
    for (i = 0; i < 9; i += 3) {
        csim_real a = A[i + p], b = A[i + q];
        A[i + p] = c * a - s * b;
        A[i + q] = s * a + c * b;
    }
}

/* Cosine and sine of the rotation that makes [a, g; g, b] diagonal (Golub and Van Loan 8.5.2), the small angle. */
static void csimi_jacobi_angle(csim_real a, csim_real b, csim_real g, csim_real *c, csim_real *s) {
    csim_real tau = (b - a) / (2 * g), t = 1 / (csimi_abs(tau) + CSIMI_SQRT(1 + tau * tau));
    if (!(csimi_abs(tau) < CSIMI_HUGE)) t = 0;
    if (tau < 0) t = -t;
    *c = 1 / CSIMI_SQRT(1 + t * t);
    *s = t * *c;
}

static void csimi_swap_columns(csim_real *A, int p, int q) {
    int i;
    for (i = 0; i < 9; i += 3) {
        csim_real a = A[i + p];
        A[i + p] = A[i + q];
        A[i + q] = -a; /* the sign keeps the determinant */
    }
}

static void csimi_identity3(csim_real *A) {
    int i;
    for (i = 0; i < 9; i++) A[i] = i % 4 == 0 ? CSIM_R(1) : CSIM_R(0);
}

enum { CSIMI_JACOBI_SWEEPS = 16 };

/* One rotation of the symmetric S in the plane (p, q), accumulated in V; false when the entry is already zero. */
static bool csimi_eigen_turn(csim_real *S, csim_real *V, int p, int q) {
    csim_real a = S[4 * p], b = S[4 * q], g = S[3 * p + q], c, s, T[9];
    int i, j;
    if (csimi_abs(g) <= CSIM_R(0.25) * CSIMI_EPS * CSIMI_SQRT(csimi_abs(a)) * CSIMI_SQRT(csimi_abs(b)) ||
        csimi_abs(g) <= CSIMI_TINY)
        return false;
    csimi_jacobi_angle(a, b, g, &c, &s);
    csimi_turn_columns(V, p, q, c, s);
    csimi_turn_columns(S, p, q, c, s);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) T[3 * j + i] = S[3 * i + j];
    csimi_turn_columns(T, p, q, c, s);
    T[3 * p + q] = T[3 * q + p] = 0;
    CSIMI_MEMCPY(S, T, sizeof T);
    return true;
}

CSIMI_FN void csimi_eigen_sym3(const csim_real *A, csim_real *eigenvalues, csim_real *V) {
    csim_real S[9], scale = csimi_scale3(A);
    int i, sweep;
    bool active = scale > 0 && csimi_finite(scale);
    csimi_identity3(V);
    for (i = 0; i < 9; i++) S[i] = active ? A[i] / scale : 0;
    for (sweep = 0; active && sweep < CSIMI_JACOBI_SWEEPS; sweep++) {
        bool a = csimi_eigen_turn(S, V, 0, 1), b = csimi_eigen_turn(S, V, 0, 2), c = csimi_eigen_turn(S, V, 1, 2);
        active = a || b || c;
    }
    for (i = 0; i < 3; i++) eigenvalues[i] = scale * S[4 * i];
    for (i = 0; i < 3; i++) { /* three compare-exchanges sort three numbers */
        int p = i == 1 ? 1 : 0, q = p + 1;
        csim_real a = eigenvalues[p];
        if (eigenvalues[q] >= a) continue;
        eigenvalues[p] = eigenvalues[q];
        eigenvalues[q] = a;
        csimi_swap_columns(V, p, q);
    }
}

static csim_real csimi_column_dot(const csim_real *A, int p, int q) {
    return A[p] * A[q] + A[3 + p] * A[3 + q] + A[6 + p] * A[6 + q];
}

/* Makes columns p and q of B orthogonal (one-sided Jacobi, Hestenes) and the longer one first. */
static bool csimi_svd_turn(csim_real *B, csim_real *V, int p, int q) {
    csim_real a = csimi_column_dot(B, p, p), b = csimi_column_dot(B, q, q), g = csimi_column_dot(B, p, q), c, s;
    bool turned = csimi_abs(g) > CSIMI_EPS * CSIMI_SQRT(a) * CSIMI_SQRT(b) && csimi_abs(g) > CSIMI_TINY;
    if (turned) {
        csimi_jacobi_angle(a, b, g, &c, &s);
        csimi_turn_columns(B, p, q, c, s);
        csimi_turn_columns(V, p, q, c, s);
    }
    if (csimi_column_dot(B, p, p) < csimi_column_dot(B, q, q)) {
        csimi_swap_columns(B, p, q);
        csimi_swap_columns(V, p, q);
    }
    return turned;
}

/* A unit vector orthogonal to the unit vector u. */
static csim_vec3 csimi_any_tangent(csim_vec3 u) {
    csim_real R[9], n[3];
    csimi_store3(n, u);
    csimi_frame(n, NULL, R);
    return csim_v3(R[3], R[4], R[5]);
}

static csim_vec3 csimi_column(const csim_real *B, int j) { return csim_v3(B[j], B[3 + j], B[6 + j]); }

CSIMI_FN void csimi_svd3(const csim_real *F, csim_real *U, csim_real *s, csim_real *V) {
    csim_real B[9], scale = csimi_scale3(F);
    csim_vec3 u[3], b;
    int i, sweep;
    csimi_identity3(U);
    csimi_identity3(V);
    s[0] = s[1] = s[2] = 0;
    if (!(scale > 0) || !csimi_finite(scale)) return;
    for (i = 0; i < 9; i++) B[i] = F[i] / scale;
    for (sweep = 0; sweep < CSIMI_JACOBI_SWEEPS; sweep++) {
        bool a01 = csimi_svd_turn(B, V, 0, 1), a02 = csimi_svd_turn(B, V, 0, 2), a12 = csimi_svd_turn(B, V, 1, 2);
        if (!a01 && !a02 && !a12) break;
    }
    b = csimi_column(B, 0);
    s[0] = csim_length(b);
    u[0] = csim_scale(1 / s[0], b);
    b = csimi_column(B, 1);
    b = csim_madd(b, -csim_dot(u[0], b), u[0]);
    s[1] = csimi_min(csim_length(b), s[0]);
    if (s[1] * s[1] > CSIMI_TINY) {
        u[1] = csim_scale(1 / s[1], b);
        u[1] = csim_normalize(csim_madd(u[1], -csim_dot(u[0], u[1]), u[0]));
        u[2] = csim_cross(u[0], u[1]);
        s[2] = csimi_clamp(csim_dot(u[2], csimi_column(B, 2)), -s[1], s[1]);
    } else { /* rank one: any frame around the first axis will do */
        u[1] = csimi_any_tangent(u[0]);
        u[2] = csim_cross(u[0], u[1]);
        s[1] = 0;
    }
    for (i = 0; i < 3; i++) {
        U[i] = u[i].x;
        U[3 + i] = u[i].y;
        U[6 + i] = u[i].z;
        s[i] *= scale;
    }
}

/* The sum i of the stretches is the largest root of (i^2 - n)^2 = 8 d i + 4 c, where n = |F|^2, c = |cof F|^2 and
   d = det F. Newton's method comes down to it from sqrt(3 n), in two to four steps at the strains of a solid, and the
   theorem of Cayley and Hamilton has the rest: p R = i cof F + ((i^2 + n) / 2 I - F F') F, with
   p = i (i^2 - n) / 2 - d, the product of the three sums of two stretches. Where p is small beside n i, roundings grow:
   false. */
static bool csimi_polar_closed(const csim_real *F, csim_real *R) {
    csim_real C[9], M[9], c, n, d, i, p, m, step;
    csim_real xx = F[0] * F[0] + F[1] * F[1] + F[2] * F[2], xy = F[0] * F[3] + F[1] * F[4] + F[2] * F[5];
    csim_real xz = F[0] * F[6] + F[1] * F[7] + F[2] * F[8], yy = F[3] * F[3] + F[4] * F[4] + F[5] * F[5];
    csim_real yz = F[3] * F[6] + F[4] * F[7] + F[5] * F[8], zz = F[6] * F[6] + F[7] * F[7] + F[8] * F[8];
    int k;
    n = xx + yy + zz;
    if (!(n > CSIM_R(0.03) && n < 300)) return false;
    csimi_cofactor3(F, C);
    c = C[0] * C[0] + C[1] * C[1] + C[2] * C[2] + C[3] * C[3] + C[4] * C[4] + C[5] * C[5] + C[6] * C[6] + C[7] * C[7] +
        C[8] * C[8];
    d = F[0] * C[0] + F[1] * C[1] + F[2] * C[2];
    i = CSIMI_SQRT(3 * n);
    for (k = 0; k < 12; k++) {
        m = i * i - n;
        step = (m * m - 8 * d * i - 4 * c) / (4 * i * m - 8 * d);
        i -= step;
        if (step * step < CSIM_R(0.1) * CSIMI_EPS * n) break; /* of the order of its square is the next one */
    }
    p = i * (i * i - n) / 2 - d;
    if (!(p > CSIM_R(0.2) * n * i)) return false;
    p = 1 / p;
    m = (i * i + n) / 2;
    i *= p;
    M[0] = p * (m - xx), M[4] = p * (m - yy), M[8] = p * (m - zz);
    M[1] = M[3] = -p * xy, M[2] = M[6] = -p * xz, M[5] = M[7] = -p * yz;
    for (k = 0; k < 9; k += 3) {
        csim_real a = M[k], b = M[k + 1], e = M[k + 2];
        R[k] = i * C[k] + (a * F[0] + b * F[3] + e * F[6]);
        R[k + 1] = i * C[k + 1] + (a * F[1] + b * F[4] + e * F[7]);
        R[k + 2] = i * C[k + 2] + (a * F[2] + b * F[5] + e * F[8]);
    }
    return true;
}

/* The rotation that maximises tr(R'F): the polar factor where det F > 0, and U V' with the sign on the smallest
   stretch elsewhere, so that it passes through flat and inverted F without a jump (Irving et al. 2004). */
CSIMI_FN void csimi_polar3(const csim_real *F, csim_real *R) {
    csim_real U[9], s[3], V[9];
    if (csimi_polar_closed(F, R)) return;
    csimi_svd3(F, U, s, V);
    csimi_matmulT(U, V, R);
}

/* Duff et al. 2017, with the change of chart at the latitude n_z = -0.6 instead of the equator: walls, floors and
   ceilings all lie inside a chart, and the denominator stays above 0.4. */
CSIMI_FN void csimi_frame(const csim_real *n, const csim_real *hint, csim_real *R) {
    csim_vec3 axis = csimi_load3(n);
    csim_real sign = n[2] >= CSIM_R(-0.6) ? CSIM_R(1) : CSIM_R(-1), a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
    csim_vec3 t1 = csim_v3(1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]);
    csim_vec3 t2 = csim_v3(b, sign + n[1] * n[1] * a, -n[1]);
    if (hint) {
        csim_vec3 h = csim_normalize(csimi_load3(hint)), t = csim_madd(h, -csim_dot(h, axis), axis);
        if (csim_dot(t, t) > CSIMI_EPS) { /* the hint is not along the normal */
            t = csim_normalize(t);
            t1 = csim_normalize(csim_madd(t, -csim_dot(t, axis), axis));
            t2 = csim_cross(axis, t1);
        }
    }
    csimi_store3(R, axis);
    csimi_store3(R + 3, t1);
    csimi_store3(R + 6, t2);
}
