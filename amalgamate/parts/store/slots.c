/* store/slots: ids of bodies and links, and the steps every create call takes. A create call checks everything, then
   makes room, then writes behind the counts, and raises the counts last: until then nothing has changed. */
#include "private.h"

/* ---- ids */

CSIMI_FN csim_body_id csimi_body_id_of(const csim_world *w, int slot) {
    csim_body_id id;
    CSIMI_MEMSET(&id, 0, sizeof id);
    if (slot < 0) return id;
    id.index1 = (uint32_t)slot + 1u;
    id.generation = w->store.body[slot].generation;
    id.world = w->stamp;
    return id;
}

static csim_status csimi_find_slot(const csim_world *w, uint32_t index1, uint32_t world, bool there, const char *fn,
                                   const char *still, int *slot, csim_error *error) {
    if (index1 == 0) return csimi_fail(error, CSIM_STALE_ID, fn, "id", 0, "an id made by a create call");
    if (world != w->stamp) return csimi_fail(error, CSIM_WRONG_WORLD, fn, "id", (double)index1, "an id of this world");
    if (!there) return csimi_fail(error, CSIM_STALE_ID, fn, "id", (double)index1, still);
    *slot = (int)(index1 - 1);
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_find_body(const csim_world *w, csim_body_id id, const char *fn, int *slot,
                                     csim_error *error) {
    const bool there = id.index1 - 1u < (uint32_t)w->store.count.bodies && w->store.body[id.index1 - 1u].alive &&
                       w->store.body[id.index1 - 1u].generation == id.generation;
    return csimi_find_slot(w, id.index1, id.world, there, fn, "an id whose body still exists", slot, error);
}

CSIM_API bool csim_body_valid(const csim_world *w, csim_body_id id) {
    int slot;
    return w && csimi_find_body(w, id, "csim_body_valid", &slot, NULL) == CSIM_OK;
}

/* ---- links */

CSIMI_FN csim_status csimi_find_link(const csim_world *w, csim_link_id id, const char *fn, int *slot,
                                     csim_error *error) {
    const bool there = id.index1 - 1u < (uint32_t)w->store.count.links && w->store.link[id.index1 - 1u].alive &&
                       w->store.link[id.index1 - 1u].generation == id.generation;
    return csimi_find_slot(w, id.index1, id.world, there, fn, "an id whose link still exists", slot, error);
}

CSIMI_FN csim_link_id csimi_link_id_of(const csim_world *w, int slot) {
    csim_link_id id;
    id.index1 = (uint32_t)slot + 1u;
    id.generation = w->store.link[slot].generation;
    id.world = w->stamp;
    return id;
}

CSIM_API bool csim_link_valid(const csim_world *w, csim_link_id id) {
    int slot;
    return w && csimi_find_link(w, id, "csim_link_valid", &slot, NULL) == CSIM_OK;
}

/* ---- room */

/* Room for what the counts plus the additions need. */
CSIMI_FN csim_status csimi_make_room(csim_world *w, csimi_counts need, const char *function) {
    need.bodies = csimi_imax(need.bodies, 1);
    need.contacts = need.ended = need.pairs = 0; /* what the room is for follows from the bodies: layout.c */
    return csimi_ensure(w, &need, function);
}

CSIMI_FN csim_status csimi_start_create(csim_world *w, const void *def, const void *id, const char *function) {
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, function, NULL, NULL);
    if (!def) return csimi_missing(&w->error, function, "def");
    if (!id) return csimi_missing(&w->error, function, "id");
    return CSIM_OK;
}

CSIMI_FN csimi_counts csimi_counts_with_body(const csim_world *w) {
    csimi_counts need = w->store.count;
    if (w->free_body < 0) need.bodies++;
    return need;
}

/* Takes a slot for a body whose data has been written behind the counts. */
CSIMI_FN int csimi_take_body(csim_world *w, csim_body_kind kind, csim_motion motion, const csim_surface_def *surface,
                             void *user_data) {
    csimi_store *s = &w->store;
    int slot = w->free_body;
    csimi_body *b;
    uint32_t generation = 1;
    if (slot >= 0) {
        w->free_body = s->body[slot].next_free;
        generation = s->body[slot].generation;
    } else {
        slot = s->count.bodies++;
    }
    b = s->body + slot;
    CSIMI_MEMSET(b, 0, sizeof *b);
    b->generation = generation;
    b->alive = true;
    b->kind = kind;
    b->motion = motion;
    b->next_free = b->rigid = b->tree = -1;
#ifndef CONDSIM_NO_SLEEP
    b->rest.zone = s->bedded > 0 ? CSIMI_ZONE_NEW : CSIMI_ZONE_DAY;
    b->rest.ring = slot;
    b->rest.stirred = (uint32_t)w->steps;
    w->alike = 0;
#endif
    b->can_sleep = true;
    b->first_node = s->count.nodes;
    b->first_shape = s->count.shapes;
#if CSIMI_KEEPS_MESHES
    b->first_tet = s->count.tets;
    b->first_membrane = s->count.membranes;
    b->first_surface = s->count.surface;
    b->first_triangle = s->count.triangles;
    b->first_frame = s->count.frames;
    b->first_bend = s->count.bends;
#endif
    b->surface = *surface;
    b->user_data = user_data;
    s->listed[slot] = w->live_bodies;
    s->body_list[w->live_bodies++] = slot;
    return slot;
}

CSIMI_FN void csimi_write_skin(csimi_store *s, int shape, int slot, const csim_shape *from) {
    csimi_skin *skin = s->skin + shape;
    CSIMI_MEMSET(skin, 0, sizeof *skin);
    skin->own = from->surface != NULL;
    skin->surface = skin->own ? *from->surface : s->body[slot].surface;
    skin->sensor = from->sensor;
    skin->user_data = from->user_data;
}

CSIMI_FN void csimi_spread_surface(csimi_store *s, int slot) {
    const csimi_body *b = s->body + slot;
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++)
        if (!s->skin[i].own) s->skin[i].surface = b->surface;
}

CSIMI_FN unsigned char csimi_mode_of(csim_motion motion) {
    return motion == CSIM_DYNAMIC ? CSIMI_FREE : motion == CSIM_STATIC ? CSIMI_FIXED : CSIMI_KINEMATIC;
}

/* matrix_blocks as creation counts them: the same calls fit, the pattern may share some. */
CSIMI_FN void csimi_note_high(csim_world *w) {
    const csim_capacity now = csimi_capacity_of(&w->store.count);
    csimi_raise(&w->def.capacity, &now, sizeof now);
}

CSIMI_FN void csimi_finish_create(csim_world *w, int slot, csim_body_id *id) {
    csimi_sync_state(&w->store);
    csimi_note_high(w);
    if (w->store.body[slot].shape_count == 0) w->store.body[slot].first_shape = 0;
    csimi_look_add(&w->store, slot);
    w->pattern_stale = true;
    if (w->store.body[slot].motion != CSIM_DYNAMIC) csimi_wake_near(w, slot);
    *id = csimi_body_id_of(w, slot);
}

/* ---- writing */

/* Writes node i of the store. */
CSIMI_FN void csimi_write_node(csimi_store *s, int i, csim_vec3 x, csim_vec3 v, csim_real mass, csim_real damping,
                               csim_motion motion, int slot) {
    csimi_store3(s->state.x + 3 * i, x);
    csimi_store3(s->state.v + 3 * i, v);
    csimi_store3(s->node_rep + 3 * i, v);
    csimi_store3(s->state.node_force + 3 * i, csim_v3(0, 0, 0));
    s->state.node_mass[i] = mass;
    s->state.node_damping[i] = damping;
    s->state.node_gravity[i] = 1;
    s->state.node_mode[i] = csimi_mode_of(motion);
    s->node_body[i] = slot;
    s->state.node_tree[i] = -1;
}

/* Takes a link slot; item is its place among the springs or joints. */
CSIMI_FN int csimi_take_link(csim_world *w, csimi_link_kind kind, int item, const int *bodies, csim_real break_force) {
    csimi_store *s = &w->store;
    int slot = w->free_link;
    csimi_link *l;
    uint32_t generation = 1;
    int k;
    if (slot >= 0) {
        w->free_link = s->link[slot].next_free;
        generation = s->link[slot].generation;
    } else {
        slot = s->count.links++;
    }
    l = s->link + slot;
    CSIMI_MEMSET(l, 0, sizeof *l);
    l->generation = generation;
    l->alive = true;
    l->kind = kind;
    l->next_free = -1;
    l->item = item;
    l->body[0] = bodies[0];
    l->body[1] = bodies[1];
    l->break_force = break_force;
    for (k = 0; k < 2; k++)
        if (kind == CSIMI_JOINT && bodies[k] >= 0) s->body[bodies[k]].joints++;
    return slot;
}

CSIMI_FN void csimi_finish_link(csim_world *w, int slot, csim_link_id *id) {
    csimi_sync_state(&w->store);
    csimi_note_high(w);
    csimi_wake_link(w, slot);
    w->pattern_stale = true;
    *id = csimi_link_id_of(w, slot);
}
