/* step/touching: which shapes touch in this step and which did before it: begins and ends, and what hit.

   A pair touches from a step on that finds it at most `on` apart at its start, or that has an impulse between the two,
   and no longer in one that finds it more than `off` apart and has none. The pairs of the step before are in the
   store; here they meet those of this one in a table, for shapes and for whole bodies alike. */
#include "private.h"

enum { CSIMI_WHOLE = -2 }; /* in place of a shape: the body */

static void csimi_encounters_layout(csimi_encounters *p, const csimi_counts *n, csimi_arena *arena) {
    /* pairs of shapes of the step before and of this one, and their bodies: four times the records */
    p->capacity = n->touches > 0 ? csimi_most_items((int64_t)4 * n->touches + 16) : 0;
    p->size = 16;
    while (p->size < 2 * p->capacity && p->size < 1 << 29) p->size *= 2; /* half empty at least: searches stay short */
    p->pair = CSIMI_PUSH(arena, csimi_encounter, p->capacity);
    p->table = CSIMI_PUSH(arena, int, n->touches > 0 ? p->size : 0);
    p->event = CSIMI_PUSH(arena, csim_touch_event, n->touches);
    p->moved = CSIMI_PUSH(arena, unsigned char, n->touches > 0 ? n->bodies : 0);
}

CSIMI_FN size_t csimi_encounters_scratch(const csimi_counts *n) {
    csimi_encounters p;
    csimi_arena arena = csimi_arena_counting();
    csimi_encounters_layout(&p, n, &arena);
    return arena.used;
}

/* ---- the table */

static bool csimi_same_side(csim_body_id a, int i, csim_body_id b, int j) {
    return a.index1 == b.index1 && a.generation == b.generation && i == j;
}

static uint64_t csimi_side_hash(csim_body_id id, int shape) {
    /* with the generation: who takes the slot of a body that is gone is somebody else */
    return csimi_mix64(((uint64_t)id.generation << 32) | id.index1, (uint64_t)(int64_t)shape);
}

/* The pair of these sides, made when there is none yet; null: the table is full. */
static csimi_encounter *csimi_encounter_at(csimi_encounters *p, const csim_body_id *body, const int *shape,
                                           bool sensor) {
    const uint64_t h = csimi_mix64(csimi_side_hash(body[0], shape[0]), csimi_side_hash(body[1], shape[1]));
    int at = (int)((h ^ (h >> 32)) & (uint64_t)(p->size - 1)), k;
    csimi_encounter *pair;
    for (; p->table[at] >= 0; at = (at + 1) & (p->size - 1)) {
        pair = p->pair + p->table[at];
        if (csimi_same_side(pair->body[0], pair->shape[0], body[0], shape[0]) &&
            csimi_same_side(pair->body[1], pair->shape[1], body[1], shape[1]) && pair->sensor == sensor)
            return pair;
    }
    p->needed++; /* counted beyond the capacity too */
    if (p->count == p->capacity) return NULL;
    p->table[at] = p->count;
    pair = p->pair + p->count++;
    CSIMI_MEMSET(pair, 0, sizeof *pair);
    for (k = 0; k < 2; k++) {
        pair->body[k] = body[k];
        pair->shape[k] = shape[k];
    }
    pair->sensor = sensor;
    pair->last = pair->hardest = -1;
    return pair;
}

static csimi_encounter *csimi_encounter_of_bodies(csimi_encounters *p, const csimi_encounter *pair) {
    static const int whole[2] = {CSIMI_WHOLE, CSIMI_WHOLE};
    return csimi_encounter_at(p, pair->body, whole, pair->sensor);
}

/* ---- what this step found, and what was before */

/* What of contact i, which presses, is stopped in this step: sign, of its impulse on the first of the pair. */
static void csimi_encounter_hit(const csim_world *w, const csimi_step_frame *f, csimi_encounter *pair, int i,
                                csim_real sign) {
    const csimi_found_contact *c = f->found + i;
    const csim_contact_info *info = f->info + i, *last = c->last >= 0 ? w->store.contact + c->last : NULL;
    /* the step before foresaw it and braked it */
    const bool goes_on = !info->began && last && last->coming > 0;
    /* what pressed before without coming on hits nobody */
    const csim_real speed = goes_on ? last->coming : info->began ? c->speed : 0;
    pair->impulse = csim_madd(pair->impulse, sign, info->impulse);
    if (goes_on) pair->impulse = csim_madd(pair->impulse, sign, last->impulse); /* what braked it */
    /* what still comes on is told by the step that stops it */
    if (info->coming > 0 || (pair->hardest >= 0 && !(speed > pair->speed))) return;
    pair->hardest = i;
    /* first and second of the pair are b and a of the contact */
    pair->swapped = sign < 0;
    pair->speed = speed;
}

/* One contact: the nearest of a pair says how far apart it is, the fastest that presses what hit. */
static void csimi_encounter_contact(const csim_world *w, const csimi_step_frame *f, csimi_encounters *p, int i,
                                    csim_real off) {
    const csimi_found_contact *c = f->found + i;
    const csim_contact_info *info = f->info + i;
    const bool presses = info->normal_impulse > 0;
    csim_body_id body[2];
    int shape[2], swap;
    csimi_encounter *pair;
    if (!(c->gap <= off) && !presses) return; /* no longer near enough to touch */
    shape[0] = info->shape_a;
    shape[1] = info->shape_b;
    if (c->body_a == c->body_b && shape[0] == shape[1]) return; /* a solid with itself */
    /* events name the lower slot first */
    swap = c->body_a > c->body_b || (c->body_a == c->body_b && shape[0] > shape[1]);
    body[swap] = info->body_a;
    body[!swap] = info->body_b;
    if (swap) {
        const int own = shape[0];
        shape[0] = shape[1];
        shape[1] = own;
    }
    pair = p->recent; /* contacts of two shapes mostly stand side by side */
    if (!pair || !csimi_same_side(pair->body[0], pair->shape[0], body[0], shape[0]) ||
        !csimi_same_side(pair->body[1], pair->shape[1], body[1], shape[1]))
        pair = csimi_encounter_at(p, body, shape, false);
    p->recent = pair;
    if (!pair) return;
    pair->gap = pair->seen ? csimi_min(pair->gap, c->gap) : c->gap; /* the nearest of its contacts */
    pair->seen = true;
    if (!presses) return;
    pair->presses = true;
    csimi_encounter_hit(w, f, pair, i, swap ? -1 : 1);
}

static void csimi_encounter_sensed(const csim_world *w, const csimi_sensed *sensed, csimi_encounters *p) {
    const csimi_store *s = &w->store;
    const int slot = s->shape_body[sensed->sensor];
    csim_body_id body[2];
    int shape[2];
    csimi_encounter *pair;
    body[0] = csimi_body_id_of(w, slot);
    body[1] = csimi_body_id_of(w, sensed->body);
    shape[0] = csimi_own_shape(s, slot, sensed->sensor);
    shape[1] = csimi_own_shape(s, sensed->body, sensed->shape);
    if ((pair = csimi_encounter_at(p, body, shape, true)) == NULL) return;
    pair->seen = true;
    pair->gap = sensed->gap;
}

/* Records [first, first + count) of the step before. */
static void csimi_encounters_before(const csim_world *w, csimi_encounters *p, int first, int count, bool sensor) {
    int i;
    for (i = first; i < first + count; i++) {
        const csim_touch_event *e = w->store.touch + i;
        csim_body_id body[2];
        int shape[2];
        csimi_encounter *pair;
        if (!sensor && csimi_touch_sleeps(&w->store, e)) continue; /* began as it fell asleep: slept_touch has it */
        body[0] = e->body_a;
        body[1] = e->body_b;
        shape[0] = e->shape_a;
        shape[1] = e->shape_b;
        /* the table is full: the step fails, and is tried again with more room where there is some */
        if ((pair = csimi_encounter_at(p, body, shape, sensor)) == NULL) return;
        pair->last = i;
        pair->was = 1;
    }
}

/* Whether each pair of shapes touches, then how many of each pair of bodies did and do. */
static void csimi_encounters_decide(csimi_encounters *p, csim_real on, csim_real off) {
    const int shapes = p->count; /* pairs of bodies come behind */
    int i;
    for (i = 0; i < shapes; i++) {
        csimi_encounter *pair = p->pair + i, *bodies;
        /* two distances, so that what rests between them does not begin and end in turns */
        pair->now = pair->seen && (pair->presses || pair->gap <= (pair->was ? off : on));
        if (!pair->was && !pair->now) continue;
        if ((bodies = csimi_encounter_of_bodies(p, pair)) == NULL) return; /* shapes stay 0: nothing is told */
        pair->whole = (int)(bodies - p->pair);
        bodies->was += pair->was;
        bodies->now += pair->now;
    }
    p->shapes = shapes;
}

/* ---- events */

static const csimi_body *csimi_told_of(const csim_world *w, csim_body_id id) { /* null: it is gone */
    const uint32_t slot = id.index1 - 1u;
    const csimi_body *b = w->store.body + slot;
    return slot < (uint32_t)w->store.count.bodies && b->alive && b->generation == id.generation ? b : NULL;
}

CSIMI_FN void *csimi_told_user_data(const csim_world *w, csim_body_id id, void *gone) {
    const csimi_body *b = csimi_told_of(w, id);
    return b ? b->user_data : gone;
}

CSIMI_FN void *csimi_told_shape_data(const csim_world *w, csim_body_id id, int shape, void *gone) {
    const csimi_body *b = csimi_told_of(w, id);
    if (!b || shape < 0 || shape >= b->shape_count || w->store.skin[b->first_shape + shape].gone) return gone;
    return w->store.skin[b->first_shape + shape].user_data;
}

static void csimi_write_encounter(const csim_world *w, csimi_encounters *p, const csimi_encounter *pair) {
    /* what is gone is named by the pointers of its last record */
    const csim_touch_event *last = pair->last >= 0 ? w->store.touch + pair->last : NULL;
    csimi_encounter *bodies = p->pair + pair->whole;
    csim_touch_event *e;
    if (p->events++ >= w->store.capacity.touches) return; /* counted all the same */
    e = p->event + p->events - 1;
    CSIMI_MEMSET(e, 0, sizeof *e);
    e->body_a = pair->body[0];
    e->body_b = pair->body[1];
    e->shape_a = pair->shape[0];
    e->shape_b = pair->shape[1];
    e->shape_user_data_a = csimi_told_shape_data(w, e->body_a, e->shape_a, last ? last->shape_user_data_a : NULL);
    e->shape_user_data_b = csimi_told_shape_data(w, e->body_b, e->shape_b, last ? last->shape_user_data_b : NULL);
    e->user_data_a = csimi_told_user_data(w, e->body_a, last ? last->user_data_a : NULL);
    e->user_data_b = csimi_told_user_data(w, e->body_b, last ? last->user_data_b : NULL);
    /* the first of two bodies to touch, or their last, and only one pair of shapes of each two */
    e->bodies = pair->was != pair->now && !bodies->told && (pair->now ? bodies->was : bodies->now) == 0;
    if (e->bodies) bodies->told = true;
}

static void csimi_write_group(const csim_world *w, csimi_encounters *p, int group) {
    const bool sensor = group >= CSIMI_LEAVES;
    /* ends: was and is not; begins: is and was not; stays: both */
    const int kind = group - (sensor ? CSIMI_LEAVES : CSIMI_ENDS), was = kind != CSIMI_BEGINS, now = kind != CSIMI_ENDS;
    const int first = p->events;
    int i;
    for (i = 0; i < p->shapes; i++)
        if (p->pair[i].was == was && p->pair[i].now == now && p->pair[i].sensor == sensor)
            csimi_write_encounter(w, p, p->pair + i);
    p->group[group] = p->events - first;
}

CSIMI_FN csim_status csimi_find_touching(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    csimi_encounters *p = &f->pairs;
    const csim_real on = csimi_touch_on(w), off = csimi_touch_off(w);
    const int *n = w->touches, touching = n[CSIMI_BEGINS] + n[CSIMI_STAYS];
    const int ended = n[CSIMI_ENDS], left = ended + touching + n[CSIMI_LEAVES];
    int i;
    csimi_encounters_layout(p, &w->store.capacity, arena);
    /* a table is emptied in whole: no larger than these need */
    while (p->size > 16 && p->size / 8 >= (int64_t)w->store.count.touches + f->found_count + f->sensed_count)
        p->size /= 2;
    CSIMI_MEMSET(p->table, -1, sizeof *p->table * (size_t)p->size); /* all bits of -1 are set */
    p->count = p->shapes = p->events = p->needed = 0;
    p->recent = NULL;
    /* first, so that ends are told in the order in which they began */
    csimi_encounters_before(w, p, ended, touching, false);
    csimi_encounters_before(w, p, left, n[CSIMI_ENTERS] + n[CSIMI_INSIDE], true);
    for (i = 0; i < f->found_count; i++) csimi_encounter_contact(w, f, p, i, off);
    for (i = 0; i < f->sensed_count; i++) csimi_encounter_sensed(w, f->sensed + i, p);
    csimi_encounters_decide(p, on, off);
    for (i = 0; i < CSIMI_TOUCH_GROUPS; i++) csimi_write_group(w, p, i);
    /* in pairs of the world's capacity, those of sleepers among them */
    i = csimi_imax(p->events, p->needed > p->capacity ? p->needed / 2 : 0) + csimi_sleeping_touches(w);
    w->def.capacity.pairs = csimi_imax(w->def.capacity.pairs, i);
    if (p->needed <= p->capacity && p->events <= w->store.capacity.touches - csimi_sleeping_touches(w)) return CSIM_OK;
    f->stats->flags |= CSIM_FLAG_PAIRS_FULL;
    return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "pairs needed, that touch or did", (double)i,
                      "at most capacity.pairs; call csim_world_reserve");
}
