/* io/stb_ds: for users who keep their data in the arrays of stb_ds.h. The core never depends on it, because those
   arrays cannot report a failed allocation. Define CONDSIM_STB_DS and include stb_ds.h before this file. */
#ifndef CSIM_STB_DS_H
#define CSIM_STB_DS_H

#ifdef CONDSIM_STB_DS
#ifndef arraddnptr
#error "condsim: include stb_ds.h before condsim.h when CONDSIM_STB_DS is defined"
#endif

/* Appends count items of a plain array to a stb_ds array of the same type. */
#define CSIM_ARR_APPEND(arr, source, count) \
    ((void)((count) > 0 ? memcpy(arraddnptr((arr), (count)), (source), sizeof *(arr) * (size_t)(count)) : NULL))
/* Lets a csim_soft_def borrow a stb_ds array of csim_real (3 a vertex) and one of int (4 a tet). */
#define CSIM_SOFT_DEF_FROM_ARR(def, vertex_arr, tet_arr)             \
    ((void)((def)->vertices = (vertex_arr), (def)->tets = (tet_arr), \
            (def)->vertex_count = (int)(arrlen(vertex_arr) / 3), (def)->tet_count = (int)(arrlen(tet_arr) / 4)))
/* Node positions of a body as a stb_ds array of csim_real: csim_real *x = NULL; CSIM_BODY_NODES_TO_ARR(w, id, x); */
#define CSIM_BODY_NODES_TO_ARR(world, id, arr)                            \
    (arrsetlen((arr), (size_t)(3 * csim_body_node_count((world), (id)))), \
     arrlen(arr) > 0 ? csim_body_get_nodes((world), (id), (arr), 3) : CSIM_OK)
#endif

#endif
