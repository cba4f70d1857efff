/* solve/bodies: A as small dense bodies, each inverted once, and the rows of contacts on them. */
#include "private.h"

/* ---- bodies */

/* Blocks coupled by A must lie side by side, at most CSIMI_BODY_BLOCKS together, or as many as a body of the structure
   has: returns the end of the body that starts at block i, or -1. Rows are symmetric, so looking at the last column of
   each is enough. *body counts the bodies of the structure. */
static int csimi_body_end(const csim_problem *problem, int i, int *body) {
    const csim_block_matrix *A = &problem->A;
    const csim_structure *s = problem->structure;
    int end = i, k;
    if (s && s->body_count > 0 && s->body_first) {
        end = s->body_first[++*body];
        for (k = i; k < end; ++k)
            if (A->col[A->row[k]] < i || A->col[A->row[k + 1] - 1] >= end) return -1;
        return end - i <= CSIMI_BODY_LARGEST ? end : -1;
    }
    for (k = i; k <= end; ++k) {
        const int last = A->col[A->row[k + 1] - 1];
        end = csimi_imax(end, last);
        if (end - i >= CSIMI_BODY_BLOCKS) return -1;
    }
    return end + 1;
}

CSIMI_FN bool csimi_bodies_take(const csim_problem *problem) {
    int i = 0, body = 0;
    while (i >= 0 && i < problem->A.n) i = csimi_body_end(problem, i, &body);
    return i >= 0;
}

CSIMI_FN int csimi_bodies_inverse_blocks(const csim_problem *problem) {
    int i = 0, body = 0, end, sum = 0;
    for (; i < problem->A.n; i = end) {
        end = csimi_body_end(problem, i, &body);
        if (end < 0) return CSIMI_BODY_BLOCKS * problem->A.n;
        sum += (end - i) * (end - i);
    }
    return sum;
}

CSIMI_FN int csimi_inverse_blocks_of(const csim_problem_size *size) {
    return size->inverse_blocks > 0 ? size->inverse_blocks : CSIMI_BODY_BLOCKS * size->blocks;
}

CSIMI_FN void csimi_bodies_layout(csimi_bodies *b, csimi_arena *arena, int n, int inverse) {
    const size_t widest = 3 * (size_t)csimi_imin(n, CSIMI_BODY_LARGEST);
    b->first = CSIMI_PUSH(arena, int, n);
    b->size = CSIMI_PUSH(arena, int, n);
    b->row = CSIMI_PUSH(arena, int, n);
    b->inverse = CSIMI_PUSH(arena, csim_real, 9 * (size_t)inverse);
    b->dense = CSIMI_PUSH(arena, double, widest *widest);
}

/* H = L' D L from the last row up, and the inverse X of H from the first row down, both in place of H [m m]: X_kj =
   -sum L_ki X_ij below the diagonal, because L X = D^-1 L'^-1 is zero there. A tree whose base comes first fills no
   zero of H this way (Featherstone 2008, 6.5). Lower triangles. False when a pivot is not positive. */
static bool csimi_invert_in_place(int m, double *H) {
    int on[3 * CSIMI_BODY_LARGEST], i, j, k, a, b, count;
    for (k = m - 1; k >= 0; --k) {
        double *row = H + (ptrdiff_t)m * k;
        const double pivot = row[k];
        if (!(pivot > 0)) return false;
        for (i = 0, count = 0; i < k; ++i)
            if (row[i] < 0 || row[i] > 0) on[count++] = i;
        for (a = 0; a < count; ++a) {
            const double scale = row[on[a]] / pivot;
            for (b = 0; b <= a; ++b) H[(ptrdiff_t)m * on[a] + on[b]] -= scale * row[on[b]];
        }
        for (a = 0; a < count; ++a) row[on[a]] /= pivot;
    }
    for (k = 0; k < m; ++k) {
        double *row = H + (ptrdiff_t)m * k, L[3 * CSIMI_BODY_LARGEST], sum = 1 / row[k];
        for (i = 0, count = 0; i < k; ++i) {
            if (row[i] < 0 || row[i] > 0) {
                on[count] = i;
                L[count++] = row[i];
            }
            row[i] = 0;
        }
        for (a = 0; a < count; ++a) { /* X is symmetric: beyond on[a] its column stands in the rows below */
            const double *known = H + (ptrdiff_t)m * on[a];
            for (j = 0; j <= on[a]; ++j) row[j] -= L[a] * known[j];
            for (; j < k; ++j) row[j] -= L[a] * H[(ptrdiff_t)m * j + on[a]];
        }
        for (a = 0; a < count; ++a) sum -= L[a] * row[on[a]];
        row[k] = sum;
    }
    return true;
}

/* Inverse of the dense body [first, end) into its rows of s->inverse. */
static CSIMI_NOINLINE bool csimi_body_invert(csimi_bodies *b, const csim_block_matrix *A, int first, int end) {
    const int m = 3 * (end - first);
    double *H = b->dense;
    int i, j, k, r, c;
    for (i = 0; i < m * m; ++i) H[i] = 0;
    for (i = first; i < end; ++i)
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            for (r = 0; r < 3; ++r)
                for (c = 0; c < 3; ++c)
                    H[m * (3 * (i - first) + r) + 3 * (A->col[k] - first) + c] =
                        (double)A->val[9 * (ptrdiff_t)k + 3 * r + c];
    if (!csimi_invert_in_place(m, H)) return false;
    for (j = 0; j < m; ++j)
        for (i = 0; i < m; ++i) {
            csim_real *block = b->inverse + 9 * ((ptrdiff_t)b->row[first + j / 3] + i / 3);
            block[3 * (j % 3) + i % 3] = (csim_real)(i <= j ? H[m * j + i] : H[m * i + j]);
        }
    return true;
}

CSIMI_FN bool csimi_bodies_open(csimi_bodies *b, const csim_problem *problem) {
    int i, k, end, row = 0, body = 0;
    for (i = 0; i < problem->A.n; i = end) {
        end = csimi_body_end(problem, i, &body);
        for (k = i; k < end; ++k) {
            b->first[k] = i;
            b->size[k] = end - i;
            b->row[k] = row;
            row += end - i;
        }
        if (!csimi_body_invert(b, &problem->A, i, end)) return false;
    }
    return true;
}

CSIMI_FN void csimi_body_push(const csimi_bodies *b, int i, const csim_real *x, csim_real *y) {
    const csim_real *inverse = b->inverse + 9 * (ptrdiff_t)b->row[i];
    int k;
    for (k = 0; k < b->size[i]; ++k) csimi_addmulT3(inverse + 9 * k, x, y + 3 * (ptrdiff_t)(b->first[i] + k));
}

CSIMI_FN void csimi_less_product(const csim_block_matrix *A, const csim_real *v, double *residual) {
    int i, k, r, c;
    for (i = 0; i < A->n; ++i)
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            for (r = 0; r < 3; ++r)
                for (c = 0; c < 3; ++c)
                    residual[3 * i + r] -=
                        (double)A->val[9 * (ptrdiff_t)k + 3 * r + c] * (double)v[3 * (ptrdiff_t)A->col[k] + c];
}

/* ---- the rows of a contact */

static int csimi_pieces_side(const csim_problem *p, const csimi_bodies *b, const csim_contact *contact,
                             const csim_side *side, csim_real sign, csimi_piece *piece) {
    int k, i;
    for (k = side->first; k < side->first + side->count; ++k, ++piece) {
        piece->block = p->terms[k].block;
        piece->first = b ? b->first[piece->block] : 0;
        piece->size = b ? b->size[piece->block] : 0;
        piece->inverse = b ? b->row[piece->block] : 0;
        csimi_matmul(contact->R, p->terms[k].J, piece->J);
        for (i = 0; i < 9; ++i) piece->J[i] *= sign;
    }
    return side->count;
}

CSIMI_FN int csimi_pieces_make(const csim_problem *p, const csimi_bodies *b, int m, csimi_piece *pieces) {
    const csim_contact *contact = p->contacts + m;
    const int count = csimi_pieces_side(p, b, contact, &contact->a, 1, pieces);
    return count + csimi_pieces_side(p, b, contact, &contact->b, -1, pieces + count);
}

CSIMI_FN int csimi_pieces_count(const csim_problem *p) {
    int m, count = 0;
    for (m = 0; m < p->contact_count; ++m) count += p->contacts[m].a.count + p->contacts[m].b.count;
    return count;
}

CSIMI_FN void csimi_pieces_velocity(const csimi_piece *piece, int count, const csim_real *v, csim_real *u) {
    const csimi_piece *end = piece + count;
    for (; piece < end; ++piece) csimi_addmul3(piece->J, v + 3 * (ptrdiff_t)piece->block, u);
}

CSIMI_FN void csimi_pieces_push(const csimi_bodies *b, const csimi_piece *piece, int count, const csim_real *impulse,
                                csim_real *v) {
    const csimi_piece *end = piece + count;
    int k;
    for (; piece < end; ++piece) {
        const csim_real *inverse = b->inverse + 9 * (ptrdiff_t)piece->inverse;
        csim_real g[3] = {0, 0, 0};
        csimi_addmulT3(piece->J, impulse, g);
        for (k = 0; k < piece->size; ++k) csimi_addmulT3(inverse + 9 * k, g, v + 3 * (ptrdiff_t)(piece->first + k));
    }
}

CSIMI_FN void csimi_pieces_delassus(const csimi_bodies *b, const csimi_piece *begin, int count, csim_real *W) {
    const csimi_piece *p, *q, *end = begin + count;
    csim_real T[9], X[9];
    int k;
    for (k = 0; k < 9; ++k) W[k] = 0;
    for (p = begin; p < end; ++p)
        for (q = begin; q < end; ++q) {
            if (p->first != q->first) continue;
            csimi_matmul(p->J, b->inverse + 9 * ((ptrdiff_t)p->inverse + q->block - q->first), T);
            csimi_matmulT(T, q->J, X);
            for (k = 0; k < 9; ++k) W[k] += X[k];
        }
}
