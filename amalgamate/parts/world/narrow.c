/* world/narrow: contacts of two objects whose bounds meet: points against volumes, pairs of shapes. */
#include "private.h"

/* ---- ids and filters */

CSIMI_FN uint64_t csimi_mix64(uint64_t h, uint64_t x) {
    h ^= x + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    h ^= h >> 30;
    h *= 0xbf58476d1ce4e5b9ull;
    h ^= h >> 27;
    return h;
}

CSIMI_FN uint64_t csimi_side_key(const csimi_store *s, int slot, uint32_t part) {
    return csimi_mix64(((uint64_t)s->body[slot].generation << 32) | (uint32_t)slot, part);
}

static uint64_t csimi_shape_key(const csimi_store *s, const csimi_object *o) {
    return csimi_side_key(s, o->body, (uint32_t)(o->item - s->body[o->body].first_shape));
}

CSIMI_FN uint64_t csimi_point_key(const csimi_store *s, int slot, uint32_t part) {
    return csimi_side_key(s, slot, part | 0x40000000u);
}

CSIMI_FN csim_pair_info csimi_pair_of(const csim_world *w, int a, int b) {
    const csimi_body *A = w->store.body + a, *B = w->store.body + b;
    csim_pair_info p;
    p.body_a = csimi_body_id_of(w, a);
    p.body_b = csimi_body_id_of(w, b);
    p.material_a = A->surface.material;
    p.material_b = B->surface.material;
    p.friction_a = A->surface.friction;
    p.friction_b = B->surface.friction;
    p.restitution_a = A->surface.restitution;
    p.restitution_b = B->surface.restitution;
    p.user_data_a = A->user_data;
    p.user_data_b = B->user_data;
    return p;
}

CSIMI_FN void csimi_list_excluded(csimi_detector *d, uint64_t *other) {
    const csimi_store *s = &d->world->store;
    int i;
    d->excluded_count = 0;
    for (i = 0; i < s->count.links; i++) {
        const csimi_link *l = s->link + i;
        if (!l->alive || !l->apart || (l->kind == CSIMI_JOINT && s->joint[l->item].broken)) continue;
        d->excluded[d->excluded_count++] = (uint64_t)csimi_imin(l->body[0], l->body[1]) << 32 |
                                           (uint64_t)csimi_imax(l->body[0], l->body[1]);
    }
    csimi_radix_sort(d->excluded_count, &d->excluded, &other);
}

static bool csimi_excluded(const csimi_detector *d, int a, int b) {
    const uint64_t low = (uint64_t)csimi_imin(a, b), pair = low << 32 | (uint64_t)csimi_imax(a, b);
    int first = 0, end = d->excluded_count;
    while (first < end) { /* the first pair of the low one */
        const int middle = (first + end) / 2;
        if (d->excluded[middle] >> 32 < low)
            first = middle + 1;
        else
            end = middle;
    }
    for (; first < d->excluded_count && d->excluded[first] >> 32 == low; first++)
        if (d->excluded[first] == pair) return true;
    return false;
}

CSIMI_FN bool csimi_may_touch(const csimi_detector *d, int a, int b) {
    const csim_world *w = d->world;
    const csim_surface_def *p = &w->store.body[a].surface, *q = &w->store.body[b].surface;
    if ((p->category & q->mask) == 0 || (q->category & p->mask) == 0) return false;
    if (p->group > 0 && p->group == q->group) return false;
    if (csimi_excluded(d, a, b)) return false;
    if (w->def.filter) {
        csim_pair_info info = csimi_pair_of(w, a, b);
        return w->def.filter(w->def.callback_user, &info);
    }
    return true;
}

/* ---- found contacts */

CSIMI_FN csimi_found_contact *csimi_next_found(csimi_detector *d, int body_a, int body_b, uint64_t id) {
    csimi_step_frame *f = d->frame;
    csimi_found_contact *c;
    d->needed++;
    if (f->found_count >= d->world->store.capacity.contacts) return NULL;
    c = f->found + f->found_count++;
    CSIMI_MEMSET(c, 0, sizeof *c);
    c->id = id;
    c->body_a = body_a;
    c->body_b = body_b;
    c->shape_b = c->surface_b = c->self = -1;
    return c;
}

/* ---- shapes against shapes */

static void csimi_collide_shapes(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csim_world *w = d->world;
    csimi_store *s = &w->store;
    csimi_step_frame *f = d->frame;
    csim_real thickness = s->body[a->body].surface.thickness + s->body[b->body].surface.thickness;
    csim_touch *out = (csim_touch *)(void *)f->info; /* free until the contacts are reported */
    int i, n, room = (int)((size_t)s->capacity.contacts * sizeof(csim_contact_info) / sizeof(csim_touch));
    uint64_t key = csimi_mix64(csimi_shape_key(s, a), csimi_shape_key(s, b));
    n = csimi_collide_at(s->shape + a->item, a->at, s->shape + b->item, b->at, s->hull,
                         a->margin + b->margin + thickness, out, room);
    if (n > room) {
        d->needed += n - room;
        n = room;
    }
    for (i = 0; i < n; i++) {
        csimi_found_contact *c = csimi_next_found(d, a->body, b->body, csimi_mix64(key, out[i].feature));
        if (!c) continue;
        c->radius = thickness;
        c->meet = c->point_a = out[i].point_a;
        c->point_b = out[i].point_b;
        c->normal = out[i].normal;
        c->gap = out[i].gap - thickness;
        c->a = csimi_shape_place(s, a->item, c->meet);
        c->b = csimi_shape_place(s, b->item, c->meet);
    }
}

/* ---- probes: points with a radius, against volumes */

typedef struct csimi_probe {
    int body, node; /* slot; point node, or -1: a point under a shape */
    int shape;
    int self;         /* vertex against its own solid: its place in the surface, else -1 */
    bool met;         /* vertices of the other look for this one's volume: nearest corners are their contacts */
    uint64_t key;     /* names it */
    csim_vec3 x, v;   /* centre */
    csim_real radius; /* with its thickness */
    csim_real reach;  /* margins of both objects */
    csim_real push;   /* their parts without velocity */
} csimi_probe;

/* Where the probe touches along the normal, as a place: a node acts at itself, a rigid body at its surface. */
static void csimi_probe_place(const csimi_store *s, const csimi_probe *p, csimi_found_contact *c) {
    csim_real own = p->radius - s->body[p->body].surface.thickness; /* of a rigid sample: the shape's own radius */
    c->meet = p->node >= 0 ? p->x : csim_madd(p->x, -own, c->normal);
    c->a = p->node >= 0 ? csimi_place_follow(&s->state, csimi_place_node(p->node))
                        : csimi_shape_place(s, p->shape, c->meet);
    if (p->node < 0) c->radius -= own;
}

/* The plane that a point x meets which moves by `way` past a convex shape: where its path comes within r, or nearest to
   the shape if that is within r + push. Any plane that touches the shape keeps the point out, but that at the start of
   a long way, around a small shape, stands across ways that never lead there: vertices of a sheet would hold what flies
   between them. False: it passes by. Distance and slope are convex along the path. */
static bool csimi_meets_on_its_way(const csim_geometry *g, const csim_hull_data *hulls, csim_pose pose, csim_vec3 x,
                                   csim_vec3 way, csim_real r, csim_real push, csim_vec3 *n, csim_real *gap) {
    csim_real low = 0, high = 1, t = 1, distance;
    uint32_t zone;
    int k;
    if (g->field || !(*gap > push)) return true;
    for (k = 0; k < 24 && high - low > CSIM_R(1e-6); k++) {
        distance = csim_shape_distance(g, hulls, pose, csim_madd(x, t, way), n, &zone);
        if (distance > r && csim_dot(*n, way) < 0)
            low = t;
        else
            high = t;
        t = (low + high) / 2;
    }
    distance = csim_shape_distance(g, hulls, pose, csim_madd(x, low, way), n, &zone);
    *gap = distance - r - low * csim_dot(*n, way);
    return distance <= r + push;
}

/* How a node moves against what is at b there, in this step. */
static csim_vec3 csimi_probe_way(const csimi_detector *d, const csimi_probe *p, csimi_place b) {
    const csim_vec3 v = csim_sub(p->v, csimi_place_velocity(&d->world->store.state, &b, p->x));
    return csim_scale(d->ahead * d->frame->h, v);
}

/* A node against a shape. The feature is left out of the id: a node has one contact with a shape, whichever face is
   nearest. */
static void csimi_probe_shape(csimi_detector *d, const csimi_probe *p, const csimi_object *b, csim_pose pose) {
    csimi_store *s = &d->world->store;
    csim_real r = p->radius + s->body[b->body].surface.thickness, gap;
    csim_vec3 n;
    uint32_t feature = 0;
    csimi_found_contact *c;
    gap = csim_shape_distance(s->shape + b->item, s->hull, pose, p->x, &n, &feature) - r;
    if (!(gap <= p->reach)) return;
    if (s->body[p->body].kind == CSIM_BODY_CLOTH &&
        !csimi_meets_on_its_way(s->shape + b->item, s->hull, pose, p->x,
                                csimi_probe_way(d, p, csimi_shape_place(s, b->item, p->x)), r, p->push, &n, &gap))
        return;
    c = csimi_next_found(d, p->body, b->body, csimi_mix64(p->key, csimi_shape_key(s, b)));
    if (!c) return;
    c->shape_b = b->item;
    c->radius = r;
    c->point_a = c->point_b = csim_madd(p->x, -(gap + r), n);
    c->normal = n;
    c->gap = gap;
    csimi_probe_place(s, p, c);
    c->b = csimi_shape_place(s, b->item, c->meet);
}

static csim_geometry csimi_ball(csim_real radius) {
    csim_geometry g;
    CSIMI_MEMSET(&g, 0, sizeof g);
    g.kind = CSIM_SHAPE_SPHERE;
    g.local = csim_pose_identity();
    g.bound = g.radius = radius;
    g.hull = -1;
    return g;
}

/* Node against particle, both as spheres. */
static void csimi_probe_particle(csimi_detector *d, const csimi_probe *p, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + b->body;
    csim_real rb = B->radius + B->surface.thickness;
    csim_vec3 xb = csimi_load3(s->state.x + 3 * b->item), n = csim_sub(p->x, xb);
    csim_real distance = csim_length(n), gap = distance - p->radius - rb;
    csimi_found_contact *c;
    if (!(p->radius + rb > 0) || !(gap <= p->reach)) return; /* points without extent never touch */
    if (s->body[p->body].kind == CSIM_BODY_CLOTH && !(B->radius > 0)) return; /* it meets the corners by its side */
    n = distance > 0 ? csim_scale(1 / distance, n) : csim_v3(0, 0, 1);
    if (s->body[p->body].kind == CSIM_BODY_CLOTH) {
        const csim_geometry ball = csimi_ball(0);
        csim_pose pose = csim_pose_identity();
        pose.position = xb;
        if (!csimi_meets_on_its_way(&ball, NULL, pose, p->x, csimi_probe_way(d, p, csimi_place_node(b->item)),
                                    p->radius + rb, p->push, &n, &gap))
            return;
    }
    c = csimi_next_found(d, p->body, b->body, csimi_mix64(p->key, csimi_point_key(s, b->body, 0)));
    if (!c) return;
    c->radius = p->radius + rb;
    c->point_a = csim_madd(p->x, -p->radius, n);
    c->point_b = csim_madd(xb, rb, n);
    c->meet = p->x;
    c->normal = n;
    c->gap = gap;
    c->a = csimi_place_follow(&s->state, csimi_place_node(p->node));
    c->b = csimi_place_node(b->item);
}

/* The point `meet` moving with a triangle: by its coordinates over the triangle's plane, or, where it is farther off
   than the triangle is large, by its foot, which has the weights. */
CSIMI_FN csimi_place csimi_place_over(const csimi_state *s, const int *node, const csim_real *foot, csim_vec3 meet) {
    csim_vec3 x[3], n;
    csim_real weight[3], area2, height, far = 0;
    int k;
    for (k = 0; k < 3; k++) x[k] = csimi_load3(s->x + 3 * (size_t)node[k]);
    n = csim_cross(csim_sub(x[1], x[0]), csim_sub(x[2], x[0]));
    area2 = csim_dot(n, n);
    if (!(area2 > 0)) return csimi_place_face(node, foot, 0);
    for (k = 0; k < 2; k++) {
        csim_vec3 q = x[(k + 1) % 3], r = x[(k + 2) % 3];
        weight[k] = csim_dot(n, csim_cross(csim_sub(r, q), csim_sub(meet, q))) / area2;
    }
    weight[2] = 1 - weight[0] - weight[1];
    height = csim_dot(n, csim_sub(meet, x[0])) / CSIMI_SQRT(area2);
    for (k = 0; k < 3; k++) far = csimi_max(far, csimi_abs(weight[k]));
    if (far > 2 || height * height > CSIMI_SQRT(area2)) return csimi_place_face(node, foot, 0);
    return csimi_place_face(node, weight, height);
}

static csimi_place csimi_surface_place(const csimi_store *s, const csimi_body *b, const csimi_surface *surface,
                                       const csimi_surface_hit *hit, csim_vec3 meet) {
    const int *t = surface->triangle + 3 * (size_t)hit->triangle;
    int node[3], k;
    for (k = 0; k < 3; k++) node[k] = s->surface_node[b->first_surface + t[k]];
    return csimi_place_over(&s->state, node, hit->weight, meet);
}

/* Which side of a sheet a point is on: where it is, or, when it slid over the triangles of a sheet that moved and came
   out behind it, where it was in the step before. side: of the triangle's normal, 1 below; count: on that side. */
static bool csimi_sheet_side(const csimi_detector *d, const uint64_t *id, bool below, bool border) {
    if (border) return below; /* around it both sides are one */
    return csimi_last_contact(d->world, &d->last, id[below]) < 0 &&
                   csimi_last_contact(d->world, &d->last, id[!below]) >= 0
               ? !below
               : below;
}

/* How near a point that moves by `way` in the step comes to the edge or corner it is nearest to: many points would see
   the border of a small sheet from afar, in directions of which none is that of the contact to come. */
static csim_real csimi_passes_by(const csimi_surface *surface, const csimi_surface_hit *hit, csim_vec3 x,
                                 csim_vec3 way) {
    csim_vec3 d = csim_sub(x, hit->point);
    csim_real square;
    if (hit->feature < 4) { /* along the edge its nearest point goes with it */
        const int *t = surface->triangle + 3 * (size_t)hit->triangle;
        csim_vec3 e = csim_sub(csimi_load3(surface->x + 3 * (size_t)t[hit->feature % 3]),
                               csimi_load3(surface->x + 3 * (size_t)t[hit->feature - 1]));
        e = csim_normalize(e);
        way = csim_madd(way, -csim_dot(way, e), e);
    }
    square = csim_dot(way, way);
    if (square > 0) d = csim_madd(d, csimi_clamp(-csim_dot(d, way) / square, 0, 1), way);
    return csim_length(d);
}

/* A point against a sheet, which has no inside: it is met on three sides at most (a fold around it, layers above and
   below). Its own corners are met once. */
static void csimi_probe_sheet(csimi_detector *d, const csimi_probe *p, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + b->body;
    const csimi_surface *surface = csimi_surface_of(&d->surfaces, b->body);
    const csim_real r = p->radius + B->radius + B->surface.thickness;
    csim_real within = p->reach + r, reach, gap;
    csimi_surface_skip skip;
    csimi_surface_hit hit;
    uint32_t count[2] = {0, 0};
    if (p->self < 0) within = csimi_max(within, B->edge / 2); /* what came out behind it */
    skip.sheet = true;
    skip.vertex = p->self;
    skip.rest = s->surface_rest + 3 * (size_t)B->first_surface;
    skip.radius = B->self_distance;
    for (skip.met_count = 0; skip.met_count < 3; skip.met_count++) {
        csimi_found_contact *c;
        csimi_place foot;
        csim_vec3 n, relative;
        uint64_t id[2];
        bool below, side;
        int k;
        if (!csimi_surface_nearest(surface, p->x, within, &skip, &hit)) return;
        n = hit.normal;
        if (hit.distance > CSIMI_SQRT(CSIMI_EPS) * B->edge)
            n = csim_scale(1 / hit.distance, csim_sub(p->x, hit.point));
        skip.met[skip.met_count] = n;
        below = csim_dot(n, hit.normal) < 0;
        for (k = 0; k < 2; k++)
            id[k] = csimi_mix64(p->key, csimi_point_key(s, b->body, 0x1ffffff0u + 4 * (uint32_t)k + count[k]));
        side = csimi_sheet_side(d, id, below, hit.border && csimi_abs(csim_dot(n, hit.normal)) < CSIM_R(0.5));
        count[side]++;
        gap = (side == below ? hit.distance : -hit.distance) - r;
        if (side != below) n = csim_scale(-1, n);
        if (hit.feature >= 4 && (p->met || surface->triangle[3 * hit.triangle + hit.feature - 4] < p->self)) continue;
        foot = csimi_surface_place(s, B, surface, &hit, hit.point);
        relative = csim_sub(p->v, csimi_place_velocity(&s->state, &foot, hit.point));
        relative = csim_scale(d->ahead * d->frame->h, relative);
        reach = csimi_min(p->reach, p->push + csim_length(relative));
        if (hit.feature > 0 && side == below && csimi_passes_by(surface, &hit, p->x, relative) - r > p->push) continue;
        if (gap > reach || !(c = csimi_next_found(d, p->body, b->body, id[side]))) continue;
        c->radius = r;
        c->normal = n;
        c->gap = gap;
        c->point_a = csim_madd(p->x, -p->radius, n);
        c->point_b = csim_madd(hit.point, B->radius + B->surface.thickness, n);
        csimi_probe_place(s, p, c);
        c->b = csimi_surface_place(s, B, surface, &hit, c->meet);
    }
}

/* A point against the surface of a solid. One contact for each point and solid: its id stays while the point slides
   from triangle to triangle. */
static void csimi_probe_surface(csimi_detector *d, const csimi_probe *p, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + b->body;
    csim_real r = p->radius + B->surface.thickness, distance, gap, reach;
    csimi_surface_hit hit;
    csimi_found_contact *c;
    csimi_place foot;
    if (B->kind == CSIM_BODY_CLOTH) {
        csimi_probe_sheet(d, p, b);
        return;
    }
    if (!csimi_surface_gap(&d->surfaces, b->body, p->x, p->reach + r, p->self, &hit, &distance)) return;
    gap = distance - r;
    if (p->met && hit.feature >= 4 && !hit.inside) return;
    {
        const csimi_surface *surface = csimi_surface_of(&d->surfaces, b->body);
        csim_vec3 relative;
        foot = csimi_surface_place(s, B, surface, &hit, hit.point);
        relative = csim_sub(p->v, csimi_place_velocity(&s->state, &foot, hit.point));
        reach = csimi_min(p->reach, p->push + d->ahead * d->frame->h * csim_length(relative));
        if (gap > reach) return;
        c = csimi_next_found(d, p->body, b->body, csimi_mix64(p->key, csimi_point_key(s, b->body, 0x1fffffffu)));
        if (!c) return;
        c->surface_b = b->body;
        c->self = p->self;
        c->radius = r;
        c->normal = hit.normal;
        if (hit.distance > CSIMI_SQRT(CSIMI_EPS) * B->edge) /* else the direction is made of rounding */
            c->normal = csim_scale(1 / distance, csim_sub(p->x, hit.point));
        c->point_a = csim_madd(p->x, -p->radius, c->normal);
        c->point_b = csim_madd(hit.point, B->surface.thickness, c->normal);
        c->gap = gap;
        csimi_probe_place(s, p, c);
        c->b = csimi_place_follow(&s->state, csimi_surface_place(s, B, surface, &hit, c->meet));
    }
}

/* ---- what has probes */

static bool csimi_near(const csimi_detector *d, const csimi_object *b, csim_vec3 x, csim_real grow) {
    const csim_real *lo = d->lower + 3 * (b - d->object), *hi = d->upper + 3 * (b - d->object);
    return x.x >= lo[0] - grow && x.x <= hi[0] + grow && x.y >= lo[1] - grow && x.y <= hi[1] + grow &&
           x.z >= lo[2] - grow && x.z <= hi[2] + grow;
}

static csimi_probe csimi_node_probe(const csimi_store *s, const csimi_object *a, const csimi_object *b, int node) {
    const csimi_body *A = s->body + a->body;
    csimi_probe p;
    p.body = a->body;
    p.node = node;
    p.self = p.shape = -1;
    p.met = b->kind == CSIMI_OBJECT_SOLID &&
            (a->kind == CSIMI_OBJECT_SOLID ? A->edge > 0 && a->body > b->body : A->radius > 0);
    p.key = csimi_point_key(s, a->body, (uint32_t)s->node_user[node]);
    p.x = csimi_load3(s->state.x + 3 * node);
    p.v = csimi_load3(s->state.v + 3 * node);
    p.radius = A->radius + A->surface.thickness;
    p.reach = a->margin + b->margin;
    p.push = a->push + b->push;
    return p;
}

/* Nodes of a particle or solid against anything. */
static void csimi_collide_points(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + a->body;
    bool particle = a->kind == CSIMI_OBJECT_PARTICLE;
    int i, n = particle ? 1 : A->surface_count;
    csim_pose pose = b->kind == CSIMI_OBJECT_SHAPE ? csimi_shape_pose(s, &s->state, b->item) : csim_pose_identity();
    if (b->kind == CSIMI_OBJECT_SOLID && !(s->body[b->body].edge > 0)) return; /* points alone: nothing to be in */
    for (i = 0; i < n; i++) {
        int node = particle ? A->first_node : s->surface_node[A->first_surface + i];
        csimi_probe p = csimi_node_probe(s, a, b, node);
        if (!csimi_near(d, b, p.x, a->margin + p.radius)) continue;
        switch (b->kind) {
        case CSIMI_OBJECT_SHAPE: csimi_probe_shape(d, &p, b, pose); break;
        case CSIMI_OBJECT_PARTICLE: csimi_probe_particle(d, &p, b); break;
        case CSIMI_OBJECT_SOLID: csimi_probe_surface(d, &p, b); break;
        }
    }
}

/* ---- edges of cables, where they touch between their nodes: a corner, a peg, what is narrower than an edge. */

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
    const csim_real fall = m->end[1] - m->end[0], opening = m->slope[1] - m->slope[0];
    csim_real t;
    if (m->shape->field) return true;
    if (!(opening > 0)) return false;
    t = csimi_clamp((fall - m->slope[0]) / -opening + 1, 0, 1);
    return m->end[0] + m->slope[0] * t < reach && (fall - m->slope[0]) * t > m->edge.radius / 20;
}

/* The point x of the axis of the edge, if it is one of contact. What the nodes are nearer to than the edge is by less
   than 1/20 of the radius is left to them: a round thing that the cable lies on would be touched by all edges and by no
   node. Up to half the radius the edge may sink by as much as the nodes leave. */
static void csimi_edge_touch(csimi_detector *d, const csimi_edge_meeting *m, const csim_touch *t) {
    csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + m->b->body;
    const csim_real r = m->edge.radius, thickness = B->surface.thickness;
    const csim_vec3 x = csim_madd(t->point_a, r, t->normal);
    const csim_real along = csim_dot(csim_sub(x, m->at.position), m->axis) / csim_dot(m->axis, m->axis);
    const csim_real bulge = ((1 - along) * m->end[0] + (1 + along) * m->end[1]) / 2 - r - t->gap;
    const csim_real left = csimi_clamp((r / 2 - bulge) / 4, 0, r / 10);
    csimi_found_contact *c;
    if (csimi_abs(along) > CSIM_R(0.999) || bulge < r / 20) return;
    c = csimi_next_found(
        d, m->a->body, m->b->body,
        csimi_mix64(csimi_side_key(s, m->a->body,
                                   (uint32_t)(m->frame - s->body[m->a->body].first_frame) | 0x10000000u),
                    csimi_mix64(m->key, t->feature)));
    if (!c) return;
    c->shape_b = m->particle ? -1 : m->b->item;
    c->radius = r - left + (m->particle ? B->radius : 0) + thickness;
    c->normal = t->normal;
    c->gap = t->gap + left - thickness;
    c->point_a = csim_madd(t->point_a, left, t->normal);
    c->point_b = csim_madd(t->point_b, thickness, t->normal);
    c->meet = m->particle ? m->pose.position : x; /* as nodes do: on the centre line */
    c->a = csimi_place_edge(&s->state, m->frame, c->meet);
    c->b = m->particle ? csimi_place_node(m->b->item) : csimi_shape_place(s, m->b->item, c->meet);
}

/* Axis, ends and capsule of edge m->frame; false: it is a point. */
static bool csimi_edge_set(const csimi_store *s, csimi_edge_meeting *m) {
    int k;
    m->at = csimi_edge_capsule(s, s->body + m->a->body, m->frame, &m->edge);
    m->axis = csim_rotate(m->at.rotation, csim_v3(0, 0, m->edge.half_height));
    for (k = 0; k < 2; k++) {
        csim_vec3 n;
        uint32_t zone;
        m->end[k] = csim_shape_distance(m->shape, s->hull, m->pose, csim_madd(m->at.position, k ? 1 : -1, m->axis), &n,
                                        &zone);
        m->slope[k] = 2 * csim_dot(n, m->axis);
    }
    return m->edge.half_height > 0;
}

static CSIMI_NOINLINE void csimi_collide_edges(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + a->body, *B = s->body + b->body;
    const csim_real reach = a->margin + b->margin + B->surface.thickness;
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
        if (!csimi_near(d, b, middle, a->margin + half + A->radius + A->surface.thickness) ||
            !csimi_edge_set(s, &m) || !csimi_edge_bulges(&m, reach + m.edge.radius))
            continue;
        n = csim_collide(&m.edge, m.at, m.shape, m.pose, s->hull, reach, out, room);
        for (i = 0; i < csimi_imin(n, room); i++) csimi_edge_touch(d, &m, out + i);
    }
}

/* Corners, edge points and inner balls of a shape against the surface of a solid, as close as its own vertices are. */
static void csimi_collide_samples(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + a->body;
    const csim_geometry *g = s->shape + a->item;
    csim_pose pose = csim_pose_mul(csimi_shape_pose(s, &s->state, a->item), g->local);
    csimi_sampler sampler;
    csimi_probe p;
    if (!s->body[b->body].corner_contact || !(s->body[b->body].edge > 0)) return;
    if (g->field && s->body[b->body].kind == CSIM_BODY_CLOTH) return; /* its vertices see the field */
    p.body = a->body;
    p.node = p.self = -1;
    p.met = true;
    p.shape = a->item;
    p.reach = a->margin + b->margin;
    p.push = a->push + b->push;
    csimi_sampler_start(&sampler, g, s->hull, g->spacing > 0 ? g->spacing : s->body[b->body].edge);
    if (g->kind == CSIM_SHAPE_HEIGHTS) {
        const csim_vec3 lower = csimi_load3(d->lower + 3 * (b - d->object)),
                        upper = csimi_load3(d->upper + 3 * (b - d->object));
        const csim_vec3 x = csim_pose_local(pose, csim_scale(CSIM_R(0.5), csim_add(lower, upper)));
        const csim_real r = csim_length(csim_sub(upper, lower)) / 2;
        csimi_sampler_limit(&sampler, csim_sub(x, csim_v3(r, r, r)), csim_add(x, csim_v3(r, r, r)));
    }
    while (csimi_sampler_next(&sampler)) {
        csimi_place place;
        if (sampler.begins && !csimi_near(d, b, csim_pose_point(pose, sampler.middle), a->margin + sampler.ball)) {
            csimi_sampler_pass(&sampler);
            continue;
        }
        p.x = csim_pose_point(pose, sampler.point);
        p.radius = sampler.radius + A->surface.thickness;
        if (!csimi_near(d, b, p.x, a->margin + p.radius)) continue;
        place = csimi_shape_place(s, a->item, p.x);
        p.v = csimi_place_velocity(&s->state, &place, p.x);
        p.key = csimi_mix64(csimi_shape_key(s, a), 0x20000000u + (uint32_t)sampler.number);
        csimi_probe_surface(d, &p, b);
    }
}

CSIMI_FN void csimi_collide_self(csimi_detector *d, int i) {
    csimi_store *s = &d->world->store;
    const csimi_object *a = d->object + i;
    const csimi_body *A = s->body + a->body;
    int k;
    for (k = 0; k < A->surface_count; k++) {
        csimi_probe p = csimi_node_probe(s, a, a, s->surface_node[A->first_surface + k]);
        p.self = k;
        csimi_probe_surface(d, &p, a);
    }
    if (A->kind == CSIM_BODY_CLOTH && A->edge_contact) csimi_touch_sheets(d, a, a);
}

/* The link that a shape moves with: the first one up the tree that has a joint to move in. */
static int csimi_moving_link(const csimi_store *s, int shape) {
    int link = s->state.tree[s->body[s->shape_body[shape]].tree].first_link + s->shape_link[shape];
    while (s->state.tree_link[link].dofs == 0 && s->state.tree_link[link].parent >= 0)
        link = csimi_link_above(&s->state, link);
    return link;
}

/* Whether two shapes of one tree are on one link or on neighbours. */
static bool csimi_neighbours(const csimi_store *s, int shape_a, int shape_b) {
    int a = csimi_moving_link(s, shape_a), b = csimi_moving_link(s, shape_b), pass;
    if (a == b) return true;
    for (pass = 0; pass < 2; pass++) {
        const int below = pass ? b : a, other = pass ? a : b;
        int above = csimi_link_above(&s->state, below);
        while (above >= 0 && s->state.tree_link[above].dofs == 0 && s->state.tree_link[above].parent >= 0)
            above = csimi_link_above(&s->state, above);
        if (above == other) return true;
    }
    return false;
}

/* Decides who is a and b: free bodies before fixed ones, points before shapes. Solids have points and a surface: both
   sides look for each other. */
CSIMI_FN void csimi_collide_pair(csimi_detector *d, int i, int j) {
    const csimi_object *a = d->object + i, *b = d->object + j;
    const csimi_body *A = d->world->store.body + a->body, *B = d->world->store.body + b->body;
    int k;
    if (a->body == b->body ? csimi_neighbours(&d->world->store, a->item, b->item)
                           : !csimi_may_touch(d, a->body, b->body))
        return;
    if (a->kind == CSIMI_OBJECT_SHAPE && b->kind == CSIMI_OBJECT_SHAPE) {
        if (A->motion != CSIM_DYNAMIC && B->motion == CSIM_DYNAMIC)
            csimi_collide_shapes(d, b, a);
        else
            csimi_collide_shapes(d, a, b);
        return;
    }
    if (a->kind != CSIMI_OBJECT_SOLID && b->kind == CSIMI_OBJECT_SOLID) { /* the solid first */
        const csimi_object *swap = a;
        a = b;
        b = swap;
    } else if (a->kind == CSIMI_OBJECT_SHAPE) {
        const csimi_object *swap = a;
        a = b;
        b = swap;
    }
    csimi_collide_points(d, a, b);
    if (a->kind != CSIMI_OBJECT_SOLID) return;
    if (b->kind != CSIMI_OBJECT_SOLID && d->world->store.body[a->body].edge_contact) csimi_collide_edges(d, a, b);
    for (k = 0; k < 2 && b->kind == CSIMI_OBJECT_SOLID; k++) {
        const csimi_object *cable = k ? b : a, *of = k ? a : b;
        const csimi_body *C = d->world->store.body + cable->body;
        if (C->kind == CSIM_BODY_CABLE && C->edge_contact && d->world->store.body[of->body].edge > 0)
            csimi_touch_surface(d, cable, of);
    }
    if (b->kind == CSIMI_OBJECT_SHAPE)
        csimi_collide_samples(d, b, a);
    else
        csimi_collide_points(d, b, a);
    if (A->kind == CSIM_BODY_CLOTH && B->kind == CSIM_BODY_CLOTH && A->edge_contact && B->edge_contact)
        csimi_touch_sheets(d, a, b);
}
