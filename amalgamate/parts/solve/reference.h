/* solve/reference: the direct way, for comparisons (CONDSIM_REFERENCE): sparse Cholesky of A and the Delassus matrix
   W = J A^-1 J' in full. Its memory grows with the square of the contacts; nothing else in the library uses it. */
#ifndef CSIM_REFERENCE_H
#define CSIM_REFERENCE_H

#include "../base/memory.h"
#include "impulse.h"

#ifdef CONDSIM_REFERENCE

/* A factorised problem; opaque. */
typedef struct csim_reference csim_reference;

/* Orders and factorises A of the problem, which must stay as it is until the reference is destroyed. allocator may be
   null: malloc. Fails: CSIM_NULL_ARGUMENT, CSIM_BAD_PROBLEM (csim_problem_check; A not positive definite),
   CSIM_NOT_FINITE, CSIM_OUT_OF_MEMORY. */
CSIM_API csim_status csim_create_reference(const csim_problem *problem, const csim_allocator *allocator,
                                           csim_reference **reference, csim_error *error);
CSIM_API void csim_destroy_reference(csim_reference *reference); /* null is allowed */
/* Forms W and q = J A^-1 b + phi and names them in impulse (dense form, whole laws), ready for csim_impulse_solve. The
   arrays belong to the reference. Fails: CSIM_NULL_ARGUMENT, CSIM_OUT_OF_MEMORY. */
CSIM_API csim_status csim_reference_impulse(csim_reference *reference, csim_impulse_problem *impulse,
                                            csim_error *error);
/* v [3n] = A^-1 (b + J' r) for impulses r [3 contacts]. */
CSIM_API void csim_reference_velocity(const csim_reference *reference, const csim_real *r, csim_real *v);
/* Blocks of L, diagonal ones included: what a factorisation costs in memory, 72 bytes each. */
CSIM_API size_t csim_reference_blocks(const csim_reference *reference);

#endif
#endif
