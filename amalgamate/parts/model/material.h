/* model/material: elastic materials of solids and cloth, and their activation. */
#ifndef CSIM_MATERIAL_H
#define CSIM_MATERIAL_H

#include "../math/vec3.h"

/* Isotropic hyperelastic laws; all agree with Hooke's law of the same E and nu at small strain. */
typedef enum csim_material {
    CSIM_COROTATIONAL,        /* linear in the stretches; loses volume when pulled far; the fastest, the default */
    CSIM_NEO_HOOKEAN,         /* stable neo-Hookean (Smith et al. 2018): keeps its volume, recovers from inversion */
    CSIM_ST_VENANT_KIRCHHOFF, /* linear in Green's strain; softens below 0.58 of its length: not to be crushed */
    CSIM_MATERIAL_COUNT_
} csim_material;

/* Stress that a material makes by itself, on top of its elasticity. */
typedef struct csim_activation {
    csim_real pressure; /* Pa, > 0 inflates: energy -pressure (J - 1) per rest volume, a chamber filled with gas */
    csim_real tension;  /* Pa of the rest section, > 0 contracts along the fibre: energy tension (|F fibre| - 1) */
    csim_vec3 fibre;    /* direction in the rest shape, any length; used when tension is not 0 */
} csim_activation;

#endif
