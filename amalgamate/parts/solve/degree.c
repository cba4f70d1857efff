/* solve/degree: L U factors of a matrix of small dense nodes, symmetric in structure, in an order of least degree
   (Tinney and Walker's second scheme): the node with the fewest neighbours goes next and makes them neighbours of each
   other. What remains when all are neighbours is one dense matrix, the root. The contacts of a heap that press make
   nearly a tree, of which little more than itself is filled; what needs more than the memory is refused.
   In csim_real, the root in csimi_wide. */
#include "private.h"

CSIMI_FN void csimi_degree_open(csimi_degree *d, csimi_arena *arena, int n) {
    int i;
    d->n = n;
    d->size = CSIMI_PUSH(arena, int, n);
    d->at = CSIMI_PUSH(arena, int, n);
    d->order = CSIMI_PUSH(arena, int, n);
    d->place = CSIMI_PUSH(arena, int, n);
    d->degree = CSIMI_PUSH(arena, int, n);
    d->mark = CSIMI_PUSH(arena, int, n);
    d->first = CSIMI_PUSH(arena, int, n + 1);
    d->start = CSIMI_PUSH(arena, size_t, n + 1);
    d->bucket = CSIMI_PUSH(arena, int, n + 1);
    d->next = CSIMI_PUSH(arena, int, n);
    d->before = CSIMI_PUSH(arena, int, n);
    d->list = CSIMI_PUSH(arena, int, n);
    d->cells = 0;
    d->below = arena->used; /* here the lists begin, and later the plan */
    /* cells of two ints, in a quarter of what is left: the rest is for the plan and its numbers */
    d->room = (int)((arena->overflow ? 0 : arena->size - arena->used) / (8 * sizeof(int)));
    d->cell = CSIMI_PUSH(arena, int, 2 * (size_t)d->room);
    if (arena->overflow) return;
    for (i = 0; i < n; ++i) {
        d->size[i] = 0;
        d->degree[i] = 0;
        d->mark[i] = d->list[i] = -1;
    }
}

/* ---- the graph */

static bool csimi_degree_join(csimi_degree *d, int u, int v) { /* u gets the neighbour v; false: no room */
    if (d->cells == d->room) return false;
    d->cell[2 * d->cells] = v;
    d->cell[2 * d->cells + 1] = d->list[u];
    d->list[u] = d->cells++;
    ++d->degree[u];
    return true;
}

CSIMI_FN bool csimi_degree_clique(csimi_degree *d, const int *node, int count) {
    int i, k, c;
    for (i = 0; i < count; ++i) {
        d->mark[node[i]] = node[i]; /* no neighbour of itself */
        for (c = d->list[node[i]]; c >= 0; c = d->cell[2 * c + 1]) d->mark[d->cell[2 * c]] = node[i];
        for (k = 0; k < count; ++k) {
            if (d->mark[node[k]] == node[i]) continue;
            d->mark[node[k]] = node[i];
            if (!csimi_degree_join(d, node[i], node[k])) return false;
        }
    }
    return true;
}

/* Into the list of the nodes of its degree, at the head; and out of it. */
static void csimi_degree_put(csimi_degree *d, int v) {
    int *head = d->bucket + d->degree[v];
    d->next[v] = *head;
    d->before[v] = -1;
    if (*head >= 0) d->before[*head] = v;
    *head = v;
}

static void csimi_degree_take(csimi_degree *d, int v) {
    if (d->before[v] >= 0)
        d->next[d->before[v]] = d->next[v];
    else
        d->bucket[d->degree[v]] = d->next[v];
    if (d->next[v] >= 0) d->before[d->next[v]] = d->before[v];
}

/* Its neighbours lose v and get each other. */
static bool csimi_degree_eliminate(csimi_degree *d, int v, int stamp) {
    int p, q;
    for (p = d->list[v]; p >= 0; p = d->cell[2 * p + 1]) { /* v's own list stays: column of L */
        const int u = d->cell[2 * p];
        int *link = d->list + u;
        csimi_degree_take(d, u); /* its degree changes */
        d->mark[u] = ++stamp; /* fresh for every u: marks what u has */
        while (*link >= 0) {
            const int x = d->cell[2 * *link];
            if (x == v) {
                *link = d->cell[2 * *link + 1]; /* v is gone from u's list */
                continue;
            }
            d->mark[x] = stamp;
            link = d->cell + 2 * *link + 1;
        }
        --d->degree[u];
        for (q = d->list[v]; q >= 0; q = d->cell[2 * q + 1])
            if (d->mark[d->cell[2 * q]] != stamp && !csimi_degree_join(d, u, d->cell[2 * q])) return false;
        csimi_degree_put(d, u); /* under its new degree */
    }
    return true;
}

/* The order, and the first place of the root; false: no room. */
static bool csimi_degree_sort(csimi_degree *d) {
    int i, least = 0, stamp = d->n; /* above the marks that cliques have left */
    for (i = 0; i <= d->n; ++i) d->bucket[i] = -1;
    for (i = d->n - 1; i >= 0; --i) csimi_degree_put(d, i); /* backwards: the lowest node of a degree goes first */
    for (d->root = 0; d->root < d->n; ++d->root) {
        int v;
        least = csimi_imax(least - 1, 0); /* one that goes lowers a degree by one at most */
        while (d->bucket[least] < 0) ++least;
        if (least >= d->n - d->root - 1) break; /* all are neighbours: the root */
        v = d->bucket[least];
        csimi_degree_take(d, v);
        d->place[v] = d->root;
        d->order[d->root] = v;
        /* a mark must not be used twice: too large a graph is refused */
        if (stamp > INT32_MAX / 2 || !csimi_degree_eliminate(d, v, stamp)) return false;
        stamp += d->degree[v]; /* one mark a neighbour was used */
        d->degree[v] = -1; /* has its place */
    }
    /* the root takes those left, in ascending order */
    for (i = 0, least = d->root; i < d->n; ++i)
        if (d->degree[i] >= 0) {
            d->place[i] = least;
            d->order[least++] = i;
        }
    return true;
}

/* The graph is done with: what was made above it takes its place. */
static void csimi_degree_settle(csimi_degree *d, csimi_arena *arena, int total) {
    const int *index = d->index;
    const size_t *column = d->column;
    int e;
    csimi_pop(arena, d->below);
    d->index = CSIMI_PUSH(arena, int, total);
    d->column = CSIMI_PUSH(arena, size_t, total);
    d->slot = CSIMI_PUSH(arena, int, d->n);
    /* index before column, both forwards: neither is overwritten before it is read */
    for (e = 0; e < total; ++e) d->index[e] = index[e];
    for (e = 0; e < total; ++e) d->column[e] = column[e];
}

/* Where the numbers of every node begin in a vector, and its neighbours after it in ascending order of their places. */
static bool csimi_degree_columns(csimi_degree *d, csimi_arena *arena) {
    int k, p, e, total = 0, at = 0;
    d->work = 0;
    for (k = 0; k < d->n; ++k) {
        d->at[d->order[k]] = at;
        at += d->size[d->order[k]];
        for (p = d->list[d->order[k]]; p >= 0 && k < d->root; p = d->cell[2 * p + 1]) ++total;
    }
    d->length = at;
    d->index = CSIMI_PUSH(arena, int, total);
    d->column = CSIMI_PUSH(arena, size_t, total);
    if (arena->overflow) return false;
    d->numbers = 0;
    for (k = 0, total = 0; k < d->root; ++k) {
        const int size = d->size[d->order[k]];
        int width = 0;
        d->first[k] = total;
        for (p = d->list[d->order[k]]; p >= 0; p = d->cell[2 * p + 1], ++total) {
            const int j = d->place[d->cell[2 * p]];
            for (e = total; e > d->first[k] && d->index[e - 1] > j; --e) d->index[e] = d->index[e - 1];
            d->index[e] = j;
        }
        d->start[k] = d->numbers;
        d->numbers += (size_t)(size * size); /* its own matrix */
        for (e = d->first[k]; e < total; ++e) {
            d->column[e] = d->numbers;
            d->numbers += 2 * (size_t)(size * d->size[d->order[d->index[e]]]); /* L and U' */
            width += d->size[d->order[d->index[e]]];
        }
        d->work += (csimi_wide)size * (csimi_wide)(width + size) * (csimi_wide)(width + size);
    }
    d->first[k] = total; /* k is the root */
    csimi_degree_settle(d, arena, total); /* lists are not read any more */
    d->rest = d->root < d->n ? at - d->at[d->order[d->root]] : 0;
    d->start[k] = d->numbers;
    d->numbers += (size_t)d->rest * (size_t)d->rest;
    d->work += (csimi_wide)d->rest * (csimi_wide)d->rest * (csimi_wide)d->rest / 3; /* L U of it */
    return true;
}

CSIMI_FN bool csimi_degree_plan(csimi_degree *d, csimi_arena *arena) {
    size_t own = 0; /* numbers of the root beside value */
    if (!csimi_degree_sort(d) || !csimi_degree_columns(d, arena)) return false;
    d->pivot = CSIMI_PUSH(arena, int, d->rest);
    d->turned = CSIMI_PUSH(arena, csim_real, 2 * CSIMI_DEGREE_MOST * CSIMI_DEGREE_MOST);
    d->value = CSIMI_PUSH(arena, csim_real, d->numbers);
    /* csimi_lu counts in csimi_wide: in double the root is factored where it stands */
    if (sizeof *d->dense > sizeof *d->value) own = (size_t)d->rest * (size_t)d->rest;
    d->dense = CSIMI_PUSH(arena, csimi_wide, own);
    return !arena->overflow;
}

/* ---- numbers */

CSIMI_FN csim_real *csimi_degree_block(csimi_degree *d, int u, int v, size_t *down, size_t *right) {
    const int i = d->place[u], j = d->place[v], k = csimi_imin(i, j);
    const bool lower = i > j;
    int e;
    *down = (size_t)d->size[u];
    *right = 1;
    if (k >= d->root) { /* both are of the root: rows of all its numbers */
        const int base = d->at[d->order[d->root]];
        *down = (size_t)d->rest;
        return d->value + d->start[d->root] + (size_t)(d->at[u] - base) * *down + (size_t)(d->at[v] - base);
    }
    if (i == j) return d->value + d->start[k];
    for (e = d->first[k]; e < d->first[k + 1] && d->index[e] != (lower ? i : j);) ++e;
    if (e == d->first[k + 1]) return NULL; /* no neighbours in this plan */
    *down = lower ? (size_t)d->size[v] : 1; /* U is kept as its transpose */
    *right = lower ? 1 : (size_t)d->size[u];
    /* U' of the neighbour lies behind its L */
    return d->value + d->column[e] + (lower ? 0 : (size_t)(d->size[u] * d->size[v]));
}

/* Y' [m y] of Y [y m] */
static void csimi_degree_turn(const csim_real *Y, int y, int m, csim_real *CSIMI_RESTRICT turned) {
    int j, k;
    for (k = 0; k < m; ++k)
        for (j = 0; j < y; ++j) *turned++ = Y[m * j + k];
}

#if CSIMI_QUADS
typedef csim_real csimi_two __attribute__((vector_size(2 * sizeof(csim_real)), aligned(sizeof(csim_real)), may_alias));
#define CSIMI_TWO(p) (*(csimi_two *)(p))

/* The products of six columns, by pairs: the same sums in the same order. */
static void csimi_degree_less6(csim_real *CSIMI_RESTRICT C, size_t stride, const csim_real *CSIMI_RESTRICT X, int x,
                               const csim_real *CSIMI_RESTRICT Y, int m) {
    int i, k;
    for (i = 0; i < x; i += 3, X += 3 * m, C += 3 * stride) { /* three rows share what is read of Y */
        csimi_two a = {0, 0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a, n = a;
        for (k = 0; k < m; ++k) {
            const csimi_two u = {X[k], X[k]}, v = {X[m + k], X[m + k]}, w = {X[2 * m + k], X[2 * m + k]};
            const csimi_two p = *(const csimi_two *)(Y + 6 * k), q = *(const csimi_two *)(Y + 6 * k + 2),
                            r = *(const csimi_two *)(Y + 6 * k + 4);
            a += u * p, b += u * q, c += u * r;
            d += v * p, e += v * q, f += v * r;
            g += w * p, h += w * q, n += w * r;
        }
        CSIMI_TWO(C) -= a, CSIMI_TWO(C + 2) -= b, CSIMI_TWO(C + 4) -= c;
        CSIMI_TWO(C + stride) -= d, CSIMI_TWO(C + stride + 2) -= e, CSIMI_TWO(C + stride + 4) -= f;
        CSIMI_TWO(C + 2 * stride) -= g, CSIMI_TWO(C + 2 * stride + 2) -= h, CSIMI_TWO(C + 2 * stride + 4) -= n;
    }
}
#endif

/* C -= X Y for X [x m] and Y [m y], C with rows of `stride`; x and y are multiples of three. */
static void csimi_degree_less(csim_real *CSIMI_RESTRICT C, size_t stride, const csim_real *CSIMI_RESTRICT X, int x,
                              const csim_real *CSIMI_RESTRICT Y, int y, int m) {
    int i, j, k;
#if CSIMI_QUADS
    if (y == 6) {
        csimi_degree_less6(C, stride, X, x, Y, m);
        return;
    }
#endif
    for (i = 0; i < x; ++i, X += m, C += stride)
        /* nodes have 3, 6, .. numbers, so that no column is left over */
        for (j = 0; j < y; j += 3) {
            const csim_real *b = Y + j;
            csim_real c0 = 0, c1 = 0, c2 = 0;
            for (k = 0; k < m; ++k, b += y) {
                c0 += X[k] * b[0];
                c1 += X[k] * b[1];
                c2 += X[k] * b[2];
            }
            C[j] -= c0;
            C[j + 1] -= c1;
            C[j + 2] -= c2;
        }
}

/* The inverse of a node's own matrix in its place (Gauss and Jordan, without pivots: it is the identity and more). */
static bool csimi_degree_invert(csim_real *D, int m) {
    int i, j, k;
    for (k = 0; k < m; ++k) {
        csim_real *row = D + (ptrdiff_t)m * k;
        const csim_real pivot = 1 / row[k];
        if (!(pivot > -CSIMI_HUGE && pivot < CSIMI_HUGE)) return false; /* a zero, or no number */
        for (j = 0; j < m; ++j) row[j] *= pivot;
        row[k] = pivot;
        for (i = 0; i < m; ++i) {
            csim_real *to = D + (ptrdiff_t)m * i;
            const csim_real factor = to[k];
            if (i == k) continue;
            to[k] = 0;
            for (j = 0; j < m; ++j) to[j] -= factor * row[j];
        }
    }
    return true;
}

/* L [rows m] <- L D */
static void csimi_degree_scale(csim_real *L, int rows, const csim_real *D, int m) {
    csim_real x[CSIMI_DEGREE_MOST]; /* the row of L D while that of L is read */
    int i, j, k;
    for (i = 0; i < rows; ++i, L += m) {
#if CSIMI_QUADS
        if (m == 6) {
            csimi_two a = {0, 0}, b = a, c = a;
            for (k = 0; k < 6; ++k) {
                const csimi_two w = {L[k], L[k]};
                a += w * *(const csimi_two *)(D + 6 * k);
                b += w * *(const csimi_two *)(D + 6 * k + 2);
                c += w * *(const csimi_two *)(D + 6 * k + 4);
            }
            CSIMI_TWO(L) = a;
            CSIMI_TWO(L + 2) = b;
            CSIMI_TWO(L + 4) = c;
            continue;
        }
#endif
        for (j = 0; j < m; ++j) x[j] = 0;
        for (k = 0; k < m; ++k)
            for (j = 0; j < m; ++j) x[j] += L[k] * D[m * k + j];
        for (j = 0; j < m; ++j) L[j] = x[j];
    }
}

/* What the neighbours of the node at place k get from it: L U for every two, U being kept as its transpose. */
static void csimi_degree_update(csimi_degree *d, int k) {
    const int m = d->size[d->order[k]], end = d->first[k + 1], base = d->rest > 0 ? d->at[d->order[d->root]] : 0;
    csim_real *U = d->turned, *L = U + CSIMI_DEGREE_MOST * CSIMI_DEGREE_MOST;
    int a, b, e;
    for (a = d->first[k]; a < end; ++a) {
        const int j = d->index[a], J = d->order[j], y = d->size[J];
        const csim_real *own = d->value + d->column[a];
        /* U [m y] of its transpose, which lies behind L; L is divided by the pivot already */
        csimi_degree_turn(own + (ptrdiff_t)y * m, y, m, U);
        if (j < d->root) {
            csimi_degree_turn(own, y, m, L);
            for (e = d->first[j]; e < d->first[j + 1]; ++e) d->slot[d->index[e]] = e; /* of column j */
            csimi_degree_less(d->value + d->start[j], (size_t)y, own, y, U, y, m);
            for (b = a + 1; b < end; ++b) {
                const int x = d->size[d->order[d->index[b]]];
                const csim_real *X = d->value + d->column[b];
                csim_real *to = d->value + d->column[d->slot[d->index[b]]]; /* there: k has made the two neighbours */
                csimi_degree_less(to, (size_t)y, X, x, U, y, m);
                /* the upper half, kept as its transpose: (L U)' = U' L' */
                csimi_degree_less(to + (ptrdiff_t)x * y, (size_t)y, X + (ptrdiff_t)x * m, x, L, y, m);
            }
        } else {
            for (b = d->first[k]; b < end; ++b) { /* the root is full: both halves */
                const int X = d->order[d->index[b]];
                csim_real *row = d->value + d->start[d->root] + (ptrdiff_t)(d->at[X] - base) * d->rest;
                /* pairs with one before the root were updated from that one, above */
                if (d->index[b] >= d->root)
                    csimi_degree_less(row + d->at[J] - base, (size_t)d->rest, d->value + d->column[b], d->size[X], U, y,
                                      m);
            }
        }
    }
}

/* to [a b] += A' B for A [3 a] and B [3 b], rows of `stride`. */
static void csimi_degree_outer(csim_real *CSIMI_RESTRICT to, size_t stride, const csim_real *A, int a,
                               const csim_real *B, int b) {
    int i, j;
    for (i = 0; i < a; ++i, to += stride) {
        const csim_real x = A[i], y = A[a + i], z = A[2 * a + i];
#if CSIMI_QUADS
        const csimi_two X = {x, x}, Y = {y, y}, Z = {z, z};
        if (b == 3) { /* a block by itself, in registers while rows follow */
            CSIMI_TWO(to) += X * *(const csimi_two *)B + Y * *(const csimi_two *)(B + 3) +
                             Z * *(const csimi_two *)(B + 6);
            to[2] += x * B[2] + y * B[5] + z * B[8];
            continue;
        }
        for (j = 0; j + 2 <= b; j += 2)
            CSIMI_TWO(to + j) += X * *(const csimi_two *)(B + j) + Y * *(const csimi_two *)(B + b + j) +
                                  Z * *(const csimi_two *)(B + 2 * b + j);
#else
        j = 0;
#endif
        for (; j < b; ++j) to[j] += x * B[j] + y * B[b + j] + z * B[2 * b + j];
    }
}

CSIMI_FN void csimi_degree_add(csimi_degree *d, int u, int v, const csim_real *J, const csim_real *T) {
    size_t down, right;
    csim_real *to = csimi_degree_block(d, u, v, &down, &right); /* inside the plan */
    if (right == 1)
        csimi_degree_outer(to, down, J, d->size[u], T, d->size[v]);
    else /* a block kept as its transpose */
        csimi_degree_outer(to, right, T, d->size[v], J, d->size[u]);
}

CSIMI_FN void csimi_degree_clear(csimi_degree *d) { CSIMI_MEMSET(d->value, 0, d->numbers * sizeof *d->value); }

/* The root is a full matrix, in the numbers of csimi_lu: in float they are others than those of value. */
static bool csimi_degree_factor_root(csimi_degree *d) {
    csim_real *root = d->value + d->start[d->root];
    int i;
    if (sizeof *root == sizeof *d->dense)
        d->dense = (csimi_wide *)(void *)root;
    else
        for (i = 0; i < d->rest * d->rest; ++i) d->dense[i] = (csimi_wide)root[i];
    return csimi_lu(d->rest, d->dense, d->pivot);
}

CSIMI_FN bool csimi_degree_factor(csimi_degree *d) {
    int k, e;
    for (k = 0; k < d->root; ++k) {
        const int m = d->size[d->order[k]];
        csim_real *D = d->value + d->start[k];
        if (!csimi_degree_invert(D, m)) return false;
        /* L D^-1, with which L U is all that the neighbours have to be told */
        for (e = d->first[k]; e < d->first[k + 1]; ++e)
            csimi_degree_scale(d->value + d->column[e], d->size[d->order[d->index[e]]], D, m);
        csimi_degree_update(d, k);
    }
    return csimi_degree_factor_root(d);
}

CSIMI_FN void csimi_degree_solve(csimi_degree *d, csimi_wide *x) {
    int k, e, i, j;
    for (k = 0; k < d->root; ++k) { /* down through L, whose diagonal is one */
        const int m = d->size[d->order[k]];
        const csimi_wide *own = x + d->at[d->order[k]];
        for (e = d->first[k]; e < d->first[k + 1]; ++e) {
            const int J = d->order[d->index[e]];
            const csim_real *L = d->value + d->column[e];
            csimi_wide *y = x + d->at[J];
            for (i = 0; i < d->size[J]; ++i)
                for (j = 0; j < m; ++j) y[i] -= (csimi_wide)L[m * i + j] * own[j];
        }
    }
    if (d->rest > 0) csimi_lu_solve(d->rest, d->dense, d->pivot, x + d->at[d->order[d->root]]);
    for (k = d->root - 1; k >= 0; --k) { /* and up: D^-1 (x - U of what is known) */
        const int m = d->size[d->order[k]];
        const csim_real *D = d->value + d->start[k];
        csimi_wide *own = x + d->at[d->order[k]], y[CSIMI_DEGREE_MOST];
        for (e = d->first[k]; e < d->first[k + 1]; ++e) {
            const int J = d->order[d->index[e]];
            const csim_real *U = d->value + d->column[e] + (ptrdiff_t)d->size[J] * m;
            for (i = 0; i < d->size[J]; ++i)
                for (j = 0; j < m; ++j) own[j] -= (csimi_wide)U[m * i + j] * x[d->at[J] + i];
        }
        for (i = 0; i < m; ++i) y[i] = own[i];
        for (i = 0; i < m; ++i) {
            own[i] = 0;
            for (j = 0; j < m; ++j) own[i] += (csimi_wide)D[m * i + j] * y[j];
        }
    }
}

#undef CSIMI_TWO
