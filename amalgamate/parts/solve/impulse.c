/* solve/impulse: the public door to the solvers of the impulse level. */
#include "private.h"

/* The solver that AUTO stands for: docs/solvers.md gives the rule and the table behind it. */
static csim_solver csimi_impulse_choice(const csim_solver_params *params) {
    return params->solver == CSIM_SOLVER_AUTO ? CSIM_SOLVER_SWEEP : params->solver;
}

/* In the order of csim_solver. */
static const csimi_impulse_solver csimi_impulse_solvers[CSIM_SOLVER_COUNT_] = {
    /* bytes, solve; null: no such form, or left out of this build */
    {NULL, NULL},                                  /* auto */
    {NULL, NULL},                                  /* cond */
    {csimi_cascade_bytes, csimi_cascade_solve},    /* sweep */
    {csimi_cascade_bytes, csimi_cascade_anderson}, /* anderson */
    {csimi_cascade_bytes, csimi_cascade_proximal}, /* proximal */
#ifndef CONDSIM_NO_PGS
    {csimi_pgs_bytes, csimi_pgs_solve},
#else
    {NULL, NULL},
#endif
#ifndef CONDSIM_NO_APGD
    {csimi_apgd_bytes, csimi_apgd_solve},
#else
    {NULL, NULL},
#endif
#ifndef CONDSIM_NO_PERCONTACT
    {csimi_percontact_bytes, csimi_percontact_solve},
#else
    {NULL, NULL},
#endif
#ifndef CONDSIM_NO_STAGGERED
    {csimi_staggered_bytes, csimi_staggered_solve},
#else
    {NULL, NULL},
#endif
#ifndef CONDSIM_NO_CCS
    {csimi_ccs_bytes, csimi_ccs_solve},
#else
    {NULL, NULL},
#endif
#ifndef CONDSIM_NO_NEWTON
    {csimi_newton_bytes, csimi_newton_solve},
    {csimi_newton_bytes, csimi_newton_proximal},
#else
    {NULL, NULL},
    {NULL, NULL},
#endif
    {NULL, NULL}, /* xpbd */
    {NULL, NULL}, /* penalty */
    {NULL, NULL}, /* penalty-explicit */
    {NULL, NULL}, /* bounded */
#ifdef CONDSIM_REFERENCE
    {csimi_lemke_bytes, csimi_lemke_solve}, /* lemke */
#endif
};

CSIMI_FN const csimi_impulse_solver *csimi_impulse_solver_of(csim_solver solver) {
    return csimi_impulse_solvers + solver;
}

/* Whether the solver is in this build and has a form on impulses. */
static bool csimi_impulse_known(const csim_solver_params *params) {
    return (unsigned)params->solver < (unsigned)CSIM_SOLVER_COUNT_ &&
           csimi_impulse_solver_of(csimi_impulse_choice(params))->solve;
}

/* W, and a vector of velocities with one for the start behind it. */
static csim_real *csimi_impulse_layout(csimi_delassus *W, csimi_arena *arena, int contacts) {
    csimi_delassus_layout(W, arena, contacts);
    return CSIMI_PUSH(arena, csim_real, 6 * (size_t)contacts);
}

/* ---- AUTO: SWEEP, and Newton's proximal loop for what that misses */

/* The same parameters for another solver. */
static csim_solver_params csimi_impulse_as(const csim_solver_params *params, csim_solver solver) {
    csim_solver_params p = *params;
    p.solver = solver;
    return p;
}

static size_t csimi_impulse_solver_bytes(int contacts, const csim_solver_params *params) {
    const csim_solver_params first = csimi_impulse_as(params, csimi_impulse_choice(params));
    size_t most = csimi_impulse_solver_of(first.solver)->bytes(contacts, &first);
#ifndef CONDSIM_NO_NEWTON
    if (params->solver == CSIM_SOLVER_AUTO) {
        const csim_solver_params last = csimi_impulse_as(params, CSIM_SOLVER_NEWTON_PROXIMAL);
        /* Newton starts when SWEEP is done, in its memory, beside the impulses that SWEEP has found */
        const size_t kept = 3 * (size_t)contacts * sizeof(csim_real) + 64;
        most = csimi_most_bytes(most, kept + csimi_newton_bytes(contacts, &last)); /* one after the other */
    }
#endif
    return most;
}

CSIM_API size_t csim_impulse_bytes(const csim_impulse_problem *problem, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_delassus W;
    if (!problem || !params || problem->contact_count < 0 || !csimi_impulse_known(params)) return 0;
    (void)csimi_impulse_layout(&W, &arena, problem->contact_count);
    csimi_push(&arena, csimi_impulse_solver_bytes(problem->contact_count, params), 1);
    return arena.overflow ? SIZE_MAX : arena.high + 64; /* a workspace of any alignment */
}

/* ---- is it a problem? */

static csim_status csimi_impulse_null(csim_error *error, const char *name) {
    return csimi_missing(error, "csim_impulse_solve", name);
}

static csim_status csimi_impulse_bad(csim_error *error, const char *field, double value, const char *allowed) {
    return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_impulse_solve", field, value, allowed);
}

/* Whether a sparse W is one: rows anywhere and none empty, diagonal blocks named, columns inside. */
static csim_status csimi_impulse_check_rows(const csim_impulse_problem *p, csim_error *error) {
    const csim_block_matrix *W = p->W;
    int c, k;
    if (W->n != p->contact_count) return csimi_impulse_bad(error, "problem.W.n", W->n, "contact_count");
    if (!W->row || !W->col || !W->diag || !W->val) return csimi_impulse_null(error, "problem.W's arrays");
    if (!W->end && W->row[0] != 0) return csimi_impulse_bad(error, "problem.W.row[0]", W->row[0], "0");
    for (c = 0; c < W->n; ++c) {
        const int begin = W->row[c], end = csimi_row_end(W, c);
        if (begin < 0 || end <= begin)
            return csimi_impulse_bad(error, "end of a row of problem.W", end, "behind its beginning, from 0 on");
        if (W->diag[c] < begin || W->diag[c] >= end || W->col[W->diag[c]] != c)
            return csimi_impulse_bad(error, "problem.W.diag", W->diag[c], "the index of block (c, c)");
        for (k = begin; k < end; ++k)
            if (W->col[k] < 0 || W->col[k] >= W->n)
                return csimi_impulse_bad(error, "problem.W.col", W->col[k], "0 to contact_count - 1");
    }
    return CSIM_OK;
}

static csim_status csimi_impulse_check_laws(const csim_impulse_problem *p, csim_error *error) {
    csim_status status = CSIM_OK;
    int c;
    for (c = 0; c < p->contact_count && status == CSIM_OK; ++c) {
        if (p->contacts)
            status = csimi_check_contact_law(p->contacts + c, c, error);
        else if (!csimi_finite(p->mu[c]))
            return CSIM_NOT_FINITE; /* an outcome */
        else if (p->mu[c] < 0)
            status = csimi_impulse_bad(error, "problem.mu", (double)p->mu[c], "0 or more");
    }
    return status;
}

static csim_status csimi_impulse_check(const csim_impulse_problem *p, csim_error *error) {
    const int forms = (p->W != NULL) + (p->dense != NULL) + (p->product != NULL);
    csim_status status = CSIM_OK;
    if (p->contact_count < 0) return csimi_impulse_bad(error, "problem.contact_count", p->contact_count, "0 or more");
    if (p->contact_count == 0) return CSIM_OK; /* arrays may be null */
    if (!p->q) return csimi_impulse_null(error, "problem.q");
    if (!p->mu == !p->contacts) return csimi_impulse_bad(error, "problem.mu", 0, "either mu or contacts, not both");
    if (forms != 1) return csimi_impulse_bad(error, "forms of problem.W", forms, "one of W, dense, product");
    if (p->product && !p->diagonal) return csimi_impulse_null(error, "problem.diagonal");
    if (p->W) status = csimi_impulse_check_rows(p, error);
    return status == CSIM_OK ? csimi_impulse_check_laws(p, error) : status;
}

/* ---- solving */

/* Figures of the certificate that need no bodies, in raw units, from r and u = W r + q in the variables of W. */
static void csimi_impulse_certify(const csimi_delassus *W, const csim_real *r, const csim_real *u,
                                  csim_certificate *f) {
    double work = 0, driven = 0, given = 0, pressed = 0; /* J: r'u, r'q, sum of |r_m| |q_m| */
    int c, k;
    f->approach = f->complementarity = f->cone = f->dissipation_power = 0; /* 0 without contacts */
    /* the last measure was of this r */
    f->contact = W->contact;
    f->velocity = W->velocity;
    f->natural_map_scaled = W->natural;
    f->natural_map_siconos = W->both ? W->siconos : csimi_delassus_siconos(W, r, u);
    for (c = 0; c < W->contacts; ++c) {
        const csim_contact *law = W->laws + c;
        const double s = (double)W->scale[c], mu = (double)law->mu[0];
        const double mu2 = (double)law->mu[law->law == CSIM_LAW_ANISOTROPIC]; /* mu[1] is read under that law only */
        const ptrdiff_t at = 3 * (ptrdiff_t)c;
        double R[3], U[3], own = 0, rt, x, y, power, normal;
        for (k = 0; k < 3; ++k) {
            R[k] = (double)r[at + k];
            U[k] = (double)u[at + k];
            own += R[k] * U[k];
            given += R[k] * (double)W->q[at + k];
            if (law->law == CSIM_LAW_INVERTIBLE) U[k] += (double)law->omega[k > 0] * R[k]; /* its law is of that */
        }
        x = mu * U[1], y = mu2 * U[2], rt = csimi_sqrt64(R[1] * R[1] + R[2] * R[2]);
        /* 0 where friction opposes sliding at the bound of its set; r u is in J in either variables */
        power = (R[0] > 0 ? R[0] : 0) * csimi_sqrt64(x * x + y * y) + R[1] * U[1] + R[2] * U[2];
        power = power < 0 ? -power : power;
        normal = R[0] * U[0] < 0 ? -R[0] * U[0] : R[0] * U[0];
        driven += own;
        pressed += s * csimi_sqrt64(R[0] * R[0] + rt * rt) * (double)W->speed[c];
        if (law->law == CSIM_LAW_BILATERAL || law->law == CSIM_LAW_BOX) continue; /* no cone, and they may pull */
        /* what the contact does that its law does not allow, as in the certificate */
        work += law->law != CSIM_LAW_PROXIMAL ? normal + power : own < 0 ? -own : own;
        if (-U[0] / s > f->approach) f->approach = -U[0] / s;
        if (normal > f->complementarity) f->complementarity = normal;
        if (power > f->dissipation_power) f->dissipation_power = power;
        if (law->law == CSIM_LAW_ANISOTROPIC) continue; /* its cone is elliptic */
        if (s * (rt - mu * R[0]) > f->cone) f->cone = s * (rt - mu * R[0]);
    }
    driven = driven > given ? driven - given : given - driven; /* r'W r */
    given = given < 0 ? -given : given;
    f->energy = driven > given ? driven : given;
    f->energy = pressed > f->energy ? pressed : f->energy;
    f->work = f->energy > 0 ? work / f->energy : 0;
}

/* The measure of the run, and what the impulses do as velocities and in energy. */
static bool csimi_impulse_certified(const csim_outcome *outcome, double tolerance) {
    return outcome->residual <= tolerance && outcome->certificate.velocity <= tolerance &&
           outcome->certificate.work <= tolerance;
}

/* One solver from r; false when its numbers broke. */
static bool csimi_impulse_attempt(csimi_delassus *W, const csim_solver_params *params, double target,
                                  csimi_arena *arena, csim_real *r, csim_real *u, csim_outcome *outcome) {
    const size_t mark = arena->used;
    csimi_impulse_run run;
    bool ok;
    run.W = W;
    run.params = params;
    run.arena = arena;
    run.r = r;
    run.u = u;
    run.judged = false;
    run.target = target;
    run.outcome = outcome;
    ok = csimi_impulse_solver_of(params->solver)->solve(&run) && csimi_all_finite(r, 3 * W->contacts);
    csimi_pop(arena, mark);
    if (!ok) return false;
    if (!run.judged) outcome->residual = csimi_delassus_measure(W, r, u, false); /* the common measure of r as it is */
    return outcome->residual < 1e300;
}

#ifndef CONDSIM_NO_NEWTON
/* Newton's proximal loop from rest; the better of its impulses and those in r stays. */
static bool csimi_impulse_proximal(csimi_delassus *W, const csim_solver_params *params, double target,
                                   csimi_arena *arena, csim_real *r, csim_real *u, csim_outcome *outcome) {
    const csim_solver_params other = csimi_impulse_as(params, CSIM_SOLVER_NEWTON_PROXIMAL);
    const size_t mark = arena->used, bytes = 3 * (size_t)W->contacts * sizeof *r;
    const double before = outcome->residual;
    csim_real *kept = CSIMI_PUSH(arena, csim_real, 3 * (size_t)W->contacts);
    if (arena->overflow) return false;
    CSIMI_MEMCPY(kept, r, bytes);
    CSIMI_MEMSET(r, 0, bytes);
    if (csimi_impulse_attempt(W, &other, target, arena, r, u, outcome) && outcome->residual < before) {
        outcome->solver = other.solver;
    } else {
        CSIMI_MEMCPY(r, kept, bytes);
        outcome->residual = csimi_delassus_measure(W, r, u, false); /* u and the figures of W are of the other r */
    }
    csimi_pop(arena, mark);
    return true;
}
#endif

/* The solver of the parameters. AUTO keeps an eighth of the iterations for what SWEEP misses; who solved it then goes
   on with a smaller target. */
CSIMI_FN bool csimi_impulse_run_solver(csimi_delassus *W, const csim_solver_params *params, double target,
                                       csimi_arena *arena, csim_real *r, csim_real *u, csim_outcome *outcome) {
    csim_solver_params first = csimi_impulse_as(params, csimi_impulse_choice(params));
    if (params->solver == CSIM_SOLVER_AUTO) first.solver = outcome->solver; /* who solved the last target */
#ifndef CONDSIM_NO_NEWTON
    if (params->solver == CSIM_SOLVER_AUTO && first.solver == CSIM_SOLVER_SWEEP && csimi_fischer_takes(W)) {
        first.max_iterations -= params->max_iterations / 8;
        return csimi_impulse_attempt(W, &first, target, arena, r, u, outcome) &&
               (outcome->residual <= target || outcome->iterations >= params->max_iterations ||
                csimi_impulse_proximal(W, params, target, arena, r, u, outcome));
    }
#endif
    return csimi_impulse_attempt(W, &first, target, arena, r, u, outcome);
}

/* Solves, and goes on with a smaller target where the velocities are not content. */
static bool csimi_impulse_solve_to(csimi_delassus *W, const csim_solver_params *params, csimi_arena *arena,
                                   csim_real *r, csim_real *u, csim_outcome *outcome) {
    const double tolerance = (double)params->tolerance;
    double target = 0.9 * tolerance;
    int trial;
    for (trial = 0; trial < 5 && W->contacts > 0; ++trial) { /* targets: each at most 0.3 of the last */
        if (!csimi_impulse_run_solver(W, params, target, arena, r, u, outcome)) return false;
        csimi_impulse_certify(W, r, u, &outcome->certificate);
        if (csimi_impulse_certified(outcome, tolerance)) break;
        if (outcome->residual > tolerance || outcome->iterations >= params->max_iterations) break;
        target = csimi_next_target(target, &outcome->certificate, params->tolerance);
    }
    return true;
}

static csim_status csimi_impulse_begin(const csim_impulse_problem *problem, const csim_solver_params *params,
                                       csimi_delassus *W, csim_outcome *outcome, csim_error *error) {
    const csim_status status = csimi_impulse_check(problem, error);
    CSIMI_MEMSET(outcome, 0, sizeof *outcome);
    outcome->result = CSIM_RESULT_NOT_FINITE; /* until there is an answer */
    outcome->solver = csimi_impulse_choice(params);
    outcome->certificate.worst_contact = -1; /* no contact is named */
    if (status != CSIM_OK) return status;
    if (problem->contacts && !csimi_solver_laws(outcome->solver, problem->contacts, problem->contact_count))
        return csimi_impulse_bad(error, "params.solver", (double)(int)params->solver,
                                 csimi_solver_traits_of(outcome->solver)->needs);
    if (csimi_solver_rows(params) && problem->product)
        return csimi_impulse_bad(error, "params.solver", (double)(int)params->solver,
                                 "a solver that needs no rows of W, as csim_describe_solver says, for a product");
    /* the scaling refuses a block without a positive trace, or a number that is not finite */
    if (problem->contact_count > 0 && !csimi_delassus_open(W, problem))
        return csimi_delassus_flat(W)
                   ? csimi_impulse_bad(error, "trace of a diagonal block of problem.W", 0, "greater than 0")
                   : CSIM_NOT_FINITE;
    return CSIM_OK;
}

CSIM_API csim_status csim_impulse_solve(const csim_impulse_problem *problem, const csim_solver_params *params,
                                        void *workspace, size_t workspace_bytes, const csim_tasks *tasks, csim_real *r,
                                        csim_outcome *outcome, csim_error *error) {
    csimi_arena arena = csimi_arena_in(workspace, workspace_bytes);
    csimi_delassus W;
    csim_real *u;
    csim_status status;
    if (!problem) return csimi_impulse_null(error, "problem");
    if (!params) return csimi_impulse_null(error, "params");
    if (!workspace) return csimi_impulse_null(error, "workspace");
    if (!r || !outcome) return csimi_impulse_null(error, r ? "outcome" : "r");
    status = csimi_solver_check(params, false, "csim_impulse_solve", error);
    if (status != CSIM_OK) return status;
    if (!csimi_impulse_known(params))
        return csimi_impulse_bad(error, "params.solver", (double)(int)params->solver,
                                 "a solver of the impulse level, as csim_describe_solver says");
    if (workspace_bytes < csim_impulse_bytes(problem, params))
        return csimi_fail(error, CSIM_CAPACITY, "csim_impulse_solve", "workspace_bytes", (double)workspace_bytes,
                          "csim_impulse_bytes of the problem");
    CSIMI_MEMSET(&W, 0, sizeof W);
    u = csimi_impulse_layout(&W, &arena, problem->contact_count);
    W.tasks = tasks;
    W.both = params->impulse.by_impulse; /* the measure asks for natural_map_siconos too */
    status = csimi_impulse_begin(problem, params, &W, outcome, error);
    if (status == CSIM_NOT_FINITE) return CSIM_OK; /* an outcome, as in csim_problem_solve */
    if (status != CSIM_OK || !csimi_all_finite(r, 3 * problem->contact_count)) return status;
    CSIMI_MEMCPY(u + 3 * (ptrdiff_t)W.contacts, r, 3 * (size_t)W.contacts * sizeof *r);
    csimi_delassus_enter(&W, r); /* r' of the start */
    if (!csimi_impulse_solve_to(&W, params, &arena, r, u, outcome)) { /* numbers broke */
        CSIMI_MEMCPY(r, u + 3 * (ptrdiff_t)W.contacts, 3 * (size_t)W.contacts * sizeof *r);
        return CSIM_OK;
    }
    csimi_delassus_leave(&W, r); /* raw again */
    outcome->products = W.products;
    outcome->bytes = arena.high;
    outcome->result = csimi_impulse_certified(outcome, (double)params->tolerance) ? CSIM_RESULT_CONVERGED
                      : outcome->iterations >= params->max_iterations ? CSIM_RESULT_CAP
                                                                      : CSIM_RESULT_STALLED;
    return CSIM_OK;
}
