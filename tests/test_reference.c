/* Tests of what CONDSIM_REFERENCE adds: the sparse factor against the dense one, the Delassus matrix against operators,
   Lemke's method against exact answers and the other solvers. */
#ifndef CONDSIM_REFERENCE
#define CONDSIM_REFERENCE
#endif
#include "check.h"
#include "contact_problems.h"

/* ---- sparse Cholesky */

enum { SIDE = 9, GRID = SIDE * SIDE * SIDE };
static int row[GRID + 1], col[7 * GRID], diag[GRID];
static csim_real val[9 * 7 * GRID];

static int grid_at(int x, int y, int z) {
    return x < 0 || y < 0 || z < 0 || x >= SIDE || y >= SIDE || z >= SIDE ? -1 : (x * SIDE + y) * SIDE + z;
}

/* Blocks of a lattice coupled to their neighbours, diagonally dominant. */
static csim_block_matrix grid_matrix(void) {
    static const int step[7][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
    csim_block_matrix A;
    int i, j, k, c, at = 0;
    memset(&A, 0, sizeof A);
    for (i = 0; i < GRID; i++) {
        const int x = i / (SIDE * SIDE), y = i / SIDE % SIDE, z = i % SIDE;
        row[i] = at;
        for (k = 0; k < 7; k++) {
            j = grid_at(x + step[k][0], y + step[k][1], z + step[k][2]);
            if (j < 0) continue;
            if (k == 3) diag[i] = at;
            for (c = 0; c < 9; c++)
                val[9 * at + c] = k == 3 ? CSIM_R(c % 4 ? 0.3 : 7 + 0.01 * (i % 13)) : CSIM_R(c % 4 ? -0.01 : -1);
            col[at++] = j;
        }
    }
    row[GRID] = at;
    A.n = GRID;
    A.row = row;
    A.col = col;
    A.diag = diag;
    A.val = val;
    return A;
}

/* late: may be null; the blocks marked there must be eliminated last. A is in one piece. */
static size_t solve_with_factor(const csim_block_matrix *A, const unsigned char *late, const csim_real *b,
                                csim_real *x) {
    csimi_arena count = csimi_arena_counting(), arena;
    csimi_factor f;
    size_t blocks, bytes;
    void *tree, *rest;
    int i, last = 0;
    csimi_factor_layout(&f, &count, A->n);
    tree = malloc(bytes = count.high + 64);
    arena = csimi_arena_in(tree, bytes);
    csimi_factor_layout(&f, &arena, A->n);
    csimi_factor_plan(&f, A, late);
    for (i = 0; i < A->n && late; i++) last += late[i] != 0;
    for (i = 0; i < A->n && late; i++) CHECK((f.place[i] >= A->n - last) == (late[i] != 0));
    blocks = f.first[A->n] + (size_t)A->n;
    count = csimi_arena_counting();
    csimi_factor_layout_blocks(&f, &count, f.first[A->n]);
    rest = malloc(bytes = count.high + 64);
    arena = csimi_arena_in(rest, bytes);
    csimi_factor_layout_blocks(&f, &arena, f.first[A->n]);
    CHECK(csimi_factor_compute(&f, A));
    csimi_factor_solve(&f, b, x);
    free(tree);
    free(rest);
    return blocks;
}

static double residual_of(const csim_block_matrix *A, const csim_real *b, const csim_real *x) {
    double worst = 0;
    csim_real *y = (csim_real *)malloc(sizeof(csim_real) * 3 * (size_t)A->n);
    int i;
    csimi_product(A, x, y, NULL);
    for (i = 0; i < 3 * A->n; i++) worst = fmax(worst, fabs((double)(y[i] - b[i])));
    free(y);
    return worst;
}

TEST(cholesky_solves_a_lattice_with_less_fill_than_a_band) {
    static csim_real b[3 * GRID], x[3 * GRID];
    static unsigned char late[GRID];
    csim_block_matrix A = grid_matrix();
    size_t blocks;
    int i;
    for (i = 0; i < 3 * GRID; i++) b[i] = CSIM_R(check_random(-1, 1));
    for (i = 0; i < GRID; i += 7) late[i] = 1; /* as the nodes that contacts touch */
    (void)solve_with_factor(&A, late, b, x);
    NEAR(residual_of(&A, b, x), 0, TOL(1e-13, 1e-5));
    blocks = solve_with_factor(&A, NULL, b, x);
    NEAR(residual_of(&A, b, x), 0, TOL(1e-13, 1e-5)); /* rounding of products of size 10 */
    printf("    %d blocks of A, %lu of L; a band would have %d\n", row[GRID], (unsigned long)blocks,
           GRID * SIDE * SIDE);
    CHECK(blocks < (size_t)GRID * SIDE * SIDE / 2);
}

TEST(cholesky_agrees_with_a_dense_one) {
    int trial, i, j, k;
    for (trial = 0; trial < 60; trial++) {
        const int n = 1 + trial % 40, m = 3 * n;
        double *H = (double *)calloc((size_t)m * (size_t)m, sizeof *H), *y = (double *)calloc((size_t)m, sizeof *y);
        csim_real *b = (csim_real *)calloc((size_t)m, sizeof *b), *x = (csim_real *)calloc((size_t)m, sizeof *x);
        CASE("trial %d", trial);
        cp_matrix(n, CP_GENERAL, 100);
        for (i = 0; i < n; i++)
            for (k = cp.row[i]; k < cp.row[i + 1]; k++)
                for (j = 0; j < 9; j++)
                    H[(size_t)m * (size_t)(3 * i + j / 3) + (size_t)(3 * cp.col[k] + j % 3)] =
                        (double)cp.val[9 * k + j];
        for (i = 0; i < m; i++) y[i] = (double)(b[i] = CSIM_R(check_random(-1, 1)));
        CHECK(csimi_cholesky(m, H, NULL, NULL));
        csimi_cholesky_solve(m, H, NULL, y);
        (void)solve_with_factor(&cp.p.A, NULL, b, x);
        for (i = 0; i < m; i++) NEAR(x[i], y[i], TOL(1e-13, 1e-5));
        free(H);
        free(y);
        free(b);
        free(x);
    }
}

/* Pieces that do not touch, and an empty matrix. */
TEST(cholesky_of_loose_pieces) {
    csim_block_matrix A = grid_matrix();
    csim_real b[3 * 30], x[3 * 30];
    int i, k;
    A.n = 30;
    for (i = 0; i <= 30; i++) row[i] = i;
    for (i = 0; i < 30; i++) {
        col[i] = diag[i] = i;
        for (k = 0; k < 9; k++) val[9 * i + k] = k % 4 ? 0 : CSIM_R(1 + i);
        for (k = 0; k < 3; k++) b[3 * i + k] = CSIM_R(1 + i);
    }
    (void)solve_with_factor(&A, NULL, b, x);
    for (i = 0; i < 90; i++) NEAR(x[i], 1, TOL(1e-15, 1e-6));
    A.n = 0;
    row[0] = 0;
    EQUAL((int)solve_with_factor(&A, NULL, b, x), 0);
}

/* ---- the Delassus matrix */

TEST(reference_forms_W_and_solves_for_v) {
    int trial, i, c;
    for (trial = 0; trial < 12; trial++) {
        csim_reference *reference = NULL;
        csim_impulse_problem impulse;
        csim_error error;
        csim_solver_params params = csim_default_solver_params();
        csim_outcome outcome;
        csim_certificate certificate;
        csim_real *r, *v;
        size_t bytes, scratch;
        void *workspace;
        CASE("trial %d", trial);
        cp_make(12 + 4 * trial, 4 + 2 * trial, trial % 2 ? CP_GENERAL : CP_RIGID, CSIM_LAW_STRICT, 10);
        STATUS(csim_create_reference(&cp.p, NULL, &reference, &error), CSIM_OK);
        REQUIRE(reference != NULL);
        STATUS(csim_reference_impulse(reference, &impulse, &error), CSIM_OK);
        params.tolerance = TOL(1e-9, 1e-4);
        params.max_iterations = 20000;
        bytes = csim_impulse_bytes(&impulse, &params);
        scratch = csim_certificate_bytes(cp.p.A.n, cp.p.contact_count);
        workspace = malloc((bytes > scratch ? bytes : scratch) + 64);
        r = (csim_real *)calloc(3 * (size_t)cp.p.contact_count + 1, sizeof *r);
        v = (csim_real *)calloc(3 * (size_t)cp.p.A.n, sizeof *v);
        STATUS(csim_impulse_solve(&impulse, &params, workspace, bytes, NULL, r, &outcome, &error), CSIM_OK);
        EQUAL(outcome.result, CSIM_RESULT_CONVERGED);
        csim_reference_velocity(reference, r, v);
        STATUS(csim_problem_certify(&cp.p, v, r, (char *)workspace + (64 - (uintptr_t)workspace % 64), scratch,
                                    &certificate),
               CSIM_OK);
        NEAR(certificate.dynamics, 0, TOL(1e-12, 1e-5));
        NEAR(certificate.natural_map_scaled, 0, TOL(1e-8, 1e-3));
        for (i = 0; i < 3 * cp.p.contact_count; i++) /* W is symmetric: columns were solved one by one */
            for (c = 0; c < i; c++)
                NEAR(impulse.dense[(size_t)3 * (size_t)cp.p.contact_count * (size_t)i + (size_t)c],
                     impulse.dense[(size_t)3 * (size_t)cp.p.contact_count * (size_t)c + (size_t)i], TOL(1e-13, 1e-5));
        csim_destroy_reference(reference);
        free(workspace);
        free(r);
        free(v);
    }
}

static int refused, taken;
static void *refuse_after(void *user, size_t size, size_t align) {
    static unsigned char pool[4][1 << 16];
    unsigned char *at = pool[taken];
    at += (align - (uintptr_t)at % align) % align;
    if ((*(int *)user)-- <= 0 || at + size > pool[taken] + sizeof pool[taken]) {
        refused++;
        return NULL;
    }
    taken++;
    return at;
}
static void give_back(void *user, void *block, size_t size) {
    (void)user;
    (void)size;
    if (block) taken--;
}

TEST(reference_without_memory_or_sense) {
    csim_reference *reference = NULL;
    csim_error error;
    csim_allocator allocator;
    int left, k;
    memset(&allocator, 0, sizeof allocator);
    allocator.alloc = refuse_after;
    allocator.free = give_back;
    allocator.user = &left;
    cp_make(12, 6, CP_GENERAL, CSIM_LAW_STRICT, 10);
    for (k = 0; k < 3; k++) {
        left = k;
        STATUS(csim_create_reference(&cp.p, &allocator, &reference, &error), CSIM_OUT_OF_MEMORY);
        CHECK(reference == NULL);
        EQUAL(taken, 0); /* nothing leaks */
    }
    EQUAL(refused, 3);
    STATUS(csim_create_reference(NULL, NULL, &reference, &error), CSIM_NULL_ARGUMENT);
    cp.val[9 * cp.diag[3] + 0] = CSIM_R(0.01); /* 0.01 is less than its couplings bear */
    STATUS(csim_create_reference(&cp.p, NULL, &reference, &error), CSIM_BAD_PROBLEM);
    CHECK(reference == NULL);
}

/* ---- Lemke */

static csim_outcome solve_dense(const csim_impulse_problem *p, csim_solver solver, int sides, double tolerance,
                                csim_real *r) {
    csim_solver_params params = csim_default_solver_params();
    csim_outcome outcome;
    csim_error error;
    size_t bytes;
    void *workspace;
    params.solver = solver;
    params.impulse.sides = sides;
    params.tolerance = CSIM_R(tolerance);
    params.max_iterations = 20000;
    bytes = csim_impulse_bytes(p, &params);
    workspace = malloc(bytes);
    STATUS(csim_impulse_solve(p, &params, workspace, bytes, NULL, r, &outcome, &error), CSIM_OK);
    free(workspace);
    return outcome;
}

/* A random W = B B' + small I and q that presses. */
static void random_dense(int nc, double *mu, csim_real *W, csim_real *q, csim_real *coefficients) {
    const int m = 3 * nc, inner = m + 4;
    double *B = (double *)malloc(sizeof(double) * (size_t)m * (size_t)inner);
    int i, j, k;
    for (i = 0; i < m * inner; i++) B[i] = check_random(-1, 1);
    for (i = 0; i < m; i++)
        for (j = 0; j < m; j++) {
            double sum = i == j ? 0.5 : 0;
            for (k = 0; k < inner; k++) sum += B[i * inner + k] * B[j * inner + k];
            W[i * m + j] = CSIM_R(sum);
        }
    for (i = 0; i < m; i++) q[i] = CSIM_R(i % 3 ? check_random(-1, 1) : check_random(-2, 0.5));
    for (i = 0; i < nc; i++) coefficients[i] = CSIM_R(mu ? mu[i] : 0);
    free(B);
}

/* Without friction the polygon is exact: the answer is that of a convex problem. */
TEST(lemke_is_exact_without_friction) {
    enum { NC = 12 };
    static csim_real W[9 * NC * NC], q[3 * NC], mu[NC], a[3 * NC], b[3 * NC];
    csim_impulse_problem p;
    int trial, i;
    memset(&p, 0, sizeof p);
    p.contact_count = NC;
    p.dense = W;
    p.q = q;
    p.mu = mu;
    for (trial = 0; trial < 20; trial++) {
        CASE("trial %d", trial);
        random_dense(NC, NULL, W, q, mu);
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        EQUAL(solve_dense(&p, CSIM_SOLVER_LEMKE, 0, TOL(1e-10, 1e-4), a).result, CSIM_RESULT_CONVERGED);
        EQUAL(solve_dense(&p, CSIM_SOLVER_AUTO, 0, TOL(1e-11, 1e-5), b).result, CSIM_RESULT_CONVERGED);
        for (i = 0; i < 3 * NC; i++) NEAR(a[i], b[i], TOL(1e-9, 1e-3));
    }
}

/* With friction the polygon comes closer to the disk the more sides it has: error about (pi / sides)^2 / 2. */
TEST(lemke_polygons_close_in_on_the_disk) {
    enum { NC = 5 };
    static csim_real W[9 * NC * NC], q[3 * NC], mu[NC], a[3 * NC];
    static const int sides[3] = {4, 12, 36};
    double given[NC], sum[3] = {0, 0, 0};
    csim_impulse_problem p;
    int trial, k, solved = 0;
    memset(&p, 0, sizeof p);
    p.contact_count = NC;
    p.dense = W;
    p.q = q;
    p.mu = mu;
    for (trial = 0; trial < 20; trial++) {
        double error[3];
        bool all = true;
        for (k = 0; k < NC; k++) given[k] = check_random(0.1, 0.6);
        random_dense(NC, given, W, q, mu);
        for (k = 0; k < 3; k++) {
            csim_outcome outcome;
            memset(a, 0, sizeof a);
            outcome = solve_dense(&p, CSIM_SOLVER_LEMKE, sides[k], 1e-7, a);
            error[k] = outcome.certificate.natural_map_scaled;
            all = all && outcome.iterations < 20000 && error[k] < 0.9;
        }
        if (!all) continue;
        solved++;
        for (k = 0; k < 3; k++) sum[k] += error[k];
    }
    printf("    mean natural map with 4, 12, 36 sides: %.2e %.2e %.2e (%d of 20 without a ray)\n", sum[0] / solved,
           sum[1] / solved, sum[2] / solved, solved);
    CHECK(solved >= 18);
    CHECK(sum[1] < 0.5 * sum[0]);
    CHECK(sum[2] < 0.5 * sum[1]);
}

/* Two bilateral contacts that say the same: any share is an answer, none is refused; the velocity is that of one. */
TEST(lemke_takes_redundant_bilateral_rows) {
    csim_real W[36], q[6], r[6];
    csim_contact contacts[2];
    csim_impulse_problem p;
    csim_outcome outcome;
    int i;
    memset(&p, 0, sizeof p);
    memset(contacts, 0, sizeof contacts);
    for (i = 0; i < 2; i++) {
        contacts[i].law = CSIM_LAW_BILATERAL;
        contacts[i].mask = 7u;
    }
    for (i = 0; i < 36; i++) W[i] = CSIM_R(i / 6 % 3 == i % 6 % 3 ? 2 : 0);
    for (i = 0; i < 6; i++) q[i] = CSIM_R(i % 3 - 1.5);
    p.contact_count = 2;
    p.dense = W;
    p.q = q;
    p.contacts = contacts;
    memset(r, 0, sizeof r);
    outcome = solve_dense(&p, CSIM_SOLVER_LEMKE, 0, TOL(1e-12, 1e-5), r);
    EQUAL(outcome.result, CSIM_RESULT_CONVERGED);
    for (i = 0; i < 3; i++) NEAR(2 * (r[i] + r[3 + i]), -q[i], TOL(1e-14, 1e-6));
}
