/* store/change: what of bodies and shapes is changed and listed while a world runs. */
#include "private.h"

static csim_status csimi_open_body(csim_world *w, csim_body_id id, const char *fn, int *slot) {
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, fn, NULL, NULL);
    w->alike = 0; /* what is told of it is told anew */
    return csimi_find_body(w, id, fn, slot, &w->error);
}

static csim_status csimi_open_shape(csim_world *w, csim_body_id id, int shape, const char *fn, csimi_skin **skin) {
    const csimi_body *b;
    int slot;
    csim_status status = csimi_open_body(w, id, fn, &slot);
    if (status) return status;
    b = w->store.body + slot;
    if (shape < 0 || shape >= b->shape_count || w->store.skin[b->first_shape + shape].gone)
        return csimi_unfit(&w->error, fn, "shape", (double)shape, "0..shape count - 1, not removed");
    *skin = w->store.skin + b->first_shape + shape;
    return CSIM_OK;
}

/* The shape's number in the store. */
static csim_status csimi_read_shape(const csim_world *w, csim_body_id id, int shape, const void *out, int *index) {
    int slot;
    csim_status status;
    if (!w || !out) return CSIM_NULL_ARGUMENT;
    if ((status = csimi_find_body(w, id, "a csim_body_get function", &slot, NULL)) != 0) return status;
    *index = w->store.body[slot].first_shape + shape;
    if (shape < 0 || shape >= w->store.body[slot].shape_count || w->store.skin[*index].gone) return CSIM_OUT_OF_RANGE;
    return CSIM_OK;
}

static csim_status csimi_read_body(const csim_world *w, csim_body_id id, const void *out, const csimi_body **b) {
    int slot;
    csim_status status;
    if (!w || !out) return CSIM_NULL_ARGUMENT;
    if ((status = csimi_find_body(w, id, "a csim_body_get function", &slot, NULL)) != 0) return status;
    *b = w->store.body + slot;
    return CSIM_OK;
}

static csim_status csimi_wrong_kind(csim_world *w, csim_body_id id, const char *fn, const char *allowed) {
    return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, allowed);
}

/* ---- surfaces */

CSIMI_FN void csimi_shape_changed(csim_world *w, int slot) {
    csimi_wake(w, slot);
    csimi_wake_near(w, slot);
    w->bed_stale = true; /* thickness, sensors */
}

static csim_status csimi_change_surface(csim_world *w, int slot, const csim_surface_def *surface, const char *fn) {
    csim_status status = csimi_check_surface(&w->error, fn, surface);
    if (status) return status;
    w->store.body[slot].surface = *surface;
    csimi_spread_surface(&w->store, slot);
    csimi_look_moved(&w->store, slot);
    csimi_shape_changed(w, slot);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_surface(const csim_world *w, csim_body_id id, csim_surface_def *surface) {
    const csimi_body *b;
    csim_status status = csimi_read_body(w, id, surface, &b);
    if (status == CSIM_OK) *surface = b->surface;
    return status;
}

CSIM_API csim_status csim_body_set_surface(csim_world *w, csim_body_id id, const csim_surface_def *surface) {
    static const char fn[] = "csim_body_set_surface";
    int slot;
    csim_status status = csimi_open_body(w, id, fn, &slot);
    if (status) return status;
    if (!surface) return csimi_missing(&w->error, fn, "surface");
    return csimi_change_surface(w, slot, surface, fn);
}

CSIM_API csim_status csim_body_set_restitution(csim_world *w, csim_body_id id, csim_real restitution) {
    csim_surface_def surface;
    int slot;
    csim_status status = csimi_open_body(w, id, "csim_body_set_restitution", &slot);
    if (status) return status;
    surface = w->store.body[slot].surface;
    surface.restitution = restitution;
    return csimi_change_surface(w, slot, &surface, "csim_body_set_restitution");
}

CSIM_API csim_status csim_body_set_filter(csim_world *w, csim_body_id id, uint32_t category, uint32_t mask, int group) {
    csim_surface_def surface;
    int slot;
    csim_status status = csimi_open_body(w, id, "csim_body_set_filter", &slot);
    if (status) return status;
    surface = w->store.body[slot].surface;
    surface.category = category;
    surface.mask = mask;
    surface.group = group;
    return csimi_change_surface(w, slot, &surface, "csim_body_set_filter");
}

CSIM_API csim_status csim_body_get_shape_surface(const csim_world *w, csim_body_id id, int shape,
                                                 csim_surface_def *surface) {
    int i;
    csim_status status = csimi_read_shape(w, id, shape, surface, &i);
    if (status == CSIM_OK) *surface = w->store.skin[i].surface;
    return status;
}

CSIM_API csim_status csim_body_set_shape_surface(csim_world *w, csim_body_id id, int shape,
                                                 const csim_surface_def *surface) {
    static const char fn[] = "csim_body_set_shape_surface";
    csimi_skin *skin = NULL;
    csim_status status = csimi_open_shape(w, id, shape, fn, &skin);
    if (status) return status;
    if (surface && (status = csimi_check_surface(&w->error, fn, surface)) != 0) return status;
    skin->own = surface != NULL;
    skin->surface = surface ? *surface : w->store.body[id.index1 - 1].surface;
    csimi_shape_changed(w, (int)id.index1 - 1);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_shape_sensor(const csim_world *w, csim_body_id id, int shape, bool *sensor) {
    int i;
    csim_status status = csimi_read_shape(w, id, shape, sensor, &i);
    if (status == CSIM_OK) *sensor = w->store.skin[i].sensor;
    return status;
}

CSIM_API csim_status csim_body_set_shape_sensor(csim_world *w, csim_body_id id, int shape, bool sensor) {
    static const char fn[] = "csim_body_set_shape_sensor";
    csimi_skin *skin = NULL;
    csim_status status = csimi_open_shape(w, id, shape, fn, &skin);
    if (status) return status;
#ifdef CONDSIM_NO_EVENTS
    if (sensor) return csimi_fail(&w->error, CSIM_UNSUPPORTED, fn, "sensor", 1, "builds without CONDSIM_NO_EVENTS");
#endif
    skin->sensor = sensor;
    csimi_shape_changed(w, (int)id.index1 - 1);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_shape_enabled(const csim_world *w, csim_body_id id, int shape, bool *enabled) {
    int i;
    csim_status status = csimi_read_shape(w, id, shape, enabled, &i);
    if (status == CSIM_OK) *enabled = !w->store.skin[i].disabled;
    return status;
}

CSIM_API csim_status csim_body_set_shape_enabled(csim_world *w, csim_body_id id, int shape, bool enabled) {
    csimi_skin *skin = NULL;
    csim_status status = csimi_open_shape(w, id, shape, "csim_body_set_shape_enabled", &skin);
    if (status || skin->disabled == !enabled) return status;
    csimi_look_drop(&w->store, (int)id.index1 - 1);
    skin->disabled = !enabled;
    csimi_look_add(&w->store, (int)id.index1 - 1);
    csimi_shape_changed(w, (int)id.index1 - 1);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_shape_link(const csim_world *w, csim_body_id id, int shape, int *link) {
    int i;
    csim_status status = csimi_read_shape(w, id, shape, link, &i);
    if (status == CSIM_OK) *link = w->store.shape_link[i];
    return status;
}

/* ---- pointers */

CSIM_API csim_status csim_body_set_user_data(csim_world *w, csim_body_id id, void *user_data) {
    int slot;
    csim_status status = csimi_open_body(w, id, "csim_body_set_user_data", &slot);
    if (status == CSIM_OK) w->store.body[slot].user_data = user_data;
    return status;
}

CSIM_API csim_status csim_body_get_shape_user_data(const csim_world *w, csim_body_id id, int shape, void **user_data) {
    int i;
    csim_status status = csimi_read_shape(w, id, shape, user_data, &i);
    if (status == CSIM_OK) *user_data = w->store.skin[i].user_data;
    return status;
}

CSIM_API csim_status csim_body_set_shape_user_data(csim_world *w, csim_body_id id, int shape, void *user_data) {
    csimi_skin *skin = NULL;
    csim_status status = csimi_open_shape(w, id, shape, "csim_body_set_shape_user_data", &skin);
    if (status == CSIM_OK) skin->user_data = user_data;
    return status;
}

/* ---- motion */

/* What a definition gives, over what shapes gave. */
CSIMI_FN csim_status csimi_check_inertia(const csim_rigid_def *def, const char *fn, csim_mass *mass,
                                         csim_error *error) {
    csim_real given = 0;
    int k;
    for (k = 0; k < 9; k++) given += csimi_abs(def->inertia.m[k]);
    if (def->mass > 0) mass->mass = def->mass;
    if (mass->mass > 0 && !csimi_weighs((double)mass->mass))
        return csimi_unfit(error, fn, "mass", (double)mass->mass, CSIMI_MASSES);
    if (given > 0) {
        csim_real eigenvalue[3], V[9];
        for (k = 0; k < 3; k++) {
            csim_real a = def->inertia.m[3 * k + (k + 1) % 3], b = def->inertia.m[3 * ((k + 1) % 3) + k];
            if (csimi_abs(a - b) > CSIM_R(1e-5) * given)
                return csimi_unfit(error, fn, "inertia", (double)(a - b), "a symmetric matrix");
        }
        csimi_eigen_sym3(def->inertia.m, eigenvalue, V);
        if (!csimi_weighs((double)eigenvalue[0]))
            return csimi_unfit(error, fn, "inertia (smallest eigenvalue)", (double)eigenvalue[0], CSIMI_MASSES);
        mass->inertia = def->inertia;
        mass->centre = def->centre;
    }
    if (def->motion == CSIM_DYNAMIC) {
        if (!(mass->mass > 0))
            return csimi_unfit(error, fn, "mass", (double)mass->mass, "above 0, or shapes to take it from");
        if (!(mass->inertia.m[0] > 0)) return csimi_unfit(error, fn, "inertia", 0, "given, or shapes to take it from");
        if (!csimi_rigid_weighs(mass->mass, mass->inertia.m))
            return csimi_unfit(error, fn, "inertia", (double)mass->inertia.m[0], CSIMI_MASSES);
    }
    return CSIM_OK;
}

static csim_status csimi_check_number(csim_world *w, const char *fn, const char *field, csim_real x, csim_real low,
                                      csim_real high, const char *allowed) {
    if (!csimi_finite(x)) return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, field, (double)x, allowed);
    if (x >= low && x <= high) return CSIM_OK;
    return csimi_unfit(&w->error, fn, field, (double)x, allowed);
}

CSIM_API csim_status csim_body_set_damping(csim_world *w, csim_body_id id, csim_real linear, csim_real angular) {
    static const char fn[] = "csim_body_set_damping";
    csimi_body *b;
    int slot, i;
    csim_status status = csimi_open_body(w, id, fn, &slot);
    if (status) return status;
    b = w->store.body + slot;
    if ((status = csimi_check_number(w, fn, "linear", linear, 0, CSIM_R(1e15), "0..1e15")) != 0) return status;
    if ((status = csimi_check_number(w, fn, "angular", angular, 0, CSIM_R(1e15), "0..1e15")) != 0) return status;
    csimi_wake(w, slot);
    if (b->tree >= 0) w->store.state.tree[b->tree].mass_damping = linear;
    if (b->rigid >= 0) {
        w->store.state.rigid_damping[2 * b->rigid] = linear;
        w->store.state.rigid_damping[2 * b->rigid + 1] = angular;
    }
    for (i = b->first_node; i < b->first_node + b->node_count; i++) w->store.state.node_damping[i] = linear;
#ifndef CONDSIM_NO_CABLE
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) w->store.state.frame_damping[i] = angular;
#endif
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_damping(const csim_world *w, csim_body_id id, csim_real *linear,
                                           csim_real *angular) {
    const csimi_state *s;
    const csimi_body *b;
    csim_real both[2] = {0, 0};
    csim_status status = csimi_read_body(w, id, w, &b);
    if (status) return status;
    s = &w->store.state;
    if (b->tree >= 0) both[0] = s->tree[b->tree].mass_damping;
    if (b->tree < 0 && b->node_count > 0) both[0] = s->node_damping[b->first_node];
    if (b->rigid >= 0) CSIMI_MEMCPY(both, s->rigid_damping + 2 * (size_t)b->rigid, sizeof both);
#ifndef CONDSIM_NO_CABLE
    if (b->frame_count > 0) both[1] = s->frame_damping[b->first_frame];
#endif
    if (linear) *linear = both[0];
    if (angular) *angular = both[1];
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_gravity_scale(const csim_world *w, csim_body_id id, csim_real *scale) {
    const csimi_body *b;
    csim_status status = csimi_read_body(w, id, scale, &b);
    if (status) return status;
    *scale = 1;
    if (b->rigid >= 0) *scale = w->store.state.rigid_gravity[b->rigid];
    if (b->tree >= 0) *scale = w->store.state.tree[b->tree].gravity;
    if (b->rigid < 0 && b->tree < 0) *scale = w->store.state.node_gravity[b->first_node];
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_gravity_scale(csim_world *w, csim_body_id id, csim_real scale) {
    static const char fn[] = "csim_body_set_gravity_scale";
    csimi_body *b;
    int slot, i;
    csim_status status = csimi_open_body(w, id, fn, &slot);
    if (status) return status;
    b = w->store.body + slot;
    if ((status = csimi_check_number(w, fn, "scale", scale, -1000, 1000, "-1000..1000")) != 0) return status;
    csimi_wake(w, slot);
    if (b->tree >= 0) w->store.state.tree[b->tree].gravity = scale;
    if (b->rigid >= 0) w->store.state.rigid_gravity[b->rigid] = scale;
    for (i = b->first_node; i < b->first_node + b->node_count; i++) w->store.state.node_gravity[i] = scale;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_mass(csim_world *w, csim_body_id id, const csim_mass *mass) {
    static const char fn[] = "csim_body_set_mass";
    csimi_store *s;
    csim_rigid_def def;
    csim_mass checked;
    csim_pose pose;
    csim_vec3 centre, arm;
    int slot, i;
    csim_status status = csimi_open_body(w, id, fn, &slot);
    if (status) return status;
    s = &w->store;
    i = s->body[slot].rigid;
    if (s->body[slot].tree >= 0) return csimi_wrong_kind(w, id, fn, "no tree and no reduced body");
    if (!mass) return csimi_missing(&w->error, fn, "mass");
    if ((status = csimi_check_vec(&w->error, fn, "mass.centre", mass->centre)) != 0) return status;
    if ((status = csimi_check_number(w, fn, "mass.mass", mass->mass, 0, CSIM_R(1e15), "above 0, at most 1e15")) != 0)
        return status;
    if (i < 0) {
        if (!csimi_lump_weigh(s, s->body + slot, mass->mass))
            return csimi_unfit(&w->error, fn, "mass.mass", (double)mass->mass, "so that every node has " CSIMI_MASSES);
        csimi_wake(w, slot);
        return CSIM_OK;
    }
    if ((status = csimi_check_reals(&w->error, fn, "mass.inertia", mass->inertia.m, 9)) != 0) return status;
    CSIMI_MEMSET(&def, 0, sizeof def); /* dynamic: it must have both */
    def.mass = mass->mass;
    def.inertia = mass->inertia;
    def.centre = mass->centre;
    CSIMI_MEMSET(&checked, 0, sizeof checked);
    if ((status = csimi_check_inertia(&def, fn, &checked, &w->error)) != 0) return status;
    csimi_wake(w, slot);
    pose = csimi_body_pose(s, &s->state, slot);
    centre = csim_pose_point(pose, checked.centre);
    arm = csim_sub(centre, csimi_load3(s->state.com + 3 * i));
    csimi_store3(s->state.velocity + 6 * i, csim_add(csimi_load3(s->state.velocity + 6 * i),
                                                     csim_cross(csimi_load3(s->state.velocity + 6 * i + 3), arm)));
    csimi_store3(s->rigid_rep + 6 * i, csim_add(csimi_load3(s->rigid_rep + 6 * i),
                                                csim_cross(csimi_load3(s->rigid_rep + 6 * i + 3), arm)));
    csimi_store3(s->state.com + 3 * i, centre);
    csimi_store3(s->body[slot].centre, checked.centre);
    s->state.rigid_mass[i] = checked.mass;
    CSIMI_MEMCPY(s->state.inertia + 9 * i, checked.inertia.m, sizeof checked.inertia.m);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_enabled(const csim_world *w, csim_body_id id, bool *enabled) {
    const csimi_body *b;
    csim_status status = csimi_read_body(w, id, enabled, &b);
    if (status == CSIM_OK) *enabled = !b->disabled;
    return status;
}

CSIM_API csim_status csim_body_set_enabled(csim_world *w, csim_body_id id, bool enabled) {
    csim_motion motion;
    int slot;
    csim_status status = csimi_open_body(w, id, "csim_body_set_enabled", &slot);
    if (status || w->store.body[slot].disabled == !enabled) return status;
    motion = w->store.body[slot].motion;
    w->store.body[slot].disabled = false; /* set_motion asks */
    status = csim_body_set_motion(w, id, enabled ? w->store.body[slot].motion_then : CSIM_STATIC);
    w->store.body[slot].disabled = !enabled;
    if (!enabled) w->store.body[slot].motion_then = motion;
    if (enabled) csimi_wake_near(w, slot);
    return status;
}

/* Turn from one rotation to another as an axis times an angle of at most pi. */
static csim_vec3 csimi_turn_between(csim_quat from, csim_quat to) {
    csim_quat d = csim_quat_mul(csim_quat_normalize(to), csim_quat_conj(from));
    csim_vec3 axis = csim_v3(d.x, d.y, d.z);
    csim_real half = csim_length(axis), angle;
    if (!(half > 0)) return csim_v3(0, 0, 0);
    angle = 2 * CSIMI_ATAN2(half, csimi_abs(d.w));
    return csim_scale((d.w < 0 ? -angle : angle) / half, axis);
}

CSIM_API csim_status csim_body_move_to(csim_world *w, csim_body_id id, csim_pose pose, csim_real h) {
    static const char fn[] = "csim_body_move_to";
    csimi_store *s;
    csimi_body *b;
    csim_pose from;
    csim_vec3 turn;
    int slot;
    csim_status status = csimi_open_body(w, id, fn, &slot);
    if (status) return status;
    s = &w->store;
    b = s->body + slot;
    if (b->motion != CSIM_KINEMATIC) return csimi_wrong_kind(w, id, fn, "a kinematic body");
    if ((status = csimi_check_pose(&w->error, fn, "pose", pose)) != 0) return status;
    if ((status = csimi_check_number(w, fn, "h", h, CSIM_R(1e-7), 1, "1e-7..1 s")) != 0) return status;
    from = csimi_body_pose(s, &s->state, slot); /* of nodes: the identity */
    pose.rotation = csim_quat_normalize(pose.rotation);
    turn = csimi_turn_between(from.rotation, pose.rotation);
    if (b->rigid < 0 && b->tree < 0) {
        if (csimi_lump_send(s, b, pose, turn, h)) csimi_wake(w, slot);
        return CSIM_OK;
    }
    return csim_body_set_velocity(w, id,
                                  csim_scale(1 / h, csim_sub(csim_pose_point(pose, csimi_load3(b->centre)),
                                                             csim_pose_point(from, csimi_load3(b->centre)))),
                                  csim_scale(1 / h, turn));
}

/* ---- lists */

static int csimi_list_links(const csim_world *w, int slot, csim_link_id *out, int capacity) {
    int i, n = 0;
    for (i = 0; i < w->store.count.links; i++) {
        const csimi_link *l = w->store.link + i;
        if (!l->alive || (slot >= 0 && l->body[0] != slot && l->body[1] != slot)) continue;
        if (out && n < capacity) out[n] = csimi_link_id_of(w, i);
        n++;
    }
    return n;
}

CSIM_API int csim_world_links(const csim_world *w, csim_link_id *out, int capacity) {
    return w ? csimi_list_links(w, -1, out, capacity) : 0;
}

CSIM_API int csim_body_links(const csim_world *w, csim_body_id id, csim_link_id *out, int capacity) {
    int slot;
    if (!w || csimi_find_body(w, id, "csim_body_links", &slot, NULL) != CSIM_OK) return 0;
    return csimi_list_links(w, slot, out, capacity);
}

CSIM_API int csim_world_broken(const csim_world *w, csim_link_id *ids, int capacity) {
    const csimi_store *s = w ? &w->store : NULL;
    int i, n = 0;
    for (i = 0; s && i < s->count.joints + s->count.springs; i++) {
        const bool joint = i < s->count.joints;
        const int slot = joint ? s->joint[i].link : s->spring_link[i - s->count.joints];
        if (!(joint ? s->joint[i].broke : s->link[slot].broke)) continue;
        if (ids && n < capacity) ids[n] = csimi_link_id_of(w, slot);
        n++;
    }
    return n;
}

CSIM_API int csim_body_contacts(const csim_world *w, csim_body_id id, csim_contact_info *out, int capacity) {
    int slot, i, n = 0;
    if (!w || csimi_find_body(w, id, "csim_body_contacts", &slot, NULL) != CSIM_OK) return 0;
    for (i = 0; i < w->store.count.contacts + csimi_sleeping_count(w); i++) {
        const csim_contact_info *c = i < w->store.count.contacts ? w->store.contact + i : csimi_sleeping_contact(w, i);
        if (c->body_a.index1 != id.index1 && c->body_b.index1 != id.index1) continue;
        if (out && n < capacity) out[n] = *c;
        n++;
    }
    return n;
}
