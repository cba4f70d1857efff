/* world/alter: bodies and their shapes changed and listed while a world runs; docs/bodies.md.

   Setters return CSIM_NULL_ARGUMENT, CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_LOCKED, CSIM_NOT_FINITE, CSIM_OUT_OF_RANGE
   or CSIM_WRONG_KIND and change nothing then; getters the first three and CSIM_OUT_OF_RANGE (no such shape). What is
   set holds from the next step on and is part of snapshots. */
#ifndef CSIM_ALTER_H
#define CSIM_ALTER_H

#include "world.h"

/* ---- surfaces: friction, restitution, filter, conveyor */

/* The surface of a body: of all its shapes that have none of their own, or of its nodes. */
CSIM_API csim_status csim_body_get_surface(const csim_world *world, csim_body_id id, csim_surface_def *surface);
CSIM_API csim_status csim_body_set_surface(csim_world *world, csim_body_id id, const csim_surface_def *surface);
/* Parts of it. */
CSIM_API csim_status csim_body_set_restitution(csim_world *world, csim_body_id id, csim_real restitution);
CSIM_API csim_status csim_body_set_filter(csim_world *world, csim_body_id id, uint32_t category, uint32_t mask,
                                          int group);
/* Of one shape, as csim_body_shape counts; links of trees have theirs one after the other. null: that of its body. */
CSIM_API csim_status csim_body_get_shape_surface(const csim_world *world, csim_body_id id, int shape,
                                                 csim_surface_def *surface);
CSIM_API csim_status csim_body_set_shape_surface(csim_world *world, csim_body_id id, int shape,
                                                 const csim_surface_def *surface);
/* Whether a shape detects and does not touch. Mass and inertia stay as they are. */
CSIM_API csim_status csim_body_get_shape_sensor(const csim_world *world, csim_body_id id, int shape, bool *sensor);
CSIM_API csim_status csim_body_set_shape_sensor(csim_world *world, csim_body_id id, int shape, bool sensor);
/* The link of a tree that a shape is on; -1: of other bodies. */
CSIM_API csim_status csim_body_get_shape_link(const csim_world *world, csim_body_id id, int shape, int *link);

/* ---- shapes added, replaced, removed, switched off; of links of trees too. A shape keeps its number: that of one
   removed belongs to none (calls with it return CSIM_OUT_OF_RANGE) until the next is added. Mass, centre and inertia
   stay as they are; csim_body_set_density takes them from the shapes anew. Contacts and events of a shape that is no
   longer there end in the next step; where another has its number and touches the same, they go on. */

/* Another shape for a rigid body (a link: csim_tree_add_shape), in body axes, copied: number (may be null) becomes
   the lowest that is free. Fails: also what csim_shape_bake fails with; CSIM_CAPACITY, CSIM_OUT_OF_MEMORY;
   CSIM_OUT_OF_RANGE: a half-space, heights or triangles on a body that is not static, more than 10000 shapes. */
CSIM_API csim_status csim_body_add_shape(csim_world *world, csim_body_id id, const csim_shape *shape, int *number);
/* Another shape, surface, sensor flag and pointer under the number of one that is there; null: removes it. On
   trees it stays on its link. Fails as csim_body_add_shape. */
CSIM_API csim_status csim_body_set_shape(csim_world *world, csim_body_id id, int shape, const csim_shape *to);
/* A shape that is not enabled is met by nothing, as a body that is not. Default true. */
CSIM_API csim_status csim_body_set_shape_enabled(csim_world *world, csim_body_id id, int shape, bool enabled);
CSIM_API csim_status csim_body_get_shape_enabled(const csim_world *world, csim_body_id id, int shape, bool *enabled);
/* Mass, centre and inertia of a rigid body (a link: csim_tree_set_link_density) from its shapes as they are, of this
   density, kg/m^3, > 0, as csim_create_rigid takes them (of a hull: those of its corners); sensors and shapes that are
   not enabled have none. Positions and velocities follow as with csim_body_set_mass. CSIM_OUT_OF_RANGE: no shape has a
   mass. */
CSIM_API csim_status csim_body_set_density(csim_world *world, csim_body_id id, csim_real density);

/* ---- pointers of the user */

/* Another pointer for a body. The library carries pointers of users and never follows them. */
CSIM_API csim_status csim_body_set_user_data(csim_world *world, csim_body_id id, void *user_data);
/* The pointer of a shape, as its definition gave it or as it was set last. */
CSIM_API csim_status csim_body_get_shape_user_data(const csim_world *world, csim_body_id id, int shape,
                                                   void **user_data);
/* Another pointer for a shape; null is one. */
CSIM_API csim_status csim_body_set_shape_user_data(csim_world *world, csim_body_id id, int shape, void *user_data);

/* ---- how a body moves */

/* Linear and angular damping of a rigid body or cable (there of its nodes, and of the turns of its edges), 1/s, >= 0.
   Of all others the linear one: of nodes of a particle, solid or cloth, and of all motion of a tree or reduced body (a
   force of -linear M rates, turns too; joints have damping of their own: csim_tree_set_friction). */
CSIM_API csim_status csim_body_set_damping(csim_world *world, csim_body_id id, csim_real linear, csim_real angular);
/* Each may be null; angular is 0 where there is none. Of bodies of nodes that of the first. */
CSIM_API csim_status csim_body_get_damping(const csim_world *world, csim_body_id id, csim_real *linear,
                                           csim_real *angular);
/* Gravity of this body as a share of the world's; default 1, 0: none, < 0: it rises. -1000..1000. */
CSIM_API csim_status csim_body_get_gravity_scale(const csim_world *world, csim_body_id id, csim_real *scale);
CSIM_API csim_status csim_body_set_gravity_scale(csim_world *world, csim_body_id id, csim_real scale);
/* Mass, centre and inertia of a rigid body, as csim_body_get_mass tells them; its axes stay where they are, and the
   velocity of the new centre is that of the point there. Bodies of nodes: the mass alone counts, of which nodes and
   edges keep their shares. Trees (csim_tree_set_link_mass) and reduced bodies: CSIM_WRONG_KIND. */
CSIM_API csim_status csim_body_set_mass(csim_world *world, csim_body_id id, const csim_mass *mass);
/* A body that is not enabled stands still as a static one and is met by nothing: no contact, no sensor, no query. It
   gets its motion back with `true`, at rest. Single nodes that were static or kinematic do not: then the motion of
   the body is theirs. */
CSIM_API csim_status csim_body_set_enabled(csim_world *world, csim_body_id id, bool enabled);
CSIM_API csim_status csim_body_get_enabled(const csim_world *world, csim_body_id id, bool *enabled);
/* The velocity with which a kinematic body is at a pose after a step of h seconds, as csim_body_set_pose puts it there,
   which it keeps: to be set before every step. Nodes go straight. CSIM_WRONG_KIND: a body that is not kinematic, a tree
   whose first link does not float, an anchored reduced body; CSIM_OUT_OF_RANGE: h beyond 1e-7..1 s. */
CSIM_API csim_status csim_body_move_to(csim_world *world, csim_body_id id, csim_pose pose, csim_real h);

/* ---- forces at points, of every kind of body. A rigid body is pushed at the point itself, wherever that is; a tree
   there too, on the link whose shape is nearest (without shapes: CSIM_WRONG_KIND; csim_tree_add_link_force names the
   link); all others at the point of them that is nearest: of the surface of a solid, cloth or reduced body, within the
   radius of a cable, the particle. That is where queries hit. */

/* Force [N] at a point of the world for the next step only; adds up. */
CSIM_API csim_status csim_body_add_force_at(csim_world *world, csim_body_id id, csim_vec3 force, csim_vec3 point);
/* Impulse [N s] at a point of the world: velocities change at once, by M^-1 J' impulse. Static and kinematic bodies and
   nodes: no change. */
CSIM_API csim_status csim_body_add_impulse_at(csim_world *world, csim_body_id id, csim_vec3 impulse, csim_vec3 point);

/* ---- lists. Each writes at most capacity items (null with capacity 0) and returns how many there are; 0 for stale
   ids and null. */

/* Springs, joints, clamps and exclusions, of the world or of one body, by slot. */
CSIM_API int csim_world_links(const csim_world *world, csim_link_id *out, int capacity);
CSIM_API int csim_body_links(const csim_world *world, csim_body_id id, csim_link_id *out, int capacity);
/* Contacts of the last step that a body has, in their order. */
CSIM_API int csim_body_contacts(const csim_world *world, csim_body_id id, csim_contact_info *out, int capacity);

#endif
