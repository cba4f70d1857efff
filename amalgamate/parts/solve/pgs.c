/* solve/pgs: projected Gauss-Seidel, one number after the other (Liu and Wang; Studer and Glocker; the yardstick of the
   per-contact paper, eq. 17-18). Every contact takes a projected step along its normal, then, with the tangential
   velocity brought up to date and the friction set scaled by the new normal impulse, one along its tangents. Where it
   stands still the law holds exactly. */
#include "private.h"

enum { CSIMI_PGS_PATIENCE = 10000 }; /* sweeps without a halving of the measure */

typedef struct csimi_pgs {
    csimi_watch watch;
    csimi_delassus *W;
    csim_real *r, alpha;
    bool box; /* each tangent clipped alone */
} csimi_pgs;

static void csimi_pgs_layout(csimi_pgs *s, csimi_arena *arena, int contacts) {
    csimi_watch_layout(&s->watch, arena, contacts);
}

CSIMI_LAYOUT_BYTES(pgs, pgs)

/* One contact as the sweep sees it: its block of W, velocity and impulse, which move together. */
typedef struct csimi_pgs_contact {
    csim_real D[9], u[3], r[3], floor; /* floor: the least that a step is divided by */
} csimi_pgs_contact;

/* Component k of the impulse becomes `to`, and the velocity of the contact follows, for the row after it. */
static void csimi_pgs_move(csimi_pgs_contact *c, int k, csim_real to) {
    const csim_real change = to - c->r[k];
    c->u[0] += c->D[k] * change;
    c->u[1] += c->D[3 + k] * change;
    c->u[2] += c->D[6 + k] * change;
    c->r[k] = to;
}

static void csimi_pgs_row(csimi_pgs_contact *c, int k, csim_real alpha, csim_real lo, csim_real hi) {
    csimi_pgs_move(c, k, csimi_clamp(c->r[k] - alpha * c->u[k] / csimi_max(c->D[4 * k], c->floor), lo, hi));
}

static void csimi_pgs_tangent(csimi_pgs_contact *c, csim_real alpha, csim_real radius0, csim_real radius1) {
    /* one step for both tangents: with two, friction at the fixed point would not oppose the slip */
    const csim_real step = alpha / csimi_max(csimi_max(c->D[4], c->D[8]), c->floor);
    csim_real t[2];
    t[0] = c->r[1] - step * c->u[1];
    t[1] = c->r[2] - step * c->u[2];
    csim_project_ellipse(radius0, radius1, t, t);
    csimi_pgs_move(c, 1, t[0]);
    csimi_pgs_move(c, 2, t[1]);
}

static void csimi_pgs_friction(csimi_pgs_contact *c, const csim_contact *law, csim_real alpha, bool box) {
    const csim_real mu = law->mu[law->law == CSIM_LAW_ANISOTROPIC ? 1 : 0]; /* of the second tangent */
    csimi_pgs_row(c, 0, alpha, 0, CSIMI_HUGE);
    if (box) { /* as many engines do: a square, which is another law */
        csimi_pgs_row(c, 1, alpha, -law->mu[0] * c->r[0], law->mu[0] * c->r[0]);
        csimi_pgs_row(c, 2, alpha, -mu * c->r[0], mu * c->r[0]);
    } else {
        csimi_pgs_tangent(c, alpha, law->mu[0] * c->r[0], mu * c->r[0]);
    }
}

/* The convex law has no normal step of its own: one step onto the cone, no longer than the largest eigenvalue lets. */
static void csimi_pgs_cone(csimi_pgs_contact *c, csim_real mu, csim_real alpha) {
    csim_real most = c->floor, x[3];
    int k;
    for (k = 0; k < 3; ++k) /* row sums bound the eigenvalues */
        most = csimi_max(most, csimi_abs(c->D[3 * k]) + csimi_abs(c->D[3 * k + 1]) + csimi_abs(c->D[3 * k + 2]));
    for (k = 0; k < 3; ++k) x[k] = c->r[k] - alpha / most * c->u[k];
    csim_project_cone(mu, x, c->r);
}

static void csimi_pgs_step(csimi_pgs_contact *c, const csim_contact *law, csim_real alpha, bool box) {
    int k;
    switch (law->law) {
    case CSIM_LAW_INVERTIBLE: /* the law holds for u + omega r */
        for (k = 0; k < 3; ++k) {
            c->u[k] += law->omega[k > 0] * c->r[k];
            c->D[4 * k] += law->omega[k > 0];
        }
        csimi_pgs_friction(c, law, alpha, box);
        break;
    case CSIM_LAW_STRICT:
    case CSIM_LAW_ANISOTROPIC: csimi_pgs_friction(c, law, alpha, box); break;
    case CSIM_LAW_PROXIMAL: csimi_pgs_cone(c, law->mu[0], alpha); break;
    case CSIM_LAW_BILATERAL:
        for (k = 0; k < 3; ++k) {
            const csim_real most = law->mask >> k & 1u ? CSIMI_HUGE : 0; /* rows that are off carry nothing */
            csimi_pgs_row(c, k, alpha, -most, most);
        }
        break;
    case CSIM_LAW_BOX:
        for (k = 0; k < 3; ++k) csimi_pgs_row(c, k, alpha, law->lo[k], law->hi[k]);
        break;
    case CSIM_LAW_COUNT_:
    default: break;
    }
}

static void csimi_pgs_sweep(csimi_pgs *s) {
    csimi_pgs_contact x;
    int c, k;
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real *r = s->r + 3 * (ptrdiff_t)c;
        const csim_real *D = s->W->diagonal + 9 * (ptrdiff_t)c;
        for (k = 0; k < 9; ++k) x.D[k] = D[k]; /* a copy: the invertible law adds to it */
        for (k = 0; k < 3; ++k) x.r[k] = r[k];
        x.floor = 48 * CSIMI_EPS; /* the trace of D is 3 */
        csimi_delassus_row(s->W, c, x.u); /* with what the contacts before have changed */
        csimi_pgs_step(&x, s->W->laws + c, s->alpha, s->box);
        csimi_delassus_change(s->W, c, r, x.r);
        for (k = 0; k < 3; ++k) r[k] = x.r[k];
    }
    ++s->watch.iterations;
}

CSIMI_FN bool csimi_pgs_solve(csimi_impulse_run *run) {
    csimi_pgs s;
    csimi_pgs_layout(&s, run->arena, run->W->contacts);
    csimi_watch_open(&s.watch, run, CSIMI_PGS_PATIENCE);
    s.W = run->W;
    s.r = run->r;
    s.alpha = run->params->impulse.relaxation > 0 ? run->params->impulse.relaxation : 1;
    s.box = run->params->impulse.sides == 4;
    csimi_delassus_project(s.W, s.r); /* the start need not obey its laws */
    csimi_delassus_begin(s.W, s.r);
    do {
        csimi_pgs_sweep(&s);
        /* a look costs about a sweep */
    } while ((s.watch.iterations > 1 && s.watch.iterations % 4 && s.watch.iterations < s.watch.cap) ||
             csimi_watch_look(&s.watch, s.r, NULL));
    return csimi_watch_close(&s.watch);
}
