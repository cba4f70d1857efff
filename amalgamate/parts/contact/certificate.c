/* contact/certificate: measures a pair (v, lambda) by the definitions of certificate.h, in double, with projections
   of its own: nothing here is shared with a solver or with contact/law. */
#include "private.h"
#include "certificate.h"

/* Impulses and velocities below this many rounding errors of the numbers they come from count as zero: the "tiny" of
   certificate.h. Without it an island of open contacts, whose median impulse is 0, would measure only rounding. */
static const csimi_wide CSIMI_CERT_NOISE = (CSIMI_WIDE(1e5) * (csimi_wide)CSIMI_EPS);
/* Of a speed: impulses whose last bits are worth more are too coarse to be forgiven. */
static const csimi_wide CSIMI_CERT_COARSE = CSIMI_WIDE(0.01);

/* What one contact looks like to the certificate, with u + omega lambda in the place of u for the invertible law. */
typedef struct csimi_cert_contact {
    const csim_contact *contact;
    csimi_wide u[3], lambda[3];
    csimi_wide speed; /* sum of the magnitudes u is a difference of */
    csimi_wide rounded; /* m/s: what the last bits of impulses are worth */
    csimi_wide rho;   /* kg */
    csimi_wide tiny;  /* N s */
} csimi_cert_contact;

static csimi_wide csimi_cert_abs(csimi_wide x) { return x < 0 ? -x : x; }
static csimi_wide csimi_cert_max(csimi_wide a, csimi_wide b) { return a > b ? a : b; }
static csimi_wide csimi_cert_norm2(const csimi_wide *x) { return csimi_root(x[0] * x[0] + x[1] * x[1]); }
static csimi_wide csimi_cert_norm3(const csimi_wide *x) { return csimi_root(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/* y = J x, x in double */
CSIM_INLINE void csimi_cert_times(const csim_real *J, const csimi_wide *x, csimi_wide *y) {
    y[0] = (csimi_wide)J[0] * x[0] + (csimi_wide)J[1] * x[1] + (csimi_wide)J[2] * x[2];
    y[1] = (csimi_wide)J[3] * x[0] + (csimi_wide)J[4] * x[1] + (csimi_wide)J[5] * x[2];
    y[2] = (csimi_wide)J[6] * x[0] + (csimi_wide)J[7] * x[1] + (csimi_wide)J[8] * x[2];
}

/* ---- dynamics */

/* g += J' lambda for one side, and its magnitude. */
static void csimi_cert_scatter(const csim_problem *p, const csim_side *side, const csimi_wide *impulse, csimi_wide *g,
                               csimi_wide *magnitude) {
    int k, i;
    for (k = side->first; k < side->first + side->count; ++k) {
        const ptrdiff_t at = 3 * (ptrdiff_t)p->terms[k].block;
        csimi_wide y[3] = {0, 0, 0};
        if (csimi_is_identity(p->terms[k].J))
            CSIMI_MEMCPY(y, impulse, sizeof y);
        else
            csimi_addmulT3_wide(p->terms[k].J, impulse, y);
        for (i = 0; i < 3; ++i) {
            g[at + i] += y[i];
            magnitude[at + i] += csimi_cert_abs(y[i]);
        }
    }
}

/* g = J' lambda, and the sum of what each side of a contact puts in, without signs. */
static void csimi_cert_impulses(const csim_problem *p, const csim_real *lambda, csimi_wide *g, csimi_wide *magnitude) {
    int m, i;
    for (i = 0; i < 3 * p->A.n; ++i) g[i] = magnitude[i] = 0;
    for (m = 0; m < p->contact_count; ++m) {
        const csim_contact *c = p->contacts + m;
        const csim_real *l = lambda + 3 * (ptrdiff_t)m;
        csimi_wide world[3] = {0, 0, 0}, impulse[3];
        if (!(csimi_abs(l[0]) > 0 || csimi_abs(l[1]) > 0 || csimi_abs(l[2]) > 0)) continue;
        for (i = 0; i < 3; ++i) impulse[i] = (csimi_wide)l[i];
        csimi_addmulT3_wide(c->R, impulse, world);
        csimi_cert_scatter(p, &c->a, world, g, magnitude);
        for (i = 0; i < 3; ++i) world[i] = -world[i];
        csimi_cert_scatter(p, &c->b, world, g, magnitude);
    }
}

/* |A v - b - J'lambda| / max(|b|, |J'lambda|, tiny) in the norm of 1 / diag A, and the energy that passes through.
   Where g = J' lambda and its magnitudes were it leaves the magnitudes and b over the diagonal of A. */
static void csimi_cert_dynamics(const csim_problem *p, const csim_real *v, csimi_wide *g, csimi_wide *magnitude,
                                csim_certificate *out) {
    const csim_block_matrix *A = &p->A;
    csimi_wide residual = 0, load = 0, impulse = 0, motion = 0, scale;
    int i, k, r;
    for (i = 0; i < A->n; ++i) {
        csimi_wide y[3] = {0, 0, 0};
        for (k = A->row[i]; k < csimi_row_end(A, i); ++k)
            csimi_addmul3_wide(A->val + 9 * (ptrdiff_t)k, v + 3 * (ptrdiff_t)A->col[k], y);
        for (r = 0; r < 3; ++r) {
            const csimi_wide d = 1 / (csimi_wide)A->val[9 * (ptrdiff_t)A->diag[i] + 4 * r];
            const csimi_wide b = (csimi_wide)p->b[3 * i + r], f = g[3 * i + r], e = y[r] - b - f;
            residual += e * e * d;
            load += b * b * d;
            impulse += f * f * d;
            motion += (csimi_wide)v[3 * i + r] * y[r];
            g[3 * i + r] = magnitude[3 * i + r] * d;
            magnitude[3 * i + r] = b * d;
        }
    }
    scale = csimi_cert_max(csimi_cert_max(csimi_root(load), csimi_root(impulse)), (csimi_wide)CSIMI_TINY);
    out->dynamics = csimi_root(residual) / scale;
    out->energy = csimi_cert_max(load, motion);
}

/* ---- the scale of a contact */

/* tr(J D^-1 J') = tr(D^-1 J'J) of a symmetric block D, by its cofactors; with the diagonal of D alone when it is not
   positive. */
static csimi_wide csimi_cert_trace(const csim_real *D, const csim_real *J) {
    const csimi_wide a = (csimi_wide)D[0], b = (csimi_wide)D[1], c = (csimi_wide)D[2], d = (csimi_wide)D[4],
                     e = (csimi_wide)D[5];
    const csimi_wide f = (csimi_wide)D[8], aa = d * f - e * e, ab = c * e - b * f, ac = b * e - c * d;
    const csimi_wide det = a * aa + b * ab + c * ac;
    csimi_wide xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0; /* J'J */
    int k;
    for (k = 0; k < 3; ++k, J += 3) {
        const csimi_wide x = (csimi_wide)J[0], y = (csimi_wide)J[1], z = (csimi_wide)J[2];
        xx += x * x;
        xy += x * y;
        xz += x * z;
        yy += y * y;
        yz += y * z;
        zz += z * z;
    }
    if (!(det > 0)) return xx / a + yy / d + zz / f;
    return (aa * xx + (a * f - c * c) * yy + (a * d - b * b) * zz +
            2 * (ab * xy + ac * xz + (b * c - a * e) * yz)) / det;
}

CSIMI_FN csimi_wide csimi_side_mobility(const csim_problem *p, const csim_side *side, csim_real mass) {
    csimi_wide trace = 0;
    int k;
    if (side->count <= 0) return 0;
    if (mass > 0) return 1 / (csimi_wide)mass;
    if (side->count == 1 && csimi_is_identity(p->terms[side->first].J)) {
        const csim_real *D = p->A.val + 9 * (ptrdiff_t)p->A.diag[p->terms[side->first].block];
        return 3 / ((csimi_wide)D[0] + (csimi_wide)D[4] + (csimi_wide)D[8]);
    }
    for (k = side->first; k < side->first + side->count; ++k)
        trace += csimi_cert_trace(p->A.val + 9 * (ptrdiff_t)p->A.diag[p->terms[k].block], p->terms[k].J);
    return trace / 3;
}

/* By block, [3n] each. */
typedef struct csimi_cert_blocks {
    csimi_wide *g;      /* J' lambda; later its magnitudes over the diagonal of A */
    csimi_wide *loaded; /* magnitudes of J' lambda; later b over the diagonal of A */
    ptrdiff_t at;       /* where the block began that a term was one of last: contacts of a body follow each other */
    csimi_wide speed, worth; /* of that block: what such a term adds */
} csimi_cert_blocks;

/* speed: the magnitudes that w is a difference of, and the free ones, J b / diag A, from which v was solved: a joint of
   a robot that falls does not move, by the cancellation of what all of it does. rounded: what the last bits of impulses
   are worth there, m/s, over their unit. */
static void csimi_cert_velocity(const csim_problem *p, const csim_side *side, const csim_real *v, csimi_wide sign,
                                csimi_cert_blocks *blocks, csimi_wide *w, csimi_wide *speed, csimi_wide *rounded) {
    int k, i;
    for (k = side->first; k < side->first + side->count; ++k) {
        const ptrdiff_t at = 3 * (ptrdiff_t)p->terms[k].block;
        const csimi_wide *y = blocks->loaded + at, *g = blocks->g + at;
        const csim_real *J = p->terms[k].J;
        csimi_wide x[3], term[3], loaded[3], worth[3];
        for (i = 0; i < 3; ++i) x[i] = (csimi_wide)v[at + i];
        if (csimi_is_identity(J)) {
            for (i = 0; i < 3; ++i) w[i] += sign * x[i];
            if (blocks->at != at) {
                blocks->at = at;
                blocks->speed = csimi_cert_norm3(x) + csimi_cert_norm3(y);
                blocks->worth = csimi_cert_norm3(g);
            }
            *speed += blocks->speed;
            *rounded += blocks->worth;
            continue;
        }
        for (i = 0; i < 3; ++i, J += 3) {
            const csimi_wide a = (csimi_wide)J[0], b = (csimi_wide)J[1], c = (csimi_wide)J[2];
            term[i] = a * x[0] + b * x[1] + c * x[2];
            loaded[i] = a * y[0] + b * y[1] + c * y[2];
            worth[i] = csimi_cert_abs(a) * g[0] + csimi_cert_abs(b) * g[1] + csimi_cert_abs(c) * g[2];
            w[i] += sign * term[i];
        }
        *speed += csimi_cert_norm3(term) + csimi_cert_norm3(loaded);
        *rounded += csimi_cert_norm3(worth);
    }
}

/* most: the largest impulse of the problem. */
static void csimi_cert_read(const csim_problem *p, int m, const csim_real *v, const csim_real *lambda, csimi_wide most,
                            csimi_cert_blocks *blocks, csimi_cert_contact *c) {
    const csim_contact *contact = p->contacts + m;
    csimi_wide w[3] = {0, 0, 0}, phi[3], mobility, rounded[2] = {0, 0};
    int i;
    c->contact = contact;
    c->speed = 0;
    csimi_cert_velocity(p, &contact->a, v, 1, blocks, w, &c->speed, rounded);
    csimi_cert_velocity(p, &contact->b, v, -1, blocks, w, &c->speed, rounded + 1);
    c->rounded = (csimi_wide)CSIMI_EPS * rounded[0] + (csimi_wide)CSIMI_EPS * rounded[1];
    csimi_cert_times(contact->R, w, c->u);
    for (i = 0; i < 3; ++i) {
        phi[i] = (csimi_wide)contact->phi[i];
        c->lambda[i] = (csimi_wide)lambda[3 * (ptrdiff_t)m + i];
        c->u[i] += phi[i];
        if (csimi_law_is(contact, CSIM_LAW_INVERTIBLE)) c->u[i] += (csimi_wide)contact->omega[i > 0] * c->lambda[i];
    }
    c->speed += csimi_cert_norm3(phi);
    mobility =
        csimi_side_mobility(p, &contact->a, contact->mass[0]) + csimi_side_mobility(p, &contact->b, contact->mass[1]);
    c->rho = mobility > 0 ? 1 / mobility : 1;
    c->tiny = csimi_cert_max(CSIMI_CERT_NOISE * csimi_cert_max(most, c->rho * c->speed), (csimi_wide)CSIMI_TINY);
}

/* ---- projections */

static void csimi_cert_disk(csimi_wide radius, const csimi_wide *x, csimi_wide *y) {
    const csimi_wide length = csimi_cert_norm2(x), s = length > radius ? radius / length : 1;
    y[0] = s * x[0];
    y[1] = s * x[1];
}

/* Nearest point of the cone |t| <= mu n. */
static void csimi_cert_cone(csimi_wide mu, const csimi_wide *x, csimi_wide *y) {
    const csimi_wide t = csimi_cert_norm2(x + 1);
    csimi_wide along, s; /* the ray (1, mu) of the boundary that x lies over */
    int i;
    for (i = 0; i < 3; ++i) y[i] = x[i];
    if (t <= mu * x[0]) return;
    along = csimi_cert_max(0, (x[0] + mu * t) / (1 + mu * mu));
    s = t > 0 ? mu * along / t : 0;
    y[0] = along;
    y[1] = s * x[1];
    y[2] = s * x[2];
}

/* Nearest point of the ellipse with semi-axes a: the multiplier s of (x_i a_i / (a_i^2 + s))^2 summing to 1 by plain
   bisection. */
static void csimi_cert_ellipse(const csimi_wide *a, const csimi_wide *x, csimi_wide *y) {
    csimi_wide lo = 0, hi, s;
    int i, k;
    for (i = 0; i < 2; ++i) y[i] = x[i];
    if (!(a[0] > 0 && a[1] > 0)) { /* flat: a segment or a point */
        for (i = 0; i < 2; ++i) y[i] = x[i] < -a[i] ? -a[i] : x[i] > a[i] ? a[i] : x[i];
        return;
    }
    if (x[0] / a[0] * (x[0] / a[0]) + x[1] / a[1] * (x[1] / a[1]) <= 1) return;
    hi = a[0] * csimi_cert_abs(x[0]) + a[1] * csimi_cert_abs(x[1]);
    for (k = 0; k < 200; ++k) {
        csimi_wide sum = 0;
        s = CSIMI_WIDE(0.5) * (lo + hi);
        if (s <= lo || s >= hi) break;
        for (i = 0; i < 2; ++i) sum += x[i] * a[i] / (a[i] * a[i] + s) * (x[i] * a[i] / (a[i] * a[i] + s));
        if (sum > 1)
            lo = s;
        else
            hi = s;
    }
    s = CSIMI_WIDE(0.5) * (lo + hi);
    for (i = 0; i < 2; ++i) y[i] = x[i] * a[i] * a[i] / (a[i] * a[i] + s);
}

/* The friction set of a law for a normal impulse n >= 0. */
static void csimi_cert_friction(const csim_contact *c, csimi_wide n, const csimi_wide *x, csimi_wide *y) {
    if (csimi_law_is(c, CSIM_LAW_ANISOTROPIC)) {
        csimi_wide axes[2];
        axes[0] = (csimi_wide)c->mu[0] * n;
        axes[1] = (csimi_wide)c->mu[1] * n;
        csimi_cert_ellipse(axes, x, y);
    } else {
        csimi_cert_disk((csimi_wide)c->mu[0] * n, x, y);
    }
}

static bool csimi_cert_frictional(const csim_contact *c) {
    return csimi_law_is(c, CSIM_LAW_STRICT) || csimi_law_is(c, CSIM_LAW_PROXIMAL) ||
           csimi_law_is(c, CSIM_LAW_ANISOTROPIC) || csimi_law_is(c, CSIM_LAW_INVERTIBLE);
}

/* r = lambda - Project(lambda - rho u), the natural residual of each law. */
static csimi_wide csimi_cert_residual(const csimi_cert_contact *c) {
    const csim_contact *contact = c->contact;
    csimi_wide x[3], y[3] = {0, 0, 0}, r[3];
    int i;
    for (i = 0; i < 3; ++i) x[i] = c->lambda[i] - c->rho * c->u[i];
    switch (csimi_law_of(contact)) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_ANISOTROPIC:
    case CSIM_LAW_INVERTIBLE: /* the disk has the radius of the impulse at hand, not of the projected one */
        y[0] = csimi_cert_max(0, x[0]);
        csimi_cert_friction(contact, csimi_cert_max(0, c->lambda[0]), x + 1, y + 1);
        break;
    case CSIM_LAW_PROXIMAL:
        if (CSIMI_HAS_LAWS) csimi_cert_cone((csimi_wide)contact->mu[0], x, y);
        break;
    case CSIM_LAW_BILATERAL:
        for (i = 0; i < 3; ++i) y[i] = (contact->mask >> i) & 1u ? x[i] : 0;
        break;
    case CSIM_LAW_BOX:
        for (i = 0; i < 3; ++i)
            y[i] = x[i] < (csimi_wide)contact->lo[i]   ? (csimi_wide)contact->lo[i]
                   : x[i] > (csimi_wide)contact->hi[i] ? (csimi_wide)contact->hi[i]
                                                   : x[i];
        break;
    case CSIM_LAW_COUNT_:
    default: break;
    }
    for (i = 0; i < 3; ++i) /* what is not cut loses no digits to an impulse that is taken off and added again */
        r[i] = csimi_cert_abs(y[i] - x[i]) <= 0 ? c->rho * c->u[i] : c->lambda[i] - y[i];
    return csimi_cert_norm3(r);
}

/* ---- figures of the friction laws */

static csimi_wide csimi_cert_cone_excess(const csimi_cert_contact *c) {
    const csimi_wide *t = c->lambda + 1;
    csimi_wide near[2], d[2];
    if (!csimi_law_is(c->contact, CSIM_LAW_ANISOTROPIC))
        return csimi_cert_max(0, csimi_cert_norm2(t) - (csimi_wide)c->contact->mu[0] * c->lambda[0]);
    csimi_cert_friction(c->contact, csimi_cert_max(0, c->lambda[0]), t, near);
    d[0] = t[0] - near[0];
    d[1] = t[1] - near[1];
    return csimi_cert_norm2(d);
}

/* A set without width resists along one axis only: |u| of that axis when it sticks, else twice what is not opposed. */
static csimi_wide csimi_cert_segment(csimi_wide mu_n, csimi_wide trial, csimi_wide u, csimi_wide lambda) {
    if (csimi_cert_abs(trial) <= mu_n || csimi_cert_abs(lambda) <= 0) return csimi_cert_abs(u);
    return csimi_cert_abs(u + (lambda > 0 ? csimi_cert_abs(u) : -csimi_cert_abs(u)));
}

/* Distance from stick (the trial impulse stays inside the friction set: |u_t|) or from slip against the outward normal
   of the set at lambda_t (for the disk lambda_t / |lambda_t|). Open and frictionless contacts cannot miss. */
static csimi_wide csimi_cert_dissipation(const csimi_cert_contact *c) {
    const csim_contact *contact = c->contact;
    const csimi_wide speed = csimi_cert_norm2(c->u + 1), n = c->lambda[0];
    csimi_wide mu[2], trial[2], near[2], d[2], length;
    int i;
    for (i = 0; i < 2; ++i) {
        mu[i] = (csimi_wide)contact->mu[csimi_law_is(contact, CSIM_LAW_ANISOTROPIC) ? i : 0];
        trial[i] = c->lambda[i + 1] - c->rho * c->u[i + 1];
    }
    if (n <= c->tiny || !(mu[0] > 0 || mu[1] > 0)) return 0;
    if (!(mu[0] > 0)) return csimi_cert_segment(mu[1] * n, trial[1], c->u[2], c->lambda[2]);
    if (!(mu[1] > 0)) return csimi_cert_segment(mu[0] * n, trial[0], c->u[1], c->lambda[1]);
    csimi_cert_friction(contact, n, trial, near);
    if (csimi_cert_abs(trial[0] - near[0]) <= 0 && csimi_cert_abs(trial[1] - near[1]) <= 0) return speed;
    for (i = 0; i < 2; ++i) d[i] = c->lambda[i + 1] / (mu[i] * mu[i]);
    length = csimi_cert_norm2(d);
    for (i = 0; i < 2; ++i) d[i] = c->u[i + 1] + (length > 0 ? speed * d[i] / length : 0);
    return csimi_cert_norm2(d);
}

/* |most power friction can take + power it takes| */
static csimi_wide csimi_cert_power(const csimi_cert_contact *c) {
    const csim_contact *contact = c->contact;
    csimi_wide w[2];
    w[0] = (csimi_wide)contact->mu[0] * c->u[1];
    w[1] = (csimi_wide)contact->mu[csimi_law_is(contact, CSIM_LAW_ANISOTROPIC) ? 1 : 0] * c->u[2];
    return csimi_cert_abs(csimi_cert_max(0, c->lambda[0]) * csimi_cert_norm2(w) + c->lambda[1] * c->u[1] +
                          c->lambda[2] * c->u[2]);
}

/* What a contact with friction does that its law does not allow: 0 when lambda and u obey it. power: of above */
static csimi_wide csimi_cert_work(const csimi_cert_contact *c, csimi_wide power) {
    if (!csimi_cert_frictional(c->contact)) return 0;
    if (csimi_law_is(c->contact, CSIM_LAW_PROXIMAL))
        return csimi_cert_abs(c->lambda[0] * c->u[0] + c->lambda[1] * c->u[1] + c->lambda[2] * c->u[2]);
    return csimi_cert_abs(c->lambda[0] * c->u[0]) + power;
}

/* |r - P_K(r - rho (u + mu |u_t| n))|^2 of de Saxce's form; slip: |u_t|. */
static csimi_wide csimi_cert_natural_map2(const csimi_cert_contact *c, csimi_wide rho, csimi_wide slip) {
    const csimi_wide mu = (csimi_wide)c->contact->mu[0];
    csimi_wide x[3], y[3], sum = 0;
    int i;
    for (i = 0; i < 3; ++i) x[i] = c->lambda[i] - rho * c->u[i];
    x[0] -= rho * mu * slip;
    csimi_cert_cone(mu, x, y);
    for (i = 0; i < 3; ++i) sum += (c->lambda[i] - y[i]) * (c->lambda[i] - y[i]);
    return sum;
}

/* ---- median */

/* The k-th smallest of x[count], which is reordered; quickselect with the middle of three as pivot. */
static csimi_wide csimi_cert_select(csimi_wide *x, int count, int k) {
    int lo = 0, hi = count - 1;
    while (lo < hi) {
        const csimi_wide a = x[lo], b = x[lo + (hi - lo) / 2], c = x[hi];
        const csimi_wide pivot = csimi_cert_max(a < b ? a : b, csimi_cert_max(a, b) < c ? csimi_cert_max(a, b) : c);
        int i = lo, j = hi;
        while (i <= j) {
            while (x[i] < pivot) ++i;
            while (x[j] > pivot) --j;
            if (i <= j) {
                const csimi_wide swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (k <= j)
            hi = j;
        else if (k >= i)
            lo = i;
        else
            break;
    }
    return x[k];
}

/* Mean of the two middle values for an even count. */
static csimi_wide csimi_cert_median(csimi_wide *x, int count) {
    const csimi_wide upper = csimi_cert_select(x, count, count / 2);
    return count % 2 ? upper : CSIMI_WIDE(0.5) * (upper + csimi_cert_select(x, count, count / 2 - 1));
}

/* ---- all of it */

CSIM_API size_t csim_certificate_bytes(int n, int contact_count) {
    csimi_arena arena = csimi_arena_counting();
    CSIMI_PUSH(&arena, csimi_wide, 6 * (size_t)n);
    CSIMI_PUSH(&arena, csimi_wide, 4 * (size_t)contact_count);
    return arena.high;
}

static void csimi_cert_take(double *worst, csimi_wide x) { if ((double)x > *worst) *worst = (double)x; }

/* What is kept of each contact until the speeds of all are known, [contacts] each. */
typedef struct csimi_cert_kept {
    csimi_wide *missed; /* m/s: the residual as a velocity */
    csimi_wide *speed;  /* m/s: what it is held against */
    csimi_wide *work;   /* J: against the law */
    csimi_wide *rounded; /* m/s: what the last bits of impulses are worth; before, room for norms */
} csimi_cert_kept;

/* The figures of velocities and work, both less what the last bits of impulses are worth unless those are too coarse;
   rms: of all speeds. */
static void csimi_cert_motion(const csim_problem *p, const csim_real *lambda, const csimi_cert_kept *kept,
                              csimi_wide rms, csim_certificate *out) {
    csimi_wide work = 0;
    int m;
    for (m = 0; m < p->contact_count; ++m) {
        const csimi_wide scale = csimi_cert_max(csimi_cert_max(kept->speed[m], rms), (csimi_wide)CSIMI_TINY);
        csimi_wide rounded = kept->rounded[m], impulse[3];
        int i;
        for (i = 0; i < 3; ++i) impulse[i] = (csimi_wide)lambda[3 * (ptrdiff_t)m + i];
        if (rounded > CSIMI_CERT_COARSE * scale) rounded = 0;
        csimi_cert_take(&out->velocity, (kept->missed[m] - rounded) / scale);
        work += csimi_cert_max(0, kept->work[m] - 2 * csimi_cert_norm3(impulse) * rounded);
    }
    out->work = (double)(work / csimi_cert_max((csimi_wide)out->energy, (csimi_wide)CSIMI_TINY));
}

/* Median of the impulses that carry something, and the largest of all. */
static csimi_wide csimi_cert_carried(const csim_real *lambda, int count, csimi_wide *norms, csimi_wide *most) {
    int m, i, carrying = 0;
    *most = 0;
    for (m = 0; m < count; ++m) {
        csimi_wide l[3];
        for (i = 0; i < 3; ++i) l[i] = (csimi_wide)lambda[3 * (ptrdiff_t)m + i];
        norms[m] = csimi_cert_norm3(l);
        *most = csimi_cert_max(*most, norms[m]);
    }
    for (m = 0; m < count; ++m)
        if (norms[m] > CSIMI_CERT_NOISE * *most) norms[carrying++] = norms[m];
    return carrying > 0 ? csimi_cert_median(norms, carrying) : 0;
}

/* Figures that no tolerance judges. Builds without statistics leave them 0, unless the impulse level asks for some. */
#if defined(CONDSIM_NO_STATISTICS) && defined(CONDSIM_NO_IMPULSE)
#define CSIMI_CERT_ALL 0
#else
#define CSIMI_CERT_ALL 1
#endif

/* Sums over Coulomb contacts, for the natural maps. */
typedef struct csimi_cert_maps {
    csimi_wide map2, plain2, norm2, speed2;
} csimi_cert_maps;

/* Whether a contact has no impulse and clearly opens: all that its law can say about it is then 0. */
static bool csimi_cert_opens(const csimi_cert_contact *c) {
    const csimi_wide slip2 = c->u[1] * c->u[1] + c->u[2] * c->u[2];
    return !(csimi_cert_norm3(c->lambda) > 0) && c->u[0] > 0 && c->u[0] * c->u[0] > CSIMI_WIDE(1e-12) * slip2;
}

static void csimi_cert_describe(const csimi_cert_contact *c, csimi_wide power, csimi_cert_maps *sum,
                                csim_certificate *out) {
    csimi_wide slip;
    if (!csimi_cert_frictional(c->contact)) return;
    if (csimi_cert_opens(c) && csimi_law_is(c->contact, CSIM_LAW_STRICT)) {
        sum->speed2 += c->u[0] * c->u[0] + c->u[1] * c->u[1] + c->u[2] * c->u[2];
        return;
    }
    csimi_cert_take(&out->approach, -c->u[0]);
    csimi_cert_take(&out->complementarity, csimi_cert_abs(c->lambda[0] * c->u[0]));
    csimi_cert_take(&out->cone, csimi_cert_cone_excess(c));
    csimi_cert_take(&out->dissipation, csimi_cert_dissipation(c));
    csimi_cert_take(&out->dissipation_power, power);
    if (!csimi_law_is(c->contact, CSIM_LAW_STRICT) && !csimi_law_is(c->contact, CSIM_LAW_INVERTIBLE)) return;
    slip = csimi_cert_norm2(c->u + 1);
    sum->map2 += csimi_cert_natural_map2(c, c->rho, slip);
    sum->plain2 += csimi_cert_natural_map2(c, 1, slip);
    sum->norm2 += c->lambda[0] * c->lambda[0] + c->lambda[1] * c->lambda[1] + c->lambda[2] * c->lambda[2];
    sum->speed2 += c->u[0] * c->u[0] + c->u[1] * c->u[1] + c->u[2] * c->u[2];
}

/* No impulse at all is right or altogether wrong: no norm to measure against. */
static void csimi_cert_map(const csimi_cert_maps *sum, csim_certificate *out) {
    const csimi_wide speed2 = csimi_cert_max(sum->norm2, sum->speed2);
    out->natural_map_scaled = sum->norm2 > 0 ? csimi_root(sum->map2 / sum->norm2) : sum->map2 > 0 ? 1 : 0;
    out->natural_map_siconos = speed2 > 0 ? csimi_root(sum->plain2 / speed2) : 0;
}

static void csimi_cert_contacts(const csim_problem *p, const csim_real *v, const csim_real *lambda,
                                const csimi_cert_kept *kept, csimi_cert_blocks *blocks, csim_certificate *out) {
    csimi_wide most, weighed = 0, weight = 0, pressed = 0;
    csimi_cert_maps sum = {0, 0, 0, 0};
    const csimi_wide median = csimi_cert_carried(lambda, p->contact_count, kept->rounded, &most);
    int m;
    for (m = 0; m < p->contact_count; ++m) {
        csimi_cert_contact c;
        csimi_wide figure, residual, norm, power;
        csimi_cert_read(p, m, v, lambda, most, blocks, &c);
        residual = csimi_cert_residual(&c);
        norm = csimi_cert_norm3(c.lambda);
        figure = residual / csimi_cert_max(norm, csimi_cert_max(median, c.tiny));
        kept->missed[m] = residual / c.rho;
        kept->speed[m] = c.speed;
        power = csimi_cert_frictional(c.contact) ? csimi_cert_power(&c) : 0;
        kept->work[m] = csimi_cert_work(&c, power);
        kept->rounded[m] = c.rounded;
        weighed += c.rho * c.speed * c.speed;
        weight += c.rho;
        pressed += norm * c.speed;
        if ((double)figure > out->contact || out->worst_contact < 0) {
            out->contact = figure;
            out->worst_contact = m;
        }
        if (CSIMI_CERT_ALL) csimi_cert_describe(&c, power, &sum, out);
    }
    csimi_cert_take(&out->energy, pressed);
    csimi_cert_motion(p, lambda, kept, csimi_root(weighed / weight), out);
    if (CSIMI_CERT_ALL) csimi_cert_map(&sum, out);
}

/* All figures are numbers, one behind the other. */
CSIMI_FN void csimi_worse(csim_certificate *worst, const csim_certificate *c) {
    /* up to the first that is no figure */
    double *most = (double *)(void *)worst, *end = (double *)(void *)&worst->worst_contact;
    const double *figure = (const double *)(const void *)c;
    for (; most < end; most++, figure++)
        if (*figure > *most) *most = *figure;
}

CSIM_API double csim_certificate_worst(const csim_certificate *certificate) {
    const csim_certificate *c = certificate;
    double worst;
    if (!c) return (double)CSIMI_HUGE;
    worst = c->work > c->contact ? c->work : c->contact;
    worst = c->velocity > worst ? c->velocity : worst;
    return worst > c->dynamics ? worst : c->dynamics; /* which is no number where sums overflow: it stays one */
}

static void csimi_cert_start(csim_certificate *certificate, csimi_wide figure) {
    CSIMI_MEMSET(certificate, 0, sizeof *certificate);
    certificate->worst_contact = -1;
    certificate->dynamics = certificate->contact = certificate->velocity = certificate->work = figure;
}

CSIMI_FN csim_status csimi_certify(const csim_problem *p, const csim_real *v, const csim_real *lambda, void *scratch,
                                   size_t scratch_bytes, csim_certificate *certificate) {
    csimi_arena arena = csimi_arena_in(scratch, scratch_bytes);
    csimi_cert_kept kept;
    csimi_cert_blocks blocks;
    csimi_cert_start(certificate, 0);
    if (p->A.n == 0 && p->contact_count == 0) return CSIM_OK;
    certificate->dynamics = certificate->contact = certificate->velocity = certificate->work = (double)CSIMI_HUGE;
    blocks.g = CSIMI_PUSH(&arena, csimi_wide, 6 * (size_t)p->A.n);
    kept.missed = CSIMI_PUSH(&arena, csimi_wide, 4 * (size_t)p->contact_count);
    if (arena.overflow) return CSIM_CAPACITY;
    if (!csimi_all_finite(v, 3 * p->A.n) || !csimi_all_finite(lambda, 3 * p->contact_count)) return CSIM_NOT_FINITE;
    blocks.at = -1;
    blocks.speed = blocks.worth = 0;
    blocks.loaded = blocks.g + 3 * (ptrdiff_t)p->A.n;
    kept.speed = kept.missed + p->contact_count;
    kept.work = kept.speed + p->contact_count;
    kept.rounded = kept.work + p->contact_count;
    certificate->dynamics = certificate->contact = certificate->velocity = certificate->work = 0;
    csimi_cert_impulses(p, lambda, blocks.g, blocks.loaded);
    csimi_cert_dynamics(p, v, blocks.g, blocks.loaded, certificate);
    if (p->contact_count > 0) csimi_cert_contacts(p, v, lambda, &kept, &blocks, certificate);
    return CSIM_OK;
}

CSIM_API csim_status csim_problem_certify(const csim_problem *problem, const csim_real *v, const csim_real *lambda,
                                          void *scratch, size_t scratch_bytes, csim_certificate *certificate) {
    csim_status status;
    if (!certificate) return CSIM_NULL_ARGUMENT;
    csimi_cert_start(certificate, (csimi_wide)CSIMI_HUGE);
    status = csim_problem_check(problem, NULL);
    if (status != CSIM_OK) return status;
    if ((problem->A.n > 0 && (!v || !scratch)) || (problem->contact_count > 0 && !lambda)) return CSIM_NULL_ARGUMENT;
    return csimi_certify(problem, v, lambda, scratch, scratch_bytes, certificate);
}

#undef CSIMI_CERT_ALL
