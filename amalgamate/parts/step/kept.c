/* step/kept: rows that stay what they are. Worlds with bounded frames keep the manifold of two shapes, its arms and
   normals in the axes of the world, until one of them has moved by more than a small part of its size: what sweeps
   found out about a pile then stays true, and stacks stand. Gaps follow points that are fixed to the bodies. */
#include "private.h"

static const csim_real CSIMI_KEEP_SHARE = CSIM_R(0.0231); /* of the smaller bound: 10 mm for a cube of 500 mm ... */
static const csim_real CSIMI_KEEP_CALM = CSIM_R(0.1); /* ... of which a tenth after a dozen of certified frames */
static const csim_real CSIMI_KEEP_RIM = CSIM_R(0.9); /* cosine of what a rim leans, a curved edge at a straight one */
static const csim_real CSIMI_KEEP_SPAN = CSIM_R(0.9); /* of the area that the best four points span: as good */
static const csim_real CSIMI_SAG_TIME = CSIM_R(1.0); /* s: in which a certified pile rises out of its sag, */
static const csim_real CSIMI_SAG_LEAST = CSIM_R(1e-6); /* m: all but this */

/* Pose of what carries a shape, about its centre of mass where it has one. */
static csim_pose csimi_keep_pose(const csimi_store *s, int shape) {
    const csimi_body *b = s->body + s->shape_body[shape];
    csim_pose p;
    if (b->kind != CSIM_RIGID) return csimi_shape_pose(s, &s->state, shape);
    p.position = csimi_load3(s->state.com + 3 * b->rigid);
    p.rotation = csimi_load_quat(s->state.rotation + 4 * b->rigid);
    return p;
}

/* How far points of a shape may have moved by the turn from one pose of its body to another, m. */
static csim_real csimi_turned_by(const csimi_object *o, csim_quat a, csim_quat b) {
    const csim_quat d = csim_quat_mul(a, csim_quat_conj(b));
    /* 2 sin(angle / 2) times the farthest arm: the longest chord */
    return 2 * o->far * CSIMI_SQRT(d.x * d.x + d.y * d.y + d.z * d.z);
}

CSIMI_FN csim_real csimi_keep_distance(const csimi_store *s, int shape_a, int shape_b) {
    return CSIMI_KEEP_SHARE * csimi_min(s->shape[shape_a].bound, s->shape[shape_b].bound);
}

/* Contacts of a pair may stand apart, where bodies have been destroyed: next leads from one to the next, to -1. */
CSIMI_FN void csimi_index_kept(const csim_world *w, csimi_last_table *r, int *next) {
    const csimi_kept *kept = w->store.kept;
    int i, last;
    csimi_last_clear(r, w->store.count.kept);
    for (i = 0; i < w->store.count.kept; i++) {
        int at = csimi_slot_of(r, kept[i].pair);
        next[i] = -1;
        if (!kept[i].pair) continue;
        if (i > 0 && kept[i - 1].pair == kept[i].pair) { /* the usual case: they follow each other */
            next[i - 1] = i;
            continue;
        }
        while (r->table[at] >= 0 && kept[r->table[at]].pair != kept[i].pair) at = (at + 1) & (r->table_size - 1);
        if (r->table[at] < 0) {
            r->table[at] = i;
            continue;
        }
        for (last = r->table[at]; next[last] >= 0;) last = next[last]; /* apart from the others: behind the last */
        next[last] = i;
    }
}

CSIMI_FN int csimi_find_kept(const csimi_detector *d, uint64_t pair) {
    const csimi_last_table *r = &d->kept;
    int at = csimi_slot_of(r, pair);
    while (r->table[at] >= 0) {
        if (d->world->store.kept[r->table[at]].pair == pair) return r->table[at];
        at = (at + 1) & (r->table_size - 1);
    }
    return -1;
}

/* Where a point fixed to the body has gone since. */
static csim_vec3 csimi_carried(csim_pose from, csim_pose to, csim_vec3 arm) {
    return csim_add(to.position, csim_rotate(to.rotation, csim_unrotate(from.rotation, arm)));
}

CSIMI_FN bool csimi_keeps_pair(const csimi_detector *d, const csimi_object *a, const csimi_object *b, int first) {
    const csimi_store *s = &d->world->store;
    const csimi_kept *k = s->kept + first;
    csim_real far = csimi_keep_distance(s, a->item, b->item), moved;
    csim_pose now[2];
    now[0] = csimi_keep_pose(s, a->item);
    now[1] = csimi_keep_pose(s, b->item);
    if (k->calm >= CSIMI_WITHIN_CALM) far *= CSIMI_KEEP_CALM;
    /* against each other: two that travel together have not moved */
    moved = csim_length(csim_sub(csim_sub(now[0].position, k->pose[0].position),
                                 csim_sub(now[1].position, k->pose[1].position))) +
            csimi_turned_by(a, now[0].rotation, k->pose[0].rotation) +
            csimi_turned_by(b, now[1].rotation, k->pose[1].rotation);
    return moved <= far;
}

CSIMI_FN void csimi_tell_kept(const csimi_detector *d, csimi_found_contact *c, int last) {
    const csimi_store *s = &d->world->store;
    csimi_found_kept *own = d->frame->kept + (c - d->frame->found);
    const csimi_kept *k = s->kept + last;
    const csim_pose a = csimi_keep_pose(s, c->part_a), b = csimi_keep_pose(s, c->part_b);
    const csim_vec3 n = c->normal;
    csim_vec3 on_b;
    own->kept = *k;
    c->meet = csim_add(a.position, k->arm[0]);
    own->meet_b = csim_add(b.position, k->arm[1]);
    if (csimi_stood(d->world, c->body_a) && csimi_stood(d->world, c->body_b)) return; /* as it is told already */
    /* the gap follows points of the bodies, while the impulse acts on the arms of then, which do not turn */
    c->point_a = csimi_carried(k->pose[0], a, k->arm[0]);
    on_b = csimi_carried(k->pose[1], b, csim_madd(k->arm[1], -k->gap, n)); /* b's surface was `gap` below */
    c->gap = csim_dot(n, csim_sub(c->point_a, on_b)) - c->radius;
}

CSIMI_FN void csimi_keep_found(csimi_detector *d, csimi_found_contact *c, int shape_a, int shape_b, uint64_t pair) {
    const csimi_store *s = &d->world->store;
    csimi_found_kept *own = d->frame->kept + (c - d->frame->found);
    csimi_kept *k = &own->kept;
    k->pair = pair;
    k->pose[0] = csimi_keep_pose(s, shape_a);
    k->pose[1] = csimi_keep_pose(s, shape_b);
    k->arm[0] = csim_sub(c->meet, k->pose[0].position);
    k->arm[1] = csim_sub(c->meet, k->pose[1].position);
    k->gap = c->gap + c->radius; /* radius is thickness here, which a user may change */
    own->meet_b = c->meet;
}

/* Twice the area of a triangle of contact points as seen along n. */
static csim_real csimi_keep_area(const csim_touch *t, int a, int b, int c, csim_vec3 n) {
    return csim_dot(n, csim_cross(csim_sub(t[b].point_a, t[a].point_a), csim_sub(t[c].point_a, t[a].point_a)));
}

/* Twice the area that four points span, whichever of them face each other. */
static csim_real csimi_keep_span(const csim_touch *t, const int *p, csim_vec3 n) {
    csim_real most = 0;
    int k;
    for (k = 1; k < 4; k++) {
        const csim_vec3 x = csim_sub(t[p[k]].point_a, t[p[0]].point_a);
        const csim_vec3 y = csim_sub(t[p[1 + k % 3]].point_a, t[p[1 + (k + 1) % 3]].point_a);
        most = csimi_max(most, csimi_abs(csim_dot(n, csim_cross(x, y))));
    }
    return most;
}

/* The contact of a pair, from its first on, that had this name in the last step, or -1. */
static int csimi_keep_named(const csimi_detector *d, int first, uint64_t id) {
    while (first >= 0 && d->world->store.contact[first].id != id) first = d->kept_next[first];
    return first;
}

/* Four points of a face carry what eight do, and one sweep over eight sways for ever: the deepest, the one farthest
   from it, and the two that span most to either side of them; or those of before, if they are about as deep and span
   about as much. Keeps their order. */
CSIMI_FN int csimi_keep_four(const csimi_detector *d, csim_touch *t, int count, uint64_t pair, int first,
                             csim_real distance) {
    const csim_vec3 n = t[0].normal;
    csim_real most[2] = {0, 0}, far = -1;
    int pick[4] = {0, 0, -1, -1}, same[4], i, k, at = 0; /* -1: all on a line, no third or fourth */
    if (count <= 4) return count;
    for (i = 1; i < count; i++) {
        if (csim_dot(t[i].normal, n) < CSIMI_KEEP_RIM) return count; /* no face */
        if (t[i].gap < t[pick[0]].gap) pick[0] = i;
    }
    for (i = 0; i < count; i++) {
        const csim_vec3 way = csim_sub(t[i].point_a, t[pick[0]].point_a);
        if (csim_dot(way, way) > far) {
            far = csim_dot(way, way);
            pick[1] = i;
        }
    }
    for (i = 0; i < count; i++) {
        const csim_real area = csimi_keep_area(t, pick[0], pick[1], i, n);
        for (k = 0; k < 2; k++)
            if ((k ? -area : area) > most[k]) { /* left of the line of the first two, right of it */
                most[k] = k ? -area : area;
                pick[2 + k] = i;
            }
    }
    for (i = k = 0; i < count && k < 4; i++)
        if (csimi_keep_named(d, first, csimi_mix64(pair, t[i].feature)) >= 0) same[k++] = i;
    /* areas are doubled on both sides; the four of before stay if nearly as good, for their impulses are known */
    if (k == 4 && csimi_keep_span(t, same, n) >= CSIMI_KEEP_SPAN * (most[0] + most[1])) {
        csim_real deep = t[same[0]].gap;
        for (k = 1; k < 4; k++) deep = csimi_min(deep, t[same[k]].gap);
        if (deep - t[pick[0]].gap <= CSIMI_KEEP_CALM * distance) CSIMI_MEMCPY(pick, same, sizeof pick);
    }
    for (i = 0; i < count; i++)
        if (i == pick[0] || i == pick[1] || i == pick[2] || i == pick[3]) t[at++] = t[i];
    return at;
}

/* What another feature has come for takes over the impulse of the point nearest to it that is not there any more. */
CSIMI_FN void csimi_keep_heirs(csimi_detector *d, int from, int first) {
    const csimi_found_contact *c = d->frame->found + from;
    csimi_found_kept *own = d->frame->kept + from;
    const int count = d->frame->found_count - from;
    int i, k, heir;
    for (k = first; k >= 0; k = d->kept_next[k]) {
        const csim_contact_info *last = d->world->store.contact + k;
        csim_real near = CSIMI_HUGE;
        for (i = 0; i < count && c[i].id != last->id;) i++;
        if (i < count) continue; /* it is there again under its name */
        for (i = 0, heir = -1; i < count; i++) {
            const csim_vec3 way = csim_sub(c[i].meet, last->point);
            if (own[i].heir || csim_dot(way, way) >= near || csimi_keep_named(d, first, c[i].id) >= 0) continue;
            near = csim_dot(way, way);
            heir = i;
        }
        if (heir >= 0) own[heir].heir = k + 1; /* 0: none */
    }
}

/* Overlap that is nobody's hurry: what bounded frames left, fading while frames are certified. */
static csim_real csimi_sag_of(const csim_world *w, const csimi_step_frame *f, const csimi_found_contact *c) {
    const csimi_store *s = &w->store;
    csim_real deep = csimi_max(0, -c->gap);
    const csimi_kept *last = c->last >= 0 ? s->kept + c->last : NULL;
    if (last ? last->bounded : s->body[c->body_a].pace.bounded || s->body[c->body_b].pace.bounded) return deep;
    deep = last ? csimi_min(last->sag, deep) / (1 + f->h / CSIMI_SAG_TIME) : 0;
    return deep > CSIMI_SAG_LEAST ? deep : 0;
}

CSIMI_FN csim_real csimi_kept_phi(const csim_world *w, csimi_step_frame *f, int i, csim_real restitution,
                                  csim_real approach) {
    const csim_world_def *def = &w->def;
    const csimi_found_contact *c = f->found + i;
    csimi_found_kept *own = f->kept + i;
    const csim_real e = approach < -def->restitution_threshold ? restitution : 0;
    const bool bounces = e > 0 && c->gap + f->h * approach < 0;
    const csim_real base = bounces ? e * approach : csimi_max(c->gap, 0) / f->h; /* m/s, never pushes out */
    f->gap[i] = (bounces ? csimi_min(c->gap, 0) : c->gap) / f->h;                /* a bounce is in phi already */
    own->kept.sag = csimi_sag_of(w, f, c);
    own->push = 0;
    if (c->gap < 0) {
        const csim_real deep = csimi_min(c->gap + def->slop + own->kept.sag, 0);
        /* apart from base: a bounded frame takes it off phi again and pushes out by positions */
        own->push = csimi_min(csimi_max(def->stabilization * deep / f->h, -def->push_out_speed) - base, 0);
    }
    return base + own->push;
}
