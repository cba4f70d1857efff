/* store/access: reading and setting the state of bodies. */
#include "private.h"

/* Lines every setter starts with. */
#define CSIMI_OPEN_BODY(w, id, function)                                                          \
    csimi_store *s;                                                                               \
    csimi_body *b;                                                                                \
    int slot;                                                                                     \
    csim_status status;                                                                           \
    if (!(w)) return CSIM_NULL_ARGUMENT;                                                          \
    if ((w)->locked) return csimi_deny(&(w)->error, CSIM_LOCKED, function, NULL, NULL);            \
    if ((status = csimi_find_body(w, id, function, &slot, &(w)->error)) != 0) return status;      \
    s = &(w)->store;                                                                              \
    b = s->body + slot

/* Lines every getter starts with; out must not be null. */
#define CSIMI_READ_BODY(w, id, out)                                                                     \
    const csimi_store *s;                                                                               \
    const csimi_body *b;                                                                                \
    int slot;                                                                                           \
    csim_status status;                                                                                 \
    if (!(w) || !(out)) return CSIM_NULL_ARGUMENT;                                                      \
    if ((status = csimi_find_body(w, id, "a csim_body_get function", &slot, NULL)) != 0) return status; \
    s = &(w)->store;                                                                                    \
    b = s->body + slot

CSIM_API int csim_world_body_count(const csim_world *w) { return w ? w->live_bodies : 0; }

CSIM_API int csim_world_bodies(const csim_world *w, csim_body_id *out, int capacity) {
    int i;
    if (!w) return 0;
    for (i = 0; i < w->live_bodies && i < capacity; i++) out[i] = csimi_body_id_of(w, w->store.body_list[i]);
    return w->live_bodies;
}

CSIM_API csim_status csim_body_get_kind(const csim_world *w, csim_body_id id, csim_body_kind *kind) {
    CSIMI_READ_BODY(w, id, kind);
    (void)s;
    *kind = b->kind;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_motion(const csim_world *w, csim_body_id id, csim_motion *motion) {
    CSIMI_READ_BODY(w, id, motion);
    (void)s;
    *motion = b->motion;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_bounded(const csim_world *w, csim_body_id id, bool *bounded) {
    CSIMI_READ_BODY(w, id, bounded);
    (void)s;
    *bounded = b->pace.bounded != 0;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_user_data(const csim_world *w, csim_body_id id, void **user_data) {
    CSIMI_READ_BODY(w, id, user_data);
    (void)s;
    *user_data = b->user_data;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_pose(const csim_world *w, csim_body_id id, csim_pose *pose) {
    CSIMI_READ_BODY(w, id, pose);
    *pose = csimi_body_pose(s, &s->state, slot);
    if (b->node_count > 0 && b->tree < 0) pose->position = csimi_lump_centre(s, b);
    return CSIM_OK;
}

static csim_status csimi_get_velocity(const csim_world *w, csim_body_id id, bool end, csim_vec3 *linear,
                                      csim_vec3 *angular) {
    CSIMI_READ_BODY(w, id, linear);
    if (b->kind == CSIM_RIGID) {
        const csim_real *v = (end ? s->state.velocity : s->rigid_rep) + 6 * b->rigid;
        *linear = csimi_load3(v);
        if (angular) *angular = csimi_load3(v + 3);
        return CSIM_OK;
    }
    if (b->tree >= 0) {
        csim_vec3 turn;
        csimi_tree_base_velocity(s, b->tree, end ? s->state.coord_rate : s->coord_rep, linear, &turn);
        if (angular) *angular = turn;
        return CSIM_OK;
    }
    csimi_lump_velocity(s, b, end, linear, angular);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_velocity(const csim_world *w, csim_body_id id, csim_vec3 *linear,
                                            csim_vec3 *angular) {
    return csimi_get_velocity(w, id, false, linear, angular);
}

CSIM_API csim_status csim_body_get_end_velocity(const csim_world *w, csim_body_id id, csim_vec3 *linear,
                                                csim_vec3 *angular) {
    return csimi_get_velocity(w, id, true, linear, angular);
}

CSIM_API csim_status csim_body_get_mass(const csim_world *w, csim_body_id id, csim_mass *mass) {
    CSIMI_READ_BODY(w, id, mass);
    CSIMI_MEMSET(mass, 0, sizeof *mass);
    if (b->kind == CSIM_RIGID) {
        mass->mass = s->state.rigid_mass[b->rigid];
        mass->centre = csimi_load3(b->centre);
        CSIMI_MEMCPY(mass->inertia.m, s->state.inertia + 9 * b->rigid, 9 * sizeof(csim_real));
    } else if (b->tree >= 0) {
        const csimi_tree *tree = s->state.tree + b->tree;
        int i;
        mass->centre = csimi_load3(b->centre);
        for (i = 0; i < tree->link_count; i++) mass->mass += s->state.tree_link[tree->first_link + i].mass;
    } else {
        const csimi_lump p = csimi_lump_of(s, b);
        mass->mass = p.mass;
        CSIMI_MEMCPY(mass->inertia.m, p.inertia, sizeof p.inertia);
    }
    return CSIM_OK;
}

/* ---- setting */

static bool csimi_any_vec(csim_vec3 v) { return csim_dot(v, v) > 0; }

CSIM_API csim_status csim_body_set_pose(csim_world *w, csim_body_id id, csim_pose pose) {
    CSIMI_OPEN_BODY(w, id, "csim_body_set_pose");
    if ((status = csimi_check_pose(&w->error, "csim_body_set_pose", "pose", pose)) != 0) return status;
    csimi_wake(w, slot);
    pose.rotation = csim_quat_normalize(pose.rotation);
    if (b->kind != CSIM_RIGID && b->tree < 0) {
        csimi_lump_put(s, b, pose);
        csimi_look_moved(s, slot);
        csimi_wake_near(w, slot);
        return CSIM_OK;
    }
    if (b->tree >= 0) {
        if (b->kind == CSIM_BODY_REDUCED) pose.position = csim_pose_point(pose, csimi_load3(b->centre));
        csimi_tree_set_base(s, b->tree, pose);
        csimi_reduced_refresh(s, b->tree);
        csimi_wake_near(w, slot);
        return CSIM_OK;
    }
    csimi_store3(s->state.com + 3 * b->rigid, csim_pose_point(pose, csimi_load3(b->centre)));
    s->state.rotation[4 * b->rigid] = pose.rotation.w;
    s->state.rotation[4 * b->rigid + 1] = pose.rotation.x;
    s->state.rotation[4 * b->rigid + 2] = pose.rotation.y;
    s->state.rotation[4 * b->rigid + 3] = pose.rotation.z;
    csimi_look_moved(s, slot);
    csimi_wake_near(w, slot);
    return CSIM_OK;
}

CSIMI_FN bool csimi_rigid_weighs(csim_real mass, const csim_real *I) {
    return csimi_weighs((double)mass) && csimi_weighs((double)I[0]) && csimi_weighs((double)I[4]) &&
           csimi_weighs((double)I[8]);
}

CSIM_API csim_status csim_body_set_velocity(csim_world *w, csim_body_id id, csim_vec3 linear, csim_vec3 angular) {
    CSIMI_OPEN_BODY(w, id, "csim_body_set_velocity");
    if ((status = csimi_check_vec(&w->error, "csim_body_set_velocity", "linear", linear)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_set_velocity", "angular", angular)) != 0) return status;
    if (b->motion == CSIM_STATIC)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, "csim_body_set_velocity", "id", (double)id.index1,
                          "a body that is not static");
    if (b->motion == CSIM_DYNAMIC || csimi_any_vec(linear) || csimi_any_vec(angular)) csimi_wake(w, slot);
    if (b->kind == CSIM_RIGID) {
        csimi_store3(s->state.velocity + 6 * b->rigid, linear);
        csimi_store3(s->state.velocity + 6 * b->rigid + 3, angular);
        csimi_store3(s->rigid_rep + 6 * b->rigid, linear);
        csimi_store3(s->rigid_rep + 6 * b->rigid + 3, angular);
    } else if (b->tree >= 0) {
        if (!csimi_tree_set_base_velocity(s, b->tree, linear, angular))
            return csimi_fail(&w->error, CSIM_WRONG_KIND, "csim_body_set_velocity", "id", (double)id.index1,
                              "a tree with a floating first link, a reduced body that is not anchored");
        csimi_reduced_refresh(s, b->tree);
    } else {
        csimi_lump_set_velocity(s, b, linear, angular);
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_body_add_force(csim_world *w, csim_body_id id, csim_vec3 force, csim_vec3 torque) {
    CSIMI_OPEN_BODY(w, id, "csim_body_add_force");
    if ((status = csimi_check_vec(&w->error, "csim_body_add_force", "force", force)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_add_force", "torque", torque)) != 0) return status;
    if (csimi_any_vec(force) || csimi_any_vec(torque)) csimi_wake(w, slot);
    if (b->kind == CSIM_RIGID) {
        csimi_add3(s->state.wrench + 6 * b->rigid, force);
        csimi_add3(s->state.wrench + 6 * b->rigid + 3, torque);
    } else if (b->tree >= 0) {
        const int link = s->state.tree[b->tree].first_link;
        csimi_tree_push_link(s, link, csimi_link_pose(&s->state, link).position, force, torque);
    } else {
        if (b->kind == CSIM_PARTICLE && csimi_any_vec(torque))
            return csimi_fail(&w->error, CSIM_WRONG_KIND, "csim_body_add_force", "torque", (double)csim_length(torque),
                              "0 for a particle");
        csimi_lump_push(s, b, force, torque);
    }
    return CSIM_OK;
}

static void csimi_set_mode(csimi_store *s, int node, csim_motion motion) {
    s->state.node_mode[node] = csimi_mode_of(motion);
    if (motion == CSIM_STATIC) csimi_set_node_velocity(s, node, csim_v3(0, 0, 0));
}

#ifndef CONDSIM_NO_SLEEP
CSIM_API csim_status csim_body_is_awake(const csim_world *w, csim_body_id id, bool *awake) {
    CSIMI_READ_BODY(w, id, awake);
    (void)s;
    *awake = !b->rest.asleep;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_awake(csim_world *w, csim_body_id id, bool awake) {
    CSIMI_OPEN_BODY(w, id, "csim_body_set_awake");
    (void)s;
    if (!awake && !w->def.can_sleep)
        return csimi_fail(&w->error, CSIM_UNSUPPORTED, "csim_body_set_awake", "awake", 0,
                          "true in a world whose definition does not say can_sleep");
    if (awake)
        csimi_wake(w, slot);
    else
        b->rest.drowsy = !b->rest.asleep && b->motion == CSIM_DYNAMIC;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_can_sleep(csim_world *w, csim_body_id id, bool can_sleep) {
    CSIMI_OPEN_BODY(w, id, "csim_body_set_can_sleep");
    (void)s;
    b->can_sleep = can_sleep;
    if (!can_sleep) csimi_wake_island(w, slot);
    return CSIM_OK;
}

CSIM_API const csim_contact_info *csim_world_sleeping_contacts(const csim_world *w, int *count) {
    *count = w->store.count.slept;
    return w->store.slept;
}
#endif

CSIM_API csim_status csim_body_set_motion(csim_world *w, csim_body_id id, csim_motion motion) {
    CSIMI_OPEN_BODY(w, id, "csim_body_set_motion");
    if ((status = csimi_check_enum(&w->error, "csim_body_set_motion", "motion", (int)motion, CSIM_MOTION_COUNT_)) != 0)
        return status;
    if (b->disabled)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, "csim_body_set_motion", "id", (double)id.index1,
                          "a body that is enabled");
    if (b->kind == CSIM_RIGID) {
        int i, k;
        if (!CSIMI_HAS_RIGID && motion != CSIM_STATIC)
            return csimi_fail(&w->error, CSIM_UNSUPPORTED, "csim_body_set_motion", "motion", (double)motion,
                              "CSIM_STATIC, or builds without CONDSIM_NO_RIGID");
        for (i = 0; i < b->shape_count; i++)
            if (motion != CSIM_STATIC && csimi_only_static(s->shape[b->first_shape + i].kind))
                return csimi_unfit(&w->error, "csim_body_set_motion", "motion", (double)motion,
                                   "CSIM_STATIC for a body with a half-space, heights or triangles");
        if (motion == CSIM_DYNAMIC &&
            !csimi_rigid_weighs(s->state.rigid_mass[b->rigid], s->state.inertia + 9 * b->rigid))
            return csimi_unfit(&w->error, "csim_body_set_motion", "motion", (double)motion,
                               "dynamic only with mass and inertia " CSIMI_MASSES);
        s->state.rigid_mode[b->rigid] = csimi_mode_of(motion);
        for (k = 0; motion == CSIM_STATIC && k < 6; k++)
            s->state.velocity[6 * b->rigid + k] = s->rigid_rep[6 * b->rigid + k] = 0;
    } else if (b->tree >= 0) {
        s->state.tree[b->tree].mode = csimi_mode_of(motion);
        if (motion == CSIM_STATIC) csimi_tree_stop(s, b->tree);
        csimi_reduced_refresh(s, b->tree);
    } else {
        int i;
        for (i = b->first_node; i < b->first_node + b->node_count; i++) csimi_set_mode(s, i, motion);
        for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) {
            s->state.frame_mode[i] = csimi_mode_of(motion);
            if (motion == CSIM_STATIC) csimi_set_frame_velocity(s, i, csim_v3(0, 0, 0));
        }
    }
    csimi_wake(w, slot);
    b->motion = motion;
    csimi_wake(w, slot);
    w->bed_stale = true;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_friction(csim_world *w, csim_body_id id, csim_real friction) {
    csim_surface_def surface;
    CSIMI_OPEN_BODY(w, id, "csim_body_set_friction");
    surface = b->surface;
    surface.friction = friction;
    if ((status = csimi_check_surface(&w->error, "csim_body_set_friction", &surface)) != 0) return status;
    b->surface = surface;
    csimi_spread_surface(s, slot);
    csimi_wake(w, slot);
    return CSIM_OK;
}

/* ---- shapes */

CSIM_API int csim_body_shape_count(const csim_world *w, csim_body_id id) {
    int slot;
    if (!w || csimi_find_body(w, id, "csim_body_shape_count", &slot, NULL) != CSIM_OK) return 0;
    return w->store.body[slot].shape_count;
}

CSIM_API csim_status csim_body_shape(const csim_world *w, csim_body_id id, int shape, const csim_geometry **geometry,
                                     const csim_hull_data **hull) {
    CSIMI_READ_BODY(w, id, geometry);
    if (shape < 0 || shape >= b->shape_count || s->skin[b->first_shape + shape].gone) return CSIM_OUT_OF_RANGE;
    *geometry = s->shape + b->first_shape + shape;
    if (hull) *hull = (*geometry)->hull >= 0 ? s->hull + (*geometry)->hull : NULL;
    return CSIM_OK;
}

/* ---- nodes */

CSIM_API int csim_body_node_count(const csim_world *w, csim_body_id id) {
    int slot;
    if (!w || csimi_find_body(w, id, "csim_body_node_count", &slot, NULL) != CSIM_OK) return 0;
    return w->store.body[slot].node_count;
}

static csim_status csimi_get_node_array(const csim_world *w, csim_body_id id, bool velocity, csim_real *out,
                                        int stride) {
    int i;
    CSIMI_READ_BODY(w, id, out);
    if (stride < 3) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->node_count; i++) {
        int node = b->first_node + s->node_of_user[b->first_node + i];
        csimi_store3(out + (size_t)i * (size_t)stride, csimi_load3((velocity ? s->node_rep : s->state.x) + 3 * node));
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_nodes(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    return csimi_get_node_array(w, id, false, out, stride);
}

CSIM_API csim_status csim_body_get_node_velocities(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    return csimi_get_node_array(w, id, true, out, stride);
}

static csim_status csimi_node_of(csim_world *w, const csimi_body *b, int node, const char *function, int *internal) {
    if (node < 0 || node >= b->node_count)
        return csimi_unfit(&w->error, function, "node", (double)node, "0..node count - 1");
    *internal = b->first_node + w->store.node_of_user[b->first_node + node];
    return CSIM_OK;
}

/* The same where the node is not one that follows a reduced body. */
static csim_status csimi_own_node_of(csim_world *w, const csimi_body *b, int node, const char *function,
                                     int *internal) {
    if (b->kind == CSIM_BODY_REDUCED)
        return csimi_deny(&w->error, CSIM_WRONG_KIND, function, "id",
                          "no reduced body: its nodes follow its coordinates");
    return csimi_node_of(w, b, node, function, internal);
}

CSIM_API csim_status csim_body_set_node(csim_world *w, csim_body_id id, int node, csim_vec3 position,
                                        csim_vec3 velocity) {
    csim_vec3 from;
    int i;
    CSIMI_OPEN_BODY(w, id, "csim_body_set_node");
    if ((status = csimi_own_node_of(w, b, node, "csim_body_set_node", &i)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_set_node", "position", position)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_set_node", "velocity", velocity)) != 0) return status;
    csimi_wake(w, slot);
    from = csimi_load3(s->state.x + 3 * i);
    csimi_store3(s->state.x + 3 * i, position);
    csimi_set_node_velocity(s, i, velocity);
    csimi_look_node(s, slot, i, from);
    if (b->motion != CSIM_DYNAMIC) csimi_wake_near(w, slot);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_node_motion(csim_world *w, csim_body_id id, int node, csim_motion motion) {
    int i;
    CSIMI_OPEN_BODY(w, id, "csim_body_set_node_motion");
    if ((status = csimi_own_node_of(w, b, node, "csim_body_set_node_motion", &i)) != 0) return status;
    if ((status =
             csimi_check_enum(&w->error, "csim_body_set_node_motion", "motion", (int)motion, CSIM_MOTION_COUNT_)) != 0)
        return status;
    csimi_wake(w, slot);
    csimi_set_mode(s, i, motion);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_add_node_force(csim_world *w, csim_body_id id, int node, csim_vec3 force) {
    int i = 0;
    CSIMI_OPEN_BODY(w, id, "csim_body_add_node_force");
    if ((status = csimi_node_of(w, b, node, "csim_body_add_node_force", &i)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_add_node_force", "force", force)) != 0) return status;
    if (csimi_any_vec(force)) csimi_wake(w, slot);
    csimi_add3(s->state.node_force + 3 * i, force);
    return CSIM_OK;
}

static csim_status csimi_check_activation(csim_world *w, const csim_activation *a, const char *function) {
    static const csimi_field fields[] = {
        CSIMI_WITHIN(csim_activation, pressure, -1e15, 1e15, "-1e15..1e15"),
        CSIMI_WITHIN(csim_activation, tension, -1e15, 1e15, "-1e15..1e15")};
    csim_status status;
    if (!a) return csimi_missing(&w->error, function, "activation");
    if ((status = csimi_check_fields(&w->error, function, a, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if ((status = csimi_check_vec(&w->error, function, "fibre", a->fibre)) != 0) return status;
    if ((a->tension < 0 || a->tension > 0) && !(csim_length(a->fibre) > 0))
        return csimi_unfit(&w->error, function, "fibre", 0, "not the zero vector");
    return CSIM_OK;
}

CSIM_API csim_status csim_soft_set_activation(csim_world *w, csim_body_id id, const int *tets, int count,
                                              const csim_activation *a) {
    static const char fn[] = "csim_soft_set_activation";
    csim_real length;
    int i;
    CSIMI_OPEN_BODY(w, id, fn);
    if ((status = csimi_check_activation(w, a, fn)) != 0) return status;
    if (b->kind != CSIM_SOFT) return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a solid");
    if (count < 0 || (tets == NULL) != (count == 0))
        return csimi_unfit(&w->error, fn, "count", (double)count, "the length of tets, or null and 0 for all");
    for (i = 0; i < count; i++)
        if (tets[i] < 0 || tets[i] >= b->tet_count)
            return csimi_unfit(&w->error, fn, "tets", (double)tets[i], "0..tet_count - 1");
    csimi_wake(w, slot);
    length = csim_length(a->fibre);
    for (i = 0; i < (tets ? count : b->tet_count); i++) {
        csim_real *active = s->state.tet_active + 5 * (size_t)(b->first_tet + (tets ? tets[i] : i));
        active[0] = a->pressure;
        active[1] = a->tension;
        csimi_store3(active + 2, length > 0 ? csim_scale(1 / length, a->fibre) : csim_v3(0, 0, 0));
    }
    return CSIM_OK;
}

/* Columns from..to - 1 of some rows. */
static void csimi_scale_rows(csim_real *x, int first, int rows, int width, int from, int to, csim_real factor) {
    int i, k;
    for (i = first; i < first + rows; i++)
        for (k = from; k < to; k++) x[(size_t)width * (size_t)i + (size_t)k] *= factor;
}

CSIM_API csim_status csim_body_scale_stiffness(csim_world *w, csim_body_id id, csim_real factor) {
    static const csimi_field fields[] = {
        CSIMI_FIELD("factor", 0, 1e-6, 1e6, false, false, "1e-6..1e6")};
    static const char fn[] = "csim_body_scale_stiffness";
    CSIMI_OPEN_BODY(w, id, fn);
    if ((status = csimi_check_fields(&w->error, fn, &factor, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if (b->kind != CSIM_SOFT && b->kind != CSIM_BODY_CLOTH && b->kind != CSIM_BODY_CABLE)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a solid, cloth or cable");
    csimi_wake(w, slot);
    csimi_scale_rows(s->state.tet_lame, b->first_tet, b->tet_count, 3, 0, 2, factor);
    csimi_scale_rows(s->state.membrane_data, b->first_membrane, b->membrane_count, 4, 1, 3, factor);
    csimi_scale_rows(s->state.membrane_fold, b->first_membrane, b->membrane_count, 9, 0, 6, factor);
    csimi_scale_rows(s->state.edge_data, b->first_frame, b->frame_count, 6, 1, 4, factor);
    csimi_scale_rows(s->state.bend_data, b->first_bend, b->bend_count, 8, 1, 4, factor);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_surface(const csim_world *w, csim_body_id id, const int **triangles, int *count) {
    CSIMI_READ_BODY(w, id, triangles);
    if (!count) return CSIM_NULL_ARGUMENT;
    *triangles = s->triangle + 3 * b->first_triangle;
    *count = b->triangle_count;
    return CSIM_OK;
}

#undef CSIMI_OPEN_BODY
#undef CSIMI_READ_BODY
