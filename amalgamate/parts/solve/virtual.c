/* solve/virtual: the virtual nodes of COND (the paper's III-A). They carry the contacts of points that are
   no nodes, and nodes' second contacts, by a coupling kappa; what that coupling slips the shift of phi takes back. */
#include "cond.h"

#define CSIMI_COND_THREAD CSIM_R(1e-6) /* shares of kappa */

CSIMI_FN csim_real csimi_cond_kappa(const csimi_cond *c, int node) { return c->nodal.kappa[node - c->given->A.n]; }

CSIMI_FN bool csimi_cond_is_virtual(const csimi_cond *c, int node) { return node >= c->given->A.n; }

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
    if (node < 0) return 0;
    if (csimi_cond_is_virtual(c, node)) {
        const csim_side side = c->nodal.side[node - c->given->A.n];
        for (i = side.first; i < side.first + side.count; ++i)
            csimi_addmul3(c->given->terms[i].J, c->p + 3 * (size_t)c->given->terms[i].block, y);
        w = 1 / csimi_cond_kappa(c, node);
    } else {
        for (i = 0; i < 3; ++i) y[i] = c->p[3 * (size_t)node + (size_t)i] - sign * w * impulse[i];
    }
    for (i = 0; i < 3; ++i) x[i] += sign * y[i];
    return w;
}

/* Trial impulse of contact m with its virtual nodes eliminated; returns the compliance. */
CSIMI_FN csim_real csimi_cond_trial(const csimi_cond *c, int m, csim_real *trial) {
    const csimi_cond_contact *k = c->contact + m;
    csim_real x[3] = {0, 0, 0}, impulse[3] = {0, 0, 0}, gamma;
    int i;
    csimi_addmulT3(k->R, c->lambda + 3 * (size_t)m, impulse);
    gamma = csimi_cond_approach(c, k->a, k->wa, 1, impulse, x) + csimi_cond_approach(c, k->b, k->wb, -1, impulse, x);
    csimi_mul3(k->R, x, trial);
    for (i = 0; i < 3; ++i) trial[i] = gamma > 0 ? -(trial[i] + k->phi[i]) / gamma : 0;
    return gamma;
}

static void csimi_cond_place(csimi_cond *c, int node, csim_real sign, const csim_real *impulse) {
    const csim_side side = c->nodal.side[node - c->given->A.n];
    csim_real *p = c->p + 3 * (size_t)node;
    int i;
    for (i = 0; i < 3; ++i) p[i] = sign * impulse[i] / csimi_cond_kappa(c, node);
    for (i = side.first; i < side.first + side.count; ++i)
        csimi_addmul3(c->given->terms[i].J, c->p + 3 * (size_t)c->given->terms[i].block, p);
}

/* Puts the virtual nodes of p where they balance. */
CSIMI_FN void csimi_cond_eliminate(csimi_cond *c) {
    int m;
    for (m = 0; m < c->contacts && c->nodal.virtual_count; ++m) {
        const csimi_cond_contact *k = c->contact + m;
        csim_real l[3], impulse[3] = {0, 0, 0}, gamma;
        const bool a = csimi_cond_is_virtual(c, k->a), b = csimi_cond_is_virtual(c, k->b);
        if (!a && !b) continue;
        gamma = csimi_cond_trial(c, m, l);
        csimi_project_as(c->law[m], c->nodal.problem.contacts + m, gamma, l);
        csimi_addmulT3(k->R, l, impulse);
        if (a) csimi_cond_place(c, k->a, 1, impulse);
        if (b) csimi_cond_place(c, k->b, -1, impulse);
    }
}

/* Compliance that the virtual nodes of a contact add to it, 1/kg. */
static csim_real csimi_cond_hang(const csimi_cond *c, int m) {
    const int a = c->nodal.node_a[m], b = c->nodal.node_b[m];
    return (csimi_cond_is_virtual(c, a) ? 1 / csimi_cond_kappa(c, a) : 0) +
           (csimi_cond_is_virtual(c, b) ? 1 / csimi_cond_kappa(c, b) : 0);
}

/* Whether a contact closed that was taken for distant. */
CSIMI_FN bool csimi_cond_threads(const csimi_cond *c) {
    int m;
    for (m = 0; m < c->contacts; ++m)
        if (c->share[m] < c->full && c->lambda[3 * m] > 0 && csimi_cond_hang(c, m) > 0) return true;
    return false;
}

/* A virtual node slips against its side by (lambda - centre) / kappa, the centre being the impulse it is shifted by.
   Moving the centre to the impulse at hand is one step of the proximal point method: the contacts of its limit are the
   given ones, whatever the gain. */
CSIMI_FN void csimi_cond_centre(csimi_cond *c) {
    csim_contact *contacts = (csim_contact *)c->nodal.problem.contacts;
    csim_real *step, *next;
    int m, i;
    csimi_anderson_slot(&c->centres, &step, &next);
    for (m = 0; m < c->contacts; ++m) {
        const csim_real by = csimi_cond_hang(c, m);
        for (i = 3 * m; i < 3 * m + 3; ++i) {
            next[i] = c->lambda[i];
            step[i] = by > 0 ? next[i] - (c->given->contacts[m].phi[i - 3 * m] - contacts[m].phi[i - 3 * m]) / by : 0;
            c->spread[i] = by > 0 ? by : 1;
        }
    }
    csimi_anderson_step(&c->centres, c->spread, c->trial, c->tasks);
    for (m = 0; m < c->contacts; ++m) {
        const csim_real by = csimi_cond_hang(c, m);
        for (i = 0; i < 3 && by > 0; ++i)
            contacts[m].phi[i] = c->contact[m].phi[i] = c->given->contacts[m].phi[i] - by * c->trial[3 * m + i];
    }
    csimi_cond_eliminate(c);
    csimi_cond_copy(c, c->v, c->p);
    csimi_cond_fresh(c);
    c->plain = 0;
}

/* Whether the slip of the virtual nodes is what is left to solve. |lambda - centre| in the metric 1/kappa is what a new
   centre adds to rho: below a tenth of it an inner solve gains nothing, as the next centre undoes it. */
CSIMI_FN bool csimi_cond_uncentred(const csimi_cond *c, csim_real tolerance) {
    double sum = 0;
    int m, i;
    if (!c->shift || !c->nodal.virtual_count || c->acceleration != CSIM_ACCELERATION_COARSE || c->rigid) return false;
    if (c->chains.links) return false; /* cables are solved with the compliance of the centre at hand */
    if (c->iteration < 3 || c->newton > 0 || c->plain > 0) return false;
    for (m = 0; m < c->contacts; ++m) {
        const double by = (double)csimi_cond_hang(c, m);
        for (i = 0; i < 3 && by > 0; ++i) {
            const double slip = by * (double)c->lambda[3 * m + i] -
                                (double)(c->given->contacts[m].phi[i] - c->nodal.problem.contacts[m].phi[i]);
            sum += slip * slip / by;
        }
    }
    return 100 * c->rho * c->rho < sum && c->rel * csimi_sqrt64(sum) > 0.3 * (double)tolerance * c->rho;
}

/* Whether a certified answer is worth other centres: Newton on rigid bodies is cheap near the answer, and what slip the
   tolerance leaves under a heavy body moves a light one. Not with springs: A then has more than a rigid body's two
   blocks in a row, and a new centre is far. */
CSIMI_FN bool csimi_cond_improves(csimi_cond *c, const csim_certificate *k, csim_real tolerance) {
    const csim_block_matrix *A = &c->given->A;
    if (!c->shift || !c->rigid || A->row[A->n] > 2 * A->n) return false;
    if (!c->nodal.virtual_count || k->contact < 1e-3 * (double)tolerance) return false;
    if (k->contact < c->certified) csimi_cond_keep(c);
    c->certified = k->contact < c->certified ? k->contact : c->certified;
    csimi_cond_centre(c);
    return true;
}

/* Largest velocity by which a virtual node slips against its side; phi tells the impulse it was shifted by. */
CSIMI_FN double csimi_cond_slip(const csimi_cond *c, const csim_real *lambda) {
    double worst = 0;
    int m, i, side;
    for (m = 0; m < c->contacts; ++m) {
        const double hang = (double)csimi_cond_hang(c, m);
        double square = 0;
        for (i = 0; i < 3; ++i) {
            const double d = hang * (double)lambda[3 * m + i] -
                             (double)(c->given->contacts[m].phi[i] - c->nodal.problem.contacts[m].phi[i]);
            square += d * d;
        }
        for (side = 0; side < 2 && hang > 0; ++side) {
            const int node = side ? c->nodal.node_b[m] : c->nodal.node_a[m];
            const double slip =
                csimi_cond_is_virtual(c, node) ? csimi_sqrt64(square) / (hang * (double)csimi_cond_kappa(c, node)) : 0;
            if (slip > worst) worst = slip;
        }
    }
    return worst;
}

/* ---- distant contacts. A contact that stays open needs its virtual nodes for nothing, yet hundreds of them load the
   diagonal of a rigid body and W shrinks with it. Those which the start leaves open by more than the largest approach
   are hung on by a thread; should one of them close after all, it gets its full coupling and the solve goes on. */

static csim_real csimi_cond_gap(const csim_problem *problem, const csim_contact *contact, const csim_real *v) {
    csim_real x[3] = {0, 0, 0};
    int side, k, i;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        csim_real y[3] = {0, 0, 0};
        for (k = s.first; k < s.first + s.count; ++k)
            csimi_addmul3(problem->terms[k].J, v + 3 * (size_t)problem->terms[k].block, y);
        for (i = 0; i < 3; ++i) x[i] += side ? -y[i] : y[i];
    }
    return contact->phi[0] + contact->R[0] * x[0] + contact->R[1] * x[1] + contact->R[2] * x[2];
}

CSIMI_FN void csimi_cond_part(const csim_problem *problem, const csim_solution *start, csim_real *share) {
    csim_real reach = 0;
    int m;
    for (m = 0; m < problem->contact_count; ++m)
        reach = csimi_max(reach, -csimi_cond_gap(problem, problem->contacts + m, start->v));
    for (m = 0; m < problem->contact_count; ++m) {
        const csim_contact *k = problem->contacts + m;
        const bool may_open = k->law != CSIM_LAW_BILATERAL && k->law != CSIM_LAW_BOX;
        share[m] = 1;
        if (may_open && !(start->lambda[3 * m] > 0) && csimi_cond_gap(problem, k, start->v) > 2 * reach)
            share[m] = CSIMI_COND_THREAD;
    }
}

/* Full coupling for the contacts that closed; whether there are any. */
CSIMI_FN bool csimi_cond_join(const csimi_cond *c, const csim_solution *now, csim_real full, csim_real *share) {
    bool joined = false;
    int m;
    for (m = 0; m < c->contacts; ++m) {
        const bool hangs = csimi_cond_is_virtual(c, c->nodal.node_a[m]) || csimi_cond_is_virtual(c, c->nodal.node_b[m]);
        if (!hangs || share[m] >= full || !(now->lambda[3 * m] > 0)) continue;
        share[m] = full;
        joined = true;
    }
    return joined;
}

/* Another coupling about the impulses reached, for the contacts that are not distant: softer where the last was not
   solved, the shift leaving its slip to the change of the impulses; stiffer where it slipped. */
CSIMI_FN void csimi_cond_couple(csimi_cond *c, csim_real full) {
    int m;
    for (m = 0; m < c->contacts; ++m)
        if (c->share[m] >= c->full) c->share[m] = full;
}

#undef CSIMI_COND_THREAD
