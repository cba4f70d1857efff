/* solve/cascade: impulses by exact sweeps, Anderson's acceleration, a Newton burst and a proximal loop, on vectors
   alone; findings-impulse.md, recommended cascade. Where W can be read row by row a sweep is Gauss-Seidel with the
   exact solution of one contact; where W is only a product it is the same with every contact solved at once against
   sigma I >= W / 1.5 in the place of its diagonal block (the step of COND on impulses). The stages:
     1  accelerated sweeps, while they halve the measure
     2  a burst of Newton's method on the Fischer-Burmeister equations (solve/fischer.c)
     3  a proximal loop: W + eps I solved around the last answer, eps as small as the sweeps inside bear
   Each stage starts from the best impulses seen. */
#include "private.h"

#define CSIMI_CASCADE_WINDOW 20
#define CSIMI_CASCADE_PATIENCE 100 /* sweeps without a halving */
#define CSIMI_CASCADE_BURST 4000   /* products of a burst of Newton's method at most */
#define CSIMI_CASCADE_INNER 200    /* sweeps of one proximal step */

typedef struct csimi_cascade {
    csimi_impulse_run *run;
    csimi_delassus *W;
    int length; /* 3 contacts */
    csimi_local *local;
    csim_real *r;                          /* of the run */
    csim_real *best, *centre, *u, *metric; /* [length]; metric is 1 */
    csim_real sigma;                       /* the diagonal that stands in for W where it has no rows */
    csimi_anderson anderson;
    double measure, best_measure;
    int sweeps, cap;
    bool broken; /* a sweep made a NaN or an infinity */
} csimi_cascade;

static int csimi_cascade_window(const csim_solver_params *params) {
    return params->window > 0 ? params->window : CSIMI_CASCADE_WINDOW;
}

static void csimi_cascade_layout(csimi_cascade *s, csimi_arena *arena, int contacts, int window) {
    const size_t vector = 3 * (size_t)contacts;
    s->local = CSIMI_PUSH(arena, csimi_local, contacts);
    s->best = CSIMI_PUSH(arena, csim_real, vector);
    s->centre = CSIMI_PUSH(arena, csim_real, vector);
    s->u = CSIMI_PUSH(arena, csim_real, vector);
    s->metric = CSIMI_PUSH(arena, csim_real, vector);
    csimi_anderson_layout(&s->anderson, arena, 3 * contacts, window);
}

CSIMI_FN size_t csimi_cascade_bytes(int contacts, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_cascade s;
    csimi_cascade_layout(&s, &arena, contacts, csimi_cascade_window(params));
    return arena.high;
}

/* ---- a sweep */

/* Solves contact c given its velocity u; the proximal term extra (r - centre) is part of the model. */
static void csimi_cascade_contact(csimi_cascade *s, int c, csim_real *u, csim_real *next) {
    csimi_local *local = s->local + c;
    const csim_real *r = s->r + 3 * (ptrdiff_t)c, *centre = s->centre + 3 * (ptrdiff_t)c, *W = local->W;
    u[0] -= W[0] * r[0] + W[1] * r[1] + W[2] * r[2] + local->extra * centre[0];
    u[1] -= W[1] * r[0] + W[3] * r[1] + W[4] * r[2] + local->extra * centre[1];
    u[2] -= W[2] * r[0] + W[4] * r[1] + W[5] * r[2] + local->extra * centre[2];
    csimi_local_solve(local, u, next);
}

static void csimi_cascade_rows(csimi_cascade *s) {
    int c, k;
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real *r = s->r + 3 * (ptrdiff_t)c, u[3], next[3];
        csimi_delassus_row(s->W, c, u);
        csimi_cascade_contact(s, c, u, next);
        if (!(csimi_abs(next[0] - r[0]) + csimi_abs(next[1] - r[1]) + csimi_abs(next[2] - r[2]) <= 0))
            csimi_delassus_change(s->W, c, r, next);
        for (k = 0; k < 3; ++k) r[k] = next[k];
    }
}

static void csimi_cascade_all(csimi_cascade *s) {
    int c, k;
    csimi_delassus_velocity(s->W, s->r, s->u);
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real next[3];
        csimi_cascade_contact(s, c, s->u + 3 * (ptrdiff_t)c, next);
        for (k = 0; k < 3; ++k) s->r[3 * (ptrdiff_t)c + k] = next[k];
    }
}

static void csimi_cascade_pass(csimi_cascade *s) {
    if (s->W->rows)
        csimi_cascade_rows(s);
    else
        csimi_cascade_all(s);
    ++s->sweeps;
}

/* ---- the best impulses */

static void csimi_cascade_keep(csimi_cascade *s) {
    s->measure = csimi_delassus_measure(s->W, s->r, s->u, false);
    if (!(s->measure < s->best_measure)) return;
    s->best_measure = s->measure;
    CSIMI_MEMCPY(s->best, s->r, (size_t)s->length * sizeof *s->best);
}

static void csimi_cascade_restore(csimi_cascade *s) {
    CSIMI_MEMCPY(s->r, s->best, (size_t)s->length * sizeof *s->best);
    csimi_delassus_begin(s->W, s->r);
}

static bool csimi_cascade_done(const csimi_cascade *s) {
    return s->best_measure <= s->run->target || s->sweeps >= s->cap || s->broken;
}

/* Local models for W + eps I. */
static void csimi_cascade_prepare(csimi_cascade *s, double eps) {
    int c;
    for (c = 0; c < s->W->contacts; ++c) {
        csimi_local *local = s->local + c;
        csimi_local_prepare(local, s->W->laws + c, (csim_real)eps);
    }
}

/* ---- stages */

/* One sweep whose change goes into the next slot of the ring: f = g - r, p = g. Returns |f|. */
static double csimi_cascade_record(csimi_cascade *s) {
    csim_real *f, *p;
    int i;
    csimi_anderson_slot(&s->anderson, &f, &p);
    CSIMI_MEMCPY(f, s->r, (size_t)s->length * sizeof *f);
    csimi_cascade_pass(s);
    for (i = 0; i < s->length; ++i) {
        f[i] = s->r[i] - f[i];
        p[i] = s->r[i];
    }
    return csimi_sqrt64(csimi_sum_dot(s->length, f, f));
}

static void csimi_cascade_extrapolate(csimi_cascade *s) {
    csimi_anderson_step(&s->anderson, s->metric, s->r, s->W->tasks);
    if (s->anderson.count < 2) return;
    csimi_delassus_project(s->W, s->r);
    csimi_delassus_begin(s->W, s->r);
}

/* Distance of r from the centre of the proximal step. */
static double csimi_cascade_travel(const csimi_cascade *s) {
    double sum = 0;
    int i;
    for (i = 0; i < s->length; ++i) {
        const double way = (double)s->r[i] - (double)s->centre[i];
        sum += way * way;
    }
    return csimi_sqrt64(sum);
}

/* Accelerated sweeps. eps 0: until measured good, or no halving of the measure for budget sweeps. eps > 0: one proximal
   step, until the change of a sweep is small against eps times the way from the centre, or budget sweeps. Ends on a
   plain sweep, never on an extrapolation. Returns the number of sweeps; false in *settled when it gave up. */
static int csimi_cascade_accelerated(csimi_cascade *s, double eps, int budget, bool *settled) {
    double least = (double)CSIMI_HUGE, halved = s->best_measure;
    int count = 0, since = 0;
    csimi_anderson_clear(&s->anderson);
    for (*settled = false;;) {
        const double change = csimi_cascade_record(s);
        ++count;
        ++since;
        s->broken = !(change < (double)CSIMI_HUGE);
        if (s->broken) break;
        if (s->sweeps == 1 || s->sweeps % 2 == 0) csimi_cascade_keep(s);
        csimi_impulse_log(s->run, s->sweeps, s->measure);
        if (csimi_cascade_done(s)) break;
        if (s->best_measure < 0.5 * halved) {
            halved = s->best_measure;
            since = 0;
        }
        if (eps > 0 ? count >= budget : since >= budget) break;
        if (eps > 0 && change < 0.2 * eps * csimi_cascade_travel(s)) {
            *settled = true;
            break;
        }
        if (change > 1.5 * least) { /* the extrapolation did harm: forget it */
            csimi_anderson_clear(&s->anderson);
            least = (double)CSIMI_HUGE;
            ++s->run->outcome->rejections;
        } else {
            if (change < least) least = change;
            csimi_cascade_extrapolate(s);
        }
    }
    return count;
}

static void csimi_cascade_loop(csimi_cascade *s) {
    double eps = 1e-2;
    csimi_cascade_restore(s);
    while (!csimi_cascade_done(s)) {
        bool settled;
        int count;
        CSIMI_MEMCPY(s->centre, s->r, (size_t)s->length * sizeof *s->centre);
        csimi_cascade_prepare(s, eps);
        count = csimi_cascade_accelerated(s, eps, CSIMI_CASCADE_INNER, &settled);
        if (!settled)
            eps = eps * 3 < 1 ? eps * 3 : 1;
        else if (count < CSIMI_CASCADE_INNER / 3)
            eps *= 0.1;
        else if (count < 2 * CSIMI_CASCADE_INNER / 3)
            eps *= 0.3;
        if (eps < 1e-9) eps = 1e-9;
    }
    csimi_cascade_prepare(s, 0);
}

/* The burst works in the memory of the ring, which is idle meanwhile. */
static void csimi_cascade_newton(csimi_cascade *s) {
    csimi_anderson *a = &s->anderson;
    unsigned char *base = (unsigned char *)a->f;
    csimi_arena ring =
        csimi_arena_in(base, (size_t)((unsigned char *)(a->p + (size_t)a->window * (size_t)a->n) - base));
    int count = csimi_imin(s->cap - s->sweeps, CSIMI_CASCADE_BURST);
    if (count <= 0 || !csimi_fischer_takes(s->W)) return;
    s->best_measure =
        csimi_fischer_burst(s->W, &ring, s->best, s->best_measure, s->u, s->run->target, 40, 100, &count, s->run);
    s->sweeps += count;
    csimi_cascade_restore(s);
}

/* ---- the solvers */

/* Largest stretch of W by a few power steps, and with it sigma; from a start that no symmetry of the problem shares. */
static void csimi_cascade_spectrum(csimi_cascade *s) {
    csim_real *x = s->centre, *y = s->u;
    double sigma = 1;
    int step, i;
    for (i = 0; i < s->length; ++i) x[i] = CSIM_R(1 + (i * 7919) % 101) / 101;
    for (step = 0; step < 12; ++step) {
        const double size = csimi_sqrt64(csimi_sum_dot(s->length, x, x));
        csimi_delassus_product(s->W, x, y);
        sigma = csimi_sqrt64(csimi_sum_dot(s->length, y, y)) / size;
        if (!(sigma > 0 && sigma < 1e300)) break;
        for (i = 0; i < s->length; ++i) x[i] = y[i] / (csim_real)(sigma * size);
    }
    s->sigma = sigma > 0 && sigma < 1e300 ? (csim_real)(sigma / 1.5) : 1;
}

static void csimi_cascade_open(csimi_cascade *s, csimi_impulse_run *run) {
    int c, k;
    CSIMI_MEMSET(s, 0, sizeof *s);
    s->run = run;
    s->W = run->W;
    s->length = 3 * run->W->contacts;
    s->r = run->r;
    s->cap = run->params->max_iterations;
    s->measure = s->best_measure = (double)CSIMI_HUGE;
    csimi_cascade_layout(s, run->arena, run->W->contacts, csimi_cascade_window(run->params));
    if (!s->W->rows) csimi_cascade_spectrum(s);
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real D[9];
        for (k = 0; k < 9; ++k) D[k] = s->W->rows ? s->W->diagonal[9 * (ptrdiff_t)c + k] : k % 4 == 0 ? s->sigma : 0;
        csimi_local_set(s->local + c, D);
        s->local[c].z = 0;
    }
    for (k = 0; k < s->length; ++k) {
        s->metric[k] = 1;
        s->centre[k] = 0;
    }
    csimi_cascade_prepare(s, 0);
    CSIMI_MEMCPY(s->best, s->r, (size_t)s->length * sizeof *s->best);
    csimi_delassus_project(s->W, s->r);
    csimi_delassus_begin(s->W, s->r);
}

static bool csimi_cascade_close(csimi_cascade *s) {
    CSIMI_MEMCPY(s->r, s->best, (size_t)s->length * sizeof *s->best);
    s->run->outcome->iterations += s->sweeps;
    s->run->outcome->residual = s->best_measure;
    return s->best_measure < (double)CSIMI_HUGE;
}

CSIMI_FN bool csimi_cascade_solve(csimi_impulse_run *run) {
    csimi_cascade s;
    bool settled;
    csimi_cascade_open(&s, run);
    csimi_cascade_accelerated(&s, 0, CSIMI_CASCADE_PATIENCE, &settled);
    if (!csimi_cascade_done(&s)) csimi_cascade_newton(&s);
    if (!csimi_cascade_done(&s)) csimi_cascade_loop(&s);
    return csimi_cascade_close(&s);
}

CSIMI_FN bool csimi_cascade_anderson(csimi_impulse_run *run) {
    csimi_cascade s;
    bool settled;
    csimi_cascade_open(&s, run);
    csimi_cascade_accelerated(&s, 0, 1000, &settled);
    return csimi_cascade_close(&s);
}

CSIMI_FN bool csimi_cascade_proximal(csimi_impulse_run *run) {
    csimi_cascade s;
    csimi_cascade_open(&s, run);
    csimi_cascade_loop(&s);
    return csimi_cascade_close(&s);
}

#undef CSIMI_CASCADE_WINDOW
#undef CSIMI_CASCADE_PATIENCE
#undef CSIMI_CASCADE_BURST
#undef CSIMI_CASCADE_INNER
