/* collide/shape: making shapes, checking them, their mass and their bounds. */
#include "private.h"

static const csim_real CSIMI_FAR = CSIM_R(1e18); /* half a world: its square is finite in float too */
static const csim_real CSIMI_LONGEST = CSIM_R(1e9);

/* ---- constructors */

static csim_shape csimi_shape_of(csim_shape_kind kind, csim_real radius, csim_real half_height) {
    csim_shape s;
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.kind = kind;
    s.radius = radius;
    s.half_height = half_height;
    s.local = csim_pose_identity();
    return s;
}

/* The shortest rotation from z to the unit vector n; below the equator by way of -z, so that nothing cancels. */
CSIMI_FN csim_quat csimi_quat_from_z(csim_vec3 n) {
    static const csim_quat flip = {0, 1, 0, 0};
    csim_quat q;
    q.w = 1 + csimi_abs(n.z);
    q.x = n.z < 0 ? n.y : -n.y;
    q.y = n.z < 0 ? -n.x : n.x;
    q.z = 0;
    if (n.z < 0) q = csim_quat_mul(q, flip);
    return csim_quat_normalize(q);
}

CSIM_API csim_shape csim_half_space(csim_vec3 point, csim_vec3 outward_normal) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_HALF_SPACE, 0, 0);
    csim_vec3 n = csim_normalize(outward_normal);
    s.local.position = point;
    if (csim_dot(n, n) > 0)
        s.local.rotation = csimi_quat_from_z(n);
    else
        s.local.rotation.w = csim_dot(outward_normal, csim_v3(0, 0, 0)); /* 0 or NaN: baking says so */
    return s;
}

CSIM_API csim_shape csim_sphere(csim_real radius) { return csimi_shape_of(CSIM_SHAPE_SPHERE, radius, 0); }

CSIM_API csim_shape csim_capsule(csim_real radius, csim_real half_height) {
    return csimi_shape_of(CSIM_SHAPE_CAPSULE, radius, half_height);
}

CSIM_API csim_shape csim_box(csim_vec3 half) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_BOX, 0, 0);
    s.half = half;
    return s;
}

CSIM_API csim_shape csim_cylinder(csim_real radius, csim_real half_height) {
    return csimi_shape_of(CSIM_SHAPE_CYLINDER, radius, half_height);
}

CSIM_API csim_shape csim_hull(const csim_vec3 *points, int point_count) {
    csim_shape s = csimi_shape_of(CSIM_SHAPE_HULL, 0, 0);
    s.points = points;
    s.point_count = point_count;
    return s;
}

/* ---- checks */

/* A length in (0, 1e9], or in [0, 1e9] where zero is allowed. */
static csim_status csimi_check_length(const char *function, const char *field, csim_real value, bool zero,
                                      csim_error *error) {
    if (!csimi_finite(value)) return csimi_fail(error, CSIM_NOT_FINITE, function, field, (double)value, "finite");
    if (value > 0 && value <= CSIMI_LONGEST) return CSIM_OK;
    if (zero && value == 0) return CSIM_OK;
    return csimi_unfit(error, function, field, (double)value, zero ? "0 to 1e9 m" : "above 0, at most 1e9 m");
}

static csim_status csimi_check_local(const char *function, const csim_pose *local, csim_error *error) {
    csim_vec3 p = local->position;
    csim_quat q = local->rotation;
    csim_real size = csimi_max(csimi_abs(p.x), csimi_max(csimi_abs(p.y), csimi_abs(p.z))), norm;
    if (!csimi_finite(p.x) || !csimi_finite(p.y) || !csimi_finite(p.z))
        return csimi_deny(error, CSIM_NOT_FINITE, function, "local.position", "finite");
    if (size > CSIMI_LONGEST)
        return csimi_unfit(error, function, "local.position", (double)size, "coordinates within 1e9 m");
    if (!csimi_finite(q.w) || !csimi_finite(q.x) || !csimi_finite(q.y) || !csimi_finite(q.z))
        return csimi_deny(error, CSIM_NOT_FINITE, function, "local.rotation", "a unit quaternion");
    norm = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (norm > CSIM_R(0.99) && norm < CSIM_R(1.01)) return CSIM_OK;
    return csimi_unfit(error, function, "local.rotation squared", (double)norm,
                       "1: a unit quaternion (a half-space needs a normal that is not zero)");
}

static csim_status csimi_check_points(const char *function, const csim_shape *s, csim_error *error) {
    csim_status status = CSIM_OK;
    int i, k;
    if (!s->points) return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "points", "4 to 1e6 points");
    if (s->point_count < 4 || s->point_count > 1000000)
        return csimi_fail(error, CSIM_BAD_MESH, function, "point_count", s->point_count, "4 to 1e6");
    for (i = 0; i < s->point_count && status == CSIM_OK; ++i) {
        csim_real x[3];
        csimi_store3(x, s->points[i]);
        for (k = 0; k < 3 && status == CSIM_OK; ++k)
            status = csimi_check_length(function, "points", csimi_abs(x[k]), true, error);
    }
    return status;
}

/* Contact samples: their number grows as (length / spacing) squared. */
static csim_status csimi_check_spacing(const char *function, const csim_shape *s, csim_error *error) {
    csim_real longest = csimi_max(s->radius, s->half_height);
    csim_status status = csimi_check_length(function, "spacing", s->spacing, true, error);
    if (status != CSIM_OK || s->spacing == 0 || s->spacing >= longest / 100) return status;
    return csimi_unfit(error, function, "spacing", (double)s->spacing,
                       "0, or at least 1/100 of radius and half_height");
}

CSIMI_FN csim_status csimi_check_shape(const char *function, const csim_shape *s, csim_error *error) {
    csim_status status;
    if (!s) return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "shape", "a shape");
    if ((status = csimi_check_local(function, &s->local, error)) != CSIM_OK) return status;
    if ((unsigned)s->kind < (unsigned)CSIM_SHAPE_COUNT_ && !csimi_has_shape(s->kind))
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "kind", (double)s->kind,
                          "builds without CONDSIM_NO_ROUND, BOXES, CYLINDERS, HULLS or FIELDS");
    switch (s->kind) {
    case CSIM_SHAPE_HALF_SPACE: return CSIM_OK;
    case CSIM_SHAPE_SPHERE: return csimi_check_length(function, "radius", s->radius, false, error);
    case CSIM_SHAPE_CYLINDER:
    case CSIM_SHAPE_CAPSULE:
        if ((status = csimi_check_length(function, "radius", s->radius, false, error)) != CSIM_OK) return status;
        status = csimi_check_length(function, "half_height", s->half_height, s->kind == CSIM_SHAPE_CAPSULE, error);
        return status != CSIM_OK ? status : csimi_check_spacing(function, s, error);
    case CSIM_SHAPE_BOX:
        if ((status = csimi_check_length(function, "half.x", s->half.x, false, error)) != CSIM_OK) return status;
        if ((status = csimi_check_length(function, "half.y", s->half.y, false, error)) != CSIM_OK) return status;
        return csimi_check_length(function, "half.z", s->half.z, false, error);
    case CSIM_SHAPE_HULL: return csimi_check_points(function, s, error);
    case CSIM_SHAPE_MESH:
    case CSIM_SHAPE_HEIGHTS:
    case CSIM_SHAPE_TRIANGLES:
        if (s->field && csimi_field_kind(s->field) == s->kind) return CSIM_OK;
        return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "field", "made by csim_field_shape");
    case CSIM_SHAPE_COUNT_: break;
    }
    return csimi_unfit(error, function, "kind", (double)s->kind, "a csim_shape_kind");
}

/* ---- baking */

/* A sphere about the box of the corners: its centre may be anywhere, its radius is the farthest corner. */
CSIMI_FN void csimi_bound_hull(const csim_hull_data *hull, csim_geometry *g) {
    csim_vec3 lower = csimi_load3(hull->vertex), upper = lower;
    csim_real square = 0;
    int i;
    for (i = 1; i < hull->vertex_count; ++i) {
        csim_vec3 x = csimi_load3(hull->vertex + 3 * i);
        lower = csim_v3(csimi_min(lower.x, x.x), csimi_min(lower.y, x.y), csimi_min(lower.z, x.z));
        upper = csim_v3(csimi_max(upper.x, x.x), csimi_max(upper.y, x.y), csimi_max(upper.z, x.z));
    }
    g->centre = csim_scale(CSIM_R(0.5), csim_add(lower, upper));
    for (i = 0; i < hull->vertex_count; ++i) {
        csim_vec3 r = csim_sub(csimi_load3(hull->vertex + 3 * i), g->centre);
        square = csimi_max(square, csim_dot(r, r));
    }
    g->bound = CSIMI_SQRT(square) * (1 + 4 * CSIMI_EPS);
}

CSIM_API csim_status csim_shape_bake(const csim_shape *shape, csim_geometry *geometry, csim_hull_data *hull,
                                     csim_error *error) {
    static const char function[] = "csim_shape_bake";
    csim_geometry *g = geometry;
    csim_status status = csimi_check_shape(function, shape, error);
    if (status != CSIM_OK) return status;
    if (!g) return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "geometry", "where to write");
    CSIMI_MEMSET(g, 0, sizeof *g); /* padding too: geometries are compared and saved as bytes */
    g->kind = shape->kind;
    g->local.position = shape->local.position;
    g->local.rotation = csim_quat_normalize(shape->local.rotation);
    g->hull = -1;
    switch (shape->kind) {
    case CSIM_SHAPE_HALF_SPACE: g->bound = CSIMI_FAR; break;
    case CSIM_SHAPE_SPHERE: g->bound = g->radius = shape->radius; break;
    case CSIM_SHAPE_CAPSULE:
    case CSIM_SHAPE_CYLINDER:
        g->radius = shape->radius;
        g->half_height = shape->half_height;
        g->spacing = shape->spacing > 0 ? shape->spacing : shape->radius / 2;
        g->bound = shape->kind == CSIM_SHAPE_CAPSULE ? g->radius + g->half_height
                                                     : csim_length(csim_v3(g->radius, g->half_height, 0));
        break;
    case CSIM_SHAPE_BOX:
        g->half = shape->half;
        g->bound = csim_length(shape->half);
        break;
    case CSIM_SHAPE_HULL:
        if (!hull) return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "hull", "where to write a hull");
#ifndef CONDSIM_NO_HULLS
        status = csimi_hull_build(function, shape->points, shape->point_count, hull, error);
        if (status == CSIM_OK) csimi_bound_hull(hull, g);
#endif
        break;
    case CSIM_SHAPE_MESH:
    case CSIM_SHAPE_HEIGHTS:
    case CSIM_SHAPE_TRIANGLES: {
        const csim_field *f = shape->field;
        g->field = f;
        g->field_hash = f->hash;
        g->half = csim_v3((csim_real)(f->high[0] - f->low[0]) / 2, (csim_real)(f->high[1] - f->low[1]) / 2,
                          (csim_real)(f->high[2] - f->low[2]) / 2);
        g->centre = csim_v3((csim_real)(f->high[0] + f->low[0]) / 2, (csim_real)(f->high[1] + f->low[1]) / 2,
                            (csim_real)(f->high[2] + f->low[2]) / 2);
        g->bound = csim_length(g->half) * (1 + 4 * CSIMI_EPS);
        break;
    }
    case CSIM_SHAPE_COUNT_: break;
    }
    return status;
}

/* ---- mass */

/* Mass and moments of inertia of the solids of revolution about z: I[0] about x and y, I[1] about z. */
static double csimi_mass_round(const csim_shape *s, double density, double *I) {
    const double pi = 3.14159265358979323846, r = (double)s->radius, h = (double)s->half_height, rr = r * r;
    double barrel = s->kind == CSIM_SHAPE_SPHERE ? 0 : 2 * pi * density * rr * h;
    double ends = s->kind == CSIM_SHAPE_CYLINDER ? 0 : 4 * pi / 3 * density * rr * r;
    double out = s->kind == CSIM_SHAPE_SPHERE ? 0 : h * h + 0.75 * h * r; /* the two halves moved out by h */
    I[0] = barrel * (rr / 4 + h * h / 3) + ends * (0.4 * rr + out);
    I[1] = barrel * rr / 2 + ends * 0.4 * rr;
    return barrel + ends;
}

/* Mass, centre and inertia about it (row-major) in the shape's frame. */
static csim_status csimi_mass_local(const char *function, const csim_shape *s, double density, double *mass,
                                    double *centre, double *I, csim_error *error) {
    double m[6], half[3];
    int k;
    for (k = 0; k < 3; ++k) centre[k] = 0;
    for (k = 0; k < 9; ++k) I[k] = 0;
    if (s->kind == CSIM_SHAPE_HULL || s->kind == CSIM_SHAPE_MESH) { /* inertia = trace(M) 1 - M of second moments M */
        if (s->kind == CSIM_SHAPE_HULL) {
#ifndef CONDSIM_NO_HULLS
            csim_status status = csimi_hull_moments(function, s->points, s->point_count, mass, centre, m, error);
            if (status != CSIM_OK) return status;
#else
            (void)function, (void)error;
#endif
        } else {
            *mass = s->field->volume;
            CSIMI_MEMCPY(centre, s->field->centre, sizeof s->field->centre);
            CSIMI_MEMCPY(m, s->field->second, sizeof m);
        }
        *mass *= density;
        I[0] = density * (m[3] + m[5]);
        I[4] = density * (m[0] + m[5]);
        I[8] = density * (m[0] + m[3]);
        I[1] = I[3] = -density * m[1];
        I[2] = I[6] = -density * m[2];
        I[5] = I[7] = -density * m[4];
    } else if (s->kind == CSIM_SHAPE_BOX) {
        half[0] = (double)s->half.x;
        half[1] = (double)s->half.y;
        half[2] = (double)s->half.z;
        *mass = 8 * density * half[0] * half[1] * half[2];
        for (k = 0; k < 3; ++k) {
            const double a = half[(k + 1) % 3], b = half[(k + 2) % 3];
            I[4 * k] = *mass / 3 * (a * a + b * b);
        }
    } else {
        *mass = csimi_mass_round(s, density, m);
        I[0] = I[4] = m[0];
        I[8] = m[1];
    }
    return CSIM_OK;
}

/* Of a sound shape at a pose. */
static csim_status csimi_mass_at(const char *function, const csim_shape *shape, csim_pose pose, csim_real density,
                                 csim_mass *mass, csim_error *error) {
    double m = 0, centre[3], I[9];
    csim_real local[9], turned[9], smallest;
    csim_mat3 R;
    csim_status status;
    int k;
    if (!csimi_finite(density) || !(density > 0))
        return csimi_fail(error, csimi_finite(density) ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, function, "density",
                          (double)density, "above 0 kg/m^3");
    if (csimi_only_static(shape->kind))
        return csimi_deny(error, CSIM_UNSUPPORTED, function, "a half-space, heights or triangles",
                          "shapes of finite volume");
    status = csimi_mass_local(function, shape, (double)density, &m, centre, I, error);
    if (status != CSIM_OK) return status;
    for (k = 0; k < 9; ++k) local[k] = (csim_real)I[k];
    R = csim_quat_matrix(pose.rotation);
    mass->mass = (csim_real)m;
    mass->centre = csim_pose_point(pose, csim_v3((csim_real)centre[0], (csim_real)centre[1], (csim_real)centre[2]));
    csimi_matmul(R.m, local, turned);
    csimi_matmulT(turned, R.m, local);
    for (k = 0; k < 9; ++k) mass->inertia.m[k] = (local[k] + local[3 * (k % 3) + k / 3]) / 2; /* equal to the bit */
    smallest = csimi_min(mass->mass, csimi_min(local[0], csimi_min(local[4], local[8])));
    if (smallest > 0 && csimi_weighs(m) && csimi_all_finite(local, 9)) return CSIM_OK;
    return csimi_unfit(error, function, "density", (double)density, "mass and inertia within the range of csim_real");
}

CSIM_API csim_status csim_shape_mass(const csim_shape *shape, csim_real density, csim_mass *mass, csim_error *error) {
    static const char function[] = "csim_shape_mass";
    csim_pose pose;
    csim_status status = csimi_check_shape(function, shape, error);
    if (status != CSIM_OK) return status;
    if (!mass) return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "mass", "where to write");
    pose.position = shape->local.position;
    pose.rotation = csim_quat_normalize(shape->local.rotation);
    return csimi_mass_at(function, shape, pose, density, mass, error);
}

CSIMI_FN CSIMI_NOINLINE csim_status csimi_geometry_mass(const char *function, const csim_geometry *g,
                                                        const csim_hull_data *hulls, csim_real density,
                                                        csim_mass *mass, csim_error *error) {
    csim_shape s = csimi_shape_of(g->kind, 0, 0);
    csim_vec3 corner[CSIM_HULL_MAX_VERTICES];
    int i;
    s.half = g->half;
    s.radius = g->radius;
    s.half_height = g->half_height;
    s.field = g->field;
    s.points = corner;
    s.point_count = g->hull >= 0 ? hulls[g->hull].vertex_count : 0;
    for (i = 0; i < s.point_count; ++i) corner[i] = csimi_load3(hulls[g->hull].vertex + 3 * i);
    return csimi_mass_at(function, &s, g->local, density, mass, error);
}

/* ---- bounds */

/* Half the size of a box, cylinder or capsule along a direction given in its frame. */
static csim_real csimi_half_extent(const csim_geometry *g, const csim_real *d) {
    if (csimi_shape_is(g, CSIM_SHAPE_BOX) || g->field)
        return csimi_abs(d[0]) * g->half.x + csimi_abs(d[1]) * g->half.y + csimi_abs(d[2]) * g->half.z;
    if (csimi_cylinder(g)) return csimi_abs(d[2]) * g->half_height + CSIMI_SQRT(d[0] * d[0] + d[1] * d[1]) * g->radius;
    return csimi_abs(d[2]) * g->half_height + g->radius;
}

/* Everything, but for the empty side along an axis that the normal points along exactly. */
static void csimi_half_space_bounds(const csim_real *R, const csim_pose *p, csim_vec3 *lower, csim_vec3 *upper) {
    csim_real at[3], bound[6] = {-CSIMI_FAR, -CSIMI_FAR, -CSIMI_FAR, CSIMI_FAR, CSIMI_FAR, CSIMI_FAR};
    int i;
    csimi_store3(at, p->position);
    for (i = 0; i < 3; ++i)
        if (csimi_abs(R[3 * ((i + 1) % 3) + 2]) + csimi_abs(R[3 * ((i + 2) % 3) + 2]) <= 0)
            bound[R[3 * i + 2] > 0 ? 3 + i : i] = at[i];
    *lower = csimi_load3(bound);
    *upper = csimi_load3(bound + 3);
}

CSIM_API void csim_shape_bounds(const csim_geometry *geometry, const csim_hull_data *hulls, csim_pose pose,
                                csim_vec3 *lower, csim_vec3 *upper) {
    csimi_bounds_at(geometry, hulls, csim_pose_mul(pose, geometry->local), lower, upper);
}

CSIMI_FN void csimi_bounds_at(const csim_geometry *g, const csim_hull_data *hulls, csim_pose p, csim_vec3 *lower,
                              csim_vec3 *upper) {
    csim_mat3 R = csim_quat_matrix(p.rotation);
    csim_real half[3];
    int i;
    if (csimi_shape_is(g, CSIM_SHAPE_HULL)) {
        const csim_hull_data *hull = hulls + g->hull;
        csim_vec3 lo = csim_v3(CSIMI_HUGE, CSIMI_HUGE, CSIMI_HUGE), up = csim_scale(-1, lo);
        for (i = 0; i < hull->vertex_count; ++i) {
            csim_vec3 x = csim_pose_point(p, csimi_load3(hull->vertex + 3 * i));
            lo = csim_v3(csimi_min(lo.x, x.x), csimi_min(lo.y, x.y), csimi_min(lo.z, x.z));
            up = csim_v3(csimi_max(up.x, x.x), csimi_max(up.y, x.y), csimi_max(up.z, x.z));
        }
        *lower = lo;
        *upper = up;
        return;
    }
    if (csimi_shape_is(g, CSIM_SHAPE_HALF_SPACE)) {
        csimi_half_space_bounds(R.m, &p, lower, upper);
        return;
    }
    for (i = 0; i < 3; ++i) half[i] = csimi_half_extent(g, R.m + 3 * i);
    if (g->field) p.position = csim_pose_point(p, g->centre);
    *lower = csim_sub(p.position, csimi_load3(half));
    *upper = csim_add(p.position, csimi_load3(half));
}

/* sum += part about the common centre of mass. */
CSIMI_FN void csimi_add_mass(csim_mass *sum, const csim_mass *part) {
    csim_real m = sum->mass + part->mass;
    csim_vec3 centre =
        csim_scale(1 / m, csim_add(csim_scale(sum->mass, sum->centre), csim_scale(part->mass, part->centre)));
    int k, piece;
    for (piece = 0; piece < 2; piece++) {
        const csim_mass *p = piece ? part : sum;
        csim_vec3 d = csim_sub(p->centre, centre);
        csim_real dd = csim_dot(d, d), c[3];
        c[0] = d.x;
        c[1] = d.y;
        c[2] = d.z;
        for (k = 0; k < 9; k++) { /* Steiner */
            csim_real steiner = p->mass * ((k % 4 == 0 ? dd : 0) - c[k / 3] * c[k % 3]);
            if (piece)
                sum->inertia.m[k] += p->inertia.m[k] + steiner;
            else
                sum->inertia.m[k] += steiner;
        }
    }
    sum->mass = m;
    sum->centre = centre;
}
