/* store/pose: where bodies and their shapes are, and the material points under a shape. */
#include "private.h"

CSIMI_FN csim_pose csimi_body_pose(const csimi_store *s, const csimi_state *state, int slot) {
    const csimi_body *b = s->body + slot;
    csim_pose p = csim_pose_identity();
    if (csimi_lies(s, slot)) state = &s->state; /* steps do not move it */
    if (b->kind == CSIM_RIGID) {
        p.rotation = csimi_load_quat(state->rotation + 4 * b->rigid);
        p.position = csimi_load3(state->com + 3 * b->rigid);
        if (csimi_any(b->centre, 3)) p.position = csim_sub(p.position, csim_rotate(p.rotation, csimi_load3(b->centre)));
    } else if (b->kind == CSIM_PARTICLE) {
        p.position = csimi_load3(state->x + 3 * b->first_node);
    } else if (b->tree >= 0) {
        p = csimi_link_pose(state, state->tree[b->tree].first_link);
        if (b->kind == CSIM_BODY_REDUCED)
            p.position = csim_sub(p.position, csim_rotate(p.rotation, csimi_load3(b->centre)));
    }
    return p;
}

/* Pose of the axes a shape is given in: of its body, or of its link. */
CSIMI_FN csim_pose csimi_shape_pose(const csimi_store *s, const csimi_state *state, int shape) {
    const csimi_body *b = s->body + s->shape_body[shape];
    if (b->kind != CSIM_BODY_TREE) return csimi_body_pose(s, state, s->shape_body[shape]);
    if (csimi_lies(s, s->shape_body[shape])) state = &s->state;
    return csimi_link_pose(state, state->tree[b->tree].first_link + s->shape_link[shape]);
}

/* The material point under a shape that is at point. What never moves is the ground. */
CSIMI_FN csimi_place csimi_shape_place(const csimi_store *s, int shape, csim_vec3 point) {
    const csimi_body *b = s->body + s->shape_body[shape];
    if (b->motion == CSIM_STATIC) return csimi_place_ground(point);
    if (b->kind != CSIM_BODY_TREE) return csimi_place_rigid(&s->state, b->rigid, point);
    return csimi_place_link(&s->state, s->state.tree[b->tree].first_link + s->shape_link[shape], point);
}
