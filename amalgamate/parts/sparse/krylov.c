/* sparse/krylov: conjugate gradients with block Jacobi, and the largest eigenvalue of W A. */
#include "private.h"

/* Inverses of the diagonal blocks, each positive definite by its leading minors; false when one is not. */
static bool csimi_invert_diagonal(const csim_block_matrix *A, csim_real *inverse) {
    int i;
    for (i = 0; i < A->n; i++) {
        const csim_real *D = A->val + 9 * (size_t)A->diag[i];
        if (!(D[0] > 0 && D[4] > 0 && D[8] > 0 && D[0] * D[4] > D[1] * D[3])) return false;
        if (!csimi_inverse3(D, inverse + 9 * (size_t)i) || !(inverse[9 * (size_t)i] > 0)) return false;
    }
    return true;
}

static void csimi_apply_diagonal(int n, const csim_real *inverse, const csim_real *r, csim_real *z) {
    int i;
    for (i = 0; i < n; i++) csimi_mul3(inverse + 9 * (size_t)i, r + 3 * (size_t)i, z + 3 * (size_t)i);
}

CSIMI_FN int csimi_gradients(int n, csimi_operator *product, void *context, const csim_real *rhs, csim_real *x,
                             csim_real tol, int max_iterations, csim_real *work) {
    int m = 3 * n, iteration, i;
    csim_real *r = work, *z = r + m, *p = z + m, *q = p + m, *inverse = q + m;
    double rz, old, target;
    csimi_apply_diagonal(n, inverse, rhs, z);
    target = (double)tol * (double)tol * (double)csimi_sum_dot(m, rhs, z);
    product(context, x, q);
    for (i = 0; i < m; i++) r[i] = rhs[i] - q[i];
    csimi_apply_diagonal(n, inverse, r, z);
    for (i = 0; i < m; i++) p[i] = z[i];
    rz = csimi_sum_dot(m, r, z);
    if (!(target >= 0 && rz >= 0)) return -2;
    for (iteration = 0; iteration < max_iterations && rz > target; iteration++) {
        csim_real alpha, beta;
        double curvature;
        product(context, p, q);
        curvature = csimi_sum_dot(m, p, q);
        if (!(curvature > 0)) return curvature <= 0 ? -1 : -2;
        alpha = (csim_real)(rz / curvature);
        for (i = 0; i < m; i++) x[i] += alpha * p[i];
        for (i = 0; i < m; i++) r[i] -= alpha * q[i];
        csimi_apply_diagonal(n, inverse, r, z);
        old = rz;
        rz = csimi_sum_dot(m, r, z);
        beta = (csim_real)(rz / old);
        for (i = 0; i < m; i++) p[i] = z[i] + beta * p[i];
    }
    return iteration;
}

/* A with the tasks that share its rows. */
typedef struct csimi_shared_matrix {
    const csim_block_matrix *A;
    const csim_tasks *tasks;
} csimi_shared_matrix;

static void csimi_shared_product(void *context, const csim_real *x, csim_real *y) {
    const csimi_shared_matrix *s = (const csimi_shared_matrix *)context;
    csimi_product(s->A, x, y, s->tasks);
}

CSIMI_FN int csimi_pcg(const csim_block_matrix *A, const csim_real *rhs, csim_real *x, csim_real tol,
                       int max_iterations, csim_real *work, const csim_tasks *tasks) {
    csimi_shared_matrix s;
    s.A = A;
    s.tasks = tasks;
    if (!csimi_invert_diagonal(A, work + 12 * (size_t)A->n)) return -1;
    return csimi_gradients(A->n, csimi_shared_product, &s, rhs, x, tol, max_iterations, work);
}
