/* base/parallel: the one hook through which work is spread over threads. */
#ifndef CSIM_PARALLEL_H
#define CSIM_PARALLEL_H

#include "config.h"

/* A range of work: handles the items begin <= i < end. */
typedef void csim_range_fn(void *context, int begin, int end);

/* How loops run. All fields zero: serially, or by OpenMP under CONDSIM_OPENMP. The library cuts a loop into fixed
   ranges whose results do not depend on which thread runs them, so every choice gives the same bits. */
typedef struct csim_tasks {
    /* calls fn(context, begin, end) for ranges that cover [0, count) once each, every begin a multiple of grain,
       every range at most grain long, in any order and on any thread; returns when all are done */
    void (*run)(void *user, int count, int grain, csim_range_fn *fn, void *context);
    void *user; /* handed to run */
} csim_tasks;

#endif
