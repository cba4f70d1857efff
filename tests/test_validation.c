/* Rows of the validation table that need a whole world and no scene: 13, 32, 33. The others stand in test_model.c (14,
   30, 33 by hand), test_scenes.c (1-5, 9, 10, 16-18) and test_sweep.c (35). */
#include "check.h"
#include <math.h>

/* ---- 13: heavy top */

typedef struct top {
    csim_world *w;
    csim_body_id id;
    double length;
} top;

/* A symmetric top of I1 = 0.003 about its pivot, I3 = 0.001, m g l = 0.0981, held at the origin by a pin. */
static top make_top(double tilt, double spin, double precession) {
    csim_world_def wd = csim_default_world_def();
    csim_rigid_def d = csim_default_rigid_def();
    csim_pin_def pin = csim_default_pin_def();
    csim_link_id link;
    csim_vec3 axis = csim_v3((csim_real)sin(tilt), 0, (csim_real)cos(tilt)), w;
    top t;
    t.length = 0.1;
    wd.integrator = CSIM_MIDPOINT;
    wd.solver.tolerance = TOL(1e-10, 1e-5);
    STATUS(csim_create_world(&wd, &t.w, NULL), CSIM_OK);
    d.mass = CSIM_R(0.1);
    d.inertia.m[0] = d.inertia.m[4] = CSIM_R(0.002); /* about the centre: 0.003 - 0.1 * 0.1^2 */
    d.inertia.m[8] = CSIM_R(0.001);
    d.pose.position = csim_scale(CSIM_R(0.1), axis);
    d.pose.rotation = csim_quat_axis_angle(csim_v3(0, 1, 0), (csim_real)tilt);
    w = csim_add(csim_v3(0, 0, (csim_real)precession), csim_scale((csim_real)(spin - precession * cos(tilt)), axis));
    d.angular_velocity = w;
    d.velocity = csim_cross(w, d.pose.position);
    STATUS(csim_create_rigid(t.w, &d, &t.id), CSIM_OK);
    pin.a.body = t.id;
    STATUS(csim_create_pin(t.w, &pin, &link), CSIM_OK);
    return t;
}

static csim_vec3 top_axis(const top *t) {
    csim_pose p;
    csim_body_get_pose(t->w, t->id, &p);
    return csim_rotate(p.rotation, csim_v3(0, 0, 1));
}

/* Mean precession rate over a time, unwrapped; *nod: largest change of the tilt's cosine. */
static double precession_rate(double h, double seconds, double start, double *nod) {
    top t = make_top(acos(-1) / 6, 200, start);
    double angle = 0, last = 0, worst = 0, c0 = cos(acos(-1) / 6);
    int i, n = (int)(seconds / h + 0.5);
    for (i = 0; i < n; i++) {
        csim_vec3 a;
        double now;
        if (csim_world_step(t.w, (csim_real)h) != CSIM_OK) return 0;
        a = top_axis(&t);
        now = atan2((double)a.y, (double)a.x);
        angle += remainder(now - last, 2 * acos(-1));
        last = now;
        if (fabs((double)a.z - c0) > worst) worst = fabs((double)a.z - c0);
    }
    csim_destroy_world(t.w);
    *nod = worst;
    return angle / seconds;
}

TEST(heavy_top_precession_13) {
    /* roots of I1 cos(a) W^2 - I3 w3 W + m g l = 0 */
    double c = 0.003 * cos(acos(-1) / 6), b = 0.001 * 200, root = sqrt(b * b - 4 * c * 0.0981);
    double slow = (b - root) / (2 * c), fast = (b + root) / (2 * c), nod, rate[2];
    int k;
    NEAR(slow, 0.493666, 1e-6);
    NEAR(fast, 76.48637, 1e-5);
    for (k = 0; k < 2; k++) {
        double h = k == 0 ? 2e-3 : 1e-3;
        rate[k] = precession_rate(h, 1, slow, &nod);
        CASE("slow root, h = %g: %.6f, nodding %.2g", h, rate[k], nod);
        CHECK(nod < 2e-3);
    }
    CASE("slow root: errors %.3g and %.3g", rate[0] - slow, rate[1] - slow);
    NEAR(rate[1], slow, 0.02 * slow); /* O(h): spin of 0.2 rad in a step of 1 ms */
    CHECK(fabs(rate[1] - slow) < 0.7 * fabs(rate[0] - slow) || fabs(rate[1] - slow) < 1e-3);
    rate[0] = precession_rate(2e-4, 0.2, fast, &nod);
    CASE("fast root: %.5f", rate[0]);
    NEAR(rate[0], fast, 0.01 * fast);
}

/* The sleeping top: upright and fast it stays, slow it falls; the threshold is 2 sqrt(I1 m g l) / I3 = 34.3103. */
TEST(sleeping_top_threshold_13) {
    double spin[2] = {38, 31};
    int k, i;
    for (k = 0; k < 2; k++) {
        top t = make_top(1e-3, spin[k], 0);
        double worst = 0;
        CASE("spin %g", spin[k]);
        for (i = 0; i < 2000; i++) {
            csim_vec3 a;
            double tilt;
            STATUS(csim_world_step(t.w, CSIM_R(1e-3)), CSIM_OK);
            a = top_axis(&t);
            tilt = sqrt((double)(a.x * a.x + a.y * a.y));
            if (tilt > worst) worst = tilt;
        }
        if (k == 0) CHECK(worst < 0.01);
        else CHECK(worst > 0.1);
        csim_destroy_world(t.w);
    }
}

/* ---- 32: Hertz */

/* Coordinates from 0: even cells of size a up to `even`, then growing by `growth` up to `length`; returns the count. */
static int graded(double a, double even, double growth, double length, double *x) {
    int n = 0;
    double at = 0, cell = a;
    x[n++] = 0;
    while (at < length - 0.5 * cell) {
        if (at > even - 0.5 * a) cell *= growth;
        at += cell;
        x[n++] = at;
    }
    return n;
}

/* A block graded towards the middle of its top (0, 0, 0), split into 6 tets a cell. */
static int graded_block(double a, double even, double growth, double length, csim_real **vertices, int **tets, int *nv) {
    double half[64], x[128], z[64];
    int nh = graded(a, even, growth, length, half), nz = graded(a, a * 2, growth, length, z), n = 2 * nh - 1, i, j, k, t = 0;
    csim_real *v;
    for (i = 0; i < nh; i++) {
        x[nh - 1 - i] = -half[i];
        x[nh - 1 + i] = half[i];
    }
    *nv = n * n * nz;
    *vertices = v = (csim_real *)malloc(sizeof(csim_real) * 3 * (size_t)*nv);
    *tets = (int *)malloc(sizeof(int) * 24 * (size_t)((n - 1) * (n - 1) * (nz - 1)));
    for (k = 0; k < nz; k++)
        for (j = 0; j < n; j++)
            for (i = 0; i < n; i++) {
                csim_real *p = v + 3 * (i + n * (j + n * k));
                p[0] = (csim_real)x[i];
                p[1] = (csim_real)x[j];
                p[2] = (csim_real)-z[nz - 1 - k];
            }
    for (k = 0; k + 1 < nz; k++)
        for (j = 0; j + 1 < n; j++)
            for (i = 0; i + 1 < n; i++) {
                static const int path[6][2] = {{1, 3}, {2, 6}, {4, 5}, {3, 2}, {6, 4}, {5, 1}}; /* corner bits, positive volume */
                int p, q;
                for (p = 0; p < 6; p++) {
                    int bit[4];
                    bit[0] = 0;
                    bit[1] = path[p][0];
                    bit[2] = path[p][1];
                    bit[3] = 7;
                    for (q = 0; q < 4; q++)
                        (*tets)[4 * t + q] = (i + (bit[q] & 1)) + n * ((j + (bit[q] >> 1 & 1)) + n * (k + (bit[q] >> 2 & 1)));
                    t++;
                }
            }
    return t;
}

SLOW_LONG_IN_FLOAT(hertz_sphere_on_elastic_block_32) {
    /* A rigid sphere of R = 0.05 pressed 1 mm into an elastic half-space is the same problem as an elastic ball of the
       same E* on a rigid plane: F = 4/3 E* sqrt(R d^3) = 10.3605 N, contact radius sqrt(R d) = 7.0711 mm. The block is
       35 contact radii wide and deep with cells of an eighth of a radius under the sphere. */
    const double R = 0.05, depth = 1e-3, a = sqrt(R * depth), F = 4.0 / 3 * 1e6 / (1 - 0.09) * sqrt(R * depth * depth * depth);
    csim_world_def wd = csim_default_world_def();
    csim_world *w;
    csim_soft_def soft = csim_default_soft_def();
    csim_rigid_def ball = csim_default_rigid_def();
    csim_shape sphere = csim_sphere((csim_real)R);
    csim_body_id block, id;
    csim_real *vertices;
    int *tets, *fixed, nv, i, n, steps;
    double force = 0, radius = 0;
    const csim_contact_info *c;
    NEAR(F, 10.3605, 1e-4);
    wd.gravity = csim_v3(0, 0, 0);
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    soft.tet_count = graded_block(a / 8, 1.1 * a, 1.6, 35 * a, &vertices, &tets, &nv);
    soft.vertices = vertices;
    soft.vertex_count = nv;
    soft.tets = tets;
    soft.young = 1000000;
    soft.poisson = CSIM_R(0.3);
    soft.stiffness_damping = 0;
    soft.surface.friction = 0;
    fixed = (int *)malloc(sizeof(int) * (size_t)nv);
    for (i = n = 0; i < nv; i++)
        if (vertices[3 * i + 2] < CSIM_R(0.999) * vertices[2]) fixed[n++] = i; /* the bottom */
    CHECK(n > 0);
    soft.fixed = fixed;
    soft.fixed_count = n;
    STATUS(csim_create_soft(w, &soft, &block), CSIM_OK);
    ball.shapes = &sphere;
    ball.shape_count = 1;
    ball.motion = CSIM_KINEMATIC;
    ball.pose.position = csim_v3(0, 0, (csim_real)R);
    ball.surface.friction = 0;
    STATUS(csim_create_rigid(w, &ball, &id), CSIM_OK);
    for (steps = 0; steps < 12; steps++) { /* one second a step: inertia plays no part */
        STATUS(csim_body_set_velocity(w, id, csim_v3(0, 0, steps < 8 ? (csim_real)(-depth / 8) : 0), csim_v3(0, 0, 0)), CSIM_OK);
        STATUS(csim_world_step(w, 1), CSIM_OK);
    }
    c = csim_world_contacts(w, &n);
    for (i = 0; i < n; i++) {
        double r = sqrt((double)(c[i].point.x * c[i].point.x + c[i].point.y * c[i].point.y));
        force += (double)c[i].impulse.z; /* on the block, over one second */
        if (c[i].state != CSIM_CONTACT_OPEN && r > radius) radius = r;
    }
    CASE("force %.4f N, contact radius %.3f mm, %d nodes, %d iterations", -force, radius * 1e3, nv, csim_world_stats(w).iterations);
    printf("    row 32: force %.4f N (Hertz %.4f), contact radius %.3f mm (%.3f), %d nodes, %d iterations\n", -force, F, radius * 1e3, a * 1e3, nv, csim_world_stats(w).iterations);
    CHECK(csim_world_stats(w).result == CSIM_RESULT_CONVERGED);
    NEAR(-force, F, 0.1 * F);
    NEAR(radius, a, a / 8 + 0.02 * a); /* to the cell */
    free(fixed);
    free(vertices);
    free(tets);
    csim_destroy_world(w);
}

/* ---- 33: elastic bar */

/* A bar of square section fixed at one end: the frequency of its first axial mode is c / 4 L with c = sqrt(E / rho) for
   nu = 0; a free bar keeps its momentum and gains no energy. */
static int bar(int cells, double length, double side, csim_real *v, int *tets, int *nv) {
    int i, t = 0, q, p;
    for (i = 0; i <= cells; i++)
        for (q = 0; q < 4; q++) {
            csim_real *x = v + 3 * (4 * i + q);
            x[0] = (csim_real)(length * i / cells);
            x[1] = (csim_real)(side * (q & 1));
            x[2] = (csim_real)(side * (q >> 1));
        }
    for (i = 0; i < cells; i++)
        for (p = 0; p < 6; p++) {
            static const int path[6][2] = {{1, 3}, {2, 6}, {4, 5}, {3, 2}, {6, 4}, {5, 1}};
            int bit[4];
            bit[0] = 0;
            bit[1] = path[p][0];
            bit[2] = path[p][1];
            bit[3] = 7;
            for (q = 0; q < 4; q++) tets[4 * t + q] = 4 * (i + (bit[q] & 1)) + (bit[q] >> 1);
            t++;
        }
    *nv = 4 * (cells + 1);
    return t;
}

static csim_world *make_bar(csim_integrator integrator, int *fixed, int fixed_count, csim_body_id *id) {
    static csim_real v[3 * 4 * 41];
    static int tets[4 * 6 * 40];
    csim_world_def wd = csim_default_world_def();
    csim_soft_def d = csim_default_soft_def();
    csim_world *w;
    wd.gravity = csim_v3(0, 0, 0);
    wd.integrator = integrator;
    wd.solver.tolerance = TOL(1e-10, 1e-5);
    wd.solver.max_iterations = 5000;
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    d.tet_count = bar(40, 1, 0.05, v, tets, &d.vertex_count);
    d.vertices = v;
    d.tets = tets;
    d.young = 100000;
    d.poisson = 0;
    d.stiffness_damping = 0;
    d.fixed = fixed;
    d.fixed_count = fixed_count;
    STATUS(csim_create_soft(w, &d, id), CSIM_OK);
    return w;
}

TEST(elastic_bar_axial_mode_33) {
    int fixed[4] = {0, 1, 2, 3}, i, crossings = 0;
    csim_body_id id;
    csim_world *w = make_bar(CSIM_MIDPOINT, fixed, 4, &id);
    double h = 1e-3, c = sqrt(1e5 / 1000.0), period = 4 / c, last = 0, first = 0, final = 0;
    csim_real x[3 * 4 * 41];
    csim_body_get_nodes(w, id, x, 3);
    for (i = 0; i < 4 * 41; i++) /* the first mode, small: sin(pi x / 2 L) */
        csim_body_set_node(w, id, i, csim_v3(x[3 * i], x[3 * i + 1], x[3 * i + 2]),
                           csim_v3((csim_real)(0.01 * sin(acos(-1) / 2 * (double)x[3 * i])), 0, 0));
    for (i = 1; i * h < 2.2 * period; i++) {
        double u;
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        csim_body_get_nodes(w, id, x, 3);
        u = (double)x[3 * 160] - 1;
        if (i > 1 && last > 0 && u <= 0) {
            double t = (i - 1 + last / (last - u)) * h;
            if (crossings == 0) first = t;
            final = t;
            crossings++;
        }
        last = u;
    }
    CASE("period %.6f, exact %.6f", final - first, period);
    EQUAL(crossings, 2);
    /* 40 linear cells and lumped masses: (pi/2 / 40)^2 / 24 = 6e-5 slow, the time step (2 pi h / T)^2 / 12 = 2e-5 */
    NEAR((final - first) / period, 1, TOL(2e-4, 2e-3));
    csim_destroy_world(w);
}

/* Small axial motion for energy (where nothing turns the tangent is constant and midpoint keeps it), any motion for
   momentum. */
TEST(free_elastic_bar_keeps_momentum_and_gains_nothing_33) {
    int k, i, j;
    for (k = 0; k < 4; k++) {
        csim_integrator integrator[4] = {CSIM_BACKWARD_EULER, CSIM_MIDPOINT, CSIM_BACKWARD_EULER, CSIM_MIDPOINT};
        bool axial = k < 2;
        csim_body_id id;
        csim_world *w = make_bar(integrator[k], NULL, 0, &id);
        csim_totals before, now;
        double most = 0, energy;
        csim_real x[3 * 4 * 41];
        CASE("integrator %d, %s", k % 2, axial ? "axial" : "any motion");
        csim_body_get_nodes(w, id, x, 3);
        for (i = 0; i < 4 * 41; i++)
            csim_body_set_node(w, id, i, csim_v3(x[3 * i], x[3 * i + 1], x[3 * i + 2]),
                               csim_v3((csim_real)((axial ? 0.002 : 0.5) * sin(3 * (double)x[3 * i])), axial ? 0 : (csim_real)(0.3 * (double)x[3 * i]), CSIM_R(0.1)));
        before = csim_world_totals(w);
        energy = before.kinetic + before.elastic;
        for (i = 0; i < 300; i++) {
            STATUS(csim_world_step(w, CSIM_R(0.002)), CSIM_OK);
            now = csim_world_totals(w);
            if (now.kinetic + now.elastic > most) most = now.kinetic + now.elastic;
        }
        for (j = 0; j < 3; j++) NEAR(now.momentum[j], before.momentum[j], TOL(1e-8, 1e-4)); /* solver tolerance times 0.3 kg m/s times steps */
        CASE("integrator %d: energy %.9f, most %.9f", k % 2, energy, most);
        if (axial) CHECK(most < energy * (1 + TOL(1e-9, 1e-3)));
        csim_destroy_world(w);
    }
}
