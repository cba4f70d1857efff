/* solve/weights: the diagonal W of COND, a scalar on the three unknowns of every contact node, and its spectrum. */
#include "private.h"

/* Mean of the diagonal entries of a contact node, the entries themselves elsewhere. */
static void csimi_weights_diagonal(const csim_block_matrix *A, const unsigned char *pinned, csim_real *d) {
    int i, k;
    for (i = 0; i < A->n; ++i) {
        const csim_real *D = A->val + 9 * (size_t)A->diag[i];
        for (k = 0; k < 3; ++k) d[3 * i + k] = pinned[i] ? csimi_block_trace(A, i) / 3 : D[4 * k];
    }
}

CSIMI_FN void csimi_weights_jacobi(const csim_block_matrix *A, const unsigned char *pinned, csim_real *w) {
    int i;
    csimi_weights_diagonal(A, pinned, w);
    for (i = 0; i < 3 * A->n; ++i) w[i] = 1 / w[i];
}

/* Minimiser of |I - W S|_F for S = D^-1/2 A D^-1/2, then W scaled back (COND paper IV-C1, whose norm lacks the factors
   2 and w^2 and whose minimiser is right). Scaling first makes it free of units. d[3n] is scratch. */
CSIMI_FN void csimi_weights_frobenius(const csim_block_matrix *A, const unsigned char *pinned, csim_real *w,
                                      csim_real *d) {
    int i, j, k, r;
    csimi_weights_diagonal(A, pinned, d);
    for (i = 0; i < A->n; ++i) {
        double norm[3] = {0, 0, 0}, trace[3];
        for (r = 0; r < 3; ++r)
            trace[r] = (double)A->val[9 * (size_t)A->diag[i] + 4 * (size_t)r] / (double)d[3 * i + r];
        for (j = A->row[i]; j < A->row[i + 1]; ++j) {
            const csim_real *B = A->val + 9 * (size_t)j, *e = d + 3 * (size_t)A->col[j];
            for (r = 0; r < 3; ++r)
                for (k = 0; k < 3; ++k) norm[r] += (double)(B[3 * r + k] * B[3 * r + k]) / (double)e[k];
        }
        for (r = 0; r < 3; ++r) norm[r] /= (double)d[3 * i + r];
        for (r = 0; r < 3; ++r)
            w[3 * i + r] =
                pinned[i] ? (csim_real)((trace[0] + trace[1] + trace[2]) / (norm[0] + norm[1] + norm[2])) / d[3 * i + r]
                          : (csim_real)(trace[r] / norm[r]) / d[3 * i + r];
    }
}

/* Largest eigenvalue of a symmetric tridiagonal matrix (diagonal a, couplings b), by bisection on the signs of its
   pivots: all are negative just when T - x I is negative definite. */
static double csimi_tridiagonal_top(int count, const double *a, const double *b) {
    double lo = a[0], hi = a[0], x, pivot;
    int i, k;
    for (i = 0; i < count; ++i) {
        const double reach = a[i] + (i ? b[i - 1] : 0) + (i + 1 < count ? b[i] : 0);
        if (reach > hi) hi = reach;
        if (a[i] > lo) lo = a[i];
    }
    for (k = 0; k < 50; ++k) {
        x = 0.5 * (lo + hi);
        pivot = a[0] - x;
        for (i = 1; i < count && pivot < 0; ++i) pivot = a[i] - x - b[i - 1] * b[i - 1] / pivot;
        if (pivot < 0)
            hi = x;
        else
            lo = x;
    }
    return hi;
}

/* A start that every eigenvector has a part in, the same in every run. */
static void csimi_lanczos_start(int count, const csim_real *w, csim_real *q) {
    uint32_t state = 2463534242u;
    int i;
    for (i = 0; i < count; ++i) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        q[i] = ((csim_real)(state >> 8) / CSIM_R(16777216.0) - CSIM_R(0.5)) * CSIMI_SQRT(w[i]);
    }
}

/* Lanczos for W A in the inner product of W^-1: three vectors of work, one product a step. */
CSIMI_FN csim_real csimi_weights_sigma(const csim_block_matrix *A, const csim_real *w, const csim_real *w_inverse,
                                       csim_real known, csim_real *work, int *products, const csim_tasks *tasks) {
    const int count = 3 * A->n, first = known > 0 ? 4 : CSIMI_LANCZOS;
    csim_real *q = work, *last = work + count, *z = work + 2 * (size_t)count, *turn;
    double a[CSIMI_LANCZOS], b[CSIMI_LANCZOS], norm, top = 0;
    int i, k;
    csimi_lanczos_start(count, w, q);
    norm = csimi_sum_weighted(count, w_inverse, q, q);
    norm = norm > 0 ? 1 / csimi_sqrt64(norm) : 0;
    for (i = 0; i < count; ++i) q[i] *= (csim_real)norm;
    CSIMI_MEMSET(last, 0, (size_t)count * sizeof *last);
    for (k = 0; k < CSIMI_LANCZOS; ++k) {
        csimi_product(A, q, z, tasks);
        *products += 1;
        a[k] = csimi_sum_dot(count, q, z);
        for (i = 0; i < count; ++i)
            z[i] = w[i] * z[i] - (csim_real)a[k] * q[i] - (k ? (csim_real)b[k - 1] * last[i] : 0);
        norm = csimi_sum_weighted(count, w_inverse, z, z);
        b[k] = norm > 0 ? csimi_sqrt64(norm) : 0;
        top = csimi_tridiagonal_top(k + 1, a, b);
        if (!(b[k] > 1e-6 * top)) break; /* the space is exhausted: exact; or not a number */
        /* a spectrum known from the last solve is kept while nothing larger shows */
        if (k + 1 == first && known > 0 && top <= (double)known && (double)known < 1.4 * top) return known;
        for (i = 0; i < count; ++i) z[i] /= (csim_real)b[k];
        turn = last, last = q, q = z, z = turn;
    }
    return (csim_real)top;
}
