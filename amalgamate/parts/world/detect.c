/* world/detect: contacts of the current positions: bounds, broad phase, narrow phase. contact.md 7. */
#include "private.h"

/* What the broad phase sees. */
typedef enum csimi_object_kind { CSIMI_OBJECT_SHAPE, CSIMI_OBJECT_PARTICLE, CSIMI_OBJECT_SOLID } csimi_object_kind;

typedef struct csimi_object {
    csimi_object_kind kind;
    int body, item;   /* slot; shape or node index */
    csim_real margin; /* how far its surface may come in this step, m */
} csimi_object;

typedef struct csimi_detector {
    csim_world *world;
    csimi_step_frame *frame;
    csimi_object *object;
    csim_real *lower, *upper;
    int *group, *pairs;
    void *broad;
    int count;
    int needed; /* contacts found, beyond the capacity too */
} csimi_detector;

static void csimi_detector_layout(csimi_detector *d, const csimi_counts *n, csimi_arena *arena) {
    size_t objects = (size_t)n->shapes + (size_t)n->bodies;
    d->object = CSIMI_PUSH(arena, csimi_object, objects);
    d->lower = CSIMI_PUSH(arena, csim_real, 3 * objects);
    d->upper = CSIMI_PUSH(arena, csim_real, 3 * objects);
    d->group = CSIMI_PUSH(arena, int, objects);
    d->pairs = CSIMI_PUSH(arena, int, 2 * (size_t)n->pairs);
    d->broad = csimi_push(arena, csimi_broad_scratch((int)objects), 1);
}

CSIMI_FN size_t csimi_detect_scratch(const csimi_counts *n) {
    csimi_detector d;
    csimi_arena arena = csimi_arena_counting();
    csimi_detector_layout(&d, n, &arena);
    return arena.used;
}

static csim_quat csimi_rotation_of(const csimi_state *s, int k) {
    csim_quat q;
    q.w = s->rotation[4 * k];
    q.x = s->rotation[4 * k + 1];
    q.y = s->rotation[4 * k + 2];
    q.z = s->rotation[4 * k + 3];
    return q;
}

CSIMI_FN csim_pose csimi_body_pose(const csimi_store *s, const csimi_state *state, int slot) {
    const csimi_body *b = s->body + slot;
    csim_pose p = csim_pose_identity();
    if (b->kind == CSIM_RIGID) {
        p.rotation = csimi_rotation_of(state, b->rigid);
        p.position = csim_sub(csimi_load3(state->com + 3 * b->rigid), csim_rotate(p.rotation, csimi_load3(b->centre)));
    } else if (b->kind == CSIM_PARTICLE) {
        p.position = csimi_load3(state->x + 3 * b->first_node);
    } else if (b->kind == CSIM_BODY_TREE) {
        p = csimi_link_pose(state, state->tree[b->tree].first_link);
    }
    return p;
}

/* Pose of the axes a shape is given in: of its body, or of its link. */
static csim_pose csimi_shape_pose(const csimi_store *s, const csimi_state *state, int shape) {
    const csimi_body *b = s->body + s->shape_body[shape];
    if (b->kind != CSIM_BODY_TREE) return csimi_body_pose(s, state, s->shape_body[shape]);
    return csimi_link_pose(state, state->tree[b->tree].first_link + s->shape_link[shape]);
}

/* The material point under a shape that is at point. */
static csimi_place csimi_shape_place(const csimi_store *s, int shape, csim_vec3 point) {
    const csimi_body *b = s->body + s->shape_body[shape];
    if (b->kind != CSIM_BODY_TREE) return csimi_place_rigid(&s->state, b->rigid, point);
    return csimi_place_link(&s->state, s->state.tree[b->tree].first_link + s->shape_link[shape], point);
}

/* ---- objects and their bounds */

/* Half of the contact distance, and the way a point at this speed can go in a step under gravity and the given
   acceleration; half as much again in midpoint worlds, whose contacts stop an impact (3 - e) / 2 steps ahead. */
static csim_real csimi_margin(const csimi_detector *d, csim_real speed, csim_real acceleration) {
    csim_real h = d->frame->h;
    csim_real g = csim_length(csimi_load3(d->world->store.state.gravity));
    csim_real ahead = d->world->def.integrator == CSIM_MIDPOINT ? CSIM_R(1.5) : 1;
    return d->world->def.contact_distance / 2 + ahead * h * (speed + h * (g + acceleration));
}

static void csimi_add_object(csimi_detector *d, csimi_object_kind kind, int body, int item, csim_real margin,
                             csim_vec3 lower, csim_vec3 upper) {
    int i = d->count++;
    const csimi_body *b = d->world->store.body + body;
    csim_vec3 m = csim_v3(margin, margin, margin);
    d->object[i].kind = kind;
    d->object[i].body = body;
    d->object[i].item = item;
    d->object[i].margin = margin;
    csimi_store3(d->lower + 3 * i, csim_sub(lower, m));
    csimi_store3(d->upper + 3 * i, csim_add(upper, m));
    d->group[i] = b->motion == CSIM_DYNAMIC ? body + 1 : 0; /* what never moves freely never pairs with its like */
    if (b->kind == CSIM_BODY_TREE && d->group[i] > 0 && d->world->store.state.tree[b->tree].self_contact)
        d->group[i] = -1;
}

static void csimi_add_shape(csimi_detector *d, int slot, int shape, csim_pose pose) {
    const csimi_store *s = &d->world->store;
    const csimi_body *b = s->body + slot;
    const csim_geometry *g = s->shape + shape;
    csim_vec3 lower, upper;
    csim_real speed = 0, acceleration = 0, t = b->surface.thickness;
    csim_vec3 extra = csim_v3(t, t, t);
    if (b->kind == CSIM_BODY_TREE && s->state.tree[b->tree].mode == CSIMI_FREE) {
        /* the assembly has just been over the tree and left the motions of its links, about its origin */
        const int first = s->state.tree[b->tree].first_link;
        const csimi_twist *V = &s->state.link_work[first + s->shape_link[shape]].V;
        csim_vec3 x = csim_pose_point(pose, csim_pose_point(g->local, g->centre));
        csim_vec3 r = csim_sub(x, csimi_link_pose(&s->state, first).position);
        speed = csim_length(csim_add(V->v, csim_cross(V->w, r))) + g->bound * csim_length(V->w);
    } else if (b->kind == CSIM_BODY_TREE) {
        csim_vec3 turn, v = csimi_link_velocity(&s->state, s->state.tree[b->tree].first_link + s->shape_link[shape],
                                                csim_pose_point(pose, csim_pose_point(g->local, g->centre)),
                                                s->state.coord_rate, &turn);
        speed = csim_length(v) + g->bound * csim_length(turn);
    } else if (b->motion != CSIM_STATIC) {
        const csim_real *v = s->state.velocity + 6 * b->rigid, *f = s->state.wrench + 6 * b->rigid;
        csim_real reach =
            csim_length(csim_sub(csim_pose_point(g->local, g->centre), csimi_load3(b->centre))) + g->bound;
        speed = csim_length(csimi_load3(v)) + reach * csim_length(csimi_load3(v + 3));
        if (b->motion == CSIM_DYNAMIC) acceleration = csim_length(csimi_load3(f)) / s->state.rigid_mass[b->rigid];
    }
    csim_shape_bounds(g, s->hull, pose, &lower, &upper);
    csimi_add_object(d, CSIMI_OBJECT_SHAPE, slot, shape, csimi_margin(d, speed, acceleration), csim_sub(lower, extra),
                     csim_add(upper, extra));
}

static void csimi_add_points(csimi_detector *d, int slot) {
    const csimi_store *s = &d->world->store;
    const csimi_body *b = s->body + slot;
    bool particle = b->kind == CSIM_PARTICLE;
    int i, n = particle ? 1 : b->surface_count;
    csim_real r = b->radius + b->surface.thickness, speed2 = 0, push2 = 0;
    csim_vec3 lower = csim_v3(CSIMI_HUGE, CSIMI_HUGE, CSIMI_HUGE), upper = csim_scale(-1, lower),
              extra = csim_v3(r, r, r);
    for (i = 0; i < n; i++) {
        int node = particle ? b->first_node : s->surface_node[b->first_surface + i];
        csim_vec3 x = csimi_load3(s->state.x + 3 * node), v = csimi_load3(s->state.v + 3 * node);
        csim_vec3 f = csim_scale(1 / s->state.node_mass[node], csimi_load3(s->state.node_force + 3 * node));
        lower = csim_v3(csimi_min(lower.x, x.x), csimi_min(lower.y, x.y), csimi_min(lower.z, x.z));
        upper = csim_v3(csimi_max(upper.x, x.x), csimi_max(upper.y, x.y), csimi_max(upper.z, x.z));
        speed2 = csimi_max(speed2, csim_dot(v, v));
        push2 = csimi_max(push2, csim_dot(f, f));
    }
    csimi_add_object(d, particle ? CSIMI_OBJECT_PARTICLE : CSIMI_OBJECT_SOLID, slot, b->first_node,
                     csimi_margin(d, CSIMI_SQRT(speed2), CSIMI_SQRT(push2)), csim_sub(lower, extra),
                     csim_add(upper, extra));
}

static void csimi_add_objects(csimi_detector *d) {
    csim_world *w = d->world;
    int i, k;
    for (i = 0; i < w->live_bodies; i++) {
        int slot = w->store.body_list[i];
        const csimi_body *b = w->store.body + slot;
        if (b->kind == CSIM_RIGID) {
            csim_pose pose = csimi_body_pose(&w->store, &w->store.state, slot);
            for (k = 0; k < b->shape_count; k++) csimi_add_shape(d, slot, b->first_shape + k, pose);
        } else if (b->kind == CSIM_BODY_TREE) {
            for (k = b->first_shape; k < b->first_shape + b->shape_count; k++)
                csimi_add_shape(d, slot, k, csimi_shape_pose(&w->store, &w->store.state, k));
        } else {
            csimi_add_points(d, slot);
        }
    }
}

/* ---- ids and filters */

static uint64_t csimi_mix64(uint64_t h, uint64_t x) {
    h ^= x + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    h ^= h >> 30;
    h *= 0xbf58476d1ce4e5b9ull;
    h ^= h >> 27;
    return h;
}

static uint64_t csimi_side_key(const csimi_store *s, int slot, uint32_t part) {
    return csimi_mix64(((uint64_t)s->body[slot].generation << 32) | (uint32_t)slot, part);
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

static bool csimi_may_touch(const csim_world *w, int a, int b) {
    const csim_surface_def *p = &w->store.body[a].surface, *q = &w->store.body[b].surface;
    if ((p->category & q->mask) == 0 || (q->category & p->mask) == 0) return false;
    if (p->group > 0 && p->group == q->group) return false;
    if (w->def.filter) {
        csim_pair_info info = csimi_pair_of(w, a, b);
        return w->def.filter(w->def.callback_user, &info);
    }
    return true;
}

/* ---- narrow phase */

/* The next free record, or null beyond the capacity (it is counted all the same). */
static csimi_found_contact *csimi_next_found(csimi_detector *d) {
    csimi_step_frame *f = d->frame;
    d->needed++;
    if (f->found_count >= d->world->store.capacity.contacts) return NULL;
    CSIMI_MEMSET(f->found + f->found_count, 0, sizeof(csimi_found_contact));
    return f->found + f->found_count++;
}

static void csimi_collide_shapes(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csim_world *w = d->world;
    csimi_store *s = &w->store;
    csimi_step_frame *f = d->frame;
    csim_real thickness = s->body[a->body].surface.thickness + s->body[b->body].surface.thickness;
    csim_touch *out = (csim_touch *)(void *)f->info; /* free until the contacts are reported */
    int i, n, room = (int)((size_t)s->capacity.contacts * sizeof(csim_contact_info) / sizeof(csim_touch));
    uint64_t key = csimi_mix64(csimi_side_key(s, a->body, (uint32_t)(a->item - s->body[a->body].first_shape)),
                               csimi_side_key(s, b->body, (uint32_t)(b->item - s->body[b->body].first_shape)));
    csim_pose pose_a = csimi_shape_pose(s, &s->state, a->item), pose_b = csimi_shape_pose(s, &s->state, b->item);
    n = csim_collide(s->shape + a->item, pose_a, s->shape + b->item, pose_b, s->hull, a->margin + b->margin + thickness,
                     out, room);
    if (n > room) {
        d->needed += n - room;
        n = room;
    }
    for (i = 0; i < n; i++) {
        csimi_found_contact *c = csimi_next_found(d);
        if (!c) continue;
        c->id = csimi_mix64(key, out[i].feature);
        c->body_a = a->body;
        c->body_b = b->body;
        c->shape_b = -1;
        c->a = csimi_shape_place(s, a->item, out[i].point_a);
        c->b = csimi_shape_place(s, b->item, out[i].point_b);
        c->radius = thickness;
        c->point_a = out[i].point_a;
        c->point_b = out[i].point_b;
        c->normal = out[i].normal;
        c->gap = out[i].gap - thickness;
    }
}

/* Node against shape. */
static void csimi_collide_node_shape(csimi_detector *d, int slot, int node, uint32_t part, csim_real reach,
                                     const csimi_object *b, csim_pose pose) {
    csimi_store *s = &d->world->store;
    csim_real r = s->body[slot].radius + s->body[slot].surface.thickness + s->body[b->body].surface.thickness;
    csim_vec3 x = csimi_load3(s->state.x + 3 * node), n;
    uint32_t feature = 0;
    csim_real gap = csim_shape_distance(s->shape + b->item, s->hull, pose, x, &n, &feature) - r;
    csimi_found_contact *c;
    if (!(gap <= reach)) return;
    c = csimi_next_found(d);
    if (!c) return;
    /* the feature is left out of the id: a node has one contact with a shape, whichever face is nearest */
    c->id = csimi_mix64(csimi_side_key(s, slot, part | 0x40000000u),
                        csimi_side_key(s, b->body, (uint32_t)(b->item - s->body[b->body].first_shape)));
    c->body_a = slot;
    c->body_b = b->body;
    c->shape_b = b->item;
    c->radius = r;
    c->point_a = c->point_b = csim_madd(x, -(gap + r), n);
    c->a = csimi_place_node(node);
    c->b = csimi_shape_place(s, b->item, c->point_b);
    c->normal = n;
    c->gap = gap;
}

/* Node against node, both as spheres. */
static void csimi_collide_nodes(csimi_detector *d, int slot_a, int node_a, uint32_t part_a, int slot_b, int node_b,
                                uint32_t part_b, csim_real reach) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + slot_a, *B = s->body + slot_b;
    csim_real ra = A->radius + A->surface.thickness, rb = B->radius + B->surface.thickness;
    csim_vec3 xa = csimi_load3(s->state.x + 3 * node_a), xb = csimi_load3(s->state.x + 3 * node_b),
              n = csim_sub(xa, xb);
    csim_real distance = csim_length(n), gap = distance - ra - rb;
    csimi_found_contact *c;
    if (!(ra + rb > 0) || !(gap <= reach)) return; /* points without extent never touch */
    c = csimi_next_found(d);
    if (!c) return;
    n = distance > 0 ? csim_scale(1 / distance, n) : csim_v3(0, 0, 1);
    c->id =
        csimi_mix64(csimi_side_key(s, slot_a, part_a | 0x40000000u), csimi_side_key(s, slot_b, part_b | 0x40000000u));
    c->body_a = slot_a;
    c->body_b = slot_b;
    c->a = csimi_place_node(node_a);
    c->b = csimi_place_node(node_b);
    c->shape_b = -1;
    c->radius = ra + rb;
    c->point_a = csim_madd(xa, -ra, n);
    c->point_b = csim_madd(xb, rb, n);
    c->normal = n;
    c->gap = gap;
}

static void csimi_collide_points(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + a->body;
    csim_real reach = a->margin + b->margin;
    bool particle = a->kind == CSIMI_OBJECT_PARTICLE;
    int i, n = particle ? 1 : A->surface_count;
    csim_pose pose = b->kind == CSIMI_OBJECT_SHAPE ? csimi_shape_pose(s, &s->state, b->item) : csim_pose_identity();
    const csim_real *lo = d->lower + 3 * (b - d->object), *hi = d->upper + 3 * (b - d->object);
    csim_real grow = a->margin + A->radius + A->surface.thickness;
    for (i = 0; i < n; i++) {
        int node = particle ? A->first_node : s->surface_node[A->first_surface + i];
        const csim_real *x = s->state.x + 3 * node;
        uint32_t part = (uint32_t)s->node_user[node];
        if (x[0] < lo[0] - grow || x[0] > hi[0] + grow || x[1] < lo[1] - grow || x[1] > hi[1] + grow ||
            x[2] < lo[2] - grow || x[2] > hi[2] + grow)
            continue;
        if (b->kind == CSIMI_OBJECT_SHAPE)
            csimi_collide_node_shape(d, a->body, node, part, reach, b, pose);
        else
            csimi_collide_nodes(d, a->body, node, part, b->body, b->item, 0, reach);
    }
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

/* Decides who is a and b: free bodies before fixed ones, points before shapes, solids before particles. */
static void csimi_collide_pair(csimi_detector *d, int i, int j) {
    const csimi_object *a = d->object + i, *b = d->object + j;
    const csimi_body *A = d->world->store.body + a->body, *B = d->world->store.body + b->body;
    if (a->body == b->body ? csimi_neighbours(&d->world->store, a->item, b->item)
                           : !csimi_may_touch(d->world, a->body, b->body))
        return;
    if (a->kind == CSIMI_OBJECT_SHAPE && b->kind == CSIMI_OBJECT_SHAPE) {
        if (A->motion != CSIM_DYNAMIC && B->motion == CSIM_DYNAMIC)
            csimi_collide_shapes(d, b, a);
        else
            csimi_collide_shapes(d, a, b);
    } else if (a->kind == CSIMI_OBJECT_SOLID && b->kind == CSIMI_OBJECT_SOLID) {
        return; /* solids against solids: not in this version */
    } else if (a->kind == CSIMI_OBJECT_SHAPE || (a->kind == CSIMI_OBJECT_PARTICLE && b->kind == CSIMI_OBJECT_SOLID)) {
        csimi_collide_points(d, b, a);
    } else {
        csimi_collide_points(d, a, b);
    }
}

CSIMI_FN csim_status csimi_detect(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    csimi_detector d;
    size_t mark = arena->used;
    int i, pairs;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.world = w;
    d.frame = f;
    csimi_detector_layout(&d, &w->store.capacity, arena);
    csimi_add_objects(&d);
    pairs = csimi_broad_pairs(d.count, d.lower, d.upper, d.group, d.pairs, w->store.capacity.pairs, d.broad);
    f->stats.pairs = pairs;
    w->high.pairs = csimi_imax(w->high.pairs, pairs);
    if (pairs > w->store.capacity.pairs) {
        f->stats.flags |= CSIM_FLAG_PAIRS_FULL;
        return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "pairs needed", true, (double)pairs,
                          "at most capacity.pairs; call csim_world_reserve");
    }
    f->found_count = 0;
    for (i = 0; i < pairs; i++) csimi_collide_pair(&d, d.pairs[2 * i], d.pairs[2 * i + 1]);
    f->stats.contacts = d.needed;
    w->high.contacts = csimi_imax(w->high.contacts, d.needed);
    csimi_pop(arena, mark);
    if (d.needed > f->found_count) {
        f->stats.flags |= CSIM_FLAG_CONTACTS_FULL;
        return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "contacts needed", true, (double)d.needed,
                          "at most capacity.contacts; call csim_world_reserve");
    }
    return CSIM_OK;
}

/* ---- the same contact in another configuration */

CSIMI_FN csim_real csimi_gap_at(const csim_world *w, const csimi_state *then, const csimi_state *now,
                                const csimi_found_contact *f) {
    const csimi_store *s = &w->store;
    csim_vec3 a = csimi_place_point(now, &f->a), d = csim_sub(a, csimi_place_point(now, &f->b)), n = f->normal;
    uint32_t feature;
    if (f->shape_b >= 0) {
        csim_pose pose = csimi_shape_pose(s, now, f->shape_b);
        return csim_shape_distance(s->shape + f->shape_b, s->hull, pose, a, &n, &feature) - f->radius;
    }
    if (f->a.kind == CSIMI_PLACE_NODE && f->b.kind == CSIMI_PLACE_NODE) return csim_length(d) - f->radius;
    return csim_dot(csimi_place_carry(&f->b, then, now, n), d) - f->radius;
}
