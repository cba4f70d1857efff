/* step/assemble: what models do in a step: the pattern of A, A and b from potentials, and positions moved on. */
#include "private.h"

/* ---- the pattern of A, rebuilt after bodies or links changed */

/* Pairs of blocks that models couple, before they are written. */
static int csimi_count_pairs(const csimi_state *s) {
    const csimi_model *table = csimi_model_table();
    int i, n = 0;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].couple) n += table[i].couple(s, NULL);
    return n;
}

/* The same at most, from counts: what the scratch of a build is laid out for. */
static int csimi_most_pairs(const csimi_counts *n) {
    const int side = csimi_imax(csimi_most_side(n), n->rigids > 0 ? 2 : 1); /* a spring may end on what is fixed */
    /* trees store more blocks than pairs */
    /* m (m - 1) / 2 of m blocks: tets 4, membranes with their folds 6, springs two sides, edges of cables 3 */
    return 6 * n->tets + 15 * n->membranes + n->rigids + side * (2 * side - 1) * n->springs + 3 * n->frames +
           n->bends + (n->coords > 0 ? n->matrix_blocks / 2 : 0);
}

CSIMI_FN size_t csimi_pattern_build_scratch(const csimi_counts *n) {
    csimi_arena arena = csimi_arena_counting();
    int pairs = csimi_most_pairs(n);
    CSIMI_PUSH(&arena, unsigned char, csimi_blocks_of(n));
    CSIMI_PUSH(&arena, int, 2 * (size_t)pairs);
    CSIMI_PUSH(&arena, int, csimi_pattern_scratch(csimi_blocks_of(n), pairs));
    return arena.used;
}

/* Rows of what is held are stored behind the others, so that those which are solved lie together. old: [blocks]. */
static void csimi_part_rows(const csim_block_matrix *A, const csimi_store *s, unsigned char *held, int *old) {
    int i, k, at = 0;
    csimi_mark_held(s, held);
    CSIMI_MEMCPY(old, A->col, (size_t)A->row[A->n] * sizeof *old);
    for (i = 0; i < A->n; i++) A->end[i] = A->row[i + 1]; /* of its own: behind it another row may lie */
    for (k = 0; k < 2 * A->n; k++) { /* twice over all rows: those that are solved, then those held */
        const int row = k % A->n, count = A->end[row] - A->row[row];
        if ((held[row] != 0) != (k >= A->n)) continue;
        CSIMI_MEMCPY(A->col + at, old + A->row[row], (size_t)count * sizeof *old);
        A->diag[row] += at - A->row[row]; /* as far as its row goes */
        A->row[row] = at, A->end[row] = at += count;
    }
}

/* Which blocks of A there are, and where each model adds to them. Without room it stays to be built. */
CSIMI_FN csim_status csimi_build_pattern(csim_world *w, csimi_arena *arena) {
    csimi_store *s = &w->store;
    const csimi_model *table = csimi_model_table();
    size_t mark = arena->used;
    int i, at = 0, needed = 0, count, total = csimi_count_pairs(&s->state), blocks = csimi_block_count(&s->state);
    unsigned char *held = CSIMI_PUSH(arena, unsigned char, blocks);
    int *pairs = CSIMI_PUSH(arena, int, 2 * (size_t)total);
    int *scratch = CSIMI_PUSH(arena, int, csimi_pattern_scratch(blocks, total));
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].couple) at += table[i].couple(&s->state, pairs + 2 * at);
    s->A.n = blocks;
    count = csimi_pattern_build(blocks, total, pairs, s->A.row, s->A.col, s->A.diag, s->capacity.matrix_blocks, &needed,
                                scratch);
    if (count >= 0 && CSIMI_HAS_MESHES) csimi_part_rows(&s->A, s, held, scratch); /* who is held later leaves a gap */
    csimi_pop(arena, mark);
    w->def.capacity.matrix_blocks = csimi_imax(w->def.capacity.matrix_blocks, count < 0 ? needed : count);
    if (count < 0)
        return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "matrix_blocks needed", (double)needed,
                          "at most capacity.matrix_blocks; call csim_world_reserve");
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].bind) table[i].bind(&s->state, &s->A); /* slots, so that assembly searches no rows */
    w->pattern_stale = false;
    return CSIM_OK;
}

/* Gyroscopic updates of v_k, before it enters b. */
CSIMI_FN void csimi_prepare(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    const csimi_model *table = csimi_model_table();
    int i;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].prepare) table[i].prepare(&w->store.state, step, f->vk);
}

CSIMI_FN void csimi_assemble(csim_world *w, csimi_step_frame *f, const csimi_step *step, const csimi_state *at) {
    csimi_store *s = &w->store;
    const csimi_model *table = csimi_model_table();
    csimi_system system;
    int i;
    CSIMI_MEMSET(s->A.val, 0, sizeof(csim_real) * 9 * (size_t)s->A.row[s->A.n]); /* models add */
    csimi_shelf_forget(&f->shelf);
    for (i = 0; i < 3 * f->blocks; i++) f->b[i] = 0;
    system.A = s->A;
    system.b = f->b;
    system.vk = f->vk;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].assemble) table[i].assemble(at, step, &system); /* in one order: sums to the bit */
}

CSIMI_FN void csimi_advance(csim_world *w, const csimi_step *step, csim_real h, const csim_real *v, csimi_state *next) {
    const csimi_model *table = csimi_model_table();
    csimi_step part = *step;
    int i;
    part.h = h; /* half of it on the way to the middle of a step */
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].advance) table[i].advance(&w->store.state, &part, v, next);
}

CSIMI_FN csimi_energy csimi_energy_of(const csimi_state *s) {
    const csimi_model *table = csimi_model_table();
    csimi_energy energy;
    int i;
    energy.kinetic = energy.gravity = energy.elastic = 0;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].energy) table[i].energy(s, &energy);
    return energy;
}
