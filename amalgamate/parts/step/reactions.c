/* step/reactions: what the joints of trees carry. Newton's laws for all that hangs on a joint: the accelerations of the
   step and the weight ask for a force (Newton-Euler, csimi_tree_study); what contacts, links of the world, pushes and
   damping do not give comes through the joint. */
#include "private.h"

/* An impulse at a point, and a couple, on what a place is on. */
static void csimi_react(csim_world *w, const csimi_place *p, csim_real sign, csim_vec3 impulse, csim_vec3 point,
                        csim_vec3 couple) {
    const csimi_state *s = &w->store.state;
    csim_real *out;
    csim_vec3 arm;
    if (p->kind != CSIMI_PLACE_LINK || !s->tree[s->tree_link[p->item].tree].reactions) return;
    out = w->store.link_reaction + 6 * (size_t)p->item;
    /* about the origin of the tree, as csimi_tree_study has its forces: sums need no shifting from link to link */
    arm = csim_sub(point, csimi_link_pose(s, s->tree[s->tree_link[p->item].tree].first_link).position);
    csimi_store3(out, csim_madd(csimi_load3(out), sign, impulse));
    csimi_store3(out + 3, csim_madd(csimi_load3(out + 3), sign, csim_add(couple, csim_cross(arm, impulse))));
}

/* Row i of the frame in world axes. */
static csim_vec3 csimi_row_impulse(const csimi_step_frame *f, int i) {
    csim_real world[3] = {0, 0, 0};
    if (i >= 0) csimi_addmulT3(f->contacts[i].R, f->lambda + 3 * (size_t)i, world);
    return csimi_load3(world);
}

static void csimi_react_contacts(csim_world *w, const csimi_step_frame *f) {
    const csim_vec3 none = csim_v3(0, 0, 0);
    int i, rolling = f->found_count; /* rows of rolling: behind those of contacts, in their order */
    for (i = 0; i < f->found_count; i++) {
        const csimi_found_contact *found = f->found + i;
        const bool kept = csimi_keeps(w) && f->kept[i].kept.pair;
        const csim_vec3 impulse = csimi_row_impulse(f, i);
        const csim_real bound = csimi_rolling_bound(w, f, found);
        csimi_react(w, &found->a, 1, impulse, found->meet, none);
        /* a kept row acts on b at the arm that it was found with */
        csimi_react(w, &found->b, -1, impulse, kept ? f->kept[i].meet_b : found->meet, none);
        if (bound > 0) {
            /* hi = bound / scale: the factor is the scale of the row, and the couple N m s */
            const csim_vec3 couple = csim_scale(bound / f->contacts[rolling].hi[0], csimi_row_impulse(f, rolling));
            csimi_react(w, &found->a, 1, none, found->meet, couple);
            csimi_react(w, &found->b, -1, none, found->meet, couple);
            rolling++;
        }
    }
}

#ifndef CONDSIM_NO_JOINTS
/* A gear on the coordinate of a hinge or slider. */
static CSIMI_NOINLINE void csimi_react_geared(csim_world *w, const csimi_joint *j, csim_real impulse) {
    const csimi_joint_pose p = csimi_joint_at(&w->store.state, j);
    const csim_vec3 along = csim_scale(impulse, csim_rotate(p.base, csim_v3(1, 0, 0))), none = csim_v3(0, 0, 0);
    const bool turn = j->kind == CSIM_JOINT_HINGE; /* its coordinate is an angle: a couple, no push */
    int end;
    for (end = 0; end < 2; end++)
        /* both at one point: equal and opposite there, they leave no couple over */
        csimi_react(w, j->end + end, end ? -1 : 1, turn ? none : along, p.a, turn ? along : none);
}

/* Push and couple of all rows of a joint. */
static CSIMI_NOINLINE void csimi_joint_pull(const csim_world *w, const csimi_step_frame *f, const csimi_joint *j,
                                            csim_vec3 *push, csim_vec3 *couple) {
    const csimi_axes *ax = j->axes >= 0 ? w->store.axes + j->axes : NULL;
    const csim_vec3 limit = csimi_row_impulse(f, j->row[CSIMI_ROW_LIMIT]);
    int line, k;
    *push = csimi_row_impulse(f, j->row[CSIMI_ROW_POINT]);
    *couple = csimi_row_impulse(f, j->row[CSIMI_ROW_TURN]);
    if (j->kind == CSIM_JOINT_HINGE)
        *couple = csim_add(*couple, limit);
    else
        *push = csim_add(*push, limit);
    for (line = 0; line < CSIMI_AXES_LINES && ax; line++) {
        const csim_real *lambda = f->lambda + 3 * (size_t)(ax->row[line] < 0 ? 0 : ax->row[line]);
        if (line % 2 == 0) *push = csim_add(*push, csimi_row_impulse(f, ax->row[line])); /* even lines push, odd turn */
        for (k = 0; k < 3 && line % 2 && ax->row[line] >= 0; k++) {
            const bool cone = line / 2 == CSIMI_LINE_LIMIT / 2 && k == 1 && ax->cone[0] > 0;
            /* about the directions of the axes (twist, swings; cone: the fourth), not those of R */
            *couple = csim_madd(*couple, lambda[k], csimi_load3(ax->turn + 3 * (cone ? 3 : k)));
        }
    }
    *couple = csim_scale(j->scale, *couple); /* rows of turns hold scale times the angle, m */
}

static CSIMI_NOINLINE void csimi_react_joint(csim_world *w, const csimi_step_frame *f, const csimi_joint *j) {
    csimi_joint_pose p;
    csim_vec3 push, couple;
    bool apart;
    int k;
    if (j->kind == CSIM_JOINT_GEAR) {
        const csim_real impulse = j->row[CSIMI_ROW_POINT] < 0 ? 0 : j->scale * f->lambda[3 * j->row[CSIMI_ROW_POINT]];
        for (k = 0; k < 2; k++)
            /* the row of a gear is q_1 - ratio q_2 */
            if (csimi_geared(w, j, k)) csimi_react_geared(w, csimi_geared(w, j, k), k ? -j->ratio * impulse : impulse);
        return;
    }
    p = csimi_joint_at(&w->store.state, j);
    apart = j->axes >= 0 ? csimi_axes_points(j, w->store.axes + j->axes) : j->kind != CSIM_JOINT_SLIDER;
    csimi_joint_pull(w, f, j, &push, &couple);
    csimi_react(w, j->end, 1, push, p.a, couple);
    csimi_react(w, j->end + 1, -1, push, apart ? p.b : p.a, couple); /* where the rows of the joint act */
}
#endif

#ifndef CONDSIM_NO_SPRINGS
static CSIMI_NOINLINE void csimi_react_spring(csim_world *w, const csimi_step_frame *f, const csimi_step *step, int i) {
    const csimi_state *s = &w->store.state;
    const csimi_place *end = s->spring + 2 * i;
    const csim_vec3 pull = csimi_spring_impulse(s, step, i, f->v), none = csim_v3(0, 0, 0);
    csimi_react(w, end, 1, pull, csimi_place_point(s, end), none);
    csimi_react(w, end + 1, -1, pull, csimi_place_point(s, end + 1), none);
}
#endif

static CSIMI_NOINLINE void csimi_react_push(csim_world *w, const csimi_step_frame *f, int link) {
    csim_real *push = w->store.state.link_push + 6 * link;
    const csim_vec3 point = csimi_link_pose(&w->store.state, link).position;
    const csimi_place p = csimi_place_link(&w->store.state, link, point);
    csimi_react(w, &p, f->h, csimi_load3(push), point, csimi_load3(push + 3));
    CSIMI_MEMSET(push, 0, 6 * sizeof *push);
}

/* link_reaction holds the impulses on each link, about the origin of the tree, and becomes what its joint carries. */
static void csimi_react_tree(csim_world *w, csimi_step_frame *f, int t) {
    csimi_state *s = &w->store.state;
    const csimi_tree *tree = s->tree + t;
    const size_t at = 3 * (size_t)(csimi_first_coord_block(s) + tree->first_block);
    csim_real *acceleration = f->v_end + at; /* room: the state after the step has its velocities */
    int i, k;
    /* from the leaves: what acts on a link acts on all joints between it and the root */
    for (i = tree->first_link + tree->link_count - 1; i > tree->first_link; i--)
        for (k = 0; k < 6; k++)
            w->store.link_reaction[6 * (tree->first_link + s->tree_link[i].parent) + k] +=
                w->store.link_reaction[6 * i + k];
    if (tree->mass_damping > 0) {
        csimi_tree_study(s, t, f->v + at, NULL, tree->gravity);
        for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
            csim_real *out = w->store.link_reaction + 6 * i;
            const csim_real lost = -f->h * tree->mass_damping; /* from A += h alpha M; H: momentum behind the joint */
            csimi_store3(out, csim_madd(csimi_load3(out), lost, s->link_work[i].H.v));
            csimi_store3(out + 3, csim_madd(csimi_load3(out + 3), lost, s->link_work[i].H.w));
        }
    }
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++)
        for (k = 0; k < s->tree_link[i].dofs; k++) {
            const size_t c = at + (size_t)(s->tree_link[i].coord + k);
            /* v_{k+1} - v_k = (v - v_k) / theta */
            acceleration[s->tree_link[i].dof + k] = (f->v[c] - f->vk[c]) / (f->theta * f->h);
        }
    csimi_tree_study(s, t, f->vk + at, acceleration, tree->gravity); /* C v_k as the step had it */
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        csim_real *out = w->store.link_reaction + 6 * i;
        const csimi_link_work *work = s->link_work + i;
        /* F moves all that hangs on the joint; what others gave of it, impulses over h, the joint did not */
        const csim_vec3 force = csim_madd(work->F.v, -1 / f->h, csimi_load3(out));
        const csim_vec3 moment = csim_madd(work->F.w, -1 / f->h, csimi_load3(out + 3));
        csimi_store3(out, force);
        csimi_store3(out + 3, csim_sub(moment, csim_cross(work->r, force))); /* about the origin of the link */
    }
}

CSIMI_FN void csimi_trees_react(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    const csimi_store *s = &w->store;
    bool any = false;
    int i, t;
    for (t = 0; t < s->count.trees; t++) any = any || s->state.tree[t].reactions;
    if (!any) return;
    CSIMI_MEMSET(s->link_reaction, 0, 6 * sizeof(csim_real) * (size_t)s->count.tree_links);
    csimi_react_contacts(w, f);
#ifndef CONDSIM_NO_SPRINGS
    for (i = 0; i < s->count.springs; i++) csimi_react_spring(w, f, step, i);
#endif
#ifndef CONDSIM_NO_JOINTS
    for (i = 0; i < s->count.joints; i++) csimi_react_joint(w, f, s->joint + i);
#endif
    for (i = 0; i < s->count.tree_links; i++) csimi_react_push(w, f, i);
    for (t = 0; t < s->count.trees; t++) {
        const csimi_tree *tree = s->state.tree + t;
        if (tree->reactions && tree->mode == CSIMI_FREE)
            csimi_react_tree(w, f, t);
        else
            /* trees that are held tell 0, not what contacts have left here */
            CSIMI_MEMSET(s->link_reaction + 6 * tree->first_link, 0, 6 * sizeof(csim_real) * (size_t)tree->link_count);
    }
    (void)step;
}
