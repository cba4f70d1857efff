/* solve/percontact: block over-relaxation, contact by contact (Hwangbo, Lee, Hutter 2018, Algorithm 2). Every contact
   is solved for its law with the others held, by one of the methods of solve/single.c, and its impulse moves by a share
   alpha of the way; alpha falls from 1 towards 0.7 by a hundredth of the rest a sweep. With CSIM_CONTACT_NEWTON the
   result obeys Coulomb's law; the other three solve the paper's law of maximal dissipation, so that the certificate,
   which knows Coulomb's only, is not met where contacts slide: the sweeps end when they no longer move. */
#include "private.h"

enum { CSIMI_PERCONTACT_PATIENCE = 10000 }; /* sweeps without a halving of the measure */
static const csim_real CSIMI_PERCONTACT_LEAST = CSIM_R(0.7); /* alpha_min of the paper */
static const csim_real CSIMI_PERCONTACT_DECAY = CSIM_R(0.99); /* gamma of the paper */

typedef struct csimi_percontact {
    csimi_watch watch;
    csimi_delassus *W;
    csimi_local *local;
    csim_real *r, alpha, least;
    csim_contact_method method;
} csimi_percontact;

static void csimi_percontact_layout(csimi_percontact *s, csimi_arena *arena, int contacts) {
    csimi_watch_layout(&s->watch, arena, contacts);
    s->local = CSIMI_PUSH(arena, csimi_local, contacts);
}

CSIMI_LAYOUT_BYTES(percontact, percontact)

/* One sweep; returns |change|^2 / |r|^2. */
static double csimi_percontact_sweep(csimi_percontact *s) {
    double moved = 0, size = 0;
    int c, k;
    for (c = 0; c < s->W->contacts; ++c) {
        csimi_local *local = s->local + c;
        csim_real *r = s->r + 3 * (ptrdiff_t)c, u[3], next[3];
        const csim_real *W = local->W;
        csimi_delassus_row(s->W, c, u);
        u[0] -= W[0] * r[0] + W[1] * r[1] + W[2] * r[2]; /* u without the contact itself, the paper's c */
        u[1] -= W[1] * r[0] + W[3] * r[1] + W[4] * r[2];
        u[2] -= W[2] * r[0] + W[4] * r[1] + W[5] * r[2];
        /* 2 CSIMI_EPS: the arc in radians at which bisection and golden section stop */
        csimi_local_solve_by(local, s->method, 2 * CSIMI_EPS, u, next);
        for (k = 0; k < 3; ++k) {
            const csim_real change = next[k] - r[k];
            next[k] = r[k] + s->alpha * change;
            moved += (double)change * (double)change; /* of the whole way: a small alpha is not rest */
            size += (double)next[k] * (double)next[k];
        }
        csimi_delassus_change(s->W, c, r, next);
        for (k = 0; k < 3; ++k) r[k] = next[k];
    }
    s->alpha = s->least + CSIMI_PERCONTACT_DECAY * (s->alpha - s->least);
    ++s->watch.iterations;
    return size > 0 ? moved / size : moved > 0 ? 1 : 0;
}

static void csimi_percontact_open(csimi_percontact *s, csimi_impulse_run *run) {
    int c;
    csimi_percontact_layout(s, run->arena, run->W->contacts);
    csimi_watch_open(&s->watch, run, CSIMI_PERCONTACT_PATIENCE);
    s->W = run->W;
    s->r = run->r;
    s->alpha = 1;
    s->least = run->params->impulse.relaxation > 0 ? run->params->impulse.relaxation : CSIMI_PERCONTACT_LEAST;
    s->method = run->params->impulse.contact_method;
    for (c = 0; c < s->W->contacts; ++c) {
        CSIMI_MEMSET(s->local + c, 0, sizeof *s->local);
        csimi_local_set(s->local + c, s->W->diagonal + 9 * (ptrdiff_t)c);
        csimi_local_prepare(s->local + c, s->W->laws + c, 0);
    }
    csimi_delassus_project(s->W, s->r);
    csimi_delassus_begin(s->W, s->r);
}

CSIMI_FN bool csimi_percontact_solve(csimi_impulse_run *run) {
    const double still = 1e-2 * run->target * run->target; /* squares: a relative change of a tenth of the target */
    csimi_percontact s;
    bool on = true;
    csimi_percontact_open(&s, run);
    while (on) {
        const double change = csimi_percontact_sweep(&s);
        const bool stands = s.method != CSIM_CONTACT_NEWTON && change <= still;
        if (s.watch.iterations > 1 && s.watch.iterations % 4 && s.watch.iterations < s.watch.cap && !stands)
            continue; /* a look costs about a sweep */
        on = csimi_watch_look(&s.watch, s.r, NULL) && !stands;
    }
    /* the last sweep is the answer of another law, whatever Coulomb's measure prefers */
    if (s.method != CSIM_CONTACT_NEWTON && !s.watch.broken) {
        s.watch.best_measure = s.watch.measure;
        CSIMI_MEMCPY(s.watch.best, s.r, 3 * (size_t)s.W->contacts * sizeof *s.r);
    }
    return csimi_watch_close(&s.watch);
}
