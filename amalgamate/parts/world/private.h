/* world/private: definitions and calls of users. */
#ifndef CSIMI_WORLD_PRIVATE_H
#define CSIMI_WORLD_PRIVATE_H

#include "../step/private.h"
#include "queries.h"
#include "character.h"
#include "draw.h"
#include "record.h"

/* ---- scratch of create calls */

CSIMI_FN csim_status csimi_set_solver(csim_world *w, const csim_solver_params *params, int budget,
                                      const char *function);
CSIMI_FN size_t csimi_mesh_scratch(const csimi_counts *n);    /* soft.c: to study a mesh */
CSIMI_FN size_t csimi_cloth_scratch(const csimi_counts *n);   /* cloth.c: the same */
CSIMI_FN size_t csimi_tree_scratch(const csimi_counts *n);    /* tree.c: to check one */
CSIMI_FN size_t csimi_reduced_scratch(const csimi_counts *n); /* reduced.c: to write the surface of one */

/* ---- body.c, soft.c */

/* What shapes bring beside their geometry; slot: of the body that gets them, -1: a new one. */
CSIMI_FN csim_status csimi_check_skins(csim_world *w, const char *function, int slot, const csim_shape *shapes,
                                       int count);

/* Mass, centre and inertia of a rigid definition; static bodies may have none. */
CSIMI_FN csim_status csimi_rigid_mass(const csim_rigid_def *def, const char *fn, csim_mass *mass, csim_error *error);
CSIMI_FN int csimi_default_aggregates(int nodes, csim_real flat); /* flat: 0 solid .. 1 thin */
/* Orders nodes by aggregate: node_user[internal] = vertex, node_of_user[vertex] = internal, both within the body.
   count: [nv + 1] ints to work in. */
CSIMI_FN void csimi_order_nodes(csimi_store *s, int nv, int groups, const int *aggregate, int *count);
CSIMI_FN void csimi_fix_node(csimi_store *s, int node);
/* The list of fixed vertices and the number of aggregates of a definition. */
CSIMI_FN csim_status csimi_check_mesh_choices(csim_world *w, const char *function, const int *fixed, int fixed_count,
                                              int vertex_count, int aggregates);
/* Tree order of the faces, rest positions and mean edge of a solid that has been written; index: of vertices among the
   surface nodes, order and keys: scratch of the triangles. */
CSIMI_FN void csimi_write_surface(csimi_store *s, int slot, const csim_real *rest, const int *index, int *order,
                                  uint64_t *keys);

/* Whether a body that moves like this may have the shape. */
CSIMI_FN csim_status csimi_check_static(csim_world *w, const char *fn, csim_motion motion, const csim_shape *shape);

/* ---- link.c */

CSIMI_FN csim_status csimi_attach(csim_world *w, const csim_attachment *at, const char *function, csimi_place *place,
                                  int *slot);
CSIMI_FN csim_status csimi_link_ends(csim_world *w, const csim_attachment *a, const csim_attachment *b,
                                     const char *function, csimi_place *ends, int *bodies);

/* ---- tree.c */

/* Whether M of tree t is positive definite: every joint moves some mass. */
CSIMI_FN bool csimi_tree_has_mass(csimi_store *s, int t);
/* reshape.c: what calls on links begin with. */
CSIMI_FN csim_status csimi_open_link(csim_world *w, csim_body_id id, int link, const char *fn, int *slot);
CSIMI_FN void csimi_link_weigh(csimi_tree_link *link, const csim_mass *mass);
CSIMI_FN void csimi_write_tree(csimi_store *s, const csim_tree_def *def, csimi_tree *tree);

#endif
