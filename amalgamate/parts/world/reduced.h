/* world/reduced: solids that deform in a few modes (model/modes.h) and carry a floating frame; docs/reduced.md.

   Unknowns are the velocity of the centre of mass, the angular velocity of the frame and the rates of q, one dense
   block as of a tree. Nodes of the body (csim_body_get_nodes, forces, springs, contact) are the surface vertices of its
   model, in the order of csim_modes_view.vertex; they follow and cannot be set. Contact acts on any vertex and face. */
#ifndef CSIM_REDUCED_H
#define CSIM_REDUCED_H

#include "../model/modes.h"
#include "world.h"

/* A body of a model, and how it starts. */
typedef struct csim_reduced_def {
    const csim_modes *modes;     /* copied as far as its surface goes */
    csim_pose pose;              /* of the mesh axes at q = 0 */
    csim_vec3 velocity;          /* of the centre of mass, m/s; 0 for an anchored body */
    csim_vec3 angular_velocity;  /* of the frame, rad/s, world axes; 0 for an anchored body */
    const csim_real *q, *rate;   /* [modes] start, m sqrt(kg) and per s; null (default): 0 */
    csim_motion motion;          /* CSIM_KINEMATIC: moves as it is told, stiff */
    csim_real mass_damping;      /* alpha_M, 1/s, >= 0; default 0; slows the whole body */
    csim_real stiffness_damping; /* beta_K, s, >= 0; default 1e-3; of the stiffness at rest */
    bool corner_contact;         /* corners and edges of rigid shapes touch its surface too; default false */
    csim_surface_def surface;
    void *user_data;
    uint32_t guard;
} csim_reduced_def;

/* No modes yet; the defaults above. */
CSIM_API csim_reduced_def csim_default_reduced_def(void);
/* Like the create functions of world.h: checks every field, then adds the body or changes nothing. */
CSIM_API csim_status csim_create_reduced(csim_world *world, const csim_reduced_def *def, csim_body_id *id);
/* Adds what one such body needs to capacity, for worlds in a fixed block. */
CSIM_API void csim_reduced_needs(const csim_modes *modes, csim_capacity *capacity);

/* q and its rates at the end of the step, [modes] each, null when not wanted. CSIM_NULL_ARGUMENT, CSIM_STALE_ID,
   CSIM_WRONG_WORLD, CSIM_WRONG_KIND, and nothing is written then; the setter also CSIM_LOCKED, CSIM_NOT_FINITE. */
CSIM_API csim_status csim_reduced_get_state(const csim_world *world, csim_body_id id, csim_real *q, csim_real *rate);
CSIM_API csim_status csim_reduced_set_state(csim_world *world, csim_body_id id, const csim_real *q,
                                            const csim_real *rate);
#endif
