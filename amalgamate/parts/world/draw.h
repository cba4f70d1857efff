/* world/draw: what a world looks like, as lines, triangles and points for a debugger's screen. Callbacks of the caller
   draw; the library only says what and where. The world is const and no memory is taken. docs/debugging.md. */
#ifndef CSIM_DRAW_H
#define CSIM_DRAW_H

#include "joint.h"

/* What a line, triangle or point means. */
typedef enum csim_draw_kind {
    CSIM_DRAW_SHAPES,   /* edges of rigid shapes, links, levels and meshes, segments of cables, particles */
    CSIM_DRAW_SURFACES, /* triangles of solids, cloth and reduced bodies */
    CSIM_DRAW_JOINTS,   /* points, the way between them, axes; springs and pins too */
    CSIM_DRAW_LIMITS,   /* arcs of twists, ellipses of cones, ways between limits; where the axis is now */
    CSIM_DRAW_CONTACTS, /* points and normals of the last step */
    CSIM_DRAW_IMPULSES, /* of the last step, from the contact, on a */
    CSIM_DRAW_BOUNDS,   /* boxes along the axes of the world */
    CSIM_DRAW_CENTRES,  /* axes of rigid bodies and links at their poses */
    CSIM_DRAW_ISLANDS,  /* from each body to the first one of its island; needs `islands` */
    CSIM_DRAW_SLEEP,    /* nothing of its own: bodies that are asleep have its colour, whatever is drawn of them */
    CSIM_DRAW_KIND_COUNT_
} csim_draw_kind;

/* Who draws, and what. A null callback: nothing of its sort is drawn. Colours are 0xrrggbb. Callbacks must not change
   the world. */
typedef struct csim_draw {
    void (*point)(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 at);
    void (*line)(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 from, csim_vec3 to);
    void (*triangle)(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 a, csim_vec3 b, csim_vec3 c);
    void *user;
    unsigned kinds;         /* bits 1 << csim_draw_kind; default all but bounds and islands */
    csim_real size;         /* m: of axes, normals, arcs; default 0.2 */
    csim_real per_impulse;  /* m per N s; default 0.1 */
    csim_real ground;       /* m: half of the square that stands for a half-space; default 10 */
    csim_vec3 around;       /* levels, height fields and meshes are drawn in a cube around this point, along */
    csim_real within;       /* their own axes, of half this side, m; default 0, 0, 0 and 1e9: everywhere */
    int triangles;          /* at most so many of each; default 10000 */
    uint32_t colour[CSIM_DRAW_KIND_COUNT_]; /* dynamic bodies of an island share one of their own where islands are
                                               drawn; default: a colour for each kind */
    int *islands;           /* [island_count] room to number islands in, one for each body there has ever been at once
                               (csim_world_used().bodies); default null: islands are not drawn */
    int island_count;
    uint32_t guard;
} csim_draw;

/* The defaults above, and no callbacks. */
CSIM_API csim_draw csim_default_draw(void);
/* Draws the world as it lies now, contacts and impulses of the last step, bodies in the order in which they were made.
   The same world draws the same. Fails: CSIM_NULL_ARGUMENT, CSIM_DEF_NOT_INITIALISED, CSIM_OUT_OF_RANGE (size,
   per_impulse, ground, around, within, triangles), CSIM_CAPACITY (island_count), CSIM_LOCKED; nothing is drawn then. */
CSIM_API csim_status csim_world_draw(const csim_world *world, const csim_draw *draw);

#endif
