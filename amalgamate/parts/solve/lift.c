/* solve/lift: the door from the velocity level to the solvers of the impulse level. A problem A v = b + J' lambda
   becomes u = W lambda + q with W = J A^-1 J' and q = J A^-1 b + phi, neither formed: A^-1 is exact, body by body,
   where A is block diagonal in small bodies, and preconditioned conjugate gradients to a millionth of the tolerance (W
   enlarges errors) elsewhere. Rows of W can be read where A is block diagonal (the sweeps then carry the velocities of
   the bodies), and where there are so few contacts that W is formed all the same: a bounded number, so that memory
   stays linear. */
#include "private.h"

enum {
    CSIMI_LIFT_DENSE = 32, /* contacts up to which W is formed when A is no set of bodies: 74 kB in double */
    CSIMI_LIFT_ROUGH = 50  /* products at most for a column of a block that only scales */
};

typedef struct csimi_lift {
    const csim_problem *problem;
    const csim_tasks *tasks;
    bool direct; /* A is block diagonal in bodies */
    int broken;  /* -1: conjugate gradients met a direction without stiffness, -2: numbers too large for their sums */
    csimi_bodies bodies;
    csimi_piece *pieces;
    int *first;          /* [contacts + 1] pieces of each contact */
    csim_real *v, *load; /* [3n] A^-1 J' raw, of bodies E'^-1 J' raw; of products */
    csim_real *free;     /* [3n] A^-1 b, later the answer */
    csim_real *krylov;   /* [21 n] */
    csim_real *dense;    /* [9 contacts^2] where W is formed */
    csim_real tolerance; /* of conjugate gradients */
    int products;        /* of A */
} csimi_lift;

static void csimi_lift_layout(csimi_lift *l, csimi_arena *arena, const csim_problem_size *size) {
    const int n = size->blocks, contacts = size->contacts;
    const size_t few = (size_t)csimi_imin(contacts, CSIMI_LIFT_DENSE); /* W is not formed for more */
    csimi_bodies_layout(&l->bodies, arena, n, csimi_factor_blocks_of(size));
    l->pieces = CSIMI_PUSH(arena, csimi_piece, size->terms + size->reach_blocks);
    l->first = CSIMI_PUSH(arena, int, (size_t)contacts + 1);
    l->v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    l->load = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    l->free = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    l->krylov = CSIMI_PUSH(arena, csim_real, 21 * (size_t)n);
    l->dense = CSIMI_PUSH(arena, csim_real, 9 * few * few);
}

/* What a solve works with, counted and taken by the same code; returns r. */
static csim_real *csimi_lift_vectors(csimi_delassus *W, csimi_lift *l, csimi_arena *arena,
                                     const csim_problem_size *size, csim_real **u, void **scratch, size_t *bytes) {
    const int n = size->blocks, contacts = size->contacts;
    csim_real *r;
    CSIMI_MEMSET(l, 0, sizeof *l);
    csimi_lift_layout(l, arena, size);
    csimi_delassus_layout(W, arena, contacts);
    r = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    *u = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    *bytes = csim_certificate_bytes(n, contacts);
    /* csimi_lift_velocities sums in the same memory, in double */
    if (*bytes < 3 * (size_t)n * sizeof(double)) *bytes = 3 * (size_t)n * sizeof(double);
    *scratch = csimi_push(arena, *bytes, 1);
    return r;
}

CSIMI_FN size_t csimi_lift_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_delassus W;
    csimi_lift l;
    csim_real *u;
    void *scratch;
    size_t bytes;
    (void)csimi_lift_vectors(&W, &l, &arena, size, &u, &scratch, &bytes);
    /* null from csimi_lift_judge, which runs no solver */
    if (params) csimi_push(&arena, csimi_impulse_solver_of(params->solver)->bytes(size->contacts, params), 1);
    return arena.high;
}

/* ---- A^-1 */

/* y = A^-1 x within so many products, y in: start. */
static void csimi_lift_solve_A(csimi_lift *l, const csim_real *x, csim_real *y, csim_real tolerance, int most) {
    const int count = csimi_pcg(&l->problem->A, x, y, tolerance, most, l->krylov, l->tasks);
    l->products += csimi_imax(count, 0) + 1; /* one more for the first residual */
    if (count < 0) l->broken = count;
}

/* Twice the 3 n products after which exact arithmetic would be done, and some more for small problems. */
static int csimi_lift_products(const csimi_lift *l) { return 6 * l->problem->A.n + 200; }

static void csimi_lift_zero(csimi_lift *l, csim_real *x) {
    CSIMI_MEMSET(x, 0, 3 * (size_t)l->problem->A.n * sizeof *x);
}

/* g += J' x of contact c; of bodies w += E'^-1 J' x */
static void csimi_lift_push(const csimi_lift *l, int c, const csim_real *x, csim_real *g) {
    csimi_pieces_push(l->pieces + l->first[c], l->first[c + 1] - l->first[c], x, g);
}

static void csimi_lift_gather(const csimi_lift *l, int c, const csim_real *v, csim_real *u) {
    u[0] = u[1] = u[2] = 0;
    csimi_pieces_velocity(l->pieces + l->first[c], l->first[c + 1] - l->first[c], v, u);
}

/* ---- W for csimi_delassus, raw */

/* Sweeps keep in l->v the velocities of bodies that follow from raw: a row costs no more than its pieces. */
static void csimi_lift_bodies_begin(csimi_delassus *W) {
    csimi_lift *l = (csimi_lift *)W->from;
    int c;
    csimi_lift_zero(l, l->v);
    for (c = 0; c < W->contacts; ++c) csimi_lift_push(l, c, W->raw + 3 * (ptrdiff_t)c, l->v);
}

static void csimi_lift_bodies_row(csimi_delassus *W, int c, csim_real *u) {
    const csimi_lift *l = (const csimi_lift *)W->from;
    csimi_lift_gather(l, c, l->v, u);
}

static void csimi_lift_bodies_change(csimi_delassus *W, int c, const csim_real *difference) {
    csimi_lift *l = (csimi_lift *)W->from;
    csimi_lift_push(l, c, difference, l->v);
}

static void csimi_lift_bodies_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    csimi_lift *l = (csimi_lift *)W->from;
    int c;
    csimi_lift_zero(l, l->load);
    for (c = 0; c < W->contacts; ++c) csimi_lift_push(l, c, x + 3 * (ptrdiff_t)c, l->load);
    for (c = 0; c < W->contacts; ++c) csimi_lift_gather(l, c, l->load, y + 3 * (ptrdiff_t)c);
}

static void csimi_lift_krylov_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    csimi_lift *l = (csimi_lift *)W->from;
    int c;
    csimi_lift_zero(l, l->load);
    for (c = 0; c < W->contacts; ++c) csimi_lift_push(l, c, x + 3 * (ptrdiff_t)c, l->load);
    csimi_lift_zero(l, l->v); /* so that no product depends on the one before */
    csimi_lift_solve_A(l, l->load, l->v, l->tolerance, csimi_lift_products(l));
    for (c = 0; c < W->contacts; ++c) csimi_lift_gather(l, c, l->v, y + 3 * (ptrdiff_t)c);
}

/* Diagonal blocks by three solves a contact, in no more products than the iterations may; or the whole of W. */
static void csimi_lift_columns(csimi_lift *l, csimi_delassus *W, int max_iterations, bool dense) {
    const csim_real rough = dense ? l->tolerance : csimi_max(l->tolerance, CSIM_R(1e-2));
    const int nc = W->contacts, whole = csimi_lift_products(l), share = whole / (3 * nc + 1) + 1;
    const int most = dense ? whole : csimi_imin(CSIMI_LIFT_ROUGH, csimi_imin(CSIMI_LIFT_ROUGH, max_iterations) * share);
    int c, i, k, m;
    for (c = 0; c < nc && !l->broken; ++c)
        for (k = 0; k < 3; ++k) {
            csim_real unit[3] = {0, 0, 0}, u[3];
            unit[k] = 1;
            csimi_lift_zero(l, l->load);
            csimi_lift_push(l, c, unit, l->load);
            csimi_lift_zero(l, l->v);
            csimi_lift_solve_A(l, l->load, l->v, rough, most);
            for (m = dense ? 0 : c; m < (dense ? nc : c + 1); ++m) { /* only its own block where W is not formed */
                csimi_lift_gather(l, m, l->v, u);
                for (i = 0; i < 3; ++i) {
                    if (dense) l->dense[(size_t)(3 * m + i) * 3 * (size_t)nc + (size_t)(3 * c + k)] = u[i];
                    if (m == c) W->diagonal[9 * (ptrdiff_t)c + 3 * i + k] = u[i];
                }
            }
        }
}

/* ---- opening */

static void csimi_lift_bodies_open(csimi_lift *l, csimi_delassus *W) {
    int c;
    W->from = l;
    W->rows = true; /* a row is J times the velocities of its bodies */
    W->begin = csimi_lift_bodies_begin;
    W->row = csimi_lift_bodies_row;
    W->change = csimi_lift_bodies_change;
    W->product = csimi_lift_bodies_product;
    for (c = 0; c < W->contacts; ++c)
        csimi_pieces_delassus(l->pieces + l->first[c], l->first[c + 1] - l->first[c], W->diagonal + 9 * (ptrdiff_t)c);
}

/* W is formed where it costs no more products than the iterations may, and for solvers that need its rows. */
static void csimi_lift_krylov_open(csimi_lift *l, csimi_delassus *W, const csim_solver_params *params) {
    const bool few = W->contacts <= CSIMI_LIFT_DENSE;
    const bool dense = few && (csimi_solver_rows(params) || params->max_iterations >= 3 * W->contacts);
    csimi_lift_columns(l, W, params->max_iterations, dense);
    if (dense) {
        csimi_delassus_dense(W, l->dense);
        return;
    }
    W->from = l; /* rows it has none */
    W->product = csimi_lift_krylov_product;
}

/* v = A^-1 (b + J' lambda), lambda may be null; scratch [3n]. By conjugate gradients solved twice, the second time for
   what the first left, so that dynamics is at rounding. */
static void csimi_lift_velocities(csimi_lift *l, const csim_real *lambda, csim_real *v, double *scratch) {
    const csim_problem *p = l->problem;
    int pass, i;
    if (l->direct) {
        csimi_bodies_velocities(&l->bodies, p, lambda, v, scratch);
        return;
    }
    csimi_lift_zero(l, v);
    for (pass = 0; pass < 2 && !l->broken; ++pass) {
        csimi_problem_load(p, lambda, scratch);
        csimi_less_product(&p->A, v, scratch); /* what v leaves of it, in double */
        for (i = 0; i < 3 * p->A.n; ++i) l->load[i] = (csim_real)scratch[i];
        csimi_lift_zero(l, l->v);
        csimi_lift_solve_A(l, l->load, l->v, l->tolerance, csimi_lift_products(l));
        for (i = 0; i < 3 * p->A.n; ++i) v[i] += l->v[i];
    }
}

/* Pieces of the contacts, and the bodies where A is a set of them; false when those are not positive definite. */
static bool csimi_lift_bind(csimi_lift *l) {
    const csim_problem *p = l->problem;
    int c, at = 0;
    l->direct = csimi_bodies_take(p);
    l->broken = 0;
    l->products = 0;
    if (l->direct && !csimi_bodies_open(&l->bodies, p)) return false;
    for (c = 0; c < p->contact_count; ++c) {
        l->first[c] = at;
        at += csimi_pieces_make(p, l->direct ? &l->bodies : NULL, c, l->pieces + at); /* J E^-1 of bodies, else J */
    }
    l->first[p->contact_count] = at;
    return true;
}

/* W and q of the problem, q passes through r. CSIM_BAD_PROBLEM: A is not positive definite or a row of J is empty;
   CSIM_NOT_FINITE: they are not, but A^-1 b or W overflow. */
static csim_status csimi_lift_open(csimi_lift *l, csimi_delassus *W, const csim_solver_params *params, csim_real *q,
                                   double *scratch) {
    const csim_problem *p = l->problem;
    int c, k;
    l->tolerance = csimi_max(CSIM_R(1e-6) * params->tolerance, 64 * CSIMI_EPS);
    if (!csimi_lift_bind(l)) return CSIM_BAD_PROBLEM;
    for (c = 0; c < W->contacts; ++c) W->laws[c] = p->contacts[c]; /* a copy, which csimi_delassus_scale changes */
    if (l->direct)
        csimi_lift_bodies_open(l, W);
    else
        csimi_lift_krylov_open(l, W, params);
    csimi_lift_velocities(l, NULL, l->free, scratch); /* for q = J A^-1 b + phi */
    for (c = 0; c < W->contacts; ++c) {
        csim_real *u = q + 3 * (ptrdiff_t)c;
        (void)csimi_contact_motion(p, p->contacts + c, l->free, u);
        for (k = 0; k < 3; ++k) u[k] += p->contacts[c].phi[k];
    }
    if (l->broken) return l->broken < -1 ? CSIM_NOT_FINITE : CSIM_BAD_PROBLEM;
    if (!csimi_delassus_scale(W, q)) return csimi_delassus_flat(W) ? CSIM_BAD_PROBLEM : CSIM_NOT_FINITE;
    /* csimi_delassus_scale put |q| there, which cancels where both sides move alike; the speeds of its terms do not. */
    for (c = 0; c < W->contacts; ++c) {
        csim_real u[3];
        W->speed[c] = csimi_contact_motion(p, p->contacts + c, l->free, u) + csimi_norm3(p->contacts[c].phi);
    }
    W->each = true; /* the certificate looks at each contact */
    W->both = params->impulse.by_impulse;
    return CSIM_OK;
}

/* ---- the end of a solve */

CSIMI_FN bool csimi_lift_judge(const csim_problem *problem, csimi_arena *arena, const csim_tasks *tasks,
                               csim_solution *solution, csim_certificate *certificate, int *products) {
    const csim_problem_size size = csimi_problem_measure(problem);
    const size_t mark = arena->used;
    csimi_delassus W;
    csimi_lift l;
    csim_real *u;
    size_t bytes;
    void *scratch;
    bool ok;
    (void)csimi_lift_vectors(&W, &l, arena, &size, &u, &scratch, &bytes);
    l.problem = problem;
    l.tasks = tasks;
    l.tolerance = 64 * CSIMI_EPS; /* as exact as rounding lets it be */
    ok = !arena->overflow && csimi_lift_bind(&l);
    if (ok) csimi_lift_velocities(&l, solution->lambda, solution->v, (double *)scratch);
    ok = ok && !l.broken &&
         csimi_certify(problem, solution->v, solution->lambda, scratch, bytes, certificate) == CSIM_OK;
    *products += l.products;
    csimi_pop(arena, mark);
    return ok;
}

/* Solves, certifies, and goes on with a smaller target where the certificate is not content. The answer is l->free and
   u; the start in solution stays. */
static csim_result csimi_lift_run(csimi_lift *l, csimi_delassus *W, const csim_solver_params *params,
                                  csimi_arena *arena, csim_real *r, csim_real *u, void *scratch, size_t bytes,
                                  csim_outcome *outcome) {
    const size_t vector = 3 * (size_t)W->contacts * sizeof *r;
    const double tolerance = (double)params->tolerance;
    double target = 0.9 * tolerance; /* room for what the certificate measures otherwise */
    int trial;
    for (trial = 0; trial < 5; ++trial, target = csimi_next_target(target, &outcome->certificate, params->tolerance)) {
        if (W->contacts > 0 && !csimi_impulse_run_solver(W, params, target, arena, r, u, outcome))
            return CSIM_RESULT_NOT_FINITE;
        CSIMI_MEMCPY(u, r, vector); /* W r + q is not needed any more */
        csimi_delassus_leave(W, u);
        csimi_lift_velocities(l, u, l->free, (double *)scratch);
        /* certify 0: the solver's own measure is enough, where it met the first target */
        if (!params->certify && trial == 0 && !l->broken && (W->contacts == 0 || outcome->residual <= target) &&
            csimi_all_finite(l->free, 3 * l->problem->A.n))
            return csimi_leave_unchecked(W->contacts > 0 ? outcome->residual : 0, &outcome->certificate);
        if (l->broken || csimi_certify(l->problem, l->free, u, scratch, bytes, &outcome->certificate) != CSIM_OK)
            return CSIM_RESULT_NOT_FINITE;
        if (csim_certificate_worst(&outcome->certificate) <= tolerance) return CSIM_RESULT_CONVERGED;
        if (outcome->iterations >= params->max_iterations || W->contacts == 0) break; /* free motion: no more to do */
    }
    return outcome->iterations >= params->max_iterations ? CSIM_RESULT_CAP : CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_lift_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    const csim_problem_size size = csimi_problem_measure(problem);
    const size_t mark = arena->used;
    csimi_lift l;
    csimi_delassus W;
    csim_real *r, *u;
    void *scratch;
    size_t bytes;
    csim_status opened;
    r = csimi_lift_vectors(&W, &l, arena, &size, &u, &scratch, &bytes);
    l.problem = problem;
    l.tasks = W.tasks = tasks;
    if (arena->overflow)
        return csimi_deny(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes",
                          "csim_solver_bytes of the problem's size");
    opened = csimi_lift_open(&l, &W, params, r, (double *)scratch);
    if (opened == CSIM_BAD_PROBLEM)
        return csimi_deny(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "problem.A",
                          "positive definite, with every contact on blocks that can move");
    outcome->solver = params->solver;
    if (csimi_solver_rows(params) && !W.rows)
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "params.solver", (double)(int)params->solver,
                          "for this solver: bodies of 1 to 4 blocks, or 32 contacts");
    CSIMI_MEMCPY(r, solution->lambda, 3 * (size_t)W.contacts * sizeof *r); /* until here r held q */
    if (opened == CSIM_OK) csimi_delassus_enter(&W, r);
    outcome->result = opened == CSIM_OK && csimi_all_finite(r, 3 * W.contacts)
                          ? csimi_lift_run(&l, &W, params, arena, r, u, scratch, bytes, outcome)
                          : CSIM_RESULT_NOT_FINITE;
    if (outcome->result != CSIM_RESULT_NOT_FINITE) csimi_solution_take(problem, l.free, u, solution);
    outcome->products = l.products;
    outcome->bytes = arena->high - mark;
    csimi_pop(arena, mark);
    return CSIM_OK;
}
