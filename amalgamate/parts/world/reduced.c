/* world/reduced: making reduced bodies. */
#include "private.h"

CSIM_API csim_reduced_def csim_default_reduced_def(void) {
    CSIMI_BLANK(csim_reduced_def, d);
    d.pose = csim_pose_identity();
    d.stiffness_damping = CSIM_R(1e-3);
    d.surface = csim_default_surface_def();
    return d;
}

static size_t csimi_reduced_numbers(const csim_modes *m) {
    return csimi_modal_constants(m->modes, m->linear != 0) + 3 * (size_t)m->surface_count * (1 + (size_t)m->modes);
}

/* Frame and modes, in blocks of three. */
static int csimi_reduced_blocks(const csim_modes *m) { return 2 + (m->modes + 2) / 3; }

CSIM_API void csim_reduced_needs(const csim_modes *m, csim_capacity *c) {
    const int blocks = csimi_reduced_blocks(m);
    c->bodies++;
    c->nodes += m->surface_count;
    c->surface += m->surface_count;
    c->triangles += m->triangle_count;
    c->trees++;
    c->tree_links++;
    c->coords += blocks;
    c->tree_span = csimi_imax(c->tree_span, blocks);
    c->matrix_blocks += m->surface_count + blocks * blocks;
    c->modal += (int)csimi_reduced_numbers(m);
}

static csim_status csimi_check_reduced(csim_world *w, const csim_reduced_def *d) {
    static const char fn[] = "csim_create_reduced";
    static const csimi_field fields[] = {
        CSIMI_AT_LEAST_0(csim_reduced_def, mass_damping), CSIMI_AT_LEAST_0(csim_reduced_def, stiffness_damping)};
    const double *moments;
    csim_status s;
    int k;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_reduced_def()", d->guard)) != 0) return s;
    if (!d->modes) return csimi_missing(&w->error, fn, "modes");
    if (d->modes->magic != CSIMI_MODES_MAGIC || d->modes->version != CSIMI_MODES_VERSION)
        return csimi_deny(&w->error, CSIM_BAD_SNAPSHOT, fn, "modes", "made by csim_create_modes or csim_open_modes");
    if (!csimi_weighs(d->modes->mass))
        return csimi_unfit(&w->error, fn, "mass of the modes", d->modes->mass, CSIMI_MASSES);
    for (moments = csim_modes_arrays(d->modes).moments, k = 0; k < 12; k += 4) /* inertia: two of them */
        if (!d->modes->anchored && !csimi_weighs(moments[k] + moments[(k + 4) % 12]))
            return csimi_unfit(&w->error, fn, "inertia of the modes", moments[k] + moments[(k + 4) % 12], CSIMI_MASSES);
    if ((s = csimi_check_pose(&w->error, fn, "pose", d->pose)) != 0) return s;
    if ((s = csimi_check_vec(&w->error, fn, "velocity", d->velocity)) != 0) return s;
    if ((s = csimi_check_vec(&w->error, fn, "angular_velocity", d->angular_velocity)) != 0) return s;
    if (d->modes->anchored && csim_length(d->velocity) + csim_length(d->angular_velocity) > 0)
        return csimi_deny(&w->error, CSIM_OUT_OF_RANGE, fn, "velocity and angular_velocity",
                          "0: the modes were made with fixed vertices");
    if ((s = csimi_check_reals(&w->error, fn, "q", d->q, d->modes->modes)) != 0) return s;
    if ((s = csimi_check_reals(&w->error, fn, "rate", d->rate, d->modes->modes)) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "motion", (int)d->motion, CSIM_MOTION_COUNT_)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, d, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if (csimi_reduced_numbers(d->modes) > 50000000)
        return csimi_unfit(&w->error, fn, "numbers of the modes", (double)csimi_reduced_numbers(d->modes),
                           "at most 5e7");
    return csimi_check_surface(&w->error, fn, &d->surface);
}

/* ---- writing */

typedef struct csimi_reduced_layout {
    csim_real *rest;
    int *order, *index;
    uint64_t *keys; /* two a triangle */
} csimi_reduced_layout;

static void csimi_reduced_lay_out(csimi_reduced_layout *l, int points, int triangles, csimi_arena *arena) {
    l->rest = CSIMI_PUSH(arena, csim_real, 3 * (size_t)points);
    l->index = CSIMI_PUSH(arena, int, points);
    l->order = CSIMI_PUSH(arena, int, triangles);
    l->keys = CSIMI_PUSH(arena, uint64_t, 2 * (size_t)triangles);
}

CSIMI_FN size_t csimi_reduced_scratch(const csimi_counts *n) {
    csimi_reduced_layout l;
    csimi_arena arena = csimi_arena_counting();
    if (n->modal > 0) csimi_reduced_lay_out(&l, n->surface, n->triangles, &arena);
    return arena.used;
}

/* Constants, then rest positions and modes of the surface. */
static void csimi_copy_modal(const csim_modes *m, double *out) {
    const size_t constants = csimi_modal_constants(m->modes, m->linear != 0);
    const size_t rest = 3 * (size_t)m->surface_count, shape = rest * (size_t)m->modes;
    const csim_modes_view from = csim_modes_arrays(m);
    CSIMI_MEMCPY(out, from.squares, sizeof *out * constants);
    CSIMI_MEMCPY(out + constants, from.rest, sizeof *out * rest);
    CSIMI_MEMCPY(out + constants + rest, from.shape, sizeof *out * shape);
}

/* The tree behind the counts: one floating link, its frame at the centre of mass, and a limb of modes. */
static void csimi_write_reduced(csimi_store *s, const csim_reduced_def *d) {
    const csim_modes *m = d->modes;
    csimi_tree *tree = s->state.tree + s->count.trees;
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def def = csim_default_tree_def();
    int k;
    link.joint = CSIM_TREE_FLOATING;
    link.mass = (csim_real)m->mass;
    def.links = &link;
    def.link_count = 1;
    def.pose = d->pose;
    def.pose.rotation = csim_quat_normalize(def.pose.rotation);
    def.pose.position =
        csim_pose_point(def.pose, csim_v3((csim_real)m->centre[0], (csim_real)m->centre[1], (csim_real)m->centre[2]));
    def.velocity = d->velocity;
    def.angular_velocity = d->angular_velocity;
    def.motion = d->motion;
    CSIMI_MEMSET(tree, 0, sizeof *tree);
    tree->modes = m->modes;
    tree->linear = m->linear != 0;
    tree->anchored = m->anchored != 0;
    tree->first_node = s->count.nodes;
    tree->node_count = m->surface_count;
    tree->first_number = s->count.modal;
    tree->number_count = (int)csimi_reduced_numbers(m);
    tree->mass_damping = d->mass_damping;
    tree->stiffness_damping = d->stiffness_damping;
    csimi_write_tree(s, &def, tree);
    for (k = 0; k < m->modes; k++) {
        const int at = 3 * tree->first_block + 6 + k;
        s->state.coord_position[at] = d->q ? d->q[k] : 0;
        s->state.coord_rate[at] = s->coord_rep[at] = d->rate ? d->rate[k] : 0;
    }
    csimi_copy_modal(m, s->state.modal + tree->first_number);
}

/* Nodes and surface of the body in a slot. */
static void csimi_write_reduced_nodes(csimi_store *s, const csim_modes *m, int slot, const csimi_reduced_layout *l) {
    csimi_body *b = s->body + slot;
    const int first = s->count.nodes, *triangle = csim_modes_arrays(m).triangle;
    const csim_modes_view view = csimi_modal_view(m->modes, m->linear != 0, m->surface_count,
                                                  s->state.modal + s->state.tree[b->tree].first_number);
    int i;
    for (i = 0; i < m->surface_count; i++) {
        csimi_write_node(s, first + i, csim_v3(0, 0, 0), csim_v3(0, 0, 0), 0, 0, CSIM_STATIC, slot);
        s->state.node_tree[first + i] = b->tree;
        s->node_user[first + i] = s->node_of_user[first + i] = l->index[i] = i;
        s->node_aggregate[first + i] = 0;
        s->surface_node[b->first_surface + i] = first + i;
    }
    for (i = 0; i < 3 * m->surface_count; i++) l->rest[i] = (csim_real)view.rest[i];
    for (i = 0; i < 3 * m->triangle_count; i++) s->triangle[3 * b->first_triangle + i] = triangle[i];
    csimi_write_surface(s, slot, l->rest, l->index, l->order, l->keys);
}

CSIM_API csim_status csim_create_reduced(csim_world *w, const csim_reduced_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_reduced";
    csim_capacity more;
    csimi_counts need, add;
    csimi_reduced_layout layout;
    csimi_arena arena;
    csimi_store *s;
    csimi_body *b;
    int slot, span, k;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_reduced(w, def)) != 0) return status;
    if ((status = csimi_check_integrator(&w->def, w->def.integrator, 1, 0, fn, &w->error)) != 0) return status;
    CSIMI_MEMSET(&more, 0, sizeof more);
    csim_reduced_needs(def->modes, &more);
    add = csimi_counts_of(&more);
    need = csimi_counts_with_body(w);
    add.bodies = 0;
    span = csimi_imax(need.tree_span, add.tree_span);
#define CSIMI_X(axis) need.axis += add.axis;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    need.tree_span = span;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    arena = csimi_arena_in(s->scratch, s->scratch_bytes);
    csimi_reduced_lay_out(&layout, add.surface, add.triangles, &arena);
    if (arena.overflow)
        return csimi_fail(&w->error, CSIM_CAPACITY, fn, "scratch", (double)arena.used, "a larger block");
    csimi_write_reduced(s, def);
    slot = csimi_take_body(w, CSIM_BODY_REDUCED, def->motion, &def->surface, def->user_data);
    b = s->body + slot;
    b->tree = s->count.trees;
    b->node_count = b->surface_count = add.nodes;
    b->triangle_count = add.triangles;
    b->matrix_blocks = add.matrix_blocks;
    b->corner_contact = def->corner_contact;
    for (k = 0; k < 3; k++) b->centre[k] = (csim_real)def->modes->centre[k];
    csimi_write_reduced_nodes(s, def->modes, slot, &layout);
    s->tree_body[b->tree] = slot;
    s->count = need;
    csimi_finish_create(w, slot, id);
    csimi_reduced_refresh(s, b->tree);
    return CSIM_OK;
}
