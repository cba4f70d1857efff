/* store/cable_state: reading and driving the edges of cables. */
#include "private.h"

CSIMI_FN csim_status csimi_find_cable(const csim_world *w, csim_body_id id, const char *fn, int *slot,
                                    csim_error *error) {
    csim_status s = csimi_find_body(w, id, fn, slot, error);
    if (s) return s;
    if (w->store.body[*slot].kind == CSIM_BODY_CABLE) return CSIM_OK;
    return csimi_fail(error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a cable");
}

/* ---- reading */

CSIM_API int csim_cable_edge_count(const csim_world *w, csim_body_id id) {
    int slot;
    if (!w || csimi_find_cable(w, id, "csim_cable_edge_count", &slot, NULL) != CSIM_OK) return 0;
    return w->store.body[slot].frame_count;
}

#define CSIMI_READ_CABLE(w, id, out)                                                                            \
    const csimi_store *s;                                                                                       \
    const csimi_body *b;                                                                                        \
    int slot;                                                                                                   \
    csim_status status;                                                                                         \
    if (!(w) || !(out)) return CSIM_NULL_ARGUMENT;                                                              \
    if ((status = csimi_find_cable(w, id, "a csim_cable_get function", &slot, NULL)) != CSIM_OK) return status; \
    s = &(w)->store;                                                                                            \
    b = s->body + slot

CSIM_API csim_status csim_cable_get_radius(const csim_world *w, csim_body_id id, csim_real *radius) {
    CSIMI_READ_CABLE(w, id, radius);
    *radius = b->radius;
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_get_frames(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    if (stride < 4) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->frame_count; i++)
        CSIMI_MEMCPY(out + (size_t)i * (size_t)stride, s->state.frame + 4 * (size_t)(b->first_frame + i),
                     4 * sizeof(csim_real));
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_get_spins(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    if (stride < 3) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->frame_count; i++)
        csimi_store3(out + (size_t)i * (size_t)stride, csimi_load3(s->frame_rep + 3 * (size_t)(b->first_frame + i)));
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_get_forces(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    if (stride < 3) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->frame_count; i++)
        csimi_edge_force(&s->state, b->first_frame + i, out + (size_t)i * (size_t)stride, NULL);
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_get_tensions(const csim_world *w, csim_body_id id, csim_real *out) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    for (i = 0; i < b->frame_count; i++) {
        csim_quat q = csimi_load_quat(s->state.frame + 4 * (size_t)(b->first_frame + i));
        csim_real force[3];
        csimi_edge_force(&s->state, b->first_frame + i, force, NULL);
        out[i] = csim_dot(csim_rotate(q, csim_v3(0, 0, 1)), csimi_load3(force));
    }
    return CSIM_OK;
}

/* Adds what bend element k carries to the section at its node. */
static void csimi_add_moment(const csimi_store *s, const csimi_body *b, int k, csim_real *out, int stride) {
    const csimi_bend_end *end = s->state.bend[k].end;
    int frame = end[1].frame >= 0 ? end[1].frame : end[0].frame + 1, node = frame - b->first_frame;
    csim_real torque[3], K[9], *to = out + (size_t)node * (size_t)stride;
    csimi_bend_law(&s->state, k, torque, K);
    csimi_store3(to, csim_add(csimi_load3(to), csimi_load3(torque)));
}

CSIM_API csim_status csim_cable_get_moments(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    if (stride < 3) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->node_count; i++) csimi_store3(out + (size_t)i * (size_t)stride, csim_v3(0, 0, 0));
    for (i = b->first_bend; i < b->first_bend + b->bend_count; i++) csimi_add_moment(s, b, i, out, stride);
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == CSIMI_CLAMP && s->link[i].body[0] == slot)
            csimi_add_moment(s, b, s->link[i].item, out, stride);
    return CSIM_OK;
}

#undef CSIMI_READ_CABLE

CSIMI_FN void csimi_set_frame_velocity(csimi_store *s, int frame, csim_vec3 w) {
    if (s->state.frame_mode[frame] == CSIMI_FIXED) w = csim_v3(0, 0, 0);
    csimi_store3(s->state.frame_velocity + 3 * frame, w);
    csimi_store3(s->frame_rep + 3 * frame, w);
}

/* ---- driving */

static csim_status csimi_open_edge(csim_world *w, csim_body_id id, int edge, csim_vec3 v, const char *fn, int *frame) {
    int slot;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, fn, NULL, NULL);
    if ((s = csimi_find_cable(w, id, fn, &slot, &w->error)) != 0) return s;
    if (edge < 0 || edge >= w->store.body[slot].frame_count)
        return csimi_unfit(&w->error, fn, "edge", (double)edge, "0..edge count - 1");
    *frame = w->store.body[slot].first_frame + edge;
    return csimi_check_vec(&w->error, fn, "vector", v);
}

CSIM_API csim_status csim_cable_set_frame(csim_world *w, csim_body_id id, int edge, csim_quat rotation,
                                          csim_vec3 angular_velocity) {
    static const char fn[] = "csim_cable_set_frame";
    csim_pose pose = csim_pose_identity();
    int frame;
    csim_status s = csimi_open_edge(w, id, edge, angular_velocity, fn, &frame);
    if (s) return s;
    pose.rotation = rotation;
    if ((s = csimi_check_pose(&w->error, fn, "pose", pose)) != 0) return s;
    csimi_wake(w, w->store.frame_body[frame]);
    csimi_store_quat(w->store.state.frame + 4 * (size_t)frame, csim_quat_normalize(rotation));
    csimi_set_frame_velocity(&w->store, frame, angular_velocity);
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_set_frame_motion(csim_world *w, csim_body_id id, int edge, csim_motion motion) {
    static const char fn[] = "csim_cable_set_frame_motion";
    int frame;
    csim_status s = csimi_open_edge(w, id, edge, csim_v3(0, 0, 0), fn, &frame);
    if (s) return s;
    if ((s = csimi_check_enum(&w->error, fn, "motion", (int)motion, CSIM_MOTION_COUNT_)) != 0) return s;
    csimi_wake(w, w->store.frame_body[frame]);
    w->store.state.frame_mode[frame] = csimi_mode_of(motion);
    if (motion == CSIM_STATIC) csimi_set_frame_velocity(&w->store, frame, csim_v3(0, 0, 0));
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_add_torque(csim_world *w, csim_body_id id, int edge, csim_vec3 torque) {
    int frame;
    csim_real *to;
    csim_status s = csimi_open_edge(w, id, edge, torque, "csim_cable_add_torque", &frame);
    if (s) return s;
    if (csim_dot(torque, torque) > 0) csimi_wake(w, w->store.frame_body[frame]);
    to = w->store.state.frame_torque + 3 * (size_t)frame;
    csimi_store3(to, csim_add(csimi_load3(to), torque));
    return CSIM_OK;
}
