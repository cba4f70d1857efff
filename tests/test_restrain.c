/* What is kept of a solve that missed (solve/restrain.c): against a dense solve and a search over the shares, both
   written out here. */
#include "check.h"
#include "contact_problems.h"

enum { NODES = 8, SIZE = 3 * NODES, TOUCHES = 10, ROWS = 3 * TOUCHES, GRID = 40 };

static double A[SIZE][SIZE], J[ROWS][SIZE]; /* u = J v */

/* The problem as dense matrices. */
static void dense(void) {
    int i, j, k, c, at;
    memset(A, 0, sizeof A);
    memset(J, 0, sizeof J);
    for (i = 0; i < NODES; i++)
        for (at = cp.p.A.row[i]; at < cp.p.A.row[i + 1]; at++)
            for (j = 0; j < 3; j++)
                for (k = 0; k < 3; k++) A[3 * i + j][3 * cp.p.A.col[at] + k] = (double)cp.p.A.val[9 * at + 3 * j + k];
    for (c = 0; c < TOUCHES; c++) {
        const csim_contact *contact = cp.p.contacts + c;
        for (at = 0; at < contact->a.count + contact->b.count; at++) {
            const bool on_a = at < contact->a.count;
            const csim_term *t = cp.p.terms + (on_a ? contact->a.first + at : contact->b.first + at - contact->a.count);
            for (i = 0; i < 3; i++)
                for (j = 0; j < 3; j++)
                    for (k = 0; k < 3; k++)
                        J[3 * c + i][3 * t->block + k] +=
                            (on_a ? 1 : -1) * (double)contact->R[3 * i + j] * (double)t->J[3 * j + k];
        }
    }
}

/* x = A^-1 b by Gauss with pivots. */
static void gauss(const double *b, double *x) {
    double M[SIZE][SIZE + 1];
    int i, j, k, best;
    for (i = 0; i < SIZE; i++) {
        memcpy(M[i], A[i], sizeof A[i]);
        M[i][SIZE] = b[i];
    }
    for (k = 0; k < SIZE; k++) {
        for (best = k, i = k; i < SIZE; i++)
            if (fabs(M[i][k]) > fabs(M[best][k])) best = i;
        for (j = 0; j <= SIZE; j++) {
            const double keep = M[k][j];
            M[k][j] = M[best][j];
            M[best][j] = keep;
        }
        for (i = 0; i < SIZE; i++)
            for (j = SIZE; j >= k && i != k; j--) M[i][j] -= M[i][k] / M[k][k] * M[k][j];
    }
    for (i = 0; i < SIZE; i++) x[i] = M[i][SIZE] / M[i][i];
}

/* v = A^-1 (b + J'lambda); returns lambda'(J v + phi), and in q lambda'W lambda / 2 + lambda'(J A^-1 b + phi). */
static double motion(const double *lambda, double *v, double *q) {
    double load[SIZE], free[SIZE], b[SIZE], work = 0;
    int i, r;
    for (i = 0; i < SIZE; i++) {
        load[i] = b[i] = (double)cp.p.b[i];
        for (r = 0; r < ROWS; r++) load[i] += J[r][i] * lambda[r];
    }
    gauss(load, v);
    gauss(b, free);
    for (*q = 0, r = 0; r < ROWS; r++) {
        double u = (double)cp.p.contacts[r / 3].phi[r % 3], u0 = u;
        for (i = 0; i < SIZE; i++) {
            u += J[r][i] * v[i];
            u0 += J[r][i] * free[i];
        }
        work += lambda[r] * u;
        *q += lambda[r] * (u + u0) / 2;
    }
    return work;
}

static void feasible(const csim_real *lambda) {
    int c;
    for (c = 0; c < TOUCHES; c++) {
        const double n = (double)lambda[3 * c], t = hypot((double)lambda[3 * c + 1], (double)lambda[3 * c + 2]);
        CHECK(n >= 0 && t <= (double)cp.p.contacts[c].mu[0] * n * (1 + TOL(1e-12, 1e-5)) + TOL(1e-14, 1e-6));
    }
}

/* q at the kept impulses is no more than at any share of the two they are made of. */
static void least(const double *first, const double *second, double q) {
    double v[SIZE], lambda[ROWS], other;
    int i, j, r;
    for (i = 0; i <= GRID; i++)
        for (j = 0; i + j <= GRID; j++) {
            for (r = 0; r < ROWS; r++) lambda[r] = (i * first[r] + j * second[r]) / GRID;
            motion(lambda, v, &other);
            CHECK(q <= other + TOL(1e-9, 1e-3) * fabs(other));
        }
}

/* One problem: the exact impulses, too large by some factor and with a part that is none, and a start of begun times
   the exact ones. */
static bool restrain_once(double factor, double begun) {
    csim_real *memory = (csim_real *)malloc(1 << 20), start[ROWS], v[SIZE], lambda[ROWS];
    double first[ROWS], second[ROWS], kept[ROWS], exact[SIZE], q, work, scale = 0;
    csimi_arena arena = csimi_arena_in((unsigned char *)memory, 1 << 20);
    csim_solution solution;
    csim_outcome outcome;
    bool done;
    int r, c;
    cp_make(NODES, TOUCHES, CP_GENERAL, CSIM_LAW_STRICT, 10);
    dense();
    for (r = 0; r < ROWS; r++) {
        lambda[r] = CSIM_R(factor * (double)cp.lambda[r] * check_random(0.8, 1.2));
        start[r] = CSIM_R(begun * (double)cp.lambda[r]);
    }
    for (c = 0; c < TOUCHES; c++) { /* what is projected first, written out once more */
        csim_project(cp.p.contacts + c, 0, lambda + 3 * c, lambda + 3 * c);
        for (r = 3 * c; r < 3 * c + 3; r++) first[r] = (double)lambda[r], second[r] = (double)start[r];
    }
    memset(v, 0, sizeof v);
    memset(&outcome, 0, sizeof outcome);
    solution.v = v;
    solution.lambda = lambda;
    done = csimi_restrain(&cp.p, start, &arena, NULL, &solution, &outcome);
    free(memory);
    if (!done) return false;
    for (r = 0; r < ROWS; r++) kept[r] = (double)lambda[r];
    feasible(lambda);
    work = motion(kept, exact, &q);
    for (r = 0; r < SIZE; r++) scale = fmax(scale, fabs(exact[r]));
    for (r = 0; r < SIZE; r++) NEAR(v[r], exact[r], TOL(1e-9, 1e-4) * scale); /* the motion is that of the impulses */
    CHECK(work <= TOL(1e-9, 1e-3) * fabs(q));                                 /* contacts put nothing in */
    least(first, second, q);
    return true;
}

TEST(kept_impulses_gain_nothing_and_the_motion_is_theirs) {
    const double factors[4] = {1, 1.3, 1.8, 3};
    int trial, k, done = 0;
    for (trial = 0; trial < 12; trial++)
        for (k = 0; k < 4; k++) {
            CASE("trial %d, %g times the impulses", trial, factors[k]);
            done += restrain_once(factors[k], 0.7);
        }
    printf("    %d of 48 kept\n", done);
    CHECK(done >= 24); /* the others leave less than half and say so */
}

TEST(impulses_that_are_far_too_large_are_not_kept) { /* a share of them would drop everything else */
    CHECK(!restrain_once(1e6, 1e6));
    CHECK(restrain_once(1e6, 0.7)); /* the start is worth keeping, whatever became of it */
}
