/* world/push: forces and impulses at points of every kind of body. */
#include "private.h"

/* What a push at a point acts on: a rigid body, a link, or nodes, and then perhaps the frame of their edge. */
typedef struct csimi_grip {
    int rigid, link, frame; /* -1: none */
    int count, node[3];
    csim_real weight[3];
    csim_vec3 at, arm; /* where it acts; of a frame: from the line of its edge */
} csimi_grip;

#ifndef CONDSIM_NO_TREE
static bool csimi_grip_link(const csimi_store *s, const csimi_body *b, csim_vec3 point, csimi_grip *g) {
    csim_real nearest = CSIMI_HUGE;
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) {
        csim_pose p;
        csim_vec3 n;
        csim_real d;
        if (s->skin[i].gone || s->skin[i].disabled || s->skin[i].sensor) continue;
        p = csim_pose_mul(csimi_shape_pose(s, &s->state, i), s->shape[i].local);
        d = csimi_distance_at(s->shape + i, s->hull, p, point, &n, NULL);
        if (!(d < nearest)) continue;
        nearest = d;
        g->link = s->state.tree[b->tree].first_link + s->shape_link[i];
    }
    return g->link >= 0;
}

/* M change = J' impulse, by the factor that a look at the masses leaves. */
static csim_status csimi_push_link(csim_world *w, const char *fn, int slot, int link, csim_vec3 point,
                                   csim_vec3 impulse) {
    csimi_state *s = &w->store.state;
    const csimi_tree *tree = s->tree + w->store.body[slot].tree;
    csimi_arena arena;
    csimi_wide *H, *x;
    int i, k;
    if (tree->dof_count == 0) return CSIM_OK;
    if (!csimi_tree_has_mass(&w->store, w->store.body[slot].tree))
        return csimi_deny(&w->error, CSIM_OUT_OF_RANGE, fn, "the mass matrix", "positive definite");
    arena = csimi_arena_in(w->store.scratch, w->store.scratch_bytes); /* the factor, then what is asked of it */
    H = CSIMI_PUSH(&arena, csimi_wide, (size_t)tree->dof_count * (size_t)tree->dof_count);
    x = CSIMI_PUSH(&arena, csimi_wide, tree->dof_count);
    for (i = 0; i < tree->dof_count; i++) x[i] = 0;
    for (i = link; i >= 0; i = csimi_link_above(s, i)) {
        csim_vec3 c[6];
        csimi_link_columns(s, i, point, c);
        for (k = 0; k < s->tree_link[i].dofs; k++) x[s->tree_link[i].dof + k] = (csimi_wide)csim_dot(c[k], impulse);
    }
    csimi_cholesky_solve(tree->dof_count, H, NULL, x);
    csimi_wake(w, slot);
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++)
        for (k = 0; k < s->tree_link[i].dofs; k++) {
            csim_real *rate = s->coord_rate + 3 * tree->first_block + s->tree_link[i].coord + k;
            *rate += (csim_real)x[s->tree_link[i].dof + k];
            w->store.coord_rep[rate - s->coord_rate] = *rate;
        }
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_add_link_impulse(csim_world *w, csim_body_id id, int link, csim_vec3 point,
                                                csim_vec3 impulse) {
    static const char fn[] = "csim_tree_add_link_impulse";
    const csimi_tree *tree;
    int slot;
    csim_status status = csimi_open_link(w, id, link, fn, &slot);
    if (status) return status;
    if ((status = csimi_check_vec(&w->error, fn, "point", point)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, fn, "impulse", impulse)) != 0) return status;
    tree = w->store.state.tree + w->store.body[slot].tree;
    if (tree->mode != CSIMI_FREE || !(csim_dot(impulse, impulse) > 0)) return CSIM_OK;
    return csimi_push_link(w, fn, slot, tree->first_link + link, point, impulse);
}
#endif

#ifndef CONDSIM_NO_CABLE
/* The nearest point of a cable: on an edge, or off it by as much as the radius. */
static void csimi_grip_edge(const csimi_store *s, const csimi_body *b, csim_vec3 point, csimi_grip *g) {
    csim_real nearest = CSIMI_HUGE;
    int i, k;
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) {
        const int *node = s->state.edge_node + 2 * (size_t)i;
        const csim_vec3 a = csimi_load3(s->state.x + 3 * (size_t)node[0]);
        const csim_vec3 e = csim_sub(csimi_load3(s->state.x + 3 * (size_t)node[1]), a);
        const csim_real square = csim_dot(e, e);
        const csim_real t = square > 0 ? csimi_clamp(csim_dot(csim_sub(point, a), e) / square, 0, 1) : 0;
        const csim_vec3 on = csim_madd(a, t, e), off = csim_sub(point, on);
        const csim_real d = csim_length(off);
        if (!(d < nearest)) continue;
        nearest = d;
        g->frame = i;
        g->count = 2;
        for (k = 0; k < 2; k++) g->node[k] = node[k];
        g->weight[0] = 1 - t;
        g->weight[1] = t;
        g->arm = d > b->radius ? csim_scale(b->radius / d, off) : off;
        g->at = csim_add(on, g->arm);
    }
}
#endif

#if !defined(CONDSIM_NO_SOFT) || !defined(CONDSIM_NO_CLOTH) || !defined(CONDSIM_NO_REDUCED)
static void csimi_grip_triangle(const csimi_store *s, int slot, csim_vec3 point, csimi_grip *g) {
    const csimi_surface surface = csimi_look_surface(s, slot);
    csimi_surface_hit hit;
    int k;
    if (!csimi_surface_nearest(&surface, point, CSIMI_HUGE, NULL, &hit)) return;
    g->count = 3;
    g->at = hit.point;
    for (k = 0; k < 3; k++) {
        const int vertex = surface.triangle[3 * (size_t)hit.triangle + (size_t)k];
        g->node[k] = s->surface_node[s->body[slot].first_surface + vertex];
        g->weight[k] = hit.weight[k];
    }
}
#endif

/* Checks both vectors and finds what of the body the point takes hold of. */
static csim_status csimi_open_push(csim_world *w, csim_body_id id, const char *fn, const char *field, csim_vec3 push,
                                   csim_vec3 point, int *at, csimi_grip *g) {
    const csimi_body *b;
    int slot;
    csim_status status;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, fn, NULL, NULL);
    if ((status = csimi_find_body(w, id, fn, &slot, &w->error)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, fn, field, push)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, fn, "point", point)) != 0) return status;
    CSIMI_MEMSET(g, 0, sizeof *g);
    b = w->store.body + slot;
    g->rigid = b->rigid;
    g->link = g->frame = -1;
    g->at = point;
    *at = slot;
    if (b->rigid >= 0) return CSIM_OK;
#ifndef CONDSIM_NO_TREE
    if (b->kind == CSIM_BODY_TREE)
        return csimi_grip_link(&w->store, b, point, g)
                   ? CSIM_OK
                   : csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", (double)id.index1,
                                "a tree that has shapes; others by their links");
#endif
#ifndef CONDSIM_NO_CABLE
    if (b->kind == CSIM_BODY_CABLE) csimi_grip_edge(&w->store, b, point, g);
#endif
#if !defined(CONDSIM_NO_SOFT) || !defined(CONDSIM_NO_CLOTH) || !defined(CONDSIM_NO_REDUCED)
    if (b->triangle_count > 0) csimi_grip_triangle(&w->store, slot, point, g);
#endif
    if (g->count > 0) return CSIM_OK;
    g->count = 1; /* a particle */
    g->node[0] = b->first_node;
    g->weight[0] = 1;
    return CSIM_OK;
}

static void csimi_push_add(csim_real *a, csim_real share, csim_vec3 v) {
    csimi_store3(a, csim_madd(csimi_load3(a), share, v));
}

CSIM_API csim_status csim_body_add_force_at(csim_world *w, csim_body_id id, csim_vec3 force, csim_vec3 point) {
    csimi_state *s;
    csimi_grip g;
    int slot, k;
    csim_status status = csimi_open_push(w, id, "csim_body_add_force_at", "force", force, point, &slot, &g);
    if (status || !(csim_dot(force, force) > 0)) return status;
    s = &w->store.state;
    if (g.rigid >= 0)
        return csim_body_add_force(w, id, force, csim_cross(csim_sub(point, csimi_load3(s->com + 3 * g.rigid)), force));
    csimi_wake(w, slot);
    if (g.link >= 0) csimi_tree_push_link(&w->store, g.link, point, force, csim_v3(0, 0, 0));
    for (k = 0; k < g.count; k++) csimi_push_add(s->node_force + 3 * (size_t)g.node[k], g.weight[k], force);
    if (g.frame >= 0) csimi_push_add(s->frame_torque + 3 * (size_t)g.frame, 1, csim_cross(g.arm, force));
    return CSIM_OK;
}

/* Velocity and spin of a rigid body. */
static csim_status csimi_push_rigid(csim_world *w, csim_body_id id, int i, csim_vec3 impulse, csim_vec3 point) {
    const csimi_state *s = &w->store.state;
    const csim_real *twist = s->velocity + 6 * i;
    csim_real inverse[9], spin[3], turn[3];
    csim_vec3 v;
    csimi_rigid_inertia_world(s, i, inverse);
    if (!csimi_inverse3(inverse, inverse)) return CSIM_OK; /* no body is made with such an inertia */
    csimi_store3(spin, csim_cross(csim_sub(point, csimi_load3(s->com + 3 * i)), impulse));
    csimi_mul3(inverse, spin, turn);
    v = csim_madd(csimi_load3(twist), 1 / s->rigid_mass[i], impulse);
    return csim_body_set_velocity(w, id, v, csim_add(csimi_load3(twist + 3), csimi_load3(turn)));
}

/* Velocities of nodes, and of the frame of their edge. */
static void csimi_push_nodes(csimi_store *s, const csimi_grip *g, csim_vec3 impulse) {
    csim_real inverse[9], spin[3], turn[3];
    int k;
    for (k = 0; k < g->count; k++) {
        const size_t i = (size_t)g->node[k];
        if (s->state.node_mode[i] != CSIMI_FREE) continue;
        csimi_push_add(s->state.v + 3 * i, g->weight[k] / s->state.node_mass[i], impulse);
        csimi_store3(s->node_rep + 3 * i, csimi_load3(s->state.v + 3 * i));
    }
    if (g->frame < 0 || s->state.frame_mode[g->frame] != CSIMI_FREE) return;
    csimi_frame_inertia_world(&s->state, g->frame, inverse);
    if (!csimi_inverse3(inverse, inverse)) return;
    csimi_store3(spin, csim_cross(g->arm, impulse));
    csimi_mul3(inverse, spin, turn);
    csimi_set_frame_velocity(
        s, g->frame, csim_add(csimi_load3(s->state.frame_velocity + 3 * (size_t)g->frame), csimi_load3(turn)));
}

CSIM_API csim_status csim_body_add_impulse_at(csim_world *w, csim_body_id id, csim_vec3 impulse, csim_vec3 point) {
    static const char fn[] = "csim_body_add_impulse_at";
    csimi_grip g;
    int slot;
    csim_status status = csimi_open_push(w, id, fn, "impulse", impulse, point, &slot, &g);
    if (status || w->store.body[slot].motion != CSIM_DYNAMIC || !(csim_dot(impulse, impulse) > 0)) return status;
    if (g.rigid >= 0) return csimi_push_rigid(w, id, g.rigid, impulse, point);
#ifndef CONDSIM_NO_TREE
    if (g.link >= 0) return csimi_push_link(w, fn, slot, g.link, point, impulse);
#endif
    csimi_wake(w, slot);
#ifndef CONDSIM_NO_REDUCED
    if (w->store.body[slot].kind == CSIM_BODY_REDUCED) {
        csimi_store *s = &w->store;
        csimi_reduced_push(&s->state, s->body[slot].tree, g.node, g.weight, impulse);
        CSIMI_MEMCPY(s->coord_rep + 3 * s->state.tree[s->body[slot].tree].first_block,
                     s->state.coord_rate + 3 * s->state.tree[s->body[slot].tree].first_block,
                     3 * (size_t)s->state.tree[s->body[slot].tree].block_count * sizeof(csim_real));
        csimi_reduced_refresh(s, s->body[slot].tree);
        return CSIM_OK;
    }
#endif
    csimi_push_nodes(&w->store, &g, impulse);
    return CSIM_OK;
}
