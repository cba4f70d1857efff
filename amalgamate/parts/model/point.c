/* model/point: points with a mass: particles, vertices of solids and cloth, nodes of cables. */
#include "private.h"

/* Lumped masses of particles and of the vertices of solids: inertia, weight, user forces, mass damping. */
CSIMI_FN void csimi_point_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csim_real h = step->h, inverse_theta = 1 / step->theta;
    int i, c;
    for (i = 0; i < s->node_count; i++) {
        csim_real *D = system->A.val + 9 * (size_t)system->A.diag[i], *b = system->b + 3 * (size_t)i;
        const csim_real *vk = system->vk + 3 * (size_t)i, *force = s->node_force + 3 * (size_t)i;
        csim_real mass = s->node_mass[i], inertia = mass * (inverse_theta + h * s->node_damping[i]);
        for (c = 0; c < 3; c++) {
            D[4 * c] += inertia;
            b[c] += mass * inverse_theta * vk[c] + h * (force[c] + mass * (s->node_gravity[i] * s->gravity[c]));
        }
    }
}

CSIMI_FN void csimi_point_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next) {
    int i;
    for (i = 0; i < 3 * s->node_count; i++) next->x[i] = s->x[i] + step->h * v[i];
}

CSIMI_FN void csimi_point_energy(const csimi_state *s, csimi_energy *energy) {
    int i, c;
    for (i = 0; i < s->node_count; i++)
        for (c = 0; c < 3; c++) {
            double v = (double)s->v[3 * i + c], mass = (double)s->node_mass[i];
            energy->kinetic += mass * v * v / 2;
            energy->gravity -= mass * (double)(s->node_gravity[i] * s->gravity[c]) * (double)s->x[3 * i + c];
        }
}
