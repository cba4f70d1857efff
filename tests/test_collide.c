/* Shapes: baking, mass, bounds, distance, hulls, the broad phase. */
#include "check.h"

/* ---- shapes to test, and points on their surfaces */

enum { SAMPLES = 24000, KINDS = 8 };
static csim_vec3 sample[SAMPLES]; /* in the shape's frame */
static int sample_count;
static double sample_step; /* no surface point is farther from a sample */
static csim_hull_data hull_record;

static csim_vec3 random_point(double size) {
    csim_vec3 p;
    p.x = (csim_real)check_random(-size, size);
    p.y = (csim_real)check_random(-size, size);
    p.z = (csim_real)check_random(-size, size);
    return p;
}

static csim_pose random_pose(double size) {
    csim_pose p;
    p.position = random_point(size);
    p.rotation = csim_quat_exp(random_point(3));
    return p;
}

/* A skew wedge with a quadrilateral face: edges of every angle. */
static const csim_vec3 wedge[7] = {{-1, -1, 0}, {1, -1, 0},          {1, 1, 0}, {-1, 1, 0},
                                   {0, 0, 2},   {CSIM_R(0.5), 0, 2}, {0, 1, 1}};

static csim_shape shape_number(int i) {
    static const csim_vec3 tetrahedron[4] = {{0, 0, 0}, {2, 0, 0}, {0, 1, 0}, {0, 0, CSIM_R(1.5)}};
    csim_shape s = csim_sphere(CSIM_R(0.7));
    if (i == 1) s = csim_capsule(CSIM_R(0.4), CSIM_R(0.9));
    if (i == 2) s = csim_box(csim_v3(CSIM_R(0.5), 1, CSIM_R(0.3)));
    if (i == 3) s = csim_cylinder(CSIM_R(0.8), CSIM_R(0.5));
    if (i == 4) s = csim_hull(wedge, 7);
    if (i == 5) s = csim_hull(tetrahedron, 4);
    if (i == 6) s = csim_cylinder(CSIM_R(0.2), CSIM_R(1.2));
    if (i == 7) s = csim_capsule(CSIM_R(0.6), 0);
    return s;
}

static void add_sample(double x, double y, double z) {
    if (sample_count < SAMPLES) sample[sample_count++] = csim_v3((csim_real)x, (csim_real)y, (csim_real)z);
}

/* A parallelogram or triangle of n x n cells. */
static void sample_patch(csim_vec3 o, csim_vec3 u, csim_vec3 v, int n, bool triangle) {
    int i, j;
    for (i = 0; i <= n; ++i)
        for (j = 0; j <= (triangle ? n - i : n); ++j) {
            csim_vec3 p = csim_madd(csim_madd(o, (csim_real)i / (csim_real)n, u), (csim_real)j / (csim_real)n, v);
            add_sample((double)p.x, (double)p.y, (double)p.z);
        }
    sample_step = fmax(sample_step, (double)(csim_length(u) + csim_length(v)) / n);
}

/* A cap of rings (half a sphere or a disc) at height z, bulging towards side. */
static void sample_cap(double r, double z, double side, bool round) {
    int i, j, n = 50;
    for (i = 0; i <= n; ++i)
        for (j = 0; j < 4 * n; ++j) {
            double a = 1.5707963267948966 * i / n, b = 1.5707963267948966 * j / n;
            double ring = round ? r * sin(a) : r * i / n;
            add_sample(ring * cos(b), ring * sin(b), z + (round ? side * r * cos(a) : 0));
        }
    sample_step = fmax(sample_step, 3.2 * r / n);
}

static void sample_surface(const csim_geometry *g) {
    double r = (double)g->radius, h = (double)g->half_height;
    int i, j, k;
    sample_count = 0;
    sample_step = 0;
    if (g->kind == CSIM_SHAPE_BOX) {
        csim_real half[3], o[3], u[3], v[3];
        csimi_store3(half, g->half);
        for (k = 0; k < 3; ++k)
            for (i = -1; i <= 1; i += 2) {
                for (j = 0; j < 3; ++j) {
                    o[j] = (j == k && i > 0) ? half[j] : -half[j];
                    u[j] = j == (k + 1) % 3 ? 2 * half[j] : 0;
                    v[j] = j == (k + 2) % 3 ? 2 * half[j] : 0;
                }
                sample_patch(csimi_load3(o), csimi_load3(u), csimi_load3(v), 50, false);
            }
    } else if (g->kind == CSIM_SHAPE_HULL) {
        const csim_hull_data *d = &hull_record;
        for (i = 0; i < d->face_count; ++i)
            for (j = d->face_start[i] + 1; j + 1 < d->face_start[i + 1]; ++j) {
                csim_vec3 o = csimi_load3(d->vertex + 3 * d->face_vertex[d->face_start[i]]);
                csim_vec3 u = csim_sub(csimi_load3(d->vertex + 3 * d->face_vertex[j]), o);
                csim_vec3 v = csim_sub(csimi_load3(d->vertex + 3 * d->face_vertex[j + 1]), o);
                sample_patch(o, u, v, 50, true);
            }
    } else {
        bool round = g->kind != CSIM_SHAPE_CYLINDER;
        sample_cap(r, h, 1, round);
        sample_cap(r, -h, -1, round);
        for (i = 1; i < 20 && h > 0; ++i)
            for (j = 0; j < 120; ++j) {
                double b = 6.283185307179586 * j / 120;
                add_sample(r * cos(b), r * sin(b), h * (i / 10.0 - 1));
            }
        sample_step = fmax(sample_step, fmax(h / 10, r * 6.3 / 120));
    }
    REQUIRE(sample_count < SAMPLES);
}

/* Decided apart from the distance: the closest point of the skeleton, or all planes through triples of corners. */
static bool is_inside(const csim_shape *s, csim_vec3 p) {
    double rho = sqrt((double)(p.x * p.x + p.y * p.y)), z = fabs((double)p.z), r = (double)s->radius;
    int a, b, c, d;
    if (s->kind == CSIM_SHAPE_SPHERE) return (double)csim_length(p) < r;
    if (s->kind == CSIM_SHAPE_BOX)
        return csimi_abs(p.x) < s->half.x && csimi_abs(p.y) < s->half.y && csimi_abs(p.z) < s->half.z;
    if (s->kind == CSIM_SHAPE_CYLINDER) return rho < r && z < (double)s->half_height;
    if (s->kind == CSIM_SHAPE_CAPSULE) return hypot(rho, fmax(z - (double)s->half_height, 0)) < r;
    for (a = 0; a < s->point_count; ++a)
        for (b = a + 1; b < s->point_count; ++b)
            for (c = b + 1; c < s->point_count; ++c) {
                csim_vec3 n = csim_cross(csim_sub(s->points[b], s->points[a]), csim_sub(s->points[c], s->points[a]));
                csim_real above = 0, below = 0, here = csim_dot(n, csim_sub(p, s->points[a]));
                for (d = 0; d < s->point_count; ++d) {
                    above = csimi_max(above, csim_dot(n, csim_sub(s->points[d], s->points[a])));
                    below = csimi_min(below, csim_dot(n, csim_sub(s->points[d], s->points[a])));
                }
                if (here > above || here < below) return false;
            }
    return true;
}

/* ---- distance */

/* The ball of radius |d| about the point must hold no surface point, yet touch the surface; outside, the plane at the
   nearest point must have the whole shape below it, which is what nearest means on a convex body. */
static void check_distance(const csim_shape *s, const csim_geometry *g, csim_pose pose, csim_vec3 p, double tolerance) {
    csim_pose frame = csim_pose_mul(pose, g->local);
    csim_vec3 n, local = csim_pose_local(frame, p), nearest;
    uint32_t feature = 12345;
    double d = (double)csim_shape_distance(g, &hull_record, pose, p, &n, &feature), least = 1e30, top = -1e30;
    int i;
    NEAR(csim_length(n), 1, 8 * (double)CSIMI_EPS);
    CHECK(feature != 12345);
    if (fabs(d) > tolerance) CHECK((d < 0) == is_inside(s, local));
    n = csim_unrotate(frame.rotation, n);
    nearest = csim_madd(local, -(csim_real)d, n);
    for (i = 0; i < sample_count; ++i) {
        least = fmin(least, (double)csim_length(csim_sub(sample[i], local)));
        top = fmax(top, (double)csim_dot(n, csim_sub(sample[i], nearest)));
    }
    CHECK(least >= fabs(d) - tolerance);
    CHECK(least <= fabs(d) + sample_step);
    if (d > 0) CHECK(top <= tolerance);
}

TEST(distance_is_least_over_the_surface) {
    const double tolerance = TOL(1e-14, 1e-5); /* rounding of coordinates up to 5 */
    int kind, i;
    for (kind = 0; kind < KINDS; ++kind) {
        csim_shape s = shape_number(kind);
        csim_geometry g;
        s.local = random_pose(1);
        STATUS(csim_shape_bake(&s, &g, &hull_record, NULL), CSIM_OK);
        g.hull = 0;
        sample_surface(&g);
        for (i = 0; i < 300; ++i) {
            csim_pose pose = random_pose(1);
            csim_vec3 p = csim_pose_point(csim_pose_mul(pose, s.local), random_point(i % 2 ? 2 : 0.7));
            CASE("kind %d, point %d", kind, i);
            check_distance(&s, &g, pose, p, tolerance);
        }
    }
}

TEST(distance_gradient_is_the_normal) {
    const double step = TOL(1e-5, 5e-3), tolerance = TOL(2e-7, 2e-2); /* step^2 / 0.05^2 and rounding / step */
    int kind, i, k, smooth;
    for (kind = -1; kind < KINDS; ++kind) {
        csim_shape s = kind < 0 ? csim_half_space(csim_v3(0, 0, CSIM_R(0.3)), csim_v3(1, 2, -3)) : shape_number(kind);
        csim_geometry g;
        STATUS(csim_shape_bake(&s, &g, &hull_record, NULL), CSIM_OK);
        g.hull = 0;
        for (i = smooth = 0; i < 400; ++i) {
            csim_pose pose = random_pose(1);
            csim_vec3 p = random_point(2), n;
            csim_real d = csim_shape_distance(&g, &hull_record, pose, p, &n, NULL), gradient[3], normal[3];
            if (csimi_abs(d) < CSIM_R(0.05)) continue;
            for (k = 0; k < 3; ++k) {
                csim_real h = (csim_real)step;
                csim_vec3 e = csim_v3(k == 0 ? h : 0, k == 1 ? h : 0, k == 2 ? h : 0);
                gradient[k] = (csim_shape_distance(&g, &hull_record, pose, csim_add(p, e), NULL, NULL) -
                               csim_shape_distance(&g, &hull_record, pose, csim_sub(p, e), NULL, NULL)) /
                              (2 * h);
            }
            if (csimi_abs(csim_length(csimi_load3(gradient)) - 1) > (csim_real)tolerance) continue; /* across a kink */
            ++smooth;
            csimi_store3(normal, n);
            CASE("kind %d, point %d", kind, i);
            for (k = 0; k < 3; ++k) NEAR(gradient[k], normal[k], 2 * tolerance);
        }
        CHECK(smooth > 200);
    }
}

TEST(distance_normal_is_never_zero) {
    static const csim_real at[] = {0, CSIM_R(1e-30), CSIM_R(-0.5), CSIM_R(0.5), CSIM_R(1.0), CSIM_R(-1.0), CSIM_R(1e6)};
    const double tolerance = 8 * (double)CSIMI_EPS;
    int kind, i;
    for (kind = 0; kind < KINDS; ++kind) {
        csim_shape s = shape_number(kind);
        csim_geometry g;
        STATUS(csim_shape_bake(&s, &g, &hull_record, NULL), CSIM_OK);
        g.hull = 0;
        for (i = 0; i < 343; ++i) {
            csim_vec3 n, p = csim_v3(at[i % 7], at[i / 7 % 7], at[i / 49]);
            csim_real d = csim_shape_distance(&g, &hull_record, csim_pose_identity(), p, &n, NULL);
            CASE("kind %d, point %g %g %g", kind, (double)p.x, (double)p.y, (double)p.z);
            CHECK(csimi_finite(d));
            NEAR(csim_length(n), 1, tolerance);
        }
        for (i = 0; kind == 4 && i < hull_record.vertex_count; ++i) {
            csim_vec3 n;
            NEAR(csim_shape_distance(&g, &hull_record, csim_pose_identity(), csimi_load3(hull_record.vertex + 3 * i),
                                     &n, NULL),
                 0, tolerance);
            NEAR(csim_length(n), 1, tolerance);
        }
    }
}

static uint32_t zone_at(const csim_shape *s, double x, double y, double z) {
    csim_geometry g;
    uint32_t feature = 9999;
    STATUS(csim_shape_bake(s, &g, &hull_record, NULL), CSIM_OK);
    g.hull = 0;
    csim_shape_distance(&g, &hull_record, csim_pose_identity(), csim_v3((csim_real)x, (csim_real)y, (csim_real)z), NULL,
                        &feature);
    return feature;
}

TEST(distance_names_the_nearest_zone) {
    csim_shape box = csim_box(csim_v3(1, 1, 1)), rod = csim_cylinder(1, 1), pill = csim_capsule(1, 1);
    csim_shape hull = csim_hull(wedge, 7);
    EQUAL(zone_at(&box, 2, 0, 0), 2 + 3 + 9);
    EQUAL(zone_at(&box, CSIM_R(0.9), 0, CSIM_R(-0.1)), 2 + 3 + 9); /* the same face from inside */
    EQUAL(zone_at(&box, 0, -2, 2), 1 + 0 + 18);
    EQUAL(zone_at(&box, -2, -2, -2), 0);
    EQUAL(zone_at(&rod, 2, 0, 0.5), 0);
    EQUAL(zone_at(&rod, 0.9, 0, 0.5), 0);
    EQUAL(zone_at(&rod, 0.5, 0, 2), 1);
    EQUAL(zone_at(&rod, 0.5, 0, -0.9), 2);
    EQUAL(zone_at(&rod, 2, 0, 2), 3);
    EQUAL(zone_at(&rod, 0, 2, -2), 4);
    EQUAL(zone_at(&pill, 2, 0, 0.5), 0);
    EQUAL(zone_at(&pill, 2, 0, 1.5), 1);
    EQUAL(zone_at(&pill, 0, 0, -1.5), 2);
    CHECK(zone_at(&hull, 0, 0, -1) < 0x100);
    EQUAL(zone_at(&hull, 0, -2, -1) >> 8, 1);
    EQUAL(zone_at(&hull, -2, -2, -1) >> 8, 2);
}

/* A box and the hull of its corners are the same body. */
TEST(distance_of_box_and_hull_agree) {
    csim_shape box = csim_box(csim_v3(1, CSIM_R(0.5), 2)), hull;
    csim_vec3 corner[8], n, m;
    csim_geometry g, h;
    int i;
    for (i = 0; i < 8; ++i) corner[i] = csim_v3(i & 1 ? 1 : -1, i & 2 ? CSIM_R(0.5) : CSIM_R(-0.5), i & 4 ? 2 : -2);
    hull = csim_hull(corner, 8);
    STATUS(csim_shape_bake(&box, &g, NULL, NULL), CSIM_OK);
    STATUS(csim_shape_bake(&hull, &h, &hull_record, NULL), CSIM_OK);
    h.hull = 0;
    for (i = 0; i < 2000; ++i) {
        csim_pose pose = random_pose(2);
        csim_vec3 p = random_point(4);
        csim_real a = csim_shape_distance(&g, NULL, pose, p, &n, NULL);
        csim_real b = csim_shape_distance(&h, &hull_record, pose, p, &m, NULL);
        NEAR(a, b, TOL(1e-14, 5e-6)); /* rounding of coordinates up to 6 */
        if (csimi_abs(a) > CSIM_R(0.01)) NEAR(csim_length(csim_sub(n, m)), 0, TOL(1e-12, 1e-3));
    }
}

/* ---- mass */

/* Solids of revolution as a stack of discs: Simpson's rule is exact on polynomials of third degree, and the panels take
   the rest (r^4 of a sphere is of fourth). */
static void mass_of_discs(const csim_shape *s, double density, double *out) {
    double r = (double)s->radius, h = (double)s->half_height, cut[4], z, w;
    int piece, i, n = 400;
    cut[0] = s->kind == CSIM_SHAPE_CYLINDER ? -h : -h - r;
    cut[1] = -h;
    cut[2] = h;
    cut[3] = -cut[0];
    for (out[0] = out[1] = out[2] = 0, piece = 0; piece < 3; ++piece)
        for (i = 0; i <= n; ++i) {
            double a = cut[piece], b = cut[piece + 1], rr, over;
            z = a + (b - a) * i / n;
            w = density * 3.14159265358979323846 * (b - a) / n / 3 * (i == 0 || i == n ? 1 : i % 2 ? 4 : 2);
            over = fmax(fabs(z) - h, 0);
            rr = r * r - over * over;
            out[0] += w * rr;
            out[1] += w * (rr * rr / 4 + rr * z * z);
            out[2] += w * rr * rr / 2;
        }
}

TEST(mass_of_round_shapes_against_discs) {
    const double tolerance = TOL(1e-9, 1e-5); /* Simpson's error at 400 panels; rounding */
    csim_shape shape[5];
    int i;
    shape[0] = csim_sphere(CSIM_R(0.3));
    shape[1] = csim_capsule(CSIM_R(0.3), CSIM_R(1.1));
    shape[2] = csim_cylinder(CSIM_R(0.3), CSIM_R(1.1));
    shape[3] = csim_capsule(2, 0);
    shape[4] = csim_cylinder(3, CSIM_R(0.01));
    for (i = 0; i < 5; ++i) {
        double want[3];
        csim_mass m;
        CASE("shape %d", i);
        STATUS(csim_shape_mass(shape + i, 700, &m, NULL), CSIM_OK);
        mass_of_discs(shape + i, 700, want);
        NEAR(m.mass, want[0], tolerance * want[0]);
        NEAR(m.inertia.m[0], want[1], tolerance * want[1]);
        NEAR(m.inertia.m[4], want[1], tolerance * want[1]);
        NEAR(m.inertia.m[8], want[2], tolerance * want[2]);
        NEAR(m.centre.x + m.centre.y + m.centre.z, 0, 0);
    }
}

/* Cubes of a grid whose centre is inside: coarse, but says that pose, centre and all products are where they belong. */
TEST(mass_of_turned_shapes_against_a_grid) {
    enum { N = 90 };
    int kind, i, k;
    for (kind = 0; kind < KINDS; ++kind) {
        csim_shape s = shape_number(kind);
        double low[3], step, want[10] = {0}, scale;
        csim_vec3 lower, upper;
        csim_geometry g;
        csim_mass m;
        s.local = random_pose(1);
        STATUS(csim_shape_bake(&s, &g, &hull_record, NULL), CSIM_OK);
        STATUS(csim_shape_mass(&s, 3, &m, NULL), CSIM_OK);
        g.hull = 0;
        csim_shape_bounds(&g, &hull_record, csim_pose_identity(), &lower, &upper);
        low[0] = (double)lower.x;
        low[1] = (double)lower.y;
        low[2] = (double)lower.z;
        step = (double)csimi_max(upper.x - lower.x, csimi_max(upper.y - lower.y, upper.z - lower.z)) / N;
        for (i = 0; i < N * N * N; ++i) {
            double x = low[0] + step * (i % N + 0.5), y = low[1] + step * (i / N % N + 0.5);
            double z = low[2] + step * (i / (N * N) + 0.5), dm = 3 * step * step * step;
            csim_vec3 p = csim_v3((csim_real)x, (csim_real)y, (csim_real)z);
            if (!is_inside(&s, csim_pose_local(s.local, p))) continue;
            want[0] += dm;
            want[1] += dm * x;
            want[2] += dm * y;
            want[3] += dm * z;
            x -= (double)m.centre.x;
            y -= (double)m.centre.y;
            z -= (double)m.centre.z;
            want[4] += dm * (y * y + z * z);
            want[5] -= dm * x * y;
            want[6] -= dm * x * z;
            want[7] += dm * (x * x + z * z);
            want[8] -= dm * y * z;
            want[9] += dm * (x * x + y * y);
        }
        CASE("kind %d", kind);
        NEAR(m.mass, want[0], 0.01 * want[0]); /* a part of the surface cubes, of which there are some 5 % */
        NEAR(m.centre.x, want[1] / want[0], 0.1 * step);
        NEAR(m.centre.y, want[2] / want[0], 0.1 * step);
        NEAR(m.centre.z, want[3] / want[0], 0.1 * step);
        scale = 0.01 * (want[4] + want[7] + want[9]);
        for (i = 0, k = 4; i < 9; ++i)
            if (i % 3 >= i / 3) NEAR(m.inertia.m[i], want[k++], scale);
        for (i = 0; i < 9; ++i) CHECK(m.inertia.m[i] == m.inertia.m[3 * (i % 3) + i / 3]);
    }
}

/* The hull of a box's corners, middles and inner points, far from the origin, is the box. */
TEST(mass_of_hull_equals_mass_of_box) {
    const double tolerance = TOL(1e-12, 1e-4); /* coordinates of 100 against half sizes of 1: 8e-6 in float */
    csim_shape box = csim_box(csim_v3(1, CSIM_R(0.5), 2)), hull;
    csim_vec3 p[28];
    csim_mass a, b;
    int i;
    for (i = 0; i < 27; ++i)
        p[i] = csim_v3((csim_real)(i % 3 - 1) + 100, CSIM_R(0.5) * (csim_real)(i / 3 % 3 - 1) - 50,
                       2 * (csim_real)(i / 9 - 1));
    p[27] = p[13];
    box.local.position = p[13];
    hull = csim_hull(p, 28);
    box.local.rotation = hull.local.rotation = csim_quat_identity();
    STATUS(csim_shape_mass(&box, 10, &a, NULL), CSIM_OK);
    STATUS(csim_shape_mass(&hull, 10, &b, NULL), CSIM_OK);
    NEAR(a.mass, 8 * 10, TOL(1e-13, 1e-5));
    NEAR(a.inertia.m[0], 80.0 / 3 * (0.25 + 4), TOL(1e-12, 1e-4));
    NEAR(a.mass, b.mass, 80 * tolerance);
    NEAR(csim_length(csim_sub(a.centre, b.centre)), 0, 100 * tolerance);
    for (i = 0; i < 9; ++i) NEAR(a.inertia.m[i], b.inertia.m[i], 200 * tolerance);
}

TEST(mass_refuses) {
    csim_shape s = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1));
    csim_error e;
    csim_mass m;
    STATUS(csim_shape_mass(&s, 1, &m, &e), CSIM_UNSUPPORTED);
    s = csim_sphere(1);
    STATUS(csim_shape_mass(&s, 0, &m, &e), CSIM_OUT_OF_RANGE);
    CHECK(strcmp(e.text, "csim_shape_mass: density is 0; allowed: above 0 kg/m^3") == 0);
    STATUS(csim_shape_mass(&s, (csim_real)NAN, &m, &e), CSIM_NOT_FINITE);
    STATUS(csim_shape_mass(NULL, 1, &m, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_shape_mass(&s, 1, NULL, NULL), CSIM_NULL_ARGUMENT);
    s.radius = TOL(1e-80, 1e-10); /* its inertia is not a number of this type any more */
    STATUS(csim_shape_mass(&s, 1, &m, &e), CSIM_OUT_OF_RANGE);
}

/* ---- hulls */

/* Everything a hull promises. Planes hold the vertices; points may stick out by the grid's 2e-5 of the size. */
static void check_hull(const csim_hull_data *h, const csim_vec3 *points, int count, double size) {
    const double rounding = size * TOL(1e-13, 2e-5), grid = size * TOL(3e-5, 6e-5);
    double volume = 0, want, centre[3], second[6];
    int f, i, k, directed[CSIM_HULL_MAX_EDGES] = {0}, used[CSIM_HULL_MAX_VERTICES] = {0};
    EQUAL(h->vertex_count - h->edge_count + h->face_count, 2);
    EQUAL(h->face_start[h->face_count], 2 * h->edge_count);
    for (f = 0; f < h->face_count; ++f) {
        csim_vec3 n = csimi_load3(h->normal + 3 * f), area = csim_v3(0, 0, 0);
        int start = h->face_start[f], end = h->face_start[f + 1];
        NEAR(csim_length(n), 1, 8 * (double)CSIMI_EPS);
        CHECK(end - start >= 3);
        for (i = 0; i < count; ++i) CHECK((double)(csim_dot(n, points[i]) - h->offset[f]) <= grid);
        for (i = 0; i < h->vertex_count; ++i)
            CHECK((double)(csim_dot(n, csimi_load3(h->vertex + 3 * i)) - h->offset[f]) <= rounding);
        for (i = start; i < end; ++i) {
            int a = h->face_vertex[i], b = h->face_vertex[i + 1 < end ? i + 1 : start], found = 0;
            csim_vec3 p = csimi_load3(h->vertex + 3 * a), q = csimi_load3(h->vertex + 3 * b);
            CHECK((double)(h->offset[f] - csim_dot(n, p)) <= grid);
            ++used[a];
            p = csim_sub(p, csimi_load3(h->vertex));
            q = csim_sub(q, csimi_load3(h->vertex));
            area = csim_madd(area, CSIM_R(0.5), csim_cross(p, q));
            for (k = 0; k < h->edge_count; ++k) {
                const unsigned char *v = h->edge_vertex + 2 * k, *face = h->edge_face + 2 * k;
                if (v[0] == a && v[1] == b && face[0] == f) ++found, directed[k] += 1;
                if (v[1] == a && v[0] == b && face[1] == f) ++found, directed[k] += 256;
            }
            EQUAL(found, 1);
        }
        CHECK(csim_dot(area, n) > 0);
        volume += (double)((h->offset[f] - csim_dot(n, csimi_load3(h->vertex))) * csim_dot(area, n)) / 3;
    }
    for (k = 0; k < h->edge_count; ++k) EQUAL(directed[k], 257);
    for (i = 0; i < h->vertex_count; ++i) CHECK(used[i] >= 3);
    STATUS(csimi_hull_moments("test", points, count, &want, centre, second, NULL), CSIM_OK);
    NEAR(volume, want, grid * size * size);
    CHECK(want > 0);
}

/* Points as they come in practice and as they should not; returns about how long the longest side is. */
static double strange_points(int kind, int count, csim_vec3 *points) {
    int i;
    for (i = 0; i < count; ++i) {
        csim_vec3 r = random_point(1), p = r;
        double a = 2 * 3.14159265358979 * (i / 2) / (count / 2), s = pow(10, check_random(-4, 0));
        int lattice = (int)check_random(0, 27);
        if (kind == 1) p = csim_normalize(r);
        if (kind == 2 || kind == 3)
            p = csim_v3((csim_real)(lattice % 3 - 1), (csim_real)(lattice / 3 % 3 - 1), (csim_real)(lattice / 9 - 1));
        if (kind == 3) p = csim_madd(p, CSIM_R(1e-5), r); /* about the grid's tolerance */
        if (kind == 4) p.z *= CSIM_R(0.01);
        if (kind == 5) p = csim_v3(r.x * CSIM_R(0.01), r.y, r.z * CSIM_R(0.01));
        if (kind == 6) p = csim_v3((csim_real)cos(a), (csim_real)sin(a), (csim_real)(i & 1)); /* prism */
        if (kind == 7) p = csim_scale((csim_real)s, r);                                   /* crowded in the middle */
        if (kind == 8) p = csim_v3((csim_real)s * r.x, (csim_real)s * r.y, (csim_real)s); /* and at a cone's tip */
        points[i] = csim_add(p, csim_v3(1, -2, 3));
    }
    return 2;
}

TEST(hull_of_strange_points_is_closed_and_convex) {
    static csim_hull_data h;
    csim_vec3 points[CSIM_HULL_MAX_VERTICES];
    int kind, round, i, refused = 0;
    for (kind = 0; kind < 9; ++kind)
        for (round = 0; round < 60; ++round) {
            int count = round == 0 ? 64 : 6 + (int)check_random(0, 59);
            double size = strange_points(kind, count, points);
            csim_quat q = csim_quat_exp(random_point(3));
            for (i = 0; i < count && round % 2; ++i) points[i] = csim_rotate(q, points[i]);
            CASE("kind %d, round %d, %d points", kind, round, count);
            if (csimi_hull_build("test", points, count, &h, NULL) != CSIM_OK) {
                ++refused; /* a lattice may give a plane; crowds in float may be mostly rounding */
                continue;
            }
            check_hull(&h, points, count, size + 4);
        }
    CHECK(refused < 20);
}

TEST(hull_of_a_cube_with_midpoints_is_a_cube) {
    static csim_hull_data h;
    csim_vec3 points[64];
    int turn, i, k;
    for (turn = 0; turn < 50; ++turn) {
        csim_pose pose = random_pose(turn ? 1 : 0);
        if (turn == 0) pose = csim_pose_identity();
        for (i = 0; i < 64; ++i)
            points[i] = csim_pose_point(
                pose, csim_v3((csim_real)(i % 3 - 1), (csim_real)(i / 3 % 3 - 1), (csim_real)(i / 9 % 3 - 1)));
        CASE("turn %d", turn);
        STATUS(csimi_hull_build("test", points, 64, &h, NULL), CSIM_OK);
        EQUAL(h.vertex_count, 8);
        EQUAL(h.edge_count, 12);
        EQUAL(h.face_count, 6);
        check_hull(&h, points, 64, 3);
        for (i = 0; i < 6; ++i) {
            csim_vec3 n = csim_unrotate(pose.rotation, csimi_load3(h.normal + 3 * i));
            csim_real axis = csimi_max(csimi_abs(n.x), csimi_max(csimi_abs(n.y), csimi_abs(n.z)));
            NEAR(axis, 1, TOL(1e-15, 1e-6));
            EQUAL(h.face_start[i + 1] - h.face_start[i], 4);
            for (k = 0; k < 4; ++k) /* the planes are as good as the points, not as the grid */
                NEAR(csim_dot(csimi_load3(h.normal + 3 * i), csimi_load3(h.vertex + 3 * h.face_vertex[4 * i + k])),
                     h.offset[i], TOL(2e-15, 1e-6));
        }
    }
}

/* ---- clouds: more points than a hull has corners */

static csim_vec3 spiral(int i, int count) {
    double z = (2 * i + 1) / (double)count - 1, a = 2.4 * i;
    return csim_v3((csim_real)(sqrt(1 - z * z) * cos(a)), (csim_real)(sqrt(1 - z * z) * sin(a)), (csim_real)z);
}

static double volume_of(const csim_vec3 *points, int count) {
    csim_shape s = csim_hull(points, count);
    csim_mass m;
    STATUS(csim_shape_mass(&s, 1, &m, NULL), CSIM_OK);
    return (double)m.mass;
}

/* Corners, lattices of the faces, points inside and all of it twice, turned and far off: the box. */
TEST(hull_of_a_cloud_in_a_box_is_the_box) {
    static csim_hull_data h;
    static csim_vec3 p[4000];
    csim_pose pose = random_pose(3);
    csim_real d[3] = {1, CSIM_R(0.3), 2}, x[3];
    int i, k;
    for (i = 0; i < 4000; ++i) {
        for (k = 0; k < 3; ++k)
            x[k] = d[k] * (i % 2000 < 1000 ? (csim_real)((int)check_random(0, 4.99) - 2) / 2
                                           : (csim_real)check_random(-1, 1));
        if (i % 2000 < 1000) x[i % 3] = i % 2 ? d[i % 3] : -d[i % 3];
        for (k = 0; k < 3 && i % 2000 > 1991; ++k) x[k] = i >> k & 1 ? d[k] : -d[k];
        p[i] = csim_pose_point(pose, csimi_load3(x));
    }
    STATUS(csimi_hull_build("test", p, 4000, &h, NULL), CSIM_OK);
    EQUAL(h.vertex_count, 8);
    EQUAL(h.face_count, 6);
    check_hull(&h, p, 4000, 5);
    NEAR(volume_of(p, 4000), 8 * 0.6, TOL(1e-12, 1e-4));
    NEAR(csim_hull_overhang(p, 4000, &h), 0, TOL(1e-14, 2e-6));
}

/* Forty corners and thousands of points between them give the hull of the forty; a ball gives 64 of its points, and the
   rest stays within what is told of it: no point of the ball is farther out. */
TEST(hulls_of_clouds_keep_their_corners) {
    static csim_hull_data h;
    static csim_vec3 p[5000];
    const csim_vec3 off = csim_v3(3, -2, 1);
    csim_vec3 corner[40];
    double volume, overhang, most = 0;
    csim_geometry g;
    csim_shape s;
    int i, k;
    for (i = 0; i < 40; ++i) corner[i] = csim_add(off, spiral(i, 40));
    for (i = 0; i < 5000; ++i) { /* the corners among mixtures of three of them */
        csim_real a = (csim_real)check_random(0, 1), b = (csim_real)check_random(0, 1) * (1 - a);
        p[i] = csim_add(csim_scale(a, corner[i % 40]), csim_scale(b, corner[i * 7 % 40]));
        p[i] = csim_madd(p[i], 1 - a - b, corner[i * 11 % 40]);
        if (i % 125 == 124) p[i] = corner[i / 125];
    }
    STATUS(csimi_hull_build("test", p, 5000, &h, NULL), CSIM_OK);
    EQUAL(h.vertex_count, 40);
    NEAR(volume_of(p, 5000), volume_of(corner, 40), TOL(1e-12, 1e-5));
    CHECK(csim_hull_overhang(p, 5000, &h) < 2 * 2e-5);
    for (i = 0; i < 5000; ++i) {
        p[i] = csim_normalize(random_point(1));
        if (i % 2) p[i] = csim_scale((csim_real)check_random(0, 1), p[i]);
    }
    s = csim_hull(p, 5000);
    STATUS(csim_shape_bake(&s, &g, &h, NULL), CSIM_OK);
    g.hull = 0;
    EQUAL(h.vertex_count, CSIM_HULL_MAX_VERTICES);
    overhang = (double)csim_hull_overhang(p, 5000, &h);
    for (i = 0; i < 5000; ++i)
        most = fmax(most, (double)csim_shape_distance(&g, &h, csim_pose_identity(), p[i], NULL, NULL));
    volume = volume_of(p, 5000) / (4 * 3.14159265358979 / 3);
    printf("    64 of 5000 points in a ball: %.4f radii left out, volume %.4f of the ball's\n", overhang, volume);
    NEAR(overhang, most, TOL(1e-15, 1e-7));
    CHECK(overhang < 0.08 && volume > 0.84 && volume < 1);
    for (k = 0; k < 3; ++k) { /* a point, a line, a plane */
        csim_error error;
        for (i = 0; i < 200; ++i)
            p[i] = csim_v3(k > 0 ? (csim_real)check_random(-1, 1) : 1, k > 1 ? (csim_real)check_random(-1, 1) : 2, 3);
        s = csim_hull(p, 200);
        STATUS(csim_shape_bake(&s, &g, &h, &error), CSIM_BAD_MESH);
        CHECK(strstr(error.text, "not all in one plane") != NULL);
    }
}

TEST(hull_on_a_sphere_keeps_every_point) {
    static csim_hull_data h;
    csim_vec3 points[64];
    int i;
    for (i = 0; i < 64; ++i) points[i] = spiral(i, 64); /* no two close */
    STATUS(csimi_hull_build("test", points, 64, &h, NULL), CSIM_OK);
    EQUAL(h.vertex_count, CSIM_HULL_MAX_VERTICES);
    EQUAL(h.face_count, CSIM_HULL_MAX_FACES);
    EQUAL(h.edge_count, CSIM_HULL_MAX_EDGES);
    check_hull(&h, points, 64, 2);
}

TEST(hull_refuses_flat_points) {
    static csim_hull_data h;
    csim_vec3 points[64];
    csim_error e;
    int i, kind;
    for (kind = 0; kind < 4; ++kind) {
        csim_shape s = csim_hull(points, 64);
        csim_geometry g;
        for (i = 0; i < 64; ++i) {
            csim_vec3 p = random_point(1);
            if (kind == 0) p = csim_v3(1, 2, 3);
            if (kind == 1) p = csim_v3(p.x, p.x, 2 * p.x);
            if (kind == 2) p = csim_v3(p.x, p.y, p.x + 2 * p.y);
            if (kind == 3) p.z *= CSIM_R(1e-8);
            points[i] = p;
        }
        CASE("kind %d", kind);
        STATUS(csim_shape_bake(&s, &g, &h, &e), CSIM_BAD_MESH);
        CHECK(strstr(e.text, "csim_shape_bake: points: ") == e.text);
    }
}

/* Any length from a micrometre to a kilometre gives the same hull. */
TEST(hull_does_not_depend_on_scale) {
    static csim_hull_data h, scaled;
    csim_vec3 points[40], big[40];
    int round, i;
    for (round = 0; round < 20; ++round) {
        csim_real scale = round % 2 ? CSIM_R(1024) : CSIM_R(1.0 / 1048576);
        for (i = 0; i < 40; ++i) {
            points[i] = random_point(1);
            big[i] = csim_scale(scale, points[i]);
        }
        STATUS(csimi_hull_build("test", points, 40, &h, NULL), CSIM_OK);
        STATUS(csimi_hull_build("test", big, 40, &scaled, NULL), CSIM_OK);
        CHECK(memcmp(h.face_vertex, scaled.face_vertex, sizeof h.face_vertex) == 0);
        CHECK(memcmp(h.edge_face, scaled.edge_face, sizeof h.edge_face) == 0);
        for (i = 0; i < h.face_count; ++i)
            NEAR(h.offset[i] * scale, scaled.offset[i], (double)scale * 16 * (double)CSIMI_EPS);
    }
}

/* ---- broad phase */

enum { BOXES = 1000, PAIRS = 200000 };
static csim_real box_lower[3 * BOXES], box_upper[3 * BOXES];
static int box_group[BOXES], found_pair[2 * PAIRS], every_pair[2 * PAIRS];

static int brute_pairs(int count) {
    int i, j, k, n = 0;
    for (i = 0; i < count; ++i)
        for (j = i + 1; j < count; ++j) {
            bool meet = box_group[i] < 0 || box_group[i] != box_group[j];
            for (k = 0; k < 3; ++k)
                meet = meet && box_lower[3 * i + k] <= box_upper[3 * j + k] &&
                       box_lower[3 * j + k] <= box_upper[3 * i + k];
            if (!meet || n == PAIRS) continue;
            every_pair[2 * n] = i;
            every_pair[2 * n + 1] = j;
            ++n;
        }
    return n;
}

/* kind 0: cubes in a cloud; 1: a lattice that touches exactly; 2: with floors and half-spaces; 3: of every size;
   4: all the same; 5: points on a line; 6: far from the origin. */
static void make_boxes(int kind, int count) {
    int i, k;
    for (i = 0; i < count; ++i) {
        csim_real half = CSIM_R(0.5);
        csim_vec3 c = random_point(6);
        if (kind == 1) c = csim_v3((csim_real)(i % 10), (csim_real)(i / 10 % 10), (csim_real)(i / 100));
        if (kind == 2 && i % 50 == 7) half = 1000;
        if (kind == 2 && i % 100 == 30) half = CSIM_R(1e18);
        if (kind == 3) half = (csim_real)pow(10, check_random(-3, 0.5));
        if (kind == 4) c = csim_v3(1, 2, 3);
        if (kind == 5) c = csim_v3(0, (csim_real)(i % 37), 0), half = 0;
        if (kind == 6) c = csim_add(c, csim_v3(-3000, 100, 2000));
        csimi_store3(box_lower + 3 * i, csim_sub(c, csim_v3(half, half, half)));
        csimi_store3(box_upper + 3 * i, csim_add(c, csim_v3(half, half, half)));
        if (kind == 5 && i % 74 == 0) box_upper[3 * i + 1] = CSIM_R(-0.0); /* i % 37 is 0: meets the lower ends at 0 */
        if (half >= 1000)
            for (k = 0; k < 2; ++k) box_upper[3 * i + 2] = c.z; /* floors are solid downwards only */
        box_group[i] = i % 3 == 0 ? -1 : i % 3 == 1 ? i / 9 : 0;
    }
}

TEST(broad_phase_finds_what_brute_force_finds) {
    static const int sizes[] = {0, 1, 2, 3, 17, 300, 400};
    int kind, k;
    for (kind = 0; kind < 7; ++kind)
        for (k = 0; k < 7; ++k) {
            const int count = sizes[k];
            void *scratch = malloc(csimi_broad_scratch(count) + 1);
            int want, found;
            make_boxes(kind, count);
            want = brute_pairs(count);
            CASE("kind %d, %d boxes, %d pairs", kind, count, want);
            memset(found_pair, 0xff, sizeof found_pair);
            found = csimi_broad_pairs(count, box_lower, box_upper, box_group, found_pair, PAIRS, (char *)scratch + 1);
            EQUAL(found, want);
            CHECK(memcmp(found_pair, every_pair, 2 * sizeof(int) * (size_t)want) == 0);
            EQUAL(found_pair[2 * want], -1);
            free(scratch);
        }
}

TEST(broad_phase_keeps_to_its_capacity) {
    void *scratch = malloc(csimi_broad_scratch(300));
    int want, capacity, i;
    make_boxes(0, 300);
    want = brute_pairs(300);
    REQUIRE(want > 40);
    for (capacity = 0; capacity <= want; capacity += want / 13) {
        memset(found_pair, 0xff, sizeof found_pair);
        EQUAL(csimi_broad_pairs(300, box_lower, box_upper, box_group, found_pair, capacity, scratch), want);
        EQUAL(found_pair[2 * capacity], -1);
        for (i = 1; i < capacity; ++i) {
            const int *p = found_pair + 2 * i;
            CHECK(p[-2] < p[0] || (p[-2] == p[0] && p[-1] < p[1]));
        }
    }
    free(scratch);
}

/* A pile of boxes about as dense as one comes, on a floor. */
TEST(broad_phase_of_a_thousand_boxes_is_quick) {
    void *scratch = malloc(csimi_broad_scratch(BOXES));
    int i, k, repeats = 200, found = 0;
    clock_t start;
    double us;
    for (i = 0; i < BOXES; ++i) {
        csim_vec3 c = csim_madd(csim_v3((csim_real)(i % 10), (csim_real)(i / 10 % 10), (csim_real)(i / 100)),
                                CSIM_R(0.2), random_point(1));
        for (k = 0; k < 3; ++k) {
            box_lower[3 * i + k] = (k == 0 ? c.x : k == 1 ? c.y : c.z) - CSIM_R(0.5);
            box_upper[3 * i + k] = (k == 0 ? c.x : k == 1 ? c.y : c.z) + CSIM_R(0.5);
        }
        box_group[i] = i;
    }
    for (k = 0; k < 3; ++k) { /* the floor */
        box_lower[k] = CSIM_R(-1e18);
        box_upper[k] = k < 2 ? CSIM_R(1e18) : CSIM_R(0.1);
    }
    start = clock();
    for (i = 0; i < repeats; ++i)
        found = csimi_broad_pairs(BOXES, box_lower, box_upper, box_group, found_pair, PAIRS, scratch);
    us = 1e6 * (double)(clock() - start) / CLOCKS_PER_SEC / repeats;
    printf("    %d boxes, %d pairs: %.0f us\n", BOXES, found, us);
    EQUAL(found, brute_pairs(BOXES));
    CHECK(us < 20000); /* brute force takes 2000; slow machines and sanitizers are let pass */
    free(scratch);
}

/* ---- baking and bounds */

static void check_refused(csim_shape s, csim_status status, const char *sentence) {
    static csim_hull_data h;
    csim_geometry g;
    csim_error e;
    memset(&e, 0, sizeof e);
    CASE("%s", sentence);
    STATUS(csim_shape_bake(&s, &g, &h, &e), status);
    EQUAL(e.status, status);
    CHECK(strstr(e.text, "csim_shape_bake: ") == e.text);
    CHECK(strstr(e.text, sentence) != NULL);
}

TEST(bake_refuses_with_a_sentence) {
    csim_vec3 points[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    csim_shape s;
    csim_geometry g;
    check_refused(csim_sphere(0), CSIM_OUT_OF_RANGE, "radius is 0; allowed: above 0");
    check_refused(csim_sphere(-2), CSIM_OUT_OF_RANGE, "radius is -2; allowed: above 0");
    check_refused(csim_sphere((csim_real)NAN), CSIM_NOT_FINITE, "radius is nan");
    check_refused(csim_capsule(1, -1), CSIM_OUT_OF_RANGE, "half_height is -1; allowed: 0 to");
    check_refused(csim_cylinder(1, 0), CSIM_OUT_OF_RANGE, "half_height is 0; allowed: above 0");
    check_refused(csim_box(csim_v3(1, 0, 1)), CSIM_OUT_OF_RANGE, "half.y is 0; allowed: above 0");
    check_refused(csim_box(csim_v3(1, 1, CSIM_R(2e9))), CSIM_OUT_OF_RANGE,
                  "half.z is 2e+9; allowed: above 0, at most 1e9 m");
    check_refused(csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 0)), CSIM_OUT_OF_RANGE, "local.rotation");
    check_refused(csim_half_space(csim_v3(0, (csim_real)INFINITY, 0), csim_v3(0, 0, 1)), CSIM_NOT_FINITE,
                  "local.position");
    check_refused(csim_half_space(csim_v3(0, 0, 0), csim_v3(0, (csim_real)NAN, 1)), CSIM_NOT_FINITE, "local.rotation");
    check_refused(csim_hull(points, 3), CSIM_BAD_MESH, "point_count is 3; allowed: 4 to 1e6");
    check_refused(csim_hull(points, 1500000), CSIM_BAD_MESH, "point_count is 1.5e+6; allowed: 4 to 1e6");
    check_refused(csim_hull(NULL, 4), CSIM_NULL_ARGUMENT, "points");
    points[2].y = (csim_real)NAN;
    check_refused(csim_hull(points, 4), CSIM_NOT_FINITE, "points is nan");
    points[2].y = 0;
    check_refused(csim_hull(points, 4), CSIM_BAD_MESH, "points");
    s = csim_cylinder(1, 2);
    s.spacing = CSIM_R(0.001);
    check_refused(s, CSIM_OUT_OF_RANGE, "spacing is 0.001; allowed: 0, or at least 1/100");
    s = csim_sphere(1);
    s.local.rotation.w = 2;
    check_refused(s, CSIM_OUT_OF_RANGE, "local.rotation squared is 4");
    memset(&s, 0, sizeof s);
    s.kind = CSIM_SHAPE_COUNT_;
    s.local = csim_pose_identity();
    check_refused(s, CSIM_OUT_OF_RANGE, "kind is 9");
    STATUS(csim_shape_bake(NULL, &g, NULL, NULL), CSIM_NULL_ARGUMENT);
    s = csim_sphere(1);
    STATUS(csim_shape_bake(&s, NULL, NULL, NULL), CSIM_NULL_ARGUMENT);
    points[2].y = 1;
    s = csim_hull(points, 4);
    STATUS(csim_shape_bake(&s, &g, NULL, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_shape_bake(&s, &g, &hull_record, NULL), CSIM_OK);
    EQUAL(g.hull, -1);
}

/* The frame of a half-space turns z into its normal, straight down and next to it too. */
TEST(bake_half_space_along_any_normal) {
    int i;
    for (i = 0; i < 500; ++i) {
        csim_real tilt = (csim_real)pow(10, -(i % 20));
        csim_vec3 n = i < 200 ? random_point(1) : csim_v3(tilt, i % 3 ? 0 : -tilt, i % 2 ? 1 : -1), got;
        csim_shape s;
        csim_geometry g;
        if (i == 499) n = csim_v3(0, 0, -5);
        s = csim_half_space(csim_v3(1, 2, 3), n);
        CASE("normal %g %g %g", (double)n.x, (double)n.y, (double)n.z);
        STATUS(csim_shape_bake(&s, &g, NULL, NULL), CSIM_OK);
        NEAR(csim_shape_distance(&g, NULL, csim_pose_identity(), csim_add(csim_v3(1, 2, 3), n), &got, NULL),
             csim_length(n), TOL(1e-14, 1e-5));
        NEAR(csim_length(csim_sub(got, csim_normalize(n))), 0, TOL(1e-15, 1e-6));
    }
}

TEST(bake_bounds_hold_the_surface_closely) {
    const double rounding = TOL(1e-14, 1e-5); /* of coordinates up to 5 */
    int kind, round, i, k;
    for (kind = 0; kind < KINDS; ++kind) {
        csim_shape s = shape_number(kind);
        csim_geometry g;
        s.local = random_pose(1);
        STATUS(csim_shape_bake(&s, &g, &hull_record, NULL), CSIM_OK);
        g.hull = 0;
        sample_surface(&g);
        for (round = 0; round < 20; ++round) {
            csim_pose pose = random_pose(1), frame = csim_pose_mul(pose, s.local);
            csim_real lower[3], upper[3], p[3];
            double low[3] = {1e9, 1e9, 1e9}, high[3] = {-1e9, -1e9, -1e9};
            csim_vec3 a, b;
            csim_shape_bounds(&g, &hull_record, pose, &a, &b);
            csimi_store3(lower, a);
            csimi_store3(upper, b);
            for (i = 0; i < sample_count; ++i) {
                csimi_store3(p, csim_pose_point(frame, sample[i]));
                CHECK(csim_length(csim_sub(sample[i], g.centre)) <= g.bound * (1 + 8 * CSIMI_EPS));
                for (k = 0; k < 3; ++k) {
                    low[k] = fmin(low[k], (double)p[k]);
                    high[k] = fmax(high[k], (double)p[k]);
                }
            }
            CASE("kind %d, round %d", kind, round);
            for (k = 0; k < 3; ++k) {
                CHECK((double)lower[k] <= low[k] + rounding && low[k] <= (double)lower[k] + sample_step);
                CHECK((double)upper[k] >= high[k] - rounding && high[k] >= (double)upper[k] - sample_step);
            }
        }
    }
}
