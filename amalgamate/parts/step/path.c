/* step/path: nothing passes through. The rows of a step are linear in its motion, and contacts are looked for as far as
   the velocities of its start reach: a body that turns by a good part of a radian, or is thrown by its first hit, may
   go where no row holds it. After positions have been advanced, the true paths of such bodies and of nodes are followed
   by conservative advancement (Mirtich 1996): along a normal n the separation of two shapes falls at most by n.(v_b -
   v_a) and the turns times their reach, so that a distance tells how far both may go at once. Where shapes get
   a slack deep in each other the poses stop, and those of what is jointed to them; the velocities stay, and the next
   step begins at the hit. */
#include "private.h"

enum { CSIMI_PATH_LOOKS = 400 }; /* at one pair; beyond, it stops where it has been followed to */
enum { CSIMI_PATH_PASSES = 4 };     /* what stops is in the way of others */

typedef struct csimi_paths {
    csim_world *w;
    csimi_step_frame *f;
    const csim_real *v; /* [3 blocks] by which positions went */
    csim_real h, slack;
    bool fine; /* they stop a slack deep */
    csimi_detector filter; /* who may touch whom */
    csim_real *until;      /* [bodies] by group: share of the step that its poses go */
    int *group, *carrier;  /* [bodies] first slot of what is jointed; by group: kinematic body that takes it on, -1 */
    unsigned char *looked; /* [bodies] its path is followed */
    csim_real *way, *spin; /* [shapes] most that a point moves, and the part of turning, m */
    csim_real *box;            /* [6 shapes] bounds of the way: lower, upper */
    uint64_t *list;           /* [shapes] those awake, and behind them who of those in bed is about */
    int awake;
    csimi_crowd crowd; /* bounds of those awake */
    int *near, near_count;    /* [shapes] that a shape, or the nodes of one body, may meet */
    csim_real *link;          /* [2 tree_links] most velocity of the origin, and rate of turning */
} csimi_paths;

static void csimi_paths_layout(csimi_paths *p, const csimi_counts *n, csimi_arena *arena) {
    p->filter.excluded = CSIMI_PUSH(arena, uint64_t, 2 * (size_t)n->links);
    p->until = CSIMI_PUSH(arena, csim_real, n->bodies);
    p->group = CSIMI_PUSH(arena, int, n->bodies);
    p->carrier = CSIMI_PUSH(arena, int, n->bodies);
    p->looked = CSIMI_PUSH(arena, unsigned char, n->bodies);
    p->way = CSIMI_PUSH(arena, csim_real, n->shapes);
    p->spin = CSIMI_PUSH(arena, csim_real, n->shapes);
    p->box = CSIMI_PUSH(arena, csim_real, 6 * (size_t)n->shapes);
    p->list = CSIMI_PUSH(arena, uint64_t, n->shapes);
    csimi_crowd_layout(&p->crowd, n->shapes, arena);
    p->near = CSIMI_PUSH(arena, int, n->shapes);
    p->link = CSIMI_PUSH(arena, csim_real, 2 * (size_t)n->tree_links);
}

CSIMI_FN size_t csimi_path_scratch(const csimi_counts *n) {
    csimi_paths p;
    csimi_arena arena = csimi_arena_counting();
    csimi_paths_layout(&p, n, &arena);
    return arena.used;
}

/* What lies in bed does not move. */
static const csim_real *csimi_path_twist(const csimi_paths *p, int rigid) {
    static const csim_real still[6] = {0, 0, 0, 0, 0, 0};
    if (rigid >= p->w->store.state.rigid_count) return still;
    return p->v + 3 * ((size_t)p->w->store.count.nodes + 2 * (size_t)rigid);
}

/* ---- where things are at a share t of the step */

/* Axes of a rigid body whose way nobody has stopped. */
static csim_pose csimi_path_rigid(const csimi_paths *p, const csimi_body *b, csim_real t) {
    const csimi_state *s = &p->w->store.state;
    const csim_real *twist = csimi_path_twist(p, b->rigid);
    const csim_quat turn = csim_quat_exp(csim_scale(t * p->h, csimi_load3(twist + 3))); /* in world axes */
    csim_vec3 com = csim_madd(csimi_load3(s->com + 3 * (size_t)b->rigid), t * p->h, csimi_load3(twist));
    csim_pose pose;
    pose.rotation = csim_quat_normalize(csim_quat_mul(turn, csimi_load_quat(s->rotation + 4 * (size_t)b->rigid)));
    pose.position = csim_sub(com, csim_rotate(pose.rotation, csimi_load3(b->centre)));
    return pose;
}

/* What a kinematic body does to what it carries from t on to the share `to`. */
static csim_pose csimi_path_carried(const csimi_paths *p, int carrier, csim_real t, csim_real to) {
    const csimi_body *b = p->w->store.body + carrier;
    const csim_pose from = csimi_path_rigid(p, b, t), end = csimi_path_rigid(p, b, to);
    csim_pose move;
    move.rotation = csim_quat_mul(end.rotation, csim_quat_conj(from.rotation));
    move.position = csim_sub(end.position, csim_rotate(move.rotation, from.position)); /* move o from = end */
    return move;
}

/* Moves a tree to the share t in frame->next, where its links are then read; csimi_path_write undoes that. */
static void csimi_path_tree(const csimi_paths *p, int tree, csim_real t) {
    const csimi_state *s = &p->w->store.state;
    const size_t block = (size_t)(csimi_first_coord_block(s) + s->tree[tree].first_block);
    csimi_tree_advance_one(s, tree, t * p->h, p->v + 3 * block, &p->f->next);
}

/* Pose of the axes of a shape's body or link. */
static csim_pose csimi_path_frame(const csimi_paths *p, int slot, int link, csim_real t) {
    const csimi_store *s = &p->w->store;
    const csimi_body *b = s->body + slot;
    const int group = p->group[slot];
    const csim_real own = csimi_min(t, p->until[group]); /* its own way ends where it was stopped */
    csim_pose pose;
    if (csimi_lies(s, slot) && b->kind == CSIM_BODY_TREE)
        return csimi_link_pose(&s->state, s->state.tree[b->tree].first_link + link);
    if (b->kind == CSIM_BODY_TREE) {
        csimi_path_tree(p, b->tree, own);
        pose = csimi_link_pose(&p->f->next, s->state.tree[b->tree].first_link + link);
    } else {
        pose = csimi_path_rigid(p, b, own);
    }
    return t > own && p->carrier[group] >= 0 ? csim_pose_mul(csimi_path_carried(p, p->carrier[group], own, t), pose)
                                             : pose;
}

static csim_pose csimi_path_shape(const csimi_paths *p, int shape, csim_real t) {
    const csimi_store *s = &p->w->store;
    return csim_pose_mul(csimi_path_frame(p, s->shape_body[shape], s->shape_link[shape], t), s->shape[shape].local);
}

/* ---- how far things go */

/* Points of a link move at most with link[2 i] + reach link[2 i + 1] while the rates stay. */
static void csimi_path_links(csimi_paths *p, const csimi_tree *tree, const csim_real *rate) {
    const csimi_state *s = &p->w->store.state;
    int i;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *l = s->tree_link + i;
        const csim_real *u = rate + l->coord;
        /* arm: from the origin of the link above to this one, m */
        csim_real *own = p->link + 2 * (size_t)i, arm = csim_length(l->frame.position);
        own[0] = own[1] = 0;
        if (l->parent >= 0) {
            const csim_real *above = p->link + 2 * (size_t)(tree->first_link + l->parent);
            if (l->joint == CSIM_TREE_PRISMATIC)
                arm += csimi_abs(s->link_position[7 * (size_t)i]) + p->h * csimi_abs(u[0]);
            /* sums along the chain of what each joint adds at most, whatever the directions */
            own[0] = above[0] + arm * above[1];
            own[1] = above[1];
        }
        if (l->joint == CSIM_TREE_REVOLUTE) own[1] += csimi_abs(u[0]);
        if (l->joint == CSIM_TREE_PRISMATIC) own[0] += csimi_abs(u[0]);
        if (l->joint == CSIM_TREE_BALL) own[1] += csim_length(csimi_load3(u));
        if (l->joint == CSIM_TREE_FLOATING) {
            own[0] += csim_length(csimi_load3(u));
            own[1] += csim_length(csimi_load3(u + 3));
        }
    }
}

/* Most speed of a shape of a tree under what csimi_path_links has left. */
static csim_real csimi_path_speed(const csimi_paths *p, const csimi_tree *tree, int shape) {
    const csim_geometry *g = p->w->store.shape + shape;
    const csim_real *l = p->link + 2 * (size_t)(tree->first_link + p->w->store.shape_link[shape]);
    return l[0] + (csim_length(csim_pose_point(g->local, g->centre)) + g->bound) * l[1];
}

static bool csimi_path_tree_ways(csimi_paths *p, const csimi_body *b) {
    const csimi_state *s = &p->w->store.state;
    const csimi_tree *tree = s->tree + b->tree;
    const size_t coord = 3 * (size_t)tree->first_block;
    bool fast = false;
    int i;
    csimi_path_links(p, tree, s->coord_rate + coord); /* rates that detection made its margins of */
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++)
        p->way[i] = p->h * csimi_path_speed(p, tree, i); /* as its start knew */
    csimi_path_links(p, tree, p->v + 3 * (size_t)csimi_first_coord_block(s) + coord); /* and those it got */
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) {
        const csim_real turn = p->h * p->link[2 * (size_t)(tree->first_link + p->w->store.shape_link[i]) + 1];
        const csim_real way = p->h * csimi_path_speed(p, tree, i);
        /* way turn / 2: how far an arc leaves its tangent, which is the way that rows know */
        fast = fast || way * turn > 2 * p->slack || way > 2 * p->slack + CSIM_R(1.01) * p->way[i];
        p->way[i] = p->spin[i] = way; /* of a link: turning, all of it */
    }
    return fast;
}

/* The part of its bound that turning about its centre moves of a shape: what is not round. w: of the body, not 0. */
static csim_real csimi_path_part(const csimi_paths *p, const csimi_body *b, const csim_geometry *g, csim_vec3 w) {
    const csim_quat q = csimi_load_quat(p->w->store.state.rotation + 4 * (size_t)b->rigid);
    if (g->kind == CSIM_SHAPE_SPHERE) return 0; /* turned about its centre it is the same */
    if (g->kind != CSIM_SHAPE_CAPSULE && g->kind != CSIM_SHAPE_CYLINDER) return 1;
    /* round about its z axis: only the part of the turn across that counts */
    w = csim_unrotate(g->local.rotation, csim_unrotate(q, w)); /* stays while the turn does */
    return CSIMI_SQRT(w.x * w.x + w.y * w.y) / csim_length(w);
}

/* Ways of the shapes of one body; true: it turns or goes farther than the rows of this step know. */
static bool csimi_path_ways(csimi_paths *p, int slot) {
    const csimi_store *s = &p->w->store;
    const csimi_body *b = s->body + slot;
    bool fast = false;
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) p->way[i] = p->spin[i] = 0;
    if (b->motion == CSIM_STATIC || b->shape_count == 0) return false;
    if (b->kind == CSIM_BODY_TREE) return csimi_path_tree_ways(p, b);
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) {
        const csim_geometry *g = s->shape + i;
        const csim_real arm = csim_length(csim_sub(csim_pose_point(g->local, g->centre), csimi_load3(b->centre)));
        const csim_real *twist = csimi_path_twist(p, b->rigid), *was = s->state.velocity + 6 * (size_t)b->rigid;
        const csim_real turn = p->h * csim_length(csimi_load3(twist + 3));
        const csim_real before = csim_length(csimi_load3(was)) + (arm + g->bound) * csim_length(csimi_load3(was + 3));
        p->spin[i] = turn > 0 ? turn * (arm + csimi_path_part(p, b, g, csimi_load3(twist + 3)) * g->bound) : 0;
        p->way[i] = p->h * csim_length(csimi_load3(twist)) + p->spin[i];
        fast = fast || p->spin[i] * turn > 2 * p->slack || p->way[i] > 2 * p->slack + CSIM_R(1.01) * p->h * before;
    }
    return fast;
}

static void csimi_path_ways_range(void *context, int begin, int end) {
    csimi_paths *p = (csimi_paths *)context;
    const csimi_store *s = &p->w->store;
    for (; begin < end; begin++) {
        const int slot = s->active[begin];
        p->looked[slot] = csimi_path_ways(p, slot);
        if (p->f->driven[slot] && s->body[slot].motion == CSIM_DYNAMIC) p->looked[slot] = 1; /* unseen.c found it in */
    }
}

static void csimi_path_bounds(csimi_paths *p, int shape) {
    const csimi_store *s = &p->w->store;
    csim_vec3 lower, upper;
    csim_real t;
    if (csimi_lies(s, s->shape_body[shape])) p->way[shape] = p->spin[shape] = 0;
    t = s->skin[shape].surface.thickness + p->way[shape] + p->slack;
    csimi_bounds_at(s->shape + shape, s->hull,
                    csim_pose_mul(csimi_shape_pose(s, &s->state, shape), s->shape[shape].local), &lower, &upper);
    /* bounds at the start, grown on all sides by the most that any point moves: they hold the whole way */
    csimi_store3(p->box + 6 * (size_t)shape, csim_sub(lower, csim_v3(t, t, t)));
    csimi_store3(p->box + 6 * (size_t)shape + 3, csim_add(upper, csim_v3(t, t, t)));
}

static void csimi_path_bounds_range(void *context, int begin, int end) {
    csimi_paths *p = (csimi_paths *)context;
    for (; begin < end; begin++) csimi_path_bounds(p, (int)p->list[begin]);
}

static int csimi_path_root(csimi_paths *p, int slot) {
    while (p->group[slot] != slot) slot = p->group[slot] = p->group[p->group[slot]]; /* path halving */
    return slot;
}

static void csimi_path_start(csimi_paths *p, int slot) {
    p->group[slot] = slot;
    p->carrier[slot] = -1;
    p->until[slot] = 1;
    p->looked[slot] = 0;
}

/* A shape in bed is made ready when something comes near it. */
static void csimi_path_still(csimi_paths *p, int shape) {
    const int slot = p->w->store.shape_body[shape];
    if (!csimi_lies(&p->w->store, slot)) return;
    csimi_path_start(p, slot);
    csimi_path_bounds(p, shape);
}

/* Lists the shapes about a box grown by so much. */
static int csimi_path_about(csimi_paths *p, const csim_real *lower, const csim_real *upper, csim_real grow) {
    const int count = p->awake + csimi_still_about(p->w, csimi_load3(lower), csimi_load3(upper), grow,
                                                   p->list + p->awake);
    int k;
    for (k = p->awake; k < count; k++) csimi_path_still(p, (int)p->list[k]);
    return count;
}

/* What joints hold together stops together. */
static void csimi_path_groups(csimi_paths *p) {
    const csimi_store *s = &p->w->store;
    int i;
    for (i = 0; i < s->active_count; i++) csimi_path_start(p, s->active[i]);
    for (i = 0; i < s->count.joints; i++) {
        const csimi_link *l = s->link + s->joint[i].link;
        int a, b;
        if (s->joint[i].broken || l->body[0] < 0 || l->body[1] < 0) continue;
        /* a joint to what is fixed or kinematic makes no group: all that hangs on one wall would stop together */
        if (s->body[l->body[0]].motion != CSIM_DYNAMIC || s->body[l->body[1]].motion != CSIM_DYNAMIC) continue;
        a = csimi_path_root(p, l->body[0]);
        b = csimi_path_root(p, l->body[1]);
        p->group[csimi_imax(a, b)] = csimi_imin(a, b); /* the lower slot is the root, in whatever order joints come */
    }
    for (i = 0; i < s->active_count; i++) p->group[s->active[i]] = csimi_path_root(p, s->active[i]);
}

/* ---- two shapes */

/* Two shapes on their way. */
typedef struct csimi_path_pair {
    int a, b;
    csim_real way, spin, thick;
    csim_real thin;  /* half of what the thinner is thick; levels: 0 */
    csim_real slack; /* how well their distance must be known */
    csim_real deep;  /* how far they may overlap by their ways */
    csim_real round; /* > 0: their distance is that of cores which are smaller by so much */
    const csimi_facet *facet; /* of b, a level of triangles, instead of all of it; or null */
} csimi_path_pair;

/* Half of what a shape is thick where it is thinnest. */
static csim_real csimi_path_thin(const csimi_paths *p, int shape) {
    const csim_geometry *g = p->w->store.shape + shape;
    csim_real least = g->bound;
    int k;
    if (g->kind == CSIM_SHAPE_SPHERE || g->kind == CSIM_SHAPE_CAPSULE) return g->radius;
    if (g->kind == CSIM_SHAPE_CYLINDER) return csimi_min(g->radius, g->half_height);
    if (g->kind == CSIM_SHAPE_BOX) return csimi_min(g->half.x, csimi_min(g->half.y, g->half.z));
    for (k = 0; g->hull >= 0 && k < p->w->store.hull[g->hull].face_count; k++) {
        const csim_hull_data *hull = p->w->store.hull + g->hull;
        const csim_vec3 n = csimi_load3(hull->normal + 3 * (size_t)k);
        least = csimi_min(least, hull->offset[k] - csim_dot(n, g->centre)); /* from its centre to the nearest face */
    }
    return least;
}

/* The core of a shape that a ball of its round is swept over; hulls stay as they are. */
static void csimi_path_core(const csimi_paths *p, int shape, csim_pose at, csim_real round, csimi_convex *c) {
    csimi_convex_of(c, p->w->store.shape + shape, p->w->store.hull, at);
    if (c->kind != CSIM_SHAPE_BOX && c->kind != CSIM_SHAPE_CYLINDER) return;
    c->half = csim_sub(c->half, csim_v3(round, round, round));
    if (c->kind == CSIM_SHAPE_CYLINDER) c->radius -= round;
    c->half_height -= round;
    c->round = round; /* with it as large as before, but for edges */
}

/* Of a box the part that points of a ball can be nearest to, for those are no farther from each other than the points:
   the search errs by roundings of the size of what it is given. */
static void csimi_path_trim(csimi_convex *box, csim_vec3 centre, csim_real bound) {
    const csim_vec3 c = csim_pose_local(box->pose, centre);
    const csim_real x[3] = {c.x, c.y, c.z}, reach = CSIM_R(1.01) * bound;
    csim_real half[3], middle[3];
    int k;
    if (box->kind != CSIM_SHAPE_BOX) return;
    csimi_store3(half, box->half);
    for (k = 0; k < 3; k++) {
        const csim_real near = csimi_clamp(x[k], -half[k], half[k]);
        const csim_real low = csimi_max(near - reach, -half[k]), high = csimi_min(near + reach, half[k]);
        middle[k] = (low + high) / 2;
        half[k] = (high - low) / 2;
    }
    box->half = csimi_load3(half);
    box->pose.position = csim_pose_point(box->pose, csimi_load3(middle));
    box->size = csimi_min(box->size, 2 * reach);
}

/* Points of rims are samples: what is between them is met by the cores of the shapes, rounded at their edges. */
static bool csimi_path_cores(const csimi_paths *p, const csimi_path_pair *q, csim_pose at, csim_pose bt,
                             csim_real margin, csim_real *gap, csim_vec3 *n) {
    csimi_convex a, b;
    csim_vec3 on, normal;
    csim_real round, core;
    csimi_path_core(p, q->a, at, q->round, &a);
    csimi_path_core(p, q->b, bt, q->round, &b);
    csimi_path_trim(&a, csim_pose_point(bt, b.geometry->centre), b.geometry->bound);
    csimi_path_trim(&b, csim_pose_point(at, a.geometry->centre), a.geometry->bound);
    round = a.round + b.round;
    /* cores are apart until the shapes are as deep as their rounds: distances of cores tell depths, overlaps do not */
    a.round = b.round = 0;
    core = csimi_convex_distance(&a, csim_v3(0, 0, 0), &b, &on, &normal);
    *gap = core - round - q->thick;
    if (core > 0) *n = normal; /* else as it was: they are as deep as can be told */
    return *gap <= margin;
}

/* Against one triangle of a level, which does not move. Boxes and hulls by their axes, which say how deep they are. */
static CSIMI_NOINLINE bool csimi_path_facet_gap(const csimi_paths *p, const csimi_path_pair *q, csim_pose at,
                                                csim_pose level, csim_real margin, csim_real *gap, csim_vec3 *n) {
    const csimi_store *s = &p->w->store;
    const csim_geometry *g = s->shape + q->a;
    csimi_convex a, b;
    csim_vec3 on, normal = csim_v3(0, 0, 0);
    /* facets are in the axes of the level: the shape is taken there */
    at.position = csim_pose_local(level, at.position);
    at.rotation = csim_quat_mul(csim_quat_conj(level.rotation), at.rotation);
    if (g->kind == CSIM_SHAPE_BOX || g->kind == CSIM_SHAPE_HULL) {
        *gap = csimi_facet_gap(g, at, q->facet, s->hull, &normal) - q->thick;
    } else {
        csimi_path_core(p, q->a, at, q->round, &a);
        csimi_convex_points(&b, q->facet->vertex, 3);
        *gap = -a.round - q->thick;
        a.round = 0;
        *gap += csimi_convex_distance(&a, csim_v3(0, 0, 0), &b, &on, &normal);
    }
    if (csim_dot(normal, normal) > 0) *n = csim_rotate(level.rotation, normal);
    return *gap <= margin;
}

/* Least gap of two shapes at t, and its normal from b to a; beyond the margin: false. */
static bool csimi_path_gap(const csimi_paths *p, const csimi_path_pair *q, csim_real t, csim_real margin,
                           csim_real *gap, csim_vec3 *n) {
    const csimi_store *s = &p->w->store;
    const csim_pose at = csimi_path_shape(p, q->a, t), bt = csimi_path_shape(p, q->b, t);
    csim_touch touch[8];
    int i, count;
    if (q->facet) return csimi_path_facet_gap(p, q, at, bt, margin, gap, n);
    if (q->round > 0) return csimi_path_cores(p, q, at, bt, margin, gap, n);
    count = csimi_collide_at(s->shape + q->a, at, s->shape + q->b, bt, s->hull, margin + q->thick, touch, 8);
    *gap = margin;
    for (i = 0; i < csimi_imin(count, 8); i++)
        if (i == 0 || touch[i].gap - q->thick < *gap) {
            *gap = touch[i].gap - q->thick;
            *n = touch[i].normal;
        }
    return count > 0;
}

/* Velocity of a rigid body times h, of a link nothing: its way is all turning. */
static csim_vec3 csimi_path_shift(const csimi_paths *p, int shape) {
    const csimi_body *b = p->w->store.body + p->w->store.shape_body[shape];
    if (b->kind == CSIM_BODY_TREE || b->motion == CSIM_STATIC) return csim_v3(0, 0, 0);
    return csim_scale(p->h, csimi_load3(csimi_path_twist(p, b->rigid)));
}

/* How far shapes, the thinner one 2 thin thick, may overlap: contacts still push them apart from there. */
static csim_real csimi_path_deep(const csimi_paths *p, csim_real thin, csim_real slack) {
    return p->fine ? slack : csimi_max(slack, CSIM_R(0.375) * thin); /* 3/16 of the thickness */
}

static csimi_path_pair csimi_path_pair_of(const csimi_paths *p, int a, int b) {
    const csimi_store *s = &p->w->store;
    const csim_shape_kind A = s->shape[a].kind, B = s->shape[b].kind;
    const csim_real thin = csimi_min(csimi_path_thin(p, a), csimi_path_thin(p, b));
    csimi_path_pair q;
    q.a = a;
    q.b = b;
    q.way = p->way[a] + p->way[b];
    q.spin = p->spin[a] + p->spin[b];
    q.thick = s->skin[a].surface.thickness + s->skin[b].surface.thickness;
    q.thin = B == CSIM_SHAPE_TRIANGLES ? 0 : thin; /* a level is a sheet: no depth to spare */
    q.slack = csimi_min(p->slack, thin / 4); /* an eighth of the thickness at most */
    q.deep = csimi_path_deep(p, q.thin, q.slack);
    q.round = 0;
    q.facet = NULL;
    if ((A == CSIM_SHAPE_CYLINDER || B == CSIM_SHAPE_CYLINDER) && A != CSIM_SHAPE_HALF_SPACE &&
        B != CSIM_SHAPE_HALF_SPACE)
        q.round = q.deep;
    return q;
}

/* The gap that ways may lead to. Shapes that are deeper in each other than a slack get nearer to two of them, step by
   step; those that are deeper than that all the same, to 3/8 of the thickness of the thinner, and never past: what
   could not move on would not come out either. */
static csim_real csimi_path_floor(csim_real gap, csim_real slack, csim_real thin) {
    const csim_real limit = -gap < CSIM_R(1.99) * slack ? 2 * slack : csimi_max(2 * slack, CSIM_R(0.75) * thin);
    return -gap < slack ? -slack : gap - csimi_max(limit + gap, 0) / 16;
}

/* The share of the step at which the gap of two shapes has fallen too far; 1: never. */
static csim_real csimi_path_advance(const csimi_paths *p, const csimi_path_pair *pair) {
    const csimi_path_pair q = *pair;
    const csim_vec3 shift = csim_sub(csimi_path_shift(p, q.a), csimi_path_shift(p, q.b));
    const csim_real most = csimi_min(q.way, q.spin + csim_length(shift)); /* that they come nearer */
    csim_real t = 0, last = 0, gap, floor, near;
    csim_vec3 n = csim_v3(0, 0, 1);
    int look;
    /* most pairs cannot get deeper than half of what they may: to be told only that costs far less than their gap */
    if (!csimi_path_gap(p, &q, 0, most - q.deep / 2, &gap, &n)) return 1;
    if (!csimi_path_gap(p, &q, 0, q.way + q.deep, &gap, &n)) return 1; /* farther than their ways lead */
    floor = csimi_path_floor(gap, q.deep, q.thin);
    near = csimi_min(gap - floor, q.slack) / 4;
    for (look = 0; look < CSIMI_PATH_LOOKS; look++) {
        const csim_real rate = csimi_min(q.spin - csim_dot(n, shift), q.way); /* of closing, at most */
        if (!(rate * (1 - t) > gap - floor)) return 1; /* cannot get there before the step ends */
        t += csimi_max((gap - floor) / rate, q.slack / (64 * q.way)); /* at least some way: looks end */
        if (!(t < 1)) return 1;
        if (!csimi_path_gap(p, &q, t, q.way * (1 - t) + q.deep, &gap, &n)) return 1;
        if (gap < floor) return last; /* the last share that was good */
        if (gap < floor + near) return t;
        last = t;
    }
    return t;
}

/* A level of triangles: each by itself, for the nearest of them does not tell what is ahead. */
static CSIMI_NOINLINE csim_real csimi_path_level(const csimi_paths *p, csimi_path_pair *q) {
    const csim_geometry *g = p->w->store.shape + q->b;
    const csimi_triangles t = csimi_triangles_of(g->field);
    const csim_pose at = csimi_path_shape(p, q->b, 0), from = csimi_path_shape(p, q->a, 0);
    const csim_vec3 middle = csim_pose_local(at, csim_pose_point(from, p->w->store.shape[q->a].centre));
    const csim_real reach = p->w->store.shape[q->a].bound + q->way + q->thick + q->slack;
    const csim_vec3 r = csim_v3(reach, reach, reach);
    csimi_surface_walk walk = csimi_surface_walk_in(&t.surface, csim_sub(middle, r), csim_add(middle, r));
    csim_real first = 1;
    csimi_facet facet;
    int place;
    while ((place = csimi_surface_walk_next(&walk)) >= 0) {
        csim_vec3 n;
        if (!csimi_facet_of(&facet, &t, place, middle) || csimi_facet_distance(&facet, middle, &n) > reach) continue;
        q->facet = &facet;
        first = csimi_min(first, csimi_path_advance(p, q)); /* whichever is met first stops it */
    }
    return first;
}

static csim_real csimi_path_meet(const csimi_paths *p, int a, int b) {
    csimi_path_pair q = csimi_path_pair_of(p, a, b);
    return p->w->store.shape[b].kind == CSIM_SHAPE_TRIANGLES ? csimi_path_level(p, &q) : csimi_path_advance(p, &q);
}

/* What ways do not look at: grids and heights. */
static bool csimi_path_leaves(const csim_geometry *g) { return g->field && g->kind != CSIM_SHAPE_TRIANGLES; }

/* Lists the shapes whose ways come near that of shape a: those awake as in the list, and those in bed. */
static int csimi_path_meets(csimi_paths *p, int a) {
    const csim_real *box = p->box + 6 * (size_t)a;
    /* and what lies in bed, behind them */
    int k, count = csimi_crowd_near(&p->crowd, box, p->near), end = csimi_path_about(p, box, box + 3, p->slack);
    for (k = p->awake; k < end; k++) p->near[count++] = (int)p->list[k];
    return count;
}

/* Whether the root of a tree is free to be carried: an anchored one stays where it is held. */
static bool csimi_path_floats(const csimi_paths *p, int tree) {
    const csimi_state *s = &p->w->store.state;
    return s->tree_link[s->tree[tree].first_link].joint == CSIM_TREE_FLOATING;
}

/* Stops the group of a slot at t; what a kinematic body hits goes on with it. */
static bool csimi_path_stop(csimi_paths *p, int slot, int other, csim_real t) {
    const csimi_body *b = p->w->store.body + slot, *o = p->w->store.body + other;
    const int group = p->group[slot];
    /* earlier by less than 1e-4 of the step is no change: passes would be spent on rounding */
    if (b->motion != CSIM_DYNAMIC || !(t < p->until[group] - CSIM_R(1e-4))) return false;
    p->until[group] = t;
    p->carrier[group] = o->kind == CSIM_RIGID && o->motion == CSIM_KINEMATIC ? other : -1;
    if (b->tree >= 0 && !csimi_path_floats(p, b->tree)) p->carrier[group] = -1; /* held by its anchor */
    p->looked[slot] = 1; /* where it stands it may be in the way of what it did not meet before */
    return true;
}

/* All pairs of shapes of which one is followed. */
static bool csimi_path_pairs(csimi_paths *p) {
    const csimi_store *s = &p->w->store;
    bool stopped = false;
    int i, k, count;
    for (i = 0; i < p->awake; i++) {
        const int a = (int)p->list[i], slot = s->shape_body[a];
        if (!p->looked[slot] || s->shape[a].field) continue; /* fields: from the other shape */
        count = csimi_path_meets(p, a);
        for (k = 0; k < count; k++) {
            const int b = p->near[k], other = s->shape_body[b];
            csim_real t;
            if (csimi_is_off(s, slot, a) || csimi_is_off(s, other, b)) continue;
            /* one group stops as one: its shapes do not stop each other */
            if (other == slot || csimi_path_leaves(s->shape + b) || p->group[other] == p->group[slot]) continue;
            if (s->body[slot].motion != CSIM_DYNAMIC && s->body[other].motion != CSIM_DYNAMIC) continue;
            if (p->looked[other] && b < a) continue; /* this pair has been seen from b */
            if (s->skin[a].sensor || s->skin[b].sensor || !csimi_may_touch(&p->filter, slot, a, other, b)) continue;
            t = csimi_path_meet(p, a, b);
            if (!(t < 1)) continue;
            stopped = csimi_path_stop(p, slot, other, t) || stopped;
            stopped = csimi_path_stop(p, other, slot, t) || stopped;
        }
    }
    return stopped;
}

/* Those that passed by each other and did not keep to their ways. */
static bool csimi_path_strays(csimi_paths *p) {
    const int *slot = p->w->store.shape_body;
    bool stopped = false;
    int i;
    for (i = 0; i < p->f->passing_count; i++) {
        const csimi_passing *q = p->f->passing + i;
        csim_real t;
        if (!q->strays) continue;
        csimi_path_still(p, q->a);
        csimi_path_still(p, q->b);
        /* no row held them: they stop a slack deep, as if paths were all followed finely */
        p->fine = true;
        t = csimi_path_meet(p, q->a, q->b);
        p->fine = p->w->def.follow_paths;
        if (!(t < 1)) continue;
        stopped = csimi_path_stop(p, slot[q->a], slot[q->b], t) || stopped;
        stopped = csimi_path_stop(p, slot[q->b], slot[q->a], t) || stopped;
    }
    return stopped;
}

/* ---- nodes: each by itself, for what it belongs to is soft */

static csim_real csimi_path_node_meets(const csimi_paths *p, csim_vec3 x, csim_vec3 d, csim_real r, int shape) {
    const csimi_store *s = &p->w->store;
    const csim_vec3 shift = csim_sub(d, csimi_path_shift(p, shape));
    const csim_real way = csim_length(d) + p->way[shape];
    const csim_real thin = csimi_path_thin(p, shape), deep = csimi_path_deep(p, thin, p->slack);
    csim_real t = 0, gap, floor = 0;
    csim_vec3 n;
    uint32_t zone;
    int look;
    for (look = 0; look < CSIMI_PATH_LOOKS; look++) {
        const csim_pose at = csimi_path_shape(p, shape, t);
        csim_real rate;
        gap = csimi_distance_at(s->shape + shape, s->hull, at, csim_madd(x, t, d), &n, &zone) - r;
        if (look == 0) floor = p->fine ? csimi_min(gap, 0) - p->slack : csimi_path_floor(gap, deep, thin);
        if (look > 0 && gap < floor + p->slack / 4) return t; /* at 0 it may be deep, and leave */
        rate = csimi_min(p->spin[shape] - csim_dot(n, shift), way);
        if (!(rate * (1 - t) > gap - floor)) return 1;
        t += csimi_max((gap - floor) / rate, p->slack / (16 * way));
        if (!(t < 1)) return 1;
    }
    return t;
}

/* A node, a ball of r, on its way d through a level of triangles: until it is a slack deep in one that it comes to. */
static CSIMI_NOINLINE csim_real csimi_path_node_level(const csimi_paths *p, csim_vec3 x, csim_vec3 d, csim_real r,
                                                      int shape) {
    const csimi_triangles t = csimi_triangles_of(p->w->store.shape[shape].field);
    const csim_pose at = csimi_path_shape(p, shape, 0);
    const csim_real core = csimi_max(r - p->slack, 0); /* a ball that touches when the node is a slack deep */
    csimi_surface_ray ray;
    csimi_convex ball, face;
    csimi_facet f;
    csim_real fraction, weight[3];
    csim_vec3 on, n;
    int place, k;
    x = csim_pose_local(at, x);
    d = csim_unrotate(at.rotation, d);
    CSIMI_MEMSET(&ball, 0, sizeof ball);
    ball.kind = CSIM_SHAPE_SPHERE;
    ball.pose = csim_pose_identity(); /* in the axes of the level */
    ball.pose.position = x;
    ball.round = ball.size = core;
    /* boxes grown by the core: the centre is followed as a point */
    csimi_surface_ray_along(&ray, &t.surface, x, d, csim_v3(core, core, core), 1);
    while ((place = csimi_surface_ray_next(&ray)) >= 0) {
        csim_vec3 corner[3];
        if (!csimi_facet_of(&f, &t, place, x) || !(csim_dot(f.n, d) < 0)) continue; /* behind it, or going away */
        for (k = 0; k < 3; k++) corner[k] = csimi_load3(f.vertex + 3 * k);
        /* what it is deep in already it may go a slack deeper into */
        ball.round = ball.size = csimi_min(core, csimi_facet_distance(&f, x, &n) - p->slack);
        if (ball.round > 0) {
            csimi_convex_points(&face, f.vertex, 3);
            if (!csimi_convex_cast(&ball, d, &face, ray.most, &fraction, &on, &n)) continue;
        } else {
            if (!csimi_ray_triangle(corner, x, d, false, ray.most, &fraction, weight)) continue;
            /* thinner than a slack: its centre goes on through the plane for the rest of it */
            fraction += csimi_max(p->slack - r, 0) / -csim_dot(f.n, d);
        }
        ray.most = csimi_min(ray.most, fraction); /* leaves farther along are not walked */
    }
    return ray.most;
}

/* A node that goes far enough to be followed, or stands still where a wall may come. */
static bool csimi_path_goes(const csimi_paths *p, int node) {
    return p->w->store.state.node_mode[node] == CSIMI_FREE &&
           (p->f->missed[node] == CSIMI_MISSED_STILL ||
            p->h * csim_length(csimi_load3(p->v + 3 * (size_t)node)) > p->slack);
}

static int csimi_path_node_of(const csimi_store *s, const csimi_body *b, int k) {
    return b->kind == CSIM_PARTICLE ? b->first_node : s->surface_node[b->first_surface + k];
}

/* Whether the way d of a ball of r at x comes into the bounds that a shape moves in. */
static bool csimi_path_enters(const csimi_paths *p, csim_vec3 x, csim_vec3 d, csim_real r, int shape) {
    const csim_real *low = p->box + 6 * (size_t)shape, *high = low + 3;
    const csim_vec3 y = csim_add(x, d);
    return csimi_min(x.x, y.x) - r <= high[0] && csimi_max(x.x, y.x) + r >= low[0] &&
           csimi_min(x.y, y.y) - r <= high[1] && csimi_max(x.y, y.y) + r >= low[1] &&
           csimi_min(x.z, y.z) - r <= high[2] && csimi_max(x.z, y.z) + r >= low[2];
}

/* Lists the shapes that the ways of a body's nodes come near; returns how many there are. */
static int csimi_path_list(csimi_paths *p, int slot, int count) {
    const csimi_store *s = &p->w->store;
    const csimi_body *b = s->body + slot;
    const csim_real r = b->radius + b->surface.thickness + p->slack;
    csim_real low[3] = {CSIMI_HUGE, CSIMI_HUGE, CSIMI_HUGE}, high[3] = {-CSIMI_HUGE, -CSIMI_HUGE, -CSIMI_HUGE};
    int i, k, c, listed;
    for (k = 0; k < count; k++) {
        const int node = csimi_path_node_of(s, b, k);
        const csim_real *x = s->state.x + 3 * (size_t)node, *v = p->v + 3 * (size_t)node;
        for (c = 0; c < 3 && csimi_path_goes(p, node); c++) { /* those that stay need no shapes */
            low[c] = csimi_min(low[c], csimi_min(x[c], x[c] + p->h * v[c]));
            high[c] = csimi_max(high[c], csimi_max(x[c], x[c] + p->h * v[c]));
        }
    }
    p->near_count = 0;
    /* low > high: no node goes */
    listed = low[0] <= high[0] ? csimi_path_about(p, low, high, r) : 0;
    for (i = 0; i < listed; i++) {
        const csim_vec3 x = csimi_load3(low), d = csim_sub(csimi_load3(high), x);
        k = (int)p->list[i];
        if (csimi_path_leaves(s->shape + k) || !csimi_path_enters(p, x, d, r + s->skin[k].surface.thickness, k))
            continue;
        if (csimi_is_off(s, s->shape_body[k], k) || s->skin[k].sensor) continue;
        if (!csimi_may_touch(&p->filter, slot, -1, s->shape_body[k], k)) continue;
        p->near[p->near_count++] = k;
    }
    return p->near_count;
}

/* Node i against the shapes its body may touch. */
static csim_real csimi_path_node(csimi_paths *p, int slot, int i) {
    const csimi_store *s = &p->w->store;
    const csimi_body *b = s->body + slot;
    const csim_vec3 x = csimi_load3(s->state.x + 3 * (size_t)i),
                    d = csim_scale(p->h, csimi_load3(p->v + 3 * (size_t)i));
    csim_real until = 1;
    int k, carrier = -1;
    for (k = 0; k < p->near_count; k++) {
        const int shape = p->near[k], other = s->shape_body[shape];
        const csim_real r = b->radius + b->surface.thickness + s->skin[shape].surface.thickness;
        const csim_real t = !csimi_path_enters(p, x, d, r + p->slack, shape)           ? 1
                            : s->shape[shape].kind == CSIM_SHAPE_TRIANGLES ? csimi_path_node_level(p, x, d, r, shape)
                                                                           : csimi_path_node_meets(p, x, d, r, shape);
        if (!(t < until)) continue;
        until = t;
        carrier = s->body[other].kind == CSIM_RIGID && s->body[other].motion == CSIM_KINEMATIC ? other : -1;
    }
    if (until < 1) {
        csim_vec3 end = csim_madd(x, until, d);
        /* a wall that comes takes the node on, else it would go through it in the rest of the step */
        if (carrier >= 0) end = csim_pose_point(csimi_path_carried(p, carrier, until, 1), end);
        csimi_store3(p->f->next.x + 3 * (size_t)i, end);
    }
    return until;
}

static void csimi_path_nodes(csimi_paths *p) {
    const csimi_store *s = &p->w->store;
    int i, k;
    for (i = 0; i < p->w->store.active_count; i++) {
        const int slot = s->active[i];
        const csimi_body *b = s->body + slot;
        const int count = b->kind == CSIM_PARTICLE ? 1 : b->surface_count;
        if (b->kind == CSIM_BODY_REDUCED) continue; /* its vertices follow coordinates and cannot stop alone */
        if (csimi_path_list(p, slot, count) == 0) continue;
        for (k = 0; k < count; k++) {
            const int node = csimi_path_node_of(s, b, k);
            if (!csimi_path_goes(p, node) || !(csimi_path_node(p, slot, node) < 1)) continue;
            p->f->stats->stopped++;
            if (p->f->missed[node] == 1) p->f->missed[node] = CSIMI_MISSED_HELD; /* for csimi_stand_still */
        }
    }
}

/* ---- all of it */

/* A floating tree goes on with what carries it. */
static void csimi_path_carry_tree(csimi_paths *p, int t, int slot) {
    const csimi_state *s = &p->w->store.state;
    const int link = s->tree[t].first_link;
    const csim_pose pose = csimi_path_frame(p, slot, 0, 1);
    csim_real *q = p->f->next.link_position + 7 * (size_t)link;
    csimi_path_tree(p, t, p->until[p->group[slot]]);
    csimi_store3(q, pose.position);
    csimi_store_quat(q + 3, csim_quat_normalize(pose.rotation));
    csimi_tree_forward(s, t, p->f->next.link_position, p->f->next.link_pose);
}

/* Poses of what has stopped, and of trees that were looked at elsewhere. */
static void csimi_path_write(csimi_paths *p) {
    const csimi_store *s = &p->w->store;
    int i, k;
    for (i = 0; i < p->w->store.active_count; i++) {
        const int slot = s->active[i], group = p->group[slot];
        const csimi_body *b = s->body + slot;
        if (b->kind == CSIM_BODY_TREE) {
            /* looking at shares of the step has moved its links in next: they are put where they stop, or at the end */
            csimi_path_tree(p, b->tree, p->until[group]);
            if (p->until[group] < 1 && p->carrier[group] >= 0) csimi_path_carry_tree(p, b->tree, slot);
        }
        if (!(p->until[group] < 1) || b->shape_count == 0) continue;
        p->f->stats->stopped++;
        for (k = b->first_shape; k < b->first_shape + b->shape_count; k++) {
            /* the most that a point of a shape would still have moved, m */
            const double left = (double)((1 - p->until[group]) * p->way[k]);
            if (left > p->f->stats->stopped_short) p->f->stats->stopped_short = left;
        }
        if (b->kind == CSIM_RIGID) {
            const csim_pose pose = csimi_path_frame(p, slot, -1, 1);
            csimi_store_quat(p->f->next.rotation + 4 * (size_t)b->rigid, pose.rotation);
            csimi_store3(p->f->next.com + 3 * (size_t)b->rigid, csim_pose_point(pose, csimi_load3(b->centre)));
        }
    }
}

CSIMI_FN CSIMI_NOINLINE void csimi_hold_paths(csim_world *w, csimi_step_frame *f, csim_real h, csimi_arena *arena) {
    const csimi_store *s = &w->store;
    const size_t mark = arena->used;
    csimi_paths p;
    bool bodies = f->strays > 0, nodes = s->count.surface > 0, stopped = true;
    int i, pass;
    CSIMI_MEMSET(&p, 0, sizeof p);
    p.w = p.filter.world = w;
    p.f = f;
    p.v = f->moves ? f->rep : f->v; /* XPBD and bounded frames: not the end velocity */
    p.h = h;
    p.slack = csimi_path_slack(w);
    p.fine = w->def.follow_paths;
    csimi_paths_layout(&p, &s->capacity, arena);
    csimi_path_groups(&p);
    csimi_parallel(&w->def.tasks, s->active_count, 256, csimi_path_ways_range, &p);
    for (i = 0; i < s->active_count; i++) {
        nodes = nodes || s->body[s->active[i]].kind == CSIM_PARTICLE;
        bodies = bodies || p.looked[s->active[i]];
    }
    if (bodies || (nodes && s->count.shapes > 0)) {
        csimi_list_excluded(&p.filter, p.filter.excluded + s->capacity.links);
        p.awake = csimi_awake_shapes(w, p.list);
        csimi_parallel(&w->def.tasks, p.awake, 256, csimi_path_bounds_range, &p);
        if (bodies) csimi_crowd_gather(&p.crowd, p.awake, p.list, p.box);
        /* what has stopped stands in the way of others: again, until nobody is stopped earlier */
        for (pass = 0; pass < CSIMI_PATH_PASSES && bodies && stopped; pass++) {
            stopped = csimi_path_pairs(&p);
            stopped = csimi_path_strays(&p) || stopped;
        }
        if (nodes) csimi_path_nodes(&p); /* last: against bodies where they have stopped */
        csimi_path_write(&p);
    }
    csimi_pop(arena, mark);
}
