/* step/narrow: two objects whose bounds meet, and a solid with itself: who is a and b, and what of them meets. */
#include "private.h"

/* The link that a shape moves with: the first one up the tree that has a joint to move in. */
static int csimi_moving_link(const csimi_store *s, int shape) {
    int link = s->state.tree[s->body[s->shape_body[shape]].tree].first_link + s->shape_link[shape];
    while (s->state.tree_link[link].dofs == 0 && s->state.tree_link[link].parent >= 0)
        link = csimi_link_above(&s->state, link);
    return link;
}

/* Whether two shapes of one tree are on one link or on neighbours. */
static bool csimi_neighbours(const csimi_store *s, int shape_a, int shape_b) {
    int a = csimi_moving_link(s, shape_a), b = csimi_moving_link(s, shape_b), pass;
    if (a == b) return true;
    for (pass = 0; pass < 2; pass++) {
        const int below = pass ? b : a, other = pass ? a : b;
        int above = csimi_link_above(&s->state, below);
        /* links without a joint count as one with the link that carries them */
        while (above >= 0 && s->state.tree_link[above].dofs == 0 && s->state.tree_link[above].parent >= 0)
            above = csimi_link_above(&s->state, above);
        if (above == other) return true; /* a joint joins the two: their shapes may overlap there */
    }
    return false;
}

/* By category, group, links and the user's filter; -1: a body of nodes, which has no shapes. */
static bool csimi_objects_may_touch(const csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    return csimi_may_touch(d, a->body, a->kind == CSIMI_OBJECT_SHAPE ? a->item : -1, b->body,
                           b->kind == CSIMI_OBJECT_SHAPE ? b->item : -1);
}

/* A sensor and what it may see: not its own body, and no other sensor. */
static bool csimi_senses(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    const csimi_skin *skin = d->world->store.skin;
    const bool first = a->kind == CSIMI_OBJECT_SHAPE && skin[a->item].sensor;
    const bool second = b->kind == CSIMI_OBJECT_SHAPE && skin[b->item].sensor;
    if (first != second && a->body != b->body && csimi_objects_may_touch(d, a, b))
        csimi_sense_pair(d, first ? a : b, first ? b : a);
    return first || second;
}

static bool csimi_objects_meet(const csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    const csimi_store *s = &d->world->store;
    /* neither can be moved: an impulse between them would act on nothing */
    if (s->body[a->body].motion != CSIM_DYNAMIC && s->body[b->body].motion != CSIM_DYNAMIC) return false;
    /* two shapes of one body: links of a tree with self_contact, where categories and filters have no say */
    return a->body == b->body ? !csimi_neighbours(s, a->item, b->item) : csimi_objects_may_touch(d, a, b);
}

static void csimi_trade(const csimi_object **a, const csimi_object **b) {
    const csimi_object *own = *a;
    *a = *b;
    *b = own;
}

/* Whether both are shapes; the one that moves freely comes first. */
static bool csimi_are_shapes(const csimi_detector *d, const csimi_object **a, const csimi_object **b) {
    const csimi_body *body = d->world->store.body;
    if ((*a)->kind != CSIMI_OBJECT_SHAPE || (*b)->kind != CSIMI_OBJECT_SHAPE) return false;
    if (body[(*a)->body].motion != CSIM_DYNAMIC) csimi_trade(a, b);
    return true;
}

/* Decides who is a and b: free bodies before fixed ones, points before shapes. Solids have points and a surface: both
   sides look for each other. */
CSIMI_FN void csimi_collide_pair(csimi_detector *d, int pair) {
    const csimi_object *a = d->object + d->pairs[2 * pair], *b = d->object + d->pairs[2 * pair + 1];
    const csimi_body *A = d->world->store.body + a->body, *B = d->world->store.body + b->body;
    const csimi_early *early = d->early ? d->early + pair : NULL;
    int k;
    /* what threads found has been asked this before */
    if (!csimi_is_early(early) && (csimi_senses(d, a, b) || !csimi_objects_meet(d, a, b))) return;
    if (csimi_are_shapes(d, &a, &b)) {
        csimi_collide_shapes(d, a, b, early);
        return;
    }
    if (a->kind == CSIMI_OBJECT_SHAPE || (a->kind != CSIMI_OBJECT_SOLID && b->kind == CSIMI_OBJECT_SOLID))
        csimi_trade(&a, &b); /* the solid first */
    csimi_collide_points(d, a, b);
    if (a->kind != CSIMI_OBJECT_SOLID) return; /* particles have neither edges nor a surface */
    /* what is narrower than the nodes of a cable are apart would go through between them */
    if (b->kind != CSIMI_OBJECT_SOLID && d->world->store.body[a->body].edge_contact) csimi_collide_edges(d, a, b);
    for (k = 0; k < 2 && b->kind == CSIMI_OBJECT_SOLID; k++) {
        const csimi_object *cable = k ? b : a, *of = k ? a : b;
        const csimi_body *C = d->world->store.body + cable->body;
        if (C->kind == CSIM_BODY_CABLE && C->edge_contact && d->world->store.body[of->body].edge > 0)
            csimi_touch_surface(d, cable, of);
    }
    /* the other side: points of b in the surface of a, so that a fine body does not go through a coarse one */
    if (b->kind == CSIMI_OBJECT_SHAPE)
        csimi_collide_samples(d, b, a);
    else
        csimi_collide_points(d, b, a);
    /* borders and folds of two sheets cross where no vertex of either comes near the other */
    if (A->kind == CSIM_BODY_CLOTH && B->kind == CSIM_BODY_CLOTH && A->edge_contact && B->edge_contact)
        csimi_touch_sheets(d, a, b);
}

/* ---- shapes ahead of the rest, by several threads: what they find lies in memory that detection leaves */

#if CSIMI_SIDE_BY_SIDE
enum { CSIMI_EARLY_PAIRS = 64, CSIMI_EARLY_TOUCHES = 8 }; /* of a range; touches that a pair has room for */

typedef struct csimi_early_job {
    csimi_detector *d;
    csim_touch *touch;
} csimi_early_job;

static void csimi_early_range(void *context, int begin, int end) {
    const csimi_early_job *job = (const csimi_early_job *)context;
    const csimi_detector *d = job->d;
    const csimi_skin *skin = d->world->store.skin;
    csim_touch *at = job->touch + (ptrdiff_t)CSIMI_EARLY_TOUCHES * begin;
    const csim_touch *last = job->touch + (ptrdiff_t)CSIMI_EARLY_TOUCHES * end;
    for (; begin < end; begin++) {
        const csimi_object *a = d->object + d->pairs[2 * begin], *b = d->object + d->pairs[2 * begin + 1];
        d->early[begin].touch = NULL;
        d->early[begin].first = -1;
        if (!csimi_are_shapes(d, &a, &b) || skin[a->item].sensor || skin[b->item].sensor) continue;
        /* after the sensors, which pair with shapes of their own body that have no links to be neighbours by. Room of
           the range's own; where it does not do, the pair is left to the main pass, which finds the same */
        if (csimi_objects_meet(d, a, b)) at += csimi_shapes_early(job->d, begin, a, b, at, (int)(last - at));
    }
}

CSIMI_FN CSIMI_NOINLINE void csimi_collide_early(csimi_detector *d, int pairs, csimi_arena *arena) {
    csimi_early_job job;
    /* the filter of the user is asked by the thread that steps alone; up to one range there is nothing to share */
    if (!csimi_has_threads(d->world) || d->world->def.filter || pairs <= CSIMI_EARLY_PAIRS) return;
    job.d = d;
    d->early = CSIMI_PUSH(arena, csimi_early, pairs);
    job.touch = CSIMI_PUSH(arena, csim_touch, (size_t)CSIMI_EARLY_TOUCHES * (size_t)pairs);
    if (arena->overflow)
        d->early = NULL;
    else
        csimi_parallel(&d->world->def.tasks, pairs, CSIMI_EARLY_PAIRS, csimi_early_range, &job);
    /* no room to look ahead is no failure: the pairs are then collided one by one */
    arena->overflow = false;
}
#endif
