/* model/kinematics: where the links of trees are and how they move: poses, velocities, columns of J. */
#include "private.h"

CSIMI_FN int csimi_tree_dofs(csim_tree_joint joint) {
    static const int dofs[CSIM_TREE_JOINT_COUNT_] = {0, 1, 1, 3, 6};
    return dofs[joint];
}

CSIMI_FN csim_pose csimi_link_pose(const csimi_state *s, int link) {
    const csim_real *p = s->link_pose + 7 * (size_t)link;
    csim_pose pose;
    pose.position = csimi_load3(p);
    pose.rotation = csimi_load_quat(p + 3);
    return pose;
}

CSIMI_FN int csimi_link_above(const csimi_state *s, int link) {
    const csimi_tree_link *l = s->tree_link + link;
    return l->parent < 0 ? -1 : s->tree[l->tree].first_link + l->parent;
}

/* Axes of the joint where its coordinates are zero: the frame of the link in the axes of its parent. */
static csim_pose csimi_tree_joint_pose(const csimi_state *s, const csimi_tree *tree, const csimi_tree_link *link,
                                  const csim_real *pose) {
    csim_pose parent;
    (void)s;
    if (link->parent < 0) return link->frame;
    parent.position = csimi_load3(pose + 7 * (size_t)(tree->first_link + link->parent));
    parent.rotation = csimi_load_quat(pose + 7 * (size_t)(tree->first_link + link->parent) + 3);
    return csim_pose_mul(parent, link->frame);
}

CSIMI_FN void csimi_tree_forward(const csimi_state *s, int t, const csim_real *position, csim_real *pose) {
    const csimi_tree *tree = s->tree + t;
    int i;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + i;
        const csim_real *q = position + 7 * (size_t)i;
        csim_pose p = csimi_tree_joint_pose(s, tree, link, pose);
        switch (link->joint) {
        case CSIM_TREE_REVOLUTE: {
            const csim_real half = q[0] / 2, sine = CSIMI_SIN(half);
            csim_quat turn;
            turn.w = CSIMI_COS(half);
            turn.x = sine * link->axis.x;
            turn.y = sine * link->axis.y;
            turn.z = sine * link->axis.z;
            p.rotation = csim_quat_normalize(csim_quat_mul(p.rotation, turn));
            break;
        }
        case CSIM_TREE_PRISMATIC: p.position = csim_madd(p.position, q[0], csim_rotate(p.rotation, link->axis)); break;
        case CSIM_TREE_BALL: p.rotation = csim_quat_normalize(csim_quat_mul(p.rotation, csimi_load_quat(q + 3))); break;
        case CSIM_TREE_FLOATING:
            p.position = csimi_load3(q);
            p.rotation = csimi_load_quat(q + 3);
            break;
        case CSIM_TREE_FIXED:
        case CSIM_TREE_JOINT_COUNT_:
        default: break;
        }
        csimi_store3(pose + 7 * (size_t)i, p.position);
        csimi_store_quat(pose + 7 * (size_t)i + 3, p.rotation);
    }
}

CSIMI_FN csim_vec3 csimi_link_velocity(const csimi_state *s, int link, csim_vec3 x, const csim_real *rates,
                                       csim_vec3 *angular) {
    const csimi_tree *tree = s->tree + s->tree_link[link].tree;
    const csim_real *rate = rates + 3 * (size_t)tree->first_block;
    csim_vec3 v = csim_v3(0, 0, 0), w = v;
    int i;
    for (i = link; i >= tree->first_link; i = csimi_link_above(s, i)) {
        const csimi_tree_link *at = s->tree_link + i;
        const csim_real *u = rate + at->coord;
        csim_pose pose = csimi_link_pose(s, i);
        csim_vec3 turn = csim_v3(0, 0, 0);
        if (at->joint == CSIM_TREE_REVOLUTE)
            turn = csim_scale(u[0], csim_rotate(pose.rotation, at->axis));
        else if (at->joint == CSIM_TREE_PRISMATIC)
            v = csim_madd(v, u[0], csim_rotate(pose.rotation, at->axis));
        else if (at->joint == CSIM_TREE_BALL)
            turn = csimi_load3(u);
        else if (at->joint == CSIM_TREE_FLOATING) {
            v = csim_add(v, csimi_load3(u));
            turn = csimi_load3(u + 3);
        }
        v = csim_add(v, csim_cross(turn, csim_sub(x, pose.position)));
        w = csim_add(w, turn);
    }
    if (angular) *angular = w;
    return v;
}

CSIMI_FN void csimi_link_columns(const csimi_state *s, int link, csim_vec3 x, csim_vec3 *column) {
    const csimi_tree_link *at = s->tree_link + link;
    const csim_pose pose = csimi_link_pose(s, link);
    const csim_vec3 arm = csim_sub(x, pose.position);
    if (at->dofs == 1) {
        column[0] = csim_rotate(pose.rotation, at->axis);
        if (at->joint == CSIM_TREE_REVOLUTE) column[0] = csim_cross(column[0], arm);
        return;
    }
    if (at->dofs == 6) { /* moves, then turns, along and about the axes of the world */
        *column++ = csim_v3(1, 0, 0);
        *column++ = csim_v3(0, 1, 0);
        *column++ = csim_v3(0, 0, 1);
    }
    if (at->dofs > 0) {
        column[0] = csim_v3(0, -arm.z, arm.y);
        column[1] = csim_v3(arm.z, 0, -arm.x);
        column[2] = csim_v3(-arm.y, arm.x, 0);
    }
}

CSIMI_FN int csimi_link_term_count(const csimi_state *s, int link) {
    int i, j, k, count = 0;
    for (i = link; i >= 0; i = csimi_link_above(s, i))
        for (k = 0; k < s->tree_link[i].dofs; k++) {
            const int block = (s->tree_link[i].coord + k) / 3;
            bool seen = false;
            if (k > 0 && (s->tree_link[i].coord + k) % 3 != 0) continue; /* the block of the coordinate before */
            for (j = link; j != i && !seen; j = csimi_link_above(s, j))
                seen = s->tree_link[j].dofs > 0 && s->tree_link[j].coord / 3 <= block &&
                       (s->tree_link[j].coord + s->tree_link[j].dofs - 1) / 3 >= block;
            count += !seen;
        }
    return count;
}

CSIMI_FN int csimi_link_terms(const csimi_state *s, int link, csim_vec3 x, int *block, csim_real *J) {
    const int first = csimi_first_coord_block(s) + s->tree[s->tree_link[link].tree].first_block;
    int i, k, n = -1, count = 0;
    for (i = link; i >= 0; i = csimi_link_above(s, i)) {
        int at = first + s->tree_link[i].coord / 3, col = s->tree_link[i].coord % 3;
        csim_vec3 column[6];
        csimi_link_columns(s, i, x, column);
        for (k = 0; k < s->tree_link[i].dofs; k++) {
            csim_real *to;
            if (n < 0 || block[n] != at)
                for (n = count - 1; n >= 0 && block[n] != at; n--) {
                }
            if (n < 0) {
                block[n = count++] = at;
                CSIMI_MEMSET(J + 9 * (size_t)n, 0, 9 * sizeof *J);
            }
            to = J + 9 * n + col;
            to[0] = column[k].x;
            to[3] = column[k].y;
            to[6] = column[k].z;
            if (++col == 3) {
                col = 0;
                at++;
            }
        }
    }
    return count;
}
