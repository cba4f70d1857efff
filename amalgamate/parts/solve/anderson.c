/* solve/anderson: the acceleration both solvers share; Walker and Ni 2011 in the form with differences to the newest
   pair, the Gram matrix kept up to date by one row a step. */
#include "private.h"

/* Relative to the diagonal of the normalised Gram matrix: directions that rounding alone tells apart get no weight. */
static const csimi_wide CSIMI_ANDERSON_TIKHONOV = CSIMI_WIDE_SMALL;

static int csimi_gram_chunks(int n) { return (n + CSIMI_CHUNK - 1) / CSIMI_CHUNK; }

/* f and p lie in one piece, each from the start of a cache line on. */
CSIMI_FN void csimi_anderson_layout(csimi_anderson *a, csimi_arena *arena, int n, int window, size_t least) {
    const size_t line = 64 / sizeof(csim_real), half = ((size_t)window * (size_t)n + line - 1) / line * line;
    a->n = n;
    a->window = window;
    a->room = half > (least + 1) / 2 ? half : (least + 1) / 2; /* in each of the two halves: the larger of both needs */
    a->gram = CSIMI_PUSH(arena, csimi_wide, window *window);
    a->work = CSIMI_PUSH(arena, csimi_wide, window *(window + 3));
    a->part = CSIMI_PUSH(arena, csimi_wide, csimi_gram_chunks(n) * window);
    a->f = (csim_real *)csimi_push(arena, a->room, 2 * sizeof(csim_real)); /* last: who works there may push more */
    a->p = a->f ? a->f + half : NULL;
    csimi_anderson_clear(a);
}

CSIMI_FN void csimi_anderson_clear(csimi_anderson *a) {
    a->count = 0;
    a->newest = -1; /* so that the next slot is the first one */
}

CSIMI_FN void csimi_anderson_slot(csimi_anderson *a, csim_real **f, csim_real **p) {
    const size_t slot = (size_t)((a->newest + 1) % a->window) * (size_t)a->n;
    *f = a->f + slot;
    *p = a->p + slot;
}

/* ---- the new row of the Gram matrix */

typedef struct csimi_gram_row {
    const csimi_anderson *a;
    const csim_real *metric;
} csimi_gram_row;

/* sums[4 k + i % 4] = f_k M f over [begin, end) for four pairs k: M and f are read once for four. */
static void csimi_gram_quads(const csim_real *CSIMI_RESTRICT M, const csim_real *CSIMI_RESTRICT f,
                             const csim_real *const *pair, int begin, int end, csimi_wide *sums) {
    const csim_real *CSIMI_RESTRICT a = pair[0], *CSIMI_RESTRICT b = pair[1];
    const csim_real *CSIMI_RESTRICT c = pair[2], *CSIMI_RESTRICT d = pair[3];
    int i = begin, k;
#if CSIMI_QUADS
    csimi_quad A = {0, 0, 0, 0}, B = A, C = A, D = A;
    for (; i + 4 <= end; i += 4) {
        const csimi_quad x = CSIMI_QUAD(M + i) * CSIMI_QUAD(f + i);
        A += x * CSIMI_QUAD(a + i);
        B += x * CSIMI_QUAD(b + i);
        C += x * CSIMI_QUAD(c + i);
        D += x * CSIMI_QUAD(d + i);
    }
    for (k = 0; k < 4; ++k) sums[k] = A[k], sums[4 + k] = B[k], sums[8 + k] = C[k], sums[12 + k] = D[k];
#else
    /* number i goes to lane i % 4 here too: the same bits as with vectors */
    for (k = 0; k < 16; ++k) sums[k] = 0;
#endif
    for (; i < end; ++i) {
        const csimi_wide x = (csimi_wide)M[i] * (csimi_wide)f[i];
        k = (i - begin) % 4;
        sums[k] += x * (csimi_wide)a[i];
        sums[4 + k] += x * (csimi_wide)b[i];
        sums[8 + k] += x * (csimi_wide)c[i];
        sums[12 + k] += x * (csimi_wide)d[i];
    }
}

/* Products of all pairs with the newest on chunks [begin, end): one sum each, so that rounding grows with the chunks
   and not with n. */
static void csimi_gram_range(void *context, int begin, int end) {
    const csimi_gram_row *row = (const csimi_gram_row *)context;
    const csimi_anderson *a = row->a;
    const csim_real *newest = a->f + (size_t)a->newest * (size_t)a->n, *pair[4];
    csimi_wide sums[16];
    int chunk, first, k;
    for (chunk = begin; chunk < end; ++chunk) {
        const int from = chunk * CSIMI_CHUNK, to = csimi_imin(a->n, from + CSIMI_CHUNK);
        csimi_wide *part = a->part + (size_t)chunk * (size_t)a->window;
        for (first = 0; first < a->count; first += 4) {
            const int count = csimi_imin(4, a->count - first);
            /* what lacks to four is the first pair again, whose product nobody reads */
            for (k = 0; k < 4; ++k) pair[k] = a->f + (size_t)(first + (k < count ? k : 0)) * (size_t)a->n;
            csimi_gram_quads(row->metric, newest, pair, from, to, sums);
            for (k = 0; k < count; ++k)
                part[first + k] = (sums[4 * k] + sums[4 * k + 1]) + (sums[4 * k + 2] + sums[4 * k + 3]);
        }
    }
}

/* The row of the newest pair: what the chunks have, in their order. */
static void csimi_gram_join(csimi_anderson *a) {
    int chunk, k;
    for (k = 0; k < a->count; ++k) {
        csimi_wide dot = 0;
        for (chunk = 0; chunk < csimi_gram_chunks(a->n); ++chunk)
            dot += a->part[(size_t)chunk * (size_t)a->window + (size_t)k];
        a->gram[k * a->window + a->newest] = a->gram[a->newest * a->window + k] = dot;
    }
}

/* ---- weights */

/* Minimises |f_N + sum c_j (f_j - f_N)|: alpha_j = c_j and alpha_N = 1 - sum c_j. The newest pair alone when the
   normal equations cannot be solved. work: the m x m matrix, its right-hand side, its scale. */
static void csimi_anderson_weights(const csimi_anderson *a, csimi_wide *alpha) {
    /* m unknowns: with sum alpha = 1 eliminated the problem has no constraint */
    const int m = a->count - 1, N = a->newest, w = a->window;
    csimi_wide *H = a->work, *c = H + m * m, *scale = c + m, sum = 0;
    const csimi_wide *G = a->gram;
    int i, j;
    for (i = 0; i < a->count; ++i) alpha[i] = 0;
    alpha[N] = 1;
    for (i = 0; i < m; ++i) {
        const int s = i < N ? i : i + 1;
        const csimi_wide d = G[s * w + s] - 2 * G[s * w + N] + G[N * w + N]; /* |f_s - f_N|^2 from stored products */
        scale[i] = d > 0 ? 1 / csimi_sqrt64(d) : 0;
        c[i] = -scale[i] * (G[s * w + N] - G[N * w + N]); /* right side -(f_s - f_N) . f_N */
    }
    for (i = 0; i < m; ++i)
        for (j = 0; j <= i; ++j) { /* the lower triangle is all that csimi_cholesky reads */
            const int s = i < N ? i : i + 1, t = j < N ? j : j + 1;
            const csimi_wide d = G[s * w + t] - G[s * w + N] - G[t * w + N] + G[N * w + N];
            /* normalised to a diagonal of 1, so that the Tikhonov term weighs all differences alike */
            H[i * m + j] = i == j ? 1 + CSIMI_ANDERSON_TIKHONOV : scale[i] * scale[j] * d;
        }
    if (!csimi_cholesky(m, H, NULL, NULL)) return; /* alpha is the newest alone: a plain step */
    csimi_cholesky_solve(m, H, NULL, c);
    for (i = 0; i < m; ++i) {
        const csimi_wide weight = scale[i] * c[i];
        if (!(csimi_abs((csim_real)weight) < CSIM_R(1e8))) return; /* nonsense from rounding */
        sum += weight;
    }
    for (i = 0; i < m; ++i) alpha[i < N ? i : i + 1] = scale[i] * c[i];
    alpha[N] = 1 - sum; /* so that the weights sum up to 1 */
}

/* ---- the combination */

typedef struct csimi_combination {
    const csimi_anderson *a;
    const csimi_wide *alpha;
    csim_real *next;
} csimi_combination;

/* y += w0 p0 + ... + w3 p3 on [begin, end), written out because gcc -O2 pairs neighbours but not loop turns; not where
   code counts. */
static void csimi_combine_four(const csim_real *CSIMI_RESTRICT p, size_t n, const csim_real *w, int begin, int end,
                               csim_real *CSIMI_RESTRICT y) {
    const csim_real *CSIMI_RESTRICT a = p, *CSIMI_RESTRICT b = p + n;
    const csim_real *CSIMI_RESTRICT c = p + 2 * n, *CSIMI_RESTRICT d = p + 3 * n;
    const csim_real w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
    int i = begin;
#ifndef CONDSIM_TINY
    for (; i + 4 <= end; i += 4) {
        y[i] += (w0 * a[i] + w1 * b[i]) + (w2 * c[i] + w3 * d[i]);
        y[i + 1] += (w0 * a[i + 1] + w1 * b[i + 1]) + (w2 * c[i + 1] + w3 * d[i + 1]);
        y[i + 2] += (w0 * a[i + 2] + w1 * b[i + 2]) + (w2 * c[i + 2] + w3 * d[i + 2]);
        y[i + 3] += (w0 * a[i + 3] + w1 * b[i + 3]) + (w2 * c[i + 3] + w3 * d[i + 3]);
    }
#endif
    for (; i < end; ++i) y[i] += (w0 * a[i] + w1 * b[i]) + (w2 * c[i] + w3 * d[i]);
}

/* next = sum alpha_j p_j on one range, four pairs a pass. */
static void csimi_combine_range(void *context, int begin, int end) {
    const csimi_combination *task = (const csimi_combination *)context;
    const csimi_anderson *a = task->a;
    const size_t n = (size_t)a->n;
    csim_real *CSIMI_RESTRICT y = task->next;
    int i, k, j;
    for (i = begin; i < end; ++i) y[i] = 0;
    /* every y[i] adds its pairs in the same order whatever the range: the same bits for any thread count */
    for (k = 0; k + 4 <= a->count; k += 4) {
        csim_real w[4];
        for (j = 0; j < 4; ++j) w[j] = (csim_real)task->alpha[k + j];
        csimi_combine_four(a->p + (size_t)k * n, n, w, begin, end, y);
    }
    for (; k < a->count; ++k) {
        const csim_real *CSIMI_RESTRICT p0 = a->p + (size_t)k * n;
        const csim_real w0 = (csim_real)task->alpha[k];
        for (i = begin; i < end; ++i) y[i] += w0 * p0[i];
    }
}

CSIMI_FN void csimi_anderson_step(csimi_anderson *a, const csim_real *metric, csim_real *next,
                                  const csim_tasks *tasks) {
    csimi_gram_row row;
    csimi_combination combination;
    /* behind H, its right side and its scale at the full window: m m + 2 m with m = window - 1 */
    csimi_wide *alpha = a->work + (a->window - 1) * (a->window + 1);
    a->newest = (a->newest + 1) % a->window;
    a->count = csimi_imin(a->count + 1, a->window); /* once full the oldest pair has given way */
    row.a = a;
    row.metric = metric;
    /* of the Gram matrix only the row of this pair: the others are known, as pairs and metric stay */
    csimi_parallel(tasks, csimi_gram_chunks(a->n), 4, csimi_gram_range, &row);
    csimi_gram_join(a);
    csimi_anderson_weights(a, alpha);
    combination.a = a;
    combination.alpha = alpha;
    combination.next = next;
    csimi_parallel(tasks, a->n, CSIMI_CHUNK, csimi_combine_range, &combination);
}
