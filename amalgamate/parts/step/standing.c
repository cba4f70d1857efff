/* step/standing: shapes that stand where they stood. While neither of two has moved, by not a bit, nor anything was
   done to it, what the narrow phase would find between them is what it found in the last step: that is told again. */
#include "private.h"
/* Steps since a body last stirred from which on it stands: that step looked ahead with other speeds and forces. */
enum { CSIMI_STANDS_AFTER = 2 };

CSIMI_FN bool csimi_stood(const csim_world *w, int slot) {
    const csimi_body *b = w->store.body + slot;
    /* counts of steps are compared by their difference, which is right also where they wrap round */
    return b->kind == CSIM_RIGID && (uint32_t)w->steps - b->rest.stirred >= CSIMI_STANDS_AFTER;
}

CSIMI_FN void csimi_mark_stirred(csim_world *w, const csimi_step_frame *f) {
    const csimi_state *now = &w->store.state, *next = &f->next;
    int i;
    w->scattered = false; /* the commit writes this step's in order */
    for (i = 0; i < now->rigid_count; i++) {
        const size_t k = (size_t)i;
        const bool moves = csimi_any(next->velocity + 6 * k, 6) || /* speed decides how far a step looks ahead */
                           csimi_differ(next->com + 3 * k, now->com + 3 * k, 3) ||
                           csimi_differ(next->rotation + 4 * k, now->rotation + 4 * k, 4);
        if (now->rigid_mode[i] != CSIMI_FIXED && moves)
            /* so many steps will have been done after this one */
            w->store.body[w->store.rigid_body[i]].rest.stirred = (uint32_t)w->steps + 1u;
    }
}

/* ---- contacts of the last step by the pair of shapes they belong to, whose contacts follow each other */

static bool csimi_same_shapes(const csim_contact_info *a, const csim_contact_info *b) {
    /* slots alone: where a body goes, contacts are scattered, and nothing is found by them */
    return a->body_a.index1 == b->body_a.index1 && a->body_b.index1 == b->body_b.index1 && a->shape_a == b->shape_a &&
           a->shape_b == b->shape_b;
}

static uint64_t csimi_shapes_key(const csim_contact_info *c) {
    return csimi_mix64((uint64_t)c->body_a.index1 << 32 | c->body_b.index1,
                       (uint64_t)(uint32_t)c->shape_a << 32 | (uint32_t)c->shape_b);
}

CSIMI_FN void csimi_index_standing(csimi_detector *d) {
    const csim_world *w = d->world;
    const csim_contact_info *c = w->store.contact;
    const csim_real h = (csim_real)w->last_h;
    int i;
    d->kept.table_size = 0; /* nothing is found */
    /* with another h the narrow phase looks another way ahead */
    if (w->scattered || csimi_differ(&h, &d->frame->h, 1)) return;
    csimi_last_clear(&d->kept, w->store.count.contacts);
    for (i = 0; i < w->store.count.contacts; i++)
        if (i == 0 || !csimi_same_shapes(c + i, c + i - 1)) csimi_last_put(&d->kept, csimi_shapes_key(c + i), i);
}

CSIMI_FN int csimi_find_standing(const csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    const csimi_store *s = &d->world->store;
    const csimi_last_table *r = &d->kept;
    csim_contact_info pair;
    int at;
    if (r->table_size == 0 || !csimi_stood(d->world, a->body) || !csimi_stood(d->world, b->body)) return -1;
    pair.body_a.index1 = (uint32_t)a->body + 1u; /* ids count from 1 */
    pair.body_b.index1 = (uint32_t)b->body + 1u;
    pair.shape_a = csimi_own_shape(s, a->body, a->item);
    pair.shape_b = csimi_own_shape(s, b->body, b->item);
    at = csimi_slot_of(r, csimi_shapes_key(&pair));
    while (r->table[at] >= 0 && !csimi_same_shapes(s->contact + r->table[at], &pair))
        at = (at + 1) & (r->table_size - 1);
    return r->table[at];
}

CSIMI_FN int csimi_next_standing(const csimi_store *s, int last) {
    return last + 1 < s->count.contacts && csimi_same_shapes(s->contact + last, s->contact + last + 1) ? last + 1 : -1;
}

/* ---- steps alike */

enum { CSIMI_ALIKE = 16 }; /* more than any count of calm steps runs to */

static bool csimi_nothing_moves(const csimi_store *s) {
    csimi_span span[CSIMI_SPANS];
    int i;
    csimi_spans(s, &s->state, span);
    for (i = 0; i < CSIMI_SPANS; i++)
        if (csimi_any(span[i].velocity, 3 * span[i].per * span[i].count)) return false;
    return true;
}

CSIMI_FN bool csimi_repeats(const csim_world *w) {
    const csim_world_def *d = &w->def;
    /* callbacks may answer otherwise each time, and steps that are not all certified differ by their number */
    return !d->filter && !d->mix_friction && !d->mix_restitution && d->solver.certify <= 1 && !d->can_sleep;
}

/* A step in which nothing moved, that took no iteration and ends as the one before did, bit by bit, begins as that one
   did: all later ones are the same until something is done. */
CSIMI_FN void csimi_compare_step(csim_world *w) {
    const bool still = csimi_repeats(w) && w->stats.iterations + w->stats.bounded == 0;
    uint64_t hash = still && csimi_nothing_moves(&w->store) ? csim_world_hash(w) : 0; /* 0: not comparable */
    int i;
    /* sags fade without the hash knowing of it */
    for (i = 0; i < w->store.count.kept && hash; i++) hash = csimi_fnv(hash, &w->store.kept[i].sag, sizeof(csim_real));
    w->alike = hash != 0 && hash == w->alike_hash ? w->alike + 1 : 0;
    w->alike_hash = hash;
}

CSIMI_FN bool csimi_step_is_known(const csim_world *w, csim_real h) {
    const csim_real last = (csim_real)w->last_h;
    return w->alike >= CSIMI_ALIKE && !w->scattered && !csimi_differ(&last, &h, 1);
}
