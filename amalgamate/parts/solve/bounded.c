/* solve/bounded: a frame of fixed work that settles. S substeps of h_s = h / S on rows that stay what they are for the
   whole frame (soft steps: Catto, "Solver2D", 2024):

       v += h_s g;  v += M^-1 J' lambda                       what the last substep needed, once more: momentum
       bias:   every closed normal asks for its gap as a soft spring does, every open one for its gap at most
       x += h_s v                                             gap = s0 + J x
       settle: the normals without the springs                of rigid bodies alone
       relax:  once more, and friction;  Lambda += lambda

   Impulses that are carried from substep to substep are momentum, as in accelerated gradient methods, and springs that
   leak are what damps it: with little leak stacks swing, with much they creep. Friction has no spring; its fixed point
   is Coulomb's law itself. At the end v = A^-1 (b + J' Lambda) as of any other solver: the frame is a candidate answer
   of the problem, and the certificate judges it. Positions go by the mean velocity of the substeps (solution.move),
   which holds the springs' part too.

   h does not appear: gaps are given over h, m/s, and the springs by their phase in a substep. Bodies are read in
   w = E v (bodies.c), where the mass is 1; each block of three numbers there has the room of four, the fourth 0, and
   rows go along: both bodies of a contact are four quads. */
#include "private.h"

enum { CSIMI_BOUNDED_SUBSTEPS = 8, CSIMI_BOUNDED_ROUNDS = 4, /* of either sweep, where A couples bodies */
       CSIMI_BOUNDED_ROW = 16, CSIMI_GROUNDS = 4 };
static const csim_real CSIMI_PUSH_SPEED = 3; /* m/s: springs push no faster */
static const csim_real CSIMI_LEAK = CSIM_R(0.1); /* of an impulse a substep, where it carries nothing yet */
static const csim_real CSIMI_HOLD_SHARE = CSIM_R(0.2); /* of what a joint has drifted, back in a substep */

/* A damped spring of a substep, implicitly: the impulse changes by -mass W^-1 (u + rate gap) - leak lambda. */
typedef struct csimi_soft {
    csim_real rate, mass, leak;
} csimi_soft;

/* A contact of rigid bodies and ground under the strict law: normals are read three times a substep ... */
typedef struct csimi_normal {
    int a, b; /* where the two blocks of each body begin; the ground has such of its own, all 0 */
    csim_real J[CSIMI_BOUNDED_ROW], mass;
    csim_real ground, start, gap; /* m/s: normal velocity that is given; gap over h at the start of the frame, now */
    csim_real lambda;             /* of a substep */
    csimi_soft soft;
} csimi_normal;

/* ... and tangents once. */
typedef struct csimi_tangent {
    csim_real J[2 * CSIMI_BOUNDED_ROW], mass, mu, ground[2], lambda[2];
    int contact;
} csimi_tangent;

/* Where a contact of rigid bodies is: the first blocks of both, n for the ground; its place among such contacts, -1: it
   is none of them. */
typedef struct csimi_seat {
    int body[2], at;
} csimi_seat;

/* Any other contact: other laws, other bodies. */
typedef struct csimi_bounded_row {
    const csim_contact *contact;
    int index, first, count;           /* pieces */
    csim_real inverse[9];              /* bilateral: of W in the directions of the mask */
    csim_real row[3], slide;           /* 1 / W_kk, 1 / (W_11 + W_22) */
    csim_real ground, start, gap, lambda[3];
    bool moving;
} csimi_bounded_row;

typedef struct csimi_bounded {
    const csim_problem *problem;
    int n, substeps, rounds, quick, slow; /* contacts of either kind */
    csim_real share;              /* 1 / substeps */
    csim_real phase;              /* omega h_s of the springs between bodies */
    csimi_soft soft[2];           /* of other contacts: against the ground, between bodies */
    csimi_basis basis;
    csimi_lumped lumped;
    bool lumps;                  /* the bodies of lumped, not those of the problem */
    csimi_normal *normal;
    csimi_tangent *tangent;
    csimi_bounded_row *row; /* behind the last of slow contacts, the first of which is row[-1]; see the layout */
    csimi_piece *pieces;
    csimi_seat *seat;          /* [contacts] */
    int *depth, *begin;        /* [n + 1] of a body, [contacts + 1] where contacts of a depth begin */
    int numbers;               /* of each of these: 4n, and what the ground has */
    csim_real *w, *way, *step; /* velocities, their sum over substeps / S, change by forces in a substep */
    csim_real *last;           /* w with the forces of the last substep, before its impulses */
    csim_real *mean;           /* coupled: their sum without the springs / S */
    csim_real *inverse;        /* [18 n] of each body of two blocks: E^-1, by rows of four */
    csim_real *sum;            /* [3 contacts] */
    double *wide;              /* [3n] */
    void *scratch;
    size_t scratch_bytes;
} csimi_bounded;

/* What is done about A: nothing beside its bodies, one factor, or neither. */
typedef enum csimi_bounded_kind {
    CSIMI_BOUNDED_BODIES,
    CSIMI_BOUNDED_COUPLED,
    CSIMI_BOUNDED_LUMPED
} csimi_bounded_kind;

/* Room for one of the three kinds; the same routine counts it. */
static void csimi_bounded_layout(csimi_bounded *s, csimi_arena *arena, csimi_bounded_kind kind,
                                 const csim_problem_size *size) {
    const size_t contacts = (size_t)size->contacts;
    const size_t numbers = 4 * (size_t)size->blocks + CSIMI_GROUNDS * CSIMI_BOUNDED_ROW / 2;
    csim_problem_size own = *size;
    size_t rows;
    int pieces;
    s->numbers = (int)numbers;
    s->lumps = kind == CSIMI_BOUNDED_LUMPED;
    if (s->lumps) own.factor_blocks = 0; /* A' has bodies of at most four blocks, whatever A names */
    pieces = csimi_basis_layout(&s->basis, arena, kind == CSIMI_BOUNDED_COUPLED, &own);
    if (kind != CSIMI_BOUNDED_COUPLED)
        s->basis.bodies.rows = CSIMI_PUSH(arena, csimi_wide, csimi_bodies_rows(size->blocks));
    if (s->lumps) csimi_lumped_layout(&s->lumped, arena, size->blocks);
    if (s->lumps) pieces = CSIMI_BODY_BLOCKS * size->terms;
    s->mean = CSIMI_PUSH(arena, csim_real, kind == CSIMI_BOUNDED_BODIES ? 0 : numbers);
    rows = arena->used;
    s->inverse = CSIMI_PUSH(arena, csim_real, kind == CSIMI_BOUNDED_COUPLED ? 0 : 18 * (size_t)size->blocks);
    if (kind != CSIMI_BOUNDED_COUPLED) s->pieces = CSIMI_PUSH(arena, csimi_piece, pieces);
#ifdef CSIMI_COUPLES
    else s->pieces = csimi_coupled_layout_rows(&s->basis.coupled, arena, s->basis.coupled.blocks, pieces);
#endif
    s->seat = CSIMI_PUSH(arena, csimi_seat, contacts);
    s->depth = CSIMI_PUSH(arena, int, (size_t)size->blocks + 1);
    s->begin = CSIMI_PUSH(arena, int, contacts + 1);
    /* what rows are made of has served when the certificate wants its room */
    s->scratch_bytes = csim_certificate_bytes(size->blocks, size->contacts);
    if (arena->used - rows < s->scratch_bytes) csimi_push(arena, s->scratch_bytes - (arena->used - rows), 1);
    s->scratch = s->inverse;
    s->normal = CSIMI_PUSH(arena, csimi_normal, contacts);
    /* a contact is quick or slow: tangents stand from the front, rows from the back */
    s->tangent = (csimi_tangent *)csimi_push(arena, contacts, csimi_most_bytes(sizeof *s->tangent, sizeof *s->row));
    if (s->tangent) s->row = (csimi_bounded_row *)(void *)(arena->base + arena->used);
    s->w = CSIMI_PUSH(arena, csim_real, numbers);
    s->way = CSIMI_PUSH(arena, csim_real, numbers);
    s->step = CSIMI_PUSH(arena, csim_real, numbers);
    s->last = CSIMI_PUSH(arena, csim_real, numbers);
    s->sum = CSIMI_PUSH(arena, csim_real, 3 * contacts);
    s->wide = CSIMI_PUSH(arena, double, 3 * (size_t)size->blocks);
}

CSIMI_FN size_t csimi_bounded_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    size_t most = 0;
    int kind;
    (void)params;
    for (kind = CSIMI_BOUNDED_BODIES; kind <= CSIMI_BOUNDED_LUMPED; ++kind) {
        csimi_arena arena = csimi_arena_counting();
        csimi_bounded s;
        /* bodies alone are of one kind; else there is room for whichever kind takes most */
        if (kind > CSIMI_BOUNDED_BODIES && size->rigid) break;
        csimi_bounded_layout(&s, &arena, (csimi_bounded_kind)kind, size);
        most = csimi_most_bytes(most, arena.high);
    }
    return most;
}

/* ---- one row on both bodies of a contact: quads, or the same sums one by one */

#if CSIMI_QUADS
#define CSIMI_FOUR(p) (*(csimi_quad_real *)(p))
#define CSIMI_FOUR_OF(p) (*(const csimi_quad_real *)(p))
#endif

static csim_real csimi_row_dot(const csim_real *J, const csim_real *a, const csim_real *b) {
#if CSIMI_QUADS
    const csimi_quad_real s = CSIMI_FOUR_OF(J) * CSIMI_FOUR_OF(a) + CSIMI_FOUR_OF(J + 4) * CSIMI_FOUR_OF(a + 4) +
                              CSIMI_FOUR_OF(J + 8) * CSIMI_FOUR_OF(b) + CSIMI_FOUR_OF(J + 12) * CSIMI_FOUR_OF(b + 4);
#else
    csim_real s[3];
    int k;
    for (k = 0; k < 3; ++k) s[k] = J[k] * a[k] + J[4 + k] * a[4 + k] + J[8 + k] * b[k] + J[12 + k] * b[4 + k];
#endif
    return s[0] + s[1] + s[2]; /* the fourth is 0: rows and velocities are both padded */
}

static void csimi_row_push(const csim_real *J, csim_real x, csim_real *a, csim_real *b) {
#if CSIMI_QUADS
    CSIMI_FOUR(a) += CSIMI_FOUR_OF(J) * x; /* the ground's rows are 0: it stays at rest */
    CSIMI_FOUR(a + 4) += CSIMI_FOUR_OF(J + 4) * x;
    CSIMI_FOUR(b) += CSIMI_FOUR_OF(J + 8) * x;
    CSIMI_FOUR(b + 4) += CSIMI_FOUR_OF(J + 12) * x;
#else
    int k;
    for (k = 0; k < 8; ++k) a[k] += J[k] * x;
    for (k = 0; k < 8; ++k) b[k] += J[8 + k] * x;
#endif
}

/* y += x share, of all blocks */
static void csimi_bounded_add(const csimi_bounded *s, const csim_real *x, csim_real share, csim_real *y) {
    int i;
    for (i = 0; i < 4 * s->n; i += 4) {
#if CSIMI_QUADS
        CSIMI_FOUR(y + i) += CSIMI_FOUR_OF(x + i) * share;
#else
        y[i] += x[i] * share;
        y[i + 1] += x[i + 1] * share;
        y[i + 2] += x[i + 2] * share;
#endif
    }
}

/* h_s g and all other forces, and the impulses of the last substep once more: at rest they are the answer already.
   All that sweeps do to w is J' lambda, so that J' lambda is what w has changed by since the last forces (last). */
static void csimi_bounded_carry(csimi_bounded *s) {
    int i;
    for (i = 0; i < 4 * s->n; ++i) {
        const csim_real given = s->w[i] + s->step[i];
        s->w[i] = given + (s->w[i] - s->last[i]);
        s->last[i] = given;
    }
}

/* Pieces of other contacts, on blocks of four: u += J v and w += J' impulse. */
static void csimi_slow_velocity(const csimi_bounded *s, const csimi_bounded_row *r, const csim_real *v, csim_real *u) {
    const csimi_piece *p = s->pieces + r->first, *end = p + r->count;
    for (; p < end; ++p) csimi_addmul3(p->J, v + 4 * (ptrdiff_t)p->block, u);
}

static void csimi_slow_push(const csimi_bounded *s, const csimi_bounded_row *r, const csim_real *impulse,
                            csim_real *w) {
    const csimi_piece *p = s->pieces + r->first, *end = p + r->count;
    for (; p < end; ++p) csimi_addmulT3(p->J, impulse, w + 4 * (ptrdiff_t)p->block);
}

/* ---- springs */

/* phase: omega h_s, rad. Catto's soft constraint has leak = 1 / (1 + c), where c = phase (2 zeta + phase): here the
   leak is given, and zeta follows. What is slowest in a stack slows down with the fourth power of its height, and a
   leak twice the frequency of that, per substep, is critical damping: so what carries much, at the foot, leaks less. */
static csimi_soft csimi_soft_make(csim_real load, csim_real phase, int substeps) {
    csimi_soft s;
    s.leak = CSIMI_LEAK / (1 + load);
    s.mass = 1 - s.leak;
    s.rate = phase * phase * s.leak / s.mass * (csim_real)substeps; /* times h: gaps are given over h, in m/s */
    return s;
}

/* What a normal carries: its impulse in a substep over what forces give the body in it, of the two bodies the more. */
static csim_real csimi_quick_load(const csimi_bounded *s, const csimi_normal *n) {
    const int body[2] = {n->a, n->b};
    csim_real most = 0;
    int k;
    for (k = 0; k < 2; ++k) {
        const csim_real *J = n->J + 8 * k, *force = s->step + body[k];
        const csim_real given = force[0] * force[0] + force[1] * force[1] + force[2] * force[2];
        const csim_real taken = (J[0] * J[0] + J[1] * J[1] + J[2] * J[2]) * n->lambda * n->lambda;
        /* where no force acts nothing is carried; the bound is that of what is hopelessly high */
        if (given > 0) most = csimi_max(most, csimi_min(taken / given, CSIM_R(1e6)));
    }
    return CSIMI_SQRT(most);
}

/* Impulse of a normal after one visit: open, it may close its gap in what is left of the substep and no more; closed,
   as its spring says, or without one (soft null). */
static csim_real csimi_bounded_press(const csimi_soft *soft, csim_real substeps, csim_real mass, csim_real u,
                                     csim_real gap, csim_real lambda) {
    csim_real change;
    if (gap > 0)
        change = -mass * (u + gap * substeps); /* gap over h_s */
    else if (!soft)
        change = -mass * u;
    else
        change = -mass * soft->mass * (u + csimi_max(soft->rate * gap, -CSIMI_PUSH_SPEED)) - soft->leak * lambda;
    return csimi_max(lambda + change, 0); /* the sum is clamped, so that a visit may take back earlier ones */
}

/* ---- contacts of rigid bodies */

/* Springs act on normals alone: friction in the relax sweep only costs less, and what rests creeps less. */
static void csimi_quick_bias(csimi_bounded *s) {
    const csim_real substeps = (csim_real)s->substeps;
    csimi_normal *n = s->normal, *end = n + s->quick;
    for (; n < end; ++n) {
        csim_real *a = s->w + n->a, *b = s->w + n->b;
        const csim_real u = n->ground + csimi_row_dot(n->J, a, b);
        const csim_real next = csimi_bounded_press(&n->soft, substeps, n->mass, u, n->gap, n->lambda);
        csimi_row_push(n->J, next - n->lambda, a, b);
        n->lambda = next;
    }
}

/* The friction of a contact: a step against the slip, cut to the disk. */
static void csimi_quick_slide(csimi_tangent *t, csim_real radius, csim_real *a, csim_real *b) {
    csim_real next[2], length2;
    next[0] = t->lambda[0] - t->mass * (t->ground[0] + csimi_row_dot(t->J, a, b));
    next[1] = t->lambda[1] - t->mass * (t->ground[1] + csimi_row_dot(t->J + CSIMI_BOUNDED_ROW, a, b));
    length2 = next[0] * next[0] + next[1] * next[1];
    if (length2 > radius * radius) {
        const csim_real cut = radius / CSIMI_SQRT(length2); /* onto the circle, along the radius */
        next[0] *= cut;
        next[1] *= cut;
    }
    csimi_row_push(t->J, next[0] - t->lambda[0], a, b);
    csimi_row_push(t->J + CSIMI_BOUNDED_ROW, next[1] - t->lambda[1], a, b);
    t->lambda[0] = next[0];
    t->lambda[1] = next[1];
}

/* A normal without its spring: what that added for the sake of the gap goes back out of the velocity. */
static csim_real csimi_quick_rigid(const csimi_bounded *s, const csimi_normal *n, csim_real *a, csim_real *b) {
    const csim_real u = n->ground + csimi_row_dot(n->J, a, b);
    const csim_real next = csimi_bounded_press(NULL, (csim_real)s->substeps, n->mass, u, n->gap, n->lambda);
    csimi_row_push(n->J, next - n->lambda, a, b);
    return next;
}

/* Gaps after the move, and a sweep over normals alone: friction costs twice that, and stacks bend by normals.
   time: share of the frame that is over. */
static void csimi_quick_settle(csimi_bounded *s, csim_real time) {
    csimi_normal *n = s->normal, *end = n + s->quick;
    for (; n < end; ++n) {
        n->gap = n->start + time * n->ground + csimi_row_dot(n->J, s->way + n->a, s->way + n->b);
        n->lambda = csimi_quick_rigid(s, n, s->w + n->a, s->w + n->b);
    }
}

static void csimi_quick_relax(csimi_bounded *s, bool last) {
    csimi_normal *n = s->normal, *end = n + s->quick;
    csimi_tangent *t = s->tangent;
    for (; n < end; ++n, ++t) {
        csim_real *a = s->w + n->a, *b = s->w + n->b, *sum = s->sum + 3 * (ptrdiff_t)t->contact;
        const csim_real next = csimi_quick_rigid(s, n, a, b);
        /* one that has opened since still holds friction, which a radius of 0 takes back */
        if (next > 0 || t->lambda[0] != 0 || t->lambda[1] != 0) csimi_quick_slide(t, t->mu * next, a, b);
        n->lambda = next;
        if (!last) continue; /* the sum wants what a substep ends with, once */
        sum[0] += next;
        sum[1] += t->lambda[0];
        sum[2] += t->lambda[1];
    }
}

/* ---- every other contact */

/* Laws with a normal that may open and a friction set; the others are rows of joints, limits and motors. */
static bool csimi_bounded_frictional(csim_law law) {
    return law == CSIM_LAW_STRICT || law == CSIM_LAW_PROXIMAL || law == CSIM_LAW_ANISOTROPIC ||
           law == CSIM_LAW_INVERTIBLE;
}

/* The impulse becomes next, and velocities what follows from the difference. */
static void csimi_slow_change(csimi_bounded *s, csimi_bounded_row *r, const csim_real *next) {
    csim_real change[3];
    int k;
    for (k = 0; k < 3; ++k) {
        change[k] = next[k] - r->lambda[k];
        r->lambda[k] = next[k];
    }
    csimi_slow_push(s, r, change, s->w);
}

/* Normals as above; a joint takes back a share of what it has drifted from the motion that its row asks for. */
static void csimi_slow_bias(csimi_bounded *s, csim_real time) {
    const csim_real substeps = (csim_real)s->substeps;
    csimi_bounded_row *r = s->row, *end = r - s->slow;
    while (r-- > end) {
        csim_real next[3], u[3] = {0, 0, 0}, drift[3] = {0, 0, 0}, x[3];
        int k;
        CSIMI_MEMCPY(next, r->lambda, sizeof next);
        csimi_slow_velocity(s, r, s->w, u);
        if (csimi_bounded_frictional(r->contact->law)) {
            /* omega acts on the impulse of a whole frame, S times that of a substep */
            const csim_real omega = r->contact->law == CSIM_LAW_INVERTIBLE ? r->contact->omega[0] * substeps : 0;
            next[0] = csimi_bounded_press(s->soft + r->moving, substeps, r->row[0],
                                          r->ground + u[0] + omega * r->lambda[0], r->gap, r->lambda[0]);
        } else if (r->contact->law == CSIM_LAW_BILATERAL) {
            csimi_slow_velocity(s, r, s->way, drift); /* how far it has moved in this frame, over h */
            for (k = 0; k < 3; ++k)
                u[k] += r->contact->phi[k] + CSIMI_HOLD_SHARE * substeps * (drift[k] + time * r->contact->phi[k]);
            csimi_mul3(r->inverse, u, x);
            for (k = 0; k < 3; ++k) next[k] -= x[k];
        } else {
            continue;
        }
        csimi_slow_change(s, r, next);
    }
}

/* Friction against the slip u_t, in the set of the normal impulse next[0]. */
static void csimi_slow_slide(const csimi_bounded_row *r, csim_real substeps, const csim_real *u, csim_real *next) {
    const csim_contact *c = r->contact;
    const csim_real omega = c->law == CSIM_LAW_INVERTIBLE ? c->omega[1] * substeps : 0;
    csim_real trial[3], step = r->slide;
    int k;
    if (omega > 0 && step > 0) step = 1 / (1 / step + omega); /* u + omega lambda stands for u */
    trial[0] = next[0];
    for (k = 1; k < 3; ++k) trial[k] = r->lambda[k] - step * (u[k] + omega * r->lambda[k]);
    if (c->law == CSIM_LAW_ANISOTROPIC) { /* maximal dissipation: the nearest point, no scaling */
        csim_project_ellipse(c->mu[0] * next[0], c->mu[1] * next[0], trial + 1, next + 1);
    } else {
        const csim_real radius = c->mu[0] * next[0], length = CSIMI_SQRT(trial[1] * trial[1] + trial[2] * trial[2]);
        const csim_real cut = length > radius ? radius / length : 1;
        next[1] = cut * trial[1];
        next[2] = cut * trial[2];
    }
}

static void csimi_slow_touch(csimi_bounded *s, csimi_bounded_row *r, csim_real time) {
    const csim_contact *c = r->contact;
    const csim_real substeps = (csim_real)s->substeps, *phi = c->phi;
    const csim_real omega = c->law == CSIM_LAW_INVERTIBLE ? c->omega[0] * substeps : 0;
    csim_real u[3] = {0, 0, 0}, way[3] = {0, 0, 0}, next[3];
    csimi_slow_velocity(s, r, s->way, way);
    r->gap = r->start + time * r->ground + way[0];
    csimi_slow_velocity(s, r, s->w, u);
    u[0] += r->ground;
    if (c->law == CSIM_LAW_PROXIMAL) { /* the convex model is one projection */
        const csim_real step = r->row[0] > 0 && r->slide > 0 ? 1 / (1 / r->row[0] + 1 / r->slide) : 0;
        next[0] = r->lambda[0] - step * (u[0] + csimi_max(r->gap, 0) * substeps);
        next[1] = r->lambda[1] - step * (u[1] + phi[1]);
        next[2] = r->lambda[2] - step * (u[2] + phi[2]);
        csim_project_cone(c->mu[0], next, next); /* Euclidean: one step length, of the trace, for all three rows */
        csimi_slow_change(s, r, next);
        return;
    }
    CSIMI_MEMCPY(next, r->lambda, sizeof next);
    next[0] = csimi_bounded_press(NULL, substeps, r->row[0], u[0] + omega * r->lambda[0], r->gap, r->lambda[0]);
    csimi_slow_change(s, r, next);
    u[0] = 0; /* friction sees the velocities after the normal has acted */
    u[1] = phi[1];
    u[2] = phi[2];
    csimi_slow_velocity(s, r, s->w, u);
    csimi_slow_slide(r, substeps, u, next);
    csimi_slow_change(s, r, next);
}

/* A joint without bias, its rows at once: the change for which u is zero along the mask. */
static void csimi_slow_hold(csimi_bounded *s, csimi_bounded_row *r) {
    csim_real u[3], x[3], next[3];
    int k;
    CSIMI_MEMCPY(u, r->contact->phi, sizeof u);
    csimi_slow_velocity(s, r, s->w, u);
    csimi_mul3(r->inverse, u, x);
    for (k = 0; k < 3; ++k) next[k] = r->lambda[k] - x[k];
    csimi_slow_change(s, r, next);
}

/* Row after row: a clipped one leaves the others as they were. */
static void csimi_slow_limit(csimi_bounded *s, csimi_bounded_row *r) {
    const csim_contact *c = r->contact;
    int k;
    for (k = 0; k < 3; ++k) {
        csim_real u[3], next[3];
        CSIMI_MEMCPY(next, r->lambda, sizeof next);
        CSIMI_MEMCPY(u, c->phi, sizeof u);
        csimi_slow_velocity(s, r, s->w, u);
        /* limits are of a whole step: a substep has its share of them */
        next[k] = csimi_clamp(r->lambda[k] - r->row[k] * u[k], c->lo[k] * s->share, c->hi[k] * s->share);
        csimi_slow_change(s, r, next);
    }
}

static void csimi_slow_relax(csimi_bounded *s, csim_real time, bool last) {
    csimi_bounded_row *r = s->row, *end = r - s->slow;
    int k;
    while (r-- > end) {
        csim_real *sum = s->sum + 3 * (ptrdiff_t)r->index;
        if (csimi_bounded_frictional(r->contact->law))
            csimi_slow_touch(s, r, time);
        else if (r->contact->law == CSIM_LAW_BILATERAL)
            csimi_slow_hold(s, r);
        else
            csimi_slow_limit(s, r);
        for (k = 0; k < 3 && last; ++k) sum[k] += r->lambda[k];
    }
}

/* ---- opening a problem */

/* Whether a contact is one of two rigid bodies, or of one and the ground; their first blocks, n: the ground. */
static bool csimi_bounded_is_quick(const csimi_bounded *s, const csim_problem *p, const csim_contact *c, int *body) {
    const csimi_basis *e = &s->basis;
    const int *begin = e->couples ? e->coupled.first : e->bodies.first;
    const int *size = e->couples ? e->coupled.size : e->bodies.size;
    int side, k, sides = 0;
    if (c->law != CSIM_LAW_STRICT) return false;
    body[0] = body[1] = s->n; /* the ground, where a side has no terms */
    for (side = 0; side < 2; ++side) {
        const csim_side *on = side ? &c->b : &c->a;
        for (k = on->first; k < on->first + on->count; ++k) {
            const int block = e->couples ? e->coupled.factor.place[p->terms[k].block] : p->terms[k].block;
            const int first = begin[block];
            if (size[first] != 2) return false; /* a rigid body has a block of velocity and one of spin */
            if (sides > 0 && body[sides - 1] == first) continue;
            if (sides == 2) return false; /* a third body */
            body[sides++] = first;
        }
    }
    return true;
}

static csim_real csimi_bounded_over(csim_real x) { return x > 0 ? 1 / x : 0; }

/* What the normal of a contact is given: velocity of the ground (or of a bounce), and its gap. */
static void csimi_bounded_gap(const csim_problem *p, int m, csim_real *ground, csim_real *gap) {
    const csim_real phi = p->contacts[m].phi[0];
    *gap = p->gap ? p->gap[m] : csimi_max(phi, 0);
    *ground = phi - csimi_max(*gap, 0); /* phi holds both (csim_problem.gap) */
}

/* Three rows J of a contact, from its pieces ... */
static void csimi_quick_gather(const csimi_piece *piece, int count, const int *body, csim_real *J) {
    int k, i, r;
    for (k = 0; k < count; ++k) {
        /* which of the four blocks of a row: two of the first body, two of the second */
        const int at = piece[k].block - body[0], to = at == 0 || at == 1 ? at : 2 + piece[k].block - body[1];
        for (r = 0; r < 3; ++r)
            for (i = 0; i < 3; ++i) J[CSIMI_BOUNDED_ROW * r + 4 * to + i] += piece[k].J[3 * r + i];
    }
}

/* Three rows out[stride] += M B, rows of B and of out of four numbers; sign: of what is added. */
static void csimi_quick_times(const csim_real *M, const csim_real *B, csim_real sign, csim_real *out, int stride) {
    int r;
    for (r = 0; r < 3; ++r, M += 3, out += stride) {
#if CSIMI_QUADS
        CSIMI_FOUR(out) += (CSIMI_FOUR_OF(B) * M[0] + CSIMI_FOUR_OF(B + 4) * M[1] + CSIMI_FOUR_OF(B + 8) * M[2]) * sign;
#else
        int k;
        for (k = 0; k < 3; ++k) out[k] += (B[k] * M[0] + B[4 + k] * M[1] + B[8 + k] * M[2]) * sign;
#endif
    }
}

/* E^-1 of the bodies that such contacts are on: of both blocks, and what the second has of the first. */
static void csimi_quick_bodies(csimi_bounded *s) {
    const csimi_bodies *e = &s->basis.bodies;
    int i, k, r, c;
    for (i = 0; i < s->n && !s->basis.couples; i += e->size[i]) {
        /* E^-1 is C above, D below on the diagonal and D (-E_10) C between */
        const csimi_wide *C = e->factor + 9 * (ptrdiff_t)e->row[i], *E = C + 18, *D = E + 9;
        csim_real *to = s->inverse + 18 * (ptrdiff_t)i;
        if (e->size[i] != 2) continue;
        for (k = 0; k < 36; ++k) to[k] = 0;
        for (r = 0; r < 3; ++r)
            for (c = 0; c <= r; ++c) {
                to[4 * r + c] = (csim_real)C[3 * r + c];
                to[12 + 4 * r + c] = (csim_real)D[3 * r + c];
            }
        /* nothing between where spin and velocity do not couple */
        for (r = 0; r < 9 && (e->on[i + 1] & 1u); ++r)
            for (k = 0, c = r % 3; k < 3; ++k) {
                const csimi_wide *d = D + 3 * (r / 3), x = d[0] * E[k] + d[1] * E[3 + k] + d[2] * E[6 + k];
                to[24 + 4 * (r / 3) + c] += (csim_real)(x * C[3 * k + c]);
            }
    }
}

/* ... or at once where A does not couple bodies: R J E^-1. */
static void csimi_quick_rows(const csimi_bounded *s, const csim_problem *p, const csim_contact *c, const int *body,
                             csim_real *J) {
    int side, k;
    for (side = 0; side < 2; ++side) {
        const csim_side *on = side ? &c->b : &c->a;
        for (k = on->first; k < on->first + on->count; ++k) {
            const int block = p->terms[k].block, at = block == body[0] || block == body[0] + 1 ? 0 : 1;
            const csim_real *inverse = s->inverse + 18 * (ptrdiff_t)body[at], sign = side ? -CSIM_R(1.0) : 1;
            const csim_real *E = inverse + (block > body[at] ? 12 : 0);
            csim_real own[12];
            if (!csimi_is_identity(p->terms[k].J)) {
                CSIMI_MEMSET(own, 0, sizeof own);
                csimi_quick_times(p->terms[k].J, E, 1, own, 4);
                E = own;
            }
            csimi_quick_times(c->R, E, sign, J + 8 * at + (block > body[at] ? 4 : 0), CSIMI_BOUNDED_ROW);
            if (block == body[at] || !(s->basis.bodies.on[block] & 1u)) continue;
            CSIMI_MEMSET(own, 0, sizeof own);
            /* the second block of a body reaches the first through E^-1 */
            csimi_quick_times(p->terms[k].J, inverse + 24, 1, own, 4);
            csimi_quick_times(c->R, own, sign, J + 8 * at, CSIMI_BOUNDED_ROW);
        }
    }
}

static csim_real csimi_row_square(const csim_real *J) { return csimi_row_dot(J, J, J + CSIMI_BOUNDED_ROW / 2); }

static void csimi_quick_open(csimi_bounded *s, int m, const csim_real *J, const csim_real *lambda) {
    const csimi_seat *seat = s->seat + m;
    csimi_normal *n = s->normal + seat->at;
    csimi_tangent *t = s->tangent + seat->at;
    const csim_contact *c = s->problem->contacts + m;
    int i;
    n->a = 4 * seat->body[0];
    n->b = 4 * seat->body[1];
    /* several grounds: who reads one never waits for who has just written there */
    if (seat->body[1] == s->n) n->b += CSIMI_BOUNDED_ROW / 2 * (seat->at % CSIMI_GROUNDS);
    CSIMI_MEMCPY(n->J, J, sizeof n->J);
    CSIMI_MEMCPY(t->J, J + CSIMI_BOUNDED_ROW, sizeof t->J);
    csimi_bounded_gap(s->problem, m, &n->ground, &n->start);
    n->gap = n->start;
    n->mass = csimi_bounded_over(csimi_row_square(n->J)); /* W_nn is the row squared: in w the mass is 1 */
    n->lambda = lambda[0];
    /* against the ground, which is the second body then, twice as stiff */
    n->soft = csimi_soft_make(csimi_quick_load(s, n), seat->body[1] < s->n ? s->phase : 2 * s->phase, s->substeps);
    /* 1 / (W_11 + W_22): a scalar step, whose fixed point is Coulomb's law with slip against friction */
    t->mass = csimi_bounded_over(csimi_row_square(t->J) + csimi_row_square(t->J + CSIMI_BOUNDED_ROW));
    t->mu = c->mu[0];
    t->contact = m;
    for (i = 0; i < 2; ++i) {
        t->ground[i] = c->phi[1 + i];
        t->lambda[i] = lambda[1 + i];
    }
    for (i = 0; i < 3; ++i) csimi_row_push(J + CSIMI_BOUNDED_ROW * i, -lambda[i], s->last + n->a, s->last + n->b);
}

static void csimi_slow_open(csimi_bounded *s, int m, int first, int count,
                            const csim_real *W, const csim_real *lambda) {
    const csim_contact *c = s->problem->contacts + m;
    csimi_bounded_row *r = s->row - ++s->slow;
    csim_real M[9], back[3];
    int k, i;
    CSIMI_MEMSET(r, 0, sizeof *r);
    r->contact = c;
    r->index = m;
    r->first = first;
    r->count = count;
    r->moving = c->a.count > 0 && c->b.count > 0;
    csimi_bounded_gap(s->problem, m, &r->ground, &r->start);
    r->gap = r->start;
    for (k = 0; k < 3; ++k) {
        r->row[k] = csimi_bounded_over(W[4 * k]);
        r->lambda[k] = lambda[k];
    }
    r->slide = csimi_bounded_over(W[4] + W[8]);
    for (k = 0; k < 3; ++k) back[k] = -lambda[k];
    csimi_slow_push(s, r, back, s->last);
    if (c->law == CSIM_LAW_INVERTIBLE) r->row[0] = csimi_bounded_over(W[0] + c->omega[0] * (csim_real)s->substeps);
    if (c->law != CSIM_LAW_BILATERAL) return;
    for (k = 0; k < 3; ++k)
        for (i = 0; i < 3; ++i) {
            const bool on = (c->mask >> k & 1u) && (c->mask >> i & 1u) && r->row[k] > 0 && r->row[i] > 0;
            M[3 * k + i] = on ? W[3 * k + i] : k == i ? CSIM_R(1.0) : 0;
        }
    if (!csimi_inverse3(M, r->inverse)) /* two directions in which the bodies move alike */
        /* a third of the step of each row alone: three at once overshoot nothing */
        for (k = 0; k < 9; ++k) r->inverse[k] = k % 4 == 0 ? r->row[k / 4] / 3 : 0;
    for (k = 0; k < 3; ++k)
        if (!(c->mask >> k & 1u) || !(r->row[k] > 0)) r->inverse[4 * k] = 0;
}

static void csimi_bounded_spread(const csimi_bounded *s, csim_real share, csim_real *to) {
    int i, k;
    for (i = 0; i < s->n; ++i) {
        for (k = 0; k < 3; ++k) to[4 * i + k] = (csim_real)s->wide[3 * i + k] * share;
        to[4 * i + 3] = 0; /* for sums of quads */
    }
    for (i = 4 * s->n; i < s->numbers; ++i) to[i] = 0; /* the ground */
}

/* w = E v, and what forces change it by in a substep: E'^-1 (b - A v) / S. */
static void csimi_bounded_start(csimi_bounded *s, const csim_real *v) {
    const csim_problem *p = s->problem;
    int i;
    CSIMI_MEMSET(s->wide, 0, 3 * (size_t)s->n * sizeof *s->wide);
    csimi_less_product(&p->A, v, s->wide);
    for (i = 0; i < 3 * s->n; ++i) s->wide[i] = -s->wide[i];
    csimi_basis_whiten(&s->basis, s->wide);
    /* E'^-1 A v = E v, since A = E' E */
    csimi_bounded_spread(s, 1, s->w);
    for (i = 0; i < 3 * s->n; ++i) s->wide[i] = (double)p->b[i];
    csimi_less_product(&p->A, v, s->wide);
    csimi_basis_whiten(&s->basis, s->wide);
    csimi_bounded_spread(s, s->share, s->step);
    CSIMI_MEMCPY(s->last, s->w, (size_t)s->numbers * sizeof *s->w); /* less J' lambda, as contacts are opened */
    CSIMI_MEMSET(s->way, 0, (size_t)s->numbers * sizeof *s->way);
    if (s->basis.couples || s->lumps) CSIMI_MEMSET(s->mean, 0, (size_t)s->numbers * sizeof *s->mean);
}

/* Contacts of rigid bodies stand by their depth: how many visits of a sweep have to be over before theirs, one behind
   the other. Sweeps compute what they would in the order of the problem, for who shares a body comes in that order; but
   neighbours are on other bodies now, so that a processor has several visits under way at once. */
static void csimi_quick_seats(csimi_bounded *s) {
    const csim_problem *p = s->problem;
    int m, k, deepest = 0;
    CSIMI_MEMSET(s->depth, 0, ((size_t)s->n + 1) * sizeof *s->depth);
    CSIMI_MEMSET(s->begin, 0, ((size_t)p->contact_count + 1) * sizeof *s->begin);
    for (m = s->quick = 0; m < p->contact_count; ++m) {
        csimi_seat *seat = s->seat + m;
        int *a, *b;
        seat->at = -1;
        if (!csimi_bounded_is_quick(s, p, p->contacts + m, seat->body)) continue;
        a = s->depth + seat->body[0];
        b = s->depth + seat->body[1];
        seat->at = csimi_imax(*a, *b);
        *a = *b = seat->at + 1;
        s->depth[s->n] = 0; /* nobody moves the ground */
        deepest = csimi_imax(deepest, seat->at);
        ++s->begin[seat->at + 1];
        ++s->quick;
    }
    for (k = 1; k <= deepest; ++k) s->begin[k] += s->begin[k - 1];
    for (m = 0; m < p->contact_count; ++m)
        if (s->seat[m].at >= 0) s->seat[m].at = s->begin[s->seat[m].at]++;
}

static CSIMI_NOINLINE void csimi_bounded_contacts(csimi_bounded *s, const csim_real *lambda) {
    const csim_problem *p = s->problem;
    int m, k, at = 0;
    s->slow = 0;
    csimi_quick_bodies(s);
    csimi_quick_seats(s);
    for (m = 0; m < p->contact_count; ++m) {
        csimi_piece *piece = s->pieces + at;
        csim_real J[3 * CSIMI_BOUNDED_ROW], W[9], start[3];
        const bool quick = s->seat[m].at >= 0;
        int count = 0;
        /* of a quick contact on bodies no pieces are kept: its rows are made at once */
        if (!quick || s->basis.couples) count = csimi_basis_rows(&s->basis, p, m, piece);
        CSIMI_MEMCPY(start, lambda + 3 * (ptrdiff_t)m, sizeof start);
        csimi_impulse_allow(p->contacts + m, start); /* a law or mu may have changed since the last frame */
        for (k = 0; k < 3; ++k) {
            start[k] *= s->share; /* of a frame, over the substeps */
            s->sum[3 * (ptrdiff_t)m + k] = 0;
        }
        if (!quick) {
            csimi_pieces_delassus(piece, count, W);
            csimi_slow_open(s, m, at, count, W, start);
            at += count;
            continue;
        }
        CSIMI_MEMSET(J, 0, sizeof J);
        if (s->basis.couples)
            csimi_quick_gather(piece, count, s->seat[m].body, J);
        else
            csimi_quick_rows(s, p, p->contacts + m, s->seat[m].body, J);
        csimi_quick_open(s, m, J, start);
    }
}

/* ---- a frame */

static void csimi_bounded_frame(csimi_bounded *s) {
    int k, round;
    for (k = 0; k < s->substeps; ++k) {
        const csim_real time = (csim_real)k * s->share, end = (csim_real)(k + 1) * s->share;
        csimi_bounded_carry(s);
        for (round = 0; round < s->rounds; ++round) {
            csimi_slow_bias(s, time);
            csimi_quick_bias(s);
        }
        /* positions go by the velocity with the springs, which closes gaps; momentum by the one without */
        csimi_bounded_add(s, s->w, s->share, s->way);
        csimi_quick_settle(s, end);
        for (round = 1; round <= s->rounds; ++round) {
            csimi_slow_relax(s, end, round == s->rounds);
            csimi_quick_relax(s, round == s->rounds);
        }
        if (s->basis.couples || s->lumps) csimi_bounded_add(s, s->w, s->share, s->mean);
    }
}

/* By which velocity positions go. What is elastic has taken the whole step at once, implicitly: it goes by its velocity
   at the end, and by what the springs of contacts pushed it besides. On the way of the substeps it would lose the
   damping of that, and stiff cables would shake themselves to pieces. */
static void csimi_bounded_way(csimi_bounded *s) {
    int i;
    for (i = 0; i < 3 * s->n; ++i) {
        const int at = 4 * (i / 3) + i % 3;
        s->wide[i] = (double)s->way[at];
        if (s->basis.couples && s->basis.coupled.size[i / 3] > CSIMI_BODY_BLOCKS)
            s->wide[i] += (double)s->w[at] - (double)s->mean[at];
    }
    csimi_basis_restore(&s->basis, s->wide);
    for (i = 0; s->lumps && i < 3 * s->n; ++i)
        if (s->lumped.alone[i / 3]) s->wide[i] = (double)s->step[i];
}

/* The impulses of the last substep, as large as a frame of them. */
static void csimi_bounded_pulses(const csimi_bounded *s, csim_real *pulse) {
    const csim_real substeps = (csim_real)s->substeps;
    int i, k;
    for (i = 0; i < s->quick; ++i) {
        csim_real *out = pulse + 3 * (ptrdiff_t)s->tangent[i].contact;
        out[0] = s->normal[i].lambda * substeps;
        out[1] = s->tangent[i].lambda[0] * substeps;
        out[2] = s->tangent[i].lambda[1] * substeps;
    }
    for (i = 1; i <= s->slow; ++i)
        for (k = 0; k < 3; ++k) pulse[3 * (ptrdiff_t)s->row[-i].index + k] = s->row[-i].lambda[k] * substeps;
}

static CSIMI_NOINLINE csim_result csimi_bounded_end(csimi_bounded *s, const csim_problem *p,
                                                    const csim_solver_params *params, csim_solution *solution,
                                                    csim_certificate *certificate) {
    const double tolerance = (double)params->tolerance;
    int i;
    /* the velocity comes from the summed impulses alone: the equations hold to rounding, whatever sweeps left */
    csimi_problem_load(s->problem, s->sum, s->wide);
    csimi_basis_whiten(&s->basis, s->wide);
    csimi_basis_restore(&s->basis, s->wide);
    /* step has served: from here on it holds v, [3n] */
    for (i = 0; i < 3 * s->n; ++i) s->step[i] = (csim_real)s->wide[i];
    if (s->lumps) csimi_lumped_close(&s->lumped, p, s->sum, s->wide, s->step);
    csimi_bounded_way(s);
    if (csimi_certify(p, s->step, s->sum, s->scratch, s->scratch_bytes, certificate) != CSIM_OK)
        return CSIM_RESULT_NOT_FINITE;
    for (i = 0; solution->move && i < 3 * s->n; ++i) solution->move[i] = (csim_real)s->wide[i];
    if (solution->move && !csimi_all_finite(solution->move, 3 * s->n)) return CSIM_RESULT_NOT_FINITE;
    if (solution->pulse) csimi_bounded_pulses(s, solution->pulse);
    csimi_solution_take(p, s->step, s->sum, solution);
    /* never STALLED: the work was fixed, so that a miss is a cap reached */
    return csim_certificate_worst(certificate) <= tolerance ? CSIM_RESULT_CONVERGED : CSIM_RESULT_CAP;
}

CSIMI_FN bool csimi_bounded_takes(const csim_problem *problem) {
    (void)problem;
    return true;
}

/* Block products of a factor at the least: below the diagonal its columns have the blocks of A between larger bodies,
   besides what fills in, and a sum of convex functions of their lengths is least where all are alike. */
static double csimi_bounded_least(const csim_block_matrix *A) {
    double length = 0;
    int k;
    for (k = 0; k < A->n; ++k) {
        const int row = csimi_row_end(A, k) - A->row[k];
        if (row > CSIMI_BODY_BLOCKS) length += 0.5 * (row - 1); /* half of a pair of blocks is the other row's */
    }
    return length * (length / csimi_imax(A->n, 1) + 3) / 2;
}

/* Visits (docs/realtime.md): a contact of rigid bodies is visited three times a substep, with some 130 products of
   numbers; a piece of a row on what is coupled takes 60 of them a round. */
CSIMI_FN long csimi_bounded_work(const csim_problem *problem, long left, csimi_arena *arena, int *substeps) {
    const size_t mark = arena->used;
    /* visits a substep, and once a frame */
    double each = 3.0 * problem->contact_count, once = 0;
    bool fits = true;
    if (!csimi_bodies_take(problem)) {
        csimi_coupled c;
        /* too much, whatever the order */
        if (csimi_bounded_least(&problem->A) / 2 + 3.0 * problem->A.n > (double)left) return -1;
        CSIMI_MEMSET(&c, 0, sizeof c);
        csimi_coupled_layout(&c, arena, problem->A.n, problem->A.row[problem->A.n]);
        fits = !arena->overflow && csimi_coupled_plan(&c, problem, 0); /* from the pattern alone */
        once = c.products / 2 + 3.0 * problem->A.n;
        each += 0.75 * (double)(CSIMI_BOUNDED_ROUNDS * c.pieces);
        csimi_pop(arena, mark);
    }
    /* fewer substeps are worse but a frame: what cannot pay for one is refused */
    while (*substeps > 1 && once + *substeps * each > (double)left) *substeps /= 2;
    return fits && once + *substeps * each <= (double)left ? (long)(once + *substeps * each) : -1;
}

CSIMI_FN long csimi_lumped_work(const csim_problem *problem, int substeps) {
    const double work = 3.0 * substeps * problem->contact_count + 1.0 * problem->A.row[problem->A.n];
    return work < 1e9 ? (long)work : 1000000000L; /* a long may have 32 bits */
}

static bool csimi_bounded_open(csimi_bounded *s, const csim_problem *problem, const csim_solution *solution) {
    if (!s->lumps) return csimi_basis_open(&s->basis, problem);
    s->problem = &s->lumped.problem;
    return csimi_lumped_open(&s->lumped, problem, &s->basis.bodies, solution->v,
                             solution->pulse ? solution->pulse : solution->lambda);
}

CSIMI_FN csim_status csimi_bounded_solve(const csim_problem *problem, const csim_solver_params *params,
                                         csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                         csim_outcome *outcome, csim_error *error) {
    const csimi_bounded_kind kind = csimi_bodies_take(problem) ? CSIMI_BOUNDED_BODIES
                                    : params->inner > 0        ? CSIMI_BOUNDED_LUMPED
                                                               : CSIMI_BOUNDED_COUPLED;
    const csim_problem_size size = csimi_basis_size(problem, kind != CSIMI_BOUNDED_BODIES);
    const size_t mark = arena->used;
    csimi_bounded s;
    (void)tasks;
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.problem = problem;
    s.n = problem->A.n;
    s.substeps = params->substeps > 0 ? params->substeps : CSIMI_BOUNDED_SUBSTEPS;
    s.share = 1 / (csim_real)s.substeps;
    s.phase = CSIM_R(6.283185307179586) / 8; /* an eighth of a turn a substep: more does not settle */
    /* at 8 substeps of 1/60 s: 120 Hz against the ground, 60 Hz between bodies */
    s.soft[0] = csimi_soft_make(2, 2 * s.phase, s.substeps);
    s.soft[1] = csimi_soft_make(2, s.phase, s.substeps);
    /* contacts on one elastic body couple strongly: one sweep of each kind ends in a limit cycle */
    s.rounds = kind == CSIMI_BOUNDED_COUPLED ? CSIMI_BOUNDED_ROUNDS : 1;
    csimi_bounded_layout(&s, arena, kind, &size);
    if (arena->overflow)
        return csimi_deny(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes",
                          "csim_solver_bytes of the problem's size");
    if (!csimi_bounded_open(&s, problem, solution))
        return csimi_deny(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "problem.A",
                          "for BOUNDED: positive definite, and small enough for a factor where params.inner is 0");
    outcome->solver = CSIM_SOLVER_BOUNDED;
    outcome->result = CSIM_RESULT_NOT_FINITE;
    outcome->iterations = outcome->outer = s.substeps;
    if (csimi_all_finite(solution->v, 3 * s.n) && csimi_all_finite(solution->lambda, 3 * problem->contact_count)) {
        csimi_bounded_start(&s, solution->v);
        csimi_bounded_contacts(&s, solution->pulse ? solution->pulse : solution->lambda);
        csimi_bounded_frame(&s);
        outcome->result = csimi_bounded_end(&s, problem, params, solution, &outcome->certificate);
        outcome->residual = csim_certificate_worst(&outcome->certificate);
    }
    outcome->bytes = arena->used - mark;
    csimi_pop(arena, mark);
    return CSIM_OK;
}

#if CSIMI_QUADS
#undef CSIMI_FOUR
#undef CSIMI_FOUR_OF
#endif
