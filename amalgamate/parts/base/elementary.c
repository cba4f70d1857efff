/* base/elementary: sin, cos, atan2, exp and log from +, -, *, / alone, for CONDSIM_OWN_MATH: the same bits with every C
   library. Argument reduction, then the power series, all in double; within 1e-15 of the exact value (relative, or of 1
   for sin and cos). */
#include "private.h"

#ifdef CONDSIM_OWN_MATH

/* x - k c for c = high + low, high with 33 bits so that k * high is exact up to k = 2^20. */
static double csimi_reduce(double x, double k, double high, double low) { return (x - k * high) - k * low; }

/* Nearest integer of |x| < 2^30. */
static int csimi_nearest(double x) { return (int)(x < 0 ? x - 0.5 : x + 0.5); }

/* c[0] + x c[1] + x^2 c[2] + ... */
static double csimi_polynomial(int count, const double *c, double x) {
    double sum = c[count - 1];
    int i;
    for (i = count - 2; i >= 0; i--) sum = c[i] + x * sum;
    return sum;
}

/* sin (quarter 0) or cos (quarter 1) of x: r in [-pi/4, pi/4] plus quarter turns. Beyond 1e9 rad there is no meaning in
   the digits of x and it is taken as zero; NaN and infinity give NaN. */
static double csimi_turn(double x, int quarter) {
    static const double odd[] = {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800,
                                 -1.0 / 1307674368000, 1.0 / 355687428096000};
    static const double even[] = {1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
                                  -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
    double r, y;
    int k;
    if (!(x - x == 0)) return x - x;
    if (!(x < 1e9 && x > -1e9)) x = 0;
    k = csimi_nearest(x * 0.63661977236758134308);
    r = csimi_reduce(x, k, 1.5707963267341256, 6.077100506303966e-11) - k * 2.0222662487959506e-21;
    quarter += k;
    y = quarter & 1 ? csimi_polynomial(10, even, r * r) : r * csimi_polynomial(9, odd, r * r);
    return quarter & 2 ? -y : y;
}

CSIMI_FN csim_real csimi_sin(csim_real x) { return (csim_real)csimi_turn((double)x, 0); }
CSIMI_FN csim_real csimi_cos(csim_real x) { return (csim_real)csimi_turn((double)x, 1); }

/* x + x^3 s/3 + x^5/5 + ...: atanh for s = 1, atan for s = -1, |x| <= 0.2. */
static double csimi_odd_series(double x, double s) {
    double square = s * x * x, sum = 0;
    int k;
    for (k = 25; k > 1; k -= 2) sum = (1.0 / k + sum) * square;
    return x + x * sum;
}

/* atan t for 0 <= t <= 1, from the nearest of atan 0, atan tan(pi/8), atan 1. */
static double csimi_arc(double t) {
    const double pi = 3.14159265358979323846, c = 0.41421356237309504880;
    if (t < 0.2) return csimi_odd_series(t, -1);
    if (t < 0.66) return pi / 8 + csimi_odd_series((t - c) / (1 + t * c), -1);
    return pi / 4 + csimi_odd_series((t - 1) / (1 + t), -1);
}

CSIMI_FN csim_real csimi_atan2(csim_real y, csim_real x) {
    const double pi = 3.14159265358979323846;
    double a = y < 0 ? -(double)y : (double)y, b = x < 0 ? -(double)x : (double)x, angle;
    if (a == 0 && b == 0) return y;
    angle = a == b ? pi / 4 : a < b ? csimi_arc(a / b) : pi / 2 - csimi_arc(b / a);
    if (x < 0) angle = pi - angle;
    return (csim_real)(y < 0 ? -angle : angle);
}

/* 2^k for -1022 <= k <= 1023, by its bits. */
static double csimi_two_to(int k) {
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double x;
    CSIMI_MEMCPY(&x, &bits, sizeof x);
    return x;
}

CSIMI_FN csim_real csimi_exp(csim_real argument) {
    static const double c[] = {
        1,          1,           1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    double x = (double)argument, r;
    int k;
    if (x != x) return argument;
    x = x < -800 ? -800 : x > 800 ? 800 : x; /* to zero or infinity by the powers of two */
    k = csimi_nearest(x * 1.44269504088896340736);
    r = csimi_polynomial(14, c, csimi_reduce(x, k, 0.6931471804855391, 7.440617110012397e-11));
    return (csim_real)(r * csimi_two_to(k / 2) * csimi_two_to(k - k / 2));
}

CSIMI_FN csim_real csimi_log(csim_real argument) {
    double x = (double)argument, k = 0, zero = x - x;
    uint64_t bits;
    if (!(x > 0)) return (csim_real)((x == 0 ? -1 : zero) / zero); /* minus infinity, and NaN below zero */
    if (zero != 0) return argument;
    if (x < 1e-300) {
        x *= 18014398509481984.0; /* 2^54 lifts subnormals */
        k = -54;
    }
    CSIMI_MEMCPY(&bits, &x, sizeof bits);
    k += (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    CSIMI_MEMCPY(&x, &bits, sizeof x);
    if (x > 1.41421356237309504880) {
        x /= 2;
        k += 1;
    }
    return (csim_real)(k * 0.6931471804855391 +
                       (k * 7.440617110012397e-11 + 2 * csimi_odd_series((x - 1) / (x + 1), 1)));
}

#endif
