/* base/config: version, compiler detection, options, the real type, linkage. */
#ifndef CSIM_CONFIG_H
#define CSIM_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define CSIM_VERSION_MAJOR 0
#define CSIM_VERSION_MINOR 1
#define CSIM_VERSION_PATCH 0
/* Version packed as major * 1000000 + minor * 1000 + patch. */
#define CSIM_VERSION (CSIM_VERSION_MAJOR * 1000000 + CSIM_VERSION_MINOR * 1000 + CSIM_VERSION_PATCH)

/* Options a user may define before including this file, in every file that includes it:
     CONDSIM_IMPLEMENTATION  in exactly one C or C++ file: compile the bodies there
     CONDSIM_STATIC          every function is static to the file that holds the implementation
     CONDSIM_FLOAT           csim_real is float (default double)
     CONDSIM_NO_STDIO        leave out the functions that open files
     CONDSIM_NO_LOADERS      leave out the mesh and robot file readers
     CONDSIM_NO_URDF         leave out the robot file reader alone
     CONDSIM_NO_HEAP         no malloc/free: worlds live in the caller's block or use the caller's allocator
     CONDSIM_REFERENCE       add what is for comparisons only: sparse Cholesky, the full Delassus matrix, Lemke's method
     CONDSIM_OPENMP          run parallel loops with OpenMP (same bits for any thread count)
     CONDSIM_ASSERT(x)       checks of internal invariants (default: none)
     CONDSIM_MALLOC(n), CONDSIM_FREE(p)          replace the heap
     CONDSIM_MEMCPY, CONDSIM_MEMSET              replace the two functions of <string.h>
     CONDSIM_SQRT, SIN, COS, ATAN2, EXP, LOG     (CONDSIM_SQRT(x) ...) replace libm; all together: freestanding build
     CONDSIM_STB_DS          conversions to and from the arrays of stb_ds.h, included before this file
     CONDSIM_OWN_MATH        use the library's own sin, cos, atan2, exp, log: the same bits with any C library
     CONDSIM_ALLOW_FAST_MATH build under -ffast-math all the same (NaN checks and determinism are then void) */

#if defined(__FAST_MATH__) && !defined(CONDSIM_ALLOW_FAST_MATH)
#error "condsim: -ffast-math removes NaN checks and determinism; define CONDSIM_ALLOW_FAST_MATH to build all the same"
#endif

#ifdef CONDSIM_FLOAT
typedef float csim_real;
#define CSIM_REAL_SIZE 4
#else
/* The scalar of the whole library: double, or float under CONDSIM_FLOAT. */
typedef double csim_real;
#define CSIM_REAL_SIZE 8
#endif
/* A literal of the scalar type: CSIM_R(0.5). */
#define CSIM_R(x) ((csim_real)(x))

#if defined(__GNUC__) || defined(__clang__)
#define CSIMI_UNUSED __attribute__((unused))
#define CSIMI_NOINLINE __attribute__((noinline))
#define CSIMI_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define CSIMI_UNUSED
#define CSIMI_NOINLINE __declspec(noinline)
#define CSIMI_RESTRICT __restrict
#else
#define CSIMI_UNUSED
#define CSIMI_NOINLINE
#define CSIMI_RESTRICT
#endif

#ifdef CONDSIM_STATIC
#define CSIM_API static CSIMI_UNUSED
#elif defined(__cplusplus)
#define CSIM_API extern "C"
#else
#define CSIM_API extern
#endif
#define CSIM_INLINE static inline CSIMI_UNUSED

/* Public functions whose meaning depends on csim_real carry its name in the symbol, so that a float user
   and a double library fail to link instead of crashing. */
#ifdef CONDSIM_FLOAT
#define csim_create_world csim_create_world_float
#define csim_create_world_in csim_create_world_in_float
#define csim_world_bytes csim_world_bytes_float
#define csim_problem_solve csim_problem_solve_float
#define csim_impulse_solve csim_impulse_solve_float
#define csim_problem_certify csim_problem_certify_float
#endif

#endif
