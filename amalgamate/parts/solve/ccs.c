/* solve/ccs: contact constraint splitting (Daviet 2020), ADMM on a copy z of the contact velocities u = J v + phi:
       (A + rho J'D J) v = b + J'(rho D (z - phi) + lambda)         the motion follows the copy
       lambda = Project(lambda - rho D u),  z = u + (change of lambda) / (rho D)    each contact alone, its law exact
   with D [kg] one scalar a contact, rho without units, and lambda = -rho D y for Daviet's scaled multiplier y, so that
   a warm start is a warm lambda. The linear solves are conjugate gradients: vectors only. Two levels: on a problem with
   bodies the system is the one above; on impulses v is eliminated, and with u = W p + q, D = 1 in variables without
   units, it is (W + I / rho) p = z + lambda / rho - q. */
#include "private.h"

enum { CSIMI_CCS_PATIENCE = 5000, CSIMI_CCS_INNER = 200 };
static const csim_real CSIMI_CCS_RELAX = CSIM_R(1.6); /* over-relaxation of u */

/* What both levels share. */
typedef struct csimi_ccs {
    int contacts;
    csim_real rho;
    bool adapt;                /* rho follows the residuals */
    int wait;                  /* iterations until it may change again */
    csim_real *mass;           /* [contacts] D, kg */
    csim_real *lambda, *z, *u; /* [3 contacts] */
    double primal, dual;       /* |u - z| and rho |change of z| in the metric D */
} csimi_ccs;

static void csimi_ccs_layout(csimi_ccs *s, csimi_arena *arena, int contacts) {
    s->contacts = contacts;
    s->mass = CSIMI_PUSH(arena, csim_real, contacts);
    s->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->z = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->u = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
}

static void csimi_ccs_open(csimi_ccs *s, const csim_solver_params *params) {
    s->rho = params->impulse.rho > 0 ? params->impulse.rho : 1;
    s->adapt = !(params->impulse.rho > 0); /* a rho that was asked for stays */
    /* the first residuals tell of the start, not of rho */
    s->wait = 5;
    s->primal = s->dual = 0; /* so that the first linear solve goes as far as its cap lets it */
}

/* The contacts, one by one, at the velocities u. */
static void csimi_ccs_contacts(csimi_ccs *s, const csim_contact *laws) {
    int c, k;
    s->primal = s->dual = 0;
    for (c = 0; c < s->contacts; ++c) {
        const csim_real stiff = s->rho * s->mass[c], soft = 1 / stiff; /* kg and 1/kg */
        csim_real *lambda = s->lambda + 3 * (ptrdiff_t)c, *z = s->z + 3 * (ptrdiff_t)c, free[3], trial[3];
        const csim_real *u = s->u + 3 * (ptrdiff_t)c;
        double moved = 0, off = 0;
        for (k = 0; k < 3; ++k) {
            free[k] = CSIMI_CCS_RELAX * u[k] + (1 - CSIMI_CCS_RELAX) * z[k] - soft * lambda[k];
            /* lambda - rho D u with the relaxed u */
            trial[k] = -stiff * free[k];
        }
        csim_project(laws + c, soft, trial, lambda); /* exact: the local problem is diagonal */
        for (k = 0; k < 3; ++k) {
            /* z = u + (change of lambda) / (rho D): it obeys the law with lambda */
            const csim_real next = free[k] + soft * lambda[k];
            moved += (double)(next - z[k]) * (double)(next - z[k]);
            off += (double)(u[k] - next) * (double)(u[k] - next);
            z[k] = next;
        }
        /* in the metric D both are energies, and bodies of any weight can be summed */
        s->primal += (double)s->mass[c] * off;
        s->dual += (double)s->mass[c] * moved;
    }
    s->primal = csimi_sqrt64(s->primal);
    s->dual = (double)s->rho * csimi_sqrt64(s->dual);
}

/* Residual balancing (Boyd et al.), ever more seldom, that it may settle; lambda stays. True: rho is another. */
static bool csimi_ccs_balance(csimi_ccs *s, int iteration) {
    if (!s->adapt || iteration < s->wait) return false;
    /* both as impulses: a copy that does not follow wants a stiffer tie, one that still moves a softer */
    if (s->primal * (double)s->rho > 5 * s->dual)
        s->rho *= 2;
    else if (s->dual > 5 * s->primal * (double)s->rho)
        s->rho /= 2;
    else
        return false;
    s->wait = iteration + 5 + iteration / 5; /* a rho that never rests never converges */
    return true;
}

/* What the linear solve must be better than. */
static double csimi_ccs_aim(const csimi_ccs *s) { return 0.05 * (s->primal < s->dual ? s->primal : s->dual); }

/* ---- on impulses */

typedef struct csimi_ccs_impulse {
    csimi_ccs core;
    csimi_watch watch;
    csimi_delassus *W;
    csim_real *p, *Wp, *residual, *way, *Wway; /* [3 contacts] */
} csimi_ccs_impulse;

static void csimi_ccs_impulse_layout(csimi_ccs_impulse *s, csimi_arena *arena, int contacts) {
    const size_t vector = 3 * (size_t)contacts;
    csimi_ccs_layout(&s->core, arena, contacts);
    csimi_watch_layout(&s->watch, arena, contacts);
    s->p = CSIMI_PUSH(arena, csim_real, vector);
    s->Wp = CSIMI_PUSH(arena, csim_real, vector);
    s->residual = CSIMI_PUSH(arena, csim_real, vector);
    s->way = CSIMI_PUSH(arena, csim_real, vector);
    s->Wway = CSIMI_PUSH(arena, csim_real, vector);
}

CSIMI_LAYOUT_BYTES(ccs, ccs_impulse)

/* p, W p and u with (W + I / rho) p = z + lambda / rho - q to an error of tolerance, from the p of before. */
static void csimi_ccs_impulse_follow(csimi_ccs_impulse *s, double tolerance) {
    const int n = 3 * s->core.contacts;
    const csim_real soft = 1 / s->core.rho; /* D is 1: variables have no units */
    double rr, next;
    int k, i;
    for (i = 0; i < n; ++i) {
        /* W p is kept beside p: starting costs no product */
        s->residual[i] = s->core.z[i] + soft * s->core.lambda[i] - s->W->q[i] - s->Wp[i] - soft * s->p[i];
        s->way[i] = s->residual[i];
    }
    rr = csimi_sum_dot(n, s->residual, s->residual);
    for (k = 0; k < CSIMI_CCS_INNER && rr > tolerance * tolerance; ++k) {
        double curvature;
        csim_real step, turn;
        csimi_delassus_product(s->W, s->way, s->Wway);
        curvature = csimi_sum_dot(n, s->way, s->Wway) + (double)soft * csimi_sum_dot(n, s->way, s->way);
        /* W is used as given: it need not be symmetric, or positive */
        if (!(curvature > 0)) break;
        step = (csim_real)(rr / curvature);
        for (i = 0; i < n; ++i) {
            s->p[i] += step * s->way[i];
            s->Wp[i] += step * s->Wway[i];
            s->residual[i] -= step * (s->Wway[i] + soft * s->way[i]);
        }
        next = csimi_sum_dot(n, s->residual, s->residual);
        turn = (csim_real)(next / rr);
        rr = next;
        for (i = 0; i < n; ++i) s->way[i] = s->residual[i] + turn * s->way[i];
    }
    for (i = 0; i < n; ++i) s->core.u[i] = s->Wp[i] + s->W->q[i];
}

static void csimi_ccs_impulse_open(csimi_ccs_impulse *s, csimi_impulse_run *run) {
    const int n = 3 * run->W->contacts;
    int i;
    csimi_ccs_impulse_layout(s, run->arena, run->W->contacts);
    csimi_watch_open(&s->watch, run, CSIMI_CCS_PATIENCE);
    csimi_ccs_open(&s->core, run->params);
    s->W = run->W;
    csimi_delassus_project(run->W, run->r); /* impulses of another step may not obey the laws of this one */
    CSIMI_MEMCPY(s->core.lambda, run->r, (size_t)n * sizeof *run->r);
    CSIMI_MEMCPY(s->p, run->r, (size_t)n * sizeof *run->r);
    csimi_delassus_product(s->W, s->p, s->Wp);
    for (i = 0; i < n; ++i) s->core.z[i] = s->Wp[i] + s->W->q[i];
    for (i = 0; i < s->core.contacts; ++i) s->core.mass[i] = 1; /* traces are 3 there */
}

CSIMI_FN bool csimi_ccs_solve(csimi_impulse_run *run) {
    csimi_ccs_impulse s;
    csimi_ccs_impulse_open(&s, run);
    do {
        csimi_ccs_impulse_follow(&s, csimi_ccs_aim(&s.core));
        csimi_ccs_contacts(&s.core, s.W->laws);
        ++s.watch.iterations;
        (void)csimi_ccs_balance(&s.core, s.watch.iterations); /* no blocks to renew */
    } while (csimi_watch_look(&s.watch, s.core.lambda, NULL));
    return csimi_watch_close(&s.watch);
}

/* ---- on velocities */

typedef struct csimi_ccs_motion {
    csimi_ccs core;
    const csim_problem *problem;
    const csim_tasks *tasks;
    csimi_piece *pieces;
    int *first;                                               /* [contacts + 1] */
    csim_real *v, *residual, *way, *product, *preconditioned; /* [3n] */
    csim_real *block;                                         /* [9n] inverse diagonal blocks of A + rho J'D J */
    csim_real *best_v, *best_lambda;
    double best;
    int iterations, products, since;
    void *scratch;
    size_t bytes;
} csimi_ccs_motion;

static void csimi_ccs_motion_layout(csimi_ccs_motion *s, csimi_arena *arena, int n, int contacts, int terms) {
    const size_t vector = 3 * (size_t)n;
    csimi_ccs_layout(&s->core, arena, contacts);
    s->pieces = CSIMI_PUSH(arena, csimi_piece, terms);
    s->first = CSIMI_PUSH(arena, int, (size_t)contacts + 1);
    s->v = CSIMI_PUSH(arena, csim_real, vector);
    s->residual = CSIMI_PUSH(arena, csim_real, vector);
    s->way = CSIMI_PUSH(arena, csim_real, vector);
    s->product = CSIMI_PUSH(arena, csim_real, vector);
    s->preconditioned = CSIMI_PUSH(arena, csim_real, vector);
    s->block = CSIMI_PUSH(arena, csim_real, 3 * vector);
    s->best_v = CSIMI_PUSH(arena, csim_real, vector);
    s->best_lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->bytes = csim_certificate_bytes(n, contacts);
    s->scratch = csimi_push(arena, s->bytes, 1);
}

CSIMI_FN size_t csimi_ccs_motion_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_ccs_motion s;
    (void)params;
    csimi_ccs_motion_layout(&s, &arena, size->blocks, size->contacts, size->terms);
    return arena.high;
}

/* u = J x of one contact, without phi */
static void csimi_ccs_gather(const csimi_ccs_motion *s, int c, const csim_real *x, csim_real *u) {
    u[0] = u[1] = u[2] = 0;
    csimi_pieces_velocity(s->pieces + s->first[c], s->first[c + 1] - s->first[c], x, u);
}

/* y += J' impulse of one contact. */
static void csimi_ccs_scatter(const csimi_ccs_motion *s, int c, const csim_real *impulse, csim_real *y) {
    int k;
    for (k = s->first[c]; k < s->first[c + 1]; ++k)
        csimi_addmulT3(s->pieces[k].J, impulse, y + 3 * (ptrdiff_t)s->pieces[k].block);
}

/* product = (A + rho J'D J) x */
static void csimi_ccs_stiff(csimi_ccs_motion *s, const csim_real *x) {
    int c, k;
    csimi_product(&s->problem->A, x, s->product, s->tasks);
    ++s->products;
    for (c = 0; c < s->core.contacts; ++c) {
        csim_real u[3];
        csimi_ccs_gather(s, c, x, u);
        /* the tie to the copy, as a matrix never formed */
        for (k = 0; k < 3; ++k) u[k] *= s->core.rho * s->core.mass[c];
        csimi_ccs_scatter(s, c, u, s->product);
    }
}

/* Inverse diagonal blocks for the rho at hand. */
static void csimi_ccs_blocks(csimi_ccs_motion *s) {
    const csim_block_matrix *A = &s->problem->A;
    int i, c, k, a, b;
    for (i = 0; i < A->n; ++i)
        CSIMI_MEMCPY(s->block + 9 * (ptrdiff_t)i, A->val + 9 * (ptrdiff_t)A->diag[i], 9 * sizeof *s->block);
    for (c = 0; c < s->core.contacts; ++c)
        for (k = s->first[c]; k < s->first[c + 1]; ++k) {
            const csim_real *J = s->pieces[k].J, stiff = s->core.rho * s->core.mass[c];
            csim_real *B = s->block + 9 * (ptrdiff_t)s->pieces[k].block;
            for (a = 0; a < 3; ++a)
                for (b = 0; b < 3; ++b)
                    B[3 * a + b] += stiff * (J[a] * J[b] + J[3 + a] * J[3 + b] + J[6 + a] * J[6 + b]);
        }
    for (i = 0; i < A->n; ++i) {
        csim_real *B = s->block + 9 * (ptrdiff_t)i, inverse[9];
        const csim_real trace = B[0] + B[4] + B[8]; /* before B is replaced */
        /* a preconditioner only: where rounding spoils the inverse the mean of the diagonal does */
        if (!csimi_inverse3(B, inverse))
            for (k = 0; k < 9; ++k) inverse[k] = k % 4 == 0 && trace > 0 ? 3 / trace : 0;
        for (k = 0; k < 9; ++k) B[k] = inverse[k];
    }
}

static double csimi_ccs_precondition(csimi_ccs_motion *s) {
    int i;
    for (i = 0; i < s->problem->A.n; ++i)
        csimi_mul3(s->block + 9 * (ptrdiff_t)i, s->residual + 3 * (ptrdiff_t)i, s->preconditioned + 3 * (ptrdiff_t)i);
    return csimi_sum_dot(3 * s->problem->A.n, s->residual, s->preconditioned);
}

/* v and u by preconditioned conjugate gradients from the v of before, to tolerance in the norm of the blocks. */
static void csimi_ccs_motion_follow(csimi_ccs_motion *s, double tolerance) {
    const int n = 3 * s->problem->A.n;
    double rr, next;
    int i, k, c;
    /* from v anew: rho, and with it the matrix, may have changed */
    csimi_ccs_stiff(s, s->v);
    for (i = 0; i < n; ++i) s->residual[i] = s->problem->b[i] - s->product[i];
    for (c = 0; c < s->core.contacts; ++c) {
        const ptrdiff_t at = 3 * (ptrdiff_t)c;
        csim_real pull[3];
        /* phi is no part of v: J v is drawn towards z - phi */
        for (k = 0; k < 3; ++k)
            pull[k] = s->core.rho * s->core.mass[c] * (s->core.z[at + k] - s->problem->contacts[c].phi[k]) +
                      s->core.lambda[at + k];
        csimi_ccs_scatter(s, c, pull, s->residual);
    }
    rr = csimi_ccs_precondition(s);
    CSIMI_MEMCPY(s->way, s->preconditioned, (size_t)n * sizeof *s->way);
    for (k = 0; k < CSIMI_CCS_INNER && rr > tolerance * tolerance; ++k) {
        double curvature;
        csimi_ccs_stiff(s, s->way);
        curvature = csimi_sum_dot(n, s->way, s->product);
        if (!(curvature > 0)) break;
        for (i = 0; i < n; ++i) {
            s->v[i] += (csim_real)(rr / curvature) * s->way[i];
            s->residual[i] -= (csim_real)(rr / curvature) * s->product[i];
        }
        next = csimi_ccs_precondition(s);
        for (i = 0; i < n; ++i) s->way[i] = s->preconditioned[i] + (csim_real)(next / rr) * s->way[i];
        rr = next;
    }
    for (c = 0; c < s->core.contacts; ++c) {
        csim_real *u = s->core.u + 3 * (ptrdiff_t)c;
        /* J v without phi, and phi from here on */
        csimi_ccs_gather(s, c, s->v, u);
        for (k = 0; k < 3; ++k) u[k] += s->problem->contacts[c].phi[k];
    }
}

/* Rows, masses and the copy. */
static void csimi_ccs_motion_open(csimi_ccs_motion *s, const csim_solution *start) {
    const csim_problem *p = s->problem;
    int c, k, at = 0;
    CSIMI_MEMCPY(s->v, start->v, 3 * (size_t)p->A.n * sizeof *s->v);
    CSIMI_MEMCPY(s->core.lambda, start->lambda, 3 * (size_t)p->contact_count * sizeof *s->v);
    for (c = 0; c < p->contact_count; ++c) {
        csim_real mobility, *z = s->core.z + 3 * (ptrdiff_t)c;
        s->first[c] = at;
        at += csimi_pieces_make(p, NULL, c, s->pieces + at);
        s->first[c + 1] = at;
        mobility = csimi_pieces_mobility(p, s->pieces + s->first[c], at - s->first[c]);
        /* D is the effective mass of the contact, so that rho of 1 fits bodies of any weight */
        s->core.mass[c] = mobility > 0 ? 1 / mobility : 1;
        /* the copy begins at the velocities of the start */
        csimi_ccs_gather(s, c, s->v, z);
        for (k = 0; k < 3; ++k) z[k] += p->contacts[c].phi[k];
    }
    csimi_ccs_blocks(s);
}

/* Certifies v, lambda and keeps them if they are the best. True: go on. */
static bool csimi_ccs_motion_look(csimi_ccs_motion *s, const csim_solver_params *params, csim_certificate *f) {
    csim_certificate now;
    double measure = (double)CSIMI_HUGE;
    if (csimi_certify(s->problem, s->v, s->core.lambda, s->scratch, s->bytes, &now) == CSIM_OK)
        measure = csim_certificate_worst(&now);
    ++s->products;
    if (params->history && s->iterations <= params->history_capacity) params->history[s->iterations - 1] = measure;
    if (!(measure < (double)CSIMI_HUGE)) return false; /* not finite: the best so far stands */
    if (measure < s->best) {
        if (measure < 0.9 * s->best) s->since = s->iterations;
        s->best = measure;
        *f = now;
        CSIMI_MEMCPY(s->best_v, s->v, 3 * (size_t)s->problem->A.n * sizeof *s->v);
        CSIMI_MEMCPY(s->best_lambda, s->core.lambda, 3 * (size_t)s->core.contacts * sizeof *s->v);
    }
    return s->best > (double)params->tolerance && s->iterations < params->max_iterations &&
           s->iterations - s->since < CSIMI_CCS_PATIENCE;
}

static csim_result csimi_ccs_motion_run(csimi_ccs_motion *s, const csim_solver_params *params, csim_outcome *outcome) {
    do {
        csimi_ccs_motion_follow(s, csimi_ccs_aim(&s->core));
        csimi_ccs_contacts(&s->core, s->problem->contacts);
        ++s->iterations;
        /* another rho is another matrix */
        if (csimi_ccs_balance(&s->core, s->iterations)) csimi_ccs_blocks(s);
    } while (csimi_ccs_motion_look(s, params, &outcome->certificate));
    outcome->iterations = s->iterations;
    outcome->products = s->products;
    outcome->residual = s->best;
    if (!(s->best < (double)CSIMI_HUGE)) return CSIM_RESULT_NOT_FINITE;
    return s->best <= (double)params->tolerance      ? CSIM_RESULT_CONVERGED
           : s->iterations >= params->max_iterations ? CSIM_RESULT_CAP
                                                     : CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_ccs_motion_solve(const csim_problem *problem, const csim_solver_params *params,
                                            csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                            csim_outcome *outcome, csim_error *error) {
    const size_t mark = arena->used;
    csimi_ccs_motion s;
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.problem = problem;
    s.tasks = tasks;
    s.best = (double)CSIMI_HUGE;
    csimi_ccs_motion_layout(&s, arena, problem->A.n, problem->contact_count, csimi_pieces_count(problem));
    if (arena->overflow)
        return csimi_deny(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes",
                          "csim_solver_bytes of the problem's size");
    csimi_ccs_open(&s.core, params);
    outcome->solver = CSIM_SOLVER_CCS;
    outcome->result = CSIM_RESULT_NOT_FINITE;
    if (csimi_all_finite(solution->v, 3 * problem->A.n) &&
        csimi_all_finite(solution->lambda, 3 * problem->contact_count)) {
        csimi_ccs_motion_open(&s, solution);
        outcome->result = csimi_ccs_motion_run(&s, params, outcome);
    }
    if (outcome->result != CSIM_RESULT_NOT_FINITE) csimi_solution_take(problem, s.best_v, s.best_lambda, solution);
    outcome->bytes = arena->high - mark;
    csimi_pop(arena, mark);
    return CSIM_OK;
}
