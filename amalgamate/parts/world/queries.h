/* world/queries: what lies where: rays, casts of shapes, overlaps and closest points.

   Queries read a world between its steps and change nothing: any number of threads may ask at once, nothing is
   allocated, and answers depend on the state of the world alone, not on its past. They see every body as it lies now:
   the shapes of rigid bodies and links, cables with their radius, the triangles of solids, cloth and reduced bodies,
   particles; thicknesses of surfaces are left out. A tree of boxes, kept by every step and every call that moves
   something, finds what may be met; then rays are exact for every kind (meshes: the surface of their grid), casts and
   overlaps are exact between convex shapes, particles, cables and triangles (cylinders to 1e-6 of their size), and go
   by the points that stand for both where a mesh field is met. docs/queries.md. */
#ifndef CSIM_QUERIES_H
#define CSIM_QUERIES_H

#include "world.h"

/* What of a body was met. */
typedef enum csim_query_part {
    CSIM_QUERY_SHAPE,    /* index: of the shape in its body or tree */
    CSIM_QUERY_PARTICLE, /* index 0 */
    CSIM_QUERY_EDGE,     /* of a cable; index: of the edge, weight: of its two nodes */
    CSIM_QUERY_TRIANGLE, /* of a solid, cloth or reduced body; index: in csim_body_surface, weight: of its corners */
    CSIM_QUERY_INSIDE    /* of a solid or reduced body whose surface was not met: index is that of a nearest triangle */
} csim_query_part;

/* One answer. */
typedef struct csim_query_hit {
    csim_body_id body;
    void *user_data;       /* of the body */
    void *shape_user_data; /* of the shape; else null */
    csim_query_part part;
    int index;
    int link;            /* of a tree; else -1 */
    uint32_t feature;    /* of a shape, as csim_shape_distance names it; heights, triangles: the triangle. Else 0 */
    csim_vec3 point;     /* on the surface, world axes, m */
    csim_vec3 normal; /* outward, unit; of cloth: towards the one who asks. What overlaps from the start of a cast and
                         inside of what a ray begins: against the way, or z without one */
    csim_real fraction;  /* of the way, 0..1; overlaps and closest points: 0 */
    csim_real distance;  /* m: fraction times the length of the way; closest points: signed, < 0 inside */
    csim_real weight[3]; /* of nodes; else 0 */
} csim_query_hit;

/* Who is asked. */
typedef struct csim_query_def {
    uint32_t category, mask; /* bodies are asked whose category has a bit of mask, and whose mask has one of category:
                                as between two bodies; default all */
    csim_body_id ignore;     /* this body is not asked; default none */
    /* Not null: false leaves this part of this body out. It may be asked about what is not told in the end, more than
       once, in any order, by every thread that asks queries. */
    bool (*accept)(void *user, csim_body_id body, void *body_user_data, csim_query_part part, int index);
    void *user;
    bool sensors;      /* shapes that are sensors are asked too; default false */
    bool inside;       /* rays that begin inside of something solid meet it at 0; default false: they meet what they
                          enter, and so what they begin in only when they come back to it */
    csim_error *error; /* where a refused call says why; default null */
    uint32_t guard;
} csim_query_def;

/* Everything is asked, rays meet what they enter. */
CSIM_API csim_query_def csim_default_query_def(void);

/* In all calls def may be null: the defaults. A call is refused, tells nothing and writes def->error for a null
   argument, a definition that was not made by csim_default_query_def, values that are not finite or above 1e9 m, a
   shape that is not convex (half-spaces, meshes, heights), and while the world steps (CSIM_LOCKED). */

/* The first thing on the way of a point from origin to origin + way. False: nothing, hit is unchanged. Of things at the
   same fraction the body with the lower slot, of a body the part with the lower index is told. */
CSIM_API bool csim_world_cast_ray(const csim_world *world, const csim_query_def *def, csim_vec3 origin, csim_vec3 way,
                                  csim_query_hit *hit);
/* All entries into surfaces along the way: the first `capacity` of them into hits, by fraction, then by slot and index;
   cloth at both sides, a shape once (meshes and heights: where it is entered first). Returns how many there are, also
   beyond the capacity. Where the way goes through an edge of triangles both may be told. */
CSIM_API int csim_world_cast_ray_all(const csim_world *world, const csim_query_def *def, csim_vec3 origin,
                                     csim_vec3 way, csim_query_hit *hits, int capacity);
/* Whether anything is on the way: the fastest of the three. */
CSIM_API bool csim_world_ray_meets(const csim_world *world, const csim_query_def *def, csim_vec3 origin, csim_vec3 way);
/* The first thing that a convex shape touches that moves from pose by way without turning; shape->local counts. What it
   overlaps at first is met at fraction 0. Points of hulls are read here, all of them count. */
CSIM_API bool csim_world_cast_shape(const csim_world *world, const csim_query_def *def, const csim_shape *shape,
                                    csim_pose pose, csim_vec3 way, csim_query_hit *hit);
/* Everything that overlaps or touches a convex shape at pose: one hit for each shape, particle, edge of a cable, and
   one for the surface of a body (its lowest triangle, or CSIM_QUERY_INSIDE), by slot and index. point and normal are
   not told. Returns how many there are; the first `capacity` are written. */
CSIM_API int csim_world_overlap_shape(const csim_world *world, const csim_query_def *def, const csim_shape *shape,
                                      csim_pose pose, csim_query_hit *hits, int capacity);
/* The same for a box along the axes of the world; lower < upper. */
CSIM_API int csim_world_overlap_box(const csim_world *world, const csim_query_def *def, csim_vec3 lower,
                                    csim_vec3 upper, csim_query_hit *hits, int capacity);
/* The surface nearest to a point, within a distance >= 0: of what has the point inside, the one it is deepest in. */
CSIM_API bool csim_world_closest_point(const csim_world *world, const csim_query_def *def, csim_vec3 point,
                                       csim_real within, csim_query_hit *hit);

#endif
