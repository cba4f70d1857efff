/* world/reshape: shapes of rigid bodies that are added, replaced and removed while a world runs. A shape keeps its
   number: one that is removed leaves a gap among those of its body, for the next that is added. */
#include "private.h"

/* ---- where things stand */

/* Where the hull of a shape stands, or would: behind those of the shapes before it. */
static int csimi_hull_place(const csimi_store *s, int shape) {
    while (--shape >= 0)
        if (s->shape[shape].hull >= 0) return s->shape[shape].hull + 1;
    return 0;
}

/* Hulls from place `at` on have moved by n. */
static void csimi_shift_hulls(csimi_store *s, int at, int n) {
    int i;
    for (i = 0; i < s->count.shapes; i++)
        if (s->shape[i].hull >= at) s->shape[i].hull += n;
}

static void csimi_drop_hull(csimi_store *s, int shape) {
    const int hull = s->shape[shape].hull;
    if (hull < 0) return;
    s->shape[shape].hull = -1;
    csimi_remove(s, CSIMI_AXIS_hulls, hull, 1);
    csimi_shift_hulls(s, hull, -1);
}

/* Another shape at the end of a body's, which is that of nothing yet. */
static int csimi_append_shape(csimi_store *s, int slot) {
    csimi_body *b = s->body + slot;
    int i, at;
    if (b->shape_count == 0) b->first_shape = s->count.shapes;
    at = b->first_shape + b->shape_count;
    csimi_open_gap(s, CSIMI_AXIS_shapes, at);
    for (i = 0; i < s->count.bodies; i++)
        if (s->body[i].alive && s->body[i].shape_count > 0 && s->body[i].first_shape >= at) s->body[i].first_shape++;
    s->shape_body[at] = slot;
    s->shape_link[at] = s->shape[at].hull = -1;
    b->shape_count++;
    return at;
}

/* What steps have kept of a shape that is another one now: its manifolds in worlds with bounded frames. */
static void csimi_forget_manifolds(csim_contact_info *c, csimi_kept *kept, int count, csim_body_id id, int shape) {
    int i;
    for (i = 0; i < count; i++)
        if ((c[i].body_a.index1 == id.index1 && c[i].shape_a == shape) ||
            (c[i].body_b.index1 == id.index1 && c[i].shape_b == shape))
            kept[i].pair = 0;
}

static void csimi_forget_shape(csim_world *w, csim_body_id id, int shape) {
    csimi_store *s = &w->store;
    csimi_forget_manifolds(s->contact, s->kept, csimi_imin(s->count.kept, s->count.contacts), id, shape);
#ifndef CONDSIM_NO_SLEEP
    csimi_forget_manifolds(s->slept, s->slept_kept, csimi_imin(s->count.slept_kept, s->count.slept), id, shape);
#endif
}

/* ---- the calls */

static csim_status csimi_open_rigid(csim_world *w, csim_body_id id, const char *fn, int *slot) {
    csim_status status;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, fn, NULL, false, 0, NULL);
    if ((status = csimi_find_body(w, id, fn, slot, &w->error)) != 0) return status;
    if (w->store.body[*slot].kind == CSIM_RIGID) return CSIM_OK;
    return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", true, (double)id.index1, "a rigid body");
}

/* Makes room for a shape, beside `more` others, and bakes it: a hull waits in the scratch. */
static csim_status csimi_bake_new(csim_world *w, const char *fn, int slot, const csim_shape *shape, int more,
                                  csim_geometry *g) {
    const csimi_body *b = w->store.body + slot;
    csimi_counts need = w->store.count;
    csim_status s;
    if (!shape) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, "shape", false, 0, "not null");
    if ((s = csimi_check_static(w, fn, b->disabled ? b->motion_then : b->motion, shape)) != 0) return s;
    if ((s = csimi_check_skins(w, fn, shape, 1)) != 0) return s;
    if ((s = csimi_check_shape(fn, shape, &w->error)) != 0) return s;
    need.shapes += more;
    need.hulls += shape->kind == CSIM_SHAPE_HULL;
    if ((s = csimi_make_room(w, need, fn)) != 0) return s;
    need = w->store.capacity;
    if (w->grow && shape->field) need.contacts += 96;
    if ((s = csimi_ensure(w, &need, fn)) != 0) return s;
    return csim_shape_bake(shape, g, (csim_hull_data *)(void *)w->store.scratch, &w->error);
}

/* Writes a baked shape in the place of one of the body's, and everything that follows from it. */
static void csimi_write_shape(csim_world *w, csim_body_id id, int at, const csim_shape *shape, const csim_geometry *g,
                              bool disabled, bool gone) {
    csimi_store *s = &w->store;
    const int slot = (int)id.index1 - 1;
    csimi_drop_hull(s, at);
    s->shape[at] = *g;
    if (g->kind == CSIM_SHAPE_HULL) {
        const int hull = csimi_hull_place(s, at);
        csimi_open_gap(s, CSIMI_AXIS_hulls, hull);
        csimi_shift_hulls(s, hull, 1);
        CSIMI_MEMCPY(s->hull + hull, s->scratch, sizeof *s->hull);
        s->shape[at].hull = hull;
    }
    csimi_write_skin(s, at, slot, shape);
    s->skin[at].disabled = disabled;
    s->skin[at].gone = gone;
    csimi_forget_shape(w, id, csimi_own_shape(s, slot, at));
    csimi_look_add(s, slot);
    csimi_note_high(w);
    csimi_shape_changed(w, slot);
}

CSIM_API csim_status csim_body_add_shape(csim_world *w, csim_body_id id, const csim_shape *shape, int *number) {
    static const char fn[] = "csim_body_add_shape";
    csim_geometry g;
    const csimi_body *b;
    int slot, own = 0;
    csim_status status = csimi_open_rigid(w, id, fn, &slot);
    if (status) return status;
    b = w->store.body + slot;
    while (own < b->shape_count && !w->store.skin[b->first_shape + own].gone) own++;
    if (own >= 10000) return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "shape", true, (double)own, "0..9999");
    if ((status = csimi_bake_new(w, fn, slot, shape, own == b->shape_count, &g)) != 0) return status;
    csimi_look_drop(&w->store, slot);
    b = w->store.body + slot;
    if (own == b->shape_count) csimi_append_shape(&w->store, slot);
    csimi_write_shape(w, id, b->first_shape + own, shape, &g, false, false);
    if (number) *number = own;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_shape(csim_world *w, csim_body_id id, int shape, const csim_shape *to) {
    static const char fn[] = "csim_body_set_shape";
    const csim_shape nothing = csim_sphere(1);
    const csim_geometry *was;
    csim_geometry g;
    int slot, at;
    csim_status status = csimi_open_rigid(w, id, fn, &slot);
    if (status) return status;
    if (csim_body_shape(w, id, shape, &was, NULL) != CSIM_OK)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "shape", true, (double)shape,
                          "0..shape count - 1, not removed");
    if ((status = csimi_bake_new(w, fn, slot, to ? to : &nothing, 0, &g)) != 0) return status;
    at = w->store.body[slot].first_shape + shape;
    csimi_shape_changed(w, slot); /* what lay on it */
    csimi_look_drop(&w->store, slot);
    csimi_write_shape(w, id, at, to ? to : &nothing, &g, !to || w->store.skin[at].disabled, !to);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_density(csim_world *w, csim_body_id id, csim_real density) {
    static const char fn[] = "csim_body_set_density";
    const csimi_store *s;
    const csimi_body *b;
    csim_mass mass, part;
    int slot, i;
    csim_status status = csimi_open_rigid(w, id, fn, &slot);
    if (status) return status;
    s = &w->store;
    b = s->body + slot;
    CSIMI_MEMSET(&mass, 0, sizeof mass);
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) {
        if (csimi_only_static(s->shape[i].kind) || s->skin[i].sensor || s->skin[i].disabled) continue;
        if ((status = csimi_geometry_mass(fn, s->shape + i, s->hull, density, &part, &w->error)) != 0) return status;
        if (mass.mass > 0)
            csimi_add_mass(&mass, &part);
        else
            mass = part;
    }
    if (!(mass.mass > 0))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "shapes", false, 0, "at least one that has a mass");
    return csim_body_set_mass(w, id, &mass);
}
