/* cast: what the live page draws, kept in memory. cast.c answers the calls of replay.h, which picture.c makes, with
   arrays in the place of a file. */
#ifndef CAST_H
#define CAST_H

enum { CAST_PIECE, CAST_SURFACE, CAST_POINTS, CAST_FLOOR, CAST_KINDS };

typedef struct cast_item {
    int kind, colour, vertex_count, triangle_count;
    float *vertex; /* [3 vertex_count]: of a piece in its own axes, of surfaces and points as they lie now */
    int *triangle; /* [3 triangle_count] */
    float radius;  /* points */
    int like;      /* the item whose colour it has: itself, unless it is a copy */
    float pose[7]; /* pieces: position, quaternion w first. Floors: point, normal */
} cast_item;

enum { CAST_CONTACT_NUMBERS = 7, CAST_CONTACTS = 4000 };

typedef struct cast {
    cast_item *item;
    int count, room;
    int contact_count;
    float contact[CAST_CONTACT_NUMBERS * CAST_CONTACTS]; /* point, force in N, REPLAY_STICK or REPLAY_SLIP */
} cast;

/* The one that replay_open filled last; of no use before. */
const cast *cast_now(void);
/* Leaves a copy of a piece as it is now. -1: out of memory. */
int cast_stay(int piece);
/* A plate under the plane of floor i, so far each way. -1: out of memory. */
int cast_plate(int floor, float reach);

#endif
