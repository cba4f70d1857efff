/* The problem with all sums in float. */
#define CONDSIM_SINGLE
#include "problem.c"
