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
    CSIM_JOINT_GEAR,     /* the coordinates of two hinges or sliders: first - ratio second stays as it is */
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

/* A joint between two attachments, or a gear between two joints. */
typedef struct csim_joint_def {
    csim_joint_kind kind;       /* default CSIM_JOINT_BALL */
    csim_attachment a, b;       /* hinge, slider, weld: rigid bodies, or the world for one of them; gear: unused */
    csim_vec3 axis;             /* hinge, slider: world axes, now; normalised here; default z */
    csim_real length;           /* distance, rope: m; < 0 (default): as it is now */
    bool limited;               /* hinge, slider: the coordinate stays between lower and upper */
    csim_real lower, upper;     /* rad or m, lower <= upper; default 0 */
    csim_motor motor;           /* hinge, slider */
    csim_link_id first, second; /* gear: two hinges or sliders of this world */
    csim_real ratio;            /* gear, not 0; m per rad where the kinds differ; default 1 */
    csim_real break_force, break_torque; /* N, N m: beyond these the joint lets go for good; 0 (default): never */
    bool collide; /* default false: two rigid bodies in a ball, hinge, slider or weld do not touch while it holds */
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
} csim_joint_state;

/* A ball joint between points of the world, no limits, no motor, never breaks. */
CSIM_API csim_joint_def csim_default_joint_def(void);
/* As the create calls of world.h; the joint takes the bodies as they lie now. Also CSIM_WRONG_KIND: a hinge, slider or
   weld on anything but rigid bodies, a gear on other links. csim_destroy_link removes it, a gear with its joints. */
CSIM_API csim_status csim_create_joint(csim_world *world, const csim_joint_def *def, csim_link_id *id);
/* Fails: CSIM_STALE_ID, CSIM_WRONG_WORLD, CSIM_WRONG_KIND (no joint), CSIM_NULL_ARGUMENT. */
CSIM_API csim_status csim_joint_get(const csim_world *world, csim_link_id id, csim_joint_state *state);
/* From the next step on; hinges and sliders. Also CSIM_OUT_OF_RANGE, CSIM_NOT_FINITE, CSIM_LOCKED. */
CSIM_API csim_status csim_joint_set_motor(csim_world *world, csim_link_id id, const csim_motor *motor);
/* As limited, lower and upper of the definition; the same failures. */
CSIM_API csim_status csim_joint_set_limits(csim_world *world, csim_link_id id, bool limited, csim_real lower,
                                           csim_real upper);
/* Joints that broke in the last step: writes at most capacity ids (null with capacity 0) and returns how many there
   are. A broken joint holds nothing and stays until it is destroyed. */
CSIM_API int csim_world_broken(const csim_world *world, csim_link_id *ids, int capacity);

#endif
