/* step/warm: contacts of the step before, found by id, and the scale of their impulses. */
#include "private.h"

CSIMI_FN int csimi_table_size(int contacts) {
    int size = 16;
    while (size < 2 * contacts && size < (1 << 29)) size *= 2; /* half full at most: searches stay short */
    return size;
}

CSIMI_FN void csimi_last_layout(csimi_last_table *r, const csimi_counts *n, csimi_arena *arena) {
    r->table_size = csimi_table_size(n->contacts);
    r->table = CSIMI_PUSH(arena, int, r->table_size);
}

CSIMI_FN size_t csimi_rows_scratch(const csimi_counts *n) {
    csimi_last_table r;
    csimi_arena arena = csimi_arena_counting();
    csimi_last_layout(&r, n, &arena);
    return arena.used;
}

CSIMI_FN int csimi_slot_of(const csimi_last_table *r, uint64_t key) {
    return (int)((key ^ (key >> 32)) & (uint64_t)(r->table_size - 1)); /* a mask, for the size is a power of two */
}

CSIMI_FN void csimi_last_clear(csimi_last_table *r, int count) {
    r->table_size = csimi_table_size(count); /* at most what was laid out */
    CSIMI_MEMSET(r->table, -1, sizeof *r->table * (size_t)r->table_size); /* all bits of -1 are set */
}

CSIMI_FN void csimi_last_put(csimi_last_table *r, uint64_t key, int i) {
    /* open addressing: the next free place, and round at the end */
    int at = csimi_slot_of(r, key);
    while (r->table[at] >= 0) at = (at + 1) & (r->table_size - 1);
    r->table[at] = i;
}

CSIMI_FN void csimi_index_contacts(const csim_world *w, csimi_last_table *r) {
    int i;
    csimi_last_clear(r, w->store.count.contacts);
    /* ids stay while the same features touch */
    for (i = 0; i < w->store.count.contacts; i++) csimi_last_put(r, w->store.contact[i].id, i);
}

/* The record of the last step with this id, or -1. */
CSIMI_FN int csimi_last_contact(const csim_world *w, const csimi_last_table *r, uint64_t id) {
    int at = csimi_slot_of(r, id);
    /* an empty place ends the search: nothing is ever taken out */
    while (r->table[at] >= 0) {
        if (w->store.contact[r->table[at]].id == id) return r->table[at];
        at = (at + 1) & (r->table_size - 1);
    }
    return -1;
}

CSIMI_FN csim_real csimi_warm_scale(const csim_world *w, const csimi_step_frame *f) {
    return w->last_h > 0 ? f->h / (csim_real)w->last_h : 0; /* 0: no step before */
}
