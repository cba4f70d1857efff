/* world/cloth: sheets of triangles that stretch, bend and touch. */
#ifndef CSIM_CLOTH_H
#define CSIM_CLOTH_H

#include "world.h"

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
    int aggregates;          /* groups of the coarse correction; 0: by size */
    bool self_collision;     /* default false: it passes through itself */
    csim_real self_distance; /* parts nearer than this at rest never touch each other, m; 0 (default): the mean edge,
                                two thicknesses at least */
    bool corner_contact;     /* default false: rigid bodies push its vertices; true: their corners, edges and samples
                                push its triangles too */
    bool edge_contact;       /* default true: its edges meet edges of cloth (of its own with self_collision), which
                                vertices miss; both must have it */
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
