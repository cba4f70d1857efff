/* The bodies of condsim.h, for those who link a library instead of writing this file themselves. */
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
