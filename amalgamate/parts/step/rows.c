/* step/rows: found contacts become rows of the problem: frames, terms, laws, phi, warm starts. */
#include "private.h"

/* What the virtual nodes of a contact that carried an impulse let through in the last step: its gap shrank although it
   was closed. A midpoint velocity at the end of a step holds it twice, and taking it for an approach to be stopped
   would double the slip of every later step. 0 for new contacts and where the gap did not shrink. */
static csim_real csimi_slip_let_through(const csim_world *w, const csimi_found_contact *found) {
    const csim_contact_info *last = found->last >= 0 ? w->store.contact + found->last : NULL;
    if (!last || !(last->normal_impulse > 0) || !(w->last_h > 0)) return 0;
    return csimi_max(0, last->gap - found->gap) / (csim_real)w->last_h;
}

static void csimi_mix(const csim_world *w, const csimi_found_contact *f, csim_contact *c, csim_real *restitution) {
    const csim_surface_def *A = csimi_surface_def_of(&w->store, f->body_a, f->part_a),
                           *B = csimi_surface_def_of(&w->store, f->body_b, f->part_b);
    c->mu[0] = CSIMI_SQRT(A->friction * B->friction);
    *restitution = csimi_max(A->restitution, B->restitution);
    if (w->def.mix_friction || w->def.mix_restitution) {
        const csim_pair_info info = csimi_pair_of(w, f->body_a, f->part_a, f->body_b, f->part_b);
        if (w->def.mix_friction) c->mu[0] = w->def.mix_friction(w->def.callback_user, &info);
        if (w->def.mix_restitution) *restitution = w->def.mix_restitution(w->def.callback_user, &info);
    }
    c->mu[1] = c->mu[0];
    if (CSIMI_HAS_LAWS && (A->friction2 >= 0 || B->friction2 >= 0)) {
        csim_real p = A->friction2 >= 0 ? A->friction2 : A->friction,
                  q = B->friction2 >= 0 ? B->friction2 : B->friction;
        c->law = CSIM_LAW_ANISOTROPIC;
        c->mu[1] = CSIMI_SQRT(p * q);
    }
}

/* The direction of the first friction coefficient, world axes; false when friction is isotropic. */
static bool csimi_friction_direction(const csim_world *w, const csimi_found_contact *f, csim_real *hint) {
    const csimi_store *s = &w->store;
    const bool first = csimi_surface_def_of(s, f->body_a, f->part_a)->friction2 >= 0;
    const int slot = first ? f->body_a : f->body_b;
    const csim_surface_def *surface = csimi_surface_def_of(s, slot, first ? f->part_a : f->part_b);
    csim_pose pose;
    if (surface->friction2 < 0) return false; /* < 0: the same in all directions */
    pose = csimi_body_pose(s, &s->state, slot);
    csimi_store3(hint, csim_rotate(pose.rotation, surface->friction_direction));
    return true;
}

/* Velocity with which a surface runs over its body, world axes, m/s. */
static csim_vec3 csimi_belt(const csimi_store *s, int slot, int shape) {
    const csim_vec3 v = csimi_surface_def_of(s, slot, shape)->velocity;
    csim_pose pose;
    if (!(csim_dot(v, v) > 0)) return v;
    pose = shape >= 0 ? csimi_shape_pose(s, &s->state, shape) : csimi_body_pose(s, &s->state, slot);
    return csim_rotate(pose.rotation, v);
}

/* Surfaces that run: their difference along the contact is slip that no body has. */
static void csimi_add_belts(const csimi_store *s, const csimi_found_contact *f, csim_contact *c) {
    const csim_vec3 d = csim_sub(csimi_belt(s, f->body_a, f->part_a), csimi_belt(s, f->body_b, f->part_b));
    if (!(csim_dot(d, d) > 0)) return;
    c->phi[1] += csim_dot(csimi_load3(c->R + 3), d);
    c->phi[2] += csim_dot(csimi_load3(c->R + 6), d);
}

/* An overlap that is no more than the rounding of positions in float is none: nothing would come to rest on it. */
static csim_real csimi_gap_told(const csimi_found_contact *c) {
    const csim_real far = csimi_abs(c->meet.x) + csimi_abs(c->meet.y) + csimi_abs(c->meet.z);
    if (sizeof far == sizeof(double) || !(c->gap < 0)) return c->gap;
    return csimi_min(c->gap + 4 * CSIMI_EPS * far, 0);
}

static void csimi_contact_row(csim_world *w, csimi_step_frame *f, const csimi_last_table *r, int i) {
    csimi_found_contact *found = f->found + i;
    const csimi_state *s = &w->store.state;
    const csimi_place *a = &found->a, *b = &found->b;
    csim_contact *c = f->contacts + i;
    csim_real n[3], hint[3], restitution = 0, approach, free_end, *lambda = f->lambda + 3 * i, u[3];
    CSIMI_MEMSET(c, 0, sizeof *c);
    /* > 0: it is told again */
    found->last = CSIMI_TELLS && found->last > 0 ? found->last - 1 : csimi_last_contact(w, r, found->id);
    if (csimi_passes(w, f, found->body_a, found->body_b)) return; /* found as it was, with what was kept of it */
    if (found->last < 0 && csimi_keeps(w)) found->last = f->kept[i].heir - 1; /* heir 0: none */
    c->law = w->def.law;
    csimi_mix(w, found, c, &restitution);
    csimi_store3(n, found->normal);
    csimi_frame(n, CSIMI_HAS_LAWS && csimi_friction_direction(w, found, hint) ? hint : NULL, c->R);
    c->omega[0] = w->def.omega[0];
    c->omega[1] = w->def.omega[1];
    c->mask = 7;
    csimi_sides(f, s, a, found->meet, b, csimi_keeps(w) && f->kept[i].kept.pair ? f->kept[i].meet_b : found->meet, c);
    CSIMI_MEMCPY(u, c->phi, sizeof u); /* what moves by itself, and what is to be solved for */
    csimi_row_velocity(f, c, u); /* u_n of the start: what is given, plus J v_k */
    approach = u[0];
    /* after u was taken: a belt runs along the surface, and adds nothing to the approach */
    csimi_add_belts(&w->store, found, c);
    if (csimi_is_middle(w)) approach += 2 * csimi_slip_let_through(w, found);
    free_end = approach;
    if (w->def.integrator != CSIM_BACKWARD_EULER) /* which asks for the start of the step alone */
        free_end +=
            f->h * csim_dot(found->normal, csim_sub(csimi_place_acceleration(s, a), csimi_place_acceleration(s, b)));
    found->left = csimi_keeps(w) ? csimi_kept_phi(w, f, i, restitution, approach)
                                 : csimi_phi(w, f, csimi_gap_told(found), restitution, approach, free_end);
    c->phi[0] += found->left;
    if (w->def.integrator == CSIM_HALF_STEP) csimi_slip_of_the_end(f, c, 1); /* 1: the two of friction */
    lambda[0] = lambda[1] = lambda[2] = 0;
    if (found->last >= 0) {
        csim_real world[3];
        /* kept in world axes, since the frame turns with the normal from step to step */
        csimi_store3(world, csim_scale(csimi_warm_scale(w, f), w->store.contact[found->last].impulse));
        csimi_mul3(c->R, world, lambda);
    }
}

/* Contacts have places for their terms, so that any thread may fill any of them. */
typedef struct csimi_rows_job {
    csim_world *world;
    const csimi_step_frame *frame;
    const csimi_last_table *last;
    int stride; /* terms of a contact at most */
} csimi_rows_job;

static CSIMI_NOINLINE void csimi_rows_range(void *context, int begin, int end) {
    const csimi_rows_job *j = (const csimi_rows_job *)context;
    csimi_step_frame f = *j->frame; /* with a term_count of its own */
    for (; begin < end; begin++) {
        f.term_count = j->stride * begin;
        csimi_contact_row(j->world, &f, j->last, begin);
        /* places left over name a block that there is: renumbering for islands goes through all terms */
        for (; f.term_count < j->stride * (begin + 1); f.term_count++) f.terms[f.term_count].block = 0;
    }
}

CSIMI_FN CSIMI_NOINLINE void csimi_rows(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    const bool asks = w->def.mix_friction || w->def.mix_restitution; /* the user, by the thread that steps */
    csimi_last_table r;
    csimi_rows_job job;
    size_t mark = arena->used;
    csimi_last_layout(&r, &w->store.count, arena); /* of the last contacts: no more than the capacities hold */
    csimi_place_prepare(&w->store.state, &w->def.tasks);
    csimi_index_contacts(w, &r);
    csimi_pass_known(w, f);
    job.world = w;
    job.frame = f;
    job.last = &r;
    job.stride = (CSIMI_MEETS ? 2 : 1) * csimi_most_side(&w->store.capacity);
    /* 256 a range; each row depends on its own contact alone, so that ranges may come in any order */
    csimi_parallel(asks ? NULL : &w->def.tasks, f->found_count, 256, csimi_rows_range, &job);
    f->term_count = job.stride * f->found_count;
    f->contact_count = f->found_count;
    csimi_rolling_rows(w, f);
    f->first_joint_row = f->contact_count;
    csimi_joint_rows(w, f);
    csimi_pop(arena, mark);
}
