/* physics_audit: judges steps of the library from outside. It is linked with the library and sees condsim.h alone,
   without the bodies: positions and velocities come from public getters, and everything that is concluded from them
   (depths, slips, momentum, energy) is worked out here again.

   Axes and units as in condsim.h; the floor is z = 0. */
#ifndef PHYSICS_AUDIT_H
#define PHYSICS_AUDIT_H

#include "condsim.h"
#include <stdbool.h>

/* ---- geometry: written apart from the library's collision */

typedef enum solid_kind { SOLID_BOX, SOLID_BALL, SOLID_CAPSULE } solid_kind;

typedef struct solid {
    solid_kind kind;
    double half[3], radius, half_height; /* m; the capsule lies along its z */
    double x[3], R[9];                   /* centre; axes as columns */
} solid;

void rotation_of(const double *q /* w x y z */, double *R);
/* Signed distance of a point to the surface, m, below 0 inside. */
double point_gap(const solid *s, const double *p);
/* Depth of the overlap by separating axes and samples, m; 0 or less: apart (then no distance). */
double solid_depth(const solid *a, const solid *b);
double floor_depth(const solid *s);
/* Nearest point of a triangle (or of a segment where c is null) as weights of its corners. */
void nearest_weights(const double *p, const double *a, const double *b, const double *c, double *weight);

/* ---- worlds */

enum { AUDIT_BODIES = 24, AUDIT_NODES = 256, AUDIT_TETS = 512 };

typedef enum body_kind { BODY_RIGID, BODY_SOFT, BODY_CABLE, BODY_CLOTH } body_kind;

typedef struct body {
    csim_body_id id;
    body_kind kind;
    bool fixed;
    int partner;                  /* the body it is pinned to, which it never touches; -1: none */
    solid shape;                  /* rigid */
    double mass, inertia[3];      /* kg, kg m^2 along the body's axes */
    double friction;
    int nodes, tets;
    double node_mass[AUDIT_NODES];
    double thickness; /* m: how far the surface lies outside the nodes */
    int tet[4 * AUDIT_TETS];
} body;

/* What a body does at one moment. */
typedef struct moment {
    double x[3], R[9], v[3], w[3];
    double node[3 * AUDIT_NODES], speed[3 * AUDIT_NODES];
} moment;

typedef struct audit_world {
    csim_world *world;
    csim_world_def def;
    double h;
    bool rigid_only, linked; /* links: their impulses are not listed among the contacts */
    int count;
    body body[AUDIT_BODIES];
} audit_world;

typedef struct audit_state {
    moment body[AUDIT_BODIES];
    double kinetic, gravity; /* own sums, J; gravity from the floor up */
    double elastic, total;   /* elastic: csim_world_totals; total: own sums where all is rigid, else the library's */
    double momentum[3];
} audit_state;

/* Towers of 3 to 8 boxes and balls whose masses span 1 to ratio kg. null: it could not be made. */
audit_world *stack_world(unsigned long long seed, double ratio, double h);
/* Boxes, balls, capsules, a chain of bodies held by pins, a soft block, a cable, a cloth. */
audit_world *heap_world(unsigned long long seed, double h);
void close_world(audit_world *w);
void read_state(const audit_world *w, audit_state *state);

/* ---- what is counted */

/* name, what it means, and the unit of the worst case. Those marked 1 are counted on all steps, the others on certified
   ones. The limits stand in checks.c. */
#define AUDIT_LIST(X)                                                                       \
    X(failed, "worlds that ended with a step that failed", "", 1)                           \
    X(missed, "steps that miss the tolerance", "", 1)                                       \
    X(two_words, "result and flag disagree", "", 1)                                         \
    X(friction, "friction not against a slip above 1 cm/s", "m/s", 0)                       \
    X(open, "open contacts that carry impulse", "m/s", 0)                                   \
    X(approach, "contacts that close faster than 1 cm/s", "m/s", 0)                         \
    X(cone, "impulses outside their cone, or that pull", "of mu lambda_n", 0)               \
    X(slip, "slip reported wrong by 1 cm/s", "m/s", 0)                                      \
    X(momentum, "momentum that does not follow the impulses", "m/s", 0)                     \
    X(spin, "angular momentum that does not", "rad/s", 0)                                   \
    X(energy, "energy gained above 0.1 %, beyond stabilisation", "share", 0)                \
    X(energy_raw, "the same, stabilisation included", "share", 0)                           \
    X(energy_missed, "the same, by steps that miss", "share", 1)                            \
    X(above_start, "steps with more energy than at the start", "share", 1)                  \
    X(hidden, "penetration 0.1 mm above the reported", "m", 1)                              \
    X(claimed, "penetration reported that is not there", "m", 1)                            \
    X(through, "steps with a body below the floor, or not finite", "", 1)

typedef enum violation {
#define AUDIT_X(name, text, unit, always) VIOLATION_##name,
    AUDIT_LIST(AUDIT_X)
#undef AUDIT_X
        VIOLATION_COUNT
} violation;

typedef struct tally {
    long worlds, steps, certified, contacts;
    long count[VIOLATION_COUNT];
    double worst[VIOLATION_COUNT];
} tally;

extern const char *const violation_text[VIOLATION_COUNT], *const violation_unit[VIOLATION_COUNT];

/* Room of one world that runs. */
typedef struct audit_run {
    audit_world *world;
    audit_state before, after;
    double first, put_in; /* energy at the start, and what stabilisation added since, J */
    tally *tally;
    const char *name; /* of the world, where every violation is to be told; null: none is */
    char about[64];   /* the bodies it is about */
    int step;
} audit_run;

/* Steps a world and judges every step. A step that fails ends the world, and is counted. */
void audit_steps(audit_run *run, int steps);

#endif
