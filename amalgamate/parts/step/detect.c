/* step/detect: contacts of the current positions: bounds, broad phase, narrow phase. */
#include "private.h"

static void csimi_detector_layout(csimi_detector *d, const csimi_counts *n, csimi_arena *arena) {
    size_t objects = (size_t)csimi_most_objects(n);
    d->object = CSIMI_PUSH(arena, csimi_object, objects);
    d->lower = CSIMI_PUSH(arena, csim_real, 3 * objects);
    d->upper = CSIMI_PUSH(arena, csim_real, 3 * objects);
    d->group = CSIMI_PUSH(arena, int, objects);
    d->pairs = CSIMI_PUSH(arena, int, 2 * (size_t)n->pairs);
    d->broad = csimi_push(arena, csimi_broad_scratch((int)objects), 1);
    d->excluded = CSIMI_PUSH(arena, uint64_t, 2 * (size_t)n->links); /* twice: sorting wants a second half */
    csimi_last_layout(&d->last, n, arena);
    if (n->kept > 0 || CSIMI_HAS_STANDING) csimi_last_layout(&d->kept, n, arena);
    d->kept_next = CSIMI_PUSH(arena, int, n->kept);
    d->give = CSIMI_PUSH(arena, csimi_giving, n->tree_links);
    csimi_surfaces_layout(&d->surfaces, n, arena);
    csimi_edges_layout(&d->edges, n, arena);
    csimi_still_layout(d, n, arena);
}

CSIMI_FN size_t csimi_detect_scratch(const csimi_counts *n) {
    csimi_detector d;
    csimi_arena arena = csimi_arena_counting();
    csimi_detector_layout(&d, n, &arena);
    return arena.used;
}

/* ---- objects and their bounds */

/* How far a surface may come in a step: half of the contact distance and what accelerations give (push), and the way at
   this speed; half as much again in midpoint worlds, whose contacts stop an impact (3 - e) / 2 steps ahead. */
static void csimi_bound_object(const csimi_detector *d, csimi_object *o, csim_real speed, csim_real acceleration,
                               csim_vec3 lower, csim_vec3 upper) {
    const int body = o->body, item = o->item;
    const ptrdiff_t i = o - d->object;
    const csimi_body *b = d->world->store.body + body;
    csim_real h = d->frame->h;
    csim_vec3 m;
    /* m, half of the contact distance: the other object brings the other half */
    o->push = d->world->def.contact_distance / 2 + d->ahead * h * h * (d->fall + acceleration);
    o->margin = o->push + d->ahead * h * speed;
    if (o->kind == CSIMI_OBJECT_SHAPE) d->frame->margin[item] = o->margin; /* unseen.c asks for it */
    m = csim_v3(o->margin, o->margin, o->margin);
    csimi_store3(d->lower + 3 * i, csim_sub(lower, m));
    csimi_store3(d->upper + 3 * i, csim_add(upper, m));
    /* what never moves freely never pairs with its like */
    d->group[i] = b->motion == CSIM_DYNAMIC ? body + 1 : 0;
    if (d->sleepers && b->motion == CSIM_KINEMATIC) d->group[i] = body + 1; /* it wakes what it touches */
    if (csimi_lies(&d->world->store, body)) d->group[i] = 0; /* what lies in bed meets only what is awake */
    /* a negative group pairs with its like too: links of one tree may meet */
    if (b->kind == CSIM_BODY_TREE && d->group[i] > 0 && d->world->store.state.tree[b->tree].self_contact)
        d->group[i] = -1;
    if (o->kind == CSIMI_OBJECT_SHAPE && d->world->store.skin[item].sensor) d->group[i] = -1; /* it sees them all */
}

static void csimi_add_object(csimi_detector *d, csimi_object_kind kind, int body, int item) {
    csimi_object *o = d->object + d->count++;
    o->kind = kind;
    o->body = body;
    o->item = item;
}

/* False: nobody sees it go anywhere. */
static bool csimi_add_shape(csimi_detector *d, int slot, int shape) {
    const bool seen = !d->world->store.skin[shape].disabled;
    d->frame->margin[shape] = 0;
    if (seen) csimi_add_object(d, CSIMI_OBJECT_SHAPE, slot, shape);
    return seen;
}

static void csimi_bound_shape(const csimi_detector *d, csimi_object *o, csim_pose pose) {
    const csimi_store *s = &d->world->store;
    const int slot = o->body, shape = o->item;
    const csimi_body *b = s->body + slot;
    const csim_geometry *g = s->shape + shape;
    csim_vec3 lower, upper;
    csim_real speed = 0, acceleration = 0, t = s->skin[shape].surface.thickness;
    csim_vec3 extra = csim_v3(t, t, t), v = csim_v3(0, 0, 0), turn = v; /* t: skin around the shape */
    csim_pose at = csim_pose_mul(pose, g->local);
    const csim_vec3 x = csim_pose_point(at, g->centre);
    /* about the centre of mass; that of trees is 0: about the origin of the link */
    const csim_vec3 arm = csim_sub(csim_pose_point(g->local, g->centre), csimi_load3(b->centre));
    const csim_real far = csim_length(arm) + g->bound;
    if (csimi_lies(s, slot)) {
        speed = 0;
    } else if (b->kind == CSIM_BODY_TREE && s->state.tree[b->tree].mode == CSIMI_FREE) {
        /* the assembly has just been over the tree and left the motions of its links, about its origin */
        const int first = s->state.tree[b->tree].first_link;
        const csimi_twist *V = &s->state.link_work[first + s->shape_link[shape]].V;
        turn = V->w;
        v = csim_add(V->v, csim_cross(turn, csim_sub(x, csimi_load3(s->state.link_pose + 7 * first))));
        speed = CSIMI_SQRT(csim_dot(v, v)) + g->bound * CSIMI_SQRT(csim_dot(turn, turn)); /* no point is faster */
        /* what drives give is known after the solve, and path.c follows it */
        acceleration = csimi_max(csimi_abs(s->state.tree[b->tree].gravity) - 1, 0) * d->fall;
        if (d->pushed) { /* by the user: through all links */
            const csimi_twist *A = &d->give[s->shape_link[shape]].A;
            const csim_vec3 a = csim_cross(A->w, csim_sub(x, csimi_load3(s->state.link_pose + 7 * first)));
            acceleration += csim_length(csim_add(A->v, a)) + g->bound * csim_length(A->w);
        }
    } else if (b->kind == CSIM_BODY_TREE) {
        v = csimi_link_velocity(&s->state, s->state.tree[b->tree].first_link + s->shape_link[shape], x,
                                s->state.coord_rate, &turn);
        speed = csim_length(v) + g->bound * csim_length(turn);
    } else if (CSIMI_HAS_RIGID && b->motion != CSIM_STATIC) {
        const csim_real *u = s->state.velocity + 6 * b->rigid, *f = s->state.wrench + 6 * b->rigid;
        turn = csimi_load3(u + 3);
        v = csim_add(csimi_load3(u), csim_cross(turn, csim_rotate(pose.rotation, arm)));
        speed = csim_length(csimi_load3(u)) + far * csim_length(turn);
        if (b->motion == CSIM_DYNAMIC) /* what the user pushes with in this step, and gravity beyond its single share */
            acceleration = csim_length(csimi_load3(f)) / s->state.rigid_mass[b->rigid] +
                           csimi_max(csimi_abs(s->state.rigid_gravity[b->rigid]) - 1, 0) * d->fall;
    }
    csimi_bounds_at(g, s->hull, at, &lower, &upper);
    o->at = at;
    o->v = v;
    o->far = far;
    /* a ball that turns about its middle stays where it is */
    o->turn = g->kind == CSIM_SHAPE_SPHERE ? 0 : d->frame->h * g->bound * csim_length(turn);
    csimi_bound_object(d, o, speed, acceleration, csim_sub(lower, extra), csim_add(upper, extra));
}

/* Of a range of objects the shapes of rigid bodies. */
static void csimi_bound_range(void *context, int begin, int end) {
    const csimi_detector *d = (const csimi_detector *)context;
    const csimi_store *s = &d->world->store;
    for (; begin < end; begin++) {
        csimi_object *o = d->object + begin;
        if (s->body[o->body].kind == CSIM_RIGID) csimi_bound_shape(d, o, csimi_body_pose(s, &s->state, o->body));
    }
}

static void csimi_add_points(csimi_detector *d, int slot) {
    const csimi_store *s = &d->world->store;
    const csimi_body *b = s->body + slot;
    bool particle = b->kind == CSIM_PARTICLE; /* else one object for the whole surface of a body of nodes */
    int i, n = particle ? 1 : b->surface_count;
    csim_real r = b->radius + b->surface.thickness, speed2 = 0, push2 = 0, push = 0, heavy = 0;
    csim_vec3 lower = csim_v3(CSIMI_HUGE, CSIMI_HUGE, CSIMI_HUGE), upper = csim_scale(-1, lower),
              extra = csim_v3(r, r, r);
    for (i = 0; i < n; i++) {
        int node = particle ? b->first_node : s->surface_node[b->first_surface + i];
        csim_vec3 x = csimi_load3(s->state.x + 3 * node), v = csimi_load3(s->state.v + 3 * node);
        const csim_real mass = s->state.node_mass[node]; /* of a reduced body 0: see below */
        csim_vec3 f = csim_scale(mass > 0 ? 1 / mass : 0, csimi_load3(s->state.node_force + 3 * node));
        lower = csim_v3(csimi_min(lower.x, x.x), csimi_min(lower.y, x.y), csimi_min(lower.z, x.z));
        upper = csim_v3(csimi_max(upper.x, x.x), csimi_max(upper.y, x.y), csimi_max(upper.z, x.z));
        speed2 = csimi_max(speed2, csim_dot(v, v)); /* the fastest node widens the bounds of all */
        push2 = csimi_max(push2, csim_dot(f, f));
        heavy = csimi_max(heavy, csimi_abs(s->state.node_gravity[node]) - 1); /* one share is in push */
    }
    /* the free motion of a reduced body is known */
    if (b->tree >= 0 && !csimi_lies(s, slot) && s->state.tree[b->tree].mode == CSIMI_FREE)
        push = s->state.coord_free[3 * s->state.tree[b->tree].first_block];
    csimi_add_object(d, particle ? CSIMI_OBJECT_PARTICLE : CSIMI_OBJECT_SOLID, slot, b->first_node);
    csimi_bound_object(d, d->object + d->count - 1, CSIMI_SQRT(speed2), CSIMI_SQRT(push2) + push + heavy * d->fall,
                       csim_sub(lower, extra), csim_add(upper, extra));
}

static void csimi_add_objects(csimi_detector *d) {
    csim_world *w = d->world;
    int i, k;
    for (i = 0; i < w->store.active_count; i++) {
        int slot = w->store.active[i];
        const csimi_body *b = w->store.body + slot;
        if (b->disabled) continue;
        if (b->kind == CSIM_RIGID) { /* bounded below, by ranges */
            for (k = 0; k < b->shape_count; k++) csimi_add_shape(d, slot, b->first_shape + k);
        } else if (CSIMI_HAS_TREES && b->kind == CSIM_BODY_TREE) {
            d->pushed = w->store.state.tree[b->tree].mode == CSIMI_FREE &&
                        csimi_tree_pushed(&w->store.state, b->tree, d->give);
            for (k = b->first_shape; k < b->first_shape + b->shape_count; k++)
                if (csimi_add_shape(d, slot, k))
                    csimi_bound_shape(d, d->object + d->count - 1, csimi_shape_pose(&w->store, &w->store.state, k));
        } else if (CSIMI_HAS_NODES) {
            csimi_add_points(d, slot);
        }
    }
    csimi_parallel(&w->def.tasks, d->count, 256, csimi_bound_range, d);
}

/* And what lies in bed near them. */
static void csimi_add_still_objects(csimi_detector *d) {
    const csimi_store *s = &d->world->store;
    int i;
    d->first_still = d->count; /* objects before it are awake */
    d->near_count = csimi_still_near(d);
    for (i = 0; i < d->near_count; i++) {
        const int slot = (int)(d->near[i] >> 32), part = (int)(d->near[i] & 0xffffffffu);
        const csimi_body *b = s->body + slot;
        if (b->disabled) continue;
        if (b->shape_count > 0) {
            if (csimi_add_shape(d, slot, b->first_shape + part))
                csimi_bound_shape(d, d->object + d->count - 1, csimi_shape_pose(s, &s->state, b->first_shape + part));
        }
        /* near is sorted by slot and lists each edge of a cable: the body is one object, once */
        else if (CSIMI_HAS_NODES && (i == 0 || (int)(d->near[i - 1] >> 32) != slot))
            csimi_add_points(d, slot);
    }
}

/* Too many pairs undo the step. */
static csim_status csimi_pairs_found(csimi_detector *d, int pairs) {
    csim_world *w = d->world;
    csimi_step_frame *f = d->frame;
    f->stats->pairs = csimi_imax(f->stats->pairs, pairs);
    w->def.capacity.pairs = csimi_imax(w->def.capacity.pairs, pairs); /* the largest seen, to be asked for */
    if (pairs <= w->store.capacity.pairs) return CSIM_OK;
    f->stats->flags |= CSIM_FLAG_PAIRS_FULL;
    return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "pairs needed", (double)pairs,
                      "at most capacity.pairs; call csim_world_reserve");
}

CSIMI_FN CSIMI_NOINLINE csim_status csimi_detect(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    csimi_detector d;
    size_t mark = arena->used;
    csim_status status;
    int i, pairs;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.world = w;
    d.frame = f;
    d.ahead = csimi_is_middle(w) ? CSIM_R(1.5) : 1; /* (3 - e) / 2 at e = 0 */
    d.fall = csim_length(csimi_load3(w->store.state.gravity));
    csimi_detector_layout(&d, &w->store.capacity, arena);
    csimi_surfaces_start(&d.surfaces, w, &w->store.state);
    csimi_list_excluded(&d, d.excluded + w->store.capacity.links); /* the second half is room to sort */
    /* one table for either: pairs of kept rows, or pairs of shapes that stand */
    if (csimi_keeps(w))
        csimi_index_kept(w, &d.kept, d.kept_next);
    else
        csimi_index_standing(&d);
    d.room = w->store.capacity.contacts - csimi_sleeping_contacts(w); /* they wake with theirs */
    d.sleepers = w->asleep > 0;
    csimi_add_objects(&d);
    csimi_add_still_objects(&d);
    /* vertices ask on which side of a sheet they were; sheets in bed are not counted */
    if (CSIMI_HAS_NODES && (w->store.count.membranes > 0 || d.near_count > 0)) csimi_index_contacts(w, &d.last);
    pairs = csimi_broad_pairs(d.count, d.lower, d.upper, d.group, d.pairs, w->store.capacity.pairs, d.broad);
    if ((status = csimi_pairs_found(&d, pairs)) != 0) return status;
    f->found_count = f->sensed_count = f->passing_count = f->strays = 0;
#if CSIMI_SIDE_BY_SIDE
    csimi_collide_early(&d, pairs, arena);
#endif
    /* in the order of pairs, whatever threads found ahead: contacts stand in the same order in every run */
    for (i = 0; i < pairs; i++) csimi_collide_pair(&d, i);
    if (CSIMI_TELLS) csimi_parallel(&w->def.tasks, f->found_count, 256, csimi_tell_range, &d);
    for (i = 0; CSIMI_HAS_NODES && i < d.first_still; i++) /* what sleeps keeps the contacts it has */
        if (w->store.body[d.object[i].body].self_distance > 0) csimi_collide_self(&d, i);
    /* edges have a broad phase of their own, in the same room for pairs */
    if ((status = csimi_pairs_found(&d, csimi_touch_cables(&d))) != 0) return status;
    if (d.woke) return CSIMI_AGAIN; /* somebody who woke is not among the objects */
    f->stats->contacts = d.needed;  /* those beyond the capacity too */
    /* sleepers' contacts and rows of rolling take room in the same capacity */
    d.needed += w->store.capacity.contacts - d.room + csimi_rolling_count(w, f);
    w->def.capacity.contacts = csimi_imax(w->def.capacity.contacts, d.needed);
    csimi_pop(arena, mark);
    if (d.needed > w->store.capacity.contacts) {
        f->stats->flags |= CSIM_FLAG_CONTACTS_FULL;
        return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "contacts needed", (double)d.needed,
                          "at most capacity.contacts; call csim_world_reserve");
    }
    return CSIM_OK;
}

CSIMI_FN int csimi_awake_shapes(const csim_world *w, uint64_t *shape) {
    int i, k, count = 0;
    for (i = 0; i < w->store.active_count; i++) {
        const csimi_body *b = w->store.body + w->store.active[i];
        for (k = b->first_shape; k < b->first_shape + b->shape_count; k++) shape[count++] = (uint64_t)k;
    }
    return count;
}

/* ---- the same contact in another configuration */

CSIMI_FN csim_real csimi_gap_at(const csim_world *w, const csimi_state *then, const csimi_state *now,
                                csimi_surfaces *surfaces, const csimi_found_contact *f) {
    csim_vec3 a = csimi_place_point(now, &f->a), moved = csim_sub(a, csimi_place_point(now, &f->b));
#if CSIMI_HAS_NODES
    const csimi_store *s = &w->store;
    csimi_surface_hit hit;
    csim_real gap;
    uint32_t feature;
    csim_vec3 n;
    if (f->shape_b >= 0) /* node against shape: the shape's own distance, also round corners */
        return csim_shape_distance(s->shape + f->shape_b, s->hull, csimi_shape_pose(s, now, f->shape_b), a, &n,
                                   &feature) -
               f->radius;
    if (f->surface_b >= 0) /* against the surface of a solid */
        return csimi_surface_gap(surfaces, f->surface_b, a, f->radius + csimi_abs(f->gap), f->self, &hit, &gap)
                   ? gap - f->radius
                   : 0; /* farther than it was */
    if (f->a.kind == CSIMI_PLACE_EDGE && f->b.kind == CSIMI_PLACE_EDGE)
        return csimi_edge_distance(now, f->a.item, f->b.item) - f->radius;
    if (f->a.kind == CSIMI_PLACE_NODE && f->b.kind == CSIMI_PLACE_NODE) return csim_length(moved) - f->radius;
#else
    (void)w;
    (void)surfaces;
#endif
    /* else by what both points, which met at one place, have moved apart along the normal that turns with b */
    return f->gap + csim_dot(csimi_place_carry(&f->b, then, now, f->normal), moved);
}
