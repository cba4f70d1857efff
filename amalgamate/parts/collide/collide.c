/* collide/collide: csim_collide: what a level is where a shape is, and who meets whom. */
#include "private.h"

static bool csimi_is_convex(const csim_geometry *g) { return !g->field && g->kind != CSIM_SHAPE_HALF_SPACE; }

/* A field f at *pose of which a shape g at p meets one plane alone becomes that half-space, flat, at *pose: many
   triangles are no more than one then, and the edges between them are not there. */
static csimi_under csimi_flatten(const csim_geometry **f, csim_pose *pose, const csim_geometry *g, csim_pose p,
                                 const csim_hull_data *hulls, csim_real margin, csim_geometry *flat) {
    const csim_vec3 extra = csim_v3(margin, margin, margin);
    csim_vec3 lower, upper;
    csim_pose plane;
    csimi_under under;
    if (!(*f)->field || g->kind == CSIM_SHAPE_HALF_SPACE) return CSIMI_UNDER_RELIEF;
    p.position = csim_pose_local(*pose, p.position);
    p.rotation = csim_quat_mul(csim_quat_conj(pose->rotation), p.rotation);
    csimi_bounds_at(g, hulls, p, &lower, &upper);
    under = csimi_field_under((*f)->field, csim_sub(lower, extra), csim_add(upper, extra),
                              csim_pose_point(p, g->centre), &plane);
    if (under != CSIMI_UNDER_PLANE) return under;
    *flat = **f;
    flat->kind = CSIM_SHAPE_HALF_SPACE;
    flat->field = NULL;
    *f = flat;
    *pose = csim_pose_mul(*pose, plane);
    return under;
}

/* Triangles against a convex shape, which of the two is a. */
static int csimi_meet_level(const csim_geometry *a, csim_pose pa, const csim_geometry *b, csim_pose pb,
                            const csim_hull_data *hulls, csim_real margin, csim_touch *t, int capacity) {
    const bool swapped = a->kind == CSIM_SHAPE_TRIANGLES;
    const int count = swapped ? csimi_collide_triangles(b, pb, a, pa, hulls, margin, t, capacity)
                              : csimi_collide_triangles(a, pa, b, pb, hulls, margin, t, capacity);
    int i;
    for (i = 0; i < csimi_imin(count, capacity) && swapped; i++) {
        const csim_vec3 x = t[i].point_a;
        t[i].point_a = t[i].point_b;
        t[i].point_b = x;
        t[i].normal = csim_scale(-1, t[i].normal);
    }
    return count;
}

CSIMI_FN int csimi_collide_at(const csim_geometry *a, csim_pose pa, const csim_geometry *b, csim_pose pb,
                              const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity) {
    csim_geometry flat;
    csimi_under under;
    if (csimi_flat_sided(csimi_kind_of(a)) && csimi_flat_sided(csimi_kind_of(b)))
#ifdef CONDSIM_NO_STACKS
        return 0;
#else
        return csimi_collide_polytopes(a, pa, b, pb, hulls, margin, touches, capacity);
#endif
    under = csimi_flatten(&b, &pb, a, pa, hulls, margin, &flat);
    if (under == CSIMI_UNDER_RELIEF) under = csimi_flatten(&a, &pa, b, pb, hulls, margin, &flat);
    if (under == CSIMI_UNDER_NOTHING) return 0;
    if ((a->kind == CSIM_SHAPE_TRIANGLES && csimi_is_convex(b)) ||
        (b->kind == CSIM_SHAPE_TRIANGLES && csimi_is_convex(a)))
        return csimi_meet_level(a, pa, b, pb, hulls, margin, touches, capacity);
    return csimi_meet_pair(a, pa, b, pb, hulls, margin, touches, capacity);
}

CSIM_API int csim_collide(const csim_geometry *a, csim_pose pose_a, const csim_geometry *b, csim_pose pose_b,
                          const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity) {
    return csimi_collide_at(a, csim_pose_mul(pose_a, a->local), b, csim_pose_mul(pose_b, b->local), hulls, margin,
                            touches, capacity);
}
