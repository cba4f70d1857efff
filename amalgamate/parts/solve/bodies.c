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

CSIMI_FN void csimi_bodies_layout(csimi_bodies *b, csimi_arena *arena, int n, int inverse, int reach) {
    const size_t widest = 3 * (size_t)csimi_imin(n, CSIMI_BODY_LARGEST);
    b->first = CSIMI_PUSH(arena, int, n);
    b->size = CSIMI_PUSH(arena, int, n);
    b->row = CSIMI_PUSH(arena, int, n);
    b->inverse = CSIMI_PUSH(arena, csim_real, 9 * (size_t)inverse);
    b->reach = CSIMI_PUSH(arena, csim_real, 9 * (size_t)reach);
    b->dense = CSIMI_PUSH(arena, double, widest *widest);
}

/* Inverse of a symmetric 3x3 block from its lower triangle, by H = L' D L: what is zero stays so to the bit. False when
   a pivot is not positive. */
static bool csimi_pivot_inverse(const double *H, double *X) {
    const double p = H[8], l0 = H[6] / p, l1 = H[7] / p, q = H[4] - l1 * H[7], h = H[3] - l1 * H[6], l = h / q;
    const double r = H[0] - l0 * H[6] - l * h;
    if (!(p > 0 && q > 0 && r > 0)) return false;
    X[0] = 1 / r;
    X[3] = X[1] = -l * X[0];
    X[4] = 1 / q - l * X[3];
    X[6] = X[2] = -l0 * X[0] - l1 * X[3];
    X[7] = X[5] = -l0 * X[3] - l1 * X[4];
    X[8] = 1 / p - l0 * X[6] - l1 * X[7];
    return true;
}

CSIMI_FN void csimi_add_product(const double *A, const double *B, double *CSIMI_RESTRICT C) {
    int i;
    for (i = 0; i < 3; ++i, A += 3, C += 3) {
        C[0] += A[0] * B[0] + A[1] * B[3] + A[2] * B[6];
        C[1] += A[0] * B[1] + A[1] * B[4] + A[2] * B[7];
        C[2] += A[0] * B[2] + A[1] * B[5] + A[2] * B[8];
    }
}

CSIMI_FN void csimi_add_productT(const double *A, const double *B, double *CSIMI_RESTRICT C) {
    int i;
    for (i = 0; i < 3; ++i, ++A, C += 3) {
        C[0] += A[0] * B[0] + A[3] * B[3] + A[6] * B[6];
        C[1] += A[0] * B[1] + A[3] * B[4] + A[6] * B[7];
        C[2] += A[0] * B[2] + A[3] * B[5] + A[6] * B[8];
    }
}

/* The lower blocks of the body [first, first + m) that are not zero into H [m m blocks], bit j of on[i] for block
   (i, j). */
static void csimi_body_read(const csim_block_matrix *A, int first, int m, double *H, unsigned *on) {
    int i, k, r;
    for (i = 0; i < m; ++i) {
        on[i] = 0;
        for (k = A->row[first + i]; k <= A->diag[first + i]; ++k) {
            const csim_real *from = A->val + 9 * (ptrdiff_t)k;
            const int j = A->col[k] - first;
            double *to = H + 9 * (ptrdiff_t)(m * i + j);
            bool some = false;
            for (r = 0; r < 9; ++r) {
                to[r] = (double)from[r];
                some |= from[r] < 0 || from[r] > 0;
            }
            if (some) on[i] |= 1u << j;
        }
    }
}

/* H = L' D L by blocks from the last row up: a tree whose base comes first fills no zero of H this way (Featherstone
   2008, 6.5). Leaves the inverse of D on the diagonal and -L_ki in block (i, k). */
static bool csimi_body_factor(int m, double *H, unsigned *on) {
    int i, j, k, r;
    for (k = m - 1; k >= 0; --k) {
        double *pivot = H + 9 * (ptrdiff_t)(m * k + k), inverse[9];
        if (!csimi_pivot_inverse(pivot, inverse)) return false;
        for (r = 0; r < 9; ++r) pivot[r] = -inverse[r];
        for (i = 0; i < k; ++i) {
            double *N = H + 9 * (ptrdiff_t)(m * i + k);
            if (!(on[k] >> i & 1u)) continue;
            for (r = 0; r < 9; ++r) N[r] = 0;
            csimi_add_product(pivot, H + 9 * (ptrdiff_t)(m * k + i), N);
            for (j = 0; j <= i; ++j) {
                double *to = H + 9 * (ptrdiff_t)(m * i + j);
                if (!(on[k] >> j & 1u)) continue;
                for (r = 0; r < 9 && !(on[i] >> j & 1u); ++r) to[r] = 0;
                on[i] |= 1u << j;
                csimi_add_productT(N, H + 9 * (ptrdiff_t)(m * k + j), to);
            }
        }
        for (r = 0; r < 9; ++r) pivot[r] = inverse[r];
    }
    return true;
}

/* The inverse X from the factor, from the first row down: L X = D^-1 L'^-1 is zero below the diagonal, so that X_kj =
   -sum L_ki X_ij there, and X_kk = D_k^-1 - sum L_ki X_ik. */
static void csimi_body_unfold(int m, double *H, const unsigned *on) {
    int i, j, k, r;
    for (k = 0; k < m; ++k) {
        double *row = H + 9 * (ptrdiff_t)(m * k);
        for (j = 0; j < 9 * k; ++j) row[j] = 0;
        for (i = 0; i < k; ++i)
            for (j = 0; j < k && on[k] >> i & 1u; ++j)
                csimi_add_product(H + 9 * (ptrdiff_t)(m * i + k), H + 9 * (ptrdiff_t)(m * i + j), row + 9 * j);
        for (i = 0; i < k; ++i) {
            double *N = H + 9 * (ptrdiff_t)(m * i + k), X[9];
            for (r = 0; r < 3; ++r) {
                X[r] = row[9 * i + 3 * r];
                X[3 + r] = row[9 * i + 3 * r + 1];
                X[6 + r] = row[9 * i + 3 * r + 2];
            }
            if (on[k] >> i & 1u) csimi_add_product(N, X, row + 9 * k);
            for (r = 0; r < 9; ++r) N[r] = X[r];
        }
    }
}

/* Inverse of the dense body [first, end) into its rows of b->inverse. */
static CSIMI_NOINLINE bool csimi_body_invert(csimi_bodies *b, const csim_block_matrix *A, int first, int end) {
    unsigned on[CSIMI_BODY_LARGEST];
    const int m = end - first;
    csim_real *inverse = b->inverse + 9 * (ptrdiff_t)b->row[first];
    int k;
    csimi_body_read(A, first, m, b->dense, on);
    if (!csimi_body_factor(m, b->dense, on)) return false;
    csimi_body_unfold(m, b->dense, on);
    for (k = 0; k < 9 * m * m; k += 3) {
        inverse[k] = (csim_real)b->dense[k];
        inverse[k + 1] = (csim_real)b->dense[k + 1];
        inverse[k + 2] = (csim_real)b->dense[k + 2];
    }
    return true;
}

CSIMI_FN bool csimi_bodies_open(csimi_bodies *b, const csim_problem *problem) {
    int i, k, end, row = 0, body = 0;
    b->reached = 0;
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
    int i, k;
    for (i = 0; i < A->n; ++i)
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            csimi_submul3_wide(A->val + 9 * (ptrdiff_t)k, v + 3 * (ptrdiff_t)A->col[k], residual + 3 * (ptrdiff_t)i);
}

/* ---- the rows of a contact */

/* Number of the body of a block among those that the structure names. */
static int csimi_named_body(const csim_structure *s, int block) {
    int low = 0, high = s->body_count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (s->body_first[middle] <= block)
            low = middle;
        else
            high = middle;
    }
    return low;
}

CSIMI_FN int csimi_bodies_reach_blocks(const csim_problem *p) {
    const csim_structure *s = p->structure;
    int m, k, end, sum = 0, largest = 0;
    if (!s || !s->body_first) return 0;
    for (k = 0; k < s->body_count; ++k) largest = csimi_imax(largest, s->body_first[k + 1] - s->body_first[k]);
    if (largest <= CSIMI_BODY_BLOCKS) return 0;
    for (m = 0; m < p->contact_count; ++m) {
        const csim_side *side = &p->contacts[m].a;
        int last = -1;
        for (; side; side = side == &p->contacts[m].a ? &p->contacts[m].b : NULL)
            for (k = side->first, end = k + side->count; k < end; ++k) {
                const int body = csimi_named_body(s, p->terms[k].block);
                const int size = s->body_first[body + 1] - s->body_first[body];
                if (body != last && size > CSIMI_BODY_BLOCKS) sum += size;
                last = body;
            }
    }
    return sum;
}

/* J A^-1 of each run of pieces on one large body: every piece pushes the whole body, and together they do it once. */
static void csimi_pieces_reach(csimi_bodies *b, csimi_piece *begin, const csimi_piece *end) {
    csimi_piece *p, *q;
    int k, r;
    for (p = begin; p < end; p = q) {
        csim_real *reach = b->reach + 9 * (ptrdiff_t)b->reached;
        for (q = p; q < end && q->first == p->first; ++q) q->reach = p->size > CSIMI_BODY_BLOCKS ? -2 : -1;
        if (p->size <= CSIMI_BODY_BLOCKS) continue;
        p->reach = b->reached;
        b->reached += p->size;
        for (k = 0; k < p->size; ++k, reach += 9) {
            const csimi_piece *one = p;
            for (r = 0; r < 9; ++r) reach[r] = 0;
            for (; one < q; ++one)
                for (r = 0; r < 9; r += 3)
                    csimi_addmulT3(b->inverse + 9 * (ptrdiff_t)(one->inverse + k), one->J + r, reach + r);
        }
    }
}

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

CSIMI_FN int csimi_pieces_make(const csim_problem *p, csimi_bodies *b, int m, csimi_piece *pieces) {
    const csim_contact *contact = p->contacts + m;
    int count = csimi_pieces_side(p, b, contact, &contact->a, 1, pieces);
    count += csimi_pieces_side(p, b, contact, &contact->b, -1, pieces + count);
    if (b) csimi_pieces_reach(b, pieces, pieces + count);
    return count;
}

CSIMI_FN int csimi_pieces_count(const csim_problem *p) {
    int m, count = 0;
    for (m = 0; m < p->contact_count; ++m) count += p->contacts[m].a.count + p->contacts[m].b.count;
    return count;
}

CSIMI_FN csim_real csimi_pieces_mobility(const csim_problem *p, const csimi_piece *piece, int count) {
    csim_real mobility = 0;
    int k, i;
    for (k = 0; k < count; ++k)
        for (i = 0; i < 9; ++i) {
            const csim_real *A = p->A.val + 9 * (ptrdiff_t)p->A.diag[piece[k].block];
            mobility += piece[k].J[i] * piece[k].J[i] / A[4 * (i % 3)] / 3;
        }
    return mobility;
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
        if (piece->reach >= 0)
            for (k = 0; k < piece->size; ++k)
                csimi_addmulT3(b->reach + 9 * (ptrdiff_t)(piece->reach + k), impulse,
                               v + 3 * (ptrdiff_t)(piece->first + k));
        if (piece->reach != -1) continue;
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
            const int at = q->block - q->first;
            if (p->first != q->first || p->reach == -2) continue;
            if (p->reach < 0) csimi_matmul(p->J, b->inverse + 9 * ((ptrdiff_t)p->inverse + at), T);
            csimi_matmulT(p->reach < 0 ? T : b->reach + 9 * ((ptrdiff_t)p->reach + at), q->J, X);
            for (k = 0; k < 9; ++k) W[k] += X[k];
        }
}
