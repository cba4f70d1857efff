/* world/layout: the one routine that decides where everything of a world lies, and what follows from it: the three
   doors, growth, and removal of ranges. */
#include "private.h"

CSIMI_FN csimi_counts csimi_counts_of(const csim_capacity *c) {
    csimi_counts n;
    CSIMI_MEMSET(&n, 0, sizeof n);
    n.bodies = c->bodies;
    n.nodes = c->nodes;
    n.rigids = c->rigids;
    n.shapes = c->shapes;
    n.hulls = c->hulls;
    n.frames = c->frames;
    n.bends = c->bends;
    n.tets = c->tets;
    n.membranes = c->membranes;
    n.surface = c->surface;
    n.triangles = c->triangles;
    n.links = n.springs = n.joints = c->links;
    n.contacts = n.ended = c->contacts;
    n.aggregates = c->aggregates;
    n.matrix_blocks = c->matrix_blocks;
    n.pairs = c->pairs;
    n.trees = c->trees;
    n.tree_links = c->tree_links;
    n.coords = c->coords;
    n.tree_span = c->tree_span;
    n.modal = c->modal;
    return n;
}

CSIMI_FN csim_capacity csimi_capacity_of(const csimi_counts *n) {
    csim_capacity c;
    c.bodies = n->bodies;
    c.nodes = n->nodes;
    c.rigids = n->rigids;
    c.shapes = n->shapes;
    c.hulls = n->hulls;
    c.frames = n->frames;
    c.bends = n->bends;
    c.tets = n->tets;
    c.membranes = n->membranes;
    c.surface = n->surface;
    c.triangles = n->triangles;
    c.links = csimi_imax(n->links, csimi_imax(n->springs, n->joints));
    c.contacts = n->contacts;
    c.aggregates = n->aggregates;
    c.matrix_blocks = n->matrix_blocks;
    c.pairs = n->pairs;
    c.trees = n->trees;
    c.tree_links = n->tree_links;
    c.coords = n->coords;
    c.tree_span = n->tree_span;
    c.modal = n->modal;
    return c;
}

CSIMI_FN int csimi_blocks_of(const csimi_counts *n) { return n->nodes + 2 * n->rigids + n->frames + n->coords; }

CSIMI_FN void csimi_store_layout(csimi_store *s, const csim_solver_params *solver, csimi_arena *arena) {
    const csimi_counts *c = &s->capacity;
#define CSIMI_X(axis, type, name, per) s->name = CSIMI_PUSH(arena, type, (size_t)c->axis * (per));
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    /* what follows from the rest: not copied, not saved */
    s->state.tet_slot = CSIMI_PUSH(arena, int, (size_t)c->tets * 16);
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
    s->A.row = CSIMI_PUSH(arena, int, (size_t)csimi_blocks_of(c) + 1);
    s->A.diag = CSIMI_PUSH(arena, int, (size_t)csimi_blocks_of(c));
    s->A.col = CSIMI_PUSH(arena, int, c->matrix_blocks);
    s->A.val = CSIMI_PUSH(arena, csim_real, (size_t)c->matrix_blocks * 9);
    s->scratch_bytes = csimi_step_scratch(c, solver);
    s->scratch = (unsigned char *)csimi_push(arena, s->scratch_bytes, 1);
}

CSIMI_FN void csimi_sync_state(csimi_store *s) {
    s->state.node_count = s->count.nodes;
    s->state.rigid_count = s->count.rigids;
    s->state.tet_count = s->count.tets;
    s->state.membrane_count = s->count.membranes;
    s->state.spring_count = s->count.springs;
    s->state.frame_count = s->count.frames;
    s->state.bend_count = s->count.bends;
    s->state.tree_count = s->count.trees;
    s->state.tree_link_count = s->count.tree_links;
    s->state.coord_count = s->count.coords;
}

static void csimi_store_copy(csimi_store *to, const csimi_store *from) {
#define CSIMI_X(axis, type, name, per) \
    if (from->count.axis > 0) CSIMI_MEMCPY(to->name, from->name, sizeof(type) * (size_t)from->count.axis * (per));
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
}

/* Axes that must not shrink, as numbers: the largest of both. */
static csimi_counts csimi_counts_max(const csimi_counts *a, const csimi_counts *b) {
    csimi_counts n;
#define CSIMI_X(axis) n.axis = csimi_imax(a->axis, b->axis);
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    return n;
}

/* The first axis of need that capacity lacks, by name; null: none. */
static const char *csimi_lacking(const csimi_counts *capacity, const csimi_counts *need, int *wanted, int *have) {
#define CSIMI_X(axis)                  \
    if (need->axis > capacity->axis) { \
        *wanted = need->axis;          \
        *have = capacity->axis;        \
        return "capacity." #axis;      \
    }
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    return NULL;
}

/* A world that grows takes half as much again as it needs, so that adding bodies one by one costs linear time. */
static void csimi_round_up(csimi_counts *n, const csimi_counts *had) {
#define CSIMI_X(axis)                                                                \
    if (n->axis > had->axis && had->axis > 0 && n->axis < had->axis + had->axis / 2) \
        n->axis = had->axis + had->axis / 2;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    n->ended = n->contacts;
}

CSIMI_FN csim_status csimi_ensure(csim_world *w, const csimi_counts *need, const char *function) {
    csimi_store grown;
    csimi_arena arena;
    unsigned char *block;
    int wanted = 0, have = 0;
    const char *lack = csimi_lacking(&w->store.capacity, need, &wanted, &have);
    if (!lack) return CSIM_OK;
    if (!w->grows) {
        char allowed[64];
        size_t length = csimi_append_text(allowed, sizeof allowed, 0, "at most ");
        length = csimi_append_int(allowed, sizeof allowed, length, have);
        csimi_append_text(allowed, sizeof allowed, length, " in this fixed block");
        return csimi_fail(&w->error, CSIM_CAPACITY, function, lack, true, (double)wanted, allowed);
    }
    grown = w->store;
    grown.capacity = csimi_counts_max(&w->store.capacity, need);
    csimi_round_up(&grown.capacity, &w->store.capacity);
    arena = csimi_arena_counting();
    csimi_store_layout(&grown, &w->def.solver, &arena);
    if (arena.overflow)
        return csimi_fail(&w->error, CSIM_OUT_OF_MEMORY, function, lack, true, (double)wanted,
                          "sizes that fit in memory");
    block = (unsigned char *)csimi_heap_alloc(&w->heap, arena.used);
    if (!block)
        return csimi_fail(&w->error, CSIM_OUT_OF_MEMORY, function, "bytes", true, (double)arena.used,
                          "what the allocator and its limits give");
    arena = csimi_arena_in(block, arena.used);
    csimi_store_layout(&grown, &w->def.solver, &arena);
    CSIMI_MEMSET(block, 0, (size_t)(grown.scratch - block)); /* what no kind of body writes is saved and hashed too */
    csimi_store_copy(&grown, &w->store);
    if (w->block) csimi_heap_free(&w->heap, w->block, w->block_bytes);
    w->store = grown;
    w->block = block;
    w->block_bytes = arena.used;
    w->pattern_stale = true;
    return CSIM_OK;
}

static void csimi_remove_bytes(void *array, size_t stride, int count, int first, int n) {
    unsigned char *p = (unsigned char *)array + (size_t)first * stride,
                  *end = (unsigned char *)array + (size_t)count * stride;
    size_t gap = (size_t)n * stride;
    for (; p + gap < end; p++) *p = p[gap]; /* a forward move: the ranges may overlap */
}

CSIMI_FN void csimi_remove(csimi_store *s, csimi_axis which, int first, int n) {
    if (n <= 0) return;
#define CSIMI_X(axis, type, name, per) \
    if (which == CSIMI_AXIS_##axis) csimi_remove_bytes(s->name, sizeof(type) * (size_t)(per), s->count.axis, first, n);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
#define CSIMI_X(axis) \
    if (which == CSIMI_AXIS_##axis) s->count.axis -= n;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    csimi_sync_state(s);
}

/* ---- scratch of a step */

CSIMI_FN int csimi_most_rows(const csimi_counts *n) {
    return n->contacts + CSIMI_BOND_ROWS * n->joints + CSIMI_JOINT_ROWS * n->tree_links;
}

/* A rigid body is one; trees have one for two blocks of coordinates. */
CSIMI_FN int csimi_most_aggregates(const csimi_counts *n) {
    return n->aggregates + n->rigids + (n->coords + n->trees) / 2;
}

CSIMI_FN int csimi_most_terms(const csimi_counts *n) {
    int side = n->tets + n->membranes + n->frames > 0 ? 3 : 2; /* faces of solids, edges of cables; rigid bodies */
    side = csimi_imax(side, csimi_imin(n->tree_span, CSIMI_PLACE_TERMS));
    return 2 * side * n->contacts + 2 * csimi_imax(side, 4) * CSIMI_BOND_ROWS * n->joints /* a gear: four a side */
           + CSIMI_JOINT_ROWS * n->tree_links;
}

CSIMI_FN void csimi_frame_layout(csimi_step_frame *f, const csimi_counts *n, csimi_arena *arena) {
    size_t blocks = (size_t)csimi_blocks_of(n), rows = (size_t)csimi_most_rows(n);
    size_t aggregates = (size_t)csimi_most_aggregates(n);
    f->next.x = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->nodes);
    f->next.v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->nodes);
    f->next.com = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->rigids);
    f->next.rotation = CSIMI_PUSH(arena, csim_real, 4 * (size_t)n->rigids);
    f->next.velocity = CSIMI_PUSH(arena, csim_real, 6 * (size_t)n->rigids);
    f->next.frame = CSIMI_PUSH(arena, csim_real, 4 * (size_t)n->frames);
    f->next.frame_velocity = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->frames);
    f->next.link_position = CSIMI_PUSH(arena, csim_real, 7 * (size_t)n->tree_links);
    f->next.link_pose = CSIMI_PUSH(arena, csim_real, 7 * (size_t)n->tree_links);
    f->next.coord_rate = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->coords);
    f->drift.x = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->nodes);
    f->drift.com = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->rigids);
    f->drift.rotation = CSIMI_PUSH(arena, csim_real, 4 * (size_t)n->rigids);
    f->drift.frame = CSIMI_PUSH(arena, csim_real, 4 * (size_t)n->frames);
    f->frozen = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->next.coord_position = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->coords);
    f->aim = CSIMI_PUSH(arena, csim_real, n->frames + n->joints > 0 ? 6 * blocks : 0);
    f->vk = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->b = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->v = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->v_end = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->rep = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->skip = CSIMI_PUSH(arena, unsigned char, blocks);
    f->found = CSIMI_PUSH(arena, csimi_found_contact, n->contacts);
    f->contacts = CSIMI_PUSH(arena, csim_contact, rows);
    f->terms = CSIMI_PUSH(arena, csim_term, csimi_most_terms(n));
    f->lambda = CSIMI_PUSH(arena, csim_real, 3 * rows);
    f->joint_row = CSIMI_PUSH(arena, int, CSIMI_JOINT_ROWS *(size_t)n->tree_links);
    f->island = CSIMI_PUSH(arena, int, blocks);
    f->contact_island = CSIMI_PUSH(arena, int, rows);
    f->local = CSIMI_PUSH(arena, int, blocks);
    f->island_blocks = CSIMI_PUSH(arena, int, blocks);
    f->island_contacts = CSIMI_PUSH(arena, int, rows);
    f->island_first = CSIMI_PUSH(arena, int, blocks + 1);
    f->island_contact_first = CSIMI_PUSH(arena, int, blocks + 1);
    f->aggregate_centre = CSIMI_PUSH(arena, csim_real, 3 * aggregates);
    f->aggregate_radius = CSIMI_PUSH(arena, csim_real, aggregates);
    f->aggregate_of = CSIMI_PUSH(arena, int, blocks);
    f->joint = CSIMI_PUSH(arena, csimi_bond, n->joints);
    f->info = CSIMI_PUSH(arena, csim_contact_info, n->contacts);
    f->ended = CSIMI_PUSH(arena, uint64_t, n->contacts);
    f->carried = CSIMI_PUSH(arena, unsigned char, n->contacts);
    f->sigma_of_body = CSIMI_PUSH(arena, csim_real, n->bodies);
}

/* Not inlined: the frame is a kilobyte of pointers, and the stages have layouts of their own. */
static CSIMI_NOINLINE void csimi_count_frame(const csimi_counts *n, csimi_arena *arena) {
    csimi_step_frame frame;
    CSIMI_PUSH(arena, csimi_step_frame, 1);
    csimi_frame_layout(&frame, n, arena);
}

CSIMI_FN size_t csimi_step_scratch(const csimi_counts *n, const csim_solver_params *solver) {
    csimi_arena arena = csimi_arena_counting();
    size_t stages[8], most = 0;
    int i;
    csimi_count_frame(n, &arena);
    stages[0] = csimi_detect_scratch(n);
    stages[1] = csimi_rows_scratch(n);
    stages[2] = csimi_island_scratch(n, solver);
    stages[3] = csimi_pattern_build_scratch(n);
    stages[4] = csimi_mesh_scratch(n);
    stages[5] = csimi_cloth_scratch(n);
    stages[6] = csimi_tree_scratch(n);
    stages[7] = csimi_reduced_scratch(n);
    for (i = 0; i < 8; i++)
        if (stages[i] > most) most = stages[i];
    csimi_push(&arena, most, 1);
    return arena.overflow ? SIZE_MAX / 2 : arena.used;
}
