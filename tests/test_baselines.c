/* The papers' own methods at the level of impulses (PGS, APGD, per-contact, staggered projections, CCS): agreement with
   AUTO where the law is the same, their own laws where it is not, failures told. */
#include "check.h"
#include "contact_problems.h"
#include "cond_scenes.h"
#include "rigid_scenes.h"

enum { FIRST = CSIM_SOLVER_PGS, LAST = CSIM_SOLVER_CCS };

static csim_solver_params params_of(int solver, double tolerance, int cap) {
    csim_solver_params p = csim_default_solver_params();
    p.solver = (csim_solver)solver;
    p.tolerance = CSIM_R(tolerance);
    p.max_iterations = cap;
    return p;
}

static const char *name_of(int solver) { return csim_describe_solver((csim_solver)solver).name; }

/* ---- random problems of bodies */

static csim_real found_v[3 * CP_BLOCKS], found_lambda[3 * CP_CONTACTS], auto_v[3 * CP_BLOCKS];

/* As many bodies as contacts: the answer is unique with few exceptions, and v is then the same for every solver. */
TEST(coulomb_solvers_reach_the_velocity_of_auto) {
    const double tolerance = TOL(1e-7, 1e-4);
    int missed[CSIM_SOLVER_COUNT_] = {0}, other[CSIM_SOLVER_COUNT_] = {0}, trial, k, trials = 0;
    double worst[CSIM_SOLVER_COUNT_] = {0};
    for (trial = 0; trial < 40; trial++) {
        const int contacts = cp_int(1, 40);
        const csim_solver_params best = params_of(CSIM_SOLVER_AUTO, tolerance, 100000);
        cp_make(2 * contacts, contacts, CP_RIGID, CSIM_LAW_STRICT, 10);
        for (k = 0; k < contacts; k++) cp.contacts[k].mu[0] *= CSIM_R(0.3); /* much friction has several answers */
        if (cp_solve(&best, auto_v, found_lambda).result != CSIM_RESULT_CONVERGED) continue;
        trials++;
        for (k = FIRST; k <= LAST; k++) {
            const csim_solver_params p = params_of(k, tolerance, 20000);
            const csim_outcome out = cp_solve(&p, found_v, found_lambda);
            double d;
            CASE("%s, trial %d", name_of(k), trial);
            CHECK(out.result != CSIM_RESULT_NOT_FINITE);
            CHECK(out.iterations <= 20000);
            if (out.result != CSIM_RESULT_CONVERGED) {
                missed[k]++;
                continue;
            }
            CHECK(out.certificate.contact <= tolerance && out.certificate.dynamics <= tolerance);
            d = cp_apart(found_v, auto_v, 3 * cp.p.A.n);
            if (d > 1e3 * tolerance)
                other[k]++; /* another solution of the same problem: both are certified */
            else
                worst[k] = fmax(worst[k], d);
        }
    }
    CHECK(trials >= 38);
    for (k = FIRST; k <= LAST; k++) {
        CASE("%s", name_of(k));
        printf("    %-10s missed %2d of %d, another answer %d, else at most %.1e from AUTO's v\n", name_of(k),
               missed[k], trials, other[k], worst[k]);
        CHECK(missed[k] <= trials / 10);
        CHECK(other[k] <= trials / 10);
    }
}

/* The convex law has one velocity, which is known: APGD and COND are to find it. */
TEST(apgd_is_the_convex_optimum_and_cond) {
    const double tolerance = TOL(1e-8, 1e-5);
    double worst = 0, between = 0;
    int trial, compared = 0;
    for (trial = 0; trial < 20; trial++) {
        const int contacts = cp_int(1, 20), kind = trial % 2 ? CP_RIGID : CP_NODAL;
        csim_solver_params p = params_of(CSIM_SOLVER_APGD, tolerance, 100000);
        cp_make(kind == CP_RIGID ? 2 * contacts : contacts + 4, contacts, kind, CSIM_LAW_PROXIMAL, 10);
        CASE("trial %d, %d contacts", trial, contacts);
        EQUAL(cp_solve(&p, auto_v, found_lambda).result, CSIM_RESULT_CONVERGED);
        worst = fmax(worst, cp_apart(auto_v, cp.v, 3 * cp.p.A.n));
        p = params_of(CSIM_SOLVER_COND, tolerance, 100000);
        if (cp_solve(&p, found_v, found_lambda).result != CSIM_RESULT_CONVERGED) continue;
        between = fmax(between, cp_apart(found_v, auto_v, 3 * cp.p.A.n));
        compared++;
    }
    printf("    APGD at most %.1e from the optimum, %.1e from COND (%d of 20)\n", worst, between, compared);
    CHECK(compared >= 10); /* what COND reaches at this tolerance is its own tests' matter */
    NEAR(worst, 0, TOL(1e-6, 1e-2));
    NEAR(between, 0, TOL(1e-6, 2e-2));
}

/* On problems that are no set of bodies CCS works on velocities, and the answer of the convex law is known. */
TEST(ccs_on_velocities_finds_the_convex_optimum) {
    const double tolerance = TOL(1e-8, 1e-5);
    double worst = 0, mean = 0;
    int trial, missed = 0;
    for (trial = 0; trial < 20; trial++) {
        const csim_solver_params p = params_of(CSIM_SOLVER_CCS, tolerance, 20000);
        csim_outcome out;
        cp_make(40, cp_int(1, 12), CP_GENERAL, CSIM_LAW_PROXIMAL, 10);
        CHECK(!csimi_bodies_take(&cp.p));
        out = cp_solve(&p, found_v, found_lambda);
        CASE("trial %d", trial);
        missed += out.result != CSIM_RESULT_CONVERGED;
        mean += out.iterations / 20.0;
        if (out.result == CSIM_RESULT_CONVERGED) worst = fmax(worst, cp_apart(found_v, cp.v, 3 * cp.p.A.n));
    }
    printf("    %d of 20 missed, %.0f iterations, v at most %.1e from the optimum\n", missed, mean, worst);
    CHECK(missed <= 1);
    NEAR(worst, 0, TOL(1e-5, 1e-2));
}

/* An elastic mat dropped askew, ten steps, by CCS and by COND: the same motion, at the price the COND paper reports
   (its Table VII: five times slower, because every iteration is a linear solve). */
TEST(soft_mat_by_ccs_and_cond) {
    static const csim_solver solver[2] = {CSIM_SOLVER_CCS, CSIM_SOLVER_COND};
    toy mat[2];
    int k, i, step, products[2] = {0, 0}, iterations[2] = {0, 0}, missed[2] = {0, 0};
    double most = 0;
    for (k = 0; k < 2; k++) {
        csim_solver_params p = params_of(solver[k], TOL(1e-6, 1e-4), 5000);
        toy_mat(&mat[k], 12, 1e5);
        for (step = 0; step < 10; step++) {
            STATUS(toy_step(&mat[k], &p), CSIM_OK);
            products[k] += mat[k].outcome.products;
            iterations[k] += mat[k].outcome.iterations;
            missed[k] += mat[k].outcome.result != CSIM_RESULT_CONVERGED;
            CHECK(mat[k].outcome.bytes <= mat[k].workspace_bytes);
        }
    }
    for (i = 0; i < 3 * mat[0].nodes; i++) most = fmax(most, fabs((double)(mat[0].x[i] - mat[1].x[i])));
    printf("    %d nodes, %d contacts: CCS %.1f iterations and %.0f products a step, missed %d; COND %.1f and %.0f, "
           "missed %d; %.1e m apart\n",
           mat[0].nodes, mat[0].row_count, iterations[0] / 10.0, products[0] / 10.0, missed[0], iterations[1] / 10.0,
           products[1] / 10.0, missed[1], most);
    EQUAL(missed[0], 0);
    NEAR(most, 0, TOL(1e-6, 1e-4)); /* of a drop of some millimetres */
    toy_free(&mat[0]);
    toy_free(&mat[1]);
}

/* Every law at once: whatever comes out is finite, its certificate honest, and it ends. */
TEST(every_law_is_taken) {
    int solved[CSIM_SOLVER_COUNT_] = {0}, trial, k;
    for (trial = 0; trial < 20; trial++) {
        cp_make(24, cp_int(1, 16), CP_RIGID, -1, 10);
        for (k = FIRST; k <= LAST; k++) {
            const csim_solver_params p = params_of(k, 1e-3, 3000);
            const csim_outcome out = cp_solve(&p, found_v, found_lambda);
            CASE("%s, trial %d", name_of(k), trial);
            CHECK(out.result != CSIM_RESULT_NOT_FINITE);
            CHECK(csimi_all_finite(found_v, 3 * cp.p.A.n));
            CHECK(out.iterations <= 3000);
            CHECK(out.result != CSIM_RESULT_CONVERGED || out.certificate.contact <= 1e-3);
            solved[k] += out.result == CSIM_RESULT_CONVERGED;
        }
    }
    for (k = FIRST; k <= LAST; k++) {
        printf("    %-10s %d of 20 with all laws\n", name_of(k), solved[k]);
        CASE("%s", name_of(k));
        CHECK(solved[k] >= 18);
    }
}

/* ---- problems of impulses alone */

enum { MOST = 40 };
static csim_real dense[9 * MOST * MOST], dense_q[3 * MOST], dense_mu[MOST], r[3 * MOST];

/* laws: null where dense_mu has all of them */
static csim_outcome solve_laws(int contacts, const csim_contact *laws, const csim_solver_params *params) {
    csim_impulse_problem p;
    csim_outcome out;
    size_t bytes;
    void *memory;
    memset(&p, 0, sizeof p);
    memset(&out, 0, sizeof out);
    p.contact_count = contacts;
    p.dense = dense;
    p.q = dense_q;
    p.mu = laws ? NULL : dense_mu;
    p.contacts = laws;
    bytes = csim_impulse_bytes(&p, params);
    memory = malloc(bytes);
    STATUS(csim_impulse_solve(&p, params, memory, bytes, NULL, r, &out, NULL), CSIM_OK);
    free(memory);
    return out;
}

static csim_outcome solve_dense(int contacts, const csim_solver_params *params) {
    return solve_laws(contacts, NULL, params);
}

static void dense_velocity(int contacts, double *u) {
    int i, j;
    for (i = 0; i < 3 * contacts; i++)
        for (u[i] = (double)dense_q[i], j = 0; j < 3 * contacts; j++)
            u[i] += (double)dense[3 * contacts * i + j] * (double)r[j];
}

/* W = G G' + 0.1 I */
static void random_dense(int contacts, double mu) {
    static double G[3 * MOST][3 * MOST];
    const int n = 3 * contacts;
    int i, j, k;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) G[i][j] = check_random(-1, 1) / sqrt(n);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            double sum = i == j ? 0.1 : 0;
            for (k = 0; k < n; k++) sum += G[i][k] * G[j][k];
            dense[n * i + j] = CSIM_R(sum);
        }
    for (i = 0; i < n; i++) {
        dense_q[i] = CSIM_R(check_random(-1, 1) - (i % 3 ? 0 : 0.5));
        r[i] = 0;
    }
    for (i = 0; i < contacts; i++) dense_mu[i] = CSIM_R(mu);
}

/* The three methods of maximal dissipation end at the same impulses, inside the cone and without penetration; they say
   that Coulomb's law is not met where contacts slide. */
TEST(per_contact_methods_of_one_law_agree) {
    int trial, k, m, slid = 0;
    double worst = 0, coulomb = 0;
    for (trial = 0; trial < 20; trial++) {
        const int contacts = cp_int(1, 10);
        csim_real first[3 * MOST];
        random_dense(contacts, 0.5);
        for (m = CSIM_CONTACT_BISECTION; m < CSIM_CONTACT_METHOD_COUNT_; m++) {
            csim_solver_params p = params_of(CSIM_SOLVER_PERCONTACT, TOL(1e-9, 1e-5), 20000);
            csim_outcome out;
            double u[3 * MOST];
            p.impulse.contact_method = (csim_contact_method)m;
            memset(r, 0, sizeof r);
            out = solve_dense(contacts, &p);
            dense_velocity(contacts, u);
            for (k = 0; k < contacts; k++) {
                const double t = hypot((double)r[3 * k + 1], (double)r[3 * k + 2]);
                CHECK(t <= 0.5 * (double)r[3 * k] * (1 + TOL(1e-9, 1e-5)) + TOL(1e-9, 1e-5));
                CHECK(u[3 * k] >= -TOL(1e-6, 1e-3));
                slid += t > 0.499 * (double)r[3 * k] && r[3 * k] > 0;
            }
            if (m == CSIM_CONTACT_BISECTION) memcpy(first, r, sizeof first);
            CASE("trial %d, method %d", trial, m);
            worst = fmax(worst, cp_apart(r, first, 3 * contacts));
            coulomb = fmax(coulomb, out.residual);
        }
    }
    printf("    impulses of bisection, golden section and quartic at most %.1e apart, from Coulomb's law up to %.1e\n",
           worst, coulomb);
    CHECK(slid > 20);
    NEAR(worst, 0, TOL(1e-6, 1e-2));
    CHECK(coulomb > 1e-3);
}

/* Box friction on one contact with a diagonal W, whose answer is three clips. */
TEST(pgs_with_a_box_clips_each_tangent) {
    int trial, k;
    for (trial = 0; trial < 200; trial++) {
        csim_solver_params p = params_of(CSIM_SOLVER_PGS, TOL(1e-10, 1e-5), 1000);
        double d[3], normal;
        p.impulse.sides = 4;
        for (k = 0; k < 3; k++) d[k] = check_random(0.5, 2);
        for (k = 0; k < 9; k++) dense[k] = k % 4 == 0 ? CSIM_R(d[k / 4]) : 0;
        for (k = 0; k < 3; k++) dense_q[k] = CSIM_R(check_random(-1, 1));
        dense_mu[0] = CSIM_R(0.4);
        memset(r, 0, sizeof r);
        solve_dense(1, &p);
        normal = fmax(0, -(double)dense_q[0] / d[0]);
        CASE("trial %d", trial);
        NEAR(r[0], normal, TOL(1e-12, 1e-6));
        for (k = 1; k < 3; k++)
            NEAR(r[k], fmin(fmax(-(double)dense_q[k] / d[k], -0.4 * normal), 0.4 * normal), TOL(1e-8, 1e-4));
    }
}

/* The friction polygon: its result opposes slip as well as a polygon can, inside the disk, and comes to the disk's with
   many sides. */
TEST(staggered_polygons_lie_in_the_disk) {
    static const int sides[3] = {4, 8, 64};
    double off[3] = {0, 0, 0};
    int trial, k, j;
    for (trial = 0; trial < 20; trial++) {
        const int contacts = cp_int(1, 6);
        csim_real disk[3 * MOST];
        csim_solver_params p = params_of(CSIM_SOLVER_STAGGERED, TOL(1e-8, 1e-5), 20000);
        random_dense(contacts, 0.3);
        if (solve_dense(contacts, &p).result != CSIM_RESULT_CONVERGED) continue;
        memcpy(disk, r, sizeof disk);
        for (j = 0; j < 3; j++) {
            double u[3 * MOST];
            p.impulse.sides = sides[j];
            memset(r, 0, sizeof r);
            solve_dense(contacts, &p);
            dense_velocity(contacts, u);
            for (k = 0; k < contacts; k++) {
                CASE("trial %d, %d sides", trial, sides[j]);
                CHECK(hypot((double)r[3 * k + 1], (double)r[3 * k + 2]) <= 0.3 * (double)r[3 * k] + TOL(1e-6, 1e-3));
                CHECK(u[3 * k] >= -TOL(1e-5, 1e-3) && r[3 * k] >= 0);
                NEAR((double)r[3 * k] * u[3 * k], 0, TOL(1e-5, 1e-3)); /* Signorini */
            }
            off[j] = fmax(off[j], cp_apart(r, disk, 3 * contacts));
        }
    }
    printf("    impulses with 4, 8, 64 sides at most %.3f, %.3f, %.4f from the disk's\n", off[0], off[1], off[2]);
    CHECK(off[0] > off[2] && off[1] > off[2] && off[2] < 0.03);
}

/* Anisotropic friction in polygons: the corners of Lemke's method, whose pivots share nothing with projections. */
TEST(staggered_polygons_are_those_of_lemke) {
    static const int sides[3] = {4, 5, 8};
    int trial, k, j, slid = 0;
    double worst = 0;
    for (trial = 0; trial < 30; trial++) {
        const int contacts = cp_int(1, 5);
        const csim_solver solvers[2] = {CSIM_SOLVER_STAGGERED, CSIM_SOLVER_LEMKE};
        static csim_contact laws[MOST];
        csim_real found[2][3 * MOST];
        random_dense(contacts, 0.3);
        memset(laws, 0, sizeof laws);
        for (k = 0; k < contacts; k++) {
            laws[k].law = trial % 4 ? CSIM_LAW_ANISOTROPIC : CSIM_LAW_STRICT;
            laws[k].mu[0] = CSIM_R(check_random(0.02, 0.3));
            laws[k].mu[1] = CSIM_R(check_random(0.02, 0.3));
        }
        for (j = 0; j < 2; j++) {
            csim_solver_params p = params_of(solvers[j], TOL(1e-8, 1e-5), 20000);
            p.impulse.sides = sides[trial % 3];
            memset(r, 0, sizeof r);
            solve_laws(contacts, laws, &p);
            memcpy(found[j], r, sizeof r);
        }
        CASE("trial %d, %d contacts, %d sides", trial, contacts, sides[trial % 3]);
        for (k = 0; k < 3 * contacts; k++) {
            NEAR(found[0][k], found[1][k], TOL(1e-6, 1e-3)); /* where staggers stop moving */
            worst = fmax(worst, fabs((double)(found[0][k] - found[1][k])));
        }
        for (k = 0; k < contacts; k++)
            slid += found[1][3 * k] > 0 && hypot((double)found[1][3 * k + 1], (double)found[1][3 * k + 2]) > 0;
    }
    printf("    impulses in polygons at most %.1e from Lemke's\n", worst);
    CHECK(slid > 20);
}

/* Friction along one axis alone: its polygon is a segment, so that Lemke's answer is that of the law itself. */
TEST(lemke_keeps_friction_along_one_axis) {
    int trial, k, slid = 0, stuck = 0;
    for (trial = 0; trial < 30; trial++) {
        const int contacts = cp_int(1, 5), along = trial % 2;
        const csim_solver_params p = params_of(CSIM_SOLVER_LEMKE, TOL(1e-10, 1e-4), 20000);
        static csim_contact laws[MOST];
        csim_outcome out;
        random_dense(contacts, 0.3);
        memset(laws, 0, sizeof laws);
        for (k = 0; k < contacts; k++) {
            laws[k].law = CSIM_LAW_ANISOTROPIC;
            laws[k].mu[along] = CSIM_R(check_random(0.1, 0.5));
        }
        memset(r, 0, sizeof r);
        out = solve_laws(contacts, laws, &p);
        CASE("trial %d, %d contacts", trial, contacts);
        EQUAL(out.result, CSIM_RESULT_CONVERGED);
        for (k = 0; k < contacts; k++) {
            const double most = (double)(laws[k].mu[along] * r[3 * k]), f = fabs((double)r[3 * k + 1 + along]);
            NEAR(r[3 * k + 2 - along], 0, 0);
            slid += f > 0 && f > 0.999 * most;
            stuck += f > 0 && f < 0.99 * most;
        }
    }
    printf("    %d contacts slid, %d stuck\n", slid, stuck);
    CHECK(slid > 10 && stuck > 5);
}

/* ---- Painleve's rod: one contact, W = [1 c; c 1] with c the cosine between normal and friction in the mass metric */

/* Staggers from f = 0 for the predictor (-qn, -qt); negative when the loop gave up. */
static int rod(double c, double mu, double qn, double qt, double *residual) {
    csim_solver_params p = params_of(CSIM_SOLVER_STAGGERED, TOL(1e-7, 1e-4), 1000);
    csim_outcome out;
    int k;
    for (k = 0; k < 9; k++) dense[k] = k % 4 == 0;
    dense[1] = dense[3] = CSIM_R(c);
    dense_q[0] = CSIM_R(qn);
    dense_q[1] = CSIM_R(qt);
    dense_q[2] = 0;
    dense_mu[0] = CSIM_R(mu);
    memset(r, 0, sizeof r);
    out = solve_dense(1, &p);
    *residual = out.residual;
    CHECK(csimi_all_finite(r, 3));
    CHECK(r[0] >= 0);
    return out.result == CSIM_RESULT_CONVERGED ? out.iterations : -1;
}

/* While the rod slides a turn multiplies the error of alpha by mu |c|: the count is the logarithm of the tolerance over
   that of mu |c|, and it does not converge where mu |c| > 1; orthogonal directions take one turn (the thesis, 5.5.2 and
   6.7.1, figures 6.2 to 6.8). */
TEST(staggered_counts_on_painleves_rod) {
    static const double angle[6] = {90, 75, 60, 45, 36, 20}, mus[6] = {0.2, 0.4, 0.8, 1.2, 2, 4};
    int i, j, a;
    printf(
        "    mean staggers over 64 predictors / share that converges; angle of friction to normal down, mu across\n");
    printf("    %8s", "");
    for (j = 0; j < 6; j++) printf("%12g", mus[j]);
    printf("\n");
    for (i = 0; i < 6; i++) {
        const double c = cos(angle[i] * 3.14159265358979 / 180);
        printf("    %8g", angle[i]);
        for (j = 0; j < 6; j++) {
            double sum = 0, residual;
            int good = 0, most = 0;
            for (a = 0; a < 64; a++) {
                const double t = 6.283185307179586 * (a + 0.5) / 64;
                const int count = rod(c, mus[j], cos(t), sin(t), &residual);
                if (count < 0) continue;
                good++;
                sum += count;
                if (count > most) most = count;
            }
            printf("%6.1f/%4.0f%%", sum / good, 100.0 * good / 64);
            CASE("angle %g, mu %g", angle[i], mus[j]);
            if (mus[j] * c < 0.9) {
                const double rate = fmax(mus[j] * c, c * c); /* slip, stick */
                EQUAL(good, 64);
                CHECK(most <= 4 + 1.3 * log(TOL(1e-8, 1e-5)) / log(fmin(fmax(rate, 0.05), 0.99)));
            }
            if (angle[i] > 89) CHECK(sum / good < 4);
            if (mus[j] * c > 1.05) CHECK(good < 64 && good > 16); /* sliding fails, sticking and opening do not */
        }
        printf("\n");
    }
}

/* The count of one sliding predictor against the formula. */
TEST(staggered_rate_is_mu_times_cosine) {
    double residual;
    int count[3], k;
    static const double c[3] = {0.3, 0.6, 0.8};
    for (k = 0; k < 3; k++) count[k] = rod(c[k], 1, -1, 2, &residual);
    for (k = 0; k < 3; k++) {
        const double expected = log(TOL(1e-7, 1e-4)) / log(c[k]);
        CASE("cosine %g: %d staggers, expected %.1f", c[k], count[k], expected);
        CHECK(count[k] > 0.6 * expected && count[k] < 1.3 * expected + 3);
    }
}

/* ---- a card house of four levels (the thesis, 6.7.2; 26 cards) */

enum { LEVELS = 4 };

static void house_card(rig *s, double x, double z, double angle, double hx, double hz) {
    rig_box(s, 1, hx, 0.35, hz, x, 0, z);
    s->body[s->bodies - 1].q[0] = cos(angle / 2);
    s->body[s->bodies - 1].q[2] = sin(angle / 2);
}

static void house(rig *s) {
    const double L = 1, t = 0.02, a = 22.5 * 3.14159265358979 / 180, mu = 0.8, pitch = 2 * (L * sin(a) + t * cos(a));
    const double height = L * cos(a) + t * sin(a);
    int level, j, side, y, floor[LEVELS + 1];
    rig_init(s, 30, 400);
    for (j = 0; j <= LEVELS; j++) floor[j] = -1;
    for (level = 0; level < LEVELS; level++) {
        const int frames = LEVELS - level, first = s->bodies;
        const double z0 = level * (height + t);
        for (j = 0; j < frames; j++) {
            const double middle = (j - (frames - 1) * 0.5) * pitch;
            for (side = -1; side <= 1; side += 2) {
                house_card(s, middle + side * (t / 2 * cos(a) + L / 2 * sin(a)), z0 + t / 2 * sin(a) + L / 2 * cos(a),
                           -side * a, t / 2, L / 2);
                for (y = -1; y <= 1; y += 2) /* foot on the card or ground below */
                    rig_touch(s, s->bodies - 1, -side * t / 2, 0.35 * y, -L / 2, floor[j], 0, 0,
                              floor[j] < 0 ? 0 : t / 2, 0, 0, 1, mu);
            }
            for (y = -1; y <= 1; y += 2) /* the two lean on each other */
                rig_touch(s, first + 2 * j, t / 2, 0.35 * y, L / 2, first + 2 * j + 1, -t / 2, 0, L / 2, -cos(a), 0,
                          sin(a), mu);
        }
        for (j = 0; j + 1 < frames; j++) {
            house_card(s, (j - (frames - 2) * 0.5) * pitch, z0 + height + t / 2, 0, pitch / 2, t / 2);
            for (side = -1; side <= 1; side += 2) /* on the heads of two cards of neighbouring frames */
                for (y = -1; y <= 1; y += 2)
                    rig_touch(s, first + 2 * j + (side < 0 ? 1 : 2), -side * t / 2, 0.35 * y, L / 2, s->bodies - 1, 0,
                              0, -t / 2, 0, 0, -1, mu);
            floor[j] = s->bodies - 1;
        }
    }
}

TEST(card_house_staggered_warm_and_cold) {
    const double tolerance = TOL(1e-4, 1e-3);
    double mean[2] = {0, 0}, products[2] = {0, 0}, drift = 0;
    const int steps = 6;
    int cold, step, i;
    for (cold = 0; cold < 2; cold++) {
        const csim_solver_params p = params_of(CSIM_SOLVER_STAGGERED, tolerance, 2000);
        rig s;
        double x0[30];
        house(&s);
        s.h = 1e-3;
        for (i = 0; i < s.bodies; i++) x0[i] = s.body[i].x[0];
        for (step = 0; step <= steps; step++) {
            rig_build(&s);
            if (cold) memset(s.lambda, 0, 3 * (size_t)s.contacts * sizeof *s.lambda);
            STATUS(rig_solve(&s, &p), CSIM_OK);
            CASE("%s, step %d", cold ? "cold" : "warm", step);
            EQUAL(s.out.result, CSIM_RESULT_CONVERGED);
            CHECK(s.out.certificate.approach <= 1e-3);
            if (step > 0) {
                mean[cold] += (double)s.out.iterations / steps;
                products[cold] += (double)s.out.products / steps;
            }
            rig_move(&s);
        }
        for (i = 0; i < s.bodies; i++) drift = fmax(drift, fabs(s.body[i].x[0] - x0[i]));
        rig_free(&s);
    }
    printf("    four levels: %.1f staggers a step warm, %.1f cold (thesis 3.2 and 57.1); drift %.1e m in %d steps\n",
           mean[0], mean[1], drift, steps + 1);
    CHECK(mean[0] < 0.5 * mean[1]);
    NEAR(drift, 0, 1e-4);
}

/* Left at the cap, staggered projections still satisfy Signorini: the last projection is one of contacts. */
TEST(staggered_degrades_gracefully) {
    int trial, k, capped = 0;
    for (trial = 0; trial < 20; trial++) {
        const int contacts = cp_int(5, 30);
        const csim_solver_params p = params_of(CSIM_SOLVER_STAGGERED, TOL(1e-8, 1e-5), 2);
        double u[3 * MOST];
        random_dense(contacts, 1);
        capped += solve_dense(contacts, &p).result == CSIM_RESULT_CAP;
        dense_velocity(contacts, u);
        CASE("trial %d", trial);
        for (k = 0; k < contacts; k++) {
            CHECK(r[3 * k] >= 0);
            CHECK(u[3 * k] >= -TOL(1e-6, 1e-3));
            NEAR((double)r[3 * k] * u[3 * k], 0, TOL(1e-6, 1e-3));
        }
    }
    CHECK(capped > 10);
}

/* Impulses of very unlike masses make every projection long: the whole call stays below 100 products a stagger of the
   cap and those of the last projection, not 800 a stagger. */
TEST(staggered_calls_are_bounded) {
    csim_solver_params p = params_of(CSIM_SOLVER_STAGGERED, TOL(1e-14, 1e-7), 60);
    csim_outcome out;
    int i, j;
    random_dense(30, 1);
    for (i = 0; i < 90; i++)
        for (j = 0; j < 90; j++)
            dense[90 * i + j] *= CSIM_R(pow(10, TOL(-6, -2) * (i / 3 % 3)) * pow(10, TOL(-6, -2) * (j / 3 % 3)));
    out = solve_dense(30, &p);
    CHECK(out.result != CSIM_RESULT_CONVERGED);
    printf("    %d products, %d staggers\n", out.products, out.iterations);
    CHECK(out.products < 3 * (100 * 60 + 1600) / 2); /* a step is a product, or two where its length shrinks */
    p.max_iterations = 1; /* 100 and 100 */
    memset(r, 0, sizeof r);
    out = solve_dense(30, &p);
    printf("    %d products, %d staggers\n", out.products, out.iterations);
    CHECK(out.products > 0 && out.products < 3 * (100 + 100) / 2);
}

/* A chain a hundred thousand times stiffer than it is heavy, of which W costs three long solves a contact: what only
   scales stays within the products that so few iterations may take. */
TEST(a_low_cap_bounds_what_comes_before_it) {
    static const csim_solver solver[] = {CSIM_SOLVER_APGD, CSIM_SOLVER_ANDERSON, CSIM_SOLVER_PROXIMAL};
    static csim_real v[3 * CP_BLOCKS], lambda[3 * CP_CONTACTS];
    int contacts, i, k, s;
    for (contacts = 30; contacts <= CP_CONTACTS; contacts += CP_CONTACTS - 30) {
        cp_make(CP_BLOCKS, contacts, CP_GENERAL, CSIM_LAW_STRICT, 1);
        for (i = 0; i < CP_BLOCKS; i++)
            for (k = 9 * cp.row[i]; k < 9 * cp.row[i + 1]; k++)
                cp.val[k] = k % 9 % 4 ? 0 : k / 9 == cp.diag[i] ? CSIM_R(2 + 1e-5) : CSIM_R(-1);
        for (s = 0; s < 3; s++) {
            const csim_solver_params p = params_of(solver[s], TOL(1e-8, 1e-4), 1);
            const csim_outcome out = cp_solve(&p, v, lambda);
            const int whole = 6 * CP_BLOCKS + 200; /* of one solve of A */
            CASE("solver %d, %d contacts", (int)solver[s], contacts);
            printf("    %d products, %d at most in a solve of A\n", out.products, whole);
            CHECK(out.products > 0 && out.products < whole + 3 * contacts + 8 * whole);
        }
    }
}

/* ---- failures, memory */

TEST(caps_and_bad_numbers_are_told) {
    int k, i;
    for (k = FIRST; k <= LAST; k++) {
        csim_solver_params p = params_of(k, TOL(1e-12, 1e-6), 1);
        csim_outcome out;
        CASE("%s", name_of(k));
        random_dense(12, 0.7);
        out = solve_dense(12, &p);
        EQUAL(out.result, CSIM_RESULT_CAP);
        EQUAL(out.iterations, 1);
        CHECK(csimi_all_finite(r, 36));
        p = params_of(k, 1e-4, 500);
        for (i = 0; i < 36 * 36; i++) dense[i] += CSIM_R(check_random(-0.5, 0.5)); /* no longer positive definite */
        for (i = 0; i < 12; i++) dense[36 * 3 * i + 3 * i] = 1;
        memset(r, 0, sizeof r);
        out = solve_dense(12, &p);
        CHECK(out.iterations <= 500);
        CHECK(csimi_all_finite(r, 36));
        CHECK(out.result != CSIM_RESULT_CONVERGED || out.certificate.natural_map_scaled <= 1e-4);
        dense_q[3] = CSIM_R(1e300) * CSIM_R(1e300);
        out = solve_dense(12, &p);
        EQUAL(out.result, CSIM_RESULT_NOT_FINITE);
        random_dense(12, 0.7);
        for (i = 0; i < 36; i++) dense_q[i] = i % 3 == 0; /* nothing touches: done at once, and exactly */
        out = solve_dense(12, &p);
        EQUAL(out.result, CSIM_RESULT_CONVERGED);
        for (i = 0; i < 36; i++) NEAR(r[i], 0, 0);
    }
}

TEST(parameters_of_the_baselines_are_checked) {
    static const struct {
        int method, sides;
        double relaxation, rho;
    } bad[7] = {{-1, 0, 0, 0}, {4, 0, 0, 0}, {0, 1, 0, 0}, {0, 65, 0, 0}, {0, 0, -1, 0}, {0, 0, 3, 0}, {0, 0, 0, -1}};
    int k;
    csim_error error;
    random_dense(1, 0.5);
    for (k = 0; k < 7; k++) {
        csim_solver_params p = params_of(CSIM_SOLVER_PGS, 1e-4, 10);
        csim_impulse_problem problem;
        csim_outcome out;
        uint64_t memory[512];
        p.impulse.contact_method = (csim_contact_method)bad[k].method;
        p.impulse.sides = bad[k].sides;
        p.impulse.relaxation = CSIM_R(bad[k].relaxation);
        p.impulse.rho = CSIM_R(bad[k].rho);
        memset(&problem, 0, sizeof problem);
        problem.contact_count = 1;
        problem.dense = dense;
        problem.q = dense_q;
        problem.mu = dense_mu;
        CASE("line %d", k);
        STATUS(csim_impulse_solve(&problem, &p, memory, sizeof memory, NULL, r, &out, &error), CSIM_OUT_OF_RANGE);
    }
}

/* ---- numbers that are too large */

/* What a solve leaves of data that make a NaN or an infinity is the start, to the last bit: loads and
   offsets so large that velocities, or their squares, are no numbers. */
TEST(what_is_not_finite_leaves_the_start) {
    static const double sizes[4] = {TOL(1e150, 1e17), TOL(1e156, 1e20), TOL(1e300, 1e36), TOL(5e307, 1e38)};
    static csim_real start_v[3 * CP_BLOCKS], start_lambda[3 * CP_CONTACTS];
    int solver, trial, i, size, told[CSIM_SOLVER_COUNT_] = {0};
    void *memory = malloc(1 << 24);
    for (trial = 0; trial < 8; trial++)
        for (size = 0; size < 4; size++) {
            csim_problem_size s;
            cp_make(8, 6, trial % 2 ? CP_RIGID : CP_GENERAL, CSIM_LAW_STRICT, 10);
            for (i = 0; i < 24; i++) cp.b[i] *= CSIM_R(sizes[size]), start_v[i] = CSIM_R(0.1) * (csim_real)i;
            for (i = 0; i < 18; i++) cp.contacts[i / 3].phi[i % 3] *= CSIM_R(sizes[size]), start_lambda[i] = !(i % 3);
            for (i = 0; i < 9 * cp.row[8] && trial > 5; i++) cp.val[i] *= CSIM_R(TOL(1e-9, 1e-3)); /* light */
            s = csim_problem_measure(&cp.p);
            for (solver = 0; solver < CSIM_SOLVER_COUNT_; solver++) {
                const csim_solver_params p = params_of(solver, 1e-4, 200);
                csim_solution solution = csim_solution_of(found_v, found_lambda);
                csim_outcome out;
                csim_error error;
                memcpy(found_v, start_v, sizeof start_v);
                memcpy(found_lambda, start_lambda, sizeof start_lambda);
                REQUIRE(csim_solver_bytes(&s, &p) <= 1 << 24);
                CASE("%s, trial %d, %g", name_of(solver), trial, sizes[size]);
                error.text[0] = 0;
                if (csim_problem_solve(&cp.p, &p, memory, 1 << 24, NULL, &solution, &out, &error) != CSIM_OK) {
                    CHECK(!strstr(error.text, "blocks that can move")); /* A and J are good, whatever b is */
                    continue;
                }
                if (out.result != CSIM_RESULT_NOT_FINITE) { /* an answer is one of numbers */
                    CHECK(csimi_all_finite(found_v, 24) && csimi_all_finite(found_lambda, 18));
                    continue;
                }
                told[solver]++;
                CHECK(memcmp(found_v, start_v, sizeof start_v) == 0);
                CHECK(memcmp(found_lambda, start_lambda, sizeof start_lambda) == 0);
            }
        }
    for (solver = 0; solver < CSIM_SOLVER_COUNT_; solver++) {
        CASE("%s", name_of(solver));
        CHECK(told[solver] > 3);
    }
    free(memory);
}

/* A without stiffness in a direction, and a contact on blocks that cannot move: a fault of the problem, told in words
   at any load that has squares. */
TEST(what_cannot_move_is_refused) {
    static const double sizes[2] = {1, TOL(1e100, 1e10)};
    int solver, size, i;
    for (solver = CSIM_SOLVER_PROXIMAL; solver < CSIM_SOLVER_COUNT_; solver++)
        for (size = 0; size < 4; size++) {
            const csim_solver_params p = params_of(solver, 1e-4, 200);
            static uint64_t memory[1 << 18];
            csim_solution solution = csim_solution_of(found_v, found_lambda);
            csim_outcome out;
            csim_error error;
            if (!csim_describe_solver((csim_solver)solver).impulse || solver == CSIM_SOLVER_CCS) continue;
            cp_make(8, 6, CP_GENERAL, CSIM_LAW_STRICT, 10);
            for (i = 0; i < 24; i++) cp.b[i] *= CSIM_R(sizes[size % 2]);
            if (size < 2) cp.val[9 * cp.diag[3]] = CSIM_R(0.01); /* less than its couplings bear */
            for (i = 0; i < 9 * cp.p.term_count && size >= 2; i++) cp.terms[i / 9].J[i % 9] = 0;
            CASE("%s, %d", name_of(solver), size);
            STATUS(csim_problem_solve(&cp.p, &p, memory, sizeof memory, NULL, &solution, &out, &error),
                   CSIM_BAD_PROBLEM);
            CHECK(strstr(error.text, "blocks that can move") != NULL);
        }
}
