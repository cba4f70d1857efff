/* The library, compiled once for the program. */
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
