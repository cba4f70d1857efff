/* world/world: bodies, springs and contact stepped together.

   SI units, right-handed. A world belongs to one thread at a time; different worlds are independent. */
#ifndef CSIM_WORLD_H
#define CSIM_WORLD_H

#include "../base/memory.h"
#include "../base/parallel.h"
#include "../collide/shape.h"
#include "../model/material.h"
#include "../solve/solver.h"

/* ---- ids ------------------------------------------------------------------------------------------------------- */

/* Names a body of one world, of any kind. All zero: no body. An id that outlives its body is
   reported as CSIM_STALE_ID, one handed to another world as CSIM_WRONG_WORLD. */
typedef struct csim_body_id {
    uint32_t index1; /* slot + 1; 0: none */
    uint32_t generation;
    uint32_t world; /* stamp of the world that made it */
} csim_body_id;

/* Names a spring, a joint, a clamp or an exclusion; fields as in csim_body_id. */
typedef struct csim_link_id {
    uint32_t index1;
    uint32_t generation;
    uint32_t world;
} csim_link_id;

/* ---- world definition ------------------------------------------------------------------------------------------ */

/* How a step is taken; docs/guide.md. */
typedef enum csim_integrator {
    CSIM_BACKWARD_EULER, /* first order, dissipative, plastic impacts by itself: robust, the default */
    CSIM_MIDPOINT,       /* second order, keeps energy; used by the COND paper */
    /* The variational integrators of Kaufman's thesis, ch. 4-5: symplectic, and of second order but for the gyroscopic
       term of rigid bodies. Both refuse trees, whose mass changes with the pose. docs/guide.md. */
    CSIM_TWO_STEP,  /* explicit, (4.62)-(4.70): half a step of drift, forces, contacts and joints there, the velocity
                       v_{k+1}, the other half of the drift with it. h below 2 / (largest frequency) of springs,
                       solids, cloth and cables; bodies touch and joints close at the half steps */
    CSIM_HALF_STEP, /* implicit, (4.50)-(4.54): forces at the middle of the step, solved as the nonlinear equations
                       they are; v = (v_k + v_{k+1})/2 bears the normals, and friction opposes v_{k+1}. It needs
                       CSIM_LAW_STRICT and takes no joints. certificate.dynamics is that of the nonlinear step */
    CSIM_INTEGRATOR_COUNT_
} csim_integrator;

/* What becomes of a step that misses its tolerance. */
typedef enum csim_uncertified {
    CSIM_ACCEPT_UNCERTIFIED, /* keep what gains no energy, and say so in the stats: docs/guide.md */
    CSIM_REJECT_UNCERTIFIED, /* undo the step and return CSIM_UNCERTIFIED */
    CSIM_UNCERTIFIED_COUNT_
} csim_uncertified;

/* How much of everything a world can hold. A world on the heap starts with this much and grows when it must; a
   world in a fixed block never holds more. 0 in a definition: the default named here. csim_world_used() reports what
   a running world needed, ready to be pasted back. Each 0..5e7. */
typedef struct csim_capacity {
    int bodies;        /* of every kind; default 16 */
    int nodes;         /* particles and vertices of solids; default bodies */
    int rigids;        /* default bodies */
    int shapes;        /* of all rigid bodies; default rigids */
    int hulls;         /* shapes that are convex hulls; default 0 */
    int tets;          /* default 0 */
    int membranes;     /* triangles of cloth; default 0 */
    int surface;       /* vertices on the surface of solids; default nodes when there are tets or membranes */
    int triangles;     /* of those surfaces; default 2 surface */
    int links;         /* springs, and as many joints; default 0 */
    int axes;          /* those of them with springs, limits or motors on axes of their own (joint.h); default 0 */
    int frames;        /* edges of cables; default 0 */
    int bends;         /* their bend elements: joints between edges, clamps; default frames + links */
    int matrix_blocks; /* 3x3 blocks stored in A; default nodes + 4 rigids + 10 membranes + 16 links + 4 axes +
                          7 frames + 2 bends + span coords, and with tets 2 (nodes + tets + surface) */
    int contacts;      /* contact points in one step, speculative ones and those of sleeping bodies included; default
                          16 shapes + 2 nodes + 2 frames */
    int pairs;         /* overlapping bounds in one step; default 8 (shapes + bodies) + 16 frames */
    int trees;         /* articulated bodies; default 0 */
    int tree_links;    /* of all of them; default 0 */
    int coords;        /* blocks of three coordinates of all of them, each limb rounded up; default 0 */
    int tree_span;     /* such blocks of the largest; default coords */
    int tree_rows;     /* limits near, friction, drives at their effort: of all their joints in one step; default
                          4 tree_links, which is all. On the heap always all */
    int modal;         /* numbers of the models of reduced bodies, csim_reduced_needs; default 0 */
    int aggregates;    /* groups of the coarse correction; default with tets: n^(2/3) / 3 of the nodes, 4..150 */
} csim_capacity;

/* What a filter and a mixing rule are told about the two sides. They are pure functions: they may read the world, and
   every call that would change it returns CSIM_LOCKED. A mixing rule returns a finite number >= 0. */
typedef struct csim_pair_info {
    csim_body_id body_a, body_b;
    int shape_a, shape_b; /* in their bodies; -1: a body of nodes */
    int material_a, material_b;
    csim_real friction_a, friction_b, restitution_a, restitution_b;
    void *user_data_a, *user_data_b;             /* of the bodies */
    void *shape_user_data_a, *shape_user_data_b; /* of the shapes; null: a body of nodes */
} csim_pair_info;

/* Settings of a world; the ranges stand at the fields. */
typedef struct csim_world_def {
    csim_vec3 gravity; /* m/s^2; default (0, 0, -9.81); any direction */
    csim_integrator integrator;
    csim_solver_params solver; /* tolerance 5e-5, 3000 iterations, automatic */
    csim_law law;              /* CSIM_LAW_STRICT (default), CSIM_LAW_PROXIMAL or CSIM_LAW_INVERTIBLE */
    csim_real omega[2];        /* invertible law: normal, tangential regularisation, 1/kg; default 1e-3, > 0 */
    bool geometric; /* the diagonal geometric stiffness of hard joints is added to the inertia of bodies where explicit
                       forces of joints are unstable (docs/joints.md); default true */
    csim_uncertified on_uncertified;
    bool follow_paths; /* What spins, is thrown or bends fast is followed along its true path after a step, and its pose
                          stops before it passes a shape, however thin, but for meshes and heights; velocities are
                          kept. Default false: where it overlaps by 3/16 of what the thinner is thick. true: within a
                          millimetre; grips that hold by friction may slip by it. Bounds: docs/contact.md */
    int budget; /* work a step may spend, visits of contacts: 0 (default): none. Within it every island that can be is
                   certified, smallest first; others get a bounded frame (CSIM_SOLVER_BOUNDED), with fewer substeps
                   where 8 are more than it pays for, one at least: 3 visits a contact. A visit is about 20 to 60 ns;
                   docs/realtime.md. Backward Euler, and CSIM_SOLVER_AUTO or CSIM_SOLVER_BOUNDED (every island bounded)
                   only */

    bool can_sleep; /* default false; true in the worlds of csim_realtime_world_def and csim_balanced_world_def. Bodies
                       that touch or are linked fall asleep together when all of them have been at rest for sleep_time,
                       and cost nothing until something wakes them: docs/sleep.md */
    csim_real sleep_speed; /* m/s, >= 0: no point of a body at rest is faster at the end of a step; default 0.01 */
    csim_real sleep_drift; /* m/s, >= 0: nor, on the mean of sleep_time, farther from where it was; default 2e-4. What
                              creeps faster than this never falls asleep; what creeps slower may be stopped */
    csim_real sleep_time;  /* s, 0..1e6; default 0.5 */

    csim_real contact_distance; /* contacts are found this far ahead, and what speed needs; m, 0..1000; default 1e-3 */
    csim_real stabilization;    /* share of a penetration removed in a step, 0..1; default 0.8 */
    csim_real slop;             /* penetration left alone, m, >= 0; default 0. Float: and rounding of positions */
    csim_real push_out_speed;   /* most speed given by stabilisation, m/s, >= 0; default 1 */
    csim_real restitution_threshold; /* approach speed below which restitution is 0, m/s, >= 0; default 0.2 */
    csim_real touch_distance; /* shapes this near touch, and no longer when twice as far apart; m, 0..1000; default
                                 1e-4. More than half the contact_distance counts as half of it. docs/events.md */
    csim_real hit_speed;      /* what comes faster and is stopped is a hit (csim_hit_event), m/s, >= 0; default 1 */

    csim_capacity capacity;
    csim_allocator allocator;    /* all zero: malloc and free */
    csim_tasks tasks;            /* all zero: serial (or OpenMP) */
    double (*clock)(void *user); /* seconds; null: times in the stats are 0. The library reads no other clock */
    void *clock_user;
    bool (*filter)(void *user, const csim_pair_info *pair);            /* false: these two never touch; null: all may */
    csim_real (*mix_friction)(void *user, const csim_pair_info *pair); /* null: sqrt(a b). Where a side has friction2:
                                                  of what acts along friction_direction; across it always sqrt(a b) */
    csim_real (*mix_restitution)(void *user, const csim_pair_info *pair); /* null: max(a, b) */
    void *callback_user;
    uint32_t guard; /* set by csim_default_world_def */
} csim_world_def;

/* ---- body definitions ------------------------------------------------------------------------------------------ */

/* Who decides how a body or node moves; default CSIM_DYNAMIC. */
typedef enum csim_motion {
    CSIM_DYNAMIC,   /* forces and contacts */
    CSIM_STATIC,    /* never moves */
    CSIM_KINEMATIC, /* moves with the velocity it is given, whatever touches it */
    CSIM_MOTION_COUNT_
} csim_motion;

/* What surfaces and filters need; the same for every kind of body. */
typedef struct csim_surface_def {
    csim_real friction;  /* coefficient, >= 0; default 0.5 */
    csim_real friction2; /* >= 0: across friction_direction, where friction acts along it; < 0 (default): isotropic */
    csim_vec3 friction_direction; /* body axes; used when friction2 >= 0; default x */
    csim_real restitution;        /* 0..1; default 0 */
    csim_real thickness;          /* m, >= 0: the surface lies this far outside the geometry; default 0 */
    int material;                 /* for the user's mixing rules; default 0 */
    uint32_t category;            /* bits this body has; default 1 */
    uint32_t mask;                /* bits it touches; default all. Both sides must agree */
    int group;                    /* two bodies of the same group > 0 never touch; default 0 */
    csim_vec3 velocity; /* of the surface against its body, m/s, axes of the body or link: a conveyor. Of a contact its
                           part along the surface counts; default 0 */
    csim_real rolling_resistance; /* m, >= 0: contacts of shapes of rigid bodies and links resist rolling by a couple
                                     of at most this length, the larger of both, times the normal force; default 0.
                                     Particles, solids, cloth and cables touch by points, which slide and do not roll */
} csim_surface_def;

/* A point mass that touches others as a sphere of the given radius. */
typedef struct csim_particle_def {
    csim_vec3 position, velocity; /* m, m/s */
    csim_real mass;               /* kg, > 0; default 1 */
    csim_real radius;             /* m, >= 0; default 0 */
    csim_real damping;            /* alpha_M, 1/s, >= 0; default 0 */
    csim_motion motion;
    csim_surface_def surface;
    void *user_data;
    uint32_t guard;
} csim_particle_def;

/* A rigid body of one or more shapes. */
typedef struct csim_rigid_def {
    csim_pose pose;             /* of the body's own axes */
    csim_vec3 velocity;         /* of the centre of mass, m/s */
    csim_vec3 angular_velocity; /* rad/s, world axes */
    csim_motion motion;
    const csim_shape *shapes; /* [shape_count], copied; may be none */
    int shape_count;
    csim_real density; /* kg/m^3, > 0; used when mass is 0; default 1000 */
    csim_real mass;    /* kg; 0 (default): from density and shapes */
    csim_mat3 inertia; /* kg m^2 about the centre of mass, body axes, symmetric, positive definite; all zero
                          (default): from shapes, scaled to mass */
    csim_vec3 centre;  /* centre of mass, body axes, m; used when inertia is given */
    csim_real linear_damping, angular_damping; /* 1/s, >= 0; default 0 */
    csim_surface_def surface;
    bool can_sleep; /* false: never falls asleep, see csim_body_set_can_sleep; default true */
    void *user_data;
    uint32_t guard;
} csim_rigid_def;

/* A solid of linear tetrahedra. */
typedef struct csim_soft_def {
    const csim_real *vertices; /* [3 vertex_count] m, rest shape, copied */
    int vertex_count;          /* 4 or more */
    const int *tets;           /* [4 tet_count] 0-based, positive volume, copied */
    int tet_count;             /* 1 or more */
    csim_pose pose;                                         /* where the rest shape is placed */
    csim_real scale;                                        /* of the vertices, > 0; default 1 */
    csim_vec3 velocity;                                     /* m/s */
    csim_real young;                                        /* Pa, > 0; default 1e5 */
    csim_real poisson;                                      /* 0..0.5 without 0.5, > -1; default 0.4 */
    csim_real density;                                      /* kg/m^3, > 0; default 1000 */
    csim_material material;                                 /* default CSIM_COROTATIONAL */
    const csim_real *tet_young, *tet_poisson, *tet_density; /* [tet_count] per element, or null */
    const csim_material *tet_material;                      /* [tet_count] per element, or null */
    csim_real mass_damping;                                 /* alpha_M, 1/s, >= 0; default 0 */
    csim_real stiffness_damping;                            /* beta_K, s, >= 0; default 1e-3 */
    const int *fixed;                                       /* [fixed_count] vertices that start as CSIM_STATIC */
    int fixed_count;
    int aggregates;          /* groups of the coarse correction; 0: by size */
    bool self_collision;     /* default false: its surface passes through itself */
    csim_real self_distance; /* parts nearer than this at rest never touch each other, m; 0 (default): 2 mean edges of
                                the surface. Vertices that sank in deeper than half of it are left alone */
    bool corner_contact;     /* default false: rigid bodies push its vertices; true: their corners, edges and samples
                                push its surface between the vertices too, which costs contacts and iterations */
    csim_surface_def surface;
    void *user_data;
    uint32_t guard;
} csim_soft_def;

/* Where a link holds on. body all zero: the fixed point `point` of the world. Rigid bodies: the material point that is
   at `point` (world) now. Particles: the particle. Solids, cloth, cables and reduced bodies: node `node`, as
   csim_body_get_nodes counts. Trees: the point of link `node` that is at `point` now. */
typedef struct csim_attachment {
    csim_body_id body;
    csim_vec3 point; /* m, world axes */
    int node;        /* default 0 */
} csim_attachment;

/* A spring along the line between two points. */
typedef struct csim_spring_def {
    csim_attachment a, b;
    csim_real rest_length; /* m; < 0 (default): the length it has now */
    csim_real stiffness;   /* N/m, >= 0; default 1000 */
    csim_real damping;     /* N s/m along the line, >= 0; default 0 */
    csim_real break_force; /* N: beyond it, pulled or pushed, it lets go for good; 0 (default): never */
    uint32_t guard;
} csim_spring_def;

/* What a spring carries. */
typedef struct csim_spring_state {
    csim_real length; /* m, now */
    csim_real force;  /* N: stiffness (length - rest_length) + damping (mean rate), as the last step took it: at its
                         end, half way where the integrator is not CSIM_BACKWARD_EULER. > 0: it pulls */
    bool broken;
    csim_body_id a, b; /* its bodies; index1 0: the world */
} csim_spring_state;

/* Two points held together: the ball joint of joint.h, without its other fields. */
typedef struct csim_pin_def {
    csim_attachment a, b;
    csim_real break_force; /* N, beyond which it lets go for good; 0 (default): never */
    uint32_t guard;
} csim_pin_def;

/* Every definition starts as one of these: the defaults that stand at its fields, and the guard word without which a
   create call refuses it (CSIM_DEF_NOT_INITIALISED). Earth's gravity, backward Euler, fixed first capacities. */
CSIM_API csim_world_def csim_default_world_def(void);
/* The default with other numbers, from the fastest to the most exact; docs/realtime.md. Real time: tolerance 1e-3 and a
   budget of 50 000 visits (1 to 3 ms); balanced: 1e-3 and 500 000; certified: the default itself; reference: tolerance
   1e-8 (float 1e-5), 20 000 iterations. */
CSIM_API csim_world_def csim_realtime_world_def(void);
CSIM_API csim_world_def csim_balanced_world_def(void);
CSIM_API csim_world_def csim_certified_world_def(void);
CSIM_API csim_world_def csim_reference_world_def(void);
/* Friction 0.5, no restitution, touches everything. It is part of every body definition below. */
CSIM_API csim_surface_def csim_default_surface_def(void);
/* 1 kg, radius 0: a point that touches shapes, but no other point. */
CSIM_API csim_particle_def csim_default_particle_def(void);
/* Identity pose, no shapes yet, 1000 kg/m^3. */
CSIM_API csim_rigid_def csim_default_rigid_def(void);
/* No mesh yet; E 1e5 Pa, Poisson's ratio 0.4, 1000 kg/m^3, stiffness damping 1e-3 s. */
CSIM_API csim_soft_def csim_default_soft_def(void);
/* 1000 N/m, as long as it is when created; set at least one end. */
CSIM_API csim_spring_def csim_default_spring_def(void);
/* Nothing held yet; set at least one end. */
CSIM_API csim_pin_def csim_default_pin_def(void);

/* ---- worlds ---------------------------------------------------------------------------------------------------- */

/* All of it: bodies, links, the last contacts and the memory of a step. Opaque. */
typedef struct csim_world csim_world;

/* The three doors: ask for the size of a block, make a world inside it, or let the allocator provide. One layout
   routine serves all. error may be null.
   Fails: CSIM_DEF_NOT_INITIALISED, CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_OUT_OF_MEMORY. */
CSIM_API csim_status csim_world_bytes(const csim_world_def *def, size_t *bytes, csim_error *error);
/* block: aligned to 64, at least csim_world_bytes(def) long, the caller's until the world is destroyed; it must not
   move. Such a world never grows: a full capacity is CSIM_CAPACITY. */
CSIM_API csim_status csim_create_world_in(const csim_world_def *def, void *block, size_t bytes, csim_world **world,
                                          csim_error *error);
/* The same on the heap: the allocator of the definition, or malloc. def may be null: csim_default_world_def(). */
CSIM_API csim_status csim_create_world(const csim_world_def *def, csim_world **world, csim_error *error);
/* Frees what the world holds; null is allowed. A world in a caller's block just ends: the block is free again. */
CSIM_API void csim_destroy_world(csim_world *world);
/* Makes room (heap worlds): each capacity at least as given, in memory that has been written to, so that no step waits
   for the system to give it, and lists which unknowns the bodies at hand couple, which the first step would do. The
   world is unchanged otherwise.
   Fails: CSIM_OUT_OF_MEMORY, CSIM_OUT_OF_RANGE; CSIM_CAPACITY in a caller's block that is too small. */
CSIM_API csim_status csim_world_reserve(csim_world *world, const csim_capacity *capacity);
/* What there is room for now. world must not be null here and in the getters below that return no status. */
CSIM_API csim_capacity csim_world_capacity(const csim_world *world);
/* The largest counts seen so far, those of failed steps included. */
CSIM_API csim_capacity csim_world_used(const csim_world *world);
/* The sentence of the last call that failed and was not a getter (a getter leaves the world as it is, its error too);
   valid until the next failure; never null. */
CSIM_API const char *csim_last_error(const csim_world *world);

/* ---- creating and destroying ----------------------------------------------------------------------------------- */

/* Each copies the definition, checks every field and either adds the body or changes nothing. Masses and inertias of
   what may move, of every node and element, must lie above 1e-200 and below 1e200 (1e-30 and 1e30 in float) kg, kg m^2.
   Fails: CSIM_DEF_NOT_INITIALISED, CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_NULL_ARGUMENT, CSIM_BAD_MESH,
   CSIM_OUT_OF_MEMORY (heap), CSIM_CAPACITY (block), CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_LOCKED. */
CSIM_API csim_status csim_create_particle(csim_world *world, const csim_particle_def *def, csim_body_id *id);
CSIM_API csim_status csim_create_rigid(csim_world *world, const csim_rigid_def *def, csim_body_id *id);
CSIM_API csim_status csim_create_soft(csim_world *world, const csim_soft_def *def, csim_body_id *id);
/* A rigid body of one shape, at rest with its axes those of the world; the rest is csim_default_rigid_def(). */
CSIM_API csim_status csim_create_shape(csim_world *world, csim_shape shape, csim_vec3 position, csim_body_id *id);
/* A static half-space: everything below the plane through point with the outward normal (normalised here). */
CSIM_API csim_status csim_create_ground(csim_world *world, csim_vec3 point, csim_vec3 normal, csim_real friction,
                                        csim_body_id *id);
/* Links: at least one end must be a body, and the ends must be different points. */
CSIM_API csim_status csim_create_spring(csim_world *world, const csim_spring_def *def, csim_link_id *id);
CSIM_API csim_status csim_create_pin(csim_world *world, const csim_pin_def *def, csim_link_id *id);
/* Fails: CSIM_NULL_ARGUMENT, CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_WRONG_KIND (no spring). */
CSIM_API csim_status csim_spring_get(const csim_world *world, csim_link_id id, csim_spring_state *state);
/* These two bodies never touch, until the link is destroyed; it goes with either of them. */
CSIM_API csim_status csim_create_exclusion(csim_world *world, csim_body_id a, csim_body_id b, csim_link_id *id);
/* Removes a body with every link that holds on to it. A rigid body without hulls mostly goes in a time that does not
   grow with the world; others cost time linear in it. */
CSIM_API csim_status csim_destroy_body(csim_world *world, csim_body_id id);
/* Removes a spring, a joint, a clamp or an exclusion. Fails: CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_LOCKED. */
CSIM_API csim_status csim_destroy_link(csim_world *world, csim_link_id id);
/* Whether the id still names something of this world; never fails, null and zero are false. */
CSIM_API bool csim_body_valid(const csim_world *world, csim_body_id id);
CSIM_API bool csim_link_valid(const csim_world *world, csim_link_id id);

/* ---- stepping -------------------------------------------------------------------------------------------------- */

/* flags of csim_step_stats */
enum {
    CSIM_FLAG_CAP = 1,           /* an island reached the iteration cap */
    CSIM_FLAG_STALLED = 2,       /* an island stopped improving before its tolerance */
    CSIM_FLAG_CONTACTS_FULL = 4, /* capacity.contacts was too small: the step was undone */
    CSIM_FLAG_PAIRS_FULL = 8,    /* capacity.pairs was too small: the step was undone */
    CSIM_FLAG_UNCERTIFIED = 16,  /* the certificate misses the tolerance */
    CSIM_FLAG_BOUNDED = 32,      /* an island was solved by a bounded frame */
    CSIM_FLAG_UNCHECKED = 64     /* an island was not certified, because solver.certify left this step out */
};

/* What the last step did. After a failed step the counts tell what it needed. */
typedef struct csim_step_stats {
    uint64_t step; /* steps done */
    double time;   /* simulated, s */
    unsigned flags;
    csim_result result;          /* worst over the islands */
    int pairs, contacts;         /* found */
    int touching;                /* contacts with an impulse */
    int islands, largest_island; /* with contacts; blocks of the largest */
    int iterations;              /* largest over the islands */
    long total_iterations;       /* summed over the islands */
    int products;                /* summed */
    int rejections, virtual_nodes; /* summed; see csim_outcome */
    csim_certificate certificate; /* worst over the islands that were certified; CSIM_FLAG_UNCHECKED without
                                     CSIM_FLAG_UNCERTIFIED: contact, dynamics, velocity and work are huge, not known */
    double virtual_slip;                                     /* m/s, see csim_outcome */
    int bounded;                 /* islands solved by bounded frames, csim_body_get_bounded says which */
    int uncertified;             /* steps in a row that missed the tolerance, this one the last; 0: certified */
    int unchecked;               /* steps in a row with islands that were not certified, as solver.certify asks */
    long work;                   /* visits of contacts that bounded worlds counted, see csim_world_def.budget */
    double pushed;               /* m: largest |x+ - x - h v+| of a bounded frame: what its springs pushed out */
    int unseen;           /* pairs that it drove into each other by more than rows know (docs/contact.md), and left */
    int stopped;          /* bodies and nodes whose poses were held back: their paths led through something ... */
    double stopped_short; /* ... and the most of a way that was left out, m, of bodies; velocities are kept */
    int awake, asleep;    /* free bodies after the step */
    int fell_asleep, woke; /* of them in this step: islands that came to rest; woke: by touch, or since the last step */
    double penetration;                                      /* max(0, -gap) after the step, from the geometry, m */
    double assembly_seconds, collide_seconds, solve_seconds; /* 0 without a clock */
    size_t scratch_bytes;                                    /* used by this step */
    size_t memory_bytes;                                     /* held by the world */
} csim_step_stats;

/* Advances the world by h seconds (1e-7 .. 1). Allocates nothing in a fixed block; a heap world that finds more
   contacts or pairs than it has room for makes room and does the step, to the bit as if the room had been there. Either
   the whole step happens, or the status tells why not and the world is bit for bit as before (the stats excepted).
   A solve that misses its tolerance is CSIM_OK with stats.result and CSIM_FLAG_UNCERTIFIED, unless the definition says
   otherwise; one whose certificate solver.certify leaves out has CSIM_RESULT_UNCHECKED at best. COND paper eq. 4-9
   and 11.
   Fails: CSIM_OUT_OF_RANGE and CSIM_NOT_FINITE (h), CSIM_CAPACITY (fixed block), CSIM_OUT_OF_MEMORY (heap),
   CSIM_NON_FINITE_RESULT, CSIM_UNCERTIFIED,
   CSIM_LOCKED (called from a filter), CSIM_BAD_PROBLEM (a mixing rule returned a negative number, or solver.solver
   does not take an island, a law or the integrator: docs/solvers.md). */
CSIM_API csim_status csim_world_step(csim_world *world, csim_real h);
/* Steps many worlds [count], each to the same bits as alone, side by side by the threads behind tasks (null: one after
   the other). None is named twice, their own def.tasks stay empty, and callbacks of two may run at once. status [count]
   gets what each said; returns the first that is not CSIM_OK, and the others are stepped all the same. Fails:
   CSIM_NULL_ARGUMENT (worlds, status), CSIM_OUT_OF_RANGE (count < 0). */
CSIM_API csim_status csim_worlds_step(csim_world *const *worlds, int count, csim_real h, const csim_tasks *tasks,
                                      csim_status *status);
/* Of the last step, also when it failed, in a filter of the one under way; all zero before the first. Null: all zero
   but result, CSIM_RESULT_NOT_FINITE. Energies: csim_world_totals. */
CSIM_API csim_step_stats csim_world_stats(const csim_world *world);
/* m/s^2. Changes a setting between steps; the same checks as at creation. */
CSIM_API csim_status csim_world_set_gravity(csim_world *world, csim_vec3 gravity);
/* May allocate on the heap; CSIM_CAPACITY when a fixed block has no room for what this solver needs. */
CSIM_API csim_status csim_world_set_solver(csim_world *world, const csim_solver_params *params);
/* csim_world_def.budget of the steps to come; errors as in csim_world_set_solver. */
CSIM_API csim_status csim_world_set_budget(csim_world *world, int budget);
/* Velocities are kept as they are. Fails also with CSIM_UNSUPPORTED: a variational integrator in a world with trees,
   CSIM_HALF_STEP with joints or under a law that is not strict. */
CSIM_API csim_status csim_world_set_integrator(csim_world *world, csim_integrator integrator);

/* ---- contacts and events --------------------------------------------------------------------------------------- */

/* No impulse; an impulse without slip; slip. */
typedef enum csim_contact_state { CSIM_CONTACT_OPEN, CSIM_CONTACT_STICK, CSIM_CONTACT_SLIP } csim_contact_state;

/* One contact point of the last step. n points from b to a. */
typedef struct csim_contact_info {
    uint64_t id;                 /* the same while the same features touch */
    csim_body_id body_a, body_b; /* b may be static ground */
    csim_vec3 point, normal;     /* world, at the start of the step */
    csim_real gap;               /* m, at the start of the step */
    csim_vec3 impulse;           /* N s, world axes, on a over the step; divide by h for the mean force */
    csim_real normal_impulse, friction_impulse; /* N s, >= 0 */
    csim_vec3 slip;                             /* tangential relative velocity of a against b, m/s, world axes */
    csim_contact_state state;
    bool began; /* carries an impulse now and did not in the step before; csim_world_events tells when bodies touch */
    int shape_a, shape_b; /* in their bodies; -1: a body of nodes */
    csim_real coming;     /* m/s: of what comes on at this speed, foreseen now and stopped in the next step; else 0 */
} csim_contact_info;

/* The contacts of the last step in a deterministic order; the array is the world's and valid until the next call that
   changes the world. */
CSIM_API const csim_contact_info *csim_world_contacts(const csim_world *world, int *count);
/* Contacts of bodies that are asleep, as the last step they were awake in left them; the array as above. */
CSIM_API const csim_contact_info *csim_world_sleeping_contacts(const csim_world *world, int *count);
/* Ids of contacts that carried an impulse in the step before and do not now (also because a body was destroyed). */
CSIM_API const uint64_t *csim_world_ended(const csim_world *world, int *count);

/* ---- bodies ---------------------------------------------------------------------------------------------------- */

/* What a body is; csim_create_... of each kind. The ground is CSIM_RIGID. */
typedef enum csim_body_kind {
    CSIM_PARTICLE,
    CSIM_RIGID,
    CSIM_SOFT,
    CSIM_BODY_CABLE,
    CSIM_BODY_CLOTH,
    CSIM_BODY_TREE,
    CSIM_BODY_REDUCED,
    CSIM_BODY_KIND_COUNT_
} csim_body_kind;

/* Bodies that exist, static ones and the ground included; 0 for null. The getters of this section return
   CSIM_NULL_ARGUMENT, CSIM_STALE_ID or CSIM_WRONG_WORLD and write nothing then; the setters also CSIM_LOCKED,
   CSIM_NOT_FINITE and CSIM_OUT_OF_RANGE, and change nothing then. */
CSIM_API int csim_world_body_count(const csim_world *world);
/* Bodies in creation order as ids; out [capacity]; returns how many there are. */
CSIM_API int csim_world_bodies(const csim_world *world, csim_body_id *out, int capacity);
CSIM_API csim_status csim_body_get_kind(const csim_world *world, csim_body_id id, csim_body_kind *kind);
CSIM_API csim_status csim_body_get_motion(const csim_world *world, csim_body_id id, csim_motion *motion);
/* Whether the last step moved it by a bounded frame (csim_world_def.budget). */
CSIM_API csim_status csim_body_get_bounded(const csim_world *world, csim_body_id id, bool *bounded);
/* The pointer of the definition. */
CSIM_API csim_status csim_body_get_user_data(const csim_world *world, csim_body_id id, void **user_data);
/* Pose of the body's axes. Trees: of the first link. Bodies of nodes (particles, solids, cloth, cables): centre of mass
   and the identity. */
CSIM_API csim_status csim_body_get_pose(const csim_world *world, csim_body_id id, csim_pose *pose);
/* Puts a body elsewhere, a tree by its first link; velocities and joints stay. Bodies of nodes: all nodes, turned about
   the centre by the rotation; strains stay. */
CSIM_API csim_status csim_body_set_pose(csim_world *world, csim_body_id id, csim_pose pose);
/* Velocity of the centre of mass and angular velocity (may be null), world axes. Trees: of the first link and its
   origin. Bodies of nodes: momentum over mass, angular momentum over inertia. In midpoint worlds this is the
   representative velocity of the last step; csim_body_get_end_velocity gives v_{k+1}, which may ring. */
CSIM_API csim_status csim_body_get_velocity(const csim_world *world, csim_body_id id, csim_vec3 *linear,
                                            csim_vec3 *angular);
CSIM_API csim_status csim_body_get_end_velocity(const csim_world *world, csim_body_id id, csim_vec3 *linear,
                                                csim_vec3 *angular);
/* Sets both; for kinematic bodies the velocity they keep. Bodies of nodes: every node gets the rigid motion. Static
   bodies, trees whose first link does not float and anchored reduced bodies: CSIM_WRONG_KIND. */
CSIM_API csim_status csim_body_set_velocity(csim_world *world, csim_body_id id, csim_vec3 linear, csim_vec3 angular);
/* Force [N] through the centre of mass and torque [N m] for the next step only; world axes; adds up. Trees: through the
   origin of the first link. Bodies of nodes: spread over them as a rigid body would be accelerated; a torque on a
   particle: CSIM_WRONG_KIND. */
CSIM_API csim_status csim_body_add_force(csim_world *world, csim_body_id id, csim_vec3 force, csim_vec3 torque);
/* Mass, centre and inertia in body axes. Bodies of nodes as they lie: about their centre, world axes. Trees and reduced
   bodies: the mass (reduced: and the centre), the rest 0. */
CSIM_API csim_status csim_body_get_mass(const csim_world *world, csim_body_id id, csim_mass *mass);
/* Whether it is not asleep; static and kinematic bodies always are awake. */
CSIM_API csim_status csim_body_is_awake(const csim_world *world, csim_body_id id, bool *awake);
/* true wakes it with all it fell asleep with (of a static or kinematic body: all that lies on it or is linked to it).
   false: after the next step it falls asleep with its island, whether it is at rest or not, unless one of the island
   may not sleep or carries a sensor; then nothing is left of it. Only in worlds whose definition says can_sleep, else
   CSIM_UNSUPPORTED. */
CSIM_API csim_status csim_body_set_awake(csim_world *world, csim_body_id id, bool awake);
/* false: it never falls asleep, nor what touches it or is linked to it. Default true. */
CSIM_API csim_status csim_body_set_can_sleep(csim_world *world, csim_body_id id, bool can_sleep);
/* CSIM_STATIC also stops it. Bodies of nodes: all of them. CSIM_OUT_OF_RANGE: a half-space that is to move, a rigid
   body without mass or inertia that is to be dynamic. */
CSIM_API csim_status csim_body_set_motion(csim_world *world, csim_body_id id, csim_motion motion);
/* From the next step on; >= 0. */
CSIM_API csim_status csim_body_set_friction(csim_world *world, csim_body_id id, csim_real friction);

/* Shapes of a rigid body, for drawing: geometry in body axes; hull is set for hulls, else null. World's memory. The
   count is of numbers: CSIM_OUT_OF_RANGE for that of a shape which was removed. */
CSIM_API int csim_body_shape_count(const csim_world *world, csim_body_id id);
CSIM_API csim_status csim_body_shape(const csim_world *world, csim_body_id id, int shape,
                                     const csim_geometry **geometry, const csim_hull_data **hull);

/* Nodes of a solid or cloth in the order of its mesh, of a cable in a row, of a reduced body as csim_modes_view.vertex;
   a particle has one, the others none. */
CSIM_API int csim_body_node_count(const csim_world *world, csim_body_id id);
/* Positions or (reported) velocities into out[node * stride + 0..2]; stride >= 3, counted in csim_real. */
CSIM_API csim_status csim_body_get_nodes(const csim_world *world, csim_body_id id, csim_real *out, int stride);
CSIM_API csim_status csim_body_get_node_velocities(const csim_world *world, csim_body_id id, csim_real *out,
                                                   int stride);
/* Puts one node elsewhere and gives it a velocity (a static node keeps 0). The rest shape stays. */
CSIM_API csim_status csim_body_set_node(csim_world *world, csim_body_id id, int node, csim_vec3 position,
                                        csim_vec3 velocity);
/* CSIM_STATIC pins the node where it is, CSIM_KINEMATIC moves it with the velocity it is given. */
CSIM_API csim_status csim_body_set_node_motion(csim_world *world, csim_body_id id, int node, csim_motion motion);
/* Force [N] on one node for the next step only, world axes; adds up. */
CSIM_API csim_status csim_body_add_node_force(csim_world *world, csim_body_id id, int node, csim_vec3 force);
/* Activates count elements of a solid, tets[count] in the order of its mesh (null with count 0: all of them), until it
   is set again; all numbers 0 ends it. For soft actuators: pressure in the elements of a chamber inflates it, tension
   along a fibre is a muscle or tendon. The stress is part of the elastic energy at the next step. pressure and tension
   -1e15..1e15 Pa. */
CSIM_API csim_status csim_soft_set_activation(csim_world *world, csim_body_id id, const int *tets, int count,
                                              const csim_activation *activation);
/* Multiplies the moduli of a solid, cloth or cable, and with them bending, twist and damping by stiffness, from the
   next step on; factor 1e-6..1e6. What clamps a cable to others keeps its own. Also CSIM_WRONG_KIND. */
CSIM_API csim_status csim_body_scale_stiffness(csim_world *world, csim_body_id id, csim_real factor);
/* Triangles of the surface of a solid (outward), of cloth or of a reduced body, in numbers of its nodes; world's
   memory, [3 count]. Others have none: count 0. */
CSIM_API csim_status csim_body_surface(const csim_world *world, csim_body_id id, const int **triangles, int *count);

/* ---- whole-world measures -------------------------------------------------------------------------------------- */

/* Of all bodies together, world axes. */
typedef struct csim_totals {
    double mass, kinetic, gravity, elastic;  /* kg, J; free bodies; kinetic energy of the end velocity */
    double momentum[3], angular_momentum[3]; /* N s; N m s, about the origin */
} csim_totals;
/* Of the state as it is now; static and kinematic bodies and nodes are left out. Costs a pass over the world. */
CSIM_API csim_totals csim_world_totals(const csim_world *world);
/* Mass-weighted root mean square of the reported velocity over free bodies, m/s (rotations by their inertia). */
CSIM_API double csim_world_rms_speed(const csim_world *world);

/* ---- save, restore, hash --------------------------------------------------------------------------------------- */

/* Bodies, links, velocities, contact impulses, time, gravity and integrator: with the same definition, everything a
   later step depends on. Not in it: the other settings of the world, callbacks, the allocator; user_data pointers are
   copied as they are. buffer null: *bytes gets the size. Otherwise *bytes is the size of buffer and gets what was
   written. Bytes are for the same build only (version, scalar size, byte order). Fails: CSIM_NULL_ARGUMENT,
   CSIM_CAPACITY (buffer too small: nothing is written). */
CSIM_API csim_status csim_world_save(const csim_world *world, void *buffer, size_t *bytes);
/* Brings a world back, in place: ids of what existed then are valid again. bytes: of the buffer, which may be larger
   than the snapshot that it begins with. The bytes are checked before anything
   changes: size and checksum, then every index, count, choice and number, for a checksum is easily made. May allocate
   on the heap. The contacts of the last step come back with it; its stats do not.
   Fails: CSIM_BAD_SNAPSHOT, CSIM_CAPACITY, CSIM_OUT_OF_MEMORY. */
CSIM_API csim_status csim_world_restore(csim_world *world, const void *buffer, size_t bytes);
/* The pair for rollback inside of one program, four times as quick: as csim_world_save, without a checksum over all,
   and back into the same world, with nothing looked at but the header. Bytes that anything else wrote, or touched, are
   not for csim_world_take_back, and may end the program: what comes from a file or a network is csim_world_restore's.
   Fails: as the two above; CSIM_BAD_SNAPSHOT also for another world and for bytes of csim_world_save. */
CSIM_API csim_status csim_world_keep(const csim_world *world, void *buffer, size_t *bytes);
CSIM_API csim_status csim_world_take_back(csim_world *world, const void *buffer, size_t bytes);
/* 64-bit hash of the state (positions, velocities, contact impulses, who is asleep): equal bits, equal hash. */
CSIM_API uint64_t csim_world_hash(const csim_world *world);
/* One line: version, scalar, options. Constant text. */
CSIM_API const char *csim_build_info(void);

#endif
