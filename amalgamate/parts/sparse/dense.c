/* sparse/dense: Cholesky and LU of small dense matrices, in double. */
#include "private.h"

#ifndef CONDSIM_TINY
#define CSIMI_WRITTEN_OUT 1
#define CSIMI_DENSE_COLUMNS 48 /* of a factorisation at a time, then all rows below, in ranges */
#else
#define CSIMI_WRITTEN_OUT 0 /* for the small ones it is code */
#define CSIMI_DENSE_COLUMNS 0x7fffffff
#endif
#define CSIMI_DENSE_GRAIN 24

/* y -= a[0] U_0 + ... + a[3] U_3 over [0, count) for four rows U_k of stride m: one load and store of y for four rows,
   and no reduction, so that it vectorises as written. */
static void csimi_subtract_rows4(int count, const csimi_wide *a, const csimi_wide *U, size_t m,
                                 csimi_wide *CSIMI_RESTRICT y) {
    const csimi_wide *CSIMI_RESTRICT u0 = U, *CSIMI_RESTRICT u1 = U + m;
    const csimi_wide *CSIMI_RESTRICT u2 = U + 2 * m, *CSIMI_RESTRICT u3 = U + 3 * m;
    csimi_wide a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    int j;
    /* written out: gcc -O2 makes pairs of neighbours but not of loop turns */
    for (j = 0; CSIMI_WRITTEN_OUT && j + 4 <= count; j += 4) {
        y[j] -= (a0 * u0[j] + a1 * u1[j]) + (a2 * u2[j] + a3 * u3[j]);
        y[j + 1] -= (a0 * u0[j + 1] + a1 * u1[j + 1]) + (a2 * u2[j + 1] + a3 * u3[j + 1]);
        y[j + 2] -= (a0 * u0[j + 2] + a1 * u1[j + 2]) + (a2 * u2[j + 2] + a3 * u3[j + 2]);
        y[j + 3] -= (a0 * u0[j + 3] + a1 * u1[j + 3]) + (a2 * u2[j + 3] + a3 * u3[j + 3]);
    }
    for (; j < count; j++) y[j] -= (a0 * u0[j] + a1 * u1[j]) + (a2 * u2[j] + a3 * u3[j]);
}

static void csimi_subtract_row(int count, csimi_wide a, const csimi_wide *CSIMI_RESTRICT u,
                               csimi_wide *CSIMI_RESTRICT y) {
    int j;
    for (j = 0; CSIMI_WRITTEN_OUT && j + 4 <= count; j += 4) {
        y[j] -= a * u[j];
        y[j + 1] -= a * u[j + 1];
        y[j + 2] -= a * u[j + 2];
        y[j + 3] -= a * u[j + 3];
    }
    for (; j < count; j++) y[j] -= a * u[j];
}

/* x <- L^-1 x on the unknowns from k, a multiple of 4, to count: those before are zero. Unit L, read from the rows of
   the upper triangle, where L' lies; last[k], or NULL: the last row that has an entry in column k. */
static void csimi_forward(int m, int k, int count, const csimi_wide *H, const int *last, csimi_wide *x) {
    const size_t stride = (size_t)m;
    for (; k + 4 <= count; k += 4) {
        const csimi_wide *U = H + (stride + 1) * (size_t)k;
        csimi_wide *y = x + k;
        y[1] -= y[0] * U[1];
        y[2] = (y[2] - y[0] * U[2]) - y[1] * U[stride + 2];
        y[3] = ((y[3] - y[0] * U[3]) - y[1] * U[stride + 3]) - y[2] * U[2 * stride + 3];
        /* last ascends, since what column k reaches is filled in the columns after it */
        csimi_subtract_rows4((last ? last[k + 3] + 1 : count) - k - 4, y, U + 4, stride, y + 4);
    }
    for (; k < count; k++) csimi_subtract_row(count - k - 1, x[k], H + stride * (size_t)k + (size_t)k + 1, x + k + 1);
}

/* What is done of a factorisation, H = L D L': the columns before begin, of all rows; those up to end are at work. */
typedef struct csimi_dense_job {
    csimi_wide *H;
    const int *first; /* [m], or NULL: 0 */
    int m, begin, end;
} csimi_dense_job;

static int csimi_dense_from(const csimi_dense_job *f, int i) {
    return f->first ? csimi_imax(f->first[i], f->begin) : f->begin;
}

/* Entries of row i in the columns at work: those of L D, by L (l D)' = h_i; those of L above the diagonal; and what
   they take from the pivot. */
static void csimi_dense_row(const csimi_dense_job *f, int i) {
    const size_t m = (size_t)f->m;
    const int from = csimi_dense_from(f, i), end = csimi_imin(f->end, i);
    csimi_wide *h = f->H + m * (size_t)i;
    int k;
    csimi_forward(f->m, from / 4 * 4, end, f->H, NULL, h);
    for (k = from; k < end; k++) {
        const csimi_wide l = h[k] / f->H[m * (size_t)k + (size_t)k];
        h[i] -= l * h[k];
        f->H[m * (size_t)k + (size_t)i] = l;
    }
}

/* What a row has of L D becomes L. */
static void csimi_dense_scale(const csimi_dense_job *f, int i) {
    const size_t m = (size_t)f->m;
    int k;
    for (k = csimi_dense_from(f, i); k < csimi_imin(f->end, i); k++)
        f->H[m * (size_t)i + (size_t)k] = f->H[m * (size_t)k + (size_t)i];
}

static void csimi_dense_below(void *context, int begin, int end) {
    const csimi_dense_job *f = (const csimi_dense_job *)context;
    int i;
    for (i = f->end + begin; i < f->end + end; i++) csimi_dense_row(f, i);
}

/* What the columns at work take from those after them: every row by itself, once L is known. */
static void csimi_dense_after(void *context, int begin, int end) {
    const csimi_dense_job *f = (const csimi_dense_job *)context;
    const size_t m = (size_t)f->m;
    int i, k;
    for (i = f->end + begin; i < f->end + end; i++) {
        csimi_wide *h = f->H + m * (size_t)i;
        for (k = csimi_dense_from(f, i) / 4 * 4; k < f->end; k += 4)
            csimi_subtract_rows4(i - f->end, h + k, f->H + m * (size_t)k + f->end, m, h + f->end);
        csimi_dense_scale(f, i);
    }
}

/* Without square roots. What a row has of zeros before its first entry stays zero and costs nothing. */
CSIMI_FN bool csimi_cholesky(int m, csimi_wide *H, int *reach, const csim_tasks *tasks) {
    csimi_dense_job f;
    const size_t stride = (size_t)m;
    int i, k, begin, end;
    for (i = 0; reach && i < m; i++) {
        const csimi_wide *h = H + stride * (size_t)i;
        for (k = 0; k < i && !(h[k] < 0 || h[k] > 0); k++) H[stride * (size_t)k + (size_t)i] = 0;
        reach[i] = k;
        for (; k <= i; k++) reach[m + k] = i;
    }
    f.H = H;
    f.first = reach;
    f.m = m;
    for (begin = 0; begin < m; begin = end) {
        end = m - begin > CSIMI_DENSE_COLUMNS ? begin + CSIMI_DENSE_COLUMNS : m;
        f.begin = begin;
        f.end = end;
        for (i = begin; i < end; i++) {
            const csimi_wide *pivot = H + (stride + 1) * (size_t)i;
            csimi_dense_row(&f, i);
            if (!(*pivot > 0 && *pivot < CSIMI_WIDE_HUGE)) return false;
            csimi_dense_scale(&f, i);
        }
        if (end == m) continue;
        csimi_parallel(tasks, m - end, CSIMI_DENSE_GRAIN, csimi_dense_below, &f);
        csimi_parallel(tasks, m - end, CSIMI_DENSE_GRAIN, csimi_dense_after, &f);
    }
    return true;
}

/* x <- L^-T x: row k of L takes its part from the unknowns before it, from first[k] on, four rows a pass. */
static void csimi_backward(int m, const csimi_wide *L, const int *first, csimi_wide *x) {
    const size_t stride = (size_t)m;
    int k = m, j;
    for (; k >= 4; k -= 4) {
        const csimi_wide *rows = L + stride * (size_t)(k - 4), *l = rows + k - 4;
        csimi_wide *y = x + k - 4;
        int from = first ? k - 4 : 0;
        y[2] -= y[3] * l[3 * stride + 2];
        y[1] = (y[1] - y[3] * l[3 * stride + 1]) - y[2] * l[2 * stride + 1];
        y[0] = ((y[0] - y[3] * l[3 * stride]) - y[2] * l[2 * stride]) - y[1] * l[stride];
        for (j = k - 4; first && j < k; j++) from = csimi_imin(from, first[j]);
        csimi_subtract_rows4(k - 4 - from, y, rows + from, stride, x + from);
    }
    for (; k > 1; k--) csimi_subtract_row(k - 1, x[k - 1], L + stride * (size_t)(k - 1), x);
}

CSIMI_FN void csimi_cholesky_solve(int m, const csimi_wide *L, const int *reach, csimi_wide *x) {
    int k;
    csimi_forward(m, 0, m, L, reach ? reach + m : NULL, x);
    for (k = 0; k < m; k++) x[k] /= L[(size_t)m * (size_t)k + (size_t)k];
    csimi_backward(m, L, reach, x);
}

static csimi_wide csimi_size(csimi_wide x) { return x < 0 ? -x : x; }

/* Four sums hide the latency of one. */
static csimi_wide csimi_dense_dot(int count, const csimi_wide *a, const csimi_wide *b) {
    csimi_wide s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int j;
    for (j = 0; j + 4 <= count; j += 4) {
        s0 += a[j] * b[j];
        s1 += a[j + 1] * b[j + 1];
        s2 += a[j + 2] * b[j + 2];
        s3 += a[j + 3] * b[j + 3];
    }
    for (; j < count; j++) s0 += a[j] * b[j];
    return (s0 + s1) + (s2 + s3);
}

static void csimi_swap_rows(int m, csimi_wide *a, csimi_wide *b) {
    int j;
    for (j = 0; j < m; j++) {
        const csimi_wide x = a[j];
        a[j] = b[j];
        b[j] = x;
    }
}

/* Column k of L, and what it takes from the columns after it up to last; false without a pivot. */
static bool csimi_lu_column(int m, csimi_wide *A, int k, int last, int *pivot) {
    const size_t stride = (size_t)m;
    csimi_wide *row = A + stride * (size_t)k;
    int i, best = k;
    for (i = k + 1; i < m; i++)
        if (csimi_size(A[stride * (size_t)i + (size_t)k]) > csimi_size(A[stride * (size_t)best + (size_t)k])) best = i;
    pivot[k] = best;
    if (best != k) csimi_swap_rows(m, row, A + stride * (size_t)best);
    if (!(csimi_size(row[k]) > 0 && csimi_size(row[k]) < CSIMI_WIDE_HUGE)) return false;
    for (i = k + 1; i < m; i++) {
        csimi_wide *h = A + stride * (size_t)i;
        h[k] /= row[k];
        csimi_subtract_row(last - k - 1, h[k], row + k + 1, h + k + 1);
    }
    return true;
}

/* Four columns at a time, so that the rest of a row is read and written once for four. */
CSIMI_FN bool csimi_lu(int m, csimi_wide *A, int *pivot) {
    const size_t stride = (size_t)m;
    int first, last, i, k;
    for (first = 0; first < m; first = last) {
        const csimi_wide *U;
        last = first + 4 < m ? first + 4 : m;
        U = A + stride * (size_t)first + last;
        for (k = first; k < last; k++)
            if (!csimi_lu_column(m, A, k, last, pivot)) return false;
        for (i = first + 1; i < last; i++)
            for (k = first; k < i; k++) {
                csimi_wide *h = A + stride * (size_t)i;
                csimi_subtract_row(m - last, h[k], A + stride * (size_t)k + last, h + last);
            }
        for (i = last; i < m; i++) {
            csimi_wide *h = A + stride * (size_t)i;
            if (h[first] == 0 && h[first + 1] == 0 && h[first + 2] == 0 && h[first + 3] == 0) continue;
            csimi_subtract_rows4(m - last, h + first, U, stride, h + last);
        }
    }
    return true;
}

CSIMI_FN void csimi_lu_solve(int m, const csimi_wide *LU, const int *pivot, csimi_wide *x) {
    int i;
    for (i = 0; i < m; i++)
        if (pivot[i] != i) {
            const csimi_wide t = x[i];
            x[i] = x[pivot[i]];
            x[pivot[i]] = t;
        }
    for (i = 0; i < m; i++) x[i] -= csimi_dense_dot(i, LU + (size_t)m * (size_t)i, x);
    for (i = m - 1; i >= 0; i--) {
        const csimi_wide *row = LU + (size_t)m * (size_t)i;
        x[i] = (x[i] - csimi_dense_dot(m - 1 - i, row + i + 1, x + i + 1)) / row[i];
    }
}

#undef CSIMI_WRITTEN_OUT
#undef CSIMI_DENSE_COLUMNS
#undef CSIMI_DENSE_GRAIN
