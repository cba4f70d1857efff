/* No world: a plate on four feet is pushed; csim_problem_solve with one solver. Each step starts from the answer of the
   one before it. */
#include "program.h"
#define CONDSIM_TINY
#include "condsim.h"

enum { FEET = 4 };
static union {
    unsigned char bytes[32 * 1024];
    uint64_t align;
} room;
static csim_contact feet[FEET];
static csim_term terms[2 * FEET];
static int row[3] = {0, 1, 2}, column[2] = {0, 1}, diagonal[2] = {0, 1};
static csim_real A[18], b[6], v[6], lambda[3 * FEET];
static csim_problem problem;
static csim_solver_params params;
static size_t block;
static int steps;

int program_begin(void) {
    static const csim_real mass = 2, inertia[3] = {CSIM_R(0.02), CSIM_R(0.03), CSIM_R(0.04)};
    csim_problem_size size;
    int k;
    for (k = 0; k < 3; ++k) A[4 * k] = mass, A[9 + 4 * k] = inertia[k];
    for (k = 0; k < FEET; ++k) {
        const csim_real x = k & 1 ? CSIM_R(0.2) : CSIM_R(-0.2), y = k & 2 ? CSIM_R(0.1) : CSIM_R(-0.1), z = CSIM_R(-0.1);
        csim_real *J = terms[2 * k].J, *T = terms[2 * k + 1].J;
        terms[2 * k].block = 0, terms[2 * k + 1].block = 1;
        J[0] = J[4] = J[8] = 1;
        T[1] = z, T[2] = -y, T[3] = -z, T[5] = x, T[6] = y, T[7] = -x; /* turns times the arm */
        feet[k].law = CSIM_LAW_STRICT;
        feet[k].a.first = 2 * k;
        feet[k].a.count = 2;
        feet[k].R[2] = feet[k].R[3] = feet[k].R[7] = 1; /* rows n = z, t1 = x, t2 = y */
        feet[k].mu[0] = feet[k].mu[1] = CSIM_R(0.5);
    }
    problem.A.n = 2, problem.A.row = row, problem.A.col = column, problem.A.diag = diagonal, problem.A.val = A;
    problem.b = b, problem.contact_count = FEET, problem.contacts = feet;
    problem.term_count = 2 * FEET, problem.terms = terms, problem.theta = 1;
    params = csim_default_solver_params();
    params.solver = CSIM_SOLVER_SWEEP;
    params.window = 4;
    size = csim_problem_measure(&problem);
    block = csim_solver_bytes(&size, &params);
    return block > sizeof room;
}

int program_step(void) {
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_outcome outcome;
    csim_error error;
    solution.v = v, solution.lambda = lambda;
    ++steps;
    b[0] = CSIM_R(0.0008) * (csim_real)steps, b[1] = CSIM_R(0.02), b[2] = CSIM_R(-0.1962);
    return csim_problem_solve(&problem, &params, room.bytes, sizeof room, NULL, &solution, &outcome, &error) != CSIM_OK ||
           outcome.result != CSIM_RESULT_CONVERGED;
}

uint64_t program_hash(void) {
    return program_fold(program_fold(PROGRAM_FOLD_START, v, sizeof v), lambda, sizeof lambda);
}
size_t program_block(void) { return block; }
