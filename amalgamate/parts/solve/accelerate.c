/* solve/accelerate: from one application of COND's map to the next iterate: Chebyshev, Barzilai-Borwein, and what the
   ring of Anderson's pairs forgets. */
#include "cond.h"

/* v = p, by exchanging them: for iterations without a ring, where p is nobody else's slot. */
CSIMI_FN void csimi_cond_accept(csimi_cond *c) {
    csim_real *turn = c->map.v;
    c->map.v = c->map.p;
    c->map.p = turn;
}

/* Chebyshev (Alg. 3): v <- nu (p - last) + last. The ratio of (39) is that of accelerated increments. */
CSIMI_FN void csimi_cond_chebyshev(csimi_cond *c) {
    csim_real *CSIMI_RESTRICT v = c->map.v, *CSIMI_RESTRICT last = c->ring.last;
    const csim_real *CSIMI_RESTRICT p = c->map.p;
    csim_real *turn;
    double sum, ratio = 1, increment;
    int i;
    c->ring.since += 1;
    if (c->ring.since <= 1) { /* the recursion needs two iterates: the first step is plain */
        csimi_cond_copy(c, c->ring.last, c->map.v);
        csimi_cond_copy(c, c->map.v, c->map.p);
        c->ring.nu = 1;
        c->ring.increment = c->map.rho;
        return;
    }
    for (i = 0; i < c->map.count; ++i) {
        const csim_real next = (csim_real)c->ring.nu * (p[i] - last[i]) + last[i];
        last[i] = next;
        c->map.f[i] = next - v[i]; /* accelerated increment for (39), in the place of the natural residual */
    }
    /* last holds the new iterate by now, and v the one before it */
    turn = c->map.v, c->map.v = c->ring.last, c->ring.last = turn;
    sum = csimi_sum_weighted(c->map.count, c->map.w_inverse, c->map.f, c->map.f);
    increment = csimi_sqrt64(sum);
    if (c->ring.increment > 0) ratio = increment / c->ring.increment;
    if (ratio > 0.99999) ratio = 0.99999; /* at 1 nu would tend to 2, where the recursion contracts nothing */
    c->ring.increment = increment;
    if (c->ring.since == CSIMI_COND_SLOW_START)
        c->ring.nu = 2 / (2 - ratio * ratio);
    else if (c->ring.since > CSIMI_COND_SLOW_START)
        c->ring.nu = 4 / (4 - ratio * ratio * c->ring.nu);
}

/* Barzilai-Borwein: alpha from s = v - last, z = A s = r - last_r, in the metric of W. */
CSIMI_FN void csimi_cond_barzilai(csimi_cond *c) {
    csim_real *turn;
    c->ring.since += 1;
    if (c->ring.since > 1) { /* before there is no step to learn from: alpha stays 1 */
        double ss = 0, sz = 0, zz = 0, one, two;
        int i;
        for (i = 0; i < c->map.count; ++i) {
            /* A s is known from two residuals: no product */
            const double s = (double)(c->map.v[i] - c->ring.last[i]), z = (double)(c->ring.r[i] - c->ring.last_r[i]);
            ss += s * s * (double)c->map.w_inverse[i];
            sz += s * z;
            zz += z * z * (double)c->map.w[i];
        }
        one = ss / sz, two = sz / zz;
        if (c->map.weight == CSIM_WEIGHT_BB2 || (c->map.weight == CSIM_WEIGHT_BB_ALTERNATING && c->ring.since % 2))
            one = two;
        /* W itself where the quotient is tiny, negative or no number (s or z zero) */
        c->map.alpha = !(one > 0.1) ? 1 : one < c->ring.longest ? one : c->ring.longest;
    }
    csimi_cond_copy(c, c->ring.last, c->map.v);
    turn = c->ring.r, c->ring.r = c->ring.last_r, c->ring.last_r = turn;
    csimi_cond_accept(c);
}

/* The newest pair alone in the ring: the older ones describe another regime or another coarse correction. */
CSIMI_FN void csimi_cond_forget(csimi_cond *c) {
    csim_real *f, *p;
    csimi_anderson_clear(&c->ring.pairs);
    csimi_anderson_slot(&c->ring.pairs, &f, &p); /* the first slot, which the next step takes for the newest */
    if (f == c->map.f) return;
    csimi_cond_copy(c, f, c->map.f);
    csimi_cond_copy(c, p, c->map.p);
    c->map.f = f, c->map.p = p;
}

/* v = p without a memory of it. */
CSIMI_FN void csimi_cond_take(csimi_cond *c) {
    csimi_cond_copy(c, c->map.v, c->map.p);
    csimi_anderson_clear(&c->ring.pairs);
}
