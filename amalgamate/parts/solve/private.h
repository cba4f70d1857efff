/* solve/private: what the solver files share. */
#ifndef CSIMI_SOLVE_PRIVATE_H
#define CSIMI_SOLVE_PRIVATE_H

#include "../contact/private.h"
#include "impulse.h"
#include "single.h"
#include "solver.h"

CSIM_INLINE csim_real csimi_norm3(const csim_real *x) { return CSIMI_SQRT(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

struct csimi_impulse_run;

/* A solver's form on velocities (solve/table.c). Solvers of the impulse level alone come here through solve/lift.c. */
typedef struct csimi_velocity_solver {
    /* for the largest problem of these sizes */
    size_t (*bytes)(const csim_problem_size *size, const csim_solver_params *params);
    /* whether this solver takes the problem at all */
    bool (*takes)(const csim_problem *problem);
    csim_status (*solve)(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                         const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome, csim_error *error);
} csimi_velocity_solver;

/* ---- impulse.c */

/* A solver's form on impulses; null: it has none. */
typedef struct csimi_impulse_solver {
    /* what it takes from the arena for this many contacts */
    size_t (*bytes)(int contacts, const csim_solver_params *params);
    /* from the start in run->r to the best impulses found; false: the numbers broke down */
    bool (*solve)(struct csimi_impulse_run *run);
} csimi_impulse_solver;
CSIMI_FN const csimi_impulse_solver *csimi_impulse_solver_of(csim_solver solver);

/* ---- traits.c */

/* What is known of a solver before it runs. */
typedef struct csimi_solver_traits {
    const char *name;
    bool rows;         /* needs csimi_delassus_row */
    unsigned laws;     /* bit l: takes csim_law l */
    const char *needs; /* of the problem, for the sentence of a refusal */
} csimi_solver_traits;
enum { CSIMI_ALL_LAWS = (1 << CSIM_LAW_COUNT_) - 1 };
CSIMI_FN const csimi_solver_traits *csimi_solver_traits_of(csim_solver solver);
CSIMI_FN csim_problem_size csimi_problem_measure(const csim_problem *problem); /* one that has been checked */
/* Copies the answer of a solve to the caller's; a solve whose numbers are not finite leaves the start there. */
CSIMI_FN void csimi_solution_take(const csim_problem *problem, const csim_real *v, const csim_real *lambda,
                                  csim_solution *solution);
/* Whether this build has what solves by these parameters (table.c); the sentence of a refusal. */
CSIMI_FN bool csimi_solver_there(const csim_solver_params *params);
#define CSIMI_SOLVERS_THERE "AUTO, or what csim_describe_solver says is there: this build leaves that solver out"
/* Whether the solver of params visits rows of W. */
CSIMI_FN bool csimi_solver_rows(const csim_solver_params *params);
/* Whether the solver starts at the velocity v_k of the step's start and has its own use for gaps that are open or
   closed: phi_n is then the gap over h, without the limits a rigid contact puts on its correction. */
CSIMI_FN bool csimi_solver_gaps(csim_solver solver);
/* Whether solver takes the laws of contacts [count]. */
CSIMI_FN bool csimi_solver_laws(csim_solver solver, const csim_contact *contacts, int count);
CSIMI_FN csim_status csimi_solver_check(const csim_solver_params *p, bool world, const char *fn, csim_error *error);
/* csim_problem_solve in what is left of an arena, for a world: it checked the parameters when it got them, and made the
   indices of the problem itself; checked: what csimi_check_own says of its numbers. table.c */
CSIMI_FN csim_status csimi_problem_solve(const csim_problem *problem, const csim_solver_params *params,
                                         csimi_arena *arena, csim_status checked, const csim_tasks *tasks,
                                         csim_solution *solution, csim_outcome *outcome, csim_error *error);
/* What is said of an answer whose certificate is left out; measure: the solver's own. */
CSIMI_FN csim_result csimi_leave_unchecked(double measure, csim_certificate *certificate);

/* ---- auto.c: SWEEP where it fits, COND where it does not */
CSIMI_FN size_t csimi_auto_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN csim_status csimi_auto_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error);
/* SWEEP on any problem */
CSIMI_FN size_t csimi_any_sweep_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN csim_status csimi_any_sweep_solve(const csim_problem *problem, const csim_solver_params *params,
                                           csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                           csim_outcome *outcome, csim_error *error);

/* ---- cond.c */
CSIMI_FN size_t csimi_cond_bytes(const csim_problem_size *size, const csim_solver_params *params);
/* Pairs of blocks that COND makes a structure of where the problem has none; 0: it makes none. */
CSIMI_FN int csimi_cond_pairs(const csim_problem *problem);
CSIMI_FN bool csimi_cond_takes(const csim_problem *problem);
CSIMI_FN csim_status csimi_cond_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error);

/* ---- sweep.c */
CSIMI_FN size_t csimi_sweep_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN bool csimi_sweep_takes(const csim_problem *problem);
/* Islands that A couples, small enough to be swept through a factor of A; csimi_sweep_solve does either kind. */
CSIMI_FN bool csimi_sweep_couples(const csim_problem *problem);
CSIMI_FN size_t csimi_sweep_coupled_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN csim_status csimi_sweep_solve(const csim_problem *problem, const csim_solver_params *params,
                                       csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                       csim_outcome *outcome, csim_error *error);

/* ---- anderson.c: the acceleration both solvers share. A ring of `window` pairs (f, p) of length n; the next iterate
   is sum alpha_j p_j with the alpha that minimise |sum alpha_j f_j|_M, sum alpha = 1, M a positive diagonal. */
typedef struct csimi_anderson {
    int n, window, count, newest;
    size_t room;          /* pairs of reals from f on, p among them */
    csim_real *f, *p;     /* [window n] */
    csimi_wide *gram;     /* [window window] f_i M f_j */
    csimi_wide *work;     /* [window (window + 3)] */
    csimi_wide *part;     /* [chunks window] products of the newest pair, by chunks */
} csimi_anderson;
/* least: reals that f and p and what follows them have together at least, for who works there meanwhile. */
CSIMI_FN void csimi_anderson_layout(csimi_anderson *a, csimi_arena *arena, int n, int window, size_t least);
CSIMI_FN void csimi_anderson_clear(csimi_anderson *a);
/* The slot the next pair is written into: two pointers to n numbers each. */
CSIMI_FN void csimi_anderson_slot(csimi_anderson *a, csim_real **f, csim_real **p);
/* Takes the pair just written and writes the combination to next[n] (never aliases the ring). metric[n] > 0. */
CSIMI_FN void csimi_anderson_step(csimi_anderson *a, const csim_real *metric, csim_real *next, const csim_tasks *tasks);

/* ---- stages.c: accelerated sweeps and the proximal loop of them over impulses x; sweep.c and cascade.c fill in the
   problem. sweeps counts sweeps, and evaluations of Newton. */
typedef struct csimi_stages {
    int length;                            /* 3 contacts */
    csim_real *x;                          /* [length] impulses at hand, by the owner */
    csim_real *best, *centre, *metric;     /* [length] best seen; centre of the proximal step; weights of |.|^2 */
    csimi_anderson anderson;
    const csim_tasks *tasks;
    csimi_wide measure, best_measure, target;  /* of x, of best, and to reach */
    int sweeps, cap, rejections;
    int factors, most;                     /* what factors of Newton took, in sweeps; most of both, 0: no matter */
    bool often;                            /* measured every second time: Newton follows and wants the best */
    bool broken;                           /* a sweep made a NaN or an infinity */
    double *history;
    int history_capacity, logged;
    /* the problem, once a sweep */
    void *problem;
    void (*pass)(void *problem);                /* one sweep over x for u + eps (x - centre) */
    void (*project)(void *problem);             /* x to the nearest impulses the laws allow */
    void (*moved)(void *problem);               /* x was replaced: what follows from it */
    csimi_wide (*look)(void *problem);              /* measure of x */
    void (*prepare)(void *problem, csimi_wide eps); /* models of single contacts for W + eps */
} csimi_stages;
#define CSIMI_IMPULSE_NOISE (CSIM_R(1e5) * CSIMI_EPS)
CSIMI_FN void csimi_impulse_allow(const csim_contact *contact, csim_real *x); /* to the nearest that the law allows */
/* What impulses below it are measured against: the median of those that carry, and the noise of the largest. Reorders
   norms. */
CSIMI_FN csim_real csimi_impulse_floor(csim_real *norms, int count);
CSIMI_FN void csimi_stages_layout(csimi_stages *s, csimi_arena *arena, int contacts, int window, size_t least);
/* The memory of the ring, `least` reals or more, as an arena: between two stages it is free. */
CSIMI_FN csimi_arena csimi_stages_ring(const csimi_stages *s);
CSIMI_FN void csimi_stages_look(csimi_stages *s);    /* measures x, keeps the best */
CSIMI_FN void csimi_stages_restore(csimi_stages *s); /* x = best */
CSIMI_FN bool csimi_stages_done(const csimi_stages *s);
CSIMI_FN bool csimi_stages_capped(const csimi_stages *s);
CSIMI_FN void csimi_stages_log(csimi_stages *s);            /* fills the history up to the last sweep */
CSIMI_FN csimi_wide csimi_stages_travel2(const csimi_stages *s); /* |x - centre|^2 in the metric */
/* Accelerated sweeps until measured good, or no halving of the measure for patience sweeps. */
CSIMI_FN void csimi_stages_accelerated(csimi_stages *s, int patience);
/* From the best: W + eps solved around the last answer, with eps as small as the sweeps inside bear. A step ends when
   the change of a sweep is small against eps times the way from the centre; the stages end on plain sweeps. */
CSIMI_FN void csimi_stages_proximal(csimi_stages *s);

/* ---- weights.c: the diagonal W of COND, for the nodal matrix. pinned[n] marks the blocks that carry a contact: there
   W is one scalar. */
CSIMI_FN void csimi_weights_jacobi(const csimi_nodal *nodal, const unsigned char *pinned, csim_real *w);
CSIMI_FN void csimi_weights_frobenius(const csimi_nodal *nodal, const unsigned char *pinned, csim_real *w,
                                      csim_real *scratch /* [6 count] */);
/* Largest eigenvalue of W A by CSIMI_LANCZOS steps (a lower bound, good to a few per cent); with the value known from
   an earlier solve 4 steps decide whether it still serves. work[9n]; adds to *products. */
enum { CSIMI_LANCZOS = 12 };
CSIMI_FN csim_real csimi_weights_sigma(const csimi_nodal *nodal, const csim_real *w, const csim_real *w_inverse,
                                       csim_real known, csim_real *work, int *products, const csim_tasks *tasks);

/* ---- coarse.c: the rigid-mode correction p += scale Z H^-1 Z' M f. */
enum {
    CSIMI_COARSE_GROUPS = 150, /* 6 unknowns each: the dense matrix has at most 900 rows */
    CSIMI_COARSE_GRAIN = 4     /* aggregates in a parallel range */
};
typedef struct csimi_coarse {
    const csim_structure *structure;
    int aggregates, groups;
    int *first, *member;             /* [aggregates + 1], [n] blocks by aggregate */
    int *group;                      /* [aggregates] */
    int *group_first, *group_member; /* aggregates by group */
    csim_real *arm;                  /* [3 aggregates] centre relative to that of the group */
    csim_real *radius;               /* [groups] */
    double *motion;                  /* [6 aggregates] force and torque, then velocity and angular velocity */
    int *slot;                       /* [aggregates] */
    double *jacobian;                /* rows of one contact */
    double *y, *g, *change, *step;   /* [m] unknowns, right side, residual; m = 6 groups */
    double *H0, *factor;             /* lower triangle by rows of blocks; [m m] */
    int *pivot, *reach;              /* [m], [2m] of factor */
    csim_real *trial, *delta;        /* [3 contacts] predicted trial impulses, change of the impulses */
    unsigned char *closed, *used;    /* [contacts] rows ever active in this solve; rows inside factor: bits */
    bool built, ready;               /* H0 is of this A; factor serves */
    const csim_real *f, *metric;     /* of the apply at work */
    csim_real *p;
} csimi_coarse;
/* Whether the structure carries rigid modes (more than CSIMI_COARSE_GROUPS aggregates need their centres). */
CSIMI_FN bool csimi_coarse_usable(const csim_structure *structure);
CSIMI_FN void csimi_coarse_layout(csimi_coarse *c, csimi_arena *arena, int blocks, int contacts, int aggregates);
/* Of the given (not nodalized) problem: its groups; and H0 = Z'AZ, for who comes to a correction. */
CSIMI_FN void csimi_coarse_open(csimi_coarse *c, const csim_problem *problem);
CSIMI_FN void csimi_coarse_build(csimi_coarse *c, const csim_problem *problem, const csim_tasks *tasks);
/* Rows of a contact that an impulse holds, as bits: none, the normal (slip), all (stick). */
CSIMI_FN unsigned char csimi_coarse_rows(const csim_contact *contact, const csim_real *lambda);
/* What the contacts did at the iterate that is corrected. */
typedef struct csimi_coarse_contacts {
    const csim_real *trial, *lambda; /* [3 contacts] impulse before and after projection */
    const csim_real *gamma;          /* [contacts] compliance of a contact against coarse motion, 1/kg */
    const unsigned char *law;        /* [contacts] csim_law in force */
    double stiffen;                  /* factor on the stiffness of contacts inside the matrix */
    int newton;                      /* steps of Newton on the coarse contact problem, 0: one linear correction */
    int looks;                       /* how often the active set is predicted and the factor renewed for it */
} csimi_coarse_contacts;
/* factor of H0 + sum over c->used of J'J / gamma. False: no use. */
CSIMI_FN bool csimi_coarse_factor(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts,
                                  const csim_tasks *tasks);
/* metric, f, p: [3 (n + virtual nodes)] */
CSIMI_FN void csimi_coarse_apply(csimi_coarse *c, const csim_problem *problem, const csimi_nodal *nodal,
                                 const csimi_coarse_contacts *contacts, double scale, const csim_real *metric,
                                 const csim_real *f, csim_real *p, const csim_tasks *tasks);

/* ---- chain.c: cables, solved exactly on the face of their contacts. */
enum { CSIMI_CHAIN_ROWS = 96 }; /* rows between moving things that are solved with the chains; the rest are stiffness */
/* One direction of a contact: `in` of the velocity that it stops, `out` of the impulse that does. */
typedef struct csimi_chain_row {
    int contact, axis; /* row of the contact, -1: across its slip */
    double in[3], out[3], compliance;
} csimi_chain_row;
typedef struct csimi_chains {
    const csim_structure *structure;
    int links;
    double *pivot, *cross, *x; /* [36 links], [36 links], [6 links] */
    int *at;                   /* [n] place of each block among the 2 links of the chains, -1: none */
    unsigned char *settled;    /* [n] moves with chains alone: A couples it with nothing, its contacts are theirs */
    int *face;                 /* [2 links] */
    csimi_chain_face *faces;   /* [contacts] */
    csim_real *force;          /* [3n] imbalance at p, then answers to rows */
    csimi_chain_row *row;      /* [CSIMI_CHAIN_ROWS] */
    double *dense, *answer;    /* [rows rows], [rows] */
    int *pivoting;             /* [rows] */
    int rows;
    csim_real *lambda, *gamma; /* [3 contacts], [contacts] impulses at p and compliances, by the caller */
    csim_real *give;           /* [contacts] the part of gamma that is virtual nodes, by the caller */
    int *held;                 /* [contacts] the block that a contact against standing ground acts on directly, -1: it
                                  acts through virtual nodes; by the caller */
} csimi_chains;
CSIMI_FN int csimi_chains_links(const csim_structure *structure);
CSIMI_FN void csimi_chains_layout(csimi_chains *c, csimi_arena *arena, int blocks, int contacts, int links);
CSIMI_FN void csimi_chains_bind(csimi_chains *c, const csim_problem *problem);
/* p[3n] of the given problem moves to the solution on the face of c->lambda; nodal: its contacts with virtual nodes,
   for their phi; trial[3 contacts]: impulses before projection; follow: friction follows the normal impulse, else it
   stays. False, with p as it was, without a factor. */
CSIMI_FN bool csimi_chains_correct(csimi_chains *c, const csim_problem *problem, const csim_contact *nodal,
                                   const unsigned char *law, const csim_real *trial, bool follow, csim_real *p,
                                   const csim_tasks *tasks);

/* ---- envelope.c: L U of a structurally symmetric block matrix inside its envelope, in double. Row i of L and column i
   of U hold the blocks first[i] to i - 1 from place start[i] on. */
typedef struct csimi_envelope {
    int n;
    int *first;                   /* [n] */
    size_t *start;                /* [n] */
    size_t blocks;                /* sum of i - first[i] */
    csimi_wide *lower, *upper, *diag; /* [9 blocks], [9 blocks], [9 n] */
} csimi_envelope;
CSIMI_FN void csimi_envelope_clear(csimi_envelope *e);
CSIMI_FN csimi_wide *csimi_envelope_block(csimi_envelope *e, int i, int j); /* inside the envelope */
CSIMI_FN bool csimi_envelope_factor(csimi_envelope *e);                 /* false: a pivot has no positive determinant */
CSIMI_FN void csimi_envelope_solve(const csimi_envelope *e, csimi_wide *x);

/* ---- degree.c: L U factors of a matrix of nodes of 3, 6, .. numbers in an order of least degree. They are
   reals: in float they take half the room of double, and Newton looks at what its steps give anyway. */
enum { CSIMI_DEGREE_MOST = 12 }; /* numbers of a node */
typedef struct csimi_degree {
    int n, root, rest, length;  /* nodes; first place of the root, its numbers; numbers of a vector */
    int *size, *at;             /* [n] numbers of a node, set by who opens it; and where they begin in a vector */
    int *order, *place;         /* [n] node at each place, and back */
    int *first, *index, *slot;  /* [root + 1], [first[root]] places of the neighbours behind; scratch */
    size_t *start, *column;     /* [root + 1] in value: own matrix, later its inverse; L, then U' of a neighbour */
    size_t numbers;
    csim_real *value;           /* [numbers] */
    csimi_wide work, *dense;    /* multiplications of a factorisation; [rest rest] factors of the root */
    csim_real *turned;          /* two blocks while it is factored; for others between */
    int *pivot;                 /* of the root */
    int *degree, *mark, *bucket, *next, *before, *list, *cell; /* the graph while it is ordered: neighbours as lists */
    int cells, room;
    size_t below; /* of the arena, used before the lists */
} csimi_degree;
CSIMI_FN void csimi_degree_open(csimi_degree *d, csimi_arena *arena, int n); /* no edges; sizes 0 */
CSIMI_FN bool csimi_degree_clique(csimi_degree *d, const int *node, int count); /* makes them neighbours; no room */
CSIMI_FN bool csimi_degree_plan(csimi_degree *d, csimi_arena *arena);           /* the order; false: no room */
CSIMI_FN void csimi_degree_clear(csimi_degree *d);
/* The block of nodes u, v: number (i, j) is at i down + j right. Null: not inside the plan. */
CSIMI_FN csim_real *csimi_degree_block(csimi_degree *d, int u, int v, size_t *down, size_t *right);
/* J' T into block (u, v), J and T three rows each as wide as their nodes. */
CSIMI_FN void csimi_degree_add(csimi_degree *d, int u, int v, const csim_real *J, const csim_real *T);
CSIMI_FN bool csimi_degree_factor(csimi_degree *d);             /* false: singular */
CSIMI_FN void csimi_degree_solve(csimi_degree *d, csimi_wide *x); /* [length], each node's at its place */

/* ---- single.c: one contact alone. The model u = W lambda + c is kept in normalised form: tangential impulses are
   y = lambda_t / mu component by component, so that every friction cone (the elliptic one too) is |y| <= lambda_n, and
   axes are turned so that the Schur complement S of the tangential block is diagonal. */
typedef struct csimi_local {
    const csim_contact *contact; /* law and its numbers */
    csim_real W[6];              /* nn, n1, n2, 11, 12, 22 */
    csim_real extra;             /* 1/kg, what the proximal loop adds to the diagonal of W */
    csim_real a, b[2], s[2];     /* 1 / W_nn, coupling, diagonal of S */
    csim_real turn[2], mu[2];    /* cosine and sine of the axes */
    csim_real z;                 /* last slip multiplier: start of the next search; 0 at first */
#if CSIMI_HAS_ROWS
    csim_real inverse[6];        /* bilateral and box: of the constrained part of W */
#endif
} csimi_local;
/* W from a 3x3 block, row-major; its symmetric part when it is not symmetric. */
CSIMI_FN void csimi_local_set(csimi_local *c, const csim_real *W);
/* Readies the model for W + eps (tr W / 3) I under the law of contact, which must outlive it. */
CSIMI_FN void csimi_local_prepare(csimi_local *c, const csim_contact *contact, csim_real eps);
/* lambda from v = u - W lambda, the velocity without this contact; exact for its law. */
CSIMI_FN void csimi_local_solve(csimi_local *c, const csim_real *v, csim_real *lambda);
/* The same with sliding contacts solved by method; bisection and golden section stop at an arc of width radians. */
CSIMI_FN void csimi_local_solve_by(csimi_local *c, csim_contact_method method, csim_real width, const csim_real *v,
                                   csim_real *lambda);

/* ---- delassus.c: an impulse-level problem made free of units. With one positive scalar
   s_c = sqrt(3 / tr W_cc) for each contact r = s r', u = u' / s and W' = s W s: cones stay what they are, the diagonal
   blocks W'_cc have trace 3, and 1 / tr W_cc is one. Everything below is in these variables unless it says raw. */
typedef struct csimi_delassus csimi_delassus;
struct csimi_delassus {
    int contacts;
    const csim_tasks *tasks;
    csim_contact *laws;      /* [contacts] law, mu, mask; omega, lo and hi in the variables here */
    csim_real *scale;        /* [contacts] s_c */
    csim_real *q;            /* [3 contacts] */
    csim_real *diagonal;     /* [9 contacts] W'_cc, row-major, not symmetrised */
    csim_real *raw;          /* [3 contacts] raw impulses at which the rows are read */
    csim_real *scratch;      /* [3 contacts] of products and rows */
    csim_real *norms;        /* [contacts] of the measure */
    csim_real *speed;        /* [contacts] raw, m/s: what a residual is measured against as a velocity; |q| at first */
    bool rows;               /* W can be read row by row */
    bool each;               /* the measure looks at each contact too: masses differ by more than 100 */
    int products;            /* products so far */
    bool both;               /* the measure asks for natural_map_siconos too */
    double natural, contact, velocity; /* figures of the last measure */
    double siconos;          /* with both only */
    /* where W comes from, in raw variables */
    void *from;
    void (*product)(csimi_delassus *W, const csim_real *x, csim_real *y);  /* y = W x */
    void (*row)(csimi_delassus *W, int c, csim_real *u);                   /* u = (W raw)_c; null: no rows */
    void (*begin)(csimi_delassus *W);                                      /* raw was replaced; may be null */
    void (*change)(csimi_delassus *W, int c, const csim_real *difference); /* raw_c has changed by this; may be null */
};
/* Counts or takes what the struct owns. */
CSIMI_FN void csimi_delassus_layout(csimi_delassus *W, csimi_arena *arena, int contacts);
/* Scales the laws [contacts] and q (raw, [3 contacts]) by the raw diagonal blocks already in W->diagonal; decides each.
   False when a block has no positive trace or a number is not finite. */
CSIMI_FN bool csimi_delassus_scale(csimi_delassus *W, const csim_real *q);
/* A diagonal block without a positive trace, though all its numbers are finite. */
CSIMI_FN bool csimi_delassus_flat(const csimi_delassus *W);
/* The public problem as one; W has its memory. What csimi_delassus_scale says. */
CSIMI_FN bool csimi_delassus_open(csimi_delassus *W, const csim_impulse_problem *problem);
/* Where W comes from: a dense matrix, row-major, [3 contacts] squared. */
CSIMI_FN void csimi_delassus_dense(csimi_delassus *W, const csim_real *dense);
CSIMI_FN void csimi_delassus_product(csimi_delassus *W, const csim_real *r, csim_real *u);  /* u = W r */
CSIMI_FN void csimi_delassus_velocity(csimi_delassus *W, const csim_real *r, csim_real *u); /* u = W r + q */
/* Sweeps: begin at r, read u_c = (W r + q)_c, tell each change r_c -> now before the next row is read. */
CSIMI_FN void csimi_delassus_begin(csimi_delassus *W, const csim_real *r);
CSIMI_FN void csimi_delassus_row(csimi_delassus *W, int c, csim_real *u);
CSIMI_FN void csimi_delassus_change(csimi_delassus *W, int c, const csim_real *old, const csim_real *now);
/* The nearest impulses the laws allow, in place. */
CSIMI_FN void csimi_delassus_project(const csimi_delassus *W, csim_real *r);
/* r - P(r - rho u) of one contact, with u + mu |u_t| n for u under the strict law (de Saxce): zero where u, r obey. */
CSIMI_FN void csimi_delassus_residual(const csimi_delassus *W, int c, csim_real rho, const csim_real *r,
                                      const csim_real *u, csim_real *residual);
/* The one measure of every impulse-level solver: natural_map_scaled of r in raw norms, and where W->each holds the
   worst figure of a contact if that is larger, with W->both also natural_map_siconos; 1 at r = 0 unless that is exact.
   velocity: u = W r + q is in u[3 contacts]; else it is computed there. */
CSIMI_FN double csimi_delassus_measure(csimi_delassus *W, const csim_real *r, csim_real *u, bool velocity);
/* |r - P_K(r - (u + mu |u_t| n))| / max(|q|, |r|, |u|), all raw. */
CSIMI_FN double csimi_delassus_siconos(const csimi_delassus *W, const csim_real *r, const csim_real *u);
/* Raw impulses to and from r, in place. */
CSIMI_FN void csimi_delassus_enter(const csimi_delassus *W, csim_real *r);
CSIMI_FN void csimi_delassus_leave(const csimi_delassus *W, csim_real *r);

/* What an impulse-level solver is handed. It never decides whether it succeeded: who called measures. */
typedef struct csimi_impulse_run {
    csimi_delassus *W;
    const csim_solver_params *params;
    csimi_arena *arena;    /* impulse_bytes of it are free; given back by the caller */
    csim_real *r;          /* [3 contacts] start, then the best seen */
    csim_real *u;          /* [3 contacts] W r + q, with what csimi_delassus_measure says of r, where judged is set */
    bool judged;
    double target;         /* the measure to reach, at most params->tolerance */
    csim_outcome *outcome; /* the solver adds to iterations and rejections and sets residual to its best measure */
} csimi_impulse_run;
/* Runs the solver of params on W and measures what it left in r; u [3 contacts] gets W r + q. False: not finite. */
CSIMI_FN bool csimi_impulse_run_solver(csimi_delassus *W, const csim_solver_params *params, double target,
                                       csimi_arena *arena, csim_real *r, csim_real *u, csim_outcome *outcome);
/* Residual of one iteration into the history of params. watch.c */
CSIMI_FN void csimi_impulse_log(const csimi_impulse_run *run, int iteration, double measure);

/* The measure to aim at after one whose certificate was not content at the tolerance. stages.c */
CSIMI_FN double csimi_next_target(double target, const csim_certificate *certificate, csim_real tolerance);

/* ---- lift.c: solvers of the impulse level on a csim_problem, with W = J A^-1 J' as an operator */
CSIMI_FN size_t csimi_lift_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN csim_status csimi_lift_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error);

/* v = A^-1 (b + J'lambda) to rounding, certified: lambda judged alone; csimi_lift_bytes without params. False: A is not
   positive definite. */
CSIMI_FN bool csimi_lift_judge(const csim_problem *problem, csimi_arena *arena, const csim_tasks *tasks,
                               csim_solution *solution, csim_certificate *certificate, int *products);

/* ---- linear.c: (W + shift + C) x = residual for newton.c */
typedef struct csimi_linear {
    csimi_delassus *W;
    int length; /* 3 contacts */
    csim_real shift;
    csim_real *C, *P;                    /* diagonals; P = 0 switches a row off */
    csim_real *x, *residual;             /* out: the answer; in: the right side, out: what is left of it */
    csim_real *z, *p, *Ap, *Az;          /* work; Az is the caller's */
} csimi_linear;
CSIMI_FN void csimi_linear_layout(csimi_linear *s, csimi_arena *arena, int contacts);
/* From x = 0, most iterations at most; returns them: one product or one sweep each. */
CSIMI_FN int csimi_linear_solve(csimi_linear *s, csim_linear method, int most);

/* ---- newton.c: Newton on the laws as equations */
enum {
    CSIMI_NEWTON_LAWS =
        1 << CSIM_LAW_STRICT | 1 << CSIM_LAW_INVERTIBLE | 1 << CSIM_LAW_BILATERAL | 1 << CSIM_LAW_BOX
};
/* phi(a, b) and its derivatives. */
CSIMI_FN csim_real csimi_ncp(csim_ncp ncp, csim_real a, csim_real b, csim_real *alpha, csim_real *beta);
/* Compliance of the tangential rows at |u_t|, |r_t|, mu r_n: u_t + C r_t = 0 is Coulomb's law where it is solved. */
CSIMI_FN csim_real csimi_ncp_friction(csim_ncp ncp, csim_real speed, csim_real force, csim_real bound, csim_real rho);
CSIMI_FN bool csimi_fischer_takes(const csimi_delassus *W);
/* At most steps Newton steps of inner products each from best, whose measure is given; leaves the best feasible
   impulses there and returns their measure. u [3 contacts] is scratch; iterations in: products allowed, out: made. */
CSIMI_FN double csimi_fischer_burst(csimi_delassus *W, csimi_arena *arena, csim_real *best, double measure,
                                    csim_real *u, double target, int steps, int inner, int *iterations,
                                    const csimi_impulse_run *run);
CSIMI_FN size_t csimi_newton_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_newton_solve(csimi_impulse_run *run);
CSIMI_FN bool csimi_newton_proximal(csimi_impulse_run *run);

/* ---- cascade.c: the solvers SWEEP, ANDERSON, PROXIMAL of the impulse level */
CSIMI_FN size_t csimi_cascade_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_cascade_solve(csimi_impulse_run *run);
CSIMI_FN bool csimi_cascade_anderson(csimi_impulse_run *run);
CSIMI_FN bool csimi_cascade_proximal(csimi_impulse_run *run);

/* ---- watch.c: what every iteration on impulses does beside iterating: measures, keeps the best, logs, ends. */
typedef struct csimi_watch {
    csimi_impulse_run *run;
    csim_real *best, *u; /* [3 contacts] */
    double measure, best_measure, halved;
    int iterations; /* counted by the solver */
    int cap;        /* what max_iterations leaves */
    int since, patience, logged;
    bool broken; /* NaN or infinity */
} csimi_watch;
CSIMI_FN void csimi_watch_layout(csimi_watch *w, csimi_arena *arena, int contacts);
/* patience: iterations without a halving of the best measure, after which the solver gives up. */
CSIMI_FN void csimi_watch_open(csimi_watch *w, csimi_impulse_run *run, int patience);
/* Looks at r; u [3 contacts] is W r + q, or null: one product. True: go on. */
CSIMI_FN bool csimi_watch_look(csimi_watch *w, const csim_real *r, csim_real *u);
/* The best into run->r, counts into its outcome; what a solver returns. */
CSIMI_FN bool csimi_watch_close(csimi_watch *w);

/* ---- apgd.c: min 1/2 x'(W + omega) x + x'q over a product of convex sets; shared by APGD and STAGGERED */
typedef struct csimi_gradient {
    csimi_delassus *W;
    csim_real *q;      /* [3 contacts] as all below; set by the caller before each solve */
    csim_real *x, *Wx; /* start and answer, and its product (with omega) */
    csim_real *y, *Wy, *next, *Wnext, *trial;
    double L;                                     /* estimate of the largest eigenvalue of W, kept between solves */
    double theta;                                 /* of the momentum */
    void (*project)(void *context, csim_real *x); /* nearest point of the sets, in place */
    void *context;
} csimi_gradient;
CSIMI_FN void csimi_gradient_layout(csimi_gradient *g, csimi_arena *arena, int contacts);
CSIMI_FN void csimi_gradient_begin(csimi_gradient *g, csimi_delassus *W, const csim_real *r); /* one product */
CSIMI_FN void csimi_gradient_rest(csimi_gradient *g); /* forgets the momentum: the problem is another one */
/* Until |x - P(x - W x - q)| <= tolerance, budget steps at most; returns the steps. One product each, and one more for
   each doubling of L. */
CSIMI_FN int csimi_gradient_solve(csimi_gradient *g, double tolerance, int budget);
CSIMI_FN void csimi_gradient_velocity(const csimi_gradient *g, csim_real *u); /* W x + q of the problem, no product */
/* |x - P(x - u)| with every contact's own law (csimi_delassus_residual). */
CSIMI_FN double csimi_gradient_residual(const csimi_gradient *g, const csim_real *u);

/* ---- pgs.c, apgd.c, percontact.c, staggered.c, ccs.c */
CSIMI_FN size_t csimi_pgs_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_pgs_solve(csimi_impulse_run *run);
/* The bytes of a solver whose type a layout fills. */
#define CSIMI_LAYOUT_BYTES(name, type)                                                \
    CSIMI_FN size_t csimi_##name##_bytes(int contacts, const csim_solver_params *p) { \
        csimi_arena arena = csimi_arena_counting();                                   \
        csimi_##type s;                                                               \
        (void)p;                                                                      \
        csimi_##type##_layout(&s, &arena, contacts);                                  \
        return arena.high;                                                            \
    }
CSIMI_FN size_t csimi_apgd_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_apgd_solve(csimi_impulse_run *run);
CSIMI_FN size_t csimi_percontact_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_percontact_solve(csimi_impulse_run *run);
CSIMI_FN size_t csimi_staggered_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_staggered_solve(csimi_impulse_run *run);
CSIMI_FN size_t csimi_ccs_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_ccs_solve(csimi_impulse_run *run);
CSIMI_FN size_t csimi_ccs_motion_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN csim_status csimi_ccs_motion_solve(const csim_problem *problem, const csim_solver_params *params,
                                            csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                            csim_outcome *outcome, csim_error *error);

/* ---- penalty.c, xpbd.c, bounded.c: on velocities only */
enum {
    CSIMI_XPBD_LAWS = CSIMI_NEWTON_LAWS | 1 << CSIM_LAW_ANISOTROPIC,
    CSIMI_PENALTY_LAWS = 1 << CSIM_LAW_STRICT | 1 << CSIM_LAW_BILATERAL | 1 << CSIM_LAW_BOX,
    CSIMI_PENALTY_EXPLICIT_LAWS = CSIMI_PENALTY_LAWS | 1 << CSIM_LAW_ANISOTROPIC
};
CSIMI_FN size_t csimi_penalty_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN bool csimi_penalty_takes(const csim_problem *problem);
CSIMI_FN csim_status csimi_penalty_solve(const csim_problem *problem, const csim_solver_params *params,
                                         csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                         csim_outcome *outcome, csim_error *error);
/* Visits that a frame takes: not more than are left, with fewer substeps where that is not enough for all; -1: with
   none, or what A couples is too large for a factor. And of a frame without one. */
#ifndef CONDSIM_NO_BOUNDED
CSIMI_FN long csimi_bounded_work(const csim_problem *problem, long left, csimi_arena *arena, int *substeps);
CSIMI_FN long csimi_lumped_work(const csim_problem *problem, int substeps);
#else
CSIM_INLINE long csimi_bounded_work(const csim_problem *problem, long left, csimi_arena *arena, int *substeps) {
    return (void)problem, (void)left, (void)arena, (void)substeps, -1;
}
CSIM_INLINE long csimi_lumped_work(const csim_problem *problem, int substeps) {
    return (void)problem, (void)substeps, 0;
}
#endif
CSIMI_FN size_t csimi_bounded_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN bool csimi_bounded_takes(const csim_problem *problem);
CSIMI_FN csim_status csimi_bounded_solve(const csim_problem *problem, const csim_solver_params *params,
                                         csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                         csim_outcome *outcome, csim_error *error);
CSIMI_FN size_t csimi_xpbd_bytes(const csim_problem_size *size, const csim_solver_params *params);
CSIMI_FN bool csimi_xpbd_takes(const csim_problem *problem);
CSIMI_FN csim_status csimi_xpbd_solve(const csim_problem *problem, const csim_solver_params *params, csimi_arena *arena,
                                      const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome,
                                      csim_error *error);

#ifdef CONDSIM_REFERENCE
/* ---- lemke.c */
enum { CSIMI_LEMKE_LAWS = 1 << CSIM_LAW_STRICT | 1 << CSIM_LAW_ANISOTROPIC | 1 << CSIM_LAW_BILATERAL };
CSIMI_FN size_t csimi_lemke_bytes(int contacts, const csim_solver_params *params);
CSIMI_FN bool csimi_lemke_solve(csimi_impulse_run *run);
#endif

/* ---- bodies.c: A as small dense bodies of neighbouring blocks, factored, and the rows of contacts on them */

enum {
    CSIMI_BODY_BLOCKS = 4,  /* at most in a body ... */
    CSIMI_BODY_TREE = 14,   /* ... of a tree or reduced body, which the structure names */
    CSIMI_BODY_LARGEST = 32 /* ... and of what the structure names else; a bit each */
};
typedef struct csimi_bodies {
    int n;
    int *first, *size, *row; /* [n] of the body of each block; row: where its row of the factor starts, 3x3 blocks */
    unsigned *on;            /* [n] bit j: block j of the body is not zero in this row */
    csimi_wide *factor;          /* [9 csimi_bodies_factor_blocks] of A = E' E: E_kk^-1 and -E_kj, j < k */
    csimi_wide *rows;            /* of a contact on one body, while its pieces are made */
} csimi_bodies;
/* One block a contact acts on: J rows in the contact frame, signed. */
typedef struct csimi_piece {
    int block;
    csim_real J[9];
} csimi_piece;
/* C += A B and C += A' B of 3x3 blocks; C is neither A nor B. */
CSIMI_FN void csimi_add_product(const csimi_wide *A, const csimi_wide *B, csimi_wide *CSIMI_RESTRICT C);
CSIMI_FN void csimi_add_productT(const csimi_wide *A, const csimi_wide *B, csimi_wide *CSIMI_RESTRICT C);
/* C of a symmetric 3x3 block H (its lower triangle), H^-1 = C C', lower triangular: what is zero stays so to the bit.
   False when a pivot is not positive. */
CSIMI_FN bool csimi_pivot(const csimi_wide *H, csimi_wide *C);
/* Whether A is block diagonal in bodies. */
CSIMI_FN bool csimi_bodies_take(const csim_problem *problem);
/* Sum over the bodies of their blocks squared; 4 n when they are none. */
CSIMI_FN int csimi_bodies_factor_blocks(const csim_problem *problem);
CSIMI_FN int csimi_factor_blocks_of(const csim_problem_size *size);
/* Sum over the contacts and the bodies each acts on, of their blocks that no term of it names. */
CSIMI_FN int csimi_bodies_reach_blocks(const csim_problem *problem);
CSIMI_FN void csimi_bodies_layout(csimi_bodies *b, csimi_arena *arena, int n, int factor_blocks);
/* The same without room for rows, [csimi_bodies_rows], which the caller has while pieces are made. */
CSIMI_FN void csimi_bodies_factor_layout(csimi_bodies *b, csimi_arena *arena, int n, int factor_blocks);
CSIMI_FN size_t csimi_bodies_rows(int n);
/* Finds the bodies of a problem that csimi_bodies_take takes and factors them. False: A is not positive definite. */
CSIMI_FN bool csimi_bodies_open(csimi_bodies *b, const csim_problem *problem);
/* x <- E'^-1 x and x <- E^-1 x, [3n]; one after the other: A^-1 x. */
CSIMI_FN void csimi_bodies_whiten(const csimi_bodies *b, csimi_wide *x);
CSIMI_FN void csimi_bodies_restore(const csimi_bodies *b, csimi_wide *x);
/* g [3n] = b + J' lambda, in double; lambda may be null: b */
CSIMI_FN void csimi_problem_load(const csim_problem *problem, const csim_real *lambda, csimi_wide *g);
/* v = A^-1 (b + J' lambda) in the same way; scratch [3n] */
CSIMI_FN void csimi_bodies_velocities(const csimi_bodies *b, const csim_problem *problem, const csim_real *lambda,
                                      csim_real *v, csimi_wide *scratch);
/* residual [3n] -= A v, in double */
CSIMI_FN void csimi_less_product(const csim_block_matrix *A, const csim_real *v, csimi_wide *residual);
/* Terms that contacts name: pieces without bodies. With them: as many more as csimi_bodies_reach_blocks. */
CSIMI_FN int csimi_pieces_count(const csim_problem *p);
/* Mean over the three rows of J D^-1 J', D the diagonal of A, 1/kg: the mobility of a contact. */
CSIMI_FN csim_real csimi_pieces_mobility(const csim_problem *p, const csimi_piece *piece, int count);
/* Pieces of contact m, rows turned into its frame; returns their number. b null: of J; else of J E^-1. */
CSIMI_FN int csimi_pieces_make(const csim_problem *p, const csimi_bodies *b, int m, csimi_piece *pieces);
/* u = R J v of a contact; returns the sum of the speeds that it is a difference of. */
CSIMI_FN csim_real csimi_contact_motion(const csim_problem *p, const csim_contact *contact, const csim_real *v,
                                        csim_real *u);
CSIMI_FN void csimi_pieces_velocity(const csimi_piece *piece, int count, const csim_real *v,
                                    csim_real *u); /* u += J v */
/* w += J' impulse of one contact */
CSIMI_FN void csimi_pieces_push(const csimi_piece *piece, int count, const csim_real *impulse, csim_real *w);
/* u += J v and w += J' impulse summed in double */
CSIMI_FN void csimi_pieces_velocity_wide(const csimi_piece *piece, int count, const csimi_wide *v, csim_real *u);
CSIMI_FN void csimi_pieces_push_wide(const csimi_piece *piece, int count, const csim_real *impulse, csimi_wide *w);
/* W = J E^-1 E'^-1 J' of one contact */
CSIMI_FN void csimi_pieces_delassus(const csimi_piece *begin, int count, csim_real *W);

/* ---- coupled.c: the same where A couples bodies, in one sparse factor; w is in the order of its rows */

/* A step solves islands again with other rows and the same A: they leave their factors here meanwhile, as many as the
   room takes. Whoever writes A forgets them. Islands that are solved side by side have none. */
typedef struct csimi_shelf {
    csimi_arena room;
    struct csimi_coupled *list;
    int island; /* that is solved now */
} csimi_shelf;
CSIM_INLINE void csimi_shelf_forget(csimi_shelf *shelf) {
    csimi_pop(&shelf->room, 0);
    shelf->list = NULL;
}

#ifdef CSIMI_COUPLES
typedef struct csimi_coupled {
    int n;
    size_t blocks;       /* room in the factor */
    int *first, *size;   /* [n] of each row of L: where the piece of A begins that it belongs to, and its blocks */
    unsigned char *late; /* [n] by block: contacts touch it */
    int pieces;          /* of all contacts */
    double products;     /* of blocks, that the factor and the pieces take: of what is more than small bodies */
    csimi_factor factor;
    csimi_shelf *shelf; /* of the arena, null: none */
    struct csimi_coupled *known, *next; /* there: of this A, null: it is factored anew; the one left before it */
    int island;                         /* that left it there */
} csimi_coupled;
/* Bytes of room for an island of these sizes, or the largest that sweeps take: sweep.c */
CSIMI_FN size_t csimi_shelf_bytes(int n, int matrix_blocks);
CSIMI_FN size_t csimi_coupled_most_blocks(int n, int matrix_blocks);
CSIMI_FN int csimi_coupled_most_pieces(int n, int terms, int contacts);
CSIMI_FN void csimi_coupled_layout(csimi_coupled *c, csimi_arena *arena, int n, int matrix_blocks);
/* The order, and what there is to be done; false: too many blocks, or pieces: `most`, 0: csimi_coupled_most_pieces. */
CSIMI_FN bool csimi_coupled_plan(csimi_coupled *c, const csim_problem *problem, int most);
/* Then what they take: the factor, and the pieces, which it returns. */
CSIMI_FN csimi_piece *csimi_coupled_layout_rows(csimi_coupled *c, csimi_arena *arena, size_t blocks, int pieces);
CSIMI_FN bool csimi_coupled_open(csimi_coupled *c, const csim_problem *problem); /* false: A is not positive definite */
/* Pieces of contact m, once and in ascending m; returns their number. Those of a small body come in the order of its
   blocks. */
CSIMI_FN int csimi_coupled_rows(csimi_coupled *c, const csim_problem *problem, int m, csimi_piece *pieces);
#endif

/* ---- basis.c: E of either kind */

typedef struct csimi_basis {
    csimi_bodies bodies;
#ifdef CSIMI_COUPLES
    csimi_coupled coupled;
#endif
    bool couples;
} csimi_basis;
/* What a basis of this problem is laid out for; couples: a sparse factor, where there is more than small bodies. */
CSIMI_FN csim_problem_size csimi_basis_size(const csim_problem *problem, bool couples);
/* Returns the pieces that the contacts of such a problem have, or may have; of a coupled one the room of the factor is
   still to be taken, csimi_coupled_layout_rows. */
CSIMI_FN int csimi_basis_layout(csimi_basis *e, csimi_arena *arena, bool couples, const csim_problem_size *size);
/* False: A is not positive definite, or more is coupled than there is room for. */
CSIMI_FN bool csimi_basis_open(csimi_basis *e, const csim_problem *problem);
CSIMI_FN void csimi_basis_whiten(const csimi_basis *e, csimi_wide *x);  /* x <- E'^-1 x, [3n] */
CSIMI_FN void csimi_basis_restore(const csimi_basis *e, csimi_wide *x); /* x <- E^-1 x */
/* Pieces of contact m, once and in ascending m; returns their number. */
CSIMI_FN int csimi_basis_rows(csimi_basis *e, const csim_problem *problem, int m, csimi_piece *pieces);
/* v = A^-1 (b + J' lambda); lambda may be null; scratch [3n] */
CSIMI_FN void csimi_basis_velocities(const csimi_basis *e, const csim_problem *problem, const csim_real *lambda,
                                     csim_real *v, csimi_wide *scratch);

#ifndef CONDSIM_NO_BOUNDED
/* ---- lumped.c: and where that is too large for a factor */
typedef struct csimi_lumped {
    csim_problem problem;  /* with A' and b' */
    int *row, *col, *diag; /* of A' */
    csim_real *val, *b;
    csim_real *v;                   /* [3n] where the frame begins */
    unsigned char *alone, *touched; /* [n] of a larger piece, which A' takes apart; something acts on it */
    int *queue;                     /* [n] */
    double *r;                      /* [3n] b - A v */
} csimi_lumped;
CSIMI_FN void csimi_lumped_layout(csimi_lumped *l, csimi_arena *arena, int n);
/* A' and b' of a frame that begins at v with the impulses lambda, in bodies that are opened. */
CSIMI_FN bool csimi_lumped_open(csimi_lumped *l, const csim_problem *problem, csimi_bodies *bodies, const csim_real *v,
                                const csim_real *lambda);
/* At the end: takes from v what would gain energy. load [3n]: scratch */
CSIMI_FN void csimi_lumped_close(csimi_lumped *l, const csim_problem *problem, const csim_real *lambda, double *load,
                                 csim_real *v);
#endif

/* ---- sweep.c and burst.c: islands of small dense bodies, or of a factor, at the level of impulses */

/* One contact. */
typedef struct csimi_sweep_contact {
    int first, count; /* pieces */
    csim_real free[3], speed; /* u without impulses, and the speeds that is a difference of */
    csim_real phi[3];         /* u at w = 0: free, but inside a step of Newton the u at its start */
    csim_real rho; /* kg, the certificate's scale */
    csim_real lag; /* m/s, mu |u_t| that a convex step of Newton takes as given */
    csimi_local local;
} csimi_sweep_contact;

typedef struct csimi_sweep {
    const csim_problem *problem;
    int n, contact_count;
    csimi_basis basis;
    csimi_wide load;     /* b' A^-1 b, twice the kinetic energy of the load */
    csim_real rms;       /* m/s, of the contacts' speeds, by rho */
    csim_real *v;        /* [3n] A^-1 b, and at the end A^-1 (b + J' lambda) */
    csimi_wide *w;       /* [3n] what the impulses add to E v, bodies.c; inside a step of Newton: what the step adds.
                        Small differences of large sums, a thousand kilograms on one: float would sweep on its last
                        bits */
    csimi_piece *pieces; /* of J E^-1 */
    csimi_sweep_contact *contacts;
    csimi_stages loop;   /* over the impulses loop.x; measure: the contact figure, csimi_sweep_look */
    csim_real *norms;    /* [contact_count] */
    void *scratch;       /* the memory of the ring, where no stage is running */
    size_t scratch_bytes;
    size_t room, behind;     /* bytes there; of those, what the ring leaves to rows on a coupled A */
    csimi_envelope envelope; /* of the Newton burst; its numbers live in the ring of anderson */
    csimi_degree degree;     /* the same for islands that are not small */
    unsigned char *covered;  /* [contact_count] inside its plan */
    int *active, active_count; /* contacts that Newton looks at */
    int *order, *place;      /* [n] block at each row of the envelope, and where its numbers begin in a vector; degree:
                                node of each block, -1: none */
    bool planned;                 /* the order and work are known; not yet: they will fit */
    csimi_wide work;  /* multiplications of a factorisation; 0: it does not fit */
    bool convex;  /* Newton takes convex steps */
    csimi_wide start; /* measure of the impulses that were given */
    bool fine;    /* large: near the answer, where a step that failed leaves nothing behind */
} csimi_sweep;

CSIMI_FN void csimi_contact_velocity(const csimi_sweep *s, const csimi_sweep_contact *c, csim_real *u);
CSIMI_FN void csimi_sweep_velocities(csimi_sweep *s);          /* w from lambda */
CSIMI_FN void csimi_sweep_prepare(csimi_sweep *s, csimi_wide eps); /* local models of W + eps (tr W_ii / 3) I */

/* Orders the blocks, lays the envelope into the ring and estimates the work. */
CSIMI_FN void csimi_burst_plan(csimi_sweep *s);
CSIMI_FN bool csimi_burst_is_dear(const csimi_sweep *s); /* a factor, beside sweeps */
CSIMI_FN bool csimi_burst_fits(const csimi_sweep *s); /* without looking at the order */
/* Islands whose factors are made in an order of least degree, for the contacts that press. */
CSIMI_FN bool csimi_burst_is_large(const csimi_sweep *s);
/* Doubles that suffice for n blocks in any order; what is small has three vectors, and there is room to align. */
#define CSIMI_BURST_SMALL 24 /* blocks of an island up to which every contact is factored, in any order */
#define CSIMI_BURST_NUMBERS(n) \
    ((n) > CSIMI_BURST_SMALL ? 9 * (n) * (n) + 12 * (n) + 64 : 9 * (n) * (n) + 9 * (n) + CSIMI_ALIGN)
/* One proximal step lambda -> argument of W + eps I around lambda, by Newton on the body velocities. False, with
   lambda and w as before (large: at the best it has seen), when it does not get there. */
CSIMI_FN bool csimi_burst_step(csimi_sweep *s, csimi_wide eps, int *iterations);

/* ---- restrain.c: what stays of a solve that missed: impulses inside their laws that put no energy in, and the exact
   motion under them. start: [3 contacts] the impulses before the solve; solution: the best iterate, replaced together
   with the certificate. False, and as it was: A is not positive definite, what replaces it has no certificate, or
   little of it would be left of impulses whose motion does no harm. */
CSIMI_FN size_t csimi_restrain_bytes(const csim_problem_size *size);
CSIMI_FN bool csimi_restrain(const csim_problem *problem, const csim_real *start, csimi_arena *arena,
                             const csim_tasks *tasks, csim_solution *solution, csim_outcome *outcome);

#endif
