/* collide/field: triangle meshes and height fields as shapes: a block of bytes that shapes refer to, made at load.

   Triangles of a level are kept as they are, with a tree over them: what touches them touches them exactly.

   A mesh becomes distances on a grid: exact to the triangles at the nodes, smooth between them (quadratic B-splines),
   negative where the generalized winding number (Jacobson, Kavan and Sorkine-Hornung 2013) is above 1/2, so that holes
   and flipped triangles do little harm. What is thinner than a cell may be missing: csim_field_info.error says how far
   the surface of the grid is off the mesh. A height field is kept as it is and touched exactly, by triangles. */
#ifndef CSIM_FIELD_H
#define CSIM_FIELD_H

#include "../base/memory.h"
#include "shape.h"

/* A closed triangle mesh and how finely it is sampled. */
typedef struct csim_mesh_field_def {
    const csim_real *vertices; /* [3 vertex_count] m */
    int vertex_count;          /* 3..1e7 */
    const int *triangles;      /* [3 triangle_count] 0-based, counter-clockwise from outside */
    int triangle_count;        /* 1..1e7 */
    csim_real scale;           /* of the vertices, > 0; default 1 */
    int resolution;            /* cells along the longest side of the mesh, 4..400; default 48 */
    csim_real spacing; /* of the points that stand for its surface, m; 0 (default): two cells; 1e-3 of its longest
                          side at least. Vertices, and points on edges and triangles longer than this */
    bool strict;       /* default false: meshes with holes and flipped triangles are repaired as described above;
                          true: refused with the triangle where they are */
    uint32_t guard;
} csim_mesh_field_def;

/* Triangles of a level, open or closed, as they are. */
typedef struct csim_triangle_field_def {
    const csim_real *vertices; /* [3 vertex_count] m; corners in one place are one corner, whatever their numbers */
    int vertex_count;          /* 3..1e7 */
    const int *triangles;      /* [3 triangle_count] 0-based, counter-clockwise from their front */
    int triangle_count;        /* 1..1e7 */
    csim_real scale;           /* of the vertices, > 0; default 1 */
    bool two_sided; /* both sides are met, each by what has its middle there; default false: what has its middle behind
                       a triangle does not meet it */
    csim_real depth; /* one-sided: points (nodes, particles) behind a triangle by less than this have come from its
                        front, and are pushed back, m; default 0.1 */
    uint32_t guard;
} csim_triangle_field_def;

/* Heights on a rectangular grid. */
typedef struct csim_height_field_def {
    const csim_real *heights; /* [count_x count_y] m, x fastest; the solid is below, without end */
    int count_x, count_y;     /* nodes, 2..20000 each */
    csim_real cell; /* distance of neighbours, > 0, m; default 1. Node (0, 0) is at the origin of the shape, each
                       cell is two triangles that share its diagonal from (0, 0) to (1, 1) */
    uint32_t guard;
} csim_height_field_def;

/* No mesh, no triangles, no heights yet; the defaults above. */
CSIM_API csim_mesh_field_def csim_default_mesh_field_def(void);
CSIM_API csim_triangle_field_def csim_default_triangle_field_def(void);
CSIM_API csim_height_field_def csim_default_height_field_def(void);

/* Position-free bytes: the first csim_field_get_info(field).bytes of them may be written to a file, read back to any
   address that is a multiple of 8 and opened again, in float and double builds; triangles in builds of the csim_real
   they were made with. */
typedef struct csim_field csim_field;

/* What a field is like. */
typedef struct csim_field_info {
    size_t bytes;    /* to keep */
    int nodes[3];    /* of the grid; heights: the last is 1; triangles: vertices, triangles, 2 */
    int samples;     /* points that stand for the surface */
    csim_real cell;  /* m; triangles: their mean edge */
    csim_real error; /* most distance of the grid's surface from a sample, m; heights: 0; triangles: corners this far
                        off a plane, the rounding of floats of their size, are on it */
    int open_edges, flipped_edges, crowded_edges; /* in one triangle, in two the same way, in more */
    csim_real volume; /* m^3, of closed meshes exact; heights, triangles: 0 */
} csim_field_info;

/* bytes: what the create call below needs, scratch included; the rest of the block is free again after it.
   Fails: CSIM_DEF_NOT_INITIALISED, CSIM_NULL_ARGUMENT, CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_BAD_MESH. error may be
   null everywhere. */
CSIM_API csim_status csim_mesh_field_bytes(const csim_mesh_field_def *def, size_t *bytes, csim_error *error);
CSIM_API csim_status csim_triangle_field_bytes(const csim_triangle_field_def *def, size_t *bytes, csim_error *error);
CSIM_API csim_status csim_height_field_bytes(const csim_height_field_def *def, size_t *bytes, csim_error *error);
/* block: aligned to 64, the caller's; it must live, and not move, as long as a shape or body refers to the field.
   Deterministic. Also CSIM_CAPACITY, and CSIM_BAD_MESH: a mesh without an inside, or inside out; strict: not closed or
   flipped; a triangle without area. Triangles: O(n), some 160 bytes each of which 90 are kept (double). */
CSIM_API csim_status csim_create_mesh_field_in(const csim_mesh_field_def *def, void *block, size_t bytes,
                                               const csim_field **field, csim_error *error);
CSIM_API csim_status csim_create_triangle_field_in(const csim_triangle_field_def *def, void *block, size_t bytes,
                                                   const csim_field **field, csim_error *error);
CSIM_API csim_status csim_create_height_field_in(const csim_height_field_def *def, void *block, size_t bytes,
                                                 const csim_field **field, csim_error *error);
/* Checks bytes that were saved, and uses them where they are. Fails: CSIM_NULL_ARGUMENT, CSIM_BAD_SNAPSHOT. */
CSIM_API csim_status csim_open_field(const void *block, size_t bytes, const csim_field **field, csim_error *error);
/* Sizes and quality of a field (not null). */
CSIM_API csim_field_info csim_field_get_info(const csim_field *field);
/* The field as a shape of static, kinematic and free bodies; of heights and triangles: static bodies only. Triangles
   are touched exactly; the others by points and radii of everything, and by the corners, edge points and samples of
   other shapes; theirs touch others too. A snapshot keeps which field a body has, not the field: the world that
   restores it needs a body with the same one. */
CSIM_API csim_shape csim_field_shape(const csim_field *field);

#endif
