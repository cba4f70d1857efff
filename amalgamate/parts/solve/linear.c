/* solve/linear: the linear system of one step of the non-smooth Newton method,
       (W + shift + C) x = residual,   C, P diagonal, P near the inverse of the diagonal of the whole
   inexactly, by the four methods Macklin et al. 2019 compare in their figure 11. Rows with P = 0 are off: x stays 0. */
#include "private.h"

static const double CSIMI_LINEAR_ENOUGH = 1e-20; /* of the first residual, a square */

CSIMI_FN void csimi_linear_layout(csimi_linear *s, csimi_arena *arena, int contacts) {
    const size_t vector = 3 * (size_t)contacts;
    s->C = CSIMI_PUSH(arena, csim_real, vector);
    s->P = CSIMI_PUSH(arena, csim_real, vector);
    s->x = CSIMI_PUSH(arena, csim_real, vector);
    s->residual = CSIMI_PUSH(arena, csim_real, vector);
    s->z = CSIMI_PUSH(arena, csim_real, vector);
    s->p = CSIMI_PUSH(arena, csim_real, vector);
    s->Ap = CSIMI_PUSH(arena, csim_real, vector); /* Az is what csimi_newton_open lends: its u, which is used up */
}

static double csimi_linear_dot(const csimi_linear *s, const csim_real *a, const csim_real *b) {
    return csimi_sum_dot(s->length, a, b);
}

/* On the rows that are on. */
static void csimi_linear_product(csimi_linear *s, const csim_real *x, csim_real *y) {
    int i;
    csimi_delassus_product(s->W, x, y);
    for (i = 0; i < s->length; ++i) y[i] = s->P[i] > 0 ? y[i] + (s->C[i] + s->shift) * x[i] : 0;
}

/* Conjugate residuals, algorithm 2 of the paper: residual' P residual falls in every step, it is what they minimise. */
static int csimi_linear_pcr(csimi_linear *s, int most) {
    double zAz, size, first;
    int step, i;
    for (i = 0; i < s->length; ++i) s->p[i] = s->z[i];
    csimi_linear_product(s, s->z, s->Az);
    CSIMI_MEMCPY(s->Ap, s->Az, (size_t)s->length * sizeof *s->Ap); /* p is z at first */
    zAz = csimi_linear_dot(s, s->z, s->Az);
    first = size = csimi_linear_dot(s, s->residual, s->z); /* residual' P residual */
    for (step = 0; step < most; ++step) {
        const double ApPAp = csimi_sum_weighted(s->length, s->P, s->Ap, s->Ap);
        csim_real a, b;
        double next;
        if (!(zAz > 0 && ApPAp > 0 && size > CSIMI_LINEAR_ENOUGH * first)) break; /* also for a NaN */
        a = (csim_real)(zAz / ApPAp);
        for (i = 0; i < s->length; ++i) {
            s->x[i] += a * s->p[i];
            s->residual[i] -= a * s->Ap[i];
            s->z[i] -= a * s->P[i] * s->Ap[i]; /* stays P residual */
        }
        size = csimi_linear_dot(s, s->residual, s->z);
        csimi_linear_product(s, s->z, s->Az);
        next = csimi_linear_dot(s, s->z, s->Az);
        b = (csim_real)(next / zAz); /* makes A p orthogonal in P to those before */
        for (i = 0; i < s->length; ++i) {
            s->p[i] = s->z[i] + b * s->p[i];
            s->Ap[i] = s->Az[i] + b * s->Ap[i]; /* A p by the same sum, without a product */
        }
        zAz = next;
    }
    return step;
}

/* Conjugate gradients: the energy falls, the residual need not. */
static int csimi_linear_pcg(csimi_linear *s, int most) {
    double size = csimi_linear_dot(s, s->residual, s->z);
    const double first = size;
    int step, i;
    CSIMI_MEMCPY(s->p, s->z, (size_t)s->length * sizeof *s->p);
    for (step = 0; step < most && size > CSIMI_LINEAR_ENOUGH * first; ++step) {
        double curvature, next;
        csim_real a, b;
        csimi_linear_product(s, s->p, s->Ap);
        curvature = csimi_linear_dot(s, s->p, s->Ap);
        if (!(curvature > 0)) break; /* the matrix is not positive definite along p, or a NaN */
        a = (csim_real)(size / curvature);
        for (i = 0; i < s->length; ++i) {
            s->x[i] += a * s->p[i];
            s->residual[i] -= a * s->Ap[i];
            s->z[i] = s->P[i] * s->residual[i];
        }
        next = csimi_linear_dot(s, s->residual, s->z);
        b = (csim_real)(next / size); /* makes p conjugate to those before */
        size = next;
        for (i = 0; i < s->length; ++i) s->p[i] = s->z[i] + b * s->p[i];
    }
    return step;
}

/* Jacobi's x += share P residual; the share is halved as often as the residual would grow. */
static int csimi_linear_jacobi(csimi_linear *s, int most) {
    double size = csimi_linear_dot(s, s->residual, s->z);
    const double first = size;
    csim_real share = 1;
    int step, i;
    for (step = 0; step < most && size > CSIMI_LINEAR_ENOUGH * first; ++step) {
        double next = size;
        csimi_linear_product(s, s->z, s->Ap);
        for (; share > CSIM_R(1e-6); share /= 2) { /* once halved it stays so in later steps */
            for (i = 0; i < s->length; ++i) s->p[i] = s->residual[i] - share * s->Ap[i];
            next = csimi_sum_weighted(s->length, s->P, s->p, s->p);
            if (next < size) break;
        }
        if (!(next < size)) break;
        size = next;
        for (i = 0; i < s->length; ++i) {
            s->x[i] += share * s->z[i];
            s->residual[i] = s->p[i];
            s->z[i] = s->P[i] * s->p[i];
        }
    }
    return step;
}

/* The three rows of one contact in turn, u their W x. */
static void csimi_linear_relax(csimi_linear *s, int c, csim_real *u) {
    const csim_real *D = s->W->diagonal + 9 * (ptrdiff_t)c;
    csim_real *x = s->x + 3 * (ptrdiff_t)c, old[3];
    int k, j;
    for (k = 0; k < 3; ++k) { /* P is near the inverse of the row's diagonal: a step all but solves the row */
        const ptrdiff_t i = 3 * (ptrdiff_t)c + k;
        const csim_real step = s->P[i] * (s->residual[i] - u[k] - (s->C[i] + s->shift) * x[k]);
        old[k] = x[k];
        x[k] += step;
        for (j = k + 1; j < 3; ++j) u[j] += D[3 * j + k] * step; /* the next rows see the step */
    }
    csimi_delassus_change(s->W, c, old, x); /* the rows of other contacts read the change from here */
}

/* Gauss-Seidel, row by row; residual stays the right side. Needs rows of W. */
static int csimi_linear_gauss_seidel(csimi_linear *s, int most) {
    int step, c, k;
    csimi_delassus_begin(s->W, s->x);
    for (step = 0; step < most; ++step) {
        double change = 0, size = 0;
        for (c = 0; c < s->W->contacts; ++c) {
            const csim_real *x = s->x + 3 * (ptrdiff_t)c, before[3] = {x[0], x[1], x[2]};
            csim_real u[3];
            csimi_delassus_row(s->W, c, u);
            for (k = 0; k < 3; ++k) u[k] -= s->W->q[3 * (ptrdiff_t)c + k]; /* a row comes with q: W x alone */
            csimi_linear_relax(s, c, u);
            for (k = 0; k < 3; ++k) {
                change += (double)(x[k] - before[k]) * (double)(x[k] - before[k]);
                size += (double)x[k] * (double)x[k];
            }
        }
        if (!(change > CSIMI_LINEAR_ENOUGH * size)) break; /* the residual is not known here, the change of x is */
    }
    return step;
}

CSIMI_FN int csimi_linear_solve(csimi_linear *s, csim_linear method, int most) {
    int i;
    for (i = 0; i < s->length; ++i) {
        s->x[i] = 0; /* the residual at x = 0 is the right side */
        s->z[i] = s->P[i] * s->residual[i];
    }
    switch (method) {
    case CSIM_LINEAR_PCG: return csimi_linear_pcg(s, most);
    case CSIM_LINEAR_JACOBI: return csimi_linear_jacobi(s, most);
    case CSIM_LINEAR_GAUSS_SEIDEL: return csimi_linear_gauss_seidel(s, most);
    case CSIM_LINEAR_PCR:
    case CSIM_LINEAR_COUNT_:
    default: return csimi_linear_pcr(s, most);
    }
}
