/* condsim.h as one object for many test programs (check.h, CHECK_SHARED): its private functions are shared ones here. */
#include <assert.h>
#define CONDSIM_ASSERT(x) assert(x) /* the library's own invariants are checked in every test */
#define CSIMI_FN
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
