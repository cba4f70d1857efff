/* bench_cond: one iteration of COND against one bare product of the same matrix, in the same run. Prints CSV; times are
   the smallest of several repetitions, because the machine may be shared. Arguments: cells of the ball meshes. */
#ifndef CSIMI_KEEP_MACROS
#define CSIMI_KEEP_MACROS
#endif
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include "cond_scenes.h"

#include <stdio.h>
#include <time.h>

static double bench_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Reads and writes count numbers, as the vectors of an iteration do. */
static void bench_pass(csim_real *x, size_t count) {
    size_t i;
    for (i = 0; i < count; ++i) x[i] += 1;
}

/* Milliseconds of one product of the nodal matrix; vectors > 0: with so many others passing through the caches between
   two products, their own time taken off. A matrix that just fits a cache alone is much quicker alone. */
static double bench_product(toy *s, int vectors) {
    csimi_arena arena;
    csimi_nodal nodal;
    csim_real *y, *other;
    double both = 1e300, alone = 1e300;
    size_t count;
    int k, r;
    const size_t bytes = s->workspace_bytes;
    void *block = malloc(bytes);
    arena = csimi_arena_in(block, bytes);
    if (csimi_nodalize(&s->problem, 1000, 0, 0, true, s->v, s->lambda, &arena, &nodal) != CSIM_OK) return 0;
    count = (size_t)vectors * 3 * (size_t)nodal.count;
    y = (csim_real *)toy_alloc(3 * (size_t)nodal.count, sizeof(csim_real));
    other = (csim_real *)toy_alloc(count, sizeof(csim_real));
    for (r = 0; r < 15; ++r) {
        double t = bench_now();
        for (k = 0; k < 40; ++k) {
            csimi_nodal_product(&nodal, nodal.start, y, true, NULL);
            bench_pass(other, count);
        }
        both = fmin(both, (bench_now() - t) / 40);
        t = bench_now();
        for (k = 0; k < 40 && vectors > 0; ++k) bench_pass(other, count);
        alone = fmin(alone, (bench_now() - t) / 40);
    }
    free(y);
    free(other);
    free(block);
    return 1e3 * (vectors > 0 ? both - alone : both);
}

/* Seconds of a solve that runs exactly this many iterations from a fixed start. */
static double bench_solve(toy *s, csim_acceleration acceleration, int iterations) {
    csim_solver_params p = csim_default_solver_params();
    csim_real *v = (csim_real *)toy_alloc(3 * (size_t)s->blocks, sizeof(csim_real));
    csim_real *lambda = (csim_real *)toy_alloc(3 * (size_t)s->row_count, sizeof(csim_real));
    double t;
    p.solver = CSIM_SOLVER_COND;
    p.cond.acceleration = acceleration;
    p.tolerance = CSIM_R(1e-15);
    p.max_iterations = iterations;
    p.sigma = s->sigma;
    memcpy(v, s->v, 3 * (size_t)s->blocks * sizeof(csim_real));
    memcpy(lambda, s->lambda, 3 * (size_t)s->row_count * sizeof(csim_real));
    t = bench_now();
    (void)toy_solve(s, &p);
    t = bench_now() - t;
    memcpy(s->v, v, 3 * (size_t)s->blocks * sizeof(csim_real));
    memcpy(s->lambda, lambda, 3 * (size_t)s->row_count * sizeof(csim_real));
    free(v);
    free(lambda);
    return t;
}

/* Milliseconds of one iteration, set-up taken off by a difference. */
static double bench_iteration(toy *s, csim_acceleration acceleration) {
    double few = 1e300, many = 1e300;
    int r;
    for (r = 0; r < 12; ++r) {
        few = fmin(few, bench_solve(s, acceleration, 5));
        many = fmin(many, bench_solve(s, acceleration, 65));
    }
    return 1e3 * (many - few) / 60;
}

int main(int argc, char **argv) {
    const int standard[3] = {6, 11, 18};
    const int count = argc > 1 ? argc - 1 : 3;
    int k, step;
    printf("nodes,contacts,product_ms,plain_ms,plain_ratio,chebyshev_ratio,anderson_ratio,coarse_ms,coarse_ratio,"
           "iterations,solve_ms,product_among_vectors_ms,coarse_ratio_to_it\n");
    for (k = 0; k < count; ++k) {
        csim_solver_params p = csim_default_solver_params();
        double product, among, plain, chebyshev, anderson, coarse, t;
        static toy s;
        int iterations;
        toy_grip(&s, argc > 1 ? atoi(argv[k + 1]) : standard[k], 1e6);
        p.solver = CSIM_SOLVER_COND;
        p.max_iterations = 2000;
        for (step = 0; step < 16; ++step) {
            if (step == 6) toy_drive(&s, 0, 0.1);
            (void)toy_step(&s, &p);
        }
        toy_problem(&s);
        product = bench_product(&s, 0);
        among = bench_product(&s, 20);
        plain = bench_iteration(&s, CSIM_ACCELERATION_NONE);
        chebyshev = bench_iteration(&s, CSIM_ACCELERATION_CHEBYSHEV);
        anderson = bench_iteration(&s, CSIM_ACCELERATION_ANDERSON);
        coarse = bench_iteration(&s, CSIM_ACCELERATION_COARSE);
        printf("%d,%d,%.4f,%.4f,%.2f,%.2f,%.2f,%.4f,%.2f", s.blocks, s.row_count, product, plain, plain / product,
               chebyshev / product, anderson / product, coarse, coarse / product);
        p.sigma = s.sigma;
        t = bench_now();
        (void)toy_solve(&s, &p);
        t = bench_now() - t;
        iterations = s.outcome.iterations;
        printf(",%d,%.2f,%.4f,%.2f", iterations, 1e3 * t, among, coarse / among);
        toy_free(&s);
        printf("\n");
    }
    return 0;
}
