/* solve/single: one contact alone, u = W lambda + c with its law; exact in closed form or by a safeguarded search.
   Every method that visits contacts one by one rests on this file. */
#include "private.h"

CSIMI_FN void csimi_local_set(csimi_local *c, const csim_real *W) {
    c->W[0] = W[0];
    c->W[1] = (W[1] + W[3]) / 2;
    c->W[2] = (W[2] + W[6]) / 2;
    c->W[3] = W[4];
    c->W[4] = (W[5] + W[7]) / 2;
    c->W[5] = W[8];
}

/* ---- preparing the model */

/* Eigenvalues (ascending order not needed) and axes of the symmetric [p q; q r]; values kept above floor. */
static void csimi_eigen_sym2(csim_real p, csim_real q, csim_real r, csim_real floor, csim_real *value,
                             csim_real *turn) {
    const csim_real half = (p - r) / 2, h = CSIMI_SQRT(half * half + q * q), big = (p + r) / 2 + h;
    turn[0] = 1;
    turn[1] = 0;
    if (h > 0 && half >= 0) {
        turn[0] = CSIMI_SQRT((1 + half / h) / 2);
        turn[1] = q / (2 * h * turn[0]);
    } else if (h > 0) {
        turn[1] = CSIMI_SQRT((1 - half / h) / 2);
        turn[0] = q / (2 * h * turn[1]);
    }
    value[0] = csimi_max(big, floor);
    value[1] = csimi_max(big > 0 ? (p * r - q * q) / big : 0, floor);
}

/* The normalised model of a friction law for W + diag(normal, tangent, tangent). */
static void csimi_local_prepare_friction(csimi_local *c, csim_real normal, csim_real tangent) {
    const csim_real *W = c->W, trace = W[0] + W[3] + W[5] + normal + 2 * tangent;
    const csim_real nn = csimi_max(W[0] + normal, 16 * CSIMI_EPS * trace);
    const int other = c->contact->law == CSIM_LAW_ANISOTROPIC ? 1 : 0;
    csim_real b[2], p, q, r;
    c->mu[0] = c->contact->mu[0];
    c->mu[1] = c->contact->mu[other];
    c->a = 1 / csimi_max(nn, CSIMI_TINY);
    b[0] = c->mu[0] * W[1];
    b[1] = c->mu[1] * W[2];
    p = c->mu[0] * (W[3] + tangent) * c->mu[0];
    q = c->mu[0] * W[4] * c->mu[1];
    r = c->mu[1] * (W[5] + tangent) * c->mu[1];
    csimi_eigen_sym2(p - b[0] * b[0] * c->a, q - b[0] * b[1] * c->a, r - b[1] * b[1] * c->a,
                     csimi_max(16 * CSIMI_EPS * (p + r), CSIMI_TINY), c->s, c->turn);
    c->b[0] = c->turn[0] * b[0] + c->turn[1] * b[1];
    c->b[1] = c->turn[0] * b[1] - c->turn[1] * b[0];
}

/* Inverse of the part of W + extra I that the law constrains, zero elsewhere. */
static void csimi_local_prepare_linear(csimi_local *c, unsigned mask) {
    static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    const csim_real lift = c->extra + 16 * CSIMI_EPS * (c->W[0] + c->W[3] + c->W[5]) + CSIMI_TINY;
    double H[9], x[3];
    int i, j;
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 3; ++j) {
            const bool on = (mask >> i & mask >> j & 1u) != 0;
            H[3 * i + j] = on ? (double)(c->W[at[3 * i + j]] + (i == j ? lift : 0)) : i == j ? 1 : 0;
        }
    if (!csimi_cholesky(3, H))
        for (i = 0; i < 9; ++i) H[i] = i % 4 == 0 ? (double)(c->W[0] + c->W[3] + c->W[5] + lift) : 0;
    for (j = 0; j < 3; ++j) {
        x[0] = x[1] = x[2] = 0;
        x[j] = mask >> j & 1u ? 1 : 0;
        csimi_cholesky_solve(3, H, x);
        for (i = 0; i <= j; ++i) c->inverse[at[3 * i + j]] = (csim_real)x[i];
    }
}

/* Readies the local solver for W + eps (tr W / 3) I. */
CSIMI_FN void csimi_local_prepare(csimi_local *c, const csim_contact *contact, csim_real eps) {
    c->contact = contact;
    c->extra = eps * (c->W[0] + c->W[3] + c->W[5]) / 3;
    switch (contact->law) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_PROXIMAL:
    case CSIM_LAW_ANISOTROPIC: csimi_local_prepare_friction(c, c->extra, c->extra); break;
    case CSIM_LAW_INVERTIBLE:
        csimi_local_prepare_friction(c, c->extra + contact->omega[0], c->extra + contact->omega[1]);
        break;
    case CSIM_LAW_BILATERAL: csimi_local_prepare_linear(c, contact->mask); break;
    case CSIM_LAW_BOX: csimi_local_prepare_linear(c, 7u); break;
    case CSIM_LAW_COUNT_:
    default: break;
    }
}

/* ---- solving. All take c = u - W lambda, the velocity without this contact, and give lambda. */

/* Exact Coulomb slip: with u_n = 0 and u_t = -z (scaled) y the tangential impulse is y(z) = -(S + z)^-1 d, and z is
   the root of lambda_n(z) / |y(z)| = 1. That quotient is below 1 at z = 0 (or the contact sticks), grows without
   bound, and is nearly linear: Newton in a bracket, from the last z. */
static csim_real csimi_local_slip(csimi_local *c, csim_real cn, const csim_real *d, csim_real *y) {
    csim_real z = c->z, lo = 0, hi = CSIMI_HUGE, normal = 0;
    int k;
    for (k = 0; k < 60; ++k) {
        const csim_real i0 = 1 / (c->s[0] + z), i1 = 1 / (c->s[1] + z);
        csim_real length, slope, next, value;
        y[0] = -d[0] * i0;
        y[1] = -d[1] * i1;
        length = CSIMI_SQRT(y[0] * y[0] + y[1] * y[1]);
        normal = -c->a * (cn + c->b[0] * y[0] + c->b[1] * y[1]);
        value = normal - length;
        if (csimi_abs(value) <= 4 * CSIMI_EPS * length) break;
        if (value < 0)
            lo = z;
        else
            hi = z;
        /* derivative of normal / length, times length */
        slope = c->a * (c->b[0] * y[0] * i0 + c->b[1] * y[1] * i1) +
                normal * (y[0] * y[0] * i0 + y[1] * y[1] * i1) / (length * length);
        next = z - value / slope;
        if (!(next > lo && next < hi)) next = hi < CSIMI_HUGE ? (lo + hi) / 2 : 4 * z + c->s[0];
        if (csimi_abs(next - z) <= CSIMI_EPS * z) break;
        z = next;
    }
    c->z = z;
    return normal;
}

/* Convex law: the ray (1, cos, sin) of the cone's boundary with the energy 1/2 lambda' W lambda + c' lambda least along
   it; dc is d . c and dwd is d' W d for the ray d. The result has the sign of the energy's slope around the circle. */
static csim_real csimi_ray_slope(const csimi_local *c, const csim_real *v, csim_real angle, csim_real *dc,
                                 csim_real *dwd) {
    const csim_real x = CSIMI_COS(angle), y = CSIMI_SIN(angle);
    const csim_real lever = 1 + c->a * (c->b[0] * x + c->b[1] * y), turned = c->a * (c->b[1] * x - c->b[0] * y);
    const csim_real half = lever * turned / c->a + (c->s[1] - c->s[0]) * x * y; /* of the derivative of dwd */
    *dc = v[0] + v[1] * x + v[2] * y;
    *dwd = lever * lever / c->a + c->s[0] * x * x + c->s[1] * y * y;
    return (v[2] * x - v[1] * y) * *dwd - half * *dc;
}

/* The angle of least energy among count sampled rays, refined by bisection. */
static csim_real csimi_ray_angle(const csimi_local *c, const csim_real *v, int count) {
    const csim_real step = 2 * CSIMI_PI / CSIM_R(count);
    csim_real best = 0, angle = 0, lo, hi, dc, dwd;
    int k;
    for (k = 0; k < count; ++k) {
        csimi_ray_slope(c, v, step * CSIM_R(k), &dc, &dwd);
        if (dc < 0 && dc * dc / dwd > best) {
            best = dc * dc / dwd;
            angle = step * CSIM_R(k);
        }
    }
    lo = angle - step;
    hi = angle + step;
    for (k = 0; k < 60 && hi - lo > CSIMI_EPS; ++k) { /* where d . c < 0 is lost: back towards the best sample */
        const csim_real middle = (lo + hi) / 2, slope = csimi_ray_slope(c, v, middle, &dc, &dwd);
        if (dc >= 0 ? middle > angle : slope > 0)
            hi = middle;
        else
            lo = middle;
    }
    return (lo + hi) / 2;
}

/* v: velocity without the contact in normalised, turned axes. The energy on the circle of rays may have a second
   valley, which is no minimum of the cone: there friction would push along the slip. Then the rays are sampled more
   finely. */
static void csimi_local_ray(const csimi_local *c, const csim_real *v, csim_real *lambda) {
    int count;
    for (count = 32; count <= 2048; count *= 8) {
        const csim_real angle = csimi_ray_angle(c, v, count), x = CSIMI_COS(angle), y = CSIMI_SIN(angle);
        csim_real dc, dwd, r, lever, along;
        csimi_ray_slope(c, v, angle, &dc, &dwd);
        r = csimi_max(0, -dc / dwd);
        lambda[0] = r;
        lambda[1] = r * x;
        lambda[2] = r * y;
        lever = 1 + c->a * (c->b[0] * x + c->b[1] * y);
        along = v[1] * x + v[2] * y +
                r * ((c->b[0] * x + c->b[1] * y) * lever + c->s[0] * x * x + c->s[1] * y * y); /* u_t along friction */
        if (r > 0 && along <= 0) break;
    }
}

/* Signorini-Coulomb in its exact form, or the convex law. */
static void csimi_local_friction(csimi_local *c, const csim_real *v, csim_real *lambda) {
    const bool convex = c->contact->law == CSIM_LAW_PROXIMAL;
    const csim_real t0 = c->mu[0] * v[1], t1 = c->mu[1] * v[2];
    csim_real w[3], d[2], y[2], normal;
    lambda[0] = lambda[1] = lambda[2] = 0;
    if (v[0] >= (convex ? CSIMI_SQRT(t0 * t0 + t1 * t1) : 0)) return; /* opens */
    w[0] = v[0];
    w[1] = c->turn[0] * t0 + c->turn[1] * t1;
    w[2] = c->turn[0] * t1 - c->turn[1] * t0;
    d[0] = w[1] - c->b[0] * c->a * w[0];
    d[1] = w[2] - c->b[1] * c->a * w[0];
    y[0] = -d[0] / c->s[0];
    y[1] = -d[1] / c->s[1];
    normal = -c->a * (w[0] + c->b[0] * y[0] + c->b[1] * y[1]);
    if (!(normal >= 0 && y[0] * y[0] + y[1] * y[1] <= normal * normal)) { /* does not stick */
        if (convex) {
            csim_real ray[3];
            csimi_local_ray(c, w, ray);
            normal = ray[0];
            y[0] = ray[1];
            y[1] = ray[2];
        } else {
            normal = csimi_local_slip(c, w[0], d, y);
        }
    }
    lambda[0] = normal;
    lambda[1] = c->mu[0] * (c->turn[0] * y[0] - c->turn[1] * y[1]);
    lambda[2] = c->mu[1] * (c->turn[1] * y[0] + c->turn[0] * y[1]);
}

static void csimi_local_linear(const csimi_local *c, const csim_real *v, csim_real *lambda) {
    const csim_real *M = c->inverse;
    lambda[0] = -(M[0] * v[0] + M[1] * v[1] + M[2] * v[2]);
    lambda[1] = -(M[1] * v[0] + M[3] * v[1] + M[4] * v[2]);
    lambda[2] = -(M[2] * v[0] + M[4] * v[1] + M[5] * v[2]);
}

/* Three numbers in a box: the free answer, or coordinate descent from the clipped one. */
static void csimi_local_box(const csimi_local *c, const csim_real *v, csim_real *lambda) {
    static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    const csim_real *lo = c->contact->lo, *hi = c->contact->hi, floor = c->W[0] + c->W[3] + c->W[5];
    int k, i, j;
    bool moved = false;
    csimi_local_linear(c, v, lambda);
    for (i = 0; i < 3; ++i) {
        const csim_real clipped = csimi_clamp(lambda[i], lo[i], hi[i]);
        moved = moved || clipped < lambda[i] || clipped > lambda[i];
        lambda[i] = clipped;
    }
    for (k = 0; k < 100 && moved; ++k) {
        csim_real most = 0, size = 0;
        for (i = 0; i < 3; ++i) {
            csim_real u = v[i], x, w = csimi_max(c->W[at[4 * i]], 16 * CSIMI_EPS * floor) + c->extra + CSIMI_TINY;
            for (j = 0; j < 3; ++j) u += (c->W[at[3 * i + j]] + (i == j ? c->extra : 0)) * lambda[j];
            x = csimi_clamp(lambda[i] - u / w, lo[i], hi[i]);
            most = csimi_max(most, csimi_abs(x - lambda[i]));
            size = csimi_max(size, csimi_abs(x));
            lambda[i] = x;
        }
        moved = most > CSIMI_EPS * size;
    }
}

CSIMI_FN void csimi_local_solve(csimi_local *c, const csim_real *v, csim_real *lambda) {
    switch (c->contact->law) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_PROXIMAL:
    case CSIM_LAW_ANISOTROPIC:
    case CSIM_LAW_INVERTIBLE: csimi_local_friction(c, v, lambda); break;
    case CSIM_LAW_BILATERAL: csimi_local_linear(c, v, lambda); break;
    case CSIM_LAW_BOX: csimi_local_box(c, v, lambda); break;
    case CSIM_LAW_COUNT_:
    default: lambda[0] = lambda[1] = lambda[2] = 0; break;
    }
}
