/* sparse/tridiagonal: chains of 6x6 blocks, each coupled to its neighbours alone, factored and solved in O(n), in
   double. */
#include "private.h"

#ifndef CONDSIM_NO_CABLE

/* L U in place without exchanges, unit L, the reciprocals of the pivots on the diagonal: the blocks are positive
   definite, or nearly so with friction. False when a pivot is not positive against the diagonal it began with. An
   explicit inverse would not do: a cord without bending stiffness has blocks of condition 1e14. */
static bool csimi_chain_split(double *S) {
    int i, j, k;
    for (k = 0; k < 6; k++) {
        const double begin = S[7 * k];
        for (j = 0; j < k; j++) { /* row k of L, then of U */
            for (i = 0; i < j; i++) S[6 * k + j] -= S[6 * k + i] * S[6 * i + j];
            S[6 * k + j] *= S[7 * j];
        }
        for (j = k; j < 6; j++)
            for (i = 0; i < k; i++) S[6 * k + j] -= S[6 * k + i] * S[6 * i + j];
        if (!(S[7 * k] > 1e-15 * begin && S[7 * k] < 1e300)) return false;
        S[7 * k] = 1 / S[7 * k];
    }
    return true;
}

/* X <- S^-1 X, count columns a row of X. */
static void csimi_chain_divide(const double *S, int count, double *X) {
    int i, j, k;
    for (k = 0; k < 6; k++)
        for (i = 0; i < k; i++)
            for (j = 0; j < count; j++) X[count * k + j] -= S[6 * k + i] * X[count * i + j];
    for (k = 5; k >= 0; k--) {
        for (i = k + 1; i < 6; i++)
            for (j = 0; j < count; j++) X[count * k + j] -= S[6 * k + i] * X[count * i + j];
        for (j = 0; j < count; j++) X[count * k + j] *= S[7 * k];
    }
}

/* Rows or columns of one 3-block of M pressed onto a face: M <- F M (rows) or M F (columns). */
static void csimi_chain_press(double *M, int half, const double *F, bool rows) {
    int i, j, k;
    for (j = 0; j < 6; j++) {
        double x[3];
        for (i = 0; i < 3; i++)
            for (x[i] = 0, k = 0; k < 3; k++)
                x[i] += rows ? F[3 * i + k] * M[6 * (3 * half + k) + j] : M[6 * j + 3 * half + k] * F[3 * k + i];
        for (i = 0; i < 3; i++) *(rows ? M + 6 * (3 * half + i) + j : M + 6 * j + 3 * half + i) = x[i];
    }
}

static void csimi_chain_press_link(const csimi_chain *c, int link, bool rows, double *M) {
    int half;
    for (half = 0; half < 2; half++) {
        const csimi_chain_face *face = csimi_chain_face_of(c, 2 * link + half);
        if (face) csimi_chain_press(M, half, rows ? face->left : face->right, rows);
    }
}

/* Coupling of link i to i - 1 (down) or of i - 1 to i, on the faces. */
static void csimi_chain_coupling(const csimi_chain *c, int i, bool down, double *M) {
    const double *cross = c->cross + 36 * (size_t)i;
    int r, k;
    for (r = 0; r < 6; r++)
        for (k = 0; k < 6; k++) M[6 * r + k] = down ? cross[6 * r + k] : cross[6 * k + r];
    csimi_chain_press_link(c, down ? i : i - 1, true, M);
    csimi_chain_press_link(c, down ? i - 1 : i, false, M);
}

/* The diagonal block of link i on its faces, with a stiff diagonal where motion is taken away. */
static void csimi_chain_diagonal(const csimi_chain *c, int i, double *D) {
    double size[2];
    int half, k;
    for (half = 0; half < 2; half++) size[half] = (D[21 * half] + D[21 * half + 7] + D[21 * half + 14]) / 3;
    csimi_chain_press_link(c, i, true, D);
    csimi_chain_press_link(c, i, false, D);
    for (half = 0; half < 2; half++) {
        const csimi_chain_face *face = csimi_chain_face_of(c, 2 * i + half);
        for (k = 0; face && k < 9; k++)
            D[21 * half + 6 * (k / 3) + k % 3] += size[half] * ((k % 4 == 0 ? 1 : 0) - face->right[k]);
    }
}

/* S_i = D_i - B_i S_{i-1}^-1 C_{i-1}, kept as L U. */
CSIMI_FN bool csimi_chain_factor(csimi_chain *c, int first, int last) {
    double B[36], C[36];
    int i, j, k, m;
    for (i = first; i < last; i++) {
        double *S = c->pivot + 36 * (size_t)i;
        csimi_chain_diagonal(c, i, S);
        if (i > first) {
            csimi_chain_coupling(c, i, false, C);
            csimi_chain_coupling(c, i, true, B);
            csimi_chain_divide(S - 36, 6, C);
            for (k = 0; k < 6; k++)
                for (m = 0; m < 6; m++)
                    for (j = 0; j < 6; j++) S[6 * k + j] -= B[6 * k + m] * C[6 * m + j];
        }
        if (!csimi_chain_split(S)) return false;
    }
    return true;
}

/* y -= M x, M 6x6 */
static void csimi_chain_subtract(const double *M, const double *x, double *y) {
    int i, k;
    for (i = 0; i < 6; i++) {
        double sum = 0;
        for (k = 0; k < 6; k++) sum += M[6 * i + k] * x[k];
        y[i] -= sum;
    }
}

/* x_half <- F x_half of every faced block of a link */
static void csimi_chain_press_vector(const csimi_chain *c, int link, bool left, double *x) {
    int half, i, k;
    for (half = 0; half < 2; half++) {
        const csimi_chain_face *face = csimi_chain_face_of(c, 2 * link + half);
        const double *F;
        double y[3];
        if (!face) continue;
        F = left ? face->left : face->right;
        for (i = 0; i < 3; i++)
            for (y[i] = 0, k = 0; k < 3; k++) y[i] += F[3 * i + k] * x[3 * half + k];
        for (i = 0; i < 3; i++) x[3 * half + i] = y[i];
    }
}

CSIMI_FN void csimi_chain_solve(const csimi_chain *c, int first, int last, double *x) {
    double M[36], y[6];
    int i, k;
    for (i = first; i < last; i++) {
        double *xi = x + 6 * (size_t)i;
        csimi_chain_press_vector(c, i, true, xi);
        if (i > first) {
            csimi_chain_coupling(c, i, true, M);
            csimi_chain_subtract(M, xi - 6, xi);
        }
        csimi_chain_divide(c->pivot + 36 * (size_t)i, 1, xi);
    }
    for (i = last - 2; i >= first; i--) {
        double *xi = x + 6 * (size_t)i;
        for (k = 0; k < 6; k++) y[k] = 0;
        csimi_chain_coupling(c, i + 1, false, M);
        csimi_chain_subtract(M, xi + 6, y);
        csimi_chain_divide(c->pivot + 36 * (size_t)i, 1, y);
        for (k = 0; k < 6; k++) xi[k] += y[k];
    }
}
#endif
