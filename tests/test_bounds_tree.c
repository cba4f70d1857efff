/* The tree of boxes against lists of boxes, and rays and casts against single shapes: by distances, and by certificates
   (a separating direction and a common point) that prove an answer without knowing how it was found. */
#include "check.h"

#define LEAVES 600

typedef struct boxes {
    csimi_bounds_tree tree;
    csim_vec3 lower[LEAVES], upper[LEAVES];
    bool alive[LEAVES];
    void *block;
} boxes;

static csim_vec3 random_vec(double size) {
    return csim_v3((csim_real)check_random(-size, size), (csim_real)check_random(-size, size),
                   (csim_real)check_random(-size, size));
}

static void boxes_start(boxes *b) {
    csimi_arena arena = csimi_arena_counting();
    memset(b, 0, sizeof *b);
    csimi_bounds_layout(&b->tree, LEAVES, &arena);
    b->block = malloc(arena.used + 64);
    arena = csimi_arena_in(b->block, arena.used + 64);
    csimi_bounds_layout(&b->tree, LEAVES, &arena);
    csimi_bounds_clear(&b->tree);
}

static void boxes_draw(csim_vec3 *lower, csim_vec3 *upper) {
    const csim_vec3 at = random_vec(10), half = random_vec(1);
    *lower = csim_sub(at, csim_v3(csimi_abs(half.x), csimi_abs(half.y), csimi_abs(half.z)));
    *upper = csim_add(at, csim_v3(csimi_abs(half.x), csimi_abs(half.y), csimi_abs(half.z)));
    if (check_random(0, 1) < 0.01) lower->z = CSIM_R(-1e18); /* one without end */
}

/* One of: in, out, move. */
static void boxes_change(boxes *b) {
    const int i = (int)check_random(0, LEAVES - 0.001);
    csim_vec3 lower, upper;
    boxes_draw(&lower, &upper);
    if (!b->alive[i]) {
        const int leaf = csimi_bounds_insert(&b->tree, lower, upper);
        CHECK(leaf >= 0 && leaf < LEAVES && !b->alive[leaf]);
        b->alive[leaf] = true;
        b->lower[leaf] = lower;
        b->upper[leaf] = upper;
    } else if (check_random(0, 1) < 0.4) {
        csimi_bounds_remove(&b->tree, i);
        b->alive[i] = false;
    } else if (b->lower[i].z > CSIM_R(-1e17) && lower.z > CSIM_R(-1e17)) {
        csimi_bounds_move(&b->tree, i, lower, upper, CSIM_R(0.05));
        b->lower[i] = lower;
        b->upper[i] = upper;
    }
}

static bool box_meets(const boxes *b, int i, csim_vec3 lower, csim_vec3 upper) {
    return b->lower[i].x <= upper.x && b->upper[i].x >= lower.x && b->lower[i].y <= upper.y &&
           b->upper[i].y >= lower.y && b->lower[i].z <= upper.z && b->upper[i].z >= lower.z;
}

/* By planes one after the other, in double. */
static bool box_on_ray(const boxes *b, int i, csim_vec3 o, csim_vec3 w) {
    const double lo[3] = {(double)b->lower[i].x, (double)b->lower[i].y, (double)b->lower[i].z};
    const double up[3] = {(double)b->upper[i].x, (double)b->upper[i].y, (double)b->upper[i].z};
    const double x[3] = {(double)o.x, (double)o.y, (double)o.z}, d[3] = {(double)w.x, (double)w.y, (double)w.z};
    double first = 0, last = 1;
    int k;
    for (k = 0; k < 3; k++) {
        double s, t;
        if (d[k] == 0) {
            if (x[k] < lo[k] || x[k] > up[k]) return false;
            continue;
        }
        s = (lo[k] - x[k]) / d[k];
        t = (up[k] - x[k]) / d[k];
        first = fmax(first, fmin(s, t));
        last = fmin(last, fmax(s, t));
    }
    return first <= last;
}

static double box_off(const boxes *b, int i, csim_vec3 p) {
    const double x = fmax(fmax((double)(b->lower[i].x - p.x), (double)(p.x - b->upper[i].x)), 0);
    const double y = fmax(fmax((double)(b->lower[i].y - p.y), (double)(p.y - b->upper[i].y)), 0);
    const double z = fmax(fmax((double)(b->lower[i].z - p.z), (double)(p.z - b->upper[i].z)), 0);
    return x * x + y * y + z * z;
}

static void boxes_compare(const boxes *b) {
    static csimi_bounds_walk walk;
    static csimi_bounds_ray ray;
    static csimi_bounds_near near;
    static bool seen[3][LEAVES];
    csim_vec3 lower, upper, o = random_vec(12), w = random_vec(20), p = random_vec(12);
    csim_real within = (csim_real)check_random(0, 9);
    int i;
    memset(seen, 0, sizeof seen);
    boxes_draw(&lower, &upper);
    if (check_random(0, 1) < 0.2) w.x = w.y = 0; /* along an axis */
    csimi_bounds_walk_in(&walk, &b->tree, lower, upper);
    while ((i = csimi_bounds_next(&walk)) >= 0) {
        CHECK(b->alive[i] && !seen[0][i]);
        seen[0][i] = true;
    }
    csimi_bounds_ray_along(&ray, &b->tree, o, w, csim_v3(0, 0, 0), 1);
    while ((i = csimi_bounds_ray_next(&ray)) >= 0) {
        CHECK(b->alive[i] && !seen[1][i]);
        seen[1][i] = true;
    }
    csimi_bounds_near_to(&near, &b->tree, p, within);
    while ((i = csimi_bounds_near_next(&near)) >= 0) {
        CHECK(b->alive[i] && !seen[2][i]);
        seen[2][i] = true;
    }
    for (i = 0; i < LEAVES; i++) { /* all that must be found; boxes may be larger than what they hold */
        if (!b->alive[i]) continue;
        CHECK(seen[0][i] || !box_meets(b, i, lower, upper));
        CHECK(seen[1][i] || !box_on_ray(b, i, o, w));
        CHECK(seen[2][i] || box_off(b, i, p) > (double)within);
    }
}

TEST(bounds_tree_finds_what_a_list_finds) {
    static boxes b;
    int k;
    boxes_start(&b);
    for (k = 0; k < 6000; k++) {
        boxes_change(&b);
        if (k % 10 == 0) csimi_bounds_tend(&b.tree, false);
        if (k % 5 == 0) boxes_compare(&b);
    }
    CHECK(b.tree.root >= 0 && b.tree.height[b.tree.root] < 40);
    for (k = 0; k < LEAVES; k++)
        if (b.alive[k]) csimi_bounds_remove(&b.tree, k);
    EQUAL(b.tree.count, 0);
    EQUAL(b.tree.wide_count, 0);
    EQUAL(b.tree.root, -1);
    free(b.block);
}

/* A box that shares but a corner is found, whatever the size: boxes are kept in floats, rounded outwards. */
TEST(bounds_tree_finds_what_it_touches) {
    static boxes b;
    static csimi_bounds_walk walk;
    int i, k;
    boxes_start(&b);
    for (i = 0; i < LEAVES; i++) {
        const csim_real size = CSIM_R(pow(10, check_random(-6, 6)));
        boxes_draw(&b.lower[i], &b.upper[i]);
        b.lower[i] = csim_scale(size, b.lower[i]);
        b.upper[i] = csim_scale(size, b.upper[i]);
        EQUAL(csimi_bounds_insert(&b.tree, b.lower[i], b.upper[i]), i);
    }
    for (i = 0; i < LEAVES; i++)
        for (k = 0; k < 2; k++) {
            const csim_vec3 corner = k ? b.lower[i] : b.upper[i];
            int leaf, found = 0;
            csimi_bounds_walk_in(&walk, &b.tree, corner, corner);
            while ((leaf = csimi_bounds_next(&walk)) >= 0) found += leaf == i;
            EQUAL(found, 1);
        }
    free(b.block);
}

/* Boxes apart in a row far from the origin, put in without order: a tree built anew parts them along the row, so that
   of each level one box holds a point. */
TEST(bounds_tree_parts_a_row) {
    static boxes b;
    int i, n;
    boxes_start(&b);
    for (i = 0; i < LEAVES; i++) {
        const csim_real z = CSIM_R(7 * i % LEAVES);
        csimi_bounds_insert(&b.tree, csim_v3(999, 0, z), csim_v3(1000, 1, z + CSIM_R(0.5)));
    }
    csimi_bounds_tend(&b.tree, true);
    for (i = 0; i < LEAVES; i++) {
        const float z = (float)i + 0.25f;
        int hold = 0;
        for (n = 0; n < b.tree.node_high; n++) hold += b.tree.node[n].lower[2] <= z && z <= b.tree.node[n].upper[2];
        CHECK(hold <= b.tree.height[b.tree.root] + 1);
    }
    CHECK(b.tree.height[b.tree.root] <= 14); /* of 600: 10 if all were even */
    free(b.block);
}

/* Boxes in a row, each twice as large as the one before, put in in the worst order: depth stays within the stacks. */
TEST(bounds_tree_stays_shallow) {
    static boxes b;
    int i;
    csim_real x = CSIM_R(1e-6);
    boxes_start(&b);
    for (i = 0; i < LEAVES; i++) {
        if (i % 30 == 0) x = CSIM_R(1e-6);
        csimi_bounds_insert(&b.tree, csim_v3(0, 0, 0), csim_v3(x, x, x));
        x *= 2;
        CHECK(b.tree.height[b.tree.root] < CSIMI_BOUNDS_DEPTH - 1);
    }
    free(b.block);
}

/* Tiles of a floor one after the other, as a level is made: no row of them makes a chain for which all is built anew. */
TEST(bounds_tree_takes_a_floor_tile_by_tile) {
    static boxes b;
    int i;
    boxes_start(&b);
    for (i = 0; i < LEAVES; i++) {
        const csim_vec3 x = csim_v3((csim_real)(i % 100), (csim_real)(i / 100), 0);
        csimi_bounds_insert(&b.tree, x, csim_add(x, csim_v3(1, 1, CSIM_R(0.1))));
        CHECK(b.tree.height[b.tree.root] < 24);
        EQUAL(b.tree.changes, i + 1);
    }
    free(b.block);
}

/* ---- shapes */

static csim_quat random_turn(void) {
    csim_quat q;
    q.w = (csim_real)check_random(-1, 1);
    q.x = (csim_real)check_random(-1, 1);
    q.y = (csim_real)check_random(-1, 1);
    q.z = (csim_real)check_random(-1, 1);
    return csim_quat_normalize(q);
}

static csim_pose random_pose(double size) {
    csim_pose p;
    p.position = random_vec(size);
    p.rotation = random_turn();
    return p;
}

static csim_hull_data hull;

static csim_geometry random_geometry(int kind) {
    static csim_vec3 point[12];
    csim_geometry g;
    csim_error error;
    csim_shape s = csim_sphere((csim_real)check_random(0.1, 1));
    const csim_real a = (csim_real)check_random(0.1, 1), c = (csim_real)check_random(0.1, 1);
    int i;
    for (i = 0; i < 12; i++) point[i] = random_vec(1);
    if (kind == CSIM_SHAPE_CAPSULE) s = csim_capsule(a, c);
    if (kind == CSIM_SHAPE_CYLINDER) s = csim_cylinder(a, c);
    if (kind == CSIM_SHAPE_BOX) s = csim_box(csim_v3(a, c, (csim_real)check_random(0.1, 1)));
    if (kind == CSIM_SHAPE_HULL) s = csim_hull(point, 12);
    if (kind == CSIM_SHAPE_HALF_SPACE) s = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1));
    STATUS(csim_shape_bake(&s, &g, &hull, &error), CSIM_OK);
    if (kind == CSIM_SHAPE_HULL) g.hull = 0;
    return g;
}

/* By steps of the distance, which never go too far. -1: none; -2: it grazes too long to tell. */
static double traced(const csim_geometry *g, csim_pose p, csim_vec3 o, csim_vec3 w) {
    const double speed = (double)csim_length(w), near = TOL(1e-11, 1e-5);
    double t = 0;
    int k;
    for (k = 0; k < 5000; k++) {
        const double d = (double)csim_shape_distance(g, &hull, p, csim_madd(o, (csim_real)t, w), NULL, NULL);
        if (d <= near) return t;
        t += d / speed;
        if (t > 1) return -1;
    }
    return -2;
}

TEST(rays_enter_shapes_where_their_distance_is_zero) {
    int kind, k, hits = 0, told = 0;
    for (kind = 0; kind <= CSIM_SHAPE_HULL; kind++)
        for (k = 0; k < 1500; k++) {
            const csim_geometry g = random_geometry(kind);
            const csim_pose p = random_pose(1);
            const csim_vec3 o = random_vec(3), w = k % 7 ? random_vec(6) : csim_scale(-4, o);
            csimi_ray_hit hit;
            const int found = csimi_ray_at(&g, &hull, p, o, w, 1, &hit);
            const double d = (double)csim_shape_distance(&g, &hull, p, o, NULL, NULL), t = traced(&g, p, o, w);
            CASE("kind %d number %d", kind, k);
            if (fabs(d) < TOL(1e-9, 1e-4) || t == -2) continue;
            EQUAL((found & CSIMI_RAY_BEGINS_INSIDE) != 0, d < 0);
            if (d < 0) {
                EQUAL(found, CSIMI_RAY_BEGINS_INSIDE); /* convex: it never comes back */
                continue;
            }
            if (found & CSIMI_RAY_ENTERS) {
                csim_vec3 n;
                const csim_vec3 x = csim_madd(o, hit.fraction, w);
                uint32_t zone;
                /* on the surface, and not before what the steps found: they stop 1e-11 in front of it */
                NEAR(csim_shape_distance(&g, &hull, p, x, &n, &zone), 0, TOL(1e-12, 2e-5));
                if (csim_dot(n, csim_normalize(w)) > CSIM_R(-0.01)) continue;
                NEAR(hit.fraction, t, TOL(1e-9, 1e-3));
                NEAR(csim_length(csim_sub(n, hit.normal)), 0, TOL(1e-6, 2e-2) + (kind == CSIM_SHAPE_BOX ||
                     kind == CSIM_SHAPE_HULL || kind == CSIM_SHAPE_CYLINDER ? 2 : 0)); /* at edges either may do */
                hits++;
            } else {
                CHECK(t < 0 || t > 1 - 1e-6 ||
                      (double)csim_shape_distance(&g, &hull, p, csim_madd(o, (csim_real)(t + 1e-5), w), NULL, NULL) >
                          TOL(-1e-9, -1e-4));
            }
            told++;
        }
    CHECK(told > 5000 && hits > 700);
}

/* From a thousand times its size away. */
TEST(rays_from_afar_lose_no_digits) {
    int k;
    for (k = 0; k < 300; k++) {
        const csim_geometry g = random_geometry(1 + k % 5);
        const csim_pose p = random_pose(1);
        csim_vec3 d = csim_normalize(random_vec(1)), o = csim_madd(p.position, 1000, d), w = csim_scale(-2000, d);
        csimi_ray_hit hit;
        CASE("number %d", k);
        if (csim_shape_distance(&g, &hull, p, p.position, NULL, NULL) > CSIM_R(-0.01)) continue;
        CHECK(csimi_ray_at(&g, &hull, p, o, w, 1, &hit) == CSIMI_RAY_ENTERS);
        NEAR(csim_shape_distance(&g, &hull, p, csim_madd(o, hit.fraction, w), NULL, NULL), 0, TOL(2e-12, 1e-3));
    }
}

/* ---- certificates. The farthest point of a shape along d, told by its kind alone. */
static double farthest(const csim_geometry *g, csim_pose p, csim_vec3 shift, csim_vec3 d) {
    const csim_vec3 e = csim_unrotate(p.rotation, d);
    double most = -1e300, r = sqrt((double)(e.x * e.x + e.y * e.y)), length = (double)csim_length(e);
    int i;
    if (g->kind == CSIM_SHAPE_SPHERE) most = (double)g->radius * length;
    if (g->kind == CSIM_SHAPE_CAPSULE)
        most = (double)g->radius * length + fabs((double)e.z) * (double)g->half_height;
    if (g->kind == CSIM_SHAPE_CYLINDER) most = (double)g->radius * r + fabs((double)e.z) * (double)g->half_height;
    if (g->kind == CSIM_SHAPE_BOX)
        most = fabs((double)(e.x * g->half.x)) + fabs((double)(e.y * g->half.y)) + fabs((double)(e.z * g->half.z));
    for (i = 0; g->kind == CSIM_SHAPE_HULL && i < hull.vertex_count; i++)
        most = fmax(most, (double)csim_dot(e, csimi_load3(hull.vertex + 3 * i)));
    return most + (double)csim_dot(d, csim_add(p.position, shift));
}

TEST(distances_of_convex_shapes_have_a_plane_and_two_points) {
    int i, j, k, apart = 0;
    /* of sizes of 1 to 2; around rims the search has no corners to end at, and stops where roundings hide its progress */
    const double sharp = TOL(3e-12, 1e-4), rim = TOL(2e-9, 3e-4);
    for (i = CSIM_SHAPE_SPHERE; i <= CSIM_SHAPE_HULL; i++)
        for (j = CSIM_SHAPE_SPHERE; j <= CSIM_SHAPE_HULL; j++)
            for (k = 0; k < 150; k++) {
                const csim_geometry a = random_geometry(i), b = random_geometry(j);
                const csim_pose pa = random_pose(2), pb = random_pose(2);
                const double near = i == CSIM_SHAPE_CYLINDER || j == CSIM_SHAPE_CYLINDER ? rim : sharp;
                csimi_convex A, B;
                csim_vec3 on, n;
                csim_real d;
                CASE("kinds %d %d number %d", i, j, k);
                csimi_convex_of(&A, &a, &hull, pa);
                csimi_convex_of(&B, &b, &hull, pb);
                d = csimi_convex_distance(&A, csim_v3(0, 0, 0), &B, &on, &n);
                if (!(d > 0)) { /* overlap: no direction of many separates them */
                    int m;
                    for (m = 0; m < 50; m++) {
                        const csim_vec3 u = csim_normalize(random_vec(1));
                        CHECK(-farthest(&a, pa, csim_v3(0, 0, 0), csim_scale(-1, u)) -
                                  farthest(&b, pb, csim_v3(0, 0, 0), u) <= near);
                    }
                    continue;
                }
                apart++;
                /* not nearer: the slab between the planes; not farther: a point of each */
                NEAR(-farthest(&a, pa, csim_v3(0, 0, 0), csim_scale(-1, n)) - farthest(&b, pb, csim_v3(0, 0, 0), n), d,
                     near);
                NEAR(csim_shape_distance(&b, &hull, pb, on, NULL, NULL), 0, near);
                NEAR(csim_shape_distance(&a, &hull, pa, csim_madd(on, d, n), NULL, NULL), 0, near);
            }
    CHECK(apart > 2000);
}

TEST(casts_of_convex_shapes_end_at_a_plane_and_a_point) {
    int i, j, k, hits = 0;
    /* the last millionth of a way to a rim (float: thousandth) is a straight piece along the plane known by then, and the
       point may be off by as much along the rim; planes turn in the last piece by its root. In float the plane of corners
       is that of the last place where they were 64 roundings apart */
    const double sharp = TOL(1e-10, 8e-3), rim = TOL(3e-6, 8e-3), plane = TOL(1e-5, 2e-2);
    for (i = CSIM_SHAPE_SPHERE; i <= CSIM_SHAPE_HULL; i++)
        for (j = CSIM_SHAPE_HALF_SPACE; j <= CSIM_SHAPE_HULL; j++)
            for (k = 0; k < 150; k++) {
                const csim_geometry a = random_geometry(i), b = random_geometry(j);
                const csim_pose pa = random_pose(3), pb = random_pose(1);
                const csim_vec3 w = csim_add(csim_scale(-2, pa.position), random_vec(1));
                const bool round = i == CSIM_SHAPE_CYLINDER || j == CSIM_SHAPE_CYLINDER;
                const double near = round ? rim : sharp;
                csimi_convex A, B;
                csimi_ray_hit hit;
                csim_vec3 on;
                int m;
                CASE("kinds %d %d number %d", i, j, k);
                csimi_convex_of(&A, &a, &hull, pa);
                if (!csimi_cast_at(&A, w, &b, &hull, pb, 1, &hit, &on)) {
                    if (j == CSIM_SHAPE_HALF_SPACE) {
                        const csim_vec3 up = csim_rotate(pb.rotation, csim_v3(0, 0, 1));
                        CHECK(-farthest(&a, pa, w, csim_scale(-1, up)) > (double)csim_dot(up, pb.position) - near);
                        continue;
                    }
                    csimi_convex_of(&B, &b, &hull, pb);
                    for (m = 0; m <= 40; m++) {
                        csim_vec3 n;
                        CHECK(csimi_convex_distance(&A, csim_scale((csim_real)m / 40, w), &B, &on, &n) > 0);
                    }
                    continue;
                }
                if (!(hit.fraction > 0)) continue;
                /* float: where it grazes, roundings move the place along the way by ten times as much */
                if (CSIM_REAL_SIZE == 4 && csim_dot(hit.normal, csim_normalize(w)) > CSIM_R(-0.2)) continue;
                hits++;
                /* they have a point in common then ... */
                NEAR(csim_shape_distance(&b, &hull, pb, on, NULL, NULL), 0, near);
                NEAR(csim_shape_distance(&a, &hull, pa, csim_madd(on, -hit.fraction, w), NULL, NULL), 0, near);
                /* ... and a plane between them, that a comes to: nothing was met before */
                CHECK(csim_dot(hit.normal, w) < 0);
                if (j == CSIM_SHAPE_HALF_SPACE) continue;
                NEAR(-farthest(&a, pa, csim_scale(hit.fraction, w), csim_scale(-1, hit.normal)) -
                         farthest(&b, pb, csim_v3(0, 0, 0), hit.normal), 0, round ? plane : TOL(1e-10, 2e-2));
            }
    CHECK(hits > 1200);
}

/* ---- triangles */

TEST(rays_pass_no_seam_between_triangles) {
    int k, i;
    for (k = 0; k < 3000; k++) { /* a fan around a corner; aimed at the corner or at points of its spokes */
        csim_vec3 corner[7], aim, o = csim_add(random_vec(1), csim_v3(0, 0, 5)), tri[3];
        csim_real t, weight[3];
        int met = 0;
        CASE("number %d", k);
        for (i = 0; i < 6; i++)
            corner[i] = csim_add(csim_v3(CSIMI_COS((csim_real)i), CSIMI_SIN((csim_real)i), 0), random_vec(0.1));
        corner[6] = random_vec(0.1);
        aim = csim_madd(corner[6], (csim_real)(k % 3) / 4, csim_sub(corner[k % 6], corner[6]));
        for (i = 0; i < 6; i++) {
            tri[0] = corner[6];
            tri[1] = corner[i];
            tri[2] = corner[(i + 1) % 6];
            met += csimi_ray_triangle(tri, o, csim_scale(2, csim_sub(aim, o)), true, 1, &t, weight);
        }
        CHECK(met >= 1);
    }
}
