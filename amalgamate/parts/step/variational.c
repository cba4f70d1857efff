/* step/variational: what only the variational integrators of Kaufman's thesis (ch. 4-5) need.

   Two-step (4.62)-(4.70), Verlet's scheme of positions with contact: with q' = q_k + h/2 v_k,
       M (v_{k+1} - v_k) = h F(q') + J'lambda,   u = J v_{k+1} + phi,   q_{k+1} = q' + h/2 v_{k+1}.
   The thesis prints q' = (q_k + h/2 v_k)/2 in (4.58) and (4.62), which is no place on the way; what (4.55) needs, and
   what is done here, is the middle. Half steps lie h v_{k+1} apart: contacts and joints hold there as they do at whole
   steps of backward Euler, and the whole steps lie between two of them.

   Half-step (4.50)-(4.54): the midpoint rule with forces at q_k + h/2 v as they are there, not linearised about q_k. */
#include "private.h"

CSIMI_FN CSIMI_NOINLINE void csimi_go_ahead(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    csimi_state there;
    CSIMI_MEMSET(&there, 0, sizeof there);
    there.x = f->drift.x;
    there.com = f->drift.com;
    there.rotation = f->drift.rotation;
    there.frame = f->drift.frame;
    csimi_advance(w, step, step->h / 2, f->vk, &there); /* q' = q_k + h/2 v_k */
}

static void csimi_exchange_reals(csim_real *a, csim_real *b, int count) {
    int i;
    for (i = 0; i < count; i++) {
        const csim_real held = a[i];
        a[i] = b[i];
        b[i] = held;
    }
}

/* Of those who are up: where the others lie is behind them in the arrays of the world. */
CSIMI_FN void csimi_exchange(csim_world *w, csimi_step_frame *f) {
    csimi_state *s = &w->store.state;
    const csimi_counts *n = &w->store.count;
    csimi_exchange_reals(s->x, f->drift.x, 3 * n->nodes);
    csimi_exchange_reals(s->com, f->drift.com, 3 * n->rigids);
    csimi_exchange_reals(s->rotation, f->drift.rotation, 4 * n->rigids);
    csimi_exchange_reals(s->frame, f->drift.frame, 4 * n->frames);
}

/* With A = A0 + A1, A0 of masses and damping, A1 = sigma h^2 K(q*) at q* = q_k + sigma h v*: b = b(q*) + A1 v*, so that
   v = v* solves the nonlinear equations. A0 is what assembly leaves at sigma 0. */
CSIMI_FN void csimi_linearise(csim_world *w, csimi_step_frame *f, const csimi_step *step, const csim_real *v) {
    csimi_step rigid = *step;
    int i;
    /* given blocks keep their velocity */
    for (i = 0; i < 3 * f->blocks; i++) f->v_end[i] = f->skip[i / 3] ? f->v[i] : v[i];
    csimi_advance(w, step, step->sigma * step->h, f->v_end, &f->next);
    rigid.sigma = 0;
    csimi_assemble(w, f, &rigid, &f->next);
    csimi_product(&w->store.A, f->v_end, f->frozen, step->tasks); /* A0 v* */
    csimi_assemble(w, f, step, &f->next);
    for (i = 0; i < 3 * f->blocks; i++) f->b[i] -= f->frozen[i];
    csimi_product(&w->store.A, f->v_end, f->frozen, step->tasks); /* (A0 + A1) v*: less A0 v*, A1 v* is left */
    for (i = 0; i < 3 * f->blocks; i++) f->b[i] += f->frozen[i];
}

/* J'lambda of the islands' solution. */
CSIMI_FN void csimi_pushes(const csimi_step_frame *f, csim_real *pushed) {
    int c, side, k, i;
    CSIMI_MEMSET(pushed, 0, sizeof(csim_real) * 3 * (size_t)f->blocks);
    for (c = 0; c < f->contact_count; c++)
        for (side = 0; side < 2; side++) {
            const csim_side *x = side ? &f->contacts[c].b : &f->contacts[c].a;
            csim_real push[3] = {0, 0, 0};
            csimi_addmulT3(f->contacts[c].R, f->lambda + 3 * (size_t)c, push);
            for (i = 0; i < 3; i++) push[i] = side ? -push[i] : push[i]; /* on b the opposite */
            for (k = x->first; k < x->first + x->count; k++)
                csimi_addmulT3(f->terms[k].J, push, pushed + 3 * (size_t)f->terms[k].block);
        }
}

CSIMI_FN double csimi_imbalance(const csim_world *w, csimi_step_frame *f) {
    const csim_block_matrix *A = &w->store.A;
    csim_real *rest = f->frozen, *pushed = f->v_end; /* room that is free here; v_end is made anew by csimi_integrate */
    double rest2 = 0, b2 = 0, pushed2 = 0;
    int i;
    csimi_product(A, f->v, rest, NULL);
    csimi_pushes(f, pushed);
    for (i = 0; i < 3 * f->blocks; i++) {
        const double D = (double)A->val[9 * (size_t)A->diag[i / 3] + 4 * (size_t)(i % 3)]; /* of D = diag A */
        const double r = (double)(rest[i] - f->b[i] - pushed[i]);
        if (f->skip[i / 3]) continue; /* given: no equation of its own */
        rest2 += r * r / D;
        b2 += (double)f->b[i] * (double)f->b[i] / D;
        pushed2 += (double)pushed[i] * (double)pushed[i] / D;
    }
    if (pushed2 > b2) b2 = pushed2; /* the larger, as certificate.dynamics has it */
    return b2 > 0 ? (double)csimi_sqrt64((csimi_wide)(rest2 / b2)) : 0;
}
