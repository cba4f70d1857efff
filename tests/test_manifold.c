/* test_manifold.c: contact points between shapes against independent answers: the Minkowski difference by brute force,
   the distance by a GJK of its own, closed forms. */
#include "check.h"

typedef csim_vec3 v3;

static csim_hull_data hulls[4];

/* A shape with what the test knows of it: its corners. */
typedef struct thing {
    csim_geometry g;
    int corners;
    v3 corner[CSIM_HULL_MAX_VERTICES];
    double size;
} thing;

static thing bake(csim_shape s, int hull) {
    thing t;
    memset(&t, 0, sizeof t);
    STATUS(csim_shape_bake(&s, &t.g, hulls + (hull < 0 ? 0 : hull), NULL), CSIM_OK);
    t.g.hull = s.kind == CSIM_SHAPE_HULL ? hull : -1;
    t.size = 2 * (double)t.g.bound;
    return t;
}

static thing box(double x, double y, double z) {
    csim_vec3 h = csim_v3((csim_real)x, (csim_real)y, (csim_real)z);
    thing t = bake(csim_box(h), -1);
    int i;
    t.corners = 8;
    for (i = 0; i < 8; i++) t.corner[i] = csim_v3(i & 1 ? h.x : -h.x, i & 2 ? h.y : -h.y, i & 4 ? h.z : -h.z);
    return t;
}

static thing hull(const v3 *points, int count, int slot) {
    thing t = bake(csim_hull(points, count), slot);
    t.corners = count;
    memcpy(t.corner, points, (size_t)count * sizeof *points);
    return t;
}

static v3 vec(double x, double y, double z) { return csim_v3((csim_real)x, (csim_real)y, (csim_real)z); }
static csim_real rnd(double lo, double hi) { return (csim_real)check_random(lo, hi); }
static v3 random_in(double r) { return csim_v3(rnd(-r, r), rnd(-r, r), rnd(-r, r)); }

static v3 random_unit(void) {
    for (;;) {
        v3 x = random_in(1);
        csim_real l = csim_length(x);
        if (l < 1 && l > CSIM_R(0.1)) return csim_scale(1 / l, x);
    }
}

static csim_pose pose_at(v3 x, csim_quat q) {
    csim_pose p;
    p.position = x;
    p.rotation = q;
    return p;
}
static csim_pose placed(double x, double y, double z) { return pose_at(vec(x, y, z), csim_quat_identity()); }
static csim_quat turned(double x, double y, double z, double angle) {
    return csim_quat_axis_angle(vec(x, y, z), (csim_real)angle);
}
static csim_quat random_turn(void) { return csim_quat_axis_angle(random_unit(), rnd(-3.1, 3.1)); }

static thing random_hull(int slot, int count) {
    v3 p[CSIM_HULL_MAX_VERTICES];
    csim_real sx = rnd(0.3, 1), sy = rnd(0.3, 1), sz = rnd(0.3, 1);
    int i;
    for (i = 0; i < count; i++) {
        v3 u = random_unit();
        p[i] = csim_v3(sx * u.x, sy * u.y, sz * u.z);
    }
    return hull(p, count, slot);
}

/* ---- Minkowski differences: points of b minus points of a, in double */

typedef struct cloud {
    int count;
    double x[64 * 64][3];
} cloud;

static cloud difference;

static void subtract(const thing *a, csim_pose pa, const thing *b, csim_pose pb) {
    int i, j;
    difference.count = 0;
    for (i = 0; i < a->corners; i++)
        for (j = 0; j < b->corners; j++) {
            v3 d = csim_sub(csim_pose_point(pb, b->corner[j]), csim_pose_point(pa, a->corner[i]));
            double *x = difference.x[difference.count++];
            x[0] = (double)d.x;
            x[1] = (double)d.y;
            x[2] = (double)d.z;
        }
}

static double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Gap of the supporting planes along n (a to b). */
static double gap_along(const double *n) {
    double least = 1e300;
    int i;
    for (i = 0; i < difference.count; i++) {
        double s = dot3(n, difference.x[i]);
        if (s < least) least = s;
    }
    return least;
}

/* The largest gap over the planes through any three points of the difference that leave all others on one side: minus
   the penetration depth when the shapes overlap. */
static double gap_of_planes(void) {
    int i, j, k, c, n = difference.count;
    double best = -1e300;
    for (i = 0; i < n; i++)
        for (j = i + 1; j < n; j++) {
            double e[3];
            for (c = 0; c < 3; c++) e[c] = difference.x[j][c] - difference.x[i][c];
            for (k = j + 1; k < n; k++) {
                double f[3], m[3], l, least = 0, most = 0, h;
                int q;
                for (c = 0; c < 3; c++) f[c] = difference.x[k][c] - difference.x[i][c];
                m[0] = e[1] * f[2] - e[2] * f[1];
                m[1] = e[2] * f[0] - e[0] * f[2];
                m[2] = e[0] * f[1] - e[1] * f[0];
                l = sqrt(dot3(m, m));
                if (l < 1e-9) continue;
                for (c = 0; c < 3; c++) m[c] /= l;
                h = dot3(m, difference.x[i]);
                for (q = 0; q < n; q++) {
                    double s = dot3(m, difference.x[q]) - h;
                    if (s < least) least = s;
                    if (s > most) most = s;
                    if (least < -1e-9 && most > 1e-9) break;
                }
                if (q < n) continue;
                if (most <= 1e-9 && -h > best) best = -h; /* all below the plane: its normal is -m */
                if (least >= -1e-9 && h > best) best = h;
            }
        }
    return best;
}

/* Point of least norm of the hull of up to 4 points, by all its faces; weights of the points. */
static double least_norm(double p[4][3], int n, double *w) {
    double best = 1e300;
    int mask, i, j;
    for (mask = 1; mask < 1 << n; mask++) {
        int id[4], m = 0, ok = 1, k;
        double A[4][5], x[3] = {0, 0, 0}, l[4], norm;
        for (i = 0; i < n; i++)
            if (mask & 1 << i) id[m++] = i;
        /* sum l = 1, (p_k - p_0) . sum l p = 0 */
        for (i = 0; i < m; i++) {
            for (j = 0; j < m; j++) {
                if (i == 0)
                    A[i][j] = 1;
                else {
                    double d[3];
                    for (k = 0; k < 3; k++) d[k] = p[id[i]][k] - p[id[0]][k];
                    A[i][j] = dot3(d, p[id[j]]);
                }
            }
            A[i][m] = i == 0;
        }
        for (k = 0; k < m && ok; k++) {
            int r = k;
            for (i = k; i < m; i++)
                if (fabs(A[i][k]) > fabs(A[r][k])) r = i;
            if (fabs(A[r][k]) < 1e-14) ok = 0;
            for (j = 0; j <= m; j++) {
                double t = A[k][j];
                A[k][j] = A[r][j];
                A[r][j] = t;
            }
            for (i = 0; i < m && ok; i++) {
                double f = A[i][k] / A[k][k];
                if (i == k) continue;
                for (j = k; j <= m; j++) A[i][j] -= f * A[k][j];
            }
        }
        if (!ok) continue;
        for (i = 0; i < m; i++) {
            l[i] = A[i][m] / A[i][i];
            if (l[i] < 0) ok = 0;
            for (k = 0; k < 3; k++) x[k] += l[i] * p[id[i]][k];
        }
        norm = sqrt(dot3(x, x));
        if (!ok || norm >= best) continue;
        best = norm;
        for (i = 0; i < 4; i++) w[i] = 0;
        for (i = 0; i < m; i++) w[id[i]] = l[i];
    }
    return best;
}

/* Distance of the difference to the origin by GJK; 0 when it holds it. */
static double distance_of(void) {
    double p[4][3], w[4] = {1, 0, 0, 0}, d = 0;
    int n = 1, i, k, round;
    memcpy(p[0], difference.x[0], sizeof p[0]);
    for (round = 0; round < 100; round++) {
        double x[3] = {0, 0, 0}, least = 1e300;
        int at = 0, m = 0;
        d = least_norm(p, n, w);
        for (i = 0; i < n; i++)
            for (k = 0; k < 3; k++) x[k] += w[i] * p[i][k];
        if (d < 1e-13) return 0;
        for (i = 0; i < difference.count; i++) {
            double s = dot3(x, difference.x[i]);
            if (s < least) {
                least = s;
                at = i;
            }
        }
        if (d * d - least < 1e-13 * d) return d;
        for (i = 0; i < n; i++)
            if (w[i] > 0) memmove(p[m++], p[i], sizeof p[0]);
        if (m == 4) return 0;
        memcpy(p[m], difference.x[at], sizeof p[0]);
        n = m + 1;
    }
    return d;
}

/* ---- what every manifold must obey */

#define MOST 128
static csim_touch touch[MOST];

static double least_gap(const csim_touch *t, int n) {
    double least = 1e300;
    int i;
    for (i = 0; i < n; i++)
        if ((double)t[i].gap < least) least = (double)t[i].gap;
    return least;
}

/* Unit normals, gaps that are those of the points, points on the surfaces, no two names equal. */
static void check_sane(const csim_touch *t, int n, const thing *a, csim_pose pa, const thing *b, csim_pose pb,
                       double margin, double tolerance) {
    int i, j;
    CHECK(n <= MOST);
    for (i = 0; i < n && i < MOST; i++) {
        v3 d = csim_sub(t[i].point_a, t[i].point_b), m;
        uint32_t zone;
        NEAR(csim_length(t[i].normal), 1, TOL(1e-14, 4e-6)); /* turned by two rounded quaternions */
        NEAR(csim_dot(t[i].normal, d), t[i].gap, tolerance);
        CHECK((double)t[i].gap <= margin);
        if (a) NEAR(csim_shape_distance(&a->g, hulls, pa, t[i].point_a, &m, &zone), 0, tolerance);
        if (b) NEAR(csim_shape_distance(&b->g, hulls, pb, t[i].point_b, &m, &zone), 0, tolerance);
        for (j = 0; j < i; j++) CHECK(t[i].feature != t[j].feature);
    }
}

static int collide(const thing *a, csim_pose pa, const thing *b, csim_pose pb, double margin) {
    return csim_collide(&a->g, pa, &b->g, pb, hulls, (csim_real)margin, touch, MOST);
}

/* Depth and distance of a pair of polytopes. Differences of separation below 4e-6 of the smaller size (in float 16 eps
   of the larger) count as none, up to twice in a row; points may lie eight times that beside a face, in both
   directions. */
static void check_pair(const thing *a, csim_pose pa, const thing *b, csim_pose pb, double margin, bool planes) {
    double size = a->size > b->size ? a->size : b->size, tie = 4e-6 * size, d, least, m[3];
    int i, n = collide(a, pa, b, pb, margin);
    csim_pose away = pa;
    check_sane(touch, n, a, pa, b, pb, margin, 12 * tie);
    subtract(a, pa, b, pb);
    d = distance_of();
    least = least_gap(touch, n);
    for (i = 0; i < n - 1 && (double)touch[i].gap > least; i++) {
    }
    m[0] = -(double)touch[i].normal.x;
    m[1] = -(double)touch[i].normal.y;
    m[2] = -(double)touch[i].normal.z;
    if (d > 0) {
        if (d < margin - tie) CHECK(n > 0);
        if (d > margin + tie) EQUAL(n, 0);
        if (n > 0) NEAR(least, d, 2 * tie);
        if (n > 0 && d < tie) CHECK(gap_along(m) > -3 * tie); /* what only touches is told apart by the normal */
        return;
    }
    CHECK(n > 0);
    if (n == 0) return;
    NEAR(least, gap_along(m), 2 * tie);
    if (planes && difference.count <= 144) { /* the bisector of two parallel edges may be deeper by 250 ties */
        double depth = gap_of_planes();
        if (n == 2 && least < depth)
            NEAR(least, depth, 252 * tie);
        else
            NEAR(least, depth, 2 * tie);
    }
    away.position = csim_madd(pa.position, (csim_real)(2 * tie - least), touch[i].normal);
    subtract(a, away, b, pb);
    CHECK(gap_along(m) >= 0);
}

TEST(boxes_random) {
    int i;
    for (i = 0; i < 3000; i++) {
        thing a = box(check_random(0.1, 1), check_random(0.1, 1), check_random(0.1, 1));
        thing b = box(check_random(0.1, 1), check_random(0.1, 1), check_random(0.1, 1));
        csim_pose pa = pose_at(random_in(1), random_turn()), pb = pose_at(random_in(1), random_turn());
        CASE("pair %d", i);
        check_pair(&a, pa, &b, pb, i % 3 ? 0.2 : 1, i % 10 == 0);
    }
}

TEST(box_and_hull_random) {
    int i;
    for (i = 0; i < 2000; i++) {
        thing a = box(check_random(0.1, 1), check_random(0.1, 1), check_random(0.1, 1));
        thing b = random_hull(0, 4 + i % 13);
        csim_pose pa = pose_at(random_in(1), random_turn()), pb = pose_at(random_in(1), random_turn());
        CASE("pair %d", i);
        if (i & 1)
            check_pair(&a, pa, &b, pb, 0.3, i % 50 == 1);
        else
            check_pair(&b, pb, &a, pa, 0.3, i % 50 == 0);
    }
}

TEST(hulls_random) {
    int i;
    for (i = 0; i < 2000; i++) {
        thing a = random_hull(0, 4 + i % 11), b = random_hull(1, 4 + i % 17);
        csim_pose pa = pose_at(random_in(1), random_turn()), pb = pose_at(random_in(1), random_turn());
        CASE("pair %d", i);
        check_pair(&a, pa, &b, pb, 0.3, i % 50 == 0);
    }
    for (i = 0; i < 50; i++) {
        thing a = random_hull(0, 64), b = random_hull(1, 48);
        csim_pose pa = pose_at(random_in(1), random_turn()), pb = pose_at(random_in(1), random_turn());
        CASE("large pair %d", i);
        check_pair(&a, pa, &b, pb, 0.3, false);
    }
}

/* One of few poses where faces, edges and corners meet, moved and turned by very little or not at all. */
static csim_pose near_lattice(double little) {
    static const double angle[] = {0, 0, 0, 45, 22.5, 90, 30, 54.735610317245346};
    int k = (int)check_random(0, 8), x = (int)check_random(0, 3);
    csim_quat q = turned(x == 0, x == 1, x == 2, angle[k] * 3.14159265358979323846 / 180);
    csim_pose p;
    if (check_random(0, 4) < 1) q = csim_quat_mul(turned(1, 1, 1, 0.5), q);
    p.position = csim_scale(
        CSIM_R(0.25), csim_v3(floor(check_random(-4, 5)), floor(check_random(-4, 5)), floor(check_random(-4, 5))));
    if (check_random(0, 2) < 1) little = 0;
    p.position = csim_add(p.position, random_in(little));
    p.rotation = csim_quat_mul(csim_quat_axis_angle(random_unit(), (csim_real)little), q);
    return p;
}

SLOW_IN_FLOAT(boxes_nearly_aligned) {
    static const double half[] = {0.5, 0.25, 0.125, 1};
    int i;
    for (i = 0; i < 30000; i++) {
        double little = pow(10, -check_random(2, 16));
        thing a = box(half[(int)check_random(0, 4)], half[(int)check_random(0, 4)], half[(int)check_random(0, 4)]);
        thing b = box(half[(int)check_random(0, 4)], half[(int)check_random(0, 4)], half[(int)check_random(0, 4)]);
        csim_pose pa = near_lattice(little), pb = near_lattice(little);
        CASE("pair %d, little %g", i, little);
        check_pair(&a, pa, &b, pb, i % 2 ? 0.01 : 0.3, i % 30 < 2);
    }
}

/* A prism over a regular polygon, its axis along z: corners k below, n + k above. */
static thing prism(int sides, double radius, double half_height, int slot) {
    v3 p[CSIM_HULL_MAX_VERTICES];
    int i;
    for (i = 0; i < sides; i++) {
        double t = 2 * 3.14159265358979323846 * i / sides;
        p[i] = vec(radius * cos(t), radius * sin(t), -half_height);
        p[sides + i] = vec(radius * cos(t), radius * sin(t), half_height);
    }
    return hull(p, 2 * sides, slot);
}

static thing octahedron(double r, int slot) {
    v3 p[6];
    int i;
    for (i = 0; i < 6; i++) p[i] = vec(i < 2 ? r : 0, i / 2 == 1 ? r : 0, i > 3 ? r : 0);
    for (i = 1; i < 6; i += 2) p[i] = csim_scale(-1, p[i - 1]);
    return hull(p, 6, slot);
}

static thing regular(int kind, int slot) {
    static const double half[] = {0.5, 0.25, 0.125, 1};
    if (kind == 0) return prism(3, 0.5, 0.25, slot);
    if (kind == 1) return prism(4, 0.5 * 1.4142135623730951, 0.5, slot);
    if (kind == 2) return prism(6, 0.5, 0.5, slot);
    if (kind == 3) return octahedron(0.5, slot);
    if (kind == 4) return prism(16, 0.5, 0.125, slot);
    return box(half[(int)check_random(0, 4)], half[(int)check_random(0, 4)], half[(int)check_random(0, 4)]);
}

TEST(regular_hulls_nearly_aligned) {
    int i;
    for (i = 0; i < 20000; i++) {
        double little = pow(10, -check_random(2, 16));
        thing a = regular((int)check_random(0, 6), 0), b = regular((int)check_random(0, 6), 1);
        csim_pose pa = near_lattice(little), pb = near_lattice(little);
        CASE("pair %d, little %g", i, little);
        check_pair(&a, pa, &b, pb, i % 2 ? 0.01 : 0.3, i % 100 < 2);
    }
}

/* ---- symmetries */

/* Every touch of one set has its partner in the other: points, normal and gap; b in the place of a when mirrored. */
static void check_partners(const csim_touch *s, int ns, const csim_touch *t, int nt, bool mirrored, double tolerance) {
    int i, j;
    EQUAL(ns, nt);
    for (i = 0; i < ns && i < MOST; i++) {
        double best = 1e300, gap = 0, turn = 0;
        for (j = 0; j < nt && j < MOST; j++) {
            v3 da = csim_sub(s[i].point_a, mirrored ? t[j].point_b : t[j].point_a);
            v3 db = csim_sub(s[i].point_b, mirrored ? t[j].point_a : t[j].point_b);
            double d = sqrt((double)(csim_dot(da, da) + csim_dot(db, db)));
            if (d >= best) continue;
            best = d;
            gap = (double)t[j].gap;
            turn = (double)csim_length(csim_madd(s[i].normal, mirrored ? 1 : -1, t[j].normal));
        }
        NEAR(best, 0, tolerance);
        NEAR(gap, s[i].gap, tolerance);
        NEAR(turn, 0, 10 * tolerance);
    }
}

static bool same_names(const csim_touch *s, int ns, const csim_touch *t, int nt) {
    int i, j;
    if (ns != nt) return false;
    for (i = 0; i < ns; i++) {
        for (j = 0; j < nt; j++)
            if (s[i].feature == t[j].feature) break;
        if (j == nt) return false;
    }
    return true;
}

static csim_touch other[MOST];

TEST(swapping_mirrors) {
    int i, n, m;
    for (i = 0; i < 4000; i++) {
        thing a = i % 3 ? box(check_random(0.1, 1), check_random(0.1, 1), check_random(0.1, 1)) : random_hull(0, 12);
        thing b = i % 2 ? box(check_random(0.1, 1), check_random(0.1, 1), check_random(0.1, 1)) : random_hull(1, 8);
        csim_pose pa = pose_at(random_in(0.7), random_turn()), pb = pose_at(random_in(0.7), random_turn());
        CASE("pair %d", i);
        n = collide(&a, pa, &b, pb, 0.2);
        m = csim_collide(&b.g, pb, &a.g, pa, hulls, CSIM_R(0.2), other, MOST);
        check_partners(touch, n, other, m, true, TOL(1e-11, 5e-4)); /* rounding over the smallest slopes */
    }
}

TEST(moving_both_changes_nothing) {
    int i, k, n, m;
    for (i = 0; i < 4000; i++) {
        thing a = i % 3 ? box(check_random(0.1, 1), check_random(0.1, 1), check_random(0.1, 1)) : random_hull(0, 12);
        thing b = i % 2 ? box(check_random(0.1, 1), check_random(0.1, 1), check_random(0.1, 1)) : random_hull(1, 8);
        csim_pose pa = pose_at(random_in(0.7), random_turn()), pb = pose_at(random_in(0.7), random_turn());
        csim_pose move = pose_at(random_in(3), random_turn());
        CASE("pair %d", i);
        n = collide(&a, pa, &b, pb, 0.2);
        for (k = 0; k < n; k++) {
            touch[k].point_a = csim_pose_point(move, touch[k].point_a);
            touch[k].point_b = csim_pose_point(move, touch[k].point_b);
            touch[k].normal = csim_rotate(move.rotation, touch[k].normal);
        }
        m = csim_collide(&a.g, csim_pose_mul(move, pa), &b.g, csim_pose_mul(move, pb), hulls, CSIM_R(0.2), other, MOST);
        check_partners(touch, n, other, m, false, TOL(1e-12, 5e-5));
        CHECK(same_names(touch, n, other, m));
    }
}

/* ---- things at rest */

typedef struct scene {
    const char *name;
    thing a, b;
    csim_pose pa, pb;
    int points;
    v3 normal; /* from b to a */
} scene;

#define PI 3.14159265358979323846
#define SCENES 17

/* A stone of an arch: number k of n between angles 0 and pi, radii 0.9 and 1.1, depth 0.4. */
static thing stone(int k, int n, int slot, csim_pose *pose) {
    double half = PI / n / 2, c = cos(half), s = sin(half), phi = (k + 0.5) * PI / n;
    v3 p[8];
    int i;
    for (i = 0; i < 8; i++) {
        double r = i & 1 ? 1.1 : 0.9;
        p[i] = vec(r * c - 1, i & 2 ? 0.2 : -0.2, (i & 4 ? 1 : -1) * r * s);
    }
    *pose = pose_at(vec(cos(phi), 0, sin(phi)), turned(0, 1, 0, -phi));
    return hull(p, 8, slot);
}

static scene make_scene(int which) {
    scene s;
    double lean = 22.5 * PI / 180, L = 1, t = 0.02, c = cos(lean), d = sin(lean);
    memset(&s, 0, sizeof s);
    s.a = s.b = box(0.5, 0.5, 0.5);
    s.pa = placed(0, 0, 0.5);
    s.pb = placed(0, 0, -0.5);
    s.normal = vec(0, 0, 1);
    s.points = 4;
    switch (which) {
    case 0: s.name = "equal boxes"; break;
    case 1:
        s.name = "half over the side";
        s.pa.position.x = CSIM_R(0.5);
        break;
    case 2:
        s.name = "over a corner";
        s.pa.position.x = CSIM_R(0.25);
        s.pa.position.y = CSIM_R(-0.375);
        break;
    case 3:
        s.name = "turned by 45 degrees";
        s.pa.rotation = turned(0, 0, 1, PI / 4);
        s.points = 8;
        break;
    case 4:
        s.name = "small on large";
        s.a = box(0.125, 0.25, 0.5);
        break;
    case 5:
        s.name = "large on small";
        s.b = box(0.25, 0.125, 0.5);
        break;
    case 6:
        s.name = "a pillow across: a cross of two bars";
        s.a = box(1, 0.125, 0.5);
        s.b = box(0.125, 1, 0.5);
        break;
    case 7: /* top inner edges of two leaning cards at the origin */
        s.name = "apex of two cards";
        s.a = s.b = box(0.01, 0.35, 0.5);
        s.pa = pose_at(vec(t / 2 * c + L / 2 * d, 0, t / 2 * d - L / 2 * c), turned(0, 1, 0, -lean));
        s.pb = pose_at(vec(-t / 2 * c - L / 2 * d, 0, t / 2 * d - L / 2 * c), turned(0, 1, 0, lean));
        s.points = 2;
        s.normal = vec(1, 0, 0);
        break;
    case 8:
        s.name = "foot of a leaning card on a table";
        s.a = box(0.01, 0.35, 0.5);
        s.b = box(2, 2, 0.5);
        s.pa = pose_at(vec(0, 0, t / 2 * d + L / 2 * c), turned(0, 1, 0, lean));
        s.points = 2;
        break;
    case 9:
        s.name = "card on the corners of leaning ones";
        s.a = box(0.4, 0.35, 0.01);
        s.b = box(0.01, 0.35, 0.5);
        s.pa = placed(0.1, 0, 0.01);
        s.pb = pose_at(vec(0, 0, -t / 2 * d - L / 2 * c), turned(0, 1, 0, lean));
        s.points = 2;
        break;
    case 10:
        s.name = "on an edge, 45 degrees, along the table";
        s.pa = pose_at(vec(0, 0, 0.5 * sqrt(2.0)), turned(0, 1, 0, PI / 4));
        s.b = box(2, 2, 0.5);
        s.points = 2;
        break;
    case 11:
        s.name = "on an edge, over the side of the table";
        s.pa = pose_at(vec(0, 0.25, 0.5 * sqrt(2.0)), turned(0, 1, 0, PI / 4));
        s.points = 2;
        break;
    case 12:
        s.name = "two ridges that cross";
        s.pa = pose_at(vec(0.1, 0.2, 0.5 * sqrt(2.0)), turned(0, 1, 0, PI / 4));
        s.pb = pose_at(vec(0, 0, -0.5 * sqrt(2.0)), turned(1, 0, 0, PI / 4));
        s.points = 1;
        break;
    case 13:
        s.name = "on a corner";
        s.pa = pose_at(vec(0, 0, 0.5 * sqrt(3.0)),
                       csim_quat_mul(turned(0, 1, 0, -atan(sqrt(0.5))), turned(1, 0, 0, PI / 4)));
        s.points = 1;
        break;
    case 14:
        s.name = "two stones of an arch";
        s.a = stone(4, 21, 0, &s.pa);
        s.b = stone(3, 21, 1, &s.pb);
        s.normal = vec(-sin(4 * PI / 21), 0, cos(4 * PI / 21));
        break;
    case 15:
        s.name = "a stone of an arch on the ground";
        s.a = stone(0, 21, 0, &s.pa);
        s.b = box(2, 2, 0.5);
        break;
    case 16:
        s.name = "hexagonal pillars, one turned by 30 degrees";
        s.a = prism(6, 0.5, 0.5, 0);
        s.b = prism(6, 0.5, 0.5, 1);
        s.pa.rotation = turned(0, 0, 1, PI / 6);
        s.points = 12;
        break;
    default: break;
    }
    return s;
}

/* Gaps are zero and normals right to rounding, whichever comes first and wherever the scene is. */
TEST(things_at_rest) {
    int i, k, round, n;
    for (i = 0; i < SCENES; i++) {
        scene s = make_scene(i);
        for (round = 0; round < 50; round++) {
            csim_pose move = round == 0 ? placed(0, 0, 0) : pose_at(random_in(2), random_turn());
            csim_pose pa = csim_pose_mul(move, s.pa), pb = csim_pose_mul(move, s.pb);
            v3 normal = csim_rotate(move.rotation, s.normal);
            bool first = round % 2 == 0;
            CASE("%s, round %d", s.name, round);
            n = first ? collide(&s.a, pa, &s.b, pb, 0.001) : collide(&s.b, pb, &s.a, pa, 0.001);
            EQUAL(n, s.points);
            check_sane(touch, n, first ? &s.a : &s.b, first ? pa : pb, first ? &s.b : &s.a, first ? pb : pa, 0.001,
                       TOL(1e-14, 4e-6));
            for (k = 0; k < n; k++) {
                NEAR(touch[k].gap, 0, TOL(3e-15, 2e-6)); /* eps times coordinates of some 3 */
                NEAR(csim_length(csim_madd(touch[k].normal, first ? -1 : 1, normal)), 0, TOL(3e-15, 4e-6));
            }
        }
    }
}

/* Names stay when things tremble by 1e-7 to 1e-5 of their size. */
TEST(names_persist) {
    int i, round, n, m;
    for (i = 0; i < SCENES; i++) {
        scene s = make_scene(i);
        n = csim_collide(&s.a.g, s.pa, &s.b.g, s.pb, hulls, CSIM_R(0.01), other, MOST);
        for (round = 0; round < 300; round++) {
            double little = pow(10, -check_random(5, 7));
            csim_pose pa = s.pa;
            pa.position = csim_add(pa.position, random_in(little));
            pa.rotation = csim_quat_mul(csim_quat_axis_angle(random_unit(), (csim_real)little), pa.rotation);
            CASE("%s, round %d, little %g", s.name, round, little);
            m = collide(&s.a, pa, &s.b, s.pb, 0.01);
            CHECK(same_names(other, n, touch, m));
            check_sane(touch, m, &s.a, pa, &s.b, s.pb, 0.01, 1e-4);
        }
    }
}

/* A corner of one at a corner of the other, or on an edge, to rounding. */
TEST(corners_touch) {
    int i, n, hits = 0;
    for (i = 0; i < 20000; i++) {
        thing a = box(0.5, 0.3, 0.4), b = box(0.3, 0.3, 0.6);
        csim_quat qa = random_turn(), qb = random_turn();
        csim_real s = i % 2 ? rnd(0, 1) : 0;
        v3 at = csim_madd(csim_scale(1 - s, a.corner[0]), s, a.corner[1]);
        csim_pose pa = pose_at(random_in(1), qa), pb = pose_at(vec(0, 0, 0), qb);
        pb.position = csim_sub(csim_pose_point(pa, at), csim_rotate(qb, b.corner[7]));
        subtract(&a, pa, &b, pb);
        CASE("pair %d", i);
        n = collide(&a, pa, &b, pb, 0.01);
        CHECK(n > 0);
        hits += fabs(least_gap(touch, n)) < 1e-6;
        check_pair(&a, pa, &b, pb, 0.01, false);
    }
    CHECK(hits > 500);
}

TEST(odd_sizes) {
    int i;
    for (i = 0; i < 3000; i++) { /* needles, plates, and a grain on a field */
        double thin = pow(10, -check_random(0, 3)), scale = pow(10, check_random(-4, 0));
        thing a = i % 2 ? box(0.5, 0.5, 0.5 * thin) : box(0.5, 0.5 * thin, 0.5 * thin);
        thing b = i % 3 ? box(0.5 * thin, 0.5, 0.5) : box(0.5 * scale, 0.3 * scale, 0.4 * scale);
        csim_pose pa = pose_at(random_in(0.3), random_turn()), pb = pose_at(random_in(0.3), random_turn());
        CASE("pair %d, thin %g, scale %g", i, thin, scale);
        check_pair(&a, pa, &b, pb, 0.1, i % 50 == 0);
    }
}

/* A box of a size 1e-4 of the table, at rest in many places of it. */
TEST(small_box_on_large_table) {
    double h = 1e-4;
    thing table = box(1, 1, 0.5), grain = box(h, 2 * h, h);
    int i, k, n;
    for (i = 0; i < 200; i++) {
        csim_pose pa =
            pose_at(vec(check_random(-0.9, 0.9), check_random(-0.9, 0.9), h), turned(0, 0, 1, check_random(-3, 3)));
        csim_pose pb = placed(0, 0, -0.5), move = pose_at(random_in(1), i ? random_turn() : csim_quat_identity());
        CASE("place %d", i);
        n = collide(&grain, csim_pose_mul(move, pa), &table, csim_pose_mul(move, pb), h / 10);
        EQUAL(n, 4);
        for (k = 0; k < n; k++) {
            NEAR(touch[k].gap, 0, TOL(2e-15, 1e-6)); /* rounding of positions of size 1 to 3 */
            NEAR(csim_length(csim_sub(touch[k].normal, csim_rotate(move.rotation, vec(0, 0, 1)))), 0, TOL(1e-14, 1e-5));
        }
    }
}

TEST(deep_overlap) {
    thing a = box(0.5, 0.25, 1), b = octahedron(0.5, 0);
    int i, n;
    for (i = 0; i < 500; i++) {
        csim_pose p = pose_at(random_in(1), random_turn());
        CASE("same pose %d", i);
        n = collide(&a, p, &a, p, 0.01);
        CHECK(n >= 1 && n <= 16);
        check_sane(touch, n, NULL, p, NULL, p, 0.01, TOL(1e-12, 1e-5));
        NEAR(least_gap(touch, n), -0.5, TOL(1e-12, 1e-5));
        n = collide(&b, p, &b, p, 0.01);
        CHECK(n >= 1 && n <= 16);
        NEAR(least_gap(touch, n), -1 / sqrt(3.0), TOL(1e-12, 1e-5));
        check_pair(&a, p, &b, pose_at(p.position, random_turn()), 0.01, i % 50 == 0);
        check_pair(&b, p, &a, pose_at(csim_add(p.position, random_in(0.1)), random_turn()), 0.01, i % 50 == 0);
    }
}

/* The two cards of an apex with a gap between them that no axis of a face or edge pair measures: both ends of the edges
   and the straight way across, also when one card stands higher. */
TEST(apex_apart) {
    int i, k, ends;
    for (i = 0; i < 100; i++) {
        scene s = make_scene(7);
        double x = check_random(0.001, 0.003), z = i % 2 ? check_random(0.0001, 0.0005) : 0, d = sqrt(x * x + z * z);
        csim_pose move = i ? pose_at(random_in(1), random_turn()) : placed(0, 0, 0);
        csim_pose pa = csim_pose_mul(move, pose_at(csim_add(s.pa.position, vec(x, 0, z)), s.pa.rotation));
        csim_pose pb = csim_pose_mul(move, s.pb);
        int n = i % 3 ? collide(&s.a, pa, &s.b, pb, 0.01) : collide(&s.b, pb, &s.a, pa, 0.01);
        v3 normal = csim_rotate(move.rotation, csim_scale((csim_real)((i % 3 ? 1 : -1) / d), vec(x, 0, z)));
        CASE("%d: gap %g, higher by %g", i, x, z);
        NEAR(least_gap(touch, n), d, TOL(1e-14, 1e-6));
        for (k = ends = 0; k < n; k++) {
            if ((double)touch[k].gap > d + 1e-6) continue;
            ends++;
            NEAR(csim_length(csim_sub(touch[k].normal, normal)), 0, TOL(1e-12, 1e-3)); /* rounding over the gap */
        }
        if (TOL(1, 0) || i % 2 == 0) EQUAL(ends, 2); /* in float a slanted normal is too rounded to tell both ends */
        CHECK(ends >= 1);
    }
}

/* ---- round shapes */

static thing half_space(void) { return bake(csim_half_space(vec(0, 0, 0), vec(0, 0, 1)), -1); }
static thing sphere(double r) { return bake(csim_sphere((csim_real)r), -1); }
static thing capsule(double r, double h) { return bake(csim_capsule((csim_real)r, (csim_real)h), -1); }
static thing cylinder(double r, double h) { return bake(csim_cylinder((csim_real)r, (csim_real)h), -1); }

static double distance_to(const thing *b, csim_pose pb, v3 x) {
    return (double)csim_shape_distance(&b->g, hulls, pb, x, NULL, NULL);
}

/* Farthest point of a shape along d, in the frame of the shape; half-spaces have none. */
static v3 farthest(const thing *t, v3 d) {
    v3 x = vec(0, 0, 0);
    csim_real h = t->g.half_height, flat = csim_length(csim_v3(d.x, d.y, 0));
    int i;
    if (t->corners) {
        x = t->corner[0];
        for (i = 1; i < t->corners; i++)
            if (csim_dot(d, t->corner[i]) > csim_dot(d, x)) x = t->corner[i];
        return x;
    }
    if (t->g.kind == CSIM_SHAPE_CYLINDER) {
        if (flat > 0) x = csim_scale(t->g.radius / flat, csim_v3(d.x, d.y, 0));
        x.z = d.z > 0 ? h : -h;
        return x;
    }
    x = csim_scale(t->g.radius, csim_normalize(d));
    x.z += d.z > 0 ? h : -h;
    return x;
}

static v3 farthest_between(const thing *a, csim_pose pa, const thing *b, csim_pose pb, v3 d) { /* of b - a against d */
    v3 xb = csim_pose_point(pb, farthest(b, csim_unrotate(pb.rotation, csim_scale(-1, d))));
    return csim_sub(xb, csim_pose_point(pa, farthest(a, csim_unrotate(pa.rotation, d))));
}

/* Distance of any two convex shapes by GJK; below 1e-9 it stops counting. */
static double distance_between(const thing *a, csim_pose pa, const thing *b, csim_pose pb) {
    double p[4][3], w[4] = {1, 0, 0, 0}, d = 0;
    v3 s = farthest_between(a, pa, b, pb, vec(1, 0, 0));
    int n = 1, i, k, round;
    for (round = 0; round < 300; round++) {
        double x[3] = {0, 0, 0}, y[3];
        int m = 0;
        if (round == 0) {
            p[0][0] = (double)s.x;
            p[0][1] = (double)s.y;
            p[0][2] = (double)s.z;
        }
        d = least_norm(p, n, w);
        for (i = 0; i < n; i++)
            for (k = 0; k < 3; k++) x[k] += w[i] * p[i][k];
        if (d < TOL(1e-9, 1e-6)) return 0;
        s = farthest_between(a, pa, b, pb, vec(x[0], x[1], x[2]));
        y[0] = (double)s.x;
        y[1] = (double)s.y;
        y[2] = (double)s.z;
        if (d - dot3(x, y) / d < TOL(1e-9, 1e-6)) return d;
        for (i = 0; i < n; i++)
            if (w[i] > 0) memmove(p[m++], p[i], sizeof p[0]);
        if (m == 4) return 0;
        memcpy(p[m], y, sizeof p[0]);
        n = m + 1;
    }
    return d;
}

static void near_point(v3 x, v3 y, double tolerance) { NEAR(csim_length(csim_sub(x, y)), 0, tolerance); }

TEST(spheres_against_all) {
    thing ball = sphere(0.3), ground = half_space(), cube = box(0.5, 0.5, 0.5), other_ball = sphere(0.2),
          pill = capsule(0.2, 0.5);
    thing drum = cylinder(0.4, 0.5);
    double e = TOL(1e-15, 1e-6), d = 0.1 / sqrt(2.0); /* eps times sizes of 1 */
    EQUAL(collide(&ball, placed(3, 4, 0.31), &ground, placed(0, 0, 0), 0.1), 1);
    NEAR(touch[0].gap, 0.01, e);
    near_point(touch[0].point_a, vec(3, 4, 0.01), e);
    near_point(touch[0].point_b, vec(3, 4, 0), e);
    near_point(touch[0].normal, vec(0, 0, 1), e);
    EQUAL(collide(&ground, placed(0, 0, 0), &ball, placed(3, 4, 0.25), 0.1), 1);
    NEAR(touch[0].gap, -0.05, e);
    near_point(touch[0].normal, vec(0, 0, -1), e);
    near_point(touch[0].point_b, vec(3, 4, -0.05), e);
    EQUAL(collide(&ball, placed(3, 4, 0.41), &ground, placed(0, 0, 0), 0.1), 0);
    EQUAL(collide(&ball, placed(0.1, 0.2, 0.79), &cube, placed(0, 0, 0), 0.1), 1); /* over a face */
    NEAR(touch[0].gap, -0.01, e);
    near_point(touch[0].point_b, vec(0.1, 0.2, 0.5), e);
    EQUAL(collide(&ball, placed(0.5 + d, 0.2, 0.5 + d), &cube, placed(0, 0, 0), 0.1), 1); /* at an edge */
    NEAR(touch[0].gap, -0.2, e);
    near_point(touch[0].normal, vec(sqrt(0.5), 0, sqrt(0.5)), TOL(1e-14, 1e-5));
    EQUAL(collide(&ball, placed(0, 0.1, 0), &cube, placed(0, 0, 0), 0.1), 1); /* its centre inside */
    NEAR(touch[0].gap, -0.7, e);
    near_point(touch[0].normal, vec(0, 1, 0), e);
    EQUAL(collide(&ball, placed(0, 0, 0.6), &other_ball, placed(0, 0, 0), 0.2), 1);
    NEAR(touch[0].gap, 0.1, e);
    EQUAL(collide(&ball, placed(0, 0, 0), &other_ball, placed(0, 0, 0), 0.2), 1); /* same centre */
    NEAR(touch[0].gap, -0.5, e);
    EQUAL(collide(&ball, placed(0.4, 0, 0.3), &pill, placed(0, 0, 0), 0.2), 1);
    NEAR(touch[0].gap, -0.1, e);
    near_point(touch[0].point_b, vec(0.2, 0, 0.3), e);
    EQUAL(collide(&ball, placed(0, 0, 1.1), &pill, placed(0, 0, 0), 0.2), 1);
    NEAR(touch[0].gap, 0.1, e);
    EQUAL(collide(&drum, placed(0, 0, 0), &ball, placed(0.6, 0, 0), 0.2), 1);
    NEAR(touch[0].gap, -0.1, e);
    near_point(touch[0].normal, vec(-1, 0, 0), e);
    EQUAL(collide(&drum, placed(0, 0, 0), &ball, placed(0.1, 0, 0.9), 0.2), 1);
    NEAR(touch[0].gap, 0.1, e);
}

/* A ball that rolls over two boxes side by side and down from them: one point, its gap that of the straight line. */
TEST(sphere_rolls) {
    thing ball = sphere(0.3), cube = box(0.5, 0.5, 0.5);
    int i;
    for (i = 0; i <= 400; i++) {
        double x = -0.9 + 0.005 * i, out = fabs(x) > 0.5 ? fabs(x) - 0.5 : 0;
        CASE("x = %g", x);
        EQUAL(collide(&ball, placed(x, 0.1, 0.8), &cube, placed(0, 0, 0), 1), 1);
        NEAR(touch[0].gap, sqrt(out * out + 0.09) - 0.3, TOL(1e-15, 1e-6));
        near_point(touch[0].normal, csim_normalize(vec(x > 0 ? out : -out, 0, 0.3)), TOL(1e-14, 1e-5));
    }
}

TEST(capsules_against_capsules) {
    thing a = capsule(0.1, 0.5), b = capsule(0.2, 0.3), grain = capsule(0.1, 0);
    double e = TOL(1e-15, 1e-6);
    int i;
    EQUAL(collide(&a, placed(0.35, 0, 0.4), &b, placed(0, 0, 0), 0.1),
          2); /* side by side: z from -0.1 to 0.3 in common */
    for (i = 0; i < 2; i++) {
        NEAR(touch[i].gap, 0.05, e);
        near_point(touch[i].normal, vec(1, 0, 0), e);
    }
    near_point(touch[0].point_a, vec(0.25, 0, -0.1), e);
    near_point(touch[1].point_b, vec(0.2, 0, 0.3), e);
    EQUAL(collide(&a, pose_at(vec(0, 0.29, 0), turned(0, 1, 0, PI / 2)), &b, placed(0, 0, 0), 0.1), 1); /* crossed */
    NEAR(touch[0].gap, -0.01, e);
    near_point(touch[0].normal, vec(0, 1, 0), e);
    EQUAL(collide(&a, placed(0, 0, 1.15), &b, placed(0, 0, 0), 0.1), 1); /* end to end */
    NEAR(touch[0].gap, 0.05, e);
    near_point(touch[0].normal, vec(0, 0, 1), e);
    EQUAL(collide(&grain, placed(0.25, 0, 0.3), &grain, placed(0, 0, 0.3), 0.1), 1);
    NEAR(touch[0].gap, 0.05, e);
    EQUAL(collide(&a, pose_at(vec(0, 0, 0), turned(0, 1, 0, PI / 2)), &b, placed(0, 0, 0), 0.1), 1); /* axes cross */
    NEAR(touch[0].gap, -0.3, e);
    NEAR(csim_length(touch[0].normal), 1, e);
    for (i = 0; i < 2000; i++) {
        csim_pose pa = pose_at(random_in(0.4), random_turn()), pb = pose_at(random_in(0.4), random_turn());
        double d;
        int n = collide(&a, pa, &b, pb, 1);
        CASE("pair %d", i);
        d = distance_between(&a, pa, &b, pb);
        CHECK(n >= 1);
        if (d > 0) NEAR(least_gap(touch, n), d, TOL(1e-7, 1e-5));
        check_sane(touch, n, &a, pa, &b, pb, 1, TOL(1e-14, 1e-6));
    }
}

/* The least distance along the axis of a, by thirds: the distance to a convex shape is convex. */
static double least_along(const thing *a, csim_pose pa, const thing *b, csim_pose pb) {
    double lo = -(double)a->g.half_height, hi = -lo, s = 0, t = 0;
    int k;
    for (k = 0; k < 90; k++) {
        double u = lo + (hi - lo) / 3, v = hi - (hi - lo) / 3;
        s = distance_to(b, pb, csim_pose_point(pa, vec(0, 0, u)));
        t = distance_to(b, pb, csim_pose_point(pa, vec(0, 0, v)));
        if (s < t)
            hi = v;
        else
            lo = u;
    }
    return s < t ? s : t;
}

TEST(capsules_random) {
    int i, n;
    for (i = 0; i < 3000; i++) {
        thing a = capsule(check_random(0.05, 0.3), check_random(0, 0.6));
        thing b = i % 3 == 0 ? box(0.5, 0.3, 0.2) : i % 3 == 1 ? random_hull(0, 12) : cylinder(0.4, 0.3);
        csim_pose pa = pose_at(random_in(0.7), random_turn()), pb = pose_at(random_in(0.7), random_turn());
        double least = least_along(&a, pa, &b, pb) - (double)a.g.radius;
        CASE("pair %d", i);
        n = i & 1 ? collide(&a, pa, &b, pb, 0.2) : collide(&b, pb, &a, pa, 0.2);
        CHECK(n <= 4);
        check_sane(touch, n, NULL, pa, NULL, pb, 0.2, TOL(1e-13, 1e-6));
        if (least < 0.2) CHECK(n > 0);
        if (n > 0) NEAR(least_gap(touch, n), least, TOL(1e-7, 1e-5)); /* 1e-4 rad along what is nearly flat */
        if (least > 0) NEAR(distance_between(&a, pa, &b, pb), least, TOL(1e-6, 1e-4)); /* GJK on curved shapes */
    }
}

/* Every touch has a place near one of the wanted points, and every wanted point has a touch. */
static void check_places(int n, const v3 *want, int wanted, double gap, v3 normal, double tolerance) {
    int i, j;
    EQUAL(n, wanted);
    for (i = 0; i < n && i < MOST; i++) {
        double best = 1e300;
        for (j = 0; j < wanted; j++) {
            double d = (double)csim_length(csim_sub(touch[i].point_b, want[j]));
            if (d < best) best = d;
        }
        NEAR(best, 0, tolerance);
        NEAR(touch[i].gap, gap, tolerance);
        near_point(touch[i].normal, normal, tolerance);
    }
}

TEST(capsule_lies) {
    thing a = capsule(0.1, 0.5), ground = half_space(), table = box(1, 1, 0.5), beam = box(0.3, 1, 0.5);
    csim_pose lying = pose_at(vec(0, 0.1, 0.1), turned(0, 1, 0, PI / 2));
    double e = TOL(1e-9, 1e-5); /* where a flat line ends is found by halving */
    v3 want[4], up = vec(0, 0, 1);
    want[0] = vec(-0.5, 0.1, 0);
    want[1] = vec(0.5, 0.1, 0);
    check_places(collide(&a, lying, &ground, placed(0, 0, 0), 0.01), want, 2, 0, up, TOL(1e-15, 1e-6));
    check_places(collide(&a, lying, &table, placed(0, 0, -0.5), 0.01), want, 2, 0, up, TOL(1e-15, 1e-6));
    want[0] = vec(-0.3, 0.1, 0);
    want[1] = vec(0.3, 0.1, 0);
    check_places(collide(&a, lying, &beam, placed(0, 0, -0.5), 0.001), want, 2, 0, up, 2e-5); /* CSIMI_FLAT of 0.1 */
    want[0] = vec(0.7, 0.1, 0);
    want[1] = vec(1, 0.1, 0);
    lying.position.x = CSIM_R(1.2); /* hangs over, one end on the table */
    check_places(collide(&a, lying, &table, placed(0, 0, -0.5), 0.001), want, 2, 0, up, 2e-5);
    want[0] = vec(0, 0, 0); /* on the edge of a box that stands on its corner line */
    lying.position = vec(0.2, 0, 0.1);
    check_places(
        collide(&a, lying, &table, pose_at(vec(0, 0, -0.5 * sqrt(2.0) - 0.5 * sqrt(2.0)), csim_quat_identity()), 0.001),
        want, 0, 0, up, e);
    table = box(0.5, 1, 0.5);
    check_places(collide(&a, lying, &table, pose_at(vec(0, 0, -0.5 * sqrt(2.0)), turned(0, 1, 0, PI / 4)), 0.001), want,
                 1, 0, up, TOL(1e-8, 1e-5));
    lying.rotation = csim_quat_identity(); /* upright */
    lying.position = vec(0, 0, 0.6);
    want[0] = vec(0, 0, 0);
    check_places(collide(&a, lying, &ground, placed(0, 0, 0), 0.01), want, 1, 0, up, TOL(1e-15, 1e-6));
    check_places(collide(&a, lying, &beam, placed(0, 0, -0.5), 0.01), want, 1, 0, up, TOL(1e-15, 1e-6));
}

/* What lies across a beam and hangs over on both sides is told of both edges of it at any small tilt, by names that
   stay when it tips over: the far one at its height over the top, the near one at its distance from the edge. */
TEST(across_a_beam_both_edges_are_told) {
    const thing beam = box(0.3, 1, 0.5), log = cylinder(0.3, 1);
    const csim_quat across = turned(0, 1, 0, PI / 2);
    const double tilts[] = {0.2, 0.05, 1e-3, -1e-3, -0.05, -0.2};
    uint32_t name[2] = {0, 0};
    int kind, i, k;
    for (kind = 0; kind < 2; kind++) {
        const thing bar = capsule(0.1, 0.5), *under = kind ? &log : &beam;
        for (i = 0; i < (int)(sizeof tilts / sizeof *tilts); i++) {
            const double tilt = tilts[i], height = 0.1 + 0.3 * fabs(tan(tilt)) - 1e-3;
            const csim_quat turn = csim_quat_mul(turned(0, 1, 0, -tilt), across);
            const double far = height + 0.3 * fabs(tan(tilt)) - 0.1;
            const double near = (height - 0.3 * fabs(tan(tilt))) * cos(tilt) - 0.1; /* the axis is outside */
            const csim_pose pa = pose_at(vec(0, 0, height), turn), pb = placed(0, 0, kind ? -1 : -0.5);
            int near_at, n = collide(&bar, pa, under, pb, 0.2);
            CASE("kind %d, tilt %g", kind, tilt);
            EQUAL(n, 2);
            near_at = touch[0].gap < touch[1].gap ? 0 : 1;
            NEAR(touch[near_at].gap, near, TOL(1e-7, 1e-5));
            NEAR((double)touch[near_at].point_b.x, tilt > 0 ? -0.3 : 0.3, TOL(1e-7, 1e-5));
            NEAR(touch[!near_at].gap, far, TOL(1e-5, 1e-4));
            NEAR((double)touch[!near_at].point_b.x, tilt > 0 ? 0.3 : -0.3, 1e-4);
            NEAR((double)touch[!near_at].normal.z, 1, TOL(1e-9, 1e-5));
            for (k = 0; k < 2; k++) { /* in the order of x */
                const uint32_t now = touch[(touch[0].point_b.x < touch[1].point_b.x) == (k == 0) ? 0 : 1].feature;
                if (i == 0) name[k] = now;
                EQUAL(now, name[k]);
            }
        }
    }
}

/* A cylinder on flat ground and on a table says the same: standing, lying, at any tilt the exact deepest point. */
TEST(cylinder_on_flat_ground) {
    thing a = cylinder(0.3, 0.5), ground = half_space(), table = box(2, 2, 0.5);
    int i, k, n;
    for (i = 0; i < 400; i++) {
        double tilt = i == 0   ? 0
                      : i == 1 ? PI / 2
                      : i % 2  ? check_random(0, PI)
                               : pow(10, -check_random(0, 9)),
               turn = check_random(-3, 3);
        double least = fabs(cos(tilt)) * 0.5 + fabs(sin(tilt)) * 0.3;
        csim_quat q = csim_quat_mul(csim_quat_mul(turned(0, 0, 1, turn), turned(0, 1, 0, tilt)),
                                    turned(0, 0, 1, check_random(-3, 3)));
        double gap = check_random(-0.01, 0.01);
        csim_pose pa = pose_at(vec(check_random(-1, 1), check_random(-1, 1), least + gap), q);
        for (k = 0; k < 2; k++) {
            const thing *b = k ? &table : &ground;
            csim_pose pb = placed(0, 0, k ? -0.5 : 0);
            CASE("%s, tilt %g, gap %g", k ? "table" : "ground", tilt, gap);
            n = collide(&a, pa, b, pb, 0.1);
            CHECK(n >= 1 && n <= 36);
            check_sane(touch, n, &a, pa, b, pb, 0.1, TOL(1e-14, 2e-6));
            NEAR(least_gap(touch, n), gap,
                 TOL(1e-7, 3e-6)); /* a sample 1e-3 of a radius beside the deepest point stands for it */
            if (i == 0) {
                double gaps = 0;
                int j;
                EQUAL(n, k ? 12 : 4);
                for (j = 0; j < n; j++) gaps += fabs((double)touch[j].gap - gap);
                NEAR(gaps, 0, TOL(1e-14, 1e-5));
            }
            if (i == 1) CHECK(n >= 2);
        }
    }
}

/* Half over the side of a table: the points carry the half over the table, to the very side, and no normal looks
   sideways, whether it floats or sinks by a little. */
TEST(cylinder_over_the_side) {
    thing a = cylinder(0.3, 0.5), table = box(1, 1, 0.5);
    int i, k, n;
    for (i = 0; i < 500; i++) {
        double x = 1 + check_random(-0.29, 0.29), gap = i % 5 ? check_random(-1, 1) * pow(10, -check_random(3, 12)) : 0,
               most = 0;
        csim_pose pa = pose_at(vec(x, 0.2, 0.5 + gap), turned(0, 0, 1, check_random(-3, 3)));
        CASE("x %g, gap %g", x, gap);
        n = i % 2 ? collide(&a, pa, &table, placed(0, 0, -0.5), 0.01)
                  : collide(&table, placed(0, 0, -0.5), &a, pa, 0.01);
        CHECK(n >= 3);
        for (k = 0; k < n; k++) {
            v3 p = i % 2 ? touch[k].point_b : touch[k].point_a;
            NEAR(touch[k].gap, gap, TOL(1e-15, 1e-6));
            near_point(touch[k].normal, vec(0, 0, i % 2 ? 1 : -1), TOL(1e-15, 1e-6));
            if ((double)p.x > most) most = (double)p.x;
        }
        NEAR(most, x + 0.3 < 1 ? x + 0.3 : 1, x + 0.3 < 1 ? 0.05 : TOL(1e-12, 1e-5));
    }
}

TEST(cylinder_lies_and_crosses) {
    thing a = cylinder(0.1, 0.5), b = cylinder(0.2, 0.4), table = box(1, 1, 0.5), beam = box(0.3, 1, 0.5),
          ridge = box(0.5, 1, 0.5);
    csim_pose lying = pose_at(vec(0, 0.1, 0.1), turned(0, 1, 0, PI / 2));
    v3 want[4], up = vec(0, 0, 1);
    double e = TOL(1e-15, 1e-6);
    want[0] = vec(-0.5, 0.1, 0);
    want[1] = vec(0.5, 0.1, 0);
    check_places(collide(&a, lying, &table, placed(0, 0, -0.5), 0.01), want, 2, 0, up, e);
    want[0] = vec(-0.3, 0.1, 0);
    want[1] = vec(0.3, 0.1, 0);
    check_places(collide(&a, lying, &beam, placed(0, 0, -0.5), 0.001), want, 2, 0, up, 2e-5); /* CSIMI_FLAT */
    want[0] = vec(0, 0.1, 0);
    check_places(collide(&a, lying, &ridge, pose_at(vec(0, 0, -0.5 * sqrt(2.0)), turned(0, 1, 0, PI / 4)), 0.001), want,
                 1, 0, up, TOL(1e-8, 1e-5));
    want[0] = vec(0, 0, 0); /* across another that lies */
    lying.position.y = 0;
    check_places(collide(&a, lying, &b, pose_at(vec(0, 0, -0.2), turned(1, 0, 0, PI / 2)), 0.001), want, 1, 0, up,
                 TOL(1e-8, 1e-5));
    want[0] = vec(-0.4, 0, 0); /* along it */
    want[1] = vec(0.4, 0, 0);
    check_places(collide(&a, lying, &b, pose_at(vec(0, 0, -0.2), turned(0, 1, 0, PI / 2)), 0.001), want, 2, 0, up,
                 2e-4);
    want[0] = vec(-0.2, 0, 0); /* on the cap of one that stands */
    want[1] = vec(0.2, 0, 0);
    check_places(collide(&a, lying, &b, placed(0, 0, -0.4), 0.001), want, 2, 0, up, 2e-5);
    /* the edge of a box across the cap, and a box on the cap, over its side */
    want[0] = vec(0.05, sqrt(0.04 - 0.0025), 0);
    want[1] = vec(0.05, -sqrt(0.04 - 0.0025), 0);
    check_places(
        collide(&ridge, pose_at(vec(0.05, 0, 0.5 * sqrt(2.0)), turned(0, 1, 0, PI / 4)), &b, placed(0, 0, -0.4), 0.001),
        want, 2, 0, up, TOL(1e-9, 1e-5));
    {
        int i, n = collide(&ridge, placed(0.55, 0, 0.5), &b, placed(0, 0, -0.4), 0.001);
        double least = 1;
        for (i = 0; i < n; i++) {
            NEAR(touch[i].gap, 0, e);
            near_point(touch[i].normal, up, e);
            if ((double)touch[i].point_b.x < least) least = (double)touch[i].point_b.x;
        }
        NEAR(least, 0.05, TOL(1e-14, 1e-5));
    }
}

/* ---- everything against everything */

static thing any_thing(int kind, int slot) {
    switch (kind) {
    case 0: return half_space();
    case 1: return sphere(check_random(0.05, 0.5));
    case 2: return capsule(check_random(0.05, 0.4), check_random(0, 0.6));
    case 3: return box(check_random(0.1, 0.6), check_random(0.1, 0.6), check_random(0.1, 0.6));
    case 4: return cylinder(check_random(0.05, 0.5), check_random(0.05, 0.6));
    default: return random_hull(slot, 4 + (int)check_random(0, 20));
    }
}

TEST(all_pairs_random) {
    int i, j, k, n, m, missed = 0;
    for (k = 0; k < 36; k++)
        for (i = 0; i < 400; i++) {
            thing a = any_thing(k / 6, 0), b = any_thing(k % 6, 1);
            csim_pose pa = pose_at(random_in(0.6), random_turn()), pb = pose_at(random_in(0.6), random_turn());
            double margin = i % 2 ? 0.1 : 0.5, r = (double)(a.g.radius > b.g.radius ? a.g.radius : b.g.radius);
            bool sampled = a.g.kind == CSIM_SHAPE_CYLINDER || b.g.kind == CSIM_SHAPE_CYLINDER;
            CASE("kinds %d and %d, pair %d", k / 6, k % 6, i);
            n = collide(&a, pa, &b, pb, margin);
            m = csim_collide(&b.g, pb, &a.g, pa, hulls, (csim_real)margin, other, MOST);
            CHECK(n <= 100);
            check_sane(touch, n, NULL, pa, NULL, pb, margin, TOL(1e-13, 5e-6));
            for (j = 0; j < n; j++)
                CHECK(csimi_finite(touch[j].gap) && csimi_finite(csim_dot(touch[j].point_a, touch[j].point_b)));
            if (k / 6 != 4 || k % 6 != 4) check_partners(touch, n, other, m, true, TOL(1e-6, 1e-3));
            if (k / 6 == 0 || k % 6 == 0) {
                if (k == 0) EQUAL(n, 0);
            } else {
                double d = distance_between(&a, pa, &b, pb);
                if (d < margin - (sampled ? 0.1 * r : 1e-5)) CHECK(n > 0);
                if (d > 1e-5 && n > 0) {
                    CHECK(least_gap(touch, n) > d - 2e-5);
                    CHECK(least_gap(touch, n) < d + (sampled ? 0.1 * r : 2e-5));
                }
                if (d == 0) CHECK(n > 0);
                if (d == 0 && !sampled) CHECK(least_gap(touch, n) < 2e-5);
                if (d == 0 && sampled && least_gap(touch, n) > 0.1 * r) missed++;
            }
        }
    CHECK(missed <
          10); /* of 4400 pairs with a cylinder: overlaps by more than a tenth of a radius between the samples */
}

TEST(boxes_on_flat_ground) {
    thing ground = half_space(), cube = box(0.5, 0.5, 0.5), card = box(0.01, 0.35, 0.5);
    double lean = 22.5 * PI / 180;
    v3 want[4], up = vec(0, 0, 1);
    int i, n;
    for (i = 0; i < 4; i++) want[i] = vec(i & 1 ? 0.5 : -0.5, i & 2 ? 0.5 : -0.5, 0);
    check_places(collide(&cube, placed(0, 0, 0.5), &ground, placed(0, 0, 0), 0.01), want, 4, 0, up, TOL(1e-15, 1e-6));
    want[0] = vec(0, 0.35, 0);
    want[1] = vec(0, -0.35, 0);
    n = collide(
        &card,
        pose_at(vec(0.5 * sin(lean) - 0.01 * cos(lean), 0, 0.01 * sin(lean) + 0.5 * cos(lean)), turned(0, 1, 0, lean)),
        &ground, placed(0, 0, 0), 0.001);
    check_places(n, want, 2, 0, up, TOL(1e-15, 1e-6));
}

/* As names_persist: the names of round shapes at rest. Those that lie flat may get a deepest point more. */
TEST(round_names_persist) {
    thing table = box(1, 1, 0.5), beam = box(0.3, 1, 0.5), pill = capsule(0.1, 0.5), drum = cylinder(0.3, 0.5);
    csim_quat lying = turned(0, 1, 0, PI / 2);
    const struct {
        const thing *a, *b;
        csim_pose pa;
    } rest[] = {{&pill, &table, pose_at(vec(0, 0.1, 0.1), lying)},
                {&pill, &table, pose_at(vec(0.8, 0.1, 0.1), lying)},
                {&pill, &beam, pose_at(vec(0, 0.1, 0.1), lying)},
                {&pill, &table, placed(0.1, 0.1, 0.6)},
                {&drum, &table, placed(0.1, 0.1, 0.5)},
                {&drum, &table, placed(1.1, 0.1, 0.5)},
                {&drum, &table, pose_at(vec(0, 0.1, 0.3), lying)},
                {&drum, &table, pose_at(vec(0.8, 0.1, 0.3), lying)},
                {&table, &drum, placed(0.9, 0.1, 1)}};
    int i, j, k, n, m, round;
    for (i = 0; i < (int)(sizeof rest / sizeof *rest); i++) {
        csim_pose pb = placed(0, 0, i == 8 ? 0 : -0.5);
        n = csim_collide(&rest[i].a->g, rest[i].pa, &rest[i].b->g, pb, hulls, CSIM_R(0.001), other, MOST);
        CHECK(n > 0);
        for (round = 0; round < 200; round++) {
            double little = pow(10, -check_random(5, 7));
            csim_pose pa = rest[i].pa;
            pa.position = csim_add(pa.position, random_in(little));
            pa.rotation = csim_quat_mul(csim_quat_axis_angle(random_unit(), (csim_real)little), pa.rotation);
            CASE("rest %d, round %d, little %g", i, round, little);
            m = collide(rest[i].a, pa, rest[i].b, pb, 0.001);
            CHECK(m >= n && m <= n + 2);
            for (j = 0; j < n; j++) {
                for (k = 0; k < m; k++)
                    if (touch[k].feature == other[j].feature) break;
                CHECK(k < m);
            }
        }
    }
}

/* ---- shapes that overlap, against the least way out: the overlap along a direction by support functions, the least of
   many directions. Touches that speak of a wrong face push bodies into each other. */

static double reach(const thing *t, csim_pose pose, v3 n) {
    const v3 l = csim_unrotate(pose.rotation, n);
    double most = t->corners > 0 ? -1e9 : 0;
    int i;
    for (i = 0; i < t->corners; i++) most = fmax(most, (double)csim_dot(l, t->corner[i]));
    if (t->g.kind == CSIM_SHAPE_CYLINDER)
        most = fabs((double)l.z) * (double)t->g.half_height + (double)t->g.radius * hypot((double)l.x, (double)l.y);
    return most + (double)csim_dot(n, pose.position);
}

/* Overlap along n, from b to a. */
static double overlap(const thing *a, csim_pose pa, const thing *b, csim_pose pb, v3 n) {
    return reach(b, pb, n) + reach(a, pa, csim_scale(-1, n));
}

enum { WAYS = 6 };
static double least_overlap(const thing *a, csim_pose pa, const thing *b, csim_pose pb, v3 *way) {
    v3 n[WAYS], best = vec(0, 0, 1);
    double value[WAYS], least = 1e9;
    int i, k, worst;
    for (k = 0; k < WAYS; k++) value[k] = 1e9, n[k] = best;
    for (i = 0; i < 600; i++) { /* the least of each region, then steps that shrink */
        v3 u = random_unit();
        double o = overlap(a, pa, b, pb, u);
        for (k = worst = 0; k < WAYS && !(csim_dot(u, n[k]) > CSIM_R(0.85)); k++)
            if (value[k] > value[worst]) worst = k;
        if (k == WAYS) k = worst;
        if (o < value[k]) value[k] = o, n[k] = u;
    }
    for (k = 0; k < WAYS; k++) {
        double step = 0.1;
        for (i = 0; i < 200; i++) {
            v3 u = csim_normalize(csim_madd(n[k], (csim_real)step, random_unit()));
            double o = overlap(a, pa, b, pb, u);
            if (o < value[k])
                value[k] = o, n[k] = u;
            else
                step *= 0.94;
        }
        if (value[k] < least) least = value[k], best = n[k];
    }
    *way = best;
    return least;
}

static thing random_round_or_flat(int kind, int slot) {
    if (kind == 0) return box(check_random(0.2, 0.8), check_random(0.2, 0.8), check_random(0.2, 0.8));
    if (kind == 1) return bake(csim_cylinder(rnd(0.2, 0.6), rnd(0.2, 0.8)), -1);
    return random_hull(slot, 8);
}

SLOW_TEST(cylinders_find_the_way_out) {
    static const char *const name[3] = {"box", "cylinder", "hull"};
    int kind, i, k;
    for (kind = 0; kind < 3; kind++) {
        int pairs = 250, missed = 0, wrong = 0;
        for (i = 0; i < pairs; i++) {
            thing a = random_round_or_flat(1, 0), b = random_round_or_flat(kind, 1);
            csim_pose pa = pose_at(vec(0, 0, 0), random_turn()), pb = pose_at(vec(0, 0, 0), random_turn());
            const double depth = pow(10, -check_random(1.7, 3));
            const v3 away = random_unit();
            double near = 0, far = 4, least, deepest = 0;
            v3 way;
            bool astray = false;
            int n;
            CASE("cylinder and %s, pair %d, depth %g", name[kind], i, depth);
            for (k = 0; k < 14; k++) {
                const double middle = (near + far) / 2;
                pa.position = csim_scale((csim_real)middle, away);
                if (least_overlap(&a, pa, &b, pb, &way) > depth)
                    near = middle;
                else
                    far = middle;
            }
            pa.position = csim_scale((csim_real)near, away);
            least = least_overlap(&a, pa, &b, pb, &way);
            n = collide(&a, pa, &b, pb, 0.05);
            for (k = 0; k < n && k < MOST; k++) {
                const double gap = (double)touch[k].gap;
                deepest = fmin(deepest, gap);
                if (gap < -0.3 * least && csim_dot(touch[k].normal, way) < CSIM_R(0.5) &&
                    overlap(&a, pa, &b, pb, touch[k].normal) > 5 * least)
                    astray = true;
            }
            missed += deepest > -0.3 * least;
            wrong += astray;
        }
        CASE("cylinder and %s: %d pairs, %d told too little, %d a wrong face", name[kind], pairs, missed, wrong);
        CHECK(missed <= (kind == 2 ? 5 : 1)); /* a corner of a hull deep beside a rim may name its other face */
        CHECK(wrong <= 5);
    }
}
