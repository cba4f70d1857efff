/* sparse/chain: chains of 6x6 blocks, each coupled to its neighbours alone, factored and solved in O(n), in double. */
#include "private.h"

/* C = A B for 6x6 */
static void csimi_chain_product(const double *A, const double *B, double *C) {
    int i, j, k;
    for (i = 0; i < 6; i++) {
        double row[6] = {0, 0, 0, 0, 0, 0};
        for (k = 0; k < 6; k++)
            for (j = 0; j < 6; j++) row[j] += A[6 * i + k] * B[6 * k + j];
        for (j = 0; j < 6; j++) C[6 * i + j] = row[j];
    }
}

/* Inverse in place by Gauss-Jordan without exchanges: the blocks are positive definite, or nearly so with friction.
   False when a pivot is not positive against the diagonal it began with. */
static bool csimi_chain_invert(double *S) {
    double begin[6];
    int i, j, k;
    for (k = 0; k < 6; k++) begin[k] = S[7 * k];
    for (k = 0; k < 6; k++) {
        double pivot = S[7 * k], inverse;
        if (!(pivot > 1e-14 * begin[k] && pivot < 1e300)) return false;
        inverse = 1 / pivot;
        S[7 * k] = 1;
        for (j = 0; j < 6; j++) S[6 * k + j] *= inverse;
        for (i = 0; i < 6; i++) {
            double factor = S[6 * i + k];
            if (i == k) continue;
            S[6 * i + k] = 0;
            for (j = 0; j < 6; j++) S[6 * i + j] -= factor * S[6 * k + j];
        }
    }
    return true;
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

/* S_i = D_i - B_i S_{i-1}^-1 C_{i-1}, kept as inverses. */
CSIMI_FN bool csimi_chain_factor(csimi_chain *c, int first, int last) {
    double B[36], C[36], G[36];
    int i, k;
    for (i = first; i < last; i++) {
        double *S = c->pivot + 36 * (size_t)i;
        csimi_chain_diagonal(c, i, S);
        if (i > first) {
            csimi_chain_coupling(c, i, false, C);
            csimi_chain_coupling(c, i, true, B);
            csimi_chain_product(S - 36, C, G);
            csimi_chain_product(B, G, C);
            for (k = 0; k < 36; k++) S[k] -= C[k];
        }
        if (!csimi_chain_invert(S)) return false;
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

static void csimi_chain_apply_pivot(const double *S, double *x) {
    double y[6];
    int i, k;
    for (i = 0; i < 6; i++)
        for (y[i] = 0, k = 0; k < 6; k++) y[i] += S[6 * i + k] * x[k];
    for (i = 0; i < 6; i++) x[i] = y[i];
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
        csimi_chain_apply_pivot(c->pivot + 36 * (size_t)i, xi);
    }
    for (i = last - 2; i >= first; i--) {
        double *xi = x + 6 * (size_t)i;
        for (k = 0; k < 6; k++) y[k] = 0;
        csimi_chain_coupling(c, i + 1, false, M);
        csimi_chain_subtract(M, xi + 6, y);
        csimi_chain_apply_pivot(c->pivot + 36 * (size_t)i, y);
        for (k = 0; k < 6; k++) xi[k] += y[k];
    }
}
