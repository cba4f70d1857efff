/* solve/cond.h: what COND's files share: the state of a solve, and the functions of one file that another calls. */
#ifndef CSIMI_COND_H
#define CSIMI_COND_H

#include "private.h"

enum {
    CSIMI_COND_ROWS = 256,      /* rows and contacts to a chunk of partial sums */
    CSIMI_COND_SLOW_START = 10, /* plain steps before Chebyshev; paper Alg. 3, l_s */
    CSIMI_COND_DOUBT = 40,      /* iteration before which a spectrum is looked at that an earlier solve knew */
    CSIMI_COND_RENEW = 10,      /* iterations a coarse factor serves at least */
    CSIMI_COND_LOOKS = 4,       /* factors the first correction may spend on contacts about to close */
    CSIMI_COND_ROUNDS = 4,      /* solves for distant contacts that closed */
    CSIMI_COND_EARLY = 20,      /* tolerances at which virtual nodes are first asked whether they slip */
    CSIMI_COND_CENTRES = 3,     /* centres of virtual nodes that the next one is extrapolated from */
    CSIMI_COND_SLOW = 3,        /* centres in a row that may fail to halve the slip of virtual nodes */
    CSIMI_COND_WANDER = 100,    /* the same before another gain is tried */
    CSIMI_COND_BEYOND = 8,      /* iterations that a better answer than a certified one may take */
    CSIMI_COND_NEWTON = 8,      /* factors one Newton correction may spend ... */
    CSIMI_COND_BUDGET = 30      /* ... for the price of about 30 products of A in all */
};

/* A contact as the loop reads it: one contiguous record. */
typedef struct csimi_cond_contact {
    int a, b; /* nodes, -1: static */
    csim_real R[9], phi[3], mu;
    csim_real gamma, inverse_gamma, wa, wb;
} csimi_cond_contact;

/* The map F: what is solved, W, and the iterate with its residuals. */
typedef struct csimi_cond_map_state {
    const csim_problem *given;
    csimi_nodal nodal;
    const csim_tasks *tasks;
    csim_weight weight;
    int count, contacts; /* 3 n of the nodal problem; contacts */
    csimi_cond_contact *contact;
    unsigned char *pinned, *law; /* [n] carries a contact; [contacts] law in force */
    csim_real *w, *w_inverse, *gamma, *work;
    csim_real *v, *f, *p; /* F(v) = p = v + f */
    csim_real *trial, *lambda;
    double *row_sum, *contact_sum, *load_sum;
    void *scratch; /* of the certificate */
    size_t scratch_bytes;
    csim_real sigma;         /* largest eigenvalue of W A before W was scaled by it, */
    bool trusted;            /* that of an earlier solve */
    double alpha;            /* Barzilai-Borwein factor of W, 1 otherwise */
    double b_norm, rho, rel; /* |b|_W, |F(v) - v|_1/W, relative residual */
    int products;
} csimi_cond_map_state;

/* What is remembered of earlier iterates. */
typedef struct csimi_cond_ring_state {
    csim_acceleration acceleration;
    csimi_anderson pairs;
    csim_real *last, *r, *last_r; /* Chebyshev, Barzilai-Borwein */
    double nu, increment;         /* Chebyshev */
    double longest;               /* largest alpha; halved whenever the iteration got lost */
    int since;
} csimi_cond_ring_state;

/* The exact part: rigid motions of groups of blocks, cables. */
typedef struct csimi_cond_coarse_state {
    csimi_coarse space;
    csimi_chains chains;
    bool unchained;   /* cables are left to the acceleration: their exact solve did not settle */
    bool rigid;       /* the coarse space is most of the problem */
    bool rebuild;
    int built;        /* iteration of the last factor, -1: none */
    int newton_steps; /* factors one Newton correction may spend */
} csimi_cond_coarse_state;

/* Virtual nodes: how they are coupled, and the impulses they are shifted by. */
typedef struct csimi_cond_centre_state {
    bool shift;        /* they are shifted until they follow their sides */
    csim_real full;    /* share of a contact that closed */
    csim_real *share;  /* [contacts] of its kappa that a virtual node is coupled by */
    csim_real *spread; /* [3 contacts] 1/kg, metric of the centres */
    csimi_anderson ring;
    double slipping;   /* contact figure when they were last centred */
    int slow;          /* centres in a row that did not halve the slip */
    bool parted;       /* a contact that hangs by a thread closed */
} csimi_cond_centre_state;

/* Modes of the corrections. Each is the remedy for the one before it having got lost. */
enum { CSIMI_COND_COARSE, CSIMI_COND_STIFFER, CSIMI_COND_ALONE, CSIMI_COND_MODES };

/* Progress, and what the rules of policy.c have decided. */
typedef struct csimi_cond_policy_state {
    csim_real *best, *best_lambda;
    double saved, saved_rel;    /* rho and rel of best */
    double lowest, lowest_rel;  /* lowest of each so far */
    double before;              /* rho of the last iteration */
    bool grew, halved;          /* rho, since then */
    int iteration, phase, idle; /* iterations of the coarse phase; without progress in it */
    int stale, rejections;
    int plain, plain_next;      /* plain steps to go, and after the next rejection */
    int newton, newton_next;    /* Newton corrections likewise; 0: the problem gains nothing from them */
    int mode;                   /* of the corrections */
    double leave;               /* CSIMI_COND_ALONE ends below this rho ... */
    int alone;                  /* ... or after so many iterations */
    double certified;           /* contact figure of best, once that is certified and a better one is looked for */
    int beyond;                 /* iterations since */
} csimi_cond_policy_state;

typedef struct csimi_cond {
    csimi_cond_map_state map;
    csimi_cond_ring_state ring;
    csimi_cond_coarse_state coarse;
    csimi_cond_centre_state centre;
    csimi_cond_policy_state policy;
} csimi_cond;

CSIM_INLINE bool csimi_cond_rings(const csimi_cond *c) {
    return c->ring.acceleration == CSIM_ACCELERATION_COARSE || c->ring.acceleration == CSIM_ACCELERATION_ANDERSON;
}

/* ---- fixedpoint.c */
/* p = F(v), f = p - v, lambda and the residuals */
CSIMI_FN void csimi_cond_map(csimi_cond *c);
/* contacts into records; false: a number is not finite */
CSIMI_FN bool csimi_cond_pack(csimi_cond *c);
/* fills W, by a spectral estimate, or by one that is known; and whether that still holds */
CSIMI_FN void csimi_cond_weigh(csimi_cond *c, csim_weight weight, csim_real known);
CSIMI_FN void csimi_cond_weigh_again(csimi_cond *c);

/* ---- best.c */
CSIMI_FN void csimi_cond_copy(csimi_cond *c, csim_real *to, const csim_real *from);
/* the iterate at hand is the best one */
CSIMI_FN void csimi_cond_keep(csimi_cond *c);
CSIMI_FN bool csimi_cond_certify(csimi_cond *c, const csim_real *v, const csim_real *lambda, csim_real tolerance,
                                 csim_outcome *outcome);
/* forgets what was learnt of another map */
CSIMI_FN void csimi_cond_fresh(csimi_cond *c);

/* ---- accelerate.c */
/* the next v, from p alone (take: without a memory of it) or as an acceleration has it */
CSIMI_FN void csimi_cond_accept(csimi_cond *c);
CSIMI_FN void csimi_cond_take(csimi_cond *c);
CSIMI_FN void csimi_cond_chebyshev(csimi_cond *c);
CSIMI_FN void csimi_cond_barzilai(csimi_cond *c);
/* all but the newest pair of the ring */
CSIMI_FN void csimi_cond_forget(csimi_cond *c);

/* ---- correct.c */
/* p += what is solved exactly */
CSIMI_FN void csimi_cond_correct(csimi_cond *c);
/* contacts that are closed now count as closed in the next factor */
CSIMI_FN void csimi_cond_unite(csimi_cond *c);
/* factors one Newton correction may spend */
CSIMI_FN int csimi_cond_afford(const csimi_cond *c);

/* ---- policy.c */
/* the next v: corrected, accelerated or plain */
CSIMI_FN void csimi_cond_advance(csimi_cond *c);
/* so long without progress that the round ends */
CSIMI_FN bool csimi_cond_stale(const csimi_cond *c);

/* ---- virtual.c */
CSIMI_FN csim_real csimi_cond_kappa(const csimi_cond *c, int node);
CSIMI_FN bool csimi_cond_is_virtual(const csimi_cond *c, int node);
/* compliance that the virtual nodes of contact m add to it, 1/kg */
CSIMI_FN csim_real csimi_cond_hang(const csimi_cond *c, int m);
CSIMI_FN csim_real csimi_cond_compliance(const csimi_cond *c, int node, csim_real w);
/* impulse of contact m before its law, virtual nodes eliminated; returns the compliance */
CSIMI_FN csim_real csimi_cond_trial(const csimi_cond *c, int m, csim_real *trial);
/* virtual nodes to where their contacts balance */
CSIMI_FN void csimi_cond_eliminate(csimi_cond *c);

/* ---- centre.c */
/* whether a contact that hangs by a thread closed */
CSIMI_FN bool csimi_cond_threads(const csimi_cond *c);
/* phi is shifted to the impulses at hand */
CSIMI_FN void csimi_cond_centre(csimi_cond *c);
CSIMI_FN bool csimi_cond_uncentred(const csimi_cond *c, csim_real tolerance);
CSIMI_FN bool csimi_cond_improves(csimi_cond *c, const csim_certificate *k, csim_real tolerance);
CSIMI_FN double csimi_cond_slip(const csimi_cond *c, const csim_real *lambda);
/* shares of kappa: threads for distant contacts; couplings for those that closed; another one for all */
CSIMI_FN void csimi_cond_part(const csim_problem *problem, const csim_solution *start, csim_real *share);
CSIMI_FN bool csimi_cond_join(const csimi_cond *c, const csim_solution *now, csim_real full, csim_real *share);
CSIMI_FN void csimi_cond_couple(csimi_cond *c, csim_real full);

#endif
