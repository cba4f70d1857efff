/* store/meets: which contacts a body has, so that destroying it looks at no others. A chain for each free body names
   entries 2 i + side of an array of contacts, from the last to the first. Sides of bodies that are not free, on which
   half the world may lie, are in no chain. All of it follows from the contacts: nothing is saved, and what is removed
   goes from the last to the first with or without a chain. */
#include "private.h"

enum { CSIMI_NO_CHAIN = -2 };

static int csimi_meets_slot(const csim_contact_info *c, int side) {
    return (int)((side ? c->body_b.index1 : c->body_a.index1) - 1u);
}

CSIMI_FN void csimi_meets_clear(csimi_meets *m, const csim_contact_info *c, int count) {
    int i;
    for (i = 0; i < count; i++) m->head[csimi_meets_slot(c + i, 0)] = m->head[csimi_meets_slot(c + i, 1)] = -1;
}

CSIMI_FN void csimi_meets_add(const csimi_store *s, csimi_meets *m, const csim_contact_info *c, int i) {
    int side;
    for (side = 0; side < 2; side++) {
        const int slot = csimi_meets_slot(c + i, side);
        if (s->body[slot].motion != CSIM_DYNAMIC) m->head[slot] = CSIMI_NO_CHAIN;
        if (m->head[slot] == CSIMI_NO_CHAIN) continue;
        m->next[2 * i + side] = m->head[slot];
        m->head[slot] = 2 * i + side;
    }
}

static void csimi_meets_cut(csimi_meets *m, const csim_contact_info *c, int i) {
    int side;
    for (side = 0; side < 2; side++) {
        const int entry = 2 * i + side;
        int *at = m->head + csimi_meets_slot(c + i, side);
        while (*at > entry) at = m->next + *at;
        if (*at == entry) *at = m->next[entry];
    }
}

static void csimi_meets_tie(csimi_meets *m, const csim_contact_info *c, int i) {
    int side;
    for (side = 0; side < 2; side++) {
        const int entry = 2 * i + side;
        int *at = m->head + csimi_meets_slot(c + i, side);
        if (*at == CSIMI_NO_CHAIN) continue;
        while (*at > entry) at = m->next + *at;
        m->next[entry] = *at;
        *at = entry;
    }
}

/* Ends contact i: the last one takes its place. */
static void csimi_meets_end(csimi_store *s, csimi_meets *m, csim_contact_info *c, csimi_kept *kept, int *count, int i) {
    const int last = *count - 1;
    if (c[i].state != CSIM_CONTACT_OPEN && s->count.ended < s->capacity.ended) s->ended_id[s->count.ended++] = c[i].id;
    csimi_meets_cut(m, c, i);
    *count = last;
    if (i == last) return;
    csimi_meets_cut(m, c, last);
    c[i] = c[last];
    if (kept) kept[i] = kept[last];
    csimi_meets_tie(m, c, i);
}

/* Ends all contacts of a body; the array, the count and what is kept of each (null: nothing) are those of m. */
static void csimi_meets_drop(csimi_store *s, csimi_meets *m, csim_contact_info *c, csimi_kept *kept, int *count,
                             int slot) {
    int i;
    if (m->head[slot] == CSIMI_NO_CHAIN)
        for (i = *count - 1; i >= 0; i--) {
            if (csimi_meets_slot(c + i, 0) == slot || csimi_meets_slot(c + i, 1) == slot)
                csimi_meets_end(s, m, c, kept, count, i);
        }
    while (m->head[slot] >= 0) csimi_meets_end(s, m, c, kept, count, m->head[slot] / 2);
    m->head[slot] = -1;
}

CSIMI_FN void csimi_end_contacts(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    csimi_counts *n = &s->count;
    const bool kept = n->kept == n->contacts;
    w->scattered = true;
    csimi_meets_drop(s, &s->meets, s->contact, kept ? s->kept : NULL, &n->contacts, slot);
    n->kept = kept ? n->contacts : csimi_imin(n->kept, n->contacts);
#ifndef CONDSIM_NO_SLEEP
    { /* nobody is asleep with the body that goes, but the contacts of those it woke are still there */
        const bool all = n->slept_kept == n->slept;
        csimi_meets_drop(s, &s->slept_meets, s->slept, all ? s->slept_kept : NULL, &n->slept, slot);
        if (all) n->slept_kept = n->slept;
    }
#endif
}

CSIMI_FN void csimi_meets_layout(csimi_store *s, const csimi_counts *n, csimi_arena *arena) {
    s->meets.head = CSIMI_PUSH(arena, int, n->bodies);
    s->meets.next = CSIMI_PUSH(arena, int, 2 * (size_t)n->contacts);
#ifndef CONDSIM_NO_SLEEP
    s->slept_meets.head = CSIMI_PUSH(arena, int, n->bodies);
    s->slept_meets.next = CSIMI_PUSH(arena, int, 2 * (size_t)n->slept);
#endif
}

static void csimi_meets_all(const csimi_store *s, csimi_meets *m, const csim_contact_info *c, int count) {
    int i;
    for (i = 0; i < s->capacity.bodies; i++) m->head[i] = -1;
    for (i = 0; i < count; i++) csimi_meets_add(s, m, c, i);
}

CSIMI_FN void csimi_meets_anew(csimi_store *s) {
    csimi_meets_all(s, &s->meets, s->contact, s->count.contacts);
#ifndef CONDSIM_NO_SLEEP
    csimi_meets_all(s, &s->slept_meets, s->slept, s->count.slept);
#endif
}
