/* solve/xpbd: extended position-based dynamics with small steps (Macklin et al. 2016, 2019; Mueller et al. 2020).
   The step is walked through in n substeps of one sweep each. From the velocity v_k at its start, the
   load b - A v_k in n equal parts, positions in units of h (a gap is phi + J x, x the sum of v / n; where the problem
   tells gaps by themselves, phi is the gap, and J v has the velocity of the ground in it):
       v += A^-1 (b - A v_k) / n
       contact after contact, C = phi + J x + u / n < 0:
           dlambda = -(n C + n c u + omega n^2 lambda) / (W_nn (1 + n c) + omega n^2),  lambda_n >= 0,
           u held at 0 along the tangents by |lambda_t| <= mu lambda_n,   v += A^-1 J' dlambda
       x += v / n;  u_n = 0 where a rigid contact pressed (the velocity pass)
   Elements of A (cables: stretch and shear of an edge, bending and twist between two) are compliant constraints. A
   holds J'K J and is B without them, and B takes the place of A above, in the load too. With u = J v + phi, g the sum
   of u / n and d the share of damping in K, an element's impulse of a substep is
       lambda = -K ((1 - d) (g + u / n) + d u) / n
       visited once: (1 + s K W) dlambda = -(lambda + K ((1 - d) g / n + s u))
   with s = (1 - d) / n^2 + d / n and W = J B^-1 J'. One substep that is solved to its end is the step of A itself.
   Compliance: omega n^2 is alpha over the substep's square, and c the damper over h times the spring. Joints and motors
   are held at the level of velocities. The impulses add up to A v = b + J'lambda exactly, so that the certificate
   looks for what the sweeps left. */
#include "private.h"

enum { CSIMI_XPBD_SUBSTEPS = 20 };

/* An element of A. */
typedef struct csimi_xpbd_element {
    const csim_elastic *law;
    csimi_piece piece[6]; /* three terms on bodies of at most two blocks */
    int pieces;
    csim_real T[9]; /* (1 + s K W)^-1 */
    csim_real s;
    csim_real lambda[3]; /* of the substep */
    csim_real strain[3]; /* g, m/s */
    csim_real start[3];  /* u at v_k */
} csimi_xpbd_element;

typedef struct csimi_xpbd {
    const csim_problem *problem;
    csim_problem inner; /* with B */
    csimi_xpbd_element *element;
    int elements;
    csimi_bodies bodies;
    csimi_piece *pieces;
    int *first;             /* [contacts + 1] */
    csim_real *W;           /* [3 contacts] diagonal of the contact's own W; tangents share the larger */
    csim_real *gap;         /* [contacts] phi_n + J_n x */
    csim_real *lambda, *sum; /* [3 contacts] of the substep, and of all so far */
    csim_real *start;       /* [3 contacts] J v_k, and of the ground */
    csim_real *w, *push, *move; /* [3n] of E (v - v_k), bodies.c: now, what a substep adds, and the mean so far */
    int substeps;
    bool odd;            /* sweeps go forth and back in turn: a stack of ten stands on 20 of them, not on 20 forth */
    csim_real inverse_n; /* 1 / n */
    csim_real damping;   /* c of compliant contacts */
    double *residual;    /* [3n]; later the certificate's scratch */
    size_t bytes;
} csimi_xpbd;

static void csimi_xpbd_layout(csimi_xpbd *s, csimi_arena *arena, const csim_problem_size *size) {
    const int n = size->blocks, contacts = size->contacts;
    if (size->elastic > 0) { /* room for B */
        csim_block_matrix *B = &s->inner.A;
        B->row = CSIMI_PUSH(arena, int, (size_t)n + 1);
        B->col = CSIMI_PUSH(arena, int, size->matrix_blocks);
        B->diag = CSIMI_PUSH(arena, int, n);
        B->val = CSIMI_PUSH(arena, csim_real, 9 * (size_t)size->matrix_blocks);
        s->element = CSIMI_PUSH(arena, csimi_xpbd_element, size->elastic);
    }
    csimi_bodies_layout(&s->bodies, arena, n, csimi_factor_blocks_of(size));
    s->pieces = CSIMI_PUSH(arena, csimi_piece, size->terms + size->reach_blocks);
    s->first = CSIMI_PUSH(arena, int, (size_t)contacts + 1);
    s->W = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->gap = CSIMI_PUSH(arena, csim_real, contacts);
    s->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->sum = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->start = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->w = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->push = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->move = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->bytes = csim_certificate_bytes(n, contacts);
    /* holds b - A v_k first, the certificate's scratch in the end */
    if (s->bytes < 3 * (size_t)n * sizeof(double)) s->bytes = 3 * (size_t)n * sizeof(double);
    s->residual = (double *)csimi_push(arena, s->bytes, 1);
}

CSIMI_FN size_t csimi_xpbd_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_xpbd s;
    (void)params;
    csimi_xpbd_layout(&s, &arena, size);
    return arena.high;
}

CSIMI_FN bool csimi_xpbd_takes(const csim_problem *problem) {
    const csim_structure *s = problem->structure;
    /* v must be the velocity a whole step after v_k; with elements the bodies are looked for once B is there */
    return problem->theta > CSIM_R(0.99) && ((s && s->elastic_count > 0) || csimi_bodies_take(problem));
}

/* ---- elements */

/* B = A - sum J'K J; what an element couples is nothing then, and is left out. */
static void csimi_xpbd_split(csimi_xpbd *s) {
    const csim_problem *p = s->problem;
    csim_block_matrix *B = &s->inner.A;
    int e, i, j, k, r, at = 0, end;
    B->n = p->A.n;
    B->end = NULL; /* no gaps between its rows */
    for (i = 0; i < B->n; ++i) {
        const size_t count = (size_t)(csimi_row_end(&p->A, i) - p->A.row[i]), from = (size_t)p->A.row[i];
        B->row[i] = at;
        CSIMI_MEMCPY(B->val + 9 * (size_t)at, p->A.val + 9 * from, 9 * count * sizeof *B->val);
        CSIMI_MEMCPY(B->col + at, p->A.col + from, count * sizeof *B->col);
        at += (int)count;
    }
    B->row[B->n] = at;
    for (e = 0; e < s->elements; ++e) {
        const csim_elastic *law = p->structure->elastic + e;
        for (i = 0; i < law->count; ++i)
            for (j = 0; j < law->count; ++j) {
                csim_real KJ[9], JKJ[9];
                k = csimi_pattern_find(&p->A, law->term[i].block, law->term[j].block);
                if (k < 0) continue;
                /* place in B, whose rows are still those of A */
                k += B->row[law->term[i].block] - p->A.row[law->term[i].block];
                csimi_matmul(law->K, law->term[j].J, KJ);
                csimi_matTmul(law->term[i].J, KJ, JKJ);
                for (r = 0; r < 9; ++r) B->val[9 * (ptrdiff_t)k + r] -= JKJ[r];
                if (i != j) B->col[k] = -1; /* B is zero there: taken out below */
            }
    }
    for (i = 0, k = 0, at = 0; i < B->n; ++i) /* row[i + 1] keeps its old value until its own turn */
        for (B->row[i] = at, end = B->row[i + 1]; k < end; ++k) {
            if (B->col[k] < 0) continue;
            if (B->col[k] == i) B->diag[i] = at;
            for (r = 0; r < 9; ++r) B->val[9 * (ptrdiff_t)at + r] = B->val[9 * (ptrdiff_t)k + r];
            B->col[at++] = B->col[k];
        }
    B->row[B->n] = at;
}

static void csimi_xpbd_strain(const csimi_xpbd *s, const csimi_xpbd_element *e, csim_real *u) {
    csimi_store3(u, csimi_load3(e->start));
    csimi_pieces_velocity(e->piece, e->pieces, s->w, u);
}

/* The terms of an element as a row of its own; false where they are on larger bodies. */
static bool csimi_xpbd_element_pieces(const csimi_xpbd *s, csimi_xpbd_element *e, const csim_real *v) {
    csim_problem row;
    csim_contact contact;
    int k, most = 0;
    CSIMI_MEMSET(&row, 0, sizeof row);
    CSIMI_MEMSET(&contact, 0, sizeof contact);
    row.contacts = &contact;
    row.terms = e->law->term;
    contact.a.count = e->law->count;
    contact.R[0] = contact.R[4] = contact.R[8] = 1; /* strains are in world axes */
    /* a block brings along those before it in its body; piece has room for 6 */
    for (k = 0; k < e->law->count; ++k) most += e->law->term[k].block - s->bodies.first[e->law->term[k].block] + 1;
    if (most > 6) return false;
    e->pieces = csimi_pieces_make(&row, &s->bodies, 0, e->piece);
    (void)csimi_contact_motion(&row, &contact, v, e->start);
    for (k = 0; k < 3; ++k) e->start[k] += e->law->phi[k];
    return true;
}

/* Pieces and T; and b - A v loses the element: += J'K u. */
static bool csimi_xpbd_element_open(csimi_xpbd *s, csimi_xpbd_element *e, const csim_elastic *law, const csim_real *v) {
    const csim_real d = law->damping;
    csim_real W[9], KW[9], f[3];
    int k, r;
    CSIMI_MEMSET(e, 0, sizeof *e);
    e->law = law;
    e->s = ((1 - d) * s->inverse_n + d) * s->inverse_n;
    if (!csimi_xpbd_element_pieces(s, e, v)) return false;
    csimi_mul3(law->K, e->start, f);
    for (k = 0; k < law->count; ++k)
        for (r = 0; r < 9; ++r)
            s->residual[3 * (ptrdiff_t)law->term[k].block + r % 3] += (double)law->term[k].J[r] * (double)f[r / 3];
    csimi_pieces_delassus(e->piece, e->pieces, W);
    csimi_matmul(law->K, W, KW);
    for (k = 0; k < 9; ++k) KW[k] = e->s * KW[k] + (k % 4 == 0 ? 1 : 0);
    return csimi_inverse3(KW, e->T);
}

/* An element's one visit of a substep: (1 + s K W) dlambda = -(lambda + K ((1 - d) g / n + s u)). */
static void csimi_xpbd_stretch(csimi_xpbd *s, csimi_xpbd_element *e) {
    const csim_real d = e->law->damping;
    csim_real u[3], way[3], rest[3], change[3];
    int k;
    csimi_xpbd_strain(s, e, u);
    for (k = 0; k < 3; ++k) {
        way[k] = (1 - d) * e->strain[k] * s->inverse_n + e->s * u[k];
        rest[k] = e->lambda[k];
    }
    csimi_addmul3(e->law->K, way, rest);
    csimi_mul3(e->T, rest, change);
    for (k = 0; k < 3; ++k) {
        change[k] = -change[k];
        e->lambda[k] += change[k];
    }
    csimi_pieces_push(e->piece, e->pieces, change, s->w);
}

/* ---- one contact in one substep */

static void csimi_xpbd_velocity(const csimi_xpbd *s, int c, csim_real *u) {
    csimi_store3(u, csimi_load3(s->start + 3 * (ptrdiff_t)c));
    csimi_pieces_velocity(s->pieces + s->first[c], s->first[c + 1] - s->first[c], s->w, u);
}

/* lambda_c of the substep goes to next. */
static void csimi_xpbd_push(csimi_xpbd *s, int c, const csim_real *next) {
    csim_real *lambda = s->lambda + 3 * (ptrdiff_t)c, change[3];
    int k;
    for (k = 0; k < 3; ++k) {
        change[k] = next[k] - lambda[k];
        lambda[k] = next[k];
    }
    csimi_pieces_push(s->pieces + s->first[c], s->first[c + 1] - s->first[c], change, s->w);
}

/* Friction at the normal impulse at hand: the slip of the substep is undone as far as the cone allows. */
static void csimi_xpbd_rub(csimi_xpbd *s, int c) {
    const csim_contact *law = s->problem->contacts + c;
    const csim_real *W = s->W + 3 * (ptrdiff_t)c, *now = s->lambda + 3 * (ptrdiff_t)c;
    /* omega acts on the impulse of the step, n times that of the substep */
    const csim_real drag = law->law == CSIM_LAW_INVERTIBLE ? law->omega[1] / s->inverse_n : 0;
    csim_real u[3], next[3];
    int k;
    csimi_xpbd_velocity(s, c, u);
    next[0] = now[0];
    for (k = 1; k < 3; ++k) next[k] = now[k] - (u[k] + law->phi[k] + drag * now[k]) / (W[k] + drag);
    csim_project_ellipse(law->mu[0] * next[0], law->mu[law->law == CSIM_LAW_ANISOTROPIC] * next[0], next + 1, next + 1);
    csimi_xpbd_push(s, c, next);
}

/* The normal impulse by C at the end of the substep, then friction under it. */
static void csimi_xpbd_touch(csimi_xpbd *s, int c) {
    const csim_contact *law = s->problem->contacts + c;
    const csim_real W = s->W[3 * (ptrdiff_t)c], *now = s->lambda + 3 * (ptrdiff_t)c, n = 1 / s->inverse_n;
    const bool soft = law->law == CSIM_LAW_INVERTIBLE;
    const csim_real slow = soft ? law->omega[0] * n * n : 0;
    csim_real u[3], next[3] = {0, now[1], now[2]}, C, damper;
    csimi_xpbd_velocity(s, c, u);
    C = s->gap[c] + u[0] * s->inverse_n;
    damper = soft && C < 0 ? n * s->damping : 0; /* an open gap has no damper */
    next[0] = csimi_max(0, now[0] - (n * C + damper * u[0] + slow * now[0]) / (W * (1 + damper) + slow));
    csimi_xpbd_push(s, c, next);
    csimi_xpbd_rub(s, c);
}

/* Joints, limits and motors: u + phi = 0 row by row, the limits of the impulse in n equal parts. */
static void csimi_xpbd_hold(csimi_xpbd *s, int c) {
    const csim_contact *law = s->problem->contacts + c;
    int k;
    for (k = 0; k < 3; ++k) {
        const csim_real *now = s->lambda + 3 * (ptrdiff_t)c;
        csim_real u[3], next[3] = {now[0], now[1], now[2]};
        if (law->law == CSIM_LAW_BILATERAL && !(law->mask >> k & 1u)) continue;
        csimi_xpbd_velocity(s, c, u);
        next[k] -= (u[k] + law->phi[k]) / s->W[3 * (ptrdiff_t)c + k];
        if (law->law == CSIM_LAW_BOX)
            next[k] = csimi_min(csimi_max(next[k], law->lo[k] * s->inverse_n), law->hi[k] * s->inverse_n);
        csimi_xpbd_push(s, c, next);
    }
}

static bool csimi_xpbd_is_joint(const csim_contact *law) {
    return law->law == CSIM_LAW_BILATERAL || law->law == CSIM_LAW_BOX;
}

/* The velocity pass: a contact that pressed keeps no normal speed, of being pushed out or left by the sweep. */
static void csimi_xpbd_calm(csimi_xpbd *s, int c) {
    const csim_contact *law = s->problem->contacts + c;
    const csim_real *now = s->lambda + 3 * (ptrdiff_t)c;
    csim_real u[3], next[3] = {now[0], now[1], now[2]};
    /* rigid contacts alone: a spring goes on pushing, a joint is held by the sweep */
    if (!(now[0] > 0) || law->law == CSIM_LAW_INVERTIBLE || csimi_xpbd_is_joint(law)) return;
    csimi_xpbd_velocity(s, c, u);
    next[0] = csimi_max(0, now[0] - u[0] / s->W[3 * (ptrdiff_t)c]);
    csimi_xpbd_push(s, c, next);
    csimi_xpbd_rub(s, c);
}

/* ---- the step */

static bool csimi_xpbd_open(csimi_xpbd *s, const csim_solver_params *params, const csim_solution *start) {
    const csim_problem *p = s->problem;
    int c, i, k, at = 0;
    s->substeps = params->substeps > 0 ? params->substeps : CSIMI_XPBD_SUBSTEPS;
    s->inverse_n = 1 / (csim_real)s->substeps;
    s->damping = params->spring.damping;
    if (!csimi_bodies_open(&s->bodies, &s->inner)) return false; /* of B, without elements */
    csimi_problem_load(p, NULL, s->residual);
    csimi_less_product(&p->A, start->v, s->residual); /* all of A: elements take their part back below */
    for (i = 0; i < s->elements; ++i)
        if (!csimi_xpbd_element_open(s, s->element + i, p->structure->elastic + i, start->v)) return false;
    csimi_bodies_whiten(&s->bodies, s->residual);
    for (i = 0; i < 3 * p->A.n; ++i) {
        s->push[i] = (csim_real)s->residual[i] * s->inverse_n;
        s->w[i] = s->move[i] = 0;
    }
    for (c = 0; c < p->contact_count; ++c) {
        csim_real W[9], *D = s->W + 3 * (ptrdiff_t)c;
        s->first[c] = at;
        at += csimi_pieces_make(&s->inner, &s->bodies, c, s->pieces + at);
        s->first[c + 1] = at;
        (void)csimi_contact_motion(p, p->contacts + c, start->v, s->start + 3 * (ptrdiff_t)c);
        csimi_pieces_delassus(s->pieces + s->first[c], at - s->first[c], W);
        for (k = 0; k < 3; ++k) D[k] = W[4 * k];
        /* one step for both tangents, so that friction opposes the slip */
        if (!csimi_xpbd_is_joint(p->contacts + c)) D[1] = D[2] = csimi_max(W[4], W[8]);
        for (k = 0; k < 3; ++k)
            if (!(D[k] > 0)) D[k] = CSIMI_HUGE; /* nothing moves this way */
        s->gap[c] = p->gap && !csimi_xpbd_is_joint(p->contacts + c) ? p->gap[c] : p->contacts[c].phi[0];
        s->start[3 * (ptrdiff_t)c] += p->contacts[c].phi[0] - s->gap[c]; /* the ground moves in each substep */
    }
    return true;
}

static void csimi_xpbd_substep(csimi_xpbd *s) {
    const int contacts = s->problem->contact_count, n = 3 * s->problem->A.n, rows = s->elements + contacts;
    csim_real u[3];
    int c, i, k;
    for (i = 0; i < n; ++i) s->w[i] += s->push[i]; /* its part of the load b - B v_k */
    /* from zero each time: XPBD knows no warm start */
    CSIMI_MEMSET(s->lambda, 0, 3 * (size_t)contacts * sizeof *s->lambda);
    for (i = 0; i < s->elements; ++i)
        for (k = 0; k < 3; ++k) s->element[i].lambda[k] = 0;
    for (i = 0; i < rows; ++i) {
        c = (s->odd ? rows - 1 - i : i) - s->elements; /* below 0: elements, first on the way forth */
        if (c < 0)
            csimi_xpbd_stretch(s, s->element + s->elements + c);
        else if (csimi_xpbd_is_joint(s->problem->contacts + c))
            csimi_xpbd_hold(s, c);
        else
            csimi_xpbd_touch(s, c);
    }
    s->odd = !s->odd;
    /* gaps and strains by the swept velocity, before the velocity pass takes from it what only pushed out */
    for (c = 0; c < contacts; ++c) {
        csimi_xpbd_velocity(s, c, u);
        s->gap[c] += u[0] * s->inverse_n;
    }
    for (i = 0; i < s->elements; ++i) {
        csimi_xpbd_strain(s, s->element + i, u);
        for (k = 0; k < 3; ++k) s->element[i].strain[k] += u[k] * s->inverse_n;
    }
    for (i = 0; i < n; ++i) s->move[i] += s->w[i] * s->inverse_n;
    for (c = 0; c < contacts; ++c) csimi_xpbd_calm(s, c);
    for (i = 0; i < 3 * contacts; ++i) s->sum[i] += s->lambda[i]; /* all substeps: A v = b + J'lambda */
}

/* to = v_k + E^-1 w */
static void csimi_xpbd_velocities(csimi_xpbd *s, const csim_real *w, const csim_real *start, csim_real *to) {
    int i;
    for (i = 0; i < 3 * s->problem->A.n; ++i) s->residual[i] = (double)w[i];
    csimi_bodies_restore(&s->bodies, s->residual);
    for (i = 0; i < 3 * s->problem->A.n; ++i) to[i] = start[i] + (csim_real)s->residual[i];
}

static csim_result csimi_xpbd_run(csimi_xpbd *s, const csim_solver_params *params, csim_solution *solution,
                                  csim_outcome *outcome) {
    const csim_problem *p = s->problem;
    csim_certificate *f = &outcome->certificate;
    int k;
    CSIMI_MEMSET(s->sum, 0, 3 * (size_t)p->contact_count * sizeof *s->sum);
    for (k = 0; k < s->substeps; ++k) csimi_xpbd_substep(s);
    outcome->iterations = outcome->outer = s->substeps;
    csimi_xpbd_velocities(s, s->move, solution->v, s->move);
    csimi_xpbd_velocities(s, s->w, solution->v, s->w);
    if (!csimi_all_finite(s->move, 3 * p->A.n) ||
        csimi_certify(p, s->w, s->sum, s->residual, s->bytes, f) != CSIM_OK)
        return CSIM_RESULT_NOT_FINITE; /* the start stays */
    csimi_solution_take(p, s->w, s->sum, solution);
    if (solution->move) CSIMI_MEMCPY(solution->move, s->move, 3 * (size_t)p->A.n * sizeof *s->move);
    outcome->residual = csim_certificate_worst(f);
    return outcome->residual <= (double)params->tolerance ? CSIM_RESULT_CONVERGED : CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_xpbd_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    const csim_problem_size size = csimi_problem_measure(problem);
    const size_t mark = arena->used;
    csimi_xpbd s;
    (void)tasks; /* the sweep is a sequence */
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.problem = problem;
    s.inner = *problem;
    s.elements = size.elastic;
    csimi_xpbd_layout(&s, arena, &size);
    if (arena->overflow)
        return csimi_deny(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes",
                          "csim_solver_bytes of the problem's size");
    if (s.elements > 0) csimi_xpbd_split(&s);
    if (!csimi_bodies_take(&s.inner)) /* of B: that of A may couple bodies */
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "params.solver", (double)(int)params->solver,
                          csimi_solver_traits_of(CSIM_SOLVER_XPBD)->needs);
    outcome->solver = CSIM_SOLVER_XPBD;
    outcome->result = CSIM_RESULT_NOT_FINITE;
    if (csimi_all_finite(solution->v, 3 * problem->A.n) && csimi_xpbd_open(&s, params, solution))
        outcome->result = csimi_xpbd_run(&s, params, solution, outcome);
    outcome->bytes = arena->high - mark;
    csimi_pop(arena, mark);
    return CSIM_OK;
}
