/* solve/apgd: accelerated projected gradient descent (Mazhar et al. 2015; Nesterov with backtracking and restarts) on
       f(x) = 1/2 x'W x + x'q  over a product of convex sets, one a contact,
   as a routine for others, and as a solver: for the convex law the sets are the cones and this is the whole problem;
   for Coulomb's law an outer loop shifts q by mu |u_t| along the normals (de Saxce and Feng), with u of the last answer
   and never accumulated, until the shift no longer changes. */
#include "private.h"

enum { CSIMI_APGD_PATIENCE = 20000 };
enum { CSIMI_APGD_INNER = 20 }; /* gradient steps before the shift is refreshed in any case */

/* ---- the routine */

CSIMI_FN void csimi_gradient_layout(csimi_gradient *g, csimi_arena *arena, int contacts) {
    const size_t vector = 3 * (size_t)contacts;
    g->q = CSIMI_PUSH(arena, csim_real, vector);
    g->x = CSIMI_PUSH(arena, csim_real, vector);
    g->Wx = CSIMI_PUSH(arena, csim_real, vector);
    g->y = CSIMI_PUSH(arena, csim_real, vector);
    g->Wy = CSIMI_PUSH(arena, csim_real, vector);
    g->next = CSIMI_PUSH(arena, csim_real, vector);
    g->Wnext = CSIMI_PUSH(arena, csim_real, vector);
    g->trial = CSIMI_PUSH(arena, csim_real, vector);
}

/* y = (W + omega) x; omega under the invertible law only. */
static void csimi_gradient_product(const csimi_gradient *g, const csim_real *x, csim_real *y) {
    int c, k;
    csimi_delassus_product(g->W, x, y);
    /* u + omega lambda takes the place of u there: omega on the diagonal of W */
    for (c = 0; c < g->W->contacts; ++c)
        if (g->W->laws[c].law == CSIM_LAW_INVERTIBLE)
            for (k = 0; k < 3; ++k) y[3 * (ptrdiff_t)c + k] += g->W->laws[c].omega[k > 0] * x[3 * (ptrdiff_t)c + k];
}

CSIMI_FN void csimi_gradient_rest(csimi_gradient *g) {
    const size_t bytes = 3 * (size_t)g->W->contacts * sizeof *g->x;
    CSIMI_MEMCPY(g->y, g->x, bytes);
    CSIMI_MEMCPY(g->Wy, g->Wx, bytes); /* products follow their vectors: none is made anew */
    g->theta = 1;
}

CSIMI_FN void csimi_gradient_begin(csimi_gradient *g, csimi_delassus *W, const csim_real *r) {
    const int n = 3 * W->contacts;
    double size;
    g->W = W;
    CSIMI_MEMCPY(g->x, r, (size_t)n * sizeof *r);
    csimi_gradient_product(g, g->x, g->Wx);
    size = csimi_sum_dot(n, g->x, g->x);
    /* |W x| / |x| is at most the largest eigenvalue: a descent doubles it as needed */
    g->L = size > 0 ? csimi_sqrt64(csimi_sum_dot(n, g->Wx, g->Wx) / size) : 1;
    if (!(g->L > 1e-3)) g->L = 1e-3; /* the blocks of W have trace 3: its largest eigenvalue is 1 at least */
    csimi_gradient_rest(g);
}

/* |x - P(x - W x - q)| */
static double csimi_gradient_map(csimi_gradient *g) {
    const int n = 3 * g->W->contacts;
    int i;
    /* the natural map with step 1, which fits as W has no units: zero at the answer alone */
    for (i = 0; i < n; ++i) g->trial[i] = g->x[i] - g->Wx[i] - g->q[i];
    g->project(g->context, g->trial);
    for (i = 0; i < n; ++i) g->trial[i] -= g->x[i];
    return csimi_sqrt64(csimi_sum_dot(n, g->trial, g->trial));
}

/* next = P(y - (W y + q) / L) with L doubled until the model 1/2 L |d|^2 is above 1/2 d'W d, which is all that f's
   condition f(next) <= f(y) + grad . d + L/2 |d|^2 says of a quadratic. */
static void csimi_gradient_descend(csimi_gradient *g) {
    const int n = 3 * g->W->contacts;
    int trial, i;
    for (trial = 0; trial < 60; ++trial) {
        const csim_real step = (csim_real)(1 / g->L); /* the longest step for which descent is sure */
        double dd = 0, dWd = 0;
        for (i = 0; i < n; ++i) g->next[i] = g->y[i] - step * (g->Wy[i] + g->q[i]);
        g->project(g->context, g->next);
        csimi_gradient_product(g, g->next, g->Wnext);
        for (i = 0; i < n; ++i) {
            const double d = (double)g->next[i] - (double)g->y[i];
            dd += d * d;
            dWd += d * ((double)g->Wnext[i] - (double)g->Wy[i]);
        }
        if (!(dWd > g->L * dd * (1 + 1e-12))) break; /* with slack, or rounding would double L for ever */
        /* differences of rounded numbers say nothing */
        if (dd <= 1e4 * (double)CSIMI_EPS * (double)CSIMI_EPS * csimi_sum_dot(n, g->next, g->next)) break;
        g->L *= 2;
    }
}

static void csimi_gradient_swap(csim_real **a, csim_real **b) {
    csim_real *const swap = *a;
    *a = *b;
    *b = swap;
}

CSIMI_FN int csimi_gradient_solve(csimi_gradient *g, double tolerance, int budget) {
    const int n = 3 * g->W->contacts;
    int step, i;
    for (step = 0; step < budget;) {
        /* theta+ = (-theta^2 + theta sqrt(theta^2 + 4)) / 2, and beta from both (Mazhar et al.) */
        const double faster = (csimi_sqrt64(g->theta * g->theta + 4) - g->theta) * g->theta / 2;
        csim_real beta = (csim_real)(g->theta * (1 - g->theta) / (g->theta * g->theta + faster));
        double slope = 0;
        csimi_gradient_descend(g);
        ++step;
        /* restart by the gradient: grad f(y) . (next - x) > 0 */
        for (i = 0; i < n; ++i) slope += ((double)g->Wy[i] + (double)g->q[i]) * ((double)g->next[i] - (double)g->x[i]);
        g->theta = faster;
        if (!(slope <= 0)) { /* the momentum points uphill */
            g->theta = 1;
            beta = 0;
        }
        for (i = 0; i < n; ++i) {
            /* y is extrapolated, and so is its product: W is linear */
            g->y[i] = g->next[i] + beta * (g->next[i] - g->x[i]);
            g->Wy[i] = g->Wnext[i] + beta * (g->Wnext[i] - g->Wx[i]);
        }
        csimi_gradient_swap(&g->x, &g->next); /* the old x is overwritten by the next step */
        csimi_gradient_swap(&g->Wx, &g->Wnext);
        g->L *= 0.9; /* L may fall again, so that steps grow where less curvature is met */
        if (!(csimi_gradient_map(g) > tolerance)) break;
    }
    return step;
}

CSIMI_FN void csimi_gradient_velocity(const csimi_gradient *g, csim_real *u) {
    int c, k;
    for (c = 0; c < g->W->contacts; ++c) {
        const csim_contact *law = g->W->laws + c;
        const ptrdiff_t at = 3 * (ptrdiff_t)c;
        for (k = 0; k < 3; ++k) {
            u[at + k] = g->Wx[at + k] + g->W->q[at + k];
            /* Wx holds omega x, which is not u */
            if (law->law == CSIM_LAW_INVERTIBLE) u[at + k] -= law->omega[k > 0] * g->x[at + k];
        }
    }
}

CSIMI_FN double csimi_gradient_residual(const csimi_gradient *g, const csim_real *u) {
    double sum = 0;
    int c, k;
    for (c = 0; c < g->W->contacts; ++c) {
        csim_real rest[3];
        csimi_delassus_residual(g->W, c, 1, g->x + 3 * (ptrdiff_t)c, u + 3 * (ptrdiff_t)c, rest);
        for (k = 0; k < 3; ++k) sum += (double)rest[k] * (double)rest[k];
    }
    return csimi_sqrt64(sum);
}

/* ---- the solver */

typedef struct csimi_apgd {
    csimi_watch watch;
    csimi_gradient gradient;
    csim_real *radius; /* [contacts] normal impulse that scales the friction set under the anisotropic law */
} csimi_apgd;

static void csimi_apgd_layout(csimi_apgd *s, csimi_arena *arena, int contacts) {
    csimi_watch_layout(&s->watch, arena, contacts);
    csimi_gradient_layout(&s->gradient, arena, contacts);
    s->radius = CSIMI_PUSH(arena, csim_real, contacts);
}

CSIMI_LAYOUT_BYTES(apgd, apgd)

/* Nearest point of the sets of all contacts, in place. */
static void csimi_apgd_project(void *context, csim_real *x) {
    const csimi_apgd *s = (const csimi_apgd *)context;
    const csimi_delassus *W = s->gradient.W;
    int c;
    for (c = 0; c < W->contacts; ++c) {
        const csim_contact *law = W->laws + c;
        csim_real *p = x + 3 * (ptrdiff_t)c;
        /* with q shifted Coulomb's law is the convex one */
        if (law->law == CSIM_LAW_STRICT || law->law == CSIM_LAW_INVERTIBLE) {
            csim_project_cone(law->mu[0], p, p);
        } else if (law->law == CSIM_LAW_ANISOTROPIC) { /* the ellipse of the last outer impulse: a convex set */
            p[0] = csimi_max(p[0], 0);
            csim_project_ellipse(law->mu[0] * s->radius[c], law->mu[1] * s->radius[c], p + 1, p + 1);
        } else {
            csim_project(law, 1, p, p);
        }
    }
}

/* The convex problem around the answer at hand: q plus the shift of de Saxce, or the radius of the ellipse. */
static void csimi_apgd_shift(csimi_apgd *s) {
    const csimi_delassus *W = s->gradient.W;
    int c, k;
    for (c = 0; c < W->contacts; ++c) {
        const csim_contact *law = W->laws + c;
        const ptrdiff_t at = 3 * (ptrdiff_t)c;
        csim_real t0 = s->gradient.Wx[at + 1] + W->q[at + 1], t1 = s->gradient.Wx[at + 2] + W->q[at + 2];
        /* from the given q each time: shifts that add up would have another fixed point */
        for (k = 0; k < 3; ++k) s->gradient.q[at + k] = W->q[at + k];
        s->radius[c] = csimi_max(s->gradient.x[at], 0);
        if (law->law == CSIM_LAW_STRICT || law->law == CSIM_LAW_INVERTIBLE)
            s->gradient.q[at] += law->mu[0] * CSIMI_SQRT(t0 * t0 + t1 * t1);
    }
}

CSIMI_FN bool csimi_apgd_solve(csimi_impulse_run *run) {
    csimi_apgd s;
    csimi_apgd_layout(&s, run->arena, run->W->contacts);
    csimi_watch_open(&s.watch, run, CSIMI_APGD_PATIENCE);
    csimi_delassus_project(run->W, run->r); /* a feasible start: warm impulses of another step may not be */
    csimi_gradient_begin(&s.gradient, run->W, run->r);
    s.gradient.project = csimi_apgd_project;
    s.gradient.context = &s;
    do {
        const int left = csimi_imin(CSIMI_APGD_INNER, s.watch.cap - s.watch.iterations);
        double aim;
        csimi_gradient_velocity(&s.gradient, s.watch.u);
        /* a tenth of the residual under the true laws: closer is wasted, as the next shift moves the problem */
        aim = 0.1 * csimi_gradient_residual(&s.gradient, s.watch.u);
        csimi_apgd_shift(&s); /* momentum stays: at rest after each shift the files of fc3d took twice the steps */
        s.watch.iterations += csimi_gradient_solve(&s.gradient, aim, left);
        csimi_gradient_velocity(&s.gradient, s.watch.u);
    } while (csimi_watch_look(&s.watch, s.gradient.x, s.watch.u));
    return csimi_watch_close(&s.watch);
}
