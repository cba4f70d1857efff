/* The certificate of CONDSIM_SINGLE, which sums in float, against the one that sums in double, on the same numbers:
   stacks of boxes of masses over six decades, solved, and the answers made worse by a millionth to a tenth. It may not
   be content with what the other one is not, nor the other way round; a hundredth is for its own rounding. sh
   tests/switches.sh builds this file twice, with and without JUDGE, and runs it. */
#define CONDSIM_FLOAT
#define CONDSIM_TINY
#define CONDSIM_STATIC
#define CONDSIM_IMPLEMENTATION
#ifndef JUDGE
#define CONDSIM_SINGLE
#endif
#include "condsim.h"

csim_status judge(const csim_problem *p, const csim_real *v, const csim_real *lambda, void *scratch, size_t bytes,
                  csim_certificate *certificate);
#ifdef JUDGE
csim_status judge(const csim_problem *p, const csim_real *v, const csim_real *lambda, void *scratch, size_t bytes,
                  csim_certificate *certificate) {
    return csim_problem_certify(p, v, lambda, scratch, bytes, certificate);
}
#else
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BOXES = 5, TRIALS = 3500, ROWS = 4 * BOXES };
static csim_contact contact[ROWS];
static csim_term term[4 * ROWS];
static int row[2 * BOXES + 1], column[2 * BOXES], diagonal[2 * BOXES];
static csim_real A[18 * BOXES], b[6 * BOXES], v[6 * BOXES], lambda[3 * ROWS];
static double scratch[1 << 15];
static uint32_t seed = 1;

static double chance(double a, double z) { /* even between a and z */
    seed = seed * 1664525u + 1013904223u;
    return a + (z - a) * (double)(seed >> 8) / 16777216.0;
}

static void add_side(csim_side *side, int *terms, int body, double x, double y, double z) {
    csim_real *J = term[*terms].J, *T = term[*terms + 1].J;
    int k;
    for (k = 0; k < 9; k++) J[k] = T[k] = 0;
    term[*terms].block = 2 * body, term[*terms + 1].block = 2 * body + 1;
    J[0] = J[4] = J[8] = 1;
    T[1] = (csim_real)z, T[2] = (csim_real)-y, T[3] = (csim_real)-z;
    T[5] = (csim_real)x, T[6] = (csim_real)y, T[7] = (csim_real)-x;
    side->first = *terms, side->count = 2;
    *terms += 2;
}

/* Box over box, masses of a span of decades; each falls, slides and turns a little, or lies. */
static csim_problem pile(double decades) {
    csim_problem p;
    int i, k, m, terms = 0;
    const double slides = chance(0, 1) < 0.5 ? 0 : 1;
    memset(&p, 0, sizeof p);
    memset(A, 0, sizeof A), memset(contact, 0, sizeof contact), memset(lambda, 0, sizeof lambda);
    for (i = 0; i < BOXES; i++) {
        const double mass = pow(10, chance(-decades / 2, decades / 2));
        for (k = 0; k < 3; k++) {
            A[18 * i + 4 * k] = (csim_real)mass, A[18 * i + 9 + 4 * k] = (csim_real)(mass / 150);
            b[6 * i + k] = (csim_real)(mass * (k == 2 ? -0.0981 : slides * chance(-0.3, 0.3)));
            b[6 * i + 3 + k] = (csim_real)(slides * mass * chance(-0.01, 0.01));
        }
        for (k = 0; k < 4; k++) {
            csim_contact *c = contact + (m = 4 * i + k);
            const double x = k & 1 ? 0.1 : -0.1, y = k & 2 ? 0.1 : -0.1;
            c->law = CSIM_LAW_STRICT, c->mu[0] = c->mu[1] = (csim_real)chance(0, 1);
            c->R[2] = c->R[3] = c->R[7] = 1;
            c->phi[0] = (csim_real)chance(-0.01, 0.01);
            add_side(&c->a, &terms, i, x, y, -0.1);
            if (i > 0) add_side(&c->b, &terms, i - 1, x, y, 0.1);
        }
    }
    for (i = 0; i < 2 * BOXES; i++) row[i] = column[i] = diagonal[i] = i;
    row[i] = i;
    p.A.n = 2 * BOXES, p.A.row = row, p.A.col = column, p.A.diag = diagonal, p.A.val = A;
    p.b = b, p.contact_count = ROWS, p.contacts = contact, p.term_count = terms, p.terms = term, p.theta = 1;
    return p;
}

/* v of lambda, and both a little off. */
static void spoil(double off) {
    double f[6 * BOXES];
    const bool moves = chance(0, 1) < 0.3;
    int m, k, i, t;
    for (k = 0; k < 3 * ROWS; k++)
        if (chance(0, 1) < 0.2) lambda[k] = (csim_real)((double)lambda[k] * (1 + chance(-off, off)));
    for (i = 0; i < 6 * BOXES; i++) f[i] = (double)b[i];
    for (m = 0; m < ROWS; m++)
        for (t = contact[m].a.first; t < contact[m].a.first + 2 + contact[m].b.count; t++)
            for (i = 0; i < 3; i++)
                for (k = 0; k < 9; k++)
                    f[3 * term[t].block + k % 3] += (t < contact[m].a.first + 2 ? 1 : -1) *
                                                    (double)(term[t].J[k] * contact[m].R[3 * i + k / 3]) *
                                                    (double)lambda[3 * m + i];
    for (i = 0; i < 6 * BOXES; i++) {
        v[i] = (csim_real)(f[i] / (double)A[9 * (i / 3) + 4 * (i % 3)]);
        if (moves) v[i] = (csim_real)((double)v[i] + off * chance(-0.1, 0.1));
    }
}

int main(void) {
    const double tolerance = 1e-3;
    int trial, wrong = 0, refused = 0, yes = 0, no = 0, unsolved = 0;
    double worst = 0;
    csim_solver_params params = csim_default_solver_params();
    params.solver = CSIM_SOLVER_SWEEP;
    for (trial = 0; trial < TRIALS; trial++) {
        const csim_problem p = pile(trial % 7);
        csim_solution solution = csim_solution_of(NULL, NULL);
        csim_outcome outcome;
        csim_certificate own, wide;
        double a, c;
        solution.v = v, solution.lambda = lambda;
        params.tolerance = CSIM_R(1e-3);
        if (csim_problem_solve(&p, &params, scratch, sizeof scratch, NULL, &solution, &outcome, NULL)) return 1;
        unsolved += outcome.result != CSIM_RESULT_CONVERGED;
        if (trial % 4) spoil(pow(10, chance(-6, -1)));
        if (csim_problem_certify(&p, v, lambda, scratch, sizeof scratch, &own)) return 1;
        if (judge(&p, v, lambda, scratch, sizeof scratch, &wide)) return 1;
        a = csim_certificate_worst(&own), c = csim_certificate_worst(&wide);
        yes += c <= tolerance, no += c > tolerance;
        wrong += a <= tolerance && c > tolerance * 1.01;
        refused += a > tolerance * 1.01 && c <= tolerance;
        if (c > 0.1 * tolerance && c < 10 * tolerance && fabs(a - c) / c > worst) worst = fabs(a - c) / c;
    }
    printf("%d answers good and %d not; %d taken that are not, %d refused that are; figures near the tolerance differ "
           "by %.1e at most; %d not solved\n", yes, no, wrong, refused, worst, unsolved);
    return wrong + refused > 0 || worst > 0.05 || yes < TRIALS / 10 || no < TRIALS / 10;
}
#endif
