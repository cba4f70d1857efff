/* solve/reference: sparse Cholesky of A and the Delassus matrix in full, a column a solve (CONDSIM_REFERENCE). */
#include "private.h"
#include "reference.h"

#ifdef CONDSIM_REFERENCE

struct csim_reference {
    const csim_problem *problem;
    csimi_heap heap;
    void *tree, *blocks, *delassus; /* three allocations: each is sized by what the one before found */
    size_t tree_bytes, blocks_bytes, delassus_bytes;
    csimi_factor factor; /* P A P' = L L' */
    csimi_piece *pieces;
    int *first;          /* [contacts + 1] */
    csim_real *load, *v; /* [3n] */
    csim_real *W, *q; /* [3 contacts] squared and [3 contacts]; null before the first csim_reference_impulse */
};

/* What the sizes of the problem tell; the blocks of L come after the plan. */
static void csimi_reference_layout(csim_reference *r, csimi_arena *arena, const csim_problem *p) {
    csimi_factor_layout(&r->factor, arena, p->A.n);
    r->pieces = CSIMI_PUSH(arena, csimi_piece, csimi_pieces_count(p));
    r->first = CSIMI_PUSH(arena, int, (size_t)p->contact_count + 1);
    r->load = CSIMI_PUSH(arena, csim_real, 3 * (size_t)p->A.n);
    r->v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)p->A.n);
}

/* W and q, apart from the rest: W takes the square of the contacts and is made only when asked for. */
static void csimi_reference_layout_delassus(csim_reference *r, csimi_arena *arena) {
    const size_t m = 3 * (size_t)r->problem->contact_count;
    r->W = CSIMI_PUSH(arena, csim_real, m * m);
    r->q = CSIMI_PUSH(arena, csim_real, m);
}

static csim_status csimi_reference_factor(csim_reference *r, csim_error *error) {
    csimi_arena arena = csimi_arena_counting();
    csimi_reference_layout(r, &arena, r->problem);
    r->tree_bytes = arena.high + 64; /* csimi_arena_in may have to align */
    r->tree = csimi_heap_alloc(&r->heap, r->tree_bytes);
    if (!r->tree) return csimi_deny(error, CSIM_OUT_OF_MEMORY, "csim_create_reference", "problem", NULL);
    arena = csimi_arena_in(r->tree, r->tree_bytes);
    csimi_reference_layout(r, &arena, r->problem);
    csimi_factor_plan(&r->factor, &r->problem->A, NULL); /* tells how many blocks L has */
    arena = csimi_arena_counting();
    csimi_factor_layout_blocks(&r->factor, &arena, r->factor.first[r->factor.n]); /* first[n] of them */
    r->blocks_bytes = arena.high + 64;
    r->blocks = csimi_heap_alloc(&r->heap, r->blocks_bytes);
    if (!r->blocks) return csimi_deny(error, CSIM_OUT_OF_MEMORY, "csim_create_reference", "problem", NULL);
    arena = csimi_arena_in(r->blocks, r->blocks_bytes);
    csimi_factor_layout_blocks(&r->factor, &arena, r->factor.first[r->factor.n]);
    if (csimi_factor_compute(&r->factor, &r->problem->A)) return CSIM_OK;
    return csimi_deny(error, CSIM_BAD_PROBLEM, "csim_create_reference", "problem.A", "positive definite");
}

CSIM_API csim_status csim_create_reference(const csim_problem *problem, const csim_allocator *allocator,
                                           csim_reference **reference, csim_error *error) {
    csimi_heap heap;
    csim_reference *r;
    csim_status status;
    int c, at = 0;
    if (!problem || !reference)
        return csimi_missing(error, "csim_create_reference", problem ? "reference" : "problem");
    *reference = NULL; /* what failed leaves nothing to destroy */
    if ((status = csim_problem_check(problem, error)) != CSIM_OK) return status;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    if (allocator) heap.hooks = *allocator;
    r = (csim_reference *)csimi_heap_alloc(&heap, sizeof *r);
    if (!r) return csimi_deny(error, CSIM_OUT_OF_MEMORY, "csim_create_reference", "problem", NULL);
    CSIMI_MEMSET(r, 0, sizeof *r);
    r->heap = heap;
    r->problem = problem; /* not copied */
    if ((status = csimi_reference_factor(r, error)) != CSIM_OK) {
        csim_destroy_reference(r); /* also of what is half made */
        return status;
    }
    for (c = 0; c < problem->contact_count; c++) {
        r->first[c] = at;
        at += csimi_pieces_make(problem, NULL, c, r->pieces + at);
    }
    r->first[problem->contact_count] = at;
    *reference = r;
    return CSIM_OK;
}

CSIM_API void csim_destroy_reference(csim_reference *r) {
    csimi_heap heap;
    if (!r) return;
    if (r->delassus) csimi_heap_free(&r->heap, r->delassus, r->delassus_bytes);
    if (r->blocks) csimi_heap_free(&r->heap, r->blocks, r->blocks_bytes);
    if (r->tree) csimi_heap_free(&r->heap, r->tree, r->tree_bytes);
    heap = r->heap; /* a copy, for it lies in what is freed */
    csimi_heap_free(&heap, r, sizeof *r);
}

/* load += J' x of contact c */
static void csimi_reference_scatter(const csim_reference *r, int c, const csim_real *x) {
    int k;
    for (k = r->first[c]; k < r->first[c + 1]; k++)
        csimi_addmulT3(r->pieces[k].J, x, r->load + 3 * (size_t)r->pieces[k].block);
}

/* u[3 contacts] = J v */
static void csimi_reference_gather(const csim_reference *r, const csim_real *v, csim_real *u) {
    int c;
    for (c = 0; c < 3 * r->problem->contact_count; c++) u[c] = 0;
    for (c = 0; c < r->problem->contact_count; c++)
        csimi_pieces_velocity(r->pieces + r->first[c], r->first[c + 1] - r->first[c], v, u + 3 * (size_t)c);
}

CSIM_API csim_status csim_reference_impulse(csim_reference *r, csim_impulse_problem *impulse, csim_error *error) {
    csimi_arena arena = csimi_arena_counting();
    const csim_problem *p = r ? r->problem : NULL;
    int i, k, m;
    if (!r || !impulse) return csimi_missing(error, "csim_reference_impulse", r ? "impulse" : "reference");
    m = 3 * p->contact_count;
    if (!r->delassus) { /* kept for later calls */
        csimi_reference_layout_delassus(r, &arena);
        r->delassus_bytes = arena.high + 64;
        r->delassus = csimi_heap_alloc(&r->heap, r->delassus_bytes);
        if (!r->delassus) return csimi_deny(error, CSIM_OUT_OF_MEMORY, "csim_reference_impulse", "reference", NULL);
        arena = csimi_arena_in(r->delassus, r->delassus_bytes);
        csimi_reference_layout_delassus(r, &arena);
    }
    for (k = 0; k < m; k++) { /* row k of W is its column k */
        csim_real unit[3] = {0, 0, 0};
        unit[k % 3] = 1;
        for (i = 0; i < 3 * p->A.n; i++) r->load[i] = 0;
        csimi_reference_scatter(r, k / 3, unit); /* J' e_k */
        csimi_factor_solve(&r->factor, r->load, r->v); /* A^-1 J' e_k */
        csimi_reference_gather(r, r->v, r->W + (size_t)m * (size_t)k);
    }
    csimi_factor_solve(&r->factor, p->b, r->v); /* the motion without impulses */
    csimi_reference_gather(r, r->v, r->q);
    for (k = 0; k < m; k++) r->q[k] += p->contacts[k / 3].phi[k % 3];
    CSIMI_MEMSET(impulse, 0, sizeof *impulse); /* no other form of W, no mu */
    impulse->contact_count = p->contact_count;
    impulse->dense = r->W;
    impulse->q = r->q;
    impulse->contacts = p->contacts;
    return CSIM_OK;
}

CSIM_API void csim_reference_velocity(const csim_reference *r, const csim_real *impulses, csim_real *v) {
    const csim_problem *p = r->problem;
    int i;
    for (i = 0; i < 3 * p->A.n; i++) r->load[i] = p->b[i];
    for (i = 0; i < p->contact_count; i++) csimi_reference_scatter(r, i, impulses + 3 * (size_t)i);
    csimi_factor_solve(&r->factor, r->load, v);
}

CSIM_API size_t csim_reference_blocks(const csim_reference *r) {
    return r->factor.first[r->factor.n] + (size_t)r->factor.n;
}

#endif
