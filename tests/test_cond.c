/* test_cond: the nodal form, the iteration with every W and acceleration, the coarse correction, the dispatch. */
#include "check.h"
#include "cond_scenes.h"

/* ---- an independent solver: dense A^-1 and a projected fixed point on the impulses, with projections of its own */

typedef struct dense {
    int n, rows; /* 3 blocks, 3 contacts */
    double *A, *J, *AiJ, *W, *q, *lambda, *v, *free_v;
} dense;

/* x <- A^-1 x for count right-hand sides (columns of x, n rows), by Gauss elimination without pivoting: A is SPD. */
static void dense_solve(int n, const double *given, int count, double *x) {
    double *A = (double *)malloc((size_t)(n * n) * sizeof(double));
    int i, j, k;
    memcpy(A, given, (size_t)(n * n) * sizeof(double));
    for (k = 0; k < n; ++k)
        for (i = k + 1; i < n; ++i) {
            const double f = A[i * n + k] / A[k * n + k];
            if (f == 0) continue;
            for (j = k; j < n; ++j) A[i * n + j] -= f * A[k * n + j];
            for (j = 0; j < count; ++j) x[i * count + j] -= f * x[k * count + j];
        }
    for (i = n - 1; i >= 0; --i)
        for (j = 0; j < count; ++j) {
            for (k = i + 1; k < n; ++k) x[i * count + j] -= A[i * n + k] * x[k * count + j];
            x[i * count + j] /= A[i * n + i];
        }
    free(A);
}

static void dense_disk(double a, double b, double *t) {
    /* nearest point of (t1/a)^2 + (t2/b)^2 <= 1 by bisection on the multiplier */
    double lo = 0, hi = 1e3 * (fabs(t[0]) * a + fabs(t[1]) * b) + 1, s = 0;
    int k;
    if (a <= 0 || b <= 0) {
        t[0] = t[1] = 0;
        return;
    }
    if (t[0] * t[0] / (a * a) + t[1] * t[1] / (b * b) <= 1) return;
    for (k = 0; k < 200; ++k) {
        double x, y;
        s = 0.5 * (lo + hi);
        x = t[0] * a / (a * a + s), y = t[1] * b / (b * b + s);
        if (x * x + y * y > 1)
            lo = s;
        else
            hi = s;
    }
    t[0] *= a * a / (a * a + s);
    t[1] *= b * b / (b * b + s);
}

static void dense_project(const csim_contact *c, double *l) {
    const double mu = (double)c->mu[0];
    double t;
    int i;
    switch (c->law) {
    case CSIM_LAW_PROXIMAL:
        t = sqrt(l[1] * l[1] + l[2] * l[2]);
        if (t <= mu * l[0]) return;
        if (mu * t <= -l[0]) {
            l[0] = l[1] = l[2] = 0;
            return;
        }
        l[0] = (l[0] + mu * t) / (1 + mu * mu);
        l[1] *= mu * l[0] / t;
        l[2] *= mu * l[0] / t;
        return;
    case CSIM_LAW_BILATERAL:
        for (i = 0; i < 3; ++i)
            if (!(c->mask >> i & 1)) l[i] = 0;
        return;
    case CSIM_LAW_BOX:
        for (i = 0; i < 3; ++i) l[i] = fmin(fmax(l[i], (double)c->lo[i]), (double)c->hi[i]);
        return;
    case CSIM_LAW_STRICT:
    case CSIM_LAW_ANISOTROPIC:
    case CSIM_LAW_INVERTIBLE:
    case CSIM_LAW_COUNT_:
    default:
        l[0] = fmax(l[0], 0);
        dense_disk(mu * l[0], (c->law == CSIM_LAW_ANISOTROPIC ? (double)c->mu[1] : mu) * l[0], l + 1);
    }
}

static void dense_begin(dense *d, const csim_problem *p) {
    int i, j, k, r, m, side;
    d->n = 3 * p->A.n;
    d->rows = 3 * p->contact_count;
    d->A = (double *)toy_alloc((size_t)(d->n * d->n), sizeof(double));
    d->J = (double *)toy_alloc((size_t)(d->rows * d->n), sizeof(double));
    d->AiJ = (double *)toy_alloc((size_t)(d->rows * d->n), sizeof(double));
    d->W = (double *)toy_alloc((size_t)(d->rows * d->rows), sizeof(double));
    d->q = (double *)toy_alloc((size_t)d->rows, sizeof(double));
    d->lambda = (double *)toy_alloc((size_t)d->rows, sizeof(double));
    d->v = (double *)toy_alloc((size_t)d->n, sizeof(double));
    d->free_v = (double *)toy_alloc((size_t)d->n, sizeof(double));
    for (i = 0; i < p->A.n; ++i)
        for (k = p->A.row[i]; k < p->A.row[i + 1]; ++k)
            for (r = 0; r < 9; ++r) d->A[(3 * i + r / 3) * d->n + 3 * p->A.col[k] + r % 3] = (double)p->A.val[9 * k + r];
    for (m = 0; m < p->contact_count; ++m)
        for (side = 0; side < 2; ++side) {
            const csim_side s = side ? p->contacts[m].b : p->contacts[m].a;
            for (k = s.first; k < s.first + s.count; ++k)
                for (i = 0; i < 3; ++i)
                    for (j = 0; j < 3; ++j)
                        for (r = 0; r < 3; ++r)
                            d->J[(3 * m + i) * d->n + 3 * p->terms[k].block + j] +=
                                (side ? -1 : 1) * (double)p->contacts[m].R[3 * i + r] * (double)p->terms[k].J[3 * r + j];
        }
    for (i = 0; i < d->rows; ++i)
        for (j = 0; j < d->n; ++j) d->AiJ[j * d->rows + i] = d->J[i * d->n + j];
    dense_solve(d->n, d->A, d->rows, d->AiJ);
    for (i = 0; i < d->n; ++i) d->free_v[i] = (double)p->b[i];
    dense_solve(d->n, d->A, 1, d->free_v);
    for (i = 0; i < d->rows; ++i) {
        d->q[i] = (double)p->contacts[i / 3].phi[i % 3];
        for (k = 0; k < d->n; ++k) d->q[i] += d->J[i * d->n + k] * d->free_v[k];
        for (j = 0; j < d->rows; ++j)
            for (k = 0; k < d->n; ++k) d->W[i * d->rows + j] += d->J[i * d->n + k] * d->AiJ[k * d->rows + j];
    }
}

/* Gauss-Seidel over the contacts; within a contact lambda <- Project(lambda - rho u), which for the strict law and the
   others has the law itself as its fixed point. */
static void dense_run(dense *d, const csim_problem *p, int sweeps) {
    int s, m, i, j, inner;
    for (s = 0; s < sweeps; ++s)
        for (m = 0; m < p->contact_count; ++m) {
            const csim_contact *c = p->contacts + m;
            double *l = d->lambda + 3 * m, rest[3];
            const double *W = d->W + 3 * m * d->rows + 3 * m;
            const double rho = 0.9 / (W[0] + W[d->rows + 1] + W[2 * d->rows + 2]);
            for (i = 0; i < 3; ++i) {
                rest[i] = d->q[3 * m + i];
                for (j = 0; j < d->rows; ++j)
                    if (j / 3 != m) rest[i] += d->W[(3 * m + i) * d->rows + j] * d->lambda[j];
            }
            for (inner = 0; inner < 60; ++inner) {
                double u[3];
                for (i = 0; i < 3; ++i) {
                    u[i] = rest[i] + W[i * d->rows] * l[0] + W[i * d->rows + 1] * l[1] + W[i * d->rows + 2] * l[2];
                    if (c->law == CSIM_LAW_INVERTIBLE) u[i] += (double)c->omega[i > 0] * l[i];
                }
                for (i = 0; i < 3; ++i) l[i] -= rho * u[i];
                dense_project(c, l);
            }
        }
    for (i = 0; i < d->n; ++i) {
        d->v[i] = d->free_v[i];
        for (j = 0; j < d->rows; ++j) d->v[i] += d->AiJ[i * d->rows + j] * d->lambda[j];
    }
}

static void dense_end(dense *d) {
    free(d->A), free(d->J), free(d->AiJ), free(d->W), free(d->q), free(d->lambda), free(d->v), free(d->free_v);
}

static double difference(int n, const csim_real *a, const double *b) {
    double worst = 0;
    int i;
    for (i = 0; i < n; ++i) worst = fmax(worst, fabs((double)a[i] - b[i]));
    return worst;
}

static csim_solver_params cond_params(void) {
    csim_solver_params p = csim_default_solver_params();
    p.solver = CSIM_SOLVER_COND;
    return p;
}

/* ---- islands and the nodal form */

TEST(islands_join_what_touches) {
    toy s;
    int island[6], contact_island[3], scratch[6], count;
    unsigned char skip[6] = {0, 0, 0, 0, 0, 0};
    const double edge[3] = {1, 1, 1};
    const csim_real n[3] = {0, 0, 1}, p[3] = {0, 0, 0};
    toy_begin(&s, 0, 0, 0, edge, edge, false, 0, 0, 3, 0.01);
    toy_box(&s, 0, 1, edge, 0, 0, 0);
    toy_box(&s, 1, 1, edge, 0, 0, 1);
    toy_box(&s, 2, 1, edge, 0, 0, 2);
    toy_touch(&s, -1, 0, -1, p, n, 0, 0.5); /* the ground joins nothing */
    toy_touch(&s, -1, 1, -1, p, n, 0, 0.5);
    toy_touch(&s, -1, 2, 1, p, n, 0, 0.5);
    toy_finish(&s, 0);
    toy_problem(&s);
    count = csimi_islands(&s.A, NULL, 3, s.row, s.term, island, contact_island, scratch);
    EQUAL(count, 2);
    EQUAL(island[0], 0);
    EQUAL(island[1], 0);
    EQUAL(island[2], 1);
    EQUAL(island[5], 1);
    EQUAL(contact_island[0], 0);
    EQUAL(contact_island[1], 1);
    EQUAL(contact_island[2], 1);
    skip[2] = skip[3] = 1; /* a fixed body parts its neighbours */
    count = csimi_islands(&s.A, skip, 3, s.row, s.term, island, contact_island, scratch);
    EQUAL(count, 2);
    EQUAL(island[2], -1);
    EQUAL(island[4], 1);
    EQUAL(contact_island[1], -1);
    EQUAL(contact_island[2], 1);
    toy_free(&s);
}

/* W of both kinds, from the dense nodal matrix D [3N * 3N]: 1 / the diagonal, whose mean counts on pinned nodes; and
   the minimiser of |I - W S|_F for S = D scaled by that diagonal, trace over squared norm of its rows. work [12N]. */
static void nodal_weights_are_dense(const csimi_nodal *nodal, const double *D, csim_real *work) {
    const int N = nodal->count, n = 3 * N;
    unsigned char *pinned = (unsigned char *)toy_alloc((size_t)N, 1);
    double *d = (double *)toy_alloc((size_t)n, sizeof(double));
    csim_real *w = (csim_real *)toy_alloc((size_t)n, sizeof(csim_real));
    int kind, i, j, r;
    for (i = 0; i < N; ++i) pinned[i] = i == 3 || i >= nodal->problem.A.n;
    for (i = 0; i < n; ++i) {
        d[i] = D[i * n + i];
        if (pinned[i / 3])
            for (r = 0, d[i] = 0; r < 3; ++r) d[i] += D[(i / 3 * 3 + r) * (n + 1)] / 3;
    }
    for (kind = 0; kind < 2; ++kind) {
        if (kind)
            csimi_weights_frobenius(nodal, pinned, w, work);
        else
            csimi_weights_jacobi(nodal, pinned, w);
        for (i = 0; i < n; ++i) {
            double trace = 0, norm = 0;
            for (r = pinned[i / 3] ? i / 3 * 3 : i; r < (pinned[i / 3] ? i / 3 * 3 + 3 : i + 1); ++r) {
                trace += D[r * n + r] / d[r];
                for (j = 0; j < n; ++j) norm += D[r * n + j] * D[r * n + j] / (d[r] * d[j]);
            }
            NEAR((double)w[i] * d[i], kind ? trace / norm : 1, TOL(1e-13, 1e-5)); /* rounding of two sums */
        }
    }
    free(pinned), free(d), free(w);
}

/* The nodal matrix is A + sum kappa [J -I]'[J -I]: what it does to every unit vector is compared entry by entry with
   that sum made densely, and so are the weights that are made for it. */
TEST(nodal_matrix_is_the_coupled_one) {
    toy s;
    csimi_arena arena;
    csimi_nodal nodal;
    void *block = malloc(1 << 22);
    double *D, worst = 0, largest = 0;
    csim_real *work;
    int n, N, i, j, k, m;
    const csim_real up[3] = {0, 0, 1};
    const double size[3] = {1, 1, 1};
    toy_begin(&s, 1, 1, 1, size, size, false, 1e5, 1000, 2, 0.01);
    toy_box(&s, 0, 2, size, 0, 0, 0);
    toy_box(&s, 1, 3, size, 0, 0, 1);
    toy_touch(&s, 3, -1, 0, s.X + 9, up, 0, 0.5);
    toy_touch(&s, 3, -1, -1, s.X + 9, up, 0, 0.5); /* second contact on the node: a virtual node with J = I */
    toy_touch(&s, -1, 1, 0, s.X, up, 0, 0.5);
    toy_finish(&s, 2);
    for (i = 0; i < 3 * s.blocks; ++i) s.v[i] = (csim_real)check_random(-1, 1);
    s.contact[0].lambda[0] = 2;
    toy_problem(&s);
    arena = csimi_arena_in(block, 1 << 22);
    STATUS(csimi_nodalize(&s.problem, 100, 0, 0, true, s.v, s.lambda, &arena, &nodal), CSIM_OK);
    n = s.blocks, N = nodal.count;
    EQUAL(nodal.virtual_count, 4);
    EQUAL(nodal.node_a[0], 3);
    EQUAL(nodal.node_a[1], n + 1);
    EQUAL(nodal.node_b[1], -1);
    D = (double *)toy_alloc((size_t)(9 * N * N), sizeof(double));
    for (i = 0; i < n; ++i)
        for (k = s.A.row[i]; k < s.A.row[i + 1]; ++k)
            for (j = 0; j < 9; ++j) D[(3 * i + j / 3) * 3 * N + 3 * s.A.col[k] + j % 3] += (double)s.A.val[9 * k + j];
    for (m = 0; m < nodal.virtual_count; ++m)
        for (k = 0; k < 3; ++k) {
            double *row = (double *)toy_alloc((size_t)(3 * N), sizeof(double));
            row[3 * (n + m) + k] = -1;
            for (i = 0; i < nodal.side[m].count; ++i) {
                const csim_term *t = s.term + nodal.side[m].first + i;
                for (j = 0; j < 3; ++j) row[3 * t->block + j] += (double)t->J[3 * k + j];
            }
            for (i = 0; i < 3 * N; ++i)
                for (j = 0; j < 3 * N; ++j) D[i * 3 * N + j] += (double)nodal.kappa[m] * row[i] * row[j];
            free(row);
        }
    work = (csim_real *)toy_alloc((size_t)(12 * N), sizeof(csim_real));
    for (i = 0; i < 3 * N; ++i) {
        work[i] = 1;
        csimi_nodal_product(&nodal, work, work + 3 * N, true, NULL);
        work[i] = 0;
        for (j = 0; j < 3 * N; ++j) {
            largest = fmax(largest, fabs(D[j * 3 * N + i]));
            worst = fmax(worst, fabs(D[j * 3 * N + i] - (double)work[3 * N + j]));
        }
    }
    NEAR(worst / largest, 0, TOL(1e-15, 1e-6)); /* rounding of one sum */
    nodal_weights_are_dense(&nodal, D, work);
    free(work);
    /* shift by c lambda, and a start where the node balances its last impulse */
    NEAR(nodal.problem.contacts[0].phi[0], -2 / (double)nodal.kappa[0], TOL(1e-15, 1e-7));
    for (k = 0; k < 3; ++k) {
        csim_real u[3] = {0, 0, 0};
        for (i = 0; i < 2; ++i)
            csimi_addmul3(s.term[nodal.side[0].first + i].J, s.v + 3 * s.term[nodal.side[0].first + i].block, u);
        NEAR(nodal.start[3 * n + k], u[k] - (k == 2 ? 2 / nodal.kappa[0] : 0), TOL(1e-14, 1e-5));
    }
    free(D);
    /* a mass that a contact brings is kept; where it brings none: 3 / tr(J D^-1 J') with the diagonal blocks D of A */
    for (m = 0; m < 2; ++m) {
        const csim_term *t = s.term + s.row[2].a.first;
        const csim_real *mass;
        double trace = 0;
        s.row[2].mass[0] = m ? 7 : 0;
        arena = csimi_arena_in(block, 1 << 22);
        STATUS(csimi_nodalize(&s.problem, 100, 0, 0, true, s.v, s.lambda, &arena, &nodal), CSIM_OK);
        for (i = 0; i < s.row[2].a.count; ++i, ++t) {
            double d[9], x[9];
            for (j = 0; j < 9; ++j) {
                d[j] = (double)s.A.val[9 * s.A.diag[t->block] + j];
                x[j] = (double)t->J[j % 3 * 3 + j / 3];
            }
            dense_solve(3, d, 3, x); /* D^-1 J' */
            for (j = 0; j < 9; ++j) trace += (double)t->J[j] * x[j % 3 * 3 + j / 3];
        }
        mass = nodal.problem.contacts[2].mass;
        NEAR(mass[0], m ? 7 : 3 / trace, TOL(1e-13, 1e-5)); /* rounding of two sums */
        NEAR(nodal.kappa[3], 100 / (1 / (double)mass[0] + 1 / (double)mass[1]), TOL(1e-11, 1e-4));
    }
    free(block);
    toy_free(&s);
}

/* ---- laws against the dense solver */

static void law_case(csim_law law, double mu, double push) {
    toy s;
    dense d;
    csim_solver_params p = cond_params();
    int m;
    CASE("law %d, mu %g", (int)law, mu);
    p.tolerance = TOL(CSIM_R(1e-11), CSIM_R(2e-5));
    p.max_iterations = 3000;
    toy_cube(&s, 2, 1e5, push);
    s.law = law;
    for (m = 0; m < s.contact_count; ++m) s.contact[m].mu = (csim_real)mu;
    toy_problem(&s);
    for (m = 0; m < s.row_count; ++m) {
        s.row[m].mu[1] = law == CSIM_LAW_ANISOTROPIC ? CSIM_R(0.3) * s.row[m].mu[0] : s.row[m].mu[0];
        s.row[m].omega[0] = CSIM_R(0.05);
        s.row[m].omega[1] = CSIM_R(0.02);
        s.row[m].mask = m % 2 ? 7 : 1;
        s.row[m].lo[0] = 0, s.row[m].hi[0] = CSIM_R(0.1);
        s.row[m].lo[1] = s.row[m].lo[2] = CSIM_R(-0.01), s.row[m].hi[1] = s.row[m].hi[2] = CSIM_R(0.02);
    }
    dense_begin(&d, &s.problem);
    dense_run(&d, &s.problem, 400);
    STATUS(toy_solve(&s, &p), CSIM_OK);
    EQUAL(s.outcome.result, CSIM_RESULT_CONVERGED);
    EQUAL(s.outcome.virtual_nodes, 0);
    /* v ~ 0.2 m/s; the tolerance on forces times the condition of A */
    NEAR(difference(d.n, s.v, d.v), 0, TOL(1e-8, 5e-4));
    dense_end(&d);
    toy_free(&s);
}

TEST(laws_against_a_dense_solver) {
    law_case(CSIM_LAW_STRICT, 0.5, 3);
    law_case(CSIM_LAW_STRICT, 0.2, 8);
    law_case(CSIM_LAW_STRICT, 0, 3);
    law_case(CSIM_LAW_PROXIMAL, 0.5, 3);
    law_case(CSIM_LAW_PROXIMAL, 0.2, 8);
    law_case(CSIM_LAW_ANISOTROPIC, 0.4, 5);
    law_case(CSIM_LAW_INVERTIBLE, 0.5, 3);
    law_case(CSIM_LAW_BILATERAL, 0.5, 3);
    law_case(CSIM_LAW_BOX, 0.5, 3);
}

/* ---- every W and every acceleration finds the same velocity */

TEST(weights_and_accelerations_agree) {
    const csim_acceleration kinds[5] = {CSIM_ACCELERATION_NONE, CSIM_ACCELERATION_CHEBYSHEV, CSIM_ACCELERATION_ANDERSON,
                                        CSIM_ACCELERATION_COARSE, CSIM_ACCELERATION_AUTO};
    toy s;
    csim_real *start, *first;
    int a, w, i;
    toy_cube(&s, 4, 1e5, 3);
    start = (csim_real *)toy_alloc(3 * (size_t)s.blocks, sizeof(csim_real));
    first = (csim_real *)toy_alloc(3 * (size_t)s.blocks, sizeof(csim_real));
    memcpy(start, s.v, 3 * (size_t)s.blocks * sizeof(csim_real));
    for (a = 0; a < 5; ++a)
        for (w = 0; w < (int)CSIM_WEIGHT_COUNT_; ++w) {
            csim_solver_params p = cond_params();
            double worst = 0;
            if (w >= (int)CSIM_WEIGHT_BB1 && a > 0) continue; /* those take no acceleration */
            CASE("acceleration %d, weight %d", (int)kinds[a], w);
            p.cond.acceleration = kinds[a];
            p.cond.weight = (csim_weight)w;
            p.tolerance = TOL(CSIM_R(1e-9), CSIM_R(2e-5));
            p.max_iterations = 20000;
            toy_problem(&s);
            memcpy(s.v, start, 3 * (size_t)s.blocks * sizeof(csim_real));
            toy_problem(&s); /* b holds M v of the start */
            STATUS(toy_solve(&s, &p), CSIM_OK);
            EQUAL(s.outcome.result, CSIM_RESULT_CONVERGED);
            if (!a && !w) memcpy(first, s.v, 3 * (size_t)s.blocks * sizeof(csim_real));
            for (i = 0; i < 3 * s.blocks; ++i) worst = fmax(worst, fabs((double)(s.v[i] - first[i])));
            NEAR(worst, 0, TOL(1e-7, 1e-3)); /* both certified at the tolerance, times the condition number */
            memcpy(s.v, start, 3 * (size_t)s.blocks * sizeof(csim_real));
        }
    free(start);
    free(first);
    toy_free(&s);
}

/* ---- virtual nodes */

/* Two boxes in the air strike each other: nothing outside acts, so momentum stays. */
TEST(collision_keeps_momentum) {
    toy s;
    csim_solver_params p = cond_params();
    const double edge[3] = {0.2, 0.3, 0.1};
    const csim_real n[3] = {CSIM_R(-0.6), 0, CSIM_R(-0.8)}, point[3] = {CSIM_R(0.1), CSIM_R(0.02), CSIM_R(0.05)};
    double before[6], after[6];
    int k, i;
    p.tolerance = TOL(CSIM_R(1e-10), CSIM_R(1e-5));
    toy_begin(&s, 0, 0, 0, edge, edge, false, 0, 0, 2, 0.01);
    toy_box(&s, 0, 2, edge, 0, 0, 0);
    toy_box(&s, 1, 5, edge, 0.2, 0, 0.15);
    s.v[0] = 1, s.v[5] = 2, s.v[6] = CSIM_R(-0.5), s.v[10] = 1;
    toy_touch(&s, -1, 0, 1, point, n, 0, 0.4);
    toy_finish(&s, 0);
    for (k = 0; k < 2; ++k) {
        double *sum = k ? after : before;
        int body;
        if (k) STATUS(toy_step(&s, &p), CSIM_OK);
        for (i = 0; i < 6; ++i) sum[i] = 0;
        for (body = 0; body < 2; ++body)
            for (i = 0; i < 3; ++i) {
                const csim_real *v = s.v + 6 * body, *M = s.mass + 18 * body, *x = s.centre + 3 * body;
                const int a = (i + 1) % 3, b = (i + 2) % 3;
                sum[i] += (double)(M[4 * i] * v[i]);
                sum[3 + i] += (double)(M[9 + 4 * i] * v[3 + i] + M[0] * (x[a] * v[b] - x[b] * v[a]));
            }
    }
    EQUAL(s.outcome.result, CSIM_RESULT_CONVERGED);
    CHECK(s.lambda[0] > CSIM_R(0.1));
    for (i = 0; i < 6; ++i) NEAR(after[i], before[i], TOL(1e-9, 1e-4)); /* the residual the tolerance leaves */
    toy_free(&s);
}

/* Without the shift the nodal solution goes to that of the given contacts like 1/kappa; with it they are the same, to the
   tolerance, whatever the gain. */
SLOW_IN_FLOAT(virtual_nodes_vanish_with_gain_and_with_the_shift) {
    const double gain[4] = {1e2, 1e3, 1e4, 10};
    toy s;
    dense d;
    csim_real start[12];
    double error[4];
    int k, i, shift;
    toy_stack(&s, 2, 3);
    for (i = 0; i < 12; ++i) s.v[i] = start[i] = (csim_real)(0.02 * ((i * 7) % 5 - 2));
    toy_problem(&s);
    dense_begin(&d, &s.problem);
    dense_run(&d, &s.problem, 20000);
    for (shift = 0; shift < 2; ++shift)
        for (k = 0; k < 4; ++k) {
            csim_solver_params p = cond_params();
            CASE("shift %d, gain %g", shift, gain[k]);
            p.spring.gain = (csim_real)gain[k];
            p.cond.shift = shift;
            p.tolerance = TOL(CSIM_R(1e-10), CSIM_R(1e-5));
            memset(s.lambda, 0, 3 * (size_t)s.row_count * sizeof(csim_real));
            memcpy(s.v, start, sizeof start);
            STATUS(toy_solve(&s, &p), CSIM_OK);
            EQUAL(s.outcome.result, shift ? CSIM_RESULT_CONVERGED : CSIM_RESULT_STALLED);
            error[k] = difference(12, s.v, d.v);
            if (!shift) { /* the certificate is that of the given contacts */
                csim_certificate given;
                const size_t bytes = csim_certificate_bytes(s.problem.A.n, s.problem.contact_count);
                char *block = (char *)malloc(bytes + 64), *scratch = block + (64 - (uintptr_t)block % 64) % 64;
                STATUS(csim_problem_certify(&s.problem, s.v, s.lambda, scratch, bytes, &given), CSIM_OK);
                free(block);
                NEAR(s.outcome.certificate.velocity, given.velocity, TOL(1e-12, 1e-6) * given.velocity);
                CHECK(csim_certificate_worst(&given) > (double)p.tolerance);
            }
            if (!shift && k == 2) {
                CHECK(error[0] < 0.1);
                CHECK(error[1] < 0.2 * error[0] || sizeof(csim_real) == 4);
                CHECK(error[2] < 0.2 * error[1] || sizeof(csim_real) == 4);
            }
            if (shift) NEAR(error[k], 0, TOL(1e-7, 2e-3)); /* m/s; the speeds are 0.1, the tolerance 1e-10 or 1e-5 */
        }
    dense_end(&d);
    toy_free(&s);
}

static void run_steps(toy *s, const csim_solver_params *p, int steps, double *mean, int *most, int *unconverged) {
    int k, sum = 0;
    *most = *unconverged = 0;
    for (k = 0; k < steps; ++k) {
        STATUS(toy_step(s, p), CSIM_OK);
        sum += s->outcome.iterations;
        if (s->outcome.iterations > *most) *most = s->outcome.iterations;
        if (s->outcome.result != CSIM_RESULT_CONVERGED) *unconverged += 1;
    }
    *mean = (double)sum / steps;
}

TEST(rigid_stacks_through_virtual_nodes) {
    const double ratio[3] = {1, 100, 1000}, gain[3] = {30, 1e3, 1e4};
    int r, g, k;
    for (r = 0; r < 3; ++r)
        for (g = 0; g < 3; ++g) {
            toy s;
            csim_solver_params p = cond_params();
            double mean, deepest = 0;
            int most, bad;
            CASE("ratio %g, gain %g", ratio[r], gain[g]);
            p.spring.gain = (csim_real)gain[g];
            if (sizeof(csim_real) == 4 && r > 0 && g < r) continue; /* float loses the coupling in rounding */
            toy_stack(&s, r ? 5 : 10, ratio[r]);
            run_steps(&s, &p, 30, &mean, &most, &bad);
            EQUAL(bad, 0);
            printf("    ratio %4g, gain %5g: %.1f iterations, at most %d\n", ratio[r], gain[g], mean, most);
            CHECK(mean <= 16);
            CHECK(most <= TOL(40, 150));
            for (k = 0; k < s.contact_count; ++k) deepest = fmax(deepest, -(double)s.contact[k].gap);
            CHECK(deepest < 1e-3);
            toy_free(&s);
        }
}

/* The certificate of an outcome is that of the answer beside it: converged, or stopped at any cap, by COND and by AUTO
   with its second chance. */
TEST(certificate_is_that_of_the_answer) {
    const int cap[5] = {1, 3, 7, 20, 600};
    int solver, k, step, compared = 0;
    for (solver = 0; solver < 2; ++solver)
        for (k = 0; k < 5; ++k) {
            toy s;
            csim_solver_params p = cond_params();
            p.solver = solver ? CSIM_SOLVER_AUTO : CSIM_SOLVER_COND;
            p.max_iterations = cap[k];
            p.spring.gain = 30;
            CASE("solver %d, cap %d", solver, cap[k]);
            toy_stack(&s, 4, 50);
            for (step = 0; step < 6; ++step) {
                csim_certificate c;
                const csim_certificate *told = &s.outcome.certificate;
                size_t bytes;
                void *space;
                toy_problem(&s);
                s.row[5].law = CSIM_LAW_BILATERAL; /* with its neighbours: a joint that contacts contradict */
                s.row[5].mask = 7;
                s.row[5].phi[1] = CSIM_R(0.1);
                bytes = csim_certificate_bytes(s.blocks, s.row_count) + 64;
                space = malloc(bytes);
                STATUS(toy_solve(&s, &p), CSIM_OK);
                STATUS(csim_problem_certify(&s.problem, s.v, s.lambda, space, bytes, &c), CSIM_OK);
                NEAR(told->dynamics, c.dynamics, 0);
                NEAR(told->contact, c.contact, 0);
                CHECK(s.outcome.result != CSIM_RESULT_CONVERGED ||
                      (c.contact <= (double)p.tolerance && c.dynamics <= (double)p.tolerance));
                compared += c.contact > (double)p.tolerance || c.dynamics > (double)p.tolerance;
                free(space);
            }
            toy_free(&s);
        }
    CHECK(compared > 5); /* answers that are no solutions were among them */
}

/* ---- soft bodies: iterations */

static double grip_iterations(int cells, double young, double gain, double tolerance, int *unconverged) {
    toy s;
    csim_solver_params p = cond_params();
    double mean;
    int most, bad, k;
    p.spring.gain = (csim_real)gain;
    p.tolerance = (csim_real)tolerance;
    p.max_iterations = 1000;
    toy_grip(&s, cells, young);
    toy_drive(&s, 0.02, 0.02);
    for (k = 0; k < 14; ++k) { /* closing, then the plates stop, which is an impact of its own */
        if (k == 8) toy_drive(&s, 0, 0.02);
        STATUS(toy_step(&s, &p), CSIM_OK);
        *unconverged += s.outcome.result != CSIM_RESULT_CONVERGED;
    }
    run_steps(&s, &p, 8, &mean, &most, &bad);
    *unconverged += bad;
    printf("    ball of %d nodes, %g Pa, gain %g, to %g: %.1f iterations, at most %d\n", s.nodes, young, gain, tolerance,
           mean, most);
    toy_free(&s);
    return mean;
}

TEST(ball_grip_iterations_hardly_depend_on_stiffness_and_gain) {
    const double young[3] = {1e5, 1e6, 1e7}, gain[3] = {30, 1e3, 1e4};
    double low = 1e9, high = 0;
    int e, g, bad = 0;
    for (e = 0; e < 3; ++e)
        for (g = 0; g < 3; ++g) {
            double mean;
            if (sizeof(csim_real) == 4 && g > 0) continue; /* float at large gains: slow tails, not understood yet */
            mean = grip_iterations(10, young[e], gain[g], 5e-5, &bad);
            CHECK(mean <= TOL(45, 100));
            low = fmin(low, mean);
            high = fmax(high, mean);
        }
    CHECK(bad <= TOL(0, 3));
    printf("    spread %.1f .. %.1f\n", low, high);
    if (sizeof(csim_real) == 8) CHECK(grip_iterations(10, 1e6, 1e3, 1e-6, &bad) <= 80);
}

DOUBLE_TEST(ball_grip_iterations_grow_slowly) { /* float converges slowly on soft bodies between heavy ones */
    int bad = 0;
    const double gain = 1e3;
    const double small = grip_iterations(10, 1e6, gain, 5e-5, &bad), large = grip_iterations(20, 1e6, gain, 5e-5, &bad);
    CHECK(bad <= TOL(0, 3));
    printf("    growth %.2f at %.1f times the nodes\n", large / small, pow(21.0 / 11, 3));
    CHECK(large / small <= TOL(1.4, 2.5));
}

/* A first look that misses the tolerance is followed by one a little later, not by one at half the residual. */
DOUBLE_TEST(solves_end_where_the_tolerance_is_met) {
    csim_world *world;
    csim_body_id id;
    csim_mesh mesh;
    csim_soft_def soft;
    csim_step_stats stats;
    int k, count = 0, well = 0;
    STATUS(csim_create_world(NULL, &world, NULL), CSIM_OK);
    STATUS(csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id), CSIM_OK);
    STATUS(csim_mesh_make_box(csim_v3(CSIM_R(0.2), CSIM_R(0.2), CSIM_R(0.2)), 6, 6, 6, NULL, &mesh, NULL), CSIM_OK);
    soft = csim_mesh_soft_def(&mesh);
    soft.young = CSIM_R(1e6);
    soft.pose.position.z = CSIM_R(0.15);
    soft.pose.rotation = csim_quat_axis_angle(csim_v3(1, 1, 0), CSIM_R(0.955));
    STATUS(csim_create_soft(world, &soft, &id), CSIM_OK);
    csim_mesh_free(&mesh);
    for (k = 0; k < 60; ++k) {
        STATUS(csim_world_step(world, CSIM_R(0.01)), CSIM_OK);
        stats = csim_world_stats(world);
        if (stats.iterations <= 8) continue;
        count += 1;
        well += stats.certificate.dynamics < 0.6 * 5e-5;
    }
    CHECK(count > 20 && well <= 3);
    csim_destroy_world(world);
}

/* AUTO goes once more from rest where COND got lost: here a start far off, with as many iterations as rest needs. */
TEST(what_is_missed_is_solved_from_rest) {
    toy s;
    csim_solver_params p = cond_params();
    int k, i;
    toy_grip(&s, 10, 1e6); /* too large for a factor */
    toy_drive(&s, 0.02, 0.02);
    for (k = 0; k < 9; ++k) STATUS(toy_step(&s, &p), CSIM_OK);
    toy_problem(&s);
    for (k = 0; k < 3; ++k) {
        for (i = 0; i < 3 * s.blocks; ++i) s.solution.v[i] = (csim_real)(k ? 1e5 * sin(i) : 0);
        for (i = 0; i < 3 * s.row_count; ++i) s.solution.lambda[i] = (csim_real)(k ? 1e6 * sin(7 * i) : 0);
        p.solver = k == 2 ? CSIM_SOLVER_AUTO : CSIM_SOLVER_COND;
        p.spring.gain = k == 0 ? 100 : 1000; /* the second attempt has a tenth of the gain */
        if (k == 2) p.max_iterations *= 2; /* of which the first attempt gets half */
        STATUS(toy_solve(&s, &p), CSIM_OK);
        EQUAL(s.outcome.result == CSIM_RESULT_CONVERGED, k != 1);
        if (k == 0) p.max_iterations = s.outcome.iterations;
    }
    CHECK(csim_certificate_worst(&s.outcome.certificate) <= (double)p.tolerance);
    EQUAL(s.outcome.iterations, p.max_iterations); /* the counters add up */
    toy_free(&s);
}

/* ---- sweeps through a factor of A */

/* A gripped ball, some steps on. */
static void gripped_ball(toy *s, int cells, double young) {
    csim_solver_params p = cond_params();
    int k;
    toy_grip(s, cells, young);
    toy_drive(s, 0.02, 0.02);
    for (k = 0; k < 9; ++k) STATUS(toy_step(s, &p), CSIM_OK);
    toy_problem(s);
}

/* Rows J E^-1 of nodes and plates on the factor: what the impulse of one contact does to the velocities of another is
   J A^-1 J', here by elimination on the full matrix; and A^-1 J' itself through the same factor. */
TEST(rows_on_a_factor_are_those_of_the_dense_matrix) {
    toy s;
    gripped_ball(&s, 3, 1e5);
    {
        const csim_problem *p = &s.problem;
        const csim_problem_size size = csimi_basis_size(p, true);
        const int n = p->A.n, m = 3 * n, nc = p->contact_count;
        double *dense = (double *)toy_alloc((size_t)m * (size_t)m, sizeof(double)), worst = 0, scale = 0;
        double *x = (double *)toy_alloc((size_t)m, sizeof(double)), *w = (double *)toy_alloc((size_t)m, sizeof(double));
        double *y = (double *)toy_alloc((size_t)m, sizeof(double));
        csim_real *v = (csim_real *)toy_alloc((size_t)m, sizeof(csim_real));
        int *first = (int *)toy_alloc((size_t)nc + 1, sizeof(int)), i, j, k, r, c, most;
        csimi_arena arena = csimi_arena_counting();
        csimi_basis e;
        csimi_piece *piece;
        void *memory;
        memset(&e, 0, sizeof e);
        most = csimi_basis_layout(&e, &arena, true, &size);
        (void)csimi_coupled_layout_rows(&e.coupled, &arena, e.coupled.blocks, most);
        memory = malloc(arena.high + 64);
        arena = csimi_arena_in(memory, arena.high + 64);
        (void)csimi_basis_layout(&e, &arena, true, &size);
        piece = csimi_coupled_layout_rows(&e.coupled, &arena, e.coupled.blocks, most);
        CHECK(nc > 5 && !csimi_bodies_take(p) && csimi_sweep_couples(p));
        REQUIRE(csimi_basis_open(&e, p));
        for (i = 0; i < nc; ++i) first[i + 1] = first[i] + csimi_basis_rows(&e, p, i, piece + first[i]);
        CHECK(first[nc] <= most);
        for (i = 0; i < n; ++i)
            for (k = p->A.row[i]; k < p->A.row[i + 1]; ++k)
                for (r = 0; r < 9; ++r)
                    dense[m * (3 * i + r / 3) + 3 * p->A.col[k] + r % 3] = (double)p->A.val[9 * k + r];
        REQUIRE(csimi_cholesky(m, dense, NULL, NULL));
        for (j = 0; j < nc; j += 3)
            for (c = 0; c < 3; ++c) {
                csim_real impulse[3] = {0, 0, 0}, u[3], *lambda = (csim_real *)toy_alloc(3 * (size_t)nc, sizeof *lambda);
                impulse[c] = lambda[3 * j + c] = 1;
                csimi_problem_load(p, lambda, x);
                for (i = 0; i < m; ++i) x[i] -= (double)p->b[i];
                for (i = 0; i < m; ++i) y[i] = x[i];
                csimi_cholesky_solve(m, dense, NULL, x);
                csimi_basis_whiten(&e, y);
                csimi_basis_restore(&e, y);
                for (i = 0; i < m; ++i) {
                    NEAR(y[i], x[i], TOL(1e-11, 1e-5));
                    v[i] = (csim_real)x[i];
                    w[i] = 0;
                }
                csimi_pieces_push_wide(piece + first[j], first[j + 1] - first[j], impulse, w);
                for (i = 0; i < nc; ++i) {
                    csim_real known[3];
                    (void)csimi_contact_motion(p, p->contacts + i, v, known);
                    u[0] = u[1] = u[2] = 0;
                    csimi_pieces_velocity_wide(piece + first[i], first[i + 1] - first[i], w, u);
                    for (r = 0; r < 3; ++r) {
                        worst = fmax(worst, fabs((double)u[r] - (double)known[r]));
                        scale = fmax(scale, fabs((double)known[r]));
                    }
                }
                free(lambda);
            }
        CHECK(scale > 1e-3);
        CHECK(worst <= TOL(1e-11, 1e-5) * scale); /* the condition of A is some 1e4 */
        free(dense), free(x), free(w), free(y), free(v), free(first), free(memory);
    }
    toy_free(&s);
}

/* The same problem by COND and by the sweeps: both certified, v by the factor exact to rounding, and the same motion. */
TEST(sweeps_through_a_factor_move_as_cond_does) {
    static const double young[3] = {3e4, 1e6, 3e7};
    int trial, k, i;
    for (trial = 0; trial < 3; ++trial) {
        toy s;
        csim_real *v[2];
        double speed = 0, apart = 0;
        CASE("E %g", young[trial]);
        gripped_ball(&s, 5, young[trial]);
        for (k = 0; k < 2; ++k) {
            const csim_problem_size size = csim_problem_measure(&s.problem);
            csim_solver_params p = cond_params();
            csimi_arena arena;
            size_t bytes;
            void *memory;
            p.tolerance = CSIM_R(TOL(1e-7, 1e-4));
            bytes = k ? csimi_sweep_coupled_bytes(&size, &p) : csimi_cond_bytes(&size, &p);
            memory = malloc(bytes + 64);
            arena = csimi_arena_in(memory, bytes + 64);
            memset(&s.outcome, 0, sizeof s.outcome);
            memset(s.solution.lambda, 0, 3 * (size_t)s.row_count * sizeof(csim_real));
            STATUS((k ? csimi_sweep_solve : csimi_cond_solve)(&s.problem, &p, &arena, NULL, &s.solution, &s.outcome, NULL),
                   CSIM_OK);
            EQUAL((int)s.outcome.result, (int)CSIM_RESULT_CONVERGED);
            if (k) CHECK(s.outcome.certificate.dynamics <= TOL(1e-12, 3e-5)); /* v rounded, times A of stiff solids */
            v[k] = (csim_real *)toy_alloc(3 * (size_t)s.blocks, sizeof(csim_real));
            memcpy(v[k], s.solution.v, 3 * (size_t)s.blocks * sizeof(csim_real));
            free(memory);
        }
        for (i = 0; i < 3 * s.blocks; ++i) {
            speed = fmax(speed, fabs((double)v[0][i]));
            apart = fmax(apart, fabs((double)v[1][i] - (double)v[0][i]));
        }
        CHECK(apart <= TOL(2e-5, 1e-2) * speed); /* a hundred tolerances */
        free(v[0]), free(v[1]);
        toy_free(&s);
    }
}

/* What COND misses from a start far off AUTO sweeps: few iterations of COND, then the sweeps, and they add up. */
TEST(what_cond_misses_is_swept_through_a_factor) {
    toy s;
    csim_solver_params p = cond_params();
    int k, i;
    gripped_ball(&s, 5, 1e6);
    for (k = 0; k < 2; ++k) {
        for (i = 0; i < 3 * s.blocks; ++i) s.solution.v[i] = (csim_real)(1e5 * sin(i));
        for (i = 0; i < 3 * s.row_count; ++i) s.solution.lambda[i] = (csim_real)(1e6 * sin(7 * i));
        p.solver = k ? CSIM_SOLVER_AUTO : CSIM_SOLVER_COND;
        p.max_iterations = k ? 2000 : 200;
        STATUS(toy_solve(&s, &p), CSIM_OK);
        EQUAL(s.outcome.result == CSIM_RESULT_CONVERGED, k == 1);
    }
    EQUAL((int)s.outcome.solver, (int)CSIM_SOLVER_SWEEP);
    CHECK(s.outcome.iterations > 25 && s.outcome.iterations <= p.max_iterations / 2 + 25);
    CHECK(s.outcome.bytes <= s.workspace_bytes);
    toy_free(&s);
}

/* ---- a problem of somebody else: rigid boxes, 82 contacts */

static double *read_numbers(FILE *f, int count) {
    double *x = (double *)toy_alloc((size_t)count, sizeof(double));
    int i;
    for (i = 0; i < count; ++i)
        if (fscanf(f, "%lf", x + i) != 1) return x;
    return x;
}

NEEDS("../shared/fc3d/Box_Stacks-i0122-82-5.txt", fc3d_box_stacks) {
    FILE *f = fopen("../shared/fc3d/Box_Stacks-i0122-82-5.txt", "r");
    char word[16];
    int n = 0, nc = 0, nnz = 0, k, i, j, blocks, pairs = 0, needed = 0;
    double *mu, *q, *b, x, worst;
    int *pair, *scratch, *row_block;
    csim_block_matrix A;
    csim_problem problem;
    csim_contact *contacts;
    csim_term *terms;
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_solver_params p = cond_params();
    csim_problem_size size;
    csim_outcome outcome;
    csim_structure structure;
    int *aggregate;
    unsigned char *rotation;
    csim_real *offset, *radius;
    void *workspace;
    REQUIRE(f);
    REQUIRE(fscanf(f, "%15s %d %d", word, &n, &nc) == 3);
    mu = read_numbers(f, nc);
    q = read_numbers(f, n);
    b = read_numbers(f, 3 * nc);
    blocks = n / 3;
    REQUIRE(3 * blocks == n);
    REQUIRE(fscanf(f, "%d", &nnz) == 1);
    pair = (int *)toy_alloc(2 * (size_t)nnz, sizeof(int));
    memset(&A, 0, sizeof A);
    A.n = blocks;
    A.end = NULL;
    A.row = (int *)toy_alloc((size_t)blocks + 1, sizeof(int));
    A.diag = (int *)toy_alloc((size_t)blocks, sizeof(int));
    A.col = (int *)toy_alloc((size_t)(nnz + blocks), sizeof(int));
    A.val = (csim_real *)toy_alloc(9 * (size_t)(nnz + blocks), sizeof(csim_real));
    {
        const long at = ftell(f);
        for (k = 0; k < nnz; ++k) {
            REQUIRE(fscanf(f, "%d %d %lf", &i, &j, &x) == 3);
            if (i / 3 == j / 3) continue;
            pair[2 * pairs] = i / 3;
            pair[2 * pairs++ + 1] = j / 3;
        }
        scratch = (int *)toy_alloc(csimi_pattern_scratch(blocks, pairs), sizeof(int));
        REQUIRE(csimi_pattern_build(blocks, pairs, pair, A.row, A.col, A.diag, nnz + blocks, &needed, scratch) > 0);
        fseek(f, at, SEEK_SET);
    }
    for (k = 0; k < nnz; ++k) {
        REQUIRE(fscanf(f, "%d %d %lf", &i, &j, &x) == 3);
        toy_block(&A, i / 3, j / 3)[3 * (i % 3) + j % 3] += (csim_real)x;
    }
    /* H is n x 3 nc: column 3 c + r is row r of contact c, R = I; its blocks become the terms of one side */
    REQUIRE(fscanf(f, "%d", &nnz) == 1);
    memset(&structure, 0, sizeof structure);
    structure.aggregate_count = blocks / 2;
    aggregate = (int *)toy_alloc((size_t)blocks, sizeof(int));
    rotation = (unsigned char *)toy_alloc((size_t)blocks, 1);
    offset = (csim_real *)toy_alloc((size_t)n, sizeof(csim_real));
    radius = (csim_real *)toy_alloc((size_t)blocks, sizeof(csim_real));
    for (k = 0; k < blocks; ++k) {
        aggregate[k] = k / 2;
        rotation[k] = k % 2;
        radius[k] = CSIM_R(0.5);
    }
    structure.aggregate = aggregate, structure.rotation = rotation;
    structure.offset = offset, structure.radius = radius;
    contacts = (csim_contact *)toy_alloc((size_t)nc, sizeof(csim_contact));
    terms = (csim_term *)toy_alloc(8 * (size_t)nc, sizeof(csim_term));
    row_block = (int *)toy_alloc((size_t)nc, sizeof(int));
    for (k = 0; k < nc; ++k) {
        contacts[k].law = CSIM_LAW_STRICT;
        contacts[k].a.first = 8 * k;
        contacts[k].R[0] = contacts[k].R[4] = contacts[k].R[8] = 1;
        contacts[k].mu[0] = (csim_real)mu[k];
        for (i = 0; i < 3; ++i) contacts[k].phi[i] = (csim_real)b[3 * k + i];
    }
    for (k = 0; k < nnz; ++k) {
        csim_term *t;
        int c;
        REQUIRE(fscanf(f, "%d %d %lf", &i, &j, &x) == 3);
        c = j / 3;
        for (needed = 0; needed < contacts[c].a.count && terms[8 * c + needed].block != i / 3; ++needed) {}
        REQUIRE(needed < 8);
        t = terms + 8 * c + needed;
        if (needed == contacts[c].a.count) contacts[c].a.count += 1;
        t->block = i / 3;
        t->J[3 * (j % 3) + i % 3] = (csim_real)x;
    }
    fclose(f);
    memset(&problem, 0, sizeof problem);
    problem.A = A;
    problem.b = (csim_real *)toy_alloc((size_t)n, sizeof(csim_real));
    for (i = 0; i < n; ++i) ((csim_real *)problem.b)[i] = (csim_real)q[i];
    problem.contact_count = nc;
    problem.contacts = contacts;
    problem.term_count = 8 * nc;
    problem.terms = terms;
    problem.structure = &structure; /* a body: linear block, angular block */
    problem.theta = 1;
    solution.v = (csim_real *)toy_alloc((size_t)n, sizeof(csim_real));
    solution.lambda = (csim_real *)toy_alloc(3 * (size_t)nc, sizeof(csim_real));
    p.spring.gain = CSIM_R(1e4);
    p.tolerance = TOL(CSIM_R(1e-9), CSIM_R(5e-5));
    p.max_iterations = 2000;
    size = csim_problem_measure(&problem);
    workspace = malloc(csim_solver_bytes(&size, &p));
    /* the shift repeated: the nodal solution becomes that of the rigid contacts */
    for (k = 0; k < 6; ++k)
        STATUS(csim_problem_solve(&problem, &p, workspace, csim_solver_bytes(&size, &p), NULL, &solution, &outcome, NULL),
               CSIM_OK);
    EQUAL(outcome.result, CSIM_RESULT_CONVERGED);
    {
        csim_certificate certificate;
        const size_t bytes = csim_certificate_bytes(blocks, nc) + 64; /* room to align */
        void *space = malloc(bytes);
        STATUS(csim_problem_certify(&problem, solution.v, solution.lambda, space, bytes, &certificate), CSIM_OK);
        worst = certificate.natural_map_scaled;
        printf("    Box_Stacks: dynamics %.1e, natural map %.1e, %d iterations\n", certificate.dynamics, worst,
               outcome.iterations);
        NEAR(certificate.dynamics, 0, TOL(1e-6, 1e-3));
        NEAR(worst, 0, TOL(1e-5, 1e-2));
        free(space);
    }
    free(workspace), free(mu), free(q), free(b), free(pair), free(scratch), free(row_block), free(aggregate), free(rotation), free(offset), free(radius), free(contacts), free(terms);
    free(A.row), free(A.col), free(A.diag), free(A.val), free((void *)problem.b), free(solution.v), free(solution.lambda);
}

/* ---- the coarse matrix */

/* H0 = Z'AZ by products with the columns of Z, which are made of positions here: one group an aggregate, and several
   aggregates to a group, among them blocks that turn and blocks that no aggregate has. */
TEST(coarse_matrix_is_that_of_the_rigid_modes) {
    enum { N = 900, BAND = 5 };
    static int row[N + 1], col[N * (2 * BAND + 1)], diag[N], aggregate[N];
    static csim_real val[9 * N * (2 * BAND + 1)], x[3 * N], offset[3 * N], centre[3 * N], radius[N];
    static csim_real z[3 * N], y[3 * N], b[3 * N];
    static unsigned char rotation[N];
    static double middle[3 * CSIMI_COARSE_GROUPS];
    int each, i, j, k, r, g, c, n = 0;
    csim_structure structure;
    csim_problem problem;
    memset(&structure, 0, sizeof structure);
    memset(&problem, 0, sizeof problem);
    for (i = 0; i < N; ++i) {
        row[i] = n;
        for (j = i > BAND ? i - BAND : 0; j < N && j <= i + BAND; ++j, ++n) {
            col[n] = j;
            if (j == i) diag[i] = n;
            for (r = 0; r < 9; ++r) val[9 * n + r] = CSIM_R(check_random(-1, 1));
            for (k = row[j]; j < i && k < row[j + 1]; ++k)
                for (r = 0; col[k] == i && r < 9; ++r) val[9 * n + r] = val[9 * k + r % 3 * 3 + r / 3];
            for (r = 0; j == i && r < 9; ++r) val[9 * n + r] = r % 4 ? 0 : 30;
        }
        for (r = 0; r < 3; ++r) x[3 * i + r] = CSIM_R(check_random(-1, 1) + (r ? 0 : i / 90));
        rotation[i] = i % 7 == 6;
    }
    row[N] = n;
    problem.A.n = N;
    problem.A.row = row, problem.A.col = col, problem.A.diag = diag, problem.A.val = val;
    problem.b = b;
    problem.structure = &structure;
    structure.aggregate = aggregate, structure.offset = offset, structure.radius = radius, structure.centre = centre;
    structure.rotation = rotation;
    for (each = 90; each >= 3; each -= 87) { /* 10 aggregates, and 300 in 150 groups */
        csimi_arena arena = csimi_arena_counting();
        csimi_coarse coarse;
        double worst = 0;
        void *memory;
        structure.aggregate_count = N / each;
        for (i = 0; i < N / each; ++i)
            for (r = 0; r < 3; ++r) centre[3 * i + r] = x[3 * (i * each) + r];
        for (i = 0; i < N; ++i) {
            aggregate[i] = i % 50 == 49 ? -1 : i / each;
            for (r = 0; r < 3; ++r) offset[3 * i + r] = rotation[i] ? 0 : x[3 * i + r] - centre[3 * (i / each) + r];
            radius[i / each] = CSIM_R(0.5 + 0.01 * (i / each));
        }
        csimi_coarse_layout(&coarse, &arena, N, 0, N / each);
        memory = malloc(arena.high + 64);
        arena = csimi_arena_in(memory, arena.high + 64);
        csimi_coarse_layout(&coarse, &arena, N, 0, N / each);
        csimi_coarse_open(&coarse, &problem);
        csimi_coarse_build(&coarse, &problem, NULL);
        EQUAL(coarse.groups, each == 90 ? 10 : 150);
        for (g = 0; g < coarse.groups; ++g)
            for (r = 0; r < 3; ++r)
                for (middle[3 * g + r] = 0, k = coarse.group_first[g]; k < coarse.group_first[g + 1]; ++k)
                    middle[3 * g + r] += (double)centre[3 * coarse.group_member[k] + r] /
                                         (coarse.group_first[g + 1] - coarse.group_first[g]);
        for (g = 0; g < coarse.groups; g += 1 + coarse.groups / 20)
            for (c = 0; c < 6; ++c) { /* a column of H0: A times the velocities of one unknown, gathered by all */
                double sum[6 * CSIMI_COARSE_GROUPS];
                for (i = 0; i < N; ++i) {
                    const bool member = aggregate[i] >= 0 && coarse.group[aggregate[i]] == g;
                    csim_vec3 turn = csim_v3(c == 3, c == 4, c == 5), v = csim_v3(c == 0, c == 1, c == 2);
                    turn = csim_scale(1 / coarse.radius[g], turn);
                    if (rotation[i])
                        v = turn;
                    else if (c >= 3)
                        v = csim_cross(turn, csim_v3(x[3 * i] - (csim_real)middle[3 * g],
                                                     x[3 * i + 1] - (csim_real)middle[3 * g + 1],
                                                     x[3 * i + 2] - (csim_real)middle[3 * g + 2]));
                    csimi_store3(z + 3 * i, member ? v : csim_v3(0, 0, 0));
                }
                for (i = 0; c < 3 && i < N; ++i) /* a turning block does not go along */
                    for (r = 0; rotation[i] && r < 3; ++r) z[3 * i + r] = 0;
                csimi_product(&problem.A, z, y, NULL);
                memset(sum, 0, sizeof sum);
                for (i = 0; i < N; ++i) {
                    const int h = aggregate[i] < 0 ? -1 : coarse.group[aggregate[i]];
                    csim_vec3 force = csimi_load3(y + 3 * i), torque = force;
                    if (h < 0) continue;
                    if (!rotation[i]) {
                        torque = csim_cross(csim_v3(x[3 * i] - (csim_real)middle[3 * h],
                                                    x[3 * i + 1] - (csim_real)middle[3 * h + 1],
                                                    x[3 * i + 2] - (csim_real)middle[3 * h + 2]), force);
                        sum[6 * h] += (double)force.x, sum[6 * h + 1] += (double)force.y, sum[6 * h + 2] += (double)force.z;
                    }
                    sum[6 * h + 3] += (double)(torque.x / coarse.radius[h]);
                    sum[6 * h + 4] += (double)(torque.y / coarse.radius[h]);
                    sum[6 * h + 5] += (double)(torque.z / coarse.radius[h]);
                }
                for (i = 6 * g; i < 6 * coarse.groups; ++i)
                    /* rows of 6 x 6 blocks up to the diagonal */
                    worst = fmax(worst, fabs(coarse.H0[6 * (i / 6 + 1) * (3 * (i / 6) + i % 6) + 6 * g + c] - sum[i]));
            }
        CASE("%d groups", coarse.groups);
        NEAR(worst, 0, TOL(1e-10, 2e-2)); /* entries of up to a few thousand */
        free(memory);
    }
}

/* ---- determinism, memory, refusals */

/* Runs ranges in an order of its own, in odd groups. */
static void backwards(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    const int ranges = (count + grain - 1) / grain, step = *(const int *)user;
    int k, i;
    for (k = 0; k < step; ++k)
        for (i = ranges - 1 - k; i >= 0; i -= step)
            fn(context, i * grain, i * grain + grain < count ? i * grain + grain : count);
}

TEST(same_bits_for_any_order_of_tasks) {
    const int steps[3] = {1, 3, 7};
    toy s;
    csim_real *start, *first, *impulse;
    int k;
    csim_solver_params p = cond_params();
    toy_grip(&s, 8, 1e6);
    for (k = 0; k < 4; ++k) STATUS(toy_step(&s, &p), CSIM_OK);
    toy_problem(&s);
    start = (csim_real *)toy_alloc(3 * (size_t)s.blocks, sizeof(csim_real));
    first = (csim_real *)toy_alloc(3 * (size_t)s.blocks, sizeof(csim_real));
    impulse = (csim_real *)toy_alloc(3 * (size_t)s.row_count, sizeof(csim_real));
    memcpy(start, s.v, 3 * (size_t)s.blocks * sizeof(csim_real));
    memcpy(impulse, s.lambda, 3 * (size_t)s.row_count * sizeof(csim_real));
    STATUS(toy_solve(&s, &p), CSIM_OK);
    memcpy(first, s.v, 3 * (size_t)s.blocks * sizeof(csim_real));
    for (k = 0; k < 3; ++k) {
        csim_tasks tasks;
        tasks.run = backwards;
        tasks.user = (void *)(steps + k);
        memcpy(s.v, start, 3 * (size_t)s.blocks * sizeof(csim_real));
        memcpy(s.lambda, impulse, 3 * (size_t)s.row_count * sizeof(csim_real));
        STATUS(csim_problem_solve(&s.problem, &p, s.workspace, s.workspace_bytes, &tasks, &s.solution, &s.outcome, NULL),
               CSIM_OK);
        CHECK(memcmp(first, s.v, 3 * (size_t)s.blocks * sizeof(csim_real)) == 0);
    }
    free(start), free(first), free(impulse);
    toy_free(&s);
}

TEST(memory_is_linear_and_exact) {
    const csim_solver_params p = cond_params();
    size_t bytes[3], vectors;
    int k;
    for (k = 0; k < 3; ++k) {
        csim_problem_size size;
        memset(&size, 0, sizeof size);
        size.blocks = 10000 << k;
        size.matrix_blocks = 150000 << k;
        size.contacts = 2000 << k;
        size.terms = 3000 << k;
        size.aggregates = 150;
        bytes[k] = csim_solver_bytes(&size, &p);
        printf("    %d blocks: %lu bytes\n", size.blocks, (unsigned long)bytes[k]);
    }
    CHECK(bytes[2] - bytes[1] <= 2 * (bytes[1] - bytes[0]) + 65536); /* alignment of some arrays */
    {
        /* beyond the nodal problem: 24 vectors of n, 12 of 3 nc, the coarse block */
        csimi_arena nodal = csimi_arena_counting();
        const size_t n = 10000 + 3000, nc = 2000, m = 900;
        csimi_nodal_reserve(&nodal, 10000, 2000, 3000);
        vectors = (24 * 3 * n + 12 * 3 * nc) * sizeof(csim_real) + 3 * m * m * sizeof(double);
        printf("    beyond the nodal problem %lu of %lu\n", (unsigned long)(bytes[0] - nodal.high),
               (unsigned long)vectors);
        CHECK(bytes[0] - nodal.high <= vectors);
    }
    {
        toy s;
        csim_problem_size size;
        unsigned char *block;
        size_t i, exact;
        toy_grip(&s, 5, 1e6);
        toy_problem(&s);
        size = csim_problem_measure(&s.problem);
        exact = csim_solver_bytes(&size, &p);
        block = (unsigned char *)malloc(exact + 64);
        memset(block, 0xA5, exact + 64);
        STATUS(csim_problem_solve(&s.problem, &p, block, exact, NULL, &s.solution, &s.outcome, NULL), CSIM_OK);
        EQUAL(s.outcome.result, CSIM_RESULT_CONVERGED);
        CHECK(s.outcome.bytes <= exact);
        for (i = exact; i < exact + 64; ++i) CHECK(block[i] == 0xA5);
        STATUS(csim_problem_solve(&s.problem, &p, block, exact / 2, NULL, &s.solution, &s.outcome, NULL), CSIM_CAPACITY);
        free(block);
        toy_free(&s);
    }
}

TEST(bad_numbers_and_parameters_are_refused) {
    toy s;
    csim_solver_params p = cond_params();
    csim_error error;
    csim_real keep, *v;
    int k;
    toy_cube(&s, 2, 1e5, 0);
    toy_problem(&s);
    STATUS(toy_solve(&s, &p), CSIM_OK);
    v = (csim_real *)toy_alloc(3 * (size_t)s.blocks, sizeof(csim_real));
    memcpy(v, s.v, 3 * (size_t)s.blocks * sizeof(csim_real));
    for (k = 0; k < 4; ++k) {
        csim_real *at = k == 0 ? s.b + 4 : k == 1 ? s.A.val + 100 : k == 2 ? s.row[1].phi : s.v + 5;
        CASE("non-finite %d", k);
        keep = *at;
        *at = (csim_real)(k % 2 ? INFINITY : NAN);
        STATUS(toy_solve(&s, &p), CSIM_OK);
        EQUAL(s.outcome.result, CSIM_RESULT_NOT_FINITE);
        *at = keep;
        CHECK(memcmp(v, s.v, 3 * (size_t)s.blocks * sizeof(csim_real)) == 0);
    }
#define REFUSED(field, value)                                                                                   \
    do {                                                                                                        \
        csim_solver_params bad = p;                                                                             \
        CASE("%s", #field);                                                                                     \
        bad.field = value;                                                                                      \
        error.text[0] = 0;                                                                                      \
        STATUS(csim_problem_solve(&s.problem, &bad, s.workspace, s.workspace_bytes, NULL, &s.solution, &s.outcome, \
                                  &error),                                                                      \
               CSIM_OUT_OF_RANGE);                                                                              \
        CHECK(strstr(error.text, #field) != NULL);                                                              \
    } while (0)
    REFUSED(tolerance, 0);
    REFUSED(tolerance, (csim_real)NAN);
    REFUSED(max_iterations, 0);
    REFUSED(window, 33);
    REFUSED(spring.gain, -1);
    REFUSED(spring.kappa, -1);
    REFUSED(sigma, -1);
    REFUSED(cond.weight, CSIM_WEIGHT_COUNT_);
    REFUSED(cond.acceleration, CSIM_ACCELERATION_COUNT_);
    REFUSED(solver, CSIM_SOLVER_COUNT_);
    REFUSED(newton.ncp, CSIM_NCP_COUNT_);
    REFUSED(newton.linear, CSIM_LINEAR_COUNT_);
    REFUSED(inner, -1);
    REFUSED(newton.scaling, -1);
    REFUSED(substeps, -1);
    REFUSED(spring.damping, -1);
    REFUSED(history_capacity, -1);
    STATUS(csim_problem_solve(NULL, &p, s.workspace, s.workspace_bytes, NULL, &s.solution, &s.outcome, NULL),
           CSIM_NULL_ARGUMENT);
    free(v);
    toy_free(&s);
}

/* The largest eigenvalue of W A by power steps from x: with y = A x the Rayleigh quotient in the A-norm is y'W y / x'y,
   and W y the next iterate. work [n]. */
static double power_sigma(const csim_block_matrix *A, const csim_real *w, csim_real *x, int steps, csim_real *y) {
    double sigma = 0;
    int step, i;
    for (step = 0; step < steps; step++) {
        double energy = 0, next = 0;
        csimi_product(A, x, y, NULL);
        for (i = 0; i < 3 * A->n; i++) {
            energy += (double)(x[i] * y[i]);
            next += (double)(w[i] * y[i] * y[i]);
        }
        sigma = next / energy;
        for (i = 0; i < 3 * A->n; i++) x[i] = w[i] * y[i] / (csim_real)sigma;
    }
    return sigma;
}

/* The largest eigenvalue of W A by twelve Lanczos steps against 2000 power steps. */
TEST(spectrum_estimate) {
    toy s;
    csim_real *w, *w_inverse, *work, estimate, truth;
    unsigned char *pinned;
    csimi_nodal nodal;
    int i, products = 0, n;
    toy_cube(&s, 5, 1e6, 0);
    toy_problem(&s);
    n = 3 * s.blocks;
    w = (csim_real *)toy_alloc((size_t)n, sizeof(csim_real));
    w_inverse = (csim_real *)toy_alloc((size_t)n, sizeof(csim_real));
    work = (csim_real *)toy_alloc(3 * (size_t)n, sizeof(csim_real));
    pinned = (unsigned char *)toy_alloc((size_t)s.blocks, 1);
    memset(&nodal, 0, sizeof nodal);
    nodal.problem = s.problem, nodal.count = s.blocks;
    csimi_weights_jacobi(&nodal, pinned, w);
    for (i = 0; i < n; ++i) w_inverse[i] = 1 / w[i];
    estimate = csimi_weights_sigma(&nodal, w, w_inverse, 0, work, &products, NULL);
    EQUAL(products, CSIMI_LANCZOS);
    for (i = 0; i < n; ++i) work[i] = (csim_real)check_random(-1, 1);
    truth = (csim_real)power_sigma(&s.A, w, work, 2000, work + n);
    CHECK(estimate <= truth * CSIM_R(1.0001));
    CHECK(estimate >= CSIM_R(0.95) * truth); /* the 1.03 of the step length leaves room to 2 */
    free(w), free(w_inverse), free(work), free(pinned);
    toy_free(&s);
}

/* A spectrum that is given is taken as it is, and looked at where the residual is large or iterations are many. */
TEST(known_spectrum_is_checked_when_it_matters) {
    static const double wrong[3] = {1, 0.05, 20};
    csim_real sigma = 0;
    int k, i, first = 0;
    for (k = 0; k < 4; ++k) { /* the last one starts at the answer */
        csim_solver_params p = cond_params();
        toy s;
        CASE("case %d", k);
        gripped_ball(&s, 5, 1e6);
        p.sigma = sigma * (csim_real)wrong[k % 3];
        STATUS(toy_solve(&s, &p), CSIM_OK);
        EQUAL((int)s.outcome.result, (int)CSIM_RESULT_CONVERGED);
        CHECK(s.outcome.iterations > 2);
        if (k == 0) sigma = s.outcome.sigma, first = s.outcome.iterations; /* nothing was known */
        /* five times as many where W stays as wrong as it was; one that is too small is found in the 40th */
        CHECK(s.outcome.iterations <= TOL(2, 4) * first + (k == 2 ? 40 : 0));
        NEAR((double)(s.outcome.sigma / sigma), 1, 0.15);
        i = s.outcome.products;
        CHECK(k < 3 || i <= s.outcome.iterations + 4); /* nobody looked */
        if (k == 3) { /* once more, from there */
            p.sigma = sigma;
            STATUS(toy_solve(&s, &p), CSIM_OK);
            EQUAL((int)s.outcome.iterations, 2);
            CHECK(s.outcome.products < i && s.outcome.products <= 4);
            NEAR((double)s.outcome.sigma, (double)sigma, 0);
        }
        toy_free(&s);
    }
}

/* More bodies in an island than the dense matrix holds: they are grouped. */
SLOW_IN_FLOAT(many_bodies_are_grouped) {
    toy s;
    csim_solver_params p = cond_params();
    const double edge[3] = {0.1, 0.1, 0.1};
    const csim_real up[3] = {0, 0, 1};
    int k, c, bad, most;
    double mean;
    toy_begin(&s, 0, 0, 0, edge, edge, false, 0, 0, 200, 0.01);
    for (k = 0; k < 200; ++k) toy_box(&s, k, 1, edge, 0.1 * (k % 20), 0, 0.05 + 0.1 * (k / 20));
    toy_gravity(&s, 9.81);
    for (k = 0; k < 200; ++k)
        for (c = 0; c < 4; ++c) {
            csim_real point[3];
            point[0] = s.centre[3 * k] + CSIM_R(0.05) * (csim_real)(c % 2 ? 1 : -1);
            point[1] = CSIM_R(0.05) * (csim_real)(c / 2 ? 1 : -1);
            point[2] = s.centre[3 * k + 2] - CSIM_R(0.05);
            toy_touch(&s, -1, k, k < 20 ? -1 : k - 20, point, up, 0, 0.5);
        }
    toy_finish(&s, 0);
    run_steps(&s, &p, 5, &mean, &most, &bad);
    printf("    200 boxes: %.1f iterations, at most %d\n", mean, most);
    EQUAL(bad, 0);
    toy_free(&s);
}

