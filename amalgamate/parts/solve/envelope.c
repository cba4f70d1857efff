/* solve/envelope: L U factors of a structurally symmetric matrix of 3x3 blocks, each row of L and column of U stored
   from its first block on. Nothing outside the envelope fills in, so the order of the rows decides the memory: it is
   known before anything is computed. In double. */
#include "private.h"

CSIMI_FN void csimi_envelope_clear(csimi_envelope *e) {
    CSIMI_MEMSET(e->lower, 0, 9 * e->blocks * sizeof(csimi_wide));
    CSIMI_MEMSET(e->upper, 0, 9 * e->blocks * sizeof(csimi_wide));
    CSIMI_MEMSET(e->diag, 0, 9 * (size_t)e->n * sizeof(csimi_wide));
}

CSIMI_FN csimi_wide *csimi_envelope_block(csimi_envelope *e, int i, int j) {
    if (i == j) return e->diag + 9 * (ptrdiff_t)i;
    if (i > j) return e->lower + 9 * (e->start[i] + (size_t)(j - e->first[i]));
    return e->upper + 9 * (e->start[j] + (size_t)(i - e->first[j])); /* column j of U */
}

/* C -= sum A_k B_k over count blocks. */
static void csimi_envelope_dot(int count, const csimi_wide *CSIMI_RESTRICT A, const csimi_wide *CSIMI_RESTRICT B,
                               csimi_wide *C) {
    csimi_wide c0 = 0, c1 = 0, c2 = 0, c3 = 0, c4 = 0, c5 = 0, c6 = 0, c7 = 0, c8 = 0;
    for (; count > 0; --count, A += 9, B += 9) {
        c0 += A[0] * B[0] + A[1] * B[3] + A[2] * B[6];
        c1 += A[0] * B[1] + A[1] * B[4] + A[2] * B[7];
        c2 += A[0] * B[2] + A[1] * B[5] + A[2] * B[8];
        c3 += A[3] * B[0] + A[4] * B[3] + A[5] * B[6];
        c4 += A[3] * B[1] + A[4] * B[4] + A[5] * B[7];
        c5 += A[3] * B[2] + A[4] * B[5] + A[5] * B[8];
        c6 += A[6] * B[0] + A[7] * B[3] + A[8] * B[6];
        c7 += A[6] * B[1] + A[7] * B[4] + A[8] * B[7];
        c8 += A[6] * B[2] + A[7] * B[5] + A[8] * B[8];
    }
    C[0] -= c0;
    C[1] -= c1;
    C[2] -= c2;
    C[3] -= c3;
    C[4] -= c4;
    C[5] -= c5;
    C[6] -= c6;
    C[7] -= c7;
    C[8] -= c8;
}

/* In place by cofactors; false when singular. */
static bool csimi_envelope_invert(csimi_wide *M) {
    csimi_wide inv[9], det;
    int i, k;
    for (k = 0; k < 3; ++k) { /* column k: the cross product of the other rows */
        const csimi_wide *x = M + (k < 2 ? 3 * k + 3 : 0), *y = M + (k > 0 ? 3 * k - 3 : 6);
        inv[k] = x[1] * y[2] - x[2] * y[1];
        inv[3 + k] = x[2] * y[0] - x[0] * y[2];
        inv[6 + k] = x[0] * y[1] - x[1] * y[0];
    }
    det = M[0] * inv[0] + M[1] * inv[3] + M[2] * inv[6];
    if (!(det > 0 && det < CSIMI_WIDE_HUGE)) return false; /* a NaN too */
    det = 1 / det;
    for (i = 0; i < 9; ++i) M[i] = inv[i] * det;
    return true;
}

/* Row i of L, column i of U, then the pivot; diag holds the inverses of the pivots afterwards. */
CSIMI_FN bool csimi_envelope_factor(csimi_envelope *e) {
    int i, j, k;
    for (i = 0; i < e->n; ++i) {
        const int fi = e->first[i];
        csimi_wide *L = e->lower + 9 * e->start[i], *U = e->upper + 9 * e->start[i];
        for (j = fi; j < i; ++j) {
            const int fj = e->first[j], from = csimi_imax(fi, fj); /* before it one of them is zero */
            const csimi_wide *Lj = e->lower + 9 * e->start[j], *Uj = e->upper + 9 * e->start[j],
                         *D = e->diag + 9 * (ptrdiff_t)j;
            csimi_wide *l = L + 9 * (j - fi), scaled[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
            /* products of L and U before j, from A_ij and from A_ji */
            csimi_envelope_dot(j - from, L + 9 * (from - fi), Uj + 9 * (from - fj), l);
            csimi_envelope_dot(j - from, Lj + 9 * (from - fj), U + 9 * (from - fi), U + 9 * (j - fi));
            csimi_envelope_dot(1, l, D, scaled); /* -l D^-1: the dot subtracts */
            for (k = 0; k < 9; ++k) l[k] = -scaled[k];
        }
        csimi_envelope_dot(i - fi, L, U, e->diag + 9 * (ptrdiff_t)i); /* pivot */
        if (!csimi_envelope_invert(e->diag + 9 * (ptrdiff_t)i)) return false;
    }
    return true;
}

/* y -= M x */
static void csimi_envelope_subtract(const csimi_wide *M, const csimi_wide *x, csimi_wide *y) {
    y[0] -= M[0] * x[0] + M[1] * x[1] + M[2] * x[2];
    y[1] -= M[3] * x[0] + M[4] * x[1] + M[5] * x[2];
    y[2] -= M[6] * x[0] + M[7] * x[1] + M[8] * x[2];
}

CSIMI_FN void csimi_envelope_solve(const csimi_envelope *e, csimi_wide *x) {
    int i, j;
    for (i = 0; i < e->n; ++i) /* L y = x, whose diagonal is one */
        for (j = e->first[i]; j < i; ++j)
            csimi_envelope_subtract(e->lower + 9 * (e->start[i] + (size_t)(j - e->first[i])), x + 3 * (ptrdiff_t)j,
                                    x + 3 * (ptrdiff_t)i);
    for (i = e->n - 1; i >= 0; --i) { /* U x = y by columns, as U is kept */
        csimi_wide y[3] = {0, 0, 0};
        csimi_envelope_subtract(e->diag + 9 * (ptrdiff_t)i, x + 3 * (ptrdiff_t)i, y); /* -D^-1 x */
        for (j = 0; j < 3; ++j) x[3 * (ptrdiff_t)i + j] = -y[j];
        for (j = e->first[i]; j < i; ++j)
            csimi_envelope_subtract(e->upper + 9 * (e->start[i] + (size_t)(j - e->first[i])), x + 3 * (ptrdiff_t)i,
                                    x + 3 * (ptrdiff_t)j);
    }
}
