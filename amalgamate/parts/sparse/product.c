/* sparse/product: y = A x. */
#include "private.h"

/* One block row, y = sum M_k x_k, is the hot loop of every solver. Each entry of y is gathered in three sums, one a
   column of the blocks, in every variant alike, so all give the same bits: with the vectors of gcc and clang four lanes
   wide where the machine has them (the fourth lane reads on into the next block and is thrown away, so the last block
   goes alone), two lanes and one elsewhere, plain numbers for other compilers. Without them gcc keeps to scalars here
   and is 1.2 to 2 times slower. */
#if !defined(__GNUC__)
#define CSIMI_LANES 1
#elif defined(__AVX__) || (CSIM_REAL_SIZE == 4 && (defined(__SSE__) || defined(__ARM_NEON)))
#define CSIMI_LANES 4
#else
#define CSIMI_LANES 2
#endif
#if CSIMI_LANES > 1
typedef csim_real csimi_lanes
    __attribute__((vector_size(CSIMI_LANES * CSIM_REAL_SIZE), aligned(CSIM_REAL_SIZE), may_alias));
#define CSIMI_LOAD(p) (*(const csimi_lanes *)(p))
#endif

static void csimi_product_row(int count, const int *CSIMI_RESTRICT col, const csim_real *CSIMI_RESTRICT M,
                              const csim_real *CSIMI_RESTRICT x, csim_real *CSIMI_RESTRICT y) {
    const csim_real *p;
    int k;
#if CSIMI_LANES == 4
    csimi_lanes a = {0, 0, 0, 0}, b = a, c = a;
    for (k = 0; k < count - 1; k++, M += 9) {
        csimi_lanes v = CSIMI_LOAD(x + 3 * (size_t)col[k]);
        a += CSIMI_LOAD(M) * v;
        b += CSIMI_LOAD(M + 3) * v;
        c += CSIMI_LOAD(M + 6) * v;
    }
    p = x + 3 * (size_t)col[k];
    y[0] = (a[0] + M[0] * p[0]) + (a[1] + M[1] * p[1]) + (a[2] + M[2] * p[2]);
    y[1] = (b[0] + M[3] * p[0]) + (b[1] + M[4] * p[1]) + (b[2] + M[5] * p[2]);
    y[2] = (c[0] + M[6] * p[0]) + (c[1] + M[7] * p[1]) + (c[2] + M[8] * p[2]);
#elif CSIMI_LANES == 2
    csimi_lanes a = {0, 0}, b = a, c = a;
    csim_real a2 = 0, b2 = 0, c2 = 0;
    for (k = 0; k < count; k++, M += 9) {
        csimi_lanes v = CSIMI_LOAD(p = x + 3 * (size_t)col[k]);
        a += CSIMI_LOAD(M) * v;
        a2 += M[2] * p[2];
        b += CSIMI_LOAD(M + 3) * v;
        b2 += M[5] * p[2];
        c += CSIMI_LOAD(M + 6) * v;
        c2 += M[8] * p[2];
    }
    y[0] = a[0] + a[1] + a2;
    y[1] = b[0] + b[1] + b2;
    y[2] = c[0] + c[1] + c2;
#else
    csim_real a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, b2 = 0, c0 = 0, c1 = 0, c2 = 0;
    for (k = 0; k < count; k++, M += 9) {
        csim_real v0, v1, v2;
        p = x + 3 * (size_t)col[k];
        v0 = p[0], v1 = p[1], v2 = p[2];
        a0 += M[0] * v0, a1 += M[1] * v1, a2 += M[2] * v2;
        b0 += M[3] * v0, b1 += M[4] * v1, b2 += M[5] * v2;
        c0 += M[6] * v0, c1 += M[7] * v1, c2 += M[8] * v2;
    }
    y[0] = a0 + a1 + a2;
    y[1] = b0 + b1 + b2;
    y[2] = c0 + c1 + c2;
#endif
}

#undef CSIMI_LANES
#undef CSIMI_LOAD

CSIMI_FN void csimi_product_rows(const csim_block_matrix *A, const csim_real *x, csim_real *y, int begin, int end) {
    int i;
    for (i = begin; i < end; i++) {
        size_t first = (size_t)A->row[i];
        csimi_product_row(csimi_row_end(A, i) - A->row[i], A->col + first, A->val + 9 * first, x, y + 3 * (size_t)i);
    }
}

typedef struct csimi_product_job {
    const csim_block_matrix *A;
    const csim_real *x;
    csim_real *y;
} csimi_product_job;

static void csimi_product_range(void *context, int begin, int end) {
    const csimi_product_job *job = (const csimi_product_job *)context;
    csimi_product_rows(job->A, job->x, job->y, begin, end);
}

/* Rows a task takes: enough work to pay for waking a thread. */
enum { CSIMI_PRODUCT_GRAIN = 256 };

CSIMI_FN void csimi_product(const csim_block_matrix *A, const csim_real *x, csim_real *y, const csim_tasks *tasks) {
    csimi_product_job job;
    job.A = A;
    job.x = x;
    job.y = y;
    csimi_parallel(tasks, A->n, CSIMI_PRODUCT_GRAIN, csimi_product_range, &job);
}
