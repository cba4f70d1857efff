/* io/make: meshes without a file: boxes of tetrahedra and sheets of triangles. */
#include "private.h"

enum { CSIMI_MAKE_CELLS = 1000000 }; /* most along an axis; the product is bound by int */

/* One block for the arrays; the counts of the mesh are set. */
static csim_status csimi_make_block(const csim_allocator *allocator, csim_mesh *mesh, const char *function,
                                    csim_error *error) {
    csimi_arena arena = csimi_arena_counting();
    csimi_heap heap;
    int pass;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    if (allocator) heap.hooks = *allocator;
    mesh->allocator = heap.hooks;
    for (pass = 0; pass < 2; ++pass) {
        mesh->vertices = CSIMI_PUSH(&arena, csim_real, 3 * (size_t)mesh->vertex_count);
        mesh->tets = CSIMI_PUSH(&arena, int, 4 * (size_t)mesh->tet_count);
        mesh->triangles = CSIMI_PUSH(&arena, int, 3 * (size_t)mesh->triangle_count);
        if (pass == 1) break;
        mesh->block_size = arena.used;
        mesh->block = arena.overflow ? NULL : csimi_heap_alloc(&heap, arena.used);
        if (!mesh->block) {
            CSIMI_MEMSET(mesh, 0, sizeof *mesh);
            return csimi_fail(error, CSIM_OUT_OF_MEMORY, function, "bytes", (double)arena.used,
                              "what the allocator gives");
        }
        arena = csimi_arena_in(mesh->block, mesh->block_size);
    }
    if (mesh->tet_count == 0) mesh->tets = NULL;
    if (mesh->triangle_count == 0) mesh->triangles = NULL;
    return CSIM_OK;
}

/* Corners of a grid over [-half, half]; the last cells end at half exactly. */
static void csimi_make_corners(csim_mesh *mesh, csim_vec3 half, const int *cells) {
    const csim_real h[3] = {half.x, half.y, half.z};
    csim_real *x = mesh->vertices;
    int at[3], axis;
    for (at[2] = 0; at[2] <= cells[2]; ++at[2])
        for (at[1] = 0; at[1] <= cells[1]; ++at[1])
            for (at[0] = 0; at[0] <= cells[0]; ++at[0])
                for (axis = 0; axis < 3; ++axis)
                    *x++ = cells[axis] == 0 ? 0 : h[axis] * (csim_real)(2 * at[axis] - cells[axis]) /
                                                      (csim_real)cells[axis];
}

/* Six tets about a diagonal of the cell (Kuhn): along the axes in every order, so that faces of neighbours agree. */
static void csimi_make_tets(int *tet, const int *cells) {
    static const int order[6][2] = {{1, 2}, {2, 1}, {1, 4}, {4, 1}, {2, 4}, {4, 2}};
    int i, j, k, p, b, corner[8];
    for (k = 0; k < cells[2]; ++k)
        for (j = 0; j < cells[1]; ++j)
            for (i = 0; i < cells[0]; ++i) {
                for (b = 0; b < 8; ++b)
                    corner[b] = ((k + (b >> 2)) * (cells[1] + 1) + j + (b >> 1 & 1)) * (cells[0] + 1) + i + (b & 1);
                for (p = 0; p < 6; ++p, tet += 4) {
                    const int first = corner[order[p][0]], second = corner[order[p][0] | order[p][1]];
                    const bool even = p == 0 || p == 3 || p == 4; /* of the order of the axes */
                    tet[0] = corner[0];
                    tet[1] = even ? first : second;
                    tet[2] = even ? second : first;
                    tet[3] = corner[7];
                }
            }
}

CSIM_API csim_status csim_mesh_make_box(csim_vec3 half, int nx, int ny, int nz, const csim_allocator *allocator,
                                        csim_mesh *mesh, csim_error *error) {
    static const char function[] = "csim_mesh_make_box";
    static const char *const axis[] = {"nx", "ny", "nz"}, *const side[] = {"half.x", "half.y", "half.z"};
    const int cells[3] = {nx, ny, nz};
    const csim_real h[3] = {half.x, half.y, half.z};
    csim_status status;
    int k;
    if (!mesh) return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "mesh", NULL);
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    for (k = 0; k < 3; ++k) {
        if (!(h[k] > 0 && h[k] <= CSIM_R(1e9)))
            return csimi_unfit(error, function, side[k], (double)h[k], "above 0, at most 1e9");
        if (cells[k] < 1 || cells[k] > CSIMI_MAKE_CELLS)
            return csimi_unfit(error, function, axis[k], cells[k], "1..1000000");
    }
    if ((double)(nx + 1) * (ny + 1) * (nz + 1) > 5e7 || 6.0 * nx * ny * nz > 5e7)
        return csimi_unfit(error, function, "nx ny nz", (double)nx * ny * nz, "at most 8e6 cells");
    mesh->vertex_count = (nx + 1) * (ny + 1) * (nz + 1);
    mesh->tet_count = 6 * nx * ny * nz;
    status = csimi_make_block(allocator, mesh, function, error);
    if (status) return status;
    csimi_make_corners(mesh, half, cells);
    csimi_make_tets(mesh->tets, cells);
    return CSIM_OK;
}

CSIM_API csim_status csim_mesh_make_sheet(csim_real half_x, csim_real half_y, int nx, int ny,
                                          const csim_allocator *allocator, csim_mesh *mesh, csim_error *error) {
    static const char function[] = "csim_mesh_make_sheet";
    const int cells[3] = {nx, ny, 0};
    csim_status status;
    int i, j, *t;
    if (!mesh) return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "mesh", NULL);
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    if (!(half_x > 0 && half_x <= CSIM_R(1e9)))
        return csimi_unfit(error, function, "half_x", (double)half_x, "above 0, at most 1e9");
    if (!(half_y > 0 && half_y <= CSIM_R(1e9)))
        return csimi_unfit(error, function, "half_y", (double)half_y, "above 0, at most 1e9");
    if (nx < 1 || nx > CSIMI_MAKE_CELLS) return csimi_unfit(error, function, "nx", nx, "1..1000000");
    if (ny < 1 || ny > CSIMI_MAKE_CELLS) return csimi_unfit(error, function, "ny", ny, "1..1000000");
    if (2.0 * nx * ny > 5e7) return csimi_unfit(error, function, "nx ny", (double)nx * ny, "at most 2.5e7 cells");
    mesh->vertex_count = (nx + 1) * (ny + 1);
    mesh->triangle_count = 2 * nx * ny;
    status = csimi_make_block(allocator, mesh, function, error);
    if (status) return status;
    csimi_make_corners(mesh, csim_v3(half_x, half_y, 0), cells);
    for (t = mesh->triangles, j = 0; j < ny; ++j)
        for (i = 0; i < nx; ++i, t += 6) { /* diagonals alternate: the sheet has no grain */
            const int a = j * (nx + 1) + i, b = a + 1, c = a + nx + 1, d = c + 1, odd = (i + j) & 1;
            t[0] = a, t[1] = b, t[2] = odd ? c : d;
            t[3] = odd ? b : a, t[4] = d, t[5] = c;
        }
    return CSIM_OK;
}
