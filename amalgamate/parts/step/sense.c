/* step/sense: how far a sensor is from what the broad phase brought near it. Exact between convex shapes, particles,
   cables and triangles; meshes, heights and half-spaces go by contacts and by nodes. */
#include "private.h"

typedef struct csimi_sense {
    csimi_detector *d;
    const csimi_object *sensor, *other;
    const csim_geometry *g;
    csimi_convex convex; /* of the sensor */
    bool round;          /* it is convex */
    csim_real reach, gap; /* beyond reach nobody asks; the least so far */
} csimi_sense;

/* Convex and bounded: what GJK distances take. Half-spaces have no bounds, fields are not convex. */
static bool csimi_is_round(const csim_geometry *g) { return !g->field && g->kind != CSIM_SHAPE_HALF_SPACE; }

static void csimi_sense_convex(csimi_sense *q, const csimi_convex *c, csim_real thickness) {
    csim_vec3 on, n;
    /* 0 where they overlap: a sensor tells no depth */
    const csim_real gap = csimi_convex_distance(&q->convex, csim_v3(0, 0, 0), c, &on, &n) - thickness;
    q->gap = csimi_min(q->gap, gap);
}

static void csimi_sense_point(csimi_sense *q, csim_vec3 x, csim_real radius) {
    csim_vec3 n;
    const csim_real gap =
        csimi_distance_within(q->g, q->d->world->store.hull, q->sensor->at, x, q->reach + radius, &n) - radius;
    q->gap = csimi_min(q->gap, gap);
}

/* Two shapes; contacts stand for what is not convex. */
static void csimi_sense_shape(csimi_sense *q) {
    const csimi_store *s = &q->d->world->store;
    const csim_geometry *g = s->shape + q->other->item;
    csim_touch *out = (csim_touch *)(void *)q->d->frame->info; /* free until the contacts are reported */
    const int room = (int)((size_t)s->capacity.contacts * sizeof(csim_contact_info) / sizeof(csim_touch));
    const csim_real thickness = csimi_thickness_of(s, q->other);
    csimi_convex c;
    int i, n;
    if (q->round && csimi_is_round(g)) {
        csimi_convex_of(&c, g, s->hull, q->other->at);
        csimi_sense_convex(q, &c, thickness); /* of the other; that of the sensor comes last */
        return;
    }
    n = csimi_collide_at(q->g, q->sensor->at, g, q->other->at, s->hull, q->reach + thickness, out, room);
    /* n counts all touches, room those that were written */
    for (i = 0; i < csimi_imin(n, room); i++) q->gap = csimi_min(q->gap, out[i].gap - thickness);
}

static void csimi_sense_cable(csimi_sense *q, const csimi_body *b, csim_real radius) {
    const csimi_state *s = &q->d->world->store.state;
    int i, k;
    /* at 0 it is seen, and nearer edges tell no more */
    for (i = b->first_frame; i < b->first_frame + b->frame_count && q->gap > 0; i++) {
        csimi_convex edge;
        csim_real ends[6];
        for (k = 0; k < 2; k++) csimi_store3(ends + 3 * k, csimi_load3(s->x + 3 * (size_t)s->edge_node[2 * i + k]));
        csimi_convex_segment(&edge, ends, radius); /* a capsule: nodes alone would let the cable lie unseen */
        csimi_sense_convex(q, &edge, 0);
    }
}

/* Triangles near the sensor; then whether it is inside of all of them. */
static void csimi_sense_surface(csimi_sense *q, const csimi_body *b, csim_real thickness) {
    const csimi_surface *surface = csimi_surface_of(&q->d->surfaces, q->other->body);
    const csim_vec3 e = csim_v3(q->reach + thickness, q->reach + thickness, q->reach + thickness);
    csim_vec3 lower, upper;
    csimi_surface_walk walk;
    csimi_surface_hit hit;
    csim_real gap;
    int i, k;
    csimi_convex_bounds(&q->convex, &lower, &upper);
    walk = csimi_surface_walk_in(surface, csim_sub(lower, e), csim_add(upper, e)); /* leaves that come within reach */
    while (q->gap > 0 && (i = csimi_surface_walk_next(&walk)) >= 0) {
        csimi_convex face;
        csim_real corner[9];
        for (k = 0; k < 3; k++)
            csimi_store3(corner + 3 * k, csimi_load3(surface->x + 3 * (size_t)surface->triangle[3 * i + k]));
        csimi_convex_points(&face, corner, 3); /* the triangle as a convex of three points */
        csimi_sense_convex(q, &face, thickness);
    }
    /* no triangle cuts it: it is all inside or all outside, and its middle tells which; cloth has no inside */
    if (q->gap > 0 && b->kind != CSIM_BODY_CLOTH &&
        csimi_surface_gap(&q->d->surfaces, q->other->body, csim_scale(CSIM_R(0.5), csim_add(lower, upper)), 0, -1, &hit,
                          &gap) &&
        hit.inside)
        q->gap = gap;
}

static void csimi_sense_nodes(csimi_sense *q) {
    const csimi_store *s = &q->d->world->store;
    const csimi_body *b = s->body + q->other->body;
    const csim_real thickness = b->surface.thickness;
    int i;
    if (q->round && b->kind == CSIM_BODY_CABLE) {
        csimi_sense_cable(q, b, b->radius + thickness);
    } else if (q->round && b->triangle_count > 0) {
        csimi_sense_surface(q, b, b->radius + thickness);
    } else { /* half-spaces, meshes, heights; bodies of loose nodes */
        for (i = b->first_node; i < b->first_node + b->node_count && q->gap > 0; i++)
            csimi_sense_point(q, csimi_load3(s->state.x + 3 * (size_t)i), b->radius + thickness);
    }
}

CSIMI_FN CSIMI_NOINLINE void csimi_sense_pair(csimi_detector *d, const csimi_object *sensor,
                                              const csimi_object *other) {
    const csimi_store *s = &d->world->store;
    csimi_step_frame *f = d->frame;
    csimi_sense q;
    csimi_sensed *found = f->sensed + f->sensed_count;
    if (s->capacity.touches == 0 || f->sensed_count >= s->capacity.pairs) return; /* a record a pair */
    q.d = d;
    q.sensor = sensor;
    q.other = other;
    q.g = s->shape + sensor->item;
    q.round = csimi_is_round(q.g);
    /* touch_off: what is farther neither begins nor goes on to be seen */
    q.reach = csimi_touch_off(d->world) + s->skin[sensor->item].surface.thickness;
    q.gap = CSIMI_HUGE;
    if (q.round) csimi_convex_of(&q.convex, q.g, s->hull, sensor->at);
    if (other->kind == CSIMI_OBJECT_SHAPE)
        csimi_sense_shape(&q);
    else
        csimi_sense_nodes(&q);
    if (!(q.gap <= q.reach)) return; /* the bounds met, the shapes do not */
    found->sensor = sensor->item;
    found->body = other->body;
    found->shape = other->kind == CSIMI_OBJECT_SHAPE ? other->item : -1;
    found->gap = q.gap - s->skin[sensor->item].surface.thickness;
    f->sensed_count++;
}
