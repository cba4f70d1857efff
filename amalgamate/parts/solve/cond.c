/* solve/cond: velocity fixed-point iteration on nodal contacts (Lee et al., COND; docs/solvers.md).

       v* = v - W (A v - b),   lambda = Project(-(J v* + phi)/gamma),   F(v) = v* + W J'lambda

   One product of A an iteration. W^-1 (F(v) - v) is the force imbalance at v, so the residual costs nothing, and F(v)
   with its lambda obeys every contact law exactly, so what is left to certify is the dynamics. */
#include "cond.h"

static const csim_real CSIMI_COND_SOFT = CSIM_R(0.01); /* share of kappa where the whole of it was not solved */
static const csim_real CSIMI_COND_HARDEN = 10; /* ... and what it is raised by from there, round by round */
static const csim_real CSIMI_COND_STIFF = 1000; /* gain that couplings are stiffened to */

/* ---- memory */

/* The acceleration that AUTO stands for; modes: the structure names rigid modes or cables. */
static csim_acceleration csimi_cond_choose(const csim_solver_params *params, bool modes) {
    if (params->cond.weight >= CSIM_WEIGHT_BB1 && params->cond.weight <= CSIM_WEIGHT_BB_ALTERNATING)
        return CSIM_ACCELERATION_NONE; /* a step length of its own every iteration leaves nothing to accelerate */
    if (params->cond.acceleration == CSIM_ACCELERATION_AUTO || params->cond.acceleration == CSIM_ACCELERATION_COARSE)
        return modes ? CSIM_ACCELERATION_COARSE : CSIM_ACCELERATION_ANDERSON; /* else no coarse space */
    return params->cond.acceleration;
}

/* Pairs of Anderson's ring: 3 would take twice the iterations, 12 would save a twentieth. */
static int csimi_cond_window(const csim_solver_params *params) { return params->window > 0 ? params->window : 8; }

/* n nodes with their virtual ones; blocks, aggregates of the given problem. */
static void csimi_cond_layout(csimi_cond *c, csimi_arena *arena, int n, int contacts, int blocks, int aggregates,
                              int links, int window, bool virtual_nodes) {
    const size_t vector = 3 * (size_t)n;
    size_t mark;
    c->map.count = 3 * n;
    c->map.contacts = contacts;
    c->map.contact = CSIMI_PUSH(arena, csimi_cond_contact, contacts);
    c->map.pinned = CSIMI_PUSH(arena, unsigned char, n);
    c->map.law = CSIMI_PUSH(arena, unsigned char, contacts);
    c->map.w = CSIMI_PUSH(arena, csim_real, vector);
    c->map.w_inverse = CSIMI_PUSH(arena, csim_real, vector);
    c->map.gamma = CSIMI_PUSH(arena, csim_real, contacts);
    c->policy.best = CSIMI_PUSH(arena, csim_real, vector);
    c->map.trial = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->map.lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->policy.best_lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    if (virtual_nodes) { /* with the shift only: their centres move */
        csimi_anderson_layout(&c->centre.ring, arena, 3 * contacts, CSIMI_COND_CENTRES, 0);
        c->centre.spread = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    }
    /* partial sums by chunks, added in one order, so that the number of threads changes no bit */
    c->map.row_sum = CSIMI_PUSH(arena, double, n / CSIMI_COND_ROWS + 1);
    c->map.contact_sum = CSIMI_PUSH(arena, double, contacts / CSIMI_COND_ROWS + 1);
    c->map.load_sum = CSIMI_PUSH(arena, double, contacts / CSIMI_COND_ROWS + 1);
    c->map.scratch_bytes = csim_certificate_bytes(blocks, contacts);
    c->map.scratch = csimi_push(arena, c->map.scratch_bytes, 1);
    mark = arena->used; /* estimating W is over before the vectors of the acceleration are needed */
    c->map.work = CSIMI_PUSH(arena, csim_real, 3 * vector);
    csimi_pop(arena, mark);
    if (csimi_cond_rings(c)) { /* f and p are its slots, else they stand alone */
        csimi_anderson_layout(&c->ring.pairs, arena, 3 * n, window, 0);
    } else {
        c->map.f = CSIMI_PUSH(arena, csim_real, vector);
        c->map.p = CSIMI_PUSH(arena, csim_real, vector);
        c->ring.last = CSIMI_PUSH(arena, csim_real, vector);
        c->ring.r = CSIMI_PUSH(arena, csim_real, vector);
        c->ring.last_r = CSIMI_PUSH(arena, csim_real, vector);
    }
    if (c->ring.acceleration == CSIM_ACCELERATION_COARSE)
        csimi_coarse_layout(&c->coarse.space, arena, blocks, contacts, aggregates);
    csimi_chains_layout(&c->coarse.chains, arena, blocks, contacts,
                        c->ring.acceleration == CSIM_ACCELERATION_COARSE ? links : 0);
}

/* Of n blocks in pairs, below. */
static void csimi_cond_pair_layout(csim_structure *s, csimi_arena *arena, int n) {
    CSIMI_MEMSET(s, 0, sizeof *s);
    s->aggregate = CSIMI_PUSH(arena, int, n);
    s->offset = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->radius = CSIMI_PUSH(arena, csim_real, (n + 1) / 2);
    s->rotation = CSIMI_PUSH(arena, unsigned char, n);
}

CSIMI_FN size_t csimi_cond_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_cond c;
    CSIMI_MEMSET(&c, 0, sizeof c);
    c.ring.acceleration = csimi_cond_choose(params, size->aggregates > 0 || size->links > 0);
    (void)CSIMI_PUSH(&arena, csim_real, size->contacts); /* shares of kappa */
    if (size->aggregates > 0 && size->blocks <= 2 * CSIMI_COARSE_GROUPS) { /* pairs, where the problem names nothing */
        csim_structure pairs;
        csimi_cond_pair_layout(&pairs, &arena, size->blocks);
    }
    csimi_nodal_reserve(&arena, size->blocks, size->contacts, size->terms);
    /* virtual nodes: one a side at most, and none on a side without a term */
    csimi_cond_layout(&c, &arena, size->blocks + csimi_imin(2 * size->contacts, size->terms), size->contacts,
                      size->blocks, size->aggregates, size->links, csimi_cond_window(params), params->cond.shift);
    return arena.high;
}

/* ---- a problem that comes without a structure. Where A is block diagonal in small bodies the contacts are all that
   ties blocks together, and the coarse space can be the whole one: pairs of blocks, each as if it were a rigid body. */

CSIMI_FN int csimi_cond_pairs(const csim_problem *problem) {
    const int n = problem->A.n;
    return !problem->structure && n <= 2 * CSIMI_COARSE_GROUPS && csimi_bodies_take(problem) ? (n + 1) / 2 : 0;
}

/* Names the pairs; by the radius the second block, taken for turns, weighs in the coarse space what the first does. */
static void csimi_cond_pair(const csim_problem *problem, csimi_arena *arena, int pairs, csim_structure *s) {
    const csim_block_matrix *A = &problem->A;
    const int n = A->n;
    int i;
    csimi_cond_pair_layout(s, arena, n);
    s->aggregate_count = pairs;
    if (arena->overflow) return;
    CSIMI_MEMSET((csim_real *)s->offset, 0, 3 * (size_t)n * sizeof *s->offset);
    for (i = 0; i < n; ++i) {
        ((int *)s->aggregate)[i] = i / 2;
        ((unsigned char *)s->rotation)[i] = (unsigned char)(i % 2);
        ((csim_real *)s->radius)[i / 2] = i % 2 ? CSIMI_SQRT(csimi_block_trace(A, i) / csimi_block_trace(A, i - 1)) : 1;
    }
}

CSIMI_FN bool csimi_cond_takes(const csim_problem *problem) {
    (void)problem;
    return true;
}

/* ---- the loop */

/* What the virtual nodes' slip leaves of the laws: p obeys them on those nodes, not on the bodies they hang on. */
static double csimi_cond_slipping(const csim_certificate *k) {
    const double motion = k->velocity > k->work ? k->velocity : k->work;
    return k->contact > motion ? k->contact : motion;
}

/* Certifies p. When it is not good enough yet, *inner becomes the rel at which to look again; contacts whose virtual
   nodes slip get another centre. */
static bool csimi_cond_done(csimi_cond *c, csim_real tolerance, double *inner, csim_outcome *outcome) {
    const csim_certificate *k = &outcome->certificate;
    const bool centred = c->centre.shift && c->map.nodal.virtual_count > 0; /* else there is no centre to move */
    double worst, slip;
    if (csimi_cond_certify(c, c->map.p, c->map.lambda, tolerance, outcome))
        return !csimi_cond_improves(c, k, tolerance); /* certified; a better answer may still be near */
    if (c->centre.shift && csimi_cond_threads(c)) {
        c->centre.parted = true; /* its coupling is for another round */
        return false;
    }
    slip = csimi_cond_slipping(k);
    /* what is missing is slip more than dynamics: the centres move, the iteration goes on */
    if (centred && slip > (double)tolerance && slip >= k->dynamics) {
        if (slip > c->centre.slipping) csimi_anderson_clear(&c->centre.ring); /* the centres remembered mislead */
        /* it did not halve: the inner solves were too rough, but a twentieth of the tolerance is fine enough */
        if (slip > 0.5 * c->centre.slipping && *inner > 0.05 * (double)tolerance) *inner *= 0.5;
        c->centre.slow = slip > 0.5 * c->centre.slipping ? c->centre.slow + 1 : 0;
        c->centre.slipping = slip;
        csimi_cond_centre(c);
        return false;
    }
    /* dynamics falls with rel, from which it differs by a tenth: aim a twentieth below the tolerance */
    worst = centred || k->dynamics > slip ? k->dynamics : slip;
    *inner = c->map.rel * 0.95 * (worst > (double)tolerance ? (double)tolerance / worst : 1);
    return false;
}

/* A coupling so soft that centre after centre is needed gets the default gain in another round. */
static bool csimi_cond_weak(const csimi_cond *c, const csim_solver_params *params) {
    /* a kappa that was given stays, and a softened coupling hardens by its own rule */
    return c->centre.slow >= CSIMI_COND_SLOW && params->spring.kappa <= 0 && c->centre.full >= 1 &&
           params->spring.gain * c->centre.full < CSIMI_COND_STIFF;
}

/* Iterates until certified. Converged: the answer is p with lambda; otherwise best holds the best iterate. */
static csim_result csimi_cond_loop(csimi_cond *c, const csim_solver_params *params, csim_outcome *outcome) {
    double inner = (double)params->tolerance * (c->centre.shift && c->map.nodal.virtual_count ? CSIMI_COND_EARLY : 1);
    c->centre.slipping = 1e300; /* no figure yet: the first counts as progress */
    csimi_anderson_clear(&c->centre.ring);
    c->centre.parted = false;
    c->centre.slow = c->policy.beyond = 0;
    c->policy.certified = 1e300;
    for (c->policy.iteration = 1; outcome->iterations < params->max_iterations; ++c->policy.iteration) {
        /* a spectrum far too small shows in a residual above all forces; most solves end before they doubt theirs */
        if (c->map.trusted && (c->policy.iteration == CSIMI_COND_DOUBT || (c->policy.iteration > 2 && c->map.rel > 1)))
            csimi_cond_weigh_again(c);
        if (csimi_cond_rings(c)) csimi_anderson_slot(&c->ring.pairs, &c->map.f, &c->map.p);
        csimi_cond_map(c);
        if (params->history && outcome->iterations < params->history_capacity)
            params->history[outcome->iterations] = c->map.rel;
        outcome->iterations += 1;
        outcome->residual = c->map.rel;
        /* here the data are at fault; a later NaN is a lost iterate, and policy.c goes back to the best */
        if (c->policy.iteration == 1 && !(c->map.rho < 1e300)) return CSIM_RESULT_NOT_FINITE;
        if (c->policy.iteration >= 2 && c->map.rel < inner && csimi_cond_done(c, params->tolerance, &inner, outcome))
            return CSIM_RESULT_CONVERGED;
        if (csimi_cond_uncentred(c, params->tolerance)) {
            c->centre.parted = csimi_cond_threads(c);
            if (!c->centre.parted) {
                csimi_cond_centre(c);
                continue; /* the centre has set v */
            }
        }
        if (c->policy.certified < 1e300 && ++c->policy.beyond > CSIMI_COND_BEYOND)
            return CSIM_RESULT_STALLED; /* best is certified */
        if (c->centre.parted || csimi_cond_weak(c, params) || c->centre.slow >= CSIMI_COND_WANDER ||
            inner < 4 * (double)CSIMI_EPS) { /* rel has no such digits */
            /* a certified best stays; otherwise the next round starts from this iterate */
            if (c->policy.certified >= 1e300) csimi_cond_keep(c);
            return CSIM_RESULT_STALLED;
        }
        csimi_cond_advance(c);
        if (csimi_cond_stale(c)) return CSIM_RESULT_STALLED;
    }
    return CSIM_RESULT_CAP;
}

static void csimi_cond_begin(csimi_cond *c) {
    c->ring.since = 0;
    c->coarse.rebuild = false;
    c->map.alpha = 1;
    c->ring.longest = 50;
    c->coarse.built = -1;
    c->map.v = c->map.nodal.start;
    /* rigid: the coarse unknowns are more than half of all, so that little is left beside them */
    c->coarse.rigid =
        c->ring.acceleration == CSIM_ACCELERATION_COARSE && 6 * c->coarse.space.groups > 3 * c->map.given->A.n / 2;
    if (c->ring.acceleration == CSIM_ACCELERATION_COARSE && c->coarse.space.groups && c->map.nodal.virtual_count)
        c->coarse.newton_steps = csimi_cond_afford(c);
    csimi_cond_fresh(c);
}

/* One solve from the solution at hand with virtual nodes coupled by their shares. */
static CSIMI_NOINLINE csim_status csimi_cond_round(csimi_cond *c, const csim_solver_params *params, csimi_arena *arena,
                                    csim_solution *solution, csim_outcome *outcome, csim_error *error) {
    const csim_problem *problem = c->map.given;
    const bool modes = csimi_coarse_usable(problem->structure);
    const csim_real *v, *lambda;
    outcome->result = CSIM_RESULT_NOT_FINITE; /* until the loop has an answer */
    if (csimi_nodalize(problem, params->spring.gain, params->spring.kappa, c->centre.share, params->cond.shift,
                       solution->v, solution->lambda, arena, &c->map.nodal) == CSIM_OK)
        csimi_cond_layout(c, arena, c->map.nodal.count, problem->contact_count, problem->A.n,
                          modes ? problem->structure->aggregate_count : 0,
                          c->coarse.unchained ? 0 : csimi_chains_links(problem->structure), csimi_cond_window(params),
                          params->cond.shift && c->map.nodal.virtual_count > 0);
    if (arena->overflow)
        return csimi_fail(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes", (double)arena->size,
                          "at least csim_solver_bytes of the problem's size");
    outcome->virtual_nodes = c->map.nodal.virtual_count;
    csimi_cond_begin(c);
    if (!csimi_cond_pack(c)) return CSIM_OK; /* the solution stays the start */
    csimi_cond_weigh(c, params->cond.weight, outcome->sigma);
    if (c->ring.acceleration == CSIM_ACCELERATION_COARSE && c->coarse.space.groups)
        csimi_coarse_open(&c->coarse.space, problem);
    if (c->coarse.chains.links) csimi_chains_bind(&c->coarse.chains, problem);
    outcome->result = csimi_cond_loop(c, params, outcome);
    outcome->rejections = c->policy.rejections;
    outcome->sigma = c->map.sigma;
    v = c->map.p, lambda = c->map.lambda;
    if (outcome->result == CSIM_RESULT_CAP || outcome->result == CSIM_RESULT_STALLED) {
        v = c->policy.best, lambda = c->policy.best_lambda; /* not the last iterate */
        if (csimi_cond_certify(c, v, lambda, params->tolerance, outcome)) outcome->result = CSIM_RESULT_CONVERGED;
    }
    outcome->products = c->map.products;
    if (outcome->result == CSIM_RESULT_NOT_FINITE) return CSIM_OK; /* the solution stays the start */
    outcome->virtual_slip = csimi_cond_slip(c, lambda);
    csimi_solution_take(problem, v, lambda, solution);
    return CSIM_OK;
}

/* ---- the rules of a round */

typedef struct csimi_cond_turn {
    csimi_cond *c;
    const csim_solver_params *params;
    csim_solution *solution;
    const csim_outcome *outcome;
} csimi_cond_turn;

static bool csimi_turn_converged(const csimi_cond_turn *t) { return t->outcome->result == CSIM_RESULT_CONVERGED; }

/* A round with exact cables missed, and no distant contact that closed explains it. */
static bool csimi_turn_chained(const csimi_cond_turn *t) {
    return t->c->coarse.chains.links && !t->c->centre.parted && t->c->map.given->contact_count > 0;
}

static bool csimi_turn_parted(const csimi_cond_turn *t) { return t->c->centre.parted; }

static bool csimi_turn_weak(const csimi_cond_turn *t) { return csimi_cond_weak(t->c, t->params); }

static bool csimi_turn_virtual(const csimi_cond_turn *t) { return t->outcome->virtual_nodes != 0; }

/* With the shift threads are found in the loop; without it, here: what converged may hang by one. */
static bool csimi_turn_look(csimi_cond_turn *t) {
    csimi_cond *c = t->c;
    return !c->centre.shift && csimi_cond_join(c, t->solution, c->centre.full, c->centre.share);
}

/* A face of the cables that changes with every map: small steps do it, from rest if it got lost. */
static bool csimi_turn_unchain(csimi_cond_turn *t) {
    const csim_problem *given = t->c->map.given;
    t->c->coarse.unchained = true;
    if (t->outcome->certificate.dynamics > 0.01 || t->outcome->certificate.contact > 0.1) {
        CSIMI_MEMSET(t->solution->v, 0, 3 * (size_t)given->A.n * sizeof *t->solution->v);
        CSIMI_MEMSET(t->solution->lambda, 0, 3 * (size_t)given->contact_count * sizeof *t->solution->lambda);
    }
    return true;
}

static bool csimi_turn_join(csimi_cond_turn *t) {
    (void)csimi_cond_join(t->c, t->solution, t->c->centre.full, t->c->centre.share);
    return true;
}

static bool csimi_turn_recouple(csimi_cond *c, csim_real full) {
    csimi_cond_couple(c, full);
    c->centre.full = full;
    return true;
}

static bool csimi_turn_stiffen(csimi_cond_turn *t) {
    return csimi_turn_recouple(t->c, CSIMI_COND_STIFF / t->params->spring.gain); /* shares are factors on the gain */
}

static bool csimi_turn_soften(csimi_cond_turn *t) {
    const csim_real full = t->c->centre.full;
    /* a hundredth at first, then ten times more a round: the shift takes back what a soft coupling slips */
    return csimi_turn_recouple(t->c, full >= 1 ? CSIMI_COND_SOFT : CSIMI_COND_HARDEN * full);
}

/* Whether there is another round: the remedy of the first event that holds says so. */
static CSIMI_NOINLINE bool csimi_cond_again(csimi_cond_turn *t) {
    static const struct {
        bool (*event)(const csimi_cond_turn *t);
        bool (*remedy)(csimi_cond_turn *t);
    } rules[] = {
        {csimi_turn_converged, csimi_turn_look},  /* till none closes that was distant */
        {csimi_turn_chained, csimi_turn_unchain}, /* once: no chains are left */
        {csimi_turn_parted, csimi_turn_join},     /* for those that closed */
        {csimi_turn_weak, csimi_turn_stiffen},    /* once: it is weak at the gain given alone */
        {csimi_turn_virtual, csimi_turn_soften},  /* as often as there are rounds */
    };
    int i;
    for (i = 0; i < (int)(sizeof rules / sizeof *rules); ++i)
        if (rules[i].event(t)) return rules[i].remedy(t);
    return false;
}

/* Without the shift the nodal contacts were solved, whose virtual nodes slip: the certificate is of the given ones all
   the same, and a solve that only met its own is no yes. */
static void csimi_cond_judge(const csimi_cond *c, const csim_solver_params *params, const csim_solution *solution,
                             csim_outcome *outcome) {
    if (c->centre.shift || outcome->virtual_nodes == 0 || outcome->result == CSIM_RESULT_NOT_FINITE ||
        outcome->result == CSIM_RESULT_UNCHECKED)
        return;
    (void)csimi_certify(c->map.given, solution->v, solution->lambda, c->map.scratch, c->map.scratch_bytes,
                        &outcome->certificate);
    outcome->products++;
    if (outcome->result == CSIM_RESULT_CONVERGED &&
        !(csim_certificate_worst(&outcome->certificate) <= (double)params->tolerance))
        outcome->result = CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_cond_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    const size_t begin = arena->used;
    const int pairs = csimi_cond_pairs(problem);
    csim_problem paired = *problem; /* the caller's problem stays as it is */
    csim_structure structure;
    size_t mark;
    csimi_cond c;
    csimi_cond_turn turn;
    csim_status status;
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
    c.map.given = &paired;
    c.map.tasks = tasks;
    c.map.weight = params->cond.weight;
    c.ring.acceleration =
        csimi_cond_choose(params, csimi_coarse_usable(paired.structure) || csimi_chains_links(paired.structure) > 0);
    c.centre.shift = params->cond.shift;
    c.centre.full = 1;
    c.centre.share = CSIMI_PUSH(arena, csim_real, problem->contact_count);
    if (!arena->overflow) csimi_cond_part(problem, solution, c.centre.share);
    mark = arena->used; /* rounds take what is left, one after the other */
    turn.c = &c;
    turn.params = params;
    turn.solution = solution;
    turn.outcome = outcome;
    for (round = 0;; ++round) {
        status = csimi_cond_round(&c, params, arena, solution, outcome, error);
        outcome->bytes = arena->high - begin;
        /* numbers broke in a later round alone: what the one before left stands, or rest, if that came between */
        if (status == CSIM_OK && round > 0 && outcome->result == CSIM_RESULT_NOT_FINITE) {
            (void)csimi_cond_certify(&c, solution->v, solution->lambda, params->tolerance, outcome);
            outcome->result = CSIM_RESULT_STALLED;
            round = CSIMI_COND_ROUNDS;
        }
        if (status != CSIM_OK || outcome->result == CSIM_RESULT_NOT_FINITE || round >= CSIMI_COND_ROUNDS ||
            outcome->iterations >= params->max_iterations || !csimi_cond_again(&turn)) {
            if (status == CSIM_OK) csimi_cond_judge(&c, params, solution, outcome);
            return status;
        }
        csimi_pop(arena, mark);
    }
}
