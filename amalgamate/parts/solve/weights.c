/* solve/weights: the diagonal W of COND, a scalar on the three unknowns of every contact node, and its spectrum. */
#include "private.h"

/* Diagonal entries of the nodal matrix; on a contact node their mean. */
static void csimi_weights_diagonal(const csimi_nodal *nodal, const unsigned char *pinned, csim_real *d) {
    const csim_block_matrix *A = &nodal->problem.A;
    int i, k, r;
    for (i = 0; i < A->n; ++i)
        for (r = 0; r < 3; ++r) d[3 * i + r] = A->val[9 * (size_t)A->diag[i] + 4 * (size_t)r];
    for (i = 0; i < nodal->virtual_count; ++i) {
        const csim_term *term = nodal->problem.terms + nodal->side[i].first;
        const csim_real kappa = nodal->kappa[i];
        for (k = 0; k < nodal->side[i].count; ++k)
            for (r = 0; r < 3; ++r) {
                const csim_real *J = term[k].J + r;
                d[3 * term[k].block + r] += kappa * (J[0] * J[0] + J[3] * J[3] + J[6] * J[6]); /* of kappa J_v' J_v */
            }
        for (r = 0; r < 3; ++r) d[3 * (A->n + i) + r] = kappa; /* massless: its own block is kappa I */
    }
    /* one scalar a contact node: else gamma of a contact is no scalar and its law has no closed form */
    for (i = 0; i < nodal->count; ++i)
        if (pinned[i]) d[3 * i] = d[3 * i + 1] = d[3 * i + 2] = (d[3 * i] + d[3 * i + 1] + d[3 * i + 2]) / 3;
}

CSIMI_FN void csimi_weights_jacobi(const csimi_nodal *nodal, const unsigned char *pinned, csim_real *w) {
    int i;
    csimi_weights_diagonal(nodal, pinned, w);
    for (i = 0; i < 3 * nodal->count; ++i) w[i] = 1 / w[i];
}

/* Adds kappa g'[J_v -I] of virtual node i to a row of the nodal matrix. */
static void csimi_weights_couple(const csimi_nodal *nodal, int i, const csim_real *g, csim_real *row) {
    const csim_term *term = nodal->problem.terms + nodal->side[i].first, *end = term + nodal->side[i].count;
    csim_real *own = row + 3 * (size_t)(nodal->problem.A.n + i), kappa = nodal->kappa[i];
    int k;
    for (k = 0; k < 3; ++k) own[k] -= kappa * g[k]; /* -I is the node's own part */
    for (; term < end; ++term)
        for (k = 0; k < 3; ++k)
            row[3 * (size_t)term->block + (size_t)k] +=
                kappa * (g[0] * term->J[k] + g[1] * term->J[3 + k] + g[2] * term->J[6 + k]);
}

/* Sum of squares over d of the entries of one block of a row, which is left zero. */
static double csimi_weights_take(csim_real *row, const csim_real *d, int block) {
    double sum = 0;
    int k;
    for (k = 3 * block; k < 3 * block + 3; ++k) {
        sum += (double)(row[k] * row[k]) / (double)d[k];
        row[k] = 0; /* clearing the whole row would cost n for each */
    }
    return sum;
}

static double csimi_weights_take_virtual(const csimi_nodal *nodal, int i, csim_real *row, const csim_real *d) {
    const csim_side side = nodal->side[i];
    double sum = csimi_weights_take(row, d, nodal->problem.A.n + i);
    int k;
    for (k = side.first; k < side.first + side.count; ++k)
        sum += csimi_weights_take(row, d, nodal->problem.terms[k].block);
    return sum;
}

/* Sum of squares over d of row r of block or virtual node i; row [3 count] is zero and stays so. */
static double csimi_weights_square(const csimi_nodal *nodal, int i, int r, const csim_real *d, csim_real *row) {
    const csim_block_matrix *A = &nodal->problem.A;
    csim_real g[3] = {0, 0, 0};
    double sum = 0;
    int j, k;
    if (i >= A->n) {
        g[r] = -1; /* g = -e_r gives kappa [-J_v I], its row */
        csimi_weights_couple(nodal, i - A->n, g, row);
        return csimi_weights_take_virtual(nodal, i - A->n, row, d);
    }
    for (j = A->row[i]; j < csimi_row_end(A, i); ++j)
        for (k = 0; k < 3; ++k) row[3 * A->col[j] + k] = A->val[9 * (size_t)j + (size_t)(3 * r + k)];
    for (j = nodal->virtual_count ? nodal->first[i] : 0; nodal->virtual_count && j < nodal->first[i + 1]; ++j) {
        const csimi_hung *h = nodal->hung + j;
        const csim_real *J = nodal->problem.terms[nodal->side[h->node].first + h->at - nodal->begin[h->node]].J;
        for (k = 0; k < 3; ++k) g[k] = J[3 * k + r]; /* column r of J_v: row r of kappa J_v' [J_v -I] */
        csimi_weights_couple(nodal, h->node, g, row);
    }
    /* blocks named twice are zero at the second visit: nothing counts twice */
    for (j = A->row[i]; j < csimi_row_end(A, i); ++j) sum += csimi_weights_take(row, d, A->col[j]);
    for (j = nodal->virtual_count ? nodal->first[i] : 0; nodal->virtual_count && j < nodal->first[i + 1]; ++j)
        sum += csimi_weights_take_virtual(nodal, nodal->hung[j].node, row, d);
    return sum;
}

/* Minimiser of |I - W S|_F for S = D^-1/2 A D^-1/2, then W scaled back (COND paper IV-C1, whose norm lacks the factors
   2 and w^2 and whose minimiser is right). Scaling first makes it free of units, and the diagonal of S one, or three in
   the mean. */
CSIMI_FN void csimi_weights_frobenius(const csimi_nodal *nodal, const unsigned char *pinned, csim_real *w,
                                      csim_real *scratch) {
    csim_real *d = scratch, *row = scratch + 3 * (size_t)nodal->count;
    int i, r;
    csimi_weights_diagonal(nodal, pinned, d);
    CSIMI_MEMSET(row, 0, 3 * (size_t)nodal->count * sizeof *row);
    for (i = 0; i < nodal->count; ++i) {
        double norm[3];
        for (r = 0; r < 3; ++r) norm[r] = csimi_weights_square(nodal, i, r, d, row) / (double)d[3 * i + r];
        for (r = 0; r < 3; ++r)
            /* a_rr / |S_r|^2 with a_rr = 1, on contact nodes the sum of three over the sum of three */
            w[3 * i + r] = (csim_real)(pinned[i] ? 3 / (norm[0] + norm[1] + norm[2]) : 1 / norm[r]) / d[3 * i + r];
    }
}

/* Largest eigenvalue of a symmetric tridiagonal matrix (diagonal a, couplings b), by bisection on the signs of its
   pivots: all are negative just when T - x I is negative definite. */
static double csimi_tridiagonal_top(int count, const double *a, const double *b) {
    double lo = a[0], hi = a[0], x, pivot;
    int i, k;
    /* the largest eigenvalue lies between the largest diagonal entry and Gershgorin's bound */
    for (i = 0; i < count; ++i) {
        const double reach = a[i] + (i ? b[i - 1] : 0) + (i + 1 < count ? b[i] : 0);
        if (reach > hi) hi = reach;
        if (a[i] > lo) lo = a[i];
    }
    for (k = 0; k < 50; ++k) { /* to the last bits of double */
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
        state ^= state << 13; /* xorshift (Marsaglia 2003) */
        state ^= state >> 17;
        state ^= state << 5;
        /* 24 bits are exact in float too; sqrt(w) gives every number the same weight in the metric W^-1 */
        q[i] = ((csim_real)(state >> 8) / CSIM_R(16777216.0) - CSIM_R(0.5)) * CSIMI_SQRT(w[i]);
    }
}

/* Lanczos for W A, A the nodal matrix, in the inner product of W^-1: three vectors of work, one product a step. */
CSIMI_FN csim_real csimi_weights_sigma(const csimi_nodal *nodal, const csim_real *w, const csim_real *w_inverse,
                                       csim_real known, csim_real *work, int *products, const csim_tasks *tasks) {
    const int count = 3 * nodal->count, first = known > 0 ? 4 : CSIMI_LANCZOS;
    csim_real *q = work, *last = work + count, *z = work + 2 * (size_t)count, *turn;
    double a[CSIMI_LANCZOS], b[CSIMI_LANCZOS], norm, top = 0;
    int i, k;
    csimi_lanczos_start(count, w, q);
    norm = csimi_sum_weighted(count, w_inverse, q, q);
    norm = norm > 0 ? 1 / csimi_sqrt64(norm) : 0;
    for (i = 0; i < count; ++i) q[i] *= (csim_real)norm;
    CSIMI_MEMSET(last, 0, (size_t)count * sizeof *last);
    for (k = 0; k < CSIMI_LANCZOS; ++k) {
        csimi_nodal_product(nodal, q, z, true, tasks);
        *products += 1;
        a[k] = csimi_sum_dot(count, q, z); /* <q, W A q> in W^-1 */
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
