/* step/unseen: one look after a step, where motion can have led into something that no row knew of. Rows are linear in
   the motion of a step and hold the features that lie within the margin of their start; so that

       two shapes which have rows      are as deep as their planes say, but for what their turning moves: both terms are
                                       small for most pairs; others are collided once more where that may tell
                                       something: a pair deeper than all before, or deeper than it was by the slack;
       two shapes which have none      are apart, unless one went farther than its contacts were looked for, or two
                                       whose ways missed each other did not keep to them.

   Nodes and edges of cables that move by more than the slack are looked at where they come near shapes, and all nodes
   of solids: what gets in between the nodes of a coarse surface meets those inside, which have no rows. */
#include "private.h"

static const csim_real CSIMI_UNSEEN_SHARE = 16; /* what hides less than slack over this is passed over */

typedef struct csimi_eye {
    csim_world *w;
    csimi_step_frame *f;
    csimi_detector filter;
    csim_real slack;
    csim_real *spin;          /* [shapes] most that turning moves */
    unsigned char *stands;    /* [shapes] 1: not moved by a bit */
    csim_pose *pose;          /* [shapes] of those awake, after the step */
    csim_real *box;           /* [6 shapes] around the balls that hold them then */
    unsigned char *thrown;    /* [shapes] 1: it went farther than its margin */
    csim_real *planes;        /* [contacts] of the first contact of a pair: how deep its planes are, < 0: apart */
    int *near;                /* [shapes] that a shape, or the nodes of one body, may be near */
    uint64_t *list;           /* [shapes] those awake, and behind them who of those in bed is near */
    int awake;
    csimi_crowd crowd; /* of those balls; gathered once something comes about them */
    double deepest;
} csimi_eye;

CSIMI_FN csim_real csimi_path_slack(const csim_world *w) {
    return csimi_clamp(w->def.contact_distance, CSIM_R(1e-4), CSIM_R(1e-3)); /* 0.1 to 1 mm: s in docs/contact.md */
}

static double csimi_deeper(double a, double b) { return a > b ? a : b; }

static void csimi_eye_layout(csimi_eye *e, const csimi_counts *n, csimi_arena *arena) {
    e->filter.excluded = CSIMI_PUSH(arena, uint64_t, 2 * (size_t)n->links);
    e->spin = CSIMI_PUSH(arena, csim_real, n->shapes);
    e->stands = CSIMI_PUSH(arena, unsigned char, n->shapes);
    e->pose = CSIMI_PUSH(arena, csim_pose, n->shapes);
    e->box = CSIMI_PUSH(arena, csim_real, 6 * (size_t)n->shapes);
    e->thrown = CSIMI_PUSH(arena, unsigned char, n->shapes);
    e->planes = CSIMI_PUSH(arena, csim_real, n->contacts);
    e->near = CSIMI_PUSH(arena, int, n->shapes);
    e->list = CSIMI_PUSH(arena, uint64_t, n->shapes);
    csimi_crowd_layout(&e->crowd, n->shapes, arena);
}

CSIMI_FN size_t csimi_unseen_scratch(const csimi_counts *n) {
    csimi_eye e;
    csimi_arena arena = csimi_arena_counting();
    csimi_eye_layout(&e, n, &arena);
    return arena.used;
}

/* What turning from one pose to another moves of the points of a shape about its centre, at most: the points of contact
   of what is round turn with it too. */
static csim_real csimi_turned(const csim_geometry *g, csim_pose from, csim_pose to) {
    const csim_quat d = csim_quat_mul(to.rotation, csim_quat_conj(from.rotation));
    /* the chord of the turn, 2 sin(angle / 2), at the bound */
    return 2 * g->bound * CSIMI_SQRT(d.x * d.x + d.y * d.y + d.z * d.z);
}

static csim_pose csimi_eye_pose(const csimi_eye *e, const csimi_state *state, int shape) {
    const csimi_store *s = &e->w->store;
    if (state == &e->f->next && !csimi_lies(s, s->shape_body[shape])) return e->pose[shape];
    return csim_pose_mul(csimi_shape_pose(s, state, shape), s->shape[shape].local);
}

/* What lies in bed does not move, and is looked at when something comes near. */
static csim_real csimi_eye_spin(const csimi_eye *e, int shape) {
    return csimi_lies(&e->w->store, e->w->store.shape_body[shape]) ? 0 : e->spin[shape];
}

static csim_vec3 csimi_eye_centre(const csimi_eye *e, int shape) {
    return csim_pose_point(csimi_eye_pose(e, &e->f->next, shape), e->w->store.shape[shape].centre);
}

static void csimi_eye_shapes(void *context, int k, int end) {
    const csimi_eye *e = (const csimi_eye *)context;
    const csimi_store *s = &e->w->store;
    for (; k < end; k++) {
        const int i = (int)e->list[k];
        const csim_geometry *g = s->shape + i;
        const csim_pose to = e->pose[i] = csim_pose_mul(csimi_shape_pose(s, &e->f->next, i), g->local);
        const csim_vec3 c = csim_pose_point(to, g->centre);
        const csim_real r = g->bound + s->skin[i].surface.thickness + e->slack;
        e->thrown[i] = 0;
        csimi_store3(e->box + 6 * (size_t)i, csim_sub(c, csim_v3(r, r, r)));
        csimi_store3(e->box + 6 * (size_t)i + 3, csim_add(c, csim_v3(r, r, r)));
        e->spin[i] = 0;
        e->stands[i] = s->body[s->shape_body[i]].motion == CSIM_STATIC;
        if (!e->stands[i]) {
            const csim_pose from = csimi_eye_pose(e, &s->state, i);
            e->stands[i] = !csimi_differ(&from.position.x, &to.position.x, 3) &&
                           !csimi_differ(&from.rotation.w, &to.rotation.w, 4);
            if (e->stands[i]) continue; /* it is where its contacts were found */
            e->spin[i] = csimi_turned(g, from, to);
            /* its contacts were looked for as far as the margin */
            e->thrown[i] = csim_length(csim_sub(c, csim_pose_point(from, g->centre))) + e->spin[i] > e->f->margin[i];
        }
    }
}

/* What went deeper than it was by more than the slack has been driven in. */
static void csimi_eye_found(csimi_eye *e, double depth, double before, int slot, int other) {
    e->deepest = csimi_deeper(e->deepest, depth);
    if (!(depth > before + (double)e->slack)) return;
    e->f->driven[slot] = e->f->driven[other] = 1; /* path.c follows these */
    e->f->stats->unseen++;
}

/* How deep two shapes are; of flat-sided ones and on heights only beyond least, which mostly takes a look at faces. */
static double csimi_eye_depth(const csimi_eye *e, const csimi_state *state, int a, int b, double least) {
    const csimi_store *s = &e->w->store;
    const csim_real thick = s->skin[a].surface.thickness + s->skin[b].surface.thickness;
    const csim_geometry *g = s->shape + a, *o = s->shape + b;
    const bool flat = csimi_flat_sided(csimi_kind_of(g)) &&
                      (csimi_flat_sided(csimi_kind_of(o)) || csimi_shape_is(o, CSIM_SHAPE_HEIGHTS));
    const csim_real margin = flat ? thick - (csim_real)least : thick; /* gaps above it are no deeper than least */
    csim_touch *touch = (csim_touch *)(void *)e->f->info; /* free until the contacts are reported */
    const int room = (int)((size_t)s->capacity.contacts * sizeof *e->f->info / sizeof *touch);
    int i, n = csimi_collide_at(g, csimi_eye_pose(e, state, a), o, csimi_eye_pose(e, state, b), s->hull, margin, touch,
                                room);
    double deepest = 0;
    for (i = 0; i < csimi_imin(n, room); i++) deepest = csimi_deeper(deepest, (double)(thick - touch[i].gap));
    return deepest;
}

/* Through a level of triangles, which are a surface: who has its middle behind is not in it any more. */
static double csimi_eye_crossed(const csimi_eye *e, int a, int b) {
    const csimi_store *s = &e->w->store;
    const csim_geometry *g = s->shape + a;
    csim_vec3 from, way;
    csimi_ray_hit hit;
    if (s->shape[b].kind != CSIM_SHAPE_TRIANGLES) return 0;
    from = csim_pose_point(csimi_eye_pose(e, &s->state, a), g->centre);
    way = csim_sub(csim_pose_point(csimi_eye_pose(e, &e->f->next, a), g->centre), from);
    /* way: of its middle in the step */
    return csimi_ray_at(s->shape + b, s->hull, csimi_eye_pose(e, &s->state, b), from, way, 1, &hit) & CSIMI_RAY_ENTERS
               ? (double)g->bound
               : 0;
}

static bool csimi_eye_stands(const csimi_eye *e, int shape) {
    return csimi_lies(&e->w->store, e->w->store.shape_body[shape]) || e->stands[shape];
}

/* The contacts of one pair of shapes from first on: where they end. */
static int csimi_eye_end(const csimi_eye *e, int first) {
    const csimi_found_contact *c = e->f->found;
    int end = first + 1;
    while (end < e->f->found_count && c[first].part_a == c[end].part_a && c[first].part_b == c[end].part_b) end++;
    return end;
}

static bool csimi_eye_shaped(const csimi_eye *e, int first) {
    return e->f->found[first].part_a >= 0 && e->f->found[first].part_b >= 0; /* bodies of nodes are looked at below */
}

/* Of pairs that begin in a range: how deep the planes of their contacts are after the step; negative: apart. */
static void csimi_eye_planes(void *context, int begin, int end) {
    const csimi_eye *e = (const csimi_eye *)context;
    const csimi_found_contact *c = e->f->found;
    int i, last;
    for (; begin < end; begin++) {
        bool stand;
        /* a pair is done by the range that has the first of its contacts, whoever has the others */
        if (!csimi_eye_shaped(e, begin) || (begin > 0 && csimi_eye_end(e, begin - 1) != begin)) continue;
        /* where neither moves, gaps are what they were */
        stand = csimi_eye_stands(e, c[begin].part_a) && csimi_eye_stands(e, c[begin].part_b);
        e->planes[begin] = -CSIMI_HUGE;
        for (i = begin, last = csimi_eye_end(e, begin); i < last; i++)
            e->planes[begin] = csimi_max(
                e->planes[begin],
                -(stand ? c[i].gap : csimi_gap_at(e->w, &e->w->store.state, &e->f->next, NULL, c + i)));
    }
}

/* Points that have no row were no deeper than those that have, and turning moves either: the pair is no deeper than its
   planes and twice what turning moves. It is looked at where that would tell something. */
static void csimi_eye_pair(csimi_eye *e, int first, int end) {
    const csimi_found_contact *c = e->f->found + first;
    const csim_real small = e->slack / CSIMI_UNSEEN_SHARE;
    const csim_real spin = csimi_eye_spin(e, c->part_a) + csimi_eye_spin(e, c->part_b);
    const double most = (double)(e->planes[first] + 2 * spin);
    double before = 0, depth = csimi_deeper(0, (double)e->planes[first]);
    int i;
    /* before: at the start of the step */
    for (i = first; i < end; i++) before = csimi_deeper(before, -(double)e->f->found[i].gap);
    /* planes go on beyond the shapes */
    /* where turning moves little and planes say no more than before, they are taken at their word */
    if (spin > small || depth > before + (double)small) {
        /* only a new deepest pair, or one that has been driven in, would tell something */
        const double driven = before + (double)e->slack, least = e->deepest < driven ? e->deepest : driven;
        depth = most > least ? csimi_eye_depth(e, &e->f->next, c->part_a, c->part_b, least) : 0;
    }
    depth = csimi_deeper(depth, csimi_eye_crossed(e, c->part_a, c->part_b)); /* which no plane tells */
    csimi_eye_found(e, depth, before, c->body_a, c->body_b);
}

/* The pair with the deepest planes first: most others cannot be deeper. */
static void csimi_eye_pairs(csimi_eye *e) {
    int first, end, deepest = -1;
    csimi_parallel(&e->w->def.tasks, e->f->found_count, 256, csimi_eye_planes, e);
    /* threads find the planes, one looks at the pairs in their order: any number of them gives the same bits */
    for (first = 0; first < e->f->found_count; first = end) {
        end = csimi_eye_end(e, first);
        if (!csimi_eye_shaped(e, first)) continue;
        if (deepest < 0 || e->planes[first] > e->planes[deepest]) deepest = first;
    }
    if (deepest >= 0) csimi_eye_pair(e, deepest, csimi_eye_end(e, deepest));
    for (first = 0; first < e->f->found_count; first = end) {
        end = csimi_eye_end(e, first);
        if (first != deepest && csimi_eye_shaped(e, first)) csimi_eye_pair(e, first, end);
    }
}

/* ---- what went farther than its contacts were looked for */

/* Whether shape b is near a ball, of shape `own` or of nodes (-1), and may touch it. */
static bool csimi_eye_near(const csimi_eye *e, int slot, int own, csim_vec3 centre, csim_real radius, int b) {
    const csimi_store *s = &e->w->store;
    const int other = s->shape_body[b];
    const csim_real reach = radius + s->shape[b].bound + s->skin[b].surface.thickness;
    const csim_vec3 d = csim_sub(centre, csimi_eye_centre(e, b));
    if (other == slot || !(csim_dot(d, d) < reach * reach)) return false; /* its own body, or too far */
    /* where neither moves freely no step could keep them apart */
    if (s->body[slot].motion != CSIM_DYNAMIC && s->body[other].motion != CSIM_DYNAMIC) return false;
    if (csimi_is_off(s, slot, own) || csimi_is_off(s, other, b) || s->skin[b].sensor) return false;
    return !(own >= 0 && s->skin[own].sensor) && csimi_may_touch(&e->filter, slot, own, other, b);
}

static void csimi_eye_again(csimi_eye *e, int a, int b) {
    const csimi_store *s = &e->w->store;
    const double depth = csimi_deeper(csimi_eye_depth(e, &e->f->next, a, b, 0), csimi_eye_crossed(e, a, b));
    /* what is no deeper than the slack was not driven in, however deep it was before */
    const double before = depth > (double)e->slack ? csimi_eye_depth(e, &s->state, a, b, 0) : 0;
    csimi_eye_found(e, depth, before, s->shape_body[a], s->shape_body[b]);
}

/* Lists in e->near the shapes about a ball: those awake, and behind them those in bed. */
static int csimi_eye_about(csimi_eye *e, csim_vec3 centre, csim_real radius) {
    const csim_vec3 r = csim_v3(radius, radius, radius);
    csim_real box[6];
    int k, end, count;
    csimi_store3(box, csim_sub(centre, r));
    csimi_store3(box + 3, csim_add(centre, r));
    if (e->crowd.count < e->awake) csimi_crowd_gather(&e->crowd, e->awake, e->list, e->box);
    count = csimi_crowd_near(&e->crowd, box, e->near);
    end = e->awake + csimi_still_about(e->w, centre, centre, radius, e->list + e->awake);
    for (k = e->awake; k < end; k++) e->near[count++] = (int)e->list[k];
    return count;
}

static void csimi_eye_thrown(csimi_eye *e, int a) {
    const csimi_store *s = &e->w->store;
    const csim_real r = s->shape[a].bound + s->skin[a].surface.thickness;
    const csim_vec3 c = csimi_eye_centre(e, a);
    const int count = csimi_eye_about(e, c, r);
    int k;
    for (k = 0; k < count; k++)
        if (csimi_eye_near(e, s->shape_body[a], a, c, r, e->near[k])) csimi_eye_again(e, a, e->near[k]);
}

/* Those that passed by each other, as far as they did not keep to their ways. */
static void csimi_eye_passing(csimi_eye *e) {
    const csimi_store *s = &e->w->store;
    int i, k;
    for (i = 0; i < e->f->passing_count; i++) {
        csimi_passing *p = e->f->passing + i;
        const int shape[2] = {p->a, p->b};
        csim_vec3 off = p->way; /* of a beside b, as foreseen */
        csim_real spin = 0;
        for (k = 0; k < 2; k++) {
            const csim_geometry *g = s->shape + shape[k];
            const csim_vec3 from = csim_pose_point(csimi_eye_pose(e, &s->state, shape[k]), g->centre);
            /* less what each has gone */
            off = csim_madd(off, k ? 1 : -1, csim_sub(csimi_eye_centre(e, shape[k]), from));
            if (g->kind != CSIM_SHAPE_SPHERE) spin += csimi_eye_spin(e, shape[k]); /* turning leaves a ball as it is */
        }
        p->strays = csim_length(off) + spin > p->pad;
        if (!p->strays) continue;
        e->f->strays++;
        csimi_eye_again(e, p->a, p->b);
    }
}

/* ---- nodes, and edges of cables between them, that move by more than the slack */

static bool csimi_eye_inside(const csimi_body *b) { return b->kind == CSIM_SOFT; }

/* all nodes of a solid, of others those of the surface */
static int csimi_eye_node(const csimi_eye *e, const csimi_body *b, int k) {
    if (b->kind == CSIM_PARTICLE || csimi_eye_inside(b)) return b->first_node + k;
    return e->w->store.surface_node[b->first_surface + k];
}

static bool csimi_eye_moves(const csimi_eye *e, int node) {
    const csim_vec3 d = csim_sub(csimi_load3(e->f->next.x + 3 * (size_t)node),
                                 csimi_load3(e->w->store.state.x + 3 * (size_t)node));
    return csim_length(d) > e->slack;
}

/* Lists the shapes that a body's moving nodes come near. */
static int csimi_eye_list(csimi_eye *e, int slot, int count) {
    const csimi_store *s = &e->w->store;
    const csimi_body *b = s->body + slot;
    csim_vec3 middle = csim_v3(0, 0, 0);
    csim_real far = 0;
    int k, listed, moving = 0, found = 0;
    for (k = 0; k < count; k++) {
        const int node = csimi_eye_node(e, b, k);
        moving += csimi_eye_moves(e, node);
        middle = csim_madd(middle, 1 / (csim_real)count, csimi_load3(e->f->next.x + 3 * (size_t)node));
    }
    /* nodes inside a solid have no rows: it is looked at also where it does not move */
    if (moving == 0 && !csimi_eye_inside(b)) return 0;
    for (k = 0; k < count; k++)
        far = csimi_max(far, csim_length(csim_sub(middle, csimi_load3(e->f->next.x +
                                                                      3 * (size_t)csimi_eye_node(e, b, k)))));
    far += b->radius + b->surface.thickness;
    listed = csimi_eye_about(e, middle, far);
    for (k = 0; k < listed; k++)
        if (csimi_eye_near(e, slot, -1, middle, far, e->near[k])) e->near[found++] = e->near[k];
    return found;
}

/* A node over a shape at one moment: how deep it is. */
static double csimi_eye_over(const csimi_eye *e, const csimi_state *state, const csimi_body *b, int node, int shape) {
    const csimi_store *s = &e->w->store;
    const csim_real r = b->radius + b->surface.thickness + s->skin[shape].surface.thickness;
    csim_vec3 n;
    return (double)(r - csimi_distance_within(s->shape + shape, s->hull, csimi_eye_pose(e, state, shape),
                                              csimi_load3(state->x + 3 * (size_t)node), r, &n));
}

/* An edge of a cable over a shape at one moment. */
static double csimi_eye_edge(const csimi_eye *e, const csimi_state *state, const csimi_body *b, int edge, int shape) {
    const csimi_store *s = &e->w->store;
    const int *node = s->state.edge_node + 2 * (size_t)edge;
    const csim_vec3 x = csimi_load3(state->x + 3 * (size_t)node[0]);
    const csim_vec3 along = csim_sub(csimi_load3(state->x + 3 * (size_t)node[1]), x);
    const csim_real length = csim_length(along), thick = s->skin[shape].surface.thickness;
    csim_geometry g = csimi_ball(b->radius + b->surface.thickness);
    csim_pose pose = csim_pose_identity();
    csim_touch touch[8];
    double deepest = 0;
    int i, n;
    if (!(length > 0)) return 0; /* a point: its nodes are looked at */
    g.kind = CSIM_SHAPE_CAPSULE;
    g.half_height = length / 2;
    g.spacing = g.radius / 2;
    g.bound = g.radius + g.half_height;
    pose.position = csim_madd(x, CSIM_R(0.5), along);
    pose.rotation = csimi_quat_from_z(csim_scale(1 / length, along));
    n = csimi_collide_at(&g, pose, s->shape + shape, csimi_eye_pose(e, state, shape), s->hull, thick, touch, 8);
    for (i = 0; i < csimi_imin(n, 8); i++) deepest = csimi_deeper(deepest, (double)(thick - touch[i].gap));
    return deepest;
}

static void csimi_eye_body(csimi_eye *e, int slot, int count, int near) {
    const csimi_store *s = &e->w->store;
    const csimi_body *b = s->body + slot;
    int i, k;
    for (i = 0; i < near; i++) {
        const int shape = e->near[i], other = s->shape_body[shape];
        const csim_real thick = b->surface.thickness + s->skin[shape].surface.thickness;
        const csim_real far = s->shape[shape].bound + b->radius + thick;
        const csim_vec3 centre = csimi_eye_centre(e, shape); /* about the ball that holds the shape */
        for (k = 0; k < count; k++) {
            const int node = csimi_eye_node(e, b, k);
            const csim_vec3 d = csim_sub(csimi_load3(e->f->next.x + 3 * (size_t)node), centre);
            const bool looks = csim_dot(d, d) <= far * far && (csimi_eye_inside(b) || csimi_eye_moves(e, node));
            const double depth = looks ? csimi_eye_over(e, &e->f->next, b, node, shape) : 0;
            if (!(depth > 0)) continue;
            /* a node that was outside was 0 deep */
            csimi_eye_found(e, depth, csimi_deeper(0, csimi_eye_over(e, &s->state, b, node, shape)), slot, other);
        }
        for (k = b->first_frame; b->kind == CSIM_BODY_CABLE && k < b->first_frame + b->frame_count; k++) {
            const int *node = s->state.edge_node + 2 * (size_t)k;
            double depth = 0;
            /* else its nodes alone touch */
            if (b->edge_contact && (csimi_eye_moves(e, node[0]) || csimi_eye_moves(e, node[1])))
                depth = csimi_eye_edge(e, &e->f->next, b, k, shape);
            if (depth > 0) csimi_eye_found(e, depth, csimi_eye_edge(e, &s->state, b, k, shape), slot, other);
        }
    }
}

static void csimi_eye_bodies(csimi_eye *e) {
    const csimi_store *s = &e->w->store;
    int i;
    for (i = 0; i < s->active_count; i++) {
        const int slot = s->active[i];
        const csimi_body *b = s->body + slot;
        const int count = b->kind == CSIM_PARTICLE ? 1 : csimi_eye_inside(b) ? b->node_count : b->surface_count;
        /* rigid bodies and trees are shapes, which have been looked at */
        const int near = b->kind == CSIM_BODY_REDUCED || b->kind == CSIM_RIGID || b->kind == CSIM_BODY_TREE
                             ? 0
                             : csimi_eye_list(e, slot, count);
        csimi_eye_body(e, slot, count, near);
    }
}

CSIMI_FN void csimi_look_unseen(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    const size_t mark = arena->used;
    csimi_eye e;
    int i;
    CSIMI_MEMSET(&e, 0, sizeof e);
    e.w = w;
    e.f = f;
    e.slack = csimi_path_slack(w);
    f->stats->unseen = f->strays = 0;
    CSIMI_MEMSET(f->driven, 0, (size_t)w->store.count.bodies);
    csimi_eye_layout(&e, &w->store.capacity, arena);
    e.filter.world = w; /* for csimi_may_touch */
    csimi_list_excluded(&e.filter, e.filter.excluded + w->store.capacity.links);
    e.awake = csimi_awake_shapes(w, e.list);
    csimi_parallel(&w->def.tasks, e.awake, 256, csimi_eye_shapes, &e);
    csimi_eye_pairs(&e);
    for (i = 0; i < e.awake; i++)
        if (e.thrown[e.list[i]]) csimi_eye_thrown(&e, (int)e.list[i]);
    csimi_eye_passing(&e);
    csimi_eye_bodies(&e);
    f->stats->penetration = e.deepest;
    csimi_pop(arena, mark);
}
