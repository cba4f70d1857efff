/* solve/stages: sweeps over impulses, accelerated by Anderson's method, and the proximal loop of them; the frame of
   a cascade for bodies (solve/sweep.c) and for W by rows or as a product (solve/cascade.c). What a
   sweep is, what follows from a jump of the impulses and how good they are the problem says. */
#include "private.h"

enum { CSIMI_STAGES_INNER = 200 }; /* sweeps of one proximal step */

/* ---- what both of them need of impulses */

CSIMI_FN void csimi_impulse_allow(const csim_contact *contact, csim_real *x) {
    /* not csim_project: it takes x for a trial impulse, shrinks it by omega, and its clip never moves the normal */
    if (csimi_law_is(contact, CSIM_LAW_STRICT) || csimi_law_is(contact, CSIM_LAW_INVERTIBLE))
        csim_project_cone(contact->mu[0], x, x);
    else
        csim_project(contact, 1, x, x);
}

/* The lower middle value of x[count]; reorders x (Hoare's selection). */
static csim_real csimi_median(csim_real *x, int count) {
    const int middle = (count - 1) / 2;
    int lo = 0, hi = count - 1;
    while (lo < hi) {
        const csim_real pivot = x[lo + (hi - lo) / 2];
        int i = lo, j = hi;
        while (i <= j) {
            while (x[i] < pivot) ++i;
            while (x[j] > pivot) --j;
            if (i <= j) {
                const csim_real swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (middle <= j)
            hi = j;
        else if (middle >= i)
            lo = i;
        else
            break; /* what lies between j and i equals the pivot: middle is there */
    }
    return x[middle];
}

CSIMI_FN csim_real csimi_impulse_floor(csim_real *norms, int count) {
    csim_real most = 0, median;
    int m, carrying = 0;
    for (m = 0; m < count; ++m) most = csimi_max(most, norms[m]);
    for (m = 0; m < count; ++m) /* open contacts have no say: their number depends on the margins */
        if (norms[m] > CSIMI_IMPULSE_NOISE * most) norms[carrying++] = norms[m];
    median = carrying > 0 ? csimi_median(norms, carrying) : 0;
    return csimi_max(median, csimi_max(CSIMI_IMPULSE_NOISE * most, CSIMI_TINY));
}

/* ---- the stages */

/* Figures of the certificate are taken to fall as the measure does; the aim is half the tolerance. */
CSIMI_FN double csimi_next_target(double target, const csim_certificate *certificate, csim_real tolerance) {
    const double share = 0.5 * (double)tolerance / csim_certificate_worst(certificate);
    return target * (share < 1e-3 ? 1e-3 : share < 0.3 ? share : 0.3);
}

CSIMI_FN void csimi_stages_layout(csimi_stages *s, csimi_arena *arena, int contacts, int window, size_t least) {
    s->length = 3 * contacts;
    s->best = CSIMI_PUSH(arena, csim_real, s->length);
    s->centre = CSIMI_PUSH(arena, csim_real, s->length);
    s->metric = CSIMI_PUSH(arena, csim_real, s->length);
    csimi_anderson_layout(&s->anderson, arena, s->length, window, least); /* last: its ring may grow behind */
}

CSIMI_FN csimi_arena csimi_stages_ring(const csimi_stages *s) {
    return csimi_arena_in(s->anderson.f, s->anderson.room * 2 * sizeof(csim_real));
}

CSIMI_FN void csimi_stages_look(csimi_stages *s) {
    s->measure = s->look(s->problem);
    if (!(s->measure < s->best_measure)) return; /* a NaN is no better either */
    s->best_measure = s->measure;
    CSIMI_MEMCPY(s->best, s->x, (size_t)s->length * sizeof *s->best);
}

CSIMI_FN void csimi_stages_restore(csimi_stages *s) {
    CSIMI_MEMCPY(s->x, s->best, (size_t)s->length * sizeof *s->best);
    s->moved(s->problem);
}

CSIMI_FN bool csimi_stages_capped(const csimi_stages *s) {
    return s->sweeps >= s->cap || (s->most > 0 && s->sweeps + s->factors >= s->most); /* a budget counts both */
}

CSIMI_FN bool csimi_stages_done(const csimi_stages *s) {
    return s->best_measure <= s->target || csimi_stages_capped(s) || s->broken;
}

CSIMI_FN void csimi_stages_log(csimi_stages *s) {
    /* a sweep between two looks has the last measure that is known */
    for (; s->logged < csimi_imin(s->sweeps, s->history_capacity); ++s->logged) s->history[s->logged] = s->measure;
}

/* One sweep whose change goes into the next slot of the ring: f = g - x, p = g. Returns |f| in the metric. */
static csimi_wide csimi_stages_record(csimi_stages *s) {
    csim_real *f, *p;
    int i;
    csimi_anderson_slot(&s->anderson, &f, &p);
    CSIMI_MEMCPY(f, s->x, (size_t)s->length * sizeof *f); /* x before the sweep, until it is subtracted */
    s->pass(s->problem);
    ++s->sweeps;
    for (i = 0; i < s->length; ++i) {
        f[i] = s->x[i] - f[i];
        p[i] = s->x[i];
    }
    return csimi_sqrt64(csimi_sum_weighted(s->length, s->metric, f, f));
}

/* Replaces x by Anderson's combination, made feasible. */
static void csimi_stages_extrapolate(csimi_stages *s) {
    csimi_anderson_step(&s->anderson, s->metric, s->x, s->tasks);
    if (s->anderson.count < 2) return; /* one pair alone gives p, which x is already */
    /* weights of either sign lead out of the cones */
    s->project(s->problem);
    s->moved(s->problem);
}

CSIMI_FN csimi_wide csimi_stages_travel2(const csimi_stages *s) {
    csimi_wide sum = 0;
    int i;
    for (i = 0; i < s->length; ++i) {
        const csimi_wide way = (csimi_wide)s->x[i] - (csimi_wide)s->centre[i];
        sum += (csimi_wide)s->metric[i] * way * way;
    }
    return sum;
}

/* Returns the number of sweeps; false in *settled when it gave up. */
static int csimi_stages_run(csimi_stages *s, csimi_wide eps, int budget, bool *settled) {
    csimi_wide least = (csimi_wide)CSIMI_HUGE, halved = s->best_measure;
    int count = 0, since = 0;
    csimi_anderson_clear(&s->anderson);
    for (*settled = false;;) {
        const csimi_wide change = csimi_stages_record(s);
        ++count;
        ++since;
        s->broken = !(change < (csimi_wide)CSIMI_HUGE);
        if (s->broken) break;
        /* measured is what a sweep left, no extrapolation, and every fourth time: a look costs as much as a sweep;
           every second where one changes so little that it may be the last. After odd ones runs would end sooner, and
           the next ones pay for what they left over */
        if (s->sweeps == 1 || s->sweeps % 4 == 0 || csimi_stages_capped(s) ||
            (s->sweeps % 2 == 0 &&
             (s->often ||
              change <= 100 * s->target * csimi_sqrt64(csimi_sum_weighted(s->length, s->metric, s->x, s->x)))))
            csimi_stages_look(s);
        csimi_stages_log(s);
        if (csimi_stages_done(s)) break;
        if (s->best_measure < CSIMI_WIDE(0.5) * halved) {
            halved = s->best_measure;
            since = 0;
        }
        if (eps > 0 ? count >= budget : since >= budget) break; /* eps 0: a patience */
        /* accurate enough for a proximal step: the sweep changes little against what the step itself has changed */
        if (eps > 0 && change < 2 * eps * csimi_sqrt64(csimi_stages_travel2(s))) {
            *settled = true;
            break;
        }
        if (change > CSIMI_WIDE(1.5) * least) { /* the extrapolation did harm: forget it */
            csimi_anderson_clear(&s->anderson);
            least = (csimi_wide)CSIMI_HUGE; /* a new window begins its own record */
            ++s->rejections;
        } else {
            if (change < least) least = change;
            csimi_stages_extrapolate(s);
        }
    }
    return count;
}

CSIMI_FN void csimi_stages_accelerated(csimi_stages *s, int patience) {
    bool settled;
    (void)csimi_stages_run(s, 0, patience, &settled);
}

CSIMI_FN void csimi_stages_proximal(csimi_stages *s) {
    csimi_wide eps = CSIMI_WIDE(1e-2); /* of the mean eigenvalue of each W_cc */
    csimi_stages_restore(s);
    while (!csimi_stages_done(s)) {
        bool settled;
        int count;
        CSIMI_MEMCPY(s->centre, s->x, (size_t)s->length * sizeof *s->centre);
        s->prepare(s->problem, eps);
        count = csimi_stages_run(s, eps, CSIMI_STAGES_INNER, &settled);
        /* not settled: more compliance; within a third or two thirds of the sweeps: less, nearer to the true W */
        if (!settled)
            eps = eps * 3 < 1 ? eps * 3 : 1;
        else if (count < CSIMI_STAGES_INNER / 3 + 1)
            eps *= CSIMI_WIDE(0.1);
        else if (count < 2 * CSIMI_STAGES_INNER / 3)
            eps *= CSIMI_WIDE(0.3);
        if (eps < CSIMI_WIDE(1e-9)) eps = CSIMI_WIDE(1e-9);
    }
    s->prepare(s->problem, 0); /* W itself again: who goes on sweeps the true problem */
}
