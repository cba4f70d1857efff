/* A file of fc3d.h as the library's problem: LOCAL at the level of impulses, GLOBAL at that of velocities. */
#ifndef FC3D_MODEL_H
#define FC3D_MODEL_H

#ifndef CSIM_API /* tests bring the library in parts */
#include "condsim.h"
#endif
#include "fc3d.h"

typedef struct fc3d_model {
    bool global;
    csim_impulse_problem local;
    csim_block_matrix W;
    csim_real *q, *mu;
    csim_problem problem;
    csim_real *b;
    csim_contact *contacts;
    csim_term *terms;
} fc3d_model;

/* The arrays of a LOCAL model's W are those of p, which must outlive it. */
void fc3d_model_make(const fc3d_problem *p, fc3d_model *m);
void fc3d_model_free(fc3d_model *m);
int fc3d_model_contacts(const fc3d_model *m);
/* Files are judged by r alone (params.impulse.by_impulse), so AUTO means that of the impulse level on GLOBAL ones too. */
csim_solver_params fc3d_params(const fc3d_problem *p, csim_solver solver, double tolerance, int max_iterations);
size_t fc3d_model_bytes(const fc3d_model *m, const csim_solver_params *params);
/* v [n + 3], r [3nc]: start and result; v is not used by LOCAL models. */
csim_status fc3d_model_solve(const fc3d_model *m, const csim_solver_params *params, void *workspace, size_t bytes,
                             csim_real *v, csim_real *r, csim_outcome *out, csim_error *error);

#endif
