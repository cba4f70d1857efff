/* mesh: structured tetrahedral meshes made in C. All tets upright. */
#ifndef SCENE_MESH_H
#define SCENE_MESH_H

#include "condsim.h"

typedef struct scene_mesh {
    int vertex_count, tet_count;
    csim_real *vertices; /* [3 vertex_count], m */
    int *tets;           /* [4 tet_count] */
} scene_mesh;

/* nx x ny x nz cells of six tets each filling the box; vertex (i, j, k) has index (k (ny + 1) + j) (nx + 1) + i.
   false: out of memory. */
bool scene_mesh_box(scene_mesh *mesh, int nx, int ny, int nz, csim_vec3 low, csim_vec3 high);
/* A ball about the origin: a rounded cube of core^3 cells, its surface carried outwards in layers of prisms. */
bool scene_mesh_ball(scene_mesh *mesh, int core, int layers, double radius);
/* The cells of such a box for which keep says so, and the vertices they use; vertices keep their order. number
   (may be null): [(nx + 1)(ny + 1)(nz + 1)] gets the new index of each grid vertex, -1: not used. */
bool scene_mesh_cut(scene_mesh *mesh, int nx, int ny, int nz, csim_vec3 low, csim_vec3 high,
                    bool (*keep)(const void *user, int i, int j, int k), const void *user, int *number);
void scene_mesh_free(scene_mesh *mesh);

#endif
