/* collide/private: the broad phase, building hulls, boxes and hulls against each other. */
#ifndef CSIMI_COLLIDE_PRIVATE_H
#define CSIMI_COLLIDE_PRIVATE_H

#include "../math/private.h"
#include "shape.h"

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
