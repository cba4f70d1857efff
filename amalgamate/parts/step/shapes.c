/* step/shapes: contacts of two shapes. */
#include "private.h"

#ifndef CONDSIM_NO_PATHS
/* A contact in sight is a plane that goes on beyond the shapes. Where it would turn a free motion aside and the
   straight ways of the shapes, grown by what may lead off them, miss each other, there is none; unseen.c looks whether
   they kept to their ways, path.c follows those that did not. near: those nearer may touch whatever they do. */
static CSIMI_NOINLINE bool csimi_pass_by(csimi_detector *d, const csimi_object *a, const csimi_object *b,
                                         const csim_touch *t, int n, csim_real near) {
    const csimi_store *s = &d->world->store;
    csimi_step_frame *f = d->frame;
    const csim_geometry *A = s->shape + a->item, *B = s->shape + b->item;
    const csim_vec3 way = csim_scale(f->h, csim_sub(a->v, b->v));
    const csim_real thickness = csimi_thickness_of(s, a) + csimi_thickness_of(s, b);
    const csim_real pad = csimi_max(a->push, b->push) + a->turn + b->turn; /* they fall alike, or one of them */
    csimi_convex x;
    csimi_ray_hit hit;
    csimi_passing *p = f->passing + f->passing_count;
    csim_vec3 on;
    bool turned = false;
    int i;
    for (i = 0; i < n; i++) {
        if (t[i].gap <= near + thickness) return false; /* one may touch in this step whatever it does */
        /* the free motion ends within pad of this plane or behind it: its row may press */
        if (t[i].gap - thickness + csim_dot(t[i].normal, way) < pad) turned = true;
    }
    /* contacts stay where none turns the motion aside, and where nothing is cast: a is a field, b a grid or heights */
    if (!turned || a->body == b->body || A->field || (B->field && B->kind != CSIM_SHAPE_TRIANGLES)) return false;
    if (B->kind == CSIM_SHAPE_HALF_SPACE || A->kind == CSIM_SHAPE_HALF_SPACE) return false;
    /* where impacts are stopped farther ahead than a step, what paths have stopped at a shape is late */
    if (f->passing_count >= s->capacity.shapes || d->world->def.integrator != CSIM_BACKWARD_EULER) return false;
    csimi_convex_of(&x, A, s->hull, a->at);
    x.round += pad + thickness; /* a wider one that misses: so does whatever leaves the way by less */
    if (csimi_cast_at(&x, way, B, s->hull, b->at, 1, &hit, &on)) return false;
    if (s->body[a->body].joints != 0 && s->body[b->body].joints != 0) return false; /* paths cannot stop such */
    p->a = a->item;
    p->b = b->item;
    p->way = way;
    p->pad = pad;
    f->passing_count++;
    return true;
}
#endif

static uint64_t csimi_pair_key(const csimi_store *s, const csimi_object *a, const csimi_object *b) {
    return csimi_mix64(csimi_shape_key(s, a), csimi_shape_key(s, b));
}

/* Whether contacts of the last step are told again; the first of those that there were, or -1. */
static bool csimi_told_again(const csimi_detector *d, const csimi_object *a, const csimi_object *b, uint64_t key,
                             int *first) {
    const bool keeps = csimi_keeps(d->world);
    *first = keeps ? csimi_find_kept(d, key) : csimi_find_standing(d, a, b);
    return *first >= 0 && (!keeps || csimi_knows_pair(d->world, a->body, b->body) || csimi_keeps_pair(d, a, b, *first));
}

/* What comes near before kept contacts are looked for again is found too. */
static csim_real csimi_far_of(const csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    return csimi_keeps(d->world) ? csimi_keep_distance(&d->world->store, a->item, b->item) : 0;
}

static int csimi_look_between(const csimi_detector *d, const csimi_object *a, const csimi_object *b, csim_touch *out,
                              int room) {
    const csimi_store *s = &d->world->store;
    const csim_real reach = a->margin + b->margin + (csimi_thickness_of(s, a) + csimi_thickness_of(s, b));
    /* margins: how far both may come in the step; touches have gaps between the bare shapes */
    return csimi_collide_at(s->shape + a->item, a->at, s->shape + b->item, b->at, s->hull,
                            reach + csimi_far_of(d, a, b), out, room);
}

#if CSIMI_SIDE_BY_SIDE
CSIMI_FN int csimi_shapes_early(csimi_detector *d, int pair, const csimi_object *a, const csimi_object *b,
                                csim_touch *at, int room) {
    csimi_early *early = d->early + pair;
    int first, count;
    const bool told = csimi_told_again(d, a, b, csimi_pair_key(&d->world->store, a, b), &first);
    if (!told && (count = csimi_look_between(d, a, b, at, room)) > room) return 0; /* the main pass has more room */
    early->first = first;
    if (told) return 0;
    early->touch = at; /* not null: known, also where nothing is found */
    return early->count = count;
}
#endif

/* Shapes that meet at a point, or did in the last step, in the record that was taken for them. */
static void csimi_write_shapes(const csimi_detector *d, csimi_found_contact *c, int part_a, int part_b, uint64_t id,
                               csim_vec3 point, csim_vec3 normal, csim_real gap, int last) {
    const csimi_store *s = &d->world->store;
    csimi_begin_found(d, c, id);
    c->part_a = part_a;
    c->part_b = part_b;
    c->radius = csimi_surface_def_of(s, c->body_a, part_a)->thickness +
                csimi_surface_def_of(s, c->body_b, part_b)->thickness;
    c->meet = c->point_a = point; /* both sides are pushed at one point: no couple is left over */
    c->normal = normal;
    c->gap = gap;
    if (last >= 0 && csimi_keeps(d->world)) csimi_tell_kept(d, c, last);
    c->a = csimi_shape_place(s, part_a, c->meet);
    c->b = csimi_shape_place(s, part_b, c->meet);
}

/* Contacts of the last step once more: their order is that of pairs, and threads write what is in them. last: 1 +
   which, until rows are made; of those found anew 0. */
static void csimi_tell_again(csimi_detector *d, const csimi_object *a, const csimi_object *b, int last) {
    const bool keeps = csimi_keeps(d->world);
    for (; last >= 0; last = keeps ? d->kept_next[last] : csimi_next_standing(&d->world->store, last)) {
        csimi_found_contact *c = csimi_take_found(d, a->body, b->body);
        if (!c) continue;
        c->part_a = a->item;
        c->part_b = b->item;
        c->last = last + 1;
    }
}

CSIMI_FN void csimi_tell_range(void *context, int begin, int end) {
    const csimi_detector *d = (const csimi_detector *)context;
    for (; begin < end; begin++) {
        csimi_found_contact *c = d->frame->found + begin;
        const int last = c->last - 1;
        const csim_contact_info *k = d->world->store.contact + csimi_imax(last, 0);
        if (last < 0) continue;
        csimi_write_shapes(d, c, c->part_a, c->part_b, k->id, k->point, k->normal, k->gap, last);
        c->last = last + 1;
    }
}

CSIMI_FN void csimi_collide_shapes(csimi_detector *d, const csimi_object *a, const csimi_object *b,
                                   const csimi_early *early) {
    csimi_store *s = &d->world->store;
    csimi_step_frame *f = d->frame;
    csim_real thickness = csimi_thickness_of(s, a) + csimi_thickness_of(s, b);
    csim_touch *out = (csim_touch *)(void *)f->info; /* free until the contacts are reported */
    int i, n, first = -1, room = (int)((size_t)s->capacity.contacts * sizeof(csim_contact_info) / sizeof(csim_touch));
    const bool keeps = csimi_keeps(d->world), known = CSIMI_SIDE_BY_SIDE && csimi_is_early(early);
    const csim_real far = csimi_far_of(d, a, b);
    const int from = f->found_count;
    const uint64_t key = csimi_pair_key(s, a, b);
    if (known ? (first = early->first, !early->touch) : CSIMI_TELLS && csimi_told_again(d, a, b, key, &first)) {
        csimi_tell_again(d, a, b, first);
        return;
    }
    /* records are made here, pair by pair: their order is the same for any number of threads */
    if (known) {
        out = early->touch;
        n = early->count;
    } else {
        n = csimi_look_between(d, a, b, out, room);
    }
    if (n > room) {
        d->needed += n - room; /* the step ends for want of capacity, and says how much */
        n = room;
    }
#ifndef CONDSIM_NO_PATHS
    if (n > 0 && csimi_pass_by(d, a, b, out, n, a->push + b->push + far)) return;
#endif
    if (keeps) n = csimi_keep_four(d, out, n, key, first, far);
    for (i = 0; i < n; i++) {
        /* named by the pair and its features, so that impulses of the last step are found again */
        csimi_found_contact *c = csimi_take_found(d, a->body, b->body);
        if (!c) continue; /* none is made */
        csimi_write_shapes(d, c, a->item, b->item, csimi_mix64(key, out[i].feature), out[i].point_a, out[i].normal,
                           out[i].gap - thickness, -1);
        if (keeps) csimi_keep_found(d, c, a->item, b->item, key);
    }
    csimi_keep_heirs(d, from, first);
}
