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
    return csimi_imax(side, csimi_imin(n->tree_span, CSIMI_PLACE_TERMS));
}

#if defined(CONDSIM_NO_STACKS) && defined(CONDSIM_NO_ROUND) && defined(CONDSIM_NO_FIELDS) && !CSIMI_HAS_NODES && \
    !CSIMI_HAS_TREES
enum { CSIMI_MOVING_SIDES = 1 }; /* boxes and hulls, which meet half-spaces alone, and those stand */
#else
enum { CSIMI_MOVING_SIDES = 2 };
#endif

CSIMI_FN int csimi_most_terms(const csimi_counts *n) {
    const int side = csimi_most_side(n);
    return CSIMI_MOVING_SIDES * side * n->contacts +
           2 * csimi_imax(side, 4) * CSIMI_JOINT_ROWS * n->joints /* a gear: four a side */
           + n->tree_rows + (2 * side + 1) * CSIMI_AXES_LINES * n->axes;
}

CSIMI_FN void csimi_frame_layout(csimi_step_frame *f, const csimi_counts *n, csimi_arena *arena) {
    size_t blocks = (size_t)csimi_blocks_of(n), rows = (size_t)csimi_most_rows(n);
    size_t aggregates = (size_t)csimi_most_aggregates(n);
#define CSIMI_X(kind, axis, per, velocity, rep, force) \
    f->next.velocity = CSIMI_PUSH(arena, csim_real, 3 * (per) * (size_t)n->axis);
    CSIMI_UNKNOWNS(CSIMI_X)
#undef CSIMI_X
#define CSIMI_X(axis, name, per) f->next.name = CSIMI_PUSH(arena, csim_real, (per) * (size_t)n->axis);
    CSIMI_POSITIONS(CSIMI_X)
#undef CSIMI_X
    f->drift.x = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->nodes);
    f->drift.com = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->rigids);
    f->drift.rotation = CSIMI_PUSH(arena, csim_real, 4 * (size_t)n->rigids);
    f->drift.frame = CSIMI_PUSH(arena, csim_real, 4 * (size_t)n->frames);
    f->frozen = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->aim = CSIMI_PUSH(arena, csim_real, n->frames + n->joints > 0 ? 6 * blocks : 0);
    f->vk = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->b = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->v = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->v_end = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->rep = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->skip = CSIMI_PUSH(arena, unsigned char, blocks);
    f->margin = CSIMI_PUSH(arena, csim_real, n->shapes);
    f->driven = CSIMI_PUSH(arena, unsigned char, n->bodies);
    f->missed = CSIMI_PUSH(arena, unsigned char, blocks);
    f->found = CSIMI_PUSH(arena, csimi_found_contact, n->contacts);
    f->kept = CSIMI_PUSH(arena, csimi_found_kept, n->kept > 0 ? n->contacts : 0);
#ifndef CONDSIM_NO_PATHS
    f->passing = CSIMI_PUSH(arena, csimi_passing, n->shapes);
#endif
    f->contacts = CSIMI_PUSH(arena, csim_contact, rows);
    f->terms = CSIMI_PUSH(arena, csim_term, csimi_most_terms(n));
    f->term_block = CSIMI_PUSH(arena, int, csimi_most_terms(n));
    f->lambda = CSIMI_PUSH(arena, csim_real, 3 * rows);
    f->tree_row = CSIMI_PUSH(arena, int, n->tree_rows);
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
    f->joint = CSIMI_PUSH(arena, csimi_joint, n->joints);
    f->axes = CSIMI_PUSH(arena, csimi_axes, n->axes);
    f->sigma_of_body = CSIMI_PUSH(arena, csim_real, n->bodies);
    f->gap = CSIMI_PUSH(arena, csim_real, n->kept > 0 ? rows : 0);
    f->sensed = CSIMI_PUSH(arena, csimi_sensed, n->touches > 0 ? n->pairs : 0);
    f->pace = CSIMI_PUSH(arena, csimi_pace, n->kept > 0 ? n->bodies : 0);
    f->solved_in = arena->used;
    f->info = CSIMI_PUSH(arena, csim_contact_info, n->contacts);
    f->ended = CSIMI_PUSH(arena, uint64_t, n->contacts);
    f->carried = CSIMI_PUSH(arena, unsigned char, n->contacts);
}
