/* solve/best: COND keeps its best iterate and certifies it; what it forgets when the map changes. */
#include "cond.h"

CSIMI_FN void csimi_cond_copy(csimi_cond *c, csim_real *to, const csim_real *from) {
    CSIMI_MEMCPY(to, from, (size_t)c->map.count * sizeof *to);
}

/* p becomes the best iterate; a certified one only gives way to a better certified one. */
CSIMI_FN void csimi_cond_keep(csimi_cond *c) {
    c->policy.saved = c->map.rho; /* whether an iterate is lost is judged by this */
    c->policy.saved_rel = c->map.rel;
    csimi_cond_copy(c, c->policy.best, c->map.p);
    CSIMI_MEMCPY(c->policy.best_lambda, c->map.lambda, 3 * (size_t)c->map.contacts * sizeof *c->map.lambda);
}

/* With the shift the answer is that of the given contacts, so those are certified; without it, the nodal ones until the
   solve ends (csimi_cond_judge): a contact gives by its impulse over kappa. */
CSIMI_FN bool csimi_cond_certify(csimi_cond *c, const csim_real *v, const csim_real *lambda, csim_real tolerance,
                                 csim_outcome *outcome) {
    csim_certificate *k = &outcome->certificate;
    const bool gives = !c->centre.shift && c->map.nodal.virtual_count > 0;
    csim_contact *contacts = (csim_contact *)c->map.nodal.problem.contacts;
    int m, i;
    for (m = 0; gives && m < c->map.contacts; ++m)
        for (i = 0; i < 3; ++i) contacts[m].phi[i] += csimi_cond_hang(c, m) * lambda[3 * m + i];
    (void)csimi_certify(gives ? &c->map.nodal.problem : c->map.given, v, lambda, c->map.scratch, c->map.scratch_bytes,
                        k);
    /* phi is lent to the certificate only: the iteration goes on with the given one */
    for (m = 0; gives && m < c->map.contacts; ++m)
        CSIMI_MEMCPY(contacts[m].phi, c->map.given->contacts[m].phi, sizeof contacts[m].phi);
    c->map.products += 1;
    return csim_certificate_worst(k) <= (double)tolerance;
}

/* Progress is measured anew. */
CSIMI_FN void csimi_cond_fresh(csimi_cond *c) {
    c->policy.phase = c->policy.idle = c->policy.stale = c->policy.newton = 0;
    c->policy.saved = c->policy.saved_rel = c->policy.lowest = c->policy.lowest_rel = c->policy.before = 1e300;
    c->policy.mode = c->policy.alone = 0;
    c->policy.plain = c->map.contacts > 0 ? 2 : 0; /* the first impulses show too few contacts for a factor */
    c->policy.plain_next = 4;
    c->policy.newton_next = 0;
    if (c->ring.acceleration == CSIM_ACCELERATION_COARSE && c->coarse.space.groups && c->map.nodal.virtual_count) {
        /* rigid bodies are all coarse, and their virtual nodes are eliminated: Newton solves them */
        c->policy.plain = 0;
        c->policy.newton = c->coarse.rigid ? 3 : 1;
        c->policy.newton_next = 6;
    }
    if (c->coarse.chains.links) c->policy.plain = 0; /* solved exactly from the first map on */
    if (csimi_cond_rings(c)) csimi_anderson_clear(&c->ring.pairs);
}
