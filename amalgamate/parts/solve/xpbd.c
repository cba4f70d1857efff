/* solve/xpbd: extended position-based dynamics with small steps (Macklin et al. 2016, 2019; Mueller et al. 2020),
   solvers.md 9. The step is walked through in n substeps of one sweep each. From the velocity v_k at its start, the
   load b - A v_k in n equal parts, positions in units of h (a gap is phi + J x, x the sum of v / n):
       v += A^-1 (b - A v_k) / n
       contact after contact, C = phi + J x + u / n < 0:
           dlambda = -(n C + n c u + omega n^2 lambda) / (W_nn (1 + n c) + omega n^2),  lambda_n >= 0,
           u held at 0 along the tangents by |lambda_t| <= mu lambda_n,   v += A^-1 J' dlambda
       x += v / n;  u_n = 0 where a rigid contact pressed (the velocity pass)
   Compliance: omega n^2 is alpha over the substep's square, and c the damper over h times the spring. Joints and motors
   are held at the level of velocities. The impulses add up to A v = b + J'lambda exactly, so that the certificate
   looks for what the sweeps left. */
#include "private.h"

enum { CSIMI_XPBD_SUBSTEPS = 20 };

typedef struct csimi_xpbd {
    const csim_problem *problem;
    csimi_bodies bodies;
    csimi_piece *pieces;
    int *first;            /* [contacts + 1] */
    csim_real *W;          /* [3 contacts] diagonal of the contact's own W; tangents share the larger */
    csim_real *gap;        /* [contacts] phi_n + J_n x */
    csim_real *lambda;     /* [3 contacts] of the substep */
    csim_real *push, *move; /* [3n] A^-1 (b - A v_k) / n, x */
    int substeps;
    bool odd;              /* sweeps go forth and back in turn: a stack of ten stands on 20 of them, not on 20 forth */
    csim_real inverse_n;   /* 1 / n */
    csim_real damping;     /* c of compliant contacts */
    double *residual;      /* [3n]; later the certificate's scratch */
    size_t bytes;
} csimi_xpbd;

static void csimi_xpbd_layout(csimi_xpbd *s, csimi_arena *arena, const csim_problem_size *size) {
    const int n = size->blocks, contacts = size->contacts;
    csimi_bodies_layout(&s->bodies, arena, n, csimi_inverse_blocks_of(size), size->reach_blocks);
    s->pieces = CSIMI_PUSH(arena, csimi_piece, size->terms);
    s->first = CSIMI_PUSH(arena, int, (size_t)contacts + 1);
    s->W = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->gap = CSIMI_PUSH(arena, csim_real, contacts);
    s->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->push = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->move = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->bytes = csim_certificate_bytes(n, contacts);
    if (s->bytes < 3 * (size_t)n * sizeof(double)) s->bytes = 3 * (size_t)n * sizeof(double);
    s->residual = (double *)csimi_push(arena, s->bytes, 1);
}

CSIMI_FN size_t csimi_xpbd_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_xpbd s;
    (void)params;
    csimi_xpbd_layout(&s, &arena, size);
    return arena.high;
}

CSIMI_FN bool csimi_xpbd_takes(const csim_problem *problem) {
    return csimi_bodies_take(problem) && problem->theta > CSIM_R(0.99);
}

/* ---- one contact in one substep */

static void csimi_xpbd_velocity(const csimi_xpbd *s, int c, const csim_real *v, csim_real *u) {
    u[0] = u[1] = u[2] = 0;
    csimi_pieces_velocity(s->pieces + s->first[c], s->first[c + 1] - s->first[c], v, u);
}

/* lambda_c of the substep goes to next. */
static void csimi_xpbd_push(csimi_xpbd *s, int c, const csim_real *next, csim_real *v) {
    csim_real *lambda = s->lambda + 3 * (ptrdiff_t)c, change[3];
    int k;
    for (k = 0; k < 3; ++k) {
        change[k] = next[k] - lambda[k];
        lambda[k] = next[k];
    }
    csimi_pieces_push(&s->bodies, s->pieces + s->first[c], s->first[c + 1] - s->first[c], change, v);
}

/* Friction at the normal impulse at hand: the slip of the substep is undone as far as the cone allows. */
static void csimi_xpbd_rub(csimi_xpbd *s, int c, csim_real *v) {
    const csim_contact *law = s->problem->contacts + c;
    const csim_real *W = s->W + 3 * (ptrdiff_t)c, *now = s->lambda + 3 * (ptrdiff_t)c;
    const csim_real drag = law->law == CSIM_LAW_INVERTIBLE ? law->omega[1] / s->inverse_n : 0;
    csim_real u[3], next[3];
    int k;
    csimi_xpbd_velocity(s, c, v, u);
    next[0] = now[0];
    for (k = 1; k < 3; ++k) next[k] = now[k] - (u[k] + law->phi[k] + drag * now[k]) / (W[k] + drag);
    csim_project_ellipse(law->mu[0] * next[0], law->mu[law->law == CSIM_LAW_ANISOTROPIC] * next[0], next + 1, next + 1);
    csimi_xpbd_push(s, c, next, v);
}

static void csimi_xpbd_touch(csimi_xpbd *s, int c, csim_real *v) {
    const csim_contact *law = s->problem->contacts + c;
    const csim_real W = s->W[3 * (ptrdiff_t)c], *now = s->lambda + 3 * (ptrdiff_t)c, n = 1 / s->inverse_n;
    const bool soft = law->law == CSIM_LAW_INVERTIBLE;
    const csim_real slow = soft ? law->omega[0] * n * n : 0;
    csim_real u[3], next[3] = {0, now[1], now[2]}, C, damper;
    csimi_xpbd_velocity(s, c, v, u);
    C = s->gap[c] + u[0] * s->inverse_n;
    damper = soft && C < 0 ? n * s->damping : 0;
    next[0] = csimi_max(0, now[0] - (n * C + damper * u[0] + slow * now[0]) / (W * (1 + damper) + slow));
    csimi_xpbd_push(s, c, next, v);
    csimi_xpbd_rub(s, c, v);
}

/* Joints, limits and motors: u + phi = 0 row by row, the limits of the impulse in n equal parts. */
static void csimi_xpbd_hold(csimi_xpbd *s, int c, csim_real *v) {
    const csim_contact *law = s->problem->contacts + c;
    int k;
    for (k = 0; k < 3; ++k) {
        const csim_real *now = s->lambda + 3 * (ptrdiff_t)c;
        csim_real u[3], next[3] = {now[0], now[1], now[2]};
        if (law->law == CSIM_LAW_BILATERAL && !(law->mask >> k & 1u)) continue;
        csimi_xpbd_velocity(s, c, v, u);
        next[k] -= (u[k] + law->phi[k]) / s->W[3 * (ptrdiff_t)c + k];
        if (law->law == CSIM_LAW_BOX)
            next[k] = csimi_min(csimi_max(next[k], law->lo[k] * s->inverse_n), law->hi[k] * s->inverse_n);
        csimi_xpbd_push(s, c, next, v);
    }
}

static bool csimi_xpbd_is_joint(const csim_contact *law) {
    return law->law == CSIM_LAW_BILATERAL || law->law == CSIM_LAW_BOX;
}

/* The velocity pass: a contact that pressed keeps no normal speed, of being pushed out or left by the sweep. */
static void csimi_xpbd_calm(csimi_xpbd *s, int c, csim_real *v) {
    const csim_contact *law = s->problem->contacts + c;
    const csim_real *now = s->lambda + 3 * (ptrdiff_t)c;
    csim_real u[3], next[3] = {now[0], now[1], now[2]};
    if (!(now[0] > 0) || law->law == CSIM_LAW_INVERTIBLE || csimi_xpbd_is_joint(law)) return;
    csimi_xpbd_velocity(s, c, v, u);
    next[0] = csimi_max(0, now[0] - u[0] / s->W[3 * (ptrdiff_t)c]);
    csimi_xpbd_push(s, c, next, v);
    csimi_xpbd_rub(s, c, v);
}

/* ---- the step */

static bool csimi_xpbd_open(csimi_xpbd *s, const csim_solver_params *params, const csim_solution *start) {
    const csim_problem *p = s->problem;
    int c, i, k, at = 0;
    s->substeps = params->substeps > 0 ? params->substeps : CSIMI_XPBD_SUBSTEPS;
    s->inverse_n = 1 / (csim_real)s->substeps;
    s->damping = params->damping;
    if (!csimi_bodies_open(&s->bodies, p)) return false;
    for (i = 0; i < 3 * p->A.n; ++i) {
        s->residual[i] = (double)p->b[i];
        s->push[i] = s->move[i] = 0;
    }
    csimi_less_product(&p->A, start->v, s->residual);
    for (i = 0; i < p->A.n; ++i) {
        csim_real load[3];
        for (k = 0; k < 3; ++k) load[k] = (csim_real)s->residual[3 * i + k] * s->inverse_n;
        csimi_body_push(&s->bodies, i, load, s->push);
    }
    for (c = 0; c < p->contact_count; ++c) {
        csim_real W[9], *D = s->W + 3 * (ptrdiff_t)c;
        s->first[c] = at;
        at += csimi_pieces_make(p, &s->bodies, c, s->pieces + at);
        s->first[c + 1] = at;
        csimi_pieces_delassus(&s->bodies, s->pieces + s->first[c], at - s->first[c], W);
        for (k = 0; k < 3; ++k) D[k] = W[4 * k];
        if (!csimi_xpbd_is_joint(p->contacts + c)) D[1] = D[2] = csimi_max(W[4], W[8]);
        for (k = 0; k < 3; ++k)
            if (!(D[k] > 0)) D[k] = CSIMI_HUGE; /* nothing moves this way */
        s->gap[c] = p->contacts[c].phi[0];
    }
    return true;
}

static void csimi_xpbd_substep(csimi_xpbd *s, csim_solution *solution) {
    const int contacts = s->problem->contact_count, n = 3 * s->problem->A.n;
    csim_real *v = solution->v, u[3];
    int c, i;
    for (i = 0; i < n; ++i) v[i] += s->push[i];
    CSIMI_MEMSET(s->lambda, 0, 3 * (size_t)contacts * sizeof *s->lambda);
    for (i = 0; i < contacts; ++i) {
        c = s->odd ? contacts - 1 - i : i;
        if (csimi_xpbd_is_joint(s->problem->contacts + c))
            csimi_xpbd_hold(s, c, v);
        else
            csimi_xpbd_touch(s, c, v);
    }
    s->odd = !s->odd;
    for (c = 0; c < contacts; ++c) {
        csimi_xpbd_velocity(s, c, v, u);
        s->gap[c] += u[0] * s->inverse_n;
    }
    for (i = 0; i < n; ++i) s->move[i] += v[i] * s->inverse_n;
    for (c = 0; c < contacts; ++c) csimi_xpbd_calm(s, c, v);
    for (i = 0; i < 3 * contacts; ++i) solution->lambda[i] += s->lambda[i];
}

static csim_result csimi_xpbd_run(csimi_xpbd *s, const csim_solver_params *params, csim_solution *solution,
                                  csim_outcome *outcome) {
    const csim_problem *p = s->problem;
    const double tolerance = (double)params->tolerance;
    csim_certificate *f = &outcome->certificate;
    int k;
    CSIMI_MEMSET(solution->lambda, 0, 3 * (size_t)p->contact_count * sizeof *solution->lambda);
    for (k = 0; k < s->substeps; ++k) csimi_xpbd_substep(s, solution);
    outcome->iterations = outcome->outer = s->substeps;
    if (params->move) CSIMI_MEMCPY(params->move, s->move, 3 * (size_t)p->A.n * sizeof *s->move);
    if (!csimi_all_finite(solution->v, 3 * p->A.n) || !csimi_all_finite(s->move, 3 * p->A.n) ||
        csim_problem_certify(p, solution->v, solution->lambda, s->residual, s->bytes, f) != CSIM_OK)
        return CSIM_RESULT_NOT_FINITE;
    outcome->residual = f->dynamics > f->contact ? f->dynamics : f->contact;
    return outcome->residual <= tolerance ? CSIM_RESULT_CONVERGED : CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_xpbd_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    const csim_problem_size size = csim_problem_measure(problem);
    const size_t mark = arena->used;
    csimi_xpbd s;
    (void)tasks; /* the sweep is a sequence */
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.problem = problem;
    csimi_xpbd_layout(&s, arena, &size);
    if (arena->overflow)
        return csimi_fail(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes", false, 0,
                          "csim_solver_bytes of the problem's size");
    outcome->solver = CSIM_SOLVER_XPBD;
    outcome->result = CSIM_RESULT_NOT_FINITE;
    if (csimi_all_finite(solution->v, 3 * problem->A.n) &&
        csimi_xpbd_open(&s, params, solution))
        outcome->result = csimi_xpbd_run(&s, params, solution, outcome);
    outcome->bytes = arena->high - mark;
    csimi_pop(arena, mark);
    return CSIM_OK;
}
