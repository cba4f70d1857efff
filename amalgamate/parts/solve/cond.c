/* solve/cond: velocity fixed-point iteration on nodal contacts (Lee et al., COND), solvers.md 1, findings-coarse.md.

       v* = v - W (A v - b),   lambda = Project(-(J v* + phi)/gamma),   F(v) = v* + W J'lambda

   One product of A an iteration. W^-1 (F(v) - v) is the force imbalance at v, so the residual costs nothing, and F(v)
   with its lambda obeys every contact law exactly, so what is left to certify is the dynamics. */
#include "private.h"

enum {
    CSIMI_COND_ROWS = 256,      /* rows and contacts to a chunk of partial sums */
    CSIMI_COND_SLOW_START = 10, /* plain steps before Chebyshev; paper Alg. 3, l_s */
    CSIMI_COND_RENEW = 10,      /* iterations a coarse factor serves at least */
    CSIMI_COND_LOOKS = 4,       /* factors the first correction may spend on contacts about to close */
    CSIMI_COND_ROUNDS = 4,      /* solves for distant contacts that closed */
    CSIMI_COND_EARLY = 20,      /* tolerances at which virtual nodes are first asked whether they slip */
    CSIMI_COND_CENTRES = 3,     /* centres of virtual nodes that the next one is extrapolated from */
    CSIMI_COND_SLOW = 3,        /* centres in a row that may fail to halve the slip of virtual nodes */
    CSIMI_COND_WANDER = 100,    /* the same before another gain is tried */
    CSIMI_COND_BEYOND = 8,      /* iterations that a better answer than a certified one may take */
    CSIMI_COND_NEWTON = 8,      /* factors one Newton correction may spend ... */
    CSIMI_COND_BUDGET = 30      /* ... for the price of about 30 products of A in all */
};

#define CSIMI_COND_THREAD CSIM_R(1e-6) /* shares of kappa */
#define CSIMI_COND_SOFT CSIM_R(0.01)
#define CSIMI_COND_STIFF 1000 /* gain that couplings are stiffened to */

/* A contact as the loop reads it: one contiguous record. */
typedef struct csimi_cond_contact {
    int a, b; /* nodes, -1: static */
    csim_real R[9], phi[3], mu;
    csim_real gamma, inverse_gamma, wa, wb;
} csimi_cond_contact;

typedef struct csimi_cond {
    const csim_problem *given;
    csimi_nodal nodal;
    const csim_tasks *tasks;
    csim_acceleration acceleration;
    csim_weight weight;
    int count, contacts; /* 3 n of the nodal problem; contacts */
    csimi_cond_contact *contact;
    bool shift;                  /* virtual nodes are shifted until they follow their sides */
    csim_real full;              /* share of a contact that closed */
    bool parted;                 /* a contact that hangs by a thread closed */
    int slow;                    /* centres in a row that did not halve the slip */
    double certified;            /* contact figure of best, once that is certified and a better one is looked for */
    int beyond;                  /* iterations since */
    double slipping;             /* contact figure when the virtual nodes were last centred */
    csim_real *share;            /* [contacts] of its kappa that a virtual node is coupled by */
    unsigned char *pinned, *law; /* [n] carries a contact; [contacts] law in force */
    csim_real *w, *w_inverse, *gamma, *work;
    csim_real *spread;            /* [3 contacts] 1/kg, metric of the centres */
    csim_real *v, *f, *p;         /* F(v) = p = v + f */
    csim_real *last, *r, *last_r; /* Chebyshev, Barzilai-Borwein */
    csim_real *best, *trial, *lambda, *best_lambda;
    double *row_sum, *contact_sum, *load_sum;
    void *scratch;
    size_t scratch_bytes;
    csimi_anderson ring, centres;
    csimi_coarse coarse;
    csimi_chains chains;
    bool unchained; /* cables are left to the acceleration: their exact solve did not settle */

    double longest;             /* largest alpha; halved whenever the iteration got lost */
    double alpha;               /* Barzilai-Borwein factor of W, 1 otherwise */
    double b_norm, rho, rel;    /* |b|_W, |F(v) - v|_1/W, relative residual */
    double saved, saved_rel;    /* rho and rel of best */
    double lowest, lowest_rel;  /* lowest of each so far */
    double before;              /* rho of the last iteration */
    int iteration, phase, idle; /* iterations of the coarse phase; without progress in it */
    int stale, rejections, products;
    int plain, plain_next;   /* plain steps to go, and after the next rejection */
    int newton_steps;        /* factors one of them may spend */
    int newton, newton_next; /* Newton corrections likewise; 0: the problem gains nothing from them */
    int mode, built;         /* 0 coarse, 1 stiffer contacts, 2 none; iteration of the last factor, -1: none */
    bool rigid;              /* the coarse space is most of the problem */
    double leave;            /* mode 2 ends below this rho ... */
    int alone;               /* ... or after 40 iterations */
    bool rebuild;
    double nu, increment; /* Chebyshev */
    int since;
} csimi_cond;

/* ---- memory */

static csim_acceleration csimi_cond_choose(const csim_solver_params *params, bool modes) {
    if (params->weight >= CSIM_WEIGHT_BB1 && params->weight <= CSIM_WEIGHT_BB_ALTERNATING)
        return CSIM_ACCELERATION_NONE; /* a step length of its own every iteration leaves nothing to accelerate */
    if (params->acceleration == CSIM_ACCELERATION_AUTO || params->acceleration == CSIM_ACCELERATION_COARSE)
        return modes ? CSIM_ACCELERATION_COARSE : CSIM_ACCELERATION_ANDERSON;
    return params->acceleration;
}

static bool csimi_cond_rings(const csimi_cond *c) {
    return c->acceleration == CSIM_ACCELERATION_COARSE || c->acceleration == CSIM_ACCELERATION_ANDERSON;
}

static int csimi_cond_window(const csim_solver_params *params) { return params->window > 0 ? params->window : 8; }

/* n nodes with their virtual ones; blocks, aggregates of the given problem. */
static void csimi_cond_layout(csimi_cond *c, csimi_arena *arena, int n, int contacts, int blocks, int aggregates,
                              int links, int window, bool virtual_nodes) {
    const size_t vector = 3 * (size_t)n;
    size_t mark;
    c->count = 3 * n;
    c->contacts = contacts;
    c->contact = CSIMI_PUSH(arena, csimi_cond_contact, contacts);
    c->pinned = CSIMI_PUSH(arena, unsigned char, n);
    c->law = CSIMI_PUSH(arena, unsigned char, contacts);
    c->w = CSIMI_PUSH(arena, csim_real, vector);
    c->w_inverse = CSIMI_PUSH(arena, csim_real, vector);
    c->gamma = CSIMI_PUSH(arena, csim_real, contacts);
    c->best = CSIMI_PUSH(arena, csim_real, vector);
    c->trial = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->best_lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    if (virtual_nodes) {
        csimi_anderson_layout(&c->centres, arena, 3 * contacts, CSIMI_COND_CENTRES);
        c->spread = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    }
    c->row_sum = CSIMI_PUSH(arena, double, n / CSIMI_COND_ROWS + 1);
    c->contact_sum = CSIMI_PUSH(arena, double, contacts / CSIMI_COND_ROWS + 1);
    c->load_sum = CSIMI_PUSH(arena, double, contacts / CSIMI_COND_ROWS + 1);
    c->scratch_bytes = csim_certificate_bytes(n, contacts);
    c->scratch = csimi_push(arena, c->scratch_bytes, 1);
    mark = arena->used; /* estimating W is over before the vectors of the acceleration are needed */
    c->work = CSIMI_PUSH(arena, csim_real, 3 * vector);
    csimi_pop(arena, mark);
    if (csimi_cond_rings(c)) {
        csimi_anderson_layout(&c->ring, arena, 3 * n, window);
    } else {
        c->f = CSIMI_PUSH(arena, csim_real, vector);
        c->p = CSIMI_PUSH(arena, csim_real, vector);
        c->last = CSIMI_PUSH(arena, csim_real, vector);
        c->r = CSIMI_PUSH(arena, csim_real, vector);
        c->last_r = CSIMI_PUSH(arena, csim_real, vector);
    }
    if (c->acceleration == CSIM_ACCELERATION_COARSE)
        csimi_coarse_layout(&c->coarse, arena, blocks, contacts, aggregates);
    csimi_chains_layout(&c->chains, arena, blocks, contacts, c->acceleration == CSIM_ACCELERATION_COARSE ? links : 0);
}

CSIMI_FN size_t csimi_cond_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_cond c;
    CSIMI_MEMSET(&c, 0, sizeof c);
    c.acceleration = csimi_cond_choose(params, size->aggregates > 0 || size->links > 0);
    (void)CSIMI_PUSH(&arena, csim_real, size->contacts);
    if (size->aggregates > 0 && size->blocks <= 2 * CSIMI_COARSE_GROUPS) { /* pairs, where the problem names nothing */
        (void)CSIMI_PUSH(&arena, csim_real, 4 * (size_t)size->blocks);
        (void)CSIMI_PUSH(&arena, int, 2 * (size_t)size->blocks);
    }
    csimi_nodal_reserve(&arena, size->blocks, size->matrix_blocks, size->contacts, size->terms);
    csimi_cond_layout(&c, &arena, size->blocks + csimi_imin(2 * size->contacts, size->terms), size->contacts,
                      size->blocks, size->aggregates, size->links, csimi_cond_window(params), params->shift);
    return arena.high;
}

/* ---- a problem that comes without a structure. Where A is block diagonal in small bodies the contacts are all that
   ties blocks together, and the coarse space can be the whole one: pairs of blocks, each as if it were a rigid body. */

CSIMI_FN int csimi_cond_pairs(const csim_problem *problem) {
    const int n = problem->A.n;
    return !problem->structure && n <= 2 * CSIMI_COARSE_GROUPS && csimi_bodies_take(problem) ? (n + 1) / 2 : 0;
}

static csim_real csimi_cond_trace(const csim_block_matrix *A, int i) {
    const csim_real *D = A->val + 9 * (size_t)A->diag[i];
    return D[0] + D[4] + D[8];
}

/* Names the pairs; the radius makes both blocks of one alike. */
static void csimi_cond_pair(const csim_problem *problem, csimi_arena *arena, int pairs, csim_structure *s) {
    const int n = problem->A.n;
    int *aggregate = CSIMI_PUSH(arena, int, n), i;
    csim_real *offset = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n), *radius = CSIMI_PUSH(arena, csim_real, pairs);
    unsigned char *rotation = CSIMI_PUSH(arena, unsigned char, n);
    CSIMI_MEMSET(s, 0, sizeof *s);
    s->aggregate_count = pairs;
    s->aggregate = aggregate, s->offset = offset, s->radius = radius, s->rotation = rotation;
    if (arena->overflow) return;
    CSIMI_MEMSET(offset, 0, 3 * (size_t)n * sizeof *offset);
    for (i = 0; i < n; ++i) {
        aggregate[i] = i / 2;
        rotation[i] = (unsigned char)(i % 2);
        radius[i / 2] = i % 2 ? CSIMI_SQRT(csimi_cond_trace(&problem->A, i) / csimi_cond_trace(&problem->A, i - 1)) : 1;
    }
}

CSIMI_FN bool csimi_cond_takes(const csim_problem *problem) {
    (void)problem;
    return true;
}

/* ---- one iteration: F */

/* v*, and the squared residual of the rows without contact, for one chunk while its product is still in the cache. */
static void csimi_cond_free_rows(csimi_cond *c, int chunk) {
    const int first = chunk * CSIMI_COND_ROWS, last = csimi_imin(c->count / 3, first + CSIMI_COND_ROWS);
    const csim_real *CSIMI_RESTRICT v = c->v, *CSIMI_RESTRICT b = c->nodal.problem.b, *CSIMI_RESTRICT w = c->w;
    csim_real *CSIMI_RESTRICT f = c->f, *CSIMI_RESTRICT p = c->p;
    const csim_real alpha = (csim_real)c->alpha;
    double s0 = 0, s1 = 0, s2 = 0;
    int i;
    csimi_product_rows(&c->nodal.problem.A, v, f, first, last);
    for (i = 3 * first; c->r && i < 3 * last; ++i) c->r[i] = f[i] - b[i];
    for (i = 3 * first; i < 3 * last; i += 3) {
        const csim_real r0 = b[i] - f[i], r1 = b[i + 1] - f[i + 1], r2 = b[i + 2] - f[i + 2];
        const csim_real f0 = w[i] * r0, f1 = w[i + 1] * r1, f2 = w[i + 2] * r2;
        f[i] = alpha * f0, f[i + 1] = alpha * f1, f[i + 2] = alpha * f2;
        p[i] = v[i] + f[i], p[i + 1] = v[i + 1] + f[i + 1], p[i + 2] = v[i + 2] + f[i + 2];
        if (c->pinned[i / 3]) continue;
        s0 += (double)(f0 * r0);
        s1 += (double)(f1 * r1);
        s2 += (double)(f2 * r2);
    }
    c->row_sum[chunk] = (s0 + s1) + s2;
}

static void csimi_cond_rows(void *context, int begin, int end) {
    int k;
    for (k = begin; k < end; ++k) csimi_cond_free_rows((csimi_cond *)context, k);
}

static void csimi_cond_strict(csim_real mu, csim_real *l) {
    const csim_real n = l[0] > 0 ? l[0] : 0, limit = mu * n, square = l[1] * l[1] + l[2] * l[2];
    l[0] = n;
    if (square > limit * limit) {
        const csim_real scale = limit / CSIMI_SQRT(square);
        l[1] *= scale, l[2] *= scale;
    }
}

CSIMI_FN void csimi_project_as(int law, const csim_contact *contact, csim_real gamma, csim_real *lambda) {
    if (law == CSIM_LAW_STRICT)
        csimi_cond_strict(contact->mu[0], lambda);
    else if (law == CSIM_LAW_PROXIMAL)
        csim_project_cone(contact->mu[0], lambda, lambda);
    else
        csim_project(contact, gamma, lambda, lambda);
}

static void csimi_cond_project(const csimi_cond *c, int m, csim_real *l) {
    const csimi_cond_contact *contact = c->contact + m;
    if (c->law[m] == CSIM_LAW_STRICT)
        csimi_cond_strict(contact->mu, l);
    else if (c->law[m] == CSIM_LAW_PROXIMAL)
        csim_project_cone(contact->mu, l, l);
    else
        csim_project(c->nodal.problem.contacts + m, (csim_real)c->alpha * contact->gamma, l, l);
}

/* Adds s R'l to a node; returns its squared residual. */
static double csimi_cond_push(csimi_cond *c, int node, csim_real s, const csim_real *d) {
    const size_t at = 3 * (size_t)node;
    csim_real *f = c->f + at, *p = c->p + at;
    int i;
    for (i = 0; i < 3; ++i) {
        f[i] += s * d[i];
        p[i] += s * d[i];
    }
    return (double)c->w_inverse[at] * ((double)(f[0] * f[0]) + (double)(f[1] * f[1]) + (double)(f[2] * f[2]));
}

/* One-shot contacts (Alg. 2): all independent, because no node carries two. */
static void csimi_cond_touch(csimi_cond *c, int chunk) {
    const int begin = chunk * CSIMI_COND_ROWS, end = csimi_imin(c->contacts, begin + CSIMI_COND_ROWS);
    const csim_real alpha = (csim_real)c->alpha;
    double sum = 0, load = 0;
    int m, i;
    for (m = begin; m < end; ++m) {
        const csimi_cond_contact *k = c->contact + m;
        const csim_real *R = k->R, scale = -k->inverse_gamma / alpha;
        csim_real *l = c->lambda + 3 * (size_t)m, x[3] = {0, 0, 0}, d[3];
        for (i = 0; i < 3 && k->a >= 0; ++i) x[i] = c->p[3 * (size_t)k->a + (size_t)i];
        for (i = 0; i < 3 && k->b >= 0; ++i) x[i] -= c->p[3 * (size_t)k->b + (size_t)i];
        for (i = 0; i < 3; ++i)
            l[i] = scale * (R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2] + k->phi[i]);
        csimi_cond_project(c, m, l);
        for (i = 0; i < 3; ++i) d[i] = R[i] * l[0] + R[3 + i] * l[1] + R[6 + i] * l[2];
        if (k->a >= 0) sum += csimi_cond_push(c, k->a, alpha * k->wa, d);
        if (k->b >= 0) sum += csimi_cond_push(c, k->b, -alpha * k->wb, d);
        load += (double)k->gamma * ((double)(l[0] * l[0]) + (double)(l[1] * l[1]) + (double)(l[2] * l[2]));
    }
    c->contact_sum[chunk] = sum;
    c->load_sum[chunk] = load;
}

static void csimi_cond_contacts(void *context, int begin, int end) {
    int k;
    for (k = begin; k < end; ++k) csimi_cond_touch((csimi_cond *)context, k);
}

static int csimi_cond_chunks(int count) { return (count + CSIMI_COND_ROWS - 1) / CSIMI_COND_ROWS; }

/* p = F(v), f = p - v, lambda, rho and rel: norms in W itself, without the Barzilai-Borwein factor. */
static void csimi_cond_map(csimi_cond *c) {
    const int rows = csimi_cond_chunks(c->count / 3), contacts = csimi_cond_chunks(c->contacts);
    double free_part, contact_part, load, scale;
    csimi_parallel(c->tasks, rows, 1, csimi_cond_rows, c);
    csimi_parallel(c->tasks, contacts, 1, csimi_cond_contacts, c);
    c->products += 1;
    free_part = csimi_tree_sum(rows, c->row_sum);
    contact_part = csimi_tree_sum(contacts, c->contact_sum) / (c->alpha * c->alpha);
    load = csimi_tree_sum(contacts, c->load_sum);
    scale = load > c->b_norm * c->b_norm ? load : c->b_norm * c->b_norm;
    c->rho = csimi_sqrt64(free_part + contact_part);
    c->rel = scale > 0 ? csimi_sqrt64((free_part + contact_part) / scale) : c->rho > 0 ? 1 : c->rho;
}

/* ---- preparation */

static csim_real csimi_cond_kappa(const csimi_cond *c, int node) { return c->nodal.kappa[node - c->given->A.n]; }

static bool csimi_cond_is_virtual(const csimi_cond *c, int node) { return node >= c->given->A.n; }

static bool csimi_cond_pack(csimi_cond *c) {
    const csim_problem *problem = &c->nodal.problem;
    bool finite = csimi_all_finite(problem->b, c->count) && csimi_all_finite(c->v, c->count);
    int m;
    CSIMI_MEMSET(c->pinned, 0, (size_t)problem->A.n);
    for (m = 0; m < c->contacts; ++m) {
        const csim_contact *from = problem->contacts + m;
        csimi_cond_contact *to = c->contact + m;
        to->a = c->nodal.node_a[m];
        to->b = c->nodal.node_b[m];
        c->law[m] = (unsigned char)from->law;
        CSIMI_MEMCPY(to->R, from->R, sizeof to->R);
        CSIMI_MEMCPY(to->phi, from->phi, sizeof to->phi);
        to->mu = from->mu[0];
        if (to->a >= 0) c->pinned[to->a] = 1;
        if (to->b >= 0) c->pinned[to->b] = 1;
        finite = finite && csimi_all_finite(from->R, 9) && csimi_all_finite(from->phi, 3) &&
                 csimi_all_finite(from->mu, 2) && csimi_all_finite(from->omega, 2);
    }
    return finite;
}

/* Compliance of a side against coarse motion: that of the coupling, or half of w (findings-coarse.md: weight 2). */
static csim_real csimi_cond_compliance(const csimi_cond *c, int node, csim_real w) {
    return csimi_cond_is_virtual(c, node) ? 1 / csimi_cond_kappa(c, node) : w / 2;
}

/* Scales W by the spectrum of W A: 1.5 / sigma for the iteration that only needs to contract, 1.25 / 1.03 for the one
   whose smoothness the coarse part completes (findings-coarse.md, fact 5). */
static csim_real csimi_cond_weigh(csimi_cond *c, csim_weight weight, csim_real known) {
    const csim_block_matrix *A = &c->nodal.problem.A;
    csim_real sigma, scale;
    int i, m;
    if (weight == CSIM_WEIGHT_AUTO)
        weight = c->acceleration == CSIM_ACCELERATION_CHEBYSHEV ? CSIM_WEIGHT_FROBENIUS : CSIM_WEIGHT_JACOBI;
    if (weight == CSIM_WEIGHT_JACOBI)
        csimi_weights_jacobi(A, c->pinned, c->w);
    else
        csimi_weights_frobenius(A, c->pinned, c->w, c->work);
    for (i = 0; i < c->count; ++i) c->w_inverse[i] = 1 / c->w[i];
    sigma = csimi_weights_sigma(A, c->w, c->w_inverse, known, c->work, &c->products, c->tasks);
    scale = csimi_cond_rings(c) ? CSIM_R(1.25) / (CSIM_R(1.03) * sigma)
            : c->acceleration == CSIM_ACCELERATION_CHEBYSHEV || weight <= CSIM_WEIGHT_FROBENIUS ? CSIM_R(1.5) / sigma
                                                                                                : 1 / sigma;
    for (i = 0; i < c->count; ++i) {
        c->w[i] *= scale;
        c->w_inverse[i] /= scale;
    }
    for (m = 0; m < c->contacts; ++m) {
        csimi_cond_contact *k = c->contact + m;
        k->wa = k->a >= 0 ? c->w[3 * (size_t)k->a] : 0;
        k->wb = k->b >= 0 ? c->w[3 * (size_t)k->b] : 0;
        k->gamma = k->wa + k->wb;
        k->inverse_gamma = k->gamma > 0 ? 1 / k->gamma : 0;
    }
    for (m = 0; m < c->contacts; ++m)
        c->gamma[m] = csimi_cond_compliance(c, c->contact[m].a, c->contact[m].wa) +
                      csimi_cond_compliance(c, c->contact[m].b, c->contact[m].wb);
    c->b_norm = csimi_sqrt64(csimi_sum_weighted(c->count, c->w, c->nodal.problem.b, c->nodal.problem.b));
    return sigma;
}

/* ---- the next iterate */

static void csimi_cond_copy(csimi_cond *c, csim_real *to, const csim_real *from) {
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

/* ---- coarse correction with its safeguards (findings-coarse.md, algorithm) */

static unsigned char csimi_cond_active(const csimi_cond *c, int m) {
    return csimi_coarse_rows(c->given->contacts + m, c->lambda + 3 * (size_t)m);
}

static void csimi_cond_unite(csimi_cond *c) {
    int m;
    for (m = 0; m < c->contacts; ++m) c->coarse.closed[m] |= csimi_cond_active(c, m);
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
static csim_real csimi_cond_trial(const csimi_cond *c, int m, csim_real *trial) {
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
static void csimi_cond_eliminate(csimi_cond *c) {
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

/* ---- the loop */

/* p becomes the best iterate; a certified one only gives way to a better certified one. */
static void csimi_cond_keep(csimi_cond *c) {
    c->saved = c->rho;
    c->saved_rel = c->rel;
    csimi_cond_copy(c, c->best, c->p);
    CSIMI_MEMCPY(c->best_lambda, c->lambda, 3 * (size_t)c->contacts * sizeof *c->lambda);
}

/* With the shift the answer is that of the given contacts, so those are certified; without it, the nodal ones. */
static bool csimi_cond_certify(csimi_cond *c, const csim_real *v, const csim_real *lambda, csim_real tolerance,
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
static void csimi_cond_advance(csimi_cond *c) {
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

/* Compliance that the virtual nodes of a contact add to it, 1/kg. */
static csim_real csimi_cond_hang(const csimi_cond *c, int m) {
    const int a = c->nodal.node_a[m], b = c->nodal.node_b[m];
    return (csimi_cond_is_virtual(c, a) ? 1 / csimi_cond_kappa(c, a) : 0) +
           (csimi_cond_is_virtual(c, b) ? 1 / csimi_cond_kappa(c, b) : 0);
}

/* Whether a contact closed that was taken for distant. */
static bool csimi_cond_threads(const csimi_cond *c) {
    int m;
    for (m = 0; m < c->contacts; ++m)
        if (c->share[m] < c->full && c->lambda[3 * m] > 0 && csimi_cond_hang(c, m) > 0) return true;
    return false;
}

/* Progress is measured anew. */
static void csimi_cond_fresh(csimi_cond *c) {
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

/* A virtual node slips against its side by (lambda - centre) / kappa, the centre being the impulse it is shifted by.
   Moving the centre to the impulse at hand is one step of the proximal point method: the contacts of its limit are the
   given ones, whatever the gain. */
static void csimi_cond_centre(csimi_cond *c) {
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
static bool csimi_cond_uncentred(const csimi_cond *c, csim_real tolerance) {
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
static bool csimi_cond_improves(csimi_cond *c, const csim_certificate *k, csim_real tolerance) {
    const csim_block_matrix *A = &c->given->A;
    if (!c->shift || !c->rigid || A->row[A->n] > 2 * A->n) return false;
    if (!c->nodal.virtual_count || k->contact < 1e-3 * (double)tolerance) return false;
    if (k->contact < c->certified) csimi_cond_keep(c);
    c->certified = k->contact < c->certified ? k->contact : c->certified;
    csimi_cond_centre(c);
    return true;
}

/* Certifies p. When it is not good enough yet, *inner becomes the rel at which to look again; contacts whose virtual
   nodes slip get another centre. */
static bool csimi_cond_done(csimi_cond *c, csim_real tolerance, double *inner, csim_outcome *outcome) {
    const csim_certificate *k = &outcome->certificate;
    const bool centred = c->shift && c->nodal.virtual_count > 0; /* else there is no centre to move */
    double worst;
    if (csimi_cond_certify(c, c->p, c->lambda, tolerance, outcome))
        return !csimi_cond_improves(c, k, tolerance);
    if (c->shift && csimi_cond_threads(c)) {
        c->parted = true;
        return false;
    }
    if (centred && k->contact > (double)tolerance && k->contact >= k->dynamics) {
        if (k->contact > c->slipping) csimi_anderson_clear(&c->centres);
        if (k->contact > 0.5 * c->slipping && *inner > 0.05 * (double)tolerance) *inner *= 0.5;
        c->slow = k->contact > 0.5 * c->slipping ? c->slow + 1 : 0;
        c->slipping = k->contact;
        csimi_cond_centre(c);
        return false;
    }
    worst = centred || k->dynamics > k->contact ? k->dynamics : k->contact;
    *inner = c->rel * 0.8 * (worst > 1.6 * (double)tolerance ? (double)tolerance / worst : 0.625);
    return false;
}

/* A coupling so soft that centre after centre is needed gets the default gain in another round. */
static bool csimi_cond_weak(const csimi_cond *c, const csim_solver_params *params) {
    return c->slow >= CSIMI_COND_SLOW && params->kappa <= 0 && c->full >= 1 &&
           params->gain * c->full < CSIMI_COND_STIFF;
}

/* Iterations without progress that end a round: fewer where a softer coupling is still to be tried. */
static int csimi_cond_patience(const csimi_cond *c) {
    return c->chains.links ? 40 : c->nodal.virtual_count && c->full >= 1 ? 80 : 300;
}

/* Iterates until certified. Converged: the answer is p with lambda; otherwise best holds the best iterate. */
static csim_result csimi_cond_loop(csimi_cond *c, const csim_solver_params *params, csim_outcome *outcome) {
    double inner = (double)params->tolerance * (c->shift && c->nodal.virtual_count ? CSIMI_COND_EARLY : 1);
    c->slipping = 1e300;
    csimi_anderson_clear(&c->centres);
    c->parted = false;
    c->slow = c->beyond = 0;
    c->certified = 1e300;
    for (c->iteration = 1; outcome->iterations < params->max_iterations; ++c->iteration) {
        if (csimi_cond_rings(c)) csimi_anderson_slot(&c->ring, &c->f, &c->p);
        csimi_cond_map(c);
        if (params->history && outcome->iterations < params->history_capacity)
            params->history[outcome->iterations] = c->rel;
        outcome->iterations += 1;
        outcome->residual = c->rel;
        if (c->iteration == 1 && !(c->rho < 1e300)) return CSIM_RESULT_NOT_FINITE;
        if (c->iteration >= 2 && c->rel < inner && csimi_cond_done(c, params->tolerance, &inner, outcome))
            return CSIM_RESULT_CONVERGED;
        if (csimi_cond_uncentred(c, params->tolerance)) {
            c->parted = csimi_cond_threads(c);
            if (!c->parted) {
                csimi_cond_centre(c);
                continue;
            }
        }
        if (c->certified < 1e300 && ++c->beyond > CSIMI_COND_BEYOND) return CSIM_RESULT_STALLED; /* best is certified */
        if (c->parted || csimi_cond_weak(c, params) || c->slow >= CSIMI_COND_WANDER || inner < 4 * (double)CSIMI_EPS) {
            if (c->certified >= 1e300) csimi_cond_keep(c);
            return CSIM_RESULT_STALLED;
        }
        csimi_cond_advance(c);
        if (csimi_cond_rings(c) && c->stale > csimi_cond_patience(c)) return CSIM_RESULT_STALLED;
    }
    return CSIM_RESULT_CAP;
}

/* Largest velocity by which a virtual node slips against its side; phi tells the impulse it was shifted by. */
static double csimi_cond_slip(const csimi_cond *c, const csim_real *lambda) {
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

/* Newton steps that an m^3 / 3 factorisation leaves affordable; rigid bodies have nothing else to spend on. */
static int csimi_cond_afford(const csimi_cond *c) {
    const double m = 6 * c->coarse.groups, product = 9.0 * c->nodal.problem.A.row[c->nodal.problem.A.n];
    const double steps = (double)(int)CSIMI_COND_BUDGET * product / (m * m * m / 3), least = c->rigid ? 3 : 1;
    const int most = CSIMI_COND_NEWTON;
    return steps > (double)most ? most : (int)(steps > least ? steps : least);
}

static void csimi_cond_begin(csimi_cond *c) {
    c->since = 0;
    c->rebuild = false;
    c->alpha = 1;
    c->longest = 50;
    c->built = -1;
    c->v = c->nodal.start;
    c->rigid = c->acceleration == CSIM_ACCELERATION_COARSE && 6 * c->coarse.groups > 3 * c->given->A.n / 2;
    if (c->acceleration == CSIM_ACCELERATION_COARSE && c->coarse.groups && c->nodal.virtual_count)
        c->newton_steps = csimi_cond_afford(c);
    csimi_cond_fresh(c);
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

static void csimi_cond_part(const csim_problem *problem, const csim_solution *start, csim_real *share) {
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
static bool csimi_cond_join(const csimi_cond *c, const csim_solution *now, csim_real full, csim_real *share) {
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
static void csimi_cond_couple(csimi_cond *c, csim_real full) {
    int m;
    for (m = 0; m < c->contacts; ++m)
        if (c->share[m] >= c->full) c->share[m] = full;
}

/* One solve from the solution at hand with virtual nodes coupled by their shares. */
static csim_status csimi_cond_round(csimi_cond *c, const csim_solver_params *params, csimi_arena *arena,
                                    csim_solution *solution, csim_outcome *outcome, csim_error *error) {
    const csim_problem *problem = c->given;
    const bool modes = csimi_coarse_usable(problem->structure);
    const csim_real *v, *lambda;
    outcome->result = CSIM_RESULT_NOT_FINITE;
    if (csimi_nodalize(problem, params->gain, params->kappa, c->share, params->shift, solution->v, solution->lambda,
                       arena, &c->nodal) == CSIM_OK)
        csimi_cond_layout(c, arena, c->nodal.problem.A.n, problem->contact_count, problem->A.n,
                          modes ? problem->structure->aggregate_count : 0,
                          c->unchained ? 0 : csimi_chains_links(problem->structure),
                          csimi_cond_window(params), params->shift && c->nodal.virtual_count > 0);
    if (arena->overflow)
        return csimi_fail(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes", true, (double)arena->size,
                          "at least csim_solver_bytes of the problem's size");
    outcome->virtual_nodes = c->nodal.virtual_count;
    csimi_cond_begin(c);
    if (!csimi_cond_pack(c)) return CSIM_OK;
    outcome->sigma = csimi_cond_weigh(c, params->weight, outcome->sigma);
    if (c->acceleration == CSIM_ACCELERATION_COARSE && c->coarse.groups) csimi_coarse_build(&c->coarse, problem);
    if (c->chains.links) csimi_chains_bind(&c->chains, problem);
    outcome->result = csimi_cond_loop(c, params, outcome);
    outcome->rejections = c->rejections;
    v = c->p, lambda = c->lambda;
    if (outcome->result == CSIM_RESULT_CAP || outcome->result == CSIM_RESULT_STALLED) {
        v = c->best, lambda = c->best_lambda;
        if (csimi_cond_certify(c, v, lambda, params->tolerance, outcome)) outcome->result = CSIM_RESULT_CONVERGED;
    }
    outcome->products = c->products;
    if (outcome->result == CSIM_RESULT_NOT_FINITE) return CSIM_OK;
    outcome->virtual_slip = csimi_cond_slip(c, lambda);
    CSIMI_MEMCPY(solution->v, v, 3 * (size_t)problem->A.n * sizeof *v);
    CSIMI_MEMCPY(solution->lambda, lambda, 3 * (size_t)problem->contact_count * sizeof *lambda);
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_cond_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    const size_t begin = arena->used;
    const int pairs = csimi_cond_pairs(problem);
    csim_problem paired = *problem;
    csim_structure structure;
    size_t mark;
    csimi_cond c;
    csim_status status;
    csim_real full = 1;
    int round;
    CSIMI_MEMSET(&c, 0, sizeof c);
    if (pairs) {
        csimi_cond_pair(problem, arena, pairs, &structure);
        paired.structure = &structure;
    }
    CSIMI_MEMSET(outcome, 0, sizeof *outcome);
    outcome->solver = CSIM_SOLVER_COND;
    outcome->certificate.worst_contact = -1;
    outcome->sigma = params->sigma;
    c.given = &paired;
    c.tasks = tasks;
    c.shift = params->shift;
    c.weight = params->weight;
    c.acceleration = csimi_cond_choose(params, csimi_coarse_usable(paired.structure) ||
                                                   csimi_chains_links(paired.structure) > 0);
    c.share = CSIMI_PUSH(arena, csim_real, problem->contact_count);
    if (!arena->overflow) csimi_cond_part(problem, solution, c.share);
    mark = arena->used;
    for (round = 0;; ++round) {
        c.full = full;
        status = csimi_cond_round(&c, params, arena, solution, outcome, error);
        outcome->bytes = arena->high - begin;
        if (status != CSIM_OK || outcome->result == CSIM_RESULT_NOT_FINITE || round >= CSIMI_COND_ROUNDS ||
            outcome->iterations >= params->max_iterations)
            return status;
        if (outcome->result == CSIM_RESULT_CONVERGED) {
            if (c.shift || !csimi_cond_join(&c, solution, full, c.share)) return status;
        } else if (c.chains.links && !c.parted) {
            c.unchained = true; /* a face that changes with every map: small steps do it, from rest if it got lost */
            if (outcome->certificate.dynamics > 0.01 || outcome->certificate.contact > 0.1) {
                CSIMI_MEMSET(solution->v, 0, 3 * (size_t)problem->A.n * sizeof *solution->v);
                CSIMI_MEMSET(solution->lambda, 0, 3 * (size_t)problem->contact_count * sizeof *solution->lambda);
            }
        } else if (c.parted) {
            (void)csimi_cond_join(&c, solution, full, c.share);
        } else if (csimi_cond_weak(&c, params)) {
            full = CSIMI_COND_STIFF / params->gain;
            csimi_cond_couple(&c, full);
        } else if (outcome->virtual_nodes) {
            csim_real next = full >= 1 ? CSIMI_COND_SOFT : 10 * full;
            csimi_cond_couple(&c, next);
            full = next;
        } else {
            return status;
        }
        csimi_pop(arena, mark);
    }
}

#undef CSIMI_COND_THREAD
#undef CSIMI_COND_SOFT
#undef CSIMI_COND_STIFF
