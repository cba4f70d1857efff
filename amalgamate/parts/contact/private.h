/* contact/private: islands and nodalization. */
#ifndef CSIMI_CONTACT_PRIVATE_H
#define CSIMI_CONTACT_PRIVATE_H

#include "../sparse/private.h"
#include "certificate.h"
#include "law.h"
#include "problem.h"

/* The law of a contact, one of those that this build has, for csim_problem_check lets no other pass: code for the
   others is left out. Rows of joints and trees are bilateral or boxes. */
#if defined(CONDSIM_NO_LAWS) && defined(CONDSIM_NO_JOINTS) && defined(CONDSIM_NO_TREE)
#define CSIMI_HAS_ROWS 0 /* bilateral ones and boxes, which are the laws of joints too */
#else
#define CSIMI_HAS_ROWS 1
#endif
#ifndef CONDSIM_NO_LAWS
#define CSIMI_HAS_LAWS 1
CSIMI_KNOWN csim_law csimi_law_of(const csim_contact *c) { return c->law; }
#else
#define CSIMI_HAS_LAWS 0
CSIMI_KNOWN csim_law csimi_law_of(const csim_contact *c) {
#if !CSIMI_HAS_ROWS
    return (void)c, CSIM_LAW_STRICT;
#else
    if (c->law == CSIM_LAW_BILATERAL) return CSIM_LAW_BILATERAL;
    return c->law == CSIM_LAW_BOX ? CSIM_LAW_BOX : CSIM_LAW_STRICT;
#endif
}
#endif
CSIMI_KNOWN bool csimi_law_is(const csim_contact *c, csim_law law) {
    const bool row = law == CSIM_LAW_STRICT || law == CSIM_LAW_BILATERAL || law == CSIM_LAW_BOX;
    return (CSIMI_HAS_LAWS || row) && csimi_law_of(c) == law;
}

/* ---- problem.c: whether the law of contact m is one, as csim_problem_check says it. */
CSIMI_FN csim_status csimi_check_contact_law(const csim_contact *contact, int m, csim_error *error);
/* The numbers that what a user answers, or a scene that has diverged, can spoil in the problem of a world. */
CSIMI_FN csim_status csimi_check_own(const csim_problem *problem, csim_error *error);

/* ---- certificate.c: 1 / m of a side: from the mass given (0: none), from its node, or from tr(J D^-1 J') / 3 with the
   diagonal blocks D of A; 0 of a side without terms. */
CSIMI_FN csimi_wide csimi_side_mobility(const csim_problem *p, const csim_side *side, csim_real mass);
/* csim_problem_certify of a problem that csim_problem_check takes. */
CSIMI_FN csim_status csimi_certify(const csim_problem *p, const csim_real *v, const csim_real *lambda, void *scratch,
                                   size_t scratch_bytes, csim_certificate *certificate);

/* ---- islands.c: union-find on blocks.
   Joins blocks coupled by A and blocks named by one contact (static sides join nothing); skip[n] (may be null) marks
   blocks that belong to no island (fixed, kinematic). island[n] gets 0..count-1 in order of the lowest block, -1 for
   skipped ones; contact_island[contact_count] likewise (-1: touches no free block). Returns the count. scratch[n]. */
CSIMI_FN int csimi_islands(const csim_block_matrix *A, const unsigned char *skip, int contact_count,
                           const csim_contact *contacts, const csim_term *terms, int *island, int *contact_island,
                           int *scratch);

/* ---- nodalize.c: turns a problem with general rows into one where every contact side is static or
   one block with weight I, no block carrying two contacts: adds a virtual node per general side (and per further
   contact on a node, J_v = I) with kappa = gain mass or spring.kappa, and the shift -kappa^-1 lambda0 per virtual
   side in phi. Blocks [0, n) keep their numbers, virtual nodes follow; contacts keep their order. The nodal matrix is
   A + sum kappa [J_v -I]'[J_v -I]: the given A and beside it the couplings, which are applied, never stored as blocks.
   O(size). */
typedef struct csimi_hung {
    int node, at; /* virtual node; place of its pull on the block */
} csimi_hung;
typedef struct csimi_nodal {
    csim_problem problem; /* the given one, but for the shift in phi and b, which is 0 on virtual nodes */
    int count;            /* n, and virtual_count */
    int *node_a, *node_b; /* [contact_count] block of each side, -1: static */
    csim_real *start;     /* [3 count] start velocity: v, and J_v v + kappa^-1 J_c' lambda0 on virtual nodes:
                             where a massless node is when its contact carries the last impulse */
    int virtual_count;
    csim_side *side;  /* [virtual_count] terms that the virtual node follows ... */
    csim_real *kappa; /* ... with so many kg; */
    int *begin;       /* place of the first of its pulls */
    int *first;       /* [n + 1] of each block, what hangs on it ... */
    csimi_hung *hung; /* [terms of the sides] */
    csim_real *pull;  /* [3 terms of the sides] kappa J_v'(J_v v - v_v), by virtual nodes: scratch of a product */
} csimi_nodal;

/* What nodalizing takes from the arena at most, for any problem of these sizes; terms as in csim_problem_size. */
CSIMI_FN void csimi_nodal_reserve(csimi_arena *arena, int blocks, int contacts, int terms);
/* gain, kappa, shift as in csim_solver_params; share[contact_count] (may be null): factor on the kappa of each contact;
   v[3n], lambda0[3 contact_count]: the start. Everything lives in the arena; CSIM_CAPACITY when that is too small. */
CSIMI_FN csim_status csimi_nodalize(const csim_problem *problem, csim_real gain, csim_real kappa,
                                    const csim_real *share, bool shift, const csim_real *v, const csim_real *lambda0,
                                    csimi_arena *arena, csimi_nodal *nodal);
/* y = the nodal matrix times x [3 count]. Without rows only of the virtual nodes, whose pulls are kept: then, in any
   split and with the same bits, csimi_nodal_rows does the blocks among [begin, end). */
CSIMI_FN void csimi_nodal_product(const csimi_nodal *nodal, const csim_real *x, csim_real *y, bool rows,
                                  const csim_tasks *tasks);
CSIMI_FN void csimi_nodal_rows(const csimi_nodal *nodal, const csim_real *x, csim_real *y, int begin, int end);

/* ---- law.c */
/* Derivative of csim_project_cone where t lies off the cone and its polar: along (1, mu d), and round the cone. */
CSIMI_FN void csimi_cone_derivative(csimi_wide mu, const csimi_wide *t, csimi_wide *G);
/* csim_project_ellipse, or the disk of radius a in builds where both are one. */
CSIMI_FN void csimi_clip_ellipse(csim_real a, csim_real b, const csim_real *trial, csim_real *t);
/* Projection under the strict law, in place. */
CSIMI_FN void csimi_clip_friction(csim_real mu, csim_real *lambda);
/* Projection of contact under a law that may stand in for its own. */
CSIMI_FN void csimi_project_as(int law, const csim_contact *contact, csim_real gamma, csim_real *lambda);

/* ---- certificate.c: each figure the larger of the two */
CSIMI_FN void csimi_worse(csim_certificate *worst, const csim_certificate *c);

#endif
