/* Solvers that are models of their own: springs at contacts (PENALTY, PENALTY_EXPLICIT) and small steps (XPBD), against
   answers known exactly and against the certified ones, as problems and in worlds. */
#include "check.h"
#include "contact_problems.h"
#include "rigid_scenes.h"

static csim_world *world_with(const csim_solver_params *params, csim_vec3 gravity) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    def.solver = *params;
    def.gravity = gravity;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    return w;
}

static csim_body_id particle(csim_world *w, double mass, double radius, double x, double z, double friction) {
    csim_particle_def d = csim_default_particle_def();
    csim_body_id id;
    d.mass = CSIM_R(mass);
    d.radius = CSIM_R(radius);
    d.position = csim_v3(CSIM_R(x), 0, CSIM_R(z));
    d.surface.friction = CSIM_R(friction);
    STATUS(csim_create_particle(w, &d, &id), CSIM_OK);
    return id;
}

static csim_body_id ground(csim_world *w, double friction) {
    csim_body_id id;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(friction), &id), CSIM_OK);
    return id;
}

static csim_vec3 place(const csim_world *w, csim_body_id id) {
    csim_pose pose;
    STATUS(csim_body_get_pose(w, id, &pose), CSIM_OK);
    return pose.position;
}

static csim_solver_params params_of(csim_solver solver) {
    csim_solver_params p = csim_default_solver_params();
    p.solver = solver;
    return p;
}

/* ---- penalty */

/* At rest a spring carries the weight: penetration m g / k, and on a slope of angle a the anchor has given way by
   m g sin a / k. Both forms; the certificate of the rigid contact is missed and said so. */
TEST(penalty_gives_way_by_force_over_stiffness) {
    static const csim_solver solver[2] = {CSIM_SOLVER_PENALTY, CSIM_SOLVER_PENALTY_EXPLICIT};
    const double h = 1e-3, mass = 2, g = 9.81, slope[2] = {0, 0.3};
    int k, s, step;
    for (k = 0; k < 2; k++)
        for (s = 0; s < 2; s++) {
            const double stiffness = k == 0 ? 1e5 : 1e4; /* the explicit form: below m / h^2 */
            csim_solver_params p = params_of(solver[k]);
            csim_world *w;
            csim_body_id id;
            csim_step_stats stats;
            csim_vec3 x;
            p.spring.kappa = CSIM_R(stiffness * h * h);
            p.spring.damping = k == 0 ? 1 : 10;
            w = world_with(&p, csim_v3(CSIM_R(g * sin(slope[s])), 0, CSIM_R(-g * cos(slope[s]))));
            ground(w, 0.8);
            id = particle(w, mass, 0.05, 0, 0.05, 0.8);
            for (step = 0; step < 4000; step++) STATUS(csim_world_step(w, CSIM_R(h)), CSIM_OK);
            stats = csim_world_stats(w);
            x = place(w, id);
            CASE("%s, slope %g", csim_describe_solver(solver[k]).name, slope[s]);
            NEAR(0.05 - (double)x.z, mass * g * cos(slope[s]) / stiffness, TOL(1e-9, 2e-6));
            if (k == 0) NEAR(x.x, mass * g * sin(slope[s]) / stiffness, TOL(1e-9, 2e-6));
            if (k == 0) NEAR(csim_world_rms_speed(w), 0, TOL(1e-9, 1e-4));
            CHECK(stats.result == CSIM_RESULT_STALLED && (stats.flags & CSIM_FLAG_UNCERTIFIED));
            NEAR(stats.penetration, 0.05 - (double)x.z, TOL(1e-12, 1e-6));
            csim_destroy_world(w);
        }
}

/* The implicit form also in a midpoint world. */
TEST(implicit_penalty_by_midpoint) {
    csim_solver_params p = params_of(CSIM_SOLVER_PENALTY);
    csim_world *w;
    csim_body_id id;
    int step;
    p.spring.kappa = CSIM_R(1e4 * 1e-6);
    w = world_with(&p, csim_v3(2, 0, -10));
    STATUS(csim_world_set_integrator(w, CSIM_MIDPOINT), CSIM_OK);
    ground(w, 0.8);
    id = particle(w, 2, 0.05, 0, 0.05, 0.8);
    for (step = 0; step < 8000; step++) STATUS(csim_world_step(w, CSIM_R(1e-3)), CSIM_OK);
    NEAR(0.05 - (double)place(w, id).z, 2 * 10 / 1e4, TOL(1e-8, 2e-6));
    NEAR(place(w, id).x, 2 * 2 / 1e4, TOL(1e-6, 2e-5));
    STATUS(csim_world_set_integrator(w, CSIM_TWO_STEP), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(1e-3)), CSIM_BAD_PROBLEM);
    csim_destroy_world(w);
}

/* Beyond the cone the anchor slides: acceleration g (sin a - mu cos a). */
TEST(penalty_slides_as_coulomb_says) {
    static const csim_solver solver[2] = {CSIM_SOLVER_PENALTY, CSIM_SOLVER_PENALTY_EXPLICIT};
    const double h = 1e-3, g = 9.81, a = 0.6, mu = 0.3;
    int k, step;
    for (k = 0; k < 2; k++) {
        csim_solver_params p = params_of(solver[k]);
        csim_world *w;
        csim_body_id id;
        csim_vec3 v0, v1;
        w = world_with(&p, csim_v3(CSIM_R(g * sin(a)), 0, CSIM_R(-g * cos(a))));
        ground(w, mu);
        id = particle(w, 1, 0.05, 0, 0.05, mu);
        for (step = 0; step < 500; step++) STATUS(csim_world_step(w, CSIM_R(h)), CSIM_OK);
        STATUS(csim_body_get_velocity(w, id, &v0, NULL), CSIM_OK);
        for (step = 0; step < 500; step++) STATUS(csim_world_step(w, CSIM_R(h)), CSIM_OK);
        STATUS(csim_body_get_velocity(w, id, &v1, NULL), CSIM_OK);
        CASE("%s", csim_describe_solver(solver[k]).name);
        NEAR(((double)v1.x - (double)v0.x) / 0.5, g * (sin(a) - mu * cos(a)), TOL(1e-6, 1e-2));
        csim_destroy_world(w);
    }
}

/* The explicit form explodes where h^2 k exceeds what the mass bears, the implicit one does not: gains matter. */
TEST(explicit_penalty_has_a_limit) {
    static const csim_solver solver[2] = {CSIM_SOLVER_PENALTY, CSIM_SOLVER_PENALTY_EXPLICIT};
    double most[2];
    int k, step;
    for (k = 0; k < 2; k++) {
        csim_solver_params p = params_of(solver[k]);
        csim_world *w;
        csim_body_id id;
        p.spring.kappa = 5; /* five times the mass */
        w = world_with(&p, csim_v3(0, 0, CSIM_R(-9.81)));
        ground(w, 0.5);
        id = particle(w, 1, 0.05, 0, 0.0499, 0.5);
        most[k] = 0;
        for (step = 0; step < 200; step++) {
            STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
            most[k] = fmax(most[k], (double)place(w, id).z);
        }
        csim_destroy_world(w);
    }
    printf("    highest point: implicit %.4f m, explicit %.4f m\n", most[0], most[1]);
    CHECK(most[0] < 0.0501);
    CHECK(most[1] > 0.051);
}

/* ---- XPBD */

/* Free fall in n substeps: z = z0 - g h^2 (n + 1) / (2 n) after the first step, exact velocity; and no contact row. */
TEST(xpbd_falls_as_its_substeps_say) {
    int n;
    for (n = 1; n <= 64; n *= 4) {
        csim_solver_params p = params_of(CSIM_SOLVER_XPBD);
        csim_world *w;
        csim_body_id id;
        csim_vec3 v;
        p.substeps = n;
        w = world_with(&p, csim_v3(0, 0, -10));
        id = particle(w, 1, 0.05, 0, 3, 0.5);
        STATUS(csim_world_step(w, CSIM_R(0.1)), CSIM_OK);
        STATUS(csim_body_get_velocity(w, id, &v, NULL), CSIM_OK);
        CASE("%d substeps", n);
        NEAR(v.z, -1, TOL(1e-14, 1e-6));
        NEAR(place(w, id).z, 3 - 0.1 * (n + 1) / (2.0 * n), TOL(1e-14, 1e-6));
        EQUAL(csim_world_stats(w).result, CSIM_RESULT_CONVERGED); /* there is nothing to miss */
        csim_destroy_world(w);
    }
}

/* A particle that rests, and one that slides, are exact with one substep, and certified. */
TEST(xpbd_particle_on_the_ground_is_exact) {
    csim_solver_params p = params_of(CSIM_SOLVER_XPBD);
    csim_world *w = world_with(&p, csim_v3(0, 0, -10));
    csim_body_id id;
    csim_vec3 v;
    int step;
    ground(w, 0.2);
    id = particle(w, 3, 0.05, 0, 0.05, 0.2);
    STATUS(csim_body_set_velocity(w, id, csim_v3(1, 0, 0), csim_v3(0, 0, 0)), CSIM_OK);
    for (step = 1; step <= 60; step++) {
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_body_get_velocity(w, id, &v, NULL), CSIM_OK);
        CASE("step %d", step);
        NEAR(v.x, step < 50 ? 1 - 0.02 * step : 0, TOL(1e-10, 1e-4)); /* mu g h = 0.02 m/s a step */
        NEAR(place(w, id).z, 0.05, TOL(1e-12, 1e-6));
        EQUAL(csim_world_stats(w).result, CSIM_RESULT_CONVERGED);
    }
    csim_destroy_world(w);
}

/* A box that is pushed over the ground on its four corners: the velocity of the certified answer as substeps grow. */
TEST(xpbd_box_converges_with_substeps) {
    const double tolerance = TOL(1e-9, 1e-5);
    double error[5], certificate[5];
    csim_real exact[6], start[6] = {CSIM_R(0.3), CSIM_R(0.1), 0, 0, 0, 0};
    int k, i;
    rig s;
    for (k = -1; k < TOL(5, 4); k++) {
        csim_solver_params p = params_of(k < 0 ? CSIM_SOLVER_AUTO : CSIM_SOLVER_XPBD);
        p.tolerance = CSIM_R(tolerance);
        p.max_iterations = 100000;
        p.substeps = 1 << (3 * (k < 0 ? 0 : k));
        rig_stack(&s, 1, 2, 1, 0.4);
        for (i = 0; i < 3; i++) {
            s.body[0].v[i] = (double)start[i];
            s.body[0].w[i] = 0;
        }
        rig_build(&s);
        for (i = 0; i < 6; i++) s.v[i] = start[i];
        STATUS(rig_solve(&s, &p), CSIM_OK);
        if (k < 0) {
            EQUAL(s.out.result, CSIM_RESULT_CONVERGED);
            memcpy(exact, s.v, sizeof exact);
        } else {
            for (error[k] = 0, i = 0; i < 6; i++) error[k] = fmax(error[k], fabs((double)(s.v[i] - exact[i])));
            certificate[k] = s.out.certificate.contact;
            CHECK(s.out.result == CSIM_RESULT_CONVERGED || s.out.result == CSIM_RESULT_STALLED);
            CHECK((s.out.result == CSIM_RESULT_CONVERGED) == (csim_certificate_worst(&s.out.certificate) <= tolerance));
            NEAR(s.out.certificate.dynamics, 0, TOL(1e-12, 1e-4)); /* impulses add up, however many substeps */
            printf("    %5d substeps: v at most %.1e m/s from the certified one, contact %.1e\n", p.substeps, error[k],
                   certificate[k]);
        }
        rig_free(&s);
    }
    for (k = 2; k < TOL(5, 4); k++) NEAR(error[k - 1] / error[k], 8, 2.5); /* first order; one substep has no way back */
}

/* The compliance of the paper: a resting contact of compliance omega sinks in by omega lambda, whatever the substeps. */
TEST(xpbd_compliance_does_not_depend_on_substeps) {
    int n;
    for (n = 1; n <= 100; n *= 10) {
        csim_solver_params p = params_of(CSIM_SOLVER_XPBD);
        csim_world_def def = csim_default_world_def();
        csim_world *w = NULL;
        csim_body_id id;
        const double h = 0.01, stiffness = 2e3, mass = 2, g = 10;
        int step;
        p.substeps = n;
        def.solver = p;
        def.law = CSIM_LAW_INVERTIBLE;
        def.omega[0] = def.omega[1] = CSIM_R(1 / (stiffness * h * h)); /* alpha / h^2 */
        def.gravity = csim_v3(0, 0, CSIM_R(-g));
        STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
        ground(w, 0.5);
        id = particle(w, mass, 0.05, 0, 0.05, 0.5);
        for (step = 0; step < 3000; step++) STATUS(csim_world_step(w, CSIM_R(h)), CSIM_OK);
        CASE("%d substeps", n);
        NEAR(0.05 - (double)place(w, id).z, mass * g / stiffness, TOL(1e-6, 2e-5));
        csim_destroy_world(w);
    }
}

/* ---- XPBD on elements: constraints with the compliance of A's own elements */

enum { ELASTIC_BLOCKS = 5, ELASTIC_ROWS = 3 * ELASTIC_BLOCKS, ELASTIC_MOST = 6 };

static struct {
    csim_problem p;
    csim_structure structure;
    csim_elastic element[ELASTIC_MOST];
    int row[ELASTIC_BLOCKS + 1], col[ELASTIC_BLOCKS * ELASTIC_BLOCKS], diag[ELASTIC_BLOCKS];
    csim_real val[9 * ELASTIC_BLOCKS * ELASTIC_BLOCKS], b[ELASTIC_ROWS], start[ELASTIC_ROWS];
    double B[ELASTIC_ROWS][ELASTIC_ROWS], force[ELASTIC_ROWS]; /* masses; b = B start + force - J'K phi */
} el;

static int elastic_terms(int blocks, int element) { return blocks == 1 ? 1 : 2 + element % 2; }

/* Points on a chain of elements with random rows, stiffness, damping and drives; stiff: K over the mass. */
static void elastic_make(int blocks, int elements, double stiff, double damping) {
    bool on[ELASTIC_BLOCKS][ELASTIC_BLOCKS] = {{false}}; /* what A couples */
    int i, j, k, e, q, at = 0;
    memset(&el, 0, sizeof el);
    for (e = 0; e < elements; e++)
        for (i = 0; i < elastic_terms(blocks, e); i++)
            for (j = 0; j < elastic_terms(blocks, e); j++) on[(e + i) % blocks][(e + j) % blocks] = true;
    for (i = 0; i < blocks; i++) {
        csim_real M[9];
        cp_spd(2, M);
        for (k = 0; k < 9; k++) el.B[3 * i + k / 3][3 * i + k % 3] = (double)M[k];
        el.row[i] = at;
        for (j = 0; j < blocks; j++) {
            if (i != j && !on[i][j]) continue;
            if (i == j) el.diag[i] = at;
            for (k = 0; k < 9; k++) el.val[9 * at + k] = CSIM_R(el.B[3 * i + k / 3][3 * j + k % 3]);
            el.col[at++] = j;
        }
    }
    el.row[blocks] = at;
    el.p.A.n = blocks;
    el.p.A.row = el.row, el.p.A.col = el.col, el.p.A.diag = el.diag, el.p.A.val = el.val;
    for (i = 0; i < 3 * blocks; i++) {
        el.start[i] = CSIM_R(check_random(-1, 1));
        el.force[i] = check_random(-1, 1);
    }
    for (e = 0; e < elements; e++) {
        csim_elastic *law = el.element + e;
        law->count = elastic_terms(blocks, e);
        cp_spd(stiff, law->K);
        law->damping = CSIM_R(damping);
        for (k = 0; k < 3; k++) law->phi[k] = CSIM_R(check_random(-1, 1));
        for (i = 0; i < law->count; i++) {
            law->term[i].block = (e + i) % blocks;
            for (k = 0; k < 9; k++) law->term[i].J[k] = CSIM_R(check_random(-0.7, 0.7));
        }
        for (i = 0; i < law->count; i++)
            for (j = 0; j < law->count; j++) {
                csim_real KJ[9], JKJ[9];
                csimi_matmul(law->K, law->term[j].J, KJ);
                csimi_matTmul(law->term[i].J, KJ, JKJ);
                q = csimi_pattern_find(&el.p.A, law->term[i].block, law->term[j].block);
                for (k = 0; k < 9; k++) el.val[9 * q + k] += JKJ[k];
            }
    }
    el.p.b = el.b;
    el.p.structure = &el.structure;
    el.p.theta = 1;
    el.structure.elastic = el.element;
    el.structure.elastic_count = elements;
    for (i = 0; i < 3 * blocks; i++) {
        double sum = el.force[i];
        for (j = 0; j < 3 * blocks; j++) sum += el.B[i][j] * (double)el.start[j];
        el.b[i] = CSIM_R(sum);
    }
    for (e = 0; e < elements; e++)
        for (i = 0; i < el.element[e].count; i++) {
            csim_real f[3];
            csimi_mul3(el.element[e].K, el.element[e].phi, f);
            for (k = 0; k < 3; k++) f[k] = -f[k];
            csimi_addmulT3(el.element[e].term[i].J, f, el.b + 3 * el.element[e].term[i].block);
        }
}

static csim_outcome elastic_solve(int substeps, csim_real *v) {
    csim_solver_params p = params_of(CSIM_SOLVER_XPBD);
    csim_problem_size size = csim_problem_measure(&el.p);
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_outcome out;
    csim_error error;
    size_t bytes;
    void *space;
    p.substeps = substeps;
    p.tolerance = TOL(1e-12, 1e-5);
    bytes = csim_solver_bytes(&size, &p);
    space = malloc(bytes);
    memcpy(v, el.start, sizeof el.start);
    solution.v = v;
    solution.lambda = NULL;
    memset(&out, 0, sizeof out);
    STATUS(csim_problem_solve(&el.p, &p, space, bytes, NULL, &solution, &out, &error), CSIM_OK);
    CHECK(out.bytes <= bytes);
    free(space);
    return out;
}

/* Gaussian elimination with pivots, n rows. */
static void elastic_eliminate(double (*A)[ELASTIC_ROWS], double *x, int n) {
    int i, j, k;
    for (k = 0; k < n; k++) {
        int best = k;
        for (i = k; i < n; i++)
            if (fabs(A[i][k]) > fabs(A[best][k])) best = i;
        for (j = 0; j < n; j++) {
            double swap = A[k][j];
            A[k][j] = A[best][j];
            A[best][j] = swap;
        }
        { double swap = x[k]; x[k] = x[best]; x[best] = swap; }
        for (i = k + 1; i < n; i++) {
            double l = A[i][k] / A[k][k];
            for (j = k; j < n; j++) A[i][j] -= l * A[k][j];
            x[i] -= l * x[k];
        }
    }
    for (k = n - 1; k >= 0; k--) {
        for (j = k + 1; j < n; j++) x[k] -= A[k][j] * x[j];
        x[k] /= A[k][k];
    }
}

/* The same motion by n steps of backward Euler, each solved directly, in double: y are the strains of the elements. */
static void elastic_direct(int blocks, int elements, int n, double *v) {
    double y[ELASTIC_MOST][3] = {{0}};
    const int rows = 3 * blocks;
    int step, e, i, k, r, c;
    for (i = 0; i < rows; i++) v[i] = (double)el.start[i];
    for (step = 0; step < n; step++) {
        static double A[ELASTIC_ROWS][ELASTIC_ROWS];
        double x[ELASTIC_ROWS];
        for (i = 0; i < rows; i++) {
            x[i] = el.force[i] / n;
            for (k = 0; k < rows; k++) {
                A[i][k] = el.B[i][k];
                x[i] += el.B[i][k] * v[k];
            }
        }
        for (e = 0; e < elements; e++) {
            const csim_elastic *law = el.element + e;
            const double d = (double)law->damping, s = (1 - d) / n / n + d / n;
            for (i = 0; i < law->count; i++)
                for (r = 0; r < 3; r++) { /* row r of J_i' K (...) */
                    const int row = 3 * law->term[i].block + r;
                    double JK[3] = {0, 0, 0};
                    for (c = 0; c < 3; c++)
                        for (k = 0; k < 3; k++) JK[c] += (double)(law->term[i].J[3 * k + r] * law->K[3 * k + c]);
                    for (c = 0; c < 3; c++) {
                        x[row] -= JK[c] * ((1 - d) * y[e][c] / n + s * (double)law->phi[c]);
                        for (k = 0; k < law->count; k++) {
                            int q;
                            for (q = 0; q < 3; q++)
                                A[row][3 * law->term[k].block + q] += s * JK[c] * (double)law->term[k].J[3 * c + q];
                        }
                    }
                }
        }
        elastic_eliminate(A, x, rows);
        for (i = 0; i < rows; i++) v[i] = x[i];
        for (e = 0; e < elements; e++)
            for (c = 0; c < 3; c++) {
                const csim_elastic *law = el.element + e;
                double u = (double)law->phi[c];
                for (i = 0; i < law->count; i++)
                    for (k = 0; k < 3; k++)
                        u += (double)law->term[i].J[3 * c + k] * v[3 * law->term[i].block + k];
                y[e][c] += u / n;
            }
    }
}

static double elastic_apart(const csim_real *v, const double *w, int rows) {
    double worst = 0;
    int i;
    for (i = 0; i < rows; i++) worst = fmax(worst, fabs((double)v[i] - w[i]));
    return worst;
}

/* One element: a substep is solved in one visit. One substep is A v = b, certified; many are the direct ones. */
TEST(xpbd_one_element_is_backward_euler) {
    static const double damping[3] = {0, 0.4, 1};
    csim_real v[ELASTIC_ROWS];
    double w[ELASTIC_ROWS];
    int trial, n;
    for (trial = 0; trial < 12; trial++) {
        elastic_make(3, 1, cp_log(0.1, 1e4), damping[trial % 3]);
        CASE("trial %d", trial);
        EQUAL(elastic_solve(1, v).result, CSIM_RESULT_CONVERGED);
        for (n = 1; n <= 64; n *= 4) {
            elastic_solve(n, v);
            elastic_direct(3, 1, n, w);
            CASE("trial %d, %d substeps", trial, n);
            NEAR(elastic_apart(v, w, 9), 0, TOL(1e-11, 2e-3));
        }
    }
}

/* A mass on a spring whose other end is driven: y'' = f / m - w^2 y, v = y' - phi; first order in the substeps. */
TEST(xpbd_spring_swings) {
    const double mass = 2, w = 3, f = 0.7, phi = 0.4, v0 = -0.3;
    const double exact = (v0 + phi) * cos(w) + f / (mass * w) * sin(w) - phi;
    double last = 0;
    int n, k;
    for (n = 64; n <= 4096; n *= 4) {
        csim_real v[ELASTIC_ROWS];
        elastic_make(1, 1, 1, 0);
        for (k = 0; k < 9; k++) {
            el.element[0].K[k] = k % 4 == 0 ? CSIM_R(mass * w * w) : 0;
            el.element[0].term[0].J[k] = k % 4 == 0 ? 1 : 0;
            el.val[k] = k % 4 == 0 ? CSIM_R(mass + mass * w * w) : 0;
        }
        for (k = 0; k < 3; k++) {
            el.element[0].phi[k] = CSIM_R(phi);
            el.start[k] = CSIM_R(v0);
            el.b[k] = CSIM_R(mass * v0 + f - mass * w * w * phi);
        }
        elastic_solve(n, v);
        CASE("%d substeps: %.2e m/s off", n, fabs((double)v[0] - exact));
        if (n > 64 && n < TOL(5000, 300)) NEAR(last / fabs((double)v[0] - exact), 4, 0.4);
        last = fabs((double)v[0] - exact);
    }
    CHECK(last < TOL(2e-3, 4e-3));
}

/* Chains: to the motion of a continuous time at first order, to the direct substeps at second, where damped at first. */
SLOW_TEST(xpbd_elements_converge_with_substeps) {
    double limit[ELASTIC_ROWS], w[ELASTIC_ROWS], error[5], sweep[5];
    csim_real v[ELASTIC_ROWS];
    int trial, k, good = 0;
    for (trial = 0; trial < 3; trial++) {
        elastic_make(5, 5, 20, trial % 2 ? 0.02 : 0);
        elastic_direct(5, 5, 1 << 16, limit);
        for (k = 0; k < 4; k++) {
            const int n = 64 << (2 * k);
            elastic_solve(n, v);
            elastic_direct(5, 5, n, w);
            error[k] = elastic_apart(v, limit, 15);
            sweep[k] = elastic_apart(v, w, 15);
            CASE("trial %d, %d substeps: %.1e m/s from the limit, %.1e from direct solves", trial, n, error[k], sweep[k]);
            if (trial == 0) printf("    %5d substeps: %.1e m/s from the limit, %.1e from direct solves\n", n, error[k], sweep[k]);
            if (k > 1) NEAR(error[k - 1] / error[k], TOL(4, 4), TOL(0.8, 3));
            if (k > 0 && sizeof(csim_real) > 4) CHECK(sweep[k - 1] / sweep[k] > (trial % 2 ? 3.5 : 8));
        }
        good += error[3] < TOL(2e-2, 5e-2);
    }
    CHECK(good == 3);
}

/* A rubber cord of 0.2 m, clamped level at its start, in a world of its own; NULL where it cannot be made. */
static csim_world *cord_world(const csim_solver_params *params, double mass_damping, csim_body_id *id) {
    csim_world *w = world_with(params, csim_v3(0, 0, CSIM_R(-9.81)));
    csim_cable_def d = csim_default_cable_def();
    d.end = csim_v3(CSIM_R(0.2), 0, 0);
    d.segments = 8;
    d.start_end = CSIM_CABLE_CLAMPED;
    d.mass_damping = CSIM_R(mass_damping);
    STATUS(csim_create_cable(w, &d, id), CSIM_OK);
    return w;
}

/* Its tip after a time. */
static csim_vec3 cord_tip(csim_solver solver, int substeps, double h, double time, double mass_damping) {
    csim_solver_params p = params_of(solver);
    csim_real x[3 * 9];
    csim_body_id id;
    csim_world *w;
    int step;
    p.substeps = substeps;
    w = cord_world(&p, mass_damping, &id);
    for (step = 0; step < (int)(time / h + 0.5); step++) STATUS(csim_world_step(w, CSIM_R(h)), CSIM_OK);
    STATUS(csim_body_get_nodes(w, id, x, 3), CSIM_OK);
    csim_destroy_world(w);
    return csim_v3(x[24], x[25], x[26]);
}

/* Where a cord comes to rest does not depend on the substeps: as backward Euler says. */
TEST(xpbd_cord_hangs_as_cond_says) {
    const csim_vec3 rest = cord_tip(CSIM_SOLVER_COND, 0, 0.01, 4, 10);
    int n;
    CHECK((double)rest.z < -0.15); /* it bends far */
    for (n = 4; n <= 64; n *= 4) {
        const csim_vec3 tip = cord_tip(CSIM_SOLVER_XPBD, n, 1e-3, 4, 10);
        CASE("%d substeps", n);
        printf("    %2d substeps: tip %.1e m from COND's, %.3f m down\n", n, (double)csim_length(csim_sub(tip, rest)),
               -(double)tip.z);
        NEAR(csim_length(csim_sub(tip, rest)), 0, TOL(1e-8, 2e-4));
    }
}

/* The same cord let go: to the answer of short steps of backward Euler, extrapolated, at first order. */
TEST(xpbd_cord_swings_to_first_order) {
    const csim_vec3 coarse = cord_tip(CSIM_SOLVER_COND, 0, 2e-5, 0.1, 0);
    const csim_vec3 fine = cord_tip(CSIM_SOLVER_COND, 0, 1e-5, 0.1, 0);
    const csim_vec3 exact = csim_sub(csim_scale(2, fine), coarse);
    double last = 0, h;
    for (h = 1e-3; h > 2e-4; h /= 2) {
        const double error = (double)csim_length(csim_sub(cord_tip(CSIM_SOLVER_XPBD, 4, h, 0.1, 0), exact));
        CASE("h %g s", h);
        printf("    h %.2e s, 4 substeps: tip %.1e m off after %.3f m\n", h, error, -(double)exact.z);
        if (last > 0 && sizeof(csim_real) > 4) NEAR(last / error, 2, 0.3);
        CHECK(error < TOL(0.15, 1) * h);
        last = error;
    }
}

/* A stack of three boxes stands for two seconds, and what the certificate says is passed on. */
TEST(xpbd_stack_stands) {
    csim_solver_params p = params_of(CSIM_SOLVER_XPBD);
    csim_world *w = world_with(&p, csim_v3(0, 0, CSIM_R(-9.81)));
    csim_body_id id[3];
    int k, step, missed = 0;
    double drift = 0;
    ground(w, 0.5);
    for (k = 0; k < 3; k++) {
        csim_rigid_def d = csim_default_rigid_def();
        csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
        d.shapes = &box;
        d.shape_count = 1;
        d.pose.position = csim_v3(0, 0, CSIM_R(0.1 + 0.2 * k));
        STATUS(csim_create_rigid(w, &d, &id[k]), CSIM_OK);
    }
    for (step = 0; step < 200; step++) {
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        missed += csim_world_stats(w).result != CSIM_RESULT_CONVERGED;
    }
    for (k = 0; k < 3; k++) drift = fmax(drift, fabs((double)place(w, id[k]).z - (0.1 + 0.2 * k)));
    printf("    drift %.2e m, %d of 200 steps uncertified\n", drift, missed);
    CHECK(drift < 1e-3);
    csim_destroy_world(w);
}

/* A box on a platform that moves from the first step on: it stays on it and takes its speed, and catches up with one
   that goes down, v^2 / 2g behind at most. */
TEST(xpbd_platform_carries_its_box) {
    static const double speed[3] = {1, 0.2, -0.5};
    int k, step;
    for (k = 0; k < 3; k++) {
        const csim_solver_params p = params_of(CSIM_SOLVER_XPBD);
        csim_world *w = world_with(&p, csim_v3(0, 0, CSIM_R(-9.81)));
        csim_rigid_def d = csim_default_rigid_def();
        csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
        csim_body_id floor_id, id;
        double off = 0;
        csim_vec3 v;
        d.shapes = &box;
        d.shape_count = 1;
        d.pose.position = csim_v3(0, 0, CSIM_R(0.1));
        STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
        d.motion = CSIM_KINEMATIC;
        d.pose.position = csim_v3(0, 0, CSIM_R(-0.1));
        d.velocity = csim_v3(0, 0, CSIM_R(speed[k]));
        STATUS(csim_create_rigid(w, &d, &floor_id), CSIM_OK);
        CASE("%g m/s", speed[k]);
        for (step = 0; step < 100; step++) {
            STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
            off = fmax(off, fabs((double)place(w, id).z - (double)place(w, floor_id).z - 0.2));
        }
        STATUS(csim_body_get_velocity(w, id, &v, NULL), CSIM_OK);
        NEAR(place(w, floor_id).z, -0.1 + speed[k], TOL(1e-9, 1e-5));
        NEAR(v.z, speed[k], 1e-3); /* four corners in one sweep, as on the ground */
        printf("    platform at %g m/s: the box at most %.1e m off, at %.4f m/s\n", speed[k], off, (double)v.z);
        CHECK(off < (speed[k] < 0 ? 0.5 * speed[k] * speed[k] / 9.81 + 1e-3 : 1e-3));
        csim_destroy_world(w);
    }
}

/* ---- refusals */

TEST(what_they_do_not_take_is_told) {
    static const csim_solver solver[3] = {CSIM_SOLVER_XPBD, CSIM_SOLVER_PENALTY, CSIM_SOLVER_PENALTY_EXPLICIT};
    static uint64_t memory[1 << 16];
    static csim_real v[3 * CP_BLOCKS], lambda[3 * CP_CONTACTS];
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_outcome out;
    csim_error error;
    int k, kind;
    solution.v = v;
    solution.lambda = lambda;
    for (k = 0; k < 3; k++) {
        const csim_solver_params p = params_of(solver[k]);
        csim_impulse_problem none;
        csim_real r[3];
        CASE("%s", csim_describe_solver(solver[k]).name);
        for (kind = 0; kind < 3; kind++) { /* the convex law, the midpoint rule, blocks that are coupled */
            const bool taken = (kind == 2 && k > 0) || (kind == 1 && k == 1);
            cp_make(8, 2, kind == 2 ? CP_GENERAL : CP_RIGID, kind == 0 ? CSIM_LAW_PROXIMAL : CSIM_LAW_STRICT, 4);
            if (kind == 1) cp.p.theta = CSIM_R(0.5);
            error.text[0] = 0;
            STATUS(csim_problem_solve(&cp.p, &p, memory, sizeof memory, NULL, &solution, &out, &error),
                   taken ? CSIM_OK : CSIM_BAD_PROBLEM);
            CHECK(taken || strstr(error.text, k == 1 ? "strict" : "Euler") != NULL);
        }
        memset(&none, 0, sizeof none);
        STATUS(csim_impulse_solve(&none, &p, memory, sizeof memory, NULL, r, &out, &error), CSIM_BAD_PROBLEM);
    }
    { /* a world with a spring: the step is refused in words and nothing has moved */
        const csim_solver_params p = params_of(CSIM_SOLVER_XPBD);
        csim_world *w = world_with(&p, csim_v3(0, 0, -10));
        csim_spring_def d = csim_default_spring_def();
        csim_link_id link;
        d.b.body = particle(w, 1, 0.05, 0, 1, 0.5);
        for (k = 1; k < 6; k++) {
            d.a.body = d.b.body;
            d.b.body = particle(w, 1, 0.05, k, 1, 0.5);
            STATUS(csim_create_spring(w, &d, &link), CSIM_OK);
        }
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_BAD_PROBLEM);
        CHECK(strstr(csim_last_error(w), "springs") != NULL);
        NEAR(place(w, d.a.body).z, 1, 0);
        csim_destroy_world(w);
    }
}
