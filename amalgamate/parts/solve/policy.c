/* solve/policy: what COND does when. Two tables, rules of an iteration here and rules of a round in cond.c: the event,
   and the remedy it gets; each remedy has a limit, and every number is named with its reason. */
#include "cond.h"

/* An iterate is lost when its residual is so far above the best one's, or above the lowest of the phase. A coarse step
   may raise it by orders of magnitude before it pays; a plain iteration never should. */
static const double CSIMI_LOST_BEST = 1e4;
static const double CSIMI_LOST_LOWEST = 100;
static const double CSIMI_LOST_PLAIN = 100;
static const double CSIMI_GREW = 4; /* in one step: pairs of the ring that describe another regime are forgotten */
static const double CSIMI_HALVED = 0.5; /* Newton converges: rigid bodies go on with it */
static const double CSIMI_KEEP = 0.7; /* of the best residual: worth a copy */
static const double CSIMI_NEWS = 0.9; /* of the lowest residual: progress */
static const double CSIMI_LEAVE = 0.1; /* of the best residual: the corrections are tried again */

enum {
    CSIMI_IDLE = 40,         /* iterations of a phase without progress: the corrections have locked in */
    CSIMI_IDLE_PLAIN = 100,  /* the same of Chebyshev, whose residual is no descent */
    CSIMI_ALONE_MOST = 40,   /* iterations without corrections, then they are tried again */
    CSIMI_PLAIN_MOST = 16,   /* plain steps after a rejection: 2, 4, 8, 16 smooth what a correction left rough */
    CSIMI_NEWTON_MOST = 24,  /* Newton corrections after one: 6, 12, 24 */
    CSIMI_CABLES_STALE = 40, /* iterations without a better best that end a round: with cables, solved exactly, ... */
    CSIMI_NODES_STALE = 80,  /* ... with virtual nodes, for which a softer coupling is still to be tried, ... */
    CSIMI_STALE = 300        /* ... and where nothing else is left */
};

/* ---- events */

static bool csimi_cond_lost(const csimi_cond *c) {
    if (!(c->map.rho < 1e300)) return true;
    if (!csimi_cond_rings(c))
        return c->map.rho > CSIMI_LOST_PLAIN * c->policy.saved ||
               (c->policy.idle > CSIMI_IDLE_PLAIN && c->ring.acceleration != CSIM_ACCELERATION_NONE);
    if (c->policy.phase < 2) return false;
    return c->map.rho > CSIMI_LOST_BEST * c->policy.saved || c->map.rho > CSIMI_LOST_LOWEST * c->policy.lowest ||
           c->policy.idle > CSIMI_IDLE;
}

static bool csimi_cond_smooths(const csimi_cond *c) { return c->policy.plain > 0; }

static bool csimi_cond_newtons(const csimi_cond *c) { return c->policy.newton > 0; }

static bool csimi_cond_is_chebyshev(const csimi_cond *c) { return c->ring.acceleration == CSIM_ACCELERATION_CHEBYSHEV; }

static bool csimi_cond_is_barzilai(const csimi_cond *c) { return c->map.weight >= CSIM_WEIGHT_BB1; }

static bool csimi_cond_always(const csimi_cond *c) {
    (void)c;
    return true;
}

CSIMI_FN bool csimi_cond_stale(const csimi_cond *c) {
    const int most = c->coarse.chains.links                              ? CSIMI_CABLES_STALE
                     : c->map.nodal.virtual_count && c->centre.full >= 1 ? CSIMI_NODES_STALE
                                                                         : CSIMI_STALE;
    return csimi_cond_rings(c) && c->policy.stale > most;
}

/* ---- remedies */

/* Back to the best iterate. What follows is the next remedy: Newton where it serves, else stiffer contacts, then
   Anderson without the coarse part. */
static void csimi_cond_reject(csimi_cond *c) {
    csimi_cond_copy(c, c->map.v, c->policy.best);
    csimi_anderson_clear(&c->ring.pairs);
    c->policy.idle = 0;
    c->coarse.built = -1;
    c->coarse.rebuild = true;
    c->policy.before = 1e300;
    c->policy.leave = CSIMI_LEAVE * c->policy.saved;
    c->policy.alone = 0;
    c->policy.newton = 0;
    c->policy.rejections += 1;
    if (c->policy.newton_next && c->coarse.rigid) {
        c->policy.newton = c->policy.newton_next;
        c->policy.newton_next = csimi_imin(2 * c->policy.newton_next, CSIMI_NEWTON_MOST);
        return;
    }
    c->policy.plain = c->policy.plain_next;
    c->policy.plain_next = csimi_imin(2 * c->policy.plain_next, CSIMI_PLAIN_MOST);
    c->policy.mode = (c->policy.mode + 1) % CSIMI_COND_MODES;
    if (c->ring.acceleration == CSIM_ACCELERATION_COARSE) csimi_cond_unite(c);
}

/* Back to the best iterate for Chebyshev and Barzilai-Borwein, without what they remember of earlier ones. */
static void csimi_cond_restart(csimi_cond *c) {
    csimi_cond_copy(c, c->map.v, c->policy.best);
    c->ring.since = 0;
    c->map.alpha = 1;
    if (c->ring.longest > 2) c->ring.longest *= 0.5;
    c->policy.idle = 0;
    c->policy.rejections += 1;
}

/* rho beside that of the last iteration; a ring that another regime filled is forgotten. */
static void csimi_cond_compare(csimi_cond *c) {
    csimi_cond_policy_state *p = &c->policy;
    p->grew = c->map.rho > CSIMI_GREW * p->before;
    p->halved = c->map.rho < CSIMI_HALVED * p->before;
    if (p->grew) csimi_cond_forget(c);
    p->before = c->map.rho;
}

static void csimi_cond_smooth(csimi_cond *c) {
    csimi_cond_compare(c);
    c->policy.plain -= 1;
    if (c->ring.acceleration == CSIM_ACCELERATION_COARSE) csimi_cond_unite(c);
    csimi_cond_take(c);
}

/* p corrected as the mode says; CSIMI_COND_ALONE ends here. */
static void csimi_cond_corrected(csimi_cond *c) {
    const bool coarse = c->ring.acceleration == CSIM_ACCELERATION_COARSE;
    csimi_cond_policy_state *p = &c->policy;
    csimi_cond_compare(c);
    if (coarse && p->mode == CSIMI_COND_ALONE && (c->map.rho < p->leave || ++p->alone > CSIMI_ALONE_MOST)) {
        p->mode = CSIMI_COND_COARSE;
        p->alone = 0;
        c->coarse.built = -1;
    }
    if (coarse && p->mode != CSIMI_COND_ALONE) csimi_cond_correct(c);
    csimi_cond_eliminate(c);
}

static void csimi_cond_newton(csimi_cond *c) {
    csimi_cond_corrected(c);
    if (c->policy.grew)
        c->policy.newton = 0;
    else if (!c->coarse.rigid || !c->policy.halved)
        c->policy.newton -= 1;
    csimi_cond_take(c);
}

static void csimi_cond_anderson(csimi_cond *c) {
    csimi_cond_corrected(c);
    csimi_anderson_step(&c->ring.pairs, c->map.w_inverse, c->map.v, c->map.tasks);
}

/* ---- the rules */

/* Bookkeeping of progress. A coarse phase is measured from its own first residual: the first corrections raise the
   residual of a stiff body, whose warm start was nearly smooth, by orders of magnitude before they pay. */
static void csimi_cond_measure(csimi_cond *c) {
    const bool fresh = csimi_cond_rings(c) && (c->policy.plain > 0 || c->policy.newton > 0);
    c->policy.phase = fresh ? 0 : c->policy.phase + 1;
    c->policy.stale += 1;
    c->policy.idle += 1;
    if (!(c->map.rho < 1e300)) return;
    if (c->map.rel < CSIMI_KEEP * c->policy.saved_rel && c->policy.certified >= 1e300) {
        csimi_cond_keep(c);
        c->policy.stale = 0;
    }
    if (c->map.rel < CSIMI_NEWS * c->policy.lowest_rel || c->map.rho < CSIMI_NEWS * c->policy.lowest ||
        (c->policy.phase <= 2 && csimi_cond_rings(c))) {
        if (c->policy.phase <= 2 || c->map.rel < c->policy.lowest_rel) c->policy.lowest_rel = c->map.rel;
        if (c->policy.phase <= 2 || c->map.rho < c->policy.lowest) c->policy.lowest = c->map.rho;
        c->policy.idle = 0;
    }
}

CSIMI_FN void csimi_cond_advance(csimi_cond *c) {
    static const struct {
        bool rings; /* for iterations with a ring of pairs, or for those without */
        bool (*event)(const csimi_cond *c);
        void (*remedy)(csimi_cond *c);
    } rules[] = {
        {true, csimi_cond_lost, csimi_cond_reject}, /* Newton, then the next mode; both wait twice as long each time */
        {true, csimi_cond_smooths, csimi_cond_smooth}, /* as many plain steps as are to go */
        {true, csimi_cond_newtons, csimi_cond_newton}, /* until rho grows, or as often as are to go */
        {true, csimi_cond_always, csimi_cond_anderson},
        {false, csimi_cond_lost, csimi_cond_restart}, /* with half the longest step */
        {false, csimi_cond_is_chebyshev, csimi_cond_chebyshev},
        {false, csimi_cond_is_barzilai, csimi_cond_barzilai},
        {false, csimi_cond_always, csimi_cond_accept},
    };
    const bool rings = csimi_cond_rings(c);
    int i = 0;
    csimi_cond_measure(c);
    while (rules[i].rings != rings || !rules[i].event(c)) ++i;
    rules[i].remedy(c);
}
