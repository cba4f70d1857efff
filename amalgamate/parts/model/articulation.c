/* model/articulation: articulated bodies in reduced coordinates.

   All spatial vectors are in world axes about the origin o of the first link, taken as a point at rest at this instant:
   a motion is (velocity of the body's point at o, angular velocity), a force is (force, moment about o). Nothing has to
   be moved from link to link, so the mass matrix and the bias are plain sums over the tree (Featherstone 2008, ch. 5
   and 6, in these coordinates). */
#include "private.h"

/* ---- spatial algebra */

static csimi_twist csimi_twist_add(csimi_twist a, csimi_twist b) {
    csimi_twist c;
    c.v = csim_add(a.v, b.v);
    c.w = csim_add(a.w, b.w);
    return c;
}

static csimi_twist csimi_twist_madd(csimi_twist a, csim_real s, csimi_twist b) {
    csimi_twist c;
    c.v = csim_madd(a.v, s, b.v);
    c.w = csim_madd(a.w, s, b.w);
    return c;
}

static csim_real csimi_twist_dot(const csimi_twist *a, const csimi_twist *b) {
    return csim_dot(a->v, b->v) + csim_dot(a->w, b->w);
}

/* d/dt of a motion that is carried along by the motion a. */
static csimi_twist csimi_twist_cross(const csimi_twist *a, const csimi_twist *b) {
    csimi_twist c;
    c.v = csim_add(csim_cross(a->w, b->v), csim_cross(a->v, b->w));
    c.w = csim_cross(a->w, b->w);
    return c;
}

/* d/dt of a momentum that is carried along by the motion a. */
static csimi_twist csimi_twist_cross_force(const csimi_twist *a, const csimi_twist *f) {
    csimi_twist c;
    c.v = csim_cross(a->w, f->v);
    c.w = csim_add(csim_cross(a->w, f->w), csim_cross(a->v, f->v));
    return c;
}

/* Momentum of an inertia about o: mass m, first moment mc, second moment I (xx, xy, xz, yy, yz, zz). */
CSIM_INLINE csimi_twist csimi_inertia_mul(const csimi_composite *c, const csimi_twist *x) {
    const csim_real *I = c->I;
    csimi_twist y;
    y.v = csim_madd(csim_cross(x->w, c->mc), c->m, x->v);
    y.w = csim_add(csim_cross(c->mc, x->v),
                   csim_v3(I[0] * x->w.x + I[1] * x->w.y + I[2] * x->w.z, I[1] * x->w.x + I[3] * x->w.y + I[4] * x->w.z,
                           I[2] * x->w.x + I[4] * x->w.y + I[5] * x->w.z));
    return y;
}

static csimi_twist csimi_twist_zero(void) {
    csimi_twist t;
    t.v = t.w = csim_v3(0, 0, 0);
    return t;
}

/* ---- kinematics */

/* Column k of a joint: the motion about o that a unit of this coordinate gives to all that hangs on the joint. Ball and
   floating joints turn about world axes through their own origin. */
static csimi_twist csimi_tree_joint_column(const csimi_tree_link *link, const csimi_link_work *work, int k) {
    csimi_twist s;
    csim_real e[3] = {0, 0, 0};
    if (link->joint == CSIM_TREE_REVOLUTE || link->joint == CSIM_TREE_PRISMATIC) return work->S;
    e[k % 3] = 1;
    if (link->joint == CSIM_TREE_FLOATING && k < 3) {
        s.v = csimi_load3(e);
        s.w = csim_v3(0, 0, 0);
    } else {
        s.w = csimi_load3(e);
        s.v = csim_cross(work->r, s.w);
    }
    return s;
}

/* Force along each coordinate of a joint. */
CSIM_INLINE void csimi_tree_joint_project(const csimi_tree_link *link, const csimi_link_work *work,
                                          const csimi_twist *F, csim_real *force) {
    if (link->dofs == 1) {
        force[0] = csimi_twist_dot(&work->S, F);
    } else if (link->dofs > 1) { /* unit forces, and unit moments about the joint's own origin */
        if (link->dofs == 6) csimi_store3(force, F->v);
        csimi_store3(force + link->dofs - 3, csim_add(F->w, csim_cross(F->v, work->r)));
    }
}

/* Motion of a joint with the rates u of its own coordinates. */
static csimi_twist csimi_tree_joint_motion(const csimi_tree_link *link, const csimi_link_work *work,
                                           const csim_real *u) {
    csimi_twist m = csimi_twist_zero();
    switch (link->joint) {
    case CSIM_TREE_REVOLUTE:
    case CSIM_TREE_PRISMATIC: return csimi_twist_madd(m, u[0], work->S);
    case CSIM_TREE_BALL:
        m.w = csimi_load3(u);
        m.v = csim_cross(work->r, m.w);
        break;
    case CSIM_TREE_FLOATING:
        m.w = csimi_load3(u + 3);
        m.v = csim_add(csimi_load3(u), csim_cross(work->r, m.w));
        break;
    case CSIM_TREE_FIXED:
    case CSIM_TREE_JOINT_COUNT_:
    default: break;
    }
    return m;
}

/* The part of the joint's acceleration that its rates make by themselves: dS/dt u. An axis fixed in the link is carried
   along; a ball's world axes stay while its centre moves. */
static csimi_twist csimi_tree_joint_drift(const csimi_tree_link *link, const csimi_link_work *work,
                                          const csimi_twist *motion, const csimi_twist *parent) {
    csimi_twist a = csimi_twist_zero();
    switch (link->joint) {
    case CSIM_TREE_REVOLUTE:
    case CSIM_TREE_PRISMATIC: return csimi_twist_cross(parent, motion);
    case CSIM_TREE_BALL: /* the centre moves with the parent */
        a.v = csim_cross(csim_add(parent->v, csim_cross(parent->w, work->r)), motion->w);
        break;
    case CSIM_TREE_FLOATING: /* r is zero: v is the velocity of the origin */
        a.v = csim_cross(motion->v, motion->w);
        break;
    case CSIM_TREE_FIXED:
    case CSIM_TREE_JOINT_COUNT_:
    default: break;
    }
    return a;
}

/* ---- one pass out, one pass in */

/* Inertia of a link about o in world axes. */
static csimi_composite csimi_link_inertia(const csimi_tree_link *link, csim_quat q, csim_vec3 r) {
    csim_mat3 R = csim_quat_matrix(q);
    csimi_composite c;
    csim_real RI[9];
    csim_vec3 d = csim_add(r, csim_rotate(q, link->com));
    const csim_real *I = link->inertia;
    int i;
    for (i = 0; i < 9; i += 3) {
        const csim_real x = R.m[i], y = R.m[i + 1], z = R.m[i + 2];
        RI[i] = x * I[0] + y * I[1] + z * I[2];
        RI[i + 1] = x * I[1] + y * I[3] + z * I[4];
        RI[i + 2] = x * I[2] + y * I[4] + z * I[5];
    }
    c.m = link->mass;
    c.mc = csim_scale(link->mass, d);
    c.I[0] = RI[0] * R.m[0] + RI[1] * R.m[1] + RI[2] * R.m[2] + c.m * (d.y * d.y + d.z * d.z);
    c.I[1] = RI[0] * R.m[3] + RI[1] * R.m[4] + RI[2] * R.m[5] - c.m * d.x * d.y;
    c.I[2] = RI[0] * R.m[6] + RI[1] * R.m[7] + RI[2] * R.m[8] - c.m * d.x * d.z;
    c.I[3] = RI[3] * R.m[3] + RI[4] * R.m[4] + RI[5] * R.m[5] + c.m * (d.x * d.x + d.z * d.z);
    c.I[4] = RI[3] * R.m[6] + RI[4] * R.m[7] + RI[5] * R.m[8] - c.m * d.y * d.z;
    c.I[5] = RI[6] * R.m[6] + RI[7] * R.m[7] + RI[8] * R.m[8] + c.m * (d.x * d.x + d.y * d.y);
    return c;
}

/* r and S of every link: all that Jacobians need. */
static void csimi_tree_columns(const csimi_state *s, const csimi_tree *tree) {
    csim_vec3 o = csimi_load3(s->link_pose + 7 * (size_t)tree->first_link);
    int i;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + i;
        csimi_link_work *work = s->link_work + i;
        csim_pose pose = csimi_link_pose(s, i);
        work->r = csim_sub(pose.position, o);
        work->S = csimi_twist_zero();
        if (link->joint == CSIM_TREE_REVOLUTE) {
            work->S.w = csim_rotate(pose.rotation, link->axis);
            work->S.v = csim_cross(work->r, work->S.w);
        } else if (link->joint == CSIM_TREE_PRISMATIC) {
            work->S.v = csim_rotate(pose.rotation, link->axis);
        }
    }
}

CSIMI_FN void csimi_tree_study(const csimi_state *s, int t, const csim_real *rate, const csim_real *acceleration,
                               csim_real gravity) {
    const csimi_tree *tree = s->tree + t;
    int i, k;
    csimi_tree_columns(s, tree);
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + i;
        csimi_link_work *work = s->link_work + i;
        csimi_twist V = csimi_twist_zero(), A = csimi_twist_zero(), motion;
        csimi_twist momentum;
        if (link->parent >= 0) {
            V = s->link_work[tree->first_link + link->parent].V;
            A = s->link_work[tree->first_link + link->parent].A;
        } else {
            A.v = csim_scale(-gravity, csimi_load3(s->gravity)); /* as an upward acceleration of the world, once */
        }
        motion = csimi_tree_joint_motion(link, work, rate + link->coord);
        A = csimi_twist_add(A, csimi_tree_joint_drift(link, work, &motion, &V));
        for (k = 0; acceleration && k < link->dofs; k++)
            A = csimi_twist_madd(A, acceleration[link->dof + k], csimi_tree_joint_column(link, work, k));
        work->V = csimi_twist_add(V, motion);
        work->A = A;
        work->C = csimi_link_inertia(link, csimi_load_quat(s->link_pose + 7 * (size_t)i + 3), work->r);
        momentum = csimi_inertia_mul(&work->C, &work->V);
        work->H = momentum;
        work->F = csimi_twist_add(csimi_inertia_mul(&work->C, &A), csimi_twist_cross_force(&work->V, &momentum));
    }
    for (i = tree->first_link + tree->link_count - 1; i >= tree->first_link; i--) {
        const csimi_tree_link *link = s->tree_link + i;
        const csimi_link_work *work = s->link_work + i;
        csimi_link_work *parent = s->link_work + tree->first_link + link->parent;
        if (link->parent < 0) continue;
        parent->F = csimi_twist_add(parent->F, work->F);
        parent->H = csimi_twist_add(parent->H, work->H);
        parent->C.m += work->C.m;
        parent->C.mc = csim_add(parent->C.mc, work->C.mc);
        for (k = 0; k < 6; k++) parent->C.I[k] += work->C.I[k];
    }
}

CSIMI_FN void csimi_tree_forces(const csimi_state *s, int t, csim_real *force) {
    const csimi_tree *tree = s->tree + t;
    int i;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++)
        csimi_tree_joint_project(s->tree_link + i, s->link_work + i, &s->link_work[i].F, force + s->tree_link[i].dof);
}

CSIMI_FN double csimi_tree_power(const csimi_state *s, int t, const csim_real *rate, const csim_real *studied) {
    const csimi_tree *tree = s->tree + t;
    double sum = 0;
    int i, k;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + i;
        csim_real force[6];
        csimi_tree_joint_project(link, s->link_work + i, studied ? &s->link_work[i].H : &s->link_work[i].F, force);
        for (k = 0; k < link->dofs; k++) {
            if (studied) force[k] += link->armature * studied[link->coord + k];
            sum += (double)(rate[link->coord + k] * force[k]);
        }
    }
    return sum;
}

/* Articulated bodies (Featherstone 2008, ch. 7), a coordinate at a time: to who pushes at a joint, what hangs on it is
   as heavy as its composite is, less what the joints below give way. */
CSIMI_FN bool csimi_tree_pushed(const csimi_state *s, int t, csimi_giving *give) {
    const csimi_tree *tree = s->tree + t;
    const csim_real *force = s->coord_force + 3 * (size_t)tree->first_block;
    bool pushed = false;
    int i, k, c;
    for (k = 0; k < 3 * tree->block_count; k++) pushed = pushed || force[k] < 0 || force[k] > 0;
    if (!pushed) return false;
    CSIMI_MEMSET(give, 0, (size_t)tree->link_count * sizeof *give);
    for (i = tree->link_count - 1; i >= 0; i--) {
        const csimi_tree_link *link = s->tree_link + tree->first_link + i;
        const csimi_link_work *work = s->link_work + tree->first_link + i;
        csimi_giving *own = give + i, *above = give + csimi_imax(link->parent, 0);
        for (k = link->dofs; k-- > 0;) {
            const csimi_twist S = csimi_tree_joint_column(link, work, k);
            csimi_twist U = csimi_inertia_mul(&work->C, &S);
            const csim_real least = CSIMI_EPS * csimi_twist_dot(&S, &U);
            csim_real u[6], mass;
            for (c = 0; c < 6; c++) u[c] = csimi_twist_dot(own->G + c, &S);
            U.v = csim_sub(U.v, csimi_load3(u)), U.w = csim_sub(U.w, csimi_load3(u + 3));
            mass = csimi_twist_dot(&S, &U) + link->armature;
            if (!(mass > least)) continue; /* it is what rounding left */
            own->carry[k] = csimi_twist_madd(csimi_twist_zero(), 1 / mass, U);
            own->rate[k] = (force[link->coord + k] - csimi_twist_dot(&S, &own->F)) / mass;
            csimi_store3(u, U.v), csimi_store3(u + 3, U.w);
            for (c = 0; c < 6; c++) own->G[c] = csimi_twist_madd(own->G[c], u[c], own->carry[k]);
            own->F = csimi_twist_madd(own->F, own->rate[k], U);
        }
        for (c = 0; c < 6 && link->parent >= 0; c++) above->G[c] = csimi_twist_add(above->G[c], own->G[c]);
        if (link->parent >= 0) above->F = csimi_twist_add(above->F, own->F);
    }
    for (i = 0; i < tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + tree->first_link + i;
        csimi_twist A = link->parent < 0 ? csimi_twist_zero() : give[link->parent].A;
        for (k = 0; k < link->dofs; k++)
            A = csimi_twist_madd(A, give[i].rate[k] - csimi_twist_dot(give[i].carry + k, &A),
                                 csimi_tree_joint_column(link, s->link_work + tree->first_link + i, k));
        give[i].A = A;
    }
    return true;
}

/* Force that the weight of all that hangs on a joint puts on coordinate k of it. */
static csim_real csimi_tree_joint_weight(const csimi_state *s, int i, int k) {
    const csimi_composite *c = &s->link_work[i].C;
    csim_vec3 g = csim_scale(s->tree[s->tree_link[i].tree].gravity, csimi_load3(s->gravity));
    const csimi_twist S = csimi_tree_joint_column(s->tree_link + i, s->link_work + i, k);
    return csim_dot(S.v, csim_scale(c->m, g)) + csim_dot(S.w, csim_cross(c->mc, g));
}

/* ---- the mass matrix */

/* Index in A.val of block (i, j) of the tree: j is a block of the base, or of the limb that i belongs to, or i is of
   the base. */
static size_t csimi_tree_slot(const csimi_state *s, const csimi_tree *tree, int i, int j) {
    return (size_t)(s->coord_slot[2 * (tree->first_block + i) + (j >= tree->base_blocks)] + j);
}

/* The same for neighbours from d on, the coordinates of one joint. */
static void csimi_tree_row_add_joint(const csimi_tree_row *row, int d, int count, csim_real scale, const csim_real *m) {
    csim_real *to = row->part[d >= row->split] + d + 6 * (d / 3);
    int l, col = d % 3;
    for (l = 0; l < count; l++) {
        *to++ += scale * m[l];
        if (++col < 3) continue;
        col = 0;
        to += 6; /* the next block */
    }
}

/* Entries above the diagonal from those below. */
static void csimi_tree_mirror(const csimi_state *s, const csimi_tree *tree, csim_real *val) {
    int i, j, k;
    for (i = 0; i < tree->block_count; i++) {
        const int limb = s->coord_limb[2 * (tree->first_block + i)];
        for (j = 0; j < i; j++) {
            const csim_real *low;
            csim_real *high;
            if (j >= tree->base_blocks && s->coord_limb[2 * (tree->first_block + j)] != limb) continue;
            low = val + 9 * csimi_tree_slot(s, tree, i, j);
            high = val + 9 * csimi_tree_slot(s, tree, j, i);
            for (k = 0; k < 3; k++, high += 3) {
                high[0] = low[k];
                high[1] = low[k + 3];
                high[2] = low[k + 6];
            }
        }
        {
            csim_real *own = val + 9 * csimi_tree_slot(s, tree, i, i);
            own[1] = own[3];
            own[2] = own[6];
            own[5] = own[7];
        }
    }
}

/* Composite rigid bodies: what hangs on a joint against the columns of all joints above it. scale M goes into the lower
   halves of the blocks of A, or M into full [dofs x dofs] in the order of the links where that is given. */
static void csimi_tree_mass(const csimi_state *s, const csimi_tree *tree, csim_real scale, csim_real *val,
                            csim_real *full) {
    const size_t n = (size_t)tree->dof_count;
    int i, j, k, l;
    for (i = tree->first_link + tree->link_count - 1; i >= tree->first_link; i--) {
        const csimi_tree_link *link = s->tree_link + i;
        const csimi_link_work *work = s->link_work + i;
        for (k = 0; k < link->dofs; k++) {
            const csimi_twist S = csimi_tree_joint_column(link, work, k), F = csimi_inertia_mul(&work->C, &S);
            const csimi_tree_row to = csimi_tree_row_of(s, tree, link->coord + k, val);
            for (j = i; j >= 0; j = csimi_link_above(s, j)) {
                const csimi_tree_link *above = s->tree_link + j;
                const int count = j == i ? k + 1 : above->dofs;
                csim_real m[6];
                csimi_tree_joint_project(above, s->link_work + j, &F, m);
                if (j == i) m[k] += link->armature;
                if (!full) csimi_tree_row_add_joint(&to, above->coord, count, scale, m);
                for (l = 0; l < count && full; l++) {
                    const size_t row = (size_t)(link->dof + k), col = (size_t)(above->dof + l);
                    full[n * row + col] = full[n * col + row] = m[l];
                }
            }
        }
    }
}

CSIMI_FN void csimi_tree_mass_matrix(const csimi_state *s, int t, csim_real *M) {
    const csimi_tree *tree = s->tree + t;
    const size_t n = (size_t)tree->dof_count;
    size_t i;
    for (i = 0; i < n * n; i++) M[i] = 0;
    csimi_tree_mass(s, tree, 1, NULL, M);
}

/* ---- drives */

/* How far a joint is from its target, along its coordinates: target - position, for a ball the rotation vector (world
   axes) that turns it onto the target. */
CSIMI_FN void csimi_drive_error(const csimi_state *s, int i, csim_real *error) {
    const csimi_tree_link *link = s->tree_link + i;
    const csim_real *q = s->link_position + 7 * (size_t)i, *target = s->link_target + 4 * (size_t)i;
    error[0] = error[1] = error[2] = 0;
    if (link->joint == CSIM_TREE_BALL) {
        const csim_quat Q = csimi_load_quat(q + 3);
        csim_quat d = csim_quat_mul(csimi_load_quat(target), csim_quat_conj(Q));
        const csim_real sine = CSIMI_SQRT(d.x * d.x + d.y * d.y + d.z * d.z);
        csim_real angle = 2 * CSIMI_ATAN2(sine, csimi_abs(d.w));
        csim_vec3 e = csim_v3(d.x, d.y, d.z), v;
        if (d.w < 0) angle = -angle; /* the short way round */
        v = sine > 0 ? csim_scale(angle / sine, e) : csim_v3(0, 0, 0);
        /* so far in the axes of the joint, which are those of the link turned back by Q */
        csimi_store3(error, csim_rotate(csimi_link_pose(s, i).rotation, csim_unrotate(Q, v)));
    } else if (link->dofs == 1) {
        error[0] = target[0] - q[0];
    }
}

/* ---- limits */

CSIMI_FN csimi_tree_end csimi_tree_end_of(const csimi_state *s, int i, csim_real h, csim_real sign) {
    const csimi_tree_link *l = s->tree_link + i;
    const csim_real q = s->link_position[7 * (size_t)i], range = l->upper - l->lower;
    csimi_tree_end end;
    end.rate = sign * s->coord_rate[3 * (size_t)s->tree[l->tree].first_block + (size_t)l->coord];
    end.gap = sign > 0 ? q - l->lower : l->upper - q;
    end.near = l->lower <= l->upper && !(end.gap > 2 * h * csimi_abs(end.rate) + range / 50);
    return end;
}

/* Stiffness and damping of soft limits; a frequency is that of what hangs on the joint, which is held above it. */
static void csimi_tree_soft_limit(const csimi_state *s, int i, csim_real *stiffness, csim_real *damping) {
    const csimi_tree_link *link = s->tree_link + i;
    const csim_real omega = 2 * CSIMI_PI * link->soft[2];
    const csimi_twist S = csimi_tree_joint_column(link, s->link_work + i, 0);
    const csimi_twist F = csimi_inertia_mul(&s->link_work[i].C, &S);
    const csim_real mass = csimi_twist_dot(&S, &F) + link->armature;
    *stiffness = omega > 0 ? mass * omega * omega : link->soft[0];
    *damping = omega > 0 ? 2 * link->soft[3] * mass * omega : link->soft[1];
}

/* A limit that gives way holds a massless coordinate w of its own as a drive of limited effort does: A gets
   kappa (v - w)^2 / 2 in steps that may reach it, and its row acts on w (step/tree_rows.c). */
static void csimi_tree_limit_assemble(const csimi_state *s, const csimi_step *step, const csimi_tree *tree, int i,
                                      csim_real *val) {
    const csimi_tree_link *link = s->tree_link + i;
    const csimi_tree_row row = csimi_tree_row_of(s, tree, link->yield, val);
    csim_real *give = s->link_work[i].give, k, c;
    give[0] = give[1] = 0;
    if (csimi_tree_end_of(s, i, step->h, 1).near || csimi_tree_end_of(s, i, step->h, -1).near) {
        csimi_tree_soft_limit(s, i, &k, &c);
        give[0] = k;
        give[1] = step->sigma * step->h * step->h * k + step->h * c;
    }
    csimi_tree_row_add(&row, link->yield, give[1] > 0 ? give[1] : 1);
    if (give[1] > 0) {
        const csimi_tree_row own = csimi_tree_row_of(s, tree, link->coord, val);
        csimi_tree_row_add(&row, link->coord, -give[1]);
        csimi_tree_row_add(&own, link->coord, give[1]);
    }
}

/* J, of the limit that the joint is beyond, whose work is done by what it pushes back. */
static double csimi_tree_limit_energy(const csimi_state *s, int t) {
    const csimi_tree *tree = s->tree + t;
    bool studied = false;
    double sum = 0;
    int i;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        csim_real beyond, k, c;
        if (s->tree_link[i].yield < 0 || !(s->tree_link[i].lower <= s->tree_link[i].upper)) continue;
        beyond = csimi_min(csimi_tree_end_of(s, i, 0, 1).gap, csimi_tree_end_of(s, i, 0, -1).gap);
        if (!(beyond < 0)) continue;
        if (!studied) csimi_tree_study(s, t, s->coord_rate + 3 * (size_t)tree->first_block, NULL, tree->gravity);
        studied = true;
        csimi_tree_soft_limit(s, i, &k, &c);
        sum += (double)k * (double)(beyond * beyond) / 2;
    }
    return sum;
}

/* ---- the model */

/* The bias of the start of a step leads astray where a link turns far in it: of what turns by more than
   CSIMI_TREE_TURNING so much is taken as it would have at that rate. csimi_trees_settle makes up for it at the end. */
CSIMI_FN csim_real csimi_tree_bias_share(const csimi_state *s, int t, csim_real h) {
    const csimi_tree *tree = s->tree + t;
    csim_real most = 0;
    int i;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++)
        most = csimi_max(most, csim_dot(s->link_work[i].V.w, s->link_work[i].V.w));
    most *= h * h;
    return most > CSIMI_TREE_TURNING * CSIMI_TREE_TURNING ? CSIMI_TREE_TURNING * CSIMI_TREE_TURNING / most : 1;
}

/* Impulse per rate of a drive, D, that stands in A for it. */
CSIMI_FN csim_real csimi_drive_gain(const csimi_tree_link *link, const csimi_step *step) {
    return step->h * link->rate_gain + step->sigma * step->h * step->h * link->stiffness;
}

/* Impulse of a drive on coordinate k were it to stand still. */
CSIMI_FN csim_real csimi_drive_impulse(const csimi_state *s, const csimi_step *step, int i, int k, csim_real error) {
    const csimi_tree_link *link = s->tree_link + i;
    const size_t first = 3 * (size_t)s->tree[link->tree].first_block;
    return step->h * (link->stiffness * error + link->rate_gain * s->coord_target[first + (size_t)(link->coord + k)]);
}

/* Drives, damping and compensation of one joint. A drive that is bounded by its effort holds on to a massless
   coordinate w of its own: A gets D (v - w)^2 / 2, and a box row keeps w at the rate the drive aims at with at most its
   effort (step/tree_rows.c). Without the bound the same coupling to the given rate is D on the diagonal. */
static void csimi_tree_joint_assemble(const csimi_state *s, const csimi_step *step, const csimi_tree *tree, int i,
                                      csimi_system *system, csim_real *b) {
    const csimi_tree_link *link = s->tree_link + i;
    const csim_real D = csimi_drive_gain(link, step);
    const bool limited = link->bounded && D > 0;
    csim_real error[3] = {0, 0, 0}, *val = system->A.val;
    int k;
    csimi_tree_row row;
    if (link->slack >= 0) {
        row = csimi_tree_row_of(s, tree, link->slack, val);
        csimi_tree_row_add(&row, link->slack, limited ? D : 1);
        if (limited) csimi_tree_row_add(&row, link->coord, -D);
    }
    if (link->yield >= 0) csimi_tree_limit_assemble(s, step, tree, i, val);
    if (D > 0 && !limited) csimi_drive_error(s, i, error);
    for (k = 0; k < link->dofs; k++) {
        const int c = link->coord + k;
        row = csimi_tree_row_of(s, tree, c, val);
        csimi_tree_row_add(&row, c, D + step->h * link->damping);
        if (link->gravity_share > 0) b[c] -= step->h * link->gravity_share * csimi_tree_joint_weight(s, i, k);
        if (D > 0 && !limited) b[c] += csimi_drive_impulse(s, step, i, k, error[k]);
    }
}

CSIMI_FN void csimi_tree_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    const csim_real h = step->h, inverse_theta = 1 / step->theta;
    csim_real share;
    int t, i, k, c;
    for (t = 0; t < s->tree_count; t++) {
        const csimi_tree *tree = s->tree + t;
        const size_t block = (size_t)(csimi_first_coord_block(s) + tree->first_block);
        const csim_real *vk = system->vk + 3 * block, *force = s->coord_force + 3 * (size_t)tree->first_block;
        csim_real *b = system->b + 3 * block;
        if (tree->mode != CSIMI_FREE) { /* unit diagonal: not an unknown */
            for (c = 0; c < 3 * tree->block_count; c++)
                system->A.val[9 * csimi_tree_slot(s, tree, c / 3, c / 3) + 4 * (size_t)(c % 3)] += 1;
            continue;
        }
        for (c = 0; c < 3 * tree->block_count; c++) /* padding */
            if (c % 3 >= s->coord_limb[2 * (tree->first_block + c / 3) + 1])
                system->A.val[9 * csimi_tree_slot(s, tree, c / 3, c / 3) + 4 * (size_t)(c % 3)] += 1;
        if (tree->modes > 0) {
            csimi_reduced_assemble(s, t, step, system);
            csimi_tree_mirror(s, tree, system->A.val);
            continue;
        }
        csimi_tree_study(s, t, vk, NULL, tree->gravity);
        share = csimi_tree_bias_share(s, t, h);
        for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
            const csimi_tree_link *link = s->tree_link + i;
            csim_real momentum[6], bias[6];
            csimi_tree_joint_project(link, s->link_work + i, &s->link_work[i].H, momentum);
            csimi_tree_joint_project(link, s->link_work + i, &s->link_work[i].F, bias);
            for (k = 0; k < link->dofs; k++) {
                c = link->coord + k;
                if (share < 1) {
                    const csim_real weight = csimi_tree_joint_weight(s, i, k);
                    bias[k] = share * (bias[k] + weight) - weight;
                }
                b[c] += inverse_theta * (momentum[k] + link->armature * vk[c]) + h * (force[c] - bias[k]);
            }
            csimi_tree_joint_assemble(s, step, tree, i, system, b);
        }
        csimi_tree_mass(s, tree, inverse_theta + h * tree->mass_damping, system->A.val, NULL);
        csimi_tree_mirror(s, tree, system->A.val);
    }
}

static int csimi_limb_of(const csimi_state *s, const csimi_tree *tree, int block) {
    return s->coord_limb[2 * (tree->first_block + block)];
}

/* Base against all, each limb against itself. */
CSIMI_FN int csimi_tree_couple(const csimi_state *s, int *pairs) {
    int t, i, j, count = 0;
    for (t = 0; t < s->tree_count; t++) {
        const csimi_tree *tree = s->tree + t;
        const int first = csimi_first_coord_block(s) + tree->first_block;
        for (i = 0; i < tree->block_count; i++)
            for (j = 0; j < i; j++) {
                if (j >= tree->base_blocks && csimi_limb_of(s, tree, i) != csimi_limb_of(s, tree, j)) continue;
                if (pairs) {
                    pairs[2 * count] = first + j;
                    pairs[2 * count + 1] = first + i;
                }
                count++;
            }
    }
    return count;
}

CSIMI_FN void csimi_tree_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int t, i;
    for (t = 0; t < s->tree_count; t++) {
        const csimi_tree *tree = s->tree + t;
        const int first = csimi_first_coord_block(s) + tree->first_block;
        for (i = 0; i < tree->block_count; i++) {
            int *slot = s->coord_slot + 2 * (tree->first_block + i);
            slot[1] = pattern->diag[first + i] - i; /* the blocks of a limb lie together, those of a base row all */
            slot[0] = i < tree->base_blocks || tree->base_blocks == 0 ? slot[1]
                                                                      : csimi_pattern_find(pattern, first + i, first);
        }
    }
}

CSIMI_FN void csimi_tree_advance_one(const csimi_state *s, int t, csim_real h, const csim_real *rate,
                                     csimi_state *next) {
    const csimi_tree *tree = s->tree + t;
    int i;
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + i;
        const csim_real *q = s->link_position + 7 * (size_t)i, *u = rate + link->coord;
        csim_real *to = next->link_position + 7 * (size_t)i;
        csim_quat Q = csimi_load_quat(q + 3);
        CSIMI_MEMCPY(to, q, 7 * sizeof *to);
        if (link->dofs == 1) {
            to[0] = q[0] + h * u[0];
        } else if (link->joint == CSIM_TREE_BALL) { /* rates are in world axes, Q in the joint's */
            csim_quat joint = csim_quat_mul(csimi_link_pose(s, i).rotation, csim_quat_conj(Q));
            csim_vec3 turn = csim_unrotate(joint, csim_scale(h, csimi_load3(u)));
            csimi_store_quat(to + 3, csim_quat_normalize(csim_quat_mul(csim_quat_exp(turn), Q)));
        } else if (link->joint == CSIM_TREE_FLOATING) {
            csimi_store3(to, csim_madd(csimi_load3(q), h, csimi_load3(u)));
            csimi_store_quat(to + 3,
                             csim_quat_normalize(csim_quat_mul(csim_quat_exp(csim_scale(h, csimi_load3(u + 3))), Q)));
        }
    }
    csimi_tree_forward(s, t, next->link_position, next->link_pose);
}

CSIMI_FN void csimi_tree_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next) {
    int t;
    for (t = 0; t < s->tree_count; t++) {
        const csimi_tree *tree = s->tree + t;
        const csim_real *rate = v + 3 * (size_t)(csimi_first_coord_block(s) + tree->first_block);
        const size_t at = 3 * (size_t)tree->first_block;
        if (tree->modes > 0) {
            csimi_reduced_advance(s, t, step, rate, next);
            continue;
        }
        csimi_tree_advance_one(s, t, step->h, rate, next);
        if (next->coord_position) /* links have their own; saved and hashed all the same */
            CSIMI_MEMCPY(next->coord_position + at, s->coord_position + at,
                         3 * sizeof *s->coord_position * (size_t)tree->block_count);
    }
}

/* Link by link about its own centre: no composites and no accelerations are needed. */
CSIMI_FN csimi_tree_totals csimi_tree_measure(const csimi_state *s, int t, const csim_real *rate) {
    const csimi_tree *tree = s->tree + t;
    csimi_tree_totals sum;
    int i, k;
    if (tree->modes > 0) return csimi_reduced_measure(s, t, rate);
    csimi_tree_columns(s, tree);
    CSIMI_MEMSET(&sum, 0, sizeof sum);
    for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
        const csimi_tree_link *link = s->tree_link + i;
        csimi_link_work *work = s->link_work + i;
        const csim_quat q = csimi_load_quat(s->link_pose + 7 * (size_t)i + 3);
        const csim_real *u = rate + link->coord, *I = link->inertia;
        const csim_vec3 d = csim_add(work->r, csim_rotate(q, link->com));
        csim_vec3 v, w, spin, p;
        work->V = csimi_tree_joint_motion(link, work, u);
        if (link->parent >= 0) work->V = csimi_twist_add(work->V, s->link_work[tree->first_link + link->parent].V);
        v = csim_add(work->V.v, csim_cross(work->V.w, d));
        w = csim_unrotate(q, work->V.w);
        spin = csim_v3(I[0] * w.x + I[1] * w.y + I[2] * w.z, I[1] * w.x + I[3] * w.y + I[4] * w.z,
                       I[2] * w.x + I[4] * w.y + I[5] * w.z);
        p = csim_scale(link->mass, v);
        sum.kinetic += (double)(csim_dot(p, v) + csim_dot(spin, w)) / 2;
        for (k = 0; k < link->dofs; k++) sum.kinetic += (double)(link->armature * u[k] * u[k]) / 2;
        sum.mass += link->mass;
        sum.first_moment = csim_madd(sum.first_moment, link->mass, d);
        sum.momentum.v = csim_add(sum.momentum.v, p);
        sum.momentum.w = csim_add(sum.momentum.w, csim_add(csim_cross(d, p), csim_rotate(q, spin)));
    }
    sum.origin = csimi_load3(s->link_pose + 7 * (size_t)tree->first_link);
    return sum;
}

CSIMI_FN void csimi_tree_energy(const csimi_state *s, csimi_energy *energy) {
    int t, i;
    for (t = 0; t < s->tree_count; t++) {
        const csimi_tree *tree = s->tree + t;
        csimi_tree_totals sum;
        csim_vec3 g = csim_scale(tree->gravity, csimi_load3(s->gravity));
        if (tree->mode != CSIMI_FREE) continue;
        sum = csimi_tree_measure(s, t, s->coord_rate + 3 * (size_t)tree->first_block);
        energy->kinetic += sum.kinetic;
        energy->gravity -= (double)csim_dot(g, sum.first_moment) + (double)(sum.mass * csim_dot(g, sum.origin));
        energy->elastic += tree->modes > 0 ? csimi_reduced_elastic(s, t) : csimi_tree_limit_energy(s, t);
        for (i = tree->first_link; i < tree->first_link + tree->link_count; i++) {
            csim_real e[3];
            if (!(s->tree_link[i].stiffness > 0)) continue;
            csimi_drive_error(s, i, e);
            energy->elastic +=
                (double)s->tree_link[i].stiffness * (double)(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) / 2;
        }
    }
}

/* ---- points on links */
