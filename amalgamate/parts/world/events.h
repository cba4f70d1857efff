/* world/events: what happened in the last step: who began to touch, who hit whom, what moved, what broke.

   Shapes touch from the step on in which they press on each other or begin it at most touch_distance apart
   (csim_world_def), until one that they begin more than twice that far apart without pressing: what rests reports
   nothing. Each pair begins and ends in turns, whatever happens in between: bodies destroyed, filters changed, worlds
   saved and restored. Events are told by the step that comes after their cause.

   A shape that is a sensor (csim_shape) never touches: it sees what comes as near as that, by the same two distances,
   of bodies of every kind, static ones too; its own body and other sensors it does not see. docs/events.md. */
#ifndef CSIM_EVENTS_H
#define CSIM_EVENTS_H

#include "world.h"

/* Two shapes that touch, began to or no longer do. Bodies of nodes are one shape. */
typedef struct csim_touch_event {
    csim_body_id body_a, body_b;     /* a has the lower slot; an end may name bodies that are gone */
    void *user_data_a, *user_data_b; /* of the bodies, also of those that are gone */
    int shape_a, shape_b;            /* in their bodies; -1: the nodes, edges and triangles of a body without shapes */
    void *shape_user_data_a, *shape_user_data_b; /* null: of a body without shapes */
    bool bodies; /* of the two bodies this is the first pair of shapes that touches, or the last that no longer does:
                    events with it are those of pairs of bodies */
} csim_touch_event;

/* Two shapes that came on faster than hit_speed (csim_world_def), told by the step that stopped them. */
typedef struct csim_hit_event {
    csim_body_id body_a, body_b;
    void *user_data_a, *user_data_b;
    int shape_a, shape_b;    /* this and the next as in csim_touch_event */
    void *shape_user_data_a, *shape_user_data_b;
    csim_vec3 point, normal; /* world axes, of the contact that came fastest; from b to a */
    csim_real speed;         /* m/s: at which it came, before the first step that foresaw it */
    csim_vec3 impulse;       /* N s, world axes, on a: sum over the contacts of the two shapes, in this step and, where
                                that foresaw it, in the one before */
} csim_hit_event;

/* A body that the step moved: a number of its pose, of one of its links or nodes is another than before. */
typedef struct csim_move_event {
    csim_body_id body;
    void *user_data;
    csim_pose pose; /* as csim_body_get_pose tells it */
} csim_move_event;

/* A joint or spring that broke; it stays until it is destroyed. */
typedef struct csim_break_event {
    csim_link_id joint;
    csim_body_id body_a, body_b; /* all zero: the world */
    void *user_data_a, *user_data_b;
} csim_break_event;

/* A body that fell asleep or woke. */
typedef struct csim_sleep_event {
    csim_body_id body;
    void *user_data;
    int island;  /* bodies that fell asleep together have the same number, those that woke by themselves -1 */
    bool asleep; /* false: it woke */
} csim_sleep_event;

/* Arrays of the last step that happened, in a deterministic order. They are the world's and valid until the next call
   that changes it. */
typedef struct csim_events {
    const csim_touch_event *ends, *begins;
    const csim_touch_event *touching; /* all that touch; those that began first */
    const csim_touch_event *sensor_ends, *sensor_begins; /* a is the sensor, b what it no longer sees, begins to see */
    const csim_touch_event *sensing;                     /* all that sensors see; what they began to first */
    const csim_hit_event *hits;
    const csim_move_event *moves;
    const csim_break_event *breaks;
    const csim_sleep_event *sleeps;
    int end_count, begin_count, touching_count, sensor_end_count, sensor_begin_count, sensing_count;
    int hit_count, move_count, break_count, sleep_count;
} csim_events;

/* Everything that happened in the last step; all zero before the first and for null. After csim_world_restore what
   touched, and what sensors saw, in the step that was saved; the other arrays are empty. */
CSIM_API csim_events csim_world_events(const csim_world *world);

#endif
