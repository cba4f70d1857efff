/* The box with all sums in float. */
#define CONDSIM_SINGLE
#include "box.c"
