/* solve/fixedpoint: one application of COND's map and what it needs.

       v* = v - W (A v - b),   lambda = Project(-(J v* + phi)/gamma),   F(v) = v* + W J'lambda

   Rows of A stream through v* once; every contact then takes its one step alone, because no node carries two. */
#include "cond.h"

static const csim_real CSIMI_COND_SMOOTH = CSIM_R(1.2135922330097086); /* 1.25 / 1.03: W A at most, with a ring */

/* v*, and the squared residual of the rows without contact, for one chunk while its product is still in the cache. */
static void csimi_cond_free_rows(csimi_cond *c, int chunk) {
    const int first = chunk * CSIMI_COND_ROWS, last = csimi_imin(c->map.count / 3, first + CSIMI_COND_ROWS);
    const csim_real *CSIMI_RESTRICT v = c->map.v, *CSIMI_RESTRICT b = c->map.nodal.problem.b,
                                    *CSIMI_RESTRICT w = c->map.w;
    csim_real *CSIMI_RESTRICT f = c->map.f, *CSIMI_RESTRICT p = c->map.p;
    const csim_real alpha = (csim_real)c->map.alpha;
    double s0 = 0, s1 = 0, s2 = 0;
    int i;
    csimi_nodal_rows(&c->map.nodal, v, f, first, last);
    for (i = 3 * first; c->ring.r && i < 3 * last; ++i) c->ring.r[i] = f[i] - b[i]; /* A v - b */
    for (i = 3 * first; i < 3 * last; i += 3) {
        const csim_real r0 = b[i] - f[i], r1 = b[i + 1] - f[i + 1], r2 = b[i + 2] - f[i + 2];
        const csim_real f0 = w[i] * r0, f1 = w[i + 1] * r1, f2 = w[i + 2] * r2;
        f[i] = alpha * f0, f[i + 1] = alpha * f1, f[i + 2] = alpha * f2;
        p[i] = v[i] + f[i], p[i + 1] = v[i + 1] + f[i + 1], p[i + 2] = v[i + 2] + f[i + 2];
        if (c->map.pinned[i / 3]) continue; /* counted when its contact has pushed it */
        s0 += (double)(f0 * r0);
        s1 += (double)(f1 * r1);
        s2 += (double)(f2 * r2);
    }
    c->map.row_sum[chunk] = (s0 + s1) + s2; /* one order of sums, whoever computes the chunk */
}

static void csimi_cond_rows(void *context, int begin, int end) {
    int k;
    for (k = begin; k < end; ++k) csimi_cond_free_rows((csimi_cond *)context, k);
}

/* The law of contact m on its trial impulse, in place. */
static void csimi_cond_project(const csimi_cond *c, int m, csim_real *l) {
    const csimi_cond_contact *contact = c->map.contact + m;
    if (c->map.law[m] == CSIM_LAW_STRICT)
        csimi_clip_friction(contact->mu, l);
    else if (c->map.law[m] == CSIM_LAW_PROXIMAL)
        csim_project_cone(contact->mu, l, l);
    else /* the invertible law asks for gamma, that of alpha W */
        csim_project(c->map.nodal.problem.contacts + m, (csim_real)c->map.alpha * contact->gamma, l, l);
}

/* Adds s R'l to a node; returns its squared residual. */
static double csimi_cond_push(csimi_cond *c, int node, csim_real s, const csim_real *d) {
    const size_t at = 3 * (size_t)node;
    csim_real *f = c->map.f + at, *p = c->map.p + at;
    int i;
    for (i = 0; i < 3; ++i) {
        f[i] += s * d[i];
        p[i] += s * d[i];
    }
    return (double)c->map.w_inverse[at] * ((double)(f[0] * f[0]) + (double)(f[1] * f[1]) + (double)(f[2] * f[2]));
}

/* One-shot contacts (Alg. 2): all independent, because no node carries two. */
static void csimi_cond_touch(csimi_cond *c, int chunk) {
    const int begin = chunk * CSIMI_COND_ROWS, end = csimi_imin(c->map.contacts, begin + CSIMI_COND_ROWS);
    const csim_real alpha = (csim_real)c->map.alpha;
    double sum = 0, load = 0;
    int m, i;
    for (m = begin; m < end; ++m) {
        const csimi_cond_contact *k = c->map.contact + m;
        const csim_real *R = k->R, scale = -k->inverse_gamma / alpha; /* gamma of alpha W */
        csim_real *l = c->map.lambda + 3 * (size_t)m, x[3] = {0, 0, 0}, d[3];
        for (i = 0; i < 3 && k->a >= 0; ++i) x[i] = c->map.p[3 * (size_t)k->a + (size_t)i]; /* v* of node a */
        for (i = 0; i < 3 && k->b >= 0; ++i) x[i] -= c->map.p[3 * (size_t)k->b + (size_t)i];
        for (i = 0; i < 3; ++i)
            l[i] = scale * (R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2] + k->phi[i]);
        csimi_cond_project(c, m, l);
        for (i = 0; i < 3; ++i) d[i] = R[i] * l[0] + R[3 + i] * l[1] + R[6 + i] * l[2];
        if (k->a >= 0) sum += csimi_cond_push(c, k->a, alpha * k->wa, d);
        if (k->b >= 0) sum += csimi_cond_push(c, k->b, -alpha * k->wb, d);
        /* |J'lambda| in W, squared: gamma is the W of both nodes together */
        load += (double)k->gamma * ((double)(l[0] * l[0]) + (double)(l[1] * l[1]) + (double)(l[2] * l[2]));
    }
    c->map.contact_sum[chunk] = sum;
    c->map.load_sum[chunk] = load;
}

static void csimi_cond_contacts(void *context, int begin, int end) {
    int k;
    for (k = begin; k < end; ++k) csimi_cond_touch((csimi_cond *)context, k);
}

static int csimi_cond_chunks(int count) { return (count + CSIMI_COND_ROWS - 1) / CSIMI_COND_ROWS; }

/* p = F(v), f = p - v, lambda, rho and rel: norms in W itself, without the Barzilai-Borwein factor. */
CSIMI_FN void csimi_cond_map(csimi_cond *c) {
    const int rows = csimi_cond_chunks(c->map.count / 3), contacts = csimi_cond_chunks(c->map.contacts);
    double free_part, contact_part, load, scale;
    csimi_nodal_product(&c->map.nodal, c->map.v, c->map.f, false, c->map.tasks); /* virtual nodes; rows follow */
    csimi_parallel(c->map.tasks, rows, 1, csimi_cond_rows, c);
    /* after all rows: contacts read v* of both their nodes */
    csimi_parallel(c->map.tasks, contacts, 1, csimi_cond_contacts, c);
    c->map.products += 1;
    free_part = csimi_tree_sum(rows, c->map.row_sum);
    contact_part = csimi_tree_sum(contacts, c->map.contact_sum) / (c->map.alpha * c->map.alpha); /* f has alpha in it */
    load = csimi_tree_sum(contacts, c->map.load_sum);
    /* rel = |F(v) - v| in W^-1 over the larger of |b| and |J'lambda| in W */
    scale = load > c->map.b_norm * c->map.b_norm ? load : c->map.b_norm * c->map.b_norm;
    c->map.rho = csimi_sqrt64(free_part + contact_part);
    c->map.rel = scale > 0 ? csimi_sqrt64((free_part + contact_part) / scale) : c->map.rho > 0 ? 1 : c->map.rho;
}

/* ---- preparation */

CSIMI_FN bool csimi_cond_pack(csimi_cond *c) {
    const csim_problem *problem = &c->map.nodal.problem;
    bool finite = csimi_all_finite(problem->b, c->map.count) && csimi_all_finite(c->map.v, c->map.count);
    int m;
    CSIMI_MEMSET(c->map.pinned, 0, (size_t)c->map.nodal.count);
    for (m = 0; m < c->map.contacts; ++m) {
        const csim_contact *from = problem->contacts + m;
        csimi_cond_contact *to = c->map.contact + m;
        to->a = c->map.nodal.node_a[m];
        to->b = c->map.nodal.node_b[m];
        c->map.law[m] = (unsigned char)from->law;
        CSIMI_MEMCPY(to->R, from->R, sizeof to->R);
        CSIMI_MEMCPY(to->phi, from->phi, sizeof to->phi);
        to->mu = from->mu[0];
        if (to->a >= 0) c->map.pinned[to->a] = 1;
        if (to->b >= 0) c->map.pinned[to->b] = 1;
        finite = finite && csimi_all_finite(from->R, 9) && csimi_all_finite(from->phi, 3) &&
                 csimi_all_finite(from->mu, 2) && csimi_all_finite(from->omega, 2);
    }
    return finite;
}

/* W and its inverse times scale, and what goes by W. */
static void csimi_cond_scale(csimi_cond *c, csim_real scale) {
    int i, m;
    for (i = 0; i < c->map.count; ++i) {
        c->map.w[i] *= scale;
        c->map.w_inverse[i] /= scale;
    }
    for (m = 0; m < c->map.contacts; ++m) {
        csimi_cond_contact *k = c->map.contact + m;
        k->wa = k->a >= 0 ? c->map.w[3 * (size_t)k->a] : 0;
        k->wb = k->b >= 0 ? c->map.w[3 * (size_t)k->b] : 0;
        k->gamma = k->wa + k->wb;
        k->inverse_gamma = k->gamma > 0 ? 1 / k->gamma : 0; /* no side moves: no impulse */
    }
    /* for coarse motion, which virtual nodes follow: half of w, or 1 / kappa of a coupling */
    for (m = 0; m < c->map.contacts; ++m)
        c->map.gamma[m] = csimi_cond_compliance(c, c->map.contact[m].a, c->map.contact[m].wa) +
                          csimi_cond_compliance(c, c->map.contact[m].b, c->map.contact[m].wb);
    c->map.b_norm =
        csimi_sqrt64(csimi_sum_weighted(c->map.count, c->map.w, c->map.nodal.problem.b, c->map.nodal.problem.b));
}

/* Scales W by the spectrum of W A: 1.5 / sigma for the iteration that only needs to contract, 1.25 / 1.03 for the one
   whose smoothness the coarse part completes. A spectrum that an earlier solve knew is first taken as it is. */
CSIMI_FN void csimi_cond_weigh(csimi_cond *c, csim_weight weight, csim_real known) {
    const csimi_nodal *A = &c->map.nodal;
    int i;
    if (weight == CSIM_WEIGHT_AUTO)
        weight = c->ring.acceleration == CSIM_ACCELERATION_CHEBYSHEV ? CSIM_WEIGHT_FROBENIUS : CSIM_WEIGHT_JACOBI;
    if (weight == CSIM_WEIGHT_JACOBI)
        csimi_weights_jacobi(A, c->map.pinned, c->map.w);
    else
        csimi_weights_frobenius(A, c->map.pinned, c->map.w, c->map.work);
    for (i = 0; i < c->map.count; ++i) c->map.w_inverse[i] = 1 / c->map.w[i];
    c->map.trusted = csimi_cond_rings(c) && known > 0;
    c->map.sigma = c->map.trusted ? known
                                  : csimi_weights_sigma(A, c->map.w, c->map.w_inverse, known, c->map.work,
                                                        &c->map.products, c->map.tasks);
    csimi_cond_scale(c, csimi_cond_rings(c) ? CSIMI_COND_SMOOTH / c->map.sigma
                        : c->ring.acceleration == CSIM_ACCELERATION_CHEBYSHEV || weight <= CSIM_WEIGHT_FROBENIUS
                            ? CSIM_R(1.5) / c->map.sigma
                            : 1 / c->map.sigma); /* Barzilai-Borwein finds the length itself */
}

/* Looks, in four products of A, whether the spectrum is the one that was taken. The ring is empty afterwards: its room
   is worked in. */
CSIMI_FN void csimi_cond_weigh_again(csimi_cond *c) {
    const csim_real known = CSIMI_COND_SMOOTH; /* as W is scaled */
    const csim_real sigma = csimi_weights_sigma(&c->map.nodal, c->map.w, c->map.w_inverse, known, c->map.work,
                                                &c->map.products, c->map.tasks);
    c->map.trusted = false;
    csimi_anderson_clear(&c->ring.pairs);
    if (!(sigma < known || sigma > known)) return;
    c->map.sigma *= sigma / known;
    csimi_cond_scale(c, known / sigma);
}
