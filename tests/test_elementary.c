/* The library's own elementary functions against the C library's. */
#ifndef CONDSIM_OWN_MATH
#define CONDSIM_OWN_MATH
#endif
#include "check.h"
#include <math.h>

/* Two roundings in double; one rounding of the result in float. */
#define CLOSE TOL(6e-16, 7e-8)

TEST(own_sin_and_cos) {
    int i;
    for (i = 0; i < 200000; i++) {
        csim_real x = CSIM_R(check_random(-1, 1) * (i % 4 == 0 ? 1 : i % 4 == 1 ? 1e-5 : i % 4 == 2 ? 100 : 1e5));
        NEAR(csimi_sin(x), sin((double)x), CLOSE);
        NEAR(csimi_cos(x), cos((double)x), CLOSE);
    }
    CHECK(csimi_sin(0) == 0 && csimi_cos(0) == 1);
    for (i = 0; i < 40; i++) { /* next to multiples of pi/2, and relative where sin is small */
        csim_real x = CSIM_R(i * 1.5707963267948966);
        NEAR(csimi_sin(x), sin((double)x), CLOSE);
        NEAR(csimi_sin(CSIM_R(1e-9)) * CSIM_R(1e9), 1, CLOSE);
    }
    CHECK(!csimi_finite(csimi_sin(CSIM_R(INFINITY))) && !csimi_finite(csimi_cos(CSIM_R(NAN))));
    CHECK(csimi_abs(csimi_sin(CSIM_R(1e30))) <= 1);
}

TEST(own_exp_and_log) {
    int i;
    for (i = 0; i < 200000; i++) {
        csim_real x = CSIM_R(check_random(-1, 1) * (i % 3 == 0 ? 1 : i % 3 == 1 ? 1e-6 : TOL(700, 80)));
        double e = exp((double)x);
        csim_real y = CSIM_R(e);
        NEAR((double)csimi_exp(x) / e, 1, TOL(1e-15, 7e-8));
        NEAR(csimi_log(y), log((double)y), CLOSE * (1 + fabs(log((double)y))));
    }
    CHECK(csimi_exp(0) == 1 && csimi_log(1) == 0);
    CHECK(csimi_exp(-1000) == 0 && !csimi_finite(csimi_exp(1000)));
    CHECK(csimi_log(0) < -CSIMI_HUGE && csimi_log(-1) != csimi_log(-1) && csimi_exp(CSIM_R(NAN)) != csimi_exp(0));
    CHECK(!csimi_finite(csimi_log(CSIM_R(INFINITY))));
    NEAR(csimi_log(TOL(CSIM_R(5e-324), CSIM_R(1.4e-45))), TOL(log(5e-324), log(1.401298464e-45)), TOL(1e-12, 1e-5));
}

TEST(own_atan2) {
    int i;
    for (i = 0; i < 200000; i++) {
        csim_real y = CSIM_R(check_random(-1, 1)), x = CSIM_R(check_random(-1, 1) * (i % 2 ? 1e-3 : 1));
        NEAR(csimi_atan2(y, x), atan2((double)y, (double)x), TOL(9e-16, 3e-7)); /* of pi */
        NEAR(csimi_atan2(x, y), atan2((double)x, (double)y), TOL(9e-16, 3e-7));
    }
    CHECK(csimi_atan2(0, 1) == 0 && csimi_atan2(0, 0) == 0);
    NEAR(csimi_atan2(0, -1), 3.14159265358979323846, TOL(1e-15, 3e-7));
    NEAR(csimi_atan2(-1, 0), -1.5707963267948966, TOL(1e-15, 3e-7));
    CHECK(csimi_atan2(CSIM_R(NAN), 1) != 0);
}

/* Nothing else changes: a rotation and its inverse by the own functions. */
TEST(rotations_use_them) {
    csim_quat q = csim_quat_exp(csim_v3(1, 2, CSIM_R(0.5))), p = csim_quat_exp(csim_v3(-1, -2, CSIM_R(-0.5)));
    NEAR(csim_quat_mul(q, p).w, 1, TOL(1e-15, 1e-6));
    NEAR(q.w, cos(sqrt(5.25) / 2), CLOSE);
}
