/* Conversions to and from the arrays of stb_ds.h, where that header is installed (Debian: libstb-dev). */
#if defined(__has_include)
#if __has_include(<stb/stb_ds.h>)
#define HAVE_STB_DS
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define STB_DS_IMPLEMENTATION
#include <stb/stb_ds.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#define CONDSIM_STB_DS
#endif
#endif
#include "check.h"

NEEDS("/usr/include/stb/stb_ds.h", stb_ds_arrays_become_a_solid_and_back) {
#ifdef HAVE_STB_DS
    static const csim_real corners[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int corner[4] = {0, 1, 2, 3};
    csim_real *vertices = NULL, *x = NULL;
    int *tets = NULL, i;
    csim_world_def wd = csim_default_world_def();
    csim_soft_def d = csim_default_soft_def();
    csim_world *w;
    csim_body_id id;
    CSIM_ARR_APPEND(vertices, corners, 12);
    CSIM_ARR_APPEND(tets, corner, 4);
    CSIM_SOFT_DEF_FROM_ARR(&d, vertices, tets);
    EQUAL(d.vertex_count, 4);
    EQUAL(d.tet_count, 1);
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    STATUS(csim_create_soft(w, &d, &id), CSIM_OK);
    STATUS(CSIM_BODY_NODES_TO_ARR(w, id, x), CSIM_OK);
    EQUAL((int)arrlen(x), 12);
    for (i = 0; i < 12; i++) NEAR(x[i], corners[i], 0);
    arrfree(vertices);
    arrfree(tets);
    arrfree(x);
    csim_destroy_world(w);
#endif
}
