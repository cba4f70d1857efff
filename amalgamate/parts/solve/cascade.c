/* solve/cascade: impulses by exact sweeps, Anderson's acceleration, a Newton burst and a proximal loop, on vectors
   alone. Where W can be read row by row a sweep is Gauss-Seidel with the exact solution of one contact; where W is only
   a product it is the same with every contact solved at once against sigma I >= W / 1.5 in the place of its diagonal
   block (the step of COND on impulses). Between the stages of solve/stages.c stands a burst of Newton's method on the
   Fischer-Burmeister equations (solve/newton.c). Each stage starts from the best impulses seen. */
#include "private.h"

/* half the window takes half the memory and twice the sweeps in hard cases */
enum { CSIMI_CASCADE_WINDOW = 20 };
enum { CSIMI_CASCADE_PATIENCE = 100 }; /* sweeps without a halving */
enum { CSIMI_CASCADE_BURST = 4000 }; /* products of a burst of Newton's method at most */

typedef struct csimi_cascade {
    csimi_impulse_run *run;
    csimi_delassus *W;
    csimi_local *local;
    csim_real *u;    /* [3 contacts] of the run */
    csim_real sigma; /* the diagonal that stands in for W where it has no rows */
    csimi_stages loop;
} csimi_cascade;

static int csimi_cascade_window(const csim_solver_params *params) {
    return params->window > 0 ? params->window : CSIMI_CASCADE_WINDOW;
}

static void csimi_cascade_layout(csimi_cascade *s, csimi_arena *arena, int contacts, int window) {
    s->local = CSIMI_PUSH(arena, csimi_local, contacts);
    csimi_stages_layout(&s->loop, arena, contacts, window, 0);
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
    const csim_real *r = s->loop.x + 3 * (ptrdiff_t)c, *centre = s->loop.centre + 3 * (ptrdiff_t)c, *W = local->W;
    /* u without this contact, and with the centre's part of eps (r - centre) */
    u[0] -= W[0] * r[0] + W[1] * r[1] + W[2] * r[2] + local->extra * centre[0];
    u[1] -= W[1] * r[0] + W[3] * r[1] + W[4] * r[2] + local->extra * centre[1];
    u[2] -= W[2] * r[0] + W[4] * r[1] + W[5] * r[2] + local->extra * centre[2];
    csimi_local_solve(local, u, next);
}

static void csimi_cascade_rows(csimi_cascade *s) {
    int c, k;
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real *r = s->loop.x + 3 * (ptrdiff_t)c, u[3], next[3];
        csimi_delassus_row(s->W, c, u);
        csimi_cascade_contact(s, c, u, next);
        /* what has not changed is not told; a NaN is, so that the stages see it */
        if (!(csimi_abs(next[0] - r[0]) + csimi_abs(next[1] - r[1]) + csimi_abs(next[2] - r[2]) <= 0))
            csimi_delassus_change(s->W, c, r, next);
        for (k = 0; k < 3; ++k) r[k] = next[k];
    }
}

static void csimi_cascade_all(csimi_cascade *s) {
    int c, k;
    csimi_delassus_velocity(s->W, s->loop.x, s->u); /* one product for all: no contact sees another's change */
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real next[3];
        csimi_cascade_contact(s, c, s->u + 3 * (ptrdiff_t)c, next);
        for (k = 0; k < 3; ++k) s->loop.x[3 * (ptrdiff_t)c + k] = next[k];
    }
}

static void csimi_cascade_pass(void *problem) {
    csimi_cascade *s = (csimi_cascade *)problem;
    if (s->W->rows)
        csimi_cascade_rows(s);
    else
        csimi_cascade_all(s);
}

/* ---- what the stages ask */

static double csimi_cascade_look(void *problem) {
    csimi_cascade *s = (csimi_cascade *)problem;
    return csimi_delassus_measure(s->W, s->loop.x, s->u, false);
}

static void csimi_cascade_project(void *problem) {
    csimi_cascade *s = (csimi_cascade *)problem;
    csimi_delassus_project(s->W, s->loop.x); /* extrapolated impulses may leave their cones */
}

static void csimi_cascade_moved(void *problem) {
    csimi_cascade *s = (csimi_cascade *)problem;
    csimi_delassus_begin(s->W, s->loop.x); /* what rows are read on follows from all impulses */
}

/* Local models for W + eps I. */
static void csimi_cascade_prepare(void *problem, double eps) {
    csimi_cascade *s = (csimi_cascade *)problem;
    int c;
    for (c = 0; c < s->W->contacts; ++c) csimi_local_prepare(s->local + c, s->W->laws + c, (csim_real)eps);
}

/* The burst works in the memory of the ring, which is idle meanwhile. */
static void csimi_cascade_newton(csimi_cascade *s) {
    csimi_arena ring = csimi_stages_ring(&s->loop);
    int count = csimi_imin(s->loop.cap - s->loop.sweeps, CSIMI_CASCADE_BURST);
    /* no equations for ellipses and the convex law: the proximal loop comes at once */
    if (count <= 0 || !csimi_fischer_takes(s->W)) return;
    /* at most 40 steps of 100 products; what comes back is the better of best and burst */
    s->loop.best_measure = csimi_fischer_burst(s->W, &ring, s->loop.best, s->loop.best_measure, s->u, s->loop.target,
                                               40, 100, &count, s->run);
    s->loop.sweeps += count;
    s->loop.measure = (double)CSIMI_HUGE; /* u is not of the best any more */
    csimi_stages_restore(&s->loop);
}

/* ---- the solvers */

/* Largest stretch of W by a few power steps, and with it sigma; from a start that no symmetry of the problem shares. */
static void csimi_cascade_spectrum(csimi_cascade *s) {
    csim_real *x = s->loop.centre, *y = s->u;
    const int length = s->loop.length;
    double sigma = 1;
    int step, i;
    for (i = 0; i < length; ++i) x[i] = CSIM_R(1 + (i * 7919) % 101) / 101;
    for (step = 0; step < 12; ++step) {
        const double size = csimi_sqrt64(csimi_sum_dot(length, x, x));
        csimi_delassus_product(s->W, x, y);
        sigma = csimi_sqrt64(csimi_sum_dot(length, y, y)) / size;
        if (!(sigma > 0 && sigma < 1e300)) break; /* W x vanished, or is no number */
        for (i = 0; i < length; ++i) x[i] = y[i] / (csim_real)(sigma * size);
    }
    /* a step of 1.5 / sigma contracts as long as it is below 2 / sigma: room for an estimate from below */
    s->sigma = sigma > 0 && sigma < 1e300 ? (csim_real)(sigma / 1.5) : 1;
}

static void csimi_cascade_open(csimi_cascade *s, csimi_impulse_run *run) {
    int c, k;
    CSIMI_MEMSET(s, 0, sizeof *s);
    s->run = run;
    s->W = run->W;
    csimi_cascade_layout(s, run->arena, run->W->contacts, csimi_cascade_window(run->params));
    s->loop.x = run->r;
    s->u = run->u;
    s->loop.tasks = run->W->tasks;
    s->loop.cap = csimi_imax(run->params->max_iterations - run->outcome->iterations, 1); /* earlier runs count */
    s->loop.target = run->target;
    s->loop.history = run->params->history;
    s->loop.history_capacity = run->params->history ? run->params->history_capacity : 0;
    s->loop.measure = s->loop.best_measure = (double)CSIMI_HUGE;
    s->loop.problem = s;
    s->loop.pass = csimi_cascade_pass;
    s->loop.project = csimi_cascade_project;
    s->loop.moved = csimi_cascade_moved;
    s->loop.look = csimi_cascade_look;
    s->loop.prepare = csimi_cascade_prepare;
    if (!s->W->rows) csimi_cascade_spectrum(s);
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real D[9];
        for (k = 0; k < 9; ++k) D[k] = s->W->rows ? s->W->diagonal[9 * (ptrdiff_t)c + k] : k % 4 == 0 ? s->sigma : 0;
        csimi_local_set(s->local + c, D);
        s->local[c].z = 0; /* the search for a slip starts from rest */
    }
    for (k = 0; k < s->loop.length; ++k) {
        s->loop.metric[k] = 1; /* variables have no units */
        s->loop.centre[k] = 0;
    }
    csimi_cascade_prepare(s, 0);
    /* the start is best until a sweep is measured: its own measure is not known */
    CSIMI_MEMCPY(s->loop.best, s->loop.x, (size_t)s->loop.length * sizeof *s->loop.best);
    csimi_cascade_project(s);
    csimi_cascade_moved(s);
}

static bool csimi_cascade_close(csimi_cascade *s) {
    CSIMI_MEMCPY(s->loop.x, s->loop.best, (size_t)s->loop.length * sizeof *s->loop.best);
    s->run->outcome->iterations += s->loop.sweeps;
    s->run->outcome->rejections += s->loop.rejections;
    s->run->outcome->residual = s->loop.best_measure;
    /* u is W r + q of the impulses returned only if they were measured last */
    s->run->judged = s->W->rows && s->loop.measure <= s->loop.best_measure;
    return s->loop.best_measure < (double)CSIMI_HUGE;
}

CSIMI_FN bool csimi_cascade_solve(csimi_impulse_run *run) {
    csimi_cascade s;
    csimi_cascade_open(&s, run);
    csimi_stages_accelerated(&s.loop, CSIMI_CASCADE_PATIENCE);
    if (!csimi_stages_done(&s.loop)) csimi_cascade_newton(&s);
    if (!csimi_stages_done(&s.loop)) csimi_stages_proximal(&s.loop);
    return csimi_cascade_close(&s);
}

CSIMI_FN bool csimi_cascade_anderson(csimi_impulse_run *run) {
    csimi_cascade s;
    csimi_cascade_open(&s, run);
    csimi_stages_accelerated(&s.loop, 1000); /* nothing comes after: it may wait longer */
    return csimi_cascade_close(&s);
}

CSIMI_FN bool csimi_cascade_proximal(csimi_impulse_run *run) {
    csimi_cascade s;
    csimi_cascade_open(&s, run);
    csimi_stages_proximal(&s.loop);
    return csimi_cascade_close(&s);
}
