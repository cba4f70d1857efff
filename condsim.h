/* condsim.h 0.1.0: frictional contact, single-header C library
   SPDX-License-Identifier: MIT (text at the end of this file)
   Hash of the parts: 1c0b23f7355225bf

   Frictional contact for rigid and deformable bodies in one C file, by COND and exact-Coulomb solvers. Every answer
   comes with a certificate: numbers that say how well the contact laws hold, measured apart from the solver.

   How to use it, in three lines:

       #define CONDSIM_IMPLEMENTATION        in one C99 or C++11 file
       #include "condsim.h"                  there, and without the first line wherever it is needed
       cc -O2 main.c -lm                     nothing else to link

   Three levels, from the whole to the parts:

       world      csim_create_world, csim_create_..., csim_world_step: bodies that fall, touch and rub
       problem    csim_problem_solve: A v = b + J' lambda with contact laws, your own A and J
       functions  csim_collide, csim_shape_distance, csim_project: stateless pieces

   Names: csim_ and CSIM_ are the interface, CONDSIM_ the options you may define before the include (the list is at the
   head of base/config below), csimi_ and CSIMI_ private. SI units. Every call that can fail returns a csim_status; no
   input makes the library print, abort or assert. No globals, no clock, no allocation while stepping, the same bits
   for any number of threads.

   This file is generated from amalgamate/parts/ by `make header`: change the parts, not this file.
*/

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#endif

#ifndef CONDSIM_H
#define CONDSIM_H

/* ==== begin base/config.h ======================================================================================= */
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
     CONDSIM_NO_LOADERS      leave out the mesh file readers
     CONDSIM_NO_HEAP         no malloc/free: worlds live in the caller's block or use the caller's allocator
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
/* ==== end base/config.h */

/* ==== begin base/status.h ======================================================================================= */
/* base/status: what a call returns, and the sentence that goes with it. */
#ifndef CSIM_STATUS_H
#define CSIM_STATUS_H


/* name, value, sentence. CSIM_OK is 0, every failure is negative; values never change once released. */
#define CSIM_STATUS_LIST(X)                                                                                  \
    X(OK, 0, "the call did what it says")                                                                    \
    X(NULL_ARGUMENT, -1, "a pointer that must not be null is null")                                          \
    X(DEF_NOT_INITIALISED, -2, "a definition was not made by its csim_default_..._def() function")           \
    X(OUT_OF_RANGE, -3, "a value lies outside its allowed range")                                            \
    X(NOT_FINITE, -4, "a value is NaN or infinite")                                                          \
    X(STALE_ID, -5, "an id names something that was destroyed or never existed")                             \
    X(WRONG_WORLD, -6, "an id belongs to another world")                                                     \
    X(WRONG_KIND, -7, "an id names a body of another kind than the call needs")                              \
    X(OUT_OF_MEMORY, -8, "the allocator returned null or a limit was reached")                               \
    X(CAPACITY, -9, "a fixed capacity is full; csim_world_stats says which and how much is needed")          \
    X(BAD_MESH, -10, "a mesh is empty, inverted, degenerate or indexes outside its vertices")                \
    X(BAD_PROBLEM, -11, "a contact problem is inconsistent or of a form this solver does not take")          \
    X(NON_FINITE_RESULT, -12, "the step produced a NaN or an infinity and was undone")                       \
    X(UNCERTIFIED, -13, "the step missed its tolerance and was undone, as on_uncertified asks")              \
    X(LOCKED, -14, "the world is stepping and cannot be changed from a callback")                            \
    X(PARSE_ERROR, -15, "a text is malformed; the error names line and reason")                              \
    X(UNSUPPORTED, -16, "a valid input that this version does not handle")                                   \
    X(FILE_ERROR, -17, "a file cannot be opened, read or written")                                           \
    X(BAD_SNAPSHOT, -18, "bytes to restore are truncated, damaged or from another build or world shape")

typedef enum csim_status {
#define CSIMI_X(name, value, text) CSIM_##name = value,
    CSIM_STATUS_LIST(CSIMI_X)
#undef CSIMI_X
    CSIM_STATUS_LAST_ = -19
} csim_status;

/* A failure in words: which function and field, its value, and what is allowed. Owned by the caller, or by the
   world that reports it; nothing to free. */
typedef struct csim_error {
    csim_status status;
    char text[240]; /* zero-terminated sentence; empty when status is CSIM_OK */
} csim_error;

/* One sentence for a status; never null; the text is constant. */
CSIM_API const char *csim_status_text(csim_status status);

#endif
/* ==== end base/status.h */

/* ==== begin base/memory.h ======================================================================================= */
/* base/memory: where the library's memory comes from. */
#ifndef CSIM_MEMORY_H
#define CSIM_MEMORY_H


/* A source of memory. All fields zero: malloc and free (a failure under CONDSIM_NO_HEAP).
   alloc returns a block of at least size bytes aligned to align (a power of two, 64 at most), or null;
   free gets the size that was asked for. Both are called only while something is created, reserved, restored, loaded or
   destroyed, or the solver is changed; never while stepping, and never from two threads at once for one world. */
typedef struct csim_allocator {
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*free)(void *user, void *block, size_t size);
    void *user;              /* handed to both functions */
    size_t byte_limit;       /* most bytes held at any time; 0: no limit */
    size_t allocation_limit; /* most calls of alloc in all; 0: no limit */
} csim_allocator;

#endif
/* ==== end base/memory.h */

/* ==== begin base/parallel.h ===================================================================================== */
/* base/parallel: the one hook through which work is spread over threads. */
#ifndef CSIM_PARALLEL_H
#define CSIM_PARALLEL_H


/* A range of work: handles the items begin <= i < end. */
typedef void csim_range_fn(void *context, int begin, int end);

/* How loops run. All fields zero: serially, or by OpenMP under CONDSIM_OPENMP. The library cuts a loop into fixed
   ranges whose results do not depend on which thread runs them, so every choice gives the same bits. */
typedef struct csim_tasks {
    /* calls fn(context, begin, end) for ranges that cover [0, count) once each, every begin a multiple of grain,
       every range at most grain long, in any order and on any thread; returns when all are done */
    void (*run)(void *user, int count, int grain, csim_range_fn *fn, void *context);
    void *user;
} csim_tasks;

#endif
/* ==== end base/parallel.h */

/* ==== begin math/vec3.h ========================================================================================= */
/* math/vec3: the small types of the interface. Right-handed; matrices are row-major; quaternions are (w, x, y, z). */
#ifndef CSIM_VEC3_H
#define CSIM_VEC3_H


typedef struct csim_vec3 {
    csim_real x, y, z;
} csim_vec3;

/* Unit quaternion, w first; body axes to world axes. */
typedef struct csim_quat {
    csim_real w, x, y, z;
} csim_quat;

/* 3x3 matrix, row-major: m[3 * row + column]. */
typedef struct csim_mat3 {
    csim_real m[9];
} csim_mat3;

/* A pose: world point = position + rotation * body point. */
typedef struct csim_pose {
    csim_vec3 position; /* m */
    csim_quat rotation;
} csim_pose;

CSIM_INLINE csim_vec3 csim_v3(csim_real x, csim_real y, csim_real z) {
    csim_vec3 v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}
CSIM_INLINE csim_vec3 csim_add(csim_vec3 a, csim_vec3 b) { return csim_v3(a.x + b.x, a.y + b.y, a.z + b.z); }
CSIM_INLINE csim_vec3 csim_sub(csim_vec3 a, csim_vec3 b) { return csim_v3(a.x - b.x, a.y - b.y, a.z - b.z); }
CSIM_INLINE csim_vec3 csim_scale(csim_real s, csim_vec3 a) { return csim_v3(s * a.x, s * a.y, s * a.z); }
/* a + s b */
CSIM_INLINE csim_vec3 csim_madd(csim_vec3 a, csim_real s, csim_vec3 b) {
    return csim_v3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
CSIM_INLINE csim_real csim_dot(csim_vec3 a, csim_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
CSIM_INLINE csim_vec3 csim_cross(csim_vec3 a, csim_vec3 b) {
    return csim_v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

CSIM_INLINE csim_quat csim_quat_identity(void) {
    csim_quat q;
    q.w = 1;
    q.x = q.y = q.z = 0;
    return q;
}
CSIM_INLINE csim_quat csim_quat_mul(csim_quat a, csim_quat b) {
    csim_quat q;
    q.w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z;
    q.x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y;
    q.y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x;
    q.z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w;
    return q;
}
CSIM_INLINE csim_quat csim_quat_conj(csim_quat q) {
    q.x = -q.x;
    q.y = -q.y;
    q.z = -q.z;
    return q;
}
/* Rotates a vector from body to world axes. */
CSIM_INLINE csim_vec3 csim_rotate(csim_quat q, csim_vec3 v) {
    csim_vec3 u = csim_v3(q.x, q.y, q.z);
    csim_vec3 t = csim_scale(2, csim_cross(u, v));
    return csim_add(csim_madd(v, q.w, t), csim_cross(u, t));
}
/* Rotates a vector from world to body axes. */
CSIM_INLINE csim_vec3 csim_unrotate(csim_quat q, csim_vec3 v) { return csim_rotate(csim_quat_conj(q), v); }
CSIM_INLINE csim_vec3 csim_pose_point(csim_pose p, csim_vec3 body_point) {
    return csim_add(p.position, csim_rotate(p.rotation, body_point));
}
CSIM_INLINE csim_vec3 csim_pose_local(csim_pose p, csim_vec3 world_point) {
    return csim_unrotate(p.rotation, csim_sub(world_point, p.position));
}
CSIM_INLINE csim_pose csim_pose_identity(void) {
    csim_pose p;
    p.position = csim_v3(0, 0, 0);
    p.rotation = csim_quat_identity();
    return p;
}
/* Pose of a thing held by a body: first inner, then outer. */
CSIM_INLINE csim_pose csim_pose_mul(csim_pose outer, csim_pose inner) {
    csim_pose p;
    p.position = csim_pose_point(outer, inner.position);
    p.rotation = csim_quat_mul(outer.rotation, inner.rotation);
    return p;
}

/* Rotation by angle [rad] about an axis (normalised here; a zero axis gives the identity). */
CSIM_API csim_quat csim_quat_axis_angle(csim_vec3 axis, csim_real angle);
/* exp of a rotation vector [rad]: the rotation by |w| about w. */
CSIM_API csim_quat csim_quat_exp(csim_vec3 rotation_vector);
CSIM_API csim_quat csim_quat_normalize(csim_quat q);
CSIM_API csim_mat3 csim_quat_matrix(csim_quat q);
CSIM_API csim_real csim_length(csim_vec3 a);
/* a / |a|, or (0,0,0) when a is zero. */
CSIM_API csim_vec3 csim_normalize(csim_vec3 a);

#endif
/* ==== end math/vec3.h */

/* ==== begin sparse/block3.h ===================================================================================== */
/* sparse/block3: symmetric matrices of 3x3 blocks in compressed rows. */
#ifndef CSIM_BLOCK3_H
#define CSIM_BLOCK3_H


/* A square matrix of n x n blocks, each 3x3 row-major. Both triangles are stored, columns ascend inside a row, and
   every diagonal block is present. The arrays belong to whoever made the matrix. */
typedef struct csim_block_matrix {
    int n;          /* block rows; 3 n scalar unknowns */
    int *row;       /* [n + 1] first block of each row in col and val */
    int *col;       /* [row[n]] block column */
    int *diag;      /* [n] index of the diagonal block of each row in col and val */
    csim_real *val; /* [9 row[n]] blocks */
} csim_block_matrix;

#endif
/* ==== end sparse/block3.h */

/* ==== begin collide/shape.h ===================================================================================== */
/* collide/shape: rigid shapes, their mass, and contact points between them; stateless functions on plain data. */
#ifndef CSIM_SHAPE_H
#define CSIM_SHAPE_H


#define CSIM_HULL_MAX_VERTICES 64
#define CSIM_HULL_MAX_FACES 124 /* 2 V - 4 */
#define CSIM_HULL_MAX_EDGES 186 /* 3 V - 6 */

typedef enum csim_shape_kind {
    CSIM_SHAPE_HALF_SPACE, /* z <= 0 of the shape's frame is solid; static bodies only */
    CSIM_SHAPE_SPHERE,     /* radius */
    CSIM_SHAPE_CAPSULE,    /* radius, half_height: segment along z of the shape's frame, swept by the radius */
    CSIM_SHAPE_BOX,        /* half: half sizes along x, y, z */
    CSIM_SHAPE_CYLINDER,   /* radius, half_height: along z */
    CSIM_SHAPE_HULL,       /* convex hull of points */
    CSIM_SHAPE_COUNT_
} csim_shape_kind;

/* A shape as the user describes it. Make it by one of the functions below; lengths in m. */
typedef struct csim_shape {
    csim_shape_kind kind;
    csim_pose local;         /* pose of the shape in its body; default identity */
    csim_vec3 half;          /* box, > 0 */
    csim_real radius;        /* sphere, capsule, cylinder, > 0 */
    csim_real half_height;   /* capsule >= 0, cylinder > 0 */
    const csim_vec3 *points; /* [point_count] hull, 4..64 points in the shape's frame; read while the body is created */
    int point_count;
    csim_real spacing; /* distance between contact samples on the rims of cylinders; 0: radius / 2. Rims against flat
                          faces are exact; it is the resolution of rims against edges and other rims */
} csim_shape;

/* Shapes in the axes of their body, not yet checked; set local to place one elsewhere. Half-space: everything below
   the plane through point with the outward normal (normalised here). */
CSIM_API csim_shape csim_half_space(csim_vec3 point, csim_vec3 outward_normal);
/* Centre at the origin; lengths in m. */
CSIM_API csim_shape csim_sphere(csim_real radius);
/* Along z; half_height is half the length of the inner segment. */
CSIM_API csim_shape csim_capsule(csim_real radius, csim_real half_height);
/* half: half sizes along x, y, z. */
CSIM_API csim_shape csim_box(csim_vec3 half);
/* Along z; half_height is half its height. */
CSIM_API csim_shape csim_cylinder(csim_real radius, csim_real half_height);
/* points [point_count]: kept by pointer until the shape is baked or its body created. */
CSIM_API csim_shape csim_hull(const csim_vec3 *points, int point_count);

/* Mass, centre of mass and inertia about it, in the axes of the body that holds the shape. */
typedef struct csim_mass {
    csim_real mass;      /* kg */
    csim_vec3 centre;    /* m */
    csim_mat3 inertia;   /* kg m^2, symmetric positive definite */
} csim_mass;

/* Exact mass properties of a solid shape of uniform density [kg/m^3] (a half-space has none: CSIM_UNSUPPORTED).
   error may be null. */
CSIM_API csim_status csim_shape_mass(const csim_shape *shape, csim_real density, csim_mass *mass, csim_error *error);

/* A baked shape: what collision reads. Plain data without pointers, so it can be copied and saved. Faces of hulls are
   convex polygons, counter-clockwise seen from outside. */
typedef struct csim_geometry {
    csim_shape_kind kind;
    csim_pose local;
    csim_vec3 half;
    csim_real radius, half_height, spacing;
    csim_vec3 centre;     /* of a bounding sphere, in the shape's frame */
    csim_real bound;      /* its radius; half-space: infinite in effect */
    int hull;             /* hulls: index of the hull record in the array given to collision; else -1 */
} csim_geometry;

/* A baked convex polyhedron; boxes have none (their topology is fixed). */
typedef struct csim_hull_data {
    int vertex_count, face_count, edge_count;
    csim_real vertex[3 * CSIM_HULL_MAX_VERTICES];
    csim_real normal[3 * CSIM_HULL_MAX_FACES];      /* outward unit normals */
    csim_real offset[CSIM_HULL_MAX_FACES];          /* normal . x <= offset inside */
    short face_start[CSIM_HULL_MAX_FACES + 1];      /* first entry of each face in face_vertex */
    unsigned char face_vertex[2 * CSIM_HULL_MAX_EDGES];
    unsigned char edge_vertex[2 * CSIM_HULL_MAX_EDGES];
    unsigned char edge_face[2 * CSIM_HULL_MAX_EDGES];
} csim_hull_data;

/* One contact point found between two things a and b. */
typedef struct csim_touch {
    csim_vec3 point_a, point_b; /* on the two surfaces, world axes, m */
    csim_vec3 normal;           /* unit, from b towards a, world axes */
    csim_real gap;              /* normal . (point_a - point_b): > 0 apart, < 0 overlapping; m */
    uint32_t feature;           /* names the point inside the pair: equal while the same features touch */
} csim_touch;

/* Checks a shape and bakes it. hull must be non-null for hulls (filled here) and is ignored otherwise; geometry->hull
   is left -1 for the caller to set. error may be null.
   Fails: CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_BAD_MESH (flat hull, too few or too many points). */
CSIM_API csim_status csim_shape_bake(const csim_shape *shape, csim_geometry *geometry, csim_hull_data *hull,
                                     csim_error *error);

/* Signed distance of a world point to the surface of a shape placed at pose (of its body): > 0 outside, < 0 inside.
   normal: outward unit normal at the nearest surface point (never zero, any when the point is the exact centre);
   feature: the nearest face, edge or zone. hulls: array that geometry->hull indexes. Exact for all kinds. */
CSIM_API csim_real csim_shape_distance(const csim_geometry *geometry, const csim_hull_data *hulls, csim_pose pose,
                                       csim_vec3 point, csim_vec3 *normal, uint32_t *feature);

/* Contact points between two shapes whose bodies are at the given poses, wherever the gap is at most margin [m].
   Writes at most capacity touches and returns how many there are (a return above capacity means the rest was not
   written). Boxes and hulls: separating axes over faces and edge pairs, then corners over faces and crossings of edges;
   gaps are exact but for ties, 1e-5 of the size. Spheres and capsules are exact against all; cylinders are exact on
   planes and along their sides, their rims are sampled. Order and features are deterministic, and features stay while
   the same corners and edges touch. */
CSIM_API int csim_collide(const csim_geometry *a, csim_pose pose_a, const csim_geometry *b, csim_pose pose_b,
                          const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity);

/* Axis-aligned bounds of a shape placed at pose. A half-space gets +-CSIM_R(1e18)-sized bounds. */
CSIM_API void csim_shape_bounds(const csim_geometry *geometry, const csim_hull_data *hulls, csim_pose pose,
                                csim_vec3 *lower, csim_vec3 *upper);

#endif
/* ==== end collide/shape.h */

/* ==== begin model/material.h ==================================================================================== */
/* model/material: elastic materials of solids and cloth, and their activation. */
#ifndef CSIM_MATERIAL_H
#define CSIM_MATERIAL_H


/* Isotropic hyperelastic laws; all agree with Hooke's law of the same E and nu at small strain. */
typedef enum csim_material {
    CSIM_COROTATIONAL,        /* linear in the stretches; loses volume when pulled far; the fastest, the default */
    CSIM_NEO_HOOKEAN,         /* stable neo-Hookean (Smith et al. 2018): keeps its volume, recovers from inversion */
    CSIM_ST_VENANT_KIRCHHOFF, /* linear in Green's strain; softens below 0.58 of its length: not for strong compression
                               */
    CSIM_MATERIAL_COUNT_
} csim_material;

/* Stress that a material makes by itself, on top of its elasticity. */
typedef struct csim_activation {
    csim_real pressure; /* Pa, > 0 inflates: energy -pressure (J - 1) per rest volume, a chamber filled with gas */
    csim_real tension;  /* Pa of the rest section, > 0 contracts along the fibre: energy tension (|F fibre| - 1) */
    csim_vec3 fibre;    /* direction in the rest shape, any length; used when tension is not 0 */
} csim_activation;

#endif
/* ==== end model/material.h */

/* ==== begin contact/problem.h =================================================================================== */
/* contact/problem: the one problem every solver sees.

       A v = b + J' lambda,     u = J v + phi,     law(u, lambda) for every contact

   A [kg] symmetric positive definite in 3x3 blocks, v [m/s or rad/s], lambda [N s] impulses in the contact frame
   (n, t1, t2), J from the rows R and the terms of the two sides, phi [m/s] an offset that carries the gap, restitution
   and the velocity of moving ground. COND paper eq. 10-11, contact.md 1-2. */
#ifndef CSIM_PROBLEM_H
#define CSIM_PROBLEM_H


/* What ties u and lambda together at one contact; contact.md 5. */
typedef enum csim_law {
    CSIM_LAW_STRICT,      /* Signorini and Coulomb: lambda_n clamped, then lambda_t clipped to the disk mu lambda_n */
    CSIM_LAW_PROXIMAL,    /* Euclidean projection on the cone: the convex model (sliding contacts may lift) */
    CSIM_LAW_ANISOTROPIC, /* strict with the ellipse of mu[0], mu[1] along t1, t2: maximal dissipation */
    CSIM_LAW_INVERTIBLE,  /* strict with regularisation: u + omega lambda, so lambda is a function of v */
    CSIM_LAW_BILATERAL,   /* lambda free along the directions of mask: joints, pins */
    CSIM_LAW_BOX,         /* each component between lo and hi: limits and motors */
    CSIM_LAW_COUNT_
} csim_law;

/* One piece of a side: the side's point moves with the sum of J v[block] over its terms (world axes). */
typedef struct csim_term {
    int block;
    csim_real J[9]; /* row-major 3x3; the identity for a node */
} csim_term;

/* A side of a contact: terms [first, first + count) of the problem. count 0: fixed or moving ground. */
typedef struct csim_side {
    int first, count;
} csim_side;

/* One contact: three rows u = R (side a - side b) + phi. */
typedef struct csim_contact {
    csim_law law;
    csim_side a, b;
    csim_real R[9];     /* rows n, t1, t2: orthonormal, world axes; n points from b to a */
    csim_real phi[3];   /* m/s, contact frame: phi_gap n - R u_ground; contact.md 4 */
    csim_real mu[2];    /* friction coefficient; the second only for the anisotropic law */
    csim_real omega[2]; /* 1/kg, normal and tangential; invertible law only, > 0 there */
    csim_real lo[3], hi[3]; /* N s; box law only */
    unsigned mask;      /* bilateral: bit k set: row k is constrained; 7 = point */
    csim_real mass[2];  /* effective mass of the sides for scaling, kg: (1/theta) 3 / tr(J M^-1 J'); 0: from A */
    csim_real point[3]; /* where it is, m, world axes; used by the coarse correction only */
} csim_contact;

/* What a solver may know about the bodies behind the blocks, as plain arrays; every pointer may be null. */
typedef struct csim_structure {
    int aggregate_count;
    const int *aggregate;     /* [n] group of the block for the rigid-mode coarse space, -1: none */
    const csim_real *offset;  /* [3n] position of a translational block relative to the centre of its aggregate, m */
    const csim_real *radius;  /* [aggregate_count] rms radius of the aggregate, m, > 0: the scale of its rotations */
    const csim_real *centre;  /* [3 aggregate_count] centre of the aggregate, m; needed beyond 150 aggregates only */
    const unsigned char *rotation; /* [n] 1: the block is the angular velocity of a rigid body, 0: a point */
    int body_count;           /* dense diagonal bodies of A (rigid bodies: 2 blocks) ... */
    const int *body_first;    /* [body_count + 1] ... first block of each, when bodies cover all blocks in order */
    int chain_count;          /* cables: chains of links of two blocks (a node, the frame of the edge after it) ... */
    const int *chain_first;   /* [chain_count + 1] ... first link of each ... */
    const int *chain_block;   /* [2 chain_first[chain_count]] ... their blocks, -1: none, no block twice. What A couples
                                 beyond neighbouring links is left to the iteration */
} csim_structure;

typedef struct csim_problem {
    csim_block_matrix A;
    const csim_real *b;           /* [3n] N s */
    int contact_count;
    const csim_contact *contacts; /* [contact_count] */
    int term_count;
    const csim_term *terms;       /* [term_count] */
    const csim_structure *structure; /* may be null */
    csim_real theta;              /* of the integrator, for documentation of masses; 1 or 1/2 */
} csim_problem;

typedef struct csim_solution {
    csim_real *v;      /* [3n] in: start, out: velocity */
    csim_real *lambda; /* [3 contact_count] in: start (last impulses, 0 if new), out: impulses */
} csim_solution;

/* Checks sizes, indices, orthonormal frames, finite numbers, positive diagonal. O(size). error may be null.
   Fails: CSIM_BAD_PROBLEM, CSIM_NOT_FINITE, CSIM_NULL_ARGUMENT. */
CSIM_API csim_status csim_problem_check(const csim_problem *problem, csim_error *error);

#endif
/* ==== end contact/problem.h */

/* ==== begin contact/law.h ======================================================================================= */
/* contact/law: the closed-form projections, one function per law. Stateless. */
#ifndef CSIM_LAW_H
#define CSIM_LAW_H


/* lambda = Project(trial): the impulse of one contact from the trial impulse -(u)/gamma, contact.md 5.
   gamma [1/kg] is needed by the invertible law (trial is then rescaled by gamma / (gamma + omega)) and ignored by the
   others. All three components in, all three out; in place allowed. */
CSIM_API void csim_project(const csim_contact *contact, csim_real gamma, const csim_real *trial, csim_real *lambda);
/* Euclidean projection on the friction cone |lambda_t| <= mu lambda_n. */
CSIM_API void csim_project_cone(csim_real mu, const csim_real *trial, csim_real *lambda);
/* Nearest point of the ellipse (t1/a)^2 + (t2/b)^2 <= 1; a, b >= 0. */
CSIM_API void csim_project_ellipse(csim_real a, csim_real b, const csim_real *trial, csim_real *t);
/* Invertible law: the impulse that belongs to the velocity u = J v + phi, without solving anything. */
CSIM_API void csim_inverse_contact(const csim_contact *contact, const csim_real *u, csim_real *lambda);

#endif
/* ==== end contact/law.h */

/* ==== begin contact/certificate.h =============================================================================== */
/* contact/certificate: one honest measure for every solver, from the problem and (v, lambda) alone; certificate.md. */
#ifndef CSIM_CERTIFICATE_H
#define CSIM_CERTIFICATE_H


typedef struct csim_certificate {
    double dynamics;        /* |A v - b - J'lambda|_{1/D} / max(|b|, |J'lambda|, tiny), D = diag A */
    double contact;         /* worst natural residual of a contact / max(|lambda_m|, median, tiny) */
    double approach;        /* max(0, -u_n), m/s */
    double complementarity; /* max |lambda_n u_n|, J */
    double cone;            /* max(0, |lambda_t| - mu lambda_n), N s */
    double dissipation;     /* worst distance from stick or opposed slip, m/s */
    double dissipation_power;   /* max |mu lambda_n |u_t| + lambda_t . u_t|, J */
    double natural_map_scaled;  /* |r - P_K(r - rho (u + mu |u_t| n))| / |r| over all Coulomb contacts */
    int worst_contact;      /* index behind the contact figure, -1: none */
} csim_certificate;

/* tiny: what rounding alone leaves. Impulses below 1e5 eps times the largest impulse, or times rho times the speeds
   that u is a difference of, are measured against that bound instead of against themselves. The median is of the
   contacts that carry more than that: open ones have no say, whose number depends on the margins alone. approach to
   dissipation_power are over the friction laws; the invertible law is measured with u + omega lambda for u. */

/* Bytes of scratch csim_problem_certify needs for n blocks and contact_count contacts. */
CSIM_API size_t csim_certificate_bytes(int n, int contact_count);
/* Measures (v, lambda) on the problem. One product of A. scratch: csim_certificate_bytes, 64-aligned.
   Shares no code with the solvers. Always defined: no contacts gives zeros for the contact figures. */
CSIM_API csim_status csim_problem_certify(const csim_problem *problem, const csim_real *v, const csim_real *lambda,
                                          void *scratch, size_t scratch_bytes, csim_certificate *certificate);

#endif
/* ==== end contact/certificate.h */

/* ==== begin solve/single.h ====================================================================================== */
/* solve/single: one contact alone. Stateless: no problem, no world, no workspace. */
#ifndef CSIM_SINGLE_H
#define CSIM_SINGLE_H


/* How a sliding contact is solved. Opening and sticking are the same for all. */
typedef enum csim_contact_method {
    CSIM_CONTACT_NEWTON,    /* exact Coulomb: friction opposes slip; safeguarded Newton on the slip multiplier */
    CSIM_CONTACT_BISECTION, /* maximal dissipation with u_n = 0 (Hwangbo et al., Algorithm 1) */
    CSIM_CONTACT_GOLDEN,    /* the same model by golden section on the energy (Preclik) */
    CSIM_CONTACT_QUARTIC,   /* the same model from the roots of a quartic */
    CSIM_CONTACT_METHOD_COUNT_
} csim_contact_method;

/* lambda[3] of one contact with u = W lambda + c, components n, t1, t2, friction coefficient mu >= 0:
     c_n >= 0                      lambda = 0, the contact opens
     lambda0 = -W^-1 c in the cone lambda = lambda0, it sticks
     else                          u_n = 0, |lambda_t| = mu lambda_n, and either u_t opposes lambda_t (Newton) or the
                                   energy 1/2 u' W^-1 u is least on that conic (the other three)
   W[9] row-major [1/kg], symmetric positive definite (of another W its symmetric part is taken); c[3] [m/s]; lambda in
   N s. The two laws agree where normal and tangent do not couple (W_nt = 0) or mu is 0.
   Fails, with lambda = 0 where there is a lambda: CSIM_NULL_ARGUMENT, CSIM_NOT_FINITE, CSIM_OUT_OF_RANGE (mu < 0,
   a diagonal entry of W not above 0, no such method). Hwangbo, Lee, Hutter 2018, section III-A; solvers.md 4. */
CSIM_API csim_status csim_solve_contact(const csim_real *W, const csim_real *c, csim_real mu,
                                        csim_contact_method method, csim_real *lambda);

#endif
/* ==== end solve/single.h */

/* ==== begin solve/solver.h ====================================================================================== */
/* solve/solver: choosing and calling a solver. */
#ifndef CSIM_SOLVER_H
#define CSIM_SOLVER_H


/* name, value, one line. */
#define CSIM_SOLVER_LIST(X)                                                                           \
    X(AUTO, 0, "SWEEP when A is block diagonal in small bodies, COND otherwise and where SWEEP falls short") \
    X(COND, 1, "velocity fixed-point iteration on nodal contacts (Lee et al.)")                       \
    X(SWEEP, 2, "Anderson-accelerated exact-Coulomb Gauss-Seidel, Newton and a proximal loop, rigid bodies") \
    X(ANDERSON, 3, "the first stage of SWEEP alone: accelerated exact-Coulomb Gauss-Seidel, impulse level") \
    X(PROXIMAL, 4, "the last stage of SWEEP alone: its proximal loop, impulse level")

typedef enum csim_solver {
#define CSIMI_X(name, value, text) CSIM_SOLVER_##name = value,
    CSIM_SOLVER_LIST(CSIMI_X)
#undef CSIMI_X
    CSIM_SOLVER_COUNT_
} csim_solver;

/* How COND chooses its diagonal W; solvers.md 1. */
typedef enum csim_weight {
    CSIM_WEIGHT_AUTO,       /* per acceleration: Frobenius for Chebyshev, else Jacobi */
    CSIM_WEIGHT_JACOBI,     /* 1 / a_ii, scalar per contact node */
    CSIM_WEIGHT_FROBENIUS,  /* a_ii / |A_i|^2 on the symmetrically scaled A */
    CSIM_WEIGHT_BB1,        /* Barzilai-Borwein, first step length */
    CSIM_WEIGHT_BB2,        /* second */
    CSIM_WEIGHT_BB_ALTERNATING,
    CSIM_WEIGHT_COUNT_
} csim_weight;

typedef enum csim_acceleration {
    CSIM_ACCELERATION_AUTO,      /* coarse where the problem has a structure, else Anderson; none with BB weights */
    CSIM_ACCELERATION_NONE,
    CSIM_ACCELERATION_CHEBYSHEV,
    CSIM_ACCELERATION_ANDERSON,
    CSIM_ACCELERATION_COARSE,    /* rigid-mode coarse correction and Anderson */
    CSIM_ACCELERATION_COUNT_
} csim_acceleration;

typedef struct csim_solver_params {
    csim_solver solver;
    csim_real tolerance;     /* certified: dynamics and contact <= tolerance; above 0, at most 0.1; default 5e-5 */
    int max_iterations;      /* 1..1e6; default 600 */
    csim_weight weight;
    csim_acceleration acceleration;
    int window;              /* Anderson pairs kept, 1..32; 0: 8 for COND, 20 for SWEEP */
    csim_real gain;          /* virtual nodes: kappa = gain * effective mass; 1..1e8; default 1e3 */
    csim_real kappa;         /* kg; > 0: overrides gain (kappa = h k_v) */
    bool shift;              /* proximal shift of virtual nodes by the last impulse; default true */
    csim_real sigma;         /* in: largest eigenvalue of the scaled A from an earlier solve, 0: estimate it */
    double *history;         /* [history_capacity] the solver's residual of each iteration, may be null */
    int history_capacity;
} csim_solver_params;

typedef enum csim_result {
    CSIM_RESULT_CONVERGED,   /* certified at the tolerance */
    CSIM_RESULT_CAP,         /* the iteration cap was reached first; the best iterate is returned */
    CSIM_RESULT_STALLED,     /* no more progress in this precision; the best iterate is returned */
    CSIM_RESULT_NOT_FINITE,  /* the data made a NaN or an infinity; v and lambda are the start */
    CSIM_RESULT_COUNT_
} csim_result;

/* What a solve did. */
typedef struct csim_outcome {
    csim_result result;
    csim_solver solver;      /* the one that ran, where AUTO was asked */
    int iterations;          /* COND: V-FPI steps, one product of A each; SWEEP: sweeps and Newton evaluations */
    int products;            /* products of A in all, estimates and certificates included; SWEEP: 0 */
    int rejections;          /* iterates thrown away by the safeguards */
    int virtual_nodes;
    double residual;         /* the solver's own last residual */
    double virtual_slip;     /* max |(lambda - last lambda)| / kappa: velocity by which virtual nodes slip, m/s */
    csim_real sigma;         /* spectral estimate to pass to the next solve; SWEEP: 0 */
    size_t bytes;            /* workspace used at most */
    csim_certificate certificate;
} csim_outcome;

/* Sizes a workspace is made for. */
typedef struct csim_problem_size {
    int blocks;          /* n */
    int matrix_blocks;   /* stored blocks of A */
    int contacts;
    int terms; /* sum over all sides of their number of terms k; a side of more than 4 counts k k / 4 (rounded up) */
    int aggregates;
    int links;           /* of chains */
    bool rigid;          /* A is block diagonal in bodies of at most 4 blocks: SWEEP can take it */
} csim_problem_size;

/* Automatic solver, tolerance 5e-5, 600 iterations, gain 1e3 with shift; the values stand at the fields. */
CSIM_API csim_solver_params csim_default_solver_params(void);
/* The sizes of a problem, for csim_solver_bytes. */
CSIM_API csim_problem_size csim_problem_measure(const csim_problem *problem);
/* Bytes of workspace that csim_problem_solve needs for any problem of at most these sizes. Linear in them, but for the
   coarse block of COND: two square matrices of 6 min(aggregates, 150) doubles a side. See docs/memory.md. */
CSIM_API size_t csim_solver_bytes(const csim_problem_size *size, const csim_solver_params *params);
/* Solves the problem. Needs no world, allocates nothing, reads no clock. solution holds the start and gets the
   result; workspace: csim_solver_bytes, of any alignment. tasks and error may be null.
   A general (non-nodal) contact handed to COND is given virtual nodes inside the workspace (contact.md 3).
   Fails: CSIM_BAD_PROBLEM, CSIM_OUT_OF_RANGE (a parameter), CSIM_CAPACITY (workspace too small). An unconverged
   solve is CSIM_OK with outcome->result telling so. */
CSIM_API csim_status csim_problem_solve(const csim_problem *problem, const csim_solver_params *params, void *workspace,
                                        size_t workspace_bytes, const csim_tasks *tasks, csim_solution *solution,
                                        csim_outcome *outcome, csim_error *error);

#endif
/* ==== end solve/solver.h */

/* ==== begin solve/impulse.h ===================================================================================== */
/* solve/impulse: the contact problem without bodies, at the level of impulses.

       u = W r + q,     law(u_c, r_c) for every contact c

   W [1/kg] = J A^-1 J' couples nc contacts in 3x3 blocks, r [N s] are the impulses and u, q [m/s] the velocities, all in
   contact frames (n, t1, t2). The problem other software calls Delassus or FC3D; solvers.md, top. */
#ifndef CSIM_IMPULSE_H
#define CSIM_IMPULSE_H


typedef struct csim_impulse_problem {
    int contact_count;
    /* W in exactly one of three forms, the others null; used as given, never symmetrised; its diagonal blocks must have
       a positive trace */
    const csim_block_matrix *W; /* sparse: contact_count rows of blocks */
    const csim_real *dense;     /* [3nc 3nc] row-major */
    void (*product)(void *user, const csim_real *x, csim_real *y); /* y = W x, [3nc] each, never the same array */
    void *user;                 /* handed to product */
    const csim_real *diagonal;  /* [9 nc] the diagonal blocks, with product only; a few per cent are exact enough */
    const csim_real *q;         /* [3nc] */
    /* the laws: friction coefficients of CSIM_LAW_STRICT, or whole laws; exactly one is not null */
    const csim_real *mu;         /* [nc] */
    const csim_contact *contacts; /* [nc]; law, mu, omega, lo, hi and mask are read, sides, R and phi are not */
} csim_impulse_problem;

/* Bytes of workspace that csim_impulse_solve needs for this problem; 0 for null arguments. Linear in the contacts. */
CSIM_API size_t csim_impulse_bytes(const csim_impulse_problem *problem, const csim_solver_params *params);
/* Solves the problem by params->solver (AUTO or one whose csim_solver_info says impulse). r [3nc] holds the start, best
   the last impulses of the same contacts, and gets the result: the best impulses seen. Allocates nothing, reads no
   clock. workspace: csim_impulse_bytes, of any alignment; tasks and error may be null.
   Converged means, with u = W r + q computed anew from the returned r: natural_map_scaled of the certificate is at most
   the tolerance, and where the traces of the diagonal blocks of W differ by more than a factor of 100, so is
   certificate.contact (the figure of each contact against its own impulse), because then the common norm hides the
   light bodies. r = 0 is converged only when it is exact. certificate.dynamics is 0: there are no bodies.
   Fails: CSIM_NULL_ARGUMENT, CSIM_BAD_PROBLEM (sizes, no or two forms of W, a diagonal block without positive trace,
   a law), CSIM_OUT_OF_RANGE (a parameter), CSIM_CAPACITY. Bad numbers: CSIM_OK with CSIM_RESULT_NOT_FINITE. */
CSIM_API csim_status csim_impulse_solve(const csim_impulse_problem *problem, const csim_solver_params *params,
                                        void *workspace, size_t workspace_bytes, const csim_tasks *tasks, csim_real *r,
                                        csim_outcome *outcome, csim_error *error);

/* A line of the table of solvers. */
typedef struct csim_solver_info {
    const char *name; /* as in csim_solver, small letters */
    const char *text; /* one line */
    bool velocity;    /* csim_problem_solve takes it */
    bool impulse;     /* csim_impulse_solve takes it */
    bool rows;        /* visits the rows of W one by one: not for a W that is only a product */
} csim_solver_info;
/* The line of one solver; all fields null or false when there is no such solver. */
CSIM_API csim_solver_info csim_describe_solver(csim_solver solver);

#endif
/* ==== end solve/impulse.h */

/* ==== begin world/world.h ======================================================================================= */
/* world/world: bodies, springs and contact stepped together.

   SI units, right-handed. A world belongs to one thread at a time; different worlds are independent. */
#ifndef CSIM_WORLD_H
#define CSIM_WORLD_H


/* ---- ids ------------------------------------------------------------------------------------------------------- */

/* Names a body (particle, rigid body or solid) of one world. All zero: no body. An id that outlives its body is
   reported as CSIM_STALE_ID, one handed to another world as CSIM_WRONG_WORLD. */
typedef struct csim_body_id {
    uint32_t index1; /* slot + 1; 0: none */
    uint32_t generation;
    uint32_t world; /* stamp of the world that made it */
} csim_body_id;

/* Names a spring or a pin. */
typedef struct csim_link_id {
    uint32_t index1;
    uint32_t generation;
    uint32_t world;
} csim_link_id;

/* ---- world definition ------------------------------------------------------------------------------------------ */

typedef enum csim_integrator {
    CSIM_BACKWARD_EULER, /* first order, dissipative, plastic impacts by itself: robust, the default */
    CSIM_MIDPOINT,       /* second order, keeps energy; used by the COND paper */
    CSIM_INTEGRATOR_COUNT_
} csim_integrator;

typedef enum csim_uncertified {
    CSIM_ACCEPT_UNCERTIFIED, /* keep the best iterate and say so in the stats */
    CSIM_REJECT_UNCERTIFIED, /* undo the step and return CSIM_UNCERTIFIED */
    CSIM_UNCERTIFIED_COUNT_
} csim_uncertified;

/* How much of everything a world can hold. A world on the heap starts with this much and grows in its create calls; a
   world in a fixed block never holds more. 0 in a definition: the default named here. csim_world_used() reports what
   a running world needed, ready to be pasted back. Each 0..5e7. */
typedef struct csim_capacity {
    int bodies;        /* of every kind; default 16 */
    int nodes;         /* particles and vertices of solids; default bodies */
    int rigids;        /* default bodies */
    int shapes;        /* of all rigid bodies; default rigids */
    int hulls;         /* shapes that are convex hulls; default 0 */
    int tets;          /* default 0 */
    int membranes;     /* triangles of cloth; default 0 */
    int surface;       /* vertices on the surface of solids; default nodes when there are tets or membranes */
    int triangles;     /* of those surfaces; default 2 surface */
    int links;         /* springs, and as many pins; default 0 */
    int frames;        /* edges of cables; default 0 */
    int bends;         /* their bend elements: joints between edges, clamps; default frames + links */
    int matrix_blocks; /* 3x3 blocks stored in A; default nodes + 4 rigids + 5 tets + 10 membranes + 16 links + 7 frames
                          + 2 bends */
    int contacts;      /* contact points in one step, speculative ones included; default 16 shapes + 2 nodes */
    int pairs;         /* overlapping bounds in one step; default 8 (shapes + bodies) */
    int aggregates; /* groups of solids for the coarse correction; default n^(2/3) / 6 of the nodes, 4..150, with tets
                     */
} csim_capacity;

/* What a filter and a mixing rule are told about the two sides. They are pure functions: they may read the world, and
   every call that would change it returns CSIM_LOCKED. A mixing rule returns a finite number >= 0. */
typedef struct csim_pair_info {
    csim_body_id body_a, body_b;
    int material_a, material_b;
    csim_real friction_a, friction_b, restitution_a, restitution_b;
    void *user_data_a, *user_data_b;
} csim_pair_info;

typedef struct csim_world_def {
    csim_vec3 gravity; /* m/s^2; default (0, 0, -9.81); any direction */
    csim_integrator integrator;
    csim_solver_params solver; /* tolerance 5e-5, 600 iterations, automatic */
    csim_law law;              /* CSIM_LAW_STRICT (default), CSIM_LAW_PROXIMAL or CSIM_LAW_INVERTIBLE */
    csim_real omega[2];        /* invertible law: normal, tangential regularisation, 1/kg; default 1e-3, > 0 */
    csim_uncertified on_uncertified;

    csim_real contact_distance; /* contacts are found this far ahead, and what speed needs; m, 0..1000; default 1e-3 */
    csim_real stabilization;    /* share of a penetration removed in a step, 0..1; default 0.8 */
    csim_real slop;             /* penetration left alone, m, >= 0; default 0 */
    csim_real push_out_speed;   /* most speed given by stabilisation, m/s, >= 0; default 1 */
    csim_real restitution_threshold; /* approach speed below which restitution is 0, m/s, >= 0; default 0.2 */

    csim_capacity capacity;
    csim_allocator allocator;    /* all zero: malloc and free */
    csim_tasks tasks;            /* all zero: serial (or OpenMP) */
    double (*clock)(void *user); /* seconds; null: times in the stats are 0. The library reads no other clock */
    void *clock_user;
    bool (*filter)(void *user, const csim_pair_info *pair);            /* false: these two never touch; null: all may */
    csim_real (*mix_friction)(void *user, const csim_pair_info *pair); /* null: sqrt(a b) */
    csim_real (*mix_restitution)(void *user, const csim_pair_info *pair); /* null: max(a, b) */
    void *callback_user;
    uint32_t guard; /* set by csim_default_world_def */
} csim_world_def;

/* ---- body definitions ------------------------------------------------------------------------------------------ */

typedef enum csim_motion {
    CSIM_DYNAMIC,
    CSIM_STATIC,    /* never moves */
    CSIM_KINEMATIC, /* moves with the velocity it is given, whatever touches it */
    CSIM_MOTION_COUNT_
} csim_motion;

/* What surfaces and filters need; the same for every kind of body. */
typedef struct csim_surface_def {
    csim_real friction;  /* coefficient, >= 0; default 0.5 */
    csim_real friction2; /* >= 0: across friction_direction, where friction acts along it; < 0 (default): isotropic */
    csim_vec3 friction_direction; /* body axes; used when friction2 >= 0; default x */
    csim_real restitution;        /* 0..1; default 0 */
    csim_real thickness;          /* m, >= 0: the surface lies this far outside the geometry; default 0 */
    int material;                 /* for the user's mixing rules; default 0 */
    uint32_t category;            /* bits this body has; default 1 */
    uint32_t mask;                /* bits it touches; default all. Both sides must agree */
    int group;                    /* two bodies of the same group > 0 never touch; default 0 */
} csim_surface_def;

/* A point mass that touches others as a sphere of the given radius. */
typedef struct csim_particle_def {
    csim_vec3 position, velocity; /* m, m/s */
    csim_real mass;               /* kg, > 0; default 1 */
    csim_real radius;             /* m, >= 0; default 0 */
    csim_real damping;            /* alpha_M, 1/s, >= 0; default 0 */
    csim_motion motion;
    csim_surface_def surface;
    void *user_data;
    uint32_t guard;
} csim_particle_def;

/* A rigid body of one or more shapes. */
typedef struct csim_rigid_def {
    csim_pose pose;             /* of the body's own axes */
    csim_vec3 velocity;         /* of the centre of mass, m/s */
    csim_vec3 angular_velocity; /* rad/s, world axes */
    csim_motion motion;
    const csim_shape *shapes; /* [shape_count], copied; may be none */
    int shape_count;
    csim_real density; /* kg/m^3, > 0; used when mass is 0; default 1000 */
    csim_real mass;    /* kg; 0 (default): from density and shapes */
    csim_mat3 inertia; /* kg m^2 about the centre of mass, body axes, symmetric, positive definite; all zero
                          (default): from shapes, scaled to mass */
    csim_vec3 centre;  /* centre of mass, body axes, m; used when inertia is given */
    csim_real linear_damping, angular_damping; /* 1/s, >= 0; default 0 */
    csim_surface_def surface;
    bool can_sleep; /* reserved, no effect yet; default true */
    void *user_data;
    uint32_t guard;
} csim_rigid_def;

/* A solid of linear tetrahedra. */
typedef struct csim_soft_def {
    const csim_real *vertices; /* [3 vertex_count] m, rest shape, copied */
    int vertex_count;
    const int *tets; /* [4 tet_count] 0-based, positive volume, copied */
    int tet_count;
    csim_pose pose;                                         /* where the rest shape is placed */
    csim_real scale;                                        /* of the vertices, > 0; default 1 */
    csim_vec3 velocity;                                     /* m/s */
    csim_real young;                                        /* Pa, > 0; default 1e5 */
    csim_real poisson;                                      /* 0..0.5 without 0.5, > -1; default 0.4 */
    csim_real density;                                      /* kg/m^3, > 0; default 1000 */
    csim_material material;                                 /* default CSIM_COROTATIONAL */
    const csim_real *tet_young, *tet_poisson, *tet_density; /* [tet_count] per element, or null */
    const csim_material *tet_material;                      /* [tet_count] per element, or null */
    csim_real mass_damping;                                 /* alpha_M, 1/s, >= 0; default 0 */
    csim_real stiffness_damping;                            /* beta_K, s, >= 0; default 1e-3 */
    const int *fixed;                                       /* [fixed_count] vertices that start as CSIM_STATIC */
    int fixed_count;
    int aggregates; /* groups of the coarse correction; 0: by size, see docs */
    csim_surface_def surface;
    void *user_data;
    uint32_t guard;
} csim_soft_def;

/* Where a link holds on. body all zero: the fixed point `point` of the world. Rigid bodies: the material point that is
   at `point` (world) now. Particles: the particle. Solids: vertex `node`. */
typedef struct csim_attachment {
    csim_body_id body;
    csim_vec3 point;
    int node;
} csim_attachment;

/* A spring along the line between two points. */
typedef struct csim_spring_def {
    csim_attachment a, b;
    csim_real rest_length; /* m; < 0 (default): the length it has now */
    csim_real stiffness;   /* N/m, >= 0; default 1000 */
    csim_real damping;     /* N s/m along the line, >= 0; default 0 */
    csim_real break_force; /* reserved, no effect yet; default 0 */
    uint32_t guard;
} csim_spring_def;

/* Two points held together by a bilateral contact (a ball joint, contact.md 6): exact, no stiffness. */
typedef struct csim_pin_def {
    csim_attachment a, b;
    csim_real break_force; /* reserved, no effect yet; default 0 */
    uint32_t guard;
} csim_pin_def;

/* Every definition starts as one of these: the defaults that stand at its fields, and the guard word without which a
   create call refuses it (CSIM_DEF_NOT_INITIALISED). Earth's gravity, backward Euler, fixed first capacities. */
CSIM_API csim_world_def csim_default_world_def(void);
/* Friction 0.5, no restitution, touches everything. It is part of every body definition below. */
CSIM_API csim_surface_def csim_default_surface_def(void);
/* 1 kg, radius 0: a point that touches shapes, but no other point. */
CSIM_API csim_particle_def csim_default_particle_def(void);
/* Identity pose, no shapes yet, 1000 kg/m^3. */
CSIM_API csim_rigid_def csim_default_rigid_def(void);
/* No mesh yet; E 1e5 Pa, Poisson's ratio 0.4, 1000 kg/m^3, stiffness damping 1e-3 s. */
CSIM_API csim_soft_def csim_default_soft_def(void);
/* 1000 N/m, as long as it is when created; set at least one end. */
CSIM_API csim_spring_def csim_default_spring_def(void);
/* Nothing held yet; set at least one end. */
CSIM_API csim_pin_def csim_default_pin_def(void);

/* ---- worlds ---------------------------------------------------------------------------------------------------- */

typedef struct csim_world csim_world;

/* The three doors: ask for the size of a block, make a world inside it, or let the allocator provide. One layout
   routine serves all. error may be null.
   Fails: CSIM_DEF_NOT_INITIALISED, CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_OUT_OF_MEMORY. */
CSIM_API csim_status csim_world_bytes(const csim_world_def *def, size_t *bytes, csim_error *error);
/* block: aligned to 64, at least csim_world_bytes(def) long, the caller's until the world is destroyed; it must not
   move. Such a world never grows: a full capacity is CSIM_CAPACITY. */
CSIM_API csim_status csim_create_world_in(const csim_world_def *def, void *block, size_t bytes, csim_world **world,
                                          csim_error *error);
/* The same on the heap: the allocator of the definition, or malloc. */
CSIM_API csim_status csim_create_world(const csim_world_def *def, csim_world **world, csim_error *error);
/* Frees what the world holds; null is allowed. A world in a caller's block just ends: the block is free again. */
CSIM_API void csim_destroy_world(csim_world *world);
/* Makes room (heap worlds): each capacity at least as given. The world is unchanged otherwise.
   Fails: CSIM_OUT_OF_MEMORY, CSIM_OUT_OF_RANGE; CSIM_CAPACITY in a caller's block that is too small. */
CSIM_API csim_status csim_world_reserve(csim_world *world, const csim_capacity *capacity);
/* What there is room for now. world must not be null here and in the getters below that return no status. */
CSIM_API csim_capacity csim_world_capacity(const csim_world *world);
/* The largest counts seen so far, those of failed steps included. */
CSIM_API csim_capacity csim_world_used(const csim_world *world);
/* The sentence of the last call that failed and was not a getter (a getter leaves the world as it is, its error too);
   valid until the next failure; never null. */
CSIM_API const char *csim_last_error(const csim_world *world);

/* ---- creating and destroying ----------------------------------------------------------------------------------- */

/* Each copies the definition, checks every field and either adds the body or changes nothing.
   Fails: CSIM_DEF_NOT_INITIALISED, CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_NULL_ARGUMENT, CSIM_BAD_MESH,
   CSIM_OUT_OF_MEMORY (heap), CSIM_CAPACITY (block), CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_LOCKED. */
CSIM_API csim_status csim_create_particle(csim_world *world, const csim_particle_def *def, csim_body_id *id);
CSIM_API csim_status csim_create_rigid(csim_world *world, const csim_rigid_def *def, csim_body_id *id);
CSIM_API csim_status csim_create_soft(csim_world *world, const csim_soft_def *def, csim_body_id *id);
/* A static half-space: everything below the plane through point with the outward normal (normalised here). */
CSIM_API csim_status csim_create_ground(csim_world *world, csim_vec3 point, csim_vec3 normal, csim_real friction,
                                        csim_body_id *id);
/* Links: at least one end must be a body, and the ends must be different points. */
CSIM_API csim_status csim_create_spring(csim_world *world, const csim_spring_def *def, csim_link_id *id);
CSIM_API csim_status csim_create_pin(csim_world *world, const csim_pin_def *def, csim_link_id *id);
/* Removes a body with every link that holds on to it. Costs time linear in the world. */
CSIM_API csim_status csim_destroy_body(csim_world *world, csim_body_id id);
/* Removes a spring or a pin. Fails: CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_LOCKED. */
CSIM_API csim_status csim_destroy_link(csim_world *world, csim_link_id id);
/* Whether the id still names something of this world; never fails, null and zero are false. */
CSIM_API bool csim_body_valid(const csim_world *world, csim_body_id id);
CSIM_API bool csim_link_valid(const csim_world *world, csim_link_id id);

/* ---- stepping -------------------------------------------------------------------------------------------------- */

/* flags of csim_step_stats */
enum {
    CSIM_FLAG_CAP = 1,           /* an island reached the iteration cap */
    CSIM_FLAG_STALLED = 2,       /* an island stopped improving before its tolerance */
    CSIM_FLAG_CONTACTS_FULL = 4, /* capacity.contacts was too small: the step was undone */
    CSIM_FLAG_PAIRS_FULL = 8,    /* capacity.pairs was too small: the step was undone */
    CSIM_FLAG_UNCERTIFIED = 16   /* the certificate misses the tolerance */
};

/* What the last step did. After a failed step the counts tell what it needed. */
typedef struct csim_step_stats {
    uint64_t step; /* steps done */
    double time;   /* simulated, s */
    unsigned flags;
    csim_result result;          /* worst over the islands */
    int pairs, contacts;         /* found */
    int touching;                /* contacts with an impulse */
    int islands, largest_island; /* with contacts; blocks of the largest */
    int iterations;              /* largest over the islands */
    long total_iterations;       /* summed over the islands */
    int products;                /* summed */
    int rejections, virtual_nodes;
    csim_certificate certificate;                            /* worst over the islands */
    double virtual_slip;                                     /* m/s, see csim_outcome */
    double penetration;                                      /* max(0, -gap) after the step, from the geometry, m */
    double kinetic, potential;                               /* J, after the step */
    double assembly_seconds, collide_seconds, solve_seconds; /* 0 without a clock */
    size_t scratch_bytes;                                    /* used by this step */
    size_t memory_bytes;                                     /* held by the world */
} csim_step_stats;

/* Advances the world by h seconds (1e-7 .. 1). Allocates nothing. Either the whole step happens, or the status tells
   why not and the world is bit for bit as before (the stats excepted).
   A solve that misses its tolerance is CSIM_OK with stats.result and CSIM_FLAG_UNCERTIFIED, unless the definition says
   otherwise. dynamics.md 1, COND paper eq. 4-16.
   Fails: CSIM_OUT_OF_RANGE and CSIM_NOT_FINITE (h), CSIM_CAPACITY, CSIM_NON_FINITE_RESULT, CSIM_UNCERTIFIED,
   CSIM_LOCKED (called from a filter), CSIM_BAD_PROBLEM (a mixing rule returned a negative number, or solver.solver is
   CSIM_SOLVER_SWEEP and an island is no set of rigid bodies). */
CSIM_API csim_status csim_world_step(csim_world *world, csim_real h);
/* Of the last step, also when it failed; all zero before the first. */
CSIM_API csim_step_stats csim_world_stats(const csim_world *world);
/* Changes a setting between steps; the same checks as at creation. */
CSIM_API csim_status csim_world_set_gravity(csim_world *world, csim_vec3 gravity);
/* May allocate on the heap; CSIM_CAPACITY when a fixed block has no room for what this solver needs. */
CSIM_API csim_status csim_world_set_solver(csim_world *world, const csim_solver_params *params);
/* Velocities are kept as they are. */
CSIM_API csim_status csim_world_set_integrator(csim_world *world, csim_integrator integrator);

/* ---- contacts and events --------------------------------------------------------------------------------------- */

typedef enum csim_contact_state { CSIM_CONTACT_OPEN, CSIM_CONTACT_STICK, CSIM_CONTACT_SLIP } csim_contact_state;

/* One contact point of the last step. n points from b to a. */
typedef struct csim_contact_info {
    uint64_t id;                 /* the same while the same features touch */
    csim_body_id body_a, body_b; /* b may be static ground */
    csim_vec3 point, normal;     /* world, at the start of the step */
    csim_real gap;               /* m, at the start of the step */
    csim_vec3 impulse;           /* N s, world axes, on a over the step; divide by h for the mean force */
    csim_real normal_impulse, friction_impulse; /* N s, >= 0 */
    csim_vec3 slip;                             /* tangential relative velocity of a against b, m/s, world axes */
    csim_contact_state state;
    bool began; /* carries an impulse now and did not in the step before */
} csim_contact_info;

/* The contacts of the last step in a deterministic order; the array is the world's and valid until the next call that
   changes the world. */
CSIM_API const csim_contact_info *csim_world_contacts(const csim_world *world, int *count);
/* Ids of contacts that carried an impulse in the step before and do not now (also because a body was destroyed). */
CSIM_API const uint64_t *csim_world_ended(const csim_world *world, int *count);

/* ---- bodies ---------------------------------------------------------------------------------------------------- */

typedef enum csim_body_kind {
    CSIM_PARTICLE,
    CSIM_RIGID,
    CSIM_SOFT,
    CSIM_BODY_CABLE,
    CSIM_BODY_CLOTH,
    CSIM_BODY_KIND_COUNT_
} csim_body_kind;

/* Bodies that exist, static ones and the ground included; 0 for null. The getters of this section return
   CSIM_NULL_ARGUMENT, CSIM_STALE_ID or CSIM_WRONG_WORLD and write nothing then; the setters also CSIM_LOCKED,
   CSIM_NOT_FINITE and CSIM_OUT_OF_RANGE, and change nothing then. */
CSIM_API int csim_world_body_count(const csim_world *world);
/* Bodies in creation order as ids; out [capacity]; returns how many there are. */
CSIM_API int csim_world_bodies(const csim_world *world, csim_body_id *out, int capacity);
/* Particle, rigid body or solid. The ground is a rigid body. */
CSIM_API csim_status csim_body_get_kind(const csim_world *world, csim_body_id id, csim_body_kind *kind);
/* The pointer of the definition. */
CSIM_API csim_status csim_body_get_motion(const csim_world *world, csim_body_id id, csim_motion *motion);
CSIM_API csim_status csim_body_get_user_data(const csim_world *world, csim_body_id id, void **user_data);
/* Pose of the body's axes (particles: position; solids: centre of mass, identity). */
CSIM_API csim_status csim_body_get_pose(const csim_world *world, csim_body_id id, csim_pose *pose);
/* Puts a particle (position alone) or rigid body elsewhere; velocities stay. Solids: CSIM_WRONG_KIND. */
CSIM_API csim_status csim_body_set_pose(csim_world *world, csim_body_id id, csim_pose pose);
/* Velocity of the centre of mass and angular velocity (rigid; else 0; may be null), world axes. In midpoint worlds this
   is the representative velocity of the last step; csim_body_get_end_velocity gives v_{k+1}, which may ring. */
CSIM_API csim_status csim_body_get_velocity(const csim_world *world, csim_body_id id, csim_vec3 *linear,
                                            csim_vec3 *angular);
CSIM_API csim_status csim_body_get_end_velocity(const csim_world *world, csim_body_id id, csim_vec3 *linear,
                                                csim_vec3 *angular);
/* Sets both; for kinematic bodies the velocity they keep. Solids: every node gets the rigid motion. Static bodies:
   CSIM_WRONG_KIND. */
CSIM_API csim_status csim_body_set_velocity(csim_world *world, csim_body_id id, csim_vec3 linear, csim_vec3 angular);
/* Force [N] through the centre of mass and torque [N m] for the next step only; world axes; adds up. Solids: spread by
   mass, torque must be 0. */
CSIM_API csim_status csim_body_add_force(csim_world *world, csim_body_id id, csim_vec3 force, csim_vec3 torque);
/* Mass, centre and inertia in body axes; particles and solids: the mass alone, the rest 0. */
CSIM_API csim_status csim_body_get_mass(const csim_world *world, csim_body_id id, csim_mass *mass);
/* CSIM_STATIC also stops it. Solids: all nodes. CSIM_OUT_OF_RANGE: a half-space that is to move, a rigid body without
   mass or inertia that is to be dynamic. */
CSIM_API csim_status csim_body_set_motion(csim_world *world, csim_body_id id, csim_motion motion);
/* From the next step on; >= 0. */
CSIM_API csim_status csim_body_set_friction(csim_world *world, csim_body_id id, csim_real friction);

/* Shapes of a rigid body, for drawing: geometry in body axes; hull is set for hulls, else null. World's memory. */
CSIM_API int csim_body_shape_count(const csim_world *world, csim_body_id id);
CSIM_API csim_status csim_body_shape(const csim_world *world, csim_body_id id, int shape,
                                     const csim_geometry **geometry, const csim_hull_data **hull);

/* Nodes of a solid in the order of its mesh (a particle has one). */
CSIM_API int csim_body_node_count(const csim_world *world, csim_body_id id);
/* Positions or (reported) velocities into out[node * stride + 0..2]; stride >= 3, counted in csim_real. */
CSIM_API csim_status csim_body_get_nodes(const csim_world *world, csim_body_id id, csim_real *out, int stride);
CSIM_API csim_status csim_body_get_node_velocities(const csim_world *world, csim_body_id id, csim_real *out,
                                                   int stride);
/* Puts one node elsewhere and gives it a velocity (a static node keeps 0). The rest shape stays. */
CSIM_API csim_status csim_body_set_node(csim_world *world, csim_body_id id, int node, csim_vec3 position,
                                        csim_vec3 velocity);
/* CSIM_STATIC pins the node where it is, CSIM_KINEMATIC moves it with the velocity it is given. */
CSIM_API csim_status csim_body_set_node_motion(csim_world *world, csim_body_id id, int node, csim_motion motion);
/* Force [N] on one node for the next step only, world axes; adds up. */
CSIM_API csim_status csim_body_add_node_force(csim_world *world, csim_body_id id, int node, csim_vec3 force);
/* Activates count elements of a solid, tets[count] in the order of its mesh (null with count 0: all of them), until it
   is set again; all numbers 0 ends it. For soft actuators: pressure in the elements of a chamber inflates it, tension
   along a fibre is a muscle or tendon. The stress is part of the elastic energy at the next step. pressure and tension
   -1e15..1e15 Pa. */
CSIM_API csim_status csim_soft_set_activation(csim_world *world, csim_body_id id, const int *tets, int count,
                                              const csim_activation *activation);
/* Boundary triangles of a solid in mesh numbering, outward; world's memory, [3 count]. */
CSIM_API csim_status csim_body_surface(const csim_world *world, csim_body_id id, const int **triangles, int *count);

/* ---- whole-world measures -------------------------------------------------------------------------------------- */

typedef struct csim_totals {
    double mass, kinetic, gravity, elastic;  /* kg, J; free bodies; kinetic energy of the end velocity */
    double momentum[3], angular_momentum[3]; /* about the origin */
} csim_totals;
/* Of the state as it is now; static and kinematic bodies and nodes are left out. Costs a pass over the world. */
CSIM_API csim_totals csim_world_totals(const csim_world *world);
/* Mass-weighted root mean square of the reported velocity over free bodies, m/s (rotations by their inertia). */
CSIM_API double csim_world_rms_speed(const csim_world *world);

/* ---- save, restore, hash --------------------------------------------------------------------------------------- */

/* Bodies, links, velocities, contact impulses, time, gravity and integrator: with the same definition, everything a
   later step depends on. Not in it: the other settings of the world, callbacks, the allocator; user_data pointers are
   copied as they are. buffer null: *bytes gets the size. Otherwise *bytes is the size of buffer and gets what was
   written. Bytes are for the same build only (version, scalar size, byte order). Fails: CSIM_NULL_ARGUMENT,
   CSIM_CAPACITY (buffer too small: nothing is written). */
CSIM_API csim_status csim_world_save(const csim_world *world, void *buffer, size_t *bytes);
/* Brings a world back, in place: ids of what existed then are valid again. The bytes are checked before anything
   changes. May allocate on the heap. The contacts of the last step come back with it; its stats do not.
   Fails: CSIM_BAD_SNAPSHOT, CSIM_CAPACITY, CSIM_OUT_OF_MEMORY. */
CSIM_API csim_status csim_world_restore(csim_world *world, const void *buffer, size_t bytes);
/* 64-bit hash of the state (positions, velocities, contact impulses): equal bits, equal hash. */
CSIM_API uint64_t csim_world_hash(const csim_world *world);
/* One line: version, scalar, options. Constant text. */
CSIM_API const char *csim_build_info(void);

#endif
/* ==== end world/world.h */

/* ==== begin world/cable.h ======================================================================================= */
/* world/cable: cables, rods, ropes: chains of edges that stretch, shear, bend and twist.

   n nodes carry the mass, an edge between two of them carries a frame whose third axis is the tangent at rest. Forces
   of an edge follow the strain of its middle, moments of a joint the turn between two frames: second order in the
   length of an edge. Keep turns below 1 rad a joint. dynamics.md 4, docs/cables.md. */
#ifndef CSIM_CABLE_H
#define CSIM_CABLE_H


/* How an end is held by the world. Other bodies hold it by csim_create_pin (position) and csim_create_clamp. */
typedef enum csim_cable_end {
    CSIM_CABLE_FREE,
    CSIM_CABLE_PINNED,  /* the node stands still, the cable turns about it */
    CSIM_CABLE_CLAMPED, /* and the section at the node keeps the frame it has at creation */
    CSIM_CABLE_END_COUNT_
} csim_cable_end;

typedef struct csim_cable_def {
    const csim_real *points; /* [3 point_count] m, the nodes, copied; null (default): a straight line */
    int point_count;         /* 2..1e6; closed: 3 at least */
    csim_vec3 start, end;    /* m; of the straight line */
    int segments;            /* its edges, 1..1e6; default 16 */
    bool closed;             /* the last point is joined to the first; default false */
    const csim_real *frames; /* [4 edges] w x y z, edge axes to world, third axis along the edge, copied; null
                                (default): carried along the cable without twist */
    csim_vec3 normal;   /* direction of the first axis of the first edge where frames is null; zero (default): any */
    csim_vec3 velocity; /* m/s */
    csim_real radius;   /* m, > 0; default 0.005 */
    csim_real density;  /* kg/m^3, > 0; default 1000 */
    csim_real young;    /* Pa, > 0; default 1e6 */
    csim_real poisson;  /* -1 < nu <= 0.5; default 0.5 */
    /* Stiffness of the section; below 0 (default): that of a round one of this radius and material, E A, k G A with
       k = 6 (1 + nu) / (7 + 6 nu), E I, G J. Stretch and shear must not be 0; a cord without bending stiffness is 0. */
    csim_real stretch_stiffness, shear_stiffness; /* N */
    csim_real bend_stiffness, twist_stiffness;    /* N m^2 */
    csim_real bend_stiffness2;                    /* about the second axis; below 0 (default): as about the first */
    csim_real strain;            /* the points lie (1 + strain) apart at rest lengths, -0.9..10; default 0 */
    bool rest_as_drawn;          /* curvature and twist between the frames given are those at rest; default false */
    csim_vec3 rest_curvature;    /* where not: about the axes of the edges, 1/m; z is twist; default 0: straight */
    csim_real mass_damping;      /* alpha_M, 1/s, >= 0; default 0 */
    csim_real stiffness_damping; /* beta_K, s, >= 0; default 0 */
    csim_cable_end start_end, end_end;
    csim_surface_def surface;
    void *user_data;
    uint32_t guard;
} csim_cable_def;

/* Holds the section at an end of a cable to the axes of a body as they lie now, with the bending and twisting stiffness
   of half an edge. Position is not held: add a pin. */
typedef struct csim_clamp_def {
    csim_body_id cable;
    bool at_end;       /* false: at the first node */
    csim_body_id body; /* rigid; all zero: the world */
    uint32_t guard;
} csim_clamp_def;

/* No points yet, 16 edges, both ends free. */
CSIM_API csim_cable_def csim_default_cable_def(void);
CSIM_API csim_clamp_def csim_default_clamp_def(void);
/* As the create calls of world.h. Also fails with CSIM_BAD_MESH (two neighbouring points in one place, frames that do
   not point along their edges). */
CSIM_API csim_status csim_create_cable(csim_world *world, const csim_cable_def *def, csim_body_id *id);
/* Also CSIM_WRONG_KIND: cable is none, or body is no rigid body. csim_destroy_link removes it. */
CSIM_API csim_status csim_create_clamp(csim_world *world, const csim_clamp_def *def, csim_link_id *id);

/* Edges of a cable; 0 for other bodies and stale ids. Nodes are those of csim_body_get_nodes: edges + 1, or as many as
   edges when closed. The getters fail with CSIM_WRONG_KIND for other bodies. */
CSIM_API int csim_cable_edge_count(const csim_world *world, csim_body_id id);
/* Radius, m: to draw it. */
CSIM_API csim_status csim_cable_get_radius(const csim_world *world, csim_body_id id, csim_real *radius);
/* Frames as quaternions w x y z into out[edge * stride + 0..3]; stride >= 4. */
CSIM_API csim_status csim_cable_get_frames(const csim_world *world, csim_body_id id, csim_real *out, int stride);
/* Angular velocities of the frames, rad/s, world axes, into out[edge * stride + 0..2]; stride >= 3. */
CSIM_API csim_status csim_cable_get_spins(const csim_world *world, csim_body_id id, csim_real *out, int stride);
/* Force that each edge puts on its first node, N, world axes: along the tangent under tension, across it the shear;
   out[edge * stride + 0..2]. */
CSIM_API csim_status csim_cable_get_forces(const csim_world *world, csim_body_id id, csim_real *out, int stride);
/* Tension of each edge, N, along its own tangent (third axis); out[edges]. */
CSIM_API csim_status csim_cable_get_tensions(const csim_world *world, csim_body_id id, csim_real *out);
/* Moment in the section at each node, N m, world axes: what the cable after the node puts on the cable before it; 0 at
   free ends, what the clamp carries at clamped ones. out[node * stride + 0..2]. */
CSIM_API csim_status csim_cable_get_moments(const csim_world *world, csim_body_id id, csim_real *out, int stride);
/* Frame and angular velocity of one edge. Turns away from the tangent cost energy: meant for driven ends. */
CSIM_API csim_status csim_cable_set_frame(csim_world *world, csim_body_id id, int edge, csim_quat rotation,
                                          csim_vec3 angular_velocity);
/* CSIM_STATIC keeps the frame, CSIM_KINEMATIC turns it with the velocity it is given, CSIM_DYNAMIC frees it. */
CSIM_API csim_status csim_cable_set_frame_motion(csim_world *world, csim_body_id id, int edge, csim_motion motion);
/* Torque on one edge for the next step only, N m, world axes; adds up. */
CSIM_API csim_status csim_cable_add_torque(csim_world *world, csim_body_id id, int edge, csim_vec3 torque);

#endif
/* ==== end world/cable.h */

/* ==== begin world/cloth.h ======================================================================================= */
/* world/cloth: sheets of triangles that stretch, bend and touch. */
#ifndef CSIM_CLOTH_H
#define CSIM_CLOTH_H


/* Cloth, paper, a thin shell. Its vertices are nodes (csim_body_get_nodes, csim_body_set_node_motion to pin or drag,
   springs and pins by vertex). Membrane: plane stress of a sheet of this thickness; bending: a plate of rigidity
   E t^3 / 12 (1 - nu^2), about the angles the mesh has at rest. Nodes touch with a radius of half the thickness. */
typedef struct csim_cloth_def {
    const csim_real *vertices; /* [3 vertex_count] m, rest shape, copied */
    int vertex_count;
    const int *triangles; /* [3 triangle_count] 0-based, copied; each edge in at most two, run through both ways */
    int triangle_count;
    csim_pose pose;              /* where the rest shape is placed */
    csim_real scale;             /* of the vertices, > 0; default 1 */
    csim_vec3 velocity;          /* m/s */
    csim_material material;      /* CSIM_COROTATIONAL (default) or CSIM_ST_VENANT_KIRCHHOFF */
    csim_real young;             /* Pa, > 0; default 1e6 */
    csim_real poisson;           /* -1..0.5 without the ends; default 0.3 */
    csim_real thickness;         /* m, > 0; default 1e-3 */
    csim_real density;           /* kg/m^3, > 0; default 500: 0.5 kg/m^2 */
    csim_real bending;           /* rigidity N m, >= 0; < 0 (default): from young, poisson and thickness */
    csim_real mass_damping;      /* alpha_M, 1/s, >= 0; default 0 */
    csim_real stiffness_damping; /* beta_K, s, >= 0; default 1e-3 */
    const int *fixed;            /* [fixed_count] vertices that start as CSIM_STATIC */
    int fixed_count;
    int aggregates; /* groups of the coarse correction; 0: by size */
    csim_surface_def surface;
    void *user_data;
    uint32_t guard;
} csim_cloth_def;

/* No mesh yet; the defaults above. */
CSIM_API csim_cloth_def csim_default_cloth_def(void);
/* Like the create functions of world.h: checks every field, then adds the body or changes nothing. csim_body_surface
   gives its triangles. Fails also with CSIM_BAD_MESH: triangles that are flat, repeat an edge the same way (flipped, or
   three at an edge), vertices that no triangle uses. */
CSIM_API csim_status csim_create_cloth(csim_world *world, const csim_cloth_def *def, csim_body_id *id);

#endif
/* ==== end world/cloth.h */

/* ==== begin io/mesh.h =========================================================================================== */
/* io/mesh: tetrahedral and triangle meshes as plain arrays, from files and checked. */
#ifndef CSIM_MESH_H
#define CSIM_MESH_H


#ifdef CONDSIM_FLOAT
#define csim_mesh_load_text csim_mesh_load_text_float
#define csim_mesh_load_tetgen csim_mesh_load_tetgen_float
#define csim_mesh_load_file csim_mesh_load_file_float
#define csim_mesh_check csim_mesh_check_float
#define csim_mesh_compact csim_mesh_compact_float
#endif

/* A mesh. The loaders put all arrays into one block, freed by csim_mesh_free; the arrays may be changed in place.
   A mesh of your own: set everything to zero, then the counts and pointers; nothing is to be freed then.
   An array without elements is null. Indices count from 0. */
typedef struct csim_mesh {
    int vertex_count, tet_count, triangle_count;
    csim_real *vertices;      /* [3 * vertex_count] x y z, in the unit of the file */
    int *tets;                /* [4 * tet_count] a b c d; upright when (b - a) x (c - a) . (d - a) > 0 */
    int *triangles;           /* [3 * triangle_count] in the order of the file; what side is out is the file's choice */
    void *block;              /* of csim_mesh_free; null when the arrays are not the loader's */
    size_t block_size;        /* bytes of block */
    csim_allocator allocator; /* block came from here */
} csim_mesh;

/* Number of cases of one kind, and the first: an index of a vertex, tet or triangle, -1 when there is none. */
typedef struct csim_mesh_finding {
    int count, first;
} csim_mesh_finding;

/* What csim_mesh_check found. A tet is out of range, degenerate, inverted or none of these, and a duplicate besides. */
typedef struct csim_mesh_report {
    csim_mesh_finding not_finite_vertices;    /* a coordinate is NaN or infinite */
    csim_mesh_finding out_of_range_tets;      /* an index is outside 0 <= index < vertex_count */
    csim_mesh_finding degenerate_tets;        /* |volume| <= 1e-12 * (longest edge)^3, or a vertex is not finite */
    csim_mesh_finding inverted_tets;          /* volume < 0 */
    csim_mesh_finding duplicate_tets;         /* the same four vertices as an earlier tet, in any order */
    csim_mesh_finding out_of_range_triangles; /* as for tets */
    csim_mesh_finding isolated_vertices;      /* in no tet; in no triangle when there are no tets */
    double volume;                            /* sum over the tets in range, inverted ones negative */
} csim_mesh_report;

/* Bytes of scratch csim_mesh_check needs; 0 for negative counts. */
CSIM_API size_t csim_mesh_check_bytes(int vertex_count, int tet_count);

/* Looks for what makes a mesh useless as a body. scratch: scratch_size >= csim_mesh_check_bytes(...) bytes of any
   alignment, or null to use malloc for the duration of the call. report and error may be null. Volumes are computed
   in double. CSIM_OK when every count of the report is zero and there is a tet or a triangle; CSIM_BAD_MESH when not,
   with the worst kind and its first index in error (report is filled all the same); CSIM_NULL_ARGUMENT,
   CSIM_OUT_OF_RANGE (negative count), CSIM_CAPACITY (scratch too small), CSIM_OUT_OF_MEMORY (report is zeroed). */
CSIM_API csim_status csim_mesh_check(const csim_mesh *mesh, void *scratch, size_t scratch_size,
                                     csim_mesh_report *report, csim_error *error);

/* Drops the vertices that csim_mesh_check calls isolated, and (when there are tets) the triangles that use one of
   them; the rest keeps its order. new_index [vertex_count before the call] receives the new index of each old vertex,
   -1 for a dropped one. Returns the number of vertices dropped, 0 or more; -1 with nothing changed when an argument is
   null or an index is out of range. The block keeps its size. */
CSIM_API int csim_mesh_compact(csim_mesh *mesh, int *new_index);

/* Gives back what a loader allocated and sets everything to zero. mesh may be null, empty or freed before. */
CSIM_API void csim_mesh_free(csim_mesh *mesh);

#ifndef CONDSIM_NO_LOADERS

/* What a text is.
   GMSH: MSH 1.0, 2.x and 4.1, ASCII. VTK: legacy, ASCII and binary, UNSTRUCTURED_GRID and POLYDATA, versions to 5.1.
   VTU: VTK XML UnstructuredGrid with format="ascii" arrays; several pieces are joined. OBJ: v and f lines.
   Triangles, and polygons as fans of triangles, become triangles; points and lines are passed over; hexahedra and all
   other solid or second-order cells are CSIM_UNSUPPORTED. Vertex ids of Gmsh and TetGen may be in any order with gaps;
   vertices keep the order of the file. Attributes, groups, normals and fields are passed over. Coordinates are read to
   the nearest or next nearest double; NaN, infinities and magnitudes above 1e200 (float build: 1e30) are refused. */
typedef enum csim_mesh_format {
    CSIM_MESH_AUTO, /* by the first line */
    CSIM_MESH_GMSH,
    CSIM_MESH_VTK,
    CSIM_MESH_VTU,
    CSIM_MESH_OBJ
} csim_mesh_format;

/* Reads a mesh from text [size] (no terminating zero needed, any bytes are safe). allocator may be null (malloc); the
   final block and the working memory, some twenty times size at most, come from it. On CSIM_OK the mesh belongs to the
   caller: csim_mesh_free. On failure *mesh is all zero, nothing stays allocated, and error (may be null) holds
   "csim_mesh_load_text: line 12: reason": CSIM_NULL_ARGUMENT, CSIM_PARSE_ERROR, CSIM_UNSUPPORTED, CSIM_BAD_MESH (no
   tets and no triangles; an OBJ may be vertices alone, for a hull), CSIM_OUT_OF_MEMORY. What the mesh is worth says
   csim_mesh_check. */
CSIM_API csim_status csim_mesh_load_text(const char *text, size_t size, csim_mesh_format format,
                                         const csim_allocator *allocator, csim_mesh *mesh, csim_error *error);

/* The same for TetGen, whose meshes are two texts: .node and .ele. Errors name the text they are in. */
CSIM_API csim_status csim_mesh_load_tetgen(const char *node, size_t node_size, const char *ele, size_t ele_size,
                                           const csim_allocator *allocator, csim_mesh *mesh, csim_error *error);

#ifndef CONDSIM_NO_STDIO
/* The same for a file: path ending in .node or .ele is TetGen (the other one is expected beside it), everything else
   goes by content. CSIM_FILE_ERROR when a file cannot be read; errors begin with the path. */
CSIM_API csim_status csim_mesh_load_file(const char *path, const csim_allocator *allocator, csim_mesh *mesh,
                                         csim_error *error);
#endif
#endif

#endif
/* ==== end io/mesh.h */

/* ==== begin io/stb_ds.h ========================================================================================= */
/* io/stb_ds: for users who keep their data in the arrays of stb_ds.h. The core never depends on it, because those
   arrays cannot report a failed allocation. Define CONDSIM_STB_DS and include stb_ds.h before this file. */
#ifndef CSIM_STB_DS_H
#define CSIM_STB_DS_H

#ifdef CONDSIM_STB_DS
#ifndef arraddnptr
#error "condsim: include stb_ds.h before condsim.h when CONDSIM_STB_DS is defined"
#endif

/* Appends count items of a plain array to a stb_ds array of the same type. */
#define CSIM_ARR_APPEND(arr, source, count) \
    ((void)((count) > 0 ? memcpy(arraddnptr((arr), (count)), (source), sizeof *(arr) * (size_t)(count)) : NULL))
/* Lets a csim_soft_def borrow a stb_ds array of csim_real (3 a vertex) and one of int (4 a tet). */
#define CSIM_SOFT_DEF_FROM_ARR(def, vertex_arr, tet_arr)             \
    ((void)((def)->vertices = (vertex_arr), (def)->tets = (tet_arr), \
            (def)->vertex_count = (int)(arrlen(vertex_arr) / 3), (def)->tet_count = (int)(arrlen(tet_arr) / 4)))
/* Node positions of a body as a stb_ds array of csim_real: csim_real *x = NULL; CSIM_BODY_NODES_TO_ARR(w, id, x); */
#define CSIM_BODY_NODES_TO_ARR(world, id, arr)                            \
    (arrsetlen((arr), (size_t)(3 * csim_body_node_count((world), (id)))), \
     arrlen(arr) > 0 ? csim_body_get_nodes((world), (id), (arr), 3) : CSIM_OK)
#endif

#endif
/* ==== end io/stb_ds.h */

#endif /* CONDSIM_H */

#if defined(CONDSIM_IMPLEMENTATION) && !defined(CONDSIM_IMPLEMENTED)
#define CONDSIM_IMPLEMENTED
#define CSIMI_AMALGAMATED 1

/* ==== begin base/private.h ====================================================================================== */
/* base/private: what every part may use and no user sees. */
#ifndef CSIMI_BASE_PRIVATE_H
#define CSIMI_BASE_PRIVATE_H


/* In the single header a private function is static, unless the tests, who share one object of it, define this; when
   the parts are compiled as a library it is shared. */
#ifndef CSIMI_FN
#ifdef CSIMI_AMALGAMATED
#define CSIMI_FN static CSIMI_UNUSED
#else
#define CSIMI_FN
#endif
#endif

#ifndef CONDSIM_ASSERT
#define CONDSIM_ASSERT(x) ((void)0)
#endif

#ifdef CONDSIM_OWN_MATH
#define CSIMI_SIN(x) csimi_sin(x) /* math/elementary.c */
#define CSIMI_COS(x) csimi_cos(x)
#define CSIMI_ATAN2(y, x) csimi_atan2((y), (x))
#define CSIMI_EXP(x) csimi_exp(x)
#define CSIMI_LOG(x) csimi_log(x)
#ifdef CONDSIM_SQRT
#define CSIMI_SQRT(x) CONDSIM_SQRT(x)
#else
#include <math.h>
#ifdef CONDSIM_FLOAT
#define CSIMI_SQRT(x) sqrtf(x) /* exactly rounded everywhere */
#else
#define CSIMI_SQRT(x) sqrt(x)
#endif
#endif
#elif defined(CONDSIM_SQRT) && defined(CONDSIM_SIN) && defined(CONDSIM_COS) && defined(CONDSIM_ATAN2) && \
    defined(CONDSIM_EXP) && defined(CONDSIM_LOG)
#define CSIMI_SQRT(x) CONDSIM_SQRT(x)
#define CSIMI_SIN(x) CONDSIM_SIN(x)
#define CSIMI_COS(x) CONDSIM_COS(x)
#define CSIMI_ATAN2(y, x) CONDSIM_ATAN2(y, x)
#define CSIMI_EXP(x) CONDSIM_EXP(x)
#define CSIMI_LOG(x) CONDSIM_LOG(x)
#else
#include <math.h>
#ifdef CONDSIM_FLOAT
#define CSIMI_SQRT(x) sqrtf(x)
#define CSIMI_SIN(x) sinf(x)
#define CSIMI_COS(x) cosf(x)
#define CSIMI_ATAN2(y, x) atan2f(y, x)
#define CSIMI_EXP(x) expf(x)
#define CSIMI_LOG(x) logf(x)
#else
#define CSIMI_SQRT(x) sqrt(x)
#define CSIMI_SIN(x) sin(x)
#define CSIMI_COS(x) cos(x)
#define CSIMI_ATAN2(y, x) atan2(y, x)
#define CSIMI_EXP(x) exp(x)
#define CSIMI_LOG(x) log(x)
#endif
#endif

#if defined(CONDSIM_MEMCPY) && defined(CONDSIM_MEMSET)
#define CSIMI_MEMCPY(d, s, n) CONDSIM_MEMCPY(d, s, n)
#define CSIMI_MEMSET(d, c, n) CONDSIM_MEMSET(d, c, n)
#else
#include <string.h>
#define CSIMI_MEMCPY(d, s, n) memcpy(d, s, n)
#define CSIMI_MEMSET(d, c, n) memset(d, c, n)
#endif

/* Constants of the scalar type. */
#ifdef CONDSIM_FLOAT
#define CSIMI_EPS CSIM_R(1.1920929e-7)
#define CSIMI_TINY CSIM_R(1e-30)
#define CSIMI_HUGE CSIM_R(1e30)
#else
#define CSIMI_EPS CSIM_R(2.220446049250313e-16)
#define CSIMI_TINY CSIM_R(1e-200)
#define CSIMI_HUGE CSIM_R(1e200)
#endif
#define CSIMI_PI CSIM_R(3.14159265358979323846)

CSIM_INLINE csim_real csimi_min(csim_real a, csim_real b) { return a < b ? a : b; }
CSIM_INLINE csim_real csimi_max(csim_real a, csim_real b) { return a > b ? a : b; }
CSIM_INLINE csim_real csimi_clamp(csim_real x, csim_real lo, csim_real hi) { return x < lo ? lo : x > hi ? hi : x; }
CSIM_INLINE csim_real csimi_abs(csim_real x) { return x < 0 ? -x : x; }
CSIM_INLINE int csimi_imin(int a, int b) { return a < b ? a : b; }
CSIM_INLINE int csimi_imax(int a, int b) { return a > b ? a : b; }

/* ---- status.c */

/* True when x is neither NaN nor infinite, by its bits (works under any compiler flag). */
CSIMI_FN bool csimi_finite(csim_real x);
CSIMI_FN bool csimi_all_finite(const csim_real *x, int count);

/* The one place every failure passes through (put a breakpoint here). Fills *error (may be null) with
   "function: field is value; allowed: allowed" and returns status. field and allowed may be null; value is printed
   only when has_value. */
CSIMI_FN csim_status csimi_fail(csim_error *error, csim_status status, const char *function, const char *field,
                                bool has_value, double value, const char *allowed);
/* Appends text, a signed integer or a number (6 significant digits) to a zero-terminated buffer of given capacity;
   truncates, never overruns; returns the new length. */
CSIMI_FN size_t csimi_append_text(char *buffer, size_t capacity, size_t length, const char *text);
CSIMI_FN size_t csimi_append_int(char *buffer, size_t capacity, size_t length, long value);
CSIMI_FN size_t csimi_append_real(char *buffer, size_t capacity, size_t length, double value);

/* ---- memory.c */

/* A block handed out in order. A null base counts only: the same routine that lays memory out tells its size. */
typedef struct csimi_arena {
    unsigned char *base; /* aligned to 64; null: count */
    size_t size;         /* bytes available (SIZE_MAX when counting) */
    size_t used;
    size_t high;   /* largest used so far */
    bool overflow; /* a request did not fit (or a size overflowed); sticky until reset */
} csimi_arena;

CSIMI_FN csimi_arena csimi_arena_counting(void);
CSIMI_FN csimi_arena csimi_arena_in(void *base, size_t size);
/* count * stride bytes aligned to 64, zero-filled by nobody. Null when counting or when it does not fit. */
CSIMI_FN void *csimi_push(csimi_arena *arena, size_t count, size_t stride);
#define CSIMI_PUSH(arena, type, count) ((type *)csimi_push((arena), (size_t)(count), sizeof(type)))
/* Gives back everything pushed since used was mark. */
CSIMI_FN void csimi_pop(csimi_arena *arena, size_t mark);

/* Allocation through the user's hooks with both limits kept; null when refused. held and calls are the counters. */
typedef struct csimi_heap {
    csim_allocator hooks;
    size_t held, calls;
} csimi_heap;
CSIMI_FN void *csimi_heap_alloc(csimi_heap *heap, size_t size);
CSIMI_FN void csimi_heap_free(csimi_heap *heap, void *block, size_t size);

/* ---- parallel.c */

/* Runs fn over [0, count) in ranges of grain; serial when tasks is null or count <= grain. */
CSIMI_FN void csimi_parallel(const csim_tasks *tasks, int count, int grain, csim_range_fn *fn, void *context);

/* Sums with 8 lanes inside chunks of 1024 and a binary tree over the chunks: the same bits for any thread count,
   about the accuracy of pairwise summation. double accumulators in both builds. */
#define CSIMI_CHUNK 1024
CSIMI_FN double csimi_sum_dot(int count, const csim_real *a, const csim_real *b); /* sum a b */
CSIMI_FN double csimi_sum_weighted(int count, const csim_real *w, const csim_real *a,
                                   const csim_real *b); /* sum w a b */
CSIMI_FN double csimi_tree_sum(int count, double *x);   /* binary-tree sum of chunk sums; destroys x */

#endif
/* ==== end base/private.h */

/* ==== begin math/private.h ====================================================================================== */
/* math/private: 3x3 algebra on plain arrays of 9 (row-major) and 3. */
#ifndef CSIMI_MATH_PRIVATE_H
#define CSIMI_MATH_PRIVATE_H


CSIM_INLINE void csimi_store3(csim_real *p, csim_vec3 v) { p[0] = v.x; p[1] = v.y; p[2] = v.z; }
CSIM_INLINE csim_vec3 csimi_load3(const csim_real *p) { return csim_v3(p[0], p[1], p[2]); }
/* y = M x, y += M x, y += M' x for one 3x3 block */
CSIM_INLINE void csimi_mul3(const csim_real *M, const csim_real *x, csim_real *y) {
    csim_real a = x[0], b = x[1], c = x[2];
    y[0] = M[0] * a + M[1] * b + M[2] * c;
    y[1] = M[3] * a + M[4] * b + M[5] * c;
    y[2] = M[6] * a + M[7] * b + M[8] * c;
}
CSIM_INLINE void csimi_addmul3(const csim_real *M, const csim_real *x, csim_real *y) {
    csim_real a = x[0], b = x[1], c = x[2];
    y[0] += M[0] * a + M[1] * b + M[2] * c;
    y[1] += M[3] * a + M[4] * b + M[5] * c;
    y[2] += M[6] * a + M[7] * b + M[8] * c;
}
CSIM_INLINE void csimi_addmulT3(const csim_real *M, const csim_real *x, csim_real *y) {
    csim_real a = x[0], b = x[1], c = x[2];
    y[0] += M[0] * a + M[3] * b + M[6] * c;
    y[1] += M[1] * a + M[4] * b + M[7] * c;
    y[2] += M[2] * a + M[5] * b + M[8] * c;
}
#ifdef CONDSIM_OWN_MATH
/* ---- elementary.c: what CSIMI_SIN ... call under CONDSIM_OWN_MATH. */
CSIMI_FN csim_real csimi_sin(csim_real x);
CSIMI_FN csim_real csimi_cos(csim_real x);
CSIMI_FN csim_real csimi_atan2(csim_real y, csim_real x);
CSIMI_FN csim_real csimi_exp(csim_real x);
CSIMI_FN csim_real csimi_log(csim_real x);
#endif

/* ---- decompose.c */

/* C = A B, C = A B' C = A' B for 3x3; C must not alias A or B */
CSIMI_FN void csimi_matmul(const csim_real *A, const csim_real *B, csim_real *C);
CSIMI_FN void csimi_matmulT(const csim_real *A, const csim_real *B, csim_real *C);
CSIMI_FN void csimi_matTmul(const csim_real *A, const csim_real *B, csim_real *C);
CSIMI_FN csim_real csimi_det3(const csim_real *A);
/* Inverse of a general 3x3; false (and untouched) when |det| is below 1e-3 eps^2 of the scale cubed or not finite. */
CSIMI_FN bool csimi_inverse3(const csim_real *A, csim_real *inv);
/* [w]x so that [w]x r = w x r */
CSIMI_FN void csimi_skew(const csim_real *w, csim_real *S);

/* Eigenvalues (ascending) and eigenvectors (columns of V, right-handed) of a symmetric 3x3, by Jacobi rotations. */
CSIMI_FN void csimi_eigen_sym3(const csim_real *A, csim_real *eigenvalues, csim_real *V);
/* F = U diag(s) V' with det U = det V = +1, s[0] >= s[1] >= |s[2]|, s[2] signed by det F. Finite for every finite F. */
CSIMI_FN void csimi_svd3(const csim_real *F, csim_real *U, csim_real *s, csim_real *V);
/* Rotation of the polar decomposition F = R S with det R = +1, continuous through inversion where s1 + s2 > 0. A proper
   rotation for every F; the identity when F is zero or not finite. Some 40 ns near a rotation, 500 ns else. */
CSIMI_FN void csimi_polar3(const csim_real *F, csim_real *R);

/* An orthonormal frame whose first row is the unit vector n: rows n, t1, t2, right-handed, a function of n alone that
   jumps only across the latitude n_z = -0.6; hint (may be null, any length) turns t1 towards its tangential part unless
   it lies along n. */
CSIMI_FN void csimi_frame(const csim_real *n, const csim_real *hint, csim_real *R);

#endif
/* ==== end math/private.h */

/* ==== begin sparse/private.h ==================================================================================== */
/* sparse/private: patterns, products and Krylov solvers on block matrices. */
#ifndef CSIMI_SPARSE_PRIVATE_H
#define CSIMI_SPARSE_PRIVATE_H


/* ---- pattern.c: a pattern from pairs of block indices */

/* Builds the symmetric pattern of n rows from pair_count pairs (i, j), i != j allowed in any order and repeated; the
   diagonal is always added. row[n+1], diag[n] and col[capacity] are filled; returns the number of blocks, or -1 when
   capacity is too small (then *needed says how many). scratch holds csimi_pattern_scratch ints.
   O(pairs + n), sorted columns, deterministic; pairs (i, i) do no harm. */
CSIMI_FN size_t csimi_pattern_scratch(int n, int pair_count);
CSIMI_FN int csimi_pattern_build(int n, int pair_count, const int *pairs /* [2 pair_count] */, int *row, int *col,
                                 int *diag, int capacity, int *needed, int *scratch);
/* Index of block (i, j) in col and val, or -1. Binary search in row i. */
CSIMI_FN int csimi_pattern_find(const csim_block_matrix *A, int i, int j);

/* ---- product.c */

/* y = A x, rows [begin, end) for the parallel form. Same bits for any split. */
CSIMI_FN void csimi_product_rows(const csim_block_matrix *A, const csim_real *x, csim_real *y, int begin, int end);
CSIMI_FN void csimi_product(const csim_block_matrix *A, const csim_real *x, csim_real *y, const csim_tasks *tasks);

/* ---- krylov.c: preconditioned conjugate gradient on A x = rhs with 3x3 block-diagonal preconditioner.
   x in: start, out: solution; stops when the D^-1-norm of the residual falls below tol times that of rhs.
   work[4 * 3n + 9n]. Returns iterations, or -1 when a pivot or the curvature is not positive or rhs or x not finite. */
CSIMI_FN int csimi_pcg(const csim_block_matrix *A, const csim_real *rhs, csim_real *x, csim_real tol,
                       int max_iterations, csim_real *work, const csim_tasks *tasks);
/* Largest eigenvalue of W A, W a positive diagonal (3n), by power steps from x (in: start, out: the last iterate, so
   that it can be kept warm); a lower bound that the caller enlarges, 0 when x or A is zero. One product a step.
   work[2 * 3n]. */
CSIMI_FN csim_real csimi_power_sigma(const csim_block_matrix *A, const csim_real *w, csim_real *x, int steps,
                                     csim_real *work, const csim_tasks *tasks);

/* ---- dense.c: small dense symmetric positive definite systems, always in double */

/* Square-root-free Cholesky H = L D L' of the lower triangle of H [m*m] in place, row-major; false when a pivot is not
   positive. Afterwards D is on the diagonal, L below and L' above: csimi_cholesky_solve reads both. O(m^3/3). */
CSIMI_FN bool csimi_cholesky(int m, double *H);
CSIMI_FN void csimi_cholesky_solve(int m, const double *L, double *x);

/* LU of a general A [m*m], row-major, in place with row exchanges; false when a column has no pivot. */
CSIMI_FN bool csimi_lu(int m, double *A, int *pivot);
CSIMI_FN void csimi_lu_solve(int m, const double *LU, const int *pivot, double *x);

/* ---- chain.c: links of two 3-blocks, each coupled to the links before and after it: LU in O(links), 72 numbers a
   link. A block may be pressed onto a face of the directions it can move in: rows by left, columns by right (a projector;
   left = right keeps the matrix symmetric). */
typedef struct csimi_chain_face {
    double left[9], right[9];
} csimi_chain_face;

typedef struct csimi_chain {
    double *pivot;                 /* [36 links] in: diagonal blocks, out: inverses of the pivots */
    double *cross;                 /* [36 links] block (i, i - 1); (i - 1, i) is its transpose */
    const int *face;               /* [2 links] index of the face of each 3-block, -1: free */
    const csimi_chain_face *faces;
} csimi_chain;

CSIM_INLINE const csimi_chain_face *csimi_chain_face_of(const csimi_chain *c, int block) {
    return c->face[block] >= 0 ? c->faces + c->face[block] : NULL;
}
/* Links [first, last), one chain. False when a pivot is not positive. */
CSIMI_FN bool csimi_chain_factor(csimi_chain *c, int first, int last);
/* x[6 links]: right-hand side in, solution out; nothing moves off its face. */
CSIMI_FN void csimi_chain_solve(const csimi_chain *c, int first, int last, double *x);

/* ---- aggregate.c: groups of blocks from the graph alone */

/* Splits n nodes with rest positions x[3n] and adjacency (row, col of a pattern) into count aggregates: farthest-point
   seeds by breadth-first search (start at node 0, ties to the lower index), Voronoi on the graph, two Lloyd passes on
   positions. aggregate[n] gets 0..count-1; unreachable pieces get seeds of their own first, and join the nearest seed
   when there are more pieces than count. Hardly more than O(count edges / 4). scratch: csimi_aggregate_scratch ints.
   Deterministic. Returns the number of aggregates made, min(count, n) at most and >= 1; none is empty. */
CSIMI_FN size_t csimi_aggregate_scratch(int n);
CSIMI_FN int csimi_aggregate(int n, const int *row, const int *col, const csim_real *x, int count, int *aggregate,
                             int *scratch);

#endif
/* ==== end sparse/private.h */

/* ==== begin model/private.h ===================================================================================== */
/* model/private: the state of everything that moves, and the table that each kind of model fills.

   Velocity blocks of the whole world: block i < node_count is point node i (particles, vertices of solids, nodes of
   cables), blocks node_count + 2 k and + 1 are the linear and angular velocity (world axes, about the centre of mass)
   of rigid body k; then comes the angular velocity of each edge frame.
   Models see this plain struct only, never the world. */
#ifndef CSIMI_MODEL_PRIVATE_H
#define CSIMI_MODEL_PRIVATE_H


/* How the velocity of a block or rigid body is decided. */
enum { CSIMI_FREE = 0, CSIMI_FIXED = 1, CSIMI_KINEMATIC = 2 }; /* kinematic: v is given by the user, never solved */

/* A material point of anything: the side of a contact, the end of a spring or pin. place.c is the one file that knows
   the kinds apart. */
typedef enum csimi_place_kind {
    CSIMI_PLACE_GROUND, /* local: a point of the world that never moves */
    CSIMI_PLACE_NODE,   /* item: point node */
    CSIMI_PLACE_RIGID,  /* item: rigid body; local: the point in its centre-of-mass frame */
    CSIMI_PLACE_FACE    /* node[3]: corners of a triangle, local: their weights, which add up to 1 */
} csimi_place_kind;

typedef struct csimi_place {
    csimi_place_kind kind;
    int item, node[4];
    csim_real local[4];
} csimi_place;

#define CSIMI_PLACE_TERMS 3 /* most terms of a place */

/* What a bend element holds on to: an edge frame, a body or the world. */
typedef struct csimi_bend_end {
    int frame;             /* >= 0: edge frame */
    int rigid;             /* >= 0: rigid body; both -1: the world */
    csim_real rotation[4]; /* of the section in the axes of the body or the world, w x y z; unused for frames */
} csimi_bend_end;

typedef struct csimi_bend {
    csimi_bend_end end[2]; /* conj(first) second is the relative rotation */
} csimi_bend;

typedef struct csimi_state {
    csim_real gravity[3]; /* m/s^2 */

    int node_count;
    csim_real *x;             /* [3 node_count] m */
    csim_real *v;             /* [3 node_count] m/s: v_k */
    csim_real *node_mass;     /* [node_count] kg, lumped */
    csim_real *node_force;    /* [3 node_count] N, external, of the coming step */
    csim_real *node_damping;  /* [node_count] alpha_M, 1/s */
    unsigned char *node_mode; /* [node_count] CSIMI_FREE ... */

    int rigid_count;
    csim_real *com;           /* [3 rigid_count] m */
    csim_real *rotation;      /* [4 rigid_count] w x y z, body to world */
    csim_real *velocity;      /* [6 rigid_count] linear of the centre of mass, angular; world axes */
    csim_real *rigid_mass;    /* [rigid_count] kg */
    csim_real *inertia;       /* [9 rigid_count] about the centre of mass, body axes, kg m^2 */
    csim_real *wrench;        /* [6 rigid_count] force N, torque N m about the centre of mass; world axes */
    csim_real *rigid_damping; /* [2 rigid_count] linear, angular, 1/s: A += h d M */
    unsigned char *rigid_mode;
    csim_real *rigid_inverse; /* [9 rigid_count] inverse inertia, world axes, zero unless free; csimi_place_prepare */

    int tet_count;               /* tetrahedra */
    int *tet;                    /* [4 tet_count] nodes */
    csim_real *tet_shape;        /* [9 tet_count] Dm^-1, row-major; row a of it is the gradient of node a + 1 */
    csim_real *tet_volume;       /* [tet_count] rest volume m^3 */
    csim_real *tet_lame;         /* [3 tet_count] mu, lambda (Pa), beta_K (s) */
    unsigned char *tet_material; /* [tet_count] csim_material */
    csim_real *tet_active;       /* [5 tet_count] pressure Pa, tension Pa, fibre (unit, rest shape); all 0: passive */
    int *tet_slot;               /* [16 tet_count] index of block (a, b) in A.val */

    int membrane_count;               /* triangles of cloth */
    int *membrane;                    /* [3 membrane_count] nodes */
    int *membrane_beyond;             /* [3 membrane_count] corner beyond the edge that faces corner a, -1: none */
    csim_real *membrane_shape;        /* [4 membrane_count] Dm^-1 in the rest plane; row a: gradient of node a + 1 */
    csim_real *membrane_data;         /* [4 membrane_count] rest volume m^3; mu, lambda of plane stress Pa; beta_K s */
    csim_real *membrane_fold;         /* [9 membrane_count] form Q in the angles 00 11 22 12 20 01, J; rest angles */
    unsigned char *membrane_material; /* [membrane_count] csim_material */
    int *membrane_slot;               /* [36 membrane_count] block indices of A of the six nodes, -1: no such node */

    int spring_count;
    csimi_place *spring;    /* [2 spring_count] ends */
    csim_real *spring_data; /* [3 spring_count] rest length m, stiffness N/m, damping N s/m */
    int *spring_slot;       /* [CSIMI_SPRING_SLOTS spring_count] index of block (p, q) in A.val, -1: none */

    int frame_count;           /* edges of cables, each with its frame */
    csim_real *frame;          /* [4 frame_count] w x y z, edge axes to world; z is the tangent */
    csim_real *frame_velocity; /* [3 frame_count] angular, world axes: v_k */
    csim_real *frame_inertia;  /* [3 frame_count] about the edge axes, kg m^2 */
    csim_real *frame_torque;   /* [3 frame_count] N m, external, of the coming step */
    csim_real *frame_damping;  /* [frame_count] alpha_M, 1/s */
    unsigned char *frame_mode; /* [frame_count] CSIMI_FREE ... */
    int *edge_node;            /* [2 frame_count] */
    csim_real *edge_data; /* [6 frame_count] rest length m; shear, shear, stretch stiffness N; beta_K s; radius m */
    int *edge_slot;       /* [9 frame_count] block indices of A for node, node, frame */
    int bend_count;
    csimi_bend *bend; /* [bend_count] */
    csim_real
        *bend_data; /* [8 bend_count] length m; bend, bend, twist stiffness N m^2; rest curvature 1/m [3]; beta_K */
    int *bend_slot; /* [4 bend_count] block indices of A, -1: none */
} csimi_state;

/* Numbers of one step; dynamics.md 1. */
typedef struct csimi_step {
    csim_real h, theta, sigma;
    const csim_tasks *tasks;
} csimi_step;

/* What models fill: A and b of dynamics.md 1, over all blocks of the world (fixed ones included; the caller drops
   their rows). Models add: the caller clears b and A.val first. vk[3n] is the velocity of all blocks at the start of
   the step after the gyroscopic update. */
typedef struct csimi_system {
    csim_block_matrix A;
    csim_real *b;
    csim_real *vk;
} csimi_system;

/* Energies, J. */
typedef struct csimi_energy {
    double kinetic, gravity, elastic;
} csimi_energy;

/* One kind of model. A null entry means nothing to do. */
typedef struct csimi_model {
    const char *name;
    /* block pairs this kind couples: calls with pairs = null count; returns the number of pairs written (2 ints each)
     */
    int (*couple)(const csimi_state *s, int *pairs);
    /* finds its slots in a pattern that holds its pairs */
    void (*bind)(csimi_state *s, const csim_block_matrix *pattern);
    /* changes vk in place before assembly (gyroscopic update); dynamics.md 3 */
    void (*prepare)(const csimi_state *s, const csimi_step *step, csim_real *vk);
    /* adds to A and b */
    void (*assemble)(const csimi_state *s, const csimi_step *step, csimi_system *system);
    /* adds h v to positions and turns rotations by exp(h w); v[3n] is the representative velocity, next holds the new
       positions (arrays x, com, rotation of another state that may alias s) */
    void (*advance)(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
    void (*energy)(const csimi_state *s, csimi_energy *energy);
} csimi_model;

/* All kinds, in the order they are called. couple, prepare, assemble and energy read positions of s (couple and bind
   only its indices); the state decides the result to the bit, nothing is remembered from step to step. */
enum {
    CSIMI_MODEL_POINT,
    CSIMI_MODEL_RIGID,
    CSIMI_MODEL_TET,
    CSIMI_MODEL_CLOTH,
    CSIMI_MODEL_SPRING,
    CSIMI_MODEL_CABLE,
    CSIMI_MODEL_COUNT
};
CSIMI_FN const csimi_model *csimi_model_table(void); /* [CSIMI_MODEL_COUNT] */

CSIM_INLINE int csimi_first_frame_block(const csimi_state *s) { return s->node_count + 2 * s->rigid_count; }
CSIM_INLINE int csimi_block_count(const csimi_state *s) { return csimi_first_frame_block(s) + s->frame_count; }

/* The entries of the table, by file. */
#define CSIMI_MODEL_ASSEMBLE(name) \
    CSIMI_FN void name(const csimi_state *s, const csimi_step *step, csimi_system *system)
CSIMI_MODEL_ASSEMBLE(csimi_point_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_rigid_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_tet_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_cloth_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_spring_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_cable_assemble);
#undef CSIMI_MODEL_ASSEMBLE
CSIMI_FN int csimi_rigid_couple(const csimi_state *s, int *pairs);
CSIMI_FN int csimi_tet_couple(const csimi_state *s, int *pairs);
CSIMI_FN int csimi_cloth_couple(const csimi_state *s, int *pairs);
CSIMI_FN int csimi_spring_couple(const csimi_state *s, int *pairs);
CSIMI_FN int csimi_cable_couple(const csimi_state *s, int *pairs);
CSIMI_FN void csimi_tet_bind(csimi_state *s, const csim_block_matrix *pattern);
CSIMI_FN void csimi_cloth_bind(csimi_state *s, const csim_block_matrix *pattern);
CSIMI_FN void csimi_spring_bind(csimi_state *s, const csim_block_matrix *pattern);
CSIMI_FN void csimi_cable_bind(csimi_state *s, const csim_block_matrix *pattern);
CSIMI_FN void csimi_rigid_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk);
CSIMI_FN void csimi_cable_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk);
CSIMI_FN void csimi_point_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
CSIMI_FN void csimi_rigid_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
CSIMI_FN void csimi_cable_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
CSIMI_FN void csimi_point_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_rigid_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_tet_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_cloth_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_spring_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_cable_energy(const csimi_state *s, csimi_energy *energy);

/* ---- rigid.c */
/* R I R' of rigid body k, row-major. */
CSIMI_FN void csimi_rigid_inertia_world(const csimi_state *s, int k, csim_real *I);
/* The gyroscopic update of one angular velocity w (world axes) with inertia I[9] (axes of q). */
CSIMI_FN void csimi_gyro_turn(csim_quat q, const csim_real *I, const csimi_step *step, csim_real *w);
/* -[r]x for r = world point - centre of mass: the angular term of a point's velocity. */
CSIMI_FN void csimi_rigid_arm(const csimi_state *s, int k, const csim_real *world_point, csim_real *J);

/* ---- material.c */

/* Derivatives of a density Psi(s) at principal stretches, and the eigenvalues of its tangent outside the scalings. */
typedef struct csimi_stretches {
    csim_real g[3], H[9];        /* dPsi/ds, d2Psi/ds2 */
    csim_real flip[3], twist[3]; /* on U (e_i e_j' +- e_j e_i') V', k the third axis */
} csimi_stretches;
/* Psi of a material (csim_material) under an inner pressure, J/m^3; s[2] signed by det F. */
CSIMI_FN csim_real csimi_material(int material, const csim_real *s, csim_real mu, csim_real lambda, csim_real pressure,
                                  csimi_stretches *derivatives);
/* Clamps the nine eigenvalues at 0 (Teran et al. 2005, Smith et al. 2019). */
CSIMI_FN void csimi_project_stretches(csimi_stretches *derivatives);
/* K = d2Psi / dx_a dx_b = U M U' for shape gradients a and b given in the principal axes (V' times the gradient). */
CSIMI_FN void csimi_stretch_block(const csimi_stretches *derivatives, const csim_real *U, const csim_real *a,
                                  const csim_real *b, csim_real *K);

/* The same of a membrane in its two stretches, per rest volume: axis 2 is the normal. No neo-Hookean law. */
CSIMI_FN csim_real csimi_membrane_material(int material, const csim_real *s, csim_real mu, csim_real lambda,
                                           csimi_stretches *derivatives);

/* ---- cloth.c: preparing a mesh. */

/* Fills beyond [3 count]; returns the first triangle with an edge that another runs through the same way, or -1.
   scratch: vertices + 3 count ints. */
CSIMI_FN int csimi_cloth_neighbours(int vertices, int count, const int *triangle, int *beyond, int *scratch);
/* Shape [4] and area of a triangle; false when it is flat to 1e-6 of its longest edge squared. */
CSIMI_FN bool csimi_membrane_prepare(const csim_real *x0, const csim_real *x1, const csim_real *x2, csim_real *shape,
                                     csim_real *area);
/* The form of bending [9] for a plate of the given rigidity [N m]; rest angles 0. */
CSIMI_FN void csimi_fold_prepare(const csim_real *shape, csim_real area, const int *beyond, csim_real rigidity,
                                 csim_real poisson, csim_real *bend);
/* Takes the angles at the positions of the state as rest angles of triangle t. */
CSIMI_FN void csimi_fold_rest(csimi_state *s, int t);

/* ---- tet.c: preparing a mesh. */
/* Fills shape (Dm^-1) and volume of count tets from rest positions, and adds density[t] * volume / 4 to node_mass
   (indices relative to the arrays given). Returns the first tet with volume <= 1e-12 * (longest edge)^3, or -1. */
CSIMI_FN int csimi_tet_prepare(int count, const int *tet, const csim_real *x, const csim_real *density,
                               csim_real *shape, csim_real *volume, csim_real *node_mass);
/* Boundary triangles (outward, counter-clockwise) of a tet mesh: faces that belong to one tet. Writes at most capacity
   triangles (3 ints each), in the order of the tets, and returns how many there are. scratch:
   csimi_tet_surface_scratch ints. O(tets) for meshes whose nodes have a bounded number of neighbours. */
CSIMI_FN size_t csimi_tet_surface_scratch(int node_count, int tet_count);
CSIMI_FN int csimi_tet_surface(int node_count, int tet_count, const int *tet, int *triangles, int capacity,
                               int *scratch);
/* Strain energy density pieces for tests: Psi(F) and P(F) = dPsi/dF with the rotation recomputed. */
CSIMI_FN csim_real csimi_corotational(const csim_real *F, csim_real mu, csim_real lambda, csim_real *P);

/* ---- spring.c */
#define CSIMI_SPRING_SLOTS (4 * CSIMI_PLACE_TERMS * CSIMI_PLACE_TERMS) /* pairs of the blocks of both ends */
/* Blocks of A that a spring between these ends may couple. */
CSIMI_FN int csimi_spring_blocks(const csimi_place *ends /* [2] */);

/* ---- place.c. point: the place's world point now, which the caller has at hand; ignored by kinds that need none. */
CSIMI_FN csimi_place csimi_place_ground(csim_vec3 point);
CSIMI_FN csimi_place csimi_place_node(int node);
/* The material point of rigid body k that is at the world point now. */
CSIMI_FN csimi_place csimi_place_rigid(const csimi_state *s, int k, csim_vec3 point);
CSIMI_FN csimi_place csimi_place_face(const int *node /* [3] */, const csim_real *weight /* [3] */);
CSIMI_FN csim_vec3 csimi_place_point(const csimi_state *s, const csimi_place *p);
/* Velocity at v_k, before any gyroscopic change. */
CSIMI_FN csim_vec3 csimi_place_velocity(const csimi_state *s, const csimi_place *p, csim_vec3 point);
/* Acceleration without contacts and inner forces: gravity and the user's force; 0 where nothing is free. */
CSIMI_FN csim_vec3 csimi_place_acceleration(const csimi_state *s, const csimi_place *p);
/* The point moves with sum J v[block]: fills up to CSIMI_PLACE_TERMS (block, 3x3) terms, returns how many. */
CSIMI_FN int csimi_place_terms(const csimi_state *s, const csimi_place *p, csim_vec3 point, int *block,
                               csim_real *J /* [9 CSIMI_PLACE_TERMS] */);
/* Most terms of a place of this kind; a spring's or contact's room. */
CSIMI_FN int csimi_place_term_count(const csimi_place *p);
/* Brings rigid_inverse up to date with the rotations: csimi_place_mass reads it. */
CSIMI_FN void csimi_place_prepare(csimi_state *s);
/* 3 / tr(J M^-1 J') over what is free, kg; 0 when nothing is. */
CSIMI_FN csim_real csimi_place_mass(const csimi_state *s, const csimi_place *p, csim_vec3 point);
/* Whether any of its blocks is an unknown. */
CSIMI_FN bool csimi_place_free(const csimi_state *s, const csimi_place *p);
/* Whether two places are one point by construction: the same node, or the same body. */
CSIMI_FN bool csimi_place_same(const csimi_place *a, const csimi_place *b);
/* A direction that turns with the place, from one state to another of the same bodies. */
CSIMI_FN csim_vec3 csimi_place_carry(const csimi_place *p, const csimi_state *then, const csimi_state *now,
                                     csim_vec3 direction);
/* Indices after the nodes [first_node, first_node + node_count) and, if rigid >= 0, one rigid body were removed. */
CSIMI_FN void csimi_place_shift(csimi_place *p, int first_node, int node_count, int rigid);

/* ---- cable.c */
CSIMI_FN csim_quat csimi_load_quat(const csim_real *p); /* w x y z */
CSIMI_FN void csimi_store_quat(csim_real *p, csim_quat q);
/* Inertia of an edge in world axes. */
CSIMI_FN void csimi_frame_inertia_world(const csimi_state *s, int k, csim_real *I);
/* Force of edge k on its first node (the second gets its negative), N, and torque on its frame (may be null), N m. */
CSIMI_FN void csimi_edge_force(const csimi_state *s, int k, csim_real *force, csim_real *torque);
/* Tangent of edge k in (d dx, theta): blocks [9] stretch, cross (row d dx), turn; the elastic and the geometric part
   (E_schur of findings-cable-tree.md 3) with their weights. Positive semidefinite when elastic >= geometric >= 0. */
CSIMI_FN void csimi_edge_tangent(const csimi_state *s, int k, csim_real elastic, csim_real geometric,
                                 csim_real *stretch, csim_real *cross, csim_real *turn);
/* Torque on end 0 of bend element k (end 1 gets its negative), N m, and tangent of theta_1 - theta_0. */
CSIMI_FN void csimi_bend_law(const csimi_state *s, int k, csim_real *torque, csim_real *K);
/* 2 v / length of the relative rotation conj(a) b, 1/m. */
CSIMI_FN void csimi_bend_curvature(csim_quat a, csim_quat b, csim_real length, csim_real *kappa);
/* Block that turns with an end; -1: none. */
CSIMI_FN int csimi_bend_block(const csimi_state *s, const csimi_bend_end *end);

#endif
/* ==== end model/private.h */

/* ==== begin collide/private.h =================================================================================== */
/* collide/private: the broad phase, building hulls, boxes and hulls against each other. */
#ifndef CSIMI_COLLIDE_PRIVATE_H
#define CSIMI_COLLIDE_PRIVATE_H


/* ---- broad.c: all pairs i < j of axis-aligned boxes that overlap and whose groups differ or are negative.
   lower, upper [3 count]; group[count]: two boxes of the same group >= 0 never pair (one body, or all static ones).
   Writes pairs (2 ints each, sorted by i then j; beyond the capacity the first ones found, sorted) and returns how many
   there are. Sort and sweep along the axis on which boxes of ordinary size spread most: O(n log n + tests), where a box
   is tested against those that begin inside it, so that a floor costs O(n).
   scratch: csimi_broad_scratch bytes. Deterministic. */
CSIMI_FN size_t csimi_broad_scratch(int count);
CSIMI_FN int csimi_broad_pairs(int count, const csim_real *lower, const csim_real *upper, const int *group, int *pairs,
                               int capacity, void *scratch);

/* ---- polytope.c */

/* A box or hull as its corners, faces and edges; box_vertex and box_offset are the memory of a box. */
typedef struct csimi_polytope {
    int vertex_count, face_count, edge_count;
    const csim_real *vertex, *normal, *offset;
    const short *face_start;
    const unsigned char *face_vertex, *edge_vertex, *edge_face;
    bool box;
    csim_real box_vertex[24], box_offset[6];
    csim_real size; /* largest extent, for tolerances */
} csimi_polytope;
CSIMI_FN void csimi_polytope_of(csimi_polytope *p, const csim_geometry *g, const csim_hull_data *hulls);
/* Boxes and hulls against each other; poses of the shapes themselves. */
CSIMI_FN int csimi_collide_polytopes(const csim_geometry *a, csim_pose pose_a, const csim_geometry *b, csim_pose pose_b,
                                     const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity);
/* Closest points of two segments p + s d and q + t e, s and t in [0, 1]. */
CSIMI_FN void csimi_closest_segments(csim_vec3 p, csim_vec3 d, csim_vec3 q, csim_vec3 e, csim_real *s, csim_real *t);

/* ---- hull.c */

/* Convex hull of 4..64 finite points. Corners closer than 2e-5 of the extents are one corner, faces flat within 1e-5
   are one polygon. Fails with CSIM_BAD_MESH when the points are flat. function: whose name the error carries. */
CSIMI_FN csim_status csimi_hull_build(const char *function, const csim_vec3 *points, int count, csim_hull_data *hull,
                                      csim_error *error);
/* Volume, centre and second moments (xx, xy, xz, yy, yz, zz) about the centre of the same hull, at density 1. */
CSIMI_FN csim_status csimi_hull_moments(const char *function, const csim_vec3 *points, int count, double *volume,
                                        double *centre, double *second, csim_error *error);

#endif
/* ==== end collide/private.h */

/* ==== begin contact/private.h =================================================================================== */
/* contact/private: islands and nodalization. */
#ifndef CSIMI_CONTACT_PRIVATE_H
#define CSIMI_CONTACT_PRIVATE_H


/* Square root to double precision in both builds; 0 for 0, NaN for NaN and negative numbers. */
CSIM_INLINE double csimi_sqrt64(double x) {
#ifdef CONDSIM_FLOAT
    double y = (double)CSIMI_SQRT((csim_real)x);
    if (y > 0) y = 0.5 * (y + x / y);
    if (y > 0) y = 0.5 * (y + x / y); /* twice, for x near the smallest float */
    return y;
#else
    return CSIMI_SQRT(x);
#endif
}

/* ---- problem.c: whether the law of contact m is one, as csim_problem_check says it. */
CSIMI_FN csim_status csimi_check_contact_law(const csim_contact *contact, int m, csim_error *error);

/* ---- islands.c: union-find on blocks.
   Joins blocks coupled by A and blocks named by one contact (static sides join nothing); skip[n] (may be null) marks
   blocks that belong to no island (fixed, kinematic). island[n] gets 0..count-1 in order of the lowest block, -1 for
   skipped ones; contact_island[contact_count] likewise (-1: touches no free block). Returns the count. scratch[n]. */
CSIMI_FN int csimi_islands(const csim_block_matrix *A, const unsigned char *skip, int contact_count,
                           const csim_contact *contacts, const csim_term *terms, int *island, int *contact_island,
                           int *scratch);

/* ---- nodalize.c: contact.md 2-3. Turns a problem with general rows into one where every contact side is static or
   one block with weight I, no block carrying two contacts: adds a virtual node per general side (and per further
   contact on a node, J_v = I) with kappa = gain mass or params->kappa, and the shift -kappa^-1 lambda0 per virtual
   side in phi. Everything lives in the arena; blocks [0, n) keep their numbers, virtual nodes follow; contacts keep
   their order. O(size). */
typedef struct csimi_nodal {
    csim_problem problem; /* nodal; structure is that of the given problem: it knows no virtual nodes, because a
                             rigid mode moves one exactly as its side moves it, J_v Z */
    int *node_a, *node_b; /* [contact_count] block of each side, -1: static */
    csim_side *side;      /* [virtual_count] terms of the given problem that the virtual node follows */
    csim_real *kappa;     /* [virtual_count] kg */
    int virtual_count;
    csim_real *start; /* [3 problem.A.n] start velocity: v, and J_v v + kappa^-1 J_c' lambda0 on virtual nodes:
                         where a massless node is when its contact carries the last impulse */
} csimi_nodal;

/* What nodalizing takes from the arena at most, for any problem of these sizes; terms as in csim_problem_size. */
CSIMI_FN void csimi_nodal_reserve(csimi_arena *arena, int blocks, int matrix_blocks, int contacts, int terms);
/* gain, kappa, shift as in csim_solver_params; share[contact_count] (may be null): factor on the kappa of each contact;
   v[3n], lambda0[3 contact_count]: the start. CSIM_CAPACITY when the arena is too small. */
CSIMI_FN csim_status csimi_nodalize(const csim_problem *problem, csim_real gain, csim_real kappa,
                                    const csim_real *share, bool shift, const csim_real *v, const csim_real *lambda0,
                                    csimi_arena *arena, csimi_nodal *nodal);

#endif
/* ==== end contact/private.h */

/* ==== begin solve/private.h ===================================================================================== */
/* solve/private: what the solver files share. */
#ifndef CSIMI_SOLVE_PRIVATE_H
#define CSIMI_SOLVE_PRIVATE_H


struct csimi_impulse_run;

/* A line of the dispatch table (solve/table.c). */
typedef struct csimi_solver_entry {
    const char *name;
    /* ---- velocity level; solvers of the impulse level alone come here through solve/lift.c
       bytes for the largest problem of these sizes */
    size_t (*bytes)(const csim_problem_size *size, const csim_solver_params *params);
    /* whether this solver takes the problem at all */
    bool (*takes)(const csim_problem *problem);
    csim_status (*solve)(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                         const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome, csim_error *error);
    /* ---- impulse level; null: no such form
       bytes the solver takes from the arena for this many contacts */
    size_t (*impulse_bytes)(int contacts, const csim_solver_params *params);
    /* from the start in run->r to the best impulses found; false: the numbers broke down */
    bool (*impulse)(struct csimi_impulse_run *run);
    bool rows; /* needs csimi_delassus_row */
} csimi_solver_entry;
CSIMI_FN const csimi_solver_entry *csimi_solver_table(void);
CSIMI_FN csim_status csimi_solver_check(const csim_solver_params *p, csim_error *error);

/* ---- cond.c */
CSIMI_FN size_t csimi_cond_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN bool csimi_cond_takes(const csim_problem *problem);
CSIMI_FN csim_status csimi_cond_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error);

/* ---- sweep.c */
CSIMI_FN size_t csimi_sweep_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN bool csimi_sweep_takes(const csim_problem *problem);
CSIMI_FN csim_status csimi_sweep_solve(const csim_problem *problem, const csim_solver_params *params,
                                       csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                       csim_outcome *outcome, csim_error *error);

/* ---- anderson.c: the acceleration both solvers share. A ring of `window` pairs (f, p) of length n; the next iterate
   is sum alpha_j p_j with the alpha that minimise |sum alpha_j f_j|_M, sum alpha = 1, M a positive diagonal. */
typedef struct csimi_anderson {
    int n, window, count, newest;
    csim_real *f, *p; /* [window n] */
    double *gram;     /* [window window] f_i M f_j */
    double *work;     /* [window (window + 3)] */
} csimi_anderson;
CSIMI_FN void csimi_anderson_layout(csimi_anderson *a, csimi_arena *arena, int n, int window);
CSIMI_FN void csimi_anderson_clear(csimi_anderson *a);
/* The slot the next pair is written into: two pointers to n numbers each. */
CSIMI_FN void csimi_anderson_slot(csimi_anderson *a, csim_real **f, csim_real **p);
/* Takes the pair just written and writes the combination to next[n] (never aliases the ring). metric[n] > 0. */
CSIMI_FN void csimi_anderson_step(csimi_anderson *a, const csim_real *metric, csim_real *next, const csim_tasks *tasks);

/* ---- weights.c: the diagonal W of COND. pinned[n] marks the blocks that carry a contact: there W is one scalar. */
CSIMI_FN void csimi_weights_jacobi(const csim_block_matrix *A, const unsigned char *pinned, csim_real *w);
CSIMI_FN void csimi_weights_frobenius(const csim_block_matrix *A, const unsigned char *pinned, csim_real *w,
                                      csim_real *scratch /* [3n] */);
/* Largest eigenvalue of W A by CSIMI_LANCZOS steps (a lower bound, good to a few per cent); with the value known from
   an earlier solve 4 steps decide whether it still serves. work[9n]; adds to *products. */
enum { CSIMI_LANCZOS = 12 };
CSIMI_FN csim_real csimi_weights_sigma(const csim_block_matrix *A, const csim_real *w, const csim_real *w_inverse,
                                       csim_real known, csim_real *work, int *products, const csim_tasks *tasks);

/* ---- coarse.c: the rigid-mode correction p += scale Z H^-1 Z' M f. */
enum {
    CSIMI_COARSE_GROUPS = 150, /* 6 unknowns each: the dense matrix has at most 900 rows */
    CSIMI_COARSE_GRAIN = 4     /* aggregates in a parallel range */
};
typedef struct csimi_coarse {
    const csim_structure *structure;
    int aggregates, groups;
    int *first, *member;             /* [aggregates + 1], [n] blocks by aggregate */
    int *group;                      /* [aggregates] */
    int *group_first, *group_member; /* aggregates by group */
    csim_real *arm;                  /* [3 aggregates] centre relative to that of the group */
    csim_real *radius;               /* [groups] */
    double *motion;                  /* [6 aggregates] force and torque, then velocity and angular velocity */
    double *panel;                   /* [36 aggregates] one block row of H0 */
    int *touched, *slot;             /* [aggregates] */
    double *jacobian;                /* rows of one contact */
    double *y, *g, *change, *step;   /* [m] unknowns, right side, residual; m = 6 groups */
    double *H0, *factor;             /* [m m], lower triangles */
    int *pivot;                      /* [m] */
    csim_real *trial, *delta;        /* [3 contacts] predicted trial impulses, change of the impulses */
    unsigned char *closed, *used;    /* [contacts] rows ever active in this solve; rows inside factor: bits */
    bool ready;                      /* factor serves */
    const csim_real *f, *metric;     /* of the apply at work */
    csim_real *p;
} csimi_coarse;
/* Whether the structure carries rigid modes (more than CSIMI_COARSE_GROUPS aggregates need their centres). */
CSIMI_FN bool csimi_coarse_usable(const csim_structure *structure);
CSIMI_FN void csimi_coarse_layout(csimi_coarse *c, csimi_arena *arena, int blocks, int contacts, int aggregates);
/* H0 = Z'AZ of the given (not nodalized) problem. */
CSIMI_FN void csimi_coarse_build(csimi_coarse *c, const csim_problem *problem);
/* Projection of contact under a law that may stand in for its own. */
CSIMI_FN void csimi_project_as(int law, const csim_contact *contact, csim_real gamma, csim_real *lambda);
/* Rows of a contact that an impulse holds, as bits: none, the normal (slip), all (stick). */
CSIMI_FN unsigned char csimi_coarse_rows(const csim_contact *contact, const csim_real *lambda);
/* What the contacts did at the iterate that is corrected. */
typedef struct csimi_coarse_contacts {
    const csim_real *trial, *lambda; /* [3 contacts] impulse before and after projection */
    const csim_real *gamma;          /* [contacts] compliance of a contact against coarse motion, 1/kg */
    const unsigned char *law;        /* [contacts] csim_law in force */
    double stiffen;                  /* factor on the stiffness of contacts inside the matrix */
    int newton;                      /* steps of Newton on the coarse contact problem, 0: one linear correction */
    int looks;                       /* how often the active set is predicted and the factor renewed for it */
} csimi_coarse_contacts;
/* factor of H0 + sum over c->used of J'J / gamma. False: no use. */
CSIMI_FN bool csimi_coarse_factor(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts);
/* metric, f, p: [3 (n + virtual nodes)] */
CSIMI_FN void csimi_coarse_apply(csimi_coarse *c, const csim_problem *problem, const csimi_nodal *nodal,
                                 const csimi_coarse_contacts *contacts, double scale, const csim_real *metric,
                                 const csim_real *f, csim_real *p, const csim_tasks *tasks);

/* ---- chain.c: cables, solved exactly on the face of their contacts. */
typedef struct csimi_chains {
    const csim_structure *structure;
    int links;
    double *pivot, *cross, *x; /* [36 links], [36 links], [6 links] */
    int *at;                   /* [n] place of each block among the 2 links of the chains, -1: none */
    int *face;                 /* [2 links] */
    csimi_chain_face *faces;   /* [contacts] */
    csim_real *force;          /* [3n] imbalance at p */
    csim_real *lambda, *gamma; /* [3 contacts], [contacts] impulses at p and compliances, by the caller */
    int *held;                 /* [contacts] the block that a contact against standing ground acts on directly, -1: it
                                  acts through virtual nodes; by the caller */
} csimi_chains;
CSIMI_FN int csimi_chains_links(const csim_structure *structure);
CSIMI_FN void csimi_chains_layout(csimi_chains *c, csimi_arena *arena, int blocks, int contacts, int links);
CSIMI_FN void csimi_chains_bind(csimi_chains *c, const csim_problem *problem);
/* p[3n] of the given problem moves to the solution on the face of c->lambda; trial[3 contacts]: impulses before
   projection; follow: friction follows the normal impulse, else it stays. False, with p as it was, without a factor. */
CSIMI_FN bool csimi_chains_correct(csimi_chains *c, const csim_problem *problem, const unsigned char *law,
                                   const csim_real *trial, bool follow, csim_real *p, const csim_tasks *tasks);

/* ---- envelope.c: L U of a structurally symmetric block matrix inside its envelope, in double. Row i of L and column i
   of U hold the blocks first[i] to i - 1 from place start[i] on. */
typedef struct csimi_envelope {
    int n;
    int *first;                   /* [n] */
    size_t *start;                /* [n] */
    size_t blocks;                /* sum of i - first[i] */
    double *lower, *upper, *diag; /* [9 blocks], [9 blocks], [9 n] */
} csimi_envelope;
CSIMI_FN size_t csimi_envelope_numbers(int n, size_t blocks); /* doubles in the three arrays */
CSIMI_FN void csimi_envelope_clear(csimi_envelope *e);
CSIMI_FN double *csimi_envelope_block(csimi_envelope *e, int i, int j); /* inside the envelope */
CSIMI_FN bool csimi_envelope_factor(csimi_envelope *e);                 /* false: a pivot has no positive determinant */
CSIMI_FN void csimi_envelope_solve(const csimi_envelope *e, double *x);

/* ---- single.c: one contact alone. The model u = W lambda + c is kept in normalised form: tangential impulses are
   y = lambda_t / mu component by component, so that every friction cone (the elliptic one too) is |y| <= lambda_n, and
   axes are turned so that the Schur complement S of the tangential block is diagonal. */
typedef struct csimi_local {
    const csim_contact *contact; /* law and its numbers */
    csim_real W[6];           /* nn, n1, n2, 11, 12, 22 */
    csim_real extra;          /* 1/kg, what the proximal loop adds to the diagonal of W */
    csim_real a, b[2], s[2];  /* 1 / W_nn, coupling, diagonal of S */
    csim_real turn[2], mu[2]; /* cosine and sine of the axes */
    csim_real z;              /* last slip multiplier: start of the next search; 0 at first */
    csim_real inverse[6];     /* bilateral and box: of the constrained part of W */
} csimi_local;
/* W from a 3x3 block, row-major; its symmetric part when it is not symmetric. */
CSIMI_FN void csimi_local_set(csimi_local *c, const csim_real *W);
/* Readies the model for W + eps (tr W / 3) I under the law of contact, which must outlive it. */
CSIMI_FN void csimi_local_prepare(csimi_local *c, const csim_contact *contact, csim_real eps);
/* lambda from v = u - W lambda, the velocity without this contact; exact for its law. */
CSIMI_FN void csimi_local_solve(csimi_local *c, const csim_real *v, csim_real *lambda);
/* The same with sliding contacts solved by method; bisection and golden section stop at an arc of width radians. */
CSIMI_FN void csimi_local_solve_by(csimi_local *c, csim_contact_method method, csim_real width, const csim_real *v,
                                   csim_real *lambda);

/* ---- delassus.c: an impulse-level problem made free of units, findings-impulse.md fact 1. With one positive scalar
   s_c = sqrt(3 / tr W_cc) for each contact r = s r', u = u' / s and W' = s W s: cones stay what they are, the diagonal
   blocks W'_cc have trace 3, and 1 / tr W_cc is one. Everything below is in these variables unless it says raw. */
typedef struct csimi_delassus csimi_delassus;
struct csimi_delassus {
    int contacts;
    const csim_tasks *tasks;
    csim_contact *laws;  /* [contacts] law, mu, mask; omega, lo and hi in the variables here */
    csim_real *scale;    /* [contacts] s_c */
    csim_real *q;        /* [3 contacts] */
    csim_real *diagonal; /* [9 contacts] W'_cc, row-major, not symmetrised */
    csim_real *raw;      /* [3 contacts] raw impulses at which the rows are read */
    csim_real *scratch;  /* [3 contacts] of products and rows */
    csim_real *norms;    /* [contacts] of the measure */
    bool rows;           /* W can be read row by row */
    bool each;           /* the measure looks at each contact too: masses differ by more than 100 */
    int products;        /* products so far */
    double natural, contact; /* the two figures of the last measure */
    /* where W comes from, in raw variables */
    void *from;
    void (*product)(csimi_delassus *W, const csim_real *x, csim_real *y);  /* y = W x */
    void (*row)(csimi_delassus *W, int c, csim_real *u);                   /* u = (W raw)_c; null: no rows */
    void (*begin)(csimi_delassus *W);                                      /* raw was replaced; may be null */
    void (*change)(csimi_delassus *W, int c, const csim_real *difference); /* raw_c has changed by this; may be null */
};
/* Counts or takes what the struct owns. */
CSIMI_FN void csimi_delassus_layout(csimi_delassus *W, csimi_arena *arena, int contacts);
/* Scales the laws [contacts] and q (raw, [3 contacts]) by the raw diagonal blocks already in W->diagonal; decides each.
   False when a block has no positive trace or a number is not finite. */
CSIMI_FN bool csimi_delassus_scale(csimi_delassus *W, const csim_real *q);
/* The public problem as one; W has its memory. What csimi_delassus_scale says. */
CSIMI_FN bool csimi_delassus_open(csimi_delassus *W, const csim_impulse_problem *problem);
/* Where W comes from: a dense matrix, row-major, [3 contacts] squared. */
CSIMI_FN void csimi_delassus_dense(csimi_delassus *W, const csim_real *dense);
CSIMI_FN void csimi_delassus_product(csimi_delassus *W, const csim_real *r, csim_real *u);  /* u = W r */
CSIMI_FN void csimi_delassus_velocity(csimi_delassus *W, const csim_real *r, csim_real *u); /* u = W r + q */
/* Sweeps: begin at r, read u_c = (W r + q)_c, tell each change r_c -> now before the next row is read. */
CSIMI_FN void csimi_delassus_begin(csimi_delassus *W, const csim_real *r);
CSIMI_FN void csimi_delassus_row(csimi_delassus *W, int c, csim_real *u);
CSIMI_FN void csimi_delassus_change(csimi_delassus *W, int c, const csim_real *old, const csim_real *now);
/* The nearest impulses the laws allow, in place. */
CSIMI_FN void csimi_delassus_project(const csimi_delassus *W, csim_real *r);
/* r - P(r - u) of one contact, with u + mu |u_t| n for u under the strict law (de Saxce): zero where u, r obey. */
CSIMI_FN void csimi_delassus_residual(const csimi_delassus *W, int c, const csim_real *r, const csim_real *u,
                                      csim_real *residual);
/* The one measure of every impulse-level solver: natural_map_scaled of r in raw norms, and where W->each holds the worst
   figure of a contact if that is larger; 1 at r = 0 unless that is exact. velocity: u = W r + q is in u[3 contacts];
   else it is computed there. */
CSIMI_FN double csimi_delassus_measure(csimi_delassus *W, const csim_real *r, csim_real *u, bool velocity);
/* Raw impulses to and from r, in place. */
CSIMI_FN void csimi_delassus_enter(const csimi_delassus *W, csim_real *r);
CSIMI_FN void csimi_delassus_leave(const csimi_delassus *W, csim_real *r);

/* What an impulse-level solver is handed. It never decides whether it succeeded: who called measures. */
typedef struct csimi_impulse_run {
    csimi_delassus *W;
    const csim_solver_params *params;
    csimi_arena *arena;    /* impulse_bytes of it are free; given back by the caller */
    csim_real *r;          /* [3 contacts] start, then the best seen */
    double target;         /* the measure to reach, at most params->tolerance */
    csim_outcome *outcome; /* the solver adds to iterations and rejections and sets residual to its best measure */
} csimi_impulse_run;
/* Runs the solver of params on W and measures what it left in r; u [3 contacts] gets W r + q. False: not finite. */
CSIMI_FN bool csimi_impulse_run_solver(csimi_delassus *W, const csim_solver_params *params, double target,
                                       csimi_arena *arena, csim_real *r, csim_real *u, csim_outcome *outcome);
/* Residual of one iteration into the history of params. */
CSIMI_FN void csimi_impulse_log(const csimi_impulse_run *run, int iteration, double measure);

/* ---- lift.c: solvers of the impulse level on a csim_problem, with W = J A^-1 J' as an operator */
CSIMI_FN size_t csimi_lift_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN bool csimi_lift_takes(const csim_problem *problem);
CSIMI_FN csim_status csimi_lift_solve(const csim_problem *problem, const csim_solver_params *params,
                                      csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                      csim_outcome *outcome, csim_error *error);

/* ---- cascade.c: the solvers SWEEP, ANDERSON, PROXIMAL of the impulse level */
CSIMI_FN size_t csimi_cascade_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_cascade_solve(csimi_impulse_run *run);
CSIMI_FN bool csimi_cascade_anderson(csimi_impulse_run *run);
CSIMI_FN bool csimi_cascade_proximal(csimi_impulse_run *run);

/* ---- bodies.c: A as small dense bodies of neighbouring blocks, inverted, and the rows of contacts on them */
enum { CSIMI_BODY_BLOCKS = 4 };
typedef struct csimi_bodies {
    int *first, *size, *row; /* [n] of the body of each block; row: offset of its inverse, 3x3 blocks */
    csim_real *inverse;      /* [36 n] */
} csimi_bodies;
/* One block a contact acts on: J rows in the contact frame, signed; where the body's inverse is. */
typedef struct csimi_piece {
    int block;
    int first, size; /* the body's blocks */
    int inverse;     /* row of the block in the inverses, in 3x3 blocks */
    csim_real J[9];
} csimi_piece;
/* Whether A is block diagonal in bodies. */
CSIMI_FN bool csimi_bodies_take(const csim_block_matrix *A);
CSIMI_FN void csimi_bodies_layout(csimi_bodies *b, csimi_arena *arena, int n);
/* Finds the bodies of an A that csimi_bodies_take takes and inverts them. False when A is not positive definite. */
CSIMI_FN bool csimi_bodies_open(csimi_bodies *b, const csim_block_matrix *A);
/* A^-1 x of the body of block i, x given on that block alone, added to y[3n]. */
CSIMI_FN void csimi_body_push(const csimi_bodies *b, int i, const csim_real *x, csim_real *y);
/* Terms that contacts name: pieces in all. */
CSIMI_FN int csimi_pieces_count(const csim_problem *p);
/* Pieces of contact m, rows turned into its frame; returns their number. b null: without the body's numbers. */
CSIMI_FN int csimi_pieces_make(const csim_problem *p, const csimi_bodies *b, int m, csimi_piece *pieces);
CSIMI_FN void csimi_pieces_velocity(const csimi_piece *piece, int count, const csim_real *v, csim_real *u); /* u += J v */
/* v += A^-1 J' impulse of one contact */
CSIMI_FN void csimi_pieces_push(const csimi_bodies *b, const csimi_piece *piece, int count, const csim_real *impulse,
                                csim_real *v);
/* W = J A^-1 J' of one contact; pieces of one body couple. */
CSIMI_FN void csimi_pieces_delassus(const csimi_bodies *b, const csimi_piece *begin, int count, csim_real *W);

/* ---- sweep.c and newton.c: islands of small dense bodies at the level of impulses */

/* One contact. */
typedef struct csimi_sweep_contact {
    int first, count; /* pieces */
    const csim_contact *contact;
    csim_real phi[3];
    csim_real rho; /* kg, the certificate's scale */
    csim_real lag; /* m/s, mu |u_t| that a convex step of Newton takes as given */
    csimi_local local;
} csimi_sweep_contact;

typedef struct csimi_sweep {
    const csim_problem *problem;
    const csim_tasks *tasks;
    int n, contact_count;
    csimi_bodies bodies;
    csim_real *free_velocity; /* [3n] A^-1 b */
    csim_real *v;             /* [3n] A^-1 (b + J' lambda), always */
    csimi_piece *pieces;      /* [term_count] */
    csimi_sweep_contact *contacts;
    csim_real *lambda, *best, *centre, *metric; /* [3 contact_count] */
    csim_real *norms;                           /* [contact_count] */
    csimi_anderson anderson;
    csimi_envelope envelope; /* of the Newton burst; its numbers live in the ring of anderson */
    int *order, *place;      /* [n] block at each row of the envelope, and back */
    double *spare;           /* [spare_count] memory of the Newton burst where the ring would be too small */
    size_t spare_count;
    double work;                  /* multiplications of a factorisation; 0: it does not fit */
    double measure, best_measure; /* the certificate's contact figure of lambda, of best */
    double target;
    int sweeps, cap, rejections;
    bool convex; /* Newton takes convex steps */
    bool broken; /* a sweep made a NaN or an infinity */
    double *history;
    int history_capacity, logged;
} csimi_sweep;

CSIMI_FN void csimi_contact_velocity(const csimi_sweep *s, const csimi_sweep_contact *c, csim_real *u);
/* The lower middle value of x[count]; reorders x. */
CSIMI_FN csim_real csimi_median(csim_real *x, int count);
CSIMI_FN void csimi_sweep_velocities(csimi_sweep *s);          /* v = A^-1 (b + J' lambda) */
CSIMI_FN void csimi_sweep_prepare(csimi_sweep *s, double eps); /* local models of W + eps (tr W_ii / 3) I */
/* residual[3n] = b + J' lambda - A v, in double */
CSIMI_FN void csimi_sweep_imbalance(const csimi_sweep *s, double *residual);

/* Orders the blocks, lays the envelope into the ring and estimates the work. */
CSIMI_FN void csimi_newton_plan(csimi_sweep *s);
/* One proximal step lambda -> argument of W + eps I around lambda, by Newton on the body velocities. False, with
   lambda and v as before, when it does not get there. */
CSIMI_FN bool csimi_newton_step(csimi_sweep *s, double eps, int *iterations);

#endif
/* ==== end solve/private.h */

/* ==== begin world/private.h ===================================================================================== */
/* world/private: the world's memory and the stages of a step.

   Every array of the world lives in one block, laid out by one routine from one list (CSIMI_WORLD_ARRAYS), which also
   grows, compacts, saves, restores and hashes it. Scratch for a step is the tail of the block. */
#ifndef CSIMI_WORLD_PRIVATE_H
#define CSIMI_WORLD_PRIVATE_H


typedef struct csimi_body {
    uint32_t generation;
    bool alive;
    csim_body_kind kind;
    csim_motion motion;
    int next_free;              /* slot of the next free body, -1: none; when not alive */
    int rigid;                  /* rigid bodies: index, else -1 */
    int first_node, node_count; /* particles and solids */
    int first_shape, shape_count;
    int first_tet, tet_count;
    int first_membrane, membrane_count;
    int first_surface, surface_count; /* surface nodes of solids */
    int first_triangle, triangle_count;
    int first_frame, frame_count; /* edges of cables */
    int first_bend, bend_count;   /* their own bend elements, those of links left out */
    bool clamped[2];              /* cables: the first, the last of them clamps an end to the world */
    bool closed;                  /* cables: the last edge leads back to the first node */
    int aggregate_count;          /* of a solid */
    int matrix_blocks;            /* stored blocks of A that belong to it alone */
    csim_real centre[3];          /* rigid: centre of mass in body axes */
    csim_real radius;             /* particle */
    csim_real sigma;              /* spectral estimate kept for the island this body leads */
    bool can_sleep;
    csim_surface_def surface;
    void *user_data;
} csimi_body;

typedef enum csimi_link_kind { CSIMI_SPRING, CSIMI_PIN, CSIMI_CLAMP } csimi_link_kind;

typedef struct csimi_link {
    uint32_t generation;
    bool alive;
    csimi_link_kind kind;
    int next_free;
    int item;    /* index in the springs, pins or bends */
    int body[2]; /* slots it holds on to, -1: the world */
    csim_real break_force;
} csimi_link;

typedef struct csimi_pin {
    csimi_place end[2];
    csim_real impulse[3]; /* of the last step, world axes, on end 0 */
    int link;             /* its slot */
} csimi_pin;

/* X(axis, type, member of csimi_store, numbers per item): one line per array; the axis names a field of csim_capacity
   that holds both the capacity and the count. */
#define CSIMI_WORLD_ARRAYS(X)                     \
    X(bodies, csimi_body, body, 1)                \
    X(bodies, int, body_list, 1)                  \
    X(nodes, csim_real, state.x, 3)               \
    X(nodes, csim_real, state.v, 3)               \
    X(nodes, csim_real, node_rep, 3)              \
    X(nodes, csim_real, state.node_mass, 1)       \
    X(nodes, csim_real, state.node_force, 3)      \
    X(nodes, csim_real, state.node_damping, 1)    \
    X(nodes, unsigned char, state.node_mode, 1)   \
    X(nodes, int, node_body, 1)                   \
    X(nodes, int, node_user, 1)                   \
    X(nodes, int, node_of_user, 1)                \
    X(nodes, int, node_aggregate, 1)              \
    X(rigids, csim_real, state.com, 3)            \
    X(rigids, csim_real, state.rotation, 4)       \
    X(rigids, csim_real, state.velocity, 6)       \
    X(rigids, csim_real, rigid_rep, 6)            \
    X(rigids, csim_real, state.rigid_mass, 1)     \
    X(rigids, csim_real, state.inertia, 9)        \
    X(rigids, csim_real, state.wrench, 6)         \
    X(rigids, csim_real, state.rigid_damping, 2)  \
    X(rigids, unsigned char, state.rigid_mode, 1) \
    X(rigids, int, rigid_body, 1)                 \
    X(shapes, csim_geometry, shape, 1)            \
    X(shapes, int, shape_body, 1)                 \
    X(hulls, csim_hull_data, hull, 1)             \
    X(tets, int, state.tet, 4)                    \
    X(tets, csim_real, state.tet_shape, 9)        \
    X(tets, csim_real, state.tet_volume, 1)       \
    X(tets, csim_real, state.tet_lame, 3)         \
    X(tets, unsigned char, state.tet_material, 1) \
    X(tets, csim_real, state.tet_active, 5)       \
    X(membranes, int, state.membrane, 3) \
    X(membranes, int, state.membrane_beyond, 3) \
    X(membranes, csim_real, state.membrane_shape, 4) \
    X(membranes, csim_real, state.membrane_data, 4) \
    X(membranes, csim_real, state.membrane_fold, 9) \
    X(membranes, unsigned char, state.membrane_material, 1) \
    X(surface, int, surface_node, 1)              \
    X(triangles, int, triangle, 3)                \
    X(links, csimi_link, link, 1)                 \
    X(frames, csim_real, state.frame, 4)          \
    X(frames, csim_real, state.frame_velocity, 3) \
    X(frames, csim_real, frame_rep, 3)            \
    X(frames, csim_real, state.frame_inertia, 3)  \
    X(frames, csim_real, state.frame_torque, 3)   \
    X(frames, csim_real, state.frame_damping, 1)  \
    X(frames, unsigned char, state.frame_mode, 1) \
    X(frames, int, frame_body, 1)                 \
    X(frames, int, state.edge_node, 2)            \
    X(frames, csim_real, state.edge_data, 6)      \
    X(bends, csimi_bend, state.bend, 1)           \
    X(bends, csim_real, state.bend_data, 8)       \
    X(springs, csimi_place, state.spring, 2)      \
    X(springs, csim_real, state.spring_data, 3)   \
    X(springs, int, spring_link, 1)               \
    X(pins, csimi_pin, pin, 1)                    \
    X(contacts, csim_contact_info, contact, 1)    \
    X(ended, uint64_t, ended_id, 1)

/* Everything that is counted: the axes of the arrays above, the stored blocks of A, and the pairs of the broad phase.
 */
#define CSIMI_WORLD_AXES(X)                                                                                          \
    X(bodies)                                                                                                        \
    X(nodes)                                                                                                         \
    X(rigids)                                                                                                        \
    X(shapes)                                                                                                        \
    X(hulls)                                                                                                         \
    X(tets)                                                                                                          \
    X(surface) X(triangles) X(links) X(springs) X(pins) X(contacts) X(ended) X(aggregates) X(matrix_blocks) X(pairs) \
        X(frames) X(bends) X(membranes)

typedef struct csimi_counts {
#define CSIMI_X(axis) int axis;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
} csimi_counts;

typedef struct csimi_store {
    csimi_counts capacity, count; /* count.matrix_blocks: stored blocks of A */
    csimi_state state;
    csim_real *node_rep, *rigid_rep, *frame_rep; /* representative velocity of the last step */
    csimi_body *body;
    int *body_list; /* slots of live bodies in creation order, [live] */
    int *node_body, *node_user, *node_of_user, *node_aggregate;
    int *rigid_body, *shape_body, *frame_body;
    csim_geometry *shape;
    csim_hull_data *hull;
    int *surface_node, *triangle;
    csimi_link *link;
    int *spring_link;
    csimi_pin *pin;
    csim_contact_info *contact;
    uint64_t *ended_id;
    csim_block_matrix A; /* pattern and room for the values */
    unsigned char *scratch;
    size_t scratch_bytes;
} csimi_store;

struct csim_world {
    csim_world_def def;
    csimi_heap heap;
    bool grows; /* heap world */
    unsigned char *block;
    size_t block_bytes;
    uint32_t stamp;
    bool locked, pattern_stale;
    int live_bodies, free_body, free_link;
    double time, last_h;
    csimi_store store;
    csimi_counts high; /* largest counts seen */
    csim_error error;
    csim_step_stats stats;
};

/* Velocity blocks of a world with these counts. */
CSIMI_FN int csimi_blocks_of(const csimi_counts *n);
CSIMI_FN csimi_counts csimi_counts_of(const csim_capacity *capacity);
CSIMI_FN csim_capacity csimi_capacity_of(const csimi_counts *counts);

/* ---- layout.c */

/* Sets every pointer of the store for its capacity; counts when the arena counts. */
CSIMI_FN void csimi_store_layout(csimi_store *store, const csim_solver_params *solver, csimi_arena *arena);
/* Makes each capacity at least need; the world is unchanged when this fails. */
CSIMI_FN csim_status csimi_ensure(csim_world *world, const csimi_counts *need, const char *function);
/* Removes items [first, first + n) of one axis from every array of that axis. */
typedef enum csimi_axis {
#define CSIMI_X(axis) CSIMI_AXIS_##axis,
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
} csimi_axis;
CSIMI_FN void csimi_remove(csimi_store *store, csimi_axis axis, int first, int n);
/* Copies the counts that models read into state. */
CSIMI_FN void csimi_sync_state(csimi_store *store);

/* ---- the frame of a step: scratch that lives from its first to its last line */

/* A found contact before it becomes a row. */
typedef struct csimi_found_contact {
    uint64_t id;
    int body_a, body_b; /* slots */
    csimi_place a, b;
    int shape_b;      /* node against shape: exact distance can be taken again; else -1 */
    csim_real radius; /* node contacts: sum of radii and thicknesses */
    csim_vec3 point_a, point_b, normal;
    csim_real gap;
    int last; /* its record of the step before, -1: new */
} csimi_found_contact;

typedef struct csimi_step_frame {
    csim_real h, theta, sigma;
    int blocks;                 /* of the whole world */
    csimi_state next;           /* state after the step: own positions, shared constants */
    csim_real *vk, *b, *v;      /* [3 blocks] */
    csim_real *v_end;           /* [3 blocks] v_{k+1} */
    csim_real *rep;             /* [3 blocks] start of the solve: last representative velocity */
    unsigned char *skip;        /* [blocks] 1: not an unknown */
    csimi_found_contact *found; /* [contacts] */
    int found_count;
    csim_contact *contacts; /* [contacts + pins] */
    csim_term *terms;       /* [csimi_most_terms] */
    csim_real *lambda;      /* [3 (contacts + pins)] */
    int contact_count, term_count;
    int *island, *contact_island; /* [blocks], [contacts + pins] */
    int island_count;
    int *local;                               /* [blocks] number inside its island */
    int *island_blocks;                       /* [blocks] blocks sorted by island */
    int *island_contacts;                     /* [contacts + pins] */
    int *island_first, *island_contact_first; /* [blocks + 1] */
    csim_real *aggregate_centre;              /* [3 aggregates] per solid aggregate and rigid body */
    csim_real *aggregate_radius;
    int *aggregate_of; /* [blocks], -1: none */
    int aggregates;
    csim_contact_info *info; /* [contacts] the next contact list */
    uint64_t *ended;         /* [contacts] */
    unsigned char *carried;  /* [contacts] 1: this record of the step before still carries an impulse */
    int ended_count;
    csim_real *sigma_of_body; /* [bodies] next spectral estimates */
    csim_step_stats stats;
} csimi_step_frame;

/* Lays the frame out for the given counts (capacities when counting). */
CSIMI_FN void csimi_frame_layout(csimi_step_frame *frame, const csimi_counts *n, csimi_arena *arena);
/* Scratch that a step of a world with these capacities can need. */
CSIMI_FN int csimi_default_aggregates(int nodes);           /* body.c: of a solid */
CSIMI_FN size_t csimi_mesh_scratch(const csimi_counts *n);  /* body.c: to study a mesh */
CSIMI_FN size_t csimi_cloth_scratch(const csimi_counts *n); /* cloth.c: the same */
CSIMI_FN int csimi_most_terms(const csimi_counts *n);       /* of all contacts and pins */
CSIMI_FN size_t csimi_step_scratch(const csimi_counts *capacity, const csim_solver_params *solver);

/* ---- detect.c: contacts of the current positions. CSIM_CAPACITY with flags and counts in frame->stats. */
CSIMI_FN csim_status csimi_detect(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
CSIMI_FN size_t csimi_detect_scratch(const csimi_counts *n);
/* gap of a found contact in another configuration */
CSIMI_FN csim_real csimi_gap_at(const csim_world *world, const csimi_state *then, const csimi_state *now,
                                const csimi_found_contact *f);
/* ---- rows.c: found contacts and pins to rows of the problem, with phi, laws and warm starts */
CSIMI_FN void csimi_rows(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
CSIMI_FN size_t csimi_rows_scratch(const csimi_counts *n);
/* ---- island.c: each island as a problem of its own, solved and certified */
CSIMI_FN csim_status csimi_solve_islands(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
CSIMI_FN size_t csimi_island_scratch(const csimi_counts *n, const csim_solver_params *solver);
/* ---- step.c */
CSIMI_FN csim_status csimi_build_pattern(csim_world *world, csimi_arena *arena);
CSIMI_FN size_t csimi_pattern_build_scratch(const csimi_counts *n);
/* ---- measure.c */
CSIMI_FN void csimi_measure(csim_world *world, csimi_step_frame *frame);
CSIMI_FN void csimi_report_contacts(csim_world *world, csimi_step_frame *frame);

/* ---- body.c: the steps every create call takes: check, make room, write behind the counts, raise them. */

CSIMI_FN csim_status csimi_start_create(csim_world *w, const void *def, const void *id, const char *function);
/* The counts now, and one more body when no slot is free. */
CSIMI_FN csimi_counts csimi_counts_with_body(const csim_world *w);
CSIMI_FN csim_status csimi_make_room(csim_world *w, csimi_counts need, const char *function);
/* Takes a slot for a body whose data begins at the counts as they are. */
CSIMI_FN int csimi_take_body(csim_world *w, csim_body_kind kind, csim_motion motion, const csim_surface_def *surface,
                             void *user_data);
CSIMI_FN void csimi_write_node(csimi_store *s, int i, csim_vec3 x, csim_vec3 v, csim_real mass, csim_real damping,
                               csim_motion motion, int slot);
/* Orders nodes by aggregate: node_user[internal] = vertex, node_of_user[vertex] = internal, both within the body.
   count: [nv + 1] ints to work in. */
CSIMI_FN void csimi_order_nodes(csimi_store *s, int nv, int groups, const int *aggregate, int *count);
CSIMI_FN void csimi_fix_node(csimi_store *s, int node);
/* The list of fixed vertices and the number of aggregates of a definition. */
CSIMI_FN csim_status csimi_check_mesh_choices(csim_world *w, const char *function, const int *fixed, int fixed_count,
                                              int vertex_count, int aggregates);
CSIMI_FN void csimi_finish_create(csim_world *w, int slot, csim_body_id *id);
/* Takes a link slot; item is its place in the array of its kind. */
CSIMI_FN int csimi_take_link(csim_world *w, csimi_link_kind kind, int item, const int *bodies, csim_real break_force);
CSIMI_FN void csimi_finish_link(csim_world *w, int slot, csim_link_id *id);

/* ---- query.c */
CSIMI_FN void csimi_set_frame_velocity(csimi_store *s, int frame, csim_vec3 w);

/* ---- checks */

/* A numeric field of a definition: its place and range. */
typedef struct csimi_field {
    const char *name;
    size_t offset;
    double lowest, highest;
    bool open_low, open_high; /* the end itself is not allowed */
    const char *range;        /* the same in words */
} csimi_field;
/* Lines of a table of fields. More than 1e9 m or m/s is a slip of units. */
#define CSIMI_ANY(type, field) \
    { #field, offsetof(type, field), -1e9, 1e9, false, false, "-1e9..1e9" }
#define CSIMI_AT_LEAST_0(type, field) \
    { #field, offsetof(type, field), 0, 1e15, false, false, "0..1e15" }
#define CSIMI_POSITIVE(type, field) \
    { #field, offsetof(type, field), 0, 1e15, true, false, "above 0, at most 1e15" }
#define CSIMI_UNIT(type, field) \
    { #field, offsetof(type, field), 0, 1, false, false, "0..1" }
#define CSIMI_COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))
CSIMI_FN csim_status csimi_check_fields(csim_error *error, const char *function, const void *def,
                                        const csimi_field *fields, int count);
CSIMI_FN csim_status csimi_check_guard(csim_error *error, const char *function, const char *def, uint32_t guard);
CSIMI_FN csim_status csimi_check_world_def(const csim_world_def *def, const char *function, csim_error *error);
CSIMI_FN csim_status csimi_check_solver_params(const csim_solver_params *params, const char *function,
                                               csim_error *error);
CSIMI_FN csim_status csimi_find_body(const csim_world *world, csim_body_id id, const char *function, int *slot,
                                     csim_error *error);
/* What filters and mixing rules are told about two slots. */
CSIMI_FN csim_pair_info csimi_pair_of(const csim_world *world, int a, int b);
CSIMI_FN unsigned char csimi_mode_of(csim_motion motion);
CSIMI_FN csim_body_id csimi_body_id_of(const csim_world *world, int slot);
CSIMI_FN csim_pose csimi_body_pose(const csimi_store *s, const csimi_state *state, int slot);
CSIMI_FN csim_status csimi_check_surface(csim_error *error, const char *function, const csim_surface_def *def);
CSIMI_FN csim_status csimi_check_enum(csim_error *error, const char *function, const char *field, int value, int count);
CSIMI_FN csim_status csimi_check_pose(csim_error *error, const char *function, csim_pose pose);
CSIMI_FN csim_status csimi_check_vec(csim_error *error, const char *function, const char *field, csim_vec3 v);
#define CSIMI_GUARD 0x435344u /* "CSD" */

#endif
/* ==== end world/private.h */

/* ==== begin io/private.h ======================================================================================== */
/* io/private: a cursor over text with one way to fail, growing arrays, and the reader all mesh formats fill. */
#ifndef CSIMI_IO_PRIVATE_H
#define CSIMI_IO_PRIVATE_H


#ifndef CONDSIM_NO_LOADERS

/* ---- text.c */

/* Reads a text that may be anything. The first failure sticks in status and moves the cursor to the end, so that
   whatever follows fails too and loops end. Every function that returns bool returns false after a failure. */
typedef struct csimi_text {
    const char *name; /* error sentences begin with it */
    const char *begin, *at, *end;
    const char *token; /* begin of what was read last: the line an error names */
    char comment;      /* starts a comment up to the end of the line; 0: there are none */
    bool one_line;     /* while set, nothing is read beyond the line */
    bool joins_lines;  /* a backslash before the end of a line joins the next one to it */
    csim_status status;
    csim_error *error; /* may be null */
} csimi_text;

CSIMI_FN csimi_text csimi_text_of(const char *name, const char *text, size_t size, csim_error *error);
/* Each says "name: line N: " and a sentence, keeps the status, and returns false. */
CSIMI_FN bool csimi_text_fail(csimi_text *t, csim_status status, const char *sentence);
CSIMI_FN bool csimi_text_fail_number(csimi_text *t, csim_status status, const char *before, int64_t number,
                                     const char *after);
CSIMI_FN bool csimi_text_expected(csimi_text *t, const char *what); /* "expected what, found ..." at the cursor */
/* Passes over blanks and comments; the same without leaving the line (true: something is left on it);
   everything up to the next line. */
CSIMI_FN void csimi_text_space(csimi_text *t);
CSIMI_FN bool csimi_text_more_on_line(csimi_text *t);
CSIMI_FN void csimi_text_next_line(csimi_text *t);
/* Whether the next word is this one, upper or lower case; takes it if so. */
CSIMI_FN bool csimi_text_accept(csimi_text *t, const char *word);
CSIMI_FN bool csimi_text_begins(const csimi_text *t, const char *word); /* the same, of any beginning, takes nothing */
CSIMI_FN bool csimi_text_need(csimi_text *t, const char *word);
CSIMI_FN bool csimi_text_skip_word(csimi_text *t);
/* Numbers end at a blank or at a mark that cannot be part of one, such as / and <. */
CSIMI_FN bool csimi_text_int(csimi_text *t, int64_t *value);
CSIMI_FN bool csimi_text_real(csimi_text *t, csim_real *value);
/* A count of things of which each takes at least so many bytes of the rest of the text: refused when negative or more
   than fit, so that nothing is ever sized by a number that merely stands in a file. */
CSIMI_FN bool csimi_text_count(csimi_text *t, size_t bytes_each, const char *things, int *count);
CSIMI_FN bool csimi_text_check_count(csimi_text *t, int64_t value, size_t bytes_each, const char *things, int *count);
/* digits * 10^exponent within 0.52 units in the last place; below 2^53 and 10^22 the nearest double. */
CSIMI_FN double csimi_decimal(uint64_t digits, int64_t exponent);

/* ---- mesh.c */

/* An array that grows, at most INT_MAX / 4 items. */
typedef struct csimi_buffer {
    unsigned char *data;
    size_t count, capacity, stride; /* in items; bytes per item */
} csimi_buffer;

typedef struct csimi_vertex_id {
    int64_t id;
    int index;
    size_t offset; /* in the text */
} csimi_vertex_id;

typedef struct csimi_mesh_reader {
    csimi_text text;
    csimi_heap heap;
    csimi_buffer vertices, tets, triangles;    /* csim_real[3], int[4], int[3] */
    csimi_buffer ids;                          /* csimi_vertex_id: names of the vertices in the file */
    csimi_buffer connectivity, offsets, types; /* int: cells read before their kind is known (VTK) */
    bool points_suffice;                       /* a mesh may be vertices alone */
} csimi_mesh_reader;

/* One zeroed item more; null (the text has failed) when memory is out. */
CSIMI_FN void *csimi_buffer_push(csimi_mesh_reader *r, csimi_buffer *buffer);
CSIMI_FN bool csimi_push_int(csimi_mesh_reader *r, csimi_buffer *buffer, int value);
#define CSIMI_ITEMS(buffer, type) ((type *)(void *)(buffer).data)

/* The next three numbers as a vertex; a vertex's name; after the last name: sorts, and refuses one given twice. */
CSIMI_FN bool csimi_read_vertex(csimi_mesh_reader *r);
CSIMI_FN bool csimi_add_id(csimi_mesh_reader *r, int64_t id);
CSIMI_FN bool csimi_sort_ids(csimi_mesh_reader *r);
/* The next number as a vertex by its name. */
CSIMI_FN bool csimi_read_id(csimi_mesh_reader *r, int *index);
CSIMI_FN bool csimi_add_tet(csimi_mesh_reader *r, const int *v);
CSIMI_FN bool csimi_add_triangle(csimi_mesh_reader *r, int a, int b, int c);

/* ---- one file each: read the whole text, or fail. csimi_read_elements reads .ele after .node. */
CSIMI_FN bool csimi_read_gmsh(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_vtk(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_vtu(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_obj(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_tetgen_nodes(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_tetgen_elements(csimi_mesh_reader *r);

#endif
#endif
/* ==== end io/private.h */

/* ==== begin base/status.c ======================================================================================= */
/* base/status: status sentences, the one way to fail, and number formatting without stdio. */

CSIM_API const char *csim_status_text(csim_status status) {
    switch (status) {
#define CSIMI_X(name, value, text) \
    case CSIM_##name: return text;
        CSIM_STATUS_LIST(CSIMI_X)
#undef CSIMI_X
    case CSIM_STATUS_LAST_: break;
    }
    return "not a status of this library";
}

/* An exponent of all ones means NaN or infinity; comparing numbers instead would vanish under -ffast-math. */
#ifdef CONDSIM_FLOAT
typedef uint32_t csimi_bits;
#define CSIMI_EXPONENT 0x7f800000u
#else
typedef uint64_t csimi_bits;
#define CSIMI_EXPONENT ((uint64_t)0x7ff << 52)
#endif

CSIMI_FN bool csimi_finite(csim_real x) {
    csimi_bits bits;
    CSIMI_MEMCPY(&bits, &x, sizeof bits);
    return (bits & CSIMI_EXPONENT) != CSIMI_EXPONENT;
}

CSIMI_FN bool csimi_all_finite(const csim_real *x, int count) {
    int i;
    csimi_bits bad = 0; /* without an early exit the loop vectorises, and the good case reads everything anyway */
    for (i = 0; i < count; ++i) {
        csimi_bits bits;
        CSIMI_MEMCPY(&bits, &x[i], sizeof bits);
        bad |= (csimi_bits)((bits & CSIMI_EXPONENT) == CSIMI_EXPONENT);
    }
    return bad == 0;
}
#undef CSIMI_EXPONENT

CSIMI_FN size_t csimi_append_text(char *buffer, size_t capacity, size_t length, const char *text) {
    if (capacity == 0) return 0;
    while (*text && length + 1 < capacity) buffer[length++] = *text++;
    if (length >= capacity) length = capacity - 1;
    buffer[length] = 0;
    return length;
}

CSIMI_FN size_t csimi_append_int(char *buffer, size_t capacity, size_t length, long value) {
    char digits[24]; /* 64 bits need 20 */
    size_t at = sizeof digits;
    unsigned long rest = value < 0 ? 0ul - (unsigned long)value : (unsigned long)value;
    digits[--at] = 0;
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    if (value < 0) digits[--at] = '-';
    return csimi_append_text(buffer, capacity, length, digits + at);
}

/* x > 0, finite, as digits * 10^exponent with 100000 <= digits <= 999999. */
static long csimi_six_digits(double x, int *exponent) {
    int e = 0;
    long digits;
    for (; x >= 1e22; e += 16) x /= 1e16; /* long strides: few roundings even from 1e308 and 1e-308 */
    for (; x < 1e-10; e -= 16) x *= 1e16;
    for (; x >= 1e6; ++e) x /= 10;
    for (; x < 1e5; --e) x *= 10;
    digits = (long)(x + 0.5);
    if (digits == 1000000) {
        digits = 100000;
        ++e;
    }
    *exponent = e;
    return digits;
}

/* 123450 with point 2 is "12.345", with point -1 "0.012345", with point 6 "123450"; out takes 16 characters. */
static void csimi_write_digits(char *out, long digits, int point) {
    int i, count = 6;
    long power = 1;
    for (; digits % 10 == 0; digits /= 10) --count;
    for (i = 1; i < count; ++i) power *= 10;
    for (i = point < 1 ? point - 1 : 0; i < count || i < point; ++i) {
        if (i == point) *out++ = '.';
        *out++ = (char)('0' + (i < 0 || !power ? 0 : (int)(digits / power % 10)));
        if (i >= 0) power /= 10;
    }
    *out = 0;
}

/* Like printf's %g: 6 significant digits, no trailing zeros, an exponent below 1e-4 and from 1e6. */
CSIMI_FN size_t csimi_append_real(char *buffer, size_t capacity, size_t length, double value) {
    char out[16];
    int exponent;
    long digits;
    uint64_t bits;
    CSIMI_MEMCPY(&bits, &value, sizeof bits);
    if (((bits >> 52) & 0x7ff) == 0x7ff) {
        const char *name = bits << 12 ? "nan" : bits >> 63 ? "-inf" : "inf";
        return csimi_append_text(buffer, capacity, length, name);
    }
    if (bits >> 63) length = csimi_append_text(buffer, capacity, length, "-");
    if (bits << 1 == 0) return csimi_append_text(buffer, capacity, length, "0");
    digits = csimi_six_digits(value < 0 ? -value : value, &exponent);
    exponent += 5; /* of the first digit */
    if (exponent >= -4 && exponent < 6) {
        csimi_write_digits(out, digits, exponent + 1);
        return csimi_append_text(buffer, capacity, length, out);
    }
    csimi_write_digits(out, digits, 1);
    length = csimi_append_text(buffer, capacity, length, out);
    length = csimi_append_text(buffer, capacity, length, exponent < 0 ? "e" : "e+");
    return csimi_append_int(buffer, capacity, length, exponent);
}

CSIMI_FN csim_status csimi_fail(csim_error *error, csim_status status, const char *function, const char *field,
                                bool has_value, double value, const char *allowed) {
    size_t length, capacity;
    if (!error) return status;
    capacity = sizeof error->text;
    error->status = status;
    length = csimi_append_text(error->text, capacity, 0, function);
    length = csimi_append_text(error->text, capacity, length, ": ");
    if (field) length = csimi_append_text(error->text, capacity, length, field);
    if (field && has_value) {
        length = csimi_append_text(error->text, capacity, length, " is ");
        length = csimi_append_real(error->text, capacity, length, value);
    } else {
        if (field) length = csimi_append_text(error->text, capacity, length, ": ");
        length = csimi_append_text(error->text, capacity, length, csim_status_text(status));
    }
    if (!allowed) return status;
    length = csimi_append_text(error->text, capacity, length, "; allowed: ");
    csimi_append_text(error->text, capacity, length, allowed);
    return status;
}
/* ==== end base/status.c */

/* ==== begin base/memory.c ======================================================================================= */
/* base/memory: an arena that counts and lays out by the same code, and the heap behind the user's hooks. */

#define CSIMI_ALIGN 64 /* a cache line, and the widest vector register */

CSIMI_FN csimi_arena csimi_arena_counting(void) {
    csimi_arena arena;
    arena.base = NULL;
    arena.size = SIZE_MAX;
    arena.used = arena.high = 0;
    arena.overflow = false;
    return arena;
}

CSIMI_FN csimi_arena csimi_arena_in(void *base, size_t size) {
    csimi_arena arena = csimi_arena_counting();
    size_t skip = (size_t)(0u - (uintptr_t)base) % CSIMI_ALIGN;
    if (skip > size) skip = size; /* too small to hold anything: stays empty */
    arena.base = base ? (unsigned char *)base + skip : NULL;
    arena.size = base ? size - skip : 0;
    return arena;
}

/* After an overflow nothing is handed out any more, but used and high go on counting what would have been needed. */
CSIMI_FN void *csimi_push(csimi_arena *arena, size_t count, size_t stride) {
    const size_t most = SIZE_MAX - (CSIMI_ALIGN - 1), start = arena->used;
    size_t bytes = stride && count > most / stride ? SIZE_MAX : count * stride;
    bytes = bytes > most ? SIZE_MAX : (bytes + CSIMI_ALIGN - 1) / CSIMI_ALIGN * CSIMI_ALIGN;
    if (bytes == SIZE_MAX || bytes > SIZE_MAX - start) {
        arena->overflow = true;
        arena->used = SIZE_MAX;
    } else {
        arena->used = start + bytes;
    }
    if (arena->used > arena->size) arena->overflow = true;
    if (arena->used > arena->high) arena->high = arena->used;
    return arena->overflow || !arena->base ? NULL : arena->base + start;
}

CSIMI_FN void csimi_pop(csimi_arena *arena, size_t mark) { arena->used = mark; }

/* ---- the heap */

#if defined(CONDSIM_MALLOC) && defined(CONDSIM_FREE)
#define CSIMI_MALLOC(size) CONDSIM_MALLOC(size)
#define CSIMI_FREE(block) CONDSIM_FREE(block)
#elif defined(CONDSIM_MALLOC) || defined(CONDSIM_FREE)
#error "condsim: define both CONDSIM_MALLOC and CONDSIM_FREE, or neither"
#elif !defined(CONDSIM_NO_HEAP)
#include <stdlib.h>
#define CSIMI_MALLOC(size) malloc(size)
#define CSIMI_FREE(block) free(block)
#endif

#if defined(CONDSIM_NO_HEAP)
static void *csimi_default_alloc(size_t size) {
    (void)size;
    return NULL;
}
static void csimi_default_free(void *block) { (void)block; }
#else
/* malloc promises 16 bytes at most: the block starts further in, with malloc's pointer just before it. */
static void *csimi_default_alloc(size_t size) {
    const size_t extra = CSIMI_ALIGN + sizeof(void *);
    unsigned char *raw = size > SIZE_MAX - extra ? NULL : (unsigned char *)CSIMI_MALLOC(size + extra);
    unsigned char *block;
    if (!raw) return NULL;
    block = raw + sizeof(void *);
    block += (size_t)(0u - (uintptr_t)block) % CSIMI_ALIGN;
    CSIMI_MEMCPY(block - sizeof(void *), &raw, sizeof raw);
    return block;
}

static void csimi_default_free(void *block) {
    unsigned char *raw;
    CSIMI_MEMCPY(&raw, (unsigned char *)block - sizeof(void *), sizeof raw);
    CSIMI_FREE(raw);
}
#endif

static void csimi_heap_release(csimi_heap *heap, void *block, size_t size) {
    if (!heap->hooks.alloc)
        csimi_default_free(block);
    else if (heap->hooks.free)
        heap->hooks.free(heap->hooks.user, block, size);
}

CSIMI_FN void *csimi_heap_alloc(csimi_heap *heap, size_t size) {
    const csim_allocator *hooks = &heap->hooks;
    void *block;
    if (size == 0) size = 1; /* null always means refused */
    if (size > SIZE_MAX - heap->held) return NULL;
    if (hooks->byte_limit && heap->held + size > hooks->byte_limit) return NULL;
    if (hooks->allocation_limit && heap->calls >= hooks->allocation_limit) return NULL;
    ++heap->calls;
    block = hooks->alloc ? hooks->alloc(hooks->user, size, CSIMI_ALIGN) : csimi_default_alloc(size);
    if (!block) return NULL;
    if ((uintptr_t)block % CSIMI_ALIGN) { /* the hook broke its promise: as good as no memory */
        csimi_heap_release(heap, block, size);
        return NULL;
    }
    heap->held += size;
    return block;
}

CSIMI_FN void csimi_heap_free(csimi_heap *heap, void *block, size_t size) {
    if (!block) return;
    if (size == 0) size = 1;
    heap->held -= size;
    csimi_heap_release(heap, block, size);
}

#undef CSIMI_MALLOC
#undef CSIMI_FREE
#undef CSIMI_ALIGN
/* ==== end base/memory.c */

/* ==== begin base/parallel.c ===================================================================================== */
/* base/parallel: loops in fixed ranges, sums in fixed trees. */

#if defined(CONDSIM_OPENMP) && !defined(_OPENMP)
#error "condsim: CONDSIM_OPENMP needs the compiler's OpenMP option (-fopenmp, /openmp)"
#endif

static void csimi_range(csim_range_fn *fn, void *context, int count, int grain, int index) {
    const int begin = index * grain;
    fn(context, begin, grain < count - begin ? begin + grain : count);
}

CSIMI_FN void csimi_parallel(const csim_tasks *tasks, int count, int grain, csim_range_fn *fn, void *context) {
    int i, ranges; /* declared before the loop: OpenMP 2.0 */
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    if (tasks && tasks->run && count > grain) {
        tasks->run(tasks->user, count, grain, fn, context);
        return;
    }
    ranges = count / grain + (count % grain != 0);
#ifdef CONDSIM_OPENMP
    if (tasks && ranges > 1) {
#pragma omp parallel for schedule(dynamic, 1)
        for (i = 0; i < ranges; ++i) csimi_range(fn, context, count, grain, i);
        return;
    }
#endif
    for (i = 0; i < ranges; ++i) csimi_range(fn, context, count, grain, i);
}

/* Partial sums of 2^level neighbouring chunks, at most one a level, as the digits of a binary counter: the tree of
   csimi_tree_sum without storing the leaves. */
typedef struct csimi_counter {
    double part[32];
    unsigned chunks;
} csimi_counter;

static void csimi_counter_add(csimi_counter *c, double sum) {
    unsigned full = c->chunks++;
    int level = 0;
    for (; full & 1; full >>= 1) sum = c->part[level++] + sum;
    c->part[level] = sum;
}

static double csimi_counter_total(const csimi_counter *c) {
    double sum = 0;
    unsigned left = c->chunks;
    bool first = true;
    int level;
    for (level = 0; left; ++level, left >>= 1) {
        if (!(left & 1)) continue;
        sum = first ? c->part[level] : c->part[level] + sum;
        first = false;
    }
    return sum;
}

CSIMI_FN double csimi_tree_sum(int count, double *x) {
    int i;
    if (count <= 0) return 0;
    for (; count > 1; count = (count + 1) / 2) {
        for (i = 0; i < count / 2; ++i) x[i] = x[2 * i] + x[2 * i + 1];
        if (count & 1) x[i] = x[count - 1];
    }
    return x[0];
}

static double csimi_join_lanes(const double *s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* One chunk. Eight independent lanes hide the latency of the adder and let the compiler vectorise a sum whose order
   it must not change: 2.5 to 4 times a single accumulator. They are written out because gcc -O2 leaves an array of
   lanes in memory, three times slower. */
static double csimi_chunk_dot(int count, const csim_real *CSIMI_RESTRICT a, const csim_real *CSIMI_RESTRICT b) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, lane[8];
    int i, k;
    for (i = 0; i + 8 <= count; i += 8) {
        s0 += (double)a[i] * (double)b[i];
        s1 += (double)a[i + 1] * (double)b[i + 1];
        s2 += (double)a[i + 2] * (double)b[i + 2];
        s3 += (double)a[i + 3] * (double)b[i + 3];
        s4 += (double)a[i + 4] * (double)b[i + 4];
        s5 += (double)a[i + 5] * (double)b[i + 5];
        s6 += (double)a[i + 6] * (double)b[i + 6];
        s7 += (double)a[i + 7] * (double)b[i + 7];
    }
    lane[0] = s0, lane[1] = s1, lane[2] = s2, lane[3] = s3;
    lane[4] = s4, lane[5] = s5, lane[6] = s6, lane[7] = s7;
    for (k = 0; i < count; ++i, ++k) lane[k] += (double)a[i] * (double)b[i];
    return csimi_join_lanes(lane);
}

static double csimi_chunk_weighted(int count, const csim_real *CSIMI_RESTRICT w, const csim_real *CSIMI_RESTRICT a,
                                   const csim_real *CSIMI_RESTRICT b) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, lane[8];
    int i, k;
    for (i = 0; i + 8 <= count; i += 8) {
        s0 += (double)w[i] * (double)a[i] * (double)b[i];
        s1 += (double)w[i + 1] * (double)a[i + 1] * (double)b[i + 1];
        s2 += (double)w[i + 2] * (double)a[i + 2] * (double)b[i + 2];
        s3 += (double)w[i + 3] * (double)a[i + 3] * (double)b[i + 3];
        s4 += (double)w[i + 4] * (double)a[i + 4] * (double)b[i + 4];
        s5 += (double)w[i + 5] * (double)a[i + 5] * (double)b[i + 5];
        s6 += (double)w[i + 6] * (double)a[i + 6] * (double)b[i + 6];
        s7 += (double)w[i + 7] * (double)a[i + 7] * (double)b[i + 7];
    }
    lane[0] = s0, lane[1] = s1, lane[2] = s2, lane[3] = s3;
    lane[4] = s4, lane[5] = s5, lane[6] = s6, lane[7] = s7;
    for (k = 0; i < count; ++i, ++k) lane[k] += (double)w[i] * (double)a[i] * (double)b[i];
    return csimi_join_lanes(lane);
}

CSIMI_FN double csimi_sum_dot(int count, const csim_real *a, const csim_real *b) {
    csimi_counter c;
    int i;
    c.chunks = 0;
    for (i = 0; i < count; i += CSIMI_CHUNK)
        csimi_counter_add(&c, csimi_chunk_dot(csimi_imin(count - i, CSIMI_CHUNK), a + i, b + i));
    return csimi_counter_total(&c);
}

CSIMI_FN double csimi_sum_weighted(int count, const csim_real *w, const csim_real *a, const csim_real *b) {
    csimi_counter c;
    int i;
    c.chunks = 0;
    for (i = 0; i < count; i += CSIMI_CHUNK)
        csimi_counter_add(&c, csimi_chunk_weighted(csimi_imin(count - i, CSIMI_CHUNK), w + i, a + i, b + i));
    return csimi_counter_total(&c);
}
/* ==== end base/parallel.c */

/* ==== begin math/elementary.c =================================================================================== */
/* math/elementary: sin, cos, atan2, exp and log from +, -, *, / alone, for CONDSIM_OWN_MATH: the same bits with every C
   library. Argument reduction, then the power series, all in double; within 1e-15 of the exact value (relative, or of 1
   for sin and cos). */

#ifdef CONDSIM_OWN_MATH

/* x - k c for c = high + low, high with 33 bits so that k * high is exact up to k = 2^20. */
static double csimi_reduce(double x, double k, double high, double low) { return (x - k * high) - k * low; }

/* Nearest integer of |x| < 2^30. */
static int csimi_nearest(double x) { return (int)(x < 0 ? x - 0.5 : x + 0.5); }

/* c[0] + x c[1] + x^2 c[2] + ... */
static double csimi_polynomial(int count, const double *c, double x) {
    double sum = c[count - 1];
    int i;
    for (i = count - 2; i >= 0; i--) sum = c[i] + x * sum;
    return sum;
}

/* sin (quarter 0) or cos (quarter 1) of x: r in [-pi/4, pi/4] plus quarter turns. Beyond 1e9 rad there is no meaning in
   the digits of x and it is taken as zero; NaN and infinity give NaN. */
static double csimi_turn(double x, int quarter) {
    static const double odd[] = {1,
                                 -1.0 / 6,
                                 1.0 / 120,
                                 -1.0 / 5040,
                                 1.0 / 362880,
                                 -1.0 / 39916800,
                                 1.0 / 6227020800,
                                 -1.0 / 1307674368000,
                                 1.0 / 355687428096000};
    static const double even[] = {1,
                                  -1.0 / 2,
                                  1.0 / 24,
                                  -1.0 / 720,
                                  1.0 / 40320,
                                  -1.0 / 3628800,
                                  1.0 / 479001600,
                                  -1.0 / 87178291200,
                                  1.0 / 20922789888000,
                                  -1.0 / 6402373705728000};
    double r, y;
    int k;
    if (!(x - x == 0)) return x - x;
    if (!(x < 1e9 && x > -1e9)) x = 0;
    k = csimi_nearest(x * 0.63661977236758134308);
    r = csimi_reduce(x, k, 1.5707963267341256, 6.077100506303966e-11) - k * 2.0222662487959506e-21;
    quarter += k;
    y = quarter & 1 ? csimi_polynomial(10, even, r * r) : r * csimi_polynomial(9, odd, r * r);
    return quarter & 2 ? -y : y;
}

CSIMI_FN csim_real csimi_sin(csim_real x) { return (csim_real)csimi_turn((double)x, 0); }
CSIMI_FN csim_real csimi_cos(csim_real x) { return (csim_real)csimi_turn((double)x, 1); }

/* x + x^3 s/3 + x^5/5 + ...: atanh for s = 1, atan for s = -1, |x| <= 0.2. */
static double csimi_odd_series(double x, double s) {
    double square = s * x * x, sum = 0;
    int k;
    for (k = 25; k > 1; k -= 2) sum = (1.0 / k + sum) * square;
    return x + x * sum;
}

/* atan t for 0 <= t <= 1, from the nearest of atan 0, atan tan(pi/8), atan 1. */
static double csimi_arc(double t) {
    const double pi = 3.14159265358979323846, c = 0.41421356237309504880;
    if (t < 0.2) return csimi_odd_series(t, -1);
    if (t < 0.66) return pi / 8 + csimi_odd_series((t - c) / (1 + t * c), -1);
    return pi / 4 + csimi_odd_series((t - 1) / (1 + t), -1);
}

CSIMI_FN csim_real csimi_atan2(csim_real y, csim_real x) {
    const double pi = 3.14159265358979323846;
    double a = y < 0 ? -(double)y : (double)y, b = x < 0 ? -(double)x : (double)x, angle;
    if (a == 0 && b == 0) return y;
    angle = a == b ? pi / 4 : a < b ? csimi_arc(a / b) : pi / 2 - csimi_arc(b / a);
    if (x < 0) angle = pi - angle;
    return (csim_real)(y < 0 ? -angle : angle);
}

/* 2^k for -1022 <= k <= 1023, by its bits. */
static double csimi_two_to(int k) {
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double x;
    CSIMI_MEMCPY(&x, &bits, sizeof x);
    return x;
}

CSIMI_FN csim_real csimi_exp(csim_real argument) {
    static const double c[] = {
        1,          1,           1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    double x = (double)argument, r;
    int k;
    if (x != x) return argument;
    x = x < -800 ? -800 : x > 800 ? 800 : x; /* to zero or infinity by the powers of two */
    k = csimi_nearest(x * 1.44269504088896340736);
    r = csimi_polynomial(14, c, csimi_reduce(x, k, 0.6931471804855391, 7.440617110012397e-11));
    return (csim_real)(r * csimi_two_to(k / 2) * csimi_two_to(k - k / 2));
}

CSIMI_FN csim_real csimi_log(csim_real argument) {
    double x = (double)argument, k = 0, zero = x - x;
    uint64_t bits;
    if (!(x > 0)) return (csim_real)((x == 0 ? -1 : zero) / zero); /* minus infinity, and NaN below zero */
    if (zero != 0) return argument;
    if (x < 1e-300) {
        x *= 18014398509481984.0; /* 2^54 lifts subnormals */
        k = -54;
    }
    CSIMI_MEMCPY(&bits, &x, sizeof bits);
    k += (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    CSIMI_MEMCPY(&x, &bits, sizeof x);
    if (x > 1.41421356237309504880) {
        x /= 2;
        k += 1;
    }
    return (csim_real)(k * 0.6931471804855391 +
                       (k * 7.440617110012397e-11 + 2 * csimi_odd_series((x - 1) / (x + 1), 1)));
}

#endif
/* ==== end math/elementary.c */

/* ==== begin math/vec3.c ========================================================================================= */
/* math/vec3 */

/* The plain square loses numbers beyond the square root of the range: those take the scaled way. */
CSIM_API csim_real csim_length(csim_vec3 a) {
    csim_real square = csim_dot(a, a), scale;
    if (square > CSIMI_TINY && square < CSIMI_HUGE) return CSIMI_SQRT(square);
    scale = csimi_max(csimi_abs(a.x), csimi_max(csimi_abs(a.y), csimi_abs(a.z)));
    if (!(scale > 0) || !csimi_finite(scale)) return square == 0 ? scale : square;
    a = csim_v3(a.x / scale, a.y / scale, a.z / scale);
    return scale * CSIMI_SQRT(csim_dot(a, a));
}

CSIM_API csim_vec3 csim_normalize(csim_vec3 a) {
    csim_real square = csim_dot(a, a), scale, length;
    if (!(square > CSIMI_TINY && square < CSIMI_HUGE)) { /* far from 1, zero or not finite */
        scale = csimi_max(csimi_abs(a.x), csimi_max(csimi_abs(a.y), csimi_abs(a.z)));
        if (!(scale > 0)) return csim_v3(0, 0, 0);
        a = csim_v3(a.x / scale, a.y / scale, a.z / scale);
        square = csim_dot(a, a);
    }
    length = CSIMI_SQRT(square);
    return csim_v3(a.x / length, a.y / length, a.z / length);
}

CSIM_API csim_quat csim_quat_normalize(csim_quat q) {
    csim_real scale = csimi_max(csimi_max(csimi_abs(q.w), csimi_abs(q.x)), csimi_max(csimi_abs(q.y), csimi_abs(q.z)));
    csim_real s;
    if (!(scale > 0)) return csim_quat_identity();
    q.w /= scale;
    q.x /= scale;
    q.y /= scale;
    q.z /= scale;
    s = 1 / CSIMI_SQRT(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    q.w *= s;
    q.x *= s;
    q.y *= s;
    q.z *= s;
    return q;
}

/* cos(t/2) and sin(t/2)/t times the vector; near zero by series, the first term left out is below rounding. */
CSIM_API csim_quat csim_quat_exp(csim_vec3 w) {
    csim_real square = csim_dot(w, w), factor;
    csim_quat q;
    if (square < CSIM_R(1e-4)) {
        factor = CSIM_R(0.5) - square * (1 - square / 80) / 48;
        q.w = 1 - square * (1 - square * (1 - square / 120) / 48) / 8;
    } else {
        csim_real angle = csim_length(w), half = angle / 2;
        factor = CSIMI_SIN(half) / angle;
        q.w = CSIMI_COS(half);
    }
    q.x = factor * w.x;
    q.y = factor * w.y;
    q.z = factor * w.z;
    return q;
}

CSIM_API csim_quat csim_quat_axis_angle(csim_vec3 axis, csim_real angle) {
    csim_vec3 n = csim_normalize(axis);
    csim_quat q;
    csim_real s = CSIMI_SIN(angle / 2);
    if (csim_dot(n, n) == 0) return csim_quat_identity();
    q.w = CSIMI_COS(angle / 2);
    q.x = s * n.x;
    q.y = s * n.y;
    q.z = s * n.z;
    return q;
}

CSIM_API csim_mat3 csim_quat_matrix(csim_quat q) {
    csim_real xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    csim_real xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z, wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    csim_mat3 R;
    R.m[0] = 1 - 2 * (yy + zz);
    R.m[1] = 2 * (xy - wz);
    R.m[2] = 2 * (xz + wy);
    R.m[3] = 2 * (xy + wz);
    R.m[4] = 1 - 2 * (xx + zz);
    R.m[5] = 2 * (yz - wx);
    R.m[6] = 2 * (xz - wy);
    R.m[7] = 2 * (yz + wx);
    R.m[8] = 1 - 2 * (xx + yy);
    return R;
}
/* ==== end math/vec3.c */

/* ==== begin math/decompose.c ==================================================================================== */
/* math/decompose */

CSIMI_FN void csimi_matmul(const csim_real *A, const csim_real *B, csim_real *C) {
    int i;
    for (i = 0; i < 3; i++) {
        csim_real a = A[3 * i], b = A[3 * i + 1], c = A[3 * i + 2];
        C[3 * i] = a * B[0] + b * B[3] + c * B[6];
        C[3 * i + 1] = a * B[1] + b * B[4] + c * B[7];
        C[3 * i + 2] = a * B[2] + b * B[5] + c * B[8];
    }
}

CSIMI_FN void csimi_matmulT(const csim_real *A, const csim_real *B, csim_real *C) {
    int i;
    for (i = 0; i < 3; i++) csimi_mul3(B, A + 3 * i, C + 3 * i);
}

CSIMI_FN void csimi_matTmul(const csim_real *A, const csim_real *B, csim_real *C) {
    int i;
    for (i = 0; i < 3; i++) {
        csim_real a = A[i], b = A[3 + i], c = A[6 + i];
        C[3 * i] = a * B[0] + b * B[3] + c * B[6];
        C[3 * i + 1] = a * B[1] + b * B[4] + c * B[7];
        C[3 * i + 2] = a * B[2] + b * B[5] + c * B[8];
    }
}

CSIMI_FN csim_real csimi_det3(const csim_real *A) {
    return A[0] * (A[4] * A[8] - A[5] * A[7]) + A[1] * (A[5] * A[6] - A[3] * A[8]) + A[2] * (A[3] * A[7] - A[4] * A[6]);
}

/* C = cofactors of A: C' = det(A) A^-1, and for a rotation C = A. */
static void csimi_cofactor3(const csim_real *A, csim_real *C) {
    C[0] = A[4] * A[8] - A[5] * A[7];
    C[1] = A[5] * A[6] - A[3] * A[8];
    C[2] = A[3] * A[7] - A[4] * A[6];
    C[3] = A[2] * A[7] - A[1] * A[8];
    C[4] = A[0] * A[8] - A[2] * A[6];
    C[5] = A[1] * A[6] - A[0] * A[7];
    C[6] = A[1] * A[5] - A[2] * A[4];
    C[7] = A[2] * A[3] - A[0] * A[5];
    C[8] = A[0] * A[4] - A[1] * A[3];
}

/* Largest entry; infinite or NaN when one entry is. */
static csim_real csimi_scale3(const csim_real *A) {
    csim_real m = 0, sum = 0;
    int i;
    for (i = 0; i < 9; i++) {
        m = csimi_max(m, csimi_abs(A[i]));
        sum += A[i] - A[i];
    }
    return m + sum;
}

CSIMI_FN bool csimi_inverse3(const csim_real *A, csim_real *inv) {
    csim_real S[9], C[9], scale = csimi_scale3(A), det;
    int i, j;
    if (!(scale > 0) || !csimi_finite(scale)) return false;
    for (i = 0; i < 9; i++) S[i] = A[i] / scale;
    csimi_cofactor3(S, C);
    det = S[0] * C[0] + S[1] * C[1] + S[2] * C[2];
    if (!(csimi_abs(det) > CSIM_R(1e-3) * CSIMI_EPS * CSIMI_EPS)) return false;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) inv[3 * i + j] = C[3 * j + i] / det / scale;
    return true;
}

CSIMI_FN void csimi_skew(const csim_real *w, csim_real *S) {
    S[0] = S[4] = S[8] = 0;
    S[1] = -w[2];
    S[2] = w[1];
    S[3] = w[2];
    S[5] = -w[0];
    S[6] = -w[1];
    S[7] = w[0];
}

/* Turns columns p and q of a 3x3 matrix: (p, q) <- (c p - s q, s p + c q). */
static void csimi_turn_columns(csim_real *A, int p, int q, csim_real c, csim_real s) {
    int i;
    for (i = 0; i < 9; i += 3) {
        csim_real a = A[i + p], b = A[i + q];
        A[i + p] = c * a - s * b;
        A[i + q] = s * a + c * b;
    }
}

/* Cosine and sine of the rotation that makes [a, g; g, b] diagonal (Golub and Van Loan 8.5.2), the small angle. */
static void csimi_jacobi_angle(csim_real a, csim_real b, csim_real g, csim_real *c, csim_real *s) {
    csim_real tau = (b - a) / (2 * g), t = 1 / (csimi_abs(tau) + CSIMI_SQRT(1 + tau * tau));
    if (!(csimi_abs(tau) < CSIMI_HUGE)) t = 0;
    if (tau < 0) t = -t;
    *c = 1 / CSIMI_SQRT(1 + t * t);
    *s = t * *c;
}

static void csimi_swap_columns(csim_real *A, int p, int q) {
    int i;
    for (i = 0; i < 9; i += 3) {
        csim_real a = A[i + p];
        A[i + p] = A[i + q];
        A[i + q] = -a; /* the sign keeps the determinant */
    }
}

static void csimi_identity3(csim_real *A) {
    int i;
    for (i = 0; i < 9; i++) A[i] = i % 4 == 0 ? CSIM_R(1) : CSIM_R(0);
}

#define CSIMI_JACOBI_SWEEPS 16

/* One rotation of the symmetric S in the plane (p, q), accumulated in V; false when the entry is already zero. */
static bool csimi_eigen_turn(csim_real *S, csim_real *V, int p, int q) {
    csim_real a = S[4 * p], b = S[4 * q], g = S[3 * p + q], c, s, T[9];
    int i, j;
    if (csimi_abs(g) <= CSIM_R(0.25) * CSIMI_EPS * CSIMI_SQRT(csimi_abs(a)) * CSIMI_SQRT(csimi_abs(b)) ||
        csimi_abs(g) <= CSIMI_TINY)
        return false;
    csimi_jacobi_angle(a, b, g, &c, &s);
    csimi_turn_columns(V, p, q, c, s);
    csimi_turn_columns(S, p, q, c, s);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) T[3 * j + i] = S[3 * i + j];
    csimi_turn_columns(T, p, q, c, s);
    T[3 * p + q] = T[3 * q + p] = 0;
    CSIMI_MEMCPY(S, T, sizeof T);
    return true;
}

CSIMI_FN void csimi_eigen_sym3(const csim_real *A, csim_real *eigenvalues, csim_real *V) {
    csim_real S[9], scale = csimi_scale3(A);
    int i, sweep;
    bool active = scale > 0 && csimi_finite(scale);
    csimi_identity3(V);
    for (i = 0; i < 9; i++) S[i] = active ? A[i] / scale : 0;
    for (sweep = 0; active && sweep < CSIMI_JACOBI_SWEEPS; sweep++) {
        bool a = csimi_eigen_turn(S, V, 0, 1), b = csimi_eigen_turn(S, V, 0, 2), c = csimi_eigen_turn(S, V, 1, 2);
        active = a || b || c;
    }
    for (i = 0; i < 3; i++) eigenvalues[i] = scale * S[4 * i];
    for (i = 0; i < 3; i++) { /* three compare-exchanges sort three numbers */
        int p = i == 1 ? 1 : 0, q = p + 1;
        csim_real a = eigenvalues[p];
        if (eigenvalues[q] >= a) continue;
        eigenvalues[p] = eigenvalues[q];
        eigenvalues[q] = a;
        csimi_swap_columns(V, p, q);
    }
}

static csim_real csimi_column_dot(const csim_real *A, int p, int q) {
    return A[p] * A[q] + A[3 + p] * A[3 + q] + A[6 + p] * A[6 + q];
}

/* Makes columns p and q of B orthogonal (one-sided Jacobi, Hestenes) and the longer one first. */
static bool csimi_svd_turn(csim_real *B, csim_real *V, int p, int q) {
    csim_real a = csimi_column_dot(B, p, p), b = csimi_column_dot(B, q, q), g = csimi_column_dot(B, p, q), c, s;
    bool turned = csimi_abs(g) > CSIMI_EPS * CSIMI_SQRT(a) * CSIMI_SQRT(b) && csimi_abs(g) > CSIMI_TINY;
    if (turned) {
        csimi_jacobi_angle(a, b, g, &c, &s);
        csimi_turn_columns(B, p, q, c, s);
        csimi_turn_columns(V, p, q, c, s);
    }
    if (csimi_column_dot(B, p, p) < csimi_column_dot(B, q, q)) {
        csimi_swap_columns(B, p, q);
        csimi_swap_columns(V, p, q);
    }
    return turned;
}

/* A unit vector orthogonal to the unit vector u. */
static csim_vec3 csimi_any_tangent(csim_vec3 u) {
    csim_real R[9], n[3];
    csimi_store3(n, u);
    csimi_frame(n, NULL, R);
    return csim_v3(R[3], R[4], R[5]);
}

static csim_vec3 csimi_column(const csim_real *B, int j) { return csim_v3(B[j], B[3 + j], B[6 + j]); }

CSIMI_FN void csimi_svd3(const csim_real *F, csim_real *U, csim_real *s, csim_real *V) {
    csim_real B[9], scale = csimi_scale3(F);
    csim_vec3 u[3], b;
    int i, sweep;
    csimi_identity3(U);
    csimi_identity3(V);
    s[0] = s[1] = s[2] = 0;
    if (!(scale > 0) || !csimi_finite(scale)) return;
    for (i = 0; i < 9; i++) B[i] = F[i] / scale;
    for (sweep = 0; sweep < CSIMI_JACOBI_SWEEPS; sweep++) {
        bool a01 = csimi_svd_turn(B, V, 0, 1), a02 = csimi_svd_turn(B, V, 0, 2), a12 = csimi_svd_turn(B, V, 1, 2);
        if (!a01 && !a02 && !a12) break;
    }
    b = csimi_column(B, 0);
    s[0] = csim_length(b);
    u[0] = csim_scale(1 / s[0], b);
    b = csimi_column(B, 1);
    b = csim_madd(b, -csim_dot(u[0], b), u[0]);
    s[1] = csimi_min(csim_length(b), s[0]);
    if (s[1] * s[1] > CSIMI_TINY) {
        u[1] = csim_scale(1 / s[1], b);
        u[1] = csim_normalize(csim_madd(u[1], -csim_dot(u[0], u[1]), u[0]));
        u[2] = csim_cross(u[0], u[1]);
        s[2] = csimi_clamp(csim_dot(u[2], csimi_column(B, 2)), -s[1], s[1]);
    } else { /* rank one: any frame around the first axis will do */
        u[1] = csimi_any_tangent(u[0]);
        u[2] = csim_cross(u[0], u[1]);
        s[1] = 0;
    }
    for (i = 0; i < 3; i++) {
        U[i] = u[i].x;
        U[3 + i] = u[i].y;
        U[6 + i] = u[i].z;
        s[i] *= scale;
    }
}

/* Newton's iteration X <- (X + X^-T) / 2 (Higham 1986): a dozen nanoseconds a step, three or four steps at the strains
   of a solid. It converges quadratically to the rotation when det F > 0; false when F is too far from one for it. */
static bool csimi_polar_newton(const csim_real *F, csim_real *R) {
    csim_real X[9], C[9], square = 0;
    int i, iteration;
    for (i = 0; i < 9; i++) {
        X[i] = F[i];
        square += F[i] * F[i];
    }
    if (!(square > CSIM_R(0.03) && square < 300)) return false;
    for (iteration = 0; iteration < 12; iteration++) {
        csim_real det, half, change = 0;
        csimi_cofactor3(X, C);
        det = X[0] * C[0] + X[1] * C[1] + X[2] * C[2];
        if (iteration == 0 && !(det > CSIM_R(1e-3) * square)) return false;
        half = CSIM_R(0.5) / det;
        for (i = 0; i < 9; i++) {
            csim_real x = CSIM_R(0.5) * X[i] + half * C[i], d = x - X[i];
            change += d * d;
            X[i] = x;
        }
        if (change < CSIMI_EPS) { /* the error of X is now change / 2 */
            CSIMI_MEMCPY(R, X, sizeof X);
            return true;
        }
    }
    return false;
}

/* The rotation that maximises tr(R'F): the polar factor where det F > 0, and U V' with the sign on the smallest
   stretch elsewhere, so that it passes through flat and inverted F without a jump (Irving et al. 2004). */
CSIMI_FN void csimi_polar3(const csim_real *F, csim_real *R) {
    csim_real U[9], s[3], V[9];
    if (csimi_polar_newton(F, R)) return;
    csimi_svd3(F, U, s, V);
    csimi_matmulT(U, V, R);
}

/* Duff et al. 2017, with the change of chart at the latitude n_z = -0.6 instead of the equator: walls, floors and
   ceilings all lie inside a chart, and the denominator stays above 0.4. */
CSIMI_FN void csimi_frame(const csim_real *n, const csim_real *hint, csim_real *R) {
    csim_vec3 axis = csimi_load3(n);
    csim_real sign = n[2] >= CSIM_R(-0.6) ? CSIM_R(1) : CSIM_R(-1);
    csim_real a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
    csim_vec3 t1 = csim_v3(1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]);
    csim_vec3 t2 = csim_v3(b, sign + n[1] * n[1] * a, -n[1]);
    if (hint) {
        csim_vec3 h = csim_normalize(csimi_load3(hint)), t = csim_madd(h, -csim_dot(h, axis), axis);
        if (csim_dot(t, t) > CSIMI_EPS) { /* the hint is not along the normal */
            t = csim_normalize(t);
            t1 = csim_normalize(csim_madd(t, -csim_dot(t, axis), axis));
            t2 = csim_cross(axis, t1);
        }
    }
    csimi_store3(R, axis);
    csimi_store3(R + 3, t1);
    csimi_store3(R + 6, t2);
}

#undef CSIMI_JACOBI_SWEEPS
/* ==== end math/decompose.c */

/* ==== begin sparse/pattern.c ==================================================================================== */
/* sparse/pattern */

CSIMI_FN size_t csimi_pattern_scratch(int n, int pair_count) { return 2 * ((size_t)n + (size_t)pair_count) + 1; }

/* Buckets the pairs by either end: other[start[j]] ... are the partners of block j, unsorted and repeated. */
static void csimi_pattern_bucket(int n, int pair_count, const int *pairs, int *start, int *other) {
    int i, k;
    for (i = 0; i <= n; i++) start[i] = 0;
    for (k = 0; k < 2 * pair_count; k++) start[pairs[k]]++;
    for (i = 0; i < n; i++) start[i + 1] += start[i];
    for (k = pair_count - 1; k >= 0; k--) { /* filling from the back turns ends into starts */
        other[--start[pairs[2 * k]]] = pairs[2 * k + 1];
        other[--start[pairs[2 * k + 1]]] = pairs[2 * k];
    }
}

/* Walks the columns in ascending order, so that every row meets its columns sorted; last[i] is the last column row i
   met. With col null it counts blocks into fill, else it writes them from fill on. */
static void csimi_pattern_walk(int n, const int *start, const int *other, int *last, int *fill, int *col) {
    int i, j, k;
    for (i = 0; i < n; i++) last[i] = -1;
    for (j = 0; j < n; j++)
        for (k = start[j] - 1; k < start[j + 1]; k++) {
            i = k < start[j] ? j : other[k]; /* the diagonal first */
            if (last[i] == j) continue;
            last[i] = j;
            if (col) col[fill[i]] = j;
            fill[i]++;
        }
}

CSIMI_FN int csimi_pattern_build(int n, int pair_count, const int *pairs, int *row, int *col, int *diag, int capacity,
                                 int *needed, int *scratch) {
    int *start = scratch, *last = start + n + 1, *other = last + n, i, k;
    csimi_pattern_bucket(n, pair_count, pairs, start, other);
    for (i = 0; i <= n; i++) row[i] = 0;
    csimi_pattern_walk(n, start, other, last, row + 1, NULL);
    for (i = 0; i < n; i++) row[i + 1] += row[i];
    *needed = row[n];
    if (row[n] > capacity) return -1;
    for (i = 0; i < n; i++) diag[i] = row[i];
    csimi_pattern_walk(n, start, other, last, diag, col);
    for (i = 0; i < n; i++)
        for (k = row[i]; k < row[i + 1]; k++)
            if (col[k] == i) diag[i] = k;
    return row[n];
}

CSIMI_FN int csimi_pattern_find(const csim_block_matrix *A, int i, int j) {
    int low = A->row[i], high = A->row[i + 1] - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        if (A->col[middle] == j) return middle;
        if (A->col[middle] < j)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}
/* ==== end sparse/pattern.c */

/* ==== begin sparse/product.c ==================================================================================== */
/* sparse/product */

/* One block row, y = sum M_k x_k, is the hot loop of every solver. Each entry of y is gathered in three sums, one a
   column of the blocks, in every variant alike, so all give the same bits: with the vectors of gcc and clang four lanes
   wide where the machine has them (the fourth lane reads on into the next block and is thrown away, so the last block
   goes alone), two lanes and one elsewhere, plain numbers for other compilers. Without them gcc keeps to scalars here
   and is 1.2 to 2 times slower. */
#if !defined(__GNUC__)
#define CSIMI_LANES 1
#elif defined(__AVX__) || (CSIM_REAL_SIZE == 4 && (defined(__SSE__) || defined(__ARM_NEON)))
#define CSIMI_LANES 4
#else
#define CSIMI_LANES 2
#endif
#if CSIMI_LANES > 1
typedef csim_real csimi_lanes
    __attribute__((vector_size(CSIMI_LANES * CSIM_REAL_SIZE), aligned(CSIM_REAL_SIZE), may_alias));
#define CSIMI_LOAD(p) (*(const csimi_lanes *)(p))
#endif

static void csimi_product_row(int count, const int *CSIMI_RESTRICT col, const csim_real *CSIMI_RESTRICT M,
                              const csim_real *CSIMI_RESTRICT x, csim_real *CSIMI_RESTRICT y) {
    const csim_real *p;
    int k;
#if CSIMI_LANES == 4
    csimi_lanes a = {0, 0, 0, 0}, b = a, c = a;
    for (k = 0; k < count - 1; k++, M += 9) {
        csimi_lanes v = CSIMI_LOAD(x + 3 * (size_t)col[k]);
        a += CSIMI_LOAD(M) * v;
        b += CSIMI_LOAD(M + 3) * v;
        c += CSIMI_LOAD(M + 6) * v;
    }
    p = x + 3 * (size_t)col[k];
    y[0] = (a[0] + M[0] * p[0]) + (a[1] + M[1] * p[1]) + (a[2] + M[2] * p[2]);
    y[1] = (b[0] + M[3] * p[0]) + (b[1] + M[4] * p[1]) + (b[2] + M[5] * p[2]);
    y[2] = (c[0] + M[6] * p[0]) + (c[1] + M[7] * p[1]) + (c[2] + M[8] * p[2]);
#elif CSIMI_LANES == 2
    csimi_lanes a = {0, 0}, b = a, c = a;
    csim_real a2 = 0, b2 = 0, c2 = 0;
    for (k = 0; k < count; k++, M += 9) {
        csimi_lanes v = CSIMI_LOAD(p = x + 3 * (size_t)col[k]);
        a += CSIMI_LOAD(M) * v;
        a2 += M[2] * p[2];
        b += CSIMI_LOAD(M + 3) * v;
        b2 += M[5] * p[2];
        c += CSIMI_LOAD(M + 6) * v;
        c2 += M[8] * p[2];
    }
    y[0] = a[0] + a[1] + a2;
    y[1] = b[0] + b[1] + b2;
    y[2] = c[0] + c[1] + c2;
#else
    csim_real a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, b2 = 0, c0 = 0, c1 = 0, c2 = 0;
    for (k = 0; k < count; k++, M += 9) {
        csim_real v0, v1, v2;
        p = x + 3 * (size_t)col[k];
        v0 = p[0], v1 = p[1], v2 = p[2];
        a0 += M[0] * v0, a1 += M[1] * v1, a2 += M[2] * v2;
        b0 += M[3] * v0, b1 += M[4] * v1, b2 += M[5] * v2;
        c0 += M[6] * v0, c1 += M[7] * v1, c2 += M[8] * v2;
    }
    y[0] = a0 + a1 + a2;
    y[1] = b0 + b1 + b2;
    y[2] = c0 + c1 + c2;
#endif
}

#undef CSIMI_LANES
#undef CSIMI_LOAD

CSIMI_FN void csimi_product_rows(const csim_block_matrix *A, const csim_real *x, csim_real *y, int begin, int end) {
    int i;
    for (i = begin; i < end; i++) {
        size_t first = (size_t)A->row[i];
        csimi_product_row(A->row[i + 1] - A->row[i], A->col + first, A->val + 9 * first, x, y + 3 * (size_t)i);
    }
}

typedef struct csimi_product_job {
    const csim_block_matrix *A;
    const csim_real *x;
    csim_real *y;
} csimi_product_job;

static void csimi_product_range(void *context, int begin, int end) {
    const csimi_product_job *job = (const csimi_product_job *)context;
    csimi_product_rows(job->A, job->x, job->y, begin, end);
}

/* Rows a task takes: enough work to pay for waking a thread. */
#define CSIMI_PRODUCT_GRAIN 256

CSIMI_FN void csimi_product(const csim_block_matrix *A, const csim_real *x, csim_real *y, const csim_tasks *tasks) {
    csimi_product_job job;
    job.A = A;
    job.x = x;
    job.y = y;
    csimi_parallel(tasks, A->n, CSIMI_PRODUCT_GRAIN, csimi_product_range, &job);
}

#undef CSIMI_PRODUCT_GRAIN
/* ==== end sparse/product.c */

/* ==== begin sparse/krylov.c ===================================================================================== */
/* sparse/krylov */

/* Inverses of the diagonal blocks, each positive definite by its leading minors; false when one is not. */
static bool csimi_invert_diagonal(const csim_block_matrix *A, csim_real *inverse) {
    int i;
    for (i = 0; i < A->n; i++) {
        const csim_real *D = A->val + 9 * (size_t)A->diag[i];
        if (!(D[0] > 0 && D[4] > 0 && D[8] > 0 && D[0] * D[4] > D[1] * D[3])) return false;
        if (!csimi_inverse3(D, inverse + 9 * (size_t)i) || !(inverse[9 * (size_t)i] > 0)) return false;
    }
    return true;
}

static void csimi_apply_diagonal(int n, const csim_real *inverse, const csim_real *r, csim_real *z) {
    int i;
    for (i = 0; i < n; i++) csimi_mul3(inverse + 9 * (size_t)i, r + 3 * (size_t)i, z + 3 * (size_t)i);
}

CSIMI_FN int csimi_pcg(const csim_block_matrix *A, const csim_real *rhs, csim_real *x, csim_real tol,
                       int max_iterations, csim_real *work, const csim_tasks *tasks) {
    int m = 3 * A->n, iteration, i;
    csim_real *r = work, *z = r + m, *p = z + m, *q = p + m, *inverse = q + m;
    double rz, old, target;
    if (!csimi_invert_diagonal(A, inverse)) return -1;
    csimi_apply_diagonal(A->n, inverse, rhs, z);
    target = (double)tol * (double)tol * csimi_sum_dot(m, rhs, z);
    csimi_product(A, x, q, tasks);
    for (i = 0; i < m; i++) r[i] = rhs[i] - q[i];
    csimi_apply_diagonal(A->n, inverse, r, z);
    for (i = 0; i < m; i++) p[i] = z[i];
    rz = csimi_sum_dot(m, r, z);
    if (!(target >= 0 && rz >= 0)) return -1;
    for (iteration = 0; iteration < max_iterations && rz > target; iteration++) {
        csim_real alpha, beta;
        double curvature;
        csimi_product(A, p, q, tasks);
        curvature = csimi_sum_dot(m, p, q);
        if (!(curvature > 0)) return -1;
        alpha = (csim_real)(rz / curvature);
        for (i = 0; i < m; i++) x[i] += alpha * p[i];
        for (i = 0; i < m; i++) r[i] -= alpha * q[i];
        csimi_apply_diagonal(A->n, inverse, r, z);
        old = rz;
        rz = csimi_sum_dot(m, r, z);
        beta = (csim_real)(rz / old);
        for (i = 0; i < m; i++) p[i] = z[i] + beta * p[i];
    }
    return iteration;
}

/* Rayleigh quotient in the A-norm: with y = A x it is y'W y / x'y, and W y is the next iterate: one product a step. */
CSIMI_FN csim_real csimi_power_sigma(const csim_block_matrix *A, const csim_real *w, csim_real *x, int steps,
                                     csim_real *work, const csim_tasks *tasks) {
    int m = 3 * A->n, step, i;
    csim_real *y = work, *wy = y + m;
    double sigma = 0;
    for (step = 0; step < steps; step++) {
        double energy;
        csim_real scale;
        csimi_product(A, x, y, tasks);
        for (i = 0; i < m; i++) wy[i] = w[i] * y[i];
        energy = csimi_sum_dot(m, x, y);
        if (!(energy > 0)) return (csim_real)sigma;
        sigma = csimi_sum_dot(m, y, wy) / energy;
        if (!(sigma > 0)) return (csim_real)sigma;
        scale = 1 / (csim_real)sigma; /* keeps the iterate of the size of the start */
        for (i = 0; i < m; i++) x[i] = scale * wy[i];
    }
    return (csim_real)sigma;
}
/* ==== end sparse/krylov.c */

/* ==== begin sparse/dense.c ====================================================================================== */
/* sparse/dense */

/* y -= a[0] U_0 + ... + a[3] U_3 over [0, count) for four rows U_k of stride m: one load and store of y for four rows,
   and no reduction, so that it vectorises as written. */
static void csimi_subtract_rows4(int count, const double *a, const double *U, size_t m, double *CSIMI_RESTRICT y) {
    const double *CSIMI_RESTRICT u0 = U, *CSIMI_RESTRICT u1 = U + m;
    const double *CSIMI_RESTRICT u2 = U + 2 * m, *CSIMI_RESTRICT u3 = U + 3 * m;
    double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    int j;
    for (j = 0; j + 4 <= count; j += 4) { /* written out: gcc -O2 makes pairs of neighbours but not of loop turns */
        y[j] -= (a0 * u0[j] + a1 * u1[j]) + (a2 * u2[j] + a3 * u3[j]);
        y[j + 1] -= (a0 * u0[j + 1] + a1 * u1[j + 1]) + (a2 * u2[j + 1] + a3 * u3[j + 1]);
        y[j + 2] -= (a0 * u0[j + 2] + a1 * u1[j + 2]) + (a2 * u2[j + 2] + a3 * u3[j + 2]);
        y[j + 3] -= (a0 * u0[j + 3] + a1 * u1[j + 3]) + (a2 * u2[j + 3] + a3 * u3[j + 3]);
    }
    for (; j < count; j++) y[j] -= (a0 * u0[j] + a1 * u1[j]) + (a2 * u2[j] + a3 * u3[j]);
}

static void csimi_subtract_row(int count, double a, const double *CSIMI_RESTRICT u, double *CSIMI_RESTRICT y) {
    int j;
    for (j = 0; j + 4 <= count; j += 4) {
        y[j] -= a * u[j];
        y[j + 1] -= a * u[j + 1];
        y[j + 2] -= a * u[j + 2];
        y[j + 3] -= a * u[j + 3];
    }
    for (; j < count; j++) y[j] -= a * u[j];
}

/* x <- L^-1 x on the first count unknowns; unit L, read from the rows of the upper triangle, where L' lies. */
static void csimi_forward(int m, int count, const double *H, double *x) {
    int k = 0, j;
    size_t stride = (size_t)m;
    for (; k + 4 <= count; k += 4) {
        const double *U = H + stride * (size_t)k;
        for (j = k; j < k + 3; j++)
            csimi_subtract_row(k + 3 - j, x[j], H + stride * (size_t)j + (size_t)j + 1, x + j + 1);
        csimi_subtract_rows4(count - k - 4, x + k, U + k + 4, stride, x + k + 4);
    }
    for (; k < count; k++) csimi_subtract_row(count - k - 1, x[k], H + stride * (size_t)k + (size_t)k + 1, x + k + 1);
}

/* Row by row, H = L D L': the row i of L D solves L (l D)' = h_i. Without square roots. */
CSIMI_FN bool csimi_cholesky(int m, double *H) {
    int i, k;
    size_t stride = (size_t)m;
    for (i = 0; i < m; i++) {
        double *h = H + stride * (size_t)i, pivot = h[i];
        csimi_forward(m, i, H, h);
        for (k = 0; k < i; k++) {
            double l = h[k] / H[stride * (size_t)k + (size_t)k];
            pivot -= l * h[k];
            h[k] = H[stride * (size_t)k + (size_t)i] = l;
        }
        if (!(pivot > 0 && pivot < 1e300)) return false;
        h[i] = pivot;
    }
    return true;
}

/* x <- L^-T x: row k of L takes its part from the unknowns before it, four rows a pass. */
static void csimi_backward(int m, const double *L, double *x) {
    const size_t stride = (size_t)m;
    int k = m, j;
    for (; k >= 4; k -= 4) {
        const double *rows = L + stride * (size_t)(k - 4);
        for (j = k - 1; j > k - 4; j--)
            csimi_subtract_row(j - (k - 4), x[j], L + stride * (size_t)j + k - 4, x + k - 4);
        csimi_subtract_rows4(k - 4, x + k - 4, rows, stride, x);
    }
    for (; k > 1; k--) csimi_subtract_row(k - 1, x[k - 1], L + stride * (size_t)(k - 1), x);
}

CSIMI_FN void csimi_cholesky_solve(int m, const double *L, double *x) {
    int k;
    csimi_forward(m, m, L, x);
    for (k = 0; k < m; k++) x[k] /= L[(size_t)m * (size_t)k + (size_t)k];
    csimi_backward(m, L, x);
}

static double csimi_size(double x) { return x < 0 ? -x : x; }

static void csimi_swap_rows(int m, double *a, double *b) {
    int j;
    for (j = 0; j < m; j++) {
        const double x = a[j];
        a[j] = b[j];
        b[j] = x;
    }
}

CSIMI_FN bool csimi_lu(int m, double *A, int *pivot) {
    const size_t stride = (size_t)m;
    int i, k;
    for (k = 0; k < m; k++) {
        double *row = A + stride * (size_t)k;
        int best = k;
        for (i = k + 1; i < m; i++)
            if (csimi_size(A[stride * (size_t)i + (size_t)k]) > csimi_size(A[stride * (size_t)best + (size_t)k]))
                best = i;
        pivot[k] = best;
        if (best != k) csimi_swap_rows(m, row, A + stride * (size_t)best);
        if (!(csimi_size(row[k]) > 0 && csimi_size(row[k]) < 1e300)) return false;
        for (i = k + 1; i < m; i++) {
            double *h = A + stride * (size_t)i;
            if (h[k] == 0) continue;
            h[k] /= row[k];
            csimi_subtract_row(m - k - 1, h[k], row + k + 1, h + k + 1);
        }
    }
    return true;
}

CSIMI_FN void csimi_lu_solve(int m, const double *LU, const int *pivot, double *x) {
    int i, j;
    for (i = 0; i < m; i++)
        if (pivot[i] != i) {
            const double t = x[i];
            x[i] = x[pivot[i]];
            x[pivot[i]] = t;
        }
    for (i = 0; i < m; i++)
        for (j = 0; j < i; j++) x[i] -= LU[(size_t)m * (size_t)i + (size_t)j] * x[j];
    for (i = m - 1; i >= 0; i--) {
        const double *row = LU + (size_t)m * (size_t)i;
        for (j = i + 1; j < m; j++) x[i] -= row[j] * x[j];
        x[i] /= row[i];
    }
}
/* ==== end sparse/dense.c */

/* ==== begin sparse/chain.c ====================================================================================== */
/* sparse/chain: chains of 6x6 blocks, each coupled to its neighbours alone, factored and solved in O(n), in double. */

/* C = A B for 6x6 */
static void csimi_chain_product(const double *A, const double *B, double *C) {
    int i, j, k;
    for (i = 0; i < 6; i++) {
        double row[6] = {0, 0, 0, 0, 0, 0};
        for (k = 0; k < 6; k++)
            for (j = 0; j < 6; j++) row[j] += A[6 * i + k] * B[6 * k + j];
        for (j = 0; j < 6; j++) C[6 * i + j] = row[j];
    }
}

/* Inverse in place by Gauss-Jordan without exchanges: the blocks are positive definite, or nearly so with friction.
   False when a pivot is not positive against the diagonal it began with. */
static bool csimi_chain_invert(double *S) {
    double begin[6];
    int i, j, k;
    for (k = 0; k < 6; k++) begin[k] = S[7 * k];
    for (k = 0; k < 6; k++) {
        double pivot = S[7 * k], inverse;
        if (!(pivot > 1e-14 * begin[k] && pivot < 1e300)) return false;
        inverse = 1 / pivot;
        S[7 * k] = 1;
        for (j = 0; j < 6; j++) S[6 * k + j] *= inverse;
        for (i = 0; i < 6; i++) {
            double factor = S[6 * i + k];
            if (i == k) continue;
            S[6 * i + k] = 0;
            for (j = 0; j < 6; j++) S[6 * i + j] -= factor * S[6 * k + j];
        }
    }
    return true;
}

/* Rows or columns of one 3-block of M pressed onto a face: M <- F M (rows) or M F (columns). */
static void csimi_chain_press(double *M, int half, const double *F, bool rows) {
    int i, j, k;
    for (j = 0; j < 6; j++) {
        double x[3];
        for (i = 0; i < 3; i++)
            for (x[i] = 0, k = 0; k < 3; k++)
                x[i] += rows ? F[3 * i + k] * M[6 * (3 * half + k) + j] : M[6 * j + 3 * half + k] * F[3 * k + i];
        for (i = 0; i < 3; i++) *(rows ? M + 6 * (3 * half + i) + j : M + 6 * j + 3 * half + i) = x[i];
    }
}

static void csimi_chain_press_link(const csimi_chain *c, int link, bool rows, double *M) {
    int half;
    for (half = 0; half < 2; half++) {
        const csimi_chain_face *face = csimi_chain_face_of(c, 2 * link + half);
        if (face) csimi_chain_press(M, half, rows ? face->left : face->right, rows);
    }
}

/* Coupling of link i to i - 1 (down) or of i - 1 to i, on the faces. */
static void csimi_chain_coupling(const csimi_chain *c, int i, bool down, double *M) {
    const double *cross = c->cross + 36 * (size_t)i;
    int r, k;
    for (r = 0; r < 6; r++)
        for (k = 0; k < 6; k++) M[6 * r + k] = down ? cross[6 * r + k] : cross[6 * k + r];
    csimi_chain_press_link(c, down ? i : i - 1, true, M);
    csimi_chain_press_link(c, down ? i - 1 : i, false, M);
}

/* The diagonal block of link i on its faces, with a stiff diagonal where motion is taken away. */
static void csimi_chain_diagonal(const csimi_chain *c, int i, double *D) {
    double size[2];
    int half, k;
    for (half = 0; half < 2; half++) size[half] = (D[21 * half] + D[21 * half + 7] + D[21 * half + 14]) / 3;
    csimi_chain_press_link(c, i, true, D);
    csimi_chain_press_link(c, i, false, D);
    for (half = 0; half < 2; half++) {
        const csimi_chain_face *face = csimi_chain_face_of(c, 2 * i + half);
        for (k = 0; face && k < 9; k++)
            D[21 * half + 6 * (k / 3) + k % 3] += size[half] * ((k % 4 == 0 ? 1 : 0) - face->right[k]);
    }
}

/* S_i = D_i - B_i S_{i-1}^-1 C_{i-1}, kept as inverses. */
CSIMI_FN bool csimi_chain_factor(csimi_chain *c, int first, int last) {
    double B[36], C[36], G[36];
    int i, k;
    for (i = first; i < last; i++) {
        double *S = c->pivot + 36 * (size_t)i;
        csimi_chain_diagonal(c, i, S);
        if (i > first) {
            csimi_chain_coupling(c, i, false, C);
            csimi_chain_coupling(c, i, true, B);
            csimi_chain_product(S - 36, C, G);
            csimi_chain_product(B, G, C);
            for (k = 0; k < 36; k++) S[k] -= C[k];
        }
        if (!csimi_chain_invert(S)) return false;
    }
    return true;
}

/* y -= M x, M 6x6 */
static void csimi_chain_subtract(const double *M, const double *x, double *y) {
    int i, k;
    for (i = 0; i < 6; i++) {
        double sum = 0;
        for (k = 0; k < 6; k++) sum += M[6 * i + k] * x[k];
        y[i] -= sum;
    }
}

static void csimi_chain_apply_pivot(const double *S, double *x) {
    double y[6];
    int i, k;
    for (i = 0; i < 6; i++)
        for (y[i] = 0, k = 0; k < 6; k++) y[i] += S[6 * i + k] * x[k];
    for (i = 0; i < 6; i++) x[i] = y[i];
}

/* x_half <- F x_half of every faced block of a link */
static void csimi_chain_press_vector(const csimi_chain *c, int link, bool left, double *x) {
    int half, i, k;
    for (half = 0; half < 2; half++) {
        const csimi_chain_face *face = csimi_chain_face_of(c, 2 * link + half);
        const double *F;
        double y[3];
        if (!face) continue;
        F = left ? face->left : face->right;
        for (i = 0; i < 3; i++)
            for (y[i] = 0, k = 0; k < 3; k++) y[i] += F[3 * i + k] * x[3 * half + k];
        for (i = 0; i < 3; i++) x[3 * half + i] = y[i];
    }
}

CSIMI_FN void csimi_chain_solve(const csimi_chain *c, int first, int last, double *x) {
    double M[36], y[6];
    int i, k;
    for (i = first; i < last; i++) {
        double *xi = x + 6 * (size_t)i;
        csimi_chain_press_vector(c, i, true, xi);
        if (i > first) {
            csimi_chain_coupling(c, i, true, M);
            csimi_chain_subtract(M, xi - 6, xi);
        }
        csimi_chain_apply_pivot(c->pivot + 36 * (size_t)i, xi);
    }
    for (i = last - 2; i >= first; i--) {
        double *xi = x + 6 * (size_t)i;
        for (k = 0; k < 6; k++) y[k] = 0;
        csimi_chain_coupling(c, i + 1, false, M);
        csimi_chain_subtract(M, xi + 6, y);
        csimi_chain_apply_pivot(c->pivot + 36 * (size_t)i, y);
        for (k = 0; k < 6; k++) xi[k] += y[k];
    }
}
/* ==== end sparse/chain.c */

/* ==== begin sparse/aggregate.c ================================================================================== */
/* sparse/aggregate */

#define CSIMI_FAR 0x7fffffff

CSIMI_FN size_t csimi_aggregate_scratch(int n) { return 4 * (size_t)n + 1; }

/* Lowers distance[] by a breadth-first walk from the nodes in queue[0 .. tail), which hold their distance already;
   a node goes to the aggregate of the first that reaches it. */
static void csimi_aggregate_walk(const int *row, const int *col, int tail, int *queue, int *distance, int *aggregate) {
    int head, k;
    for (head = 0; head < tail; head++) {
        int i = queue[head];
        for (k = row[i]; k < row[i + 1]; k++) {
            int j = col[k];
            if (distance[j] <= distance[i] + 1) continue;
            distance[j] = distance[i] + 1;
            aggregate[j] = aggregate[i];
            queue[tail++] = j;
        }
    }
}

/* Farthest-point seeds: node 0, then again and again the node with the most edges to the nearest seed (pieces of the
   graph without one count as infinitely far). Returns how many there are, at most count. */
static int csimi_aggregate_seeds(int n, const int *row, const int *col, int count, int *seed, int *aggregate,
                                 int *distance, int *queue) {
    int made, i, next = 0;
    for (i = 0; i < n; i++) {
        distance[i] = CSIMI_FAR;
        aggregate[i] = -1;
    }
    for (made = 0; made < count && distance[next] > 0; made++) {
        seed[made] = next;
        distance[next] = 0;
        aggregate[next] = made;
        queue[0] = next;
        csimi_aggregate_walk(row, col, 1, queue, distance, aggregate);
        for (next = 0, i = 1; i < n; i++)
            if (distance[i] > distance[next]) next = i;
    }
    return made;
}

static double csimi_aggregate_square(const csim_real *x, int i, const double *c) {
    double d0 = (double)x[3 * i] - c[0], d1 = (double)x[3 * i + 1] - c[1], d2 = (double)x[3 * i + 2] - c[2];
    return d0 * d0 + d1 * d1 + d2 * d2;
}

/* All nodes to the nearest seed along the graph; pieces without a seed to the seed nearest in space. */
static void csimi_aggregate_voronoi(int n, const int *row, const int *col, const csim_real *x, int made,
                                    const int *seed, int *aggregate, int *distance, int *queue) {
    int i, k;
    for (i = 0; i < n; i++) distance[i] = CSIMI_FAR;
    for (k = 0; k < made; k++) {
        queue[k] = seed[k];
        distance[seed[k]] = 0;
        aggregate[seed[k]] = k;
    }
    csimi_aggregate_walk(row, col, made, queue, distance, aggregate);
    for (i = 0; i < n; i++) {
        double best = 1e300, c[3], d;
        if (distance[i] < CSIMI_FAR) continue;
        aggregate[i] = 0;
        c[0] = (double)x[3 * i];
        c[1] = (double)x[3 * i + 1];
        c[2] = (double)x[3 * i + 2];
        for (k = 0; k < made; k++) {
            d = csimi_aggregate_square(x, seed[k], c);
            if (!(d < best)) continue;
            best = d;
            aggregate[i] = k;
        }
    }
}

/* Moves every seed to the node nearest to the centre of its aggregate (Lloyd). */
static void csimi_aggregate_centre(int n, const csim_real *x, int made, int *seed, const int *aggregate, int *first,
                                   int *order) {
    int i, k, a;
    for (a = 0; a <= made; a++) first[a] = 0;
    for (i = 0; i < n; i++) first[aggregate[i]]++;
    for (a = 0; a < made; a++) first[a + 1] += first[a];
    for (i = n - 1; i >= 0; i--) order[--first[aggregate[i]]] = i;
    for (a = 0; a < made; a++) {
        double c[3] = {0, 0, 0}, best = 1e300, size = first[a + 1] - first[a];
        for (k = first[a]; k < first[a + 1]; k++)
            for (i = 0; i < 3; i++) c[i] += (double)x[3 * order[k] + i] / size;
        for (k = first[a]; k < first[a + 1]; k++) {
            double d = csimi_aggregate_square(x, order[k], c);
            if (!(d < best)) continue;
            best = d;
            seed[a] = order[k];
        }
    }
}

CSIMI_FN int csimi_aggregate(int n, const int *row, const int *col, const csim_real *x, int count, int *aggregate,
                             int *scratch) {
    int *distance = scratch, *queue = distance + n, *seed = queue + n, *first = seed + n, made, pass;
    if (n < 1) return 0;
    made = csimi_aggregate_seeds(n, row, col, csimi_imin(csimi_imax(count, 1), n), seed, aggregate, distance, queue);
    for (pass = 0; pass < 3; pass++) {
        csimi_aggregate_voronoi(n, row, col, x, made, seed, aggregate, distance, queue);
        if (pass < 2) csimi_aggregate_centre(n, x, made, seed, aggregate, first, queue);
    }
    return made;
}

#undef CSIMI_FAR
/* ==== end sparse/aggregate.c */

/* ==== begin model/particle.c ==================================================================================== */
/* model/particle */

/* Lumped masses of particles and of the vertices of solids: inertia, weight, user forces, mass damping. */
CSIMI_FN void csimi_point_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csim_real h = step->h, inverse_theta = 1 / step->theta;
    int i, c;
    for (i = 0; i < s->node_count; i++) {
        csim_real *D = system->A.val + 9 * (size_t)system->A.diag[i], *b = system->b + 3 * (size_t)i;
        const csim_real *vk = system->vk + 3 * (size_t)i, *force = s->node_force + 3 * (size_t)i;
        csim_real mass = s->node_mass[i], inertia = mass * (inverse_theta + h * s->node_damping[i]);
        for (c = 0; c < 3; c++) {
            D[4 * c] += inertia;
            b[c] += mass * inverse_theta * vk[c] + h * (force[c] + mass * s->gravity[c]);
        }
    }
}

CSIMI_FN void csimi_point_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next) {
    int i;
    for (i = 0; i < 3 * s->node_count; i++) next->x[i] = s->x[i] + step->h * v[i];
}

CSIMI_FN void csimi_point_energy(const csimi_state *s, csimi_energy *energy) {
    int i, c;
    for (i = 0; i < s->node_count; i++)
        for (c = 0; c < 3; c++) {
            double v = (double)s->v[3 * i + c], mass = (double)s->node_mass[i];
            energy->kinetic += mass * v * v / 2;
            energy->gravity -= mass * (double)s->gravity[c] * (double)s->x[3 * i + c];
        }
}
/* ==== end model/particle.c */

/* ==== begin model/rigid.c ======================================================================================= */
/* model/rigid */

static csim_quat csimi_rigid_rotation(const csimi_state *s, int k) {
    const csim_real *p = s->rotation + 4 * (size_t)k;
    csim_quat q;
    q.w = p[0];
    q.x = p[1];
    q.y = p[2];
    q.z = p[3];
    return q;
}

CSIMI_FN void csimi_rigid_inertia_world(const csimi_state *s, int k, csim_real *I) {
    csim_mat3 R = csim_quat_matrix(csimi_rigid_rotation(s, k));
    csim_real T[9];
    csimi_matmul(R.m, s->inertia + 9 * (size_t)k, T);
    csimi_matmulT(T, R.m, I);
    I[3] = I[1]; /* equal to rounding; a symmetric matrix stays symmetric to the bit */
    I[6] = I[2];
    I[7] = I[5];
}

CSIMI_FN void csimi_rigid_arm(const csimi_state *s, int k, const csim_real *world_point, csim_real *J) {
    const csim_real *com = s->com + 3 * (size_t)k;
    csim_real minus_r[3];
    int c;
    for (c = 0; c < 3; c++) minus_r[c] = com[c] - world_point[c];
    csimi_skew(minus_r, J);
}

/* ---- The gyroscopic update, in the body frame and in double: I dw/dt = -w x I w. */

static void csimi_gyro_mul(const double *M, const double *x, double *y) {
    int i;
    for (i = 0; i < 3; i++) y[i] = M[3 * i] * x[0] + M[3 * i + 1] * x[1] + M[3 * i + 2] * x[2];
}

static void csimi_gyro_cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static double csimi_gyro_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* x -= J^-1 r with J = I + s ([w]x I - [I w]x), the derivative of I x + s w x I w, column by column by Cramer's rule.
 */
static bool csimi_gyro_newton(const double *I, double s, const double *w, const double *r, double *x) {
    double Iw[3], J[3][3], c[3][3], det;
    int i, j;
    csimi_gyro_mul(I, w, Iw);
    for (j = 0; j < 3; j++) { /* column j of J: I is symmetric */
        double e[3] = {0, 0, 0}, a[3], b[3];
        e[j] = 1;
        csimi_gyro_cross(w, I + 3 * j, a);
        csimi_gyro_cross(Iw, e, b);
        for (i = 0; i < 3; i++) J[j][i] = I[3 * j + i] + s * (a[i] - b[i]);
    }
    for (j = 0; j < 3; j++) csimi_gyro_cross(J[(j + 1) % 3], J[(j + 2) % 3], c[j]);
    det = csimi_gyro_dot(J[0], c[0]);
    if (!(det > 0)) return false;
    for (j = 0; j < 3; j++) x[j] -= csimi_gyro_dot(c[j], r) / det;
    return true;
}

/* w <- next, scaled back when it has gained more energy than slack: neither equation gains any, but a step far too
   large may. */
static void csimi_gyro_take(const double *I, const double *next, double slack, double *w) {
    double Iw[3], before, after, scale = 1;
    int i;
    csimi_gyro_mul(I, w, Iw);
    before = csimi_gyro_dot(w, Iw);
    csimi_gyro_mul(I, next, Iw);
    after = csimi_gyro_dot(next, Iw);
    if (after > before * (1 + slack)) scale = (double)CSIMI_SQRT((csim_real)(before / after));
    for (i = 0; i < 3; i++) w[i] = scale * next[i];
}

/* One Newton step of I (w+ - w) = -h w+ x I w+, started at w (Catto 2015). */
static void csimi_gyro_euler(const double *I, double h, double *w) {
    double next[3], Iw[3], r[3];
    int i;
    csimi_gyro_mul(I, w, Iw);
    csimi_gyro_cross(w, Iw, r);
    for (i = 0; i < 3; i++) {
        r[i] *= h;
        next[i] = w[i];
    }
    if (csimi_gyro_newton(I, h, w, r, next)) csimi_gyro_take(I, next, 0, w);
}

/* I (w+ - w) = -h m x I m with m = (w + w+)/2, solved to rounding: keeps w.Iw and |Iw|. */
static void csimi_gyro_midpoint(const double *I, double h, double *w) {
    double next[3], m[3], d[3], Im[3], Id[3], r[3], size, best = 1e300;
    int i, iteration;
    for (i = 0; i < 3; i++) next[i] = w[i];
    for (iteration = 0; iteration < 12; iteration++) {
        for (i = 0; i < 3; i++) {
            m[i] = (w[i] + next[i]) / 2;
            d[i] = next[i] - w[i];
        }
        csimi_gyro_mul(I, m, Im);
        csimi_gyro_mul(I, d, Id);
        csimi_gyro_cross(m, Im, r);
        for (i = 0; i < 3; i++) r[i] = h * r[i] + Id[i];
        size = csimi_gyro_dot(r, r);
        if (!(size < best) || !csimi_gyro_newton(I, h / 2, m, r, next)) break;
        best = size;
    }
    csimi_gyro_take(I, next, 1e-9, w);
}

/* Steps above half a radian are cut, so that Newton's iteration starts close enough. */
static void csimi_gyro_conserving(const double *I, double h, double *w) {
    double angle = h * (double)CSIMI_SQRT((csim_real)csimi_gyro_dot(w, w));
    int pieces = angle < 64 ? 1 + (int)(2 * angle) : 128, k;
    for (k = 0; k < pieces; k++) csimi_gyro_midpoint(I, h / pieces, w);
}

/* The change of w under the update, body axes; false when w lies along a principal axis to rounding. */
static bool csimi_gyro_change(const double *I, const csimi_step *step, const csim_real *w, csim_real *change) {
    double W[3], next[3], IW[3], r[3], threshold = 4 * (double)CSIMI_EPS, h = (double)step->h;
    int i;
    for (i = 0; i < 3; i++) next[i] = W[i] = (double)w[i];
    csimi_gyro_mul(I, W, IW);
    csimi_gyro_cross(W, IW, r);
    if (csimi_gyro_dot(r, r) <= threshold * threshold * csimi_gyro_dot(W, W) * csimi_gyro_dot(IW, IW)) return false;
    if (step->theta < 1)
        csimi_gyro_conserving(I, h, next);
    else
        csimi_gyro_euler(I, h, next);
    for (i = 0; i < 3; i++) change[i] = (csim_real)(next[i] - W[i]);
    return true;
}

/* The body's own rotation during a step leaves the new w alone (exp(h w) w = w), so a free body follows the body-frame
   equation exactly: at theta 1/2 energy and |L| are kept to rounding whatever h is. */
CSIMI_FN void csimi_gyro_turn(csim_quat q, const csim_real *I, const csimi_step *step, csim_real *w) {
    csim_real body[3], change[3];
    double inertia[9];
    int i;
    csimi_store3(body, csim_unrotate(q, csimi_load3(w)));
    for (i = 0; i < 9; i++) inertia[i] = (double)I[i];
    if (!csimi_gyro_change(inertia, step, body, change)) return;
    csimi_store3(w, csim_add(csimi_load3(w), csim_rotate(q, csimi_load3(change))));
}

CSIMI_FN void csimi_rigid_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk) {
    int k;
    for (k = 0; k < s->rigid_count; k++)
        if (s->rigid_mode[k] == CSIMI_FREE)
            csimi_gyro_turn(csimi_rigid_rotation(s, k), s->inertia + 9 * (size_t)k, step,
                            vk + 3 * ((size_t)s->node_count + 2 * (size_t)k + 1));
}

/* The two blocks of a body are coupled (by zeros), so that it is one body to everyone who reads the pattern. */
CSIMI_FN int csimi_rigid_couple(const csimi_state *s, int *pairs) {
    int k;
    for (k = 0; pairs && k < s->rigid_count; k++) {
        pairs[2 * k] = s->node_count + 2 * k;
        pairs[2 * k + 1] = pairs[2 * k] + 1;
    }
    return s->rigid_count;
}

CSIMI_FN void csimi_rigid_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csim_real h = step->h, inverse_theta = 1 / step->theta;
    int k, c;
    for (k = 0; k < s->rigid_count; k++) {
        int block = s->node_count + 2 * k;
        csim_real *linear = system->A.val + 9 * (size_t)system->A.diag[block];
        csim_real *angular = system->A.val + 9 * (size_t)system->A.diag[block + 1];
        csim_real *b = system->b + 3 * (size_t)block, I[9], L[3], mass = s->rigid_mass[k];
        const csim_real *vk = system->vk + 3 * (size_t)block, *wrench = s->wrench + 6 * (size_t)k;
        const csim_real *damping = s->rigid_damping + 2 * (size_t)k;
        csimi_rigid_inertia_world(s, k, I);
        csimi_mul3(I, vk + 3, L);
        for (c = 0; c < 3; c++) {
            linear[4 * c] += mass * (inverse_theta + h * damping[0]);
            b[c] += mass * inverse_theta * vk[c] + h * (wrench[c] + mass * s->gravity[c]);
            b[3 + c] += inverse_theta * L[c] + h * wrench[3 + c];
        }
        for (c = 0; c < 9; c++) angular[c] += (inverse_theta + h * damping[1]) * I[c];
    }
}

CSIMI_FN void csimi_rigid_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next) {
    int k, c;
    for (k = 0; k < s->rigid_count; k++) {
        const csim_real *u = v + 3 * ((size_t)s->node_count + 2 * (size_t)k);
        csim_real *rotation = next->rotation + 4 * (size_t)k;
        csim_quat turn = csim_quat_exp(csim_scale(step->h, csimi_load3(u + 3)));
        csim_quat q = csim_quat_normalize(csim_quat_mul(turn, csimi_rigid_rotation(s, k)));
        for (c = 0; c < 3; c++) next->com[3 * k + c] = s->com[3 * k + c] + step->h * u[c];
        rotation[0] = q.w;
        rotation[1] = q.x;
        rotation[2] = q.y;
        rotation[3] = q.z;
    }
}

CSIMI_FN void csimi_rigid_energy(const csimi_state *s, csimi_energy *energy) {
    int k, c;
    for (k = 0; k < s->rigid_count; k++) {
        const csim_real *v = s->velocity + 6 * (size_t)k;
        csim_real I[9], L[3];
        double mass = (double)s->rigid_mass[k];
        csimi_rigid_inertia_world(s, k, I);
        csimi_mul3(I, v + 3, L);
        for (c = 0; c < 3; c++) {
            energy->kinetic += mass * (double)v[c] * (double)v[c] / 2 + (double)v[3 + c] * (double)L[c] / 2;
            energy->gravity -= mass * (double)s->gravity[c] * (double)s->com[3 * k + c];
        }
    }
}
/* ==== end model/rigid.c */

/* ==== begin model/material.c ==================================================================================== */
/* model/material: isotropic laws in principal stretches, with the eigensystem of their tangent (dynamics.md 5).

   For Psi(s) the tangent of P = U diag(dPsi/ds) V' has d2Psi/ds2 on the three scalings U e_i e_i' V', and per axis k
   (i, j the others) the eigenvalues (g_i - g_j) / (s_i - s_j) on the flip U (e_i e_j' + e_j e_i') V' and
   (g_i + g_j) / (s_i + s_j) on the twist U (e_i e_j' - e_j e_i') V'. Every law writes these quotients out, so that
   equal stretches divide nothing by nothing. */

static csim_real csimi_corotational_stretches(const csim_real *s, csim_real mu, csim_real lambda, csimi_stretches *d) {
    csim_real trace = s[0] + s[1] + s[2] - 3, energy = lambda * trace * trace / 2;
    int k;
    for (k = 0; k < 3; k++) {
        csim_real sum = s[(k + 1) % 3] + s[(k + 2) % 3];
        energy += mu * (s[k] - 1) * (s[k] - 1);
        d->g[k] = 2 * mu * (s[k] - 1) + lambda * trace;
        d->flip[k] = 2 * mu;
        d->twist[k] = csimi_abs(sum) > CSIM_R(1e-3) ? 2 * mu + (2 * lambda * trace - 4 * mu) / sum : 0;
    }
    for (k = 0; k < 9; k++) d->H[k] = lambda + (k % 4 == 0 ? 2 * mu : 0);
    return energy;
}

/* Smith et al. 2018, eq. 14: mu/2 (I_C - 3) + lambda/2 (J - alpha)^2 - mu/2 log(I_C + 1), in their Lame constants; zero
   at rest. */
static csim_real csimi_neo_hookean_stretches(const csim_real *s, csim_real mu_lame, csim_real lambda_lame,
                                             csimi_stretches *d) {
    csim_real mu = mu_lame * 4 / 3, lambda = lambda_lame + mu_lame * 5 / 6, alpha = 1 + CSIM_R(0.75) * mu / lambda;
    csim_real square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2], one = 1 / (square + 1);
    csim_real shear = mu * (1 - one), volume = lambda * (s[0] * s[1] * s[2] - alpha);
    int i, j, k;
    for (k = 0; k < 3; k++) {
        csim_real area;
        i = (k + 1) % 3;
        j = (k + 2) % 3;
        area = s[i] * s[j];
        d->g[k] = shear * s[k] + volume * area;
        d->flip[k] = shear - s[k] * volume;
        d->twist[k] = shear + s[k] * volume;
        d->H[4 * k] = shear + 2 * mu * one * one * s[k] * s[k] + lambda * area * area;
        d->H[3 * i + j] = d->H[3 * j + i] = 2 * mu * one * one * area + lambda * area * s[k] * s[k] + volume * s[k];
    }
    return mu / 2 * (square - 3) - mu / 2 * CSIMI_LOG((square + 1) / 4) +
           lambda / 2 * ((s[0] * s[1] * s[2] - 1) * (s[0] * s[1] * s[2] + 1 - 2 * alpha));
}

static csim_real csimi_green_stretches(const csim_real *s, csim_real mu, csim_real lambda, csimi_stretches *d) {
    csim_real e[3], trace = 0, energy = 0;
    int i, j, k;
    for (k = 0; k < 3; k++) {
        e[k] = (s[k] - 1) * (s[k] + 1) / 2;
        trace += e[k];
        energy += mu * e[k] * e[k];
    }
    for (k = 0; k < 3; k++) {
        csim_real squares;
        i = (k + 1) % 3;
        j = (k + 2) % 3;
        squares = 2 * mu * (e[i] + e[j]) + mu + lambda * trace; /* mu (s_i^2 + s_j^2 - 1) + lambda tr E */
        d->g[k] = s[k] * (2 * mu * e[k] + lambda * trace);
        d->flip[k] = squares + mu * s[i] * s[j];
        d->twist[k] = squares - mu * s[i] * s[j];
        d->H[4 * k] = 2 * mu * e[k] + lambda * trace + (2 * mu + lambda) * s[k] * s[k];
        d->H[3 * i + j] = d->H[3 * j + i] = lambda * s[i] * s[j];
    }
    return energy + lambda / 2 * trace * trace;
}

CSIMI_FN csim_real csimi_material(int material, const csim_real *s, csim_real mu, csim_real lambda, csim_real pressure,
                                  csimi_stretches *d) {
    csim_real energy = material == CSIM_NEO_HOOKEAN           ? csimi_neo_hookean_stretches(s, mu, lambda, d)
                       : material == CSIM_ST_VENANT_KIRCHHOFF ? csimi_green_stretches(s, mu, lambda, d)
                                                              : csimi_corotational_stretches(s, mu, lambda, d);
    int i, j, k;
    for (k = 0; k < 3; k++) { /* -p (J - 1) */
        i = (k + 1) % 3;
        j = (k + 2) % 3;
        d->g[k] -= pressure * s[i] * s[j];
        d->flip[k] += pressure * s[k];
        d->twist[k] -= pressure * s[k];
        d->H[3 * i + j] -= pressure * s[k];
        d->H[3 * j + i] -= pressure * s[k];
    }
    return energy - pressure * (s[0] * s[1] * s[2] - 1);
}

CSIMI_FN void csimi_project_stretches(csimi_stretches *d) {
    csim_real eigenvalue[3], V[9];
    int i, j, k;
    for (k = 0; k < 3; k++) {
        d->flip[k] = csimi_max(0, d->flip[k]);
        d->twist[k] = csimi_max(0, d->twist[k]);
    }
    csimi_eigen_sym3(d->H, eigenvalue, V);
    if (eigenvalue[0] >= 0) return;
    for (i = 0; i < 3; i++)
        for (j = i; j < 3; j++) {
            csim_real sum = 0;
            for (k = 0; k < 3; k++) sum += csimi_max(0, eigenvalue[k]) * V[3 * i + k] * V[3 * j + k];
            d->H[3 * i + j] = d->H[3 * j + i] = sum;
        }
}

CSIMI_FN void csimi_stretch_block(const csimi_stretches *d, const csim_real *U, const csim_real *a, const csim_real *b,
                                  csim_real *K) {
    csim_real M[9], T[9];
    int i, k;
    for (i = 0; i < 3; i++) {
        M[4 * i] = d->H[4 * i] * (a[i] * b[i]);
        for (k = 0; k < 3; k++) {
            csim_real flip, twist;
            if (k == i) continue;
            flip = d->flip[3 - i - k];
            twist = d->twist[3 - i - k];
            M[4 * i] += (flip + twist) / 2 * (a[k] * b[k]);
            M[3 * i + k] = d->H[3 * i + k] * (a[i] * b[k]) + (flip - twist) / 2 * (a[k] * b[i]);
        }
    }
    csimi_matmulT(M, U, T);
    csimi_matmul(U, T, K);
}

/* Plane stress: the third axis is the normal, along which nothing is strained; turning a stretched membrane out of its
   plane costs its tension, g_i / s_i. */
CSIMI_FN csim_real csimi_membrane_material(int material, const csim_real *s, csim_real mu, csim_real lambda,
                                           csimi_stretches *d) {
    csim_real trace, sum = s[0] + s[1], energy = 0;
    int k;
    CSIMI_MEMSET(d, 0, sizeof *d);
    if (material == CSIM_ST_VENANT_KIRCHHOFF) {
        csim_real e[2];
        for (k = 0; k < 2; k++) e[k] = (s[k] - 1) * (s[k] + 1) / 2;
        trace = e[0] + e[1];
        for (k = 0; k < 2; k++) {
            energy += mu * e[k] * e[k];
            d->g[k] = s[k] * (2 * mu * e[k] + lambda * trace);
            d->H[4 * k] = 2 * mu * e[k] + lambda * trace + (2 * mu + lambda) * s[k] * s[k];
        }
        d->H[1] = d->H[3] = lambda * s[0] * s[1];
        d->flip[2] = mu * (s[0] * s[0] + s[0] * s[1] + s[1] * s[1] - 1) + lambda * trace;
        d->twist[2] = mu * (s[0] * s[0] - s[0] * s[1] + s[1] * s[1] - 1) + lambda * trace;
    } else {
        trace = sum - 2;
        for (k = 0; k < 2; k++) {
            energy += mu * (s[k] - 1) * (s[k] - 1);
            d->g[k] = 2 * mu * (s[k] - 1) + lambda * trace;
            d->H[4 * k] = 2 * mu + lambda;
        }
        d->H[1] = d->H[3] = lambda;
        d->flip[2] = 2 * mu;
        d->twist[2] = (d->g[0] + d->g[1]) / csimi_max(sum, CSIM_R(1e-3));
    }
    for (k = 0; k < 2; k++) d->flip[1 - k] = d->twist[1 - k] = d->g[k] / csimi_max(s[k], CSIM_R(1e-3));
    return energy + lambda / 2 * trace * trace;
}
/* ==== end model/material.c */

/* ==== begin model/tet.c ========================================================================================= */
/* model/tet */

/* ---- Co-rotational linear elasticity: Psi(F) = mu |F - R|^2 + lambda/2 tr(R'F - I)^2, R the rotation of F. */

/* P = 2 mu (F - R) + lambda tr(R'F - I) R; R is stationary, so it does not appear in the derivative. */
static void csimi_tet_stress(const csim_real *F, const csim_real *R, csim_real mu, csim_real lambda, csim_real *P) {
    csim_real trace = -3;
    int i;
    for (i = 0; i < 9; i++) trace += R[i] * F[i];
    for (i = 0; i < 9; i++) P[i] = 2 * mu * (F[i] - R[i]) + lambda * trace * R[i];
}

CSIMI_FN csim_real csimi_corotational(const csim_real *F, csim_real mu, csim_real lambda, csim_real *P) {
    csim_real R[9], trace = -3, square = 0;
    int i;
    csimi_polar3(F, R);
    for (i = 0; i < 9; i++) {
        trace += R[i] * F[i];
        square += (F[i] - R[i]) * (F[i] - R[i]);
    }
    if (P) csimi_tet_stress(F, R, mu, lambda, P);
    return mu * square + lambda * trace * trace / 2;
}

/* F = Ds Dm^-1: the sum of (x_a - x_0) times the gradient of node a. */
static void csimi_tet_gradient(const csimi_state *s, int t, csim_real *F) {
    const int *node = s->tet + 4 * (size_t)t;
    const csim_real *G = s->tet_shape + 9 * (size_t)t, *x0 = s->x + 3 * (size_t)node[0];
    const csim_real *x1 = s->x + 3 * (size_t)node[1], *x2 = s->x + 3 * (size_t)node[2],
                    *x3 = s->x + 3 * (size_t)node[3];
    int i, j;
    for (i = 0; i < 3; i++) {
        csim_real a = x1[i] - x0[i], b = x2[i] - x0[i], c = x3[i] - x0[i];
        for (j = 0; j < 3; j++) F[3 * i + j] = a * G[j] + b * G[3 + j] + c * G[6 + j];
    }
}

/* g[a] = M times the gradient of node a; node 0 has minus the sum of the others. */
static void csimi_tet_map(const csim_real *M, const csim_real *G, csim_real g[4][3]) {
    int a, c;
    for (a = 1; a < 4; a++) csimi_mul3(M, G + 3 * (a - 1), g[a]);
    for (c = 0; c < 3; c++) g[0][c] = -(g[1][c] + g[2][c] + g[3][c]);
}

/* Block (a, b) = lambda g_a g_b' + mu g_b g_a' + mu (g_a . g_b) I, and its transpose to (b, a). Row by row, written
   out: the loops over rows cost a third of the assembly where the compiler keeps them. */
static void csimi_tet_block(const csim_real *a, const csim_real *b, csim_real mu, csim_real lambda,
                            csim_real *CSIMI_RESTRICT ab, csim_real *CSIMI_RESTRICT ba) {
    csim_real m0 = mu * a[0], m1 = mu * a[1], m2 = mu * a[2], dot = m0 * b[0] + m1 * b[1] + m2 * b[2];
    csim_real l0 = lambda * a[0], l1 = lambda * a[1], l2 = lambda * a[2];
    csim_real k0 = l0 * b[0] + m0 * b[0] + dot, k1 = l0 * b[1] + m1 * b[0], k2 = l0 * b[2] + m2 * b[0];
    csim_real k3 = l1 * b[0] + m0 * b[1], k4 = l1 * b[1] + m1 * b[1] + dot, k5 = l1 * b[2] + m2 * b[1];
    csim_real k6 = l2 * b[0] + m0 * b[2], k7 = l2 * b[1] + m1 * b[2], k8 = l2 * b[2] + m2 * b[2] + dot;
    ab[0] += k0, ab[1] += k1, ab[2] += k2, ab[3] += k3, ab[4] += k4, ab[5] += k5, ab[6] += k6, ab[7] += k7, ab[8] += k8;
    ba[0] += k0, ba[1] += k3, ba[2] += k6, ba[3] += k1, ba[4] += k4, ba[5] += k7, ba[6] += k2, ba[7] += k5, ba[8] += k8;
}

/* The block (a, a), symmetric to the bit. */
static void csimi_tet_diagonal(const csim_real *g, csim_real mu, csim_real lambda, csim_real *aa) {
    csim_real square = mu * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]), sum = lambda + mu;
    int i;
    for (i = 0; i < 3; i++) {
        aa[3 * i] += sum * (g[i] * g[0]);
        aa[3 * i + 1] += sum * (g[i] * g[1]);
        aa[3 * i + 2] += sum * (g[i] * g[2]);
        aa[4 * i] += square;
    }
}

/* ---- Any material, activated or not: principal stretches, then the fibre. */

static bool csimi_tet_is_plain(const csimi_state *s, int t) {
    const csim_real *active = s->tet_active + 5 * (size_t)t;
    return s->tet_material[t] == CSIM_COROTATIONAL && !(active[0] < 0 || active[0] > 0) &&
           !(active[1] < 0 || active[1] > 0);
}

/* The energy T (|F a| - 1) of a fibre: energy per rest volume; direction d = F a / |F a|; T / |F a| for its tangent. */
static csim_real csimi_tet_fibre(const csim_real *F, const csim_real *active, csim_real *d, csim_real *slope) {
    csim_real Fa[3], length;
    int c;
    csimi_mul3(F, active + 2, Fa);
    length = csim_length(csimi_load3(Fa));
    for (c = 0; c < 3; c++) d[c] = length > 0 ? Fa[c] / length : 0;
    *slope = length > CSIM_R(1e-3) ? active[1] / length : 0;
    return active[1] * (length - 1);
}

/* What one element adds: forces per volume f[a] = P g_a, blocks from the stretches and the fibre. */
typedef struct csimi_tet_view {
    csimi_stretches d;
    csim_real U[9], y[4][3], f[4][3];    /* y: shape gradients in principal axes */
    csim_real fibre[3], slope, along[4]; /* along: shape gradients along the fibre */
} csimi_tet_view;

static csim_real csimi_tet_look(const csimi_state *s, int t, csimi_tet_view *view) {
    const csim_real *lame = s->tet_lame + 3 * (size_t)t, *G = s->tet_shape + 9 * (size_t)t;
    const csim_real *active = s->tet_active + 5 * (size_t)t;
    csim_real F[9], V[9], stretch[3], P[9], M[9], energy;
    int a, c, k;
    csimi_tet_gradient(s, t, F);
    csimi_svd3(F, view->U, stretch, V);
    energy = csimi_material(s->tet_material[t], stretch, lame[0], lame[1], active[0], &view->d);
    energy += csimi_tet_fibre(F, active, view->fibre, &view->slope);
    for (k = 0; k < 3; k++)
        for (c = 0; c < 3; c++) M[3 * k + c] = view->d.g[k] * V[3 * c + k];
    csimi_matmul(view->U, M, P);
    for (k = 0; k < 3; k++)
        for (c = 0; c < 3; c++) P[3 * k + c] += active[1] * view->fibre[k] * active[2 + c];
    csimi_tet_map(P, G, view->f);
    for (k = 0; k < 3; k++)
        for (c = 0; c < 3; c++) M[3 * k + c] = V[3 * c + k];
    csimi_tet_map(M, G, view->y);
    view->along[0] = 0;
    for (a = 1; a < 4; a++) {
        view->along[a] = csim_dot(csimi_load3(G + 3 * (a - 1)), csimi_load3(active + 2));
        view->along[0] -= view->along[a];
    }
    return energy;
}

typedef struct csimi_tet_job {
    const csimi_state *s;
    csimi_system *system;
    csim_real h, weight; /* s; sigma h^2, s^2 */
} csimi_tet_job;

/* dynamics.md 1 and 2: A += (sigma h^2 + h beta) Je'K Je with R frozen, b -= h Je'K e, on the rows marked in `mine`.
   Positive semidefinite whatever the state of the element, because both terms are squares of strains. */
static void csimi_tet_add(const csimi_tet_job *job, int t, const bool *mine) {
    const csimi_state *s = job->s;
    const int *node = s->tet + 4 * (size_t)t, *slot = s->tet_slot + 16 * (size_t)t;
    const csim_real *lame = s->tet_lame + 3 * (size_t)t, *G = s->tet_shape + 9 * (size_t)t;
    csim_real volume = s->tet_volume[t], weight = volume * (job->weight + job->h * lame[2]);
    csim_real mu = weight * lame[0], lambda = weight * lame[1], F[9], R[9], P[9], g[4][3], f[4][3];
    csim_real *val = job->system->A.val, sink[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    int a, b, c;
    csimi_tet_gradient(s, t, F);
    csimi_polar3(F, R);
    csimi_tet_stress(F, R, lame[0], lame[1], P);
    csimi_tet_map(R, G, g);
    csimi_tet_map(P, G, f);
    for (a = 0; a < 4; a++) {
        csim_real *rhs = job->system->b + 3 * (size_t)node[a];
        for (b = a + 1; b < 4; b++)
            csimi_tet_block(g[a], g[b], mu, lambda, mine[a] ? val + 9 * (size_t)slot[4 * a + b] : sink,
                            mine[b] ? val + 9 * (size_t)slot[4 * b + a] : sink);
        if (!mine[a]) continue;
        csimi_tet_diagonal(g[a], mu, lambda, val + 9 * (size_t)slot[5 * a]);
        for (c = 0; c < 3; c++) rhs[c] -= job->h * volume * f[a][c];
    }
}

/* The same for any material: projected tangent instead of squares of strains. */
static void csimi_tet_add_any(const csimi_tet_job *job, int t, const bool *mine) {
    const csimi_state *s = job->s;
    const int *node = s->tet + 4 * (size_t)t, *slot = s->tet_slot + 16 * (size_t)t;
    csim_real volume = s->tet_volume[t], weight = volume * (job->weight + job->h * s->tet_lame[3 * (size_t)t + 2]);
    csim_real *val = job->system->A.val, K[9], pull;
    csimi_tet_view view;
    int a, b, i, j;
    csimi_tet_look(s, t, &view);
    csimi_project_stretches(&view.d);
    pull = csimi_max(0, view.slope); /* a fibre that pushes has no stable tangent */
    for (a = 0; a < 4; a++) {
        csim_real *rhs = job->system->b + 3 * (size_t)node[a];
        for (b = a; b < 4; b++) {
            csim_real *ab = val + 9 * (size_t)slot[4 * a + b], *ba = val + 9 * (size_t)slot[4 * b + a];
            if (!mine[a] && !mine[b]) continue;
            csimi_stretch_block(&view.d, view.U, view.y[a], view.y[b], K);
            for (i = 0; i < 3; i++)
                for (j = 0; j < 3; j++)
                    K[3 * i + j] +=
                        pull * view.along[a] * view.along[b] * ((i == j ? 1 : 0) - view.fibre[i] * view.fibre[j]);
            for (i = 0; i < 3; i++)
                for (j = 0; j < 3; j++) {
                    if (a == b) /* symmetric to the bit */
                        ab[3 * i + j] += weight * ((K[3 * i + j] + K[3 * j + i]) / 2);
                    else if (mine[a])
                        ab[3 * i + j] += weight * K[3 * i + j];
                    if (a != b && mine[b]) ba[3 * j + i] += weight * K[3 * i + j];
                }
        }
        for (i = 0; mine[a] && i < 3; i++) rhs[i] -= job->h * volume * view.f[a][i];
    }
}

/* Assembles the rows [begin, end): all elements in order, each adding to the rows of this range only. A row thus gets
   the same sum whatever the ranges are, and no two ranges write the same row; elements across ranges are done twice,
   so nodes numbered by neighbourhood pay. */
static void csimi_tet_rows(void *context, int begin, int end) {
    const csimi_tet_job *job = (const csimi_tet_job *)context;
    int t, a;
    for (t = 0; t < job->s->tet_count; t++) {
        const int *node = job->s->tet + 4 * (size_t)t;
        bool mine[4];
        for (a = 0; a < 4; a++) mine[a] = node[a] >= begin && node[a] < end;
        if (!(mine[0] || mine[1] || mine[2] || mine[3])) continue;
        if (csimi_tet_is_plain(job->s, t))
            csimi_tet_add(job, t, mine);
        else
            csimi_tet_add_any(job, t, mine);
    }
}

CSIMI_FN void csimi_tet_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csimi_tet_job job;
    int n = s->node_count;
    job.s = s;
    job.system = system;
    job.h = step->h;
    job.weight = step->sigma * step->h * step->h;
    if (step->tasks)
        csimi_parallel(step->tasks, n, csimi_imax(1024, n / 8 + 1), csimi_tet_rows, &job);
    else
        csimi_tet_rows(&job, 0, n);
}

CSIMI_FN int csimi_tet_couple(const csimi_state *s, int *pairs) {
    int t, a, b;
    for (t = 0; pairs && t < s->tet_count; t++)
        for (a = 0; a < 4; a++)
            for (b = a + 1; b < 4; b++) {
                *pairs++ = s->tet[4 * t + a];
                *pairs++ = s->tet[4 * t + b];
            }
    return 6 * s->tet_count;
}

CSIMI_FN void csimi_tet_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int t, a, b;
    for (t = 0; t < s->tet_count; t++)
        for (a = 0; a < 4; a++)
            for (b = 0; b < 4; b++)
                s->tet_slot[16 * t + 4 * a + b] = csimi_pattern_find(pattern, s->tet[4 * t + a], s->tet[4 * t + b]);
}

CSIMI_FN void csimi_tet_energy(const csimi_state *s, csimi_energy *energy) {
    int t;
    for (t = 0; t < s->tet_count; t++) {
        const csim_real *lame = s->tet_lame + 3 * (size_t)t;
        csimi_tet_view view;
        csim_real F[9], density;
        if (csimi_tet_is_plain(s, t)) {
            csimi_tet_gradient(s, t, F);
            density = csimi_corotational(F, lame[0], lame[1], NULL);
        } else {
            density = csimi_tet_look(s, t, &view);
        }
        energy->elastic += (double)s->tet_volume[t] * (double)density;
    }
}

/* ---- Preparing a mesh */

/* Edges 01, 02, 03 as columns of D; six times the volume in double; the square of the longest edge. */
static double csimi_tet_edges(const int *node, const csim_real *x, csim_real *D, double *longest) {
    double d[3][3], square;
    int a, b, c;
    for (a = 0; a < 3; a++)
        for (c = 0; c < 3; c++) {
            d[a][c] = (double)x[3 * node[a + 1] + c] - (double)x[3 * node[0] + c];
            D[3 * c + a] = (csim_real)d[a][c];
        }
    *longest = 0;
    for (a = 0; a < 4; a++)
        for (b = a + 1; b < 4; b++) {
            for (square = 0, c = 0; c < 3; c++) {
                double e = (double)x[3 * node[b] + c] - (double)x[3 * node[a] + c];
                square += e * e;
            }
            if (square > *longest) *longest = square;
        }
    return d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) + d[0][1] * (d[1][2] * d[2][0] - d[1][0] * d[2][2]) +
           d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
}

CSIMI_FN int csimi_tet_prepare(int count, const int *tet, const csim_real *x, const csim_real *density,
                               csim_real *shape, csim_real *volume, csim_real *node_mass) {
    int t, a;
    for (t = 0; t < count; t++) {
        csim_real D[9];
        double longest, size = csimi_tet_edges(tet + 4 * (size_t)t, x, D, &longest) / 6;
        if (!(size > 0 && size * size > 1e-24 * longest * longest * longest)) return t;
        if (!csimi_inverse3(D, shape + 9 * (size_t)t)) return t;
        volume[t] = (csim_real)size;
        for (a = 0; a < 4; a++) node_mass[tet[4 * t + a]] += density[t] * volume[t] / 4;
    }
    return -1;
}

/* Faces of a tet, outward and counter-clockwise. */
static const int csimi_tet_faces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

static void csimi_tet_face(const int *tet, int face, int *node, int *sorted) {
    int i, hold;
    for (i = 0; i < 3; i++) sorted[i] = node[i] = tet[4 * (face / 4) + csimi_tet_faces[face % 4][i]];
    for (i = 0; i < 3; i++) { /* three compare-exchanges sort three numbers */
        int p = i == 1 ? 1 : 0;
        if (sorted[p] <= sorted[p + 1]) continue;
        hold = sorted[p];
        sorted[p] = sorted[p + 1];
        sorted[p + 1] = hold;
    }
}

CSIMI_FN size_t csimi_tet_surface_scratch(int node_count, int tet_count) {
    return (size_t)node_count + 4 * (size_t)tet_count;
}

/* Lists of faces by their lowest node; a face that meets its twin takes it out of the list. What is left is the
   boundary. */
CSIMI_FN int csimi_tet_surface(int node_count, int tet_count, const int *tet, int *triangles, int capacity,
                               int *scratch) {
    enum { END = -1, INSIDE = -2 };
    int *head = scratch, *next = head + node_count, face, i, count = 0, node[3], sorted[3], other[3], twin[3];
    for (i = 0; i < node_count; i++) head[i] = END;
    for (face = 0; face < 4 * tet_count; face++) {
        int *link;
        csimi_tet_face(tet, face, node, sorted);
        for (link = &head[sorted[0]]; *link != END; link = &next[*link]) {
            csimi_tet_face(tet, *link, other, twin);
            if (twin[1] == sorted[1] && twin[2] == sorted[2]) break;
        }
        if (*link == END) {
            *link = face;
            next[face] = END;
        } else {
            i = *link;
            *link = next[i];
            next[i] = next[face] = INSIDE;
        }
    }
    for (face = 0; face < 4 * tet_count; face++) {
        if (next[face] == INSIDE) continue;
        csimi_tet_face(tet, face, node, sorted);
        for (i = 0; i < 3 && count < capacity; i++) triangles[3 * count + i] = node[i];
        count++;
    }
    return count;
}
/* ==== end model/tet.c */

/* ==== begin model/place.c ======================================================================================= */
/* model/place: material points of everything that moves; the one file that knows their kinds apart. */

static csim_quat csimi_place_rotation(const csimi_state *s, int k) {
    const csim_real *p = s->rotation + 4 * (size_t)k;
    csim_quat q;
    q.w = p[0];
    q.x = p[1];
    q.y = p[2];
    q.z = p[3];
    return q;
}

static void csimi_place_scaled_identity(csim_real a, csim_real *J) {
    int k;
    for (k = 0; k < 9; k++) J[k] = k % 4 == 0 ? a : 0;
}

/* ---- making */

static csimi_place csimi_place_of(csimi_place_kind kind) {
    csimi_place p;
    CSIMI_MEMSET(&p, 0, sizeof p);
    p.kind = kind;
    p.item = -1;
    return p;
}

CSIMI_FN csimi_place csimi_place_ground(csim_vec3 point) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_GROUND);
    csimi_store3(p.local, point);
    return p;
}

CSIMI_FN csimi_place csimi_place_node(int node) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_NODE);
    p.item = node;
    return p;
}

CSIMI_FN csimi_place csimi_place_rigid(const csimi_state *s, int k, csim_vec3 point) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_RIGID);
    csim_vec3 arm = csim_sub(point, csimi_load3(s->com + 3 * (size_t)k));
    p.item = k;
    csimi_store3(p.local, csim_unrotate(csimi_place_rotation(s, k), arm));
    return p;
}

CSIMI_FN csimi_place csimi_place_face(const int *node, const csim_real *weight) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_FACE);
    int k;
    for (k = 0; k < 3; k++) {
        p.node[k] = node[k];
        p.local[k] = weight[k];
    }
    return p;
}

/* ---- where it is and how it moves */

CSIMI_FN csim_vec3 csimi_place_point(const csimi_state *s, const csimi_place *p) {
    csim_vec3 x = csimi_load3(p->local);
    int k;
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: break;
    case CSIMI_PLACE_NODE: return csimi_load3(s->x + 3 * (size_t)p->item);
    case CSIMI_PLACE_RIGID:
        return csim_add(csimi_load3(s->com + 3 * (size_t)p->item),
                        csim_rotate(csimi_place_rotation(s, p->item), csimi_load3(p->local)));
    case CSIMI_PLACE_FACE:
        x = csim_v3(0, 0, 0);
        for (k = 0; k < 3; k++) x = csim_madd(x, p->local[k], csimi_load3(s->x + 3 * (size_t)p->node[k]));
        break;
    }
    return x;
}

CSIMI_FN csim_vec3 csimi_place_velocity(const csimi_state *s, const csimi_place *p, csim_vec3 point) {
    csim_vec3 v = csim_v3(0, 0, 0);
    int k;
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: break;
    case CSIMI_PLACE_NODE: return csimi_load3(s->v + 3 * (size_t)p->item);
    case CSIMI_PLACE_RIGID: {
        const csim_real *twist = s->velocity + 6 * (size_t)p->item;
        csim_vec3 arm = csim_sub(point, csimi_load3(s->com + 3 * (size_t)p->item));
        return csim_add(csimi_load3(twist), csim_cross(csimi_load3(twist + 3), arm));
    }
    case CSIMI_PLACE_FACE:
        for (k = 0; k < 3; k++) v = csim_madd(v, p->local[k], csimi_load3(s->v + 3 * (size_t)p->node[k]));
        break;
    }
    return v;
}

static csim_vec3 csimi_node_acceleration(const csimi_state *s, int node) {
    if (s->node_mode[node] != CSIMI_FREE) return csim_v3(0, 0, 0);
    return csim_madd(csimi_load3(s->gravity), 1 / s->node_mass[node], csimi_load3(s->node_force + 3 * (size_t)node));
}

CSIMI_FN csim_vec3 csimi_place_acceleration(const csimi_state *s, const csimi_place *p) {
    csim_vec3 a = csim_v3(0, 0, 0);
    int k;
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: break;
    case CSIMI_PLACE_NODE: return csimi_node_acceleration(s, p->item);
    case CSIMI_PLACE_RIGID:
        if (s->rigid_mode[p->item] != CSIMI_FREE) break;
        return csim_madd(csimi_load3(s->gravity), 1 / s->rigid_mass[p->item],
                         csimi_load3(s->wrench + 6 * (size_t)p->item));
    case CSIMI_PLACE_FACE:
        for (k = 0; k < 3; k++) a = csim_madd(a, p->local[k], csimi_node_acceleration(s, p->node[k]));
        break;
    }
    return a;
}

CSIMI_FN int csimi_place_terms(const csimi_state *s, const csimi_place *p, csim_vec3 point, int *block, csim_real *J) {
    csim_real x[3];
    int k, n = csimi_place_term_count(p);
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: break;
    case CSIMI_PLACE_NODE:
        block[0] = p->item;
        csimi_place_scaled_identity(1, J);
        break;
    case CSIMI_PLACE_RIGID:
        block[0] = s->node_count + 2 * p->item;
        block[1] = block[0] + 1;
        csimi_place_scaled_identity(1, J);
        csimi_store3(x, point);
        csimi_rigid_arm(s, p->item, x, J + 9);
        break;
    case CSIMI_PLACE_FACE:
        for (k = 0; k < 3; k++) {
            block[k] = p->node[k];
            csimi_place_scaled_identity(p->local[k], J + 9 * k);
        }
        break;
    }
    return n;
}

CSIMI_FN int csimi_place_term_count(const csimi_place *p) {
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: return 0;
    case CSIMI_PLACE_NODE: return 1;
    case CSIMI_PLACE_RIGID: return 2;
    case CSIMI_PLACE_FACE: return 3;
    }
    return 0;
}

/* ---- mass */

CSIMI_FN void csimi_place_prepare(csimi_state *s) {
    int i, k;
    for (i = 0; i < s->rigid_count; i++) {
        csim_real I[9], *inverse = s->rigid_inverse + 9 * (size_t)i;
        for (k = 0; k < 9; k++) inverse[k] = 0;
        if (s->rigid_mode[i] != CSIMI_FREE) continue;
        csimi_rigid_inertia_world(s, i, I);
        csimi_inverse3(I, inverse);
    }
}

CSIMI_FN csim_real csimi_place_mass(const csimi_state *s, const csimi_place *p, csim_vec3 point) {
    csim_real trace = 0, x[3], J[9], JI[9];
    int k;
    if (!csimi_place_free(s, p)) return 0;
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: return 0;
    case CSIMI_PLACE_NODE: return s->node_mass[p->item];
    case CSIMI_PLACE_RIGID:
        trace = 3 / s->rigid_mass[p->item];
        csimi_store3(x, point);
        csimi_rigid_arm(s, p->item, x, J);
        csimi_matmul(J, s->rigid_inverse + 9 * (size_t)p->item, JI);
        for (k = 0; k < 9; k++) trace += JI[k] * J[k];
        break;
    case CSIMI_PLACE_FACE:
        for (k = 0; k < 3; k++)
            if (s->node_mode[p->node[k]] == CSIMI_FREE)
                trace += 3 * p->local[k] * p->local[k] / s->node_mass[p->node[k]];
        break;
    }
    return trace > 0 ? 3 / trace : 0;
}

CSIMI_FN bool csimi_place_free(const csimi_state *s, const csimi_place *p) {
    int k;
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: break;
    case CSIMI_PLACE_NODE: return s->node_mode[p->item] == CSIMI_FREE;
    case CSIMI_PLACE_RIGID: return s->rigid_mode[p->item] == CSIMI_FREE;
    case CSIMI_PLACE_FACE:
        for (k = 0; k < 3; k++)
            if (s->node_mode[p->node[k]] == CSIMI_FREE) return true;
        break;
    }
    return false;
}

/* ---- identity, turning, bookkeeping */

CSIMI_FN bool csimi_place_same(const csimi_place *a, const csimi_place *b) {
    int k;
    if (a->kind != b->kind || a->item != b->item) return false;
    if (a->kind != CSIMI_PLACE_FACE) return true;
    for (k = 0; k < 3; k++)
        if (a->node[k] != b->node[k]) return false;
    return true;
}

/* The direction's parts along and across the edges of the triangle, put together again with the edges of now. */
static csim_vec3 csimi_face_carry(const csimi_place *p, const csimi_state *then, const csimi_state *now, csim_vec3 d) {
    csim_real R[2][9], local[3], world[3];
    int k;
    for (k = 0; k < 2; k++) {
        const csim_real *x = k ? now->x : then->x;
        csim_vec3 a = csimi_load3(x + 3 * (size_t)p->node[0]);
        csim_vec3 e = csim_sub(csimi_load3(x + 3 * (size_t)p->node[1]), a);
        csim_real n[3], hint[3];
        csimi_store3(n, csim_normalize(csim_cross(e, csim_sub(csimi_load3(x + 3 * (size_t)p->node[2]), a))));
        csimi_store3(hint, e);
        if (!(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] > 0)) return d;
        csimi_frame(n, hint, R[k]);
    }
    csimi_store3(world, d);
    csimi_mul3(R[0], world, local);
    world[0] = world[1] = world[2] = 0;
    csimi_addmulT3(R[1], local, world);
    return csimi_load3(world);
}

CSIMI_FN csim_vec3 csimi_place_carry(const csimi_place *p, const csimi_state *then, const csimi_state *now,
                                     csim_vec3 direction) {
    switch (p->kind) {
    case CSIMI_PLACE_GROUND:
    case CSIMI_PLACE_NODE: break;
    case CSIMI_PLACE_RIGID:
        return csim_rotate(csimi_place_rotation(now, p->item),
                           csim_unrotate(csimi_place_rotation(then, p->item), direction));
    case CSIMI_PLACE_FACE: return csimi_face_carry(p, then, now, direction);
    }
    return direction;
}

CSIMI_FN void csimi_place_shift(csimi_place *p, int first_node, int node_count, int rigid) {
    int k;
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: break;
    case CSIMI_PLACE_NODE:
        if (p->item >= first_node + node_count) p->item -= node_count;
        break;
    case CSIMI_PLACE_RIGID:
        if (rigid >= 0 && p->item > rigid) p->item--;
        break;
    case CSIMI_PLACE_FACE:
        for (k = 0; k < 3; k++)
            if (p->node[k] >= first_node + node_count) p->node[k] -= node_count;
        break;
    }
}
/* ==== end model/place.c */

/* ==== begin model/cloth.c ======================================================================================= */
/* model/cloth: triangles that stretch as membranes and bend about their edges.

   Membrane: F = Ds Dm^-1 (3 x 2) = U diag(s) V', one of the laws of material.c in plane stress.

   Bending: in each triangle the curvature tensor of Morley's element, with the slope at the middle of an edge taken
   half way between the two triangles that share it: kappa = sum over the edges of |e| theta_e / (2 A) m_e m_e', theta_e
   the dihedral angle and m_e the normal of the edge in the triangle (Morley 1968; Gingold et al. 2004). The energy of
   a plate, A D / 2 ((1 - nu) kappa : kappa + nu (tr kappa)^2), is then a quadratic form Q in three angles. It is exact
   for every constant curvature on meshes whose neighbours form parallelograms. At a free edge the slope is not known:
   it takes the value of least energy, so Q is condensed once. The tangent J'Q J (J = d theta / dx) drops the second
   derivatives of the angles and is positive semidefinite in every state. */

/* ---- membranes */

static void csimi_membrane_map(const csim_real *M, const csim_real *G, csim_real g[3][3]) {
    int c;
    for (c = 0; c < 3; c++) {
        g[1][c] = M[3 * c] * G[0] + M[3 * c + 1] * G[1];
        g[2][c] = M[3 * c] * G[2] + M[3 * c + 1] * G[3];
        g[0][c] = -(g[1][c] + g[2][c]);
    }
}

/* Columns f0, f1 of F: turned by the angle that makes them orthogonal (one-sided Jacobi), they are the principal
   directions. Fills the stretches, the frame U = (u0, u1, normal) and the first two columns of V. */
static void csimi_membrane_axes(csim_vec3 f0, csim_vec3 f1, csim_real *stretch, csim_real *U, csim_real *V) {
    csim_real a = csim_dot(f0, f0), b = csim_dot(f1, f1), g = csim_dot(f0, f1), c = 1, s = 0;
    csim_vec3 p, q, n;
    if (csimi_abs(g) > CSIMI_TINY) {
        csim_real tau = (b - a) / (2 * g), t = 1 / (csimi_abs(tau) + CSIMI_SQRT(1 + tau * tau));
        if (tau < 0) t = -t;
        c = 1 / CSIMI_SQRT(1 + t * t);
        s = t * c;
    }
    p = csim_sub(csim_scale(c, f0), csim_scale(s, f1));
    q = csim_add(csim_scale(s, f0), csim_scale(c, f1));
    stretch[0] = csim_length(p);
    stretch[1] = csim_length(q);
    p = stretch[0] > CSIMI_TINY ? csim_scale(1 / stretch[0], p) : csim_v3(1, 0, 0);
    q = csim_madd(q, -csim_dot(p, q), p);
    if (!(csim_length(q) > CSIMI_EPS * (stretch[0] + stretch[1]))) { /* a line: any normal will do */
        csim_real line[3], R[9];
        csimi_store3(line, p);
        csimi_frame(line, NULL, R);
        q = csimi_load3(R + 3);
    }
    q = csim_normalize(q);
    n = csim_cross(p, q);
    U[0] = p.x, U[1] = q.x, U[2] = n.x;
    U[3] = p.y, U[4] = q.y, U[5] = n.y;
    U[6] = p.z, U[7] = q.z, U[8] = n.z;
    CSIMI_MEMSET(V, 0, 9 * sizeof(csim_real));
    V[0] = c, V[1] = s, V[3] = -s, V[4] = c;
    V[8] = 1;
}

typedef struct csimi_membrane_view {
    csimi_stretches d;
    csim_real U[9], y[3][3], f[3][3]; /* y: shape gradients in principal axes; f: P times them */
} csimi_membrane_view;

static csim_real csimi_membrane_look(const csimi_state *s, int t, csimi_membrane_view *view) {
    const int *node = s->membrane + 3 * (size_t)t;
    const csim_real *G = s->membrane_shape + 4 * (size_t)t, *data = s->membrane_data + 4 * (size_t)t;
    csim_vec3 x0 = csimi_load3(s->x + 3 * (size_t)node[0]);
    csim_vec3 e1 = csim_sub(csimi_load3(s->x + 3 * (size_t)node[1]), x0);
    csim_vec3 e2 = csim_sub(csimi_load3(s->x + 3 * (size_t)node[2]), x0);
    csim_vec3 f0 = csim_add(csim_scale(G[0], e1), csim_scale(G[2], e2));
    csim_vec3 f1 = csim_add(csim_scale(G[1], e1), csim_scale(G[3], e2));
    csim_real stretch[2], V[9], P[9], M[9], energy;
    int i, j;
    csimi_membrane_axes(f0, f1, stretch, view->U, V);
    energy = csimi_membrane_material(s->membrane_material[t], stretch, data[1], data[2], &view->d);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            M[3 * i + j] = V[3 * j + i];
            P[3 * i + j] = view->U[3 * i] * view->d.g[0] * V[3 * j] + view->U[3 * i + 1] * view->d.g[1] * V[3 * j + 1];
        }
    csimi_membrane_map(P, G, view->f);
    csimi_membrane_map(M, G, view->y);
    return energy;
}

/* ---- bending */

/* The dihedral angle about the edge e = x1 -> x2 between the triangle with corner p and the one with corner q, 0 when
   flat, and its derivatives; false for triangles without a normal. Bridson et al. 2003. */
static bool csimi_dihedral(csim_vec3 p, csim_vec3 x1, csim_vec3 x2, csim_vec3 q, csim_real *angle,
                           csim_vec3 *gradient) {
    csim_vec3 e = csim_sub(x2, x1), n1 = csim_cross(e, csim_sub(p, x1)), n2 = csim_cross(csim_sub(q, x1), e);
    csim_real e2 = csim_dot(e, e), length = CSIMI_SQRT(e2), a1 = csim_length(n1), a2 = csim_length(n2), t1, t2;
    csim_vec3 g1, g2;
    if (!(a1 > CSIM_R(1e-6) * e2) || !(a2 > CSIM_R(1e-6) * e2)) return false;
    g1 = csim_scale(length / (a1 * a1), n1); /* n / height */
    g2 = csim_scale(length / (a2 * a2), n2);
    *angle = CSIMI_ATAN2(csim_dot(csim_cross(n1, n2), e) / length, csim_dot(n1, n2));
    t1 = csim_dot(csim_sub(p, x1), e) / e2;
    t2 = csim_dot(csim_sub(q, x1), e) / e2;
    gradient[0] = csim_scale(-1, g1);
    gradient[1] = csim_add(csim_scale(1 - t1, g1), csim_scale(1 - t2, g2));
    gradient[2] = csim_add(csim_scale(t1, g1), csim_scale(t2, g2));
    gradient[3] = csim_scale(-1, g2);
    return true;
}

/* Angles of the three edges less their rest values, and the derivatives by the six nodes (corner a, then the corner
   beyond the edge that faces it). */
typedef struct csimi_fold_view {
    csim_real angle[3];
    csim_vec3 J[3][6];
} csimi_fold_view;

static void csimi_fold_look(const csimi_state *s, int t, csimi_fold_view *view) {
    const int *node = s->membrane + 3 * (size_t)t, *beyond = s->membrane_beyond + 3 * (size_t)t;
    const csim_real *fold = s->membrane_fold + 9 * (size_t)t;
    int a, k;
    CSIMI_MEMSET(view, 0, sizeof *view);
    for (a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3, corner[4];
        csim_vec3 g[4];
        corner[0] = a, corner[1] = b, corner[2] = c, corner[3] = 3 + a;
        if (beyond[a] < 0) continue;
        if (!csimi_dihedral(csimi_load3(s->x + 3 * (size_t)node[a]), csimi_load3(s->x + 3 * (size_t)node[b]),
                            csimi_load3(s->x + 3 * (size_t)node[c]), csimi_load3(s->x + 3 * (size_t)beyond[a]),
                            view->angle + a, g))
            continue;
        view->angle[a] -= fold[6 + a];
        for (k = 0; k < 4; k++) view->J[a][corner[k]] = g[k];
    }
}

/* Entry (a, b) of Q, stored as 00, 11, 22, 12, 20, 01. */
static csim_real csimi_fold_form(const csim_real *fold, int a, int b) { return fold[a == b ? a : 6 - a - b]; }

/* Q times the angles: moments about the edges. */
static void csimi_fold_moments(const csim_real *fold, const csim_real *angle, csim_real *moment) {
    int a;
    for (a = 0; a < 3; a++)
        moment[a] = csimi_fold_form(fold, a, 0) * angle[0] + csimi_fold_form(fold, a, 1) * angle[1] +
                    csimi_fold_form(fold, a, 2) * angle[2];
}

/* ---- assembly */

static int csimi_membrane_node(const csimi_state *s, int t, int k) {
    return k < 3 ? s->membrane[3 * t + k] : s->membrane_beyond[3 * t + k - 3];
}

/* Adds weight K to block (a, b) and its transpose to (b, a), the diagonal symmetric to the bit. */
static void csimi_cloth_block(csim_real weight, const csim_real *K, csim_real *ab, csim_real *ba) {
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            if (ab == ba)
                ab[3 * i + j] += weight * ((K[3 * i + j] + K[3 * j + i]) / 2);
            else {
                ab[3 * i + j] += weight * K[3 * i + j];
                ba[3 * j + i] += weight * K[3 * i + j];
            }
}

static void csimi_membrane_add(const csimi_state *s, int t, csim_real weight, csim_real h, csimi_system *system) {
    const int *node = s->membrane + 3 * (size_t)t, *slot = s->membrane_slot + 36 * (size_t)t;
    csim_real volume = s->membrane_data[4 * (size_t)t], K[9], *val = system->A.val;
    csimi_membrane_view view;
    int a, b, c;
    csimi_membrane_look(s, t, &view);
    csimi_project_stretches(&view.d);
    for (a = 0; a < 3; a++) {
        for (c = 0; c < 3; c++) system->b[3 * node[a] + c] -= h * volume * view.f[a][c];
        for (b = a; b < 3; b++) {
            csimi_stretch_block(&view.d, view.U, view.y[a], view.y[b], K);
            csimi_cloth_block(weight * volume, K, val + 9 * (size_t)slot[6 * a + b], val + 9 * (size_t)slot[6 * b + a]);
        }
    }
}

static void csimi_fold_add(const csimi_state *s, int t, csim_real weight, csim_real h, csimi_system *system) {
    const csim_real *fold = s->membrane_fold + 9 * (size_t)t;
    const int *slot = s->membrane_slot + 36 * (size_t)t;
    csim_real moment[3], K[9], *val = system->A.val;
    csimi_fold_view view;
    int a, m, n;
    csimi_fold_look(s, t, &view);
    csimi_fold_moments(fold, view.angle, moment);
    for (m = 0; m < 6; m++) {
        csim_real *b = system->b + 3 * (size_t)csimi_imax(0, csimi_membrane_node(s, t, m));
        csim_vec3 QJ[3];
        if (slot[7 * m] < 0) continue;
        for (a = 0; a < 3; a++) {
            csimi_store3(b, csim_madd(csimi_load3(b), -h * moment[a], view.J[a][m]));
            QJ[a] = csim_add(csim_add(csim_scale(csimi_fold_form(fold, a, 0), view.J[0][m]),
                                      csim_scale(csimi_fold_form(fold, a, 1), view.J[1][m])),
                             csim_scale(csimi_fold_form(fold, a, 2), view.J[2][m]));
        }
        for (n = m; n < 6; n++) {
            if (slot[6 * m + n] < 0) continue;
            CSIMI_MEMSET(K, 0, sizeof K);
            for (a = 0; a < 3; a++) { /* (Q J_m)' J_n */
                csim_vec3 p = QJ[a], q = view.J[a][n];
                K[0] += p.x * q.x, K[1] += p.x * q.y, K[2] += p.x * q.z;
                K[3] += p.y * q.x, K[4] += p.y * q.y, K[5] += p.y * q.z;
                K[6] += p.z * q.x, K[7] += p.z * q.y, K[8] += p.z * q.z;
            }
            csimi_cloth_block(weight, K, val + 9 * (size_t)slot[6 * m + n], val + 9 * (size_t)slot[6 * n + m]);
        }
    }
}

CSIMI_FN void csimi_cloth_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    int t;
    for (t = 0; t < s->membrane_count; t++) {
        csim_real weight = step->sigma * step->h * step->h + step->h * s->membrane_data[4 * (size_t)t + 3];
        csimi_membrane_add(s, t, weight, step->h, system);
        csimi_fold_add(s, t, weight, step->h, system);
    }
}

CSIMI_FN void csimi_cloth_energy(const csimi_state *s, csimi_energy *energy) {
    int t, a;
    for (t = 0; t < s->membrane_count; t++) {
        csimi_membrane_view membrane;
        csimi_fold_view fold;
        csim_real moment[3];
        energy->elastic += (double)s->membrane_data[4 * (size_t)t] * (double)csimi_membrane_look(s, t, &membrane);
        csimi_fold_look(s, t, &fold);
        csimi_fold_moments(s->membrane_fold + 9 * (size_t)t, fold.angle, moment);
        for (a = 0; a < 3; a++) energy->elastic += (double)moment[a] * (double)fold.angle[a] / 2;
    }
}

CSIMI_FN int csimi_cloth_couple(const csimi_state *s, int *pairs) {
    int t, m, n, count = 0;
    for (t = 0; t < s->membrane_count; t++)
        for (m = 0; m < 6; m++)
            for (n = m + 1; n < 6; n++) {
                int i = csimi_membrane_node(s, t, m), j = csimi_membrane_node(s, t, n);
                if (i < 0 || j < 0) continue;
                if (pairs) {
                    pairs[2 * count] = i;
                    pairs[2 * count + 1] = j;
                }
                count++;
            }
    return count;
}

CSIMI_FN void csimi_cloth_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int t, m, n;
    for (t = 0; t < s->membrane_count; t++)
        for (m = 0; m < 6; m++)
            for (n = 0; n < 6; n++) {
                int i = csimi_membrane_node(s, t, m), j = csimi_membrane_node(s, t, n);
                s->membrane_slot[36 * t + 6 * m + n] = i < 0 || j < 0 ? -1 : csimi_pattern_find(pattern, i, j);
            }
}

/* ---- preparing a mesh */

/* Corner beyond each edge. Half-edges are kept in lists by their first vertex; an edge that runs the same way in two
   triangles is a flipped or a third one. */
CSIMI_FN int csimi_cloth_neighbours(int vertices, int count, const int *triangle, int *beyond, int *scratch) {
    int *head = scratch, *next = head + vertices, t, a, k;
    for (k = 0; k < vertices; k++) head[k] = -1;
    for (t = 0; t < count; t++)
        for (a = 0; a < 3; a++) {
            int from = triangle[3 * t + (a + 1) % 3], to = triangle[3 * t + (a + 2) % 3];
            for (k = head[from]; k >= 0; k = next[k])
                if (triangle[3 * (k / 3) + (k % 3 + 2) % 3] == to) return t;
            next[3 * t + a] = head[from];
            head[from] = 3 * t + a;
        }
    for (t = 0; t < count; t++)
        for (a = 0; a < 3; a++) {
            int from = triangle[3 * t + (a + 1) % 3], to = triangle[3 * t + (a + 2) % 3];
            beyond[3 * t + a] = -1;
            for (k = head[to]; k >= 0; k = next[k])
                if (triangle[3 * (k / 3) + (k % 3 + 2) % 3] == from) beyond[3 * t + a] = triangle[k];
        }
    return -1;
}

CSIMI_FN bool csimi_membrane_prepare(const csim_real *x0, const csim_real *x1, const csim_real *x2, csim_real *shape,
                                     csim_real *area) {
    csim_vec3 e1 = csim_sub(csimi_load3(x1), csimi_load3(x0)), e2 = csim_sub(csimi_load3(x2), csimi_load3(x0));
    csim_vec3 e3 = csim_sub(e2, e1), n = csim_cross(e1, e2), u, v;
    csim_real twice = csim_length(n),
              longest = csimi_max(csim_dot(e1, e1), csimi_max(csim_dot(e2, e2), csim_dot(e3, e3)));
    csim_real a, b, c;
    if (!(twice > CSIM_R(1e-6) * longest)) return false;
    u = csim_normalize(e1);
    v = csim_normalize(csim_cross(n, u));
    a = csim_dot(u, e1);
    b = csim_dot(u, e2);
    c = csim_dot(v, e2);
    shape[0] = 1 / a; /* inverse of [a b; 0 c] */
    shape[1] = -b / (a * c);
    shape[2] = 0;
    shape[3] = 1 / c;
    *area = twice / 2;
    return true;
}

/* Takes the angle k out of the form by minimising over it: Q <- Q - Q_k Q_k' / Q_kk. */
static void csimi_fold_condense(csim_real Q[3][3], int k) {
    csim_real pivot = Q[k][k], row[3];
    int i, j;
    for (i = 0; i < 3; i++) row[i] = Q[k][i];
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) Q[i][j] = i == k || j == k || !(pivot > 0) ? 0 : Q[i][j] - row[i] * row[j] / pivot;
}

CSIMI_FN void csimi_fold_prepare(const csim_real *shape, csim_real area, const int *beyond, csim_real rigidity,
                                 csim_real poisson, csim_real *fold) {
    csim_real g[3][2], Q[3][3];
    int a, b;
    for (a = 0; a < 2; a++) { /* gradient of corner a is -|e| m / (2 A): |e| / (2 A) m m' has its length */
        g[1][a] = shape[a];
        g[2][a] = shape[2 + a];
        g[0][a] = -(g[1][a] + g[2][a]);
    }
    for (a = 0; a < 3; a++)
        for (b = 0; b < 3; b++) {
            csim_real la = CSIMI_SQRT(g[a][0] * g[a][0] + g[a][1] * g[a][1]);
            csim_real lb = CSIMI_SQRT(g[b][0] * g[b][0] + g[b][1] * g[b][1]);
            csim_real cosine = (g[a][0] * g[b][0] + g[a][1] * g[b][1]) / (la * lb);
            Q[a][b] = area * rigidity * la * lb * ((1 - poisson) * cosine * cosine + poisson);
        }
    for (a = 0; a < 3; a++)
        if (beyond[a] < 0) csimi_fold_condense(Q, a);
    for (a = 0; a < 3; a++) {
        fold[a] = Q[a][a];
        fold[3 + a] = Q[(a + 1) % 3][(a + 2) % 3];
        fold[6 + a] = 0;
    }
}

CSIMI_FN void csimi_fold_rest(csimi_state *s, int t) {
    csimi_fold_view view;
    int a;
    csimi_fold_look(s, t, &view);
    for (a = 0; a < 3; a++) s->membrane_fold[9 * (size_t)t + 6 + (size_t)a] += view.angle[a];
}
/* ==== end model/cloth.c */

/* ==== begin model/spring.c ====================================================================================== */
/* model/spring */

#define CSIMI_SPRING_SIDE (2 * CSIMI_PLACE_TERMS)

/* A spring as seen by the blocks: stretch direction and the terms of d = point a - point b, signs included. */
typedef struct csimi_spring_view {
    int count, block[2 * CSIMI_PLACE_TERMS];
    csim_real J[2 * CSIMI_PLACE_TERMS][9];
    csim_vec3 d;      /* m */
    csim_real length; /* m */
} csimi_spring_view;

static csimi_spring_view csimi_spring_look(const csimi_state *s, int k) {
    const csimi_place *end = s->spring + 2 * (size_t)k;
    csimi_spring_view view;
    csim_vec3 a = csimi_place_point(s, end), b = csimi_place_point(s, end + 1);
    int first, p, i;
    CSIMI_MEMSET(&view, 0, sizeof view);
    first = csimi_place_terms(s, end, a, view.block, view.J[0]);
    view.count = first + csimi_place_terms(s, end + 1, b, view.block + first, view.J[first]);
    for (p = first; p < view.count; p++)
        for (i = 0; i < 9; i++) view.J[p][i] = -view.J[p][i];
    view.d = csim_sub(a, b);
    view.length = csim_length(view.d);
    return view;
}

CSIMI_FN int csimi_spring_blocks(const csimi_place *ends) {
    int n = csimi_place_term_count(ends) + csimi_place_term_count(ends + 1);
    return n * n;
}

/* Force on end a and the weighted tangent: (w k + h c) e e' + w max(0, tension / length) (I - e e'), w = sigma h^2. At
   zero length there is no direction: no force, and the stiffness k all round. */
static void csimi_spring_law(const csimi_spring_view *view, const csim_real *data, csim_real w, csim_real h,
                             csim_vec3 *force, csim_real *K) {
    csim_real rest = data[0], stiffness = data[1], along = w * stiffness + h * data[2], across = w * stiffness;
    csim_vec3 e = csim_v3(0, 0, 0);
    csim_real d[3];
    int i, j;
    if (view->length > CSIMI_EPS * rest && view->length > CSIMI_TINY) {
        csim_real tension = stiffness * (view->length - rest);
        e = csim_scale(1 / view->length, view->d);
        across = w * csimi_max(0, tension / view->length);
        *force = csim_scale(-tension, e);
    } else
        *force = e;
    csimi_store3(d, e);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) K[3 * i + j] = (along - across) * d[i] * d[j] + (i == j ? across : 0);
}

/* Adds Jp'K Jq to block (p, q) and its transpose to (q, p); symmetric to the bit, also where both are one block. */
static void csimi_spring_add(const csimi_spring_view *view, int p, int q, const csim_real *K, const int *slot,
                             csim_real *val) {
    csim_real KJ[9], M[9], *pq = val + 9 * (size_t)slot[CSIMI_SPRING_SIDE * p + q],
                           *qp = val + 9 * (size_t)slot[CSIMI_SPRING_SIDE * q + p];
    csim_real own = p == q ? CSIM_R(0.5) : CSIM_R(1);
    int i, j;
    csimi_matmul(K, view->J[q], KJ);
    csimi_matTmul(view->J[p], KJ, M);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            if (pq == qp)
                pq[3 * i + j] += own * (M[3 * i + j] + M[3 * j + i]);
            else {
                pq[3 * i + j] += M[3 * i + j];
                qp[3 * i + j] += M[3 * j + i];
            }
}

CSIMI_FN void csimi_spring_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    int k, p, q;
    for (k = 0; k < s->spring_count; k++) {
        csimi_spring_view view = csimi_spring_look(s, k);
        csim_vec3 force;
        csim_real K[9], impulse[3];
        csimi_spring_law(&view, s->spring_data + 3 * (size_t)k, step->sigma * step->h * step->h, step->h, &force, K);
        csimi_store3(impulse, csim_scale(step->h, force));
        for (p = 0; p < view.count; p++) {
            csimi_addmulT3(view.J[p], impulse, system->b + 3 * (size_t)view.block[p]);
            for (q = p; q < view.count; q++)
                csimi_spring_add(&view, p, q, K, s->spring_slot + CSIMI_SPRING_SLOTS * (size_t)k, system->A.val);
        }
    }
}

CSIMI_FN int csimi_spring_couple(const csimi_state *s, int *pairs) {
    int k, p, q, count = 0;
    for (k = 0; k < s->spring_count; k++) {
        csimi_spring_view view = csimi_spring_look(s, k);
        for (p = 0; p < view.count; p++)
            for (q = p + 1; q < view.count; q++) {
                if (view.block[p] == view.block[q]) continue;
                if (pairs) {
                    pairs[2 * count] = view.block[p];
                    pairs[2 * count + 1] = view.block[q];
                }
                count++;
            }
    }
    return count;
}

CSIMI_FN void csimi_spring_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int k, p, q;
    for (k = 0; k < s->spring_count; k++) {
        csimi_spring_view view = csimi_spring_look(s, k);
        for (p = 0; p < CSIMI_SPRING_SIDE; p++)
            for (q = 0; q < CSIMI_SPRING_SIDE; q++)
                s->spring_slot[CSIMI_SPRING_SLOTS * k + CSIMI_SPRING_SIDE * p + q] =
                    p < view.count && q < view.count ? csimi_pattern_find(pattern, view.block[p], view.block[q]) : -1;
    }
}

CSIMI_FN void csimi_spring_energy(const csimi_state *s, csimi_energy *energy) {
    int k;
    for (k = 0; k < s->spring_count; k++) {
        double stretch = (double)csimi_spring_look(s, k).length - (double)s->spring_data[3 * k];
        energy->elastic += (double)s->spring_data[3 * k + 1] * stretch * stretch / 2;
    }
}

#undef CSIMI_SPRING_SIDE
/* ==== end model/spring.c */

/* ==== begin model/cable.c ======================================================================================= */
/* model/cable: Cosserat cables with positions at the nodes and frames on the edges (dynamics.md 4,
   findings-cable-tree.md 2 and 3). An edge stretches and shears, a bend element between two frames (or a frame and a
   body) bends and twists:

       Gamma = R'dx / l - e3,    kappa = 2 v / l - kappa0   with (s, v) = conj(q_a) q_b
       psi   = l/2 Gamma'C Gamma + l/2 kappa'D kappa

   Turns are increments in world axes, R <- exp([theta]x) R. */

CSIMI_FN csim_quat csimi_load_quat(const csim_real *p) {
    csim_quat q;
    q.w = p[0];
    q.x = p[1];
    q.y = p[2];
    q.z = p[3];
    return q;
}

CSIMI_FN void csimi_store_quat(csim_real *p, csim_quat q) {
    p[0] = q.w;
    p[1] = q.x;
    p[2] = q.y;
    p[3] = q.z;
}

/* R diag(d) R' for the frame q, symmetric to the bit. */
static void csimi_cable_turn(csim_quat q, const csim_real *d, csim_real *M) {
    csim_mat3 R = csim_quat_matrix(q);
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j <= i; j++)
            M[3 * i + j] = M[3 * j + i] = R.m[3 * i] * d[0] * R.m[3 * j] + R.m[3 * i + 1] * d[1] * R.m[3 * j + 1] +
                                          R.m[3 * i + 2] * d[2] * R.m[3 * j + 2];
}

CSIMI_FN void csimi_frame_inertia_world(const csimi_state *s, int k, csim_real *I) {
    csimi_cable_turn(csimi_load_quat(s->frame + 4 * (size_t)k), s->frame_inertia + 3 * (size_t)k, I);
}

/* ---- stretch and shear of an edge */

typedef struct csimi_edge_view {
    csim_real dx[3];     /* m */
    csim_real strain[3]; /* Gamma, edge axes */
    csim_real N[3];      /* N, force of the edge on its first node, world axes */
    csim_real length;    /* at rest, m */
} csimi_edge_view;

static csimi_edge_view csimi_edge_look(const csimi_state *s, int k) {
    const int *node = s->edge_node + 2 * (size_t)k;
    const csim_real *data = s->edge_data + 6 * (size_t)k;
    csim_quat q = csimi_load_quat(s->frame + 4 * (size_t)k);
    csimi_edge_view e;
    csim_vec3 force, d = csim_sub(csimi_load3(s->x + 3 * (size_t)node[1]), csimi_load3(s->x + 3 * (size_t)node[0]));
    e.length = data[0];
    csimi_store3(e.dx, d);
    csimi_store3(e.strain, csim_scale(1 / e.length, csim_unrotate(q, d)));
    e.strain[2] -= 1;
    force = csim_v3(data[1] * e.strain[0], data[2] * e.strain[1], data[3] * e.strain[2]);
    csimi_store3(e.N, csim_rotate(q, force));
    return e;
}

/* ---- geometric stiffness. With w = d dx - theta x dx the second variation is w'Kc w + 2 w'S theta + theta'G theta,
   S = -[N]x, G = (dx.N) I - (N dx' + dx N')/2. Completing the square, what remains for theta alone is G - Y with
   Y = S'Kc^-1 S: its negative part is dropped, everything else is kept. */

/* P = (G - Y)+ + Y */
static void csimi_edge_remainder(const csimi_edge_view *e, const csim_real *S, const csim_real *compliance,
                                 csim_real *P) {
    csim_real CS[9], Y[9], D[9], value[3], V[9], dot = csim_dot(csimi_load3(e->dx), csimi_load3(e->N));
    int i, j, k;
    csimi_matmul(compliance, S, CS);
    csimi_matTmul(S, CS, Y);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            D[3 * i + j] =
                (i == j ? dot : 0) - (e->N[i] * e->dx[j] + e->dx[i] * e->N[j]) / 2 - (Y[3 * i + j] + Y[3 * j + i]) / 2;
    csimi_eigen_sym3(D, value, V);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            P[3 * i + j] = (Y[3 * i + j] + Y[3 * j + i]) / 2;
            for (k = 0; k < 3; k++) P[3 * i + j] += csimi_max(value[k], 0) * V[3 * i + k] * V[3 * j + k];
        }
}

/* Tangent of an edge in (d dx, theta): stretch [9], cross [9] (d dx row), turn [9]. elastic and geometric weigh the
   two parts. */
CSIMI_FN void csimi_edge_tangent(const csimi_state *s, int k, csim_real elastic, csim_real geometric,
                                 csim_real *stretch, csim_real *cross, csim_real *turn) {
    const csim_real *data = s->edge_data + 6 * (size_t)k;
    csim_quat q = csimi_load_quat(s->frame + 4 * (size_t)k);
    csimi_edge_view e = csimi_edge_look(s, k);
    csim_real d[3], inverse[3], compliance[9], W[9], KW[9], S[9], WS[9], P[9], minus[3];
    int i, j;
    for (i = 0; i < 3; i++) {
        d[i] = elastic * data[1 + i] / e.length;
        inverse[i] = e.length / data[1 + i];
        minus[i] = -e.N[i];
    }
    csimi_cable_turn(q, d, stretch);
    csimi_cable_turn(q, inverse, compliance);
    csimi_skew(e.dx, W);
    csimi_skew(minus, S);
    csimi_matmul(stretch, W, KW);
    csimi_matTmul(W, KW, turn);
    csimi_matTmul(W, S, WS);
    csimi_edge_remainder(&e, S, compliance, P);
    for (i = 0; i < 9; i++) cross[i] = KW[i] + geometric * S[i];
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) turn[3 * i + j] += geometric * (WS[3 * i + j] + WS[3 * j + i] + P[3 * i + j]);
    for (i = 0; i < 3; i++)
        for (j = 0; j < i; j++) turn[3 * i + j] = turn[3 * j + i] = (turn[3 * i + j] + turn[3 * j + i]) / 2;
}

CSIMI_FN void csimi_edge_force(const csimi_state *s, int k, csim_real *force, csim_real *torque) {
    csimi_edge_view e = csimi_edge_look(s, k);
    csimi_store3(force, csimi_load3(e.N));
    if (torque) csimi_store3(torque, csim_cross(csimi_load3(e.dx), csimi_load3(e.N)));
}

static void csimi_cable_add(csim_real *to, csim_real scale, const csim_real *M) {
    int i;
    for (i = 0; i < 9; i++) to[i] += scale * M[i];
}

static void csimi_cable_add_transpose(csim_real *to, csim_real scale, const csim_real *M) {
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) to[3 * i + j] += scale * M[3 * j + i];
}

static void csimi_edge_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system, int k) {
    const int *node = s->edge_node + 2 * (size_t)k, *slot = s->edge_slot + 9 * (size_t)k;
    csim_real stretch[9], cross[9], turn[9], force[3], torque[3], *val = system->A.val, *b = system->b;
    csim_real weight = step->sigma * step->h * step->h, damping = step->h * s->edge_data[6 * (size_t)k + 4];
    int p, q, c, frame = csimi_first_frame_block(s) + k;
    csimi_edge_tangent(s, k, weight + damping, weight, stretch, cross, turn);
    csimi_edge_force(s, k, force, torque);
    for (p = 0; p < 2; p++)
        for (q = 0; q < 2; q++) csimi_cable_add(val + 9 * (size_t)slot[3 * p + q], p == q ? 1 : -1, stretch);
    for (p = 0; p < 2; p++) {
        csimi_cable_add(val + 9 * (size_t)slot[3 * p + 2], p ? 1 : -1, cross);
        csimi_cable_add_transpose(val + 9 * (size_t)slot[6 + p], p ? 1 : -1, cross);
    }
    csimi_cable_add(val + 9 * (size_t)slot[8], 1, turn);
    for (c = 0; c < 3; c++) {
        b[3 * (size_t)node[0] + (size_t)c] += step->h * force[c];
        b[3 * (size_t)node[1] + (size_t)c] -= step->h * force[c];
        b[3 * (size_t)frame + (size_t)c] += step->h * torque[c];
    }
}

/* ---- bending and twist between two frames */

static csim_quat csimi_bend_rotation(const csimi_state *s, const csimi_bend_end *end) {
    csim_quat own = csimi_load_quat(end->rotation);
    if (end->frame >= 0) return csimi_load_quat(s->frame + 4 * (size_t)end->frame);
    if (end->rigid >= 0) return csim_quat_mul(csimi_load_quat(s->rotation + 4 * (size_t)end->rigid), own);
    return own;
}

/* Block that turns with the end; -1: the world. */
CSIMI_FN int csimi_bend_block(const csimi_state *s, const csimi_bend_end *end) {
    if (end->frame >= 0) return csimi_first_frame_block(s) + end->frame;
    return end->rigid >= 0 ? s->node_count + 2 * end->rigid + 1 : -1;
}

/* conj(a) b with positive scalar part: the shorter way round. */
static csim_quat csimi_bend_between(csim_quat a, csim_quat b) {
    csim_quat q = csim_quat_mul(csim_quat_conj(a), b);
    if (q.w < 0) {
        q.w = -q.w;
        q.x = -q.x;
        q.y = -q.y;
        q.z = -q.z;
    }
    return q;
}

CSIMI_FN void csimi_bend_curvature(csim_quat a, csim_quat b, csim_real length, csim_real *kappa) {
    csim_quat q = csimi_bend_between(a, b);
    csimi_store3(kappa, csim_scale(2 / length, csim_v3(q.x, q.y, q.z)));
}

/* m = D kappa (section axes of end a), N m, and Jd = (s I - [v]x) R_a', so that l d kappa = Jd (theta_b - theta_a). */
static void csimi_bend_look(const csimi_state *s, int k, csim_real *kappa, csim_real *m, csim_real *Jd) {
    const csim_real *data = s->bend_data + 8 * (size_t)k;
    csim_quat a = csimi_bend_rotation(s, s->bend[k].end), b = csimi_bend_rotation(s, s->bend[k].end + 1);
    csim_quat q = csimi_bend_between(a, b);
    csim_mat3 R = csim_quat_matrix(a);
    csim_real T[9], v[3];
    int i;
    csimi_bend_curvature(a, b, data[0], kappa);
    for (i = 0; i < 3; i++) {
        kappa[i] -= data[4 + i];
        m[i] = data[1 + i] * kappa[i];
    }
    v[0] = -q.x;
    v[1] = -q.y;
    v[2] = -q.z;
    csimi_skew(v, T);
    for (i = 0; i < 9; i += 4) T[i] += q.w;
    csimi_matmulT(T, R.m, Jd);
}

/* Torque on end a (end b gets its negative) and tangent of theta_b - theta_a. Gauss-Newton: the geometric terms of
   bending are dropped (findings-cable-tree.md 3). */
CSIMI_FN void csimi_bend_law(const csimi_state *s, int k, csim_real *torque, csim_real *K) {
    const csim_real *data = s->bend_data + 8 * (size_t)k;
    csim_real kappa[3], m[3], Jd[9];
    int i, j;
    csimi_bend_look(s, k, kappa, m, Jd);
    torque[0] = torque[1] = torque[2] = 0;
    csimi_addmulT3(Jd, m, torque);
    for (i = 0; i < 3; i++)
        for (j = 0; j <= i; j++)
            K[3 * i + j] = K[3 * j + i] =
                (Jd[i] * data[1] * Jd[j] + Jd[3 + i] * data[2] * Jd[3 + j] + Jd[6 + i] * data[3] * Jd[6 + j]) / data[0];
}

static void csimi_bend_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system, int k) {
    const int *slot = s->bend_slot + 4 * (size_t)k;
    csim_real torque[3], K[9], weight = step->h * (step->sigma * step->h + s->bend_data[8 * (size_t)k + 7]);
    int p, q, c;
    csimi_bend_law(s, k, torque, K);
    for (p = 0; p < 2; p++) {
        int block = csimi_bend_block(s, s->bend[k].end + p);
        if (block < 0) continue;
        for (c = 0; c < 3; c++) system->b[3 * (size_t)block + (size_t)c] += (p ? -step->h : step->h) * torque[c];
        for (q = 0; q < 2; q++)
            if (slot[2 * p + q] >= 0)
                csimi_cable_add(system->A.val + 9 * (size_t)slot[2 * p + q], p == q ? weight : -weight, K);
    }
}

/* ---- the entries of the table */

CSIMI_FN int csimi_cable_couple(const csimi_state *s, int *pairs) {
    int k, count = 0;
    for (k = 0; k < s->frame_count; k++) {
        int a = s->edge_node[2 * k], b = s->edge_node[2 * k + 1], f = csimi_first_frame_block(s) + k;
        if (pairs) {
            int *p = pairs + 2 * (size_t)count;
            p[0] = p[2] = a;
            p[1] = p[4] = b;
            p[3] = p[5] = f;
        }
        count += 3;
    }
    for (k = 0; k < s->bend_count; k++) {
        int a = csimi_bend_block(s, s->bend[k].end), b = csimi_bend_block(s, s->bend[k].end + 1);
        if (a < 0 || b < 0) continue;
        if (pairs) {
            pairs[2 * (size_t)count] = a;
            pairs[2 * (size_t)count + 1] = b;
        }
        count++;
    }
    return count;
}

CSIMI_FN void csimi_cable_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int k, p, q;
    for (k = 0; k < s->frame_count; k++) {
        int block[3];
        block[0] = s->edge_node[2 * k];
        block[1] = s->edge_node[2 * k + 1];
        block[2] = csimi_first_frame_block(s) + k;
        for (p = 0; p < 3; p++)
            for (q = 0; q < 3; q++) s->edge_slot[9 * k + 3 * p + q] = csimi_pattern_find(pattern, block[p], block[q]);
    }
    for (k = 0; k < s->bend_count; k++)
        for (p = 0; p < 2; p++)
            for (q = 0; q < 2; q++) {
                int a = csimi_bend_block(s, s->bend[k].end + p), b = csimi_bend_block(s, s->bend[k].end + q);
                s->bend_slot[4 * k + 2 * p + q] = a >= 0 && b >= 0 ? csimi_pattern_find(pattern, a, b) : -1;
            }
}

/* The gyroscopic update of rigid bodies, for the turning edges. */
CSIMI_FN void csimi_cable_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk) {
    int k, first = csimi_first_frame_block(s);
    for (k = 0; k < s->frame_count; k++) {
        const csim_real *I = s->frame_inertia + 3 * (size_t)k;
        csim_real inertia[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        if (s->frame_mode[k] != CSIMI_FREE) continue;
        inertia[0] = I[0];
        inertia[4] = I[1];
        inertia[8] = I[2];
        csimi_gyro_turn(csimi_load_quat(s->frame + 4 * (size_t)k), inertia, step, vk + 3 * ((size_t)first + (size_t)k));
    }
}

CSIMI_FN void csimi_cable_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csim_real h = step->h, inverse_theta = 1 / step->theta;
    int k, c, first = csimi_first_frame_block(s);
    for (k = 0; k < s->frame_count; k++) {
        csim_real *D = system->A.val + 9 * (size_t)s->edge_slot[9 * (size_t)k + 8], I[9], L[3];
        size_t at = 3 * ((size_t)first + (size_t)k);
        csimi_frame_inertia_world(s, k, I);
        csimi_mul3(I, system->vk + at, L);
        for (c = 0; c < 3; c++) system->b[at + (size_t)c] += inverse_theta * L[c] + h * s->frame_torque[3 * k + c];
        csimi_cable_add(D, inverse_theta + h * s->frame_damping[k], I);
        csimi_edge_assemble(s, step, system, k);
    }
    for (k = 0; k < s->bend_count; k++) csimi_bend_assemble(s, step, system, k);
}

CSIMI_FN void csimi_cable_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next) {
    int k;
    const csim_real *w = v + 3 * (size_t)csimi_first_frame_block(s);
    for (k = 0; k < s->frame_count; k++) {
        csim_quat turn = csim_quat_exp(csim_scale(step->h, csimi_load3(w + 3 * (size_t)k)));
        csim_quat q = csim_quat_mul(turn, csimi_load_quat(s->frame + 4 * (size_t)k));
        csimi_store_quat(next->frame + 4 * (size_t)k, csim_quat_normalize(q));
    }
}

CSIMI_FN void csimi_cable_energy(const csimi_state *s, csimi_energy *energy) {
    int k, c;
    for (k = 0; k < s->frame_count; k++) {
        csimi_edge_view e = csimi_edge_look(s, k);
        const csim_real *data = s->edge_data + 6 * (size_t)k, *w = s->frame_velocity + 3 * (size_t)k;
        csim_real I[9], L[3];
        csimi_frame_inertia_world(s, k, I);
        csimi_mul3(I, w, L);
        for (c = 0; c < 3; c++) {
            energy->kinetic += (double)w[c] * (double)L[c] / 2;
            energy->elastic += (double)e.length * (double)data[1 + c] * (double)e.strain[c] * (double)e.strain[c] / 2;
        }
    }
    for (k = 0; k < s->bend_count; k++) {
        const csim_real *data = s->bend_data + 8 * (size_t)k;
        csim_real kappa[3], m[3], Jd[9];
        csimi_bend_look(s, k, kappa, m, Jd);
        for (c = 0; c < 3; c++) energy->elastic += (double)data[0] * (double)m[c] * (double)kappa[c] / 2;
    }
}
/* ==== end model/cable.c */

/* ==== begin model/table.c ======================================================================================= */
/* model/table */

CSIMI_FN const csimi_model *csimi_model_table(void) {
    static const csimi_model table[CSIMI_MODEL_COUNT] = {
        {"point", NULL, NULL, NULL, csimi_point_assemble, csimi_point_advance, csimi_point_energy},
        {"rigid", csimi_rigid_couple, NULL, csimi_rigid_prepare, csimi_rigid_assemble, csimi_rigid_advance,
         csimi_rigid_energy},
        {"tet", csimi_tet_couple, csimi_tet_bind, NULL, csimi_tet_assemble, NULL, csimi_tet_energy},
        {"cloth", csimi_cloth_couple, csimi_cloth_bind, NULL, csimi_cloth_assemble, NULL, csimi_cloth_energy},
        {"spring", csimi_spring_couple, csimi_spring_bind, NULL, csimi_spring_assemble, NULL, csimi_spring_energy},
        {"cable", csimi_cable_couple, csimi_cable_bind, csimi_cable_prepare, csimi_cable_assemble, csimi_cable_advance,
         csimi_cable_energy},
    };
    return table;
}
/* ==== end model/table.c */

/* ==== begin collide/shape.c ===================================================================================== */
/* collide/shape: making shapes, checking them, their mass and their bounds. */

#define CSIMI_FAR CSIM_R(1e18) /* half a world: its square is finite in float too */
#define CSIMI_LONGEST CSIM_R(1e9)

/* ---- constructors */

static csim_shape csimi_shape_of(csim_shape_kind kind) {
    csim_shape s;
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.kind = kind;
    s.local = csim_pose_identity();
    return s;
}

/* The shortest rotation from z to the unit vector n; below the equator by way of -z, so that nothing cancels. */
static csim_quat csimi_quat_from_z(csim_vec3 n) {
    csim_quat q, flip;
    q.w = 1 + csimi_abs(n.z);
    q.x = n.z < 0 ? n.y : -n.y;
    q.y = n.z < 0 ? -n.x : n.x;
    q.z = 0;
    if (n.z < 0) {
        flip.w = flip.y = flip.z = 0;
        flip.x = 1;
        q = csim_quat_mul(q, flip);
    }
    return csim_quat_normalize(q);
}

CSIM_API csim_shape csim_half_space(csim_vec3 point, csim_vec3 outward_normal) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_HALF_SPACE);
    csim_vec3 n = csim_normalize(outward_normal);
    s.local.position = point;
    if (csim_dot(n, n) > 0)
        s.local.rotation = csimi_quat_from_z(n);
    else
        s.local.rotation.w = csim_dot(outward_normal, csim_v3(0, 0, 0)); /* 0 or NaN: baking says so */
    return s;
}

CSIM_API csim_shape csim_sphere(csim_real radius) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_SPHERE);
    s.radius = radius;
    return s;
}

CSIM_API csim_shape csim_capsule(csim_real radius, csim_real half_height) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_CAPSULE);
    s.radius = radius;
    s.half_height = half_height;
    return s;
}

CSIM_API csim_shape csim_box(csim_vec3 half) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_BOX);
    s.half = half;
    return s;
}

CSIM_API csim_shape csim_cylinder(csim_real radius, csim_real half_height) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_CYLINDER);
    s.radius = radius;
    s.half_height = half_height;
    return s;
}

CSIM_API csim_shape csim_hull(const csim_vec3 *points, int point_count) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_HULL);
    s.points = points;
    s.point_count = point_count;
    return s;
}

/* ---- checks */

/* A length in (0, 1e9], or in [0, 1e9] where zero is allowed. */
static csim_status csimi_check_length(const char *function, const char *field, csim_real value, bool zero,
                                      csim_error *error) {
    if (!csimi_finite(value)) return csimi_fail(error, CSIM_NOT_FINITE, function, field, true, (double)value, "finite");
    if (value > 0 && value <= CSIMI_LONGEST) return CSIM_OK;
    if (zero && value == 0) return CSIM_OK;
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, field, true, (double)value,
                      zero ? "0 to 1e9 m" : "above 0, at most 1e9 m");
}

static csim_status csimi_check_local(const char *function, const csim_pose *local, csim_error *error) {
    csim_vec3 p = local->position;
    csim_quat q = local->rotation;
    csim_real size = csimi_max(csimi_abs(p.x), csimi_max(csimi_abs(p.y), csimi_abs(p.z))), norm;
    if (!csimi_finite(p.x) || !csimi_finite(p.y) || !csimi_finite(p.z))
        return csimi_fail(error, CSIM_NOT_FINITE, function, "local.position", false, 0, "finite");
    if (size > CSIMI_LONGEST)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "local.position", true, (double)size,
                          "coordinates within 1e9 m");
    if (!csimi_finite(q.w) || !csimi_finite(q.x) || !csimi_finite(q.y) || !csimi_finite(q.z))
        return csimi_fail(error, CSIM_NOT_FINITE, function, "local.rotation", false, 0, "a unit quaternion");
    norm = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (norm > CSIM_R(0.99) && norm < CSIM_R(1.01)) return CSIM_OK;
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "local.rotation squared", true, (double)norm,
                      "1: a unit quaternion (a half-space needs a normal that is not zero)");
}

static csim_status csimi_check_points(const char *function, const csim_shape *s, csim_error *error) {
    csim_status status = CSIM_OK;
    int i, k;
    if (!s->points) return csimi_fail(error, CSIM_NULL_ARGUMENT, function, "points", false, 0, "4 to 64 points");
    if (s->point_count < 4 || s->point_count > CSIM_HULL_MAX_VERTICES)
        return csimi_fail(error, CSIM_BAD_MESH, function, "point_count", true, s->point_count, "4 to 64");
    for (i = 0; i < s->point_count && status == CSIM_OK; ++i) {
        csim_real x[3];
        csimi_store3(x, s->points[i]);
        for (k = 0; k < 3 && status == CSIM_OK; ++k)
            status = csimi_check_length(function, "points", csimi_abs(x[k]), true, error);
    }
    return status;
}

/* Contact samples: their number grows as (length / spacing) squared. */
static csim_status csimi_check_spacing(const char *function, const csim_shape *s, csim_error *error) {
    csim_real longest = csimi_max(s->radius, s->half_height);
    csim_status status = csimi_check_length(function, "spacing", s->spacing, true, error);
    if (status != CSIM_OK || s->spacing == 0 || s->spacing >= longest / 100) return status;
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "spacing", true, (double)s->spacing,
                      "0, or at least 1/100 of radius and half_height");
}

static csim_status csimi_check_shape(const char *function, const csim_shape *s, csim_error *error) {
    csim_status status;
    if (!s) return csimi_fail(error, CSIM_NULL_ARGUMENT, function, "shape", false, 0, "a shape");
    if ((status = csimi_check_local(function, &s->local, error)) != CSIM_OK) return status;
    switch (s->kind) {
    case CSIM_SHAPE_HALF_SPACE: return CSIM_OK;
    case CSIM_SHAPE_SPHERE: return csimi_check_length(function, "radius", s->radius, false, error);
    case CSIM_SHAPE_CAPSULE:
    case CSIM_SHAPE_CYLINDER:
        if ((status = csimi_check_length(function, "radius", s->radius, false, error)) != CSIM_OK) return status;
        status = csimi_check_length(function, "half_height", s->half_height, s->kind == CSIM_SHAPE_CAPSULE, error);
        return status != CSIM_OK ? status : csimi_check_spacing(function, s, error);
    case CSIM_SHAPE_BOX:
        if ((status = csimi_check_length(function, "half.x", s->half.x, false, error)) != CSIM_OK) return status;
        if ((status = csimi_check_length(function, "half.y", s->half.y, false, error)) != CSIM_OK) return status;
        return csimi_check_length(function, "half.z", s->half.z, false, error);
    case CSIM_SHAPE_HULL: return csimi_check_points(function, s, error);
    case CSIM_SHAPE_COUNT_: break;
    }
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "kind", true, (double)s->kind, "a csim_shape_kind");
}

/* ---- baking */

/* A sphere about the box of the corners: its centre may be anywhere, its radius is the farthest corner. */
static void csimi_bound_hull(const csim_hull_data *hull, csim_geometry *g) {
    csim_vec3 lower = csimi_load3(hull->vertex), upper = lower;
    csim_real square = 0;
    int i;
    for (i = 1; i < hull->vertex_count; ++i) {
        csim_vec3 x = csimi_load3(hull->vertex + 3 * i);
        lower = csim_v3(csimi_min(lower.x, x.x), csimi_min(lower.y, x.y), csimi_min(lower.z, x.z));
        upper = csim_v3(csimi_max(upper.x, x.x), csimi_max(upper.y, x.y), csimi_max(upper.z, x.z));
    }
    g->centre = csim_scale(CSIM_R(0.5), csim_add(lower, upper));
    for (i = 0; i < hull->vertex_count; ++i) {
        csim_vec3 r = csim_sub(csimi_load3(hull->vertex + 3 * i), g->centre);
        square = csimi_max(square, csim_dot(r, r));
    }
    g->bound = CSIMI_SQRT(square) * (1 + 4 * CSIMI_EPS);
}

CSIM_API csim_status csim_shape_bake(const csim_shape *shape, csim_geometry *geometry, csim_hull_data *hull,
                                     csim_error *error) {
    static const char function[] = "csim_shape_bake";
    csim_geometry *g = geometry;
    csim_status status = csimi_check_shape(function, shape, error);
    if (status != CSIM_OK) return status;
    if (!g) return csimi_fail(error, CSIM_NULL_ARGUMENT, function, "geometry", false, 0, "where to write");
    CSIMI_MEMSET(g, 0, sizeof *g); /* padding too: geometries are compared and saved as bytes */
    g->kind = shape->kind;
    g->local.position = shape->local.position;
    g->local.rotation = csim_quat_normalize(shape->local.rotation);
    g->hull = -1;
    switch (shape->kind) {
    case CSIM_SHAPE_HALF_SPACE: g->bound = CSIMI_FAR; break;
    case CSIM_SHAPE_SPHERE: g->bound = g->radius = shape->radius; break;
    case CSIM_SHAPE_CAPSULE:
    case CSIM_SHAPE_CYLINDER:
        g->radius = shape->radius;
        g->half_height = shape->half_height;
        g->spacing = shape->spacing > 0 ? shape->spacing : shape->radius / 2;
        g->bound = shape->kind == CSIM_SHAPE_CAPSULE ? g->radius + g->half_height
                                                     : csim_length(csim_v3(g->radius, g->half_height, 0));
        break;
    case CSIM_SHAPE_BOX:
        g->half = shape->half;
        g->bound = csim_length(shape->half);
        break;
    case CSIM_SHAPE_HULL:
        if (!hull) return csimi_fail(error, CSIM_NULL_ARGUMENT, function, "hull", false, 0, "where to write a hull");
        status = csimi_hull_build(function, shape->points, shape->point_count, hull, error);
        if (status == CSIM_OK) csimi_bound_hull(hull, g);
        break;
    case CSIM_SHAPE_COUNT_: break;
    }
    return status;
}

/* ---- mass */

/* Mass and moments of inertia of the solids of revolution about z: I[0] about x and y, I[1] about z. */
static double csimi_mass_round(const csim_shape *s, double density, double *I) {
    const double pi = 3.14159265358979323846, r = (double)s->radius, h = (double)s->half_height, rr = r * r;
    double barrel = s->kind == CSIM_SHAPE_SPHERE ? 0 : 2 * pi * density * rr * h;
    double ends = s->kind == CSIM_SHAPE_CYLINDER ? 0 : 4 * pi / 3 * density * rr * r;
    double out = s->kind == CSIM_SHAPE_SPHERE ? 0 : h * h + 0.75 * h * r; /* the two halves moved out by h */
    I[0] = barrel * (rr / 4 + h * h / 3) + ends * (0.4 * rr + out);
    I[1] = barrel * rr / 2 + ends * 0.4 * rr;
    return barrel + ends;
}

/* Mass, centre and inertia about it (row-major) in the shape's frame. */
static csim_status csimi_mass_local(const char *function, const csim_shape *s, double density, double *mass,
                                    double *centre, double *I, csim_error *error) {
    double m[6], half[3];
    int k;
    for (k = 0; k < 3; ++k) centre[k] = 0;
    for (k = 0; k < 9; ++k) I[k] = 0;
    if (s->kind == CSIM_SHAPE_HULL) { /* inertia = trace(M) 1 - M of the second moments M */
        csim_status status = csimi_hull_moments(function, s->points, s->point_count, mass, centre, m, error);
        if (status != CSIM_OK) return status;
        *mass *= density;
        I[0] = density * (m[3] + m[5]);
        I[4] = density * (m[0] + m[5]);
        I[8] = density * (m[0] + m[3]);
        I[1] = I[3] = -density * m[1];
        I[2] = I[6] = -density * m[2];
        I[5] = I[7] = -density * m[4];
    } else if (s->kind == CSIM_SHAPE_BOX) {
        half[0] = (double)s->half.x;
        half[1] = (double)s->half.y;
        half[2] = (double)s->half.z;
        *mass = 8 * density * half[0] * half[1] * half[2];
        for (k = 0; k < 3; ++k) {
            const double a = half[(k + 1) % 3], b = half[(k + 2) % 3];
            I[4 * k] = *mass / 3 * (a * a + b * b);
        }
    } else {
        *mass = csimi_mass_round(s, density, m);
        I[0] = I[4] = m[0];
        I[8] = m[1];
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_shape_mass(const csim_shape *shape, csim_real density, csim_mass *mass, csim_error *error) {
    static const char function[] = "csim_shape_mass";
    double m = 0, centre[3], I[9];
    csim_real local[9], turned[9], smallest;
    csim_mat3 R;
    csim_pose pose;
    int k;
    csim_status status = csimi_check_shape(function, shape, error);
    if (status != CSIM_OK) return status;
    if (!mass) return csimi_fail(error, CSIM_NULL_ARGUMENT, function, "mass", false, 0, "where to write");
    if (!csimi_finite(density) || !(density > 0))
        return csimi_fail(error, csimi_finite(density) ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, function, "density", true,
                          (double)density, "above 0 kg/m^3");
    if (shape->kind == CSIM_SHAPE_HALF_SPACE)
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "a half-space", false, 0, "shapes of finite volume");
    status = csimi_mass_local(function, shape, (double)density, &m, centre, I, error);
    if (status != CSIM_OK) return status;
    for (k = 0; k < 9; ++k) local[k] = (csim_real)I[k];
    pose.position = shape->local.position;
    pose.rotation = csim_quat_normalize(shape->local.rotation);
    R = csim_quat_matrix(pose.rotation);
    mass->mass = (csim_real)m;
    mass->centre = csim_pose_point(pose, csim_v3((csim_real)centre[0], (csim_real)centre[1], (csim_real)centre[2]));
    csimi_matmul(R.m, local, turned);
    csimi_matmulT(turned, R.m, local);
    for (k = 0; k < 9; ++k) mass->inertia.m[k] = (local[k] + local[3 * (k % 3) + k / 3]) / 2; /* equal to the bit */
    smallest = csimi_min(mass->mass, csimi_min(local[0], csimi_min(local[4], local[8])));
    if (smallest > 0 && csimi_finite(mass->mass) && csimi_all_finite(local, 9)) return CSIM_OK;
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "density", true, (double)density,
                      "mass and inertia within the range of csim_real");
}

/* ---- bounds */

/* Half the size of a box, cylinder or capsule along a direction given in its frame. */
static csim_real csimi_half_extent(const csim_geometry *g, const csim_real *d) {
    if (g->kind == CSIM_SHAPE_BOX)
        return csimi_abs(d[0]) * g->half.x + csimi_abs(d[1]) * g->half.y + csimi_abs(d[2]) * g->half.z;
    if (g->kind == CSIM_SHAPE_CYLINDER)
        return csimi_abs(d[2]) * g->half_height + CSIMI_SQRT(d[0] * d[0] + d[1] * d[1]) * g->radius;
    return csimi_abs(d[2]) * g->half_height + g->radius;
}

CSIM_API void csim_shape_bounds(const csim_geometry *geometry, const csim_hull_data *hulls, csim_pose pose,
                                csim_vec3 *lower, csim_vec3 *upper) {
    const csim_geometry *g = geometry;
    csim_pose p = csim_pose_mul(pose, g->local);
    csim_mat3 R = csim_quat_matrix(p.rotation);
    csim_real half[3];
    int i;
    if (g->kind == CSIM_SHAPE_HULL) {
        const csim_hull_data *hull = hulls + g->hull;
        csim_vec3 lo = csim_v3(CSIMI_HUGE, CSIMI_HUGE, CSIMI_HUGE), up = csim_scale(-1, lo);
        for (i = 0; i < hull->vertex_count; ++i) {
            csim_vec3 x = csim_pose_point(p, csimi_load3(hull->vertex + 3 * i));
            lo = csim_v3(csimi_min(lo.x, x.x), csimi_min(lo.y, x.y), csimi_min(lo.z, x.z));
            up = csim_v3(csimi_max(up.x, x.x), csimi_max(up.y, x.y), csimi_max(up.z, x.z));
        }
        *lower = lo;
        *upper = up;
        return;
    }
    for (i = 0; i < 3; ++i) half[i] = g->kind == CSIM_SHAPE_HALF_SPACE ? CSIMI_FAR : csimi_half_extent(g, R.m + 3 * i);
    if (g->kind == CSIM_SHAPE_HALF_SPACE) p.position = csim_v3(0, 0, 0);
    *lower = csim_sub(p.position, csimi_load3(half));
    *upper = csim_add(p.position, csimi_load3(half));
}

#undef CSIMI_FAR
#undef CSIMI_LONGEST
/* ==== end collide/shape.c */

/* ==== begin collide/hull.c ====================================================================================== */
/* collide/hull: convex hulls of few points, and their mass moments.

   The combinatorics are exact: points are put on a grid of 2^20 steps along their principal axes, where the orientation
   of four points is an integer below 2^63, so that the incremental hull can never contradict itself. Nearly flat
   neighbours then grow together into polygons, and the corners get back their true coordinates. */

#define CSIMI_GRID 1048575 /* 2^20 - 1 */
#define CSIMI_WELD 16      /* grid steps: corners within are one corner; half of it, faces within are one face */
#define CSIMI_NONE 255

/* A closed surface of triangles, counter-clockwise from outside. */
typedef struct csimi_hull_mesh {
    int count, triangle_count;
    double weld[3];    /* along each axis, grid steps: CSIMI_WELD and the rounding of the coordinates */
    csim_vec3 axis[3]; /* principal axes, each divided by the extent along it: turn normals of the grid back */
    int32_t grid[3 * CSIM_HULL_MAX_VERTICES];
    unsigned char triangle[3 * CSIM_HULL_MAX_FACES];
} csimi_hull_mesh;

/* ---- the grid */

/* Middle of the points, the largest coordinate about it, and the principal axes as columns of V. */
static void csimi_hull_axes(const csim_vec3 *points, int count, csim_vec3 *middle, csim_real *size, csim_real *V) {
    csim_real C[9], values[3], x[3];
    csim_vec3 sum = csim_v3(0, 0, 0);
    int i, k;
    for (i = 0; i < count; ++i) sum = csim_madd(sum, CSIM_R(1) / (csim_real)count, points[i]);
    *middle = sum;
    *size = 0;
    for (i = 0; i < count; ++i) {
        csimi_store3(x, csim_sub(points[i], sum));
        for (k = 0; k < 3; ++k) *size = csimi_max(*size, csimi_abs(x[k]));
    }
    for (k = 0; k < 9; ++k) C[k] = 0;
    for (i = 0; i < count; ++i) {
        csimi_store3(x, csim_scale(*size > 0 ? 1 / *size : 0, csim_sub(points[i], sum)));
        for (k = 0; k < 9; ++k) C[k] += x[k / 3] * x[k % 3];
    }
    csimi_eigen_sym3(C, values, V);
}

/* False when the points are flat: their least extent is below 1e-6 of the largest, or mostly rounding. */
static CSIMI_NOINLINE bool csimi_hull_snap(const csim_vec3 *points, int count, csimi_hull_mesh *m) {
    csim_vec3 middle;
    csim_real V[9], size;
    int i, k;
    m->count = count;
    csimi_hull_axes(points, count, &middle, &size, V);
    if (!(size > CSIMI_TINY)) return false;
    for (k = 0; k < 3; ++k) {
        csim_vec3 axis = csim_v3(V[k] / size, V[3 + k] / size, V[6 + k] / size);
        csim_real low = CSIMI_HUGE, high = -CSIMI_HUGE, rounding;
        for (i = 0; i < count; ++i) {
            csim_real x = csim_dot(axis, csim_sub(points[i], middle));
            low = csimi_min(low, x);
            high = csimi_max(high, x);
        }
        if (!(high - low > CSIM_R(1e-6))) return false; /* the largest extent is some 1 to 4 */
        rounding = 8 * CSIMI_EPS * (1 + csim_length(middle) / size);
        m->weld[k] = CSIMI_WELD + (double)(rounding / (high - low)) * CSIMI_GRID;
        if (m->weld[k] > CSIMI_GRID / 16) return false;
        m->axis[k] = csim_scale(1 / (high - low), csim_v3(V[k], V[3 + k], V[6 + k]));
        for (i = 0; i < count; ++i) {
            double x = (double)((csim_dot(axis, csim_sub(points[i], middle)) - low) / (high - low));
            m->grid[3 * i + k] = (int32_t)(x * CSIMI_GRID + 0.5);
        }
    }
    return true;
}

/* (b - a) x (c - a): each component is below 2^41. */
static void csimi_grid_normal(const csimi_hull_mesh *m, int a, int b, int c, int64_t *n) {
    const int32_t *p = m->grid + 3 * a, *q = m->grid + 3 * b, *r = m->grid + 3 * c;
    int64_t d[3], e[3];
    int k;
    for (k = 0; k < 3; ++k) {
        d[k] = q[k] - p[k];
        e[k] = r[k] - p[k];
    }
    for (k = 0; k < 3; ++k) n[k] = d[(k + 1) % 3] * e[(k + 2) % 3] - d[(k + 2) % 3] * e[(k + 1) % 3];
}

/* Positive when d is on the side of abc from which abc is counter-clockwise; exact: below 3 2^61. */
static int64_t csimi_grid_above(const csimi_hull_mesh *m, const int64_t *n, int a, int d) {
    const int32_t *p = m->grid + 3 * a, *q = m->grid + 3 * d;
    return n[0] * (q[0] - p[0]) + n[1] * (q[1] - p[1]) + n[2] * (q[2] - p[2]);
}

static double csimi_grid_length(const int64_t *n) {
    double x = (double)n[0], y = (double)n[1], z = (double)n[2];
    return (double)CSIMI_SQRT((csim_real)(x * x + y * y + z * z));
}

/* ---- the hull of triangles */

/* How far point i is from the first count corners: from a point, a line or a plane. */
static double csimi_grid_away(const csimi_hull_mesh *m, const int *corner, int count, int i) {
    int64_t n[3];
    double away;
    int k;
    if (count == 1) {
        for (k = 0; k < 3; ++k) n[k] = m->grid[3 * i + k] - m->grid[3 * corner[0] + k];
        return csimi_grid_length(n);
    }
    csimi_grid_normal(m, corner[0], corner[1], count == 2 ? i : corner[2], n);
    if (count == 2) return csimi_grid_length(n);
    away = (double)csimi_grid_above(m, n, corner[0], i);
    return away < 0 ? -away : away;
}

/* A tetrahedron of points far apart; false when there is none. */
static bool csimi_hull_start(csimi_hull_mesh *m, int *corner) {
    static const unsigned char face[12] = {0, 1, 2, 0, 2, 3, 0, 3, 1, 1, 3, 2};
    int64_t n[3], height;
    int step, i;
    corner[0] = 0;
    for (i = 1; i < m->count; ++i)
        if (m->grid[3 * i] < m->grid[3 * corner[0]]) corner[0] = i;
    for (step = 1; step < 4; ++step) {
        double most = 0;
        for (corner[step] = 0, i = 0; i < m->count; ++i) {
            double away = csimi_grid_away(m, corner, step, i);
            if (away <= most) continue;
            most = away;
            corner[step] = i;
        }
    }
    csimi_grid_normal(m, corner[0], corner[1], corner[2], n);
    height = csimi_grid_above(m, n, corner[0], corner[3]);
    if (height > 0) { /* the fourth must lie below the first face */
        i = corner[1];
        corner[1] = corner[2];
        corner[2] = i;
    }
    for (i = 0; i < 12; ++i) m->triangle[i] = (unsigned char)corner[face[i]];
    m->triangle_count = 4;
    return height != 0;
}

/* True when one of the triangles of the list has the directed edge a b. */
static bool csimi_has_edge(const unsigned char *triangle, int count, int a, int b) {
    int i;
    for (i = 0; i < count; ++i) {
        const unsigned char *t = triangle + 3 * i;
        if ((t[0] == a && t[1] == b) || (t[1] == a && t[2] == b) || (t[2] == a && t[0] == b)) return true;
    }
    return false;
}

/* Takes away the triangles that point p sees and joins p to the rim they leave. p sees a triangle when it is strictly
   above it: then the rim is one loop and no new triangle is degenerate, coplanar points included. */
static void csimi_hull_insert(csimi_hull_mesh *m, int p) {
    unsigned char seen[3 * CSIM_HULL_MAX_FACES];
    int i, k, count = 0, kept = 0;
    for (i = 0; i < m->triangle_count; ++i) {
        const unsigned char *t = m->triangle + 3 * i;
        int64_t n[3];
        bool visible;
        csimi_grid_normal(m, t[0], t[1], t[2], n);
        visible = csimi_grid_above(m, n, t[0], p) > 0;
        for (k = 0; k < 3; ++k)
            if (visible)
                seen[3 * count + k] = t[k];
            else
                m->triangle[3 * kept + k] = t[k];
        count += visible;
        kept += !visible;
    }
    for (i = 0; i < 3 * count; ++i) {
        int a = seen[i], b = seen[i % 3 == 2 ? i - 2 : i + 1];
        if (csimi_has_edge(seen, count, b, a)) continue;
        CONDSIM_ASSERT(kept < CSIM_HULL_MAX_FACES);
        m->triangle[3 * kept] = (unsigned char)a;
        m->triangle[3 * kept + 1] = (unsigned char)b;
        m->triangle[3 * kept + 2] = (unsigned char)p;
        ++kept;
    }
    m->triangle_count = kept;
}

/* True when point p is one of the corners on the list, within the weld. */
static bool csimi_hull_welded(const csimi_hull_mesh *m, const unsigned char *list, int count, int p) {
    int i, k;
    for (i = 0; i < count; ++i) {
        const int32_t *a = m->grid + 3 * list[i], *b = m->grid + 3 * p;
        for (k = 0; k < 3; ++k) {
            double d = a[k] - b[k];
            if (d > m->weld[k] || -d > m->weld[k]) break;
        }
        if (k == 3) return true;
    }
    return false;
}

static CSIMI_NOINLINE csim_status csimi_hull_triangulate(const char *function, const csim_vec3 *points, int count,
                                                         csimi_hull_mesh *m, csim_error *error) {
    unsigned char used[CSIM_HULL_MAX_VERTICES];
    int corner[4], i, n = 4;
    CONDSIM_ASSERT(count >= 4 && count <= CSIM_HULL_MAX_VERTICES);
    if (!csimi_hull_snap(points, count, m) || !csimi_hull_start(m, corner))
        return csimi_fail(error, CSIM_BAD_MESH, function, "points", false, 0,
                          "points that are not all in one plane (1e-6 of their extent)");
    for (i = 0; i < 4; ++i) used[i] = (unsigned char)corner[i];
    for (i = 0; i < count; ++i) {
        if (csimi_hull_welded(m, used, n, i)) continue; /* the four, too */
        csimi_hull_insert(m, i);
        used[n++] = (unsigned char)i;
    }
    return CSIM_OK;
}

/* ---- polygons */

/* Which polygon each triangle belongs to, and how many polygons meet at each corner. */
typedef struct csimi_hull_faces {
    int face_count;
    unsigned char face[CSIM_HULL_MAX_FACES];
    unsigned char seed[CSIM_HULL_MAX_FACES]; /* the triangle each polygon grew from */
    unsigned char valence[CSIM_HULL_MAX_VERTICES];
    unsigned char next[CSIM_HULL_MAX_VERTICES]; /* along the outline at hand */
} csimi_hull_faces;

/* True when triangle t turns the same way as the seed and its corners lie in the seed's plane within half the weld. */
static bool csimi_is_flat(const csimi_hull_mesh *m, const int64_t *n, int seed, int t, bool exact) {
    const unsigned char *corner = m->triangle + 3 * t;
    int64_t own[3];
    double slack = 0, along = 0;
    int k;
    csimi_grid_normal(m, corner[0], corner[1], corner[2], own);
    for (k = 0; k < 3; ++k) {
        double a = (double)n[k];
        along += a * (double)own[k];
        slack += (a < 0 ? -a : a) * m->weld[k] / 2;
    }
    if (exact) slack = 0;
    if (!(along > 0)) return false;
    for (k = 0; k < 3; ++k) {
        double away = (double)csimi_grid_above(m, n, m->triangle[3 * seed], corner[k]);
        if (away > slack || -away > slack) return false;
    }
    return true;
}

/* The largest triangle left over starts a polygon, which takes in neighbours as long as they lie in its plane. */
static void csimi_grow_face(const csimi_hull_mesh *m, csimi_hull_faces *f, int seed, bool exact) {
    const unsigned char *corner = m->triangle + 3 * seed;
    unsigned char list[3 * CSIM_HULL_MAX_FACES];
    int64_t n[3];
    int t, k, count = 1;
    bool grown = true;
    csimi_grid_normal(m, corner[0], corner[1], corner[2], n);
    f->face[seed] = (unsigned char)f->face_count;
    f->seed[f->face_count] = (unsigned char)seed;
    CSIMI_MEMCPY(list, corner, 3);
    while (grown) {
        grown = false;
        for (t = 0; t < m->triangle_count; ++t) {
            corner = m->triangle + 3 * t;
            if (f->face[t] != CSIMI_NONE || !csimi_is_flat(m, n, seed, t, exact)) continue;
            for (k = 0; k < 3; ++k)
                if (csimi_has_edge(list, count, corner[(k + 1) % 3], corner[k])) break;
            if (k == 3) continue;
            f->face[t] = (unsigned char)f->face_count;
            CSIMI_MEMCPY(list + 3 * count, corner, 3);
            ++count;
            grown = true;
        }
    }
    ++f->face_count;
}

static CSIMI_NOINLINE void csimi_group_faces(const csimi_hull_mesh *m, csimi_hull_faces *f, bool exact) {
    int t;
    f->face_count = 0;
    CSIMI_MEMSET(f->face, CSIMI_NONE, sizeof f->face);
    for (;;) {
        double most = -1;
        int seed = -1;
        for (t = 0; t < m->triangle_count; ++t) {
            const unsigned char *c = m->triangle + 3 * t;
            int64_t n[3];
            double area;
            if (f->face[t] != CSIMI_NONE) continue;
            csimi_grid_normal(m, c[0], c[1], c[2], n);
            area = csimi_grid_length(n);
            if (area <= most) continue;
            most = area;
            seed = t;
        }
        if (seed < 0) return;
        csimi_grow_face(m, f, seed, exact);
    }
}

/* Fills next with the outline of a polygon and returns a corner of it; -1 when it is no single loop. */
static int csimi_outline(const csimi_hull_mesh *m, csimi_hull_faces *f, int face) {
    int t, u, k, count = 0, first = -1, at;
    CSIMI_MEMSET(f->next, CSIMI_NONE, sizeof f->next);
    for (t = 0; t < m->triangle_count; ++t)
        for (k = 0; k < 3 && f->face[t] == face; ++k) {
            int a = m->triangle[3 * t + k], b = m->triangle[3 * t + (k + 1) % 3];
            for (u = 0; u < m->triangle_count; ++u)
                if (f->face[u] == face && csimi_has_edge(m->triangle + 3 * u, 1, b, a)) break;
            if (u < m->triangle_count) continue;
            if (f->next[a] != CSIMI_NONE) return -1; /* touches itself */
            f->next[a] = (unsigned char)b;
            first = a;
            ++count;
        }
    if (first < 0) return -1;
    for (at = f->next[first]; at != first && count > 0; --count) at = f->next[at];
    return count == 1 ? first : -1;
}

/* Writes the outlines without the corners where only two polygons meet, numbered as in points. */
static bool csimi_write_faces(const csimi_hull_mesh *m, csimi_hull_faces *f, csim_hull_data *hull) {
    int face, at, first, count = 0;
    CSIMI_MEMSET(f->valence, 0, sizeof f->valence);
    for (face = 0; face < f->face_count; ++face) {
        if ((first = at = csimi_outline(m, f, face)) < 0) return false;
        do {
            ++f->valence[at];
            at = f->next[at];
        } while (at != first);
    }
    for (face = 0; face < f->face_count; ++face) {
        first = at = csimi_outline(m, f, face);
        hull->face_start[face] = (short)count;
        do {
            if (f->valence[at] > 2) hull->face_vertex[count++] = (unsigned char)at;
            at = f->next[at];
        } while (at != first);
        if (count < hull->face_start[face] + 3) return false;
    }
    hull->face_start[face] = (short)count;
    hull->face_count = face;
    return true;
}

/* The corners in use, renumbered in the order of points. */
static void csimi_write_vertices(const csim_vec3 *points, csimi_hull_faces *f, int count, csim_hull_data *hull) {
    int i, n = 0;
    for (i = 0; i < count; ++i) {
        if (f->valence[i] <= 2) continue;
        csimi_store3(hull->vertex + 3 * n, points[i]);
        f->next[i] = (unsigned char)n++;
    }
    hull->vertex_count = n;
    for (i = 0; i < hull->face_start[hull->face_count]; ++i) hull->face_vertex[i] = f->next[hull->face_vertex[i]];
}

/* Every edge once, from its first vertex to its second in its first face; false when the surface is not closed. */
static CSIMI_NOINLINE bool csimi_write_edges(csim_hull_data *hull) {
    int face, other, i, k, n = 0, sides = hull->face_start[hull->face_count];
    for (face = 0; face < hull->face_count; ++face) {
        int start = hull->face_start[face], end = hull->face_start[face + 1];
        for (i = start; i < end; ++i) {
            int a = hull->face_vertex[i], b = hull->face_vertex[i + 1 < end ? i + 1 : start], found = 0;
            for (other = face + 1; other < hull->face_count; ++other) {
                int from = hull->face_start[other], to = hull->face_start[other + 1];
                for (k = from; k < to; ++k) {
                    if (hull->face_vertex[k] != b || hull->face_vertex[k + 1 < to ? k + 1 : from] != a) continue;
                    if (++found > 1 || n >= CSIM_HULL_MAX_EDGES) return false;
                    hull->edge_vertex[2 * n] = (unsigned char)a;
                    hull->edge_vertex[2 * n + 1] = (unsigned char)b;
                    hull->edge_face[2 * n] = (unsigned char)face;
                    hull->edge_face[2 * n + 1] = (unsigned char)other;
                    ++n;
                }
            }
        }
    }
    hull->edge_count = n;
    return 2 * n == sides && hull->vertex_count + hull->face_count == n + 2;
}

/* Newell's normal: twice the area. */
static csim_vec3 csimi_polygon_normal(const csim_hull_data *hull, int face) {
    int start = hull->face_start[face], end = hull->face_start[face + 1], i;
    csim_vec3 origin = csimi_load3(hull->vertex + 3 * hull->face_vertex[start]), n = csim_v3(0, 0, 0);
    for (i = start + 1; i + 1 < end; ++i) {
        csim_vec3 p = csim_sub(csimi_load3(hull->vertex + 3 * hull->face_vertex[i]), origin);
        csim_vec3 q = csim_sub(csimi_load3(hull->vertex + 3 * hull->face_vertex[i + 1]), origin);
        n = csim_add(n, csim_cross(p, q));
    }
    return csim_normalize(n);
}

/* The plane with normal n that touches the hull from outside; how far below it the lowest corner of the face is. */
static csim_real csimi_face_sag(const csim_hull_data *hull, int face, csim_vec3 n, csim_real *offset) {
    csim_real lowest = CSIMI_HUGE;
    int i;
    *offset = -CSIMI_HUGE;
    for (i = 0; i < hull->vertex_count; ++i)
        *offset = csimi_max(*offset, csim_dot(n, csimi_load3(hull->vertex + 3 * i)));
    for (i = hull->face_start[face]; i < hull->face_start[face + 1]; ++i)
        lowest = csimi_min(lowest, csim_dot(n, csimi_load3(hull->vertex + 3 * hull->face_vertex[i])));
    return *offset - lowest;
}

/* The planes hold every vertex. The polygon's own normal is exact where the polygon is large; a sliver of a few grid
   steps takes that of its first triangle on the grid, which no vertex is above by more than half a step. */
static CSIMI_NOINLINE void csimi_write_planes(const csimi_hull_mesh *m, const csimi_hull_faces *f,
                                              csim_hull_data *hull) {
    int face, k;
    for (face = 0; face < hull->face_count; ++face) {
        const unsigned char *t = m->triangle + 3 * f->seed[face];
        csim_vec3 own = csimi_polygon_normal(hull, face), coarse = csim_v3(0, 0, 0);
        csim_real own_offset, coarse_offset;
        int64_t n[3];
        bool exact;
        csimi_grid_normal(m, t[0], t[1], t[2], n);
        for (k = 0; k < 3; ++k) coarse = csim_madd(coarse, (csim_real)n[k], m->axis[k]);
        coarse = csim_normalize(coarse);
        exact = csimi_face_sag(hull, face, own, &own_offset) <= csimi_face_sag(hull, face, coarse, &coarse_offset) &&
                csim_dot(own, coarse) > 0;
        csimi_store3(hull->normal + 3 * face, exact ? own : coarse);
        hull->offset[face] = exact ? own_offset : coarse_offset;
    }
}

CSIMI_FN csim_status csimi_hull_build(const char *function, const csim_vec3 *points, int count, csim_hull_data *hull,
                                      csim_error *error) {
    csimi_hull_mesh m;
    csimi_hull_faces f;
    int exact; /* growing within a slack may fail on strange shapes; without it, it cannot */
    csim_status status = csimi_hull_triangulate(function, points, count, &m, error);
    if (status != CSIM_OK) return status;
    for (exact = 0; exact < 2; ++exact) {
        CSIMI_MEMSET(hull, 0, sizeof *hull); /* unused parts too: hulls are compared and saved as bytes */
        csimi_group_faces(&m, &f, exact == 1);
        if (!csimi_write_faces(&m, &f, hull)) continue;
        csimi_write_vertices(points, &f, count, hull);
        if (!csimi_write_edges(hull)) continue;
        csimi_write_planes(&m, &f, hull);
        return CSIM_OK;
    }
    return csimi_fail(error, CSIM_BAD_MESH, function, "points", false, 0, "points that span a convex body");
}

/* ---- mass */

/* Adds the volume, first and second moments of the tetrahedron 0 a b c. */
static void csimi_add_tetrahedron(const double *a, const double *b, const double *c, double *volume, double *first,
                                  double *second) {
    double s[3], v = 0;
    int i, j, k = 0;
    for (i = 0; i < 3; ++i) {
        int y = (i + 1) % 3, z = (i + 2) % 3;
        s[i] = a[i] + b[i] + c[i];
        v += a[i] * (b[y] * c[z] - b[z] * c[y]) / 6;
    }
    for (i = 0; i < 3; ++i) {
        first[i] += v / 4 * s[i];
        for (j = i; j < 3; ++j) second[k++] += v / 20 * (a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + s[i] * s[j]);
    }
    *volume += v;
}

/* From tetrahedra to a point inside: the sums have no cancelling parts. */
CSIMI_FN CSIMI_NOINLINE csim_status csimi_hull_moments(const char *function, const csim_vec3 *points, int count,
                                                       double *volume, double *centre, double *second,
                                                       csim_error *error) {
    csimi_hull_mesh m;
    double x[9], middle[3] = {0, 0, 0}, first[3] = {0, 0, 0};
    int i, j, k;
    csim_status status = csimi_hull_triangulate(function, points, count, &m, error);
    if (status != CSIM_OK) return status;
    for (k = 0, *volume = 0; k < 6; ++k) second[k] = 0;
    for (i = 0; i < 3 * m.triangle_count; ++i) {
        csim_vec3 p = points[m.triangle[i]];
        middle[0] += (double)p.x / (3 * m.triangle_count);
        middle[1] += (double)p.y / (3 * m.triangle_count);
        middle[2] += (double)p.z / (3 * m.triangle_count);
    }
    for (i = 0; i < m.triangle_count; ++i) {
        for (k = 0; k < 3; ++k) {
            csim_vec3 p = points[m.triangle[3 * i + k]];
            x[3 * k] = (double)p.x - middle[0];
            x[3 * k + 1] = (double)p.y - middle[1];
            x[3 * k + 2] = (double)p.z - middle[2];
        }
        csimi_add_tetrahedron(x, x + 3, x + 6, volume, first, second);
    }
    for (i = 0, k = 0; i < 3; ++i) {
        double shift = first[i] / *volume;
        for (j = i; j < 3; ++j) second[k++] -= shift * first[j];
        centre[i] = middle[i] + shift;
    }
    return CSIM_OK;
}

#undef CSIMI_GRID
#undef CSIMI_WELD
#undef CSIMI_NONE
/* ==== end collide/hull.c */

/* ==== begin collide/distance.c ================================================================================== */
/* collide/distance: signed distance of a point to a shape. Everything happens in the frame of the shape. */

/* A direction with a fallback: the normal must never be zero. */
static csim_vec3 csimi_direction(csim_vec3 d, csim_vec3 otherwise) {
    csim_vec3 n = csim_normalize(d);
    return csim_dot(n, n) > 0 ? n : otherwise;
}

/* Zones: 1 above, 2 below, 0 between the ends of the segment. */
static csim_real csimi_distance_capsule(const csim_geometry *g, csim_vec3 x, csim_vec3 *n, uint32_t *zone) {
    csim_real z = csimi_clamp(x.z, -g->half_height, g->half_height);
    csim_vec3 d = csim_v3(x.x, x.y, x.z - z);
    *zone = x.z > g->half_height ? 1u : x.z < -g->half_height ? 2u : 0u;
    *n = csimi_direction(d, g->half_height > 0 ? csim_v3(1, 0, 0) : csim_v3(0, 0, 1));
    return csim_length(d) - g->radius;
}

/* Zones: one digit to the base 3 for each axis: 0 beyond the low face, 1 between, 2 beyond the high face. The point
   nearest to an inner one lies on the face it is least deep under. */
static csim_real csimi_distance_box(const csim_geometry *g, csim_vec3 x, csim_vec3 *n, uint32_t *zone) {
    csim_real p[3], half[3], out[3], d[3];
    uint32_t digit = 1;
    int k, top = 0;
    bool inside;
    csimi_store3(p, x);
    csimi_store3(half, g->half);
    for (k = 0; k < 3; ++k) {
        out[k] = csimi_abs(p[k]) - half[k];
        if (out[k] > out[top]) top = k;
    }
    inside = out[top] <= 0;
    for (k = 0, *zone = 0; k < 3; ++k, digit *= 3) {
        bool beyond = k == top || out[k] > 0;
        csim_real side = p[k] < 0 ? CSIM_R(-1) : CSIM_R(1);
        *zone += beyond ? digit * (p[k] < 0 ? 0u : 2u) : digit;
        d[k] = !beyond ? 0 : inside ? side : side * out[k];
    }
    *n = csim_normalize(csimi_load3(d));
    return inside ? out[top] : csim_length(csimi_load3(d));
}

/* Zones: 0 side, 1 top, 2 bottom, 3 top rim, 4 bottom rim. */
static csim_real csimi_distance_cylinder(const csim_geometry *g, csim_vec3 x, csim_vec3 *n, uint32_t *zone) {
    csim_vec3 axial = csim_v3(0, 0, x.z < 0 ? -1 : 1), radial = csim_v3(1, 0, 0);
    csim_real across = csim_length(csim_v3(x.x, x.y, 0)), along = csimi_abs(x.z) - g->half_height;
    uint32_t below = x.z < 0;
    if (across > 0) radial = csim_v3(x.x / across, x.y / across, 0);
    across -= g->radius;
    if (across > 0 && along > 0) {
        csim_vec3 d = csim_madd(csim_scale(across, radial), along, axial);
        *zone = 3 + below;
        *n = csimi_direction(d, radial);
        return csim_length(d);
    }
    *zone = across > along ? 0 : 1 + below;
    *n = across > along ? radial : axial;
    return csimi_max(across, along);
}

/* ---- hulls */

/* True when the projection of x onto the face lies in its polygon. */
static bool csimi_over_face(const csim_hull_data *h, int face, csim_vec3 x) {
    int start = h->face_start[face], end = h->face_start[face + 1], i;
    csim_vec3 n = csimi_load3(h->normal + 3 * face), from = csimi_load3(h->vertex + 3 * h->face_vertex[end - 1]);
    for (i = start; i < end; ++i) {
        csim_vec3 to = csimi_load3(h->vertex + 3 * h->face_vertex[i]);
        if (csim_dot(csim_cross(n, csim_sub(to, from)), csim_sub(x, from)) < 0) return false;
        from = to;
    }
    return true;
}

/* The vector from the nearest point of all edges to x; zone of that edge or corner. */
static csim_vec3 csimi_from_edges(const csim_hull_data *h, csim_vec3 x, uint32_t *zone) {
    csim_vec3 nearest = csim_v3(0, 0, 0);
    csim_real least = 0;
    int i;
    for (i = 0; i < h->edge_count; ++i) {
        int a = h->edge_vertex[2 * i], b = h->edge_vertex[2 * i + 1];
        csim_vec3 p = csimi_load3(h->vertex + 3 * a), e = csim_sub(csimi_load3(h->vertex + 3 * b), p), d, r;
        csim_real length = csim_dot(e, e), t, square;
        d = csim_sub(x, p);
        t = csim_dot(d, e);
        r = t <= 0 ? d : t >= length ? csim_sub(d, e) : csim_madd(d, -t / length, e);
        square = csim_dot(r, r);
        if (i > 0 && square >= least) continue;
        least = square;
        nearest = r;
        *zone = t <= 0 ? 0x200u + (uint32_t)a : t >= length ? 0x200u + (uint32_t)b : 0x100u + (uint32_t)i;
    }
    return nearest;
}

/* Zones: face number, 0x100 + edge number, 0x200 + vertex number. */
static csim_real csimi_distance_hull(const csim_geometry *g, const csim_hull_data *h, csim_vec3 x, csim_vec3 *n,
                                     uint32_t *zone) {
    csim_real most = -CSIMI_HUGE, d;
    csim_vec3 r;
    int i, top = 0;
    for (i = 0; i < h->face_count; ++i) {
        d = csim_dot(csimi_load3(h->normal + 3 * i), x) - h->offset[i];
        if (d > 0 && csimi_over_face(h, i, x)) break;
        if (d <= most) continue;
        most = d;
        top = i;
    }
    if (i < h->face_count) {
        most = d;
        top = i;
    }
    *n = csimi_load3(h->normal + 3 * top);
    *zone = (uint32_t)top;
    if (most <= 0 || i < h->face_count) return most;
    r = csimi_from_edges(h, x, zone);
    d = csim_length(r);
    if (d > 64 * CSIMI_EPS * g->bound) *n = csim_scale(1 / d, r); /* else r is rounding: the face tells more */
    return d;
}

CSIM_API csim_real csim_shape_distance(const csim_geometry *geometry, const csim_hull_data *hulls, csim_pose pose,
                                       csim_vec3 point, csim_vec3 *normal, uint32_t *feature) {
    const csim_geometry *g = geometry;
    csim_pose p = csim_pose_mul(pose, g->local);
    csim_vec3 x = csim_pose_local(p, point), n = csim_v3(0, 0, 1);
    csim_real d = 0;
    uint32_t zone = 0;
    switch (g->kind) {
    case CSIM_SHAPE_HALF_SPACE: d = x.z; break;
    case CSIM_SHAPE_SPHERE:
        n = csimi_direction(x, n);
        d = csim_length(x) - g->radius;
        break;
    case CSIM_SHAPE_CAPSULE: d = csimi_distance_capsule(g, x, &n, &zone); break;
    case CSIM_SHAPE_BOX: d = csimi_distance_box(g, x, &n, &zone); break;
    case CSIM_SHAPE_CYLINDER: d = csimi_distance_cylinder(g, x, &n, &zone); break;
    case CSIM_SHAPE_HULL: d = csimi_distance_hull(g, hulls + g->hull, x, &n, &zone); break;
    case CSIM_SHAPE_COUNT_: break;
    }
    if (normal) *normal = csim_rotate(p.rotation, n);
    if (feature) *feature = zone;
    return d;
}
/* ==== end collide/distance.c */

/* ==== begin collide/polytope.c ================================================================================== */
/* collide/polytope: contact points of boxes and hulls. Separating axes over faces and edge pairs decide the normal; the
   points are then enumerated one by one (corners over a face, crossings of edges), so that no polygon is ever stored.
   Shapes that are apart and no axis tells how far also get the nearest pair of their edges.

   Everything happens in the frame of the first polytope, a; the end maps it to the world. side 0 is a, side 1 is b. */

static const csim_real csimi_box_normal[18] = {-1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1};
static const short csimi_box_face_start[7] = {0, 4, 8, 12, 16, 20, 24};
/* corner i has the signs of its bits; faces counter-clockwise from outside */
static const unsigned char csimi_box_face_vertex[24] = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4,
                                                        2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
static const unsigned char csimi_box_edge_vertex[24] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3,
                                                        4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7};
static const unsigned char csimi_box_edge_face[24] = {2, 4, 3, 4, 2, 5, 3, 5, 0, 4, 1, 4,
                                                      0, 5, 1, 5, 0, 2, 1, 2, 0, 3, 1, 3};

static void csimi_polytope_box(csimi_polytope *p, csim_vec3 half) {
    int i;
    for (i = 0; i < 8; i++)
        csimi_store3(p->box_vertex + 3 * i,
                     csim_v3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z));
    p->box_offset[0] = p->box_offset[1] = half.x;
    p->box_offset[2] = p->box_offset[3] = half.y;
    p->box_offset[4] = p->box_offset[5] = half.z;
    p->vertex_count = 8;
    p->face_count = 6;
    p->edge_count = 12;
    p->vertex = p->box_vertex;
    p->normal = csimi_box_normal;
    p->offset = p->box_offset;
    p->face_start = csimi_box_face_start;
    p->face_vertex = csimi_box_face_vertex;
    p->edge_vertex = csimi_box_edge_vertex;
    p->edge_face = csimi_box_edge_face;
    p->size = 2 * csimi_max(half.x, csimi_max(half.y, half.z));
}

CSIMI_FN void csimi_polytope_of(csimi_polytope *p, const csim_geometry *g, const csim_hull_data *hulls) {
    const csim_hull_data *h;
    p->box = g->kind == CSIM_SHAPE_BOX;
    if (p->box) {
        csimi_polytope_box(p, g->half);
        return;
    }
    h = hulls + g->hull;
    p->vertex_count = h->vertex_count;
    p->face_count = h->face_count;
    p->edge_count = h->edge_count;
    p->vertex = h->vertex;
    p->normal = h->normal;
    p->offset = h->offset;
    p->face_start = h->face_start;
    p->face_vertex = h->face_vertex;
    p->edge_vertex = h->edge_vertex;
    p->edge_face = h->edge_face;
    p->size = 2 * g->bound;
}

/* Both polytopes, b's pose in the frame of a, and the points found so far, in the frame of a, normals from a to b. */
typedef struct csimi_pair {
    csimi_polytope a, b;
    csim_real R[9], t[3]; /* x_a = R x_b + t */
    csim_real margin;
    csim_real tie;   /* differences of separation below this are no differences */
    csim_real slack; /* points this far apart are one point; as far outside a face is still on it */
    csim_real least; /* smallest gap so far */
    csim_real floor; /* points deeper than this are none: another axis says they overlap less */
    csim_touch *touches;
    int count, capacity;
} csimi_pair;

static const csimi_polytope *csimi_polytope_on(const csimi_pair *p, int side) { return side == 0 ? &p->a : &p->b; }

static csim_vec3 csimi_turn_b(const csimi_pair *p, const csim_real *x) {
    csim_real y[3];
    csimi_mul3(p->R, x, y);
    return csimi_load3(y);
}
static csim_vec3 csimi_corner(const csimi_pair *p, int side, int i) {
    return side == 0 ? csimi_load3(p->a.vertex + 3 * i)
                     : csim_add(csimi_turn_b(p, p->b.vertex + 3 * i), csimi_load3(p->t));
}
static csim_vec3 csimi_normal_of(const csimi_pair *p, int side, int face) {
    return side == 0 ? csimi_load3(p->a.normal + 3 * face) : csimi_turn_b(p, p->b.normal + 3 * face);
}
/* n . x on the plane of a face with normal n */
static csim_real csimi_offset_of(const csimi_pair *p, int side, int face, csim_vec3 n) {
    return side == 0 ? p->a.offset[face] : p->b.offset[face] + csim_dot(n, csimi_load3(p->t));
}

/* Smallest n . x of a polytope in its own frame. */
static csim_real csimi_lowest(const csimi_polytope *p, csim_vec3 n) {
    csim_real least = CSIMI_HUGE;
    int i;
    if (p->box) return -csimi_abs(n.x) * p->offset[0] - csimi_abs(n.y) * p->offset[2] - csimi_abs(n.z) * p->offset[4];
    for (i = 0; i < p->vertex_count; i++)
        least = csimi_min(least, n.x * p->vertex[3 * i] + n.y * p->vertex[3 * i + 1] + n.z * p->vertex[3 * i + 2]);
    return least;
}

static csim_real csimi_level(const csimi_pair *p, int side, csim_vec3 n) {
    csim_real y[3] = {0, 0, 0}, x[3];
    if (side == 0) return csimi_lowest(&p->a, n);
    csimi_store3(x, n);
    csimi_addmulT3(p->R, x, y);
    return csim_dot(n, csimi_load3(p->t)) + csimi_lowest(&p->b, csimi_load3(y));
}

/* Gap between the supporting planes of a and b along the unit direction n from a to b: never above their distance. */
static csim_real csimi_separation(const csimi_pair *p, csim_vec3 n) {
    return csimi_level(p, 1, n) + csimi_level(p, 0, csim_scale(-1, n));
}

/* ---- axes */

typedef struct csimi_axis_found {
    csim_real separation;
    int a, b; /* a face of a or of b; or an edge of each; -1: none */
} csimi_axis_found;

/* The face of one side that the other is farthest in front of; the first of those that tie. */
static csimi_axis_found csimi_best_face(const csimi_pair *p, int side) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    csimi_axis_found best;
    int i, face = 0;
    best.separation = -CSIMI_HUGE;
    for (i = 0; i < q->face_count && best.separation <= p->margin; i++) {
        csim_vec3 n = csimi_normal_of(p, side, i);
        csim_real s = csimi_level(p, 1 - side, n) - csimi_offset_of(p, side, i, n);
        if (!(s > best.separation + p->tie)) continue;
        best.separation = s;
        face = i;
    }
    best.a = side == 0 ? face : -1;
    best.b = side == 1 ? face : -1;
    return best;
}

static csim_vec3 csimi_edge(const csimi_pair *p, int side, int e, csim_vec3 *start) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    *start = csimi_corner(p, side, q->edge_vertex[2 * e]);
    return csim_sub(csimi_corner(p, side, q->edge_vertex[2 * e + 1]), *start);
}

/* Unit normal of two edges on the side of out; zero where they are parallel: then the faces beside them tell more. */
static csim_vec3 csimi_edge_normal(csim_vec3 ea, csim_vec3 eb, csim_vec3 out) {
    csim_vec3 n = csim_cross(ea, eb);
    csim_real square = csim_dot(n, n);
    if (square <= CSIM_R(1e-6) * csim_dot(ea, ea) * csim_dot(eb, eb)) return csim_v3(0, 0, 0);
    return csim_scale((csim_dot(n, out) < 0 ? -1 : 1) / CSIMI_SQRT(square), n);
}

/* Edge j of b against all of a. A pair is a face of the Minkowski difference when the arc between the face normals at
   the edge of a crosses the arc at the mirrored edge of b (Gregorius, GDC 2013). */
static void csimi_try_edges(const csimi_pair *p, int j, csimi_axis_found *best) {
    const csimi_polytope *a = &p->a;
    csim_vec3 xb, eb = csimi_edge(p, 1, j, &xb);
    csim_vec3 b1 = csimi_normal_of(p, 1, p->b.edge_face[2 * j]), b2 = csimi_normal_of(p, 1, p->b.edge_face[2 * j + 1]);
    int i;
    for (i = 0; i < a->edge_count; i++) {
        csim_vec3 xa = csimi_load3(a->vertex + 3 * a->edge_vertex[2 * i]), a1, a2, n;
        csim_vec3 ea = csim_sub(csimi_load3(a->vertex + 3 * a->edge_vertex[2 * i + 1]), xa);
        csim_real s;
        if (csim_dot(b1, ea) * csim_dot(b2, ea) >= 0) continue;
        a1 = csimi_load3(a->normal + 3 * a->edge_face[2 * i]);
        a2 = csimi_load3(a->normal + 3 * a->edge_face[2 * i + 1]);
        if (csim_dot(a1, eb) * csim_dot(a2, eb) >= 0) continue;
        n = csimi_edge_normal(ea, eb, csim_add(a1, a2));
        if (csim_dot(n, csim_add(b1, b2)) >= 0) continue; /* opposite each other on the sphere */
        s = csim_dot(n, csim_sub(xb, xa));
        if (s > best->separation + p->tie) s = csimi_min(s, csimi_separation(p, n)); /* n is rounded: may claim more */
        if (!(s > best->separation + p->tie)) continue;
        best->separation = s;
        best->a = i;
        best->b = j;
    }
}

/* The edge pair that beats the faces most; edges -1: none does. */
static csimi_axis_found csimi_best_edges(const csimi_pair *p, csim_real faces) {
    csimi_axis_found best;
    int j;
    best.separation = faces;
    best.a = best.b = -1;
    for (j = 0; j < p->b.edge_count && best.separation <= p->margin; j++) csimi_try_edges(p, j, &best);
    return best;
}

/* ---- emitting points */

/* Names of points: a corner against the other shape, or a pair of edges by their corners. */
static uint32_t csimi_name_corner(int side, int corner) { return 0x40000000u | (uint32_t)side << 8 | (uint32_t)corner; }

static uint32_t csimi_name_edges(int a1, int a2, int b1, int b2) {
    uint32_t lo_a = (uint32_t)csimi_imin(a1, a2), hi_a = (uint32_t)csimi_imax(a1, a2);
    uint32_t lo_b = (uint32_t)csimi_imin(b1, b2), hi_b = (uint32_t)csimi_imax(b1, b2);
    return 0x80000000u | lo_a << 18 | hi_a << 12 | lo_b << 6 | hi_b;
}

static bool csimi_same_point(const csimi_pair *p, const csim_touch *s, const csim_touch *t) {
    csim_vec3 a = csim_sub(s->point_a, t->point_a), b = csim_sub(s->point_b, t->point_b);
    return s->feature == t->feature || csim_dot(a, a) + csim_dot(b, b) < 8 * p->slack * p->slack;
}

/* A contact, n from a to b. Of two that are the same point the first stays, or the nearer one. */
static void csimi_emit(csimi_pair *p, csim_vec3 xa, csim_vec3 xb, csim_vec3 n, csim_real gap, uint32_t feature) {
    csim_touch t;
    int i;
    if (!(gap <= p->margin) || gap < p->floor) return;
    t.point_a = xa;
    t.point_b = xb;
    t.normal = n;
    t.gap = gap;
    t.feature = feature;
    for (i = 0; i < csimi_imin(p->count, p->capacity); i++) {
        if (!csimi_same_point(p, p->touches + i, &t)) continue;
        if (gap >= p->touches[i].gap - p->tie) return;
        break;
    }
    p->least = csimi_min(p->least, gap);
    if (i < p->capacity) p->touches[i] = t;
    if (i >= csimi_imin(p->count, p->capacity)) p->count++;
}

/* ---- face against face */

/* The reference face (of side) and the face it meets. */
typedef struct csimi_meeting {
    int side;
    int face[2];      /* of a and of b */
    csim_vec3 n;      /* outward from the reference face */
    csim_real offset; /* n . x on its plane */
    csim_vec3 m;      /* outward of the incident face */
    csim_real level;  /* m . x on its plane */
} csimi_meeting;

static int csimi_face_size(const csimi_polytope *q, int face) { return q->face_start[face + 1] - q->face_start[face]; }
static int csimi_face_corner(const csimi_polytope *q, int face, int k) {
    int n = csimi_face_size(q, face);
    return q->face_vertex[q->face_start[face] + (k < n ? k : k - n)];
}

/* The corner that reaches least far along n. */
static int csimi_lowest_corner(const csimi_pair *p, int side, csim_vec3 n) {
    csim_real least = CSIMI_HUGE, s;
    int i, lowest = 0;
    for (i = 0; i < csimi_polytope_on(p, side)->vertex_count; i++) {
        s = csim_dot(n, csimi_corner(p, side, i));
        if (s < least) {
            least = s;
            lowest = i;
        }
    }
    return lowest;
}

/* Of the faces at the corner that reaches least far along n, the one that looks most against n. */
static int csimi_incident_face(const csimi_pair *p, int side, csim_vec3 n) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    int i, k, best = 0, lowest = csimi_lowest_corner(p, side, n);
    csim_real least = 2;
    for (i = 0; i < q->face_count; i++) {
        csim_real d = csim_dot(n, csimi_normal_of(p, side, i));
        if (!(d < least - CSIM_R(1e-4))) continue; /* the same of two that tie when things tremble */
        for (k = q->face_start[i]; k < q->face_start[i + 1]; k++)
            if (q->face_vertex[k] == lowest) break;
        if (k == q->face_start[i + 1]) continue;
        least = d;
        best = i;
    }
    return best;
}

/* Whether x lies inside the walls that stand on the edges of a face along the direction up (outward of the face). */
static bool csimi_over(const csimi_pair *p, int side, int face, csim_vec3 up, csim_vec3 x) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    int k, n = csimi_face_size(q, face);
    csim_vec3 u = csimi_corner(p, side, csimi_face_corner(q, face, n - 1));
    for (k = 0; k < n; k++) {
        csim_vec3 w = csimi_corner(p, side, csimi_face_corner(q, face, k)), wall = csim_cross(up, csim_sub(w, u));
        csim_real d = csim_dot(wall, csim_sub(x, u));
        if (d < 0 && d * d > p->slack * p->slack * csim_dot(wall, wall)) return false;
        u = w;
    }
    return true;
}

/* A point x of the incident face with its foot on the reference plane. */
static void csimi_emit_on(csimi_pair *p, const csimi_meeting *f, csim_vec3 x, csim_real gap, uint32_t feature) {
    csim_vec3 foot = csim_madd(x, -gap, f->n);
    if (f->side == 0)
        csimi_emit(p, foot, x, f->n, gap, feature);
    else
        csimi_emit(p, x, foot, csim_scale(-1, f->n), gap, feature);
}

/* Corners of one side's face over the other's. */
static void csimi_emit_corners(csimi_pair *p, const csimi_meeting *f, int owner) {
    const csimi_polytope *q = csimi_polytope_on(p, owner);
    csim_vec3 up = owner == f->side ? csim_scale(-1, f->n) : f->n; /* outward of the other face */
    csim_real slope = csim_dot(f->m, f->n);
    int k, n = csimi_face_size(q, f->face[owner]);
    if (owner == f->side && slope > CSIM_R(-0.1)) return; /* an upright incident face: its own corners say all */
    for (k = 0; k < n; k++) {
        int v = csimi_face_corner(q, f->face[owner], k);
        csim_vec3 x = csimi_corner(p, owner, v);
        csim_real gap = owner == f->side ? (f->level - csim_dot(f->m, x)) / slope : csim_dot(f->n, x) - f->offset;
        if (!(gap <= p->margin) || !csimi_over(p, 1 - owner, f->face[1 - owner], up, x)) continue;
        csimi_emit_on(p, f, owner == f->side ? csim_madd(x, gap, f->n) : x, gap, csimi_name_corner(owner, v));
    }
}

/* Where the edges of the incident face cross the reference edge from corner a1 to a2, seen along n. */
static void csimi_emit_crossings(csimi_pair *p, const csimi_meeting *f, int a1, int a2) {
    const csimi_polytope *r = csimi_polytope_on(p, 1 - f->side);
    int j, face = f->face[1 - f->side], n = csimi_face_size(r, face), b1 = csimi_face_corner(r, face, n - 1), b2;
    csim_vec3 u = csimi_corner(p, f->side, a1), e = csim_sub(csimi_corner(p, f->side, a2), u);
    csim_vec3 wall = csim_normalize(csim_cross(f->n, e)), x1 = csimi_corner(p, 1 - f->side, b1), x2, x;
    csim_real length = csim_length(e), s1 = csim_dot(wall, csim_sub(x1, u)), s2, along;
    for (j = 0; j < n; j++, b1 = b2, x1 = x2, s1 = s2) {
        b2 = csimi_face_corner(r, face, j);
        x2 = csimi_corner(p, 1 - f->side, b2);
        s2 = csim_dot(wall, csim_sub(x2, u));
        if (!((s1 > p->slack && s2 < -p->slack) || (s1 < -p->slack && s2 > p->slack))) continue;
        x = csim_madd(x1, s1 / (s1 - s2), csim_sub(x2, x1));
        along = csim_dot(csim_sub(x, u), e) / length;
        if (along <= p->slack || along >= length - p->slack) continue; /* the corners say that */
        csimi_emit_on(p, f, x, csim_dot(f->n, x) - f->offset,
                      f->side == 0 ? csimi_name_edges(a1, a2, b1, b2) : csimi_name_edges(b1, b2, a1, a2));
    }
}

/* The corners of b come before those of a whichever has the reference face, so that names stay when faces tie. */
static CSIMI_NOINLINE void csimi_emit_face(csimi_pair *p, int side, int face) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    csimi_meeting f;
    int i, n = csimi_face_size(q, face);
    f.side = side;
    f.n = csimi_normal_of(p, side, face);
    f.offset = csimi_offset_of(p, side, face, f.n);
    f.face[side] = face;
    f.face[1 - side] = csimi_incident_face(p, 1 - side, f.n);
    f.m = csimi_normal_of(p, 1 - side, f.face[1 - side]);
    f.level = csimi_offset_of(p, 1 - side, f.face[1 - side], f.m);
    csimi_emit_corners(p, &f, 1);
    csimi_emit_corners(p, &f, 0);
    for (i = 0; i < n; i++)
        csimi_emit_crossings(p, &f, csimi_face_corner(q, face, i), csimi_face_corner(q, face, i + 1));
}

/* ---- edge against edge */

/* Closest points of two segments p + s d, q + t e, s and t in [0, 1]. */
CSIMI_FN void csimi_closest_segments(csim_vec3 p, csim_vec3 d, csim_vec3 q, csim_vec3 e, csim_real *s, csim_real *t) {
    csim_vec3 r = csim_sub(p, q);
    csim_real a = csim_dot(d, d), b = csim_dot(d, e), c = csim_dot(e, e), f = csim_dot(d, r), g = csim_dot(e, r);
    csim_real det = a * c - b * b;
    *s = 0;
    if (a > 0 && c > 0 && det > 16 * CSIMI_EPS * a * c) *s = csimi_clamp((b * g - c * f) / det, 0, 1);
    *t = c > 0 ? csimi_clamp((b * *s + g) / c, 0, 1) : 0;
    *s = a > 0 ? csimi_clamp((b * *t - f) / a, 0, 1) : 0;
}

/* Nearest points of an edge pair; its name is that of a corner where the nearest point is one. */
static uint32_t csimi_edge_points(const csimi_pair *p, int i, int j, csim_vec3 *xa, csim_vec3 *xb) {
    const unsigned char *va = p->a.edge_vertex + 2 * i, *vb = p->b.edge_vertex + 2 * j;
    csim_vec3 ea = csimi_edge(p, 0, i, xa), eb = csimi_edge(p, 1, j, xb);
    csim_real s, t;
    csimi_closest_segments(*xa, ea, *xb, eb, &s, &t);
    *xa = csim_madd(*xa, s, ea);
    *xb = csim_madd(*xb, t, eb);
    if (t <= 0 || t >= 1) return csimi_name_corner(1, vb[t >= 1]);
    if (s <= 0 || s >= 1) return csimi_name_corner(0, va[s >= 1]);
    return csimi_name_edges(va[0], va[1], vb[0], vb[1]);
}

/* Unit direction of a pair of edges, from a to b. */
static csim_vec3 csimi_pair_normal(const csimi_pair *p, csimi_axis_found e) {
    const csimi_polytope *a = &p->a;
    csim_vec3 x;
    return csimi_edge_normal(
        csimi_edge(p, 0, e.a, &x), csimi_edge(p, 1, e.b, &x),
        csim_add(csimi_normal_of(p, 0, a->edge_face[2 * e.a]), csimi_normal_of(p, 0, a->edge_face[2 * e.a + 1])));
}

/* The crossing of two edges that overlap; of two apart only where it lies inside both. n: their direction. */
static void csimi_emit_edges(csimi_pair *p, csimi_axis_found e, csim_vec3 n) {
    csim_vec3 xa, xb;
    uint32_t name = csimi_edge_points(p, e.a, e.b, &xa, &xb);
    if (e.separation > 0 && !(name & 0x80000000u)) return;
    csimi_emit(p, xa, xb, n, csim_dot(n, csim_sub(xb, xa)), name);
}

/* Corners of one side that reach as far along n as any: at most two are told. Returns how many there are. */
static int csimi_support(const csimi_pair *p, int side, csim_vec3 n, int *two) {
    csim_real most = -csimi_level(p, side, csim_scale(-1, n));
    int i, count = 0;
    for (i = 0; i < csimi_polytope_on(p, side)->vertex_count; i++)
        if (csim_dot(n, csimi_corner(p, side, i)) > most - p->slack) {
            if (count < 2) two[count] = i;
            count++;
        }
    return count;
}

/* Two parallel edges that meet along n and nothing else: both ends of their overlap. False: not this case. */
static bool csimi_emit_parallel(csimi_pair *p, csim_vec3 n) {
    int va[2], vb[2], k;
    csim_vec3 u, w, e, d;
    csim_real length, s0, s1;
    if (csimi_support(p, 0, n, va) != 2 || csimi_support(p, 1, csim_scale(-1, n), vb) != 2) return false;
    u = csimi_corner(p, 0, va[0]);
    w = csimi_corner(p, 1, vb[0]);
    e = csim_sub(csimi_corner(p, 0, va[1]), u);
    d = csim_sub(csimi_corner(p, 1, vb[1]), w);
    length = csim_length(e);
    e = csim_scale(1 / length, e);
    s0 = csim_dot(e, csim_sub(w, u));
    s1 = s0 + csim_dot(e, d);
    if (csim_length(csim_cross(e, d)) > CSIM_R(1e-3) * csim_length(d)) return false;
    if (csimi_max(s0, s1) < 0 || csimi_min(s0, s1) > length) return false;
    for (k = 0; k < 2; k++) { /* an end of b where it lies on a, else the end of a */
        bool high = (s1 > s0) == (k == 1), inside;
        csim_real s = high ? s1 : s0;
        csim_vec3 xa, xb;
        inside = k == 0 ? s >= -p->slack : s <= length + p->slack;
        if (!inside) s = k == 0 ? 0 : length;
        xa = csim_madd(u, csimi_clamp(s, 0, length), e);
        xb = csim_madd(w, (s - s0) / (s1 - s0), d);
        csimi_emit(p, xa, xb, n, csim_dot(n, csim_sub(xb, xa)),
                   inside ? csimi_name_corner(1, vb[high]) : csimi_name_corner(0, va[k]));
    }
    return true;
}

/* ---- what no axis tells */

/* How far the nearer end of an edge stays behind the supporting plane with n . x = level. */
static csim_real csimi_behind(const csimi_pair *p, int side, int e, csim_vec3 n, csim_real level) {
    csim_vec3 x, d = csimi_edge(p, side, e, &x);
    return csim_dot(n, x) + csimi_min(0, csim_dot(n, d)) - level;
}

/* The nearest pair of edges of polytopes that are apart, unless a point found is as near. n: an axis that separates
   them; only edges near its planes can be near each other. */
static CSIMI_NOINLINE void csimi_emit_nearest(csimi_pair *p, csim_vec3 n) {
    csim_real most = csimi_min(p->margin, p->least - p->tie), behind_b, d;
    csim_real top = csimi_level(p, 0, csim_scale(-1, n)), bottom = csimi_level(p, 1, n), separation = top + bottom;
    csim_vec3 xa, xb, na = csim_v3(0, 0, 0), nb = na;
    uint32_t name = 0, found = 0;
    int i, j;
    for (j = 0; j < p->b.edge_count; j++) {
        behind_b = csimi_behind(p, 1, j, n, bottom);
        if (separation + behind_b > most) continue;
        for (i = 0; i < p->a.edge_count; i++) {
            if (separation + behind_b + csimi_behind(p, 0, i, csim_scale(-1, n), top) > most) continue;
            name = csimi_edge_points(p, i, j, &xa, &xb);
            d = csim_length(csim_sub(xb, xa));
            if (!(d < most)) continue;
            most = d;
            na = xa;
            nb = xb;
            found = name;
        }
    }
    if (!found) return;
    if (most > p->tie) n = csim_scale(1 / most, csim_sub(nb, na)); /* else that is mostly rounding */
    if (!csimi_emit_parallel(p, n)) csimi_emit(p, na, nb, n, csim_dot(n, csim_sub(nb, na)), found);
}

/* ---- all together */

static void csimi_emit_axis(csimi_pair *p, csimi_axis_found fa, csimi_axis_found fb, csimi_axis_found e) {
    csim_vec3 na = csimi_normal_of(p, 0, fa.a), nb = csimi_normal_of(p, 1, fb.b), n;
    bool second = fb.separation > fa.separation + p->tie;
    csim_real best = csimi_max(e.separation, csimi_max(fa.separation, fb.separation));
    int face = second ? fb.b : fa.a;
    n = second ? csim_scale(-1, nb) : na;
    if (e.a >= 0) {
        csim_vec3 axis = csimi_pair_normal(p, e);
        csimi_emit_edges(p, e, axis);
        if (p->count == 0) csimi_emit_nearest(p, axis);
        if (csim_dot(axis, n) > CSIM_R(0.95)) { /* nearly flat: the faces may follow within the same step */
            p->floor = best;
            csimi_emit_face(p, second, face);
        }
    } else {
        /* where both faces tie at a pair of parallel edges, any normal between them would do: the bisector, so that
           what looks symmetric is, while the overlap is shallow */
        csim_vec3 middle = csim_normalize(csim_sub(na, nb));
        bool tied = csimi_abs(fa.separation - fb.separation) <= p->slack && csim_dot(na, nb) > CSIM_R(-0.999) &&
                    csimi_separation(p, middle) > best - 250 * p->tie;
        if (!tied || !csimi_emit_parallel(p, middle)) csimi_emit_face(p, second, face);
        if (best > 0 && p->least > best + p->tie) csimi_emit_nearest(p, n);
    }
}

static void csimi_pair_to_world(csimi_pair *p, csim_pose world) {
    int i;
    for (i = 0; i < csimi_imin(p->count, p->capacity); i++) {
        csim_touch *t = p->touches + i;
        t->point_a = csim_pose_point(world, t->point_a);
        t->point_b = csim_pose_point(world, t->point_b);
        t->normal = csim_scale(-1, csim_rotate(world.rotation, t->normal));
    }
}

CSIMI_FN CSIMI_NOINLINE int csimi_collide_polytopes(const csim_geometry *a, csim_pose pose_a, const csim_geometry *b,
                                                    csim_pose pose_b, const csim_hull_data *hulls, csim_real margin,
                                                    csim_touch *touches, int capacity) {
    csimi_pair p;
    csimi_axis_found fa, fb, e;
    csim_mat3 R = csim_quat_matrix(csim_quat_mul(csim_quat_conj(pose_a.rotation), pose_b.rotation));
    csimi_polytope_of(&p.a, a, hulls);
    csimi_polytope_of(&p.b, b, hulls);
    CSIMI_MEMCPY(p.R, R.m, sizeof p.R);
    csimi_store3(p.t, csim_unrotate(pose_a.rotation, csim_sub(pose_b.position, pose_a.position)));
    p.margin = margin;
    p.tie = csimi_max(CSIM_R(4e-6) * csimi_min(p.a.size, p.b.size), 16 * CSIMI_EPS * csimi_max(p.a.size, p.b.size));
    p.slack = 8 * p.tie;
    p.least = CSIMI_HUGE;
    p.floor = -CSIMI_HUGE;
    p.touches = touches;
    p.count = 0;
    p.capacity = capacity;
    fa = csimi_best_face(&p, 0);
    if (fa.separation > margin) return 0;
    fb = csimi_best_face(&p, 1);
    if (fb.separation > margin) return 0;
    e = csimi_best_edges(&p, csimi_max(fa.separation, fb.separation));
    if (e.separation > margin) return 0;
    csimi_emit_axis(&p, fa, fb, e);
    csimi_pair_to_world(&p, pose_a);
    return p.count;
}
/* ==== end collide/polytope.c */

/* ==== begin collide/manifold.c ================================================================================== */
/* collide/manifold: csim_collide: who meets whom, and the contact points of round shapes. The distance of a point to a
   convex shape is exact, and convex along a line: so is all that balls and lines (capsules, the sides of cylinders,
   edges) meet. Rims of cylinders are sampled: their spacing is the resolution.

   A sample of a rim and a point of an edge count only where the normal lies in the shape's own cone of normals there,
   give or take some: else a rim that hangs over the side of a table would find the side. Shapes that overlap so deeply
   that no point counts are asked once more without that. */

#define CSIMI_FLAT CSIM_R(1e-4) /* rad: tilt below which a line lies flat */

/* Both shapes with the poses of their own frames, and where touches go. Points of a first. */
typedef struct csimi_meet {
    const csim_geometry *a, *b;
    csim_pose pa, pb;         /* of the shapes */
    csim_pose body_a, body_b; /* of their bodies */
    const csim_hull_data *hulls;
    csim_real margin;
    csim_touch *touches;
    int count, capacity;
    csim_real cone; /* how far from a cone of normals, rad: tilt up to which all points of a face are told */
    uint32_t names; /* added to the names of points: each shape in its turn names its own */
    bool swapped;   /* the caller's a is our b */
} csimi_meet;

static void csimi_meet_swap(csimi_meet *m) {
    const csim_geometry *g = m->a;
    csim_pose p = m->pa, body = m->body_a;
    m->a = m->b;
    m->b = g;
    m->pa = m->pb;
    m->pb = p;
    m->body_a = m->body_b;
    m->body_b = body;
    m->swapped = !m->swapped;
}

/* n from b to a. Of points within 1e-3 of a radius the first stays. */
static void csimi_meet_emit(csimi_meet *m, csim_vec3 on_a, csim_vec3 on_b, csim_vec3 n, csim_real gap,
                            uint32_t feature) {
    csim_real near = csimi_max(m->a->radius, m->b->radius) * CSIM_R(1e-3);
    csim_touch t;
    int i;
    if (!(gap <= m->margin)) return;
    t.point_a = m->swapped ? on_b : on_a;
    t.point_b = m->swapped ? on_a : on_b;
    t.normal = m->swapped ? csim_scale(-1, n) : n;
    t.gap = gap;
    t.feature = m->names + feature;
    for (i = 0; i < csimi_imin(m->count, m->capacity); i++) {
        csim_vec3 d = csim_sub(m->touches[i].point_a, t.point_a), e = csim_sub(m->touches[i].point_b, t.point_b);
        if (csim_dot(d, d) + csim_dot(e, e) < near * near) return;
    }
    if (m->count < m->capacity) m->touches[m->count] = t;
    m->count++;
}

/* Distance of a point to b. */
static csim_real csimi_meet_distance(const csimi_meet *m, csim_vec3 x, csim_vec3 *n) {
    uint32_t zone;
    return csim_shape_distance(m->b, m->hulls, m->body_b, x, n, &zone);
}

/* A sphere of radius r about x, a piece of a, against all of b. */
static void csimi_meet_ball(csimi_meet *m, csim_vec3 x, csim_real r, uint32_t feature) {
    csim_vec3 n;
    csim_real d = csimi_meet_distance(m, x, &n);
    csimi_meet_emit(m, csim_madd(x, -r, n), csim_madd(x, -d, n), n, d - r, feature);
}

static csim_vec3 csimi_axis_of(csim_pose p) { return csim_rotate(p.rotation, csim_v3(0, 0, 1)); }

/* ---- lines: axes of capsules and cylinders, edges of boxes and hulls */

typedef struct csimi_line {
    csim_vec3 middle, axis; /* the axis is a unit vector */
    csim_real half, radius;
    csim_real least;         /* a part of b that is flat over less than this is one point */
    const csimi_polytope *q; /* whose edge it is, or null */
    uint32_t name[4];        /* of the low end, the high end, and both ends of the flat part */
} csimi_line;

/* Distance to b at z of the line and its change along it, which never falls with z, for b is convex. */
static csim_real csimi_slope(const csimi_meet *m, const csimi_line *line, csim_real z, csim_real *distance) {
    csim_vec3 n;
    *distance = csimi_meet_distance(m, csim_madd(line->middle, z, line->axis), &n);
    return csim_dot(n, line->axis);
}

/* The part of the line where the slope is within CSIMI_FLAT, or as little as can be told of it; low and high: the
   slopes at the ends. False when it is out of reach. */
static bool csimi_flat_part(const csimi_meet *m, const csimi_line *line, csim_real low, csim_real high, csim_real *z1,
                            csim_real *z2) {
    csim_real h = line->half, below = -h, above = h, top = h, z, s, d;
    int k;
    if (low >= -CSIMI_FLAT) above = -h;
    if (high < -CSIMI_FLAT) below = h;
    for (k = 0; k < 32 && above - below > CSIM_R(1e-9) * h; k++) { /* above falls to the lower end of the part */
        z = (below + above) / 2;
        s = csimi_slope(m, line, z, &d);
        if (d - csimi_abs(s) * (above - below) > line->radius + m->margin) return false; /* the tangent is below b */
        if (s > CSIMI_FLAT) top = z;
        if (s < -CSIMI_FLAT)
            below = z;
        else
            above = z;
    }
    *z1 = above;
    if (low > CSIMI_FLAT) top = -h;
    below = high <= CSIMI_FLAT ? h : above;
    for (k = 0; k < 32 && top - below > CSIM_R(1e-9) * h; k++) { /* below rises to the upper one */
        z = (below + top) / 2;
        if (csimi_slope(m, line, z, &d) > CSIMI_FLAT)
            top = z;
        else
            below = z;
    }
    *z2 = below;
    return true;
}

/* Whether all corners of q, the shape a, lie above x along n, give or take the cone. */
static bool csimi_supports(const csimi_meet *m, const csimi_polytope *q, csim_vec3 x, csim_vec3 n) {
    csim_vec3 local = csim_pose_local(m->pa, x), up = csim_unrotate(m->pa.rotation, n);
    int i;
    for (i = 0; i < q->vertex_count; i++) {
        csim_vec3 d = csim_sub(csimi_load3(q->vertex + 3 * i), local);
        csim_real rise = csim_dot(d, up);
        if (rise < 0 && rise * rise > m->cone * m->cone * csim_dot(d, d)) return false;
    }
    return true;
}

/* The point at z of the line, if it is one of contact: b is taken as the plane that is nearest to the point at flat. */
static void csimi_meet_at(csimi_meet *m, const csimi_line *line, csim_real z, csim_real flat, uint32_t feature) {
    csim_vec3 x = csim_madd(line->middle, z, line->axis), n, out;
    csim_real d = csimi_meet_distance(m, csim_madd(line->middle, flat, line->axis), &n), across = 1;
    d += csim_dot(n, line->axis) * (z - flat);
    out = n;
    if (line->q && (d > m->margin || !csimi_supports(m, line->q, x, n))) return;
    if (m->a->kind == CSIM_SHAPE_CYLINDER) { /* only what lies beside it: the rims say the rest */
        out = csim_madd(n, -csim_dot(n, line->axis), line->axis);
        across = csim_length(out);
        if (across < (d > 0 ? 1 - CSIM_R(1e-6) : CSIM_R(0.1))) return; /* where b holds the axis, any way out will do */
        out = csim_scale(1 / across, out);
        if (m->cone < 1 && line->half - csimi_abs(z) < line->radius * across - d) return; /* shorter along the axis */
    }
    csimi_meet_emit(m, csim_madd(x, -line->radius, out), csim_madd(x, -d, n), n, d - line->radius * across, feature);
}

/* Both ends, unless they hang over, and both ends of the part that lies flat on b, or the one nearest point. */
static void csimi_meet_line(csimi_meet *m, const csimi_line *line) {
    csim_real h = line->half, low, high, z1, z2, middle, d;
    low = csimi_slope(m, line, -h, &d);
    high = csimi_slope(m, line, h, &d);
    if (low >= -m->cone) csimi_meet_at(m, line, -h, -h, line->name[0]);
    if (h > 0 && high <= m->cone) csimi_meet_at(m, line, h, h, line->name[1]);
    if (!csimi_flat_part(m, line, low, high, &z1, &z2)) return;
    middle = (z1 + z2) / 2;
    if (z2 - z1 < line->least) z1 = z2 = middle;
    if (z1 > -h && z1 < h) csimi_meet_at(m, line, z1, middle, line->name[2]);
    if (z2 > z1 && z2 < h) csimi_meet_at(m, line, z2, middle, line->name[3]);
}

/* The axis of a capsule or cylinder. */
static void csimi_meet_axis(csimi_meet *m) {
    csimi_line line;
    uint32_t k;
    line.middle = m->pa.position;
    line.axis = csimi_axis_of(m->pa);
    line.half = m->a->half_height;
    line.radius = m->a->radius;
    line.least = line.radius / 64;
    line.q = NULL;
    for (k = 0; k < 4; k++) line.name[k] = 0x200u + k;
    csimi_meet_line(m, &line);
}

static void csimi_meet_edges(csimi_meet *m, const csimi_polytope *q) {
    csimi_line line;
    int i;
    line.radius = 0;
    line.least = m->b->radius / 64;
    line.q = q;
    for (i = 0; i < q->edge_count; i++) {
        int a = q->edge_vertex[2 * i], b = q->edge_vertex[2 * i + 1];
        csim_vec3 low = csim_pose_point(m->pa, csimi_load3(q->vertex + 3 * a));
        csim_vec3 high = csim_pose_point(m->pa, csimi_load3(q->vertex + 3 * b));
        line.middle = csim_scale(CSIM_R(0.5), csim_add(low, high));
        line.axis = csim_sub(high, low);
        line.half = csim_length(line.axis) / 2;
        line.axis = csim_scale(CSIM_R(0.5) / line.half, line.axis);
        line.name[0] = 0x1000u + (uint32_t)a;
        line.name[1] = 0x1000u + (uint32_t)b;
        line.name[2] = 0x2000u + 2 * (uint32_t)i;
        line.name[3] = line.name[2] + 1;
        csimi_meet_line(m, &line);
    }
}

/* Two capsules: nearest points of the axes, or both ends of the overlap when they are parallel. */
static void csimi_meet_capsules(csimi_meet *m) {
    csim_real ha = m->a->half_height, hb = m->b->half_height, r = m->a->radius + m->b->radius, sine;
    csim_vec3 ua = csimi_axis_of(m->pa), ub = csimi_axis_of(m->pb), p, q, d, e, n;
    csim_real s[2], t[2], distance;
    int k, points = 1;
    p = csim_madd(m->pa.position, -ha, ua);
    q = csim_madd(m->pb.position, -hb, ub);
    d = csim_scale(2 * ha, ua);
    e = csim_scale(2 * hb, ub);
    csimi_closest_segments(p, d, q, e, s, t);
    sine = csim_length(csim_cross(ua, ub));
    if (ha > 0 && hb > 0 && sine < CSIM_R(1e-2)) {
        csim_real b0 = csim_dot(csim_sub(q, p), ua), b1 = b0 + csim_dot(e, ua);
        csim_real lo = csimi_max(0, csimi_min(b0, b1)), hi = csimi_min(2 * ha, csimi_max(b0, b1));
        if (lo < hi && sine * (hi - lo) < CSIM_R(1e-2) * r) {
            points = 2;
            for (k = 0; k < 2; k++) {
                s[k] = (k == 0 ? lo : hi) / (2 * ha);
                t[k] = ((k == 0 ? lo : hi) - b0) / (b1 - b0);
            }
        }
    }
    for (k = 0; k < points; k++) {
        csim_vec3 xa = csim_madd(p, s[k], d), xb = csim_madd(q, t[k], e);
        n = csim_sub(xa, xb);
        distance = csim_length(n);
        n = distance > 0 ? csim_scale(1 / distance, n) : csim_normalize(csim_cross(ua, csim_v3(ua.y, ua.z, ua.x)));
        if (!(csim_dot(n, n) > 0)) n = csim_v3(0, 0, 1);
        csimi_meet_emit(m, csim_madd(xa, -m->a->radius, n), csim_madd(xb, m->b->radius, n), n, distance - r,
                        (uint32_t)k);
    }
}

/* ---- rims of cylinders */

/* The rim of one cap of a. */
typedef struct csimi_rim {
    csim_vec3 centre, cap; /* outward */
    uint32_t name;
} csimi_rim;

/* The point of the rim in the direction side, if it is one of contact. */
static void csimi_meet_rim_point(csimi_meet *m, const csimi_rim *rim, csim_vec3 side, uint32_t feature) {
    csim_vec3 x = csim_madd(rim->centre, m->a->radius, side), n;
    csim_real d = csimi_meet_distance(m, x, &n);
    if (csim_dot(n, side) > m->cone || csim_dot(n, rim->cap) > m->cone) return;
    if (csimi_abs(csim_dot(n, csim_cross(rim->cap, side))) > m->cone) return;
    csimi_meet_emit(m, x, csim_madd(x, -d, n), n, d, rim->name + feature);
}

/* The deepest point: exact over a plane. A cap that lies flat has none. */
static void csimi_meet_rim_deepest(csimi_meet *m, const csimi_rim *rim) {
    csim_vec3 n, side, x = rim->centre;
    csim_real tilt;
    int k;
    for (k = 0; k < 3; k++) {
        csimi_meet_distance(m, x, &n);
        side = csim_cross(rim->cap, csim_cross(rim->cap, n)); /* across the cap to rounding, however small */
        tilt = csim_length(side);
        if (tilt < 64 * CSIMI_EPS) return;
        side = csim_scale(1 / tilt, side);
        x = csim_madd(rim->centre, m->a->radius, side);
    }
    csimi_meet_rim_point(m, rim, side, 0);
}

static void csimi_meet_rim(csimi_meet *m, int top) {
    int i, samples = 4 * csimi_imax(1, csimi_imin(8, (int)(CSIMI_PI / 2 * m->a->radius / m->a->spacing + CSIM_R(0.5))));
    csim_vec3 axis = csimi_axis_of(m->pa), u = csim_rotate(m->pa.rotation, csim_v3(1, 0, 0)), v;
    csim_real c = 1, s = 0, ci, si, old;
    csimi_rim rim;
    csim_vec3 n;
    rim.cap = csim_scale(top ? 1 : -1, axis);
    rim.centre = csim_madd(m->pa.position, m->a->half_height, rim.cap);
    if (csimi_meet_distance(m, rim.centre, &n) > m->a->radius + m->margin) return;
    rim.name = top ? 0x140u : 0x100u;
    if (m->b->kind == CSIM_SHAPE_HALF_SPACE) samples = 4; /* any triangle about the centre carries it */
    ci = CSIMI_COS(2 * CSIMI_PI / (csim_real)samples);
    si = CSIMI_SIN(2 * CSIMI_PI / (csim_real)samples);
    v = csim_cross(axis, u);
    for (i = 0; i < samples; i++) {
        csimi_meet_rim_point(m, &rim, csim_madd(csim_scale(c, u), s, v), (uint32_t)i + 1);
        old = c;
        c = c * ci - s * si;
        s = s * ci + old * si;
    }
    csimi_meet_rim_deepest(m, &rim); /* last: where a sample says as much, its name stays */
}

/* ---- dispatch: each shape offers points to the other; the order of kinds decides who is a */

/* Corners on flat ground, edges against a cylinder. */
static void csimi_meet_flat(csimi_meet *m) {
    csimi_polytope q;
    int i;
    csimi_polytope_of(&q, m->a, m->hulls);
    if (m->b->kind == CSIM_SHAPE_CYLINDER) {
        csimi_meet_edges(m, &q);
        return;
    }
    for (i = 0; i < q.vertex_count; i++)
        csimi_meet_ball(m, csim_pose_point(m->pa, csimi_load3(q.vertex + 3 * i)), 0, 0x1000u + (uint32_t)i);
}

static void csimi_meet_cylinder(csimi_meet *m) {
    csimi_meet_rim(m, 0);
    csimi_meet_rim(m, 1);
    if (m->b->kind != CSIM_SHAPE_HALF_SPACE) csimi_meet_axis(m); /* the rims say all on flat ground */
}

/* A cylinder a, and b in its turn. */
static void csimi_meet_cylinders(csimi_meet *m) {
    csimi_meet_cylinder(m);
    if (m->b->kind == CSIM_SHAPE_HALF_SPACE) return;
    csimi_meet_swap(m);
    m->names = 0x10000u;
    if (m->a->kind == CSIM_SHAPE_CYLINDER)
        csimi_meet_cylinder(m);
    else
        csimi_meet_flat(m);
    csimi_meet_swap(m);
    m->names = 0;
}

static bool csimi_flat(csim_shape_kind k) { return k == CSIM_SHAPE_BOX || k == CSIM_SHAPE_HULL; }

/* Spheres offer their centre, capsules their axis, then the rest. */
static int csimi_roundness(csim_shape_kind k) {
    switch (k) {
    case CSIM_SHAPE_SPHERE: return 4;
    case CSIM_SHAPE_CAPSULE: return 3;
    case CSIM_SHAPE_CYLINDER: return 2;
    case CSIM_SHAPE_BOX:
    case CSIM_SHAPE_HULL: return 1;
    case CSIM_SHAPE_HALF_SPACE:
    case CSIM_SHAPE_COUNT_: break;
    }
    return 0;
}

static void csimi_meet_shapes(csimi_meet *m) {
    csim_vec3 n;
    if (csimi_roundness(m->a->kind) < csimi_roundness(m->b->kind)) csimi_meet_swap(m);
    if (m->a->kind == CSIM_SHAPE_HALF_SPACE) return;
    if (csimi_meet_distance(m, csim_pose_point(m->pa, m->a->centre), &n) > m->a->bound + m->margin) return;
    switch (csimi_roundness(m->a->kind)) {
    case 4: csimi_meet_ball(m, m->pa.position, m->a->radius, 0); return;
    case 3:
        if (m->b->kind == CSIM_SHAPE_CAPSULE)
            csimi_meet_capsules(m);
        else
            csimi_meet_axis(m);
        return;
    case 2:
        csimi_meet_cylinders(m);
        if (m->count > 0) return;
        m->cone = 2;
        csimi_meet_cylinders(m);
        return;
    default: csimi_meet_flat(m); return;
    }
}

CSIM_API int csim_collide(const csim_geometry *a, csim_pose pose_a, const csim_geometry *b, csim_pose pose_b,
                          const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity) {
    csimi_meet m;
    m.a = a;
    m.b = b;
    m.pa = csim_pose_mul(pose_a, a->local);
    m.pb = csim_pose_mul(pose_b, b->local);
    m.body_a = pose_a;
    m.body_b = pose_b;
    m.hulls = hulls;
    m.margin = margin;
    m.touches = touches;
    m.count = 0;
    m.capacity = capacity;
    m.cone = CSIM_R(0.3);
    m.names = 0;
    m.swapped = false;
    if (csimi_flat(a->kind) && csimi_flat(b->kind))
        return csimi_collide_polytopes(a, m.pa, b, m.pb, hulls, margin, touches, capacity);
    csimi_meet_shapes(&m);
    return m.count;
}

#undef CSIMI_FLAT
/* ==== end collide/manifold.c */

/* ==== begin collide/broad.c ===================================================================================== */
/* collide/broad: sort and sweep along one axis. A box is tested against the boxes that begin inside it, so a floor
   costs O(n) and small boxes cost only their neighbours; the axis is chosen without regard to the long boxes. */

typedef struct csimi_broad {
    int count;
    uint64_t *order, *other; /* [count] key of the lower end << 32 | index, and room for sorting */
    uint32_t *end;           /* [count] key of the upper end, in sweep order as all below */
    csim_real *box;          /* [6 count] lower, upper */
    int *group;              /* [count] */
    int *first, *last;       /* [count + 1] pairs of each i */
} csimi_broad;

static csimi_broad csimi_broad_layout(int count, csimi_arena *arena) {
    csimi_broad s;
    s.count = count;
    s.order = CSIMI_PUSH(arena, uint64_t, count);
    s.other = CSIMI_PUSH(arena, uint64_t, count);
    s.end = CSIMI_PUSH(arena, uint32_t, count);
    s.box = CSIMI_PUSH(arena, csim_real, 6 * (size_t)count);
    s.group = CSIMI_PUSH(arena, int, count);
    s.first = CSIMI_PUSH(arena, int, count + 1);
    s.last = CSIMI_PUSH(arena, int, count + 1);
    return s;
}

CSIMI_FN size_t csimi_broad_scratch(int count) {
    csimi_arena arena = csimi_arena_counting();
    csimi_broad_layout(csimi_imax(count, 0), &arena);
    return arena.used + 64; /* the caller's block may start anywhere */
}

/* ---- the axis */

static csim_real csimi_longest_side(const csim_real *lower, const csim_real *upper) {
    return csimi_max(upper[0] - lower[0], csimi_max(upper[1] - lower[1], upper[2] - lower[2]));
}

/* The median longest side of up to 63 boxes taken evenly. */
static csim_real csimi_typical_side(int count, const csim_real *lower, const csim_real *upper) {
    csim_real side[63];
    int samples = csimi_imin(count, 63), i, k;
    for (k = 0; k < samples; ++k) {
        size_t box = 3 * (size_t)((int64_t)k * count / samples);
        csim_real s = csimi_longest_side(lower + box, upper + box);
        for (i = k; i > 0 && side[i - 1] > s; --i) side[i] = side[i - 1];
        side[i] = s;
    }
    return side[samples / 2];
}

/* The axis along which the centres of ordinary boxes vary most. */
static int csimi_broad_axis(int count, const csim_real *lower, const csim_real *upper) {
    csim_real ordinary = 16 * csimi_typical_side(count, lower, upper);
    double sum[3] = {0, 0, 0}, square[3] = {0, 0, 0}, spread[3], origin[3], n = 0;
    int i, k;
    for (k = 0; k < 3; ++k) origin[k] = 0;
    for (i = 0; i < count; ++i) {
        const csim_real *lo = lower + 3 * i, *up = upper + 3 * i;
        if (!(csimi_longest_side(lo, up) <= ordinary)) continue;
        for (k = 0; k < 3; ++k) {
            double x = 0.5 * ((double)lo[k] + (double)up[k]);
            if (n == 0) origin[k] = x; /* far from zero the squares would cancel */
            x -= origin[k];
            sum[k] += x;
            square[k] += x * x;
        }
        n += 1;
    }
    for (k = 0; k < 3; ++k) spread[k] = n > 0 ? square[k] - sum[k] * sum[k] / n : 0;
    i = spread[1] > spread[0] ? 1 : 0;
    return spread[2] > spread[i] ? 2 : i;
}

/* ---- sorting */

/* Unsigned integers in the order of the numbers, which are rounded to float: order is kept, close numbers may tie. */
static uint32_t csimi_broad_key(csim_real x) {
    float f = (float)csimi_clamp(x, CSIM_R(-1e30), CSIM_R(1e30));
    uint32_t bits;
    CSIMI_MEMCPY(&bits, &f, sizeof bits);
    if (bits == 0x80000000u) bits = 0; /* -0 ties with 0 */
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* Stable radix sort by the upper 32 bits; passes whose digit is the same everywhere are skipped. */
static void csimi_broad_sort(csimi_broad *s) {
    int shift, i, k;
    for (shift = 32; shift < 64; shift += 8) {
        int start[256], total = 0;
        uint64_t *swap = s->other;
        CSIMI_MEMSET(start, 0, sizeof start);
        for (i = 0; i < s->count; ++i) ++start[s->order[i] >> shift & 255];
        if (start[s->order[0] >> shift & 255] == s->count) continue;
        for (k = 0; k < 256; ++k) {
            int here = start[k];
            start[k] = total;
            total += here;
        }
        for (i = 0; i < s->count; ++i) s->other[start[s->order[i] >> shift & 255]++] = s->order[i];
        s->other = s->order;
        s->order = swap;
    }
}

static void csimi_broad_gather(csimi_broad *s, int axis, const csim_real *lower, const csim_real *upper,
                               const int *group) {
    int i, k;
    for (i = 0; i < s->count; ++i) s->order[i] = (uint64_t)csimi_broad_key(lower[3 * i + axis]) << 32 | (uint32_t)i;
    csimi_broad_sort(s);
    for (i = 0; i < s->count; ++i) {
        int box = (int)(s->order[i] & 0xffffffffu);
        for (k = 0; k < 3; ++k) {
            s->box[6 * i + k] = lower[3 * box + k];
            s->box[6 * i + 3 + k] = upper[3 * box + k];
        }
        s->end[i] = csimi_broad_key(upper[3 * box + axis]);
        s->group[i] = group[box];
    }
}

/* ---- the sweep and the order of its pairs */

/* Without branches: where boxes lie dense nobody could foretell them, and twice the time would go there. */
static bool csimi_boxes_meet(const csim_real *a, const csim_real *b) {
    return ((a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) & (b[2] <= a[5])) != 0;
}

/* Writes pairs i < j in the order found, counts in last[i] those written, and returns how many there are. */
static int csimi_broad_sweep(csimi_broad *s, int *pairs, int capacity) {
    int found = 0, p, q;
    for (p = 0; p < s->count; ++p) {
        const csim_real *box = s->box + 6 * p;
        const int group = s->group[p];
        for (q = p + 1; q < s->count && (uint32_t)(s->order[q] >> 32) <= s->end[p]; ++q) {
            int i, j;
            if (!csimi_boxes_meet(box, s->box + 6 * q) || (group >= 0 && group == s->group[q])) continue;
            if (found++ >= capacity) continue;
            i = (int)(s->order[p] & 0xffffffffu);
            j = (int)(s->order[q] & 0xffffffffu);
            pairs[2 * found - 2] = csimi_imin(i, j);
            pairs[2 * found - 1] = csimi_imax(i, j);
            ++s->last[csimi_imin(i, j)];
        }
    }
    return found;
}

/* Sorts the j of count pairs of one i: Shell's sort, since a floor may have them all. */
static void csimi_sort_partners(int *pairs, int count) {
    int gap = 1, i, k;
    while (gap < count / 9) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (i = gap; i < count; ++i) {
            int j = pairs[2 * i + 1];
            for (k = i; k >= gap && pairs[2 * (k - gap) + 1] > j; k -= gap) pairs[2 * k + 1] = pairs[2 * (k - gap) + 1];
            pairs[2 * k + 1] = j;
        }
}

/* Moves every pair into the range of its i by following cycles, in place, then sorts each range. */
static void csimi_broad_order(csimi_broad *s, int *pairs) {
    int i, total = 0;
    for (i = 0; i < s->count; ++i) {
        s->first[i] = total;
        total += s->last[i];
        s->last[i] = total;
    }
    for (i = 0; i < s->count; ++i) {
        int from = i > 0 ? s->last[i - 1] : 0;
        while (s->first[i] < s->last[i]) {
            int *pair = pairs + 2 * s->first[i], *home = pairs + 2 * s->first[pair[0]];
            int a = pair[0], b = pair[1];
            ++s->first[a];
            if (home == pair) continue;
            pair[0] = home[0];
            pair[1] = home[1];
            home[0] = a;
            home[1] = b;
        }
        csimi_sort_partners(pairs + 2 * from, s->last[i] - from);
    }
}

CSIMI_FN int csimi_broad_pairs(int count, const csim_real *lower, const csim_real *upper, const int *group, int *pairs,
                               int capacity, void *scratch) {
    csimi_arena arena = csimi_arena_in(scratch, csimi_broad_scratch(count));
    csimi_broad s;
    int found;
    if (count < 2) return 0;
    s = csimi_broad_layout(count, &arena);
    CSIMI_MEMSET(s.last, 0, (size_t)(count + 1) * sizeof *s.last);
    csimi_broad_gather(&s, csimi_broad_axis(count, lower, upper), lower, upper, group);
    found = csimi_broad_sweep(&s, pairs, capacity);
    csimi_broad_order(&s, pairs);
    return found;
}
/* ==== end collide/broad.c */

/* ==== begin contact/problem.c =================================================================================== */
/* contact/problem: is this a problem at all? */

/* Where in the problem a value stands, for the sentence: contacts[12].mu[0]. */
typedef struct csimi_spot {
    csim_error *error;
    char field[64];
} csimi_spot;

static csim_status csimi_problem_fail(csimi_spot *place, csim_status status, const char *array, long index,
                                      const char *member, double value, const char *allowed) {
    size_t length = csimi_append_text(place->field, sizeof place->field, 0, array);
    if (index >= 0) {
        length = csimi_append_text(place->field, sizeof place->field, length, "[");
        length = csimi_append_int(place->field, sizeof place->field, length, index);
        length = csimi_append_text(place->field, sizeof place->field, length, "]");
    }
    csimi_append_text(place->field, sizeof place->field, length, member);
    return csimi_fail(place->error, status, "csim_problem_check", place->field, true, value, allowed);
}

static csim_status csimi_check_finite(csimi_spot *place, const char *array, long index, const char *member,
                                      const csim_real *x, int count) {
    int k;
    for (k = 0; k < count; ++k)
        if (!csimi_finite(x[k]))
            return csimi_problem_fail(place, CSIM_NOT_FINITE, array, index, member, (double)x[k], "a finite number");
    return CSIM_OK;
}

static csim_status csimi_check_pointers(const csim_problem *p, csim_error *error) {
    const char *name = NULL;
    if (p->A.n > 0) {
        if (!p->A.row)
            name = "A.row";
        else if (!p->A.col)
            name = "A.col";
        else if (!p->A.diag)
            name = "A.diag";
        else if (!p->A.val)
            name = "A.val";
        else if (!p->b)
            name = "b";
    }
    if (p->contact_count > 0 && !p->contacts) name = "contacts";
    if (p->term_count > 0 && !p->terms) name = "terms";
    return name ? csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_problem_check", name, false, 0, "not null") : CSIM_OK;
}

static csim_status csimi_check_row(csimi_spot *place, const csim_block_matrix *A, int i) {
    const int begin = A->row[i], end = A->row[i + 1], diag = A->diag[i];
    const csim_real *D;
    int k;
    if (end < begin)
        return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "A.row", i + 1, "", end, "at least the row before");
    for (k = begin; k < end; ++k)
        if (A->col[k] < 0 || A->col[k] >= A->n || (k > begin && A->col[k] <= A->col[k - 1]))
            return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "A.col", k, "", A->col[k],
                                      "0 to n - 1, ascending inside a row");
    if (diag < begin || diag >= end || A->col[diag] != i)
        return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "A.diag", i, "", diag, "the index of block (i, i)");
    for (k = begin; k < end; ++k) {
        csim_status status = csimi_check_finite(place, "A.val, block ", k, "", A->val + 9 * (ptrdiff_t)k, 9);
        if (status != CSIM_OK) return status;
    }
    D = A->val + 9 * (ptrdiff_t)diag;
    for (k = 0; k < 9; k += 4)
        if (!(D[k] > 0))
            return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "A.val, diagonal of row ", i, "", (double)D[k],
                                      "greater than 0 (A is positive definite)");
    return CSIM_OK;
}

static csim_status csimi_check_matrix(csimi_spot *place, const csim_problem *p) {
    csim_status status = CSIM_OK;
    int i;
    if (p->A.n > 0 && p->A.row[0] != 0)
        return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "A.row", 0, "", p->A.row[0], "0");
    for (i = 0; i < p->A.n && status == CSIM_OK; ++i) status = csimi_check_row(place, &p->A, i);
    for (i = 0; i < p->A.n && status == CSIM_OK; ++i)
        status = csimi_check_finite(place, "b, block ", i, "", p->b + 3 * (ptrdiff_t)i, 3);
    return status;
}

static csim_status csimi_check_side(csimi_spot *place, const csim_problem *p, int m, const csim_side *side,
                                    const char *first, const char *count) {
    if (side->count < 0 || side->count > p->term_count)
        return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, count, side->count, "0 to term_count");
    if (side->count > 0 && (side->first < 0 || side->first > p->term_count - side->count))
        return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, first, side->first,
                                  "0 to term_count - count");
    return CSIM_OK;
}

/* Rows of R orthonormal to what a chain of float rotations keeps. */
static csim_status csimi_check_frame(csimi_spot *place, int m, const csim_real *R) {
    int i, j;
    for (i = 0; i < 3; ++i)
        for (j = i; j < 3; ++j) {
            csim_real dot = R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] + R[3 * i + 2] * R[3 * j + 2];
            if (csimi_abs(dot - (i == j ? 1 : 0)) > CSIM_R(1e-3))
                return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, ".R", (double)dot,
                                          "orthonormal rows (products of two rows 0, of one with itself 1)");
        }
    return CSIM_OK;
}

static csim_status csimi_check_friction(csimi_spot *place, const csim_contact *c, int m) {
    int k, count = c->law == CSIM_LAW_ANISOTROPIC ? 2 : 1;
    csim_status status = csimi_check_finite(place, "contacts", m, ".mu", c->mu, count);
    for (k = 0; k < count && status == CSIM_OK; ++k)
        if (c->mu[k] < 0)
            status = csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, k ? ".mu[1]" : ".mu[0]",
                                        (double)c->mu[k], "0 or more");
    if (c->law != CSIM_LAW_INVERTIBLE || status != CSIM_OK) return status;
    status = csimi_check_finite(place, "contacts", m, ".omega", c->omega, 2);
    for (k = 0; k < 2 && status == CSIM_OK; ++k)
        if (!(c->omega[k] > 0))
            status = csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, k ? ".omega[1]" : ".omega[0]",
                                        (double)c->omega[k], "greater than 0 (invertible law)");
    return status;
}

static csim_status csimi_check_law(csimi_spot *place, const csim_contact *c, int m) {
    int k;
    switch (c->law) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_PROXIMAL:
    case CSIM_LAW_ANISOTROPIC:
    case CSIM_LAW_INVERTIBLE: return csimi_check_friction(place, c, m);
    case CSIM_LAW_BILATERAL:
        if (c->mask > 7u)
            return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, ".mask", (double)c->mask, "0 to 7");
        return CSIM_OK;
    case CSIM_LAW_BOX: /* infinite bounds are allowed */
        for (k = 0; k < 3; ++k)
            if (!(c->lo[k] <= c->hi[k]))
                return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, ".lo", (double)c->lo[k],
                                          "at most hi");
        return CSIM_OK;
    case CSIM_LAW_COUNT_:
    default: break;
    }
    return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, ".law", (double)c->law, "a value of csim_law");
}

static csim_status csimi_check_contact(csimi_spot *place, const csim_problem *p, int m) {
    const csim_contact *c = p->contacts + m;
    csim_status status = csimi_check_side(place, p, m, &c->a, ".a.first", ".a.count");
    int k;
    if (status == CSIM_OK) status = csimi_check_side(place, p, m, &c->b, ".b.first", ".b.count");
    if (status == CSIM_OK && c->a.count + c->b.count == 0)
        status = csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, ".a.count", 0,
                                    "at least one term in a or b (nothing can move)");
    if (status == CSIM_OK) status = csimi_check_finite(place, "contacts", m, ".R", c->R, 9);
    if (status == CSIM_OK) status = csimi_check_frame(place, m, c->R);
    if (status == CSIM_OK) status = csimi_check_finite(place, "contacts", m, ".phi", c->phi, 3);
    if (status == CSIM_OK) status = csimi_check_finite(place, "contacts", m, ".mass", c->mass, 2);
    for (k = 0; k < 2 && status == CSIM_OK; ++k)
        if (c->mass[k] < 0)
            status = csimi_problem_fail(place, CSIM_BAD_PROBLEM, "contacts", m, ".mass", (double)c->mass[k],
                                        "0 (take it from A) or more");
    return status == CSIM_OK ? csimi_check_law(place, c, m) : status;
}

static csim_status csimi_check_terms(csimi_spot *place, const csim_problem *p) {
    csim_status status = CSIM_OK;
    int k;
    for (k = 0; k < p->term_count && status == CSIM_OK; ++k) {
        if (p->terms[k].block < 0 || p->terms[k].block >= p->A.n)
            return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "terms", k, ".block", p->terms[k].block, "0 to n - 1");
        status = csimi_check_finite(place, "terms", k, ".J", p->terms[k].J, 9);
    }
    return status;
}

static csim_status csimi_check_chains(csimi_spot *place, const csim_problem *p) {
    const csim_structure *s = p->structure;
    int k;
    if (!s || s->chain_count <= 0) return CSIM_OK;
    if (!s->chain_first || !s->chain_block)
        return csimi_fail(place->error, CSIM_NULL_ARGUMENT, "csim_problem_check",
                          s->chain_first ? "structure.chain_block" : "structure.chain_first", false, 0, "not null");
    for (k = 0; k <= s->chain_count; ++k)
        if (s->chain_first[k] < (k ? s->chain_first[k - 1] : 0) || (k == 0 && s->chain_first[0] != 0))
            return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "structure.chain_first", k, "", s->chain_first[k],
                                      "0, then at least the entry before");
    for (k = 0; k < 2 * s->chain_first[s->chain_count]; ++k)
        if (s->chain_block[k] < -1 || s->chain_block[k] >= p->A.n)
            return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "structure.chain_block", k, "", s->chain_block[k],
                                      "-1 to n - 1");
    return CSIM_OK;
}

static csim_status csimi_check_structure(csimi_spot *place, const csim_problem *p) {
    const csim_structure *s = p->structure;
    int k;
    if (!s || !s->body_first || s->body_count <= 0) return CSIM_OK;
    if (s->body_first[0] != 0)
        return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "structure.body_first", 0, "", s->body_first[0], "0");
    for (k = 0; k < s->body_count; ++k)
        if (s->body_first[k + 1] <= s->body_first[k])
            return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "structure.body_first", k + 1, "", s->body_first[k + 1],
                                      "greater than the entry before");
    if (s->body_first[k] != p->A.n)
        return csimi_problem_fail(place, CSIM_BAD_PROBLEM, "structure.body_first", k, "", s->body_first[k],
                                  "n for the last entry: bodies cover all blocks");
    return CSIM_OK;
}

CSIM_API csim_status csim_problem_check(const csim_problem *problem, csim_error *error) {
    csimi_spot place;
    csim_status status;
    int m;
    place.error = error;
    if (!problem) return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_problem_check", "problem", false, 0, "not null");
    if (problem->A.n < 0) return csimi_problem_fail(&place, CSIM_BAD_PROBLEM, "A.n", -1, "", problem->A.n, "0 or more");
    if (problem->contact_count < 0)
        return csimi_problem_fail(&place, CSIM_BAD_PROBLEM, "contact_count", -1, "", problem->contact_count,
                                  "0 or more");
    if (problem->term_count < 0)
        return csimi_problem_fail(&place, CSIM_BAD_PROBLEM, "term_count", -1, "", problem->term_count, "0 or more");
    status = csimi_check_pointers(problem, error);
    if (status == CSIM_OK) status = csimi_check_matrix(&place, problem);
    if (status == CSIM_OK) status = csimi_check_terms(&place, problem);
    for (m = 0; m < problem->contact_count && status == CSIM_OK; ++m) status = csimi_check_contact(&place, problem, m);
    if (status == CSIM_OK) status = csimi_check_structure(&place, problem);
    return status == CSIM_OK ? csimi_check_chains(&place, problem) : status;
}

CSIMI_FN csim_status csimi_check_contact_law(const csim_contact *contact, int m, csim_error *error) {
    csimi_spot place;
    place.error = error;
    return csimi_check_law(&place, contact, m);
}
/* ==== end contact/problem.c */

/* ==== begin contact/law.c ======================================================================================= */
/* contact/law: the closed-form projections, one function per law; contact.md 5. */

/* t clipped to the disk of the given radius. */
static void csimi_clip_disk(csim_real radius, const csim_real *trial, csim_real *t) {
    const csim_real length2 = trial[0] * trial[0] + trial[1] * trial[1];
    csim_real scale = 1;
    if (length2 > radius * radius) scale = radius / CSIMI_SQRT(length2);
    t[0] = scale * trial[0];
    t[1] = scale * trial[1];
}

/* COND eq. 26: the normal first, then the tangent with the new normal. */
static void csimi_project_strict(csim_real mu, const csim_real *trial, csim_real *lambda) {
    lambda[0] = csimi_max(trial[0], 0);
    csimi_clip_disk(mu * lambda[0], trial + 1, lambda + 1);
}

CSIM_API void csim_project_cone(csim_real mu, const csim_real *trial, csim_real *lambda) {
    const csim_real n = trial[0], t = CSIMI_SQRT(trial[1] * trial[1] + trial[2] * trial[2]);
    csim_real scale = 1;
    if (t <= mu * n) { /* inside */
        lambda[0] = n;
    } else if (mu * t <= -n) { /* in the polar cone */
        lambda[0] = scale = 0;
    } else { /* onto the boundary */
        lambda[0] = (n + mu * t) / (1 + mu * mu);
        scale = mu * lambda[0] / t;
    }
    lambda[1] = scale * trial[1];
    lambda[2] = scale * trial[2];
}

/* The multiplier s of the nearest point of an ellipse, in units of its short axis squared: the root of
   (r x / (s + r))^2 + (y / (s + 1))^2 = 1, where r = (long / short)^2 and (r x, y) = axes * point / short^2 lies
   outside. Newton on the reciprocal length, which is nearly linear in s, kept inside a bracket by bisection. */
static double csimi_ellipse_multiplier(double r, double x, double y) {
    double lo = y > 1 ? y - 1 : 0, hi = r * x + y, s = lo;
    int k;
    for (k = 0; k < 100; ++k) {
        const double a = r * x / (s + r), b = y / (s + 1), g = a * a + b * b;
        const double slope = a * a / (s + r) + b * b / (s + 1);
        double next = s + g * (csimi_sqrt64(g) - 1) / slope;
        if (g > 1)
            lo = s;
        else
            hi = s;
        if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
        if (next == s || hi - lo <= 4e-16 * hi) break;
        s = next;
    }
    return s;
}

CSIM_API void csim_project_ellipse(csim_real a, csim_real b, const csim_real *trial, csim_real *t) {
    const int big = a >= b ? 0 : 1, small = 1 - big;
    const double major = (double)csimi_max(a, b), minor = (double)csimi_min(a, b);
    const double p = (double)csimi_abs(trial[big]), q = (double)csimi_abs(trial[small]);
    double x, y;
    if (minor <= 1e-12 * major || major <= 0) { /* a segment, or a point */
        x = p < major ? p : major;
        y = 0;
    } else if ((p / major) * (p / major) + (q / minor) * (q / minor) <= 1) {
        x = p;
        y = q;
    } else {
        const double ratio = major / minor, r = ratio * ratio;
        const double s = csimi_ellipse_multiplier(r, p / major, q / minor);
        x = r * p / (s + r);
        y = q / (s + 1);
    }
    t[big] = (csim_real)(trial[big] < 0 ? -x : x);
    t[small] = (csim_real)(trial[small] < 0 ? -y : y);
}

static void csimi_project_anisotropic(const csim_real *mu, const csim_real *trial, csim_real *lambda) {
    lambda[0] = csimi_max(trial[0], 0);
    csim_project_ellipse(mu[0] * lambda[0], mu[1] * lambda[0], trial + 1, lambda + 1);
}

/* u + omega lambda takes the place of u, so that gamma + omega takes the place of gamma. */
static void csimi_project_invertible(const csim_contact *contact, csim_real gamma, const csim_real *trial,
                                     csim_real *lambda) {
    const csim_real normal = gamma / (gamma + contact->omega[0]), tangent = gamma / (gamma + contact->omega[1]);
    csim_real scaled[3];
    scaled[0] = normal * trial[0];
    scaled[1] = tangent * trial[1];
    scaled[2] = tangent * trial[2];
    csimi_project_strict(contact->mu[0], scaled, lambda);
}

CSIM_API void csim_project(const csim_contact *contact, csim_real gamma, const csim_real *trial, csim_real *lambda) {
    int k;
    switch (contact->law) {
    case CSIM_LAW_STRICT: csimi_project_strict(contact->mu[0], trial, lambda); break;
    case CSIM_LAW_PROXIMAL: csim_project_cone(contact->mu[0], trial, lambda); break;
    case CSIM_LAW_ANISOTROPIC: csimi_project_anisotropic(contact->mu, trial, lambda); break;
    case CSIM_LAW_INVERTIBLE: csimi_project_invertible(contact, gamma, trial, lambda); break;
    case CSIM_LAW_BILATERAL:
        for (k = 0; k < 3; ++k) lambda[k] = (contact->mask >> k) & 1u ? trial[k] : 0;
        break;
    case CSIM_LAW_BOX:
        for (k = 0; k < 3; ++k) lambda[k] = csimi_clamp(trial[k], contact->lo[k], contact->hi[k]);
        break;
    case CSIM_LAW_COUNT_:
    default: lambda[0] = lambda[1] = lambda[2] = 0; break;
    }
}

CSIM_API void csim_inverse_contact(const csim_contact *contact, const csim_real *u, csim_real *lambda) {
    csim_real trial[3];
    trial[0] = -u[0] / contact->omega[0];
    trial[1] = -u[1] / contact->omega[1];
    trial[2] = -u[2] / contact->omega[1];
    csimi_project_strict(contact->mu[0], trial, lambda);
}
/* ==== end contact/law.c */

/* ==== begin contact/islands.c =================================================================================== */
/* contact/islands: which blocks can feel each other within one step. */

/* Root of i; every link passed is shortened (path halving). */
static int csimi_island_root(int *parent, int i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The lower root stays, so that the root of an island is its lowest block. */
static void csimi_island_join(int *parent, int i, int j) {
    const int a = csimi_island_root(parent, i), b = csimi_island_root(parent, j);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* First free block that a contact names, -1: none; joins all it names when parent is given. */
static int csimi_island_contact(const csim_contact *contact, const csim_term *terms, const unsigned char *skip,
                                int *parent) {
    int side, k, first = -1;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        for (k = s.first; k < s.first + s.count; ++k) {
            const int block = terms[k].block;
            if (skip && skip[block]) continue;
            if (first < 0)
                first = block;
            else if (parent)
                csimi_island_join(parent, first, block);
        }
    }
    return first;
}

CSIMI_FN int csimi_islands(const csim_block_matrix *A, const unsigned char *skip, int contact_count,
                           const csim_contact *contacts, const csim_term *terms, int *island, int *contact_island,
                           int *scratch) {
    int *const parent = scratch;
    int i, k, count = 0;
    for (i = 0; i < A->n; ++i) parent[i] = i;
    for (i = 0; i < A->n; ++i) {
        if (skip && skip[i]) continue;
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            if (A->col[k] < i && !(skip && skip[A->col[k]])) csimi_island_join(parent, i, A->col[k]);
    }
    for (i = 0; i < contact_count; ++i) (void)csimi_island_contact(contacts + i, terms, skip, parent);
    for (i = 0; i < A->n; ++i) {
        const int root = csimi_island_root(parent, i);
        island[i] = skip && skip[i] ? -1 : root == i ? count++ : island[root];
    }
    for (i = 0; i < contact_count; ++i) {
        const int block = csimi_island_contact(contacts + i, terms, skip, NULL);
        contact_island[i] = block < 0 ? -1 : island[block];
    }
    return count;
}
/* ==== end contact/islands.c */

/* ==== begin contact/nodalize.c ================================================================================== */
/* contact/nodalize: virtual nodes, so that a diagonal W makes a scalar of every contact (COND paper V, contact.md 3).
 */

/* What is known of a nodal problem before its matrix: sizes, and the integers its pattern is built with. */
typedef struct csimi_nodal_plan {
    int n, virtual_count, contacts;
    int incidences; /* terms of all virtual sides */
    int capacity;   /* blocks of A at most */
    int *claimed;   /* [n] first contact on the block, as a node */
    int *first;     /* [n + 1] incident virtual nodes of each block ... */
    int *incident;  /* [incidences] */
    int *mark;      /* [n + virtual_count] last column that reached a row */
    int *cursor;    /* [n + virtual_count] */
} csimi_nodal_plan;

static void csimi_nodal_layout(csimi_arena *arena, const csimi_nodal_plan *plan, csimi_nodal *nodal) {
    const int n = plan->n + plan->virtual_count, sides = plan->virtual_count;
    nodal->node_a = CSIMI_PUSH(arena, int, plan->contacts);
    nodal->node_b = CSIMI_PUSH(arena, int, plan->contacts);
    nodal->start = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    nodal->side = CSIMI_PUSH(arena, csim_side, sides);
    nodal->kappa = CSIMI_PUSH(arena, csim_real, sides);
    if (!sides) return; /* the given matrix, right side and contacts serve as they are */
    nodal->problem.b = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    nodal->problem.contacts = CSIMI_PUSH(arena, csim_contact, plan->contacts);
    nodal->problem.terms = CSIMI_PUSH(arena, csim_term, 2 * (size_t)plan->contacts);
    nodal->problem.A.row = CSIMI_PUSH(arena, int, (size_t)n + 1);
    nodal->problem.A.diag = CSIMI_PUSH(arena, int, n);
    nodal->problem.A.col = CSIMI_PUSH(arena, int, plan->capacity);
    nodal->problem.A.val = CSIMI_PUSH(arena, csim_real, 9 * (size_t)plan->capacity);
}

static void csimi_nodal_layout_scratch(csimi_arena *arena, csimi_nodal_plan *plan) {
    const size_t n = (size_t)plan->n + (size_t)plan->virtual_count;
    plan->first = CSIMI_PUSH(arena, int, (size_t)plan->n + 1);
    plan->incident = CSIMI_PUSH(arena, int, plan->incidences);
    plan->mark = CSIMI_PUSH(arena, int, n);
    plan->cursor = CSIMI_PUSH(arena, int, n);
}

CSIMI_FN void csimi_nodal_reserve(csimi_arena *arena, int blocks, int matrix_blocks, int contacts, int terms) {
    csimi_nodal_plan plan;
    csimi_nodal nodal;
    size_t mark;
    CSIMI_MEMSET(&plan, 0, sizeof plan);
    plan.n = blocks;
    plan.contacts = contacts;
    plan.virtual_count = csimi_imin(2 * contacts, terms);
    plan.incidences = terms;
    plan.capacity = matrix_blocks + 6 * terms + plan.virtual_count; /* k k + 2 k + 1 blocks a side */
    csimi_nodal_layout(arena, &plan, &nodal);
    mark = arena->used;
    csimi_nodal_layout_scratch(arena, &plan);
    (void)CSIMI_PUSH(arena, int, blocks); /* claimed */
    csimi_pop(arena, mark);
}

static csim_side csimi_nodal_given(const csim_contact *contact, int side) { return side ? contact->b : contact->a; }

/* A side that is one block with the identity: a node. */
static bool csimi_nodal_is_node(const csim_problem *problem, csim_side side) {
    const csim_real *J;
    if (side.count != 1) return false;
    J = problem->terms[side.first].J;
    return J[0] == 1 && J[4] == 1 && J[8] == 1 && J[1] == 0 && J[2] == 0 && J[3] == 0 && J[5] == 0 && J[6] == 0 &&
           J[7] == 0;
}

/* True when the side needs a virtual node; the first contact on a node claims it. */
static bool csimi_nodal_is_virtual(const csim_problem *problem, csim_side side, int tag, int *claimed) {
    int block;
    if (!side.count) return false;
    if (!csimi_nodal_is_node(problem, side)) return true;
    block = problem->terms[side.first].block;
    if (claimed[block] < 0) claimed[block] = tag;
    return claimed[block] != tag;
}

static void csimi_nodal_count(const csim_problem *problem, csimi_nodal_plan *plan) {
    int m, k;
    plan->n = problem->A.n;
    plan->contacts = problem->contact_count;
    plan->virtual_count = plan->incidences = 0;
    plan->capacity = problem->A.row[problem->A.n];
    for (m = 0; m < plan->n; ++m) plan->claimed[m] = -1;
    for (m = 0; m < plan->contacts; ++m)
        for (k = 0; k < 2; ++k) {
            const csim_side side = csimi_nodal_given(problem->contacts + m, k);
            if (!csimi_nodal_is_virtual(problem, side, 2 * m + k, plan->claimed)) continue;
            plan->virtual_count += 1;
            plan->incidences += side.count;
            plan->capacity += side.count * side.count + 2 * side.count + 1;
        }
}

/* tr(J D^-1 J') of one term, D the diagonal block it acts on; 1/kg. */
static double csimi_nodal_mobility(const csim_block_matrix *A, const csim_term *term) {
    const csim_real *D = A->val + 9 * (size_t)A->diag[term->block];
    csim_real inverse[9];
    double sum = 0;
    int i, j, k;
    if (!csimi_inverse3(D, inverse)) {
        CSIMI_MEMSET(inverse, 0, sizeof inverse);
        for (i = 0; i < 3; ++i) inverse[4 * i] = 1 / D[4 * i];
    }
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 3; ++j)
            for (k = 0; k < 3; ++k)
                sum += (double)term->J[3 * i + j] * (double)inverse[3 * j + k] * (double)term->J[3 * i + k];
    return sum;
}

/* m_eff = 3 / tr(J D^-1 J') of a side, kg. A side that moves with nothing (J = 0) counts as its first block. */
static csim_real csimi_nodal_mass(const csim_problem *problem, csim_side side) {
    const csim_term *term = problem->terms + side.first;
    const csim_real *D = problem->A.val + 9 * (size_t)problem->A.diag[term->block];
    double mobility = 0;
    int k;
    for (k = 0; k < side.count; ++k) mobility += csimi_nodal_mobility(&problem->A, term + k);
    return mobility > 0 ? (csim_real)(3 / mobility) : (D[0] + D[4] + D[8]) / 3;
}

/* Velocity of a side's point. */
static void csimi_nodal_velocity(const csim_problem *problem, csim_side side, const csim_real *v, csim_real *u) {
    int k;
    u[0] = u[1] = u[2] = 0;
    for (k = side.first; k < side.first + side.count; ++k)
        csimi_addmul3(problem->terms[k].J, v + 3 * (size_t)problem->terms[k].block, u);
}

/* Mass a contact feels: 1 / (1/m_a + 1/m_b) over its moving sides. A coupling made for it slips by 1/gain of what the
   contact does, while one made for the mass of a heavy side alone would drown the light side in its rounding. */
static csim_real csimi_nodal_contact_mass(const csim_problem *problem, const csim_contact *contact) {
    double mobility = 0;
    int k;
    for (k = 0; k < 2; ++k) {
        const csim_side side = csimi_nodal_given(contact, k);
        if (side.count)
            mobility += 1 / (double)(contact->mass[k] > 0 ? contact->mass[k] : csimi_nodal_mass(problem, side));
    }
    return (csim_real)(1 / mobility);
}

/* Node or virtual node of one side; makes the virtual node's kappa, start velocity and shift. */
static int csimi_nodal_side(const csim_problem *problem, const csimi_nodal_plan *plan, int m, int k, csim_real gain,
                            csim_real kappa, const csim_real *share, bool shift, const csim_real *v,
                            const csim_real *lambda0, csimi_nodal *nodal) {
    csim_contact *contact = (csim_contact *)nodal->problem.contacts + m;
    const csim_side side = csimi_nodal_given(problem->contacts + m, k);
    const csim_real *l = lambda0 + 3 * (size_t)m;
    csim_real impulse[3] = {0, 0, 0}, *start;
    int i, node;
    if (!side.count) return -1;
    if (!csimi_nodal_is_virtual(problem, side, 2 * m + k, plan->claimed)) return problem->terms[side.first].block;
    if (!(contact->mass[k] > 0)) contact->mass[k] = csimi_nodal_mass(problem, side);
    node = nodal->virtual_count++;
    nodal->side[node] = side;
    if (!(kappa > 0)) kappa = gain * csimi_nodal_contact_mass(problem, problem->contacts + m);
    if (share) kappa *= share[m];
    nodal->kappa[node] = kappa;
    for (i = 0; shift && i < 3; ++i) contact->phi[i] -= l[i] / kappa;
    start = nodal->start + 3 * (size_t)(plan->n + node);
    csimi_nodal_velocity(problem, side, v, start);
    csimi_addmulT3(contact->R, l, impulse);
    for (i = 0; i < 3; ++i) start[i] += (k ? -impulse[i] : impulse[i]) / kappa;
    return plan->n + node;
}

/* The terms of a nodal contact: the identity on each node. */
static csim_side csimi_nodal_term(csimi_nodal *nodal, int slot, int node) {
    csim_term *term = (csim_term *)nodal->problem.terms + slot;
    csim_side side;
    side.first = slot;
    side.count = node >= 0;
    CSIMI_MEMSET(term, 0, sizeof *term);
    term->block = node < 0 ? 0 : node;
    term->J[0] = term->J[4] = term->J[8] = 1;
    return side;
}

/* ---- the pattern. Columns are visited in ascending order and each appends itself to the rows it reaches, so every row
   comes out sorted without sorting; one sweep counts, a second one fills. */

static void csimi_nodal_emit(csimi_nodal_plan *plan, csim_block_matrix *A, bool fill, int i, int j) {
    if (plan->mark[i] == j) return;
    plan->mark[i] = j;
    if (fill) {
        A->col[plan->cursor[i]] = j;
        if (i == j) A->diag[i] = plan->cursor[i];
    }
    plan->cursor[i] += 1;
}

static void csimi_nodal_reach(const csim_problem *problem, const csimi_nodal *nodal, csimi_nodal_plan *plan,
                              csim_block_matrix *A, bool fill, int node, int j) {
    const csim_side side = nodal->side[node];
    int k;
    for (k = side.first; k < side.first + side.count; ++k) csimi_nodal_emit(plan, A, fill, problem->terms[k].block, j);
    csimi_nodal_emit(plan, A, fill, plan->n + node, j);
}

static void csimi_nodal_sweep(const csim_problem *problem, const csimi_nodal *nodal, csimi_nodal_plan *plan,
                              csim_block_matrix *A, bool fill) {
    int j, k;
    for (j = 0; j < plan->n + plan->virtual_count; ++j) plan->mark[j] = -1;
    for (j = 0; j < plan->n; ++j) {
        for (k = problem->A.row[j]; k < problem->A.row[j + 1]; ++k)
            csimi_nodal_emit(plan, A, fill, problem->A.col[k], j);
        for (k = plan->first[j]; k < plan->first[j + 1]; ++k)
            csimi_nodal_reach(problem, nodal, plan, A, fill, plan->incident[k], j);
    }
    for (k = 0; k < plan->virtual_count; ++k) csimi_nodal_reach(problem, nodal, plan, A, fill, k, plan->n + k);
}

/* Which virtual nodes hang on each block. */
static void csimi_nodal_incidence(const csim_problem *problem, const csimi_nodal *nodal, csimi_nodal_plan *plan) {
    int i, k;
    CSIMI_MEMSET(plan->first, 0, ((size_t)plan->n + 1) * sizeof(int));
    for (i = 0; i < plan->virtual_count; ++i)
        for (k = 0; k < nodal->side[i].count; ++k) plan->first[problem->terms[nodal->side[i].first + k].block + 1] += 1;
    for (i = 0; i < plan->n; ++i) plan->first[i + 1] += plan->first[i];
    CSIMI_MEMCPY(plan->cursor, plan->first, (size_t)plan->n * sizeof(int));
    for (i = 0; i < plan->virtual_count; ++i)
        for (k = 0; k < nodal->side[i].count; ++k)
            plan->incident[plan->cursor[problem->terms[nodal->side[i].first + k].block]++] = i;
}

static void csimi_nodal_pattern(const csim_problem *problem, csimi_nodal *nodal, csimi_nodal_plan *plan) {
    csim_block_matrix *A = &nodal->problem.A;
    int i;
    A->n = plan->n + plan->virtual_count;
    csimi_nodal_incidence(problem, nodal, plan);
    CSIMI_MEMSET(plan->cursor, 0, (size_t)A->n * sizeof(int));
    csimi_nodal_sweep(problem, nodal, plan, A, false);
    A->row[0] = 0;
    for (i = 0; i < A->n; ++i) {
        A->row[i + 1] = A->row[i] + plan->cursor[i];
        plan->cursor[i] = A->row[i];
    }
    CONDSIM_ASSERT(A->row[A->n] <= plan->capacity);
    csimi_nodal_sweep(problem, nodal, plan, A, true);
}

/* ---- the values */

/* The rows of the given matrix, zero where virtual nodes add blocks. */
static void csimi_nodal_copy(const csim_block_matrix *given, csim_block_matrix *A) {
    int i, j, k;
    for (i = 0; i < given->n; ++i) {
        k = given->row[i];
        for (j = A->row[i]; j < A->row[i + 1]; ++j) {
            if (k < given->row[i + 1] && given->col[k] == A->col[j])
                CSIMI_MEMCPY(A->val + 9 * (size_t)j, given->val + 9 * (size_t)k++, 9 * sizeof(csim_real));
            else
                CSIMI_MEMSET(A->val + 9 * (size_t)j, 0, 9 * sizeof(csim_real));
        }
    }
    j = A->row[given->n];
    CSIMI_MEMSET(A->val + 9 * (size_t)j, 0, 9 * sizeof(csim_real) * (size_t)(A->row[A->n] - j));
}

static csim_real *csimi_nodal_block(const csim_block_matrix *A, int i, int j) {
    const int k = csimi_pattern_find(A, i, j);
    CONDSIM_ASSERT(k >= 0);
    return A->val + 9 * (size_t)k;
}

/* Adds kappa |J_v v_o - v_v|^2 / 2 of one virtual node to the quadratic form of A; contact.md 3. */
static void csimi_nodal_couple(const csim_problem *problem, const csimi_nodal *nodal, int n, int node) {
    const csim_block_matrix *A = &nodal->problem.A;
    const csim_side side = nodal->side[node];
    const csim_real kappa = nodal->kappa[node];
    csim_real product[9], *to, *back;
    int s, t, i;
    for (s = side.first; s < side.first + side.count; ++s) {
        const csim_term *a = problem->terms + s;
        for (t = side.first; t < side.first + side.count; ++t) {
            csimi_matTmul(a->J, problem->terms[t].J, product);
            to = csimi_nodal_block(A, a->block, problem->terms[t].block);
            for (i = 0; i < 9; ++i) to[i] += kappa * product[i];
        }
        to = csimi_nodal_block(A, a->block, n + node);
        back = csimi_nodal_block(A, n + node, a->block);
        for (i = 0; i < 9; ++i) {
            to[3 * (i % 3) + i / 3] -= kappa * a->J[i];
            back[i] -= kappa * a->J[i];
        }
    }
    to = A->val + 9 * (size_t)A->diag[n + node];
    for (i = 0; i < 3; ++i) to[4 * i] += kappa;
}

/* Without virtual nodes the given problem is nodal already; only the nodes are named. */
static void csimi_nodal_plain(const csim_problem *problem, csimi_nodal *nodal) {
    int m;
    for (m = 0; m < problem->contact_count; ++m) {
        const csim_contact *c = problem->contacts + m;
        nodal->node_a[m] = c->a.count ? problem->terms[c->a.first].block : -1;
        nodal->node_b[m] = c->b.count ? problem->terms[c->b.first].block : -1;
    }
}

static void csimi_nodal_contacts(const csim_problem *problem, const csimi_nodal_plan *plan, csim_real gain,
                                 csim_real kappa, const csim_real *share, bool shift, const csim_real *v,
                                 const csim_real *lambda0, csimi_nodal *nodal) {
    csim_contact *contacts = (csim_contact *)nodal->problem.contacts;
    int m;
    CSIMI_MEMCPY(contacts, problem->contacts, (size_t)problem->contact_count * sizeof *contacts);
    for (m = 0; m < problem->contact_count; ++m) {
        nodal->node_a[m] = csimi_nodal_side(problem, plan, m, 0, gain, kappa, share, shift, v, lambda0, nodal);
        nodal->node_b[m] = csimi_nodal_side(problem, plan, m, 1, gain, kappa, share, shift, v, lambda0, nodal);
        contacts[m].a = csimi_nodal_term(nodal, 2 * m, nodal->node_a[m]);
        contacts[m].b = csimi_nodal_term(nodal, 2 * m + 1, nodal->node_b[m]);
    }
    nodal->problem.term_count = 2 * problem->contact_count;
}

/* Everything that needs the plan's integers, which the caller then gives back. */
static void csimi_nodal_build(const csim_problem *problem, csimi_nodal_plan *plan, csim_real gain, csim_real kappa,
                              const csim_real *share, bool shift, const csim_real *v, const csim_real *lambda0,
                              csimi_nodal *nodal) {
    int i;
    nodal->virtual_count = 0;
    csimi_nodal_contacts(problem, plan, gain, kappa, share, shift, v, lambda0, nodal);
    csimi_nodal_pattern(problem, nodal, plan);
    csimi_nodal_copy(&problem->A, &nodal->problem.A);
    for (i = 0; i < nodal->virtual_count; ++i) csimi_nodal_couple(problem, nodal, plan->n, i);
    CSIMI_MEMCPY((csim_real *)nodal->problem.b, problem->b, 3 * (size_t)plan->n * sizeof(csim_real));
    CSIMI_MEMSET((csim_real *)nodal->problem.b + 3 * (size_t)plan->n, 0,
                 3 * (size_t)plan->virtual_count * sizeof(csim_real));
}

CSIMI_FN csim_status csimi_nodalize(const csim_problem *problem, csim_real gain, csim_real kappa,
                                    const csim_real *share, bool shift, const csim_real *v, const csim_real *lambda0,
                                    csimi_arena *arena, csimi_nodal *nodal) {
    csimi_nodal_plan plan;
    size_t mark = arena->used;
    CSIMI_MEMSET(&plan, 0, sizeof plan);
    CSIMI_MEMSET(nodal, 0, sizeof *nodal);
    nodal->problem = *problem;
    plan.claimed = CSIMI_PUSH(arena, int, problem->A.n);
    if (arena->overflow) return CSIM_CAPACITY;
    csimi_nodal_count(problem, &plan);
    csimi_pop(arena, mark); /* the layout comes first; claimed is made again above it */
    csimi_nodal_layout(arena, &plan, nodal);
    mark = arena->used;
    csimi_nodal_layout_scratch(arena, &plan);
    plan.claimed = CSIMI_PUSH(arena, int, problem->A.n);
    if (arena->overflow) return CSIM_CAPACITY;
    CSIMI_MEMCPY(nodal->start, v, 3 * (size_t)plan.n * sizeof(csim_real));
    if (plan.virtual_count) {
        int i;
        for (i = 0; i < plan.n; ++i) plan.claimed[i] = -1;
        csimi_nodal_build(problem, &plan, gain, kappa, share, shift, v, lambda0, nodal);
    } else {
        csimi_nodal_plain(problem, nodal);
    }
    csimi_pop(arena, mark);
    return CSIM_OK;
}
/* ==== end contact/nodalize.c */

/* ==== begin contact/certificate.c =============================================================================== */
/* contact/certificate: measures a pair (v, lambda) by the definitions of certificate.md, in double, with projections
   of its own: nothing here is shared with a solver or with contact/law. */

/* Impulses and velocities below this many rounding errors of the numbers they come from count as zero: the "tiny" of
   certificate.md. Without it an island of open contacts, whose median impulse is 0, would measure only rounding. */
#define CSIMI_CERT_NOISE (1e5 * (double)CSIMI_EPS)

/* What one contact looks like to the certificate, with u + omega lambda in the place of u for the invertible law. */
typedef struct csimi_cert_contact {
    const csim_contact *contact;
    double u[3], lambda[3];
    double speed; /* sum of the magnitudes u is a difference of */
    double rho;   /* kg */
    double tiny;  /* N s */
} csimi_cert_contact;

static double csimi_cert_abs(double x) { return x < 0 ? -x : x; }
static double csimi_cert_max(double a, double b) { return a > b ? a : b; }
static double csimi_cert_norm2(const double *x) { return csimi_sqrt64(x[0] * x[0] + x[1] * x[1]); }
static double csimi_cert_norm3(const double *x) { return csimi_sqrt64(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/* ---- dynamics */

/* g += J' lambda for one side; sign +1 for a, -1 for b. */
static void csimi_cert_scatter(const csim_problem *p, const csim_side *side, const double *impulse, double sign,
                               double *g) {
    int k, i, j;
    for (k = side->first; k < side->first + side->count; ++k)
        for (i = 0; i < 3; ++i)
            for (j = 0; j < 3; ++j)
                g[3 * p->terms[k].block + i] += sign * (double)p->terms[k].J[3 * j + i] * impulse[j];
}

/* g = J' lambda */
static void csimi_cert_impulses(const csim_problem *p, const csim_real *lambda, double *g) {
    int m, i;
    for (i = 0; i < 3 * p->A.n; ++i) g[i] = 0;
    for (m = 0; m < p->contact_count; ++m) {
        const csim_contact *c = p->contacts + m;
        const csim_real *l = lambda + 3 * (ptrdiff_t)m;
        double world[3];
        for (i = 0; i < 3; ++i)
            world[i] = (double)c->R[i] * (double)l[0] + (double)c->R[3 + i] * (double)l[1] +
                       (double)c->R[6 + i] * (double)l[2];
        csimi_cert_scatter(p, &c->a, world, 1, g);
        csimi_cert_scatter(p, &c->b, world, -1, g);
    }
}

/* |A v - b - J'lambda| / max(|b|, |J'lambda|, tiny) in the norm of 1 / diag A. */
static double csimi_cert_dynamics(const csim_problem *p, const csim_real *v, const double *g) {
    const csim_block_matrix *A = &p->A;
    double residual = 0, load = 0, impulse = 0, scale;
    int i, k, r, c;
    for (i = 0; i < A->n; ++i) {
        double y[3] = {0, 0, 0};
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            for (r = 0; r < 3; ++r)
                for (c = 0; c < 3; ++c)
                    y[r] += (double)A->val[9 * (ptrdiff_t)k + 3 * r + c] * (double)v[3 * (ptrdiff_t)A->col[k] + c];
        for (r = 0; r < 3; ++r) {
            const double d = (double)A->val[9 * (ptrdiff_t)A->diag[i] + 4 * r];
            const double b = (double)p->b[3 * i + r], f = g[3 * i + r], e = y[r] - b - f;
            residual += e * e / d;
            load += b * b / d;
            impulse += f * f / d;
        }
    }
    scale = csimi_cert_max(csimi_cert_max(csimi_sqrt64(load), csimi_sqrt64(impulse)), (double)CSIMI_TINY);
    return csimi_sqrt64(residual) / scale;
}

/* ---- the scale of a contact */

/* Inverse of a 3x3 block by cofactors; the inverse of its diagonal when it is not positive. */
static void csimi_cert_inverse(const csim_real *block, double *inv) {
    double M[9], det;
    int i, k;
    for (i = 0; i < 9; ++i) M[i] = (double)block[i];
    for (i = 0; i < 3; ++i)
        for (k = 0; k < 3; ++k) {
            const int r1 = (k + 1) % 3, r2 = (k + 2) % 3, c1 = (i + 1) % 3, c2 = (i + 2) % 3;
            inv[3 * i + k] = M[3 * r1 + c1] * M[3 * r2 + c2] - M[3 * r1 + c2] * M[3 * r2 + c1];
        }
    det = M[0] * inv[0] + M[1] * inv[3] + M[2] * inv[6];
    for (i = 0; i < 9; ++i) inv[i] = det > 0 ? inv[i] / det : i % 4 == 0 ? 1 / M[i] : 0;
}

static bool csimi_cert_identity(const csim_real *J) {
    int i;
    for (i = 0; i < 9; ++i)
        if (csimi_cert_abs((double)J[i] - (i % 4 == 0 ? 1 : 0)) > 0) return false;
    return true;
}

/* 1 / m of a side: from the mass given, from its node, or from tr(J D^-1 J') / 3 with the diagonal blocks D of A. */
static double csimi_cert_mobility(const csim_problem *p, const csim_side *side, csim_real mass) {
    double trace = 0;
    int k, i, j, l;
    if (side->count <= 0) return 0;
    if (mass > 0) return 1 / (double)mass;
    if (side->count == 1 && csimi_cert_identity(p->terms[side->first].J)) {
        const csim_real *D = p->A.val + 9 * (ptrdiff_t)p->A.diag[p->terms[side->first].block];
        return 3 / ((double)D[0] + (double)D[4] + (double)D[8]);
    }
    for (k = side->first; k < side->first + side->count; ++k) {
        const csim_real *J = p->terms[k].J;
        double inv[9];
        csimi_cert_inverse(p->A.val + 9 * (ptrdiff_t)p->A.diag[p->terms[k].block], inv);
        for (i = 0; i < 3; ++i)
            for (j = 0; j < 3; ++j)
                for (l = 0; l < 3; ++l) trace += (double)J[3 * i + j] * inv[3 * j + l] * (double)J[3 * i + l];
    }
    return trace / 3;
}

static void csimi_cert_velocity(const csim_problem *p, const csim_side *side, const csim_real *v, double sign,
                                double *w, double *speed) {
    int k, i, j;
    for (k = side->first; k < side->first + side->count; ++k) {
        const csim_real *x = v + 3 * (ptrdiff_t)p->terms[k].block;
        double term[3] = {0, 0, 0};
        for (i = 0; i < 3; ++i) {
            for (j = 0; j < 3; ++j) term[i] += (double)p->terms[k].J[3 * i + j] * (double)x[j];
            w[i] += sign * term[i];
        }
        *speed += csimi_cert_norm3(term);
    }
}

/* most: the largest impulse of the problem. */
static void csimi_cert_read(const csim_problem *p, int m, const csim_real *v, const csim_real *lambda, double most,
                            csimi_cert_contact *c) {
    const csim_contact *contact = p->contacts + m;
    double w[3] = {0, 0, 0}, phi[3], mobility;
    int i;
    c->contact = contact;
    c->speed = 0;
    csimi_cert_velocity(p, &contact->a, v, 1, w, &c->speed);
    csimi_cert_velocity(p, &contact->b, v, -1, w, &c->speed);
    for (i = 0; i < 3; ++i) {
        phi[i] = (double)contact->phi[i];
        c->lambda[i] = (double)lambda[3 * (ptrdiff_t)m + i];
        c->u[i] = (double)contact->R[3 * i] * w[0] + (double)contact->R[3 * i + 1] * w[1] +
                  (double)contact->R[3 * i + 2] * w[2] + phi[i];
        if (contact->law == CSIM_LAW_INVERTIBLE) c->u[i] += (double)contact->omega[i > 0] * c->lambda[i];
    }
    c->speed += csimi_cert_norm3(phi);
    mobility =
        csimi_cert_mobility(p, &contact->a, contact->mass[0]) + csimi_cert_mobility(p, &contact->b, contact->mass[1]);
    c->rho = mobility > 0 ? 1 / mobility : 1;
    c->tiny = csimi_cert_max(CSIMI_CERT_NOISE * csimi_cert_max(most, c->rho * c->speed), (double)CSIMI_TINY);
}

/* ---- projections */

static void csimi_cert_disk(double radius, const double *x, double *y) {
    const double length = csimi_cert_norm2(x), s = length > radius ? radius / length : 1;
    y[0] = s * x[0];
    y[1] = s * x[1];
}

/* Nearest point of the cone |t| <= mu n. */
static void csimi_cert_cone(double mu, const double *x, double *y) {
    const double t = csimi_cert_norm2(x + 1);
    double along, s; /* the ray (1, mu) of the boundary that x lies over */
    int i;
    for (i = 0; i < 3; ++i) y[i] = x[i];
    if (t <= mu * x[0]) return;
    along = csimi_cert_max(0, (x[0] + mu * t) / (1 + mu * mu));
    s = t > 0 ? mu * along / t : 0;
    y[0] = along;
    y[1] = s * x[1];
    y[2] = s * x[2];
}

/* Nearest point of the ellipse with semi-axes a: the multiplier s of (x_i a_i / (a_i^2 + s))^2 summing to 1 by plain
   bisection. */
static void csimi_cert_ellipse(const double *a, const double *x, double *y) {
    double lo = 0, hi, s;
    int i, k;
    for (i = 0; i < 2; ++i) y[i] = x[i];
    if (!(a[0] > 0 && a[1] > 0)) { /* flat: a segment or a point */
        for (i = 0; i < 2; ++i) y[i] = x[i] < -a[i] ? -a[i] : x[i] > a[i] ? a[i] : x[i];
        return;
    }
    if (x[0] / a[0] * (x[0] / a[0]) + x[1] / a[1] * (x[1] / a[1]) <= 1) return;
    hi = a[0] * csimi_cert_abs(x[0]) + a[1] * csimi_cert_abs(x[1]);
    for (k = 0; k < 200; ++k) {
        double sum = 0;
        s = 0.5 * (lo + hi);
        if (s <= lo || s >= hi) break;
        for (i = 0; i < 2; ++i) sum += x[i] * a[i] / (a[i] * a[i] + s) * (x[i] * a[i] / (a[i] * a[i] + s));
        if (sum > 1)
            lo = s;
        else
            hi = s;
    }
    s = 0.5 * (lo + hi);
    for (i = 0; i < 2; ++i) y[i] = x[i] * a[i] * a[i] / (a[i] * a[i] + s);
}

/* The friction set of a law for a normal impulse n >= 0. */
static void csimi_cert_friction(const csim_contact *c, double n, const double *x, double *y) {
    if (c->law == CSIM_LAW_ANISOTROPIC) {
        double axes[2];
        axes[0] = (double)c->mu[0] * n;
        axes[1] = (double)c->mu[1] * n;
        csimi_cert_ellipse(axes, x, y);
    } else {
        csimi_cert_disk((double)c->mu[0] * n, x, y);
    }
}

static bool csimi_cert_frictional(csim_law law) {
    return law == CSIM_LAW_STRICT || law == CSIM_LAW_PROXIMAL || law == CSIM_LAW_ANISOTROPIC ||
           law == CSIM_LAW_INVERTIBLE;
}

/* r = lambda - Project(lambda - rho u), the natural residual of each law. */
static double csimi_cert_residual(const csimi_cert_contact *c) {
    const csim_contact *contact = c->contact;
    double x[3], y[3] = {0, 0, 0}, r[3];
    int i;
    for (i = 0; i < 3; ++i) x[i] = c->lambda[i] - c->rho * c->u[i];
    switch (contact->law) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_ANISOTROPIC:
    case CSIM_LAW_INVERTIBLE: /* the disk has the radius of the impulse at hand, not of the projected one */
        y[0] = csimi_cert_max(0, x[0]);
        csimi_cert_friction(contact, csimi_cert_max(0, c->lambda[0]), x + 1, y + 1);
        break;
    case CSIM_LAW_PROXIMAL: csimi_cert_cone((double)contact->mu[0], x, y); break;
    case CSIM_LAW_BILATERAL:
        for (i = 0; i < 3; ++i) y[i] = (contact->mask >> i) & 1u ? x[i] : 0;
        break;
    case CSIM_LAW_BOX:
        for (i = 0; i < 3; ++i)
            y[i] = x[i] < (double)contact->lo[i]   ? (double)contact->lo[i]
                   : x[i] > (double)contact->hi[i] ? (double)contact->hi[i]
                                                   : x[i];
        break;
    case CSIM_LAW_COUNT_:
    default: break;
    }
    for (i = 0; i < 3; ++i) r[i] = c->lambda[i] - y[i];
    return csimi_cert_norm3(r);
}

/* ---- figures of the friction laws */

static double csimi_cert_cone_excess(const csimi_cert_contact *c) {
    const double *t = c->lambda + 1;
    double near[2], d[2];
    if (c->contact->law != CSIM_LAW_ANISOTROPIC)
        return csimi_cert_max(0, csimi_cert_norm2(t) - (double)c->contact->mu[0] * c->lambda[0]);
    csimi_cert_friction(c->contact, csimi_cert_max(0, c->lambda[0]), t, near);
    d[0] = t[0] - near[0];
    d[1] = t[1] - near[1];
    return csimi_cert_norm2(d);
}

/* A set without width resists along one axis only: |u| of that axis when it sticks, else twice what is not opposed. */
static double csimi_cert_segment(double mu_n, double trial, double u, double lambda) {
    if (csimi_cert_abs(trial) <= mu_n || csimi_cert_abs(lambda) <= 0) return csimi_cert_abs(u);
    return csimi_cert_abs(u + (lambda > 0 ? csimi_cert_abs(u) : -csimi_cert_abs(u)));
}

/* Distance from stick (the trial impulse stays inside the friction set: |u_t|) or from slip against the outward normal
   of the set at lambda_t (for the disk lambda_t / |lambda_t|). Open and frictionless contacts cannot miss. */
static double csimi_cert_dissipation(const csimi_cert_contact *c) {
    const csim_contact *contact = c->contact;
    const double speed = csimi_cert_norm2(c->u + 1), n = c->lambda[0];
    double mu[2], trial[2], near[2], d[2], length;
    int i;
    for (i = 0; i < 2; ++i) {
        mu[i] = (double)contact->mu[contact->law == CSIM_LAW_ANISOTROPIC ? i : 0];
        trial[i] = c->lambda[i + 1] - c->rho * c->u[i + 1];
    }
    if (n <= c->tiny || !(mu[0] > 0 || mu[1] > 0)) return 0;
    if (!(mu[0] > 0)) return csimi_cert_segment(mu[1] * n, trial[1], c->u[2], c->lambda[2]);
    if (!(mu[1] > 0)) return csimi_cert_segment(mu[0] * n, trial[0], c->u[1], c->lambda[1]);
    csimi_cert_friction(contact, n, trial, near);
    if (csimi_cert_abs(trial[0] - near[0]) <= 0 && csimi_cert_abs(trial[1] - near[1]) <= 0) return speed;
    for (i = 0; i < 2; ++i) d[i] = c->lambda[i + 1] / (mu[i] * mu[i]);
    length = csimi_cert_norm2(d);
    for (i = 0; i < 2; ++i) d[i] = c->u[i + 1] + (length > 0 ? speed * d[i] / length : 0);
    return csimi_cert_norm2(d);
}

/* |most power friction can take + power it takes| */
static double csimi_cert_power(const csimi_cert_contact *c) {
    const csim_contact *contact = c->contact;
    double w[2];
    w[0] = (double)contact->mu[0] * c->u[1];
    w[1] = (double)contact->mu[contact->law == CSIM_LAW_ANISOTROPIC ? 1 : 0] * c->u[2];
    return csimi_cert_abs(csimi_cert_max(0, c->lambda[0]) * csimi_cert_norm2(w) + c->lambda[1] * c->u[1] +
                          c->lambda[2] * c->u[2]);
}

/* |r - P_K(r - rho (u + mu |u_t| n))|^2 of de Saxce's form. */
static double csimi_cert_natural_map2(const csimi_cert_contact *c) {
    const double mu = (double)c->contact->mu[0];
    double x[3], y[3], sum = 0;
    int i;
    for (i = 0; i < 3; ++i) x[i] = c->lambda[i] - c->rho * c->u[i];
    x[0] -= c->rho * mu * csimi_cert_norm2(c->u + 1);
    csimi_cert_cone(mu, x, y);
    for (i = 0; i < 3; ++i) sum += (c->lambda[i] - y[i]) * (c->lambda[i] - y[i]);
    return sum;
}

/* ---- median */

/* The k-th smallest of x[count], which is reordered; quickselect with the middle of three as pivot. */
static double csimi_cert_select(double *x, int count, int k) {
    int lo = 0, hi = count - 1;
    while (lo < hi) {
        const double a = x[lo], b = x[lo + (hi - lo) / 2], c = x[hi];
        const double pivot = csimi_cert_max(a < b ? a : b, csimi_cert_max(a, b) < c ? csimi_cert_max(a, b) : c);
        int i = lo, j = hi;
        while (i <= j) {
            while (x[i] < pivot) ++i;
            while (x[j] > pivot) --j;
            if (i <= j) {
                const double swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (k <= j)
            hi = j;
        else if (k >= i)
            lo = i;
        else
            break;
    }
    return x[k];
}

/* Mean of the two middle values for an even count. */
static double csimi_cert_median(double *x, int count) {
    const double upper = csimi_cert_select(x, count, count / 2);
    return count % 2 ? upper : 0.5 * (upper + csimi_cert_select(x, count, count / 2 - 1));
}

/* ---- all of it */

CSIM_API size_t csim_certificate_bytes(int n, int contact_count) {
    csimi_arena arena = csimi_arena_counting();
    csimi_push(&arena, 3 * (size_t)n, sizeof(double));
    csimi_push(&arena, (size_t)contact_count, sizeof(double));
    return arena.high;
}

static void csimi_cert_take(double *worst, double x) {
    if (x > *worst) *worst = x;
}

static void csimi_cert_contacts(const csim_problem *p, const csim_real *v, const csim_real *lambda, double *norms,
                                csim_certificate *out) {
    double most = 0, median, map2 = 0, norm2 = 0;
    int m, i, carrying = 0;
    for (m = 0; m < p->contact_count; ++m) {
        double l[3];
        for (i = 0; i < 3; ++i) l[i] = (double)lambda[3 * (ptrdiff_t)m + i];
        norms[m] = csimi_cert_norm3(l);
        csimi_cert_take(&most, norms[m]);
    }
    for (m = 0; m < p->contact_count; ++m)
        if (norms[m] > CSIMI_CERT_NOISE * most) norms[carrying++] = norms[m];
    median = carrying > 0 ? csimi_cert_median(norms, carrying) : 0;
    for (m = 0; m < p->contact_count; ++m) {
        csimi_cert_contact c;
        double figure;
        csimi_cert_read(p, m, v, lambda, most, &c);
        figure = csimi_cert_residual(&c) / csimi_cert_max(csimi_cert_norm3(c.lambda), csimi_cert_max(median, c.tiny));
        if (figure > out->contact || out->worst_contact < 0) {
            out->contact = figure;
            out->worst_contact = m;
        }
        if (!csimi_cert_frictional(c.contact->law)) continue;
        csimi_cert_take(&out->approach, -c.u[0]);
        csimi_cert_take(&out->complementarity, csimi_cert_abs(c.lambda[0] * c.u[0]));
        csimi_cert_take(&out->cone, csimi_cert_cone_excess(&c));
        csimi_cert_take(&out->dissipation, csimi_cert_dissipation(&c));
        csimi_cert_take(&out->dissipation_power, csimi_cert_power(&c));
        if (c.contact->law != CSIM_LAW_STRICT && c.contact->law != CSIM_LAW_INVERTIBLE) continue;
        map2 += csimi_cert_natural_map2(&c);
        norm2 += c.lambda[0] * c.lambda[0] + c.lambda[1] * c.lambda[1] + c.lambda[2] * c.lambda[2];
    }
    /* no impulse at all is right or altogether wrong (findings-impulse.md, fact 8) */
    out->natural_map_scaled = norm2 > 0 ? csimi_sqrt64(map2 / norm2) : map2 > 0 ? 1 : 0;
}

CSIM_API csim_status csim_problem_certify(const csim_problem *problem, const csim_real *v, const csim_real *lambda,
                                          void *scratch, size_t scratch_bytes, csim_certificate *certificate) {
    csimi_arena arena;
    double *g, *norms;
    if (!certificate || !problem) return CSIM_NULL_ARGUMENT;
    CSIMI_MEMSET(certificate, 0, sizeof *certificate);
    certificate->worst_contact = -1;
    if ((problem->A.n > 0 && (!v || !scratch)) || (problem->contact_count > 0 && !lambda)) return CSIM_NULL_ARGUMENT;
    arena = csimi_arena_in(scratch, scratch_bytes);
    g = CSIMI_PUSH(&arena, double, 3 * (size_t)problem->A.n);
    norms = CSIMI_PUSH(&arena, double, problem->contact_count);
    if (arena.overflow) return CSIM_CAPACITY;
    if (!csimi_all_finite(v, 3 * problem->A.n) || !csimi_all_finite(lambda, 3 * problem->contact_count)) {
        certificate->dynamics = certificate->contact = (double)CSIMI_HUGE;
        return CSIM_NOT_FINITE;
    }
    csimi_cert_impulses(problem, lambda, g);
    certificate->dynamics = csimi_cert_dynamics(problem, v, g);
    if (problem->contact_count > 0) csimi_cert_contacts(problem, v, lambda, norms, certificate);
    return CSIM_OK;
}

#undef CSIMI_CERT_NOISE
/* ==== end contact/certificate.c */

/* ==== begin solve/anderson.c ==================================================================================== */
/* solve/anderson: the acceleration both solvers share; Walker and Ni 2011 in the form with differences to the newest
   pair, the Gram matrix kept up to date by one row a step. */

/* Relative to the diagonal of the normalised Gram matrix: directions that rounding alone tells apart get no weight. */
#define CSIMI_ANDERSON_TIKHONOV 1e-12

CSIMI_FN void csimi_anderson_layout(csimi_anderson *a, csimi_arena *arena, int n, int window) {
    const size_t pairs = (size_t)window * (size_t)n;
    a->n = n;
    a->window = window;
    a->f = CSIMI_PUSH(arena, csim_real, pairs);
    a->p = CSIMI_PUSH(arena, csim_real, pairs);
    a->gram = CSIMI_PUSH(arena, double, window *window);
    a->work = CSIMI_PUSH(arena, double, window *(window + 3));
    csimi_anderson_clear(a);
}

CSIMI_FN void csimi_anderson_clear(csimi_anderson *a) {
    a->count = 0;
    a->newest = -1;
}

CSIMI_FN void csimi_anderson_slot(csimi_anderson *a, csim_real **f, csim_real **p) {
    const size_t slot = (size_t)((a->newest + 1) % a->window) * (size_t)a->n;
    *f = a->f + slot;
    *p = a->p + slot;
}

/* ---- the new row of the Gram matrix */

typedef struct csimi_gram_row {
    const csimi_anderson *a;
    const csim_real *metric;
} csimi_gram_row;

/* Four products f_k M f at once, so that M and f are read once for four pairs; two lanes each, in chunks. */
static void csimi_gram_four(int n, const csim_real *CSIMI_RESTRICT M, const csim_real *CSIMI_RESTRICT f,
                            const csim_real *const *pair, double *dot) {
    const csim_real *CSIMI_RESTRICT a = pair[0], *CSIMI_RESTRICT b = pair[1];
    const csim_real *CSIMI_RESTRICT c = pair[2], *CSIMI_RESTRICT d = pair[3];
    int i, begin, end;
    dot[0] = dot[1] = dot[2] = dot[3] = 0;
    for (begin = 0; begin < n; begin = end) {
        double a0 = 0, a1 = 0, b0 = 0, b1 = 0, c0 = 0, c1 = 0, d0 = 0, d1 = 0;
        end = csimi_imin(n, begin + CSIMI_CHUNK);
        for (i = begin; i + 2 <= end; i += 2) {
            const double x = (double)M[i] * (double)f[i], y = (double)M[i + 1] * (double)f[i + 1];
            a0 += x * (double)a[i], a1 += y * (double)a[i + 1];
            b0 += x * (double)b[i], b1 += y * (double)b[i + 1];
            c0 += x * (double)c[i], c1 += y * (double)c[i + 1];
            d0 += x * (double)d[i], d1 += y * (double)d[i + 1];
        }
        if (i < end) {
            const double x = (double)M[i] * (double)f[i];
            a0 += x * (double)a[i], b0 += x * (double)b[i], c0 += x * (double)c[i], d0 += x * (double)d[i];
        }
        dot[0] += a0 + a1, dot[1] += b0 + b1, dot[2] += c0 + c1, dot[3] += d0 + d1;
    }
}

/* Ranges of four pairs. */
static void csimi_gram_range(void *context, int begin, int end) {
    const csimi_gram_row *row = (const csimi_gram_row *)context;
    const csimi_anderson *a = row->a;
    const csim_real *newest = a->f + (size_t)a->newest * (size_t)a->n, *pair[4];
    double dot[4];
    int four, k;
    for (four = begin; four < end; ++four) {
        const int first = 4 * four, count = csimi_imin(4, a->count - first);
        for (k = 0; k < 4; ++k) pair[k] = a->f + (size_t)(first + (k < count ? k : 0)) * (size_t)a->n;
        csimi_gram_four(a->n, row->metric, newest, pair, dot);
        for (k = first; k < first + count; ++k)
            a->gram[k * a->window + a->newest] = a->gram[a->newest * a->window + k] = dot[k - first];
    }
}

/* ---- weights */

/* Minimises |f_N + sum c_j (f_j - f_N)|: alpha_j = c_j and alpha_N = 1 - sum c_j. The newest pair alone when the
   normal equations cannot be solved. work: the m x m matrix, its right-hand side, its scale. */
static void csimi_anderson_weights(const csimi_anderson *a, double *alpha) {
    const int m = a->count - 1, N = a->newest, w = a->window;
    double *H = a->work, *c = H + m * m, *scale = c + m, sum = 0;
    const double *G = a->gram;
    int i, j;
    for (i = 0; i < a->count; ++i) alpha[i] = 0;
    alpha[N] = 1;
    for (i = 0; i < m; ++i) {
        const int s = i < N ? i : i + 1;
        const double d = G[s * w + s] - 2 * G[s * w + N] + G[N * w + N];
        scale[i] = d > 0 ? 1 / csimi_sqrt64(d) : 0;
        c[i] = -scale[i] * (G[s * w + N] - G[N * w + N]);
    }
    for (i = 0; i < m; ++i)
        for (j = 0; j < m; ++j) {
            const int s = i < N ? i : i + 1, t = j < N ? j : j + 1;
            const double d = G[s * w + t] - G[s * w + N] - G[t * w + N] + G[N * w + N];
            H[i * m + j] = i == j ? 1 + CSIMI_ANDERSON_TIKHONOV : scale[i] * scale[j] * d;
        }
    if (!csimi_cholesky(m, H)) return;
    csimi_cholesky_solve(m, H, c);
    for (i = 0; i < m; ++i) {
        const double weight = scale[i] * c[i];
        if (!(csimi_abs((csim_real)weight) < CSIM_R(1e8))) return; /* nonsense from rounding */
        sum += weight;
    }
    for (i = 0; i < m; ++i) alpha[i < N ? i : i + 1] = scale[i] * c[i];
    alpha[N] = 1 - sum;
}

/* ---- the combination */

typedef struct csimi_combination {
    const csimi_anderson *a;
    const double *alpha;
    csim_real *next;
} csimi_combination;

/* y += w0 p0 + ... + w3 p3 on [begin, end), written out because gcc -O2 pairs neighbours but not loop turns. */
static void csimi_combine_four(const csim_real *CSIMI_RESTRICT p, size_t n, const csim_real *w, int begin, int end,
                               csim_real *CSIMI_RESTRICT y) {
    const csim_real *CSIMI_RESTRICT a = p, *CSIMI_RESTRICT b = p + n;
    const csim_real *CSIMI_RESTRICT c = p + 2 * n, *CSIMI_RESTRICT d = p + 3 * n;
    const csim_real w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
    int i;
    for (i = begin; i + 4 <= end; i += 4) {
        y[i] += (w0 * a[i] + w1 * b[i]) + (w2 * c[i] + w3 * d[i]);
        y[i + 1] += (w0 * a[i + 1] + w1 * b[i + 1]) + (w2 * c[i + 1] + w3 * d[i + 1]);
        y[i + 2] += (w0 * a[i + 2] + w1 * b[i + 2]) + (w2 * c[i + 2] + w3 * d[i + 2]);
        y[i + 3] += (w0 * a[i + 3] + w1 * b[i + 3]) + (w2 * c[i + 3] + w3 * d[i + 3]);
    }
    for (; i < end; ++i) y[i] += (w0 * a[i] + w1 * b[i]) + (w2 * c[i] + w3 * d[i]);
}

/* next = sum alpha_j p_j on one range, four pairs a pass. */
static void csimi_combine_range(void *context, int begin, int end) {
    const csimi_combination *task = (const csimi_combination *)context;
    const csimi_anderson *a = task->a;
    const size_t n = (size_t)a->n;
    csim_real *CSIMI_RESTRICT y = task->next;
    int i, k, j;
    for (i = begin; i < end; ++i) y[i] = 0;
    for (k = 0; k + 4 <= a->count; k += 4) {
        csim_real w[4];
        for (j = 0; j < 4; ++j) w[j] = (csim_real)task->alpha[k + j];
        csimi_combine_four(a->p + (size_t)k * n, n, w, begin, end, y);
    }
    for (; k < a->count; ++k) {
        const csim_real *CSIMI_RESTRICT p0 = a->p + (size_t)k * n;
        const csim_real w0 = (csim_real)task->alpha[k];
        for (i = begin; i < end; ++i) y[i] += w0 * p0[i];
    }
}

CSIMI_FN void csimi_anderson_step(csimi_anderson *a, const csim_real *metric, csim_real *next,
                                  const csim_tasks *tasks) {
    csimi_gram_row row;
    csimi_combination combination;
    double *alpha = a->work + (a->window - 1) * (a->window + 1);
    a->newest = (a->newest + 1) % a->window;
    a->count = csimi_imin(a->count + 1, a->window);
    row.a = a;
    row.metric = metric;
    csimi_parallel(tasks, (a->count + 3) / 4, 1, csimi_gram_range, &row);
    csimi_anderson_weights(a, alpha);
    combination.a = a;
    combination.alpha = alpha;
    combination.next = next;
    csimi_parallel(tasks, a->n, CSIMI_CHUNK, csimi_combine_range, &combination);
}

#undef CSIMI_ANDERSON_TIKHONOV
/* ==== end solve/anderson.c */

/* ==== begin solve/single.c ====================================================================================== */
/* solve/single: one contact alone, u = W lambda + c with its law; exact in closed form or by a safeguarded search.
   Every method that visits contacts one by one rests on this file. */

CSIMI_FN void csimi_local_set(csimi_local *c, const csim_real *W) {
    c->W[0] = W[0];
    c->W[1] = (W[1] + W[3]) / 2;
    c->W[2] = (W[2] + W[6]) / 2;
    c->W[3] = W[4];
    c->W[4] = (W[5] + W[7]) / 2;
    c->W[5] = W[8];
}

/* ---- preparing the model */

/* Eigenvalues (ascending order not needed) and axes of the symmetric [p q; q r]; values kept above floor. */
static void csimi_eigen_sym2(csim_real p, csim_real q, csim_real r, csim_real floor, csim_real *value,
                             csim_real *turn) {
    const csim_real half = (p - r) / 2, h = CSIMI_SQRT(half * half + q * q), big = (p + r) / 2 + h;
    turn[0] = 1;
    turn[1] = 0;
    if (h > 0 && half >= 0) {
        turn[0] = CSIMI_SQRT((1 + half / h) / 2);
        turn[1] = q / (2 * h * turn[0]);
    } else if (h > 0) {
        turn[1] = CSIMI_SQRT((1 - half / h) / 2);
        turn[0] = q / (2 * h * turn[1]);
    }
    value[0] = csimi_max(big, floor);
    value[1] = csimi_max(big > 0 ? (p * r - q * q) / big : 0, floor);
}

/* The normalised model of a friction law for W + diag(normal, tangent, tangent). */
static void csimi_local_prepare_friction(csimi_local *c, csim_real normal, csim_real tangent) {
    const csim_real *W = c->W, trace = W[0] + W[3] + W[5] + normal + 2 * tangent;
    const csim_real nn = csimi_max(W[0] + normal, 16 * CSIMI_EPS * trace);
    const int other = c->contact->law == CSIM_LAW_ANISOTROPIC ? 1 : 0;
    csim_real b[2], p, q, r;
    c->mu[0] = c->contact->mu[0];
    c->mu[1] = c->contact->mu[other];
    c->a = 1 / csimi_max(nn, CSIMI_TINY);
    b[0] = c->mu[0] * W[1];
    b[1] = c->mu[1] * W[2];
    p = c->mu[0] * (W[3] + tangent) * c->mu[0];
    q = c->mu[0] * W[4] * c->mu[1];
    r = c->mu[1] * (W[5] + tangent) * c->mu[1];
    csimi_eigen_sym2(p - b[0] * b[0] * c->a, q - b[0] * b[1] * c->a, r - b[1] * b[1] * c->a,
                     csimi_max(16 * CSIMI_EPS * (p + r), CSIMI_TINY), c->s, c->turn);
    c->b[0] = c->turn[0] * b[0] + c->turn[1] * b[1];
    c->b[1] = c->turn[0] * b[1] - c->turn[1] * b[0];
}

/* Inverse of the part of W + extra I that the law constrains, zero elsewhere. */
static void csimi_local_prepare_linear(csimi_local *c, unsigned mask) {
    static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    const csim_real lift = c->extra + 16 * CSIMI_EPS * (c->W[0] + c->W[3] + c->W[5]) + CSIMI_TINY;
    double H[9], x[3];
    int i, j;
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 3; ++j) {
            const bool on = (mask >> i & mask >> j & 1u) != 0;
            H[3 * i + j] = on ? (double)(c->W[at[3 * i + j]] + (i == j ? lift : 0)) : i == j ? 1 : 0;
        }
    if (!csimi_cholesky(3, H))
        for (i = 0; i < 9; ++i) H[i] = i % 4 == 0 ? (double)(c->W[0] + c->W[3] + c->W[5] + lift) : 0;
    for (j = 0; j < 3; ++j) {
        x[0] = x[1] = x[2] = 0;
        x[j] = mask >> j & 1u ? 1 : 0;
        csimi_cholesky_solve(3, H, x);
        for (i = 0; i <= j; ++i) c->inverse[at[3 * i + j]] = (csim_real)x[i];
    }
}

/* Readies the local solver for W + eps (tr W / 3) I. */
CSIMI_FN void csimi_local_prepare(csimi_local *c, const csim_contact *contact, csim_real eps) {
    c->contact = contact;
    c->extra = eps * (c->W[0] + c->W[3] + c->W[5]) / 3;
    switch (contact->law) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_PROXIMAL:
    case CSIM_LAW_ANISOTROPIC: csimi_local_prepare_friction(c, c->extra, c->extra); break;
    case CSIM_LAW_INVERTIBLE:
        csimi_local_prepare_friction(c, c->extra + contact->omega[0], c->extra + contact->omega[1]);
        break;
    case CSIM_LAW_BILATERAL: csimi_local_prepare_linear(c, contact->mask); break;
    case CSIM_LAW_BOX: csimi_local_prepare_linear(c, 7u); break;
    case CSIM_LAW_COUNT_:
    default: break;
    }
}

/* ---- solving. All take c = u - W lambda, the velocity without this contact, and give lambda. */

/* Exact Coulomb slip: with u_n = 0 and u_t = -z (scaled) y the tangential impulse is y(z) = -(S + z)^-1 d, and z is
   the root of lambda_n(z) / |y(z)| = 1. That quotient is below 1 at z = 0 (or the contact sticks), grows without
   bound, and is nearly linear: Newton in a bracket, from the last z. */
static csim_real csimi_local_slip(csimi_local *c, csim_real cn, const csim_real *d, csim_real *y) {
    csim_real z = c->z, lo = 0, hi = CSIMI_HUGE, normal = 0;
    int k;
    for (k = 0; k < 60; ++k) {
        const csim_real i0 = 1 / (c->s[0] + z), i1 = 1 / (c->s[1] + z);
        csim_real length, slope, next, value;
        y[0] = -d[0] * i0;
        y[1] = -d[1] * i1;
        length = CSIMI_SQRT(y[0] * y[0] + y[1] * y[1]);
        normal = -c->a * (cn + c->b[0] * y[0] + c->b[1] * y[1]);
        value = normal - length;
        if (csimi_abs(value) <= 4 * CSIMI_EPS * length) break;
        if (value < 0)
            lo = z;
        else
            hi = z;
        /* derivative of normal / length, times length */
        slope = c->a * (c->b[0] * y[0] * i0 + c->b[1] * y[1] * i1) +
                normal * (y[0] * y[0] * i0 + y[1] * y[1] * i1) / (length * length);
        next = z - value / slope;
        if (!(next > lo && next < hi)) next = hi < CSIMI_HUGE ? (lo + hi) / 2 : 4 * z + c->s[0];
        if (csimi_abs(next - z) <= CSIMI_EPS * z) break;
        z = next;
    }
    c->z = z;
    return normal;
}

/* Convex law: the ray (1, cos, sin) of the cone's boundary with the energy 1/2 lambda' W lambda + c' lambda least along
   it; dc is d . c and dwd is d' W d for the ray d. The result has the sign of the energy's slope around the circle. */
static csim_real csimi_ray_slope(const csimi_local *c, const csim_real *v, csim_real angle, csim_real *dc,
                                 csim_real *dwd) {
    const csim_real x = CSIMI_COS(angle), y = CSIMI_SIN(angle);
    const csim_real lever = 1 + c->a * (c->b[0] * x + c->b[1] * y), turned = c->a * (c->b[1] * x - c->b[0] * y);
    const csim_real half = lever * turned / c->a + (c->s[1] - c->s[0]) * x * y; /* of the derivative of dwd */
    *dc = v[0] + v[1] * x + v[2] * y;
    *dwd = lever * lever / c->a + c->s[0] * x * x + c->s[1] * y * y;
    return (v[2] * x - v[1] * y) * *dwd - half * *dc;
}

/* The angle of least energy among count sampled rays, refined by bisection. */
static csim_real csimi_ray_angle(const csimi_local *c, const csim_real *v, int count) {
    const csim_real step = 2 * CSIMI_PI / CSIM_R(count);
    csim_real best = 0, angle = 0, lo, hi, dc, dwd;
    int k;
    for (k = 0; k < count; ++k) {
        csimi_ray_slope(c, v, step * CSIM_R(k), &dc, &dwd);
        if (dc < 0 && dc * dc / dwd > best) {
            best = dc * dc / dwd;
            angle = step * CSIM_R(k);
        }
    }
    lo = angle - step;
    hi = angle + step;
    for (k = 0; k < 60 && hi - lo > CSIMI_EPS; ++k) { /* where d . c < 0 is lost: back towards the best sample */
        const csim_real middle = (lo + hi) / 2, slope = csimi_ray_slope(c, v, middle, &dc, &dwd);
        if (dc >= 0 ? middle > angle : slope > 0)
            hi = middle;
        else
            lo = middle;
    }
    return (lo + hi) / 2;
}

/* v: velocity without the contact in normalised, turned axes. The energy on the circle of rays may have a second
   valley, which is no minimum of the cone: there friction would push along the slip. Then the rays are sampled more
   finely. */
static void csimi_local_ray(const csimi_local *c, const csim_real *v, csim_real *lambda) {
    int count;
    for (count = 32; count <= 2048; count *= 8) {
        const csim_real angle = csimi_ray_angle(c, v, count), x = CSIMI_COS(angle), y = CSIMI_SIN(angle);
        csim_real dc, dwd, r, lever, along;
        csimi_ray_slope(c, v, angle, &dc, &dwd);
        r = csimi_max(0, -dc / dwd);
        lambda[0] = r;
        lambda[1] = r * x;
        lambda[2] = r * y;
        lever = 1 + c->a * (c->b[0] * x + c->b[1] * y);
        along = v[1] * x + v[2] * y +
                r * ((c->b[0] * x + c->b[1] * y) * lever + c->s[0] * x * x + c->s[1] * y * y); /* u_t along friction */
        if (r > 0 && along <= 0) break;
    }
}

/* ---- maximal dissipation: the conic where the plane u_n = 0 cuts the cone.
   On the plane lambda_n = p - q . y and the energy is 1/2 y' s y + d . y up to a constant, least at y0 (stick), outside
   the cone. The conic is y = r e, |e| = 1, r = p / (1 + q . e); its tangent is (e + q) turned by 90 degrees. The set
   inside is convex, so of all stationary points only one can be seen from y0 across the plane; a point is in sight when
   (e + q) . (y - y0) <= 0, which is e . y0 >= lambda_n(y0): an arc around the direction of y0. (The paper prints that
   test the other way round.) */
typedef struct csimi_conic {
    csim_real p, q[2], s[2], d[2];
    csim_real e0[2], n0; /* direction of y0, and lambda_n(y0) / |y0| */
} csimi_conic;

/* Slope of the energy along the conic at e, up to a positive factor: the gradient s y + d across the tangent. */
static csim_real csimi_conic_slope(const csimi_conic *k, const csim_real *e) {
    const csim_real r = k->p / (1 + k->q[0] * e[0] + k->q[1] * e[1]);
    return (k->s[1] * r * e[1] + k->d[1]) * (e[0] + k->q[0]) - (k->s[0] * r * e[0] + k->d[0]) * (e[1] + k->q[1]);
}

static bool csimi_conic_visible(const csimi_conic *k, const csim_real *e) {
    return 1 + k->q[0] * e[0] + k->q[1] * e[1] > 0 && e[0] * k->e0[0] + e[1] * k->e0[1] >= k->n0;
}

/* turned by the angle of (cosine, sine) */
static void csimi_turn2(const csim_real *e, csim_real cosine, csim_real sine, csim_real *out) {
    const csim_real x = cosine * e[0] - sine * e[1], y = sine * e[0] + cosine * e[1];
    out[0] = x;
    out[1] = y;
}

/* Algorithm 1 with directions in place of angles: strides of doubling angle against the slope until it changes its sign
   or the point is out of sight, then halving of the arc down to the given width. */
static void csimi_conic_bisect(const csimi_conic *k, csim_real width, csim_real *e) {
    const csim_real start = csimi_conic_slope(k, k->e0);
    csim_real far[2], middle[2], cosine = CSIM_R(0.99500416527802577), sine = CSIM_R(0.09983341664682815); /* 0.1 */
    int i;
    e[0] = k->e0[0];
    e[1] = k->e0[1];
    if (!(start < 0 || start > 0)) return;
    if (start > 0) sine = -sine;
    for (i = 0; i < 40; ++i) {
        csimi_turn2(e, cosine, sine, far);
        if (!csimi_conic_visible(k, far) || csimi_conic_slope(k, far) * start <= 0) break;
        e[0] = far[0];
        e[1] = far[1];
        if (cosine > CSIM_R(0.5)) {
            sine *= 2 * cosine;
            cosine = 2 * cosine * cosine - 1;
        }
    }
    for (i = 0; i < 60 && csimi_abs(far[0] - e[0]) + csimi_abs(far[1] - e[1]) > width; ++i) {
        csim_real length;
        bool ahead;
        middle[0] = e[0] + far[0];
        middle[1] = e[1] + far[1];
        length = 1 / CSIMI_SQRT(middle[0] * middle[0] + middle[1] * middle[1]);
        middle[0] *= length;
        middle[1] *= length;
        ahead = csimi_conic_visible(k, middle) && csimi_conic_slope(k, middle) * start > 0;
        (ahead ? e : far)[0] = middle[0];
        (ahead ? e : far)[1] = middle[1];
    }
}

/* The direction at an angle from e0. */
static void csimi_conic_direction(const csimi_conic *k, csim_real angle, csim_real *e) {
    csimi_turn2(k->e0, CSIMI_COS(angle), CSIMI_SIN(angle), e);
}

/* Energy at angle a less the energy at angle b, up to a positive factor that does not vanish with b - a: (y_a - y_b)
   times the gradient half way, with the chord y_a - y_b written without cancellation. */
static csim_real csimi_conic_gain(const csimi_conic *k, csim_real a, csim_real b) {
    csim_real ea[2], eb[2], mid[2], chord[2], ra, rb, turn;
    csimi_conic_direction(k, a, ea);
    csimi_conic_direction(k, b, eb);
    csimi_conic_direction(k, (a + b) / 2, mid);
    ra = k->p / (1 + k->q[0] * ea[0] + k->q[1] * ea[1]);
    rb = k->p / (1 + k->q[0] * eb[0] + k->q[1] * eb[1]);
    turn = rb / k->p * (k->q[1] * mid[0] - k->q[0] * mid[1]);
    chord[0] = -mid[1] - turn * eb[0];
    chord[1] = mid[0] - turn * eb[1];
    turn = (k->s[0] * (ra * ea[0] + rb * eb[0]) / 2 + k->d[0]) * chord[0] +
           (k->s[1] * (ra * ea[1] + rb * eb[1]) / 2 + k->d[1]) * chord[1];
    return a > b ? turn : -turn;
}

/* Arc cosine, clamped. */
static csim_real csimi_arccos(csim_real x) {
    return x >= 1 ? 0 : x <= -1 ? CSIMI_PI : CSIMI_ATAN2(CSIMI_SQRT((1 - x) * (1 + x)), x);
}

/* Golden section between the ends of the arc in sight, where the energy has one valley. */
static void csimi_conic_golden(const csimi_conic *k, csim_real width, csim_real *e) {
    const csim_real golden = CSIM_R(0.6180339887498949), q = CSIMI_SQRT(k->q[0] * k->q[0] + k->q[1] * k->q[1]);
    csim_real hi = csimi_arccos(k->n0), lo = -hi, a, b;
    int i;
    if (q >= 1) { /* a parabola or hyperbola: only where 1 + q . e > 0 */
        const csim_real x = k->q[0] * k->e0[0] + k->q[1] * k->e0[1], y = k->q[1] * k->e0[0] - k->q[0] * k->e0[1];
        const csim_real middle = CSIMI_ATAN2(y, x), half = csimi_arccos(-1 / q);
        lo = csimi_max(lo, middle - half);
        hi = csimi_min(hi, middle + half);
    }
    a = hi - golden * (hi - lo);
    b = lo + golden * (hi - lo);
    for (i = 0; i < 90 && hi - lo > width; ++i) {
        if (csimi_conic_gain(k, a, b) < 0) {
            hi = b;
            b = a;
            a = hi - golden * (hi - lo);
        } else {
            lo = a;
            a = b;
            b = lo + golden * (hi - lo);
        }
    }
    csimi_conic_direction(k, (lo + hi) / 2, e);
}

/* ---- the quartic */

/* Real cube root to double precision. */
static double csimi_cbrt64(double x) {
    const double size = x < 0 ? -x : x;
    double y;
    int k;
    if (!(size > (double)CSIMI_TINY)) return 0;
    y = (double)CSIMI_EXP(CSIMI_LOG((csim_real)size) / 3);
    for (k = 0; k < 3; ++k) y -= (y - size / (y * y)) / 3;
    return x < 0 ? -y : y;
}

/* The largest real root of x^3 + a x^2 + b x + c: Cardano, or the cosine where all three are real; then Newton. */
static double csimi_cubic_root(double a, double b, double c) {
    const double Q = (a * a - 3 * b) / 9, R = (a * (9 * b - 2 * a * a) - 27 * c) / 54;
    const double D = R * R - Q * Q * Q;
    double x;
    int k;
    if (D > 0) {
        const double A = csimi_cbrt64(R < 0 ? R - csimi_sqrt64(D) : R + csimi_sqrt64(D));
        x = A + (A < 0 || A > 0 ? Q / A : 0) - a / 3;
    } else {
        const csim_real angle = CSIMI_ATAN2((csim_real)csimi_sqrt64(-D), (csim_real)R) / 3;
        x = 2 * csimi_sqrt64(Q > 0 ? Q : 0) * (double)CSIMI_COS(angle) - a / 3;
    }
    for (k = 0; k < 3; ++k) {
        const double slope = (3 * x + 2 * a) * x + b, step = slope > 0 ? (((x + a) * x + b) * x + c) / slope : 0;
        x -= step;
    }
    return x;
}

/* Real parts of the roots of x^2 + b x + c that are real, or nearly: a double root that rounding has split. */
static int csimi_quadratic_roots(double b, double c, double *x) {
    const double D = b * b / 4 - c;
    if (D < -1e-6 * (b * b + (c < 0 ? -c : c))) return 0;
    x[0] = -b / 2;
    if (D <= 0) return 1;
    x[0] += b < 0 ? csimi_sqrt64(D) : -csimi_sqrt64(D);
    x[1] = x[0] < 0 || x[0] > 0 ? c / x[0] : 0;
    return 2;
}

/* Real roots of k[4] x^4 + ... + k[0], k[4] not zero: Ferrari. */
static int csimi_quartic_roots(const double *k, double *x) {
    const double b = k[3] / k[4], c = k[2] / k[4], d = k[1] / k[4], e = k[0] / k[4];
    const double P = c - 3 * b * b / 8, Q = d - b * c / 2 + b * b * b / 8;
    const double R = e - b * d / 4 + b * b * c / 16 - 3 * b * b * b * b / 256;
    const double m = csimi_cubic_root(P, P * P / 4 - R, -Q * Q / 8), root = csimi_sqrt64(m > 0 ? 2 * m : 0);
    const double half = root > 0 ? Q / (2 * root) : 0;
    int count = csimi_quadratic_roots(-root, P / 2 + m + half, x), i;
    count += csimi_quadratic_roots(root, P / 2 + m - half, x + count);
    for (i = 0; i < count; ++i) x[i] -= b / 4;
    return count;
}

/* (p s e + d (1 + q . e)) across (e + q) is a quadratic in e = (cosine, sine): a quartic in t = tan(angle / 2), the
   angle taken from e0. */
static void csimi_conic_quartic(const csimi_conic *k, double *poly) {
    const double p = (double)k->p, q0 = (double)k->q[0], q1 = (double)k->q[1], d0 = (double)k->d[0];
    const double d1 = (double)k->d[1], s0 = (double)k->s[0], s1 = (double)k->s[1];
    const double x = (double)k->e0[0], y = (double)k->e0[1];
    const double one = d1 * q0 - d0 * q1, kx = d1 * (1 + q0 * q0) - q1 * (p * s0 + d0 * q0);
    const double ky = q0 * (p * s1 + d1 * q1) - d0 * (1 + q1 * q1);
    const double kxx = d1 * q0, kyy = -d0 * q1, kxy = p * (s1 - s0) + d1 * q1 - d0 * q0;
    const double u = kx * x + ky * y, v = ky * x - kx * y; /* in axes along e0 and across */
    const double uu = kxx * x * x + kxy * x * y + kyy * y * y, vv = kxx * y * y - kxy * x * y + kyy * x * x;
    const double uv = 2 * (kyy - kxx) * x * y + kxy * (x * x - y * y);
    poly[0] = one + u + uu;
    poly[1] = 2 * (v + uv);
    poly[2] = 2 * (one - uu) + 4 * vv;
    poly[3] = 2 * (v - uv);
    poly[4] = one - u + uu;
}

/* Newton along the conic on the slope, which sheds the rounding of the closed form. */
static void csimi_conic_polish(const csimi_conic *k, csim_real *e) {
    int i;
    for (i = 0; i < 6; ++i) {
        const csim_real lever = 1 + k->q[0] * e[0] + k->q[1] * e[1], r = k->p / lever;
        const csim_real x = e[0] + k->q[0], y = e[1] + k->q[1], tx = -y * r / lever, ty = x * r / lever; /* dy */
        const csim_real gx = k->s[0] * r * e[0] + k->d[0], gy = k->s[1] * r * e[1] + k->d[1];
        const csim_real value = gy * x - gx * y;
        const csim_real slope = k->s[1] * ty * x - k->s[0] * tx * y - gy * e[1] - gx * e[0];
        const csim_real step = slope > 0 || slope < 0 ? csimi_clamp(-value / slope, -CSIM_R(0.1), CSIM_R(0.1)) : 0;
        csim_real length;
        csimi_turn2(e, 1, step, e);
        length = 1 / CSIMI_SQRT(e[0] * e[0] + e[1] * e[1]);
        e[0] *= length;
        e[1] *= length;
        if (csimi_abs(step) <= 2 * CSIMI_EPS) break;
    }
}

/* The stationary point in sight; bisection where rounding has lost it. */
static void csimi_conic_analytic(const csimi_conic *k, csim_real *e) {
    double poly[5], reversed[5], root[4];
    csim_real best = CSIMI_HUGE;
    int i, count;
    bool flip;
    csimi_conic_quartic(k, poly);
    flip = csimi_abs((csim_real)poly[0]) > csimi_abs((csim_real)poly[4]);
    for (i = 0; i < 5; ++i) reversed[i] = poly[4 - i];
    count = poly[0] < 0 || poly[0] > 0 || poly[4] < 0 || poly[4] > 0 ? csimi_quartic_roots(flip ? reversed : poly, root)
                                                                     : 0;
    for (i = 0; i < count; ++i) { /* (1 - t^2, 2 t) / (1 + t^2), or with 1 / t for t */
        const double t = root[i], length = 1 / (1 + t * t), x = (1 - t * t) * length;
        csim_real trial[2], energy, r;
        csimi_turn2(k->e0, (csim_real)(flip ? -x : x), (csim_real)(2 * t * length), trial);
        csimi_conic_polish(k, trial);
        if (!csimi_conic_visible(k, trial)) continue;
        r = k->p / (1 + k->q[0] * trial[0] + k->q[1] * trial[1]);
        energy = r * r * (k->s[0] * trial[0] * trial[0] + k->s[1] * trial[1] * trial[1]) / 2 +
                 r * (k->d[0] * trial[0] + k->d[1] * trial[1]);
        if (!(energy < best)) continue;
        best = energy;
        e[0] = trial[0];
        e[1] = trial[1];
    }
    if (!(best < CSIMI_HUGE)) csimi_conic_bisect(k, 2 * CSIMI_EPS, e);
}

/* One step of Newton in the plane: where the conic runs far out along the cone the direction alone gives y to fewer
   digits than the problem does. Along the normal of the conic back onto it, along its tangent to no slope. */
static void csimi_conic_refine(const csimi_conic *k, csim_real *y) {
    const csim_real r = CSIMI_SQRT(y[0] * y[0] + y[1] * y[1]), x = y[0] / r, z = y[1] / r;
    const csim_real n0 = x + k->q[0], n1 = z + k->q[1], size = CSIMI_SQRT(n0 * n0 + n1 * n1), i = 1 / size;
    const csim_real g0 = k->s[0] * y[0] + k->d[0], g1 = k->s[1] * y[1] + k->d[1], turn = (g0 * x + g1 * z) * i / r;
    const csim_real back = -(r + k->q[0] * y[0] + k->q[1] * y[1] - k->p) * i;
    const csim_real slope = (k->s[0] * n1 * n1 + k->s[1] * n0 * n0) * i - turn * (n0 * x + n1 * z);
    const csim_real across = (k->s[1] - k->s[0]) * n0 * n1 * i - turn * (n1 * x - n0 * z);
    const csim_real along = -(g1 * n0 - g0 * n1 + back * across) / slope;
    const csim_real step0 = (back * n0 - along * n1) * i, step1 = (back * n1 + along * n0) * i;
    if (!(slope > 0 && csimi_abs(step0) + csimi_abs(step1) < CSIM_R(1e-3) * r)) return;
    y[0] += step0;
    y[1] += step1;
}

/* Least energy on the conic: lambda_n, and y. width: of the last arc, radians. */
static csim_real csimi_local_dissipate(const csimi_local *c, csim_contact_method method, csim_real width, csim_real cn,
                                       const csim_real *d, csim_real *y) {
    csimi_conic k;
    csim_real e[2], x, length;
    k.p = -c->a * cn;
    k.q[0] = c->a * c->b[0];
    k.q[1] = c->a * c->b[1];
    k.s[0] = c->s[0];
    k.s[1] = c->s[1];
    k.d[0] = d[0];
    k.d[1] = d[1];
    x = csimi_max(csimi_abs(y[0]), csimi_abs(y[1]));
    k.e0[0] = y[0] / x;
    k.e0[1] = y[1] / x;
    length = CSIMI_SQRT(k.e0[0] * k.e0[0] + k.e0[1] * k.e0[1]);
    k.e0[0] /= length;
    k.e0[1] /= length;
    k.n0 = k.p / x / length - (k.q[0] * k.e0[0] + k.q[1] * k.e0[1]);
    if (method == CSIM_CONTACT_GOLDEN)
        csimi_conic_golden(&k, width, e);
    else if (method == CSIM_CONTACT_QUARTIC)
        csimi_conic_analytic(&k, e);
    else
        csimi_conic_bisect(&k, width, e);
    x = k.p / csimi_max(1 + k.q[0] * e[0] + k.q[1] * e[1], CSIMI_EPS);
    y[0] = x * e[0];
    y[1] = x * e[1];
    csimi_conic_refine(&k, y);
    return CSIMI_SQRT(y[0] * y[0] + y[1] * y[1]);
}

/* ---- friction */

/* Signorini-Coulomb in its exact form, the convex law, or maximal dissipation. */
static void csimi_local_friction(csimi_local *c, csim_contact_method method, csim_real width, const csim_real *v,
                                 csim_real *lambda) {
    const bool convex = c->contact->law == CSIM_LAW_PROXIMAL;
    const csim_real t0 = c->mu[0] * v[1], t1 = c->mu[1] * v[2];
    csim_real w[3], d[2], y[2], normal;
    lambda[0] = lambda[1] = lambda[2] = 0;
    if (v[0] >= (convex ? CSIMI_SQRT(t0 * t0 + t1 * t1) : 0)) return; /* opens */
    w[0] = v[0];
    w[1] = c->turn[0] * t0 + c->turn[1] * t1;
    w[2] = c->turn[0] * t1 - c->turn[1] * t0;
    d[0] = w[1] - c->b[0] * c->a * w[0];
    d[1] = w[2] - c->b[1] * c->a * w[0];
    y[0] = -d[0] / c->s[0];
    y[1] = -d[1] / c->s[1];
    normal = -c->a * (w[0] + c->b[0] * y[0] + c->b[1] * y[1]);
    if (!(normal >= 0 && y[0] * y[0] + y[1] * y[1] <= normal * normal)) { /* does not stick */
        if (convex) {
            csim_real ray[3];
            csimi_local_ray(c, w, ray);
            normal = ray[0];
            y[0] = ray[1];
            y[1] = ray[2];
        } else if (method == CSIM_CONTACT_NEWTON) {
            normal = csimi_local_slip(c, w[0], d, y);
        } else {
            normal = csimi_local_dissipate(c, method, width, w[0], d, y);
        }
    }
    lambda[0] = normal;
    lambda[1] = c->mu[0] * (c->turn[0] * y[0] - c->turn[1] * y[1]);
    lambda[2] = c->mu[1] * (c->turn[1] * y[0] + c->turn[0] * y[1]);
}

static void csimi_local_linear(const csimi_local *c, const csim_real *v, csim_real *lambda) {
    const csim_real *M = c->inverse;
    lambda[0] = -(M[0] * v[0] + M[1] * v[1] + M[2] * v[2]);
    lambda[1] = -(M[1] * v[0] + M[3] * v[1] + M[4] * v[2]);
    lambda[2] = -(M[2] * v[0] + M[4] * v[1] + M[5] * v[2]);
}

/* Three numbers in a box: the free answer, or coordinate descent from the clipped one. */
static void csimi_local_box(const csimi_local *c, const csim_real *v, csim_real *lambda) {
    static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    const csim_real *lo = c->contact->lo, *hi = c->contact->hi, floor = c->W[0] + c->W[3] + c->W[5];
    int k, i, j;
    bool moved = false;
    csimi_local_linear(c, v, lambda);
    for (i = 0; i < 3; ++i) {
        const csim_real clipped = csimi_clamp(lambda[i], lo[i], hi[i]);
        moved = moved || clipped < lambda[i] || clipped > lambda[i];
        lambda[i] = clipped;
    }
    for (k = 0; k < 100 && moved; ++k) {
        csim_real most = 0, size = 0;
        for (i = 0; i < 3; ++i) {
            csim_real u = v[i], x, w = csimi_max(c->W[at[4 * i]], 16 * CSIMI_EPS * floor) + c->extra + CSIMI_TINY;
            for (j = 0; j < 3; ++j) u += (c->W[at[3 * i + j]] + (i == j ? c->extra : 0)) * lambda[j];
            x = csimi_clamp(lambda[i] - u / w, lo[i], hi[i]);
            most = csimi_max(most, csimi_abs(x - lambda[i]));
            size = csimi_max(size, csimi_abs(x));
            lambda[i] = x;
        }
        moved = most > CSIMI_EPS * size;
    }
}

CSIMI_FN void csimi_local_solve_by(csimi_local *c, csim_contact_method method, csim_real width, const csim_real *v,
                                   csim_real *lambda) {
    switch (c->contact->law) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_PROXIMAL:
    case CSIM_LAW_ANISOTROPIC:
    case CSIM_LAW_INVERTIBLE: csimi_local_friction(c, method, width, v, lambda); break;
    case CSIM_LAW_BILATERAL: csimi_local_linear(c, v, lambda); break;
    case CSIM_LAW_BOX: csimi_local_box(c, v, lambda); break;
    case CSIM_LAW_COUNT_:
    default: lambda[0] = lambda[1] = lambda[2] = 0; break;
    }
}

CSIMI_FN void csimi_local_solve(csimi_local *c, const csim_real *v, csim_real *lambda) {
    csimi_local_solve_by(c, CSIM_CONTACT_NEWTON, 0, v, lambda);
}

CSIM_API csim_status csim_solve_contact(const csim_real *W, const csim_real *c, csim_real mu,
                                        csim_contact_method method, csim_real *lambda) {
    csim_contact contact;
    csimi_local local;
    if (!lambda) return CSIM_NULL_ARGUMENT;
    lambda[0] = lambda[1] = lambda[2] = 0;
    if (!W || !c) return CSIM_NULL_ARGUMENT;
    if (!csimi_all_finite(W, 9) || !csimi_all_finite(c, 3) || !csimi_finite(mu)) return CSIM_NOT_FINITE;
    if (!(mu >= 0 && W[0] > 0 && W[4] > 0 && W[8] > 0) || (int)method < 0 || method >= CSIM_CONTACT_METHOD_COUNT_)
        return CSIM_OUT_OF_RANGE;
    CSIMI_MEMSET(&contact, 0, sizeof contact);
    CSIMI_MEMSET(&local, 0, sizeof local);
    contact.law = CSIM_LAW_STRICT;
    contact.mu[0] = contact.mu[1] = mu;
    csimi_local_set(&local, W);
    csimi_local_prepare(&local, &contact, 0);
    csimi_local_solve_by(&local, method, 2 * CSIMI_EPS, c, lambda);
    csim_project_ellipse(mu * lambda[0], mu * lambda[0], lambda + 1, lambda + 1); /* what rounding put outside */
    return CSIM_OK;
}
/* ==== end solve/single.c */

/* ==== begin solve/weights.c ===================================================================================== */
/* solve/weights: the diagonal W of COND, a scalar on the three unknowns of every contact node, and its spectrum. */

/* Mean of the diagonal entries of a contact node, the entries themselves elsewhere. */
static void csimi_weights_diagonal(const csim_block_matrix *A, const unsigned char *pinned, csim_real *d) {
    int i, k;
    for (i = 0; i < A->n; ++i) {
        const csim_real *D = A->val + 9 * (size_t)A->diag[i];
        const csim_real mean = (D[0] + D[4] + D[8]) / 3;
        for (k = 0; k < 3; ++k) d[3 * i + k] = pinned[i] ? mean : D[4 * k];
    }
}

CSIMI_FN void csimi_weights_jacobi(const csim_block_matrix *A, const unsigned char *pinned, csim_real *w) {
    int i;
    csimi_weights_diagonal(A, pinned, w);
    for (i = 0; i < 3 * A->n; ++i) w[i] = 1 / w[i];
}

/* Minimiser of |I - W S|_F for S = D^-1/2 A D^-1/2, then W scaled back (solvers-findings.md 5; the paper's (30) lacks
   the factors 2 and w^2, its minimiser is right). Scaling first makes it free of units. d[3n] is scratch. */
CSIMI_FN void csimi_weights_frobenius(const csim_block_matrix *A, const unsigned char *pinned, csim_real *w,
                                      csim_real *d) {
    int i, j, k, r;
    csimi_weights_diagonal(A, pinned, d);
    for (i = 0; i < A->n; ++i) {
        double norm[3] = {0, 0, 0}, trace[3];
        for (r = 0; r < 3; ++r)
            trace[r] = (double)A->val[9 * (size_t)A->diag[i] + 4 * (size_t)r] / (double)d[3 * i + r];
        for (j = A->row[i]; j < A->row[i + 1]; ++j) {
            const csim_real *B = A->val + 9 * (size_t)j, *e = d + 3 * (size_t)A->col[j];
            for (r = 0; r < 3; ++r)
                for (k = 0; k < 3; ++k) norm[r] += (double)(B[3 * r + k] * B[3 * r + k]) / (double)e[k];
        }
        for (r = 0; r < 3; ++r) norm[r] /= (double)d[3 * i + r];
        for (r = 0; r < 3; ++r)
            w[3 * i + r] =
                pinned[i] ? (csim_real)((trace[0] + trace[1] + trace[2]) / (norm[0] + norm[1] + norm[2])) / d[3 * i + r]
                          : (csim_real)(trace[r] / norm[r]) / d[3 * i + r];
    }
}

/* Largest eigenvalue of a symmetric tridiagonal matrix (diagonal a, couplings b), by bisection on the signs of its
   pivots: all are negative just when T - x I is negative definite. */
static double csimi_tridiagonal_top(int count, const double *a, const double *b) {
    double lo = a[0], hi = a[0], x, pivot;
    int i, k;
    for (i = 0; i < count; ++i) {
        const double reach = a[i] + (i ? b[i - 1] : 0) + (i + 1 < count ? b[i] : 0);
        if (reach > hi) hi = reach;
        if (a[i] > lo) lo = a[i];
    }
    for (k = 0; k < 50; ++k) {
        x = 0.5 * (lo + hi);
        pivot = a[0] - x;
        for (i = 1; i < count && pivot < 0; ++i) pivot = a[i] - x - b[i - 1] * b[i - 1] / pivot;
        if (pivot < 0)
            hi = x;
        else
            lo = x;
    }
    return hi;
}

/* A start that every eigenvector has a part in, the same in every run. */
static void csimi_lanczos_start(int count, const csim_real *w, csim_real *q) {
    uint32_t state = 2463534242u;
    int i;
    for (i = 0; i < count; ++i) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        q[i] = ((csim_real)(state >> 8) / CSIM_R(16777216.0) - CSIM_R(0.5)) * CSIMI_SQRT(w[i]);
    }
}

/* Lanczos for W A in the inner product of W^-1: three vectors of work, one product a step. */
CSIMI_FN csim_real csimi_weights_sigma(const csim_block_matrix *A, const csim_real *w, const csim_real *w_inverse,
                                       csim_real known, csim_real *work, int *products, const csim_tasks *tasks) {
    const int count = 3 * A->n, first = known > 0 ? 4 : CSIMI_LANCZOS;
    csim_real *q = work, *last = work + count, *z = work + 2 * (size_t)count, *turn;
    double a[CSIMI_LANCZOS], b[CSIMI_LANCZOS], norm, top = 0;
    int i, k;
    csimi_lanczos_start(count, w, q);
    norm = csimi_sum_weighted(count, w_inverse, q, q);
    norm = norm > 0 ? 1 / csimi_sqrt64(norm) : 0;
    for (i = 0; i < count; ++i) q[i] *= (csim_real)norm;
    CSIMI_MEMSET(last, 0, (size_t)count * sizeof *last);
    for (k = 0; k < CSIMI_LANCZOS; ++k) {
        csimi_product(A, q, z, tasks);
        *products += 1;
        a[k] = csimi_sum_dot(count, q, z);
        for (i = 0; i < count; ++i)
            z[i] = w[i] * z[i] - (csim_real)a[k] * q[i] - (k ? (csim_real)b[k - 1] * last[i] : 0);
        norm = csimi_sum_weighted(count, w_inverse, z, z);
        b[k] = norm > 0 ? csimi_sqrt64(norm) : 0;
        top = csimi_tridiagonal_top(k + 1, a, b);
        if (!(b[k] > 1e-6 * top)) break; /* the space is exhausted: exact; or not a number */
        /* a spectrum known from the last solve is kept while nothing larger shows */
        if (k + 1 == first && known > 0 && top <= (double)known && (double)known < 1.4 * top) return known;
        for (i = 0; i < count; ++i) z[i] /= (csim_real)b[k];
        turn = last, last = q, q = z, z = turn;
    }
    return (csim_real)top;
}
/* ==== end solve/weights.c */

/* ==== begin solve/coarse.c ====================================================================================== */
/* solve/coarse: the rigid modes of aggregates as a second, small space (findings-coarse.md).

   An aggregate moves with velocity t and angular velocity w about its centre: Z_i (t, w) = t + w x o_i for a point at
   offset o_i, w for the angular block of a rigid body. A virtual node follows its side, J_v Z, so that its coupling
   costs nothing in Z'AZ and cancels from it: H0 is made of the given problem's A, whatever the gain. A group of
   aggregates has 6 unknowns y = (velocity, angular velocity times radius); as a rule one aggregate is one group. */

enum {
    CSIMI_COARSE_SIDES = 16,  /* aggregates one contact may touch */
    CSIMI_COARSE_HALVINGS = 12 /* of a Newton step */
};

CSIMI_FN void csimi_coarse_layout(csimi_coarse *c, csimi_arena *arena, int blocks, int contacts, int aggregates) {
    const size_t groups = (size_t)csimi_imin(aggregates, CSIMI_COARSE_GROUPS), m = 6 * groups;
    c->aggregates = aggregates;
    c->groups = (int)groups;
    c->first = CSIMI_PUSH(arena, int, (size_t)aggregates + 1);
    c->member = CSIMI_PUSH(arena, int, blocks);
    c->group = CSIMI_PUSH(arena, int, aggregates);
    c->group_first = CSIMI_PUSH(arena, int, groups + 1);
    c->group_member = CSIMI_PUSH(arena, int, aggregates);
    c->arm = CSIMI_PUSH(arena, csim_real, 3 * (size_t)aggregates);
    c->radius = CSIMI_PUSH(arena, csim_real, groups);
    c->motion = CSIMI_PUSH(arena, double, 6 * (size_t)aggregates);
    c->panel = CSIMI_PUSH(arena, double, 36 * (size_t)aggregates);
    c->touched = CSIMI_PUSH(arena, int, aggregates);
    c->slot = CSIMI_PUSH(arena, int, aggregates);
    c->jacobian = CSIMI_PUSH(arena, double, 18 * CSIMI_COARSE_SIDES);
    c->y = CSIMI_PUSH(arena, double, m);
    c->g = CSIMI_PUSH(arena, double, m);
    c->change = CSIMI_PUSH(arena, double, m);
    c->step = CSIMI_PUSH(arena, double, m);
    c->pivot = CSIMI_PUSH(arena, int, m);
    c->trial = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->delta = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->H0 = CSIMI_PUSH(arena, double, m *m);
    c->factor = CSIMI_PUSH(arena, double, m *m);
    c->closed = CSIMI_PUSH(arena, unsigned char, contacts);
    c->used = CSIMI_PUSH(arena, unsigned char, contacts);
}

/* ---- groups */

/* Interleaved bits of a position inside its bounding box: neighbours in the order are neighbours in space. */
static uint32_t csimi_coarse_key(const csim_real *x, const csim_real *lo, csim_real scale) {
    uint32_t key = 0, cell[3];
    int i, bit;
    for (i = 0; i < 3; ++i) cell[i] = (uint32_t)(int)(csimi_clamp((x[i] - lo[i]) * scale, 0, 1) * CSIM_R(1023.0));
    for (bit = 9; bit >= 0; --bit)
        for (i = 0; i < 3; ++i) key = key << 1 | (cell[i] >> bit & 1);
    return key;
}

/* Shell sort of order by (key, index). */
static void csimi_coarse_sort(int count, const uint32_t *key, int *order) {
    int gap, i, j;
    for (gap = 1; gap < count / 3;) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (i = gap; i < count; ++i) {
            const int x = order[i];
            for (j = i; j >= gap; j -= gap) {
                const int other = order[j - gap];
                if (key[other] < key[x] || (key[other] == key[x] && other < x)) break;
                order[j] = other;
            }
            order[j] = x;
        }
}

static void csimi_coarse_order(csimi_coarse *c) {
    const csim_real *x = c->structure->centre;
    csim_real lo[3] = {0, 0, 0}, hi[3] = {0, 0, 0}, extent;
    uint32_t *key = (uint32_t *)(void *)c->panel;
    int a, i;
    for (a = 0; a < c->aggregates; ++a)
        for (i = 0; i < 3; ++i) {
            lo[i] = a ? csimi_min(lo[i], x[3 * a + i]) : x[i];
            hi[i] = a ? csimi_max(hi[i], x[3 * a + i]) : x[i];
        }
    extent = csimi_max(csimi_max(hi[0] - lo[0], hi[1] - lo[1]), csimi_max(hi[2] - lo[2], CSIMI_TINY));
    for (a = 0; a < c->aggregates; ++a) {
        key[a] = csimi_coarse_key(x + 3 * a, lo, 1 / extent);
        c->group_member[a] = a;
    }
    csimi_coarse_sort(c->aggregates, key, c->group_member);
}

/* Centre and radius of group g from those of its members. */
static void csimi_coarse_measure(csimi_coarse *c, int g) {
    const csim_structure *s = c->structure;
    double centre[3] = {0, 0, 0}, square = 0;
    const int begin = c->group_first[g], end = c->group_first[g + 1];
    int k, i;
    for (k = begin; k < end; ++k)
        for (i = 0; i < 3; ++i) centre[i] += (double)s->centre[3 * c->group_member[k] + i] / (end - begin);
    for (k = begin; k < end; ++k) {
        const int a = c->group_member[k];
        for (i = 0; i < 3; ++i) {
            c->arm[3 * a + i] = s->centre[3 * a + i] - (csim_real)centre[i];
            square += (double)(c->arm[3 * a + i] * c->arm[3 * a + i]);
        }
        square += (double)(s->radius[a] * s->radius[a]);
    }
    c->radius[g] = CSIMI_SQRT((csim_real)(square / (end - begin)));
}

/* One group an aggregate, or as many aggregates to a group as keep the dense matrix small, neighbours together. */
static void csimi_coarse_gather(csimi_coarse *c) {
    int g, k;
    for (k = 0; k < c->aggregates; ++k) c->group_member[k] = k;
    CSIMI_MEMSET(c->arm, 0, 3 * (size_t)c->aggregates * sizeof *c->arm);
    if (c->groups < c->aggregates) csimi_coarse_order(c);
    for (g = 0; g <= c->groups; ++g) c->group_first[g] = (int)((long long)c->aggregates * g / c->groups);
    for (g = 0; g < c->groups; ++g) {
        for (k = c->group_first[g]; k < c->group_first[g + 1]; ++k) c->group[c->group_member[k]] = g;
        if (c->groups < c->aggregates)
            csimi_coarse_measure(c, g);
        else
            c->radius[g] = c->structure->radius[g];
        if (!(c->radius[g] > 0)) c->radius[g] = 1;
    }
}

/* Blocks listed by aggregate. */
static void csimi_coarse_members(csimi_coarse *c, int blocks) {
    const int *aggregate = c->structure->aggregate;
    int i;
    CSIMI_MEMSET(c->first, 0, ((size_t)c->aggregates + 1) * sizeof *c->first);
    for (i = 0; i < blocks; ++i)
        if (aggregate[i] >= 0) c->first[aggregate[i] + 1] += 1;
    for (i = 0; i < c->aggregates; ++i) {
        c->first[i + 1] += c->first[i];
        c->slot[i] = c->first[i];
    }
    for (i = 0; i < blocks; ++i)
        if (aggregate[i] >= 0) c->member[c->slot[aggregate[i]]++] = i;
}

CSIMI_FN bool csimi_coarse_usable(const csim_structure *s) {
    return s && s->aggregate_count > 0 && s->aggregate && s->offset && s->radius &&
           (s->aggregate_count <= CSIMI_COARSE_GROUPS || s->centre);
}

static bool csimi_coarse_turns(const csimi_coarse *c, int block) {
    return c->structure->rotation && c->structure->rotation[block];
}

/* ---- H0 = Z'AZ */

/* S += A_ij Z_j, 3x6. */
static void csimi_coarse_right(const csimi_coarse *c, const csim_real *A, int j, double *S) {
    const csim_real *o = c->structure->offset + 3 * (size_t)j;
    int r;
    for (r = 0; r < 3; ++r, A += 3, S += 6) {
        if (csimi_coarse_turns(c, j)) {
            S[3] += (double)A[0], S[4] += (double)A[1], S[5] += (double)A[2];
            continue;
        }
        S[0] += (double)A[0], S[1] += (double)A[1], S[2] += (double)A[2];
        S[3] += (double)(A[2] * o[1] - A[1] * o[2]); /* row of -A [o]x = (o x A_r) */
        S[4] += (double)(A[0] * o[2] - A[2] * o[0]);
        S[5] += (double)(A[1] * o[0] - A[0] * o[1]);
    }
}

/* P += Z_i' S, 6x6. */
static void csimi_coarse_left(const csimi_coarse *c, int i, const double *S, double *P) {
    const csim_real *o = c->structure->offset + 3 * (size_t)i;
    int k;
    for (k = 0; k < 6; ++k) {
        const double a = S[k], b = S[6 + k], d = S[12 + k];
        if (csimi_coarse_turns(c, i)) {
            P[18 + k] += a, P[24 + k] += b, P[30 + k] += d;
            continue;
        }
        P[k] += a, P[6 + k] += b, P[12 + k] += d;
        P[18 + k] += (double)o[1] * d - (double)o[2] * b;
        P[24 + k] += (double)o[2] * a - (double)o[0] * d;
        P[30 + k] += (double)o[0] * b - (double)o[1] * a;
    }
}

/* Panel of aggregate b in the row of the aggregate at work, zeroed at first touch. */
static double *csimi_coarse_panel(csimi_coarse *c, int b, int *count) {
    if (c->slot[b] < 0) {
        c->slot[b] = *count;
        c->touched[(*count)++] = b;
        CSIMI_MEMSET(c->panel + 36 * (size_t)c->slot[b], 0, 36 * sizeof(double));
    }
    return c->panel + 36 * (size_t)c->slot[b];
}

/* One block row: sums A_ij Z_j by runs of equal aggregate, then multiplies each by Z_i'. */
static CSIMI_NOINLINE void csimi_coarse_row(csimi_coarse *c, const csim_block_matrix *A, int i, int *count) {
    enum { KEPT = 6 };
    const int *aggregate = c->structure->aggregate, row_group = c->group[aggregate[i]];
    double S[18 * KEPT];
    int name[KEPT], kept = 0, j, k;
    for (j = A->row[i]; j < A->row[i + 1]; ++j) {
        const int b = aggregate[A->col[j]];
        if (b < 0 || c->group[b] > row_group) continue; /* H is symmetric */
        for (k = 0; k < kept && name[k] != b; ++k) {
        }
        if (k == kept) {
            if (kept == KEPT) {
                for (k = 0; k < kept; ++k) csimi_coarse_left(c, i, S + 18 * k, csimi_coarse_panel(c, name[k], count));
                kept = k = 0;
            }
            name[kept++] = b;
            CSIMI_MEMSET(S + 18 * k, 0, 18 * sizeof(double));
        }
        csimi_coarse_right(c, A->val + 9 * (size_t)j, A->col[j], S + 18 * k);
    }
    for (k = 0; k < kept; ++k) csimi_coarse_left(c, i, S + 18 * k, csimi_coarse_panel(c, name[k], count));
}

/* Columns of Y (rows x 6, in motions of aggregate a) turned to the unknowns of its group:
   t = y_t + (y_r / L) x arm, w = y_r / L. */
static void csimi_coarse_to_group(const csimi_coarse *c, int a, int rows, double *Y, int row_stride, int stride) {
    const csim_real *d = c->arm + 3 * (size_t)a;
    const double scale = 1 / (double)c->radius[c->group[a]];
    int r;
    for (r = 0; r < rows; ++r, Y += row_stride) {
        const double x = Y[0], y = Y[stride], z = Y[2 * stride];
        Y[3 * stride] = scale * (Y[3 * stride] + (double)d[1] * z - (double)d[2] * y);
        Y[4 * stride] = scale * (Y[4 * stride] + (double)d[2] * x - (double)d[0] * z);
        Y[5 * stride] = scale * (Y[5 * stride] + (double)d[0] * y - (double)d[1] * x);
    }
}

CSIMI_FN void csimi_coarse_build(csimi_coarse *c, const csim_problem *problem) {
    const csim_structure *s = c->structure = problem->structure;
    const size_t m = 6 * (size_t)c->groups;
    int g, k, i, r;
    csimi_coarse_gather(c);
    csimi_coarse_members(c, problem->A.n);
    CSIMI_MEMSET(c->H0, 0, m * m * sizeof(double));
    CSIMI_MEMSET(c->closed, 0, (size_t)problem->contact_count);
    CSIMI_MEMSET(c->used, 0, (size_t)problem->contact_count);
    for (i = 0; i < c->aggregates; ++i) c->slot[i] = -1;
    for (g = 0; g < c->groups; ++g)
        for (k = c->group_first[g]; k < c->group_first[g + 1]; ++k) {
            const int a = c->group_member[k];
            int count = 0;
            for (i = c->first[a]; i < c->first[a + 1]; ++i) csimi_coarse_row(c, &problem->A, c->member[i], &count);
            for (i = 0; i < count; ++i) {
                const int b = c->touched[i];
                double *P = c->panel + 36 * (size_t)i;
                csimi_coarse_to_group(c, b, 6, P, 6, 1);
                csimi_coarse_to_group(c, a, 6, P, 1, 6);
                for (r = 0; r < 36; ++r)
                    c->H0[(6 * (size_t)g + (size_t)(r / 6)) * m + 6 * (size_t)c->group[b] + (size_t)(r % 6)] += P[r];
                c->slot[b] = -1;
            }
        }
    c->ready = false;
    (void)s;
}

/* ---- H = H0 + contact stiffness */

/* Rows of the contact's velocity in the motions of the aggregates it touches: G = R sum +-J Z. Returns how many. */
static int csimi_coarse_contact(csimi_coarse *c, const csim_problem *problem, const csim_contact *contact, int *name) {
    int count = 0, side, k, i, j, r;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        for (k = s.first; k < s.first + s.count; ++k) {
            const int block = problem->terms[k].block, a = c->structure->aggregate[block];
            csim_real RJ[9];
            if (a < 0) continue;
            for (j = 0; j < count && name[j] != a; ++j) {
            }
            if (j == CSIMI_COARSE_SIDES) continue; /* the rest only makes H a little softer */
            if (j == count) {
                name[count++] = a;
                CSIMI_MEMSET(c->jacobian + 18 * j, 0, 18 * sizeof(double));
            }
            csimi_matmul(contact->R, problem->terms[k].J, RJ);
            for (i = 0; i < 9 && side; ++i) RJ[i] = -RJ[i];
            csimi_coarse_right(c, RJ, block, c->jacobian + 18 * j);
        }
    }
    for (r = 0; r < count; ++r) csimi_coarse_to_group(c, name[r], 3, c->jacobian + 18 * r, 6, 1);
    return count;
}

/* Derivative D of the projection at the trial impulse of a contact that slips. Across the direction of slip the clipped
   impulse still turns; along it the strict law follows the normal impulse, which makes D unsymmetric: that entry is
   left out where a symmetric factor is wanted. */
static void csimi_coarse_slip(csim_real mu, bool proximal, bool whole, const csim_real *trial, const csim_real *lambda,
                              double *D) {
    const double t = csimi_sqrt64((double)(trial[1] * trial[1] + trial[2] * trial[2]));
    const double l = csimi_sqrt64((double)(lambda[1] * lambda[1] + lambda[2] * lambda[2]));
    double e[2], turn, along = 1;
    int i, j;
    D[0] = 1;
    if (!(t > 0 && lambda[0] > 0)) return;
    e[0] = (double)trial[1] / t, e[1] = (double)trial[2] / t;
    turn = l < t ? l / t : 1;
    if (proximal) along = 1 / (1 + (double)(mu * mu));
    D[0] = along;
    for (i = 0; i < 2; ++i) {
        if (proximal || whole) D[3 + 3 * i] = along * (double)mu * e[i];
        if (proximal) D[1 + i] = along * (double)mu * e[i];
        for (j = 0; j < 2; ++j)
            D[4 + 3 * i + j] = turn * ((i == j ? 1 : 0) - e[i] * e[j]) +
                               (proximal ? along * (double)(mu * mu) * e[i] * e[j] : 0);
    }
}

static void csimi_coarse_derivative(const csimi_coarse *c, const csim_contact *contact,
                                    const csimi_coarse_contacts *contacts, int m, double *D) {
    const csim_real *trial = contacts->trial + 3 * (size_t)m;
    csim_real lambda[3];
    int i;
    for (i = 0; i < 9; ++i) D[i] = i % 4 == 0 && (c->used[m] >> (i / 4) & 1) ? 1 : 0;
    if (c->used[m] != 1 || contact->law >= CSIM_LAW_BILATERAL) return;
    for (i = 0; i < 3; ++i) lambda[i] = contacts->lambda[3 * m + i] + (contacts->newton ? c->delta[3 * m + i] : 0);
    if (contacts->newton) trial = c->trial + 3 * (size_t)m;
    csimi_coarse_slip(contact->mu[0], contacts->law[m] == CSIM_LAW_PROXIMAL, contacts->newton > 0, trial, lambda, D);
}

/* factor += stiffness G'D G of one contact; the lower triangle of blocks, all of them for Newton. */
static void csimi_coarse_stiffen(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts,
                                 int contact) {
    const size_t m = 6 * (size_t)c->groups;
    const double stiffness = contacts->stiffen / (double)contacts->gamma[contact];
    double D[9], DG[18];
    int name[CSIMI_COARSE_SIDES], a, b, i, j, r;
    const int count = csimi_coarse_contact(c, problem, problem->contacts + contact, name);
    csimi_coarse_derivative(c, problem->contacts + contact, contacts, contact, D);
    for (b = 0; b < count; ++b) {
        const size_t h = (size_t)c->group[name[b]];
        const double *G = c->jacobian + 18 * b;
        for (r = 0; r < 3; ++r)
            for (j = 0; j < 6; ++j)
                DG[6 * r + j] =
                    stiffness * (D[3 * r] * G[j] + D[3 * r + 1] * G[6 + j] + D[3 * r + 2] * G[12 + j]);
        for (a = 0; a < count; ++a) {
            const size_t g = (size_t)c->group[name[a]];
            const double *P = c->jacobian + 18 * a;
            if (h > g && !contacts->newton) continue;
            for (i = 0; i < 6; ++i)
                for (j = 0; j < 6; ++j)
                    c->factor[(6 * g + (size_t)i) * m + 6 * h + (size_t)j] +=
                        P[i] * DG[j] + P[6 + i] * DG[6 + j] + P[12 + i] * DG[12 + j];
        }
    }
}

/* H0 is kept below its diagonal blocks only. */
static void csimi_coarse_mirror(csimi_coarse *c) {
    const size_t m = 6 * (size_t)c->groups;
    size_t i, j;
    for (i = 0; i < m; ++i)
        for (j = 0; j < i / 6 * 6; ++j) c->factor[j * m + i] = c->factor[i * m + j];
}

CSIMI_FN bool csimi_coarse_factor(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts) {
    const int m = 6 * c->groups;
    double largest = 0;
    int i;
    CSIMI_MEMCPY(c->factor, c->H0, (size_t)m * (size_t)m * sizeof(double));
    if (contacts->newton) csimi_coarse_mirror(c);
    for (i = 0; i < problem->contact_count; ++i)
        if (c->used[i]) csimi_coarse_stiffen(c, problem, contacts, i);
    for (i = 0; i < m; ++i) {
        const double d = c->factor[(size_t)i * (size_t)m + (size_t)i];
        if (d > largest) largest = d;
    }
    for (i = 0; i < m; ++i) {
        double *d = c->factor + (size_t)i * (size_t)m + (size_t)i;
        *d = *d * (1 + 1e-10) + 1e-13 * largest;
    }
    c->ready = !contacts->newton && csimi_cholesky(m, c->factor);
    return contacts->newton ? csimi_lu(m, c->factor, c->pivot) : c->ready;
}

/* ---- the correction p += scale Z H^-1 Z' M f */

/* motion += Z_block' x */
static void csimi_coarse_gain(csimi_coarse *c, int block, const csim_real *x) {
    const csim_real *o = c->structure->offset + 3 * (size_t)block;
    const int a = c->structure->aggregate[block];
    double *g;
    if (a < 0) return;
    g = c->motion + 6 * (size_t)a;
    if (csimi_coarse_turns(c, block)) {
        g[3] += (double)x[0], g[4] += (double)x[1], g[5] += (double)x[2];
        return;
    }
    g[0] += (double)x[0], g[1] += (double)x[1], g[2] += (double)x[2];
    g[3] += (double)(o[1] * x[2] - o[2] * x[1]);
    g[4] += (double)(o[2] * x[0] - o[0] * x[2]);
    g[5] += (double)(o[0] * x[1] - o[1] * x[0]);
}

/* x = Z_block motion */
static void csimi_coarse_move(const csimi_coarse *c, int block, csim_real *x) {
    const csim_real *o = c->structure->offset + 3 * (size_t)block;
    const int a = c->structure->aggregate[block];
    csim_real w[3];
    const double *g;
    x[0] = x[1] = x[2] = 0;
    if (a < 0) return;
    g = c->motion + 6 * (size_t)a;
    w[0] = (csim_real)g[3], w[1] = (csim_real)g[4], w[2] = (csim_real)g[5];
    if (csimi_coarse_turns(c, block)) {
        x[0] = w[0], x[1] = w[1], x[2] = w[2];
        return;
    }
    x[0] = (csim_real)g[0] + w[1] * o[2] - w[2] * o[1];
    x[1] = (csim_real)g[1] + w[2] * o[0] - w[0] * o[2];
    x[2] = (csim_real)g[2] + w[0] * o[1] - w[1] * o[0];
}

/* Forces M f of aggregates [begin, end) gathered about their centres. */
static void csimi_coarse_restrict(void *context, int begin, int end) {
    csimi_coarse *c = (csimi_coarse *)context;
    const unsigned char *turns = c->structure->rotation;
    int a, k;
    for (a = begin; a < end; ++a) {
        double t0 = 0, t1 = 0, t2 = 0, r0 = 0, r1 = 0, r2 = 0;
        for (k = c->first[a]; k < c->first[a + 1]; ++k) {
            const size_t i = 3 * (size_t)c->member[k];
            const csim_real *f = c->f + i, *M = c->metric + i, *o = c->structure->offset + i;
            const csim_real x = M[0] * f[0], y = M[1] * f[1], z = M[2] * f[2];
            if (turns && turns[c->member[k]]) {
                r0 += (double)x, r1 += (double)y, r2 += (double)z;
                continue;
            }
            t0 += (double)x, t1 += (double)y, t2 += (double)z;
            r0 += (double)(o[1] * z - o[2] * y);
            r1 += (double)(o[2] * x - o[0] * z);
            r2 += (double)(o[0] * y - o[1] * x);
        }
        c->motion[6 * a] = t0, c->motion[6 * a + 1] = t1, c->motion[6 * a + 2] = t2;
        c->motion[6 * a + 3] = r0, c->motion[6 * a + 4] = r1, c->motion[6 * a + 5] = r2;
    }
}

static void csimi_coarse_prolong(void *context, int begin, int end) {
    csimi_coarse *c = (csimi_coarse *)context;
    const unsigned char *turns = c->structure->rotation;
    int a, k;
    for (a = begin; a < end; ++a) {
        const double *g = c->motion + 6 * (size_t)a;
        const csim_real t0 = (csim_real)g[0], t1 = (csim_real)g[1], t2 = (csim_real)g[2];
        const csim_real w0 = (csim_real)g[3], w1 = (csim_real)g[4], w2 = (csim_real)g[5];
        for (k = c->first[a]; k < c->first[a + 1]; ++k) {
            const size_t i = 3 * (size_t)c->member[k];
            const csim_real *o = c->structure->offset + i;
            csim_real *p = c->p + i;
            if (turns && turns[c->member[k]]) {
                p[0] += w0, p[1] += w1, p[2] += w2;
                continue;
            }
            p[0] += t0 + w1 * o[2] - w2 * o[1];
            p[1] += t1 + w2 * o[0] - w0 * o[2];
            p[2] += t2 + w0 * o[1] - w1 * o[0];
        }
    }
}

/* Forces on virtual nodes belong to the blocks they hang on. */
static void csimi_coarse_restrict_virtual(csimi_coarse *c, const csimi_nodal *nodal, const csim_term *terms, int n) {
    int k, t, i;
    for (k = 0; k < nodal->virtual_count; ++k) {
        const csim_side side = nodal->side[k];
        csim_real force[3], x[3];
        for (i = 0; i < 3; ++i) force[i] = c->metric[3 * (n + k) + i] * c->f[3 * (n + k) + i];
        for (t = side.first; t < side.first + side.count; ++t) {
            x[0] = x[1] = x[2] = 0;
            csimi_addmulT3(terms[t].J, force, x);
            csimi_coarse_gain(c, terms[t].block, x);
        }
    }
}

static void csimi_coarse_prolong_virtual(csimi_coarse *c, const csimi_nodal *nodal, const csim_term *terms, int n) {
    int k, t;
    for (k = 0; k < nodal->virtual_count; ++k) {
        const csim_side side = nodal->side[k];
        for (t = side.first; t < side.first + side.count; ++t) {
            csim_real x[3];
            csimi_coarse_move(c, terms[t].block, x);
            csimi_addmul3(terms[t].J, x, c->p + 3 * (size_t)(n + k));
        }
    }
}

/* y = sum of T_a' motion_a over the members of each group; and back, motion_a = scale T_a y. */
static void csimi_coarse_collect(csimi_coarse *c, double *y) {
    int a, i;
    for (i = 0; i < 6 * c->groups; ++i) y[i] = 0;
    for (a = 0; a < c->aggregates; ++a) {
        double *to = y + 6 * (size_t)c->group[a], *g = c->motion + 6 * (size_t)a;
        csimi_coarse_to_group(c, a, 1, g, 6, 1);
        for (i = 0; i < 6; ++i) to[i] += g[i];
    }
}

static void csimi_coarse_spread(csimi_coarse *c, double scale) {
    int a, i;
    for (a = 0; a < c->aggregates; ++a) {
        const double *y = c->y + 6 * (size_t)c->group[a], turn = scale / (double)c->radius[c->group[a]];
        const csim_real *d = c->arm + 3 * (size_t)a;
        double *g = c->motion + 6 * (size_t)a;
        for (i = 0; i < 3; ++i) g[3 + i] = turn * y[3 + i];
        g[0] = scale * y[0] + g[4] * (double)d[2] - g[5] * (double)d[1];
        g[1] = scale * y[1] + g[5] * (double)d[0] - g[3] * (double)d[2];
        g[2] = scale * y[2] + g[3] * (double)d[1] - g[4] * (double)d[0];
    }
}

/* ---- the active set after the correction */

CSIMI_FN unsigned char csimi_coarse_rows(const csim_contact *contact, const csim_real *l) {
    const csim_real *mu = contact->mu, second = contact->law == CSIM_LAW_ANISOTROPIC ? mu[1] : mu[0];
    int i, bits = 0;
    if (contact->law == CSIM_LAW_BILATERAL) return (unsigned char)(contact->mask & 7);
    if (contact->law == CSIM_LAW_BOX) {
        for (i = 0; i < 3; ++i) bits |= (l[i] > contact->lo[i] && l[i] < contact->hi[i]) << i;
        return (unsigned char)bits;
    }
    if (!(l[0] > 0)) return 0;
    if (!(mu[0] > 0 && second > 0)) return 1;
    return l[1] * l[1] / (mu[0] * mu[0]) + l[2] * l[2] / (second * second) < l[0] * l[0] * CSIM_R(0.999999) ? 7 : 1;
}

/* Impulse of contact m after the motion now in c->motion, by the one-shot contact itself; its change goes to delta. */
static unsigned char csimi_coarse_predict(csimi_coarse *c, const csim_problem *problem,
                                          const csimi_coarse_contacts *contacts, int m) {
    const csim_contact *contact = problem->contacts + m;
    const csim_real scale = 1 / contacts->gamma[m];
    csim_real u[3] = {0, 0, 0}, d[3], x[3], l[3];
    int side, k, i;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        x[0] = x[1] = x[2] = 0;
        for (k = s.first; k < s.first + s.count; ++k) {
            csimi_coarse_move(c, problem->terms[k].block, d);
            csimi_addmul3(problem->terms[k].J, d, x);
        }
        for (i = 0; i < 3; ++i) u[i] += side ? -x[i] : x[i];
    }
    csimi_mul3(contact->R, u, d);
    for (i = 0; i < 3; ++i) l[i] = c->trial[3 * m + i] = contacts->trial[3 * m + i] - scale * d[i];
    csimi_project_as(contacts->law[m], contact, contacts->gamma[m], l);
    for (i = 0; i < 3; ++i) c->delta[3 * m + i] = l[i] - contacts->lambda[3 * m + i];
    return csimi_coarse_rows(contact, l);
}

/* Adds the rows that y would close to the set of the factor; true when there are any. */
static bool csimi_coarse_look(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts) {
    bool changed = false;
    int k;
    csimi_coarse_spread(c, 1);
    for (k = 0; k < problem->contact_count; ++k) {
        const unsigned char rows = csimi_coarse_predict(c, problem, contacts, k);
        changed = changed || (rows & ~c->used[k]);
        c->used[k] |= rows;
    }
    return changed;
}

/* motion += Z'J' delta */
static void csimi_coarse_load(csimi_coarse *c, const csim_problem *problem, int m) {
    const csim_contact *contact = problem->contacts + m;
    csim_real force[3] = {0, 0, 0}, x[3];
    int side, k, i;
    csimi_addmulT3(contact->R, c->delta + 3 * (size_t)m, force);
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        for (k = s.first; k < s.first + s.count; ++k) {
            x[0] = x[1] = x[2] = 0;
            csimi_addmulT3(problem->terms[k].J, force, x);
            csimi_coarse_gain(c, problem->terms[k].block, x);
        }
        for (i = 0; i < 3; ++i) force[i] = -force[i];
    }
}

/* change = g + Z'J'(Project(trial - J Z y / gamma) - lambda) - H0 y: what is left of the coarse imbalance once
   the contacts answer to y. used becomes the set met there. Returns the squared size of change over g. */
static double csimi_coarse_balance(csimi_coarse *c, const csim_problem *problem,
                                   const csimi_coarse_contacts *contacts) {
    const size_t m = 6 * (size_t)c->groups;
    double left = 0, whole = 0;
    size_t i, j;
    int k;
    csimi_coarse_spread(c, 1);
    for (k = 0; k < problem->contact_count; ++k) c->used[k] = csimi_coarse_predict(c, problem, contacts, k);
    CSIMI_MEMSET(c->motion, 0, 6 * (size_t)c->aggregates * sizeof *c->motion);
    for (k = 0; k < problem->contact_count; ++k) csimi_coarse_load(c, problem, k);
    csimi_coarse_collect(c, c->change);
    for (i = 0; i < m; ++i) {
        const double *H = c->H0 + i * m;
        double sum = c->g[i] - H[i] * c->y[i];
        for (j = 0; j < i; ++j) {
            sum -= H[j] * c->y[j];
            c->change[j] -= H[j] * c->y[i];
        }
        c->change[i] += sum;
    }
    for (i = 0; i < m; ++i) {
        const double d = c->H0[i * m + i];
        left += d > 0 ? c->change[i] * c->change[i] / d : 0;
        whole += d > 0 ? c->g[i] * c->g[i] / d : 0;
    }
    return whole > 0 ? left / whole : 0;
}

static void csimi_coarse_shift(csimi_coarse *c, double by) {
    int i;
    for (i = 0; i < 6 * c->groups; ++i) c->y[i] += by * c->step[i];
}

/* Newton for the coarse contact problem, change(y) = 0: steps that leave more imbalance are halved, or not taken. */
static void csimi_coarse_newton(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts) {
    const int m = 6 * c->groups;
    double size, next, taken;
    int k, half;
    CSIMI_MEMSET(c->y, 0, (size_t)m * sizeof *c->y);
    size = csimi_coarse_balance(c, problem, contacts);
    for (k = 0; k < contacts->newton && size > 1e-8; ++k, size = next) {
        if (!csimi_coarse_factor(c, problem, contacts)) return;
        csimi_lu_solve(m, c->factor, c->pivot, c->change);
        CSIMI_MEMCPY(c->step, c->change, (size_t)m * sizeof *c->step);
        csimi_coarse_shift(c, taken = 1);
        next = csimi_coarse_balance(c, problem, contacts);
        for (half = 0; half < CSIMI_COARSE_HALVINGS && !(next < size); ++half) {
            csimi_coarse_shift(c, -0.5 * taken);
            taken *= 0.5;
            next = csimi_coarse_balance(c, problem, contacts);
        }
        if (next < size) continue;
        csimi_coarse_shift(c, -taken);
        return;
    }
}

/* y = H^-1 g. The first time the contacts that y would close join the set: before any impulse is known H is soft there,
   and one step through a contact takes the iteration far away. */
static void csimi_coarse_linear(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts) {
    const int m = 6 * c->groups;
    int k;
    for (k = 0; k <= contacts->looks; ++k) {
        CSIMI_MEMCPY(c->y, c->g, (size_t)m * sizeof *c->y);
        csimi_cholesky_solve(m, c->factor, c->y);
        if (k == contacts->looks || !csimi_coarse_look(c, problem, contacts)) return;
        if (!csimi_coarse_factor(c, problem, contacts)) return;
    }
}

CSIMI_FN void csimi_coarse_apply(csimi_coarse *c, const csim_problem *problem, const csimi_nodal *nodal,
                                 const csimi_coarse_contacts *contacts, double scale, const csim_real *metric,
                                 const csim_real *f, csim_real *p, const csim_tasks *tasks) {
    c->f = f, c->p = p, c->metric = metric;
    csimi_parallel(tasks, c->aggregates, CSIMI_COARSE_GRAIN, csimi_coarse_restrict, c);
    csimi_coarse_restrict_virtual(c, nodal, problem->terms, problem->A.n);
    csimi_coarse_collect(c, c->g);
    if (contacts->newton)
        csimi_coarse_newton(c, problem, contacts);
    else
        csimi_coarse_linear(c, problem, contacts);
    csimi_coarse_spread(c, scale);
    csimi_parallel(tasks, c->aggregates, CSIMI_COARSE_GRAIN, csimi_coarse_prolong, c);
    csimi_coarse_prolong_virtual(c, nodal, problem->terms, problem->A.n);
}
/* ==== end solve/coarse.c */

/* ==== begin solve/chain.c ======================================================================================= */
/* solve/chain: cables inside COND. A cable of n links is as stiff as its shortest edge and as slow as its length, so no
   diagonal serves it; but its matrix is a chain of 6x6 blocks, solved exactly in O(n) (findings-cable-tree.md 5).

   At p = F(v), which lies on the face of its active contacts, the chain is solved on that face: nodes that stick stand,
   nodes that slip keep to their tangent plane. Friction follows the normal impulse, lambda_t = rho lambda_n with rho as
   the projection left it, by a combination of rows; across rho it turns with the direction of slip. That is the
   semismooth Newton step of the contact law, so two maps settle a step whose contacts stay what they are. Contacts held
   by virtual nodes enter through their compliance instead. */

CSIMI_FN int csimi_chains_links(const csim_structure *s) {
    return s && s->chain_count > 0 && s->chain_first && s->chain_block ? s->chain_first[s->chain_count] : 0;
}

CSIMI_FN void csimi_chains_layout(csimi_chains *c, csimi_arena *arena, int blocks, int contacts, int links) {
    c->links = links;
    if (!links) return;
    c->pivot = CSIMI_PUSH(arena, double, 36 * (size_t)links);
    c->cross = CSIMI_PUSH(arena, double, 36 * (size_t)links);
    c->x = CSIMI_PUSH(arena, double, 6 * (size_t)links);
    c->at = CSIMI_PUSH(arena, int, blocks);
    c->face = CSIMI_PUSH(arena, int, 2 * (size_t)links);
    c->faces = CSIMI_PUSH(arena, csimi_chain_face, contacts);
    c->force = CSIMI_PUSH(arena, csim_real, 3 * (size_t)blocks);
    c->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->gamma = CSIMI_PUSH(arena, csim_real, contacts);
    c->held = CSIMI_PUSH(arena, int, contacts);
}

CSIMI_FN void csimi_chains_bind(csimi_chains *c, const csim_problem *problem) {
    int i;
    c->structure = problem->structure;
    for (i = 0; i < problem->A.n; ++i) c->at[i] = -1;
    for (i = 0; i < 2 * c->links; ++i)
        if (c->structure->chain_block[i] >= 0) c->at[c->structure->chain_block[i]] = i;
}

/* ---- the matrix */

/* Where the 3x3 block of two 3-blocks of the chain stands: inside a link or between neighbours; null elsewhere and
   above the diagonal. */
static double *csimi_chains_place(const csimi_chains *c, int row, int col) {
    const int i = row / 2, j = col / 2;
    const size_t inner = 18 * (size_t)(row % 2) + 3 * (size_t)(col % 2);
    if (i == j) return c->pivot + 36 * (size_t)i + inner;
    return j == i - 1 ? c->cross + 36 * (size_t)i + inner : NULL;
}

static void csimi_chains_matrix(csimi_chains *c, const csim_block_matrix *A) {
    int i, k, r;
    CSIMI_MEMSET(c->pivot, 0, 36 * (size_t)c->links * sizeof(double));
    CSIMI_MEMSET(c->cross, 0, 36 * (size_t)c->links * sizeof(double));
    for (i = 0; i < 2 * c->links; ++i) {
        const int block = c->structure->chain_block[i];
        double *D = csimi_chains_place(c, i, i);
        c->face[i] = -1;
        for (r = 0; r < 3 && block < 0; ++r) D[7 * r] = 1; /* nothing there: stands still */
        for (k = block < 0 ? 0 : A->row[block]; block >= 0 && k < A->row[block + 1]; ++k) {
            const int other = c->at[A->col[k]];
            double *to = other < 0 ? NULL : csimi_chains_place(c, i, other);
            for (r = 0; to && r < 9; ++r) to[6 * (r / 3) + r % 3] = (double)A->val[9 * (size_t)k + (size_t)r];
        }
    }
}

/* ---- contacts */

/* Share of a trial friction impulse that the projection let pass; below 1. */
static double csimi_chains_turn(const csim_real *trial, const csim_real *lambda) {
    const double t = csimi_sqrt64((double)(trial[1] * trial[1] + trial[2] * trial[2]));
    const double l = csimi_sqrt64((double)(lambda[1] * lambda[1] + lambda[2] * lambda[2]));
    const double turn = t > 0 ? l / t : 0;
    return turn < 0.999 ? turn : 0.999;
}

/* Unit tangent across the slip, world axes; false when nothing slips. */
static bool csimi_chains_across(const csim_real *R, const csim_real *lambda, double *across) {
    const double l = csimi_sqrt64((double)(lambda[1] * lambda[1] + lambda[2] * lambda[2]));
    int i;
    if (!(l > 0)) return false;
    for (i = 0; i < 3; ++i) across[i] = ((double)(lambda[1] * R[6 + i]) - (double)(lambda[2] * R[3 + i])) / l;
    return true;
}

static void csimi_chains_rank_one(double *D, int stride, double scale, const double *a, const double *b) {
    int i, j;
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 3; ++j) D[stride * i + j] += scale * a[i] * b[j];
}

/* The face of a node under one contact: right keeps the directions it may move in, left adds the friction that follows
   the normal impulse, left = right (1 - rho n'). */
static void csimi_chains_face(csimi_chains *c, const csim_contact *contact, int law, unsigned char rows, int m,
                              const csim_real *trial, bool follow) {
    csimi_chain_face *face = c->faces + m;
    const csim_real *l = c->lambda + 3 * (size_t)m;
    const bool slips = rows == 1 && contact->law < CSIM_LAW_BILATERAL;
    double n[3], d[3], rho[3], across[3], size = 1;
    int i, k;
    for (i = 0; i < 9; ++i) face->right[i] = i % 4 == 0 ? 1 : 0;
    for (i = 0; i < 3; ++i) {
        n[i] = d[i] = (double)contact->R[i];
        rho[i] = slips ? (double)(l[1] * contact->R[3 + i] + l[2] * contact->R[6 + i]) / (double)l[0] : 0;
    }
    if (slips && law == CSIM_LAW_PROXIMAL) { /* the impulse lies on a ray, and what it forbids is motion along it */
        for (i = 0; i < 3; ++i) d[i] += rho[i];
        size = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        follow = false;
    }
    for (k = 0; k < 3; ++k) {
        double row[3];
        if (!(rows >> k & 1)) continue;
        for (i = 0; i < 3; ++i) row[i] = k ? (double)contact->R[3 * k + i] : d[i];
        csimi_chains_rank_one(face->right, 3, k ? -1 : -1 / size, row, row);
    }
    for (i = 0; i < 9; ++i) face->left[i] = face->right[i];
    if (slips && follow) csimi_chains_rank_one(face->left, 3, -1, rho, n);
    if (slips && csimi_chains_across(contact->R, l, across)) {
        const double turn = csimi_chains_turn(trial, l);
        csimi_chains_rank_one(csimi_chains_place(c, c->at[c->held[m]], c->at[c->held[m]]), 6,
                              turn / ((1 - turn) * (double)c->gamma[m]), across, across);
    }
    c->face[c->at[c->held[m]]] = m;
}

/* Stiffness R'D R of a contact that is held through its compliance, without the unsymmetric part. */
static void csimi_chains_stiffness(const csimi_chains *c, const csim_contact *contact, unsigned char rows, int m,
                                   const csim_real *trial, double *K) {
    const csim_real *l = c->lambda + 3 * (size_t)m;
    double scale = 1 / (double)c->gamma[m], row[3], across[3];
    int i, k;
    for (i = 0; i < 9; ++i) K[i] = 0;
    for (k = 0; k < 3; ++k) {
        if (!(rows >> k & 1)) continue;
        if (contact->law == CSIM_LAW_INVERTIBLE)
            scale = 1 / ((c->held[m] >= 0 ? 0 : (double)c->gamma[m]) + (double)contact->omega[k ? 1 : 0]);
        for (i = 0; i < 3; ++i) row[i] = (double)contact->R[3 * k + i];
        csimi_chains_rank_one(K, 3, scale, row, row);
    }
    if (rows == 1 && contact->law < CSIM_LAW_BILATERAL && csimi_chains_across(contact->R, l, across))
        csimi_chains_rank_one(K, 3, scale * csimi_chains_turn(trial, l), across, across);
}

/* Adds Ja'K Jb of the terms that a side has in one chain. The other side is taken to stand still. */
static void csimi_chains_stiffen(csimi_chains *c, const csim_problem *problem, csim_side side, const double *K) {
    int p, q, i, j, k, e;
    for (p = side.first; p < side.first + side.count; ++p)
        for (q = side.first; q < side.first + side.count; ++q) {
            const csim_term *a = problem->terms + p, *b = problem->terms + q;
            const int row = c->at[a->block], col = c->at[b->block];
            double *to = row < 0 || col < 0 ? NULL : csimi_chains_place(c, row, col), KJ[9];
            if (!to) continue;
            for (i = 0; i < 9; ++i)
                for (KJ[i] = 0, k = 0; k < 3; ++k) KJ[i] += K[3 * (i / 3) + k] * (double)b->J[3 * k + i % 3];
            for (i = 0; i < 3; ++i)
                for (j = 0; j < 3; ++j)
                    for (e = 0; e < 3; ++e) to[6 * i + j] += (double)a->J[3 * e + i] * KJ[3 * e + j];
        }
}

static void csimi_chains_contacts(csimi_chains *c, const csim_problem *problem, const unsigned char *law,
                                  const csim_real *trial, bool follow) {
    int m;
    for (m = 0; m < problem->contact_count; ++m) {
        const csim_contact *contact = problem->contacts + m;
        const unsigned char rows = csimi_coarse_rows(contact, c->lambda + 3 * (size_t)m);
        double K[9];
        if (!rows) continue;
        if (c->held[m] >= 0 && contact->law != CSIM_LAW_INVERTIBLE) {
            if (c->at[c->held[m]] >= 0) csimi_chains_face(c, contact, law[m], rows, m, trial + 3 * (size_t)m, follow);
            continue;
        }
        csimi_chains_stiffness(c, contact, rows, m, trial + 3 * (size_t)m, K);
        csimi_chains_stiffen(c, problem, contact->a, K);
        csimi_chains_stiffen(c, problem, contact->b, K);
    }
}

/* ---- the correction */

/* force = b + J'lambda - A p on the blocks of chains. */
static void csimi_chains_imbalance(csimi_chains *c, const csim_problem *problem, const csim_real *p,
                                   const csim_tasks *tasks) {
    int m, side, k, i;
    csimi_product(&problem->A, p, c->force, tasks);
    for (i = 0; i < 3 * problem->A.n; ++i) c->force[i] = problem->b[i] - c->force[i];
    for (m = 0; m < problem->contact_count; ++m) {
        csim_real impulse[3] = {0, 0, 0};
        csimi_addmulT3(problem->contacts[m].R, c->lambda + 3 * (size_t)m, impulse);
        for (side = 0; side < 2; ++side) {
            const csim_side s = side ? problem->contacts[m].b : problem->contacts[m].a;
            for (i = 0; i < 3 && side; ++i) impulse[i] = -impulse[i];
            for (k = s.first; k < s.first + s.count; ++k)
                csimi_addmulT3(problem->terms[k].J, impulse, c->force + 3 * (size_t)problem->terms[k].block);
        }
    }
}

CSIMI_FN bool csimi_chains_correct(csimi_chains *c, const csim_problem *problem, const unsigned char *law,
                                   const csim_real *trial, bool follow, csim_real *p, const csim_tasks *tasks) {
    const csim_structure *s = c->structure;
    csimi_chain chain;
    int i, k;
    csimi_chains_imbalance(c, problem, p, tasks);
    csimi_chains_matrix(c, &problem->A);
    csimi_chains_contacts(c, problem, law, trial, follow);
    chain.pivot = c->pivot;
    chain.cross = c->cross;
    chain.face = c->face;
    chain.faces = c->faces;
    for (i = 0; i < 2 * c->links; ++i)
        for (k = 0; k < 3; ++k)
            c->x[3 * i + k] = s->chain_block[i] >= 0 ? (double)c->force[3 * s->chain_block[i] + k] : 0;
    for (i = 0; i < s->chain_count; ++i) {
        if (!csimi_chain_factor(&chain, s->chain_first[i], s->chain_first[i + 1])) return false;
        csimi_chain_solve(&chain, s->chain_first[i], s->chain_first[i + 1], c->x);
    }
    for (i = 0; i < 2 * c->links; ++i)
        for (k = 0; k < 3 && s->chain_block[i] >= 0; ++k) p[3 * s->chain_block[i] + k] += (csim_real)c->x[3 * i + k];
    return true;
}
/* ==== end solve/chain.c */

/* ==== begin solve/cond.c ======================================================================================== */
/* solve/cond: velocity fixed-point iteration on nodal contacts (Lee et al., COND), solvers.md 1, findings-coarse.md.

       v* = v - W (A v - b),   lambda = Project(-(J v* + phi)/gamma),   F(v) = v* + W J'lambda

   One product of A an iteration. W^-1 (F(v) - v) is the force imbalance at v, so the residual costs nothing, and F(v)
   with its lambda obeys every contact law exactly, so what is left to certify is the dynamics. */

enum {
    CSIMI_COND_ROWS = 256,      /* rows and contacts to a chunk of partial sums */
    CSIMI_COND_SLOW_START = 10, /* plain steps before Chebyshev; paper Alg. 3, l_s */
    CSIMI_COND_RENEW = 10,      /* iterations a coarse factor serves at least */
    CSIMI_COND_LOOKS = 4,       /* factors the first correction may spend on contacts about to close */
    CSIMI_COND_ROUNDS = 4,      /* solves for distant contacts that closed */
    CSIMI_COND_NEWTON = 8,      /* factors one Newton correction may spend ... */
    CSIMI_COND_BUDGET = 30      /* ... for the price of about 30 products of A in all */
};

/* A contact as the loop reads it: one contiguous record. */
typedef struct csimi_cond_contact {
    int a, b; /* nodes, -1: static */
    csim_real R[9], phi[3], mu;
    csim_real gamma, inverse_gamma, wa, wb;
} csimi_cond_contact;

typedef struct csimi_cond {
    const csim_problem *given;
    csimi_nodal nodal;
    const csim_tasks *tasks;
    csim_acceleration acceleration;
    csim_weight weight;
    int count, contacts; /* 3 n of the nodal problem; contacts */
    csimi_cond_contact *contact;
    csim_real full;              /* share of a contact that closed */
    csim_real *share;            /* [contacts] of its kappa that a virtual node is coupled by */
    unsigned char *pinned, *law; /* [n] carries a contact; [contacts] law in force */
    csim_real *w, *w_inverse, *gamma, *work;
    csim_real *v, *f, *p;         /* F(v) = p = v + f */
    csim_real *last, *r, *last_r; /* Chebyshev, Barzilai-Borwein */
    csim_real *best, *trial, *lambda, *best_lambda;
    double *row_sum, *contact_sum, *load_sum;
    void *scratch;
    size_t scratch_bytes;
    csimi_anderson ring;
    csimi_coarse coarse;
    csimi_chains chains;

    double longest;             /* largest alpha; halved whenever the iteration got lost */
    double alpha;               /* Barzilai-Borwein factor of W, 1 otherwise */
    double b_norm, rho, rel;    /* |b|_W, |F(v) - v|_1/W, relative residual */
    double saved, saved_rel;    /* rho and rel of best */
    double lowest, lowest_rel;  /* lowest of each so far */
    double before;              /* rho of the last iteration */
    int iteration, phase, idle; /* iterations of the coarse phase; without progress in it */
    int stale, rejections, products;
    int plain, plain_next;   /* plain steps to go, and after the next rejection */
    int newton_steps;        /* factors one of them may spend */
    int newton, newton_next; /* Newton corrections likewise; 0: the problem gains nothing from them */
    int mode, built;         /* 0 coarse, 1 stiffer contacts, 2 none; iteration of the last factor, -1: none */
    bool rigid;              /* the coarse space is most of the problem */
    double leave;            /* mode 2 ends below this rho ... */
    int alone;               /* ... or after 40 iterations */
    bool rebuild;
    double nu, increment; /* Chebyshev */
    int since;
} csimi_cond;

/* ---- memory */

static csim_acceleration csimi_cond_choose(const csim_solver_params *params, bool modes) {
    if (params->weight >= CSIM_WEIGHT_BB1 && params->weight <= CSIM_WEIGHT_BB_ALTERNATING)
        return CSIM_ACCELERATION_NONE; /* a step length of its own every iteration leaves nothing to accelerate */
    if (params->acceleration == CSIM_ACCELERATION_AUTO || params->acceleration == CSIM_ACCELERATION_COARSE)
        return modes ? CSIM_ACCELERATION_COARSE : CSIM_ACCELERATION_ANDERSON;
    return params->acceleration;
}

static bool csimi_cond_rings(const csimi_cond *c) {
    return c->acceleration == CSIM_ACCELERATION_COARSE || c->acceleration == CSIM_ACCELERATION_ANDERSON;
}

static int csimi_cond_window(const csim_solver_params *params) { return params->window > 0 ? params->window : 8; }

/* n nodes with their virtual ones; blocks, aggregates of the given problem. */
static void csimi_cond_layout(csimi_cond *c, csimi_arena *arena, int n, int contacts, int blocks, int aggregates,
                              int links, int window) {
    const size_t vector = 3 * (size_t)n;
    size_t mark;
    c->count = 3 * n;
    c->contacts = contacts;
    c->contact = CSIMI_PUSH(arena, csimi_cond_contact, contacts);
    c->pinned = CSIMI_PUSH(arena, unsigned char, n);
    c->law = CSIMI_PUSH(arena, unsigned char, contacts);
    c->w = CSIMI_PUSH(arena, csim_real, vector);
    c->w_inverse = CSIMI_PUSH(arena, csim_real, vector);
    c->gamma = CSIMI_PUSH(arena, csim_real, contacts);
    c->best = CSIMI_PUSH(arena, csim_real, vector);
    c->trial = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->best_lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->row_sum = CSIMI_PUSH(arena, double, n / CSIMI_COND_ROWS + 1);
    c->contact_sum = CSIMI_PUSH(arena, double, contacts / CSIMI_COND_ROWS + 1);
    c->load_sum = CSIMI_PUSH(arena, double, contacts / CSIMI_COND_ROWS + 1);
    c->scratch_bytes = csim_certificate_bytes(n, contacts);
    c->scratch = csimi_push(arena, c->scratch_bytes, 1);
    mark = arena->used; /* estimating W is over before the vectors of the acceleration are needed */
    c->work = CSIMI_PUSH(arena, csim_real, 3 * vector);
    csimi_pop(arena, mark);
    if (csimi_cond_rings(c)) {
        csimi_anderson_layout(&c->ring, arena, 3 * n, window);
    } else {
        c->f = CSIMI_PUSH(arena, csim_real, vector);
        c->p = CSIMI_PUSH(arena, csim_real, vector);
        c->last = CSIMI_PUSH(arena, csim_real, vector);
        c->r = CSIMI_PUSH(arena, csim_real, vector);
        c->last_r = CSIMI_PUSH(arena, csim_real, vector);
    }
    if (c->acceleration == CSIM_ACCELERATION_COARSE)
        csimi_coarse_layout(&c->coarse, arena, blocks, contacts, aggregates);
    csimi_chains_layout(&c->chains, arena, blocks, contacts, c->acceleration == CSIM_ACCELERATION_COARSE ? links : 0);
}

CSIMI_FN size_t csimi_cond_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_cond c;
    CSIMI_MEMSET(&c, 0, sizeof c);
    c.acceleration = csimi_cond_choose(params, size->aggregates > 0 || size->links > 0);
    (void)CSIMI_PUSH(&arena, csim_real, size->contacts);
    csimi_nodal_reserve(&arena, size->blocks, size->matrix_blocks, size->contacts, size->terms);
    csimi_cond_layout(&c, &arena, size->blocks + csimi_imin(2 * size->contacts, size->terms), size->contacts,
                      size->blocks, size->aggregates, size->links, csimi_cond_window(params));
    return arena.high;
}

CSIMI_FN bool csimi_cond_takes(const csim_problem *problem) {
    (void)problem;
    return true;
}

/* ---- one iteration: F */

/* v*, and the squared residual of the rows without contact, for one chunk while its product is still in the cache. */
static void csimi_cond_free_rows(csimi_cond *c, int chunk) {
    const int first = chunk * CSIMI_COND_ROWS, last = csimi_imin(c->count / 3, first + CSIMI_COND_ROWS);
    const csim_real *CSIMI_RESTRICT v = c->v, *CSIMI_RESTRICT b = c->nodal.problem.b, *CSIMI_RESTRICT w = c->w;
    csim_real *CSIMI_RESTRICT f = c->f, *CSIMI_RESTRICT p = c->p;
    const csim_real alpha = (csim_real)c->alpha;
    double s0 = 0, s1 = 0, s2 = 0;
    int i;
    csimi_product_rows(&c->nodal.problem.A, v, f, first, last);
    for (i = 3 * first; c->r && i < 3 * last; ++i) c->r[i] = f[i] - b[i];
    for (i = 3 * first; i < 3 * last; i += 3) {
        const csim_real r0 = b[i] - f[i], r1 = b[i + 1] - f[i + 1], r2 = b[i + 2] - f[i + 2];
        const csim_real f0 = w[i] * r0, f1 = w[i + 1] * r1, f2 = w[i + 2] * r2;
        f[i] = alpha * f0, f[i + 1] = alpha * f1, f[i + 2] = alpha * f2;
        p[i] = v[i] + f[i], p[i + 1] = v[i + 1] + f[i + 1], p[i + 2] = v[i + 2] + f[i + 2];
        if (c->pinned[i / 3]) continue;
        s0 += (double)(f0 * r0);
        s1 += (double)(f1 * r1);
        s2 += (double)(f2 * r2);
    }
    c->row_sum[chunk] = (s0 + s1) + s2;
}

static void csimi_cond_rows(void *context, int begin, int end) {
    int k;
    for (k = begin; k < end; ++k) csimi_cond_free_rows((csimi_cond *)context, k);
}

static void csimi_cond_strict(csim_real mu, csim_real *l) {
    const csim_real n = l[0] > 0 ? l[0] : 0, limit = mu * n, square = l[1] * l[1] + l[2] * l[2];
    l[0] = n;
    if (square > limit * limit) {
        const csim_real scale = limit / CSIMI_SQRT(square);
        l[1] *= scale, l[2] *= scale;
    }
}

CSIMI_FN void csimi_project_as(int law, const csim_contact *contact, csim_real gamma, csim_real *lambda) {
    if (law == CSIM_LAW_STRICT)
        csimi_cond_strict(contact->mu[0], lambda);
    else if (law == CSIM_LAW_PROXIMAL)
        csim_project_cone(contact->mu[0], lambda, lambda);
    else
        csim_project(contact, gamma, lambda, lambda);
}

static void csimi_cond_project(const csimi_cond *c, int m, csim_real *l) {
    const csimi_cond_contact *contact = c->contact + m;
    if (c->law[m] == CSIM_LAW_STRICT)
        csimi_cond_strict(contact->mu, l);
    else if (c->law[m] == CSIM_LAW_PROXIMAL)
        csim_project_cone(contact->mu, l, l);
    else
        csim_project(c->nodal.problem.contacts + m, (csim_real)c->alpha * contact->gamma, l, l);
}

/* Adds s R'l to a node; returns its squared residual. */
static double csimi_cond_push(csimi_cond *c, int node, csim_real s, const csim_real *d) {
    const size_t at = 3 * (size_t)node;
    csim_real *f = c->f + at, *p = c->p + at;
    int i;
    for (i = 0; i < 3; ++i) {
        f[i] += s * d[i];
        p[i] += s * d[i];
    }
    return (double)c->w_inverse[at] * ((double)(f[0] * f[0]) + (double)(f[1] * f[1]) + (double)(f[2] * f[2]));
}

/* One-shot contacts (Alg. 2): all independent, because no node carries two. */
static void csimi_cond_touch(csimi_cond *c, int chunk) {
    const int begin = chunk * CSIMI_COND_ROWS, end = csimi_imin(c->contacts, begin + CSIMI_COND_ROWS);
    const csim_real alpha = (csim_real)c->alpha;
    double sum = 0, load = 0;
    int m, i;
    for (m = begin; m < end; ++m) {
        const csimi_cond_contact *k = c->contact + m;
        const csim_real *R = k->R, scale = -k->inverse_gamma / alpha;
        csim_real *l = c->lambda + 3 * (size_t)m, x[3] = {0, 0, 0}, d[3];
        for (i = 0; i < 3 && k->a >= 0; ++i) x[i] = c->p[3 * (size_t)k->a + (size_t)i];
        for (i = 0; i < 3 && k->b >= 0; ++i) x[i] -= c->p[3 * (size_t)k->b + (size_t)i];
        for (i = 0; i < 3; ++i)
            l[i] = scale * (R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2] + k->phi[i]);
        csimi_cond_project(c, m, l);
        for (i = 0; i < 3; ++i) d[i] = R[i] * l[0] + R[3 + i] * l[1] + R[6 + i] * l[2];
        if (k->a >= 0) sum += csimi_cond_push(c, k->a, alpha * k->wa, d);
        if (k->b >= 0) sum += csimi_cond_push(c, k->b, -alpha * k->wb, d);
        load += (double)k->gamma * ((double)(l[0] * l[0]) + (double)(l[1] * l[1]) + (double)(l[2] * l[2]));
    }
    c->contact_sum[chunk] = sum;
    c->load_sum[chunk] = load;
}

static void csimi_cond_contacts(void *context, int begin, int end) {
    int k;
    for (k = begin; k < end; ++k) csimi_cond_touch((csimi_cond *)context, k);
}

static int csimi_cond_chunks(int count) { return (count + CSIMI_COND_ROWS - 1) / CSIMI_COND_ROWS; }

/* p = F(v), f = p - v, lambda, rho and rel: norms in W itself, without the Barzilai-Borwein factor. */
static void csimi_cond_map(csimi_cond *c) {
    const int rows = csimi_cond_chunks(c->count / 3), contacts = csimi_cond_chunks(c->contacts);
    double free_part, contact_part, load, scale;
    csimi_parallel(c->tasks, rows, 1, csimi_cond_rows, c);
    csimi_parallel(c->tasks, contacts, 1, csimi_cond_contacts, c);
    c->products += 1;
    free_part = csimi_tree_sum(rows, c->row_sum);
    contact_part = csimi_tree_sum(contacts, c->contact_sum) / (c->alpha * c->alpha);
    load = csimi_tree_sum(contacts, c->load_sum);
    scale = load > c->b_norm * c->b_norm ? load : c->b_norm * c->b_norm;
    c->rho = csimi_sqrt64(free_part + contact_part);
    c->rel = scale > 0 ? csimi_sqrt64((free_part + contact_part) / scale) : c->rho > 0 ? 1 : c->rho;
}

/* ---- preparation */

static csim_real csimi_cond_kappa(const csimi_cond *c, int node) { return c->nodal.kappa[node - c->given->A.n]; }

static bool csimi_cond_is_virtual(const csimi_cond *c, int node) { return node >= c->given->A.n; }

static bool csimi_cond_pack(csimi_cond *c) {
    const csim_problem *problem = &c->nodal.problem;
    bool finite = csimi_all_finite(problem->b, c->count) && csimi_all_finite(c->v, c->count);
    int m;
    CSIMI_MEMSET(c->pinned, 0, (size_t)problem->A.n);
    for (m = 0; m < c->contacts; ++m) {
        const csim_contact *from = problem->contacts + m;
        csimi_cond_contact *to = c->contact + m;
        to->a = c->nodal.node_a[m];
        to->b = c->nodal.node_b[m];
        c->law[m] = (unsigned char)from->law;
        CSIMI_MEMCPY(to->R, from->R, sizeof to->R);
        CSIMI_MEMCPY(to->phi, from->phi, sizeof to->phi);
        to->mu = from->mu[0];
        if (to->a >= 0) c->pinned[to->a] = 1;
        if (to->b >= 0) c->pinned[to->b] = 1;
        finite = finite && csimi_all_finite(from->R, 9) && csimi_all_finite(from->phi, 3) &&
                 csimi_all_finite(from->mu, 2) && csimi_all_finite(from->omega, 2);
    }
    return finite;
}

/* Compliance of a side against coarse motion: that of the coupling, or half of w (findings-coarse.md: weight 2). */
static csim_real csimi_cond_compliance(const csimi_cond *c, int node, csim_real w) {
    return csimi_cond_is_virtual(c, node) ? 1 / csimi_cond_kappa(c, node) : w / 2;
}

/* Scales W by the spectrum of W A: 1.5 / sigma for the iteration that only needs to contract, 1.25 / 1.03 for the one
   whose smoothness the coarse part completes (findings-coarse.md, fact 5). */
static csim_real csimi_cond_weigh(csimi_cond *c, csim_weight weight, csim_real known) {
    const csim_block_matrix *A = &c->nodal.problem.A;
    csim_real sigma, scale;
    int i, m;
    if (weight == CSIM_WEIGHT_AUTO)
        weight = c->acceleration == CSIM_ACCELERATION_CHEBYSHEV ? CSIM_WEIGHT_FROBENIUS : CSIM_WEIGHT_JACOBI;
    if (weight == CSIM_WEIGHT_JACOBI)
        csimi_weights_jacobi(A, c->pinned, c->w);
    else
        csimi_weights_frobenius(A, c->pinned, c->w, c->work);
    for (i = 0; i < c->count; ++i) c->w_inverse[i] = 1 / c->w[i];
    sigma = csimi_weights_sigma(A, c->w, c->w_inverse, known, c->work, &c->products, c->tasks);
    scale = csimi_cond_rings(c) ? CSIM_R(1.25) / (CSIM_R(1.03) * sigma)
            : c->acceleration == CSIM_ACCELERATION_CHEBYSHEV || weight <= CSIM_WEIGHT_FROBENIUS ? CSIM_R(1.5) / sigma
                                                                                                : 1 / sigma;
    for (i = 0; i < c->count; ++i) {
        c->w[i] *= scale;
        c->w_inverse[i] /= scale;
    }
    for (m = 0; m < c->contacts; ++m) {
        csimi_cond_contact *k = c->contact + m;
        k->wa = k->a >= 0 ? c->w[3 * (size_t)k->a] : 0;
        k->wb = k->b >= 0 ? c->w[3 * (size_t)k->b] : 0;
        k->gamma = k->wa + k->wb;
        k->inverse_gamma = k->gamma > 0 ? 1 / k->gamma : 0;
    }
    for (m = 0; m < c->contacts; ++m)
        c->gamma[m] = csimi_cond_compliance(c, c->contact[m].a, c->contact[m].wa) +
                      csimi_cond_compliance(c, c->contact[m].b, c->contact[m].wb);
    c->b_norm = csimi_sqrt64(csimi_sum_weighted(c->count, c->w, c->nodal.problem.b, c->nodal.problem.b));
    return sigma;
}

/* ---- the next iterate */

static void csimi_cond_copy(csimi_cond *c, csim_real *to, const csim_real *from) {
    CSIMI_MEMCPY(to, from, (size_t)c->count * sizeof *to);
}

/* v = p, by exchanging them where p is not part of a ring. */
static void csimi_cond_accept(csimi_cond *c) {
    if (csimi_cond_rings(c)) {
        csimi_cond_copy(c, c->v, c->p);
    } else {
        csim_real *turn = c->v;
        c->v = c->p;
        c->p = turn;
    }
}

/* Chebyshev (Alg. 3): v <- nu (p - last) + last. The ratio of (39) is that of accelerated increments. */
static void csimi_cond_chebyshev(csimi_cond *c) {
    csim_real *CSIMI_RESTRICT v = c->v, *CSIMI_RESTRICT last = c->last;
    const csim_real *CSIMI_RESTRICT p = c->p;
    csim_real *turn;
    double sum, ratio = 1, increment;
    int i;
    c->since += 1;
    if (c->since <= 1) {
        csimi_cond_copy(c, c->last, c->v);
        csimi_cond_copy(c, c->v, c->p);
        c->nu = 1;
        c->increment = c->rho;
        return;
    }
    for (i = 0; i < c->count; ++i) {
        const csim_real next = (csim_real)c->nu * (p[i] - last[i]) + last[i];
        last[i] = next;
        c->f[i] = next - v[i];
    }
    turn = c->v, c->v = c->last, c->last = turn;
    sum = csimi_sum_weighted(c->count, c->w_inverse, c->f, c->f);
    increment = csimi_sqrt64(sum);
    if (c->increment > 0) ratio = increment / c->increment;
    if (ratio > 0.99999) ratio = 0.99999;
    c->increment = increment;
    if (c->since == CSIMI_COND_SLOW_START)
        c->nu = 2 / (2 - ratio * ratio);
    else if (c->since > CSIMI_COND_SLOW_START)
        c->nu = 4 / (4 - ratio * ratio * c->nu);
}

/* Barzilai-Borwein: alpha from s = v - last, z = A s = r - last_r, in the metric of W. */
static void csimi_cond_barzilai(csimi_cond *c) {
    csim_real *turn;
    c->since += 1;
    if (c->since > 1) {
        double ss = 0, sz = 0, zz = 0, one, two;
        int i;
        for (i = 0; i < c->count; ++i) {
            const double s = (double)(c->v[i] - c->last[i]), z = (double)(c->r[i] - c->last_r[i]);
            ss += s * s * (double)c->w_inverse[i];
            sz += s * z;
            zz += z * z * (double)c->w[i];
        }
        one = ss / sz, two = sz / zz;
        if (c->weight == CSIM_WEIGHT_BB2 || (c->weight == CSIM_WEIGHT_BB_ALTERNATING && c->since % 2)) one = two;
        c->alpha = !(one > 0.1) ? 1 : one < c->longest ? one : c->longest;
    }
    csimi_cond_copy(c, c->last, c->v);
    turn = c->r, c->r = c->last_r, c->last_r = turn;
    csimi_cond_accept(c);
}

/* ---- coarse correction with its safeguards (findings-coarse.md, algorithm) */

static unsigned char csimi_cond_active(const csimi_cond *c, int m) {
    return csimi_coarse_rows(c->given->contacts + m, c->lambda + 3 * (size_t)m);
}

static void csimi_cond_unite(csimi_cond *c) {
    int m;
    for (m = 0; m < c->contacts; ++m) c->coarse.closed[m] |= csimi_cond_active(c, m);
}

/* ---- virtual nodes, eliminated. A massless node is where its contact's impulse balances its coupling, so that the
   contact sees the side itself through the compliance 1/kappa: lambda = Project(-(J v + phi) / (w_i + 1/kappa)), the
   node's own w in the place of 1/kappa where the side is a node. */

/* Adds the velocity of one side at p before its contact acted; returns its compliance. */
static csim_real csimi_cond_approach(const csimi_cond *c, int node, csim_real w, csim_real sign,
                                     const csim_real *impulse, csim_real *x) {
    csim_real y[3] = {0, 0, 0};
    int i;
    if (node < 0) return 0;
    if (csimi_cond_is_virtual(c, node)) {
        const csim_side side = c->nodal.side[node - c->given->A.n];
        for (i = side.first; i < side.first + side.count; ++i)
            csimi_addmul3(c->given->terms[i].J, c->p + 3 * (size_t)c->given->terms[i].block, y);
        w = 1 / csimi_cond_kappa(c, node);
    } else {
        for (i = 0; i < 3; ++i) y[i] = c->p[3 * (size_t)node + (size_t)i] - sign * w * impulse[i];
    }
    for (i = 0; i < 3; ++i) x[i] += sign * y[i];
    return w;
}

/* Trial impulse of contact m with its virtual nodes eliminated; returns the compliance. */
static csim_real csimi_cond_trial(const csimi_cond *c, int m, csim_real *trial) {
    const csimi_cond_contact *k = c->contact + m;
    csim_real x[3] = {0, 0, 0}, impulse[3] = {0, 0, 0}, gamma;
    int i;
    csimi_addmulT3(k->R, c->lambda + 3 * (size_t)m, impulse);
    gamma = csimi_cond_approach(c, k->a, k->wa, 1, impulse, x) + csimi_cond_approach(c, k->b, k->wb, -1, impulse, x);
    csimi_mul3(k->R, x, trial);
    for (i = 0; i < 3; ++i) trial[i] = gamma > 0 ? -(trial[i] + k->phi[i]) / gamma : 0;
    return gamma;
}

static void csimi_cond_place(csimi_cond *c, int node, csim_real sign, const csim_real *impulse) {
    const csim_side side = c->nodal.side[node - c->given->A.n];
    csim_real *p = c->p + 3 * (size_t)node;
    int i;
    for (i = 0; i < 3; ++i) p[i] = sign * impulse[i] / csimi_cond_kappa(c, node);
    for (i = side.first; i < side.first + side.count; ++i)
        csimi_addmul3(c->given->terms[i].J, c->p + 3 * (size_t)c->given->terms[i].block, p);
}

/* Puts the virtual nodes of p where they balance. */
static void csimi_cond_eliminate(csimi_cond *c) {
    int m;
    for (m = 0; m < c->contacts && c->nodal.virtual_count; ++m) {
        const csimi_cond_contact *k = c->contact + m;
        csim_real l[3], impulse[3] = {0, 0, 0}, gamma;
        const bool a = csimi_cond_is_virtual(c, k->a), b = csimi_cond_is_virtual(c, k->b);
        if (!a && !b) continue;
        gamma = csimi_cond_trial(c, m, l);
        csimi_project_as(c->law[m], c->nodal.problem.contacts + m, gamma, l);
        csimi_addmulT3(k->R, l, impulse);
        if (a) csimi_cond_place(c, k->a, 1, impulse);
        if (b) csimi_cond_place(c, k->b, -1, impulse);
    }
}

static csimi_coarse_contacts csimi_cond_contacts_now(const csimi_cond *c) {
    csimi_coarse_contacts now;
    now.trial = c->trial;
    now.lambda = c->lambda;
    now.gamma = c->gamma;
    now.law = c->law;
    now.stiffen = c->mode == 1 ? 10 : 1;
    now.newton = c->newton > 0 ? c->newton_steps : 0;
    now.looks = c->built < 0 && !now.newton ? CSIMI_COND_LOOKS : 0;
    return now;
}

static void csimi_cond_refactor(csimi_cond *c, const csimi_coarse_contacts *now) {
    const bool whole = c->built < 0;
    bool changed = c->rebuild || !c->coarse.ready;
    int m;
    for (m = 0; m < c->contacts; ++m) {
        unsigned char rows = csimi_cond_active(c, m);
        if (whole) rows |= c->coarse.closed[m];
        changed = changed || rows != c->coarse.used[m];
        c->coarse.used[m] = rows;
    }
    if (changed) (void)csimi_coarse_factor(&c->coarse, c->given, now);
    c->built = c->iteration;
    c->rebuild = false;
}

/* Back to the best iterate. What follows is the next remedy: Newton where it serves, else stiffer contacts, then
   Anderson without the coarse part. */
static void csimi_cond_reject(csimi_cond *c) {
    csimi_cond_copy(c, c->v, c->best);
    csimi_anderson_clear(&c->ring);
    c->idle = 0;
    c->built = -1;
    c->rebuild = true;
    c->before = 1e300;
    c->leave = 0.1 * c->saved;
    c->alone = 0;
    c->newton = 0;
    c->rejections += 1;
    if (c->newton_next && c->rigid) {
        c->newton = c->newton_next;
        c->newton_next = csimi_imin(2 * c->newton_next, 24);
        return;
    }
    c->plain = c->plain_next;
    c->plain_next = csimi_imin(2 * c->plain_next, 16);
    c->mode = (c->mode + 1) % 3;
    if (c->acceleration == CSIM_ACCELERATION_COARSE) csimi_cond_unite(c);
}

/* p += the coarse correction: a Newton step on the coarse contact problem in the Newton phase, otherwise 0.6 of a
   linear one, whose factor is renewed at most every 10 iterations and only when the active set changed. */
static void csimi_cond_coarse(csimi_cond *c) {
    const csimi_coarse_contacts now = csimi_cond_contacts_now(c);
    int m;
    for (m = 0; m < c->contacts; ++m) (void)csimi_cond_trial(c, m, c->trial + 3 * (size_t)m);
    if (!now.newton && (c->built < 0 || c->iteration - c->built >= CSIMI_COND_RENEW)) csimi_cond_refactor(c, &now);
    if (now.newton || c->coarse.ready)
        csimi_coarse_apply(&c->coarse, c->given, &c->nodal, &now, now.newton ? 1 : 0.6, c->w_inverse, c->f, c->p,
                           c->tasks);
}

/* The cables of p, solved on the face of their contacts. */
static void csimi_cond_chains(csimi_cond *c) {
    csimi_chains *k = &c->chains;
    int m;
    for (m = 0; m < c->contacts; ++m) {
        const csimi_cond_contact *contact = c->contact + m;
        csim_real *trial = c->trial + 3 * (size_t)m, *l = k->lambda + 3 * (size_t)m;
        const bool alone = contact->a < 0 || contact->b < 0;
        const int node = contact->a < 0 ? contact->b : contact->a;
        k->gamma[m] = csimi_cond_trial(c, m, trial);
        CSIMI_MEMCPY(l, trial, 3 * sizeof *l);
        csimi_project_as(c->law[m], c->nodal.problem.contacts + m, k->gamma[m], l);
        k->held[m] = alone && !csimi_cond_is_virtual(c, node) ? node : -1;
    }
    (void)csimi_chains_correct(k, c->given, c->law, c->trial, c->mode == 0, c->p, c->tasks);
    c->products += 1;
}

static void csimi_cond_correct(csimi_cond *c) {
    if (c->coarse.groups) csimi_cond_coarse(c);
    if (c->chains.links) csimi_cond_chains(c);
}

/* The newest pair alone in the ring: the older ones describe another regime. */
static void csimi_cond_forget(csimi_cond *c) {
    csim_real *f, *p;
    csimi_anderson_clear(&c->ring);
    csimi_anderson_slot(&c->ring, &f, &p);
    if (f == c->f) return;
    csimi_cond_copy(c, f, c->f);
    csimi_cond_copy(c, p, c->p);
    c->f = f, c->p = p;
}

/* v = p without a memory of it. */
static void csimi_cond_take(csimi_cond *c) {
    csimi_cond_copy(c, c->v, c->p);
    csimi_anderson_clear(&c->ring);
}

static void csimi_cond_mix(csimi_cond *c) {
    const bool coarse = c->acceleration == CSIM_ACCELERATION_COARSE, grew = c->rho > 4 * c->before;
    const double before = c->before;
    if (grew) csimi_cond_forget(c);
    c->before = c->rho;
    if (c->plain > 0) {
        c->plain -= 1;
        if (coarse) csimi_cond_unite(c);
        csimi_cond_take(c);
        return;
    }
    if (coarse && c->mode == 2 && (c->rho < c->leave || ++c->alone > 40)) {
        c->mode = c->alone = 0;
        c->built = -1;
    }
    if (coarse && c->mode < 2) csimi_cond_correct(c);
    csimi_cond_eliminate(c);
    if (c->newton > 0) {
        if (grew)
            c->newton = 0;
        else if (!c->rigid || !(c->rho < 0.5 * before)) /* rigid bodies go on while Newton converges */
            c->newton -= 1;
        csimi_cond_take(c);
    } else {
        csimi_anderson_step(&c->ring, c->w_inverse, c->v, c->tasks);
    }
}

/* ---- the loop */

static void csimi_cond_keep(csimi_cond *c) {
    c->saved = c->rho;
    c->saved_rel = c->rel;
    csimi_cond_copy(c, c->best, c->p);
    CSIMI_MEMCPY(c->best_lambda, c->lambda, 3 * (size_t)c->contacts * sizeof *c->lambda);
}

static bool csimi_cond_certify(csimi_cond *c, const csim_real *v, const csim_real *lambda, csim_real tolerance,
                               csim_outcome *outcome) {
    csim_certificate *k = &outcome->certificate;
    (void)csim_problem_certify(&c->nodal.problem, v, lambda, c->scratch, c->scratch_bytes, k);
    c->products += 1;
    return k->dynamics <= (double)tolerance && k->contact <= (double)tolerance;
}

static void csimi_cond_restart(csimi_cond *c) {
    csimi_cond_copy(c, c->v, c->best);
    c->since = 0;
    c->alpha = 1;
    if (c->longest > 2) c->longest *= 0.5;
    c->idle = 0;
    c->rejections += 1;
}

/* Bookkeeping of progress. A coarse phase is measured from its own first residual: the first corrections raise the
   residual of a stiff body, whose warm start was nearly smooth, by orders of magnitude before they pay. */
static void csimi_cond_measure(csimi_cond *c) {
    const bool fresh = csimi_cond_rings(c) && (c->plain > 0 || c->newton > 0);
    c->phase = fresh ? 0 : c->phase + 1;
    c->stale += 1;
    c->idle += 1;
    if (!(c->rho < 1e300)) return;
    if (c->rel < 0.7 * c->saved_rel) {
        csimi_cond_keep(c);
        c->stale = 0;
    }
    if (c->rel < 0.9 * c->lowest_rel || c->rho < 0.9 * c->lowest || (c->phase <= 2 && csimi_cond_rings(c))) {
        if (c->phase <= 2 || c->rel < c->lowest_rel) c->lowest_rel = c->rel;
        if (c->phase <= 2 || c->rho < c->lowest) c->lowest = c->rho;
        c->idle = 0;
    }
}

static bool csimi_cond_lost(const csimi_cond *c) {
    if (!(c->rho < 1e300)) return true;
    if (!csimi_cond_rings(c))
        return c->rho > 100 * c->saved || (c->idle > 100 && c->acceleration != CSIM_ACCELERATION_NONE);
    if (c->phase < 2) return false;
    return c->rho > 1e4 * c->saved || c->rho > 100 * c->lowest || c->idle > 40;
}

/* Takes the map's result into account and makes the next v. */
static void csimi_cond_advance(csimi_cond *c) {
    csimi_cond_measure(c);
    if (csimi_cond_lost(c)) {
        if (csimi_cond_rings(c))
            csimi_cond_reject(c);
        else
            csimi_cond_restart(c);
    } else if (csimi_cond_rings(c)) {
        csimi_cond_mix(c);
    } else if (c->acceleration == CSIM_ACCELERATION_CHEBYSHEV) {
        csimi_cond_chebyshev(c);
    } else if (c->weight >= CSIM_WEIGHT_BB1) {
        csimi_cond_barzilai(c);
    } else {
        csimi_cond_accept(c);
    }
}

/* Certifies p. When it is not good enough yet, *inner becomes the rel at which to look again. */
static bool csimi_cond_done(csimi_cond *c, csim_real tolerance, double *inner, csim_outcome *outcome) {
    double worst;
    if (csimi_cond_certify(c, c->p, c->lambda, tolerance, outcome)) return true;
    worst = outcome->certificate.dynamics > outcome->certificate.contact ? outcome->certificate.dynamics
                                                                         : outcome->certificate.contact;
    *inner = c->rel * 0.8 * (worst > 1.6 * (double)tolerance ? (double)tolerance / worst : 0.625);
    return false;
}

/* Iterations without progress that end a round: fewer where a softer coupling is still to be tried. */
static int csimi_cond_patience(const csimi_cond *c) { return c->nodal.virtual_count && c->full >= 1 ? 80 : 300; }

/* Iterates until certified. Converged: the answer is p with lambda; otherwise best holds the best iterate. */
static csim_result csimi_cond_loop(csimi_cond *c, const csim_solver_params *params, csim_outcome *outcome) {
    double inner = (double)params->tolerance;
    for (c->iteration = 1; outcome->iterations < params->max_iterations; ++c->iteration) {
        if (csimi_cond_rings(c)) csimi_anderson_slot(&c->ring, &c->f, &c->p);
        csimi_cond_map(c);
        if (params->history && outcome->iterations < params->history_capacity)
            params->history[outcome->iterations] = c->rel;
        outcome->iterations += 1;
        outcome->residual = c->rel;
        if (c->iteration == 1 && !(c->rho < 1e300)) return CSIM_RESULT_NOT_FINITE;
        if (c->iteration >= 2 && c->rel < inner && csimi_cond_done(c, params->tolerance, &inner, outcome))
            return CSIM_RESULT_CONVERGED;
        if (inner < 4 * (double)CSIMI_EPS) {
            csimi_cond_keep(c);
            return CSIM_RESULT_STALLED;
        }
        csimi_cond_advance(c);
        if (csimi_cond_rings(c) && c->stale > csimi_cond_patience(c)) return CSIM_RESULT_STALLED;
    }
    return CSIM_RESULT_CAP;
}

/* Largest velocity by which a virtual node slips against its side. */
static double csimi_cond_slip(const csimi_cond *c, bool shift, const csim_real *lambda, const csim_real *start) {
    double worst = 0;
    int m, i, side;
    for (m = 0; m < c->contacts; ++m)
        for (side = 0; side < 2; ++side) {
            const int node = (side ? c->nodal.node_b[m] : c->nodal.node_a[m]) - c->given->A.n;
            double square = 0, slip;
            if (node < 0) continue;
            for (i = 3 * m; i < 3 * m + 3; ++i) {
                const double d = (double)lambda[i] - (shift ? (double)start[i] : 0);
                square += d * d;
            }
            slip = csimi_sqrt64(square) / (double)c->nodal.kappa[node];
            if (slip > worst) worst = slip;
        }
    return worst;
}

/* Newton steps that an m^3 / 3 factorisation leaves affordable; rigid bodies have nothing else to spend on. */
static int csimi_cond_afford(const csimi_cond *c) {
    const double m = 6 * c->coarse.groups, product = 9.0 * c->nodal.problem.A.row[c->nodal.problem.A.n];
    const double steps = (double)(int)CSIMI_COND_BUDGET * product / (m * m * m / 3), least = c->rigid ? 3 : 1;
    const int most = CSIMI_COND_NEWTON;
    return steps > (double)most ? most : (int)(steps > least ? steps : least);
}

static void csimi_cond_begin(csimi_cond *c) {
    c->phase = c->idle = c->stale = c->since = c->mode = c->alone = c->newton = c->newton_next = 0;
    c->rigid = c->rebuild = false;
    c->alpha = 1;
    c->longest = 50;
    c->saved = c->saved_rel = c->lowest = c->lowest_rel = c->before = 1e300;
    c->plain = 2;
    c->plain_next = 4;
    if (c->acceleration == CSIM_ACCELERATION_COARSE && c->coarse.groups && c->nodal.virtual_count) {
        /* rigid bodies are all coarse, and their virtual nodes are eliminated: Newton solves them */
        c->plain = 0;
        c->rigid = 6 * c->coarse.groups > 3 * c->given->A.n / 2;
        c->newton = c->rigid ? 3 : 1;
        c->newton_next = 6;
        c->newton_steps = csimi_cond_afford(c);
    }
    if (c->chains.links) c->plain = 0; /* solved exactly from the first map on */
    c->built = -1;
    c->v = c->nodal.start;
    if (csimi_cond_rings(c)) csimi_anderson_clear(&c->ring);
}

/* ---- distant contacts. A contact that stays open needs its virtual nodes for nothing, yet hundreds of them load the
   diagonal of a rigid body and W shrinks with it. Those which the start leaves open by more than the largest approach
   are hung on by a thread; should one of them close after all, it gets its full coupling and the solve goes on. */

#define CSIMI_COND_THREAD CSIM_R(1e-6) /* shares of kappa */
#define CSIMI_COND_SOFT CSIM_R(0.01)

static csim_real csimi_cond_gap(const csim_problem *problem, const csim_contact *contact, const csim_real *v) {
    csim_real x[3] = {0, 0, 0};
    int side, k, i;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        csim_real y[3] = {0, 0, 0};
        for (k = s.first; k < s.first + s.count; ++k)
            csimi_addmul3(problem->terms[k].J, v + 3 * (size_t)problem->terms[k].block, y);
        for (i = 0; i < 3; ++i) x[i] += side ? -y[i] : y[i];
    }
    return contact->phi[0] + contact->R[0] * x[0] + contact->R[1] * x[1] + contact->R[2] * x[2];
}

static void csimi_cond_part(const csim_problem *problem, const csim_solution *start, csim_real *share) {
    csim_real reach = 0;
    int m;
    for (m = 0; m < problem->contact_count; ++m)
        reach = csimi_max(reach, -csimi_cond_gap(problem, problem->contacts + m, start->v));
    for (m = 0; m < problem->contact_count; ++m) {
        const csim_contact *k = problem->contacts + m;
        const bool may_open = k->law != CSIM_LAW_BILATERAL && k->law != CSIM_LAW_BOX;
        share[m] = 1;
        if (may_open && !(start->lambda[3 * m] > 0) && csimi_cond_gap(problem, k, start->v) > 2 * reach)
            share[m] = CSIMI_COND_THREAD;
    }
}

/* Full coupling for the contacts that closed; whether there are any. */
static bool csimi_cond_join(const csimi_cond *c, const csim_solution *now, csim_real full, csim_real *share) {
    bool joined = false;
    int m;
    for (m = 0; m < c->contacts; ++m) {
        const bool hangs = csimi_cond_is_virtual(c, c->nodal.node_a[m]) || csimi_cond_is_virtual(c, c->nodal.node_b[m]);
        if (!hangs || share[m] >= full || !(now->lambda[3 * m] > 0)) continue;
        share[m] = full;
        joined = true;
    }
    return joined;
}

/* What was not solved is solved with a softer coupling about the impulses reached: the shift leaves its slip to the
   change of the impulses. */
static void csimi_cond_soften(csimi_cond *c, csim_real full) {
    int m;
    for (m = 0; m < c->contacts; ++m)
        if (c->share[m] >= 1) c->share[m] = full;
}

/* One solve from the solution at hand with virtual nodes coupled by their shares. */
static csim_status csimi_cond_round(csimi_cond *c, const csim_solver_params *params, csimi_arena *arena,
                                    csim_solution *solution, csim_outcome *outcome, csim_error *error) {
    const csim_problem *problem = c->given;
    const bool modes = csimi_coarse_usable(problem->structure);
    const csim_real *v, *lambda;
    outcome->result = CSIM_RESULT_NOT_FINITE;
    if (csimi_nodalize(problem, params->gain, params->kappa, c->share, params->shift, solution->v, solution->lambda,
                       arena, &c->nodal) == CSIM_OK)
        csimi_cond_layout(c, arena, c->nodal.problem.A.n, problem->contact_count, problem->A.n,
                          modes ? problem->structure->aggregate_count : 0, csimi_chains_links(problem->structure),
                          csimi_cond_window(params));
    if (arena->overflow)
        return csimi_fail(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes", true, (double)arena->size,
                          "at least csim_solver_bytes of the problem's size");
    outcome->virtual_nodes = c->nodal.virtual_count;
    csimi_cond_begin(c);
    if (!csimi_cond_pack(c)) return CSIM_OK;
    outcome->sigma = csimi_cond_weigh(c, params->weight, outcome->sigma);
    if (c->acceleration == CSIM_ACCELERATION_COARSE && c->coarse.groups) csimi_coarse_build(&c->coarse, problem);
    if (c->chains.links) csimi_chains_bind(&c->chains, problem);
    outcome->result = csimi_cond_loop(c, params, outcome);
    outcome->rejections = c->rejections;
    v = c->p, lambda = c->lambda;
    if (outcome->result == CSIM_RESULT_CAP || outcome->result == CSIM_RESULT_STALLED) {
        v = c->best, lambda = c->best_lambda;
        if (csimi_cond_certify(c, v, lambda, params->tolerance, outcome)) outcome->result = CSIM_RESULT_CONVERGED;
    }
    outcome->products = c->products;
    if (outcome->result == CSIM_RESULT_NOT_FINITE) return CSIM_OK;
    outcome->virtual_slip = csimi_cond_slip(c, params->shift, lambda, solution->lambda);
    CSIMI_MEMCPY(solution->v, v, 3 * (size_t)problem->A.n * sizeof *v);
    CSIMI_MEMCPY(solution->lambda, lambda, 3 * (size_t)problem->contact_count * sizeof *lambda);
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_cond_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    const size_t begin = arena->used;
    size_t mark;
    csimi_cond c;
    csim_status status;
    csim_real full = 1;
    int round;
    CSIMI_MEMSET(&c, 0, sizeof c);
    CSIMI_MEMSET(outcome, 0, sizeof *outcome);
    outcome->solver = CSIM_SOLVER_COND;
    outcome->certificate.worst_contact = -1;
    outcome->sigma = params->sigma;
    c.given = problem;
    c.tasks = tasks;
    c.weight = params->weight;
    c.acceleration = csimi_cond_choose(params, csimi_coarse_usable(problem->structure) ||
                                                         csimi_chains_links(problem->structure) > 0);
    c.share = CSIMI_PUSH(arena, csim_real, problem->contact_count);
    if (!arena->overflow) csimi_cond_part(problem, solution, c.share);
    mark = arena->used;
    for (round = 0;; ++round) {
        c.full = full;
        status = csimi_cond_round(&c, params, arena, solution, outcome, error);
        outcome->bytes = arena->high - begin;
        if (status != CSIM_OK || outcome->result == CSIM_RESULT_NOT_FINITE || round >= CSIMI_COND_ROUNDS ||
            outcome->iterations >= params->max_iterations)
            return status;
        if (outcome->result == CSIM_RESULT_CONVERGED) {
            if (!csimi_cond_join(&c, solution, full, c.share)) return status;
        } else if (full >= 1 && outcome->virtual_nodes) {
            full = CSIMI_COND_SOFT;
            csimi_cond_soften(&c, full);
        } else {
            return status;
        }
        csimi_pop(arena, mark);
    }
}

#undef CSIMI_COND_THREAD
#undef CSIMI_COND_SOFT
/* ==== end solve/cond.c */

/* ==== begin solve/envelope.c ==================================================================================== */
/* solve/envelope: L U factors of a structurally symmetric matrix of 3x3 blocks, each row of L and column of U stored
   from its first block on. Nothing outside the envelope fills in, so the order of the rows decides the memory: it is
   known before anything is computed. In double. */

CSIMI_FN size_t csimi_envelope_numbers(int n, size_t blocks) { return 18 * blocks + 9 * (size_t)n; }

CSIMI_FN void csimi_envelope_clear(csimi_envelope *e) {
    CSIMI_MEMSET(e->lower, 0, 9 * e->blocks * sizeof(double));
    CSIMI_MEMSET(e->upper, 0, 9 * e->blocks * sizeof(double));
    CSIMI_MEMSET(e->diag, 0, 9 * (size_t)e->n * sizeof(double));
}

CSIMI_FN double *csimi_envelope_block(csimi_envelope *e, int i, int j) {
    if (i == j) return e->diag + 9 * (ptrdiff_t)i;
    if (i > j) return e->lower + 9 * (e->start[i] + (size_t)(j - e->first[i]));
    return e->upper + 9 * (e->start[j] + (size_t)(i - e->first[j]));
}

/* C -= sum A_k B_k over count blocks. */
static void csimi_envelope_dot(int count, const double *CSIMI_RESTRICT A, const double *CSIMI_RESTRICT B, double *C) {
    double c0 = 0, c1 = 0, c2 = 0, c3 = 0, c4 = 0, c5 = 0, c6 = 0, c7 = 0, c8 = 0;
    for (; count > 0; --count, A += 9, B += 9) {
        c0 += A[0] * B[0] + A[1] * B[3] + A[2] * B[6];
        c1 += A[0] * B[1] + A[1] * B[4] + A[2] * B[7];
        c2 += A[0] * B[2] + A[1] * B[5] + A[2] * B[8];
        c3 += A[3] * B[0] + A[4] * B[3] + A[5] * B[6];
        c4 += A[3] * B[1] + A[4] * B[4] + A[5] * B[7];
        c5 += A[3] * B[2] + A[4] * B[5] + A[5] * B[8];
        c6 += A[6] * B[0] + A[7] * B[3] + A[8] * B[6];
        c7 += A[6] * B[1] + A[7] * B[4] + A[8] * B[7];
        c8 += A[6] * B[2] + A[7] * B[5] + A[8] * B[8];
    }
    C[0] -= c0;
    C[1] -= c1;
    C[2] -= c2;
    C[3] -= c3;
    C[4] -= c4;
    C[5] -= c5;
    C[6] -= c6;
    C[7] -= c7;
    C[8] -= c8;
}

/* In place by cofactors; false when singular. */
static bool csimi_envelope_invert(double *M) {
    double inv[9], det;
    int i, k;
    for (i = 0; i < 3; ++i)
        for (k = 0; k < 3; ++k) {
            const int r1 = (k + 1) % 3, r2 = (k + 2) % 3, c1 = (i + 1) % 3, c2 = (i + 2) % 3;
            inv[3 * i + k] = M[3 * r1 + c1] * M[3 * r2 + c2] - M[3 * r1 + c2] * M[3 * r2 + c1];
        }
    det = M[0] * inv[0] + M[1] * inv[3] + M[2] * inv[6];
    if (!(det > 0 && det < 1e300)) return false;
    for (i = 0; i < 9; ++i) M[i] = inv[i] / det;
    return true;
}

/* Row i of L, column i of U, then the pivot; diag holds the inverses of the pivots afterwards. */
CSIMI_FN bool csimi_envelope_factor(csimi_envelope *e) {
    int i, j, k;
    for (i = 0; i < e->n; ++i) {
        const int fi = e->first[i];
        double *L = e->lower + 9 * e->start[i], *U = e->upper + 9 * e->start[i];
        for (j = fi; j < i; ++j) {
            const int fj = e->first[j], from = csimi_imax(fi, fj);
            const double *Lj = e->lower + 9 * e->start[j], *Uj = e->upper + 9 * e->start[j],
                         *D = e->diag + 9 * (ptrdiff_t)j;
            double *l = L + 9 * (j - fi), scaled[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
            csimi_envelope_dot(j - from, L + 9 * (from - fi), Uj + 9 * (from - fj), l);
            csimi_envelope_dot(j - from, Lj + 9 * (from - fj), U + 9 * (from - fi), U + 9 * (j - fi));
            csimi_envelope_dot(1, l, D, scaled);
            for (k = 0; k < 9; ++k) l[k] = -scaled[k];
        }
        csimi_envelope_dot(i - fi, L, U, e->diag + 9 * (ptrdiff_t)i);
        if (!csimi_envelope_invert(e->diag + 9 * (ptrdiff_t)i)) return false;
    }
    return true;
}

static void csimi_envelope_subtract(const double *M, const double *x, double *y) {
    y[0] -= M[0] * x[0] + M[1] * x[1] + M[2] * x[2];
    y[1] -= M[3] * x[0] + M[4] * x[1] + M[5] * x[2];
    y[2] -= M[6] * x[0] + M[7] * x[1] + M[8] * x[2];
}

CSIMI_FN void csimi_envelope_solve(const csimi_envelope *e, double *x) {
    int i, j;
    for (i = 0; i < e->n; ++i)
        for (j = e->first[i]; j < i; ++j)
            csimi_envelope_subtract(e->lower + 9 * (e->start[i] + (size_t)(j - e->first[i])), x + 3 * (ptrdiff_t)j,
                                    x + 3 * (ptrdiff_t)i);
    for (i = e->n - 1; i >= 0; --i) {
        double y[3] = {0, 0, 0};
        csimi_envelope_subtract(e->diag + 9 * (ptrdiff_t)i, x + 3 * (ptrdiff_t)i, y);
        for (j = 0; j < 3; ++j) x[3 * (ptrdiff_t)i + j] = -y[j];
        for (j = e->first[i]; j < i; ++j)
            csimi_envelope_subtract(e->upper + 9 * (e->start[i] + (size_t)(j - e->first[i])), x + 3 * (ptrdiff_t)i,
                                    x + 3 * (ptrdiff_t)j);
    }
}
/* ==== end solve/envelope.c */

/* ==== begin solve/bodies.c ====================================================================================== */
/* solve/bodies: A as small dense bodies, each inverted once, and the rows of contacts on them. */

/* ---- bodies */

/* Blocks coupled by A must lie side by side, at most CSIMI_BODY_BLOCKS together: returns the end of the body that
   starts at block i, or -1. Rows are symmetric, so looking at the last column of each is enough. */
static int csimi_body_end(const csim_block_matrix *A, int i) {
    int end = i, k;
    for (k = i; k <= end; ++k) {
        const int last = A->col[A->row[k + 1] - 1];
        end = csimi_imax(end, last);
        if (end - i >= CSIMI_BODY_BLOCKS) return -1;
    }
    return end + 1;
}

CSIMI_FN bool csimi_bodies_take(const csim_block_matrix *A) {
    int i = 0;
    while (i >= 0 && i < A->n) i = csimi_body_end(A, i);
    return i >= 0;
}

CSIMI_FN void csimi_bodies_layout(csimi_bodies *b, csimi_arena *arena, int n) {
    b->first = CSIMI_PUSH(arena, int, n);
    b->size = CSIMI_PUSH(arena, int, n);
    b->row = CSIMI_PUSH(arena, int, n);
    b->inverse = CSIMI_PUSH(arena, csim_real, 9 * CSIMI_BODY_BLOCKS * (size_t)n);
}

/* Inverse of the dense body [first, end) into its rows. */
static CSIMI_NOINLINE bool csimi_body_invert(csimi_bodies *b, const csim_block_matrix *A, int first, int end) {
    const int m = 3 * (end - first);
    double H[9 * CSIMI_BODY_BLOCKS * CSIMI_BODY_BLOCKS], x[3 * CSIMI_BODY_BLOCKS];
    int i, j, k, r, c;
    for (i = 0; i < m * m; ++i) H[i] = 0;
    for (i = first; i < end; ++i)
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            for (r = 0; r < 3; ++r)
                for (c = 0; c < 3; ++c)
                    H[m * (3 * (i - first) + r) + 3 * (A->col[k] - first) + c] =
                        (double)A->val[9 * (ptrdiff_t)k + 3 * r + c];
    if (!csimi_cholesky(m, H)) return false;
    for (j = 0; j < m; ++j) {
        for (i = 0; i < m; ++i) x[i] = i == j ? 1 : 0;
        csimi_cholesky_solve(m, H, x);
        for (i = 0; i < m; ++i) {
            csim_real *block = b->inverse + 9 * ((ptrdiff_t)b->row[first + j / 3] + i / 3);
            block[3 * (j % 3) + i % 3] = (csim_real)x[i];
        }
    }
    return true;
}

CSIMI_FN bool csimi_bodies_open(csimi_bodies *b, const csim_block_matrix *A) {
    int i, k, end, row = 0;
    for (i = 0; i < A->n; i = end) {
        end = csimi_body_end(A, i);
        for (k = i; k < end; ++k) {
            b->first[k] = i;
            b->size[k] = end - i;
            b->row[k] = row;
            row += end - i;
        }
        if (!csimi_body_invert(b, A, i, end)) return false;
    }
    return true;
}

CSIMI_FN void csimi_body_push(const csimi_bodies *b, int i, const csim_real *x, csim_real *y) {
    const csim_real *inverse = b->inverse + 9 * (ptrdiff_t)b->row[i];
    int k;
    for (k = 0; k < b->size[i]; ++k) csimi_addmulT3(inverse + 9 * k, x, y + 3 * (ptrdiff_t)(b->first[i] + k));
}

/* ---- the rows of a contact */

static int csimi_pieces_side(const csim_problem *p, const csimi_bodies *b, const csim_contact *contact,
                             const csim_side *side, csim_real sign, csimi_piece *piece) {
    int k, i;
    for (k = side->first; k < side->first + side->count; ++k, ++piece) {
        piece->block = p->terms[k].block;
        piece->first = b ? b->first[piece->block] : 0;
        piece->size = b ? b->size[piece->block] : 0;
        piece->inverse = b ? b->row[piece->block] : 0;
        csimi_matmul(contact->R, p->terms[k].J, piece->J);
        for (i = 0; i < 9; ++i) piece->J[i] *= sign;
    }
    return side->count;
}

CSIMI_FN int csimi_pieces_make(const csim_problem *p, const csimi_bodies *b, int m, csimi_piece *pieces) {
    const csim_contact *contact = p->contacts + m;
    const int count = csimi_pieces_side(p, b, contact, &contact->a, 1, pieces);
    return count + csimi_pieces_side(p, b, contact, &contact->b, -1, pieces + count);
}

CSIMI_FN int csimi_pieces_count(const csim_problem *p) {
    int m, count = 0;
    for (m = 0; m < p->contact_count; ++m) count += p->contacts[m].a.count + p->contacts[m].b.count;
    return count;
}

CSIMI_FN void csimi_pieces_velocity(const csimi_piece *piece, int count, const csim_real *v, csim_real *u) {
    const csimi_piece *end = piece + count;
    for (; piece < end; ++piece) csimi_addmul3(piece->J, v + 3 * (ptrdiff_t)piece->block, u);
}

CSIMI_FN void csimi_pieces_push(const csimi_bodies *b, const csimi_piece *piece, int count, const csim_real *impulse,
                                csim_real *v) {
    const csimi_piece *end = piece + count;
    int k;
    for (; piece < end; ++piece) {
        const csim_real *inverse = b->inverse + 9 * (ptrdiff_t)piece->inverse;
        csim_real g[3] = {0, 0, 0};
        csimi_addmulT3(piece->J, impulse, g);
        for (k = 0; k < piece->size; ++k) csimi_addmulT3(inverse + 9 * k, g, v + 3 * (ptrdiff_t)(piece->first + k));
    }
}

CSIMI_FN void csimi_pieces_delassus(const csimi_bodies *b, const csimi_piece *begin, int count, csim_real *W) {
    const csimi_piece *p, *q, *end = begin + count;
    csim_real T[9], X[9];
    int k;
    for (k = 0; k < 9; ++k) W[k] = 0;
    for (p = begin; p < end; ++p)
        for (q = begin; q < end; ++q) {
            if (p->first != q->first) continue;
            csimi_matmul(p->J, b->inverse + 9 * ((ptrdiff_t)p->inverse + q->block - q->first), T);
            csimi_matmulT(T, q->J, X);
            for (k = 0; k < 9; ++k) W[k] += X[k];
        }
}
/* ==== end solve/bodies.c */

/* ==== begin solve/newton.c ====================================================================================== */
/* solve/newton: one proximal step of the sweep solver by Newton's method on the velocities of the bodies.
   With a compliance e > 0 around a centre the impulse of every contact is a function of the velocity in closed form,
   lambda(v) = Project(centre - u(v) / e), so that F(v) = b + J' lambda(v) - A v = 0 is an equation in v alone with the
   Jacobian A + J' (Project' / e) J on the graph of the bodies. Its factors live in the memory of Anderson's ring, which
   is idle meanwhile; where they do not fit, nothing happens and the sweeps go on alone. */

/* ---- the order of the rows */

/* Blocks that share a contact or a body with the block at order[head], appended to order[count..]. */
static int csimi_newton_neighbours(csimi_sweep *s, const int *list_start, const int *list, int head, int count) {
    const int i = s->order[head];
    int k, q;
    for (k = 0; k < s->bodies.size[i]; ++k)
        if (s->place[s->bodies.first[i] + k] < 0) {
            s->place[s->bodies.first[i] + k] = count;
            s->order[count++] = s->bodies.first[i] + k;
        }
    for (k = list_start[i]; k < list_start[i + 1]; ++k) {
        const csimi_sweep_contact *c = s->contacts + list[k];
        for (q = c->first; q < c->first + c->count; ++q) {
            const int j = s->pieces[q].block;
            if (s->place[j] >= 0) continue;
            s->place[j] = count;
            s->order[count++] = j;
        }
    }
    return count;
}

/* Breadth first through the component of block seed; returns the count of ordered blocks. */
static int csimi_newton_walk(csimi_sweep *s, const int *list_start, const int *list, int seed, int count) {
    int head = count;
    s->place[seed] = count;
    s->order[count++] = seed;
    for (; head < count; ++head) count = csimi_newton_neighbours(s, list_start, list, head, count);
    return count;
}

/* Cuthill-McKee: each component from a block far from the first one found. */
static void csimi_newton_order(csimi_sweep *s, const int *list_start, const int *list) {
    int i, k, count = 0;
    for (i = 0; i < s->n; ++i) s->place[i] = -1;
    for (i = 0; i < s->n; ++i) {
        int end, far;
        if (s->place[i] >= 0) continue;
        end = csimi_newton_walk(s, list_start, list, i, count);
        far = s->order[end - 1];
        for (k = count; k < end; ++k) s->place[s->order[k]] = -1;
        count = csimi_newton_walk(s, list_start, list, far, count);
    }
}

/* Contacts of each block, in the ring: false when even this does not fit. */
static bool csimi_newton_lists(csimi_sweep *s, csimi_arena *ring, int **list_start, int **list) {
    int i, q, m, total = 0;
    for (m = 0; m < s->contact_count; ++m) total += s->contacts[m].count;
    *list_start = CSIMI_PUSH(ring, int, s->n + 2);
    *list = CSIMI_PUSH(ring, int, total);
    if (ring->overflow) return false;
    for (i = 0; i < s->n + 2; ++i) (*list_start)[i] = 0;
    for (q = 0; q < total; ++q) ++(*list_start)[s->pieces[q].block + 2];
    for (i = 0; i < s->n; ++i) (*list_start)[i + 2] += (*list_start)[i + 1];
    for (m = 0; m < s->contact_count; ++m)
        for (q = s->contacts[m].first; q < s->contacts[m].first + s->contacts[m].count; ++q)
            (*list)[(*list_start)[s->pieces[q].block + 1]++] = m;
    return true;
}

static void csimi_newton_envelope(csimi_sweep *s) {
    csimi_envelope *e = &s->envelope;
    int i, m, q;
    e->n = s->n;
    for (i = 0; i < s->n; ++i) e->first[i] = i;
    for (i = 0; i < s->n; ++i) /* bodies lie together, whatever the walk did */
        for (q = s->bodies.first[i]; q < s->bodies.first[i] + s->bodies.size[i]; ++q)
            e->first[s->place[i]] = csimi_imin(e->first[s->place[i]], s->place[q]);
    for (m = 0; m < s->contact_count; ++m) {
        const csimi_piece *begin = s->pieces + s->contacts[m].first, *end = begin + s->contacts[m].count, *p;
        int least = s->n;
        for (p = begin; p < end; ++p) least = csimi_imin(least, s->place[p->block]);
        for (p = begin; p < end; ++p) e->first[s->place[p->block]] = csimi_imin(e->first[s->place[p->block]], least);
    }
    e->blocks = 0;
    s->work = 0;
    for (i = 0; i < s->n; ++i) {
        const double width = i - e->first[i];
        e->start[i] = e->blocks;
        e->blocks += (size_t)(i - e->first[i]);
        s->work += 27 * (width + 1) * (width + 1);
    }
}

/* The ring is one stretch of memory from f to the end of p; small islands have a larger one of their own. */
static csimi_arena csimi_newton_ring(const csimi_sweep *s) {
    const csimi_anderson *a = &s->anderson;
    unsigned char *base = (unsigned char *)a->f;
    const unsigned char *end = (const unsigned char *)(a->p + (size_t)a->window * (size_t)a->n);
    if (s->spare_count > 0) return csimi_arena_in(s->spare, s->spare_count * sizeof(double));
    return csimi_arena_in(base, (size_t)(end - base));
}

/* Vectors of one Newton step. */
typedef struct csimi_newton_vectors {
    double *F, *direction; /* [3n] */
    csim_real *start;      /* [3n] velocities a line search starts from */
} csimi_newton_vectors;

/* The vectors and the factors. */
static bool csimi_newton_layout(csimi_sweep *s, csimi_newton_vectors *x) {
    csimi_arena ring = csimi_newton_ring(s);
    csimi_envelope *e = &s->envelope;
    x->F = CSIMI_PUSH(&ring, double, 3 * (size_t)s->n);
    x->direction = CSIMI_PUSH(&ring, double, 3 * (size_t)s->n);
    x->start = CSIMI_PUSH(&ring, csim_real, 3 * (size_t)s->n);
    e->lower = CSIMI_PUSH(&ring, double, 9 * e->blocks);
    e->upper = CSIMI_PUSH(&ring, double, 9 * e->blocks);
    e->diag = CSIMI_PUSH(&ring, double, 9 * (size_t)s->n);
    return !ring.overflow;
}

CSIMI_FN void csimi_newton_plan(csimi_sweep *s) {
    csimi_arena ring = csimi_newton_ring(s);
    int *list_start, *list;
    csimi_newton_vectors x;
    s->work = 0;
    if (s->contact_count == 0 || !csimi_newton_lists(s, &ring, &list_start, &list)) return;
    csimi_newton_order(s, list_start, list);
    csimi_newton_envelope(s);
    if (!csimi_newton_layout(s, &x)) s->work = 0;
}

/* ---- lambda(v) and its derivative */

/* d(clip of t to the disk of radius mu n) by n and t, rows 1 and 2 of G; slip only. */
static void csimi_newton_disk(double mu, const double *t, double n, double *G) {
    const double length = csimi_sqrt64(t[1] * t[1] + t[2] * t[2]), x = t[1] / length, y = t[2] / length;
    const double k = mu * n / length;
    G[3] = mu * x;
    G[6] = mu * y;
    G[4] = k * y * y;
    G[5] = G[7] = -k * x * y;
    G[8] = k * x * x;
}

/* The same for the ellipse of semi-axes mu n, at its point y nearest to t: y = a^2 t / (a^2 + s). */
static void csimi_newton_ellipse(const double *mu, const double *t, double n, const double *y, double *G) {
    double g[2], normal[2], w[2], sum = 0, s = 0;
    int i, j;
    for (i = 0; i < 2; ++i)
        if (csimi_abs((csim_real)y[i]) > 0) s = (t[i + 1] / y[i] - 1) * mu[i] * mu[i] * n * n;
    for (i = 0; i < 2; ++i) {
        const double a2 = mu[i] * mu[i] * n * n;
        g[i] = a2 > 0 ? a2 / (a2 + s) : 0;
        normal[i] = a2 > 0 ? y[i] / a2 : 0;
        w[i] = a2 > 0 ? y[i] / (a2 + s) : 0;
        sum += normal[i] * w[i];
    }
    for (i = 0; i < 2; ++i) {
        double homogeneous = y[i]; /* of degree one in (n, t): n dy/dn + (dy/dt) t = y */
        for (j = 0; j < 2; ++j) {
            G[3 * (i + 1) + j + 1] = (i == j ? g[i] : 0) - (sum > 0 ? w[i] * normal[j] * g[j] / sum : 0);
            homogeneous -= G[3 * (i + 1) + j + 1] * t[j + 1];
        }
        G[3 * (i + 1)] = homogeneous / n;
    }
}

/* Projection on the boundary of the cone: along (1, mu d). */
static void csimi_newton_cone(double mu, const double *t, double *G) {
    const double length = csimi_sqrt64(t[1] * t[1] + t[2] * t[2]), x = t[1] / length, y = t[2] / length;
    const double c = 1 / (1 + mu * mu), n = c * (t[0] + mu * length), k = mu * n / length;
    G[0] = c;
    G[1] = G[3] = c * mu * x;
    G[2] = G[6] = c * mu * y;
    G[4] = c * mu * mu * x * x + k * y * y;
    G[5] = G[7] = (c * mu * mu - k) * x * y;
    G[8] = c * mu * mu * y * y + k * x * x;
}

/* Derivative of the projection at trial t with the projected impulse l. */
static void csimi_newton_derivative(int law, const csim_contact *c, const double *t, const csim_real *l, double *G) {
    const double mu = (double)c->mu[0], length2 = t[1] * t[1] + t[2] * t[2];
    double axes[2], y[2];
    int k;
    for (k = 0; k < 9; ++k) G[k] = k % 4 == 0 ? 1 : 0;
    switch (law) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_INVERTIBLE:
    case CSIM_LAW_ANISOTROPIC:
        if (!(t[0] > 0)) {
            G[0] = G[4] = G[8] = 0;
        } else if (law == CSIM_LAW_ANISOTROPIC) {
            y[0] = (double)l[1];
            y[1] = (double)l[2];
            axes[0] = mu;
            axes[1] = (double)c->mu[1];
            if (y[0] < t[1] || y[0] > t[1] || y[1] < t[2] || y[1] > t[2]) csimi_newton_ellipse(axes, t, t[0], y, G);
        } else if (length2 > mu * t[0] * mu * t[0]) {
            csimi_newton_disk(mu, t, t[0], G);
        }
        break;
    case CSIM_LAW_PROXIMAL:
        if (!((double)l[0] > 0))
            G[0] = G[4] = G[8] = 0;
        else if (length2 > mu * t[0] * mu * t[0] || t[0] < 0)
            csimi_newton_cone(mu, t, G);
        break;
    case CSIM_LAW_BILATERAL:
        for (k = 0; k < 3; ++k) G[4 * k] = c->mask >> k & 1u ? 1 : 0;
        break;
    case CSIM_LAW_BOX:
        for (k = 0; k < 3; ++k) G[4 * k] = t[k] > (double)c->lo[k] && t[k] < (double)c->hi[k] ? 1 : 0;
        break;
    case CSIM_LAW_COUNT_:
    default: break;
    }
}

/* Contacts of a convex step: the projection is onto the cone, with the slip of the centre in the place of the true one
   (de Saxce's change of variable), so that F is the gradient of a convex function. */
static bool csimi_newton_is_convex(const csimi_sweep *s, const csimi_sweep_contact *c) {
    return s->convex && c->contact->law == CSIM_LAW_STRICT;
}

/* mu |u_t| of every contact at the velocities v. */
static void csimi_newton_lag(csimi_sweep *s) {
    int m;
    for (m = 0; m < s->contact_count; ++m) {
        csimi_sweep_contact *c = s->contacts + m;
        csim_real u[3];
        csimi_contact_velocity(s, c, u);
        c->lag = c->contact->mu[0] * CSIMI_SQRT(u[1] * u[1] + u[2] * u[2]);
    }
}

/* Compliance of row k and the trial impulse of a contact at the velocities v. */
static void csimi_newton_trial(const csimi_sweep *s, int m, csim_real *compliance, csim_real *trial) {
    const csimi_sweep_contact *c = s->contacts + m;
    const csim_real *centre = s->centre + 3 * (ptrdiff_t)m;
    csim_real u[3];
    int k;
    csimi_contact_velocity(s, c, u);
    for (k = 0; k < 3; ++k) {
        compliance[k] = c->local.extra;
        if (c->contact->law == CSIM_LAW_INVERTIBLE) compliance[k] += c->contact->omega[k > 0];
        trial[k] = (c->local.extra * centre[k] - u[k]) / compliance[k];
    }
    if (csimi_newton_is_convex(s, c)) trial[0] -= c->lag / compliance[0];
}

static void csimi_newton_project(const csim_contact *contact, const csim_real *trial, csim_real *lambda) {
    if (contact->law == CSIM_LAW_INVERTIBLE) { /* the compliance already holds omega */
        lambda[0] = csimi_max(trial[0], 0);
        csim_project_ellipse(contact->mu[0] * lambda[0], contact->mu[0] * lambda[0], trial + 1, lambda + 1);
    } else {
        csim_project(contact, 1, trial, lambda);
    }
}

/* lambda(v), F, and the merit F' A^-1 F. */
static double csimi_newton_evaluate(csimi_sweep *s, double *F) {
    double merit = 0;
    int m, i, k;
    for (m = 0; m < s->contact_count; ++m) {
        csim_real compliance[3], trial[3];
        csimi_newton_trial(s, m, compliance, trial);
        if (csimi_newton_is_convex(s, s->contacts + m))
            csim_project_cone(s->contacts[m].contact->mu[0], trial, s->lambda + 3 * (ptrdiff_t)m);
        else
            csimi_newton_project(s->contacts[m].contact, trial, s->lambda + 3 * (ptrdiff_t)m);
    }
    csimi_sweep_imbalance(s, F);
    for (i = 0; i < s->n; ++i) {
        const csim_real *inverse = s->bodies.inverse + 9 * (ptrdiff_t)s->bodies.row[i];
        for (k = 0; k < s->bodies.size[i]; ++k, inverse += 9) {
            const double *x = F + 3 * (ptrdiff_t)i, *y = F + 3 * (ptrdiff_t)(s->bodies.first[i] + k);
            int r, c;
            for (r = 0; r < 3; ++r)
                for (c = 0; c < 3; ++c) merit += x[r] * (double)inverse[3 * r + c] * y[c];
        }
    }
    ++s->sweeps;
    return merit;
}

/* ---- the linear system */

static void csimi_newton_add_contact(csimi_sweep *s, int m) {
    const csimi_sweep_contact *c = s->contacts + m;
    const csimi_piece *p, *q, *begin = s->pieces + c->first, *end = begin + c->count;
    csim_real compliance[3], trial[3];
    double t[3], G[9], T[9];
    int i, j, k;
    csimi_newton_trial(s, m, compliance, trial);
    for (k = 0; k < 3; ++k) t[k] = (double)trial[k];
    csimi_newton_derivative(csimi_newton_is_convex(s, c) ? (int)CSIM_LAW_PROXIMAL : (int)c->contact->law, c->contact, t,
                            s->lambda + 3 * (ptrdiff_t)m, G);
    for (k = 0; k < 9; ++k) G[k] /= (double)compliance[k % 3];
    for (q = begin; q < end; ++q) {
        for (i = 0; i < 3; ++i)
            for (j = 0; j < 3; ++j)
                T[3 * i + j] = G[3 * i] * (double)q->J[j] + G[3 * i + 1] * (double)q->J[3 + j] +
                               G[3 * i + 2] * (double)q->J[6 + j];
        for (p = begin; p < end; ++p) {
            double *H = csimi_envelope_block(&s->envelope, s->place[p->block], s->place[q->block]);
            for (i = 0; i < 3; ++i)
                for (j = 0; j < 3; ++j)
                    H[3 * i + j] +=
                        (double)p->J[i] * T[j] + (double)p->J[3 + i] * T[3 + j] + (double)p->J[6 + i] * T[6 + j];
        }
    }
}

static bool csimi_newton_factor(csimi_sweep *s) {
    const csim_block_matrix *A = &s->problem->A;
    int i, k, r, m;
    csimi_envelope_clear(&s->envelope);
    for (i = 0; i < s->n; ++i)
        for (k = A->row[i]; k < A->row[i + 1]; ++k) {
            double *H = csimi_envelope_block(&s->envelope, s->place[i], s->place[A->col[k]]);
            for (r = 0; r < 9; ++r) H[r] += (double)A->val[9 * (ptrdiff_t)k + r];
        }
    for (m = 0; m < s->contact_count; ++m) csimi_newton_add_contact(s, m);
    return csimi_envelope_factor(&s->envelope);
}

static void csimi_newton_direction(csimi_sweep *s, csimi_newton_vectors *x) {
    int i, k;
    for (i = 0; i < s->n; ++i)
        for (k = 0; k < 3; ++k) x->direction[3 * (ptrdiff_t)s->place[i] + k] = x->F[3 * (ptrdiff_t)i + k];
    csimi_envelope_solve(&s->envelope, x->direction);
}

/* Moves to start + alpha direction and evaluates there. */
static double csimi_newton_move(csimi_sweep *s, csimi_newton_vectors *x, double alpha) {
    int i;
    for (i = 0; i < 3 * s->n; ++i)
        s->v[i] = x->start[i] + (csim_real)(alpha * x->direction[3 * (ptrdiff_t)s->place[i / 3] + i % 3]);
    return csimi_newton_evaluate(s, x->F);
}

/* Steps back from the full step until the merit falls. At a kink of the projections no step may do: then the full one
   is taken all the same, since the pieces beyond the kink are what Newton needs to see. */
static double csimi_newton_search(csimi_sweep *s, csimi_newton_vectors *x, double merit) {
    double alpha = 1;
    int k;
    CSIMI_MEMCPY(x->start, s->v, 3 * (size_t)s->n * sizeof *x->start);
    for (k = 0; k < 4; ++k, alpha *= 0.4) {
        const double now = csimi_newton_move(s, x, alpha);
        if (now < (1 - 1e-3 * alpha) * merit) return now;
    }
    return csimi_newton_move(s, x, 1);
}

/* F . direction: the slope of the convex function along the step, with its sign turned. */
static double csimi_newton_slope(const csimi_sweep *s, const csimi_newton_vectors *x) {
    double sum = 0;
    int i;
    for (i = 0; i < 3 * s->n; ++i) sum += x->F[i] * x->direction[3 * (ptrdiff_t)s->place[i / 3] + i % 3];
    return sum;
}

/* The same for a convex step, by the slope alone: shorter while the step ends well beyond the least value. */
static double csimi_newton_search_convex(csimi_sweep *s, csimi_newton_vectors *x) {
    const double slope = csimi_newton_slope(s, x);
    double alpha = 1, merit;
    int k;
    CSIMI_MEMCPY(x->start, s->v, 3 * (size_t)s->n * sizeof *x->start);
    for (k = 0;; ++k) {
        double now, shorter;
        merit = csimi_newton_move(s, x, alpha);
        now = csimi_newton_slope(s, x);
        if (now >= -0.5 * slope || k == 10) return merit;
        shorter = slope / (slope - now);
        alpha *= shorter < 0.1 ? 0.1 : shorter;
    }
}

/* Twice the kinetic energy of the load: what merits are small against. */
static double csimi_newton_scale(const csimi_sweep *s) {
    double sum = 0;
    int i;
    for (i = 0; i < 3 * s->n; ++i) sum += (double)s->problem->b[i] * (double)s->free_velocity[i];
    return sum;
}

/* A proximal step may stop when F is small against what the step itself changes, eps |lambda - centre|. */
static double csimi_newton_enough(const csimi_sweep *s, double eps, double scale) {
    double sum = 0;
    int i;
    for (i = 0; i < 3 * s->contact_count; ++i) {
        const double way = (double)s->lambda[i] - (double)s->centre[i];
        sum += (double)s->metric[i] * way * way;
    }
    return 0.01 * eps * eps * sum + 1e2 * (double)CSIMI_EPS * (double)CSIMI_EPS * scale;
}

CSIMI_FN bool csimi_newton_step(csimi_sweep *s, double eps, int *iterations) {
    const size_t bytes = 3 * (size_t)s->contact_count * sizeof *s->lambda;
    const double scale = csimi_newton_scale(s);
    csimi_newton_vectors x;
    double merit;
    bool there;
    int k;
    *iterations = 0;
    if (!(s->work > 0) || !csimi_newton_layout(s, &x)) return false;
    CSIMI_MEMCPY(s->centre, s->lambda, bytes);
    csimi_sweep_prepare(s, eps);
    if (s->convex) csimi_newton_lag(s);
    merit = csimi_newton_evaluate(s, x.F);
    for (k = 0;; ++k) {
        const double enough = csimi_newton_enough(s, eps, scale);
        there = merit <= enough && enough < (double)CSIMI_HUGE;
        if (there || !(merit < (double)CSIMI_HUGE) || k == 30 || s->sweeps >= s->cap || !csimi_newton_factor(s)) break;
        csimi_newton_direction(s, &x);
        merit = s->convex ? csimi_newton_search_convex(s, &x) : csimi_newton_search(s, &x, merit);
    }
    *iterations = k;
    if (!there) CSIMI_MEMCPY(s->lambda, s->centre, bytes);
    csimi_sweep_velocities(s);
    return there;
}
/* ==== end solve/newton.c */

/* ==== begin solve/sweep.c ======================================================================================= */
/* solve/sweep: islands of rigid bodies (or of any small dense bodies), solved at the level of impulses without ever
   forming J A^-1 J'. Gauss-Seidel sweeps visit the contacts, solve each one exactly for its law with everything else
   held, and carry the change into the velocities of its bodies. The cascade, after findings-impulse.md:
     1  sweeps accelerated by Anderson's method, while they halve the measure every few sweeps
     2  Newton on the body velocities (solve/newton.c), where its factors fit into the memory of the ring
     3  accelerated sweeps again, then a proximal loop of them: problems a little better conditioned than the true one,
        each solved around the last answer
   Each stage starts from the best impulses seen, and the measure is the contact figure of the certificate. */

#define CSIMI_SWEEP_WINDOW 20
#define CSIMI_SWEEP_PATIENCE 100 /* sweeps without a halving before the next stage; 4 before Newton */

CSIMI_FN bool csimi_sweep_takes(const csim_problem *problem) { return csimi_bodies_take(&problem->A); }

/* ---- velocities */

CSIMI_FN void csimi_contact_velocity(const csimi_sweep *s, const csimi_sweep_contact *c, csim_real *u) {
    u[0] = c->phi[0];
    u[1] = c->phi[1];
    u[2] = c->phi[2];
    csimi_pieces_velocity(s->pieces + c->first, c->count, s->v, u);
}

/* v from lambda anew: after a jump, and to shed the rounding of incremental updates. */
CSIMI_FN void csimi_sweep_velocities(csimi_sweep *s) {
    int m;
    CSIMI_MEMCPY(s->v, s->free_velocity, 3 * (size_t)s->n * sizeof *s->v);
    for (m = 0; m < s->contact_count; ++m)
        csimi_pieces_push(&s->bodies, s->pieces + s->contacts[m].first, s->contacts[m].count,
                          s->lambda + 3 * (ptrdiff_t)m, s->v);
}

/* ---- one contact: preparing its model */

/* ---- a sweep */

/* One Gauss-Seidel pass over lambda and v. In the proximal loop extra (lambda - centre) is added to u. */
static void csimi_sweep_pass(csimi_sweep *s) {
    int m, k;
    for (m = 0; m < s->contact_count; ++m) {
        csimi_sweep_contact *c = s->contacts + m;
        csim_real *lambda = s->lambda + 3 * (ptrdiff_t)m, u[3], next[3] = {0, 0, 0};
        const csim_real *W = c->local.W, *centre = s->centre + 3 * (ptrdiff_t)m;
        csimi_contact_velocity(s, c, u);
        u[0] -= W[0] * lambda[0] + W[1] * lambda[1] + W[2] * lambda[2] + c->local.extra * centre[0];
        u[1] -= W[1] * lambda[0] + W[3] * lambda[1] + W[4] * lambda[2] + c->local.extra * centre[1];
        u[2] -= W[2] * lambda[0] + W[4] * lambda[1] + W[5] * lambda[2] + c->local.extra * centre[2];
        csimi_local_solve(&c->local, u, next);
        for (k = 0; k < 3; ++k) u[k] = next[k] - lambda[k];
        if (csimi_abs(u[0]) + csimi_abs(u[1]) + csimi_abs(u[2]) <= 0) continue;
        for (k = 0; k < 3; ++k) lambda[k] = next[k];
        csimi_pieces_push(&s->bodies, s->pieces + c->first, c->count, u, s->v);
    }
    ++s->sweeps;
}

/* The nearest impulse the law allows. */
static void csimi_sweep_project(csimi_sweep *s) {
    int m;
    for (m = 0; m < s->contact_count; ++m) {
        const csim_contact *contact = s->contacts[m].contact;
        csim_real *lambda = s->lambda + 3 * (ptrdiff_t)m;
        if (contact->law == CSIM_LAW_STRICT || contact->law == CSIM_LAW_INVERTIBLE)
            csim_project_cone(contact->mu[0], lambda, lambda);
        else
            csim_project(contact, 1, lambda, lambda);
    }
}

/* ---- the measure: the contact figure of certificate.md on lambda and v */

static csim_real csimi_norm3(const csim_real *x) { return CSIMI_SQRT(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/* lambda - Project(lambda - rho u), with the friction set of the impulse at hand. */
static csim_real csimi_sweep_residual(const csimi_sweep *s, const csimi_sweep_contact *c, const csim_real *lambda) {
    const csim_contact *contact = c->contact;
    csim_real u[3], x[3], y[3];
    int k;
    csimi_contact_velocity(s, c, u);
    for (k = 0; k < 3; ++k) {
        if (contact->law == CSIM_LAW_INVERTIBLE) u[k] += contact->omega[k > 0] * lambda[k];
        x[k] = lambda[k] - c->rho * u[k];
    }
    if (contact->law == CSIM_LAW_STRICT || contact->law == CSIM_LAW_ANISOTROPIC ||
        contact->law == CSIM_LAW_INVERTIBLE) {
        const csim_real normal = csimi_max(lambda[0], 0);
        y[0] = csimi_max(x[0], 0);
        csim_project_ellipse(c->local.mu[0] * normal, c->local.mu[1] * normal, x + 1, y + 1);
    } else {
        csim_project(contact, 1, x, y);
    }
    for (k = 0; k < 3; ++k) x[k] = lambda[k] - y[k];
    return csimi_norm3(x);
}

/* Speeds that u of a contact is a difference of. */
static csim_real csimi_sweep_speed(const csimi_sweep *s, const csimi_sweep_contact *c) {
    csim_real speed = csimi_norm3(c->phi);
    int k;
    for (k = c->first; k < c->first + c->count; ++k) {
        csim_real term[3];
        csimi_mul3(s->pieces[k].J, s->v + 3 * (ptrdiff_t)s->pieces[k].block, term);
        speed += csimi_norm3(term);
    }
    return speed;
}

/* The lower middle value of x[count]; reorders x (Hoare's selection). */
CSIMI_FN csim_real csimi_median(csim_real *x, int count) {
    const int middle = (count - 1) / 2;
    int lo = 0, hi = count - 1;
    while (lo < hi) {
        const csim_real pivot = x[lo + (hi - lo) / 2];
        int i = lo, j = hi;
        while (i <= j) {
            while (x[i] < pivot) ++i;
            while (x[j] > pivot) --j;
            if (i <= j) {
                const csim_real swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (middle <= j)
            hi = j;
        else if (middle >= i)
            lo = i;
        else
            break;
    }
    return x[middle];
}

/* Worst natural residual over max(|lambda|, median, tiny), and keeps the best impulses seen. The speeds that tiny needs
   are looked at only where the other scales do not already settle it. */
static void csimi_sweep_measure(csimi_sweep *s) {
    const csim_real noise = CSIM_R(1e5) * CSIMI_EPS;
    csim_real most = 0, median, worst = 0;
    int m, carrying = 0;
    for (m = 0; m < s->contact_count; ++m) {
        s->norms[m] = csimi_norm3(s->lambda + 3 * (ptrdiff_t)m);
        most = csimi_max(most, s->norms[m]);
    }
    for (m = 0; m < s->contact_count; ++m) /* open contacts have no say: their number depends on the margins */
        if (s->norms[m] > noise * most) s->norms[carrying++] = s->norms[m];
    median = carrying > 0 ? csimi_median(s->norms, carrying) : 0;
    median = csimi_max(median, csimi_max(noise * most, CSIMI_TINY));
    for (m = 0; m < s->contact_count; ++m) {
        const csimi_sweep_contact *c = s->contacts + m;
        const csim_real *lambda = s->lambda + 3 * (ptrdiff_t)m;
        const csim_real residual = csimi_sweep_residual(s, c, lambda);
        csim_real scale = csimi_max(csimi_norm3(lambda), median);
        if (residual <= worst * scale) continue;
        scale = csimi_max(scale, noise * c->rho * csimi_sweep_speed(s, c));
        worst = residual < CSIMI_HUGE ? csimi_max(worst, residual / scale) : CSIMI_HUGE;
    }
    s->measure = (double)worst;
    if (!(s->measure < s->best_measure)) return;
    s->best_measure = s->measure;
    CSIMI_MEMCPY(s->best, s->lambda, 3 * (size_t)s->contact_count * sizeof *s->best);
}

/* ---- stages */

static bool csimi_sweep_done(const csimi_sweep *s) {
    return s->best_measure <= s->target || s->sweeps >= s->cap || s->broken;
}

/* Fills the history up to the last iteration. */
static void csimi_sweep_log(csimi_sweep *s) {
    for (; s->logged < csimi_imin(s->sweeps, s->history_capacity); ++s->logged) s->history[s->logged] = s->measure;
}

/* One sweep whose change goes into the next slot of the ring: f = g - r, p = g. Returns |f| in the metric. */
static double csimi_sweep_record(csimi_sweep *s) {
    const int length = 3 * s->contact_count;
    csim_real *f, *p;
    int i;
    csimi_anderson_slot(&s->anderson, &f, &p);
    CSIMI_MEMCPY(f, s->lambda, (size_t)length * sizeof *f);
    csimi_sweep_pass(s);
    for (i = 0; i < length; ++i) {
        f[i] = s->lambda[i] - f[i];
        p[i] = s->lambda[i];
    }
    return csimi_sqrt64(csimi_sum_weighted(length, s->metric, f, f));
}

/* Replaces lambda by Anderson's combination, made feasible. */
static void csimi_sweep_extrapolate(csimi_sweep *s) {
    csimi_anderson_step(&s->anderson, s->metric, s->lambda, s->tasks);
    if (s->anderson.count < 2) return;
    csimi_sweep_project(s);
    csimi_sweep_velocities(s);
}

/* Distance of lambda from the centre of the proximal step. */
static double csimi_sweep_travel(const csimi_sweep *s) {
    double sum = 0;
    int i;
    for (i = 0; i < 3 * s->contact_count; ++i) {
        const double way = (double)s->lambda[i] - (double)s->centre[i];
        sum += (double)s->metric[i] * way * way;
    }
    return csimi_sqrt64(sum);
}

/* Accelerated sweeps. eps 0: until measured good, or no halving of the measure for patience sweeps. eps > 0: one
   proximal step, until the change of a sweep is small against eps times the way from the centre, or budget sweeps.
   Ends on a plain sweep, never on an extrapolation. Returns the number of sweeps; false in *settled when it gave up. */
static int csimi_sweep_accelerated(csimi_sweep *s, double eps, int budget, bool *settled) {
    double least = (double)CSIMI_HUGE, halved = s->best_measure;
    int count = 0, since = 0;
    csimi_anderson_clear(&s->anderson);
    for (*settled = false;;) {
        const double change = csimi_sweep_record(s);
        ++count;
        ++since;
        s->broken = !(change < (double)CSIMI_HUGE);
        if (s->broken) break;
        if (s->sweeps == 1 || s->sweeps % 2 == 0) csimi_sweep_measure(s);
        csimi_sweep_log(s);
        if (csimi_sweep_done(s)) break;
        if (s->best_measure < 0.5 * halved) {
            halved = s->best_measure;
            since = 0;
        }
        if (eps > 0 ? count >= budget : since >= budget) break;
        if (eps > 0 && change < 0.2 * eps * csimi_sweep_travel(s)) {
            *settled = true;
            break;
        }
        if (change > 1.5 * least) { /* the extrapolation did harm: forget it */
            csimi_anderson_clear(&s->anderson);
            least = (double)CSIMI_HUGE;
            ++s->rejections;
        } else {
            if (change < least) least = change;
            csimi_sweep_extrapolate(s);
        }
    }
    return count;
}

CSIMI_FN void csimi_sweep_prepare(csimi_sweep *s, double eps) {
    int m;
    for (m = 0; m < s->contact_count; ++m)
        csimi_local_prepare(&s->contacts[m].local, s->contacts[m].contact, (csim_real)eps);
}

static void csimi_sweep_restore(csimi_sweep *s) {
    CSIMI_MEMCPY(s->lambda, s->best, 3 * (size_t)s->contact_count * sizeof *s->best);
    csimi_sweep_velocities(s);
}

/* Stage 3: W + eps I, solved around the last answer with eps as small as the inner sweeps bear. */
static void csimi_sweep_proximal(csimi_sweep *s) {
    double eps = 1e-2;
    csimi_sweep_restore(s);
    while (!csimi_sweep_done(s)) {
        bool settled;
        int count;
        CSIMI_MEMCPY(s->centre, s->lambda, 3 * (size_t)s->contact_count * sizeof *s->centre);
        csimi_sweep_prepare(s, eps);
        count = csimi_sweep_accelerated(s, eps, 200, &settled);
        if (!settled)
            eps = eps * 3 < 1 ? eps * 3 : 1;
        else if (count < 67)
            eps *= 0.1;
        else if (count < 133)
            eps *= 0.3;
        if (eps < 1e-9) eps = 1e-9;
    }
    csimi_sweep_prepare(s, 0);
}

/* Stage 2: proximal steps by Newton, with eps falling while they converge. Below what was asked for it goes on while it
   gains, because what is left unsolved moves bodies and costs more in the next step than here. */
static void csimi_sweep_newton(csimi_sweep *s, double good) {
    const int budget = s->sweeps + 200;
    double eps = s->best_measure > 1e-2 ? 1e-2 : 1e-3, fall = 0.1, halved = s->best_measure;
    int iterations, failures = 0, idle = 0;
    s->convex = false;
    csimi_sweep_restore(s);
    while (!csimi_sweep_done(s) && s->sweeps < budget && failures < 7 && eps < 1) {
        if (csimi_newton_step(s, eps, &iterations)) {
            csimi_sweep_measure(s);
            if (iterations < 8 && eps > 1e-8) eps *= fall;
        } else if (!s->convex) {
            s->convex = true;
            ++failures;
        } else {
            eps *= 10;
            fall = 0.3;
            ++failures;
        }
        csimi_sweep_log(s);
        if (s->best_measure < 0.5 * halved) {
            halved = s->best_measure;
            idle = 0;
        } else if (++idle >= 10 && s->best_measure <= good) {
            break;
        }
    }
    csimi_sweep_prepare(s, 0);
    csimi_sweep_restore(s);
}

/* ---- set-up */

/* Doubles that Newton gets besides the ring: small islands always fit, whatever their graph; a quarter of a megabyte.
 */
static size_t csimi_sweep_spare(int n, int contacts, int window) {
    const size_t most = 32768, rows = (size_t)n;
    const size_t full = rows > 200 ? most : 9 * rows * rows + 12 * rows + 64;
    const size_t ring = 6 * (size_t)window * (size_t)contacts * sizeof(csim_real) / sizeof(double);
    const size_t wanted = full < most ? full : most;
    return contacts > 0 && wanted > ring ? wanted : 0;
}

static void csimi_sweep_layout(csimi_sweep *s, csimi_arena *arena, int n, int contacts, int terms, int window) {
    const size_t vector = 3 * (size_t)contacts;
    csimi_bodies_layout(&s->bodies, arena, n);
    s->free_velocity = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->pieces = CSIMI_PUSH(arena, csimi_piece, terms);
    s->contacts = CSIMI_PUSH(arena, csimi_sweep_contact, contacts);
    s->lambda = CSIMI_PUSH(arena, csim_real, vector);
    s->best = CSIMI_PUSH(arena, csim_real, vector);
    s->centre = CSIMI_PUSH(arena, csim_real, vector);
    s->metric = CSIMI_PUSH(arena, csim_real, vector);
    s->norms = CSIMI_PUSH(arena, csim_real, contacts);
    s->order = CSIMI_PUSH(arena, int, n);
    s->place = CSIMI_PUSH(arena, int, n);
    s->envelope.first = CSIMI_PUSH(arena, int, n);
    s->envelope.start = CSIMI_PUSH(arena, size_t, n);
    s->spare_count = csimi_sweep_spare(n, contacts, window);
    s->spare = CSIMI_PUSH(arena, double, s->spare_count);
    csimi_anderson_layout(&s->anderson, arena, 3 * contacts, window);
}

static int csimi_sweep_window(const csim_solver_params *params) {
    return params->window > 0 ? params->window : CSIMI_SWEEP_WINDOW;
}

CSIMI_FN size_t csimi_sweep_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_sweep s;
    csimi_sweep_layout(&s, &arena, size->blocks, size->contacts, size->terms, csimi_sweep_window(params));
    csimi_push(&arena, csim_certificate_bytes(size->blocks, size->contacts), 1);
    return arena.high;
}

/* The certificate's rho where the sides have masses of their own, else 3 / tr W, which is the same for rigid bodies. */
static csim_real csimi_sweep_rho(const csimi_sweep_contact *c) {
    const csim_contact *contact = c->contact;
    const csim_real trace = c->local.W[0] + c->local.W[3] + c->local.W[5];
    csim_real mobility = 0;
    if ((contact->a.count > 0 && !(contact->mass[0] > 0)) || (contact->b.count > 0 && !(contact->mass[1] > 0)))
        return trace > 0 ? 3 / trace : 1;
    if (contact->a.count > 0) mobility += 1 / contact->mass[0];
    if (contact->b.count > 0) mobility += 1 / contact->mass[1];
    return 1 / mobility;
}

static void csimi_sweep_contacts(csimi_sweep *s) {
    int m, k, at = 0;
    for (m = 0; m < s->contact_count; ++m) {
        csimi_sweep_contact *c = s->contacts + m;
        const csim_contact *contact = s->problem->contacts + m;
        csim_real scale, W[9];
        CSIMI_MEMSET(c, 0, sizeof *c);
        c->contact = contact;
        c->first = at;
        c->count = csimi_pieces_make(s->problem, &s->bodies, m, s->pieces + at);
        at += c->count;
        for (k = 0; k < 3; ++k) c->phi[k] = contact->phi[k];
        csimi_pieces_delassus(&s->bodies, s->pieces + c->first, c->count, W);
        csimi_local_set(&c->local, W);
        c->rho = csimi_sweep_rho(c);
        scale = csimi_max((c->local.W[0] + c->local.W[3] + c->local.W[5]) / 3, CSIMI_TINY);
        for (k = 0; k < 3; ++k) {
            s->metric[3 * (ptrdiff_t)m + k] = scale;
            s->centre[3 * (ptrdiff_t)m + k] = 0;
        }
    }
    csimi_sweep_prepare(s, 0);
}

static void csimi_sweep_free_velocity(csimi_sweep *s) {
    int i;
    for (i = 0; i < 3 * s->n; ++i) s->free_velocity[i] = 0;
    for (i = 0; i < s->n; ++i) csimi_body_push(&s->bodies, i, s->problem->b + 3 * (ptrdiff_t)i, s->free_velocity);
}

/* ---- the end of a solve */

CSIMI_FN void csimi_sweep_imbalance(const csimi_sweep *s, double *residual) {
    const csim_block_matrix *A = &s->problem->A;
    int i, k, m, r, c;
    for (i = 0; i < 3 * s->n; ++i) residual[i] = (double)s->problem->b[i];
    for (m = 0; m < s->contact_count; ++m)
        for (k = s->contacts[m].first; k < s->contacts[m].first + s->contacts[m].count; ++k) {
            const csim_real *J = s->pieces[k].J, *lambda = s->lambda + 3 * (ptrdiff_t)m;
            double *y = residual + 3 * (ptrdiff_t)s->pieces[k].block;
            for (i = 0; i < 3; ++i)
                y[i] += (double)J[i] * (double)lambda[0] + (double)J[3 + i] * (double)lambda[1] +
                        (double)J[6 + i] * (double)lambda[2];
        }
    for (i = 0; i < s->n; ++i)
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            for (r = 0; r < 3; ++r)
                for (c = 0; c < 3; ++c)
                    residual[3 * i + r] -=
                        (double)A->val[9 * (ptrdiff_t)k + 3 * r + c] * (double)s->v[3 * (ptrdiff_t)A->col[k] + c];
}

/* v from lambda with one step of refinement against A itself, so that dynamics is at rounding; residual [3n]. */
static void csimi_sweep_finish(csimi_sweep *s, double *residual) {
    int i, r;
    csimi_sweep_velocities(s);
    csimi_sweep_imbalance(s, residual);
    for (i = 0; i < s->n; ++i) {
        csim_real rest[3];
        for (r = 0; r < 3; ++r) rest[r] = (csim_real)residual[3 * i + r];
        csimi_body_push(&s->bodies, i, rest, s->v);
    }
}

/* Runs the stages until the measure is good. */
static void csimi_sweep_cascade(csimi_sweep *s, double good) {
    const bool newton = s->work > 0;
    /* Newton is cheap near the answer, and what is left over becomes drift: 0.02 drifts a hundred times more */
    const double beyond = 2e-4 * good + 100 * (double)CSIMI_EPS;
    bool settled;
    s->target = newton && beyond < good ? beyond : good;
    csimi_sweep_accelerated(s, 0, newton ? 4 : CSIMI_SWEEP_PATIENCE, &settled);
    if (newton && !csimi_sweep_done(s)) csimi_sweep_newton(s, good);
    s->target = good;
    if (newton && !csimi_sweep_done(s)) csimi_sweep_accelerated(s, 0, CSIMI_SWEEP_PATIENCE, &settled);
    if (!csimi_sweep_done(s)) csimi_sweep_proximal(s);
    csimi_sweep_restore(s);
}

static bool csimi_sweep_certified(const csim_certificate *c, const csim_solver_params *params) {
    return c->dynamics <= (double)params->tolerance && c->contact <= (double)params->tolerance;
}

/* Solves, certifies, and goes on with a smaller target where the certificate is not content. */
static csim_result csimi_sweep_run(csimi_sweep *s, const csim_solver_params *params, void *scratch, size_t bytes,
                                   csim_certificate *certificate) {
    double good = 0.9 * (double)params->tolerance;
    int trial;
    csimi_newton_plan(s);
    for (trial = 0; trial < 5; ++trial, good *= 0.3) {
        s->best_measure = (double)CSIMI_HUGE;
        if (s->contact_count > 0) {
            csimi_sweep_cascade(s, good);
            if (s->broken) return CSIM_RESULT_NOT_FINITE;
        }
        csimi_sweep_finish(s, (double *)scratch);
        if (csim_problem_certify(s->problem, s->v, s->lambda, scratch, bytes, certificate) != CSIM_OK)
            return CSIM_RESULT_NOT_FINITE;
        if (csimi_sweep_certified(certificate, params)) return CSIM_RESULT_CONVERGED;
        if (s->sweeps >= s->cap || s->contact_count == 0) break;
    }
    return s->sweeps >= s->cap ? CSIM_RESULT_CAP : CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_sweep_solve(const csim_problem *problem, const csim_solver_params *params,
                                       csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                       csim_outcome *outcome, csim_error *error) {
    const size_t vector = 3 * (size_t)problem->contact_count * sizeof(csim_real);
    const size_t bytes = csim_certificate_bytes(problem->A.n, problem->contact_count), mark = arena->used;
    csimi_sweep s;
    void *scratch;
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.problem = problem;
    s.tasks = tasks;
    s.n = problem->A.n;
    s.contact_count = problem->contact_count;
    s.cap = csimi_imax(params->max_iterations, 1);
    s.history = params->history;
    s.history_capacity = params->history ? params->history_capacity : 0;
    csimi_sweep_layout(&s, arena, s.n, s.contact_count, csimi_pieces_count(problem), csimi_sweep_window(params));
    scratch = csimi_push(arena, bytes, 1);
    if (arena->overflow)
        return csimi_fail(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes", false, 0,
                          "csim_solver_bytes of the problem's size");
    if (!csimi_sweep_takes(problem) || !csimi_bodies_open(&s.bodies, &problem->A))
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "problem.A", false, 0,
                          "for SWEEP: positive definite, in bodies of 1 to 4 neighbouring blocks");
    csimi_sweep_contacts(&s);
    csimi_sweep_free_velocity(&s);
    CSIMI_MEMCPY(s.lambda, solution->lambda, vector);
    CSIMI_MEMCPY(s.best, solution->lambda, vector);
    csimi_sweep_project(&s);
    csimi_sweep_velocities(&s);
    outcome->solver = CSIM_SOLVER_SWEEP;
    outcome->result = csimi_sweep_run(&s, params, scratch, bytes, &outcome->certificate);
    outcome->iterations = s.sweeps;
    outcome->rejections = s.rejections;
    outcome->residual = s.best_measure;
    outcome->bytes = arena->used - mark;
    if (outcome->result != CSIM_RESULT_NOT_FINITE) {
        CSIMI_MEMCPY(solution->v, s.v, 3 * (size_t)s.n * sizeof(csim_real));
        CSIMI_MEMCPY(solution->lambda, s.lambda, vector);
    }
    csimi_pop(arena, mark);
    return CSIM_OK;
}

#undef CSIMI_SWEEP_WINDOW
#undef CSIMI_SWEEP_PATIENCE
/* ==== end solve/sweep.c */

/* ==== begin solve/delassus.c ==================================================================================== */
/* solve/delassus: the impulse-level problem in variables without units, and its measure; findings-impulse.md fact 1. */

CSIMI_FN void csimi_delassus_layout(csimi_delassus *W, csimi_arena *arena, int contacts) {
    const size_t vector = 3 * (size_t)contacts;
    W->contacts = contacts;
    W->laws = CSIMI_PUSH(arena, csim_contact, contacts);
    W->scale = CSIMI_PUSH(arena, csim_real, contacts);
    W->q = CSIMI_PUSH(arena, csim_real, vector);
    W->diagonal = CSIMI_PUSH(arena, csim_real, 3 * vector);
    W->raw = CSIMI_PUSH(arena, csim_real, vector);
    W->scratch = CSIMI_PUSH(arena, csim_real, vector);
    W->norms = CSIMI_PUSH(arena, csim_real, contacts);
}

/* ---- variables without units */

static void csimi_delassus_law(csim_contact *law, csim_real s) {
    int k;
    for (k = 0; k < 2; ++k) law->omega[k] *= s * s;
    for (k = 0; k < 3; ++k) {
        law->lo[k] /= s;
        law->hi[k] /= s;
    }
}

CSIMI_FN bool csimi_delassus_scale(csimi_delassus *W, const csim_real *q) {
    csim_real most = 0, least = CSIMI_HUGE;
    int c, k;
    for (c = 0; c < W->contacts; ++c) {
        csim_real *D = W->diagonal + 9 * (ptrdiff_t)c, s;
        const csim_real trace = D[0] + D[4] + D[8];
        if (!(trace > 0 && trace < CSIMI_HUGE) || !csimi_all_finite(D, 9)) return false;
        most = csimi_max(most, trace);
        least = csimi_min(least, trace);
        W->scale[c] = s = CSIMI_SQRT(3 / trace);
        for (k = 0; k < 9; ++k) D[k] *= s * s;
        for (k = 0; k < 3; ++k) W->q[3 * (ptrdiff_t)c + k] = s * q[3 * (ptrdiff_t)c + k];
        csimi_delassus_law(W->laws + c, s);
    }
    W->each = W->contacts > 0 && most > 100 * least;
    return csimi_all_finite(W->q, 3 * W->contacts);
}

CSIMI_FN void csimi_delassus_enter(const csimi_delassus *W, csim_real *r) {
    int i;
    for (i = 0; i < 3 * W->contacts; ++i) r[i] /= W->scale[i / 3];
}

CSIMI_FN void csimi_delassus_leave(const csimi_delassus *W, csim_real *r) {
    int i;
    for (i = 0; i < 3 * W->contacts; ++i) r[i] *= W->scale[i / 3];
}

CSIMI_FN void csimi_delassus_product(csimi_delassus *W, const csim_real *r, csim_real *u) {
    int i;
    for (i = 0; i < 3 * W->contacts; ++i) W->scratch[i] = W->scale[i / 3] * r[i];
    W->product(W, W->scratch, u);
    for (i = 0; i < 3 * W->contacts; ++i) u[i] *= W->scale[i / 3];
    ++W->products;
}

CSIMI_FN void csimi_delassus_velocity(csimi_delassus *W, const csim_real *r, csim_real *u) {
    int i;
    csimi_delassus_product(W, r, u);
    for (i = 0; i < 3 * W->contacts; ++i) u[i] += W->q[i];
}

/* ---- row by row */

CSIMI_FN void csimi_delassus_begin(csimi_delassus *W, const csim_real *r) {
    int i;
    for (i = 0; i < 3 * W->contacts; ++i) W->raw[i] = W->scale[i / 3] * r[i];
    if (W->begin) W->begin(W);
}

CSIMI_FN void csimi_delassus_row(csimi_delassus *W, int c, csim_real *u) {
    const csim_real s = W->scale[c], *q = W->q + 3 * (ptrdiff_t)c;
    W->row(W, c, u);
    u[0] = s * u[0] + q[0];
    u[1] = s * u[1] + q[1];
    u[2] = s * u[2] + q[2];
}

CSIMI_FN void csimi_delassus_change(csimi_delassus *W, int c, const csim_real *old, const csim_real *now) {
    const csim_real s = W->scale[c];
    csim_real *raw = W->raw + 3 * (ptrdiff_t)c, difference[3];
    int k;
    for (k = 0; k < 3; ++k) {
        raw[k] = s * now[k];
        difference[k] = s * (now[k] - old[k]);
    }
    if (W->change) W->change(W, c, difference);
}

/* ---- the three forms of the public problem */

static void csimi_delassus_rows_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    csimi_product((const csim_block_matrix *)W->from, x, y, W->tasks);
}

static void csimi_delassus_rows_row(csimi_delassus *W, int c, csim_real *u) {
    const csim_real *y = W->scratch + 3 * (ptrdiff_t)c;
    csimi_product_rows((const csim_block_matrix *)W->from, W->raw, W->scratch, c, c + 1);
    u[0] = y[0];
    u[1] = y[1];
    u[2] = y[2];
}

static csim_real csimi_delassus_dense_dot(int count, const csim_real *CSIMI_RESTRICT a,
                                          const csim_real *CSIMI_RESTRICT b) {
    csim_real s0 = 0, s1 = 0, s2 = 0;
    int i;
    for (i = 0; i < count; i += 3) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
    }
    return s0 + s1 + s2;
}

static void csimi_delassus_dense_rows(const csimi_delassus *W, int c, const csim_real *x, csim_real *u) {
    const csim_real *dense = (const csim_real *)W->from;
    const int n = 3 * W->contacts;
    int k;
    for (k = 0; k < 3; ++k) u[k] = csimi_delassus_dense_dot(n, dense + (size_t)(3 * c + k) * (size_t)n, x);
}

static void csimi_delassus_dense_row(csimi_delassus *W, int c, csim_real *u) {
    csimi_delassus_dense_rows(W, c, W->raw, u);
}

static void csimi_delassus_dense_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    int c;
    for (c = 0; c < W->contacts; ++c) csimi_delassus_dense_rows(W, c, x, y + 3 * (ptrdiff_t)c);
}

static void csimi_delassus_user_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    const csim_impulse_problem *p = (const csim_impulse_problem *)W->from;
    p->product(p->user, x, y);
}

CSIMI_FN void csimi_delassus_dense(csimi_delassus *W, const csim_real *dense) {
    W->from = (void *)(uintptr_t)dense; /* never written through */
    W->rows = true;
    W->begin = NULL;
    W->change = NULL;
    W->product = csimi_delassus_dense_product;
    W->row = csimi_delassus_dense_row;
}

static void csimi_delassus_source(csimi_delassus *W, const csim_impulse_problem *p) {
    W->rows = !p->product;
    W->begin = NULL;
    W->change = NULL;
    if (p->W) {
        W->from = (void *)(uintptr_t)p->W; /* never written through */
        W->product = csimi_delassus_rows_product;
        W->row = csimi_delassus_rows_row;
    } else if (p->dense) {
        csimi_delassus_dense(W, p->dense);
    } else {
        W->from = (void *)(uintptr_t)p;
        W->product = csimi_delassus_user_product;
        W->row = NULL;
    }
}

static void csimi_delassus_block(const csim_impulse_problem *p, int c, csim_real *D) {
    const size_t n = 3 * (size_t)p->contact_count;
    const csim_real *block;
    int k;
    if (p->dense) {
        for (k = 0; k < 9; ++k) D[k] = p->dense[((size_t)(3 * c) + (size_t)(k / 3)) * n + (size_t)(3 * c + k % 3)];
        return;
    }
    block = p->W ? p->W->val + 9 * (ptrdiff_t)p->W->diag[c] : p->diagonal + 9 * (ptrdiff_t)c;
    for (k = 0; k < 9; ++k) D[k] = block[k];
}

CSIMI_FN bool csimi_delassus_open(csimi_delassus *W, const csim_impulse_problem *p) {
    int c;
    csimi_delassus_source(W, p);
    W->products = 0;
    for (c = 0; c < p->contact_count; ++c) {
        csim_contact *law = W->laws + c;
        csimi_delassus_block(p, c, W->diagonal + 9 * (ptrdiff_t)c);
        if (p->contacts) {
            *law = p->contacts[c];
        } else {
            CSIMI_MEMSET(law, 0, sizeof *law);
            law->law = CSIM_LAW_STRICT;
            law->mu[0] = law->mu[1] = p->mu[c];
        }
    }
    return csimi_delassus_scale(W, p->q);
}

/* ---- the measure */

CSIMI_FN void csimi_delassus_project(const csimi_delassus *W, csim_real *r) {
    int c;
    for (c = 0; c < W->contacts; ++c) {
        const csim_contact *law = W->laws + c;
        csim_real *x = r + 3 * (ptrdiff_t)c;
        if (law->law == CSIM_LAW_STRICT || law->law == CSIM_LAW_INVERTIBLE)
            csim_project_cone(law->mu[0], x, x);
        else
            csim_project(law, 1, x, x);
    }
}

CSIMI_FN void csimi_delassus_residual(const csimi_delassus *W, int c, const csim_real *r, const csim_real *u,
                                      csim_real *residual) {
    const csim_contact *law = W->laws + c;
    const bool strict = law->law == CSIM_LAW_STRICT || law->law == CSIM_LAW_INVERTIBLE;
    csim_real w[3], x[3], y[3];
    int k;
    for (k = 0; k < 3; ++k) {
        w[k] = u[k];
        if (law->law == CSIM_LAW_INVERTIBLE) w[k] += law->omega[k > 0] * r[k];
    }
    if (strict) w[0] += law->mu[0] * CSIMI_SQRT(w[1] * w[1] + w[2] * w[2]);
    for (k = 0; k < 3; ++k) x[k] = r[k] - w[k];
    if (strict) {
        csim_project_cone(law->mu[0], x, y);
    } else if (law->law == CSIM_LAW_ANISOTROPIC) { /* the ellipse of the impulse at hand, as in the certificate */
        const csim_real normal = csimi_max(r[0], 0);
        y[0] = csimi_max(x[0], 0);
        csim_project_ellipse(law->mu[0] * normal, law->mu[1] * normal, x + 1, y + 1);
    } else {
        csim_project(law, 1, x, y);
    }
    for (k = 0; k < 3; ++k) residual[k] = r[k] - y[k];
}

static double csimi_delassus_norm2(const csim_real *x) {
    return (double)x[0] * (double)x[0] + (double)x[1] * (double)x[1] + (double)x[2] * (double)x[2];
}

/* Worst residual of a contact over the larger of its own impulse, the median one and what rounding leaves of the
   largest, all raw; scratch holds the raw norms of the residuals. */
static double csimi_delassus_worst(csimi_delassus *W, const csim_real *r) {
    const csim_real noise = CSIM_R(1e5) * CSIMI_EPS;
    csim_real most = 0, floor;
    double worst = 0;
    int c;
    for (c = 0; c < W->contacts; ++c) {
        W->norms[c] = W->scale[c] * (csim_real)csimi_sqrt64(csimi_delassus_norm2(r + 3 * (ptrdiff_t)c));
        most = csimi_max(most, W->norms[c]);
    }
    floor = csimi_max(csimi_median(W->norms, W->contacts), csimi_max(noise * most, CSIMI_TINY));
    for (c = 0; c < W->contacts; ++c) {
        const double own = (double)W->scale[c] * csimi_sqrt64(csimi_delassus_norm2(r + 3 * (ptrdiff_t)c));
        const double figure = (double)W->scratch[c] / (own > (double)floor ? own : (double)floor);
        if (figure > worst) worst = figure;
    }
    return worst;
}

CSIMI_FN double csimi_delassus_measure(csimi_delassus *W, const csim_real *r, csim_real *u, bool velocity) {
    double sum = 0, size = 0;
    int c;
    if (!velocity) csimi_delassus_velocity(W, r, u);
    for (c = 0; c < W->contacts; ++c) {
        const double s = (double)W->scale[c];
        csim_real residual[3];
        double own;
        csimi_delassus_residual(W, c, r + 3 * (ptrdiff_t)c, u + 3 * (ptrdiff_t)c, residual);
        own = s * s * csimi_delassus_norm2(residual);
        W->scratch[c] = (csim_real)csimi_sqrt64(own);
        sum += own;
        size += s * s * csimi_delassus_norm2(r + 3 * (ptrdiff_t)c);
    }
    if (!(sum < 1e300 && size < 1e300)) return W->natural = W->contact = 1e300;
    W->natural = size > 0 ? csimi_sqrt64(sum / size) : sum > 0 ? 1 : 0;
    W->contact = W->contacts > 0 && size > 0 ? csimi_delassus_worst(W, r) : W->natural;
    return W->each && W->contact > W->natural ? W->contact : W->natural;
}
/* ==== end solve/delassus.c */

/* ==== begin solve/cascade.c ===================================================================================== */
/* solve/cascade: impulses by exact sweeps, Anderson's acceleration, a Newton burst and a proximal loop, on vectors
   alone; findings-impulse.md, recommended cascade. Where W can be read row by row a sweep is Gauss-Seidel with the
   exact solution of one contact; where W is only a product it is the same with every contact solved at once against
   sigma I >= W / 1.5 in the place of its diagonal block (the step of COND on impulses). The stages:
     1  accelerated sweeps, while they halve the measure
     2  a burst of Newton's method on the Fischer-Burmeister equations (solve/fischer.c)
     3  a proximal loop: W + eps I solved around the last answer, eps as small as the sweeps inside bear
   Each stage starts from the best impulses seen. */

#define CSIMI_CASCADE_WINDOW 20
#define CSIMI_CASCADE_PATIENCE 100 /* sweeps without a halving */
#define CSIMI_CASCADE_INNER 200    /* sweeps of one proximal step */

typedef struct csimi_cascade {
    csimi_impulse_run *run;
    csimi_delassus *W;
    int length; /* 3 contacts */
    csimi_local *local;
    csim_real *r;                          /* of the run */
    csim_real *best, *centre, *u, *metric; /* [length]; metric is 1 */
    csim_real sigma;                       /* the diagonal that stands in for W where it has no rows */
    csimi_anderson anderson;
    double measure, best_measure;
    int sweeps, cap;
    bool broken; /* a sweep made a NaN or an infinity */
} csimi_cascade;

static int csimi_cascade_window(const csim_solver_params *params) {
    return params->window > 0 ? params->window : CSIMI_CASCADE_WINDOW;
}

static void csimi_cascade_layout(csimi_cascade *s, csimi_arena *arena, int contacts, int window) {
    const size_t vector = 3 * (size_t)contacts;
    s->local = CSIMI_PUSH(arena, csimi_local, contacts);
    s->best = CSIMI_PUSH(arena, csim_real, vector);
    s->centre = CSIMI_PUSH(arena, csim_real, vector);
    s->u = CSIMI_PUSH(arena, csim_real, vector);
    s->metric = CSIMI_PUSH(arena, csim_real, vector);
    csimi_anderson_layout(&s->anderson, arena, 3 * contacts, window);
}

CSIMI_FN size_t csimi_cascade_bytes(int contacts, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_cascade s;
    csimi_cascade_layout(&s, &arena, contacts, csimi_cascade_window(params));
    return arena.high;
}

/* ---- a sweep */

/* Solves contact c given its velocity u; the proximal term extra (r - centre) is part of the model. */
static void csimi_cascade_contact(csimi_cascade *s, int c, csim_real *u, csim_real *next) {
    csimi_local *local = s->local + c;
    const csim_real *r = s->r + 3 * (ptrdiff_t)c, *centre = s->centre + 3 * (ptrdiff_t)c, *W = local->W;
    u[0] -= W[0] * r[0] + W[1] * r[1] + W[2] * r[2] + local->extra * centre[0];
    u[1] -= W[1] * r[0] + W[3] * r[1] + W[4] * r[2] + local->extra * centre[1];
    u[2] -= W[2] * r[0] + W[4] * r[1] + W[5] * r[2] + local->extra * centre[2];
    csimi_local_solve(local, u, next);
}

static void csimi_cascade_rows(csimi_cascade *s) {
    int c, k;
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real *r = s->r + 3 * (ptrdiff_t)c, u[3], next[3];
        csimi_delassus_row(s->W, c, u);
        csimi_cascade_contact(s, c, u, next);
        if (!(csimi_abs(next[0] - r[0]) + csimi_abs(next[1] - r[1]) + csimi_abs(next[2] - r[2]) <= 0))
            csimi_delassus_change(s->W, c, r, next);
        for (k = 0; k < 3; ++k) r[k] = next[k];
    }
}

static void csimi_cascade_all(csimi_cascade *s) {
    int c, k;
    csimi_delassus_velocity(s->W, s->r, s->u);
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real next[3];
        csimi_cascade_contact(s, c, s->u + 3 * (ptrdiff_t)c, next);
        for (k = 0; k < 3; ++k) s->r[3 * (ptrdiff_t)c + k] = next[k];
    }
}

static void csimi_cascade_pass(csimi_cascade *s) {
    if (s->W->rows)
        csimi_cascade_rows(s);
    else
        csimi_cascade_all(s);
    ++s->sweeps;
}

/* ---- the best impulses */

static void csimi_cascade_keep(csimi_cascade *s) {
    s->measure = csimi_delassus_measure(s->W, s->r, s->u, false);
    if (!(s->measure < s->best_measure)) return;
    s->best_measure = s->measure;
    CSIMI_MEMCPY(s->best, s->r, (size_t)s->length * sizeof *s->best);
}

static void csimi_cascade_restore(csimi_cascade *s) {
    CSIMI_MEMCPY(s->r, s->best, (size_t)s->length * sizeof *s->best);
    csimi_delassus_begin(s->W, s->r);
}

static bool csimi_cascade_done(const csimi_cascade *s) {
    return s->best_measure <= s->run->target || s->sweeps >= s->cap || s->broken;
}

/* Local models for W + eps I. */
static void csimi_cascade_prepare(csimi_cascade *s, double eps) {
    int c;
    for (c = 0; c < s->W->contacts; ++c) {
        csimi_local *local = s->local + c;
        csimi_local_prepare(local, s->W->laws + c, (csim_real)eps);
    }
}

/* ---- stages */

/* One sweep whose change goes into the next slot of the ring: f = g - r, p = g. Returns |f|. */
static double csimi_cascade_record(csimi_cascade *s) {
    csim_real *f, *p;
    int i;
    csimi_anderson_slot(&s->anderson, &f, &p);
    CSIMI_MEMCPY(f, s->r, (size_t)s->length * sizeof *f);
    csimi_cascade_pass(s);
    for (i = 0; i < s->length; ++i) {
        f[i] = s->r[i] - f[i];
        p[i] = s->r[i];
    }
    return csimi_sqrt64(csimi_sum_dot(s->length, f, f));
}

static void csimi_cascade_extrapolate(csimi_cascade *s) {
    csimi_anderson_step(&s->anderson, s->metric, s->r, s->W->tasks);
    if (s->anderson.count < 2) return;
    csimi_delassus_project(s->W, s->r);
    csimi_delassus_begin(s->W, s->r);
}

/* Distance of r from the centre of the proximal step. */
static double csimi_cascade_travel(const csimi_cascade *s) {
    double sum = 0;
    int i;
    for (i = 0; i < s->length; ++i) {
        const double way = (double)s->r[i] - (double)s->centre[i];
        sum += way * way;
    }
    return csimi_sqrt64(sum);
}

/* Accelerated sweeps. eps 0: until measured good, or no halving of the measure for budget sweeps. eps > 0: one proximal
   step, until the change of a sweep is small against eps times the way from the centre, or budget sweeps. Ends on a
   plain sweep, never on an extrapolation. Returns the number of sweeps; false in *settled when it gave up. */
static int csimi_cascade_accelerated(csimi_cascade *s, double eps, int budget, bool *settled) {
    double least = (double)CSIMI_HUGE, halved = s->best_measure;
    int count = 0, since = 0;
    csimi_anderson_clear(&s->anderson);
    for (*settled = false;;) {
        const double change = csimi_cascade_record(s);
        ++count;
        ++since;
        s->broken = !(change < (double)CSIMI_HUGE);
        if (s->broken) break;
        if (s->sweeps == 1 || s->sweeps % 2 == 0) csimi_cascade_keep(s);
        csimi_impulse_log(s->run, s->sweeps, s->measure);
        if (csimi_cascade_done(s)) break;
        if (s->best_measure < 0.5 * halved) {
            halved = s->best_measure;
            since = 0;
        }
        if (eps > 0 ? count >= budget : since >= budget) break;
        if (eps > 0 && change < 0.2 * eps * csimi_cascade_travel(s)) {
            *settled = true;
            break;
        }
        if (change > 1.5 * least) { /* the extrapolation did harm: forget it */
            csimi_anderson_clear(&s->anderson);
            least = (double)CSIMI_HUGE;
            ++s->run->outcome->rejections;
        } else {
            if (change < least) least = change;
            csimi_cascade_extrapolate(s);
        }
    }
    return count;
}

static void csimi_cascade_loop(csimi_cascade *s) {
    double eps = 1e-2;
    csimi_cascade_restore(s);
    while (!csimi_cascade_done(s)) {
        bool settled;
        int count;
        CSIMI_MEMCPY(s->centre, s->r, (size_t)s->length * sizeof *s->centre);
        csimi_cascade_prepare(s, eps);
        count = csimi_cascade_accelerated(s, eps, CSIMI_CASCADE_INNER, &settled);
        if (!settled)
            eps = eps * 3 < 1 ? eps * 3 : 1;
        else if (count < CSIMI_CASCADE_INNER / 3)
            eps *= 0.1;
        else if (count < 2 * CSIMI_CASCADE_INNER / 3)
            eps *= 0.3;
        if (eps < 1e-9) eps = 1e-9;
    }
    csimi_cascade_prepare(s, 0);
}

/* ---- the solvers */

/* Largest stretch of W by a few power steps, and with it sigma; from a start that no symmetry of the problem shares. */
static void csimi_cascade_spectrum(csimi_cascade *s) {
    csim_real *x = s->centre, *y = s->u;
    double sigma = 1;
    int step, i;
    for (i = 0; i < s->length; ++i) x[i] = CSIM_R(1 + (i * 7919) % 101) / 101;
    for (step = 0; step < 12; ++step) {
        const double size = csimi_sqrt64(csimi_sum_dot(s->length, x, x));
        csimi_delassus_product(s->W, x, y);
        sigma = csimi_sqrt64(csimi_sum_dot(s->length, y, y)) / size;
        if (!(sigma > 0 && sigma < 1e300)) break;
        for (i = 0; i < s->length; ++i) x[i] = y[i] / (csim_real)(sigma * size);
    }
    s->sigma = sigma > 0 && sigma < 1e300 ? (csim_real)(sigma / 1.5) : 1;
}

static void csimi_cascade_open(csimi_cascade *s, csimi_impulse_run *run) {
    int c, k;
    CSIMI_MEMSET(s, 0, sizeof *s);
    s->run = run;
    s->W = run->W;
    s->length = 3 * run->W->contacts;
    s->r = run->r;
    s->cap = run->params->max_iterations;
    s->measure = s->best_measure = (double)CSIMI_HUGE;
    csimi_cascade_layout(s, run->arena, run->W->contacts, csimi_cascade_window(run->params));
    if (!s->W->rows) csimi_cascade_spectrum(s);
    for (c = 0; c < s->W->contacts; ++c) {
        csim_real D[9];
        for (k = 0; k < 9; ++k) D[k] = s->W->rows ? s->W->diagonal[9 * (ptrdiff_t)c + k] : k % 4 == 0 ? s->sigma : 0;
        csimi_local_set(s->local + c, D);
        s->local[c].z = 0;
    }
    for (k = 0; k < s->length; ++k) {
        s->metric[k] = 1;
        s->centre[k] = 0;
    }
    csimi_cascade_prepare(s, 0);
    CSIMI_MEMCPY(s->best, s->r, (size_t)s->length * sizeof *s->best);
    csimi_delassus_project(s->W, s->r);
    csimi_delassus_begin(s->W, s->r);
}

static bool csimi_cascade_close(csimi_cascade *s) {
    CSIMI_MEMCPY(s->r, s->best, (size_t)s->length * sizeof *s->best);
    s->run->outcome->iterations += s->sweeps;
    s->run->outcome->residual = s->best_measure;
    return s->best_measure < (double)CSIMI_HUGE;
}

CSIMI_FN bool csimi_cascade_solve(csimi_impulse_run *run) {
    csimi_cascade s;
    bool settled;
    csimi_cascade_open(&s, run);
    csimi_cascade_accelerated(&s, 0, CSIMI_CASCADE_PATIENCE, &settled);
    if (!csimi_cascade_done(&s)) csimi_cascade_loop(&s);
    return csimi_cascade_close(&s);
}

CSIMI_FN bool csimi_cascade_anderson(csimi_impulse_run *run) {
    csimi_cascade s;
    bool settled;
    csimi_cascade_open(&s, run);
    csimi_cascade_accelerated(&s, 0, 1000, &settled);
    return csimi_cascade_close(&s);
}

CSIMI_FN bool csimi_cascade_proximal(csimi_impulse_run *run) {
    csimi_cascade s;
    csimi_cascade_open(&s, run);
    csimi_cascade_loop(&s);
    return csimi_cascade_close(&s);
}

#undef CSIMI_CASCADE_WINDOW
#undef CSIMI_CASCADE_PATIENCE
#undef CSIMI_CASCADE_INNER
/* ==== end solve/cascade.c */

/* ==== begin solve/impulse.c ===================================================================================== */
/* solve/impulse: the public door to the solvers of the impulse level. */

/* The solver that AUTO stands for: docs/solvers.md gives the rule and the table behind it. */
static csim_solver csimi_impulse_choice(const csim_solver_params *params) {
    return params->solver == CSIM_SOLVER_AUTO ? CSIM_SOLVER_SWEEP : params->solver;
}

static bool csimi_impulse_known(const csim_solver_params *params) {
    return (int)params->solver >= 0 && (int)params->solver < CSIM_SOLVER_COUNT_ &&
           csimi_solver_table()[csimi_impulse_choice(params)].impulse;
}

/* W, one vector of velocities, and the solver's own. */
static csim_real *csimi_impulse_layout(csimi_delassus *W, csimi_arena *arena, int contacts) {
    csimi_delassus_layout(W, arena, contacts);
    return CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
}

CSIM_API size_t csim_impulse_bytes(const csim_impulse_problem *problem, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_delassus W;
    if (!problem || !params || problem->contact_count < 0 || !csimi_impulse_known(params)) return 0;
    (void)csimi_impulse_layout(&W, &arena, problem->contact_count);
    csimi_push(&arena, csimi_solver_table()[csimi_impulse_choice(params)].impulse_bytes(problem->contact_count, params),
               1);
    return arena.overflow ? SIZE_MAX : arena.high + 64;
}

CSIM_API csim_solver_info csim_describe_solver(csim_solver solver) {
#define CSIMI_X(name, value, text) text,
    static const char *const text[CSIM_SOLVER_COUNT_] = {CSIM_SOLVER_LIST(CSIMI_X)};
#undef CSIMI_X
    csim_solver_info info;
    CSIMI_MEMSET(&info, 0, sizeof info);
    if ((int)solver >= 0 && solver < CSIM_SOLVER_COUNT_) {
        const csimi_solver_entry *entry = csimi_solver_table() + solver;
        info.name = entry->name;
        info.text = text[solver];
        info.velocity = entry->solve || solver == CSIM_SOLVER_AUTO;
        info.impulse = entry->impulse || solver == CSIM_SOLVER_AUTO;
        info.rows = entry->rows;
    }
    return info;
}

CSIMI_FN void csimi_impulse_log(const csimi_impulse_run *run, int iteration, double measure) {
    const csim_solver_params *p = run->params;
    if (p->history && iteration > 0 && iteration <= p->history_capacity) p->history[iteration - 1] = measure;
}

/* ---- is it a problem? */

static csim_status csimi_impulse_null(csim_error *error, const char *name) {
    return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_impulse_solve", name, false, 0, "a pointer");
}

static csim_status csimi_impulse_bad(csim_error *error, const char *field, double value, const char *allowed) {
    return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_impulse_solve", field, true, value, allowed);
}

static csim_status csimi_impulse_check_rows(const csim_impulse_problem *p, csim_error *error) {
    const csim_block_matrix *W = p->W;
    int c, k;
    if (W->n != p->contact_count) return csimi_impulse_bad(error, "problem.W.n", W->n, "contact_count");
    if (!W->row || !W->col || !W->diag || !W->val) return csimi_impulse_null(error, "problem.W's arrays");
    if (W->row[0] != 0) return csimi_impulse_bad(error, "problem.W.row[0]", W->row[0], "0");
    for (c = 0; c < W->n; ++c) {
        if (W->row[c + 1] <= W->row[c])
            return csimi_impulse_bad(error, "problem.W.row", W->row[c + 1], "ascending: no row is empty");
        if (W->diag[c] < W->row[c] || W->diag[c] >= W->row[c + 1] || W->col[W->diag[c]] != c)
            return csimi_impulse_bad(error, "problem.W.diag", W->diag[c], "the index of block (c, c)");
        for (k = W->row[c]; k < W->row[c + 1]; ++k)
            if (W->col[k] < 0 || W->col[k] >= W->n)
                return csimi_impulse_bad(error, "problem.W.col", W->col[k], "0 to contact_count - 1");
    }
    return CSIM_OK;
}

static csim_status csimi_impulse_check_laws(const csim_impulse_problem *p, csim_error *error) {
    csim_status status = CSIM_OK;
    int c;
    for (c = 0; c < p->contact_count && status == CSIM_OK; ++c) {
        if (p->contacts)
            status = csimi_check_contact_law(p->contacts + c, c, error);
        else if (!csimi_finite(p->mu[c]))
            return CSIM_NOT_FINITE;
        else if (p->mu[c] < 0)
            status = csimi_impulse_bad(error, "problem.mu", (double)p->mu[c], "0 or more");
    }
    return status;
}

static csim_status csimi_impulse_check(const csim_impulse_problem *p, csim_error *error) {
    const int forms = (p->W != NULL) + (p->dense != NULL) + (p->product != NULL);
    csim_status status = CSIM_OK;
    if (p->contact_count < 0) return csimi_impulse_bad(error, "problem.contact_count", p->contact_count, "0 or more");
    if (p->contact_count == 0) return CSIM_OK;
    if (!p->q) return csimi_impulse_null(error, "problem.q");
    if (!p->mu == !p->contacts) return csimi_impulse_bad(error, "problem.mu", 0, "either mu or contacts, not both");
    if (forms != 1) return csimi_impulse_bad(error, "forms of problem.W", forms, "one of W, dense, product");
    if (p->product && !p->diagonal) return csimi_impulse_null(error, "problem.diagonal");
    if (p->W) status = csimi_impulse_check_rows(p, error);
    return status == CSIM_OK ? csimi_impulse_check_laws(p, error) : status;
}

/* A diagonal block without a positive trace, though all its numbers are finite. */
static bool csimi_impulse_flat(const csim_impulse_problem *p, const csimi_delassus *W) {
    int c;
    for (c = 0; c < p->contact_count; ++c) {
        const csim_real *D = W->diagonal + 9 * (ptrdiff_t)c;
        if (!csimi_all_finite(D, 9)) return false;
        if (!(D[0] + D[4] + D[8] > 0)) return true;
    }
    return false;
}

/* ---- solving */

/* Figures of the certificate that need no bodies, in raw units, from r and u = W r + q in the variables of W. */
static void csimi_impulse_certify(const csimi_delassus *W, const csim_real *r, const csim_real *u,
                                  csim_certificate *f) {
    int c;
    f->contact = W->contact;
    f->natural_map_scaled = W->natural;
    for (c = 0; c < W->contacts; ++c) {
        const csim_contact *law = W->laws + c;
        const double s = (double)W->scale[c], mu = (double)law->mu[0];
        const csim_real *R = r + 3 * (ptrdiff_t)c, *U = u + 3 * (ptrdiff_t)c;
        const double rt = csimi_sqrt64((double)R[1] * (double)R[1] + (double)R[2] * (double)R[2]);
        const double ut = csimi_sqrt64((double)U[1] * (double)U[1] + (double)U[2] * (double)U[2]);
        const double power =
            (mu * (double)csimi_max(R[0], 0) * ut + (double)R[1] * (double)U[1] + (double)R[2] * (double)U[2]);
        const double work = (double)csimi_abs(R[0] * U[0]), over = s * (rt - mu * (double)R[0]);
        if (law->law == CSIM_LAW_BILATERAL || law->law == CSIM_LAW_BOX) continue;
        if (-(double)U[0] / s > f->approach) f->approach = -(double)U[0] / s;
        if (work > f->complementarity) f->complementarity = work;
        if (law->law == CSIM_LAW_ANISOTROPIC) continue;
        if (over > f->cone) f->cone = over;
        if ((power < 0 ? -power : power) > f->dissipation_power) f->dissipation_power = power < 0 ? -power : power;
    }
}

CSIMI_FN bool csimi_impulse_run_solver(csimi_delassus *W, const csim_solver_params *params, double target,
                                       csimi_arena *arena, csim_real *r, csim_real *u, csim_outcome *outcome) {
    const size_t mark = arena->used;
    csimi_impulse_run run;
    bool ok;
    run.W = W;
    run.params = params;
    run.arena = arena;
    run.r = r;
    run.target = target;
    run.outcome = outcome;
    ok = csimi_solver_table()[csimi_impulse_choice(params)].impulse(&run) && csimi_all_finite(r, 3 * W->contacts);
    csimi_pop(arena, mark);
    if (!ok) return false;
    outcome->residual = csimi_delassus_measure(W, r, u, false);
    return outcome->residual < 1e300;
}

static csim_status csimi_impulse_begin(const csim_impulse_problem *problem, const csim_solver_params *params,
                                       csimi_delassus *W, csim_outcome *outcome, csim_error *error) {
    CSIMI_MEMSET(outcome, 0, sizeof *outcome);
    outcome->result = CSIM_RESULT_NOT_FINITE;
    outcome->solver = csimi_impulse_choice(params);
    outcome->certificate.worst_contact = -1;
    if (csimi_solver_table()[outcome->solver].rows && problem->product)
        return csimi_impulse_bad(error, "params.solver", (double)(int)params->solver,
                                 "a solver that needs no rows of W, as csim_describe_solver says");
    if (problem->contact_count > 0 && !csimi_delassus_open(W, problem))
        return csimi_impulse_flat(problem, W)
                   ? csimi_impulse_bad(error, "trace of a diagonal block of problem.W", 0, "greater than 0")
                   : CSIM_NOT_FINITE;
    return CSIM_OK;
}

CSIM_API csim_status csim_impulse_solve(const csim_impulse_problem *problem, const csim_solver_params *params,
                                        void *workspace, size_t workspace_bytes, const csim_tasks *tasks, csim_real *r,
                                        csim_outcome *outcome, csim_error *error) {
    csimi_arena arena = csimi_arena_in(workspace, workspace_bytes);
    csimi_delassus W;
    csim_real *u;
    csim_status status;
    if (!problem) return csimi_impulse_null(error, "problem");
    if (!params) return csimi_impulse_null(error, "params");
    if (!workspace) return csimi_impulse_null(error, "workspace");
    if (!r || !outcome) return csimi_impulse_null(error, r ? "outcome" : "r");
    status = csimi_solver_check(params, error);
    if (status != CSIM_OK) return status;
    if (!csimi_impulse_known(params))
        return csimi_impulse_bad(error, "params.solver", (double)(int)params->solver,
                                 "a solver of the impulse level, as csim_describe_solver says");
    if (workspace_bytes < csim_impulse_bytes(problem, params))
        return csimi_fail(error, CSIM_CAPACITY, "csim_impulse_solve", "workspace_bytes", true, (double)workspace_bytes,
                          "csim_impulse_bytes of the problem");
    CSIMI_MEMSET(&W, 0, sizeof W);
    u = csimi_impulse_layout(&W, &arena, problem->contact_count);
    W.tasks = tasks;
    status = csimi_impulse_check(problem, error);
    if (status == CSIM_OK) status = csimi_impulse_begin(problem, params, &W, outcome, error);
    if (status == CSIM_NOT_FINITE || (status == CSIM_OK && !csimi_all_finite(r, 3 * problem->contact_count))) {
        outcome->result = CSIM_RESULT_NOT_FINITE; /* an outcome, as in csim_problem_solve */
        return CSIM_OK;
    }
    if (status != CSIM_OK) return status;
    csimi_delassus_enter(&W, r);
    if (problem->contact_count > 0 &&
        !csimi_impulse_run_solver(&W, params, 0.9 * (double)params->tolerance, &arena, r, u, outcome)) {
        CSIMI_MEMSET(r, 0, 3 * (size_t)problem->contact_count * sizeof *r);
        return CSIM_OK;
    }
    csimi_impulse_certify(&W, r, u, &outcome->certificate);
    csimi_delassus_leave(&W, r);
    outcome->products = W.products;
    outcome->bytes = arena.high;
    outcome->result = outcome->residual <= (double)params->tolerance  ? CSIM_RESULT_CONVERGED
                      : outcome->iterations >= params->max_iterations ? CSIM_RESULT_CAP
                                                                      : CSIM_RESULT_STALLED;
    return CSIM_OK;
}
/* ==== end solve/impulse.c */

/* ==== begin solve/lift.c ======================================================================================== */
/* solve/lift: the door from the velocity level to the solvers of the impulse level. A problem A v = b + J' lambda
   becomes u = W lambda + q with W = J A^-1 J' and q = J A^-1 b + phi, neither formed: A^-1 is exact, body by body,
   where A is block diagonal in small bodies, and preconditioned conjugate gradients to a millionth of the tolerance (W
   enlarges errors) elsewhere. Rows of W can be read where A is block diagonal (the sweeps then carry the velocities of
   the bodies), and where there are so few contacts that W is formed all the same: a bounded number, so that memory
   stays linear. */

enum { CSIMI_LIFT_DENSE = 32 }; /* contacts up to which W is formed when A is no set of bodies: 74 kB in double */

typedef struct csimi_lift {
    const csim_problem *problem;
    const csim_tasks *tasks;
    bool direct; /* A is block diagonal in bodies */
    bool broken; /* conjugate gradients met a direction without stiffness */
    csimi_bodies bodies;
    csimi_piece *pieces;
    int *first;          /* [contacts + 1] pieces of each contact */
    csim_real *v, *load; /* [3n] A^-1 J' raw; of products */
    csim_real *krylov;   /* [21 n] */
    csim_real *dense;    /* [9 contacts^2] where W is formed */
    csim_real tolerance; /* of conjugate gradients */
    int products;        /* of A */
} csimi_lift;

static void csimi_lift_layout(csimi_lift *l, csimi_arena *arena, int n, int contacts, int terms) {
    const size_t few = (size_t)csimi_imin(contacts, CSIMI_LIFT_DENSE);
    csimi_bodies_layout(&l->bodies, arena, n);
    l->pieces = CSIMI_PUSH(arena, csimi_piece, terms);
    l->first = CSIMI_PUSH(arena, int, (size_t)contacts + 1);
    l->v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    l->load = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    l->krylov = CSIMI_PUSH(arena, csim_real, 21 * (size_t)n);
    l->dense = CSIMI_PUSH(arena, csim_real, 9 * few * few);
}

static csim_real *csimi_lift_vectors(csimi_delassus *W, csimi_lift *l, csimi_arena *arena, int n, int contacts,
                                     int terms, csim_real **u, void **scratch, size_t *bytes) {
    csim_real *r;
    csimi_lift_layout(l, arena, n, contacts, terms);
    csimi_delassus_layout(W, arena, contacts);
    r = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    *u = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    *bytes = csim_certificate_bytes(n, contacts);
    if (*bytes < 3 * (size_t)n * sizeof(double)) *bytes = 3 * (size_t)n * sizeof(double);
    *scratch = csimi_push(arena, *bytes, 1);
    return r;
}

CSIMI_FN size_t csimi_lift_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_delassus W;
    csimi_lift l;
    csim_real *u;
    void *scratch;
    size_t bytes;
    (void)csimi_lift_vectors(&W, &l, &arena, size->blocks, size->contacts, size->terms, &u, &scratch, &bytes);
    csimi_push(&arena, csimi_solver_table()[params->solver].impulse_bytes(size->contacts, params), 1);
    return arena.high;
}

/* ---- A^-1 */

/* y = A^-1 x, y in: start. */
static void csimi_lift_solve_A(csimi_lift *l, const csim_real *x, csim_real *y, csim_real tolerance) {
    const int n = l->problem->A.n;
    const int count = csimi_pcg(&l->problem->A, x, y, tolerance, 6 * n + 200, l->krylov, l->tasks);
    l->products += csimi_imax(count, 0) + 1;
    if (count < 0) l->broken = true;
}

static void csimi_lift_zero(csimi_lift *l, csim_real *x) {
    CSIMI_MEMSET(x, 0, 3 * (size_t)l->problem->A.n * sizeof *x);
}

/* g += J' x of contact c */
static void csimi_lift_scatter(const csimi_lift *l, int c, const csim_real *x, csim_real *g) {
    int k;
    for (k = l->first[c]; k < l->first[c + 1]; ++k)
        csimi_addmulT3(l->pieces[k].J, x, g + 3 * (ptrdiff_t)l->pieces[k].block);
}

static void csimi_lift_gather(const csimi_lift *l, int c, const csim_real *v, csim_real *u) {
    u[0] = u[1] = u[2] = 0;
    csimi_pieces_velocity(l->pieces + l->first[c], l->first[c + 1] - l->first[c], v, u);
}

/* y += A^-1 J' x of contact c, bodies */
static void csimi_lift_push(const csimi_lift *l, int c, const csim_real *x, csim_real *y) {
    csimi_pieces_push(&l->bodies, l->pieces + l->first[c], l->first[c + 1] - l->first[c], x, y);
}

/* ---- W for csimi_delassus, raw */

static void csimi_lift_bodies_begin(csimi_delassus *W) {
    csimi_lift *l = (csimi_lift *)W->from;
    int c;
    csimi_lift_zero(l, l->v);
    for (c = 0; c < W->contacts; ++c) csimi_lift_push(l, c, W->raw + 3 * (ptrdiff_t)c, l->v);
}

static void csimi_lift_bodies_row(csimi_delassus *W, int c, csim_real *u) {
    const csimi_lift *l = (const csimi_lift *)W->from;
    csimi_lift_gather(l, c, l->v, u);
}

static void csimi_lift_bodies_change(csimi_delassus *W, int c, const csim_real *difference) {
    csimi_lift *l = (csimi_lift *)W->from;
    csimi_lift_push(l, c, difference, l->v);
}

static void csimi_lift_bodies_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    csimi_lift *l = (csimi_lift *)W->from;
    int c;
    csimi_lift_zero(l, l->load);
    for (c = 0; c < W->contacts; ++c) csimi_lift_push(l, c, x + 3 * (ptrdiff_t)c, l->load);
    for (c = 0; c < W->contacts; ++c) csimi_lift_gather(l, c, l->load, y + 3 * (ptrdiff_t)c);
}

static void csimi_lift_krylov_product(csimi_delassus *W, const csim_real *x, csim_real *y) {
    csimi_lift *l = (csimi_lift *)W->from;
    int c;
    csimi_lift_zero(l, l->load);
    for (c = 0; c < W->contacts; ++c) csimi_lift_scatter(l, c, x + 3 * (ptrdiff_t)c, l->load);
    csimi_lift_zero(l, l->v);
    csimi_lift_solve_A(l, l->load, l->v, l->tolerance);
    for (c = 0; c < W->contacts; ++c) csimi_lift_gather(l, c, l->v, y + 3 * (ptrdiff_t)c);
}

/* Diagonal blocks by three solves a contact; with few contacts the whole of W. */
static void csimi_lift_columns(csimi_lift *l, csimi_delassus *W, bool dense) {
    const csim_real rough = dense ? l->tolerance : csimi_max(l->tolerance, CSIM_R(1e-2));
    const int nc = W->contacts;
    int c, i, k, m;
    for (c = 0; c < nc && !l->broken; ++c)
        for (k = 0; k < 3; ++k) {
            csim_real unit[3] = {0, 0, 0}, u[3];
            unit[k] = 1;
            csimi_lift_zero(l, l->load);
            csimi_lift_scatter(l, c, unit, l->load);
            csimi_lift_zero(l, l->v);
            csimi_lift_solve_A(l, l->load, l->v, rough);
            for (m = dense ? 0 : c; m < (dense ? nc : c + 1); ++m) {
                csimi_lift_gather(l, m, l->v, u);
                for (i = 0; i < 3; ++i) {
                    if (dense) l->dense[(size_t)(3 * m + i) * 3 * (size_t)nc + (size_t)(3 * c + k)] = u[i];
                    if (m == c) W->diagonal[9 * (ptrdiff_t)c + 3 * i + k] = u[i];
                }
            }
        }
}

/* ---- opening */

static void csimi_lift_bodies_open(csimi_lift *l, csimi_delassus *W) {
    int c;
    W->from = l;
    W->rows = true;
    W->begin = csimi_lift_bodies_begin;
    W->row = csimi_lift_bodies_row;
    W->change = csimi_lift_bodies_change;
    W->product = csimi_lift_bodies_product;
    for (c = 0; c < W->contacts; ++c)
        csimi_pieces_delassus(&l->bodies, l->pieces + l->first[c], l->first[c + 1] - l->first[c],
                              W->diagonal + 9 * (ptrdiff_t)c);
}

static void csimi_lift_krylov_open(csimi_lift *l, csimi_delassus *W) {
    const bool dense = W->contacts <= CSIMI_LIFT_DENSE;
    csimi_lift_columns(l, W, dense);
    if (dense) {
        csimi_delassus_dense(W, l->dense);
        return;
    }
    W->from = l;
    W->rows = false;
    W->begin = NULL;
    W->row = NULL;
    W->change = NULL;
    W->product = csimi_lift_krylov_product;
}

/* v = A^-1 b without contacts. */
static void csimi_lift_free_velocity(csimi_lift *l, csim_real *v) {
    int i;
    csimi_lift_zero(l, v);
    if (l->direct)
        for (i = 0; i < l->problem->A.n; ++i) csimi_body_push(&l->bodies, i, l->problem->b + 3 * (ptrdiff_t)i, v);
    else
        csimi_lift_solve_A(l, l->problem->b, v, l->tolerance);
}

/* W and q of the problem; false when A is not positive definite or a row of J is empty. q passes through r. */
static bool csimi_lift_open(csimi_lift *l, csimi_delassus *W, const csim_solver_params *params, csim_real *q) {
    const csim_problem *p = l->problem;
    int c, k, at = 0;
    l->direct = csimi_bodies_take(&p->A);
    l->broken = false;
    l->products = 0;
    l->tolerance = csimi_max(CSIM_R(1e-6) * params->tolerance, 64 * CSIMI_EPS);
    if (l->direct && !csimi_bodies_open(&l->bodies, &p->A)) return false;
    for (c = 0; c < W->contacts; ++c) {
        l->first[c] = at;
        at += csimi_pieces_make(p, l->direct ? &l->bodies : NULL, c, l->pieces + at);
        W->laws[c] = p->contacts[c];
    }
    l->first[W->contacts] = at;
    if (l->direct)
        csimi_lift_bodies_open(l, W);
    else
        csimi_lift_krylov_open(l, W);
    csimi_lift_free_velocity(l, l->load);
    for (c = 0; c < W->contacts; ++c) {
        csim_real *u = q + 3 * (ptrdiff_t)c;
        csimi_lift_gather(l, c, l->load, u);
        for (k = 0; k < 3; ++k) u[k] += p->contacts[c].phi[k];
    }
    if (l->broken || !csimi_delassus_scale(W, q)) return false;
    W->each = true; /* the certificate looks at each contact */
    return true;
}

/* ---- the end of a solve */

/* residual [3n] = b + J' lambda - A v, in double */
static void csimi_lift_imbalance(const csimi_lift *l, const csim_real *lambda, const csim_real *v, double *residual) {
    const csim_block_matrix *A = &l->problem->A;
    int i, k, c, r, m;
    for (i = 0; i < 3 * A->n; ++i) residual[i] = (double)l->problem->b[i];
    for (m = 0; m < l->problem->contact_count; ++m)
        for (k = l->first[m]; k < l->first[m + 1]; ++k) {
            const csim_real *J = l->pieces[k].J, *x = lambda + 3 * (ptrdiff_t)m;
            double *y = residual + 3 * (ptrdiff_t)l->pieces[k].block;
            for (i = 0; i < 3; ++i)
                y[i] += (double)J[i] * (double)x[0] + (double)J[3 + i] * (double)x[1] + (double)J[6 + i] * (double)x[2];
        }
    for (i = 0; i < A->n; ++i)
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            for (r = 0; r < 3; ++r)
                for (c = 0; c < 3; ++c)
                    residual[3 * i + r] -=
                        (double)A->val[9 * (ptrdiff_t)k + 3 * r + c] * (double)v[3 * (ptrdiff_t)A->col[k] + c];
}

/* v = A^-1 (b + J' lambda): solved twice, the second time for what the first left, so that dynamics is at rounding. */
static void csimi_lift_velocities(csimi_lift *l, const csim_real *lambda, csim_real *v, double *residual) {
    const int n = l->problem->A.n;
    int pass, i;
    csimi_lift_zero(l, v);
    for (pass = 0; pass < 2 && !l->broken; ++pass) {
        csimi_lift_imbalance(l, lambda, v, residual);
        for (i = 0; i < 3 * n; ++i) l->load[i] = (csim_real)residual[i];
        if (l->direct) {
            for (i = 0; i < n; ++i) csimi_body_push(&l->bodies, i, l->load + 3 * (ptrdiff_t)i, v);
        } else {
            csimi_lift_zero(l, l->v);
            csimi_lift_solve_A(l, l->load, l->v, l->tolerance);
            for (i = 0; i < 3 * n; ++i) v[i] += l->v[i];
        }
    }
}

CSIMI_FN bool csimi_lift_takes(const csim_problem *problem) {
    (void)problem;
    return true;
}

/* Solves, certifies, and goes on with a smaller target where the certificate is not content. lambda [3 contacts], v. */
static csim_result csimi_lift_run(csimi_lift *l, csimi_delassus *W, const csim_solver_params *params,
                                  csimi_arena *arena, csim_real *r, csim_real *u, void *scratch, size_t bytes,
                                  csim_solution *solution, csim_outcome *outcome) {
    const size_t vector = 3 * (size_t)W->contacts * sizeof *r;
    const double tolerance = (double)params->tolerance;
    double target = 0.9 * tolerance;
    int trial;
    for (trial = 0; trial < 5; ++trial, target *= 0.3) {
        if (W->contacts > 0 && !csimi_impulse_run_solver(W, params, target, arena, r, u, outcome))
            return CSIM_RESULT_NOT_FINITE;
        CSIMI_MEMCPY(solution->lambda, r, vector);
        csimi_delassus_leave(W, solution->lambda);
        csimi_lift_velocities(l, solution->lambda, solution->v, (double *)scratch);
        if (l->broken || csim_problem_certify(l->problem, solution->v, solution->lambda, scratch, bytes,
                                              &outcome->certificate) != CSIM_OK)
            return CSIM_RESULT_NOT_FINITE;
        if (outcome->certificate.dynamics <= tolerance && outcome->certificate.contact <= tolerance)
            return CSIM_RESULT_CONVERGED;
        if (outcome->iterations >= params->max_iterations || W->contacts == 0) break;
    }
    return outcome->iterations >= params->max_iterations ? CSIM_RESULT_CAP : CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_lift_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error) {
    const size_t mark = arena->used;
    csimi_lift l;
    csimi_delassus W;
    csim_real *r, *u;
    void *scratch;
    size_t bytes;
    CSIMI_MEMSET(&l, 0, sizeof l);
    CSIMI_MEMSET(&W, 0, sizeof W);
    l.problem = problem;
    l.tasks = W.tasks = tasks;
    r = csimi_lift_vectors(&W, &l, arena, problem->A.n, problem->contact_count, csimi_pieces_count(problem), &u,
                           &scratch, &bytes);
    if (arena->overflow)
        return csimi_fail(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes", false, 0,
                          "csim_solver_bytes of the problem's size");
    if (!csimi_lift_open(&l, &W, params, r))
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "problem.A", false, 0,
                          "positive definite, with every contact on blocks that can move");
    outcome->solver = params->solver;
    if (csimi_solver_table()[params->solver].rows && !W.rows)
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "params.solver", true,
                          (double)(int)params->solver, "for this solver: bodies of 1 to 4 blocks, or 32 contacts");
    CSIMI_MEMCPY(r, solution->lambda, 3 * (size_t)W.contacts * sizeof *r);
    csimi_delassus_enter(&W, r);
    outcome->result = csimi_all_finite(r, 3 * W.contacts)
                          ? csimi_lift_run(&l, &W, params, arena, r, u, scratch, bytes, solution, outcome)
                          : CSIM_RESULT_NOT_FINITE;
    outcome->products = l.products;
    outcome->bytes = arena->high - mark;
    csimi_pop(arena, mark);
    return CSIM_OK;
}
/* ==== end solve/lift.c */

/* ==== begin solve/table.c ======================================================================================= */
/* solve/table: the solvers by name, and the public door to them. */

CSIMI_FN const csimi_solver_entry *csimi_solver_table(void) {
    static const csimi_solver_entry table[CSIM_SOLVER_COUNT_] = {
        {"auto", NULL, NULL, NULL, NULL, NULL, false},
        {"cond", csimi_cond_bytes, csimi_cond_takes, csimi_cond_solve, NULL, NULL, false},
        {"sweep", csimi_sweep_bytes, csimi_sweep_takes, csimi_sweep_solve, csimi_cascade_bytes, csimi_cascade_solve,
         false},
        {"anderson", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_cascade_bytes, csimi_cascade_anderson,
         false},
        {"proximal", csimi_lift_bytes, csimi_lift_takes, csimi_lift_solve, csimi_cascade_bytes, csimi_cascade_proximal,
         false},
    };
    return table;
}

CSIM_API csim_solver_params csim_default_solver_params(void) {
    csim_solver_params p;
    CSIMI_MEMSET(&p, 0, sizeof p);
    p.solver = CSIM_SOLVER_AUTO;
    p.tolerance = CSIM_R(5e-5);
    p.max_iterations = 600;
    p.gain = CSIM_R(1e3);
    p.shift = true;
    return p;
}

CSIM_API csim_problem_size csim_problem_measure(const csim_problem *problem) {
    csim_problem_size size;
    const csim_structure *s = problem->structure;
    int m, side;
    CSIMI_MEMSET(&size, 0, sizeof size);
    size.blocks = problem->A.n;
    size.matrix_blocks = problem->A.row[problem->A.n];
    size.contacts = problem->contact_count;
    for (m = 0; m < problem->contact_count; ++m)
        for (side = 0; side < 2; ++side) {
            const int count = side ? problem->contacts[m].b.count : problem->contacts[m].a.count;
            size.terms += count <= 4 ? count : (count * count + 3) / 4;
        }
    size.aggregates = csimi_coarse_usable(s) ? s->aggregate_count : 0;
    size.links = csimi_chains_links(s);
    size.rigid = csimi_sweep_takes(problem);
    return size;
}

/* Room for a second start, and then for the better of two results. */
static csim_solution csimi_solution_push(csimi_arena *arena, int blocks, int contacts) {
    csim_solution s;
    s.v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)blocks);
    s.lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    return s;
}

/* COND is a second chance for small rigid islands only: on a pile it takes a hundred times longer than the sweeps that
   missed, and what it then returns is no better. */
enum { CSIMI_SECOND_CONTACTS = 256, CSIMI_SECOND_BLOCKS = 4 * 257 };

static bool csimi_second_chance(const csim_problem *problem) {
    return problem->contact_count <= CSIMI_SECOND_CONTACTS && problem->A.n <= CSIMI_SECOND_BLOCKS &&
           problem->A.row[problem->A.n] <= 4 * CSIMI_SECOND_BLOCKS;
}

/* The largest problem of these sizes that gets a second chance. */
static csim_problem_size csimi_second_size(const csim_problem_size *size) {
    csim_problem_size s = *size;
    s.contacts = csimi_imin(s.contacts, CSIMI_SECOND_CONTACTS);
    s.terms = csimi_imin(s.terms, 8 * CSIMI_SECOND_CONTACTS);
    s.blocks = csimi_imin(s.blocks, CSIMI_SECOND_BLOCKS);
    s.matrix_blocks = csimi_imin(s.matrix_blocks, 4 * CSIMI_SECOND_BLOCKS);
    s.aggregates = csimi_imin(s.aggregates, CSIMI_SECOND_BLOCKS);
    return s;
}

CSIM_API size_t csim_solver_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    const csimi_solver_entry *table = csimi_solver_table();
    csimi_arena arena = csimi_arena_counting();
    csim_problem_size second;
    size_t most = 0;
    int k;
    if (!size || !params) return 0;
    second = csimi_second_size(size);
    for (k = CSIM_SOLVER_COND; k < CSIM_SOLVER_COUNT_; ++k) {
        size_t bytes;
        if (params->solver == CSIM_SOLVER_AUTO ? k > CSIM_SOLVER_SWEEP : (int)params->solver != k) continue;
        if (!table[k].bytes) continue;
        if (k == CSIM_SOLVER_SWEEP && params->solver == CSIM_SOLVER_AUTO && !size->rigid) continue;
        bytes = table[k].bytes(
            k == CSIM_SOLVER_COND && params->solver == CSIM_SOLVER_AUTO && size->rigid ? &second : size, params);
        if (bytes > most) most = bytes;
    }
    if (params->solver == CSIM_SOLVER_AUTO) (void)csimi_solution_push(&arena, size->blocks, size->contacts);
    return arena.high > SIZE_MAX - 128 - most ? SIZE_MAX : arena.high + most + 64;
}

/* ---- parameters */

static csim_status csimi_solver_range(csim_error *error, const char *field, double value, const char *allowed) {
    return csimi_fail(error, CSIM_OUT_OF_RANGE, "csim_problem_solve", field, true, value, allowed);
}

CSIMI_FN csim_status csimi_solver_check(const csim_solver_params *p, csim_error *error) {
    if ((int)p->solver < 0 || (int)p->solver >= CSIM_SOLVER_COUNT_)
        return csimi_solver_range(error, "params.solver", (double)(int)p->solver, "a csim_solver");
    if (!(p->tolerance > 0 && p->tolerance <= CSIM_R(0.1)))
        return csimi_solver_range(error, "params.tolerance", (double)p->tolerance, "above 0, at most 0.1");
    if (p->max_iterations < 1 || p->max_iterations > 1000000)
        return csimi_solver_range(error, "params.max_iterations", (double)p->max_iterations, "1 to 1000000");
    if ((int)p->weight < 0 || p->weight >= CSIM_WEIGHT_COUNT_)
        return csimi_solver_range(error, "params.weight", (double)(int)p->weight, "a csim_weight");
    if ((int)p->acceleration < 0 || p->acceleration >= CSIM_ACCELERATION_COUNT_)
        return csimi_solver_range(error, "params.acceleration", (double)(int)p->acceleration, "a csim_acceleration");
    if (p->window < 0 || p->window > 32)
        return csimi_solver_range(error, "params.window", (double)p->window, "0 to 32");
    if (!(p->gain >= 1 && p->gain <= CSIM_R(1e8)))
        return csimi_solver_range(error, "params.gain", (double)p->gain, "1 to 1e8");
    if (!(p->kappa >= 0 && p->kappa < CSIMI_HUGE))
        return csimi_solver_range(error, "params.kappa", (double)p->kappa, "0 or more, kg");
    if (!(p->sigma >= 0 && p->sigma < CSIMI_HUGE))
        return csimi_solver_range(error, "params.sigma", (double)p->sigma, "0 or more");
    if (p->history_capacity < 0)
        return csimi_solver_range(error, "params.history_capacity", (double)p->history_capacity, "0 or more");
    return CSIM_OK;
}

/* ---- solving */

static void csimi_solution_copy(const csim_problem *problem, csim_solution *to, const csim_solution *from) {
    CSIMI_MEMCPY(to->v, from->v, 3 * (size_t)problem->A.n * sizeof(csim_real));
    CSIMI_MEMCPY(to->lambda, from->lambda, 3 * (size_t)problem->contact_count * sizeof(csim_real));
}

/* SWEEP where it fits, COND where it does not. Where SWEEP was not certified on a small island COND tries too, and its
   answer counts when it is certified: with virtual nodes a better figure is not yet a better motion. */
static csim_status csimi_solve_auto(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                    const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                    csim_error *error) {
    const csimi_solver_entry *table = csimi_solver_table();
    csim_outcome second;
    csim_solution other;
    csim_status status;
    size_t mark;
    if (!table[CSIM_SOLVER_SWEEP].takes(problem))
        return table[CSIM_SOLVER_COND].solve(problem, params, arena, tasks, solution, outcome, error);
    other = csimi_solution_push(arena, problem->A.n, problem->contact_count);
    if (!arena->overflow) csimi_solution_copy(problem, &other, solution);
    mark = arena->used;
    status = table[CSIM_SOLVER_SWEEP].solve(problem, params, arena, tasks, solution, outcome, error);
    if (status != CSIM_OK || outcome->result == CSIM_RESULT_CONVERGED || outcome->result == CSIM_RESULT_NOT_FINITE ||
        !csimi_second_chance(problem))
        return status;
    csimi_pop(arena, mark);
    status = table[CSIM_SOLVER_COND].solve(problem, params, arena, tasks, &other, &second, error);
    if (status != CSIM_OK) return status;
    second.iterations += outcome->iterations;
    second.products += outcome->products;
    second.rejections += outcome->rejections;
    if (second.result == CSIM_RESULT_CONVERGED) {
        csimi_solution_copy(problem, solution, &other);
        *outcome = second;
    } else {
        outcome->iterations = second.iterations;
        outcome->products = second.products;
        outcome->rejections = second.rejections;
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_problem_solve(const csim_problem *problem, const csim_solver_params *params, void *workspace,
                                        size_t workspace_bytes, const csim_tasks *tasks, csim_solution *solution,
                                        csim_outcome *outcome, csim_error *error) {
    const csimi_solver_entry *table = csimi_solver_table();
    csimi_arena arena = csimi_arena_in(workspace, workspace_bytes);
    csim_status status;
    if (!problem || !params || !workspace || !solution || !outcome)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_problem_solve",
                          !problem     ? "problem"
                          : !params    ? "params"
                          : !workspace ? "workspace"
                          : !solution  ? "solution"
                                       : "outcome",
                          false, 0, "a pointer");
    status = csimi_solver_check(params, error);
    if (status != CSIM_OK) return status;
    CSIMI_MEMSET(outcome, 0, sizeof *outcome);
    outcome->result = CSIM_RESULT_NOT_FINITE;
    outcome->solver = params->solver;
    outcome->certificate.worst_contact = -1;
    status = csim_problem_check(problem, error);
    if (status == CSIM_NOT_FINITE) return CSIM_OK; /* an outcome, not a mistake of the call: a diverged scene */
    if (status != CSIM_OK) return status;
    if (params->solver == CSIM_SOLVER_AUTO)
        return csimi_solve_auto(problem, params, &arena, tasks, solution, outcome, error);
    if (!table[params->solver].takes || !table[params->solver].takes(problem))
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "params.solver", true,
                          (double)(int)params->solver, "a solver that takes this problem; CSIM_SOLVER_AUTO finds one");
    return table[params->solver].solve(problem, params, &arena, tasks, solution, outcome, error);
}
/* ==== end solve/table.c */

/* ==== begin world/layout.c ====================================================================================== */
/* world/layout: the one routine that decides where everything of a world lies, and what follows from it: the three
   doors, growth, and removal of ranges. */

CSIMI_FN csimi_counts csimi_counts_of(const csim_capacity *c) {
    csimi_counts n;
    CSIMI_MEMSET(&n, 0, sizeof n);
    n.bodies = c->bodies;
    n.nodes = c->nodes;
    n.rigids = c->rigids;
    n.shapes = c->shapes;
    n.hulls = c->hulls;
    n.frames = c->frames;
    n.bends = c->bends;
    n.tets = c->tets;
    n.membranes = c->membranes;
    n.surface = c->surface;
    n.triangles = c->triangles;
    n.links = n.springs = n.pins = c->links;
    n.contacts = n.ended = c->contacts;
    n.aggregates = c->aggregates;
    n.matrix_blocks = c->matrix_blocks;
    n.pairs = c->pairs;
    return n;
}

CSIMI_FN csim_capacity csimi_capacity_of(const csimi_counts *n) {
    csim_capacity c;
    c.bodies = n->bodies;
    c.nodes = n->nodes;
    c.rigids = n->rigids;
    c.shapes = n->shapes;
    c.hulls = n->hulls;
    c.frames = n->frames;
    c.bends = n->bends;
    c.tets = n->tets;
    c.membranes = n->membranes;
    c.surface = n->surface;
    c.triangles = n->triangles;
    c.links = csimi_imax(n->links, csimi_imax(n->springs, n->pins));
    c.contacts = n->contacts;
    c.aggregates = n->aggregates;
    c.matrix_blocks = n->matrix_blocks;
    c.pairs = n->pairs;
    return c;
}

CSIMI_FN int csimi_blocks_of(const csimi_counts *n) { return n->nodes + 2 * n->rigids + n->frames; }

CSIMI_FN void csimi_store_layout(csimi_store *s, const csim_solver_params *solver, csimi_arena *arena) {
    const csimi_counts *c = &s->capacity;
#define CSIMI_X(axis, type, name, per) s->name = CSIMI_PUSH(arena, type, (size_t)c->axis * (per));
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    /* what follows from the rest: not copied, not saved */
    s->state.tet_slot = CSIMI_PUSH(arena, int, (size_t)c->tets * 16);
    s->state.membrane_slot = CSIMI_PUSH(arena, int, (size_t)c->membranes * 36);
    s->state.spring_slot = CSIMI_PUSH(arena, int, (size_t)c->springs *CSIMI_SPRING_SLOTS);
    s->state.rigid_inverse = CSIMI_PUSH(arena, csim_real, (size_t)c->rigids * 9);
    s->state.edge_slot = CSIMI_PUSH(arena, int, (size_t)c->frames * 9);
    s->state.bend_slot = CSIMI_PUSH(arena, int, (size_t)c->bends * 4);
    s->A.row = CSIMI_PUSH(arena, int, (size_t)csimi_blocks_of(c) + 1);
    s->A.diag = CSIMI_PUSH(arena, int, (size_t)csimi_blocks_of(c));
    s->A.col = CSIMI_PUSH(arena, int, c->matrix_blocks);
    s->A.val = CSIMI_PUSH(arena, csim_real, (size_t)c->matrix_blocks * 9);
    s->scratch_bytes = csimi_step_scratch(c, solver);
    s->scratch = (unsigned char *)csimi_push(arena, s->scratch_bytes, 1);
}

CSIMI_FN void csimi_sync_state(csimi_store *s) {
    s->state.node_count = s->count.nodes;
    s->state.rigid_count = s->count.rigids;
    s->state.tet_count = s->count.tets;
    s->state.membrane_count = s->count.membranes;
    s->state.spring_count = s->count.springs;
    s->state.frame_count = s->count.frames;
    s->state.bend_count = s->count.bends;
}

static void csimi_store_copy(csimi_store *to, const csimi_store *from) {
#define CSIMI_X(axis, type, name, per) \
    if (from->count.axis > 0) CSIMI_MEMCPY(to->name, from->name, sizeof(type) * (size_t)from->count.axis * (per));
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
}

/* Axes that must not shrink, as numbers: the largest of both. */
static csimi_counts csimi_counts_max(const csimi_counts *a, const csimi_counts *b) {
    csimi_counts n;
#define CSIMI_X(axis) n.axis = csimi_imax(a->axis, b->axis);
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    return n;
}

/* The first axis of need that capacity lacks, by name; null: none. */
static const char *csimi_lacking(const csimi_counts *capacity, const csimi_counts *need, int *wanted, int *have) {
#define CSIMI_X(axis)                  \
    if (need->axis > capacity->axis) { \
        *wanted = need->axis;          \
        *have = capacity->axis;        \
        return "capacity." #axis;      \
    }
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    return NULL;
}

/* A world that grows takes half as much again as it needs, so that adding bodies one by one costs linear time. */
static void csimi_round_up(csimi_counts *n, const csimi_counts *had) {
#define CSIMI_X(axis)                                                                \
    if (n->axis > had->axis && had->axis > 0 && n->axis < had->axis + had->axis / 2) \
        n->axis = had->axis + had->axis / 2;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    n->ended = n->contacts;
}

CSIMI_FN csim_status csimi_ensure(csim_world *w, const csimi_counts *need, const char *function) {
    csimi_store grown;
    csimi_arena arena;
    unsigned char *block;
    int wanted = 0, have = 0;
    const char *lack = csimi_lacking(&w->store.capacity, need, &wanted, &have);
    if (!lack) return CSIM_OK;
    if (!w->grows) {
        char allowed[64];
        size_t length = csimi_append_text(allowed, sizeof allowed, 0, "at most ");
        length = csimi_append_int(allowed, sizeof allowed, length, have);
        csimi_append_text(allowed, sizeof allowed, length, " in this fixed block");
        return csimi_fail(&w->error, CSIM_CAPACITY, function, lack, true, (double)wanted, allowed);
    }
    grown = w->store;
    grown.capacity = csimi_counts_max(&w->store.capacity, need);
    csimi_round_up(&grown.capacity, &w->store.capacity);
    arena = csimi_arena_counting();
    csimi_store_layout(&grown, &w->def.solver, &arena);
    if (arena.overflow)
        return csimi_fail(&w->error, CSIM_OUT_OF_MEMORY, function, lack, true, (double)wanted,
                          "sizes that fit in memory");
    block = (unsigned char *)csimi_heap_alloc(&w->heap, arena.used);
    if (!block)
        return csimi_fail(&w->error, CSIM_OUT_OF_MEMORY, function, "bytes", true, (double)arena.used,
                          "what the allocator and its limits give");
    arena = csimi_arena_in(block, arena.used);
    csimi_store_layout(&grown, &w->def.solver, &arena);
    csimi_store_copy(&grown, &w->store);
    if (w->block) csimi_heap_free(&w->heap, w->block, w->block_bytes);
    w->store = grown;
    w->block = block;
    w->block_bytes = arena.used;
    w->pattern_stale = true;
    return CSIM_OK;
}

static void csimi_remove_bytes(void *array, size_t stride, int count, int first, int n) {
    unsigned char *p = (unsigned char *)array + (size_t)first * stride,
                  *end = (unsigned char *)array + (size_t)count * stride;
    size_t gap = (size_t)n * stride;
    for (; p + gap < end; p++) *p = p[gap]; /* a forward move: the ranges may overlap */
}

CSIMI_FN void csimi_remove(csimi_store *s, csimi_axis which, int first, int n) {
    if (n <= 0) return;
#define CSIMI_X(axis, type, name, per) \
    if (which == CSIMI_AXIS_##axis) csimi_remove_bytes(s->name, sizeof(type) * (size_t)(per), s->count.axis, first, n);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
#define CSIMI_X(axis) \
    if (which == CSIMI_AXIS_##axis) s->count.axis -= n;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    csimi_sync_state(s);
}

/* ---- scratch of a step */

CSIMI_FN int csimi_most_terms(const csimi_counts *n) {
    int side = n->tets + n->membranes > 0 ? 3 : 2; /* faces of solids; points of rigid bodies */
    return 2 * side * (n->contacts + n->pins);
}

CSIMI_FN void csimi_frame_layout(csimi_step_frame *f, const csimi_counts *n, csimi_arena *arena) {
    size_t blocks = (size_t)csimi_blocks_of(n), rows = (size_t)n->contacts + (size_t)n->pins;
    size_t aggregates = (size_t)n->aggregates + (size_t)n->rigids; /* a rigid body is one */
    f->next.x = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->nodes);
    f->next.v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->nodes);
    f->next.com = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->rigids);
    f->next.rotation = CSIMI_PUSH(arena, csim_real, 4 * (size_t)n->rigids);
    f->next.velocity = CSIMI_PUSH(arena, csim_real, 6 * (size_t)n->rigids);
    f->next.frame = CSIMI_PUSH(arena, csim_real, 4 * (size_t)n->frames);
    f->next.frame_velocity = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->frames);
    f->vk = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->b = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->v = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->v_end = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->rep = CSIMI_PUSH(arena, csim_real, 3 * blocks);
    f->skip = CSIMI_PUSH(arena, unsigned char, blocks);
    f->found = CSIMI_PUSH(arena, csimi_found_contact, n->contacts);
    f->contacts = CSIMI_PUSH(arena, csim_contact, rows);
    f->terms = CSIMI_PUSH(arena, csim_term, csimi_most_terms(n));
    f->lambda = CSIMI_PUSH(arena, csim_real, 3 * rows);
    f->island = CSIMI_PUSH(arena, int, blocks);
    f->contact_island = CSIMI_PUSH(arena, int, rows);
    f->local = CSIMI_PUSH(arena, int, blocks);
    f->island_blocks = CSIMI_PUSH(arena, int, blocks);
    f->island_contacts = CSIMI_PUSH(arena, int, rows);
    f->island_first = CSIMI_PUSH(arena, int, blocks + 1);
    f->island_contact_first = CSIMI_PUSH(arena, int, blocks + 1);
    f->aggregate_centre = CSIMI_PUSH(arena, csim_real, 3 * aggregates);
    f->aggregate_radius = CSIMI_PUSH(arena, csim_real, aggregates);
    f->aggregate_of = CSIMI_PUSH(arena, int, blocks);
    f->info = CSIMI_PUSH(arena, csim_contact_info, n->contacts);
    f->ended = CSIMI_PUSH(arena, uint64_t, n->contacts);
    f->carried = CSIMI_PUSH(arena, unsigned char, n->contacts);
    f->sigma_of_body = CSIMI_PUSH(arena, csim_real, n->bodies);
}

CSIMI_FN size_t csimi_step_scratch(const csimi_counts *n, const csim_solver_params *solver) {
    csimi_step_frame frame; /* pointers only: counting */
    csimi_arena arena = csimi_arena_counting();
    size_t stages[6], most = 0;
    int i;
    CSIMI_PUSH(&arena, csimi_step_frame, 1);
    csimi_frame_layout(&frame, n, &arena);
    stages[0] = csimi_detect_scratch(n);
    stages[1] = csimi_rows_scratch(n);
    stages[2] = csimi_island_scratch(n, solver);
    stages[3] = csimi_pattern_build_scratch(n);
    stages[4] = csimi_mesh_scratch(n);
    stages[5] = csimi_cloth_scratch(n);
    for (i = 0; i < 6; i++)
        if (stages[i] > most) most = stages[i];
    csimi_push(&arena, most, 1);
    return arena.overflow ? SIZE_MAX / 2 : arena.used;
}
/* ==== end world/layout.c */

/* ==== begin world/world.c ======================================================================================= */
/* world/world: definitions and their checks, the three doors, ids. */

/* ---- defaults */

CSIM_API csim_world_def csim_default_world_def(void) {
    csim_world_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.gravity = csim_v3(0, 0, CSIM_R(-9.81));
    d.integrator = CSIM_BACKWARD_EULER;
    d.solver = csim_default_solver_params();
    d.law = CSIM_LAW_STRICT;
    d.omega[0] = d.omega[1] = CSIM_R(1e-3);
    d.contact_distance = CSIM_R(1e-3);
    d.stabilization = CSIM_R(0.8);
    d.push_out_speed = 1;
    d.restitution_threshold = CSIM_R(0.2);
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_surface_def csim_default_surface_def(void) {
    csim_surface_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.friction = CSIM_R(0.5);
    d.friction2 = -1;
    d.friction_direction = csim_v3(1, 0, 0);
    d.category = 1;
    d.mask = 0xffffffffu;
    return d;
}

CSIM_API csim_particle_def csim_default_particle_def(void) {
    csim_particle_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.mass = 1;
    d.surface = csim_default_surface_def();
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_rigid_def csim_default_rigid_def(void) {
    csim_rigid_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.pose = csim_pose_identity();
    d.density = 1000;
    d.surface = csim_default_surface_def();
    d.can_sleep = true;
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_soft_def csim_default_soft_def(void) {
    csim_soft_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.pose = csim_pose_identity();
    d.scale = 1;
    d.young = CSIM_R(1e5);
    d.poisson = CSIM_R(0.4);
    d.density = 1000;
    d.stiffness_damping = CSIM_R(1e-3);
    d.surface = csim_default_surface_def();
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_spring_def csim_default_spring_def(void) {
    csim_spring_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.rest_length = -1;
    d.stiffness = 1000;
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_pin_def csim_default_pin_def(void) {
    csim_pin_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.guard = CSIMI_GUARD;
    return d;
}

/* ---- checks */

CSIMI_FN csim_status csimi_check_guard(csim_error *error, const char *function, const char *def, uint32_t guard) {
    if (guard == CSIMI_GUARD) return CSIM_OK;
    return csimi_fail(error, CSIM_DEF_NOT_INITIALISED, function, "guard", true, (double)guard, def);
}

CSIMI_FN csim_status csimi_check_fields(csim_error *error, const char *function, const void *def,
                                        const csimi_field *fields, int count) {
    int i;
    for (i = 0; i < count; i++) {
        const csimi_field *f = fields + i;
        csim_real x;
        CSIMI_MEMCPY(&x, (const unsigned char *)def + f->offset, sizeof x);
        if (!csimi_finite(x)) return csimi_fail(error, CSIM_NOT_FINITE, function, f->name, true, (double)x, f->range);
        if ((double)x < f->lowest || (double)x > f->highest || (f->open_low && (double)x <= f->lowest) ||
            (f->open_high && (double)x >= f->highest))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, function, f->name, true, (double)x, f->range);
    }
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_surface(csim_error *error, const char *function, const csim_surface_def *def) {
    static const csimi_field fields[] = {
        {"surface.friction", offsetof(csim_surface_def, friction), 0, 1e6, false, false, "0..1e6"},
        {"surface.friction2", offsetof(csim_surface_def, friction2), -1, 1e6, false, false, "-1 (isotropic) or 0..1e6"},
        {"surface.friction_direction.x", offsetof(csim_surface_def, friction_direction.x), -1e9, 1e9, false, false,
         "finite"},
        {"surface.friction_direction.y", offsetof(csim_surface_def, friction_direction.y), -1e9, 1e9, false, false,
         "finite"},
        {"surface.friction_direction.z", offsetof(csim_surface_def, friction_direction.z), -1e9, 1e9, false, false,
         "finite"},
        {"surface.restitution", offsetof(csim_surface_def, restitution), 0, 1, false, false, "0..1"},
        {"surface.thickness", offsetof(csim_surface_def, thickness), 0, 1e3, false, false, "0..1000"},
    };
    csim_status s = csimi_check_fields(error, function, def, fields, CSIMI_COUNT_OF(fields));
    if (s) return s;
    if (def->friction2 >= 0 && !(csim_length(def->friction_direction) > 0))
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "surface.friction_direction", true, 0,
                          "not the zero vector");
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_enum(csim_error *error, const char *function, const char *field, int value,
                                      int count) {
    char range[32];
    size_t length = csimi_append_text(range, sizeof range, 0, "0..");
    csimi_append_int(range, sizeof range, length, count - 1);
    if (value >= 0 && value < count) return CSIM_OK;
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, field, true, (double)value, range);
}

CSIMI_FN csim_status csimi_check_pose(csim_error *error, const char *function, csim_pose pose) {
    static const csimi_field fields[] = {
        {"pose.position.x", offsetof(csim_pose, position.x), -1e9, 1e9, false, false, "-1e9..1e9"},
        {"pose.position.y", offsetof(csim_pose, position.y), -1e9, 1e9, false, false, "-1e9..1e9"},
        {"pose.position.z", offsetof(csim_pose, position.z), -1e9, 1e9, false, false, "-1e9..1e9"},
        {"pose.rotation.w", offsetof(csim_pose, rotation.w), -2, 2, false, false, "a unit quaternion"},
        {"pose.rotation.x", offsetof(csim_pose, rotation.x), -2, 2, false, false, "a unit quaternion"},
        {"pose.rotation.y", offsetof(csim_pose, rotation.y), -2, 2, false, false, "a unit quaternion"},
        {"pose.rotation.z", offsetof(csim_pose, rotation.z), -2, 2, false, false, "a unit quaternion"},
    };
    csim_quat q = pose.rotation;
    csim_real length2 = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    csim_status s = csimi_check_fields(error, function, &pose, fields, CSIMI_COUNT_OF(fields));
    if (s) return s;
    if (length2 < CSIM_R(0.998) || length2 > CSIM_R(1.002))
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "pose.rotation length squared", true, (double)length2,
                          "a unit quaternion, 1 within 0.002");
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_vec(csim_error *error, const char *function, const char *field, csim_vec3 v) {
    csim_real c[3];
    int k;
    c[0] = v.x;
    c[1] = v.y;
    c[2] = v.z;
    for (k = 0; k < 3; k++) {
        if (!csimi_finite(c[k]))
            return csimi_fail(error, CSIM_NOT_FINITE, function, field, true, (double)c[k], "finite components");
        if (csimi_abs(c[k]) > CSIM_R(1e9))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, function, field, true, (double)c[k], "components in -1e9..1e9");
    }
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_solver_params(const csim_solver_params *p, const char *function, csim_error *error) {
    static const csimi_field fields[] = {
        {"solver.tolerance", offsetof(csim_solver_params, tolerance), 0, 0.1, true, false, "above 0, at most 0.1"},
        {"solver.gain", offsetof(csim_solver_params, gain), 1, 1e8, false, false, "1..1e8"},
        {"solver.kappa", offsetof(csim_solver_params, kappa), 0, 1e15, false, false, "0 (use gain) or up to 1e15"},
        {"solver.sigma", offsetof(csim_solver_params, sigma), 0, 1e15, false, false, "0 (estimate) or up to 1e15"},
    };
    csim_status s;
    if ((s = csimi_check_enum(error, function, "solver.solver", (int)p->solver, CSIM_SOLVER_COUNT_)) != 0) return s;
    if ((s = csimi_check_enum(error, function, "solver.weight", (int)p->weight, CSIM_WEIGHT_COUNT_)) != 0) return s;
    if ((s = csimi_check_enum(error, function, "solver.acceleration", (int)p->acceleration,
                              CSIM_ACCELERATION_COUNT_)) != 0)
        return s;
    if (p->max_iterations < 1 || p->max_iterations > 1000000)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "solver.max_iterations", true, (double)p->max_iterations,
                          "1..1e6");
    if (p->window < 0 || p->window > 32)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "solver.window", true, (double)p->window,
                          "0 (default) or 1..32");
    return csimi_check_fields(error, function, p, fields, CSIMI_COUNT_OF(fields));
}

static csim_status csimi_check_capacity(const csim_capacity *c, const char *function, csim_error *error) {
    static const char *const names[] = {
        "capacity.bodies",     "capacity.nodes",         "capacity.rigids",   "capacity.shapes",
        "capacity.hulls",      "capacity.tets",          "capacity.surface",  "capacity.triangles",
        "capacity.links",      "capacity.matrix_blocks", "capacity.contacts", "capacity.pairs",
        "capacity.aggregates", "capacity.frames",        "capacity.bends",    "capacity.membranes"};
    int value[16], i;
    value[0] = c->bodies;
    value[1] = c->nodes;
    value[2] = c->rigids;
    value[3] = c->shapes;
    value[4] = c->hulls;
    value[5] = c->tets;
    value[6] = c->surface;
    value[7] = c->triangles;
    value[8] = c->links;
    value[9] = c->matrix_blocks;
    value[10] = c->contacts;
    value[11] = c->pairs;
    value[12] = c->aggregates;
    value[13] = c->frames;
    value[14] = c->bends;
    value[15] = c->membranes;
    for (i = 0; i < 16; i++)
        if (value[i] < 0 || value[i] > 50000000)
            return csimi_fail(error, CSIM_OUT_OF_RANGE, function, names[i], true, (double)value[i],
                              "0 (default) or 1..5e7");
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_world_def(const csim_world_def *d, const char *function, csim_error *error) {
    static const csimi_field fields[] = {
        CSIMI_ANY(csim_world_def, gravity.x),
        CSIMI_ANY(csim_world_def, gravity.y),
        CSIMI_ANY(csim_world_def, gravity.z),
        {"omega[0]", offsetof(csim_world_def, omega[0]), 0, 1e9, true, false, "above 0, at most 1e9"},
        {"omega[1]", offsetof(csim_world_def, omega[1]), 0, 1e9, true, false, "above 0, at most 1e9"},
        {"contact_distance", offsetof(csim_world_def, contact_distance), 0, 1e3, false, false, "0..1000"},
        CSIMI_UNIT(csim_world_def, stabilization),
        {"slop", offsetof(csim_world_def, slop), 0, 1e3, false, false, "0..1000"},
        CSIMI_AT_LEAST_0(csim_world_def, push_out_speed),
        CSIMI_AT_LEAST_0(csim_world_def, restitution_threshold),
    };
    csim_status s;
    if ((s = csimi_check_guard(error, function, "made by csim_default_world_def()", d->guard)) != 0) return s;
    if ((s = csimi_check_fields(error, function, d, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_enum(error, function, "integrator", (int)d->integrator, CSIM_INTEGRATOR_COUNT_)) != 0)
        return s;
    if ((s = csimi_check_enum(error, function, "on_uncertified", (int)d->on_uncertified, CSIM_UNCERTIFIED_COUNT_)) != 0)
        return s;
    if (d->law != CSIM_LAW_STRICT && d->law != CSIM_LAW_PROXIMAL && d->law != CSIM_LAW_INVERTIBLE)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "law", true, (double)d->law,
                          "CSIM_LAW_STRICT, CSIM_LAW_PROXIMAL or CSIM_LAW_INVERTIBLE");
    if ((d->allocator.alloc == NULL) != (d->allocator.free == NULL))
        return csimi_fail(error, CSIM_NULL_ARGUMENT, function, "allocator", false, 0,
                          "alloc and free both set, or both null");
    if ((s = csimi_check_capacity(&d->capacity, function, error)) != 0) return s;
    return csimi_check_solver_params(&d->solver, function, error);
}

/* ---- the three doors */

/* Zeros of a definition become these: enough for small scenes in a fixed block, a place to grow from on the heap. */
static csimi_counts csimi_first_capacity(const csim_world_def *def) {
    csim_capacity c = def->capacity;
    if (!c.bodies) c.bodies = 16;
    if (!c.rigids) c.rigids = c.bodies;
    if (!c.shapes) c.shapes = c.rigids;
    if (!c.nodes) c.nodes = c.bodies;
    if (!c.hulls) c.hulls = 0;
    if (!c.links) c.links = 0;
    if (!c.surface) c.surface = c.tets || c.frames || c.membranes ? c.nodes : 0;
    if (!c.triangles) c.triangles = 2 * c.surface;
    if (!c.aggregates) c.aggregates = c.tets || c.membranes ? csimi_default_aggregates(c.nodes) : 0;
    if (!c.bends) c.bends = c.frames + c.links;
    if (!c.matrix_blocks)
        c.matrix_blocks =
            c.nodes + 4 * c.rigids + 5 * c.tets + 10 * c.membranes + 16 * c.links + 7 * c.frames + 2 * c.bends;
    if (!c.contacts) c.contacts = 16 * c.shapes + 2 * (c.surface > c.nodes ? c.surface : c.nodes);
    if (!c.pairs) c.pairs = 8 * (c.shapes + c.bodies);
    return csimi_counts_of(&c);
}

static uint32_t csimi_stamp_of(const csim_world *w) {
    uintptr_t p = (uintptr_t)w >> 4;
    uint32_t x = (uint32_t)(p ^ (p >> 16 >> 16));
    x *= 2654435769u;
    return x ? x : 1u;
}

static void csimi_start_world(csim_world *w, const csim_world_def *def) {
    CSIMI_MEMSET(w, 0, sizeof *w);
    w->def = *def;
    w->stamp = csimi_stamp_of(w);
    w->free_body = w->free_link = -1;
    w->pattern_stale = true;
    w->store.state.gravity[0] = def->gravity.x;
    w->store.state.gravity[1] = def->gravity.y;
    w->store.state.gravity[2] = def->gravity.z;
}

static size_t csimi_header_bytes(void) { return (sizeof(csim_world) + 63) / 64 * 64; }

CSIM_API csim_status csim_world_bytes(const csim_world_def *def, size_t *bytes, csim_error *error) {
    csimi_store store;
    csimi_arena arena = csimi_arena_counting();
    csim_status s;
    if (!def || !bytes)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_world_bytes", def ? "bytes" : "def", false, 0, "not null");
    if ((s = csimi_check_world_def(def, "csim_world_bytes", error)) != 0) return s;
    CSIMI_MEMSET(&store, 0, sizeof store);
    store.capacity = csimi_first_capacity(def);
    csimi_store_layout(&store, &def->solver, &arena);
    if (arena.overflow)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, "csim_world_bytes", "capacity", false, 0,
                          "sizes that fit in memory");
    *bytes = csimi_header_bytes() + arena.used;
    return CSIM_OK;
}

CSIM_API csim_status csim_create_world_in(const csim_world_def *def, void *block, size_t bytes, csim_world **world,
                                          csim_error *error) {
    size_t needed = 0;
    csim_world *w = (csim_world *)block;
    csimi_arena arena;
    csim_status s;
    if (!block || !world)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_create_world_in", block ? "world" : "block", false, 0,
                          "not null");
    if ((s = csim_world_bytes(def, &needed, error)) != 0) return s;
    if ((uintptr_t)block % 64 != 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, "csim_create_world_in", "block", false, 0, "aligned to 64 bytes");
    if (bytes < needed)
        return csimi_fail(error, CSIM_CAPACITY, "csim_create_world_in", "bytes", true, (double)bytes,
                          "at least what csim_world_bytes says for this definition");
    csimi_start_world(w, def);
    w->store.capacity = csimi_first_capacity(def);
    w->block = (unsigned char *)block + csimi_header_bytes();
    w->block_bytes = needed - csimi_header_bytes();
    arena = csimi_arena_in(w->block, w->block_bytes);
    csimi_store_layout(&w->store, &def->solver, &arena);
    w->heap.held = needed;
    *world = w;
    return CSIM_OK;
}

CSIM_API csim_status csim_create_world(const csim_world_def *def, csim_world **world, csim_error *error) {
    csimi_heap heap;
    csimi_counts first;
    csim_world *w;
    csim_status s;
    if (!def || !world)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_create_world", def ? "world" : "def", false, 0, "not null");
    if ((s = csimi_check_world_def(def, "csim_create_world", error)) != 0) return s;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    heap.hooks = def->allocator;
    w = (csim_world *)csimi_heap_alloc(&heap, csimi_header_bytes());
    if (!w)
        return csimi_fail(error, CSIM_OUT_OF_MEMORY, "csim_create_world", "bytes", true, (double)csimi_header_bytes(),
                          "what the allocator and its limits give");
    csimi_start_world(w, def);
    w->heap = heap;
    w->grows = true;
    first = csimi_first_capacity(def);
    s = csimi_ensure(w, &first, "csim_create_world");
    if (s) {
        if (error) *error = w->error;
        heap = w->heap;
        csimi_heap_free(&heap, w, csimi_header_bytes());
        return s;
    }
    *world = w;
    return CSIM_OK;
}

CSIM_API void csim_destroy_world(csim_world *w) {
    csimi_heap heap;
    if (!w || !w->grows) return;
    heap = w->heap;
    csimi_heap_free(&heap, w->block, w->block_bytes);
    csimi_heap_free(&heap, w, csimi_header_bytes());
}

CSIM_API csim_status csim_world_reserve(csim_world *w, const csim_capacity *capacity) {
    csimi_counts need;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (!capacity)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, "csim_world_reserve", "capacity", false, 0, "not null");
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_reserve", NULL, false, 0, NULL);
    if ((s = csimi_check_capacity(capacity, "csim_world_reserve", &w->error)) != 0) return s;
    need = csimi_counts_of(capacity);
    return csimi_ensure(w, &need, "csim_world_reserve");
}

CSIM_API csim_capacity csim_world_capacity(const csim_world *w) { return csimi_capacity_of(&w->store.capacity); }
CSIM_API csim_capacity csim_world_used(const csim_world *w) { return csimi_capacity_of(&w->high); }
CSIM_API const char *csim_last_error(const csim_world *w) { return w ? w->error.text : ""; }

/* ---- ids */

CSIMI_FN csim_body_id csimi_body_id_of(const csim_world *w, int slot) {
    csim_body_id id;
    CSIMI_MEMSET(&id, 0, sizeof id);
    if (slot < 0) return id;
    id.index1 = (uint32_t)slot + 1u;
    id.generation = w->store.body[slot].generation;
    id.world = w->stamp;
    return id;
}

CSIMI_FN csim_status csimi_find_body(const csim_world *w, csim_body_id id, const char *function, int *slot,
                                     csim_error *error) {
    if (id.index1 == 0) return csimi_fail(error, CSIM_STALE_ID, function, "id", true, 0, "an id made by a create call");
    if (id.world != w->stamp)
        return csimi_fail(error, CSIM_WRONG_WORLD, function, "id", true, (double)id.index1, "an id of this world");
    if (id.index1 > (uint32_t)w->store.count.bodies || !w->store.body[id.index1 - 1].alive ||
        w->store.body[id.index1 - 1].generation != id.generation)
        return csimi_fail(error, CSIM_STALE_ID, function, "id", true, (double)id.index1,
                          "an id whose body still exists");
    *slot = (int)(id.index1 - 1);
    return CSIM_OK;
}

CSIM_API bool csim_body_valid(const csim_world *w, csim_body_id id) {
    int slot;
    return w && csimi_find_body(w, id, "csim_body_valid", &slot, NULL) == CSIM_OK;
}

/* ---- settings */

CSIM_API csim_status csim_world_set_gravity(csim_world *w, csim_vec3 gravity) {
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_set_gravity", NULL, false, 0, NULL);
    if ((s = csimi_check_vec(&w->error, "csim_world_set_gravity", "gravity", gravity)) != 0) return s;
    w->def.gravity = gravity;
    csimi_store3(w->store.state.gravity, gravity);
    return CSIM_OK;
}

/* The scratch depends on the solver: a heap world lays itself out anew, a fixed block must have the room already. */
CSIM_API csim_status csim_world_set_solver(csim_world *w, const csim_solver_params *params) {
    csim_solver_params old;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (!params)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, "csim_world_set_solver", "params", false, 0, "not null");
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_set_solver", NULL, false, 0, NULL);
    if ((s = csimi_check_solver_params(params, "csim_world_set_solver", &w->error)) != 0) return s;
    old = w->def.solver;
    w->def.solver = *params;
    if (csimi_step_scratch(&w->store.capacity, params) > w->store.scratch_bytes) {
        csimi_counts need = w->store.capacity;
        need.pairs++; /* forces a new layout */
        s = csimi_ensure(w, &need, "csim_world_set_solver");
        if (s) w->def.solver = old;
    }
    return s;
}

CSIM_API csim_status csim_world_set_integrator(csim_world *w, csim_integrator integrator) {
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_set_integrator", NULL, false, 0, NULL);
    if ((s = csimi_check_enum(&w->error, "csim_world_set_integrator", "integrator", (int)integrator,
                              CSIM_INTEGRATOR_COUNT_)) != 0)
        return s;
    w->def.integrator = integrator;
    return CSIM_OK;
}
/* ==== end world/world.c */

/* ==== begin world/body.c ======================================================================================== */
/* world/body: making and removing bodies and links. A create call checks everything, then makes room, then writes
   behind the counts, and raises the counts last: until then nothing has changed. */

/* ---- room */

/* Contacts and pairs that a heap world reserves for what it holds: a first program never meets a full capacity. */
static void csimi_expect_contacts(csimi_counts *n) {
    n->contacts = 16 * n->shapes + 2 * n->surface + 6 * n->nodes / (n->tets > 0 ? 6 : 1) + 32;
    n->pairs = 12 * (n->shapes + n->bodies) + 32;
    n->ended = n->contacts;
}

/* Room for what the counts plus the additions need. */
CSIMI_FN csim_status csimi_make_room(csim_world *w, csimi_counts need, const char *function) {
    need.bodies = csimi_imax(need.bodies, 1);
    if (w->grows) {
        csimi_expect_contacts(&need);
    } else {
        need.contacts = need.ended = need.pairs = 0;
    }
    return csimi_ensure(w, &need, function);
}

CSIMI_FN csim_status csimi_start_create(csim_world *w, const void *def, const void *id, const char *function) {
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, function, NULL, false, 0, NULL);
    if (!def) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, function, "def", false, 0, "not null");
    if (!id) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, function, "id", false, 0, "not null");
    return CSIM_OK;
}

CSIMI_FN csimi_counts csimi_counts_with_body(const csim_world *w) {
    csimi_counts need = w->store.count;
    if (w->free_body < 0) need.bodies++;
    return need;
}

/* Takes a slot for a body whose data has been written behind the counts. */
CSIMI_FN int csimi_take_body(csim_world *w, csim_body_kind kind, csim_motion motion, const csim_surface_def *surface,
                             void *user_data) {
    csimi_store *s = &w->store;
    int slot = w->free_body;
    csimi_body *b;
    uint32_t generation = 1;
    if (slot >= 0) {
        w->free_body = s->body[slot].next_free;
        generation = s->body[slot].generation;
    } else {
        slot = s->count.bodies++;
    }
    b = s->body + slot;
    CSIMI_MEMSET(b, 0, sizeof *b);
    b->generation = generation;
    b->alive = true;
    b->kind = kind;
    b->motion = motion;
    b->next_free = b->rigid = -1;
    b->first_node = s->count.nodes;
    b->first_shape = s->count.shapes;
    b->first_tet = s->count.tets;
    b->first_membrane = s->count.membranes;
    b->first_surface = s->count.surface;
    b->first_triangle = s->count.triangles;
    b->first_frame = s->count.frames;
    b->first_bend = s->count.bends;
    b->surface = *surface;
    b->user_data = user_data;
    s->body_list[w->live_bodies++] = slot;
    return slot;
}

CSIMI_FN unsigned char csimi_mode_of(csim_motion motion) {
    return motion == CSIM_DYNAMIC ? CSIMI_FREE : motion == CSIM_STATIC ? CSIMI_FIXED : CSIMI_KINEMATIC;
}

static void csimi_note_high(csim_world *w) {
    const csimi_counts *c = &w->store.count;
    csimi_counts *h = &w->high;
#define CSIMI_X(axis) h->axis = csimi_imax(h->axis, c->axis);
    CSIMI_WORLD_AXES(
        CSIMI_X) /* matrix_blocks as creation counts them: the same calls fit, the pattern may share some */
#undef CSIMI_X
}

CSIMI_FN void csimi_finish_create(csim_world *w, int slot, csim_body_id *id) {
    csimi_sync_state(&w->store);
    csimi_note_high(w);
    w->pattern_stale = true;
    *id = csimi_body_id_of(w, slot);
}

/* ---- particles */

/* Writes node i of the store. */
CSIMI_FN void csimi_write_node(csimi_store *s, int i, csim_vec3 x, csim_vec3 v, csim_real mass, csim_real damping,
                               csim_motion motion, int slot) {
    csimi_store3(s->state.x + 3 * i, x);
    csimi_store3(s->state.v + 3 * i, v);
    csimi_store3(s->node_rep + 3 * i, v);
    csimi_store3(s->state.node_force + 3 * i, csim_v3(0, 0, 0));
    s->state.node_mass[i] = mass;
    s->state.node_damping[i] = damping;
    s->state.node_mode[i] = csimi_mode_of(motion);
    s->node_body[i] = slot;
}

CSIM_API csim_status csim_create_particle(csim_world *w, const csim_particle_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_particle";
    static const csimi_field fields[] = {
        CSIMI_ANY(csim_particle_def, position.x),     CSIMI_ANY(csim_particle_def, position.y),
        CSIMI_ANY(csim_particle_def, position.z),     CSIMI_ANY(csim_particle_def, velocity.x),
        CSIMI_ANY(csim_particle_def, velocity.y),     CSIMI_ANY(csim_particle_def, velocity.z),
        CSIMI_POSITIVE(csim_particle_def, mass),      CSIMI_AT_LEAST_0(csim_particle_def, radius),
        CSIMI_AT_LEAST_0(csim_particle_def, damping),
    };
    csimi_counts need;
    csimi_store *s;
    int slot, node;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_particle_def()", def->guard)) != 0)
        return status;
    if ((status = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if ((status = csimi_check_enum(&w->error, fn, "motion", (int)def->motion, CSIM_MOTION_COUNT_)) != 0) return status;
    if ((status = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return status;
    need = csimi_counts_with_body(w);
    need.nodes++;
    need.matrix_blocks++;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    slot = csimi_take_body(w, CSIM_PARTICLE, def->motion, &def->surface, def->user_data);
    node = s->count.nodes++;
    csimi_write_node(s, node, def->position, def->motion == CSIM_STATIC ? csim_v3(0, 0, 0) : def->velocity, def->mass,
                     def->damping, def->motion, slot);
    s->node_user[node] = s->node_of_user[node] = 0;
    s->node_aggregate[node] = -1;
    s->body[slot].node_count = 1;
    s->body[slot].radius = def->radius;
    s->body[slot].matrix_blocks = 1;
    s->count.matrix_blocks++;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}

/* ---- rigid bodies */

static void csimi_add_mass(csim_mass *sum, const csim_mass *part) {
    csim_real m = sum->mass + part->mass;
    csim_vec3 centre =
        csim_scale(1 / m, csim_add(csim_scale(sum->mass, sum->centre), csim_scale(part->mass, part->centre)));
    int k, piece;
    for (piece = 0; piece < 2; piece++) {
        const csim_mass *p = piece ? part : sum;
        csim_vec3 d = csim_sub(p->centre, centre);
        csim_real dd = csim_dot(d, d), c[3];
        c[0] = d.x;
        c[1] = d.y;
        c[2] = d.z;
        for (k = 0; k < 9; k++) { /* Steiner */
            csim_real steiner = p->mass * ((k % 4 == 0 ? dd : 0) - c[k / 3] * c[k % 3]);
            if (piece)
                sum->inertia.m[k] += p->inertia.m[k] + steiner;
            else
                sum->inertia.m[k] += steiner;
        }
    }
    sum->mass = m;
    sum->centre = centre;
}

/* Mass, centre and inertia of a rigid definition; false fields keep zero for bodies that never move freely. */
static csim_status csimi_rigid_mass(const csim_rigid_def *def, csim_mass *mass, csim_error *error) {
    static const char fn[] = "csim_create_rigid";
    csim_real given = 0;
    int i, k;
    CSIMI_MEMSET(mass, 0, sizeof *mass);
    for (i = 0; i < def->shape_count; i++) {
        csim_mass part;
        csim_status s;
        if (def->shapes[i].kind == CSIM_SHAPE_HALF_SPACE) continue;
        if ((s = csim_shape_mass(def->shapes + i, def->density, &part, error)) != 0) return s;
        if (mass->mass > 0)
            csimi_add_mass(mass, &part);
        else
            *mass = part;
    }
    for (k = 0; k < 9; k++) given += csimi_abs(def->inertia.m[k]);
    if (def->mass > 0 && mass->mass > 0) {
        csim_real scale = def->mass / mass->mass;
        for (k = 0; k < 9; k++) mass->inertia.m[k] *= scale;
    }
    if (def->mass > 0) mass->mass = def->mass;
    if (given > 0) {
        csim_real eigenvalue[3], V[9];
        for (k = 0; k < 3; k++) {
            csim_real a = def->inertia.m[3 * k + (k + 1) % 3], b = def->inertia.m[3 * ((k + 1) % 3) + k];
            if (csimi_abs(a - b) > CSIM_R(1e-5) * given)
                return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "inertia", true, (double)(a - b), "a symmetric matrix");
        }
        csimi_eigen_sym3(def->inertia.m, eigenvalue, V);
        if (!(eigenvalue[0] > 0))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "inertia (smallest eigenvalue)", true,
                              (double)eigenvalue[0], "above 0");
        mass->inertia = def->inertia;
        mass->centre = def->centre;
    }
    if (def->motion == CSIM_DYNAMIC) {
        if (!(mass->mass > 0))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "mass", true, (double)mass->mass,
                              "above 0, or shapes to take it from");
        if (!(mass->inertia.m[0] > 0))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "inertia", true, 0, "given, or shapes to take it from");
    }
    return CSIM_OK;
}

static csim_status csimi_check_rigid(csim_world *w, const csim_rigid_def *def, csim_mass *mass, int *hulls) {
    static const char fn[] = "csim_create_rigid";
    static const csimi_field fields[] = {
        CSIMI_ANY(csim_rigid_def, velocity.x),
        CSIMI_ANY(csim_rigid_def, velocity.y),
        CSIMI_ANY(csim_rigid_def, velocity.z),
        CSIMI_ANY(csim_rigid_def, angular_velocity.x),
        CSIMI_ANY(csim_rigid_def, angular_velocity.y),
        CSIMI_ANY(csim_rigid_def, angular_velocity.z),
        CSIMI_POSITIVE(csim_rigid_def, density),
        CSIMI_AT_LEAST_0(csim_rigid_def, mass),
        CSIMI_ANY(csim_rigid_def, inertia.m[0]),
        CSIMI_ANY(csim_rigid_def, inertia.m[1]),
        CSIMI_ANY(csim_rigid_def, inertia.m[2]),
        CSIMI_ANY(csim_rigid_def, inertia.m[3]),
        CSIMI_ANY(csim_rigid_def, inertia.m[4]),
        CSIMI_ANY(csim_rigid_def, inertia.m[5]),
        CSIMI_ANY(csim_rigid_def, inertia.m[6]),
        CSIMI_ANY(csim_rigid_def, inertia.m[7]),
        CSIMI_ANY(csim_rigid_def, inertia.m[8]),
        CSIMI_ANY(csim_rigid_def, centre.x),
        CSIMI_ANY(csim_rigid_def, centre.y),
        CSIMI_ANY(csim_rigid_def, centre.z),
        CSIMI_AT_LEAST_0(csim_rigid_def, linear_damping),
        CSIMI_AT_LEAST_0(csim_rigid_def, angular_damping),
    };
    csim_status s;
    int i;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_rigid_def()", def->guard)) != 0) return s;
    if ((s = csimi_check_pose(&w->error, fn, def->pose)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "motion", (int)def->motion, CSIM_MOTION_COUNT_)) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
    if (def->shape_count < 0 || def->shape_count > 10000)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "shape_count", true, (double)def->shape_count, "0..10000");
    if (def->shape_count > 0 && !def->shapes)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, "shapes", false, 0, "not null when shape_count > 0");
    *hulls = 0;
    for (i = 0; i < def->shape_count; i++) {
        *hulls += def->shapes[i].kind == CSIM_SHAPE_HULL;
        if (def->shapes[i].kind == CSIM_SHAPE_HALF_SPACE && def->motion != CSIM_STATIC)
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "motion", true, (double)def->motion,
                              "CSIM_STATIC for a body with a half-space");
    }
    return csimi_rigid_mass(def, mass, &w->error);
}

CSIM_API csim_status csim_create_rigid(csim_world *w, const csim_rigid_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_rigid";
    csimi_counts need;
    csimi_store *s;
    csimi_body *b;
    csim_mass mass;
    csim_real velocity[6];
    int hulls = 0, slot, i, k;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_rigid(w, def, &mass, &hulls)) != 0) return status;
    need = csimi_counts_with_body(w);
    need.rigids++;
    need.shapes += def->shape_count;
    need.hulls += hulls;
    need.matrix_blocks += 4;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    for (i = 0, hulls = s->count.hulls; i < def->shape_count; i++) {
        csim_geometry *g = s->shape + s->count.shapes + i;
        bool hull = def->shapes[i].kind == CSIM_SHAPE_HULL;
        if ((status = csim_shape_bake(def->shapes + i, g, hull ? s->hull + hulls : NULL, &w->error)) != 0)
            return status;
        g->hull = hull ? hulls++ : -1;
    }
    slot = csimi_take_body(w, CSIM_RIGID, def->motion, &def->surface, def->user_data);
    b = s->body + slot;
    b->shape_count = def->shape_count;
    b->matrix_blocks = 4;
    b->can_sleep = def->can_sleep;
    b->rigid = s->count.rigids++;
    for (i = 0; i < def->shape_count; i++) s->shape_body[s->count.shapes + i] = slot;
    s->count.shapes += def->shape_count;
    s->count.hulls = hulls;
    s->count.matrix_blocks += 4;
    csimi_store3(b->centre, mass.centre);
    i = b->rigid;
    s->rigid_body[i] = slot;
    {
        csim_pose pose = def->pose;
        pose.rotation = csim_quat_normalize(pose.rotation);
        csimi_store3(s->state.com + 3 * i, csim_pose_point(pose, mass.centre));
        s->state.rotation[4 * i] = pose.rotation.w;
        s->state.rotation[4 * i + 1] = pose.rotation.x;
        s->state.rotation[4 * i + 2] = pose.rotation.y;
        s->state.rotation[4 * i + 3] = pose.rotation.z;
    }
    csimi_store3(velocity, def->velocity);
    csimi_store3(velocity + 3, def->angular_velocity);
    for (k = 0; k < 6; k++) {
        csim_real x = def->motion == CSIM_STATIC ? 0 : velocity[k];
        s->state.velocity[6 * i + k] = s->rigid_rep[6 * i + k] = x;
        s->state.wrench[6 * i + k] = 0;
    }
    s->state.rigid_mass[i] = mass.mass;
    for (k = 0; k < 9; k++) s->state.inertia[9 * i + k] = mass.inertia.m[k];
    s->state.rigid_damping[2 * i] = def->linear_damping;
    s->state.rigid_damping[2 * i + 1] = def->angular_damping;
    s->state.rigid_mode[i] = csimi_mode_of(def->motion);
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}

CSIM_API csim_status csim_create_ground(csim_world *w, csim_vec3 point, csim_vec3 normal, csim_real friction,
                                        csim_body_id *id) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape shape;
    csim_status s = csimi_start_create(w, &def, id, "csim_create_ground");
    if (s) return s;
    if ((s = csimi_check_vec(&w->error, "csim_create_ground", "point", point)) != 0) return s;
    if ((s = csimi_check_vec(&w->error, "csim_create_ground", "normal", normal)) != 0) return s;
    if (!(csim_length(normal) > 0))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, "csim_create_ground", "normal", true, 0, "not the zero vector");
    shape = csim_half_space(point, normal);
    def.motion = CSIM_STATIC;
    def.shapes = &shape;
    def.shape_count = 1;
    def.surface.friction = friction;
    return csim_create_rigid(w, &def, id);
}

/* ---- solids */

/* Scratch while a mesh is looked at; all sizes linear. */
typedef struct csimi_mesh_work {
    csim_real *x, *density, *mass;
    int *triangles, *pairs, *row, *col, *diag, *aggregate, *count;
    int *ints; /* shared by surface, pattern, aggregates */
} csimi_mesh_work;

static void csimi_mesh_work_layout(csimi_mesh_work *m, int nodes, int tets, csimi_arena *arena) {
    size_t n = (size_t)nodes, t = (size_t)tets, ints = csimi_tet_surface_scratch(nodes, tets);
    size_t pattern = csimi_pattern_scratch(nodes, 6 * tets), groups = csimi_aggregate_scratch(nodes);
    if (pattern > ints) ints = pattern;
    if (groups > ints) ints = groups;
    if (4 * t + n + 1 > ints) ints = 4 * t + n + 1;
    m->x = CSIMI_PUSH(arena, csim_real, 3 * n);
    m->density = CSIMI_PUSH(arena, csim_real, t);
    m->mass = CSIMI_PUSH(arena, csim_real, n);
    m->triangles = CSIMI_PUSH(arena, int, 12 * t);
    m->pairs = CSIMI_PUSH(arena, int, 12 * t);
    m->row = CSIMI_PUSH(arena, int, n + 1);
    m->col = CSIMI_PUSH(arena, int, 12 * t + n);
    m->diag = CSIMI_PUSH(arena, int, n);
    m->aggregate = CSIMI_PUSH(arena, int, n);
    m->count = CSIMI_PUSH(arena, int, n + 1);
    m->ints = CSIMI_PUSH(arena, int, ints);
}

CSIMI_FN size_t csimi_mesh_scratch(const csimi_counts *n) {
    csimi_mesh_work work;
    csimi_arena arena = csimi_arena_counting();
    csimi_mesh_work_layout(&work, n->tets > 0 ? n->nodes : 0, n->tets, &arena);
    return arena.used;
}

CSIMI_FN csim_status csimi_check_mesh_choices(csim_world *w, const char *fn, const int *fixed, int fixed_count,
                                              int vertex_count, int aggregates) {
    int i;
    if (fixed_count < 0 || (fixed_count > 0 && !fixed))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "fixed_count", true, (double)fixed_count,
                          "0, or the length of fixed");
    for (i = 0; i < fixed_count; i++)
        if (fixed[i] < 0 || fixed[i] >= vertex_count)
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "fixed", true, (double)fixed[i], "0..vertex_count - 1");
    if (aggregates < 0 || aggregates > 1000)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "aggregates", true, (double)aggregates,
                          "0 (by size) or 1..1000");
    return CSIM_OK;
}

static csim_status csimi_check_soft(csim_world *w, const csim_soft_def *def) {
    static const char fn[] = "csim_create_soft";
    static const csimi_field fields[] = {
        CSIMI_POSITIVE(csim_soft_def, scale),
        CSIMI_ANY(csim_soft_def, velocity.x),
        CSIMI_ANY(csim_soft_def, velocity.y),
        CSIMI_ANY(csim_soft_def, velocity.z),
        CSIMI_POSITIVE(csim_soft_def, young),
        {"poisson", offsetof(csim_soft_def, poisson), -1, 0.5, true, true, "above -1, below 0.5"},
        CSIMI_POSITIVE(csim_soft_def, density),
        CSIMI_AT_LEAST_0(csim_soft_def, mass_damping),
        CSIMI_AT_LEAST_0(csim_soft_def, stiffness_damping),
    };
    csim_status s;
    int i, k;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_soft_def()", def->guard)) != 0) return s;
    if ((s = csimi_check_pose(&w->error, fn, def->pose)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "material", (int)def->material, CSIM_MATERIAL_COUNT_)) != 0) return s;
    if (def->vertex_count < 4 || def->vertex_count > 20000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertex_count", true, (double)def->vertex_count, "4..2e7");
    if (def->tet_count < 1 || def->tet_count > 40000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tet_count", true, (double)def->tet_count, "1..4e7");
    if (!def->vertices || !def->tets)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, def->vertices ? "tets" : "vertices", false, 0, "not null");
    if ((s = csimi_check_mesh_choices(w, fn, def->fixed, def->fixed_count, def->vertex_count, def->aggregates)) != 0)
        return s;
    for (i = 0; i < 3 * def->vertex_count; i++)
        if (!csimi_finite(def->vertices[i]))
            return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, "vertices", true, (double)def->vertices[i],
                              "finite numbers");
    for (i = 0; i < 4 * def->tet_count; i++)
        if (def->tets[i] < 0 || def->tets[i] >= def->vertex_count)
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets", true, (double)def->tets[i], "0..vertex_count - 1");
    for (i = 0; def->tet_material && i < def->tet_count; i++)
        if ((s = csimi_check_enum(&w->error, fn, "tet_material", (int)def->tet_material[i], CSIM_MATERIAL_COUNT_)) != 0)
            return s;
    for (k = 0; k < 3; k++) {
        const csim_real *a = k == 0 ? def->tet_young : k == 1 ? def->tet_poisson : def->tet_density;
        static const char *const names[3] = {"tet_young", "tet_poisson", "tet_density"};
        for (i = 0; a && i < def->tet_count; i++)
            if (!csimi_finite(a[i]) || (k == 1 ? a[i] <= -1 || a[i] >= CSIM_R(0.5) : a[i] <= 0 || a[i] > CSIM_R(1e15)))
                return csimi_fail(&w->error, csimi_finite(a[i]) ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, fn, names[k],
                                  true, (double)a[i], k == 1 ? "above -1, below 0.5" : "above 0, at most 1e15");
    }
    return CSIM_OK;
}

static void csimi_sort_tet(int *a) {
    int i, j;
    for (i = 1; i < 4; i++) {
        int x = a[i];
        for (j = i; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

/* The first tet that repeats an earlier one, or -1. Buckets by the smallest vertex. */
static int csimi_duplicate_tet(const csim_soft_def *def, csimi_mesh_work *m) {
    int i, j, k, *first = m->count, *sorted = m->ints; /* sorted: 4 per tet, in bucket order */
    for (i = 0; i <= def->vertex_count; i++) first[i] = 0;
    for (i = 0; i < def->tet_count; i++) sorted[4 * i] = -1; /* no vertex: the search stops at the bucket before */
    for (i = 0; i < def->tet_count; i++) {
        int q[4];
        for (k = 0; k < 4; k++) q[k] = def->tets[4 * i + k];
        csimi_sort_tet(q);
        first[q[0] + 1]++;
    }
    for (i = 0; i < def->vertex_count; i++) first[i + 1] += first[i];
    for (i = 0; i < def->tet_count; i++) {
        int q[4], at;
        for (k = 0; k < 4; k++) q[k] = def->tets[4 * i + k];
        csimi_sort_tet(q);
        at = first[q[0]]++;
        for (j = at - 1; j >= 0 && sorted[4 * j] == q[0]; j--)
            if (sorted[4 * j + 1] == q[1] && sorted[4 * j + 2] == q[2] && sorted[4 * j + 3] == q[3]) return i;
        for (k = 0; k < 4; k++) sorted[4 * at + k] = q[k];
    }
    return -1;
}

/* Default number of aggregates: n^(2/3) / 6 between 4 and 150, findings of the coarse correction. */
CSIMI_FN int csimi_default_aggregates(int nodes) {
    int k = (int)(CSIMI_EXP(CSIM_R(2.0 / 3.0) * CSIMI_LOG((csim_real)nodes)) / 6);
    k = csimi_imin(150, csimi_imax(4, k));
    return nodes < 16 ? 1 : csimi_imin(k, nodes / 4);
}

/* Numbers a mesh leads to. */
typedef struct csimi_mesh_counts {
    int surface, triangles, blocks, aggregates;
} csimi_mesh_counts;

/* Rest shape, masses, surface and graph of a checked definition into the scratch and behind the counts. */
static csim_status csimi_study_mesh(csim_world *w, const csim_soft_def *def, csimi_mesh_work *m,
                                    csimi_mesh_counts *out) {
    static const char fn[] = "csim_create_soft";
    csimi_store *s = &w->store;
    int i, k, bad, needed = 0, nv = def->vertex_count, nt = def->tet_count;
    for (i = 0; i < 3 * nv; i++) m->x[i] = def->scale * def->vertices[i];
    for (i = 0; i < nt; i++) m->density[i] = def->tet_density ? def->tet_density[i] : def->density;
    for (i = 0; i < nv; i++) m->mass[i] = 0;
    bad = csimi_tet_prepare(nt, def->tets, m->x, m->density, s->state.tet_shape + 9 * s->count.tets,
                            s->state.tet_volume + s->count.tets, m->mass);
    if (bad >= 0)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets: index of an inverted or flat tet", true, (double)bad,
                          "no inverted or flat tets");
    for (i = 0; i < nv; i++)
        if (!(m->mass[i] > 0))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertices: isolated vertex", true, (double)i,
                              "every vertex used by a tet");
    if ((bad = csimi_duplicate_tet(def, m)) >= 0)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets: duplicate tet", true, (double)bad, "every tet once");
    out->triangles = csimi_tet_surface(nv, nt, def->tets, m->triangles, 4 * nt, m->ints);
    for (i = 0; i < nv; i++) m->count[i] = 0;
    for (i = 0; i < 3 * out->triangles; i++) m->count[m->triangles[i]] = 1;
    for (i = 0, out->surface = 0; i < nv; i++) out->surface += m->count[i];
    for (i = 0; i < nt; i++) {
        static const int edge[12] = {0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3};
        for (k = 0; k < 12; k++) m->pairs[12 * i + k] = def->tets[4 * i + edge[k]];
    }
    out->blocks = csimi_pattern_build(nv, 6 * nt, m->pairs, m->row, m->col, m->diag, 12 * nt + nv, &needed, m->ints);
    out->aggregates = csimi_aggregate(nv, m->row, m->col, m->x,
                                      def->aggregates ? csimi_imin(def->aggregates, nv) : csimi_default_aggregates(nv),
                                      m->aggregate, m->ints);
    return CSIM_OK;
}

CSIMI_FN void csimi_order_nodes(csimi_store *s, int nv, int groups, const int *aggregate, int *count) {
    int i, first = s->count.nodes;
    for (i = 0; i <= nv; i++) count[i] = 0;
    for (i = 0; i < nv; i++) count[aggregate[i] + 1]++;
    for (i = 0; i < groups; i++) count[i + 1] += count[i];
    for (i = 0; i < nv; i++) {
        int at = count[aggregate[i]]++;
        s->node_user[first + at] = i;
        s->node_of_user[first + i] = at;
        s->node_aggregate[first + at] = aggregate[i];
    }
}

CSIMI_FN void csimi_fix_node(csimi_store *s, int node) {
    s->state.node_mode[node] = CSIMI_FIXED;
    csimi_store3(s->state.v + 3 * node, csim_v3(0, 0, 0));
    csimi_store3(s->node_rep + 3 * node, csim_v3(0, 0, 0));
}

static void csimi_write_tets(csimi_store *s, const csim_soft_def *def, int first_node) {
    int i, k;
    for (i = 0; i < def->tet_count; i++) {
        int t = s->count.tets + i;
        csim_real young = def->tet_young ? def->tet_young[i] : def->young;
        csim_real poisson = def->tet_poisson ? def->tet_poisson[i] : def->poisson;
        for (k = 0; k < 4; k++)
            s->state.tet[4 * t + k] = first_node + s->node_of_user[first_node + def->tets[4 * i + k]];
        s->state.tet_lame[3 * t] = young / (2 * (1 + poisson));
        s->state.tet_lame[3 * t + 1] = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
        s->state.tet_lame[3 * t + 2] = def->stiffness_damping;
        s->state.tet_material[t] = (unsigned char)(def->tet_material ? def->tet_material[i] : def->material);
        for (k = 0; k < 5; k++) s->state.tet_active[5 * t + k] = 0;
    }
}

CSIM_API csim_status csim_create_soft(csim_world *w, const csim_soft_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_soft";
    csimi_counts need;
    csimi_store *s;
    csimi_mesh_work work;
    csimi_mesh_counts counts = {0, 0, 0, 0};
    csimi_arena arena;
    int slot, i, first, pass;
    csim_pose pose;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_soft(w, def)) != 0) return status;
    s = &w->store;
    need = csimi_counts_with_body(w);
    need.nodes += def->vertex_count;
    need.tets += def->tet_count;
    for (pass = 0; pass < 2; pass++) { /* room to study the mesh, then room for what the study found */
        if ((status = csimi_make_room(w, need, fn)) != 0) return status;
        arena = csimi_arena_in(s->scratch, s->scratch_bytes);
        csimi_mesh_work_layout(&work, def->vertex_count, def->tet_count, &arena);
        if (arena.overflow)
            return csimi_fail(&w->error, CSIM_CAPACITY, fn, "scratch", true, (double)arena.used, "a larger block");
        if ((status = csimi_study_mesh(w, def, &work, &counts)) != 0) return status;
        need.surface = s->count.surface + counts.surface;
        need.triangles = s->count.triangles + counts.triangles;
        need.matrix_blocks = s->count.matrix_blocks + counts.blocks;
        need.aggregates = s->count.aggregates + counts.aggregates;
    }
    first = s->count.nodes;
    slot = csimi_take_body(w, CSIM_SOFT, CSIM_DYNAMIC, &def->surface, def->user_data);
    s->body[slot].node_count = def->vertex_count;
    s->body[slot].tet_count = def->tet_count;
    s->body[slot].surface_count = counts.surface;
    s->body[slot].triangle_count = counts.triangles;
    s->body[slot].matrix_blocks = counts.blocks;
    s->body[slot].aggregate_count = counts.aggregates;
    csimi_order_nodes(s, def->vertex_count, counts.aggregates, work.aggregate, work.count);
    pose = def->pose;
    pose.rotation = csim_quat_normalize(pose.rotation);
    for (i = 0; i < def->vertex_count; i++)
        csimi_write_node(s, first + s->node_of_user[first + i], csim_pose_point(pose, csimi_load3(work.x + 3 * i)),
                         def->velocity, work.mass[i], def->mass_damping, CSIM_DYNAMIC, slot);
    for (i = 0; i < def->fixed_count; i++) csimi_fix_node(s, first + s->node_of_user[first + def->fixed[i]]);
    csimi_write_tets(s, def, first);
    for (i = 0; i < 3 * counts.triangles; i++) s->triangle[3 * s->count.triangles + i] = work.triangles[i];
    for (i = 0; i < def->vertex_count; i++) work.count[i] = 0;
    for (i = 0; i < 3 * counts.triangles; i++) work.count[work.triangles[i]] = 1;
    for (i = 0; i < def->vertex_count; i++)
        if (work.count[i]) s->surface_node[s->count.surface++] = first + s->node_of_user[first + i];
    s->count.nodes += def->vertex_count;
    s->count.tets += def->tet_count;
    s->count.triangles += counts.triangles;
    s->count.matrix_blocks += counts.blocks;
    s->count.aggregates += s->body[slot].aggregate_count;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}

/* ---- links */

static csim_status csimi_attach(csim_world *w, const csim_attachment *at, const char *function, csimi_place *place,
                                int *slot) {
    csimi_store *s = &w->store;
    csim_status status;
    const csimi_body *b;
    if ((status = csimi_check_vec(&w->error, function, "attachment.point", at->point)) != 0) return status;
    *slot = -1;
    *place = csimi_place_ground(at->point);
    if (at->body.index1 == 0) return CSIM_OK;
    if ((status = csimi_find_body(w, at->body, function, slot, &w->error)) != 0) return status;
    b = s->body + *slot;
    if (b->kind == CSIM_RIGID) {
        *place = csimi_place_rigid(&s->state, b->rigid, at->point);
        return CSIM_OK;
    }
    if (at->node < 0 || at->node >= b->node_count)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, function, "attachment.node", true, (double)at->node,
                          "0..node count of the body - 1");
    *place = csimi_place_node(b->first_node + s->node_of_user[b->first_node + at->node]);
    return CSIM_OK;
}

/* Takes a link slot; item is its place among the springs or pins. */
CSIMI_FN int csimi_take_link(csim_world *w, csimi_link_kind kind, int item, const int *bodies, csim_real break_force) {
    csimi_store *s = &w->store;
    int slot = w->free_link;
    csimi_link *l;
    uint32_t generation = 1;
    if (slot >= 0) {
        w->free_link = s->link[slot].next_free;
        generation = s->link[slot].generation;
    } else {
        slot = s->count.links++;
    }
    l = s->link + slot;
    CSIMI_MEMSET(l, 0, sizeof *l);
    l->generation = generation;
    l->alive = true;
    l->kind = kind;
    l->next_free = -1;
    l->item = item;
    l->body[0] = bodies[0];
    l->body[1] = bodies[1];
    l->break_force = break_force;
    return slot;
}

CSIMI_FN void csimi_finish_link(csim_world *w, int slot, csim_link_id *id) {
    csimi_sync_state(&w->store);
    csimi_note_high(w);
    w->pattern_stale = true;
    id->index1 = (uint32_t)slot + 1u;
    id->generation = w->store.link[slot].generation;
    id->world = w->stamp;
}

static csim_status csimi_link_ends(csim_world *w, const csim_attachment *a, const csim_attachment *b,
                                   const char *function, csimi_place *ends, int *bodies) {
    csim_status s;
    if ((s = csimi_attach(w, a, function, ends, bodies)) != 0) return s;
    if ((s = csimi_attach(w, b, function, ends + 1, bodies + 1)) != 0) return s;
    if (bodies[0] < 0 && bodies[1] < 0)
        return csimi_fail(&w->error, CSIM_STALE_ID, function, "a and b", false, 0, "at least one body");
    if (bodies[0] == bodies[1] && csimi_place_same(ends, ends + 1))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, function, "b", false, 0, "another body or node than a");
    return CSIM_OK;
}

CSIM_API csim_status csim_create_spring(csim_world *w, const csim_spring_def *def, csim_link_id *id) {
    static const char fn[] = "csim_create_spring";
    static const csimi_field fields[] = {
        {"rest_length", offsetof(csim_spring_def, rest_length), -1e9, 1e9, false, false,
         "below 0 (as it is now) or 0..1e9"},
        CSIMI_AT_LEAST_0(csim_spring_def, stiffness),
        CSIMI_AT_LEAST_0(csim_spring_def, damping),
        CSIMI_AT_LEAST_0(csim_spring_def, break_force),
    };
    csimi_place ends[2];
    csimi_counts need;
    csimi_store *s;
    int bodies[2], item, k;
    csim_real length;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_spring_def()", def->guard)) != 0)
        return status;
    if ((status = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if ((status = csimi_link_ends(w, &def->a, &def->b, fn, ends, bodies)) != 0) return status;
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    need.springs++;
    need.matrix_blocks += csimi_spring_blocks(ends);
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    item = s->count.springs++;
    for (k = 0; k < 2; k++) s->state.spring[2 * item + k] = ends[k];
    length = csim_length(csim_sub(csimi_place_point(&s->state, ends), csimi_place_point(&s->state, ends + 1)));
    s->state.spring_data[3 * item] = def->rest_length < 0 ? length : def->rest_length;
    s->state.spring_data[3 * item + 1] = def->stiffness;
    s->state.spring_data[3 * item + 2] = def->damping;
    s->count.matrix_blocks += csimi_spring_blocks(ends);
    k = csimi_take_link(w, CSIMI_SPRING, item, bodies, def->break_force);
    s->spring_link[item] = k;
    csimi_finish_link(w, k, id);
    return CSIM_OK;
}

CSIM_API csim_status csim_create_pin(csim_world *w, const csim_pin_def *def, csim_link_id *id) {
    static const char fn[] = "csim_create_pin";
    static const csimi_field fields[] = {CSIMI_AT_LEAST_0(csim_pin_def, break_force)};
    csimi_place ends[2];
    csimi_counts need;
    csimi_store *s;
    csimi_pin *pin;
    int bodies[2], item;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_pin_def()", def->guard)) != 0) return status;
    if ((status = csimi_check_fields(&w->error, fn, def, fields, 1)) != 0) return status;
    if ((status = csimi_link_ends(w, &def->a, &def->b, fn, ends, bodies)) != 0) return status;
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    need.pins++;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    item = s->count.pins++;
    pin = s->pin + item;
    CSIMI_MEMSET(pin, 0, sizeof *pin);
    pin->end[0] = ends[0];
    pin->end[1] = ends[1];
    pin->link = csimi_take_link(w, CSIMI_PIN, item, bodies, def->break_force);
    csimi_finish_link(w, pin->link, id);
    return CSIM_OK;
}

/* ---- removal */

static csim_status csimi_find_link(const csim_world *w, csim_link_id id, int *slot, csim_error *error) {
    static const char fn[] = "csim_destroy_link";
    if (id.index1 == 0) return csimi_fail(error, CSIM_STALE_ID, fn, "id", true, 0, "an id made by a create call");
    if (id.world != w->stamp)
        return csimi_fail(error, CSIM_WRONG_WORLD, fn, "id", true, (double)id.index1, "an id of this world");
    if (id.index1 > (uint32_t)w->store.count.links || !w->store.link[id.index1 - 1].alive ||
        w->store.link[id.index1 - 1].generation != id.generation)
        return csimi_fail(error, CSIM_STALE_ID, fn, "id", true, (double)id.index1, "an id whose link still exists");
    *slot = (int)(id.index1 - 1);
    return CSIM_OK;
}

CSIM_API bool csim_link_valid(const csim_world *w, csim_link_id id) {
    int slot;
    return w && csimi_find_link(w, id, &slot, NULL) == CSIM_OK;
}

/* Bend elements [first, first + n) have gone: those behind them move up. */
static void csimi_shift_bends(csimi_store *s, int first, int n) {
    int i;
    for (i = 0; i < s->count.bodies; i++)
        if (s->body[i].alive && s->body[i].first_bend > first) s->body[i].first_bend -= n;
}

static void csimi_drop_link(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    csimi_link *l = s->link + slot;
    int i;
    static const csimi_axis axis[] = {CSIMI_AXIS_springs, CSIMI_AXIS_pins, CSIMI_AXIS_bends};
    if (l->kind == CSIMI_SPRING) s->count.matrix_blocks -= csimi_spring_blocks(s->state.spring + 2 * l->item);
    csimi_remove(s, axis[l->kind], l->item, 1);
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == l->kind && s->link[i].item > l->item) s->link[i].item--;
    if (l->kind == CSIMI_CLAMP) {
        csimi_shift_bends(s, l->item, 1);
        s->count.matrix_blocks -= 2;
    }
    l->alive = false;
    l->generation++;
    l->next_free = w->free_link;
    w->free_link = slot;
    w->pattern_stale = true;
}

CSIM_API csim_status csim_destroy_link(csim_world *w, csim_link_id id) {
    int slot;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_destroy_link", NULL, false, 0, NULL);
    if ((s = csimi_find_link(w, id, &slot, &w->error)) != 0) return s;
    csimi_drop_link(w, slot);
    return CSIM_OK;
}

/* Contacts of a body that goes end now: their ids are reported, so that begin and end always pair up. */
static void csimi_end_contacts(csim_world *w, csim_body_id id) {
    csimi_store *s = &w->store;
    int i, kept = 0;
    for (i = 0; i < s->count.contacts; i++) {
        csim_contact_info c = s->contact[i];
        if (c.body_a.index1 == id.index1 || c.body_b.index1 == id.index1) {
            if (c.state != CSIM_CONTACT_OPEN && s->count.ended < s->capacity.ended)
                s->ended_id[s->count.ended++] = c.id;
        } else {
            s->contact[kept++] = c;
        }
    }
    s->count.contacts = kept;
}

static void csimi_shift_place(csimi_place *p, const csimi_body *gone) {
    csimi_place_shift(p, gone->first_node, gone->node_count, gone->rigid);
}

static void csimi_shift_cables(csimi_store *s, const csimi_body *gone) {
    int i, side;
    for (i = 0; i < 2 * s->count.frames; i++)
        if (s->state.edge_node[i] > gone->first_node) s->state.edge_node[i] -= gone->node_count;
    for (i = 0; i < s->count.bends; i++)
        for (side = 0; side < 2; side++) {
            csimi_bend_end *e = s->state.bend[i].end + side;
            if (e->frame > gone->first_frame) e->frame -= gone->frame_count;
            if (gone->rigid >= 0 && e->rigid > gone->rigid) e->rigid--;
        }
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == CSIMI_CLAMP && s->link[i].item > gone->first_bend)
            s->link[i].item -= gone->bend_count;
    csimi_shift_bends(s, gone->first_bend, gone->bend_count);
}

static void csimi_shift_indices(csim_world *w, const csimi_body *gone, int hulls, int first_hull) {
    csimi_store *s = &w->store;
    int i;
    for (i = 0; i < s->count.bodies; i++) {
        csimi_body *b = s->body + i;
        if (!b->alive) continue;
        if (b->first_node > gone->first_node) b->first_node -= gone->node_count;
        if (b->first_shape > gone->first_shape) b->first_shape -= gone->shape_count;
        if (b->first_tet > gone->first_tet) b->first_tet -= gone->tet_count;
        if (b->first_membrane > gone->first_membrane) b->first_membrane -= gone->membrane_count;
        if (b->first_surface > gone->first_surface) b->first_surface -= gone->surface_count;
        if (b->first_triangle > gone->first_triangle) b->first_triangle -= gone->triangle_count;
        if (b->first_frame > gone->first_frame) b->first_frame -= gone->frame_count;
        if (gone->rigid >= 0 && b->rigid > gone->rigid) b->rigid--;
    }
    csimi_shift_cables(s, gone);
    for (i = 0; i < s->count.tets * 4; i++)
        if (s->state.tet[i] > gone->first_node) s->state.tet[i] -= gone->node_count;
    for (i = 0; i < s->count.membranes * 3; i++) {
        if (s->state.membrane[i] > gone->first_node) s->state.membrane[i] -= gone->node_count;
        if (s->state.membrane_beyond[i] > gone->first_node) s->state.membrane_beyond[i] -= gone->node_count;
    }
    for (i = 0; i < s->count.surface; i++)
        if (s->surface_node[i] > gone->first_node) s->surface_node[i] -= gone->node_count;
    for (i = 0; i < s->count.shapes; i++)
        if (s->shape[i].hull > first_hull) s->shape[i].hull -= hulls;
    for (i = 0; i < 2 * s->count.springs; i++) csimi_shift_place(s->state.spring + i, gone);
    for (i = 0; i < s->count.pins; i++) {
        csimi_shift_place(s->pin[i].end, gone);
        csimi_shift_place(s->pin[i].end + 1, gone);
    }
}

CSIM_API csim_status csim_destroy_body(csim_world *w, csim_body_id id) {
    csimi_store *s;
    csimi_body gone;
    int slot, i, hulls = 0, first_hull = 0;
    csim_status status;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_destroy_body", NULL, false, 0, NULL);
    if ((status = csimi_find_body(w, id, "csim_destroy_body", &slot, &w->error)) != 0) return status;
    s = &w->store;
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && (s->link[i].body[0] == slot || s->link[i].body[1] == slot)) csimi_drop_link(w, i);
    gone = s->body[slot];
    csimi_end_contacts(w, id);
    for (i = 0; i < gone.shape_count; i++)
        if (s->shape[gone.first_shape + i].hull >= 0) {
            if (hulls == 0) first_hull = s->shape[gone.first_shape + i].hull;
            hulls++;
        }
    s->count.matrix_blocks -= gone.matrix_blocks;
    s->count.aggregates -= gone.aggregate_count;
    csimi_remove(s, CSIMI_AXIS_nodes, gone.first_node, gone.node_count);
    if (gone.rigid >= 0) csimi_remove(s, CSIMI_AXIS_rigids, gone.rigid, 1);
    csimi_remove(s, CSIMI_AXIS_shapes, gone.first_shape, gone.shape_count);
    csimi_remove(s, CSIMI_AXIS_hulls, first_hull, hulls);
    csimi_remove(s, CSIMI_AXIS_tets, gone.first_tet, gone.tet_count);
    csimi_remove(s, CSIMI_AXIS_membranes, gone.first_membrane, gone.membrane_count);
    csimi_remove(s, CSIMI_AXIS_surface, gone.first_surface, gone.surface_count);
    csimi_remove(s, CSIMI_AXIS_triangles, gone.first_triangle, gone.triangle_count);
    csimi_remove(s, CSIMI_AXIS_frames, gone.first_frame, gone.frame_count);
    csimi_remove(s, CSIMI_AXIS_bends, gone.first_bend, gone.bend_count);
    s->body[slot].alive = false;
    s->body[slot].generation++;
    s->body[slot].next_free = w->free_body;
    w->free_body = slot;
    for (i = 0; i < w->live_bodies && s->body_list[i] != slot; i++) {
    }
    for (; i + 1 < w->live_bodies; i++) s->body_list[i] = s->body_list[i + 1];
    w->live_bodies--;
    csimi_shift_indices(w, &gone, hulls, first_hull);
    csimi_sync_state(s);
    w->pattern_stale = true;
    return CSIM_OK;
}
/* ==== end world/body.c */

/* ==== begin world/cable.c ======================================================================================= */
/* world/cable: making cables and clamps, reading and driving them. */

CSIM_API csim_cable_def csim_default_cable_def(void) {
    csim_cable_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.segments = 16;
    d.radius = CSIM_R(0.005);
    d.density = 1000;
    d.young = CSIM_R(1e6);
    d.poisson = CSIM_R(0.5);
    d.stretch_stiffness = d.shear_stiffness = d.bend_stiffness = d.bend_stiffness2 = d.twist_stiffness = -1;
    d.surface = csim_default_surface_def();
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_clamp_def csim_default_clamp_def(void) {
    csim_clamp_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.guard = CSIMI_GUARD;
    return d;
}

/* ---- the definition */

static int csimi_cable_nodes(const csim_cable_def *d) { return d->points ? d->point_count : d->segments + 1; }
static int csimi_cable_edges(const csim_cable_def *d) { return csimi_cable_nodes(d) - (d->closed ? 0 : 1); }

static csim_vec3 csimi_cable_point(const csim_cable_def *d, int i) {
    csim_real t;
    if (d->points) return csimi_load3(d->points + 3 * (size_t)(i % d->point_count));
    t = (csim_real)i / (csim_real)d->segments;
    return csim_add(csim_scale(1 - t, d->start), csim_scale(t, d->end));
}

static csim_status csimi_cable_shape(csim_world *w, const csim_cable_def *d, const char *fn) {
    int i, least = d->closed ? 3 : 2, nodes = csimi_cable_nodes(d), edges = csimi_cable_edges(d);
    for (i = 0; d->points && i < 3 * nodes; i++)
        if (!csimi_finite(d->points[i]) || csimi_abs(d->points[i]) > CSIM_R(1e9))
            return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, "points", true, (double)d->points[i],
                              "finite numbers in -1e9..1e9");
    if (nodes < least)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "point_count", true, (double)nodes,
                          d->closed ? "at least 3 when closed" : "at least 2");
    for (i = 0; i < edges; i++) {
        csim_vec3 a = csimi_cable_point(d, i), b = csimi_cable_point(d, i + 1), along = csim_sub(b, a);
        csim_real length = csim_length(along), size = csim_length(a) + csim_length(b);
        if (!(length > 64 * CSIMI_EPS * size) || !(length > CSIM_R(1e-9)))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "points: zero-length edge", true, (double)i,
                              "neighbouring points apart");
        if (d->frames) {
            csim_quat q = csimi_load_quat(d->frames + 4 * (size_t)i);
            csim_real norm = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
            if (!(csimi_abs(norm - 1) < CSIM_R(0.002)))
                return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "frames: length squared", true, (double)norm,
                                  "unit quaternions, 1 within 0.002");
            if (!(csim_dot(csim_rotate(q, csim_v3(0, 0, 1)), along) > CSIM_R(0.5) * length))
                return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "frames: edge", true, (double)i,
                                  "third axes that point along their edges");
        }
    }
    return CSIM_OK;
}

static csim_status csimi_check_cable(csim_world *w, const csim_cable_def *d) {
    static const char fn[] = "csim_create_cable";
#define CSIMI_SECTION(name, low, open, text) \
    { #name, offsetof(csim_cable_def, name), low, 1e15, open, false, text }
    static const csimi_field fields[] = {
        CSIMI_ANY(csim_cable_def, start.x),
        CSIMI_ANY(csim_cable_def, start.y),
        CSIMI_ANY(csim_cable_def, start.z),
        CSIMI_ANY(csim_cable_def, end.x),
        CSIMI_ANY(csim_cable_def, end.y),
        CSIMI_ANY(csim_cable_def, end.z),
        CSIMI_ANY(csim_cable_def, normal.x),
        CSIMI_ANY(csim_cable_def, normal.y),
        CSIMI_ANY(csim_cable_def, normal.z),
        CSIMI_ANY(csim_cable_def, velocity.x),
        CSIMI_ANY(csim_cable_def, velocity.y),
        CSIMI_ANY(csim_cable_def, velocity.z),
        CSIMI_POSITIVE(csim_cable_def, radius),
        CSIMI_POSITIVE(csim_cable_def, density),
        CSIMI_POSITIVE(csim_cable_def, young),
        {"poisson", offsetof(csim_cable_def, poisson), -1, 0.5, true, false, "above -1, at most 0.5"},
        CSIMI_SECTION(stretch_stiffness, -1e15, false, "below 0 (from the material) or above 0"),
        CSIMI_SECTION(shear_stiffness, -1e15, false, "below 0 (from the material) or above 0"),
        CSIMI_SECTION(bend_stiffness, -1e15, false, "below 0 (from the material) or 0..1e15"),
        CSIMI_SECTION(bend_stiffness2, -1e15, false, "below 0 (as bend_stiffness) or 0..1e15"),
        CSIMI_SECTION(twist_stiffness, -1e15, false, "below 0 (from the material) or 0..1e15"),
        {"strain", offsetof(csim_cable_def, strain), -0.9, 10, false, false, "-0.9..10"},
        CSIMI_ANY(csim_cable_def, rest_curvature.x),
        CSIMI_ANY(csim_cable_def, rest_curvature.y),
        CSIMI_ANY(csim_cable_def, rest_curvature.z),
        CSIMI_AT_LEAST_0(csim_cable_def, mass_damping),
        CSIMI_AT_LEAST_0(csim_cable_def, stiffness_damping),
    };
#undef CSIMI_SECTION
    csim_status s;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_cable_def()", d->guard)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, d, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if (d->stretch_stiffness == 0 || d->shear_stiffness == 0)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn,
                          d->stretch_stiffness == 0 ? "stretch_stiffness" : "shear_stiffness", true, 0,
                          "below 0 (from the material) or above 0");
    if ((s = csimi_check_enum(&w->error, fn, "start_end", (int)d->start_end, CSIM_CABLE_END_COUNT_)) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "end_end", (int)d->end_end, CSIM_CABLE_END_COUNT_)) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &d->surface)) != 0) return s;
    if (d->points && (d->point_count < 2 || d->point_count > 1000000))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "point_count", true, (double)d->point_count, "2..1e6");
    if (!d->points && (d->segments < 1 || d->segments > 1000000))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "segments", true, (double)d->segments, "1..1e6");
    if (d->closed && !d->points)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, "points", false, 0, "not null when closed");
    if (d->closed && (d->start_end != CSIM_CABLE_FREE || d->end_end != CSIM_CABLE_FREE))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "start_end", true, (double)d->start_end,
                          "both ends CSIM_CABLE_FREE when closed");
    return csimi_cable_shape(w, d, fn);
}

/* ---- writing */

/* The rotation by the smallest angle that takes unit vector a to unit vector b. */
static csim_quat csimi_shortest_turn(csim_vec3 a, csim_vec3 b) {
    csim_vec3 axis = csim_cross(a, b);
    csim_real half = 1 + csim_dot(a, b);
    csim_quat q;
    if (half < CSIM_R(1e-6)) { /* opposite: any axis across */
        axis = csimi_abs(a.x) < CSIM_R(0.7) ? csim_cross(a, csim_v3(1, 0, 0)) : csim_cross(a, csim_v3(0, 1, 0));
        return csim_quat_axis_angle(axis, CSIMI_PI);
    }
    q.w = half;
    q.x = axis.x;
    q.y = axis.y;
    q.z = axis.z;
    return csim_quat_normalize(q);
}

static csim_vec3 csimi_cable_tangent(const csim_cable_def *d, int edge) {
    return csim_normalize(csim_sub(csimi_cable_point(d, edge + 1), csimi_cable_point(d, edge)));
}

/* Frame of an edge as drawn; last: that of the edge before. */
static csim_quat csimi_cable_frame(const csim_cable_def *d, int edge, csim_quat last) {
    csim_vec3 t = csimi_cable_tangent(d, edge), z = csim_v3(0, 0, 1), x, n;
    csim_quat q;
    if (d->frames) return csim_quat_normalize(csimi_load_quat(d->frames + 4 * (size_t)edge));
    if (edge > 0) return csim_quat_normalize(csim_quat_mul(csimi_shortest_turn(csim_rotate(last, z), t), last));
    q = csimi_shortest_turn(z, t);
    x = csim_rotate(q, csim_v3(1, 0, 0));
    n = csim_madd(d->normal, -csim_dot(d->normal, t), t);
    if (csim_dot(n, n) > CSIM_R(1e-12) * csim_dot(d->normal, d->normal))
        q = csim_quat_mul(csimi_shortest_turn(x, csim_normalize(n)), q);
    return csim_quat_normalize(q);
}

/* Stiffness of the section: shear, shear, stretch; bend, bend, twist. */
static void csimi_cable_section(const csim_cable_def *d, csim_real *C, csim_real *D) {
    csim_real r2 = d->radius * d->radius, A = CSIMI_PI * r2, I = A * r2 / 4;
    csim_real G = d->young / (2 * (1 + d->poisson)), k = 6 * (1 + d->poisson) / (7 + 6 * d->poisson);
    C[0] = C[1] = d->shear_stiffness < 0 ? k * G * A : d->shear_stiffness;
    C[2] = d->stretch_stiffness < 0 ? d->young * A : d->stretch_stiffness;
    D[0] = d->bend_stiffness < 0 ? d->young * I : d->bend_stiffness;
    D[1] = d->bend_stiffness2 < 0 ? D[0] : d->bend_stiffness2;
    D[2] = d->twist_stiffness < 0 ? 2 * G * I : d->twist_stiffness;
}

static void csimi_write_edge(csimi_store *s, const csim_cable_def *d, const csim_real *C, int edge, int slot) {
    csimi_state *t = &s->state;
    int k = s->count.frames + edge, node = s->count.nodes, nodes = csimi_cable_nodes(d), c;
    csim_real length = csim_length(csim_sub(csimi_cable_point(d, edge + 1), csimi_cable_point(d, edge)));
    csim_real r2 = d->radius * d->radius, mass;
    csim_quat last = edge ? csimi_load_quat(t->frame + 4 * (size_t)(k - 1)) : csim_quat_identity();
    length /= 1 + d->strain;
    mass = d->density * CSIMI_PI * r2 * length;
    csimi_store_quat(t->frame + 4 * (size_t)k, csimi_cable_frame(d, edge, last));
    t->edge_node[2 * k] = node + edge;
    t->edge_node[2 * k + 1] = node + (edge + 1) % nodes;
    t->edge_data[6 * k] = length;
    for (c = 0; c < 3; c++) {
        t->edge_data[6 * k + 1 + c] = C[c];
        t->frame_inertia[3 * k + c] = (c < 2 ? 1 : 2) * mass * r2 / 4;
        t->frame_velocity[3 * k + c] = s->frame_rep[3 * k + c] = t->frame_torque[3 * k + c] = 0;
    }
    t->edge_data[6 * k + 4] = d->stiffness_damping;
    t->edge_data[6 * k + 5] = d->radius;
    t->frame_damping[k] = d->mass_damping;
    t->frame_mode[k] = CSIMI_FREE;
    s->frame_body[k] = slot;
    t->node_mass[t->edge_node[2 * k]] += mass / 2;
    t->node_mass[t->edge_node[2 * k + 1]] += mass / 2;
}

static csimi_bend_end csimi_bend_frame(int frame) {
    csimi_bend_end e;
    CSIMI_MEMSET(&e, 0, sizeof e);
    e.frame = frame;
    e.rigid = -1;
    e.rotation[0] = 1;
    return e;
}

static csimi_bend_end csimi_bend_world(csim_quat q) {
    csimi_bend_end e = csimi_bend_frame(-1);
    csimi_store_quat(e.rotation, q);
    return e;
}

/* One bend element behind the counts. */
static void csimi_write_bend(csimi_store *s, int at, csimi_bend_end a, csimi_bend_end b, csim_real length,
                             const csim_real *D, csim_vec3 rest, csim_real damping) {
    csim_real *data = s->state.bend_data + 8 * (size_t)at;
    s->state.bend[at].end[0] = a;
    s->state.bend[at].end[1] = b;
    data[0] = length;
    csimi_store3(data + 1, csimi_load3(D));
    csimi_store3(data + 4, rest);
    data[7] = damping;
}

/* The bend elements of a cable in the order of its nodes: start clamp, joints, end clamp; a ring begins with the joint
   at its first node. Returns how many. */
static int csimi_write_bends(csimi_store *s, const csim_cable_def *d, const csim_real *D) {
    const csim_real *q = s->state.frame + 4 * (size_t)s->count.frames;
    const csim_real *edge = s->state.edge_data + 6 * (size_t)s->count.frames;
    int first = s->count.frames, edges = csimi_cable_edges(d), at = s->count.bends, i;
    csim_vec3 rest = d->rest_as_drawn ? csim_v3(0, 0, 0) : d->rest_curvature;
    if (d->start_end == CSIM_CABLE_CLAMPED)
        csimi_write_bend(s, at++, csimi_bend_world(csimi_load_quat(q)), csimi_bend_frame(first), edge[0] / 2, D, rest,
                         d->stiffness_damping);
    for (i = d->closed ? 0 : 1; i < edges; i++) {
        int before = i ? i - 1 : edges - 1;
        csim_real length = (edge[6 * (size_t)before] + edge[6 * (size_t)i]) / 2, kappa[3];
        if (d->rest_as_drawn) {
            csimi_bend_curvature(csimi_load_quat(q + 4 * (size_t)before), csimi_load_quat(q + 4 * (size_t)i), length,
                                 kappa);
            rest = csimi_load3(kappa);
        }
        csimi_write_bend(s, at++, csimi_bend_frame(first + before), csimi_bend_frame(first + i), length, D, rest,
                         d->stiffness_damping);
    }
    if (d->rest_as_drawn) rest = csim_v3(0, 0, 0);
    if (d->end_end == CSIM_CABLE_CLAMPED)
        csimi_write_bend(s, at++, csimi_bend_frame(first + edges - 1),
                         csimi_bend_world(csimi_load_quat(q + 4 * (size_t)(edges - 1))),
                         edge[6 * (size_t)(edges - 1)] / 2, D, rest, d->stiffness_damping);
    return at - s->count.bends;
}

static void csimi_write_cable(csimi_store *s, const csim_cable_def *d, int slot) {
    csimi_body *b = s->body + slot;
    csim_real C[3], D[3];
    int i, nodes = csimi_cable_nodes(d), edges = csimi_cable_edges(d), first = s->count.nodes;
    csimi_cable_section(d, C, D);
    for (i = 0; i < nodes; i++) {
        bool held = (i == 0 && d->start_end != CSIM_CABLE_FREE) || (i == nodes - 1 && d->end_end != CSIM_CABLE_FREE);
        csimi_write_node(s, first + i, csimi_cable_point(d, i), held ? csim_v3(0, 0, 0) : d->velocity, 0,
                         d->mass_damping, held ? CSIM_STATIC : CSIM_DYNAMIC, slot);
        s->node_user[first + i] = s->node_of_user[first + i] = i;
        s->node_aggregate[first + i] = -1;
        s->surface_node[s->count.surface + i] = first + i;
    }
    for (i = 0; i < edges; i++) csimi_write_edge(s, d, C, i, slot);
    b->node_count = b->surface_count = nodes;
    b->frame_count = edges;
    b->bend_count = csimi_write_bends(s, d, D);
    b->clamped[0] = d->start_end == CSIM_CABLE_CLAMPED;
    b->clamped[1] = d->end_end == CSIM_CABLE_CLAMPED;
    b->closed = d->closed;
    b->radius = d->radius;
    b->matrix_blocks = nodes + 7 * edges + 2 * b->bend_count;
}

CSIM_API csim_status csim_create_cable(csim_world *w, const csim_cable_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_cable";
    csimi_counts need;
    csimi_store *s;
    int slot, nodes, edges;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_cable(w, def)) != 0) return status;
    nodes = csimi_cable_nodes(def);
    edges = csimi_cable_edges(def);
    need = csimi_counts_with_body(w);
    need.nodes += nodes;
    need.surface += nodes;
    need.frames += edges;
    need.bends += edges + 1;
    need.matrix_blocks += nodes + 7 * edges + 2 * (edges + 1);
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    slot = csimi_take_body(w, CSIM_BODY_CABLE, CSIM_DYNAMIC, &def->surface, def->user_data);
    csimi_write_cable(s, def, slot);
    s->count.nodes += nodes;
    s->count.surface += nodes;
    s->count.frames += edges;
    s->count.bends += s->body[slot].bend_count;
    s->count.matrix_blocks += s->body[slot].matrix_blocks;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}

/* ---- clamps */

static csim_status csimi_find_cable(const csim_world *w, csim_body_id id, const char *fn, int *slot,
                                    csim_error *error) {
    csim_status s = csimi_find_body(w, id, fn, slot, error);
    if (s) return s;
    if (w->store.body[*slot].kind == CSIM_BODY_CABLE) return CSIM_OK;
    return csimi_fail(error, CSIM_WRONG_KIND, fn, "id", true, (double)id.index1, "a cable");
}

/* The end of a clamp on the body whose axes hold the section q; world where the slot is -1. */
static csimi_bend_end csimi_clamp_end(const csimi_store *s, int slot, csim_quat q) {
    csimi_bend_end e = csimi_bend_world(q);
    if (slot < 0) return e;
    e.rigid = s->body[slot].rigid;
    csimi_store_quat(e.rotation,
                     csim_quat_mul(csim_quat_conj(csimi_load_quat(s->state.rotation + 4 * (size_t)e.rigid)), q));
    return e;
}

CSIM_API csim_status csim_create_clamp(csim_world *w, const csim_clamp_def *def, csim_link_id *id) {
    static const char fn[] = "csim_create_clamp";
    csimi_counts need;
    csimi_store *s;
    const csimi_body *cable;
    csimi_bend_end end[2];
    csim_real D[3], length, damping;
    int bodies[2] = {-1, -1}, frame, item, link;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_clamp_def()", def->guard)) != 0) return status;
    if ((status = csimi_find_cable(w, def->cable, fn, bodies, &w->error)) != 0) return status;
    if (def->body.index1 && (status = csimi_find_body(w, def->body, fn, bodies + 1, &w->error)) != 0) return status;
    if (bodies[1] >= 0 && w->store.body[bodies[1]].kind != CSIM_RIGID)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "body", true, (double)def->body.index1, "a rigid body");
    cable = w->store.body + bodies[0];
    if (cable->closed || cable->bend_count == 0)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "cable", true, (double)def->cable.index1,
                          "an open cable of two edges at least");
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    need.bends++;
    need.matrix_blocks += 2;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    cable = s->body + bodies[0];
    frame = cable->first_frame + (def->at_end ? cable->frame_count - 1 : 0);
    item = cable->first_bend + (def->at_end ? cable->bend_count - 1 : 0); /* its neighbour knows the section */
    csimi_store3(D, csimi_load3(s->state.bend_data + 8 * (size_t)item + 1));
    length = s->state.edge_data[6 * (size_t)frame] / 2;
    damping = s->state.bend_data[8 * (size_t)item + 7];
    end[def->at_end ? 0 : 1] = csimi_bend_frame(frame);
    end[def->at_end ? 1 : 0] = csimi_clamp_end(s, bodies[1], csimi_load_quat(s->state.frame + 4 * (size_t)frame));
    item = s->count.bends++;
    csimi_write_bend(s, item, end[0], end[1], length, D, csim_v3(0, 0, 0), damping);
    s->count.matrix_blocks += 2;
    link = csimi_take_link(w, CSIMI_CLAMP, item, bodies, 0);
    csimi_finish_link(w, link, id);
    return CSIM_OK;
}

/* ---- reading */

CSIM_API int csim_cable_edge_count(const csim_world *w, csim_body_id id) {
    int slot;
    if (!w || csimi_find_cable(w, id, "csim_cable_edge_count", &slot, NULL) != CSIM_OK) return 0;
    return w->store.body[slot].frame_count;
}

#define CSIMI_READ_CABLE(w, id, out)                                                                            \
    const csimi_store *s;                                                                                       \
    const csimi_body *b;                                                                                        \
    int slot;                                                                                                   \
    csim_status status;                                                                                         \
    if (!(w) || !(out)) return CSIM_NULL_ARGUMENT;                                                              \
    if ((status = csimi_find_cable(w, id, "a csim_cable_get function", &slot, NULL)) != CSIM_OK) return status; \
    s = &(w)->store;                                                                                            \
    b = s->body + slot

CSIM_API csim_status csim_cable_get_radius(const csim_world *w, csim_body_id id, csim_real *radius) {
    CSIMI_READ_CABLE(w, id, radius);
    *radius = b->radius;
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_get_frames(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    if (stride < 4) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->frame_count; i++)
        CSIMI_MEMCPY(out + (size_t)i * (size_t)stride, s->state.frame + 4 * (size_t)(b->first_frame + i),
                     4 * sizeof(csim_real));
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_get_spins(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    if (stride < 3) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->frame_count; i++)
        csimi_store3(out + (size_t)i * (size_t)stride, csimi_load3(s->frame_rep + 3 * (size_t)(b->first_frame + i)));
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_get_forces(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    if (stride < 3) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->frame_count; i++)
        csimi_edge_force(&s->state, b->first_frame + i, out + (size_t)i * (size_t)stride, NULL);
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_get_tensions(const csim_world *w, csim_body_id id, csim_real *out) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    for (i = 0; i < b->frame_count; i++) {
        csim_quat q = csimi_load_quat(s->state.frame + 4 * (size_t)(b->first_frame + i));
        csim_real force[3];
        csimi_edge_force(&s->state, b->first_frame + i, force, NULL);
        out[i] = csim_dot(csim_rotate(q, csim_v3(0, 0, 1)), csimi_load3(force));
    }
    return CSIM_OK;
}

/* Adds what bend element k carries to the section at its node. */
static void csimi_add_moment(const csimi_store *s, const csimi_body *b, int k, csim_real *out, int stride) {
    const csimi_bend_end *end = s->state.bend[k].end;
    int frame = end[1].frame >= 0 ? end[1].frame : end[0].frame + 1, node = frame - b->first_frame;
    csim_real torque[3], K[9], *to = out + (size_t)node * (size_t)stride;
    csimi_bend_law(&s->state, k, torque, K);
    csimi_store3(to, csim_add(csimi_load3(to), csimi_load3(torque)));
}

CSIM_API csim_status csim_cable_get_moments(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    int i;
    CSIMI_READ_CABLE(w, id, out);
    if (stride < 3) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->node_count; i++) csimi_store3(out + (size_t)i * (size_t)stride, csim_v3(0, 0, 0));
    for (i = b->first_bend; i < b->first_bend + b->bend_count; i++) csimi_add_moment(s, b, i, out, stride);
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == CSIMI_CLAMP && s->link[i].body[0] == slot)
            csimi_add_moment(s, b, s->link[i].item, out, stride);
    return CSIM_OK;
}
#undef CSIMI_READ_CABLE

/* ---- driving */

static csim_status csimi_open_edge(csim_world *w, csim_body_id id, int edge, csim_vec3 v, const char *fn, int *frame) {
    int slot;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, fn, NULL, false, 0, NULL);
    if ((s = csimi_find_cable(w, id, fn, &slot, &w->error)) != 0) return s;
    if (edge < 0 || edge >= w->store.body[slot].frame_count)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "edge", true, (double)edge, "0..edge count - 1");
    *frame = w->store.body[slot].first_frame + edge;
    return csimi_check_vec(&w->error, fn, "vector", v);
}

CSIM_API csim_status csim_cable_set_frame(csim_world *w, csim_body_id id, int edge, csim_quat rotation,
                                          csim_vec3 angular_velocity) {
    static const char fn[] = "csim_cable_set_frame";
    csim_pose pose = csim_pose_identity();
    int frame;
    csim_status s = csimi_open_edge(w, id, edge, angular_velocity, fn, &frame);
    if (s) return s;
    pose.rotation = rotation;
    if ((s = csimi_check_pose(&w->error, fn, pose)) != 0) return s;
    csimi_store_quat(w->store.state.frame + 4 * (size_t)frame, csim_quat_normalize(rotation));
    csimi_set_frame_velocity(&w->store, frame, angular_velocity);
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_set_frame_motion(csim_world *w, csim_body_id id, int edge, csim_motion motion) {
    static const char fn[] = "csim_cable_set_frame_motion";
    int frame;
    csim_status s = csimi_open_edge(w, id, edge, csim_v3(0, 0, 0), fn, &frame);
    if (s) return s;
    if ((s = csimi_check_enum(&w->error, fn, "motion", (int)motion, CSIM_MOTION_COUNT_)) != 0) return s;
    w->store.state.frame_mode[frame] = csimi_mode_of(motion);
    if (motion == CSIM_STATIC) csimi_set_frame_velocity(&w->store, frame, csim_v3(0, 0, 0));
    return CSIM_OK;
}

CSIM_API csim_status csim_cable_add_torque(csim_world *w, csim_body_id id, int edge, csim_vec3 torque) {
    int frame;
    csim_real *to;
    csim_status s = csimi_open_edge(w, id, edge, torque, "csim_cable_add_torque", &frame);
    if (s) return s;
    to = w->store.state.frame_torque + 3 * (size_t)frame;
    csimi_store3(to, csim_add(csimi_load3(to), torque));
    return CSIM_OK;
}
/* ==== end world/cable.c */

/* ==== begin world/cloth.c ======================================================================================= */
/* world/cloth: making cloth. */

CSIM_API csim_cloth_def csim_default_cloth_def(void) {
    csim_cloth_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.pose = csim_pose_identity();
    d.scale = 1;
    d.young = CSIM_R(1e6);
    d.poisson = CSIM_R(0.3);
    d.thickness = CSIM_R(1e-3);
    d.density = 500;
    d.bending = -1;
    d.stiffness_damping = CSIM_R(1e-3);
    d.surface = csim_default_surface_def();
    d.guard = CSIMI_GUARD;
    return d;
}

/* ---- checks */

static csim_status csimi_check_cloth_mesh(csim_world *w, const csim_cloth_def *def) {
    static const char fn[] = "csim_create_cloth";
    int i;
    if (def->vertex_count < 3 || def->vertex_count > 20000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertex_count", true, (double)def->vertex_count, "3..2e7");
    if (def->triangle_count < 1 || def->triangle_count > 40000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "triangle_count", true, (double)def->triangle_count, "1..4e7");
    if (!def->vertices || !def->triangles)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, def->vertices ? "triangles" : "vertices", false, 0,
                          "not null");
    for (i = 0; i < 3 * def->vertex_count; i++)
        if (!csimi_finite(def->vertices[i]))
            return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, "vertices", true, (double)def->vertices[i],
                              "finite numbers");
    for (i = 0; i < 3 * def->triangle_count; i++)
        if (def->triangles[i] < 0 || def->triangles[i] >= def->vertex_count)
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "triangles", true, (double)def->triangles[i],
                              "0..vertex_count - 1");
    return csimi_check_mesh_choices(w, fn, def->fixed, def->fixed_count, def->vertex_count, def->aggregates);
}

static csim_status csimi_check_cloth(csim_world *w, const csim_cloth_def *def) {
    static const char fn[] = "csim_create_cloth";
    static const csimi_field fields[] = {
        CSIMI_POSITIVE(csim_cloth_def, scale),
        CSIMI_ANY(csim_cloth_def, velocity.x),
        CSIMI_ANY(csim_cloth_def, velocity.y),
        CSIMI_ANY(csim_cloth_def, velocity.z),
        CSIMI_POSITIVE(csim_cloth_def, young),
        {"poisson", offsetof(csim_cloth_def, poisson), -1, 0.5, true, true, "above -1, below 0.5"},
        {"thickness", offsetof(csim_cloth_def, thickness), 0, 1e3, true, false, "above 0, at most 1000"},
        CSIMI_POSITIVE(csim_cloth_def, density),
        {"bending", offsetof(csim_cloth_def, bending), -1e15, 1e15, false, false,
         "below 0 (from thickness) or 0..1e15"},
        CSIMI_AT_LEAST_0(csim_cloth_def, mass_damping),
        CSIMI_AT_LEAST_0(csim_cloth_def, stiffness_damping),
    };
    csim_status s;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_cloth_def()", def->guard)) != 0) return s;
    if ((s = csimi_check_pose(&w->error, fn, def->pose)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
    if (def->material != CSIM_COROTATIONAL && def->material != CSIM_ST_VENANT_KIRCHHOFF)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "material", true, (double)def->material,
                          "CSIM_COROTATIONAL or CSIM_ST_VENANT_KIRCHHOFF");
    return csimi_check_cloth_mesh(w, def);
}

/* ---- the mesh */

typedef struct csimi_cloth_work {
    csim_real *x, *mass;
    int *beyond, *pairs, *row, *col, *diag, *aggregate, *count, *ints;
} csimi_cloth_work;

enum { CSIMI_CLOTH_PAIRS = 15 }; /* of six nodes */

static void csimi_cloth_work_layout(csimi_cloth_work *m, int nodes, int triangles, csimi_arena *arena) {
    size_t n = (size_t)nodes, t = (size_t)triangles, ints = n + 3 * t;
    size_t pattern = csimi_pattern_scratch(nodes, CSIMI_CLOTH_PAIRS * triangles);
    if (csimi_aggregate_scratch(nodes) > ints) ints = csimi_aggregate_scratch(nodes);
    if (pattern > ints) ints = pattern;
    m->x = CSIMI_PUSH(arena, csim_real, 3 * n);
    m->mass = CSIMI_PUSH(arena, csim_real, n);
    m->beyond = CSIMI_PUSH(arena, int, 3 * t);
    m->pairs = CSIMI_PUSH(arena, int, 2 * CSIMI_CLOTH_PAIRS * t);
    m->row = CSIMI_PUSH(arena, int, n + 1);
    m->col = CSIMI_PUSH(arena, int, 2 * CSIMI_CLOTH_PAIRS * t + n);
    m->diag = CSIMI_PUSH(arena, int, n);
    m->aggregate = CSIMI_PUSH(arena, int, n);
    m->count = CSIMI_PUSH(arena, int, n + 1);
    m->ints = CSIMI_PUSH(arena, int, ints);
}

CSIMI_FN size_t csimi_cloth_scratch(const csimi_counts *n) {
    csimi_cloth_work work;
    csimi_arena arena = csimi_arena_counting();
    csimi_cloth_work_layout(&work, n->membranes > 0 ? n->nodes : 0, n->membranes, &arena);
    return arena.used;
}

/* Shapes, areas, masses and neighbours into the scratch and behind the counts. */
static csim_status csimi_study_triangles(csim_world *w, const csim_cloth_def *def, csimi_cloth_work *m) {
    static const char fn[] = "csim_create_cloth";
    csimi_store *s = &w->store;
    int i, k, bad, nv = def->vertex_count, nt = def->triangle_count;
    for (i = 0; i < 3 * nv; i++) m->x[i] = def->scale * def->vertices[i];
    for (i = 0; i < nv; i++) m->mass[i] = 0;
    for (i = 0; i < nt; i++) {
        const int *t = def->triangles + 3 * i;
        csim_real area = 0;
        if (!csimi_membrane_prepare(m->x + 3 * t[0], m->x + 3 * t[1], m->x + 3 * t[2],
                                    s->state.membrane_shape + 4 * (s->count.membranes + i), &area))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "triangles: index of a flat triangle", true, (double)i,
                              "no flat triangles");
        s->state.membrane_data[4 * (s->count.membranes + i)] = area * def->thickness;
        for (k = 0; k < 3; k++) m->mass[t[k]] += area * def->thickness * def->density / 3;
    }
    for (i = 0; i < nv; i++)
        if (!(m->mass[i] > 0))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertices: isolated vertex", true, (double)i,
                              "every vertex used by a triangle");
    if ((bad = csimi_cloth_neighbours(nv, nt, def->triangles, m->beyond, m->ints)) >= 0)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn,
                          "triangles: index of a flipped, repeated or third triangle at an edge", true, (double)bad,
                          "each edge in at most two triangles that run through it both ways");
    return CSIM_OK;
}

/* Graph and groups: what the matrix and the coarse correction need. */
static void csimi_study_graph(const csim_cloth_def *def, csimi_cloth_work *m, int *blocks, int *aggregates) {
    int i, a, b, pairs = 0, needed = 0, nv = def->vertex_count;
    for (i = 0; i < def->triangle_count; i++)
        for (a = 0; a < 6; a++)
            for (b = a + 1; b < 6; b++) {
                int p = a < 3 ? def->triangles[3 * i + a] : m->beyond[3 * i + a - 3];
                int q = b < 3 ? def->triangles[3 * i + b] : m->beyond[3 * i + b - 3];
                if (p < 0 || q < 0) continue;
                m->pairs[2 * pairs] = p;
                m->pairs[2 * pairs++ + 1] = q;
            }
    *blocks = csimi_pattern_build(nv, pairs, m->pairs, m->row, m->col, m->diag, 2 * pairs + nv, &needed, m->ints);
    *aggregates = csimi_aggregate(nv, m->row, m->col, m->x,
                                  def->aggregates ? csimi_imin(def->aggregates, nv) : csimi_default_aggregates(nv),
                                  m->aggregate, m->ints);
}

/* ---- writing */

static void csimi_write_triangles(csimi_store *s, const csim_cloth_def *def, const csimi_cloth_work *m, int first) {
    csim_real mu = def->young / (2 * (1 + def->poisson));
    csim_real plane = def->young * def->poisson / (1 - def->poisson * def->poisson); /* 2 mu lambda / (lambda + 2 mu) */
    csim_real rigidity = def->bending >= 0 ? def->bending
                                           : def->young * def->thickness * def->thickness * def->thickness /
                                                 (12 * (1 - def->poisson * def->poisson));
    const int *internal = s->node_of_user + first;
    int i, k;
    for (i = 0; i < def->triangle_count; i++) {
        int t = s->count.membranes + i;
        csim_real *data = s->state.membrane_data + 4 * t;
        for (k = 0; k < 3; k++) {
            int beyond = m->beyond[3 * i + k];
            s->state.membrane[3 * t + k] = first + internal[def->triangles[3 * i + k]];
            s->state.membrane_beyond[3 * t + k] = beyond < 0 ? -1 : first + internal[beyond];
            s->triangle[3 * (s->count.triangles + i) + k] = def->triangles[3 * i + k];
        }
        csimi_fold_prepare(s->state.membrane_shape + 4 * t, data[0] / def->thickness, m->beyond + 3 * i, rigidity,
                           def->poisson, s->state.membrane_fold + 9 * t);
        csimi_fold_rest(&s->state, t);
        data[1] = mu;
        data[2] = plane;
        data[3] = def->stiffness_damping;
        s->state.membrane_material[t] = (unsigned char)def->material;
    }
}

static void csimi_write_cloth_nodes(csimi_store *s, const csim_cloth_def *def, const csimi_cloth_work *m, int slot) {
    int i, first = s->count.nodes;
    csim_pose pose = def->pose;
    pose.rotation = csim_quat_normalize(pose.rotation);
    for (i = 0; i < def->vertex_count; i++) {
        csimi_write_node(s, first + s->node_of_user[first + i], csim_pose_point(pose, csimi_load3(m->x + 3 * i)),
                         def->velocity, m->mass[i], def->mass_damping, CSIM_DYNAMIC, slot);
        s->surface_node[s->count.surface + i] = first + s->node_of_user[first + i];
    }
    for (i = 0; i < def->fixed_count; i++) csimi_fix_node(s, first + s->node_of_user[first + def->fixed[i]]);
}

CSIM_API csim_status csim_create_cloth(csim_world *w, const csim_cloth_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_cloth";
    csimi_counts need;
    csimi_store *s;
    csimi_cloth_work work;
    csimi_arena arena;
    csimi_body *b;
    int slot, first, pass, blocks = 0, aggregates = 0;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_cloth(w, def)) != 0) return status;
    s = &w->store;
    need = csimi_counts_with_body(w);
    need.nodes += def->vertex_count;
    need.surface += def->vertex_count;
    need.triangles += def->triangle_count;
    need.membranes += def->triangle_count;
    for (pass = 0; pass < 2; pass++) { /* room to study the mesh, then room for what the study found */
        if ((status = csimi_make_room(w, need, fn)) != 0) return status;
        arena = csimi_arena_in(s->scratch, s->scratch_bytes);
        csimi_cloth_work_layout(&work, def->vertex_count, def->triangle_count, &arena);
        if (arena.overflow)
            return csimi_fail(&w->error, CSIM_CAPACITY, fn, "scratch", true, (double)arena.used, "a larger block");
        if ((status = csimi_study_triangles(w, def, &work)) != 0) return status;
        csimi_study_graph(def, &work, &blocks, &aggregates);
        need.matrix_blocks = s->count.matrix_blocks + blocks;
        need.aggregates = s->count.aggregates + aggregates;
    }
    first = s->count.nodes;
    slot = csimi_take_body(w, CSIM_BODY_CLOTH, CSIM_DYNAMIC, &def->surface, def->user_data);
    b = s->body + slot;
    b->node_count = b->surface_count = def->vertex_count;
    b->triangle_count = b->membrane_count = def->triangle_count;
    b->matrix_blocks = blocks;
    b->aggregate_count = aggregates;
    b->radius = def->thickness / 2;
    csimi_order_nodes(s, def->vertex_count, aggregates, work.aggregate, work.count);
    csimi_write_cloth_nodes(s, def, &work, slot);
    csimi_write_triangles(s, def, &work, first);
    s->count.nodes += def->vertex_count;
    s->count.surface += def->vertex_count;
    s->count.triangles += def->triangle_count;
    s->count.membranes += def->triangle_count;
    s->count.matrix_blocks += blocks;
    s->count.aggregates += aggregates;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}
/* ==== end world/cloth.c */

/* ==== begin world/detect.c ====================================================================================== */
/* world/detect: contacts of the current positions: bounds, broad phase, narrow phase. contact.md 7. */

/* What the broad phase sees. */
typedef enum csimi_object_kind { CSIMI_OBJECT_SHAPE, CSIMI_OBJECT_PARTICLE, CSIMI_OBJECT_SOLID } csimi_object_kind;

typedef struct csimi_object {
    csimi_object_kind kind;
    int body, item;   /* slot; shape or node index */
    csim_real margin; /* how far its surface may come in this step, m */
} csimi_object;

typedef struct csimi_detector {
    csim_world *world;
    csimi_step_frame *frame;
    csimi_object *object;
    csim_real *lower, *upper;
    int *group, *pairs;
    void *broad;
    int count;
    int needed; /* contacts found, beyond the capacity too */
} csimi_detector;

static void csimi_detector_layout(csimi_detector *d, const csimi_counts *n, csimi_arena *arena) {
    size_t objects = (size_t)n->shapes + (size_t)n->bodies;
    d->object = CSIMI_PUSH(arena, csimi_object, objects);
    d->lower = CSIMI_PUSH(arena, csim_real, 3 * objects);
    d->upper = CSIMI_PUSH(arena, csim_real, 3 * objects);
    d->group = CSIMI_PUSH(arena, int, objects);
    d->pairs = CSIMI_PUSH(arena, int, 2 * (size_t)n->pairs);
    d->broad = csimi_push(arena, csimi_broad_scratch((int)objects), 1);
}

CSIMI_FN size_t csimi_detect_scratch(const csimi_counts *n) {
    csimi_detector d;
    csimi_arena arena = csimi_arena_counting();
    csimi_detector_layout(&d, n, &arena);
    return arena.used;
}

static csim_quat csimi_rotation_of(const csimi_state *s, int k) {
    csim_quat q;
    q.w = s->rotation[4 * k];
    q.x = s->rotation[4 * k + 1];
    q.y = s->rotation[4 * k + 2];
    q.z = s->rotation[4 * k + 3];
    return q;
}

CSIMI_FN csim_pose csimi_body_pose(const csimi_store *s, const csimi_state *state, int slot) {
    const csimi_body *b = s->body + slot;
    csim_pose p = csim_pose_identity();
    if (b->kind == CSIM_RIGID) {
        p.rotation = csimi_rotation_of(state, b->rigid);
        p.position = csim_sub(csimi_load3(state->com + 3 * b->rigid), csim_rotate(p.rotation, csimi_load3(b->centre)));
    } else if (b->kind == CSIM_PARTICLE) {
        p.position = csimi_load3(state->x + 3 * b->first_node);
    }
    return p;
}

/* ---- objects and their bounds */

/* Half of the contact distance, and the way a point at this speed can go in a step under gravity and the given
   acceleration; half as much again in midpoint worlds, whose contacts stop an impact (3 - e) / 2 steps ahead. */
static csim_real csimi_margin(const csimi_detector *d, csim_real speed, csim_real acceleration) {
    csim_real h = d->frame->h;
    csim_real g = csim_length(csimi_load3(d->world->store.state.gravity));
    csim_real ahead = d->world->def.integrator == CSIM_MIDPOINT ? CSIM_R(1.5) : 1;
    return d->world->def.contact_distance / 2 + ahead * h * (speed + h * (g + acceleration));
}

static void csimi_add_object(csimi_detector *d, csimi_object_kind kind, int body, int item, csim_real margin,
                             csim_vec3 lower, csim_vec3 upper) {
    int i = d->count++;
    const csimi_body *b = d->world->store.body + body;
    csim_vec3 m = csim_v3(margin, margin, margin);
    d->object[i].kind = kind;
    d->object[i].body = body;
    d->object[i].item = item;
    d->object[i].margin = margin;
    csimi_store3(d->lower + 3 * i, csim_sub(lower, m));
    csimi_store3(d->upper + 3 * i, csim_add(upper, m));
    d->group[i] = b->motion == CSIM_DYNAMIC ? body + 1 : 0; /* what never moves freely never pairs with its like */
}

static void csimi_add_shape(csimi_detector *d, int slot, int shape, csim_pose pose) {
    const csimi_store *s = &d->world->store;
    const csimi_body *b = s->body + slot;
    const csim_geometry *g = s->shape + shape;
    csim_vec3 lower, upper;
    csim_real speed = 0, acceleration = 0, t = b->surface.thickness;
    csim_vec3 extra = csim_v3(t, t, t);
    if (b->motion != CSIM_STATIC) {
        const csim_real *v = s->state.velocity + 6 * b->rigid, *f = s->state.wrench + 6 * b->rigid;
        csim_real reach =
            csim_length(csim_sub(csim_pose_point(g->local, g->centre), csimi_load3(b->centre))) + g->bound;
        speed = csim_length(csimi_load3(v)) + reach * csim_length(csimi_load3(v + 3));
        if (b->motion == CSIM_DYNAMIC) acceleration = csim_length(csimi_load3(f)) / s->state.rigid_mass[b->rigid];
    }
    csim_shape_bounds(g, s->hull, pose, &lower, &upper);
    csimi_add_object(d, CSIMI_OBJECT_SHAPE, slot, shape, csimi_margin(d, speed, acceleration), csim_sub(lower, extra),
                     csim_add(upper, extra));
}

static void csimi_add_points(csimi_detector *d, int slot) {
    const csimi_store *s = &d->world->store;
    const csimi_body *b = s->body + slot;
    bool particle = b->kind == CSIM_PARTICLE;
    int i, n = particle ? 1 : b->surface_count;
    csim_real r = b->radius + b->surface.thickness, speed2 = 0, push2 = 0;
    csim_vec3 lower = csim_v3(CSIMI_HUGE, CSIMI_HUGE, CSIMI_HUGE), upper = csim_scale(-1, lower),
              extra = csim_v3(r, r, r);
    for (i = 0; i < n; i++) {
        int node = particle ? b->first_node : s->surface_node[b->first_surface + i];
        csim_vec3 x = csimi_load3(s->state.x + 3 * node), v = csimi_load3(s->state.v + 3 * node);
        csim_vec3 f = csim_scale(1 / s->state.node_mass[node], csimi_load3(s->state.node_force + 3 * node));
        lower = csim_v3(csimi_min(lower.x, x.x), csimi_min(lower.y, x.y), csimi_min(lower.z, x.z));
        upper = csim_v3(csimi_max(upper.x, x.x), csimi_max(upper.y, x.y), csimi_max(upper.z, x.z));
        speed2 = csimi_max(speed2, csim_dot(v, v));
        push2 = csimi_max(push2, csim_dot(f, f));
    }
    csimi_add_object(d, particle ? CSIMI_OBJECT_PARTICLE : CSIMI_OBJECT_SOLID, slot, b->first_node,
                     csimi_margin(d, CSIMI_SQRT(speed2), CSIMI_SQRT(push2)), csim_sub(lower, extra),
                     csim_add(upper, extra));
}

static void csimi_add_objects(csimi_detector *d) {
    csim_world *w = d->world;
    int i, k;
    for (i = 0; i < w->live_bodies; i++) {
        int slot = w->store.body_list[i];
        const csimi_body *b = w->store.body + slot;
        if (b->kind == CSIM_RIGID) {
            csim_pose pose = csimi_body_pose(&w->store, &w->store.state, slot);
            for (k = 0; k < b->shape_count; k++) csimi_add_shape(d, slot, b->first_shape + k, pose);
        } else {
            csimi_add_points(d, slot);
        }
    }
}

/* ---- ids and filters */

static uint64_t csimi_mix64(uint64_t h, uint64_t x) {
    h ^= x + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    h ^= h >> 30;
    h *= 0xbf58476d1ce4e5b9ull;
    h ^= h >> 27;
    return h;
}

static uint64_t csimi_side_key(const csimi_store *s, int slot, uint32_t part) {
    return csimi_mix64(((uint64_t)s->body[slot].generation << 32) | (uint32_t)slot, part);
}

CSIMI_FN csim_pair_info csimi_pair_of(const csim_world *w, int a, int b) {
    const csimi_body *A = w->store.body + a, *B = w->store.body + b;
    csim_pair_info p;
    p.body_a = csimi_body_id_of(w, a);
    p.body_b = csimi_body_id_of(w, b);
    p.material_a = A->surface.material;
    p.material_b = B->surface.material;
    p.friction_a = A->surface.friction;
    p.friction_b = B->surface.friction;
    p.restitution_a = A->surface.restitution;
    p.restitution_b = B->surface.restitution;
    p.user_data_a = A->user_data;
    p.user_data_b = B->user_data;
    return p;
}

static bool csimi_may_touch(const csim_world *w, int a, int b) {
    const csim_surface_def *p = &w->store.body[a].surface, *q = &w->store.body[b].surface;
    if ((p->category & q->mask) == 0 || (q->category & p->mask) == 0) return false;
    if (p->group > 0 && p->group == q->group) return false;
    if (w->def.filter) {
        csim_pair_info info = csimi_pair_of(w, a, b);
        return w->def.filter(w->def.callback_user, &info);
    }
    return true;
}

/* ---- narrow phase */

/* The next free record, or null beyond the capacity (it is counted all the same). */
static csimi_found_contact *csimi_next_found(csimi_detector *d) {
    csimi_step_frame *f = d->frame;
    d->needed++;
    if (f->found_count >= d->world->store.capacity.contacts) return NULL;
    CSIMI_MEMSET(f->found + f->found_count, 0, sizeof(csimi_found_contact));
    return f->found + f->found_count++;
}

static void csimi_collide_shapes(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csim_world *w = d->world;
    csimi_store *s = &w->store;
    csimi_step_frame *f = d->frame;
    csim_real thickness = s->body[a->body].surface.thickness + s->body[b->body].surface.thickness;
    csim_touch *out = (csim_touch *)(void *)f->info; /* free until the contacts are reported */
    int i, n, room = (int)((size_t)s->capacity.contacts * sizeof(csim_contact_info) / sizeof(csim_touch));
    uint64_t key = csimi_mix64(csimi_side_key(s, a->body, (uint32_t)(a->item - s->body[a->body].first_shape)),
                               csimi_side_key(s, b->body, (uint32_t)(b->item - s->body[b->body].first_shape)));
    csim_pose pose_a = csimi_body_pose(s, &s->state, a->body), pose_b = csimi_body_pose(s, &s->state, b->body);
    n = csim_collide(s->shape + a->item, pose_a, s->shape + b->item, pose_b, s->hull, a->margin + b->margin + thickness,
                     out, room);
    if (n > room) {
        d->needed += n - room;
        n = room;
    }
    for (i = 0; i < n; i++) {
        csimi_found_contact *c = csimi_next_found(d);
        if (!c) continue;
        c->id = csimi_mix64(key, out[i].feature);
        c->body_a = a->body;
        c->body_b = b->body;
        c->shape_b = -1;
        c->a = csimi_place_rigid(&s->state, s->body[a->body].rigid, out[i].point_a);
        c->b = csimi_place_rigid(&s->state, s->body[b->body].rigid, out[i].point_b);
        c->radius = thickness;
        c->point_a = out[i].point_a;
        c->point_b = out[i].point_b;
        c->normal = out[i].normal;
        c->gap = out[i].gap - thickness;
    }
}

/* Node against shape. */
static void csimi_collide_node_shape(csimi_detector *d, int slot, int node, uint32_t part, csim_real reach,
                                     const csimi_object *b, csim_pose pose) {
    csimi_store *s = &d->world->store;
    csim_real r = s->body[slot].radius + s->body[slot].surface.thickness + s->body[b->body].surface.thickness;
    csim_vec3 x = csimi_load3(s->state.x + 3 * node), n;
    uint32_t feature = 0;
    csim_real gap = csim_shape_distance(s->shape + b->item, s->hull, pose, x, &n, &feature) - r;
    csimi_found_contact *c;
    if (!(gap <= reach)) return;
    c = csimi_next_found(d);
    if (!c) return;
    /* the feature is left out of the id: a node has one contact with a shape, whichever face is nearest */
    c->id = csimi_mix64(csimi_side_key(s, slot, part | 0x40000000u),
                        csimi_side_key(s, b->body, (uint32_t)(b->item - s->body[b->body].first_shape)));
    c->body_a = slot;
    c->body_b = b->body;
    c->shape_b = b->item;
    c->radius = r;
    c->point_a = c->point_b = csim_madd(x, -(gap + r), n);
    c->a = csimi_place_node(node);
    c->b = csimi_place_rigid(&s->state, s->body[b->body].rigid, c->point_b);
    c->normal = n;
    c->gap = gap;
}

/* Node against node, both as spheres. */
static void csimi_collide_nodes(csimi_detector *d, int slot_a, int node_a, uint32_t part_a, int slot_b, int node_b,
                                uint32_t part_b, csim_real reach) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + slot_a, *B = s->body + slot_b;
    csim_real ra = A->radius + A->surface.thickness, rb = B->radius + B->surface.thickness;
    csim_vec3 xa = csimi_load3(s->state.x + 3 * node_a), xb = csimi_load3(s->state.x + 3 * node_b),
              n = csim_sub(xa, xb);
    csim_real distance = csim_length(n), gap = distance - ra - rb;
    csimi_found_contact *c;
    if (!(ra + rb > 0) || !(gap <= reach)) return; /* points without extent never touch */
    c = csimi_next_found(d);
    if (!c) return;
    n = distance > 0 ? csim_scale(1 / distance, n) : csim_v3(0, 0, 1);
    c->id =
        csimi_mix64(csimi_side_key(s, slot_a, part_a | 0x40000000u), csimi_side_key(s, slot_b, part_b | 0x40000000u));
    c->body_a = slot_a;
    c->body_b = slot_b;
    c->a = csimi_place_node(node_a);
    c->b = csimi_place_node(node_b);
    c->shape_b = -1;
    c->radius = ra + rb;
    c->point_a = csim_madd(xa, -ra, n);
    c->point_b = csim_madd(xb, rb, n);
    c->normal = n;
    c->gap = gap;
}

static void csimi_collide_points(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + a->body;
    csim_real reach = a->margin + b->margin;
    bool particle = a->kind == CSIMI_OBJECT_PARTICLE;
    int i, n = particle ? 1 : A->surface_count;
    csim_pose pose = csimi_body_pose(s, &s->state, b->body);
    const csim_real *lo = d->lower + 3 * (b - d->object), *hi = d->upper + 3 * (b - d->object);
    csim_real grow = a->margin + A->radius + A->surface.thickness;
    for (i = 0; i < n; i++) {
        int node = particle ? A->first_node : s->surface_node[A->first_surface + i];
        const csim_real *x = s->state.x + 3 * node;
        uint32_t part = (uint32_t)s->node_user[node];
        if (x[0] < lo[0] - grow || x[0] > hi[0] + grow || x[1] < lo[1] - grow || x[1] > hi[1] + grow ||
            x[2] < lo[2] - grow || x[2] > hi[2] + grow)
            continue;
        if (b->kind == CSIMI_OBJECT_SHAPE)
            csimi_collide_node_shape(d, a->body, node, part, reach, b, pose);
        else
            csimi_collide_nodes(d, a->body, node, part, b->body, b->item, 0, reach);
    }
}

/* Decides who is a and b: free bodies before fixed ones, points before shapes, solids before particles. */
static void csimi_collide_pair(csimi_detector *d, int i, int j) {
    const csimi_object *a = d->object + i, *b = d->object + j;
    const csimi_body *A = d->world->store.body + a->body, *B = d->world->store.body + b->body;
    if (!csimi_may_touch(d->world, a->body, b->body)) return;
    if (a->kind == CSIMI_OBJECT_SHAPE && b->kind == CSIMI_OBJECT_SHAPE) {
        if (A->motion != CSIM_DYNAMIC && B->motion == CSIM_DYNAMIC)
            csimi_collide_shapes(d, b, a);
        else
            csimi_collide_shapes(d, a, b);
    } else if (a->kind == CSIMI_OBJECT_SOLID && b->kind == CSIMI_OBJECT_SOLID) {
        return; /* solids against solids: not in this version */
    } else if (a->kind == CSIMI_OBJECT_SHAPE || (a->kind == CSIMI_OBJECT_PARTICLE && b->kind == CSIMI_OBJECT_SOLID)) {
        csimi_collide_points(d, b, a);
    } else {
        csimi_collide_points(d, a, b);
    }
}

CSIMI_FN csim_status csimi_detect(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    csimi_detector d;
    size_t mark = arena->used;
    int i, pairs;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.world = w;
    d.frame = f;
    csimi_detector_layout(&d, &w->store.capacity, arena);
    csimi_add_objects(&d);
    pairs = csimi_broad_pairs(d.count, d.lower, d.upper, d.group, d.pairs, w->store.capacity.pairs, d.broad);
    f->stats.pairs = pairs;
    w->high.pairs = csimi_imax(w->high.pairs, pairs);
    if (pairs > w->store.capacity.pairs) {
        f->stats.flags |= CSIM_FLAG_PAIRS_FULL;
        return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "pairs needed", true, (double)pairs,
                          "at most capacity.pairs; call csim_world_reserve");
    }
    f->found_count = 0;
    for (i = 0; i < pairs; i++) csimi_collide_pair(&d, d.pairs[2 * i], d.pairs[2 * i + 1]);
    f->stats.contacts = d.needed;
    w->high.contacts = csimi_imax(w->high.contacts, d.needed);
    csimi_pop(arena, mark);
    if (d.needed > f->found_count) {
        f->stats.flags |= CSIM_FLAG_CONTACTS_FULL;
        return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "contacts needed", true, (double)d.needed,
                          "at most capacity.contacts; call csim_world_reserve");
    }
    return CSIM_OK;
}

/* ---- the same contact in another configuration */

CSIMI_FN csim_real csimi_gap_at(const csim_world *w, const csimi_state *then, const csimi_state *now,
                                const csimi_found_contact *f) {
    const csimi_store *s = &w->store;
    csim_vec3 a = csimi_place_point(now, &f->a), d = csim_sub(a, csimi_place_point(now, &f->b)), n = f->normal;
    uint32_t feature;
    if (f->shape_b >= 0) {
        csim_pose pose = csimi_body_pose(s, now, f->body_b);
        return csim_shape_distance(s->shape + f->shape_b, s->hull, pose, a, &n, &feature) - f->radius;
    }
    if (f->a.kind == CSIMI_PLACE_NODE && f->b.kind == CSIMI_PLACE_NODE) return csim_length(d) - f->radius;
    return csim_dot(csimi_place_carry(&f->b, then, now, n), d) - f->radius;
}
/* ==== end world/detect.c */

/* ==== begin world/rows.c ======================================================================================== */
/* world/rows: found contacts and pins become rows of the problem: frames, terms, laws, phi, warm starts. contact.md. */

typedef struct csimi_row_work {
    int *table;     /* hash of the last contacts by id */
    int table_size; /* a power of two */
} csimi_row_work;

static int csimi_table_size(int contacts) {
    int size = 16;
    while (size < 2 * contacts && size < (1 << 29)) size *= 2;
    return size;
}

static void csimi_row_layout(csimi_row_work *r, const csimi_counts *n, csimi_arena *arena) {
    r->table_size = csimi_table_size(n->contacts);
    r->table = CSIMI_PUSH(arena, int, r->table_size);
}

CSIMI_FN size_t csimi_rows_scratch(const csimi_counts *n) {
    csimi_row_work r;
    csimi_arena arena = csimi_arena_counting();
    csimi_row_layout(&r, n, &arena);
    return arena.used;
}

/* ---- sides */

/* Terms of a place, appended to the frame; what is not an unknown goes with its velocity into moved. */
static csim_side csimi_side_of(csimi_step_frame *f, const csimi_state *s, const csimi_place *p, csim_vec3 point,
                               csim_real *mass, csim_real *moved) {
    csim_real J[9 * CSIMI_PLACE_TERMS];
    int block[CSIMI_PLACE_TERMS], k, n = csimi_place_terms(s, p, point, block, J);
    csim_side side;
    side.first = f->term_count;
    moved[0] = moved[1] = moved[2] = 0;
    for (k = 0; k < n; k++) {
        csim_term *t = f->terms + f->term_count;
        if (f->skip[block[k]]) {
            csimi_addmul3(J + 9 * k, f->v + 3 * block[k], moved);
            continue;
        }
        t->block = block[k];
        CSIMI_MEMCPY(t->J, J + 9 * k, sizeof t->J);
        f->term_count++;
    }
    side.count = f->term_count - side.first;
    *mass = p->kind == CSIMI_PLACE_NODE ? 0 : csimi_place_mass(s, p, point) / f->theta; /* of a node: from A */
    return side;
}

/* Both sides of a row; phi += R (the velocity of what is given). */
static void csimi_sides(csimi_step_frame *f, const csimi_state *s, const csimi_place *a, csim_vec3 point_a,
                        const csimi_place *b, csim_vec3 point_b, csim_contact *c) {
    csim_real moved_a[3], moved_b[3];
    int k;
    c->a = csimi_side_of(f, s, a, point_a, c->mass, moved_a);
    c->b = csimi_side_of(f, s, b, point_b, c->mass + 1, moved_b);
    csimi_store3(c->point, point_a);
    for (k = 0; k < 3; k++) moved_a[k] -= moved_b[k];
    csimi_addmul3(c->R, moved_a, c->phi);
}

/* ---- warm starts */

static int csimi_slot_of(const csimi_row_work *r, uint64_t id) {
    return (int)((id ^ (id >> 32)) & (uint64_t)(r->table_size - 1));
}

static void csimi_index_contacts(const csim_world *w, csimi_row_work *r) {
    int i;
    for (i = 0; i < r->table_size; i++) r->table[i] = -1;
    for (i = 0; i < w->store.count.contacts; i++) {
        int at = csimi_slot_of(r, w->store.contact[i].id);
        while (r->table[at] >= 0) at = (at + 1) & (r->table_size - 1);
        r->table[at] = i;
    }
}

/* The record of the last step with this id, or -1. */
static int csimi_last_contact(const csim_world *w, const csimi_row_work *r, uint64_t id) {
    int at = csimi_slot_of(r, id);
    while (r->table[at] >= 0) {
        if (w->store.contact[r->table[at]].id == id) return r->table[at];
        at = (at + 1) & (r->table_size - 1);
    }
    return -1;
}

/* Scale of last impulses: forces persist, so impulses go with h. */
static csim_real csimi_warm_scale(const csim_world *w, const csimi_step_frame *f) {
    return w->last_h > 0 ? f->h / (csim_real)w->last_h : 0;
}

/* ---- phi, contact.md 4 */

static csim_real csimi_gap_velocity(const csim_world_def *def, csim_real gap, csim_real h) {
    csim_real deep;
    if (gap >= 0) return gap / h;
    deep = csimi_min(gap + def->slop, 0);
    return csimi_max(def->stabilization * deep / h, -def->push_out_speed);
}

static csim_real csimi_phi(const csim_world *w, const csimi_step_frame *f, csim_real gap, csim_real restitution,
                           csim_real approach /* u_n at v_k */, csim_real free_end /* u_n^free */) {
    const csim_world_def *def = &w->def;
    csim_real phi = csimi_gap_velocity(def, gap, f->h);
    csim_real e = approach < -def->restitution_threshold ? restitution : 0;
    if (def->integrator == CSIM_BACKWARD_EULER)
        return e > 0 && gap + f->h * approach < 0 ? csimi_min(phi, e * approach) : phi;
    if (approach < 0 && gap + f->h * (3 - e) / 2 * csimi_min(approach, free_end) < 0) return -(1 - e) / 2 * approach;
    return phi;
}

/* What the virtual nodes of a contact that carried an impulse let through in the last step: its gap shrank although it
   was closed. A midpoint velocity at the end of a step holds it twice, and taking it for an approach to be stopped
   would double the slip of every later step. 0 for new contacts and where the gap did not shrink. */
static csim_real csimi_slip_let_through(const csim_world *w, const csimi_found_contact *found) {
    const csim_contact_info *last = found->last >= 0 ? w->store.contact + found->last : NULL;
    if (!last || !(last->normal_impulse > 0) || !(w->last_h > 0)) return 0;
    return csimi_max(0, last->gap - found->gap) / (csim_real)w->last_h;
}

/* ---- one contact */

static void csimi_mix(const csim_world *w, int a, int b, csim_contact *c, csim_real *restitution) {
    const csim_surface_def *A = &w->store.body[a].surface, *B = &w->store.body[b].surface;
    const csim_pair_info info = csimi_pair_of(w, a, b);
    c->mu[0] =
        w->def.mix_friction ? w->def.mix_friction(w->def.callback_user, &info) : CSIMI_SQRT(A->friction * B->friction);
    *restitution = w->def.mix_restitution ? w->def.mix_restitution(w->def.callback_user, &info)
                                          : csimi_max(A->restitution, B->restitution);
    c->mu[1] = c->mu[0];
    if (A->friction2 >= 0 || B->friction2 >= 0) {
        csim_real p = A->friction2 >= 0 ? A->friction2 : A->friction,
                  q = B->friction2 >= 0 ? B->friction2 : B->friction;
        c->law = CSIM_LAW_ANISOTROPIC;
        c->mu[1] = CSIMI_SQRT(p * q);
    }
}

/* The direction of the first friction coefficient, world axes; false when friction is isotropic. */
static bool csimi_friction_direction(const csim_world *w, const csimi_found_contact *f, csim_real *hint) {
    const csimi_store *s = &w->store;
    int slot = s->body[f->body_a].surface.friction2 >= 0 ? f->body_a : f->body_b;
    csim_pose pose;
    if (s->body[slot].surface.friction2 < 0) return false;
    pose = csimi_body_pose(s, &s->state, slot);
    csimi_store3(hint, csim_rotate(pose.rotation, s->body[slot].surface.friction_direction));
    return true;
}

static void csimi_contact_row(csim_world *w, csimi_step_frame *f, const csimi_row_work *r, int i) {
    csimi_found_contact *found = f->found + i;
    const csimi_state *s = &w->store.state;
    const csimi_place *a = &found->a, *b = &found->b;
    csim_contact *c = f->contacts + i;
    csim_real n[3], hint[3], restitution = 0, approach, free_end, *lambda = f->lambda + 3 * i;
    csim_vec3 relative;
    CSIMI_MEMSET(c, 0, sizeof *c);
    found->last = csimi_last_contact(w, r, found->id);
    c->law = w->def.law;
    csimi_mix(w, found->body_a, found->body_b, c, &restitution);
    csimi_store3(n, found->normal);
    csimi_frame(n, csimi_friction_direction(w, found, hint) ? hint : NULL, c->R);
    c->omega[0] = w->def.omega[0];
    c->omega[1] = w->def.omega[1];
    c->mask = 7;
    relative = csim_sub(csimi_place_velocity(s, a, found->point_a), csimi_place_velocity(s, b, found->point_b));
    approach = csim_dot(found->normal, relative);
    if (w->def.integrator == CSIM_MIDPOINT) approach += 2 * csimi_slip_let_through(w, found);
    free_end = approach +
               f->h * csim_dot(found->normal, csim_sub(csimi_place_acceleration(s, a), csimi_place_acceleration(s, b)));
    c->phi[0] = csimi_phi(w, f, found->gap, restitution, approach, free_end);
    csimi_sides(f, s, a, found->point_a, b, found->point_b, c);
    lambda[0] = lambda[1] = lambda[2] = 0;
    if (found->last >= 0) {
        csim_real world[3];
        csimi_store3(world, csim_scale(csimi_warm_scale(w, f), w->store.contact[found->last].impulse));
        csimi_mul3(c->R, world, lambda);
    }
}

/* ---- pins */

static void csimi_pin_row(csim_world *w, csimi_step_frame *f, const csimi_pin *pin, int i) {
    const csimi_state *s = &w->store.state;
    csim_contact *c = f->contacts + i;
    csim_vec3 a = csimi_place_point(s, pin->end), b = csimi_place_point(s, pin->end + 1);
    int k;
    CSIMI_MEMSET(c, 0, sizeof *c);
    c->law = CSIM_LAW_BILATERAL;
    c->mask = 7;
    c->R[0] = c->R[4] = c->R[8] = 1;
    csimi_store3(c->phi, csim_scale(w->def.stabilization / f->h, csim_sub(a, b)));
    csimi_sides(f, s, pin->end, a, pin->end + 1, b, c);
    for (k = 0; k < 3; k++) f->lambda[3 * i + k] = csimi_warm_scale(w, f) * pin->impulse[k];
}

CSIMI_FN void csimi_rows(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    csimi_row_work r;
    size_t mark = arena->used;
    int i;
    csimi_row_layout(&r, &w->store.capacity, arena);
    csimi_place_prepare(&w->store.state);
    csimi_index_contacts(w, &r);
    f->term_count = 0;
    for (i = 0; i < f->found_count; i++) csimi_contact_row(w, f, &r, i);
    for (i = 0; i < w->store.count.pins; i++) csimi_pin_row(w, f, w->store.pin + i, f->found_count + i);
    f->contact_count = f->found_count + w->store.count.pins;
    csimi_pop(arena, mark);
}
/* ==== end world/rows.c */

/* ==== begin world/island.c ====================================================================================== */
/* world/island: splits the step into islands, hands each one to a solver as a problem of its own, and gathers the
   velocities, impulses and certificates. */

/* The arrays of one island's problem; laid out for the largest that can be. */
typedef struct csimi_island_work {
    csim_problem problem;
    csim_structure structure;
    csim_solution solution;
    int *row, *col, *diag;
    csim_real *val, *b;
    csim_contact *contacts;
    csim_term *terms;
    int *aggregate, *aggregate_local; /* [blocks]; [aggregates of the world] */
    csim_real *offset, *radius, *centre;
    unsigned char *rotation;
    int *body_first;
    int *chain_first, *chain_block; /* [cables + 1], [2 links] */
} csimi_island_work;

static void csimi_island_layout(csimi_island_work *p, int blocks, int matrix_blocks, int rows, int terms,
                                int aggregates, int links, csimi_arena *arena) {
    size_t n = (size_t)blocks;
    p->row = CSIMI_PUSH(arena, int, n + 1);
    p->col = CSIMI_PUSH(arena, int, matrix_blocks);
    p->diag = CSIMI_PUSH(arena, int, n);
    p->val = CSIMI_PUSH(arena, csim_real, 9 * (size_t)matrix_blocks);
    p->b = CSIMI_PUSH(arena, csim_real, 3 * n);
    p->solution.v = CSIMI_PUSH(arena, csim_real, 3 * n);
    p->solution.lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)rows);
    p->contacts = CSIMI_PUSH(arena, csim_contact, rows);
    p->terms = CSIMI_PUSH(arena, csim_term, terms);
    p->aggregate = CSIMI_PUSH(arena, int, n);
    p->aggregate_local = CSIMI_PUSH(arena, int, aggregates);
    p->offset = CSIMI_PUSH(arena, csim_real, 3 * n);
    p->radius = CSIMI_PUSH(arena, csim_real, aggregates);
    p->centre = CSIMI_PUSH(arena, csim_real, 3 * (size_t)aggregates);
    p->rotation = CSIMI_PUSH(arena, unsigned char, n);
    p->body_first = CSIMI_PUSH(arena, int, n + 1);
    p->chain_first = CSIMI_PUSH(arena, int, (size_t)links + 1);
    p->chain_block = CSIMI_PUSH(arena, int, 2 * (size_t)links);
}

/* Links of all cables at most: an open one has one more than edges. */
static int csimi_most_links(const csimi_counts *n) { return n->frames + csimi_imin(n->frames, n->bodies); }

CSIMI_FN size_t csimi_island_scratch(const csimi_counts *n, const csim_solver_params *solver) {
    csimi_island_work p;
    csim_problem_size size;
    csimi_arena arena = csimi_arena_counting();
    int blocks = csimi_blocks_of(n), rows = n->contacts + n->pins, aggregates = n->aggregates + n->rigids;
    csimi_island_layout(&p, blocks, n->matrix_blocks, rows, csimi_most_terms(n), aggregates, csimi_most_links(n),
                        &arena);
    size.blocks = blocks;
    size.matrix_blocks = n->matrix_blocks;
    size.contacts = rows;
    size.terms = csimi_most_terms(n);
    size.aggregates = aggregates;
    size.links = csimi_most_links(n);
    size.rigid = n->tets == 0 && n->membranes == 0 && n->links == 0 && n->frames == 0;
    csimi_push(&arena, csim_solver_bytes(&size, solver), 1);
    csimi_push(&arena, sizeof(int) * (size_t)blocks, 1); /* union-find, before the first island */
    return arena.used;
}

/* ---- aggregates: groups of the coarse correction with their centres and radii, for the whole world */

/* Nodes of a solid are numbered by aggregate: each is a run of them. */
static void csimi_solid_aggregates(const csimi_store *s, csimi_step_frame *f, const csimi_body *b, int first) {
    int i = b->first_node, j, end = b->first_node + b->node_count;
    while (i < end) {
        int k = first + s->node_aggregate[i], start = i;
        csim_vec3 centre = csim_v3(0, 0, 0);
        csim_real square = 0;
        for (; i < end && first + s->node_aggregate[i] == k; i++) {
            centre = csim_add(centre, csimi_load3(s->state.x + 3 * i));
            f->aggregate_of[i] = k;
        }
        centre = csim_scale(1 / (csim_real)(i - start), centre);
        for (j = start; j < i; j++) {
            csim_vec3 d = csim_sub(csimi_load3(s->state.x + 3 * j), centre);
            square += csim_dot(d, d) / (csim_real)(i - start);
        }
        csimi_store3(f->aggregate_centre + 3 * k, centre);
        f->aggregate_radius[k] = csimi_max(CSIMI_SQRT(square), CSIM_R(1e-9));
    }
}

static void csimi_aggregates(const csim_world *w, csimi_step_frame *f) {
    const csimi_store *s = &w->store;
    int i;
    for (i = 0; i < f->blocks; i++) f->aggregate_of[i] = -1;
    f->aggregates = 0;
    for (i = 0; i < w->live_bodies; i++) {
        const csimi_body *b = s->body + s->body_list[i];
        if (b->aggregate_count > 0) {
            csimi_solid_aggregates(s, f, b, f->aggregates);
            f->aggregates += b->aggregate_count;
        } else if (b->kind == CSIM_RIGID && b->motion == CSIM_DYNAMIC) {
            int block = s->count.nodes + 2 * b->rigid;
            const csim_real *I = s->state.inertia + 9 * b->rigid;
            csim_real radius = CSIMI_SQRT((I[0] + I[4] + I[8]) / (2 * s->state.rigid_mass[b->rigid]));
            f->aggregate_of[block] = f->aggregate_of[block + 1] = f->aggregates;
            csimi_store3(f->aggregate_centre + 3 * f->aggregates, csimi_load3(s->state.com + 3 * b->rigid));
            f->aggregate_radius[f->aggregates++] = csimi_max(radius, CSIM_R(1e-9));
        }
    }
}

/* ---- one island */

/* Rows of A with columns of the island; what is fixed or kinematic goes to the right-hand side. */
static void csimi_island_matrix(const csim_world *w, const csimi_step_frame *f, csimi_island_work *p, const int *block,
                                int n) {
    const csim_block_matrix *A = &w->store.A;
    int i, k, at = 0;
    for (i = 0; i < n; i++) {
        int g = block[i];
        csim_real *b = p->b + 3 * i;
        csimi_store3(b, csimi_load3(f->b + 3 * g));
        p->row[i] = at;
        for (k = A->row[g]; k < A->row[g + 1]; k++) {
            int j = A->col[k];
            if (f->skip[j]) {
                csim_real y[3];
                csimi_mul3(A->val + 9 * (size_t)k, f->v + 3 * j, y);
                b[0] -= y[0];
                b[1] -= y[1];
                b[2] -= y[2];
                continue;
            }
            if (j == g) p->diag[i] = at;
            p->col[at] = f->local[j];
            CSIMI_MEMCPY(p->val + 9 * (size_t)at, A->val + 9 * (size_t)k, 9 * sizeof(csim_real));
            at++;
        }
        csimi_store3(p->solution.v + 3 * i, csimi_load3(f->rep + 3 * g));
    }
    p->row[n] = at;
    p->problem.A.n = n;
    p->problem.A.row = p->row;
    p->problem.A.col = p->col;
    p->problem.A.diag = p->diag;
    p->problem.A.val = p->val;
    p->problem.b = p->b;
}

static csim_side csimi_island_side(const csimi_step_frame *f, csimi_island_work *p, csim_side side) {
    csim_side local;
    int k;
    local.first = p->problem.term_count;
    local.count = side.count;
    for (k = 0; k < side.count; k++) {
        csim_term *t = p->terms + p->problem.term_count++;
        *t = f->terms[side.first + k];
        t->block = f->local[t->block];
    }
    return local;
}

static void csimi_island_contacts(const csimi_step_frame *f, csimi_island_work *p, const int *contact, int count) {
    int i, k;
    p->problem.contact_count = count;
    p->problem.contacts = p->contacts;
    p->problem.terms = p->terms;
    p->problem.term_count = 0;
    for (i = 0; i < count; i++) {
        csim_contact *c = p->contacts + i;
        *c = f->contacts[contact[i]];
        c->a = csimi_island_side(f, p, c->a);
        c->b = csimi_island_side(f, p, c->b);
        for (k = 0; k < 3; k++) p->solution.lambda[3 * i + k] = f->lambda[3 * contact[i] + k];
    }
}

/* Aggregates of the island get numbers of their own in order of appearance. */
static void csimi_island_structure(const csim_world *w, const csimi_step_frame *f, csimi_island_work *p,
                                   const int *block, int n) {
    const csimi_state *s = &w->store.state;
    int i, count = 0, bodies = 0, frames = csimi_first_frame_block(s);
    for (i = 0; i < n; i++)
        if (f->aggregate_of[block[i]] >= 0) p->aggregate_local[f->aggregate_of[block[i]]] = -1;
    for (i = 0; i < n; i++) {
        int g = block[i], a = f->aggregate_of[g];
        csim_vec3 offset = csim_v3(0, 0, 0);
        p->aggregate[i] = -1;
        p->rotation[i] = g >= frames || (g >= s->node_count && (g - s->node_count) % 2 == 1);
        if (!p->rotation[i]) p->body_first[bodies++] = i;
        if (a >= 0) {
            if (p->aggregate_local[a] < 0) {
                p->aggregate_local[a] = count;
                csimi_store3(p->centre + 3 * count, csimi_load3(f->aggregate_centre + 3 * a));
                p->radius[count++] = f->aggregate_radius[a];
            }
            p->aggregate[i] = p->aggregate_local[a];
            if (g < s->node_count)
                offset = csim_sub(csimi_load3(s->x + 3 * g), csimi_load3(f->aggregate_centre + 3 * a));
        }
        csimi_store3(p->offset + 3 * i, offset);
    }
    p->body_first[bodies] = n;
    p->structure.aggregate_count = count;
    p->structure.aggregate = p->aggregate;
    p->structure.offset = p->offset;
    p->structure.radius = p->radius;
    p->structure.centre = p->centre;
    p->structure.rotation = p->rotation;
    p->structure.body_count = /* nothing couples bodies */
        p->row[n] == n + 2 * (n - bodies) && block[n - 1] < frames ? bodies : 0;
    p->structure.body_first = p->body_first;
    p->problem.structure = &p->structure;
    p->problem.theta = f->theta;
}

/* Number inside the island of a block of the world, -1: it is not in it. */
static int csimi_island_local(const csimi_step_frame *f, int island, int block) {
    return f->island[block] == island ? f->local[block] : -1;
}

/* The cables of the island: node and frame after it, link by link. Nodes of a cable follow each other. */
static void csimi_island_chains(const csim_world *w, const csimi_step_frame *f, csimi_island_work *p, const int *block,
                                int n) {
    const csimi_store *s = &w->store;
    int i, k, last = -1, count = 0, links = 0, island = f->island[block[0]];
    for (i = 0; i < n && block[i] < s->count.nodes; i++) {
        int slot = s->node_body[block[i]];
        const csimi_body *b = s->body + slot;
        if (slot == last || b->kind != CSIM_BODY_CABLE) continue;
        last = slot;
        p->chain_first[count++] = links;
        for (k = 0; k < b->node_count; k++, links++) {
            int frame = csimi_first_frame_block(&s->state) + b->first_frame + k;
            p->chain_block[2 * links] = csimi_island_local(f, island, b->first_node + k);
            p->chain_block[2 * links + 1] = k < b->frame_count ? csimi_island_local(f, island, frame) : -1;
        }
    }
    p->chain_first[count] = links;
    p->structure.chain_count = count;
    p->structure.chain_first = p->chain_first;
    p->structure.chain_block = p->chain_block;
}

static void csimi_worse(csim_certificate *worst, const csim_certificate *c) {
#define CSIMI_WORSE(x) \
    if (c->x > worst->x) worst->x = c->x;
    CSIMI_WORSE(dynamics)
    CSIMI_WORSE(contact)
    CSIMI_WORSE(approach)
    CSIMI_WORSE(complementarity)
    CSIMI_WORSE(cone)
    CSIMI_WORSE(dissipation)
    CSIMI_WORSE(dissipation_power)
    CSIMI_WORSE(natural_map_scaled)
#undef CSIMI_WORSE
}

static void csimi_count_outcome(csimi_step_frame *f, const csim_outcome *o, int blocks, int contacts) {
    csim_step_stats *t = &f->stats;
    csimi_worse(&t->certificate, &o->certificate);
    if (contacts > 0) {
        t->islands++;
        t->largest_island = csimi_imax(t->largest_island, blocks);
    }
    t->iterations = csimi_imax(t->iterations, o->iterations);
    t->total_iterations += o->iterations;
    t->products += o->products;
    t->rejections += o->rejections;
    t->virtual_nodes += o->virtual_nodes;
    if (o->virtual_slip > t->virtual_slip) t->virtual_slip = o->virtual_slip;
    if (o->result > t->result) t->result = o->result;
    if (o->result == CSIM_RESULT_CAP) t->flags |= CSIM_FLAG_CAP;
    if (o->result == CSIM_RESULT_STALLED) t->flags |= CSIM_FLAG_STALLED;
    if (o->result != CSIM_RESULT_CONVERGED) t->flags |= CSIM_FLAG_UNCERTIFIED;
}

/* The body that keeps the island's spectral estimate: the one of its first block. */
static int csimi_leader(const csim_world *w, int block) {
    const csimi_store *s = &w->store;
    int frame = block - csimi_first_frame_block(&s->state);
    if (frame >= 0) return s->frame_body[frame];
    return block < s->count.nodes ? s->node_body[block] : s->rigid_body[(block - s->count.nodes) / 2];
}

static csim_status csimi_solve_island(csim_world *w, csimi_step_frame *f, int island, csimi_arena *arena) {
    csimi_island_work p;
    csim_solver_params params = w->def.solver;
    csim_outcome outcome;
    csim_status status;
    size_t mark = arena->used;
    const int *block = f->island_blocks + f->island_first[island];
    const int *contact = f->island_contacts + f->island_contact_first[island];
    int n = f->island_first[island + 1] - f->island_first[island], i, k, matrix = 0, terms = 0;
    int contacts = f->island_contact_first[island + 1] - f->island_contact_first[island];
    int leader = csimi_leader(w, block[0]);
    for (i = 0; i < n; i++) matrix += w->store.A.row[block[i] + 1] - w->store.A.row[block[i]];
    for (i = 0; i < contacts; i++) terms += f->contacts[contact[i]].a.count + f->contacts[contact[i]].b.count;
    CSIMI_MEMSET(&p, 0, sizeof p);
    csimi_island_layout(&p, n, matrix, contacts, terms, f->aggregates, csimi_most_links(&w->store.count), arena);
    csimi_island_matrix(w, f, &p, block, n);
    csimi_island_contacts(f, &p, contact, contacts);
    csimi_island_structure(w, f, &p, block, n);
    csimi_island_chains(w, f, &p, block, n);
    params.sigma = w->store.body[leader].sigma;
    {
        size_t room = arena->size - arena->used;
        void *workspace = arena->base + arena->used;
        status =
            csim_problem_solve(&p.problem, &params, workspace, room, &w->def.tasks, &p.solution, &outcome, &w->error);
        if (status) return status;
        if (arena->used + outcome.bytes > arena->high) arena->high = arena->used + outcome.bytes;
    }
    if (outcome.result == CSIM_RESULT_NOT_FINITE)
        return csimi_fail(&w->error, CSIM_NON_FINITE_RESULT, "csim_world_step", "an island's velocity", false, 0,
                          "finite numbers; the step was undone");
    f->sigma_of_body[leader] = outcome.sigma;
    csimi_count_outcome(f, &outcome, n, contacts);
    for (i = 0; i < n; i++)
        for (k = 0; k < 3; k++) f->v[3 * block[i] + k] = p.solution.v[3 * i + k];
    for (i = 0; i < contacts; i++)
        for (k = 0; k < 3; k++) f->lambda[3 * contact[i] + k] = p.solution.lambda[3 * i + k];
    csimi_pop(arena, mark);
    return CSIM_OK;
}

/* Sorts blocks and contacts by island, keeping their order inside. */
static void csimi_sort_islands(csimi_step_frame *f) {
    int i;
    for (i = 0; i <= f->island_count; i++) f->island_first[i] = f->island_contact_first[i] = 0;
    for (i = 0; i < f->blocks; i++)
        if (f->island[i] >= 0) f->island_first[f->island[i] + 1]++;
    for (i = 0; i < f->contact_count; i++)
        if (f->contact_island[i] >= 0) f->island_contact_first[f->contact_island[i] + 1]++;
    for (i = 0; i < f->island_count; i++) {
        f->island_first[i + 1] += f->island_first[i];
        f->island_contact_first[i + 1] += f->island_contact_first[i];
    }
    for (i = 0; i < f->blocks; i++) {
        int g = f->island[i];
        if (g < 0) continue;
        f->local[i] = f->island_first[g];
        f->island_blocks[f->island_first[g]++] = i;
    }
    for (i = 0; i < f->contact_count; i++)
        if (f->contact_island[i] >= 0) f->island_contacts[f->island_contact_first[f->contact_island[i]]++] = i;
    for (i = f->island_count; i > 0; i--) {
        f->island_first[i] = f->island_first[i - 1];
        f->island_contact_first[i] = f->island_contact_first[i - 1];
    }
    f->island_first[0] = f->island_contact_first[0] = 0;
    for (i = 0; i < f->blocks; i++)
        if (f->island[i] >= 0) f->local[i] -= f->island_first[f->island[i]];
}

CSIMI_FN csim_status csimi_solve_islands(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    const csimi_store *s = &w->store;
    size_t mark = arena->used;
    int i, *scratch;
    csim_status status;
    for (i = 0; i < f->contact_count; i++)
        if (f->contacts[i].a.count + f->contacts[i].b.count == 0) /* nothing free: no impulse */
            f->lambda[3 * i] = f->lambda[3 * i + 1] = f->lambda[3 * i + 2] = 0;
    for (i = 0; i < s->count.bodies; i++) f->sigma_of_body[i] = 0;
    scratch = CSIMI_PUSH(arena, int, f->blocks);
    f->island_count =
        csimi_islands(&s->A, f->skip, f->contact_count, f->contacts, f->terms, f->island, f->contact_island, scratch);
    csimi_pop(arena, mark);
    csimi_sort_islands(f);
    csimi_aggregates(w, f);
    f->stats.certificate.worst_contact = -1;
    for (i = 0; i < f->island_count; i++)
        if ((status = csimi_solve_island(w, f, i, arena)) != 0) return status;
    return CSIM_OK;
}
/* ==== end world/island.c */

/* ==== begin world/step.c ======================================================================================== */
/* world/step: one step, from its first line to its last. Read csim_world_step at the end of this file first.

       models -> A, b ; shapes -> contacts -> rows -> islands -> solve -> certify -> integrate -> measure -> commit

   Everything is computed in scratch; the commit at the end only copies, so a step that fails leaves no trace. */

/* ---- the pattern of A, rebuilt after bodies or links changed */

static int csimi_count_pairs(const csimi_state *s) {
    const csimi_model *table = csimi_model_table();
    int i, n = 0;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].couple) n += table[i].couple(s, NULL);
    return n;
}

static int csimi_most_pairs(const csimi_counts *n) {
    return 6 * n->tets + 15 * n->membranes + n->rigids + CSIMI_SPRING_SLOTS / 2 * n->springs + 3 * n->frames + n->bends;
}

CSIMI_FN size_t csimi_pattern_build_scratch(const csimi_counts *n) {
    csimi_arena arena = csimi_arena_counting();
    int pairs = csimi_most_pairs(n);
    CSIMI_PUSH(&arena, int, 2 * (size_t)pairs);
    CSIMI_PUSH(&arena, int, csimi_pattern_scratch(csimi_blocks_of(n), pairs));
    return arena.used;
}

CSIMI_FN csim_status csimi_build_pattern(csim_world *w, csimi_arena *arena) {
    csimi_store *s = &w->store;
    const csimi_model *table = csimi_model_table();
    size_t mark = arena->used;
    int i, at = 0, needed = 0, count, total = csimi_count_pairs(&s->state), blocks = csimi_block_count(&s->state);
    int *pairs = CSIMI_PUSH(arena, int, 2 * (size_t)total);
    int *scratch = CSIMI_PUSH(arena, int, csimi_pattern_scratch(blocks, total));
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].couple) at += table[i].couple(&s->state, pairs + 2 * at);
    s->A.n = blocks;
    count = csimi_pattern_build(blocks, total, pairs, s->A.row, s->A.col, s->A.diag, s->capacity.matrix_blocks, &needed,
                                scratch);
    csimi_pop(arena, mark);
    w->high.matrix_blocks = csimi_imax(w->high.matrix_blocks, count < 0 ? needed : count);
    if (count < 0)
        return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "matrix_blocks needed", true, (double)needed,
                          "at most capacity.matrix_blocks; call csim_world_reserve");
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].bind) table[i].bind(&s->state, &s->A);
    w->pattern_stale = false;
    return CSIM_OK;
}

/* ---- stages */

/* The frame of this step: numbers of the integrator, working copies, velocities of all blocks. */
static void csimi_begin_frame(csim_world *w, csimi_step_frame *f, csim_real h, csimi_arena *arena) {
    csimi_store *s = &w->store;
    const csimi_state *t = &s->state;
    csimi_state own;
    int i, k;
    csimi_frame_layout(f, &s->capacity, arena);
    f->h = h;
    f->theta = f->sigma = w->def.integrator == CSIM_MIDPOINT ? CSIM_R(0.5) : CSIM_R(1.0);
    f->blocks = csimi_block_count(t);
    own = f->next;
    f->next = *t; /* shares what a step does not change */
    f->next.x = own.x;
    f->next.v = own.v;
    f->next.com = own.com;
    f->next.rotation = own.rotation;
    f->next.velocity = own.velocity;
    f->next.frame = own.frame;
    f->next.frame_velocity = own.frame_velocity;
    for (i = 0; i < t->node_count; i++) {
        f->skip[i] = t->node_mode[i] != CSIMI_FREE;
        for (k = 0; k < 3; k++) {
            f->vk[3 * i + k] = t->v[3 * i + k];
            f->rep[3 * i + k] = s->node_rep[3 * i + k];
        }
    }
    for (i = 0; i < t->rigid_count; i++) {
        int block = t->node_count + 2 * i;
        f->skip[block] = f->skip[block + 1] = t->rigid_mode[i] != CSIMI_FREE;
        for (k = 0; k < 6; k++) {
            f->vk[3 * block + k] = t->velocity[6 * i + k];
            f->rep[3 * block + k] = s->rigid_rep[6 * i + k];
        }
    }
    for (i = 0; i < t->frame_count; i++) {
        int block = csimi_first_frame_block(t) + i;
        f->skip[block] = t->frame_mode[i] != CSIMI_FREE;
        for (k = 0; k < 3; k++) {
            f->vk[3 * block + k] = t->frame_velocity[3 * i + k];
            f->rep[3 * block + k] = s->frame_rep[3 * i + k];
        }
    }
    for (i = 0; i < 3 * f->blocks; i++) f->v[i] = f->vk[i]; /* stays for fixed and kinematic blocks */
}

static void csimi_assemble(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    csimi_store *s = &w->store;
    const csimi_model *table = csimi_model_table();
    csimi_system system;
    int i;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].prepare) table[i].prepare(&s->state, step, f->vk);
    CSIMI_MEMSET(s->A.val, 0, sizeof(csim_real) * 9 * (size_t)s->A.row[s->A.n]);
    for (i = 0; i < 3 * f->blocks; i++) f->b[i] = 0;
    system.A = s->A;
    system.b = f->b;
    system.vk = f->vk;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].assemble) table[i].assemble(&s->state, step, &system);
}

/* v_{k+1} = v_k + (v - v_k) / theta, positions by v. */
static csim_status csimi_integrate(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    csimi_store *s = &w->store;
    const csimi_model *table = csimi_model_table();
    int i, k, frames = 3 * csimi_first_frame_block(&s->state);
    for (i = 0; i < 3 * f->blocks; i++) f->v_end[i] = f->vk[i] + (f->v[i] - f->vk[i]) / f->theta;
    for (i = 0; i < f->blocks; i++)
        if (f->skip[i])
            for (k = 0; k < 3; k++) f->v_end[3 * i + k] = f->v[3 * i + k];
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].advance) table[i].advance(&s->state, step, f->v, &f->next);
    for (i = 0; i < 3 * s->count.nodes; i++) f->next.v[i] = f->v_end[i];
    for (i = 0; i < 6 * s->count.rigids; i++) f->next.velocity[i] = f->v_end[3 * s->count.nodes + i];
    for (i = 0; i < 3 * s->count.frames; i++) f->next.frame_velocity[i] = f->v_end[frames + i];
    if (csimi_all_finite(f->v_end, 3 * f->blocks) && csimi_all_finite(f->next.x, 3 * s->count.nodes) &&
        csimi_all_finite(f->next.com, 3 * s->count.rigids) && csimi_all_finite(f->next.rotation, 4 * s->count.rigids) &&
        csimi_all_finite(f->next.frame, 4 * s->count.frames))
        return CSIM_OK;
    return csimi_fail(&w->error, CSIM_NON_FINITE_RESULT, "csim_world_step", "velocity or position", false, 0,
                      "finite numbers; the step was undone");
}

static void csimi_commit(csim_world *w, csimi_step_frame *f) {
    csimi_store *s = &w->store;
    size_t nodes = (size_t)s->count.nodes, rigids = (size_t)s->count.rigids, frames = (size_t)s->count.frames;
    size_t real = sizeof(csim_real);
    int i, k;
    CSIMI_MEMCPY(s->state.x, f->next.x, real * 3 * nodes);
    CSIMI_MEMCPY(s->state.v, f->next.v, real * 3 * nodes);
    CSIMI_MEMCPY(s->node_rep, f->v, real * 3 * nodes);
    CSIMI_MEMCPY(s->state.com, f->next.com, real * 3 * rigids);
    CSIMI_MEMCPY(s->state.rotation, f->next.rotation, real * 4 * rigids);
    CSIMI_MEMCPY(s->state.velocity, f->next.velocity, real * 6 * rigids);
    CSIMI_MEMCPY(s->rigid_rep, f->v + 3 * nodes, real * 6 * rigids);
    CSIMI_MEMCPY(s->state.frame, f->next.frame, real * 4 * frames);
    CSIMI_MEMCPY(s->state.frame_velocity, f->next.frame_velocity, real * 3 * frames);
    CSIMI_MEMCPY(s->frame_rep, f->v + 3 * (nodes + 2 * rigids), real * 3 * frames);
    CSIMI_MEMSET(s->state.frame_torque, 0, real * 3 * frames);
    CSIMI_MEMSET(s->state.node_force, 0, real * 3 * nodes);
    CSIMI_MEMSET(s->state.wrench, 0, real * 6 * rigids);
    for (i = 0; i < s->count.bodies; i++) s->body[i].sigma = f->sigma_of_body[i];
    for (i = 0; i < s->count.pins; i++)
        for (k = 0; k < 3; k++) s->pin[i].impulse[k] = f->lambda[3 * (f->found_count + i) + k];
    CSIMI_MEMCPY(s->contact, f->info, sizeof(csim_contact_info) * (size_t)f->found_count);
    CSIMI_MEMCPY(s->ended_id, f->ended, sizeof(uint64_t) * (size_t)f->ended_count);
    s->count.contacts = f->found_count;
    s->count.ended = f->ended_count;
    w->time += (double)f->h;
    w->last_h = (double)f->h;
}

static double csimi_now(const csim_world *w) { return w->def.clock ? w->def.clock(w->def.clock_user) : 0; }

/* The step between locking and unlocking. */
static csim_status csimi_run_step(csim_world *w, csimi_step_frame *f, csim_real h, csimi_arena *arena) {
    csimi_step step;
    csim_status status;
    double t0 = csimi_now(w), t1, t2, t3;
    if (w->pattern_stale && (status = csimi_build_pattern(w, arena)) != 0) return status;
    csimi_begin_frame(w, f, h, arena);
    step.h = h;
    step.theta = f->theta;
    step.sigma = f->sigma;
#ifdef CONDSIM_OPENMP
    step.tasks = &w->def.tasks;
#else
    step.tasks = w->def.tasks.run ? &w->def.tasks : NULL; /* split rows cost some elements twice */
#endif
    csimi_assemble(w, f, &step);
    t1 = csimi_now(w);
    if ((status = csimi_detect(w, f, arena)) != 0) return status;
    csimi_rows(w, f, arena);
    t2 = csimi_now(w);
    if ((status = csimi_solve_islands(w, f, arena)) != 0) return status;
    t3 = csimi_now(w);
    if ((f->stats.flags & CSIM_FLAG_UNCERTIFIED) && w->def.on_uncertified == CSIM_REJECT_UNCERTIFIED)
        return csimi_fail(&w->error, CSIM_UNCERTIFIED, "csim_world_step", "certificate", true,
                          f->stats.certificate.dynamics > f->stats.certificate.contact ? f->stats.certificate.dynamics
                                                                                       : f->stats.certificate.contact,
                          "at most solver.tolerance");
    if ((status = csimi_integrate(w, f, &step)) != 0) return status;
    csimi_measure(w, f);
    csimi_report_contacts(w, f);
    f->stats.assembly_seconds = t1 - t0;
    f->stats.collide_seconds = t2 - t1;
    f->stats.solve_seconds = t3 - t2;
    csimi_commit(w, f);
    return CSIM_OK;
}

CSIM_API csim_status csim_world_step(csim_world *w, csim_real h) {
    csimi_step_frame *frame; /* in scratch: too large for small stacks */
    csimi_arena arena;
    csim_status status;
    uint64_t steps;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_step", NULL, false, 0, NULL);
    if (!csimi_finite(h))
        return csimi_fail(&w->error, CSIM_NOT_FINITE, "csim_world_step", "h", true, (double)h, "1e-7..1 s");
    if (h < CSIM_R(1e-7) || h > 1)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, "csim_world_step", "h", true, (double)h, "1e-7..1 s");
    arena = csimi_arena_in(w->store.scratch, w->store.scratch_bytes);
    w->locked = true;
    steps = w->stats.step;
    frame = CSIMI_PUSH(&arena, csimi_step_frame, 1);
    CSIMI_MEMSET(frame, 0, sizeof *frame);
    status = csimi_run_step(w, frame, h, &arena);
    w->locked = false;
    if (!status && arena.overflow)
        status = csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "scratch", true, (double)arena.high,
                            "a larger block");
    w->stats = frame->stats;
    w->stats.step = steps + (status ? 0u : 1u);
    w->stats.time = w->time;
    w->stats.scratch_bytes = arena.high;
    w->stats.memory_bytes = w->heap.held;
    return status;
}

CSIM_API csim_step_stats csim_world_stats(const csim_world *w) { return w->stats; }
/* ==== end world/step.c */

/* ==== begin world/measure.c ===================================================================================== */
/* world/measure: what a step reports: penetration from the geometry, energies, the contact list and its events. */

CSIMI_FN void csimi_measure(csim_world *w, csimi_step_frame *f) {
    const csimi_model *table = csimi_model_table();
    csimi_energy energy;
    double deepest = 0;
    int i;
    for (i = 0; i < f->found_count; i++) {
        double gap = (double)csimi_gap_at(w, &w->store.state, &f->next, f->found + i);
        if (-gap > deepest) deepest = -gap;
    }
    f->stats.penetration = deepest;
    energy.kinetic = energy.gravity = energy.elastic = 0;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].energy) table[i].energy(&f->next, &energy);
    f->stats.kinetic = energy.kinetic;
    f->stats.potential = energy.gravity + energy.elastic;
}

/* Velocity of one side of row c under the block velocities v. */
static csim_vec3 csimi_side_velocity(const csimi_step_frame *f, csim_side side) {
    csim_real u[3] = {0, 0, 0};
    int k;
    for (k = 0; k < side.count; k++) {
        const csim_term *t = f->terms + side.first + k;
        csimi_addmul3(t->J, f->v + 3 * t->block, u);
    }
    return csimi_load3(u);
}

/* Tangential slip in world axes: J v and the part of phi that is not the gap's. */
static csim_vec3 csimi_contact_slip(const csimi_step_frame *f, const csim_contact *c) {
    csim_vec3 relative = csim_sub(csimi_side_velocity(f, c->a), csimi_side_velocity(f, c->b)), t1, t2;
    t1 = csimi_load3(c->R + 3);
    t2 = csimi_load3(c->R + 6);
    return csim_add(csim_scale(csim_dot(t1, relative) + c->phi[1], t1),
                    csim_scale(csim_dot(t2, relative) + c->phi[2], t2));
}

static csim_contact_state csimi_state_of(const csim_contact *c, const csim_real *lambda, csim_real friction) {
    csim_real limit = csimi_min(c->mu[0], c->mu[1]) * lambda[0];
    if (!(lambda[0] > 0)) return CSIM_CONTACT_OPEN;
    return friction < (1 - CSIM_R(1e-6)) * limit ? CSIM_CONTACT_STICK : CSIM_CONTACT_SLIP;
}

CSIMI_FN void csimi_report_contacts(csim_world *w, csimi_step_frame *f) {
    csimi_store *s = &w->store;
    int i;
    for (i = 0; i < s->count.contacts; i++) f->carried[i] = 0;
    for (i = 0; i < f->found_count; i++) {
        const csimi_found_contact *found = f->found + i;
        const csim_contact *c = f->contacts + i;
        const csim_real *lambda = f->lambda + 3 * i;
        csim_contact_info *info = f->info + i;
        csim_real impulse[3] = {0, 0, 0};
        CSIMI_MEMSET(info, 0, sizeof *info);
        csimi_addmulT3(c->R, lambda, impulse);
        info->id = found->id;
        info->body_a = csimi_body_id_of(w, found->body_a);
        info->body_b = csimi_body_id_of(w, found->body_b);
        info->point = found->point_a;
        info->normal = found->normal;
        info->gap = found->gap;
        info->impulse = csimi_load3(impulse);
        info->normal_impulse = lambda[0];
        info->friction_impulse = CSIMI_SQRT(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
        info->slip = csimi_contact_slip(f, c);
        info->state = csimi_state_of(c, lambda, info->friction_impulse);
        info->began =
            info->state != CSIM_CONTACT_OPEN && (found->last < 0 || s->contact[found->last].state == CSIM_CONTACT_OPEN);
        if (info->state == CSIM_CONTACT_OPEN) continue;
        f->stats.touching++;
        if (found->last >= 0) f->carried[found->last] = 1;
    }
    f->ended_count = 0;
    for (i = 0; i < s->count.contacts; i++)
        if (s->contact[i].state != CSIM_CONTACT_OPEN && !f->carried[i]) f->ended[f->ended_count++] = s->contact[i].id;
}

CSIM_API const csim_contact_info *csim_world_contacts(const csim_world *w, int *count) {
    *count = w->store.count.contacts;
    return w->store.contact;
}

CSIM_API const uint64_t *csim_world_ended(const csim_world *w, int *count) {
    *count = w->store.count.ended;
    return w->store.ended_id;
}

/* ---- totals */

static void csimi_add_momentum(csim_totals *t, csim_vec3 x, csim_vec3 p, csim_vec3 spin) {
    csim_vec3 l = csim_add(csim_cross(x, p), spin);
    t->momentum[0] += (double)p.x;
    t->momentum[1] += (double)p.y;
    t->momentum[2] += (double)p.z;
    t->angular_momentum[0] += (double)l.x;
    t->angular_momentum[1] += (double)l.y;
    t->angular_momentum[2] += (double)l.z;
}

CSIM_API csim_totals csim_world_totals(const csim_world *w) {
    const csimi_state *s = &w->store.state;
    const csimi_model *table = csimi_model_table();
    csimi_energy energy;
    csim_totals t;
    int i;
    CSIMI_MEMSET(&t, 0, sizeof t);
    energy.kinetic = energy.gravity = energy.elastic = 0;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].energy) table[i].energy(s, &energy);
    t.kinetic = energy.kinetic;
    t.gravity = energy.gravity;
    t.elastic = energy.elastic;
    for (i = 0; i < s->node_count; i++) {
        if (s->node_mode[i] != CSIMI_FREE) continue;
        t.mass += (double)s->node_mass[i];
        csimi_add_momentum(&t, csimi_load3(s->x + 3 * i), csim_scale(s->node_mass[i], csimi_load3(s->v + 3 * i)),
                           csim_v3(0, 0, 0));
    }
    for (i = 0; i < s->rigid_count; i++) {
        csim_real I[9], spin[3];
        if (s->rigid_mode[i] != CSIMI_FREE) continue;
        csimi_rigid_inertia_world(s, i, I);
        csimi_mul3(I, s->velocity + 6 * i + 3, spin);
        t.mass += (double)s->rigid_mass[i];
        csimi_add_momentum(&t, csimi_load3(s->com + 3 * i),
                           csim_scale(s->rigid_mass[i], csimi_load3(s->velocity + 6 * i)), csimi_load3(spin));
    }
    for (i = 0; i < s->frame_count; i++) { /* the mass of an edge is at its nodes */
        csim_real I[9], spin[3];
        if (s->frame_mode[i] != CSIMI_FREE) continue;
        csimi_frame_inertia_world(s, i, I);
        csimi_mul3(I, s->frame_velocity + 3 * i, spin);
        csimi_add_momentum(&t, csim_v3(0, 0, 0), csim_v3(0, 0, 0), csimi_load3(spin));
    }
    return t;
}

CSIM_API double csim_world_rms_speed(const csim_world *w) {
    const csimi_store *s = &w->store;
    double energy2 = 0, mass = 0;
    int i;
    for (i = 0; i < s->count.nodes; i++) {
        csim_vec3 v = csimi_load3(s->node_rep + 3 * i);
        if (s->state.node_mode[i] != CSIMI_FREE) continue;
        energy2 += (double)(s->state.node_mass[i] * csim_dot(v, v));
        mass += (double)s->state.node_mass[i];
    }
    for (i = 0; i < s->count.rigids; i++) {
        csim_vec3 v = csimi_load3(s->rigid_rep + 6 * i), o = csimi_load3(s->rigid_rep + 6 * i + 3);
        csim_real I[9], spin[3];
        if (s->state.rigid_mode[i] != CSIMI_FREE) continue;
        csimi_rigid_inertia_world(&s->state, i, I);
        csimi_mul3(I, s->rigid_rep + 6 * i + 3, spin);
        energy2 += (double)(s->state.rigid_mass[i] * csim_dot(v, v) + csim_dot(o, csimi_load3(spin)));
        mass += (double)s->state.rigid_mass[i];
    }
    for (i = 0; i < s->count.frames; i++) {
        csim_real I[9], spin[3];
        if (s->state.frame_mode[i] != CSIMI_FREE) continue;
        csimi_frame_inertia_world(&s->state, i, I);
        csimi_mul3(I, s->frame_rep + 3 * i, spin);
        energy2 += (double)csim_dot(csimi_load3(s->frame_rep + 3 * i), csimi_load3(spin));
    }
    return mass > 0 ? (double)CSIMI_SQRT((csim_real)(energy2 / mass)) : 0;
}
/* ==== end world/measure.c */

/* ==== begin world/query.c ======================================================================================= */
/* world/query: reading and setting the state of bodies. */

/* Lines every setter starts with. */
#define CSIMI_OPEN_BODY(w, id, function)                                                          \
    csimi_store *s;                                                                               \
    csimi_body *b;                                                                                \
    int slot;                                                                                     \
    csim_status status;                                                                           \
    if (!(w)) return CSIM_NULL_ARGUMENT;                                                          \
    if ((w)->locked) return csimi_fail(&(w)->error, CSIM_LOCKED, function, NULL, false, 0, NULL); \
    if ((status = csimi_find_body(w, id, function, &slot, &(w)->error)) != 0) return status;      \
    s = &(w)->store;                                                                              \
    b = s->body + slot

/* Lines every getter starts with; out must not be null. */
#define CSIMI_READ_BODY(w, id, out)                                                                     \
    const csimi_store *s;                                                                               \
    const csimi_body *b;                                                                                \
    int slot;                                                                                           \
    csim_status status;                                                                                 \
    if (!(w) || !(out)) return CSIM_NULL_ARGUMENT;                                                      \
    if ((status = csimi_find_body(w, id, "a csim_body_get function", &slot, NULL)) != 0) return status; \
    s = &(w)->store;                                                                                    \
    b = s->body + slot

CSIM_API int csim_world_body_count(const csim_world *w) { return w ? w->live_bodies : 0; }

CSIM_API int csim_world_bodies(const csim_world *w, csim_body_id *out, int capacity) {
    int i;
    if (!w) return 0;
    for (i = 0; i < w->live_bodies && i < capacity; i++) out[i] = csimi_body_id_of(w, w->store.body_list[i]);
    return w->live_bodies;
}

CSIM_API csim_status csim_body_get_kind(const csim_world *w, csim_body_id id, csim_body_kind *kind) {
    CSIMI_READ_BODY(w, id, kind);
    (void)s;
    *kind = b->kind;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_motion(const csim_world *w, csim_body_id id, csim_motion *motion) {
    CSIMI_READ_BODY(w, id, motion);
    (void)s;
    *motion = b->motion;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_user_data(const csim_world *w, csim_body_id id, void **user_data) {
    CSIMI_READ_BODY(w, id, user_data);
    (void)s;
    *user_data = b->user_data;
    return CSIM_OK;
}

/* Mass-weighted mean of a 3-vector over the nodes of a body. */
static csim_vec3 csimi_node_mean(const csimi_store *s, const csimi_body *b, const csim_real *a) {
    csim_vec3 sum = csim_v3(0, 0, 0);
    csim_real mass = 0;
    int i;
    for (i = b->first_node; i < b->first_node + b->node_count; i++) {
        sum = csim_madd(sum, s->state.node_mass[i], csimi_load3(a + 3 * i));
        mass += s->state.node_mass[i];
    }
    return csim_scale(1 / mass, sum);
}

CSIM_API csim_status csim_body_get_pose(const csim_world *w, csim_body_id id, csim_pose *pose) {
    CSIMI_READ_BODY(w, id, pose);
    *pose = csimi_body_pose(s, &s->state, slot);
    if (b->kind != CSIM_RIGID) pose->position = csimi_node_mean(s, b, s->state.x);
    return CSIM_OK;
}

static csim_status csimi_get_velocity(const csim_world *w, csim_body_id id, bool end, csim_vec3 *linear,
                                      csim_vec3 *angular) {
    CSIMI_READ_BODY(w, id, linear);
    if (b->kind == CSIM_RIGID) {
        const csim_real *v = (end ? s->state.velocity : s->rigid_rep) + 6 * b->rigid;
        *linear = csimi_load3(v);
        if (angular) *angular = csimi_load3(v + 3);
        return CSIM_OK;
    }
    *linear = csimi_node_mean(s, b, end ? s->state.v : s->node_rep);
    if (angular) *angular = csim_v3(0, 0, 0);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_velocity(const csim_world *w, csim_body_id id, csim_vec3 *linear,
                                            csim_vec3 *angular) {
    return csimi_get_velocity(w, id, false, linear, angular);
}

CSIM_API csim_status csim_body_get_end_velocity(const csim_world *w, csim_body_id id, csim_vec3 *linear,
                                                csim_vec3 *angular) {
    return csimi_get_velocity(w, id, true, linear, angular);
}

CSIM_API csim_status csim_body_get_mass(const csim_world *w, csim_body_id id, csim_mass *mass) {
    CSIMI_READ_BODY(w, id, mass);
    CSIMI_MEMSET(mass, 0, sizeof *mass);
    if (b->kind == CSIM_RIGID) {
        mass->mass = s->state.rigid_mass[b->rigid];
        mass->centre = csimi_load3(b->centre);
        CSIMI_MEMCPY(mass->inertia.m, s->state.inertia + 9 * b->rigid, 9 * sizeof(csim_real));
    } else {
        int i;
        for (i = b->first_node; i < b->first_node + b->node_count; i++) mass->mass += s->state.node_mass[i];
    }
    return CSIM_OK;
}

/* ---- setting */

CSIM_API csim_status csim_body_set_pose(csim_world *w, csim_body_id id, csim_pose pose) {
    CSIMI_OPEN_BODY(w, id, "csim_body_set_pose");
    if ((status = csimi_check_pose(&w->error, "csim_body_set_pose", pose)) != 0) return status;
    if (b->kind != CSIM_RIGID && b->kind != CSIM_PARTICLE)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, "csim_body_set_pose", "id", true, (double)id.index1,
                          "a particle or rigid body");
    if (b->kind == CSIM_PARTICLE) {
        csimi_store3(s->state.x + 3 * b->first_node, pose.position);
        return CSIM_OK;
    }
    pose.rotation = csim_quat_normalize(pose.rotation);
    csimi_store3(s->state.com + 3 * b->rigid, csim_pose_point(pose, csimi_load3(b->centre)));
    s->state.rotation[4 * b->rigid] = pose.rotation.w;
    s->state.rotation[4 * b->rigid + 1] = pose.rotation.x;
    s->state.rotation[4 * b->rigid + 2] = pose.rotation.y;
    s->state.rotation[4 * b->rigid + 3] = pose.rotation.z;
    return CSIM_OK;
}

static void csimi_set_node_velocity(csimi_store *s, int node, csim_vec3 v) {
    if (s->state.node_mode[node] == CSIMI_FIXED) v = csim_v3(0, 0, 0);
    csimi_store3(s->state.v + 3 * node, v);
    csimi_store3(s->node_rep + 3 * node, v);
}

CSIMI_FN void csimi_set_frame_velocity(csimi_store *s, int frame, csim_vec3 w) {
    if (s->state.frame_mode[frame] == CSIMI_FIXED) w = csim_v3(0, 0, 0);
    csimi_store3(s->state.frame_velocity + 3 * frame, w);
    csimi_store3(s->frame_rep + 3 * frame, w);
}

CSIM_API csim_status csim_body_set_velocity(csim_world *w, csim_body_id id, csim_vec3 linear, csim_vec3 angular) {
    CSIMI_OPEN_BODY(w, id, "csim_body_set_velocity");
    if ((status = csimi_check_vec(&w->error, "csim_body_set_velocity", "linear", linear)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_set_velocity", "angular", angular)) != 0) return status;
    if (b->motion == CSIM_STATIC)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, "csim_body_set_velocity", "id", true, (double)id.index1,
                          "a body that is not static");
    if (b->kind == CSIM_RIGID) {
        csimi_store3(s->state.velocity + 6 * b->rigid, linear);
        csimi_store3(s->state.velocity + 6 * b->rigid + 3, angular);
        csimi_store3(s->rigid_rep + 6 * b->rigid, linear);
        csimi_store3(s->rigid_rep + 6 * b->rigid + 3, angular);
    } else {
        csim_vec3 centre = csimi_node_mean(s, b, s->state.x);
        int i;
        for (i = b->first_node; i < b->first_node + b->node_count; i++)
            csimi_set_node_velocity(
                s, i, csim_add(linear, csim_cross(angular, csim_sub(csimi_load3(s->state.x + 3 * i), centre))));
        for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) csimi_set_frame_velocity(s, i, angular);
    }
    return CSIM_OK;
}

static void csimi_add3(csim_real *a, csim_vec3 v) { csimi_store3(a, csim_add(csimi_load3(a), v)); }

CSIM_API csim_status csim_body_add_force(csim_world *w, csim_body_id id, csim_vec3 force, csim_vec3 torque) {
    CSIMI_OPEN_BODY(w, id, "csim_body_add_force");
    if ((status = csimi_check_vec(&w->error, "csim_body_add_force", "force", force)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_add_force", "torque", torque)) != 0) return status;
    if (b->kind == CSIM_RIGID) {
        csimi_add3(s->state.wrench + 6 * b->rigid, force);
        csimi_add3(s->state.wrench + 6 * b->rigid + 3, torque);
    } else {
        csim_real mass = 0;
        int i;
        if (csim_dot(torque, torque) > 0)
            return csimi_fail(&w->error, CSIM_WRONG_KIND, "csim_body_add_force", "torque", true,
                              (double)csim_length(torque), "0 for particles and solids");
        for (i = b->first_node; i < b->first_node + b->node_count; i++) mass += s->state.node_mass[i];
        for (i = b->first_node; i < b->first_node + b->node_count; i++)
            csimi_add3(s->state.node_force + 3 * i, csim_scale(s->state.node_mass[i] / mass, force));
    }
    return CSIM_OK;
}

static void csimi_set_mode(csimi_store *s, int node, csim_motion motion) {
    s->state.node_mode[node] = csimi_mode_of(motion);
    if (motion == CSIM_STATIC) csimi_set_node_velocity(s, node, csim_v3(0, 0, 0));
}

CSIM_API csim_status csim_body_set_motion(csim_world *w, csim_body_id id, csim_motion motion) {
    CSIMI_OPEN_BODY(w, id, "csim_body_set_motion");
    if ((status = csimi_check_enum(&w->error, "csim_body_set_motion", "motion", (int)motion, CSIM_MOTION_COUNT_)) != 0)
        return status;
    if (b->kind == CSIM_RIGID) {
        int i, k;
        for (i = 0; i < b->shape_count; i++)
            if (motion != CSIM_STATIC && s->shape[b->first_shape + i].kind == CSIM_SHAPE_HALF_SPACE)
                return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, "csim_body_set_motion", "motion", true, (double)motion,
                                  "CSIM_STATIC for a body with a half-space");
        if (motion == CSIM_DYNAMIC && (!(s->state.rigid_mass[b->rigid] > 0) || !(s->state.inertia[9 * b->rigid] > 0)))
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, "csim_body_set_motion", "motion", true, (double)motion,
                              "dynamic only with mass and inertia");
        s->state.rigid_mode[b->rigid] = csimi_mode_of(motion);
        for (k = 0; motion == CSIM_STATIC && k < 6; k++)
            s->state.velocity[6 * b->rigid + k] = s->rigid_rep[6 * b->rigid + k] = 0;
    } else {
        int i;
        for (i = b->first_node; i < b->first_node + b->node_count; i++) csimi_set_mode(s, i, motion);
        for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) {
            s->state.frame_mode[i] = csimi_mode_of(motion);
            if (motion == CSIM_STATIC) csimi_set_frame_velocity(s, i, csim_v3(0, 0, 0));
        }
    }
    b->motion = motion;
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_friction(csim_world *w, csim_body_id id, csim_real friction) {
    csim_surface_def surface;
    CSIMI_OPEN_BODY(w, id, "csim_body_set_friction");
    (void)s;
    surface = b->surface;
    surface.friction = friction;
    if ((status = csimi_check_surface(&w->error, "csim_body_set_friction", &surface)) != 0) return status;
    b->surface = surface;
    return CSIM_OK;
}

/* ---- shapes */

CSIM_API int csim_body_shape_count(const csim_world *w, csim_body_id id) {
    int slot;
    if (!w || csimi_find_body(w, id, "csim_body_shape_count", &slot, NULL) != CSIM_OK) return 0;
    return w->store.body[slot].shape_count;
}

CSIM_API csim_status csim_body_shape(const csim_world *w, csim_body_id id, int shape, const csim_geometry **geometry,
                                     const csim_hull_data **hull) {
    CSIMI_READ_BODY(w, id, geometry);
    if (shape < 0 || shape >= b->shape_count) return CSIM_OUT_OF_RANGE;
    *geometry = s->shape + b->first_shape + shape;
    if (hull) *hull = (*geometry)->hull >= 0 ? s->hull + (*geometry)->hull : NULL;
    return CSIM_OK;
}

/* ---- nodes */

CSIM_API int csim_body_node_count(const csim_world *w, csim_body_id id) {
    int slot;
    if (!w || csimi_find_body(w, id, "csim_body_node_count", &slot, NULL) != CSIM_OK) return 0;
    return w->store.body[slot].node_count;
}

static csim_status csimi_get_node_array(const csim_world *w, csim_body_id id, bool velocity, csim_real *out,
                                        int stride) {
    int i;
    CSIMI_READ_BODY(w, id, out);
    if (stride < 3) return CSIM_OUT_OF_RANGE;
    for (i = 0; i < b->node_count; i++) {
        int node = b->first_node + s->node_of_user[b->first_node + i];
        csimi_store3(out + (size_t)i * (size_t)stride, csimi_load3((velocity ? s->node_rep : s->state.x) + 3 * node));
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_body_get_nodes(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    return csimi_get_node_array(w, id, false, out, stride);
}

CSIM_API csim_status csim_body_get_node_velocities(const csim_world *w, csim_body_id id, csim_real *out, int stride) {
    return csimi_get_node_array(w, id, true, out, stride);
}

static csim_status csimi_node_of(csim_world *w, const csimi_body *b, int node, const char *function, int *internal) {
    if (node < 0 || node >= b->node_count)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, function, "node", true, (double)node, "0..node count - 1");
    *internal = b->first_node + w->store.node_of_user[b->first_node + node];
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_node(csim_world *w, csim_body_id id, int node, csim_vec3 position,
                                        csim_vec3 velocity) {
    int i;
    CSIMI_OPEN_BODY(w, id, "csim_body_set_node");
    if ((status = csimi_node_of(w, b, node, "csim_body_set_node", &i)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_set_node", "position", position)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_set_node", "velocity", velocity)) != 0) return status;
    csimi_store3(s->state.x + 3 * i, position);
    csimi_set_node_velocity(s, i, velocity);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_set_node_motion(csim_world *w, csim_body_id id, int node, csim_motion motion) {
    int i;
    CSIMI_OPEN_BODY(w, id, "csim_body_set_node_motion");
    if ((status = csimi_node_of(w, b, node, "csim_body_set_node_motion", &i)) != 0) return status;
    if ((status =
             csimi_check_enum(&w->error, "csim_body_set_node_motion", "motion", (int)motion, CSIM_MOTION_COUNT_)) != 0)
        return status;
    csimi_set_mode(s, i, motion);
    return CSIM_OK;
}

CSIM_API csim_status csim_body_add_node_force(csim_world *w, csim_body_id id, int node, csim_vec3 force) {
    int i;
    CSIMI_OPEN_BODY(w, id, "csim_body_add_node_force");
    if ((status = csimi_node_of(w, b, node, "csim_body_add_node_force", &i)) != 0) return status;
    if ((status = csimi_check_vec(&w->error, "csim_body_add_node_force", "force", force)) != 0) return status;
    csimi_add3(s->state.node_force + 3 * i, force);
    return CSIM_OK;
}

static csim_status csimi_check_activation(csim_world *w, const csim_activation *a, const char *function) {
    static const csimi_field fields[] = {
        {"pressure", offsetof(csim_activation, pressure), -1e15, 1e15, false, false, "-1e15..1e15"},
        {"tension", offsetof(csim_activation, tension), -1e15, 1e15, false, false, "-1e15..1e15"},
    };
    csim_status status;
    if (!a) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, function, "activation", false, 0, "not null");
    if ((status = csimi_check_fields(&w->error, function, a, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if ((status = csimi_check_vec(&w->error, function, "fibre", a->fibre)) != 0) return status;
    if ((a->tension < 0 || a->tension > 0) && !(csim_length(a->fibre) > 0))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, function, "fibre", true, 0, "not the zero vector");
    return CSIM_OK;
}

CSIM_API csim_status csim_soft_set_activation(csim_world *w, csim_body_id id, const int *tets, int count,
                                              const csim_activation *a) {
    static const char fn[] = "csim_soft_set_activation";
    csim_real length;
    int i;
    CSIMI_OPEN_BODY(w, id, fn);
    if ((status = csimi_check_activation(w, a, fn)) != 0) return status;
    if (b->kind != CSIM_SOFT)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "id", true, (double)id.index1, "a solid");
    if (count < 0 || (tets == NULL) != (count == 0))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "count", true, (double)count,
                          "the length of tets, or null and 0 for all");
    for (i = 0; i < count; i++)
        if (tets[i] < 0 || tets[i] >= b->tet_count)
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "tets", true, (double)tets[i], "0..tet_count - 1");
    length = csim_length(a->fibre);
    for (i = 0; i < (tets ? count : b->tet_count); i++) {
        csim_real *active = s->state.tet_active + 5 * (size_t)(b->first_tet + (tets ? tets[i] : i));
        active[0] = a->pressure;
        active[1] = a->tension;
        csimi_store3(active + 2, length > 0 ? csim_scale(1 / length, a->fibre) : csim_v3(0, 0, 0));
    }
    return CSIM_OK;
}

CSIM_API csim_status csim_body_surface(const csim_world *w, csim_body_id id, const int **triangles, int *count) {
    CSIMI_READ_BODY(w, id, triangles);
    if (!count) return CSIM_NULL_ARGUMENT;
    *triangles = s->triangle + 3 * b->first_triangle;
    *count = b->triangle_count;
    return CSIM_OK;
}
#undef CSIMI_OPEN_BODY
#undef CSIMI_READ_BODY
/* ==== end world/query.c */

/* ==== begin world/snapshot.c ==================================================================================== */
/* world/snapshot: save, restore and hash of everything a later step depends on. */

/* What stands before the arrays; restored only after all of it has been checked. */
typedef struct csimi_snapshot_header {
    uint64_t magic;
    uint32_t version, real_bytes, options, stamp;
    uint64_t bytes, hash; /* of the whole snapshot; of what follows the header */
    csimi_counts count;
    int live_bodies, free_body, free_link;
    double time, last_h;
    uint64_t step;
    csim_vec3 gravity;
    csim_integrator integrator;
} csimi_snapshot_header;

#define CSIMI_MAGIC 0x70616e736d697363ull /* "csimsnap" on a little-endian machine: byte order is checked with it */

static uint64_t csimi_fnv(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    size_t i;
    for (i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}
#define CSIMI_FNV_START 0xcbf29ce484222325ull

static size_t csimi_snapshot_bytes(const csimi_counts *c) {
    size_t n = sizeof(csimi_snapshot_header);
#define CSIMI_X(axis, type, name, per) n += sizeof(type) * (size_t)c->axis * (per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    return n;
}

static uint32_t csimi_layout_stamp(void) {
    return (uint32_t)(sizeof(csimi_body) + 7 * sizeof(csim_contact_info) + 31 * sizeof(csim_geometry));
}

CSIM_API csim_status csim_world_save(const csim_world *w, void *buffer, size_t *bytes) {
    csimi_snapshot_header h;
    const csimi_store *s;
    unsigned char *p = (unsigned char *)buffer;
    size_t size;
    if (!w || !bytes) return CSIM_NULL_ARGUMENT;
    s = &w->store;
    size = csimi_snapshot_bytes(&s->count);
    if (!buffer) {
        *bytes = size;
        return CSIM_OK;
    }
    if (*bytes < size) return CSIM_CAPACITY;
    p += sizeof h;
#define CSIMI_X(axis, type, name, per)                                                             \
    if (s->count.axis > 0) CSIMI_MEMCPY(p, s->name, sizeof(type) * (size_t)s->count.axis * (per)); \
    p += sizeof(type) * (size_t)s->count.axis * (per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    CSIMI_MEMSET(&h, 0, sizeof h);
    h.magic = CSIMI_MAGIC;
    h.version = CSIM_VERSION;
    h.real_bytes = CSIM_REAL_SIZE;
    h.options = csimi_layout_stamp();
    h.stamp = w->stamp;
    h.bytes = size;
    h.count = s->count;
    h.live_bodies = w->live_bodies;
    h.free_body = w->free_body;
    h.free_link = w->free_link;
    h.time = w->time;
    h.last_h = w->last_h;
    h.step = w->stats.step;
    h.gravity = w->def.gravity;
    h.integrator = w->def.integrator;
    h.hash = csimi_fnv(CSIMI_FNV_START, (unsigned char *)buffer + sizeof h, size - sizeof h);
    CSIMI_MEMCPY(buffer, &h, sizeof h);
    *bytes = size;
    return CSIM_OK;
}

static csim_status csimi_bad_snapshot(csim_world *w, const char *field, double value, const char *allowed) {
    return csimi_fail(&w->error, CSIM_BAD_SNAPSHOT, "csim_world_restore", field, true, value, allowed);
}

/* Counts that are negative or absurd would overflow the size: they are refused before it is computed. */
static bool csimi_counts_sane(const csimi_counts *c) {
    int value[sizeof(csimi_counts) / sizeof(int)], i;
    CSIMI_MEMCPY(value, c, sizeof value);
    for (i = 0; i < (int)(sizeof value / sizeof value[0]); i++)
        if (value[i] < 0 || value[i] > 100000000) return false;
    return true;
}

static csim_status csimi_check_snapshot(csim_world *w, const csimi_snapshot_header *h, const unsigned char *p,
                                        size_t bytes) {
    if (h->magic != CSIMI_MAGIC)
        return csimi_bad_snapshot(w, "magic", 0, "bytes of csim_world_save on a machine of the same byte order");
    if (h->version != CSIM_VERSION) return csimi_bad_snapshot(w, "version", (double)h->version, "this version");
    if (h->real_bytes != CSIM_REAL_SIZE)
        return csimi_bad_snapshot(w, "scalar bytes", (double)h->real_bytes, "those of this build");
    if (h->options != csimi_layout_stamp())
        return csimi_bad_snapshot(w, "layout", (double)h->options, "that of this build");
    if (!csimi_counts_sane(&h->count)) return csimi_bad_snapshot(w, "counts", 0, "0..1e8");
    if (h->bytes != bytes || csimi_snapshot_bytes(&h->count) != bytes)
        return csimi_bad_snapshot(w, "bytes", (double)bytes, "the size the snapshot says");
    if (h->hash != csimi_fnv(CSIMI_FNV_START, p + sizeof *h, bytes - sizeof *h))
        return csimi_bad_snapshot(w, "hash", 0, "undamaged bytes");
    if (h->live_bodies < 0 || h->live_bodies > h->count.bodies || h->free_body < -1 ||
        h->free_body >= h->count.bodies || h->free_link < -1 || h->free_link >= h->count.links || h->integrator < 0 ||
        h->integrator >= CSIM_INTEGRATOR_COUNT_)
        return csimi_bad_snapshot(w, "header", 0, "indices inside the counts");
    return CSIM_OK;
}

CSIM_API csim_status csim_world_restore(csim_world *w, const void *buffer, size_t bytes) {
    csimi_snapshot_header h;
    csimi_store *s;
    const unsigned char *p = (const unsigned char *)buffer;
    csimi_counts need;
    csim_status status;
    int i;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (!buffer) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, "csim_world_restore", "buffer", false, 0, "not null");
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_restore", NULL, false, 0, NULL);
    if (bytes < sizeof h) return csimi_bad_snapshot(w, "bytes", (double)bytes, "at least a header");
    CSIMI_MEMCPY(&h, p, sizeof h);
    if ((status = csimi_check_snapshot(w, &h, p, bytes)) != 0) return status;
    need = h.count;
    need.pairs = 0;
    if ((status = csimi_ensure(w, &need, "csim_world_restore")) != 0) return status;
    s = &w->store;
    s->count = h.count;
    p += sizeof h;
#define CSIMI_X(axis, type, name, per)                                                             \
    if (s->count.axis > 0) CSIMI_MEMCPY(s->name, p, sizeof(type) * (size_t)s->count.axis * (per)); \
    p += sizeof(type) * (size_t)s->count.axis * (per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    for (i = 0; i < s->count.contacts; i++) s->contact[i].body_a.world = s->contact[i].body_b.world = w->stamp;
    w->live_bodies = h.live_bodies;
    w->free_body = h.free_body;
    w->free_link = h.free_link;
    w->time = h.time;
    w->last_h = h.last_h;
    w->stats.step = h.step;
    w->stats.time = h.time;
    w->def.gravity = h.gravity;
    w->def.integrator = h.integrator;
    csimi_store3(s->state.gravity, h.gravity);
    csimi_sync_state(s);
    w->pattern_stale = true;
    return CSIM_OK;
}

CSIM_API uint64_t csim_world_hash(const csim_world *w) {
    const csimi_store *s = &w->store;
    uint64_t h = CSIMI_FNV_START;
    size_t nodes = (size_t)s->count.nodes, rigids = (size_t)s->count.rigids, frames = (size_t)s->count.frames;
    size_t real = sizeof(csim_real);
    int i;
    h = csimi_fnv(h, s->state.x, 3 * nodes * real);
    h = csimi_fnv(h, s->state.v, 3 * nodes * real);
    h = csimi_fnv(h, s->state.com, 3 * rigids * real);
    h = csimi_fnv(h, s->state.rotation, 4 * rigids * real);
    h = csimi_fnv(h, s->state.velocity, 6 * rigids * real);
    h = csimi_fnv(h, s->state.frame, 4 * frames * real);
    h = csimi_fnv(h, s->state.frame_velocity, 3 * frames * real);
    for (i = 0; i < s->count.contacts; i++) {
        h = csimi_fnv(h, &s->contact[i].id, sizeof s->contact[i].id);
        h = csimi_fnv(h, &s->contact[i].impulse, sizeof s->contact[i].impulse);
    }
    return h;
}

#define CSIMI_TEXT_OF_(x) #x
#define CSIMI_TEXT_OF(x) CSIMI_TEXT_OF_(x)
CSIM_API const char *csim_build_info(void) {
    return "condsim " CSIMI_TEXT_OF(CSIM_VERSION_MAJOR) "." CSIMI_TEXT_OF(CSIM_VERSION_MINOR) "." CSIMI_TEXT_OF(
        CSIM_VERSION_PATCH)
#ifdef CONDSIM_FLOAT
        ", float"
#else
        ", double"
#endif
#ifdef CONDSIM_OPENMP
        ", OpenMP"
#endif
#ifdef CONDSIM_NO_HEAP
        ", no heap"
#endif
#ifdef CONDSIM_OWN_MATH
        ", own math"
#endif
        ;
}
#undef CSIMI_TEXT_OF
#undef CSIMI_TEXT_OF_
#undef CSIMI_FNV_START
#undef CSIMI_MAGIC
/* ==== end world/snapshot.c */

/* ==== begin io/text.c =========================================================================================== */
/* io/text: a cursor over text: words, numbers independent of any locale, and errors that name their line. */

#ifndef CONDSIM_NO_LOADERS

CSIMI_FN csimi_text csimi_text_of(const char *name, const char *text, size_t size, csim_error *error) {
    csimi_text t;
    t.name = name;
    t.begin = t.at = t.token = text;
    t.end = text + size;
    t.comment = 0;
    t.one_line = t.joins_lines = false;
    t.status = CSIM_OK;
    t.error = error;
    if (size >= 3 && text[0] == '\xef' && text[1] == '\xbb' && text[2] == '\xbf') t.at += 3; /* UTF-8 mark */
    return t;
}

/* ---- failing */

/* Lines end in LF, CR LF or CR. Counted only when something failed. */
static long csimi_text_line(const csimi_text *t) {
    const char *p;
    long line = 1;
    for (p = t->begin; p < t->token; ++p)
        if (*p == '\n' || (*p == '\r' && (p + 1 == t->end || p[1] != '\n'))) ++line;
    return line;
}

/* "name: line N: "; false when a sentence is not wanted (an earlier failure stands, or nobody reads it). */
static bool csimi_text_begin_failure(csimi_text *t, csim_status status) {
    const size_t capacity = sizeof t->error->text;
    size_t length;
    char *out;
    if (t->status != CSIM_OK) return false;
    t->status = csimi_fail(t->error, status, t->name, NULL, false, 0, NULL);
    t->at = t->end;
    if (!t->error) return false;
    out = t->error->text;
    length = csimi_append_text(out, capacity, 0, t->name);
    length = csimi_append_text(out, capacity, length, ": line ");
    length = csimi_append_int(out, capacity, length, csimi_text_line(t));
    csimi_append_text(out, capacity, length, ": ");
    return true;
}

static void csimi_text_say(csimi_text *t, const char *words) {
    size_t length = 0;
    while (t->error->text[length]) ++length;
    csimi_append_text(t->error->text, sizeof t->error->text, length, words);
}

CSIMI_FN bool csimi_text_fail(csimi_text *t, csim_status status, const char *sentence) {
    if (csimi_text_begin_failure(t, status)) csimi_text_say(t, sentence);
    return false;
}

CSIMI_FN bool csimi_text_fail_number(csimi_text *t, csim_status status, const char *before, int64_t number,
                                     const char *after) {
    char digits[24];
    if (!csimi_text_begin_failure(t, status)) return false;
    if (number == (int64_t)(long)number)
        csimi_append_int(digits, sizeof digits, 0, (long)number);
    else /* long may have 32 bits */
        csimi_append_real(digits, sizeof digits, 0, (double)number);
    csimi_text_say(t, before);
    csimi_text_say(t, digits);
    csimi_text_say(t, after);
    return false;
}

static bool csimi_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

CSIMI_FN bool csimi_text_expected(csimi_text *t, const char *what) {
    char word[28];
    size_t n = 0;
    const char *p = t->at;
    t->token = p;
    if (!csimi_text_begin_failure(t, CSIM_PARSE_ERROR)) return false;
    csimi_text_say(t, "expected ");
    csimi_text_say(t, what);
    if (p == t->end) {
        csimi_text_say(t, ", found the end of the text");
        return false;
    }
    for (; p < t->end && !csimi_is_space(*p) && n < 24; ++p) word[n++] = *p > ' ' && *p <= '~' ? *p : '?';
    while (p < t->end && !csimi_is_space(*p) && n < 27) { /* cut short */
        word[n++] = '.';
        ++p;
    }
    word[n] = 0;
    csimi_text_say(t, n ? ", found '" : ", found the end of the line");
    csimi_text_say(t, word);
    csimi_text_say(t, n ? "'" : "");
    return false;
}

/* ---- blanks and words */

static void csimi_text_skip_comment(csimi_text *t) {
    if (!t->comment || t->at == t->end || *t->at != t->comment) return;
    while (t->at < t->end && *t->at != '\n' && *t->at != '\r') ++t->at;
}

CSIMI_FN void csimi_text_next_line(csimi_text *t) {
    while (t->at < t->end && *t->at != '\n' && *t->at != '\r') ++t->at;
    if (t->at < t->end && *t->at == '\r') ++t->at;
    if (t->at < t->end && *t->at == '\n') ++t->at;
}

static bool csimi_at_line_end(const csimi_text *t, const char *p) { return p == t->end || *p == '\n' || *p == '\r'; }

CSIMI_FN bool csimi_text_more_on_line(csimi_text *t) {
    for (;;) {
        while (!csimi_at_line_end(t, t->at) && csimi_is_space(*t->at)) ++t->at;
        if (!t->joins_lines || t->at == t->end || *t->at != '\\' || !csimi_at_line_end(t, t->at + 1)) break;
        csimi_text_next_line(t);
    }
    csimi_text_skip_comment(t);
    t->token = t->at;
    return !csimi_at_line_end(t, t->at);
}

CSIMI_FN void csimi_text_space(csimi_text *t) {
    const char *start;
    if (t->one_line) {
        csimi_text_more_on_line(t);
        return;
    }
    do {
        start = t->at;
        while (t->at < t->end && csimi_is_space(*t->at)) ++t->at;
        csimi_text_skip_comment(t);
    } while (t->at != start);
    t->token = t->at;
}

static char csimi_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

/* Where the text goes on after word; null when it does not begin with it. */
static const char *csimi_text_after(const csimi_text *t, const char *word) {
    const char *p = t->at;
    for (; *word; ++p, ++word)
        if (p == t->end || csimi_lower(*p) != csimi_lower(*word)) return NULL;
    return p;
}

CSIMI_FN bool csimi_text_begins(const csimi_text *t, const char *word) { return csimi_text_after(t, word) != NULL; }

CSIMI_FN bool csimi_text_accept(csimi_text *t, const char *word) {
    const char *p;
    csimi_text_space(t);
    p = csimi_text_after(t, word);
    if (!p || (p < t->end && !csimi_is_space(*p))) return false;
    t->at = p;
    return t->status == CSIM_OK;
}

CSIMI_FN bool csimi_text_need(csimi_text *t, const char *word) {
    return csimi_text_accept(t, word) || csimi_text_expected(t, word);
}

CSIMI_FN bool csimi_text_skip_word(csimi_text *t) {
    csimi_text_space(t);
    if (t->at == t->end) return csimi_text_expected(t, "a word");
    while (t->at < t->end && !csimi_is_space(*t->at)) ++t->at;
    return true;
}

/* ---- whole numbers */

static bool csimi_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Whether a number may not end before p: "1x", "1.5.2", "1_0" and "1e" are no numbers, "1/2" and "1<" are. */
static bool csimi_in_word(const csimi_text *t, const char *p) {
    if (p == t->end) return false;
    return csimi_is_digit(*p) || (csimi_lower(*p) >= 'a' && csimi_lower(*p) <= 'z') || *p == '.' || *p == '_' ||
           *p == '+' || *p == '-' || (unsigned char)*p >= 128;
}

CSIMI_FN bool csimi_text_int(csimi_text *t, int64_t *value) {
    const char *p;
    uint64_t x = 0;
    bool negative = false;
    *value = 0;
    csimi_text_space(t);
    p = t->at;
    if (p < t->end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (p == t->end || !csimi_is_digit(*p)) return csimi_text_expected(t, "a whole number");
    for (; p < t->end && csimi_is_digit(*p); ++p) {
        x = x * 10 + (uint64_t)(*p - '0');
        if (x > (uint64_t)1 << 53) return csimi_text_expected(t, "a whole number below 2^53");
    }
    if (csimi_in_word(t, p)) return csimi_text_expected(t, "a whole number");
    t->at = p;
    *value = negative ? -(int64_t)x : (int64_t)x;
    return true;
}

CSIMI_FN bool csimi_text_check_count(csimi_text *t, int64_t value, size_t bytes_each, const char *things, int *count) {
    const size_t rest = (size_t)(t->end - t->at) + 1; /* the last one needs no blank after it */
    *count = 0;
    if (t->status != CSIM_OK) return false;
    if (value < 0 || value > INT32_MAX / 4 || (uint64_t)value > rest / bytes_each)
        return csimi_text_fail_number(t, CSIM_PARSE_ERROR, things, value,
                                      value < 0 ? "; allowed: 0 or more" : "; the rest of the text cannot hold them");
    *count = (int)value;
    return true;
}

CSIMI_FN bool csimi_text_count(csimi_text *t, size_t bytes_each, const char *things, int *count) {
    int64_t value;
    *count = 0;
    return csimi_text_int(t, &value) && csimi_text_check_count(t, value, bytes_each, things, count);
}

/* ---- real numbers */

/* m * 2^e with the top bit of m set. */
typedef struct csimi_scaled {
    uint64_t m;
    int e;
} csimi_scaled;

/* Product, its 128 bits rounded to 64. */
static csimi_scaled csimi_scaled_product(csimi_scaled a, csimi_scaled b) {
    const uint64_t low = 0xffffffffu;
    const uint64_t al = a.m & low, ah = a.m >> 32, bl = b.m & low, bh = b.m >> 32;
    const uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
    const uint64_t middle = (ll >> 32) + (lh & low) + (hl & low);
    uint64_t high = ah * bh + (lh >> 32) + (hl >> 32) + (middle >> 32);
    uint64_t rest = middle << 32 | (ll & low);
    csimi_scaled c;
    c.e = a.e + b.e + 64;
    if (!(high >> 63)) {
        high = high << 1 | rest >> 63;
        rest <<= 1;
        --c.e;
    }
    high += rest >> 63;
    if (high == 0) { /* rounded up to 2^64 */
        high = (uint64_t)1 << 63;
        ++c.e;
    }
    c.m = high;
    return c;
}

/* The nearest double, halves to even; infinite when too large, subnormal or 0 when too small. */
static double csimi_scaled_double(csimi_scaled a) {
    const int exponent = a.e + 63; /* 2^exponent <= value < 2^(exponent + 1) */
    const int shift = exponent < -1022 ? 11 - 1022 - exponent : 11;
    uint64_t bits = 0, rest, half;
    double x;
    if (exponent > 1023) {
        bits = (uint64_t)0x7ff << 52;
    } else if (shift < 64) {
        bits = a.m >> shift;
        rest = a.m - (bits << shift);
        half = (uint64_t)1 << (shift - 1);
        bits += rest > half || (rest == half && (bits & 1)) ? 1u : 0u;
        if (exponent >= -1022) bits += (uint64_t)(exponent + 1022) << 52; /* the bit 52 of bits adds the missing 1 */
    } else if (shift == 64) {
        bits = a.m > (uint64_t)1 << 63 ? 1u : 0u;
    }
    CSIMI_MEMCPY(&x, &bits, sizeof x);
    return x;
}

/* Clinger's exact case (How to read floating point numbers accurately, 1990): two exact doubles, one rounding. Else
   at most nine 64-bit factors 10^(+-2^k), each within half a unit of 2^-63: together 2^-59, or 0.02 of the last place.
 */
CSIMI_FN double csimi_decimal(uint64_t digits, int64_t exponent) {
    static const double small[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    static const csimi_scaled powers[2][9] = {{{0xa000000000000000u, -60},
                                               {0xc800000000000000u, -57},
                                               {0x9c40000000000000u, -50},
                                               {0xbebc200000000000u, -37},
                                               {0x8e1bc9bf04000000u, -10},
                                               {0x9dc5ada82b70b59eu, 43},
                                               {0xc2781f49ffcfa6d5u, 149},
                                               {0x93ba47c980e98ce0u, 362},
                                               {0xaa7eebfb9df9de8eu, 787}},
                                              {{0xcccccccccccccccdu, -67},
                                               {0xa3d70a3d70a3d70au, -70},
                                               {0xd1b71758e219652cu, -77},
                                               {0xabcc77118461cefdu, -90},
                                               {0xe69594bec44de15bu, -117},
                                               {0xcfb11ead453994bau, -170},
                                               {0xa87fea27a539e9a5u, -276},
                                               {0xddd0467c64bce4a1u, -489},
                                               {0xc0314325637a193au, -914}}};
    const int sign = exponent < 0;
    unsigned size;
    csimi_scaled x;
    int k;
    if (digits == 0) return 0;
    if (exponent > 400 || exponent < -400) exponent = sign ? -400 : 400; /* far outside whatever the digits */
    size = (unsigned)(sign ? -exponent : exponent);
    if (digits < (uint64_t)1 << 53 && size <= 22)
        return sign ? (double)digits / small[size] : (double)digits * small[size];
    x.m = digits;
    x.e = 0;
    for (; !(x.m >> 63); x.m <<= 1) --x.e;
    for (k = 0; k < 9; ++k)
        if (size >> k & 1) x = csimi_scaled_product(x, powers[sign][k]);
    return csimi_scaled_double(x);
}

/* [.digits][e[+-]digits] after the whole part; p at the first character; null when it is no number. The first 19
   digits count: what is cut off is below 1e-18 of the value. */
static const char *csimi_scan_real(const csimi_text *t, const char *p, double *value) {
    uint64_t digits = 0;
    int64_t exponent = 0, power = 0;
    int used = 0, seen = 0;
    bool fraction = false, negative = false;
    for (; p < t->end && (csimi_is_digit(*p) || (*p == '.' && !fraction)); ++p) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        seen = 1;
        if (fraction) --exponent;
        if (used < 19) {
            digits = digits * 10 + (uint64_t)(*p - '0');
            used += digits != 0; /* leading zeros do not count */
        } else {
            ++exponent;
        }
    }
    if (!seen) return NULL;
    if (p < t->end && (*p == 'e' || *p == 'E')) {
        ++p;
        if (p < t->end && (*p == '-' || *p == '+')) negative = *p++ == '-';
        if (p == t->end || !csimi_is_digit(*p)) return NULL;
        for (; p < t->end && csimi_is_digit(*p); ++p)
            if (power < (int64_t)1 << 40) power = power * 10 + (*p - '0'); /* the digits may be billions too */
    }
    *value = csimi_decimal(digits, exponent + (negative ? -power : power));
    return csimi_in_word(t, p) ? NULL : p;
}

CSIMI_FN bool csimi_text_real(csimi_text *t, csim_real *value) {
    const char *p;
    double x = 0;
    bool negative = false;
    *value = 0;
    csimi_text_space(t);
    p = t->at;
    if (p < t->end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    p = csimi_scan_real(t, p, &x);
    if (!p) return csimi_text_expected(t, "a number");
    if (x > (double)CSIMI_HUGE) return csimi_text_expected(t, "a number of reasonable size");
    t->at = p;
    *value = (csim_real)(negative ? -x : x);
    return true;
}

#endif
/* ==== end io/text.c */

/* ==== begin io/mesh.c =========================================================================================== */
/* io/mesh: what is wrong with a mesh, what may go, and how the readers of files build one. */

/* ---- checking */

static void csimi_count_finding(csim_mesh_finding *finding, int index) {
    if (finding->count++ == 0) finding->first = index;
}

static bool csimi_indices_in_range(const int *v, int n, int vertex_count) {
    int i;
    for (i = 0; i < n; ++i)
        if (v[i] < 0 || v[i] >= vertex_count) return false;
    return true;
}

/* Volume and the square of the longest edge; in double, so that float coordinates lose nothing. */
static double csimi_check_volume(const csim_real *vertices, const int *v, double *longest2) {
    double e[6][3], length2; /* from a to b c d, then between these */
    int i, k;
    *longest2 = 0;
    for (i = 0; i < 6; ++i) {
        const csim_real *p = vertices + 3 * (size_t)v[i < 3 ? i + 1 : i < 5 ? 2 : 3];
        const csim_real *q = vertices + 3 * (size_t)v[i < 3 ? 0 : i < 4 ? 1 : i < 5 ? 3 : 1];
        for (k = 0; k < 3; ++k) e[i][k] = (double)p[k] - (double)q[k];
        length2 = e[i][0] * e[i][0] + e[i][1] * e[i][1] + e[i][2] * e[i][2];
        if (length2 > *longest2) *longest2 = length2;
    }
    return ((e[0][1] * e[1][2] - e[0][2] * e[1][1]) * e[2][0] + (e[0][2] * e[1][0] - e[0][0] * e[1][2]) * e[2][1] +
            (e[0][0] * e[1][1] - e[0][1] * e[1][0]) * e[2][2]) /
           6;
}

/* Which line of the report a tet in range belongs to; null: none, it is upright. */
static csim_mesh_finding *csimi_judge_tet(const csim_mesh *mesh, const int *v, csim_mesh_report *report) {
    double longest2, volume;
    int i;
    for (i = 0; i < 4; ++i)
        if (!csimi_all_finite(mesh->vertices + 3 * (size_t)v[i], 3)) return &report->degenerate_tets;
    volume = csimi_check_volume(mesh->vertices, v, &longest2);
    report->volume += volume;
    /* squared: no square root, and nothing overflows below 1e50; above, inf <= inf calls it degenerate */
    if (volume * volume <= 1e-24 * longest2 * longest2 * longest2) return &report->degenerate_tets;
    return volume < 0 ? &report->inverted_tets : NULL;
}

static void csimi_sorted_tet(const int *v, int *sorted) {
    int i, j;
    for (i = 0; i < 4; ++i) {
        for (j = i; j > 0 && sorted[j - 1] > v[i]; --j) sorted[j] = sorted[j - 1];
        sorted[j] = v[i];
    }
}

/* Slots of the open-addressed table: a power of two, half empty at least. */
static size_t csimi_check_slots(int tet_count) {
    size_t n = 2;
    while (n < 2 * (size_t)tet_count) n *= 2;
    return n;
}

/* Enters tet t; false when one with the same vertices is there. table holds tet + 1. */
static bool csimi_check_duplicate(const csim_mesh *mesh, int t, int *table, size_t slots) {
    int v[4], w[4], i;
    uint64_t hash = 0;
    size_t at;
    csimi_sorted_tet(mesh->tets + 4 * (size_t)t, v);
    for (i = 0; i < 4; ++i) {
        hash = (hash ^ (uint64_t)v[i]) * 0x9e3779b97f4a7c15u; /* Knuth's golden ratio */
        hash ^= hash >> 32;
    }
    for (at = (size_t)hash & (slots - 1); table[at]; at = (at + 1) & (slots - 1)) {
        csimi_sorted_tet(mesh->tets + 4 * (size_t)(table[at] - 1), w);
        if (v[0] == w[0] && v[1] == w[1] && v[2] == w[2] && v[3] == w[3]) return false;
    }
    table[at] = t + 1;
    return true;
}

static void csimi_check_elements(const csim_mesh *mesh, int *table, size_t slots, unsigned char *used,
                                 csim_mesh_report *report) {
    int t, i;
    for (t = 0; t < mesh->tet_count; ++t) {
        const int *v = mesh->tets + 4 * (size_t)t;
        csim_mesh_finding *finding;
        if (!csimi_indices_in_range(v, 4, mesh->vertex_count)) {
            csimi_count_finding(&report->out_of_range_tets, t);
            continue;
        }
        for (i = 0; i < 4; ++i) used[v[i]] = 1;
        finding = csimi_judge_tet(mesh, v, report);
        if (finding) csimi_count_finding(finding, t);
        if (!csimi_check_duplicate(mesh, t, table, slots)) csimi_count_finding(&report->duplicate_tets, t);
    }
    for (t = 0; t < mesh->triangle_count; ++t) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (!csimi_indices_in_range(v, 3, mesh->vertex_count))
            csimi_count_finding(&report->out_of_range_triangles, t);
        else
            for (i = 0; i < 3 && !mesh->tet_count; ++i) used[v[i]] = 1;
    }
    for (i = 0; i < mesh->vertex_count; ++i) {
        if (!csimi_all_finite(mesh->vertices + 3 * (size_t)i, 3)) csimi_count_finding(&report->not_finite_vertices, i);
        if (!used[i]) csimi_count_finding(&report->isolated_vertices, i);
    }
}

/* "csim_mesh_check: inverted tets: 3, the first is tet 12" */
static csim_status csimi_say_finding(csim_error *error, csim_mesh_finding finding, const char *many, const char *one) {
    const size_t capacity = sizeof error->text;
    csim_status status = csimi_fail(error, CSIM_BAD_MESH, "csim_mesh_check", many, false, 0, NULL);
    size_t n;
    if (!error) return status;
    n = csimi_append_text(error->text, capacity, 0, "csim_mesh_check: ");
    n = csimi_append_text(error->text, capacity, n, many);
    n = csimi_append_text(error->text, capacity, n, ": ");
    n = csimi_append_int(error->text, capacity, n, finding.count);
    n = csimi_append_text(error->text, capacity, n, ", the first is ");
    n = csimi_append_text(error->text, capacity, n, one);
    csimi_append_int(error->text, capacity, n, finding.first);
    return status;
}

static csim_status csimi_say_report(const csim_mesh *mesh, const csim_mesh_report *r, csim_error *error) {
    if (mesh->vertex_count == 0 || (mesh->tet_count == 0 && mesh->triangle_count == 0))
        return csimi_fail(error, CSIM_BAD_MESH, "csim_mesh_check", "no tets and no triangles", false, 0, NULL);
    if (r->out_of_range_tets.count)
        return csimi_say_finding(error, r->out_of_range_tets, "tets with an index out of range", "tet ");
    if (r->out_of_range_triangles.count)
        return csimi_say_finding(error, r->out_of_range_triangles, "triangles with an index out of range", "triangle ");
    if (r->not_finite_vertices.count)
        return csimi_say_finding(error, r->not_finite_vertices, "vertices that are not finite", "vertex ");
    if (r->inverted_tets.count) return csimi_say_finding(error, r->inverted_tets, "inverted tets", "tet ");
    if (r->degenerate_tets.count) return csimi_say_finding(error, r->degenerate_tets, "degenerate tets", "tet ");
    if (r->duplicate_tets.count) return csimi_say_finding(error, r->duplicate_tets, "duplicate tets", "tet ");
    if (r->isolated_vertices.count)
        return csimi_say_finding(error, r->isolated_vertices, "isolated vertices", "vertex ");
    return CSIM_OK;
}

static csim_status csimi_check_counts(const csim_mesh *mesh, csim_error *error) {
    const char *name = "csim_mesh_check";
    if (!mesh) return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "mesh", false, 0, NULL);
    if (mesh->vertex_count < 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, name, "vertex_count", true, mesh->vertex_count, "0 or more");
    if (mesh->tet_count < 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, name, "tet_count", true, mesh->tet_count, "0 or more");
    if (mesh->triangle_count < 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, name, "triangle_count", true, mesh->triangle_count, "0 or more");
    if (mesh->vertex_count && !mesh->vertices)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "vertices", false, 0, NULL);
    if (mesh->tet_count && !mesh->tets) return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "tets", false, 0, NULL);
    if (mesh->triangle_count && !mesh->triangles)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "triangles", false, 0, NULL);
    return CSIM_OK;
}

static csim_mesh_report csimi_empty_report(void) {
    const csim_mesh_finding none = {0, -1};
    csim_mesh_report r;
    r.not_finite_vertices = r.out_of_range_tets = r.degenerate_tets = r.inverted_tets = none;
    r.duplicate_tets = r.out_of_range_triangles = r.isolated_vertices = none;
    r.volume = 0;
    return r;
}

CSIM_API size_t csim_mesh_check_bytes(int vertex_count, int tet_count) {
    csimi_arena arena = csimi_arena_counting();
    if (vertex_count < 0 || tet_count < 0) return 0;
    csimi_push(&arena, csimi_check_slots(tet_count), sizeof(int));
    csimi_push(&arena, (size_t)vertex_count, 1);
    return arena.used > SIZE_MAX - 64 ? SIZE_MAX : arena.used + 64; /* the arena aligns the caller's block */
}

CSIM_API csim_status csim_mesh_check(const csim_mesh *mesh, void *scratch, size_t scratch_size,
                                     csim_mesh_report *report, csim_error *error) {
    csim_mesh_report found = csimi_empty_report();
    csim_status status = csimi_check_counts(mesh, error);
    csimi_heap heap;
    csimi_arena arena;
    size_t slots, size;
    int *table;
    unsigned char *used;
    if (report) *report = found;
    if (status != CSIM_OK) return status;
    size = csim_mesh_check_bytes(mesh->vertex_count, mesh->tet_count);
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    if (scratch && scratch_size < size)
        return csimi_fail(error, CSIM_CAPACITY, "csim_mesh_check", "scratch_size", true, (double)scratch_size,
                          "csim_mesh_check_bytes(vertex_count, tet_count) or more");
    arena = scratch ? csimi_arena_in(scratch, size) : csimi_arena_in(csimi_heap_alloc(&heap, size), size);
    slots = csimi_check_slots(mesh->tet_count);
    table = CSIMI_PUSH(&arena, int, slots);
    used = CSIMI_PUSH(&arena, unsigned char, mesh->vertex_count);
    if (!table || !used) return csimi_fail(error, CSIM_OUT_OF_MEMORY, "csim_mesh_check", "scratch", false, 0, NULL);
    CSIMI_MEMSET(table, 0, slots * sizeof(int));
    if (mesh->vertex_count) CSIMI_MEMSET(used, 0, (size_t)mesh->vertex_count);
    csimi_check_elements(mesh, table, slots, used, &found);
    if (!scratch) csimi_heap_free(&heap, arena.base, size);
    if (report) *report = found;
    return csimi_say_report(mesh, &found, error);
}

/* ---- compacting */

static bool csimi_mesh_in_range(const csim_mesh *mesh) {
    int i;
    for (i = 0; i < mesh->tet_count; ++i)
        if (!csimi_indices_in_range(mesh->tets + 4 * (size_t)i, 4, mesh->vertex_count)) return false;
    for (i = 0; i < mesh->triangle_count; ++i)
        if (!csimi_indices_in_range(mesh->triangles + 3 * (size_t)i, 3, mesh->vertex_count)) return false;
    return true;
}

/* new_index becomes the rank of each vertex that an element uses; the vertices move there. Returns how many stay. */
static int csimi_keep_used(csim_mesh *mesh, int *new_index) {
    const int *elements = mesh->tet_count ? mesh->tets : mesh->triangles;
    const size_t n = mesh->tet_count ? 4 * (size_t)mesh->tet_count : 3 * (size_t)mesh->triangle_count;
    size_t i;
    int v, k, kept = 0;
    for (v = 0; v < mesh->vertex_count; ++v) new_index[v] = -1;
    for (i = 0; i < n; ++i) new_index[elements[i]] = 0;
    for (v = 0; v < mesh->vertex_count; ++v) {
        if (new_index[v] < 0) continue;
        for (k = 0; k < 3; ++k)
            mesh->vertices[3 * (size_t)kept + (size_t)k] = mesh->vertices[3 * (size_t)v + (size_t)k];
        new_index[v] = kept++;
    }
    return kept;
}

CSIM_API int csim_mesh_compact(csim_mesh *mesh, int *new_index) {
    int i, kept, dropped, triangles = 0;
    if (!new_index || csimi_check_counts(mesh, NULL) != CSIM_OK || !csimi_mesh_in_range(mesh)) return -1;
    kept = csimi_keep_used(mesh, new_index);
    dropped = mesh->vertex_count - kept;
    for (i = 0; i < mesh->tet_count; ++i) {
        int *v = mesh->tets + 4 * (size_t)i;
        v[0] = new_index[v[0]];
        v[1] = new_index[v[1]];
        v[2] = new_index[v[2]];
        v[3] = new_index[v[3]];
    }
    for (i = 0; i < mesh->triangle_count; ++i) {
        const int *v = mesh->triangles + 3 * (size_t)i;
        int *w = mesh->triangles + 3 * (size_t)triangles;
        const int a = new_index[v[0]], b = new_index[v[1]], c = new_index[v[2]];
        if (a < 0 || b < 0 || c < 0) continue;
        w[0] = a;
        w[1] = b;
        w[2] = c;
        ++triangles;
    }
    mesh->vertex_count = kept;
    mesh->triangle_count = triangles;
    return dropped;
}

CSIM_API void csim_mesh_free(csim_mesh *mesh) {
    csimi_heap heap;
    if (!mesh) return;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    heap.hooks = mesh->allocator;
    heap.held = mesh->block_size;
    csimi_heap_free(&heap, mesh->block, mesh->block_size);
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
}

#ifndef CONDSIM_NO_LOADERS

/* ---- growing arrays */

static bool csimi_buffer_grow(csimi_mesh_reader *r, csimi_buffer *buffer) {
    const size_t capacity = buffer->capacity ? 2 * buffer->capacity : 256;
    unsigned char *data = NULL;
    if (capacity <= SIZE_MAX / 2 / buffer->stride)
        data = (unsigned char *)csimi_heap_alloc(&r->heap, capacity * buffer->stride);
    if (!data) return csimi_text_fail(&r->text, CSIM_OUT_OF_MEMORY, csim_status_text(CSIM_OUT_OF_MEMORY));
    if (buffer->count) CSIMI_MEMCPY(data, buffer->data, buffer->count * buffer->stride);
    csimi_heap_free(&r->heap, buffer->data, buffer->capacity * buffer->stride);
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

CSIMI_FN void *csimi_buffer_push(csimi_mesh_reader *r, csimi_buffer *buffer) {
    void *item;
    if (r->text.status != CSIM_OK) return NULL;
    if (buffer->count >= INT32_MAX / 4) {
        csimi_text_fail(&r->text, CSIM_UNSUPPORTED, "more than 2^29 of one kind");
        return NULL;
    }
    if (buffer->count == buffer->capacity && !csimi_buffer_grow(r, buffer)) return NULL;
    item = buffer->data + buffer->count++ * buffer->stride;
    CSIMI_MEMSET(item, 0, buffer->stride);
    return item;
}

static void csimi_buffer_free(csimi_mesh_reader *r, csimi_buffer *buffer) {
    csimi_heap_free(&r->heap, buffer->data, buffer->capacity * buffer->stride);
    buffer->data = NULL;
    buffer->count = buffer->capacity = 0;
}

CSIMI_FN bool csimi_push_int(csimi_mesh_reader *r, csimi_buffer *buffer, int value) {
    int *item = (int *)csimi_buffer_push(r, buffer);
    if (item) *item = value;
    return item != NULL;
}

CSIMI_FN bool csimi_read_vertex(csimi_mesh_reader *r) {
    csim_real x[3];
    void *item;
    if (!csimi_text_real(&r->text, &x[0]) || !csimi_text_real(&r->text, &x[1]) || !csimi_text_real(&r->text, &x[2]))
        return false;
    item = csimi_buffer_push(r, &r->vertices);
    if (item) CSIMI_MEMCPY(item, x, sizeof x);
    return item != NULL;
}

CSIMI_FN bool csimi_add_tet(csimi_mesh_reader *r, const int *v) {
    void *item = csimi_buffer_push(r, &r->tets);
    if (item) CSIMI_MEMCPY(item, v, 4 * sizeof(int));
    return item != NULL;
}

CSIMI_FN bool csimi_add_triangle(csimi_mesh_reader *r, int a, int b, int c) {
    int *item = (int *)csimi_buffer_push(r, &r->triangles);
    if (!item) return false;
    item[0] = a;
    item[1] = b;
    item[2] = c;
    return true;
}

/* ---- names of vertices */

CSIMI_FN bool csimi_add_id(csimi_mesh_reader *r, int64_t id) {
    csimi_vertex_id *item = (csimi_vertex_id *)csimi_buffer_push(r, &r->ids);
    if (!item) return false;
    item->id = id;
    item->index = (int)r->ids.count - 1;
    item->offset = (size_t)(r->text.token - r->text.begin);
    return true;
}

/* Puts a[root] where it belongs among its descendants in the heap a [n], largest on top. */
static void csimi_sift_id(csimi_vertex_id *a, size_t root, size_t n) {
    const csimi_vertex_id item = a[root];
    size_t child;
    for (; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && a[child + 1].id > a[child].id) ++child;
        if (a[child].id <= item.id) break;
        a[root] = a[child];
    }
    a[root] = item;
}

CSIMI_FN bool csimi_sort_ids(csimi_mesh_reader *r) {
    csimi_vertex_id *a = CSIMI_ITEMS(r->ids, csimi_vertex_id), swap;
    const size_t n = r->ids.count;
    size_t i;
    if (r->text.status != CSIM_OK) return false;
    for (i = 1; i < n && a[i - 1].id < a[i].id; ++i) continue;
    if (i >= n) return true;
    for (i = n / 2; i-- > 0;) csimi_sift_id(a, i, n);
    for (i = n; i-- > 1;) {
        swap = a[0];
        a[0] = a[i];
        a[i] = swap;
        csimi_sift_id(a, 0, i);
    }
    for (i = 1; i < n; ++i) {
        if (a[i - 1].id < a[i].id) continue;
        r->text.token = r->text.begin + (a[i].offset > a[i - 1].offset ? a[i].offset : a[i - 1].offset);
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "node ", a[i].id, " is given twice");
    }
    return true;
}

CSIMI_FN bool csimi_read_id(csimi_mesh_reader *r, int *index) {
    const csimi_vertex_id *a = CSIMI_ITEMS(r->ids, csimi_vertex_id);
    size_t low = 0, high = r->ids.count; /* a[low].id <= id < a[high].id */
    int64_t id;
    *index = 0;
    if (!csimi_text_int(&r->text, &id)) return false;
    if (high && id - a[0].id >= 0 && (uint64_t)(id - a[0].id) < high && a[id - a[0].id].id == id)
        low = (size_t)(id - a[0].id); /* no gaps: straight there */
    else
        while (high - low > 1) {
            const size_t middle = low + (high - low) / 2;
            if (a[middle].id <= id)
                low = middle;
            else
                high = middle;
        }
    if (!r->ids.count || a[low].id != id)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "node ", id, " is not among the nodes");
    *index = a[low].index;
    return true;
}

/* ---- from a text to a mesh */

static void csimi_reader_open(csimi_mesh_reader *r, const csim_allocator *allocator) {
    CSIMI_MEMSET(r, 0, sizeof *r);
    if (allocator) r->heap.hooks = *allocator;
    r->vertices.stride = 3 * sizeof(csim_real);
    r->tets.stride = 4 * sizeof(int);
    r->triangles.stride = 3 * sizeof(int);
    r->ids.stride = sizeof(csimi_vertex_id);
    r->connectivity.stride = r->offsets.stride = r->types.stride = sizeof(int);
}

/* Moves a buffer into the arena; null when it is empty or the arena only counts. */
static void *csimi_pack(csimi_arena *arena, const csimi_buffer *buffer) {
    void *to = buffer->count ? csimi_push(arena, buffer->count, buffer->stride) : NULL;
    if (to) CSIMI_MEMCPY(to, buffer->data, buffer->count * buffer->stride);
    return to;
}

static void csimi_pack_mesh(csimi_arena *arena, const csimi_mesh_reader *r, csim_mesh *mesh) {
    mesh->vertex_count = (int)r->vertices.count;
    mesh->tet_count = (int)r->tets.count;
    mesh->triangle_count = (int)r->triangles.count;
    mesh->vertices = (csim_real *)csimi_pack(arena, &r->vertices);
    mesh->tets = (int *)csimi_pack(arena, &r->tets);
    mesh->triangles = (int *)csimi_pack(arena, &r->triangles);
}

static csim_status csimi_reader_close(csimi_mesh_reader *r, csim_mesh *mesh) {
    csimi_text *t = &r->text;
    csimi_arena arena = csimi_arena_counting();
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    t->token = t->at;
    if (t->status == CSIM_OK && !r->tets.count && !r->triangles.count && !r->points_suffice)
        csimi_text_fail(t, CSIM_BAD_MESH, "there are no tets and no triangles");
    csimi_buffer_free(r, &r->ids);
    csimi_buffer_free(r, &r->connectivity);
    csimi_buffer_free(r, &r->offsets);
    csimi_buffer_free(r, &r->types);
    if (t->status == CSIM_OK) {
        csimi_pack_mesh(&arena, r, mesh);
        mesh->block_size = arena.used;
        mesh->block = arena.overflow ? NULL : csimi_heap_alloc(&r->heap, arena.used);
        mesh->allocator = r->heap.hooks;
        arena = csimi_arena_in(mesh->block, mesh->block_size);
        if (mesh->block)
            csimi_pack_mesh(&arena, r, mesh);
        else
            csimi_text_fail(t, CSIM_OUT_OF_MEMORY, csim_status_text(CSIM_OUT_OF_MEMORY));
    }
    if (t->status != CSIM_OK) CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    csimi_buffer_free(r, &r->vertices);
    csimi_buffer_free(r, &r->tets);
    csimi_buffer_free(r, &r->triangles);
    return t->status;
}

static csim_mesh_format csimi_guess_format(csimi_text t) {
    static const char *const obj[] = {"v", "vt", "vn", "f", "o", "g", "s", "mtllib", "usemtl"};
    const char *start = t.at;
    size_t i;
    csimi_text_space(&t);
    if (t.at < t.end && *t.at == '$') return CSIM_MESH_GMSH;
    if (t.at < t.end && *t.at == '<') return CSIM_MESH_VTU;
    if (csimi_text_accept(&t, "#") && csimi_text_accept(&t, "vtk")) return CSIM_MESH_VTK;
    t.at = start;
    t.comment = '#';
    for (i = 0; i < sizeof obj / sizeof obj[0]; ++i)
        if (csimi_text_accept(&t, obj[i])) return CSIM_MESH_OBJ;
    return CSIM_MESH_AUTO;
}

static void csimi_read_mesh(csimi_mesh_reader *r, csim_mesh_format format) {
    if (format == CSIM_MESH_AUTO) format = csimi_guess_format(r->text);
    switch (format) {
    case CSIM_MESH_GMSH: csimi_read_gmsh(r); return;
    case CSIM_MESH_VTK: csimi_read_vtk(r); return;
    case CSIM_MESH_VTU: csimi_read_vtu(r); return;
    case CSIM_MESH_OBJ: csimi_read_obj(r); return;
    case CSIM_MESH_AUTO: break;
    }
    csimi_text_expected(&r->text, "the first line of a Gmsh, VTK, VTU or OBJ file");
}

/* Null arguments; clears *mesh and *error. */
static csim_status csimi_begin_load(const char *name, bool has_input, const char *input, csim_mesh *mesh,
                                    csim_error *error) {
    if (error) {
        error->status = CSIM_OK;
        error->text[0] = 0;
    }
    if (!mesh) return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "mesh", false, 0, NULL);
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    return has_input ? CSIM_OK : csimi_fail(error, CSIM_NULL_ARGUMENT, name, input, false, 0, NULL);
}

CSIM_API csim_status csim_mesh_load_text(const char *text, size_t size, csim_mesh_format format,
                                         const csim_allocator *allocator, csim_mesh *mesh, csim_error *error) {
    csimi_mesh_reader r;
    csim_status status = csimi_begin_load("csim_mesh_load_text", text != NULL, "text", mesh, error);
    if (status != CSIM_OK) return status;
    csimi_reader_open(&r, allocator);
    r.text = csimi_text_of("csim_mesh_load_text", text, size, error);
    csimi_read_mesh(&r, format);
    return csimi_reader_close(&r, mesh);
}

CSIM_API csim_status csim_mesh_load_tetgen(const char *node, size_t node_size, const char *ele, size_t ele_size,
                                           const csim_allocator *allocator, csim_mesh *mesh, csim_error *error) {
    csimi_mesh_reader r;
    csim_status status = csimi_begin_load("csim_mesh_load_tetgen", node && ele, node ? "ele" : "node", mesh, error);
    if (status != CSIM_OK) return status;
    csimi_reader_open(&r, allocator);
    r.text = csimi_text_of("csim_mesh_load_tetgen: node", node, node_size, error);
    if (csimi_read_tetgen_nodes(&r)) {
        r.text = csimi_text_of("csim_mesh_load_tetgen: ele", ele, ele_size, error);
        csimi_read_tetgen_elements(&r);
    }
    return csimi_reader_close(&r, mesh);
}

#ifndef CONDSIM_NO_STDIO
#include <stdio.h>

/* Of a long path the end, which tells files apart: an error has room for a sentence after it. */
static const char *csimi_path_tail(const char *path) {
    size_t length = 0;
    while (path[length]) ++length;
    return path + (length > 100 ? length - 100 : 0);
}

/* A whole file into file, and the reader's text onto it. */
static bool csimi_open_text(csimi_mesh_reader *r, const char *path, csimi_buffer *file, csim_error *error) {
    FILE *stream = fopen(path, "rb");
    bool ok = stream != NULL;
    size_t got = 1;
    r->text = csimi_text_of(csimi_path_tail(path), "", 0, error);
    while (ok && got > 0) {
        if (file->count == file->capacity && !csimi_buffer_grow(r, file)) break;
        got = fread(file->data + file->count, 1, file->capacity - file->count, stream);
        file->count += got;
    }
    if (ok && ferror(stream)) ok = false;
    if (stream) fclose(stream);
    if (!ok) r->text.status = csimi_fail(error, CSIM_FILE_ERROR, r->text.name, NULL, false, 0, NULL);
    if (r->text.status != CSIM_OK) return false;
    r->text = csimi_text_of(r->text.name, (const char *)file->data, file->count, error);
    return true;
}

static bool csimi_ends_in(const char *path, size_t length, const char *ending) {
    size_t n = 0;
    while (ending[n]) ++n;
    if (length < n) return false;
    while (n-- > 0)
        if (path[--length] != ending[n]) return false;
    return true;
}

/* path ends in .node or .ele; errors name the file they are in. */
static void csimi_load_tetgen_files(csimi_mesh_reader *r, const char *path, size_t length, csimi_buffer *files,
                                    csim_error *error) {
    const size_t stem = length - (csimi_ends_in(path, length, ".ele") ? 4 : 5);
    char *name = (char *)csimi_heap_alloc(&r->heap, stem + 6);
    if (!name) {
        r->text.status = csimi_fail(error, CSIM_OUT_OF_MEMORY, csimi_path_tail(path), NULL, false, 0, NULL);
        return;
    }
    CSIMI_MEMCPY(name, path, stem);
    CSIMI_MEMCPY(name + stem, ".node", 6);
    if (csimi_open_text(r, name, &files[0], error) && csimi_read_tetgen_nodes(r)) {
        CSIMI_MEMCPY(name + stem, ".ele", 5);
        if (csimi_open_text(r, name, &files[1], error)) csimi_read_tetgen_elements(r);
    }
    csimi_heap_free(&r->heap, name, stem + 6);
    r->text.name = csimi_path_tail(path); /* the copy is gone */
}

CSIM_API csim_status csim_mesh_load_file(const char *path, const csim_allocator *allocator, csim_mesh *mesh,
                                         csim_error *error) {
    csimi_mesh_reader r;
    csimi_buffer files[2];
    size_t length = 0;
    csim_status status = csimi_begin_load("csim_mesh_load_file", path != NULL, "path", mesh, error);
    if (status != CSIM_OK) return status;
    csimi_reader_open(&r, allocator);
    CSIMI_MEMSET(files, 0, sizeof files);
    files[0].stride = files[1].stride = 1;
    while (path[length]) ++length;
    if (csimi_ends_in(path, length, ".node") || csimi_ends_in(path, length, ".ele"))
        csimi_load_tetgen_files(&r, path, length, files, error);
    else if (csimi_open_text(&r, path, &files[0], error))
        csimi_read_mesh(&r, CSIM_MESH_AUTO);
    status = csimi_reader_close(&r, mesh);
    csimi_buffer_free(&r, &files[0]);
    csimi_buffer_free(&r, &files[1]);
    return status;
}
#endif
#endif
/* ==== end io/mesh.c */

/* ==== begin io/gmsh.c =========================================================================================== */
/* io/gmsh: the MSH formats 1.0, 2.x and 4.1, ASCII (Gmsh reference manual, chapter File formats). */

#ifndef CONDSIM_NO_LOADERS

/* Nodes of an element type that is passed over: points and lines; 0 for all others. */
static int csimi_gmsh_passed_over(int64_t type) {
    switch (type) {
    case 15: return 1;
    case 1: return 2;
    case 8: return 3;
    case 26: return 4;
    case 27: return 5;
    case 28: return 6;
    default: return 0;
    }
}

static const char *csimi_gmsh_type_name(int64_t type) {
    switch (type) {
    case 5: return " (hexahedron); allowed: tetrahedra, triangles, quadrangles, lines, points";
    case 6: return " (prism); allowed: tetrahedra, triangles, quadrangles, lines, points";
    case 7: return " (pyramid); allowed: tetrahedra, triangles, quadrangles, lines, points";
    case 9: return " (second-order triangle); allowed: first order";
    case 11: return " (second-order tetrahedron); allowed: first order";
    default: return "; allowed: tetrahedra, triangles, quadrangles, lines, points";
    }
}

/* Nodes per element of a type that can be read; 0 after a failure at the number just read. */
static int csimi_gmsh_nodes(csimi_text *t, int64_t type) {
    const int n = type == 2 ? 3 : type == 3 || type == 4 ? 4 : csimi_gmsh_passed_over(type);
    if (n == 0) csimi_text_fail_number(t, CSIM_UNSUPPORTED, "element type ", type, csimi_gmsh_type_name(type));
    return n;
}

static bool csimi_gmsh_element(csimi_mesh_reader *r, int64_t type, int nodes) {
    int v[6] = {0, 0, 0, 0, 0, 0}, k;
    for (k = 0; k < nodes; ++k)
        if (!csimi_read_id(r, &v[k])) return false;
    if (type == 4) return csimi_add_tet(r, v);
    if (type == 2) return csimi_add_triangle(r, v[0], v[1], v[2]);
    if (type == 3) return csimi_add_triangle(r, v[0], v[1], v[2]) && csimi_add_triangle(r, v[0], v[2], v[3]);
    return true;
}

/* ---- versions 1 and 2 */

static bool csimi_gmsh_nodes2(csimi_mesh_reader *r) {
    int64_t id;
    int count, i;
    if (!csimi_text_count(&r->text, 8, "number of nodes is ", &count)) return false;
    for (i = 0; i < count; ++i)
        if (!csimi_text_int(&r->text, &id) || !csimi_add_id(r, id) || !csimi_read_vertex(r)) return false;
    return true;
}

/* Version 2: id, type, number of tags, tags, nodes. Version 1: id, type, two tags, number of nodes, nodes. */
static bool csimi_gmsh_elements2(csimi_mesh_reader *r, int version) {
    csimi_text *t = &r->text;
    int64_t id, type, number, tags = 2, tag;
    int count, nodes, i;
    if (!csimi_text_count(t, 8, "number of elements is ", &count)) return false;
    for (i = 0; i < count; ++i) {
        if (!csimi_text_int(t, &id) || !csimi_text_int(t, &type)) return false;
        nodes = csimi_gmsh_nodes(t, type);
        if (version == 2 && !csimi_text_int(t, &tags)) return false;
        if (tags < 0)
            return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "number of tags is ", tags, "; allowed: 0 or more");
        for (; tags > 0; --tags)
            if (!csimi_text_int(t, &tag)) return false;
        if (version == 1) {
            tags = 2;
            if (!csimi_text_int(t, &number)) return false;
            if (number != nodes)
                return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "number of nodes is ", number,
                                              ", not what the element type has");
        }
        if (!csimi_gmsh_element(r, type, nodes)) return false;
    }
    return true;
}

/* ---- version 4.1: blocks of one geometric entity each */

static bool csimi_gmsh_nodes4(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int64_t dimension, parametric, number, sum = 0;
    csim_real parameter;
    int blocks, total, count, i, k;
    if (!csimi_text_count(t, 8, "number of node blocks is ", &blocks) ||
        !csimi_text_count(t, 8, "number of nodes is ", &total) || !csimi_text_int(t, &number) ||
        !csimi_text_int(t, &number))
        return false;
    for (; blocks > 0; --blocks) {
        if (!csimi_text_int(t, &dimension) || !csimi_text_int(t, &number)) return false;
        if (dimension < 0 || dimension > 3)
            return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "dimension is ", dimension, "; allowed: 0 to 3");
        if (!csimi_text_int(t, &parametric) || !csimi_text_count(t, 8, "number of nodes is ", &count)) return false;
        for (i = 0; i < count; ++i)
            if (!csimi_text_int(t, &number) || !csimi_add_id(r, number)) return false;
        for (i = 0; i < count; ++i) {
            if (!csimi_read_vertex(r)) return false;
            for (k = 0; parametric && k < (int)dimension; ++k)
                if (!csimi_text_real(t, &parameter)) return false;
        }
        sum += count;
    }
    return sum == total || csimi_text_fail_number(t, CSIM_PARSE_ERROR, "the blocks hold ", sum,
                                                  " nodes, which is not the number given above them");
}

static bool csimi_gmsh_elements4(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int64_t number, type, sum = 0;
    int blocks, total, count, nodes, i;
    if (!csimi_text_count(t, 8, "number of element blocks is ", &blocks) ||
        !csimi_text_count(t, 4, "number of elements is ", &total) || !csimi_text_int(t, &number) ||
        !csimi_text_int(t, &number))
        return false;
    for (; blocks > 0; --blocks) {
        if (!csimi_text_int(t, &number) || !csimi_text_int(t, &number) || !csimi_text_int(t, &type)) return false;
        nodes = csimi_gmsh_nodes(t, type);
        if (!csimi_text_count(t, 4, "number of elements is ", &count)) return false;
        for (i = 0; i < count; ++i)
            if (!csimi_text_int(t, &number) || !csimi_gmsh_element(r, type, nodes)) return false;
        sum += count;
    }
    return sum == total || csimi_text_fail_number(t, CSIM_PARSE_ERROR, "the blocks hold ", sum,
                                                  " elements, which is not the number given above them");
}

/* ---- sections */

static bool csimi_gmsh_format(csimi_text *t, int *version) {
    csim_real number;
    int64_t binary, size;
    if (!csimi_text_real(t, &number)) return false;
    *version = number >= 2 && number < 3 ? 2 : number > CSIM_R(4.05) && number < CSIM_R(4.15) ? 4 : 0;
    if (*version == 0) return csimi_text_fail(t, CSIM_UNSUPPORTED, "MSH version; allowed: 1.0, 2.0 to 2.2, 4.1");
    if (!csimi_text_int(t, &binary)) return false;
    if (binary) return csimi_text_fail(t, CSIM_UNSUPPORTED, "binary MSH; allowed: ASCII (Mesh.Binary = 0)");
    return csimi_text_int(t, &size) && csimi_text_need(t, "$EndMeshFormat");
}

/* A section of another kind, from its $Name to the line that begins with $End. */
static bool csimi_gmsh_pass_over(csimi_text *t) {
    const char *start = t->at;
    if (t->at == t->end || *t->at != '$') return csimi_text_expected(t, "a section, such as $Nodes");
    do csimi_text_next_line(t);
    while (t->at < t->end && !csimi_text_begins(t, "$End"));
    if (t->at < t->end) return csimi_text_skip_word(t);
    t->token = start;
    return csimi_text_fail(t, CSIM_PARSE_ERROR, "a section without its $End line");
}

static bool csimi_gmsh_node_section(csimi_mesh_reader *r, int version) {
    if (r->ids.count) return csimi_text_fail(&r->text, CSIM_PARSE_ERROR, "a second section of nodes");
    if (version == 4 ? !csimi_gmsh_nodes4(r) : !csimi_gmsh_nodes2(r)) return false;
    return csimi_text_need(&r->text, version == 1 ? "$ENDNOD" : "$EndNodes") && csimi_sort_ids(r);
}

static bool csimi_gmsh_element_section(csimi_mesh_reader *r, int version) {
    if (!r->ids.count) return csimi_text_fail(&r->text, CSIM_PARSE_ERROR, "elements before any nodes");
    if (version == 4 ? !csimi_gmsh_elements4(r) : !csimi_gmsh_elements2(r, version)) return false;
    return csimi_text_need(&r->text, version == 1 ? "$ENDELM" : "$EndElements");
}

CSIMI_FN bool csimi_read_gmsh(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int version = 1;
    for (csimi_text_space(t); t->at < t->end; csimi_text_space(t)) {
        bool ok;
        if (csimi_text_accept(t, "$MeshFormat"))
            ok = csimi_gmsh_format(t, &version);
        else if (csimi_text_accept(t, version == 1 ? "$NOD" : "$Nodes"))
            ok = csimi_gmsh_node_section(r, version);
        else if (csimi_text_accept(t, version == 1 ? "$ELM" : "$Elements"))
            ok = csimi_gmsh_element_section(r, version);
        else
            ok = csimi_gmsh_pass_over(t);
        if (!ok) return false;
    }
    return t->status == CSIM_OK;
}

#endif
/* ==== end io/gmsh.c */

/* ==== begin io/vtk.c ============================================================================================ */
/* io/vtk: legacy VTK files, ASCII and binary, and VTK XML unstructured grids with ASCII arrays (VTK file formats,
   www.vtk.org). Both end in three int arrays: corners of all cells, where each cell ends, and its type. */

#ifndef CONDSIM_NO_LOADERS

/* ---- cells */

enum {
    CSIMI_VTK_TRIANGLE = 5,
    CSIMI_VTK_STRIP = 6,
    CSIMI_VTK_POLYGON = 7,
    CSIMI_VTK_PIXEL = 8,
    CSIMI_VTK_QUAD = 9,
    CSIMI_VTK_TET = 10
};

static bool csimi_vtk_fail_type(csimi_text *t, int type) {
    const char *why = type == 12   ? " (hexahedron); allowed: tetrahedra, polygons, lines, points"
                      : type == 11 ? " (voxel); allowed: tetrahedra, polygons, lines, points"
                      : type == 13 ? " (wedge); allowed: tetrahedra, polygons, lines, points"
                      : type == 14 ? " (pyramid); allowed: tetrahedra, polygons, lines, points"
                      : type == 24 ? " (second-order tetrahedron); allowed: first order"
                                   : "; allowed: tetrahedra, polygons, lines, points";
    return csimi_text_fail_number(t, CSIM_UNSUPPORTED, "cell type ", type, why);
}

/* One cell with n corners v. */
static bool csimi_vtk_cell(csimi_mesh_reader *r, int type, const int *v, int n) {
    const int corners = type == CSIMI_VTK_TRIANGLE ? 3 : type >= CSIMI_VTK_PIXEL && type <= CSIMI_VTK_TET ? 4 : n;
    int i;
    if (type >= 0 && type <= 4) return true; /* points and lines */
    if (type < 0 || type > CSIMI_VTK_TET) return csimi_vtk_fail_type(&r->text, type);
    if (n != corners || n < 3)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "a cell with ", n, " corners, not what its type has");
    if (type == CSIMI_VTK_TET) return csimi_add_tet(r, v);
    if (type == CSIMI_VTK_PIXEL)
        return csimi_add_triangle(r, v[0], v[1], v[3]) && csimi_add_triangle(r, v[0], v[3], v[2]);
    for (i = 2; i < n; ++i) {
        const int a = type == CSIMI_VTK_STRIP ? i - 2 + i % 2 : 0;
        const int b = type == CSIMI_VTK_STRIP ? i - 1 - i % 2 : i - 1;
        if (!csimi_add_triangle(r, v[a], v[b], v[i])) return false;
    }
    return true;
}

/* Cell c of the arrays. */
static bool csimi_vtk_stored_cell(csimi_mesh_reader *r, size_t c, int type) {
    const int *ends = CSIMI_ITEMS(r->offsets, int);
    const int begin = c ? ends[c - 1] : 0;
    return csimi_vtk_cell(r, type, CSIMI_ITEMS(r->connectivity, int) + begin, ends[c] - begin);
}

/* A corner: an index below the number of vertices, counted from base. */
static bool csimi_vtk_push_corner(csimi_mesh_reader *r, int64_t index, size_t base) {
    if (index < 0 || index >= (int64_t)(r->vertices.count - base))
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "point ", index, " is not among the points");
    return csimi_push_int(r, &r->connectivity, (int)index + (int)base);
}

/* Where a cell ends in the corners. */
static bool csimi_vtk_push_end(csimi_mesh_reader *r, int64_t end) {
    const size_t n = r->offsets.count;
    const int before = n ? CSIMI_ITEMS(r->offsets, int)[n - 1] : 0;
    if (end < before || end > INT32_MAX / 4)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "offset ", end, "; allowed: none that falls");
    return csimi_push_int(r, &r->offsets, (int)end);
}

/* ---- legacy files */

typedef struct csimi_vtk_type {
    const char *name;
    int size;  /* bytes in a binary file */
    char kind; /* i: signed, u: unsigned, f: floating */
} csimi_vtk_type;

/* A type's name; null after a failure. */
static const csimi_vtk_type *csimi_vtk_read_type(csimi_text *t) {
    static const csimi_vtk_type types[] = {
        {"float", 4, 'f'},         {"double", 8, 'f'},         {"int", 4, 'i'},
        {"vtkIdType", 4, 'i'},     {"long", 8, 'i'},           {"vtktypeint64", 8, 'i'},
        {"vtktypeint32", 4, 'i'},  {"short", 2, 'i'},          {"char", 1, 'i'},
        {"unsigned_char", 1, 'u'}, {"unsigned_short", 2, 'u'}, {"unsigned_int", 4, 'u'},
        {"unsigned_long", 8, 'u'}, {"vtktypeuint64", 8, 'u'}};
    size_t i;
    for (i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (csimi_text_accept(t, types[i].name)) return &types[i];
    csimi_text_expected(t, "a data type, such as float or int");
    return NULL;
}

static bool csimi_vtk_big_endian(csimi_text *t, int size, uint64_t *bits) {
    int i;
    t->token = t->at;
    *bits = 0;
    if (t->end - t->at < size) return csimi_text_fail(t, CSIM_PARSE_ERROR, "the binary data are cut short");
    for (i = 0; i < size; ++i) *bits = *bits << 8 | (unsigned char)*t->at++;
    return true;
}

static bool csimi_vtk_int(csimi_text *t, const csimi_vtk_type *type, bool binary, int64_t *value) {
    uint64_t bits;
    if (!binary) return csimi_text_int(t, value);
    *value = 0;
    if (!csimi_vtk_big_endian(t, type->size, &bits)) return false;
    if (type->kind == 'i' && bits >> (8 * type->size - 1) & 1) /* extend the sign */
        bits |= type->size < 8 ? ~(uint64_t)0 << (8 * type->size) : 0;
    CSIMI_MEMCPY(value, &bits, sizeof bits);
    return true;
}

static bool csimi_vtk_real(csimi_text *t, const csimi_vtk_type *type, bool binary, csim_real *value) {
    uint64_t bits;
    uint32_t bits32;
    int64_t whole;
    float single;
    double x;
    *value = 0;
    if (!binary) return csimi_text_real(t, value);
    if (type->kind != 'f') {
        if (!csimi_vtk_int(t, type, binary, &whole)) return false;
        *value = (csim_real)whole;
        return true;
    }
    if (!csimi_vtk_big_endian(t, type->size, &bits)) return false;
    bits32 = (uint32_t)bits;
    CSIMI_MEMCPY(&single, &bits32, sizeof single);
    CSIMI_MEMCPY(&x, &bits, sizeof x);
    if (type->size == 4) x = (double)single;
    if (!(x <= (double)CSIMI_HUGE && x >= -(double)CSIMI_HUGE))
        return csimi_text_fail(t, CSIM_PARSE_ERROR, "a binary coordinate that is not finite or too large");
    *value = (csim_real)x;
    return true;
}

typedef struct csimi_vtk_file {
    csimi_mesh_reader *r;
    bool binary, modern; /* modern: from version 5.1 cells are two arrays, offsets and corners */
} csimi_vtk_file;

static size_t csimi_vtk_bytes(const csimi_vtk_file *f, const csimi_vtk_type *type) {
    return f->binary ? (size_t)type->size : 2;
}

static bool csimi_vtk_points(csimi_vtk_file *f) {
    csimi_text *t = &f->r->text;
    const csimi_vtk_type *type;
    int count, i, k;
    if (f->r->vertices.count) return csimi_text_fail(t, CSIM_PARSE_ERROR, "a second POINTS");
    if (!csimi_text_count(t, 1, "number of points is ", &count)) return false;
    type = csimi_vtk_read_type(t);
    if (!type || !csimi_text_check_count(t, count, 3 * csimi_vtk_bytes(f, type), "number of points is ", &count))
        return false;
    csimi_text_next_line(t);
    for (i = 0; i < count; ++i) {
        csim_real *x = (csim_real *)csimi_buffer_push(f->r, &f->r->vertices);
        for (k = 0; k < 3; ++k)
            if (!x || !csimi_vtk_real(t, type, f->binary, &x[k])) return false;
    }
    return true;
}

/* Up to version 4: count, size, then for each cell its number of corners and the corners. */
static bool csimi_vtk_old_cells(csimi_vtk_file *f, int count, int size) {
    static const csimi_vtk_type type = {"int", 4, 'i'};
    csimi_mesh_reader *r = f->r;
    csimi_text *t = &r->text;
    int64_t corners, index;
    csimi_text_next_line(t);
    if (!csimi_text_check_count(t, count, csimi_vtk_bytes(f, &type), "number of cells is ", &count)) return false;
    for (; count > 0; --count) {
        if (!csimi_vtk_int(t, &type, f->binary, &corners)) return false;
        size -= 1;
        if (corners < 0 || corners > size)
            return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "number of corners is ", corners,
                                          "; allowed: 0 to what is left of the list");
        for (size -= (int)corners; corners > 0; --corners)
            if (!csimi_vtk_int(t, &type, f->binary, &index) || !csimi_vtk_push_corner(r, index, 0)) return false;
        if (!csimi_vtk_push_end(r, (int64_t)r->connectivity.count)) return false;
    }
    return true;
}

/* From 5.1: count is one more than the cells; OFFSETS type, then CONNECTIVITY type. */
static bool csimi_vtk_new_cells(csimi_vtk_file *f, int count, int size) {
    csimi_text *t = &f->r->text;
    const csimi_vtk_type *type;
    int64_t value;
    int i;
    if (!csimi_text_need(t, "OFFSETS") || !(type = csimi_vtk_read_type(t))) return false;
    csimi_text_next_line(t);
    for (i = 0; i < count; ++i) {
        if (!csimi_vtk_int(t, type, f->binary, &value)) return false;
        if (i == 0 ? value != 0 : !csimi_vtk_push_end(f->r, value))
            return csimi_text_fail(t, CSIM_PARSE_ERROR, "the first offset is not 0");
    }
    if (count > 0 && value != size)
        return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "the last offset is ", value, ", not the number of corners");
    if (!csimi_text_need(t, "CONNECTIVITY") || !(type = csimi_vtk_read_type(t))) return false;
    csimi_text_next_line(t);
    for (i = 0; i < size; ++i)
        if (!csimi_vtk_int(t, type, f->binary, &value) || !csimi_vtk_push_corner(f->r, value, 0)) return false;
    return true;
}

/* A list of cells into the arrays, which it replaces. */
static bool csimi_vtk_cells(csimi_vtk_file *f) {
    csimi_text *t = &f->r->text;
    int count, size;
    f->r->connectivity.count = f->r->offsets.count = 0;
    if (!csimi_text_count(t, 1, "number of cells is ", &count) ||
        !csimi_text_count(t, 1, "size of the cell list is ", &size))
        return false;
    return f->modern ? csimi_vtk_new_cells(f, count, size) : csimi_vtk_old_cells(f, count, size);
}

static bool csimi_vtk_cell_types(csimi_vtk_file *f) {
    static const csimi_vtk_type int_type = {"int", 4, 'i'};
    csimi_text *t = &f->r->text;
    int64_t type;
    int count, c;
    if (!csimi_text_count(t, 1, "number of cell types is ", &count)) return false;
    if ((size_t)count != f->r->offsets.count)
        return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "number of cell types is ", count,
                                      ", not that of the cells");
    csimi_text_next_line(t);
    for (c = 0; c < count; ++c) {
        if (!csimi_vtk_int(t, &int_type, f->binary, &type)) return false;
        if (type < 0 || type > 255) type = 255; /* no such type */
        if (!csimi_vtk_stored_cell(f->r, (size_t)c, (int)type)) return false;
    }
    return true;
}

/* VERTICES, LINES, POLYGONS, TRIANGLE_STRIPS of POLYDATA */
static bool csimi_vtk_poly_cells(csimi_vtk_file *f, int type) {
    size_t c;
    if (!csimi_vtk_cells(f)) return false;
    for (c = 0; c < f->r->offsets.count; ++c)
        if (!csimi_vtk_stored_cell(f->r, c, type)) return false;
    return true;
}

/* FIELD name n, then n arrays: name, components, tuples, type, values. */
static bool csimi_vtk_pass_over_field(csimi_vtk_file *f) {
    csimi_text *t = &f->r->text;
    const csimi_vtk_type *type;
    int64_t value;
    csim_real number;
    int arrays, components, tuples, i, k;
    if (!csimi_text_skip_word(t) || !csimi_text_count(t, 2, "number of arrays is ", &arrays)) return false;
    for (; arrays > 0; --arrays) {
        if (!csimi_text_skip_word(t) || !csimi_text_count(t, 1, "number of components is ", &components) ||
            !csimi_text_count(t, 1, "number of tuples is ", &tuples) || !(type = csimi_vtk_read_type(t)))
            return false;
        csimi_text_next_line(t);
        for (i = 0; i < tuples && components; ++i)
            for (k = 0; k < components; ++k)
                if (f->binary ? !csimi_vtk_int(t, type, true, &value) : !csimi_text_real(t, &number)) return false;
    }
    return true;
}

/* METADATA goes on to an empty line. */
static void csimi_vtk_pass_over_metadata(csimi_text *t) {
    do csimi_text_next_line(t);
    while (csimi_text_more_on_line(t));
}

static bool csimi_vtk_header(csimi_vtk_file *f) {
    csimi_text *t = &f->r->text;
    csim_real version;
    if (!csimi_text_need(t, "#") || !csimi_text_need(t, "vtk") || !csimi_text_need(t, "DataFile") ||
        !csimi_text_need(t, "Version") || !csimi_text_real(t, &version))
        return false;
    f->modern = version >= CSIM_R(5.05);
    csimi_text_next_line(t);
    csimi_text_next_line(t); /* title */
    f->binary = csimi_text_accept(t, "BINARY");
    if (!f->binary && !csimi_text_accept(t, "ASCII")) return csimi_text_expected(t, "ASCII or BINARY");
    return true;
}

CSIMI_FN bool csimi_read_vtk(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    csimi_vtk_file f;
    bool poly, ok = true, done = false;
    f.r = r;
    f.binary = f.modern = false;
    if (!csimi_vtk_header(&f)) return false;
    if (csimi_text_accept(t, "FIELD") && !csimi_vtk_pass_over_field(&f)) return false;
    if (!csimi_text_need(t, "DATASET")) return false;
    poly = csimi_text_accept(t, "POLYDATA");
    if (!poly && !csimi_text_accept(t, "UNSTRUCTURED_GRID"))
        return csimi_text_fail(t, CSIM_UNSUPPORTED, "kind of DATASET; allowed: UNSTRUCTURED_GRID, POLYDATA");
    for (csimi_text_space(t); ok && !done && t->at < t->end; csimi_text_space(t)) {
        if (csimi_text_accept(t, "POINTS"))
            ok = csimi_vtk_points(&f);
        else if (csimi_text_accept(t, "METADATA"))
            csimi_vtk_pass_over_metadata(t);
        else if (csimi_text_accept(t, "FIELD"))
            ok = csimi_vtk_pass_over_field(&f);
        else if (!poly && csimi_text_accept(t, "CELLS"))
            ok = csimi_vtk_cells(&f);
        else if (!poly && csimi_text_accept(t, "CELL_TYPES"))
            ok = csimi_vtk_cell_types(&f);
        else if (poly && csimi_text_accept(t, "VERTICES"))
            ok = csimi_vtk_poly_cells(&f, 2);
        else if (poly && csimi_text_accept(t, "LINES"))
            ok = csimi_vtk_poly_cells(&f, 4);
        else if (poly && csimi_text_accept(t, "POLYGONS"))
            ok = csimi_vtk_poly_cells(&f, CSIMI_VTK_POLYGON);
        else if (poly && csimi_text_accept(t, "TRIANGLE_STRIPS"))
            ok = csimi_vtk_poly_cells(&f, CSIMI_VTK_STRIP);
        else if (csimi_text_accept(t, "POINT_DATA") || csimi_text_accept(t, "CELL_DATA"))
            done = true; /* fields follow */
        else
            ok = csimi_text_expected(t, "POINTS, CELLS, CELL_TYPES or POLYGONS");
    }
    return ok;
}

/* ---- XML files */

/* A tag: <name attributes>, </name> or <name attributes/>. */
typedef struct csimi_xml_tag {
    const char *name, *name_end, *end; /* end: at the closing > */
    bool closes, empty;
} csimi_xml_tag;

static bool csimi_xml_equal(const char *begin, const char *end, const char *word) {
    while (begin < end && *word && *begin == *word) ++begin, ++word;
    return begin == end && !*word;
}

/* Moves behind the next stop (the last character of which is given), or to the end of the text. */
static void csimi_xml_pass(csimi_text *t, const char *stop) {
    while (t->at < t->end && !csimi_text_begins(t, stop)) ++t->at;
    for (; t->at < t->end && *stop; ++stop) ++t->at;
}

/* The next tag, other than <?...?>, <!...> and comments; false at the end of the text too. */
static bool csimi_xml_next(csimi_text *t, csimi_xml_tag *tag) {
    char quote = 0;
    for (;;) {
        csimi_xml_pass(t, "<");
        if (csimi_text_begins(t, "!--"))
            csimi_xml_pass(t, "-->");
        else if (t->at == t->end || (*t->at != '?' && *t->at != '!'))
            break;
    }
    t->token = t->at - (t->at > t->begin);
    tag->closes = t->at < t->end && *t->at == '/';
    if (tag->closes) ++t->at;
    tag->name = t->at;
    while (t->at<t->end && * t->at> ' ' && *t->at != '>' && *t->at != '/') ++t->at;
    tag->name_end = t->at;
    for (; t->at < t->end && (quote || *t->at != '>'); ++t->at) {
        if (quote ? *t->at == quote : *t->at == '"' || *t->at == '\'') quote = quote ? 0 : *t->at;
    }
    tag->end = t->at;
    if (t->at == t->end) return false;
    tag->empty = t->at[-1] == '/';
    ++t->at;
    return true;
}

/* The value of attribute name="value", with either quote; false when there is none. */
static bool csimi_xml_attribute(const csimi_xml_tag *tag, const char *name, const char **begin, const char **end) {
    const char *p = tag->name_end, *key, *key_end;
    char quote;
    while (p < tag->end) {
        while (p < tag->end && *p <= ' ') ++p;
        for (key = p; p<tag->end && * p> ' ' && *p != '=';) ++p;
        key_end = p;
        while (p < tag->end && *p != '"' && *p != '\'') ++p;
        if (p == tag->end) return false;
        quote = *p++;
        for (*begin = p; p < tag->end && *p != quote;) ++p;
        *end = p;
        if (p < tag->end) ++p;
        if (csimi_xml_equal(key, key_end, name)) return true;
    }
    return false;
}

static bool csimi_xml_is(const csimi_xml_tag *tag, const char *name, const char *value) {
    const char *begin, *end;
    return csimi_xml_attribute(tag, name, &begin, &end) && csimi_xml_equal(begin, end, value);
}

/* A whole number in an attribute; -1 after a failure. */
static int64_t csimi_xml_count(csimi_text *t, const csimi_xml_tag *tag, const char *name) {
    const char *begin, *end;
    csimi_text value;
    int64_t number;
    if (!csimi_xml_attribute(tag, name, &begin, &end)) {
        csimi_text_fail(t, CSIM_PARSE_ERROR, "<Piece> without NumberOfPoints or NumberOfCells");
        return -1;
    }
    value = csimi_text_of("", begin, (size_t)(end - begin), NULL);
    if (csimi_text_int(&value, &number) && value.at == value.end && number >= 0) return number;
    csimi_text_fail(t, CSIM_PARSE_ERROR, "NumberOfPoints or NumberOfCells is not a whole number of 0 or more");
    return -1;
}

typedef struct csimi_vtu_file {
    csimi_mesh_reader *r;
    size_t base;           /* vertices of the pieces before */
    int64_t points, cells; /* of this piece */
    char section;          /* P: in Points, C: in Cells, 0: elsewhere */
} csimi_vtu_file;

static bool csimi_vtu_points(csimi_vtu_file *f) {
    csimi_text *t = &f->r->text;
    const int64_t before = (int64_t)(f->r->vertices.count - f->base);
    if (before) return csimi_text_fail(t, CSIM_PARSE_ERROR, "a second array of points in one piece");
    for (csimi_text_space(t); t->at < t->end && *t->at != '<'; csimi_text_space(t)) {
        if ((int64_t)(f->r->vertices.count - f->base) == f->points)
            return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "more points than NumberOfPoints, which is ", f->points,
                                          "");
        if (!csimi_read_vertex(f->r)) return false;
    }
    if ((int64_t)(f->r->vertices.count - f->base) == f->points) return true;
    return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "fewer points than NumberOfPoints, which is ", f->points, "");
}

/* One array of Cells. Points come first in every file VTK writes; corners are checked against them. */
static bool csimi_vtu_cells(csimi_vtu_file *f, const csimi_xml_tag *tag) {
    csimi_mesh_reader *r = f->r;
    csimi_text *t = &r->text;
    const bool corners = csimi_xml_is(tag, "Name", "connectivity"), ends = csimi_xml_is(tag, "Name", "offsets");
    int64_t value;
    bool ok = true;
    if (!corners && !ends && !csimi_xml_is(tag, "Name", "types")) return true;
    for (csimi_text_space(t); ok && t->at < t->end && *t->at != '<'; csimi_text_space(t)) {
        if (!csimi_text_int(t, &value)) return false;
        if (corners)
            ok = csimi_vtk_push_corner(r, value, f->base);
        else if (ends)
            ok = csimi_vtk_push_end(r, value);
        else
            ok = csimi_push_int(r, &r->types, value < 0 || value > 255 ? 255 : (int)value);
    }
    return ok;
}

/* Binary and appended arrays are refused where they stand. */
static bool csimi_vtu_array(csimi_vtu_file *f, const csimi_xml_tag *tag) {
    csimi_text *t = &f->r->text;
    if (!f->section) return true;
    if (!csimi_xml_is(tag, "format", "ascii"))
        return csimi_text_fail_number(t, CSIM_UNSUPPORTED, "DataArray at byte ", t->token - t->begin,
                                      " is binary, appended or compressed; allowed: format=\"ascii\"");
    if (f->section == 'C') return csimi_vtu_cells(f, tag);
    if (!csimi_xml_is(tag, "NumberOfComponents", "3"))
        return csimi_text_fail(t, CSIM_PARSE_ERROR, "NumberOfComponents of the points is not 3");
    return csimi_vtu_points(f);
}

static bool csimi_vtu_begin_piece(csimi_vtu_file *f, const csimi_xml_tag *tag) {
    csimi_mesh_reader *r = f->r;
    r->connectivity.count = r->offsets.count = r->types.count = 0;
    f->base = r->vertices.count;
    f->points = csimi_xml_count(&r->text, tag, "NumberOfPoints");
    f->cells = csimi_xml_count(&r->text, tag, "NumberOfCells");
    return r->text.status == CSIM_OK;
}

static bool csimi_vtu_end_piece(csimi_vtu_file *f) {
    csimi_mesh_reader *r = f->r;
    const size_t n = r->offsets.count;
    const size_t corners = n ? (size_t)CSIMI_ITEMS(r->offsets, int)[n - 1] : 0;
    size_t c;
    if ((int64_t)(r->vertices.count - f->base) != f->points)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "a piece without its points, of which it has ",
                                      f->points, "");
    if ((int64_t)n != f->cells || r->types.count != n)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR,
                                      "offsets or types are not as many as NumberOfCells, which is ", f->cells, "");
    if (corners != r->connectivity.count)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "the last offset is ", (int64_t)corners,
                                      ", not the number of corners");
    for (c = 0; c < n; ++c)
        if (!csimi_vtk_stored_cell(r, c, CSIMI_ITEMS(r->types, int)[c])) return false;
    return true;
}

static bool csimi_vtu_tag(csimi_vtu_file *f, const csimi_xml_tag *tag) {
    const char *a = tag->name, *b = tag->name_end;
    const bool opens = !tag->closes && !tag->empty;
    if (csimi_xml_equal(a, b, "VTKFile") && opens && !csimi_xml_is(tag, "type", "UnstructuredGrid"))
        return csimi_text_fail(&f->r->text, CSIM_UNSUPPORTED, "type of VTKFile; allowed: UnstructuredGrid");
    if (csimi_xml_equal(a, b, "Points")) f->section = opens ? 'P' : 0;
    if (csimi_xml_equal(a, b, "Cells")) f->section = opens ? 'C' : 0;
    if (csimi_xml_equal(a, b, "DataArray") && opens) return csimi_vtu_array(f, tag);
    if (csimi_xml_equal(a, b, "Piece") && opens) return csimi_vtu_begin_piece(f, tag);
    if (csimi_xml_equal(a, b, "Piece") && tag->closes) return csimi_vtu_end_piece(f);
    return true;
}

CSIMI_FN bool csimi_read_vtu(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    csimi_vtu_file f;
    csimi_xml_tag tag;
    CSIMI_MEMSET(&f, 0, sizeof f);
    f.r = r;
    while (csimi_xml_next(t, &tag)) {
        if (!csimi_vtu_tag(&f, &tag)) return false;
        if (tag.closes && csimi_xml_equal(tag.name, tag.name_end, "VTKFile")) return t->status == CSIM_OK;
        if (csimi_xml_equal(tag.name, tag.name_end, "AppendedData")) break; /* bytes follow */
    }
    t->at = t->end;
    return csimi_text_expected(t, "</VTKFile>");
}

#endif
/* ==== end io/vtk.c */

/* ==== begin io/tetgen.c ========================================================================================= */
/* io/tetgen: .node and .ele files. */

#ifndef CONDSIM_NO_LOADERS

/* count, dimension 3, attributes, boundary markers 0 or 1; a node: id x y z, attributes, marker. The last two numbers
   of the first line may be missing. */
CSIMI_FN bool csimi_read_tetgen_nodes(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int64_t dimension, id;
    int count, i;
    t->comment = '#';
    if (!csimi_text_count(t, 8, "number of nodes is ", &count) || !csimi_text_int(t, &dimension)) return false;
    if (dimension != 3) return csimi_text_fail_number(t, CSIM_UNSUPPORTED, "dimension is ", dimension, "; allowed: 3");
    csimi_text_next_line(t);
    for (i = 0; i < count; ++i) {
        csimi_text_space(t);
        t->one_line = true;
        if (!csimi_text_int(t, &id) || !csimi_add_id(r, id) || !csimi_read_vertex(r)) return false;
        csimi_text_next_line(t); /* attributes and marker */
        t->one_line = false;
    }
    csimi_text_space(t);
    if (t->at < t->end) return csimi_text_expected(t, "the end after the last node");
    return csimi_sort_ids(r);
}

/* count, nodes per tet 4 (or 10), attributes; a tet: id, 4 nodes, attributes. */
CSIMI_FN bool csimi_read_tetgen_elements(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int64_t nodes, id;
    int count, i, k, v[4];
    t->comment = '#';
    if (!csimi_text_count(t, 10, "number of tetrahedra is ", &count) || !csimi_text_int(t, &nodes)) return false;
    if (nodes != 4)
        return csimi_text_fail_number(t, CSIM_UNSUPPORTED, "nodes per tetrahedron: ", nodes, "; allowed: 4");
    csimi_text_next_line(t);
    for (i = 0; i < count; ++i) {
        csimi_text_space(t);
        t->one_line = true;
        if (!csimi_text_int(t, &id)) return false;
        for (k = 0; k < 4; ++k)
            if (!csimi_read_id(r, &v[k])) return false;
        csimi_text_next_line(t); /* attributes */
        t->one_line = false;
        if (!csimi_add_tet(r, v)) return false;
    }
    csimi_text_space(t);
    return t->at == t->end || csimi_text_expected(t, "the end after the last tetrahedron");
}

#endif
/* ==== end io/tetgen.c */

/* ==== begin io/obj.c ============================================================================================ */
/* io/obj: v and f lines of Wavefront OBJ; everything else is passed over. */

#ifndef CONDSIM_NO_LOADERS

/* One corner: v, v/vt, v//vn or v/vt/vn; counted from 1, or back from -1, the last vertex so far. */
static bool csimi_obj_corner(csimi_mesh_reader *r, int *vertex) {
    csimi_text *t = &r->text;
    const int64_t count = (int64_t)r->vertices.count;
    int64_t index, other;
    int k;
    if (!csimi_text_int(t, &index)) return false;
    if (index == 0 || index > count || index < -count)
        return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "vertex ", index, " is not among the vertices so far");
    *vertex = (int)(index > 0 ? index - 1 : count + index);
    for (k = 0; k < 2 && t->at < t->end && *t->at == '/'; ++k) {
        ++t->at;
        if (k == 0 && t->at < t->end && *t->at == '/') continue;
        if (!csimi_text_more_on_line(t)) return csimi_text_expected(t, "an index after /");
        if (!csimi_text_int(t, &other)) return false;
    }
    return true;
}

static bool csimi_obj_face(csimi_mesh_reader *r) {
    int first = 0, last = 0, next = 0, n;
    for (n = 0; csimi_text_more_on_line(&r->text); ++n) {
        if (!csimi_obj_corner(r, &next)) return false;
        if (n == 0) first = next;
        if (n >= 2 && !csimi_add_triangle(r, first, last, next)) return false;
        last = next;
    }
    return n >= 3 || csimi_text_expected(&r->text, "three vertices or more");
}

CSIMI_FN bool csimi_read_obj(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    t->comment = '#';
    t->joins_lines = true;
    for (csimi_text_space(t); t->at < t->end; csimi_text_space(t)) {
        t->one_line = true;
        if (csimi_text_accept(t, "v")) {
            if (!csimi_read_vertex(r)) return false;
        } else if (csimi_text_accept(t, "f") && !csimi_obj_face(r)) {
            return false;
        }
        while (csimi_text_more_on_line(t)) /* w, colours, and lines of other kinds */
            if (!csimi_text_skip_word(t)) return false;
        t->one_line = false;
    }
    r->points_suffice = r->vertices.count > 0; /* meant for a hull */
    return t->status == CSIM_OK;
}

#endif
/* ==== end io/obj.c */

#ifndef CSIMI_KEEP_MACROS /* the library's own tests keep them */
#undef CSIMI_AMALGAMATED
#undef CSIMI_BASE_PRIVATE_H
#undef CSIMI_FN
#undef CSIMI_SIN
#undef CSIMI_COS
#undef CSIMI_ATAN2
#undef CSIMI_EXP
#undef CSIMI_LOG
#undef CSIMI_SQRT
#undef CSIMI_MEMCPY
#undef CSIMI_MEMSET
#undef CSIMI_EPS
#undef CSIMI_TINY
#undef CSIMI_HUGE
#undef CSIMI_PI
#undef CSIMI_PUSH
#undef CSIMI_CHUNK
#undef CSIMI_MATH_PRIVATE_H
#undef CSIMI_SPARSE_PRIVATE_H
#undef CSIMI_MODEL_PRIVATE_H
#undef CSIMI_PLACE_TERMS
#undef CSIMI_MODEL_ASSEMBLE
#undef CSIMI_SPRING_SLOTS
#undef CSIMI_COLLIDE_PRIVATE_H
#undef CSIMI_CONTACT_PRIVATE_H
#undef CSIMI_SOLVE_PRIVATE_H
#undef CSIMI_WORLD_PRIVATE_H
#undef CSIMI_WORLD_ARRAYS
#undef CSIMI_WORLD_AXES
#undef CSIMI_ANY
#undef CSIMI_AT_LEAST_0
#undef CSIMI_POSITIVE
#undef CSIMI_UNIT
#undef CSIMI_COUNT_OF
#undef CSIMI_GUARD
#undef CSIMI_IO_PRIVATE_H
#undef CSIMI_ITEMS
#undef CSIMI_EXPONENT
#undef CSIMI_ALIGN
#undef CSIMI_MALLOC
#undef CSIMI_FREE
#undef CSIMI_JACOBI_SWEEPS
#undef CSIMI_LANES
#undef CSIMI_LOAD
#undef CSIMI_PRODUCT_GRAIN
#undef CSIMI_FAR
#undef CSIMI_SPRING_SIDE
#undef CSIMI_LONGEST
#undef CSIMI_GRID
#undef CSIMI_WELD
#undef CSIMI_NONE
#undef CSIMI_FLAT
#undef CSIMI_CERT_NOISE
#undef CSIMI_ANDERSON_TIKHONOV
#undef CSIMI_COND_THREAD
#undef CSIMI_COND_SOFT
#undef CSIMI_SWEEP_WINDOW
#undef CSIMI_SWEEP_PATIENCE
#undef CSIMI_CASCADE_WINDOW
#undef CSIMI_CASCADE_PATIENCE
#undef CSIMI_CASCADE_INNER
#undef CSIMI_SECTION
#undef CSIMI_READ_CABLE
#undef CSIMI_WORSE
#undef CSIMI_OPEN_BODY
#undef CSIMI_READ_BODY
#undef CSIMI_MAGIC
#undef CSIMI_FNV_START
#undef CSIMI_TEXT_OF_
#undef CSIMI_TEXT_OF
#endif

#endif /* CONDSIM_IMPLEMENTATION */

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/*
   MIT License

   Copyright (c) the condsim authors

   Permission is hereby granted, free of charge, to any person obtaining a copy
   of this software and associated documentation files (the "Software"), to deal
   in the Software without restriction, including without limitation the rights
   to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
   copies of the Software, and to permit persons to whom the Software is
   furnished to do so, subject to the following conditions:

   The above copyright notice and this permission notice shall be included in all
   copies or substantial portions of the Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
   IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
   FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
   AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
   LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
   SOFTWARE.
*/
