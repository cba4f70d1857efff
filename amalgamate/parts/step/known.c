/* step/known: islands whose step is known. One that stood on the impulses it had, on the same contacts, unmoved, does
   the same in the next step to the last bit, as long as nothing is done to it and nobody comes: its blocks are given,
   at rest, its contacts keep their records, and no rows are made and looked at. Where one of them is disturbed all are
   looked at once more, and the certificate of a step counts what the last look at each of them found. */
#include "private.h"

#if CSIMI_HAS_KNOWN
static bool csimi_may_know(const csim_world *w, const csimi_step_frame *f) {
    const csim_real h = (csim_real)w->last_h;
    return w->def.integrator == CSIM_BACKWARD_EULER && w->def.budget == 0 && csimi_repeats(w) && !w->scattered &&
           !csimi_differ(&h, &f->h, 1);
}

/* Whether a contact is the one of the last step, between bodies that have not moved. */
static bool csimi_known_contact(const csim_world *w, const csimi_step_frame *f, int i) {
    const csimi_found_contact *c = f->found + i;
    const csim_contact_info *last = c->last >= 0 ? w->store.contact + c->last : NULL;
    if (!last || !csimi_stood(w, c->body_a) || !csimi_stood(w, c->body_b)) return false;
    if (csimi_differ(&last->point.x, &c->point_a.x, 3) || csimi_differ(&last->normal.x, &c->normal.x, 3) ||
        csimi_differ(&last->gap, &c->gap, 1))
        return false;
    if (csimi_keeps(w)) { /* where its row was found: 14 numbers of poses, 6 of arms */
        const csimi_kept *now = &f->kept[i].kept, *then = w->store.kept + c->last;
        return now->pair == then->pair && !csimi_differ(&now->pose->position.x, &then->pose->position.x, 14) &&
               !csimi_differ(&now->arm->x, &then->arm->x, 6);
    }
    return true;
}

CSIMI_FN bool csimi_knows_pair(const csim_world *w, int body_a, int body_b) {
    return w->known.contacts > 0 && (w->store.body[body_a].rest.known || w->store.body[body_b].rest.known) &&
           csimi_stood(w, body_a) && csimi_stood(w, body_b);
}

CSIMI_FN void csimi_pass_known(csim_world *w, csimi_step_frame *f) {
    const csimi_store *s = &w->store;
    bool disturbed = !csimi_may_know(w, f);
    int i, count = 0;
    f->passes = false;
    if (w->known.contacts == 0) return;
    for (i = 0; i < f->found_count && !disturbed; i++) { /* each body that is known has some */
        const csimi_found_contact *c = f->found + i;
        if (!s->body[c->body_a].rest.known && !s->body[c->body_b].rest.known) continue;
        /* told again, between two that stand: it is as it was */
        disturbed = c->last == 0 || !csimi_stood(w, c->body_a) || !csimi_stood(w, c->body_b);
        count++;
    }
    f->passes = !disturbed && count == w->known.contacts; /* none has gone either */
    if (!f->passes) CSIMI_MEMSET(&w->known, 0, sizeof w->known);
    for (i = 0; i < s->active_count && f->passes; i++) {
        const csimi_body *b = s->body + s->active[i];
        const size_t block = (size_t)(s->count.nodes + 2 * b->rigid);
        if (!b->rest.known) continue;
        f->skip[block] = f->skip[block + 1] = 1;
        CSIMI_MEMSET(f->v + 3 * block, 0, 6 * sizeof *f->v);
        CSIMI_MEMSET(f->rep + 3 * block, 0, 6 * sizeof *f->rep);
    }
}

CSIMI_FN bool csimi_passes(const csim_world *w, const csimi_step_frame *f, int body_a, int body_b) {
    return f->passes && (w->store.body[body_a].rest.known || w->store.body[body_b].rest.known);
}

/* ---- who is known in the next step */

CSIMI_FN void csimi_begin_known(const csim_world *w, csimi_step_frame *f) {
    int i;
    CSIMI_MEMSET(&f->next_known, 0, sizeof f->next_known);
    if (f->passes) f->next_known = w->known;
    for (i = 0; i < w->store.active_count; i++) {
        const int slot = w->store.active[i];
        f->knows[slot] = f->passes && w->store.body[slot].rest.known;
    }
}

/* Whether row k in the order of islands, of contact i, is as it was, and so is what was found for it. */
static bool csimi_known_row(const csim_world *w, const csimi_step_frame *f, int i, int k) {
    csim_real world[3], start[3];
    const csimi_kept *now, *then;
    if (i >= f->found_count || !csimi_known_contact(w, f, i)) return false; /* rows of joints, and of rolling */
    csimi_store3(world, w->store.contact[f->found[i].last].impulse);
    csimi_mul3(f->contacts[k].R, world, start);
    if (csimi_differ(start, f->lambda + 3 * (size_t)(CSIMI_IN_PLACE ? k : i), 3)) return false;
    if (!csimi_keeps(w)) return true;
    now = &f->kept[i].kept;
    then = w->store.kept + f->found[i].last;
    return now->calm == then->calm && now->bounded == then->bounded && !csimi_differ(&now->sag, &then->sag, 1) &&
           !csimi_differ(&now->pulse.x, &then->pulse.x, 3);
}

CSIMI_FN void csimi_note_known(const csim_world *w, csimi_step_frame *f, int island, const csim_outcome *o) {
    const int first = f->island_first[island], end = f->island_first[island + 1];
    const int row = f->island_contact_first[island], last = f->island_contact_first[island + 1];
    const csim_block_matrix *A = &w->store.A;
    int i;
    if (row == last || o->result != CSIM_RESULT_CONVERGED || o->iterations + o->products > 0 || !csimi_may_know(w, f))
        return;
    for (i = first; i < end; i++) {
        const int block = f->island_blocks[i];
        if (csimi_any(f->v + 3 * block, 3) || csimi_row_end(A, block) - A->row[block] != 2) return; /* 2: no springs */
    }
    for (i = row; i < last; i++)
        if (!csimi_known_row(w, f, f->island_contacts[i], i)) return;
    for (i = first; i < end; i++) f->knows[csimi_block_owner(&w->store, f->island_blocks[i])] = 1;
    f->next_known.contacts += last - row;
    f->next_known.islands++;
    f->next_known.largest = csimi_imax(f->next_known.largest, end - first);
    csimi_worse(&f->next_known.figure, &o->certificate);
}

CSIMI_FN void csimi_tell_known(const csim_world *w, csimi_step_frame *f) {
    if (!f->passes) return;
    f->stats->islands += w->known.islands;
    f->stats->largest_island = csimi_imax(f->stats->largest_island, w->known.largest);
    csimi_worse(&f->stats->certificate, &w->known.figure);
}

CSIMI_FN void csimi_keep_known(csim_world *w, const csimi_step_frame *f) {
    int i;
    for (i = 0; i < w->store.active_count; i++)
        w->store.body[w->store.active[i]].rest.known = f->knows[w->store.active[i]] != 0;
    w->known = f->next_known;
}
#endif
