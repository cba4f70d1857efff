/* world/cable: cables, rods, ropes: chains of edges that stretch, shear, bend and twist.

   n nodes carry the mass, an edge between two of them carries a frame whose third axis is the tangent at rest. Forces
   of an edge follow the strain of its middle, moments of a joint the turn between two frames: second order in the
   length of an edge. Keep turns below 1 rad a joint. docs/cables.md. */
#ifndef CSIM_CABLE_H
#define CSIM_CABLE_H

#include "world.h"

/* How an end is held by the world. Other bodies hold it by csim_create_pin (position) and csim_create_clamp. */
typedef enum csim_cable_end {
    CSIM_CABLE_FREE,
    CSIM_CABLE_PINNED,  /* the node stands still, the cable turns about it */
    CSIM_CABLE_CLAMPED, /* and the section at the node keeps the frame it has at creation */
    CSIM_CABLE_END_COUNT_
} csim_cable_end;

/* A cable, and how it lies at the start. */
typedef struct csim_cable_def {
    const csim_real *points; /* [3 point_count] m, the nodes, copied; null (default): a straight line */
    int point_count;         /* 2..1e6; closed: 3 at least */
    csim_vec3 start, end;    /* m; of the straight line */
    int segments;            /* its edges, 1..1e6; default 16 */
    bool closed;             /* the last point is joined to the first; default false */
    const csim_real *frames; /* [4 edges] w x y z, edge axes to world, third axis along the edge, copied; null
                                (default): carried along the cable without twist */
    csim_vec3 normal;   /* direction of the first axis of the first edge where frames is null; zero (default): any */
    csim_vec3 velocity; /* m/s */
    csim_real radius;   /* m, > 0; default 0.005 */
    csim_real density;  /* kg/m^3, > 0; default 1000 */
    csim_real young;    /* Pa, > 0; default 1e6 */
    csim_real poisson;  /* -1 < nu <= 0.5; default 0.5 */
    /* Stiffness of the section; below 0 (default): that of a round one of this radius and material, E A, k G A with
       k = 6 (1 + nu) / (7 + 6 nu), E I, G J. Stretch and shear must not be 0; a cord without bending stiffness is 0. */
    csim_real stretch_stiffness, shear_stiffness; /* N */
    csim_real bend_stiffness, twist_stiffness;    /* N m^2 */
    csim_real bend_stiffness2;                    /* about the second axis; below 0 (default): as about the first */
    csim_real strain;            /* the points lie (1 + strain) apart at rest lengths, -0.9..10; default 0 */
    bool rest_as_drawn;          /* curvature and twist between the frames given are those at rest; default false */
    csim_vec3 rest_curvature;    /* where not: about the axes of the edges, 1/m; z is twist; default 0: straight */
    csim_real mass_damping;      /* alpha_M, 1/s, >= 0; default 0 */
    csim_real stiffness_damping; /* beta_K, s, >= 0; default 0 */
    csim_cable_end start_end, end_end; /* default CSIM_CABLE_FREE */
    bool self_contact; /* edges with more than four radii of cable between them may touch; default true */
    bool edge_contact; /* shapes, particles, and edges and vertices of solids and cloth are touched between the nodes
                          too, exactly; default true. false: by the nodes alone, which is cheaper and enough where edges
                          are short beside what they touch */
    csim_surface_def surface;
    void *user_data;
    uint32_t guard;
} csim_cable_def;

/* Holds the section at an end of a cable to the axes of a body as they lie now, with the bending and twisting stiffness
   of half an edge. Position is not held: add a pin. */
typedef struct csim_clamp_def {
    csim_body_id cable;
    bool at_end;       /* false: at the first node */
    csim_body_id body; /* rigid; all zero: the world */
    bool free_bend;    /* a Cardan joint: holds twist alone; default false */
    bool free_twist;   /* a swivel: holds direction alone; default false. Not both */
    uint32_t guard;
} csim_clamp_def;

/* No points yet, 16 edges, both ends free. */
CSIM_API csim_cable_def csim_default_cable_def(void);
/* Of the first node, to the world; set cable. */
CSIM_API csim_clamp_def csim_default_clamp_def(void);
/* As the create calls of world.h. Also fails with CSIM_BAD_MESH (two neighbouring points in one place, frames that do
   not point along their edges). */
CSIM_API csim_status csim_create_cable(csim_world *world, const csim_cable_def *def, csim_body_id *id);
/* Also CSIM_WRONG_KIND: cable is none, or body is no rigid body. csim_destroy_link removes it. */
CSIM_API csim_status csim_create_clamp(csim_world *world, const csim_clamp_def *def, csim_link_id *id);

/* Edges of a cable; 0 for other bodies and stale ids. Nodes are those of csim_body_get_nodes: edges + 1, or as many as
   edges when closed. The getters fail with CSIM_WRONG_KIND for other bodies. */
CSIM_API int csim_cable_edge_count(const csim_world *world, csim_body_id id);
/* Radius, m: to draw it. */
CSIM_API csim_status csim_cable_get_radius(const csim_world *world, csim_body_id id, csim_real *radius);
/* Frames as quaternions w x y z into out[edge * stride + 0..3]; stride >= 4. */
CSIM_API csim_status csim_cable_get_frames(const csim_world *world, csim_body_id id, csim_real *out, int stride);
/* Angular velocities of the frames, rad/s, world axes, into out[edge * stride + 0..2]; stride >= 3. */
CSIM_API csim_status csim_cable_get_spins(const csim_world *world, csim_body_id id, csim_real *out, int stride);
/* Force that each edge puts on its first node, N, world axes: along the tangent under tension, across it the shear;
   out[edge * stride + 0..2]. */
CSIM_API csim_status csim_cable_get_forces(const csim_world *world, csim_body_id id, csim_real *out, int stride);
/* Tension of each edge, N, along its own tangent (third axis); out[edges]. */
CSIM_API csim_status csim_cable_get_tensions(const csim_world *world, csim_body_id id, csim_real *out);
/* Moment in the section at each node, N m, world axes: what the cable after the node puts on the cable before it; 0 at
   free ends, what the clamp carries at clamped ones. out[node * stride + 0..2]. */
CSIM_API csim_status csim_cable_get_moments(const csim_world *world, csim_body_id id, csim_real *out, int stride);
/* Frame and angular velocity of one edge. Turns away from the tangent cost energy: meant for driven ends. */
CSIM_API csim_status csim_cable_set_frame(csim_world *world, csim_body_id id, int edge, csim_quat rotation,
                                          csim_vec3 angular_velocity);
/* CSIM_STATIC keeps the frame, CSIM_KINEMATIC turns it with the velocity it is given, CSIM_DYNAMIC frees it. */
CSIM_API csim_status csim_cable_set_frame_motion(csim_world *world, csim_body_id id, int edge, csim_motion motion);
/* Torque on one edge for the next step only, N m, world axes; adds up. */
CSIM_API csim_status csim_cable_add_torque(csim_world *world, csim_body_id id, int edge, csim_vec3 torque);

#endif
