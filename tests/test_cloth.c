/* Cloth: forces, tangents, plate bending, beams, drape; against differences, exact plates and statics. */
#include "check.h"
#ifdef CONDSIM_LINKED
#include "../amalgamate/parts/model/membrane.c"
#endif
#include <math.h>

static csim_real uniform(void) { return CSIM_R(check_random(-1, 1)); }

/* ---- sheets */

typedef struct sheet {
    csim_real *x; /* rest */
    int *triangle;
    int vertices, triangles, nx, ny;
} sheet;

/* nx x ny cells over width x height, two triangles a cell; slant moves a row by that many cells: 0.5 with the right
   height makes equilateral triangles. */
static sheet make_sheet(int nx, int ny, double width, double height, double slant) {
    sheet s;
    int i, j, k = 0;
    s.nx = nx, s.ny = ny;
    s.vertices = (nx + 1) * (ny + 1);
    s.triangles = 2 * nx * ny;
    s.x = (csim_real *)calloc((size_t)s.vertices * 3, sizeof(csim_real));
    s.triangle = (int *)calloc((size_t)s.triangles * 3, sizeof(int));
    for (j = 0; j <= ny; j++)
        for (i = 0; i <= nx; i++) {
            s.x[3 * (j * (nx + 1) + i)] = CSIM_R(width * (i + slant * j) / nx);
            s.x[3 * (j * (nx + 1) + i) + 1] = CSIM_R(height * j / ny);
        }
    for (j = 0; j < ny; j++)
        for (i = 0; i < nx; i++) {
            int a = j * (nx + 1) + i, b = a + 1, c = a + nx + 1, d = c + 1;
            s.triangle[k++] = a, s.triangle[k++] = b, s.triangle[k++] = c;
            s.triangle[k++] = b, s.triangle[k++] = d, s.triangle[k++] = c;
        }
    return s;
}

static void free_sheet(sheet *s) {
    free(s->x);
    free(s->triangle);
}

static csim_cloth_def sheet_def(const sheet *s) {
    csim_cloth_def d = csim_default_cloth_def();
    d.vertices = s->x;
    d.vertex_count = s->vertices;
    d.triangles = s->triangle;
    d.triangle_count = s->triangles;
    return d;
}

static csim_world *new_world(csim_vec3 gravity, double tolerance) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    def.gravity = gravity;
    def.solver.tolerance = CSIM_R(tolerance);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    return w;
}

/* ---- the model by hand, on the store of a world */

typedef struct model {
    csim_world *w;
    csimi_state *s;
    csimi_system system;
    int n;
} model;

static model make_model(const csim_cloth_def *def) {
    model m;
    csim_body_id id;
    csimi_arena arena;
    m.w = new_world(csim_v3(0, 0, 0), 1e-6);
    STATUS(csim_create_cloth(m.w, def, &id), CSIM_OK);
    arena = csimi_arena_in(m.w->store.scratch, m.w->store.scratch_bytes);
    STATUS(csimi_build_pattern(m.w, &arena), CSIM_OK);
    m.s = &m.w->store.state;
    m.system.A = m.w->store.A;
    m.n = 3 * m.s->node_count;
    m.system.b = (csim_real *)calloc((size_t)m.n, sizeof(csim_real));
    m.system.vk = NULL;
    return m;
}

static void free_model(model *m) {
    free(m->system.b);
    csim_destroy_world(m->w);
}

static void assemble(model *m) {
    csimi_step step;
    int i;
    memset(&step, 0, sizeof step);
    step.h = step.theta = step.sigma = 1;
    memset(m->system.A.val, 0, sizeof(csim_real) * 9 * (size_t)m->system.A.row[m->system.A.n]);
    for (i = 0; i < m->n; i++) m->system.b[i] = 0;
    csimi_cloth_assemble(m->s, &step, &m->system);
}

static double energy(model *m) {
    csimi_energy e = {0, 0, 0};
    csimi_cloth_energy(m->s, &e);
    return e.elastic;
}

static void dense(const model *m, double *K) {
    const csim_block_matrix *A = &m->system.A;
    int i, k, c;
    memset(K, 0, sizeof(double) * (size_t)(m->n * m->n));
    for (i = 0; i < A->n; i++)
        for (k = A->row[i]; k < A->row[i + 1]; k++)
            for (c = 0; c < 9; c++) K[m->n * (3 * i + c / 3) + 3 * A->col[k] + c % 3] = (double)A->val[9 * k + c];
}

static csim_cloth_def stiff_def(const sheet *s) {
    csim_cloth_def d = sheet_def(s);
    d.young = 10;
    d.thickness = CSIM_R(0.3);
    d.bending = 1; /* of the size of the membrane's forces, so that both are seen */
    d.stiffness_damping = 0;
    return d;
}

TEST(cloth_force_is_the_gradient_of_its_energy) {
    const double step = TOL(1e-5, 3e-3);
    int trial, i;
    for (trial = 0; trial < 40; trial++) {
        sheet s = make_sheet(2, 2, 2, 2, 0);
        csim_cloth_def d = stiff_def(&s);
        model m;
        csim_real *f;
        double scale = 0;
        CASE("trial %d", trial);
        if (trial % 2) d.material = CSIM_ST_VENANT_KIRCHHOFF;
        if (trial % 3) s.x[3 * 4 + 2] = CSIM_R(0.4); /* a shell */
        m = make_model(&d);
        f = (csim_real *)malloc(sizeof(csim_real) * (size_t)m.n);
        for (i = 0; i < m.n; i++) m.s->x[i] += CSIM_R(trial % 5 ? 0.25 : 0.05) * uniform();
        assemble(&m);
        for (i = 0; i < m.n; i++) f[i] = m.system.b[i], scale = fmax(scale, fabs((double)f[i]));
        for (i = 0; i < m.n; i++) {
            csim_real keep = m.s->x[i];
            double up, down;
            m.s->x[i] = keep + CSIM_R(step);
            up = energy(&m);
            m.s->x[i] = keep - CSIM_R(step);
            down = energy(&m);
            m.s->x[i] = keep;
            NEAR(-(up - down) / (2 * step), f[i], TOL(1e-6, 2e-2) * scale);
            FIGURE("cloth_force_off", (-(up - down) / (2 * step) - (double)f[i]) / scale);
        }
        free(f);
        free_model(&m);
        free_sheet(&s);
    }
}

TEST(cloth_tangent_is_symmetric_and_semidefinite) {
    int trial, i, j;
    for (trial = 0; trial < 30; trial++) {
        sheet s = make_sheet(2, 2, 2, 2, 0.3);
        csim_cloth_def d = stiff_def(&s);
        model m = make_model(&d);
        double *K = (double *)malloc(sizeof(double) * (size_t)(m.n * m.n)), scale = 0;
        for (i = 0; i < m.n; i++) m.s->x[i] += CSIM_R(0.3 * (trial % 4)) * uniform();
        if (trial % 7 == 6)
            for (i = 0; i < m.n; i += 3) m.s->x[i] = 0; /* all in one plane, some triangles without an area */
        assemble(&m);
        dense(&m, K);
        for (i = 0; i < m.n; i++)
            for (j = 0; j < i; j++) CHECK(K[m.n * i + j] == K[m.n * j + i]);
        for (i = 0; i < m.n; i++) scale = fmax(scale, K[(m.n + 1) * i]);
        for (i = 0; i < m.n; i++) K[(m.n + 1) * i] += TOL(1e-12, 1e-4) * scale;
        CHECK(csimi_cholesky(m.n, K, NULL, NULL));
        free(K);
        free_model(&m);
        free_sheet(&s);
    }
}

/* At rest the angles have no second-order part and nothing is clamped: the tangent is the Hessian. Of a sheet, and of a
   pyramid without a floor, where two of the nodes beyond a triangle's edges are one. */
TEST(cloth_tangent_at_rest_is_the_hessian) {
    static const int pyramid[9] = {0, 1, 2, 0, 2, 3, 0, 3, 1};
    const double step = TOL(1e-5, 3e-3);
    int kind;
    for (kind = 0; kind < 2; kind++) {
        sheet s = make_sheet(2, 2, 2, 2, 0.2);
        csim_cloth_def d = stiff_def(&s);
        const csim_real corner[12] = {0, 0, 1, -1, CSIM_R(-0.7), 0, 1, CSIM_R(-0.8), 0, 0, 1, CSIM_R(-0.1)};
        model m;
        double *K;
        csim_real *up;
        int i, j;
        if (kind) {
            d.vertices = corner, d.vertex_count = 4;
            d.triangles = pyramid, d.triangle_count = 3;
        }
        m = make_model(&d);
        K = (double *)malloc(sizeof(double) * (size_t)(m.n * m.n));
        up = (csim_real *)malloc(sizeof(csim_real) * (size_t)m.n);
        assemble(&m);
        dense(&m, K);
        for (i = 0; i < m.n; i++) {
            csim_real keep = m.s->x[i];
            m.s->x[i] = keep + CSIM_R(step);
            assemble(&m);
            memcpy(up, m.system.b, sizeof(csim_real) * (size_t)m.n);
            m.s->x[i] = keep - CSIM_R(step);
            assemble(&m);
            m.s->x[i] = keep;
            for (j = 0; j < m.n; j++)
                NEAR(-(double)(up[j] - m.system.b[j]) / (2 * step), K[m.n * i + j], TOL(1e-6, 1e-2) * 10);
        }
        free(up);
        free(K);
        free_model(&m);
        free_sheet(&s);
    }
}

/* Any constant curvature z = x'Cx / 2 on meshes of parallelograms: inner triangles hold the plate's energy exactly. */
/* Two triangles with a fold between them at rest; one is then collapsed onto it: what has no normal has no angle. */
TEST(a_collapsed_triangle_does_not_bend) {
    double stored[2], force[2][12];
    int bends, i, k;
    for (bends = 0; bends < 2; bends++) {
        sheet s = make_sheet(1, 1, 1, 1, 0);
        csim_cloth_def d = stiff_def(&s);
        model m;
        s.x[3 * 3 + 2] = CSIM_R(0.5);
        d.bending = CSIM_R(bends);
        m = make_model(&d);
        NEAR(energy(&m), 0, TOL(1e-20, 1e-10));
        for (k = 0; k < 3; k++) m.s->x[k] = (m.s->x[3 + k] + m.s->x[6 + k]) / 2;
        stored[bends] = energy(&m);
        assemble(&m);
        for (i = 0; i < 12; i++) force[bends][i] = (double)m.system.b[i];
        free_model(&m);
        free_sheet(&s);
    }
    CHECK(stored[0] > 0);
    NEAR(stored[1], stored[0], 0);
    for (i = 0; i < 12; i++) NEAR(force[1][i], force[0][i], 0);
}

TEST(bending_reproduces_constant_curvature) {
    int trial;
    for (trial = 0; trial < 30; trial++) {
        const double nu = 0.3, rigidity = 2, amplitude = TOL(1e-4, 1e-2);
        double slant = trial % 3 == 0 ? 0 : trial % 3 == 1 ? -0.5 : 0.27;
        sheet s = make_sheet(4, 4, 4, trial % 3 == 1 ? 4 * sqrt(0.75) : 4, slant);
        csim_cloth_def d = stiff_def(&s);
        double C[3], inner = 0, plate = 0;
        model m;
        int i, t, a;
        CASE("trial %d", trial);
        d.bending = CSIM_R(rigidity);
        d.poisson = CSIM_R(nu);
        m = make_model(&d);
        for (i = 0; i < 3; i++) C[i] = amplitude * check_random(-1, 1);
        for (i = 0; i < m.s->node_count; i++) {
            double x = (double)m.s->x[3 * i], y = (double)m.s->x[3 * i + 1];
            m.s->x[3 * i + 2] = CSIM_R((C[0] * x * x + C[1] * y * y) / 2 + C[2] * x * y);
        }
        for (t = 0; t < m.s->membrane_count; t++) {
            const int *beyond = m.s->membrane_beyond + 3 * t;
            csimi_fold_view view;
            csim_real moment[3];
            if (beyond[0] < 0 || beyond[1] < 0 || beyond[2] < 0) continue;
            csimi_fold_look(m.s, t, &view);
            csimi_fold_moments(m.s->membrane_fold + 9 * t, view.angle, moment);
            for (a = 0; a < 3; a++) inner += (double)(moment[a] * view.angle[a]) / 2;
            plate += (double)m.s->membrane_data[4 * t] / 0.3 * rigidity / 2 *
                     ((1 - nu) * (C[0] * C[0] + C[1] * C[1] + 2 * C[2] * C[2]) + nu * (C[0] + C[1]) * (C[0] + C[1]));
        }
        FIGURE("plate_off", inner / plate - 1);
        NEAR(inner / plate, 1, TOL(1e-6, 1e-2)); /* slopes squared */
        free_model(&m);
        free_sheet(&s);
    }
}

/* ---- statics */

/* A strip held at its first column of cells, under its own weight in weak gravity: it deflects by 7 mm in 1 m. */
static double strip_error(int cells, double nu) {
    const double L = 1, b = 0.1, E = 1e6, t = 0.01, g = 9.81, rho = 1000;
    const double clamp = L / cells; /* the first cells do not move */
    double EI = E * b * t * t * t / 12, w = rho * g * b * t / 20000, free_length, exact, tip;
    sheet s = make_sheet(cells + 1, 2, L + clamp, b, 0);
    csim_cloth_def d = sheet_def(&s);
    csim_world *w0;
    csim_body_id id;
    csim_real *x = (csim_real *)malloc(sizeof(csim_real) * 3 * (size_t)s.vertices);
    int fixed[6], i, step;
    for (i = 0; i < 6; i++) fixed[i] = i / 2 * (cells + 2) + i % 2;
    w0 = new_world(csim_v3(0, 0, CSIM_R(-g / 20000)), TOL(1e-9, 1e-5));
    d.young = CSIM_R(E);
    d.poisson = CSIM_R(nu);
    d.thickness = CSIM_R(t);
    d.density = CSIM_R(rho);
    d.mass_damping = CSIM_R(0.3);
    d.stiffness_damping = 0;
    d.fixed = fixed;
    d.fixed_count = 6;
    STATUS(csim_create_cloth(w0, &d, &id), CSIM_OK);
    for (step = 0; step < 200; step++) STATUS(csim_world_step(w0, 1), CSIM_OK);
    csim_body_get_nodes(w0, id, x, 3);
    tip = -(double)x[3 * (cells + 1 + cells + 2) + 2];
    free_length = L + clamp / 2; /* the angle at the clamp is shared with the held cells: half of them bends */
    exact = w * pow(free_length, 4) / (8 * EI);
    free(x);
    csim_destroy_world(w0);
    free_sheet(&s);
    return tip / exact - 1;
}

TEST(strip_bends_like_a_beam_24) {
    const double coarse = strip_error(8, 0), fine = strip_error(16, 0), wide = strip_error(16, 0.3);
    FIGURE("strip_8", coarse);
    FIGURE("strip_16", fine);
    FIGURE("strip_wide", wide);
    NEAR(coarse, 0, 0.01);
    NEAR(fine, 0, 0.0025); /* second order */
    NEAR(wide, 0, 0.03); /* its edges are free to curve: still a beam, not a plate */
}

/* Pulled by dead loads along its edge: E t strain. */
TEST(sheet_stretches_by_hooke) {
    sheet s = make_sheet(4, 3, 0.4, 0.3, 0);
    csim_cloth_def d = sheet_def(&s);
    csim_world *w = new_world(csim_v3(0, 0, 0), TOL(1e-11, 1e-6));
    csim_body_id id;
    csim_real x[60];
    double strain = 0.02, force = 1e5 * 2e-3 * strain * 0.3;
    int i, side, step;
    d.young = 100000;
    d.thickness = CSIM_R(2e-3);
    d.poisson = CSIM_R(0.3);
    d.mass_damping = 20;
    STATUS(csim_create_cloth(w, &d, &id), CSIM_OK);
    for (step = 0; step < 300; step++) {
        for (i = 0; i <= s.ny; i++)
            for (side = 0; side < 2; side++) {
                double share = force / s.ny * (i == 0 || i == s.ny ? 0.5 : 1);
                csim_body_add_node_force(w, id, i * (s.nx + 1) + side * s.nx,
                                         csim_v3(CSIM_R(side ? share : -share), 0, 0));
            }
        STATUS(csim_world_step(w, CSIM_R(0.02)), CSIM_OK);
    }
    csim_body_get_nodes(w, id, x, 3);
    FIGURE("hooke_off", (double)(x[3 * s.nx] - x[0]) / 0.4 - 1 - strain);
    NEAR((x[3 * s.nx] - x[0]) / CSIM_R(0.4), 1 + strain, TOL(1e-9, 1e-4)); /* the co-rotational law is linear */
    NEAR((x[3 * s.ny * (s.nx + 1) + 1] - x[1]) / CSIM_R(0.3), 1 - 0.3 * strain, TOL(1e-9, 1e-4));
    csim_destroy_world(w);
    free_sheet(&s);
}

TEST(free_cloth_keeps_momentum_and_gains_nothing) {
    sheet s = make_sheet(6, 6, 0.3, 0.3, 0);
    csim_cloth_def d = sheet_def(&s);
    csim_world *w = new_world(csim_v3(0, 0, 0), TOL(1e-11, 1e-6));
    csim_body_id id;
    csim_totals start, now;
    double last;
    int i, k, step;
    d.stiffness_damping = 0;
    d.young = 20000;
    STATUS(csim_create_cloth(w, &d, &id), CSIM_OK);
    for (i = 0; i < s.vertices; i++) {
        csim_vec3 X = csimi_load3(s.x + 3 * i), v = csim_cross(csim_v3(1, 2, 3), X);
        X.x *= CSIM_R(1.05);
        X.z += CSIM_R(0.01) * uniform();
        STATUS(csim_body_set_node(w, id, i, X, csim_add(v, csim_v3(1, 0, 0))), CSIM_OK);
    }
    start = now = csim_world_totals(w);
    last = start.kinetic + start.elastic;
    for (step = 0; step < 200; step++) {
        STATUS(csim_world_step(w, CSIM_R(0.005)), CSIM_OK);
        now = csim_world_totals(w);
        CHECK(now.kinetic + now.elastic <= last * (1 + TOL(1e-6, 1e-3)));
        last = now.kinetic + now.elastic;
    }
    for (k = 0; k < 3; k++) NEAR(now.momentum[k], start.momentum[k], TOL(1e-10, 1e-3) * start.mass);
    csim_destroy_world(w);
    free_sheet(&s);
}

/* ---- drape: over a sphere, to rest, and then no creep */

SLOW_IN_FLOAT(sheet_drapes_over_a_sphere_and_rests) {
    int n = 16, i, step, uncertified = 0;
    sheet s = make_sheet(n, n, 0.4, 0.4, 0);
    csim_cloth_def d = sheet_def(&s);
    csim_rigid_def r = csim_default_rigid_def();
    csim_shape ball = csim_sphere(CSIM_R(0.1));
    csim_world *w = new_world(csim_v3(0, 0, CSIM_R(-9.81)), TOL(1e-8, 5e-5));
    csim_body_id id, sphere;
    csim_real *x = (csim_real *)malloc(sizeof(csim_real) * 3 * (size_t)s.vertices);
    csim_real *y = (csim_real *)malloc(sizeof(csim_real) * 3 * (size_t)s.vertices);
    double deepest = 0, moved = 0, lowest = 1;
    r.motion = CSIM_STATIC;
    r.shapes = &ball;
    r.shape_count = 1;
    STATUS(csim_create_rigid(w, &r, &sphere), CSIM_OK);
    d.pose.position = csim_v3(CSIM_R(-0.2), CSIM_R(-0.2), CSIM_R(0.102));
    d.young = 100000;
    d.mass_damping = 1;
    d.stiffness_damping = CSIM_R(5e-3);
    STATUS(csim_create_cloth(w, &d, &id), CSIM_OK);
    for (step = 0; step < 600; step++) {
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        uncertified += (csim_world_stats(w).flags & CSIM_FLAG_UNCERTIFIED) != 0;
    }
    csim_body_get_nodes(w, id, x, 3);
    for (step = 0; step < 100; step++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    csim_body_get_nodes(w, id, y, 3);
    for (i = 0; i < s.vertices; i++) {
        deepest = fmax(deepest, 0.1005 - (double)csim_length(csimi_load3(y + 3 * i)));
        moved = fmax(moved, (double)csim_length(csim_sub(csimi_load3(x + 3 * i), csimi_load3(y + 3 * i))));
        lowest = fmin(lowest, (double)y[3 * i + 2]);
    }
    EQUAL(uncertified, 0);
    CHECK(deepest < TOL(1e-6, 1e-5));
    CHECK(moved < TOL(1e-6, 1e-3)); /* in one second; it follows the tolerance of the solver */
    CHECK(lowest < 0);
    free(x);
    free(y);
    csim_destroy_world(w);
    free_sheet(&s);
}
