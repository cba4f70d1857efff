/* model/private: the state of everything that moves, and the table that each kind of model fills.

   Velocity blocks of the whole world: block i < node_count is point node i (particles, vertices of solids, nodes of
   cables), blocks node_count + 2 k and + 1 are the linear and angular velocity (world axes, about the centre of mass)
   of rigid body k; then come the angular velocity of each edge frame, the coordinates of trees, and the massless
   coordinates behind soft rows of joints.
   Models see this plain struct only, never the world. */
#ifndef CSIMI_MODEL_PRIVATE_H
#define CSIMI_MODEL_PRIVATE_H

#include "../sparse/private.h"
#include "material.h"
#include "modes.h"
#include "articulation.h"

/* How the velocity of a block or rigid body is decided. */
enum { CSIMI_FREE = 0, CSIMI_FIXED = 1, CSIMI_KINEMATIC = 2 }; /* kinematic: v is given by the user, never solved */

#if CSIMI_KEEPS_MESHES || CSIMI_HAS_TREES
#define CSIMI_HAS_FAR 1 /* places on more than the world, a node or a rigid body */
#else
#define CSIMI_HAS_FAR 0
#endif
/* A material point of anything: the side of a contact, the end of a spring or pin. place.c is the one file that knows
   the kinds apart. */
typedef enum csimi_place_kind {
    CSIMI_PLACE_GROUND, /* local: a point of the world that never moves */
    CSIMI_PLACE_NODE,   /* item: point node */
    CSIMI_PLACE_RIGID,  /* item: rigid body; local: the point in its centre-of-mass frame */
    CSIMI_PLACE_LINK,   /* item: link of a tree, local: the point in its axes, node[0]: terms */
    CSIMI_PLACE_EDGE,   /* item: edge of a cable; local: offset along its first two axes, m, the share of the way from
                           node[0] to node[1], and the offset along its third axis, most often 0 */
    CSIMI_PLACE_FACE,   /* node[3]: corners of a triangle; local: their weights, which add up to 1, and the height of
                           the point over the triangle's plane, m; node[3]: terms, of a reduced body, else 0 */
    CSIMI_PLACE_VERTEX  /* item: node of a reduced body, node[0]: terms */
} csimi_place_kind;

typedef struct csimi_place {
    csimi_place_kind kind;
#if CSIMI_HAS_FAR
    int item, node[4];
    csim_real local[6];
#else
    int item;
    csim_real local[3];
#endif
} csimi_place;

enum { CSIMI_AXES_SLACKS = 4 }; /* soft rows of a joint: limits and springs, of pushes and of turns */

#if CSIMI_HAS_TREES
#define CSIMI_PLACE_TERMS 10 /* most terms of a place: a link under 30 coordinates, a frame and CSIM_MODES_MOST modes */
#else
#define CSIMI_PLACE_TERMS 3 /* a face, an edge of a cable */
#endif

/* What a bend element holds on to: an edge frame, a body or the world. */
typedef struct csimi_bend_end {
    int frame;             /* >= 0: edge frame */
    int rigid;             /* >= 0: rigid body; both -1: the world */
    csim_real rotation[4]; /* of the section in the axes of the body or the world, w x y z; unused for frames */
} csimi_bend_end;

typedef struct csimi_bend {
    csimi_bend_end end[2]; /* conj(first) second is the relative rotation */
} csimi_bend;
/* A tree of links: articulated body in reduced coordinates. Indices of its links and blocks are relative to its first
   ones. Its velocity blocks: base_blocks of the root's coordinates, then each limb that hangs on the root, filled up to
   whole blocks. */
typedef struct csimi_tree {
    int first_link, link_count;
    int first_block, block_count, base_blocks; /* among the blocks of coordinates */
    bool self_contact;                         /* links that are no neighbours may touch */
    int position_count, dof_count;             /* numbers in the user's arrays, without padding */
    unsigned char mode;
    /* a reduced body is a tree of one floating link (its frame, about the centre of mass) with a limb of modes */
    int modes; /* 0: an articulated body */
    bool linear, anchored;
    int first_node, node_count; /* its surface vertices: nodes that follow, never unknowns */
    int first_number, number_count;
    csim_real mass_damping, stiffness_damping; /* the latter of reduced bodies */
    csim_real gravity;                         /* share of gravity that pulls */
    bool reactions;                            /* steps tell what its joints carry */
} csimi_tree;

typedef struct csimi_tree_link {
    int tree, parent; /* parent: link of the same tree, before this one; -1: the world */
    csim_tree_joint joint;
    int coord, dofs;                        /* first coordinate among the padded ones of the tree, and how many */
    int terms;                              /* blocks of the Jacobian of a point of it */
    int slack;                              /* its massless coordinate behind the drive, -1: none */
    int yield;                              /* and that behind limits that may be soft */
    int dof, position;                      /* first number in the user's arrays of velocities, of positions */
    csim_pose frame;                        /* of the link in its parent at position 0 */
    csim_vec3 axis;                         /* unit, link axes */
    csim_real mass;                         /* kg */
    csim_vec3 com;                          /* link axes, m */
    csim_real inertia[6];                   /* about com, link axes: xx xy xz yy yz zz, kg m^2 */
    csim_real armature;                     /* added to the diagonal of M */
    csim_real damping;                      /* force per rate */
    csim_real friction;                     /* dry: largest force */
    csim_real lower, upper;                 /* lower > upper: no limits */
    csim_real soft[4];                      /* of the limits: stiffness, damping, frequency, damping ratio */
    csim_real stiffness, rate_gain, effort; /* drive; effort 0: unlimited */
    bool bounded;                           /* its effort has a row in this step; else the drive is all in A */
    csim_real gravity_share;                /* of the weight that hangs on the joint and is carried by the drive */
} csimi_tree_link;

/* A motion (velocity, angular velocity) or force (force, moment) about the origin of the tree, world axes. */
typedef struct csimi_twist {
    csim_vec3 v, w;
} csimi_twist;

/* Mass, first and second moment (xx xy xz yy yz zz) about the origin of the tree, world axes. */
typedef struct csimi_composite {
    csim_real m, I[6];
    csim_vec3 mc;
} csimi_composite;

/* What a pass over a tree leaves at each link. */
typedef struct csimi_link_work {
    csim_vec3 r;       /* from the origin of the tree to that of the link */
    csimi_twist S;     /* column of a joint of one coordinate */
    csimi_twist V, A;  /* motion and acceleration; A holds -g */
    csimi_twist F, H;  /* force that the joint carries, momentum of all that hangs on it */
    csimi_composite C; /* of all that hangs on it */
    csim_real give[2]; /* of soft limits near in this step: stiffness, impulse per rate; both 0: hard, or none near */
} csimi_link_work;

/* What the joints from a link on give way to who pushes. */
typedef struct csimi_giving {
    csimi_twist A;           /* acceleration of the link */
    csimi_twist F, G[6];     /* force that comes through its joint; by how much it is lighter than its composite */
    csimi_twist carry[6];    /* of each coordinate: what it gives way to accelerations of the link above ... */
    csim_real rate[6];       /* ... and does by itself */
} csimi_giving;

/* What an end of the range of a joint is about to see. */
typedef struct csimi_tree_end {
    csim_real gap, rate; /* rad or m, > 0: before it; its rate */
    bool near;           /* it may be reached in this step */
} csimi_tree_end;

typedef struct csimi_state {
    csim_real gravity[3]; /* m/s^2 */
    int node_count, rigid_count, tet_count, spring_count, bend_count, tree_count, tree_link_count;
    int membrane_count; /* triangles of cloth */
    int frame_count;    /* edges of cables, each with its frame */
    int coord_count;    /* blocks of 3 generalised coordinates */
    int axes_count;     /* joints with springs, limits or motors on their axes */

    csim_real *x;             /* [3 node_count] m */
    csim_real *v;             /* [3 node_count] m/s: v_k */
    csim_real *node_mass;     /* [node_count] kg, lumped */
    csim_real *node_force;    /* [3 node_count] N, external, of the coming step */
    csim_real *node_damping;  /* [node_count] alpha_M, 1/s */
    csim_real *node_gravity; /* [node_count] share of gravity that pulls */
    unsigned char *node_mode; /* [node_count] CSIMI_FREE ... */

    csim_real *com;           /* [3 rigid_count] m */
    csim_real *rotation;      /* [4 rigid_count] w x y z, body to world */
    csim_real *velocity;      /* [6 rigid_count] linear of the centre of mass, angular; world axes */
    csim_real *rigid_mass;    /* [rigid_count] kg */
    csim_real *inertia;       /* [9 rigid_count] about the centre of mass, body axes, kg m^2 */
    csim_real *wrench;        /* [6 rigid_count] force N, torque N m about the centre of mass; world axes */
    csim_real *rigid_gravity; /* [rigid_count] share of gravity that pulls */
    csim_real *rigid_damping; /* [2 rigid_count] linear, angular, 1/s: A += h d M */
    unsigned char *rigid_mode;
    csim_real *rigid_inverse; /* [9 rigid_count] inverse inertia, world axes, zero unless free; csimi_place_prepare */

    int *tet;                    /* [4 tet_count] nodes */
    csim_real *tet_lame;         /* [3 tet_count] mu, lambda (Pa), beta_K (s) */
    csim_real *tet_active;       /* [5 tet_count] pressure Pa, tension Pa, fibre (unit, rest shape); all 0: passive */
    unsigned char *tet_slot;     /* [16 tet_count] place of block (a, b) in its row of A; 255: to be searched */

    int *membrane;                    /* [3 membrane_count] nodes */
    int *membrane_beyond;             /* [3 membrane_count] corner beyond the edge that faces corner a, -1: none */
    csim_real *membrane_data;         /* [4 membrane_count] rest volume m^3; mu, lambda of plane stress Pa; beta_K s */
    csim_real *membrane_fold;         /* [9 membrane_count] form Q in the angles 00 11 22 12 20 01, J; rest angles */
    int *membrane_slot;               /* [36 membrane_count] block indices of A of the six nodes, -1: no such node */

    csimi_place *spring;    /* [2 spring_count] ends */
    csim_real *spring_data; /* [3 spring_count] rest length m, stiffness N/m, damping N s/m */
    int *spring_slot;       /* [CSIMI_SPRING_SLOTS spring_count] index of block (p, q) in A.val, -1: none */

    csim_real *frame;          /* [4 frame_count] w x y z, edge axes to world; z is the tangent */
    csim_real *frame_velocity; /* [3 frame_count] angular, world axes: v_k */
    csim_real *frame_inertia;  /* [3 frame_count] about the edge axes, kg m^2 */
    csim_real *frame_torque;   /* [3 frame_count] N m, external, of the coming step */
    unsigned char *frame_mode; /* [frame_count] CSIMI_FREE ... */
    int *edge_node;            /* [2 frame_count] */
    csim_real *edge_data; /* [6 frame_count] rest length m; shear, shear, stretch stiffness N; beta_K s; radius m */
    int *edge_slot;       /* [9 frame_count] block indices of A for node, node, frame */
    csimi_bend *bend; /* [bend_count] */
    csim_real *bend_data; /* [8 bend_count] length m; bend, bend, twist stiffness N m^2; rest curvature 1/m; beta_K */
    int *bend_slot; /* [4 bend_count] block indices of A, -1: none */
    csimi_tree *tree;                             /* [tree_count] */
    csimi_tree_link *tree_link;                   /* [tree_link_count] */
    csim_real *link_position;   /* [7 tree_link_count] scalar, or x y z and quaternion */
    csim_real *link_pose;       /* [7 tree_link_count] x y z, quaternion: follows from link_position */
    csim_real *coord_rate;      /* [3 coord_count] v_k */
    csim_real *coord_position;  /* [3 coord_count] q of reduced bodies, where coord_rate has its rates */
    int *coord_slot;            /* [2 coord_count] where the row's base and limb begin in A */
    csimi_link_work *link_work; /* [tree_link_count] scratch of one pass over a tree */
    int *node_tree;             /* [node_count] reduced body that the node follows, -1: none */
    csim_real *slack_rate;      /* [12 axes_count] rates of the massless coordinates behind their soft rows */
    csim_real *slack_force;     /* the same; 0 */
    csim_real *coord_free;      /* [3 coord_count] scratch: their rates without contacts, from prepare to assemble */
    struct csimi_reduced_work *reduced_work; /* scratch */

#if CSIMI_HAS_FAR /* in other builds nobody asks for these */
    csim_real *tet_shape;        /* [9 tet_count] Dm^-1, row-major; row a of it is the gradient of node a + 1 */
    csim_real *tet_volume;       /* [tet_count] rest volume m^3 */
    unsigned char *tet_material; /* [tet_count] csim_material */
    csim_real *membrane_shape;        /* [4 membrane_count] Dm^-1 in the rest plane; row a: gradient of node a + 1 */
    unsigned char *membrane_material; /* [membrane_count] csim_material */
    csim_real *frame_damping;  /* [frame_count] alpha_M, 1/s */
    csim_real *link_target;     /* [4 tree_link_count] of the drive: scalar, or quaternion */
    csim_real *link_push; /* [6 tree_link_count] N, N m about its origin, external, of a coming step with reactions */
    csim_real *coord_force;     /* [3 coord_count] of the coming step */
    csim_real *coord_target;    /* [3 coord_count] rate a drive aims at */
    int *coord_limb;            /* [2 coord_count] limb (0: base) and coordinates used */
    double *modal;              /* numbers of reduced bodies: csimi_modal_view */
#endif
} csimi_state;

/* Numbers of one step, with v_{k+1} = v_k + (v - v_k) / theta (COND paper eq. 4-9): backward Euler theta = sigma = 1,
   midpoint 1/2. */
typedef struct csimi_step {
    csim_real h, theta, sigma;
    const csim_tasks *tasks;
    /* Elastic forces may be taken at predicted positions q* = q_k + sigma h v*: both null, or v* of all
       blocks and the positions of the nodes. Solids and cloth heed it. */
    const csim_real *guess, *guess_x;
} csimi_step;

/* What models fill over all blocks of the world (fixed ones included; the caller drops their rows): with strains e,
   stiffness K, its geometric part E and f all other forces
       A = M / theta + sigma h^2 (Je'K Je + E) + h damping,    b = M v_k / theta + h (f - Je'K e) + (A's stiffness) v*.
   Models add: the caller clears b and A.val first. vk[3n] is the velocity of all blocks at the start of
   the step after the gyroscopic update. */
typedef struct csimi_system {
    csim_block_matrix A;
    csim_real *b, *vk;
} csimi_system;

/* Energies, J. */
typedef struct csimi_energy {
    double kinetic, gravity, elastic;
} csimi_energy;

/* One kind of model. A null entry means nothing to do. */
typedef struct csimi_model {
    const char *name;
    /* block pairs this kind couples, 2 ints each: calls with pairs = null count; returns how many were written */
    int (*couple)(const csimi_state *s, int *pairs);
    /* finds its slots in a pattern that holds its pairs */
    void (*bind)(csimi_state *s, const csim_block_matrix *pattern);
    /* changes vk in place before assembly (gyroscopic update) */
    void (*prepare)(const csimi_state *s, const csimi_step *step, csim_real *vk);
    /* adds to A and b */
    void (*assemble)(const csimi_state *s, const csimi_step *step, csimi_system *system);
    /* adds h v to positions and turns rotations by exp(h w); v[3n] is the representative velocity, next holds the new
       positions (arrays x, com, rotation of another state that may alias s) */
    void (*advance)(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
    void (*energy)(const csimi_state *s, csimi_energy *energy);
} csimi_model;

/* All kinds, in the order they are called. couple, prepare, assemble and energy read positions of s (couple and bind
   only its indices); the state decides the result to the bit, nothing is remembered from step to step. */
enum { CSIMI_MODEL_COUNT = 7 };
CSIMI_FN const csimi_model *csimi_model_table(void); /* [CSIMI_MODEL_COUNT] */

CSIM_INLINE int csimi_first_frame_block(const csimi_state *s) { return s->node_count + 2 * s->rigid_count; }
CSIM_INLINE int csimi_first_coord_block(const csimi_state *s) { return csimi_first_frame_block(s) + s->frame_count; }
CSIM_INLINE int csimi_first_slack_block(const csimi_state *s) { return csimi_first_coord_block(s) + s->coord_count; }
CSIM_INLINE int csimi_block_count(const csimi_state *s) {
    return csimi_first_slack_block(s) + CSIMI_AXES_SLACKS * s->axes_count;
}
/* The entries of the table, by file. */
#define CSIMI_MODEL_ASSEMBLE(name) \
    CSIMI_FN void name(const csimi_state *s, const csimi_step *step, csimi_system *system)
CSIMI_MODEL_ASSEMBLE(csimi_point_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_rigid_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_tet_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_cloth_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_spring_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_cable_assemble);
CSIMI_MODEL_ASSEMBLE(csimi_tree_assemble);
#undef CSIMI_MODEL_ASSEMBLE
CSIMI_FN int csimi_rigid_couple(const csimi_state *s, int *pairs);
CSIMI_FN int csimi_tet_couple(const csimi_state *s, int *pairs);
CSIMI_FN int csimi_cloth_couple(const csimi_state *s, int *pairs);
CSIMI_FN int csimi_spring_couple(const csimi_state *s, int *pairs);
CSIMI_FN int csimi_cable_couple(const csimi_state *s, int *pairs);
CSIMI_FN void csimi_tet_bind(csimi_state *s, const csim_block_matrix *pattern);
CSIMI_FN void csimi_cloth_bind(csimi_state *s, const csim_block_matrix *pattern);
CSIMI_FN void csimi_spring_bind(csimi_state *s, const csim_block_matrix *pattern);
CSIMI_FN void csimi_cable_bind(csimi_state *s, const csim_block_matrix *pattern);
enum { CSIMI_RIGID_GRAIN = 256 }; /* rigid bodies of a range */
CSIMI_FN void csimi_rigid_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk);
CSIMI_FN void csimi_cable_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk);
CSIMI_FN void csimi_reduced_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk);
CSIMI_FN void csimi_point_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
CSIMI_FN void csimi_rigid_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
CSIMI_FN void csimi_cable_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
CSIMI_FN void csimi_point_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_rigid_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_tet_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_cloth_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_spring_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN void csimi_cable_energy(const csimi_state *s, csimi_energy *energy);
CSIMI_FN int csimi_tree_couple(const csimi_state *s, int *pairs);
CSIMI_FN void csimi_tree_bind(csimi_state *s, const csim_block_matrix *pattern);
CSIMI_FN void csimi_tree_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next);
CSIMI_FN void csimi_tree_energy(const csimi_state *s, csimi_energy *energy);

/* ---- rigid.c */
/* R I R' of rigid body k, row-major. */
CSIMI_FN void csimi_rigid_inertia_world(const csimi_state *s, int k, csim_real *I);
/* The gyroscopic update of one angular velocity w (world axes) with inertia I[9] (axes of q). */
CSIMI_FN void csimi_gyro_turn(csim_quat q, const csim_real *I, const csimi_step *step, csim_real *w);

/* ---- material.c */

/* Derivatives of a density Psi(s) at principal stretches, and the eigenvalues of its tangent outside the scalings. */
typedef struct csimi_stretches {
    csim_real g[3], H[9];        /* dPsi/ds, d2Psi/ds2 */
    csim_real flip[3], twist[3]; /* on U (e_i e_j' +- e_j e_i') V', k the third axis */
} csimi_stretches;
/* Psi of a material (csim_material) under an inner pressure, J/m^3; s[2] signed by det F. */
CSIMI_FN csim_real csimi_material(int material, const csim_real *s, csim_real mu, csim_real lambda, csim_real pressure,
                                  csimi_stretches *derivatives);
/* Clamps the nine eigenvalues at 0 (Teran et al. 2005, Smith et al. 2019). */
CSIMI_FN void csimi_project_stretches(csimi_stretches *derivatives);
/* K = d2Psi / dx_a dx_b = U M U' for shape gradients a and b given in the principal axes (V' times the gradient). */
CSIMI_FN void csimi_stretch_block(const csimi_stretches *derivatives, const csim_real *U, const csim_real *a,
                                  const csim_real *b, csim_real *K);

/* The same of a membrane in its two stretches, per rest volume: axis 2 is the normal. No neo-Hookean law. */
CSIMI_FN csim_real csimi_membrane_material(int material, const csim_real *s, csim_real mu, csim_real lambda,
                                           csimi_stretches *derivatives);

/* ---- membrane.c: preparing a mesh. */

/* Fills beyond [3 count]; returns the first triangle with an edge that another runs through the same way, or -1.
   scratch: vertices + 3 count ints. */
CSIMI_FN int csimi_cloth_neighbours(int vertices, int count, const int *triangle, int *beyond, int *scratch);
/* Shape [4] and area of a triangle; false when it is flat to 1e-6 of its longest edge squared. */
CSIMI_FN bool csimi_membrane_prepare(const csim_real *x0, const csim_real *x1, const csim_real *x2, csim_real *shape,
                                     csim_real *area);
/* The form of bending [9] for a plate of the given rigidity [N m]; rest angles 0. */
CSIMI_FN void csimi_fold_prepare(const csim_real *shape, csim_real area, const int *beyond, csim_real rigidity,
                                 csim_real poisson, csim_real *bend);
/* Takes the angles at the positions of the state as rest angles of triangle t. */
CSIMI_FN void csimi_fold_rest(csimi_state *s, int t);

/* ---- tet.c: preparing a mesh. */
/* Fills shape (Dm^-1) and volume of count tets from rest positions, and adds density[t] * volume / 4 to node_mass
   (indices relative to the arrays given). Returns the first tet with volume <= 1e-12 * (longest edge)^3, or -1. */
CSIMI_FN int csimi_tet_prepare(int count, const int *tet, const csim_real *x, const csim_real *density,
                               csim_real *shape, csim_real *volume, csim_real *node_mass);
/* Boundary triangles (outward, counter-clockwise) of a tet mesh: faces that belong to one tet. Writes at most capacity
   triangles (3 ints each), in the order of the tets, and returns how many there are. scratch:
   csimi_tet_surface_scratch ints. O(tets) for meshes whose nodes have a bounded number of neighbours. */
CSIMI_FN size_t csimi_tet_surface_scratch(int node_count, int tet_count);
CSIMI_FN int csimi_tet_surface(int node_count, int tet_count, const int *tet, int *triangles, int capacity,
                               int *scratch);
/* Strain energy density pieces for tests: Psi(F) and P(F) = dPsi/dF with the rotation recomputed. */
CSIMI_FN csim_real csimi_corotational(const csim_real *F, csim_real mu, csim_real lambda, csim_real *P);

/* ---- spring.c */
#if CSIMI_HAS_RIGID || CSIMI_HAS_TREES || !defined(CONDSIM_NO_SOFT) || !defined(CONDSIM_NO_CLOTH) || \
    !defined(CONDSIM_NO_CABLE)
#define CSIMI_SPRING_SIDE 6 /* terms of both ends that have slots; with more the blocks are looked for */
#else
#define CSIMI_SPRING_SIDE 2
#endif
#define CSIMI_SPRING_SLOTS (CSIMI_SPRING_SIDE * CSIMI_SPRING_SIDE) /* pairs of the blocks of both ends */
/* Blocks of A that a spring between these ends may add. */
CSIMI_FN int csimi_spring_blocks(const csimi_place *ends /* [2] */);
/* How far the ends of spring k are apart, m. */
CSIMI_FN csim_real csimi_spring_length(const csimi_state *s, int k);
/* What it does to its first end in a step with the velocities v, N s. */
CSIMI_FN csim_vec3 csimi_spring_impulse(const csimi_state *s, const csimi_step *step, int k, const csim_real *v);

/* ---- place.c. point: the place's world point now, which the caller has at hand; ignored by kinds that need none. */
CSIMI_FN csimi_place csimi_place_ground(csim_vec3 point);
CSIMI_FN csimi_place csimi_place_node(int node);
/* A place of nodes that may belong to a reduced body, as one that moves with its coordinates if they do. */
CSIMI_FN csimi_place csimi_place_follow(const csimi_state *s, csimi_place p);
/* The material point of rigid body k that is at the world point now. */
CSIMI_FN csimi_place csimi_place_rigid(const csimi_state *s, int k, csim_vec3 point);
CSIMI_FN csimi_place csimi_place_face(const int *node /* [3] */, const csim_real *weight /* [3] */, csim_real height);
/* The same with an offset in world axes, as the triangle lies now. */
CSIMI_FN csimi_place csimi_place_off_face(const csimi_state *s, const int *node, const csim_real *weight,
                                          csim_vec3 off);
/* The point moving with edge k of a cable that is at the world point now. */
CSIMI_FN csimi_place csimi_place_edge(const csimi_state *s, int k, csim_vec3 point);
CSIMI_FN csim_vec3 csimi_place_point(const csimi_state *s, const csimi_place *p);
/* Velocity at v_k, before any gyroscopic change. */
CSIMI_FN csim_vec3 csimi_place_velocity(const csimi_state *s, const csimi_place *p, csim_vec3 point);
/* Acceleration without contacts and inner forces: gravity and the user's force; 0 where nothing is free. */
CSIMI_FN csim_vec3 csimi_place_acceleration(const csimi_state *s, const csimi_place *p);
/* Rigid bodies, links and the world have axes, that turn with them; another point of the same. */
CSIMI_FN bool csimi_place_has_axes(const csimi_place *p);
CSIMI_FN csim_quat csimi_place_axes(const csimi_state *s, const csimi_place *p);
CSIMI_FN csimi_place csimi_place_beside(const csimi_state *s, const csimi_place *p, csim_vec3 point);
/* The point moves with sum J v[block]: fills up to CSIMI_PLACE_TERMS (block, 3x3) terms, returns how many. */
CSIMI_FN int csimi_place_terms(const csimi_state *s, const csimi_place *p, csim_vec3 point, int *block,
                               csim_real *J /* [9 CSIMI_PLACE_TERMS] */);
/* Most terms of a place; a spring's or contact's room. */
CSIMI_FN int csimi_place_term_count(const csimi_place *p);
/* Brings rigid_inverse up to date with the rotations: csimi_place_mass reads it. */
CSIMI_FN void csimi_place_prepare(csimi_state *s, const csim_tasks *tasks);
/* 3 / tr(J M^-1 J') over what is free, kg; 0 when nothing is. J: of its terms. */
CSIMI_FN csim_real csimi_place_mass(const csimi_state *s, const csimi_place *p, const csim_real *J);
/* Whether any of its blocks is an unknown. */
CSIMI_FN bool csimi_place_free(const csimi_state *s, const csimi_place *p);
/* Whether two places are one point by construction: the same node, or the same body. */
CSIMI_FN bool csimi_place_same(const csimi_place *a, const csimi_place *b);
/* A direction that turns with the place, from one state to another of the same bodies. */
CSIMI_FN csim_vec3 csimi_place_carry(const csimi_place *p, const csimi_state *then, const csimi_state *now,
                                     csim_vec3 direction);
/* Indices after the nodes [first_node, first_node + node_count) were removed. */
CSIMI_FN void csimi_place_shift(csimi_place *p, int first_node, int node_count);

/* The point of a link that is at point; the same bookkeeping for the links of a tree that is removed. */
CSIMI_FN csimi_place csimi_place_link(const csimi_state *s, int link, csim_vec3 point);
CSIMI_FN void csimi_place_shift_links(csimi_place *p, int first_link, int link_count);

/* ---- rod.c */
/* Inertia of an edge in world axes. */
CSIMI_FN void csimi_frame_inertia_world(const csimi_state *s, int k, csim_real *I);
/* Force of edge k on its first node (the second gets its negative), N, and torque on its frame (may be null), N m. */
CSIMI_FN void csimi_edge_force(const csimi_state *s, int k, csim_real *force, csim_real *torque);
/* Torque on end 0 of bend element k (end 1 gets its negative), N m, and tangent of theta_1 - theta_0. */
CSIMI_FN void csimi_bend_law(const csimi_state *s, int k, csim_real *torque, csim_real *K);
/* 2 v / length of the relative rotation conj(a) b, 1/m. */
CSIMI_FN void csimi_bend_curvature(csim_quat a, csim_quat b, csim_real length, csim_real *kappa);
/* Block that turns with an end; -1: none. */
CSIMI_FN int csimi_bend_block(const csimi_state *s, const csimi_bend_end *end);
/* ---- articulation.c */
CSIMI_FN int csimi_tree_dofs(csim_tree_joint joint);
/* Poses of all links from positions (both [7 tree_link_count] over all trees). */
/* One articulated tree moved on by h at these rates, poses too. */
CSIMI_FN void csimi_tree_advance_one(const csimi_state *s, int tree, csim_real h, const csim_real *rate,
                                     csimi_state *next);
CSIMI_FN void csimi_tree_forward(const csimi_state *s, int tree, const csim_real *position, csim_real *pose);
CSIMI_FN csim_pose csimi_link_pose(const csimi_state *s, int link);
/* One end of the range of a joint of one coordinate; sign +1: the lower one. */
CSIMI_FN csimi_tree_end csimi_tree_end_of(const csimi_state *s, int link, csim_real h, csim_real sign);
/* Fills link_work at the poses of s and the given rates and accelerations (padded coordinates of the tree; acceleration
   may be null: zero; in the user's order) under this share of gravity. */
CSIMI_FN void csimi_tree_study(const csimi_state *s, int tree, const csim_real *rate, const csim_real *acceleration,
                               csim_real gravity);
/* After a study, in the user's order: the generalised forces it needs [dof_count], and M [dof_count^2]. */
CSIMI_FN void csimi_tree_forces(const csimi_state *s, int tree, csim_real *force);
CSIMI_FN void csimi_tree_mass_matrix(const csimi_state *s, int tree, csim_real *M);
/* After a study: accelerations A that the forces of the user alone give to the links; room for [link_count]. False:
   there are none. */
CSIMI_FN bool csimi_tree_pushed(const csimi_state *s, int tree, csimi_giving *give);
/* After a study of the rates `studied`, of rates: rate'M studied; of null: rate' times the forces of that study. */
CSIMI_FN double csimi_tree_power(const csimi_state *s, int tree, const csim_real *rate, const csim_real *studied);
/* After a study: the share of the bias that a step of h takes. */
#define CSIMI_TREE_TURNING CSIM_R(0.2) /* rad of a link in a step */
CSIMI_FN csim_real csimi_tree_bias_share(const csimi_state *s, int tree, csim_real h);
/* turning.c: end rates of next, whose positions are final, of trees that turn far in a step: momentum is kept, kinetic
   energy gains no more than impulses give. v of the step, vk of its start, [3 blocks]. */
CSIMI_FN void csimi_trees_settle(const csimi_state *s, const csimi_step *step, const csim_real *vk, const csim_real *v,
                                 csimi_state *next);
/* D of a drive, and its impulse on coordinate k at rate 0 with the error of csimi_drive_error. */
CSIMI_FN csim_real csimi_drive_gain(const csimi_tree_link *link, const csimi_step *step);
CSIMI_FN csim_real csimi_drive_impulse(const csimi_state *s, const csimi_step *step, int link, int k, csim_real error);
/* target - position of a joint's drive, in the directions of its coordinates. */
CSIMI_FN void csimi_drive_error(const csimi_state *s, int link, csim_real *error);
typedef struct csimi_tree_totals {
    double kinetic;
    csim_real mass;
    csim_vec3 origin, first_moment; /* about origin */
    csimi_twist momentum;           /* about origin */
} csimi_tree_totals;
CSIMI_FN csimi_tree_totals csimi_tree_measure(const csimi_state *s, int tree, const csim_real *rate);
/* Velocity of the point of a link that is at x (world); rates [3 coord_count] of all trees. angular may be null. */
CSIMI_FN csim_vec3 csimi_link_velocity(const csimi_state *s, int link, csim_vec3 x, const csim_real *rates,
                                       csim_vec3 *angular);
/* What unit rates of the coordinates of the joint of this link add to the velocity of a point at x that hangs on it:
   column [dofs], at most 6. */
CSIMI_FN void csimi_link_columns(const csimi_state *s, int link, csim_vec3 x, csim_vec3 *column);
CSIMI_FN int csimi_link_above(const csimi_state *s, int link); /* the parent among all links, -1: the world */
/* The Jacobian of a point as (block, 3x3) terms, up the path to the root: returns how many; the same without J, when a
   link is made. */
CSIMI_FN int csimi_link_term_count(const csimi_state *s, int link);
CSIMI_FN int csimi_link_terms(const csimi_state *s, int link, csim_vec3 x, int *block, csim_real *J);

/* A row of the tree in A: entry d stands at part[d >= split][d + 6 (d / 3)]. Entries below the diagonal are written,
   the others copied when all are there. */
typedef struct csimi_tree_row {
    csim_real *part[2];
    int split;
} csimi_tree_row;
CSIM_INLINE csimi_tree_row csimi_tree_row_of(const csimi_state *s, const csimi_tree *tree, int c, csim_real *val) {
    const int *slot = s->coord_slot + 2 * (tree->first_block + c / 3);
    csimi_tree_row row;
    row.part[0] = val ? val + 9 * (ptrdiff_t)slot[0] + 3 * (c % 3) : NULL; /* null: the matrix is wanted elsewhere */
    row.part[1] = val ? val + 9 * (ptrdiff_t)slot[1] + 3 * (c % 3) : NULL;
    row.split = 3 * tree->base_blocks;
    return row;
}
CSIM_INLINE void csimi_tree_row_add(const csimi_tree_row *row, int d, csim_real m) {
    row->part[d >= row->split][d + 6 * (d / 3)] += m;
}

/* ---- modal.c */

#define CSIMI_MODES_MAGIC 0x7365646f6d697363ull /* "csimodes" on a little-endian machine */
#define CSIMI_MODES_VERSION 1u
/* Numbers before `rest`; the arrays of a model or of a body, whose points are those of the surface. */
CSIMI_FN size_t csimi_modal_constants(int modes, bool linear);
CSIMI_FN csim_modes_view csimi_modal_view(int modes, bool linear, int points, const double *numbers);
CSIMI_FN uint64_t csimi_modes_hash(const csim_modes *m);
/* V [J], its gradient and second derivatives (each may be null); work[(modes + 1)^2]. */
CSIMI_FN double csimi_modal_elastic(const csim_modes_view *m, const double *q, double *gradient, double *H,
                                    double *work);
CSIMI_FN size_t csimi_reduced_work_bytes(void);
CSIMI_FN void csimi_reduced_assemble(const csimi_state *s, int tree, const csimi_step *step, csimi_system *system);
/* Coordinates and nodes after a step at the rates of the tree. */
CSIMI_FN void csimi_reduced_advance(const csimi_state *s, int tree, const csimi_step *step, const csim_real *rate,
                                    csimi_state *next);
/* Positions x of the nodes of a reduced body at its coordinates, or (rate not null: of the tree) velocities. */
CSIMI_FN void csimi_reduced_follow(const csimi_state *s, int tree, const csim_real *rate, csim_real *x);
/* Velocities after an impulse at the point of three nodes with these weights. */
CSIMI_FN void csimi_reduced_push(csimi_state *s, int tree, const int *node, const csim_real *weight, csim_vec3 impulse);
CSIMI_FN csimi_tree_totals csimi_reduced_measure(const csimi_state *s, int tree, const csim_real *rate);
CSIMI_FN double csimi_reduced_elastic(const csimi_state *s, int tree);
/* Terms of sum W_k (velocity of node k), W [9 count]: returns how many. */
CSIMI_FN int csimi_reduced_terms(const csimi_state *s, int count, const int *node, const csim_real *W, int *block,
                                 csim_real *J);

#endif
