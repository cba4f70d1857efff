/* threads: a csim_tasks that runs the library's loops on a few threads, where the system has POSIX ones. */
#ifndef THREADS_H
#define THREADS_H

#include "condsim.h"

typedef struct threads threads;

/* count: threads that work, the caller's included. Null: none could be made. */
threads *threads_open(int count);
csim_tasks threads_tasks(threads *t); /* serial when t is null */
void threads_close(threads *t);

#endif
