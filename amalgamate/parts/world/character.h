/* world/character: moving a capsule among everything else without being a body: planes in reach, a slide along them,
   a cast, and the three together. Nothing is kept between calls: a controller is a function of the world and of the
   numbers it keeps for itself (examples/08_character.c, scene character). As queries, these calls change nothing, take
   no memory and may be asked from many threads. docs/characters.md. */
#ifndef CSIM_CHARACTER_H
#define CSIM_CHARACTER_H

#include "queries.h"

/* The capsule: a segment swept by a ball; a and b may be one point. */
typedef struct csim_mover {
    csim_vec3 a, b;   /* m, world axes */
    csim_real radius; /* above 0, at most 1e9 m */
} csim_mover;

/* A plane between a capsule and something near it: the capsule may move by x where normal . x >= -gap. */
typedef struct csim_plane {
    csim_vec3 normal;   /* unit, towards the capsule */
    csim_real gap;      /* m between the surfaces; below 0 where they overlap */
    csim_vec3 point;    /* on the other surface */
    csim_vec3 velocity; /* of what is there, m/s: a platform, a conveyor's body, a swinging cable */
    csim_body_id body;
    void *user_data;
    csim_query_part part;
    int index; /* as in csim_query_hit */
} csim_plane;

/* The planes of everything within a distance (>= 0) of the capsule, by gap: a convex shape, particle or edge of a cable
   gives one, a surface one for each triangle, meshes and heights those of five points of the axis. Planes of one body
   that are the same to a thousandth count once. Writes the nearest `capacity` (1..CSIM_PLANES_MOST), returns how
   many it wrote; of more than 64 parts in reach those of the lowest slots are looked at. Refused as queries are: 0. */
enum { CSIM_PLANES_MOST = 12 };
CSIM_API int csim_world_capsule_planes(const csim_world *world, const csim_query_def *def, const csim_mover *capsule,
                                       csim_real within, csim_plane *planes, int capacity);
/* The way nearest to `way` that goes through none of the planes: the exact solution of min |x - way| with
   normal . x >= skin - gap for all of them, no more than CSIM_PLANES_MOST. Where they leave no way open, the one that
   violates them least among those on one, two or three of them. Also for planes of your own. */
CSIM_API csim_vec3 csim_slide(const csim_plane *planes, int count, csim_real skin, csim_vec3 way);
/* csim_world_cast_shape of the capsule. */
CSIM_API bool csim_world_cast_capsule(const csim_world *world, const csim_query_def *def, const csim_mover *capsule,
                                      csim_vec3 way, csim_query_hit *hit);
/* Moves the capsule by `way` as far as it can go, sliding along what it meets and leaving `skin` (0..1 m) of air;
   overlaps are left. Returns the way it went. The planes within 2 skin of where it ends go to planes (null with
   capacity 0), their number to *count (may be null). */
CSIM_API csim_vec3 csim_world_move_capsule(const csim_world *world, const csim_query_def *def,
                                           const csim_mover *capsule, csim_vec3 way, csim_real skin,
                                           csim_plane *planes, int capacity, int *count);

#endif
