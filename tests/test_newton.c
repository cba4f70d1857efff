/* The non-smooth Newton solver: its functions against differences, its linear solvers against elimination, its answers
   against known ones and against AUTO, the complementarity preconditioner on heavy stacks, refusals. */
#include "check.h"
#ifdef CONDSIM_LINKED
#include "../amalgamate/parts/solve/newton.c"
#endif
#include "contact_problems.h"
#include "rigid_scenes.h"

static csim_solver_params params_of(csim_solver solver, csim_ncp ncp, double tolerance, int cap) {
    csim_solver_params p = csim_default_solver_params();
    p.solver = solver;
    p.newton.ncp = ncp;
    p.tolerance = CSIM_R(tolerance);
    p.max_iterations = cap;
    return p;
}

static const char *const ncp_name[CSIM_NCP_COUNT_] = {"Fischer-Burmeister", "min-map"};
static const char *const linear_name[CSIM_LINEAR_COUNT_] = {"PCR", "PCG", "Jacobi", "Gauss-Seidel"};

/* ---- the functions */

TEST(ncp_functions_vanish_on_complementary_pairs_only) {
    int kind, trial;
    for (kind = 0; kind < CSIM_NCP_COUNT_; kind++)
        for (trial = 0; trial < 400; trial++) {
            const double a = trial % 4 == 0 ? 0 : check_random(-2, 2), b = trial % 4 == 1 ? 0 : check_random(-2, 2);
            const bool pair = a >= 0 && b >= 0 && a * b <= 0;
            csim_real alpha, beta;
            const double phi = (double)csimi_ncp((csim_ncp)kind, CSIM_R(a), CSIM_R(b), &alpha, &beta);
            CASE("%s(%g, %g)", ncp_name[kind], a, b);
            if (pair)
                NEAR(phi, 0, TOL(1e-15, 1e-6));
            else
                CHECK(fabs(phi) > 1e-3 * fmin(fabs(a) + fabs(b), 1) * fmin(fabs(a) > 0 ? fabs(a) : 1, 1));
        }
}

TEST(ncp_derivatives_against_differences) {
    const double h = TOL(1e-6, 2e-3);
    int kind, trial;
    for (kind = 0; kind < CSIM_NCP_COUNT_; kind++)
        for (trial = 0; trial < 200; trial++) {
            const double a = check_random(-1, 1), b = check_random(-1, 1);
            csim_real alpha, beta, x, y;
            double da, db;
            if (fabs(a) + fabs(b) < 0.2 || fabs(a - b) < 0.01) continue; /* the kinks */
            csimi_ncp((csim_ncp)kind, CSIM_R(a), CSIM_R(b), &alpha, &beta);
            da = (double)(csimi_ncp((csim_ncp)kind, CSIM_R(a + h), CSIM_R(b), &x, &y) -
                          csimi_ncp((csim_ncp)kind, CSIM_R(a - h), CSIM_R(b), &x, &y)) /
                 (2 * h);
            db = (double)(csimi_ncp((csim_ncp)kind, CSIM_R(a), CSIM_R(b + h), &x, &y) -
                          csimi_ncp((csim_ncp)kind, CSIM_R(a), CSIM_R(b - h), &x, &y)) /
                 (2 * h);
            CASE("%s(%g, %g)", ncp_name[kind], a, b);
            NEAR(alpha, da, TOL(1e-9, 2e-3));
            NEAR(beta, db, TOL(1e-9, 2e-3));
        }
}

/* u_t + C r_t = 0 holds for every pair that obeys Coulomb's law, and for no other pair of opposed vectors. */
TEST(friction_compliance_is_coulomb) {
    int kind, trial;
    for (kind = 0; kind < CSIM_NCP_COUNT_; kind++)
        for (trial = 0; trial < 300; trial++) {
            const double rho = cp_log(0.1, 10), bound = check_random(0.1, 2), speed = check_random(0.1, 3);
            const double inside = bound * check_random(0, 0.95), beyond = bound * check_random(1.05, 5);
            const csim_ncp ncp = (csim_ncp)kind;
            CASE("%s, rho %g, bound %g, speed %g", ncp_name[kind], rho, bound, speed);
            NEAR(csimi_ncp_friction(ncp, CSIM_R(speed), CSIM_R(bound), CSIM_R(bound), CSIM_R(rho)) * CSIM_R(bound), speed,
                 TOL(1e-12, 1e-4));                                                                  /* slides */
            NEAR(csimi_ncp_friction(ncp, 0, CSIM_R(inside), CSIM_R(bound), CSIM_R(rho)), 0, TOL(1e-12, 1e-5)); /* sticks */
            CHECK((double)csimi_ncp_friction(ncp, CSIM_R(speed), CSIM_R(inside), CSIM_R(bound), CSIM_R(rho)) * inside <
                  speed * (1 - 1e-3) + 1e-6); /* more force is called for */
            CHECK((double)csimi_ncp_friction(ncp, CSIM_R(speed), CSIM_R(beyond), CSIM_R(bound), CSIM_R(rho)) * beyond >
                  speed * (1 + 1e-3)); /* less */
        }
}

/* The normal row is Newton's: residual = -phi / alpha and C = (d phi / d r) / (d phi / d u). */
TEST(rows_are_the_derivative) {
    int kind, trial;
    for (kind = 0; kind < CSIM_NCP_COUNT_; kind++)
        for (trial = 0; trial < 200; trial++) {
            csimi_newton f;
            csimi_delassus W;
            csim_real u[3], r[3], C[3], P[3], res[3], scale = 2, x, y;
            const double rho = cp_log(0.1, 10), h = TOL(1e-6, 1e-3), omega = trial % 2 ? 0.3 : 0;
            const double a = check_random(-1, 1), b = check_random(-1, 1), used = trial % 3 ? rho : 1.7 * 4;
            double du, dr, up[2];
            int i;
            memset(&f, 0, sizeof f);
            memset(&W, 0, sizeof W);
            W.scale = &scale;
            f.ncp = (csim_ncp)kind;
            f.scaling = trial % 3 ? 0 : CSIM_R(1.7); /* in raw units: 1.7 s^2 in those of W */
            f.system.W = &W;
            f.u = u, f.r = r, f.system.C = C, f.system.P = P, f.system.residual = res;
            u[0] = CSIM_R(a);
            r[0] = CSIM_R(b);
            csimi_newton_normal(&f, 0, CSIM_R(rho), CSIM_R(omega));
            for (i = 0; i < 2; i++)
                up[i] = (double)csimi_ncp(f.ncp, CSIM_R(a + (i ? h : -h) + omega * b), CSIM_R(used * b), &x, &y);
            du = (up[1] - up[0]) / (2 * h);
            for (i = 0; i < 2; i++) {
                const double t = b + (i ? h : -h);
                up[i] = (double)csimi_ncp(f.ncp, CSIM_R(a + omega * t), CSIM_R(used * t), &x, &y);
            }
            dr = (up[1] - up[0]) / (2 * h);
            if (du < 1e-2 || fabs(a) + fabs(b) < 0.1 || fabs(a + omega * b - used * b) < 0.05) continue; /* kinks */
            CASE("%s, trial %d", ncp_name[kind], trial);
            NEAR(C[0], dr / du, TOL(1e-5, 2e-2) * (1 + dr / du));
            NEAR(-res[0] * CSIM_R(du), csimi_ncp(f.ncp, CSIM_R(a + omega * b), CSIM_R(used * b), &x, &y), TOL(1e-5, 1e-2));
        }
}

/* ---- the linear solvers */

enum { CONTACTS = 30, SIDE = 3 * CONTACTS };
static csim_real dense[SIDE * SIDE], q[SIDE], mu[CONTACTS];

/* W = G G' of 30 contacts on bodies. */
static void dense_problem(csim_impulse_problem *p, int bodies) {
    static double G[SIDE][6 * CONTACTS];
    int c, i, j, k, side;
    memset(G, 0, sizeof G);
    memset(p, 0, sizeof *p);
    for (c = 0; c < CONTACTS; c++)
        for (side = 0; side < 2; side++) {
            const int body = cp_int(0, bodies - 1);
            for (i = 0; i < 3; i++)
                for (j = 0; j < 6; j++) G[3 * c + i][6 * body + j] += j < 3 ? (i == j) : 0.7 * check_random(-1, 1);
        }
    for (i = 0; i < SIDE; i++) {
        q[i] = CSIM_R(check_random(-1, 1));
        mu[i / 3] = CSIM_R(0.5);
        for (j = 0; j < SIDE; j++) {
            double sum = 0;
            for (k = 0; k < 6 * bodies; k++) sum += G[i][k] * G[j][k];
            dense[i * SIDE + j] = CSIM_R(sum);
        }
    }
    p->contact_count = CONTACTS;
    p->dense = dense;
    p->q = q;
    p->mu = mu;
}

/* x with A x = y by elimination with pivots; A [SIDE SIDE], y are destroyed. */
static void eliminate(double *A, double *y) {
    int i, j, k;
    for (k = 0; k < SIDE; k++) {
        int best = k;
        for (i = k; i < SIDE; i++)
            if (fabs(A[i * SIDE + k]) > fabs(A[best * SIDE + k])) best = i;
        for (j = 0; j < SIDE; j++) {
            const double t = A[k * SIDE + j];
            A[k * SIDE + j] = A[best * SIDE + j];
            A[best * SIDE + j] = t;
        }
        {
            const double t = y[k];
            y[k] = y[best];
            y[best] = t;
        }
        for (i = k + 1; i < SIDE; i++) {
            const double f = A[i * SIDE + k] / A[k * SIDE + k];
            for (j = k; j < SIDE; j++) A[i * SIDE + j] -= f * A[k * SIDE + j];
            y[i] -= f * y[k];
        }
    }
    for (i = SIDE - 1; i >= 0; i--) {
        for (j = i + 1; j < SIDE; j++) y[i] -= A[i * SIDE + j] * y[j];
        y[i] /= A[i * SIDE + i];
    }
}

static uint64_t memory[1 << 16];
static csim_real work[SIDE];

static void linear_open(csimi_linear *s, csimi_delassus *W, const csim_impulse_problem *p) {
    csimi_arena arena = csimi_arena_in(memory, sizeof memory);
    memset(W, 0, sizeof *W);
    memset(s, 0, sizeof *s);
    csimi_delassus_layout(W, &arena, CONTACTS);
    CHECK(csimi_delassus_open(W, p));
    csimi_linear_layout(s, &arena, CONTACTS);
    CHECK(!arena.overflow);
    s->W = W;
    s->length = SIDE;
    s->Az = work;
}

/* Random C, every seventh row off; the right side into rhs. */
static void linear_rows(csimi_linear *s, uint64_t seed, csim_real *rhs) {
    int i;
    check.random = seed;
    for (i = 0; i < SIDE; i++) {
        s->C[i] = CSIM_R(check_random(0.2, 1.5));
        s->P[i] = i % 7 == 3 ? 0 : 1 / (s->W->diagonal[9 * (i / 3) + 4 * (i % 3)] + s->C[i] + s->shift);
        s->residual[i] = rhs[i] = i % 7 == 3 ? 0 : CSIM_R(check_random(-1, 1));
    }
}

TEST(linear_solvers_against_elimination) {
    int trial, method;
    for (trial = 0; trial < 4; trial++) {
        csim_impulse_problem p;
        csimi_delassus W;
        csimi_linear s;
        dense_problem(&p, trial % 2 ? 8 : 31);
        linear_open(&s, &W, &p);
        s.shift = trial > 1 ? CSIM_R(0.1) : 0;
        for (method = 0; method < CSIM_LINEAR_COUNT_; method++) {
            static double A[SIDE * SIDE], x[SIDE];
            csim_real rhs[SIDE];
            double worst = 0;
            int i, j, steps;
            linear_rows(&s, 91 + (uint64_t)trial, rhs);
            for (i = 0; i < SIDE; i++) {
                x[i] = (double)rhs[i];
                for (j = 0; j < SIDE; j++)
                    A[i * SIDE + j] = i % 7 == 3 || j % 7 == 3 ? (i == j)
                                                               : (double)(W.scale[i / 3] * dense[i * SIDE + j] * W.scale[j / 3]) +
                                                                     (i == j ? (double)(s.C[i] + s.shift) : 0);
            }
            eliminate(A, x);
            steps = csimi_linear_solve(&s, (csim_linear)method, 3000);
            for (i = 0; i < SIDE; i++) worst = fmax(worst, fabs((double)s.x[i] - x[i]));
            CASE("%s, trial %d, %d steps", linear_name[method], trial, steps);
            NEAR(worst, 0, TOL(1e-8, 1e-3));
            CHECK(steps < 3000 || TOL(false, true));
            if (trial == 0) printf("    %-12s %4d steps, %.1e from elimination\n", linear_name[method], steps, worst);
        }
    }
}

/* Conjugate residuals lower residual' P residual in every step, singular systems too. */
TEST(conjugate_residuals_are_monotone) {
    int trial, k, i;
    for (trial = 0; trial < 5; trial++) {
        csim_impulse_problem p;
        csimi_delassus W;
        csimi_linear s;
        csim_real rhs[SIDE];
        double last = 1e300, first = 0;
        dense_problem(&p, trial % 2 ? 8 : 31);
        linear_open(&s, &W, &p);
        for (k = 1; k <= 40; k++) {
            double size;
            linear_rows(&s, 77 + (uint64_t)trial, rhs);
            if (trial > 2)
                for (i = 0; i < SIDE; i++) s.C[i] = 0;
            csimi_linear_solve(&s, CSIM_LINEAR_PCR, k);
            size = csimi_sum_weighted(SIDE, s.P, s.residual, s.residual);
            if (k == 1) first = size;
            CHECK(size <= last * TOL(1 + 1e-10, 1 + 1e-3) + TOL(1e-20, 1e-10) * first);
            last = size;
        }
        CHECK(last < (trial > 2 ? 0.9 : 0.1) * first);
    }
}

/* ---- answers */

static csim_real found_v[3 * CP_BLOCKS], found_lambda[3 * CP_CONTACTS];

/* Laws whose velocity is unique and known: compliant contacts (E / h^2), limits and motors, joints; all linear solvers. */
TEST(known_answers_of_compliant_and_linear_rows) {
    static const csim_law law[3] = {CSIM_LAW_INVERTIBLE, CSIM_LAW_BILATERAL, CSIM_LAW_BOX};
    int kind, k, trial, linear;
    for (kind = 0; kind < CSIM_NCP_COUNT_; kind++)
        for (k = 0; k < 3; k++) {
            int solved = 0;
            double worst = 0;
            for (trial = 0; trial < 12; trial++) {
                const int contacts = cp_int(1, 12);
                csim_solver_params p;
                cp_make(2 * contacts, contacts, CP_RIGID, law[k], 10);
                for (linear = 0; linear < CSIM_LINEAR_COUNT_; linear++) {
                    p = params_of(CSIM_SOLVER_NEWTON_PROXIMAL, (csim_ncp)kind, TOL(1e-9, 1e-5), 50000);
                    p.newton.linear = (csim_linear)linear;
                    p.inner = 300;
                    if (cp_solve(&p, found_v, found_lambda).result != CSIM_RESULT_CONVERGED) continue;
                    solved++;
                    worst = fmax(worst, cp_apart(found_v, cp.v, 3 * cp.p.A.n));
                }
            }
            CASE("%s, law %d", ncp_name[kind], (int)law[k]);
            printf("    %-18s law %d: %d of 48, v at most %.1e from the known one\n", ncp_name[kind], (int)law[k], solved,
                   worst);
            CHECK(solved >= 40);
            NEAR(worst, 0, TOL(1e-6, 2e-2));
        }
}

/* Both functions, alone and in the proximal loop, reach the velocity of AUTO. */
TEST(both_functions_reach_the_velocity_of_auto) {
    const double tolerance = TOL(1e-7, 1e-4);
    static csim_real reference[3 * CP_BLOCKS];
    int missed[2][2] = {{0, 0}, {0, 0}}, other[2][2] = {{0, 0}, {0, 0}}, trial, k, kind, loop, trials = 0;
    double worst = 0;
    for (trial = 0; trial < 30; trial++) {
        const int contacts = cp_int(1, 30);
        csim_solver_params p = params_of(CSIM_SOLVER_AUTO, CSIM_NCP_FISCHER, tolerance, 100000);
        cp_make(2 * contacts, contacts, CP_RIGID, CSIM_LAW_STRICT, 10);
        for (k = 0; k < contacts; k++) cp.contacts[k].mu[0] *= CSIM_R(0.3); /* much friction has several answers */
        if (cp_solve(&p, found_v, found_lambda).result != CSIM_RESULT_CONVERGED) continue;
        memcpy(reference, found_v, sizeof reference);
        trials++;
        for (kind = 0; kind < 2; kind++)
            for (loop = 0; loop < 2; loop++) {
                p = params_of(loop ? CSIM_SOLVER_NEWTON_PROXIMAL : CSIM_SOLVER_NEWTON, (csim_ncp)kind, tolerance, 20000);
                if (cp_solve(&p, found_v, found_lambda).result != CSIM_RESULT_CONVERGED)
                    missed[kind][loop]++;
                else if (cp_apart(found_v, reference, 3 * cp.p.A.n) > 1e3 * tolerance)
                    other[kind][loop]++; /* another answer of the same problem, certified too */
                else
                    worst = fmax(worst, cp_apart(found_v, reference, 3 * cp.p.A.n));
            }
    }
    CHECK(trials >= 28);
    for (kind = 0; kind < 2; kind++)
        for (loop = 0; loop < 2; loop++) {
            CASE("%s, %s", ncp_name[kind], loop ? "proximal" : "alone");
            printf("    %-18s %-8s missed %d of %d, another answer %d\n", ncp_name[kind], loop ? "proximal" : "alone",
                   missed[kind][loop], trials, other[kind][loop]);
            CHECK(missed[kind][loop] <= (loop ? 2 : trials / 3)); /* alone it cycles where contacts slide */
            CHECK(other[kind][loop] <= 3);
        }
    printf("    else v at most %.1e from AUTO's\n", worst);
}

/* ---- the complementarity preconditioner: one step of six boxes, each 10^(2/5) times the one below, from rest */

static csim_outcome stack_step(double lowest, const csim_solver_params *p) {
    csim_outcome out;
    rig s;
    rig_stack(&s, 6, lowest, 100, 0.5);
    rig_build(&s);
    STATUS(rig_solve(&s, p), CSIM_OK);
    out = s.out;
    rig_free(&s);
    return out;
}

/* The same stack in other units of mass: with the diagonal of W one count, with a number it depends on the unit. */
TEST(preconditioner_makes_the_unit_of_mass_vanish) {
    static const double lowest[3] = {1.0 / 1073741824, 1, 1073741824}; /* powers of two: rounding is the same */
    static const struct {
        const char *name;
        double scaling; /* h = 10 ms */
    } choice[3] = {{"diagonal of W", 0}, {"h^2", 1}, {"1", 1e4}};
    int iterations[3][3], k, j;
    bool solved[3][3];
    for (k = 0; k < 3; k++)
        for (j = 0; j < 3; j++) {
            csim_solver_params p = params_of(CSIM_SOLVER_NEWTON, CSIM_NCP_FISCHER, TOL(1e-6, 1e-3), 20000);
            csim_outcome out;
            p.newton.scaling = CSIM_R(choice[j].scaling);
            out = stack_step(lowest[k], &p);
            iterations[k][j] = out.iterations;
            solved[k][j] = out.result == CSIM_RESULT_CONVERGED;
            printf("    from %-10.3g kg, r = %-14s %5d linear iterations, %3d steps, %s at %.1e\n", lowest[k], choice[j].name,
                   out.iterations, out.outer, solved[k][j] ? "solved" : "stopped", out.certificate.contact);
        }
    for (k = 0; k < 3; k++) {
        CASE("from %g kg", lowest[k]);
        CHECK(solved[k][0]);
        CHECK(abs(iterations[k][0] - iterations[1][0]) <= TOL(0, 5)); /* the same problem */
    }
    for (j = 1; j < 3; j++) /* without it the unit decides what the solve costs */
        CHECK(!solved[2][j] || iterations[2][j] > 13 * iterations[0][j] / 10);
}

/* The history holds the measure for each linear iteration, the last one is the best. */
TEST(history_is_complete) {
    static double history[4000];
    csim_solver_params p = params_of(CSIM_SOLVER_NEWTON, CSIM_NCP_FISCHER, TOL(1e-6, 1e-3), 4000);
    csim_outcome out;
    int i, changes = 0;
    for (i = 0; i < 4000; i++) history[i] = -1;
    p.history = history;
    p.history_capacity = 4000;
    out = stack_step(1, &p);
    CHECK(out.iterations > 0 && out.iterations < 4000 && out.outer > 0);
    for (i = 0; i < out.iterations; i++) {
        CHECK(history[i] > 0);
        if (i > 0 && (history[i] < history[i - 1] || history[i] > history[i - 1])) changes++;
    }
    CHECK(history[out.iterations] < 0);
    EQUAL(changes, out.outer - 1);
    NEAR(history[out.iterations - 1], out.residual, 1e-3 * out.residual);
}

/* ---- geometric stiffness: a particle on a rigid rod, the row along it turns with the velocity sought */

/* Newton steps until |q + h v| = L and the balance hold, at most 60; v [3] the answer. */
static int rod_steps(bool stiffened, const double *p, csim_real *v) {
    static const int row[2] = {0, 1}, col[1] = {0}, diag[1] = {0};
    const double h = 0.1, mass = 2, length = 0.7;
    const csim_term term = {0, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    csim_real q[3] = {CSIM_R(0.7), 0, 0}, val[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2}, b[3], D[3] = {0, 0, 0}, lambda[3] = {0, 0, 0};
    csim_real before[3] = {0, 0, 0}, n[3], last[3] = {1, 0, 0};
    csim_solver_params params = params_of(CSIM_SOLVER_NEWTON, CSIM_NCP_FISCHER, TOL(1e-10, 1e-6), 1000);
    csim_contact c;
    csim_problem problem;
    csim_problem_size size;
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_outcome out;
    int step, k;
    memset(&c, 0, sizeof c);
    memset(&problem, 0, sizeof problem);
    problem.A.n = 1;
    problem.A.row = (int *)(uintptr_t)row, problem.A.col = (int *)(uintptr_t)col, problem.A.diag = (int *)(uintptr_t)diag;
    problem.A.val = val;
    problem.b = b;
    problem.contacts = &c, problem.contact_count = 1;
    problem.terms = &term, problem.term_count = 1;
    problem.theta = 1;
    c.law = CSIM_LAW_BILATERAL;
    c.mask = 1;
    c.a.count = 1;
    solution.v = v;
    solution.lambda = lambda;
    for (k = 0; k < 3; k++) v[k] = 0;
    for (step = 0; step < 60; step++) {
        double d[3], l = 0, off = 0;
        csim_real change[3];
        for (k = 0; k < 3; k++) d[k] = (double)q[k] + h * (double)v[k];
        for (k = 0; k < 3; k++) l += d[k] * d[k];
        l = sqrt(l);
        for (k = 0; k < 3; k++) n[k] = CSIM_R(d[k] / l);
        for (k = 0; k < 3; k++) off = fmax(off, fabs(mass * (double)v[k] - p[k] - (double)(lambda[0] * n[k])));
        if (step > 1 && fabs(l - length) < TOL(1e-9, 1e-4) && off < TOL(1e-7, 1e-2)) break;
        csimi_frame(n, NULL, c.R);
        for (k = 0; k < 3; k++) change[k] = (n[k] - last[k]) * lambda[0];
        if (stiffened && step > 0) csim_geometric_stiffness(1, v, before, change, D);
        c.phi[0] = CSIM_R((l - length) / h);
        for (k = 0; k < 3; k++) {
            val[4 * k] = CSIM_R(mass) + D[k];
            b[k] = CSIM_R(p[k]) + D[k] * v[k];
            c.phi[0] -= n[k] * v[k];
            last[k] = n[k];
            before[k] = v[k];
        }
        size = csim_problem_measure(&problem);
        CHECK(csim_solver_bytes(&size, &params) <= sizeof memory);
        STATUS(csim_problem_solve(&problem, &params, memory, sizeof memory, NULL, &solution, &out, NULL), CSIM_OK);
    }
    return step;
}

/* The slope of the force against the way, by hand; none where the force grows with the way, or where nothing moved. */
TEST(geometric_stiffness_is_the_slope_of_the_force) {
    const csim_real v[6] = {1, 2, 3, 1, 2, 5}, before[6] = {CSIM_R(0.5), 3, 3, 2, 0, 1};
    const csim_real change[6] = {-2, 4, 1, -3, 4, -8}, slope[6] = {4, 4, 0, 0, 0, 2};
    csim_real D[6];
    int k;
    csim_geometric_stiffness(2, v, before, change, D);
    for (k = 0; k < 6; k++) NEAR(D[k], slope[k], 0);
}

/* q + h v = L times the direction of q + h p / m: the exact answer of a step. Under a strong pull the plain iteration
   swings about it for ever (the paper's figure 12). */
TEST(geometric_stiffness_settles_a_rod) {
    int plain, stiff, trial, k;
    for (trial = 0; trial < 10; trial++) {
        const double pull = check_random(60, 200), angle = check_random(0.3, 1.2);
        const double p[3] = {pull * cos(angle), 0, -pull * sin(angle)};
        double free[3], l = 0;
        csim_real v[3];
        plain = rod_steps(false, p, v);
        stiff = rod_steps(true, p, v);
        CASE("pull %g N s at %g", pull, angle);
        if (trial == 0) printf("    steps: plain %d, stiffened %d\n", plain, stiff);
        CHECK(plain == 60);
        CHECK(stiff < 30);
        for (k = 0; k < 3; k++) free[k] = (k == 0 ? 0.7 : 0) + 0.1 * p[k] / 2;
        for (k = 0; k < 3; k++) l += free[k] * free[k];
        for (k = 0; k < 3; k++)
            NEAR((k == 0 ? 0.7 : 0) + 0.1 * (double)v[k], 0.7 * free[k] / sqrt(l), TOL(1e-7, 1e-3));
    }
}

/* ---- refusals */

static void no_rows(void *user, const csim_real *x, csim_real *y) {
    int i;
    (void)user;
    for (i = 0; i < SIDE; i++) y[i] = x[i];
}

/* Two contacts whose velocities are beyond any number once they press: the step that finds it is the last. */
TEST(newton_ends_with_the_step_that_broke) {
    csim_solver_params p = params_of(CSIM_SOLVER_NEWTON, CSIM_NCP_FISCHER, 1e-4, 4000);
    csim_impulse_problem impulse;
    csim_outcome out;
    csim_real r[6] = {0, 0, 0, 0, 0, 0};
    int i;
    memset(&impulse, 0, sizeof impulse);
    memset(dense, 0, sizeof dense);
    for (i = 0; i < 6; i++) {
        dense[7 * i] = 1;
        q[i] = i % 3 ? 0 : -1;
    }
    dense[3] = dense[18] = -TOL(CSIM_R(1e200), CSIM_R(1e30));
    mu[0] = mu[1] = 0;
    p.newton.linear = CSIM_LINEAR_GAUSS_SEIDEL; /* takes the whole step however the residual grows */
    p.inner = 2;
    impulse.contact_count = 2;
    impulse.dense = dense;
    impulse.q = q;
    impulse.mu = mu;
    STATUS(csim_impulse_solve(&impulse, &p, memory, sizeof memory, NULL, r, &out, NULL), CSIM_OK);
    CHECK(out.result != CSIM_RESULT_CONVERGED && csimi_all_finite(r, 6));
    EQUAL(out.outer, 1);
}

TEST(what_newton_does_not_take_is_told) {
    static csim_real r[SIDE], diagonal[9 * CONTACTS];
    csim_solver_params p = params_of(CSIM_SOLVER_NEWTON, CSIM_NCP_FISCHER, 1e-4, 100);
    csim_impulse_problem impulse;
    csim_problem_size size;
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_outcome out;
    csim_error error;
    int i;
    solution.v = found_v;
    solution.lambda = found_lambda;
    cp_make(8, 3, CP_RIGID, CSIM_LAW_PROXIMAL, 10);
    size = csim_problem_measure(&cp.p);
    CHECK(csim_solver_bytes(&size, &p) <= sizeof memory);
    STATUS(csim_problem_solve(&cp.p, &p, memory, sizeof memory, NULL, &solution, &out, &error), CSIM_BAD_PROBLEM);
    CHECK(strstr(error.text, "strict") != NULL);
    dense_problem(&impulse, 10);
    impulse.dense = NULL;
    impulse.product = no_rows;
    impulse.diagonal = diagonal;
    for (i = 0; i < 9 * CONTACTS; i++) diagonal[i] = i % 9 % 4 == 0 ? 1 : 0;
    STATUS(csim_impulse_solve(&impulse, &p, memory, sizeof memory, NULL, r, &out, &error), CSIM_OK);
    p.newton.linear = CSIM_LINEAR_GAUSS_SEIDEL;
    STATUS(csim_impulse_solve(&impulse, &p, memory, sizeof memory, NULL, r, &out, &error), CSIM_BAD_PROBLEM);
    CHECK(strstr(error.text, "rows") != NULL);
}
