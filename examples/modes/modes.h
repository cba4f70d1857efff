/* Models of reduced bodies (csim_modes) from tetrahedral meshes; docs/reduced.md. */
#ifndef MODES_H
#define MODES_H

#include "condsim.h"

/* A mesh and what of it is wanted. */
typedef struct modes_def {
    const csim_real *vertices; /* [3 vertex_count] m, rest shape */
    int vertex_count;          /* 4..2e6 */
    const int *tets;           /* [4 tet_count] 0-based, positive volume, one piece */
    int tet_count;             /* 1..5e6 */
    const int *fixed;          /* [fixed_count] vertices that never move, none or at least three off one line: the body
                                  hangs on them and its frame does not float */
    int fixed_count;
    csim_real young;   /* Pa, > 0; default 1e5 */
    csim_real poisson; /* -1..0.5 without the ends; default 0.4 */
    csim_real density; /* kg/m^3, > 0; default 1000 */
    int modes;         /* lowest vibrations, 1..24; default 8 */
    int derivatives;   /* vectors more, 0..24 - modes; default 8: leading directions of the modal derivatives, in which
                          the modes bend when they are large; none for a linear body */
    bool linear;       /* energy quadratic in q, for small strains; default false: St. Venant-Kirchhoff, degree 4 */
    int guard;
} modes_def;

/* No mesh yet; the defaults above. */
modes_def modes_default(void);

/* Lowest modes of K u = w^2 M u with the free motions left out (lumped M; block conjugate gradients of Knyazev 2001
   with a sparse Cholesky factor as preconditioner, residuals to 1e-9 w^2), mass-orthonormal; derivatives by
   mass-weighted principal axes; exact coefficients of the energy of the subspace. Memory comes from allocator (null:
   malloc); the model belongs to the caller: modes_destroy with the same allocator, or csim_modes_bytes(*modes) bytes to
   a file. Fails with nothing left allocated: CSIM_NULL_ARGUMENT, CSIM_DEF_NOT_INITIALISED, CSIM_NOT_FINITE,
   CSIM_OUT_OF_RANGE (also more modes than the mesh has), CSIM_BAD_MESH, CSIM_OUT_OF_MEMORY, CSIM_NON_FINITE_RESULT (no
   convergence). */
csim_status modes_create(const modes_def *def, const csim_allocator *allocator, csim_modes **modes, csim_error *error);
void modes_destroy(csim_modes *modes, const csim_allocator *allocator); /* null does nothing */

#endif
