/* Nothing passes through: things of every kind shot at thin walls, spinning,
   judged by where their centres and nodes are, which the library is not asked
   for more than. CONDSIM_SHOTS=2000 is the full form, a kind at a target. */
#include "check.h"
#include "../amalgamate/parts/step/path.c"

enum { CAPSULE, ROD, PLATE, BOX, HULL, DUMBBELL, PARTICLE, LINKS, HINGED, CABLE, CLOTH, SOFT, KINDS };
enum { STATIC_WALL, MOVING_WALL, TURNING_WALL, HEAVY_WALL, LEVEL_WALL, TARGETS }; /* the last lies in bed: bed.c */
static const char *const kind_name[KINDS] = {"capsule",  "rod",   "plate",  "box",   "hull",  "dumbbell",
                                             "particle", "links", "hinged", "cable", "cloth", "soft"};
static const char *const target_name[TARGETS] = {"static", "moving", "turning", "heavy", "level's"};

typedef struct shot {
    double speed, spin, wall, h;
    csim_vec3 at, velocity, turn;
    csim_quat rotation;
} shot;

static csim_vec3 random_direction(void) {
    for (;;) {
        const csim_vec3 v =
            csim_v3((csim_real)check_random(-1, 1), (csim_real)check_random(-1, 1), (csim_real)check_random(-1, 1));
        const csim_real n = csim_length(v);
        if (n > CSIM_R(0.05) && n < 1) return csim_scale(1 / n, v);
    }
}

static shot random_shot(void) {
    static const double hs[4] = {1.0 / 30, 1.0 / 60, 1.0 / 120, 1.0 / 240};
    shot s;
    csim_vec3 d = random_direction();
    s.speed = 2 * exp(check_random(0, log(50)));
    s.spin = check_random(0, 1) < 0.3 ? 0 : check_random(0, 200);
    s.wall = check_random(0.005, 0.02);
    s.h = hs[(int)check_random(0, 3.999)];
    d.z = -1 - csimi_abs(d.z);
    s.velocity = csim_scale((csim_real)s.speed, csim_normalize(d));
    s.turn = csim_scale((csim_real)s.spin, random_direction());
    s.at = csim_v3(0, 0, (csim_real)check_random(0.25, 0.25 + s.speed * s.h));
    s.rotation = csim_quat_axis_angle(random_direction(), (csim_real)check_random(0, 3.1));
    return s;
}

static csim_body_id add_shape(csim_world *w, const csim_shape *shapes, int count, const shot *s, csim_vec3 off) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id;
    memset(&id, 0, sizeof id);
    d.shapes = shapes;
    d.shape_count = count;
    d.pose.position = csim_add(s->at, csim_rotate(s->rotation, off));
    d.pose.rotation = s->rotation;
    d.velocity = csim_add(s->velocity, csim_cross(s->turn, csim_rotate(s->rotation, off)));
    d.angular_velocity = s->turn;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

static void add_cube(csim_world *w, const shot *s, bool cloth) {
    static const csim_real x[24] = {0, 0,           0,           CSIM_R(0.1), 0,           0,
                                    0, CSIM_R(0.1), 0,           CSIM_R(0.1), CSIM_R(0.1), 0,
                                    0, 0,           CSIM_R(0.1), CSIM_R(0.1), 0,           CSIM_R(0.1),
                                    0, CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)};
    static const int tets[24] = {0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7};
    csim_real sheet[48];
    int tri[54], i, j, k = 0;
    csim_body_id id;
    csim_pose pose = csim_pose_identity();
    pose.position = s->at;
    pose.rotation = s->rotation;
    if (cloth) {
        csim_cloth_def d = csim_default_cloth_def();
        for (i = 0; i < 16; i++)
            sheet[3 * i] = CSIM_R(0.05) * (csim_real)(i % 4), sheet[3 * i + 1] = CSIM_R(0.05) * (csim_real)(i / 4),
                      sheet[3 * i + 2] = 0;
        for (j = 0; j < 3; j++)
            for (i = 0; i < 3; i++) {
                const int a = 4 * j + i;
                tri[k++] = a, tri[k++] = a + 1, tri[k++] = a + 4;
                tri[k++] = a + 1, tri[k++] = a + 5, tri[k++] = a + 4;
            }
        d.vertices = sheet;
        d.vertex_count = 16;
        d.triangles = tri;
        d.triangle_count = 18;
        d.pose = pose;
        d.velocity = s->velocity;
        STATUS(csim_create_cloth(w, &d, &id), CSIM_OK);
    } else {
        csim_soft_def d = csim_default_soft_def();
        d.vertices = x;
        d.vertex_count = 8;
        d.tets = tets;
        d.tet_count = 6;
        d.pose = pose;
        d.velocity = s->velocity;
        STATUS(csim_create_soft(w, &d, &id), CSIM_OK);
    }
    (void)csim_body_set_velocity(w, id, s->velocity, s->turn);
}

static void add_links(csim_world *w, const shot *s) {
    csim_tree_def d = csim_default_tree_def();
    csim_tree_link_def l[3];
    csim_shape shape = csim_capsule(CSIM_R(0.02), CSIM_R(0.06));
    csim_body_id id;
    int i;
    for (i = 0; i < 3; i++) {
        l[i] = csim_default_tree_link_def();
        l[i].parent = i - 1;
        l[i].joint = i ? CSIM_TREE_REVOLUTE : CSIM_TREE_FLOATING;
        l[i].axis = csim_v3(1, 0, 0);
        if (i) l[i].frame.position = csim_v3(0, 0, CSIM_R(0.17));
        l[i].shapes = &shape;
        l[i].shape_count = 1;
    }
    d.links = l;
    d.link_count = 3;
    d.pose.position = csim_sub(s->at, csim_rotate(s->rotation, csim_v3(0, 0, CSIM_R(0.17)))); /* of its end */
    d.pose.rotation = s->rotation;
    d.velocity = csim_add(s->velocity, csim_cross(s->turn, csim_sub(d.pose.position, s->at)));
    d.angular_velocity = s->turn;
    d.no_self_contact = true;
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
}

static void add_thing(csim_world *w, int kind, const shot *s) {
    csim_shape shape[3];
    csim_vec3 p[6];
    csim_body_id a, b;
    int i;
    switch (kind) {
    case CAPSULE: shape[0] = csim_capsule(CSIM_R(0.02), CSIM_R(0.11)); break;
    case ROD: shape[0] = csim_cylinder(CSIM_R(0.01), CSIM_R(0.15)); break;
    case PLATE: shape[0] = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.005))); break;
    case BOX: shape[0] = csim_box(csim_v3(CSIM_R(0.05), CSIM_R(0.05), CSIM_R(0.05))); break;
    case HULL:
        for (i = 0; i < 6; i++)
            p[i] = csim_v3(i == 0   ? CSIM_R(0.15)
                           : i == 1 ? CSIM_R(-0.15)
                                    : 0,
                           i == 2   ? CSIM_R(0.03)
                           : i == 3 ? CSIM_R(-0.03)
                                    : 0,
                           i == 4   ? CSIM_R(0.03)
                           : i == 5 ? CSIM_R(-0.03)
                                    : 0);
        shape[0] = csim_hull(p, 6);
        break;
    case DUMBBELL:
        shape[0] = shape[1] = csim_sphere(CSIM_R(0.03));
        shape[0].local.position = csim_v3(0, 0, CSIM_R(0.12));
        shape[1].local.position = csim_v3(0, 0, CSIM_R(-0.12));
        add_shape(w, shape, 2, s, csim_v3(0, 0, 0));
        return;
    case PARTICLE: {
        csim_particle_def d = csim_default_particle_def();
        d.radius = CSIM_R(0.01);
        d.position = s->at;
        d.velocity = s->velocity;
        STATUS(csim_create_particle(w, &d, &a), CSIM_OK);
        return;
    }
    case LINKS: add_links(w, s); return;
    case HINGED: {
        csim_joint_def j = csim_default_joint_def();
        csim_link_id id;
        shape[0] = csim_capsule(CSIM_R(0.02), CSIM_R(0.06));
        a = add_shape(w, shape, 1, s, csim_v3(0, 0, 0));
        b = add_shape(w, shape, 1, s, csim_v3(0, 0, CSIM_R(0.17)));
        j.kind = CSIM_JOINT_HINGE;
        j.a.body = a;
        j.b.body = b;
        j.axis = csim_rotate(s->rotation, csim_v3(1, 0, 0));
        j.a.point = j.b.point = csim_add(s->at, csim_rotate(s->rotation, csim_v3(0, 0, CSIM_R(0.085))));
        STATUS(csim_create_joint(w, &j, &id), CSIM_OK);
        return;
    }
    case CABLE: {
        csim_cable_def d = csim_default_cable_def();
        d.start = s->at;
        d.end = csim_add(s->at, csim_rotate(s->rotation, csim_v3(0, 0, CSIM_R(0.2))));
        d.segments = 6;
        d.velocity = s->velocity;
        d.stiffness_damping = CSIM_R(0.01);
        STATUS(csim_create_cable(w, &d, &a), CSIM_OK);
        (void)csim_body_set_velocity(w, a, s->velocity, s->turn);
        return;
    }
    case CLOTH: add_cube(w, s, true); return;
    default: add_cube(w, s, false); return;
    }
    add_shape(w, shape, 1, s, csim_v3(0, 0, 0));
}

/* The wall: a plate across z at the origin. */
static csim_body_id add_wall(csim_world *w, int target, const shot *s) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape[CSIMI_LEVEL_SHAPES];
    csim_body_id id;
    int i;
    memset(&id, 0, sizeof id);
    shape[0] = csim_box(csim_v3(40, 40, (csim_real)s->wall / 2));
    for (i = 1; i < CSIMI_LEVEL_SHAPES; i++) { /* far below it */
        shape[i] = csim_sphere(1);
        shape[i].local.position = csim_v3(3 * (csim_real)i, 0, -500);
    }
    d.shapes = shape;
    d.shape_count = target == LEVEL_WALL ? CSIMI_LEVEL_SHAPES : 1;
    d.motion = target == STATIC_WALL || target == LEVEL_WALL ? CSIM_STATIC
               : target == HEAVY_WALL                        ? CSIM_DYNAMIC
                                                             : CSIM_KINEMATIC;
    if (target == MOVING_WALL) d.velocity = csim_v3(3, 0, 10);
    if (target == TURNING_WALL) d.angular_velocity = csim_v3(0, 1, 0);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

/* Heights over the wall's middle plane, in its axes, of all that flies: the
 * least. */
static double least_height(const csim_world *w, csim_body_id wall) {
    csim_body_id ids[4];
    csim_pose frame, p;
    csim_real x[3 * 32];
    double least = 1e9;
    int i, k, n = csim_world_bodies(w, ids, 4);
    (void)csim_body_get_pose(w, wall, &frame);
    for (i = 0; i < n; i++) {
        const int nodes = csim_body_node_count(w, ids[i]);
        csim_body_kind kind = CSIM_RIGID;
        if (ids[i].index1 == wall.index1) continue;
        (void)csim_body_get_kind(w, ids[i], &kind);
        if (kind == CSIM_BODY_TREE) {
            for (k = 0; k < 3; k++) {
                csim_tree_link_pose(w, ids[i], k, &p);
                least = fmin(least, (double)csim_pose_local(frame, p.position).z);
            }
        } else if (nodes > 0) {
            (void)csim_body_get_nodes(w, ids[i], x, 3);
            for (k = 0; k < nodes; k++) least = fmin(least, (double)csim_pose_local(frame, csimi_load3(x + 3 * k)).z);
        } else {
            (void)csim_body_get_pose(w, ids[i], &p);
            least = fmin(least, (double)csim_pose_local(frame, p.position).z);
        }
    }
    return least;
}

/* Whether it stays on its side of the wall's back. */
static bool stops(int kind, int target, const shot *s, bool fine) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id wall;
    bool held = true;
    int i;
    def.gravity = csim_v3(0, 0, 0);
    def.follow_paths = fine;
    if (csim_create_world(&def, &w, NULL) != CSIM_OK) return false;
    wall = add_wall(w, target, s);
    add_thing(w, kind, s);
    for (i = 0; i < 16 && held; i++) {
        STATUS(csim_world_step(w, (csim_real)s->h), CSIM_OK);
        held = least_height(w, wall) > -s->wall / 2;
    }
    csim_destroy_world(w);
    return held;
}

SLOW_TEST(nothing_passes_through) {
    const char *many = getenv("CONDSIM_SHOTS"), *only = getenv("CONDSIM_SHOT_KIND");
    const int shots = many ? atoi(many) : 12;
    int kind, target, i;
    for (kind = 0; kind < KINDS; kind++)
        for (target = 0; target < TARGETS; target++) {
            int through = 0;
            if (only && strcmp(only, kind_name[kind]) != 0) continue;
            CASE("%s at a %s wall", kind_name[kind], target_name[target]);
            check.random = 0x9e3779b97f4a7c15u + (uint64_t)(97 * kind + target);
            for (i = 0; i < 20; i++) (void)check_random(0, 1);
            for (i = 0; i < shots; i++) {
                const shot s = random_shot();
                const bool held = stops(kind, target, &s, false) && (i % 3 != 0 || stops(kind, target, &s, true));
                through += !held;
                if (!held && getenv("CONDSIM_SHOT_SAY"))
                    printf("  %s %s #%d: %.1f m/s, %.0f rad/s, %.1f mm, h 1/%.0f\n", kind_name[kind],
                           target_name[target], i, s.speed, s.spin, 1e3 * s.wall, 1 / s.h);
            }
            if (through || many)
                printf("    %s at a %s wall: %d of %d pass\n", kind_name[kind], target_name[target], through, shots);
            CHECK(through == 0);
        }
}

/* What a shot comes to in 16 steps: depths, looks, stops, and where it is. */
static void outcome_of(int kind, int target, const shot *s, double *figure) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id wall;
    int i;
    memset(figure, 0, 4 * sizeof *figure);
    def.gravity = csim_v3(0, 0, 0);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    wall = add_wall(w, target, s);
    add_thing(w, kind, s);
    for (i = 0; i < 16; i++) {
        csim_step_stats stats;
        STATUS(csim_world_step(w, (csim_real)s->h), CSIM_OK);
        stats = csim_world_stats(w);
        figure[0] += stats.penetration;
        figure[1] += stats.unseen;
        figure[2] += stats.stopped;
    }
    figure[3] = least_height(w, wall);
    csim_destroy_world(w);
}

/* A wall that lies in bed is met, looked at and reported as one that does not. */
TEST(a_wall_in_bed_is_the_wall_it_is) {
    double sum[4] = {0, 0, 0, 0};
    int kind, i, k;
    for (kind = 0; kind < KINDS; kind++)
        for (i = 0; i < 12; i++) {
            double up[4], still[4];
            shot s;
            check.random = 0x51ed270b7f4a7c15u + (uint64_t)(97 * kind + i);
            for (k = 0; k < 20; k++) (void)check_random(0, 1);
            s = random_shot();
            CASE("%s, shot %d", kind_name[kind], i);
            outcome_of(kind, STATIC_WALL, &s, up);
            outcome_of(kind, LEVEL_WALL, &s, still);
            for (k = 0; k < 4; k++) {
                /* to the bit; two bodies stand in another order */
                NEAR(still[k], up[k], kind == HINGED ? TOL(1e-6, 1e-3) : 0);
                sum[k] += up[k];
            }
        }
    printf("    %.3g m deep in all, %.0f unseen, %.0f stopped\n", sum[0], sum[1], sum[2]);
    CHECK(sum[0] > 0.01 && sum[1] > 3 && sum[2] > 30); /* the shots do it */
}

/* ---- how deep it gets, and whether the step says so */

/* The deepest of a shot at a wall over 16 steps: how deep an end of the axis of a capsule is in the wall, as it is and
   as it was reported; unseen: steps that said so. */
static double deepest_end(const shot *s, int target, bool follow, double *hidden, int *unseen) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id wall, id;
    csim_shape shape = csim_capsule(CSIM_R(0.02), CSIM_R(0.11));
    double most = 0;
    int i, k;
    def.gravity = csim_v3(0, 0, 0);
    def.follow_paths = follow;
    *hidden = 0;
    *unseen = 0;
    if (csim_create_world(&def, &w, NULL) != CSIM_OK) return -1;
    wall = add_wall(w, target, s);
    id = add_shape(w, &shape, 1, s, csim_v3(0, 0, 0));
    (void)wall;
    for (i = 0; i < 16; i++) {
        csim_step_stats stats;
        csim_pose p;
        double depth = 0;
        STATUS(csim_world_step(w, (csim_real)s->h), CSIM_OK);
        stats = csim_world_stats(w);
        (void)csim_body_get_pose(w, id, &p);
        for (k = -1; k <= 1; k += 2) {
            const double z = (double)csim_pose_point(p, csim_v3(0, 0, (csim_real)k * CSIM_R(0.11))).z;
            if (z > 0) depth = fmax(depth, s->wall / 2 + 0.02 - z); /* else the back is nearer */
        }
        most = fmax(most, depth);
        *hidden = fmax(*hidden, depth - stats.penetration);
        *unseen += stats.unseen;
    }
    csim_destroy_world(w);
    return most;
}

static bool boxes_meet(const csim_real *a, const csim_real *b) {
    int k;
    for (k = 0; k < 3; k++)
        if (a[k] > b[3 + k] || b[k] > a[3 + k]) return false;
    return true;
}

/* Who meets whom is found by groups of boxes: the same shapes in the same order as by comparing all with all, whichever
   axis they spread along, with boxes of all sizes among them, points and one without an end too. */
TEST(ways_that_meet_are_found_as_by_comparing_all) {
    enum { MANY = 120 };
    csim_world_def def = csim_default_world_def();
    csim_world *world;
    int axis, i, k, a, met = 0;
    STATUS(csim_create_world(&def, &world, NULL), CSIM_OK);
    for (i = 0; i < MANY; i++) {
        csim_rigid_def d = csim_default_rigid_def();
        csim_shape ball = csim_sphere(CSIM_R(0.1));
        csim_body_id id;
        d.shapes = &ball;
        d.shape_count = 1;
        d.pose.position = csim_v3((csim_real)i, 0, 0);
        STATUS(csim_create_rigid(world, &d, &id), CSIM_OK);
    }
    STATUS(csim_world_step(world, CSIM_R(0.01)), CSIM_OK); /* lists who is awake */
    for (axis = 0; axis < 3; axis++) {
        csimi_arena arena = csimi_arena_counting();
        csimi_paths p;
        void *memory;
        memset(&p, 0, sizeof p);
        p.w = world;
        csimi_paths_layout(&p, &world->store.capacity, &arena);
        memory = calloc(1, arena.used + 64);
        arena = csimi_arena_in(memory, arena.used + 64);
        csimi_paths_layout(&p, &world->store.capacity, &arena);
        p.awake = csimi_awake_shapes(world, p.list);
        CHECK(p.awake == MANY);
        for (i = 0; i < 3 * MANY; i++) {
            const double at = check_random(-1, 1) * (i % 3 == axis ? 20 : 2), size = i / 3 % 17 ? 1 : 15;
            p.box[6 * (i / 3) + i % 3] = i / 3 == 7 ? -CSIMI_HUGE : (csim_real)at;
            p.box[6 * (i / 3) + 3 + i % 3] =
                i / 3 == 7 ? CSIMI_HUGE : (csim_real)at + (i / 3 % 13 ? (csim_real)check_random(0, size) : 0);
        }
        csimi_crowd_gather(&p.crowd, p.awake, p.list, p.box);
        for (i = 0; i < MANY; i++) {
            const int count = csimi_path_meets(&p, a = (int)p.list[i]);
            int at = 0;
            for (k = 0; k < MANY; k++)
                if (boxes_meet(p.box + 6 * a, p.box + 6 * (int)p.list[k]))
                    CHECK(at < count && p.near[at++] == (int)p.list[k]);
            CHECK(at == count);
            met += count;
        }
        free(memory);
    }
    CHECK(met > 6 * MANY);
    csim_destroy_world(world);
}

TEST(what_a_step_drives_in_is_reported_and_paths_bound_it) {
    int i, k, seen = 0, deep = 0;
    for (i = 0; i < 100; i++) {
        const int target = i % 2 ? LEVEL_WALL : STATIC_WALL;
        double hidden, depth;
        shot s;
        int unseen;
        check.random = 555u + (uint64_t)i;
        for (k = 0; k < 20; k++) (void)check_random(0, 1);
        s = random_shot();
        s.wall = 0.05; /* that no end passes through */
        CASE("%.1f m/s, %.0f rad/s, h 1/%.0f, %s wall", s.speed, s.spin, 1 / s.h, target_name[target]);
        depth = deepest_end(&s, target, false, &hidden, &unseen);
        CHECK(hidden < TOL(1e-4, 2e-4));
        CHECK(depth < 3.1e-3 || unseen > 0); /* a slack a step goes unsaid */
        CHECK(depth < 0.75 * 0.02 + 2e-3);   /* 3/8 of the thickness, and a turn too small to be followed */
        deep += depth > 3.1e-3;
        seen += unseen > 0;
        depth = deepest_end(&s, target, true, &hidden, &unseen);
        CHECK(hidden < TOL(1e-4, 2e-4));
        CHECK(depth < 2.1e-3); /* a slack of the path and one of a turn too small to be followed */
        CHECK(unseen == 0);
    }
    CHECK(deep > 5 && seen >= deep); /* the shots do it */
}

/* Rods, plates and boxes shot past the four edges of a square wall, a centimetre from it: what becomes of them, whatever
   it is, is the same on all sides. */
TEST(a_wall_is_the_same_on_all_its_sides) {
    static const csim_real side[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    int kind, k, i;
    for (kind = ROD; kind <= BOX; kind++) {
        double first[4] = {0, 0, 0, 0};
        for (k = 0; k < 4; k++) {
            csim_world_def d = csim_default_world_def();
            csim_rigid_def r = csim_default_rigid_def();
            const csim_shape wall = csim_box(csim_v3(1, 1, CSIM_R(0.02)));
            const csim_shape thing = kind == ROD     ? csim_cylinder(CSIM_R(0.05), CSIM_R(0.05))
                                     : kind == PLATE ? csim_box(csim_v3(CSIM_R(0.05), CSIM_R(0.05), CSIM_R(0.005)))
                                                     : csim_box(csim_v3(CSIM_R(0.05), CSIM_R(0.05), CSIM_R(0.05)));
            csim_world *w = NULL;
            csim_body_id id;
            csim_pose pose;
            csim_vec3 v, turn;
            double now[4];
            CASE("%s, side %d", kind_name[kind], k);
            d.gravity = csim_v3(0, 0, 0);
            d.follow_paths = true;
            STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
            r.shapes = &wall;
            r.shape_count = 1;
            r.motion = CSIM_STATIC;
            STATUS(csim_create_rigid(w, &r, &id), CSIM_OK);
            r.shapes = &thing;
            r.motion = CSIM_DYNAMIC;
            r.pose.position = csim_v3(CSIM_R(1.06) * side[k][0], CSIM_R(1.06) * side[k][1], 1);
            r.velocity = csim_v3(0, 0, -50);
            STATUS(csim_create_rigid(w, &r, &id), CSIM_OK);
            for (i = 0; i < 4; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
            STATUS(csim_body_get_pose(w, id, &pose), CSIM_OK);
            STATUS(csim_body_get_velocity(w, id, &v, &turn), CSIM_OK);
            now[0] = (double)(pose.position.x * side[k][0] + pose.position.y * side[k][1]);
            now[1] = (double)pose.position.z;
            now[2] = (double)v.z;
            now[3] = (double)csim_length(turn) / 100;
            for (i = 0; i < 4; i++) {
                if (k == 0) first[i] = now[i];
                NEAR(now[i], first[i], TOL(2.5e-3, 5e-2)); /* 5e-5 of its speed */
            }
            csim_destroy_world(w);
        }
    }
}

/* ---- cables that turn by radians in a step: many in one world, without damping */

enum { CORDS = 50 };

static csim_body_id add_cord(csim_world *w, double young, csim_vec3 at, csim_vec3 velocity, csim_vec3 turn,
                             csim_quat rotation) {
    const csim_vec3 along = csim_rotate(rotation, csim_v3(CSIM_R(0.13), 0, 0));
    csim_cable_def d = csim_default_cable_def();
    csim_body_id id;
    memset(&id, 0, sizeof id);
    d.start = csim_sub(at, along);
    d.end = csim_add(at, along);
    d.segments = 12;
    d.young = (csim_real)young;
    STATUS(csim_create_cable(w, &d, &id), CSIM_OK);
    STATUS(csim_body_set_velocity(w, id, velocity, turn), CSIM_OK);
    return id;
}

static csim_world *world_with_a_wall(csim_real half) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def r = csim_default_rigid_def();
    const csim_shape wall = csim_box(csim_v3(40, 40, half));
    csim_world *w = NULL;
    csim_body_id id;
    def.gravity = csim_v3(0, 0, 0);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    r.shapes = &wall;
    r.shape_count = 1;
    r.motion = CSIM_STATIC;
    STATUS(csim_create_rigid(w, &r, &id), CSIM_OK);
    return w;
}

typedef struct cord_shot {
    double h, young, speed, spin;
    uint64_t seed; /* of twelve, those that find most mutations of step/curl.c and step/shorten.c */
} cord_shot;

/* CORDS cables against a wall: none passes it, no step gains; the steps that missed. */
static int shoot_cords(const cord_shot *shot) {
    csim_world *w = world_with_a_wall(CSIM_R(0.0025));
    csim_body_id cord[CORDS];
    double last, begin;
    csim_totals t;
    int i, k, n, behind = 0, missed = 0;
    check.random = shot->seed;
    for (k = 0; k < 20; k++) (void)check_random(0, 1);
    for (i = 0; i < CORDS; i++) {
        const csim_vec3 at = csim_v3((csim_real)(4 * (i % 10) - 18), (csim_real)(4 * (i / 10) - 8),
                                     (csim_real)check_random(0.3, 0.3 + shot->speed * shot->h));
        const csim_vec3 turn = csim_scale((csim_real)shot->spin, csim_normalize(random_direction()));
        cord[i] = add_cord(w, shot->young, at, csim_v3(0, 0, -(csim_real)shot->speed), turn,
                           csim_quat_axis_angle(csim_normalize(random_direction()), (csim_real)check_random(0, 3)));
    }
    t = csim_world_totals(w);
    begin = last = t.kinetic + t.elastic;
    for (k = 0; k < (int)(0.4 / shot->h); k++) {
        STATUS(csim_world_step(w, (csim_real)shot->h), CSIM_OK);
        missed += csim_world_stats(w).result > CSIM_RESULT_UNCHECKED;
        t = csim_world_totals(w);
        /* what is certified may gain by turns of half a radian that its forces do not know */
        CHECK(t.kinetic + t.elastic <= last + 1e-3 * begin);
        last = t.kinetic + t.elastic;
        for (i = 0; i < CORDS; i++) {
            csim_real x[3 * 13];
            STATUS(csim_body_get_nodes(w, cord[i], x, 3), CSIM_OK);
            for (n = 0; n < 13; n++) behind += !(x[3 * n + 2] >= CSIM_R(-0.0025));
        }
    }
    EQUAL(behind, 0);
    CHECK(last < 0.1 * begin); /* at rest on their walls, but for what slides */
    csim_destroy_world(w);
    return missed;
}

/* Newton's method was left where one cable of the world missed, and after thirty solves without saying so: forces of
   where the cables were drove them from 38 J to 1e12, and over the wall. */
SLOW_IN_FLOAT(cables_of_one_world_pass_nothing_and_gain_nothing) {
    static const cord_shot shots[3] = {
        {1.0 / 30, 1e6, 60, 200, 11}, {1.0 / 60, 1e6, 60, 200, 13}, {1.0 / 60, 1e6, 60, 200, 5}};
    int i, missed = 0;
    for (i = 0; i < 3; i++) {
        CASE("h 1/%.0f", 1 / shots[i].h);
        missed += shoot_cords(shots + i);
    }
    printf("    %d steps missed\n", missed);
    CHECK(missed <= (int)TOL(9, 30)); /* of 60; without the line search 15, float 19 with it */
}

/* Nodes of stiff cables were held at the wall after a step that missed, and strained by it: 211 J became 450. */
SLOW_IN_FLOAT(stiff_cables_are_not_strained_by_what_holds_them) {
    static const cord_shot shots[2] = {{1.0 / 30, 1e7, 20, 60, 3}, {1.0 / 60, 1e7, 20, 60, 5}};
    int i;
    for (i = 0; i < 2; i++) {
        CASE("h 1/%.0f", 1 / shots[i].h);
        (void)shoot_cords(shots + i);
    }
}

/* What becomes of a cable that turns by more than half a radian a step does not hang on whether others, far from it,
   miss. It is soft, so that float solves it. */
TEST(a_cable_that_misses_leaves_others_alone) {
    csim_real x[2][3 * 13];
    int both, i, missed = 0;
    for (both = 0; both < 2; both++) {
        csim_world *w = world_with_a_wall(CSIM_R(0.0025));
        const csim_quat q = csim_quat_axis_angle(csim_v3(0, 1, 0), CSIM_R(0.6));
        const csim_body_id id =
            add_cord(w, 1e4, csim_v3(20, 0, 5), csim_v3(0, 0, 0), csim_v3(0, CSIM_R(18.0), 0), q);
        for (i = 0; i < 10 && both; i++) {
            check.random = 4711u + (uint64_t)i;
            add_cord(w, 1e6, csim_v3((csim_real)(i % 5), (csim_real)(i / 5), CSIM_R(0.4)), csim_v3(0, 0, -60),
                     csim_scale(200, csim_normalize(random_direction())),
                     csim_quat_axis_angle(csim_normalize(random_direction()), CSIM_R(1.3)));
        }
        for (i = 0; i < 2; i++) {
            STATUS(csim_world_step(w, CSIM_R(1.0 / 30)), CSIM_OK);
            missed += csim_world_stats(w).result > CSIM_RESULT_UNCHECKED;
        }
        CASE("alone");
        if (!both) EQUAL(missed, 0);
        STATUS(csim_body_get_nodes(w, id, x[both], 3), CSIM_OK);
        csim_destroy_world(w);
    }
    CASE("beside %d steps that missed", missed);
    CHECK(missed > 0);
    for (i = 0; i < 3 * 13; i++) CHECK(x[0][i] == x[1][i]);
}

/* Nor where others are: the energy of a ball below the origin is below 0 and that of one above it is not. */
TEST(a_cable_that_misses_does_not_know_where_the_origin_is) {
    static csim_real x[2][10][3 * 13];
    int below, i, k, missed = 0;
    for (below = 0; below < 2; below++) {
        csim_world *w = world_with_a_wall(CSIM_R(0.0025));
        csim_particle_def p = csim_default_particle_def();
        csim_body_id cord[10], ball;
        STATUS(csim_world_set_gravity(w, csim_v3(0, 0, CSIM_R(-0.01))), CSIM_OK);
        p.position = csim_v3(1000, 0, below ? -100000 : 100000);
        p.mass = CSIM_R(1e6); /* 1e9 J */
        STATUS(csim_create_particle(w, &p, &ball), CSIM_OK);
        check.random = (uint64_t)TOL(11, 13); /* one of these misses, and is shortened */
        for (i = 0; i < 10; i++) {
            const csim_quat q = csim_quat_axis_angle(csim_normalize(random_direction()), CSIM_R(1.3));
            const csim_vec3 turn = csim_scale(200, csim_normalize(random_direction()));
            cord[i] = add_cord(w, 1e6, csim_v3((csim_real)(4 * i), 0, CSIM_R(0.4)), csim_v3(0, 0, -60), turn, q);
        }
        for (k = 0; k < 6; k++) {
            STATUS(csim_world_step(w, CSIM_R(1.0 / 30)), CSIM_OK);
            missed += csim_world_stats(w).result > CSIM_RESULT_UNCHECKED;
        }
        for (i = 0; i < 10; i++) STATUS(csim_body_get_nodes(w, cord[i], x[below][i], 3), CSIM_OK);
        csim_destroy_world(w);
    }
    CASE("%d steps missed", missed);
    CHECK(missed > 0);
    for (i = 0; i < 10; i++)
        for (k = 0; k < 3 * 13; k++) NEAR(x[1][i][k], x[0][i][k], 1e-9);
}

/* ---- trees that turn by a radian in a step: what makes shots of links end, not explode */

static csim_totals tree_run(csim_world *w, double h, int steps, double *most) {
    csim_totals t;
    int i;
    *most = 0;
    for (i = 0; i < steps; i++) {
        STATUS(csim_world_step(w, (csim_real)h), CSIM_OK);
        t = csim_world_totals(w);
        *most = fmax(*most, t.kinetic);
    }
    return csim_world_totals(w);
}

/* Bias forces of the start of a step took 84 J to 665 J in four such steps, and the rates to infinity. */
TEST(free_trees_that_turn_far_keep_momentum_and_gain_no_energy) {
    int i, k;
    for (i = 0; i < 200; i++) {
        csim_world_def def = csim_default_world_def();
        csim_world *w = NULL;
        csim_totals begin, end;
        double most;
        shot s;
        check.random = 77u + (uint64_t)i;
        for (k = 0; k < 20; k++) (void)check_random(0, 1);
        s = random_shot();
        def.gravity = csim_v3(0, 0, 0);
        REQUIRE(csim_create_world(&def, &w, NULL) == CSIM_OK);
        add_links(w, &s);
        begin = csim_world_totals(w);
        end = tree_run(w, s.h, 40, &most);
        CASE("%.1f m/s, %.0f rad/s, h 1/%.0f", s.speed, s.spin, 1 / s.h);
        if (s.spin * s.h > 0.5) { /* below 0.2 in a step nothing is done */
            CHECK(most <= begin.kinetic * (1 + TOL(1e-9, 1e-4)));
            CHECK(end.kinetic > 0.2 * begin.kinetic);
            for (k = 0; k < 3; k++) /* float: 40 steps of rounding */
                NEAR(end.momentum[k], begin.momentum[k], TOL(1e-10, 1e-3) * (1 + s.speed) * begin.mass);
        }
        csim_destroy_world(w);
    }
}

/* Gravity is the one force: kinetic and potential energy together gain nothing, fixed to the world or not. */
TEST(a_fast_double_pendulum_gains_nothing) {
    csim_world_def def = csim_default_world_def();
    csim_tree_def d = csim_default_tree_def();
    csim_tree_link_def l[3];
    csim_shape shape = csim_capsule(CSIM_R(0.02), CSIM_R(0.06));
    csim_real rates[2] = {60, -90}, positions[2] = {1, 2};
    csim_world *w = NULL;
    csim_body_id id;
    csim_totals t;
    double begin;
    int i;
    shape.local.position = csim_v3(0, 0, CSIM_R(-0.1));
    REQUIRE(csim_create_world(&def, &w, NULL) == CSIM_OK);
    for (i = 0; i < 3; i++) {
        l[i] = csim_default_tree_link_def();
        l[i].parent = i - 1;
        l[i].joint = i ? CSIM_TREE_REVOLUTE : CSIM_TREE_FIXED;
        l[i].axis = csim_v3(1, 0, 0);
        if (i == 2) l[i].frame.position = csim_v3(0, 0, CSIM_R(-0.2));
        l[i].shapes = &shape;
        l[i].shape_count = 1;
    }
    d.links = l;
    d.link_count = 3;
    d.no_self_contact = true;
    STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    STATUS(csim_tree_set_state(w, id, positions, rates), CSIM_OK);
    t = csim_world_totals(w);
    begin = t.kinetic + t.gravity;
    for (i = 0; i < 600; i++) {
        STATUS(csim_world_step(w, CSIM_R(1.0 / 60)), CSIM_OK);
        t = csim_world_totals(w);
        /* a step's work of gravity is h u.g along its own rates, its height follows arcs: m g l (1 - cos) beside it */
        CHECK(t.kinetic + t.gravity < begin * 1.02);
    }
    csim_destroy_world(w);
}
