/* solve/watch: what every iteration on impulses does beside iterating. */
#include "private.h"

CSIMI_FN void csimi_watch_layout(csimi_watch *w, csimi_arena *arena, int contacts) {
    w->best = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    w->u = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
}

CSIMI_FN void csimi_watch_open(csimi_watch *w, csimi_impulse_run *run, int patience) {
    w->run = run;
    w->patience = patience;
    w->cap = csimi_imax(run->params->max_iterations - run->outcome->iterations, 1); /* earlier runs count */
    w->iterations = w->since = w->logged = 0;
    w->measure = w->best_measure = w->halved = (double)CSIMI_HUGE;
    w->broken = false;
    CSIMI_MEMCPY(w->best, run->r, 3 * (size_t)run->W->contacts * sizeof *w->best); /* what stays if nothing is better */
}

CSIMI_FN void csimi_impulse_log(const csimi_impulse_run *run, int iteration, double measure) {
    const csim_solver_params *p = run->params;
    if (p->history && iteration > 0 && iteration <= p->history_capacity) p->history[iteration - 1] = measure;
}

CSIMI_FN bool csimi_watch_look(csimi_watch *w, const csim_real *r, csim_real *u) {
    const csimi_impulse_run *run = w->run;
    w->measure = csimi_delassus_measure(run->W, r, u ? u : w->u, u != NULL); /* null: costs a product */
    w->broken = !(w->measure < (double)CSIMI_HUGE);
    if (w->measure < w->best_measure) {
        w->best_measure = w->measure;
        CSIMI_MEMCPY(w->best, r, 3 * (size_t)run->W->contacts * sizeof *r);
    }
    if (w->best_measure < 0.5 * w->halved) {
        /* patience runs from here again */
        w->halved = w->best_measure;
        w->since = w->iterations;
    }
    /* iterations between two looks have the measure of the second */
    while (w->logged < w->iterations) csimi_impulse_log(run, ++w->logged, w->measure);
    return !w->broken && w->best_measure > run->target && w->iterations < w->cap &&
           w->iterations - w->since < w->patience;
}

CSIMI_FN bool csimi_watch_close(csimi_watch *w) {
    /* the best, not the last: iterations need not descend */
    CSIMI_MEMCPY(w->run->r, w->best, 3 * (size_t)w->run->W->contacts * sizeof *w->best);
    w->run->outcome->iterations += w->iterations;
    w->run->outcome->residual = w->best_measure;
    return w->best_measure < (double)CSIMI_HUGE; /* else every look broke down */
}
