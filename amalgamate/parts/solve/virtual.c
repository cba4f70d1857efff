/* solve/virtual: the virtual nodes of COND (the paper's III-A). They carry the contacts of points that are
   no nodes, and nodes' second contacts, by a coupling kappa; what that coupling slips the shift of phi takes back. */
#include "cond.h"

CSIMI_FN csim_real csimi_cond_kappa(const csimi_cond *c, int node) {
    return c->map.nodal.kappa[node - c->map.given->A.n];
}

CSIMI_FN bool csimi_cond_is_virtual(const csimi_cond *c, int node) { return node >= c->map.given->A.n; }

CSIMI_FN csim_real csimi_cond_hang(const csimi_cond *c, int m) {
    const int a = c->map.nodal.node_a[m], b = c->map.nodal.node_b[m];
    return (csimi_cond_is_virtual(c, a) ? 1 / csimi_cond_kappa(c, a) : 0) +
           (csimi_cond_is_virtual(c, b) ? 1 / csimi_cond_kappa(c, b) : 0);
}

/* Compliance of a side against coarse motion: that of the coupling, or half of w. */
CSIMI_FN csim_real csimi_cond_compliance(const csimi_cond *c, int node, csim_real w) {
    return csimi_cond_is_virtual(c, node) ? 1 / csimi_cond_kappa(c, node) : w / 2;
}

/* ---- virtual nodes, eliminated. A massless node is where its contact's impulse balances its coupling, so that the
   contact sees the side itself through the compliance 1/kappa: lambda = Project(-(J v + phi) / (w_i + 1/kappa)), the
   node's own w in the place of 1/kappa where the side is a node. */

/* Adds the velocity of one side at p before its contact acted; returns its compliance. */
static csim_real csimi_cond_approach(const csimi_cond *c, int node, csim_real w, csim_real sign,
                                     const csim_real *impulse, csim_real *x) {
    csim_real y[3] = {0, 0, 0};
    int i;
    if (node < 0) return 0; /* ground gives no way, and its motion is in phi */
    if (csimi_cond_is_virtual(c, node)) {
        const csim_side side = c->map.nodal.side[node - c->map.given->A.n];
        for (i = side.first; i < side.first + side.count; ++i)
            csimi_addmul3(c->map.given->terms[i].J, c->map.p + 3 * (size_t)c->map.given->terms[i].block, y);
        w = 1 / csimi_cond_kappa(c, node);
    } else {
        /* p holds the push of lambda: without it, the velocity to which the contact answers */
        for (i = 0; i < 3; ++i) y[i] = c->map.p[3 * (size_t)node + (size_t)i] - sign * w * impulse[i];
    }
    for (i = 0; i < 3; ++i) x[i] += sign * y[i];
    return w;
}

/* Trial impulse of contact m with its virtual nodes eliminated; returns the compliance. */
CSIMI_FN csim_real csimi_cond_trial(const csimi_cond *c, int m, csim_real *trial) {
    const csimi_cond_contact *k = c->map.contact + m;
    csim_real x[3] = {0, 0, 0}, impulse[3] = {0, 0, 0}, gamma;
    int i;
    csimi_addmulT3(k->R, c->map.lambda + 3 * (size_t)m, impulse);
    gamma = csimi_cond_approach(c, k->a, k->wa, 1, impulse, x) + csimi_cond_approach(c, k->b, k->wb, -1, impulse, x);
    csimi_mul3(k->R, x, trial);
    for (i = 0; i < 3; ++i) trial[i] = gamma > 0 ? -(trial[i] + k->phi[i]) / gamma : 0;
    return gamma;
}

/* J_v v = v_v - J_c' lambda / kappa (the paper's III-A), solved for the node. */
static void csimi_cond_place(csimi_cond *c, int node, csim_real sign, const csim_real *impulse) {
    const csim_side side = c->map.nodal.side[node - c->map.given->A.n];
    csim_real *p = c->map.p + 3 * (size_t)node;
    int i;
    for (i = 0; i < 3; ++i) p[i] = sign * impulse[i] / csimi_cond_kappa(c, node);
    for (i = side.first; i < side.first + side.count; ++i)
        csimi_addmul3(c->map.given->terms[i].J, c->map.p + 3 * (size_t)c->map.given->terms[i].block, p);
}

/* Puts the virtual nodes of p where they balance. */
CSIMI_FN void csimi_cond_eliminate(csimi_cond *c) {
    int m;
    for (m = 0; m < c->map.contacts && c->map.nodal.virtual_count; ++m) {
        const csimi_cond_contact *k = c->map.contact + m;
        csim_real l[3], impulse[3] = {0, 0, 0}, gamma;
        const bool a = csimi_cond_is_virtual(c, k->a), b = csimi_cond_is_virtual(c, k->b);
        if (!a && !b) continue;
        gamma = csimi_cond_trial(c, m, l);
        csimi_project_as(c->map.law[m], c->map.nodal.problem.contacts + m, gamma, l);
        csimi_addmulT3(k->R, l, impulse);
        if (a) csimi_cond_place(c, k->a, 1, impulse);
        if (b) csimi_cond_place(c, k->b, -1, impulse);
    }
}

/* ---- distant contacts (centre.c). A contact that stays open needs no virtual nodes, yet hundreds of them load the
   diagonal of a rigid body and W shrinks with it. Those which the start leaves open by more than the largest approach
   are hung on by a thread; should one of them close after all, it gets its full coupling and the solve goes on. */
