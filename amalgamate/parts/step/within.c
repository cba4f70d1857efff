/* step/within: a step within a budget. Every island has the work of a bounded frame reserved; what is left over goes
   to certifying islands, small ones first, and what that misses gets its bounded frame after all. Work is counted in
   visits of contacts: a bounded frame takes three a contact and substep, a sweep (or an evaluation of Newton, whose
   factors take more) one a contact, an iteration of COND one a contact and eight blocks of A. */
#include "private.h"

CSIMI_FN void csimi_judge_outcome(csim_outcome *o, csim_real tolerance) {
    if (o->result != CSIM_RESULT_CAP && o->result != CSIM_RESULT_STALLED) return; /* others are judged already */
    if (csim_certificate_worst(&o->certificate) <= (double)tolerance) o->result = CSIM_RESULT_CONVERGED;
}

enum { CSIMI_WITHIN_SUBSTEPS = 8, CSIMI_WITHIN_GUESS = 8, CSIMI_WITHIN_MISSES = 5, CSIMI_WITHIN_LUMPED = 2,
       CSIMI_WITHIN_LEAST = 4, CSIMI_WITHIN_REST = 30, CSIMI_WITHIN_OVER = 3 /* visits that sweeps end later */ };

/* Each contact has three visits a substep: its warm start and two sweeps. */
static long csimi_within_frame(int contacts, int substeps) { return 3L * substeps * contacts; }

/* Substeps that the budget can pay for, and what that reserves. */
CSIMI_FN void csimi_within_open(const csim_world *w, csimi_step_frame *f) {
    const csim_solver_params *p = &w->def.solver;
    int i, contacts = 0;
    for (i = 0; i < w->store.active_count; i++) f->pace[w->store.active[i]] = w->store.body[w->store.active[i]].pace;
    /* rows on nothing that is free cost nothing */
    for (i = 0; i < f->contact_count; i++) contacts += f->contact_island[i] >= 0;
    f->substeps = p->substeps > 0 ? p->substeps : CSIMI_WITHIN_SUBSTEPS;
    while (w->def.budget > 0 && f->substeps > 1 && f->work + csimi_within_frame(contacts, f->substeps) > w->def.budget)
        f->substeps /= 2;
    f->reserved = csimi_within_frame(contacts, f->substeps) + w->store.A.row[w->store.A.n] / 8; /* COND: at least one */
}

/* Islands from the one with the fewest contacts on; key[2 islands]. */
CSIMI_FN const uint64_t *csimi_within_order(const csimi_step_frame *f, uint64_t *key) {
    uint64_t *other = key + f->island_count;
    int i;
    for (i = 0; i < f->island_count; i++)
        /* numbers below the counts: islands with as many contacts keep their order */
        key[i] = (uint64_t)(f->island_contact_first[i + 1] - f->island_contact_first[i]) << 32 | (uint64_t)i;
    csimi_radix_sort(f->island_count, &key, &other);
    return key;
}

static void csimi_within_start(const csimi_step_frame *f, csimi_within *c, bool bounded) {
    /* a frame begins at v_k, a solve once more where it is, any other at the last representative velocity */
    const csim_real *v = bounded ? f->vk : f->again ? f->v : f->start;
    int i;
    for (i = 0; i < c->n; i++) csimi_store3(c->solution->v + 3 * i, csimi_load3(v + 3 * (size_t)c->block[i]));
    for (i = 0; i < c->count; i++)
        csimi_store3(c->solution->lambda + 3 * i, csimi_load3(f->lambda + 3 * (size_t)c->contact[i]));
}

/* Rows of a bounded frame: nothing is pushed out by phi; impulses start where the last substep ended. */
static void csimi_within_rows(const csim_world *w, const csimi_step_frame *f, csimi_within *c) {
    const csim_real scale = csimi_warm_scale(w, f);
    int i;
    for (i = 0; i < c->count; i++) {
        const csimi_found_contact *found = c->contact[i] < f->found_count ? f->found + c->contact[i] : NULL;
        const csimi_kept *last = found && found->last >= 0 ? w->store.kept + found->last : NULL;
        /* rows without a gap, of joints and drives, have phi in its place */
        c->gap[i] = found ? f->gap[c->contact[i]] : csimi_max(c->rows[i].phi[0], 0);
        csimi_store3(c->pulse + 3 * i, csimi_load3(c->solution->lambda + 3 * i));
        c->phi[i] = c->rows[i].phi[0];
        if (found) c->rows[i].phi[0] -= f->kept[c->contact[i]].push; /* springs push out in its place */
        if (last && last->bounded) {
            csim_real world[3];
            csimi_store3(world, csim_scale(scale, last->pulse));
            csimi_mul3(c->rows[i].R, world, c->pulse + 3 * i); /* from world axes into those of the row */
        }
    }
}

/* Impulses on a matrix that was taken apart say nothing about one that is not: a frame after a lumped one starts
   without. */
static void csimi_within_forget(const csim_world *w, csimi_within *c) {
    bool lumped = false;
    int i;
    for (i = 0; i < c->n && !lumped; i++)
        lumped = w->store.body[csimi_block_owner(&w->store, c->block[i])].pace.bounded == CSIMI_WITHIN_LUMPED;
    for (i = 0; i < 3 * c->count && lumped; i++) c->solution->lambda[i] = 0;
    if (lumped) CSIMI_MEMSET(c->pulse, 0, 3 * (size_t)c->count * sizeof *c->pulse);
}

/* What the next step wants to know of the contacts and bodies of an island. */
static void csimi_within_keep(const csim_world *w, csimi_step_frame *f, const csimi_within *c, csimi_answer *a) {
    const bool calm = a->outcome.result <= CSIM_RESULT_UNCHECKED; /* certified, or not to be certified in this step */
    int i, k;
    for (i = 0; i < c->count; i++) {
        csim_real world[3] = {0, 0, 0};
        const csimi_kept *last;
        csimi_kept *kept;
        if (c->contact[i] >= f->found_count) continue; /* rows of joints and drives */
        kept = &f->kept[c->contact[i]].kept;
        k = f->found[c->contact[i]].last;
        last = k >= 0 ? w->store.kept + k : NULL;
        kept->calm = calm ? csimi_imin(1 + (last ? last->calm : 0), CSIMI_WITHIN_CALM) : 0;
        kept->bounded = c->lies && last ? last->bounded : a->bounded > 0;
        if (a->bounded) csimi_addmulT3(c->rows[i].R, c->pulse + 3 * i, world);
        /* what lies still keeps the marks it has, and so its sag */
        kept->pulse = c->lies && last ? last->pulse : csimi_load3(world);
        if (c->lies && last) kept->sag = last->sag;
    }
    for (i = 0; i < c->n && a->bounded; i++) {
        double way = 0;
        if (c->rotation[i]) continue; /* turns are no metres */
        for (k = 0; k < 3; k++) {
            const double d = (double)f->h * (double)(c->move[3 * i + k] - c->solution->v[3 * i + k]);
            way += d * d;
        }
        way = (double)csimi_sqrt64((csimi_wide)way);
        if (way > a->pushed) a->pushed = way;
    }
}

static csim_status csimi_within_run(csimi_within *c, const csim_solver_params *params, csimi_worker *worker,
                                    csim_outcome *outcome) {
    return csimi_problem_solve(c->problem, params, worker->arena, c->checked, worker->tasks, c->solution, outcome,
                               worker->error);
}

/* One more miss: the next attempt waits twice as long. */
static void csimi_within_pace(csimi_pace *pace, bool missed, int iterations) {
    pace->sweeps = missed ? pace->sweeps : iterations; /* the guess of the next attempt */
    pace->misses = missed ? csimi_imin(pace->misses + 1, CSIMI_WITHIN_MISSES) : 0;
    pace->wait = missed ? (1 << pace->misses) - 1 : 0; /* 1, 3, 7, 15, 31 steps */
}

/* What lies still stays as it is where certified frames, which would lift it out of its sag, cannot be paid for or
   have failed too often; elsewhere the sag fades, until it does not lie still. */
static csim_status csimi_within_rest(csimi_pace *pace, bool poor, csimi_within *c) {
    if (pace->wait > 0) pace->wait--;
    c->lies = poor || pace->wait > 0 || pace->misses == CSIMI_WITHIN_MISSES;
    return CSIM_OK; /* there is nothing to solve */
}

/* Visits of a bounded frame of an island whose A couples bodies, with what is left, and its substeps. *lumped, in: it
   has to be; out: it is, for there is not enough for a factor and four substeps. */
static long csimi_within_price(const csim_problem *p, long left, csimi_arena *arena, int *substeps, bool *lumped) {
    const int most = *substeps, least = csimi_imin(most, CSIMI_WITHIN_LEAST);
    const long own = *lumped ? -1 : csimi_bounded_work(p, left, arena, substeps);
    *lumped = own < 0 || *substeps < least; /* no factor, or too few substeps */
    if (!*lumped) return own;
    for (*substeps = most; *substeps > 1 && csimi_lumped_work(p, *substeps) > left;) *substeps /= 2;
    return csimi_lumped_work(p, *substeps);
}

/* What an iteration of COND takes: of dense coarse factors, and of contacts that need virtual nodes, its share too. */
static long csimi_within_iteration(const csim_problem *p) {
    const long groups = csimi_imin(csimi_coarse_usable(p->structure) ? p->structure->aggregate_count : 0, 150);
    long general = 0;
    int i;
    for (i = 0; i < p->contact_count; i++) general += p->contacts[i].a.count + p->contacts[i].b.count > 1;
    /* a dense factor of the coarse groups grows with the cube of them */
    return p->contact_count + p->A.row[p->A.n] / 8 + groups * groups * groups / 5 + general * general / 2;
}

CSIMI_FN csim_status csimi_within_try(const csim_world *w, const csimi_step_frame *f, csimi_within *c,
                                      csim_solver_params *params, csimi_worker *worker, csimi_answer *a) {
    const bool bodies = csimi_bodies_take(c->problem), forced = params->solver == CSIM_SOLVER_BOUNDED;
    const long each = bodies ? c->count : csimi_within_iteration(c->problem);
    csimi_pace *pace = &a->pace;
    csim_status status;
    int spent;
    bool lumped, bounded = !f->again || forced;
    long left, own = csimi_within_frame(c->count, f->substeps) + c->problem->A.row[c->n] / 8;
    *pace = w->store.body[csimi_block_owner(&w->store, c->block[0])].pace;
    lumped = !forced && pace->bounded == CSIMI_WITHIN_LUMPED && pace->wait > 0;
    a->substeps = f->substeps;
    a->own = f->again ? 0 : own;
    left = w->def.budget - f->work - f->reserved + a->own; /* of the budget, with what was reserved for it */
    csimi_within_start(f, c, false);
    if (csimi_island_rests(w, f, c->block, c->problem, params, c->checked, c->solution, worker->arena, &a->outcome) ==
        CSIMI_ISLAND_RESTS)
        return csimi_within_rest(pace, forced || left < own + each * csimi_imax(pace->sweeps, CSIMI_WITHIN_GUESS), c);
    if (!bodies && bounded)
        /* asked for by name, a frame goes through a factor whatever it costs */
        own = csimi_within_price(c->problem, forced ? INT32_MAX : left, worker->arena, &a->substeps, &lumped);
    if (bounded) left -= own; /* stays aside for the frame */
    if (!bounded || (!forced && pace->wait == 0 && left >= each * csimi_imax(pace->sweeps, CSIMI_WITHIN_GUESS))) {
        const long most = each > 0 ? left / each - CSIMI_WITHIN_OVER : params->max_iterations;
        params->max_iterations = most < 1 ? 1 : most < params->max_iterations ? (int)most : params->max_iterations;
        params->solver = bodies ? CSIM_SOLVER_SWEEP : CSIM_SOLVER_COND;
        if (bodies) params->inner = params->max_iterations; /* factors of Newton count as well */
        if ((status = csimi_within_run(c, params, worker, &a->outcome)) != 0) return status;
        spent = a->outcome.iterations + (bodies ? a->outcome.products : 0);
        a->spent = each * spent;
        csimi_judge_outcome(&a->outcome, w->def.solver.tolerance);
        csimi_within_pace(pace, a->outcome.result > CSIM_RESULT_UNCHECKED, spent);
        bounded = bounded && a->outcome.result > CSIM_RESULT_UNCHECKED;
    } else if (pace->wait > 0) {
        pace->wait--; /* a step nearer to the next attempt */
    }
    if (bounded && lumped && pace->wait == 0) pace->wait = CSIMI_WITHIN_REST; /* going to and fro shakes */
    a->bounded = !bounded ? 0 : lumped ? CSIMI_WITHIN_LUMPED : 1;
    if (bounded) a->spent += bodies ? csimi_within_frame(c->count, f->substeps) : own;
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_within_end(const csim_world *w, csimi_step_frame *f, csimi_within *c,
                                      csim_solver_params *params, csimi_worker *worker, csimi_answer *a) {
    csim_status status;
    int i;
    if (a->bounded) {
        params->solver = CSIM_SOLVER_BOUNDED;
        params->substeps = a->substeps;
        params->inner = a->bounded == CSIMI_WITHIN_LUMPED;
        params->tolerance = w->def.solver.tolerance;
        c->problem->gap = c->gap;
        c->solution->pulse = c->pulse;
        c->solution->move = c->move; /* by which positions go, m/s */
        csimi_within_start(f, c, true);
        csimi_within_rows(w, f, c);
        if (a->bounded != CSIMI_WITHIN_LUMPED && !f->again) csimi_within_forget(w, c);
        if ((status = csimi_within_run(c, params, worker, &a->outcome)) != 0) return status;
        for (i = 0; i < c->count; i++) c->rows[i].phi[0] = c->phi[i]; /* as it was before the frame */
        if (a->outcome.result <= CSIM_RESULT_UNCHECKED && a->pace.wait == 0) a->pace.wait = 1; /* calms by itself */
    } else {
        CSIMI_MEMCPY(c->move, c->solution->v, 3 * (size_t)c->n * sizeof *c->move); /* no springs: positions go by v */
    }
    csimi_within_keep(w, f, c, a);
    return CSIM_OK;
}

CSIMI_FN void csimi_within_gather(const csim_world *w, csimi_step_frame *f, int island, const csimi_answer *a) {
    const int *block = f->island_blocks + f->island_first[island];
    const int n = f->island_first[island + 1] - f->island_first[island];
    int i;
    if (!f->again) f->pace[csimi_block_owner(&w->store, block[0])] = a->pace; /* the leader keeps it */
    /* any of them may lead an island in the next step, or be asked (csim_body_get_bounded) */
    for (i = 0; i < n; i++) f->pace[csimi_block_owner(&w->store, block[i])].bounded = a->bounded;
    if (!a->bounded) return;
    f->stats->bounded++;
    f->stats->flags |= CSIM_FLAG_BOUNDED;
    if (a->pushed > f->stats->pushed) f->stats->pushed = a->pushed;
}
