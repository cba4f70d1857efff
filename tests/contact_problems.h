/* Random contact problems with a known exact answer, for the tests of contact and of the solvers: velocities and
   impulses are drawn first, phi and b are then what makes them exact. */
#ifndef CONTACT_PROBLEMS_H
#define CONTACT_PROBLEMS_H

#include <math.h>

enum { CP_BLOCKS = 420, CP_STORED = 8 * CP_BLOCKS, CP_CONTACTS = 220, CP_TERMS = 8 * CP_CONTACTS };
enum { CP_NODAL = 1, CP_RIGID = 2, CP_GENERAL = 3 };
enum { CP_OPEN, CP_STICK, CP_SLIP };

static struct {
    csim_problem p;
    int row[CP_BLOCKS + 1], col[CP_STORED], diag[CP_BLOCKS];
    csim_real val[9 * CP_STORED], b[3 * CP_BLOCKS];
    csim_contact contacts[CP_CONTACTS];
    csim_term terms[CP_TERMS];
    csim_real v[3 * CP_BLOCKS], lambda[3 * CP_CONTACTS]; /* the exact answer */
    int state[CP_CONTACTS];
} cp;

static double cp_log(double lo, double hi) { return exp(check_random(log(lo), log(hi))); }
static int cp_int(int lo, int hi) { return (int)check_random(lo, hi + 1 - 1e-9); }

static void cp_rotation(csim_real *R) {
    csim_vec3 axis = csim_v3(CSIM_R(check_random(-1, 1)), CSIM_R(check_random(-1, 1)), CSIM_R(check_random(-1, 1)));
    csim_mat3 m = csim_quat_matrix(csim_quat_axis_angle(axis, CSIM_R(check_random(0, 6))));
    memcpy(R, m.m, sizeof m.m);
}

/* A symmetric positive definite 3x3 of given size. */
static void cp_spd(double size, csim_real *M) {
    csim_real R[9];
    double d[3];
    int i, j, k;
    cp_rotation(R);
    for (k = 0; k < 3; k++) d[k] = size * check_random(0.3, 1);
    for (i = 0; i < 3; i++)
        for (j = i; j < 3; j++) {
            double sum = 0;
            for (k = 0; k < 3; k++) sum += (double)R[3 * k + i] * d[k] * (double)R[3 * k + j];
            M[3 * i + j] = M[3 * j + i] = CSIM_R(sum);
        }
}

/* A: block diagonal (nodes or rigid bodies), or with couplings between neighbours and to a far block. */
static void cp_matrix(int n, int kind, double ratio) {
    int i, k, at = 0;
    for (i = 0; i < n; i++) {
        const double mass = kind == CP_RIGID && i % 2 ? 0 : cp_log(1, ratio);
        cp.row[i] = at;
        if (kind == CP_GENERAL && i > 0) {
            csim_real *B = cp.val + 9 * at;
            cp.col[at++] = i - 1;
            for (k = 0; k < 9; k++) B[k] = 0;
            for (k = 0; k < 9; k += 4) B[k] = CSIM_R(-0.2);
            B[1] = CSIM_R(0.05) * CSIM_R(i % 3);
        }
        cp.diag[i] = at;
        cp.col[at] = i;
        if (kind == CP_RIGID && i % 2) { /* inertia of the mass before, of a size near 0.5 m */
            cp_spd((double)cp.val[9 * (at - 1)] * 0.2, cp.val + 9 * at);
        } else if (kind == CP_GENERAL) {
            cp_spd(4, cp.val + 9 * at);
        } else {
            for (k = 0; k < 9; k++) cp.val[9 * at + k] = k % 4 == 0 ? CSIM_R(mass) : 0;
        }
        at++;
        if (kind == CP_GENERAL && i + 1 < n) {
            csim_real *B = cp.val + 9 * at;
            cp.col[at++] = i + 1;
            for (k = 0; k < 9; k++) B[k] = 0;
            for (k = 0; k < 9; k += 4) B[k] = CSIM_R(-0.2);
            B[3] = CSIM_R(0.05) * CSIM_R((i + 1) % 3);
        }
    }
    cp.row[n] = at;
    cp.p.A.n = n;
    cp.p.A.row = cp.row, cp.p.A.end = NULL;
    cp.p.A.col = cp.col;
    cp.p.A.diag = cp.diag;
    cp.p.A.val = cp.val;
}

/* One side on a random node, rigid body, or handful of blocks. */
static csim_side cp_side(int n, int kind, int not_block, int *chosen) {
    csim_side side;
    int k, i, count = kind == CP_NODAL ? 1 : kind == CP_RIGID ? 2 : cp_int(1, 3);
    const int bodies = kind == CP_RIGID ? n / 2 : n;
    int body;
    do body = cp_int(0, bodies - 1);
    while (body == not_block && bodies > 1);
    *chosen = body;
    side.first = cp.p.term_count;
    side.count = count;
    for (k = 0; k < count; k++) {
        csim_term *t = cp.terms + cp.p.term_count++;
        t->block = kind == CP_RIGID ? 2 * body + k : kind == CP_NODAL ? body : (body + 2 * k) % n;
        for (i = 0; i < 9; i++) t->J[i] = i % 4 == 0 ? 1 : 0;
        if (kind == CP_RIGID && k == 1) {
            csim_real r[3];
            for (i = 0; i < 3; i++) r[i] = CSIM_R(check_random(-0.7, 0.7));
            csimi_skew(r, t->J);
            for (i = 0; i < 9; i++) t->J[i] = -t->J[i];
        }
        if (kind == CP_GENERAL)
            for (i = 0; i < 9; i++) t->J[i] = CSIM_R(check_random(-1, 1));
    }
    return side;
}

/* u and lambda of one contact that obey its law exactly. size: of impulses. */
static int cp_answer(csim_contact *c, double size, double *u, csim_real *lambda) {
    const int state = cp_int(CP_OPEN, CP_SLIP);
    const double angle = check_random(0, 6.283), speed = check_random(0.1, 2);
    const double n = size * check_random(0.2, 1), mu0 = (double)c->mu[0], mu1 = (double)c->mu[1];
    const bool flat = c->law == CSIM_LAW_ANISOTROPIC && (mu0 <= 0) != (mu1 <= 0); /* slips along its segment only */
    const double x = !flat ? cos(angle) : mu0 > 0 ? 1 : 0, y = !flat ? sin(angle) : mu1 > 0 ? 1 : 0;
    double l[3] = {0, 0, 0};
    int k;
    u[0] = u[1] = u[2] = 0;
    if (c->law == CSIM_LAW_BILATERAL) {
        for (k = 0; k < 3; k++) {
            if (c->mask >> k & 1u)
                l[k] = size * check_random(-1, 1);
            else
                u[k] = check_random(-1, 1);
        }
    } else if (c->law == CSIM_LAW_BOX) {
        for (k = 0; k < 3; k++) {
            const int where = cp_int(0, 2);
            l[k] = where == 0 ? (double)c->lo[k] : where == 2 ? (double)c->hi[k] : 0.5 * (double)(c->lo[k] + c->hi[k]);
            u[k] = where == 0 ? speed : where == 2 ? -speed : 0;
        }
    } else if (state == CP_OPEN) {
        u[0] = speed * (1 + mu0);
        u[1] = speed * x;
        u[2] = speed * y;
    } else if (state == CP_STICK) {
        const double inside = check_random(0, 0.9);
        l[0] = n;
        l[1] = inside * n * mu0 * x;
        l[2] = inside * n * (c->law == CSIM_LAW_ANISOTROPIC ? mu1 : mu0) * y;
    } else {
        l[0] = n;
        if (c->law == CSIM_LAW_ANISOTROPIC) { /* slip against the normal of the ellipse */
            l[1] = n * mu0 * x;
            l[2] = n * mu1 * y;
            u[1] = mu0 > 0 ? -speed * x / mu0 : 0;
            u[2] = mu1 > 0 ? -speed * y / mu1 : 0;
        } else {
            l[1] = n * mu0 * x;
            l[2] = n * mu0 * y;
            u[1] = -speed * x;
            u[2] = -speed * y;
            if (c->law == CSIM_LAW_PROXIMAL) u[0] = mu0 * speed;
        }
    }
    for (k = 0; k < 3; k++) {
        lambda[k] = CSIM_R(l[k]);
        if (c->law == CSIM_LAW_INVERTIBLE) u[k] -= (double)c->omega[k > 0] * (double)lambda[k];
    }
    return state;
}

static void cp_law(csim_contact *c, int law, double size) {
    int k;
    c->law = (csim_law)law;
    c->mu[0] = CSIM_R(check_random(0, 5) < 1 ? 0 : check_random(0.05, 1.5));
    c->mu[1] = CSIM_R(check_random(0, 5) < 1 ? 0 : check_random(0.05, 1.5));
    c->omega[0] = CSIM_R(check_random(0.01, 0.5));
    c->omega[1] = CSIM_R(check_random(0.01, 0.5));
    c->mask = (unsigned)cp_int(1, 7);
    for (k = 0; k < 3; k++) {
        c->lo[k] = CSIM_R(size * check_random(-1, 0));
        c->hi[k] = CSIM_R(size * check_random(0.1, 1));
    }
}

static double cp_row_velocity(const csim_contact *c, int k) {
    double u = 0;
    int i, j, t;
    for (t = 0; t < c->a.count + c->b.count; t++) {
        const csim_term *term = t < c->a.count ? cp.terms + c->a.first + t : cp.terms + c->b.first + t - c->a.count;
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++)
                u += (t < c->a.count ? 1 : -1) * (double)c->R[3 * k + i] * (double)term->J[3 * i + j] *
                     (double)cp.v[3 * term->block + j];
    }
    return u;
}

/* b = A v - J' lambda, in double, then rounded. */
static void cp_load(void) {
    static double b[3 * CP_BLOCKS];
    int i, j, k, m, t, r;
    for (i = 0; i < 3 * cp.p.A.n; i++) b[i] = 0;
    for (i = 0; i < cp.p.A.n; i++)
        for (k = cp.row[i]; k < cp.row[i + 1]; k++)
            for (r = 0; r < 9; r++) b[3 * i + r / 3] += (double)cp.val[9 * k + r] * (double)cp.v[3 * cp.col[k] + r % 3];
    for (m = 0; m < cp.p.contact_count; m++) {
        const csim_contact *c = cp.contacts + m;
        for (t = 0; t < c->a.count + c->b.count; t++) {
            const csim_term *term = t < c->a.count ? cp.terms + c->a.first + t : cp.terms + c->b.first + t - c->a.count;
            for (r = 0; r < 3; r++)
                for (i = 0; i < 3; i++)
                    for (j = 0; j < 3; j++)
                        b[3 * term->block + j] -= (t < c->a.count ? 1 : -1) * (double)term->J[3 * i + j] *
                                                  (double)c->R[3 * r + i] * (double)cp.lambda[3 * m + r];
        }
    }
    for (i = 0; i < 3 * cp.p.A.n; i++) cp.b[i] = CSIM_R(b[i]);
}

/* law < 0: all of them in turn. ratio: of masses. */
static void cp_make(int n, int contacts, int kind, int law, double ratio) {
    int i, m, a, b, k;
    cp_matrix(n, kind, ratio);
    cp.p.b = cp.b;
    cp.p.contacts = cp.contacts;
    cp.p.terms = cp.terms;
    cp.p.contact_count = contacts;
    cp.p.term_count = 0;
    cp.p.structure = NULL;
    cp.p.theta = 1;
    for (i = 0; i < 3 * n; i++) cp.v[i] = CSIM_R(check_random(-1, 1));
    for (m = 0; m < contacts; m++) {
        csim_contact *c = cp.contacts + m;
        const int sides = cp_int(0, 3); /* 0: ground on b, 1: ground on a, else both move */
        double u[3];
        memset(c, 0, sizeof *c);
        cp_rotation(c->R);
        cp_law(c, law >= 0 ? law : m % CSIM_LAW_COUNT_, 1);
        a = b = -1;
        if (sides != 1 || n < 4) c->a = cp_side(n, kind, -1, &a);
        if (sides != 0 && n >= 4) c->b = cp_side(n, kind, a, &b);
        cp.state[m] = cp_answer(c, 1, u, cp.lambda + 3 * m);
        for (k = 0; k < 3; k++) c->phi[k] = CSIM_R(u[k] - cp_row_velocity(c, k));
    }
    cp_load();
}

/* ---- the problem as others ask it */

/* Solves it from v = lambda = 0. */
static csim_outcome cp_solve(const csim_solver_params *params, csim_real *v, csim_real *lambda) {
    csim_problem_size size = csim_problem_measure(&cp.p);
    const size_t bytes = csim_solver_bytes(&size, params);
    void *memory = malloc(bytes);
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_outcome out;
    solution.v = v;
    solution.lambda = lambda;
    memset(&out, 0, sizeof out);
    memset(v, 0, 3 * CP_BLOCKS * sizeof *v);
    memset(lambda, 0, 3 * CP_CONTACTS * sizeof *lambda);
    STATUS(csim_problem_solve(&cp.p, params, memory, bytes, NULL, &solution, &out, NULL), CSIM_OK);
    CHECK(out.bytes <= bytes && out.iterations <= params->max_iterations);
    free(memory);
    return out;
}

/* max |x - y| over max |y| */
static double cp_apart(const csim_real *x, const csim_real *y, int count) {
    double worst = 0, size = 0;
    int i;
    for (i = 0; i < count; i++) {
        worst = fmax(worst, fabs((double)(x[i] - y[i])));
        size = fmax(size, fabs((double)y[i]));
    }
    return worst / size;
}

/* Turns the world by a random Q, x' = Q x (blocks Q B Q', terms Q J Q', frames R Q'), and names contacts otherwise. */
static void cp_turn_and_shuffle(csim_real *Q) {
    csim_real T[9], x[3];
    int i, m;
    cp_rotation(Q);
    for (i = 0; i < cp.row[cp.p.A.n]; i++) {
        csimi_matmul(Q, cp.val + 9 * i, T);
        csimi_matmulT(T, Q, cp.val + 9 * i);
    }
    for (i = 0; i < cp.p.term_count; i++) {
        csimi_matmul(Q, cp.terms[i].J, T);
        csimi_matmulT(T, Q, cp.terms[i].J);
    }
    for (i = 0; i < cp.p.A.n; i++) {
        csimi_mul3(Q, cp.b + 3 * i, x);
        memcpy(cp.b + 3 * i, x, sizeof x);
    }
    for (m = 0; m < cp.p.contact_count; m++) {
        csimi_matmulT(cp.contacts[m].R, Q, T);
        memcpy(cp.contacts[m].R, T, sizeof T);
    }
    for (m = cp.p.contact_count - 1; m > 0; m--) {
        const int j = cp_int(0, m);
        const csim_contact swap = cp.contacts[m];
        cp.contacts[m] = cp.contacts[j];
        cp.contacts[j] = swap;
    }
}

#endif
