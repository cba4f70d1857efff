/* store/tree_state: what the functions of all bodies ask of a tree, and what a program asks of trees and sets. */
#include "private.h"

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
    s->count.tree_span = 0;
    for (i = 0; i < s->count.trees; i++)
        s->count.tree_span = csimi_imax(s->count.tree_span, s->state.tree[i].block_count);
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
    csimi_look_moved(s, s->tree_body[tree]);
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
    csim_real *out = s->state.coord_force + 3 * tree->first_block, *push = s->state.link_push + 6 * link;
    const csim_vec3 arm = csim_sub(point, csimi_link_pose(&s->state, link).position);
    int i, k;
    if (tree->reactions) {
        csimi_store3(push, csim_add(csimi_load3(push), force));
        csimi_store3(push + 3, csim_add(csimi_load3(push + 3), csim_add(torque, csim_cross(arm, force))));
    }
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

CSIMI_FN void csimi_limit_soften(csimi_tree_link *link, const csim_softness *limit) {
    link->soft[0] = limit->stiffness;
    link->soft[1] = limit->damping;
    link->soft[2] = limit->frequency;
    link->soft[3] = limit->ratio;
}

/* ---- the public getters and setters */

static csim_status csimi_find_tree(const csim_world *w, csim_body_id id, int link, const char *fn,
                                   const csimi_tree **tree, csim_error *error) {
    int slot;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if ((s = csimi_find_body(w, id, fn, &slot, error)) != 0) return s;
    if (w->store.body[slot].kind != CSIM_BODY_TREE)
        return csimi_fail(error, CSIM_WRONG_KIND, fn, "id", (double)id.index1, "a tree");
    *tree = w->store.state.tree + w->store.body[slot].tree;
    if (link < 0 || link >= (*tree)->link_count)
        return csimi_unfit(error, fn, "link", (double)link, "0..link_count - 1");
    return CSIM_OK;
}

/* Lines every getter and setter starts with. */
#define CSIMI_READ_TREE(w, id, link, out)                                                                 \
    const csimi_state *s;                                                                                 \
    const csimi_tree *tree = NULL;                                                                        \
    csim_status status;                                                                                   \
    if (!(w) || !(out)) return CSIM_NULL_ARGUMENT;                                                        \
    if ((status = csimi_find_tree(w, id, link, "a csim_tree function", &tree, NULL)) != 0) return status; \
    s = &(w)->store.state;                                                                                \
    (void)s

#define CSIMI_OPEN_TREE(w, id, link, function)                                                     \
    csimi_store *s;                                                                                \
    const csimi_tree *tree = NULL;                                                                 \
    csim_status status;                                                                            \
    if (!(w)) return CSIM_NULL_ARGUMENT;                                                           \
    if ((w)->locked) return csimi_deny(&(w)->error, CSIM_LOCKED, function, NULL, NULL);            \
    if ((status = csimi_find_tree(w, id, link, function, &tree, &(w)->error)) != 0) return status; \
    s = &(w)->store

CSIM_API csim_status csim_tree_sizes(const csim_world *w, csim_body_id id, int *links, int *positions, int *rates) {
    CSIMI_READ_TREE(w, id, 0, w);
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
    csimi_tree_study(s, t, s->coord_rate + 3 * tree->first_block, NULL, tree->gravity);
    csimi_tree_mass_matrix(s, t, M);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_bias(const csim_world *w, csim_body_id id, csim_real *C) {
    int t;
    CSIMI_READ_TREE(w, id, 0, C);
    t = csimi_tree_index(s, tree);
    csimi_tree_study(s, t, s->coord_rate + 3 * tree->first_block, NULL, tree->gravity);
    csimi_tree_forces(s, t, C);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_inverse_dynamics(const csim_world *w, csim_body_id id, const csim_real *accelerations,
                                                csim_real *forces) {
    int t, i, k;
    CSIMI_READ_TREE(w, id, 0, forces);
    if (!accelerations) return CSIM_NULL_ARGUMENT;
    t = csimi_tree_index(s, tree);
    csimi_tree_study(s, t, s->coord_rate + 3 * tree->first_block, accelerations, tree->gravity);
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
    impulse = w->store.link_impulse + CSIMI_TREE_JOINT_ROWS * (tree->first_link + link);
    if (limit) *limit = w->last_h > 0 ? (impulse[0] - impulse[1]) / (csim_real)w->last_h : 0;
    if (drive) *drive = w->last_h > 0 ? impulse[3] / (csim_real)w->last_h : 0;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_get_reaction(const csim_world *w, csim_body_id id, int link, csim_vec3 *force,
                                            csim_vec3 *torque) {
    const csim_real *reaction;
    CSIMI_READ_TREE(w, id, link, w);
    if (!tree->reactions) return CSIM_WRONG_KIND;
    reaction = w->store.link_reaction + 6 * (tree->first_link + link);
    if (force) *force = csimi_load3(reaction);
    if (torque) *torque = csimi_load3(reaction + 3);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_shape_link(const csim_world *w, csim_body_id id, int shape, int *link) {
    const csimi_body *b;
    CSIMI_READ_TREE(w, id, 0, link);
    b = w->store.body + w->store.tree_body[csimi_tree_index(&w->store.state, tree)];
    if (shape < 0 || shape >= b->shape_count) return CSIM_OUT_OF_RANGE;
    *link = w->store.shape_link[b->first_shape + shape];
    return CSIM_OK;
}

static void csimi_wake_tree(csim_world *w, const csimi_tree *tree) {
    csimi_wake(w, w->store.tree_body[csimi_tree_index(&w->store.state, tree)]);
}

CSIM_API csim_status csim_tree_set_state(csim_world *w, csim_body_id id, const csim_real *positions,
                                         const csim_real *rates) {
    static const char fn[] = "csim_tree_set_state";
    int i, k, first, count;
    CSIMI_OPEN_TREE(w, id, 0, fn);
    if ((status = csimi_check_reals(&w->error, fn, "positions", positions, tree->position_count)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "rates", rates, tree->dof_count)) != 0) return status;
    csimi_wake_tree(w, tree);
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
    csimi_look_moved(s, s->tree_body[csimi_tree_index(&s->state, tree)]);
    return CSIM_OK;
}

static csim_status csimi_one_coordinate(csim_world *w, const csimi_tree_link *link, csim_tree_joint ball,
                                        const char *fn) {
    if (ball == CSIM_TREE_BALL ? link->joint == CSIM_TREE_BALL : link->dofs == 1) return CSIM_OK;
    return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "joint of the link", (double)link->joint,
                      ball == CSIM_TREE_BALL ? "a ball joint" : "revolute or prismatic");
}

/* The same aim as before wakes nobody: controllers say it in every step. */
static void csimi_tree_aim(csim_world *w, const csimi_tree *tree, csim_real *aim, const csim_real *to, int count) {
    int i;
    for (i = 0; i < count; i++) {
        if (aim[i] < to[i] || aim[i] > to[i]) csimi_wake_tree(w, tree);
        aim[i] = to[i];
    }
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
    csimi_tree_aim(w, tree, s->state.link_target + 4 * (tree->first_link + link), &position, 1);
    csimi_tree_aim(w, tree, s->state.coord_target + 3 * tree->first_block + l->coord, &rate, 1);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_ball_target(csim_world *w, csim_body_id id, int link, csim_quat rotation,
                                               csim_vec3 rate) {
    static const char fn[] = "csim_tree_set_ball_target";
    csimi_tree_link *l;
    csim_real aim[7];
    csim_pose pose = csim_pose_identity();
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    pose.rotation = rotation;
    if ((status = csimi_one_coordinate(w, l, CSIM_TREE_BALL, fn)) != 0) return status;
    if ((status = csimi_check_pose(&w->error, fn, "pose", pose)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, fn, "rate", rate)) != 0) return status;
    csimi_store_quat(aim, csim_quat_normalize(rotation));
    csimi_store3(aim + 4, rate);
    csimi_tree_aim(w, tree, s->state.link_target + 4 * (tree->first_link + link), aim, 4);
    csimi_tree_aim(w, tree, s->state.coord_target + 3 * tree->first_block + l->coord, aim + 4, 3);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_drive(csim_world *w, csim_body_id id, int link, csim_real stiffness,
                                         csim_real rate_gain, csim_real effort) {
    static const char fn[] = "csim_tree_set_drive";
    static const csimi_field fields[] = {
        CSIMI_AT_LEAST_0(csim_tree_link_def, stiffness), CSIMI_AT_LEAST_0(csim_tree_link_def, rate_gain),
        CSIMI_AT_LEAST_0(csim_tree_link_def, effort)};
    csim_tree_link_def d;
    csimi_tree_link *l;
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.stiffness = stiffness;
    d.rate_gain = rate_gain;
    d.effort = effort;
    if ((status = csimi_check_fields(&w->error, fn, &d, fields, 3)) != 0) return status;
    if (l->dofs == 6 || l->dofs == 0 || (l->dofs == 3 && effort > 0))
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "joint of the link", (double)l->joint,
                          "revolute or prismatic, or a ball without a limit of effort");
    if (effort > 0 && l->slack < 0)
        return csimi_unfit(&w->error, fn, "effort", (double)effort,
                           "0: the definition of this joint had neither effort nor effort_later");
    csimi_wake_tree(w, tree);
    l->stiffness = stiffness;
    l->rate_gain = rate_gain;
    l->effort = effort;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_limits(csim_world *w, csim_body_id id, int link, csim_real lower, csim_real upper) {
    static const char fn[] = "csim_tree_set_limits";
    csimi_tree_link *l;
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    if ((status = csimi_one_coordinate(w, l, CSIM_TREE_REVOLUTE, fn)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "lower", &lower, 1)) != 0) return status;
    if ((status = csimi_check_reals(&w->error, fn, "upper", &upper, 1)) != 0) return status;
    csimi_wake_tree(w, tree);
    l->lower = lower;
    l->upper = upper;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_limit_softness(csim_world *w, csim_body_id id, int link,
                                                  const csim_softness *limit) {
    static const char fn[] = "csim_tree_set_limit_softness";
    csimi_tree_link *l;
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    if (!limit) return csimi_missing(&w->error, fn, "limit");
    if ((status = csimi_one_coordinate(w, l, CSIM_TREE_REVOLUTE, fn)) != 0) return status;
    if ((status = csimi_check_softness(&w->error, fn, limit)) != 0) return status;
    if (csimi_is_soft(limit) && l->yield < 0)
        return csimi_deny(&w->error, CSIM_OUT_OF_RANGE, fn, "limit",
                          "all 0: the definition of this joint had hard limits");
    csimi_wake_tree(w, tree);
    csimi_limit_soften(l, limit);
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_friction(csim_world *w, csim_body_id id, int link, csim_real damping,
                                            csim_real friction) {
    static const char fn[] = "csim_tree_set_friction";
    static const csimi_field fields[] = {
        CSIMI_AT_LEAST_0(csim_tree_link_def, damping), CSIMI_AT_LEAST_0(csim_tree_link_def, friction)};
    csim_tree_link_def d;
    csimi_tree_link *l;
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.damping = damping;
    d.friction = friction;
    if ((status = csimi_check_fields(&w->error, fn, &d, fields, 2)) != 0) return status;
    if (friction > 0 && (status = csimi_one_coordinate(w, l, CSIM_TREE_REVOLUTE, fn)) != 0) return status;
    csimi_wake_tree(w, tree);
    l->damping = damping;
    l->friction = friction;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_set_gravity_compensation(csim_world *w, csim_body_id id, int link, csim_real share) {
    static const char fn[] = "csim_tree_set_gravity_compensation";
    csimi_tree_link *l;
    CSIMI_OPEN_TREE(w, id, link, fn);
    l = s->state.tree_link + tree->first_link + link;
    if (l->dofs == 6)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "joint of the link", (double)l->joint, "not floating");
    if (!(share >= 0 && share <= 1))
        return csimi_fail(&w->error, csimi_finite(share) ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, fn, "share",
                          (double)share, "0..1");
    csimi_wake_tree(w, tree);
    l->gravity_share = share;
    return CSIM_OK;
}

CSIM_API csim_status csim_tree_add_forces(csim_world *w, csim_body_id id, const csim_real *forces) {
    static const char fn[] = "csim_tree_add_forces";
    int i, k;
    CSIMI_OPEN_TREE(w, id, 0, fn);
    if (!forces) return csimi_missing(&w->error, fn, "forces");
    if ((status = csimi_check_reals(&w->error, fn, "forces", forces, tree->dof_count)) != 0) return status;
    for (i = 0; i < tree->dof_count; i++)
        if (forces[i] < 0 || forces[i] > 0) csimi_wake_tree(w, tree);
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
    if (csim_dot(force, force) > 0 || csim_dot(torque, torque) > 0) csimi_wake_tree(w, tree);
    csimi_tree_push_link(s, tree->first_link + link, point, force, torque);
    return CSIM_OK;
}

#undef CSIMI_READ_TREE
#undef CSIMI_OPEN_TREE
