/* solve/solver: choosing and calling a solver. */
#ifndef CSIM_SOLVER_H
#define CSIM_SOLVER_H

#include "../contact/certificate.h"
#include "../contact/law.h"
#include "single.h"

/* name, value, one line. */
#define CSIM_SOLVER_LIST(X)                                                                           \
    X(AUTO, 0, "SWEEP when A is block diagonal in small bodies, COND otherwise, and each where the other falls short") \
    X(COND, 1, "velocity fixed-point iteration on nodal contacts (Lee et al.)")                       \
    X(SWEEP, 2, "Anderson-accelerated exact-Coulomb Gauss-Seidel, Newton and a proximal loop, rigid bodies") \
    X(ANDERSON, 3, "the first stage of SWEEP alone: accelerated exact-Coulomb Gauss-Seidel, impulse level") \
    X(PROXIMAL, 4, "the last stage of SWEEP alone: its proximal loop, impulse level") \
    X(PGS, 5, "projected Gauss-Seidel, row by row, with cone or box friction (impulse level)") \
    X(APGD, 6, "accelerated projected gradient; exact Coulomb by an outer de Saxce loop (impulse level)") \
    X(PERCONTACT, 7, "block over-relaxation with one of four single-contact methods (impulse level)") \
    X(STAGGERED, 8, "staggered projections of normals and friction, disk or polygon (impulse level)") \
    X(CCS, 9, "contact constraint splitting, ADMM with conjugate gradients, both levels") \
    X(NEWTON, 10, "non-smooth Newton, Fischer-Burmeister or min-map, Macklin et al. (impulse level)") \
    X(NEWTON_PROXIMAL, 11, "the same Newton inside a proximal-point loop (impulse level)") \
    X(XPBD, 12, "position-based dynamics in small substeps of one sweep, bodies and cables, backward Euler") \
    X(PENALTY, 13, "springs and dampers at contacts, taken at the end of the step: implicit") \
    X(PENALTY_EXPLICIT, 14, "springs and dampers at contacts, taken at its start, backward Euler") \
    X(BOUNDED, 15, "soft substeps of one sweep each: work known beforehand, settles, certifies when calm")

/* Who solves; default CSIM_SOLVER_AUTO. docs/solvers.md. */
typedef enum csim_solver {
#define CSIMI_X(name, value, text) CSIM_SOLVER_##name = value,
    CSIM_SOLVER_LIST(CSIMI_X)
#undef CSIMI_X
#ifdef CONDSIM_REFERENCE
    CSIM_SOLVER_LEMKE, /* friction in a polygon, as a linear complementarity problem, in dense memory (impulse level) */
#endif
    CSIM_SOLVER_COUNT_
} csim_solver;

/* How COND chooses its diagonal W; COND paper IV-C. */
typedef enum csim_weight {
    CSIM_WEIGHT_AUTO,       /* per acceleration: Frobenius for Chebyshev, else Jacobi */
    CSIM_WEIGHT_JACOBI,     /* 1 / a_ii, scalar per contact node */
    CSIM_WEIGHT_FROBENIUS,  /* a_ii / |A_i|^2 on the symmetrically scaled A */
    CSIM_WEIGHT_BB1,        /* Barzilai-Borwein, first step length */
    CSIM_WEIGHT_BB2,        /* second */
    CSIM_WEIGHT_BB_ALTERNATING, /* the two in turn */
    CSIM_WEIGHT_COUNT_
} csim_weight;

/* What COND does between two applications of its map; docs/solvers.md. */
typedef enum csim_acceleration {
    CSIM_ACCELERATION_AUTO,      /* coarse with a structure or bodies apart, else Anderson; none with BB */
    CSIM_ACCELERATION_NONE,      /* the plain iteration */
    CSIM_ACCELERATION_CHEBYSHEV, /* COND paper, Alg. 3: two vectors, no sums */
    CSIM_ACCELERATION_ANDERSON,  /* least squares over the last `window` steps */
    CSIM_ACCELERATION_COARSE,    /* rigid-mode coarse correction and Anderson */
    CSIM_ACCELERATION_COUNT_
} csim_acceleration;

/* NEWTON: the function phi(a, b) whose zeros are a, b >= 0, a b = 0. */
typedef enum csim_ncp {
    CSIM_NCP_FISCHER,        /* Fischer-Burmeister: a + b - sqrt(a^2 + b^2) */
    CSIM_NCP_MIN_MAP,        /* min(a, b) */
    CSIM_NCP_COUNT_
} csim_ncp;

/* NEWTON: how the linear system of a step is solved, diagonally preconditioned. */
typedef enum csim_linear {
    CSIM_LINEAR_PCR,          /* conjugate residuals */
    CSIM_LINEAR_PCG,          /* conjugate gradients */
    CSIM_LINEAR_JACOBI,       /* damped until the residual falls */
    CSIM_LINEAR_GAUSS_SEIDEL, /* row by row; needs rows of W: not for a W that is only a product */
    CSIM_LINEAR_COUNT_
} csim_linear;

/* COND: its map. */
typedef struct csim_cond_params {
    csim_weight weight;
    csim_acceleration acceleration;
    bool shift;              /* virtual nodes are shifted until they do not slip: exact at any gain; default true.
                                false: the nodal contacts are solved, the given ones certified: STALLED where they
                                differ */
} csim_cond_params;

/* The solvers of the impulse level, and CCS at both. */
typedef struct csim_impulse_params {
    csim_contact_method contact_method; /* PERCONTACT: how one contact is solved; default Newton, exact Coulomb */
    int sides;               /* friction set; 0: disk (default); PGS 4: box, each tangent clipped alone at mu lambda_n;
                                STAGGERED 3..64: polygon in the disk or ellipse, 8 in Kaufman's thesis; LEMKE the same,
                                and 0 is 8 */
    csim_real relaxation;    /* PGS, NEWTON: factor on its steps; PERCONTACT: what the share falls to; 0..2,
                                0: 1, 0.75 and 0.7 */
    csim_real rho;           /* CCS: penalty, unit-free; 0: 1 at first, then balanced */
    bool by_impulse;         /* converged is judged by lambda alone, as other software does: csim_problem_solve solves
                                v = A^-1 (b + J'lambda) anew, and natural_map_scaled and natural_map_siconos (which
                                depends on the units) are to be <= tolerance too; default false */
} csim_impulse_params;

/* NEWTON and NEWTON_PROXIMAL. */
typedef struct csim_newton_params {
    csim_ncp ncp;            /* default Fischer-Burmeister */
    csim_linear linear;      /* default conjugate residuals */
    csim_real scaling;       /* r of phi(u_n, r lambda_n), 1/kg, 0 or more; 0: the diagonal of W (the complementarity
                                preconditioner); 1/h^2 is the paper's r = 1, 1 its r = h^2 */
} csim_newton_params;

/* The springs of contacts: virtual nodes of COND, PENALTY, XPBD under the invertible law. */
typedef struct csim_spring_params {
    csim_real gain;          /* kappa = gain * effective mass; 1..1e8; default 1e3 */
    csim_real kappa;         /* kg; > 0: overrides gain (kappa = h k_v); PENALTY: h^2 k, N/m times s^2 */
    csim_real damping;       /* PENALTY, XPBD: damper of a contact over h times its spring, 0..1e3; default 1 */
} csim_spring_params;

/* Which solver, how exact, how long; what some solvers read is below. 0 is a default where the field says so. */
typedef struct csim_solver_params {
    csim_solver solver;      /* default CSIM_SOLVER_AUTO */
    csim_real tolerance;     /* certified: dynamics and contact <= tolerance; above 0, at most 0.1; default 5e-5 */
    int max_iterations;      /* 1..1e6; default 3000: of the whole call, whatever falls back to what */
    int certify;             /* worlds: every so many steps are certified, 1 (default): all; 0: none; up to 1e9.
                                csim_problem_solve: 0 leaves it out. Only SWEEP and the solvers of the impulse level
                                have a measure of their own to stop by and can leave it out, and only where that is
                                met; by_impulse certifies always. docs/certificate.md */
    int window;              /* Anderson pairs kept, 1..32; 0: 8 for COND, 19 for SWEEP, 20 at the impulse level */
    int inner;               /* NEWTON: linear iterations of a step at most, 0..1e6; 0: 40. SWEEP by name: iterations
                                together with outcome's products at most; 0: iterations alone are limited. BOUNDED,
                                where A couples bodies: 0: through a factor of A; else without one, each block by
                                itself (docs/realtime.md) */
    int substeps;            /* XPBD, BOUNDED: 0..1e5; 0: 20 and 8 */
    csim_real sigma;         /* in: largest eigenvalue of the scaled A from an earlier solve, 0: estimate it */
    double *history;         /* [history_capacity] the solver's residual of each iteration, may be null; NEWTON: the
                                measure after the step to which the linear iteration belongs */
    int history_capacity;
    csim_cond_params cond;
    csim_impulse_params impulse;
    csim_newton_params newton;
    csim_spring_params spring;
} csim_solver_params;

/* How a solve ended. */
typedef enum csim_result {
    CSIM_RESULT_CONVERGED,   /* certified at the tolerance */
    CSIM_RESULT_UNCHECKED,   /* params.certify left the certificate out: the solver's own measure, the contact figure,
                                meets the tolerance; its dynamics, velocity and work are huge: not known */
    CSIM_RESULT_CAP,         /* the iteration cap was reached first; the best iterate is returned */
    CSIM_RESULT_STALLED,     /* no more progress in this precision; the best iterate is returned */
    CSIM_RESULT_NOT_FINITE,  /* the data made a NaN or an infinity; v and lambda are the start */
    CSIM_RESULT_COUNT_
} csim_result;

/* What a solve did. */
typedef struct csim_outcome {
    csim_result result;
    csim_solver solver;      /* the one that ran, where AUTO was asked */
    int iterations;          /* COND: V-FPI steps, one product of A each; SWEEP: sweeps and Newton evaluations */
    int outer;               /* NEWTON: its steps, while iterations counts linear ones; XPBD: substeps; 0 elsewhere */
    int products;            /* products of A in all, estimates and certificates included; SWEEP: what
                                factors of Newton took, in sweeps */
    int rejections;          /* iterates thrown away by the safeguards */
    int virtual_nodes;
    double residual;         /* the solver's own last residual */
    double virtual_slip;     /* velocity by which virtual nodes slip, at most, m/s */
    csim_real sigma;         /* spectral estimate to pass to the next solve; SWEEP: 0 */
    size_t bytes;            /* workspace used at most */
    csim_certificate certificate;
} csim_outcome;

/* Sizes a workspace is made for. */
typedef struct csim_problem_size {
    int blocks;          /* n */
    int matrix_blocks;   /* stored blocks of A */
    int contacts;
    int terms;           /* of all sides */
    int aggregates;      /* of the structure */
    int links;           /* of its chains */
    int elastic;         /* elements of the structure; XPBD */
    bool rigid;          /* A is block diagonal in bodies of at most 4 blocks (32 where the structure names the bodies):
                            SWEEP can take it */
    int factor_blocks;   /* sum over the bodies of their blocks squared; 0: 4 n */
    int reach_blocks;    /* sum over the contacts, and the bodies each acts on, of their blocks that it does not name */
} csim_problem_size;

/* Automatic solver, tolerance 5e-5, 3000 iterations, gain 1e3 with shift; the values stand at the fields. */
CSIM_API csim_solver_params csim_default_solver_params(void);
/* The sizes of a problem, for csim_solver_bytes; all 0 of a problem that csim_problem_check refuses. */
CSIM_API csim_problem_size csim_problem_measure(const csim_problem *problem);
/* Bytes of workspace that csim_problem_solve needs for any problem of at most these sizes. Linear in them, but for the
   coarse block of COND: two square matrices of 6 min(aggregates, 150) doubles a side. See docs/memory.md. */
CSIM_API size_t csim_solver_bytes(const csim_problem_size *size, const csim_solver_params *params);
/* Solves the problem. Needs no world, allocates nothing, reads no clock. solution holds the start and gets the
   result; workspace: csim_solver_bytes, of any alignment. tasks and error may be null.
   A general (non-nodal) contact handed to COND is given virtual nodes inside the workspace (COND paper III-A).
   Fails: CSIM_BAD_PROBLEM, CSIM_OUT_OF_RANGE (a parameter), CSIM_CAPACITY (workspace too small). An unconverged
   solve is CSIM_OK with outcome->result telling so. */
CSIM_API csim_status csim_problem_solve(const csim_problem *problem, const csim_solver_params *params, void *workspace,
                                        size_t workspace_bytes, const csim_tasks *tasks, csim_solution *solution,
                                        csim_outcome *outcome, csim_error *error);

/* Diagonal geometric stiffness (Macklin et al. 2019, eq. 71-74), for problems whose rows J follow the positions q + h v
   and that are solved again around the last v until they agree: D_i = max(0, -(f_i - f'_i) / (v_i - v'_i)), kg, where
   f - f' = (J(v) - J(v'))' lambda [3n] with the last impulses, v' the velocity before v. D on the diagonal of A and D v
   added to b leave the answer where it is and keep the iteration from overshooting across stiff rows. For the blocks of
   particles. Worlds have the rows of a step's start and geometric of csim_world_def in its place. */
CSIM_API void csim_geometric_stiffness(int n, const csim_real *v, const csim_real *v_before,
                                       const csim_real *force_change, csim_real *D);

#endif
