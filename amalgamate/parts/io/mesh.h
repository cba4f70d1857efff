/* io/mesh: tetrahedral and triangle meshes as plain arrays, from files and checked. */
#ifndef CSIM_MESH_H
#define CSIM_MESH_H

#include "../base/memory.h"
#include "../math/vec3.h"
#include "../world/world.h"

#ifdef CONDSIM_FLOAT
#define csim_mesh_load_text csim_mesh_load_text_float
#define csim_mesh_load_tetgen csim_mesh_load_tetgen_float
#define csim_mesh_load_file csim_mesh_load_file_float
#define csim_mesh_check csim_mesh_check_float
#define csim_mesh_compact csim_mesh_compact_float
#define csim_mesh_make_box csim_mesh_make_box_float
#define csim_mesh_soft_def csim_mesh_soft_def_float
#define csim_mesh_make_sheet csim_mesh_make_sheet_float
#endif

/* A mesh. The loaders put all arrays into one block, freed by csim_mesh_free; the arrays may be changed in place.
   A mesh of your own: set everything to zero, then the counts and pointers; nothing is to be freed then.
   An array without elements is null. Indices count from 0. */
typedef struct csim_mesh {
    int vertex_count, tet_count, triangle_count;
    csim_real *vertices;      /* [3 * vertex_count] x y z, in the unit of the file */
    int *tets;                /* [4 * tet_count] a b c d; upright when (b - a) x (c - a) . (d - a) > 0 */
    int *triangles;           /* [3 * triangle_count] in the order of the file; what side is out is the file's choice */
    void *block;              /* of csim_mesh_free; null when the arrays are not the loader's */
    size_t block_size;        /* bytes of block */
    csim_allocator allocator; /* block came from here */
} csim_mesh;

/* Number of cases of one kind, and the first: an index of a vertex, tet or triangle, -1 when there is none. */
typedef struct csim_mesh_finding {
    int count, first;
} csim_mesh_finding;

/* What csim_mesh_check found. A tet is out of range, degenerate, inverted or none of these, and a duplicate besides. */
typedef struct csim_mesh_report {
    csim_mesh_finding not_finite_vertices;    /* a coordinate is NaN or infinite */
    csim_mesh_finding out_of_range_tets;      /* an index is outside 0 <= index < vertex_count */
    csim_mesh_finding degenerate_tets;        /* |volume| <= 1e-12 * (longest edge)^3, or a vertex is not finite */
    csim_mesh_finding inverted_tets;          /* volume < 0 */
    csim_mesh_finding duplicate_tets;         /* the same four vertices as an earlier tet, in any order */
    csim_mesh_finding out_of_range_triangles; /* as for tets */
    csim_mesh_finding isolated_vertices;      /* in no tet; in no triangle when there are no tets */
    double volume;                            /* sum over the tets in range, inverted ones negative */
} csim_mesh_report;

/* Bytes of scratch csim_mesh_check needs; 0 for negative counts. */
CSIM_API size_t csim_mesh_check_bytes(int vertex_count, int tet_count);

/* Looks for what makes a mesh useless as a body. scratch: scratch_size >= csim_mesh_check_bytes(...) bytes of any
   alignment, or null to use malloc for the duration of the call. report and error may be null. Volumes are computed
   in double. CSIM_OK when every count of the report is zero and there is a tet or a triangle; CSIM_BAD_MESH when not,
   with the worst kind and its first index in error (report is filled all the same); CSIM_NULL_ARGUMENT,
   CSIM_OUT_OF_RANGE (negative count), CSIM_CAPACITY (scratch too small), CSIM_OUT_OF_MEMORY (report is zeroed). */
CSIM_API csim_status csim_mesh_check(const csim_mesh *mesh, void *scratch, size_t scratch_size,
                                     csim_mesh_report *report, csim_error *error);

/* Drops the vertices that csim_mesh_check calls isolated, and (when there are tets) the triangles that use one of
   them; the rest keeps its order. new_index [vertex_count before the call] receives the new index of each old vertex,
   -1 for a dropped one. Returns the number of vertices dropped, 0 or more; -1 with nothing changed when an argument is
   null or an index is out of range. The block keeps its size. */
CSIM_API int csim_mesh_compact(csim_mesh *mesh, int *new_index);

/* A box about the origin of nx ny nz cells with six tets each, for a solid without a file. half: half sizes, m, above
   0; cells 1 or more along each axis, at most 5e7 tets. Vertices in order of x, then y, then z. allocator may be null
   (malloc). On CSIM_OK the mesh belongs to the caller: csim_mesh_free, any time after the body is created. On failure
   *mesh is all zero: CSIM_NULL_ARGUMENT, CSIM_OUT_OF_RANGE, CSIM_OUT_OF_MEMORY. */
CSIM_API csim_status csim_mesh_make_box(csim_vec3 half, int nx, int ny, int nz, const csim_allocator *allocator,
                                        csim_mesh *mesh, csim_error *error);
/* The same for a rectangle in z = 0 of nx ny cells with two triangles each, their normals along z: for cloth. */
CSIM_API csim_status csim_mesh_make_sheet(csim_real half_x, csim_real half_y, int nx, int ny,
                                          const csim_allocator *allocator, csim_mesh *mesh, csim_error *error);

/* csim_default_soft_def() with the vertices and tets of a mesh, which must live until the body is created. */
CSIM_API csim_soft_def csim_mesh_soft_def(const csim_mesh *mesh);

/* Gives back what a loader or a maker allocated and sets everything to zero. mesh may be null or freed before. */
CSIM_API void csim_mesh_free(csim_mesh *mesh);

#ifndef CONDSIM_NO_LOADERS

/* What a text is.
   GMSH: MSH 1.0, 2.x and 4.1, ASCII. VTK: legacy, ASCII and binary, UNSTRUCTURED_GRID and POLYDATA, versions to 5.1.
   VTU: VTK XML UnstructuredGrid with format="ascii" arrays; several pieces are joined. OBJ: v and f lines.
   Triangles, and polygons as fans of triangles, become triangles; points and lines are passed over; hexahedra and all
   other solid or second-order cells are CSIM_UNSUPPORTED. Vertex ids of Gmsh and TetGen may be in any order with gaps;
   vertices keep the order of the file. Attributes, groups, normals and fields are passed over. Coordinates are read to
   the nearest or next nearest double; NaN, infinities and magnitudes above 1e200 (float build: 1e30) are refused. */
typedef enum csim_mesh_format {
    CSIM_MESH_AUTO, /* by the first line */
    CSIM_MESH_GMSH,
    CSIM_MESH_VTK,
    CSIM_MESH_VTU,
    CSIM_MESH_OBJ
} csim_mesh_format;

/* Reads a mesh from text [size] (no terminating zero needed, any bytes are safe). allocator may be null (malloc); the
   final block and the working memory, some twenty times size at most, come from it. On CSIM_OK the mesh belongs to the
   caller: csim_mesh_free. On failure *mesh is all zero, nothing stays allocated, and error (may be null) holds
   "csim_mesh_load_text: line 12: reason": CSIM_NULL_ARGUMENT, CSIM_PARSE_ERROR, CSIM_UNSUPPORTED, CSIM_BAD_MESH (no
   tets and no triangles; an OBJ may be vertices alone, for a hull), CSIM_OUT_OF_MEMORY. What the mesh is worth says
   csim_mesh_check. */
CSIM_API csim_status csim_mesh_load_text(const char *text, size_t size, csim_mesh_format format,
                                         const csim_allocator *allocator, csim_mesh *mesh, csim_error *error);

/* The same for TetGen, whose meshes are two texts: .node and .ele. Errors name the text they are in. */
CSIM_API csim_status csim_mesh_load_tetgen(const char *node, size_t node_size, const char *ele, size_t ele_size,
                                           const csim_allocator *allocator, csim_mesh *mesh, csim_error *error);

#ifndef CONDSIM_NO_STDIO
/* The same for a file: path ending in .node or .ele is TetGen (the other one is expected beside it), everything else
   goes by content. CSIM_FILE_ERROR when a file cannot be read; errors begin with the path. */
CSIM_API csim_status csim_mesh_load_file(const char *path, const csim_allocator *allocator, csim_mesh *mesh,
                                         csim_error *error);
#endif
#endif

#endif
