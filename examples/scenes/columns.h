/* columns: what is recorded of every step, and what is said of it at the end. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "scene.h"
#include <stdio.h>

/* name, value from the stats t and the totals e after a step; status is a csim_result, penetration m, energies J;
   step_ms, the whole call, is written by who keeps the clock. */
#define COLUMN_LIST(X)                                 \
    X(step, (double)t->step)                           \
    X(time, t->time)                                   \
    X(contacts, t->contacts)                           \
    X(iterations, t->iterations)                       \
    X(status, (double)(int)t->result)                  \
    X(dynamics, t->certificate.dynamics)               \
    X(contact, t->certificate.contact)                 \
    X(velocity, t->certificate.velocity)               \
    X(work, t->certificate.work)                       \
    X(penetration, t->penetration)                     \
    X(approach, t->certificate.approach)               \
    X(complementarity, t->certificate.complementarity) \
    X(cone, t->certificate.cone)                       \
    X(dissipation, t->certificate.dissipation)         \
    X(kinetic, e.kinetic)                              \
    X(potential, e.gravity + e.elastic)                \
    X(assembly_ms, 1e3 * t->assembly_seconds)          \
    X(collide_ms, 1e3 * t->collide_seconds)            \
    X(solve_ms, 1e3 * t->solve_seconds)                \
    X(step_ms, 0)                                      \
    X(memory_bytes, (double)t->memory_bytes)

enum {
#define COLUMN_X(name, value) COLUMN_##name,
    COLUMN_LIST(COLUMN_X)
#undef COLUMN_X
        COLUMN_COUNT
};

/* Means are over the steps with contacts but the first of them, which starts cold and stands in first; largest values
   are over all steps. */
typedef struct column_sums {
    double sum[COLUMN_COUNT], max[COLUMN_COUNT], first[COLUMN_COUNT];
    int steps, contact_steps, capped, stalled, uncertified;
} column_sums;

/* Of the world after the step whose stats are t. */
void columns_of(const csim_world *w, const csim_step_stats *t, double *value /* [COLUMN_COUNT] */);
void columns_add(column_sums *sums, const csim_step_stats *t, const double *value);
double columns_mean(const column_sums *sums, int column);
void columns_write_header(FILE *file);
void columns_write_row(FILE *file, const double *value);
/* name=value lines. */
void columns_write_summary(FILE *file, const column_sums *sums);

#endif
