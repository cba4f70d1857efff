/* base/private: what every part may use and no user sees. */
#ifndef CSIMI_BASE_PRIVATE_H
#define CSIMI_BASE_PRIVATE_H

#include "config.h"
#include "memory.h"
#include "parallel.h"
#include "status.h"

/* In the single header a private function is static, unless the tests, who share one object of it, define this; when
   the parts are compiled as a library it is shared. */
#ifndef CSIMI_FN
#ifdef CSIMI_AMALGAMATED
#define CSIMI_FN static CSIMI_UNUSED
#else
#define CSIMI_FN
#endif
#endif

#ifndef CONDSIM_ASSERT
#define CONDSIM_ASSERT(x) ((void)0)
#endif

#ifdef CONDSIM_OWN_MATH
#define CSIMI_SIN(x) csimi_sin(x) /* elementary.c */
#define CSIMI_COS(x) csimi_cos(x)
#define CSIMI_ATAN2(y, x) csimi_atan2((y), (x))
#define CSIMI_EXP(x) csimi_exp(x)
#define CSIMI_LOG(x) csimi_log(x)
#ifdef CONDSIM_SQRT
#define CSIMI_SQRT(x) CONDSIM_SQRT(x)
#else
#include <math.h>
#ifdef CONDSIM_FLOAT
#define CSIMI_SQRT(x) sqrtf(x) /* exactly rounded everywhere */
#else
#define CSIMI_SQRT(x) sqrt(x)
#endif
#endif
#elif defined(CONDSIM_SQRT) && defined(CONDSIM_SIN) && defined(CONDSIM_COS) && defined(CONDSIM_ATAN2) && \
    defined(CONDSIM_EXP) && defined(CONDSIM_LOG)
#define CSIMI_SQRT(x) CONDSIM_SQRT(x)
#define CSIMI_SIN(x) CONDSIM_SIN(x)
#define CSIMI_COS(x) CONDSIM_COS(x)
#define CSIMI_ATAN2(y, x) CONDSIM_ATAN2(y, x)
#define CSIMI_EXP(x) CONDSIM_EXP(x)
#define CSIMI_LOG(x) CONDSIM_LOG(x)
#else
#include <math.h>
#ifdef CONDSIM_FLOAT
#define CSIMI_SQRT(x) sqrtf(x)
#define CSIMI_SIN(x) sinf(x)
#define CSIMI_COS(x) cosf(x)
#define CSIMI_ATAN2(y, x) atan2f(y, x)
#define CSIMI_EXP(x) expf(x)
#define CSIMI_LOG(x) logf(x)
#else
#define CSIMI_SQRT(x) sqrt(x)
#define CSIMI_SIN(x) sin(x)
#define CSIMI_COS(x) cos(x)
#define CSIMI_ATAN2(y, x) atan2(y, x)
#define CSIMI_EXP(x) exp(x)
#define CSIMI_LOG(x) log(x)
#endif
#endif

#if defined(CONDSIM_MEMCPY) && defined(CONDSIM_MEMSET)
#define CSIMI_MEMCPY(d, s, n) CONDSIM_MEMCPY(d, s, n)
#define CSIMI_MEMSET(d, c, n) CONDSIM_MEMSET(d, c, n)
#else
#include <string.h>
#define CSIMI_MEMCPY(d, s, n) memcpy(d, s, n)
#define CSIMI_MEMSET(d, c, n) memset(d, c, n)
#endif

/* Constants of the scalar type. */
#ifdef CONDSIM_FLOAT
#define CSIMI_EPS CSIM_R(1.1920929e-7)
#define CSIMI_TINY CSIM_R(1e-30)
#define CSIMI_TINY_WORD "1e-30"
#define CSIMI_HUGE CSIM_R(1e30)
#define CSIMI_HUGE_WORD "1e30"
#else
#define CSIMI_EPS CSIM_R(2.220446049250313e-16)
#define CSIMI_TINY CSIM_R(1e-200)
#define CSIMI_TINY_WORD "1e-200"
#define CSIMI_HUGE CSIM_R(1e200)
#define CSIMI_HUGE_WORD "1e200"
#endif
#define CSIMI_PI CSIM_R(3.14159265358979323846)

/* What sums over many numbers and small factorisations are made in. */
#ifdef CONDSIM_SINGLE
typedef float csimi_wide;
#define CSIMI_WIDE_HUGE 1e38f
#define CSIMI_WIDE_SMALL 1e-6f /* of a difference: what rounding may have left */
#else
typedef double csimi_wide;
#define CSIMI_WIDE_HUGE 1e300
#define CSIMI_WIDE_SMALL 1e-12
#endif
#define CSIMI_WIDE(x) ((csimi_wide)(x))

CSIM_INLINE csim_real csimi_min(csim_real a, csim_real b) { return a < b ? a : b; }
CSIM_INLINE csim_real csimi_max(csim_real a, csim_real b) { return a > b ? a : b; }
CSIM_INLINE csim_real csimi_clamp(csim_real x, csim_real lo, csim_real hi) { return x < lo ? lo : x > hi ? hi : x; }
/* The whole part of x, at least a and at most b; a when x is no number. */
CSIM_INLINE int csimi_cut(csim_real x, int a, int b) { return x > (csim_real)a ? x < (csim_real)b ? (int)x : b : a; }
CSIM_INLINE csim_real csimi_abs(csim_real x) { return x < 0 ? -x : x; }
CSIM_INLINE bool csimi_any(const csim_real *x, int count) { /* of them is not zero */
    while (count > 0 && !(x[count - 1] < 0 || x[count - 1] > 0)) count--;
    return count > 0;
}
/* Numbers compared as numbers: no step makes a NaN. */
CSIM_INLINE bool csimi_differ(const csim_real *a, const csim_real *b, size_t count) {
    size_t i;
    for (i = 0; i < count; i++)
        if (a[i] < b[i] || a[i] > b[i]) return true;
    return false;
}
/* Masses and inertias that a body may have: what multiplies and divides by them stays within csim_real. */
#define CSIMI_MASSES "above " CSIMI_TINY_WORD ", below " CSIMI_HUGE_WORD
CSIM_INLINE bool csimi_weighs(double mass) { return mass > (double)CSIMI_TINY && mass < (double)CSIMI_HUGE; }
CSIM_INLINE int csimi_imin(int a, int b) { return a < b ? a : b; }
CSIM_INLINE int csimi_imax(int a, int b) { return a > b ? a : b; }

/* What is said, or nothing in builds without sentences. */
#ifndef CONDSIM_NO_ERROR_TEXT
#define CSIMI_SAID(text) text
#else
#define CSIMI_SAID(text) ""
#endif

/* ---- status.c */

/* The bits of a csim_real. */
#ifdef CONDSIM_FLOAT
typedef uint32_t csimi_bits;
#else
typedef uint64_t csimi_bits;
#endif
/* True when x is neither NaN nor infinite, by its bits (works under any compiler flag). */
CSIMI_FN bool csimi_finite(csim_real x);
CSIMI_FN bool csimi_all_finite(const csim_real *x, int count);

/* Fills *error (may be null) with "function: field is value; allowed: allowed" and returns status. field and allowed
   may be null. Every failure passes through csimi_refuse (put a breakpoint there). */
CSIMI_FN csim_status csimi_fail(csim_error *error, csim_status status, const char *function, const char *field,
                                double value, const char *allowed);
CSIMI_FN csim_status csimi_missing(csim_error *error, const char *function, const char *field); /* a pointer */
CSIMI_FN csim_status csimi_deny(csim_error *error, csim_status status, const char *function, const char *field,
                                const char *allowed); /* without a value */
/* CSIM_OUT_OF_RANGE with its value. */
CSIMI_FN csim_status csimi_unfit(csim_error *error, const char *function, const char *field, double value,
                                 const char *allowed);
/* Appends text, a signed integer or a number (6 significant digits) to a zero-terminated buffer of given capacity;
   truncates, never overruns; returns the new length. */
#ifdef CONDSIM_NO_ERROR_TEXT
CSIM_INLINE size_t csimi_append_text(char *buffer, size_t capacity, size_t length, const char *text) {
    (void)length, (void)text;
    if (capacity > 0) buffer[0] = 0;
    return 0;
}
CSIM_INLINE size_t csimi_append_int(char *buffer, size_t capacity, size_t length, long value) {
    (void)value;
    return csimi_append_text(buffer, capacity, length, "");
}
CSIM_INLINE size_t csimi_append_real(char *buffer, size_t capacity, size_t length, double value) {
    (void)value;
    return csimi_append_text(buffer, capacity, length, "");
}
#else
CSIMI_FN size_t csimi_append_text(char *buffer, size_t capacity, size_t length, const char *text);
CSIMI_FN size_t csimi_append_int(char *buffer, size_t capacity, size_t length, long value);
CSIMI_FN size_t csimi_append_real(char *buffer, size_t capacity, size_t length, double value);
#endif

/* ---- memory.c */

#ifndef CONDSIM_TINY
#define CSIMI_ALIGN 64 /* a cache line, and the widest vector register */
#else
#define CSIMI_ALIGN 8 /* neither is there, and memory is dear */
#endif

/* Four numbers at once: vectors of gcc and clang; other compilers take them one by one, to the same bits, and so do
   machines that have none (Cortex-M) or count in long double (x87), where a scalar does not fit a vector. CSIMI_QUAD
   reads four csim_real, where there are vectors; CSIMI_QUAD_ADD is sum += w a. */
#if (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 9)) && \
    !(defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0) && !defined(__ARM_ARCH_7EM__)
#define CSIMI_QUADS 1
typedef csimi_wide csimi_quad __attribute__((vector_size(4 * sizeof(csimi_wide))));
typedef csim_real csimi_quad_real
    __attribute__((vector_size(4 * CSIM_REAL_SIZE), aligned(CSIM_REAL_SIZE), may_alias));
#define CSIMI_QUAD(p) __builtin_convertvector(*(const csimi_quad_real *)(p), csimi_quad)
#define CSIMI_QUAD_SET(q, a, b, c, d) ((q)[0] = (a), (q)[1] = (b), (q)[2] = (c), (q)[3] = (d))
#define CSIMI_QUAD_ADD(sum, w, a) ((sum) += (w) * (a))
#else
#define CSIMI_QUADS 0
typedef struct csimi_quad {
    csimi_wide of[4];
} csimi_quad;
#define CSIMI_QUAD_SET(q, a, b, c, d) ((q).of[0] = (a), (q).of[1] = (b), (q).of[2] = (c), (q).of[3] = (d))
#define CSIMI_QUAD_ADD(sum, w, a) \
    ((sum).of[0] += (w).of[0] * (a), (sum).of[1] += (w).of[1] * (a), (sum).of[2] += (w).of[2] * (a), \
     (sum).of[3] += (w).of[3] * (a))
#endif

/* A block handed out in order. A null base counts only: the same routine that lays memory out tells its size. */
typedef struct csimi_arena {
    unsigned char *base; /* aligned to CSIMI_ALIGN; null: count */
    size_t size;         /* bytes available (SIZE_MAX when counting) */
    size_t used;
    size_t high;   /* largest used so far */
    bool overflow; /* a request did not fit (or a size overflowed); sticky until reset */
    struct csimi_shelf *shelf; /* what a solve in it leaves to later ones of the same step; null: nothing (coupled.c) */
} csimi_arena;

CSIMI_FN csimi_arena csimi_arena_counting(void);
CSIMI_FN csimi_arena csimi_arena_in(void *base, size_t size);
/* count * stride bytes aligned to CSIMI_ALIGN, zero-filled by nobody. Null when counting or when it does not fit. */
CSIMI_FN void *csimi_push(csimi_arena *arena, size_t count, size_t stride);
#define CSIMI_PUSH(arena, type, count) ((type *)csimi_push((arena), (size_t)(count), sizeof(type)))
/* Gives back everything pushed since used was mark. */
CSIMI_FN void csimi_pop(csimi_arena *arena, size_t mark);

CSIM_INLINE size_t csimi_most_bytes(size_t a, size_t b) { return a > b ? a : b; }

/* Folds a number into a hash, so that names of many parts seldom meet. */
CSIMI_FN uint64_t csimi_mix64(uint64_t h, uint64_t x);
/* Fowler, Noll and Vo's hash of bytes, 1a; begins with CSIMI_FNV_START. */
#define CSIMI_FNV_START 0xcbf29ce484222325ull
CSIMI_FN uint64_t csimi_fnv(uint64_t h, const void *data, size_t bytes);
/* A sum of many bytes, word by word in the order of this machine's bytes: any word that changes changes it. */
CSIMI_FN uint64_t csimi_sum(uint64_t h, const void *data, size_t bytes);

/* Allocation through the user's hooks with both limits kept; null when refused. held and calls are the counters. */
typedef struct csimi_heap {
    csim_allocator hooks;
    size_t held, calls;
} csimi_heap;
CSIMI_FN void *csimi_heap_alloc(csimi_heap *heap, size_t size);
CSIMI_FN void csimi_heap_free(csimi_heap *heap, void *block, size_t size);

/* ---- parallel.c */

/* Runs fn over [0, count) in ranges of grain; serial when tasks is null or count <= grain. */
#ifdef CONDSIM_TINY /* one thread, whose ranges are part of who asks for them */
CSIMI_KNOWN void csimi_parallel(const csim_tasks *tasks, int count, int grain, csim_range_fn *fn, void *context) {
    (void)tasks, (void)grain;
    fn(context, 0, count);
}
#else
CSIMI_FN void csimi_parallel(const csim_tasks *tasks, int count, int grain, csim_range_fn *fn, void *context);
#endif

/* Sums with 8 lanes inside chunks of 1024 and a binary tree over the chunks: the same bits for any thread count,
   about the accuracy of pairwise summation. double accumulators in both builds. */
#define CSIMI_CHUNK 1024
CSIMI_FN csimi_wide csimi_sum_dot(int count, const csim_real *a, const csim_real *b); /* sum a b */
CSIMI_FN csimi_wide csimi_sum_weighted(int count, const csim_real *w, const csim_real *a,
                                   const csim_real *b); /* sum w a b */
CSIMI_FN csimi_wide csimi_tree_sum(int count, csimi_wide *x);   /* binary-tree sum of chunk sums; destroys x */

#ifdef CONDSIM_OWN_MATH
/* ---- elementary.c: what CSIMI_SIN ... call under CONDSIM_OWN_MATH. */
CSIMI_FN csim_real csimi_sin(csim_real x);
CSIMI_FN csim_real csimi_cos(csim_real x);
CSIMI_FN csim_real csimi_atan2(csim_real y, csim_real x);
CSIMI_FN csim_real csimi_exp(csim_real x);
CSIMI_FN csim_real csimi_log(csim_real x);
#endif

#endif
