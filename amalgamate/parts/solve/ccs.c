/* solve/ccs: contact constraint splitting (Daviet 2020), ADMM on the copy z of the contact velocities u. In variables
   without units, where D is the identity:
       u = W p + q  with  (W + I / rho) p = z - y - q          the velocities that follow the copy, dynamics exact
       lambda = Project(-rho (u + y)),  z = u + y + lambda / rho    every contact alone, its law exact
       y += u - z,  which is -lambda / rho
   The linear solves are by conjugate gradients, so that the memory is vectors; warm start is y = -lambda / rho. */
#include "private.h"

#define CSIMI_CCS_PATIENCE 5000
#define CSIMI_CCS_INNER 200
#define CSIMI_CCS_RELAX CSIM_R(1.6) /* over-relaxation of u */

typedef struct csimi_ccs {
    csimi_watch watch;
    csimi_delassus *W;
    csim_real rho;
    bool adapt;                         /* rho follows the residuals */
    csim_real *lambda, *z, *u, *p, *Wp; /* [3 contacts] */
    csim_real *residual, *way, *Wway;   /* of the conjugate gradients */
} csimi_ccs;

static void csimi_ccs_layout(csimi_ccs *s, csimi_arena *arena, int contacts) {
    const size_t vector = 3 * (size_t)contacts;
    csimi_watch_layout(&s->watch, arena, contacts);
    s->lambda = CSIMI_PUSH(arena, csim_real, vector);
    s->z = CSIMI_PUSH(arena, csim_real, vector);
    s->u = CSIMI_PUSH(arena, csim_real, vector);
    s->p = CSIMI_PUSH(arena, csim_real, vector);
    s->Wp = CSIMI_PUSH(arena, csim_real, vector);
    s->residual = CSIMI_PUSH(arena, csim_real, vector);
    s->way = CSIMI_PUSH(arena, csim_real, vector);
    s->Wway = CSIMI_PUSH(arena, csim_real, vector);
}

CSIMI_FN size_t csimi_ccs_bytes(int contacts, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_ccs s;
    (void)params;
    csimi_ccs_layout(&s, &arena, contacts);
    return arena.high;
}

/* p and W p with (W + I / rho) p = z + lambda / rho - q to an error of tolerance, from the p of before. */
static void csimi_ccs_follow(csimi_ccs *s, double tolerance) {
    const int n = 3 * s->W->contacts;
    const csim_real soft = 1 / s->rho;
    double rr, next;
    int k, i;
    for (i = 0; i < n; ++i) {
        s->residual[i] = s->z[i] + soft * s->lambda[i] - s->W->q[i] - s->Wp[i] - soft * s->p[i];
        s->way[i] = s->residual[i];
    }
    rr = csimi_sum_dot(n, s->residual, s->residual);
    for (k = 0; k < CSIMI_CCS_INNER && rr > tolerance * tolerance; ++k) {
        double curvature;
        csim_real step, turn;
        csimi_delassus_product(s->W, s->way, s->Wway);
        curvature = csimi_sum_dot(n, s->way, s->Wway) + (double)soft * csimi_sum_dot(n, s->way, s->way);
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
}

/* The contacts, one by one; primal |u - z| and dual |z - z of before| rho. */
static void csimi_ccs_contacts(csimi_ccs *s, double *primal, double *dual) {
    const csim_real soft = 1 / s->rho;
    int c, k;
    *primal = *dual = 0;
    for (c = 0; c < s->W->contacts; ++c) {
        const ptrdiff_t at = 3 * (ptrdiff_t)c;
        csim_real free[3], trial[3];
        for (k = 0; k < 3; ++k) {
            const csim_real u = s->Wp[at + k] + s->W->q[at + k];
            free[k] = CSIMI_CCS_RELAX * u + (1 - CSIMI_CCS_RELAX) * s->z[at + k] - soft * s->lambda[at + k];
            trial[k] = -s->rho * free[k];
            s->u[at + k] = u;
        }
        csim_project(s->W->laws + c, soft, trial, s->lambda + at);
        for (k = 0; k < 3; ++k) {
            const csim_real z = free[k] + soft * s->lambda[at + k];
            const double moved = (double)(z - s->z[at + k]), off = (double)(s->u[at + k] - z);
            s->z[at + k] = z;
            *dual += moved * moved;
            *primal += off * off;
        }
    }
    *primal = csimi_sqrt64(*primal);
    *dual = csimi_sqrt64(*dual) * (double)s->rho;
}

/* Residual balancing; lambda stays, so that y = -lambda / rho is scaled with it. Ever more seldom, that it may settle.
 */
static void csimi_ccs_balance(csimi_ccs *s, double primal, double dual, int *wait) {
    if (!s->adapt || s->watch.iterations < *wait) return;
    if (primal * (double)s->rho > 5 * dual)
        s->rho *= 2;
    else if (dual > 5 * primal * (double)s->rho)
        s->rho /= 2;
    else
        return;
    *wait = s->watch.iterations + 5 + s->watch.iterations / 5;
}

static void csimi_ccs_open(csimi_ccs *s, csimi_impulse_run *run) {
    const int n = 3 * run->W->contacts;
    int i;
    csimi_ccs_layout(s, run->arena, run->W->contacts);
    csimi_watch_open(&s->watch, run, CSIMI_CCS_PATIENCE);
    s->W = run->W;
    s->rho = run->params->rho > 0 ? run->params->rho : 1;
    s->adapt = !(run->params->rho > 0);
    csimi_delassus_project(run->W, run->r);
    CSIMI_MEMCPY(s->lambda, run->r, (size_t)n * sizeof *run->r);
    CSIMI_MEMCPY(s->p, run->r, (size_t)n * sizeof *run->r);
    csimi_delassus_product(s->W, s->p, s->Wp);
    for (i = 0; i < n; ++i) s->z[i] = s->Wp[i] + s->W->q[i];
}

CSIMI_FN bool csimi_ccs_solve(csimi_impulse_run *run) {
    csimi_ccs s;
    double primal = 0, dual = 0, aim = 0;
    int wait = 5;
    csimi_ccs_open(&s, run);
    do {
        csimi_ccs_follow(&s, aim);
        csimi_ccs_contacts(&s, &primal, &dual);
        ++s.watch.iterations;
        aim = 0.05 * (primal < dual ? primal : dual);
        csimi_ccs_balance(&s, primal, dual, &wait);
    } while (csimi_watch_look(&s.watch, s.lambda, NULL));
    return csimi_watch_close(&s.watch);
}

#undef CSIMI_CCS_PATIENCE
#undef CSIMI_CCS_INNER
#undef CSIMI_CCS_RELAX
