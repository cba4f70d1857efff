/* The library for the live page, with the functions of own_math.h beside its own. */
#define CSIMI_KEEP_MACROS
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"

double live_sin(double x) { return CSIMI_SIN(x); }
double live_cos(double x) { return CSIMI_COS(x); }
double live_tan(double x) { return CSIMI_SIN(x) / CSIMI_COS(x); }
double live_asin(double x) { return CSIMI_ATAN2(x, CSIMI_SQRT((1 - x) * (1 + x))); }
double live_atan2(double y, double x) { return CSIMI_ATAN2(y, x); }
double live_exp(double x) { return CSIMI_EXP(x); }
double live_pow(double x, double y) { return x > 0 ? CSIMI_EXP(y * CSIMI_LOG(x)) : 0; }
double live_cbrt(double x) { return x < 0 ? -live_pow(-x, 1.0 / 3) : live_pow(x, 1.0 / 3); }
