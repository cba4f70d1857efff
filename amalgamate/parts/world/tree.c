/* world/tree: making articulated bodies. */
#include "private.h"

CSIM_API csim_tree_link_def csim_default_tree_link_def(void) {
    csim_tree_link_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.parent = -1;
    d.frame = csim_pose_identity();
    d.axis = csim_v3(0, 0, 1);
    d.rotation = csim_quat_identity();
    d.density = 1000;
    d.lower = 1;
    d.upper = -1;
    return d;
}

CSIM_API csim_tree_def csim_default_tree_def(void) {
    CSIMI_BLANK(csim_tree_def, d);
    d.pose = csim_pose_identity();
    d.surface = csim_default_surface_def();
    return d;
}

/* ---- layout of the coordinates */

/* Whether the root has blocks of its own; a root of one coordinate shares them with the rest, then one limb. */
static bool csimi_tree_has_base(const csim_tree_def *def) { return csimi_tree_dofs(def->links[0].joint) >= 3; }

/* The limb a link belongs to: the link that hangs on the root; 0: the root, or all when the root shares. */
static int csimi_limb_root(const csim_tree_def *def, int i) {
    if (csimi_tree_dofs(def->links[0].joint) == 1) return 0;
    while (i > 0 && def->links[i].parent > 0) i = def->links[i].parent;
    return i;
}

/* Whether a massless coordinate stands behind the drive: its effort is limited or may be so later. */
static bool csimi_tree_joint_gives(const csim_tree_link_def *d) { return d->effort > 0 || d->effort_later; }

static int csimi_tree_joint_coords(const csim_tree_link_def *d) {
    return csimi_tree_dofs(d->joint) + csimi_tree_joint_gives(d) + csimi_is_soft(&d->limit);
}

static int csimi_limb_coords(const csim_tree_def *def, int limb) {
    int i, count = 0;
    for (i = 0; i < def->link_count; i++)
        if (csimi_limb_root(def, i) == limb) count += csimi_tree_joint_coords(def->links + i);
    return count;
}

/* Whether link i starts a limb (the root starts the first, which may be empty). */
static bool csimi_limb_starts(const csim_tree_def *def, int i) { return csimi_limb_root(def, i) == i; }

/* ---- checks */

static csim_status csimi_check_tree_numbers(csim_error *error, const char *fn, const csim_tree_link_def *d) {
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_tree_link_def, axis), CSIMI_ANY(csim_tree_link_def, position),
        CSIMI_ANY(csim_tree_link_def, rate), CSIMI_POSITIVE(csim_tree_link_def, density),
        CSIMI_AT_LEAST_0(csim_tree_link_def, mass), CSIMI_ANY9(csim_tree_link_def, inertia),
        CSIMI_ANY3(csim_tree_link_def, centre), CSIMI_ANY(csim_tree_link_def, lower),
        CSIMI_ANY(csim_tree_link_def, upper), CSIMI_AT_LEAST_0(csim_tree_link_def, damping),
        CSIMI_AT_LEAST_0(csim_tree_link_def, armature), CSIMI_AT_LEAST_0(csim_tree_link_def, friction),
        CSIMI_AT_LEAST_0(csim_tree_link_def, stiffness), CSIMI_AT_LEAST_0(csim_tree_link_def, rate_gain),
        CSIMI_AT_LEAST_0(csim_tree_link_def, effort), CSIMI_ANY(csim_tree_link_def, target),
        CSIMI_ANY(csim_tree_link_def, target_rate), CSIMI_UNIT(csim_tree_link_def, gravity_compensation)};
    return csimi_check_fields(error, fn, d, fields, CSIMI_COUNT_OF(fields));
}

static csim_status csimi_check_tree_joint(csim_error *error, const char *fn, const csim_tree_link_def *d, int i) {
    csim_status s;
    int dofs;
    if (d->parent < (i == 0 ? -1 : 0) || d->parent >= i)
        return csimi_unfit(error, fn, "parent", (double)d->parent,
                           i == 0 ? "-1 for the first link" : "a link before this one");
    if ((s = csimi_check_enum(error, fn, "joint", (int)d->joint, CSIM_TREE_JOINT_COUNT_)) != 0) return s;
    if ((s = csimi_check_pose(error, fn, "frame", d->frame)) != 0) return s;
    if ((s = csimi_check_turn(error, fn, "rotation", d->rotation)) != 0) return s;
    if ((s = csimi_check_tree_numbers(error, fn, d)) != 0) return s;
    if ((s = csimi_check_softness(error, fn, &d->limit)) != 0) return s;
    dofs = csimi_tree_dofs(d->joint);
    if (d->joint == CSIM_TREE_FLOATING && i > 0)
        return csimi_unfit(error, fn, "joint", (double)d->joint, "CSIM_TREE_FLOATING on the first link only");
    if (dofs == 1 && !(csim_length(d->axis) > 0)) return csimi_unfit(error, fn, "axis", 0, "not the zero vector");
    if (dofs != 1 && (d->lower <= d->upper || d->friction > 0 || csimi_tree_joint_gives(d) || csimi_is_soft(&d->limit)))
        return csimi_deny(error, CSIM_OUT_OF_RANGE, fn, "limits, friction and effort",
                          "none: the joint is not revolute or prismatic");
    if (dofs == 6 && (d->armature > 0 || d->stiffness > 0 || d->rate_gain > 0 || d->gravity_compensation > 0))
        return csimi_deny(error, CSIM_OUT_OF_RANGE, fn, "armature and drive", "none: the joint is floating");
    return CSIM_OK;
}

/* Mass, centre and inertia of a link: a rigid body's, but it may be a point or nothing at all. */
static csim_status csimi_tree_link_mass(csim_error *error, const char *fn, const csim_tree_link_def *d,
                                        csim_mass *mass) {
    csim_rigid_def r = csim_default_rigid_def();
    csim_status s;
    if (d->shape_count < 0 || d->shape_count > 1000)
        return csimi_unfit(error, fn, "shape_count", (double)d->shape_count, "0..1000");
    if (d->shape_count > 0 && !d->shapes)
        return csimi_deny(error, CSIM_NULL_ARGUMENT, fn, "shapes", "not null when shape_count > 0");
    r.shapes = d->shapes;
    r.shape_count = d->shape_count;
    r.density = d->density;
    r.mass = d->mass;
    r.inertia = d->inertia;
    r.centre = d->centre;
    r.motion = CSIM_STATIC; /* nothing is needed */
    if ((s = csimi_rigid_mass(&r, fn, mass, error)) != 0) return s;
    if (d->shape_count == 0) mass->centre = d->centre;
    if (!(mass->mass > 0) && mass->inertia.m[0] > 0)
        return csimi_unfit(error, fn, "mass", (double)mass->mass, "above 0 with an inertia");
    return CSIM_OK;
}

/* "csim_create_tree: link 12" */
static void csimi_tree_function(char *text, size_t size, int link) {
    size_t n = csimi_append_text(text, size, 0, "csim_create_tree: link ");
    csimi_append_int(text, size, n, link);
}

static csim_status csimi_check_tree(csim_world *w, const csim_tree_def *def, csimi_counts *need) {
    static const char fn[] = "csim_create_tree";
    csim_status s;
    int i, k, base, blocks = 0;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_tree_def()", def->guard)) != 0) return s;
    if (def->link_count < 1 || def->link_count > 1000)
        return csimi_unfit(&w->error, fn, "link_count", (double)def->link_count, "1..1000");
    if (!def->links) return csimi_missing(&w->error, fn, "links");
    if ((s = csimi_check_pose(&w->error, fn, "pose", def->pose)) != 0) return s;
    if ((s = csimi_check_vec(&w->error, fn, "velocity", def->velocity)) != 0) return s;
    if ((s = csimi_check_vec(&w->error, fn, "angular_velocity", def->angular_velocity)) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "motion", (int)def->motion, CSIM_MOTION_COUNT_)) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
    for (i = 0; i < def->link_count; i++) {
        const csim_tree_link_def *d = def->links + i;
        char name[48];
        csim_mass mass;
        csimi_tree_function(name, sizeof name, i);
        if ((s = csimi_check_tree_joint(&w->error, name, d, i)) != 0) return s;
        if ((s = csimi_tree_link_mass(&w->error, name, d, &mass)) != 0) return s;
        for (k = 0; k < d->shape_count; k++) {
            if (csimi_only_static(d->shapes[k].kind))
                return csimi_unfit(&w->error, name, "shapes", (double)k, "no half-space");
            need->hulls += d->shapes[k].kind == CSIM_SHAPE_HULL;
        }
        if ((s = csimi_check_skins(w, name, -1, d->shapes, d->shape_count)) != 0) return s;
        need->shapes += d->shape_count;
    }
#ifdef CONDSIM_NO_STACKS
    if (!def->no_self_contact && need->shapes > w->store.count.shapes + 1)
        return csimi_fail(&w->error, CSIM_UNSUPPORTED, fn, "no_self_contact", 0,
                          "true, or builds without CONDSIM_NO_STACKS");
#endif
    base = csimi_tree_has_base(def) ? csimi_tree_dofs(def->links[0].joint) / 3 : 0;
    need->matrix_blocks += base * base;
    for (i = 0; i < def->link_count; i++) {
        const int n = csimi_limb_starts(def, i) ? (csimi_limb_coords(def, i) + 2) / 3 : 0;
        if (i == 0 && base > 0) continue;
        blocks += n;
        need->matrix_blocks += n * n + 2 * base * n;
    }
    need->trees++;
    need->tree_links += def->link_count;
    need->coords += base + blocks;
    need->tree_span = csimi_imax(need->tree_span, base + blocks);
    return CSIM_OK;
}

/* ---- writing */

CSIMI_FN void csimi_link_weigh(csimi_tree_link *link, const csim_mass *mass) {
    static const int upper[6] = {0, 1, 2, 4, 5, 8};
    int k;
    link->mass = mass->mass;
    link->com = mass->centre;
    for (k = 0; k < 6; k++) link->inertia[k] = mass->inertia.m[upper[k]];
}

static void csimi_write_link(csimi_store *s, const csim_tree_def *def, int i, int link, csimi_tree *tree) {
    const csim_tree_link_def *d = def->links + i;
    csimi_tree_link *out = s->state.tree_link + link;
    csim_real *q = s->state.link_position + 7 * link, *target = s->state.link_target + 4 * link;
    csim_mass mass;
    (void)csimi_tree_link_mass(NULL, "", d, &mass); /* checked before */
    CSIMI_MEMSET(out, 0, sizeof *out);
    out->tree = s->count.trees;
    out->parent = d->parent;
    out->joint = d->joint;
    out->dofs = csimi_tree_dofs(d->joint);
    out->dof = tree->dof_count;
    out->position = tree->position_count;
    tree->dof_count += out->dofs;
    tree->position_count += out->dofs == 3 ? 4 : out->dofs == 6 ? 7 : out->dofs;
    out->frame = d->frame;
    out->frame.rotation = csim_quat_normalize(out->frame.rotation);
    if (i == 0) {
        csim_pose pose = def->pose;
        pose.rotation = csim_quat_normalize(pose.rotation);
        out->frame = d->joint == CSIM_TREE_FLOATING ? pose : csim_pose_mul(pose, out->frame);
    }
    out->axis = csim_normalize(d->axis);
    csimi_link_weigh(out, &mass);
    out->armature = d->armature;
    out->damping = d->damping;
    out->friction = d->friction;
    out->lower = d->lower;
    out->upper = d->upper;
    csimi_limit_soften(out, &d->limit);
    out->stiffness = d->stiffness;
    out->rate_gain = d->rate_gain;
    out->effort = d->effort;
    out->gravity_share = d->gravity_compensation;
    CSIMI_MEMSET(q, 0, 7 * sizeof *q);
    CSIMI_MEMSET(target, 0, 4 * sizeof *target);
    CSIMI_MEMSET(s->link_impulse + CSIMI_TREE_JOINT_ROWS * link, 0, CSIMI_TREE_JOINT_ROWS * sizeof *q);
    CSIMI_MEMSET(s->link_reaction + 6 * link, 0, 6 * sizeof *q);
    CSIMI_MEMSET(s->state.link_push + 6 * link, 0, 6 * sizeof *q);
    q[3] = 1;
    q[0] = out->dofs == 1 ? d->position : 0;
    if (d->joint == CSIM_TREE_FLOATING) {
        csimi_store3(q, out->frame.position);
        csimi_store_quat(q + 3, out->frame.rotation);
    } else if (d->joint == CSIM_TREE_BALL) {
        csimi_store_quat(q + 3, csim_quat_normalize(d->rotation));
        CSIMI_MEMCPY(target, q + 3, 4 * sizeof *q);
    } else {
        target[0] = d->target;
    }
}

/* Coordinates of the links: the root first, then limb after limb, each from a whole block on. */
static void csimi_place_coordinates(csimi_store *s, const csim_tree_def *def, csimi_tree *tree) {
    csimi_tree_link *link = s->state.tree_link + tree->first_link;
    int i, j, at = 0, limb = 0, k;
    tree->base_blocks = csimi_tree_has_base(def) ? link[0].dofs / 3 : 0;
    for (i = 0; i < def->link_count; i++) {
        const int start = at;
        if (!csimi_limb_starts(def, i)) continue;
        for (j = 0; j < def->link_count; j++)
            if (csimi_limb_root(def, j) == i) {
                link[j].coord = at;
                link[j].slack = csimi_tree_joint_gives(def->links + j) ? at + link[j].dofs : -1;
                at += csimi_tree_joint_coords(def->links + j);
                link[j].yield = csimi_is_soft(&def->links[j].limit) ? at - 1 : -1;
            }
        for (k = start; k < at; k += 3) {
            int *out = s->state.coord_limb + 2 * (tree->first_block + k / 3);
            out[0] = limb;
            out[1] = csimi_imin(3, at - k);
            s->coord_tree[tree->first_block + k / 3] = s->count.trees;
        }
        at = (at + 2) / 3 * 3;
        limb++;
    }
    tree->block_count = at / 3;
}

static void csimi_start_coordinates(csimi_store *s, const csim_tree_def *def, const csimi_tree *tree) {
    csim_real *rate = s->state.coord_rate + 3 * tree->first_block;
    size_t bytes = 3 * (size_t)tree->block_count * sizeof *rate;
    int i;
    CSIMI_MEMSET(rate, 0, bytes);
    CSIMI_MEMSET(s->state.coord_force + 3 * tree->first_block, 0, bytes);
    CSIMI_MEMSET(s->state.coord_target + 3 * tree->first_block, 0, bytes);
    CSIMI_MEMSET(s->state.coord_position + 3 * tree->first_block, 0, bytes);
    for (i = 0; i < tree->link_count; i++) {
        const csimi_tree_link *link = s->state.tree_link + tree->first_link + i;
        if (link->dofs == 1) {
            rate[link->coord] = def->links[i].rate;
            s->state.coord_target[3 * tree->first_block + link->coord] = def->links[i].target_rate;
        } else if (link->joint == CSIM_TREE_FLOATING) {
            csimi_store3(rate, def->velocity);
            csimi_store3(rate + 3, def->angular_velocity);
        }
    }
    if (def->motion == CSIM_STATIC) CSIMI_MEMSET(rate, 0, bytes);
    CSIMI_MEMCPY(s->coord_rep + 3 * tree->first_block, rate, bytes);
}

/* Geometry behind the counts. */
static csim_status csimi_bake_tree(csim_world *w, const csim_tree_def *def) {
    csimi_store *s = &w->store;
    int i, k, shapes = s->count.shapes, hulls = s->count.hulls;
    for (i = 0; i < def->link_count; i++)
        for (k = 0; k < def->links[i].shape_count; k++, shapes++) {
            const csim_shape *shape = def->links[i].shapes + k;
            const bool hull = shape->kind == CSIM_SHAPE_HULL;
            csim_status status = csim_shape_bake(shape, s->shape + shapes, hull ? s->hull + hulls : NULL, &w->error);
            if (status) return status;
            s->shape[shapes].hull = hull ? hulls++ : -1;
            s->shape_link[shapes] = i;
        }
    return CSIM_OK;
}

CSIMI_FN size_t csimi_tree_scratch(const csimi_counts *n) {
    csimi_arena arena = csimi_arena_counting();
    size_t span = 3 * (size_t)n->tree_span;
    CSIMI_PUSH(&arena, double, span *span);
    CSIMI_PUSH(&arena, csim_real, span * span);
    return arena.used;
}

CSIMI_FN bool csimi_tree_has_mass(csimi_store *s, int t) {
    const csimi_tree *tree = s->state.tree + t;
    csimi_arena arena = csimi_arena_in(s->scratch, s->scratch_bytes);
    const size_t n = (size_t)tree->dof_count;
    double *H = CSIMI_PUSH(&arena, double, n *n);
    csim_real *M = CSIMI_PUSH(&arena, csim_real, n * n);
    size_t i;
    if (arena.overflow) return false;
    csimi_tree_study(&s->state, t, s->state.coord_rate + 3 * tree->first_block, NULL, tree->gravity);
    csimi_tree_mass_matrix(&s->state, t, M);
    for (i = 0; i < n * n; i++) H[i] = (double)M[i];
    if (n > 0 && !csimi_cholesky((int)n, H, NULL, NULL)) return false;
    for (i = 0; i < n; i++) /* pivots: inertia of a joint with those below it free */
        if (!csimi_weighs(H[i * n + i]) || !(H[i * n + i] > 1e2 * (double)CSIMI_EPS * (double)M[i * n + i]))
            return false;
    return true;
}

/* Links, coordinates and poses of a checked definition behind the counts; the modes of a reduced body are a limb of
   their own. */
CSIMI_FN void csimi_write_tree(csimi_store *s, const csim_tree_def *def, csimi_tree *tree) {
    int i;
    tree->first_link = s->count.tree_links;
    tree->link_count = def->link_count;
    tree->first_block = s->count.coords;
    tree->mode = csimi_mode_of(def->motion);
    tree->gravity = 1;
    tree->self_contact = !def->no_self_contact;
    tree->reactions = def->reactions;
    for (i = 0; i < def->link_count; i++) csimi_write_link(s, def, i, tree->first_link + i, tree);
    csimi_place_coordinates(s, def, tree);
    for (i = 0; i < tree->modes; i += 3) {
        const int block = tree->first_block + tree->block_count++;
        s->state.coord_limb[2 * block] = 1;
        s->state.coord_limb[2 * block + 1] = csimi_imin(3, tree->modes - i);
        s->coord_tree[block] = s->count.trees;
    }
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++)
        s->state.tree_link[i].terms = csimi_link_term_count(&s->state, i);
    csimi_start_coordinates(s, def, tree);
    csimi_tree_forward(&s->state, s->count.trees, s->state.link_position, s->state.link_pose);
}

#ifndef CONDSIM_NO_TREE
CSIM_API csim_status csim_create_tree(csim_world *w, const csim_tree_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_tree";
    csimi_counts need, had;
    csimi_store *s;
    csimi_tree *tree;
    int slot, i, k;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_integrator(&w->def, w->def.integrator, 1, 0, fn, &w->error)) != 0) return status;
    had = w->store.count;
    need = csimi_counts_with_body(w);
    if ((status = csimi_check_tree(w, def, &need)) != 0) return status;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    if ((status = csimi_bake_tree(w, def)) != 0) return status;
    tree = s->state.tree + s->count.trees;
    CSIMI_MEMSET(tree, 0, sizeof *tree);
    tree->first_number = s->count.modal;
    csimi_write_tree(s, def, tree);
    for (i = 0; i < def->link_count; i++)
        if (s->state.tree_link[tree->first_link + i].terms > CSIMI_PLACE_TERMS)
            return csimi_unfit(&w->error, fn, "a link under too many joints, number", (double)i,
                               "at most 30 coordinates from a link to the root");
    if (!csimi_tree_has_mass(s, s->count.trees))
        return csimi_deny(&w->error, CSIM_OUT_OF_RANGE, fn, "the mass matrix",
                          "positive definite: every joint moves some mass or has armature");
    slot = csimi_take_body(w, CSIM_BODY_TREE, def->motion, &def->surface, def->user_data);
    s->body[slot].tree = s->count.trees;
    s->body[slot].shape_count = need.shapes - had.shapes;
    s->body[slot].matrix_blocks = need.matrix_blocks - had.matrix_blocks;
    for (i = 0, k = had.shapes; i < def->link_count; i++) {
        int own;
        for (own = 0; own < def->links[i].shape_count; own++, k++) {
            s->shape_body[k] = slot;
            csimi_write_skin(s, k, slot, def->links[i].shapes + own);
        }
    }
    s->tree_body[s->count.trees] = slot;
    s->count.trees++;
    s->count.tree_links = need.tree_links;
    s->count.coords = need.coords;
    s->count.tree_span = need.tree_span;
    s->count.shapes = need.shapes;
    s->count.hulls = need.hulls;
    s->count.matrix_blocks = need.matrix_blocks;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}
#endif
