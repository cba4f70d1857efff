/* step/shapes: contacts of two shapes. */
#include "private.h"

CSIMI_FN void csimi_collide_shapes(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csim_world *w = d->world;
    csimi_store *s = &w->store;
    csimi_step_frame *f = d->frame;
    csim_real thickness = csimi_thickness_of(s, a) + csimi_thickness_of(s, b);
    csim_touch *out = (csim_touch *)(void *)f->info; /* free until the contacts are reported */
    int i, n, room = (int)((size_t)s->capacity.contacts * sizeof(csim_contact_info) / sizeof(csim_touch));
    const bool keeps = csimi_keeps(w);
    csim_real reach = a->margin + b->margin + thickness;
    uint64_t key = csimi_mix64(csimi_shape_key(s, a), csimi_shape_key(s, b));
    if (keeps && csimi_keep_pair(d, a, b, key)) return;
    if (keeps) reach += csimi_keep_distance(s, a->item, b->item); /* what comes near before it is looked for again */
    n = csimi_collide_at(s->shape + a->item, a->at, s->shape + b->item, b->at, s->hull, reach, out, room);
    if (n > room) {
        d->needed += n - room;
        n = room;
    }
    if (keeps) n = csimi_keep_four(out, n);
    for (i = 0; i < n; i++) {
        csimi_found_contact *c = csimi_next_found(d, a->body, b->body, csimi_mix64(key, out[i].feature));
        if (!c) continue;
        c->radius = thickness;
        c->part_a = a->item;
        c->part_b = b->item;
        c->meet = c->point_a = out[i].point_a;
        c->point_b = out[i].point_b;
        c->normal = out[i].normal;
        c->gap = out[i].gap - thickness;
        c->a = csimi_shape_place(s, a->item, c->meet);
        c->b = csimi_shape_place(s, b->item, c->meet);
        if (keeps) csimi_keep_found(d, c, a->item, b->item, key);
    }
}
