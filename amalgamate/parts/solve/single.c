/* solve/single: one contact alone, u = W lambda + c with its law; exact in closed form or by a safeguarded search.
   Every method that visits contacts one by one rests on this file. */
#include "private.h"

CSIMI_FN void csimi_local_set(csimi_local *c, const csim_real *W) {
    c->W[0] = W[0];
    c->W[1] = (W[1] + W[3]) / 2; /* symmetric part: the axes of S below exist for no other */
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
    /* the larger of cosine and sine by a root, the other by a division: neither loses digits to a difference */
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
    value[1] = csimi_max(big > 0 ? (p * r - q * q) / big : 0, floor); /* not trace - big, which cancels */
}

/* The normalised model of a friction law for W + diag(normal, tangent, tangent). */
static void csimi_local_prepare_friction(csimi_local *c, csim_real normal, csim_real tangent) {
    const csim_real *W = c->W, trace = W[0] + W[3] + W[5] + normal + 2 * tangent;
    const csim_real nn = csimi_max(W[0] + normal, 16 * CSIMI_EPS * trace); /* finite a where nothing moves along n */
    const int other = csimi_law_is(c->contact, CSIM_LAW_ANISOTROPIC) ? 1 : 0;
    csim_real b[2], p, q, r;
    c->mu[0] = c->contact->mu[0];
    c->mu[1] = c->contact->mu[other];
    c->a = 1 / csimi_max(nn, CSIMI_TINY);
    b[0] = c->mu[0] * W[1];
    b[1] = c->mu[1] * W[2];
    /* tangents in y = lambda_t / mu: rows and columns of W times mu */
    p = c->mu[0] * (W[3] + tangent) * c->mu[0];
    q = c->mu[0] * W[4] * c->mu[1];
    r = c->mu[1] * (W[5] + tangent) * c->mu[1];
    /* S, what is left of the tangents once u_n = 0 has eliminated lambda_n; the floor keeps it invertible */
    csimi_eigen_sym2(p - b[0] * b[0] * c->a, q - b[0] * b[1] * c->a, r - b[1] * b[1] * c->a,
                     csimi_max(16 * CSIMI_EPS * (p + r), CSIMI_TINY), c->s, c->turn);
    c->b[0] = c->turn[0] * b[0] + c->turn[1] * b[1];
    c->b[1] = c->turn[0] * b[1] - c->turn[1] * b[0];
}

#if CSIMI_HAS_ROWS
/* Inverse of the part of W + extra I that the law constrains, zero elsewhere. */
static void csimi_local_prepare_linear(csimi_local *c, unsigned mask) {
    static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5}; /* place of (i, j) among the six numbers of W */
    /* a W that lacks rank is lifted just above rounding */
    const csim_real lift = c->extra + 16 * CSIMI_EPS * (c->W[0] + c->W[3] + c->W[5]) + CSIMI_TINY;
    csimi_wide H[9], C[9], size = (csimi_wide)(c->W[0] + c->W[3] + c->W[5] + lift);
    int i, j;
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 3; ++j) {
            const bool on = (mask >> i & mask >> j & 1u) != 0;
            /* the identity on rows that are free, so that one factorisation serves every mask */
            H[3 * i + j] = on ? (csimi_wide)(c->W[at[3 * i + j]] + (i == j ? lift : 0)) : i == j ? 1 : 0;
        }
    if (!csimi_pivot(H, C)) /* H^-1 = C C' */
        /* not even so positive definite: a diagonal of the trace, which a semidefinite W does not exceed */
        for (i = 0; i < 9; ++i) C[i] = i % 4 == 0 ? csimi_sqrt64(1 / size) : 0;
    for (i = 0; i < 3; ++i)
        for (j = 0; j <= i; ++j) {
            const csimi_wide x = C[3 * i] * C[3 * j] + C[3 * i + 1] * C[3 * j + 1] + C[3 * i + 2] * C[3 * j + 2];
            c->inverse[at[3 * i + j]] = (csim_real)(mask >> i & mask >> j & 1u ? x : 0);
        }
}
#endif

/* Readies the local solver for W + eps (tr W / 3) I. */
CSIMI_FN void csimi_local_prepare(csimi_local *c, const csim_contact *contact, csim_real eps) {
    c->contact = contact;
    c->extra = eps * (c->W[0] + c->W[3] + c->W[5]) / 3; /* the mean eigenvalue: the same share whatever the mass */
    switch (csimi_law_of(contact)) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_PROXIMAL:
    case CSIM_LAW_ANISOTROPIC: csimi_local_prepare_friction(c, c->extra, c->extra); break;
    case CSIM_LAW_INVERTIBLE:
        /* u + omega lambda in the place of u: omega lies on the diagonal of W */
        csimi_local_prepare_friction(c, c->extra + contact->omega[0], c->extra + contact->omega[1]);
        break;
#if CSIMI_HAS_ROWS
    case CSIM_LAW_BILATERAL: csimi_local_prepare_linear(c, contact->mask); break;
    case CSIM_LAW_BOX: csimi_local_prepare_linear(c, 7u); break;
#else
    case CSIM_LAW_BILATERAL:
    case CSIM_LAW_BOX:
#endif
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
        if (value < 0) /* friction exceeds the cone: more slip is needed */
            lo = z;
        else
            hi = z;
        /* derivative of normal / length, times length */
        slope = c->a * (c->b[0] * y[0] * i0 + c->b[1] * y[1] * i1) +
                normal * (y[0] * y[0] * i0 + y[1] * y[1] * i1) / (length * length);
        next = z - value / slope;
        /* out of the bracket: half of it or, while it lacks an upper end, four times as far (from 0: as far as S) */
        if (!(next > lo && next < hi)) next = hi < CSIMI_HUGE ? (lo + hi) / 2 : 4 * z + c->s[0];
        if (csimi_abs(next - z) <= CSIMI_EPS * z) break;
        z = next;
    }
    c->z = z; /* start of the next search, which a sweep changes little */
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
        if (dc < 0 && dc * dc / dwd > best) { /* rays with d . c >= 0 have their least energy at the apex */
            best = dc * dc / dwd;
            angle = step * CSIM_R(k);
        }
    }
    lo = angle - step; /* the valley lies within a sample of the best one */
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

/* ---- maximal dissipation: the conic where the plane u_n = 0 cuts the cone. On the plane lambda_n = p - q . y and the
   energy is 1/2 y' s y + d . y up to a constant, least at y0 (stick), outside the cone. The conic is y = r e, |e| = 1,
   r = p / (1 + q . e); its tangent is (e + q) turned by 90 degrees. The set inside is convex, so of all stationary
   points only one can be seen from y0 across the plane; a point is in sight when (e + q) . (y - y0) <= 0, which is e .
   y0 >= lambda_n(y0): an arc around the direction of y0. (The paper prints that test the other way round.) */
typedef struct csimi_conic {
    csim_real p, q[2], s[2], d[2];
    csim_real e0[2], n0; /* direction of y0, and lambda_n(y0) / |y0| */
} csimi_conic;

/* Slope of the energy along the conic at e, up to a positive factor: the gradient s y + d across the tangent. */
static csim_real csimi_conic_slope(const csimi_conic *k, const csim_real *e) {
    const csim_real r = k->p / (1 + k->q[0] * e[0] + k->q[1] * e[1]);
    return (k->s[1] * r * e[1] + k->d[1]) * (e[0] + k->q[0]) - (k->s[0] * r * e[0] + k->d[0]) * (e[1] + k->q[1]);
}

/* Whether the conic has a point (r > 0) in the direction e, and y0 sees it. */
static bool csimi_conic_visible(const csimi_conic *k, const csim_real *e) {
    return 1 + k->q[0] * e[0] + k->q[1] * e[1] > 0 && e[0] * k->e0[0] + e[1] * k->e0[1] >= k->n0;
}

/* turned by the angle of (cosine, sine) */
static void csimi_turn2(const csim_real *e, csim_real cosine, csim_real sine, csim_real *out) {
    /* both before they are written: out may be e */
    const csim_real x = cosine * e[0] - sine * e[1], y = sine * e[0] + cosine * e[1];
    out[0] = x;
    out[1] = y;
}

/* Algorithm 1 with directions in place of angles: strides of doubling angle against the slope until it changes its sign
   or the point is out of sight, then halving of the arc down to the given width. */
static void csimi_conic_bisect(const csimi_conic *k, csim_real width, csim_real *e) {
    const csim_real start = csimi_conic_slope(k, k->e0);
    csim_real far[2], middle[2], cosine = CSIM_R(0.99500416527802577), sine = CSIM_R(0.09983341664682815); /* 0.1 rad */
    int i;
    e[0] = k->e0[0];
    e[1] = k->e0[1];
    if (!(start < 0 || start > 0)) return; /* stationary already, or not a number */
    if (start > 0) sine = -sine;
    for (i = 0; i < 40; ++i) {
        csimi_turn2(e, cosine, sine, far);
        if (!csimi_conic_visible(k, far) || csimi_conic_slope(k, far) * start <= 0) break;
        e[0] = far[0];
        e[1] = far[1];
        if (cosine > CSIM_R(0.5)) {
            sine *= 2 * cosine;
            cosine = 2 * cosine * cosine - 1;
        }
    }
    for (i = 0; i < 60 && csimi_abs(far[0] - e[0]) + csimi_abs(far[1] - e[1]) > width; ++i) {
        csim_real length;
        bool ahead;
        middle[0] = e[0] + far[0];
        middle[1] = e[1] + far[1];
        length = 1 / CSIMI_SQRT(middle[0] * middle[0] + middle[1] * middle[1]);
        middle[0] *= length;
        middle[1] *= length;
        ahead = csimi_conic_visible(k, middle) && csimi_conic_slope(k, middle) * start > 0;
        (ahead ? e : far)[0] = middle[0];
        (ahead ? e : far)[1] = middle[1];
    }
}

/* The direction at an angle from e0. */
static void csimi_conic_direction(const csimi_conic *k, csim_real angle, csim_real *e) {
    csimi_turn2(k->e0, CSIMI_COS(angle), CSIMI_SIN(angle), e);
}

/* Energy at angle a less the energy at angle b, up to a positive factor that does not vanish with b - a: (y_a - y_b)
   times the gradient half way, with the chord y_a - y_b written without cancellation. */
static csim_real csimi_conic_gain(const csimi_conic *k, csim_real a, csim_real b) {
    csim_real ea[2], eb[2], mid[2], chord[2], ra, rb, turn;
    csimi_conic_direction(k, a, ea);
    csimi_conic_direction(k, b, eb);
    csimi_conic_direction(k, (a + b) / 2, mid);
    ra = k->p / (1 + k->q[0] * ea[0] + k->q[1] * ea[1]);
    rb = k->p / (1 + k->q[0] * eb[0] + k->q[1] * eb[1]);
    /* e_a - e_b is mid turned by 90 degrees, times 2 sin((a - b) / 2) */
    turn = rb / k->p * (k->q[1] * mid[0] - k->q[0] * mid[1]);
    chord[0] = -mid[1] - turn * eb[0];
    chord[1] = mid[0] - turn * eb[1];
    /* of a quadratic the gradient half way gives the difference exactly */
    turn = (k->s[0] * (ra * ea[0] + rb * eb[0]) / 2 + k->d[0]) * chord[0] +
           (k->s[1] * (ra * ea[1] + rb * eb[1]) / 2 + k->d[1]) * chord[1];
    return a > b ? turn : -turn;
}

/* Arc cosine, clamped. */
static csim_real csimi_arccos(csim_real x) {
    return x >= 1 ? 0 : x <= -1 ? CSIMI_PI : CSIMI_ATAN2(CSIMI_SQRT((1 - x) * (1 + x)), x);
}

/* Golden section between the ends of the arc in sight, where the energy has one valley. */
static void csimi_conic_golden(const csimi_conic *k, csim_real width, csim_real *e) {
    const csim_real golden = CSIM_R(0.6180339887498949), q = CSIMI_SQRT(k->q[0] * k->q[0] + k->q[1] * k->q[1]);
    csim_real hi = csimi_arccos(k->n0), lo = -hi, a, b;
    int i;
    /* e0 itself has 1 + q . e0 > p / |y0| > 0, for y0 is outside the cone */
    if (q >= 1) { /* a parabola or hyperbola: only where 1 + q . e > 0 */
        const csim_real x = k->q[0] * k->e0[0] + k->q[1] * k->e0[1], y = k->q[1] * k->e0[0] - k->q[0] * k->e0[1];
        const csim_real middle = CSIMI_ATAN2(y, x), half = csimi_arccos(-1 / q);
        lo = csimi_max(lo, middle - half);
        hi = csimi_min(hi, middle + half);
    }
    a = hi - golden * (hi - lo);
    b = lo + golden * (hi - lo);
    for (i = 0; i < 90 && hi - lo > width; ++i) {
        if (csimi_conic_gain(k, a, b) < 0) {
            hi = b;
            b = a;
            a = hi - golden * (hi - lo);
        } else {
            lo = a;
            a = b;
            b = lo + golden * (hi - lo);
        }
    }
    csimi_conic_direction(k, (lo + hi) / 2, e);
}

/* ---- the quartic */

/* Real cube root to double precision. */
static csimi_wide csimi_cbrt64(csimi_wide x) {
    const csimi_wide size = x < 0 ? -x : x;
    csimi_wide y;
    int k;
    if (!(size > (csimi_wide)CSIMI_TINY)) return 0;
    y = (csimi_wide)CSIMI_EXP(CSIMI_LOG((csim_real)size) / 3);
    for (k = 0; k < 3; ++k) y -= (y - size / (y * y)) / 3; /* exp and log may be float's */
    return x < 0 ? -y : y;
}

/* The largest real root of x^3 + a x^2 + b x + c: Cardano, or the cosine where all three are real; then Newton. */
static csimi_wide csimi_cubic_root(csimi_wide a, csimi_wide b, csimi_wide c) {
    const csimi_wide Q = (a * a - 3 * b) / 9, R = (a * (9 * b - 2 * a * a) - 27 * c) / 54, D = R * R - Q * Q * Q;
    csimi_wide x;
    int k;
    if (D > 0) {
        /* of equal signs: R and the root do not cancel */
        const csimi_wide A = csimi_cbrt64(R < 0 ? R - csimi_sqrt64(D) : R + csimi_sqrt64(D));
        x = A + (A < 0 || A > 0 ? Q / A : 0) - a / 3;
    } else {
        const csim_real angle = CSIMI_ATAN2((csim_real)csimi_sqrt64(-D), (csim_real)R) / 3;
        x = 2 * csimi_sqrt64(Q > 0 ? Q : 0) * (csimi_wide)CSIMI_COS(angle) - a / 3;
    }
    for (k = 0; k < 3; ++k) {
        /* at the largest root the slope is positive, or zero where that is double */
        const csimi_wide slope = (3 * x + 2 * a) * x + b, step = slope > 0 ? (((x + a) * x + b) * x + c) / slope : 0;
        x -= step;
    }
    return x;
}

/* Real parts of the roots of x^2 + b x + c that are real, or nearly: a double root that rounding has split. */
static int csimi_quadratic_roots(csimi_wide b, csimi_wide c, csimi_wide *x) {
    const csimi_wide D = b * b / 4 - c;
    if (D < -CSIMI_WIDE(1e-6) * (b * b + (c < 0 ? -c : c))) return 0;
    x[0] = -b / 2;
    if (D <= 0) return 1;
    x[0] += b < 0 ? csimi_sqrt64(D) : -csimi_sqrt64(D); /* the larger root; the other by Vieta */
    x[1] = x[0] < 0 || x[0] > 0 ? c / x[0] : 0;
    return 2;
}

/* Real roots of k[4] x^4 + ... + k[0], k[4] not zero: Ferrari. */
static int csimi_quartic_roots(const csimi_wide *k, csimi_wide *x) {
    const csimi_wide b = k[3] / k[4], c = k[2] / k[4], d = k[1] / k[4], e = k[0] / k[4];
    const csimi_wide P = c - 3 * b * b / 8, Q = d - b * c / 2 + b * b * b / 8;
    const csimi_wide R = e - b * d / 4 + b * b * c / 16 - 3 * b * b * b * b / 256;
    /* y^4 + P y^2 + Q y + R in y = x + b / 4 parts into two quadratics with a root m of the resolvent */
    const csimi_wide m = csimi_cubic_root(P, P * P / 4 - R, -Q * Q / 8), root = csimi_sqrt64(m > 0 ? 2 * m : 0);
    const csimi_wide half = root > 0 ? Q / (2 * root) : 0;
    int count = csimi_quadratic_roots(-root, P / 2 + m + half, x), i;
    count += csimi_quadratic_roots(root, P / 2 + m - half, x + count);
    for (i = 0; i < count; ++i) x[i] -= b / 4;
    return count;
}

/* (p s e + d (1 + q . e)) across (e + q) is a quadratic in e = (cosine, sine): a quartic in t = tan(angle / 2), the
   angle taken from e0. */
static void csimi_conic_quartic(const csimi_conic *k, csimi_wide *poly) {
    const csimi_wide p = (csimi_wide)k->p, q0 = (csimi_wide)k->q[0], q1 = (csimi_wide)k->q[1], d0 = (csimi_wide)k->d[0];
    const csimi_wide d1 = (csimi_wide)k->d[1], s0 = (csimi_wide)k->s[0], s1 = (csimi_wide)k->s[1];
    const csimi_wide x = (csimi_wide)k->e0[0], y = (csimi_wide)k->e0[1];
    /* coefficients of 1, e_x, e_y, e_x^2, e_y^2 and e_x e_y */
    const csimi_wide one = d1 * q0 - d0 * q1, kx = d1 * (1 + q0 * q0) - q1 * (p * s0 + d0 * q0);
    const csimi_wide ky = q0 * (p * s1 + d1 * q1) - d0 * (1 + q1 * q1);
    const csimi_wide kxx = d1 * q0, kyy = -d0 * q1, kxy = p * (s1 - s0) + d1 * q1 - d0 * q0;
    const csimi_wide u = kx * x + ky * y, v = ky * x - kx * y; /* in axes along e0 and across */
    const csimi_wide uu = kxx * x * x + kxy * x * y + kyy * y * y, vv = kxx * y * y - kxy * x * y + kyy * x * x;
    const csimi_wide uv = 2 * (kyy - kxx) * x * y + kxy * (x * x - y * y);
    poly[0] = one + u + uu; /* of t^0 .. t^4, all times (1 + t^2)^2 */
    poly[1] = 2 * (v + uv);
    poly[2] = 2 * (one - uu) + 4 * vv;
    poly[3] = 2 * (v - uv);
    poly[4] = one - u + uu;
}

/* Newton along the conic on the slope, which sheds the rounding of the closed form. */
static void csimi_conic_polish(const csimi_conic *k, csim_real *e) {
    int i;
    for (i = 0; i < 6; ++i) {
        const csim_real lever = 1 + k->q[0] * e[0] + k->q[1] * e[1], r = k->p / lever;
        const csim_real x = e[0] + k->q[0], y = e[1] + k->q[1], tx = -y * r / lever, ty = x * r / lever; /* dy */
        const csim_real gx = k->s[0] * r * e[0] + k->d[0], gy = k->s[1] * r * e[1] + k->d[1];
        const csim_real value = gy * x - gx * y, slope = k->s[1] * ty * x - k->s[0] * tx * y - gy * e[1] - gx * e[0];
        /* 0.1 rad at most: a slope near zero must not send it to another root */
        const csim_real step = slope > 0 || slope < 0 ? csimi_clamp(-value / slope, -CSIM_R(0.1), CSIM_R(0.1)) : 0;
        csim_real length;
        csimi_turn2(e, 1, step, e);
        length = 1 / CSIMI_SQRT(e[0] * e[0] + e[1] * e[1]);
        e[0] *= length;
        e[1] *= length;
        if (csimi_abs(step) <= 2 * CSIMI_EPS) break;
    }
}

/* The stationary point in sight; bisection where rounding has lost it. */
static void csimi_conic_analytic(const csimi_conic *k, csim_real *e) {
    csimi_wide poly[5], reversed[5], root[4];
    csim_real best = CSIMI_HUGE;
    int i, count;
    bool flip;
    csimi_conic_quartic(k, poly);
    /* of t or 1 / t, whichever has the larger leading coefficient: the roots are divided by it */
    flip = csimi_abs((csim_real)poly[0]) > csimi_abs((csim_real)poly[4]);
    for (i = 0; i < 5; ++i) reversed[i] = poly[4 - i];
    count = poly[0] < 0 || poly[0] > 0 || poly[4] < 0 || poly[4] > 0 ? csimi_quartic_roots(flip ? reversed : poly, root)
                                                                     : 0;
    for (i = 0; i < count; ++i) { /* (1 - t^2, 2 t) / (1 + t^2), or with 1 / t for t */
        const csimi_wide t = root[i], length = 1 / (1 + t * t), x = (1 - t * t) * length;
        csim_real trial[2], energy, r;
        csimi_turn2(k->e0, (csim_real)(flip ? -x : x), (csim_real)(2 * t * length), trial);
        csimi_conic_polish(k, trial);
        if (!csimi_conic_visible(k, trial)) continue;
        r = k->p / (1 + k->q[0] * trial[0] + k->q[1] * trial[1]);
        energy = r * r * (k->s[0] * trial[0] * trial[0] + k->s[1] * trial[1] * trial[1]) / 2 +
                 r * (k->d[0] * trial[0] + k->d[1] * trial[1]);
        if (!(energy < best)) continue; /* in sight is one alone; should rounding show two, the lower */
        best = energy;
        e[0] = trial[0];
        e[1] = trial[1];
    }
    if (!(best < CSIMI_HUGE)) csimi_conic_bisect(k, 2 * CSIMI_EPS, e);
}

/* One step of Newton in the plane: where the conic runs far out along the cone the direction alone gives y to fewer
   digits than the problem does. Along the normal of the conic back onto it, along its tangent to no slope. */
static void csimi_conic_refine(const csimi_conic *k, csim_real *y) {
    const csim_real r = CSIMI_SQRT(y[0] * y[0] + y[1] * y[1]), x = y[0] / r, z = y[1] / r;
    const csim_real n0 = x + k->q[0], n1 = z + k->q[1], size = CSIMI_SQRT(n0 * n0 + n1 * n1), i = 1 / size;
    const csim_real g0 = k->s[0] * y[0] + k->d[0], g1 = k->s[1] * y[1] + k->d[1], turn = (g0 * x + g1 * z) * i / r;
    const csim_real back = -(r + k->q[0] * y[0] + k->q[1] * y[1] - k->p) * i;
    const csim_real slope = (k->s[0] * n1 * n1 + k->s[1] * n0 * n0) * i - turn * (n0 * x + n1 * z);
    const csim_real across = (k->s[1] - k->s[0]) * n0 * n1 * i - turn * (n1 * x - n0 * z);
    const csim_real along = -(g1 * n0 - g0 * n1 + back * across) / slope;
    const csim_real step0 = (back * n0 - along * n1) * i, step1 = (back * n1 + along * n0) * i;
    /* taken only as a correction (a thousandth of r), towards a least value and not a largest one */
    if (!(slope > 0 && csimi_abs(step0) + csimi_abs(step1) < CSIM_R(1e-3) * r)) return;
    y[0] += step0;
    y[1] += step1;
}

/* Another answer to a slip than the exact Coulomb one: lambda_n, and y. width: of the last arc, radians. */
typedef csim_real csimi_dissipate(const csimi_local *c, csim_contact_method method, csim_real width, csim_real cn,
                                  const csim_real *d, csim_real *y);

/* Least energy on the conic. */
static csim_real csimi_local_dissipate(const csimi_local *c, csim_contact_method method, csim_real width, csim_real cn,
                                       const csim_real *d, csim_real *y) {
    csimi_conic k;
    csim_real e[2], x, length;
    k.p = -c->a * cn;
    k.q[0] = c->a * c->b[0];
    k.q[1] = c->a * c->b[1];
    k.s[0] = c->s[0];
    k.s[1] = c->s[1];
    k.d[0] = d[0];
    k.d[1] = d[1];
    /* divided by its largest number before it is squared: no overflow however long y0 is */
    x = csimi_max(csimi_abs(y[0]), csimi_abs(y[1]));
    k.e0[0] = y[0] / x;
    k.e0[1] = y[1] / x;
    length = CSIMI_SQRT(k.e0[0] * k.e0[0] + k.e0[1] * k.e0[1]);
    k.e0[0] /= length;
    k.e0[1] /= length;
    k.n0 = k.p / x / length - (k.q[0] * k.e0[0] + k.q[1] * k.e0[1]);
    if (method == CSIM_CONTACT_GOLDEN)
        csimi_conic_golden(&k, width, e);
    else if (method == CSIM_CONTACT_QUARTIC)
        csimi_conic_analytic(&k, e);
    else
        csimi_conic_bisect(&k, width, e);
    x = k.p / csimi_max(1 + k.q[0] * e[0] + k.q[1] * e[1], CSIMI_EPS); /* finite where e meets an asymptote */
    y[0] = x * e[0];
    y[1] = x * e[1];
    csimi_conic_refine(&k, y);
    return CSIMI_SQRT(y[0] * y[0] + y[1] * y[1]); /* lambda_n on the cone */
}

/* ---- friction */

/* Signorini-Coulomb in its exact form, the convex law, or maximal dissipation: dissipate, null: exact. */
static void csimi_local_friction(csimi_local *c, csimi_dissipate *dissipate, csim_contact_method method,
                                 csim_real width, const csim_real *v, csim_real *lambda) {
    const bool convex = csimi_law_is(c->contact, CSIM_LAW_PROXIMAL);
    const csim_real t0 = c->mu[0] * v[1], t1 = c->mu[1] * v[2];
    csim_real w[3], d[2], y[2], normal;
    lambda[0] = lambda[1] = lambda[2] = 0;
    /* under the convex law a contact opens only beyond u_n = mu |u_t|, the lift of one that slides */
    if (v[0] >= (convex ? CSIMI_SQRT(t0 * t0 + t1 * t1) : 0)) return; /* opens */
    w[0] = v[0];
    w[1] = c->turn[0] * t0 + c->turn[1] * t1;
    w[2] = c->turn[0] * t1 - c->turn[1] * t0;
    d[0] = w[1] - c->b[0] * c->a * w[0]; /* u_t when lambda_n alone has made u_n = 0 */
    d[1] = w[2] - c->b[1] * c->a * w[0];
    /* stick: S y = -d, so that u = 0 */
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
            normal = dissipate ? dissipate(c, method, width, w[0], d, y) : csimi_local_slip(c, w[0], d, y);
        }
    }
    lambda[0] = normal;
    lambda[1] = c->mu[0] * (c->turn[0] * y[0] - c->turn[1] * y[1]); /* back into the contact's axes */
    lambda[2] = c->mu[1] * (c->turn[1] * y[0] + c->turn[0] * y[1]);
}

#if CSIMI_HAS_ROWS
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
            x = csimi_clamp(lambda[i] - u / w, lo[i], hi[i]); /* row i alone to u_i = 0, as far as its limits let it */
            most = csimi_max(most, csimi_abs(x - lambda[i]));
            size = csimi_max(size, csimi_abs(x));
            lambda[i] = x;
        }
        moved = most > CSIMI_EPS * size;
    }
}
#endif

static void csimi_local_any(csimi_local *c, csimi_dissipate *dissipate, csim_contact_method method, csim_real width,
                            const csim_real *v, csim_real *lambda) {
    switch (csimi_law_of(c->contact)) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_PROXIMAL:
    case CSIM_LAW_ANISOTROPIC:
    case CSIM_LAW_INVERTIBLE: csimi_local_friction(c, dissipate, method, width, v, lambda); break;
#if CSIMI_HAS_ROWS
    case CSIM_LAW_BILATERAL: csimi_local_linear(c, v, lambda); break;
    case CSIM_LAW_BOX: csimi_local_box(c, v, lambda); break;
#else
    case CSIM_LAW_BILATERAL:
    case CSIM_LAW_BOX:
#endif
    case CSIM_LAW_COUNT_:
    default: lambda[0] = lambda[1] = lambda[2] = 0; break;
    }
}

CSIMI_FN void csimi_local_solve_by(csimi_local *c, csim_contact_method method, csim_real width, const csim_real *v,
                                   csim_real *lambda) {
    csimi_local_any(c, method == CSIM_CONTACT_NEWTON ? NULL : csimi_local_dissipate, method, width, v, lambda);
}

/* A program that comes by here alone is linked without the other methods. */
CSIMI_FN void csimi_local_solve(csimi_local *c, const csim_real *v, csim_real *lambda) {
    csimi_local_any(c, NULL, CSIM_CONTACT_NEWTON, 0, v, lambda);
}

CSIM_API csim_status csim_solve_contact(const csim_real *W, const csim_real *c, csim_real mu,
                                        csim_contact_method method, csim_real *lambda) {
    csim_contact contact;
    csimi_local local;
    if (!lambda) return CSIM_NULL_ARGUMENT;
    lambda[0] = lambda[1] = lambda[2] = 0;
    if (!W || !c) return CSIM_NULL_ARGUMENT;
    if (!csimi_all_finite(W, 9) || !csimi_all_finite(c, 3) || !csimi_finite(mu)) return CSIM_NOT_FINITE;
    if (!(mu >= 0 && W[0] > 0 && W[4] > 0 && W[8] > 0) || (unsigned)method >= (unsigned)CSIM_CONTACT_METHOD_COUNT_)
        return CSIM_OUT_OF_RANGE;
    CSIMI_MEMSET(&contact, 0, sizeof contact);
    CSIMI_MEMSET(&local, 0, sizeof local);
    contact.law = CSIM_LAW_STRICT;
    contact.mu[0] = contact.mu[1] = mu;
    csimi_local_set(&local, W);
    csimi_local_prepare(&local, &contact, 0);
    csimi_local_solve_by(&local, method, 2 * CSIMI_EPS, c, lambda);
    csim_project_ellipse(mu * lambda[0], mu * lambda[0], lambda + 1, lambda + 1); /* what rounding put outside */
    return CSIM_OK;
}
