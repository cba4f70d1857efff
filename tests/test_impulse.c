/* The impulse level: W in its three forms, the measure, agreement of the solvers, invariances, bad input. */
#include "check.h"
#include "contact_problems.h"

#include "../examples/fc3d/measure.c"
#include "../examples/fc3d/problem.c"

enum { CONTACTS = 200, SIDE = 3 * CONTACTS };
static struct {
    csim_impulse_problem p;
    csim_block_matrix W;
    int row[CONTACTS + 1], col[CONTACTS * CONTACTS], diag[CONTACTS];
    csim_real val[9 * CONTACTS * CONTACTS], dense[SIDE * SIDE], diagonal[9 * CONTACTS], q[SIDE], mu[CONTACTS];
    csim_contact contacts[CONTACTS];
} im;

static csim_real r_found[SIDE];

static csim_solver_params params_of(csim_solver solver, double tolerance) {
    csim_solver_params p = csim_default_solver_params();
    p.solver = solver;
    p.tolerance = CSIM_R(tolerance);
    p.max_iterations = 100000;
    return p;
}

/* u = W r + q in plain loops. */
static void plain_velocity(const csim_real *r, double *u) {
    const int n = 3 * im.p.contact_count;
    int i, j;
    for (i = 0; i < n; i++) {
        u[i] = (double)im.q[i];
        for (j = 0; j < n; j++) u[i] += (double)im.dense[i * n + j] * (double)r[j];
    }
}

/* Fills the sparse form from the dense one: blocks that are not zero. */
static void make_sparse(void) {
    const int nc = im.p.contact_count, n = 3 * nc;
    int i, j, k, at = 0;
    for (i = 0; i < nc; i++) {
        im.row[i] = at;
        for (j = 0; j < nc; j++) {
            bool any = i == j;
            for (k = 0; k < 9; k++) {
                im.val[9 * at + k] = im.dense[(3 * i + k / 3) * n + 3 * j + k % 3];
                any = any || im.val[9 * at + k] < 0 || im.val[9 * at + k] > 0;
            }
            if (!any) continue;
            if (i == j) im.diag[i] = at;
            im.col[at++] = j;
        }
        for (k = 0; k < 9; k++) im.diagonal[9 * i + k] = im.val[9 * im.diag[i] + k];
    }
    im.row[nc] = at;
    im.W.n = nc;
    im.W.row = im.row;
    im.W.col = im.col;
    im.W.diag = im.diag;
    im.W.val = im.val;
}

static void product(void *user, const csim_real *x, csim_real *y) {
    const int n = 3 * im.p.contact_count;
    int i, j;
    (void)user;
    for (i = 0; i < n; i++) {
        double sum = 0;
        for (j = 0; j < n; j++) sum += (double)im.dense[i * n + j] * (double)x[j];
        y[i] = (csim_real)sum;
    }
}

enum { SPARSE, DENSE, PRODUCT };
static void use_form(int form) {
    im.p.W = form == SPARSE ? &im.W : NULL;
    im.p.dense = form == DENSE ? im.dense : NULL;
    im.p.product = form == PRODUCT ? product : NULL;
    im.p.diagonal = form == PRODUCT ? im.diagonal : NULL;
}

/* W = G G' over nc contacts on bodies: each contact moves two of them, three directions each and a lever. rank: all
   rows independent when bodies are many. ratio: of masses. */
static void make_random(int nc, int bodies, double ratio, double most_mu) {
    static double G[SIDE][6 * CONTACTS];
    const int n = 3 * nc, width = 6 * bodies;
    int c, i, j, k, side;
    double light[CONTACTS];
    memset(G, 0, sizeof G);
    im.p.contact_count = nc;
    for (k = 0; k < bodies; k++) light[k] = 1 / sqrt(cp_log(1, ratio));
    for (c = 0; c < nc; c++) {
        for (side = 0; side < 2; side++) {
            const int body = cp_int(0, bodies - 1);
            for (i = 0; i < 3; i++)
                for (j = 0; j < 6; j++)
                    G[3 * c + i][6 * body + j] += light[body] * (j < 3 ? (i == j) : 0.7 * check_random(-1, 1));
        }
        im.mu[c] = CSIM_R(check_random(0, most_mu));
        im.q[3 * c] = CSIM_R(check_random(-1, 0.3));
        im.q[3 * c + 1] = CSIM_R(check_random(-1, 1));
        im.q[3 * c + 2] = CSIM_R(check_random(-1, 1));
    }
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            double sum = i == j ? 1e-3 / ratio : 0;
            for (k = 0; k < width; k++) sum += G[i][k] * G[j][k];
            im.dense[i * n + j] = (csim_real)sum;
        }
    im.p.q = im.q;
    im.p.mu = im.mu;
    im.p.contacts = NULL;
    make_sparse();
    use_form(SPARSE);
}

static csim_outcome solve_im(const csim_solver_params *params) {
    const size_t bytes = csim_impulse_bytes(&im.p, params);
    void *memory = malloc(bytes + 1);
    csim_outcome out;
    memset(&out, 0, sizeof out);
    STATUS(csim_impulse_solve(&im.p, params, memory, bytes, NULL, r_found, &out, NULL), CSIM_OK);
    free(memory);
    return out;
}

static csim_outcome solve_cold(const csim_solver_params *params) {
    memset(r_found, 0, sizeof r_found);
    return solve_im(params);
}

/* ---- W */

TEST(three_forms_of_W_are_one_operator) {
    int trial, form, c, k;
    for (trial = 0; trial < 20; trial++) {
        double u[SIDE];
        csim_real x[SIDE], y[SIDE];
        make_random(cp_int(1, 30), cp_int(1, 12), 10, 1);
        for (k = 0; k < 3 * im.p.contact_count; k++) x[k] = CSIM_R(check_random(-1, 1));
        plain_velocity(x, u);
        for (form = 0; form < 3; form++) {
            csimi_delassus W;
            csimi_arena arena = csimi_arena_counting();
            void *memory;
            memset(&W, 0, sizeof W);
            csimi_delassus_layout(&W, &arena, im.p.contact_count);
            memory = malloc(arena.high + 64);
            arena = csimi_arena_in(memory, arena.high + 64);
            csimi_delassus_layout(&W, &arena, im.p.contact_count);
            use_form(form);
            CHECK(csimi_delassus_open(&W, &im.p));
            for (c = 0; c < W.contacts; c++) { /* traces are three */
                const csim_real *D = W.diagonal + 9 * c;
                NEAR(D[0] + D[4] + D[8], 3, TOL(1e-14, 1e-6));
            }
            csimi_delassus_enter(&W, x);
            csimi_delassus_velocity(&W, x, y);
            for (k = 0; k < 3 * W.contacts; k++) NEAR(y[k] / W.scale[k / 3], u[k], TOL(1e-12, 1e-4));
            for (c = 0; c < W.contacts && W.rows; c++) { /* rows after the changes of a sweep that doubles everything */
                csim_real row[3], old[3];
                if (c == 0) csimi_delassus_begin(&W, x);
                csimi_delassus_row(&W, c, row);
                if (c == 0)
                    for (k = 0; k < 3; k++) NEAR(row[k], y[k], TOL(1e-12, 1e-4));
                memcpy(old, x + 3 * c, sizeof old);
                for (k = 0; k < 3; k++) x[3 * c + k] *= 2;
                csimi_delassus_change(&W, c, old, x + 3 * c);
            }
            if (W.rows) {
                csim_real row[3];
                csimi_delassus_velocity(&W, x, y);
                csimi_delassus_row(&W, 0, row);
                for (k = 0; k < 3; k++) NEAR(row[k], y[k], TOL(1e-12, 1e-4));
                for (k = 0; k < 3 * W.contacts; k++) x[k] /= 2;
            }
            csimi_delassus_leave(&W, x);
            free(memory);
        }
    }
}

/* Boxes of 1 to 1000 kg on each other: what moves a light one is a small difference of large terms, which float keeps in
   either form of W. Rows as the sparse form sums them, and the same tower is solved. */
TEST(dense_rows_keep_what_sparse_rows_keep) {
    static csimi_delassus W[2];
    csim_solver_params params = params_of(CSIM_SOLVER_AUTO, TOL(1e-7, 1e-3));
    fc3d_problem p;
    int c, j, k, form, trial;
    params.max_iterations = 3000;
    REQUIRE(fc3d_read("tests/fc3d/tower.txt", &p));
    memset(im.dense, 0, sizeof im.dense);
    im.p.contact_count = p.nc;
    for (c = 0; c < p.nc; c++)
        for (im.mu[c] = CSIM_R(p.mu[c]), j = p.row[c]; j < p.row[c + 1]; j++)
            for (k = 0; k < 9; k++)
                im.dense[(3 * c + k / 3) * 3 * p.nc + 3 * p.col[j] + k % 3] = CSIM_R(p.W[9 * j + k]);
    for (k = 0; k < 3 * p.nc; k++) im.q[k] = CSIM_R(p.q[k]);
    im.p.q = im.q;
    im.p.mu = im.mu;
    im.p.contacts = NULL;
    make_sparse();
    for (trial = 0; trial < 10; trial++) {
        csim_real x[SIDE], y[2][SIDE];
        for (k = 0; k < 3 * p.nc; k++) x[k] = CSIM_R(check_random(-1, 1));
        for (form = SPARSE; form <= DENSE; form++) {
            static uint64_t memory[1 << 15];
            csimi_arena arena = csimi_arena_in(memory, sizeof memory);
            csimi_delassus_layout(W + form, &arena, p.nc);
            use_form(form);
            CHECK(csimi_delassus_open(W + form, &im.p));
            csimi_delassus_product(W + form, x, y[form]);
        }
        for (k = 0; k < 3 * p.nc; k++) /* a few last bits of the sum, not of its terms */
            NEAR(y[DENSE][k], y[SPARSE][k], TOL(1e-13, 4e-7 * fabs((double)y[SPARSE][k])) + 1e-13);
    }
    for (form = SPARSE; form <= DENSE; form++) {
        use_form(form);
        CASE("form %d", form);
        CHECK(solve_cold(&params).result == CSIM_RESULT_CONVERGED);
    }
    fc3d_free(&p);
}

/* Against the file tool's measure, written apart from the library. */
TEST(the_measure_is_the_natural_map_of_the_files) {
    int trial, k;
    for (trial = 0; trial < 50; trial++) {
        fc3d_problem p;
        fc3d_measures m;
        double r[SIDE], mu[CONTACTS], q[SIDE], trace[CONTACTS];
        static double W[9 * CONTACTS * CONTACTS];
        csim_solver_params params = params_of(CSIM_SOLVER_ANDERSON, 1e-4);
        csim_outcome out;
        make_random(cp_int(1, 30), cp_int(1, 12), trial % 2 ? 10 : 1e4, 1.5);
        params.max_iterations = cp_int(1, 6); /* anything but solved */
        out = solve_cold(&params);
        memset(&p, 0, sizeof p);
        p.nc = im.p.contact_count;
        p.row = im.row;
        p.col = im.col;
        p.blocks = im.row[p.nc];
        p.mu = mu;
        p.q = q;
        p.trace = trace;
        p.W = W;
        for (k = 0; k < 9 * p.blocks; k++) W[k] = (double)im.val[k];
        for (k = 0; k < 3 * p.nc; k++) {
            r[k] = (double)r_found[k];
            q[k] = (double)im.q[k];
            mu[k / 3] = (double)im.mu[k / 3];
            trace[k / 3] =
                (double)(im.diagonal[9 * (k / 3)] + im.diagonal[9 * (k / 3) + 4] + im.diagonal[9 * (k / 3) + 8]);
        }
        fc3d_measure(&p, r, &m);
        CASE("trial %d", trial);
        NEAR(out.certificate.natural_map_scaled, m.natural_map_scaled,
             TOL(1e-12, 1e-4) + TOL(1e-9, 1e-3) * m.natural_map_scaled);
        NEAR(out.certificate.approach, -m.min_un, TOL(1e-12, 1e-4));
        NEAR(out.certificate.complementarity, m.max_complementarity, TOL(1e-12, 1e-4) * (1 + m.max_complementarity));
        NEAR(out.certificate.dissipation_power, m.max_dissipation_violation, TOL(1e-11, 1e-3) * (1 + m.norm_r));
    }
}

/* AUTO against SWEEP with what AUTO leaves it: nothing less is solved, and some of what sweeps miss. Few bodies of 1 to
   1000 kg in many contacts with much friction; from the fourteenth on five bodies, which Newton's method solves from
   rest and not from where the sweeps ended. */
TEST(auto_asks_another_solver_before_it_gives_up) {
    static const unsigned seeds[16] = {1, 2, 3, 4, 5, 6, 7, 8, 51, 122, 124, 239, 266, 30, 78, 166};
    const int cap = 16000;
    int k, swept = 0, more = 0;
    for (k = 0; k < 16; k++) {
        csim_solver_params params = params_of(CSIM_SOLVER_SWEEP, TOL(1e-8, 1e-5));
        csim_outcome sweep, out;
        check.random = 1000003u * seeds[k];
        make_random(24, k < 13 ? 6 : 5, k < 13 ? 1000 : 10, k < 13 ? 10 : 30);
        use_form(DENSE);
        CASE("seed %u", seeds[k]);
        params.max_iterations = cap - cap / 8;
        sweep = solve_cold(&params);
        params.max_iterations = cap;
        params.solver = CSIM_SOLVER_AUTO;
        out = solve_cold(&params);
        CHECK(out.iterations <= cap + 1); /* of the whole call */
        CHECK(out.residual <= fmax(sweep.residual * TOL(1 + 1e-6, 1.01), (double)params.tolerance));
        CHECK(out.result == CSIM_RESULT_CONVERGED || sweep.result != CSIM_RESULT_CONVERGED);
        CHECK(out.result == sweep.result || out.solver == CSIM_SOLVER_NEWTON_PROXIMAL);
        swept += sweep.result == CSIM_RESULT_CONVERGED;
        more += out.result == CSIM_RESULT_CONVERGED && sweep.result != CSIM_RESULT_CONVERGED;
    }
    printf("    24 contacts, masses to 1000, mu to 30: SWEEP solves %d of 16, AUTO %d more\n", swept, more);
    CHECK(more >= TOL(6, 2)); /* float: the same numbers, rounded, are other problems */
}

/* ---- agreement */

static const csim_solver exact[] = {CSIM_SOLVER_AUTO, CSIM_SOLVER_SWEEP, CSIM_SOLVER_ANDERSON, CSIM_SOLVER_PROXIMAL};
enum { EXACT = sizeof exact / sizeof *exact };

/* The convex law has one u whatever the solver; 1 to 200 contacts, full rank and redundant, mu to 2, masses to 1e6. */
SLOW_IN_FLOAT(solvers_agree_on_the_convex_law) {
    int trial, k, c, form;
    for (trial = 0; trial < 24; trial++) {
        double first[SIDE], u[SIDE], scale = 0, error = 0;
        const int nc = trial % 8 == 7 ? 200 : cp_int(1, 40);
        const double ratio = trial % 3 == 2 ? TOL(1e6, 1e2) : 10;
        make_random(nc, trial % 2 ? nc / 4 + 1 : nc + 1, ratio, 2);
        im.p.mu = NULL;
        im.p.contacts = im.contacts;
        memset(im.contacts, 0, sizeof im.contacts);
        for (c = 0; c < nc; c++) {
            im.contacts[c].law = CSIM_LAW_PROXIMAL;
            im.contacts[c].mu[0] = im.mu[c];
        }
        for (k = 0; k < EXACT; k++) {
            const csim_solver_params params = params_of(exact[k], TOL(1e-9, 5e-5));
            csim_outcome out;
            int i;
            form = nc < 100 ? k % 2 : SPARSE;
            use_form(form);
            out = solve_cold(&params);
            CASE("trial %d, %d contacts, solver %d, ratio %g", trial, nc, (int)exact[k], ratio);
            if (k != 2) /* ANDERSON alone may stall, and says so */
                CHECK(out.result == CSIM_RESULT_CONVERGED);
            if (out.result != CSIM_RESULT_CONVERGED) continue;
            CHECK(out.certificate.natural_map_scaled <= (double)params.tolerance);
            plain_velocity(r_found, u);
            for (i = 0; i < 3 * nc; i++) {
                if (k == 0) first[i] = u[i];
                scale = fmax(scale, fabs((double)im.q[i]));
                error = fmax(error, fabs(u[i] - first[i]));
            }
        }
        NEAR(error / scale, 0, TOL(1e-4, 3e-2)); /* 1e-9 of r against W of condition 1e3 to 1e9 */
        if (ratio < 1e3) NEAR(error / scale, 0, TOL(1e-6, 3e-2));
    }
}

/* W known through its product alone reaches the same u. */
TEST(product_form_agrees) {
    int trial, i, nc;
    for (trial = 0; trial < 10; trial++) {
        double first[SIDE], u[SIDE], error = 0;
        const csim_solver_params params = params_of(CSIM_SOLVER_AUTO, TOL(1e-8, 1e-4));
        nc = cp_int(1, 30);
        make_random(nc, nc + 1, 10, 1);
        CHECK(solve_cold(&params).result == CSIM_RESULT_CONVERGED);
        plain_velocity(r_found, first);
        use_form(PRODUCT);
        CHECK(solve_cold(&params).result == CSIM_RESULT_CONVERGED);
        plain_velocity(r_found, u);
        for (i = 0; i < 3 * nc; i++) error = fmax(error, fabs(u[i] - first[i]));
        NEAR(error, 0, TOL(1e-5, 3e-2));
    }
}

/* Exact Coulomb: Signorini, opposed slip, energy taken; from the certificate and by hand. */
TEST(coulomb_holds_at_the_answer) {
    int trial, c, nc;
    for (trial = 0; trial < 30; trial++) {
        const csim_solver_params params = params_of(CSIM_SOLVER_AUTO, TOL(1e-9, 5e-5));
        csim_outcome out;
        double u[SIDE], size = 0;
        nc = cp_int(1, 60);
        make_random(nc, trial % 2 ? nc / 4 + 1 : nc + 1, 10, 1);
        out = solve_cold(&params);
        CASE("trial %d", trial);
        CHECK(out.result == CSIM_RESULT_CONVERGED);
        plain_velocity(r_found, u);
        for (c = 0; c < 3 * nc; c++) size = fmax(size, fabs((double)r_found[c]));
        for (c = 0; c < nc; c++) {
            const double n = (double)r_found[3 * c], slip = hypot(u[3 * c + 1], u[3 * c + 2]);
            const double t = hypot((double)r_found[3 * c + 1], (double)r_found[3 * c + 2]);
            const double power = (double)r_found[3 * c + 1] * u[3 * c + 1] + (double)r_found[3 * c + 2] * u[3 * c + 2];
            CHECK(n >= 0 && t <= (double)im.mu[c] * n + TOL(1e-12, 1e-5) * size);
            CHECK(u[3 * c] > -TOL(1e-6, 1e-2) * (1 + size));
            NEAR(n * u[3 * c], 0, TOL(1e-6, 2e-2) * (1 + size) * (1 + size));
            CHECK(power <= TOL(1e-7, 1e-3) * (1 + size) * (1 + size));
            NEAR(power, -(double)im.mu[c] * n * slip, TOL(1e-6, 2e-2) * (1 + size) * (1 + size));
        }
    }
}

/* ---- invariances, by u of the convex law */

TEST(order_frames_and_units_change_nothing) {
    int trial, c, d, i, j, nc, n;
    for (trial = 0; trial < 12; trial++) {
        static csim_real other[SIDE * SIDE];
        const csim_solver_params params = params_of(CSIM_SOLVER_SWEEP, TOL(1e-9, 5e-5));
        int place[CONTACTS], iterations;
        double first[SIDE], u[SIDE], turn[CONTACTS], error = 0;
        csim_real q[SIDE], mu[CONTACTS];
        nc = cp_int(2, 30);
        make_random(nc, nc / 3 + 1, 10, 1);
        n = 3 * nc;
        im.p.mu = NULL;
        im.p.contacts = im.contacts;
        memset(im.contacts, 0, sizeof im.contacts);
        for (c = 0; c < nc; c++) {
            im.contacts[c].law = CSIM_LAW_PROXIMAL;
            im.contacts[c].mu[0] = mu[c] = im.mu[c];
        }
        iterations = solve_cold(&params).iterations;
        plain_velocity(r_found, first);
        /* mass in another unit: W / 64, q in half the speed: the same iterations */
        for (i = 0; i < n * n; i++) im.dense[i] /= 64;
        for (i = 0; i < n; i++) im.q[i] /= 2;
        make_sparse();
        EQUAL(solve_cold(&params).iterations, iterations);
        plain_velocity(r_found, u);
        for (i = 0; i < n; i++) NEAR(2 * u[i], first[i], TOL(1e-12, 1e-5));
        for (i = 0; i < n * n; i++) im.dense[i] *= 64;
        for (i = 0; i < n; i++) im.q[i] *= 2;
        /* contacts in another order, tangents turned */
        for (c = 0; c < nc; c++) place[c] = c;
        for (c = nc - 1; c > 0; c--) {
            d = cp_int(0, c);
            j = place[c];
            place[c] = place[d];
            place[d] = j;
        }
        for (c = 0; c < nc; c++) turn[c] = check_random(0, 6);
        memcpy(other, im.dense, sizeof other);
        memcpy(q, im.q, sizeof q);
        for (c = 0; c < nc; c++) {
            for (d = 0; d < nc; d++)
                for (i = 0; i < 3; i++)
                    for (j = 0; j < 3; j++) {
                        const double ci = i == 0 ? 0 : cos(turn[c]), si = i == 0 ? 0 : sin(turn[c]);
                        const double cj = j == 0 ? 0 : cos(turn[d]), sj = j == 0 ? 0 : sin(turn[d]);
                        double Ri[3] = {1, 0, 0}, Rj[3] = {1, 0, 0}, sum = 0;
                        int a, b;
                        if (i) Ri[0] = 0, Ri[1] = i == 1 ? ci : -si, Ri[2] = i == 1 ? si : ci;
                        if (j) Rj[0] = 0, Rj[1] = j == 1 ? cj : -sj, Rj[2] = j == 1 ? sj : cj;
                        for (a = 0; a < 3; a++)
                            for (b = 0; b < 3; b++) sum += Ri[a] * (double)other[(3 * c + a) * n + 3 * d + b] * Rj[b];
                        im.dense[(3 * place[c] + i) * n + 3 * place[d] + j] = (csim_real)sum;
                    }
            im.q[3 * place[c]] = q[3 * c];
            im.q[3 * place[c] + 1] = CSIM_R(cos(turn[c]) * (double)q[3 * c + 1] + sin(turn[c]) * (double)q[3 * c + 2]);
            im.q[3 * place[c] + 2] = CSIM_R(-sin(turn[c]) * (double)q[3 * c + 1] + cos(turn[c]) * (double)q[3 * c + 2]);
            im.contacts[place[c]].mu[0] = mu[c];
        }
        make_sparse();
        CHECK(solve_cold(&params).result == CSIM_RESULT_CONVERGED);
        plain_velocity(r_found, u);
        for (c = 0; c < nc; c++) {
            const double *x = u + 3 * place[c];
            error = fmax(error, fabs(x[0] - first[3 * c]));
            error = fmax(error, fabs(cos(turn[c]) * x[1] - sin(turn[c]) * x[2] - first[3 * c + 1]));
            error = fmax(error, fabs(sin(turn[c]) * x[1] + cos(turn[c]) * x[2] - first[3 * c + 2]));
        }
        CASE("trial %d, %d contacts", trial, nc);
        NEAR(error, 0, TOL(1e-6, 3e-2)); /* what the tolerance leaves of u */
    }
}

/* ---- one answer known by hand; zero never counts */

TEST(single_contacts_by_hand) {
    static const double answers[3][3] = {{2, -0.4, 0}, {0, 0, 0}, {2, -0.6, -0.8}};
    static const double q[3][3] = {{-2, 0.4, 0}, {1, 5, 5}, {-2, 3.6, 4.8}};
    static const double mu[3] = {0.5, 0.5, 0.5};
    int k, i, s;
    for (s = 0; s < CSIM_SOLVER_COUNT_; s++) {
        const csim_solver_params params = params_of((csim_solver)s, TOL(1e-8, 1e-5));
        if (!csim_describe_solver((csim_solver)s).impulse) continue;
        if (s != CSIM_SOLVER_NEWTON && s != CSIM_SOLVER_AUTO && s != CSIM_SOLVER_SWEEP && s != CSIM_SOLVER_ANDERSON &&
            s != CSIM_SOLVER_PROXIMAL)
            continue; /* others are tested by their own file */
        for (k = 0; k < 3; k++) {
            csim_outcome out;
            memset(im.dense, 0, sizeof im.dense);
            im.p.contact_count = 1;
            for (i = 0; i < 3; i++) {
                im.dense[4 * i] = 1;
                im.q[i] = CSIM_R(q[k][i]);
            }
            im.mu[0] = CSIM_R(mu[k]);
            im.p.q = im.q;
            im.p.mu = im.mu;
            im.p.contacts = NULL;
            make_sparse();
            use_form(SPARSE);
            out = solve_cold(&params);
            CASE("%s, case %d", csim_describe_solver((csim_solver)s).name, k);
            CHECK(out.result == CSIM_RESULT_CONVERGED);
            for (i = 0; i < 3; i++) NEAR(r_found[i], answers[k][i], TOL(1e-6, 1e-3));
        }
    }
}

/* Impulses and velocities that obey their law are drawn first, q is what makes them so; sliding under the ellipse is
   against its outward normal, the convex law opens as it slides, and the invertible law is the strict one of
   u + omega r. */
static void make_obeyed(int nc, csim_law law, csim_real *r) {
    int c, k, j;
    make_random(nc, nc + 1, 10, 1);
    im.p.mu = NULL;
    im.p.contacts = im.contacts;
    memset(im.contacts, 0, sizeof im.contacts);
    for (c = 0; c < nc; c++) {
        csim_contact *contact = im.contacts + c;
        const int kind = cp_int(0, 2); /* open, stick, slip */
        double mu[2], w[3], normal = kind ? check_random(0.5, 2) : 0, size;
        contact->law = law;
        for (k = 0; k < 2; k++) contact->mu[k] = CSIM_R(mu[k] = check_random(0.2, 1));
        if (law != CSIM_LAW_ANISOTROPIC) mu[1] = mu[0];
        for (k = 0; k < 3; k++) w[k] = kind == CP_STICK ? 0 : check_random(0.1, 1);
        if (kind != CP_OPEN) w[0] = law == CSIM_LAW_PROXIMAL ? mu[0] * hypot(w[1], w[2]) : 0;
        size = hypot(mu[0] * w[1], mu[1] * w[2]);
        r[3 * c] = CSIM_R(normal);
        for (k = 0; k < 2; k++)
            r[3 * c + 1 + k] = CSIM_R(normal * (kind == CP_STICK ? mu[k] / 2 : -mu[k] * mu[k] * w[1 + k] / size));
        for (k = 0; k < 2; k++) contact->omega[k] = CSIM_R(law == CSIM_LAW_INVERTIBLE ? check_random(0.2, 1) : 0);
        for (k = 0; k < 3; k++) im.q[3 * c + k] = CSIM_R(w[k] - (double)contact->omega[k > 0] * (double)r[3 * c + k]);
    }
    for (k = 0; k < 3 * nc; k++) {
        double sum = 0;
        for (j = 0; j < 3 * nc; j++) sum += (double)im.dense[3 * nc * k + j] * (double)r[j];
        im.q[k] = CSIM_R((double)im.q[k] - sum);
    }
}

/* What obeys its law does no work against it, in whichever law and from whichever solver; polygons are other laws. */
TEST(laws_that_are_obeyed_are_certified) {
    static const csim_law laws[4] = {CSIM_LAW_STRICT, CSIM_LAW_PROXIMAL, CSIM_LAW_ANISOTROPIC, CSIM_LAW_INVERTIBLE};
    int trial, s;
    for (trial = 0; trial < 40; trial++) {
        csim_real exact_r[SIDE];
        const int nc = trial < 8 ? 1 : cp_int(1, 20);
        make_obeyed(nc, laws[trial % 4], exact_r);
        for (s = 0; s < CSIM_SOLVER_COUNT_; s++) {
            const csim_solver_params params = params_of((csim_solver)s, TOL(1e-8, 1e-4));
            csim_outcome out;
            if (!csim_describe_solver((csim_solver)s).impulse || s == CSIM_SOLVER_LEMKE ||
                !csimi_solver_laws((csim_solver)s, im.contacts, im.p.contact_count))
                continue;
            memcpy(r_found, exact_r, sizeof r_found);
            out = solve_im(&params);
            CASE("%s, law %d, trial %d", csim_describe_solver((csim_solver)s).name, (int)laws[trial % 4], trial);
            CHECK(out.result == CSIM_RESULT_CONVERGED);
            NEAR(out.certificate.work, 0, (double)params.tolerance);
            if (laws[trial % 4] == CSIM_LAW_PROXIMAL) continue; /* it lets sliding contacts open */
            NEAR(out.certificate.approach, 0, TOL(1e-6, 1e-2));
            NEAR(out.certificate.complementarity, 0, TOL(1e-6, 1e-2));
            NEAR(out.certificate.cone, 0, TOL(1e-6, 1e-2));
            NEAR(out.certificate.dissipation_power, 0, TOL(1e-6, 1e-2));
        }
    }
}

TEST(zero_is_no_answer_unless_it_is) {
    csim_solver_params params = params_of(CSIM_SOLVER_NEWTON, 0.1);
    csim_outcome out;
    make_random(10, 11, 10, 1);
    params.max_iterations = 1;
    im.q[0] = -1;
    out = solve_cold(&params);
    CHECK(out.result != CSIM_RESULT_CONVERGED || r_found[0] > 0);
    {
        csimi_delassus W;
        static uint64_t memory[4096];
        csimi_arena arena = csimi_arena_in(memory, sizeof memory);
        csim_real zero[30], u[30];
        int k;
        memset(&W, 0, sizeof W);
        memset(zero, 0, sizeof zero);
        csimi_delassus_layout(&W, &arena, 10);
        CHECK(csimi_delassus_open(&W, &im.p));
        NEAR(csimi_delassus_measure(&W, zero, u, false), 1, 0);
        for (k = 0; k < 10; k++) im.q[3 * k] = 3, im.mu[k] = 0;
        CHECK(csimi_delassus_open(&W, &im.p));
        NEAR(csimi_delassus_measure(&W, zero, u, false), 0, 0);
    }
}

/* A light body on a heavy pair: the norm of all hides it, the figure of each contact does not. */
TEST(light_contacts_are_judged_by_themselves) {
    const csim_solver_params params = params_of(CSIM_SOLVER_AUTO, 1e-4);
    csim_outcome out;
    int trial, c, uneven = 0;
    for (trial = 0; trial < 20; trial++) {
        double least = 1e30, most = 0;
        make_random(30, 31, 1e4, 1);
        for (c = 0; c < 30; c++) {
            const csim_real *D = im.diagonal + 9 * c;
            least = fmin(least, (double)(D[0] + D[4] + D[8]));
            most = fmax(most, (double)(D[0] + D[4] + D[8]));
        }
        out = solve_cold(&params);
        CHECK(out.result == CSIM_RESULT_CONVERGED || TOL(false, true));
        if (most <= 100 * least || out.result != CSIM_RESULT_CONVERGED) continue;
        uneven++;
        CHECK(out.certificate.contact <= 1e-4);
    }
    CHECK(uneven >= 5);
}

/* ---- through the door of the velocity level */

TEST(the_door_gives_the_known_velocity) {
    static const csim_solver solvers[3] = {CSIM_SOLVER_ANDERSON, CSIM_SOLVER_PROXIMAL, CSIM_SOLVER_SWEEP};
    int trial, i, missed = 0;
    for (trial = 0; trial < 45; trial++) {
        static uint64_t memory[1 << 19];
        static csim_real v[3 * CP_BLOCKS], lambda[3 * CP_CONTACTS];
        const csim_solver_params params = params_of(solvers[trial % 3], TOL(1e-9, 5e-5));
        const int kind = 1 + trial / 3 % 3, nc = trial % 5 == 4 ? cp_int(33, 45) : cp_int(1, 20);
        const int n = kind == CP_RIGID ? 2 * cp_int(2, 20) : cp_int(4, 40);
        csim_problem_size size;
        csim_solution s = csim_solution_of(NULL, NULL);
        csim_outcome out;
        double error = 0;
        CASE("trial %d: kind %d, %d blocks, %d contacts", trial, kind, n, nc);
        cp_make(n, nc, kind, CSIM_LAW_PROXIMAL, 10);
        size = csim_problem_measure(&cp.p);
        CHECK(csim_solver_bytes(&size, &params) <= sizeof memory);
        memset(lambda, 0, sizeof lambda);
        memset(v, 0, sizeof v);
        s.v = v;
        s.lambda = lambda;
        STATUS(csim_problem_solve(&cp.p, &params, memory, csim_solver_bytes(&size, &params), NULL, &s, &out, NULL),
               CSIM_OK);
        if (out.result != CSIM_RESULT_CONVERGED) {
            missed++;
            continue;
        }
        CHECK(out.certificate.dynamics <= (double)params.tolerance &&
              out.certificate.contact <= (double)params.tolerance);
        for (i = 0; i < 3 * n; i++) error = fmax(error, fabs((double)(v[i] - cp.v[i])));
        NEAR(error, 0, TOL(1e-6, 3e-2));
    }
    printf("    %d of 45 missed\n", missed);
    CHECK(missed <= TOL(0, 9));
}

/* ---- memory, bad input */

/* The rows of a sparse W in any order and with gaps between them: the same answer to the last bit; and no column of a
   row is left unlooked at. */
TEST(rows_of_W_may_lie_anywhere) {
    static int row[CONTACTS + 1], end[CONTACTS], col[CONTACTS * CONTACTS + CONTACTS];
    static csim_real val[9 * (CONTACTS * CONTACTS + CONTACTS)];
    const csim_solver_params params = params_of(CSIM_SOLVER_AUTO, TOL(1e-8, 1e-4));
    csim_real first[SIDE];
    size_t bytes;
    void *memory;
    int trial, c;
    for (trial = 0; trial < 10; trial++) {
        const int nc = cp_int(2, 20);
        csim_outcome out;
        int at = 0;
        make_random(nc, nc + 1, 10, 1);
        CHECK(solve_cold(&params).result == CSIM_RESULT_CONVERGED);
        memcpy(first, r_found, sizeof first);
        for (c = nc - 1; c >= 0; c--) { /* the last row first, a block of nothing before each */
            const int count = im.row[c + 1] - im.row[c];
            col[at] = 12345;
            row[c] = ++at;
            memcpy(col + at, im.col + im.row[c], (size_t)count * sizeof *col);
            memcpy(val + 9 * at, im.val + 9 * im.row[c], 9 * (size_t)count * sizeof *val);
            im.diag[c] += at - im.row[c];
            end[c] = at += count;
        }
        row[nc] = im.row[nc]; /* the number of blocks of all rows, as block3.h has it */
        im.W.row = row, im.W.end = end, im.W.col = col, im.W.val = val;
        memset(r_found, 0, sizeof r_found);
        bytes = csim_impulse_bytes(&im.p, &params);
        memory = malloc(bytes);
        CASE("trial %d, %d contacts", trial, nc);
        STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_OK);
        CHECK(memcmp(r_found, first, sizeof first) == 0);
        col[end[0] - 1] += nc; /* the last block of the row: behind row[1] */
        STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_BAD_PROBLEM);
        col[end[0] - 1] -= nc;
        end[0] = row[0];
        STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_BAD_PROBLEM);
        im.W.end = NULL;
        free(memory);
    }
}

TEST(bad_input_is_told) {
    csim_solver_params params = params_of(CSIM_SOLVER_AUTO, 1e-4);
    csim_impulse_problem p;
    csim_outcome out;
    csim_error error;
    size_t bytes;
    void *memory;
    int keep;
    make_random(6, 7, 10, 1);
    bytes = csim_impulse_bytes(&im.p, &params);
    memory = malloc(bytes);
    memset(r_found, 0, sizeof r_found);
#define REFUSED(change, wanted)                                                                  \
    p = im.p;                                                                                    \
    change;                                                                                      \
    STATUS(csim_impulse_solve(&p, &params, memory, bytes, NULL, r_found, &out, &error), wanted); \
    CHECK(error.text[0] != 0)
    REFUSED(p.q = NULL, CSIM_NULL_ARGUMENT);
    REFUSED(p.mu = NULL, CSIM_BAD_PROBLEM);
    REFUSED(p.W = NULL, CSIM_BAD_PROBLEM);
    REFUSED(p.dense = im.dense, CSIM_BAD_PROBLEM);
    REFUSED((p.W = NULL, p.product = product), CSIM_NULL_ARGUMENT);
    REFUSED(p.contact_count = -1, CSIM_BAD_PROBLEM);
    STATUS(csim_impulse_solve(NULL, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_impulse_solve(&im.p, &params, memory, bytes - 128, NULL, r_found, &out, NULL), CSIM_CAPACITY);
    params.solver = CSIM_SOLVER_COND;
    STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_BAD_PROBLEM);
    params.solver = CSIM_SOLVER_AUTO;
    params.tolerance = 0;
    STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_OUT_OF_RANGE);
    params = params_of(CSIM_SOLVER_AUTO, 1e-4);
    keep = im.col[1];
    im.col[1] = 99;
    REFUSED((void)0, CSIM_BAD_PROBLEM);
    im.col[1] = keep;
    im.mu[2] = -1;
    REFUSED((void)0, CSIM_BAD_PROBLEM);
    im.mu[2] = CSIM_R(NAN);
    memset(&out, 0x55, sizeof out);
    STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_OK);
    CHECK(out.result == CSIM_RESULT_NOT_FINITE);
    EQUAL(out.iterations, 0); /* nothing of it is left as it was */
    EQUAL(out.certificate.worst_contact, -1);
    im.mu[2] = 1;
    im.q[4] = CSIM_R(NAN);
    STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_OK);
    CHECK(out.result == CSIM_RESULT_NOT_FINITE);
    im.q[4] = 1;
    r_found[3] = CSIM_R(INFINITY);
    STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_OK);
    CHECK(out.result == CSIM_RESULT_NOT_FINITE);
    r_found[3] = 0;
    im.val[9 * im.diag[1]] = im.val[9 * im.diag[1] + 4] = im.val[9 * im.diag[1] + 8] = 0;
    REFUSED((void)0, CSIM_BAD_PROBLEM);
    im.p.contact_count = 0;
    STATUS(csim_impulse_solve(&im.p, &params, memory, bytes, NULL, r_found, &out, NULL), CSIM_OK);
    CHECK(out.result == CSIM_RESULT_CONVERGED);
#undef REFUSED
    free(memory);
}

/* W has a number that is none, off its diagonal, where only solving finds it: told, and r is the start to the last bit. */
TEST(broken_numbers_leave_the_start) {
    csim_real start[SIDE];
    int s, k, form;
    for (s = 0; s < CSIM_SOLVER_COUNT_; s++) {
        const csim_solver_params params = params_of((csim_solver)s, TOL(1e-8, 1e-4));
        if (!csim_describe_solver((csim_solver)s).impulse) continue;
        for (form = SPARSE; form <= PRODUCT; form++) {
            if (form == PRODUCT && csim_describe_solver((csim_solver)s).rows) continue;
            make_random(8, 3, 10, 1);
            im.dense[3 * 24] = CSIM_R(NAN); /* of block (1, 0) */
            im.dense[3 * 24 + 1] = 1;
            make_sparse();
            use_form(form);
            for (k = 0; k < 24; k++) start[k] = r_found[k] = CSIM_R(check_random(0, 1));
            CASE("%s, form %d", csim_describe_solver((csim_solver)s).name, form);
            EQUAL(solve_im(&params).result, CSIM_RESULT_NOT_FINITE);
            CHECK(memcmp(r_found, start, 24 * sizeof *start) == 0);
        }
    }
}

/* Problems without an answer: told, finite, and over after the cap. */
TEST(hopeless_problems_end) {
    int s, k;
    for (s = 0; s < CSIM_SOLVER_COUNT_; s++) {
        csim_solver_params params = params_of((csim_solver)s, TOL(1e-8, 1e-4));
        csim_outcome out;
        if (!csim_describe_solver((csim_solver)s).impulse) continue;
        params.max_iterations = 300;
        make_random(8, 2, 10, 1);
        for (k = 0; k < 24 * 24; k++) im.dense[k] = 0;
        for (k = 0; k < 24; k++) { /* normal pushed back by its own friction: nothing moves out */
            im.dense[25 * k] = k % 3 ? 1 : CSIM_R(1e-6);
            im.q[k] = -1;
        }
        for (k = 0; k < 8; k++) {
            im.dense[(3 * k) * 24 + 3 * k + 1] = -3;
            im.mu[k] = 2;
        }
        make_sparse();
        use_form(SPARSE);
        out = solve_cold(&params);
        CASE("%s", csim_describe_solver((csim_solver)s).name);
        CHECK(out.result < CSIM_RESULT_COUNT_ && csimi_all_finite(r_found, 24));
        if (out.result == CSIM_RESULT_CONVERGED) CHECK(out.residual <= (double)params.tolerance);
    }
}
