/* collide/private: the broad phase, building hulls, boxes and hulls against each other. */
#ifndef CSIMI_COLLIDE_PRIVATE_H
#define CSIMI_COLLIDE_PRIVATE_H

#include "../math/private.h"
#include "field.h"

/* Whether a build has shapes of a kind, and the kind of one, which csimi_check_shape has looked at: code for what is
   left out goes with it. */
enum {
    CSIMI_SHAPES_ROUND = 1 << CSIM_SHAPE_SPHERE | 1 << CSIM_SHAPE_CAPSULE,
    CSIMI_SHAPES_FIELD = 1 << CSIM_SHAPE_MESH | 1 << CSIM_SHAPE_HEIGHTS | 1 << CSIM_SHAPE_TRIANGLES,
    CSIMI_SHAPES = 1 << CSIM_SHAPE_HALF_SPACE
#ifndef CONDSIM_NO_ROUND
                   | CSIMI_SHAPES_ROUND
#endif
#ifndef CONDSIM_NO_BOXES
                   | 1 << CSIM_SHAPE_BOX
#endif
#ifndef CONDSIM_NO_CYLINDERS
                   | 1 << CSIM_SHAPE_CYLINDER
#endif
#ifndef CONDSIM_NO_HULLS
                   | 1 << CSIM_SHAPE_HULL
#endif
#ifndef CONDSIM_NO_FIELDS
                   | CSIMI_SHAPES_FIELD
#endif
};
CSIMI_KNOWN bool csimi_has_shape(csim_shape_kind kind) { return ((unsigned)CSIMI_SHAPES >> kind & 1u) != 0; }
CSIMI_KNOWN bool csimi_shape_is(const csim_geometry *g, csim_shape_kind kind) {
    return csimi_has_shape(kind) && g->kind == kind;
}
CSIMI_KNOWN csim_shape_kind csimi_kind_of(const csim_geometry *g) {
#if defined(CONDSIM_NO_CYLINDERS) && defined(CONDSIM_NO_HULLS) && defined(CONDSIM_NO_FIELDS)
    if (csimi_shape_is(g, CSIM_SHAPE_BOX)) return CSIM_SHAPE_BOX;
    if (csimi_shape_is(g, CSIM_SHAPE_SPHERE)) return CSIM_SHAPE_SPHERE;
    return csimi_shape_is(g, CSIM_SHAPE_CAPSULE) ? CSIM_SHAPE_CAPSULE : CSIM_SHAPE_HALF_SPACE;
#else
    return g->kind;
#endif
}
CSIMI_KNOWN bool csimi_cylinder(const csim_geometry *g) { return csimi_shape_is(g, CSIM_SHAPE_CYLINDER); }
CSIMI_KNOWN bool csimi_flat_sided(csim_shape_kind k) { return k == CSIM_SHAPE_BOX || k == CSIM_SHAPE_HULL; }
/* ---- shape.c: bounds of a shape whose own axes are at pose */
CSIMI_FN void csimi_bounds_at(const csim_geometry *g, const csim_hull_data *hulls, csim_pose pose, csim_vec3 *lower,
                              csim_vec3 *upper);
CSIMI_FN csim_status csimi_check_shape(const char *function, const csim_shape *s, csim_error *error);
/* csim_shape_mass of a shape that has been baked: the same bits, of hulls what their corners give. */
CSIMI_FN csim_status csimi_geometry_mass(const char *function, const csim_geometry *g, const csim_hull_data *hulls,
                                         csim_real density, csim_mass *mass, csim_error *error);
CSIMI_FN csim_quat csimi_quat_from_z(csim_vec3 n); /* the shortest turn of z to the unit vector n */
/* Every third bit of a 10-bit number. */
CSIM_INLINE uint32_t csimi_spread_bits(uint32_t x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}
/* ---- broad.c: boxes (lower, upper) of listed shapes, of which those that meet one are asked for, many times. */
typedef struct csimi_crowd {
    int count;
    const uint64_t *list;
    const csim_real *box;    /* [6 shapes] */
    uint64_t *order, *other; /* [count] key << 32 | place in the list, and room for sorting */
    csim_real *around;       /* [6 count / 16 + 6] boxes around each 16 in that order */
} csimi_crowd;
CSIMI_FN void csimi_crowd_layout(csimi_crowd *c, int count, csimi_arena *arena);
CSIMI_FN void csimi_crowd_gather(csimi_crowd *c, int count, const uint64_t *list, const csim_real *box);
CSIMI_FN int csimi_crowd_near(const csimi_crowd *c, const csim_real *box, int *near); /* in the order of the list */
/* ---- all pairs i < j of axis-aligned boxes that overlap and whose groups differ or are negative.
   lower, upper [3 count]; group[count]: two boxes of the same group >= 0 never pair (one body, or all static ones).
   Writes pairs (2 ints each, sorted by i then j; beyond the capacity the first ones found, sorted) and returns how many
   there are. Sort and sweep along the axis on which boxes of ordinary size spread most: O(n log n + tests), where a box
   is tested against those that begin inside it, so that a floor costs O(n).
   scratch: csimi_broad_scratch bytes. Deterministic. */
CSIMI_FN size_t csimi_broad_scratch(int count);
CSIMI_FN int csimi_broad_pairs(int count, const csim_real *lower, const csim_real *upper, const int *group, int *pairs,
                               int capacity, void *scratch);

/* Sorts keys by their upper 32 bits, stable, by radix. *order holds the keys, *other has as much room; the two may have
   changed places afterwards. */
CSIMI_FN void csimi_radix_sort(int count, uint64_t **order, uint64_t **other);
/* Unsigned integers in the order of the numbers, which are rounded to float: order is kept, close numbers may tie. */
CSIMI_FN uint32_t csimi_real_key(csim_real x);

/* ---- field.c: what shapes refer to; behind it floats: values, samples, a ball for each block of them */
#define CSIMI_FIELD_GUARD 0x435346u /* "CSF" */
#define CSIMI_SAMPLE_BLOCK 32
struct csim_field {
    uint64_t magic, hash; /* of all that follows */
    uint64_t bytes;
    int32_t n[3];                   /* nodes; heights: n[2] = 1 */
    int32_t samples, blocks;
    int32_t open, flipped, crowded; /* edges */
    double cell, lower[3];          /* where node 0 of a mesh is */
    double low[3], high[3];         /* bounds of the solid */
    double error, volume, centre[3], second[6]; /* at density 1, second moments about the centre as of hulls */
};
CSIMI_FN size_t csimi_field_values(const csim_field *f);
CSIMI_FN const float *csimi_field_value(const csim_field *f);
CSIMI_FN void csimi_field_seal(csim_field *f); /* magic, size, hash */
CSIMI_FN csim_status csimi_check_block(const char *function, const void *block, size_t bytes, size_t needed,
                                       const csim_field **field, csim_error *error);
/* What definitions of a grid and of a level ask of their lists. */
CSIMI_FN csim_status csimi_check_mesh_list(const csim_real *vertices, int vertex_count, const int *triangles,
                                           int triangle_count, csim_real scale, const char *function,
                                           csim_error *error);
/* csim_shape_distance for a shape that is itself at p, its local pose included. */
CSIMI_FN csim_real csimi_distance_at(const csim_geometry *g, const csim_hull_data *hulls, csim_pose p, csim_vec3 point,
                                     csim_vec3 *normal, uint32_t *feature);
/* The same, or more than `within` where it is more: levels do not look for what is farther. */
CSIMI_FN csim_real csimi_distance_within(const csim_geometry *g, const csim_hull_data *hulls, csim_pose p,
                                         csim_vec3 point, csim_real within, csim_vec3 *normal);
/* csim_collide for shapes that are themselves at pa and pb. */
CSIMI_FN int csimi_collide_at(const csim_geometry *a, csim_pose pa, const csim_geometry *b, csim_pose pb,
                              const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity);
/* Signed distances in the shape's frame, outward unit normals. */
CSIMI_FN csim_real csimi_distance_mesh(const csim_field *f, csim_vec3 p, csim_vec3 *n);
CSIMI_FN csim_real csimi_least_mesh(const csim_field *f, csim_vec3 p); /* at most the distance, also far away */
/* What is farther outside than `within` may be said farther than it is. */
CSIMI_FN csim_real csimi_distance_heights(const csim_field *f, csim_vec3 p, csim_real within, csim_vec3 *n);
CSIMI_FN csim_vec3 csimi_height_node(const csim_field *f, int i, int j);
/* The triangles that have p above their inside, within a distance, the nearest first; at most `most`. */
typedef struct csimi_height_plane {
    csim_vec3 normal;
    csim_real distance;
    uint32_t triangle;
} csimi_height_plane;
CSIMI_FN int csimi_height_planes(const csim_field *f, csim_vec3 p, csim_real within, csimi_height_plane *plane,
                                 int most);
/* What a field is in a box of its frame: nothing, the side of one plane (z its normal), or else. */
typedef enum csimi_under { CSIMI_UNDER_NOTHING, CSIMI_UNDER_PLANE, CSIMI_UNDER_RELIEF } csimi_under;
CSIMI_FN csimi_under csimi_field_under(const csim_field *f, csim_vec3 lower, csim_vec3 upper, csim_vec3 middle,
                                       csim_pose *plane); /* middle: of the shape that asks */
/* Outward normal of the field at a point of its surface; whether a node of heights stands out. */
CSIMI_FN csim_vec3 csimi_field_normal(const csim_field *f, csim_vec3 p);
CSIMI_FN bool csimi_height_peak(const csim_field *f, int i, int j);
CSIMI_FN csim_vec3 csimi_sample_of(const csim_field *f, int i);
CSIMI_FN csim_vec3 csimi_sample_block(const csim_field *f, int block, csim_real *radius);

/* ---- surface.c: closed triangle surfaces that deform, with a bounding tree over a fixed order of their triangles */

/* Closest point of the triangle a b c to p as weights of the corners. Returns the feature it lies on: 0 the inside,
   1..3 the edge after corner 0..2, 4..6 corner 0..2. A triangle without area serves as its longest edge. */
CSIMI_FN int csimi_closest_triangle(csim_vec3 p, csim_vec3 a, csim_vec3 b, csim_vec3 c, csim_real *weight);

typedef struct csimi_surface {
    int count;           /* triangles */
    const int *triangle; /* [3 count] vertices, outward counter-clockwise, neighbours near each other in the list */
    const csim_real *x;  /* positions of the vertices */
    float *box;          /* [6 csimi_surface_boxes(count)]: nodes 1.. of a complete binary tree, rounded outward, by
                            fours 4 i .. 4 i + 3: their lower x, then y, z, and their upper ones */
    int leaves;
} csimi_surface;
/* Which triangles a vertex of the surface itself may not meet: those it belongs to, and those that were nearer than
   radius in the rest shape. And, for sheets that are met from several sides: what lies within 20 degrees of the
   directions found already, within 60 of crossed layers; and what is no least distance among its neighbours. */
typedef struct csimi_surface_skip {
    int vertex;            /* -1: of another body */
    const csim_real *rest; /* rest positions of the vertices */
    csim_real radius;
    bool sheet;
    int met_count;
    csim_vec3 met[3]; /* unit, from the surface to the point */
    bool crossed[3];
} csimi_surface_skip;
typedef struct csimi_surface_hit {
    int triangle, feature; /* as csimi_closest_triangle says */
    csim_real weight[3];
    csim_vec3 point;
    csim_real distance; /* >= 0 */
    csim_vec3 normal;   /* unit, outward: of the triangle, or the angle-weighted mean around an edge or corner */
    bool inside;
    bool border; /* an edge or corner with triangles on one side only */
} csimi_surface_hit;
CSIMI_FN int csimi_surface_leaves(int count); /* a power of 2 */
CSIMI_FN int csimi_surface_boxes(int count);  /* at most count + 4 */
/* Where the numbers of a node begin: lower ones at 0, 4, 8, upper ones at 12, 16, 20. */
CSIM_INLINE size_t csimi_surface_box(int node) { return 24 * (size_t)(node >> 2) + (size_t)(node & 3); }
/* An order that keeps neighbours together: along a Morton curve through the centroids. order [count] gets indices of
   triangles; keys [2 count]. Vertices are numbered as in x. */
CSIMI_FN void csimi_surface_order(int count, const int *triangle, const csim_real *x, int *order, uint64_t *keys);
/* One that fits the tree, for what stays as it is: halved across its longer side as the tree is. Slower to make, and
   boxes of the tree overlap little. */
CSIMI_FN void csimi_surface_split(int count, const int *triangle, const csim_real *x, int *order, uint64_t *keys);
CSIMI_FN void csimi_order_points(int count, const float *x, int *order, uint64_t *keys); /* the same of points */
CSIMI_FN void csimi_surface_refit(csimi_surface *s);
CSIMI_FN void csimi_surface_bounds(const csimi_surface *s, csim_vec3 *lower, csim_vec3 *upper);
/* Makes the boxes above a triangle hold the point p too. */
CSIMI_FN void csimi_surface_stretch(csimi_surface *s, int triangle, csim_vec3 p);
CSIMI_FN csim_vec3 csimi_triangle_normal(const csimi_surface *s, int triangle); /* unit */
/* The nearest point of the surface within the distance; false: none. Ties go to the lower place in the list. Whether p
   is inside is told by the sign of the angle-weighted normal (Baerentzen and Aanaes 2005), exact for closed surfaces
   that do not cut themselves. skip may be null. */
CSIMI_FN bool csimi_surface_nearest(const csimi_surface *s, csim_vec3 p, csim_real within,
                                    const csimi_surface_skip *skip, csimi_surface_hit *hit);

/* The triangles of the leaves whose boxes meet a box, in the order of the tree. */
typedef struct csimi_surface_walk {
    const csimi_surface *surface;
    csim_real lower[3], upper[3];
    int stack[64], top, next, end;
} csimi_surface_walk;
CSIMI_FN csimi_surface_walk csimi_surface_walk_in(const csimi_surface *s, csim_vec3 lower, csim_vec3 upper);
CSIMI_FN int csimi_surface_walk_next(csimi_surface_walk *w); /* -1: no more */

/* The triangles whose leaves a point meets that goes from origin by way, boxes being larger by half on each side, the
   nearer leaves first; most may be lowered on the way. */
typedef struct csimi_surface_slab {
    float from[3], to[3], inverse[3]; /* where the sides that are entered and left count from */
    int in[3], out[3];                /* those sides, as numbers of a box */
} csimi_surface_slab;
typedef struct csimi_surface_ray {
    const csimi_surface *surface;
    csim_real most;
    csimi_surface_slab slab;
    uint64_t stack[64]; /* where the ray enters a node, and which: the nearest on top */
    int top, next, end; /* the triangles of a leaf that are left */
    unsigned met;       /* those of them that the ray may meet, as bits */
} csimi_surface_ray;
CSIMI_FN void csimi_surface_ray_along(csimi_surface_ray *r, const csimi_surface *s, csim_vec3 origin, csim_vec3 way,
                                      csim_vec3 half, csim_real most);
CSIMI_FN bool csimi_surface_ray_leaf(csimi_surface_ray *r); /* to the next leaf; false: no more */
CSIMI_FN int csimi_surface_ray_next(csimi_surface_ray *r);  /* its triangles, one after another; -1: no more */
/* ---- rayfour.c: those of the triangles that a point may meet which goes from origin by way, half being zero: whether
   one does csimi_ray_triangle says. both: from behind too. Not to be mixed with the one before on one ray. */
CSIMI_FN int csimi_surface_ray_met(csimi_surface_ray *r, csim_vec3 origin, csim_vec3 way, bool both);

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

CSIM_INLINE bool csimi_only_static(csim_shape_kind kind) {
    return kind == CSIM_SHAPE_HALF_SPACE || kind == CSIM_SHAPE_HEIGHTS || kind == CSIM_SHAPE_TRIANGLES;
}

/* ---- triangles.c: levels of triangles. n of their field: vertices, triangles, CSIMI_FIELD_TRIANGLES; samples: bytes
   of a real; lower: 1 where both sides are met, the depth; cell: the mean edge; error: the rounding of corners. An edge
   is the one after corner e % 3 of the triangle at place e / 3 of the tree. */
#define CSIMI_FIELD_TRIANGLES 2
#define CSIMI_TRIANGLES_NO_EDGE (-1)
#define CSIMI_TRIANGLES_CROWD (-2)      /* an edge of more than two */
#define CSIMI_TRIANGLES_NAME 0x00ffffff /* above it: which edges are flat, and corners with flat edges alone */
#define CSIMI_TRIANGLES_RING 256        /* triangles around a corner that are looked at */
#define CSIMI_FACET_FLAT (CSIMI_EPS < CSIM_R(1e-12) ? CSIM_R(1e-6) : CSIM_R(1e-4)) /* rad */
typedef struct csimi_triangles {
    csimi_surface surface;
    const int *beyond; /* [3 count] the edge on the other side; < 0: none, or many */
    const int *name;   /* [count] number as given, and what is flat */
    const csim_real *normal; /* [3 count] */
    bool two_sided;
    csim_real depth, near; /* behind one side; no distance, m */
} csimi_triangles;
typedef enum csimi_fold { CSIMI_FOLD_BORDER, CSIMI_FOLD_FLAT, CSIMI_FOLD_HOLLOW, CSIMI_FOLD_CONVEX } csimi_fold;
CSIMI_FN csimi_triangles csimi_triangles_of(const csim_field *f);
CSIMI_FN size_t csimi_triangles_reals(const csim_field *f); /* before boxes and indices */
CSIMI_FN size_t csimi_triangles_used(const csim_field *f); /* bytes */
CSIMI_FN bool csimi_triangles_sound(const csim_field *f);
CSIMI_FN uint32_t csimi_triangle_name(const csimi_triangles *t, int place);
/* Bits: edges that are flat, then corners with flat edges alone. */
CSIMI_FN int csimi_triangle_flats(const csimi_triangles *t, int place);
CSIMI_FN csim_vec3 csimi_level_normal(const csimi_triangles *t, int place);
CSIMI_FN csim_vec3 csimi_triangle_corner(const csimi_triangles *t, int place, int k);
CSIMI_FN csim_vec3 csimi_triangle_opposite(const csimi_triangles *t, int edge);
CSIMI_FN csimi_fold csimi_triangle_fold(const csimi_triangles *t, int edge, csim_vec3 n);
/* Whether nothing around corner k of a triangle rises along n. */
CSIMI_FN bool csimi_triangle_ring_below(const csimi_triangles *t, int place, int k, csim_vec3 n);
CSIMI_FN csim_real csimi_distance_triangles(const csim_field *f, csim_vec3 p, csim_real within, csim_vec3 *n,
                                            uint32_t *name); /* CSIMI_HUGE: farther */
/* What the level is in a box, for a shape whose middle is given; *at on the plane, *normal towards the middle. */
CSIMI_FN csimi_under csimi_triangles_under(const csim_field *f, csim_vec3 lower, csim_vec3 upper, csim_vec3 middle,
                                           csim_vec3 *at, csim_vec3 *normal);

CSIM_INLINE csim_shape_kind csimi_field_kind(const csim_field *f) {
    if (f && f->n[2] == 1) return CSIM_SHAPE_HEIGHTS;
    return f && f->n[2] == CSIMI_FIELD_TRIANGLES ? CSIM_SHAPE_TRIANGLES : CSIM_SHAPE_MESH;
}

/* ---- facet.c: one triangle as a shape meets it, from one side. Also a polytope of one face, whose edges have the
   directions out of them as their other faces. */
typedef struct csimi_facet {
    const csimi_triangles *mesh;
    int place, corner[3], edge[3]; /* which of the triangle's */
    csim_vec3 n;
    csim_real vertex[9], normal[12], offset, size;
} csimi_facet;
CSIMI_FN bool csimi_facet_of(csimi_facet *f, const csimi_triangles *t, int place, csim_vec3 middle);
CSIMI_FN csimi_fold csimi_facet_fold(const csimi_facet *f, int k);
/* Whether n, from the triangle outward, is a normal of the surface there; else *snaps: the triangle's own would do. */
CSIMI_FN bool csimi_facet_allows(const csimi_facet *f, csim_vec3 n, bool *snaps);
CSIMI_FN csim_real csimi_facet_distance(const csimi_facet *f, csim_vec3 x, csim_vec3 *n);
/* A point against the triangle: within a distance before it or a depth behind it, where no neighbour is nearer. */
CSIMI_FN bool csimi_facet_point(const csimi_facet *f, csim_vec3 x, csim_real within, csim_real depth, csim_vec3 *n,
                                csim_real *distance);
/* The nearest places of the surface around a point, by direction: at most `most`, the nearest first. */
typedef struct csimi_foot {
    csim_vec3 normal;
    csim_real distance;
    uint32_t name;
} csimi_foot;
CSIMI_FN int csimi_triangles_feet(const csim_field *field, csim_vec3 x, csim_real within, csimi_foot *foot, int most);
/* level.c: csimi_collide_at of a convex shape and triangles that are not one plane. */
CSIMI_FN int csimi_collide_triangles(const csim_geometry *g, csim_pose p, const csim_geometry *level, csim_pose at,
                                     const csim_hull_data *hulls, csim_real margin, csim_touch *touch, int capacity);
/* polytope.c: a box or hull; manifold.c: a capsule or cylinder. Poses in the frame of the level. */
CSIMI_FN int csimi_collide_facet(const csim_geometry *g, csim_pose p, const csimi_facet *f, const csim_hull_data *hulls,
                                 csim_real margin, csim_touch *touches, int capacity);
CSIMI_FN int csimi_meet_facet(const csim_geometry *g, csim_pose p, const csimi_facet *f, const csim_hull_data *hulls,
                              csim_real margin, csim_touch *touches, int capacity);
CSIMI_FN csim_real csimi_facet_gap(const csim_geometry *g, csim_pose pose, const csimi_facet *f,
                                   const csim_hull_data *hulls, csim_vec3 *n);
CSIMI_FN void csimi_polytope_facet(csimi_polytope *p, const csimi_facet *f);
/* manifold.c: how deep x is after tilt k; bin: the axis of the normal, of csimi_normal_bin modulo 3. */
CSIMI_FN csim_real csimi_tilted(csim_vec3 x, csim_real gap, int bin, int k);
CSIMI_FN int csimi_normal_bin(csim_vec3 n);
/* csimi_collide_at but for boxes and hulls against each other, and levels of triangles against what is convex. */
CSIMI_FN int csimi_meet_pair(const csim_geometry *a, csim_pose pa, const csim_geometry *b, csim_pose pb,
                             const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity);
CSIMI_FN int csimi_touch_way(csim_vec3 n); /* level.c: 0..53, finer */

/* ---- sample.c: points of a shape's surface that stand for it against surfaces that are not convex: corners, points on
   edges and rims at most a spacing apart (63 an edge at most), and centres of balls that touch the curved sides from
   within. In the shape's frame; number stays while shape and spacing do. Half-spaces have none. Meshes have samples of
   their own, in blocks that can be passed over; heights their nodes inside a region. */
typedef struct csimi_sampler {
    const csim_geometry *geometry;
    csimi_polytope polytope; /* boxes and hulls */
    csim_real spacing;
    int next;  /* sample to come */
    int along; /* of this edge: samples inside; rims and axes: samples in all */
    int edge;
    csim_vec3 point;
    csim_real radius; /* of the ball around it, >= 0 */
    int number;
    bool begins;      /* the first of a block that lies in a ball: the next may be passed over */
    csim_vec3 middle; /* of that ball */
    csim_real ball;
    int from[2], end[2]; /* nodes of heights: all at first */
    csim_real least;     /* and none below */
} csimi_sampler;
CSIMI_FN void csimi_sampler_start(csimi_sampler *s, const csim_geometry *g, const csim_hull_data *hulls,
                                  csim_real spacing);
CSIMI_FN bool csimi_sampler_next(csimi_sampler *s);
CSIMI_FN void csimi_sampler_pass(csimi_sampler *s); /* the rest of the block */
CSIMI_FN void csimi_sampler_limit(csimi_sampler *s, csim_vec3 lower, csim_vec3 upper); /* heights: nodes within */

/* ---- hull.c */

/* Convex hull of finite points, of 64 corners at most. Corners closer than 2e-5 of the extents are one corner, faces
   flat within 1e-5 are one polygon. Fails with CSIM_BAD_MESH when the points are flat. function: whose name the error
   carries. */
CSIMI_FN csim_status csimi_hull_build(const char *function, const csim_vec3 *points, int count, csim_hull_data *hull,
                                      csim_error *error);
/* Adds the volume, first and second moments of the tetrahedron 0 a b c. */
CSIMI_FN void csimi_add_tetrahedron(const double *a, const double *b, const double *c, double *volume, double *first,
                                    double *second);
/* Volume, centre and second moments (xx, xy, xz, yy, yz, zz) about the centre of the same hull, at density 1. */
CSIMI_FN csim_status csimi_hull_moments(const char *function, const csim_vec3 *points, int count, double *volume,
                                        double *centre, double *second, csim_error *error);
/* shape.c: bounds of a hull in its own axes */
CSIMI_FN void csimi_bound_hull(const csim_hull_data *hull, csim_geometry *g);
/* shape.c: sum += part, both in the same axes, both with mass. */
CSIMI_FN void csimi_add_mass(csim_mass *sum, const csim_mass *part);

/* ---- bounds_tree.c: a tree of boxes that is kept while they move. Leaves have numbers that stay; a leaf's box is
   larger than what it holds, so that most motions change nothing. Boxes are float, rounded outwards; children are
   chosen by the surface they add (Goldsmith and Salmon 1987), a tree that decayed is built anew by binned surface areas
   (Wald 2007). What a walk finds does not depend on the shape of the tree, the order in which it finds it does. */
#define CSIMI_BOUNDS_DEPTH 64

typedef struct csimi_bounds_node {
    float lower[3];
    int left; /* ~leaf: a leaf */
    float upper[3];
    int right;
} csimi_bounds_node;

typedef struct csimi_bounds_tree {
    int capacity; /* leaves */
    int root, free_node, node_high, free_leaf, leaf_high, count, wide_count;
    int changes;  /* leaves put in, taken out or made larger since it was built */
    double built; /* its cost then */
    csimi_bounds_node *node; /* [2 capacity] */
    int *parent, *height;    /* [2 capacity] of nodes; parent also: the next free one */
    int *leaf_node;          /* [capacity] node; -1: wide, -2 - k: free, k the next free one or -1 */
    int *wide;               /* [capacity] leaves without end, that would spoil the tree */
    int *order;              /* [capacity] and */
    csimi_bounds_node *box;  /* [capacity] while it is built */
} csimi_bounds_tree;

CSIMI_FN void csimi_bounds_layout(csimi_bounds_tree *t, int capacity, csimi_arena *arena);
CSIMI_FN void csimi_bounds_clear(csimi_bounds_tree *t);
CSIMI_FN void csimi_bounds_copy(csimi_bounds_tree *to, const csimi_bounds_tree *from); /* to a capacity not smaller */
CSIMI_FN int csimi_bounds_insert(csimi_bounds_tree *t, csim_vec3 lower, csim_vec3 upper); /* the number of the leaf */
CSIMI_FN void csimi_bounds_remove(csimi_bounds_tree *t, int leaf);
CSIMI_FN bool csimi_bounds_fits(const csimi_bounds_tree *t, int leaf, csim_vec3 lower, csim_vec3 upper);
/* Makes room for a new box; when there is none yet, more by `ahead` on every side. False: there was. */
CSIMI_FN bool csimi_bounds_move(csimi_bounds_tree *t, int leaf, csim_vec3 lower, csim_vec3 upper, csim_real ahead);
/* Builds the tree anew when enough has changed and it costs much more than when it was built; always: in any case. */
CSIMI_FN void csimi_bounds_tend(csimi_bounds_tree *t, bool always);

/* Leaves whose boxes meet a box. Next: -1 after the last. */
typedef struct csimi_bounds_walk {
    const csimi_bounds_tree *tree;
    csim_real lower[3], upper[3];
    int stack[CSIMI_BOUNDS_DEPTH], top, wide;
} csimi_bounds_walk;
CSIMI_FN void csimi_bounds_walk_in(csimi_bounds_walk *w, const csimi_bounds_tree *t, csim_vec3 lower, csim_vec3 upper);
CSIMI_FN int csimi_bounds_next(csimi_bounds_walk *w);

/* 1 / way, for boxes: large where it is 0, so that 0 times it is 0. */
CSIMI_FN void csimi_ray_inverse(csim_vec3 way, csim_real *inverse);
/* Leaves whose boxes, larger by half on each side, a point meets that goes from origin by way, until the fraction most
   of it, which the caller may lower on the way; the nearer ones first where boxes do not overlap. */
typedef struct csimi_bounds_ray {
    const csimi_bounds_tree *tree;
    csim_real origin[3], inverse[3], half[3], most;
    csim_real enter[CSIMI_BOUNDS_DEPTH];
    int stack[CSIMI_BOUNDS_DEPTH], top, wide;
} csimi_bounds_ray;
CSIMI_FN void csimi_bounds_ray_along(csimi_bounds_ray *r, const csimi_bounds_tree *t, csim_vec3 origin, csim_vec3 way,
                                     csim_vec3 half, csim_real most);
CSIMI_FN int csimi_bounds_ray_next(csimi_bounds_ray *r);

/* Leaves whose boxes are at most `most` from a point, squared, which the caller may lower; nearer ones first. */
typedef struct csimi_bounds_near {
    const csimi_bounds_tree *tree;
    csim_real point[3], most;
    csim_real distance[CSIMI_BOUNDS_DEPTH];
    int stack[CSIMI_BOUNDS_DEPTH], top, wide;
} csimi_bounds_near;
CSIMI_FN void csimi_bounds_near_to(csimi_bounds_near *n, const csimi_bounds_tree *t, csim_vec3 point, csim_real most);
CSIMI_FN int csimi_bounds_near_next(csimi_bounds_near *n);

/* ---- ray.c: where the way of a point enters a shape, exactly. Returns bits. */
enum { CSIMI_RAY_ENTERS = 1, CSIMI_RAY_BEGINS_INSIDE = 2 };
#define CSIMI_NO_FEATURE 0xffffffffu
typedef struct csimi_ray_hit {
    csim_real fraction; /* of the way */
    csim_vec3 normal;   /* outward, unit */
    uint32_t feature;   /* as csim_shape_distance names it; heights: the triangle, CSIMI_NO_FEATURE: a wall */
} csimi_ray_hit;
/* A shape that is itself at p. Entries at fractions in [0, most]; what begins inside enters where it comes back. */
CSIMI_FN int csimi_ray_at(const csim_geometry *g, const csim_hull_data *hulls, csim_pose p, csim_vec3 origin,
                          csim_vec3 way, csim_real most, csimi_ray_hit *hit);
/* The set of points at most `level` from the surface of a mesh or inside, in its frame. */
CSIMI_FN int csimi_ray_mesh(const csim_field *f, csim_vec3 origin, csim_vec3 way, csim_real level, csim_real most,
                            csimi_ray_hit *hit);
/* Through a triangle, from the side its normal shows to, or from both; weights of the corners. A way through an
   edge or corner meets a triangle there, perhaps more than one. */
CSIMI_FN bool csimi_ray_triangle(const csim_vec3 *corner /* [3] */, csim_vec3 origin, csim_vec3 way, bool both,
                                 csim_real most, csim_real *fraction, csim_real *weight /* [3] */);

/* ---- convex.c: distances and casts of convex shapes, by the algorithm of Gilbert, Johnson and Keerthi (1988). */
typedef struct csimi_convex {
    csim_shape_kind kind; /* any convex one */
    csim_pose pose;       /* of the shape itself */
    csim_vec3 half;
    csim_real radius, half_height;
    const csim_real *point; /* [3 count] hulls, triangles */
    int count;
    csim_real round; /* how far its surface is outside of the core that is searched */
    csim_real size;  /* for tolerances */
    const csim_geometry *geometry; /* what to take samples of against meshes; null: points */
} csimi_convex;
CSIMI_FN void csimi_convex_of(csimi_convex *c, const csim_geometry *g, const csim_hull_data *hulls, csim_pose p);
/* Corners in world axes, [3 count]. */
CSIMI_FN void csimi_convex_points(csimi_convex *c, const csim_real *point, int count);
CSIMI_FN void csimi_convex_segment(csimi_convex *c, const csim_real *ends /* [6] */, csim_real radius);
/* Distance, 0 where they overlap; the points nearest to each other and the unit normal from b to a when it is above 0.
   shift: of a. */
CSIMI_FN csim_real csimi_convex_distance(const csimi_convex *a, csim_vec3 shift, const csimi_convex *b, csim_vec3 *on_b,
                                         csim_vec3 *normal);
CSIMI_FN csim_vec3 csimi_against(csim_vec3 way);
/* The fraction of the way at which a first touches b, at most `most`; 0 when it does at once. Newton's method: the
   distance of convex sets is a convex function of the way, so no step goes too far. */
CSIMI_FN bool csimi_convex_cast(const csimi_convex *a, csim_vec3 way, const csimi_convex *b, csim_real most,
                                csim_real *fraction, csim_vec3 *on_b, csim_vec3 *normal);
/* The same against a shape of any kind that is itself at p: heights by their triangles, meshes by the points that stand
   for both. */
CSIMI_FN bool csimi_cast_at(const csimi_convex *a, csim_vec3 way, const csim_geometry *g, const csim_hull_data *hulls,
                            csim_pose p, csim_real most, csimi_ray_hit *hit, csim_vec3 *point);
CSIMI_FN void csimi_convex_bounds(const csimi_convex *c, csim_vec3 *lower, csim_vec3 *upper);

#endif
