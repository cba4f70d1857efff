/* The library, compiled once for the scene program. */
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
