/* collide/convex: distances between convex shapes (Gilbert, Johnson and Keerthi 1988) and the way until they touch. A
   shape is its core, swept by a ball: spheres and capsules are points and segments. */
#include "private.h"

enum { CSIMI_GJK_STEPS = 128, CSIMI_GJK_IDLE = 4, CSIMI_CAST_STEPS = 64 };

CSIMI_FN void csimi_convex_of(csimi_convex *c, const csim_geometry *g, const csim_hull_data *hulls, csim_pose p) {
    CSIMI_MEMSET(c, 0, sizeof *c);
    c->kind = g->kind;
    c->pose = p;
    c->half = g->half;
    c->radius = g->radius;
    c->half_height = g->half_height;
    c->geometry = g;
    c->size = g->bound;
    if (g->kind == CSIM_SHAPE_SPHERE || g->kind == CSIM_SHAPE_CAPSULE) c->round = g->radius;
    if (g->kind != CSIM_SHAPE_HULL) return;
    c->point = hulls[g->hull].vertex;
    c->count = hulls[g->hull].vertex_count;
}

CSIMI_FN void csimi_convex_points(csimi_convex *c, const csim_real *point, int count) {
    int i, k;
    CSIMI_MEMSET(c, 0, sizeof *c);
    c->kind = CSIM_SHAPE_HULL;
    c->pose = csim_pose_identity();
    c->pose.position = csimi_load3(point);
    c->point = point;
    c->count = count;
    for (i = 0; i < count; i++)
        for (k = 0; k < 3; k++) c->size = csimi_max(c->size, csimi_abs(point[3 * (size_t)i + (size_t)k] - point[k]));
    c->pose.position = csim_v3(0, 0, 0);
}

CSIMI_FN void csimi_convex_segment(csimi_convex *c, const csim_real *ends, csim_real radius) {
    csimi_convex_points(c, ends, 2);
    c->round = radius;
    c->size += radius;
}

/* The point of the core farthest along d. */
static csim_vec3 csimi_convex_support(const csimi_convex *c, csim_vec3 d) {
    const csim_vec3 e = csim_unrotate(c->pose.rotation, d);
    csim_vec3 x = csim_v3(0, 0, 0);
    csim_real most, across;
    int i, best = 0;
    switch (c->kind) {
    case CSIM_SHAPE_SPHERE: break;
    case CSIM_SHAPE_CAPSULE: x.z = e.z < 0 ? -c->half_height : c->half_height; break;
    case CSIM_SHAPE_BOX:
        x = csim_v3(e.x < 0 ? -c->half.x : c->half.x, e.y < 0 ? -c->half.y : c->half.y,
                    e.z < 0 ? -c->half.z : c->half.z);
        break;
    case CSIM_SHAPE_CYLINDER:
        across = CSIMI_SQRT(e.x * e.x + e.y * e.y);
        if (across > 0) x = csim_v3(c->radius * (e.x / across), c->radius * (e.y / across), 0);
        x.z = e.z < 0 ? -c->half_height : c->half_height;
        break;
    case CSIM_SHAPE_HULL:
        for (i = 0, most = -CSIMI_HUGE; i < c->count; i++) {
            const csim_real along = csim_dot(e, csimi_load3(c->point + 3 * (size_t)i));
            if (!(along > most)) continue;
            most = along;
            best = i;
        }
        x = csimi_load3(c->point + 3 * (size_t)best);
        break;
    case CSIM_SHAPE_HALF_SPACE:
    case CSIM_SHAPE_MESH:
    case CSIM_SHAPE_HEIGHTS:
    case CSIM_SHAPE_TRIANGLES:
    case CSIM_SHAPE_COUNT_: break;
    }
    return csim_pose_point(c->pose, x);
}

CSIMI_FN void csimi_convex_bounds(const csimi_convex *c, csim_vec3 *lower, csim_vec3 *upper) {
    csim_real low[3], high[3];
    int k;
    for (k = 0; k < 3; k++) {
        const csim_vec3 d = csim_v3(k == 0, k == 1, k == 2);
        csim_real x[3];
        csimi_store3(x, csimi_convex_support(c, d));
        high[k] = x[k] + c->round;
        csimi_store3(x, csimi_convex_support(c, csim_scale(-1, d)));
        low[k] = x[k] - c->round;
    }
    *lower = csimi_load3(low);
    *upper = csimi_load3(high);
}

/* ---- the simplex: differences y of points of a and b, whose point nearest to zero is a mean of them */

typedef struct csimi_simplex {
    int count;
    csim_vec3 y[4], b[4];
    csim_real weight[4];
} csimi_simplex;

/* Leaves out what has no weight. */
static void csimi_simplex_thin(csimi_simplex *s) {
    int i, n = 0;
    for (i = 0; i < s->count; i++) {
        if (!(s->weight[i] > 0)) continue;
        s->y[n] = s->y[i];
        s->b[n] = s->b[i];
        s->weight[n++] = s->weight[i];
    }
    s->count = n;
}

static csim_vec3 csimi_simplex_mean(const csimi_simplex *s, const csim_vec3 *x) {
    csim_vec3 sum = csim_v3(0, 0, 0);
    int i;
    for (i = 0; i < s->count; i++) sum = csim_madd(sum, s->weight[i], x[i]);
    return sum;
}

/* The point of the segment a b nearest to zero: weight of b. */
static csim_real csimi_simplex_edge(csim_vec3 a, csim_vec3 b) {
    const csim_vec3 e = csim_sub(b, a);
    const csim_real square = csim_dot(e, e);
    return square > 0 ? csimi_clamp(-csim_dot(a, e) / square, 0, 1) : 0;
}

/* The point of a triangle nearest to zero; its square. Around rims triangles become slivers whose planes still count:
   their corners are known to the roundings of the shapes. */
static csim_real csimi_simplex_triangle(const csim_vec3 *y, csim_real *weight) {
    const csim_vec3 n = csim_cross(csim_sub(y[1], y[0]), csim_sub(y[2], y[0]));
    csim_real w[3], sum = 0, least = CSIMI_HUGE, square;
    csim_vec3 v = csim_v3(0, 0, 0);
    int k;
    for (k = 0; k < 3; k++) {
        const int next = (k + 1) % 3;
        const csim_real t = csimi_simplex_edge(y[k], y[next]);
        const csim_vec3 on = csim_madd(y[k], t, csim_sub(y[next], y[k]));
        if (!(csim_dot(on, on) < least)) continue;
        least = csim_dot(on, on);
        weight[k] = 1 - t;
        weight[next] = t;
        weight[(k + 2) % 3] = 0;
    }
    for (k = 0; k < 3; k++) {
        w[k] = csim_dot(n, csim_cross(y[(k + 1) % 3], y[(k + 2) % 3]));
        if (!(w[k] > 0)) return least;
        sum += w[k];
    }
    for (k = 0; k < 3; k++) v = csim_madd(v, w[k] / sum, y[k]);
    square = csim_dot(v, v);
    if (!(square < least)) return least;
    for (k = 0; k < 3; k++) weight[k] = w[k] / sum;
    return square;
}

/* The face of a tetrahedron nearest to zero, of those that have it outside; false: none has. */
static bool csimi_simplex_face(csimi_simplex *s) {
    static const int face[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
    csim_real weight[3], best[3] = {0, 0, 0}, least = CSIMI_HUGE, thin = 0;
    csimi_simplex own = *s;
    int f, k, chosen = -1;
    for (k = 1; k < 4; k++) thin = csimi_max(thin, csim_length(csim_sub(own.y[k], own.y[0])));
    thin *= 16 * CSIMI_EPS * thin * thin;
    for (f = 0; f < 4; f++) {
        const csim_vec3 y[3] = {own.y[face[f][0]], own.y[face[f][1]], own.y[face[f][2]]};
        const csim_vec3 n = csim_cross(csim_sub(y[1], y[0]), csim_sub(y[2], y[0]));
        const csim_real fourth = csim_dot(n, csim_sub(own.y[face[f][3]], y[0])), zero = -csim_dot(n, y[0]);
        csim_real square;
        if (fourth * zero > 0 && csimi_abs(fourth) > thin) continue; /* a flat one has all its faces outside */
        square = csimi_simplex_triangle(y, weight);
        if (!(square < least)) continue;
        least = square;
        chosen = f;
        CSIMI_MEMCPY(best, weight, sizeof best);
    }
    if (chosen < 0) return false;
    for (k = 0; k < 3; k++) {
        s->y[k] = own.y[face[chosen][k]];
        s->b[k] = own.b[face[chosen][k]];
        s->weight[k] = best[k];
    }
    s->count = 3;
    return true;
}

/* The point nearest to zero; false: zero is inside. */
static bool csimi_simplex_nearest(csimi_simplex *s, csim_vec3 *v) {
    if (s->count == 1) s->weight[0] = 1;
    if (s->count == 2) {
        s->weight[1] = csimi_simplex_edge(s->y[0], s->y[1]);
        s->weight[0] = 1 - s->weight[1];
    }
    if (s->count == 3) csimi_simplex_triangle(s->y, s->weight);
    if (s->count == 4 && !csimi_simplex_face(s)) return false;
    csimi_simplex_thin(s);
    *v = csimi_simplex_mean(s, s->y);
    return true;
}

static bool csimi_simplex_has(const csimi_simplex *s, csim_vec3 y) {
    int i;
    for (i = 0; i < s->count; i++) {
        const csim_vec3 d = csim_sub(s->y[i], y);
        if (!(csim_dot(d, d) > 0)) return true;
    }
    return false;
}

/* Of the cores. Around rims the distance stops to fall before its direction is found: the search goes on while the slab
   between the two supporting planes, which is at most the distance, grows. */
static csim_real csimi_core_distance(const csimi_convex *a, csim_vec3 shift, const csimi_convex *b, csim_vec3 *on_b,
                                     csim_vec3 *normal) {
    const csim_real small = 16 * CSIMI_EPS * (a->size + b->size);
    csimi_simplex s;
    csim_vec3 v = csim_sub(csim_add(a->pose.position, shift), b->pose.position);
    csim_real length = 0, shortest = CSIMI_HUGE, gap, least = CSIMI_HUGE, distance = 0;
    int k, idle = 0;
    if (!(csim_dot(v, v) > 0)) v = csim_v3(1, 0, 0);
    s.count = 0;
    for (k = 0; k < CSIMI_GJK_STEPS; k++) {
        const csim_vec3 q = csimi_convex_support(b, v);
        const csim_vec3 y = csim_sub(csim_add(csimi_convex_support(a, csim_scale(-1, v)), shift), q);
        if (k > 0) {
            gap = length - csim_dot(v, y) / length;
            idle = gap < least || length < shortest * (1 - 8 * CSIMI_EPS) ? 0 : idle + 1;
            shortest = csimi_min(shortest, length);
            if (gap < least) {
                least = gap;
                distance = length;
                *normal = csim_scale(1 / length, v);
                *on_b = csimi_simplex_mean(&s, s.b);
            }
            if (gap <= small || idle == CSIMI_GJK_IDLE || csimi_simplex_has(&s, y)) return distance;
        }
        s.y[s.count] = y;
        s.b[s.count++] = q;
        if (!csimi_simplex_nearest(&s, &v)) return 0;
        length = csim_length(v);
        if (length <= small) return 0;
    }
    return distance;
}

CSIMI_FN csim_real csimi_convex_distance(const csimi_convex *a, csim_vec3 shift, const csimi_convex *b, csim_vec3 *on_b,
                                         csim_vec3 *normal) {
    const csim_real d = csimi_core_distance(a, shift, b, on_b, normal);
    if (d > 0) *on_b = csim_madd(*on_b, b->round, *normal);
    return csimi_max(d - a->round - b->round, 0);
}

/* Of what overlaps from the start: against the way, up without one. */
CSIMI_FN csim_vec3 csimi_against(csim_vec3 way) {
    const csim_vec3 n = csim_normalize(csim_scale(-1, way));
    return csim_dot(n, n) > 0 ? n : csim_v3(0, 0, 1);
}

/* How near rims are searched: their distance is known to a root of the roundings, the plane between them the better the
   farther they are apart. What is left of the way follows from the plane. */
static csim_real csimi_cast_rough(const csimi_convex *a, const csimi_convex *b) {
    const bool rim = a->kind == CSIM_SHAPE_CYLINDER || b->kind == CSIM_SHAPE_CYLINDER;
    return rim ? (CSIMI_EPS < CSIM_R(1e-12) ? CSIM_R(1e-6) : CSIM_R(1e-3)) * (a->size + b->size) : 0;
}

/* Of a point to a core. */
static csim_real csimi_point_off(const csimi_convex *c, csim_vec3 point) {
    csimi_convex x;
    csim_vec3 on, n;
    CSIMI_MEMSET(&x, 0, sizeof x);
    x.kind = CSIM_SHAPE_SPHERE;
    x.pose = csim_pose_identity();
    x.pose.position = point;
    return csimi_core_distance(&x, csim_v3(0, 0, 0), c, &on, &n);
}

/* The last piece of a way, `before` the end of which the cores were d apart: where they meet is the point of the one or
   of the other, the one that is sharp. */
static csim_vec3 csimi_cast_meeting(const csimi_convex *a, const csimi_convex *b, csim_vec3 way, csim_real t,
                                    csim_real before, csim_vec3 on_b, csim_vec3 on_a) {
    const csim_vec3 moved = csim_madd(on_a, t - before, way);
    return csimi_point_off(b, moved) < csimi_point_off(a, csim_madd(on_b, -t, way)) ? moved : on_b;
}

/* The last piece of a way from fraction t on, by the plane between the cores there, which never goes too far; `most`:
   it ends there at the latest. False: they overlap. */
static bool csimi_cast_piece_of_way(const csimi_convex *a, csim_vec3 way, const csimi_convex *b, csim_real t,
                                    csim_real most, csim_real *fraction, csim_vec3 *on_b, csim_vec3 *normal) {
    csim_vec3 x, n, y;
    const csim_real core = csimi_core_distance(a, csim_scale(t, way), b, &x, &n), round = a->round + b->round;
    csim_real near;
    if (!(core > 0)) return false;
    near = -csim_dot(n, way);
    y = csim_sub(csimi_convex_support(a, csim_scale(-1, n)), csimi_convex_support(b, n));
    *fraction = t;
    if (near > 0) *fraction = csimi_clamp(t + (csim_dot(n, csim_madd(y, t, way)) - round) / near, t, most);
    *normal = n;
    *on_b = round > 0 ? csim_madd(x, b->round, n)
                      : csimi_cast_meeting(a, b, way, *fraction, t, x, csim_madd(x, core, n));
    return true;
}

CSIMI_FN bool csimi_convex_cast(const csimi_convex *a, csim_vec3 way, const csimi_convex *b, csim_real most,
                                csim_real *fraction, csim_vec3 *on_b, csim_vec3 *normal) {
    const csim_real small = 256 * CSIMI_EPS * (a->size + b->size), round = a->round + b->round;
    const csim_real rough = csimi_cast_rough(a, b);
    csim_real t = 0, before = 0, near = 1;
    csim_vec3 x, n = csim_v3(0, 0, 1);
    int k;
    for (k = 0; k < CSIMI_CAST_STEPS; k++) {
        const csim_real core = csimi_core_distance(a, csim_scale(t, way), b, &x, &n), d = core - round;
        if (core > 8 * small || k == 0) { /* nearer, the direction is made of roundings */
            *normal = core > 0 ? n : csimi_against(way);
            *on_b = core > 0 ? csim_madd(x, b->round, n) : csimi_convex_support(b, *normal);
        }
        *fraction = t;
        if (d <= small && k == 0) return true;
        if (d <= csimi_max(small, rough) && k > 0) { /* once more from where the plane between them is well known */
            const csim_real back = d > small ? 0 : csimi_min(csimi_max(16 * small, rough) / near, t - before);
            const csim_vec3 last = *normal;
            if (core > 8 * small && !(rough > 0)) return true;
            csimi_cast_piece_of_way(a, way, b, t - back, d > small ? most : t, fraction, on_b, normal);
            if (rough > 0) return true;
            *fraction = t;
            *normal = last;
            return true;
        }
        near = -csim_dot(n, way);
        if (!(near > 0) || t + d / near > most) return false;
        before = t;
        t += d / near;
    }
    return true;
}

/* ---- against what is not convex. All in the frame of the shape. */

typedef struct csimi_cast {
    const csimi_convex *a;
    csim_vec3 way;
    csim_real best;
    bool found;
    csimi_ray_hit *hit;
    csim_vec3 *point;
} csimi_cast;

static void csimi_cast_keep(csimi_cast *c, csim_real t, csim_vec3 point, csim_vec3 normal, uint32_t feature) {
    if (c->found && !(t < c->best)) return;
    c->found = true;
    c->best = c->hit->fraction = t;
    c->hit->normal = normal;
    c->hit->feature = feature;
    *c->point = point;
}

static void csimi_cast_piece(csimi_cast *c, const csim_real *corner, int count, uint32_t feature) {
    csimi_convex piece;
    csim_vec3 on, n;
    csim_real t;
    csimi_convex_points(&piece, corner, count);
    if (csimi_convex_cast(c->a, c->way, &piece, c->best, &t, &on, &n)) csimi_cast_keep(c, t, on, n, feature);
}

/* The wall under an edge of the border, as deep as the cast goes. */
static void csimi_cast_wall(csimi_cast *c, const csim_field *f, int i, int j, int along_x, csim_real bottom) {
    csim_real corner[12];
    int k;
    csimi_store3(corner, csimi_height_node(f, i, j));
    csimi_store3(corner + 3, csimi_height_node(f, i + along_x, j + 1 - along_x));
    CSIMI_MEMCPY(corner + 6, corner, 6 * sizeof *corner);
    bottom = csimi_min(bottom, csimi_min(corner[2], corner[5]) - c->a->size);
    for (k = 8; k < 12; k += 3) corner[k] = bottom;
    csimi_cast_piece(c, corner, 4, CSIMI_NO_FEATURE);
}

static void csimi_cast_cell(csimi_cast *c, const csim_field *f, int i, int j, csim_real bottom) {
    csim_real corner[9];
    int half, last;
    for (half = 0; half < 2; half++) {
        csimi_store3(corner, csimi_height_node(f, i, j));
        csimi_store3(corner + 3, half ? csimi_height_node(f, i + 1, j + 1) : csimi_height_node(f, i + 1, j));
        csimi_store3(corner + 6, half ? csimi_height_node(f, i, j + 1) : csimi_height_node(f, i + 1, j + 1));
        if (!(csimi_max(corner[2], csimi_max(corner[5], corner[8])) < bottom))
            csimi_cast_piece(c, corner, 3, 2 * (uint32_t)(j * f->n[0] + i) + (uint32_t)half);
    }
    for (last = 0; last < 2; last++) { /* cells at the border have walls */
        if (i == (last ? f->n[0] - 2 : 0)) csimi_cast_wall(c, f, i + last, j, 0, bottom);
        if (j == (last ? f->n[1] - 2 : 0)) csimi_cast_wall(c, f, i, j + last, 1, bottom);
    }
}

static void csimi_cast_heights(csimi_cast *c, const csim_field *f) {
    csim_vec3 lower, upper, n;
    const csim_vec3 any = csimi_convex_support(c->a, csim_v3(0, 0, 1));
    int i, j, low[2], high[2], k;
    csim_real from[3], to[3], w[3];
    csimi_convex_bounds(c->a, &lower, &upper);
    csimi_store3(from, lower);
    csimi_store3(to, upper);
    csimi_store3(w, csim_scale(c->best, c->way));
    for (k = 0; k < 3; k++) {
        if (w[k] < 0) from[k] += w[k];
        if (w[k] > 0) to[k] += w[k];
        if (k == 2) continue;
        if (to[k] < 0 || from[k] > (csim_real)(f->cell * (double)(f->n[k] - 1))) return;
        low[k] = csimi_cut(from[k] / (csim_real)f->cell, 0, f->n[k] - 2);
        high[k] = csimi_cut(to[k] / (csim_real)f->cell, 0, f->n[k] - 2);
    }
    if (csimi_distance_heights(f, any, 0, &n) < 0) {
        csimi_cast_keep(c, 0, any, csimi_against(c->way), CSIMI_NO_FEATURE);
        return;
    }
    for (j = low[1]; j <= high[1]; j++)
        for (i = low[0]; i <= high[0]; i++) csimi_cast_cell(c, f, i, j, from[2]);
}

/* A point of the cast shape, a ball around it, as a ray against the mesh. */
static void csimi_cast_ray(csimi_cast *c, const csim_field *f, csim_vec3 x, csim_real radius) {
    csimi_ray_hit ray;
    const int found = csimi_ray_mesh(f, x, c->way, radius, c->best, &ray);
    if (found & CSIMI_RAY_BEGINS_INSIDE)
        csimi_cast_keep(c, 0, x, csimi_against(c->way), 0);
    else if (found & CSIMI_RAY_ENTERS)
        csimi_cast_keep(c, ray.fraction, csim_madd(csim_madd(x, ray.fraction, c->way), -radius, ray.normal),
                        ray.normal, 0);
}

static CSIMI_NOINLINE void csimi_cast_own_samples(csimi_cast *c, const csim_field *f) {
    csimi_sampler s;
    int i;
    if (!c->a->geometry) {
        for (i = 0; i < c->a->count; i++)
            csimi_cast_ray(c, f, csim_pose_point(c->a->pose, csimi_load3(c->a->point + 3 * (size_t)i)), c->a->round);
        return;
    }
    csimi_sampler_start(&s, c->a->geometry, NULL,
                        c->a->geometry->spacing > 0 ? c->a->geometry->spacing : 4 * (csim_real)f->cell);
    while (csimi_sampler_next(&s)) csimi_cast_ray(c, f, csim_pose_point(c->a->pose, s.point), s.radius);
}

/* A ball of the field that stands still, in the way of the cast shape. */
static bool csimi_cast_meets(csimi_cast *c, csim_vec3 x, csim_real radius, csim_real *t, csim_vec3 *on, csim_vec3 *n) {
    csimi_convex ball;
    CSIMI_MEMSET(&ball, 0, sizeof ball);
    ball.kind = CSIM_SHAPE_SPHERE;
    ball.pose = csim_pose_identity();
    ball.pose.position = x;
    ball.round = ball.size = radius;
    return csimi_convex_cast(c->a, c->way, &ball, c->best, t, on, n);
}

static void csimi_cast_field_samples(csimi_cast *c, const csim_field *f) {
    int b, i;
    csim_real t, radius;
    csim_vec3 on, n;
    for (b = 0; b < f->blocks; b++) {
        const csim_vec3 middle = csimi_sample_block(f, b, &radius);
        if (!csimi_cast_meets(c, middle, radius, &t, &on, &n)) continue;
        for (i = CSIMI_SAMPLE_BLOCK * b; i < csimi_imin(CSIMI_SAMPLE_BLOCK * (b + 1), f->samples); i++)
            if (csimi_cast_meets(c, csimi_sample_of(f, i), 0, &t, &on, &n)) csimi_cast_keep(c, t, on, n, 0);
    }
}

static void csimi_cast_triangles(csimi_cast *c, const csim_field *f) {
    const csimi_triangles t = csimi_triangles_of(f);
    csim_vec3 lower, upper, centre, half;
    csimi_surface_ray ray;
    int place, k;
    csimi_convex_bounds(c->a, &lower, &upper);
    centre = csim_scale(CSIM_R(0.5), csim_add(lower, upper));
    half = csim_scale(CSIM_R(0.5), csim_sub(upper, lower));
    csimi_surface_ray_along(&ray, &t.surface, centre, c->way, half, c->best);
    while ((place = csimi_surface_ray_next(&ray)) >= 0) {
        const csim_vec3 n = csimi_level_normal(&t, place), x = csimi_triangle_corner(&t, place, 0);
        csim_real corner[9];
        if (!t.two_sided && csim_dot(n, csim_sub(centre, x)) < 0) continue;
        for (k = 0; k < 3; k++) csimi_store3(corner + 3 * k, csimi_triangle_corner(&t, place, k));
        csimi_cast_piece(c, corner, 3, csimi_triangle_name(&t, place));
        ray.most = c->best;
    }
}

static void csimi_cast_half_space(csimi_cast *c) {
    const csim_vec3 x = csimi_convex_support(c->a, csim_v3(0, 0, -1));
    const csim_real above = x.z - c->a->round, t = above > 0 && c->way.z < 0 ? above / -c->way.z : 0;
    csim_vec3 on = csim_madd(x, t, c->way);
    if (!(above <= 0 || c->way.z < 0) || t > c->best) return;
    on.z = csimi_min(on.z - c->a->round, 0);
    csimi_cast_keep(c, t, on, csim_v3(0, 0, 1), 0);
}

CSIMI_FN bool csimi_cast_at(const csimi_convex *a, csim_vec3 way, const csim_geometry *g, const csim_hull_data *hulls,
                            csim_pose p, csim_real most, csimi_ray_hit *hit, csim_vec3 *point) {
    csimi_convex local = *a, b;
    csimi_cast c;
    const csim_quat back = csim_quat_conj(p.rotation);
    c.a = &local;
    c.way = csim_rotate(back, way);
    c.best = most;
    c.found = false;
    c.hit = hit;
    c.point = point;
    local.pose.position = csim_pose_local(p, a->pose.position);
    local.pose.rotation = csim_quat_mul(back, a->pose.rotation);
    if (g->kind == CSIM_SHAPE_HALF_SPACE) {
        csimi_cast_half_space(&c);
    } else if (g->kind == CSIM_SHAPE_HEIGHTS) {
        csimi_cast_heights(&c, g->field);
    } else if (g->kind == CSIM_SHAPE_TRIANGLES) {
        csimi_cast_triangles(&c, g->field);
    } else if (g->kind == CSIM_SHAPE_MESH) {
        csimi_cast_own_samples(&c, g->field);
        if (a->kind != CSIM_SHAPE_SPHERE && (!c.found || c.best > 0)) csimi_cast_field_samples(&c, g->field);
    } else {
        csim_vec3 on = csim_v3(0, 0, 0), n = on;
        csim_real t = 0;
        uint32_t zone = 0;
        csimi_convex_of(&b, g, hulls, csim_pose_identity());
        if (csimi_convex_cast(&local, c.way, &b, most, &t, &on, &n)) {
            csimi_distance_at(g, hulls, csim_pose_identity(), on, NULL, &zone);
            csimi_cast_keep(&c, t, on, n, zone);
        }
    }
    if (!c.found) return false;
    hit->normal = csim_rotate(p.rotation, hit->normal);
    *point = csim_pose_point(p, *point);
    return true;
}
