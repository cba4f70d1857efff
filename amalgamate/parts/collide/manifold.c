/* collide/manifold: csim_collide: who meets whom, and the contact points of round shapes. The distance of a point to a
   convex shape is exact, and convex along a line: so is all that balls and lines (capsules, the sides of cylinders,
   edges) meet. Rims of cylinders are sampled: their spacing is the resolution.

   A sample of a rim and a point of an edge count only where the normal lies in the shape's own cone of normals there,
   give or take some: else a rim that hangs over the side of a table would find the side. Shapes that overlap so deeply
   that no point counts are asked once more without that. */
#include "private.h"

static const csim_real CSIMI_FLAT = CSIM_R(1e-4); /* rad: tilt below which a line lies flat */
static const csim_real CSIMI_LIES = CSIM_R(0.5); /* sine, axis of a cylinder to normal: above, it lies on its side */

/* Both shapes with the poses of their own frames (those of their bodies and their local ones), and where touches go.
   Points of a first. */
typedef struct csimi_meet {
    const csim_geometry *a, *b;
    csim_pose pa, pb;
    csim_vec3 up; /* out of the half-space, if one of them is that: it stays b */
    const csim_hull_data *hulls;
    csim_real margin;
    csim_touch *touches;
    int count, capacity;
    csim_real cone; /* how far from a cone of normals, rad: tilt up to which all points of a face are told */
    uint32_t names; /* added to the names of points: each shape in its turn names its own */
    bool swapped;   /* the caller's a is our b */
    const csimi_facet *facet; /* that `plate` stands for, or null */
    const csim_geometry *plate;
} csimi_meet;

static void csimi_meet_swap(csimi_meet *m) {
    const csim_geometry *g = m->a;
    csim_pose p = m->pa;
    m->a = m->b;
    m->b = g;
    m->pa = m->pb;
    m->pb = p;
    m->swapped = !m->swapped;
}

/* Whether n, from b to a, is a normal that the triangle of a level has. */
static bool csimi_meet_allows(const csimi_meet *m, csim_vec3 n) {
    bool snaps;
    return !m->facet || csimi_facet_allows(m->facet, m->b == m->plate ? n : csim_scale(-1, n), &snaps);
}

/* n from b to a. Of points within 1e-3 of a radius the first stays. */
static void csimi_meet_emit(csimi_meet *m, csim_vec3 on_a, csim_vec3 on_b, csim_vec3 n, csim_real gap,
                            uint32_t feature) {
    csim_real near = csimi_max(m->a->radius, m->b->radius) * CSIM_R(1e-3);
    csim_touch t;
    int i;
    if (!(gap <= m->margin) || !csimi_meet_allows(m, n)) return;
    t.point_a = m->swapped ? on_b : on_a;
    t.point_b = m->swapped ? on_a : on_b;
    t.normal = m->swapped ? csim_scale(-1, n) : n;
    t.gap = gap;
    t.feature = m->names + feature;
    for (i = 0; i < csimi_imin(m->count, m->capacity); i++) {
        csim_vec3 d = csim_sub(m->touches[i].point_a, t.point_a), e = csim_sub(m->touches[i].point_b, t.point_b);
        if (csim_dot(d, d) + csim_dot(e, e) < near * near) return;
    }
    if (m->count < m->capacity) m->touches[m->count] = t;
    m->count++;
}

static csim_vec3 csimi_axis_of(csim_pose p) { return csim_rotate(p.rotation, csim_v3(0, 0, 1)); }

/* Distance of a point to b. */
static csim_real csimi_meet_distance(const csimi_meet *m, csim_vec3 x, csim_vec3 *n) {
    if (csimi_shape_is(m->b, CSIM_SHAPE_HALF_SPACE)) {
        *n = m->up;
        return csim_dot(m->up, csim_sub(x, m->pb.position));
    }
    if (m->facet && m->b == m->plate) return csimi_facet_distance(m->facet, x, n);
    return csimi_distance_at(m->b, m->hulls, m->pb, x, n, NULL);
}

/* The same where it is at most `within`, else more than that. */
static csim_real csimi_meet_within(const csimi_meet *m, csim_vec3 x, csim_real within, csim_vec3 *n) {
    return m->b->kind == CSIM_SHAPE_HEIGHTS ? csimi_distance_within(m->b, m->hulls, m->pb, x, within, n)
                                            : csimi_meet_distance(m, x, n);
}

/* A sphere of radius r about x, a piece of a, against all of b: d from x, along n. */
static void csimi_meet_ball_at(csimi_meet *m, csim_vec3 x, csim_real r, csim_real d, csim_vec3 n, uint32_t feature) {
    csimi_meet_emit(m, csim_madd(x, -r, n), csim_madd(x, -d, n), n, d - r, feature);
}

static void csimi_meet_ball(csimi_meet *m, csim_vec3 x, csim_real r, uint32_t feature) {
    csim_vec3 n;
    const csim_real d = csimi_meet_within(m, x, m->margin + r, &n);
    csimi_meet_ball_at(m, x, r, d, n, feature);
}

/* ---- lines: axes of capsules and cylinders, edges of boxes and hulls */

typedef struct csimi_line {
    csim_vec3 middle, axis; /* the axis is a unit vector */
    csim_real half, radius;
    csim_real least;         /* a part of b that is flat over less than this is one point */
    const csimi_polytope *q; /* whose edge it is, or null */
    uint32_t name[4];        /* of the low end, the high end, and both ends of the flat part */
} csimi_line;

/* Distance to b at z of the line and its change along it, which never falls with z, for b is convex. */
static csim_real csimi_slope(const csimi_meet *m, const csimi_line *line, csim_real z, csim_real *distance) {
    csim_vec3 n;
    *distance = csimi_meet_distance(m, csim_madd(line->middle, z, line->axis), &n);
    return csim_dot(n, line->axis);
}

/* The part of the line where the slope is within CSIMI_FLAT of level, or as little as can be told of it; low and high:
   the slopes at the ends. False when it is out of reach. */
static bool csimi_flat_part(const csimi_meet *m, const csimi_line *line, csim_real level, csim_real low, csim_real high,
                            csim_real *z1, csim_real *z2) {
    const csim_real least = level - CSIMI_FLAT, most = level + CSIMI_FLAT;
    csim_real h = line->half, below = -h, above = h, top = h, z, s, d;
    int k;
    if (low >= least) above = -h;
    if (high < least) below = h;
    for (k = 0; k < 32 && above - below > CSIM_R(1e-9) * h; k++) { /* above falls to the lower end of the part */
        z = (below + above) / 2;
        s = csimi_slope(m, line, z, &d);
        if (d - csimi_abs(s) * (above - below) > line->radius + m->margin) return false; /* the tangent is below b */
        if (s > most) top = z;
        if (s < least)
            below = z;
        else
            above = z;
    }
    *z1 = above;
    if (low > most) top = -h;
    below = high <= most ? h : above;
    for (k = 0; k < 32 && top - below > CSIM_R(1e-9) * h; k++) { /* below rises to the upper one */
        z = (below + top) / 2;
        if (csimi_slope(m, line, z, &d) > most)
            top = z;
        else
            below = z;
    }
    *z2 = below;
    return true;
}

/* How steep the face is that begins on this side of z, the nearest point, past the turn around its edge: where the
   slope stops growing; more than the cone where there is none. */
static csim_real csimi_level_beside(const csimi_meet *m, const csimi_line *line, csim_real z, int side) {
    csim_real step = csimi_max(line->least, CSIM_R(1e-4) * line->half), level = 0, before = 0, d;
    int k;
    for (k = 0; k < 8; k++, step *= 2, before = level) {
        const csim_real at = z + (csim_real)side * step;
        if (csimi_abs(at) > line->half) break;
        level = csimi_slope(m, line, at, &d);
        if (csimi_abs(level) > m->cone) break;
        if (k > 0 && csimi_abs(level - before) <= CSIMI_FLAT) return level;
    }
    return 2;
}

/* The face that the line leaves at its nearest point z, all but flat: what lies across a table is told of its other
   edge as well, or it would rock from one to the other. Cylinders need no telling: the edges of the other shape do. */
static bool csimi_tilted_part(const csimi_meet *m, const csimi_line *line, csim_real z, csim_real low, csim_real high,
                              csim_real *z1, csim_real *z2) {
    csim_real level, right;
    if (m->cone > 1 || (!line->q && csimi_cylinder(m->a))) return false;
    level = csimi_level_beside(m, line, z, -1);
    right = csimi_level_beside(m, line, z, 1);
    if (csimi_abs(level) > csimi_abs(right)) level = right;
    return csimi_abs(level) <= m->cone && csimi_flat_part(m, line, level, low, high, z1, z2) && *z2 - *z1 > line->least;
}

/* Whether all corners of q, the shape a, lie above x along n, give or take the cone. */
static bool csimi_supports(const csimi_meet *m, const csimi_polytope *q, csim_vec3 x, csim_vec3 n) {
    csim_vec3 local = csim_pose_local(m->pa, x), up = csim_unrotate(m->pa.rotation, n);
    int i;
    for (i = 0; i < q->vertex_count; i++) {
        csim_vec3 d = csim_sub(csimi_load3(q->vertex + 3 * i), local);
        csim_real rise = csim_dot(d, up);
        if (rise < 0 && rise * rise > m->cone * m->cone * csim_dot(d, d)) return false;
    }
    return true;
}

/* Where the distance to b is least along a way, a unit vector, through x: inside b two faces are as near there, and
   neither normal need be one of contact. Their mix that is square to the way is; the corner of their wedge is deeper
   along it. */
static csim_real csimi_meet_wedge(const csimi_meet *m, csim_vec3 x, csim_vec3 way, csim_real step, csim_real d,
                                  csim_vec3 *n) {
    const csim_real slope = csim_dot(*n, way);
    csim_real across, other;
    csim_vec3 mix;
    if (!(d < 0 && csimi_abs(slope) > CSIMI_FLAT)) return d;
    csimi_meet_distance(m, csim_madd(x, slope > 0 ? -step : step, way), &mix);
    other = csim_dot(mix, way);
    if (!(other * slope < 0)) return d;
    mix = csim_scale(1 / (slope - other), csim_madd(csim_scale(-other, *n), slope, mix));
    across = csim_length(mix);
    if (across < CSIM_R(0.1)) return d; /* faces of a plate: any way out will do */
    *n = csim_scale(1 / across, mix);
    return d / across;
}

/* The point at z of the line, if it is one of contact: b is taken as the plane that is nearest to the point at flat. */
static void csimi_meet_at(csimi_meet *m, const csimi_line *line, csim_real z, csim_real flat, uint32_t feature) {
    csim_vec3 x = csim_madd(line->middle, z, line->axis), n, out;
    csim_real d = csimi_meet_distance(m, csim_madd(line->middle, flat, line->axis), &n), across = 1;
    if (line->q && csimi_abs(flat) < line->half && csimi_abs(z - flat) <= 0)
        d = csimi_meet_wedge(m, x, line->axis, CSIM_R(1e-4) * line->half, d, &n);
    d += csim_dot(n, line->axis) * (z - flat);
    out = n;
    if (line->q && (d > m->margin || !csimi_supports(m, line->q, x, n))) return;
    if (csimi_cylinder(m->a)) { /* only what lies beside it: the rims say the rest */
        out = csim_madd(n, -csim_dot(n, line->axis), line->axis);
        across = csim_length(out);
        if (across < (d > 0 ? 1 - CSIM_R(1e-6) : CSIM_R(0.1))) return; /* where b holds the axis, any way out will do */
        out = csim_scale(1 / across, out);
        if (m->cone < 1 && line->half - csimi_abs(z) < line->radius * across - d) return; /* shorter along the axis */
    }
    csimi_meet_emit(m, csim_madd(x, -line->radius, out), csim_madd(x, -d, n), n, d - line->radius * across, feature);
}

/* A point of the line other than its ends. */
static void csimi_meet_part(csimi_meet *m, const csimi_line *line, csim_real z, csim_real flat, int name) {
    if (csimi_abs(z) < line->half) csimi_meet_at(m, line, z, flat, line->name[name]);
}

/* Both ends, unless they hang over, and both ends of the part that lies flat on b, or the nearest point and, if that is
   one of contact, the other end of the face it is on. */
static void csimi_meet_line(csimi_meet *m, const csimi_line *line) {
    const csim_real h = line->half;
    const int before = m->count;
    csim_real low, high, z1, z2, middle, d;
    low = csimi_slope(m, line, -h, &d);
    high = csimi_slope(m, line, h, &d);
    if (low >= -m->cone) csimi_meet_at(m, line, -h, -h, line->name[0]);
    if (h > 0 && high <= m->cone) csimi_meet_at(m, line, h, h, line->name[1]);
    if (!csimi_flat_part(m, line, 0, low, high, &z1, &z2)) return;
    middle = (z1 + z2) / 2;
    if (z2 > z1 && z2 - z1 >= line->least) {
        csimi_meet_part(m, line, z1, middle, 2);
        csimi_meet_part(m, line, z2, middle, 3);
    } else if (csimi_tilted_part(m, line, middle, low, high, &z1, &z2)) {
        const bool upper = middle - z1 > z2 - middle;
        csimi_meet_part(m, line, middle, middle, 2 + upper);
        if (m->count > before) csimi_meet_part(m, line, upper ? z1 : z2, (z1 + z2) / 2, 3 - upper);
    } else {
        csimi_meet_part(m, line, middle, middle, 2);
    }
}

/* The axis of a capsule or cylinder. */
static void csimi_meet_axis(csimi_meet *m) {
    csimi_line line;
    uint32_t k;
    line.middle = m->pa.position;
    line.axis = csimi_axis_of(m->pa);
    line.half = m->a->half_height;
    line.radius = m->a->radius;
    line.least = line.radius / 64;
    line.q = NULL;
    for (k = 0; k < 4; k++) line.name[k] = 0x200u + k;
    csimi_meet_line(m, &line);
}

static void csimi_meet_edges(csimi_meet *m, const csimi_polytope *q) {
    csimi_line line;
    int i;
    line.radius = 0;
    line.least = m->b->radius / 64;
    line.q = q;
    for (i = 0; i < q->edge_count; i++) {
        int a = q->edge_vertex[2 * i], b = q->edge_vertex[2 * i + 1];
        csim_vec3 low = csim_pose_point(m->pa, csimi_load3(q->vertex + 3 * a));
        csim_vec3 high = csim_pose_point(m->pa, csimi_load3(q->vertex + 3 * b));
        line.middle = csim_scale(CSIM_R(0.5), csim_add(low, high));
        line.axis = csim_sub(high, low);
        line.half = csim_length(line.axis) / 2;
        line.axis = csim_scale(CSIM_R(0.5) / line.half, line.axis);
        line.name[0] = 0x1000u + (uint32_t)a;
        line.name[1] = 0x1000u + (uint32_t)b;
        line.name[2] = 0x2000u + 2 * (uint32_t)i;
        line.name[3] = line.name[2] + 1;
        csimi_meet_line(m, &line);
    }
}

/* Two capsules: nearest points of the axes, or both ends of the overlap when they are parallel. */
static void csimi_meet_capsules(csimi_meet *m) {
    csim_real ha = m->a->half_height, hb = m->b->half_height, r = m->a->radius + m->b->radius, sine;
    csim_vec3 ua = csimi_axis_of(m->pa), ub = csimi_axis_of(m->pb), p, q, d, e, n;
    csim_real s[2], t[2], distance;
    int k, points = 1;
    p = csim_madd(m->pa.position, -ha, ua);
    q = csim_madd(m->pb.position, -hb, ub);
    d = csim_scale(2 * ha, ua);
    e = csim_scale(2 * hb, ub);
    csimi_closest_segments(p, d, q, e, s, t);
    sine = csim_length(csim_cross(ua, ub));
    if (ha > 0 && hb > 0 && sine < CSIM_R(1e-2)) {
        csim_real b0 = csim_dot(csim_sub(q, p), ua), b1 = b0 + csim_dot(e, ua);
        csim_real lo = csimi_max(0, csimi_min(b0, b1)), hi = csimi_min(2 * ha, csimi_max(b0, b1));
        if (lo < hi && sine * (hi - lo) < CSIM_R(1e-2) * r) {
            points = 2;
            for (k = 0; k < 2; k++) {
                s[k] = (k == 0 ? lo : hi) / (2 * ha);
                t[k] = ((k == 0 ? lo : hi) - b0) / (b1 - b0);
            }
        }
    }
    for (k = 0; k < points; k++) {
        csim_vec3 xa = csim_madd(p, s[k], d), xb = csim_madd(q, t[k], e);
        n = csim_sub(xa, xb);
        distance = csim_length(n);
        n = distance > 0 ? csim_scale(1 / distance, n) : csim_normalize(csim_cross(ua, csim_v3(ua.y, ua.z, ua.x)));
        if (!(csim_dot(n, n) > 0)) n = csim_v3(0, 0, 1);
        csimi_meet_emit(m, csim_madd(xa, -m->a->radius, n), csim_madd(xb, m->b->radius, n), n, distance - r,
                        (uint32_t)k);
    }
}

/* ---- rims of cylinders */

/* The rim of one cap of a. */
typedef struct csimi_rim {
    csim_vec3 centre, cap; /* outward */
    uint32_t name;
} csimi_rim;

/* The point of the rim in the direction side, if it is one of contact. */
static void csimi_meet_rim_point(csimi_meet *m, const csimi_rim *rim, csim_vec3 side, uint32_t feature) {
    csim_vec3 x = csim_madd(rim->centre, m->a->radius, side), n;
    const csim_vec3 way = csim_cross(rim->cap, side);
    csim_real d = csimi_meet_distance(m, x, &n);
    d = csimi_meet_wedge(m, x, way, CSIM_R(1e-3) * m->a->radius, d, &n);
    if (csim_dot(n, side) > m->cone || csim_dot(n, rim->cap) > m->cone || csimi_abs(csim_dot(n, way)) > m->cone) return;
    csimi_meet_emit(m, x, csim_madd(x, -d, n), n, d, rim->name + feature);
}

/* The point of the rim that is deepest, exact over a plane, from the one towards b at x on: how far the cap is from
   lying flat there (0: it has none), and the normal. */
static csim_real csimi_rim_deepest(const csimi_meet *m, const csimi_rim *rim, csim_vec3 x, csim_vec3 *side,
                                   csim_vec3 *n) {
    csim_real tilt = 0;
    int k, passes = csimi_shape_is(m->b, CSIM_SHAPE_HALF_SPACE) ? 1 : 3;
    for (k = 0; k < passes; k++) {
        csimi_meet_distance(m, x, n);
        *side = csim_cross(rim->cap, csim_cross(rim->cap, *n)); /* across the cap to rounding, however small */
        tilt = csim_length(*side);
        if (tilt < 64 * CSIMI_EPS) return 0;
        *side = csim_scale(1 / tilt, *side);
        x = csim_madd(rim->centre, m->a->radius, *side);
    }
    return tilt;
}

/* Samples of the rim, those left out that the deepest point speaks for: what rolls on a plane would be stopped by the
   samples that come down ahead of it, for rows are linear. */
static void csimi_meet_rim_samples(csimi_meet *m, const csimi_rim *rim, csim_real tilt, csim_vec3 deepest) {
    int i, samples = 4 * csimi_cut(CSIMI_PI / 2 * m->a->radius / m->a->spacing + CSIM_R(0.5), 1, 8);
    const csim_vec3 axis = csimi_axis_of(m->pa), u = csim_rotate(m->pa.rotation, csim_v3(1, 0, 0));
    const csim_vec3 v = csim_cross(axis, u);
    csim_real c = 1, s = 0, ci, si, old;
    csim_vec3 n, side;
    if (csimi_shape_is(m->b, CSIM_SHAPE_HALF_SPACE)) samples = 4; /* any triangle about the centre carries it */
    ci = samples == 4 ? 0 : CSIMI_COS(2 * CSIMI_PI / (csim_real)samples);
    si = samples == 4 ? 1 : CSIMI_SIN(2 * CSIMI_PI / (csim_real)samples);
    for (i = 0; i < samples; i++) {
        side = csim_madd(csim_scale(c, u), s, v);
        if (tilt > CSIMI_LIES) csimi_meet_distance(m, csim_madd(rim->centre, m->a->radius, side), &n);
        if (!(tilt > CSIMI_LIES) || csim_dot(n, deepest) < 1 - CSIM_R(1e-6))
            csimi_meet_rim_point(m, rim, side, (uint32_t)i + 1);
        old = c;
        c = c * ci - s * si;
        s = s * ci + old * si;
    }
}

/* A circle about the axis of a: its distance in the direction at an angle from down. */
typedef struct csimi_wheel {
    csimi_rim rim;
    csim_vec3 down, ahead; /* unit vectors of the circle's plane */
} csimi_wheel;

static csim_vec3 csimi_wheel_side(const csimi_wheel *w, csim_real angle) {
    return csim_madd(csim_scale(CSIMI_COS(angle), w->down), CSIMI_SIN(angle), w->ahead);
}

static csim_real csimi_wheel_gap(const csimi_meet *m, const csimi_wheel *w, csim_real angle) {
    csim_vec3 n;
    return csimi_meet_distance(m, csim_madd(w->rim.centre, m->a->radius, csimi_wheel_side(w, angle)), &n);
}

/* The angle between low and high where the gap is least, by golden sections: it has one minimum there. */
static csim_real csimi_wheel_least(const csimi_meet *m, const csimi_wheel *w, csim_real low, csim_real high) {
    const csim_real share = CSIM_R(0.61803398874989485);
    csim_real a = high - share * (high - low), b = low + share * (high - low);
    csim_real da = csimi_wheel_gap(m, w, a), db = csimi_wheel_gap(m, w, b);
    int k;
    for (k = 0; k < 16; k++)
        if (da < db) {
            high = b, b = a, db = da;
            da = csimi_wheel_gap(m, w, a = high - share * (high - low));
        } else {
            low = a, a = b, da = db;
            db = csimi_wheel_gap(m, w, b = low + share * (high - low));
        }
    return (low + high) / 2;
}

/* The least points of one circle, from so many looks at it. A plane's is found by its normal, exactly. */
static void csimi_meet_circle(csimi_meet *m, const csimi_wheel *w, int looks, uint32_t name) {
    enum { LOOKS = 23 };
    const csim_real apart = CSIM_R(0.3);
    csim_real gap[LOOKS];
    int k;
    for (k = 0; k < looks; k++) gap[k] = csimi_wheel_gap(m, w, apart * (csim_real)(k - looks / 2));
    for (k = 1; k < looks - 1; k++) {
        csim_vec3 side, n;
        csim_real angle, tilt;
        if (gap[k] > gap[k - 1] || gap[k] >= gap[k + 1] || gap[k] > m->margin + m->a->radius * apart / 2) continue;
        angle = apart * (csim_real)(k - looks / 2);
        side = csimi_wheel_side(w, angle);
        tilt = csimi_rim_deepest(m, &w->rim, csim_madd(w->rim.centre, m->a->radius, side), &side, &n);
        if (!(tilt > CSIMI_LIES) ||
            !(csimi_meet_distance(m, csim_madd(w->rim.centre, m->a->radius, side), &n) <= gap[k]) ||
            csimi_abs(csim_dot(n, csim_cross(w->rim.cap, side))) > CSIM_R(1e-6))
            side = csimi_wheel_side(w, csimi_wheel_least(m, w, angle - apart, angle + apart));
        csimi_meet_rim_point(m, &w->rim, side, name++);
    }
}

static void csimi_meet_rim(csimi_meet *m, int top) {
    csim_vec3 n, axis = csimi_axis_of(m->pa);
    csim_real tilt;
    csimi_wheel w;
    w.rim.cap = csim_scale(top ? 1 : -1, axis);
    w.rim.centre = csim_madd(m->pa.position, m->a->half_height, w.rim.cap);
    if (csimi_meet_distance(m, w.rim.centre, &n) > m->a->radius + m->margin) return;
    w.rim.name = top ? 0x140u : 0x100u;
    tilt = csimi_rim_deepest(m, &w.rim, w.rim.centre, &w.down, &n);
    csimi_meet_rim_samples(m, &w.rim, tilt, n);
    if (!(tilt > 0)) return;
    csimi_meet_rim_point(m, &w.rim, w.down, 0); /* last: where a sample says as much, its name stays */
    w.ahead = csim_cross(w.rim.cap, w.down);
    if (csimi_cylinder(m->b)) csimi_meet_circle(m, &w, 23, 33); /* rim on rim */
}

/* ---- dispatch: each shape offers points to the other; the order of kinds decides who is a */

/* Corners on flat ground, edges against a cylinder. */
static void csimi_meet_flat(csimi_meet *m) {
    csimi_polytope q;
    int i;
    if (m->a == m->plate)
        csimi_polytope_facet(&q, m->facet);
    else
        csimi_polytope_of(&q, m->a, m->hulls);
    if (csimi_cylinder(m->b)) {
        csimi_meet_edges(m, &q);
        return;
    }
    for (i = 0; i < q.vertex_count; i++)
        csimi_meet_ball(m, csim_pose_point(m->pa, csimi_load3(q.vertex + 3 * i)), 0, 0x1000u + (uint32_t)i);
}

static void csimi_meet_cylinder(csimi_meet *m) {
    csimi_meet_rim(m, 0);
    csimi_meet_rim(m, 1);
    if (!csimi_shape_is(m->b, CSIM_SHAPE_HALF_SPACE)) csimi_meet_axis(m); /* the rims say all on flat ground */
}

/* A cylinder a, and b in its turn. */
static void csimi_meet_cylinders(csimi_meet *m) {
    csimi_meet_cylinder(m);
    if (csimi_shape_is(m->b, CSIM_SHAPE_HALF_SPACE)) return;
    csimi_meet_swap(m);
    m->names = 0x10000u;
    if (csimi_cylinder(m->a))
        csimi_meet_cylinder(m);
    else
        csimi_meet_flat(m);
    csimi_meet_swap(m);
    m->names = 0;
}

/* Spheres offer their centre, capsules their axis, then the rest. */
CSIMI_KNOWN int csimi_roundness(csim_shape_kind k) {
    switch (k) {
    case CSIM_SHAPE_SPHERE: return 4;
    case CSIM_SHAPE_CAPSULE: return 3;
    case CSIM_SHAPE_CYLINDER: return 2;
    case CSIM_SHAPE_BOX:
    case CSIM_SHAPE_HULL: return 1;
    case CSIM_SHAPE_MESH:
    case CSIM_SHAPE_HEIGHTS:
    case CSIM_SHAPE_TRIANGLES:
    case CSIM_SHAPE_HALF_SPACE:
    case CSIM_SHAPE_COUNT_: break;
    }
    return 0;
}

/* ---- fields: samples of each shape against the other. Of the many that may touch, the deepest stay: as the shapes
   lie, and tilted in eight directions, by a little (what carries now), by more and by much (what a fast one would hit
   in this step), for each of six directions of normals in the frame of b. */

enum { CSIMI_TILTS = 25, CSIMI_CHOICES = 6 * CSIMI_TILTS };

typedef struct csimi_choices {
    float score[CSIMI_CHOICES];
    int number[CSIMI_CHOICES]; /* of the sample, -1: none */
    unsigned char winner[CSIMI_CHOICES];
} csimi_choices;

/* What was found of the first samples that were chosen, in their order; the last stands for all others. */
enum { CSIMI_WINNERS = 24 };
typedef struct csimi_winner {
    csim_vec3 normal;
    csim_real distance;
    int number, held; /* held: choices that it has */
} csimi_winner;

/* How deep x, in b's frame, is after tilt k; bin: the direction of the normal. */
CSIMI_FN csim_real csimi_tilted(csim_vec3 x, csim_real gap, int bin, int k) {
    static const signed char side[18] = {0, 0, 10, 0, -10, 0, 0, 10, 0, -10, 7, 7, -7, 7, 7, -7, -7, -7};
    csim_real p[3];
    const csim_real tilt = k > 16 ? CSIM_R(0.1) : k > 8 ? CSIM_R(0.0125) : CSIM_R(0.0002); /* sides are tens */
    k = k > 0 ? (k - 1) % 8 + 1 : 0;
    csimi_store3(p, x);
    return tilt * ((csim_real)side[2 * k] * p[(bin + 1) % 3] + (csim_real)side[2 * k + 1] * p[(bin + 2) % 3]) - gap;
}

CSIMI_FN int csimi_normal_bin(csim_vec3 n) {
    const csim_real x = csimi_abs(n.x), y = csimi_abs(n.y), z = csimi_abs(n.z);
    const int k = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    return (k == 0 ? n.x : k == 1 ? n.y : n.z) < 0 ? k + 3 : k;
}

static void csimi_field_sampler(const csimi_meet *m, csimi_sampler *s) {
    csim_pose back; /* of b in the frame of a */
    csim_vec3 lower, upper, extra = csim_v3(m->margin, m->margin, m->margin);
    csim_real size = m->b->field ? 4 * (csim_real)m->b->field->cell : m->a->bound / 4;
    csimi_sampler_start(s, m->a, m->hulls, m->a->spacing > 0 ? m->a->spacing : size);
    if (!csimi_shape_is(m->a, CSIM_SHAPE_HEIGHTS)) return;
    back.position = csim_pose_local(m->pa, m->pb.position);
    back.rotation = csim_quat_mul(csim_quat_conj(m->pa.rotation), m->pb.rotation);
    csimi_bounds_at(m->b, m->hulls, back, &lower, &upper);
    csimi_sampler_limit(s, csim_sub(lower, extra), csim_add(upper, extra));
    s->least = lower.z - m->margin;
}

/* Whether a sample of a field may count where the other's outward normal is n: it must face the field's own, or nodes
   ahead of a sliding box would stop it. Round sides meet fields by balls of their own. */
static bool csimi_sample_faces(const csimi_meet *m, csim_vec3 point, csim_vec3 n) {
    const csim_shape_kind other = m->b->kind;
    if (!m->a->field || other == CSIM_SHAPE_HALF_SPACE) return true;
    if (other == CSIM_SHAPE_CYLINDER && csimi_abs(csim_dot(n, csimi_axis_of(m->pb))) < CSIM_R(0.9)) return false;
    return csim_dot(csim_unrotate(m->pa.rotation, n), csimi_field_normal(m->a->field, point)) < CSIM_R(-0.5);
}

/* Whether it is one of a rim that lies on its side: csimi_meet_field_rims speaks for it. */
static bool csimi_sample_rolls(const csimi_meet *m, const csimi_sampler *s, csim_vec3 n) {
    csim_real along;
    if (!csimi_cylinder(m->a) || s->radius > 0) return false;
    along = csim_dot(n, csimi_axis_of(m->pa));
    return 1 - along * along > CSIMI_LIES * CSIMI_LIES;
}

/* Whether the block of samples that begins is out of reach. */
static bool csimi_block_far(const csimi_meet *m, const csimi_sampler *s) {
    csim_vec3 n, x;
    if (!s->begins) return false;
    x = csim_pose_point(m->pa, s->middle);
    return (csimi_shape_is(m->b, CSIM_SHAPE_MESH) ? csimi_least_mesh(m->b->field, csim_pose_local(m->pb, x))
                                                  : csimi_meet_distance(m, x, &n)) > s->ball + m->margin;
}

static uint64_t csimi_sample_bit(int number) { return (uint64_t)1 << (number & 63); }

/* Samples of a whose best score over b is told; returns the bits of their numbers. */
static CSIMI_NOINLINE uint64_t csimi_choose_samples(const csimi_meet *m, csimi_choices *choice,
                                                    csimi_winner *winner) {
    const float tie = (float)(CSIM_R(1e-6) * m->a->bound); /* of samples that lie as deep the first stays: no flicker */
    uint64_t bits = 0;
    csimi_sampler s;
    int k, winners = 0;
    CSIMI_MEMSET(choice->number, 255, sizeof choice->number);
    winner[0].held = winner[CSIMI_WINNERS].held = 0;
    csimi_field_sampler(m, &s);
    while (csimi_sampler_next(&s)) {
        csim_vec3 x = csim_pose_point(m->pa, s.point), n;
        csim_real d, gap;
        int bin;
        bool wins = false;
        if (csimi_block_far(m, &s)) {
            csimi_sampler_pass(&s);
            continue;
        }
        d = csimi_meet_within(m, x, m->margin + s.radius, &n);
        gap = d - s.radius;
        if (!(gap <= m->margin) || !csimi_sample_faces(m, s.point, n) || csimi_sample_rolls(m, &s, n)) continue;
        bin = csimi_normal_bin(csim_unrotate(m->pb.rotation, n));
        x = csim_pose_local(m->pb, x);
        for (k = 0; k < CSIMI_TILTS; k++) {
            const int at = CSIMI_TILTS * bin + k;
            const float score = (float)csimi_tilted(x, gap, bin % 3, k);
            if (choice->number[at] >= 0 && score <= choice->score[at] + tie) continue;
            if (choice->number[at] >= 0) winner[choice->winner[at]].held--;
            choice->score[at] = score;
            choice->number[at] = s.number;
            choice->winner[at] = (unsigned char)winners;
            winner[winners].held++;
            wins = true;
        }
        if (!wins) continue;
        bits |= csimi_sample_bit(s.number);
        if (winners == CSIMI_WINNERS) continue;
        winner[winners].normal = n;
        winner[winners].distance = d;
        winner[winners].number = s.number;
        if (++winners < CSIMI_WINNERS) winner[winners].held = 0;
    }
    winner[winners].number = INT32_MAX;
    return bits;
}

static CSIMI_NOINLINE void csimi_tell_samples(csimi_meet *m, csimi_choices *choice) {
    csimi_winner winner[CSIMI_WINNERS + 1], *at = winner;
    const uint64_t chosen = csimi_choose_samples(m, choice, winner);
    csimi_sampler s;
    csim_vec3 x;
    int k;
    if (!chosen) return;
    csimi_field_sampler(m, &s);
    while (csimi_sampler_next(&s)) {
        if (csimi_block_far(m, &s)) {
            csimi_sampler_pass(&s);
            continue;
        }
        while (at->number < s.number) at++;
        if (at->number == INT32_MAX && winner[CSIMI_WINNERS].held == 0) return; /* no more */
        x = csim_pose_point(m->pa, s.point);
        if (at->number == s.number) {
            if (at->held > 0)
                csimi_meet_ball_at(m, x, s.radius, at->distance, at->normal, (uint32_t)s.number);
            continue;
        }
        if (!(chosen & csimi_sample_bit(s.number))) continue;
        for (k = 0; k < CSIMI_CHOICES && choice->number[k] != s.number; k++) {
        }
        if (k < CSIMI_CHOICES) csimi_meet_ball(m, x, s.radius, (uint32_t)s.number);
    }
}

static CSIMI_NOINLINE void csimi_meet_samples(csimi_meet *m) {
    csimi_choices choice; /* apart: no frame is large */
    if (csimi_shape_is(m->a, CSIM_SHAPE_HALF_SPACE) || (m->a->field && csimi_shape_is(m->b, CSIM_SHAPE_CAPSULE)))
        return;
    csimi_tell_samples(m, &choice);
}

/* A ball over a field is its centre; heights that are hollow meet it with each of the triangles it is over. */
static void csimi_meet_field_ball(csimi_meet *m) {
    const csim_vec3 c = csim_pose_local(m->pb, m->pa.position);
    const csim_real r = m->a->radius;
    csimi_height_plane plane[8];
    csim_vec3 n;
    csim_real d = csimi_meet_distance(m, m->pa.position, &n);
    int i, count = 0;
    if (csimi_shape_is(m->b, CSIM_SHAPE_HEIGHTS) && d > 0)
        count = csimi_height_planes(m->b->field, c, r + m->margin, plane, 8);
    for (i = 0; i < count; i++) {
        n = csim_rotate(m->pb.rotation, plane[i].normal);
        csimi_meet_emit(m, csim_madd(m->pa.position, -r, n), csim_madd(m->pa.position, -plane[i].distance, n), n,
                        plane[i].distance - r, 1 + plane[i].triangle);
    }
    if (count == 0 || d < plane[0].distance - CSIM_R(1e-6) * r) csimi_meet_ball(m, m->pa.position, r, 0);
}

/* A wheel on a field rolls on its circle, not on the corners of its samples: the deepest points of both rims and of the
   circle between them. */
static void csimi_meet_field_rims(csimi_meet *m) {
    csimi_wheel w;
    csim_vec3 n;
    int k;
    for (k = -1; k <= 1; k++) {
        w.rim.cap = csim_scale(k < 0 ? -1 : 1, csimi_axis_of(m->pa));
        w.rim.centre = csim_madd(m->pa.position, k == 0 ? 0 : m->a->half_height, w.rim.cap);
        w.rim.name = 0x40000010u + (uint32_t)(16 * k);
        if (csimi_meet_distance(m, w.rim.centre, &n) > m->a->radius + m->margin) continue;
        w.down = csim_cross(w.rim.cap, csim_cross(w.rim.cap, n));
        if (!(csim_length(w.down) > CSIMI_LIES)) continue;
        w.down = csim_normalize(w.down);
        w.ahead = csim_cross(w.rim.cap, w.down);
        csimi_meet_circle(m, &w, 9, 0);
    }
}

/* A sphere is its centre; what else is beside a field has samples and is met by those of the field. */
static void csimi_meet_fields(csimi_meet *m) {
    if (!m->b->field) csimi_meet_swap(m);
    if (csimi_shape_is(m->a, CSIM_SHAPE_SPHERE)) {
        csimi_meet_field_ball(m);
        return;
    }
    csimi_meet_samples(m);
    if (csimi_cylinder(m->a)) csimi_meet_field_rims(m);
    csimi_meet_swap(m);
    m->names = 0x80000000u;
    if (!csimi_shape_is(m->a, CSIM_SHAPE_TRIANGLES)) csimi_meet_samples(m);
    csimi_meet_swap(m);
    m->names = 0;
}

static void csimi_meet_shapes(csimi_meet *m) {
    csim_vec3 n;
    if (csimi_roundness(csimi_kind_of(m->a)) < csimi_roundness(csimi_kind_of(m->b))) csimi_meet_swap(m);
    if (csimi_shape_is(m->a, CSIM_SHAPE_HALF_SPACE)) return;
    if (csimi_meet_distance(m, csim_pose_point(m->pa, m->a->centre), &n) > m->a->bound + m->margin) return;
    switch (csimi_roundness(csimi_kind_of(m->a))) {
    case 4: csimi_meet_ball(m, m->pa.position, m->a->radius, 0); return;
    case 3:
        if (csimi_shape_is(m->b, CSIM_SHAPE_CAPSULE))
            csimi_meet_capsules(m);
        else
            csimi_meet_axis(m);
        return;
#ifndef CONDSIM_NO_CYLINDERS
    case 2:
        csimi_meet_cylinders(m);
        if (m->count > 0) return;
        m->cone = 2;
        csimi_meet_cylinders(m);
        return;
#endif
    default: csimi_meet_flat(m); return;
    }
}

static csimi_meet csimi_meet_of(const csim_geometry *a, csim_pose pa, const csim_geometry *b, csim_pose pb,
                                const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity) {
    csimi_meet m;
    m.a = a;
    m.b = b;
    m.pa = pa;
    m.pb = pb;
    m.hulls = hulls;
    m.margin = margin;
    m.touches = touches;
    m.count = 0;
    m.capacity = capacity;
    m.cone = CSIM_R(0.3);
    m.names = 0;
    m.swapped = false;
    m.facet = NULL;
    m.plate = NULL;
    m.up = csimi_axis_of(csimi_shape_is(a, CSIM_SHAPE_HALF_SPACE) ? pa : pb);
    return m;
}

#ifndef CONDSIM_NO_FIELDS
CSIMI_FN int csimi_meet_facet(const csim_geometry *g, csim_pose p, const csimi_facet *f, const csim_hull_data *hulls,
                              csim_real margin, csim_touch *touches, int capacity) {
    csim_geometry plate;
    csimi_meet m;
    CSIMI_MEMSET(&plate, 0, sizeof plate);
    plate.kind = CSIM_SHAPE_HULL;
    plate.local = csim_pose_identity();
    m = csimi_meet_of(g, p, &plate, plate.local, hulls, margin, touches, capacity);
    m.facet = f;
    m.plate = &plate;
    if (g->kind == CSIM_SHAPE_CAPSULE)
        csimi_meet_axis(&m);
    else
        csimi_meet_cylinders(&m);
    return m.count;
}
#endif

CSIMI_FN int csimi_meet_pair(const csim_geometry *a, csim_pose pa, const csim_geometry *b, csim_pose pb,
                             const csim_hull_data *hulls, csim_real margin, csim_touch *touches, int capacity) {
    csimi_meet m = csimi_meet_of(a, pa, b, pb, hulls, margin, touches, capacity);
#ifndef CONDSIM_NO_FIELDS
    if (a->field || b->field)
        csimi_meet_fields(&m);
    else
#endif
        csimi_meet_shapes(&m);
    return m.count;
}
