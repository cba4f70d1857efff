/* solve/table: the solvers by name, and the public door to them. */
#include "private.h"

/* ---- SWEEP on any problem: on bodies where A is a set of bodies, through W elsewhere. AUTO asks csimi_sweep_takes. */

static size_t csimi_any_sweep_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    const size_t bodies = size->rigid ? csimi_sweep_bytes(size, params) : 0;
    csim_solver_params p = *params;
    size_t lifted;
    if (p.solver == CSIM_SOLVER_AUTO) return bodies;
    p.solver = CSIM_SOLVER_SWEEP;
    lifted = csimi_lift_bytes(size, &p);
    return bodies > lifted ? bodies : lifted;
}

static csim_status csimi_any_sweep_solve(const csim_problem *problem, const csim_solver_params *params,
                                         csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                         csim_outcome *outcome, csim_error *error) {
    return csimi_sweep_takes(problem) ? csimi_sweep_solve(problem, params, arena, tasks, solution, outcome, error)
                                      : csimi_lift_solve(problem, params, arena, tasks, solution, outcome, error);
}

CSIMI_FN const csimi_solver_entry *csimi_solver_table(void) {
    static const char blocks[] = "a problem of bodies of 1 to 4 blocks, W in blocks or dense, or at most 32 contacts";
    static const char newton[] = "contacts of the laws strict, invertible, bilateral and box";
    static const char xpbd[] = "bodies of 1 to 4 coupled blocks and cables (no chains of springs, cloth, solids) in "
                               "backward Euler; no proximal law";
    static const char penalty[] = "contacts of the laws strict, bilateral and box";
    static const char explicit_penalty[] = "strict, anisotropic, bilateral and box laws in backward Euler";
    static const char any[] = "a positive definite A, with every contact on blocks that can move";
    static const csimi_solver_entry table[CSIM_SOLVER_COUNT_] = {
        /* name; level of velocities: bytes, takes, solve; of impulses: bytes, solve; rows of W; laws; needs */
        {"auto", NULL, NULL, NULL, NULL, NULL, false, CSIMI_ALL_LAWS, any},
        {"cond", csimi_cond_bytes, csimi_cond_takes, csimi_cond_solve, NULL, NULL, false, CSIMI_ALL_LAWS, any},
        {"sweep", csimi_any_sweep_bytes, csimi_lift_takes, csimi_any_sweep_solve, csimi_cascade_bytes,
         csimi_cascade_solve, false, CSIMI_ALL_LAWS, any},
        {"anderson", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_cascade_bytes, csimi_cascade_anderson,
         false, CSIMI_ALL_LAWS, any},
        {"proximal", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_cascade_bytes, csimi_cascade_proximal,
         false, CSIMI_ALL_LAWS, any},
        {"pgs", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_pgs_bytes, csimi_pgs_solve, true,
         CSIMI_ALL_LAWS, blocks},
        {"apgd", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_apgd_bytes, csimi_apgd_solve, false,
         CSIMI_ALL_LAWS, any},
        {"percontact", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_percontact_bytes,
         csimi_percontact_solve, true, CSIMI_ALL_LAWS, blocks},
        {"staggered", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_staggered_bytes,
         csimi_staggered_solve, false, CSIMI_ALL_LAWS, any},
        {"ccs", csimi_ccs_motion_bytes, csimi_lift_takes, csimi_ccs_motion_solve, csimi_ccs_bytes, csimi_ccs_solve,
         false, CSIMI_ALL_LAWS, any},
        {"newton", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_nonsmooth_bytes, csimi_nonsmooth_solve,
         false, CSIMI_NONSMOOTH_LAWS, newton},
        {"newton-proximal", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_nonsmooth_bytes,
         csimi_nonsmooth_proximal, false, CSIMI_NONSMOOTH_LAWS, newton},
        {"xpbd", csimi_xpbd_bytes, csimi_xpbd_takes, csimi_xpbd_solve, NULL, NULL, false, CSIMI_XPBD_LAWS, xpbd},
        {"penalty", csimi_penalty_bytes, csimi_lift_takes, csimi_penalty_solve, NULL, NULL, false, CSIMI_PENALTY_LAWS,
         penalty},
        {"penalty-explicit", csimi_penalty_bytes, csimi_penalty_takes, csimi_penalty_solve, NULL, NULL, false,
         CSIMI_PENALTY_EXPLICIT_LAWS, explicit_penalty},
#ifdef CONDSIM_REFERENCE
        {"lemke", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_lemke_bytes, csimi_lemke_solve, false,
         CSIMI_ALL_LAWS, any},
#endif
    };
    return table;
}

CSIMI_FN bool csimi_solver_rows(const csim_solver_params *params) {
    const bool newton = params->solver == CSIM_SOLVER_NEWTON || params->solver == CSIM_SOLVER_NEWTON_PROXIMAL;
    return csimi_solver_table()[params->solver].rows || (newton && params->linear == CSIM_LINEAR_GAUSS_SEIDEL);
}

CSIMI_FN bool csimi_solver_gaps(csim_solver solver) {
    return solver == CSIM_SOLVER_XPBD || solver == CSIM_SOLVER_PENALTY || solver == CSIM_SOLVER_PENALTY_EXPLICIT;
}

CSIMI_FN bool csimi_solver_laws(csim_solver solver, const csim_contact *contacts, int count) {
    const unsigned laws = csimi_solver_table()[solver].laws;
    int c;
    for (c = 0; c < count; ++c)
        if (!(laws >> contacts[c].law & 1u)) return false;
    return true;
}

CSIM_API csim_solver_params csim_default_solver_params(void) {
    csim_solver_params p;
    CSIMI_MEMSET(&p, 0, sizeof p);
    p.solver = CSIM_SOLVER_AUTO;
    p.tolerance = CSIM_R(5e-5);
    p.max_iterations = 1500;
    p.gain = CSIM_R(1e3);
    p.shift = true;
    p.geometric = true;
    p.damping = 1;
    return p;
}

CSIM_API csim_problem_size csim_problem_measure(const csim_problem *problem) {
    csim_problem_size size;
    const csim_structure *s = problem->structure;
    int m, side;
    CSIMI_MEMSET(&size, 0, sizeof size);
    size.blocks = problem->A.n;
    size.matrix_blocks = problem->A.row[problem->A.n];
    size.contacts = problem->contact_count;
    for (m = 0; m < problem->contact_count; ++m)
        for (side = 0; side < 2; ++side) {
            const int count = side ? problem->contacts[m].b.count : problem->contacts[m].a.count;
            size.terms += count <= 4 ? count : (count * count + 3) / 4;
        }
    size.aggregates = csimi_coarse_usable(s) ? s->aggregate_count : csimi_cond_pairs(problem);
    size.links = csimi_chains_links(s);
    size.elastic = s ? csimi_imax(s->elastic_count, 0) : 0;
    size.rigid = csimi_sweep_takes(problem);
    size.factor_blocks = csimi_bodies_factor_blocks(problem);
    size.reach_blocks = csimi_bodies_reach_blocks(problem);
    return size;
}

/* Room for a second start, and then for the better of two results. */
static csim_solution csimi_solution_push(csimi_arena *arena, int blocks, int contacts) {
    csim_solution s;
    s.v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)blocks);
    s.lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    return s;
}

/* COND is a second chance for small rigid islands only: on a pile it takes a hundred times longer than the sweeps that
   missed, and what it then returns is no better. */
enum { CSIMI_SECOND_CONTACTS = 256, CSIMI_SECOND_BLOCKS = 4 * 257 };

static bool csimi_second_chance(const csim_problem *problem) {
    return problem->contact_count <= CSIMI_SECOND_CONTACTS && problem->A.n <= CSIMI_SECOND_BLOCKS &&
           problem->A.row[problem->A.n] <= 4 * CSIMI_SECOND_BLOCKS;
}

/* The largest problem of these sizes that gets a second chance. */
static csim_problem_size csimi_second_size(const csim_problem_size *size) {
    csim_problem_size s = *size;
    s.contacts = csimi_imin(s.contacts, CSIMI_SECOND_CONTACTS);
    s.terms = csimi_imin(s.terms, 8 * CSIMI_SECOND_CONTACTS);
    s.blocks = csimi_imin(s.blocks, CSIMI_SECOND_BLOCKS);
    s.matrix_blocks = csimi_imin(s.matrix_blocks, 4 * CSIMI_SECOND_BLOCKS);
    s.aggregates = csimi_imin(s.aggregates, CSIMI_SECOND_BLOCKS);
    return s;
}

static size_t csimi_most(size_t a, size_t b) { return a > b ? a : b; }

CSIM_API size_t csim_solver_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    const csimi_solver_entry *table = csimi_solver_table();
    csimi_arena arena = csimi_arena_counting();
    csim_problem_size second;
    size_t most = 0;
    int k;
    if (!size || !params) return 0;
    second = csimi_second_size(size);
    for (k = CSIM_SOLVER_COND; k < CSIM_SOLVER_COUNT_; ++k) {
        size_t bytes;
        if (params->solver == CSIM_SOLVER_AUTO ? k > CSIM_SOLVER_SWEEP : (int)params->solver != k) continue;
        if (!table[k].bytes) continue;
        if (k == CSIM_SOLVER_SWEEP && params->solver == CSIM_SOLVER_AUTO && !size->rigid && !size->factor_blocks)
            continue;
        bytes = table[k].bytes(
            k == CSIM_SOLVER_COND && params->solver == CSIM_SOLVER_AUTO && size->rigid ? &second : size, params);
        most = csimi_most(most, bytes);
    }
    if (params->by_impulse) most = csimi_most(most, csimi_lift_bytes(size, NULL));
    if (params->solver == CSIM_SOLVER_AUTO) (void)csimi_solution_push(&arena, size->blocks, size->contacts);
    return arena.high > SIZE_MAX - 128 - most ? SIZE_MAX : arena.high + most + 64;
}

/* ---- parameters */

static csim_status csimi_solver_range(csim_error *error, const char *field, double value, const char *allowed) {
    return csimi_fail(error, CSIM_OUT_OF_RANGE, "csim_problem_solve", field, true, value, allowed);
}

CSIMI_FN csim_status csimi_solver_check(const csim_solver_params *p, csim_error *error) {
    if ((int)p->solver < 0 || (int)p->solver >= CSIM_SOLVER_COUNT_)
        return csimi_solver_range(error, "params.solver", (double)(int)p->solver, "a csim_solver");
    if (!(p->tolerance > 0 && p->tolerance <= CSIM_R(0.1)))
        return csimi_solver_range(error, "params.tolerance", (double)p->tolerance, "above 0, at most 0.1");
    if (p->max_iterations < 1 || p->max_iterations > 1000000)
        return csimi_solver_range(error, "params.max_iterations", (double)p->max_iterations, "1 to 1000000");
    if ((int)p->weight < 0 || p->weight >= CSIM_WEIGHT_COUNT_)
        return csimi_solver_range(error, "params.weight", (double)(int)p->weight, "a csim_weight");
    if ((int)p->acceleration < 0 || p->acceleration >= CSIM_ACCELERATION_COUNT_)
        return csimi_solver_range(error, "params.acceleration", (double)(int)p->acceleration, "a csim_acceleration");
    if (p->window < 0 || p->window > 32)
        return csimi_solver_range(error, "params.window", (double)p->window, "0 to 32");
    if (!(p->gain >= 1 && p->gain <= CSIM_R(1e8)))
        return csimi_solver_range(error, "params.gain", (double)p->gain, "1 to 1e8");
    if (!(p->kappa >= 0 && p->kappa < CSIMI_HUGE))
        return csimi_solver_range(error, "params.kappa", (double)p->kappa, "0 or more, kg");
    if (!(p->sigma >= 0 && p->sigma < CSIMI_HUGE))
        return csimi_solver_range(error, "params.sigma", (double)p->sigma, "0 or more");
    if ((int)p->contact_method < 0 || p->contact_method >= CSIM_CONTACT_METHOD_COUNT_)
        return csimi_solver_range(error, "params.contact_method", (double)(int)p->contact_method,
                                  "a csim_contact_method");
    if (p->sides < 0 || p->sides > 64 || p->sides == 1 || p->sides == 2)
        return csimi_solver_range(error, "params.sides", p->sides, "0, or 3 to 64");
    if (!(p->relaxation >= 0 && p->relaxation <= 2))
        return csimi_solver_range(error, "params.relaxation", (double)p->relaxation, "0 to 2");
    if (!(p->rho >= 0 && p->rho < CSIMI_HUGE))
        return csimi_solver_range(error, "params.rho", (double)p->rho, "0 or more");
    if ((int)p->ncp < 0 || p->ncp >= CSIM_NCP_COUNT_)
        return csimi_solver_range(error, "params.ncp", (double)(int)p->ncp, "a csim_ncp");
    if ((int)p->linear < 0 || p->linear >= CSIM_LINEAR_COUNT_)
        return csimi_solver_range(error, "params.linear", (double)(int)p->linear, "a csim_linear");
    if (p->inner < 0 || p->inner > 1000000)
        return csimi_solver_range(error, "params.inner", (double)p->inner, "0 to 1000000");
    if (!(p->scaling >= 0 && p->scaling < CSIMI_HUGE))
        return csimi_solver_range(error, "params.scaling", (double)p->scaling, "0 or more, 1/kg");
    if (p->substeps < 0 || p->substeps > 100000)
        return csimi_solver_range(error, "params.substeps", (double)p->substeps, "0 to 100000");
    if (!(p->damping >= 0 && p->damping <= 1000))
        return csimi_solver_range(error, "params.damping", (double)p->damping, "0 to 1000");
    if (p->history_capacity < 0)
        return csimi_solver_range(error, "params.history_capacity", (double)p->history_capacity, "0 or more");
    return CSIM_OK;
}

/* ---- solving */

static void csimi_solution_copy(const csim_problem *problem, csim_solution *to, const csim_solution *from) {
    CSIMI_MEMCPY(to->v, from->v, 3 * (size_t)problem->A.n * sizeof(csim_real));
    CSIMI_MEMCPY(to->lambda, from->lambda, 3 * (size_t)problem->contact_count * sizeof(csim_real));
}

/* One more attempt, with COND, at what was missed: from the start of the first attempt, or from rest with virtual nodes
   ten times softer, which leads past many a start that COND gets lost from. A certified answer replaces the first;
   otherwise that stands, because with virtual nodes a better figure is not yet a better motion. */
static csim_status csimi_second_attempt(const csim_problem *problem, const csim_solver_params *params,
                                        csimi_arena *arena, const csim_tasks *tasks, csim_solution *other,
                                        csim_solution *solution, csim_outcome *outcome, csim_error *error) {
    const size_t mark = arena->used;
    csim_outcome second;
    csim_status status = csimi_cond_solve(problem, params, arena, tasks, other, &second, error);
    csimi_pop(arena, mark);
    if (status != CSIM_OK) return status;
    second.iterations += outcome->iterations;
    second.products += outcome->products;
    second.rejections += outcome->rejections;
    if (second.result == CSIM_RESULT_CONVERGED) {
        csimi_solution_copy(problem, solution, other);
        *outcome = second;
    } else {
        outcome->iterations = second.iterations;
        outcome->products = second.products;
        outcome->rejections = second.rejections;
    }
    return CSIM_OK;
}

static bool csimi_missed(csim_status status, const csim_outcome *outcome) {
    return status == CSIM_OK && outcome->result != CSIM_RESULT_CONVERGED && outcome->result != CSIM_RESULT_NOT_FINITE;
}

/* SWEEP where it fits, COND where it does not. What SWEEP missed on a small island COND solves from the same start;
   what was missed still, COND solves from rest. */
static csim_status csimi_solve_auto(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                    const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                    csim_error *error) {
    const bool sweeps = csimi_sweep_takes(problem);
    csim_solver_params softer = *params;
    csim_solution other = csimi_solution_push(arena, problem->A.n, problem->contact_count);
    const size_t mark = arena->used;
    csim_status status;
    if (!arena->overflow) csimi_solution_copy(problem, &other, solution);
    status =
        (sweeps ? csimi_any_sweep_solve : csimi_cond_solve)(problem, params, arena, tasks, solution, outcome, error);
    csimi_pop(arena, mark);
    if (!csimi_missed(status, outcome) || (sweeps && !csimi_second_chance(problem))) return status;
    if (sweeps) status = csimi_second_attempt(problem, params, arena, tasks, &other, solution, outcome, error);
    if (!csimi_missed(status, outcome)) return status;
    CSIMI_MEMSET(other.v, 0, 3 * (size_t)problem->A.n * sizeof(csim_real));
    CSIMI_MEMSET(other.lambda, 0, 3 * (size_t)problem->contact_count * sizeof(csim_real));
    softer.gain = csimi_max(1, params->gain / 10);
    return csimi_second_attempt(problem, &softer, arena, tasks, &other, solution, outcome, error);
}

/* params->by_impulse: what was certified is judged by lambda alone, and where that is not content solved on from there
   to a smaller tolerance. */
static csim_status csimi_solve_by_impulse(const csim_problem *problem, const csim_solver_params *params,
                                          csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                          csim_outcome *outcome, csim_error *error) {
    const csimi_solver_entry *entry = csimi_solver_table() + params->solver;
    csim_solver_params p = *params;
    csim_outcome sum = *outcome;
    const size_t mark = arena->used;
    int trial;
    for (trial = 0; trial < 8; ++trial, csimi_pop(arena, mark)) {
        const csim_certificate *f = &outcome->certificate;
        csim_status status;
        outcome->iterations = outcome->products = outcome->rejections = 0;
        status = (entry->solve ? entry->solve : csimi_solve_auto)(problem, &p, arena, tasks, solution, outcome, error);
        if (status != CSIM_OK) return status;
        sum.iterations = outcome->iterations += sum.iterations;
        sum.products = outcome->products += sum.products;
        sum.rejections = outcome->rejections += sum.rejections;
        if (outcome->result != CSIM_RESULT_CONVERGED) return CSIM_OK;
        if (!csimi_lift_judge(problem, arena, tasks, solution, &outcome->certificate, &sum.products)) break;
        outcome->products = sum.products;
        if (f->dynamics <= (double)params->tolerance && f->contact <= (double)params->tolerance &&
            f->natural_map_scaled <= (double)params->tolerance && f->natural_map_siconos <= (double)params->tolerance)
            return CSIM_OK;
        p.tolerance *= CSIM_R(0.3);
        p.max_iterations = params->max_iterations - sum.iterations;
        if (p.max_iterations < 1) break;
    }
    outcome->result = sum.iterations >= params->max_iterations ? CSIM_RESULT_CAP : CSIM_RESULT_STALLED;
    return CSIM_OK;
}

CSIM_API csim_status csim_problem_solve(const csim_problem *problem, const csim_solver_params *params, void *workspace,
                                        size_t workspace_bytes, const csim_tasks *tasks, csim_solution *solution,
                                        csim_outcome *outcome, csim_error *error) {
    const csimi_solver_entry *table = csimi_solver_table();
    csimi_arena arena = csimi_arena_in(workspace, workspace_bytes);
    csim_status status;
    if (!problem || !params || !workspace || !solution || !outcome)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_problem_solve",
                          !problem     ? "problem"
                          : !params    ? "params"
                          : !workspace ? "workspace"
                          : !solution  ? "solution"
                                       : "outcome",
                          false, 0, "a pointer");
    status = csimi_solver_check(params, error);
    if (status != CSIM_OK) return status;
    CSIMI_MEMSET(outcome, 0, sizeof *outcome);
    outcome->result = CSIM_RESULT_NOT_FINITE;
    outcome->solver = params->solver;
    outcome->certificate.worst_contact = -1;
    status = csim_problem_check(problem, error);
    if (status == CSIM_NOT_FINITE) return CSIM_OK; /* an outcome, not a mistake of the call: a diverged scene */
    if (status != CSIM_OK) return status;
    if (params->solver == CSIM_SOLVER_AUTO && !params->by_impulse)
        return csimi_solve_auto(problem, params, &arena, tasks, solution, outcome, error);
    if (params->solver != CSIM_SOLVER_AUTO &&
        (!table[params->solver].takes(problem) ||
         !csimi_solver_laws(params->solver, problem->contacts, problem->contact_count)))
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "params.solver", true,
                          (double)(int)params->solver, table[params->solver].needs);
    return (params->by_impulse ? csimi_solve_by_impulse : table[params->solver].solve)(problem, params, &arena, tasks,
                                                                                       solution, outcome, error);
}
