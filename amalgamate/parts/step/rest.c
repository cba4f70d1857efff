/* step/rest: what lies still. An island at rest costs one look, and stays where it is to the last bit, so that it meets
   the same step again; what is left of a solve would move it about for ever, and have it solved in every step. */
#include "private.h"

/* Of the tolerance. Float cannot come as near; beside bounded frames, which come to rest by themselves, it may wait. */
#define CSIMI_REST_WITHIN(w) CSIM_R(csimi_keeps(w) ? 0.3 : sizeof(csim_real) == sizeof(double) ? 0.1 : 1)

/* Standing still under the impulses at hand, certified as any other answer is. What moves by more than the tolerance
   against the forces of a step is not looked at. */
CSIMI_FN csimi_stillness csimi_island_rests(const csim_world *w, const csimi_step_frame *f, const int *block,
                                            const csim_problem *p, const csim_solver_params *params,
                                            csim_status checked, csim_solution *solution, csimi_arena *arena,
                                            csim_outcome *o) {
    const csim_real good = w->def.solver.tolerance * CSIMI_REST_WITHIN(w);
    const size_t mark = arena->used, bytes = csim_certificate_bytes(p->A.n, p->contact_count);
    csim_certificate figure;
    csim_real *still, speed = 0, force = 0;
    double worst;
    int i, k;
    if (params->solver != CSIM_SOLVER_AUTO && params->solver != CSIM_SOLVER_SWEEP &&
        params->solver != CSIM_SOLVER_BOUNDED)
        return CSIMI_ISLAND_MOVES;
    /* theta < 1: v = 0 is no rest there but v_{k+1} = -v_k */
    if (checked != CSIM_OK || f->theta < 1 || p->contact_count == 0) return CSIMI_ISLAND_MOVES;
    for (i = 0; i < p->A.n; i++)
        for (k = 0; k < 3; k++) {
            /* D = diag A: speed is |v_k|^2 in D, force |b|^2 in 1/D, about the mass times (g h)^2 */
            const csim_real a = p->A.val[9 * (ptrdiff_t)p->A.diag[i] + 4 * k];
            const csim_real v = f->vk[3 * block[i] + k], b = p->b[3 * i + k];
            speed += a * v * v;
            force += b * b / a;
        }
    if (!(speed <= good * good * force)) return CSIMI_ISLAND_MOVES; /* the cheap test first */
    still = CSIMI_PUSH(arena, csim_real, 3 * (size_t)p->A.n);
    CSIMI_MEMSET(still, 0, 3 * (size_t)p->A.n * sizeof *still);
    if (csimi_certify(p, still, solution->lambda, csimi_push(arena, bytes, 1), bytes, &figure) == CSIM_OK)
        worst = csim_certificate_worst(&figure);
    else
        worst = (double)CSIMI_HUGE;
    csimi_pop(arena, mark);
    if (!(worst <= (double)good))
        return worst <= (double)w->def.solver.tolerance ? CSIMI_ISLAND_SLOW : CSIMI_ISLAND_MOVES;
    CSIMI_MEMSET(solution->v, 0, 3 * (size_t)p->A.n * sizeof *solution->v);
    o->certificate = figure;
    o->result = params->certify ? CSIM_RESULT_CONVERGED
                                : csimi_leave_unchecked(worst, &o->certificate);
    return CSIMI_ISLAND_RESTS;
}

#ifndef CONDSIM_TINY
/* Impulses to stand on for a slow island that stands on those at hand within the tolerance, but not as near as it has
   to: they are as coarse as a solve may leave them. They are found finer, and without the pushing out of overlaps: in
   a pile some nanometres too deep that is a hop, and the next step falls back. Whether the island stands is asked of
   its rows as they are. */
CSIMI_FN csimi_stillness csimi_island_stand(const csim_world *w, const csimi_step_frame *f, const int *block,
                                            csim_problem *p, csim_contact *row, const csim_solver_params *params,
                                            csim_status checked, csimi_worker *worker, csim_solution *solution,
                                            csim_outcome *o) {
    csimi_arena *arena = worker->arena;
    const size_t mark = arena->used, count = (size_t)p->contact_count, blocks = 3 * (size_t)p->A.n;
    csim_real *phi = CSIMI_PUSH(arena, csim_real, 4 * count + blocks), *lambda = phi + count, *v = lambda + 3 * count;
    csim_solver_params fine = *params;
    csimi_stillness rest = CSIMI_ISLAND_SLOW;
    size_t i;
    if (arena->overflow || !csimi_bodies_take(p)) { /* elsewhere it is dear */
        csimi_pop(arena, mark);
        return CSIMI_ISLAND_SLOW;
    }
    fine.tolerance = csimi_min(params->tolerance, w->def.solver.tolerance * CSIMI_REST_WITHIN(w) / 4);
    CSIMI_MEMCPY(lambda, solution->lambda, 3 * count * sizeof *lambda);
    CSIMI_MEMCPY(v, solution->v, blocks * sizeof *v);
    for (i = 0; i < count; i++) {
        phi[i] = row[i].phi[0];
        row[i].phi[0] = csimi_max(phi[i], 0);
    }
    if (csimi_problem_solve(p, &fine, arena, checked, worker->tasks, solution, o, worker->error) == CSIM_OK)
        rest = CSIMI_ISLAND_RESTS; /* to be looked at */
    for (i = 0; i < count; i++) row[i].phi[0] = phi[i];
    if (rest == CSIMI_ISLAND_RESTS) rest = csimi_island_rests(w, f, block, p, params, checked, solution, arena, o);
    if (rest != CSIMI_ISLAND_RESTS) {
        CSIMI_MEMCPY(solution->lambda, lambda, 3 * count * sizeof *lambda);
        CSIMI_MEMCPY(solution->v, v, blocks * sizeof *v);
    }
    csimi_pop(arena, mark);
    return rest;
}
#endif

#undef CSIMI_REST_WITHIN
