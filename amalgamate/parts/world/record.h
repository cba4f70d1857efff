/* world/record: a world's history in the caller's memory, so that a bug report is one file. docs/recording.md.

   Between two steps a recording looks at what calls have made of the world, whichever they were: bytes of a snapshot
   that differ from those after the last step are written down, then the step with its length, status and hash. Playing
   it back does the same to another world and compares. */
#ifndef CSIM_RECORD_H
#define CSIM_RECORD_H

#include "world.h"

/* A recording being made. All memory is the caller's; the fields are the library's. */
typedef struct csim_recording {
    unsigned char *log;     /* [bytes] what is to be kept: `used` bytes of it */
    size_t bytes, used;
    unsigned char *scratch; /* [scratch_bytes] */
    size_t scratch_bytes, snapshot; /* of the world after the last step; 0: none yet */
    int every, since;       /* steps between whole snapshots */
    csim_solver_params solver;
    int budget;
    uint64_t steps;
} csim_recording;

/* Scratch that recordings and replays of a world of this size need: two snapshots. */
CSIM_API size_t csim_record_scratch(const csim_world *world);
/* log and scratch: aligned to 8. every: a whole snapshot each so many steps, for seeking; 0: at the start and where a
   world changes its size alone. Fails: CSIM_NULL_ARGUMENT, CSIM_OUT_OF_RANGE. */
CSIM_API csim_status csim_record_start(csim_recording *recording, void *log, size_t bytes, void *scratch,
                                       size_t scratch_bytes, int every);
/* In the place of csim_world_step: writes down what has changed since the last step, steps, and writes down what came
   of it. Returns what the step returned. CSIM_CAPACITY without a step: log or scratch are too small; what is in the log
   stays whole. */
CSIM_API csim_status csim_record_step(csim_recording *recording, csim_world *world, csim_real h);

/* Playing a log back. */
typedef struct csim_replay {
    const unsigned char *log;
    size_t bytes, at; /* the next record */
    unsigned char *scratch;
    size_t scratch_bytes;
    int64_t step, steps; /* done; in the log */
    int64_t differs;     /* the first step whose status or hash was another one, from 1; 0: none so far */
} csim_replay;

/* Looks through a log (aligned to 8), which may come from anywhere. Fails: CSIM_NULL_ARGUMENT, CSIM_BAD_SNAPSHOT. */
CSIM_API csim_status csim_replay_open(csim_replay *replay, const void *log, size_t bytes, void *scratch,
                                      size_t scratch_bytes);
/* Takes the world to the end of a step, 0..steps: from where it is, or from the last whole snapshot before. A world
   must have the settings of the one that was recorded: its definition, fields of its meshes and callbacks are not in
   the log; solver settings, budget, gravity and integrator are. It is the replay's until it is destroyed: its ids
   become those of the recording. Stops at the first step that differs. Fails: CSIM_OUT_OF_RANGE, CSIM_CAPACITY
   (scratch), CSIM_BAD_SNAPSHOT, and what restoring fails with. */
CSIM_API csim_status csim_replay_seek(csim_replay *replay, csim_world *world, int64_t step);

#endif
