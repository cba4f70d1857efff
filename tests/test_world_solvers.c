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
            p.kappa = CSIM_R(stiffness * h * h);
            p.damping = k == 0 ? 1 : 10;
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
    p.kappa = CSIM_R(1e4 * 1e-6);
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
        p.kappa = 5; /* five times the mass */
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
            CHECK((s.out.result == CSIM_RESULT_CONVERGED) == (fmax(certificate[k], s.out.certificate.dynamics) <= tolerance));
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

/* ---- refusals */

TEST(what_they_do_not_take_is_told) {
    static const csim_solver solver[3] = {CSIM_SOLVER_XPBD, CSIM_SOLVER_PENALTY, CSIM_SOLVER_PENALTY_EXPLICIT};
    static uint64_t memory[1 << 16];
    static csim_real v[3 * CP_BLOCKS], lambda[3 * CP_CONTACTS];
    csim_solution solution;
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
