/* store/spans: the unknowns of a step, one line of CSIMI_UNKNOWNS a kind of body. Models know where the blocks of their
   kind begin (model/private.h); here is where their velocities, last representatives and forces are kept. */
#include "private.h"

static CSIMI_UNUSED bool csimi_node_held(const csimi_store *s, int i) { return s->state.node_mode[i] != CSIMI_FREE; }
static CSIMI_UNUSED int csimi_node_owner(const csimi_store *s, int i) { return s->node_body[i]; }

static CSIMI_UNUSED bool csimi_rigid_held(const csimi_store *s, int i) { return s->state.rigid_mode[i] != CSIMI_FREE; }
static CSIMI_UNUSED int csimi_rigid_owner(const csimi_store *s, int i) { return s->rigid_body[i]; }

static CSIMI_UNUSED bool csimi_edge_held(const csimi_store *s, int i) { return s->state.frame_mode[i] != CSIMI_FREE; }
static CSIMI_UNUSED int csimi_edge_owner(const csimi_store *s, int i) { return s->frame_body[i]; }

/* An anchored base does not move, though it keeps its coordinates. */
static CSIMI_UNUSED bool csimi_coord_held(const csimi_store *s, int i) {
    const csimi_tree *tree = s->state.tree + s->coord_tree[i];
    return tree->mode != CSIMI_FREE || (tree->anchored && i < tree->first_block + tree->base_blocks);
}
static CSIMI_UNUSED int csimi_coord_owner(const csimi_store *s, int i) { return s->tree_body[s->coord_tree[i]]; }

/* Nothing holds on to a massless coordinate until a soft row does. */
static CSIMI_UNUSED bool csimi_slack_held(const csimi_store *s, int i) { return s->axes[i].link >= 0; }
static CSIMI_UNUSED int csimi_slack_owner(const csimi_store *s, int i) {
    const csimi_link *l = s->link + s->axes[i].link;
    return l->body[l->body[0] < 0 || s->body[l->body[0]].motion != CSIM_DYNAMIC ? 1 : 0];
}

CSIMI_FN void csimi_spans(const csimi_store *s, const csimi_state *state, csimi_span *span) {
    int first = 0;
#define CSIMI_X(kind, axis, blocks, velocity_of, rep_of, force_of) \
    span->first = first;                                           \
    span->count = s->count.axis;                                   \
    span->per = blocks;                                            \
    span->velocity = state->velocity_of;                           \
    span->rep = s->rep_of;                                         \
    span->force = state->force_of;                                 \
    span->held = csimi_##kind##_held;                              \
    span->owner = csimi_##kind##_owner;                            \
    first += blocks * s->count.axis;                               \
    span++;
    CSIMI_UNKNOWNS(CSIMI_X)
#undef CSIMI_X
}

CSIMI_FN void csimi_mark_held(const csimi_store *s, unsigned char *held) {
    csimi_span span[CSIMI_SPANS], *a;
    int i, k;
    csimi_spans(s, &s->state, span);
    for (a = span; a < span + CSIMI_SPANS; a++)
        for (i = 0; i < a->count; i++)
            for (k = 0; k < a->per; k++) held[a->first + a->per * i + k] = a->held(s, i);
}

CSIMI_FN int csimi_block_owner(const csimi_store *s, int block) {
#define CSIMI_X(kind, axis, blocks, velocity_of, rep_of, force_of)                      \
    if (block < blocks * s->count.axis) return csimi_##kind##_owner(s, block / blocks); \
    block -= blocks * s->count.axis;
    CSIMI_UNKNOWNS(CSIMI_X)
#undef CSIMI_X
    return -1; /* no block of this world */
}
