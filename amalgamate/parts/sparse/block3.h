/* sparse/block3: symmetric matrices of 3x3 blocks in compressed rows. */
#ifndef CSIM_BLOCK3_H
#define CSIM_BLOCK3_H

#include "../base/config.h"

/* A square matrix of n x n blocks, each 3x3 row-major. Both triangles are stored, columns ascend inside a row, and
   every diagonal block is present. The arrays belong to whoever made the matrix. */
typedef struct csim_block_matrix {
    int n;          /* block rows; 3 n scalar unknowns */
    int *row;       /* [n + 1] first block of each row in col and val; row[n]: number of blocks of all rows */
    int *end;       /* [n] where each row ends; null: where the next begins. With it rows may lie anywhere */
    int *col;       /* [row[n], or to the last end] block column */
    int *diag;      /* [n] index of the diagonal block of each row in col and val */
    csim_real *val; /* [9 times as many] blocks */
} csim_block_matrix;

#endif
