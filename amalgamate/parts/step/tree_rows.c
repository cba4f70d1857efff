/* step/tree_rows: limits, dry friction and drives of limited effort of the joints of trees,
   each a box on one coordinate. */
#include "private.h"

/* Row `kind` of a link's joint: sign * rate of coordinate c + phi, impulse in [lo, hi]. */
static void csimi_tree_joint_row(csim_world *w, csimi_step_frame *f, int link, int kind, int c, csim_real sign,
                                 csim_real phi, csim_real lo, csim_real hi) {
    const csimi_state *s = &w->store.state;
    const csimi_tree *tree = s->tree + s->tree_link[link].tree;
    const int i = f->contact_count, at = CSIMI_TREE_JOINT_ROWS * link + kind;
    csim_contact *row = f->contacts + i;
    csim_term *term = f->terms + f->term_count;
    if (f->tree_rows++ >= w->store.capacity.tree_rows) return; /* counted beyond the capacity too */
    f->contact_count++;
    CSIMI_MEMSET(row, 0, sizeof *row);
    CSIMI_MEMSET(term, 0, sizeof *term);
    row->law = CSIM_LAW_BOX;
    row->R[0] = row->R[4] = row->R[8] = 1; /* row 0 is the coordinate itself: no axes in space */
    row->a.first = row->b.first = f->term_count++;
    row->a.count = 1;
    term->block = csimi_first_coord_block(s) + tree->first_block + c / 3; /* three coordinates a block */
    term->J[c % 3] = sign;
    row->phi[0] = phi;
    row->lo[0] = lo;
    row->hi[0] = hi;
    f->lambda[3 * i] = csimi_warm_scale(w, f) * w->store.link_impulse[at];
    f->lambda[3 * i + 1] = f->lambda[3 * i + 2] = 0;
    f->tree_row[i - f->first_tree_row] = at;
}

/* One end of the range of a joint that may be reached in this step; sign +1: the lower one. A soft one
       lambda = -kappa (v + bias),   bias = h k gap / kappa beyond it, gap / h before it,   kappa = sigma h^2 k + h c,
   acts on the massless coordinate behind it, which gives way by lambda / kappa. */
static void csimi_limit_row(csim_world *w, csimi_step_frame *f, int link, csim_real sign) {
    const csimi_state *s = &w->store.state;
    const csimi_tree_link *l = s->tree_link + link;
    const csim_real *give = s->link_work[link].give;
    const csimi_tree_end end = csimi_tree_end_of(s, link, f->h, sign);
    const bool soft = l->yield >= 0 && give[1] > 0; /* the coordinate w behind it has kappa in A */
    csim_real phi;
    if (!end.near) return;
    if (soft)
        phi = end.gap < 0 ? f->h * give[0] * end.gap / give[1] : end.gap / f->h;
    else
        phi = csimi_phi(w, f, end.gap, 0, end.rate, end.rate);
    /* an end pushes back and never pulls */
    csimi_tree_joint_row(w, f, link, sign > 0 ? 0 : 1, soft ? l->yield : l->coord, sign, phi, 0, CSIMI_HUGE);
}

/* Only drives that were near their limit in the last step have a row from the start. The others are solved for inside
   A, which is cheaper and better conditioned, and get one where that asks more of them than they can give. */
CSIMI_FN void csimi_tree_choose_bounds(csim_world *w) {
    const bool all = w->def.integrator != CSIM_BACKWARD_EULER;
    csimi_state *s = &w->store.state;
    int i;
    for (i = 0; i < s->tree_link_count; i++) {
        csimi_tree_link *l = s->tree_link + i;
        const csim_real last = csimi_abs(w->store.link_impulse[CSIMI_TREE_JOINT_ROWS * i + 3]);
        /* nine tenths of its effort: near enough to need the row again */
        l->bounded = l->slack >= 0 && l->effort > 0 && (all || last > CSIM_R(0.9) * l->effort * (csim_real)w->last_h);
    }
}

/* What a step decided is no state of the world: a failed step leaves the same bytes. */
CSIMI_FN void csimi_tree_forget_bounds(csim_world *w) {
    int i;
    for (i = 0; i < w->store.state.tree_link_count; i++) w->store.state.tree_link[i].bounded = false;
}

/* Impulse of a drive without a row at the velocities of the frame. */
static csim_real csimi_drive_inside(const csim_world *w, const csimi_step_frame *f, const csimi_step *step, int i) {
    const csimi_state *s = &w->store.state;
    const csimi_tree_link *l = s->tree_link + i;
    const int c = 3 * (csimi_first_coord_block(s) + s->tree[l->tree].first_block) + l->coord; /* of the numbers of v */
    csim_real error[3];
    csimi_drive_error(s, i, error);
    /* h (k e + c rate) - D v */
    return csimi_drive_impulse(s, step, i, 0, error[0]) - csimi_drive_gain(l, step) * f->v[c];
}

CSIMI_FN bool csimi_tree_overruns(csim_world *w, const csimi_step_frame *f, const csimi_step *step, int pass) {
    csimi_state *s = &w->store.state;
    bool found = false;
    int i;
    for (i = 0; i < s->tree_link_count; i++) {
        csimi_tree_link *l = s->tree_link + i;
        /* no bound, or a tree that is led */
        if (l->bounded || l->slack < 0 || !(l->effort > 0) || s->tree[l->tree].mode != CSIMI_FREE) continue;
        if (!(csimi_abs(csimi_drive_inside(w, f, step, i)) > f->h * l->effort)) continue;
        l->bounded = found = true;
    }
    /* from the fourth pass on all drives of limited effort get a row, so that passes come to an end */
    for (i = 0; i < s->tree_link_count && found && pass >= 3; i++)
        s->tree_link[i].bounded = s->tree_link[i].slack >= 0 && s->tree_link[i].effort > 0;
    return found;
}

CSIMI_FN csim_status csimi_tree_rows(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    const csimi_state *s = &w->store.state;
    int i;
    f->first_tree_row = f->contact_count;
    f->tree_rows = 0;
    for (i = 0; i < s->tree_link_count; i++) {
        const csimi_tree_link *l = s->tree_link + i;
        const csim_real D = csimi_drive_gain(l, step);
        /* balls and floating bases have no row */
        if (l->dofs != 1 || s->tree[l->tree].mode != CSIMI_FREE) continue;
        csimi_limit_row(w, f, i, 1);
        csimi_limit_row(w, f, i, -1);
        /* dry friction: at rest up to its bound, else against the rate */
        if (l->friction > 0) csimi_tree_joint_row(w, f, i, 2, l->coord, 1, 0, -f->h * l->friction, f->h * l->friction);
        if (l->bounded && D > 0) {
            csim_real error[3];
            csimi_drive_error(s, i, error);
            /* w is held at the rate at which the drive pushes no more: D (w - v) is then its impulse */
            csimi_tree_joint_row(w, f, i, 3, l->slack, 1, -csimi_drive_impulse(s, step, i, 0, error[0]) / D,
                                 -f->h * l->effort, f->h * l->effort);
        }
    }
    w->def.capacity.tree_rows = csimi_imax(w->def.capacity.tree_rows, f->tree_rows);
    if (f->tree_rows <= w->store.capacity.tree_rows) return CSIM_OK;
    return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "tree_rows needed", (double)f->tree_rows,
                      "at most capacity.tree_rows");
}

CSIMI_FN void csimi_tree_keep_rows(csim_world *w, const csimi_step_frame *f, const csimi_step *step) {
    csimi_store *s = &w->store;
    const csimi_state *t = &s->state;
    int i;
    for (i = 0; i < CSIMI_TREE_JOINT_ROWS * t->tree_link_count; i++) s->link_impulse[i] = 0;
    for (i = f->first_tree_row; i < f->contact_count; i++)
        s->link_impulse[f->tree_row[i - f->first_tree_row]] = f->lambda[3 * i];
    for (i = 0; i < t->tree_link_count; i++) { /* drives without a row work inside A */
        const csimi_tree_link *l = t->tree_link + i;
        if (l->dofs == 1 && csimi_drive_gain(l, step) > 0 && !l->bounded && t->tree[l->tree].mode == CSIMI_FREE)
            s->link_impulse[CSIMI_TREE_JOINT_ROWS * i + 3] = csimi_drive_inside(w, f, step, i);
    }
}
