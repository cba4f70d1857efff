/* world/private: the world's memory and the stages of a step.

   Every array of the world lives in one block, laid out by one routine from one list (CSIMI_WORLD_ARRAYS), which also
   grows, compacts, saves, restores and hashes it. Scratch for a step is the tail of the block. */
#ifndef CSIMI_WORLD_PRIVATE_H
#define CSIMI_WORLD_PRIVATE_H

#include "../collide/private.h"
#include "../model/private.h"
#include "../solve/private.h"
#include "world.h"
#include "cloth.h"
#include "tree.h"
#include "reduced.h"
#include "joint.h"

typedef struct csimi_body {
    uint32_t generation;
    bool alive;
    csim_body_kind kind;
    csim_motion motion;
    int next_free;              /* slot of the next free body, -1: none; when not alive */
    int rigid;                  /* rigid bodies: index, else -1 */
    int tree;                   /* trees and reduced bodies: index, else -1 */
    int first_node, node_count; /* particles and solids */
    int first_shape, shape_count;
    int first_tet, tet_count;
    int first_membrane, membrane_count;
    int first_surface, surface_count; /* surface nodes of solids */
    int first_triangle, triangle_count;
    int first_frame, frame_count; /* edges of cables */
    int first_bend, bend_count;   /* their own bend elements, those of links left out */
    bool clamped[2];              /* cables: the first, the last of them clamps an end to the world */
    bool self_contact;            /* cables: edges that are no neighbours may touch */
    bool closed;                  /* cables: the last edge leads back to the first node */
    int aggregate_count;          /* of a solid */
    int matrix_blocks;            /* stored blocks of A that belong to it alone */
    csim_real centre[3];          /* rigid, reduced: centre of mass in body axes */
    csim_real radius;             /* particle */
    csim_real edge;               /* solid, cloth: mean edge of the surface at rest, m */
    bool corner_contact;          /* solid: samples of rigid shapes touch its surface */
    bool edge_contact;            /* cables: edges touch between their nodes; cloth: edges of cloth */
    csim_real self_distance;      /* solid: what was nearer than this at rest never touches, m; 0: itself never */
    csim_real sigma;              /* spectral estimate kept for the island this body leads */
    bool can_sleep;
    csim_surface_def surface;
    void *user_data;
} csimi_body;

typedef enum csimi_link_kind { CSIMI_SPRING, CSIMI_JOINT, CSIMI_CLAMP, CSIMI_EXCLUSION } csimi_link_kind;

typedef struct csimi_link {
    uint32_t generation;
    bool alive;
    csimi_link_kind kind;
    int next_free;
    bool apart;  /* its bodies never touch */
    int item;    /* index in the springs, joints or bends; exclusions: -1 */
    int body[2]; /* slots it holds on to, -1: the world */
    csim_real break_force;
} csimi_link;

/* Rows of a joint: the points, the turns, the limit. */
enum { CSIMI_ROW_POINT, CSIMI_ROW_TURN, CSIMI_ROW_LIMIT, CSIMI_BOND_ROWS };

typedef struct csimi_bond {
    csim_joint_kind kind;
    csimi_place end[2];
    csim_real frame[2][4]; /* joint axes in the axes of the bodies or the world, w x y z; the first is the axis */
    csim_real length, lower, upper;
    bool limited, broken, broke; /* broke: in the last step */
    csim_motor motor;
    int gear[2]; /* link slots of the joints, -1: no gear */
    csim_real ratio, offset;
    csim_real break_force, break_torque;
    csim_real position;          /* coordinate at the end of the last step, turns counted */
    csim_real scale;             /* m: turns enter the rows as scale times the angle */
    csim_real impulse[9];        /* of the last step by row, in the axes of the row */
    csim_real R[9];              /* axes of those rows, but the points of ball, hinge and weld: world axes */
    csim_real aim[9];            /* error allowed at the end of the step, m */
    csim_real miss[9], added[9]; /* of the correction: what rows miss, m, and what was last added to phi, m/s */
    csim_real stiff[2];          /* what the turning of its force adds to A at its ends, kg m^2 */
    int row[CSIMI_BOND_ROWS];    /* in the coming step, -1: none */
    int link;                    /* its slot */
} csimi_bond;

enum { CSIMI_JOINT_ROWS = 4 }; /* a joint of a tree: lower limit, upper limit, friction, drive */

/* X(axis, type, member of csimi_store, numbers per item): one line per array; the axis names a field of csim_capacity
   that holds both the capacity and the count. */
#define CSIMI_WORLD_ARRAYS(X)                                \
    X(bodies, csimi_body, body, 1)                           \
    X(bodies, int, body_list, 1)                             \
    X(nodes, csim_real, state.x, 3)                          \
    X(nodes, csim_real, state.v, 3)                          \
    X(nodes, csim_real, node_rep, 3)                         \
    X(nodes, csim_real, state.node_mass, 1)                  \
    X(nodes, csim_real, state.node_force, 3)                 \
    X(nodes, csim_real, state.node_damping, 1)               \
    X(nodes, unsigned char, state.node_mode, 1)              \
    X(nodes, int, node_body, 1)                              \
    X(nodes, int, node_user, 1)                              \
    X(nodes, int, node_of_user, 1)                           \
    X(nodes, int, node_aggregate, 1)                         \
    X(nodes, int, state.node_tree, 1)                        \
    X(rigids, csim_real, state.com, 3)                       \
    X(rigids, csim_real, state.rotation, 4)                  \
    X(rigids, csim_real, state.velocity, 6)                  \
    X(rigids, csim_real, rigid_rep, 6)                       \
    X(rigids, csim_real, state.rigid_mass, 1)                \
    X(rigids, csim_real, state.inertia, 9)                   \
    X(rigids, csim_real, state.wrench, 6)                    \
    X(rigids, csim_real, state.rigid_damping, 2)             \
    X(rigids, unsigned char, state.rigid_mode, 1)            \
    X(rigids, int, rigid_body, 1)                            \
    X(shapes, csim_geometry, shape, 1)                       \
    X(shapes, int, shape_body, 1)                            \
    X(shapes, int, shape_link, 1)                            \
    X(hulls, csim_hull_data, hull, 1)                        \
    X(tets, int, state.tet, 4)                               \
    X(tets, csim_real, state.tet_shape, 9)                   \
    X(tets, csim_real, state.tet_volume, 1)                  \
    X(tets, csim_real, state.tet_lame, 3)                    \
    X(tets, unsigned char, state.tet_material, 1)            \
    X(tets, csim_real, state.tet_active, 5)                  \
    X(membranes, int, state.membrane, 3)                     \
    X(membranes, int, state.membrane_beyond, 3)              \
    X(membranes, csim_real, state.membrane_shape, 4)         \
    X(membranes, csim_real, state.membrane_data, 4)          \
    X(membranes, csim_real, state.membrane_fold, 9)          \
    X(membranes, unsigned char, state.membrane_material, 1)  \
    X(surface, int, surface_node, 1)                         \
    X(surface, csim_real, surface_rest, 3)                   \
    X(triangles, int, triangle, 3)                           \
    X(triangles, int, face, 3)                               \
    X(links, csimi_link, link, 1)                            \
    X(frames, csim_real, state.frame, 4)                     \
    X(frames, csim_real, state.frame_velocity, 3)            \
    X(frames, csim_real, frame_rep, 3)                       \
    X(frames, csim_real, state.frame_inertia, 3)             \
    X(frames, csim_real, state.frame_torque, 3)              \
    X(frames, csim_real, state.frame_damping, 1)             \
    X(frames, unsigned char, state.frame_mode, 1)            \
    X(frames, int, frame_body, 1)                            \
    X(frames, int, state.edge_node, 2)                       \
    X(frames, csim_real, state.edge_data, 6)                 \
    X(bends, csimi_bend, state.bend, 1)                      \
    X(bends, csim_real, state.bend_data, 8)                  \
    X(springs, csimi_place, state.spring, 2)                 \
    X(springs, csim_real, state.spring_data, 3)              \
    X(springs, int, spring_link, 1)                          \
    X(joints, csimi_bond, joint, 1)                          \
    X(trees, csimi_tree, state.tree, 1)                      \
    X(trees, int, tree_body, 1)                              \
    X(tree_links, csimi_tree_link, state.tree_link, 1)       \
    X(tree_links, csim_real, state.link_position, 7)         \
    X(tree_links, csim_real, state.link_pose, 7)             \
    X(tree_links, csim_real, state.link_target, 4)           \
    X(tree_links, csim_real, link_impulse, CSIMI_JOINT_ROWS) \
    X(coords, csim_real, state.coord_rate, 3)                \
    X(coords, csim_real, coord_rep, 3)                       \
    X(coords, csim_real, state.coord_force, 3)               \
    X(coords, csim_real, state.coord_target, 3)              \
    X(coords, int, state.coord_limb, 2)                      \
    X(coords, int, coord_tree, 1)                            \
    X(coords, csim_real, state.coord_position, 3)            \
    X(modal, double, state.modal, 1)                         \
    X(contacts, csim_contact_info, contact, 1)               \
    X(ended, uint64_t, ended_id, 1)

/* Everything that is counted: the axes of the arrays above, the stored blocks of A, the pairs of the broad phase. */
#define CSIMI_WORLD_AXES(X)                                                                                           \
    X(bodies)                                                                                                         \
    X(nodes)                                                                                                          \
    X(rigids)                                                                                                         \
    X(shapes)                                                                                                         \
    X(hulls)                                                                                                          \
    X(tets)                                                                                                           \
    X(surface)                                                                                                        \
    X(triangles)                                                                                                      \
    X(links)                                                                                                          \
    X(springs) X(joints) X(contacts) X(ended) X(aggregates) X(matrix_blocks) X(pairs) X(frames) X(bends) X(membranes) \
        X(trees) X(tree_links) X(coords) X(tree_span) X(modal)

typedef struct csimi_counts {
#define CSIMI_X(axis) int axis;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
} csimi_counts;

typedef struct csimi_store {
    csimi_counts capacity, count; /* count.matrix_blocks: stored blocks of A */
    csimi_state state;
    csim_real *node_rep, *rigid_rep, *frame_rep; /* representative velocity of the last step */
    csimi_body *body;
    int *body_list; /* slots of live bodies in creation order, [live] */
    int *node_body, *node_user, *node_of_user, *node_aggregate;
    int *rigid_body, *shape_body, *frame_body;
    csim_real *coord_rep;
    int *shape_link; /* link of the tree it is on, relative to the first; else -1 */
    int *tree_body, *coord_tree;
    csim_real *link_impulse; /* of the rows of each joint in the last step */
    csim_geometry *shape;
    csim_hull_data *hull;
    int *surface_node, *triangle;
    csim_real *surface_rest; /* rest positions of surface nodes */
    int *face;               /* triangles in the order of their tree, by place in the body's surface nodes */
    csimi_link *link;
    int *spring_link;
    csimi_bond *joint;
    csim_contact_info *contact;
    uint64_t *ended_id;
    csim_block_matrix A; /* pattern and room for the values */
    unsigned char *scratch;
    size_t scratch_bytes;
} csimi_store;

struct csim_world {
    csim_world_def def;
    csimi_heap heap;
    bool grows; /* heap world */
    unsigned char *block;
    size_t block_bytes;
    uint32_t stamp;
    bool locked, pattern_stale;
    int live_bodies, free_body, free_link;
    double time, last_h;
    csimi_store store;
    csimi_counts high; /* largest counts seen */
    csim_error error;
    csim_step_stats stats;
};

/* Velocity blocks of a world with these counts. */
CSIMI_FN int csimi_blocks_of(const csimi_counts *n);
CSIMI_FN csimi_counts csimi_counts_of(const csim_capacity *capacity);
CSIMI_FN csim_capacity csimi_capacity_of(const csimi_counts *counts);

/* ---- layout.c */

/* Sets every pointer of the store for its capacity; counts when the arena counts. */
CSIMI_FN void csimi_store_layout(csimi_store *store, const csim_solver_params *solver, csimi_arena *arena);
/* Makes each capacity at least need; the world is unchanged when this fails. */
CSIMI_FN csim_status csimi_ensure(csim_world *world, const csimi_counts *need, const char *function);
/* Removes items [first, first + n) of one axis from every array of that axis. */
typedef enum csimi_axis {
#define CSIMI_X(axis) CSIMI_AXIS_##axis,
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
} csimi_axis;
CSIMI_FN void csimi_remove(csimi_store *store, csimi_axis axis, int first, int n);
/* Copies the counts that models read into state. */
CSIMI_FN void csimi_sync_state(csimi_store *store);
CSIMI_FN int csimi_blocks_of(const csimi_counts *n);

/* ---- the frame of a step: scratch that lives from its first to its last line */

/* A found contact before it becomes a row. */
typedef struct csimi_found_contact {
    uint64_t id;
    int body_a, body_b; /* slots */
    csimi_place a, b;   /* both at meet: what acts there on a and b has no couple left over, and momentum is kept */
    int shape_b;        /* node against shape: exact distance can be taken again; else -1 */
    int surface_b;      /* something against the surface of a solid: its slot, else -1 */
    int self;           /* vertex of the same solid: its place in the surface, else -1 */
    csim_real radius;   /* of a's point beyond its place: radii and thicknesses */
    csim_vec3 meet, point_a, point_b, normal;
    csim_real gap;
    int last; /* its record of the step before, -1: new */
} csimi_found_contact;

typedef struct csimi_step_frame {
    csim_real h, theta, sigma;
    csimi_state drift;          /* two-step worlds: where bodies are after half a step; own positions and rotations */
    csim_real *aim;             /* [6 blocks] worlds with cables or joints: v* of Newton's method, and more */
    csim_real *frozen;          /* [3 blocks] half-step worlds: A v of what is not elastic */
    int blocks;                 /* of the whole world */
    csimi_state next;           /* state after the step: own positions, shared constants */
    csim_real *vk, *b, *v;      /* [3 blocks] */
    csim_real *v_end;           /* [3 blocks] v_{k+1} */
    csim_real *rep;             /* [3 blocks] last representative velocity; where `moves`, then that of positions */
    const csim_real *start;     /* [3 blocks] start of the solve */
    bool moves;                 /* the solver says by which velocity positions go (XPBD) */
    unsigned char *skip;        /* [blocks] 1: not an unknown */
    csimi_found_contact *found; /* [contacts] */
    int found_count;
    csim_contact *contacts; /* [csimi_most_rows] */
    csim_term *terms;       /* [csimi_most_terms] */
    csim_real *lambda;      /* [3 csimi_most_rows] */
    int contact_count, term_count;
    int first_joint_row;          /* rows of joints of trees, behind those of contacts and joints ... */
    int *joint_row;               /* [rows of joints] ... and where their impulses are kept */
    int *island, *contact_island; /* [blocks], [csimi_most_rows] */
    bool again;                   /* islands are being solved once more */
    int island_count;
    int *local;                               /* [blocks] number inside its island */
    int *island_blocks;                       /* [blocks] blocks sorted by island */
    int *island_contacts;                     /* [csimi_most_rows] */
    int *island_first, *island_contact_first; /* [blocks + 1] */
    csim_real *aggregate_centre;              /* [3 aggregates] per solid aggregate and rigid body */
    csim_real *aggregate_radius;
    int *aggregate_of; /* [blocks], -1: none */
    int aggregates;
    csimi_bond *joint;       /* [joints] as they were: a step writes its rows into them, one that fails undoes that */
    csim_contact_info *info; /* [contacts] the next contact list */
    uint64_t *ended;         /* [contacts] */
    unsigned char *carried;  /* [contacts] 1: this record of the step before still carries an impulse */
    int ended_count;
    csim_real *sigma_of_body; /* [bodies] next spectral estimates */
    csim_step_stats stats;
} csimi_step_frame;

/* Lays the frame out for the given counts (capacities when counting). */
CSIMI_FN void csimi_frame_layout(csimi_step_frame *frame, const csimi_counts *n, csimi_arena *arena);
/* Scratch that a step of a world with these capacities can need. */
CSIMI_FN int csimi_default_aggregates(int nodes);           /* body.c: of a solid */
CSIMI_FN size_t csimi_mesh_scratch(const csimi_counts *n);  /* body.c: to study a mesh */
CSIMI_FN size_t csimi_cloth_scratch(const csimi_counts *n); /* cloth.c: the same */
CSIMI_FN int csimi_most_rows(const csimi_counts *n);        /* contacts, joints, joints of trees */
CSIMI_FN int csimi_most_terms(const csimi_counts *n);       /* of all those rows */
CSIMI_FN int csimi_most_aggregates(const csimi_counts *n);  /* of the coarse correction */
CSIMI_FN size_t csimi_step_scratch(const csimi_counts *capacity, const csim_solver_params *solver);

/* ---- surface.c: surfaces of solids as volumes, in their deformed configuration. Built when first asked for. */
typedef struct csimi_surfaces {
    const csim_world *world;
    const csimi_state *state; /* whose positions */
    csim_real *x, *box;
    csimi_surface *of;   /* [bodies] by slot */
    unsigned char *made; /* [bodies] */
    int *first_box;      /* [bodies] */
} csimi_surfaces;
CSIMI_FN void csimi_surfaces_layout(csimi_surfaces *s, const csimi_counts *n, csimi_arena *arena);
CSIMI_FN void csimi_surfaces_start(csimi_surfaces *s, const csim_world *world, const csimi_state *state);
CSIMI_FN const csimi_surface *csimi_surface_of(csimi_surfaces *s, int slot);
/* Signed distance of a point to the surface of a solid: < 0 inside. Beyond within it need not be found: false then.
   self: place of the point among the solid's own surface nodes, or -1. */
CSIMI_FN bool csimi_surface_gap(csimi_surfaces *s, int slot, csim_vec3 p, csim_real within, int self,
                                csimi_surface_hit *hit, csim_real *gap);
/* Tree order of the faces, rest positions and mean edge of a solid that has been written; index: of vertices among the
   surface nodes, order and keys: scratch of the triangles. */
CSIMI_FN void csimi_write_surface(csimi_store *s, int slot, const csim_real *rest, const int *index, int *order,
                                  uint64_t *keys);

/* ---- detect.c: contacts of the current positions. CSIM_CAPACITY with flags and counts in frame->stats. */

/* What the broad phase sees. */
typedef enum csimi_object_kind { CSIMI_OBJECT_SHAPE, CSIMI_OBJECT_PARTICLE, CSIMI_OBJECT_SOLID } csimi_object_kind;

typedef struct csimi_object {
    csimi_object_kind kind;
    int body, item;   /* slot; shape or node index */
    csim_real margin; /* how far its surface may come in this step, m */
    csim_real push;   /* its part without velocity: half the contact distance and accelerations, m */
    csim_pose at;     /* of a shape, its local pose included */
} csimi_object;

/* Edges of cables, for their own broad phase. */
typedef struct csimi_edges {
    int count;
    csim_real *margin, *lower, *upper;
    int *frame, *group;
    void *broad;
} csimi_edges;

/* Hash of the contacts of the step before by id. rows.c */
typedef struct csimi_last_table {
    int *table;
    int table_size; /* a power of two */
} csimi_last_table;
CSIMI_FN void csimi_last_layout(csimi_last_table *r, const csimi_counts *n, csimi_arena *arena);
CSIMI_FN void csimi_index_contacts(const csim_world *w, csimi_last_table *r);
CSIMI_FN int csimi_last_contact(const csim_world *w, const csimi_last_table *r, uint64_t id); /* -1: none */

typedef struct csimi_detector {
    csim_world *world;
    csimi_step_frame *frame;
    csimi_object *object;
    csim_real *lower, *upper;
    int *group, *pairs;
    void *broad;
    csimi_surfaces surfaces;
    csimi_edges edges;
    uint64_t *excluded; /* pairs of slots that links keep apart, low << 32 | high, by the low one */
    int excluded_count;
    csimi_last_table last; /* where there is cloth */
    csim_real ahead; /* steps that a contact must be found ahead */
    csim_real fall;  /* |gravity| */
    int count;
    int needed; /* contacts found, beyond the capacity too */
} csimi_detector;

/* Pose of the axes a shape is given in: of its body, or of its link. */
CSIMI_FN csim_pose csimi_shape_pose(const csimi_store *s, const csimi_state *state, int shape);
/* The material point under a shape that is at point. */
CSIMI_FN csimi_place csimi_shape_place(const csimi_store *s, int shape, csim_vec3 point);
CSIMI_FN csim_status csimi_detect(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
CSIMI_FN size_t csimi_detect_scratch(const csimi_counts *n);
/* Gap of a found contact in another configuration, whose surfaces are given. */
CSIMI_FN csim_real csimi_gap_at(const csim_world *world, const csimi_state *then, const csimi_state *now,
                                csimi_surfaces *surfaces, const csimi_found_contact *f);
/* ---- narrow.c: two objects whose bounds meet, and a solid with itself */
CSIMI_FN void csimi_collide_pair(csimi_detector *d, int i, int j);
CSIMI_FN void csimi_collide_self(csimi_detector *d, int i);
CSIMI_FN uint64_t csimi_mix64(uint64_t h, uint64_t x);
CSIMI_FN uint64_t csimi_side_key(const csimi_store *s, int slot, uint32_t part); /* names a part of a body */
/* The pairs that links exclude; whether two bodies may touch by category, group, exclusion and filter. */
CSIMI_FN void csimi_list_excluded(csimi_detector *d, uint64_t *other);
CSIMI_FN bool csimi_may_touch(const csimi_detector *d, int a, int b);
/* The next free record, or null beyond the capacity (it is counted all the same). */
CSIMI_FN csimi_found_contact *csimi_next_found(csimi_detector *d, int body_a, int body_b, uint64_t id);
CSIMI_FN uint64_t csimi_point_key(const csimi_store *s, int slot, uint32_t part); /* names a vertex */
CSIMI_FN csimi_place csimi_place_over(const csimi_state *s, const int *node, const csim_real *foot, csim_vec3 meet);
/* ---- touch.c: cables against cables, edges of sheets, of cables at solids and sheets */
CSIMI_FN void csimi_touch_sheets(csimi_detector *d, const csimi_object *a, const csimi_object *b);
CSIMI_FN void csimi_touch_surface(csimi_detector *d, const csimi_object *cable, const csimi_object *b);
CSIMI_FN void csimi_edges_layout(csimi_edges *e, const csimi_counts *n, csimi_arena *arena);
/* Pairs of edges whose bounds meet, beyond the capacity too; their contacts are found. */
CSIMI_FN int csimi_touch_cables(csimi_detector *d);
/* Between the centrelines of two edges, m. */
CSIMI_FN csim_real csimi_edge_distance(const csimi_state *s, int a, int b);
/* ---- rows.c: found contacts and joints to rows of the problem, with phi, laws and warm starts */
CSIMI_FN void csimi_rows(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
/* Scale of last impulses: forces persist, so impulses go with h. phi of a gap that closes at `approach` now and would
   at `free_end` without contact. */
CSIMI_FN csim_real csimi_warm_scale(const csim_world *w, const csimi_step_frame *f);
CSIMI_FN csim_real csimi_phi(const csim_world *w, const csimi_step_frame *f, csim_real gap, csim_real restitution,
                             csim_real approach, csim_real free_end);
CSIMI_FN size_t csimi_rows_scratch(const csimi_counts *n);
/* ---- joint.c */
/* Appends the rows of all joints behind those of the contacts. */
CSIMI_FN void csimi_bond_rows(csim_world *world, csimi_step_frame *frame);
/* Corrects the rows whose joints do not hold at frame->next. All arrays are by island: again says what is to be done,
   miss and before are how far joints are open now and were a pass ago, m; moved is scratch. Islands begin with rows of
   the start of the step (_ON; midpoint worlds with those of its middle, _TURNED, until turns settle too); where these
   do not close they go on with rows of the middle, late in the loop with those at hand, and where a correction makes it
   worse they go _BACK to the one before. False when nothing is left to do. */
enum { CSIMI_AGAIN_NO, CSIMI_AGAIN_ON, CSIMI_AGAIN_TURNED, CSIMI_AGAIN_BACK };
CSIMI_FN bool csimi_bonds_correct(csim_world *world, csimi_step_frame *frame, unsigned char *again, csim_real *miss,
                                  csim_real *before, csim_real *moved, bool late);
/* Rows of islands that are _TURNED at frame->next, the middle of the step; in midpoint worlds also their turns. */
CSIMI_FN void csimi_bonds_middle(csim_world *world, csimi_step_frame *frame, const unsigned char *again, bool first);
/* Stiffness that the turning of joint forces adds to A. */
CSIMI_FN void csimi_bonds_stiffen(csim_world *world, const csimi_step_frame *frame);
CSIMI_FN void csimi_bonds_commit(csim_world *world, const csimi_step_frame *frame);
CSIMI_FN csim_status csimi_link_ends(csim_world *w, const csim_attachment *a, const csim_attachment *b,
                                     const char *function, csimi_place *ends, int *bodies); /* body.c */
CSIMI_FN csim_status csimi_find_link(const csim_world *w, csim_link_id id, const char *function, int *slot,
                                     csim_error *error); /* body.c */
/* rows.c */
CSIMI_FN csim_side csimi_terms_side(csimi_step_frame *f, int n, const int *block, const csim_real *J, csim_real *moved);
CSIMI_FN void csimi_sides(csimi_step_frame *f, const csimi_state *s, const csimi_place *a, csim_vec3 point_a,
                          const csimi_place *b, csim_vec3 point_b, csim_contact *c);
/* ---- island.c: each island as a problem of its own, solved and certified */
CSIMI_FN csim_status csimi_solve_islands(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
/* The islands that again marks, once more from where they are. */
CSIMI_FN csim_status csimi_solve_again(csim_world *world, csimi_step_frame *frame, const unsigned char *again,
                                       csimi_arena *arena);
CSIMI_FN size_t csimi_island_scratch(const csimi_counts *n, const csim_solver_params *solver);
/* ---- step.c */
CSIMI_FN csim_status csimi_build_pattern(csim_world *world, csimi_arena *arena);
CSIMI_FN size_t csimi_pattern_build_scratch(const csimi_counts *n);
/* A and b from the potentials at a state; frame->b and A are cleared first. */
CSIMI_FN void csimi_assemble(csim_world *world, csimi_step_frame *frame, const csimi_step *step,
                             const csimi_state *at);
/* Positions of next: those of the world moved on by h v. */
CSIMI_FN void csimi_advance(csim_world *world, const csimi_step *step, csim_real h, const csim_real *v,
                            csimi_state *next);
/* ---- variational.c */
CSIM_INLINE bool csimi_is_middle(const csim_world *w) { /* v = (v_k + v_{k+1})/2 */
    return w->def.integrator == CSIM_MIDPOINT || w->def.integrator == CSIM_HALF_STEP;
}
/* Whether a world of this definition may use the integrator with so many trees and joints. */
CSIMI_FN csim_status csimi_check_integrator(const csim_world_def *def, csim_integrator integrator, int trees,
                                            int joints, const char *function, csim_error *error);
/* Two-step: exchanges the positions of the world with those of frame->drift. */
CSIMI_FN void csimi_exchange(csim_world *world, csimi_step_frame *frame);
/* Half-step: A and b about the velocity v of the step; v may be frame->v. */
CSIMI_FN void csimi_linearise(csim_world *world, csimi_step_frame *frame, const csimi_step *step, const csim_real *v);
/* ||A v - b - J'lambda|| in the measure of certificate.dynamics, with A and b as they are now. */
CSIMI_FN void csimi_pushes(const csimi_step_frame *f, csim_real *pushed);
CSIMI_FN double csimi_imbalance(const csim_world *world, csimi_step_frame *frame);
/* ---- measure.c */
CSIMI_FN void csimi_measure(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
CSIMI_FN void csimi_report_contacts(csim_world *world, csimi_step_frame *frame);

/* ---- body.c: the steps every create call takes: check, make room, write behind the counts, raise them. */

CSIMI_FN csim_status csimi_start_create(csim_world *w, const void *def, const void *id, const char *function);
/* The counts now, and one more body when no slot is free. */
CSIMI_FN csimi_counts csimi_counts_with_body(const csim_world *w);
CSIMI_FN csim_status csimi_make_room(csim_world *w, csimi_counts need, const char *function);
/* Takes a slot for a body whose data begins at the counts as they are. */
CSIMI_FN int csimi_take_body(csim_world *w, csim_body_kind kind, csim_motion motion, const csim_surface_def *surface,
                             void *user_data);
CSIMI_FN void csimi_write_node(csimi_store *s, int i, csim_vec3 x, csim_vec3 v, csim_real mass, csim_real damping,
                               csim_motion motion, int slot);
/* Orders nodes by aggregate: node_user[internal] = vertex, node_of_user[vertex] = internal, both within the body.
   count: [nv + 1] ints to work in. */
CSIMI_FN void csimi_order_nodes(csimi_store *s, int nv, int groups, const int *aggregate, int *count);
CSIMI_FN void csimi_fix_node(csimi_store *s, int node);
/* The list of fixed vertices and the number of aggregates of a definition. */
CSIMI_FN csim_status csimi_check_mesh_choices(csim_world *w, const char *function, const int *fixed, int fixed_count,
                                              int vertex_count, int aggregates);
CSIMI_FN void csimi_finish_create(csim_world *w, int slot, csim_body_id *id);
/* sum += part, both in the same axes, both with mass. */
CSIMI_FN void csimi_add_mass(csim_mass *sum, const csim_mass *part);
/* Whether a body of this mass and inertia [9] may move freely. */
CSIMI_FN bool csimi_rigid_weighs(csim_real mass, const csim_real *inertia);
/* Mass, centre and inertia of a rigid definition; static bodies may have none. */
CSIMI_FN csim_status csimi_rigid_mass(const csim_rigid_def *def, const char *fn, csim_mass *mass, csim_error *error);
/* Takes a link slot; item is its place in the array of its kind. */
CSIMI_FN int csimi_take_link(csim_world *w, csimi_link_kind kind, int item, const int *bodies, csim_real break_force);
CSIMI_FN void csimi_finish_link(csim_world *w, int slot, csim_link_id *id);

/* ---- query.c */
CSIMI_FN void csimi_set_frame_velocity(csimi_store *s, int frame, csim_vec3 w);
/* ---- tree.c: what the functions of all bodies ask of a tree */

CSIMI_FN size_t csimi_tree_scratch(const csimi_counts *n); /* to check one */
/* Which drives are bounded by rows in the coming step; and whether others turned out to need one, which they get. */
CSIMI_FN void csimi_tree_choose_bounds(csim_world *world);
CSIMI_FN void csimi_tree_forget_bounds(csim_world *w);
CSIMI_FN bool csimi_tree_overruns(csim_world *world, const csimi_step_frame *f, const csimi_step *step, int pass);
/* Rows of all joints behind those of contacts and pins; their impulses into link_impulse. */
CSIMI_FN void csimi_tree_rows(csim_world *w, csimi_step_frame *f, const csimi_step *step);
CSIMI_FN void csimi_tree_keep_rows(csim_world *w, const csimi_step_frame *f, const csimi_step *step);
CSIMI_FN void csimi_tree_forget(csimi_store *s, int tree); /* removes its items */
CSIMI_FN void csimi_tree_base_velocity(const csimi_store *s, int tree, const csim_real *rates, csim_vec3 *linear,
                                       csim_vec3 *angular);
CSIMI_FN void csimi_tree_set_base(csimi_store *s, int tree, csim_pose pose);
CSIMI_FN bool csimi_tree_set_base_velocity(csimi_store *s, int tree, csim_vec3 linear, csim_vec3 angular);
CSIMI_FN void csimi_tree_push_link(csimi_store *s, int link, csim_vec3 point, csim_vec3 force, csim_vec3 torque);
CSIMI_FN void csimi_tree_stop(csimi_store *s, int tree);
/* x[n], null: nothing to check. */
CSIMI_FN csim_status csimi_check_reals(csim_error *error, const char *function, const char *field, const csim_real *x,
                                       int n);
CSIMI_FN void csimi_write_tree(csimi_store *s, const csim_tree_def *def, csimi_tree *tree);
/* ---- reduced.c */
CSIMI_FN size_t csimi_reduced_scratch(const csimi_counts *n); /* to write the surface of one */
/* Positions and velocities of the nodes of a reduced body that was moved; other trees have none. */
CSIMI_FN void csimi_reduced_refresh(csimi_store *s, int tree);
/* Its nodes follow the rates of the step: representative (into v) and at its end (into next). */
CSIMI_FN void csimi_reduced_step_velocities(csim_world *w, csimi_step_frame *f);

/* ---- checks */

/* A numeric field of a definition: its place and range. */
typedef struct csimi_field {
    const char *name;
    size_t offset;
    double lowest, highest;
    bool open_low, open_high; /* the end itself is not allowed */
    const char *range;        /* the same in words */
} csimi_field;
/* Lines of a table of fields. More than 1e9 m or m/s is a slip of units. */
#define CSIMI_ANY(type, field) \
    { #field, offsetof(type, field), -1e9, 1e9, false, false, "-1e9..1e9" }
#define CSIMI_ANY3(type, vec3) CSIMI_ANY(type, vec3.x), CSIMI_ANY(type, vec3.y), CSIMI_ANY(type, vec3.z)
#define CSIMI_ANY9(type, mat3)                                                                                      \
    CSIMI_ANY(type, mat3.m[0]), CSIMI_ANY(type, mat3.m[1]), CSIMI_ANY(type, mat3.m[2]), CSIMI_ANY(type, mat3.m[3]), \
        CSIMI_ANY(type, mat3.m[4]), CSIMI_ANY(type, mat3.m[5]), CSIMI_ANY(type, mat3.m[6]),                         \
        CSIMI_ANY(type, mat3.m[7]), CSIMI_ANY(type, mat3.m[8])
#define CSIMI_AT_LEAST_0(type, field) \
    { #field, offsetof(type, field), 0, 1e15, false, false, "0..1e15" }
#define CSIMI_POSITIVE(type, field) \
    { #field, offsetof(type, field), 0, 1e15, true, false, "above 0, at most 1e15" }
#define CSIMI_UNIT(type, field) \
    { #field, offsetof(type, field), 0, 1, false, false, "0..1" }
#define CSIMI_COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))
CSIMI_FN csim_status csimi_check_fields(csim_error *error, const char *function, const void *def,
                                        const csimi_field *fields, int count);
CSIMI_FN csim_status csimi_check_guard(csim_error *error, const char *function, const char *def, uint32_t guard);
CSIMI_FN csim_status csimi_check_world_def(const csim_world_def *def, const char *function, csim_error *error);
CSIMI_FN csim_status csimi_check_solver_params(const csim_solver_params *params, const char *function,
                                               csim_error *error);
CSIMI_FN csim_status csimi_find_body(const csim_world *world, csim_body_id id, const char *function, int *slot,
                                     csim_error *error);
/* What filters and mixing rules are told about two slots. */
CSIMI_FN csim_pair_info csimi_pair_of(const csim_world *world, int a, int b);
CSIMI_FN unsigned char csimi_mode_of(csim_motion motion);
CSIMI_FN csim_body_id csimi_body_id_of(const csim_world *world, int slot);
CSIMI_FN csim_pose csimi_body_pose(const csimi_store *s, const csimi_state *state, int slot);
CSIMI_FN csim_status csimi_check_surface(csim_error *error, const char *function, const csim_surface_def *def);
CSIMI_FN csim_status csimi_check_enum(csim_error *error, const char *function, const char *field, int value, int count);
/* A pose, a quaternion, a vector under the name of their field. */
CSIMI_FN csim_status csimi_check_pose(csim_error *error, const char *function, const char *field, csim_pose pose);
CSIMI_FN csim_status csimi_check_turn(csim_error *error, const char *function, const char *field, csim_quat q);
CSIMI_FN csim_status csimi_check_vec(csim_error *error, const char *function, const char *field, csim_vec3 v);
#define CSIMI_GUARD 0x435344u /* "CSD" */

#endif
