/* solve/table: the solvers of the velocity level by name, and the public door to them. */
#include "private.h"

#ifndef CONDSIM_NO_CCS
/* CCS has a form of its own where A is no set of small bodies; on those it goes through the impulse level, where A^-1
   is exact. */
static size_t csimi_any_ccs_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    /* which of the two runs is known with the problem alone, so there is room for either */
    return csimi_most_bytes(csimi_ccs_motion_bytes(size, params), csimi_lift_bytes(size, params));
}

static csim_status csimi_any_ccs_solve(const csim_problem *problem, const csim_solver_params *params,
                                       csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                       csim_outcome *outcome, csim_error *error) {
    return (csimi_bodies_take(problem) ? csimi_lift_solve : csimi_ccs_motion_solve)(problem, params, arena, tasks,
                                                                                    solution, outcome, error);
}
#endif

/* Any A will do: where it is no set of bodies W is applied by conjugate gradients. */
static bool csimi_lift_takes(const csim_problem *problem) {
    (void)problem;
    return true;
}

/* The row of a solver of the impulse level, and that of a solver which this build leaves out. */
#define CSIMI_LEFT_OUT \
    { NULL, NULL, NULL }
#ifdef CONDSIM_NO_IMPULSE
#define CSIMI_LIFTED CSIMI_LEFT_OUT
#define CSIMI_SWEEP_TAKES csimi_sweep_takes /* bodies alone: there is no other way to W */
#else
#define CSIMI_LIFTED \
    { csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve }
#define CSIMI_SWEEP_TAKES csimi_lift_takes
#endif

/* In the order of csim_solver. */
static const csimi_velocity_solver csimi_velocity_solvers[CSIM_SOLVER_COUNT_] = {
    /* bytes, takes, solve */
    {csimi_auto_bytes, csimi_lift_takes, csimi_auto_solve},
#ifndef CONDSIM_NO_COND
    {csimi_cond_bytes, csimi_cond_takes, csimi_cond_solve},
#else
    CSIMI_LEFT_OUT, /* cond */
#endif
#ifndef CONDSIM_NO_SWEEP
    {csimi_any_sweep_bytes, CSIMI_SWEEP_TAKES, csimi_any_sweep_solve},
#else
    CSIMI_LEFT_OUT, /* sweep */
#endif
    CSIMI_LIFTED, CSIMI_LIFTED, /* anderson, proximal */
    CSIMI_LIFTED, CSIMI_LIFTED, /* pgs, apgd */
    CSIMI_LIFTED, CSIMI_LIFTED, /* percontact, staggered */
#ifndef CONDSIM_NO_CCS
    {csimi_any_ccs_bytes, csimi_lift_takes, csimi_any_ccs_solve},
#else
    CSIMI_LEFT_OUT, /* ccs */
#endif
    CSIMI_LIFTED, CSIMI_LIFTED, /* newton, newton-proximal */
#ifndef CONDSIM_NO_XPBD
    {csimi_xpbd_bytes, csimi_xpbd_takes, csimi_xpbd_solve},
#else
    CSIMI_LEFT_OUT, /* xpbd */
#endif
#ifndef CONDSIM_NO_PENALTY
    {csimi_penalty_bytes, csimi_lift_takes, csimi_penalty_solve},
    {csimi_penalty_bytes, csimi_penalty_takes, csimi_penalty_solve},
#else
    CSIMI_LEFT_OUT, CSIMI_LEFT_OUT, /* penalty */
#endif
#ifndef CONDSIM_NO_BOUNDED
    {csimi_bounded_bytes, csimi_bounded_takes, csimi_bounded_solve},
#else
    CSIMI_LEFT_OUT, /* bounded */
#endif
#ifdef CONDSIM_REFERENCE
    CSIMI_LIFTED, /* lemke */
#endif
};

static const csimi_velocity_solver *csimi_velocity_solver_of(csim_solver solver) {
    const csimi_velocity_solver *row = csimi_velocity_solvers + solver;
#ifndef CONDSIM_NO_IMPULSE /* which has a table of its own of who is there */
    static const csimi_velocity_solver none = CSIMI_LEFT_OUT;
    if (row->solve == csimi_lift_solve && !csimi_impulse_solver_of(solver)->solve) return &none;
#endif
    return row;
}

#undef CSIMI_LIFTED
#undef CSIMI_LEFT_OUT
#undef CSIMI_SWEEP_TAKES

CSIMI_FN bool csimi_solver_there(const csim_solver_params *params) {
#ifdef CONDSIM_NO_IMPULSE
    if (params->impulse.by_impulse) return false; /* judging by lambda alone is part of the impulse level */
#endif
    return csimi_velocity_solver_of(params->solver)->solve != NULL;
}

CSIM_API csim_solver_info csim_describe_solver(csim_solver solver) {
#define CSIMI_X(name, value, text) text,
    static const char *const text[CSIM_SOLVER_COUNT_] = {
        CSIM_SOLVER_LIST(CSIMI_X)
#ifdef CONDSIM_REFERENCE
            "Coulomb friction in a polygon as a complementarity problem, Lemke's pivots, dense (impulse level)"
#endif
    };
#undef CSIMI_X
    csim_solver_info info;
    CSIMI_MEMSET(&info, 0, sizeof info);
    if ((unsigned)solver < (unsigned)CSIM_SOLVER_COUNT_) {
        const csimi_solver_traits *traits = csimi_solver_traits_of(solver);
        info.name = traits->name;
        info.text = text[solver];
        info.velocity = csimi_velocity_solver_of(solver)->solve; /* not null: true */
#ifndef CONDSIM_NO_IMPULSE
        /* AUTO has no row of its own there, it stands for SWEEP */
        info.impulse = csimi_impulse_solver_of(solver)->solve || solver == CSIM_SOLVER_AUTO;
#endif
        info.rows = traits->rows;
    }
    return info;
}

CSIM_API size_t csim_solver_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    size_t most;
    if (!size || !params || (unsigned)params->solver >= (unsigned)CSIM_SOLVER_COUNT_) return 0;
    if (!csimi_solver_there(params)) return 0;
    most = csimi_velocity_solver_of(params->solver)->bytes(size, params);
#ifndef CONDSIM_NO_IMPULSE
    /* lambda is judged when the solver has given its memory back: the larger of both, not the sum */
    if (params->impulse.by_impulse) most = csimi_most_bytes(most, csimi_lift_bytes(size, NULL));
#endif
    return most > SIZE_MAX - CSIMI_ALIGN ? SIZE_MAX : most + CSIMI_ALIGN; /* a workspace may begin anywhere */
}

#ifndef CONDSIM_NO_IMPULSE
/* impulse.by_impulse: what was certified is judged by lambda alone, and where that is not content solved on from there
   to a smaller tolerance. */
static csim_status csimi_solve_by_impulse(const csim_problem *problem, const csim_solver_params *params,
                                          csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                          csim_outcome *outcome, csim_error *error) {
    const csimi_velocity_solver *solver = csimi_velocity_solver_of(params->solver);
    csim_solver_params p = *params;
    csim_outcome sum = *outcome;
    const size_t mark = arena->used;
    int trial;
    p.certify = 1; /* an UNCHECKED answer would not be judged */
    for (trial = 0; trial < 8; ++trial, csimi_pop(arena, mark)) {
        const csim_certificate *f = &outcome->certificate;
        csim_status status;
        outcome->iterations = outcome->products = outcome->rejections = 0; /* of this attempt; sum has the others */
        status = solver->solve(problem, &p, arena, tasks, solution, outcome, error);
        if (status != CSIM_OK) return status;
        sum.iterations = outcome->iterations += sum.iterations;
        sum.products = outcome->products += sum.products;
        sum.rejections = outcome->rejections += sum.rejections;
        if (outcome->result != CSIM_RESULT_CONVERGED) return CSIM_OK; /* a missed certificate needs no judge */
        if (!csimi_lift_judge(problem, arena, tasks, solution, &outcome->certificate, &sum.products)) break;
        outcome->products = sum.products;
        if (csim_certificate_worst(f) <= (double)params->tolerance &&
            f->natural_map_scaled <= (double)params->tolerance && f->natural_map_siconos <= (double)params->tolerance)
            return CSIM_OK;
        p.tolerance *= CSIM_R(0.3); /* on from the impulses at hand */
        p.max_iterations = params->max_iterations - sum.iterations;
        if (p.max_iterations < 1) break;
    }
    outcome->result = sum.iterations >= params->max_iterations ? CSIM_RESULT_CAP : CSIM_RESULT_STALLED;
    return CSIM_OK;
}
#endif

/* Solves what params and a check have let pass. */
static csim_status csimi_problem_run(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                     csim_status checked, const csim_tasks *tasks, csim_solution *solution,
                                     csim_outcome *outcome, csim_error *error) {
    static const csim_outcome none = {CSIM_RESULT_NOT_FINITE, CSIM_SOLVER_AUTO, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                      {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1}};
    const csimi_velocity_solver *solver = csimi_velocity_solver_of(params->solver);
    *outcome = none; /* defined even where the solve is refused */
    outcome->solver = params->solver;
    if (checked == CSIM_NOT_FINITE) return CSIM_OK; /* an outcome, not a mistake of the call: a diverged scene */
    if (checked != CSIM_OK) return checked;
    /* else it would run on bodies or laws that it has no code for */
    if (!solver->takes(problem) || !csimi_solver_laws(params->solver, problem->contacts, problem->contact_count))
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "params.solver", (double)(int)params->solver,
                          csimi_solver_traits_of(params->solver)->needs);
#ifndef CONDSIM_NO_IMPULSE
    if (params->impulse.by_impulse)
        return csimi_solve_by_impulse(problem, params, arena, tasks, solution, outcome, error);
#endif
    return solver->solve(problem, params, arena, tasks, solution, outcome, error);
}

CSIMI_FN csim_status csimi_problem_solve(const csim_problem *problem, const csim_solver_params *params,
                                         csimi_arena *arena, csim_status checked, const csim_tasks *tasks,
                                         csim_solution *solution, csim_outcome *outcome, csim_error *error) {
    csimi_arena rest = csimi_arena_in(arena->base + arena->used, arena->size - arena->used);
    csim_status status;
    rest.shelf = arena->shelf;
    status = csimi_problem_run(problem, params, &rest, checked, tasks, solution, outcome, error);
    /* rest has counted by itself: its peak becomes one of the arena */
    if (status == CSIM_OK && arena->used + outcome->bytes > arena->high) arena->high = arena->used + outcome->bytes;
    return status;
}

CSIM_API csim_status csim_problem_solve(const csim_problem *problem, const csim_solver_params *params, void *workspace,
                                        size_t workspace_bytes, const csim_tasks *tasks, csim_solution *solution,
                                        csim_outcome *outcome, csim_error *error) {
    csimi_arena arena = csimi_arena_in(workspace, workspace_bytes);
    csim_status status;
    if (!problem || !params || !workspace || !solution || !outcome)
        return csimi_missing(error, "csim_problem_solve",
                             !problem ? "problem" : !params ? "params" : !workspace ? "workspace"
                                      : !solution ? "solution" : "outcome");
    status = csimi_solver_check(params, false, "csim_problem_solve", error);
    if (status != CSIM_OK) return status;
    if (!csimi_solver_there(params))
        return csimi_fail(error, CSIM_UNSUPPORTED, "csim_problem_solve", "params.solver", (double)(int)params->solver,
                          CSIMI_SOLVERS_THERE);
    /* a NaN is an outcome, not an error */
    return csimi_problem_run(problem, params, &arena, csim_problem_check(problem, error), tasks, solution, outcome,
                             error);
}
