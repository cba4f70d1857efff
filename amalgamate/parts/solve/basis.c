/* solve/basis: the factor of A = E' E that rows of contacts are read on, J E^-1: bodies.c where A is nothing but small
   bodies, coupled.c where it couples more. */
#include "private.h"

#ifdef CSIMI_COUPLES
#define CSIMI_BASIS(of_coupled, of_bodies) (e->couples ? (of_coupled) : (of_bodies))
#else
#define CSIMI_BASIS(of_coupled, of_bodies) (of_bodies)
#endif

/* Measured on the problem at hand, which may be far smaller than what the workspace was made for. */
CSIMI_FN csim_problem_size csimi_basis_size(const csim_problem *p, bool couples) {
    csim_problem_size size;
    CSIMI_MEMSET(&size, 0, sizeof size);
    size.blocks = p->A.n;
    size.matrix_blocks = p->A.row[p->A.n];
    size.contacts = p->contact_count;
    size.terms = csimi_pieces_count(p);
    if (couples) return size; /* a sparse factor has its own count, coupled.c */
    size.factor_blocks = csimi_bodies_factor_blocks(p);
    size.reach_blocks = csimi_bodies_reach_blocks(p);
    return size;
}

CSIMI_FN int csimi_basis_layout(csimi_basis *e, csimi_arena *arena, bool couples, const csim_problem_size *size) {
    e->couples = couples;
#ifdef CSIMI_COUPLES
    if (couples) {
        csimi_coupled_layout(&e->coupled, arena, size->blocks, size->matrix_blocks);
        /* an upper bound: how far rows reach is known from the order only */
        return csimi_coupled_most_pieces(size->blocks, size->terms, size->contacts);
    }
#endif
    csimi_bodies_factor_layout(&e->bodies, arena, size->blocks, csimi_factor_blocks_of(size));
    return size->terms + size->reach_blocks; /* blocks named, and those E^-1 adds */
}

CSIMI_FN bool csimi_basis_open(csimi_basis *e, const csim_problem *p) {
    /* 0: no limit of the caller's on the pieces */
    return CSIMI_BASIS(csimi_coupled_plan(&e->coupled, p, 0) && csimi_coupled_open(&e->coupled, p),
                       csimi_bodies_open(&e->bodies, p));
}

CSIMI_FN void csimi_basis_whiten(const csimi_basis *e, csimi_wide *x) {
    CSIMI_BASIS(csimi_factor_whiten(&e->coupled.factor, x), csimi_bodies_whiten(&e->bodies, x));
}

CSIMI_FN void csimi_basis_restore(const csimi_basis *e, csimi_wide *x) {
    CSIMI_BASIS(csimi_factor_restore(&e->coupled.factor, x), csimi_bodies_restore(&e->bodies, x));
}

CSIMI_FN int csimi_basis_rows(csimi_basis *e, const csim_problem *p, int m, csimi_piece *pieces) {
    return CSIMI_BASIS(csimi_coupled_rows(&e->coupled, p, m, pieces), csimi_pieces_make(p, &e->bodies, m, pieces));
}

/* A^-1 = E^-1 E'^-1: whitened, then restored. */
CSIMI_FN void csimi_basis_velocities(const csimi_basis *e, const csim_problem *p, const csim_real *lambda, csim_real *v,
                                     csimi_wide *scratch) {
    int i;
    csimi_problem_load(p, lambda, scratch);
    csimi_basis_whiten(e, scratch);
    csimi_basis_restore(e, scratch);
    /* rounded once, at the end: the sums before it are in double */
    for (i = 0; i < 3 * p->A.n; ++i) v[i] = (csim_real)scratch[i];
}

#undef CSIMI_BASIS
