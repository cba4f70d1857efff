/* world/link: springs and exclusions; the ends of links. */
#include "private.h"

CSIMI_FN csim_status csimi_attach(csim_world *w, const csim_attachment *at, const char *function, csimi_place *place,
                                int *slot) {
    csimi_store *s = &w->store;
    csim_status status;
    const csimi_body *b;
    if ((status = csimi_check_vec(&w->error, function, "attachment.point", at->point)) != 0) return status;
    *slot = -1;
    *place = csimi_place_ground(at->point);
    if (at->body.index1 == 0) return CSIM_OK;
    if ((status = csimi_find_body(w, at->body, function, slot, &w->error)) != 0) return status;
    b = s->body + *slot;
    if (b->kind == CSIM_RIGID) {
        *place = csimi_place_rigid(&s->state, b->rigid, at->point);
        return CSIM_OK;
    }
    if (b->kind == CSIM_BODY_TREE) {
        const csimi_tree *tree = s->state.tree + b->tree;
        if (at->node < 0 || at->node >= tree->link_count)
            return csimi_unfit(&w->error, function, "attachment.node", (double)at->node,
                               "a link of the tree, 0..link_count - 1");
        *place = csimi_place_link(&s->state, tree->first_link + at->node, at->point);
        return CSIM_OK;
    }
    if (at->node < 0 || at->node >= b->node_count)
        return csimi_unfit(&w->error, function, "attachment.node", (double)at->node, "0..node count of the body - 1");
    *place = csimi_place_follow(&s->state, csimi_place_node(b->first_node + s->node_of_user[b->first_node + at->node]));
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_link_ends(csim_world *w, const csim_attachment *a, const csim_attachment *b,
                                     const char *function, csimi_place *ends, int *bodies) {
    csim_status s;
    if ((s = csimi_attach(w, a, function, ends, bodies)) != 0) return s;
    if ((s = csimi_attach(w, b, function, ends + 1, bodies + 1)) != 0) return s;
    if (bodies[0] < 0 && bodies[1] < 0)
        return csimi_deny(&w->error, CSIM_STALE_ID, function, "a and b", "at least one body");
    if (bodies[0] == bodies[1] && csimi_place_same(ends, ends + 1))
        return csimi_deny(&w->error, CSIM_OUT_OF_RANGE, function, "b", "another body or node than a");
    return CSIM_OK;
}

#ifndef CONDSIM_NO_SPRINGS
CSIM_API csim_status csim_create_spring(csim_world *w, const csim_spring_def *def, csim_link_id *id) {
    static const char fn[] = "csim_create_spring";
    static const csimi_field fields[] = {
        CSIMI_WITHIN(csim_spring_def, rest_length, -1e9, 1e9, "below 0 (as it is now) or 0..1e9"),
        CSIMI_AT_LEAST_0(csim_spring_def, stiffness), CSIMI_AT_LEAST_0(csim_spring_def, damping),
        CSIMI_AT_LEAST_0(csim_spring_def, break_force)};
    csimi_place ends[2];
    csimi_counts need;
    csimi_store *s;
    int bodies[2], item, k;
    csim_real length;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_spring_def()", def->guard)) != 0)
        return status;
    if ((status = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if ((status = csimi_link_ends(w, &def->a, &def->b, fn, ends, bodies)) != 0) return status;
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    need.springs++;
    need.matrix_blocks += csimi_spring_blocks(ends);
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    item = s->count.springs++;
    for (k = 0; k < 2; k++) s->state.spring[2 * item + k] = ends[k];
    length = csimi_spring_length(&s->state, item);
    s->state.spring_data[3 * item] = def->rest_length < 0 ? length : def->rest_length;
    s->state.spring_data[3 * item + 1] = def->stiffness;
    s->state.spring_data[3 * item + 2] = def->damping;
    s->count.matrix_blocks += csimi_spring_blocks(ends);
    k = csimi_take_link(w, CSIMI_SPRING, item, bodies, def->break_force);
    s->spring_link[item] = k;
    csimi_finish_link(w, k, id);
    return CSIM_OK;
}

CSIM_API csim_status csim_spring_get(const csim_world *w, csim_link_id id, csim_spring_state *out) {
    const csimi_link *l;
    csim_status status;
    int slot;
    if (!w || !out) return CSIM_NULL_ARGUMENT;
    if ((status = csimi_find_link(w, id, "csim_spring_get", &slot, NULL)) != 0) return status;
    l = w->store.link + slot;
    if (l->kind != CSIMI_SPRING) return CSIM_WRONG_KIND;
    CSIMI_MEMSET(out, 0, sizeof *out);
    out->length = csimi_spring_length(&w->store.state, l->item);
    out->force = l->tension;
    out->broken = l->broken;
    if (l->body[0] >= 0) out->a = csimi_body_id_of(w, l->body[0]);
    if (l->body[1] >= 0) out->b = csimi_body_id_of(w, l->body[1]);
    return CSIM_OK;
}
#endif

CSIM_API csim_status csim_create_exclusion(csim_world *w, csim_body_id a, csim_body_id b, csim_link_id *id) {
    static const char fn[] = "csim_create_exclusion";
    csimi_counts need;
    int bodies[2], slot;
    csim_status status = csimi_start_create(w, &a, id, fn);
    if (status) return status;
    if ((status = csimi_find_body(w, a, fn, bodies, &w->error)) != 0) return status;
    if ((status = csimi_find_body(w, b, fn, bodies + 1, &w->error)) != 0) return status;
    if (bodies[0] == bodies[1]) return csimi_unfit(&w->error, fn, "b", (double)b.index1, "another body than a");
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    slot = csimi_take_link(w, CSIMI_EXCLUSION, -1, bodies, 0);
    w->store.link[slot].apart = true;
    csimi_finish_link(w, slot, id);
    return CSIM_OK;
}
