/* step/strain: what springs bore in a step, and which of them let go. */
#include "private.h"

/* The force that the step took: of the length at its end, where forces are those of the middle half way; the damper saw
   the mean rate. */
static csim_real csimi_spring_tension(const csim_world *w, const csimi_step_frame *f, int k) {
    const csim_real *data = w->store.state.spring_data + 3 * (size_t)k;
    const csim_real before = csimi_spring_length(&w->store.state, k), after = csimi_spring_length(&f->next, k);
    const csim_real length = w->def.integrator == CSIM_BACKWARD_EULER ? after : (before + after) / 2;
    return data[1] * (length - data[0]) + data[2] * (after - before) / f->h; /* rest length, N/m, N s/m */
}

/* A spring that bore more than it can has no stiffness any more; its blocks of A go with the next pattern. */
CSIMI_FN void csimi_springs_commit(csim_world *w, const csimi_step_frame *f) {
    csimi_store *s = &w->store;
    int i;
    for (i = 0; i < s->count.springs; i++) {
        csimi_link *l = s->link + s->spring_link[i];
        l->tension = csimi_spring_tension(w, f, i);
        l->broke = l->break_force > 0 && !l->broken && csimi_abs(l->tension) > l->break_force;
        if (!l->broke) continue;
        l->broken = true;
        s->state.spring_data[3 * i + 1] = s->state.spring_data[3 * i + 2] = 0;
        w->pattern_stale = true;
    }
}
