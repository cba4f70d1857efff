/* store/reduced_state: nodes of reduced bodies follow their rates, and what a program asks of these and sets. */
#include "private.h"

/* ---- following */

CSIMI_FN void csimi_reduced_refresh(csimi_store *s, int t) {
    const csimi_tree *tree = s->state.tree + t;
    csim_real *rate = s->state.coord_rate + 3 * tree->first_block, *rep = s->coord_rep + 3 * tree->first_block;
    int k;
    if (tree->modes == 0) return;
    for (k = 6; k < 3 * tree->block_count && tree->mode != CSIMI_FREE; k++) rate[k] = rep[k] = 0;
    csimi_reduced_follow(&s->state, t, NULL, s->state.x);
    csimi_reduced_follow(&s->state, t, rate, s->state.v);
    csimi_reduced_follow(&s->state, t, rep, s->node_rep);
    csimi_look_moved(s, s->tree_body[t]);
}

/* ---- the public getters and setters */

static csim_status csimi_find_reduced(const csim_world *w, csim_body_id id, const char *fn, const csimi_tree **tree,
                                      int *index, csim_error *error) {
    int slot;
    csim_status s;
    if ((s = csimi_find_body(w, id, fn, &slot, error)) != 0) return s;
    if (w->store.body[slot].kind != CSIM_BODY_REDUCED)
        return csimi_fail(error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a reduced body");
    *index = w->store.body[slot].tree;
    *tree = w->store.state.tree + *index;
    return CSIM_OK;
}

CSIM_API csim_status csim_reduced_get_state(const csim_world *w, csim_body_id id, csim_real *q, csim_real *rate) {
    const csimi_tree *tree = NULL;
    int k, t;
    csim_status status;
    if (!w) return CSIM_NULL_ARGUMENT;
    if ((status = csimi_find_reduced(w, id, "csim_reduced_get_state", &tree, &t, NULL)) != 0) return status;
    for (k = 0; k < tree->modes; k++) {
        const int at = 3 * tree->first_block + 6 + k;
        if (q) q[k] = w->store.state.coord_position[at];
        if (rate) rate[k] = w->store.state.coord_rate[at];
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_reduced_set_state(csim_world *w, csim_body_id id, const csim_real *q, const csim_real *rate) {
    static const char fn[] = "csim_reduced_set_state";
    const csimi_tree *tree = NULL;
    int k, t;
    csim_status status;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, fn, NULL, NULL);
    if ((status = csimi_find_reduced(w, id, fn, &tree, &t, &w->error)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "q", q, tree->modes)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "rate", rate, tree->modes)) != 0) return status;
    csimi_wake(w, w->store.tree_body[t]);
    for (k = 0; k < tree->modes; k++) {
        const int at = 3 * tree->first_block + 6 + k;
        if (q) w->store.state.coord_position[at] = q[k];
        if (rate) w->store.state.coord_rate[at] = w->store.coord_rep[at] = rate[k];
    }
    csimi_reduced_refresh(&w->store, t);
    return CSIM_OK;
}
