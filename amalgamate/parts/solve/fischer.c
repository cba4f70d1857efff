/* solve/fischer: Newton's method on the Fischer-Burmeister form of Signorini's and Coulomb's laws, with preconditioned
   conjugate residuals inside; Macklin et al. 2019, solvers.md 5. The velocities follow the impulses exactly, u = W r +
   q, so that of the paper's system only the part in the impulses is left: (W + C) dr = -c, with for each contact normal
   phi = u_n + rho r_n - sqrt(u_n^2 + rho^2 r_n^2),   C = rho beta / alpha,   c = phi / alpha friction  psi = |u_t| +
   rho b - sqrt(|u_t|^2 + rho^2 b^2) with b = mu r_n - |r_t|, C = (|u_t| - psi) / (|r_t| + psi / rho),   c = u_t + C r_t
   alpha, beta the derivatives of phi, and rho the diagonal of W (the complementarity preconditioner). Quick where
   nearly everything sticks; where contacts slide and normal and tangent are coupled it cycles: never the only solver.
 */
#include "private.h"

enum { CSIMI_FISCHER_VECTORS = 8 };

typedef struct csimi_fischer {
    csimi_delassus *W;
    int length;
    csim_real *r, *u, *C, *P;                  /* impulses, velocities, diagonals; P = 0 switches a row off */
    csim_real *x, *residual, *z, *p, *Ap, *Az; /* u and Az share memory */
} csimi_fischer;

static void csimi_fischer_layout(csimi_fischer *f, csimi_arena *arena, int contacts) {
    const size_t vector = 3 * (size_t)contacts;
    f->C = CSIMI_PUSH(arena, csim_real, vector);
    f->P = CSIMI_PUSH(arena, csim_real, vector);
    f->x = CSIMI_PUSH(arena, csim_real, vector);
    f->residual = CSIMI_PUSH(arena, csim_real, vector);
    f->z = CSIMI_PUSH(arena, csim_real, vector);
    f->p = CSIMI_PUSH(arena, csim_real, vector);
    f->Ap = CSIMI_PUSH(arena, csim_real, vector);
    f->r = CSIMI_PUSH(arena, csim_real, vector);
}

CSIMI_FN size_t csimi_fischer_numbers(int contacts) {
    return CSIMI_FISCHER_VECTORS * (3 * (size_t)contacts + 64 / sizeof(csim_real));
}

CSIMI_FN bool csimi_fischer_takes(const csimi_delassus *W) {
    int c;
    for (c = 0; c < W->contacts; ++c)
        if (W->laws[c].law != CSIM_LAW_STRICT && W->laws[c].law != CSIM_LAW_BILATERAL) return false;
    return true;
}

/* ---- the rows of one contact: C, and -c into the residual; false: friction is off and r_t was not zero */

static void csimi_fischer_normal(csimi_fischer *f, int i, csim_real rho) {
    const csim_real a = f->u[i], b = rho * f->r[i], root = CSIMI_SQRT(a * a + b * b);
    csim_real alpha = 0, beta = 1;
    if (root > 0) {
        alpha = 1 - a / root;
        beta = 1 - b / root;
    }
    alpha = csimi_max(alpha, CSIM_R(1e-8));
    f->C[i] = rho * beta / alpha;
    f->residual[i] = -(a + b - root) / alpha;
    f->P[i] = 1 / (rho + f->C[i]);
}

static void csimi_fischer_friction(csimi_fischer *f, int i, csim_real mu, const csim_real *D) {
    const csim_real normal = csimi_max(f->r[i], 0), rho = (D[4] + D[8]) / 2;
    const csim_real speed = CSIMI_SQRT(f->u[i + 1] * f->u[i + 1] + f->u[i + 2] * f->u[i + 2]);
    const csim_real force = CSIMI_SQRT(f->r[i + 1] * f->r[i + 1] + f->r[i + 2] * f->r[i + 2]);
    const csim_real b = rho * (mu * normal - force), psi = speed + b - CSIMI_SQRT(speed * speed + b * b);
    const csim_real slack = csimi_max(force + psi / rho, CSIM_R(1e-6) * mu * normal);
    int k;
    for (k = i + 1; k < i + 3; ++k) {
        const csim_real own = csimi_max(D[k == i + 1 ? 4 : 8], CSIM_R(1e-3) * rho);
        f->C[k] = slack > 0 ? csimi_max((speed - psi) / slack, 0) : 0;
        f->residual[k] = -(f->u[k] + f->C[k] * f->r[k]);
        f->P[k] = slack > 0 ? 1 / (own + f->C[k]) : 0;
    }
}

/* Linear rows; those off carry no impulse. */
static void csimi_fischer_bilateral(csimi_fischer *f, int i, unsigned mask, const csim_real *D) {
    int k;
    for (k = 0; k < 3; ++k) {
        f->C[i + k] = 0;
        f->residual[i + k] = -f->u[i + k];
        f->P[i + k] = mask >> k & 1u ? 1 / csimi_max(D[4 * k], CSIM_R(1e-3)) : 0;
    }
}

static void csimi_fischer_rows(csimi_fischer *f) {
    int c;
    for (c = 0; c < f->W->contacts; ++c) {
        const csim_contact *law = f->W->laws + c;
        const csim_real *D = f->W->diagonal + 9 * (ptrdiff_t)c;
        if (law->law == CSIM_LAW_BILATERAL) {
            csimi_fischer_bilateral(f, 3 * c, law->mask, D);
        } else {
            csimi_fischer_normal(f, 3 * c, csimi_max(D[0], CSIM_R(1e-3)));
            csimi_fischer_friction(f, 3 * c, law->mu[0], D);
        }
    }
}

/* Friction of contacts without normal impulse is zero. */
static void csimi_fischer_release(csimi_fischer *f) {
    int c;
    for (c = 0; c < f->W->contacts; ++c) {
        csim_real *r = f->r + 3 * (ptrdiff_t)c;
        if (f->W->laws[c].law == CSIM_LAW_STRICT && !(r[0] > 0 && f->W->laws[c].mu[0] > 0)) r[1] = r[2] = 0;
    }
}

/* ---- (W + C) x = residual by preconditioned conjugate residuals; Macklin et al., algorithm 2 */

static double csimi_fischer_dot(const csimi_fischer *f, const csim_real *a, const csim_real *b) {
    return csimi_sum_dot(f->length, a, b);
}

/* y = (W + C) x on the rows that are on */
static void csimi_fischer_product(csimi_fischer *f, const csim_real *x, csim_real *y) {
    int i;
    csimi_delassus_product(f->W, x, y);
    for (i = 0; i < f->length; ++i) y[i] = f->P[i] > 0 ? y[i] + f->C[i] * x[i] : 0;
}

/* The size residual' P residual falls in every step: it is what conjugate residuals minimise. Returns the steps. */
static int csimi_fischer_solve_linear(csimi_fischer *f, int most) {
    double zAz, size, first;
    int step, i;
    for (i = 0; i < f->length; ++i) {
        f->x[i] = 0;
        f->z[i] = f->p[i] = f->P[i] * f->residual[i];
    }
    csimi_fischer_product(f, f->z, f->Az);
    CSIMI_MEMCPY(f->Ap, f->Az, (size_t)f->length * sizeof *f->Ap);
    zAz = csimi_fischer_dot(f, f->z, f->Az);
    first = size = csimi_fischer_dot(f, f->residual, f->z);
    for (step = 1; step <= most; ++step) {
        const double ApPAp = csimi_sum_weighted(f->length, f->P, f->Ap, f->Ap);
        csim_real a, b;
        double next;
        if (!(zAz > 0 && ApPAp > 0 && size > 1e-20 * first)) break;
        a = (csim_real)(zAz / ApPAp);
        for (i = 0; i < f->length; ++i) {
            f->x[i] += a * f->p[i];
            f->residual[i] -= a * f->Ap[i];
            f->z[i] -= a * f->P[i] * f->Ap[i];
        }
        size = csimi_fischer_dot(f, f->residual, f->z);
        csimi_fischer_product(f, f->z, f->Az);
        next = csimi_fischer_dot(f, f->z, f->Az);
        b = (csim_real)(next / zAz);
        for (i = 0; i < f->length; ++i) {
            f->p[i] = f->z[i] + b * f->p[i];
            f->Ap[i] = f->Az[i] + b * f->Ap[i];
        }
        zAz = next;
    }
    return step;
}

/* ---- Newton */

/* The nearest feasible impulses to f->r, in place of x; measured. */
static double csimi_fischer_judge(csimi_fischer *f) {
    int c, k;
    for (c = 0; c < f->W->contacts; ++c) {
        const csim_real *r = f->r + 3 * (ptrdiff_t)c;
        csim_real *x = f->x + 3 * (ptrdiff_t)c;
        csim_project(f->W->laws + c, 1, r, x); /* normal first, then the disk of that normal */
        if (f->W->laws[c].law == CSIM_LAW_BILATERAL)
            for (k = 0; k < 3; ++k) x[k] = f->W->laws[c].mask >> k & 1u ? r[k] : 0;
    }
    return csimi_delassus_measure(f->W, f->x, f->u, false);
}

CSIMI_FN double csimi_fischer_burst(csimi_delassus *W, csimi_arena *arena, csim_real *best, double measure,
                                    csim_real *u, double target, int steps, int inner, int *iterations,
                                    const csimi_impulse_run *run) {
    const size_t bytes = 3 * (size_t)W->contacts * sizeof *best;
    double halved = measure;
    int step, i, since = 0, count = 0;
    csimi_fischer f;
    f.W = W;
    f.length = 3 * W->contacts;
    f.u = f.Az = u;
    csimi_fischer_layout(&f, arena, W->contacts);
    if (arena->overflow) return measure;
    CSIMI_MEMCPY(f.r, best, bytes);
    for (step = 0; step < steps && count < *iterations && measure > target && since < 10; ++step) {
        double now;
        csimi_fischer_release(&f);
        csimi_delassus_velocity(W, f.r, f.u);
        csimi_fischer_rows(&f);
        count += csimi_fischer_solve_linear(&f, csimi_imin(inner, *iterations - count));
        for (i = 0; i < f.length; ++i) f.r[i] += CSIM_R(0.75) * f.x[i];
        now = csimi_fischer_judge(&f);
        csimi_impulse_log(run, count, now);
        if (!(now < 1e300)) break;
        if (now < measure) {
            measure = now;
            CSIMI_MEMCPY(best, f.x, bytes);
        }
        ++since;
        if (measure < 0.5 * halved) {
            halved = measure;
            since = 0;
        }
    }
    *iterations = count;
    return measure;
}

CSIMI_FN size_t csimi_fischer_bytes(int contacts, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_fischer f;
    (void)params;
    csimi_fischer_layout(&f, &arena, contacts);
    (void)CSIMI_PUSH(&arena, csim_real, 3 * (size_t)contacts);
    return arena.high;
}

CSIMI_FN bool csimi_fischer_solve(csimi_impulse_run *run) {
    csim_real *u = CSIMI_PUSH(run->arena, csim_real, 3 * (size_t)run->W->contacts);
    int count = run->params->max_iterations;
    double measure;
    csimi_delassus_project(run->W, run->r);
    measure = csimi_delassus_measure(run->W, run->r, u, false);
    if (!(measure < 1e300)) return false;
    if (csimi_fischer_takes(run->W))
        measure = csimi_fischer_burst(run->W, run->arena, run->r, measure, u, run->target, 1000, 200, &count, run);
    else
        count = 0;
    run->outcome->iterations += count;
    run->outcome->residual = measure;
    return true;
}
