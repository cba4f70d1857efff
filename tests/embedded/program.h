/* What a program for a small machine consists of; run.c drives it, on the machine and on the host. */
#ifndef PROGRAM_H
#define PROGRAM_H
#include <stddef.h>
#include <stdint.h>

enum { PROGRAM_STEPS = 200 };
int program_begin(void);      /* 0: ready */
int program_step(void);       /* 0: done */
uint64_t program_hash(void);  /* of its state */
size_t program_block(void);   /* bytes of memory that the library was given */

/* run.c: Fowler, Noll and Vo's hash of some more bytes, 1a. */
#define PROGRAM_FOLD_START 0xcbf29ce484222325u
uint64_t program_fold(uint64_t hash, const void *data, size_t bytes);

#define CONDSIM_FLOAT
#define CONDSIM_NO_HEAP
#define CONDSIM_NO_STDIO
#define CONDSIM_OWN_MATH /* the same bits on every machine */
#define CONDSIM_SQRT(x) __builtin_sqrtf(x)
#define CONDSIM_MEMCPY(d, s, n) __builtin_memcpy(d, s, n)
#define CONDSIM_MEMSET(d, c, n) __builtin_memset(d, c, n)
#define CONDSIM_IMPLEMENTATION
#endif
