/* contact/law: the closed-form projections, one function per law. */
#include "private.h"
#include "law.h"

/* t clipped to the disk of the given radius. */
static void csimi_clip_disk(csim_real radius, const csim_real *trial, csim_real *t) {
    const csim_real length2 = trial[0] * trial[0] + trial[1] * trial[1];
    csim_real scale = 1;
    if (length2 > radius * radius) scale = radius / CSIMI_SQRT(length2);
    t[0] = scale * trial[0];
    t[1] = scale * trial[1];
}

/* COND eq. 26: the normal first, then the tangent with the new normal. */
static void csimi_project_strict(csim_real mu, const csim_real *trial, csim_real *lambda) {
    lambda[0] = csimi_max(trial[0], 0);
    csimi_clip_disk(mu * lambda[0], trial + 1, lambda + 1);
}

CSIM_API void csim_project_cone(csim_real mu, const csim_real *trial, csim_real *lambda) {
    const csim_real n = trial[0], t = CSIMI_SQRT(trial[1] * trial[1] + trial[2] * trial[2]);
    csim_real scale = 1;
    if (t <= mu * n) { /* inside */
        lambda[0] = n;
    } else if (mu * t <= -n) { /* in the polar cone */
        lambda[0] = scale = 0;
    } else { /* onto the boundary */
        lambda[0] = (n + mu * t) / (1 + mu * mu);
        scale = mu * lambda[0] / t;
    }
    lambda[1] = scale * trial[1];
    lambda[2] = scale * trial[2];
}

CSIMI_FN void csimi_cone_derivative(csimi_wide mu, const csimi_wide *t, csimi_wide *G) {
    const csimi_wide length = csimi_sqrt64(t[1] * t[1] + t[2] * t[2]), x = t[1] / length, y = t[2] / length;
    const csimi_wide c = 1 / (1 + mu * mu), n = c * (t[0] + mu * length), k = mu * n / length;
    G[0] = c;
    G[1] = G[3] = c * mu * x;
    G[2] = G[6] = c * mu * y;
    G[4] = c * mu * mu * x * x + k * y * y;
    G[5] = G[7] = (c * mu * mu - k) * x * y;
    G[8] = c * mu * mu * y * y + k * x * x;
}

/* The multiplier s of the nearest point of an ellipse, in units of its short axis squared: the root of
   (r x / (s + r))^2 + (y / (s + 1))^2 = 1, where r = (long / short)^2 and (r x, y) = axes * point / short^2 lies
   outside. Newton on the reciprocal length, which is nearly linear in s, kept inside a bracket by bisection. */
static csimi_wide csimi_ellipse_multiplier(csimi_wide r, csimi_wide x, csimi_wide y) {
    csimi_wide lo = y > 1 ? y - 1 : 0, hi = r * x + y, s = lo;
    int k;
    for (k = 0; k < 100; ++k) {
        const csimi_wide a = r * x / (s + r), b = y / (s + 1), g = a * a + b * b;
        const csimi_wide slope = a * a / (s + r) + b * b / (s + 1);
        csimi_wide next = s + g * (csimi_sqrt64(g) - 1) / slope;
        if (g > 1)
            lo = s;
        else
            hi = s;
        if (!(next > lo && next < hi)) next = CSIMI_WIDE(0.5) * (lo + hi);
        if (next == s || hi - lo <= CSIMI_WIDE(4e-16) * hi) break;
        s = next;
    }
    return s;
}

CSIM_API void csim_project_ellipse(csim_real a, csim_real b, const csim_real *trial, csim_real *t) {
    const int big = a >= b ? 0 : 1, small = 1 - big;
    const csimi_wide major = (csimi_wide)csimi_max(a, b), minor = (csimi_wide)csimi_min(a, b);
    const csimi_wide p = (csimi_wide)csimi_abs(trial[big]), q = (csimi_wide)csimi_abs(trial[small]);
    csimi_wide x, y;
    if (major <= minor) { /* a disk is no search */
        csimi_clip_disk(a, trial, t);
        return;
    }
    if (minor <= CSIMI_WIDE_SMALL * major || major <= 0) { /* a segment, or a point */
        x = p < major ? p : major;
        y = 0;
    } else if ((p / major) * (p / major) + (q / minor) * (q / minor) <= 1) {
        x = p;
        y = q;
    } else {
        const csimi_wide ratio = major / minor, r = ratio * ratio;
        const csimi_wide s = csimi_ellipse_multiplier(r, p / major, q / minor);
        x = r * p / (s + r);
        y = q / (s + 1);
    }
    t[big] = (csim_real)(trial[big] < 0 ? -x : x);
    t[small] = (csim_real)(trial[small] < 0 ? -y : y);
}

CSIMI_FN void csimi_clip_ellipse(csim_real a, csim_real b, const csim_real *trial, csim_real *t) {
    if (CSIMI_HAS_LAWS)
        csim_project_ellipse(a, b, trial, t);
    else
        csimi_clip_disk(a, trial, t);
}

static void csimi_project_anisotropic(const csim_real *mu, const csim_real *trial, csim_real *lambda) {
    lambda[0] = csimi_max(trial[0], 0);
    csim_project_ellipse(mu[0] * lambda[0], mu[1] * lambda[0], trial + 1, lambda + 1);
}

/* u + omega lambda takes the place of u, so that gamma + omega takes the place of gamma. */
static void csimi_project_invertible(const csim_contact *contact, csim_real gamma, const csim_real *trial,
                                     csim_real *lambda) {
    const csim_real normal = gamma / (gamma + contact->omega[0]), tangent = gamma / (gamma + contact->omega[1]);
    csim_real scaled[3];
    scaled[0] = normal * trial[0];
    scaled[1] = tangent * trial[1];
    scaled[2] = tangent * trial[2];
    csimi_project_strict(contact->mu[0], scaled, lambda);
}

CSIM_API void csim_project(const csim_contact *contact, csim_real gamma, const csim_real *trial, csim_real *lambda) {
    int k;
    switch (csimi_law_of(contact)) {
    case CSIM_LAW_STRICT: csimi_project_strict(contact->mu[0], trial, lambda); break;
    case CSIM_LAW_PROXIMAL:
        if (CSIMI_HAS_LAWS) csim_project_cone(contact->mu[0], trial, lambda);
        break;
    case CSIM_LAW_ANISOTROPIC:
        if (CSIMI_HAS_LAWS) csimi_project_anisotropic(contact->mu, trial, lambda);
        break;
    case CSIM_LAW_INVERTIBLE:
        if (CSIMI_HAS_LAWS) csimi_project_invertible(contact, gamma, trial, lambda);
        break;
    case CSIM_LAW_BILATERAL:
        for (k = 0; k < 3; ++k) lambda[k] = (contact->mask >> k) & 1u ? trial[k] : 0;
        break;
    case CSIM_LAW_BOX:
        for (k = 0; k < 3; ++k) lambda[k] = csimi_clamp(trial[k], contact->lo[k], contact->hi[k]);
        break;
    case CSIM_LAW_COUNT_:
    default: lambda[0] = lambda[1] = lambda[2] = 0; break;
    }
}

CSIM_API void csim_inverse_contact(const csim_contact *contact, const csim_real *u, csim_real *lambda) {
    csim_real trial[3];
    trial[0] = -u[0] / contact->omega[0];
    trial[1] = -u[1] / contact->omega[1];
    trial[2] = -u[2] / contact->omega[1];
    csimi_project_strict(contact->mu[0], trial, lambda);
}

CSIMI_FN void csimi_clip_friction(csim_real mu, csim_real *l) {
    const csim_real n = l[0] > 0 ? l[0] : 0, limit = mu * n, square = l[1] * l[1] + l[2] * l[2];
    l[0] = n;
    if (square > limit * limit) {
        const csim_real scale = limit / CSIMI_SQRT(square);
        l[1] *= scale, l[2] *= scale;
    }
}

CSIMI_FN void csimi_project_as(int law, const csim_contact *contact, csim_real gamma, csim_real *lambda) {
    if (law == CSIM_LAW_STRICT)
        csimi_clip_friction(contact->mu[0], lambda);
    else if (law == CSIM_LAW_PROXIMAL)
        csim_project_cone(contact->mu[0], lambda, lambda);
    else
        csim_project(contact, gamma, lambda, lambda);
}
