/* world/reshape: shapes of rigid bodies and of links of trees that are added, replaced and removed while a world runs.
   A shape keeps its number: one that is removed leaves a gap among those of its body, for the next that is added. */
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

/* Another shape at the end of a body's, which is that of nothing yet; link: of a tree, else -1. */
static int csimi_append_shape(csimi_store *s, int slot, int link) {
    csimi_body *b = s->body + slot;
    int i, at;
    if (b->shape_count == 0) b->first_shape = s->count.shapes;
    at = b->first_shape + b->shape_count;
    csimi_open_gap(s, CSIMI_AXIS_shapes, at);
    for (i = 0; i < s->count.bodies; i++)
        if (s->body[i].alive && s->body[i].shape_count > 0 && s->body[i].first_shape >= at) s->body[i].first_shape++;
    s->shape_body[at] = slot;
    s->shape_link[at] = link;
    s->shape[at].hull = -1;
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

static csim_status csimi_open_shaped(csim_world *w, csim_body_id id, const char *fn, int *slot) {
    csim_status status;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, fn, NULL, NULL);
    if ((status = csimi_find_body(w, id, fn, slot, &w->error)) != 0) return status;
    if (w->store.body[*slot].kind == CSIM_RIGID || w->store.body[*slot].kind == CSIM_BODY_TREE) return CSIM_OK;
    return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a rigid body or a tree");
}

/* Makes room for a shape, beside `more` others, and bakes it: a hull waits in the scratch. */
static csim_status csimi_bake_new(csim_world *w, const char *fn, int slot, const csim_shape *shape, int more,
                                  csim_geometry *g) {
    const csimi_body *b = w->store.body + slot;
    csimi_counts need = w->store.count;
    csim_status s;
    if (!shape) return csimi_missing(&w->error, fn, "shape");
    if ((s = csimi_check_static(w, fn,
                                b->tree >= 0  ? CSIM_DYNAMIC
                                : b->disabled ? b->motion_then
                                              : b->motion,
                                shape)) != 0)
        return s;
    if ((s = csimi_check_skins(w, fn, slot, shape, 1)) != 0) return s;
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

static csim_status csimi_add_a_shape(csim_world *w, const char *fn, csim_body_id id, int link, const csim_shape *shape,
                                     int *number) {
    csim_geometry g;
    const int slot = (int)id.index1 - 1;
    const csimi_body *b = w->store.body + slot;
    int own = 0;
    csim_status status;
    while (own < b->shape_count && !(w->store.skin[b->first_shape + own].gone &&
                                     w->store.shape_link[b->first_shape + own] == link))
        own++;
    if (own >= 10000) return csimi_unfit(&w->error, fn, "shape", (double)own, "0..9999");
    if ((status = csimi_bake_new(w, fn, slot, shape, own == b->shape_count, &g)) != 0) return status;
    csimi_look_drop(&w->store, slot);
    b = w->store.body + slot;
    if (own == b->shape_count) csimi_append_shape(&w->store, slot, link);
    csimi_write_shape(w, id, b->first_shape + own, shape, &g, false, false);
    if (number) *number = own;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_add_shape(csim_world *w, csim_body_id id, const csim_shape *shape, int *number) {
    static const char fn[] = "csim_body_add_shape";
    int slot;
    csim_status status = csimi_open_shaped(w, id, fn, &slot);
    if (status) return status;
    if (w->store.body[slot].kind != CSIM_RIGID)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1,
                          "a rigid body; csim_tree_add_shape puts shapes on links");
    return csimi_add_a_shape(w, fn, id, -1, shape, number);
}

CSIM_API csim_status csim_body_set_shape(csim_world *w, csim_body_id id, int shape, const csim_shape *to) {
    static const char fn[] = "csim_body_set_shape";
    const csim_shape nothing = csim_sphere(1);
    const csim_geometry *was;
    csim_geometry g;
    int slot, at;
    csim_status status = csimi_open_shaped(w, id, fn, &slot);
    if (status) return status;
    if (csim_body_shape(w, id, shape, &was, NULL) != CSIM_OK)
        return csimi_unfit(&w->error, fn, "shape", (double)shape, "0..shape count - 1, not removed");
    if ((status = csimi_bake_new(w, fn, slot, to ? to : &nothing, 0, &g)) != 0) return status;
    at = w->store.body[slot].first_shape + shape;
    csimi_shape_changed(w, slot); /* what lay on it */
    csimi_look_drop(&w->store, slot);
    csimi_write_shape(w, id, at, to ? to : &nothing, &g, !to || w->store.skin[at].disabled, !to);
    return CSIM_OK;
}

/* What the shapes of a body weigh together; link: those of a link of a tree, else -1. */
static csim_status csimi_shapes_mass(csim_world *w, const char *fn, int slot, int link, csim_real density,
                                     csim_mass *mass) {
    const csimi_store *s = &w->store;
    const csimi_body *b = s->body + slot;
    csim_mass part;
    csim_status status;
    int i;
    CSIMI_MEMSET(mass, 0, sizeof *mass);
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) {
        if (csimi_only_static(s->shape[i].kind) || s->skin[i].sensor || s->skin[i].disabled) continue;
        if (s->shape_link[i] != link) continue;
        if ((status = csimi_geometry_mass(fn, s->shape + i, s->hull, density, &part, &w->error)) != 0) return status;
        if (mass->mass > 0)
            csimi_add_mass(mass, &part);
        else
            *mass = part;
    }
    if (mass->mass > 0) return CSIM_OK;
    return csimi_deny(&w->error, CSIM_OUT_OF_RANGE, fn, "shapes", "at least one that has a mass");
}

CSIM_API csim_status csim_body_set_density(csim_world *w, csim_body_id id, csim_real density) {
    static const char fn[] = "csim_body_set_density";
    csim_mass mass;
    int slot;
    csim_status status = csimi_open_shaped(w, id, fn, &slot);
    if (status) return status;
    if (w->store.body[slot].kind != CSIM_RIGID)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1,
                          "a rigid body; csim_tree_set_link_density is for links");
    status = csimi_shapes_mass(w, fn, slot, -1, density, &mass);
    return status ? status : csim_body_set_mass(w, id, &mass);
}

#ifndef CONDSIM_NO_TREE
CSIMI_FN csim_status csimi_open_link(csim_world *w, csim_body_id id, int link, const char *fn, int *slot) {
    csim_status status = csimi_open_shaped(w, id, fn, slot);
    const csimi_body *b;
    if (status) return status;
    b = w->store.body + *slot;
    if (b->kind != CSIM_BODY_TREE) return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a tree");
    if (link < 0 || link >= w->store.state.tree[b->tree].link_count)
        return csimi_unfit(&w->error, fn, "link", (double)link, "0..link count - 1");
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_add_shape(csim_world *w, csim_body_id id, int link, const csim_shape *shape,
                                         int *number) {
    static const char fn[] = "csim_tree_add_shape";
    int slot;
    csim_status status = csimi_open_link(w, id, link, fn, &slot);
    return status ? status : csimi_add_a_shape(w, fn, id, link, shape, number);
}

/* Mass, centre and inertia of a link; back to what they were where the joints would then move no mass. */
static csim_status csimi_write_link_mass(csim_world *w, const char *fn, int slot, int link, const csim_mass *m) {
    const int tree = w->store.body[slot].tree;
    csimi_tree_link *l = w->store.state.tree_link + w->store.state.tree[tree].first_link + link, was = *l;
    csimi_link_weigh(l, m);
    if (!csimi_tree_has_mass(&w->store, tree)) {
        *l = was;
        return csimi_deny(&w->error, CSIM_OUT_OF_RANGE, fn, "the mass matrix",
                          "positive definite: every joint moves some mass or has armature");
    }
    csimi_wake(w, slot);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_link_mass(csim_world *w, csim_body_id id, int link, const csim_mass *mass) {
    static const char fn[] = "csim_tree_set_link_mass";
    csim_rigid_def def;
    csim_mass checked;
    int slot;
    csim_status status = csimi_open_link(w, id, link, fn, &slot);
    if (status) return status;
    if (!mass) return csimi_missing(&w->error, fn, "mass");
    if ((status = csimi_check_vec(&w->error, fn, "mass.centre", mass->centre)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "mass.inertia", mass->inertia.m, 9)) != 0) return status;
    if (!csimi_finite(mass->mass) || !(mass->mass > 0 && mass->mass <= CSIM_R(1e15)))
        return csimi_unfit(&w->error, fn, "mass.mass", (double)mass->mass, "above 0, at most 1e15");
    CSIMI_MEMSET(&def, 0, sizeof def);
    def.mass = mass->mass;
    def.inertia = mass->inertia;
    def.centre = mass->centre;
    CSIMI_MEMSET(&checked, 0, sizeof checked);
    if ((status = csimi_check_inertia(&def, fn, &checked, &w->error)) != 0) return status;
    return csimi_write_link_mass(w, fn, slot, link, &checked);
}

CSIM_API csim_status csim_tree_set_link_density(csim_world *w, csim_body_id id, int link, csim_real density) {
    static const char fn[] = "csim_tree_set_link_density";
    csim_mass mass;
    int slot;
    csim_status status = csimi_open_link(w, id, link, fn, &slot);
    if (status == CSIM_OK) status = csimi_shapes_mass(w, fn, slot, link, density, &mass);
    return status ? status : csimi_write_link_mass(w, fn, slot, link, &mass);
}
#endif
