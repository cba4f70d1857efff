/* world/particle: making particles. */
#include "private.h"

CSIM_API csim_status csim_create_particle(csim_world *w, const csim_particle_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_particle";
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_particle_def, position), CSIMI_ANY3(csim_particle_def, velocity),
        CSIMI_FIELD("mass", offsetof(csim_particle_def, mass), (double)CSIMI_TINY, 1e15, true, false,
                    "above " CSIMI_TINY_WORD ", at most 1e15"),
        CSIMI_AT_LEAST_0(csim_particle_def, radius), CSIMI_AT_LEAST_0(csim_particle_def, damping),
    };
    csimi_counts need;
    csimi_store *s;
    int slot, node;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_particle_def()", def->guard)) != 0)
        return status;
    if ((status = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if ((status = csimi_check_enum(&w->error, fn, "motion", (int)def->motion, CSIM_MOTION_COUNT_)) != 0) return status;
    if ((status = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return status;
    need = csimi_counts_with_body(w);
    need.nodes++;
    need.matrix_blocks++;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    slot = csimi_take_body(w, CSIM_PARTICLE, def->motion, &def->surface, def->user_data);
    node = s->count.nodes++;
    csimi_write_node(s, node, def->position, def->motion == CSIM_STATIC ? csim_v3(0, 0, 0) : def->velocity, def->mass,
                     def->damping, def->motion, slot);
    s->node_user[node] = s->node_of_user[node] = 0;
    s->node_aggregate[node] = -1;
    s->body[slot].node_count = 1;
    s->body[slot].radius = def->radius;
    s->body[slot].matrix_blocks = 1;
    s->count.matrix_blocks++;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}
