/* world/tree: articulated bodies (robots) in reduced coordinates; docs/robots.md.

   A tree is a list of links, each held by one joint on a link before it or, the first one, on the world. Its unknowns
   are the rates of its joints; no joint can come apart, and a drive is part of the equations, so that stiff gains are
   stable at any step. Contact acts on any point of any link.

   Rates, forces and rows of matrices are counted in the order of the links, each with the coordinates of its joint
   (csim_tree_joint); positions alike, with 4 numbers for a ball and 7 for a floating joint. */
#ifndef CSIM_TREE_H
#define CSIM_TREE_H

#include "../model/articulation.h"
#include "joint.h"

/* A link, its joint and the drive of that joint. */
typedef struct csim_tree_link_def {
    int parent; /* an earlier link; -1 (default): the world, for the first link and only for it */
    csim_tree_joint joint;
    csim_pose frame;    /* axes of the link in those of its parent (first link: in those of the tree) at position 0;
                           unused by floating joints */
    csim_vec3 axis;     /* of revolute and prismatic joints, link axes, any length above 0; default z */
    csim_real position; /* start, rad or m; revolute and prismatic joints */
    csim_quat rotation; /* start of a ball joint: turns the frame */
    csim_real rate;     /* start, rad/s or m/s; revolute and prismatic joints */

    const csim_shape *shapes; /* [shape_count] in link axes, copied; may be none */
    int shape_count;
    csim_real density; /* kg/m^3, > 0; used when mass is 0; default 1000 */
    csim_real mass;    /* kg; 0 (default): from density and shapes; without shapes the link has none */
    csim_mat3 inertia; /* kg m^2 about the centre of mass, link axes, symmetric, positive definite; all zero (default):
                          from the shapes, scaled to mass; without shapes a point mass */
    csim_vec3 centre;  /* centre of mass, link axes, m; used when inertia is given or there are no shapes */

    csim_real lower, upper; /* limits of the position, rad or m; lower > upper (default): none. One coordinate only */
    csim_softness limit;    /* of both, from there; never pulls; default all 0: hard. A frequency is that of all that
                               hangs on the joint. Costs one coordinate in A */
    csim_real damping;      /* N m s/rad or N s/m, >= 0; default 0 */
    csim_real armature; /* inertia of the rotor seen at the joint, kg m^2 or kg, >= 0; default 0. Not for floating */
    csim_real friction; /* dry friction of the joint: largest force, N m or N, >= 0; one coordinate only */

    /* drive: force = stiffness (target - position) + rate_gain (target_rate - rate), taken at the end of the step */
    csim_real stiffness; /* N m/rad or N/m, >= 0; default 0; not for floating joints */
    csim_real rate_gain; /* N m s/rad or N s/m, >= 0; default 0 */
    csim_real effort;    /* largest force of the drive, N m or N; 0 (default): unlimited. One coordinate only */
    bool effort_later;   /* csim_tree_set_drive may give an effort where there is none yet: costs one coordinate in A.
                            default false */
    csim_real target, target_rate; /* one coordinate; a ball starts at its rotation */
    csim_real
        gravity_compensation; /* 0..1: share of the weight that hangs on the joint carried by its drive; default 0 */
} csim_tree_link_def;

/* An articulated body. */
typedef struct csim_tree_def {
    const csim_tree_link_def *links; /* [link_count] made by csim_default_tree_link_def, copied */
    int link_count;                  /* 1..1000; at most 30 coordinates from a link to the root */
    csim_pose pose;                  /* of the tree in the world; a floating first link starts there */
    csim_vec3 velocity;              /* of the origin of a floating first link, m/s */
    csim_vec3 angular_velocity;      /* of a floating first link, rad/s, world axes */
    csim_motion motion;              /* CSIM_KINEMATIC: joints keep the rates they are given */
    bool no_self_contact;            /* links never touch each other; else all but neighbours do. default false */
    bool reactions;                  /* steps tell what its joints carry: csim_tree_get_reaction. default false */
    csim_surface_def surface;        /* of all links */
    void *user_data;
    uint32_t guard;
} csim_tree_def;

/* Fixed to the world, no shapes, massless: set parent, joint and what it weighs. */
CSIM_API csim_tree_link_def csim_default_tree_link_def(void);
/* No links yet, identity pose. */
CSIM_API csim_tree_def csim_default_tree_def(void);

/* Copies the definition, checks every field and either adds the body or changes nothing. Errors name the link.
   Fails: as csim_create_rigid; CSIM_OUT_OF_RANGE also for a parent that is not before its link and for a mass matrix
   that is not positive definite (a joint that moves no mass and has no armature). */
CSIM_API csim_status csim_create_tree(csim_world *world, const csim_tree_def *def, csim_body_id *id);

/* ---- reading. All return CSIM_NULL_ARGUMENT, CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_WRONG_KIND (no tree) or
   CSIM_OUT_OF_RANGE (no such link), and write nothing then. */

/* Counts of links, of numbers in an array of positions and in an array of rates; each pointer may be null. */
CSIM_API csim_status csim_tree_sizes(const csim_world *world, csim_body_id id, int *links, int *positions, int *rates);
/* First number of a link's joint in arrays of positions and of rates, and how many rates it has; each may be null. */
CSIM_API csim_status csim_tree_link_place(const csim_world *world, csim_body_id id, int link, int *position, int *rate,
                                          int *rates);
/* Positions and (end) rates of all joints; each may be null. Quaternions are w x y z. */
CSIM_API csim_status csim_tree_get_state(const csim_world *world, csim_body_id id, csim_real *positions,
                                         csim_real *rates);
/* Link on which a link hangs; -1: the world. */
CSIM_API csim_status csim_tree_link_parent(const csim_world *world, csim_body_id id, int link, int *parent);
/* Axes of a link in the world at the end of the step. */
CSIM_API csim_status csim_tree_link_pose(const csim_world *world, csim_body_id id, int link, csim_pose *pose);
/* Velocity (end of the step) of the point of the link that is at `point` (world) now; angular may be null. */
CSIM_API csim_status csim_tree_link_velocity(const csim_world *world, csim_body_id id, int link, csim_vec3 point,
                                             csim_vec3 *linear, csim_vec3 *angular);
/* Mass matrix M [rates x rates, row-major, armature included] at the positions now (composite rigid bodies). */
CSIM_API csim_status csim_tree_mass_matrix(const csim_world *world, csim_body_id id, csim_real *M);
/* Coriolis and gravity forces C [rates]: M dv/dt + C = applied forces. */
CSIM_API csim_status csim_tree_bias(const csim_world *world, csim_body_id id, csim_real *C);
/* J [3 x rates, row-major]: velocity of the point of the link that is at `point` (world) now is J rates. */
CSIM_API csim_status csim_tree_jacobian(const csim_world *world, csim_body_id id, int link, csim_vec3 point,
                                        csim_real *J);
/* Forces [rates] that give these accelerations [rates] at the state now, gravity included: M a + C, by recursive
   Newton-Euler in O(links). */
CSIM_API csim_status csim_tree_inverse_dynamics(const csim_world *world, csim_body_id id,
                                                const csim_real *accelerations, csim_real *forces);
/* Mean forces of the last step on the joint of a link (one coordinate): its drive and its limit, N m or N; each may be
   null. */
CSIM_API csim_status csim_tree_get_effort(const csim_world *world, csim_body_id id, int link, csim_real *drive,
                                          csim_real *limit);
/* Mean force [N] and torque [N m] of the last step on a link through its joint, at the origin of the link, world axes:
   what guides it, drive, limits and friction together; each may be null. Also CSIM_WRONG_KIND: a tree made without
   csim_tree_def.reactions. */
CSIM_API csim_status csim_tree_get_reaction(const csim_world *world, csim_body_id id, int link, csim_vec3 *force,
                                            csim_vec3 *torque);
/* Link that carries a shape of csim_body_shape, whose geometry is then in the axes of that link. */
CSIM_API csim_status csim_tree_shape_link(const csim_world *world, csim_body_id id, int shape, int *link);

/* ---- setting; also CSIM_LOCKED, CSIM_NOT_FINITE. */

/* Both may be null. Quaternions are normalised here. */
CSIM_API csim_status csim_tree_set_state(csim_world *world, csim_body_id id, const csim_real *positions,
                                         const csim_real *rates);
/* Target of the drive of a joint with one coordinate. */
CSIM_API csim_status csim_tree_set_target(csim_world *world, csim_body_id id, int link, csim_real position,
                                          csim_real rate);
/* Target of the drive of a ball joint: rotation of the link in its frame, and rate in world axes. */
CSIM_API csim_status csim_tree_set_ball_target(csim_world *world, csim_body_id id, int link, csim_quat rotation,
                                               csim_vec3 rate);
/* Gains and limit of a drive, as in the definition. CSIM_OUT_OF_RANGE: an effort above 0 for a joint that was made with
   neither effort nor effort_later. */
CSIM_API csim_status csim_tree_set_drive(csim_world *world, csim_body_id id, int link, csim_real stiffness,
                                         csim_real rate_gain, csim_real effort);
/* Limits of the position of a joint with one coordinate, rad or m; lower > upper: none. What is beyond comes back. */
CSIM_API csim_status csim_tree_set_limits(csim_world *world, csim_body_id id, int link, csim_real lower,
                                          csim_real upper);
/* How its limits give way, as in the definition; all 0: hard. CSIM_OUT_OF_RANGE: soft ones for a joint that was made
   with hard ones. */
CSIM_API csim_status csim_tree_set_limit_softness(csim_world *world, csim_body_id id, int link,
                                                  const csim_softness *limit);
/* Damping [N m s/rad or N s/m] and dry friction [N m or N] of a joint, both >= 0, as in the definition. */
CSIM_API csim_status csim_tree_set_friction(csim_world *world, csim_body_id id, int link, csim_real damping,
                                            csim_real friction);
/* 0..1, as in the definition. */
CSIM_API csim_status csim_tree_set_gravity_compensation(csim_world *world, csim_body_id id, int link, csim_real share);
/* Another shape for a link, in its axes, as csim_body_add_shape does it for rigid bodies: number (may be null) becomes
   the lowest of the body that is free for this link. csim_body_set_shape replaces and removes, also those of trees.
   Mass, centre and inertia of the link stay as they are. Fails as csim_body_add_shape. */
CSIM_API csim_status csim_tree_add_shape(csim_world *world, csim_body_id id, int link, const csim_shape *shape,
                                         int *number);
/* Mass, centre and inertia of a link: given, in its axes, or those of its shapes as they are, of this density, kg/m^3,
   > 0 (sensors and shapes that are not enabled have none). Positions and rates stay. CSIM_OUT_OF_RANGE also: a joint
   would move no mass; no shape has a mass. */
CSIM_API csim_status csim_tree_set_link_mass(csim_world *world, csim_body_id id, int link, const csim_mass *mass);
CSIM_API csim_status csim_tree_set_link_density(csim_world *world, csim_body_id id, int link, csim_real density);
/* Joint forces [rates] for the next step only; they add up. */
CSIM_API csim_status csim_tree_add_forces(csim_world *world, csim_body_id id, const csim_real *forces);
/* Force [N] at a point of a link and torque [N m] on it for the next step only, world; they add up. */
CSIM_API csim_status csim_tree_add_link_force(csim_world *world, csim_body_id id, int link, csim_vec3 point,
                                              csim_vec3 force, csim_vec3 torque);
/* Impulse [N s] at a point of a link, world: all rates of the tree change at once, by M^-1 J' impulse, in O(rates^3).
   Static and kinematic trees: no change. */
CSIM_API csim_status csim_tree_add_link_impulse(csim_world *world, csim_body_id id, int link, csim_vec3 point,
                                                csim_vec3 impulse);

#endif
