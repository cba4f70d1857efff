/* solve/impulse: the contact problem without bodies, at the level of impulses.

       u = W r + q,     law(u_c, r_c) for every contact c

   W [1/kg] = J A^-1 J' couples nc contacts in 3x3 blocks, r [N s] are the impulses and u, q [m/s] the velocities, all
   in contact frames (n, t1, t2). The problem other software calls Delassus or FC3D. */
#ifndef CSIM_IMPULSE_H
#define CSIM_IMPULSE_H

#include "solver.h"

/* The problem; all arrays belong to the caller. */
typedef struct csim_impulse_problem {
    int contact_count; /* nc */
    /* W in exactly one of three forms, the others null; used as given, never symmetrised; its diagonal blocks must have
       a positive trace */
    const csim_block_matrix *W; /* sparse: contact_count rows of blocks */
    const csim_real *dense;     /* [3nc 3nc] row-major */
    void (*product)(void *user, const csim_real *x, csim_real *y); /* y = W x, [3nc] each, never the same array */
    void *user;                 /* handed to product */
    const csim_real *diagonal;  /* [9 nc] the diagonal blocks, with product only; a few per cent are exact enough */
    const csim_real *q;         /* [3nc] */
    /* the laws: friction coefficients of CSIM_LAW_STRICT, or whole laws; exactly one is not null */
    const csim_real *mu;         /* [nc] */
    const csim_contact *contacts; /* [nc]; law, mu, omega, lo, hi and mask are read, sides, R and phi are not */
} csim_impulse_problem;

/* Bytes of workspace that csim_impulse_solve needs for this problem; 0 for null arguments. Linear in the contacts. */
CSIM_API size_t csim_impulse_bytes(const csim_impulse_problem *problem, const csim_solver_params *params);
/* Solves the problem by params->solver (AUTO or one whose csim_solver_info says impulse). r [3nc] holds the start, best
   the last impulses of the same contacts, and gets the result: the best impulses seen. Allocates nothing, reads no
   clock. workspace: csim_impulse_bytes, of any alignment; tasks and error may be null.
   Converged means, with u = W r + q computed anew from the returned r: natural_map_scaled of the certificate is at most
   the tolerance, and where the traces of the diagonal blocks of W differ by more than a factor of 100, so is
   certificate.contact (the figure of each contact against its own impulse), because then the common norm hides the
   light bodies; certificate.velocity and certificate.work are at most the tolerance too, with |q_m| for the speeds and
   for the energy the largest of r'W r, |r'q| and the sum of |r_m| |q_m|. impulse.by_impulse adds natural_map_siconos.
   r = 0 is converged only when it is exact. certificate.dynamics is 0: there are no bodies.
   Fails: CSIM_NULL_ARGUMENT, CSIM_BAD_PROBLEM (sizes, no or two forms of W, a diagonal block without positive trace, a
   law), CSIM_OUT_OF_RANGE (a parameter), CSIM_CAPACITY. Bad numbers: CSIM_OK with CSIM_RESULT_NOT_FINITE, r is
   the start. */
CSIM_API csim_status csim_impulse_solve(const csim_impulse_problem *problem, const csim_solver_params *params,
                                        void *workspace, size_t workspace_bytes, const csim_tasks *tasks, csim_real *r,
                                        csim_outcome *outcome, csim_error *error);

/* A line of the table of solvers. */
typedef struct csim_solver_info {
    const char *name; /* as in csim_solver, small letters */
    const char *text; /* one line */
    bool velocity;    /* csim_problem_solve takes it */
    bool impulse;     /* csim_impulse_solve takes it */
    bool rows;        /* visits the rows of W one by one: not for a W that is only a product */
} csim_solver_info;
/* The line of one solver; all fields null or false when there is no such solver. */
CSIM_API csim_solver_info csim_describe_solver(csim_solver solver);

#endif
