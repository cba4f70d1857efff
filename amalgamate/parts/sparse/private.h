/* sparse/private: patterns, products and Krylov solvers on block matrices. */
#ifndef CSIMI_SPARSE_PRIVATE_H
#define CSIMI_SPARSE_PRIVATE_H

#include "../math/private.h"
#include "block3.h"

/* ---- pattern.c: a pattern from pairs of block indices */

/* Builds the symmetric pattern of n rows from pair_count pairs (i, j), i != j allowed in any order and repeated; the
   diagonal is always added. row[n+1], diag[n] and col[capacity] are filled; returns the number of blocks, or -1 when
   capacity is too small (then *needed says how many). scratch holds csimi_pattern_scratch ints.
   O(pairs + n), sorted columns, deterministic; pairs (i, i) do no harm. */
CSIMI_FN size_t csimi_pattern_scratch(int n, int pair_count);
CSIMI_FN int csimi_pattern_build(int n, int pair_count, const int *pairs /* [2 pair_count] */, int *row, int *col,
                                 int *diag, int capacity, int *needed, int *scratch);
/* Index of block (i, j) in col and val, or -1. Binary search in row i. */
CSIMI_FN int csimi_pattern_find(const csim_block_matrix *A, int i, int j);

CSIM_INLINE int csimi_row_end(const csim_block_matrix *A, int i) { return A->end ? A->end[i] : A->row[i + 1]; }

/* Of diagonal block i. */
CSIM_INLINE csim_real csimi_block_trace(const csim_block_matrix *A, int i) {
    const csim_real *D = A->val + 9 * (size_t)A->diag[i];
    return D[0] + D[4] + D[8];
}

/* ---- product.c */

/* y = A x, rows [begin, end) for the parallel form. Same bits for any split. */
CSIMI_FN void csimi_product_rows(const csim_block_matrix *A, const csim_real *x, csim_real *y, int begin, int end);
CSIMI_FN void csimi_product(const csim_block_matrix *A, const csim_real *x, csim_real *y, const csim_tasks *tasks);

/* ---- krylov.c: preconditioned conjugate gradient on A x = rhs with 3x3 block-diagonal preconditioner.
   x in: start, out: solution; stops when the D^-1-norm of the residual falls below tol times that of rhs.
   work[4 * 3n + 9n]. Returns iterations; -1: a pivot or the curvature is not positive, -2: a sum is no number. */
CSIMI_FN int csimi_pcg(const csim_block_matrix *A, const csim_real *rhs, csim_real *x, csim_real tol,
                       int max_iterations, csim_real *work, const csim_tasks *tasks);
/* The same for y = H x of n blocks; the inverses of its diagonal blocks are the caller's, at work + 12 n. */
typedef void csimi_operator(void *context, const csim_real *x, csim_real *y);
CSIMI_FN int csimi_gradients(int n, csimi_operator *product, void *context, const csim_real *rhs, csim_real *x,
                             csim_real tol, int max_iterations, csim_real *work);

/* ---- dense.c: small dense symmetric positive definite systems, always in double */

/* Square-root-free Cholesky H = L D L' of the lower triangle of H [m*m] in place, row-major; false when a pivot is not
   positive. Afterwards D is on the diagonal, L below and L' above: csimi_cholesky_solve reads both. O(m^3/3).
   reach [2m], or NULL: the first column of each row, then the last row of each column, so that a solve of a matrix with
   an envelope reads nothing outside it. */
CSIMI_FN bool csimi_cholesky(int m, csimi_wide *H, int *reach, const csim_tasks *tasks);
CSIMI_FN void csimi_cholesky_solve(int m, const csimi_wide *L, const int *reach, csimi_wide *x);

/* LU of a general A [m*m], row-major, in place with row exchanges; false when a column has no pivot. */
CSIMI_FN bool csimi_lu(int m, csimi_wide *A, int *pivot);
CSIMI_FN void csimi_lu_solve(int m, const csimi_wide *LU, const int *pivot, csimi_wide *x);

/* ---- tridiagonal.c: links of two 3-blocks, each coupled to the links before and after it: LU in O(links), 72 numbers
   a link. A block may be pressed onto a face of the directions it can move in: rows by left, columns by right (a
   projector; left = right keeps the matrix symmetric). */
typedef struct csimi_chain_face {
    double left[9], right[9];
} csimi_chain_face;

typedef struct csimi_chain {
    double *pivot;                 /* [36 links] in: diagonal blocks, out: the pivots as L U */
    double *cross;                 /* [36 links] block (i, i - 1); (i - 1, i) is its transpose */
    const int *face;               /* [2 links] index of the face of each 3-block, -1: free */
    const csimi_chain_face *faces;
} csimi_chain;

CSIM_INLINE const csimi_chain_face *csimi_chain_face_of(const csimi_chain *c, int block) {
    return c->face[block] >= 0 ? c->faces + c->face[block] : NULL;
}
/* Links [first, last), one chain. False when a pivot is not positive. */
CSIMI_FN bool csimi_chain_factor(csimi_chain *c, int first, int last);
/* x[6 links]: right-hand side in, solution out; nothing moves off its face. */
CSIMI_FN void csimi_chain_solve(const csimi_chain *c, int first, int last, double *x);

#if !defined(CONDSIM_NO_BOUNDED) || !defined(CONDSIM_NO_COND)
#define CSIMI_COUPLES /* matrices that couple bodies are factored */
#define CSIMI_UNITES 1 /* some solver asks what stands together, and what turns */
#else
#define CSIMI_UNITES 0
#endif
#if defined(CONDSIM_REFERENCE) || defined(CSIMI_COUPLES)
/* ---- cholesky.c: P A P' = L L' of a sparse matrix. Block k is order[k]; column i of L holds rows index[first[i]] on,
   below the diagonal, as transposes of 3x3 blocks in value; the diagonal blocks are pivot, lower triangles. */
typedef struct csimi_factor {
    int n;
    int *order, *place, *parent; /* [n] parent: elimination tree, -1: a root */
    size_t *first, *end;         /* [n + 1], [n] */
    int *index;                  /* [first[n]] */
    double *value, *pivot;       /* [9 first[n]], [9 n] */
    int *mark, *stack;           /* [n], [2n] scratch */
    double *row, *x;             /* [9 n], [3n] scratch */
} csimi_factor;
CSIMI_FN void csimi_factor_layout(csimi_factor *f, csimi_arena *arena, int n);
/* Order, tree and the number of blocks, first[n]; then csimi_factor_layout_blocks takes room for them. late [n], may be
   null: what A couples stays together, and of each such piece the blocks marked there come last, so that the rows of L
   that a vector on them reaches are few. */
CSIMI_FN void csimi_factor_plan(csimi_factor *f, const csim_block_matrix *A, const unsigned char *late);
CSIMI_FN void csimi_factor_layout_blocks(csimi_factor *f, csimi_arena *arena, size_t blocks);
CSIMI_FN bool csimi_factor_compute(csimi_factor *f, const csim_block_matrix *A); /* false: not positive definite */
#ifdef CONDSIM_REFERENCE
CSIMI_FN void csimi_factor_solve(const csimi_factor *f, const csim_real *b, csim_real *y); /* may alias; y = A^-1 b */
#endif
/* Block i of row, of three rows X, times the inverse transpose of pivot i; and what blocks of row lose by it then, for
   those of column i before `end`. */
CSIMI_FN void csimi_factor_side(const csimi_factor *f, int i, double *X);
CSIMI_FN void csimi_factor_spread(const csimi_factor *f, int i, size_t end);
/* x <- L^-1 P x and x <- P' L'^-1 x, [3n]; one after the other: A^-1 x. */
CSIMI_FN void csimi_factor_whiten(const csimi_factor *f, double *x);
CSIMI_FN void csimi_factor_restore(const csimi_factor *f, double *x);
#endif

/* ---- aggregate.c: groups of blocks from the graph alone */

/* Splits n nodes with rest positions x[3n] and adjacency (row, col of a pattern) into count aggregates: farthest-point
   seeds by breadth-first search (start at node 0, ties to the lower index), Voronoi on the graph, two Lloyd passes on
   positions. aggregate[n] gets 0..count-1; unreachable pieces get seeds of their own first, and join the nearest seed
   when there are more pieces than count. Hardly more than O(count edges / 4). scratch: csimi_aggregate_scratch ints.
   Deterministic. Returns the number of aggregates made, min(count, n) at most and >= 1; none is empty. */
CSIMI_FN size_t csimi_aggregate_scratch(int n);
CSIMI_FN int csimi_aggregate(int n, const int *row, const int *col, const csim_real *x, int count, int *aggregate,
                             int *scratch);

#endif
