/* solve/penalty: contacts as springs and dampers (Yamane and Nakamura 2006): the yardstick of what such
   models cost. With K = h^2 k and D = h d [kg], phi = gap / h and the slip anchor kept in the last impulse,
       lambda_n = max(0, -K phi - D u_n),   lambda_t = clip(last lambda_t - K u_t, mu lambda_n)
   where u = J v: the anchor moves when the clip bites, and lambda_t / (h k) is its distance otherwise. The explicit
   form takes gap and u at the start of the step; gap + h u at its end makes the implicit form, a compliant contact:
       phi' + u + omega lambda = 0,   phi_n' = phi K / (K + D),  omega_n = 1 / (K + D)
                                      phi_t' = -last / K,        omega_t = 1 / K
   The certificate is that of the rigid contacts, which springs meet only where nothing presses. */
#include "private.h"

static const csim_real CSIMI_PENALTY_SAFE = CSIM_R(0.25); /* most K per mass that explicit steps take unasked */

/* What a call needs besides the solver inside. */
typedef struct csimi_penalty {
    csim_contact *soft;  /* [contacts] implicit: the compliant ones */
    csim_real *kappa;    /* [contacts] K */
    csim_solution own;   /* the start, then the answer, until it is certified */
    csimi_piece *pieces; /* [terms] of one contact, at most */
    csim_real *load;     /* [3n] explicit: right side */
    csim_real *krylov;   /* [21n] */
    void *scratch;       /* of the certificate */
    size_t bytes;
} csimi_penalty;

static bool csimi_penalty_is_implicit(const csim_solver_params *params) {
    return params->solver == CSIM_SOLVER_PENALTY;
}

static void csimi_penalty_layout(csimi_penalty *s, csimi_arena *arena, int n, int contacts, int terms, bool implicit) {
    const size_t vector = implicit ? 0 : 3 * (size_t)n;
    s->soft = CSIMI_PUSH(arena, csim_contact, implicit ? contacts : 0);
    s->kappa = CSIMI_PUSH(arena, csim_real, contacts);
    s->own = csim_solution_of(CSIMI_PUSH(arena, csim_real, 3 * (size_t)n), NULL);
    s->own.lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->pieces = CSIMI_PUSH(arena, csimi_piece, terms);
    s->load = CSIMI_PUSH(arena, csim_real, vector);
    s->krylov = CSIMI_PUSH(arena, csim_real, 7 * vector);
    s->bytes = csim_certificate_bytes(n, contacts);
    s->scratch = csimi_push(arena, s->bytes, 1);
}

/* The compliant contacts are solved as AUTO solves them. */
static csim_solver_params csimi_penalty_inside(const csim_solver_params *params) {
    csim_solver_params p = *params;
    p.solver = CSIM_SOLVER_AUTO;
    p.impulse.by_impulse = false;
    p.spring.kappa = 0; /* h^2 k here; COND would take it for the coupling of virtual nodes */
    return p;
}

CSIMI_FN size_t csimi_penalty_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    const csim_solver_params inside = csimi_penalty_inside(params);
    csimi_arena arena = csimi_arena_counting();
    csimi_penalty s;
    csimi_penalty_layout(&s, &arena, size->blocks, size->contacts, size->terms, csimi_penalty_is_implicit(params));
    if (csimi_penalty_is_implicit(params)) csimi_push(&arena, csimi_auto_bytes(size, &inside), 1);
    return arena.high;
}

CSIMI_FN bool csimi_penalty_takes(const csim_problem *problem) {
    return problem->theta > CSIM_R(0.99); /* the velocity at the start and the one solved for are a step apart */
}

/* K of every contact; u gets J v of contact m when v is not null. */
static int csimi_penalty_pieces(csimi_penalty *s, const csim_problem *p, const csim_solver_params *params, int m) {
    const int count = csimi_pieces_make(p, NULL, m, s->pieces);
    const csim_real mobility = csimi_pieces_mobility(p, s->pieces, count);
    csim_real gain = params->spring.gain;
    if (!csimi_penalty_is_implicit(params)) gain = csimi_min(gain, CSIMI_PENALTY_SAFE);
    s->kappa[m] = params->spring.kappa > 0 ? params->spring.kappa : mobility > 0 ? gain / mobility : 1;
    return count;
}

/* ---- explicit */

static void csimi_penalty_impulse(const csim_contact *c, csim_real K, csim_real D, const csim_real *u,
                                  const csim_real *last, csim_real *lambda) {
    csim_real trial[3];
    int k;
    for (k = 0; k < 3; ++k) trial[k] = -K * c->phi[k] - D * u[k];
    if (c->law == CSIM_LAW_STRICT || c->law == CSIM_LAW_ANISOTROPIC) {
        if (!(c->phi[0] < 0)) trial[0] = 0; /* neither spring nor damper before they touch */
        for (k = 1; k < 3; ++k) trial[k] = last[k] - K * (u[k] + c->phi[k]);
    }
    csim_project(c, 1, trial, lambda);
}

/* lambda from the start, then A v = b + J'lambda. False: no conjugate gradients on this A. */
static bool csimi_penalty_explicit(csimi_penalty *s, const csim_problem *p, const csim_solver_params *params,
                                   const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome) {
    const int n = p->A.n;
    int m, k, count;
    CSIMI_MEMCPY(s->load, p->b, 3 * (size_t)n * sizeof *s->load);
    for (m = 0; m < p->contact_count; ++m) {
        csim_real *lambda = solution->lambda + 3 * (ptrdiff_t)m, u[3] = {0, 0, 0}, last[3];
        const int pieces = csimi_penalty_pieces(s, p, params, m);
        csimi_pieces_velocity(s->pieces, pieces, solution->v, u);
        for (k = 0; k < 3; ++k) last[k] = lambda[k];
        csimi_penalty_impulse(p->contacts + m, s->kappa[m], params->spring.damping * s->kappa[m], u, last, lambda);
        for (k = 0; k < pieces; ++k)
            csimi_addmulT3(s->pieces[k].J, lambda, s->load + 3 * (ptrdiff_t)s->pieces[k].block);
    }
    count = csimi_pcg(&p->A, s->load, solution->v, csimi_max(CSIM_R(1e-6) * params->tolerance, 64 * CSIMI_EPS),
                      6 * n + 200, s->krylov, tasks);
    outcome->products = csimi_imax(count, 0) + 1;
    return count >= 0;
}

/* ---- implicit */

static void csimi_penalty_soften(const csim_contact *c, csim_real K, csim_real D, const csim_real *last,
                                 csim_contact *soft) {
    int k;
    *soft = *c;
    if (c->law != CSIM_LAW_STRICT) return; /* joints, limits and motors stay what they are */
    if (!(c->phi[0] < 0)) D = 0;           /* no damper before they touch */
    soft->law = CSIM_LAW_INVERTIBLE;
    soft->omega[0] = 1 / (K + D);
    soft->omega[1] = 1 / K;
    soft->phi[0] = c->phi[0] * K / (K + D);
    for (k = 1; k < 3; ++k) soft->phi[k] = c->phi[k] - last[k] / K;
}

static csim_status csimi_penalty_implicit(csimi_penalty *s, const csim_problem *p, const csim_solver_params *params,
                                          csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                          csim_outcome *outcome, csim_error *error) {
    const csim_solver_params inside = csimi_penalty_inside(params);
    csim_problem soft = *p;
    csim_status status;
    int m;
    for (m = 0; m < p->contact_count; ++m) {
        (void)csimi_penalty_pieces(s, p, params, m);
        csimi_penalty_soften(p->contacts + m, s->kappa[m], params->spring.damping * s->kappa[m],
                             solution->lambda + 3 * (ptrdiff_t)m, s->soft + m);
    }
    soft.contacts = s->soft;
    status = csim_problem_check(&soft, error);
    if (status == CSIM_NOT_FINITE) return CSIM_OK; /* an outcome: its result says so until a solver has run */
    if (status == CSIM_OK) status = csimi_auto_solve(&soft, &inside, arena, tasks, solution, outcome, error);
    return status;
}

CSIMI_FN csim_status csimi_penalty_solve(const csim_problem *problem, const csim_solver_params *params,
                                         csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                         csim_outcome *outcome, csim_error *error) {
    const bool implicit = csimi_penalty_is_implicit(params);
    const double tolerance = (double)params->tolerance;
    const size_t mark = arena->used;
    csimi_penalty s;
    csim_status status = CSIM_OK;
    bool finite = csimi_all_finite(solution->v, 3 * problem->A.n) &&
                  csimi_all_finite(solution->lambda, 3 * problem->contact_count);
    csimi_penalty_layout(&s, arena, problem->A.n, problem->contact_count, csimi_pieces_count(problem), implicit);
    if (arena->overflow)
        return csimi_deny(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes",
                          "csim_solver_bytes of the problem's size");
    csimi_solution_take(problem, solution->v, solution->lambda, &s.own);
    if (finite && implicit)
        status = csimi_penalty_implicit(&s, problem, params, arena, tasks, &s.own, outcome, error);
    else if (finite)
        finite = csimi_penalty_explicit(&s, problem, params, tasks, &s.own, outcome);
    if (status != CSIM_OK) return status;
    outcome->solver = params->solver;
    if (!implicit) outcome->result = CSIM_RESULT_CONVERGED;
    if (!finite || outcome->result == CSIM_RESULT_NOT_FINITE ||
        csimi_certify(problem, s.own.v, s.own.lambda, s.scratch, s.bytes, &outcome->certificate) != CSIM_OK)
        outcome->result = CSIM_RESULT_NOT_FINITE;
    else if (outcome->result == CSIM_RESULT_CONVERGED && !(csim_certificate_worst(&outcome->certificate) <= tolerance))
        outcome->result = CSIM_RESULT_STALLED; /* springs give way */
    if (outcome->result != CSIM_RESULT_NOT_FINITE) csimi_solution_take(problem, s.own.v, s.own.lambda, solution);
    ++outcome->iterations;
    outcome->bytes = arena->high - mark;
    csimi_pop(arena, mark);
    return CSIM_OK;
}
