/* collide/level: levels of triangles against shapes, one triangle at a time; of the many touches those that matter. */
#include "private.h"

enum { CSIMI_TOUCHES_FEW = 12 }; /* that are not thinned */
enum { CSIMI_TOUCHES_MANY = 192 }; /* at a time */

enum { CSIMI_FACET_TILTS = 17, CSIMI_FACET_WAYS = 54 };

/* Of many touches, those that stay: the deepest as the shapes lie, and tilted, for each of so many ways of normals. */
CSIMI_FN int csimi_touch_way(csim_vec3 n) {
    const int bin = csimi_normal_bin(n), k = bin % 3;
    csim_real x[3], u, v;
    csimi_store3(x, n);
    u = x[(k + 1) % 3];
    v = x[(k + 2) % 3];
    return 9 * bin + 3 * (u > CSIM_R(0.25) ? 2 : u < CSIM_R(-0.25) ? 0 : 1) +
           (v > CSIM_R(0.25) ? 2 : v < CSIM_R(-0.25) ? 0 : 1);
}

static CSIMI_NOINLINE int csimi_thin_touches(csim_touch *t, int count) {
    unsigned char best[CSIMI_FACET_WAYS * CSIMI_FACET_TILTS], keep[CSIMI_TOUCHES_MANY];
    int i, k, kept = 0;
    CSIMI_MEMSET(best, 255, sizeof best);
    CSIMI_MEMSET(keep, 0, sizeof keep);
    for (i = 0; i < count; i++) {
        const int way = csimi_touch_way(t[i].normal), bin = csimi_normal_bin(t[i].normal) % 3;
        for (k = 0; k < CSIMI_FACET_TILTS; k++) {
            unsigned char *b = best + CSIMI_FACET_TILTS * way + k;
            if (*b == 255 || csimi_tilted(t[i].point_a, t[i].gap, bin, k) >
                                 csimi_tilted(t[*b].point_a, t[*b].gap, bin, k))
                *b = (unsigned char)i;
        }
    }
    for (k = 0; k < CSIMI_FACET_WAYS * CSIMI_FACET_TILTS; k++)
        if (best[k] != 255) keep[best[k]] = 1;
    for (i = 0; i < count; i++)
        if (keep[i]) t[kept++] = t[i];
    return kept;
}

/* The nearest come first; the rest is given up. */
static int csimi_nearest_touches(csim_touch *t, int count, int most) {
    int i, j;
    for (i = 0; i < most && i < count; i++) {
        int least = i;
        csim_touch swap;
        for (j = i + 1; j < count; j++)
            if (t[j].gap < t[least].gap) least = j;
        swap = t[i];
        t[i] = t[least];
        t[least] = swap;
    }
    return csimi_imin(count, most);
}

/* Touches first .. end - 1 come from one more triangle: named by it, those left out that others have told. */
static int csimi_join_touches(csim_touch *t, int first, int end, uint32_t name, csim_real near) {
    int i, j, count = first;
    for (i = first; i < end; i++) {
        for (j = 0; j < first; j++) {
            const csim_vec3 d = csim_sub(t[i].point_a, t[j].point_a), e = csim_sub(t[i].point_b, t[j].point_b);
            if (csim_dot(d, d) + csim_dot(e, e) < near * near && csim_dot(t[i].normal, t[j].normal) > 1 - CSIM_R(1e-6))
                break;
        }
        if (j < first) continue;
        t[count] = t[i];
        t[count++].feature = (t[i].feature ^ name * 0x9e3779b1u) * 0x85ebca6bu;
    }
    return count;
}

/* A shape of any convex kind against one triangle; as far as there is room. */
static int csimi_touch_facet(const csim_geometry *g, csim_pose p, const csimi_facet *f, const csim_hull_data *hulls,
                             csim_real margin, csim_touch *t, int room) {
    if (g->kind == CSIM_SHAPE_SPHERE) {
        csim_vec3 n;
        csim_real d;
        if (room < 1 || !csimi_facet_point(f, p.position, g->radius + margin, CSIMI_HUGE, &n, &d)) return 0;
        t->point_a = csim_madd(p.position, -g->radius, n);
        t->point_b = csim_madd(p.position, -d, n);
        t->normal = n;
        t->gap = d - g->radius;
        t->feature = 1;
        return t->gap <= margin;
    }
    if (g->kind == CSIM_SHAPE_BOX || g->kind == CSIM_SHAPE_HULL)
        return csimi_collide_facet(g, p, f, hulls, margin, t, room);
    return csimi_meet_facet(g, p, f, hulls, margin, t, room);
}

/* Makes room for what one triangle can have; what is given up is counted. */
static int csimi_touches_room(csim_touch *t, int count, int capacity, int *lost) {
    const int needed = csimi_imin(24, (capacity + 1) / 2);
    int left;
    if (count < CSIMI_TOUCHES_MANY - 24 && capacity - count >= needed) return count;
    left = csimi_thin_touches(t, csimi_imin(count, CSIMI_TOUCHES_MANY));
    if (capacity - left >= needed && left <= CSIMI_TOUCHES_MANY / 2) return left;
    count = csimi_nearest_touches(t, left, csimi_imin(capacity - needed, CSIMI_TOUCHES_MANY / 2));
    *lost += left - count;
    return count;
}

CSIMI_FN CSIMI_NOINLINE int csimi_collide_triangles(const csim_geometry *g, csim_pose p, const csim_geometry *level,
                                                    csim_pose at, const csim_hull_data *hulls, csim_real margin,
                                                    csim_touch *touch, int capacity) {
    const csimi_triangles t = csimi_triangles_of(level->field);
    csimi_surface_walk walk;
    csim_vec3 lower, upper, middle, extra = csim_v3(margin, margin, margin);
    int place, count = 0, lost = 0, i;
    p.position = csim_pose_local(at, p.position);
    p.rotation = csim_quat_mul(csim_quat_conj(at.rotation), p.rotation);
    csimi_bounds_at(g, hulls, p, &lower, &upper);
    middle = csim_pose_point(p, g->centre);
    walk = csimi_surface_walk_in(&t.surface, csim_sub(lower, extra), csim_add(upper, extra));
    while ((place = csimi_surface_walk_next(&walk)) >= 0) {
        csimi_facet f;
        csim_vec3 n;
        int found;
        if (!csimi_facet_of(&f, &t, place, middle) || csimi_facet_distance(&f, middle, &n) > g->bound + margin)
            continue;
        count = csimi_touches_room(touch, count, capacity, &lost);
        found = csimi_touch_facet(g, p, &f, hulls, margin, touch + count, capacity - count);
        lost += csimi_imax(0, found - (capacity - count));
        count = csimi_join_touches(touch, count, count + csimi_imin(found, capacity - count),
                                   csimi_triangle_name(&t, place), CSIM_R(1e-4) * g->bound);
    }
    if (count > CSIMI_TOUCHES_FEW) count = csimi_thin_touches(touch, csimi_imin(count, CSIMI_TOUCHES_MANY));
    for (i = 0; i < count; i++) {
        touch[i].point_a = csim_pose_point(at, touch[i].point_a);
        touch[i].point_b = csim_pose_point(at, touch[i].point_b);
        touch[i].normal = csim_rotate(at.rotation, touch[i].normal);
    }
    return count + lost;
}
