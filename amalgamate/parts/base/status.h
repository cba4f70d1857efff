/* base/status: what a call returns, and the sentence that goes with it. */
#ifndef CSIM_STATUS_H
#define CSIM_STATUS_H

#include "config.h"

/* name, value, sentence. CSIM_OK is 0, every failure is negative; values never change once released. */
#define CSIM_STATUS_LIST(X)                                                                                  \
    X(OK, 0, "the call did what it says")                                                                    \
    X(NULL_ARGUMENT, -1, "a pointer that must not be null is null")                                          \
    X(DEF_NOT_INITIALISED, -2, "a definition was not made by its csim_default_..._def() function")           \
    X(OUT_OF_RANGE, -3, "a value lies outside its allowed range")                                            \
    X(NOT_FINITE, -4, "a value is NaN or infinite")                                                          \
    X(STALE_ID, -5, "an id names something that was destroyed or never existed")                             \
    X(WRONG_WORLD, -6, "an id belongs to another world")                                                     \
    X(WRONG_KIND, -7, "an id names a body of another kind than the call needs")                              \
    X(OUT_OF_MEMORY, -8, "the allocator returned null or a limit was reached")                               \
    X(CAPACITY, -9, "a fixed capacity is full; csim_world_stats says which and how much is needed")          \
    X(BAD_MESH, -10, "a mesh is empty, inverted, degenerate or indexes outside its vertices")                \
    X(BAD_PROBLEM, -11, "a contact problem is inconsistent or of a form this solver does not take")          \
    X(NON_FINITE_RESULT, -12, "the step produced a NaN or an infinity and was undone")                       \
    X(UNCERTIFIED, -13, "the step missed its tolerance and was undone, as on_uncertified asks")              \
    X(LOCKED, -14, "the world is stepping and cannot be changed from a callback")                            \
    X(PARSE_ERROR, -15, "a text is malformed; the error names line and reason")                              \
    X(UNSUPPORTED, -16, "a valid input that this version does not handle")                                   \
    X(FILE_ERROR, -17, "a file cannot be opened, read or written")                                           \
    X(BAD_SNAPSHOT, -18, "bytes to restore are truncated, damaged or from another build or world shape")

/* What a call returns. */
typedef enum csim_status {
#define CSIMI_X(name, value, text) CSIM_##name = value,
    CSIM_STATUS_LIST(CSIMI_X)
#undef CSIMI_X
    CSIM_STATUS_LAST_ = -19
} csim_status;

/* A failure in words: which function and field, its value, and what is allowed. Owned by the caller, or by the
   world that reports it; nothing to free. */
typedef struct csim_error {
    csim_status status;
#ifdef CONDSIM_NO_ERROR_TEXT
    char text[4]; /* always empty */
#else
    char text[240]; /* zero-terminated sentence; empty when status is CSIM_OK */
#endif
} csim_error;

/* One sentence for a status; never null; the text is constant. */
CSIM_API const char *csim_status_text(csim_status status);

#endif
