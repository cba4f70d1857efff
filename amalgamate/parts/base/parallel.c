/* base/parallel: loops in fixed ranges, sums in fixed trees. */
#include "private.h"

#if defined(CONDSIM_OPENMP) && !defined(_OPENMP)
#error "condsim: CONDSIM_OPENMP needs the compiler's OpenMP option (-fopenmp, /openmp)"
#endif

#ifndef CONDSIM_TINY
static void csimi_range(csim_range_fn *fn, void *context, int count, int grain, int index) {
    const int begin = index * grain;
    fn(context, begin, grain < count - begin ? begin + grain : count);
}

CSIMI_FN void csimi_parallel(const csim_tasks *tasks, int count, int grain, csim_range_fn *fn, void *context) {
    int i, ranges; /* declared before the loop: OpenMP 2.0 */
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    if (tasks && tasks->run && count > grain) {
        tasks->run(tasks->user, count, grain, fn, context);
        return;
    }
    ranges = count / grain + (count % grain != 0);
#ifdef CONDSIM_OPENMP
    if (tasks && ranges > 1) {
#pragma omp parallel for schedule(dynamic, 1)
        for (i = 0; i < ranges; ++i) csimi_range(fn, context, count, grain, i);
        return;
    }
#endif
    for (i = 0; i < ranges; ++i) csimi_range(fn, context, count, grain, i);
}
#endif

/* Partial sums of 2^level neighbouring chunks, at most one a level, as the digits of a binary counter: the tree of
   csimi_tree_sum without storing the leaves. */
typedef struct csimi_counter {
    csimi_wide part[32];
    unsigned chunks;
} csimi_counter;

static void csimi_counter_add(csimi_counter *c, csimi_wide sum) {
    unsigned full = c->chunks++;
    int level = 0;
    for (; full & 1; full >>= 1) sum = c->part[level++] + sum;
    c->part[level] = sum;
}

static csimi_wide csimi_counter_total(const csimi_counter *c) {
    csimi_wide sum = 0;
    unsigned left = c->chunks;
    bool first = true;
    int level;
    for (level = 0; left; ++level, left >>= 1) {
        if (!(left & 1)) continue;
        sum = first ? c->part[level] : c->part[level] + sum;
        first = false;
    }
    return sum;
}

CSIMI_FN csimi_wide csimi_tree_sum(int count, csimi_wide *x) {
    int i;
    if (count <= 0) return 0;
    for (; count > 1; count = (count + 1) / 2) {
        for (i = 0; i < count / 2; ++i) x[i] = x[2 * i] + x[2 * i + 1];
        if (count & 1) x[i] = x[count - 1];
    }
    return x[0];
}

static csimi_wide csimi_join_lanes(const csimi_wide *s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* One chunk. Eight independent lanes hide the latency of the adder and let the compiler vectorise a sum whose order
   it must not change: 2.5 to 4 times a single accumulator. They are written out because gcc -O2 leaves an array of
   lanes in memory, three times slower. */
static csimi_wide csimi_chunk_dot(int count, const csim_real *CSIMI_RESTRICT a, const csim_real *CSIMI_RESTRICT b) {
    csimi_wide s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, lane[8];
    int i, k;
    for (i = 0; i + 8 <= count; i += 8) {
        s0 += (csimi_wide)a[i] * (csimi_wide)b[i];
        s1 += (csimi_wide)a[i + 1] * (csimi_wide)b[i + 1];
        s2 += (csimi_wide)a[i + 2] * (csimi_wide)b[i + 2];
        s3 += (csimi_wide)a[i + 3] * (csimi_wide)b[i + 3];
        s4 += (csimi_wide)a[i + 4] * (csimi_wide)b[i + 4];
        s5 += (csimi_wide)a[i + 5] * (csimi_wide)b[i + 5];
        s6 += (csimi_wide)a[i + 6] * (csimi_wide)b[i + 6];
        s7 += (csimi_wide)a[i + 7] * (csimi_wide)b[i + 7];
    }
    lane[0] = s0, lane[1] = s1, lane[2] = s2, lane[3] = s3;
    lane[4] = s4, lane[5] = s5, lane[6] = s6, lane[7] = s7;
    for (k = 0; i < count; ++i, ++k) lane[k] += (csimi_wide)a[i] * (csimi_wide)b[i];
    return csimi_join_lanes(lane);
}

static csimi_wide csimi_chunk_weighted(int count, const csim_real *CSIMI_RESTRICT w, const csim_real *CSIMI_RESTRICT a,
                                   const csim_real *CSIMI_RESTRICT b) {
    csimi_wide s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, lane[8];
    int i, k;
    for (i = 0; i + 8 <= count; i += 8) {
        s0 += (csimi_wide)w[i] * (csimi_wide)a[i] * (csimi_wide)b[i];
        s1 += (csimi_wide)w[i + 1] * (csimi_wide)a[i + 1] * (csimi_wide)b[i + 1];
        s2 += (csimi_wide)w[i + 2] * (csimi_wide)a[i + 2] * (csimi_wide)b[i + 2];
        s3 += (csimi_wide)w[i + 3] * (csimi_wide)a[i + 3] * (csimi_wide)b[i + 3];
        s4 += (csimi_wide)w[i + 4] * (csimi_wide)a[i + 4] * (csimi_wide)b[i + 4];
        s5 += (csimi_wide)w[i + 5] * (csimi_wide)a[i + 5] * (csimi_wide)b[i + 5];
        s6 += (csimi_wide)w[i + 6] * (csimi_wide)a[i + 6] * (csimi_wide)b[i + 6];
        s7 += (csimi_wide)w[i + 7] * (csimi_wide)a[i + 7] * (csimi_wide)b[i + 7];
    }
    lane[0] = s0, lane[1] = s1, lane[2] = s2, lane[3] = s3;
    lane[4] = s4, lane[5] = s5, lane[6] = s6, lane[7] = s7;
    for (k = 0; i < count; ++i, ++k) lane[k] += (csimi_wide)w[i] * (csimi_wide)a[i] * (csimi_wide)b[i];
    return csimi_join_lanes(lane);
}

CSIMI_FN csimi_wide csimi_sum_dot(int count, const csim_real *a, const csim_real *b) {
    csimi_counter c;
    int i;
    c.chunks = 0;
    for (i = 0; i < count; i += CSIMI_CHUNK)
        csimi_counter_add(&c, csimi_chunk_dot(csimi_imin(count - i, CSIMI_CHUNK), a + i, b + i));
    return csimi_counter_total(&c);
}

CSIMI_FN csimi_wide csimi_sum_weighted(int count, const csim_real *w, const csim_real *a, const csim_real *b) {
    csimi_counter c;
    int i;
    c.chunks = 0;
    for (i = 0; i < count; i += CSIMI_CHUNK)
        csimi_counter_add(&c, csimi_chunk_weighted(csimi_imin(count - i, CSIMI_CHUNK), w + i, a + i, b + i));
    return csimi_counter_total(&c);
}
