/* The kernels everything rests on: block product, polar factor, tet assembly, dense factorisation. Best of many runs.
 */
#define _POSIX_C_SOURCE 199309L
#include "check.h"

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Best time of one of `inner` calls. */
#define BEST(result, inner, statement)                              \
    do {                                                            \
        int best_i, best_k;                                         \
        (result) = 1e9;                                             \
        for (best_k = 0; best_k < 60; best_k++) {                   \
            double best_t = seconds();                              \
            for (best_i = 0; best_i < (inner); best_i++) statement; \
            best_t = (seconds() - best_t) / (inner);                \
            if (best_t < (result)) (result) = best_t;               \
        }                                                           \
    } while (0)

static void *zeros(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (!p) exit(3);
    return p;
}
#define REALS(count) ((csim_real *)zeros((size_t)(count), sizeof(csim_real)))
#define INTS(count) ((int *)zeros((size_t)(count), sizeof(int)))

/* A cube of side^3 nodes, six tets a cell. */
typedef struct cube {
    csimi_state s;
    csimi_system system;
    int blocks;
} cube;

static cube make_cube(int side) {
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    const int cells = side - 1, stride[3] = {1, side, side * side}, n = side * side * side;
    const int tets = 6 * cells * cells * cells;
    cube c;
    int i, t, a, *pairs = INTS(12 * tets), *scratch = INTS(csimi_pattern_scratch(n, 6 * tets));
    csim_real *density = REALS(tets);
    memset(&c, 0, sizeof c);
    c.s.node_count = n;
    c.s.tet_count = tets;
    c.s.x = REALS(3 * n);
    c.s.node_mass = REALS(n);
    c.s.tet = INTS(4 * tets);
    c.s.tet_shape = REALS(9 * tets);
    c.s.tet_volume = REALS(tets);
    c.s.tet_lame = REALS(3 * tets);
    c.s.tet_material = (unsigned char *)zeros((size_t)tets, 1);
    c.s.tet_active = REALS(5 * tets);
    c.s.tet_slot = (unsigned char *)zeros(16 * (size_t)tets, 1);
    for (i = 0; i < n; i++)
        for (a = 0; a < 3; a++) c.s.x[3 * i + a] = CSIM_R(0.01) * CSIM_R(i / stride[a] % side);
    for (t = 0; t < tets; t++) {
        int cell = t / 6, *node = c.s.tet + 4 * t;
        node[0] = cell % cells + cell / cells % cells * side + cell / cells / cells * side * side;
        for (a = 0; a < 3; a++) node[a + 1] = node[a] + stride[order[t % 6][a]];
        if (t % 6 >= 3) {
            a = node[2];
            node[2] = node[3];
            node[3] = a;
        }
        density[t] = 1000;
        c.s.tet_lame[3 * t] = c.s.tet_lame[3 * t + 1] = CSIM_R(1e5);
    }
    csimi_tet_prepare(tets, c.s.tet, c.s.x, density, c.s.tet_shape, c.s.tet_volume, c.s.node_mass);
    csimi_tet_couple(&c.s, pairs);
    c.system.A.n = n;
    c.system.A.row = INTS(n + 1);
    c.system.A.diag = INTS(n);
    c.system.A.col = INTS(20 * n);
    c.blocks =
        csimi_pattern_build(n, 6 * tets, pairs, c.system.A.row, c.system.A.col, c.system.A.diag, 20 * n, &t, scratch);
    c.system.A.val = REALS(9 * c.blocks);
    c.system.b = REALS(3 * n);
    c.system.vk = REALS(3 * n);
    csimi_tet_bind(&c.s, &c.system.A);
    for (i = 0; i < 3 * n; i++) c.s.x[i] += CSIM_R(check_random(-5e-4, 5e-4));
    free(pairs);
    free(scratch);
    free(density);
    return c;
}

static void free_cube(cube *c) {
    void *blocks[] = {c->s.x,          c->s.node_mass,   c->s.tet,          c->s.tet_shape,  c->s.tet_volume,
                      c->s.tet_lame,   c->s.tet_slot,    c->s.tet_material, c->s.tet_active, c->system.A.row,
                      c->system.A.col, c->system.A.diag, c->system.A.val,   c->system.b,     c->system.vk};
    size_t i;
    for (i = 0; i < sizeof blocks / sizeof blocks[0]; i++) free(blocks[i]);
}

/* Bandwidth of a = b + s c over as many bytes as the matrix has, in the same level of cache. */
static double triad(size_t bytes) {
    size_t count = bytes / 24, i;
    double *a = (double *)zeros(count, 8), *b = (double *)zeros(count, 8), *c = (double *)zeros(count, 8), time;
    int inner = (int)(1 + 4000000 / bytes);
    BEST(time, inner, for (i = 0; i < count; i++) a[i] = b[i] + 1.5 * c[i]);
    CHECK(a[count / 2] == 0);
    free(a);
    free(b);
    free(c);
    return (double)(24 * count) / time;
}

/* Symmetric A with each block once: the diagonal, and below it by rows. Four numbers a node in x and y, as four lanes
   want them. */
typedef struct halves {
    int n, *row, *col;
    csim_real *diag, *below, *x, *y;
} halves;

static halves make_halves(const csim_block_matrix *A, const csim_real *x) {
    halves h;
    int i, k, at = 0;
    h.n = A->n;
    h.row = INTS(A->n + 1);
    h.col = INTS(A->row[A->n]);
    h.diag = REALS(9 * A->n + 4);
    h.below = REALS(9 * A->row[A->n] + 4);
    h.x = REALS(4 * A->n);
    h.y = REALS(4 * A->n);
    for (i = 0; i < A->n; i++) {
        memcpy(h.x + 4 * i, x + 3 * i, 3 * sizeof *x);
        memcpy(h.diag + 9 * i, A->val + 9 * (size_t)A->diag[i], 9 * sizeof *x);
        for (k = A->row[i]; k < A->diag[i]; k++) {
            memcpy(h.below + 9 * (size_t)at, A->val + 9 * (size_t)k, 9 * sizeof *x);
            h.col[at++] = A->col[k];
        }
        h.row[i + 1] = at;
    }
    return h;
}

static void free_halves(halves *h) {
    free(h->row), free(h->col), free(h->diag), free(h->below), free(h->x), free(h->y);
}

#if defined(__GNUC__)
typedef csim_real four __attribute__((vector_size(4 * CSIM_REAL_SIZE), aligned(CSIM_REAL_SIZE), may_alias));
#define FOUR(p) (*(four *)(p))
static void product_of_halves(const halves *h) {
    int i, k;
    for (i = 0; i < h->n; i++) {
        csim_real *D = h->diag + 9 * i, *y = h->y + 4 * i;
        const four x = FOUR(h->x + 4 * i), x0 = {x[0], x[0], x[0], x[0]}, x1 = {x[1], x[1], x[1], x[1]},
                   x2 = {x[2], x[2], x[2], x[2]};
        four a = FOUR(D) * x, b = FOUR(D + 3) * x, c = FOUR(D + 6) * x;
        for (k = h->row[i]; k < h->row[i + 1]; k++) {
            csim_real *M = h->below + 9 * (size_t)k;
            const four r0 = FOUR(M), r1 = FOUR(M + 3), r2 = FOUR(M + 6), other = FOUR(h->x + 4 * h->col[k]);
            a += r0 * other;
            b += r1 * other;
            c += r2 * other;
            FOUR(h->y + 4 * h->col[k]) += r0 * x0 + r1 * x1 + r2 * x2;
        }
        y[0] = a[0] + a[1] + a[2];
        y[1] = b[0] + b[1] + b[2];
        y[2] = c[0] + c[1] + c[2];
    }
}
#else
#error "bench_kernels wants the vectors of gcc and clang"
#endif

TEST(block_product_and_assembly) {
    int sides[3] = {7, 11, 25}, k;
    for (k = 0; k < 3; k++) {
        cube c = make_cube(sides[k]);
        int n = c.s.node_count, i, a;
        csim_real *x = REALS(3 * n), *y = REALS(3 * n), far = 0, most = 0;
        csimi_step step;
        halves h;
        double product, once, assembly;
        double bytes = c.blocks * (9.0 * sizeof(csim_real) + 4) + n * (6.0 * sizeof(csim_real) + 4);
        double bandwidth = triad((size_t)bytes);
        memset(&step, 0, sizeof step);
        step.h = CSIM_R(1e-3);
        step.theta = step.sigma = 1;
        for (i = 0; i < 3 * n; i++) x[i] = CSIM_R(check_random(-1, 1));
        BEST(assembly, 1 + 20000 / c.s.tet_count, csimi_tet_assemble(&c.s, &step, &c.system));
        BEST(product, 1 + 20000 / n, csimi_product(&c.system.A, x, y, NULL));
        h = make_halves(&c.system.A, x);
        BEST(once, 1 + 20000 / n, product_of_halves(&h));
        for (i = 0; i < n; i++)
            for (a = 0; a < 3; a++) {
                far = csimi_max(far, csimi_abs(y[3 * i + a] - h.y[4 * i + a]));
                most = csimi_max(most, csimi_abs(y[3 * i + a]));
            }
        printf("%6d nodes, %5.1f blocks a row: product %8.1f us, %5.2f GFLOP/s, %5.1f GB/s = %3.0f %% of triad; "
               "assembly %6.1f ns a tet\n",
               n, (double)c.blocks / n, 1e6 * product, 18e-9 * c.blocks / product, 1e-9 * bytes / product,
               100 * bytes / product / bandwidth, 1e9 * assembly / c.s.tet_count);
        printf("    blocks of symmetric A stored once, by one thread: %.2f of that time, %.2f of its bytes\n",
               once / product, (9.0 * sizeof(csim_real) * (h.row[n] + n) + 4.0 * h.row[n]) /
               (c.blocks * (9.0 * sizeof(csim_real) + 4)));
        CHECK(most > 0 && far < CSIM_R(1e-4) * most);
        free_halves(&h);
        free(x);
        free(y);
        free_cube(&c);
    }
}

TEST(polar_factor) {
    enum { COUNT = 1000 };
    static csim_real F[9 * COUNT], R[9];
    double strains[5] = {1e-3, 0.03, 0.2, 0.5, 3}, time, sum = 0;
    int k, i, j;
    for (k = 0; k < 5; k++) {
        for (i = 0; i < COUNT; i++) {
            csim_quat q;
            csim_mat3 Q;
            q.w = CSIM_R(check_random(-1, 1));
            q.x = CSIM_R(check_random(-1, 1));
            q.y = CSIM_R(check_random(-1, 1));
            q.z = CSIM_R(check_random(-1, 1));
            Q = csim_quat_matrix(csim_quat_normalize(q));
            for (j = 0; j < 9; j++) F[9 * i + j] = Q.m[j] + CSIM_R(check_random(-strains[k], strains[k]));
        }
        BEST(
            time, 1, for (i = 0; i < COUNT; i++) {
                csimi_polar3(F + 9 * i, R);
                sum += (double)R[0];
            });
        printf("polar, entries off by up to %5.3f: %6.1f ns\n", strains[k], 1e9 * time / COUNT);
    }
    CHECK(sum < 1e9);
}

TEST(aggregates) {
    int sides[2] = {11, 25}, counts[2] = {20, 104}, k;
    for (k = 0; k < 2; k++) {
        cube c = make_cube(sides[k]);
        int n = c.s.node_count, *aggregate = INTS(n), *scratch = INTS(csimi_aggregate_scratch(n));
        double time = seconds();
        EQUAL(csimi_aggregate(n, c.system.A.row, c.system.A.col, c.s.x, counts[k], aggregate, scratch), counts[k]);
        printf("%d aggregates of %d nodes: %5.2f ms\n", counts[k], n, 1e3 * (seconds() - time));
        free(aggregate);
        free(scratch);
        free_cube(&c);
    }
}

TEST(dense_cholesky) {
    int sizes[3] = {72, 288, 594}, k, i, j;
    for (k = 0; k < 3; k++) {
        int m = sizes[k];
        double *H = (double *)zeros((size_t)(m * m), 8), *H0 = (double *)zeros((size_t)(m * m), 8), time, solve;
        double *x = (double *)zeros((size_t)m, 8);
        for (i = 0; i < m; i++)
            for (j = 0; j < m; j++) H0[m * i + j] = i == j ? m : 1.0 / (1 + i + j);
        BEST(time, 1, {
            memcpy(H, H0, 8 * (size_t)(m * m));
            CHECK(csimi_cholesky(m, H, NULL, NULL));
        });
        BEST(solve, 4, csimi_cholesky_solve(m, H, NULL, x));
        printf("Cholesky of %3d: %8.1f us, %5.2f GFLOP/s; solve %6.1f us\n", m, 1e6 * time,
               1e-9 * m * m * m / 3.0 / time, 1e6 * solve);
        free(H);
        free(H0);
        free(x);
    }
}
