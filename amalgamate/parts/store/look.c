/* store/look: keeps the tree that queries look into current in every call that moves something. Boxes of leaves are
   larger than what they hold, so that what moves little costs a comparison. */
#include "private.h"

static size_t csimi_look_boxes(const csimi_counts *n) {
    return n->triangles > 0 ? (size_t)n->triangles + 4 * (size_t)n->bodies : 0;
}

CSIMI_FN void csimi_look_layout(csimi_look *l, const csimi_counts *n, csimi_arena *arena) {
    const int leaves = csimi_look_leaves(n);
    csimi_bounds_layout(&l->tree, leaves, arena);
    l->leaf_body = CSIMI_PUSH(arena, int, leaves);
    l->leaf_part = CSIMI_PUSH(arena, int, leaves);
    l->leaf_next = CSIMI_PUSH(arena, int, leaves);
    l->body_leaf = CSIMI_PUSH(arena, int, n->bodies);
    l->first_box = CSIMI_PUSH(arena, int, n->bodies);
    l->x = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->surface);
    l->box = CSIMI_PUSH(arena, float, 6 * csimi_look_boxes(n));
}

CSIMI_FN void csimi_look_clear(csimi_look *l, const csimi_counts *n) {
    int i;
    csimi_bounds_clear(&l->tree);
    l->boxes = 0;
    for (i = 0; i < n->bodies; i++) l->body_leaf[i] = -1;
}

CSIMI_FN void csimi_look_copy(csimi_store *to, const csimi_store *from) {
    const csimi_look *l = &from->look;
    const size_t leaves = (size_t)l->tree.leaf_high, bodies = (size_t)from->capacity.bodies;
    csimi_look *m = &to->look;
    csimi_look_clear(m, &to->capacity);
    if (!l->body_leaf || bodies == 0) return;
    csimi_bounds_copy(&m->tree, &l->tree);
    m->boxes = l->boxes;
    CSIMI_MEMCPY(m->body_leaf, l->body_leaf, sizeof(int) * bodies);
    CSIMI_MEMCPY(m->first_box, l->first_box, sizeof(int) * bodies);
    if (leaves > 0) {
        CSIMI_MEMCPY(m->leaf_body, l->leaf_body, sizeof(int) * leaves);
        CSIMI_MEMCPY(m->leaf_part, l->leaf_part, sizeof(int) * leaves);
        CSIMI_MEMCPY(m->leaf_next, l->leaf_next, sizeof(int) * leaves);
    }
    if (from->count.surface > 0) CSIMI_MEMCPY(m->x, l->x, sizeof(csim_real) * 3 * (size_t)from->count.surface);
    if (l->boxes > 0) CSIMI_MEMCPY(m->box, l->box, sizeof(float) * 6 * (size_t)l->boxes);
}

/* ---- boxes of parts */

CSIMI_FN csimi_surface csimi_look_surface(const csimi_store *s, int slot) {
    const csimi_body *b = s->body + slot;
    csimi_surface surface;
    surface.count = b->triangle_count;
    surface.triangle = s->face + 3 * (size_t)b->first_triangle;
    surface.x = s->look.x + 3 * (size_t)b->first_surface;
    surface.box = s->look.box + 6 * (size_t)s->look.first_box[slot];
    surface.leaves = csimi_surface_leaves(b->triangle_count);
    return surface;
}

/* Takes the positions of a surface and renews its boxes. */
static void csimi_look_refit(csimi_store *s, int slot) {
    const csimi_body *b = s->body + slot;
    csimi_surface surface = csimi_look_surface(s, slot);
    csim_real *x = s->look.x + 3 * (size_t)b->first_surface;
    int i;
    for (i = 0; i < b->surface_count; i++)
        csimi_store3(x + 3 * (size_t)i, csimi_load3(s->state.x + 3 * (size_t)s->surface_node[b->first_surface + i]));
    csimi_surface_refit(&surface);
}

static void csimi_look_around(csim_vec3 a, csim_vec3 b, csim_real r, csim_vec3 *lower, csim_vec3 *upper) {
    *lower = csim_v3(csimi_min(a.x, b.x) - r, csimi_min(a.y, b.y) - r, csimi_min(a.z, b.z) - r);
    *upper = csim_v3(csimi_max(a.x, b.x) + r, csimi_max(a.y, b.y) + r, csimi_max(a.z, b.z) + r);
}

/* pose: of a rigid body, for all its shapes. */
static void csimi_look_bounds(const csimi_store *s, int slot, int part, const csim_pose *pose, csim_vec3 *lower,
                              csim_vec3 *upper) {
    const csimi_body *b = s->body + slot;
    if (b->shape_count > 0) {
        const int shape = b->first_shape + part;
        const csim_pose at = b->kind == CSIM_RIGID ? *pose : csimi_shape_pose(s, &s->state, shape);
        csimi_bounds_at(s->shape + shape, s->hull, csim_pose_mul(at, s->shape[shape].local), lower, upper);
    } else if (b->kind == CSIM_BODY_CABLE) {
        const int *node = s->state.edge_node + 2 * (size_t)(b->first_frame + part);
        csimi_look_around(csimi_load3(s->state.x + 3 * (size_t)node[0]), csimi_load3(s->state.x + 3 * (size_t)node[1]),
                          b->radius, lower, upper);
    } else if (b->triangle_count > 0) {
        const csimi_surface surface = csimi_look_surface(s, slot);
        csimi_surface_bounds(&surface, lower, upper);
    } else {
        const csim_vec3 x = csimi_load3(s->state.x + 3 * (size_t)b->first_node);
        csimi_look_around(x, x, b->radius, lower, upper);
    }
}

static int csimi_look_parts(const csimi_body *b) {
    if (b->shape_count > 0) return b->shape_count;
    if (b->kind == CSIM_BODY_CABLE) return b->frame_count;
    return b->kind == CSIM_PARTICLE || b->triangle_count > 0;
}

/* ---- changes */

CSIMI_FN void csimi_look_add(csimi_store *s, int slot) {
    csimi_look *l = &s->look;
    const csimi_body *b = s->body + slot;
    const csim_pose pose = csimi_body_pose(s, &s->state, slot);
    csim_vec3 lower, upper;
    int part;
    l->body_leaf[slot] = -1;
    if (b->triangle_count > 0) {
        l->first_box[slot] = l->boxes;
        l->boxes += csimi_surface_boxes(b->triangle_count);
        csimi_look_refit(s, slot);
    }
    for (part = csimi_look_parts(b) - 1; part >= 0; part--) {
        int leaf;
        if (b->shape_count > 0 && s->skin[b->first_shape + part].disabled) continue;
        csimi_look_bounds(s, slot, part, &pose, &lower, &upper);
        leaf = csimi_bounds_insert(&l->tree, lower, upper);
        l->leaf_body[leaf] = slot;
        l->leaf_part[leaf] = part;
        l->leaf_next[leaf] = l->body_leaf[slot];
        l->body_leaf[slot] = leaf;
    }
}

CSIMI_FN void csimi_look_drop(csimi_store *s, int slot) {
    csimi_look *l = &s->look;
    int leaf = l->body_leaf[slot];
    for (l->body_leaf[slot] = -1; leaf >= 0; leaf = l->leaf_next[leaf]) csimi_bounds_remove(&l->tree, leaf);
}

CSIMI_FN void csimi_look_surfaces(csim_world *w) {
    csimi_store *s = &w->store;
    int i;
    s->look.boxes = 0;
    for (i = 0; i < w->live_bodies; i++) {
        const int slot = s->body_list[i];
        if (s->body[slot].triangle_count == 0) continue;
        s->look.first_box[slot] = s->look.boxes;
        s->look.boxes += csimi_surface_boxes(s->body[slot].triangle_count);
        csimi_look_refit(s, slot);
    }
}

CSIMI_FN CSIMI_NOINLINE void csimi_look_anew(csim_world *w) {
    int i;
    csimi_look_clear(&w->store.look, &w->store.capacity);
    for (i = 0; i < w->live_bodies; i++) csimi_look_add(&w->store, w->store.body_list[i]);
    csimi_bounds_tend(&w->store.look.tree, true);
}

#ifndef CONDSIM_NO_SNAPSHOTS
CSIMI_FN bool csimi_look_fits(const csim_world *w, const csimi_staged *to) {
    const unsigned char *bodies = CSIMI_STAGED_AT(to, body), *skins = CSIMI_STAGED_AT(to, skin);
    const csimi_store *s = &w->store;
    int i;
    if (to->live_bodies != w->live_bodies || to->n->bodies != s->count.bodies || to->n->shapes != s->count.shapes)
        return false;
    for (i = 0; i < s->count.bodies; i++) {
        const csimi_body *a = s->body + i;
        csimi_body b;
        CSIMI_MEMCPY(&b, bodies + sizeof b * (size_t)i, sizeof b);
        if (a->alive != b.alive || a->kind != b.kind || a->first_shape != b.first_shape ||
            a->shape_count != b.shape_count || a->frame_count != b.frame_count ||
            a->first_triangle != b.first_triangle || a->triangle_count != b.triangle_count ||
            a->first_surface != b.first_surface || a->surface_count != b.surface_count)
            return false;
    }
    for (i = 0; i < s->count.shapes; i++)
        if (s->skin[i].disabled != (bool)skins[sizeof(csimi_skin) * (size_t)i + offsetof(csimi_skin, disabled)])
            return false;
    return true;
}
#endif

/* A box that is left gets a sixteenth of its size as room. */
static void csimi_look_leaf(csimi_store *s, int leaf, const csim_pose *pose) {
    csimi_look *l = &s->look;
    csim_vec3 lower, upper, d;
    csimi_look_bounds(s, l->leaf_body[leaf], l->leaf_part[leaf], pose, &lower, &upper);
    d = csim_sub(upper, lower);
    csimi_bounds_move(&l->tree, leaf, lower, upper, (d.x + d.y + d.z) / 48);
}

CSIMI_FN void csimi_look_moved(csimi_store *s, int slot) {
    const csim_pose pose = csimi_body_pose(s, &s->state, slot);
    int leaf = s->look.body_leaf[slot];
    if (leaf >= 0 && s->body[slot].triangle_count > 0) csimi_look_refit(s, slot);
    for (; leaf >= 0; leaf = s->look.leaf_next[leaf]) csimi_look_leaf(s, leaf, &pose);
}

/* A vertex of a surface: the boxes of the triangles that have it hold where it was, and are made to hold where it is.
   They are found there, so that setting all nodes one by one costs no square of their number. */
static void csimi_look_vertex(csimi_store *s, int slot, int node, csim_vec3 from) {
    const csimi_body *b = s->body + slot;
    csimi_surface surface = csimi_look_surface(s, slot);
    csimi_surface_walk walk = csimi_surface_walk_in(&surface, from, from);
    const csim_vec3 x = csimi_load3(s->state.x + 3 * (size_t)node);
    int i, k;
    while ((i = csimi_surface_walk_next(&walk)) >= 0)
        for (k = 0; k < 3; k++) {
            const int vertex = surface.triangle[3 * (size_t)i + (size_t)k];
            if (s->surface_node[b->first_surface + vertex] != node) continue;
            csimi_store3(s->look.x + 3 * ((size_t)b->first_surface + (size_t)vertex), x);
            csimi_surface_stretch(&surface, i, x);
        }
}

CSIMI_FN void csimi_look_node(csimi_store *s, int slot, int node, csim_vec3 from) {
    const csimi_body *b = s->body + slot;
    const csim_pose pose = csim_pose_identity();
    csimi_bounds_walk walk;
    int leaf;
    if (b->kind != CSIM_BODY_CABLE) {
        if (b->triangle_count > 0) csimi_look_vertex(s, slot, node, from);
        if (s->look.body_leaf[slot] >= 0) csimi_look_leaf(s, s->look.body_leaf[slot], &pose);
        return;
    }
    csimi_bounds_walk_in(&walk, &s->look.tree, from, from); /* the edges that have the node lie there */
    while ((leaf = csimi_bounds_next(&walk)) >= 0) {
        const int *edge;
        if (s->look.leaf_body[leaf] != slot) continue;
        edge = s->state.edge_node + 2 * (size_t)(b->first_frame + s->look.leaf_part[leaf]);
        if (edge[0] == node || edge[1] == node) csimi_look_leaf(s, leaf, &pose);
    }
}

#ifndef CONDSIM_NO_SNAPSHOTS
CSIMI_FN void csimi_look_all_moved(csim_world *w) {
    int i;
    for (i = 0; i < w->live_bodies; i++) csimi_look_moved(&w->store, w->store.body_list[i]);
    csimi_bounds_tend(&w->store.look.tree, false);
}
#endif

typedef struct csimi_look_job {
    const csimi_store *s;
    unsigned char *left;
} csimi_look_job;

static void csimi_look_range(void *context, int begin, int end) {
    const csimi_look_job *job = (const csimi_look_job *)context;
    const csimi_store *s = job->s;
    for (; begin < end; begin++) {
        const int slot = s->active[begin];
        const csimi_body *b = s->body + slot;
        const csim_pose pose = csimi_body_pose(s, &s->state, slot);
        int leaf = b->kind == CSIM_RIGID && b->motion == CSIM_STATIC ? -1 : s->look.body_leaf[slot];
        job->left[slot] = leaf >= 0 && b->triangle_count > 0; /* whose boxes are renewed */
        for (; leaf >= 0 && !job->left[slot]; leaf = s->look.leaf_next[leaf]) {
            csim_vec3 lower, upper;
            csimi_look_bounds(s, slot, s->look.leaf_part[leaf], &pose, &lower, &upper);
            job->left[slot] = !csimi_bounds_fits(&s->look.tree, leaf, lower, upper);
        }
    }
}

CSIMI_FN void csimi_look_step(csim_world *w, unsigned char *left) {
    csimi_store *s = &w->store;
    csimi_look_job job;
    int i;
    job.s = s;
    job.left = left;
    csimi_parallel(&w->def.tasks, s->active_count, 256, csimi_look_range, &job);
    for (i = 0; i < s->active_count; i++)
        if (left[s->active[i]]) csimi_look_moved(s, s->active[i]);
    csimi_bounds_tend(&s->look.tree, false);
}
