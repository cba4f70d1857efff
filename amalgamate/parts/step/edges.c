/* step/edges: edges of cables against shapes and particles, where they touch between their nodes: a corner, a peg, what
   is narrower than an edge. */
#include "private.h"

/* Edge k of a cable as a capsule, and where that is. */
static csim_pose csimi_edge_capsule(const csimi_store *s, const csimi_body *b, int k, csim_geometry *g) {
    const csim_vec3 x = csimi_load3(s->state.x + 3 * s->state.edge_node[2 * k]);
    const csim_vec3 along = csim_sub(csimi_load3(s->state.x + 3 * s->state.edge_node[2 * k + 1]), x);
    const csim_real length = csim_length(along);
    csim_pose pose = csim_pose_identity();
    CSIMI_MEMSET(g, 0, sizeof *g);
    g->kind = CSIM_SHAPE_CAPSULE;
    g->local = pose;
    g->radius = b->radius + b->surface.thickness;
    g->half_height = length / 2;
    g->spacing = g->radius / 2;
    g->bound = g->radius + g->half_height;
    g->hull = -1;
    pose.position = csim_madd(x, CSIM_R(0.5), along);
    if (length > 0) pose.rotation = csimi_quat_from_z(csim_scale(1 / length, along));
    return pose;
}

/* What a cable's edges meet: a shape, or a particle as a ball; and the edge at hand. */
typedef struct csimi_edge_meeting {
    const csimi_object *a, *b;
    bool particle;
    csim_geometry ball, edge;
    const csim_geometry *shape;
    csim_pose pose, at; /* of the shape's body; of the edge */
    csim_vec3 axis;     /* from its middle to its end */
    csim_real end[2];   /* distances of its centre line's ends to the shape ... */
    csim_real slope[2]; /* ... and how they change along the edge */
    uint64_t key;
    int frame;
} csimi_edge_meeting;

/* Whether the edge may come within reach, and nearer than the line between its ends' distances: the distance to what is
   convex is convex along it, so it stays above the tangents at its ends, which are lowest where they meet. */
static bool csimi_edge_bulges(const csimi_edge_meeting *m, csim_real reach) {
    /* t goes along the edge from 0 to 1; slopes are by t */
    const csim_real fall = m->end[1] - m->end[0], opening = m->slope[1] - m->slope[0];
    csim_real t;
    if (m->shape->field) return true; /* levels and meshes need not be convex */
    if (!(opening > 0)) return false; /* the distance is as good as linear: the nodes say all */
    t = csimi_clamp((fall - m->slope[0]) / -opening + 1, 0, 1);
    return m->end[0] + m->slope[0] * t < reach && (fall - m->slope[0]) * t > m->edge.radius / 20;
}

/* The point x of the axis of the edge, if it is one of contact. What the nodes are nearer to than the edge is by less
   than 1/20 of the radius is left to them: a round thing that the cable lies on would be touched by all edges and by no
   node. Up to half the radius the edge may sink by as much as the nodes leave. */
static void csimi_edge_touch(csimi_detector *d, const csimi_edge_meeting *m, const csim_touch *t) {
    csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + m->b->body;
    const csim_real r = m->edge.radius, thickness = csimi_thickness_of(s, m->b);
    const csim_vec3 x = csim_madd(t->point_a, r, t->normal);
    const csim_real along = csim_dot(csim_sub(x, m->at.position), m->axis) / csim_dot(m->axis, m->axis);
    const csim_real bulge = ((1 - along) * m->end[0] + (1 + along) * m->end[1]) / 2 - r - t->gap;
    const csim_real left = csimi_clamp((r / 2 - bulge) / 4, 0, r / 10);
    csimi_found_contact *c;
    if (csimi_abs(along) > CSIM_R(0.999) || bulge < r / 20) return; /* at an end: the node has it */
    c = csimi_next_found(
        d, m->a->body, m->b->body,
        csimi_mix64(csimi_side_key(s, m->a->body, (uint32_t)(m->frame - s->body[m->a->body].first_frame) | 0x10000000u),
                    csimi_mix64(m->key, t->feature)));
    if (!c) return;
    c->shape_b = c->part_b = m->particle ? -1 : m->b->item;
    c->radius = r - left + (m->particle ? B->radius : 0) + thickness;
    c->normal = t->normal;
    c->gap = t->gap + left - thickness;
    c->sink = left;
    c->point_a = csim_madd(t->point_a, left, t->normal);
    c->meet = m->particle ? m->pose.position : x; /* as nodes do: on the centre line */
    c->a = csimi_place_edge(&s->state, m->frame, c->meet);
    c->b = m->particle ? csimi_place_node(m->b->item) : csimi_shape_place(s, m->b->item, c->meet);
}

/* Axis, ends and capsule of edge m->frame; false: it is a point. */
static bool csimi_edge_set(const csimi_store *s, csimi_edge_meeting *m, csim_real reach) {
    csim_real within;
    int k;
    m->at = csimi_edge_capsule(s, s->body + m->a->body, m->frame, &m->edge);
    m->axis = csim_rotate(m->at.rotation, csim_v3(0, 0, m->edge.half_height));
    within = 2 * m->edge.bound + reach; /* what the edge touches is no farther from its ends */
    for (k = 0; k < 2; k++) {
        csim_vec3 n = m->axis;
        m->end[k] = csimi_distance_within(m->shape, s->hull, csim_pose_mul(m->pose, m->shape->local),
                                          csim_madd(m->at.position, k ? 1 : -1, m->axis), within, &n);
        m->slope[k] = 2 * csim_dot(n, m->axis);
    }
    return m->edge.half_height > 0;
}

/* Whether an edge has nothing but a plane of triangles in reach: the nodes say all. */
static bool csimi_edge_over_plane(const csimi_edge_meeting *m, csim_vec3 x, csim_vec3 y, csim_real reach) {
    const csim_vec3 r = csim_v3(reach, reach, reach);
    csim_pose at, plane;
    csim_vec3 low, high;
    if (m->shape->kind != CSIM_SHAPE_TRIANGLES) return false;
    at = csim_pose_mul(m->pose, m->shape->local);
    x = csim_pose_local(at, x);
    y = csim_pose_local(at, y);
    low = csim_v3(csimi_min(x.x, y.x), csimi_min(x.y, y.y), csimi_min(x.z, y.z));
    high = csim_v3(csimi_max(x.x, y.x), csimi_max(x.y, y.y), csimi_max(x.z, y.z));
    return csimi_field_under(m->shape->field, csim_sub(low, r), csim_add(high, r),
                             csim_madd(x, CSIM_R(0.5), csim_sub(y, x)), &plane) != CSIMI_UNDER_RELIEF;
}

CSIMI_FN CSIMI_NOINLINE void csimi_collide_edges(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + a->body, *B = s->body + b->body;
    const csim_real reach = a->margin + b->margin + csimi_thickness_of(s, b);
    csim_touch *out = (csim_touch *)(void *)d->frame->info; /* free until the contacts are reported */
    const int room = (int)((size_t)s->capacity.contacts * sizeof(csim_contact_info) / sizeof(csim_touch));
    csimi_edge_meeting m;
    int k, i, n;
    CSIMI_MEMSET(&m, 0, sizeof m);
    m.a = a;
    m.b = b;
    m.particle = b->kind == CSIMI_OBJECT_PARTICLE;
    m.ball = csimi_ball(B->radius);
    m.shape = m.particle ? &m.ball : s->shape + b->item;
    m.key = m.particle ? csimi_point_key(s, b->body, 0) : csimi_shape_key(s, b);
    m.pose = m.particle ? csimi_body_pose(s, &s->state, b->body) : csimi_shape_pose(s, &s->state, b->item);
    if (m.shape->kind == CSIM_SHAPE_HALF_SPACE) return; /* the nodes say all */
    for (k = 0; k < A->frame_count; k++) {
        const int *node = s->state.edge_node + 2 * (m.frame = A->first_frame + k);
        const csim_vec3 x = csimi_load3(s->state.x + 3 * node[0]), y = csimi_load3(s->state.x + 3 * node[1]);
        const csim_real half = csim_length(csim_sub(y, x)) / 2;
        const csim_vec3 middle = csim_scale(CSIM_R(0.5), csim_add(x, y));
        /* from cheap to dear: bounds, the level under the edge, distances of its ends, the collision itself */
        if (!csimi_near(d, b, middle, a->margin + half + A->radius + A->surface.thickness) ||
            csimi_edge_over_plane(&m, x, y, reach + A->radius + A->surface.thickness) ||
            !csimi_edge_set(s, &m, reach) || !csimi_edge_bulges(&m, reach + m.edge.radius))
            continue;
        n = csim_collide(&m.edge, m.at, m.shape, m.pose, s->hull, reach, out, room);
        for (i = 0; i < csimi_imin(n, room); i++) csimi_edge_touch(d, &m, out + i); /* n: those without room too */
    }
}
