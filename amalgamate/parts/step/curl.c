/* step/curl: cables whose edges turn far in a step. One linearisation bears turns of about a radian. Backward Euler
   worlds in which edges of cables turn farther than CSIMI_TURN go on by Newton's method: forces at q_k + h v*, v*
   following the solution as far as the slope falls along it. Every island goes on by itself, with a share of its own,
   and one that misses ends its own iterations and no others. Most steps never get here. */
#include "private.h"

static const csim_real CSIMI_TURN = CSIM_R(0.5); /* rad: of an edge of a cable in a step */
enum { CSIMI_TURN_PASSES = 30 };

static void csimi_curl_layout(csimi_curl *c, size_t blocks, csimi_arena *arena) {
    c->slope = CSIMI_PUSH(arena, double, blocks);
    c->begin = CSIMI_PUSH(arena, double, blocks);
    c->most = CSIMI_PUSH(arena, csim_real, blocks);
    c->share = CSIMI_PUSH(arena, csim_real, blocks);
    c->on = CSIMI_PUSH(arena, unsigned char, blocks);
}

CSIMI_FN size_t csimi_curl_scratch(const csimi_counts *n) {
    csimi_curl c;
    csimi_arena arena = csimi_arena_counting();
    /* no more islands than blocks */
    csimi_curl_layout(&c, n->frames > 0 ? (size_t)csimi_blocks_of(n) : 0, &arena);
    return arena.used;
}

CSIMI_FN void csimi_curl_begin(const csim_world *w, const csimi_step_frame *f, csimi_curl *c, csimi_arena *arena) {
    csimi_curl_layout(c, w->store.state.frame_count > 0 ? (size_t)f->blocks : 0, arena);
}

/* How far edges of every island turn beside its v*, and whether it goes on; true: one does. */
static bool csimi_curl_far(const csim_world *w, const csimi_step_frame *f, csimi_curl *c) {
    const csimi_state *s = &w->store.state;
    const int first = csimi_first_frame_block(s);
    bool any = false;
    int i, k;
    for (k = 0; k < f->island_count; k++) c->most[k] = 0;
    for (i = first; i < first + s->frame_count; i++) { /* frames alone: nodes do not turn */
        const size_t at = 3 * (size_t)i;
        if (f->skip[i] || f->island[i] < 0) continue; /* given */
        k = f->island[i];
        c->most[k] = csimi_max(c->most[k], csim_length(csim_sub(csimi_load3(f->v + at), csimi_load3(f->aim + at))));
    }
    for (k = 0; k < f->island_count; k++) {
        c->most[k] *= f->h;
        c->on[k] = c->on[k] && c->most[k] > CSIMI_TURN;
        c->on[k] = c->on[k] && !f->missed[f->island_blocks[f->island_first[k]]]; /* v is no place to go on from */
        any = any || c->on[k];
    }
    return any;
}

/* Along d = v - v*, at v* + share d: d (A0 v - b0 - h f(q) - J'lambda), the slope of the potential that backward Euler
   minimises, less the work of the contacts. Leaves A and b of that place. */
static void csimi_curl_slopes(csim_world *w, csimi_step_frame *f, const csimi_step *step, csimi_curl *c, bool start) {
    const csim_real *pushed = f->aim + 3 * (size_t)f->blocks; /* J'lambda of the last solve */
    int i, k;
    for (i = 0; i < 3 * f->blocks; i++) {
        k = f->island[i / 3];
        f->v_end[i] = f->aim[i]; /* islands that do not go on stay at their v* */
        if (!start && k >= 0 && c->on[k]) f->v_end[i] += c->share[k] * (f->v[i] - f->aim[i]);
    }
    csimi_linearise(w, f, step, f->v_end);
    csimi_joints_stiffen(w, f);
    csimi_product(&w->store.A, f->v_end, f->frozen, step->tasks);
    for (k = 0; k < f->island_count; k++) c->slope[k] = 0;
    for (i = 0; i < 3 * f->blocks; i++)
        if ((k = f->island[i / 3]) >= 0)
            c->slope[k] += (double)(f->v[i] - f->aim[i]) * (double)(f->frozen[i] - f->b[i] - pushed[i]);
}

/* Shorter shares where the slope has risen by too much; false: nowhere. */
static bool csimi_curl_less(const csimi_step_frame *f, csimi_curl *c) {
    bool any = false;
    int k;
    for (k = 0; k < f->island_count; k++) {
        if (!c->on[k] || !(c->slope[k] > -0.3 * c->begin[k])) continue;
        /* where the secant of both slopes is 0; begin is below 0 */
        c->share[k] *= csimi_max(CSIM_R(0.1), (csim_real)(-c->begin[k] / (c->slope[k] - c->begin[k])));
        any = true;
    }
    return any;
}

/* Islands whose forces are still not those of where they lead have not been solved. */
static void csimi_curl_missed(csimi_step_frame *f, const csimi_curl *c) {
    int i, k;
    for (k = 0; k < f->island_count; k++)
        for (i = f->island_first[k]; i < f->island_first[k + 1] && c->on[k]; i++) f->missed[f->island_blocks[i]] = 1;
    f->stats->flags |= CSIM_FLAG_CAP | CSIM_FLAG_UNCERTIFIED;
    if (f->stats->result < CSIM_RESULT_CAP) f->stats->result = CSIM_RESULT_CAP;
}

CSIMI_FN bool csimi_cables_curl(csim_world *w, csimi_step_frame *f, const csimi_step *step, csimi_curl *c, int pass) {
    int look, k;
    if (w->store.state.frame_count == 0) return false;
    if (csimi_keeps(w) && (f->stats->flags & CSIM_FLAG_UNCERTIFIED)) return false;
    if (pass == 1) {
        CSIMI_MEMSET(f->aim, 0, sizeof(csim_real) * 3 * (size_t)f->blocks); /* the first solve took forces at q_k */
        CSIMI_MEMSET(c->on, 1, (size_t)f->island_count);
    }
    if (!csimi_curl_far(w, f, c)) return false;
    if (pass > CSIMI_TURN_PASSES) {
        csimi_curl_missed(f, c);
        return false;
    }
    csimi_pushes(f, f->aim + 3 * (size_t)f->blocks);
    csimi_curl_slopes(w, f, step, c, true);
    for (k = 0; k < f->island_count; k++) {
        c->begin[k] = c->slope[k];
        c->share[k] = c->on[k] ? csimi_min(1, 2 * CSIMI_TURN / c->most[k]) : 0; /* a radian of turn at most */
    }
    /* line search; what it does not find in eight looks the next pass goes on from */
    for (look = 0; look < 8; look++) {
        csimi_curl_slopes(w, f, step, c, false);
        if (!csimi_curl_less(f, c)) break;
    }
    CSIMI_MEMCPY(f->aim, f->v_end, sizeof(csim_real) * 3 * (size_t)f->blocks); /* A and b are those of there */
    return true;
}
