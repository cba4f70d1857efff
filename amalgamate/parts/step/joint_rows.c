/* step/joint_rows: hard joints as rows of the problem, and their corrections. */
#include "private.h"

/* what islands of rigid bodies are solved to, or in float as many digits as there are */
#define CSIMI_JOINT_CLOSED csimi_max(CSIM_R(1e-11), 64 * CSIMI_EPS) /* m */
#define CSIMI_JOINT_SETTLED csimi_max(CSIM_R(1e-9), 4 * CSIMI_EPS)  /* rad */

/* ---- sides */

/* scale (omega_a - omega_b). */
static void csimi_turn_sides(csimi_step_frame *f, const csimi_state *s, const csimi_joint *j, csim_contact *c) {
    int end, k;
    for (end = 0; end < 2; end++) {
        csim_real D[9];
        for (k = 0; k < 9; k++) D[k] = k % 4 == 0 ? j->scale : 0;
        csimi_turn_side(f, s, j->end + end, D, c, end);
    }
}

/* The points against each other; a slider is measured at the point of a, on a line that turns with b. */
static void csimi_point_sides(csimi_step_frame *f, const csimi_state *s, const csimi_joint *j, csim_contact *c) {
    const csimi_joint_pose p = csimi_joint_at(s, j);
    csimi_place base;
    if (j->kind != CSIM_JOINT_SLIDER) {
        /* on arms for which h J v is the way that the points really go, at the middle of a step */
        csimi_sides(f, s, j->end, csimi_joint_way(f, s, j->end, p.a), j->end + 1,
                    csimi_joint_way(f, s, j->end + 1, p.b), c);
        return;
    }
    base = csimi_place_beside(s, j->end + 1, p.a); /* both are pushed at one point: no couple is left over */
    csimi_sides(f, s, j->end, p.a, &base, p.a, c);
}

/* A limit acts along the coordinate: on the turns of a hinge, on the points of a slider. */
static void csimi_joint_limit_sides(csimi_step_frame *f, const csimi_state *s, const csimi_joint *j, csim_contact *c) {
    if (j->kind == CSIM_JOINT_HINGE)
        csimi_turn_sides(f, s, j, c);
    else
        csimi_point_sides(f, s, j, c);
}

/* ---- rows */

/* Appends a row with axes j->R and last impulses; bilateral until told otherwise. */
static csim_contact *csimi_joint_row(csim_world *w, csimi_step_frame *f, csimi_joint *j, int which) {
    const int i = f->contact_count++;
    csim_contact *c = f->contacts + i;
    int k;
    CSIMI_MEMSET(c, 0, sizeof *c);
    j->row[which] = i;
    c->law = CSIM_LAW_BILATERAL;
    c->mask = csimi_joint_mask(j, which);
    CSIMI_MEMCPY(c->R, j->R, sizeof c->R);
    /* forces persist from step to step, impulses go with h */
    for (k = 0; k < 3; k++) f->lambda[3 * i + k] = csimi_warm_scale(w, f) * j->impulse[3 * which + k];
    return c;
}

/* Offsets that take the error away: all of what is still to come, a share of what is there. */
static void csimi_joint_offset(csim_world *w, const csimi_step_frame *f, csimi_joint *j, int which, csim_contact *c) {
    const csim_world_def *def = &w->def;
    csim_real error[3], *aim = j->aim + 3 * which;
    const unsigned mask = csimi_joint_mask(j, which);
    const bool one_sided = csimi_joint_one_sided(j, which);
    int k;
    csimi_joint_error(w, &w->store.state, j, which, error);
    for (k = 0; k < 3; k++) {
        const csim_real most = def->push_out_speed * f->h; /* m: an overlap or a torn joint closes no faster */
        const bool upper = which == CSIMI_ROW_LIMIT && !csimi_limit_is_lower(j);
        aim[k] = error[k] - csimi_clamp(def->stabilization * error[k], -most, most);
        if (one_sided && (upper ? error[k] <= 0 : error[k] >= 0)) aim[k] = 0; /* it may close, not cross */
        if (mask >> k & 1u) c->phi[k] += (error[k] - aim[k]) / f->h;
    }
}

/* Makes a box of a bilateral row: held components without bounds, the others at zero. */
static void csimi_joint_box(csim_contact *c) {
    int k;
    for (k = 0; k < 3; k++) {
        c->hi[k] = c->mask >> k & 1u ? CSIMI_HUGE : 0;
        c->lo[k] = -c->hi[k];
    }
    c->law = CSIM_LAW_BOX;
}

/* The motor of a hinge or slider is the first component of the row that leaves it free. */
static void csimi_joint_motor(const csimi_joint *j, csim_real h, csim_contact *c) {
    const csim_motor *m = &j->motor;
    const csim_real unit = csimi_joint_unit(j);
    csim_real rate = m->target;
    if (m->kind == CSIM_MOTOR_NONE) return;
    if (m->kind == CSIM_MOTOR_POSITION) rate = csimi_clamp((m->target - j->position) / h, -m->speed, m->speed);
    csimi_joint_box(c);
    c->phi[0] -= unit * rate;
    c->hi[0] = m->force * h / unit; /* N m at a turn of `unit` metres, as an impulse */
    c->lo[0] = -c->hi[0];
}

static void csimi_joint_limit_row(csim_world *w, csimi_step_frame *f, csimi_joint *j) {
    csim_contact *c = csimi_joint_row(w, f, j, CSIMI_ROW_LIMIT);
    csimi_joint_box(c);
    /* it pushes back into the range and never pulls; equal limits hold from both sides */
    if (j->lower < j->upper) *(csimi_limit_is_lower(j) ? c->lo : c->hi) = 0;
    csimi_joint_limit_sides(f, &w->store.state, j, c);
    csimi_joint_offset(w, f, j, CSIMI_ROW_LIMIT, c);
}

static void csimi_gear_sides(csim_world *w, csimi_step_frame *f, const csimi_state *s, const csimi_joint *j,
                             csim_contact *c) {
    csimi_gear_side(w, f, s, j, 0, c);
    csimi_gear_side(w, f, s, j, 1, c);
}

/* Length that makes metres of the coordinate of the first end. */
static csim_real csimi_gear_unit(const csim_world *w, const csimi_joint *j) {
    const csimi_joint *first = csimi_geared(w, j, 0);
    const csimi_state *s = &w->store.state;
    const csimi_place ground = csimi_place_ground(csim_v3(0, 0, 0));
    if (first) return csimi_joint_unit(first);
    return s->tree_link[j->end[0].item].joint == CSIM_TREE_REVOLUTE ? csimi_turn_scale(s, j->end, &ground) : 1;
}

/* A gear on a joint that has let go holds nothing. */
static bool csimi_gear_holds(const csim_world *w, const csimi_joint *j) {
    int k;
    for (k = 0; k < 2; k++)
        if (csimi_geared(w, j, k) && csimi_geared(w, j, k)->broken) return false;
    return true;
}

static void csimi_joint_gear_row(csim_world *w, csimi_step_frame *f, csimi_joint *j) {
    csim_contact *c;
    int k;
    j->scale = csimi_gear_unit(w, j);
    for (k = 0; k < 9; k++) j->R[k] = k % 4 == 0 ? 1 : 0; /* a rate, not a direction: component 0 of three */
    c = csimi_joint_row(w, f, j, CSIMI_ROW_POINT);
    csimi_gear_sides(w, f, &w->store.state, j, c);
    csimi_joint_offset(w, f, j, CSIMI_ROW_POINT, c);
}

/* Axes of the rows at the start of the step. */
static void csimi_joint_turn_rows(const csimi_state *s, csimi_joint *j) {
    const csimi_joint_pose p = csimi_joint_at(s, j);
    int k;
    if (j->kind == CSIM_JOINT_DISTANCE || j->kind == CSIM_JOINT_ROPE) {
        const csim_real length = csim_length(p.d);
        csim_vec3 d = length > 0 ? csim_scale(1 / length, p.d) : csim_v3(0, 0, 1); /* z: both points in one place */
        csim_real n[3];
        /* a rope's normal points inward: its law knows impulses >= 0 alone, and these pull */
        csimi_store3(n, j->kind == CSIM_JOINT_ROPE ? csim_scale(-1, d) : d);
        csimi_frame(n, NULL, j->R);
        return;
    }
    for (k = 0; k < 3; k++)
        csimi_store3(j->R + 3 * k, csim_rotate(p.base, csim_v3(k == 0 ? 1 : 0, k == 1 ? 1 : 0, k == 2 ? 1 : 0)));
}

static void csimi_joint_rows_of(csim_world *w, csimi_step_frame *f, csimi_joint *j) {
    const csimi_state *s = &w->store.state;
    const csimi_joint_pose p = csimi_joint_at(s, j);
    csim_contact *c;
    /* first of all: errors and bounds of turns are measured in it */
    if (csimi_joint_has_axes(j->kind)) j->scale = csimi_turn_scale(s, j->end, j->end + 1);
    j->position = csimi_joint_coordinate(j, &p);
    csimi_joint_turn_rows(s, j);
    c = csimi_joint_row(w, f, j, CSIMI_ROW_POINT);
    csimi_point_sides(f, s, j, c);
    csimi_joint_offset(w, f, j, CSIMI_ROW_POINT, c);
    if (j->kind == CSIM_JOINT_ROPE) c->law = CSIM_LAW_STRICT; /* without friction: it pulls, and nothing else */
    if (j->kind == CSIM_JOINT_SLIDER) csimi_joint_motor(j, f->h, c);
    if (csimi_joint_has_axes(j->kind)) {
        c = csimi_joint_row(w, f, j, CSIMI_ROW_TURN);
        csimi_turn_sides(f, s, j, c);
        csimi_joint_offset(w, f, j, CSIMI_ROW_TURN, c);
        if (j->kind == CSIM_JOINT_HINGE) csimi_joint_motor(j, f->h, c);
    }
    if (j->limited) csimi_joint_limit_row(w, f, j);
}

CSIMI_FN CSIMI_NOINLINE void csimi_joint_rows(csim_world *w, csimi_step_frame *f) {
    csimi_store *s = &w->store;
    int i, k, gears;
    for (i = 0; i < CSIMI_AXES_LINES * s->count.axes; i++) s->axes[i / CSIMI_AXES_LINES].row[i % CSIMI_AXES_LINES] = -1;
    for (gears = 0; gears < 2; gears++) /* gears need the coordinates of the others */
        for (i = 0; i < s->count.joints; i++) {
            csimi_joint *j = s->joint + i;
            if ((j->kind == CSIM_JOINT_GEAR) != (gears == 1)) continue;
            for (k = 0; k < CSIMI_JOINT_ROWS; k++) j->row[k] = -1;
            if (j->broken || (gears && !csimi_gear_holds(w, j))) continue;
            if (gears)
                csimi_joint_gear_row(w, f, j);
            else if (j->axes >= 0)
                csimi_axes_rows(w, f, j);
            else
                csimi_joint_rows_of(w, f, j);
        }
    csimi_axes_assemble(w); /* the soft rows have their kappa only here, after A was assembled */
}

/* ---- correction: SHAKE. The rows are linear at the start of the step; what they miss at its end goes into phi. */

/* What a row misses at frame->next, m, into j->miss; returns the largest part. */
static csim_real csimi_joint_row_miss(const csim_world *w, const csimi_step_frame *f, csimi_joint *j, int which) {
    const csim_contact *c = f->contacts + j->row[which];
    const csim_real *lambda = f->lambda + 3 * (size_t)j->row[which];
    const unsigned mask = csimi_joint_mask(j, which);
    csim_real error[3], u[3], worst = 0, *miss = j->miss + 3 * which;
    int k;
    csimi_joint_error(w, &f->next, j, which, error);
    csimi_joint_row_velocity(f, c, u);
    for (k = 0; k < 3; k++) {
        miss[k] = 0;
        if (!(mask >> k & 1u)) continue;
        if (csimi_joint_one_sided(j, which) && !(lambda[0] < 0 || lambda[0] > 0) &&
            (c->law == CSIM_LAW_BOX && c->hi[0] <= 0 ? error[k] <= 0 : error[k] >= 0))
            continue; /* open, and stays open */
        /* what the linear row does not know of */
        miss[k] = error[k] - j->aim[3 * which + k] - f->h * u[k];
        worst = csimi_max(worst, csimi_abs(miss[k]));
    }
    return worst;
}

/* phi of a row: a share of the miss is added, or what was added last is taken back. */
static void csimi_row_correct(csimi_step_frame *f, int row, csim_real *added, const csim_real *miss, bool back,
                              csim_real share) {
    int k;
    for (k = 0; k < 3; k++) {
        added[k] = back ? -added[k] : share * miss[k] / f->h;
        f->contacts[row].phi[k] += added[k];
    }
}

/* What is missed in each island, the worst of its rows. */
static void csimi_joints_measure(csim_world *w, const csimi_step_frame *f, csim_real *miss) {
    int i, which, island;
    for (i = 0; i < f->island_count; i++) miss[i] = 0;
    for (i = 0; i < w->store.count.joints; i++)
        for (which = 0; which < CSIMI_JOINT_ROWS; which++) {
            csimi_joint *j = w->store.joint + i;
            /* no island: both ends are given, and no impulse closes the joint */
            if (j->row[which] < 0 || (island = f->contact_island[j->row[which]]) < 0) continue;
            miss[island] = csimi_max(miss[island], csimi_joint_row_miss(w, f, j, which));
        }
    for (i = 0; i < CSIMI_AXES_LINES * w->store.count.axes; i++) {
        csimi_axes *ax = w->store.axes + i / CSIMI_AXES_LINES;
        const int row = ax->row[i % CSIMI_AXES_LINES];
        if (row < 0 || (island = f->contact_island[row]) < 0) continue;
        miss[island] = csimi_max(miss[island], csimi_axes_miss(w, f, ax, i % CSIMI_AXES_LINES));
    }
}

/* Corrects the rows of islands that are solved again. */
static void csimi_joints_shift(csim_world *w, csimi_step_frame *f, const csimi_closing *c) {
    int i, which, island;
    for (i = 0; i < w->store.count.joints; i++)
        for (which = 0; which < CSIMI_JOINT_ROWS; which++) {
            csimi_joint *j = w->store.joint + i;
            if (j->row[which] < 0 || (island = f->contact_island[j->row[which]]) < 0) continue;
            if (c->again[island] != CSIMI_AGAIN_NO)
                csimi_row_correct(f, j->row[which], j->added + 3 * which, j->miss + 3 * which,
                                  c->again[island] == CSIMI_AGAIN_BACK, c->share[island]);
        }
    for (i = 0; i < CSIMI_AXES_LINES * w->store.count.axes; i++) {
        csimi_axes *ax = w->store.axes + i / CSIMI_AXES_LINES;
        const int line = i % CSIMI_AXES_LINES;
        if (ax->row[line] < 0 || (island = f->contact_island[ax->row[line]]) < 0) continue;
        if (c->again[island] != CSIMI_AGAIN_NO)
            csimi_row_correct(f, ax->row[line], ax->added + 3 * line, ax->miss + 3 * line,
                              c->again[island] == CSIMI_AGAIN_BACK, c->share[island]);
    }
}

/* moved[island] of midpoint worlds: how far the last pass turned bodies, rad; the first one: how far they turn at all.
   Joints close before turns settle: a top of 0.1 m misses 2e-7 m where its turns are 1e-5 rad off, in every step. */
static void csimi_joints_turned(const csim_world *w, const csimi_step_frame *f, const csim_real *before,
                                csim_real *moved) {
    int i, island;
    for (i = 0; i < f->island_count; i++) moved[i] = 0;
    for (i = 0; i < w->store.count.rigids && csimi_is_middle(w); i++) {
        const int block = w->store.count.nodes + 2 * i + 1;
        csim_vec3 turn = csimi_load3(f->v + 3 * (size_t)block);
        if ((island = f->island[block]) < 0) continue;
        /* aim holds v as it was a pass ago */
        if (before[island] < CSIMI_HUGE) turn = csim_sub(turn, csimi_load3(f->aim + 3 * (size_t)block));
        moved[island] = csimi_max(moved[island], f->h * csim_length(turn));
    }
}

/* What is done next with an island whose joints miss so much and did so much worse or better before. */
static unsigned char csimi_joints_next(unsigned char now, csim_real miss, csim_real before, bool turns, bool middle,
                                       bool late) {
    const csim_real pays = now == CSIMI_AGAIN_TURNED ? 4 : CSIM_R(0.5); /* turned rows may spiral in */
    const bool slow = !(miss < pays * before), far = miss > 32 * CSIMI_JOINT_CLOSED;
    const bool closed = miss <= (slow ? 32 : 1) * CSIMI_JOINT_CLOSED; /* where passes no longer pay: nearly */
    switch (now) {
    case CSIMI_AGAIN_ON: /* rows at hand */
        if (closed) return CSIMI_AGAIN_NO;
        if (slow && !middle && !late) return CSIMI_AGAIN_TURNED; /* rows of the middle may close what these do not */
        if (slow) return CSIMI_AGAIN_BACK;                       /* a correction made it worse */
        return CSIMI_AGAIN_ON;
    case CSIMI_AGAIN_TURNED: /* rows of the middle of the step */
        if (closed && !turns) return CSIMI_AGAIN_NO;
        if (late) return CSIMI_AGAIN_ON; /* those at hand, to the end */
        if (slow && far) return middle ? CSIMI_AGAIN_ON : CSIMI_AGAIN_BACK;
        return CSIMI_AGAIN_TURNED;
    case CSIMI_AGAIN_BACK: /* once */
    default: return CSIMI_AGAIN_NO;
    }
}

/* On rows of the start a spring that turns does other work than its energy changes by: rows of the middle, times h v,
   are what it stretches by. */
CSIMI_FN void csimi_joints_begin(const csim_world *w, const csimi_step_frame *f, const csimi_closing *c) {
    int i, island;
    for (i = 0; i < CSIMI_AXES_LINES * w->store.count.axes; i++) {
        const int line = i % CSIMI_AXES_LINES, row = w->store.axes[i / CSIMI_AXES_LINES].row[line];
        if (line < CSIMI_LINE_SPRING || row < 0 || (island = f->contact_island[row]) < 0) continue;
        if (c->again[island] != CSIMI_AGAIN_NO) c->again[island] = CSIMI_AGAIN_TURNED;
    }
}

CSIMI_FN bool csimi_joints_correct(csim_world *w, csimi_step_frame *f, const csimi_closing *c, bool late) {
    bool any = false;
    int i;
    csimi_joints_measure(w, f, c->miss);
    csimi_joints_turned(w, f, c->before, c->moved);
    for (i = 0; i < f->island_count; i++) {
        const bool turns = !late && c->moved[i] > CSIMI_JOINT_SETTLED;
        c->again[i] = csimi_joints_next(c->again[i], c->miss[i], c->before[i], turns, csimi_is_middle(w), late);
        /* half a correction breaks cycles */
        c->share[i] = c->again[i] == CSIMI_AGAIN_TURNED && c->miss[i] > CSIM_R(0.7) * c->before[i] ? CSIM_R(0.5) : 1;
        c->before[i] = c->miss[i];
        any = any || c->again[i] != CSIMI_AGAIN_NO;
    }
    if (any) csimi_joints_shift(w, f, c);
    return any;
}

/* ---- midpoint worlds */

static void csimi_joint_renew(csim_world *w, csimi_step_frame *f, const csimi_state *s, csimi_joint *j, int which) {
    csim_contact *c = f->contacts + j->row[which], old = *c;
    const unsigned mask = csimi_joint_mask(j, which);
    const int terms = f->term_count;
    csim_real before[3], after[3];
    int k;
    csimi_joint_row_velocity(f, c, before);
    f->term_count = c->a.first; /* as many as before, in their place */
    CSIMI_MEMCPY(c->R, j->R, sizeof c->R);
    if (j->kind == CSIM_JOINT_GEAR)
        csimi_gear_sides(w, f, s, j, c);
    else if (which == CSIMI_ROW_LIMIT)
        csimi_joint_limit_sides(f, s, j, c);
    else if (which == CSIMI_ROW_TURN)
        csimi_turn_sides(f, s, j, c);
    else
        csimi_point_sides(f, s, j, c);
    CSIMI_MEMCPY(c->phi, old.phi, sizeof c->phi);
    csimi_joint_row_velocity(f, c, after);
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
static void csimi_joint_turn_middle(const csim_world *w, csimi_step_frame *f, int body, bool first) {
    const csimi_state *s = &w->store.state;
    const size_t at = 3 * ((size_t)s->node_count + 2 * (size_t)body + 1);
    const csim_vec3 v = csimi_load3(f->v + at), start = csimi_load3(s->velocity + 6 * (size_t)body + 3);
    const csim_real half = f->h * csim_length(v) / 2, slow = half > 0 ? CSIMI_SIN(half) / half : 1;
    const csim_vec3 middle = csim_rotate(csim_quat_exp(csim_scale(f->h / 2, v)), start);
    /* was: what b holds of this body's turn, in the second half of aim; at first what assembly put there */
    csim_real Ik[9], Im[9], old[3], part[3], spin[3], now[3], *was = f->aim + 3 * (size_t)f->blocks + at;
    csim_vec3 g, gyro;
    int k;
    csimi_rigid_inertia_world(s, body, Ik);
    csimi_rigid_inertia_world(&f->next, body, Im); /* next is the middle of the step here */
    csimi_mul3(Ik, f->vk + at, old);
    for (k = 0; k < 3 && first; k++) was[k] = old[k] / f->theta; /* M v_k / theta */
    csimi_store3(part, csim_scale(1 / f->theta, csim_sub(v, middle)));
    csimi_mul3(Im, part, now);
    g = csimi_load3(now);
    if (half > 0) {
        const csim_vec3 along = csim_scale(csim_dot(v, g) / csim_dot(v, v), v);
        g = csim_madd(along, CSIMI_COS(half), csim_sub(g, along)); /* P */
    }
    csimi_mul3(Im, f->v + at, spin);
    gyro = csim_cross(v, csimi_load3(spin));
    g = csim_madd(g, slow * f->h, gyro); /* the moment that turns the spin along, averaged over the turn */
    csimi_mul3(Ik, f->v + at, now);
    csimi_store3(now, csim_sub(csim_scale(1 / f->theta, csimi_load3(now)), g)); /* b = 2 I_k v - g(v) */
    for (k = 0; k < 3; k++) {
        f->b[at + (size_t)k] += now[k] - was[k]; /* exchanged, so that other parts of b stay */
        was[k] = now[k];
    }
    csimi_store3(f->vk + at, csim_rotate(csim_quat_exp(csim_scale(f->h, v)), start));
}

/* Forces of joints act where bodies are at the middle of the step, on arms for which the rows times h v are what the
   joint opens: a joint that is closed at both ends of the step does no work in it. At the start of the step they pull
   inwards on what moves along the chord, and every step of a midpoint world gains. (Gonzalez 1996, 1999: the midpoint
   rule with discrete derivatives of constraints.) Other worlds do so where the rows of the start do not close: a
   straight chain that is pushed at both ends is stiff along itself until it turns. */
CSIMI_FN void csimi_joints_middle(csim_world *w, csimi_step_frame *f, const unsigned char *again, bool first) {
    const csimi_store *s = &w->store;
    const bool middle = csimi_is_middle(w);
    int i, which, end, k, island;
    for (i = 0; i < s->count.joints; i++) {
        csimi_joint *j = s->joint + i;
        if (j->row[CSIMI_ROW_POINT] < 0 || (island = f->contact_island[j->row[CSIMI_ROW_POINT]]) < 0) continue;
        if (again[island] != CSIMI_AGAIN_TURNED) continue;
        if (j->kind != CSIM_JOINT_GEAR) csimi_joint_turn_rows(&f->next, j); /* axes of the rows at the middle */
        for (which = 0; which < CSIMI_JOINT_ROWS; which++)
            if (j->row[which] >= 0) csimi_joint_renew(w, f, &f->next, j, which);
        for (end = 0; end < 2 && middle; end++) { /* stiffness takes Newton's step, nothing from the bodies */
            const size_t turn = 3 * ((size_t)s->count.nodes + 2 * (size_t)j->end[end].item + 1);
            for (k = 0; k < 3 && j->stiff[end] > 0; k++)
                f->b[turn + (size_t)k] +=
                    j->stiff[end] * (f->v[turn + (size_t)k] - (first ? 0 : f->aim[turn + (size_t)k]));
        }
    }
    for (i = 0; i < s->count.axes; i++) {
        for (which = 0, island = -1; which < CSIMI_AXES_LINES; which++)
            if (s->axes[i].row[which] >= 0) island = f->contact_island[s->axes[i].row[which]];
        if (island >= 0 && again[island] == CSIMI_AGAIN_TURNED) csimi_axes_renew(w, f, s->axes + i);
    }
    for (i = 0; i < s->count.rigids && middle; i++) {
        island = f->island[s->count.nodes + 2 * i + 1];
        if (island >= 0 && again[island] == CSIMI_AGAIN_TURNED) csimi_joint_turn_middle(w, f, i, first);
    }
    if (middle) CSIMI_MEMCPY(f->aim, f->v, sizeof(csim_real) * 3 * (size_t)f->blocks);
}

/* ---- geometric stiffness */

/* A force F at arm r turns with the body: its torque falls by K theta, K = (F . r) I - sym(F r'), of which the
   eigenvalues are F . r, (F . r + |F| |r|) / 2 >= 0 and (F . r - |F| |r|) / 2 <= 0. The second, which is the largest,
   is added on all axes as h^2 K where explicit forces of this size are unstable for the inertia of the body, as in a
   chain of light links that carries a heavy load; elsewhere nothing, which keeps momentum exact. */
static void csimi_joint_stiffen_end(csim_world *w, const csimi_step_frame *f, csimi_joint *j, int end) {
    csimi_store *s = &w->store;
    const int k = j->end[end].item, block = s->count.nodes + 2 * k + 1;
    csim_real force[3] = {0, 0, 0}, *A = s->A.val + 9 * (size_t)s->A.diag[block], most;
    csim_vec3 r, F;
    int i;
    csimi_addmulT3(j->R, j->impulse, force); /* impulse of the last step: h F */
    F = csim_scale(end ? -csimi_warm_scale(w, f) : csimi_warm_scale(w, f), csimi_load3(force));
    r = csim_sub(csimi_place_point(&s->state, j->end + end), csimi_load3(s->state.com + 3 * (size_t)k));
    most = f->sigma * f->h * (csim_dot(F, r) + csim_length(F) * csim_length(r)) / 2; /* F is h times a force */
    if (!(most > CSIM_R(0.25) * csimi_min(A[0], csimi_min(A[4], A[8])))) return;
    for (i = 0; i < 3; i++) A[4 * i] += most; /* no less than K along any axis */
    j->stiff[end] = most;
}

CSIMI_FN void csimi_joints_stiffen(csim_world *w, const csimi_step_frame *f) {
    int i, end;
    csimi_axes_assemble(w); /* assembly has cleared A, their diagonal too */
    for (i = 0; i < w->store.count.joints; i++) {
        csimi_joint *j = w->store.joint + i;
        j->stiff[0] = j->stiff[1] = 0;
        for (end = 0; end < 2 && w->def.geometric; end++)
            /* gears hold coordinates and have no arms; nodes do not turn */
            if (!j->broken && j->kind != CSIM_JOINT_GEAR && j->end[end].kind == CSIMI_PLACE_RIGID)
                csimi_joint_stiffen_end(w, f, j, end);
    }
}

/* ---- the end of a step */

static csim_real csimi_joint_load(const csimi_joint *j, int which, double h) {
    return h > 0 ? csim_length(csimi_load3(j->impulse + 3 * which)) / (csim_real)h : 0;
}

/* Takes the impulses over; a joint that bore more than it can lets go. */
CSIMI_FN void csimi_joints_commit(csim_world *w, const csimi_step_frame *f) {
    csimi_store *s = &w->store;
    int i, which, k;
    for (i = 0; i < s->count.joints; i++) {
        csimi_joint *j = s->joint + i;
        csimi_joint_pose p = csimi_joint_at(&f->next, j);
        j->broke = false;
        for (which = 0; which < CSIMI_JOINT_ROWS; which++)
            for (k = 0; k < 3; k++)
                j->impulse[3 * which + k] = j->row[which] < 0 ? 0 : f->lambda[3 * (size_t)j->row[which] + (size_t)k];
        if (j->axes >= 0)
            csimi_axes_commit(w, f, s->axes + j->axes);
        else
            j->position = j->kind == CSIM_JOINT_GEAR ? csimi_gear_error(w, &f->next, j) : csimi_joint_coordinate(j, &p);
        if (j->broken) continue;
        j->broke =
            (j->break_force > 0 && csimi_joint_load(j, CSIMI_ROW_POINT, (double)f->h) > j->break_force) ||
            (j->break_torque > 0 && j->scale * csimi_joint_load(j, CSIMI_ROW_TURN, (double)f->h) > j->break_torque);
        j->broken = j->broke;
    }
}

#undef CSIMI_JOINT_CLOSED
#undef CSIMI_JOINT_SETTLED
