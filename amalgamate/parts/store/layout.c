/* store/layout: the one routine that decides where everything of a world lies, and what follows from it: growth, and
   removal of ranges. */
#include "private.h"

CSIMI_FN csimi_counts csimi_counts_of(const csim_capacity *c) {
    csimi_counts n;
    CSIMI_MEMSET(&n, 0, sizeof n);
#define CSIMI_X(member) n.member = c->member;
    CSIMI_CAPACITY_MEMBERS(CSIMI_X)
#undef CSIMI_X
    n.springs = n.joints = c->links;
#ifdef CONDSIM_NO_SPRINGS
    n.springs = 0;
#endif
#ifdef CONDSIM_NO_JOINTS
    n.joints = 0;
#endif
#ifdef CONDSIM_NO_CABLE
    n.bends = 0;
#endif
    n.ended = c->contacts;
    n.touches = csimi_touches_of(c->pairs);
    return n;
}

CSIMI_FN csim_capacity csimi_capacity_of(const csimi_counts *n) {
    csim_capacity c;
#define CSIMI_X(member) c.member = n->member;
    CSIMI_CAPACITY_MEMBERS(CSIMI_X)
#undef CSIMI_X
    c.links = csimi_imax(n->links, csimi_imax(n->springs, n->joints));
    return c;
}

CSIMI_FN int csimi_blocks_of(const csimi_counts *n) {
    int blocks = 0;
#define CSIMI_X(kind, axis, per, velocity, rep, force) blocks += per * n->axis;
    CSIMI_UNKNOWNS(CSIMI_X)
#undef CSIMI_X
    return blocks;
}

CSIMI_FN int csimi_touches_of(int pairs) {
#ifdef CONDSIM_NO_EVENTS
    (void)pairs;
    return 0;
#else
    return pairs;
#endif
}

static void csimi_told_layout(csimi_told *t, const csimi_counts *n, csimi_arena *arena) {
    const bool any = n->touches > 0;
    t->hit = CSIMI_PUSH(arena, csim_hit_event, n->touches);
    t->move = CSIMI_PUSH(arena, csim_move_event, any ? n->bodies : 0);
    t->joint_break = CSIMI_PUSH(arena, csim_break_event, any ? n->joints + n->springs : 0);
    t->sleep = CSIMI_PUSH(arena, csim_sleep_event, any ? n->bodies : 0);
}

static void csimi_told_copy(csimi_told *to, const csimi_told *from) {
    if (from->hit_count > 0) CSIMI_MEMCPY(to->hit, from->hit, sizeof *to->hit * (size_t)from->hit_count);
    if (from->move_count > 0) CSIMI_MEMCPY(to->move, from->move, sizeof *to->move * (size_t)from->move_count);
    if (from->break_count > 0)
        CSIMI_MEMCPY(to->joint_break, from->joint_break, sizeof *to->joint_break * (size_t)from->break_count);
    if (from->sleep_count > 0) CSIMI_MEMCPY(to->sleep, from->sleep, sizeof *to->sleep * (size_t)from->sleep_count);
}

/* An array of the store in numbers: where its pointer is, where its count, bytes of an item. A loop over a table is a
   tenth of the code that a line for each array is. */
typedef struct csimi_array_line {
    uint16_t pointer, axis, bytes;
} csimi_array_line;

static const csimi_array_line csimi_array_lines[] = {
#define CSIMI_X(axis, type, name, per, holds) \
    {(uint16_t)offsetof(csimi_store, name), (uint16_t)offsetof(csimi_counts, axis), (uint16_t)(sizeof(type) * (per))},
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
};
enum { CSIMI_ARRAY_LINES = sizeof csimi_array_lines / sizeof *csimi_array_lines };

static size_t csimi_line_count(const csimi_array_line *line, const csimi_counts *n) {
    int count;
    CSIMI_MEMCPY(&count, (const unsigned char *)n + line->axis, sizeof count);
    return (size_t)count;
}

static void *csimi_line_array(const csimi_array_line *line, const csimi_store *s) {
    void *array;
    CSIMI_MEMCPY(&array, (const unsigned char *)s + line->pointer, sizeof array);
    return array;
}

CSIMI_FN bool csimi_store_array(const csimi_store *s, int i, void **array, int *axis, size_t *bytes) {
    if (i >= CSIMI_ARRAY_LINES) return false;
    *array = csimi_line_array(csimi_array_lines + i, s);
    *axis = csimi_array_lines[i].axis / (int)sizeof(int);
    *bytes = csimi_array_lines[i].bytes;
    return true;
}

CSIMI_FN void csimi_store_layout(csimi_store *s, size_t scratch, csimi_arena *arena) {
    const csimi_counts *c = &s->capacity;
    int i;
    for (i = 0; i < CSIMI_ARRAY_LINES; i++) {
        const csimi_array_line *line = csimi_array_lines + i;
        void *array = csimi_push(arena, csimi_line_count(line, c), line->bytes);
        CSIMI_MEMCPY((unsigned char *)s + line->pointer, &array, sizeof array);
    }
    /* what follows from the rest: not copied, not saved */
    s->state.tet_slot = CSIMI_PUSH(arena, unsigned char, (size_t)c->tets * 16);
    s->state.membrane_slot = CSIMI_PUSH(arena, int, (size_t)c->membranes * 36);
    s->state.spring_slot = CSIMI_PUSH(arena, int, (size_t)c->springs *CSIMI_SPRING_SLOTS);
    s->state.rigid_inverse = CSIMI_PUSH(arena, csim_real, (size_t)c->rigids * 9);
    s->state.edge_slot = CSIMI_PUSH(arena, int, (size_t)c->frames * 9);
    s->state.bend_slot = CSIMI_PUSH(arena, int, (size_t)c->bends * 4);
    s->state.coord_slot = CSIMI_PUSH(arena, int, (size_t)c->coords * 2);
    s->state.link_work = CSIMI_PUSH(arena, csimi_link_work, c->tree_links);
    s->state.coord_free = CSIMI_PUSH(arena, csim_real, (size_t)c->coords * 3);
    s->state.reduced_work =
        (struct csimi_reduced_work *)csimi_push(arena, c->modal > 0 ? csimi_reduced_work_bytes() : 0, 1);
    csimi_look_layout(&s->look, c, arena);
    csimi_told_layout(&s->told, c, arena);
    csimi_meets_layout(s, c, arena);
    s->listed = CSIMI_PUSH(arena, int, c->bodies);
#ifndef CONDSIM_NO_SLEEP
    s->active_list = CSIMI_PUSH(arena, int, c->bodies);
    s->woke_list = CSIMI_PUSH(arena, int, c->bodies);
#endif
    s->A.row = CSIMI_PUSH(arena, int, (size_t)csimi_blocks_of(c) + 1);
    if (CSIMI_HAS_MESHES) s->A.end = CSIMI_PUSH(arena, int, (size_t)csimi_blocks_of(c));
    s->A.diag = CSIMI_PUSH(arena, int, (size_t)csimi_blocks_of(c));
    s->A.col = CSIMI_PUSH(arena, int, c->matrix_blocks);
    s->A.val = CSIMI_PUSH(arena, csim_real, (size_t)c->matrix_blocks * 9);
    s->scratch_bytes = scratch;
    s->scratch = (unsigned char *)csimi_push(arena, s->scratch_bytes, 1);
}

CSIMI_FN void csimi_sync_state(csimi_store *s) {
#define CSIMI_X(axis, name) s->state.name = s->count.axis;
    CSIMI_STATE_COUNTS(CSIMI_X)
#undef CSIMI_X
}

static void csimi_store_copy(csimi_store *to, const csimi_store *from) {
    int i;
    for (i = 0; i < CSIMI_ARRAY_LINES; i++) {
        const csimi_array_line *line = csimi_array_lines + i;
        const size_t count = csimi_line_count(line, &from->count);
        if (count > 0) CSIMI_MEMCPY(csimi_line_array(line, to), csimi_line_array(line, from), count * line->bytes);
    }
}

CSIMI_FN void csimi_raise(void *n, const void *least, size_t bytes) {
    unsigned char *at = (unsigned char *)n;
    int own, other;
    size_t i;
    for (i = 0; i < bytes; i += sizeof own) {
        CSIMI_MEMCPY(&own, at + i, sizeof own);
        CSIMI_MEMCPY(&other, (const unsigned char *)least + i, sizeof other);
        if (other > own) CSIMI_MEMCPY(at + i, &other, sizeof other);
    }
}

/* The first axis of need that capacity lacks, by name; null: none. */
static const char *csimi_lacking(const csimi_counts *capacity, const csimi_counts *need, int *wanted, int *have) {
#ifndef CONDSIM_NO_ERROR_TEXT
    static const char *const names[] = {
#define CSIMI_X(axis) "capacity." #axis,
        CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    };
#endif
    int has[CSIMI_AXES], needs[CSIMI_AXES], i;
    CSIMI_MEMCPY(has, capacity, sizeof has);
    CSIMI_MEMCPY(needs, need, sizeof needs);
    for (i = 0; i < CSIMI_AXES && needs[i] <= has[i]; i++) {
    }
    if (i == CSIMI_AXES) return NULL;
    *wanted = needs[i];
    *have = has[i];
#ifdef CONDSIM_NO_ERROR_TEXT
    return "";
#else
    return names[i];
#endif
}

enum { CSIMI_EXPECTED_SHAPES = 4096 }; /* worlds of more are levels: most of it meets nothing */

/* What a heap world reserves for the bodies it has room for, as a heap of boxes has it at rest. A step that finds more
   makes the room: a contact takes kilobytes with the scratch of its solver, too much for what may never touch. */
static void csimi_expect_room(csimi_counts *n) {
    const int shapes = csimi_imin(n->shapes, CSIMI_EXPECTED_SHAPES);
    const int bodies = csimi_imin(n->bodies, CSIMI_EXPECTED_SHAPES);
    n->contacts = csimi_imax(
        n->contacts, csimi_most_items((int64_t)4 * shapes + n->surface / 4 + (n->tets > 0 ? n->nodes / 16 : n->nodes) +
                                      (int64_t)2 * n->frames + 32));
    n->pairs = csimi_imax(n->pairs, csimi_most_items((int64_t)3 * (shapes + bodies) / 2 + (int64_t)8 * n->frames + 32));
    n->matrix_blocks = csimi_imax(n->matrix_blocks, csimi_most_items(n->nodes + (int64_t)4 * n->rigids));
}

/* A world that grows takes half as much again as it had of what needs more room, so that adding bodies one by one costs
   linear time; of contacts and pairs, which steps find, a quarter. */
static void csimi_round_up(csimi_counts *n, const csimi_counts *had) {
    const int contacts = n->contacts, pairs = n->pairs;
#define CSIMI_X(axis)                                                                \
    if (n->axis > had->axis && had->axis > 0) \
        n->axis = csimi_imax(n->axis, csimi_most_items((int64_t)had->axis + had->axis / 2));
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    n->contacts = contacts > had->contacts ? csimi_imax(contacts, had->contacts + had->contacts / 4) : contacts;
    n->pairs = pairs > had->pairs ? csimi_imax(pairs, had->pairs + had->pairs / 4) : pairs;
    csimi_expect_room(n);
    n->ended = n->contacts;
    n->touches = csimi_touches_of(n->pairs);
    n->tree_rows = csimi_imax(n->tree_rows, CSIMI_TREE_JOINT_ROWS * n->tree_links);
    if (n->kept > 0) n->kept = n->contacts;
    if (n->slept > 0) n->slept = n->contacts;
    if (n->slept > 0) n->slept_touches = n->touches;
    if (n->slept_kept > 0) n->slept_kept = n->contacts;
}

CSIMI_FN csim_status csimi_grow_store(csim_world *w, const csimi_counts *need, const char *function, const char *lack,
                                      int wanted) {
    csimi_store grown = w->store;
    csimi_arena arena;
    size_t scratch;
    unsigned char *block;
    csimi_raise(&grown.capacity, need, sizeof *need);
    csimi_round_up(&grown.capacity, &w->store.capacity);
    arena = csimi_arena_counting();
    scratch = w->scratch(&grown.capacity, &w->def.solver);
    csimi_store_layout(&grown, scratch, &arena);
    if (arena.overflow)
        return csimi_fail(&w->error, CSIM_OUT_OF_MEMORY, function, lack, (double)wanted, "sizes that fit in memory");
    block = (unsigned char *)csimi_heap_alloc(&w->heap, arena.used);
    if (!block)
        return csimi_fail(&w->error, CSIM_OUT_OF_MEMORY, function, "bytes", (double)arena.used,
                          "what the allocator and its limits give");
    arena = csimi_arena_in(block, arena.used);
    csimi_store_layout(&grown, scratch, &arena);
    CSIMI_MEMSET(block, 0, (size_t)(grown.scratch - block)); /* what no kind of body writes is saved and hashed too */
    csimi_store_copy(&grown, &w->store);
    csimi_look_copy(&grown, &w->store);
    csimi_told_copy(&grown.told, &w->store.told);
#ifndef CONDSIM_NO_SLEEP
    if (grown.woke_count > 0)
        CSIMI_MEMCPY(grown.woke_list, w->store.woke_list, sizeof *grown.woke_list * (size_t)grown.woke_count);
#endif
    if (w->block) csimi_heap_free(&w->heap, w->block, w->block_bytes);
    w->store = grown;
    csimi_meets_anew(&w->store);
    csimi_list_anew(w);
    w->block = block;
    w->block_bytes = arena.used;
    w->pattern_stale = true;
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_ensure(csim_world *w, const csimi_counts *need, const char *function) {
    char allowed[64];
    size_t length;
    int wanted = 0, have = 0;
    const char *lack = csimi_lacking(&w->store.capacity, need, &wanted, &have);
    if (!lack) return CSIM_OK;
    if (w->grow) return w->grow(w, need, function, lack, wanted);
    length = csimi_append_text(allowed, sizeof allowed, 0, "at most ");
    length = csimi_append_int(allowed, sizeof allowed, length, have);
    csimi_append_text(allowed, sizeof allowed, length, " in this fixed block");
    return csimi_fail(&w->error, CSIM_CAPACITY, function, lack, (double)wanted, allowed);
}

static void csimi_remove_bytes(void *array, size_t stride, int count, int first, int n) {
    unsigned char room[512], *p = (unsigned char *)array + (size_t)first * stride,
                             *end = (unsigned char *)array + (size_t)count * stride;
    size_t gap = (size_t)n * stride, piece;
    for (; p + gap < end; p += piece) { /* a forward move: the ranges may overlap */
        piece = (size_t)(end - p) - gap;
        if (piece > sizeof room) piece = sizeof room;
        CSIMI_MEMCPY(room, p + gap, piece);
        CSIMI_MEMCPY(p, room, piece);
    }
}

static void csimi_shrink(csimi_store *s, csimi_axis which, int n) {
#define CSIMI_X(axis) \
    if (which == CSIMI_AXIS_##axis) s->count.axis -= n;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    csimi_sync_state(s);
}

CSIMI_FN void csimi_remove(csimi_store *s, csimi_axis which, int first, int n) {
    if (n <= 0) return;
#define CSIMI_X(axis, type, name, per, holds) \
    if (which == CSIMI_AXIS_##axis) csimi_remove_bytes(s->name, sizeof(type) * (size_t)(per), s->count.axis, first, n);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    csimi_shrink(s, which, n);
}

CSIMI_FN void csimi_replace(csimi_store *s, csimi_axis which, int first, int n) {
#define CSIMI_X(axis, type, name, per, holds)                                                    \
    if (which == CSIMI_AXIS_##axis && first + n < s->count.axis)                                 \
        CSIMI_MEMCPY(s->name + (size_t)(per) * (size_t)first,                                    \
                     s->name + (size_t)(per) * (size_t)(s->count.axis - n), sizeof(type) * (size_t)(per) * (size_t)n);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    csimi_shrink(s, which, n);
}

CSIMI_FN void csimi_open_gap(csimi_store *s, csimi_axis which, int at) {
    int i;
#define CSIMI_X(axis, type, name, per, holds)                                                                  \
    for (i = s->count.axis; which == CSIMI_AXIS_##axis && i > at; i--)                                         \
        CSIMI_MEMCPY(s->name + (size_t)(per) * (size_t)i, s->name + (size_t)(per) * (size_t)(i - 1),           \
                     sizeof(type) * (size_t)(per));
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    csimi_shrink(s, which, -1);
}

CSIMI_FN void csimi_list_anew(csim_world *w) {
    int i;
    for (i = 0; i < w->live_bodies; i++) w->store.listed[w->store.body_list[i]] = i;
}

CSIMI_FN void csimi_unlist(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    int i = csimi_imin(s->listed[slot], w->live_bodies - 1);
    while (s->body_list[i] != slot) i--;
    if (s->listed[slot] - i > 64) csimi_list_anew(w); /* so many have gone since they were named */
    csimi_remove_bytes(s->body_list, sizeof *s->body_list, w->live_bodies--, i, 1);
}

CSIMI_FN int csimi_most_items(int64_t n) { return n > INT32_MAX / 9 ? INT32_MAX / 9 : (int)n; }
