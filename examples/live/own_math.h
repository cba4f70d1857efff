/* own_math: what the scenes take from math.h beyond the exact functions, from the library's own sin, cos, atan2, exp
   and log. Included before everything else in the live page and in its native twin, so that both make the same scenes
   to the last bit whatever the C library. */
#ifndef OWN_MATH_H
#define OWN_MATH_H

#include <math.h>

double live_sin(double x);
double live_cos(double x);
double live_tan(double x);
double live_asin(double x);
double live_atan2(double y, double x);
double live_exp(double x);
double live_pow(double x, double y);
double live_cbrt(double x);
#define sin live_sin
#define cos live_cos
#define tan live_tan
#define asin live_asin
#define atan2 live_atan2
#define exp live_exp
#define pow live_pow
#define cbrt live_cbrt

#endif
