/* base/memory: where the library's memory comes from. */
#ifndef CSIM_MEMORY_H
#define CSIM_MEMORY_H

#include "status.h"

/* A source of memory. All fields zero: malloc and free (a failure under CONDSIM_NO_HEAP).
   alloc returns a block of at least size bytes aligned to align (a power of two, 64 at most), or null;
   free gets the size that was asked for. Both are called only while something is created, reserved, restored, loaded or
   destroyed, or the solver is changed; never while stepping, and never from two threads at once for one world. */
typedef struct csim_allocator {
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*free)(void *user, void *block, size_t size);
    void *user;              /* handed to both functions */
    size_t byte_limit;       /* most bytes held at any time; 0: no limit */
    size_t allocation_limit; /* most calls of alloc in all; 0: no limit */
} csim_allocator;

#endif
