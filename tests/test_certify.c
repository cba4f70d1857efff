/* How often to certify is the caller's: what a step without a certificate says of itself, and that it moves like one
   with it. */
#include "check.h"
#include "contact_problems.h"

static csim_real found_v[2][3 * CP_BLOCKS], found_lambda[2][3 * CP_CONTACTS];

static double figure_of(const csim_real *v, const csim_real *lambda, csim_certificate *c) {
    static unsigned char scratch[1 << 20];
    STATUS(csim_problem_certify(&cp.p, v, lambda, scratch, sizeof scratch, c), CSIM_OK);
    return csim_certificate_worst(c);
}

/* An answer that was not certified is that of the certified solve to the bit exactly where the certificate is content
   with it; its contact figure is the certificate's; what misses is certified whatever was asked. */
TEST(an_unchecked_answer_is_the_certified_one_where_that_is_content) {
    static const csim_solver solvers[] = {CSIM_SOLVER_AUTO, CSIM_SOLVER_SWEEP, CSIM_SOLVER_ANDERSON, CSIM_SOLVER_APGD};
    int trial, same = 0, sent_back[2] = {0, 0}, missed = 0;
    for (trial = 0; trial < 160; trial++) {
        csim_solver_params p = csim_default_solver_params();
        csim_outcome out[2];
        csim_certificate c;
        const int n = 2 * cp_int(1, 8);
        bool equal;
        int k;
        cp_make(n, cp_int(1, 20), CP_RIGID, CSIM_LAW_STRICT, trial % 2 ? 1e5 : 10);
        p.solver = solvers[trial / 2 % 4];
        if (trial % 5 == 0) p.max_iterations = 3;
        for (k = 0; k < 2; k++) {
            p.certify = k;
            out[k] = cp_solve(&p, found_v[k], found_lambda[k]);
        }
        CASE("trial %d, %s", trial, csim_describe_solver(p.solver).name);
        equal = !memcmp(found_v[0], found_v[1], 3 * (size_t)n * sizeof(csim_real)) &&
                !memcmp(found_lambda[0], found_lambda[1], 3 * (size_t)cp.p.contact_count * sizeof(csim_real));
        CHECK(out[1].result != CSIM_RESULT_UNCHECKED);
        if (out[0].result != CSIM_RESULT_UNCHECKED) {
            CHECK(equal && out[0].result == out[1].result);
            CHECK(!memcmp(&out[0].certificate, &out[1].certificate, sizeof c));
            missed++;
            continue;
        }
        CHECK(csim_certificate_worst(&out[0].certificate) > 1e20);
        CHECK(out[0].certificate.contact <= (double)p.tolerance && out[0].certificate.worst_contact == -1);
        if (figure_of(found_v[0], found_lambda[0], &c) <= (double)p.tolerance) {
            CHECK(equal && out[1].result == CSIM_RESULT_CONVERGED && out[0].iterations == out[1].iterations);
            same++;
        } else {
            CHECK(!equal);
            sent_back[p.solver > CSIM_SOLVER_SWEEP]++;
        }
        if (p.solver <= CSIM_SOLVER_SWEEP) { /* rho: of both sides together here, of each there; 1.13 apart at most */
            const double own = out[0].certificate.contact, noise = TOL(1e-9, 2e-5);
            CHECK(c.contact <= 1.25 * own + noise && own <= 1.25 * c.contact + noise);
        }
    }
    printf("    %d to the bit, %d of SWEEP and %d of others that the certificate sent back, %d that missed\n", same,
           sent_back[0], sent_back[1], missed);
    CHECK(same > 50 && sent_back[0] + sent_back[1] > 0 && missed > 0);
}

/* ---- worlds */

static csim_world *stack(int certify, int most, int budget, csim_uncertified on_miss) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def rigid = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_body_id id;
    csim_world *w = NULL;
    int i;
    def.solver.certify = certify;
    def.solver.max_iterations = most;
    def.budget = budget;
    def.on_uncertified = on_miss;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id), CSIM_OK);
    rigid.shapes = &box, rigid.shape_count = 1;
    for (i = 0; i < 5; i++) {
        rigid.pose.position = csim_v3(CSIM_R(0.02) * (csim_real)(i % 2), 0, CSIM_R(0.1) + CSIM_R(0.22) * (csim_real)i);
        STATUS(csim_create_rigid(w, &rigid, &id), CSIM_OK);
    }
    return w;
}

static bool unchecked(const csim_world *w) { return (csim_world_stats(w).flags & CSIM_FLAG_UNCHECKED) != 0; }

/* Five boxes fall on each other, with and without a budget: nothing is missed, and every fifth step or none certified
   is the same motion. */
TEST(motion_does_not_depend_on_the_certificate) {
    static const int every[] = {5, 0, 7};
    int k, budget, step;
    for (budget = 0; budget <= 100000; budget += 100000)
        for (k = 0; k < 3; k++) {
            csim_world *a = stack(1, 3000, budget, CSIM_ACCEPT_UNCERTIFIED);
            csim_world *b = stack(every[k], 3000, budget, CSIM_ACCEPT_UNCERTIFIED);
            int in_a_row = 0;
            for (step = 1; step <= 150; step++) {
                const bool due = every[k] > 0 && step % every[k] == 0;
                csim_step_stats s;
                STATUS(csim_world_step(a, CSIM_R(0.01)), CSIM_OK);
                STATUS(csim_world_step(b, CSIM_R(0.01)), CSIM_OK);
                CASE("every %d, budget %d, step %d", every[k], budget, step);
                s = csim_world_stats(a);
                CHECK(s.result == CSIM_RESULT_CONVERGED && s.flags == 0 && s.unchecked == 0);
                CHECK(csim_world_hash(a) == csim_world_hash(b));
                s = csim_world_stats(b);
                in_a_row = due ? 0 : in_a_row + 1;
                EQUAL(s.unchecked, in_a_row);
                EQUAL((int)s.result, (int)(due ? CSIM_RESULT_CONVERGED : CSIM_RESULT_UNCHECKED));
                EQUAL(s.flags, due ? 0u : (unsigned)CSIM_FLAG_UNCHECKED);
                EQUAL(csim_certificate_worst(&s.certificate) <= 5e-5, due);
                EQUAL(s.uncertified, 0);
            }
            csim_destroy_world(a);
            csim_destroy_world(b);
        }
}

/* With three iterations a step most are missed: they are certified all the same, so that the remedies work and a world
   that refuses such steps refuses the same ones. */
TEST(what_is_missed_is_certified) {
    csim_world *a = stack(1, 3, 0, CSIM_ACCEPT_UNCERTIFIED), *b = stack(0, 3, 0, CSIM_ACCEPT_UNCERTIFIED);
    csim_world *c = stack(0, 3, 0, CSIM_REJECT_UNCERTIFIED);
    int step, missed = 0, refused = 0;
    for (step = 0; step < 60; step++) {
        csim_step_stats s, t;
        STATUS(csim_world_step(a, CSIM_R(0.01)), CSIM_OK);
        STATUS(csim_world_step(b, CSIM_R(0.01)), CSIM_OK);
        s = csim_world_stats(a);
        t = csim_world_stats(b);
        CASE("step %d", step);
        CHECK(csim_world_hash(a) == csim_world_hash(b));
        EQUAL(s.flags & CSIM_FLAG_UNCERTIFIED, t.flags & CSIM_FLAG_UNCERTIFIED);
        EQUAL(s.uncertified, t.uncertified);
        if (!(t.flags & CSIM_FLAG_UNCERTIFIED)) continue;
        CHECK(t.result > CSIM_RESULT_UNCHECKED && t.result == s.result);
        CHECK(csim_certificate_worst(&t.certificate) > 5e-5 && csim_certificate_worst(&t.certificate) < 1e20);
        if (!missed++) refused = step;
    }
    CHECK(missed > 5);
    for (step = 0; step < refused; step++) STATUS(csim_world_step(c, CSIM_R(0.01)), CSIM_OK);
    STATUS(csim_world_step(c, CSIM_R(0.01)), CSIM_UNCERTIFIED);
    csim_destroy_world(a);
    csim_destroy_world(b);
    csim_destroy_world(c);
}

/* Which steps are certified is counted from the first step of the world: what a snapshot takes back is certified as it
   was. On request: none, but those for which the solver is set. */
TEST(snapshots_and_requests) {
    static unsigned char memory[1 << 20];
    csim_world *w = stack(5, 3000, 0, CSIM_ACCEPT_UNCERTIFIED);
    csim_solver_params p = csim_default_solver_params();
    uint64_t hash[24];
    bool was[24];
    size_t bytes = sizeof memory;
    int step;
    for (step = 1; step <= 23; step++) {
        if (step == 8) STATUS(csim_world_save(w, memory, &bytes), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        hash[step] = csim_world_hash(w);
        was[step] = unchecked(w);
        EQUAL(was[step], step % 5 != 0);
    }
    STATUS(csim_world_restore(w, memory, bytes), CSIM_OK);
    for (step = 8; step <= 23; step++) {
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        CHECK(csim_world_hash(w) == hash[step]);
        EQUAL(unchecked(w), was[step]);
    }
    for (step = 0; step < 4; step++) {
        p.certify = step == 2;
        STATUS(csim_world_set_solver(w, &p), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        EQUAL(unchecked(w), step != 2);
    }
    p.certify = -1;
    STATUS(csim_world_set_solver(w, &p), CSIM_OUT_OF_RANGE);
    CHECK(strstr(csim_last_error(w), "certify") != NULL);
    csim_destroy_world(w);
}

/* Figures whose sums overflow are no numbers, and what is no number is within no tolerance. */
TEST(what_overflows_is_not_certified) {
    csim_certificate c;
    memset(&c, 0, sizeof c);
    CHECK(csim_certificate_worst(&c) <= 0);
    c.dynamics = (double)NAN;
    CHECK(!(csim_certificate_worst(&c) <= 1e300));
    c.contact = c.velocity = c.work = 1e-9;
    CHECK(!(csim_certificate_worst(&c) <= 1e300));
}
