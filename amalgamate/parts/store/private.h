/* store/private: the world's memory: bodies of every kind, links, and what is read and set of them.

   Every array of the world lives in one block, laid out by one routine from one list (CSIMI_WORLD_ARRAYS), which also
   grows, compacts, saves, restores and hashes it. Scratch for a step is the tail of the block. */
#ifndef CSIMI_STORE_PRIVATE_H
#define CSIMI_STORE_PRIVATE_H

#include "../collide/private.h"
#include "../model/private.h"
#include "../world/world.h"
#include "../world/cable.h"
#include "../world/cloth.h"
#include "../world/tree.h"
#include "../world/reduced.h"
#include "../world/joint.h"
#include "../world/events.h"
#include "../world/alter.h"

/* Numbers that are 0 where nothing has a mesh and no snapshot brings one: two bits are room enough. */
#if CSIMI_KEEPS_MESHES
#define CSIMI_OF_MESH(member) member
#else
#define CSIMI_OF_MESH(member) member : 2
#endif

/* What worlds with bounded frames keep of an island, with the body that leads it (bounded: with all of them). */
typedef struct csimi_pace {
    int sweeps;       /* of the last solve that was certified; 0: not known */
    int misses, wait; /* solves in a row that the budget did not certify; steps until the next attempt */
    int bounded;      /* the last step solved it by BOUNDED */
} csimi_pace;

/* And of a contact, beside its report. */
typedef struct csimi_kept {
    uint64_t pair;     /* of the two shapes, 0: the contact is found anew in every step */
    csim_pose pose[2]; /* of what carries them, about its centre of mass, when they were collided */
    csim_vec3 arm[2];  /* from there to where the impulse acts, then, world axes */
    csim_vec3 pulse;   /* N s, world axes: impulse of the last substep times the substeps */
    csim_real gap;     /* m, then: between the surfaces without their thickness */
    csim_real sag;     /* m: overlap that bounded frames left, which no step pushes out at once */
    int calm, bounded; /* certified steps in a row of its island, at most CSIMI_WITHIN_CALM; it was solved by BOUNDED */
} csimi_kept;

/* Whether a body is asleep, and how it gets there (step/sleep.c). */
enum { CSIMI_ZONE_DAY, CSIMI_ZONE_BED, CSIMI_ZONE_NEW, CSIMI_ZONE_COUNT };
typedef struct csimi_rest {
    bool asleep;
    bool woke;      /* since the last step that was done */
    bool drowsy;    /* falls asleep after the next step, whatever it does */
    bool known;     /* of an island whose next step is known: step/known.c */
    int zone;       /* where its items stand in the arrays: bed.c */
    int ring;       /* asleep: the next body of the island it fell asleep with, round to itself */
    uint32_t stirred; /* steps that had been done when it last moved, or something was done to it */
    csim_real calm; /* s: for so long it has been near its anchors and slow */
} csimi_rest;

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
    int CSIMI_OF_MESH(first_tet), CSIMI_OF_MESH(tet_count);
    int CSIMI_OF_MESH(first_membrane), CSIMI_OF_MESH(membrane_count);
    int CSIMI_OF_MESH(first_surface), CSIMI_OF_MESH(surface_count); /* surface nodes of solids */
    int CSIMI_OF_MESH(first_triangle), CSIMI_OF_MESH(triangle_count);
    int CSIMI_OF_MESH(first_frame), CSIMI_OF_MESH(frame_count); /* edges of cables */
    int first_bend, CSIMI_OF_MESH(bend_count);                  /* their own bend elements, those of links left out */
    bool clamped[2];              /* cables: the first, the last of them clamps an end to the world */
    bool self_contact;            /* cables: edges that are no neighbours may touch */
    bool closed;                  /* cables: the last edge leads back to the first node */
    int CSIMI_OF_MESH(aggregate_count); /* of a solid */
    int matrix_blocks;            /* stored blocks of A that belong to it alone */
    int joints;                   /* ends of joints on it, broken ones too */
    csim_real centre[3];          /* rigid, reduced: centre of mass in body axes */
    csim_real radius;             /* particle */
    csim_real edge;               /* solid, cloth: mean edge of the surface at rest, m */
    bool corner_contact;          /* solid: samples of rigid shapes touch its surface */
    bool edge_contact;            /* cables: edges touch between their nodes; cloth: edges of cloth */
    csim_real self_distance;      /* solid: what was nearer than this at rest never touches, m; 0: itself never */
    csim_real sigma;              /* spectral estimate kept for the island this body leads */
    csimi_pace pace;
    bool can_sleep;
    bool disabled;           /* met by nothing; its motion is static ... */
    csim_motion motion_then; /* ... and was this */
#if !defined(CONDSIM_NO_SLEEP) || !defined(CONDSIM_NO_SNAPSHOTS)
    csimi_rest rest;
#endif
    csim_surface_def surface;
    void *user_data;
} csimi_body;

/* Of a shape, beside its geometry. */
typedef struct csimi_skin {
    csim_surface_def surface; /* its own, or a copy of its body's */
    void *user_data;
    bool own, sensor;
    bool disabled; /* met by nothing */
    bool gone;     /* removed, which disabled it: its number waits for another */
} csimi_skin;

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
    csim_real tension;  /* springs: N, in the last step, > 0 where it pulls */
    bool broken, broke; /* springs, as of csimi_joint */
} csimi_link;

/* Rows of a joint: the points, the turns, the limit. */
enum { CSIMI_ROW_POINT, CSIMI_ROW_TURN, CSIMI_ROW_LIMIT, CSIMI_JOINT_ROWS };

typedef struct csimi_joint {
    csim_joint_kind kind;
    csimi_place end[2];
    csim_real frame[2][4]; /* joint axes in the axes of the bodies or the world, w x y z; the first is the axis */
    csim_real length, lower, upper;
    bool limited, broken, broke; /* broke: in the last step */
    csim_motor motor;
    int gear[2]; /* link slots of the joints, -1: no gear, or that of the link that `end` is on */
    csim_real ratio, offset, break_force, break_torque;
    csim_real position;          /* coordinate at the end of the last step, turns counted */
    csim_real scale;             /* m: turns enter the rows as scale times the angle */
    csim_real impulse[9];        /* of the last step by row, in the axes of the row */
    csim_real R[9];              /* axes of those rows, but the points of ball, hinge and weld: world axes */
    csim_real aim[9];            /* error allowed at the end of the step, m */
    csim_real miss[9], added[9]; /* of the correction: what rows miss, m, and what was last added to phi, m/s */
    csim_real stiff[2];          /* what the turning of its force adds to A at its ends, kg m^2 */
    int row[CSIMI_JOINT_ROWS];    /* in the coming step, -1: none */
    int link;                    /* its slot */
    int axes;                    /* its settings of axes, which then make its rows; -1: none */
} csimi_joint;

/* Lines of rows of a joint with settings of axes: push and turn of each. Soft ones hold on to massless coordinates: */
enum { CSIMI_LINE_HOLD, CSIMI_LINE_LIMIT = 2, CSIMI_LINE_SPRING = 4, CSIMI_AXES_LINES = 6 };

typedef struct csimi_axes {
    csim_axis_def axis[6];
    csim_real cone[2];
    csim_softness cone_limit;
    csim_real position[6]; /* coordinates at the end of the last step, turns counted */
    csim_real turn[12];    /* directions of the twist, the swings and the cone in the last rows, world axes */
    /* of the last step by line, in the axes of its rows */
    csim_real impulse[18];
    csim_real aim[18], miss[18], added[18]; /* as of csimi_joint */
    csim_real weight[18];                   /* of what is missed: below 1 where the row is soft */
    csim_real stiff[12], kappa[12];         /* of the soft lines: N/m; kg, of the massless coordinate, 0: hard */
    int row[CSIMI_AXES_LINES];              /* in the coming step, -1: none */
    int link;                               /* slot of its joint */
} csimi_axes;

enum { CSIMI_TREE_JOINT_ROWS = 4 }; /* a joint of a tree: lower limit, upper limit, friction, drive */

/* Where bodies were when they began to be calm, and the contacts of those that sleep. */
#ifndef CONDSIM_NO_SLEEP
#define CSIMI_SLEEP_ARRAYS(X)                            \
    X(nodes, csim_real, node_anchor, 3, finite)          \
    X(rigids, csim_real, rigid_anchor, 7, finite)        \
    X(frames, csim_real, frame_anchor, 4, finite)        \
    X(tree_links, csim_real, link_anchor, 7, finite)     \
    X(slept, csim_contact_info, slept, 1, contact)       \
    X(slept_kept, csimi_kept, slept_kept, 1, kept)       \
    X(slept_touches, csim_touch_event, slept_touch, 1, touch)
#else
#define CSIMI_SLEEP_ARRAYS(X)
#endif

/* Lines of what a build leaves out are none, where no snapshot can bring it: they would be code. */
#if !defined(CONDSIM_NO_SNAPSHOTS) || !defined(CONDSIM_NO_SOFT)
#define CSIMI_SOLID_ARRAYS(X)                                                                               \
    X(tets, int, state.tet, 4, node) X(tets, csim_real, state.tet_shape, 9, finite)                         \
    X(tets, csim_real, state.tet_volume, 1, extent) X(tets, csim_real, state.tet_lame, 3, finite)           \
    X(tets, unsigned char, state.tet_material, 1, material) X(tets, csim_real, state.tet_active, 5, finite)
#else
#define CSIMI_SOLID_ARRAYS(X)
#endif
#if !defined(CONDSIM_NO_SNAPSHOTS) || !defined(CONDSIM_NO_CLOTH)
#define CSIMI_SHEET_ARRAYS(X)                                                                        \
    X(membranes, int, state.membrane, 3, node) X(membranes, int, state.membrane_beyond, 3, any_node) \
    X(membranes, csim_real, state.membrane_shape, 4, finite)                                         \
    X(membranes, csim_real, state.membrane_data, 4, extent)                                          \
    X(membranes, csim_real, state.membrane_fold, 9, finite)                                          \
    X(membranes, unsigned char, state.membrane_material, 1, material)
#else
#define CSIMI_SHEET_ARRAYS(X)
#endif
#if CSIMI_KEEPS_MESHES
#define CSIMI_SURFACE_ARRAYS(X)                                                           \
    X(surface, int, surface_node, 1, node) X(surface, csim_real, surface_rest, 3, finite) \
    X(triangles, int, triangle, 3, own) X(triangles, int, face, 3, own)                   \
    X(triangles, int, face_triangle, 1, own)
#else
#define CSIMI_SURFACE_ARRAYS(X)
#endif
#if !defined(CONDSIM_NO_SNAPSHOTS) || !defined(CONDSIM_NO_CABLE)
#define CSIMI_CABLE_ARRAYS(X)                                                                                \
    X(frames, csim_real, state.frame, 4, turn) X(frames, csim_real, state.frame_velocity, 3, finite)         \
    X(frames, csim_real, frame_rep, 3, finite) X(frames, csim_real, state.frame_inertia, 3, amount)          \
    X(frames, csim_real, state.frame_torque, 3, finite) X(frames, csim_real, state.frame_damping, 1, amount) \
    X(frames, unsigned char, state.frame_mode, 1, mode) X(frames, int, frame_body, 1, slot)                  \
    X(frames, int, state.edge_node, 2, node) X(frames, csim_real, state.edge_data, 6, extent)                \
    X(bends, csimi_bend, state.bend, 1, bend) X(bends, csim_real, state.bend_data, 8, extent)
#else
#define CSIMI_CABLE_ARRAYS(X)
#endif
#if !defined(CONDSIM_NO_SNAPSHOTS) || CSIMI_HAS_TREES
#define CSIMI_TREE_ARRAYS(X)                                                                               \
    X(trees, csimi_tree, state.tree, 1, tree) X(trees, int, tree_body, 1, slot)                            \
    X(tree_links, csimi_tree_link, state.tree_link, 1, tree_link)                                          \
    X(tree_links, csim_real, state.link_position, 7, turn)                                                 \
    X(tree_links, csim_real, state.link_pose, 7, turn)                                                     \
    X(tree_links, csim_real, state.link_target, 4, finite)                                                 \
    X(tree_links, csim_real, link_impulse, CSIMI_TREE_JOINT_ROWS, finite)                                  \
    X(tree_links, csim_real, state.link_push, 6, finite) X(tree_links, csim_real, link_reaction, 6, finite) \
    X(coords, csim_real, state.coord_rate, 3, finite) X(coords, csim_real, coord_rep, 3, finite)           \
    X(coords, csim_real, state.coord_force, 3, finite) X(coords, csim_real, state.coord_target, 3, finite) \
    X(coords, int, state.coord_limb, 2, own) X(coords, int, coord_tree, 1, tree_index)                     \
    X(coords, csim_real, state.coord_position, 3, finite) X(modal, double, state.modal, 1, double)
#else
#define CSIMI_TREE_ARRAYS(X)
#endif

/* X(axis, type, member of csimi_store, numbers per item, rule): one item per array; the axis names a field of
   csim_capacity that holds both the capacity and the count; the rule csimi_<rule>_sound judges what a snapshot says the
   array holds (intact.c). */
#define CSIMI_WORLD_ARRAYS(X)                                                                                \
    X(bodies, csimi_body, body, 1, body) X(bodies, int, body_list, 1, live_slot)                             \
    X(nodes, csim_real, state.x, 3, finite) X(nodes, csim_real, state.v, 3, finite)                          \
    X(nodes, csim_real, node_rep, 3, finite) X(nodes, csim_real, state.node_mass, 1, amount)                 \
    X(nodes, csim_real, state.node_force, 3, finite) X(nodes, csim_real, state.node_damping, 1, amount)      \
    X(nodes, csim_real, state.node_gravity, 1, finite) X(nodes, unsigned char, state.node_mode, 1, mode)     \
    X(nodes, int, node_body, 1, slot) X(nodes, int, node_user, 1, own) X(nodes, int, node_of_user, 1, own)   \
    X(nodes, int, node_aggregate, 1, own) X(nodes, int, state.node_tree, 1, any_tree)                        \
    X(rigids, csim_real, state.com, 3, finite) X(rigids, csim_real, state.rotation, 4, turn)                 \
    X(rigids, csim_real, state.velocity, 6, finite) X(rigids, csim_real, rigid_rep, 6, finite)               \
    X(rigids, csim_real, state.rigid_mass, 1, amount) X(rigids, csim_real, state.inertia, 9, finite)         \
    X(rigids, csim_real, state.wrench, 6, finite) X(rigids, csim_real, state.rigid_damping, 2, amount)       \
    X(rigids, csim_real, state.rigid_gravity, 1, finite) X(rigids, unsigned char, state.rigid_mode, 1, mode) \
    X(rigids, int, rigid_body, 1, slot) X(shapes, csim_geometry, shape, 1, geometry)                         \
    X(shapes, int, shape_body, 1, slot) X(shapes, int, shape_link, 1, own)                                   \
    X(shapes, csimi_skin, skin, 1, skin) X(hulls, csim_hull_data, hull, 1, hull) CSIMI_SOLID_ARRAYS(X)       \
    CSIMI_SHEET_ARRAYS(X) CSIMI_SURFACE_ARRAYS(X) X(links, csimi_link, link, 1, link) CSIMI_CABLE_ARRAYS(X)  \
    X(springs, csimi_place, state.spring, 2, place) X(springs, csim_real, state.spring_data, 3, amount)      \
    X(springs, int, spring_link, 1, link_slot) X(joints, csimi_joint, joint, 1, joint)                       \
    X(axes, csimi_axes, axes, 1, axes) X(axes, csim_real, state.slack_rate, 12, finite)                      \
    X(axes, csim_real, slack_rep, 12, finite) X(axes, csim_real, state.slack_force, 12, finite)              \
    CSIMI_TREE_ARRAYS(X) X(contacts, csim_contact_info, contact, 1, contact)                                 \
    X(kept, csimi_kept, kept, 1, kept) X(ended, uint64_t, ended_id, 1, id)                                   \
    X(touches, csim_touch_event, touch, 1, touch) CSIMI_SLEEP_ARRAYS(X)

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
        X(trees) X(tree_links) X(coords) X(tree_span) X(modal) X(kept) X(axes) X(touches) X(slept) X(slept_kept) \
        X(slept_touches) X(tree_rows)

/* The members of csim_capacity. */
#define CSIMI_CAPACITY_MEMBERS(X)                                                                                      \
    X(bodies) X(nodes) X(rigids) X(shapes) X(hulls) X(tets) X(membranes) X(surface) X(triangles) X(links) X(axes)      \
    X(frames) X(bends) X(matrix_blocks) X(contacts) X(pairs) X(trees) X(tree_links) X(coords) X(tree_span)             \
    X(tree_rows) X(modal) X(aggregates)

typedef struct csimi_counts {
#define CSIMI_X(axis) int axis;
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
} csimi_counts;
enum { CSIMI_AXES = sizeof(csimi_counts) / sizeof(int) };

/* The unknowns of a step are velocity blocks, kind by kind in this order: one line a kind of body.
   X(kind, axis, blocks of an item, velocity, its representative in the last step, what pushes in the coming step) */
#define CSIMI_UNKNOWNS(X)                            \
    CSIMI_NODE_UNKNOWNS(X)                           \
    X(rigid, rigids, 2, velocity, rigid_rep, wrench) \
    CSIMI_EDGE_UNKNOWNS(X)                           \
    CSIMI_COORD_UNKNOWNS(X)                          \
    CSIMI_SLACK_UNKNOWNS(X)

/* The axes in which what sleeps lies behind what is awake: X(axis). bed.c */
#define CSIMI_BED_AXES(X) \
    X(nodes) X(rigids) X(tets) X(membranes) X(frames) X(bends) X(springs) X(joints) X(trees) X(tree_links) X(coords) \
        X(modal) X(axes)

/* What those velocities move: X(axis, member of csimi_state, numbers of an item) */
#define CSIMI_POSITIONS(X) \
    CSIMI_NODE_POSITIONS(X) X(rigids, com, 3) X(rigids, rotation, 4) CSIMI_EDGE_POSITIONS(X) CSIMI_COORD_POSITIONS(X)

/* Lines of kinds that a build leaves out are none. */
#if CSIMI_HAS_NODES
#define CSIMI_NODE_UNKNOWNS(X) X(node, nodes, 1, v, node_rep, node_force)
#define CSIMI_NODE_POSITIONS(X) X(nodes, x, 3)
#else
#define CSIMI_NODE_UNKNOWNS(X)
#define CSIMI_NODE_POSITIONS(X)
#endif
#ifndef CONDSIM_NO_CABLE
#define CSIMI_EDGE_UNKNOWNS(X) X(edge, frames, 1, frame_velocity, frame_rep, frame_torque)
#define CSIMI_EDGE_POSITIONS(X) X(frames, frame, 4)
#else
#define CSIMI_EDGE_UNKNOWNS(X)
#define CSIMI_EDGE_POSITIONS(X)
#endif
#if CSIMI_HAS_TREES
#define CSIMI_COORD_UNKNOWNS(X) X(coord, coords, 1, coord_rate, coord_rep, coord_force)
#define CSIMI_COORD_POSITIONS(X) \
    X(tree_links, link_position, 7) X(tree_links, link_pose, 7) X(coords, coord_position, 3)
#else
#define CSIMI_COORD_UNKNOWNS(X)
#define CSIMI_COORD_POSITIONS(X)
#endif
#ifndef CONDSIM_NO_JOINTS
#define CSIMI_SLACK_UNKNOWNS(X) X(slack, axes, CSIMI_AXES_SLACKS, slack_rate, slack_rep, slack_force)
#else
#define CSIMI_SLACK_UNKNOWNS(X)
#endif

/* What models read of the counts: X(axis, member of csimi_state) */
#define CSIMI_STATE_COUNTS(X)      \
    X(nodes, node_count)           \
    X(rigids, rigid_count)         \
    X(tets, tet_count)             \
    X(membranes, membrane_count)   \
    X(springs, spring_count)       \
    X(frames, frame_count)         \
    X(bends, bend_count)           \
    X(trees, tree_count)           \
    X(tree_links, tree_link_count) \
    X(coords, coord_count)         \
    X(axes, axes_count)

/* Where everything lies, for queries: a tree of boxes over shapes, particles, edges of cables and whole surfaces, and
   the boxes of the triangles of these. Kept by every call that moves something; not saved: it follows from the rest. A
   leaf names a slot and a part of the body: its shape, its edge, else 0. */
typedef struct csimi_look {
#if defined(CONDSIM_NO_QUERIES) && defined(CONDSIM_NO_DRAW) && defined(CONDSIM_NO_SLEEP) && \
    defined(CONDSIM_NO_SOFT) && defined(CONDSIM_NO_CLOTH) && defined(CONDSIM_NO_CABLE) && defined(CONDSIM_NO_REDUCED)
    int boxes; /* nobody looks */
#else
    csimi_bounds_tree tree;
    int *leaf_body, *leaf_part, *leaf_next; /* [leaves] the next leaf of the same body, -1: none */
    int *body_leaf;                         /* [bodies] the first, by slot */
    int *first_box;                         /* [bodies] boxes of its triangles */
    int boxes;
    csim_real *x; /* [3 surface] positions of surface nodes */
    float *box;   /* [6 boxes] */
#endif
} csimi_look;

/* Records of csimi_store.touch stand in these groups. */
enum { CSIMI_ENDS, CSIMI_BEGINS, CSIMI_STAYS, CSIMI_LEAVES, CSIMI_ENTERS, CSIMI_INSIDE, CSIMI_TOUCH_GROUPS };

/* Events of the last step beside those of touching; not saved. Worlds without room for touching have none. */
typedef struct csimi_told {
    csim_hit_event *hit;             /* [touches] */
    csim_move_event *move;           /* [bodies] */
    csim_break_event *joint_break;   /* [joints + springs] */
    csim_sleep_event *sleep;         /* [bodies] */
    int hit_count, move_count, break_count, sleep_count;
} csimi_told;

/* Contacts of bodies: meets.c. */
typedef struct csimi_meets {
    int *head; /* [bodies] */
    int *next; /* [2 contacts] */
} csimi_meets;

typedef struct csimi_store {
    csimi_counts capacity, count; /* count.matrix_blocks: stored blocks of A */
    csimi_state state;
    csim_real *node_rep, *rigid_rep, *frame_rep; /* representative velocity of the last step */
    csimi_body *body;
    int *body_list; /* slots of live bodies in creation order, [live] */
    int *listed;    /* [bodies] by slot: its place there, or where it was until bodies before it went */
    csimi_meets meets; /* of contact */
    const int *active; /* [active_count] during a step: those it sees, in creation order */
    int active_count;
#ifndef CONDSIM_NO_SLEEP
    int bedded;            /* bodies in bed */
    csim_real bed_thickness; /* m: the largest of theirs */
    csimi_counts day;      /* what stands before the bed */
    int *active_list;      /* [bodies] where active may point */
    int *woke_list;        /* [bodies] whom the step at hand woke */
    int woke_count;
    csim_real *node_anchor, *rigid_anchor, *frame_anchor, *link_anchor;
    csimi_meets slept_meets;
    csim_contact_info *slept; /* contacts of what is asleep, as its last step left them */
    csimi_kept *slept_kept;   /* of the same, in worlds with bounded frames */
    csim_touch_event *slept_touch; /* and the pairs that touch */
#endif
    int *node_body, *node_user, *node_of_user, *node_aggregate, *rigid_body, *shape_body, *frame_body;
    csim_real *coord_rep;
    int *shape_link; /* link of the tree it is on, relative to the first; else -1 */
    int *tree_body, *coord_tree;
    csim_real *link_impulse; /* of the rows of each joint in the last step */
    csim_real *link_reaction; /* N, N m at its origin: what the joint of each gave it, of trees with reactions */
    csim_geometry *shape;
    csimi_skin *skin;
    csim_hull_data *hull;
    int *surface_node, *triangle;
    csim_real *surface_rest; /* rest positions of surface nodes */
    int *face;               /* triangles in the order of their tree, by place in the body's surface nodes */
    int *face_triangle;      /* which of the body's triangles each of them is */
    csimi_link *link;
    int *spring_link;
    csimi_joint *joint;
    csimi_axes *axes;
    csim_real *slack_rep;
    csim_contact_info *contact;
    csimi_kept *kept; /* of the same contacts, in worlds with bounded frames; others have none */
    uint64_t *ended_id;
    csim_touch_event *touch;
    csimi_told told;
    csim_block_matrix A; /* pattern and room for the values */
    csimi_look look;
    unsigned char *scratch;
    size_t scratch_bytes;
} csimi_store;

CSIM_INLINE bool csimi_link_broken(const csimi_store *s, const csimi_link *l) {
    return l->kind == CSIMI_JOINT ? s->joint[l->item].broken : l->broken;
}

/* Bytes of scratch that a world with these capacities and this solver can need. */
typedef size_t csimi_scratch_fn(const csimi_counts *capacity, const csim_solver_params *solver);

/* Islands whose next step is known (step/known.c): their figures and counts. */
typedef struct csimi_known {
    csim_certificate figure;
    int contacts, islands, largest; /* largest: blocks */
} csimi_known;

struct csim_world {
    csim_world_def def; /* but for its capacity: the largest counts seen */
    csimi_heap heap;
    /* of heap worlds: makes room for need, where lack is what is too small; null: a fixed block, and a program of such
       worlds alone is linked without it */
    csim_status (*grow)(csim_world *world, const csimi_counts *need, const char *function, const char *lack,
                        int wanted);
    csimi_scratch_fn *scratch; /* what is asked of the tail of the block, told by whoever works there */
    unsigned char *block;
    size_t block_bytes;
    uint32_t stamp;
    bool locked, pattern_stale;
    bool bed_stale;    /* somebody woke or fell asleep: bed.c */
    bool scattered;    /* contacts of the last step have been taken out of their order */
    int asleep, woken; /* bodies asleep; those that woke since the last step that was done */
    int live_bodies, free_body, free_link;
    int touches[CSIMI_TOUCH_GROUPS]; /* records of each group */
    double time, last_h;
    csimi_store store;
    csim_error error;
    csim_step_stats stats;
    uint64_t steps;        /* done; in a row, the last one among them: */
    int missed, unchecked; /* not certified; with islands that were not to be */
    int alike;             /* that ended alike, without motion, and nothing has been done since; */
    uint64_t alike_hash;   /* how */
#if !defined(CONDSIM_NO_SLEEP) && !defined(CONDSIM_TINY)
    csimi_known known;
#endif
};

/* Velocity blocks of a world with these counts. */
CSIMI_FN int csimi_blocks_of(const csimi_counts *n);
CSIMI_FN csimi_counts csimi_counts_of(const csim_capacity *capacity);
CSIMI_FN csim_capacity csimi_capacity_of(const csimi_counts *counts);

/* ---- layout.c */

/* A number of items that follows from others, or the most that nine numbers each can be counted of by an int: a world
   of that size is refused when it is laid out. */
CSIMI_FN int csimi_most_items(int64_t n);
CSIMI_FN int csimi_touches_of(int pairs); /* records of touching that so many pairs need */
/* Array i of the store, its csimi_axis, and the bytes of an item; false: there are no more. */
CSIMI_FN bool csimi_store_array(const csimi_store *store, int i, void **array, int *axis, size_t *bytes);
/* Sets every pointer of the store for its capacity, with so much scratch behind; counts when the arena counts. */
CSIMI_FN void csimi_store_layout(csimi_store *store, size_t scratch, csimi_arena *arena);
CSIMI_FN void csimi_raise(void *n, const void *least, size_t bytes); /* counts or capacities: each to at least that */
/* Makes each capacity at least need; the world is unchanged when this fails. */
CSIMI_FN csim_status csimi_ensure(csim_world *world, const csimi_counts *need, const char *function);
CSIMI_FN csim_status csimi_grow_store(csim_world *world, const csimi_counts *need, const char *function,
                                      const char *lack, int wanted); /* csim_world.grow of heap worlds */
/* Removes items [first, first + n) of one axis from every array of that axis. */
typedef enum csimi_axis {
#define CSIMI_X(axis) CSIMI_AXIS_##axis,
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
} csimi_axis;
CSIMI_FN void csimi_remove(csimi_store *store, csimi_axis axis, int first, int n);
/* Makes a gap of one item, whose bytes are any, before item `at`; there is room. */
CSIMI_FN void csimi_open_gap(csimi_store *store, csimi_axis axis, int at);
/* The last n items of the axis take the place of [first, first + n), which are those themselves or wholly before. */
CSIMI_FN void csimi_replace(csimi_store *store, csimi_axis axis, int first, int n);
/* Takes a body out of the list; names all places in it anew. */
CSIMI_FN void csimi_unlist(csim_world *w, int slot);
CSIMI_FN void csimi_list_anew(csim_world *w);

/* ---- meets.c: the contacts of each body */
CSIMI_FN void csimi_meets_layout(csimi_store *s, const csimi_counts *n, csimi_arena *arena);
CSIMI_FN void csimi_meets_clear(csimi_meets *m, const csim_contact_info *c, int count); /* before these go ... */
CSIMI_FN void csimi_meets_add(const csimi_store *s, csimi_meets *m, const csim_contact_info *c, int i);
CSIMI_FN void csimi_meets_anew(csimi_store *s);
/* Contacts of a body that goes end: their ids are reported, so that begin and end always pair up. */
CSIMI_FN void csimi_end_contacts(csim_world *w, int slot);

/* Copies the counts that models read into state. */
CSIMI_FN void csimi_sync_state(csimi_store *store);

/* ---- bed.c: what a step does not see, and waking it */

enum { CSIMI_LEVEL_SHAPES = 64 }; /* so many static ones go to bed in any world */
CSIM_INLINE bool csimi_has_bed(const csimi_counts *n) { return n->slept > 0 || n->shapes >= CSIMI_LEVEL_SHAPES; }
#ifndef CONDSIM_NO_SLEEP
CSIMI_FN size_t csimi_bed_scratch(const csimi_counts *n);
/* From here to the other, the counts of the world are those of what is awake; `all` keeps what they are. */
CSIMI_FN void csimi_open_day(csim_world *w, csimi_counts *all);
CSIMI_FN void csimi_close_day(csim_world *w, const csimi_counts *all, bool done);
/* Wakes the island of a body that is asleep, or what lies on one that is not dynamic. Every setter calls it. */
CSIMI_FN void csimi_wake(csim_world *w, int slot);
CSIMI_FN void csimi_wake_island(csim_world *w, int slot); /* nothing when it is not asleep */
CSIMI_FN void csimi_wake_all(csim_world *w);
CSIMI_FN void csimi_wake_link(csim_world *w, int link); /* all it holds on to */
/* Whether one of its shapes is a sensor. */
CSIMI_FN bool csimi_has_sensor(const csimi_store *s, const csimi_body *b);
/* Wakes what is where the body was put. */
CSIMI_FN void csimi_wake_near(csim_world *w, int slot);
/* The bodies that a link holds on to, those behind a gear too, into slot[6]; returns how many. */
CSIMI_FN int csimi_link_bodies(const csimi_store *s, const csimi_link *l, int *slot);
CSIMI_FN int csimi_sleeping_touches(const csim_world *w);  /* and ... */
CSIMI_FN int csimi_sleeping_contacts(const csim_world *w); /* of what stays asleep in the coming step */
/* Whether one of its bodies is asleep. */
CSIMI_FN bool csimi_touch_sleeps(const csimi_store *s, const csim_touch_event *e);
CSIMI_FN bool csimi_contact_sleeps(const csimi_store *s, const csim_contact_info *c);
CSIMI_FN void csimi_sleep_on(csim_world *w);     /* a step that failed woke nobody */
CSIMI_FN void csimi_forget_woken(csim_world *w); /* one that was done has the contacts of those it woke */
CSIM_INLINE bool csimi_lies(const csimi_store *s, int slot) { return s->body[slot].rest.zone == CSIMI_ZONE_BED; }
CSIM_INLINE int csimi_in_bed(const csim_world *w) { return w->store.bedded; }
CSIM_INLINE int csimi_sleeping_count(const csim_world *w) { return w->store.count.slept; }
/* Number i of all contacts, behind those of the last step. */
CSIM_INLINE const csim_contact_info *csimi_sleeping_contact(const csim_world *w, int i) {
    return w->store.slept + (i - w->store.count.contacts);
}
#else
CSIM_INLINE size_t csimi_bed_scratch(const csimi_counts *n) { return n ? 0 : 0; }
CSIM_INLINE void csimi_open_day(csim_world *w, csimi_counts *all) {
    *all = w->store.count;
    w->store.active = w->store.body_list;
    w->store.active_count = w->live_bodies;
}
CSIM_INLINE void csimi_close_day(csim_world *w, const csimi_counts *all, bool done) { (void)w, (void)all, (void)done; }
CSIM_INLINE int csimi_sleeping_touches(const csim_world *w) { return (void)w, 0; }
CSIM_INLINE bool csimi_touch_sleeps(const csimi_store *s, const csim_touch_event *e) { return (void)s, (void)e, false; }
CSIM_INLINE int csimi_sleeping_contacts(const csim_world *w) { return (void)w, 0; }
CSIM_INLINE void csimi_wake(csim_world *w, int slot) { (void)w, (void)slot; }
CSIM_INLINE void csimi_wake_link(csim_world *w, int link) { (void)w, (void)link; }
CSIM_INLINE void csimi_wake_all(csim_world *w) { (void)w; }
CSIM_INLINE void csimi_wake_near(csim_world *w, int slot) { (void)w, (void)slot; }
CSIM_INLINE void csimi_sleep_on(csim_world *w) { (void)w; }
CSIM_INLINE int csimi_in_bed(const csim_world *w) { return (void)w, 0; }
CSIM_INLINE int csimi_sleeping_count(const csim_world *w) { return (void)w, 0; }
CSIM_INLINE const csim_contact_info *csimi_sleeping_contact(const csim_world *w, int i) { return w->store.contact + i; }
CSIM_INLINE bool csimi_lies(const csimi_store *s, int slot) { return (void)s, (void)slot, false; }
#endif

/* ---- slots.c: ids, and the steps every create call takes: check, make room, write behind the counts, raise them. */

CSIMI_FN csim_status csimi_start_create(csim_world *w, const void *def, const void *id, const char *function);
/* The counts now, and one more body when no slot is free. */
CSIMI_FN csimi_counts csimi_counts_with_body(const csim_world *w);
CSIMI_FN csim_status csimi_make_room(csim_world *w, csimi_counts need, const char *function);
/* Takes a slot for a body whose data begins at the counts as they are. */
CSIMI_FN int csimi_take_body(csim_world *w, csim_body_kind kind, csim_motion motion, const csim_surface_def *surface,
                             void *user_data);
CSIMI_FN void csimi_write_node(csimi_store *s, int i, csim_vec3 x, csim_vec3 v, csim_real mass, csim_real damping,
                               csim_motion motion, int slot);
CSIMI_FN void csimi_note_high(csim_world *w); /* what world_used tells */
CSIMI_FN void csimi_finish_create(csim_world *w, int slot, csim_body_id *id);
/* Surface, sensor and pointer of a shape of a body that has its slot; and of all its shapes, after the surface of the
   body has changed. */
CSIMI_FN void csimi_write_skin(csimi_store *s, int shape, int slot, const csim_shape *from);
CSIMI_FN void csimi_spread_surface(csimi_store *s, int slot);
/* The surface of a shape, or of a body of nodes: -1. */
CSIM_INLINE const csim_surface_def *csimi_surface_def_of(const csimi_store *s, int slot, int shape) {
    return shape >= 0 ? &s->skin[shape].surface : &s->body[slot].surface;
}
/* Whether nothing meets it: a shape, or a body of nodes: -1. */
CSIM_INLINE bool csimi_is_off(const csimi_store *s, int slot, int shape) {
    return s->body[slot].disabled || (shape >= 0 && s->skin[shape].disabled);
}
/* Takes a link slot; item is its place in the array of its kind. */
CSIMI_FN int csimi_take_link(csim_world *w, csimi_link_kind kind, int item, const int *bodies, csim_real break_force);
CSIMI_FN void csimi_finish_link(csim_world *w, int slot, csim_link_id *id);
CSIMI_FN unsigned char csimi_mode_of(csim_motion motion);
CSIMI_FN csim_body_id csimi_body_id_of(const csim_world *world, int slot);
CSIMI_FN csim_status csimi_find_body(const csim_world *world, csim_body_id id, const char *function, int *slot,
                                     csim_error *error);
CSIMI_FN csim_link_id csimi_link_id_of(const csim_world *world, int slot);
CSIMI_FN csim_status csimi_find_link(const csim_world *w, csim_link_id id, const char *function, int *slot,
                                     csim_error *error);

/* ---- spans.c: where the unknowns of each kind are */

typedef struct csimi_span {
    int first, count, per;             /* block of the first item, items, blocks of an item */
    csim_real *velocity, *rep, *force; /* [3 per count] */
    bool (*held)(const csimi_store *s, int item); /* given, not solved for */
    int (*owner)(const csimi_store *s, int item); /* slot of its body */
} csimi_span;
enum {
#define CSIMI_X(kind, axis, per, velocity, rep, force) CSIMI_SPAN_##kind,
    CSIMI_UNKNOWNS(CSIMI_X)
#undef CSIMI_X
    CSIMI_SPANS
};
/* span [CSIMI_SPANS]; velocities and forces are those of state. */
CSIMI_FN void csimi_spans(const csimi_store *s, const csimi_state *state, csimi_span *span);
CSIMI_FN void csimi_mark_held(const csimi_store *s, unsigned char *held /* [blocks] */);
CSIMI_FN int csimi_block_owner(const csimi_store *s, int block);
CSIM_INLINE size_t csimi_span_bytes(const csimi_span *a) {
    return sizeof(csim_real) * 3 * (size_t)a->per * (size_t)a->count;
}

/* ---- pose.c */

CSIMI_FN csim_pose csimi_body_pose(const csimi_store *s, const csimi_state *state, int slot);
/* Pose of the axes a shape is given in: of its body, or of its link. */
CSIMI_FN csim_pose csimi_shape_pose(const csimi_store *s, const csimi_state *state, int shape);
/* The material point under a shape that is at point. */
CSIMI_FN csimi_place csimi_shape_place(const csimi_store *s, int shape, csim_vec3 point);

/* ---- look.c: keeping csimi_look */

/* Shapes, and bodies of nodes, each of which has one at least; leaves of the tree: those, and edges of cables. */
CSIM_INLINE int csimi_most_objects(const csimi_counts *n) { return n->shapes + csimi_imin(n->bodies, n->nodes); }
CSIM_INLINE int csimi_look_leaves(const csimi_counts *n) { return csimi_most_objects(n) + n->frames; }
CSIMI_FN void csimi_look_layout(csimi_look *l, const csimi_counts *n, csimi_arena *arena);
CSIMI_FN void csimi_look_clear(csimi_look *l, const csimi_counts *n);
CSIMI_FN void csimi_look_copy(csimi_store *to, const csimi_store *from);
CSIMI_FN void csimi_look_anew(csim_world *w);               /* all of it */
CSIMI_FN void csimi_look_add(csimi_store *s, int slot);     /* a body that has been written */
CSIMI_FN void csimi_look_drop(csimi_store *s, int slot);    /* before it goes */
CSIMI_FN void csimi_look_surfaces(csim_world *w);           /* after one with a surface has gone */
CSIMI_FN void csimi_look_moved(csimi_store *s, int slot);   /* all of the body; one that has not been added: nothing */
CSIMI_FN void csimi_look_node(csimi_store *s, int slot, int node, csim_vec3 from); /* one node, which was at from */
/* Everything that may have moved in a step; left: [bodies] room to say who left a box. */
CSIMI_FN void csimi_look_step(csim_world *w, unsigned char *left);
CSIMI_FN csimi_surface csimi_look_surface(const csimi_store *s, int slot);

/* change.c: mass, centre and inertia that a rigid definition gives, over those of its shapes. */
CSIMI_FN csim_status csimi_check_inertia(const csim_rigid_def *def, const char *fn, csim_mass *mass, csim_error *error);

/* Shapes of a body, or how they touch, have changed: wakes it and what is near. */
CSIMI_FN void csimi_shape_changed(csim_world *w, int slot);

/* ---- access.c, cable_state.c */

/* Whether a body of this mass and inertia [9] may move freely. */
CSIMI_FN bool csimi_rigid_weighs(csim_real mass, const csim_real *inertia);
CSIMI_FN csim_status csimi_find_cable(const csim_world *w, csim_body_id id, const char *fn, int *slot,
                                      csim_error *error);
CSIMI_FN void csimi_set_frame_velocity(csimi_store *s, int frame, csim_vec3 w);
CSIMI_FN void csimi_set_node_velocity(csimi_store *s, int node, csim_vec3 v);

/* A body of nodes as one piece; its axes are those of the world, about its centre. */
typedef struct csimi_lump {
    csim_real mass, inertia[9];
    csim_vec3 centre;
} csimi_lump;
CSIMI_FN csim_vec3 csimi_lump_centre(const csimi_store *s, const csimi_body *b);
CSIMI_FN csimi_lump csimi_lump_of(const csimi_store *s, const csimi_body *b);
CSIMI_FN void csimi_lump_velocity(const csimi_store *s, const csimi_body *b, bool end, csim_vec3 *linear,
                                   csim_vec3 *angular);
CSIMI_FN void csimi_lump_put(csimi_store *s, const csimi_body *b, csim_pose pose);
/* So that it is at a pose, turned by `turn` from where it is, after h. True: it has a way to go. */
CSIMI_FN bool csimi_lump_send(csimi_store *s, const csimi_body *b, csim_pose pose, csim_vec3 turn, csim_real h);
CSIMI_FN void csimi_lump_set_velocity(csimi_store *s, const csimi_body *b, csim_vec3 linear, csim_vec3 angular);
CSIMI_FN void csimi_lump_push(csimi_store *s, const csimi_body *b, csim_vec3 force, csim_vec3 torque);
CSIMI_FN bool csimi_lump_weigh(csimi_store *s, const csimi_body *b, csim_real mass);
CSIMI_FN void csimi_add3(csim_real *a, csim_vec3 v);

/* ---- joint_pose.c: where a joint is */

typedef struct csimi_joint_pose {
    csim_vec3 a, b, d;  /* the points, a - b */
    csim_quat base, of; /* joint axes of b, of a */
    csim_quat turn;     /* of a in the axes of b, scalar part >= 0 */
} csimi_joint_pose;
CSIMI_FN csimi_joint_pose csimi_joint_at(const csimi_state *s, const csimi_joint *j);
CSIMI_FN bool csimi_joint_has_axes(csim_joint_kind kind);
CSIMI_FN bool csimi_joint_has_coordinate(csim_joint_kind kind);
/* The coordinate; angles are taken on the turn nearest to the last one. */
CSIMI_FN csim_real csimi_nearest_turn(csim_real angle, csim_real last); /* angle + 2 pi k nearest to last */
CSIMI_FN csim_real csimi_joint_coordinate(const csimi_joint *j, const csimi_joint_pose *p);
/* The joint behind end k of a gear; null: the joint of the tree that its link hangs on. */
CSIMI_FN const csimi_joint *csimi_geared(const csim_world *w, const csimi_joint *j, int k);
CSIMI_FN csim_real csimi_gear_error(const csim_world *w, const csimi_state *s, const csimi_joint *j);
CSIMI_FN csim_real csimi_joint_unit(const csimi_joint *j); /* length that makes metres of the coordinate */
CSIMI_FN bool csimi_limit_is_lower(const csimi_joint *j);
/* How far row `which` is open at s, m, in the axes of the row. */
CSIMI_FN void csimi_joint_error(const csim_world *w, const csimi_state *s, const csimi_joint *j, int which,
                               csim_real *error);
/* Components of a row that must hold at the end of the step, as bits. */
CSIMI_FN unsigned csimi_joint_mask(const csimi_joint *j, int which);
CSIMI_FN bool csimi_joint_one_sided(const csimi_joint *j, int which);
/* ---- axes_pose.c: where the axes of a joint are */

typedef struct csimi_axes_pose {
    csimi_joint_pose at;
    csim_real q[6];       /* coordinates */
    csim_vec3 push[3];    /* directions of the first three, world axes */
    csim_vec3 turn[4];    /* of the others, per rad/s of a against b; of the cone */
    csim_real cone;       /* rad to its wall, >= 0 inside */
} csimi_axes_pose;
CSIMI_FN csimi_axes_pose csimi_axes_at(const csimi_state *s, const csimi_joint *j, const csimi_axes *ax);
/* Whether points are held against each other, and not a point against a line that turns with b. */
CSIMI_FN bool csimi_axes_points(const csimi_joint *j, const csimi_axes *ax);
CSIMI_FN bool csimi_axis_locked(csim_joint_kind kind, const csim_axis_def *axis, int i);
CSIMI_FN bool csimi_axis_used(const csim_axis_def *axis);
CSIMI_FN int csimi_axes_main(csim_joint_kind kind); /* the axis that is the coordinate of the joint, -1: none */
CSIMI_FN bool csimi_axes_turn(const csimi_joint *j); /* both ends have axes */
/* Energy of the springs, J. */
CSIMI_FN double csimi_axes_energy(const csim_world *w);

/* ---- joint_state.c */
CSIMI_FN csim_status csimi_check_axis(csim_error *e, const char *fn, csim_joint_kind kind, int i,
                                      const csim_axis_def *axis);
/* Gives a joint settings of axes, all as its kind has them. */
CSIMI_FN void csimi_axes_take(csimi_store *s, int joint);
CSIMI_FN void csimi_axes_drop(csimi_store *s, int joint);
CSIMI_FN void csimi_axes_inherit(csimi_store *s, const csimi_joint *j);
CSIMI_FN csim_status csimi_check_motor(csim_error *e, const char *fn, const csim_motor *m);

/* ---- tree_state.c, reduced_state.c */

CSIMI_FN void csimi_tree_forget(csimi_store *s, int tree); /* removes its items */
CSIMI_FN void csimi_tree_base_velocity(const csimi_store *s, int tree, const csim_real *rates, csim_vec3 *linear,
                                       csim_vec3 *angular);
CSIMI_FN void csimi_tree_set_base(csimi_store *s, int tree, csim_pose pose);
CSIMI_FN bool csimi_tree_set_base_velocity(csimi_store *s, int tree, csim_vec3 linear, csim_vec3 angular);
CSIMI_FN void csimi_limit_soften(csimi_tree_link *link, const csim_softness *limit);
CSIMI_FN void csimi_tree_push_link(csimi_store *s, int link, csim_vec3 point, csim_vec3 force, csim_vec3 torque);
CSIMI_FN void csimi_tree_stop(csimi_store *s, int tree);
/* Positions and velocities of the nodes of a reduced body that was moved; other trees have none. */
CSIMI_FN void csimi_reduced_refresh(csimi_store *s, int tree);

/* ---- snapshot.c */
CSIMI_FN void csimi_snapshot_seal(unsigned char *bytes, size_t size);
CSIMI_FN csim_status csimi_snapshot_adopt(csim_world *w, const void *buffer, size_t bytes);

/* ---- intact.c: whether bytes are a world. All that is wrong is said in *error. */

/* An array of a snapshot. */
typedef struct csimi_array {
    const char *name;
    const unsigned char *at;
    size_t stride; /* bytes of an item */
    int count;
} csimi_array;

/* A snapshot whose size is that of its counts. */
typedef struct csimi_staged {
    csim_error *error;
    const csimi_counts *n;
    int live_bodies, free_body, free_link, bedded, asleep;
    const unsigned char *bytes; /* of the arrays, anywhere */
} csimi_staged;

/* Where an array of the store, by its offset there, begins in the bytes. */
CSIMI_FN const unsigned char *csimi_staged_at(const csimi_staged *s, size_t member);
#define CSIMI_STAGED_AT(s, name) csimi_staged_at(s, offsetof(csimi_store, name))
/* Whether the tree of boxes has leaves for the bodies and shapes of a snapshot, and then, once they are there. */
CSIMI_FN bool csimi_look_fits(const csim_world *w, const csimi_staged *to);
CSIMI_FN void csimi_look_all_moved(csim_world *w);
/* Whether every index, count, choice and number is one that a world may hold. */
CSIMI_FN bool csimi_snapshot_sound(const csimi_staged *s);
/* The rest, which needs the fields of shapes, and memory: mark [bends]. */
CSIMI_FN bool csimi_snapshot_fits(const csimi_staged *s, const csim_field **known /* [shapes] */, unsigned char *mark);

/* ---- fields.c */

/* A numeric field of a definition: its place and range. */
typedef struct csimi_field {
    csim_real lowest, highest;
    uint16_t offset;
    bool open_low, open_high; /* the end itself is not allowed */
#ifndef CONDSIM_NO_ERROR_TEXT
    const char *name, *range; /* range: the same in words */
#endif
} csimi_field;
#ifndef CONDSIM_NO_ERROR_TEXT
#define CSIMI_FIELD(name, offset, lowest, highest, open_low, open_high, range) \
    { CSIM_R(lowest), CSIM_R(highest), (uint16_t)(offset), open_low, open_high, name, range }
#else
#define CSIMI_FIELD(name, offset, lowest, highest, open_low, open_high, range) \
    { CSIM_R(lowest), CSIM_R(highest), (uint16_t)(offset), open_low, open_high }
#endif
/* Lines of a table of fields. More than 1e9 m or m/s is a slip of units. */
#define CSIMI_ANY(type, field) CSIMI_FIELD(#field, offsetof(type, field), -1e9, 1e9, false, false, "-1e9..1e9")
#define CSIMI_ANY3(type, vec3) CSIMI_ANY(type, vec3.x), CSIMI_ANY(type, vec3.y), CSIMI_ANY(type, vec3.z)
#define CSIMI_ANY9(type, mat3)                                                                                      \
    CSIMI_ANY(type, mat3.m[0]), CSIMI_ANY(type, mat3.m[1]), CSIMI_ANY(type, mat3.m[2]), CSIMI_ANY(type, mat3.m[3]), \
        CSIMI_ANY(type, mat3.m[4]), CSIMI_ANY(type, mat3.m[5]), CSIMI_ANY(type, mat3.m[6]),                         \
        CSIMI_ANY(type, mat3.m[7]), CSIMI_ANY(type, mat3.m[8])
#define CSIMI_WITHIN(type, field, lowest, highest, range) \
    CSIMI_FIELD(#field, offsetof(type, field), lowest, highest, false, false, range)
#define CSIMI_AT_LEAST_0(type, field) CSIMI_WITHIN(type, field, 0, 1e15, "0..1e15")
#define CSIMI_POSITIVE(type, field) \
    CSIMI_FIELD(#field, offsetof(type, field), 0, 1e15, true, false, "above 0, at most 1e15")
#define CSIMI_UNIT(type, field) CSIMI_FIELD(#field, offsetof(type, field), 0, 1, false, false, "0..1")
#define CSIMI_COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))
CSIMI_FN csim_status csimi_check_fields(csim_error *error, const char *function, const void *def,
                                        const csimi_field *fields, int count);
CSIMI_FN csim_status csimi_check_guard(csim_error *error, const char *function, const char *def, uint32_t guard);
CSIMI_FN csim_status csimi_check_surface(csim_error *error, const char *function, const csim_surface_def *def);
CSIMI_FN csim_status csimi_check_enum(csim_error *error, const char *function, const char *field, int value, int count);
/* A pose, a quaternion, a vector under the name of their field. */
CSIMI_FN csim_status csimi_check_pose(csim_error *error, const char *function, const char *field, csim_pose pose);
CSIMI_FN csim_status csimi_check_turn(csim_error *error, const char *function, const char *field, csim_quat q);
CSIMI_FN csim_status csimi_check_vec(csim_error *error, const char *function, const char *field, csim_vec3 v);
/* x[n], null: nothing to check. */
CSIMI_FN csim_status csimi_check_reals(csim_error *error, const char *function, const char *field, const csim_real *x,
                                       int n);
/* Whether a world of this definition may use the integrator with so many trees and joints. */
CSIMI_FN csim_status csimi_check_softness(csim_error *e, const char *fn, const csim_softness *s);
CSIMI_FN bool csimi_is_soft(const csim_softness *s);
CSIMI_FN csim_status csimi_check_integrator(const csim_world_def *def, csim_integrator integrator, int trees,
                                            int joints, const char *function, csim_error *error);
#define CSIMI_GUARD 0x435344u /* "CSD" */
#define CSIMI_BLANK(type, d) /* a definition of nothing */ \
    type d;                                                \
    CSIMI_MEMSET(&d, 0, sizeof d);                         \
    d.guard = CSIMI_GUARD

#endif
