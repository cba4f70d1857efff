/* Problems for tests and benchmarks, in any order of their contacts, solved by the library and judged by the measures of
   examples/fc3d, which share nothing with it: a handful of our own in tests/fc3d, and other people's in shared/fc3d. */
#ifndef FC3D_PROBLEMS_H
#define FC3D_PROBLEMS_H

#include "../examples/fc3d/measure.c"
#include "../examples/fc3d/model.c"
#include "../examples/fc3d/problem.c"

enum { FC3D_PROBLEMS = 28, FC3D_CONTACTS = 500 };
static const char *const fc3d_names[FC3D_PROBLEMS] = {"Box_Stacks-i0122-82-5",
                                                      "BoxesStack1-i100000-32",
                                                      "Capsules-i100-1090",
                                                      "Capsules-i101-404",
                                                      "Capsules-i122-1617",
                                                      "Confeti-ex13-4contact-Fc3D-SBM",
                                                      "Confeti-ex13-Fc3D-SBM",
                                                      "CubeH8",
                                                      "FC3D_Example1",
                                                      "FrictionContact3D_1c",
                                                      "GFC3D_Example00",
                                                      "GFC3D_Example00_badly_scaled",
                                                      "GFC3D_TwoRods1",
                                                      "GFC3D_TwoRods1-condensed",
                                                      "LMGC_100_PR_PerioBox-i00361-60-03000",
                                                      "NESpheres_30_1",
                                                      "OneObject-i100000-316",
                                                      "OneObject-i1028-138",
                                                      "RockPile_tob1",
                                                      "Rover1039",
                                                      "Rover1040",
                                                      "Rover11035",
                                                      "Rover3865",
                                                      "Rover4396",
                                                      "Rover4493",
                                                      "Rover4609",
                                                      "Rover9770",
                                                      "spheres-in-a-box-98-i10000-256-10"};

/* Rigid bodies at rest and in motion: a tower of boxes of 1 to 1000 kg (to the last digit: with ten of them a W of
   fewer bodies than contacts has no answer at 1e-8), a heap of balls of 0.1 to 100 kg, a stick in a corner with steep
   friction, a wedge between blocks, two boxes, and two contacts without bodies (W not symmetric). */
enum { FC3D_OWN = 6 };
static const char *const fc3d_own[FC3D_OWN] = {"tower", "heap", "corner", "wedge", "stack", "unsymmetric"};

/* Where the folder lies, null: nowhere. */
static const char *fc3d_folder(void) {
    static const char *const places[3] = {"../shared/fc3d", "../../shared/fc3d", "shared/fc3d"};
    char path[256];
    int k;
    for (k = 0; k < 3; k++) {
        FILE *f;
        snprintf(path, sizeof path, "%s/problems.csv", places[k]);
        f = fopen(path, "r");
        if (!f) continue;
        fclose(f);
        return places[k];
    }
    return NULL;
}

/* A file with its contacts in a random order of this seed; 0: as in the file. */
static bool fc3d_open_file(const char *folder, const char *name, unsigned seed, fc3d_problem *p) {
    char path[256];
    int order[FC3D_CONTACTS], c;
    uint64_t x = 0x9e3779b97f4a7c15u ^ (UINT64_C(0x2545f4914f6cdd1d) * (seed + 1u));
    snprintf(path, sizeof path, "%s/%s.txt", folder, name);
    if (!fc3d_read(path, p) || p->nc > FC3D_CONTACTS) return false;
    for (c = 0; c < p->nc; c++) order[c] = c;
    for (c = p->nc - 1; c > 0 && seed; c--) {
        int other, swap;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        other = (int)((x >> 16) % (uint64_t)(c + 1));
        swap = order[c];
        order[c] = order[other];
        order[other] = swap;
    }
    return !seed || fc3d_permute(p, order);
}

static bool fc3d_open(int k, unsigned seed, fc3d_problem *p) {
    return fc3d_open_file(fc3d_folder(), fc3d_names[k], seed, p);
}

/* From r = 0; r [3nc] in double. */
static csim_status fc3d_solve(const fc3d_problem *p, const csim_solver_params *params, double *r, csim_outcome *out) {
    fc3d_model model;
    csim_error error;
    csim_status status;
    csim_real *x = (csim_real *)calloc(3 * (size_t)p->nc + 1, sizeof *x);
    csim_real *v = (csim_real *)calloc((size_t)p->n + 3, sizeof *v);
    size_t bytes;
    void *memory;
    int k;
    fc3d_model_make(p, &model);
    bytes = fc3d_model_bytes(&model, params);
    memory = malloc(bytes + 1);
    status = fc3d_model_solve(&model, params, memory, bytes, v, x, out, &error);
    for (k = 0; k < 3 * p->nc; k++) r[k] = (double)x[k];
    fc3d_model_free(&model);
    free(memory);
    free(x);
    free(v);
    return status;
}

#endif
