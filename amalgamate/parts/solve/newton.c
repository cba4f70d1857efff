/* solve/newton: Newton's method on Signorini's and Coulomb's laws written as equations; Macklin et al. 2019.
   The velocities follow the impulses exactly, u = W r + q, so that of the paper's system only the part in
   the impulses is left: (W + C) dr = -c. With an NCP function phi(a, b), zero where a, b >= 0 and a b = 0, and its
   derivatives alpha, beta:
       normal     phi(u_n, rho r_n):                      C = rho beta / alpha,  c = phi / alpha
       friction   psi = phi(|u_t|, rho (mu r_n - |r_t|)):  C = (|u_t| - psi) / (|r_t| + psi / rho),  c = u_t + C r_t
       motor      r - clip(r - u / rho, lo, hi):           C = 0, c = u inside the limits, else r goes to the limit
   rho [1/kg] brings both arguments to one unit: the diagonal of W (the complementarity preconditioner), or one number.
   Quick where nearly everything sticks; where contacts slide and normal and tangent are coupled it cycles, and a
   proximal loop, Newton on W + eps around the last answer, goes on. */
#include "private.h"

enum { CSIMI_NEWTON_INNER = 40 };    /* linear iterations of a step, the paper's */
enum { CSIMI_NEWTON_PATIENCE = 10 }; /* steps without a halving of the measure */
enum { CSIMI_NEWTON_PROXIMAL = 6 };  /* the same in a proximal step */
static const csim_real CSIMI_NEWTON_OFF = CSIM_R(1e8); /* 1 / the least alpha: r_n = 0 and nothing else */

typedef struct csimi_newton {
    csimi_linear system;
    csim_ncp ncp;
    csim_linear linear;
    int inner;
    csim_real scaling, damping;
    csim_real *r, *u;        /* impulses; velocities, in the memory of system.Az */
    const csim_real *centre; /* of a proximal step, or null */
} csimi_newton;

static void csimi_newton_layout(csimi_newton *f, csimi_arena *arena, int contacts) {
    csimi_linear_layout(&f->system, arena, contacts);
    f->r = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
}

CSIMI_FN bool csimi_fischer_takes(const csimi_delassus *W) {
    int c;
    for (c = 0; c < W->contacts; ++c)
        if (!(CSIMI_NEWTON_LAWS >> W->laws[c].law & 1u)) return false;
    return true;
}

CSIM_API void csim_geometric_stiffness(int n, const csim_real *v, const csim_real *v_before,
                                       const csim_real *force_change, csim_real *D) {
    int i;
    for (i = 0; i < 3 * n; ++i) {
        const csim_real way = v[i] - v_before[i];
        D[i] = csimi_abs(way) > CSIMI_TINY ? csimi_max(0, -force_change[i] / way) : 0; /* A stays positive definite */
    }
}

/* ---- the equations of one contact */

CSIMI_FN csim_real csimi_ncp(csim_ncp ncp, csim_real a, csim_real b, csim_real *alpha, csim_real *beta) {
    if (ncp == CSIM_NCP_MIN_MAP) { /* eq. 18-22 */
        *alpha = a <= b ? 1 : 0;
        *beta = a <= b ? 0 : 1;
        return csimi_min(a, b);
    } else { /* eq. 23-27 */
        const csim_real root = CSIMI_SQRT(a * a + b * b);
        *alpha = root > 0 ? 1 - a / root : 0; /* (alpha, beta) = (0, 1) at the origin */
        *beta = root > 0 ? 1 - b / root : 1;
        return a + b - root;
    }
}

/* Eq. 35 and 103-105: force becomes bound where speed > 0. The denominator turns negative far outside the cone. */
CSIMI_FN csim_real csimi_ncp_friction(csim_ncp ncp, csim_real speed, csim_real force, csim_real bound, csim_real rho) {
    csim_real alpha, beta;
    const csim_real psi = csimi_ncp(ncp, speed, rho * (bound - force), &alpha, &beta);
    const csim_real slack = csimi_max(force + psi / rho, CSIM_R(1e-6) * bound);
    return slack > 0 ? csimi_max((speed - psi) / slack, 0) : 0; /* speed - psi is 0 or more but for rounding */
}

/* rho of a row: own, the row's diagonal of W, or the one of the parameters in the variables of W. */
static csim_real csimi_newton_rho(const csimi_newton *f, int c, csim_real own) {
    const csim_real s = f->system.W->scale[c];
    return f->scaling > 0 ? f->scaling * s * s : own;
}

static void csimi_newton_normal(csimi_newton *f, int c, csim_real own, csim_real omega) {
    const csim_real rho = csimi_newton_rho(f, c, own);
    const ptrdiff_t i = 3 * (ptrdiff_t)c;
    csimi_linear *s = &f->system;
    csim_real alpha, beta;
    const csim_real phi = csimi_ncp(f->ncp, f->u[i] + omega * f->r[i], rho * f->r[i], &alpha, &beta);
    alpha = csimi_max(alpha, 1 / CSIMI_NEWTON_OFF); /* alpha is 0 where a contact is open */
    s->C[i] = rho * beta / alpha + omega; /* u + omega r stands for u */
    s->residual[i] = -phi / alpha;
    s->P[i] = 1 / (own + s->C[i]);
}

static void csimi_newton_friction(csimi_newton *f, int c, csim_real mu, const csim_real *D, csim_real omega) {
    csimi_linear *s = &f->system;
    const ptrdiff_t i = 3 * (ptrdiff_t)c;
    const csim_real *r = f->r + i, mean = (D[4] + D[8]) / 2 + s->shift, rho = csimi_newton_rho(f, c, mean);
    const csim_real bound = mu * csimi_max(r[0], 0), t1 = f->u[i + 1] + omega * r[1], t2 = f->u[i + 2] + omega * r[2];
    const csim_real speed = CSIMI_SQRT(t1 * t1 + t2 * t2), force = CSIMI_SQRT(r[1] * r[1] + r[2] * r[2]);
    const csim_real C = csimi_ncp_friction(f->ncp, speed, force, bound, rho);
    int k;
    for (k = 1; k < 3; ++k) {
        const csim_real own = csimi_max(D[4 * k] + s->shift, CSIM_R(1e-3) * mean); /* P stays bounded */
        s->C[i + k] = C + omega;
        s->residual[i + k] = -((k == 1 ? t1 : t2) + C * r[k]);
        s->P[i + k] = bound > 0 ? 1 / (own + C + omega) : 0; /* no normal impulse, no friction */
    }
}

/* Linear rows; those off carry no impulse. */
static void csimi_newton_bilateral(csimi_newton *f, int c, unsigned mask, const csim_real *D) {
    csimi_linear *s = &f->system;
    int k;
    for (k = 0; k < 3; ++k) {
        const ptrdiff_t i = 3 * (ptrdiff_t)c + k;
        s->C[i] = 0;
        s->residual[i] = -f->u[i];
        s->P[i] = mask >> k & 1u ? 1 / csimi_max(D[4 * k] + s->shift, CSIM_R(1e-3)) : 0;
    }
}

static void csimi_newton_box(csimi_newton *f, int c, const csim_contact *law, const csim_real *D) {
    csimi_linear *s = &f->system;
    int k;
    for (k = 0; k < 3; ++k) {
        const ptrdiff_t i = 3 * (ptrdiff_t)c + k;
        const csim_real own = csimi_max(D[4 * k] + s->shift, CSIM_R(1e-3)), trial = f->r[i] - f->u[i] / own;
        const csim_real to = csimi_min(csimi_max(trial, law->lo[k]), law->hi[k]);
        const bool inside = trial > law->lo[k] && trial < law->hi[k];
        s->C[i] = inside ? 0 : CSIMI_NEWTON_OFF * own; /* so stiff that x = to - r whatever W does */
        s->residual[i] = inside ? -f->u[i] : s->C[i] * (to - f->r[i]);
        s->P[i] = 1 / (own + s->C[i]);
    }
}

static void csimi_newton_rows(csimi_newton *f) {
    const csimi_delassus *W = f->system.W;
    int c;
    for (c = 0; c < W->contacts; ++c) {
        const csim_contact *law = W->laws + c;
        const csim_real *D = W->diagonal + 9 * (ptrdiff_t)c;
        const csim_real soft = law->law == CSIM_LAW_INVERTIBLE ? 1 : 0;
        if (law->law == CSIM_LAW_BILATERAL) {
            csimi_newton_bilateral(f, c, law->mask, D);
        } else if (law->law == CSIM_LAW_BOX) {
            csimi_newton_box(f, c, law, D);
        } else {
            csimi_newton_normal(f, c, csimi_max(D[0] + f->system.shift, CSIM_R(1e-3)), soft * law->omega[0]);
            csimi_newton_friction(f, c, law->mu[0], D, soft * law->omega[1]);
        }
    }
}

/* Friction of contacts without normal impulse is zero. */
static void csimi_newton_release(csimi_newton *f) {
    const csimi_delassus *W = f->system.W;
    int c;
    for (c = 0; c < W->contacts; ++c) {
        csim_real *r = f->r + 3 * (ptrdiff_t)c;
        const bool coulomb = W->laws[c].law == CSIM_LAW_STRICT || W->laws[c].law == CSIM_LAW_INVERTIBLE;
        if (coulomb && !(r[0] > 0 && W->laws[c].mu[0] > 0)) r[1] = r[2] = 0;
    }
}

/* ---- Newton */

/* One damped step; returns the linear iterations. */
static int csimi_newton_step(csimi_newton *f, int most) {
    csimi_linear *s = &f->system;
    int i, count;
    csimi_newton_release(f);
    csimi_delassus_velocity(s->W, f->r, f->u);
    if (f->centre)
        for (i = 0; i < s->length; ++i) f->u[i] += s->shift * (f->r[i] - f->centre[i]);
    csimi_newton_rows(f);
    count = csimi_linear_solve(s, f->linear, csimi_imin(f->inner, most));
    for (i = 0; i < s->length; ++i) f->r[i] += f->damping * s->x[i];
    return count;
}

/* The nearest feasible impulses to f->r, in place of x, and u there; measured. */
static double csimi_newton_judge(csimi_newton *f) {
    csimi_delassus *W = f->system.W;
    int c;
    for (c = 0; c < W->contacts; ++c) {
        csim_contact law = W->laws[c];
        if (law.law == CSIM_LAW_INVERTIBLE) law.law = CSIM_LAW_STRICT; /* r already obeys the compliance */
        /* normal first, then the disk of that normal; joints by their mask */
        csim_project(&law, 1, f->r + 3 * (ptrdiff_t)c, f->system.x + 3 * (ptrdiff_t)c);
    }
    return csimi_delassus_measure(W, f->system.x, f->u, false);
}

/* What a run has come to. */
typedef struct csimi_newton_state {
    csim_real *best; /* [3 contacts] */
    double measure;  /* of best */
    int count, cap;  /* linear iterations; the most */
    int steps;
} csimi_newton_state;

/* A step and its look; false: the numbers broke. The history holds a measure for each linear iteration. */
static bool csimi_newton_advance(csimi_newton *f, csimi_newton_state *t, const csimi_impulse_run *run) {
    int logged = t->count;
    double now;
    t->count += csimi_imax(csimi_newton_step(f, t->cap - t->count), 1); /* steps of 0 iterations reach the cap too */
    ++t->steps;
    now = csimi_newton_judge(f);
    while (logged < t->count) csimi_impulse_log(run, run->outcome->iterations + ++logged, now);
    if (!(now < 1e300)) return false;
    if (now < t->measure) {
        t->measure = now;
        CSIMI_MEMCPY(t->best, f->system.x, (size_t)f->system.length * sizeof *t->best);
    }
    return true;
}

static bool csimi_newton_open(csimi_newton *f, csimi_delassus *W, csimi_arena *arena, csim_real *u,
                              const csim_real *start) {
    CSIMI_MEMSET(f, 0, sizeof *f);
    f->system.W = W;
    f->system.length = 3 * W->contacts;
    f->u = f->system.Az = u; /* u is read before Az is written */
    f->inner = CSIMI_NEWTON_INNER;
    f->damping = CSIM_R(0.75); /* share of a step that is taken, as in the paper */
    csimi_newton_layout(f, arena, W->contacts);
    if (arena->overflow) return false;
    CSIMI_MEMCPY(f->r, start, (size_t)f->system.length * sizeof *start);
    return true;
}

/* Newton alone: until target, steps, or no halving for patience steps. */
static void csimi_newton_run(csimi_newton *f, csimi_newton_state *t, double target, int steps, int patience,
                             const csimi_impulse_run *run) {
    double halved = t->measure;
    int since = 0;
    while (t->steps < steps && t->count < t->cap && t->measure > target && since < patience) {
        if (!csimi_newton_advance(f, t, run)) break;
        ++since;
        if (t->measure < 0.5 * halved) {
            halved = t->measure;
            since = 0;
        }
    }
}

CSIMI_FN double csimi_fischer_burst(csimi_delassus *W, csimi_arena *arena, csim_real *best, double measure,
                                    csim_real *u, double target, int steps, int inner, int *iterations,
                                    const csimi_impulse_run *run) {
    csimi_newton f;
    csimi_newton_state t;
    if (!csimi_newton_open(&f, W, arena, u, best)) return measure;
    f.inner = inner;
    CSIMI_MEMSET(&t, 0, sizeof t);
    t.best = best;
    t.measure = measure;
    t.cap = *iterations;
    csimi_newton_run(&f, &t, target, steps, CSIMI_NEWTON_PATIENCE, run);
    *iterations = t.count;
    return t.measure;
}

/* ---- the proximal loop */

/* |r - P(r - u)| of the problem W + shift around the centre at the impulses last judged, and their way from there. */
static double csimi_newton_gap(csimi_newton *f, double *way) {
    csimi_linear *s = &f->system;
    double sum = 0, from = 0;
    int c, k;
    for (c = 0; c < s->W->contacts; ++c) {
        const csim_real *x = s->x + 3 * (ptrdiff_t)c, *u = f->u + 3 * (ptrdiff_t)c;
        csim_real near[3], rest[3];
        for (k = 0; k < 3; ++k) {
            const csim_real moved = x[k] - f->centre[3 * (ptrdiff_t)c + k];
            near[k] = u[k] + s->shift * moved;
            from += (double)moved * (double)moved;
        }
        csimi_delassus_residual(s->W, c, 1, x, near, rest);
        for (k = 0; k < 3; ++k) sum += (double)rest[k] * (double)rest[k];
    }
    *way = csimi_sqrt64(from);
    return csimi_sqrt64(sum);
}

/* Newton on the problem around centre until its error is small against eps times the way; false when it has not halved
   its error in CSIMI_NEWTON_PROXIMAL steps. */
static bool csimi_newton_near(csimi_newton *f, csimi_newton_state *t, double target, const csimi_impulse_run *run) {
    double halved = (double)CSIMI_HUGE;
    int since = 0;
    while (since < CSIMI_NEWTON_PROXIMAL && t->count < t->cap && t->measure > target) {
        double way, gap;
        if (!csimi_newton_advance(f, t, run)) return false;
        gap = csimi_newton_gap(f, &way);
        if (gap < 0.2 * (double)f->system.shift * way) return true;
        ++since;
        if (gap < 0.5 * halved) {
            halved = gap;
            since = 0;
        }
    }
    return false;
}

/* The first step is Newton alone, eps = 0. Then eps falls while the steps arrive, and grows where they do not; what
   failed is tried again after some that did not. */
static void csimi_newton_loop(csimi_newton *f, csimi_newton_state *t, csim_real *centre, double target,
                              const csimi_impulse_run *run) {
    const size_t bytes = (size_t)f->system.length * sizeof *centre;
    double eps = 1e-2; /* beside a diagonal of W of 1 */
    int arrived = 0, wait = 1;
    csimi_newton_run(f, t, target, t->cap, CSIMI_NEWTON_PATIENCE, run);
    f->centre = centre;
    CSIMI_MEMCPY(centre, t->best, bytes);
    while (t->measure > target && t->count < t->cap && eps < 100) { /* a larger eps hardly leaves the centre */
        f->system.shift = (csim_real)eps;
        CSIMI_MEMCPY(f->r, centre, bytes); /* starts at the centre, not where Newton got to */
        if (csimi_newton_near(f, t, target, run)) {
            CSIMI_MEMCPY(centre, f->system.x, bytes); /* x: feasible, as last judged */
            if (++arrived < wait || eps < 1e-8) continue;
            eps *= 0.4;
            arrived = 0;
        } else {
            eps *= 2.5;
            arrived = 0;
            wait = csimi_imin(2 * wait, 32);
        }
    }
}

/* ---- the solvers */

static bool csimi_newton_start(csimi_newton *f, csimi_newton_state *t, const csimi_impulse_run *run) {
    const csim_solver_params *p = run->params;
    csim_real *u = CSIMI_PUSH(run->arena, csim_real, 3 * (size_t)run->W->contacts);
    csimi_delassus_project(run->W, run->r);
    CSIMI_MEMSET(t, 0, sizeof *t);
    t->best = run->r;
    t->cap = csimi_imax(p->max_iterations - run->outcome->iterations, 1); /* earlier runs count */
    t->measure = csimi_delassus_measure(run->W, run->r, u, false);
    if (!csimi_newton_open(f, run->W, run->arena, u, run->r)) return false;
    f->ncp = p->newton.ncp;
    f->linear = p->newton.linear;
    f->scaling = p->newton.scaling;
    if (p->inner > 0) f->inner = p->inner;
    if (p->impulse.relaxation > 0) f->damping = p->impulse.relaxation;
    return t->measure < 1e300;
}

static bool csimi_newton_end(const csimi_newton_state *t, const csimi_impulse_run *run) {
    run->outcome->iterations += t->count;
    run->outcome->outer += t->steps;
    run->outcome->residual = t->measure;
    return true;
}

CSIMI_FN size_t csimi_newton_bytes(int contacts, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_newton f;
    csimi_newton_layout(&f, &arena, contacts);
    (void)CSIMI_PUSH(&arena, csim_real, 3 * (size_t)contacts); /* u of csimi_newton_start */
    if (params->solver == CSIM_SOLVER_NEWTON_PROXIMAL) (void)CSIMI_PUSH(&arena, csim_real, 3 * (size_t)contacts);
    return arena.high;
}

CSIMI_FN bool csimi_newton_solve(csimi_impulse_run *run) {
    csimi_newton f;
    csimi_newton_state t;
    if (!csimi_newton_start(&f, &t, run)) return false;
    csimi_newton_run(&f, &t, run->target, run->params->max_iterations, CSIMI_NEWTON_PATIENCE, run);
    return csimi_newton_end(&t, run);
}

CSIMI_FN bool csimi_newton_proximal(csimi_impulse_run *run) {
    csim_real *centre = CSIMI_PUSH(run->arena, csim_real, 3 * (size_t)run->W->contacts);
    csimi_newton f;
    csimi_newton_state t;
    if (!csimi_newton_start(&f, &t, run)) return false;
    csimi_newton_loop(&f, &t, centre, run->target, run);
    return csimi_newton_end(&t, run);
}
