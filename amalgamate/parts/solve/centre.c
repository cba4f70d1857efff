/* solve/centre: COND centres virtual nodes until they slip no more, and couples distant contacts that closed. */
#include "cond.h"

static const csim_real CSIMI_COND_THREAD = CSIM_R(1e-6); /* shares of kappa */

/* Whether a contact closed that was taken for distant. */
CSIMI_FN bool csimi_cond_threads(const csimi_cond *c) {
    int m;
    for (m = 0; m < c->map.contacts; ++m)
        if (c->centre.share[m] < c->centre.full && c->map.lambda[3 * m] > 0 && csimi_cond_hang(c, m) > 0) return true;
    return false;
}

/* A virtual node slips against its side by (lambda - centre) / kappa, the centre being the impulse it is shifted by.
   Moving the centre to the impulse at hand is one step of the proximal point method: the contacts of its limit are the
   given ones, whatever the gain. */
CSIMI_FN void csimi_cond_centre(csimi_cond *c) {
    csim_contact *contacts = (csim_contact *)c->map.nodal.problem.contacts;
    csim_real *step, *next;
    int m, i;
    csimi_anderson_slot(&c->centre.ring, &step, &next);
    for (m = 0; m < c->map.contacts; ++m) {
        const csim_real by = csimi_cond_hang(c, m);
        for (i = 3 * m; i < 3 * m + 3; ++i) {
            next[i] = c->map.lambda[i];
            /* the shift of phi over by is the old centre; without virtual nodes nothing slips */
            step[i] =
                by > 0 ? next[i] - (c->map.given->contacts[m].phi[i - 3 * m] - contacts[m].phi[i - 3 * m]) / by : 0;
            c->centre.spread[i] = by > 0 ? by : 1; /* 1: any metric, since step is 0 */
        }
    }
    /* extrapolated from the last centres: at a small gain proximal steps alone are slow */
    csimi_anderson_step(&c->centre.ring, c->centre.spread, c->map.trial, c->map.tasks);
    for (m = 0; m < c->map.contacts; ++m) {
        const csim_real by = csimi_cond_hang(c, m);
        for (i = 0; i < 3 && by > 0; ++i)
            contacts[m].phi[i] = c->map.contact[m].phi[i] =
                c->map.given->contacts[m].phi[i] - by * c->map.trial[3 * m + i];
    }
    /* virtual nodes move to where they balance under the new phi */
    csimi_cond_eliminate(c);
    csimi_cond_copy(c, c->map.v, c->map.p);
    csimi_cond_fresh(c);
    /* the contacts are known: no plain steps as at a start */
    c->policy.plain = 0;
}

/* Whether the slip of the virtual nodes is what is left to solve. |lambda - centre| in the metric 1/kappa is what a new
   centre adds to rho: below a tenth of it an inner solve gains nothing, as the next centre undoes it. */
CSIMI_FN bool csimi_cond_uncentred(const csimi_cond *c, csim_real tolerance) {
    double sum = 0;
    int m, i;
    if (!c->centre.shift || !c->map.nodal.virtual_count || c->ring.acceleration != CSIM_ACCELERATION_COARSE ||
        c->coarse.rigid)
        return false;
    if (c->coarse.chains.links) return false; /* cables are solved with the compliance of the centre at hand */
    /* not before the plain or Newton steps of a start are over */
    if (c->policy.iteration < 3 || c->policy.newton > 0 || c->policy.plain > 0) return false;
    for (m = 0; m < c->map.contacts; ++m) {
        const double by = (double)csimi_cond_hang(c, m);
        for (i = 0; i < 3 && by > 0; ++i) {
            const double slip = by * (double)c->map.lambda[3 * m + i] -
                                (double)(c->map.given->contacts[m].phi[i] - c->map.nodal.problem.contacts[m].phi[i]);
            sum += slip * slip / by;
        }
    }
    /* rel / rho turns the slip into the units of rel: a slip that the tolerance bears is left */
    return 100 * c->map.rho * c->map.rho < sum && c->map.rel * csimi_sqrt64(sum) > 0.3 * (double)tolerance * c->map.rho;
}

/* Whether a certified answer is worth other centres: Newton on rigid bodies is cheap near the answer, and what slip the
   tolerance leaves under a heavy body moves a light one. Not with springs: A then has more than a rigid body's two
   blocks in a row, and a new centre is far. */
CSIMI_FN bool csimi_cond_improves(csimi_cond *c, const csim_certificate *k, csim_real tolerance) {
    const csim_block_matrix *A = &c->map.given->A;
    if (!c->centre.shift || !c->coarse.rigid || A->row[A->n] > 2 * A->n) return false;
    /* a thousandth of the tolerance: nothing is left to gain */
    if (!c->map.nodal.virtual_count || k->contact < 1e-3 * (double)tolerance) return false;
    if (k->contact < c->policy.certified) csimi_cond_keep(c);
    c->policy.certified = k->contact < c->policy.certified ? k->contact : c->policy.certified;
    csimi_cond_centre(c);
    return true;
}

/* Largest velocity by which a virtual node slips against its side; phi tells the impulse it was shifted by. */
CSIMI_FN double csimi_cond_slip(const csimi_cond *c, const csim_real *lambda) {
    double worst = 0;
    int m, i, side;
    for (m = 0; m < c->map.contacts; ++m) {
        const double hang = (double)csimi_cond_hang(c, m);
        double square = 0;
        for (i = 0; i < 3; ++i) {
            /* the slip of both sides together; each has its part by its own 1/kappa */
            const double d = hang * (double)lambda[3 * m + i] -
                             (double)(c->map.given->contacts[m].phi[i] - c->map.nodal.problem.contacts[m].phi[i]);
            square += d * d;
        }
        for (side = 0; side < 2 && hang > 0; ++side) {
            const int node = side ? c->map.nodal.node_b[m] : c->map.nodal.node_a[m];
            const double slip =
                csimi_cond_is_virtual(c, node) ? csimi_sqrt64(square) / (hang * (double)csimi_cond_kappa(c, node)) : 0;
            if (slip > worst) worst = slip;
        }
    }
    return worst;
}

/* u_n of a contact at the velocities v: above 0 it opens. */
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

/* Threads for contacts that the start leaves open by more than twice the fastest approach. */
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
    for (m = 0; m < c->map.contacts; ++m) {
        const bool hangs =
            csimi_cond_is_virtual(c, c->map.nodal.node_a[m]) || csimi_cond_is_virtual(c, c->map.nodal.node_b[m]);
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
    for (m = 0; m < c->map.contacts; ++m)
        if (c->centre.share[m] >= c->centre.full) c->centre.share[m] = full;
}
