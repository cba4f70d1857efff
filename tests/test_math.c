/* Vectors, quaternions and 3x3 decompositions, against series and other algorithms. */
#include "check.h"

static csim_real uniform(void) { return CSIM_R(check_random(-1, 1)); }

static csim_quat random_quat(void) {
    csim_quat q;
    q.w = uniform();
    q.x = uniform();
    q.y = uniform();
    q.z = uniform();
    return csim_quat_normalize(q);
}

static void random_rotation(csim_real *R) {
    csim_mat3 M = csim_quat_matrix(random_quat());
    memcpy(R, M.m, sizeof M.m);
}

/* F = U diag(s) V' with random rotations. */
static void matrix_of(const csim_real *s, csim_real *U, csim_real *V, csim_real *F) {
    csim_real D[9];
    int i;
    random_rotation(U);
    random_rotation(V);
    for (i = 0; i < 9; i++) D[i] = U[i] * s[i % 3];
    csimi_matmulT(D, V, F);
}

static double difference(const csim_real *A, const csim_real *B) {
    double worst = 0;
    int i;
    for (i = 0; i < 9; i++) worst = worst > fabs((double)(A[i] - B[i])) ? worst : fabs((double)(A[i] - B[i]));
    return worst;
}

/* Distance of Q from an orthogonal matrix with determinant +1. */
static double rotation_error(const csim_real *Q) {
    csim_real I[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, T[9];
    double det = fabs((double)csim_dot(csimi_load3(Q), csim_cross(csimi_load3(Q + 3), csimi_load3(Q + 6))) - 1), d;
    csimi_matTmul(Q, Q, T);
    d = difference(T, I);
    return d > det ? d : det;
}

/* |R'F - (R'F)'| */
static double asymmetry(const csim_real *R, const csim_real *F) {
    csim_real S[9], T[9];
    int i, j;
    csimi_matTmul(R, F, S);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) T[3 * j + i] = S[3 * i + j];
    return difference(S, T);
}

static csim_real ten_to(int exponent) {
    csim_real x = 1;
    for (; exponent > 0; exponent--) x *= 10;
    for (; exponent < 0; exponent++) x /= 10;
    return x;
}

/* Some thirty roundings lie between F and a product checked here. */
#define FEW_EPS TOL(4e-15, 2e-6)
#define BIG_EXPONENT ((int)TOL(150, 15))

TEST(length_never_overflows) {
    int e;
    for (e = -BIG_EXPONENT; e <= BIG_EXPONENT; e += 5) {
        csim_real s = ten_to(e);
        csim_vec3 v = csim_v3(3 * s, -4 * s, 12 * s), n = csim_normalize(v);
        CASE("scale 1e%d", e);
        NEAR(csim_length(v) / s, 13, TOL(4e-15, 2e-6));
        NEAR(csim_length(n), 1, FEW_EPS);
        NEAR(n.y, -4.0 / 13, FEW_EPS);
    }
    CHECK(csim_length(csim_normalize(csim_v3(0, 0, 0))) == 0);
    CHECK(csim_length(csim_v3(0, 0, 0)) == 0);
}

/* exp(w) of a quaternion by its power series, sum (w/2)^n / n!, in double. */
static void series_exp(csim_vec3 w, double *out) {
    double a = (double)w.x / 2, b = (double)w.y / 2, c = (double)w.z / 2, t[4] = {1, 0, 0, 0};
    int n, k;
    for (k = 0; k < 4; k++) out[k] = t[k];
    for (n = 1; n < 60; n++) {
        double u[4];
        u[0] = -t[1] * a - t[2] * b - t[3] * c;
        u[1] = t[0] * a + t[2] * c - t[3] * b;
        u[2] = t[0] * b + t[3] * a - t[1] * c;
        u[3] = t[0] * c + t[1] * b - t[2] * a;
        for (k = 0; k < 4; k++) out[k] += t[k] = u[k] / n;
    }
}

TEST(quat_exp_is_the_power_series) {
    int i;
    for (i = 0; i < 2000; i++) {
        csim_real scale = ten_to(i % 12 - 10) * (i % 12 == 11 ? CSIM_R(0.7) : CSIM_R(1));
        csim_vec3 w = csim_scale(scale, csim_v3(uniform(), uniform(), uniform()));
        csim_quat q = csim_quat_exp(w);
        double s[4];
        series_exp(w, s);
        CASE("scale %g", (double)scale);
        NEAR(q.w, s[0], TOL(2e-14, 2e-6)); /* the series cancels at |w| = 12: that is its error, not ours */
        NEAR(q.x, s[1], TOL(2e-14, 2e-6));
        NEAR(q.y, s[2], TOL(2e-14, 2e-6));
        NEAR(q.z, s[3], TOL(2e-14, 2e-6));
        NEAR(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z, 1, FEW_EPS);
    }
}

TEST(quaternions_and_matrices_agree) {
    int i;
    for (i = 0; i < 500; i++) {
        csim_quat p = random_quat(), q = random_quat();
        csim_vec3 v = csim_v3(uniform(), uniform(), uniform()), a = csim_rotate(csim_quat_mul(p, q), v), b, c;
        csim_mat3 P = csim_quat_matrix(p), Q = csim_quat_matrix(q);
        csim_real PQ[9], in[3], out[3];
        csimi_matmul(P.m, Q.m, PQ);
        csimi_store3(in, v);
        csimi_mul3(PQ, in, out);
        b = csim_sub(csimi_load3(out), a);
        NEAR(csim_length(b), 0, FEW_EPS);
        c = csim_sub(csim_unrotate(p, csim_rotate(p, v)), v);
        NEAR(csim_length(c), 0, FEW_EPS);
        NEAR(rotation_error(PQ), 0, FEW_EPS);
    }
    NEAR(csim_rotate(csim_quat_axis_angle(csim_v3(0, 0, 7), CSIMI_PI / 2), csim_v3(1, 0, 0)).y, 1, FEW_EPS);
    CHECK(csim_quat_axis_angle(csim_v3(0, 0, 0), 1).w == 1);
}

TEST(inverse_undoes_at_any_scale) {
    int i, e;
    csim_real I[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, singular[9] = {1, 2, 3, 4, 5, 6, 5, 7, 9}, inv[9] = {7};
    for (e = -BIG_EXPONENT; e <= BIG_EXPONENT; e += BIG_EXPONENT / 3)
        for (i = 0; i < 100; i++) {
            csim_real s[3] = {1, CSIM_R(0.5), CSIM_R(0.125)}, U[9], V[9], F[9], T[9];
            int k;
            matrix_of(s, U, V, F);
            for (k = 0; k < 9; k++) F[k] *= ten_to(e);
            REQUIRE(csimi_inverse3(F, inv));
            csimi_matmul(F, inv, T);
            NEAR(difference(T, I), 0, 10 * FEW_EPS); /* condition number 8 */
        }
    inv[0] = 7;
    CHECK(!csimi_inverse3(singular, inv) || csimi_abs(inv[0]) > CSIM_R(0.01) / CSIMI_EPS);
    memset(singular, 0, sizeof singular);
    inv[0] = 7;
    CHECK(!csimi_inverse3(singular, inv) && inv[0] == 7);
    singular[4] = CSIM_R(NAN);
    CHECK(!csimi_inverse3(singular, inv) && inv[0] == 7);
}

TEST(eigen_of_symmetric) {
    int i, k, e;
    for (i = 0; i < 3000; i++) {
        csim_real s[3], U[9], F[9], D[9], V[9], l[3], T[9], S[9];
        e = i % 3 == 0 ? BIG_EXPONENT : i % 3 == 1 ? -BIG_EXPONENT : 0;
        for (k = 0; k < 3; k++) s[k] = i % 5 == 0 ? CSIM_R(1) : uniform() * ten_to(-(i % 7));
        random_rotation(U);
        for (k = 0; k < 9; k++) D[k] = U[k] * s[k % 3];
        csimi_matmulT(D, U, F);
        F[3] = F[1];
        F[6] = F[2];
        F[7] = F[5];
        for (k = 0; k < 9; k++) S[k] = F[k] * ten_to(e);
        csimi_eigen_sym3(S, l, V);
        CHECK(l[0] <= l[1] && l[1] <= l[2]);
        NEAR(rotation_error(V), 0, 2 * FEW_EPS);
        for (k = 0; k < 9; k++) D[k] = V[k] * (l[k % 3] / ten_to(e));
        csimi_matmulT(D, V, T);
        NEAR(difference(T, F), 0, 2 * FEW_EPS);
    }
}

/* Stretches: ordinary, near-singular, inverted, flat, rank one, equal, zero. */
static void hard_stretches(int kind, csim_real *s) {
    static const double table[][3] = {{1.2, 1, 0.9},    {1, 1, 1},        {1, 0.5, 1e-9}, {1, 0.3, -0.2}, {1, 1, -1},
                                      {3, 1e-7, 1e-12}, {2, 1e-8, 0},     {1, 0, 0},      {0, 0, 0},      {1, 1, 1e-3},
                                      {100, 1, 0.01},   {1, 1e-4, -1e-4}, {1, 0.2, 0.05}};
    int k;
    for (k = 0; k < 3; k++) s[k] = CSIM_R(table[kind % 13][k]);
}

TEST(svd_rebuilds_every_matrix) {
    int i, k;
    for (i = 0; i < 13 * 300; i++) {
        csim_real s[3], U[9], V[9], F[9], G[9], P[9], Q[9], t[3], D[9], T[9];
        int e = i % 2 ? 0 : (i % 4 ? BIG_EXPONENT : -BIG_EXPONENT);
        hard_stretches(i, s);
        matrix_of(s, U, V, F);
        for (k = 0; k < 9; k++) G[k] = F[k] * ten_to(e);
        csimi_svd3(G, P, t, Q);
        CASE("stretches %g %g %g, scale 1e%d", (double)s[0], (double)s[1], (double)s[2], e);
        NEAR(rotation_error(P), 0, 2 * FEW_EPS);
        NEAR(rotation_error(Q), 0, 2 * FEW_EPS);
        CHECK(t[0] >= t[1] && t[1] >= csimi_abs(t[2]));
        for (k = 0; k < 3; k++) NEAR(t[k] / ten_to(e), s[k], 2 * FEW_EPS * (1 + (double)s[0]));
        for (k = 0; k < 9; k++) D[k] = P[k] * (t[k % 3] / ten_to(e));
        csimi_matmulT(D, Q, T);
        NEAR(difference(T, F), 0, 2 * FEW_EPS * (1 + (double)s[0]));
    }
}

TEST(polar_is_a_rotation_times_a_symmetric) {
    int i, k;
    for (i = 0; i < 13 * 300; i++) {
        csim_real s[3], U[9], V[9], F[9], R[9], expected[9];
        double sum;
        int e = i % 2 ? 0 : (i % 4 ? BIG_EXPONENT : -BIG_EXPONENT);
        hard_stretches(i, s);
        matrix_of(s, U, V, F);
        csimi_matmulT(U, V, expected);
        for (k = 0; k < 9; k++) F[k] *= ten_to(e);
        csimi_polar3(F, R);
        for (k = 0; k < 9; k++) F[k] /= ten_to(e);
        CASE("stretches %g %g %g, scale 1e%d", (double)s[0], (double)s[1], (double)s[2], e);
        NEAR(rotation_error(R), 0, 2 * FEW_EPS);
        NEAR(asymmetry(R, F), 0, 3 * FEW_EPS * (1 + (double)s[0]));
        /* rounding of F moves the rotation by eps s1 / (s2 + s3): the conditioning of the problem */
        sum = (double)(s[1] + s[2]) / (double)(s[0] + CSIMI_TINY);
        if (sum > TOL(1e-8, 1e-2)) NEAR(difference(R, expected), 0, 3 * FEW_EPS / sum);
    }
}

TEST(polar_passes_through_inversion_without_a_jump) {
    csim_real s[3] = {CSIM_R(1.1), CSIM_R(0.7), 0}, U[9], V[9], D[9], F[9], R[9], last[9];
    int step, k;
    random_rotation(U);
    random_rotation(V);
    for (step = 0; step <= 2000; step++) {
        s[2] = CSIM_R(0.6) - CSIM_R(step) * CSIM_R(0.0006);
        for (k = 0; k < 9; k++) D[k] = U[k] * s[k % 3];
        csimi_matmulT(D, V, F);
        csimi_polar3(F, R);
        if (step > 0) NEAR(difference(R, last), 0, 20 * FEW_EPS); /* U V' is the same all along */
        memcpy(last, R, sizeof R);
    }
}

TEST(polar_of_nonsense_returns) {
    csim_real F[9], R[9];
    int i, k;
    for (i = 0; i < 9; i++) {
        for (k = 0; k < 9; k++) F[k] = uniform();
        F[i] = i % 3 == 0 ? CSIM_R(NAN) : i % 3 == 1 ? CSIM_R(INFINITY) : CSIM_R(-INFINITY);
        csimi_polar3(F, R);
        NEAR(rotation_error(R), 0, FEW_EPS);
    }
}

TEST(frame_is_orthonormal_for_every_normal) {
    int i, k;
    for (i = 0; i < 20000; i++) {
        csim_real n[3], hint[3], R[9];
        csim_vec3 v = csim_v3(uniform(), uniform(), uniform()), h;
        if (i % 4 == 0) v.z = ten_to(-(i % 17)) * v.z;
        if (i % 4 == 1) v = csim_v3(v.x * ten_to(-(i % 17)), v.y * ten_to(-(i % 13)), v.z);
        if (i % 4 == 2) v = csim_v3(CSIM_R(i % 3 - 1), CSIM_R(i / 3 % 3 - 1), CSIM_R(i / 9 % 3 - 1));
        if (csim_length(v) == 0) continue;
        csimi_store3(n, csim_normalize(v));
        h = csim_v3(uniform(), uniform(), uniform());
        if (i % 5 == 0) h = csim_madd(csim_scale(3, csimi_load3(n)), ten_to(-(i % 23)), h);
        csimi_store3(hint, h);
        for (k = 0; k < 2; k++) {
            csimi_frame(n, k ? hint : NULL, R);
            NEAR(rotation_error(R), 0, FEW_EPS);
            CHECK(R[0] == n[0] && R[1] == n[1] && R[2] == n[2]);
        }
    }
}

TEST(frame_takes_the_hint_and_does_not_jump_at_walls) {
    csim_real n[3] = {1, 0, 0}, hint[3] = {5, 0, -2}, A[9], B[9];
    csimi_frame(n, hint, A);
    NEAR(A[5], -1, FEW_EPS);
    n[2] = CSIM_R(1e-6);
    csimi_frame(n, NULL, A);
    n[2] = CSIM_R(-1e-6);
    csimi_frame(n, NULL, B);
    NEAR(difference(A, B), 0, 1e-5);
}
