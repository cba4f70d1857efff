/* model/modes: the modes that a reduced body (world/reduced.h) deforms in, u = U q, made from a tetrahedral mesh by
   examples/modes (the program condsim-modes). Barbic and James 2005. */
#ifndef CSIM_MODES_H
#define CSIM_MODES_H

#include "../base/status.h"

#define CSIM_MODES_MOST 24

/* The beginning of a model: csim_modes_bytes(modes) bytes without pointers, the same in double and float builds. The
   numbers and indices of csim_modes_arrays follow in that order. */
typedef struct csim_modes {
    uint64_t magic, hash; /* hash of all from vertex_count on */
    uint32_t version, spare;
    int vertex_count, surface_count, triangle_count; /* of the mesh; of its surface: the nodes of a reduced body */
    int modes, linear,
        anchored;           /* q, 1..24; 1: the energy is quadratic; 1: some vertices never move, the frame neither */
    double mass, centre[3]; /* kg; of mass, mesh axes, m */
} csim_modes;

/* Where they are. U is mass-orthonormal and, unless anchored, without momentum and spin; q has the unit m sqrt(kg). */
typedef struct csim_modes_view {
    int modes;
    bool linear;
    const double *squares; /* [modes] w^2 at rest, ascending */
    const double *moments; /* [9 (modes + 1)^2] N_kl = sum m U_k U_l', U_0 = rest positions from the centre */
    const double *first;   /* [3 modes] sum m U_k */
    const double *quartic; /* energy: coefficients of q_i q_j q_k q_l, 0 <= i <= j <= k <= l <= modes, the last running
                              fastest, with q_0 = 1; none when linear */
    const double *rest;    /* [3 vertex_count] from the centre, m; vertices of the surface first */
    const double *shape;   /* [3 vertex_count][modes] U */
    const int *vertex;     /* [vertex_count] number in the mesh */
    const int *triangle;   /* [3 triangle_count] of the surface, outward */
} csim_modes_view;

/* How many bytes a model takes, to keep or copy it; modes not null. */
CSIM_API size_t csim_modes_bytes(const csim_modes *modes);
/* The arrays of a model (not null), which lie in its bytes and live as long. */
CSIM_API csim_modes_view csim_modes_arrays(const csim_modes *modes);
/* Checks bytes and gives them back as a model: *modes is bytes, which must stay while it is used. CSIM_NULL_ARGUMENT,
   CSIM_OUT_OF_RANGE (not aligned to 8), CSIM_BAD_SNAPSHOT (truncated, damaged, of another version). */
CSIM_API csim_status csim_open_modes(const void *bytes, size_t size, const csim_modes **modes, csim_error *error);

#endif
