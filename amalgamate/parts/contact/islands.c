/* contact/islands: which blocks can feel each other within one step. */
#include "private.h"

/* Root of i; every link passed is shortened (path halving). */
static int csimi_island_root(int *parent, int i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The lower root stays, so that the root of an island is its lowest block. */
static void csimi_island_join(int *parent, int i, int j) {
    const int a = csimi_island_root(parent, i), b = csimi_island_root(parent, j);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Joins the free blocks that a contact names; the first of them, -1: none. */
static int csimi_island_contact(const csim_contact *contact, const csim_term *terms, const unsigned char *skip,
                                int *parent) {
    int side, k, first = -1;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        for (k = s.first; k < s.first + s.count; ++k) {
            const int block = terms[k].block;
            if (skip && skip[block]) continue;
            if (first < 0)
                first = block;
            else
                csimi_island_join(parent, first, block);
        }
    }
    return first;
}

CSIMI_FN int csimi_islands(const csim_block_matrix *A, const unsigned char *skip, int contact_count,
                           const csim_contact *contacts, const csim_term *terms, int *island, int *contact_island,
                           int *scratch) {
    int *const parent = scratch;
    int i, k, count = 0;
    for (i = 0; i < A->n; ++i) parent[i] = i;
    for (i = 0; i < A->n; ++i) {
        if (skip && skip[i]) continue;
        for (k = A->row[i]; k < csimi_row_end(A, i); ++k)
            if (A->col[k] < i && !(skip && skip[A->col[k]])) csimi_island_join(parent, i, A->col[k]);
    }
    for (i = 0; i < contact_count; ++i) contact_island[i] = csimi_island_contact(contacts + i, terms, skip, parent);
    for (i = 0; i < A->n; ++i) {
        const int root = csimi_island_root(parent, i);
        island[i] = skip && skip[i] ? -1 : root == i ? count++ : island[root];
    }
    for (i = 0; i < contact_count; ++i)
        if (contact_island[i] >= 0) contact_island[i] = island[contact_island[i]];
    return count;
}
