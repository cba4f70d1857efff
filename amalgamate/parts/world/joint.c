/* world/joint: hard joints as rows of the problem, their corrections, limits, motors and events.

   Every row of a joint measures how far the joint is open in the axes of b. A turn enters as scale times the angle, so
   that all rows are in metres and their masses alike. */
#include "private.h"
#include "joint.h"

#define CSIMI_BOND_CLOSED csimi_max(CSIM_R(1e-11), 64 * CSIMI_EPS) /* m */
#define CSIMI_BOND_SETTLED csimi_max(CSIM_R(1e-9), 4 * CSIMI_EPS)  /* rad */

/* ---- where a joint is */

typedef struct csimi_bond_pose {
    csim_vec3 a, b, d;  /* the points, a - b */
    csim_quat base, of; /* joint axes of b, of a */
    csim_quat turn;     /* of a in the axes of b, scalar part >= 0 */
} csimi_bond_pose;

static bool csimi_bond_has_axes(csim_joint_kind kind) {
    return kind == CSIM_JOINT_HINGE || kind == CSIM_JOINT_SLIDER || kind == CSIM_JOINT_WELD;
}

static bool csimi_bond_has_coordinate(csim_joint_kind kind) {
    return kind == CSIM_JOINT_HINGE || kind == CSIM_JOINT_SLIDER;
}

static csim_quat csimi_bond_axes(const csimi_state *s, const csimi_bond *j, int end) {
    csim_quat q = csimi_load_quat(j->frame[end]);
    if (j->end[end].kind != CSIMI_PLACE_RIGID) return q;
    return csim_quat_mul(csimi_load_quat(s->rotation + 4 * (size_t)j->end[end].item), q);
}

static csimi_bond_pose csimi_bond_at(const csimi_state *s, const csimi_bond *j) {
    csimi_bond_pose p;
    p.a = csimi_place_point(s, j->end);
    p.b = csimi_place_point(s, j->end + 1);
    p.d = csim_sub(p.a, p.b);
    p.of = p.base = p.turn = csim_pose_identity().rotation;
    if (!csimi_bond_has_axes(j->kind)) return p;
    p.of = csimi_bond_axes(s, j, 0);
    p.base = csimi_bond_axes(s, j, 1);
    p.turn = csim_quat_mul(csim_quat_conj(p.base), p.of);
    if (p.turn.w < 0) {
        p.turn.w = -p.turn.w;
        p.turn.x = -p.turn.x;
        p.turn.y = -p.turn.y;
        p.turn.z = -p.turn.z;
    }
    return p;
}

/* The coordinate; angles are taken on the turn nearest to the last one. */
static csim_real csimi_bond_coordinate(const csimi_bond *j, const csimi_bond_pose *p) {
    csim_real angle, turns;
    if (j->kind == CSIM_JOINT_SLIDER) return csim_dot(csim_rotate(p->base, csim_v3(1, 0, 0)), p->d);
    if (j->kind != CSIM_JOINT_HINGE) return csim_length(p->d);
    angle = 2 * CSIMI_ATAN2(p->turn.x, p->turn.w);
    turns = (j->position - angle) / (2 * CSIMI_PI);
    return angle + 2 * CSIMI_PI * (csim_real)(int)(turns + (turns < 0 ? CSIM_R(-0.5) : CSIM_R(0.5)));
}

static csim_real csimi_gear_error(const csim_world *w, const csimi_state *s, const csimi_bond *j) {
    csim_real q[2];
    int k;
    for (k = 0; k < 2; k++) {
        const csimi_bond *other = w->store.joint + w->store.link[j->gear[k]].item;
        csimi_bond_pose p = csimi_bond_at(s, other);
        q[k] = csimi_bond_coordinate(other, &p);
    }
    return q[0] - j->ratio * q[1] - j->offset;
}

/* Length that makes metres of the coordinate. */
static csim_real csimi_bond_unit(const csimi_bond *j) { return j->kind == CSIM_JOINT_HINGE ? j->scale : 1; }

static bool csimi_limit_is_lower(const csimi_bond *j) { return 2 * j->position < j->lower + j->upper; }

/* How far row `which` is open at s, m, in the axes of the row. */
static void csimi_bond_error(const csim_world *w, const csimi_state *s, const csimi_bond *j, int which,
                             csim_real *error) {
    csimi_bond_pose p = csimi_bond_at(s, j);
    csim_vec3 e = csim_v3(0, 0, 0);
    csim_real d[3];
    if (which == CSIMI_ROW_LIMIT) {
        e.x = csimi_bond_unit(j) * (csimi_bond_coordinate(j, &p) - (csimi_limit_is_lower(j) ? j->lower : j->upper));
    } else if (which == CSIMI_ROW_TURN && j->kind == CSIM_JOINT_HINGE) {
        csim_vec3 axis = csim_rotate(p.turn, csim_v3(1, 0, 0));
        e = csim_scale(j->scale, csim_v3(0, -axis.z, axis.y));
    } else if (which == CSIMI_ROW_TURN) {
        e = csim_scale(2 * j->scale, csim_v3(p.turn.x, p.turn.y, p.turn.z));
    } else if (j->kind == CSIM_JOINT_SLIDER) {
        e = csim_unrotate(p.base, p.d);
    } else if (j->kind == CSIM_JOINT_DISTANCE || j->kind == CSIM_JOINT_ROPE) {
        e.x = csim_length(p.d) - j->length;
        if (j->kind == CSIM_JOINT_ROPE) e.x = -e.x;
    } else if (j->kind == CSIM_JOINT_GEAR) {
        e.x = j->scale * csimi_gear_error(w, s, j);
    } else {
        csimi_store3(d, p.d);
        csimi_mul3(j->R, d, error);
        return;
    }
    csimi_store3(error, e);
}

/* Components of a row that must hold at the end of the step, as bits. */
static unsigned csimi_bond_mask(const csimi_bond *j, int which) {
    if (which == CSIMI_ROW_LIMIT) return 1;
    if (which == CSIMI_ROW_TURN) return j->kind == CSIM_JOINT_HINGE ? 6u : 7u;
    switch (j->kind) {
    case CSIM_JOINT_BALL:
    case CSIM_JOINT_HINGE:
    case CSIM_JOINT_WELD: return 7;
    case CSIM_JOINT_SLIDER: return 6;
    case CSIM_JOINT_DISTANCE:
    case CSIM_JOINT_ROPE:
    case CSIM_JOINT_GEAR: return 1;
    case CSIM_JOINT_COUNT_:
    default: return 0;
    }
}

static bool csimi_bond_one_sided(const csimi_bond *j, int which) {
    return which == CSIMI_ROW_LIMIT ? j->lower < j->upper : j->kind == CSIM_JOINT_ROPE;
}

/* ---- sides */

/* 3 / tr(J M^-1 J') of terms on rigid bodies. */
static csim_real csimi_terms_mass(const csimi_state *s, int n, const int *block, const csim_real *J) {
    csim_real trace = 0, JI[9];
    int i, k;
    for (i = 0; i < n; i++, J += 9) {
        const int rigid = (block[i] - s->node_count) / 2;
        if (s->rigid_mode[rigid] != CSIMI_FREE) continue;
        if ((block[i] - s->node_count) % 2 == 0) {
            for (k = 0; k < 9; k++) trace += J[k] * J[k] / s->rigid_mass[rigid];
            continue;
        }
        csimi_matmul(J, s->rigid_inverse + 9 * (size_t)rigid, JI);
        for (k = 0; k < 9; k++) trace += JI[k] * J[k];
    }
    return trace > 0 ? 3 / trace : 0;
}

/* Side of a row from terms on rigid bodies; sign -1 for the second side. */
static void csimi_bond_side(csimi_step_frame *f, const csimi_state *s, csim_contact *c, int second, int n,
                            const int *block, const csim_real *J) {
    csim_real moved[3];
    const csim_side side = csimi_terms_side(f, n, block, J, moved);
    int k;
    if (second)
        c->b = side;
    else
        c->a = side;
    c->mass[second] = csimi_terms_mass(s, n, block, J) / f->theta;
    for (k = 0; k < 3; k++) moved[k] = second ? -moved[k] : moved[k];
    csimi_addmul3(c->R, moved, c->phi);
}

/* scale (omega_a - omega_b). */
static void csimi_turn_sides(csimi_step_frame *f, const csimi_state *s, const csimi_bond *j, csim_contact *c) {
    int end, k, block;
    for (end = 0; end < 2; end++) {
        csim_real J[9];
        const bool rigid = j->end[end].kind == CSIMI_PLACE_RIGID;
        for (k = 0; k < 9; k++) J[k] = k % 4 == 0 ? j->scale : 0;
        block = rigid ? s->node_count + 2 * j->end[end].item + 1 : 0;
        csimi_bond_side(f, s, c, end, rigid ? 1 : 0, &block, J);
    }
}

/* The point that goes the way of an end: R+ r - R r = theta x (sin(t/2) / (t/2) Rm r) for turns theta, t = |theta|,
   Rm half of it. At the start of a step the point itself. */
static csim_vec3 csimi_bond_way(const csimi_step_frame *f, const csimi_state *s, const csimi_place *p,
                                csim_vec3 point) {
    csim_vec3 com, turn;
    csim_real half;
    if (p->kind != CSIMI_PLACE_RIGID || s != &f->next) return point;
    com = csimi_load3(s->com + 3 * (size_t)p->item);
    turn = csimi_load3(f->v + 3 * ((size_t)s->node_count + 2 * (size_t)p->item + 1));
    half = f->h * csim_length(turn) / 2;
    return half > 0 ? csim_madd(com, CSIMI_SIN(half) / half, csim_sub(point, com)) : point;
}

/* The points against each other; a slider is measured at the point of a, on a line that turns with b. */
static void csimi_point_sides(csimi_step_frame *f, const csimi_state *s, const csimi_bond *j, csim_contact *c) {
    const csimi_bond_pose p = csimi_bond_at(s, j);
    csimi_place base = j->end[1];
    if (j->kind != CSIM_JOINT_SLIDER) {
        csimi_sides(f, s, j->end, csimi_bond_way(f, s, j->end, p.a), j->end + 1,
                    csimi_bond_way(f, s, j->end + 1, p.b), c);
        return;
    }
    base = base.kind == CSIMI_PLACE_RIGID ? csimi_place_rigid(s, base.item, p.a) : csimi_place_ground(p.a);
    csimi_sides(f, s, j->end, p.a, &base, p.a, c);
}

static void csimi_bond_limit_sides(csimi_step_frame *f, const csimi_state *s, const csimi_bond *j, csim_contact *c) {
    if (j->kind == CSIM_JOINT_HINGE)
        csimi_turn_sides(f, s, j, c);
    else
        csimi_point_sides(f, s, j, c);
}

/* Rate of the coordinate as terms with one row each, times factor. */
static int csimi_coordinate_terms(const csimi_state *s, const csimi_bond *j, csim_real factor, int *block,
                                  csim_real *J) {
    const csimi_bond_pose p = csimi_bond_at(s, j);
    const csim_vec3 axis = csim_scale(factor, csim_rotate(p.base, csim_v3(1, 0, 0)));
    int end, n = 0, k;
    for (k = 0; k < 36; k++) J[k] = 0;
    for (end = 0; end < 2; end++) {
        const csim_vec3 e = csim_scale(end ? -1 : 1, axis);
        const int rigid = j->end[end].item;
        if (j->end[end].kind != CSIMI_PLACE_RIGID) continue;
        if (j->kind == CSIM_JOINT_SLIDER) {
            block[n] = s->node_count + 2 * rigid;
            csimi_store3(J + 9 * n++, e);
        }
        block[n] = s->node_count + 2 * rigid + 1;
        csimi_store3(J + 9 * n++, j->kind == CSIM_JOINT_HINGE
                                      ? e
                                      : csim_cross(csim_sub(p.a, csimi_load3(s->com + 3 * (size_t)rigid)), e));
    }
    return n;
}

/* ---- rows */

/* Appends a row with axes j->R and last impulses; bilateral until told otherwise. */
static csim_contact *csimi_bond_row(csim_world *w, csimi_step_frame *f, csimi_bond *j, int which) {
    const int i = f->contact_count++;
    csim_contact *c = f->contacts + i;
    int k;
    CSIMI_MEMSET(c, 0, sizeof *c);
    j->row[which] = i;
    c->law = CSIM_LAW_BILATERAL;
    c->mask = csimi_bond_mask(j, which);
    CSIMI_MEMCPY(c->R, j->R, sizeof c->R);
    csimi_store3(c->point, csimi_place_point(&w->store.state, j->end));
    for (k = 0; k < 3; k++) f->lambda[3 * i + k] = csimi_warm_scale(w, f) * j->impulse[3 * which + k];
    return c;
}

/* Offsets that take the error away: all of what is still to come, a share of what is there. */
static void csimi_bond_offset(csim_world *w, const csimi_step_frame *f, csimi_bond *j, int which, csim_contact *c) {
    const csim_world_def *def = &w->def;
    csim_real error[3], *aim = j->aim + 3 * which;
    const unsigned mask = csimi_bond_mask(j, which);
    const bool one_sided = csimi_bond_one_sided(j, which);
    int k;
    csimi_bond_error(w, &w->store.state, j, which, error);
    for (k = 0; k < 3; k++) {
        const csim_real most = def->push_out_speed * f->h;
        const bool upper = which == CSIMI_ROW_LIMIT && !csimi_limit_is_lower(j);
        aim[k] = error[k] - csimi_clamp(def->stabilization * error[k], -most, most);
        if (one_sided && (upper ? error[k] <= 0 : error[k] >= 0)) aim[k] = 0;
        if (mask >> k & 1u) c->phi[k] += (error[k] - aim[k]) / f->h;
    }
}

/* Makes a box of a bilateral row: held components without bounds, the others at zero. */
static void csimi_bond_box(csim_contact *c) {
    int k;
    for (k = 0; k < 3; k++) {
        c->hi[k] = c->mask >> k & 1u ? CSIMI_HUGE : 0;
        c->lo[k] = -c->hi[k];
    }
    c->law = CSIM_LAW_BOX;
}

/* The motor of a hinge or slider is the first component of the row that leaves it free. */
static void csimi_bond_motor(const csimi_bond *j, csim_real h, csim_contact *c) {
    const csim_motor *m = &j->motor;
    const csim_real unit = csimi_bond_unit(j);
    csim_real rate = m->target;
    if (m->kind == CSIM_MOTOR_NONE) return;
    if (m->kind == CSIM_MOTOR_POSITION) rate = csimi_clamp((m->target - j->position) / h, -m->speed, m->speed);
    csimi_bond_box(c);
    c->phi[0] -= unit * rate;
    c->hi[0] = m->force * h / unit;
    c->lo[0] = -c->hi[0];
}

static void csimi_bond_limit_row(csim_world *w, csimi_step_frame *f, csimi_bond *j) {
    csim_contact *c = csimi_bond_row(w, f, j, CSIMI_ROW_LIMIT);
    csimi_bond_box(c);
    if (j->lower < j->upper) *(csimi_limit_is_lower(j) ? c->lo : c->hi) = 0;
    csimi_bond_limit_sides(f, &w->store.state, j, c);
    csimi_bond_offset(w, f, j, CSIMI_ROW_LIMIT, c);
}

static void csimi_gear_sides(csim_world *w, csimi_step_frame *f, const csimi_state *s, const csimi_bond *j,
                             csim_contact *c) {
    csim_real J[36];
    int block[4], end, n;
    for (end = 0; end < 2; end++) {
        const csimi_bond *other = w->store.joint + w->store.link[j->gear[end]].item;
        n = csimi_coordinate_terms(s, other, end ? j->scale * j->ratio : j->scale, block, J);
        csimi_bond_side(f, s, c, end, n, block, J);
    }
}

static void csimi_bond_gear_row(csim_world *w, csimi_step_frame *f, csimi_bond *j) {
    csim_contact *c;
    int k;
    j->scale = csimi_bond_unit(w->store.joint + w->store.link[j->gear[0]].item);
    for (k = 0; k < 9; k++) j->R[k] = k % 4 == 0 ? 1 : 0;
    c = csimi_bond_row(w, f, j, CSIMI_ROW_POINT);
    csimi_gear_sides(w, f, &w->store.state, j, c);
    csimi_bond_offset(w, f, j, CSIMI_ROW_POINT, c);
}

/* scale^2 = tr(sum of 1/m) / tr(sum of I^-1): a turn of the bodies moves as much mass as a push. */
static csim_real csimi_bond_scale(const csimi_state *s, const csimi_bond *j) {
    csim_real push = 0, turn = 0;
    int end;
    for (end = 0; end < 2; end++) {
        const int k = j->end[end].item;
        if (j->end[end].kind != CSIMI_PLACE_RIGID || s->rigid_mode[k] != CSIMI_FREE) continue;
        push += 3 / s->rigid_mass[k];
        turn +=
            s->rigid_inverse[9 * (size_t)k] + s->rigid_inverse[9 * (size_t)k + 4] + s->rigid_inverse[9 * (size_t)k + 8];
    }
    return turn > 0 ? CSIMI_SQRT(push / turn) : 1;
}

/* Axes of the rows at the start of the step. */
static void csimi_bond_turn_rows(const csimi_state *s, csimi_bond *j) {
    const csimi_bond_pose p = csimi_bond_at(s, j);
    int k;
    if (j->kind == CSIM_JOINT_DISTANCE || j->kind == CSIM_JOINT_ROPE) {
        const csim_real length = csim_length(p.d);
        csim_vec3 d = length > 0 ? csim_scale(1 / length, p.d) : csim_v3(0, 0, 1);
        csim_real n[3];
        csimi_store3(n, j->kind == CSIM_JOINT_ROPE ? csim_scale(-1, d) : d);
        csimi_frame(n, NULL, j->R);
        return;
    }
    for (k = 0; k < 3; k++)
        csimi_store3(j->R + 3 * k, csim_rotate(p.base, csim_v3(k == 0 ? 1 : 0, k == 1 ? 1 : 0, k == 2 ? 1 : 0)));
}

static void csimi_bond_rows_of(csim_world *w, csimi_step_frame *f, csimi_bond *j) {
    const csimi_state *s = &w->store.state;
    const csimi_bond_pose p = csimi_bond_at(s, j);
    csim_contact *c;
    if (csimi_bond_has_axes(j->kind)) j->scale = csimi_bond_scale(s, j);
    j->position = csimi_bond_coordinate(j, &p);
    csimi_bond_turn_rows(s, j);
    c = csimi_bond_row(w, f, j, CSIMI_ROW_POINT);
    csimi_point_sides(f, s, j, c);
    csimi_bond_offset(w, f, j, CSIMI_ROW_POINT, c);
    if (j->kind == CSIM_JOINT_ROPE) c->law = CSIM_LAW_STRICT; /* without friction: it pulls, and nothing else */
    if (j->kind == CSIM_JOINT_SLIDER) csimi_bond_motor(j, f->h, c);
    if (csimi_bond_has_axes(j->kind)) {
        c = csimi_bond_row(w, f, j, CSIMI_ROW_TURN);
        csimi_turn_sides(f, s, j, c);
        csimi_bond_offset(w, f, j, CSIMI_ROW_TURN, c);
        if (j->kind == CSIM_JOINT_HINGE) csimi_bond_motor(j, f->h, c);
    }
    if (j->limited) csimi_bond_limit_row(w, f, j);
}

CSIMI_FN void csimi_bond_rows(csim_world *w, csimi_step_frame *f) {
    csimi_store *s = &w->store;
    int i, k, gears;
    f->contact_count = f->found_count;
    for (gears = 0; gears < 2; gears++) /* gears need the coordinates of the others */
        for (i = 0; i < s->count.joints; i++) {
            csimi_bond *j = s->joint + i;
            if ((j->kind == CSIM_JOINT_GEAR) != (gears == 1)) continue;
            for (k = 0; k < CSIMI_BOND_ROWS; k++) j->row[k] = -1;
            if (j->broken ||
                (gears && (s->joint[s->link[j->gear[0]].item].broken || s->joint[s->link[j->gear[1]].item].broken)))
                continue;
            if (gears)
                csimi_bond_gear_row(w, f, j);
            else
                csimi_bond_rows_of(w, f, j);
        }
}

/* ---- correction: SHAKE. The rows are linear at the start of the step; what they miss at its end goes into phi. */

static void csimi_bond_row_velocity(const csimi_step_frame *f, const csim_contact *c, csim_real *u) {
    csim_real sum[3] = {0, 0, 0}, y[3];
    int side, k, i;
    for (side = 0; side < 2; side++) {
        const csim_side *x = side ? &c->b : &c->a;
        for (k = x->first; k < x->first + x->count; k++) {
            csimi_mul3(f->terms[k].J, f->v + 3 * (size_t)f->terms[k].block, y);
            for (i = 0; i < 3; i++) sum[i] += side ? -y[i] : y[i];
        }
    }
    for (i = 0; i < 3; i++) u[i] = c->phi[i];
    csimi_addmul3(c->R, sum, u);
}

/* What a row misses at frame->next, m, into j->miss; returns the largest part. */
static csim_real csimi_bond_row_miss(const csim_world *w, const csimi_step_frame *f, csimi_bond *j, int which) {
    const csim_contact *c = f->contacts + j->row[which];
    const csim_real *lambda = f->lambda + 3 * (size_t)j->row[which];
    const unsigned mask = csimi_bond_mask(j, which);
    csim_real error[3], u[3], worst = 0, *miss = j->miss + 3 * which;
    int k;
    csimi_bond_error(w, &f->next, j, which, error);
    csimi_bond_row_velocity(f, c, u);
    for (k = 0; k < 3; k++) {
        miss[k] = 0;
        if (!(mask >> k & 1u)) continue;
        if (csimi_bond_one_sided(j, which) && !(lambda[0] < 0 || lambda[0] > 0) &&
            (c->law == CSIM_LAW_BOX && c->hi[0] <= 0 ? error[k] <= 0 : error[k] >= 0))
            continue; /* open, and stays open */
        miss[k] = error[k] - j->aim[3 * which + k] - f->h * u[k];
        worst = csimi_max(worst, csimi_abs(miss[k]));
    }
    return worst;
}

/* phi of a row: a share of the miss is added, or what was added last is taken back. */
static void csimi_bond_row_correct(csimi_step_frame *f, csimi_bond *j, int which, bool back, csim_real share) {
    csim_contact *c = f->contacts + j->row[which];
    csim_real *added = j->added + 3 * which;
    int k;
    for (k = 0; k < 3; k++) {
        added[k] = back ? -added[k] : share * j->miss[3 * which + k] / f->h;
        c->phi[k] += added[k];
    }
}

/* Visits all rows of joints in islands: measures them into miss[island], or corrects those of islands marked by the
   share that is there. */
static void csimi_bonds_visit(csim_world *w, csimi_step_frame *f, const unsigned char *again, csim_real *miss) {
    int i, which, island;
    for (i = 0; i < w->store.count.joints; i++)
        for (which = 0; which < CSIMI_BOND_ROWS; which++) {
            csimi_bond *j = w->store.joint + i;
            if (j->row[which] < 0 || (island = f->contact_island[j->row[which]]) < 0) continue;
            if (!again)
                miss[island] = csimi_max(miss[island], csimi_bond_row_miss(w, f, j, which));
            else if (again[island])
                csimi_bond_row_correct(f, j, which, again[island] == CSIMI_AGAIN_BACK, miss[island]);
        }
}

/* moved[island] of midpoint worlds: how far the last pass turned bodies, rad; the first one: how far they turn at all.
   Joints close before turns settle: a top of 0.1 m misses 2e-7 m where its turns are 1e-5 rad off, in every step. */
static void csimi_bonds_turned(const csim_world *w, const csimi_step_frame *f, const csim_real *before,
                               csim_real *moved) {
    int i, island;
    for (i = 0; i < w->store.count.rigids && csimi_is_middle(w); i++) {
        const int block = w->store.count.nodes + 2 * i + 1;
        csim_vec3 turn = csimi_load3(f->v + 3 * (size_t)block);
        if ((island = f->island[block]) < 0) continue;
        if (before[island] < CSIMI_HUGE) turn = csim_sub(turn, csimi_load3(f->aim + 3 * (size_t)block));
        moved[island] = csimi_max(moved[island], f->h * csim_length(turn));
    }
}

CSIMI_FN bool csimi_bonds_correct(csim_world *w, csimi_step_frame *f, unsigned char *again, csim_real *miss,
                                  csim_real *before, csim_real *moved, bool late) {
    const bool middle = csimi_is_middle(w);
    csim_real swap;
    bool any = false;
    int i;
    for (i = 0; i < f->island_count; i++) miss[i] = moved[i] = 0;
    csimi_bonds_visit(w, f, NULL, miss);
    csimi_bonds_turned(w, f, before, moved);
    for (i = 0; i < f->island_count; i++) {
        const bool turns = again[i] == CSIMI_AGAIN_TURNED && !late && moved[i] > CSIMI_BOND_SETTLED;
        const bool slow = !(miss[i] < (again[i] == CSIMI_AGAIN_TURNED ? 2 : CSIM_R(0.5)) * before[i]); /* spirals */
        if (again[i] == CSIMI_AGAIN_BACK || (miss[i] <= (slow ? 32 : 1) * CSIMI_BOND_CLOSED && !turns))
            again[i] = CSIMI_AGAIN_NO;
        else if (again[i] == CSIMI_AGAIN_TURNED && (late || (slow && miss[i] > 32 * CSIMI_BOND_CLOSED)))
            again[i] = middle || late ? CSIMI_AGAIN_ON : CSIMI_AGAIN_BACK;
        else if (again[i] == CSIMI_AGAIN_ON && slow)
            again[i] = middle || late ? CSIMI_AGAIN_BACK : CSIMI_AGAIN_TURNED;
        any = any || again[i] != CSIMI_AGAIN_NO;
        swap = before[i];
        before[i] = miss[i];
        /* half a correction breaks cycles */
        miss[i] = again[i] == CSIMI_AGAIN_TURNED && before[i] > CSIM_R(0.7) * swap ? CSIM_R(0.5) : 1;
    }
    if (any) csimi_bonds_visit(w, f, again, miss);
    return any;
}

/* ---- midpoint worlds */

static void csimi_bond_renew(csim_world *w, csimi_step_frame *f, const csimi_state *s, csimi_bond *j, int which) {
    csim_contact *c = f->contacts + j->row[which], old = *c;
    const unsigned mask = csimi_bond_mask(j, which);
    const int terms = f->term_count;
    csim_real before[3], after[3];
    int k;
    csimi_bond_row_velocity(f, c, before);
    f->term_count = c->a.first; /* as many as before, in their place */
    CSIMI_MEMCPY(c->R, j->R, sizeof c->R);
    if (j->kind == CSIM_JOINT_GEAR)
        csimi_gear_sides(w, f, s, j, c);
    else if (which == CSIMI_ROW_LIMIT)
        csimi_bond_limit_sides(f, s, j, c);
    else if (which == CSIMI_ROW_TURN)
        csimi_turn_sides(f, s, j, c);
    else
        csimi_point_sides(f, s, j, c);
    CSIMI_MEMCPY(c->phi, old.phi, sizeof c->phi);
    csimi_bond_row_velocity(f, c, after);
    for (k = 0; k < 3; k++)
        if (mask >> k & 1u) c->phi[k] += before[k] - after[k]; /* misses at this velocity what it missed before */
    CSIMI_MEMCPY(c->mass, old.mass, sizeof c->mass);
    f->term_count = terms;
}

/* Turns of a body under a force, by the midpoint rule on rotations (Simo and Wong 1991, with the exponential map): the
   mean of the body's rates at both ends is R_k' v, so w_{k+1} = 2 v - E v_k with E = exp(h [v]x), and the change of
   angular momentum, seen from the middle m of the turn t = h |v|,
       g(v) = 2 P I_m (v - E^1/2 v_k) + (sin(t/2) / (t/2)) h v x I_m v,   P x = x along v and cos(t/2) x across,
   is the impulse; v.g is the change of energy. With b = 2 I_k v - g(v) the linear system has that solution. v_k becomes
   E v_k, which is what the end of the step subtracts. */
static void csimi_bond_turn_middle(const csim_world *w, csimi_step_frame *f, int body, bool first) {
    const csimi_state *s = &w->store.state;
    const size_t at = 3 * ((size_t)s->node_count + 2 * (size_t)body + 1);
    const csim_vec3 v = csimi_load3(f->v + at), start = csimi_load3(s->velocity + 6 * (size_t)body + 3);
    const csim_real half = f->h * csim_length(v) / 2, slow = half > 0 ? CSIMI_SIN(half) / half : 1;
    const csim_vec3 middle = csim_rotate(csim_quat_exp(csim_scale(f->h / 2, v)), start);
    csim_real Ik[9], Im[9], old[3], part[3], spin[3], now[3], *was = f->aim + 3 * (size_t)f->blocks + at;
    csim_vec3 g, gyro;
    int k;
    csimi_rigid_inertia_world(s, body, Ik);
    csimi_rigid_inertia_world(&f->next, body, Im);
    csimi_mul3(Ik, f->vk + at, old);
    for (k = 0; k < 3 && first; k++) was[k] = old[k] / f->theta;
    csimi_store3(part, csim_scale(1 / f->theta, csim_sub(v, middle)));
    csimi_mul3(Im, part, now);
    g = csimi_load3(now);
    if (half > 0) {
        const csim_vec3 along = csim_scale(csim_dot(v, g) / csim_dot(v, v), v);
        g = csim_madd(along, CSIMI_COS(half), csim_sub(g, along));
    }
    csimi_mul3(Im, f->v + at, spin);
    gyro = csim_cross(v, csimi_load3(spin));
    g = csim_madd(g, slow * f->h, gyro);
    csimi_mul3(Ik, f->v + at, now);
    csimi_store3(now, csim_sub(csim_scale(1 / f->theta, csimi_load3(now)), g));
    for (k = 0; k < 3; k++) {
        f->b[at + (size_t)k] += now[k] - was[k];
        was[k] = now[k];
    }
    csimi_store3(f->vk + at, csim_rotate(csim_quat_exp(csim_scale(f->h, v)), start));
}

/* Forces of joints act where bodies are at the middle of the step, on arms for which the rows times h v are what the
   joint opens: a joint that is closed at both ends of the step does no work in it. At the start of the step they pull
   inwards on what moves along the chord, and every step of a midpoint world gains. (Gonzalez 1996, 1999: the midpoint
   rule with discrete derivatives of constraints.) Other worlds do so where the rows of the start do not close: a
   straight chain that is pushed at both ends is stiff along itself until it turns. */
CSIMI_FN void csimi_bonds_middle(csim_world *w, csimi_step_frame *f, const unsigned char *again, bool first) {
    const csimi_store *s = &w->store;
    const bool middle = csimi_is_middle(w);
    int i, which, end, k, island;
    for (i = 0; i < s->count.joints; i++) {
        csimi_bond *j = s->joint + i;
        if (j->row[CSIMI_ROW_POINT] < 0 || (island = f->contact_island[j->row[CSIMI_ROW_POINT]]) < 0) continue;
        if (again[island] != CSIMI_AGAIN_TURNED) continue;
        if (j->kind != CSIM_JOINT_GEAR) csimi_bond_turn_rows(&f->next, j);
        for (which = 0; which < CSIMI_BOND_ROWS; which++)
            if (j->row[which] >= 0) csimi_bond_renew(w, f, &f->next, j, which);
        for (end = 0; end < 2 && middle; end++) { /* stiffness takes Newton's step, nothing from the bodies */
            const size_t turn = 3 * ((size_t)s->count.nodes + 2 * (size_t)j->end[end].item + 1);
            for (k = 0; k < 3 && j->stiff[end] > 0; k++)
                f->b[turn + (size_t)k] +=
                    j->stiff[end] * (f->v[turn + (size_t)k] - (first ? 0 : f->aim[turn + (size_t)k]));
        }
    }
    for (i = 0; i < s->count.rigids && middle; i++) {
        island = f->island[s->count.nodes + 2 * i + 1];
        if (island >= 0 && again[island] == CSIMI_AGAIN_TURNED) csimi_bond_turn_middle(w, f, i, first);
    }
    if (middle) CSIMI_MEMCPY(f->aim, f->v, sizeof(csim_real) * 3 * (size_t)f->blocks);
}

/* ---- geometric stiffness */

/* A force F at arm r turns with the body: its torque falls by K theta, K = (F . r) I - sym(F r'), of which the
   eigenvalues are F . r, (F . r + |F| |r|) / 2 >= 0 and (F . r - |F| |r|) / 2 <= 0. The positive part along the first
   two directions is added as h^2 K where explicit forces of this size are unstable for the inertia of the body, as in a
   chain of light links that carries a heavy load; elsewhere nothing, which keeps momentum exact. */
static void csimi_bond_stiffen_end(csim_world *w, const csimi_step_frame *f, csimi_bond *j, int end) {
    csimi_store *s = &w->store;
    const int k = j->end[end].item, block = s->count.nodes + 2 * k + 1;
    csim_real force[3] = {0, 0, 0}, *A = s->A.val + 9 * (size_t)s->A.diag[block], most;
    csim_vec3 r, F;
    int i;
    csimi_addmulT3(j->R, j->impulse, force); /* impulse of the last step: h F */
    F = csim_scale(end ? -csimi_warm_scale(w, f) : csimi_warm_scale(w, f), csimi_load3(force));
    r = csim_sub(csimi_place_point(&s->state, j->end + end), csimi_load3(s->state.com + 3 * (size_t)k));
    most = f->sigma * f->h * (csim_dot(F, r) + csim_length(F) * csim_length(r)) / 2;
    if (!(most > CSIM_R(0.25) * csimi_min(A[0], csimi_min(A[4], A[8])))) return;
    for (i = 0; i < 3; i++) A[4 * i] += most;
    j->stiff[end] = most;
}

CSIMI_FN void csimi_bonds_stiffen(csim_world *w, const csimi_step_frame *f) {
    int i, end;
    for (i = 0; i < w->store.count.joints; i++) {
        csimi_bond *j = w->store.joint + i;
        j->stiff[0] = j->stiff[1] = 0;
        for (end = 0; end < 2 && w->def.solver.geometric; end++)
            if (!j->broken && j->kind != CSIM_JOINT_GEAR && j->end[end].kind == CSIMI_PLACE_RIGID)
                csimi_bond_stiffen_end(w, f, j, end);
    }
}

/* ---- the end of a step */

static csim_real csimi_bond_load(const csimi_bond *j, int which, double h) {
    return h > 0 ? csim_length(csimi_load3(j->impulse + 3 * which)) / (csim_real)h : 0;
}

/* Takes the impulses over; a joint that bore more than it can lets go. */
CSIMI_FN void csimi_bonds_commit(csim_world *w, const csimi_step_frame *f) {
    csimi_store *s = &w->store;
    int i, which, k;
    for (i = 0; i < s->count.joints; i++) {
        csimi_bond *j = s->joint + i;
        csimi_bond_pose p = csimi_bond_at(&f->next, j);
        j->broke = false;
        for (which = 0; which < CSIMI_BOND_ROWS; which++)
            for (k = 0; k < 3; k++)
                j->impulse[3 * which + k] = j->row[which] < 0 ? 0 : f->lambda[3 * (size_t)j->row[which] + (size_t)k];
        j->position = j->kind == CSIM_JOINT_GEAR ? csimi_gear_error(w, &f->next, j) : csimi_bond_coordinate(j, &p);
        if (j->broken) continue;
        j->broke =
            (j->break_force > 0 && csimi_bond_load(j, CSIMI_ROW_POINT, (double)f->h) > j->break_force) ||
            (j->break_torque > 0 && j->scale * csimi_bond_load(j, CSIMI_ROW_TURN, (double)f->h) > j->break_torque);
        j->broken = j->broke;
    }
}

/* ---- creating */

CSIM_API csim_joint_def csim_default_joint_def(void) {
    csim_joint_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.axis = csim_v3(0, 0, 1);
    d.length = -1;
    d.motor.speed = CSIM_R(1e9);
    d.ratio = 1;
    d.guard = CSIMI_GUARD;
    return d;
}

static csim_status csimi_bond_range(csim_error *e, const char *fn, const char *field, double value,
                                    const char *allowed) {
    return csimi_fail(e, CSIM_OUT_OF_RANGE, fn, field, true, value, allowed);
}

static csim_status csimi_check_motor(csim_error *e, const char *fn, const csim_motor *m) {
    static const csimi_field fields[] = {CSIMI_ANY(csim_motor, target), CSIMI_POSITIVE(csim_motor, speed),
                                         CSIMI_AT_LEAST_0(csim_motor, force)};
    if ((int)m->kind < 0 || m->kind >= CSIM_MOTOR_COUNT_)
        return csimi_bond_range(e, fn, "motor.kind", (double)(int)m->kind, "a csim_motor_kind");
    return csimi_check_fields(e, fn, m, fields, CSIMI_COUNT_OF(fields));
}

static csim_status csimi_check_joint(csim_error *e, const char *fn, const csim_joint_def *d) {
    static const csimi_field fields[] = {
        {"length", offsetof(csim_joint_def, length), -1e9, 1e9, false, false, "below 0 (as it is now) or 0..1e9"},
        CSIMI_ANY(csim_joint_def, lower),
        CSIMI_ANY(csim_joint_def, upper),
        CSIMI_ANY(csim_joint_def, ratio),
        CSIMI_AT_LEAST_0(csim_joint_def, break_force),
        CSIMI_AT_LEAST_0(csim_joint_def, break_torque),
    };
    csim_status s = csimi_check_guard(e, fn, "made by csim_default_joint_def()", d->guard);
    if (s) return s;
    if ((int)d->kind < 0 || d->kind >= CSIM_JOINT_COUNT_)
        return csimi_bond_range(e, fn, "kind", (double)(int)d->kind, "a csim_joint_kind");
    if ((s = csimi_check_fields(e, fn, d, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_vec(e, fn, "axis", d->axis)) != 0) return s;
    if ((s = csimi_check_motor(e, fn, &d->motor)) != 0) return s;
    if (d->lower > d->upper) return csimi_bond_range(e, fn, "lower", (double)d->lower, "at most upper");
    if (csimi_bond_has_coordinate(d->kind) && !(csim_length(d->axis) > CSIMI_EPS))
        return csimi_bond_range(e, fn, "axis", (double)csim_length(d->axis), "a direction");
    if ((d->limited || d->motor.kind != CSIM_MOTOR_NONE) && !csimi_bond_has_coordinate(d->kind))
        return csimi_bond_range(e, fn, d->limited ? "limited" : "motor.kind", 1, "hinges and sliders only");
    if (d->kind == CSIM_JOINT_GEAR && !(csimi_abs(d->ratio) > 0)) return csimi_bond_range(e, fn, "ratio", 0, "not 0");
    return CSIM_OK;
}

/* The joints behind the two links of a gear. */
static csim_status csimi_gear_links(csim_world *w, const csim_joint_def *d, const char *fn, csimi_bond *j) {
    csim_status status;
    int k;
    for (k = 0; k < 2; k++) {
        const csimi_link *l;
        if ((status = csimi_find_link(w, k ? d->second : d->first, fn, j->gear + k, &w->error)) != 0) return status;
        l = w->store.link + j->gear[k];
        if (l->kind != CSIMI_JOINT || !csimi_bond_has_coordinate(w->store.joint[l->item].kind))
            return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, k ? "second" : "first", false, 0, "a hinge or slider");
    }
    if (j->gear[0] == j->gear[1])
        return csimi_bond_range(&w->error, fn, "second", (double)j->gear[1], "another joint than first");
    j->ratio = d->ratio;
    j->offset = 0;
    j->offset = csimi_gear_error(w, &w->store.state, j);
    return CSIM_OK;
}

/* The shortest turn that takes x to the axis. */
static csim_quat csimi_axis_turn(csim_vec3 axis) {
    const csim_vec3 n = csim_normalize(axis), v = csim_cross(csim_v3(1, 0, 0), n);
    csim_quat q = csim_pose_identity().rotation;
    const csim_real w = 1 + n.x, length = CSIMI_SQRT(w * w + csim_dot(v, v));
    if (!(length > CSIM_R(1e-3))) {
        q.w = 0;
        q.z = 1;
        return q;
    }
    q.w = w / length;
    q.x = v.x / length;
    q.y = v.y / length;
    q.z = v.z / length;
    return q;
}

static void csimi_bond_frames(const csimi_state *s, const csim_joint_def *d, csimi_bond *j) {
    const csim_quat world =
        csimi_bond_has_coordinate(d->kind) ? csimi_axis_turn(d->axis) : csim_pose_identity().rotation;
    int end;
    for (end = 0; end < 2; end++) {
        csim_quat q = world;
        if (j->end[end].kind == CSIMI_PLACE_RIGID && csimi_bond_has_axes(d->kind))
            q = csim_quat_mul(csim_quat_conj(csimi_load_quat(s->rotation + 4 * (size_t)j->end[end].item)), q);
        csimi_store_quat(j->frame[end], q);
    }
}

/* Everything of the joint but its link. */
static csim_status csimi_bond_fill(csim_world *w, const csim_joint_def *d, const char *fn, csimi_bond *j, int *bodies) {
    csim_status status;
    int k;
    CSIMI_MEMSET(j, 0, sizeof *j);
    j->kind = d->kind;
    j->gear[0] = j->gear[1] = -1;
    j->end[0] = j->end[1] = csimi_place_ground(csim_v3(0, 0, 0));
    bodies[0] = bodies[1] = -1;
    j->limited = d->limited;
    j->lower = d->lower;
    j->upper = d->upper;
    j->motor = d->motor;
    j->break_force = d->break_force;
    j->break_torque = d->break_torque;
    j->scale = 1;
    for (k = 0; k < CSIMI_BOND_ROWS; k++) j->row[k] = -1;
    if (d->kind == CSIM_JOINT_GEAR) return csimi_gear_links(w, d, fn, j);
    if ((status = csimi_link_ends(w, &d->a, &d->b, fn, j->end, bodies)) != 0) return status;
    for (k = 0; k < 2; k++)
        if (csimi_bond_has_axes(d->kind) && bodies[k] >= 0 && j->end[k].kind != CSIMI_PLACE_RIGID)
            return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, k ? "b.body" : "a.body", false, 0, "a rigid body");
    csimi_bond_frames(&w->store.state, d, j);
    {
        const csimi_bond_pose p = csimi_bond_at(&w->store.state, j);
        j->length = d->length < 0 ? csim_length(p.d) : d->length;
        j->position = csimi_bond_coordinate(j, &p);
    }
    return CSIM_OK;
}

/* Shared by the two doors: fn names the one that was used. */
static csim_status csimi_create_joint(csim_world *w, const csim_joint_def *def, const char *fn, csim_link_id *id) {
    csimi_bond joint;
    csimi_counts need;
    csimi_store *s;
    int bodies[2], item;
    csim_status status = csimi_check_joint(&w->error, fn, def);
    if (status) return status;
    if ((status = csimi_check_integrator(&w->def, w->def.integrator, 0, 1, fn, &w->error)) != 0) return status;
    if ((status = csimi_bond_fill(w, def, fn, &joint, bodies)) != 0) return status;
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    need.joints++;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    item = s->count.joints++;
    joint.link = csimi_take_link(w, CSIMI_JOINT, item, bodies, def->break_force);
    s->joint[item] = joint;
    s->link[joint.link].apart = !def->collide && def->kind <= CSIM_JOINT_WELD &&
                                joint.end[0].kind == CSIMI_PLACE_RIGID && joint.end[1].kind == CSIMI_PLACE_RIGID;
    csimi_finish_link(w, joint.link, id);
    return CSIM_OK;
}

CSIM_API csim_status csim_create_joint(csim_world *w, const csim_joint_def *def, csim_link_id *id) {
    csim_status status = csimi_start_create(w, def, id, "csim_create_joint");
    return status ? status : csimi_create_joint(w, def, "csim_create_joint", id);
}

CSIM_API csim_status csim_create_pin(csim_world *w, const csim_pin_def *def, csim_link_id *id) {
    static const char fn[] = "csim_create_pin";
    csim_joint_def d;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_pin_def()", def->guard)) != 0) return status;
    d = csim_default_joint_def();
    d.a = def->a;
    d.b = def->b;
    d.break_force = def->break_force;
    return csimi_create_joint(w, &d, fn, id);
}

/* ---- reading and setting */

static csim_status csimi_find_joint(const csim_world *w, csim_link_id id, const char *fn, int *item,
                                    csim_error *error) {
    int slot;
    csim_status s = csimi_find_link(w, id, fn, &slot, error);
    if (s) return s;
    if (w->store.link[slot].kind != CSIMI_JOINT)
        return csimi_fail(error, CSIM_WRONG_KIND, fn, "id", true, (double)id.index1, "a joint or pin");
    *item = w->store.link[slot].item;
    return CSIM_OK;
}

/* Rate of the coordinate at the end velocities. */
static csim_real csimi_bond_speed(const csimi_state *s, const csimi_bond *j) {
    const csimi_bond_pose p = csimi_bond_at(s, j);
    csim_real J[36], speed = 0;
    int block[4], k, n;
    if (!csimi_bond_has_coordinate(j->kind)) {
        const csim_vec3 v = csim_sub(csimi_place_velocity(s, j->end, p.a), csimi_place_velocity(s, j->end + 1, p.b));
        const csim_real length = csim_length(p.d);
        return length > 0 ? csim_dot(p.d, v) / length : 0;
    }
    n = csimi_coordinate_terms(s, j, 1, block, J);
    for (k = 0; k < n; k++)
        speed += csim_dot(csimi_load3(J + 9 * k), csimi_load3(s->velocity + 3 * (size_t)(block[k] - s->node_count)));
    return speed;
}

/* Force of one row, world axes. */
static csim_vec3 csimi_bond_row_force(const csimi_bond *j, int which, csim_real factor) {
    csim_real x[3] = {0, 0, 0};
    csimi_addmulT3(j->R, j->impulse + 3 * which, x);
    return csim_scale(factor, csimi_load3(x));
}

CSIM_API csim_status csim_joint_get(const csim_world *w, csim_link_id id, csim_joint_state *out) {
    const csimi_bond *j;
    csim_real per_h, error[3];
    int item, which;
    csim_status status;
    if (!w || !out) return CSIM_NULL_ARGUMENT;
    if ((status = csimi_find_joint(w, id, "csim_joint_get", &item, NULL)) != 0) return status;
    j = w->store.joint + item;
    per_h = w->last_h > 0 ? 1 / (csim_real)w->last_h : 0;
    CSIMI_MEMSET(out, 0, sizeof *out);
    out->kind = j->kind;
    out->broken = j->broken;
    out->position = j->position;
    if (j->kind == CSIM_JOINT_GEAR) {
        out->along = per_h * j->scale * j->impulse[0];
        out->error = csimi_abs(csimi_gear_error(w, &w->store.state, j)); /* of the first coordinate */
        return CSIM_OK;
    }
    out->speed = csimi_bond_speed(&w->store.state, j);
    out->force = csimi_bond_row_force(j, CSIMI_ROW_POINT, per_h);
    out->torque = csimi_bond_row_force(j, CSIMI_ROW_TURN, per_h * j->scale);
    if (j->kind == CSIM_JOINT_HINGE)
        out->torque = csim_add(out->torque, csimi_bond_row_force(j, CSIMI_ROW_LIMIT, per_h * j->scale));
    else
        out->force = csim_add(out->force, csimi_bond_row_force(j, CSIMI_ROW_LIMIT, per_h));
    which = j->kind == CSIM_JOINT_HINGE ? CSIMI_ROW_TURN : CSIMI_ROW_POINT;
    out->along = per_h * csimi_bond_unit(j) * (j->impulse[3 * which] + j->impulse[3 * CSIMI_ROW_LIMIT]);
    for (which = CSIMI_ROW_POINT; which <= CSIMI_ROW_TURN; which++) {
        const unsigned mask = csimi_bond_mask(j, which);
        csim_vec3 e;
        if (which == CSIMI_ROW_TURN && !csimi_bond_has_axes(j->kind)) continue;
        csimi_bond_error(w, &w->store.state, j, which, error);
        e = csim_v3(mask & 1u ? error[0] : 0, mask & 2u ? error[1] : 0, mask & 4u ? error[2] : 0);
        if (which == CSIMI_ROW_POINT)
            out->error = j->kind == CSIM_JOINT_ROPE ? csimi_max(-e.x, 0) : csim_length(e);
        else
            out->error_angle = csim_length(e) / j->scale;
    }
    return CSIM_OK;
}

/* The joint of a call that changes it. */
static csim_status csimi_change_joint(csim_world *w, csim_link_id id, const char *fn, csimi_bond **j) {
    csim_status status;
    int item;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, fn, NULL, false, 0, NULL);
    if ((status = csimi_find_joint(w, id, fn, &item, &w->error)) != 0) return status;
    *j = w->store.joint + item;
    if (!csimi_bond_has_coordinate((*j)->kind))
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", true, (double)id.index1, "a hinge or slider");
    return CSIM_OK;
}

CSIM_API csim_status csim_joint_set_motor(csim_world *w, csim_link_id id, const csim_motor *motor) {
    csimi_bond *j = NULL;
    csim_status status = csimi_change_joint(w, id, "csim_joint_set_motor", &j);
    if (status) return status;
    if (!motor) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, "csim_joint_set_motor", "motor", false, 0, "a motor");
    if ((status = csimi_check_motor(&w->error, "csim_joint_set_motor", motor)) != 0) return status;
    j->motor = *motor;
    return CSIM_OK;
}

CSIM_API csim_status csim_joint_set_limits(csim_world *w, csim_link_id id, bool limited, csim_real lower,
                                           csim_real upper) {
    static const char fn[] = "csim_joint_set_limits";
    csimi_bond *j = NULL;
    csim_status status = csimi_change_joint(w, id, fn, &j);
    if (status) return status;
    if (!csimi_finite(lower) || !csimi_finite(upper))
        return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, csimi_finite(lower) ? "upper" : "lower", false, 0,
                          "-1e9..1e9");
    if (!(csimi_abs(lower) <= CSIM_R(1e9) && csimi_abs(upper) <= CSIM_R(1e9) && lower <= upper))
        return csimi_bond_range(&w->error, fn, "lower", (double)lower, "-1e9..1e9, at most upper");
    j->limited = limited;
    j->lower = lower;
    j->upper = upper;
    return CSIM_OK;
}

CSIM_API int csim_world_broken(const csim_world *w, csim_link_id *ids, int capacity) {
    int i, n = 0;
    for (i = 0; w && i < w->store.count.joints; i++) {
        const csimi_bond *j = w->store.joint + i;
        if (!j->broke) continue;
        if (ids && n < capacity) {
            ids[n].index1 = (uint32_t)j->link + 1u;
            ids[n].generation = w->store.link[j->link].generation;
            ids[n].world = w->stamp;
        }
        n++;
    }
    return n;
}

#undef CSIMI_BOND_CLOSED
#undef CSIMI_BOND_SETTLED
