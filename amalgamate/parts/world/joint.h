/* world/joint: hard joints between bodies, as bilateral and box rows of the problem; docs/joints.md.

   A joint costs no stiffness in A and holds at the end of the step, not only to first order: rows are corrected until
   the positions that the velocity leads to satisfy the joint (the SHAKE iteration of Ryckaert, Ciccotti and Berendsen
   1977). Islands of rigid bodies close to the rounding of the solver, about 1e-11 m. */
#ifndef CSIM_JOINT_H
#define CSIM_JOINT_H

#include "world.h"

/* What a joint holds. Its coordinate is 0 when the joint is made, and grows as a moves against b along the axis. */
typedef enum csim_joint_kind {
    CSIM_JOINT_BALL,     /* two points; any bodies */
    CSIM_JOINT_HINGE,    /* two points and an axis; coordinate: angle, rad, counted on over full turns */
    CSIM_JOINT_SLIDER,   /* a line of b and all turns; coordinate: way along the line, m */
    CSIM_JOINT_WELD,     /* everything */
    CSIM_JOINT_DISTANCE, /* the distance of two points: a massless rod; any bodies; coordinate: distance, m */
    CSIM_JOINT_ROPE,     /* distance at most length: holds when pulled; any bodies; coordinate: distance, m */
    CSIM_JOINT_GEAR,     /* the coordinates of two hinges, sliders or joints of trees: first - ratio second stays as it
                            is */
    CSIM_JOINT_WHEEL,    /* a on b: goes along z (suspension), turns about x (spin; the coordinate) and, where that axis
                            has a limit, a spring or a motor, about z (steering, CSIM_AXIS_SWING_Z) */
    CSIM_JOINT_SIX,      /* nothing: each axis as csim_joint_def.axes says */
    CSIM_JOINT_MOUSE,    /* a point of any body is drawn to a point of the world, csim_joint_set_anchor, by the springs
                            of its three axes; default 5 Hz, damping ratio 0.7 */
    CSIM_JOINT_COUNT_
} csim_joint_kind;

/* What a motor drives. */
typedef enum csim_motor_kind {
    CSIM_MOTOR_NONE,
    CSIM_MOTOR_VELOCITY, /* drives the rate of the coordinate to target, rad/s or m/s */
    CSIM_MOTOR_POSITION, /* drives the coordinate to target, rad or m, no faster than speed */
    CSIM_MOTOR_COUNT_
} csim_motor_kind;

/* Acts on the coordinate of a hinge or slider with a force within +- force; 0 with target 0: dry friction when force
   is small. Implicit: as strong as force allows, without stiffness. */
typedef struct csim_motor {
    csim_motor_kind kind;
    csim_real target; /* -1e9..1e9 */
    csim_real speed;  /* position drives, > 0; default 1e9 */
    csim_real force;  /* N or N m, >= 0; default 0 */
} csim_motor;

/* The six axes of a joint. They are those of b: x along `axis`, z as near to `axis2` as it can be. The turn of a
   against b is a twist about x first, then a swing about an axis across x; both are 0 when the joint is made. Of rods
   and ropes CSIM_AXIS_X is the distance itself, and there are no others. */
typedef enum csim_axis {
    CSIM_AXIS_X, /* m: of the point of a from the point of b */
    CSIM_AXIS_Y,
    CSIM_AXIS_Z,
    CSIM_AXIS_TWIST, /* rad, counted on over full turns */
    CSIM_AXIS_SWING_Y,
    CSIM_AXIS_SWING_Z, /* rad: parts of the rotation vector of the swing, whose length is below pi */
    CSIM_AXIS_COUNT_
} csim_axis;

/* A spring with a damper, by what it does or by how the two bodies move on it. All 0: none, and a limit is hard. */
typedef struct csim_softness {
    csim_real stiffness, damping; /* N/m and N s/m, turns N m/rad and N m s/rad; 0..1e15 */
    csim_real frequency;          /* Hz; above 0: stiffness and damping follow from it, from the damping ratio and from
                                     the mass that both bodies show along the axis, all that the joint locks held */
    csim_real ratio;              /* damping ratio: 1 is critical */
} csim_softness;

/* Whether an axis is held. */
typedef enum csim_hold {
    CSIM_HOLD_AS_KIND, /* as the kind says; an axis with a limit, a spring or a motor is free */
    CSIM_HOLD_FREE,
    CSIM_HOLD_LOCKED,
    CSIM_HOLD_COUNT_
} csim_hold;

/* What acts along one axis. All of it is implicit: no stiffness is unstable. */
typedef struct csim_axis_def {
    csim_hold hold;
    bool limited;
    csim_real lower, upper; /* lower <= upper, -1e9..1e9 m or rad */
    csim_softness limit;    /* beyond a limit, from there; never pulls */
    csim_softness spring;
    csim_real target;       /* where the spring rests; of rods: beyond length */
    csim_real rate;         /* m/s or rad/s: that the damper of the spring aims at */
    csim_real spring_force; /* N or N m: the most that the spring bears; 0: any */
    csim_motor motor;
} csim_axis_def;

/* A joint between two attachments, or a gear between two joints. */
typedef struct csim_joint_def {
    csim_joint_kind kind;       /* default CSIM_JOINT_BALL */
    csim_attachment a, b;       /* hinge, slider, weld, wheel: rigid bodies, links, the world for one */
    csim_vec3 axis;             /* x axis, world, now; normalised here; default z */
    csim_real length;           /* distance, rope: m; < 0 (default): as it is now */
    bool limited;               /* hinge, slider: the coordinate stays between lower and upper. These three and motor
                                   are for axes without settings in `axes` */
    csim_real lower, upper;     /* rad or m, lower <= upper; default 0 */
    csim_motor motor;           /* hinge, slider */
    csim_link_id first, second; /* gear: two hinges or sliders of this world; all zero: a (b) is a link of a tree, and
                                   the coordinate that of the joint it hangs on, revolute or prismatic */
    csim_real ratio;            /* gear, not 0; m per rad where the kinds differ; default 1 */
    csim_real break_force, break_torque; /* N, N m: beyond these the joint lets go for good; 0 (default): never */
    bool collide; /* default false: two rigid bodies do not touch while a joint holds them (rods, ropes and mice: do) */
    csim_vec3 axis2;       /* world: where the z axis points; default 0: anywhere across axis */
    csim_axis_def axes[6]; /* by csim_axis. Turns need rigid bodies or links, or the world for one of them */
    csim_real cone[2];     /* rad, 0..3: the swing stays in the ellipse of these half angles about y and z; default 0:
                              no cone. Both or none */
    csim_softness cone_limit; /* of its wall */
    uint32_t guard;
} csim_joint_def;

/* Where a joint is and what it carries. */
typedef struct csim_joint_state {
    csim_joint_kind kind;
    csim_real position, speed; /* of the coordinate, after the last step */
    csim_vec3 force, torque;   /* of the last step, on a at its point, world axes, N and N m; limit and motor in it */
    csim_real along;           /* part of it along the coordinate: limit and motor (gear: the coupling), N or N m */
    csim_real error, error_angle; /* how far the joint is open now: m and rad, coordinate and limits left out */
    bool broken;
    csim_body_id a, b; /* its bodies; index1 0: the world, or a joint of a gear */
} csim_joint_state;

/* Where one axis is and what acts along it. */
typedef struct csim_axis_state {
    csim_real position, speed; /* after the last step */
    csim_real force;           /* of the last step, on a: lock, limit, spring and motor together, N or N m */
    bool locked;
} csim_axis_state;

/* A ball joint between points of the world, no limits, no motor, never breaks. */
CSIM_API csim_joint_def csim_default_joint_def(void);
/* As the create calls of world.h; the joint takes the bodies as they lie now. Also CSIM_WRONG_KIND: a hinge, slider
   or weld on anything but rigid bodies and links of trees, a gear on other joints.
   csim_destroy_link removes it, a gear with its joints. A joint with settings in `axes` or a cone, and every wheel, six
   axes and mouse, takes one of capacity.axes. */
CSIM_API csim_status csim_create_joint(csim_world *world, const csim_joint_def *def, csim_link_id *id);
/* Fails: CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_WRONG_KIND (no joint), CSIM_NULL_ARGUMENT. */
CSIM_API csim_status csim_joint_get(const csim_world *world, csim_link_id id, csim_joint_state *state);
/* From the next step on; hinges and sliders. Also CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_LOCKED. */
CSIM_API csim_status csim_joint_set_motor(csim_world *world, csim_link_id id, const csim_motor *motor);
/* As limited, lower and upper of the definition; the same failures. */
CSIM_API csim_status csim_joint_set_limits(csim_world *world, csim_link_id id, bool limited, csim_real lower,
                                           csim_real upper);
/* The settings of one axis from the next step on; failures as of csim_create_joint. A joint that had none anywhere
   takes one of capacity.axes. CSIM_WRONG_KIND: a gear, a rope, turns of nodes. */
CSIM_API csim_status csim_joint_set_axis(csim_world *world, csim_link_id id, csim_axis axis, const csim_axis_def *def);
/* CSIM_WRONG_KIND: a gear, or a joint without settings of axes. */
CSIM_API csim_status csim_joint_get_axis(const csim_world *world, csim_link_id id, csim_axis axis,
                                         csim_axis_state *state);
/* Moves the point of the world that a joint holds on to: the target of a mouse. CSIM_WRONG_KIND: b is not the world. */
CSIM_API csim_status csim_joint_set_anchor(csim_world *world, csim_link_id id, csim_vec3 point);
/* Every joint of the world, pins included, or those of a body: writes at most capacity ids (null with capacity 0) and
   returns how many there are; -1: a stale id. Gears are no joints of a body. */
CSIM_API int csim_world_joints(const csim_world *world, csim_link_id *ids, int capacity);
CSIM_API int csim_body_joints(const csim_world *world, csim_body_id body, csim_link_id *ids, int capacity);
/* Joints and springs that broke in the last step: writes at most capacity ids (null with capacity 0) and returns how
   many there are. A broken one holds nothing and stays until it is destroyed. */
CSIM_API int csim_world_broken(const csim_world *world, csim_link_id *ids, int capacity);

#endif
