/* collide/shape: rigid shapes, their mass, and contact points between them; stateless functions on plain data. */
#ifndef CSIM_SHAPE_H
#define CSIM_SHAPE_H

#include "../base/status.h"
#include "../math/vec3.h"

#define CSIM_HULL_MAX_VERTICES 64
#define CSIM_HULL_MAX_FACES 124 /* 2 V - 4 */
#define CSIM_HULL_MAX_EDGES 186 /* 3 V - 6 */

/* Kinds of shapes and what describes them. */
typedef enum csim_shape_kind {
    CSIM_SHAPE_HALF_SPACE, /* z <= 0 of the shape's frame is solid; static bodies only */
    CSIM_SHAPE_SPHERE,     /* radius */
    CSIM_SHAPE_CAPSULE,    /* radius, half_height: segment along z of the shape's frame, swept by the radius */
    CSIM_SHAPE_BOX,        /* half: half sizes along x, y, z */
    CSIM_SHAPE_CYLINDER,   /* radius, half_height: along z */
    CSIM_SHAPE_HULL,       /* convex hull of points */
    CSIM_SHAPE_MESH,       /* a closed triangle mesh: a field, see field.h */
    CSIM_SHAPE_HEIGHTS,    /* a height field, static bodies only: a field, see field.h */
    CSIM_SHAPE_TRIANGLES,  /* triangles as they are, static bodies only: a field, see field.h */
    CSIM_SHAPE_COUNT_
} csim_shape_kind;

struct csim_field;
struct csim_surface_def;

/* A shape as the user describes it. Make it by one of the functions below; lengths in m. */
typedef struct csim_shape {
    csim_shape_kind kind;
    csim_pose local;         /* pose of the shape in its body; default identity */
    csim_vec3 half;          /* box, > 0 */
    csim_real radius;        /* sphere, capsule, cylinder, > 0 */
    csim_real half_height;   /* capsule >= 0, cylinder > 0 */
    const csim_vec3 *points; /* [point_count] hull, 4..1e6 points in the shape's frame; read while the body is created.
                                A hull has 64 corners at most: of more, those farthest outside; csim_hull_overhang */
    int point_count;
    csim_real spacing; /* distance between contact samples on the rims of cylinders; 0: radius / 2. Rims against flat
                          faces are exact; it is the resolution at which rims find what they meet first */
    const struct csim_field *field; /* meshes, heights, triangles: the caller's, as long as the shape or body is used */
    const struct csim_surface_def *surface; /* friction, filter and the rest, copied; null (default): its body's */
    bool sensor;     /* detects and never touches; has no mass; default false. docs/events.md */
    void *user_data; /* csim_body_get_shape_user_data */
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

/* A baked shape: what collision reads. Plain data without pointers but that to a field, so it can be copied. Faces of
   hulls are convex polygons, counter-clockwise seen from outside. */
typedef struct csim_geometry {
    csim_shape_kind kind; /* this and the next four: as in csim_shape */
    csim_pose local;
    csim_vec3 half;
    csim_real radius, half_height, spacing;
    csim_vec3 centre;     /* of a bounding sphere, in the shape's frame */
    csim_real bound;      /* its radius; half-space: infinite in effect */
    int hull;             /* hulls: index of the hull record in the array given to collision; else -1 */
    const struct csim_field *field; /* meshes, heights, triangles, else null */
    uint64_t field_hash;            /* of its bytes */
} csim_geometry;

/* A baked convex polyhedron; boxes have none (their topology is fixed). */
typedef struct csim_hull_data {
    int vertex_count, face_count, edge_count;
    csim_real vertex[3 * CSIM_HULL_MAX_VERTICES];   /* m, axes of the shape */
    csim_real normal[3 * CSIM_HULL_MAX_FACES];      /* outward unit normals */
    csim_real offset[CSIM_HULL_MAX_FACES];          /* normal . x <= offset inside */
    short face_start[CSIM_HULL_MAX_FACES + 1];      /* first entry of each face in face_vertex */
    unsigned char face_vertex[2 * CSIM_HULL_MAX_EDGES];
    unsigned char edge_vertex[2 * CSIM_HULL_MAX_EDGES]; /* ends of each edge */
    unsigned char edge_face[2 * CSIM_HULL_MAX_EDGES];   /* and the faces on its two sides */
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
   Fails: CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_BAD_MESH (flat hull, too few or too many points). A cloud costs some
   4000 products of vectors a point. */
CSIM_API csim_status csim_shape_bake(const csim_shape *shape, csim_geometry *geometry, csim_hull_data *hull,
                                     csim_error *error);

/* How far the farthest of the points lies outside a baked hull, m, exact. Of the points it was baked from: 2e-5 of
   their extents at most (corners nearer than that are one) where their hull has no more than 64 corners; else what the
   64 leave out, 0.06 radii of a ball. */
CSIM_API csim_real csim_hull_overhang(const csim_vec3 *points, int point_count, const csim_hull_data *hull);

/* Signed distance of a world point to the surface of a shape placed at pose (of its body): > 0 outside, < 0 inside.
   normal: outward unit normal at the nearest surface point (never zero, any when the point is the exact centre);
   feature: the nearest face, edge or zone. hulls: array that geometry->hull indexes. Exact for all kinds but meshes
   (their grid, and beyond it from the feet it gives) and points more than 16 cells above heights (a lower bound). */
CSIM_API csim_real csim_shape_distance(const csim_geometry *geometry, const csim_hull_data *hulls, csim_pose pose,
                                       csim_vec3 point, csim_vec3 *normal, uint32_t *feature);

/* Contact points between two shapes whose bodies are at the given poses, wherever the gap is at most margin [m].
   Writes at most capacity touches and returns how many there are (a return above capacity means the rest was not
   written). Boxes and hulls: separating axes over faces and edge pairs, then corners over faces and crossings of edges;
   gaps are exact but for ties, 1e-5 of the size. Spheres and capsules are exact against all; cylinders are exact on
   planes and along their sides, and find edges and rims that cross their own; else their rims are sampled. Order and
   features are deterministic, and features stay while the same corners and edges touch. */
CSIM_API int csim_collide(const csim_geometry *a, csim_pose pose_a, const csim_geometry *b, csim_pose pose_b,
                          const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity);

/* Axis-aligned bounds of a shape placed at pose. A half-space gets +-CSIM_R(1e18)-sized bounds. */
CSIM_API void csim_shape_bounds(const csim_geometry *geometry, const csim_hull_data *hulls, csim_pose pose,
                                csim_vec3 *lower, csim_vec3 *upper);

#endif
