/* sparse/cholesky: P A P' = L L' of a sparse positive definite block matrix, in double; for the reference build and for
   bounded frames of soft bodies that are small enough: L has more blocks than A. The order is a nested dissection by
   breadth-first levels (George and Liu); the pattern of row k of L is what the elimination tree reaches from row k of A
   (Liu), and rows are made one after the other from the rows above (up-looking). */
#include "private.h"

#if defined(CONDSIM_REFERENCE) || defined(CSIMI_COUPLES)

enum { CSIMI_LEAF = 8 }; /* blocks that are not dissected further */

CSIMI_FN void csimi_factor_layout(csimi_factor *f, csimi_arena *arena, int n) {
    f->n = n;
    f->order = CSIMI_PUSH(arena, int, n);
    f->place = CSIMI_PUSH(arena, int, n);
    f->parent = CSIMI_PUSH(arena, int, n);
    f->first = CSIMI_PUSH(arena, size_t, (size_t)n + 1);
    f->end = CSIMI_PUSH(arena, size_t, n);
    f->mark = CSIMI_PUSH(arena, int, n);
    f->stack = CSIMI_PUSH(arena, int, 2 * (size_t)n);
    f->row = CSIMI_PUSH(arena, double, 9 * (size_t)n);
    f->pivot = CSIMI_PUSH(arena, double, 9 * (size_t)n);
    f->x = CSIMI_PUSH(arena, double, 3 * (size_t)n);
}

CSIMI_FN void csimi_factor_layout_blocks(csimi_factor *f, csimi_arena *arena, size_t blocks) {
    f->index = CSIMI_PUSH(arena, int, blocks);
    f->value = CSIMI_PUSH(arena, double, 9 * blocks);
}

/* ---- order */

/* A piece of the graph while it is dissected: order[first, last), all of the same label. */
typedef struct csimi_dissection {
    const csim_block_matrix *A;
    int *order, *label, *level, *queue, first, last;
} csimi_dissection;

/* Breadth-first levels of the piece from a block; the queue gets the blocks reached. Returns how many. */
static int csimi_dissect_levels(csimi_dissection *d, int from) {
    const int label = d->label[from];
    int head = 0, tail = 0, k, i;
    for (i = d->first; i < d->last; i++) d->level[d->order[i]] = -1;
    d->level[from] = 0;
    d->queue[tail++] = from;
    while (head < tail) {
        const int b = d->queue[head++];
        for (k = d->A->row[b]; k < csimi_row_end(d->A, b); k++) {
            const int c = d->A->col[k];
            if (d->label[c] != label || d->level[c] >= 0) continue;
            d->level[c] = d->level[b] + 1;
            d->queue[tail++] = c;
        }
    }
    return tail;
}

/* Puts the blocks whose level is below cut first, above it next, on it last; blocks never reached count as above.
   Returns both boundaries. */
static void csimi_dissect_arrange(csimi_dissection *d, int cut, int *above, int *on) {
    int i, at = d->first, pass;
    for (i = d->first; i < d->last; i++) d->queue[i - d->first] = d->order[i];
    for (pass = 0; pass < 3; pass++) {
        if (pass == 1) *above = at;
        if (pass == 2) *on = at;
        for (i = 0; i < d->last - d->first; i++) {
            const int b = d->queue[i], level = d->level[b];
            if (pass == (level >= 0 && level < cut ? 0 : level == cut ? 2 : 1)) d->order[at++] = b;
        }
    }
}

/* Splits the piece; false when it is too small or too dense to be worth it. */
static bool csimi_dissect_piece(csimi_dissection *d, int *above, int *on) {
    const int size = d->last - d->first;
    int reached, deepest, cut = 0, seen = 0, pass, from;
    if (size <= CSIMI_LEAF) return false;
    from = d->order[d->first];
    reached = csimi_dissect_levels(d, from);
    for (pass = 0; pass < 3 && reached == size; pass++) { /* towards an end of the piece */
        deepest = d->level[d->queue[reached - 1]];
        from = d->queue[reached - 1];
        (void)csimi_dissect_levels(d, from);
        if (d->level[d->queue[reached - 1]] <= deepest) break;
    }
    deepest = d->level[d->queue[reached - 1]];
    if (reached < size) {
        cut = deepest + 1; /* two pieces that do not touch */
    } else {
        if (deepest < 2) return false;
        while (2 * seen < size) cut = d->level[d->queue[seen++]];
        cut = csimi_imax(1, csimi_imin(cut, deepest - 1));
    }
    csimi_dissect_arrange(d, cut, above, on);
    return true;
}

/* Dissects order[first, last), of one label, and labels its parts from `labels` on. stack holds the pieces that wait,
   as pairs: never more than n of them. Returns the last label used. */
static int csimi_dissect(const csimi_factor *f, const csimi_dissection *whole, int first, int last, int labels) {
    csimi_dissection d = *whole;
    int waiting = 0, above = 0, on = 0, i;
    f->stack[waiting++] = first;
    f->stack[waiting++] = last;
    while (waiting > 0) {
        d.last = f->stack[--waiting];
        d.first = f->stack[--waiting];
        if (!csimi_dissect_piece(&d, &above, &on)) continue;
        labels += 3;
        for (i = d.first; i < d.last; i++) d.label[d.order[i]] = labels + (i < above ? 0 : i < on ? 1 : 2);
        f->stack[waiting++] = d.first;
        f->stack[waiting++] = above;
        f->stack[waiting++] = above;
        f->stack[waiting++] = on;
    }
    return labels;
}

/* The blocks that A couples to block `from` into order, from place `at` on, the late ones last; returns
   their end, *late_at where the late ones begin. */
static int csimi_factor_component(csimi_dissection *d, int from, int at, const unsigned char *late, int *late_at) {
    int head = 0, tail = 0, k, pass, end = at;
    d->label[from] = 0;
    d->queue[tail++] = from;
    while (head < tail) {
        const int b = d->queue[head++];
        for (k = d->A->row[b]; k < csimi_row_end(d->A, b); k++)
            if (d->label[d->A->col[k]] < 0) {
                d->label[d->A->col[k]] = 0;
                d->queue[tail++] = d->A->col[k];
            }
    }
    for (pass = 0; pass < 2; pass++) {
        for (k = 0; k < tail; k++)
            if ((late[d->queue[k]] != 0) == (pass == 1)) d->order[end++] = d->queue[k];
        if (pass == 0) *late_at = end;
    }
    return end;
}

/* All as one piece; or, with late ones, every piece that A couples by itself, of which small ones are not dissected. */
static void csimi_factor_order(csimi_factor *f, const csim_block_matrix *A, const unsigned char *late) {
    csimi_dissection d;
    int i, k, at = 0, labels = 0;
    d.A = A;
    d.order = f->order;
    d.label = f->place;
    d.level = f->parent;
    d.queue = f->mark;
    d.first = d.last = 0;
    for (i = 0; i < f->n; i++) {
        f->order[i] = i;
        d.label[i] = late ? -1 : 0;
    }
    if (!late) (void)csimi_dissect(f, &d, 0, f->n, 0);
    for (i = 0; i < f->n && late; i++) {
        int late_at = 0, end;
        if (d.label[i] >= 0) continue;
        end = csimi_factor_component(&d, i, at, late, &late_at);
        if (end - at > CSIMI_LEAF) {
            labels += 2;
            for (k = at; k < end; k++) d.label[d.order[k]] = k < late_at ? labels - 1 : labels;
            if (late_at > at) labels = csimi_dissect(f, &d, at, late_at, labels);
            if (end > late_at) labels = csimi_dissect(f, &d, late_at, end, labels);
        }
        at = end;
    }
}

/* ---- the tree */

CSIMI_FN void csimi_factor_plan(csimi_factor *f, const csim_block_matrix *A, const unsigned char *late) {
    int k, p, i, next;
    csimi_factor_order(f, A, late);
    for (k = 0; k < f->n; k++) f->place[f->order[k]] = k;
    for (k = 0; k < f->n; k++) { /* mark: the highest ancestor known so far */
        f->parent[k] = f->mark[k] = -1;
        for (p = A->row[f->order[k]]; p < csimi_row_end(A, f->order[k]); p++)
            for (i = f->place[A->col[p]]; i >= 0 && i < k; i = next) {
                next = f->mark[i];
                f->mark[i] = k;
                if (next < 0) f->parent[i] = k;
            }
    }
    for (k = 0; k <= f->n; k++) f->first[k] = 0;
    for (k = 0; k < f->n; k++) f->mark[k] = -1;
    for (k = 0; k < f->n; k++) { /* every block of row k, found by climbing, is one of its column */
        f->mark[k] = k;
        for (p = A->row[f->order[k]]; p < csimi_row_end(A, f->order[k]); p++)
            for (i = f->place[A->col[p]]; i < k && f->mark[i] != k; i = f->parent[i]) {
                f->first[i + 1]++;
                f->mark[i] = k;
            }
    }
    for (k = 0; k < f->n; k++) f->first[k + 1] += f->first[k];
}

/* ---- numbers */

/* D = G G' in place, G lower; false when D is not positive definite. */
static bool csimi_factor_pivot(double *D) {
    int i, j, k;
    for (j = 0; j < 3; j++)
        for (i = j; i < 3; i++) {
            double x = D[3 * i + j];
            for (k = 0; k < j; k++) x -= D[3 * i + k] * D[3 * j + k];
            if (i == j) {
                if (!(x > 0 && x < 1e300)) return false;
                D[3 * i + i] = csimi_sqrt64(x);
            } else {
                D[3 * i + j] = x / D[3 * j + j];
            }
        }
    return true;
}

/* x <- G^-1 x and x <- G^-T x */
static void csimi_pivot_forward(const double *G, double *x) {
    x[0] /= G[0];
    x[1] = (x[1] - G[3] * x[0]) / G[4];
    x[2] = (x[2] - G[6] * x[0] - G[7] * x[1]) / G[8];
}
static void csimi_pivot_backward(const double *G, double *x) {
    x[2] /= G[8];
    x[1] = (x[1] - G[7] * x[2]) / G[4];
    x[0] = (x[0] - G[3] * x[1] - G[6] * x[2]) / G[0];
}

/* y -= X Y for 3x3; of vectors the same sums, number after number as they lie. */
#if CSIMI_QUADS
typedef double csimi_double2 __attribute__((vector_size(2 * sizeof(double)), aligned(sizeof(double)), may_alias));
#define CSIMI_DOUBLE2(p) (*(csimi_double2 *)(p))
CSIM_INLINE void csimi_factor_take(const double *X, const double *CSIMI_RESTRICT Y, double *CSIMI_RESTRICT y) {
    const csimi_double2 a = *(const csimi_double2 *)Y, d = {X[0], X[3]}, u = {Y[2], Y[0]};
    const csimi_double2 b = *(const csimi_double2 *)(Y + 3), e = {X[1], X[4]}, v = {Y[5], Y[3]};
    const csimi_double2 c = *(const csimi_double2 *)(Y + 6), f = {X[2], X[5]}, w = {Y[8], Y[6]};
    CSIMI_DOUBLE2(y) -= X[0] * a + X[1] * b + X[2] * c;
    CSIMI_DOUBLE2(y + 2) -= d * u + e * v + f * w;
    CSIMI_DOUBLE2(y + 4) -= X[3] * *(const csimi_double2 *)(Y + 1) + X[4] * *(const csimi_double2 *)(Y + 4) +
                            X[5] * *(const csimi_double2 *)(Y + 7);
    CSIMI_DOUBLE2(y + 6) -= X[6] * a + X[7] * b + X[8] * c;
    y[8] -= X[6] * Y[2] + X[7] * Y[5] + X[8] * Y[8];
}
#undef CSIMI_DOUBLE2
#else
CSIM_INLINE void csimi_factor_take(const double *X, const double *Y, double *CSIMI_RESTRICT y) {
    int i;
    for (i = 0; i < 3; i++, X += 3, y += 3) {
        y[0] -= X[0] * Y[0] + X[1] * Y[3] + X[2] * Y[6];
        y[1] -= X[0] * Y[1] + X[1] * Y[4] + X[2] * Y[7];
        y[2] -= X[0] * Y[2] + X[1] * Y[5] + X[2] * Y[8];
    }
}
#endif

CSIMI_FN void csimi_factor_side(const csimi_factor *f, int i, double *X) {
    int c;
    for (c = 0; c < 3; c++) csimi_pivot_forward(f->pivot + 9 * (size_t)i, X + 3 * c);
}

CSIMI_FN void csimi_factor_spread(const csimi_factor *f, int i, size_t end) {
    double X[9]; /* not among those that change */
    size_t p;
    CSIMI_MEMCPY(X, f->row + 9 * (size_t)i, sizeof X);
    for (p = f->first[i]; p < end; p++) csimi_factor_take(X, f->value + 9 * p, f->row + 9 * (size_t)f->index[p]);
}

/* Columns of row k of L, descendants before ancestors: stack[returned .. n). row gets the blocks of A. */
static int csimi_factor_reach(csimi_factor *f, const csim_block_matrix *A, int k) {
    int top = f->n, p, i, c, length;
    double *D = f->pivot + 9 * (size_t)k;
    f->mark[k] = k;
    for (c = 0; c < 9; c++) D[c] = 0;
    for (p = A->row[f->order[k]]; p < csimi_row_end(A, f->order[k]); p++) {
        double *x;
        i = f->place[A->col[p]];
        if (i > k) continue;
        x = i == k ? D : f->row + 9 * (size_t)i;
        for (c = 0; c < 9; c++) x[c] += (double)A->val[9 * (size_t)p + (size_t)c];
        for (length = 0; f->mark[i] != k; i = f->parent[i]) {
            f->stack[length++] = i;
            f->mark[i] = k;
        }
        while (length > 0) f->stack[--top] = f->stack[--length];
    }
    return top;
}

static bool csimi_factor_row(csimi_factor *f, const csim_block_matrix *A, int k) {
    double *D = f->pivot + 9 * (size_t)k;
    int top = csimi_factor_reach(f, A, k), c;
    for (; top < f->n; top++) {
        const int i = f->stack[top];
        double *x = f->row + 9 * (size_t)i, *L = f->value + 9 * f->end[i];
        csimi_factor_side(f, i, x);
        csimi_factor_spread(f, i, f->end[i]);
        f->index[f->end[i]++] = k;
        for (c = 0; c < 9; c++) L[c] = x[3 * (c % 3) + c / 3];
        csimi_factor_take(x, L, D);
        for (c = 0; c < 9; c++) x[c] = 0;
    }
    return csimi_factor_pivot(D);
}

CSIMI_FN bool csimi_factor_compute(csimi_factor *f, const csim_block_matrix *A) {
    int k;
    for (k = 0; k < 9 * f->n; k++) f->row[k] = 0;
    for (k = 0; k < f->n; k++) {
        f->end[k] = f->first[k];
        f->mark[k] = -1;
    }
    for (k = 0; k < f->n; k++)
        if (!csimi_factor_row(f, A, k)) return false;
    return true;
}

CSIMI_FN void csimi_factor_whiten(const csimi_factor *f, double *y) {
    double *x = f->x;
    int k, c;
    size_t p;
    for (k = 0; k < f->n; k++)
        for (c = 0; c < 3; c++) x[3 * k + c] = y[3 * f->order[k] + c];
    for (k = 0; k < f->n; k++) {
        const double *a = x + 3 * (size_t)k;
        csimi_pivot_forward(f->pivot + 9 * (size_t)k, x + 3 * (size_t)k);
        for (p = f->first[k]; p < f->first[k + 1]; p++) {
            const double *L = f->value + 9 * p;
            for (c = 0; c < 3; c++)
                x[3 * f->index[p] + c] -= L[c] * a[0] + L[3 + c] * a[1] + L[6 + c] * a[2];
        }
    }
    for (k = 0; k < 3 * f->n; k++) y[k] = x[k];
}

CSIMI_FN void csimi_factor_restore(const csimi_factor *f, double *y) {
    double *x = f->x;
    int k, c;
    size_t p;
    for (k = 0; k < 3 * f->n; k++) x[k] = y[k];
    for (k = f->n - 1; k >= 0; k--) {
        double *a = x + 3 * (size_t)k;
        for (p = f->first[k]; p < f->first[k + 1]; p++) {
            const double *L = f->value + 9 * p, *z = x + 3 * (size_t)f->index[p];
            for (c = 0; c < 3; c++) a[c] -= L[3 * c] * z[0] + L[3 * c + 1] * z[1] + L[3 * c + 2] * z[2];
        }
        csimi_pivot_backward(f->pivot + 9 * (size_t)k, a);
    }
    for (k = 0; k < f->n; k++)
        for (c = 0; c < 3; c++) y[3 * f->order[k] + c] = x[3 * k + c];
}

#ifdef CONDSIM_REFERENCE
CSIMI_FN void csimi_factor_solve(const csimi_factor *f, const csim_real *b, csim_real *y) {
    double *x = f->row; /* zeros between two rows */
    int k;
    for (k = 0; k < 3 * f->n; k++) x[k] = (double)b[k];
    csimi_factor_whiten(f, x);
    csimi_factor_restore(f, x);
    for (k = 0; k < 3 * f->n; k++) {
        y[k] = (csim_real)x[k];
        x[k] = 0;
    }
}
#endif

#endif
