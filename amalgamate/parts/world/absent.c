/* world/absent: what answers for features that a build leaves out (base/config.h). Their public functions say
   CSIM_UNSUPPORTED, with a sentence where there is a world or an error to hold it; what the rest of the library calls
   of them does nothing, because nothing of their kind can exist. */
#include "private.h"

#define CSIMI_ABSENT(error, what, macro) \
    csimi_deny((error), CSIM_UNSUPPORTED, (what), NULL, "builds without " macro)
#define CSIMI_NOTHING(type)                  \
    {                                        \
        type none;                           \
        CSIMI_MEMSET(&none, 0, sizeof none); \
        return none;                         \
    }
#define CSIMI_ERROR_OF(world) ((world) ? &(world)->error : NULL)
/* A whole function: it refuses, with a sentence in the error, in the world's, or without one. */
#define CSIMI_LACKS_BY(error, feature) \
    { return CSIMI_ABSENT((error), __func__, "CONDSIM_NO_" #feature); }
#define CSIMI_LACKS_IN(feature, name, parameters) \
    CSIM_API csim_status name parameters CSIMI_LACKS_BY(CSIMI_ERROR_OF(w), feature)
#define CSIMI_LACKS(feature, name, parameters) CSIM_API csim_status name parameters CSIMI_LACKS_BY(NULL, feature)
#define CSIMI_LACKS_QUERY(none, feature)                                                   \
    {                                                                                      \
        (void)CSIMI_ABSENT((def) ? (def)->error : NULL, __func__, "CONDSIM_NO_" #feature); \
        return none;                                                                       \
    }
/* No parameter of theirs is needed, and to name each one in vain would hide that. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#if defined(CONDSIM_NO_CABLE)
CSIMI_FN void csimi_frame_inertia_world(const csimi_state *s, int k, csim_real *I) {
    CSIMI_MEMSET(I, 0, 9 * sizeof *I);
}
CSIMI_FN int csimi_bend_block(const csimi_state *s, const csimi_bend_end *end) { return 0; }
CSIMI_FN void csimi_set_frame_velocity(csimi_store *s, int frame, csim_vec3 w) {}
CSIM_API csim_cable_def csim_default_cable_def(void) CSIMI_NOTHING(csim_cable_def)
CSIM_API csim_clamp_def csim_default_clamp_def(void) CSIMI_NOTHING(csim_clamp_def)
CSIMI_LACKS_IN(CABLE, csim_create_cable, (csim_world *w, const csim_cable_def *def, csim_body_id *id))
CSIMI_LACKS_IN(CABLE, csim_create_clamp, (csim_world *w, const csim_clamp_def *def, csim_link_id *id))
CSIM_API int csim_cable_edge_count(const csim_world *world, csim_body_id id) { return 0; }
CSIMI_LACKS(CABLE, csim_cable_get_radius, (const csim_world *w, csim_body_id id, csim_real *radius))
CSIMI_LACKS(CABLE, csim_cable_get_frames, (const csim_world *w, csim_body_id id, csim_real *out, int stride))
CSIMI_LACKS(CABLE, csim_cable_get_spins, (const csim_world *w, csim_body_id id, csim_real *out, int stride))
CSIMI_LACKS(CABLE, csim_cable_get_forces, (const csim_world *w, csim_body_id id, csim_real *out, int stride))
CSIMI_LACKS(CABLE, csim_cable_get_tensions, (const csim_world *w, csim_body_id id, csim_real *out))
CSIMI_LACKS(CABLE, csim_cable_get_moments, (const csim_world *w, csim_body_id id, csim_real *out, int stride))
CSIMI_LACKS_IN(CABLE, csim_cable_set_frame, (csim_world *w, csim_body_id id, int edge, csim_quat rotation,
                                             csim_vec3 angular_velocity))
CSIMI_LACKS_IN(CABLE, csim_cable_set_frame_motion, (csim_world *w, csim_body_id id, int edge, csim_motion motion))
CSIMI_LACKS_IN(CABLE, csim_cable_add_torque, (csim_world *w, csim_body_id id, int edge, csim_vec3 torque))
#endif

#if defined(CONDSIM_NO_CLOTH)
CSIMI_FN size_t csimi_cloth_scratch(const csimi_counts *n) { return 0; }
CSIM_API csim_cloth_def csim_default_cloth_def(void) CSIMI_NOTHING(csim_cloth_def)
CSIMI_LACKS_IN(CLOTH, csim_create_cloth, (csim_world *w, const csim_cloth_def *def, csim_body_id *id))
#endif

#if defined(CONDSIM_NO_PARTICLES)
CSIMI_LACKS_IN(PARTICLES, csim_create_particle, (csim_world *w, const csim_particle_def *def, csim_body_id *id))
#endif

#if !CSIMI_HAS_NODES
CSIMI_FN void csimi_collide_points(csimi_detector *d, const csimi_object *a, const csimi_object *b) {}
CSIMI_FN void csimi_collide_samples(csimi_detector *d, const csimi_object *a, const csimi_object *b) {}
CSIMI_FN void csimi_collide_self(csimi_detector *d, int i) {}
#endif

#if defined(CONDSIM_NO_SOFT)
CSIMI_FN size_t csimi_mesh_scratch(const csimi_counts *n) { return 0; }
CSIMI_LACKS_IN(SOFT, csim_create_soft, (csim_world *w, const csim_soft_def *def, csim_body_id *id))
#endif

#if defined(CONDSIM_NO_TREE)
CSIMI_FN void csimi_trees_settle(const csimi_state *s, const csimi_step *step, const csim_real *vk, const csim_real *v,
                                 csimi_state *next) {}
CSIMI_FN void csimi_trees_react(csim_world *world, csimi_step_frame *frame, const csimi_step *step) {}
CSIMI_LACKS_IN(TREE, csim_create_tree, (csim_world *w, const csim_tree_def *def, csim_body_id *id))
#endif

#if defined(CONDSIM_NO_TREE) && defined(CONDSIM_NO_REDUCED)
CSIMI_FN void csimi_tree_advance_one(const csimi_state *s, int tree, csim_real h, const csim_real *rate,
                                     csimi_state *next) {}
CSIMI_FN void csimi_tree_forward(const csimi_state *s, int tree, const csim_real *position, csim_real *pose) {}
CSIM_API csim_tree_def csim_default_tree_def(void) CSIMI_NOTHING(csim_tree_def)
CSIM_API csim_tree_link_def csim_default_tree_link_def(void) CSIMI_NOTHING(csim_tree_link_def)
CSIMI_LACKS(TREE, csim_tree_sizes, (const csim_world *w, csim_body_id id, int *links, int *positions, int *rates))
CSIMI_LACKS(TREE, csim_tree_link_place, (const csim_world *w, csim_body_id id, int link, int *position, int *rate,
                                         int *rates))
CSIMI_LACKS(TREE, csim_tree_get_state, (const csim_world *w, csim_body_id id, csim_real *positions, csim_real *rates))
CSIMI_LACKS(TREE, csim_tree_link_parent, (const csim_world *w, csim_body_id id, int link, int *parent))
CSIMI_LACKS(TREE, csim_tree_link_pose, (const csim_world *w, csim_body_id id, int link, csim_pose *pose))
CSIMI_LACKS(TREE, csim_tree_link_velocity, (const csim_world *w, csim_body_id id, int link, csim_vec3 point,
                                            csim_vec3 *linear, csim_vec3 *angular))
CSIMI_LACKS(TREE, csim_tree_mass_matrix, (const csim_world *w, csim_body_id id, csim_real *M))
CSIMI_LACKS(TREE, csim_tree_bias, (const csim_world *w, csim_body_id id, csim_real *C))
CSIMI_LACKS(TREE, csim_tree_jacobian, (const csim_world *w, csim_body_id id, int link, csim_vec3 point, csim_real *J))
CSIMI_LACKS(TREE, csim_tree_inverse_dynamics, (const csim_world *w, csim_body_id id, const csim_real *accelerations,
                                               csim_real *forces))
CSIMI_LACKS(TREE, csim_tree_get_effort, (const csim_world *w, csim_body_id id, int link, csim_real *drive,
                                         csim_real *limit))
CSIMI_LACKS_IN(TREE, csim_tree_add_shape, (csim_world *w, csim_body_id id, int link, const csim_shape *shape,
                                           int *number))
CSIMI_LACKS_IN(TREE, csim_tree_set_link_mass, (csim_world *w, csim_body_id id, int link, const csim_mass *mass))
CSIMI_LACKS_IN(TREE, csim_tree_set_link_density, (csim_world *w, csim_body_id id, int link, csim_real density))
CSIMI_LACKS(TREE, csim_tree_get_reaction, (const csim_world *w, csim_body_id id, int link, csim_vec3 *force,
                                           csim_vec3 *torque))
CSIMI_LACKS(TREE, csim_tree_shape_link, (const csim_world *w, csim_body_id id, int shape, int *link))
CSIMI_LACKS_IN(TREE, csim_tree_set_state, (csim_world *w, csim_body_id id, const csim_real *positions,
                                           const csim_real *rates))
CSIMI_LACKS_IN(TREE, csim_tree_set_target, (csim_world *w, csim_body_id id, int link, csim_real position,
                                            csim_real rate))
CSIMI_LACKS_IN(TREE, csim_tree_set_ball_target, (csim_world *w, csim_body_id id, int link, csim_quat rotation,
                                                 csim_vec3 rate))
CSIMI_LACKS_IN(TREE, csim_tree_set_drive, (csim_world *w, csim_body_id id, int link, csim_real stiffness,
                                           csim_real rate_gain, csim_real effort))
CSIMI_LACKS_IN(TREE, csim_tree_set_limits, (csim_world *w, csim_body_id id, int link, csim_real lower, csim_real upper))
CSIMI_LACKS_IN(TREE, csim_tree_set_limit_softness, (csim_world *w, csim_body_id id, int link,
                                                    const csim_softness *limit))
CSIMI_LACKS_IN(TREE, csim_tree_set_friction, (csim_world *w, csim_body_id id, int link, csim_real damping,
                                              csim_real friction))
CSIMI_LACKS_IN(TREE, csim_tree_add_link_impulse, (csim_world *w, csim_body_id id, int link, csim_vec3 point,
                                                  csim_vec3 impulse))
CSIMI_LACKS_IN(TREE, csim_tree_set_gravity_compensation, (csim_world *w, csim_body_id id, int link, csim_real share))
CSIMI_LACKS_IN(TREE, csim_tree_add_forces, (csim_world *w, csim_body_id id, const csim_real *forces))
CSIMI_LACKS_IN(TREE, csim_tree_add_link_force, (csim_world *w, csim_body_id id, int link, csim_vec3 point,
                                                csim_vec3 force, csim_vec3 torque))
CSIMI_FN int csimi_tree_dofs(csim_tree_joint joint) { return 0; }
CSIMI_FN csim_pose csimi_link_pose(const csimi_state *s, int link) { return csim_pose_identity(); }
CSIMI_FN int csimi_link_terms(const csimi_state *s, int link, csim_vec3 x, int *block, csim_real *J) { return 0; }
CSIMI_FN csim_vec3 csimi_link_velocity(const csimi_state *s, int link, csim_vec3 x, const csim_real *rates,
                                       csim_vec3 *angular) { return csim_v3(0, 0, 0); }
CSIMI_FN csimi_tree_totals csimi_tree_measure(const csimi_state *s, int tree, const csim_real *rate)
CSIMI_NOTHING(csimi_tree_totals)
CSIMI_FN int csimi_link_above(const csimi_state *s, int link) { return 0; }
CSIMI_FN bool csimi_tree_pushed(const csimi_state *s, int tree, csimi_giving *give) { return false; }
CSIMI_FN void csimi_tree_choose_bounds(csim_world *world) {}
CSIMI_FN void csimi_tree_forget_bounds(csim_world *w) {}
CSIMI_FN void csimi_tree_keep_rows(csim_world *w, const csimi_step_frame *f, const csimi_step *step) {}
CSIMI_FN bool csimi_tree_overruns(csim_world *world, const csimi_step_frame *f, const csimi_step *step, int pass)
    { return false; }
CSIMI_FN csim_status csimi_tree_rows(csim_world *w, csimi_step_frame *f, const csimi_step *step) { return CSIM_OK; }
CSIMI_FN void csimi_tree_base_velocity(const csimi_store *s, int tree, const csim_real *rates, csim_vec3 *linear,
                                       csim_vec3 *angular) {}
CSIMI_FN void csimi_tree_push_link(csimi_store *s, int link, csim_vec3 point, csim_vec3 force, csim_vec3 torque) {}
CSIMI_FN void csimi_tree_set_base(csimi_store *s, int tree, csim_pose pose) {}
CSIMI_FN bool csimi_tree_set_base_velocity(csimi_store *s, int tree, csim_vec3 linear, csim_vec3 angular)
    { return false; }
CSIMI_FN void csimi_tree_stop(csimi_store *s, int tree) {}
CSIMI_FN void csimi_tree_forget(csimi_store *s, int tree) {}
CSIMI_FN size_t csimi_tree_scratch(const csimi_counts *n) { return 0; }
#endif

#if defined(CONDSIM_NO_REDUCED)
CSIM_API csim_reduced_def csim_default_reduced_def(void) CSIMI_NOTHING(csim_reduced_def)
CSIMI_LACKS_IN(REDUCED, csim_create_reduced, (csim_world *w, const csim_reduced_def *def, csim_body_id *id))
CSIM_API void csim_reduced_needs(const csim_modes *modes, csim_capacity *capacity) {}
CSIMI_LACKS(REDUCED, csim_reduced_get_state, (const csim_world *w, csim_body_id id, csim_real *q, csim_real *rate))
CSIMI_LACKS_IN(REDUCED, csim_reduced_set_state, (csim_world *w, csim_body_id id, const csim_real *q,
                                                 const csim_real *rate))
CSIM_API size_t csim_modes_bytes(const csim_modes *modes) { return 0; }
CSIM_API csim_modes_view csim_modes_arrays(const csim_modes *modes) CSIMI_NOTHING(csim_modes_view)
CSIM_API csim_status csim_open_modes(const void *bytes, size_t size, const csim_modes **modes, csim_error *error)
    CSIMI_LACKS_BY(error, REDUCED)
CSIMI_FN void csimi_reduced_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk) {}
CSIMI_FN size_t csimi_modal_constants(int modes, bool linear) { return 0; }
CSIMI_FN int csimi_reduced_terms(const csimi_state *s, int count, const int *node, const csim_real *W, int *block,
                                 csim_real *J) { return 0; }
CSIMI_FN void csimi_reduced_advance(const csimi_state *s, int tree, const csimi_step *step, const csim_real *rate,
                                    csimi_state *next) {}
CSIMI_FN void csimi_reduced_assemble(const csimi_state *s, int tree, const csimi_step *step, csimi_system *system) {}
CSIMI_FN double csimi_reduced_elastic(const csimi_state *s, int tree) { return 0; }
CSIMI_FN csimi_tree_totals csimi_reduced_measure(const csimi_state *s, int tree, const csim_real *rate)
CSIMI_NOTHING(csimi_tree_totals)
CSIMI_FN void csimi_reduced_follow(const csimi_state *s, int tree, const csim_real *rate, csim_real *x) {}
CSIMI_FN void csimi_reduced_refresh(csimi_store *s, int tree) {}
CSIMI_FN size_t csimi_reduced_work_bytes(void) { return 0; }
CSIMI_FN size_t csimi_reduced_scratch(const csimi_counts *n) { return 0; }
#endif

#if defined(CONDSIM_NO_JOINTS)
CSIM_API csim_joint_def csim_default_joint_def(void) CSIMI_NOTHING(csim_joint_def)
CSIMI_LACKS_IN(JOINTS, csim_create_joint, (csim_world *w, const csim_joint_def *def, csim_link_id *id))
CSIMI_LACKS_IN(JOINTS, csim_create_pin, (csim_world *w, const csim_pin_def *def, csim_link_id *id))
CSIMI_LACKS(JOINTS, csim_joint_get, (const csim_world *w, csim_link_id id, csim_joint_state *state))
CSIMI_LACKS_IN(JOINTS, csim_joint_set_motor, (csim_world *w, csim_link_id id, const csim_motor *motor))
CSIMI_LACKS_IN(JOINTS, csim_joint_set_limits, (csim_world *w, csim_link_id id, bool limited, csim_real lower,
                                               csim_real upper))
CSIMI_LACKS_IN(JOINTS, csim_joint_set_axis, (csim_world *w, csim_link_id id, csim_axis axis, const csim_axis_def *def))
CSIMI_LACKS(JOINTS, csim_joint_get_axis, (const csim_world *w, csim_link_id id, csim_axis axis, csim_axis_state *state))
CSIMI_LACKS_IN(JOINTS, csim_joint_set_anchor, (csim_world *w, csim_link_id id, csim_vec3 point))
CSIM_API int csim_world_joints(const csim_world *world, csim_link_id *ids, int capacity) { return 0; }
CSIM_API int csim_body_joints(const csim_world *world, csim_body_id body, csim_link_id *ids, int capacity) { return 0; }
CSIMI_FN double csimi_axes_energy(const csim_world *w) { return 0; }
CSIMI_FN void csimi_axes_drop(csimi_store *s, int joint) {}
CSIMI_FN void csimi_joint_rows(csim_world *world, csimi_step_frame *frame) {}
CSIMI_FN void csimi_joints_commit(csim_world *world, const csimi_step_frame *frame) {}
CSIMI_FN void csimi_joints_begin(const csim_world *w, const csimi_step_frame *f, const csimi_closing *c) {}
CSIMI_FN bool csimi_joints_correct(csim_world *world, csimi_step_frame *frame, const csimi_closing *closing, bool late)
    { return false; }
CSIMI_FN void csimi_joints_middle(csim_world *world, csimi_step_frame *frame, const unsigned char *again, bool first) {}
CSIMI_FN void csimi_joints_stiffen(csim_world *world, const csimi_step_frame *frame) {}
#endif

#if defined(CONDSIM_NO_CHARACTER)
CSIM_API int csim_world_capsule_planes(const csim_world *world, const csim_query_def *def, const csim_mover *capsule,
                                       csim_real within, csim_plane *planes, int capacity)
    CSIMI_LACKS_QUERY(0, CHARACTER)
CSIM_API csim_vec3 csim_slide(const csim_plane *planes, int count, csim_real skin, csim_vec3 way)
    CSIMI_NOTHING(csim_vec3)
CSIM_API bool csim_world_cast_capsule(const csim_world *world, const csim_query_def *def, const csim_mover *capsule,
                                      csim_vec3 way, csim_query_hit *hit) CSIMI_LACKS_QUERY(false, CHARACTER)
CSIM_API csim_vec3 csim_world_move_capsule(const csim_world *world, const csim_query_def *def,
                                           const csim_mover *capsule, csim_vec3 way, csim_real skin,
                                           csim_plane *planes, int capacity, int *count) {
    if (count) *count = 0;
    CSIMI_LACKS_QUERY(csim_v3(0, 0, 0), CHARACTER)
}
#endif

#if defined(CONDSIM_NO_QUERIES)
CSIM_API csim_query_def csim_default_query_def(void) CSIMI_NOTHING(csim_query_def)
CSIM_API bool csim_world_cast_ray(const csim_world *world, const csim_query_def *def, csim_vec3 origin, csim_vec3 way,
                                  csim_query_hit *hit) CSIMI_LACKS_QUERY(false, QUERIES)
CSIM_API int csim_world_cast_ray_all(const csim_world *world, const csim_query_def *def, csim_vec3 origin,
                                     csim_vec3 way, csim_query_hit *hits, int capacity) CSIMI_LACKS_QUERY(0, QUERIES)
CSIM_API bool csim_world_ray_meets(const csim_world *world, const csim_query_def *def, csim_vec3 origin, csim_vec3 way)
    CSIMI_LACKS_QUERY(false, QUERIES)
CSIM_API bool csim_world_cast_shape(const csim_world *world, const csim_query_def *def, const csim_shape *shape,
                                    csim_pose pose, csim_vec3 way, csim_query_hit *hit)
    CSIMI_LACKS_QUERY(false, QUERIES)
CSIM_API int csim_world_overlap_shape(const csim_world *world, const csim_query_def *def, const csim_shape *shape,
                                      csim_pose pose, csim_query_hit *hits, int capacity) CSIMI_LACKS_QUERY(0, QUERIES)
CSIM_API int csim_world_overlap_box(const csim_world *world, const csim_query_def *def, csim_vec3 lower,
                                    csim_vec3 upper, csim_query_hit *hits, int capacity) CSIMI_LACKS_QUERY(0, QUERIES)
CSIM_API bool csim_world_closest_point(const csim_world *world, const csim_query_def *def, csim_vec3 point,
                                       csim_real within, csim_query_hit *hit) CSIMI_LACKS_QUERY(false, QUERIES)
#endif

#if defined(CONDSIM_NO_QUERIES) && defined(CONDSIM_NO_DRAW) && defined(CONDSIM_NO_SLEEP) && \
    defined(CONDSIM_NO_SOFT) && defined(CONDSIM_NO_CLOTH) && defined(CONDSIM_NO_CABLE) && defined(CONDSIM_NO_REDUCED)
CSIMI_FN void csimi_look_layout(csimi_look *l, const csimi_counts *n, csimi_arena *arena) {}
CSIMI_FN void csimi_look_clear(csimi_look *l, const csimi_counts *n) {}
CSIMI_FN void csimi_look_copy(csimi_store *to, const csimi_store *from) {}
CSIMI_FN void csimi_look_anew(csim_world *w) {}
CSIMI_FN void csimi_look_add(csimi_store *s, int slot) {}
CSIMI_FN void csimi_look_drop(csimi_store *s, int slot) {}
CSIMI_FN void csimi_look_surfaces(csim_world *w) {}
CSIMI_FN void csimi_look_moved(csimi_store *s, int slot) {}
CSIMI_FN void csimi_look_node(csimi_store *s, int slot, int node, csim_vec3 from) {}
CSIMI_FN void csimi_look_step(csim_world *w, unsigned char *left) {}
#endif

#if defined(CONDSIM_NO_DRAW)
CSIM_API csim_draw csim_default_draw(void) CSIMI_NOTHING(csim_draw)
CSIM_API csim_status csim_world_draw(const csim_world *world, const csim_draw *draw) { return CSIM_UNSUPPORTED; }
#endif

#if defined(CONDSIM_NO_RECORD)
CSIM_API size_t csim_record_scratch(const csim_world *world) { return 0; }
CSIM_API csim_status csim_record_start(csim_recording *recording, void *log, size_t bytes, void *scratch,
                                       size_t scratch_bytes, int every) { return CSIM_UNSUPPORTED; }
CSIMI_LACKS_IN(RECORD, csim_record_step, (csim_recording *recording, csim_world *w, csim_real h))
CSIM_API csim_status csim_replay_open(csim_replay *replay, const void *log, size_t bytes, void *scratch,
                                      size_t scratch_bytes) { return CSIM_UNSUPPORTED; }
CSIMI_LACKS_IN(RECORD, csim_replay_seek, (csim_replay *replay, csim_world *w, int64_t step))
#endif

#if defined(CONDSIM_NO_SPRINGS)
CSIMI_LACKS_IN(SPRINGS, csim_create_spring, (csim_world *w, const csim_spring_def *def, csim_link_id *id))
CSIMI_LACKS(SPRINGS, csim_spring_get, (const csim_world *w, csim_link_id id, csim_spring_state *state))
CSIMI_FN int csimi_spring_blocks(const csimi_place *ends) { return 0; }
CSIMI_FN csim_real csimi_spring_length(const csimi_state *s, int k) { return 0; }
CSIMI_FN void csimi_springs_commit(csim_world *world, const csimi_step_frame *frame) {}
#endif

#if defined(CONDSIM_NO_SOFT) && defined(CONDSIM_NO_CLOTH) && defined(CONDSIM_NO_REDUCED)
CSIMI_FN int csimi_default_aggregates(int nodes, csim_real flat) { return 0; }
#endif

#if defined(CONDSIM_NO_SOFT) && defined(CONDSIM_NO_CLOTH) && defined(CONDSIM_NO_CABLE) && \
    defined(CONDSIM_NO_REDUCED)
CSIMI_FN bool csimi_surface_gap(csimi_surfaces *s, int slot, csim_vec3 p, csim_real within, int self,
                                csimi_surface_hit *hit, csim_real *gap) { return false; }
CSIMI_FN void csimi_surfaces_layout(csimi_surfaces *s, const csimi_counts *n, csimi_arena *arena) {}
CSIMI_FN void csimi_surfaces_start(csimi_surfaces *s, const csim_world *world, const csimi_state *state) {}
CSIMI_FN const csimi_surface *csimi_surface_of(csimi_surfaces *s, int slot) { return NULL; }
CSIMI_FN void csimi_collide_edges(csimi_detector *d, const csimi_object *a, const csimi_object *b) {}
#endif

#if defined(CONDSIM_NO_SOFT) && defined(CONDSIM_NO_CLOTH) && defined(CONDSIM_NO_CABLE) && \
    defined(CONDSIM_NO_REDUCED) && defined(CONDSIM_NO_FIELDS)
CSIMI_FN bool csimi_surface_nearest(const csimi_surface *s, csim_vec3 p, csim_real within,
                                    const csimi_surface_skip *skip, csimi_surface_hit *hit) { return false; }
CSIMI_FN int csimi_surface_leaves(int count) { return 1; }
CSIMI_FN int csimi_surface_boxes(int count) { return 0; }
CSIMI_FN void csimi_surface_refit(csimi_surface *s) {}
CSIMI_FN void csimi_surface_bounds(const csimi_surface *s, csim_vec3 *lower, csim_vec3 *upper) {}
CSIMI_FN void csimi_surface_stretch(csimi_surface *s, int triangle, csim_vec3 p) {}
CSIMI_FN csimi_surface_walk csimi_surface_walk_in(const csimi_surface *s, csim_vec3 lower, csim_vec3 upper)
CSIMI_NOTHING(csimi_surface_walk)
CSIMI_FN int csimi_surface_walk_next(csimi_surface_walk *w) { return -1; }
CSIMI_FN void csimi_surface_ray_along(csimi_surface_ray *r, const csimi_surface *s, csim_vec3 origin, csim_vec3 way,
                                      csim_vec3 half, csim_real most) {}
CSIMI_FN int csimi_surface_ray_next(csimi_surface_ray *r) { return -1; }
CSIMI_FN int csimi_surface_ray_met(csimi_surface_ray *r, csim_vec3 origin, csim_vec3 way, bool both) { return -1; }
CSIMI_FN csim_vec3 csimi_triangle_normal(const csimi_surface *s, int triangle) { return csim_v3(0, 0, 1); }
CSIMI_FN int csimi_closest_triangle(csim_vec3 p, csim_vec3 a, csim_vec3 b, csim_vec3 c, csim_real *weight) { return 0; }
CSIMI_FN void csimi_sampler_limit(csimi_sampler *s, csim_vec3 lower, csim_vec3 upper) {}
CSIMI_FN bool csimi_sampler_next(csimi_sampler *s) { return false; }
CSIMI_FN void csimi_sampler_pass(csimi_sampler *s) {}
CSIMI_FN void csimi_sampler_start(csimi_sampler *s, const csim_geometry *g, const csim_hull_data *hulls,
                                  csim_real spacing) {}
#endif

#if defined(CONDSIM_NO_CLOTH) && defined(CONDSIM_NO_CABLE)
CSIMI_FN csim_real csimi_edge_distance(const csimi_state *s, int a, int b) { return 0; }
CSIMI_FN void csimi_edges_layout(csimi_edges *e, const csimi_counts *n, csimi_arena *arena) {}
CSIMI_FN int csimi_touch_cables(csimi_detector *d) { return 0; }
CSIMI_FN void csimi_touch_sheets(csimi_detector *d, const csimi_object *a, const csimi_object *b) {}
CSIMI_FN void csimi_touch_surface(csimi_detector *d, const csimi_object *cable, const csimi_object *b) {}
#endif

#if defined(CONDSIM_NO_FIELDS)
CSIM_API csim_mesh_field_def csim_default_mesh_field_def(void) CSIMI_NOTHING(csim_mesh_field_def)
CSIM_API csim_height_field_def csim_default_height_field_def(void) CSIMI_NOTHING(csim_height_field_def)
CSIM_API csim_status csim_mesh_field_bytes(const csim_mesh_field_def *def, size_t *bytes, csim_error *error)
    CSIMI_LACKS_BY(error, FIELDS)
CSIM_API csim_status csim_height_field_bytes(const csim_height_field_def *def, size_t *bytes, csim_error *error)
    CSIMI_LACKS_BY(error, FIELDS)
CSIM_API csim_status csim_create_mesh_field_in(const csim_mesh_field_def *def, void *block, size_t bytes,
                                               const csim_field **field, csim_error *error)
    CSIMI_LACKS_BY(error, FIELDS)
CSIM_API csim_status csim_create_height_field_in(const csim_height_field_def *def, void *block, size_t bytes,
                                                 const csim_field **field, csim_error *error)
    CSIMI_LACKS_BY(error, FIELDS)
CSIM_API csim_triangle_field_def csim_default_triangle_field_def(void) CSIMI_NOTHING(csim_triangle_field_def)
CSIM_API csim_status csim_triangle_field_bytes(const csim_triangle_field_def *def, size_t *bytes, csim_error *error)
    CSIMI_LACKS_BY(error, FIELDS)
CSIM_API csim_status csim_create_triangle_field_in(const csim_triangle_field_def *def, void *block, size_t bytes,
                                                   const csim_field **field, csim_error *error)
    CSIMI_LACKS_BY(error, FIELDS)
CSIMI_FN csimi_triangles csimi_triangles_of(const csim_field *f) CSIMI_NOTHING(csimi_triangles)
CSIMI_FN uint32_t csimi_triangle_name(const csimi_triangles *t, int place) { return 0; }
CSIMI_FN csim_vec3 csimi_level_normal(const csimi_triangles *t, int place) { return csim_v3(0, 0, 1); }
CSIMI_FN csim_vec3 csimi_triangle_corner(const csimi_triangles *t, int place, int k) { return csim_v3(0, 0, 0); }
CSIMI_FN csim_real csimi_distance_triangles(const csim_field *f, csim_vec3 p, csim_real within, csim_vec3 *n,
                                            uint32_t *name) { return CSIMI_HUGE; }
CSIMI_FN bool csimi_facet_allows(const csimi_facet *f, csim_vec3 n, bool *snaps) { return false; }
CSIMI_FN bool csimi_facet_of(csimi_facet *f, const csimi_triangles *t, int place, csim_vec3 middle) { return false; }
CSIMI_FN csim_real csimi_facet_gap(const csim_geometry *g, csim_pose pose, const csimi_facet *f,
                                   const csim_hull_data *hulls, csim_vec3 *n) { return CSIMI_HUGE; }
CSIMI_FN csimi_fold csimi_facet_fold(const csimi_facet *f, int k) { return CSIMI_FOLD_BORDER; }
CSIMI_FN csim_real csimi_facet_distance(const csimi_facet *f, csim_vec3 x, csim_vec3 *n) { return CSIMI_HUGE; }
CSIMI_FN int csimi_touch_way(csim_vec3 n) { return 0; }
CSIMI_FN int csimi_triangles_feet(const csim_field *field, csim_vec3 x, csim_real within, csimi_foot *foot, int most)
    { return 0; }
CSIMI_FN int csimi_collide_triangles(const csim_geometry *g, csim_pose p, const csim_geometry *level, csim_pose at,
                                     const csim_hull_data *hulls, csim_real margin, csim_touch *touch, int capacity)
    { return 0; }
CSIM_API csim_status csim_open_field(const void *block, size_t bytes, const csim_field **field, csim_error *error)
    CSIMI_LACKS_BY(error, FIELDS)
CSIM_API csim_field_info csim_field_get_info(const csim_field *field) CSIMI_NOTHING(csim_field_info)
CSIM_API csim_shape csim_field_shape(const csim_field *field) CSIMI_NOTHING(csim_shape)
CSIMI_FN csim_real csimi_distance_heights(const csim_field *f, csim_vec3 p, csim_real within, csim_vec3 *n)
    { return 0; }
CSIMI_FN csim_real csimi_distance_mesh(const csim_field *f, csim_vec3 p, csim_vec3 *n) { return 0; }
CSIMI_FN int csimi_ray_mesh(const csim_field *f, csim_vec3 origin, csim_vec3 way, csim_real level, csim_real most,
                            csimi_ray_hit *hit) { return 0; }
CSIMI_FN csim_vec3 csimi_field_normal(const csim_field *f, csim_vec3 p) { return csim_v3(0, 0, 0); }
CSIMI_FN int csimi_height_planes(const csim_field *f, csim_vec3 p, csim_real within, csimi_height_plane *plane,
                                 int most) { return 0; }
CSIMI_FN csim_real csimi_least_mesh(const csim_field *f, csim_vec3 p) { return 0; }
CSIMI_FN csimi_under csimi_field_under(const csim_field *f, csim_vec3 lower, csim_vec3 upper, csim_vec3 middle,
                                       csim_pose *plane) { return CSIMI_UNDER_RELIEF; }
CSIMI_FN bool csimi_height_peak(const csim_field *f, int i, int j) { return false; }
CSIMI_FN csim_vec3 csimi_height_node(const csim_field *f, int i, int j) { return csim_v3(0, 0, 0); }
CSIMI_FN csim_vec3 csimi_sample_of(const csim_field *f, int i) { return csim_v3(0, 0, 0); }
CSIMI_FN const float *csimi_field_value(const csim_field *f) { return NULL; }
CSIMI_FN csim_vec3 csimi_sample_block(const csim_field *f, int block, csim_real *radius) {
    *radius = 0;
    return csim_v3(0, 0, 0);
}
#endif

#if defined(CONDSIM_NO_CABLE) || defined(CONDSIM_NO_COND) /* chains are cables, and COND's */
CSIMI_FN int csimi_chains_links(const csim_structure *structure) { return 0; }
CSIMI_FN void csimi_chains_layout(csimi_chains *c, csimi_arena *arena, int blocks, int contacts, int links) {
    c->links = 0;
}
CSIMI_FN void csimi_chains_bind(csimi_chains *c, const csim_problem *problem) {}
CSIMI_FN bool csimi_chains_correct(csimi_chains *c, const csim_problem *problem, const csim_contact *nodal,
                                   const unsigned char *law, const csim_real *trial, bool follow, csim_real *p,
                                   const csim_tasks *tasks) { return false; }
#endif

#if defined(CONDSIM_NO_COND)
CSIMI_FN bool csimi_coarse_usable(const csim_structure *structure) { return false; }
CSIMI_FN int csimi_cond_pairs(const csim_problem *problem) { return 0; }
#endif

#if defined(CONDSIM_NO_IMPULSE)
CSIM_API size_t csim_impulse_bytes(const csim_impulse_problem *problem, const csim_solver_params *params) { return 0; }
CSIM_API csim_status csim_impulse_solve(const csim_impulse_problem *problem, const csim_solver_params *params,
                                        void *workspace, size_t workspace_bytes, const csim_tasks *tasks, csim_real *r,
                                        csim_outcome *outcome, csim_error *error) CSIMI_LACKS_BY(error, IMPULSE)
#endif

#ifdef CONDSIM_TINY
CSIMI_FN csimi_stillness csimi_island_stand(const csim_world *w, const csimi_step_frame *f, const int *block,
                                            csim_problem *p, csim_contact *row, const csim_solver_params *params,
                                            csim_status checked, csimi_worker *worker, csim_solution *solution,
                                            csim_outcome *o) {
    return CSIMI_ISLAND_SLOW;
}
#endif

#if defined(CONDSIM_NO_RESTRAINT)
CSIMI_FN size_t csimi_restrain_bytes(const csim_problem_size *size) { return 0; }
CSIMI_FN bool csimi_restrain(const csim_problem *p, const csim_real *start, csimi_arena *arena, const csim_tasks *tasks,
                             csim_solution *solution, csim_outcome *outcome) { return false; }
CSIMI_FN bool csimi_can_shorten(const csim_world *w, const csimi_step_frame *f) { return false; }
CSIMI_FN csim_status csimi_shorten(csim_world *w, csimi_step_frame *f, const csimi_step *step, csimi_arena *arena)
    { return CSIM_OK; }
CSIMI_FN bool csimi_stand_still(csim_world *w, csimi_step_frame *f, const csimi_step *step) { return false; }
#endif

#if defined(CONDSIM_NO_STATISTICS)
CSIMI_FN void csimi_measure(csim_world *world, csimi_step_frame *frame, csimi_arena *arena) {}
CSIM_API csim_totals csim_world_totals(const csim_world *world) CSIMI_NOTHING(csim_totals)
CSIM_API double csim_world_rms_speed(const csim_world *world) { return 0; }
#endif

#if defined(CONDSIM_NO_EVENTS)
CSIMI_FN size_t csimi_encounters_scratch(const csimi_counts *n) { return 0; }
CSIMI_FN csim_status csimi_find_touching(csim_world *w, csimi_step_frame *f, csimi_arena *arena) { return CSIM_OK; }
CSIMI_FN void csimi_mark_moved(const csim_world *world, csimi_step_frame *frame) {}
CSIMI_FN void csimi_sense_pair(csimi_detector *d, const csimi_object *sensor, const csimi_object *other) {}
CSIMI_FN void csimi_tell_step(csim_world *world, const csimi_step_frame *frame) {}
CSIMI_FN void csimi_tell_sleep(csim_world *world, int slot, bool asleep, int island) {}
CSIMI_FN void csimi_tell_break(csim_world *world, int link) {}
CSIM_API csim_events csim_world_events(const csim_world *world) CSIMI_NOTHING(csim_events)
#endif

#if defined(CONDSIM_NO_SLEEP)
CSIMI_LACKS(SLEEP, csim_body_is_awake, (const csim_world *w, csim_body_id id, bool *awake))
CSIMI_LACKS_IN(SLEEP, csim_body_set_awake, (csim_world *w, csim_body_id id, bool awake))
CSIMI_LACKS_IN(SLEEP, csim_body_set_can_sleep, (csim_world *w, csim_body_id id, bool can_sleep))
CSIM_API const csim_contact_info *csim_world_sleeping_contacts(const csim_world *world, int *count) {
    *count = 0;
    return NULL;
}
#endif

#if defined(CONDSIM_NO_SNAPSHOTS)
CSIMI_LACKS(SNAPSHOTS, csim_world_save, (const csim_world *w, void *buffer, size_t *bytes))
CSIMI_LACKS_IN(SNAPSHOTS, csim_world_restore, (csim_world *w, const void *buffer, size_t bytes))
CSIMI_LACKS(SNAPSHOTS, csim_world_keep, (const csim_world *w, void *buffer, size_t *bytes))
CSIMI_LACKS_IN(SNAPSHOTS, csim_world_take_back, (csim_world *w, const void *buffer, size_t bytes))
#endif

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#undef CSIMI_ABSENT
#undef CSIMI_NOTHING
#undef CSIMI_LACKS_QUERY
#undef CSIMI_LACKS
#undef CSIMI_LACKS_IN
#undef CSIMI_LACKS_BY
#undef CSIMI_ERROR_OF
