/* step/frame: the scratch of a step, laid out and counted by one routine. */
#include "private.h"

CSIMI_FN int csimi_most_rows(const csimi_counts *n) {
    return n->contacts + CSIMI_JOINT_ROWS * n->joints + n->tree_rows + CSIMI_AXES_LINES * n->axes;
}

/* A rigid body is one; trees have one for two blocks of coordinates. */
CSIMI_FN int csimi_most_aggregates(const csimi_counts *n) {
#ifdef CONDSIM_NO_COND
    (void)n;
    return 0;
#else
    return n->aggregates + n->rigids + (n->coords + n->trees) / 2;
#endif
}

CSIMI_FN int csimi_most_side(const csimi_counts *n) {
    const int rigid = CSIMI_HAS_RIGID && n->rigids > 0 ? 2 : 1; /* where none moves, they have no terms */
    const int side = n->tets + n->membranes + n->frames > 0 ? 3 : rigid; /* faces of solids, edges of cables */
    /* a link has terms up its path to the root */
    return csimi_imax(side, csimi_imin(n->tree_span, CSIMI_PLACE_TERMS));
}

CSIMI_FN int csimi_most_terms(const csimi_counts *n) {
    const int side = csimi_most_side(n);
    /* where bodies do not meet, b has no terms; soft rows hold on to a massless coordinate too: 2 side + 1 */
    return (CSIMI_MEETS ? 2 : 1) * side * n->contacts +
           2 * csimi_imax(side, 4) * CSIMI_JOINT_ROWS * n->joints /* a gear: four a side */
           + n->tree_rows + (2 * side + 1) * CSIMI_AXES_LINES * n->axes;
}

/* The next of numbers that were laid out together; null when they are only counted. */
static csim_real *csimi_next_reals(csim_real **at, size_t count) {
    csim_real *x = *at;
    if (x) *at = x + count;
    return x;
}

static int *csimi_next_ints(int **at, size_t count) {
    int *x = *at;
    if (x) *at = x + count;
    return x;
}

/* The state after the step: velocities and positions of every kind. */
static void csimi_next_layout(csimi_step_frame *f, const csimi_counts *n, csimi_arena *arena) {
#define CSIMI_X(kind, axis, per, velocity, rep, force) \
    f->next.velocity = CSIMI_PUSH(arena, csim_real, 3 * (per) * (size_t)n->axis);
    CSIMI_UNKNOWNS(CSIMI_X)
#undef CSIMI_X
#define CSIMI_X(axis, name, per) f->next.name = CSIMI_PUSH(arena, csim_real, (per) * (size_t)n->axis);
    CSIMI_POSITIONS(CSIMI_X)
#undef CSIMI_X
}

CSIMI_FN void csimi_frame_layout(csimi_step_frame *f, const csimi_counts *n, csimi_arena *arena) {
    size_t blocks = (size_t)csimi_blocks_of(n), rows = (size_t)csimi_most_rows(n);
    size_t aggregates = (size_t)csimi_most_aggregates(n);
    /* positions of two-step worlds, which have no trees */
    const size_t drift = 3 * (size_t)n->nodes + 7 * (size_t)n->rigids + 4 * (size_t)n->frames;
    const bool early = !CSIMI_TOLD_APART || n->springs > 0; /* the solve of what is elastic looks where it ends */
    csim_real *real;
    int *number;
    if (early) csimi_next_layout(f, n, arena);
    real = CSIMI_PUSH(arena, csim_real, 15 * blocks + csimi_most_bytes(3 * blocks, drift)); /* one behind the other */
    f->vk = csimi_next_reals(&real, 3 * blocks);
    f->b = csimi_next_reals(&real, 3 * blocks);
    f->v = csimi_next_reals(&real, 3 * blocks);
    f->v_end = csimi_next_reals(&real, 3 * blocks);
    f->rep = csimi_next_reals(&real, 3 * blocks);
    f->frozen = real; /* no integrator asks for both */
    f->drift.x = csimi_next_reals(&real, 3 * (size_t)n->nodes);
    f->drift.com = csimi_next_reals(&real, 3 * (size_t)n->rigids);
    f->drift.rotation = csimi_next_reals(&real, 4 * (size_t)n->rigids);
    f->drift.frame = csimi_next_reals(&real, 4 * (size_t)n->frames);
    /* velocities to compare with, and behind them J'lambda (curl.c) or parts of b (joint_rows.c) */
    f->aim = CSIMI_PUSH(arena, csim_real, n->frames + n->joints > 0 ? 6 * blocks : 0);
    f->skip = CSIMI_PUSH(arena, unsigned char, 2 * blocks); /* missed behind it */
    f->missed = f->skip ? f->skip + blocks : NULL;
    f->margin = CSIMI_PUSH(arena, csim_real, n->shapes);
    f->driven = CSIMI_PUSH(arena, unsigned char, n->bodies);
    f->told = CSIMI_PUSH(arena, csimi_told_contact, n->contacts);
    f->found = (csimi_found_contact *)f->told;
    f->kept = CSIMI_PUSH(arena, csimi_found_kept, n->kept > 0 ? n->contacts : 0); /* bounded frames alone */
#ifndef CONDSIM_NO_PATHS
    f->passing = CSIMI_PUSH(arena, csimi_passing, n->shapes);
#endif
    f->contacts = CSIMI_PUSH(arena, csim_contact, rows);
    f->terms = CSIMI_PUSH(arena, csim_term, csimi_most_terms(n));
    f->term_block = CSIMI_PUSH(arena, int, csimi_most_terms(n));
    f->lambda = CSIMI_PUSH(arena, csim_real, 3 * rows);
    f->tree_row = CSIMI_PUSH(arena, int, n->tree_rows);
    number = CSIMI_PUSH(arena, int, (5 + 2 * CSIMI_UNITES) * blocks + 2 * rows + 2); /* 2: one more each */
    f->island = csimi_next_ints(&number, blocks);
    f->local = csimi_next_ints(&number, blocks);
    f->island_blocks = csimi_next_ints(&number, blocks);
    f->aggregate_of = csimi_next_ints(&number, CSIMI_UNITES ? blocks : 0);
    f->aggregate_number = csimi_next_ints(&number, CSIMI_UNITES ? blocks : 0);
    f->island_first = csimi_next_ints(&number, blocks + 1);
    f->island_contact_first = csimi_next_ints(&number, blocks + 1);
    f->contact_island = csimi_next_ints(&number, rows);
    f->island_contacts = csimi_next_ints(&number, rows);
    f->aggregate_centre = CSIMI_PUSH(arena, csim_real, 3 * aggregates);
    f->aggregate_radius = CSIMI_PUSH(arena, csim_real, aggregates);
    f->joint = CSIMI_PUSH(arena, csimi_joint, n->joints);
    f->axes = CSIMI_PUSH(arena, csimi_axes, n->axes);
    f->sigma_of_body = CSIMI_PUSH(arena, csim_real, n->bodies);
    f->gap = CSIMI_PUSH(arena, csim_real, n->kept > 0 ? rows : 0);
    f->sensed = CSIMI_PUSH(arena, csimi_sensed, n->touches > 0 ? n->pairs : 0);
    f->pace = CSIMI_PUSH(arena, csimi_pace, n->kept > 0 ? n->bodies : 0);
#if CSIMI_HAS_KNOWN
    f->knows = CSIMI_PUSH(arena, unsigned char, n->bodies);
#endif
    /* the solve writes over all behind this mark: it is read before the solve, or written after it */
    f->solved_in = arena->used;
    if (!early) csimi_next_layout(f, n, arena);
    if (CSIMI_TOLD_APART) f->found = CSIMI_PUSH(arena, csimi_found_contact, n->contacts); /* gone with the solve */
    f->info = CSIMI_PUSH(arena, csim_contact_info, n->contacts);
    f->ended = CSIMI_PUSH(arena, uint64_t, n->contacts);
    f->carried = CSIMI_PUSH(arena, unsigned char, n->contacts);
}
