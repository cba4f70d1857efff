/* world/body: making rigid bodies. */
#include "private.h"

#ifdef CONDSIM_NO_STACKS
/* Whether another body, or a tree that touches itself, has boxes or hulls already. */
static bool csimi_stacks(const csim_world *w, int slot) {
    const csimi_store *s = &w->store;
    const bool self = CSIMI_HAS_TREES && slot >= 0 && s->body[slot].kind == CSIM_BODY_TREE &&
                      s->state.tree[s->body[slot].tree].self_contact;
    int k;
    for (k = 0; k < s->count.shapes; k++)
        if ((self || s->shape_body[k] != slot) && csimi_flat_sided(s->shape[k].kind)) return true;
    return false;
}
#endif

CSIMI_FN csim_status csimi_check_skins(csim_world *w, const char *fn, int slot, const csim_shape *shapes, int count) {
    int i;
    (void)slot;
    for (i = 0; i < count; i++) {
        csim_status s = shapes[i].surface ? csimi_check_surface(&w->error, fn, shapes[i].surface) : CSIM_OK;
        if (s) return s;
#ifdef CONDSIM_NO_STACKS
        if (csimi_flat_sided(shapes[i].kind) && csimi_stacks(w, slot))
            return csimi_deny(&w->error, CSIM_UNSUPPORTED, fn, "shapes",
                              "boxes and hulls of one body, or builds without CONDSIM_NO_STACKS");
#endif
#ifdef CONDSIM_NO_EVENTS
        if (shapes[i].sensor)
            return csimi_fail(&w->error, CSIM_UNSUPPORTED, fn, "shape.sensor", 1, "builds without CONDSIM_NO_EVENTS");
#endif
    }
    return CSIM_OK;
}

/* Mass, centre and inertia of a rigid definition; false fields keep zero for bodies that never move freely. */
CSIMI_FN csim_status csimi_rigid_mass(const csim_rigid_def *def, const char *fn, csim_mass *mass, csim_error *error) {
    int i, k;
    CSIMI_MEMSET(mass, 0, sizeof *mass);
    if (!CSIMI_HAS_MASS) return CSIM_OK;
    for (i = 0; i < def->shape_count; i++) {
        csim_mass part;
        csim_status s;
        if (csimi_only_static(def->shapes[i].kind) || def->shapes[i].sensor) continue;
        if ((s = csim_shape_mass(def->shapes + i, def->density, &part, error)) != 0) return s;
        if (mass->mass > 0)
            csimi_add_mass(mass, &part);
        else
            *mass = part;
    }
    if (def->mass > 0 && mass->mass > 0) {
        csim_real scale = def->mass / mass->mass;
        for (k = 0; k < 9; k++) mass->inertia.m[k] *= scale;
    }
    return csimi_check_inertia(def, fn, mass, error);
}

CSIMI_FN csim_status csimi_check_static(csim_world *w, const char *fn, csim_motion motion, const csim_shape *shape) {
    if (motion == CSIM_STATIC || !csimi_only_static(shape->kind)) return CSIM_OK;
    return csimi_unfit(&w->error, fn, "motion", (double)motion,
                       "CSIM_STATIC for a body with a half-space, heights or triangles");
}

static csim_status csimi_check_rigid(csim_world *w, const csim_rigid_def *def, csim_mass *mass, int *hulls) {
    static const char fn[] = "csim_create_rigid";
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_rigid_def, velocity), CSIMI_ANY3(csim_rigid_def, angular_velocity),
        CSIMI_POSITIVE(csim_rigid_def, density), CSIMI_AT_LEAST_0(csim_rigid_def, mass),
        CSIMI_ANY9(csim_rigid_def, inertia), CSIMI_ANY3(csim_rigid_def, centre),
        CSIMI_AT_LEAST_0(csim_rigid_def, linear_damping), CSIMI_AT_LEAST_0(csim_rigid_def, angular_damping)};
    csim_status s;
    int i;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_rigid_def()", def->guard)) != 0) return s;
    if ((s = csimi_check_pose(&w->error, fn, "pose", def->pose)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "motion", (int)def->motion, CSIM_MOTION_COUNT_)) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
#ifdef CONDSIM_NO_RIGID
    if (def->motion != CSIM_STATIC)
        return csimi_fail(&w->error, CSIM_UNSUPPORTED, fn, "motion", (double)def->motion,
                          "CSIM_STATIC, or builds without CONDSIM_NO_RIGID");
#endif
    if (def->shape_count < 0 || def->shape_count > 10000)
        return csimi_unfit(&w->error, fn, "shape_count", (double)def->shape_count, "0..10000");
    if (def->shape_count > 0 && !def->shapes)
        return csimi_deny(&w->error, CSIM_NULL_ARGUMENT, fn, "shapes", "not null when shape_count > 0");
    *hulls = 0;
    for (i = 0; i < def->shape_count; i++) {
        *hulls += def->shapes[i].kind == CSIM_SHAPE_HULL;
        if ((s = csimi_check_static(w, fn, def->motion, def->shapes + i)) != 0) return s;
    }
    if ((s = csimi_check_skins(w, fn, -1, def->shapes, def->shape_count)) != 0) return s;
    return csimi_rigid_mass(def, fn, mass, &w->error);
}

CSIM_API csim_status csim_create_rigid(csim_world *w, const csim_rigid_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_rigid";
    csimi_counts need;
    csimi_store *s;
    csimi_body *b;
    csim_mass mass;
    csim_real velocity[6];
    int hulls = 0, slot, i, k;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_rigid(w, def, &mass, &hulls)) != 0) return status;
    need = csimi_counts_with_body(w);
    need.rigids++;
    need.shapes += def->shape_count;
    need.hulls += hulls;
    need.matrix_blocks += 4;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    need = w->store.capacity;
    for (i = 0; i < def->shape_count && w->grow; i++) need.contacts += def->shapes[i].field ? 96 : 0;
    if ((status = csimi_ensure(w, &need, fn)) != 0) return status;
    s = &w->store;
    for (i = 0, hulls = s->count.hulls; i < def->shape_count; i++) {
        csim_geometry *g = s->shape + s->count.shapes + i;
        bool hull = def->shapes[i].kind == CSIM_SHAPE_HULL;
        if ((status = csim_shape_bake(def->shapes + i, g, hull ? s->hull + hulls : NULL, &w->error)) != 0)
            return status;
        g->hull = hull ? hulls++ : -1;
    }
    slot = csimi_take_body(w, CSIM_RIGID, def->motion, &def->surface, def->user_data);
    b = s->body + slot;
    b->shape_count = def->shape_count;
    b->matrix_blocks = 4;
    b->can_sleep = def->can_sleep;
    b->rigid = s->count.rigids++;
    for (i = 0; i < def->shape_count; i++) {
        s->shape_body[s->count.shapes + i] = slot;
        s->shape_link[s->count.shapes + i] = -1;
        csimi_write_skin(s, s->count.shapes + i, slot, def->shapes + i);
    }
    s->count.shapes += def->shape_count;
    s->count.hulls = hulls;
    s->count.matrix_blocks += 4;
    csimi_store3(b->centre, mass.centre);
    i = b->rigid;
    s->rigid_body[i] = slot;
    {
        csim_pose pose = def->pose;
        pose.rotation = csim_quat_normalize(pose.rotation);
        csimi_store3(s->state.com + 3 * i, csim_pose_point(pose, mass.centre));
        s->state.rotation[4 * i] = pose.rotation.w;
        s->state.rotation[4 * i + 1] = pose.rotation.x;
        s->state.rotation[4 * i + 2] = pose.rotation.y;
        s->state.rotation[4 * i + 3] = pose.rotation.z;
    }
    csimi_store3(velocity, def->velocity);
    csimi_store3(velocity + 3, def->angular_velocity);
    for (k = 0; k < 6; k++) {
        csim_real x = def->motion == CSIM_STATIC ? 0 : velocity[k];
        s->state.velocity[6 * i + k] = s->rigid_rep[6 * i + k] = x;
        s->state.wrench[6 * i + k] = 0;
    }
    s->state.rigid_mass[i] = mass.mass;
    for (k = 0; k < 9; k++) s->state.inertia[9 * i + k] = mass.inertia.m[k];
    s->state.rigid_damping[2 * i] = def->linear_damping;
    s->state.rigid_damping[2 * i + 1] = def->angular_damping;
    s->state.rigid_gravity[i] = 1;
    s->state.rigid_mode[i] = csimi_mode_of(def->motion);
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}

CSIM_API csim_status csim_create_shape(csim_world *w, csim_shape shape, csim_vec3 position, csim_body_id *id) {
    csim_rigid_def def = csim_default_rigid_def();
    def.shapes = &shape;
    def.shape_count = 1;
    def.pose.position = position;
    return csim_create_rigid(w, &def, id);
}

CSIM_API csim_status csim_create_ground(csim_world *w, csim_vec3 point, csim_vec3 normal, csim_real friction,
                                        csim_body_id *id) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape shape;
    csim_status s = csimi_start_create(w, &def, id, "csim_create_ground");
    if (s) return s;
    if ((s = csimi_check_vec(&w->error, "csim_create_ground", "point", point)) != 0) return s;
    if ((s = csimi_check_vec(&w->error, "csim_create_ground", "normal", normal)) != 0) return s;
    if (!(csim_length(normal) > 0))
        return csimi_unfit(&w->error, "csim_create_ground", "normal", 0, "not the zero vector");
    shape = csim_half_space(point, normal);
    def.motion = CSIM_STATIC;
    def.shapes = &shape;
    def.shape_count = 1;
    def.surface.friction = friction;
    return csim_create_rigid(w, &def, id);
}
