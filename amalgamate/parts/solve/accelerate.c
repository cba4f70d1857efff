/* solve/accelerate: from one application of COND's map to the next iterate: Chebyshev, Barzilai-Borwein, Anderson, and
   the coarse correction with its safeguards. */
#include "cond.h"

CSIMI_FN void csimi_cond_copy(csimi_cond *c, csim_real *to, const csim_real *from) {
    CSIMI_MEMCPY(to, from, (size_t)c->count * sizeof *to);
}

/* v = p, by exchanging them where p is not part of a ring. */
static void csimi_cond_accept(csimi_cond *c) {
    if (csimi_cond_rings(c)) {
        csimi_cond_copy(c, c->v, c->p);
    } else {
        csim_real *turn = c->v;
        c->v = c->p;
        c->p = turn;
    }
}

/* Chebyshev (Alg. 3): v <- nu (p - last) + last. The ratio of (39) is that of accelerated increments. */
static void csimi_cond_chebyshev(csimi_cond *c) {
    csim_real *CSIMI_RESTRICT v = c->v, *CSIMI_RESTRICT last = c->last;
    const csim_real *CSIMI_RESTRICT p = c->p;
    csim_real *turn;
    double sum, ratio = 1, increment;
    int i;
    c->since += 1;
    if (c->since <= 1) {
        csimi_cond_copy(c, c->last, c->v);
        csimi_cond_copy(c, c->v, c->p);
        c->nu = 1;
        c->increment = c->rho;
        return;
    }
    for (i = 0; i < c->count; ++i) {
        const csim_real next = (csim_real)c->nu * (p[i] - last[i]) + last[i];
        last[i] = next;
        c->f[i] = next - v[i];
    }
    turn = c->v, c->v = c->last, c->last = turn;
    sum = csimi_sum_weighted(c->count, c->w_inverse, c->f, c->f);
    increment = csimi_sqrt64(sum);
    if (c->increment > 0) ratio = increment / c->increment;
    if (ratio > 0.99999) ratio = 0.99999;
    c->increment = increment;
    if (c->since == CSIMI_COND_SLOW_START)
        c->nu = 2 / (2 - ratio * ratio);
    else if (c->since > CSIMI_COND_SLOW_START)
        c->nu = 4 / (4 - ratio * ratio * c->nu);
}

/* Barzilai-Borwein: alpha from s = v - last, z = A s = r - last_r, in the metric of W. */
static void csimi_cond_barzilai(csimi_cond *c) {
    csim_real *turn;
    c->since += 1;
    if (c->since > 1) {
        double ss = 0, sz = 0, zz = 0, one, two;
        int i;
        for (i = 0; i < c->count; ++i) {
            const double s = (double)(c->v[i] - c->last[i]), z = (double)(c->r[i] - c->last_r[i]);
            ss += s * s * (double)c->w_inverse[i];
            sz += s * z;
            zz += z * z * (double)c->w[i];
        }
        one = ss / sz, two = sz / zz;
        if (c->weight == CSIM_WEIGHT_BB2 || (c->weight == CSIM_WEIGHT_BB_ALTERNATING && c->since % 2)) one = two;
        c->alpha = !(one > 0.1) ? 1 : one < c->longest ? one : c->longest;
    }
    csimi_cond_copy(c, c->last, c->v);
    turn = c->r, c->r = c->last_r, c->last_r = turn;
    csimi_cond_accept(c);
}

/* ---- coarse correction with its safeguards */

static unsigned char csimi_cond_active(const csimi_cond *c, int m) {
    return csimi_coarse_rows(c->given->contacts + m, c->lambda + 3 * (size_t)m);
}

static void csimi_cond_unite(csimi_cond *c) {
    int m;
    for (m = 0; m < c->contacts; ++m) c->coarse.closed[m] |= csimi_cond_active(c, m);
}

static csimi_coarse_contacts csimi_cond_contacts_now(const csimi_cond *c) {
    csimi_coarse_contacts now;
    now.trial = c->trial;
    now.lambda = c->lambda;
    now.gamma = c->gamma;
    now.law = c->law;
    now.stiffen = c->mode == 1 ? 10 : 1;
    now.newton = c->newton > 0 ? c->newton_steps : 0;
    now.looks = c->built < 0 && !now.newton ? CSIMI_COND_LOOKS : 0;
    return now;
}

/* The newest pair alone in the ring: the older ones describe another regime or another coarse correction. */
static void csimi_cond_forget(csimi_cond *c) {
    csim_real *f, *p;
    csimi_anderson_clear(&c->ring);
    csimi_anderson_slot(&c->ring, &f, &p);
    if (f == c->f) return;
    csimi_cond_copy(c, f, c->f);
    csimi_cond_copy(c, p, c->p);
    c->f = f, c->p = p;
}

/* A renewed factor makes another map of the iteration, which the pairs in the ring know nothing of. */
static void csimi_cond_refactor(csimi_cond *c, const csimi_coarse_contacts *now) {
    const bool whole = c->built < 0;
    bool changed = c->rebuild || !c->coarse.ready;
    int m;
    for (m = 0; m < c->contacts; ++m) {
        unsigned char rows = csimi_cond_active(c, m);
        if (whole) rows |= c->coarse.closed[m];
        changed = changed || rows != c->coarse.used[m];
        c->coarse.used[m] = rows;
    }
    if (changed) {
        (void)csimi_coarse_factor(&c->coarse, c->given, now);
        csimi_cond_forget(c);
    }
    c->built = c->iteration;
    c->rebuild = false;
}

/* Back to the best iterate. What follows is the next remedy: Newton where it serves, else stiffer contacts, then
   Anderson without the coarse part. */
static void csimi_cond_reject(csimi_cond *c) {
    csimi_cond_copy(c, c->v, c->best);
    csimi_anderson_clear(&c->ring);
    c->idle = 0;
    c->built = -1;
    c->rebuild = true;
    c->before = 1e300;
    c->leave = 0.1 * c->saved;
    c->alone = 0;
    c->newton = 0;
    c->rejections += 1;
    if (c->newton_next && c->rigid) {
        c->newton = c->newton_next;
        c->newton_next = csimi_imin(2 * c->newton_next, 24);
        return;
    }
    c->plain = c->plain_next;
    c->plain_next = csimi_imin(2 * c->plain_next, 16);
    c->mode = (c->mode + 1) % 3;
    if (c->acceleration == CSIM_ACCELERATION_COARSE) csimi_cond_unite(c);
}

/* p += the coarse correction: a Newton step on the coarse contact problem in the Newton phase, otherwise 0.6 of a
   linear one, whose factor is renewed at most every 10 iterations and only when the active set changed. */
static void csimi_cond_coarse(csimi_cond *c) {
    const csimi_coarse_contacts now = csimi_cond_contacts_now(c);
    const bool renew = !now.newton && (c->built < 0 || c->iteration - c->built >= CSIMI_COND_RENEW);
    int m;
    for (m = 0; m < c->contacts && (now.newton || renew); ++m) (void)csimi_cond_trial(c, m, c->trial + 3 * (size_t)m);
    if (renew) csimi_cond_refactor(c, &now);
    if (now.newton || c->coarse.ready)
        csimi_coarse_apply(&c->coarse, c->given, &c->nodal, &now, now.newton ? 1 : 0.6, c->w_inverse, c->f, c->p,
                           c->tasks);
}

/* The cables of p, solved on the face of their contacts. */
static void csimi_cond_chains(csimi_cond *c) {
    csimi_chains *k = &c->chains;
    int m;
    for (m = 0; m < c->contacts; ++m) {
        const csimi_cond_contact *contact = c->contact + m;
        csim_real *trial = c->trial + 3 * (size_t)m, *l = k->lambda + 3 * (size_t)m;
        const bool alone = contact->a < 0 || contact->b < 0;
        const int node = contact->a < 0 ? contact->b : contact->a;
        k->gamma[m] = csimi_cond_trial(c, m, trial);
        CSIMI_MEMCPY(l, trial, 3 * sizeof *l);
        csimi_project_as(c->law[m], c->nodal.problem.contacts + m, k->gamma[m], l);
        k->give[m] = (csimi_cond_is_virtual(c, contact->a) ? 1 / csimi_cond_kappa(c, contact->a) : 0) +
                     (csimi_cond_is_virtual(c, contact->b) ? 1 / csimi_cond_kappa(c, contact->b) : 0);
        k->held[m] = alone && !csimi_cond_is_virtual(c, node) ? node : -1;
    }
    (void)csimi_chains_correct(k, c->given, c->nodal.problem.contacts, c->law, c->trial, c->mode == 0, c->p, c->tasks);
    c->products += 1;
}

static void csimi_cond_correct(csimi_cond *c) {
    if (c->coarse.groups) csimi_cond_coarse(c);
    if (c->chains.links) csimi_cond_chains(c);
}

/* v = p without a memory of it. */
static void csimi_cond_take(csimi_cond *c) {
    csimi_cond_copy(c, c->v, c->p);
    csimi_anderson_clear(&c->ring);
}

static void csimi_cond_mix(csimi_cond *c) {
    const bool coarse = c->acceleration == CSIM_ACCELERATION_COARSE, grew = c->rho > 4 * c->before;
    const double before = c->before;
    if (grew) csimi_cond_forget(c);
    c->before = c->rho;
    if (c->plain > 0) {
        c->plain -= 1;
        if (coarse) csimi_cond_unite(c);
        csimi_cond_take(c);
        return;
    }
    if (coarse && c->mode == 2 && (c->rho < c->leave || ++c->alone > 40)) {
        c->mode = c->alone = 0;
        c->built = -1;
    }
    if (coarse && c->mode < 2) csimi_cond_correct(c);
    csimi_cond_eliminate(c);
    if (c->newton > 0) {
        if (grew)
            c->newton = 0;
        else if (!c->rigid || !(c->rho < 0.5 * before)) /* rigid bodies go on while Newton converges */
            c->newton -= 1;
        csimi_cond_take(c);
    } else {
        csimi_anderson_step(&c->ring, c->w_inverse, c->v, c->tasks);
    }
}

/* p becomes the best iterate; a certified one only gives way to a better certified one. */
CSIMI_FN void csimi_cond_keep(csimi_cond *c) {
    c->saved = c->rho;
    c->saved_rel = c->rel;
    csimi_cond_copy(c, c->best, c->p);
    CSIMI_MEMCPY(c->best_lambda, c->lambda, 3 * (size_t)c->contacts * sizeof *c->lambda);
}

/* With the shift the answer is that of the given contacts, so those are certified; without it, the nodal ones. */
CSIMI_FN bool csimi_cond_certify(csimi_cond *c, const csim_real *v, const csim_real *lambda, csim_real tolerance,
                                 csim_outcome *outcome) {
    csim_certificate *k = &outcome->certificate;
    (void)csim_problem_certify(c->shift ? c->given : &c->nodal.problem, v, lambda, c->scratch, c->scratch_bytes, k);
    c->products += 1;
    return k->dynamics <= (double)tolerance && k->contact <= (double)tolerance;
}

static void csimi_cond_restart(csimi_cond *c) {
    csimi_cond_copy(c, c->v, c->best);
    c->since = 0;
    c->alpha = 1;
    if (c->longest > 2) c->longest *= 0.5;
    c->idle = 0;
    c->rejections += 1;
}

/* Bookkeeping of progress. A coarse phase is measured from its own first residual: the first corrections raise the
   residual of a stiff body, whose warm start was nearly smooth, by orders of magnitude before they pay. */
static void csimi_cond_measure(csimi_cond *c) {
    const bool fresh = csimi_cond_rings(c) && (c->plain > 0 || c->newton > 0);
    c->phase = fresh ? 0 : c->phase + 1;
    c->stale += 1;
    c->idle += 1;
    if (!(c->rho < 1e300)) return;
    if (c->rel < 0.7 * c->saved_rel && c->certified >= 1e300) {
        csimi_cond_keep(c);
        c->stale = 0;
    }
    if (c->rel < 0.9 * c->lowest_rel || c->rho < 0.9 * c->lowest || (c->phase <= 2 && csimi_cond_rings(c))) {
        if (c->phase <= 2 || c->rel < c->lowest_rel) c->lowest_rel = c->rel;
        if (c->phase <= 2 || c->rho < c->lowest) c->lowest = c->rho;
        c->idle = 0;
    }
}

static bool csimi_cond_lost(const csimi_cond *c) {
    if (!(c->rho < 1e300)) return true;
    if (!csimi_cond_rings(c))
        return c->rho > 100 * c->saved || (c->idle > 100 && c->acceleration != CSIM_ACCELERATION_NONE);
    if (c->phase < 2) return false;
    return c->rho > 1e4 * c->saved || c->rho > 100 * c->lowest || c->idle > 40;
}

/* Takes the map's result into account and makes the next v. */
CSIMI_FN void csimi_cond_advance(csimi_cond *c) {
    csimi_cond_measure(c);
    if (csimi_cond_lost(c)) {
        if (csimi_cond_rings(c))
            csimi_cond_reject(c);
        else
            csimi_cond_restart(c);
    } else if (csimi_cond_rings(c)) {
        csimi_cond_mix(c);
    } else if (c->acceleration == CSIM_ACCELERATION_CHEBYSHEV) {
        csimi_cond_chebyshev(c);
    } else if (c->weight >= CSIM_WEIGHT_BB1) {
        csimi_cond_barzilai(c);
    } else {
        csimi_cond_accept(c);
    }
}

/* Progress is measured anew. */
CSIMI_FN void csimi_cond_fresh(csimi_cond *c) {
    c->phase = c->idle = c->stale = c->newton = 0;
    c->saved = c->saved_rel = c->lowest = c->lowest_rel = c->before = 1e300;
    c->mode = c->alone = 0;
    c->plain = 2;
    c->plain_next = 4;
    c->newton_next = 0;
    if (c->acceleration == CSIM_ACCELERATION_COARSE && c->coarse.groups && c->nodal.virtual_count) {
        /* rigid bodies are all coarse, and their virtual nodes are eliminated: Newton solves them */
        c->plain = 0;
        c->newton = c->rigid ? 3 : 1;
        c->newton_next = 6;
    }
    if (c->chains.links) c->plain = 0; /* solved exactly from the first map on */
    if (csimi_cond_rings(c)) csimi_anderson_clear(&c->ring);
}

/* Newton steps that an m^3 / 3 factorisation leaves affordable; rigid bodies have nothing else to spend on. */
CSIMI_FN int csimi_cond_afford(const csimi_cond *c) {
    const double m = 6 * c->coarse.groups, product = 9.0 * c->nodal.problem.A.row[c->nodal.problem.A.n];
    const double steps = (double)(int)CSIMI_COND_BUDGET * product / (m * m * m / 3), least = c->rigid ? 3 : 1;
    const int most = CSIMI_COND_NEWTON;
    return steps > (double)most ? most : (int)(steps > least ? steps : least);
}
