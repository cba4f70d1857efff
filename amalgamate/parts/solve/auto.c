/* solve/auto: SWEEP on any problem, and AUTO: SWEEP where it fits, COND elsewhere, and SWEEP through a factor for what
   COND has missed. */
#include "private.h"

/* ---- SWEEP on any problem: on bodies where A is a set of bodies, through W elsewhere. AUTO asks csimi_sweep_takes. */

#ifndef CONDSIM_NO_SWEEP
CSIMI_FN size_t csimi_any_sweep_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    const size_t bodies = size->rigid ? csimi_sweep_bytes(size, params) : 0;
#ifdef CONDSIM_NO_IMPULSE
    return bodies;
#else
    csim_solver_params p = *params;
    size_t lifted;
    if (p.solver == CSIM_SOLVER_AUTO) return bodies; /* AUTO hands SWEEP sets of bodies only */
    p.solver = CSIM_SOLVER_SWEEP;
    lifted = csimi_lift_bytes(size, &p);
    return bodies > lifted ? bodies : lifted;
#endif
}

CSIMI_FN csim_status csimi_any_sweep_solve(const csim_problem *problem, const csim_solver_params *params,
                                           csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                           csim_outcome *outcome, csim_error *error) {
#ifndef CONDSIM_NO_IMPULSE
    if (!csimi_sweep_takes(problem)) return csimi_lift_solve(problem, params, arena, tasks, solution, outcome, error);
#endif
    return csimi_sweep_solve(problem, params, arena, tasks, solution, outcome, error);
}
#endif

/* ---- AUTO */

#ifndef CONDSIM_NO_COND
/* A second start, and then what is found from there; and the nearest of all answers that missed. */
typedef struct csimi_others {
    csim_solution start, nearest;
    csim_certificate figures; /* of the nearest */
    csim_result result;       /* of the nearest, NOT_FINITE: there is none */
} csimi_others;

static csim_solution csimi_solution_push(csimi_arena *arena, int blocks, int contacts) {
    csim_real *v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)blocks);
    return csim_solution_of(v, CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts));
}

static void csimi_others_layout(csimi_others *others, csimi_arena *arena, int blocks, int contacts) {
    others->start = csimi_solution_push(arena, blocks, contacts);
    others->nearest = csimi_solution_push(arena, blocks, contacts);
}

/* COND is a second chance for small rigid islands only: on a pile it takes a hundred times longer than the sweeps that
   missed, and what it then returns is no better. Its dense matrices of 64 bodies take 1.8 MB, those of 150 ten. */
enum { CSIMI_SECOND_CONTACTS = 256, CSIMI_SECOND_BODIES = 64, CSIMI_SECOND_BLOCKS = 4 * (CSIMI_SECOND_BODIES + 1) };
enum { CSIMI_SECOND_TERMS = 8 * CSIMI_SECOND_CONTACTS }; /* contacts of deep trees may have more */

static bool csimi_second_chance(const csim_problem *problem) {
    const csim_structure *s = problem->structure;
    /* groups of COND's coarse matrix, whose dense factor is what costs */
    const int bodies = csimi_coarse_usable(s) ? s->aggregate_count : csimi_cond_pairs(problem);
    return bodies <= CSIMI_SECOND_BODIES && problem->contact_count <= CSIMI_SECOND_CONTACTS &&
           csimi_pieces_count(problem) <= CSIMI_SECOND_TERMS && problem->A.n <= CSIMI_SECOND_BLOCKS &&
           problem->A.row[problem->A.n] <= 4 * CSIMI_SECOND_BLOCKS;
}

/* The largest problem of these sizes that gets a second chance. */
static csim_problem_size csimi_second_size(const csim_problem_size *size) {
    csim_problem_size s = *size;
    s.contacts = csimi_imin(s.contacts, CSIMI_SECOND_CONTACTS);
    s.terms = csimi_imin(s.terms, CSIMI_SECOND_TERMS);
    s.blocks = csimi_imin(s.blocks, CSIMI_SECOND_BLOCKS);
    s.matrix_blocks = csimi_imin(s.matrix_blocks, 4 * CSIMI_SECOND_BLOCKS);
    s.aggregates = csimi_imin(s.aggregates, CSIMI_SECOND_BODIES);
    return s;
}

CSIMI_FN size_t csimi_auto_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    const csim_problem_size second = csimi_second_size(size);
    csimi_arena arena = csimi_arena_counting();
    csimi_others others;
#ifdef CONDSIM_NO_SWEEP
    size_t most = csimi_cond_bytes(size, params);
    (void)second;
#else
    size_t most = csimi_cond_bytes(size->rigid ? &second : size, params); /* rigid: COND comes second */
    if (size->rigid || size->factor_blocks) most = csimi_most_bytes(most, csimi_any_sweep_bytes(size, params));
    /* soft islands: sweeps through a factor */
    if (!size->rigid) most = csimi_most_bytes(most, csimi_sweep_coupled_bytes(size, params));
#endif
    csimi_others_layout(&others, &arena, size->blocks, size->contacts);
    return arena.high > SIZE_MAX - 64 - most ? SIZE_MAX : arena.high + most; /* a sum that would wrap */
}

typedef csim_status csimi_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                csim_error *error);

/* CAP or STALLED. Numbers that are not finite come from the data: no other solver mends them. */
static bool csimi_missed(csim_status status, const csim_outcome *outcome) {
    return status == CSIM_OK && outcome->result > CSIM_RESULT_UNCHECKED && outcome->result != CSIM_RESULT_NOT_FINITE;
}

/* Whether an answer that missed is nearer than all before. */
static bool csimi_nearer(const csim_certificate *than, const csim_certificate *figures) {
    return csim_certificate_worst(figures) < csim_certificate_worst(than);
}

/* Up to this the first answer stands: it may be as near as a world asks, which asks solvers for more. */
static const double CSIMI_AUTO_NEAR = 1e-3;

/* One more attempt, from the start in others. A certified answer replaces the first; otherwise that stays, as where
   later attempts go on from, and the nearest is told once all have missed. Of the iterations that max_iterations leaves
   it may take one in share. */
static csim_status csimi_attempt(csimi_solve *solve, const csim_problem *problem, const csim_solver_params *params,
                                 int share, csimi_arena *arena, const csim_tasks *tasks, csimi_others *others,
                                 csim_solution *solution, csim_outcome *outcome, csim_error *error) {
    const size_t mark = arena->used;
    csim_solver_params rest = *params;
    csim_outcome second;
    csim_status status;
    rest.max_iterations = (params->max_iterations - outcome->iterations) / share;
    rest.certify = 1;
    if (rest.max_iterations < 1) return CSIM_OK; /* max_iterations bounds the whole call */
    CSIMI_MEMSET(&second, 0, sizeof second);
    second.certificate.worst_contact = -1;
    status = solve(problem, &rest, arena, tasks, &others->start, &second, error);
    csimi_pop(arena, mark);
    if (status == CSIM_BAD_PROBLEM) { /* too much is coupled for a factor: the first answer stands */
        if (error) CSIMI_MEMSET(error, 0, sizeof *error);
        return CSIM_OK;
    }
    if (status != CSIM_OK) return status;
    if (csimi_missed(status, &second) && csimi_nearer(&others->figures, &second.certificate) &&
        csimi_all_finite(others->start.v, 3 * problem->A.n) &&
        csimi_all_finite(others->start.lambda, 3 * problem->contact_count)) {
        csimi_solution_take(problem, others->start.v, others->start.lambda, &others->nearest);
        others->figures = second.certificate;
        others->result = second.result;
    }
    /* the work of both is told, whoever's answer stays */
    second.iterations += outcome->iterations;
    second.products += outcome->products;
    second.rejections += outcome->rejections;
    if (second.result == CSIM_RESULT_CONVERGED) {
        csimi_solution_take(problem, others->start.v, others->start.lambda, solution);
        *outcome = second;
    } else {
        outcome->iterations = second.iterations;
        outcome->products = second.products;
        outcome->rejections = second.rejections;
    }
    return CSIM_OK;
}

enum { CSIMI_AUTO_FEW = 10 }; /* iterations by which COND has solved most of what it solves quickly */

/* Whether rows of joints are among the contacts. A step closes joints by solving again and again, and what one solve
   leaves open the next ones have to close: COND's answers within a tenth of the tolerance take four times as many. */
static bool csimi_auto_joins(const csim_problem *problem) {
    int m = 0;
    while (m < problem->contact_count && problem->contacts[m].law < CSIM_LAW_BILATERAL) ++m;
    return m < problem->contact_count;
}

/* Whether sweeps through a factor of A are worth it: a contact of several blocks costs COND virtual nodes, and joints
   many an iteration. */
static bool csimi_auto_couples(const csim_problem *problem) {
#ifdef CONDSIM_NO_SWEEP
    return (void)problem, false;
#else
    int m;
    if (!csimi_sweep_couples(problem)) return false;
    for (m = 0; m < problem->contact_count; ++m)
        if (problem->contacts[m].a.count > 1 || problem->contacts[m].b.count > 1) return true;
    return csimi_auto_joins(problem);
#endif
}

/* The first attempt, from the start in solution and in other: SWEEP where it fits, COND where it does not. An island
   where soft bodies share contacts of several blocks gets few iterations of COND, and sweeps through a factor of A from
   the same start for what those have missed; one with joints gets the sweeps first. */
static csim_status csimi_auto_first(const csim_problem *problem, const csim_solver_params *params, bool sweeps,
                                    csimi_arena *arena, const csim_tasks *tasks, csimi_others *others,
                                    csim_solution *solution, csim_outcome *outcome, csim_error *error) {
    const size_t mark = arena->used;
    const bool couples = !sweeps && csimi_auto_couples(problem), joins = couples && csimi_auto_joins(problem);
    csim_solver_params few = *params;
    csim_outcome before;
    csim_status status = CSIM_OK;
#ifndef CONDSIM_NO_SWEEP
    if (sweeps) return csimi_any_sweep_solve(problem, params, arena, tasks, solution, outcome, error);
#endif
    if (!couples) return csimi_cond_solve(problem, params, arena, tasks, solution, outcome, error);
    CSIMI_MEMSET(&before, 0, sizeof before);
    before.result = CSIM_RESULT_STALLED; /* nobody has tried */
#ifndef CONDSIM_NO_SWEEP
    if (joins) /* half of what there is, so that COND may follow */
        status = csimi_attempt(csimi_sweep_solve, problem, params, 2, arena, tasks, others, solution, &before, error);
#endif
    if (!csimi_missed(status, &before)) {
        *outcome = before;
        return status;
    }
    few.max_iterations = csimi_imin(CSIMI_AUTO_FEW, csimi_imax(1, few.max_iterations - before.iterations));
    /* a tenth: what COND leaves at the tolerance itself kicks bodies that lie at rest */
    few.tolerance = params->tolerance / 10;
    status = csimi_cond_solve(problem, &few, arena, tasks, solution, outcome, error);
    outcome->iterations += before.iterations;
    outcome->products += before.products;
    csimi_pop(arena, mark);
#ifndef CONDSIM_NO_SWEEP
    if (!joins && csimi_missed(status, outcome)) /* half of what is left, so that COND may go on */
        status = csimi_attempt(csimi_sweep_solve, problem, params, 2, arena, tasks, others, solution, outcome, error);
#endif
    if (!csimi_missed(status, outcome)) return status;
    /* COND goes on from where its few iterations ended, with what is left to the first attempt */
    csimi_solution_take(problem, solution->v, solution->lambda, &others->start);
    return csimi_attempt(csimi_cond_solve, problem, params, 1, arena, tasks, others, solution, outcome, error);
}

/* What SWEEP missed on a small island COND solves from the same start; what was missed still COND solves from rest with
   virtual nodes ten times softer, which leads past many a start that it gets lost from, and with what is left of the
   iterations from where the first attempt ended. That leaves half of max_iterations to those that may follow. */
static csim_status csimi_auto_run(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                  const csim_tasks *tasks, csimi_others *others, csim_solution *solution,
                                  csim_outcome *outcome, csim_error *error) {
#ifdef CONDSIM_NO_SWEEP
    const bool sweeps = false;
#else
    const bool sweeps = csimi_sweep_takes(problem);
#endif
    const bool alone = sweeps && !csimi_second_chance(problem); /* nobody follows: all iterations are its own */
    csim_solver_params first = *params, softer = *params;
    const size_t mark = arena->used;
    csim_status status;
    if (!alone) first.max_iterations = csimi_imax(1, params->max_iterations / 2);
    if (!arena->overflow) /* else they are null */
        csimi_solution_take(problem, solution->v, solution->lambda, &others->start);
    status = csimi_auto_first(problem, &first, sweeps, arena, tasks, others, solution, outcome, error);
    csimi_pop(arena, mark);
    if (!csimi_missed(status, outcome) || alone) return status;
    if (sweeps)
        status = csimi_attempt(csimi_cond_solve, problem, params, 2, arena, tasks, others, solution, outcome, error);
    if (!csimi_missed(status, outcome)) return status;
    /* from rest: the start itself may be what COND gets lost from */
    CSIMI_MEMSET(others->start.v, 0, 3 * (size_t)problem->A.n * sizeof(csim_real));
    CSIMI_MEMSET(others->start.lambda, 0, 3 * (size_t)problem->contact_count * sizeof(csim_real));
    softer.spring.gain = csimi_max(1, params->spring.gain / 10); /* 1 is the least gain allowed */
    status = csimi_attempt(csimi_cond_solve, problem, &softer, 1, arena, tasks, others, solution, outcome, error);
    if (!csimi_missed(status, outcome)) return status;
    csimi_solution_take(problem, solution->v, solution->lambda, &others->start);
    return csimi_attempt(csimi_cond_solve, problem, params, 1, arena, tasks, others, solution, outcome, error);
}

CSIMI_FN csim_status csimi_auto_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    const size_t mark = arena->used;
    csimi_others others;
    csim_status status;
    csimi_others_layout(&others, arena, problem->A.n, problem->contact_count);
    CSIMI_MEMSET(&others.figures, 0, sizeof others.figures);
    others.figures.dynamics = (double)CSIMI_HUGE;
    others.result = CSIM_RESULT_NOT_FINITE; /* nobody has missed */
    status = csimi_auto_run(problem, params, arena, tasks, &others, solution, outcome, error);
    if (csimi_missed(status, outcome) && others.result != CSIM_RESULT_NOT_FINITE &&
        csim_certificate_worst(&outcome->certificate) > CSIMI_AUTO_NEAR &&
        csimi_nearer(&outcome->certificate, &others.figures)) {
        csimi_solution_take(problem, others.nearest.v, others.nearest.lambda, solution);
        outcome->certificate = others.figures;
        outcome->result = others.result;
    }
    csimi_pop(arena, mark);
    return status;
}
#else
/* A build without COND: SWEEP, or nobody. */
CSIMI_FN size_t csimi_auto_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    return csimi_any_sweep_bytes(size, params);
}

CSIMI_FN csim_status csimi_auto_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    if (csimi_bodies_take(problem))
        return csimi_any_sweep_solve(problem, params, arena, tasks, solution, outcome, error);
    return csimi_fail(error, CSIM_UNSUPPORTED, "csim_problem_solve", "params.solver", 0,
                      "SWEEP by name, or a build without CONDSIM_NO_COND: A is no set of bodies");
}
#endif
