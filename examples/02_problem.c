/* The middle level: one contact problem, no world. A block of 2 kg lies on the ground (friction 0.5) and is pushed
   sideways with 6 N, then with 14 N, for a hundredth of a second. Build: cc 02_problem.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    static const csim_real mass = 2, h = CSIM_R(0.01), gravity = CSIM_R(9.81), pushes[2] = {6, 14};
    int row[2] = {0, 1}, column[1] = {0}, diagonal[1] = {0}; /* A: one 3x3 block */
    csim_real A[9] = {0}, b[3] = {0}, v[3], lambda[3];
    csim_contact contact;
    csim_term point = {0, {1, 0, 0, 0, 1, 0, 0, 0, 1}}; /* the contact point moves with block 0 */
    csim_problem problem;
    csim_solution solution = csim_solution_of(v, lambda);
    csim_solver_params params = csim_default_solver_params();
    csim_problem_size size;
    csim_outcome outcome;
    csim_error error;
    void *memory, *workspace;
    int i;

    memset(&contact, 0, sizeof contact);
    memset(&problem, 0, sizeof problem);
    A[0] = A[4] = A[8] = mass;
    contact.law = CSIM_LAW_STRICT;
    contact.a.count = 1; /* side a: term 0; side b: nothing, the ground */
    contact.R[2] = 1;    /* rows n = z, t1 = x, t2 = y */
    contact.R[3] = contact.R[7] = 1;
    contact.mu[0] = contact.mu[1] = CSIM_R(0.5);
    problem.A.n = 1, problem.A.row = row, problem.A.col = column, problem.A.diag = diagonal, problem.A.val = A;
    problem.b = b, problem.contact_count = 1, problem.contacts = &contact, problem.term_count = 1;
    problem.terms = &point, problem.theta = 1;

    size = csim_problem_measure(&problem);
    memory = malloc(csim_solver_bytes(&size, &params) + 64);
    if (!memory) return 1;
    workspace = (void *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    for (i = 0; i < 2; ++i) {
        b[0] = h * pushes[i];
        b[2] = -h * mass * gravity;
        v[0] = v[1] = v[2] = lambda[0] = lambda[1] = lambda[2] = 0;
        if (csim_problem_solve(&problem, &params, workspace, csim_solver_bytes(&size, &params), NULL, &solution,
                               &outcome, &error) != CSIM_OK)
            return printf("%s\n", error.text), 1;
        printf("push %4.1f N: speed %.5f m/s, force %.3f N up and %.3f N along x, certificate %s\n", (double)pushes[i],
               (double)v[0], (double)(lambda[0] / h), (double)(lambda[1] / h),
               outcome.result == CSIM_RESULT_CONVERGED ? "met" : "missed");
    }
    free(memory);
    return 0;
}
