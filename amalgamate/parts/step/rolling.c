/* step/rolling: a couple that resists rolling. A contact that presses with N resists with at most c N along the
   surface, c the larger rolling_resistance of the two surfaces [m]: how far ahead of its middle the ground presses on a
   wheel. N is that of the step before, so that the couple is a row with fixed bounds, the certificate judges it as it
   does dry friction of a joint, and neither law knows of the other. */
#include "private.h"

/* Whether a couple can turn it: given bodies and massless links are left out of the mass. */
static bool csimi_turns_freely(const csimi_state *s, const csimi_place *p) {
    return (p->kind == CSIMI_PLACE_RIGID && s->rigid_mode[p->item] == CSIMI_FREE) || csimi_link_weighs(s, p);
}

static csim_real csimi_rolling_mass(const csimi_state *s, const csimi_place *p) {
    return p->kind == CSIMI_PLACE_LINK ? s->tree_link[p->item].mass : s->rigid_mass[p->item];
}

static csim_vec3 csimi_rolling_centre(const csimi_state *s, const csimi_place *p) {
    if (p->kind != CSIMI_PLACE_LINK) return csimi_load3(s->com + 3 * (size_t)p->item);
    return csim_pose_point(csimi_link_pose(s, p->item), s->tree_link[p->item].com);
}

/* How it turns at the start of the step. */
static csim_vec3 csimi_rolling_turn(const csimi_step_frame *f, const csimi_state *s, const csimi_place *p) {
    csim_vec3 turn = csim_v3(0, 0, 0);
    if (p->kind == CSIMI_PLACE_RIGID)
        turn = csimi_load3(f->vk + 3 * ((size_t)s->node_count + 2 * (size_t)p->item + 1));
    else if (p->kind == CSIMI_PLACE_LINK)
        csimi_link_velocity(s, p->item, csimi_place_point(s, p), s->coord_rate, &turn);
    return turn;
}

static csim_real csimi_rolling_length(const csimi_store *s, const csimi_found_contact *c) {
    const csim_real length = csimi_max(csimi_surface_def_of(s, c->body_a, c->part_a)->rolling_resistance,
                                       csimi_surface_def_of(s, c->body_b, c->part_b)->rolling_resistance);
    if (!(length > 0) || !csimi_place_has_axes(&c->a)) return 0;
    return csimi_place_has_axes(&c->b) ? length : 0; /* nodes would take it otherwise */
}

CSIMI_FN int csimi_rolling_count(const csim_world *w, const csimi_step_frame *f) {
    int i, n = 0;
    for (i = 0; i < f->found_count; i++) n += csimi_rolling_length(&w->store, f->found + i) > 0;
    return n;
}

static csim_vec3 csimi_along(csim_vec3 x, csim_vec3 n) { return csim_madd(x, -csim_dot(x, n), n); }

/* What the couple on a has to do, N m s: to take its turning against b along the surface, and near rest also what
   friction of the step before turned it by. */
static csim_vec3 csimi_rolling_trial(const csimi_step_frame *f, const csimi_state *s, const csimi_found_contact *c,
                                     csim_vec3 push, csim_real inertia, csim_real bound) {
    csim_vec3 turn = csim_v3(0, 0, 0), couple = turn; /* couple: on b friction acts reversed, and so does its turn */
    int k;
    for (k = 1; k >= 0; k--) {
        const csimi_place *p = k ? &c->b : &c->a;
        turn = csim_sub(csimi_rolling_turn(f, s, p), turn); /* of a less that of b */
        if (csimi_turns_freely(s, p)) /* of a, if it can */
            couple = csim_cross(csim_sub(c->meet, csimi_rolling_centre(s, p)), push);
    }
    turn = csim_scale(inertia, csimi_along(turn, c->normal));
    /* faster than the couple can stop, its direction is that of the turn alone */
    return csim_length(turn) > bound ? turn : csim_add(turn, csimi_along(couple, c->normal));
}

/* scale (omega_a - omega_b): first along what is to be stopped, then across; about the normal it is free. */
static void csimi_rolling_row(const csim_world *w, csimi_step_frame *f, const csimi_found_contact *found,
                              csim_real bound) {
    const csimi_state *s = &w->store.state;
    const csim_contact_info *last = w->store.contact + found->last;
    const csim_vec3 n = found->normal, push = csim_scale(csimi_warm_scale(w, f), csimi_along(last->impulse, n));
    const csimi_place *end[2] = {&found->a, &found->b};
    csim_contact *c = f->contacts + f->contact_count;
    csim_real *lambda = f->lambda + 3 * (size_t)f->contact_count++;
    csim_real scale = csimi_turn_scale(s, &found->a, &found->b), mass = 0, axis[3]; /* mass: sum of 1/m, 1/kg */
    csim_vec3 trial;
    int k, i;
    CSIMI_MEMSET(c, 0, sizeof *c);
    for (k = 0; k < 2; k++)
        if (csimi_turns_freely(s, end[k])) mass += 1 / csimi_rolling_mass(s, end[k]);
    /* scale^2 is 3 sum(1/m) / tr(sum of I^-1): over sum(1/m) an inertia, kg m^2 */
    trial = csimi_rolling_trial(f, s, found, push, mass > 0 ? scale * scale / mass : 0, bound);
    /* the law is a box and not a disk: its first axis lies along the motion, where both say the same */
    csimi_store3(axis, csim_dot(trial, trial) > 0 ? csim_normalize(trial)
                                                  : csimi_load3(f->contacts[found - f->found].R + 3));
    csimi_store3(c->R + 6, n);
    CSIMI_MEMCPY(c->R, axis, sizeof axis);
    csimi_store3(c->R + 3, csim_cross(n, csimi_load3(axis)));
    c->law = CSIM_LAW_BOX; /* lo = hi = 0 about the normal: no couple there */
    for (k = 0; k < 2; k++) {
        csim_real D[9];
        for (i = 0; i < 9; i++) D[i] = i % 4 == 0 ? scale : 0;
        csimi_turn_side(f, s, end[k], D, c, k);
        c->hi[k] = bound / scale;
        c->lo[k] = -c->hi[k];
    }
    lambda[0] = -csimi_min(csim_length(trial), bound) / scale;
    lambda[1] = lambda[2] = 0;
    if (w->def.integrator == CSIM_HALF_STEP) csimi_slip_of_the_end(f, c, 0);
}

CSIMI_FN csim_real csimi_rolling_bound(const csim_world *w, const csimi_step_frame *f, const csimi_found_contact *c) {
    const csimi_store *s = &w->store;
    /* a new contact has no N of the step before: it rolls freely for one step */
    const csim_real length = c->last >= 0 ? csimi_rolling_length(s, c) : 0;
    return length > 0 ? length * csimi_warm_scale(w, f) * s->contact[c->last].normal_impulse : 0;
}

CSIMI_FN void csimi_rolling_rows(const csim_world *w, csimi_step_frame *f) {
    int i;
    for (i = 0; i < f->found_count; i++) {
        const csim_real bound = csimi_rolling_bound(w, f, f->found + i);
        if (bound > 0) csimi_rolling_row(w, f, f->found + i, bound);
    }
}
