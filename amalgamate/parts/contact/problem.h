/* contact/problem: the one problem every solver sees.

       A v = b + J' lambda,     u = J v + phi,     law(u, lambda) for every contact

   A [kg] symmetric positive definite in 3x3 blocks, v [m/s or rad/s], lambda [N s] impulses in the contact frame
   (n, t1, t2), J from the rows R and the terms of the two sides, phi [m/s] an offset that carries the gap, restitution
   and the velocity of moving ground. COND paper eq. 1 and 11. */
#ifndef CSIM_PROBLEM_H
#define CSIM_PROBLEM_H

#include "../base/parallel.h"
#include "../base/status.h"
#include "../sparse/block3.h"

/* What ties u and lambda together at one contact; csim_project is the closed form of each. */
typedef enum csim_law {
    CSIM_LAW_STRICT,      /* Signorini and Coulomb: lambda_n clamped, then lambda_t clipped to the disk mu lambda_n */
    CSIM_LAW_PROXIMAL,    /* Euclidean projection on the cone: the convex model (sliding contacts may lift) */
    CSIM_LAW_ANISOTROPIC, /* strict with the ellipse of mu[0], mu[1] along t1, t2: maximal dissipation */
    CSIM_LAW_INVERTIBLE,  /* strict with regularisation: u + omega lambda, so lambda is a function of v */
    CSIM_LAW_BILATERAL,   /* lambda free along the directions of mask: joints, pins */
    CSIM_LAW_BOX,         /* each component between lo and hi: limits and motors */
    CSIM_LAW_COUNT_
} csim_law;

/* One piece of a side: the side's point moves with the sum of J v[block] over its terms (world axes). */
typedef struct csim_term {
    int block;
    csim_real J[9]; /* row-major 3x3; the identity for a node */
} csim_term;

/* A side of a contact: terms [first, first + count) of the problem. count 0: fixed or moving ground. */
typedef struct csim_side {
    int first, count;
} csim_side;

/* One contact: three rows u = R (side a - side b) + phi. */
typedef struct csim_contact {
    csim_law law;
    csim_side a, b;
    csim_real R[9];     /* rows n, t1, t2: orthonormal, world axes; n points from b to a */
    csim_real phi[3];   /* m/s, contact frame: gap / h (or what restitution and stabilisation make of it) along n,
                           less R u_ground where the other side is ground that moves with u_ground */
    csim_real mu[2];    /* friction coefficient; the second only for the anisotropic law */
    csim_real omega[2]; /* 1/kg, normal and tangential; invertible law only, > 0 there */
    csim_real lo[3], hi[3]; /* N s; box law only */
    unsigned mask;      /* bilateral: bit k set: row k is constrained; 7 = point */
    csim_real mass[2];  /* effective mass of the sides for scaling, kg: (1/theta) 3 / tr(J M^-1 J'); 0: from A */
} csim_contact;

/* An element of A: A holds J'K J over its terms and b holds -J'K phi, u = J v + phi the rate at which it strains. */
typedef struct csim_elastic {
    int count;         /* of terms, 1..3, on bodies of one or two blocks */
    csim_term term[3];
    csim_real K[9];    /* kg, symmetric and positive semidefinite: h^2 times stiffness plus h times damping */
    csim_real phi[3];  /* m/s, of ends that are driven and have no block */
    csim_real damping; /* share of the damping in K, 0..1 */
} csim_elastic;

/* What a solver may know about the bodies behind the blocks, as plain arrays; every pointer may be null. */
typedef struct csim_structure {
    int aggregate_count;      /* groups that move nearly as one: rigid bodies, pieces of solids */
    const int *aggregate;     /* [n] group of the block for the rigid-mode coarse space, -1: none */
    const csim_real *offset;  /* [3n] position of a translational block relative to the centre of its aggregate, m */
    const csim_real *radius;  /* [aggregate_count] rms radius of the aggregate, m, > 0: the scale of its rotations */
    const csim_real *centre;  /* [3 aggregate_count] centre of the aggregate, m; needed beyond 150 aggregates only */
    const unsigned char *rotation; /* [n] 1: the block is the angular velocity of a rigid body, 0: a point */
    int body_count;           /* dense diagonal bodies of A (rigid bodies: 2 blocks) ... */
    const int *body_first;    /* [body_count + 1] ... first block of each, when bodies cover all blocks in order */
    int chain_count;          /* cables: chains of links of two blocks (a node, the frame of the edge after it) ... */
    const int *chain_first;   /* [chain_count + 1] ... first link of each ... */
    const int *chain_block;   /* [2 chain_first[chain_count]] ... their blocks, -1: none, no block twice. What A couples
                                 beyond neighbouring links is left to the iteration */
    int elastic_count;           /* elements that couple bodies: needed by XPBD, which walks them in small steps ... */
    const csim_elastic *elastic; /* [elastic_count] ... without them A is block diagonal in bodies */
} csim_structure;

/* The problem: everything belongs to the caller and stays as it is. */
typedef struct csim_problem {
    csim_block_matrix A;          /* kg (kg m^2 for turns, kg m between) */
    const csim_real *b;           /* [3n] N s */
    int contact_count;
    const csim_contact *contacts; /* [contact_count] */
    int term_count;
    const csim_term *terms;       /* [term_count] */
    const csim_structure *structure; /* may be null */
    csim_real theta;              /* of the integrator, 1 or 1/2: v = (1 - theta) v_k + theta v_{k+1}. Nothing is
                                     computed with it; XPBD and explicit PENALTY refuse a problem of 1/2, because they
                                     take v for a velocity one whole step after that of the start */
    const csim_real *gap;         /* BOUNDED, XPBD: [contact_count] gap over h of friction laws, m/s, < 0 where they
                                     overlap; phi_n holds max(gap, 0) (XPBD: gap) then, plus the velocity of the ground
                                     or of a bounce; null: max(phi_n, 0) (XPBD: phi_n) */
} csim_problem;

/* Start and result of a solve; arrays of the caller. */
typedef struct csim_solution {
    csim_real *v;      /* [3n] in: start, out: velocity */
    csim_real *lambda; /* [3 contact_count] in: start (last impulses, 0 if new), out: impulses */
    csim_real *move;   /* XPBD, BOUNDED: [3n] gets the mean velocity of the step, by which positions go; may be null */
    csim_real *pulse;  /* BOUNDED: [3 contact_count] start of the impulses in place of lambda; gets those of the last
                          substep times the substeps, N s: the better start of the next frame; may be null */
} csim_solution;

CSIM_INLINE csim_solution csim_solution_of(csim_real *v, csim_real *lambda) { /* move and pulse are null */
    csim_solution s;
    s.v = v;
    s.lambda = lambda;
    s.move = s.pulse = NULL;
    return s;
}

/* Checks sizes, indices, mirrored blocks, orthonormal frames, finite numbers, positive diagonal. error may be null.
   Fails: CSIM_BAD_PROBLEM, CSIM_NOT_FINITE, CSIM_NULL_ARGUMENT. */
CSIM_API csim_status csim_problem_check(const csim_problem *problem, csim_error *error);

#endif
