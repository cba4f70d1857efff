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
     CONDSIM_SINGLE          with CONDSIM_FLOAT and CONDSIM_TINY: sums and small factorisations in float too, for
                             processors without a unit for doubles (docs/embedded.md)
     CONDSIM_NO_STDIO        leave out the functions that open files
     CONDSIM_NO_HEAP         no malloc/free: worlds live in the caller's block or use the caller's allocator
     CONDSIM_REFERENCE       add what is for comparisons only: sparse Cholesky, the full Delassus matrix, Lemke's method
     CONDSIM_OPENMP          run parallel loops with OpenMP (same bits for any thread count)
     CONDSIM_ASSERT(x)       checks of internal invariants (default: none)
     CONDSIM_MALLOC(n), CONDSIM_FREE(p)          replace the heap
     CONDSIM_MEMCPY, CONDSIM_MEMSET              replace the two functions of <string.h>
     CONDSIM_SQRT, SIN, COS, ATAN2, EXP, LOG     (CONDSIM_SQRT(x) ...) replace libm; all together: freestanding build
     CONDSIM_STB_DS          conversions to and from the arrays of stb_ds.h, included before this file
     CONDSIM_OWN_MATH        use the library's own sin, cos, atan2, exp, log: the same bits with any C library
     CONDSIM_ALLOW_FAST_MATH build under -ffast-math all the same (NaN checks and determinism are then void)

   Features are switches: one macro each leaves out what a program does not use. What stays gives the same bits. A call
   for what is left out returns CSIM_UNSUPPORTED (docs/building.md).
     CONDSIM_NO_SOFT, CABLE, CLOTH, TREE, REDUCED, JOINTS, SPRINGS      bodies and links (pins are joints)
     CONDSIM_NO_PARTICLES, RIGID                particles; rigid bodies that move (what stands stays)
     CONDSIM_NO_CHARACTER, DRAW, RECORD         moves of a capsule; debug drawing; record and replay
     CONDSIM_NO_QUERIES                         rays, casts, overlaps, nearest points, and CHARACTER
     CONDSIM_NO_LAWS                            friction other than Coulomb's with one coefficient, and PENALTY
     CONDSIM_NO_CYLINDERS, HULLS, FIELDS        cylinders; convex hulls; meshes and height fields as shapes
     CONDSIM_NO_ROUND, BOXES                    balls, capsules and cylinders; boxes
     CONDSIM_NO_STACKS                          boxes and hulls against each other: a world has one body with such
     CONDSIM_NO_RESTRAINT                       what keeps missed solves from gaining energy: their best is taken
     CONDSIM_NO_LARGE                           Newton's order for islands of more than 24 blocks: an envelope
     CONDSIM_NO_BROAD                           the sorted broad phase: each box is looked at with all, for tens
     CONDSIM_NO_COND, SWEEP                     one of the two solvers of worlds (one must stay)
     CONDSIM_NO_BOUNDED                         the solver of bounded work
     CONDSIM_NO_IMPULSE                         csim_impulse_solve, all solvers of that level, SWEEP beyond rigid bodies
     CONDSIM_NO_PGS, APGD, PERCONTACT, STAGGERED, CCS, NEWTON, XPBD, PENALTY     solvers that serve comparisons ...
     CONDSIM_NO_COMPARISON                      ... all of these, and CONDSIM_NO_IMPULSE
     CONDSIM_NO_SLEEP                           bodies at rest fall asleep and cost nothing
     CONDSIM_NO_LOADERS, URDF, SNAPSHOTS, STATISTICS, ERROR_TEXT        files, save and restore, measures, sentences
     CONDSIM_NO_EVENTS                          csim_world_events
     CONDSIM_NO_PATHS                           paths followed after a step: thin things are passed
   Presets: CONDSIM_GAME leaves out comparisons, reduced bodies and loaders; CONDSIM_TINY everything but particles and
   rigid bodies under SWEEP, in one thread. CONDSIM_WITH_TREE and the like keep a feature that a preset would leave
   out. */

#ifdef CONDSIM_TINY
#if !defined(CONDSIM_WITH_SOFT) && !defined(CONDSIM_NO_SOFT)
#define CONDSIM_NO_SOFT
#endif
#if !defined(CONDSIM_WITH_CABLE) && !defined(CONDSIM_NO_CABLE)
#define CONDSIM_NO_CABLE
#endif
#if !defined(CONDSIM_WITH_CLOTH) && !defined(CONDSIM_NO_CLOTH)
#define CONDSIM_NO_CLOTH
#endif
#if !defined(CONDSIM_WITH_TREE) && !defined(CONDSIM_NO_TREE)
#define CONDSIM_NO_TREE
#endif
#if !defined(CONDSIM_WITH_JOINTS) && !defined(CONDSIM_NO_JOINTS)
#define CONDSIM_NO_JOINTS
#endif
#if !defined(CONDSIM_WITH_LARGE) && !defined(CONDSIM_NO_LARGE)
#define CONDSIM_NO_LARGE
#endif
#if !defined(CONDSIM_WITH_QUERIES) && !defined(CONDSIM_WITH_CHARACTER) && !defined(CONDSIM_NO_QUERIES)
#define CONDSIM_NO_QUERIES
#endif
#if !defined(CONDSIM_WITH_CHARACTER) && !defined(CONDSIM_NO_CHARACTER)
#define CONDSIM_NO_CHARACTER
#endif
#if !defined(CONDSIM_WITH_RECORD) && !defined(CONDSIM_NO_RECORD)
#define CONDSIM_NO_RECORD
#endif
#if !defined(CONDSIM_WITH_DRAW) && !defined(CONDSIM_NO_DRAW)
#define CONDSIM_NO_DRAW
#endif
#if !defined(CONDSIM_WITH_SPRINGS) && !defined(CONDSIM_NO_SPRINGS)
#define CONDSIM_NO_SPRINGS
#endif
#if !defined(CONDSIM_WITH_HULLS) && !defined(CONDSIM_NO_HULLS)
#define CONDSIM_NO_HULLS
#endif
#if !defined(CONDSIM_WITH_FIELDS) && !defined(CONDSIM_NO_FIELDS)
#define CONDSIM_NO_FIELDS
#endif
#if !defined(CONDSIM_WITH_LAWS) && !defined(CONDSIM_NO_LAWS)
#define CONDSIM_NO_LAWS
#endif
#if !defined(CONDSIM_WITH_BROAD) && !defined(CONDSIM_NO_BROAD)
#define CONDSIM_NO_BROAD
#endif
#if !defined(CONDSIM_WITH_BOUNDED) && !defined(CONDSIM_NO_BOUNDED)
#define CONDSIM_NO_BOUNDED
#endif
#if !defined(CONDSIM_WITH_COND) && !defined(CONDSIM_NO_COND)
#define CONDSIM_NO_COND
#endif
#if !defined(CONDSIM_WITH_SLEEP) && !defined(CONDSIM_NO_SLEEP)
#define CONDSIM_NO_SLEEP
#endif
#if !defined(CONDSIM_WITH_SNAPSHOTS) && !defined(CONDSIM_NO_SNAPSHOTS)
#define CONDSIM_NO_SNAPSHOTS
#endif
#if !defined(CONDSIM_WITH_EVENTS) && !defined(CONDSIM_NO_EVENTS)
#define CONDSIM_NO_EVENTS
#endif
#if !defined(CONDSIM_WITH_PATHS) && !defined(CONDSIM_NO_PATHS)
#define CONDSIM_NO_PATHS
#endif
#if !defined(CONDSIM_WITH_STATISTICS) && !defined(CONDSIM_NO_STATISTICS)
#define CONDSIM_NO_STATISTICS
#endif
#if !defined(CONDSIM_WITH_ERROR_TEXT) && !defined(CONDSIM_NO_ERROR_TEXT)
#define CONDSIM_NO_ERROR_TEXT
#endif
#endif

#if defined(CONDSIM_GAME) || defined(CONDSIM_TINY)
#if !defined(CONDSIM_WITH_REDUCED) && !defined(CONDSIM_NO_REDUCED)
#define CONDSIM_NO_REDUCED
#endif
#if !defined(CONDSIM_WITH_COMPARISON) && !defined(CONDSIM_NO_COMPARISON)
#define CONDSIM_NO_COMPARISON
#endif
#if !defined(CONDSIM_WITH_LOADERS) && !defined(CONDSIM_NO_LOADERS)
#define CONDSIM_NO_LOADERS
#endif
#endif

#ifdef CONDSIM_NO_COMPARISON
#if !defined(CONDSIM_WITH_IMPULSE) && !defined(CONDSIM_NO_IMPULSE)
#define CONDSIM_NO_IMPULSE
#endif
#if !defined(CONDSIM_WITH_XPBD) && !defined(CONDSIM_NO_XPBD)
#define CONDSIM_NO_XPBD
#endif
#if !defined(CONDSIM_WITH_PENALTY) && !defined(CONDSIM_NO_PENALTY)
#define CONDSIM_NO_PENALTY
#endif
#endif

/* What a feature needs goes with it. */
#ifdef CONDSIM_NO_IMPULSE
#ifndef CONDSIM_NO_PGS
#define CONDSIM_NO_PGS
#endif
#ifndef CONDSIM_NO_APGD
#define CONDSIM_NO_APGD
#endif
#ifndef CONDSIM_NO_PERCONTACT
#define CONDSIM_NO_PERCONTACT
#endif
#ifndef CONDSIM_NO_STAGGERED
#define CONDSIM_NO_STAGGERED
#endif
#ifndef CONDSIM_NO_CCS
#define CONDSIM_NO_CCS
#endif
#ifndef CONDSIM_NO_NEWTON
#define CONDSIM_NO_NEWTON
#endif
#endif
#if !defined(CONDSIM_NO_SOFT) || !defined(CONDSIM_NO_CLOTH) || !defined(CONDSIM_NO_CABLE) || \
    !defined(CONDSIM_NO_REDUCED)
#define CSIMI_HAS_MESHES 1 /* nodes with something between them */
#else
#define CSIMI_HAS_MESHES 0
#endif
#if CSIMI_HAS_MESHES || !defined(CONDSIM_NO_SNAPSHOTS) || !defined(CONDSIM_NO_SLEEP)
#define CSIMI_KEEPS_MESHES 1 /* or a snapshot may bring them, or what sleep sorts has their numbers */
#else
#define CSIMI_KEEPS_MESHES 0
#endif
#if !defined(CONDSIM_NO_PARTICLES) || CSIMI_HAS_MESHES
#define CSIMI_HAS_NODES 1
#else
#define CSIMI_HAS_NODES 0
#endif
#ifndef CONDSIM_NO_RIGID
#define CSIMI_HAS_RIGID 1 /* that may move */
#else
#define CSIMI_HAS_RIGID 0
#endif
#if !defined(CONDSIM_NO_RIGID) || !defined(CONDSIM_NO_TREE) || !defined(CONDSIM_NO_REDUCED)
#define CSIMI_HAS_MASS 1 /* of shapes */
#else
#define CSIMI_HAS_MASS 0
#endif
#if !defined(CONDSIM_NO_TREE) || !defined(CONDSIM_NO_REDUCED)
#define CSIMI_HAS_TREES 1
#else
#define CSIMI_HAS_TREES 0
#endif
#if defined(CONDSIM_NO_ROUND) && !defined(CONDSIM_NO_CYLINDERS)
#define CONDSIM_NO_CYLINDERS
#endif
#if defined(CONDSIM_NO_BOXES) && defined(CONDSIM_NO_HULLS) && !defined(CONDSIM_NO_STACKS)
#define CONDSIM_NO_STACKS
#endif
#if defined(CONDSIM_NO_LAWS) && !defined(CONDSIM_NO_PENALTY)
#define CONDSIM_NO_PENALTY
#endif
#if defined(CONDSIM_NO_QUERIES) && !defined(CONDSIM_NO_CHARACTER)
#define CONDSIM_NO_CHARACTER
#endif
#if defined(CONDSIM_NO_SNAPSHOTS) && !defined(CONDSIM_NO_RECORD)
#define CONDSIM_NO_RECORD
#endif
#if (defined(CONDSIM_NO_LOADERS) || defined(CONDSIM_NO_TREE)) && !defined(CONDSIM_NO_URDF)
#define CONDSIM_NO_URDF
#endif
#if defined(CONDSIM_NO_COND) && defined(CONDSIM_NO_SWEEP)
#error "condsim: CONDSIM_NO_COND and CONDSIM_NO_SWEEP leave no solver"
#endif
#if defined(CONDSIM_SINGLE) &&                                                                                        \
    !(defined(CONDSIM_FLOAT) && defined(CONDSIM_NO_SOFT) && defined(CONDSIM_NO_CABLE) && defined(CONDSIM_NO_CLOTH) && \
      defined(CONDSIM_NO_TREE) && defined(CONDSIM_NO_REDUCED) && defined(CONDSIM_NO_COND) &&                          \
      defined(CONDSIM_NO_BOUNDED) && defined(CONDSIM_NO_IMPULSE))
#error "condsim: CONDSIM_SINGLE is for CONDSIM_FLOAT with CONDSIM_TINY"
#endif
#if defined(CONDSIM_NO_IMPULSE) && defined(CONDSIM_REFERENCE)
#error "condsim: CONDSIM_REFERENCE compares with the impulse level, which CONDSIM_NO_IMPULSE leaves out"
#endif

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
#define CSIMI_ALWAYS __attribute__((always_inline))
#define CSIMI_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define CSIMI_UNUSED
#define CSIMI_NOINLINE __declspec(noinline)
#define CSIMI_ALWAYS
#define CSIMI_RESTRICT __restrict
#else
#define CSIMI_UNUSED
#define CSIMI_NOINLINE
#define CSIMI_ALWAYS
#define CSIMI_RESTRICT
#endif

/* Around parts that run now and then: compiled for size in a build that optimises, with the same bits. */
#if !defined(__OPTIMIZE__) || defined(__OPTIMIZE_SIZE__) /* there, marks would only keep functions apart */
#define CSIMI_COLD
#define CSIMI_WARM
#elif defined(__clang__) /* where a build leaves all of a run out, there is nothing to mark */
#define CSIMI_COLD                                                                                    \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpragma-clang-attribute\"") \
    _Pragma("clang attribute push(__attribute__((minsize)), apply_to = function)")
#define CSIMI_WARM _Pragma("clang attribute pop") _Pragma("clang diagnostic pop")
#else
#define CSIMI_COLD _Pragma("GCC push_options") _Pragma("GCC optimize(\"Os\")")
#define CSIMI_WARM _Pragma("GCC pop_options")
#endif

#ifdef CONDSIM_STATIC
#define CSIM_API static CSIMI_UNUSED
#elif defined(__cplusplus)
#define CSIM_API extern "C"
#else
#define CSIM_API extern
#endif
#define CSIM_INLINE static inline CSIMI_UNUSED
/* Small questions about a build, whose answers are to be known where they are asked. */
#define CSIMI_KNOWN static inline CSIMI_UNUSED CSIMI_ALWAYS

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
