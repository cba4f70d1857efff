/* solve/correct: what COND solves exactly: the coarse correction, and cables on the face of their contacts. */
#include "cond.h"

/* Rows that the impulse of contact m holds at the iterate. */
static unsigned char csimi_cond_active(const csimi_cond *c, int m) {
    return csimi_coarse_rows(c->map.given->contacts + m, c->map.lambda + 3 * (size_t)m);
}

CSIMI_FN void csimi_cond_unite(csimi_cond *c) {
    int m;
    for (m = 0; m < c->map.contacts; ++m) c->coarse.space.closed[m] |= csimi_cond_active(c, m);
}

static csimi_coarse_contacts csimi_cond_contacts_now(const csimi_cond *c) {
    csimi_coarse_contacts now;
    now.trial = c->map.trial;
    now.lambda = c->map.lambda;
    now.gamma = c->map.gamma;
    now.law = c->map.law;
    now.stiffen = c->policy.mode == CSIMI_COND_STIFFER ? 10 : 1; /* a remedy for corrections that got lost */
    now.newton = c->policy.newton > 0 ? c->coarse.newton_steps : 0;
    now.looks = c->coarse.built < 0 && !now.newton ? CSIMI_COND_LOOKS : 0; /* before any impulse is known */
    return now;
}

/* A renewed factor makes another map of the iteration, which the pairs in the ring know nothing of. */
static void csimi_cond_refactor(csimi_cond *c, const csimi_coarse_contacts *now) {
    const bool whole = c->coarse.built < 0; /* the first one, or after a rejection */
    bool changed = c->coarse.rebuild || !c->coarse.space.ready;
    int m;
    for (m = 0; m < c->map.contacts; ++m) {
        unsigned char rows = csimi_cond_active(c, m);
        /* one set of impulses may show hardly a contact, and H would be much too soft: all that closed so far join */
        if (whole) rows |= c->coarse.space.closed[m];
        changed = changed || rows != c->coarse.space.used[m];
        c->coarse.space.used[m] = rows;
    }
    if (changed) {
        (void)csimi_coarse_factor(&c->coarse.space, c->map.given, now, c->map.tasks);
        csimi_cond_forget(c);
    }
    c->coarse.built = c->policy.iteration;
    c->coarse.rebuild = false;
}

/* p += the coarse correction: a Newton step on the coarse contact problem in the Newton phase, otherwise 0.6 of a
   linear one, whose factor is renewed at most every 10 iterations and only when the active set changed. */
static void csimi_cond_coarse(csimi_cond *c) {
    const csimi_coarse_contacts now = csimi_cond_contacts_now(c);
    const bool renew =
        !now.newton && (c->coarse.built < 0 || c->policy.iteration - c->coarse.built >= CSIMI_COND_RENEW);
    const bool leap = c->map.contacts == 0 && c->policy.iteration == 1; /* in free flight the coarse part is all */
    int m;
    /* ten products' worth: most of what lies at rest never comes here */
    if (!c->coarse.space.built) csimi_coarse_build(&c->coarse.space, c->map.given, c->map.tasks);
    /* trial impulses with virtual nodes eliminated: the derivative at slipping contacts is taken there */
    for (m = 0; m < c->map.contacts && (now.newton || renew); ++m)
        (void)csimi_cond_trial(c, m, c->map.trial + 3 * (size_t)m);
    if (renew) csimi_cond_refactor(c, &now);
    if (!now.newton && !c->coarse.space.ready) return;
    if (leap) csimi_cond_copy(c, c->map.p, c->map.v);
    /* 0.6: all from 0.35 to 0.7 is alike, and the full step takes 10 to 40 % more iterations */
    csimi_coarse_apply(&c->coarse.space, c->map.given, &c->map.nodal, &now, now.newton || leap ? 1 : 0.6,
                       c->map.w_inverse, c->map.f, c->map.p, c->map.tasks);
}

/* The cables of p, solved on the face of their contacts. */
static void csimi_cond_chains(csimi_cond *c) {
    csimi_chains *k = &c->coarse.chains;
    int m;
    for (m = 0; m < c->map.contacts; ++m) {
        const csimi_cond_contact *contact = c->map.contact + m;
        csim_real *trial = c->map.trial + 3 * (size_t)m, *l = k->lambda + 3 * (size_t)m;
        const bool alone = contact->a < 0 || contact->b < 0;
        const int node = contact->a < 0 ? contact->b : contact->a;
        k->gamma[m] = csimi_cond_trial(c, m, trial);
        CSIMI_MEMCPY(l, trial, 3 * sizeof *l);
        csimi_project_as(c->map.law[m], c->map.nodal.problem.contacts + m, k->gamma[m], l);
        k->give[m] = csimi_cond_hang(c, m);
        /* a virtual node gives way by its kappa: its contact is no face of a chain */
        k->held[m] = alone && !csimi_cond_is_virtual(c, node) ? node : -1;
    }
    (void)csimi_chains_correct(k, c->map.given, c->map.nodal.problem.contacts, c->map.law, c->map.trial,
                               c->policy.mode == CSIMI_COND_COARSE, c->map.p, c->map.tasks);
    c->map.products += 1; /* the imbalance at p */
}

CSIMI_FN void csimi_cond_correct(csimi_cond *c) {
    if (c->coarse.space.groups) csimi_cond_coarse(c);
    /* last, so that the cables of p end on the faces of their contacts */
    if (c->coarse.chains.links) csimi_cond_chains(c);
}

/* Newton steps that an m^3 / 3 factorisation leaves affordable; rigid bodies have nothing else to spend on. */
CSIMI_FN int csimi_cond_afford(const csimi_cond *c) {
    const csimi_nodal *nodal = &c->map.nodal;
    /* what a product costs, in blocks: a virtual node counts as four */
    const double blocks = nodal->problem.A.row[nodal->problem.A.n] + 4.0 * nodal->virtual_count;
    const double m = 6 * c->coarse.space.groups, product = 9 * blocks;
    const double steps = (double)(int)CSIMI_COND_BUDGET * product / (m * m * m / 3), least = c->coarse.rigid ? 3 : 1;
    const int most = CSIMI_COND_NEWTON;
    return steps > (double)most ? most : (int)(steps > least ? steps : least);
}
