/* model/rigid: rigid bodies and the gyroscopic change of their spin before a step. */
#include "private.h"

CSIMI_FN void csimi_rigid_inertia_world(const csimi_state *s, int k, csim_real *I) {
    csim_mat3 R = csim_quat_matrix(csimi_load_quat(s->rotation + 4 * (size_t)k));
    csim_real T[9];
    csimi_matmul(R.m, s->inertia + 9 * (size_t)k, T);
    csimi_mul3(R.m, T, I); /* the first row of T R' */
    I[4] = csim_dot(csimi_load3(T + 3), csimi_load3(R.m + 3));
    I[5] = csim_dot(csimi_load3(T + 3), csimi_load3(R.m + 6));
    I[8] = csim_dot(csimi_load3(T + 6), csimi_load3(R.m + 6));
    I[3] = I[1]; /* equal to rounding; a symmetric matrix stays symmetric to the bit */
    I[6] = I[2];
    I[7] = I[5];
}

/* ---- The gyroscopic update, in the body frame and in double: I dw/dt = -w x I w. */

static void csimi_gyro_mul(const double *M, const double *x, double *y) {
    int i;
    for (i = 0; i < 3; i++) y[i] = M[3 * i] * x[0] + M[3 * i + 1] * x[1] + M[3 * i + 2] * x[2];
}

static void csimi_gyro_cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static double csimi_gyro_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* x -= J^-1 r with J = I + s ([w]x I - [I w]x), the derivative of I x + s w x I w; columns by Cramer's rule. */
static bool csimi_gyro_newton(const double *I, double s, const double *w, const double *r, double *x) {
    double Iw[3], J[3][3], c[3][3], det;
    int i, j;
    csimi_gyro_mul(I, w, Iw);
    for (j = 0; j < 3; j++) { /* column j of J: I is symmetric */
        double e[3] = {0, 0, 0}, a[3], b[3];
        e[j] = 1;
        csimi_gyro_cross(w, I + 3 * j, a);
        csimi_gyro_cross(Iw, e, b);
        for (i = 0; i < 3; i++) J[j][i] = I[3 * j + i] + s * (a[i] - b[i]);
    }
    for (j = 0; j < 3; j++) csimi_gyro_cross(J[(j + 1) % 3], J[(j + 2) % 3], c[j]);
    det = csimi_gyro_dot(J[0], c[0]);
    if (!(det > 0)) return false;
    for (j = 0; j < 3; j++) x[j] -= csimi_gyro_dot(c[j], r) / det;
    return true;
}

/* w <- next, scaled back when it has gained more energy than slack: neither equation gains any, but a step far too
   large may. */
static void csimi_gyro_take(const double *I, const double *next, double slack, double *w) {
    double Iw[3], before, after, scale = 1;
    int i;
    csimi_gyro_mul(I, w, Iw);
    before = csimi_gyro_dot(w, Iw);
    csimi_gyro_mul(I, next, Iw);
    after = csimi_gyro_dot(next, Iw);
    if (after > before * (1 + slack)) scale = (double)CSIMI_SQRT((csim_real)(before / after));
    for (i = 0; i < 3; i++) w[i] = scale * next[i];
}

/* One Newton step of I (w+ - w) = -h w+ x I w+, started at w (Catto 2015). */
static void csimi_gyro_euler(const double *I, double h, double *w) {
    double next[3], Iw[3], r[3];
    int i;
    csimi_gyro_mul(I, w, Iw);
    csimi_gyro_cross(w, Iw, r);
    for (i = 0; i < 3; i++) {
        r[i] *= h;
        next[i] = w[i];
    }
    if (csimi_gyro_newton(I, h, w, r, next)) csimi_gyro_take(I, next, 0, w);
}

/* I (w+ - w) = -h m x I m with m = (w + w+)/2, solved to rounding: keeps w.Iw and |Iw|. */
static void csimi_gyro_midpoint(const double *I, double h, double *w) {
    double next[3], m[3], d[3], Im[3], Id[3], r[3], size, best = 1e300;
    int i, iteration;
    for (i = 0; i < 3; i++) next[i] = w[i];
    for (iteration = 0; iteration < 12; iteration++) {
        for (i = 0; i < 3; i++) {
            m[i] = (w[i] + next[i]) / 2;
            d[i] = next[i] - w[i];
        }
        csimi_gyro_mul(I, m, Im);
        csimi_gyro_mul(I, d, Id);
        csimi_gyro_cross(m, Im, r);
        for (i = 0; i < 3; i++) r[i] = h * r[i] + Id[i];
        size = csimi_gyro_dot(r, r);
        if (!(size < best) || !csimi_gyro_newton(I, h / 2, m, r, next)) break;
        best = size;
    }
    csimi_gyro_take(I, next, 1e-9, w);
}

/* Steps above half a radian are cut, so that Newton's iteration starts close enough. */
static void csimi_gyro_conserving(const double *I, double h, double *w) {
    double angle = h * (double)CSIMI_SQRT((csim_real)csimi_gyro_dot(w, w));
    int pieces = angle < 64 ? 1 + (int)(2 * angle) : 128, k;
    for (k = 0; k < pieces; k++) csimi_gyro_midpoint(I, h / pieces, w);
}

/* The change of w under the update, body axes; false when w lies along a principal axis to rounding. */
static bool csimi_gyro_change(const double *I, const csimi_step *step, const csim_real *w, csim_real *change) {
    double W[3], next[3], IW[3], r[3], threshold = 4 * (double)CSIMI_EPS, h = (double)step->h;
    int i;
    for (i = 0; i < 3; i++) next[i] = W[i] = (double)w[i];
    csimi_gyro_mul(I, W, IW);
    csimi_gyro_cross(W, IW, r);
    if (csimi_gyro_dot(r, r) <= threshold * threshold * csimi_gyro_dot(W, W) * csimi_gyro_dot(IW, IW)) return false;
    if (step->sigma < 1) /* all but backward Euler */
        csimi_gyro_conserving(I, h, next);
    else
        csimi_gyro_euler(I, h, next);
    for (i = 0; i < 3; i++) change[i] = (csim_real)(next[i] - W[i]);
    return true;
}

/* The body's own rotation during a step leaves the new w alone (exp(h w) w = w), so a free body follows the body-frame
   equation exactly: at theta 1/2 energy and |L| are kept to rounding whatever h is. */
CSIMI_FN void csimi_gyro_turn(csim_quat q, const csim_real *I, const csimi_step *step, csim_real *w) {
    csim_real body[3], change[3];
    double inertia[9];
    int i;
    csimi_store3(body, csim_unrotate(q, csimi_load3(w)));
    for (i = 0; i < 9; i++) inertia[i] = (double)I[i];
    if (!csimi_gyro_change(inertia, step, body, change)) return;
    csimi_store3(w, csim_add(csimi_load3(w), csim_rotate(q, csimi_load3(change))));
}

/* What ranges of bodies read and write, each its own rows. */
typedef struct csimi_rigid_job {
    const csimi_state *s;
    const csimi_step *step;
    csim_real *vk;
    csimi_system *system;
    const csim_real *v;
    csimi_state *next;
} csimi_rigid_job;

static void csimi_rigid_prepare_range(void *context, int k, int end) {
    const csimi_rigid_job *job = (const csimi_rigid_job *)context;
    const csimi_state *s = job->s;
    for (; k < end; k++)
        if (s->rigid_mode[k] == CSIMI_FREE)
            csimi_gyro_turn(csimi_load_quat(s->rotation + 4 * (size_t)k), s->inertia + 9 * (size_t)k, job->step,
                            job->vk + 3 * ((size_t)s->node_count + 2 * (size_t)k + 1));
}

CSIMI_FN void csimi_rigid_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk) {
    csimi_rigid_job job = {s, step, vk, NULL, NULL, NULL};
    csimi_parallel(step->tasks, s->rigid_count, CSIMI_RIGID_GRAIN, csimi_rigid_prepare_range, &job);
}

/* The two blocks of a body are coupled (by zeros), so that it is one body to everyone who reads the pattern. */
CSIMI_FN int csimi_rigid_couple(const csimi_state *s, int *pairs) {
    int k;
    for (k = 0; pairs && k < s->rigid_count; k++) {
        pairs[2 * k] = s->node_count + 2 * k;
        pairs[2 * k + 1] = pairs[2 * k] + 1;
    }
    return s->rigid_count;
}

static void csimi_rigid_assemble_range(void *context, int k, int end) {
    const csimi_rigid_job *job = (const csimi_rigid_job *)context;
    const csimi_state *s = job->s;
    const csimi_system *system = job->system;
    csim_real h = job->step->h, inverse_theta = 1 / job->step->theta;
    int c;
    for (; k < end; k++) {
        int block = s->node_count + 2 * k;
        csim_real *linear = system->A.val + 9 * (size_t)system->A.diag[block];
        csim_real *angular = system->A.val + 9 * (size_t)system->A.diag[block + 1];
        csim_real *b = system->b + 3 * (size_t)block, I[9], L[3], mass = s->rigid_mass[k];
        const csim_real *vk = system->vk + 3 * (size_t)block, *wrench = s->wrench + 6 * (size_t)k;
        const csim_real push = mass * (inverse_theta + h * s->rigid_damping[2 * (size_t)k]);
        const csim_real turn = inverse_theta + h * s->rigid_damping[2 * (size_t)k + 1];
        if (s->rigid_mode[k] != CSIMI_FREE) continue; /* rows that nobody solves */
        csimi_rigid_inertia_world(s, k, I);
        csimi_mul3(I, vk + 3, L);
        for (c = 0; c < 3; c++) {
            linear[4 * c] += push;
            b[c] += mass * inverse_theta * vk[c] + h * (wrench[c] + mass * (s->rigid_gravity[k] * s->gravity[c]));
            b[3 + c] += inverse_theta * L[c] + h * wrench[3 + c];
        }
        for (c = 0; c < 9; c++) angular[c] += turn * I[c];
    }
}

CSIMI_FN void csimi_rigid_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csimi_rigid_job job = {s, step, NULL, system, NULL, NULL};
    csimi_parallel(step->tasks, s->rigid_count, CSIMI_RIGID_GRAIN, csimi_rigid_assemble_range, &job);
}

static void csimi_rigid_advance_range(void *context, int k, int end) {
    const csimi_rigid_job *job = (const csimi_rigid_job *)context;
    const csimi_state *s = job->s;
    const csimi_step *step = job->step;
    csimi_state *next = job->next;
    int c;
    for (; k < end; k++) {
        const csim_real *u = job->v + 3 * ((size_t)s->node_count + 2 * (size_t)k);
        csim_quat turn = csim_quat_exp(csim_scale(step->h, csimi_load3(u + 3)));
        csim_quat q = csim_quat_normalize(csim_quat_mul(turn, csimi_load_quat(s->rotation + 4 * (size_t)k)));
        for (c = 0; c < 3; c++) next->com[3 * k + c] = s->com[3 * k + c] + step->h * u[c];
        csimi_store_quat(next->rotation + 4 * (size_t)k, q);
    }
}

CSIMI_FN void csimi_rigid_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next) {
    csimi_rigid_job job = {s, step, NULL, NULL, v, next};
    csimi_parallel(step->tasks, s->rigid_count, CSIMI_RIGID_GRAIN, csimi_rigid_advance_range, &job);
}

CSIMI_FN void csimi_rigid_energy(const csimi_state *s, csimi_energy *energy) {
    int k, c;
    for (k = 0; k < s->rigid_count; k++) {
        const csim_real *v = s->velocity + 6 * (size_t)k;
        csim_real I[9], L[3];
        double mass = (double)s->rigid_mass[k];
        csimi_rigid_inertia_world(s, k, I);
        csimi_mul3(I, v + 3, L);
        for (c = 0; c < 3; c++) {
            energy->kinetic += mass * (double)v[c] * (double)v[c] / 2 + (double)v[3 + c] * (double)L[c] / 2;
            energy->gravity -= mass * (double)(s->rigid_gravity[k] * s->gravity[c]) * (double)s->com[3 * k + c];
        }
    }
}
