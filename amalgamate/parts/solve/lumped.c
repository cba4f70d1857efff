/* solve/lumped: the matrix of a bounded frame where a factor of A costs too much. Bodies that A couples are taken
   apart: each block has a_i = sum over its row of |A_ij|, for which v'A v <= sum a_i v_i^2 for all v. The frame begins
   at the velocity v0 before it, and its motion obeys A'v = b + J'lambda + (A' - A) v0: what changes, changes as if it
   were stiffer, and at rest nothing is different. What nothing touched begins at v0 and the velocity by which its
   momentum grows, so that it falls as it should. Two or three products of A a frame.

   At the end every piece goes on with the share s of its velocity, 1 at most, for which v'(A v - b - J'lambda) = 0:
   then what happens to its energy is what happens in a step that is solved exactly, but where it slips against what
   holds it. */
#include "private.h"

CSIMI_FN void csimi_lumped_layout(csimi_lumped *l, csimi_arena *arena, int n) {
    const size_t numbers = 3 * (size_t)n;
    l->row = CSIMI_PUSH(arena, int, (size_t)n + 1);
    l->col = CSIMI_PUSH(arena, int, CSIMI_BODY_BLOCKS * (size_t)n);
    l->diag = CSIMI_PUSH(arena, int, n);
    l->val = CSIMI_PUSH(arena, csim_real, 9 * CSIMI_BODY_BLOCKS * (size_t)n);
    l->b = CSIMI_PUSH(arena, csim_real, numbers);
    l->v = CSIMI_PUSH(arena, csim_real, numbers);
    l->alone = CSIMI_PUSH(arena, unsigned char, n);
    l->touched = CSIMI_PUSH(arena, unsigned char, n);
    l->queue = CSIMI_PUSH(arena, int, n);
    l->r = CSIMI_PUSH(arena, double, numbers);
}

/* ---- A' */

/* The end of the small body that begins with block i, or -1: A couples it to more. */
static int csimi_lumped_body(const csim_block_matrix *A, int i) {
    int k, end = i;
    for (k = i; k <= end; ++k) {
        if (A->col[A->row[k]] < i) return -1; /* coupled to a block before it that was taken apart */
        end = csimi_imax(end, A->col[csimi_row_end(A, k) - 1]);
        if (end - i >= CSIMI_BODY_BLOCKS) return -1;
    }
    return end + 1;
}

/* Row i of A': the number a_i on its diagonal, of Frobenius norms, which are not below the spectral ones. */
static void csimi_lumped_block(csimi_lumped *l, const csim_block_matrix *A, int i, int at) {
    csim_real *to = l->val + 9 * (ptrdiff_t)at;
    double sum = 0;
    int k, c;
    for (k = A->row[i]; k < csimi_row_end(A, i); ++k) {
        const csim_real *a = A->val + 9 * (ptrdiff_t)k;
        double square = 0;
        for (c = 0; c < 9; ++c) square += (double)a[c] * (double)a[c];
        sum += csimi_sqrt64(square);
    }
    for (c = 0; c < 9; ++c) to[c] = c % 4 == 0 ? (csim_real)sum : 0;
    l->alone[i] = 1;
    l->row[i] = l->diag[i] = at;
    l->col[at] = i;
}

static void csimi_lumped_matrix(csimi_lumped *l, const csim_problem *p) {
    const csim_block_matrix *A = &p->A;
    int i, k, end, at = 0;
    for (i = 0; i < A->n; i = end) {
        end = csimi_lumped_body(A, i);
        if (end < 0) {
            csimi_lumped_block(l, A, i, at++);
            end = i + 1;
            continue;
        }
        for (; i < end; ++i) { /* a small body stays as it is */
            l->alone[i] = 0;
            l->row[i] = at;
            for (k = A->row[i]; k < csimi_row_end(A, i); ++k, ++at) {
                if (A->col[k] == i) l->diag[i] = at;
                l->col[at] = A->col[k];
                CSIMI_MEMCPY(l->val + 9 * (ptrdiff_t)at, A->val + 9 * (ptrdiff_t)k, 9 * sizeof *l->val);
            }
        }
    }
    l->row[A->n] = at;
    l->problem = *p;
    l->problem.structure = NULL; /* it names the bodies of A, not those of A' */
    l->problem.A.row = l->row;
    l->problem.A.end = NULL; /* rows of A' have no room between them */
    l->problem.A.col = l->col;
    l->problem.A.diag = l->diag;
    l->problem.A.val = l->val;
    l->problem.b = l->b;
}

/* ---- where a frame begins */

/* The blocks that A couples to block i, into queue, and their mark; returns how many, *touched whether something
   acts on them. */
static int csimi_lumped_piece(csimi_lumped *l, const csim_block_matrix *A, int i, unsigned char mark, bool *touched) {
    int head = 0, tail = 0, k;
    *touched = false;
    l->alone[i] = mark; /* 0: small body, 1: taken apart, 2: seen at the start, 3: and at the end */
    l->queue[tail++] = i;
    for (; head < tail; ++head) {
        const int from = l->queue[head];
        *touched |= l->touched[from] != 0;
        for (k = A->row[from]; k < csimi_row_end(A, from); ++k) {
            if (l->alone[A->col[k]] == mark) continue;
            l->alone[A->col[k]] = mark;
            l->queue[tail++] = A->col[k];
        }
    }
    return tail;
}

/* The one velocity of a piece for which what is left of its equations sums up to nothing; blocks that turn stay. */
static void csimi_lumped_shift(csimi_lumped *l, const csim_problem *p, int count) {
    const unsigned char *turns = p->structure ? p->structure->rotation : NULL;
    const csim_block_matrix *A = &p->A;
    double M[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, C[9], sum[3] = {0, 0, 0}, x[3];
    int j, k, c;
    for (j = 0; j < count; ++j) {
        const int from = l->queue[j];
        if (turns && turns[from]) continue;
        for (c = 0; c < 3; ++c) sum[c] += l->r[3 * (ptrdiff_t)from + c];
        for (k = A->row[from]; k < csimi_row_end(A, from); ++k)
            for (c = 0; c < 9 && !(turns && turns[A->col[k]]); ++c) M[c] += (double)A->val[9 * (ptrdiff_t)k + c];
    }
    if (!csimi_pivot(M, C)) return; /* not positive definite: the piece stays at v0 */
    for (c = 0; c < 3; ++c) x[c] = C[c] * sum[0] + C[3 + c] * sum[1] + C[6 + c] * sum[2]; /* M^-1 = C C' */
    for (c = 2; c >= 0; --c) x[c] = C[3 * c] * x[0] + C[3 * c + 1] * x[1] + C[3 * c + 2] * x[2];
    for (j = 0; j < count; ++j)
        for (c = 0; c < 3 && !(turns && turns[l->queue[j]]); ++c)
            l->v[3 * (ptrdiff_t)l->queue[j] + c] += (csim_real)x[c];
}

/* Marks the blocks on which the impulses at the start act, on either side of their contacts. */
static void csimi_lumped_touch(csimi_lumped *l, const csim_problem *p, const csim_real *lambda) {
    int m, side, k;
    CSIMI_MEMSET(l->touched, 0, (size_t)p->A.n);
    for (m = 0; m < p->contact_count; ++m, lambda += 3) {
        if (!(lambda[0] < 0 || lambda[0] > 0 || lambda[1] < 0 || lambda[1] > 0 || lambda[2] < 0 || lambda[2] > 0))
            continue;
        for (side = 0; side < 2; ++side) {
            const csim_side *s = side ? &p->contacts[m].b : &p->contacts[m].a;
            for (k = s->first; k < s->first + s->count; ++k) l->touched[p->terms[k].block] = 1;
        }
    }
}

/* r = b - A v of the velocity at the start. */
static void csimi_lumped_residual(csimi_lumped *l, const csim_problem *p) {
    int i;
    for (i = 0; i < 3 * p->A.n; ++i) l->r[i] = (double)p->b[i];
    csimi_less_product(&p->A, l->v, l->r);
}

CSIMI_FN bool csimi_lumped_open(csimi_lumped *l, const csim_problem *p, csimi_bodies *bodies, const csim_real *v,
                                const csim_real *lambda) {
    bool touched, shifted = false;
    int i, count;
    csimi_lumped_matrix(l, p);
    if (!csimi_bodies_open(bodies, &l->problem)) return false;
    csimi_lumped_touch(l, p, lambda);
    CSIMI_MEMCPY(l->v, v, 3 * (size_t)p->A.n * sizeof *v);
    csimi_lumped_residual(l, p);
    for (i = 0; i < p->A.n; ++i) {
        if (l->alone[i] != 1) continue; /* small, or of a piece that was seen */
        count = csimi_lumped_piece(l, &p->A, i, 2, &touched);
        if (touched) continue; /* what impulses act on begins at v0 */
        csimi_lumped_shift(l, p, count);
        shifted = true;
    }
    if (shifted) csimi_lumped_residual(l, p);
    for (i = 0; i < 3 * p->A.n; ++i) { /* A' is diagonal there */
        const double own = (double)l->val[9 * (ptrdiff_t)l->diag[i / 3] + 4 * (i % 3)] * (double)l->v[i];
        l->b[i] = l->alone[i / 3] ? (csim_real)(own + l->r[i]) : p->b[i]; /* b + (A' - A) v */
    }
    return csimi_all_finite(l->b, 3 * p->A.n);
}

/* v'(b + J'lambda) over v'A v of a piece, both from r = b + J'lambda - A v: 0 to 1. */
static double csimi_lumped_share(const csimi_lumped *l, const double *load, const csim_real *v, int count) {
    double given = 0, left = 0;
    int j, c;
    for (j = 0; j < count; ++j)
        for (c = 0; c < 3; ++c) {
            const ptrdiff_t at = 3 * (ptrdiff_t)l->queue[j] + c;
            given += (double)v[at] * load[at];
            left += (double)v[at] * l->r[at];
        }
    if (!(left < 0)) return 1; /* v'A v <= v'(b + J'lambda) */
    return given > 0 ? given / (given - left) : 0; /* the denominator is v'A v */
}

CSIMI_FN void csimi_lumped_close(csimi_lumped *l, const csim_problem *p, const csim_real *lambda, double *load,
                                 csim_real *v) {
    bool touched;
    int i, j, c, count;
    csimi_problem_load(p, lambda, load);
    for (i = 0; i < 3 * p->A.n; ++i) l->r[i] = load[i];
    csimi_less_product(&p->A, v, l->r);
    for (i = 0; i < p->A.n; ++i) {
        double share;
        if (l->alone[i] != 2) continue;
        count = csimi_lumped_piece(l, &p->A, i, 3, &touched);
        share = csimi_lumped_share(l, load, v, count);
        for (j = 0; j < count; ++j)
            for (c = 0; c < 3; ++c) {
                csim_real *own = v + 3 * (ptrdiff_t)l->queue[j] + c;
                *own = (csim_real)(share * (double)*own);
            }
    }
}
