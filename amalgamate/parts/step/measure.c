/* step/measure: what a step reports: penetration from the geometry, energies, the contact list and its events. */
#include "private.h"

#ifndef CONDSIM_NO_STATISTICS
#if CSIMI_HAS_NODES
/* The gap, or a lesser one between the solid of contact i and nodes of the body it meets that went otherwise than they
   were foreseen to: rows may have missed them. Once for each pair. */
static double csimi_strays_gap(const csim_world *w, const csimi_step_frame *f, csimi_surfaces *surfaces, int i,
                               double least) {
    const csimi_state *s = &w->store.state;
    const csimi_found_contact *pair = f->found + i;
    const csimi_body *b = w->store.body + pair->body_a;
    /* contacts of one pair follow each other: the nodes are gone through at the first of them */
    const bool seen = i > 0 && pair[-1].body_a == pair->body_a && pair[-1].surface_b == pair->surface_b;
    csimi_surface_hit hit;
    csim_real gap;
    int k;
    for (k = 0; k < b->surface_count && pair->surface_b >= 0 && pair->self < 0 && !seen; k++) {
        const size_t at = 3 * (size_t)w->store.surface_node[b->first_surface + k];
        const csim_vec3 x = csimi_load3(f->next.x + at), v = csimi_load3(s->v + at);
        /* x_k + h v_k is where detection looked for contacts of the node; off it, there may be none that holds it */
        if (csim_length(csim_sub(csim_madd(csimi_load3(s->x + at), f->h, v), x)) > csimi_path_slack(w) &&
            csimi_surface_gap(surfaces, pair->surface_b, x, pair->radius, -1, &hit, &gap))
            /* gap < 0: inside the solid; radius: what radii and thicknesses of both sides add */
            least = (double)(gap - pair->radius) < least ? (double)(gap - pair->radius) : least;
    }
    return least;
}
#endif

CSIMI_FN void csimi_measure(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    csimi_surfaces surfaces;
    double deepest = f->stats->penetration; /* of shapes, and of what went unseen */
    size_t mark = arena->used;
    int i;
    csimi_surfaces_layout(&surfaces, &w->store.capacity, arena);
    csimi_surfaces_start(&surfaces, w, &f->next); /* deformed surfaces after the step, not those of detection */
    for (i = 0; i < f->found_count; i++) {
        double gap;
        if (f->found[i].part_a >= 0 && f->found[i].part_b >= 0) continue; /* two shapes: unseen.c has */
        gap = (double)(csimi_gap_at(w, &w->store.state, &f->next, &surfaces, f->found + i) -
                       csimi_sink_of(f->found + i)); /* edges of cables lie deeper than their rows say */
#if CSIMI_HAS_NODES
        gap = csimi_strays_gap(w, f, &surfaces, i, gap);
#endif
        if (-gap > deepest) deepest = -gap; /* the figure of the certificate: max(0, -gap) after the step */
    }
    csimi_pop(arena, mark);
    f->stats->penetration = deepest;
}
#endif

/* Tangential slip in world axes: J v and the part of phi that is not the gap's. */
static csim_vec3 csimi_contact_slip(const csimi_step_frame *f, const csim_contact *c) {
    const csim_vec3 relative = csimi_sides_velocity(f, c, f->v);
    const csim_vec3 t1 = csimi_load3(c->R + 3), t2 = csimi_load3(c->R + 6);
    return csim_add(csim_scale(csim_dot(t1, relative) + c->phi[1], t1),
                    csim_scale(csim_dot(t2, relative) + c->phi[2], t2)); /* phi[1], phi[2]: moving ground and belts */
}

/* Open, stick or slip, told by the impulse alone: one that is on the rim of its friction disk or ellipse slips. */
static csim_contact_state csimi_state_of(const csim_contact *c, const csim_real *lambda) {
    /* an ellipse is drawn out to a disk of mu[0]; where nothing at all holds across it, the impulse is on the rim */
    const csim_real limit = c->mu[0] * lambda[0], across = c->mu[1] > 0 ? c->mu[0] / c->mu[1] * lambda[2] : limit;
    const csim_real friction = CSIMI_SQRT(lambda[1] * lambda[1] + across * across);
    if (!(lambda[0] > 0)) return CSIM_CONTACT_OPEN;
    /* an impulse that was clipped lies on the rim but for rounding */
    return friction < (1 - CSIM_R(1e-6)) * limit ? CSIM_CONTACT_STICK : CSIM_CONTACT_SLIP;
}

/* Speed at which the two points close at the start of the step, m/s; > 0: they come nearer. */
static csim_real csimi_approach(const csimi_state *s, const csimi_found_contact *c) {
    const csim_vec3 v = csim_sub(csimi_place_velocity(s, &c->a, c->meet), csimi_place_velocity(s, &c->b, c->meet));
    return -csim_dot(c->normal, v);
}

/* Whether it has no record of the step before in which it pressed. */
static bool csimi_is_new(const csim_world *w, int last) {
    return last < 0 || w->store.contact[last].state == CSIM_CONTACT_OPEN;
}

/* What is foreseen in one step is stopped in the next: the speed at which it came, until the step that leaves less than
   a tenth of it. */
static csim_real csimi_coming(const csim_world *w, csimi_found_contact *found) {
    csim_real speed;
    if (csimi_is_new(w, found->last)) found->speed = csimi_approach(&w->store.state, found);
    /* of one that pressed already: the speed that was told of it, which is 0 once it has been stopped */
    speed = csimi_is_new(w, found->last) ? found->speed : w->store.contact[found->last].coming;
    return speed > 0 && found->left > speed / 10 ? speed : 0; /* left: speed of closing that the gap still allows */
}

CSIMI_FN void csimi_note_told(const csim_world *w, csimi_step_frame *f) {
    int i;
    /* found lies where islands are about to be solved: what is told of a contact is copied out of their way */
    for (i = 0; i < f->found_count && CSIMI_TOLD_APART; i++) {
        f->found[i].speed = csimi_coming(w, f->found + i);
        CSIMI_MEMCPY(f->told + i, f->found + i, sizeof *f->told);
    }
}

static void csimi_report_range(void *context, int begin, int end) {
    const csimi_stage *stage = (const csimi_stage *)context;
    const csim_world *w = stage->w;
    const csimi_step_frame *f = stage->f;
    const csimi_store *s = &w->store;
    for (; begin < end; begin++) {
        csimi_told_contact *found = f->told + begin;
        const csim_contact *c = f->contacts + begin;
        const csim_real *lambda = f->lambda + 3 * begin; /* contact rows come first, in the order of found */
        csim_contact_info *info = f->info + begin;
        csim_real impulse[3] = {0, 0, 0}, start[3];
        if (csimi_passes(w, f, found->body_a, found->body_b)) {
            *info = s->contact[found->last];
            continue;
        }
        CSIMI_MEMSET(info, 0, sizeof *info);
        csimi_addmulT3(c->R, lambda, impulse); /* R' lambda: world axes, N s, on a */
        info->id = found->id;
        info->body_a = csimi_body_id_of(w, found->body_a);
        info->body_b = csimi_body_id_of(w, found->body_b);
        info->shape_a = csimi_own_shape(s, found->body_a, found->part_a);
        info->shape_b = csimi_own_shape(s, found->body_b, found->part_b);
        info->point = found->point_a;
        info->normal = csimi_load3(c->R);
        info->gap = found->gap;
        info->impulse = csimi_load3(impulse);
        if (found->last >= 0) { /* not turned to the contact's axes and back for ever, where it does not change */
            csimi_store3(impulse, s->contact[found->last].impulse);
            csimi_mul3(c->R, impulse, start); /* what a warm start of the same h began with */
            if (!csimi_differ(start, lambda, 3)) info->impulse = s->contact[found->last].impulse;
        }
        info->normal_impulse = lambda[0];
        info->friction_impulse = CSIMI_SQRT(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
        info->slip = csimi_contact_slip(f, c);
        if (w->def.integrator == CSIM_HALF_STEP) info->slip = csim_scale(2, info->slip); /* rows.c halves it */
        info->state = csimi_state_of(c, lambda);
        info->began = info->state != CSIM_CONTACT_OPEN && csimi_is_new(w, found->last);
        if (info->state == CSIM_CONTACT_OPEN) continue;
#if CSIMI_TOLD_APART
        info->coming = found->speed;
#else
        info->coming = csimi_coming(w, found);
#endif
    }
}

CSIMI_FN void csimi_report_contacts(csim_world *w, csimi_step_frame *f) {
    csimi_store *s = &w->store;
    int i;
    csimi_share(w, f, f->found_count, 256, csimi_report_range);
    for (i = 0; i < s->count.contacts; i++) f->carried[i] = 0;
    for (i = 0; i < f->found_count; i++) {
        if (f->info[i].state == CSIM_CONTACT_OPEN) continue;
        f->stats->touching++;
        if (f->told[i].last >= 0) f->carried[f->told[i].last] = 1; /* so that it has not ended */
    }
    f->ended_count = 0;
    for (i = 0; i < s->count.contacts; i++)
        /* carried an impulse before and does not any more, or is not found again */
        if (s->contact[i].state != CSIM_CONTACT_OPEN && !f->carried[i]) f->ended[f->ended_count++] = s->contact[i].id;
}

CSIM_API const csim_contact_info *csim_world_contacts(const csim_world *w, int *count) {
    *count = w->store.count.contacts;
    return w->store.contact;
}

CSIM_API const uint64_t *csim_world_ended(const csim_world *w, int *count) {
    *count = w->store.count.ended;
    return w->store.ended_id;
}

CSIM_API csim_step_stats csim_world_stats(const csim_world *w) {
    csim_step_stats none;
    if (w) return w->stats;
    CSIMI_MEMSET(&none, 0, sizeof none);
    none.result = CSIM_RESULT_NOT_FINITE; /* no word of a step that was solved */
    return none;
}

#ifndef CONDSIM_NO_STATISTICS
/* Adds p and x cross p + spin: about the origin of the world. Sums are double in float builds too. */
static void csimi_add_momentum(csim_totals *t, csim_vec3 x, csim_vec3 p, csim_vec3 spin) {
    csim_vec3 l = csim_add(csim_cross(x, p), spin);
    t->momentum[0] += (double)p.x;
    t->momentum[1] += (double)p.y;
    t->momentum[2] += (double)p.z;
    t->angular_momentum[0] += (double)l.x;
    t->angular_momentum[1] += (double)l.y;
    t->angular_momentum[2] += (double)l.z;
}

CSIM_API csim_totals csim_world_totals(const csim_world *w) {
    const csimi_state *s = &w->store.state;
    const csimi_energy energy = csimi_energy_of(s);
    csim_totals t;
    int i;
    CSIMI_MEMSET(&t, 0, sizeof t);
    t.kinetic = energy.kinetic;
    t.gravity = energy.gravity;
    t.elastic = energy.elastic + csimi_axes_energy(w); /* models, and springs on the axes of joints */
    for (i = 0; i < s->node_count; i++) {
        if (s->node_mode[i] != CSIMI_FREE) continue;
        t.mass += (double)s->node_mass[i];
        csimi_add_momentum(&t, csimi_load3(s->x + 3 * i), csim_scale(s->node_mass[i], csimi_load3(s->v + 3 * i)),
                           csim_v3(0, 0, 0));
    }
    for (i = 0; i < s->rigid_count; i++) {
        csim_real I[9], spin[3];
        if (s->rigid_mode[i] != CSIMI_FREE) continue;
        csimi_rigid_inertia_world(s, i, I); /* R I R': the angular velocity is in world axes */
        csimi_mul3(I, s->velocity + 6 * i + 3, spin);
        t.mass += (double)s->rigid_mass[i];
        csimi_add_momentum(&t, csimi_load3(s->com + 3 * i),
                           csim_scale(s->rigid_mass[i], csimi_load3(s->velocity + 6 * i)), csimi_load3(spin));
    }
    for (i = 0; i < s->frame_count; i++) { /* the mass of an edge is at its nodes */
        csim_real I[9], spin[3];
        if (s->frame_mode[i] != CSIMI_FREE) continue;
        csimi_frame_inertia_world(s, i, I);
        csimi_mul3(I, s->frame_velocity + 3 * i, spin);
        csimi_add_momentum(&t, csim_v3(0, 0, 0), csim_v3(0, 0, 0), csimi_load3(spin));
    }
    for (i = 0; i < s->tree_count; i++) {
        csimi_tree_totals sum;
        if (s->tree[i].mode != CSIMI_FREE) continue;
        sum = csimi_tree_measure(s, i, s->coord_rate + 3 * s->tree[i].first_block);
        t.mass += (double)sum.mass;
        csimi_add_momentum(&t, sum.origin, sum.momentum.v, sum.momentum.w); /* measured about its own origin */
    }
    return t;
}

CSIM_API double csim_world_rms_speed(const csim_world *w) {
    const csimi_store *s = &w->store;
    double energy2 = 0, mass = 0; /* twice the kinetic energy of the representative velocity, kg */
    int i;
    for (i = 0; i < s->count.nodes; i++) {
        csim_vec3 v = csimi_load3(s->node_rep + 3 * i); /* midpoint worlds: v_{k+1} rings, rep does not */
        if (s->state.node_mode[i] != CSIMI_FREE) continue;
        energy2 += (double)(s->state.node_mass[i] * csim_dot(v, v));
        mass += (double)s->state.node_mass[i];
    }
    for (i = 0; i < s->count.rigids; i++) {
        csim_vec3 v = csimi_load3(s->rigid_rep + 6 * i), o = csimi_load3(s->rigid_rep + 6 * i + 3);
        csim_real I[9], spin[3];
        if (s->state.rigid_mode[i] != CSIMI_FREE) continue;
        csimi_rigid_inertia_world(&s->state, i, I);
        csimi_mul3(I, s->rigid_rep + 6 * i + 3, spin);
        energy2 += (double)(s->state.rigid_mass[i] * csim_dot(v, v) + csim_dot(o, csimi_load3(spin)));
        mass += (double)s->state.rigid_mass[i];
    }
    for (i = 0; i < s->count.frames; i++) {
        csim_real I[9], spin[3];
        if (s->state.frame_mode[i] != CSIMI_FREE) continue;
        csimi_frame_inertia_world(&s->state, i, I);
        csimi_mul3(I, s->frame_rep + 3 * i, spin);
        energy2 += (double)csim_dot(csimi_load3(s->frame_rep + 3 * i), csimi_load3(spin));
    }
    for (i = 0; i < s->count.trees; i++) {
        csimi_tree_totals sum;
        if (s->state.tree[i].mode != CSIMI_FREE) continue;
        sum = csimi_tree_measure(&s->state, i, s->coord_rep + 3 * s->state.tree[i].first_block);
        energy2 += 2 * sum.kinetic; /* M(q) couples its coordinates: from the tree's own energy */
        mass += (double)sum.mass;
    }
    return mass > 0 ? (double)CSIMI_SQRT((csim_real)(energy2 / mass)) : 0; /* v with M v^2 = 2 E */
}
#endif
