/* sparse/pattern: compressed rows from a list of pairs of blocks. */
#include "private.h"

CSIMI_FN size_t csimi_pattern_scratch(int n, int pair_count) { return 2 * ((size_t)n + (size_t)pair_count) + 1; }

/* Buckets the pairs by either end: other[start[j]] ... are the partners of block j, unsorted and repeated. */
static void csimi_pattern_bucket(int n, int pair_count, const int *pairs, int *start, int *other) {
    int i, k;
    for (i = 0; i <= n; i++) start[i] = 0;
    for (k = 0; k < 2 * pair_count; k++) start[pairs[k]]++;
    for (i = 0; i < n; i++) start[i + 1] += start[i];
    for (k = pair_count - 1; k >= 0; k--) { /* filling from the back turns ends into starts */
        other[--start[pairs[2 * k]]] = pairs[2 * k + 1];
        other[--start[pairs[2 * k + 1]]] = pairs[2 * k];
    }
}

/* Walks the columns in ascending order, so that every row meets its columns sorted; last[i] is the last column row i
   met. With col null it counts blocks into fill, else it writes them from fill on. */
static void csimi_pattern_walk(int n, const int *start, const int *other, int *last, int *fill, int *col) {
    int i, j, k;
    for (i = 0; i < n; i++) last[i] = -1;
    for (j = 0; j < n; j++)
        for (k = start[j] - 1; k < start[j + 1]; k++) {
            i = k < start[j] ? j : other[k]; /* the diagonal first */
            if (last[i] == j) continue;
            last[i] = j;
            if (col) col[fill[i]] = j;
            fill[i]++;
        }
}

CSIMI_FN int csimi_pattern_build(int n, int pair_count, const int *pairs, int *row, int *col, int *diag, int capacity,
                                 int *needed, int *scratch) {
    int *start = scratch, *last = start + n + 1, *other = last + n, i, k;
    csimi_pattern_bucket(n, pair_count, pairs, start, other);
    for (i = 0; i <= n; i++) row[i] = 0;
    csimi_pattern_walk(n, start, other, last, row + 1, NULL);
    for (i = 0; i < n; i++) row[i + 1] += row[i];
    *needed = row[n];
    if (row[n] > capacity) return -1;
    for (i = 0; i < n; i++) diag[i] = row[i];
    csimi_pattern_walk(n, start, other, last, diag, col);
    for (i = 0; i < n; i++)
        for (k = row[i]; k < row[i + 1]; k++)
            if (col[k] == i) diag[i] = k;
    return row[n];
}

CSIMI_FN int csimi_pattern_find(const csim_block_matrix *A, int i, int j) {
    int low = A->row[i], high = csimi_row_end(A, i) - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        if (A->col[middle] == j) return middle;
        if (A->col[middle] < j)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}
