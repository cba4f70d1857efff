/* What must hold whoever solved it: every solver on the same random problems, and the memory they ask for. */
#include "check.h"
#include "contact_problems.h"

/* Who may miss how many problems in a hundred, of the convex law and of Coulomb's, and why. A miss is said by the
   status; nobody may certify what is wrong. */
static const struct {
    int solver, convex, coulomb;
    const char *why;
} promise[] = {
    {CSIM_SOLVER_AUTO, 5, 10, ""},
    {CSIM_SOLVER_COND, 5, 20, "Newton on the bodies stalls, or centres of virtual nodes wander, where many contacts slide"},
    {CSIM_SOLVER_SWEEP, 5, 10, ""},
    {CSIM_SOLVER_ANDERSON, 15, 20, "one stage of SWEEP, which may stall"},
    {CSIM_SOLVER_PROXIMAL, 10, 20, "one stage of SWEEP, here with a cap of sweeps"},
    {CSIM_SOLVER_PGS, 30, 25, "linear convergence: masses far apart and redundant contacts reach the cap"},
    {CSIM_SOLVER_APGD, 15, 15, "its steps grow with the root of the condition"},
    {CSIM_SOLVER_PERCONTACT, 20, 20, "as PGS"},
    {CSIM_SOLVER_STAGGERED, 10, 60, "a cap of staggers; sliding with mu |cos| > 1 has no limit"},
    {CSIM_SOLVER_CCS, 30, 30, "a cap of steps; one penalty for all contacts"},
    {CSIM_SOLVER_NEWTON, 100, 60, "known failure: cycles where contacts slide; no convex law"},
    {CSIM_SOLVER_NEWTON_PROXIMAL, 100, 40, "no convex law"},
};
enum { SOLVERS = sizeof promise / sizeof *promise };

static csim_real found_v[3 * CP_BLOCKS], found_lambda[3 * CP_CONTACTS];

static bool is_newton(int solver) { return solver == CSIM_SOLVER_NEWTON || solver == CSIM_SOLVER_NEWTON_PROXIMAL; }

static csim_outcome solve_from(int solver, double tolerance, int cap) {
    csim_solver_params params = csim_default_solver_params();
    csim_problem_size size;
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_outcome out;
    csim_status status;
    size_t bytes;
    void *memory;
    params.solver = (csim_solver)solver;
    params.tolerance = CSIM_R(tolerance);
    params.max_iterations = cap;
    size = csim_problem_measure(&cp.p);
    bytes = csim_solver_bytes(&size, &params);
    memory = malloc(bytes);
    solution.v = found_v;
    solution.lambda = found_lambda;
    memset(&out, 0, sizeof out);
    status = csim_problem_solve(&cp.p, &params, memory, bytes, NULL, &solution, &out, NULL);
    free(memory);
    if (is_newton(solver) && status == CSIM_BAD_PROBLEM && cp.contacts[0].law == CSIM_LAW_PROXIMAL)
        out.result = CSIM_RESULT_STALLED; /* it takes no convex law and says so */
    else
        STATUS(status, CSIM_OK);
    return out;
}

static csim_outcome solve_cold(int solver, double tolerance, int cap) {
    memset(found_v, 0, sizeof found_v);
    memset(found_lambda, 0, sizeof found_lambda);
    return solve_from(solver, tolerance, cap);
}

/* An iteration of these is many products. */
static int cap_of(int solver) {
    switch (solver) {
    case CSIM_SOLVER_STAGGERED: return 60;
    case CSIM_SOLVER_CCS: return 500;
    case CSIM_SOLVER_COND: return 1000;
    default: return 5000;
    }
}

/* |x - y| / |y| in the norm of A, which is that of kinetic energy: a natural map of size e bounds its square by a
   multiple of e, so that the root of the tolerance is what can be asked of v for any masses. */
static double apart(const csim_real *x, const csim_real *y) {
    double sum = 0, size = 0;
    int i, k, r, c;
    for (i = 0; i < cp.p.A.n; i++)
        for (k = cp.row[i]; k < cp.row[i + 1]; k++)
            for (r = 0; r < 3; r++)
                for (c = 0; c < 3; c++) {
                    const int a = 3 * i + r, b = 3 * cp.col[k] + c;
                    const double A = (double)cp.val[9 * k + 3 * r + c];
                    sum += A * ((double)x[a] - (double)y[a]) * ((double)x[b] - (double)y[b]);
                    size += A * (double)y[a] * (double)y[b];
                }
    return sqrt(sum / size);
}

/* tr(J A^-1 J') / 3 of contact m, A block diagonal: what a unit of impulse changes u by. */
static double mobility_of(int m) {
    const csim_contact *c = cp.contacts + m;
    double sum = 0;
    int t, i, j, k;
    for (t = 0; t < c->a.count + c->b.count; t++) {
        const csim_term *term = cp.terms + (t < c->a.count ? c->a.first + t : c->b.first + t - c->a.count);
        csim_real inverse[9];
        csimi_inverse3(cp.val + 9 * cp.diag[term->block], inverse);
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++)
                for (k = 0; k < 3; k++)
                    sum += (double)term->J[3 * i + j] * (double)inverse[3 * j + k] * (double)term->J[3 * i + k] / 3;
    }
    return sum;
}

/* Signorini, the cone, opposed slip and energy taken, at a residual of tolerance times the largest impulse. */
static void obeys_coulomb(double tolerance) {
    static csim_real exact[3 * CP_BLOCKS];
    double most = 0;
    int m, k;
    memcpy(exact, cp.v, sizeof exact);
    memcpy(cp.v, found_v, sizeof cp.v); /* cp_row_velocity reads it */
    for (m = 0; m < 3 * cp.p.contact_count; m++) most = fmax(most, fabs((double)found_lambda[m]));
    for (m = 0; m < cp.p.contact_count; m++) {
        const csim_contact *c = cp.contacts + m;
        const double mu = (double)c->mu[0], mobility = mobility_of(m), slack = 4 * tolerance * most;
        const double n = (double)found_lambda[3 * m], t1 = (double)found_lambda[3 * m + 1];
        const double t2 = (double)found_lambda[3 * m + 2];
        double u[3], slip, power;
        for (k = 0; k < 3; k++) u[k] = cp_row_velocity(c, k) + (double)c->phi[k];
        slip = hypot(u[1], u[2]);
        power = t1 * u[1] + t2 * u[2];
        CHECK(n >= -slack && hypot(t1, t2) <= mu * n + slack * (1 + mu));
        CHECK(u[0] >= -slack * mobility); /* nothing approaches */
        CHECK(fabs(n * u[0]) <= slack * (fabs(u[0]) + n * mobility) + slack * slack * mobility); /* impulse or gap */
        CHECK(power <= slack * (slip + n * mobility) * (1 + mu)); /* friction takes energy ... */
        CHECK(fabs(power + mu * n * slip) <= 2 * slack * (slip + n * mobility) * (1 + mu)); /* ... as much as it can */
    }
    memcpy(cp.v, exact, sizeof exact);
}

/* 1 to 200 contacts, on as many bodies or on a quarter of them, masses 1 to 10 or 1 to 1e6. */
static void make_problem(int trial, int law) {
    const int contacts = trial % 8 == 7 ? cp_int(100, 200) : cp_int(1, 40);
    const int bodies = trial % 2 ? contacts / 4 + 2 : contacts + 1;
    int m;
    cp_make(2 * bodies, contacts, CP_RIGID, law, trial % 3 == 2 ? TOL(1e6, 1e2) : 10);
    for (m = 0; m < contacts && law == CSIM_LAW_STRICT; m++) cp.contacts[m].mu[0] *= CSIM_R(4.0 / 3); /* to 2 */
    CASE("trial %d, %d contacts, %d bodies", trial, contacts, bodies);
}

typedef struct score {
    int missed;
    double worst;
} score;

static void print_scores(const score *s, const char *law, int trials, bool convex) {
    int k;
    for (k = 0; k < SOLVERS; k++) {
        const char *name = csim_describe_solver((csim_solver)promise[k].solver).name;
        const int allowed = convex ? promise[k].convex : promise[k].coulomb;
        printf("    %-16s %-8s missed %2d of %d, certified v at most %.1e off%s%s\n", name, law, s[k].missed, trials,
               s[k].worst, promise[k].why[0] ? ": " : "", promise[k].why);
        CASE("%s, %s", name, law);
        CHECK(100 * s[k].missed <= allowed * trials);
    }
}

/* Solves with a solver of the table and counts a miss. */
static bool certified(int k, double tolerance, score *s) {
    const csim_outcome out = solve_cold(promise[k].solver, tolerance, cap_of(promise[k].solver));
    CHECK(csimi_all_finite(found_v, 3 * cp.p.A.n) && out.result != CSIM_RESULT_NOT_FINITE);
    if (out.result == CSIM_RESULT_CONVERGED) return true;
    if (k == 0) printf("    AUTO missed %s: contact %.1e\n", check.subcase, out.certificate.contact);
    s->missed++;
    return false;
}

/* The convex law has one v, which is known: whoever certifies must have it, COND and APGD among them. */
TEST(convex_law_one_velocity) {
    const int trials = check_long() ? 24 : 10; /* the eighth is a large one */
    const double tolerance = TOL(1e-8, 1e-4);
    static score s[SOLVERS];
    int trial, k;
    for (trial = 0; trial < trials; trial++) {
        make_problem(trial, CSIM_LAW_PROXIMAL);
        for (k = 0; k < SOLVERS; k++) {
            double d;
            if (!certified(k, tolerance, &s[k])) continue;
            d = apart(found_v, cp.v);
            s[k].worst = fmax(s[k].worst, d);
            NEAR(d, 0, TOL(1e-4, 3e-2));
        }
    }
    print_scores(s, "convex", trials, true);
}

/* How far the certified answer at hand lies from a solution to tolerance that one of five solvers finds from there:
   those that solve single contacts exactly leave some solutions for another one, Newton does not. */
static bool refined(int solver, double tolerance, double *d) {
    const int by[5] = {CSIM_SOLVER_ANDERSON, CSIM_SOLVER_SWEEP, CSIM_SOLVER_PERCONTACT, solver, CSIM_SOLVER_NEWTON};
    static csim_real v[3 * CP_BLOCKS], lambda[3 * CP_CONTACTS];
    bool any = false;
    int k;
    memcpy(v, found_v, sizeof v);
    memcpy(lambda, found_lambda, sizeof lambda);
    *d = 1;
    for (k = 0; k < 5 && *d > TOL(1e-4, 3e-2); k++) {
        memcpy(found_v, v, sizeof v);
        memcpy(found_lambda, lambda, sizeof lambda);
        if (solve_from(by[k], tolerance, 10000).result != CSIM_RESULT_CONVERGED) continue;
        *d = fmin(*d, apart(v, found_v));
        any = true;
    }
    return any;
}

/* Coulomb's law may have several v; one that was certified must lie beside a solution to a hundredth of the tolerance,
   and must obey the law contact by contact. */
SLOW_TEST(coulomb_certified_is_solved) {
    const int trials = check_long() ? 24 : 10;
    const double tolerance = TOL(1e-8, 1e-4);
    static score s[SOLVERS];
    int trial, k, polished = 0, judged = 0, left = 0;
    for (trial = 0; trial < trials; trial++) {
        make_problem(trial, CSIM_LAW_STRICT);
        for (k = 0; k < SOLVERS; k++) {
            double d;
            if (!certified(k, tolerance, &s[k])) continue;
            obeys_coulomb(tolerance);
            judged++;
            if (!refined(promise[k].solver, 0.01 * tolerance, &d)) continue;
            polished++;
            s[k].worst = fmax(s[k].worst, d);
            left += d > TOL(1e-4, 3e-2);
        }
    }
    print_scores(s, "Coulomb", trials, false);
    printf("    %d of %d certified answers refined, %d of them left for another solution\n", polished, judged, left);
    CHECK(left <= TOL(0, 1)); /* COND in double stays at the one of floats, 6e-5 away */
    CHECK(10 * polished >= TOL(9, 3) * judged); /* rounding of floats and of masses 1e6 apart stops the others */
}

/* Nodes alone have no virtual nodes, hence no centres to move: where rounding held the contact figure of heavy nodes above a
   tolerance that the residual met, COND asked for one and divided by the window of a ring that was not laid out. */
TEST(nodes_under_the_invertible_law_have_no_centres) {
    const double tolerance = TOL(2e-13, 1e-5);
    int trial, nodal = 0, rounded = 0;
    for (trial = 0; trial < 60; trial++) {
        csim_outcome out;
        cp_make(400, 6, CP_NODAL, CSIM_LAW_INVERTIBLE, TOL(1e6, 1e4));
        CASE("trial %d", trial);
        out = solve_cold(CSIM_SOLVER_COND, tolerance, 200);
        if (out.virtual_nodes) continue;
        nodal++;
        rounded += out.certificate.contact > tolerance && out.certificate.dynamics <= tolerance;
        NEAR(apart(found_v, cp.v), 0, TOL(1e-9, 1e-3));
    }
    CHECK(nodal >= 20 && rounded >= TOL(1, 0));
}

/* ---- what must not matter */

/* Powers of two are exact: in other units of mass and speed every solver makes the same bits. */
TEST(units_of_powers_of_two_change_no_bit) {
    int trial, k, i;
    for (trial = 0; trial < 6; trial++) {
        static csim_real v[SOLVERS][3 * CP_BLOCKS];
        csim_outcome first[SOLVERS];
        const int law = trial % 2 ? CSIM_LAW_PROXIMAL : CSIM_LAW_STRICT;
        cp_make(10, 25, CP_RIGID, law, 10);
        for (k = 0; k < SOLVERS; k++) {
            first[k] = solve_cold(promise[k].solver, TOL(1e-6, 1e-3), 300);
            memcpy(v[k], found_v, sizeof v[k]);
        }
        for (i = 0; i < 9 * cp.row[10]; i++) cp.val[i] *= 64;
        for (i = 0; i < 30; i++) cp.b[i] *= 32;
        for (i = 0; i < 75; i++) cp.contacts[i / 3].phi[i % 3] /= 2;
        for (k = 0; k < SOLVERS; k++) {
            const csim_outcome out = solve_cold(promise[k].solver, TOL(1e-6, 1e-3), 300);
            int other = 0;
            CASE("%s, trial %d", csim_describe_solver((csim_solver)promise[k].solver).name, trial);
            EQUAL(out.iterations, first[k].iterations);
            for (i = 0; i < 30; i++) other += found_v[i] * 2 < v[k][i] || found_v[i] * 2 > v[k][i];
            EQUAL(other, 0);
        }
    }
}

/* The rows of A from the last to the first, with what is no number between them: other places, not a bit other. */
TEST(rows_with_gaps_change_no_bit) {
    static int row[CP_BLOCKS + 1], end[CP_BLOCKS], diag[CP_BLOCKS], col[CP_STORED + CP_BLOCKS];
    static csim_real val[9 * (CP_STORED + CP_BLOCKS)], v[SOLVERS][3 * CP_BLOCKS], l[SOLVERS][3 * CP_CONTACTS];
    static const int kinds[] = {CP_NODAL, CP_RIGID, CP_GENERAL};
    int trial, k, i, at;
    for (trial = 0; trial < 12; trial++) {
        csim_outcome first[SOLVERS];
        const int law = trial % 2 ? CSIM_LAW_PROXIMAL : CSIM_LAW_STRICT;
        cp_make(trial < 9 ? 14 : 60, 20, kinds[trial % 3], law, 10);
        for (k = 0; k < SOLVERS; k++) {
            first[k] = solve_cold(promise[k].solver, TOL(1e-6, 1e-3), 200);
            memcpy(v[k], found_v, sizeof v[k]);
            memcpy(l[k], found_lambda, sizeof l[k]);
        }
        for (i = 0; i < CP_STORED + CP_BLOCKS; i++) col[i] = -7;
        for (i = 0; i < 9 * (CP_STORED + CP_BLOCKS); i++) val[i] = CSIM_R(NAN);
        for (i = cp.p.A.n - 1, at = 1; i >= 0; i--, at = end[i + 1] + 1) {
            const int count = cp.row[i + 1] - cp.row[i];
            row[i] = at;
            end[i] = at + count;
            diag[i] = at + cp.diag[i] - cp.row[i];
            memcpy(col + at, cp.col + cp.row[i], (size_t)count * sizeof *col);
            memcpy(val + 9 * at, cp.val + 9 * cp.row[i], 9 * (size_t)count * sizeof *val);
        }
        row[cp.p.A.n] = cp.row[cp.p.A.n];
        cp.p.A.row = row, cp.p.A.end = end, cp.p.A.col = col, cp.p.A.diag = diag, cp.p.A.val = val;
        for (k = 0; k < SOLVERS; k++) {
            const csim_outcome out = solve_cold(promise[k].solver, TOL(1e-6, 1e-3), 200);
            CASE("%s, trial %d", csim_describe_solver((csim_solver)promise[k].solver).name, trial);
            EQUAL(out.iterations, first[k].iterations);
            EQUAL(out.products, first[k].products);
            CHECK(memcmp(found_v, v[k], sizeof found_v) == 0);
            CHECK(memcmp(found_lambda, l[k], sizeof found_lambda) == 0);
        }
        row[cp.p.A.n]++; /* a sum that does not hold is refused */
        STATUS(csim_problem_check(&cp.p, NULL), CSIM_BAD_PROBLEM);
        row[cp.p.A.n]--;
        end[0] = row[0] - 1;
        STATUS(csim_problem_check(&cp.p, NULL), CSIM_BAD_PROBLEM);
    }
}

/* Axes turned, contacts renamed: the convex law, so that there is one answer; it turns with them. */
TEST(axes_and_order_change_v_by_rounding) {
    const double tolerance = TOL(1e-10, 1e-4);
    double worst[SOLVERS] = {0};
    int trial, k, i, compared[SOLVERS] = {0};
    for (trial = 0; trial < 8; trial++) {
        enum { N = 12, C = 16 };
        static csim_real v[SOLVERS][3 * CP_BLOCKS], turned[3 * CP_BLOCKS];
        bool solved[SOLVERS];
        csim_real Q[9];
        cp_make(N, C, CP_RIGID, CSIM_LAW_PROXIMAL, 10);
        for (k = 0; k < SOLVERS; k++) {
            solved[k] = solve_cold(promise[k].solver, tolerance, 5000).result == CSIM_RESULT_CONVERGED;
            memcpy(v[k], found_v, sizeof v[k]);
        }
        cp_turn_and_shuffle(Q);
        for (k = 0; k < SOLVERS; k++) {
            CASE("%s, trial %d", csim_describe_solver((csim_solver)promise[k].solver).name, trial);
            if (solve_cold(promise[k].solver, tolerance, 5000).result != CSIM_RESULT_CONVERGED || !solved[k]) continue;
            for (i = 0; i < N; i++) csimi_mul3(Q, v[k] + 3 * i, turned + 3 * i);
            worst[k] = fmax(worst[k], apart(found_v, turned));
            compared[k]++;
            NEAR(apart(found_v, turned), 0, TOL(1e-6, 3e-2)); /* rounding, and what the tolerance leaves free */
        }
    }
    for (k = 0; k < SOLVERS; k++)
        printf("    %-16s %d of 8 compared, at most %.1e apart\n",
               csim_describe_solver((csim_solver)promise[k].solver).name, compared[k], worst[k]);
    CHECK(compared[0] == 8);
}

/* ---- memory: vectors only */

/* Bytes for a problem of these blocks and contacts: W alone, an island of rigid bodies, one of soft solids. */
enum { BARE, BODIES, SOFT };
static size_t bytes_of(int solver, int kind, int blocks, int contacts) {
    csim_solver_params params = csim_default_solver_params();
    csim_problem_size size;
    csim_impulse_problem bare;
    params.solver = (csim_solver)solver;
    memset(&bare, 0, sizeof bare);
    memset(&size, 0, sizeof size);
    bare.contact_count = size.contacts = contacts;
    if (kind == BARE) return csim_impulse_bytes(&bare, &params);
    size.blocks = blocks;
    size.rigid = kind == BODIES;
    size.matrix_blocks = kind == BODIES ? 2 * blocks : 15 * blocks; /* a node of a solid has 14 neighbours */
    size.factor_blocks = kind == BODIES ? 2 * blocks : 0;
    size.terms = kind == BODIES ? 4 * contacts : 2 * contacts;
    size.aggregates = kind == BODIES ? blocks / 2 : 4;
    return csim_solver_bytes(&size, &params);
}

static void say_bytes(int solver, const char *what, double bytes) {
    char key[64];
    snprintf(key, sizeof key, "bytes_%s_%s", csim_describe_solver((csim_solver)solver).name, what);
    for (; strchr(key, '-');) *strchr(key, '-') = '_';
    printf(" | %.0f", bytes);
    FIGURE(key, bytes);
}

TEST(memory_of_every_solver_is_linear) {
    static const char *const contact[] = {"bare", "bodies", "soft"}, *const dof[] = {"", "bodies_dof", "soft_dof"};
    int solver, kind, k;
    printf("    | solver | W alone, a contact | bodies: a contact | a DOF | solids: a contact | a DOF |\n");
    for (solver = 0; solver < CSIM_SOLVER_COUNT_; solver++) {
        const csim_solver_info info = csim_describe_solver((csim_solver)solver);
        CHECK(info.name && info.text && (info.velocity || info.impulse));
        printf("    | %s", info.name);
        for (kind = BARE; kind <= SOFT; kind++) {
            const size_t base = bytes_of(solver, kind, 64000, 64000);
            CASE("%s, kind %d", info.name, kind);
            if (solver == CSIM_SOLVER_LEMKE) continue; /* a dense tableau, there to compare with */
            if (kind == BARE ? !info.impulse : !info.velocity) {
                printf(kind == BARE ? " | -" : " | - | -");
                continue;
            }
            CHECK(base > 0);
            for (k = 1; k < 4; k *= 2)
                CHECK(bytes_of(solver, kind, 8000 * k, 8000 * k) <= 2 * bytes_of(solver, kind, 4000 * k, 4000 * k));
            say_bytes(solver, contact[kind], (double)(bytes_of(solver, kind, 64000, 128000) - base) / 64000);
            if (kind != BARE)
                say_bytes(solver, dof[kind], (double)(bytes_of(solver, kind, 128000, 64000) - base) / 192000);
        }
        printf(" |\n");
    }
    CHECK(csim_describe_solver(CSIM_SOLVER_COUNT_).name == NULL);
}
