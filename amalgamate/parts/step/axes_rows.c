/* step/axes_rows: joints with settings of axes as rows of the problem.

   Six lines of rows at most: what holds (locks and motors), limits, springs, each along the pushes and along the turns;
   component c of a line is the axis of that number. A soft component is
       lambda = -h (k e(end of step) + c (e(end) - e(start)) / h - c rate) = -kappa (J v + bias),
       kappa = sigma h^2 k + h c [kg],     bias = (h k e(start) - h c rate) / kappa,
   backward Euler for sigma = 1. Rows know no compliance: such a component holds on to a massless coordinate with kappa
   on the diagonal of A, which gives way by lambda / kappa. Every solver takes it, bounds of forces included. */
#include "private.h"

/* ---- what each component asks for */

typedef struct csimi_axes_part {
    bool soft, held;       /* held: at the end of the step; its miss is corrected */
    csim_real error, bias; /* m of the row, m/s */
    csim_real lo, hi;      /* N s */
} csimi_axes_part;

/* Not between rigid bodies: 1 / (row M^-1 row') of component k of a row, over both sides; 0: nothing moves. */
static csim_real csimi_axes_mass(const csimi_step_frame *f, const csimi_state *s, const csimi_joint *j,
                                 const csim_contact *c, int k) {
    csim_real sum = 0;
    int side, t;
    for (side = 0; side < 2; side++) {
        const csim_side *x = side ? &c->b : &c->a;
        if (j->end[side].kind == CSIMI_PLACE_LINK) { /* by itself; turns weigh as pushes: csimi_turn_scale */
            if (csimi_link_weighs(s, j->end + side)) sum += 1 / s->tree_link[j->end[side].item].mass;
            continue;
        }
        for (t = x->first; t < x->first + x->count; t++) {
            const int block = f->terms[t].block, rigid = (block - s->node_count) / 2;
            csim_real row[3] = {0, 0, 0}, y[3];
            csimi_addmulT3(f->terms[t].J, c->R + 3 * k, row);
            if (block < s->node_count) {
                sum += csim_dot(csimi_load3(row), csimi_load3(row)) / s->node_mass[block];
            } else if (block >= csimi_first_frame_block(s)) { /* trees and cables: by what the point shows */
                if (t == x->first && c->mass[side] > 0) sum += 1 / (f->theta * c->mass[side]);
            } else if ((block - s->node_count) % 2 == 0) {
                sum += csim_dot(csimi_load3(row), csimi_load3(row)) / s->rigid_mass[rigid];
            } else {
                csimi_mul3(s->rigid_inverse + 9 * (size_t)rigid, row, y);
                sum += csim_dot(csimi_load3(row), csimi_load3(y));
            }
        }
    }
    return sum > 0 ? 1 / sum : 0;
}

/* A row on two rigid bodies: what acts on the places and turns of a and of b. */
typedef struct csimi_axes_pull {
    csim_vec3 J[4];
} csimi_axes_pull;

/* Whether both ends are rigid bodies or the world, whose M^-1 is at hand. */
static bool csimi_axes_rigid(const csimi_joint *j) {
    return csimi_axes_turn(j) && j->end[0].kind != CSIMI_PLACE_LINK && j->end[1].kind != CSIMI_PLACE_LINK;
}

/* Row k of a contact, gathered by body. */
static csimi_axes_pull csimi_axes_pull_of(const csimi_step_frame *f, const csimi_state *s, const csimi_joint *j,
                                          const csim_contact *c, int k) {
    csimi_axes_pull pull;
    int side, t;
    CSIMI_MEMSET(&pull, 0, sizeof pull);
    for (side = 0; side < 2; side++) {
        const csim_side *x = side ? &c->b : &c->a;
        for (t = x->first; t < x->first + x->count; t++) {
            /* place 0 and turn 1 of a, 2 and 3 of b: terms are named by block, whose body tells the end */
            const int block = f->terms[t].block - s->node_count, at = 2 * (block / 2 != j->end[0].item) + block % 2;
            csim_real row[3] = {0, 0, 0};
            csimi_addmulT3(f->terms[t].J, c->R + 3 * k, row);
            pull.J[at] = csim_madd(pull.J[at], side ? -1 : 1, csimi_load3(row));
        }
    }
    return pull;
}

/* x M^-1 y' */
static double csimi_axes_product(const csimi_state *s, const csimi_joint *j, const csimi_axes_pull *x,
                                 const csimi_axes_pull *y) {
    double sum = 0; /* in double also in float builds: pivots of nearly dependent rows cancel */
    int end;
    for (end = 0; end < 2; end++) {
        const int rigid = j->end[end].item;
        csim_real turn[3], back[3];
        if (j->end[end].kind != CSIMI_PLACE_RIGID || s->rigid_mode[rigid] != CSIMI_FREE) continue;
        csimi_store3(turn, y->J[2 * end + 1]);
        csimi_mul3(s->rigid_inverse + 9 * (size_t)rigid, turn, back);
        sum += (double)csim_dot(x->J[2 * end], y->J[2 * end]) / (double)s->rigid_mass[rigid] +
               (double)csim_dot(x->J[2 * end + 1], csimi_load3(back));
    }
    return sum;
}

/* The mass of component k of a row between rigid bodies while all that the joint locks is held: the last pivot of
   W = J M^-1 J' of the locked rows and this one. A hinge turns a door with its moment of inertia about the hinge. */
static csim_real csimi_axes_held_mass(const csimi_step_frame *f, const csimi_state *s, const csimi_joint *j,
                                      const csimi_axes *ax, const csim_contact *c, int k) {
    csimi_axes_pull pull[7];
    double W[7][7], whole;
    int i, m, p, n = 0;
    for (i = 0; i < 6; i++)
        if (ax->row[i / 3] >= 0 && csimi_axis_locked(j->kind, ax->axis + i, i)) /* their lines come first */
            pull[n++] = csimi_axes_pull_of(f, s, j, f->contacts + ax->row[i / 3], i % 3);
    pull[n++] = csimi_axes_pull_of(f, s, j, c, k); /* last, so that its pivot is what the locks leave of it */
    for (i = 0; i < n; i++)
        for (m = 0; m < n; m++) W[i][m] = csimi_axes_product(s, j, pull + i, pull + m);
    whole = W[n - 1][n - 1];
    for (p = 0; p + 1 < n; p++) { /* Schur complement of the locked rows, one after another */
        if (!(W[p][p] > 1e-9 * csimi_axes_product(s, j, pull + p, pull + p))) continue; /* held by the others */
        for (i = p + 1; i < n; i++)
            for (m = n - 1; m > p; m--) W[i][m] -= W[i][p] * W[p][m] / W[p][p];
    }
    /* nothing left: the locks hold this component too, and a frequency has no mass to act on */
    return W[n - 1][n - 1] > 1e-9 * whole ? (csim_real)(1 / W[n - 1][n - 1]) : 0;
}

/* Stiffness and damping of a row in metres; unit: metres of a unit of the axis. */
static void csimi_axes_law(const csim_softness *s, csim_real mass, csim_real unit, csim_real *k, csim_real *c) {
    const csim_real omega = 2 * CSIMI_PI * s->frequency;
    *k = s->frequency > 0 ? mass * omega * omega : s->stiffness / (unit * unit); /* N m/rad to N/m */
    *c = s->frequency > 0 ? 2 * s->ratio * mass * omega : s->damping / (unit * unit);
}

/* Component i of what holds: a lock, or else a motor. */
static void csimi_axes_hold(const csim_world *w, const csimi_step_frame *f, const csimi_joint *j, const csimi_axes *ax,
                            int i, csim_real q, csim_real unit, csimi_axes_part *part) {
    const csim_axis_def *a = ax->axis + i;
    csim_real rate = a->motor.target;
    if (csimi_axis_locked(j->kind, a, i)) {
        const csim_real most = w->def.push_out_speed * f->h; /* m a step: what is far open closes no faster */
        part->held = true;
        part->error = unit * (q - (j->kind == CSIM_JOINT_DISTANCE ? j->length : 0));
        part->bias = csimi_clamp(w->def.stabilization * part->error, -most, most) / f->h;
        part->hi = CSIMI_HUGE;
    } else if (a->motor.kind != CSIM_MOTOR_NONE) {
        if (a->motor.kind == CSIM_MOTOR_POSITION)
            rate = csimi_clamp((a->motor.target - q) / f->h, -a->motor.speed, a->motor.speed);
        part->bias = -unit * rate; /* a motor is not held: there is no place that a correction could close */
        part->hi = a->motor.force * f->h / unit;
    }
    part->lo = -part->hi;
}

/* A limit that is nearer; open by error, which is below 0 in front of an upper one. In front of it the row may close
   and not cross, and what a soft one then bears is that of the part of the way beyond it. */
static void csimi_axes_limit(const csim_world *w, const csimi_step_frame *f, csim_real gap, bool lower, bool equal,
                             csim_real k, csim_real kappa, csimi_axes_part *part) {
    const csim_real most = w->def.push_out_speed * f->h;
    const bool open = !equal && (lower ? gap >= 0 : gap <= 0);
    part->held = true;
    part->soft = kappa > 0;
    part->error = gap;
    part->lo = equal || !lower ? -CSIMI_HUGE : 0;
    part->hi = equal || lower ? CSIMI_HUGE : 0;
    if (open)
        part->bias = gap / f->h; /* lambda = 0 as long as the end of the step is in front of the limit */
    else if (kappa > 0)
        part->bias = f->h * k * gap / kappa;
    else
        part->bias = csimi_clamp(w->def.stabilization * gap, -most, most) / f->h;
}

/* A spring with its damper, by the formula at the head of this file. */
static void csimi_axes_spring(const csimi_step_frame *f, const csim_axis_def *a, csim_real error, csim_real unit,
                              csim_real k, csim_real c, csim_real kappa, csimi_axes_part *part) {
    part->held = part->soft = true; /* held: what its turning direction misses is corrected */
    part->error = error;
    part->bias = (f->h * k * error - f->h * c * unit * a->rate) / kappa;
    part->hi = a->spring_force > 0 ? a->spring_force * f->h / unit : CSIMI_HUGE;
    part->lo = -part->hi;
}

/* Lower and upper limit share one row, which the nearer one has. */
static bool csimi_lower_is_nearer(const csim_axis_def *a, csim_real q) { return 2 * q < a->lower + a->upper; }

/* Whether component c of a line has anything to say. */
static bool csimi_axes_speaks(const csimi_joint *j, const csimi_axes *ax, int line, int c) {
    const bool turn = line % 2 != 0, cone = turn && ax->cone[0] > 0;
    const csim_axis_def *a = ax->axis + c + (turn ? 3 : 0);
    if (line < CSIMI_LINE_LIMIT)
        return csimi_axis_locked(j->kind, a, c + (turn ? 3 : 0)) || a->motor.kind != CSIM_MOTOR_NONE;
    /* a cone is one wall for both swings and takes the place of the first; the second has no limit */
    if (line < CSIMI_LINE_SPRING) return cone && c > 0 ? c == 1 : a->limited;
    return csimi_is_soft(&a->spring);
}

/* What is asked of component c of a line whose sides are known. */
static csimi_axes_part csimi_axes_ask(const csim_world *w, const csimi_step_frame *f, const csimi_joint *j,
                                      csimi_axes *ax, const csimi_axes_pose *p, const csim_contact *row, int line,
                                      int c) {
    const bool turn = line % 2 != 0, cone = turn && c == 1 && ax->cone[0] > 0;
    const int i = c + (turn ? 3 : 0), soft = 6 * (line / 2 - 1) + i; /* limits 0..5, springs 6..11 */
    const csim_axis_def *a = ax->axis + i;
    const csim_real unit = turn ? j->scale : 1;
    csim_real k, damping, kappa, mass;
    csimi_axes_part part;
    CSIMI_MEMSET(&part, 0, sizeof part);
    ax->weight[3 * line + c] = 1;
    if (line >= CSIMI_LINE_LIMIT) ax->stiff[soft] = ax->kappa[soft] = 0; /* before any return: old ones would stay */
    if (!csimi_axes_speaks(j, ax, line, c)) return part;
    if (line < CSIMI_LINE_LIMIT) {
        csimi_axes_hold(w, f, j, ax, i, p->q[i], unit, &part);
        return part;
    }
    /* for the frequency; the row has no massless term yet, which would count as a body */
    mass = csimi_axes_rigid(j) ? csimi_axes_held_mass(f, &w->store.state, j, ax, row, c)
                               : csimi_axes_mass(f, &w->store.state, j, row, c);
    csimi_axes_law(line >= CSIMI_LINE_SPRING ? &a->spring : cone ? &ax->cone_limit : &a->limit, mass, unit, &k,
                   &damping);
    kappa = f->sigma * f->h * f->h * k + f->h * damping;
    if (line >= CSIMI_LINE_SPRING) {
        const csim_real rest = a->target + (j->kind == CSIM_JOINT_DISTANCE ? j->length : 0);
        if (!(kappa > 0)) return part; /* of a frequency, where nothing moves */
        csimi_axes_spring(f, a, unit * (p->q[i] - rest), unit, k, damping, kappa, &part);
    } else {
        const bool lower = cone || csimi_lower_is_nearer(a, p->q[i]);
        const csim_real gap = cone ? p->cone : p->q[i] - (lower ? a->lower : a->upper);
        csimi_axes_limit(w, f, unit * gap, lower, !cone && !(a->lower < a->upper), k, kappa, &part);
    }
    ax->stiff[soft] = part.soft ? k : 0;
    ax->kappa[soft] = part.soft ? kappa : 0;
    /* the give 1 / kappa and the mobility 1 / mass are in series: this share of a miss goes into motion */
    if (part.soft) ax->weight[3 * line + c] = kappa / (kappa + mass);
    return part;
}

/* ---- sides */

/* The pushes: points against each other, or the point of a against axes that turn with b. */
static void csimi_axes_push_sides(csimi_step_frame *f, const csimi_state *s, const csimi_joint *j, const csimi_axes *ax,
                                  const csimi_axes_pose *p, csim_contact *c) {
    csimi_place base;
    if (csimi_axes_points(j, ax)) { /* all three are locked, or an end has no axes */
        csimi_sides(f, s, j->end, csimi_joint_way(f, s, j->end, p->at.a), j->end + 1,
                    csimi_joint_way(f, s, j->end + 1, p->at.b), c);
        return;
    }
    base = csimi_place_beside(s, j->end + 1, p->at.a); /* of b's body, where a's point is: axes turn with b */
    csimi_sides(f, s, j->end, p->at.a, &base, p->at.a, c);
}

/* The turns: scale (direction . (omega_a - omega_b)), with the cone in the place of the swings it bounds. */
static void csimi_axes_turn_sides(csimi_step_frame *f, const csimi_state *s, const csimi_joint *j,
                                  const csimi_axes *ax, int line, csim_contact *c) {
    int end, k;
    for (end = 0; end < 2; end++) {
        csim_real D[9];
        for (k = 0; k < 3; k++) {
            const bool cone = line / 2 == CSIMI_LINE_LIMIT / 2 && k == 1 && ax->cone[0] > 0;
            csimi_store3(D + 3 * k, csim_scale(j->scale, csimi_load3(ax->turn + 3 * (cone ? 3 : k))));
        }
        csimi_turn_side(f, s, j->end + end, D, c, end);
    }
}

/* Block of the massless coordinates of a soft line. */
static int csimi_axes_slack(const csimi_state *s, const csimi_axes *ax, const csimi_axes *first, int line) {
    return csimi_first_slack_block(s) + CSIMI_AXES_SLACKS * (int)(ax - first) + line - CSIMI_LINE_LIMIT;
}

/* Side b of a soft row holds on to its massless coordinate too. */
static void csimi_axes_give_way(csimi_step_frame *f, const csimi_state *s, const csimi_axes *ax,
                                const csimi_axes *first, int line, csim_contact *c) {
    csim_term *t = f->terms + f->term_count;
    const csim_real *kappa;
    int i, k;
    if (line < CSIMI_LINE_LIMIT) return; /* locks and motors are hard */
    kappa = ax->kappa + 3 * (line - CSIMI_LINE_LIMIT);
    if (!(kappa[0] > 0 || kappa[1] > 0 || kappa[2] > 0)) return;
    t->block = csimi_axes_slack(s, ax, first, line);
    for (i = 0; i < 3; i++) /* R J = 1 on soft components: coordinate k gives along row k alone */
        for (k = 0; k < 3; k++) t->J[3 * i + k] = kappa[k] > 0 ? c->R[3 * k + i] : 0;
    f->skip[t->block] = 0; /* an unknown from here on: those that no row has are given, at rest */
    f->term_count++;
    c->b.count++;
}

static void csimi_axes_sides(csimi_step_frame *f, const csimi_state *s, const csimi_joint *j,
                             const csimi_axes *ax, const csimi_axes_pose *p, int line, csim_contact *c) {
    if (line % 2)
        csimi_axes_turn_sides(f, s, j, ax, line, c);
    else
        csimi_axes_push_sides(f, s, j, ax, p, c);
}

/* ---- rows */

/* Directions of the coming rows, world axes; what lines bear is reported along them. */
static void csimi_axes_frame(csimi_joint *j, csimi_axes *ax, const csimi_axes_pose *p) {
    int k;
    for (k = 0; k < 3; k++) csimi_store3(j->R + 3 * k, p->push[k]);
    for (k = 0; k < 4; k++) csimi_store3(ax->turn + 3 * k, p->turn[k]);
}

static void csimi_axes_line(csim_world *w, csimi_step_frame *f, csimi_joint *j, csimi_axes *ax,
                            const csimi_axes_pose *p, int line) {
    const int i = f->contact_count++;
    csim_contact *c = f->contacts + i;
    bool motor = false;
    int k;
    CSIMI_MEMSET(c, 0, sizeof *c);
    ax->row[line] = i;
    c->law = CSIM_LAW_BOX;
    for (k = 0; k < 9; k++) c->R[k] = line % 2 == 0 ? j->R[k] : k % 4 == 0 ? 1 : 0;
    csimi_axes_sides(f, &w->store.state, j, ax, p, line, c); /* first: what follows asks what the row moves */
    for (k = 0; k < 3; k++) {
        const csimi_axes_part part = csimi_axes_ask(w, f, j, ax, p, c, line, k);
        c->phi[k] += part.bias;
        c->lo[k] = part.lo;
        c->hi[k] = part.hi;
        if (part.held) c->mask |= 1u << k;
        ax->aim[3 * line + k] = part.error - f->h * part.bias; /* m, what is left at the end where u = 0 */
        f->lambda[3 * i + k] = csimi_clamp(csimi_warm_scale(w, f) * ax->impulse[3 * line + k], part.lo, part.hi);
    }
    for (k = 0; k < 3; k++) motor = motor || (c->hi[k] > 0 && !(c->mask >> k & 1u));
    if (line < CSIMI_LINE_LIMIT && !motor) c->law = CSIM_LAW_BILATERAL;
    /* the massless term goes last in side b, where csimi_axes_velocity takes it off */
    csimi_axes_give_way(f, &w->store.state, ax, w->store.axes, line, c);
}

CSIMI_FN void csimi_axes_rows(csim_world *w, csimi_step_frame *f, csimi_joint *j) {
    csimi_axes *ax = w->store.axes + j->axes;
    csimi_axes_pose p;
    int line, k;
    /* first of all: errors, bounds and stiffness of turns are measured in it */
    if (csimi_axes_turn(j)) j->scale = csimi_turn_scale(&w->store.state, j->end, j->end + 1);
    p = csimi_axes_at(&w->store.state, j, ax);
    for (k = 0; k < 6; k++) ax->position[k] = p.q[k]; /* decides which limit is nearer until the step ends */
    csimi_axes_frame(j, ax, &p);
    for (line = 0; line < CSIMI_AXES_LINES; line++) {
        bool any = false;
        for (k = 0; k < 3; k++) any = any || csimi_axes_speaks(j, ax, line, k);
        if (any && (line % 2 == 0 || csimi_axes_turn(j))) csimi_axes_line(w, f, j, ax, &p, line);
    }
}

CSIMI_FN void csimi_axes_assemble(csim_world *w) {
    csimi_store *s = &w->store;
    int i, k;
    for (i = 0; i < 12 * s->count.axes; i++) {
        const csim_real kappa = s->axes[i / 12].kappa[i % 12];
        csim_real *A = s->A.val + 9 * (size_t)s->A.diag[csimi_first_slack_block(&s->state) + i / 3];
        for (k = 0; k < 3 && i % 3 == 0; k++) A[k] = A[3 + k] = A[6 + k] = 0;
        A[4 * (i % 3)] = kappa > 0 ? kappa : 1; /* unused ones: A stays positive definite */
    }
}

/* ---- correction */

/* The row's velocity without what gives way. */
static void csimi_axes_velocity(const csimi_step_frame *f, const csimi_state *s, csim_contact c, csim_real *u) {
    while (c.b.count > 0 && f->terms[c.b.first + c.b.count - 1].block >= csimi_first_slack_block(s)) c.b.count--;
    csimi_joint_row_velocity(f, &c, u);
}

/* Components of a line at a pose, in metres: how far they are open against what they hold to. */
static void csimi_axes_errors(const csimi_joint *j, const csimi_axes *ax, const csimi_axes_pose *p, int line,
                              csim_real *error) {
    const bool turn = line % 2 != 0;
    const csim_real unit = turn ? j->scale : 1, length = j->kind == CSIM_JOINT_DISTANCE ? j->length : 0;
    int k;
    for (k = 0; k < 3; k++) {
        const int i = k + (turn ? 3 : 0);
        const csim_axis_def *a = ax->axis + i;
        const bool cone = turn && k == 1 && ax->cone[0] > 0;
        csim_real to = length, q = p->q[i];
        if (!turn && csimi_axes_points(j, ax) && j->kind != CSIM_JOINT_DISTANCE)
            q = csim_dot(csimi_load3(j->R + 3 * k), p->at.d); /* on the axes of the rows, which do not turn */
        if (line >= CSIMI_LINE_SPRING) {
            to = a->target + length;
        } else if (line >= CSIMI_LINE_LIMIT) {
            /* by where it was at the start of the step: the row does not change sides between passes */
            to = csimi_lower_is_nearer(a, ax->position[i]) ? a->lower : a->upper;
            if (cone) to = 0, q = p->cone;
        }
        error[k] = unit * (q - to);
    }
}

CSIMI_FN csim_real csimi_axes_miss(const csim_world *w, const csimi_step_frame *f, csimi_axes *ax, int line) {
    const csimi_joint *j = w->store.joint + w->store.link[ax->link].item;
    const csim_contact *c = f->contacts + ax->row[line];
    const csim_real *lambda = f->lambda + 3 * (size_t)ax->row[line];
    const csimi_axes_pose p = csimi_axes_at(&f->next, j, ax);
    csim_real error[3], u[3], worst = 0, *miss = ax->miss + 3 * line;
    int k;
    csimi_axes_errors(j, ax, &p, line, error);
    csimi_axes_velocity(f, &w->store.state, *c, u);
    for (k = 0; k < 3; k++) {
        const bool bears = lambda[k] < 0 || lambda[k] > 0, lower = c->lo[k] >= 0, upper = c->hi[k] <= 0;
        miss[k] = 0;
        if (!(c->mask >> k & 1u)) continue;
        if (!bears && ((lower && error[k] >= 0) || (upper && error[k] <= 0))) continue; /* open, and stays open */
        miss[k] = error[k] - ax->aim[3 * line + k] - f->h * u[k]; /* what it changed by beyond h (J v) */
        worst = csimi_max(worst, csimi_abs(miss[k]) * ax->weight[3 * line + k]);
    }
    return worst;
}

/* Rows of the middle of the step, which miss at this velocity what they missed before. */
CSIMI_FN void csimi_axes_renew(csim_world *w, csimi_step_frame *f, csimi_axes *ax) {
    csimi_joint *j = w->store.joint + w->store.link[ax->link].item;
    const csimi_axes_pose p = csimi_axes_at(&f->next, j, ax);
    int line, k;
    csimi_axes_frame(j, ax, &p);
    for (line = 0; line < CSIMI_AXES_LINES; line++) {
        csim_contact *c = f->contacts + ax->row[line], old;
        const int terms = f->term_count;
        csim_real before[3], after[3];
        if (ax->row[line] < 0) continue;
        old = *c;
        csimi_axes_velocity(f, &w->store.state, *c, before);
        f->term_count = c->a.first; /* as many as before, in their place */
        if (line % 2 == 0) CSIMI_MEMCPY(c->R, j->R, sizeof c->R);
        csimi_axes_sides(f, &f->next, j, ax, &p, line, c);
        csimi_axes_give_way(f, &w->store.state, ax, w->store.axes, line, c);
        CSIMI_MEMCPY(c->phi, old.phi, sizeof c->phi); /* sides have added to phi what is given, once more */
        csimi_axes_velocity(f, &w->store.state, *c, after);
        for (k = 0; k < 3; k++)
            if (c->mask >> k & 1u) c->phi[k] += before[k] - after[k];
        CSIMI_MEMCPY(c->mass, old.mass, sizeof c->mass);
        f->term_count = terms;
    }
}

/* ---- the end of a step */

/* What all lines together bear goes where other joints have theirs: in the axes of the rows of pushes, and for turns
   in world axes. */
CSIMI_FN void csimi_axes_commit(csim_world *w, const csimi_step_frame *f, csimi_axes *ax) {
    csimi_joint *j = w->store.joint + w->store.link[ax->link].item;
    const csimi_axes_pose p = csimi_axes_at(&f->next, j, ax);
    csim_vec3 torque = csim_v3(0, 0, 0); /* N s: the impulse of the torque over j->scale */
    int line, k;
    CSIMI_MEMSET(j->impulse, 0, sizeof j->impulse);
    for (line = 0; line < CSIMI_AXES_LINES; line++)
        for (k = 0; k < 3; k++) {
            csim_real *impulse = ax->impulse + 3 * line + k;
            const bool cone = line / 2 == CSIMI_LINE_LIMIT / 2 && k == 1 && ax->cone[0] > 0;
            *impulse = j->broken || ax->row[line] < 0 ? 0 : f->lambda[3 * (size_t)ax->row[line] + (size_t)k];
            if (line % 2 == 0)
                j->impulse[k] += *impulse;
            else
                torque = csim_madd(torque, *impulse, csimi_load3(ax->turn + 3 * (cone ? 3 : k)));
        }
    csimi_store3(j->impulse + 3, torque);
    for (k = 0; k < 6; k++) ax->position[k] = p.q[k];
    if (csimi_axes_main(j->kind) >= 0) j->position = p.q[csimi_axes_main(j->kind)];
    /* massless: what gave way carries nothing into the next step */
    CSIMI_MEMSET(w->store.state.slack_rate + 12 * (ax - w->store.axes), 0, 12 * sizeof(csim_real));
}
