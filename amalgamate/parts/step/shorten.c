/* step/shorten: the last rung below a missed solve. Impulses that gain nothing in the linear model of a step
   (solve/restrain.c) may still gain where forces are far from linear, as in a cable whose edges turn by a radian. The
   motion of the islands that missed is then shortened, v <- alpha v, until their energy after the step is no more than
   before it and what was put in. Such an alpha exists: at 0 they stand where they were, without kinetic energy. Gaps
   that v does not close alpha v does not close either. Momentum is lost by it; the step is uncertified as it was. */
#include "private.h"

enum { CSIMI_SHORTEN_HALVINGS = 30 }; /* down to 1e-9 of the motion */
enum { CSIMI_SHORTEN_TRIALS = 5 }; /* between the last two halvings */

/* Trees have drives, whose work is not known here; a midpoint velocity is not the one at the end. */
CSIMI_FN bool csimi_can_shorten(const csim_world *w, const csimi_step_frame *f) {
    return (f->stats->flags & CSIM_FLAG_UNCERTIFIED) && w->def.integrator == CSIM_BACKWARD_EULER &&
           w->store.count.coords == 0 && !f->moves && !csimi_keeps(w) && !csimi_solver_gaps(w->def.solver.solver);
}

static double csimi_energy_sum(const csimi_state *s) {
    const csimi_energy e = csimi_energy_of(s);
    return e.kinetic + e.gravity + e.elastic; /* J, in double: differences of it are judged to 1e-9 */
}

/* A billionth of the energy at hand is taken for rounding: below the origin too, where it is less than 0. */
static double csimi_energy_room(double now) { return 1e-9 * (now < 0 ? -now : now); }

/* Work of one side of a row on what is free of the missed islands. */
static double csimi_side_work(const csimi_step_frame *f, csim_side side, const csim_real *impulse) {
    double sum = 0;
    int k;
    for (k = side.first; k < side.first + side.count; k++) {
        const csim_term *t = f->terms + k;
        csim_real u[3] = {0, 0, 0};
        if (!f->missed[t->block]) continue;
        csimi_addmul3(t->J, f->v + 3 * (size_t)t->block, u);
        sum += (double)(u[0] * impulse[0] + u[1] * impulse[1] + u[2] * impulse[2]);
    }
    return sum;
}

/* What a contact was asked to put in: -lambda'phi, by stabilisation, restitution and what moves by itself. The work of
   its impulse along v would count what the solve missed as well. */
static double csimi_contact_asked(const csimi_step_frame *f, int c) {
    const csim_contact *row = f->contacts + c;
    const csim_real *lambda = f->lambda + 3 * (size_t)c;
    /* all terms of a contact lie in one island, so that any of them names it */
    const int block = f->terms[row->a.count > 0 ? row->a.first : row->b.first].block;
    double sum = 0;
    int k;
    if (row->a.count + row->b.count == 0 || !f->missed[block]) return 0; /* both sides are given */
    for (k = 0; k < 3; k++) sum -= (double)(lambda[k] * row->phi[k]);
    return sum > 0 ? sum : 0; /* what takes energy out earns no other contact a gain */
}

/* What rows and the user's forces do on the missed islands along v. */
static double csimi_work_done(const csim_world *w, const csimi_step_frame *f) {
    csimi_span span[CSIMI_SPANS];
    double work = 0, force = 0;
    int c, i;
    for (c = 0; c < f->found_count; c++) work += csimi_contact_asked(f, c);
    for (; c < f->contact_count; c++) { /* rows of rolling and of joints */
        csim_real impulse[3] = {0, 0, 0};
        csimi_addmulT3(f->contacts[c].R, f->lambda + 3 * (size_t)c, impulse); /* world axes */
        work += csimi_side_work(f, f->contacts[c].a, impulse) - csimi_side_work(f, f->contacts[c].b, impulse);
    }
    csimi_spans(&w->store, &w->store.state, span);
    for (c = 0; c < CSIMI_SPANS; c++)
        for (i = 0; i < 3 * span[c].per * span[c].count; i++)
            if (f->missed[span[c].first + i / 3])
                force += (double)(f->v[3 * (size_t)span[c].first + (size_t)i] * span[c].force[i]);
    work += (double)f->h * force;
    return work > 0 ? work : 0;
}

/* v of the missed islands <- share of full. */
static void csimi_scale_missed(csimi_step_frame *f, const csim_real *full, csim_real share) {
    int i;
    for (i = 0; i < 3 * f->blocks; i++)
        if (f->missed[i / 3]) f->v[i] = share * full[i];
}

/* The energy of all when the missed islands are as they were before the step. f->next is left at that. */
static double csimi_energy_unmoved(csim_world *w, csimi_step_frame *f, const csimi_step *step, const csim_real *full) {
    csimi_span span[CSIMI_SPANS], next[CSIMI_SPANS];
    int i, k;
    csimi_scale_missed(f, full, 0);
    (void)csimi_integrate(w, f, step); /* others have done their step */
    csimi_spans(&w->store, &w->store.state, span);
    csimi_spans(&w->store, &f->next, next);
    for (k = 0; k < CSIMI_SPANS; k++)
        for (i = 0; i < 3 * span[k].per * span[k].count; i++)
            /* what stands at its place still has the kinetic energy that it had before */
            if (f->missed[span[k].first + i / 3]) next[k].velocity[i] = span[k].velocity[i];
    return csimi_energy_sum(&f->next);
}

static bool csimi_shorten_to(csim_world *w, csimi_step_frame *f, const csimi_step *step, const csim_real *full,
                             csim_real share, double most) {
    csimi_scale_missed(f, full, share);
    return csimi_integrate(w, f, step) == CSIM_OK && csimi_energy_sum(&f->next) <= most; /* not finite: too far */
}

/* Shortens the islands marked; the energy after it. */
static double csimi_shorten_marked(csim_world *w, csimi_step_frame *f, const csimi_step *step, const csim_real *full) {
    const double put_in = csimi_work_done(w, f);
    const double before = csimi_energy_unmoved(w, f, step, full) + csimi_energy_room(csimi_energy_sum(&w->store.state));
    csim_real share = 1, over = 1;
    int k;
    for (k = 0; k < CSIMI_SHORTEN_HALVINGS; k++, over = share, share /= 2)
        /* work goes with v: a share of the motion has put in that share of it */
        if (csimi_shorten_to(w, f, step, full, share, before + (double)share * put_in)) break;
    for (k = 0; k < CSIMI_SHORTEN_TRIALS && share < over; k++) {
        const csim_real middle = (share + over) / 2;
        if (csimi_shorten_to(w, f, step, full, middle, before + (double)middle * put_in))
            share = middle;
        else
            over = middle;
    }
    csimi_scale_missed(f, full, share); /* the last trial may have been one too far */
    return csimi_integrate(w, f, step) == CSIM_OK ? csimi_energy_sum(&f->next) : (double)CSIMI_HUGE;
}

/* First the islands that missed. Others may have gained by what their linearisation left out: where the whole has
   gained all the same, everything is shortened. */
CSIMI_FN csim_status csimi_shorten(csim_world *w, csimi_step_frame *f, const csimi_step *step, csimi_arena *arena) {
    const size_t mark = arena->used;
    csim_real *full = CSIMI_PUSH(arena, csim_real, 3 * (size_t)f->blocks);
    const double now = csimi_energy_sum(&w->store.state);
    double after;
    int i;
    CSIMI_MEMCPY(full, f->v, 3 * sizeof *full * (size_t)f->blocks);
    after = csimi_shorten_marked(w, f, step, full);
    if (after > now + csimi_energy_room(now)) {
        for (i = 0; i < f->blocks; i++) f->missed[i] = !f->skip[i]; /* work of all is counted from here on */
        if (after > now + csimi_work_done(w, f)) {
            CSIMI_MEMCPY(f->v, full, 3 * sizeof *full * (size_t)f->blocks);
            (void)csimi_shorten_marked(w, f, step, full);
        }
    }
    csimi_pop(arena, mark);
    return csimi_integrate(w, f, step);
}

/* Nodes that are held on their way strain what they belong to. Where the world has gained by it, islands that missed
   and were held stand still for this step. True: some do, and ways are to be held once more. */
CSIMI_FN bool csimi_stand_still(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    const double now = csimi_energy_sum(&w->store.state);
    bool any = false;
    int i, k;
    if (csimi_energy_sum(&f->next) <= now + csimi_work_done(w, f) + csimi_energy_room(now)) return false;
    for (i = 0; i < f->blocks; i++) {
        const int g = f->missed[i] == CSIMI_MISSED_HELD ? f->island[i] : -1;
        for (k = g < 0 ? 0 : f->island_first[g]; g >= 0 && k < f->island_first[g + 1]; k++) {
            csim_real *v = f->v + 3 * (size_t)f->island_blocks[k];
            v[0] = v[1] = v[2] = 0;
            f->missed[f->island_blocks[k]] = CSIMI_MISSED_STILL;
            any = true;
        }
    }
    return any && csimi_integrate(w, f, step) == CSIM_OK;
}
