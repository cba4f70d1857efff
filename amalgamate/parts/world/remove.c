/* world/remove: removing links and bodies. */
#include "private.h"

/* Bend elements [first, first + n) have gone: those behind them move up. */
static void csimi_shift_bends(csimi_store *s, int first, int n) {
    int i;
    for (i = 0; i < s->count.bodies; i++)
        if (s->body[i].alive && s->body[i].first_bend > first) s->body[i].first_bend -= n;
}

static void csimi_drop_one(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    csimi_link *l = s->link + slot;
    int i;
    static const csimi_axis axis[] = {CSIMI_AXIS_springs, CSIMI_AXIS_joints, CSIMI_AXIS_bends, CSIMI_AXIS_bends};
    if (l->kind == CSIMI_SPRING) s->count.matrix_blocks -= csimi_spring_blocks(s->state.spring + 2 * l->item);
    if (l->kind == CSIMI_JOINT) csimi_axes_drop(s, l->item);
    for (i = 0; i < 2; i++)
        if (l->kind == CSIMI_JOINT && l->body[i] >= 0) s->body[l->body[i]].joints--;
    csimi_remove(s, axis[l->kind], l->item, l->item >= 0);
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == l->kind && s->link[i].item > l->item) s->link[i].item--;
    if (l->kind == CSIMI_CLAMP) {
        csimi_shift_bends(s, l->item, 1);
        s->count.matrix_blocks -= 2;
    }
    l->alive = false;
    l->generation++;
    l->next_free = w->free_link;
    w->free_link = slot;
    w->pattern_stale = true;
}

/* A link, and first the gears that hold on to it. */
static void csimi_drop_link(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    int i;
    for (i = s->count.joints - 1; i >= 0; i--)
        if (s->joint[i].gear[0] == slot || s->joint[i].gear[1] == slot) csimi_drop_one(w, s->joint[i].link);
    csimi_drop_one(w, slot);
}

CSIM_API csim_status csim_destroy_link(csim_world *w, csim_link_id id) {
    int slot;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, "csim_destroy_link", NULL, NULL);
    if ((s = csimi_find_link(w, id, "csim_destroy_link", &slot, &w->error)) != 0) return s;
    csimi_wake_link(w, slot);
    csimi_drop_link(w, slot);
    return CSIM_OK;
}

/* Rigid body `from` is called `to` from now on. */
static void csimi_rename_rigid(csimi_store *s, int from, int to) {
    int i, k;
    s->body[s->rigid_body[to]].rigid = to;
    for (i = 0; i < 2 * s->count.springs; i++) {
        csimi_place *p = s->state.spring + i;
        if (p->kind == CSIMI_PLACE_RIGID && p->item == from) p->item = to;
    }
    for (i = 0; i < s->count.joints; i++)
        for (k = 0; k < 2; k++) {
            csimi_place *p = s->joint[i].end + k;
            if (p->kind == CSIMI_PLACE_RIGID && p->item == from) p->item = to;
        }
    for (i = 0; i < s->count.bends; i++)
        for (k = 0; k < 2; k++)
            if (s->state.bend[i].end[k].rigid == from) s->state.bend[i].end[k].rigid = to;
}

/* The last rigid body takes the place of one that goes. */
static void csimi_drop_rigid(csimi_store *s, int rigid) {
    csimi_replace(s, CSIMI_AXIS_rigids, rigid, 1);
    if (rigid < s->count.rigids) csimi_rename_rigid(s, s->count.rigids, rigid);
}

static int csimi_hulls_of(const csimi_store *s, const csimi_body *b, int *first) {
    int i, hulls = 0;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++)
        if (s->shape[i].hull >= 0 && hulls++ == 0) *first = s->shape[i].hull;
    return hulls;
}

/* The shapes of the body behind all others take the place of those that go, when they are as many. Hulls stand in the
   order of their shapes, and stay. */
static bool csimi_replace_shapes(csimi_store *s, const csimi_body *gone) {
    csimi_body *last;
    int hull = 0;
    if (gone->shape_count == 0) return true;
    last = s->body + s->shape_body[s->count.shapes - 1];
    if (last->shape_count != gone->shape_count || csimi_hulls_of(s, last, &hull) > 0) return false;
    csimi_replace(s, CSIMI_AXIS_shapes, gone->first_shape, gone->shape_count);
    last->first_shape = gone->first_shape;
    return true;
}

static void csimi_shift_cables(csimi_store *s, const csimi_body *gone) {
    int i, side;
    for (i = 0; i < 2 * s->count.frames; i++)
        if (s->state.edge_node[i] > gone->first_node) s->state.edge_node[i] -= gone->node_count;
    for (i = 0; i < s->count.bends; i++)
        for (side = 0; side < 2; side++) {
            csimi_bend_end *e = s->state.bend[i].end + side;
            if (e->frame > gone->first_frame) e->frame -= gone->frame_count;
        }
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == CSIMI_CLAMP && s->link[i].item > gone->first_bend)
            s->link[i].item -= gone->bend_count;
    csimi_shift_bends(s, gone->first_bend, gone->bend_count);
}

/* What names an item behind those that have gone; shapes: how many of them moved up. */
static void csimi_shift_indices(csim_world *w, const csimi_body *gone, int shapes, int hulls, int first_hull) {
    csimi_store *s = &w->store;
    int i;
    for (i = 0; i < s->count.bodies; i++) {
        csimi_body *b = s->body + i;
        if (!b->alive) continue;
        if (b->first_node > gone->first_node) b->first_node -= gone->node_count;
        if (b->first_shape > gone->first_shape) b->first_shape -= shapes;
        if (b->first_tet > gone->first_tet) b->first_tet -= gone->tet_count;
        if (b->first_membrane > gone->first_membrane) b->first_membrane -= gone->membrane_count;
        if (b->first_surface > gone->first_surface) b->first_surface -= gone->surface_count;
        if (b->first_triangle > gone->first_triangle) b->first_triangle -= gone->triangle_count;
        if (b->first_frame > gone->first_frame) b->first_frame -= gone->frame_count;
    }
    csimi_shift_cables(s, gone);
    for (i = 0; i < s->count.trees; i++)
        if (s->state.tree[i].first_node > gone->first_node) s->state.tree[i].first_node -= gone->node_count;
    for (i = 0; i < s->count.tets * 4; i++)
        if (s->state.tet[i] > gone->first_node) s->state.tet[i] -= gone->node_count;
    for (i = 0; i < s->count.membranes * 3; i++) {
        if (s->state.membrane[i] > gone->first_node) s->state.membrane[i] -= gone->node_count;
        if (s->state.membrane_beyond[i] > gone->first_node) s->state.membrane_beyond[i] -= gone->node_count;
    }
    for (i = 0; i < s->count.surface; i++)
        if (s->surface_node[i] > gone->first_node) s->surface_node[i] -= gone->node_count;
    for (i = 0; i < s->count.shapes; i++)
        if (s->shape[i].hull > first_hull) s->shape[i].hull -= hulls;
    for (i = 0; i < 2 * s->count.springs; i++)
        csimi_place_shift(s->state.spring + i, gone->first_node, gone->node_count);
    for (i = 0; i < s->count.joints; i++) {
        csimi_place_shift(s->joint[i].end, gone->first_node, gone->node_count);
        csimi_place_shift(s->joint[i].end + 1, gone->first_node, gone->node_count);
    }
}

CSIM_API csim_status csim_destroy_body(csim_world *w, csim_body_id id) {
    csimi_store *s;
    csimi_body gone;
    int slot, i, hulls, shapes = 0, first_hull = 0;
    csim_status status;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, "csim_destroy_body", NULL, NULL);
    if ((status = csimi_find_body(w, id, "csim_destroy_body", &slot, &w->error)) != 0) return status;
    s = &w->store;
    csimi_wake(w, slot);
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && (s->link[i].body[0] == slot || s->link[i].body[1] == slot)) csimi_drop_link(w, i);
    gone = s->body[slot];
    csimi_look_drop(s, slot);
    csimi_end_contacts(w, slot);
    hulls = csimi_hulls_of(s, &gone, &first_hull);
    s->count.matrix_blocks -= gone.matrix_blocks;
    s->count.aggregates -= gone.aggregate_count;
    csimi_remove(s, CSIMI_AXIS_nodes, gone.first_node, gone.node_count);
    if (gone.rigid >= 0) csimi_drop_rigid(s, gone.rigid);
    if (gone.tree >= 0) csimi_tree_forget(s, gone.tree);
    if (hulls > 0 || !csimi_replace_shapes(s, &gone)) {
        shapes = gone.shape_count;
        csimi_remove(s, CSIMI_AXIS_shapes, gone.first_shape, shapes);
    }
    csimi_remove(s, CSIMI_AXIS_hulls, first_hull, hulls);
    csimi_remove(s, CSIMI_AXIS_tets, gone.first_tet, gone.tet_count);
    csimi_remove(s, CSIMI_AXIS_membranes, gone.first_membrane, gone.membrane_count);
    csimi_remove(s, CSIMI_AXIS_surface, gone.first_surface, gone.surface_count);
    csimi_remove(s, CSIMI_AXIS_triangles, gone.first_triangle, gone.triangle_count);
    csimi_remove(s, CSIMI_AXIS_frames, gone.first_frame, gone.frame_count);
    csimi_remove(s, CSIMI_AXIS_bends, gone.first_bend, gone.bend_count);
#ifndef CONDSIM_NO_SLEEP
    s->bedded -= gone.rest.zone == CSIMI_ZONE_BED;
#endif
    s->body[slot].alive = false;
    s->body[slot].generation++;
    s->body[slot].next_free = w->free_body;
    w->free_body = slot;
    csimi_unlist(w, slot);
    if (shapes + gone.node_count > 0) csimi_shift_indices(w, &gone, shapes, hulls, first_hull);
    csimi_sync_state(s);
    if (gone.triangle_count > 0) csimi_look_surfaces(w);
    w->pattern_stale = true;
    return CSIM_OK;
}
