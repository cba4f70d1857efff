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
        if (t[i].gap <= near + thickness) return false;
        if (t[i].gap - thickness + csim_dot(t[i].normal, way) < pad) turned = true;
    }
    if (!turned || a->body == b->body || A->field || (B->field && B->kind != CSIM_SHAPE_TRIANGLES)) return false;
    if (B->kind == CSIM_SHAPE_HALF_SPACE || A->kind == CSIM_SHAPE_HALF_SPACE) return false;
    /* where impacts are stopped farther ahead than a step, what paths have stopped at a shape is late */
    if (f->passing_count >= s->capacity.shapes || d->world->def.integrator != CSIM_BACKWARD_EULER) return false;
    csimi_convex_of(&x, A, s->hull, a->at);
    x.round += pad + thickness;
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

CSIMI_FN void csimi_collide_shapes(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csim_world *w = d->world;
    csimi_store *s = &w->store;
    csimi_step_frame *f = d->frame;
    csim_real thickness = csimi_thickness_of(s, a) + csimi_thickness_of(s, b);
    csim_touch *out = (csim_touch *)(void *)f->info; /* free until the contacts are reported */
    int i, n, room = (int)((size_t)s->capacity.contacts * sizeof(csim_contact_info) / sizeof(csim_touch));
    const bool keeps = csimi_keeps(w);
    const csim_real reach = a->margin + b->margin + thickness;
    csim_real far = 0;
    const int from = f->found_count;
    uint64_t key = csimi_mix64(csimi_shape_key(s, a), csimi_shape_key(s, b));
    const int first = keeps ? csimi_find_kept(d, key) : -1;
    if (keeps ? first >= 0 && csimi_keep_pair(d, a, b, first) : csimi_emit_standing(d, a, b)) return;
    if (keeps) far = csimi_keep_distance(s, a->item, b->item); /* what comes near before it is looked for again */
    n = csimi_collide_at(s->shape + a->item, a->at, s->shape + b->item, b->at, s->hull, reach + far, out, room);
    if (n > room) {
        d->needed += n - room;
        n = room;
    }
#ifndef CONDSIM_NO_PATHS
    if (n > 0 && csimi_pass_by(d, a, b, out, n, a->push + b->push + far)) return;
#endif
    if (keeps) n = csimi_keep_four(d, out, n, key, first, far);
    for (i = 0; i < n; i++) {
        csimi_found_contact *c = csimi_found_shapes(d, a, b, csimi_mix64(key, out[i].feature), out[i].point_a,
                                                    out[i].normal, out[i].gap - thickness);
        if (c && keeps) csimi_keep_found(d, c, a->item, b->item, key);
    }
    csimi_keep_heirs(d, from, first);
}
