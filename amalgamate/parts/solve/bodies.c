/* solve/bodies: A as small dense bodies, each factored once, A = E' E, and the rows of contacts on them. In w = E v the
   matrix is the identity: a row J of a contact is J E^-1, its impulse changes w by the transpose of the same numbers,
   and W = J E^-1 (J E^-1)'. On a tree E^-1 reaches from a link to its root and nowhere else, where A^-1 is full. */
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
        end = s->body_first[++*body]; /* -1 below where A reaches beyond the body named */
        for (k = i; k < end; ++k)
            if (A->col[A->row[k]] < i || A->col[csimi_row_end(A, k) - 1] >= end) return -1;
        return end - i <= CSIMI_BODY_LARGEST ? end : -1; /* csimi_bodies.on has a bit for each block */
    }
    for (k = i; k <= end; ++k) {
        const int last = A->col[csimi_row_end(A, k) - 1];
        end = csimi_imax(end, last);
        if (end - i >= CSIMI_BODY_BLOCKS) return -1; /* more than a small body: left to COND or coupled.c */
    }
    return end + 1;
}

CSIMI_FN bool csimi_bodies_take(const csim_problem *problem) {
    int i = 0, body = 0;
    while (i >= 0 && i < problem->A.n) i = csimi_body_end(problem, i, &body);
    return i >= 0;
}

/* Where A is no set of bodies the bound of unnamed ones stands, as in csimi_factor_blocks_of. */
CSIMI_FN int csimi_bodies_factor_blocks(const csim_problem *problem) {
    int i = 0, body = 0, end, sum = 0;
    for (; i < problem->A.n; i = end) {
        end = csimi_body_end(problem, i, &body);
        if (end < 0) return CSIMI_BODY_BLOCKS * problem->A.n;
        sum += (end - i) * (end - i);
    }
    return sum;
}

CSIMI_FN int csimi_factor_blocks_of(const csim_problem_size *size) {
    return size->factor_blocks > 0 ? size->factor_blocks : CSIMI_BODY_BLOCKS * size->blocks;
}

CSIMI_FN void csimi_bodies_factor_layout(csimi_bodies *b, csimi_arena *arena, int n, int factor_blocks) {
    b->n = n;
    b->first = CSIMI_PUSH(arena, int, n);
    b->size = CSIMI_PUSH(arena, int, n);
    b->row = CSIMI_PUSH(arena, int, n);
    b->on = CSIMI_PUSH(arena, unsigned, n);
    b->factor = CSIMI_PUSH(arena, csimi_wide, 9 * (size_t)factor_blocks);
}

/* Numbers of J on one body, the largest there can be. */
CSIMI_FN size_t csimi_bodies_rows(int n) { return 9 * (size_t)csimi_imin(n, CSIMI_BODY_LARGEST); }

CSIMI_FN void csimi_bodies_layout(csimi_bodies *b, csimi_arena *arena, int n, int factor_blocks) {
    csimi_bodies_factor_layout(b, arena, n, factor_blocks);
    b->rows = CSIMI_PUSH(arena, csimi_wide, csimi_bodies_rows(n));
}

CSIMI_FN bool csimi_pivot(const csimi_wide *H, csimi_wide *C) {
    /* from the last row up, as the blocks are: p, q, r are the pivots */
    const csimi_wide p = H[8], l0 = H[6] / p, l1 = H[7] / p, q = H[4] - l1 * H[7], h = H[3] - l1 * H[6], l = h / q;
    const csimi_wide r = H[0] - l0 * H[6] - l * h;
    if (!(p > 0 && q > 0 && r > 0)) return false; /* false of a NaN too */
    C[0] = 1 / csimi_sqrt64(r);
    C[3] = -l * C[0];
    C[6] = (l * l1 - l0) * C[0];
    C[4] = 1 / csimi_sqrt64(q);
    C[7] = -l1 * C[4];
    C[8] = 1 / csimi_sqrt64(p);
    C[1] = C[2] = C[5] = 0;
    return true;
}

CSIMI_FN void csimi_add_product(const csimi_wide *A, const csimi_wide *B, csimi_wide *CSIMI_RESTRICT C) {
    int i;
    for (i = 0; i < 3; ++i, A += 3, C += 3) {
        C[0] += A[0] * B[0] + A[1] * B[3] + A[2] * B[6];
        C[1] += A[0] * B[1] + A[1] * B[4] + A[2] * B[7];
        C[2] += A[0] * B[2] + A[1] * B[5] + A[2] * B[8];
    }
}

CSIMI_FN void csimi_add_productT(const csimi_wide *A, const csimi_wide *B, csimi_wide *CSIMI_RESTRICT C) {
    int i;
    for (i = 0; i < 3; ++i, ++A, C += 3) {
        C[0] += A[0] * B[0] + A[3] * B[3] + A[6] * B[6];
        C[1] += A[0] * B[1] + A[3] * B[4] + A[6] * B[7];
        C[2] += A[0] * B[2] + A[3] * B[5] + A[6] * B[8];
    }
}

/* The lower blocks of the body [first, first + m) that are not zero into H [m m blocks], bit j of on[i] for block
   (i, j). */
static void csimi_body_read(const csim_block_matrix *A, int first, int m, csimi_wide *H, unsigned *on) {
    int i, k, r;
    for (i = 0; i < m; ++i) {
        on[i] = 0;
        for (k = A->row[first + i]; k <= A->diag[first + i]; ++k) { /* A is symmetric: half is enough */
            const csim_real *from = A->val + 9 * (ptrdiff_t)k;
            const int j = A->col[k] - first;
            csimi_wide *to = H + 9 * (ptrdiff_t)(m * i + j);
            for (r = 0; r < 9; r += 3) {
                to[r] = (csimi_wide)from[r];
                to[r + 1] = (csimi_wide)from[r + 1];
                to[r + 2] = (csimi_wide)from[r + 2];
            }
            if (csimi_any(from, 9)) on[i] |= 1u << j; /* stored zeros cost nothing in the factor either */
        }
    }
}

/* A = E' E by blocks from the last row up, E lower triangular: a tree whose base comes first fills no zero of A this
   way (Featherstone 2008, 6.5). Leaves E_kk^-1 = C on the diagonal and -E_ki = -C' A_ki in block (k, i). */
static bool csimi_body_factor(int m, csimi_wide *H, unsigned *on) {
    int i, j, k, r;
    for (k = m - 1; k >= 0; --k) {
        csimi_wide *row = H + 9 * (ptrdiff_t)(m * k), C[9];
        if (!csimi_pivot(row + 9 * k, C)) return false;
        CSIMI_MEMCPY(row + 9 * k, C, sizeof C);
        for (i = 0; i < k; ++i) {
            csimi_wide E[9], *own = row + 9 * i;
            if (!(on[k] >> i & 1u)) continue;
            for (r = 0; r < 3; ++r) { /* column r of C' A_ki */
                E[r] = C[0] * own[r] + C[3] * own[3 + r] + C[6] * own[6 + r];
                E[3 + r] = C[4] * own[3 + r] + C[7] * own[6 + r];
                E[6 + r] = C[8] * own[6 + r];
                own[r] = -E[r];
                own[3 + r] = -E[3 + r];
                own[6 + r] = -E[6 + r];
            }
            for (j = 0; j <= i; ++j) {
                csimi_wide *to = H + 9 * (ptrdiff_t)(m * i + j);
                if (!(on[k] >> j & 1u)) continue;
                /* filled in: nothing has been written there yet */
                if (!(on[i] >> j & 1u)) CSIMI_MEMSET(to, 0, 9 * sizeof *to);
                on[i] |= 1u << j;
                csimi_add_productT(E, row + 9 * j, to); /* row k holds -E_kj: this subtracts */
            }
        }
    }
    return true;
}

/* A body of m blocks takes m m blocks of the factor, row by row. */
CSIMI_FN bool csimi_bodies_open(csimi_bodies *b, const csim_problem *problem) {
    int i, k, end, row = 0, body = 0;
    for (i = 0; i < b->n; i = end) {
        if ((end = csimi_body_end(problem, i, &body)) < 0) return false;
        csimi_body_read(&problem->A, i, end - i, b->factor + 9 * (ptrdiff_t)row, b->on + i);
        if (!csimi_body_factor(end - i, b->factor + 9 * (ptrdiff_t)row, b->on + i)) return false;
        for (k = i; k < end; ++k) {
            b->first[k] = i;
            b->size[k] = end - i;
            b->row[k] = row; /* in blocks, from the start of the factor */
            row += end - i;
        }
    }
    return true;
}

static void csimi_addmul3_double(const csimi_wide *M, const csimi_wide *x, csimi_wide *y) {
    y[0] += M[0] * x[0] + M[1] * x[1] + M[2] * x[2];
    y[1] += M[3] * x[0] + M[4] * x[1] + M[5] * x[2];
    y[2] += M[6] * x[0] + M[7] * x[1] + M[8] * x[2];
}

/* y += M' x */
static void csimi_addmulT3_double(const csimi_wide *M, const csimi_wide *x, csimi_wide *y) {
    y[0] += M[0] * x[0] + M[3] * x[1] + M[6] * x[2];
    y[1] += M[1] * x[0] + M[4] * x[1] + M[7] * x[2];
    y[2] += M[2] * x[0] + M[5] * x[1] + M[8] * x[2];
}

/* E' is upper triangular: from the last block of a body to the first. */
CSIMI_FN void csimi_bodies_whiten(const csimi_bodies *b, csimi_wide *x) {
    int i, k;
    for (k = b->n - 1; k >= 0; --k) {
        const csimi_wide *E = b->factor + 9 * (ptrdiff_t)b->row[k], *C = E + 9 * (k - b->first[k]);
        csimi_wide *body = x + 3 * (ptrdiff_t)b->first[k], *own = x + 3 * (ptrdiff_t)k;
        own[0] = C[0] * own[0] + C[3] * own[1] + C[6] * own[2];
        own[1] = C[4] * own[1] + C[7] * own[2];
        own[2] = C[8] * own[2];
        /* the blocks before the diagonal, -E_ki */
        for (i = 0; E < C; ++i, E += 9)
            if (b->on[k] >> i & 1u) csimi_addmulT3_double(E, own, body + 3 * i);
    }
}

/* E is lower triangular: the other way round. */
CSIMI_FN void csimi_bodies_restore(const csimi_bodies *b, csimi_wide *x) {
    int i, k;
    for (k = 0; k < b->n; ++k) {
        const csimi_wide *E = b->factor + 9 * (ptrdiff_t)b->row[k], *C = E + 9 * (k - b->first[k]);
        csimi_wide *body = x + 3 * (ptrdiff_t)b->first[k], *own = x + 3 * (ptrdiff_t)k;
        for (i = 0; E < C; ++i, E += 9)
            if (b->on[k] >> i & 1u) csimi_addmul3_double(E, body + 3 * i, own);
        own[2] = C[6] * own[0] + C[7] * own[1] + C[8] * own[2];
        own[1] = C[3] * own[0] + C[4] * own[1];
        own[0] = C[0] * own[0];
    }
}

CSIMI_FN void csimi_less_product(const csim_block_matrix *A, const csim_real *v, csimi_wide *residual) {
    int i, k;
    for (i = 0; i < A->n; ++i)
        for (k = A->row[i]; k < csimi_row_end(A, i); ++k)
            csimi_submul3_wide(A->val + 9 * (ptrdiff_t)k, v + 3 * (ptrdiff_t)A->col[k], residual + 3 * (ptrdiff_t)i);
}

/* g += J' world, of one side */
static void csimi_side_load(const csim_problem *p, const csim_side *side, const csimi_wide *world, csimi_wide *g) {
    int k;
    for (k = side->first; k < side->first + side->count; ++k) {
        csimi_wide *at = g + 3 * (ptrdiff_t)p->terms[k].block;
        if (csimi_is_identity(p->terms[k].J)) { /* a node: no product */
            at[0] += world[0];
            at[1] += world[1];
            at[2] += world[2];
        } else {
            csimi_addmulT3_wide(p->terms[k].J, world, at);
        }
    }
}

CSIMI_FN void csimi_problem_load(const csim_problem *p, const csim_real *lambda, csimi_wide *g) {
    int i, k, m;
    for (i = 0; i < 3 * p->A.n; ++i) g[i] = (csimi_wide)p->b[i];
    for (m = 0; lambda && m < p->contact_count; ++m) {
        const csim_contact *c = p->contacts + m;
        csimi_wide world[3] = {0, 0, 0}, impulse[3];
        for (i = 0; i < 3; ++i) impulse[i] = (csimi_wide)lambda[3 * (ptrdiff_t)m + i];
        csimi_addmulT3_wide(c->R, impulse, world); /* from the contact frame to world axes */
        for (k = 0; k < 2; ++k) {
            csimi_side_load(p, k ? &c->b : &c->a, world, g);
            for (i = 0; i < 3; ++i) world[i] = -world[i]; /* side b gets the reaction */
        }
    }
}

CSIMI_FN void csimi_bodies_velocities(const csimi_bodies *b, const csim_problem *p, const csim_real *lambda,
                                      csim_real *v, csimi_wide *scratch) {
    int i;
    csimi_problem_load(p, lambda, scratch);
    csimi_bodies_whiten(b, scratch);
    csimi_bodies_restore(b, scratch);
    for (i = 0; i < 3 * b->n; ++i) v[i] = (csim_real)scratch[i];
}

/* ---- the rows of a contact */

/* The blocks [first, end) of the body of a block that lies in one of neighbours or in a named one. */
static void csimi_body_around(const csim_problem *p, int block, int *first, int *end) {
    const csim_block_matrix *A = &p->A;
    const csim_structure *s = p->structure;
    int i;
    if (s && s->body_count > 0 && s->body_first) {
        int low = csimi_cut((csim_real)block * (csim_real)s->body_count / (csim_real)A->n, 0, s->body_count - 1);
        int high = low + 1; /* if alike */
        /* the guess holds where all bodies have as many blocks, else the body is searched for */
        if (s->body_first[low] > block || s->body_first[high] <= block) low = 0, high = s->body_count;
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            if (s->body_first[middle] <= block)
                low = middle;
            else
                high = middle;
        }
        *first = s->body_first[low];
        *end = s->body_first[low + 1];
        return;
    }
    *first = block;
    /* unnamed bodies: back while a row reaches as far as this one, then on to its last column */
    for (i = block - 1; i >= 0 && i > block - CSIMI_BODY_BLOCKS; --i)
        if (A->col[csimi_row_end(A, i) - 1] >= *first) *first = i;
    for (i = *end = *first; i <= *end && *end < A->n && i < *first + CSIMI_BODY_BLOCKS; ++i)
        *end = csimi_imax(*end, A->col[csimi_row_end(A, i) - 1]);
    ++*end;
}

CSIMI_FN int csimi_bodies_reach_blocks(const csim_problem *p) {
    int m, k, b, end, sum = 0, first[2] = {0, 0}, last[2] = {0, 0}; /* of the bodies at hand: contacts of two bodies
                                                                       follow each other */
    if (p->structure && p->structure->elastic_count > 0) /* bodies of at most four blocks are left without elements */
        return (CSIMI_BODY_BLOCKS - 1) * csimi_pieces_count(p);
    if (!csimi_bodies_take(p)) return 0; /* rows on a coupled A are counted in coupled.c */
    for (m = 0; m < p->contact_count; ++m) {
        for (b = 0; b < 2; ++b) {
            const csim_side *side = b ? &p->contacts[m].b : &p->contacts[m].a;
            for (k = side->first, end = k + side->count; k < end; ++k, --sum) {
                const bool there = p->terms[k].block >= first[b] && p->terms[k].block < last[b];
                if (!there) csimi_body_around(p, p->terms[k].block, first + b, last + b);
                /* each side anew: where both are on one body this is more than is made */
                if (!there || k == side->first) sum += last[b] - first[b];
            }
        }
    }
    return sum;
}

/* The rows X [blocks of the body from first] of the blocks in mask, J of a contact, become J E^-1: pieces on those
   blocks and on the ones before that E couples them to. Returns their number. */
static int csimi_pieces_whiten(const csimi_bodies *b, int first, csimi_wide *X, unsigned mask, csimi_piece *piece) {
    int i, k, r, count = 0;
    for (k = b->size[first] - 1; k >= 0; --k) { /* towards the base: what E adds lies before */
        const csimi_wide *E = b->factor + 9 * (ptrdiff_t)b->row[first + k], *C = E + 9 * k;
        csim_real *J = piece[count].J;
        csimi_wide Y[9]; /* in double for the rows that follow from it */
        if (!(mask >> k & 1u)) continue;
        for (r = 0; r < 9; r += 3) { /* X C, C lower triangular */
            const csimi_wide *x = X + 9 * k + r;
            J[r] = (csim_real)(Y[r] = x[0] * C[0] + x[1] * C[3] + x[2] * C[6]);
            J[r + 1] = (csim_real)(Y[r + 1] = x[1] * C[4] + x[2] * C[7]);
            J[r + 2] = (csim_real)(Y[r + 2] = x[2] * C[8]);
        }
        piece[count++].block = first + k;
        for (i = 0; i < k; ++i) {
            if (!(b->on[first + k] >> i & 1u)) continue;
            if (!(mask >> i & 1u)) CSIMI_MEMSET(X + 9 * i, 0, 9 * sizeof *X);
            /* E couples block i to block k: the row reaches it too */
            mask |= 1u << i;
            csimi_add_product(Y, E + 9 * i, X + 9 * i);
        }
    }
    return count;
}

CSIMI_FN int csimi_pieces_make(const csim_problem *p, const csimi_bodies *b, int m, csimi_piece *pieces) {
    const csim_contact *contact = p->contacts + m;
    csimi_wide *X = b ? b->rows : NULL;
    unsigned mask = 0; /* blocks of the body at hand that X holds numbers of */
    int side, k, r, body = -1, count = 0;
    for (side = 0; side < 2; ++side) {
        const csim_side *s = side ? &contact->b : &contact->a;
        for (k = s->first; k < s->first + s->count; ++k) {
            const csim_term *t = p->terms + k;
            csim_real J[9];
            if (csimi_is_identity(t->J))
                for (r = 0; r < 9; ++r) J[r] = contact->R[r] + 0; /* no zero with a sign, as from the product */
            else
                csimi_matmul(contact->R, t->J, J);
            if (side) /* u is side a less side b */
                for (r = 0; r < 9; ++r) J[r] = -J[r];
            if (!b) { /* plain rows J, for solvers that keep A */
                pieces[count].block = t->block;
                CSIMI_MEMCPY(pieces[count++].J, J, sizeof J);
                continue;
            }
            /* another body begins: the rows on the last one are complete */
            if (b->first[t->block] != body) {
                if (body >= 0) count += csimi_pieces_whiten(b, body, X, mask, pieces + count);
                body = b->first[t->block];
                mask = 0;
            }
            {
                const int at = t->block - body;
                csimi_wide *to = X + 9 * at;
                if (!(mask >> at & 1u))
                    for (r = 0; r < 9; ++r) to[r] = (csimi_wide)J[r];
                else
                    for (r = 0; r < 9; ++r) to[r] += (csimi_wide)J[r]; /* terms on one block add up */
                mask |= 1u << at;
            }
        }
    }
    if (body >= 0) count += csimi_pieces_whiten(b, body, X, mask, pieces + count);
    return count;
}

/* Counted from the contacts: the list of terms may hold places that none of them names. */
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
            /* column i % 3 of the row meets the diagonal entry of the same number */
            mobility += piece[k].J[i] * piece[k].J[i] / A[4 * (i % 3)] / 3;
        }
    return mobility;
}

CSIMI_FN csim_real csimi_contact_motion(const csim_problem *p, const csim_contact *c, const csim_real *v,
                                        csim_real *u) {
    csim_real w[3] = {0, 0, 0}, term[3], speed = 0;
    int side, k;
    for (side = 0; side < 2; ++side) {
        const csim_side *s = side ? &c->b : &c->a;
        const csim_real sign = side ? CSIM_R(-1) : CSIM_R(1);
        for (k = s->first; k < s->first + s->count; ++k) {
            csimi_mul3(p->terms[k].J, v + 3 * (ptrdiff_t)p->terms[k].block, term);
            w[0] += sign * term[0];
            w[1] += sign * term[1];
            w[2] += sign * term[2];
            /* u is a difference of these speeds: its rounding goes by them */
            speed += CSIMI_SQRT(term[0] * term[0] + term[1] * term[1] + term[2] * term[2]);
        }
    }
    csimi_mul3(c->R, w, u);
    return speed;
}

CSIMI_FN void csimi_pieces_velocity(const csimi_piece *piece, int count, const csim_real *v, csim_real *u) {
    const csimi_piece *end = piece + count;
    for (; piece < end; ++piece) csimi_addmul3(piece->J, v + 3 * (ptrdiff_t)piece->block, u);
}

CSIMI_FN void csimi_pieces_push(const csimi_piece *piece, int count, const csim_real *impulse, csim_real *w) {
    const csimi_piece *end = piece + count;
    for (; piece < end; ++piece) csimi_addmulT3(piece->J, impulse, w + 3 * (ptrdiff_t)piece->block);
}

CSIMI_FN void csimi_pieces_velocity_wide(const csimi_piece *piece, int count, const csimi_wide *v, csim_real *u) {
    const csimi_piece *end = piece + count;
    /* in double: where masses differ much u is a small difference of large terms */
    csimi_wide a = (csimi_wide)u[0], b = (csimi_wide)u[1], c = (csimi_wide)u[2];
    for (; piece < end; ++piece) {
        const csimi_wide *x = v + 3 * (ptrdiff_t)piece->block;
        const csim_real *J = piece->J;
        a += (csimi_wide)J[0] * x[0] + (csimi_wide)J[1] * x[1] + (csimi_wide)J[2] * x[2];
        b += (csimi_wide)J[3] * x[0] + (csimi_wide)J[4] * x[1] + (csimi_wide)J[5] * x[2];
        c += (csimi_wide)J[6] * x[0] + (csimi_wide)J[7] * x[1] + (csimi_wide)J[8] * x[2];
    }
    u[0] = (csim_real)a, u[1] = (csim_real)b, u[2] = (csim_real)c;
}

CSIMI_FN void csimi_pieces_push_wide(const csimi_piece *piece, int count, const csim_real *impulse, csimi_wide *w) {
    const csimi_piece *end = piece + count;
    csimi_wide x[3];
    x[0] = (csimi_wide)impulse[0], x[1] = (csimi_wide)impulse[1], x[2] = (csimi_wide)impulse[2];
    for (; piece < end; ++piece) csimi_addmulT3_wide(piece->J, x, w + 3 * (ptrdiff_t)piece->block);
}

/* W += A B' */
static void csimi_add_turned(const csim_real *A, const csim_real *B, csim_real *CSIMI_RESTRICT W) {
    int i;
    for (i = 0; i < 3; ++i, A += 3, W += 3) {
        W[0] += A[0] * B[0] + A[1] * B[1] + A[2] * B[2];
        W[1] += A[0] * B[3] + A[1] * B[4] + A[2] * B[5];
        W[2] += A[0] * B[6] + A[1] * B[7] + A[2] * B[8];
    }
}

CSIMI_FN void csimi_pieces_delassus(const csimi_piece *begin, int count, csim_real *W) {
    const csimi_piece *p, *q, *end = begin + count;
    W[0] = W[1] = W[2] = W[3] = W[4] = W[5] = W[6] = W[7] = W[8] = 0;
    for (p = begin; p < end; ++p) {
        csimi_add_turned(p->J, p->J, W);
        for (q = begin; q < p; ++q)
            if (p->block == q->block) { /* both sides on one body: they act together there */
                csimi_add_turned(p->J, q->J, W);
                csimi_add_turned(q->J, p->J, W);
            }
    }
}
