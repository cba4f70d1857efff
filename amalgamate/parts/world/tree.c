/* world/tree: making articulated bodies, and what a program asks of them and sets. */
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
    csim_tree_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.pose = csim_pose_identity();
    d.surface = csim_default_surface_def();
    d.guard = CSIMI_GUARD;
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

/* Coordinates of a joint: its own, and one behind a drive of limited effort. */
static int csimi_joint_coords(const csim_tree_link_def *d) { return csimi_tree_dofs(d->joint) + (d->effort > 0); }

static int csimi_limb_coords(const csim_tree_def *def, int limb) {
    int i, count = 0;
    for (i = 0; i < def->link_count; i++)
        if (csimi_limb_root(def, i) == limb) count += csimi_joint_coords(def->links + i);
    return count;
}

/* Whether link i starts a limb (the root starts the first, which may be empty). */
static bool csimi_limb_starts(const csim_tree_def *def, int i) { return csimi_limb_root(def, i) == i; }

/* ---- checks */

static csim_status csimi_check_tree_numbers(csim_error *error, const char *fn, const csim_tree_link_def *d) {
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_tree_link_def, axis),
        CSIMI_ANY(csim_tree_link_def, position),
        CSIMI_ANY(csim_tree_link_def, rate),
        CSIMI_POSITIVE(csim_tree_link_def, density),
        CSIMI_AT_LEAST_0(csim_tree_link_def, mass),
        CSIMI_ANY9(csim_tree_link_def, inertia),
        CSIMI_ANY3(csim_tree_link_def, centre),
        CSIMI_ANY(csim_tree_link_def, lower),
        CSIMI_ANY(csim_tree_link_def, upper),
        CSIMI_AT_LEAST_0(csim_tree_link_def, damping),
        CSIMI_AT_LEAST_0(csim_tree_link_def, armature),
        CSIMI_AT_LEAST_0(csim_tree_link_def, friction),
        CSIMI_AT_LEAST_0(csim_tree_link_def, stiffness),
        CSIMI_AT_LEAST_0(csim_tree_link_def, rate_gain),
        CSIMI_AT_LEAST_0(csim_tree_link_def, effort),
        CSIMI_ANY(csim_tree_link_def, target),
        CSIMI_ANY(csim_tree_link_def, target_rate),
        CSIMI_UNIT(csim_tree_link_def, gravity_compensation),
    };
    return csimi_check_fields(error, fn, d, fields, CSIMI_COUNT_OF(fields));
}

static csim_status csimi_check_tree_joint(csim_error *error, const char *fn, const csim_tree_link_def *d, int i) {
    csim_status s;
    int dofs;
    if (d->parent < (i == 0 ? -1 : 0) || d->parent >= i)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "parent", true, (double)d->parent,
                          i == 0 ? "-1 for the first link" : "a link before this one");
    if ((s = csimi_check_enum(error, fn, "joint", (int)d->joint, CSIM_TREE_JOINT_COUNT_)) != 0) return s;
    if ((s = csimi_check_pose(error, fn, "frame", d->frame)) != 0) return s;
    if ((s = csimi_check_turn(error, fn, "rotation", d->rotation)) != 0) return s;
    if ((s = csimi_check_tree_numbers(error, fn, d)) != 0) return s;
    dofs = csimi_tree_dofs(d->joint);
    if (d->joint == CSIM_TREE_FLOATING && i > 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "joint", true, (double)d->joint,
                          "CSIM_TREE_FLOATING on the first link only");
    if (dofs == 1 && !(csim_length(d->axis) > 0))
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "axis", true, 0, "not the zero vector");
    if (dofs != 1 && (d->lower <= d->upper || d->friction > 0 || d->effort > 0))
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "limits, friction and effort", false, 0,
                          "none: the joint is not revolute or prismatic");
    if (dofs == 6 && (d->armature > 0 || d->stiffness > 0 || d->rate_gain > 0 || d->gravity_compensation > 0))
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "armature and drive", false, 0, "none: the joint is floating");
    return CSIM_OK;
}

/* Mass, centre and inertia of a link: a rigid body's, but it may be a point or nothing at all. */
static csim_status csimi_tree_link_mass(csim_error *error, const char *fn, const csim_tree_link_def *d,
                                        csim_mass *mass) {
    csim_rigid_def r = csim_default_rigid_def();
    csim_status s;
    if (d->shape_count < 0 || d->shape_count > 1000)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "shape_count", true, (double)d->shape_count, "0..1000");
    if (d->shape_count > 0 && !d->shapes)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, fn, "shapes", false, 0, "not null when shape_count > 0");
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
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "mass", true, (double)mass->mass, "above 0 with an inertia");
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
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "link_count", true, (double)def->link_count, "1..1000");
    if (!def->links) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, "links", false, 0, "not null");
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
                return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, name, "shapes", true, (double)k, "no half-space");
            need->hulls += d->shapes[k].kind == CSIM_SHAPE_HULL;
        }
        need->shapes += d->shape_count;
    }
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
    out->mass = mass.mass;
    out->com = mass.centre;
    out->inertia[0] = mass.inertia.m[0];
    out->inertia[1] = mass.inertia.m[1];
    out->inertia[2] = mass.inertia.m[2];
    out->inertia[3] = mass.inertia.m[4];
    out->inertia[4] = mass.inertia.m[5];
    out->inertia[5] = mass.inertia.m[8];
    out->armature = d->armature;
    out->damping = d->damping;
    out->friction = d->friction;
    out->lower = d->lower;
    out->upper = d->upper;
    out->stiffness = d->stiffness;
    out->rate_gain = d->rate_gain;
    out->effort = d->effort;
    out->gravity_share = d->gravity_compensation;
    CSIMI_MEMSET(q, 0, 7 * sizeof *q);
    CSIMI_MEMSET(target, 0, 4 * sizeof *target);
    CSIMI_MEMSET(s->link_impulse + CSIMI_JOINT_ROWS * link, 0, CSIMI_JOINT_ROWS * sizeof *q);
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
                link[j].slack = def->links[j].effort > 0 ? at + link[j].dofs : -1;
                at += csimi_joint_coords(def->links + j);
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

/* Whether M of a tree written behind the counts is positive definite: every joint moves some mass. */
static bool csimi_tree_has_mass(csimi_store *s, int t) {
    const csimi_tree *tree = s->state.tree + t;
    csimi_arena arena = csimi_arena_in(s->scratch, s->scratch_bytes);
    const size_t n = (size_t)tree->dof_count;
    double *H = CSIMI_PUSH(&arena, double, n *n);
    csim_real *M = CSIMI_PUSH(&arena, csim_real, n * n);
    size_t i;
    if (arena.overflow) return false;
    csimi_tree_study(&s->state, t, s->state.coord_rate + 3 * tree->first_block, NULL, s->state.gravity);
    csimi_tree_mass_matrix(&s->state, t, M);
    for (i = 0; i < n * n; i++) H[i] = (double)M[i];
    if (n > 0 && !csimi_cholesky((int)n, H)) return false;
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
    tree->self_contact = !def->no_self_contact;
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

CSIM_API csim_status csim_create_tree(csim_world *w, const csim_tree_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_tree";
    csimi_counts need, had;
    csimi_store *s;
    csimi_tree *tree;
    int slot, i;
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
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "a link under too many joints, number", true, (double)i,
                              "at most 30 coordinates from a link to the root");
    if (!csimi_tree_has_mass(s, s->count.trees))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "the mass matrix", false, 0,
                          "positive definite: every joint moves some mass or has armature");
    slot = csimi_take_body(w, CSIM_BODY_TREE, def->motion, &def->surface, def->user_data);
    s->body[slot].tree = s->count.trees;
    s->body[slot].shape_count = need.shapes - had.shapes;
    s->body[slot].matrix_blocks = need.matrix_blocks - had.matrix_blocks;
    for (i = had.shapes; i < need.shapes; i++) s->shape_body[i] = slot;
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

/* ---- rows: limits, dry friction and drives of limited effort, each a box on one coordinate */

/* Row `kind` of a link's joint: sign * rate of coordinate c + phi, impulse in [lo, hi]. */
static void csimi_joint_row(csim_world *w, csimi_step_frame *f, int link, int kind, int c, csim_real sign,
                            csim_real phi, csim_real lo, csim_real hi) {
    const csimi_state *s = &w->store.state;
    const csimi_tree *tree = s->tree + s->tree_link[link].tree;
    const int i = f->contact_count++, at = CSIMI_JOINT_ROWS * link + kind;
    csim_contact *row = f->contacts + i;
    csim_term *term = f->terms + f->term_count;
    CSIMI_MEMSET(row, 0, sizeof *row);
    CSIMI_MEMSET(term, 0, sizeof *term);
    row->law = CSIM_LAW_BOX;
    row->R[0] = row->R[4] = row->R[8] = 1;
    row->a.first = row->b.first = f->term_count++;
    row->a.count = 1;
    term->block = csimi_first_coord_block(s) + tree->first_block + c / 3;
    term->J[c % 3] = sign;
    row->phi[0] = phi;
    row->lo[0] = lo;
    row->hi[0] = hi;
    csimi_store3(row->point, csimi_link_pose(s, link).position);
    f->lambda[3 * i] = csimi_warm_scale(w, f) * w->store.link_impulse[at];
    f->lambda[3 * i + 1] = f->lambda[3 * i + 2] = 0;
    f->joint_row[i - f->first_joint_row] = at;
}

/* One end of the range of a joint that may be reached in this step; sign +1: the lower one. */
static void csimi_limit_row(csim_world *w, csimi_step_frame *f, int link, csim_real sign) {
    const csimi_state *s = &w->store.state;
    const csimi_tree_link *l = s->tree_link + link;
    const csim_real q = s->link_position[7 * link], range = l->upper - l->lower;
    const csim_real rate = sign * s->coord_rate[3 * s->tree[l->tree].first_block + l->coord];
    const csim_real gap = sign > 0 ? q - l->lower : l->upper - q;
    if (gap > 2 * f->h * csimi_abs(rate) + range / 50) return;
    csimi_joint_row(w, f, link, sign > 0 ? 0 : 1, l->coord, sign, csimi_phi(w, f, gap, 0, rate, rate), 0, CSIMI_HUGE);
}

/* Only drives that were near their limit in the last step have a row from the start. The others are solved for inside
   A, which is cheaper and better conditioned, and get one where that asks more of them than they can give. */
CSIMI_FN void csimi_tree_choose_bounds(csim_world *w) {
    const bool all = w->def.integrator != CSIM_BACKWARD_EULER;
    csimi_state *s = &w->store.state;
    int i;
    for (i = 0; i < s->tree_link_count; i++) {
        csimi_tree_link *l = s->tree_link + i;
        const csim_real last = csimi_abs(w->store.link_impulse[CSIMI_JOINT_ROWS * i + 3]);
        l->bounded = l->slack >= 0 && l->effort > 0 && (all || last > CSIM_R(0.9) * l->effort * (csim_real)w->last_h);
    }
}

/* What a step decided is no state of the world: a failed step leaves the same bytes. */
CSIMI_FN void csimi_tree_forget_bounds(csim_world *w) {
    int i;
    for (i = 0; i < w->store.state.tree_link_count; i++) w->store.state.tree_link[i].bounded = false;
}

/* Impulse of a drive without a row at the velocities of the frame. */
static csim_real csimi_drive_inside(const csim_world *w, const csimi_step_frame *f, const csimi_step *step, int i) {
    const csimi_state *s = &w->store.state;
    const csimi_tree_link *l = s->tree_link + i;
    const int c = 3 * (csimi_first_coord_block(s) + s->tree[l->tree].first_block) + l->coord;
    csim_real error[3];
    csimi_drive_error(s, i, error);
    return csimi_drive_impulse(s, step, i, 0, error[0]) - csimi_drive_gain(l, step) * f->v[c];
}

CSIMI_FN bool csimi_tree_overruns(csim_world *w, const csimi_step_frame *f, const csimi_step *step, int pass) {
    csimi_state *s = &w->store.state;
    bool found = false;
    int i;
    for (i = 0; i < s->tree_link_count; i++) {
        csimi_tree_link *l = s->tree_link + i;
        if (l->bounded || l->slack < 0 || !(l->effort > 0) || s->tree[l->tree].mode != CSIMI_FREE) continue;
        if (!(csimi_abs(csimi_drive_inside(w, f, step, i)) > f->h * l->effort)) continue;
        l->bounded = found = true;
    }
    for (i = 0; i < s->tree_link_count && found && pass >= 3; i++)
        s->tree_link[i].bounded = s->tree_link[i].slack >= 0 && s->tree_link[i].effort > 0;
    return found;
}

CSIMI_FN void csimi_tree_rows(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    const csimi_state *s = &w->store.state;
    int i;
    f->first_joint_row = f->contact_count;
    for (i = 0; i < s->tree_link_count; i++) {
        const csimi_tree_link *l = s->tree_link + i;
        const csim_real D = csimi_drive_gain(l, step);
        if (l->dofs != 1 || s->tree[l->tree].mode != CSIMI_FREE) continue;
        if (l->lower <= l->upper) {
            csimi_limit_row(w, f, i, 1);
            csimi_limit_row(w, f, i, -1);
        }
        if (l->friction > 0) csimi_joint_row(w, f, i, 2, l->coord, 1, 0, -f->h * l->friction, f->h * l->friction);
        if (l->bounded && D > 0) {
            csim_real error[3];
            csimi_drive_error(s, i, error);
            csimi_joint_row(w, f, i, 3, l->slack, 1, -csimi_drive_impulse(s, step, i, 0, error[0]) / D,
                            -f->h * l->effort, f->h * l->effort);
        }
    }
}

CSIMI_FN void csimi_tree_keep_rows(csim_world *w, const csimi_step_frame *f, const csimi_step *step) {
    csimi_store *s = &w->store;
    const csimi_state *t = &s->state;
    int i;
    for (i = 0; i < CSIMI_JOINT_ROWS * t->tree_link_count; i++) s->link_impulse[i] = 0;
    for (i = f->first_joint_row; i < f->contact_count; i++)
        s->link_impulse[f->joint_row[i - f->first_joint_row]] = f->lambda[3 * i];
    for (i = 0; i < t->tree_link_count; i++) { /* drives without a row work inside A */
        const csimi_tree_link *l = t->tree_link + i;
        if (l->dofs == 1 && csimi_drive_gain(l, step) > 0 && !l->bounded && t->tree[l->tree].mode == CSIMI_FREE)
            s->link_impulse[CSIMI_JOINT_ROWS * i + 3] = csimi_drive_inside(w, f, step, i);
    }
}

/* ---- what the functions of all bodies ask of a tree */

CSIMI_FN void csimi_tree_forget(csimi_store *s, int tree) { /* the links and blocks of those behind move down */
    const csimi_tree gone = s->state.tree[tree];
    int i;
    for (i = 0; i < 2 * s->count.springs; i++)
        csimi_place_shift_links(s->state.spring + i, gone.first_link, gone.link_count);
    for (i = 0; i < 2 * s->count.joints; i++)
        csimi_place_shift_links(s->joint[i / 2].end + i % 2, gone.first_link, gone.link_count);
    for (i = tree + 1; i < s->count.trees; i++) {
        s->state.tree[i].first_link -= gone.link_count;
        s->state.tree[i].first_block -= gone.block_count;
        s->state.tree[i].first_number -= gone.number_count;
    }
    for (i = 0; i < s->count.nodes; i++) s->state.node_tree[i] -= s->state.node_tree[i] > tree;
    for (i = gone.first_link + gone.link_count; i < s->count.tree_links; i++) s->state.tree_link[i].tree--;
    for (i = gone.first_block + gone.block_count; i < s->count.coords; i++) s->coord_tree[i]--;
    csimi_remove(s, CSIMI_AXIS_tree_links, gone.first_link, gone.link_count);
    csimi_remove(s, CSIMI_AXIS_coords, gone.first_block, gone.block_count);
    csimi_remove(s, CSIMI_AXIS_modal, gone.first_number, gone.number_count);
    csimi_remove(s, CSIMI_AXIS_trees, tree, 1);
    for (i = 0; i < s->count.bodies; i++)
        if (s->body[i].alive && s->body[i].tree > tree) s->body[i].tree--;
}

CSIMI_FN void csimi_tree_base_velocity(const csimi_store *s, int tree, const csim_real *rates, csim_vec3 *linear,
                                       csim_vec3 *angular) {
    const int link = s->state.tree[tree].first_link;
    *linear = csimi_link_velocity(&s->state, link, csimi_link_pose(&s->state, link).position, rates, angular);
}

CSIMI_FN void csimi_tree_set_base(csimi_store *s, int tree, csim_pose pose) {
    csimi_tree_link *link = s->state.tree_link + s->state.tree[tree].first_link;
    csim_real *q = s->state.link_position + 7 * s->state.tree[tree].first_link;
    pose.rotation = csim_quat_normalize(pose.rotation);
    link->frame = pose;
    if (link->joint == CSIM_TREE_FLOATING) {
        csimi_store3(q, pose.position);
        csimi_store_quat(q + 3, pose.rotation);
    }
    csimi_tree_forward(&s->state, tree, s->state.link_position, s->state.link_pose);
}

CSIMI_FN bool csimi_tree_set_base_velocity(csimi_store *s, int tree, csim_vec3 linear, csim_vec3 angular) {
    const csimi_tree *t = s->state.tree + tree;
    csim_real *rate = s->state.coord_rate + 3 * t->first_block, *rep = s->coord_rep + 3 * t->first_block;
    if (s->state.tree_link[t->first_link].joint != CSIM_TREE_FLOATING || t->anchored) return false;
    csimi_store3(rate, linear);
    csimi_store3(rate + 3, angular);
    csimi_store3(rep, linear);
    csimi_store3(rep + 3, angular);
    return true;
}

CSIMI_FN void csimi_tree_push_link(csimi_store *s, int link, csim_vec3 point, csim_vec3 force, csim_vec3 torque) {
    const csimi_tree *tree = s->state.tree + s->state.tree_link[link].tree;
    csim_real *out = s->state.coord_force + 3 * tree->first_block;
    int i, k;
    for (i = link; i >= 0; i = csimi_link_above(&s->state, i)) {
        const csimi_tree_link *at = s->state.tree_link + i;
        const csim_pose pose = csimi_link_pose(&s->state, i);
        csim_vec3 moment = csim_add(torque, csim_cross(csim_sub(point, pose.position), force));
        csim_real part[6];
        csimi_store3(part, at->joint == CSIM_TREE_FLOATING ? force : moment);
        csimi_store3(part + 3, moment);
        if (at->joint == CSIM_TREE_REVOLUTE)
            part[0] = csim_dot(csim_rotate(pose.rotation, at->axis), moment);
        else if (at->joint == CSIM_TREE_PRISMATIC)
            part[0] = csim_dot(csim_rotate(pose.rotation, at->axis), force);
        for (k = 0; k < at->dofs; k++) out[at->coord + k] += part[k];
    }
}

CSIMI_FN void csimi_tree_stop(csimi_store *s, int tree) {
    const csimi_tree *t = s->state.tree + tree;
    size_t bytes = 3 * (size_t)t->block_count * sizeof(csim_real);
    CSIMI_MEMSET(s->state.coord_rate + 3 * t->first_block, 0, bytes);
    CSIMI_MEMSET(s->coord_rep + 3 * t->first_block, 0, bytes);
}

/* ---- the public getters and setters */

static csim_status csimi_find_tree(const csim_world *w, csim_body_id id, int link, const char *fn,
                                   const csimi_tree **tree, csim_error *error) {
    int slot;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if ((s = csimi_find_body(w, id, fn, &slot, error)) != 0) return s;
    if (w->store.body[slot].kind != CSIM_BODY_TREE)
        return csimi_fail(error, CSIM_WRONG_KIND, fn, "id", true, (double)id.index1, "a tree");
    *tree = w->store.state.tree + w->store.body[slot].tree;
    if (link < 0 || link >= (*tree)->link_count)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "link", true, (double)link, "0..link_count - 1");
    return CSIM_OK;
}

/* Lines every getter and setter starts with. */
#define CSIMI_READ_TREE(w, id, link, out)                                                                 \
    const csimi_state *s;                                                                                 \
    const csimi_tree *tree = NULL;                                                                        \
    csim_status status;                                                                                   \
    if (!(w) || !(out)) return CSIM_NULL_ARGUMENT;                                                        \
    if ((status = csimi_find_tree(w, id, link, "a csim_tree function", &tree, NULL)) != 0) return status; \
    s = &(w)->store.state
#define CSIMI_OPEN_TREE(w, id, link, function)                                                     \
    csimi_store *s;                                                                                \
    const csimi_tree *tree = NULL;                                                                 \
    csim_status status;                                                                            \
    if (!(w)) return CSIM_NULL_ARGUMENT;                                                           \
    if ((w)->locked) return csimi_fail(&(w)->error, CSIM_LOCKED, function, NULL, false, 0, NULL);  \
    if ((status = csimi_find_tree(w, id, link, function, &tree, &(w)->error)) != 0) return status; \
    s = &(w)->store

CSIM_API csim_status csim_tree_sizes(const csim_world *w, csim_body_id id, int *links, int *positions, int *rates) {
    CSIMI_READ_TREE(w, id, 0, w);
    (void)s;
    if (links) *links = tree->link_count;
    if (positions) *positions = tree->position_count;
    if (rates) *rates = tree->dof_count;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_link_place(const csim_world *w, csim_body_id id, int link, int *position, int *rate,
                                          int *rates) {
    CSIMI_READ_TREE(w, id, link, w);
    if (position) *position = s->tree_link[tree->first_link + link].position;
    if (rate) *rate = s->tree_link[tree->first_link + link].dof;
    if (rates) *rates = s->tree_link[tree->first_link + link].dofs;
    return CSIM_OK;
}

/* The numbers of a position that a user sees: none, one, a quaternion, or all seven. */
static int csimi_position_part(const csimi_tree_link *link, int *first) {
    *first = link->joint == CSIM_TREE_BALL ? 3 : 0;
    return link->dofs == 3 ? 4 : link->dofs == 6 ? 7 : link->dofs;
}

CSIM_API csim_status csim_tree_get_state(const csim_world *w, csim_body_id id, csim_real *positions, csim_real *rates) {
    int i, k, first, count;
    CSIMI_READ_TREE(w, id, 0, w);
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + i;
        count = csimi_position_part(link, &first);
        for (k = 0; positions && k < count; k++) positions[link->position + k] = s->link_position[7 * i + first + k];
        for (k = 0; rates && k < link->dofs; k++)
            rates[link->dof + k] = s->coord_rate[3 * tree->first_block + link->coord + k];
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_link_parent(const csim_world *w, csim_body_id id, int link, int *parent) {
    CSIMI_READ_TREE(w, id, link, parent);
    *parent = s->tree_link[tree->first_link + link].parent;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_link_pose(const csim_world *w, csim_body_id id, int link, csim_pose *pose) {
    CSIMI_READ_TREE(w, id, link, pose);
    *pose = csimi_link_pose(s, tree->first_link + link);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_link_velocity(const csim_world *w, csim_body_id id, int link, csim_vec3 point,
                                             csim_vec3 *linear, csim_vec3 *angular) {
    CSIMI_READ_TREE(w, id, link, linear);
    *linear = csimi_link_velocity(s, tree->first_link + link, point, s->coord_rate, angular);
    return CSIM_OK;
}

/* The index of a tree behind its pointer. */
static int csimi_tree_index(const csimi_state *s, const csimi_tree *tree) { return (int)(tree - s->tree); }

CSIM_API csim_status csim_tree_mass_matrix(const csim_world *w, csim_body_id id, csim_real *M) {
    int t;
    CSIMI_READ_TREE(w, id, 0, M);
    t = csimi_tree_index(s, tree);
    csimi_tree_study(s, t, s->coord_rate + 3 * tree->first_block, NULL, s->gravity);
    csimi_tree_mass_matrix(s, t, M);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_bias(const csim_world *w, csim_body_id id, csim_real *C) {
    int t;
    CSIMI_READ_TREE(w, id, 0, C);
    t = csimi_tree_index(s, tree);
    csimi_tree_study(s, t, s->coord_rate + 3 * tree->first_block, NULL, s->gravity);
    csimi_tree_forces(s, t, C);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_inverse_dynamics(const csim_world *w, csim_body_id id, const csim_real *accelerations,
                                                csim_real *forces) {
    int t, i, k;
    CSIMI_READ_TREE(w, id, 0, forces);
    if (!accelerations) return CSIM_NULL_ARGUMENT;
    t = csimi_tree_index(s, tree);
    csimi_tree_study(s, t, s->coord_rate + 3 * tree->first_block, accelerations, s->gravity);
    csimi_tree_forces(s, t, forces);
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++)
        for (k = 0; k < s->tree_link[i].dofs; k++)
            forces[s->tree_link[i].dof + k] += s->tree_link[i].armature * accelerations[s->tree_link[i].dof + k];
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_jacobian(const csim_world *w, csim_body_id id, int link, csim_vec3 point, csim_real *J) {
    int i, k, n;
    CSIMI_READ_TREE(w, id, link, J);
    n = tree->dof_count;
    for (i = 0; i < 3 * n; i++) J[i] = 0;
    for (i = tree->first_link + link; i >= 0; i = csimi_link_above(s, i)) {
        csim_vec3 c[6];
        csimi_link_columns(s, i, point, c);
        for (k = 0; k < s->tree_link[i].dofs; k++) {
            J[s->tree_link[i].dof + k] = c[k].x;
            J[n + s->tree_link[i].dof + k] = c[k].y;
            J[2 * n + s->tree_link[i].dof + k] = c[k].z;
        }
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_get_effort(const csim_world *w, csim_body_id id, int link, csim_real *drive,
                                          csim_real *limit) {
    const csim_real *impulse;
    CSIMI_READ_TREE(w, id, link, w);
    (void)s;
    impulse = w->store.link_impulse + CSIMI_JOINT_ROWS * (tree->first_link + link);
    if (limit) *limit = w->last_h > 0 ? (impulse[0] - impulse[1]) / (csim_real)w->last_h : 0;
    if (drive) *drive = w->last_h > 0 ? impulse[3] / (csim_real)w->last_h : 0;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_shape_link(const csim_world *w, csim_body_id id, int shape, int *link) {
    const csimi_body *b;
    CSIMI_READ_TREE(w, id, 0, link);
    (void)s;
    b = w->store.body + w->store.tree_body[csimi_tree_index(&w->store.state, tree)];
    if (shape < 0 || shape >= b->shape_count) return CSIM_OUT_OF_RANGE;
    *link = w->store.shape_link[b->first_shape + shape];
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_reals(csim_error *error, const char *fn, const char *field, const csim_real *x,
                                       int n) {
    int i;
    for (i = 0; x && i < n; i++) {
        if (!csimi_finite(x[i])) return csimi_fail(error, CSIM_NOT_FINITE, fn, field, true, (double)x[i], "finite");
        if (csimi_abs(x[i]) > CSIM_R(1e15))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, field, true, (double)x[i], "-1e15..1e15");
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_state(csim_world *w, csim_body_id id, const csim_real *positions,
                                         const csim_real *rates) {
    static const char fn[] = "csim_tree_set_state";
    int i, k, first, count;
    CSIMI_OPEN_TREE(w, id, 0, fn);
    if ((status = csimi_check_reals(&w->error, fn, "positions", positions, tree->position_count)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "rates", rates, tree->dof_count)) != 0) return status;
    for (i = tree->first_link; positions && i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->state.tree_link + i;
        csim_real *q = s->state.link_position + 7 * i;
        count = csimi_position_part(link, &first);
        for (k = 0; k < count; k++) q[first + k] = positions[link->position + k];
        csimi_store_quat(q + 3, csim_quat_normalize(csimi_load_quat(q + 3)));
    }
    for (i = tree->first_link; rates && tree->mode != CSIMI_FIXED && i < tree->first_link + tree->link_count; i++)
        for (k = 0; k < s->state.tree_link[i].dofs; k++) {
            const int c = 3 * tree->first_block + s->state.tree_link[i].coord + k;
            s->state.coord_rate[c] = s->coord_rep[c] = rates[s->state.tree_link[i].dof + k];
        }
    csimi_tree_forward(&s->state, csimi_tree_index(&s->state, tree), s->state.link_position, s->state.link_pose);
    return CSIM_OK;
}

static csim_status csimi_one_coordinate(csim_world *w, const csimi_tree_link *link, csim_tree_joint ball,
                                        const char *fn) {
    if (ball == CSIM_TREE_BALL ? link->joint == CSIM_TREE_BALL : link->dofs == 1) return CSIM_OK;
    return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "joint of the link", true, (double)link->joint,
                      ball == CSIM_TREE_BALL ? "a ball joint" : "revolute or prismatic");
}

CSIM_API csim_status csim_tree_set_target(csim_world *w, csim_body_id id, int link, csim_real position,
                                          csim_real rate) {
    static const char fn[] = "csim_tree_set_target";
    csimi_tree_link *l;
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    if ((status = csimi_one_coordinate(w, l, CSIM_TREE_REVOLUTE, fn)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "position", &position, 1)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "rate", &rate, 1)) != 0) return status;
    s->state.link_target[4 * (tree->first_link + link)] = position;
    s->state.coord_target[3 * tree->first_block + l->coord] = rate;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_ball_target(csim_world *w, csim_body_id id, int link, csim_quat rotation,
                                               csim_vec3 rate) {
    static const char fn[] = "csim_tree_set_ball_target";
    csimi_tree_link *l;
    csim_pose pose = csim_pose_identity();
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    pose.rotation = rotation;
    if ((status = csimi_one_coordinate(w, l, CSIM_TREE_BALL, fn)) != 0) return status;
    if ((status = csimi_check_pose(&w->error, fn, "pose", pose)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, fn, "rate", rate)) != 0) return status;
    csimi_store_quat(s->state.link_target + 4 * (tree->first_link + link), csim_quat_normalize(rotation));
    csimi_store3(s->state.coord_target + 3 * tree->first_block + l->coord, rate);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_drive(csim_world *w, csim_body_id id, int link, csim_real stiffness,
                                         csim_real rate_gain, csim_real effort) {
    static const char fn[] = "csim_tree_set_drive";
    static const csimi_field fields[] = {CSIMI_AT_LEAST_0(csim_tree_link_def, stiffness),
                                         CSIMI_AT_LEAST_0(csim_tree_link_def, rate_gain),
                                         CSIMI_AT_LEAST_0(csim_tree_link_def, effort)};
    csim_tree_link_def d = csim_default_tree_link_def();
    csimi_tree_link *l;
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    d.stiffness = stiffness;
    d.rate_gain = rate_gain;
    d.effort = effort;
    if ((status = csimi_check_fields(&w->error, fn, &d, fields, 3)) != 0) return status;
    if (l->dofs == 6 || l->dofs == 0 || (l->dofs == 3 && effort > 0))
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "joint of the link", true, (double)l->joint,
                          "revolute or prismatic, or a ball without a limit of effort");
    if (effort > 0 && l->slack < 0)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "effort", true, (double)effort,
                          "0: the definition of this joint had no effort");
    l->stiffness = stiffness;
    l->rate_gain = rate_gain;
    l->effort = effort;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_gravity_compensation(csim_world *w, csim_body_id id, int link, csim_real share) {
    static const char fn[] = "csim_tree_set_gravity_compensation";
    csimi_tree_link *l;
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    if (l->dofs == 6)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "joint of the link", true, (double)l->joint, "not floating");
    if (!(share >= 0 && share <= 1))
        return csimi_fail(&w->error, csimi_finite(share) ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, fn, "share", true,
                          (double)share, "0..1");
    l->gravity_share = share;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_add_forces(csim_world *w, csim_body_id id, const csim_real *forces) {
    static const char fn[] = "csim_tree_add_forces";
    int i, k;
    CSIMI_OPEN_TREE(w, id, 0, fn);
    if (!forces) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, "forces", false, 0, "not null");
    if ((status = csimi_check_reals(&w->error, fn, "forces", forces, tree->dof_count)) != 0) return status;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++)
        for (k = 0; k < s->state.tree_link[i].dofs; k++)
            s->state.coord_force[3 * tree->first_block + s->state.tree_link[i].coord + k] +=
                forces[s->state.tree_link[i].dof + k];
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_add_link_force(csim_world *w, csim_body_id id, int link, csim_vec3 point,
                                              csim_vec3 force, csim_vec3 torque) {
    static const char fn[] = "csim_tree_add_link_force";
    CSIMI_OPEN_TREE(w, id, link, fn);
    if ((status = csimi_check_vec(&w->error, fn, "point", point)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, fn, "force", force)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, fn, "torque", torque)) != 0) return status;
    csimi_tree_push_link(s, tree->first_link + link, point, force, torque);
    return CSIM_OK;
}
#undef CSIMI_READ_TREE
#undef CSIMI_OPEN_TREE
