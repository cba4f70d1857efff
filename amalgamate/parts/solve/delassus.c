/* solve/delassus: the impulse-level problem in variables without units, and its measure. */
#include "private.h"

enum { CSIMI_DELASSUS_GRAIN = 256 }; /* rows a task takes: enough work to pay for waking a thread */

CSIMI_FN void csimi_delassus_layout(csimi_delassus *W, csimi_arena *arena, int contacts) {
    const size_t vector = 3 * (size_t)contacts;
    CSIMI_MEMSET(W, 0, sizeof *W); /* begin and change are null where a source needs none */
    W->contacts = contacts;
    W->laws = CSIMI_PUSH(arena, csim_contact, contacts);
    W->scale = CSIMI_PUSH(arena, csim_real, contacts);
    W->q = CSIMI_PUSH(arena, csim_real, vector);
    W->diagonal = CSIMI_PUSH(arena, csim_real, 3 * vector);
    W->raw = CSIMI_PUSH(arena, csim_real, vector);
    W->scratch = CSIMI_PUSH(arena, csim_real, vector);
    W->norms = CSIMI_PUSH(arena, csim_real, contacts);
    W->speed = CSIMI_PUSH(arena, csim_real, contacts);
}

/* ---- variables without units */

/* A law in the variables here: omega is in 1/kg like W, limits are impulses, mu has no unit. */
static void csimi_delassus_law(csim_contact *law, csim_real s) {
    int k;
    for (k = 0; k < 2; ++k) law->omega[k] *= s * s;
    for (k = 0; k < 3; ++k) {
        law->lo[k] /= s;
        law->hi[k] /= s;
    }
}

CSIMI_FN bool csimi_delassus_scale(csimi_delassus *W, const csim_real *q) {
    csim_real most = 0, least = CSIMI_HUGE;
    int c, k;
    for (c = 0; c < W->contacts; ++c) {
        csim_real *D = W->diagonal + 9 * (ptrdiff_t)c, s;
        const csim_real trace = D[0] + D[4] + D[8];
        if (!(trace > 0 && trace < CSIMI_HUGE) || !csimi_all_finite(D, 9)) return false; /* a NaN too */
        most = csimi_max(most, trace);
        least = csimi_min(least, trace);
        W->scale[c] = s = CSIMI_SQRT(3 / trace); /* kg^1/2: s^2 is an effective mass */
        for (k = 0; k < 9; ++k) D[k] *= s * s;
        for (k = 0; k < 3; ++k) W->q[3 * (ptrdiff_t)c + k] = s * q[3 * (ptrdiff_t)c + k];
        csimi_delassus_law(W->laws + c, s);
        W->speed[c] = csimi_norm3(q + 3 * (ptrdiff_t)c); /* raw, m/s */
    }
    W->each = W->contacts > 0 && most > 100 * least; /* else one norm hides the light bodies */
    return csimi_all_finite(W->q, 3 * W->contacts);
}

CSIMI_FN bool csimi_delassus_flat(const csimi_delassus *W) {
    int c;
    for (c = 0; c < W->contacts; ++c) {
        const csim_real *D = W->diagonal + 9 * (ptrdiff_t)c;
        if (!csimi_all_finite(D, 9)) return false;
        if (!(D[0] + D[4] + D[8] > 0)) return true;
    }
    return false;
}

CSIMI_FN void csimi_delassus_enter(const csimi_delassus *W, csim_real *r) {
    int i;
    for (i = 0; i < 3 * W->contacts; ++i) r[i] /= W->scale[i / 3]; /* r' = r / s */
}

CSIMI_FN void csimi_delassus_leave(const csimi_delassus *W, csim_real *r) {
    int i;
    for (i = 0; i < 3 * W->contacts; ++i) r[i] *= W->scale[i / 3]; /* N s */
}

CSIMI_FN void csimi_delassus_product(csimi_delassus *W, const csim_real *r, csim_real *u) {
    int i;
    for (i = 0; i < 3 * W->contacts; ++i) W->scratch[i] = W->scale[i / 3] * r[i]; /* raw impulses */
    W->product(W, W->scratch, u);
    for (i = 0; i < 3 * W->contacts; ++i) u[i] *= W->scale[i / 3]; /* u' = s u */
    ++W->products;
}

CSIMI_FN void csimi_delassus_velocity(csimi_delassus *W, const csim_real *r, csim_real *u) {
    int i;
    csimi_delassus_product(W, r, u);
    for (i = 0; i < 3 * W->contacts; ++i) u[i] += W->q[i];
}

/* ---- row by row */

CSIMI_FN void csimi_delassus_begin(csimi_delassus *W, const csim_real *r) {
    int i;
    for (i = 0; i < 3 * W->contacts; ++i) W->raw[i] = W->scale[i / 3] * r[i];
    if (W->begin) W->begin(W); /* whoever carries the motion of the bodies */
}

CSIMI_FN void csimi_delassus_row(csimi_delassus *W, int c, csim_real *u) {
    const csim_real s = W->scale[c], *q = W->q + 3 * (ptrdiff_t)c;
    W->row(W, c, u); /* raw, at W->raw */
    u[0] = s * u[0] + q[0];
    u[1] = s * u[1] + q[1];
    u[2] = s * u[2] + q[2];
}

CSIMI_FN void csimi_delassus_change(csimi_delassus *W, int c, const csim_real *old, const csim_real *now) {
    const csim_real s = W->scale[c];
    csim_real *raw = W->raw + 3 * (ptrdiff_t)c, difference[3];
    int k;
    for (k = 0; k < 3; ++k) {
        raw[k] = s * now[k];
        difference[k] = s * (now[k] - old[k]); /* raw */
    }
    if (W->change) W->change(W, c, difference); /* else the row reads W->raw */
}

/* ---- the three forms of the public problem */

/* Summed in double: what a light body does is a small difference of large terms. */
static void csimi_delassus_rows_sum(const csim_block_matrix *A, const csim_real *x, int c, csim_real *u) {
    double y[3] = {0, 0, 0};
    int k;
    for (k = A->row[c]; k < csimi_row_end(A, c); ++k)
        csimi_addmul3_wide(A->val + 9 * (ptrdiff_t)k, x + 3 * (ptrdiff_t)A->col[k], y);
    for (k = 0; k < 3; ++k) u[k] = (csim_real)y[k];
}

typedef struct csimi_delassus_job {
    const csim_block_matrix *A;
    const csim_real *x;
    csim_real *y;
} csimi_delassus_job;

static void csimi_delassus_rows_range(void *context, int begin, int end) {
    const csimi_delassus_job *job = (const csimi_delassus_job *)context;
    int c;
    for (c = begin; c < end; ++c) csimi_delassus_rows_sum(job->A, job->x, c, job->y + 3 * (ptrdiff_t)c);
}

/* y = W x; a row is summed by one task in one order, so that threads change no bit. */
static void csimi_delassus_rows_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    csimi_delassus_job job;
    job.A = (const csim_block_matrix *)W->from;
    job.x = x;
    job.y = y;
    csimi_parallel(W->tasks, W->contacts, CSIMI_DELASSUS_GRAIN, csimi_delassus_rows_range, &job);
}

static void csimi_delassus_rows_row(csimi_delassus *W, int c, csim_real *u) {
    csimi_delassus_rows_sum((const csim_block_matrix *)W->from, W->raw, c, u);
}

/* A row of a dense W times x, in double too, in three sums that do not wait for each other. */
static csim_real csimi_delassus_dense_dot(int count, const csim_real *CSIMI_RESTRICT a,
                                          const csim_real *CSIMI_RESTRICT b) {
    double s0 = 0, s1 = 0, s2 = 0;
    int i;
    for (i = 0; i < count; i += 3) { /* three numbers a contact: none is left over */
        s0 += (double)a[i] * (double)b[i];
        s1 += (double)a[i + 1] * (double)b[i + 1];
        s2 += (double)a[i + 2] * (double)b[i + 2];
    }
    return (csim_real)(s0 + s1 + s2);
}

static void csimi_delassus_dense_rows(const csimi_delassus *W, int c, const csim_real *x, csim_real *u) {
    const csim_real *dense = (const csim_real *)W->from;
    const int n = 3 * W->contacts;
    int k;
    for (k = 0; k < 3; ++k) u[k] = csimi_delassus_dense_dot(n, dense + (size_t)(3 * c + k) * (size_t)n, x);
}

static void csimi_delassus_dense_row(csimi_delassus *W, int c, csim_real *u) {
    csimi_delassus_dense_rows(W, c, W->raw, u);
}

static void csimi_delassus_dense_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    int c;
    for (c = 0; c < W->contacts; ++c) csimi_delassus_dense_rows(W, c, x, y + 3 * (ptrdiff_t)c);
}

static void csimi_delassus_user_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    const csim_impulse_problem *p = (const csim_impulse_problem *)W->from;
    p->product(p->user, x, y);
}

CSIMI_FN void csimi_delassus_dense(csimi_delassus *W, const csim_real *dense) {
    W->from = (void *)(uintptr_t)dense; /* never written through */
    W->rows = true;
    W->product = csimi_delassus_dense_product;
    W->row = csimi_delassus_dense_row;
}

static void csimi_delassus_source(csimi_delassus *W, const csim_impulse_problem *p) {
    W->rows = !p->product; /* a product alone has none */
    if (p->W) {
        W->from = (void *)(uintptr_t)p->W; /* never written through */
        W->product = csimi_delassus_rows_product;
        W->row = csimi_delassus_rows_row;
    } else if (p->dense) {
        csimi_delassus_dense(W, p->dense);
    } else {
        W->from = (void *)(uintptr_t)p;
        W->product = csimi_delassus_user_product;
    }
}

/* Raw diagonal block of contact c, from the form that the problem has. */
static void csimi_delassus_block(const csim_impulse_problem *p, int c, csim_real *D) {
    const size_t n = 3 * (size_t)p->contact_count;
    const csim_real *block;
    int k;
    if (p->dense) {
        for (k = 0; k < 9; ++k) D[k] = p->dense[((size_t)(3 * c) + (size_t)(k / 3)) * n + (size_t)(3 * c + k % 3)];
        return;
    }
    block = p->W ? p->W->val + 9 * (ptrdiff_t)p->W->diag[c] : p->diagonal + 9 * (ptrdiff_t)c;
    for (k = 0; k < 9; ++k) D[k] = block[k];
}

CSIMI_FN bool csimi_delassus_open(csimi_delassus *W, const csim_impulse_problem *p) {
    int c;
    csimi_delassus_source(W, p);
    W->products = 0;
    for (c = 0; c < p->contact_count; ++c) {
        csim_contact *law = W->laws + c;
        csimi_delassus_block(p, c, W->diagonal + 9 * (ptrdiff_t)c);
        if (p->contacts) {
            *law = p->contacts[c];
        } else {
            CSIMI_MEMSET(law, 0, sizeof *law);
            law->law = CSIM_LAW_STRICT; /* what a list of mu stands for */
            law->mu[0] = law->mu[1] = p->mu[c];
        }
    }
    return csimi_delassus_scale(W, p->q);
}

/* ---- the measure */

CSIMI_FN void csimi_delassus_project(const csimi_delassus *W, csim_real *r) {
    int c;
    for (c = 0; c < W->contacts; ++c) csimi_impulse_allow(W->laws + c, r + 3 * (ptrdiff_t)c);
}

CSIMI_FN void csimi_delassus_residual(const csimi_delassus *W, int c, csim_real rho, const csim_real *r,
                                      const csim_real *u, csim_real *residual) {
    const csim_contact *law = W->laws + c;
    const bool strict = law->law == CSIM_LAW_STRICT || law->law == CSIM_LAW_INVERTIBLE;
    csim_real w[3], x[3], y[3];
    int k;
    for (k = 0; k < 3; ++k) {
        w[k] = u[k];
        if (law->law == CSIM_LAW_INVERTIBLE) w[k] += law->omega[k > 0] * r[k]; /* its law is of u + omega r */
    }
    /* de Saxce: with mu |u_t| along the normal the cone's projection is Coulomb's law */
    if (strict) w[0] += law->mu[0] * CSIMI_SQRT(w[1] * w[1] + w[2] * w[2]);
    for (k = 0; k < 3; ++k) x[k] = r[k] - rho * w[k];
    if (strict) {
        csim_project_cone(law->mu[0], x, y);
    } else if (law->law == CSIM_LAW_ANISOTROPIC) { /* the ellipse of the impulse at hand, as in the certificate */
        const csim_real normal = csimi_max(r[0], 0);
        y[0] = csimi_max(x[0], 0);
        csim_project_ellipse(law->mu[0] * normal, law->mu[1] * normal, x + 1, y + 1);
    } else {
        csim_project(law, 1, x, y); /* convex laws, rows and boxes */
    }
    for (k = 0; k < 3; ++k) residual[k] = r[k] - y[k];
}

static double csimi_delassus_norm2(const csim_real *x) {
    return (double)x[0] * (double)x[0] + (double)x[1] * (double)x[1] + (double)x[2] * (double)x[2];
}

/* Worst residual of a contact as a velocity, |r_c| / rho_c, over the larger of its speed and the rms of all, weighed by
   rho = s^2; scratch holds the raw norms of the residuals. */
static double csimi_delassus_worst_velocity(const csimi_delassus *W) {
    double sum = 0, weight = 0, worst = 0, rms;
    int c;
    for (c = 0; c < W->contacts; ++c) {
        /* rho in kg: a residual in N s over it is the velocity that would explain it */
        const double rho = (double)W->scale[c] * (double)W->scale[c], speed = (double)W->speed[c];
        sum += rho * speed * speed;
        weight += rho;
    }
    rms = weight > 0 ? csimi_sqrt64(sum / weight) : 0;
    rms = rms > (double)CSIMI_TINY ? rms : (double)CSIMI_TINY; /* all may be at rest */
    for (c = 0; c < W->contacts; ++c) {
        const double rho = (double)W->scale[c] * (double)W->scale[c], speed = (double)W->speed[c];
        const double figure = (double)W->scratch[c] / (rho * (speed > rms ? speed : rms));
        if (figure > worst) worst = figure;
    }
    return worst;
}

/* Worst residual of a contact over the larger of its own impulse, the median one and what rounding leaves of the
   largest, all raw; scratch holds the raw norms of the residuals. */
static double csimi_delassus_worst(csimi_delassus *W, const csim_real *r) {
    csim_real floor;
    double worst = 0;
    int c;
    for (c = 0; c < W->contacts; ++c)
        W->norms[c] = W->scale[c] * (csim_real)csimi_sqrt64(csimi_delassus_norm2(r + 3 * (ptrdiff_t)c));
    floor = csimi_impulse_floor(W->norms, W->contacts); /* reorders norms */
    for (c = 0; c < W->contacts; ++c) {
        const double own = (double)W->scale[c] * csimi_sqrt64(csimi_delassus_norm2(r + 3 * (ptrdiff_t)c));
        const double figure = (double)W->scratch[c] / (own > (double)floor ? own : (double)floor);
        if (figure > worst) worst = figure;
    }
    return worst;
}

/* 1 / s^2 stands here for the factor 1 before the raw u. */
CSIMI_FN double csimi_delassus_siconos(const csimi_delassus *W, const csim_real *r, const csim_real *u) {
    double sum = 0, q2 = 0, r2 = 0, u2 = 0, size;
    int c;
    for (c = 0; c < W->contacts; ++c) {
        const ptrdiff_t at = 3 * (ptrdiff_t)c;
        const double s2 = (double)W->scale[c] * (double)W->scale[c];
        csim_real residual[3];
        csimi_delassus_residual(W, c, (csim_real)(1 / s2), r + at, u + at, residual);
        sum += s2 * csimi_delassus_norm2(residual); /* raw: r = s r' */
        r2 += s2 * csimi_delassus_norm2(r + at);
        u2 += csimi_delassus_norm2(u + at) / s2; /* u = u' / s */
        q2 += csimi_delassus_norm2(W->q + at) / s2;
    }
    size = r2 > u2 ? r2 : u2;
    size = size > q2 ? size : q2;
    return size > 0 ? csimi_sqrt64(sum / size) : 0; /* else nothing acts or moves */
}

CSIMI_FN double csimi_delassus_measure(csimi_delassus *W, const csim_real *r, csim_real *u, bool velocity) {
    double sum = 0, size = 0, worst;
    int c;
    if (!velocity) csimi_delassus_velocity(W, r, u); /* one product */
    for (c = 0; c < W->contacts; ++c) {
        const double s = (double)W->scale[c];
        csim_real residual[3];
        double own;
        /* rho is 1: the blocks have trace 3, so that r and u compare as they are */
        csimi_delassus_residual(W, c, 1, r + 3 * (ptrdiff_t)c, u + 3 * (ptrdiff_t)c, residual);
        own = s * s * csimi_delassus_norm2(residual);
        W->scratch[c] = (csim_real)csimi_sqrt64(own); /* raw, for the figures of single contacts */
        sum += own;
        size += s * s * csimi_delassus_norm2(r + 3 * (ptrdiff_t)c);
    }
    if (!(sum < 1e300 && size < 1e300)) return W->natural = W->contact = 1e300; /* a NaN too */
    W->natural = size > 0 ? csimi_sqrt64(sum / size) : sum > 0 ? 1 : 0; /* r = 0: exact or nothing */
    W->contact = W->contacts > 0 && size > 0 ? csimi_delassus_worst(W, r) : W->natural; /* against its own impulse */
    W->velocity = csimi_delassus_worst_velocity(W);
    worst = W->each && W->contact > W->natural ? W->contact : W->natural;
    if (!W->both) return worst;
    W->siconos = csimi_delassus_siconos(W, r, u);
    return W->siconos > worst ? W->siconos : worst;
}
