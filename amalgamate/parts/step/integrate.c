/* step/integrate: from the velocities of a step to the state at its end. */
#include "private.h"

/* Nodes of reduced bodies are no unknowns: their velocities follow from the rates, of the step and at its end. */
static void csimi_reduced_step_velocities(csim_world *w, csimi_step_frame *f) {
    const csimi_state *s = &w->store.state;
    int t;
    for (t = 0; t < s->tree_count; t++) {
        const csimi_tree *tree = s->tree + t;
        if (tree->modes == 0) continue; /* articulated: it has no nodes */
        csimi_reduced_follow(s, t, f->v + 3 * (csimi_first_coord_block(s) + tree->first_block), f->v);
        csimi_reduced_follow(&f->next, t, f->next.coord_rate + 3 * tree->first_block, f->next.v);
    }
}

static bool csimi_is_finite(const csimi_store *s, const csimi_step_frame *f) {
    bool finite = csimi_all_finite(f->v_end, 3 * f->blocks);
#define CSIMI_X(axis, name, per) finite = finite && csimi_all_finite(f->next.name, (per) * s->count.axis);
    CSIMI_POSITIONS(CSIMI_X)
#undef CSIMI_X
    return finite;
}

/* v_{k+1} = v_k + (v - v_k) / theta, positions by v; of a two-step world the second half of the way. */
CSIMI_FN csim_status csimi_integrate(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    csimi_store *s = &w->store;
    csimi_span span[CSIMI_SPANS];
    const csim_real theta = f->theta, *v = f->v, *vk = f->vk;
    csim_real *end = f->v_end;
    int i, count = 3 * f->blocks;
    /* what is given has one velocity all through the step */
    for (i = 0; i < count; i++) end[i] = f->skip[i / 3] ? v[i] : vk[i] + (v[i] - vk[i]) / theta;
    /* XPBD and bounded frames push out by positions, and tell by which velocity in rep: it stays out of v_{k+1} */
    csimi_advance(w, step, w->def.integrator == CSIM_TWO_STEP ? f->h / 2 : f->h, f->moves ? f->rep : f->v, &f->next);
    csimi_spans(s, &f->next, span);
    for (i = 0; i < CSIMI_SPANS; i++)
        CSIMI_MEMCPY(span[i].velocity, f->v_end + 3 * (size_t)span[i].first, csimi_span_bytes(span + i));
    csimi_reduced_step_velocities(w, f);
    if (csimi_is_finite(s, f)) return CSIM_OK;
    return csimi_deny(&w->error, CSIM_NON_FINITE_RESULT, "csim_world_step", "velocity or position",
                      "finite numbers; the step was undone");
}
