/* What is kept of a solve that missed (solve/restrain.c): against a dense solve, a search over the shares, and
   projected gradients for the answer where contacts give way, all written out here. */
#include "check.h"
#include "cond_scenes.h"
#include "contact_problems.h"

enum { NODES = 8, SIZE = 3 * NODES, TOUCHES = 10, ROWS = 3 * TOUCHES, GRID = 40 };

static double A[SIZE][SIZE], J[ROWS][SIZE]; /* u = J v */

/* The problem as dense matrices. */
static void dense(void) {
    int i, j, k, c, at;
    memset(A, 0, sizeof A);
    memset(J, 0, sizeof J);
    for (i = 0; i < NODES; i++)
        for (at = cp.p.A.row[i]; at < cp.p.A.row[i + 1]; at++)
            for (j = 0; j < 3; j++)
                for (k = 0; k < 3; k++) A[3 * i + j][3 * cp.p.A.col[at] + k] = (double)cp.p.A.val[9 * at + 3 * j + k];
    for (c = 0; c < TOUCHES; c++) {
        const csim_contact *contact = cp.p.contacts + c;
        for (at = 0; at < contact->a.count + contact->b.count; at++) {
            const bool on_a = at < contact->a.count;
            const csim_term *t = cp.p.terms + (on_a ? contact->a.first + at : contact->b.first + at - contact->a.count);
            for (i = 0; i < 3; i++)
                for (j = 0; j < 3; j++)
                    for (k = 0; k < 3; k++)
                        J[3 * c + i][3 * t->block + k] +=
                            (on_a ? 1 : -1) * (double)contact->R[3 * i + j] * (double)t->J[3 * j + k];
        }
    }
}

/* x = A^-1 b by Gauss with pivots. */
static void gauss(const double *b, double *x) {
    double M[SIZE][SIZE + 1];
    int i, j, k, best;
    for (i = 0; i < SIZE; i++) {
        memcpy(M[i], A[i], sizeof A[i]);
        M[i][SIZE] = b[i];
    }
    for (k = 0; k < SIZE; k++) {
        for (best = k, i = k; i < SIZE; i++)
            if (fabs(M[i][k]) > fabs(M[best][k])) best = i;
        for (j = 0; j <= SIZE; j++) {
            const double keep = M[k][j];
            M[k][j] = M[best][j];
            M[best][j] = keep;
        }
        for (i = 0; i < SIZE; i++)
            for (j = SIZE; j >= k && i != k; j--) M[i][j] -= M[i][k] / M[k][k] * M[k][j];
    }
    for (i = 0; i < SIZE; i++) x[i] = M[i][SIZE] / M[i][i];
}

/* v = A^-1 (b + J'lambda); returns lambda'(J v + phi), and in q lambda'W lambda / 2 + lambda'(J A^-1 b + phi). */
static double motion(const double *lambda, double *v, double *q) {
    double load[SIZE], free[SIZE], b[SIZE], work = 0;
    int i, r;
    for (i = 0; i < SIZE; i++) {
        load[i] = b[i] = (double)cp.p.b[i];
        for (r = 0; r < ROWS; r++) load[i] += J[r][i] * lambda[r];
    }
    gauss(load, v);
    gauss(b, free);
    for (*q = 0, r = 0; r < ROWS; r++) {
        double u = (double)cp.p.contacts[r / 3].phi[r % 3], u0 = u;
        for (i = 0; i < SIZE; i++) {
            u += J[r][i] * v[i];
            u0 += J[r][i] * free[i];
        }
        work += lambda[r] * u;
        *q += lambda[r] * (u + u0) / 2;
    }
    return work;
}

static void feasible(const csim_real *lambda) {
    int c;
    for (c = 0; c < TOUCHES; c++) {
        const double n = (double)lambda[3 * c], t = hypot((double)lambda[3 * c + 1], (double)lambda[3 * c + 2]);
        CHECK(n >= 0 && t <= (double)cp.p.contacts[c].mu[0] * n * (1 + TOL(1e-12, 1e-5)) + TOL(1e-14, 1e-6));
    }
}

/* Float tells velocities to 1e-7, and impulses where contacts give way by a thousandth to a thousand times that, and
   what the condition of A (hundreds) adds. */
#define GIVEN 5e-2

/* Impulses where every contact gives way by give times its mobility, u + slip n + give lambda: projected gradients on
   lambda'(W + give) lambda / 2 + lambda'(J A^-1 b + phi + slip n), with slip = mu |u_t| of the pass before. */
static void giving(double *lambda) {
    static double W[ROWS][ROWS], column[SIZE], v[SIZE];
    double give[TOUCHES], slip[TOUCHES], free[ROWS], b[SIZE], last[ROWS], most = 0;
    int c, i, r, k, pass, turn;
    for (r = 0; r < ROWS; r++) {
        gauss(J[r], column);
        for (k = 0; k < ROWS; k++)
            for (W[k][r] = 0, i = 0; i < SIZE; i++) W[k][r] += J[k][i] * column[i];
        lambda[r] = 0;
    }
    for (i = 0; i < SIZE; i++) b[i] = (double)cp.p.b[i];
    gauss(b, column);
    for (r = 0; r < ROWS; r++)
        for (free[r] = (double)cp.p.contacts[r / 3].phi[r % 3], i = 0; i < SIZE; i++) free[r] += J[r][i] * column[i];
    for (c = 0; c < TOUCHES; c++) /* a block on both sides counts twice */
        for (slip[c] = give[c] = 0, r = 0; r < cp.p.contacts[c].a.count + cp.p.contacts[c].b.count; r++) {
            const csim_contact *x = cp.p.contacts + c;
            const csim_term *t = cp.p.terms + (r < x->a.count ? x->a.first + r : x->b.first + r - x->a.count);
            const double mass = (double)x->mass[r >= x->a.count];
            if (mass > 0 && (r == 0 || r == x->a.count)) give[c] += 1e-3 / mass;
            for (i = 0; i < 9 && !(mass > 0); i++)
                give[c] += 1e-3 * (double)(t->J[i] * t->J[i]) / A[3 * t->block + i % 3][3 * t->block + i % 3] / 3;
        }
    for (r = 0; r < ROWS; r++) {
        double sum = give[r / 3];
        for (k = 0; k < ROWS; k++) sum += fabs(W[r][k]);
        most = fmax(most, sum);
    }
    for (pass = 0; pass < 3; pass++) {
        memcpy(last, lambda, sizeof last);
        for (turn = 0; turn < 20000; turn++) {
            double g[ROWS], at[ROWS];
            for (r = 0; r < ROWS; r++) { /* Nesterov's momentum, from rest every 500 */
                at[r] = lambda[r] + (turn % 500) / (turn % 500 + 3.0) * (lambda[r] - last[r]);
                last[r] = lambda[r];
            }
            for (r = 0; r < ROWS; r++)
                for (g[r] = free[r] + give[r / 3] * at[r] + (r % 3 ? 0 : slip[r / 3]), k = 0; k < ROWS; k++)
                    g[r] += W[r][k] * at[k];
            for (c = 0; c < TOUCHES; c++) {
                const double mu = (double)cp.p.contacts[c].mu[0];
                double *l = lambda + 3 * c, n, t, along;
                for (i = 0; i < 3; i++) l[i] = at[3 * c + i] - g[3 * c + i] / most;
                n = l[0], t = hypot(l[1], l[2]);
                if (t <= mu * n) continue;
                along = fmax(0, (n + mu * t) / (1 + mu * mu));
                l[0] = along, l[1] *= mu * along / t, l[2] *= mu * along / t;
            }
        }
        motion(lambda, v, column);
        for (c = 0; c < TOUCHES; c++) {
            double u[2] = {(double)cp.p.contacts[c].phi[1], (double)cp.p.contacts[c].phi[2]};
            for (k = 0; k < 2; k++)
                for (i = 0; i < SIZE; i++) u[k] += J[3 * c + 1 + k][i] * v[i];
            slip[c] = (double)cp.p.contacts[c].mu[0] * hypot(u[0], u[1]);
        }
    }
}

/* q at the kept impulses is no more than at any share of the two they are made of. */
static void least(const double *first, const double *second, double q) {
    double v[SIZE], lambda[ROWS], other;
    int i, j, r;
    for (i = 0; i <= GRID; i++)
        for (j = 0; i + j <= GRID; j++) {
            for (r = 0; r < ROWS; r++) lambda[r] = (i * first[r] + j * second[r]) / GRID;
            motion(lambda, v, &other);
            CHECK(q <= other + TOL(1e-9, 1e-3) * fabs(other));
        }
}

static bool restrain_of(const csim_problem *p, const csim_real *start, csim_real *v, csim_real *lambda) {
    void *memory = malloc(1 << 22);
    csimi_arena arena = csimi_arena_in((unsigned char *)memory, 1 << 22);
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_outcome outcome;
    bool done;
    memset(&outcome, 0, sizeof outcome);
    solution.v = v;
    solution.lambda = lambda;
    done = csimi_restrain(p, start, &arena, NULL, &solution, &outcome);
    free(memory);
    return done;
}

static bool restrain(const csim_real *start, csim_real *v, csim_real *lambda) {
    return restrain_of(&cp.p, start, v, lambda);
}

/* One problem: the exact impulses, too large by some factor and with a part that is none, and a start of begun times
   the exact ones. */
static bool restrain_once(double factor, double begun) {
    csim_real start[ROWS], v[SIZE], lambda[ROWS];
    double first[ROWS], second[ROWS], kept[ROWS], exact[SIZE], q, work, scale = 0;
    int r, c;
    cp_make(NODES, TOUCHES, CP_GENERAL, CSIM_LAW_STRICT, 10);
    dense();
    for (r = 0; r < ROWS; r++) {
        lambda[r] = CSIM_R(factor * (double)cp.lambda[r] * check_random(0.8, 1.2));
        start[r] = CSIM_R(begun * (double)cp.lambda[r]);
    }
    for (c = 0; c < TOUCHES; c++) { /* what is projected first, written out once more */
        csim_project(cp.p.contacts + c, 0, lambda + 3 * c, lambda + 3 * c);
        for (r = 3 * c; r < 3 * c + 3; r++) first[r] = (double)lambda[r], second[r] = (double)start[r];
    }
    for (r = 0; r < SIZE; r++) v[r] = CSIM_R(1e3); /* far more than b gives */
    if (!restrain(start, v, lambda)) return false;
    for (r = 0; r < ROWS; r++) kept[r] = (double)lambda[r];
    feasible(lambda);
    work = motion(kept, exact, &q);
    for (r = 0; r < SIZE; r++) scale = fmax(scale, fabs(exact[r]));
    for (r = 0; r < SIZE; r++) NEAR(v[r], exact[r], TOL(1e-9, 1e-4) * scale); /* the motion is that of the impulses */
    CHECK(work <= TOL(1e-9, 1e-3) * fabs(q));                                 /* contacts put nothing in */
    least(first, second, q);
    return true;
}

TEST(kept_impulses_gain_nothing_and_the_motion_is_theirs) {
    const double factors[4] = {1, 1.3, 1.8, 3};
    int trial, k, done = 0;
    for (trial = 0; trial < 12; trial++)
        for (k = 0; k < 4; k++) {
            CASE("trial %d, %g times the impulses", trial, factors[k]);
            done += restrain_once(factors[k], 0.7);
        }
    printf("    %d of 48 kept\n", done);
    EQUAL(done, 48);
}

/* One impulse that is far too large leaves next to nothing of all of them together, and the floor would give way under
   everything else. From there on contacts go their own ways: what is kept gains nothing, and presses. */
TEST(where_shares_are_small_contacts_go_their_own_ways) {
    int trial, r, few = 0;
    for (trial = 0; trial < 24; trial++) {
        csim_real v[SIZE], lambda[ROWS], start[ROWS];
        double first[ROWS], kept[ROWS], exact[ROWS], motion_of[SIZE], q, share, most, own, work;
        cp_make(NODES, TOUCHES, CP_GENERAL, CSIM_LAW_STRICT, 10);
        dense();
        for (r = 0; r < ROWS; r++) lambda[r] = cp.lambda[r], start[r] = 0, exact[r] = (double)cp.lambda[r];
        for (r = 0; r < 3; r++) lambda[3 * (trial % TOUCHES) + r] *= 20;
        for (r = 0; r < ROWS; r++) first[r] = (double)lambda[r];
        work = motion(first, motion_of, &q); /* q(s) = s^2 (work - q) + s (2 q - work) */
        share = fmin(1, fmax(0, (work - 2 * q) / (2 * (work - q))));
        if (share >= 0.5 || share <= 0) continue;
        few++;
        CASE("trial %d, share %g", trial, share);
        most = share * share * (work - q) + share * (2 * q - work);
        for (r = 0; r < SIZE; r++) v[r] = 1e3;
        REQUIRE(restrain(start, v, lambda));
        feasible(lambda);
        for (r = 0; r < ROWS; r++) kept[r] = (double)lambda[r];
        work = motion(kept, motion_of, &own);
        for (r = 0; r < SIZE; r++) NEAR(v[r], motion_of[r], TOL(1e-7, 1e-3) * (1 + fabs(motion_of[r])));
        CHECK(work <= TOL(1e-9, 1e-3) * fabs(own));
        motion(exact, motion_of, &q);
        CHECK(own < most && own < 0.2 * q); /* below 0, and exact impulses have the least or little more */
    }
    CHECK(few > 8);
}

/* The same impulses beside a motion that is nearly the one asked for: it does no harm, and stays. */
TEST(a_motion_that_gains_nothing_stays) {
    int trial, r, stayed = 0;
    for (trial = 0; trial < 24; trial++) {
        csim_real v[SIZE], lambda[ROWS], start[ROWS], left[SIZE];
        double exact[ROWS], motion_of[SIZE], q, work, free[SIZE], b[SIZE], gain = 0, most = 0;
        int i;
        cp_make(NODES, TOUCHES, CP_GENERAL, CSIM_LAW_STRICT, 10);
        dense();
        for (r = 0; r < ROWS; r++) lambda[r] = cp.lambda[r], start[r] = 0, exact[r] = (double)cp.lambda[r];
        for (r = 0; r < 3; r++) lambda[3 * (trial % TOUCHES) + r] *= 20;
        motion(exact, motion_of, &q);
        for (i = 0; i < SIZE; i++) v[i] = left[i] = CSIM_R(0.98 * motion_of[i]), b[i] = (double)cp.p.b[i];
        gauss(b, free);
        for (i = 0; i < SIZE; i++) {
            most += 1e-3 * b[i] * free[i];
            gain -= (double)v[i] * b[i];
            for (r = 0; r < SIZE; r++) gain += (double)v[i] * A[i][r] * (double)v[r];
        }
        if (restrain(start, v, lambda)) continue;
        stayed++;
        CASE("trial %d", trial);
        for (r = 0; r < ROWS; r++) exact[r] = (double)lambda[r];
        work = motion(exact, motion_of, &q);
        CHECK(work > 2 * q && gain <= most * (1 + TOL(1e-9, 1e-3))); /* a share of less than a half */
        for (i = 0; i < SIZE; i++) CHECK(v[i] >= left[i] && v[i] <= left[i]);
    }
    CHECK(stayed > 4);
}

/* Impulses of no use, from a start without: what is kept is the answer where contacts give way, or a share of it. */
TEST(impulses_that_are_far_too_large_give_way) {
    int trial, r;
    for (trial = 0; trial < 12; trial++) {
        csim_real v[SIZE], lambda[ROWS], start[ROWS];
        double want[ROWS], kept[ROWS], motion_of[SIZE], q, share = 1, size = 0, own = 0, with = 0;
        cp_make(NODES, TOUCHES, CP_GENERAL, CSIM_LAW_STRICT, 10);
        dense();
        for (r = 0; r < TOUCHES && trial % 2; r++) ((csim_contact *)cp.p.contacts)[r].mass[r % 2] = CSIM_R(0.5);
        for (r = 0; r < ROWS; r++) lambda[r] = CSIM_R(1e6) * cp.lambda[r], start[r] = 0;
        for (r = 0; r < SIZE; r++) v[r] = CSIM_R(1e6);
        CASE("trial %d", trial);
        REQUIRE(restrain(start, v, lambda));
        giving(want);
        for (r = 0; r < ROWS; r++) size = fmax(size, fabs(want[r]));
        motion(want, motion_of, &q);
        for (r = 0; r < ROWS; r++) own += want[r] * (double)lambda[r], with += want[r] * want[r];
        share = own / with;
        CHECK(share > 0.9 && share < 1 + TOL(1e-4, GIVEN));
        for (r = 0; r < ROWS && sizeof(csim_real) > 4; r++) NEAR(lambda[r], share * want[r], 1e-4 * size);
        for (r = 0; r < ROWS; r++) kept[r] = (double)lambda[r], want[r] *= share;
        motion(want, motion_of, &size);
        motion(kept, motion_of, &q);
        NEAR(q, size, TOL(1e-6, GIVEN) * fabs(size));
    }
}

/* Of a solid so stiff that the answer where contacts give way is not found in the time it has, what the solve found
   is kept, for nothing in it is far too large: without these impulses the solid falls through the floor. */
TEST(what_is_stiff_keeps_what_its_solve_found) {
    static const double young[3] = {1e6, 1e8, 1e9};
    int k, i;
    for (k = 0; k < 6; k++) { /* the last three lie too deep, and nothing moves them but what pushes them out */
        const double size[3] = {0.1, 0.1, 0.1}, at[3] = {0, 0, 0};
        const csim_real up[3] = {0, 0, 1};
        csim_solver_params params = csim_default_solver_params();
        csim_real *start, pressed = 0, kept = 0;
        toy s;
        CASE("%g Pa, %s", young[k % 3], k < 3 ? "falls" : "is pushed out");
        toy_begin(&s, 8, 8, 8, size, at, false, young[k % 3], 1000, 0, 0.01);
        if (k < 3) toy_gravity(&s, 9.81);
        for (i = 0; i < 81; i++) toy_touch(&s, i, -1, -1, s.X + 3 * i, up, k < 3 ? 0 : -0.01, 0.5);
        for (i = 0; i < s.nodes && k < 3; i++) s.v[3 * i + 2] = -1;
        toy_finish(&s, 0);
        toy_problem(&s);
        start = (csim_real *)toy_alloc(3 * (size_t)s.row_count, sizeof *start);
        STATUS(toy_solve(&s, &params), CSIM_OK);
        for (i = 0; i < s.row_count; i++) pressed += s.lambda[3 * i];
        CHECK(restrain_of(&s.problem, start, s.v, s.lambda));
        for (i = 0; i < s.row_count; i++) kept += s.lambda[3 * i];
        if (k < 3 || CSIM_REAL_SIZE == 8)
            NEAR(kept, pressed, TOL(1e-3, 0.1) * (double)pressed);
        else
            CHECK(kept > pressed / 2); /* float's solve misses, and the share of it that is kept is the best one */
        free(start);
        toy_free(&s);
    }
}

/* What lies between the ground and a lid that is lower than it is high: no motion obeys both. Impulses grew to 1e16 N s
   without end, and where they did not cancel to the last bit the world flew apart. */
TEST(what_is_squeezed_is_not_pressed_without_end) {
    int trial, i, k, n, missed = 0;
    for (trial = 0; trial < 4; trial++) {
        csim_world_def def = csim_default_world_def();
        csim_rigid_def lid = csim_default_rigid_def(), body = csim_default_rigid_def();
        csim_tree_def tree = csim_default_tree_def();
        csim_tree_link_def link[2];
        csim_shape plate = csim_box(csim_v3(CSIM_R(0.3), CSIM_R(0.2), CSIM_R(0.1)));
        csim_shape ball[2];
        csim_body_id id;
        csim_world *w = NULL;
        CASE("trial %d", trial);
        STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
        STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), (csim_real)check_random(0.2, 0.9), &id), CSIM_OK);
        lid.shapes = &plate, lid.shape_count = 1, lid.motion = CSIM_STATIC;
        lid.pose.position = csim_v3(0, 0, CSIM_R(0.1) + (csim_real)check_random(0.1, 0.15));
        lid.pose.rotation = csim_quat_axis_angle(csim_v3(1, (csim_real)check_random(-1, 1), 0),
                                                 (csim_real)check_random(0, 0.3));
        STATUS(csim_create_rigid(w, &lid, &id), CSIM_OK);
        for (i = 0; i < 2; i++) {
            ball[i] = i ? csim_capsule(CSIM_R(0.06), CSIM_R(0.15)) : csim_sphere(CSIM_R(0.15));
            link[i] = csim_default_tree_link_def();
            link[i].shapes = ball + i, link[i].shape_count = 1;
            link[i].parent = i - 1;
            link[i].joint = i ? CSIM_TREE_REVOLUTE : CSIM_TREE_FLOATING;
            link[i].frame.position = csim_v3(0, 0, i ? CSIM_R(0.4) : 0);
        }
        tree.links = link, tree.link_count = 2;
        tree.pose.position = csim_v3((csim_real)check_random(-0.1, 0.1), 0, CSIM_R(0.1));
        tree.pose.rotation = csim_quat_axis_angle(csim_v3(1, 0, 0), CSIM_R(1.57));
        body.shapes = ball, body.shape_count = 1, body.pose = tree.pose;
        if (trial % 2) STATUS(csim_create_tree(w, &tree, &id), CSIM_OK);
        else STATUS(csim_create_rigid(w, &body, &id), CSIM_OK);
        for (i = 0; i < 8; i++) {
            const csim_contact_info *contact;
            csim_vec3 v;
            STATUS(csim_world_step(w, CSIM_R(1.0 / 60)), CSIM_OK);
            missed += csim_world_stats(w).result > CSIM_RESULT_UNCHECKED;
            STATUS(csim_body_get_velocity(w, id, &v, NULL), CSIM_OK);
            CHECK(csim_length(v) < 5);
            contact = csim_world_contacts(w, &n);
            for (k = 0; k < n; k++) CHECK(csim_length(contact[k].impulse) < CSIM_R(1e5)); /* 20 kg, a thousand times */
        }
        csim_destroy_world(w);
    }
    CHECK(missed > 8);
}

/* ---- one block on the ground */

static csim_contact lone_contact;
static csim_term lone_term;
static csim_real lone_mass[9], lone_load[3];

/* A mass of 1 that comes down at 1 m/s and slides at 1 m/s along t2; the frame is x, y, z. */
static csim_problem lone_block(csim_law law, double mu0, double mu1) {
    static const int row[2] = {0, 1}, col[1] = {0};
    csim_problem p;
    memset(&p, 0, sizeof p);
    memset(&lone_contact, 0, sizeof lone_contact);
    memset(&lone_term, 0, sizeof lone_term);
    memset(lone_mass, 0, sizeof lone_mass);
    lone_contact.law = law;
    lone_contact.mu[0] = CSIM_R(mu0), lone_contact.mu[1] = CSIM_R(mu1);
    lone_contact.omega[0] = lone_contact.omega[1] = CSIM_R(0.05);
    lone_contact.a.count = 1;
    lone_mass[0] = lone_mass[4] = lone_mass[8] = 1;
    lone_term.J[0] = lone_term.J[4] = lone_term.J[8] = 1;
    lone_contact.R[0] = lone_contact.R[4] = lone_contact.R[8] = 1;
    lone_load[0] = -1, lone_load[1] = 0, lone_load[2] = 1;
    p.A.n = 1, p.A.row = row, p.A.col = col, p.A.diag = col, p.A.val = lone_mass;
    p.b = lone_load;
    p.contact_count = p.term_count = 1;
    p.contacts = &lone_contact;
    p.terms = &lone_term;
    p.theta = 1;
    return p;
}

/* What gives way neither sinks in nor lifts while it slides, under any law of Coulomb: u_n = -omega lambda_n within the
   thousandth that contacts give, and friction takes the least coefficient's share of lambda_n. */
TEST(what_slides_and_gives_way_stays_on_the_ground) {
    static const struct {
        csim_law law;
        double mu0, mu1, mu, omega;
    } cases[4] = {{CSIM_LAW_STRICT, 0.3, 0.3, 0.3, 0},
                  {CSIM_LAW_ANISOTROPIC, 0.9, 0.3, 0.3, 0},
                  {CSIM_LAW_ANISOTROPIC, 0.3, 0.9, 0.3, 0},
                  {CSIM_LAW_INVERTIBLE, 0.3, 0.9, 0.3, 0.05}};
    int k;
    for (k = 0; k < 4; k++) {
        const csim_problem p = lone_block(cases[k].law, cases[k].mu0, cases[k].mu1);
        const double n = 1 / (1 + cases[k].omega);
        csim_real v[3] = {0, 0, 0}, start[3] = {0, 0, 0}, lambda[3] = {CSIM_R(1e6), 0, 0};
        CASE("case %d", k);
        REQUIRE(restrain_of(&p, start, v, lambda));
        NEAR(lambda[0], n, 3e-3);
        NEAR(v[0], n - 1, 3e-3);
        NEAR(lambda[2], -cases[k].mu * n, 3e-3);
        NEAR(v[2], 1 - cases[k].mu * n, 3e-3);
    }
}

/* Two motions that are numbers, whose sum is none in float: it is refused, and what was there stays. In double the
   squares of such numbers are too large before. */
TEST(what_is_refused_stays_as_it_was) {
    csim_problem p = lone_block(CSIM_LAW_STRICT, 0.5, 0.5);
    const csim_real huge = CSIM_R(TOL(1.3e308, 2.5e38));
    csim_real v[3] = {1, 2, 3}, start[3] = {0, 0, 0}, lambda[3] = {0, 0, 0};
    lone_term.J[0] = CSIM_R(0.5);
    lone_load[0] = huge, lone_load[2] = 0;
    lone_contact.phi[0] = CSIM_R(-1.3) * huge;
    lambda[0] = CSIM_R(1.2) * huge;
    CHECK(!restrain_of(&p, start, v, lambda));
    CHECK(v[0] >= 1 && v[0] <= 1 && v[1] >= 2 && v[1] <= 2 && v[2] >= 3 && v[2] <= 3);
    CHECK(lambda[0] >= CSIM_R(1.2) * huge && lambda[0] <= CSIM_R(1.2) * huge);
}
