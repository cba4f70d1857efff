/* The world as a user meets it: definitions and their errors, memory, ids, capacity, snapshots, determinism. */
#include "check.h"

/* ---- helpers */

typedef struct ledger {                 /* an allocator that counts, and fails on demand */
    size_t live, bytes, calls, fail_at; /* fail_at: number of the call that fails, 0: none */
    bool forever, closed;               /* closed: every call is a failure and is noted */
    size_t while_closed;
} ledger;

static void *ledger_alloc(void *user, size_t size, size_t align) {
    ledger *l = (ledger *)user;
    void *p;
    l->calls++;
    if (l->closed) {
        l->while_closed++;
        return NULL;
    }
    if (l->fail_at && (l->calls == l->fail_at || (l->forever && l->calls > l->fail_at))) return NULL;
    p = malloc(size + align + sizeof(void *));
    if (!p) return NULL;
    l->live++;
    l->bytes += size;
    {
        uintptr_t at = ((uintptr_t)p + sizeof(void *) + align - 1) / align * align;
        memcpy((void *)(at - sizeof(void *)), &p, sizeof p);
        memset((void *)at, 0xA5, size); /* nobody may count on zeros */
        return (void *)at;
    }
}

static void ledger_free(void *user, void *block, size_t size) {
    ledger *l = (ledger *)user;
    void *p;
    if (!block) return;
    memcpy(&p, (unsigned char *)block - sizeof p, sizeof p);
    memset(block, 0x5A, size);
    free(p);
    l->live--;
    l->bytes -= size;
}

static csim_world_def ledger_world(ledger *l) {
    csim_world_def def = csim_default_world_def();
    memset(l, 0, sizeof *l);
    def.allocator.alloc = ledger_alloc;
    def.allocator.free = ledger_free;
    def.allocator.user = l;
    return def;
}

static const csim_real tet_vertices[12] = {0, 0, 0, CSIM_R(0.1), 0, 0, 0, CSIM_R(0.1), 0, 0, 0, CSIM_R(0.1)};
static const int tet_indices[4] = {0, 1, 2, 3};

static csim_soft_def one_tet(void) {
    csim_soft_def d = csim_default_soft_def();
    d.vertices = tet_vertices;
    d.vertex_count = 4;
    d.tets = tet_indices;
    d.tet_count = 1;
    return d;
}

/* A square of two triangles, bent about its diagonal. */
static csim_cloth_def one_fold(void) {
    static const csim_real vertices[12] = {0, 0,           0, CSIM_R(0.1), 0, 0, CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.01),
                                           0, CSIM_R(0.1), 0};
    static const int triangles[6] = {0, 1, 2, 0, 2, 3};
    csim_cloth_def d = csim_default_cloth_def();
    d.vertices = vertices;
    d.vertex_count = 4;
    d.triangles = triangles;
    d.triangle_count = 2;
    return d;
}

/* What is solved lies together in A: rows of fixed vertices are behind all others. */
TEST(rows_of_what_is_held_lie_behind_the_others) {
    static const int fixed[2] = {1, 2};
    csim_world_def def = csim_default_world_def();
    csim_cloth_def fold = one_fold();
    const csim_block_matrix *A;
    csim_body_id id;
    csim_world *w = NULL;
    int i, k, held, at = 0;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(csim_create_cloth(w, &fold, &id), CSIM_OK);
    fold.fixed = fixed, fold.fixed_count = 2;
    STATUS(csim_create_cloth(w, &fold, &id), CSIM_OK);
    STATUS(csim_create_cloth(w, &fold, &id), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    A = &w->store.A;
    EQUAL(A->n, 12);
    for (held = 0; held < 2; held++)
        for (i = 0; i < 12; i++) {
            if ((i >= 4 && (i % 4 == 1 || i % 4 == 2)) != held) continue;
            CASE("row %d", i);
            EQUAL(A->row[i], at);
            EQUAL(A->col[A->diag[i]], i);
            CHECK(A->end[i] - A->row[i] >= 3);
            for (k = A->row[i]; k + 1 < A->end[i]; k++) CHECK(A->col[k] < A->col[k + 1]);
            at = A->end[i];
        }
    EQUAL(A->row[12], at);
    csim_destroy_world(w);
}

/* Groups of a block of nx ny nz cells whose rest shape is turned and `scale` times as large; asked: of its definition.
 */
static int block_groups(csim_world *w, const int *cells, csim_vec3 half, csim_real scale, int asked) {
    const csim_pose turn = {{0, 0, 0}, csim_quat_axis_angle(csim_v3(CSIM_R(0.3), CSIM_R(-0.7), CSIM_R(0.2)), 1)};
    int i, before = csim_world_used(w).aggregates;
    csim_mesh mesh;
    csim_soft_def d;
    csim_body_id id;
    STATUS(csim_mesh_make_box(half, cells[0], cells[1], cells[2], NULL, &mesh, NULL), CSIM_OK);
    for (i = 0; i < 3 * mesh.vertex_count; i += 3)
        csimi_store3(mesh.vertices + i, csim_pose_point(turn, csimi_load3(mesh.vertices + i)));
    d = csim_mesh_soft_def(&mesh);
    d.scale = scale;
    d.aggregates = asked;
    STATUS(csim_create_soft(w, &d, &id), CSIM_OK);
    csim_mesh_free(&mesh);
    return csim_world_used(w).aggregates - before;
}

/* n^(2/3) / 6 groups of n nodes, nearly twice as many where they lie in a sheet, whichever way it is turned. */
TEST(thin_solids_have_more_groups) {
    static const int cube[3] = {8, 8, 8}, beam[3] = {3, 3, 40}, sheet[3] = {20, 20, 1}, slab[3] = {12, 12, 3};
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    unsigned char *raw;
    size_t bytes;
    int i;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    for (i = 0; i < 2; i++) {
        const csim_real size = i ? CSIM_R(0.01) : 1;
        CASE("scale %g", (double)size);
        EQUAL(block_groups(w, cube, csim_v3(1, 1, 1), size, 0), 13);                     /* 81 / 6 */
        EQUAL(block_groups(w, beam, csim_v3(CSIM_R(0.1), CSIM_R(0.1), 1), size, 0), 12); /* 75.5 / 6 */
        EQUAL(block_groups(w, sheet, csim_v3(1, 1, CSIM_R(0.05)), size, 0), 29);         /* 92 / 6 (1.92) */
        EQUAL(block_groups(w, slab, csim_v3(1, 1, CSIM_R(0.6)), size, 0), 16);           /* 77 / 6 (1.28) */
        EQUAL(block_groups(w, sheet, csim_v3(1, 1, CSIM_R(0.05)), size, 7), 7);
    }
    csim_destroy_world(w);
    def.capacity.bodies = 1, def.capacity.nodes = 882, def.capacity.tets = 2400; /* a sheet has room with the rest */
    STATUS(csim_world_bytes(&def, &bytes, NULL), CSIM_OK);
    raw = (unsigned char *)malloc(bytes + 64);
    STATUS(csim_create_world_in(&def, raw + 64 - (uintptr_t)raw % 64, bytes, &w, NULL), CSIM_OK);
    EQUAL(block_groups(w, sheet, csim_v3(1, 1, CSIM_R(0.05)), 1, 0), 29);
    csim_destroy_world(w);
    free(raw);
}

static csim_status add_box(csim_world *w, csim_real x, csim_real y, csim_real z, csim_real half, csim_body_id *id) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(half, half, half));
    d.pose.position = csim_v3(x, y, z);
    d.shapes = &box;
    d.shape_count = 1;
    return csim_create_rigid(w, &d, id);
}

/* Ground, a stack of two boxes, a sphere, a soft tet, a piece of cloth, a particle on a spring, a pinned box. */
static csim_status build_zoo(csim_world *w, csim_body_id *ids, int *count) {
    csim_rigid_def sphere = csim_default_rigid_def();
    csim_shape ball = csim_sphere(CSIM_R(0.05));
    csim_particle_def p = csim_default_particle_def();
    csim_spring_def spring = csim_default_spring_def();
    csim_pin_def pin = csim_default_pin_def();
    csim_soft_def soft = one_tet();
    csim_cloth_def cloth = one_fold();
    csim_link_id link;
    csim_status s;
    int n = 0;
    if ((s = csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), ids + n++)) != 0) return s;
    if ((s = add_box(w, 0, 0, CSIM_R(0.1), CSIM_R(0.1), ids + n++)) != 0) return s;
    if ((s = add_box(w, CSIM_R(0.01), 0, CSIM_R(0.3), CSIM_R(0.1), ids + n++)) != 0) return s;
    sphere.shapes = &ball;
    sphere.shape_count = 1;
    sphere.pose.position = csim_v3(CSIM_R(0.5), 0, CSIM_R(0.06));
    sphere.velocity = csim_v3(1, 0, 0);
    if ((s = csim_create_rigid(w, &sphere, ids + n++)) != 0) return s;
    soft.pose.position = csim_v3(-1, 0, CSIM_R(0.02));
    if ((s = csim_create_soft(w, &soft, ids + n++)) != 0) return s;
    cloth.pose.position = csim_v3(-2, 0, CSIM_R(0.02));
    if ((s = csim_create_cloth(w, &cloth, ids + n++)) != 0) return s;
    p.position = csim_v3(0, 1, 1);
    p.mass = CSIM_R(0.1);
    p.radius = CSIM_R(0.02);
    if ((s = csim_create_particle(w, &p, ids + n++)) != 0) return s;
    spring.a.body = ids[n - 1];
    spring.b.point = csim_v3(0, 1, CSIM_R(1.2));
    if ((s = csim_create_spring(w, &spring, &link)) != 0) return s;
    if ((s = add_box(w, 0, -1, 1, CSIM_R(0.05), ids + n++)) != 0) return s;
    pin.a.body = ids[n - 1];
    pin.a.point = pin.b.point = csim_v3(CSIM_R(0.05), -1, CSIM_R(1.05));
    if ((s = csim_create_pin(w, &pin, &link)) != 0) return s;
    *count = n;
    return CSIM_OK;
}

static uint64_t step_hash(csim_world *w, int steps) {
    int i;
    for (i = 0; i < steps; i++) {
        csim_status s = csim_world_step(w, CSIM_R(0.01));
        if (s) {
            printf("    step %d: %s (%s)\n", i, csim_last_error(w), csim_status_text(s));
            return 0;
        }
    }
    return csim_world_hash(w);
}

/* Bytes of the whole state, for comparisons to the bit. */
static unsigned char *saved(const csim_world *w, size_t *bytes) {
    unsigned char *p;
    csim_world_save(w, NULL, bytes);
    p = (unsigned char *)malloc(*bytes);
    csim_world_save(w, p, bytes);
    return p;
}

/* ---- motion without contact */

TEST(free_fall_is_exact) {
    csim_integrator integrator[2] = {CSIM_BACKWARD_EULER, CSIM_MIDPOINT};
    int k, i;
    for (k = 0; k < 2; k++) {
        csim_world_def def = csim_default_world_def();
        csim_world *w;
        csim_particle_def p = csim_default_particle_def();
        csim_body_id id;
        csim_pose pose;
        double h = 0.01, z = 0, v = 1;
        def.integrator = integrator[k];
        CASE("integrator %d", k);
        STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
        p.velocity = csim_v3(0, 0, 1);
        STATUS(csim_create_particle(w, &p, &id), CSIM_OK);
        for (i = 0; i < 100; i++) {
            double v1 = v - 9.81 * h;
            STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
            z += h * (k == 0 ? v1 : (v + v1) / 2);
            v = v1;
        }
        csim_body_get_pose(w, id, &pose);
        NEAR(pose.position.z, z, TOL(1e-12, 1e-4)); /* rounding of 100 additions of numbers of size 10 */
        csim_destroy_world(w);
    }
}

TEST(collisions_keep_momentum) {
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    csim_body_id id[6];
    csim_totals before, after;
    int i, k;
    def.gravity = csim_v3(0, 0, 0);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    for (i = 0; i < 6; i++) {
        STATUS(add_box(w, CSIM_R(0.25) * (csim_real)i, CSIM_R(0.03) * (csim_real)(i % 2),
                       CSIM_R(0.02) * (csim_real)(i % 3), CSIM_R(0.1), id + i),
               CSIM_OK);
        csim_body_set_velocity(w, id[i], csim_v3(1 - CSIM_R(0.4) * (csim_real)i, 0, 0),
                               csim_v3(0, CSIM_R(0.3), CSIM_R(0.1)));
    }
    before = csim_world_totals(w);
    for (i = 0; i < 100; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    after = csim_world_totals(w);
    CHECK(after.kinetic < before.kinetic); /* they did collide */
    for (k = 0; k < 3; k++) {
        /* momentum of 6 boxes of 8 kg at 1 m/s: rounding of 100 steps */
        NEAR(after.momentum[k], before.momentum[k], TOL(1e-11, 2e-3));
    }
    csim_destroy_world(w);
}

/* ---- definitions */

/* Hash of everything that a snapshot holds: equal when no bit of the world differs. */
static uint64_t whole(const csim_world *w) {
    size_t size, i;
    unsigned char *bytes = saved(w, &size);
    uint64_t h = 14695981039346656037ull;
    for (i = 0; i < size; i++) h = (h ^ bytes[i]) * 1099511628211ull;
    free(bytes);
    return h;
}

#define BAD(create, member, value, expected, word)                               \
    do {                                                                         \
        def = good;                                                              \
        def.member = value;                                                      \
        CASE("%s = %s", #member, #value);                                        \
        hash = whole(w);                                                         \
        STATUS(create(w, &def, &id), expected);                                  \
        CHECK(strstr(csim_last_error(w), word) != NULL);                         \
        CHECK(strstr(csim_last_error(w), "; allowed: ") != NULL);                \
        CHECK(whole(w) == hash && csim_world_body_count(w) == bodies);           \
        examined++;                                                              \
    } while (0)
#define BAD_REAL(create, member, low, high)                          \
    do {                                                             \
        BAD(create, member, not_a_number, CSIM_NOT_FINITE, #member); \
        BAD(create, member, infinite, CSIM_NOT_FINITE, #member);     \
        BAD(create, member, low, CSIM_OUT_OF_RANGE, #member);        \
        BAD(create, member, high, CSIM_OUT_OF_RANGE, #member);       \
    } while (0)
#define BAD_SURFACE(create)                                                          \
    do {                                                                             \
        BAD_REAL(create, surface.friction, CSIM_R(-0.1), CSIM_R(1e9));               \
        BAD_REAL(create, surface.friction2, CSIM_R(-2), CSIM_R(1e9));                \
        BAD_REAL(create, surface.friction_direction.x, CSIM_R(-1e12), CSIM_R(1e12)); \
        BAD_REAL(create, surface.friction_direction.y, CSIM_R(-1e12), CSIM_R(1e12)); \
        BAD_REAL(create, surface.friction_direction.z, CSIM_R(-1e12), CSIM_R(1e12)); \
        BAD_REAL(create, surface.restitution, CSIM_R(-0.1), CSIM_R(1.1));            \
        BAD_REAL(create, surface.thickness, CSIM_R(-0.1), CSIM_R(1e9));              \
        BAD(create, guard, 0, CSIM_DEF_NOT_INITIALISED, "guard");                    \
    } while (0)
#define BAD_VEC(create, member)                                  \
    do {                                                         \
        BAD_REAL(create, member.x, CSIM_R(-1e12), CSIM_R(1e12)); \
        BAD_REAL(create, member.y, CSIM_R(-1e12), CSIM_R(1e12)); \
        BAD_REAL(create, member.z, CSIM_R(-1e12), CSIM_R(1e12)); \
    } while (0)

static csim_real make_nan(void) {
    volatile csim_real zero = 0;
    return zero / zero;
}
/* What every walk through the fields of a definition begins and ends with. */
static csim_world *world_of_defaults(void) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    return w;
}
#define GOOD(create, least)                     \
    do {                                        \
        CHECK(examined > least);                \
        CASE("good");                           \
        STATUS(create(w, &good, &id), CSIM_OK); \
        csim_destroy_world(w);                  \
    } while (0)

static csim_real make_infinity(void) {
    volatile csim_real zero = 0;
    return 1 / zero;
}

TEST(every_field_of_a_particle_is_checked) {
    csim_world *w = world_of_defaults();
    csim_particle_def good = csim_default_particle_def(), def;
    csim_body_id id;
    csim_real not_a_number = make_nan(), infinite = make_infinity();
    uint64_t hash;
    int examined = 0, bodies = 0;
    BAD_VEC(csim_create_particle, position);
    BAD_VEC(csim_create_particle, velocity);
    BAD_REAL(csim_create_particle, mass, 0, CSIM_R(1e20));
    BAD(csim_create_particle, mass, CSIMI_TINY / 8, CSIM_OUT_OF_RANGE, "mass"); /* above 0, but 1 / m^2 is not finite */
    BAD_REAL(csim_create_particle, radius, -1, CSIM_R(1e20));
    BAD_REAL(csim_create_particle, damping, -1, CSIM_R(1e20));
    BAD(csim_create_particle, motion, (csim_motion)7, CSIM_OUT_OF_RANGE, "motion");
    BAD_SURFACE(csim_create_particle);
    GOOD(csim_create_particle, 60);
}

TEST(every_field_of_a_rigid_body_is_checked) {
    csim_world *w = world_of_defaults();
    csim_rigid_def good = csim_default_rigid_def(), def;
    csim_shape shape = csim_box(csim_v3(1, 1, 1)), bad_shape = csim_box(csim_v3(1, 0, 1));
    csim_shape thin = csim_box(csim_v3(CSIM_R(1e-3), CSIM_R(1e-3), CSIM_R(1e-3)));
    csim_body_id id;
    csim_real not_a_number = make_nan(), infinite = make_infinity();
    uint64_t hash;
    int examined = 0, bodies = 0, i;
    good.shapes = &shape;
    good.shape_count = 1;
    BAD_VEC(csim_create_rigid, pose.position);
    BAD_REAL(csim_create_rigid, pose.rotation.w, CSIM_R(-3), 3);
    BAD_REAL(csim_create_rigid, pose.rotation.x, CSIM_R(-3), 3);
    BAD_REAL(csim_create_rigid, pose.rotation.y, CSIM_R(-3), 3);
    BAD_REAL(csim_create_rigid, pose.rotation.z, CSIM_R(-3), 3);
    BAD(csim_create_rigid, pose.rotation.w, CSIM_R(0.5), CSIM_OUT_OF_RANGE, "unit quaternion");
    BAD_VEC(csim_create_rigid, velocity);
    BAD_VEC(csim_create_rigid, angular_velocity);
    BAD_REAL(csim_create_rigid, density, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_rigid, mass, -1, CSIM_R(1e20));
    BAD(csim_create_rigid, mass, CSIMI_TINY / 8, CSIM_OUT_OF_RANGE, "mass");
    BAD(csim_create_rigid, density, CSIMI_TINY / 64, CSIM_OUT_OF_RANGE, "mass");
    BAD_VEC(csim_create_rigid, centre);
    BAD_REAL(csim_create_rigid, linear_damping, -1, CSIM_R(1e20));
    BAD_REAL(csim_create_rigid, angular_damping, -1, CSIM_R(1e20));
    BAD(csim_create_rigid, inertia.m[1], 1, CSIM_OUT_OF_RANGE, "inertia");
    BAD(csim_create_rigid, inertia.m[0], -1, CSIM_OUT_OF_RANGE, "inertia");
    good.mass = CSIMI_TINY * 8;
    BAD(csim_create_rigid, shapes, &thin, CSIM_OUT_OF_RANGE, "inertia"); /* a mass, but its inertia vanishes */
    good.mass = 0;
    good.inertia.m[0] = good.inertia.m[4] = 1;
    BAD(csim_create_rigid, inertia.m[8], CSIMI_TINY / 8, CSIM_OUT_OF_RANGE, "inertia");
    good.inertia.m[0] = good.inertia.m[4] = 0;
    for (i = 0; i < 9; i++) {
        def = good;
        def.inertia.m[i] = not_a_number;
        STATUS(csim_create_rigid(w, &def, &id), CSIM_NOT_FINITE);
        examined++;
    }
    BAD(csim_create_rigid, motion, (csim_motion)3, CSIM_OUT_OF_RANGE, "motion");
    BAD(csim_create_rigid, shape_count, -1, CSIM_OUT_OF_RANGE, "shape_count");
    BAD(csim_create_rigid, shapes, NULL, CSIM_NULL_ARGUMENT, "shapes");
    BAD(csim_create_rigid, shapes, &bad_shape, CSIM_OUT_OF_RANGE, "half");
    BAD(csim_create_rigid, shape_count, 0, CSIM_OUT_OF_RANGE, "mass");
    BAD_SURFACE(csim_create_rigid);
    bad_shape = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1));
    BAD(csim_create_rigid, shapes, &bad_shape, CSIM_OUT_OF_RANGE, "half-space");
    def = good; /* static it needs no inertia, freed it would */
    def.motion = CSIM_STATIC;
    def.mass = CSIMI_TINY * 8;
    def.shapes = &thin;
    STATUS(csim_create_rigid(w, &def, &id), CSIM_OK);
    STATUS(csim_body_set_motion(w, id, CSIM_DYNAMIC), CSIM_OUT_OF_RANGE);
    GOOD(csim_create_rigid, 90);
}

TEST(every_field_of_a_solid_is_checked) {
    csim_world *w = world_of_defaults();
    csim_soft_def good = one_tet(), def;
    csim_body_id id;
    csim_real not_a_number = make_nan(), infinite = make_infinity(), broken[12], one_bad[1];
    int inverted[4] = {1, 0, 2, 3}, outside[4] = {0, 1, 2, 4}, flat[4] = {0, 1, 2, 2},
        twice[8] = {0, 1, 2, 3, 1, 2, 0, 3}, fixed[1] = {4};
    csim_real five[15];
    uint64_t hash;
    int examined = 0, bodies = 0;
    memcpy(broken, tet_vertices, sizeof broken);
    broken[5] = not_a_number;
    memcpy(five, tet_vertices, sizeof broken);
    five[12] = five[13] = five[14] = 1;
    BAD_VEC(csim_create_soft, pose.position);
    BAD_VEC(csim_create_soft, velocity);
    BAD_REAL(csim_create_soft, scale, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_soft, young, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_soft, poisson, CSIM_R(-1), CSIM_R(0.5));
    BAD_REAL(csim_create_soft, density, CSIM_R(-1000), CSIM_R(1e20));
    BAD(csim_create_soft, density, CSIMI_TINY / 8, CSIM_OUT_OF_RANGE, "density: a quarter of the mass");
    BAD_REAL(csim_create_soft, mass_damping, -1, CSIM_R(1e20));
    BAD_REAL(csim_create_soft, stiffness_damping, -1, CSIM_R(1e20));
    BAD(csim_create_soft, vertex_count, 0, CSIM_BAD_MESH, "vertex_count");
    BAD(csim_create_soft, tet_count, 0, CSIM_BAD_MESH, "tet_count");
    BAD(csim_create_soft, vertices, NULL, CSIM_NULL_ARGUMENT, "vertices");
    BAD(csim_create_soft, tets, NULL, CSIM_NULL_ARGUMENT, "tets");
    BAD(csim_create_soft, vertices, broken, CSIM_NOT_FINITE, "vertices");
    BAD(csim_create_soft, tets, inverted, CSIM_BAD_MESH, "inverted");
    BAD(csim_create_soft, tets, flat, CSIM_BAD_MESH, "flat");
    BAD(csim_create_soft, tets, outside, CSIM_BAD_MESH, "tets");
    BAD(csim_create_soft, aggregates, -1, CSIM_OUT_OF_RANGE, "aggregates");
    BAD(csim_create_soft, fixed_count, 1, CSIM_OUT_OF_RANGE, "fixed");
    BAD_SURFACE(csim_create_soft);
    good.tets = twice;
    BAD(csim_create_soft, tet_count, 2, CSIM_BAD_MESH, "duplicate");
    good = one_tet();
    good.vertices = five;
    BAD(csim_create_soft, vertex_count, 5, CSIM_BAD_MESH, "isolated");
    good = one_tet();
    good.fixed_count = 1;
    BAD(csim_create_soft, fixed, fixed, CSIM_OUT_OF_RANGE, "fixed");
    good = one_tet();
    one_bad[0] = 0;
    BAD(csim_create_soft, tet_young, one_bad, CSIM_OUT_OF_RANGE, "tet_young");
    BAD(csim_create_soft, tet_density, one_bad, CSIM_OUT_OF_RANGE, "tet_density");
    one_bad[0] = CSIMI_TINY / 8;
    BAD(csim_create_soft, tet_density, one_bad, CSIM_OUT_OF_RANGE, "tet_density: a quarter of the mass");
    one_bad[0] = CSIM_R(0.5);
    BAD(csim_create_soft, tet_poisson, one_bad, CSIM_OUT_OF_RANGE, "tet_poisson");
    GOOD(csim_create_soft, 90);
}

#define BAD_WORLD(member, value, expected, word)                  \
    do {                                                          \
        csim_world *none = NULL;                                  \
        csim_error error;                                         \
        size_t bytes;                                             \
        def = good;                                               \
        def.member = value;                                       \
        CASE("%s = %s", #member, #value);                         \
        STATUS(csim_create_world(&def, &none, &error), expected); \
        CHECK(strstr(error.text, word) != NULL);                  \
        STATUS(csim_world_bytes(&def, &bytes, &error), expected); \
        CHECK(none == NULL);                                      \
        examined++;                                               \
    } while (0)

TEST(every_field_of_cloth_is_checked) {
    csim_world *w = world_of_defaults();
    csim_cloth_def good = one_fold(), def;
    csim_body_id id;
    csim_real not_a_number = make_nan(), infinite = make_infinity(), broken[12], five[15];
    int outside[6] = {0, 1, 2, 0, 2, 4}, flat[6] = {0, 1, 2, 0, 2, 2}, flipped[6] = {0, 1, 2, 2, 0, 3}, fixed[1] = {4};
    uint64_t hash;
    int examined = 0, bodies = 0;
    memcpy(broken, good.vertices, sizeof broken);
    broken[5] = not_a_number;
    memcpy(five, good.vertices, sizeof broken);
    five[12] = five[13] = five[14] = 1;
    BAD_VEC(csim_create_cloth, pose.position);
    BAD_VEC(csim_create_cloth, velocity);
    BAD_REAL(csim_create_cloth, scale, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_cloth, young, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_cloth, poisson, CSIM_R(-1), CSIM_R(0.5));
    BAD_REAL(csim_create_cloth, thickness, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_cloth, density, CSIM_R(-1000), CSIM_R(1e20));
    BAD(csim_create_cloth, density, CSIMI_TINY, CSIM_OUT_OF_RANGE, "density: a third of the mass");
    BAD(csim_create_cloth, thickness, CSIMI_TINY / 1024, CSIM_OUT_OF_RANGE, "density: a third of the mass");
    BAD_REAL(csim_create_cloth, bending, CSIM_R(-1e20), CSIM_R(1e20));
    BAD_REAL(csim_create_cloth, mass_damping, -1, CSIM_R(1e20));
    BAD_REAL(csim_create_cloth, stiffness_damping, -1, CSIM_R(1e20));
    BAD(csim_create_cloth, material, CSIM_NEO_HOOKEAN, CSIM_OUT_OF_RANGE, "material");
    BAD(csim_create_cloth, vertex_count, 2, CSIM_BAD_MESH, "vertex_count");
    BAD(csim_create_cloth, triangle_count, 0, CSIM_BAD_MESH, "triangle_count");
    BAD(csim_create_cloth, vertices, NULL, CSIM_NULL_ARGUMENT, "vertices");
    BAD(csim_create_cloth, triangles, NULL, CSIM_NULL_ARGUMENT, "triangles");
    BAD(csim_create_cloth, vertices, broken, CSIM_NOT_FINITE, "vertices");
    BAD(csim_create_cloth, triangles, outside, CSIM_BAD_MESH, "triangles");
    BAD(csim_create_cloth, triangles, flat, CSIM_BAD_MESH, "flat");
    BAD(csim_create_cloth, triangles, flipped, CSIM_BAD_MESH, "flipped");
    BAD(csim_create_cloth, fixed_count, -1, CSIM_OUT_OF_RANGE, "fixed_count");
    BAD(csim_create_cloth, fixed_count, 1, CSIM_OUT_OF_RANGE, "fixed_count");
    good.fixed = fixed;
    BAD(csim_create_cloth, fixed_count, 1, CSIM_OUT_OF_RANGE, "fixed");
    good.fixed = NULL;
    good.vertices = five;
    BAD(csim_create_cloth, vertex_count, 5, CSIM_BAD_MESH, "isolated");
    good = one_fold();
    BAD(csim_create_cloth, aggregates, -1, CSIM_OUT_OF_RANGE, "aggregates");
    BAD_SURFACE(csim_create_cloth);
    GOOD(csim_create_cloth, 90);
}

TEST(every_field_of_a_world_is_checked) {
    csim_world_def good = csim_default_world_def(), def;
    csim_real not_a_number = make_nan();
    int examined = 0;
    BAD_WORLD(guard, 0, CSIM_DEF_NOT_INITIALISED, "guard");
    BAD_WORLD(gravity.x, not_a_number, CSIM_NOT_FINITE, "gravity.x");
    BAD_WORLD(gravity.y, CSIM_R(1e12), CSIM_OUT_OF_RANGE, "gravity.y");
    BAD_WORLD(gravity.z, not_a_number, CSIM_NOT_FINITE, "gravity.z");
    BAD_WORLD(integrator, (csim_integrator)9, CSIM_OUT_OF_RANGE, "integrator");
    BAD_WORLD(law, CSIM_LAW_BOX, CSIM_OUT_OF_RANGE, "law");
    BAD_WORLD(omega[0], 0, CSIM_OUT_OF_RANGE, "omega[0]");
    BAD_WORLD(omega[1], not_a_number, CSIM_NOT_FINITE, "omega[1]");
    BAD_WORLD(on_uncertified, (csim_uncertified)2, CSIM_OUT_OF_RANGE, "on_uncertified");
    BAD_WORLD(contact_distance, -1, CSIM_OUT_OF_RANGE, "contact_distance");
    BAD_WORLD(stabilization, CSIM_R(1.5), CSIM_OUT_OF_RANGE, "stabilization");
    BAD_WORLD(slop, -1, CSIM_OUT_OF_RANGE, "slop");
    BAD_WORLD(push_out_speed, -1, CSIM_OUT_OF_RANGE, "push_out_speed");
    BAD_WORLD(restitution_threshold, not_a_number, CSIM_NOT_FINITE, "restitution_threshold");
    BAD_WORLD(solver.tolerance, 0, CSIM_OUT_OF_RANGE, "solver.tolerance");
    BAD_WORLD(solver.tolerance, not_a_number, CSIM_NOT_FINITE, "solver.tolerance");
    BAD_WORLD(solver.max_iterations, 0, CSIM_OUT_OF_RANGE, "solver.max_iterations");
    BAD_WORLD(solver.window, 33, CSIM_OUT_OF_RANGE, "solver.window");
    BAD_WORLD(solver.spring.gain, 0, CSIM_OUT_OF_RANGE, "solver.spring.gain");
    BAD_WORLD(solver.spring.kappa, -1, CSIM_OUT_OF_RANGE, "solver.spring.kappa");
    BAD_WORLD(solver.sigma, -1, CSIM_OUT_OF_RANGE, "solver.sigma");
    BAD_WORLD(solver.solver, (csim_solver)99, CSIM_OUT_OF_RANGE, "solver.solver");
    BAD_WORLD(solver.cond.weight, (csim_weight)99, CSIM_OUT_OF_RANGE, "solver.cond.weight");
    BAD_WORLD(solver.cond.acceleration, (csim_acceleration)99, CSIM_OUT_OF_RANGE, "solver.cond.acceleration");
    BAD_WORLD(capacity.bodies, -1, CSIM_OUT_OF_RANGE, "capacity.bodies");
    BAD_WORLD(capacity.contacts, 100000000, CSIM_OUT_OF_RANGE, "capacity.contacts");
    BAD_WORLD(allocator.alloc, ledger_alloc, CSIM_NULL_ARGUMENT, "allocator");
    CHECK(examined >= 27);
}

TEST(links_and_ids_are_checked) {
    csim_world_def wd = csim_default_world_def();
    csim_world *w, *other;
    csim_body_id a, b, none, stranger;
    csim_spring_def good = csim_default_spring_def(), def;
    csim_link_id id;
    csim_pose pose;
    csim_real not_a_number = make_nan(), infinite = make_infinity();
    uint64_t hash;
    int examined = 0, bodies = 2;
    memset(&none, 0, sizeof none);
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    STATUS(csim_create_world(&wd, &other, NULL), CSIM_OK);
    STATUS(add_box(w, 0, 0, 0, 1, &a), CSIM_OK);
    STATUS(add_box(w, 3, 0, 0, 1, &b), CSIM_OK);
    STATUS(add_box(other, 0, 0, 0, 1, &stranger), CSIM_OK);
    good.a.body = a;
    good.b.body = b;
    BAD_REAL(csim_create_spring, rest_length, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_REAL(csim_create_spring, stiffness, -1, CSIM_R(1e20));
    BAD_REAL(csim_create_spring, damping, -1, CSIM_R(1e20));
    BAD_REAL(csim_create_spring, break_force, -1, CSIM_R(1e20));
    BAD(csim_create_spring, guard, 1, CSIM_DEF_NOT_INITIALISED, "guard");
    BAD(csim_create_spring, a.point.x, not_a_number, CSIM_NOT_FINITE, "point");
    BAD(csim_create_spring, a.body, stranger, CSIM_WRONG_WORLD, "world");
    BAD(csim_create_spring, b.body, a, CSIM_OUT_OF_RANGE, "b");
    CASE("ids");
    STATUS(csim_body_get_pose(w, stranger, &pose), CSIM_WRONG_WORLD);
    STATUS(csim_body_get_pose(w, none, &pose), CSIM_STALE_ID);
    STATUS(csim_create_spring(w, &good, &id), CSIM_OK);
    CHECK(csim_link_valid(w, id));
    STATUS(csim_destroy_body(w, a), CSIM_OK);
    CHECK(!csim_link_valid(w, id) && !csim_body_valid(w, a) && csim_body_valid(w, b));
    STATUS(csim_destroy_body(w, a), CSIM_STALE_ID);
    STATUS(csim_body_set_velocity(w, a, csim_v3(0, 0, 0), csim_v3(0, 0, 0)), CSIM_STALE_ID);
    STATUS(csim_destroy_link(w, id), CSIM_STALE_ID);
    STATUS(add_box(w, 0, 0, 0, 1, &a), CSIM_OK); /* the slot is used again under another generation */
    STATUS(csim_world_step(w, 0), CSIM_OUT_OF_RANGE);
    STATUS(csim_world_step(w, not_a_number), CSIM_NOT_FINITE);
    STATUS(csim_world_step(w, 2), CSIM_OUT_OF_RANGE);
    csim_destroy_world(w);
    csim_destroy_world(other);
}

/* ---- definitions of trees, cables, joints, clamps, pins, activations */

/* The same for a field of link k of a tree. */
#define BAD_LINK(k, member, value, expected, word)                                \
    do {                                                                          \
        memcpy(link, links, sizeof link);                                         \
        link[k].member = value;                                                   \
        sprintf(named, "link %d: %s", k, word);                                   \
        good.links = link;                                                        \
        BAD(csim_create_tree, links, link, expected, named);                      \
    } while (0)
#define BAD_LINK_REAL(member, low, high)                                          \
    do {                                                                          \
        BAD_LINK(1, member, not_a_number, CSIM_NOT_FINITE, #member);              \
        BAD_LINK(2, member, infinite, CSIM_NOT_FINITE, #member);                  \
        BAD_LINK(1, member, low, CSIM_OUT_OF_RANGE, #member);                     \
        BAD_LINK(2, member, high, CSIM_OUT_OF_RANGE, #member);                    \
    } while (0)

TEST(every_field_of_a_tree_is_checked) {
    csim_world *w = world_of_defaults();
    csim_tree_link_def links[3], link[3];
    csim_tree_def good = csim_default_tree_def(), def;
    csim_shape ball = csim_sphere(CSIM_R(0.1)), plane = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1));
    csim_body_id id;
    csim_real not_a_number = make_nan(), infinite = make_infinity();
    char named[64];
    uint64_t hash;
    int examined = 0, bodies = 1, i;
    STATUS(add_box(w, 0, 0, 0, 1, &id), CSIM_OK);
    for (i = 0; i < 3; i++) {
        links[i] = csim_default_tree_link_def();
        links[i].parent = i - 1;
        links[i].joint = i ? CSIM_TREE_REVOLUTE : CSIM_TREE_FLOATING;
        links[i].shapes = &ball;
        links[i].shape_count = 1;
    }
    good.links = links;
    good.link_count = 3;
    BAD(csim_create_tree, links, NULL, CSIM_NULL_ARGUMENT, "links");
    BAD(csim_create_tree, link_count, 0, CSIM_OUT_OF_RANGE, "link_count");
    BAD(csim_create_tree, link_count, -1, CSIM_OUT_OF_RANGE, "link_count");
    BAD(csim_create_tree, link_count, 1001, CSIM_OUT_OF_RANGE, "link_count");
    BAD_VEC(csim_create_tree, pose.position);
    BAD_REAL(csim_create_tree, pose.rotation.w, CSIM_R(-3), 3);
    BAD_REAL(csim_create_tree, pose.rotation.x, CSIM_R(-3), 3);
    BAD_REAL(csim_create_tree, pose.rotation.y, CSIM_R(-3), 3);
    BAD_REAL(csim_create_tree, pose.rotation.z, CSIM_R(-3), 3);
    BAD_VEC(csim_create_tree, velocity);
    BAD_VEC(csim_create_tree, angular_velocity);
    BAD(csim_create_tree, motion, (csim_motion)7, CSIM_OUT_OF_RANGE, "motion");
    BAD_SURFACE(csim_create_tree);
    BAD_LINK(0, parent, 1, CSIM_OUT_OF_RANGE, "parent"); /* a loop */
    BAD_LINK(1, parent, 1, CSIM_OUT_OF_RANGE, "parent");
    BAD_LINK(1, parent, 2, CSIM_OUT_OF_RANGE, "parent");
    BAD_LINK(1, parent, -2, CSIM_OUT_OF_RANGE, "parent");
    BAD_LINK(2, joint, CSIM_TREE_FLOATING, CSIM_OUT_OF_RANGE, "joint");
    BAD_LINK(2, joint, (csim_tree_joint)-1, CSIM_OUT_OF_RANGE, "joint");
    BAD_LINK_REAL(frame.position.x, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(frame.position.y, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(frame.position.z, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(frame.rotation.w, CSIM_R(-3), 3);
    BAD_LINK_REAL(frame.rotation.z, CSIM_R(-3), 3);
    BAD_LINK_REAL(axis.x, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(axis.y, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(axis.z, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK(1, axis.z, 0, CSIM_OUT_OF_RANGE, "axis");
    BAD_LINK_REAL(position, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(rotation.w, CSIM_R(-3), 3);
    BAD_LINK_REAL(rotation.y, CSIM_R(-3), 3);
    BAD_LINK_REAL(rate, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(density, 0, CSIM_R(1e20));
    BAD_LINK_REAL(mass, -1, CSIM_R(1e20));
    BAD_LINK(1, mass, CSIMI_TINY / 8, CSIM_OUT_OF_RANGE, "mass");
    BAD_LINK(1, inertia.m[0], not_a_number, CSIM_NOT_FINITE, "inertia");
    BAD_LINK(2, inertia.m[0], infinite, CSIM_NOT_FINITE, "inertia");
    BAD_LINK(1, inertia.m[0], -1, CSIM_OUT_OF_RANGE, "inertia");
    BAD_LINK(1, inertia.m[1], not_a_number, CSIM_NOT_FINITE, "inertia");
    BAD_LINK(2, inertia.m[1], infinite, CSIM_NOT_FINITE, "inertia");
    BAD_LINK(1, inertia.m[1], 1, CSIM_OUT_OF_RANGE, "inertia");
    BAD_LINK(1, inertia.m[8], not_a_number, CSIM_NOT_FINITE, "inertia");
    BAD_LINK(2, inertia.m[8], infinite, CSIM_NOT_FINITE, "inertia");
    BAD_LINK(1, inertia.m[8], -1, CSIM_OUT_OF_RANGE, "inertia");
    BAD_LINK_REAL(centre.x, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(centre.y, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(centre.z, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(lower, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(upper, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(damping, -1, CSIM_R(1e20));
    BAD_LINK_REAL(armature, -1, CSIM_R(1e20));
    BAD_LINK_REAL(friction, -1, CSIM_R(1e20));
    BAD_LINK_REAL(stiffness, -1, CSIM_R(1e20));
    BAD_LINK_REAL(rate_gain, -1, CSIM_R(1e20));
    BAD_LINK_REAL(effort, -1, CSIM_R(1e20));
    BAD_LINK_REAL(target, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(target_rate, CSIM_R(-1e12), CSIM_R(1e12));
    BAD_LINK_REAL(gravity_compensation, -1, 2);
    BAD_LINK(1, shapes, NULL, CSIM_NULL_ARGUMENT, "shapes");
    BAD_LINK(1, shapes, &plane, CSIM_OUT_OF_RANGE, "shapes");
    BAD_LINK(2, shape_count, -1, CSIM_OUT_OF_RANGE, "shape_count");
    good.links = links;
    GOOD(csim_create_tree, 170);
}

TEST(every_field_of_a_cable_is_checked) {
    csim_world *w = world_of_defaults();
    csim_cable_def good = csim_default_cable_def(), def;
    csim_body_id id;
    csim_real not_a_number = make_nan(), infinite = make_infinity();
    csim_real same[9] = {0, 0, 0, 1, 0, 0, 1, 0, 0}, across[8] = {1, 0, 0, 0, 1, 0, 0, 0};
    uint64_t hash;
    int examined = 0, bodies = 1;
    STATUS(add_box(w, 0, 0, 0, 1, &id), CSIM_OK);
    good.end = csim_v3(1, 0, 0);
    BAD_VEC(csim_create_cable, start);
    BAD_VEC(csim_create_cable, end);
    BAD_VEC(csim_create_cable, normal);
    BAD_VEC(csim_create_cable, velocity);
    BAD_REAL(csim_create_cable, radius, 0, CSIM_R(1e20));
    BAD(csim_create_cable, radius, CSIMI_TINY, CSIM_OUT_OF_RANGE, "radius"); /* no mass, no inertia */
    BAD_REAL(csim_create_cable, density, 0, CSIM_R(1e20));
    BAD(csim_create_cable, density, CSIMI_TINY, CSIM_OUT_OF_RANGE, "radius");
    BAD_REAL(csim_create_cable, young, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_cable, poisson, -1, CSIM_R(0.6));
    BAD_REAL(csim_create_cable, stretch_stiffness, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_cable, shear_stiffness, 0, CSIM_R(1e20));
    BAD_REAL(csim_create_cable, bend_stiffness, CSIM_R(-1e20), CSIM_R(1e20));
    BAD_REAL(csim_create_cable, bend_stiffness2, CSIM_R(-1e20), CSIM_R(1e20));
    BAD_REAL(csim_create_cable, twist_stiffness, CSIM_R(-1e20), CSIM_R(1e20));
    BAD_REAL(csim_create_cable, strain, -1, 11);
    BAD_VEC(csim_create_cable, rest_curvature);
    BAD_REAL(csim_create_cable, mass_damping, -1, CSIM_R(1e20));
    BAD_REAL(csim_create_cable, stiffness_damping, -1, CSIM_R(1e20));
    BAD(csim_create_cable, segments, 0, CSIM_OUT_OF_RANGE, "segments");
    BAD(csim_create_cable, segments, -1, CSIM_OUT_OF_RANGE, "segments");
    BAD(csim_create_cable, segments, 1000001, CSIM_OUT_OF_RANGE, "segments");
    BAD(csim_create_cable, end, good.start, CSIM_BAD_MESH, "zero-length");
    BAD(csim_create_cable, closed, true, CSIM_NULL_ARGUMENT, "points");
    BAD(csim_create_cable, start_end, (csim_cable_end)7, CSIM_OUT_OF_RANGE, "start_end");
    BAD(csim_create_cable, end_end, (csim_cable_end)-1, CSIM_OUT_OF_RANGE, "end_end");
    BAD_SURFACE(csim_create_cable);
    good.points = same;
    BAD(csim_create_cable, point_count, 1, CSIM_OUT_OF_RANGE, "point_count");
    BAD(csim_create_cable, point_count, -1, CSIM_OUT_OF_RANGE, "point_count");
    BAD(csim_create_cable, point_count, 3, CSIM_BAD_MESH, "zero-length");
    good.point_count = 2;
    BAD(csim_create_cable, frames, across, CSIM_BAD_MESH, "frames");
    BAD(csim_create_cable, closed, true, CSIM_OUT_OF_RANGE, "point_count");
    across[1] = not_a_number;
    BAD(csim_create_cable, frames, across, CSIM_NOT_FINITE, "frames");
    same[4] = not_a_number;
    BAD(csim_create_cable, point_count, 2, CSIM_NOT_FINITE, "points");
    same[4] = 0;
    GOOD(csim_create_cable, 110);
}

#define BAD_SIDE(create, side)                                                     \
    do {                                                                           \
        BAD(create, side.point.x, not_a_number, CSIM_NOT_FINITE, "point");         \
        BAD(create, side.point.y, infinite, CSIM_NOT_FINITE, "point");             \
        BAD(create, side.point.z, CSIM_R(1e12), CSIM_OUT_OF_RANGE, "point");       \
        BAD(create, side.body, stranger, CSIM_WRONG_WORLD, "world");               \
        BAD(create, side.body, gone, CSIM_STALE_ID, "id");                         \
        BAD(create, side.body, other_##side, CSIM_OUT_OF_RANGE, "b");              \
    } while (0)

TEST(every_field_of_joints_pins_and_clamps_is_checked) {
    csim_world_def wd = csim_default_world_def();
    csim_world *w, *elsewhere;
    csim_body_id a, b, gone, stranger, other_a, other_b;
    csim_link_id id, hinge;
    csim_real not_a_number = make_nan(), infinite = make_infinity();
    uint64_t hash;
    int examined = 0, bodies = 3;
    csim_cable_def cable = csim_default_cable_def();
    csim_body_id rope;
    STATUS(csim_create_world(&wd, &w, NULL), CSIM_OK);
    STATUS(csim_create_world(&wd, &elsewhere, NULL), CSIM_OK);
    STATUS(add_box(w, 0, 0, 0, 1, &a), CSIM_OK);
    STATUS(add_box(w, 3, 0, 0, 1, &b), CSIM_OK);
    STATUS(add_box(w, 6, 0, 0, 1, &gone), CSIM_OK);
    STATUS(csim_destroy_body(w, gone), CSIM_OK);
    STATUS(add_box(elsewhere, 0, 0, 0, 1, &stranger), CSIM_OK);
    cable.end = csim_v3(1, 0, 5);
    cable.start = csim_v3(0, 0, 5);
    STATUS(csim_create_cable(w, &cable, &rope), CSIM_OK);
    other_a = b;
    other_b = a;
    {
        csim_joint_def good = csim_default_joint_def(), def;
        good.kind = CSIM_JOINT_HINGE;
        good.a.body = a;
        good.b.body = b;
        good.motor.kind = CSIM_MOTOR_POSITION;
        BAD(csim_create_joint, kind, (csim_joint_kind)-1, CSIM_OUT_OF_RANGE, "kind");
        BAD(csim_create_joint, kind, CSIM_JOINT_COUNT_, CSIM_OUT_OF_RANGE, "kind");
        BAD_SIDE(csim_create_joint, a);
        BAD_SIDE(csim_create_joint, b);
        BAD(csim_create_joint, a.body, rope, CSIM_WRONG_KIND, "rigid");
        BAD_VEC(csim_create_joint, axis);
        BAD(csim_create_joint, axis.z, 0, CSIM_OUT_OF_RANGE, "axis");
        BAD_REAL(csim_create_joint, length, CSIM_R(-1e12), CSIM_R(1e12));
        BAD_REAL(csim_create_joint, lower, CSIM_R(-1e12), CSIM_R(1e12));
        BAD_REAL(csim_create_joint, upper, CSIM_R(-1e12), CSIM_R(1e12));
        BAD(csim_create_joint, motor.kind, (csim_motor_kind)9, CSIM_OUT_OF_RANGE, "motor.kind");
        BAD(csim_create_joint, motor.target, not_a_number, CSIM_NOT_FINITE, "target");
        BAD(csim_create_joint, motor.target, CSIM_R(1e12), CSIM_OUT_OF_RANGE, "target");
        BAD(csim_create_joint, motor.speed, infinite, CSIM_NOT_FINITE, "speed");
        BAD(csim_create_joint, motor.speed, 0, CSIM_OUT_OF_RANGE, "speed");
        BAD(csim_create_joint, motor.force, not_a_number, CSIM_NOT_FINITE, "force");
        BAD(csim_create_joint, motor.force, -1, CSIM_OUT_OF_RANGE, "force");
        BAD_REAL(csim_create_joint, ratio, CSIM_R(-1e12), CSIM_R(1e12));
        BAD_REAL(csim_create_joint, break_force, -1, CSIM_R(1e20));
        BAD_REAL(csim_create_joint, break_torque, -1, CSIM_R(1e20));
        BAD(csim_create_joint, guard, 7, CSIM_DEF_NOT_INITIALISED, "guard");
        CASE("good joint");
        STATUS(csim_create_joint(w, &good, &hinge), CSIM_OK);
        good.kind = CSIM_JOINT_GEAR;
        good.motor.kind = CSIM_MOTOR_NONE;
        good.first = good.second = hinge;
        BAD(csim_create_joint, second, hinge, CSIM_OUT_OF_RANGE, "second");
        BAD(csim_create_joint, first.generation, 99, CSIM_STALE_ID, "id");
        BAD(csim_create_joint, second.world, 99, CSIM_WRONG_WORLD, "world");
        BAD(csim_create_joint, ratio, 0, CSIM_OUT_OF_RANGE, "ratio");
    }
    {
        csim_pin_def good = csim_default_pin_def(), def;
        good.a.body = a;
        good.b.body = b;
        BAD_SIDE(csim_create_pin, a);
        BAD_SIDE(csim_create_pin, b);
        BAD(csim_create_pin, guard, 7, CSIM_DEF_NOT_INITIALISED, "guard");
        good.a.body = rope;
        BAD(csim_create_pin, a.node, -1, CSIM_OUT_OF_RANGE, "node");
        BAD(csim_create_pin, a.node, 17, CSIM_OUT_OF_RANGE, "node");
        BAD_REAL(csim_create_pin, break_force, -1, CSIM_R(1e20));
    }
    {
        csim_clamp_def good = csim_default_clamp_def(), def;
        good.cable = rope;
        BAD(csim_create_clamp, cable, a, CSIM_WRONG_KIND, "cable");
        BAD(csim_create_clamp, cable, gone, CSIM_STALE_ID, "id");
        BAD(csim_create_clamp, cable, stranger, CSIM_WRONG_WORLD, "world");
        BAD(csim_create_clamp, body, rope, CSIM_WRONG_KIND, "rigid");
        BAD(csim_create_clamp, body, gone, CSIM_STALE_ID, "id");
        BAD(csim_create_clamp, body, stranger, CSIM_WRONG_WORLD, "world");
        BAD(csim_create_clamp, guard, 7, CSIM_DEF_NOT_INITIALISED, "guard");
    }
    CHECK(examined > 80);
    csim_destroy_world(w);
    csim_destroy_world(elsewhere);
}

/* Materials of solids, element by element, and their activation. */
TEST(every_field_of_materials_is_checked) {
    csim_world *w = world_of_defaults();
    csim_soft_def good = one_tet(), def;
    csim_body_id id, solid;
    csim_material wrong[1] = {(csim_material)9};
    csim_real not_a_number = make_nan(), infinite = make_infinity(), one_bad[1];
    uint64_t hash;
    int examined = 0, bodies = 1, i;
    STATUS(csim_create_soft(w, &good, &solid), CSIM_OK);
    for (i = 0; i < (int)CSIM_MATERIAL_COUNT_; i++) {
        good.material = (csim_material)i;
        BAD_REAL(csim_create_soft, young, 0, CSIM_R(1e20));
        BAD_REAL(csim_create_soft, poisson, -1, CSIM_R(0.5));
        BAD_REAL(csim_create_soft, density, 0, CSIM_R(1e20));
        BAD_REAL(csim_create_soft, self_distance, -1, CSIM_R(1e20));
    }
    BAD(csim_create_soft, material, (csim_material)-1, CSIM_OUT_OF_RANGE, "material");
    BAD(csim_create_soft, material, CSIM_MATERIAL_COUNT_, CSIM_OUT_OF_RANGE, "material");
    BAD(csim_create_soft, tet_material, wrong, CSIM_OUT_OF_RANGE, "tet_material");
    one_bad[0] = not_a_number;
    BAD(csim_create_soft, tet_young, one_bad, CSIM_NOT_FINITE, "tet_young");
    BAD(csim_create_soft, tet_poisson, one_bad, CSIM_NOT_FINITE, "tet_poisson");
    BAD(csim_create_soft, tet_density, one_bad, CSIM_NOT_FINITE, "tet_density");
    for (i = 0; i < 15; i++) {
        csim_activation act;
        csim_real *field[5], value[3] = {0, 0, CSIM_R(1e20)};
        static const char *const name[5] = {"pressure", "tension", "fibre.x", "fibre.y", "fibre.z"};
        value[0] = not_a_number;
        value[1] = infinite;
        act.pressure = act.tension = 1;
        act.fibre = csim_v3(1, 0, 0);
        field[0] = &act.pressure;
        field[1] = &act.tension;
        field[2] = &act.fibre.x;
        field[3] = &act.fibre.y;
        field[4] = &act.fibre.z;
        *field[i / 3] = value[i % 3];
        CASE("activation %s = %g", name[i / 3], (double)value[i % 3]);
        hash = whole(w);
        STATUS(csim_soft_set_activation(w, solid, NULL, 0, &act), i % 3 < 2 ? CSIM_NOT_FINITE : CSIM_OUT_OF_RANGE);
        CHECK(strstr(csim_last_error(w), name[i / 3]) != NULL && strstr(csim_last_error(w), "; allowed: ") != NULL);
        CHECK(whole(w) == hash);
    }
    CHECK(examined > 50);
    csim_destroy_world(w);
}

/* ---- memory */

TEST(stepping_never_allocates) {
    ledger l;
    csim_world_def def = ledger_world(&l);
    csim_world *w;
    csim_body_id id[16];
    int count;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(build_zoo(w, id, &count), CSIM_OK);
    l.closed = true;
    CHECK(step_hash(w, 100) != 0);
    EQUAL((int)l.while_closed, 0);
    l.closed = false;
    csim_destroy_world(w);
    EQUAL((int)l.live, 0);
    EQUAL((int)l.bytes, 0);
}

TEST(every_allocation_may_fail) {
    int forever, failures = 0;
    for (forever = 0; forever < 2; forever++) {
        size_t n, calls = 1;
        for (n = 1; n <= calls; n++) {
            ledger l;
            csim_world_def def = ledger_world(&l);
            csim_world *w = NULL;
            csim_body_id id[16];
            csim_status s;
            int count;
            CASE("allocation %d fails %s", (int)n, forever ? "for ever" : "once");
            l.fail_at = n;
            l.forever = forever != 0;
            s = csim_create_world(&def, &w, NULL);
            if (!s) s = build_zoo(w, id, &count);
            if (s) {
                failures++;
                STATUS(s, CSIM_OUT_OF_MEMORY);
                if (w) { /* what was there still works */
                    l.fail_at = 0;
                    CHECK(csim_world_body_count(w) == 0 || step_hash(w, 2) != 0);
                }
            } else if (calls < l.calls) {
                calls = l.calls;
            }
            csim_destroy_world(w);
            EQUAL((int)l.live, 0);
            if (!s) break;
            calls = n + 1;
        }
    }
    CHECK(failures > 8);
}

TEST(a_failed_create_leaves_the_world_bit_equal) {
    ledger l;
    csim_world_def def = ledger_world(&l);
    csim_world *w;
    csim_body_id id[16], extra;
    unsigned char *before, *after;
    size_t bytes, bytes_after;
    csim_status s = CSIM_OK;
    int count, tries;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(build_zoo(w, id, &count), CSIM_OK);
    CHECK(step_hash(w, 10) != 0);
    l.fail_at = l.calls + 1;
    l.forever = true;
    for (tries = 0; tries < 100; tries++) { /* until the room is used up */
        before = saved(w, &bytes);
        s = add_box(w, (csim_real)tries, 5, 5, CSIM_R(0.1), &extra);
        after = saved(w, &bytes_after);
        if (s) {
            EQUAL((int)bytes, (int)bytes_after);
            CHECK(memcmp(before, after, bytes) == 0);
        }
        free(before);
        free(after);
        if (s) break;
    }
    STATUS(s, CSIM_OUT_OF_MEMORY);
    csim_destroy_world(w);
    EQUAL((int)l.live, 0);
}

TEST(the_three_doors_share_one_layout) {
    csim_world_def def = csim_default_world_def();
    csim_world *heap, *fixed;
    csim_body_id id[16];
    unsigned char *raw, *block;
    size_t bytes = 0;
    int count, i;
    def.capacity.bodies = 10;
    def.capacity.tets = 4;
    def.capacity.nodes = 16;
    def.capacity.membranes = 2;
    def.capacity.matrix_blocks = 200;
    def.capacity.links = 2;
    def.capacity.contacts = 200;
    STATUS(csim_create_world(&def, &heap, NULL), CSIM_OK);
    STATUS(csim_world_bytes(&def, &bytes, NULL), CSIM_OK);
    raw = (unsigned char *)malloc(bytes + 192);
    block = raw + 64 - (uintptr_t)raw % 64;
    memset(block, 0xCD, bytes + 64);
    STATUS(csim_create_world_in(&def, block, bytes - 1, &fixed, NULL), CSIM_CAPACITY);
    STATUS(csim_create_world_in(&def, block + 8, bytes, &fixed, NULL), CSIM_OUT_OF_RANGE);
    STATUS(csim_create_world_in(&def, block, bytes, &fixed, NULL), CSIM_OK);
    STATUS(build_zoo(heap, id, &count), CSIM_OK);
    STATUS(build_zoo(fixed, id, &count), CSIM_OK);
    CHECK(step_hash(heap, 50) == step_hash(fixed, 50) && csim_world_stats(heap).step == 50);
    for (i = 0; i < 64; i++) CHECK(block[bytes + (size_t)i] == 0xCD); /* nothing is written behind the block */
    csim_destroy_world(heap);
    csim_destroy_world(fixed);
    free(raw);
}

TEST(a_full_capacity_says_so_and_loses_nothing) {
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    csim_body_id id[16];
    csim_step_stats stats;
    unsigned char *raw, *block, *before, *after;
    size_t bytes, n1, n2;
    int i;
    csim_capacity c;
    def.capacity.bodies = 4;
    def.capacity.contacts = 6;
    STATUS(csim_world_bytes(&def, &bytes, NULL), CSIM_OK);
    raw = (unsigned char *)malloc(bytes + 64);
    block = raw + 64 - (uintptr_t)raw % 64;
    STATUS(csim_create_world_in(&def, block, bytes, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), 1, id), CSIM_OK);
    for (i = 0; i < 3; i++) STATUS(add_box(w, (csim_real)i, 0, CSIM_R(0.1), CSIM_R(0.1), id + 1 + i), CSIM_OK);
    STATUS(add_box(w, 9, 0, 1, CSIM_R(0.1), id + 5), CSIM_CAPACITY);
    CHECK(strstr(csim_last_error(w), "capacity.bodies") != NULL);
    before = saved(w, &n1);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_CAPACITY);
    after = saved(w, &n2);
    stats = csim_world_stats(w);
    CHECK(stats.flags & CSIM_FLAG_CONTACTS_FULL);
    EQUAL(stats.contacts, 12); /* three boxes, four corners each: what it needs */
    CHECK(n1 == n2 && memcmp(before, after, n1) == 0);
    c = csim_world_used(w);
    EQUAL(c.contacts, 12);
    free(before);
    free(after);
    free(raw);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    memset(&c, 0, sizeof c);
    c.contacts = 12;
    STATUS(csim_world_reserve(w, &c), CSIM_OK);
    CHECK(csim_world_capacity(w).contacts >= 12);
    csim_destroy_world(w);
}

/* ---- snapshots, determinism */

TEST(save_restore_step_gives_the_same_bits) {
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    csim_body_id id[16], extra;
    unsigned char *bytes;
    size_t size;
    uint64_t first, again;
    int count;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(build_zoo(w, id, &count), CSIM_OK);
    CHECK(step_hash(w, 20) != 0);
    bytes = saved(w, &size);
    first = step_hash(w, 30);
    STATUS(csim_destroy_body(w, id[2]), CSIM_OK); /* changes that the restore takes back */
    STATUS(add_box(w, 4, 4, 4, CSIM_R(0.2), &extra), CSIM_OK);
    STATUS(csim_world_restore(w, bytes, size), CSIM_OK);
    CHECK(csim_body_valid(w, id[2]) && !csim_body_valid(w, extra));
    again = step_hash(w, 30);
    CHECK(first == again);
    free(bytes);
    csim_destroy_world(w);
}

TEST(damaged_snapshots_are_refused) {
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    csim_body_id id[16];
    unsigned char *bytes;
    size_t size, again, at;
    uint64_t hash;
    unsigned char *after;
    int count;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(build_zoo(w, id, &count), CSIM_OK);
    bytes = saved(w, &size);
    hash = csim_world_hash(w);
    for (at = 0; at < size; at += at < 512 ? 1 : 1 + size / 200) { /* every byte of the header */
        CASE("byte %d", (int)at);
        bytes[at] ^= (unsigned char)(1 << at % 8);
        STATUS(csim_world_restore(w, bytes, size), CSIM_BAD_SNAPSHOT);
        bytes[at] ^= (unsigned char)(1 << at % 8);
        STATUS(csim_world_restore(w, bytes, at), CSIM_BAD_SNAPSHOT);
    }
    after = saved(w, &again);
    CHECK(again == size && memcmp(bytes, after, size) == 0);
    free(after);
    STATUS(csim_world_restore(w, bytes, size), CSIM_OK);
    CHECK(csim_world_hash(w) == hash);
    free(bytes);
    csim_destroy_world(w);
}

/* A parallel hook that runs the ranges backwards and in odd order. */
static void backwards(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    int ranges = (count + grain - 1) / grain, i;
    ++*(int *)user;
    for (i = ranges - 1; i >= 0; i -= 2) fn(context, i * grain, i * grain + grain < count ? i * grain + grain : count);
    for (i = ranges - 2; i >= 0; i -= 2) fn(context, i * grain, i * grain + grain < count ? i * grain + grain : count);
}

/* A bar of 15 m along y with 4 vertices each 5 cm: long enough that every loop over nodes has several ranges. */
static csim_status add_long_bar(csim_world *w) {
    static const int corner[6][4] = {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}};
    enum { SLICES = 300 };
    static csim_real x[12 * SLICES];
    static int tets[24 * (SLICES - 1)];
    csim_soft_def d = csim_default_soft_def();
    csim_body_id id;
    int i;
    for (i = 0; i < 4 * SLICES; i++) { /* bits of a corner: x, z, y, a turn the other way about */
        x[3 * i] = CSIM_R(0.05) * CSIM_R(i & 1);
        x[3 * i + 1] = CSIM_R(0.05) * CSIM_R(i / 4);
        x[3 * i + 2] = CSIM_R(0.05) * CSIM_R(1 - (i >> 1 & 1));
    }
    for (i = 0; i < 24 * (SLICES - 1); i++) tets[i] = 4 * (i / 24) + corner[i / 4 % 6][i % 4];
    d.vertices = x, d.vertex_count = 4 * SLICES, d.tets = tets, d.tet_count = 6 * (SLICES - 1);
    d.pose.position = csim_v3(2, 0, CSIM_R(0.001));
    return csim_create_soft(w, &d, &id);
}

TEST(task_order_changes_no_bit) {
    csim_world_def def = csim_default_world_def();
    csim_world *serial, *shuffled;
    csim_body_id id[16];
    int count, calls = 0;
    uint64_t hash;
    STATUS(csim_create_world(&def, &serial, NULL), CSIM_OK);
    def.tasks.run = backwards;
    def.tasks.user = &calls;
    STATUS(csim_create_world(&def, &shuffled, NULL), CSIM_OK);
    STATUS(build_zoo(serial, id, &count), CSIM_OK);
    STATUS(build_zoo(shuffled, id, &count), CSIM_OK);
    STATUS(add_long_bar(serial), CSIM_OK);
    STATUS(add_long_bar(shuffled), CSIM_OK);
    hash = step_hash(serial, 20);
    CHECK(csim_world_stats(serial).touching > 100);
    CHECK(hash != 0 && hash == step_hash(shuffled, 20));
    CHECK(calls > 1000); /* loops that were cut: tets, products, COND's rows and contacts, sums */
    csim_destroy_world(serial);
    csim_destroy_world(shuffled);
}

/* Thirty worlds by one call, in any order, are what they are one by one; one that cannot be stepped says so alone. */
TEST(many_worlds_are_stepped_by_one_call) {
    enum { WORLDS = 30 };
    csim_world_def def = csim_default_world_def();
    csim_world *together[WORLDS + 1], *alone[WORLDS];
    csim_status status[WORLDS + 1];
    csim_tasks tasks;
    csim_body_id id[16];
    int i, k, count, calls = 0;
    memset(&tasks, 0, sizeof tasks);
    tasks.run = backwards;
    tasks.user = &calls;
    for (i = 0; i < WORLDS; i++) {
        STATUS(csim_create_world(&def, together + i, NULL), CSIM_OK);
        STATUS(csim_create_world(&def, alone + i, NULL), CSIM_OK);
        STATUS(build_zoo(together[i], id, &count), CSIM_OK);
        STATUS(build_zoo(alone[i], id, &count), CSIM_OK);
        STATUS(csim_world_set_gravity(together[i], csim_v3(CSIM_R(0.1) * (csim_real)i, 0, -9)), CSIM_OK);
        STATUS(csim_world_set_gravity(alone[i], csim_v3(CSIM_R(0.1) * (csim_real)i, 0, -9)), CSIM_OK);
    }
    for (k = 0; k < 5; k++) {
        STATUS(csim_worlds_step(together, WORLDS, CSIM_R(0.01), k % 2 ? &tasks : NULL, status), CSIM_OK);
        for (i = 0; i < WORLDS; i++) STATUS(csim_world_step(alone[i], CSIM_R(0.01)), CSIM_OK);
    }
    CHECK(calls == 2);
    for (i = 0; i < WORLDS; i++) {
        CASE("world %d", i);
        CHECK(status[i] == CSIM_OK && csim_world_hash(together[i]) == csim_world_hash(alone[i]));
        CHECK(i == 0 || csim_world_hash(together[i]) != csim_world_hash(together[0]));
    }
    CASE("one that is none");
    together[WORLDS] = together[3];
    together[3] = NULL;
    STATUS(csim_worlds_step(together, WORLDS + 1, CSIM_R(0.01), &tasks, status), CSIM_NULL_ARGUMENT);
    for (i = 0; i <= WORLDS; i++) CHECK(status[i] == (i == 3 ? CSIM_NULL_ARGUMENT : CSIM_OK));
    CHECK(csim_world_stats(together[WORLDS]).step == 6);
    STATUS(csim_worlds_step(together, WORLDS, 2, NULL, status), CSIM_OUT_OF_RANGE);
    STATUS(csim_worlds_step(NULL, 1, CSIM_R(0.01), NULL, status), CSIM_NULL_ARGUMENT);
    STATUS(csim_worlds_step(together, 1, CSIM_R(0.01), NULL, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_worlds_step(together, -1, CSIM_R(0.01), NULL, status), CSIM_OUT_OF_RANGE);
    STATUS(csim_worlds_step(NULL, 0, CSIM_R(0.01), NULL, NULL), CSIM_OK);
    for (i = 0; i <= WORLDS; i++) csim_destroy_world(together[i]);
    for (i = 0; i < WORLDS; i++) csim_destroy_world(alone[i]);
}

/* Bodies far apart do not notice that another one is destroyed. */
TEST(destroying_one_body_leaves_the_others_alone) {
    csim_world_def def = csim_default_world_def();
    csim_world *w, *v;
    csim_body_id a[16], b[16];
    csim_pose p, q;
    int count, gone, i;
    for (gone = 1; gone < 7; gone++) {
        if (gone == 1 || gone == 2) continue; /* these two touch each other */
        CASE("body %d destroyed", gone);
        STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
        STATUS(csim_create_world(&def, &v, NULL), CSIM_OK);
        STATUS(build_zoo(w, a, &count), CSIM_OK);
        STATUS(build_zoo(v, b, &count), CSIM_OK);
        CHECK(step_hash(w, 5) == step_hash(v, 5));
        STATUS(csim_destroy_body(v, b[gone]), CSIM_OK);
        CHECK(step_hash(w, 20) != 0 && step_hash(v, 20) != 0);
        for (i = 0; i < count; i++) {
            if (i == gone) continue;
            csim_body_get_pose(w, a[i], &p);
            csim_body_get_pose(v, b[i], &q);
            NEAR(p.position.x, q.position.x, TOL(1e-12, 1e-5));
            NEAR(p.position.z, q.position.z, TOL(1e-12, 1e-5));
        }
        csim_destroy_world(w);
        csim_destroy_world(v);
    }
}

/* ---- events */

TEST(contacts_begin_and_end_in_pairs) {
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape ball = csim_sphere(CSIM_R(0.1));
    csim_body_id ground, id;
    int i, k, began = 0, ended = 0, n;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.3), &ground), CSIM_OK);
    d.shapes = &ball;
    d.shape_count = 1;
    d.pose.position = csim_v3(0, 0, CSIM_R(0.4));
    d.surface.restitution = CSIM_R(0.7);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    for (i = 0; i < 150; i++) {
        const csim_contact_info *c;
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        c = csim_world_contacts(w, &n);
        for (k = 0; k < n; k++) began += c[k].began;
        csim_world_ended(w, &n);
        ended += n;
    }
    CHECK(began >= 2);
    CHECK(began == ended || began == ended + 1);
    STATUS(csim_destroy_body(w, id), CSIM_OK);
    csim_world_ended(w, &n);
    csim_world_contacts(w, &k);
    EQUAL(k, 0);
    csim_destroy_world(w);
}

/* The library's locked flag: a filter that tries to change the world is told so. */
static csim_world *locked_world;
static csim_status locked_status;
static bool meddling_filter(void *user, const csim_pair_info *pair) {
    csim_body_id id;
    (void)user;
    (void)pair;
    locked_status = add_box(locked_world, 0, 0, 9, 1, &id);
    return true;
}

TEST(a_callback_cannot_change_the_world) {
    csim_world_def def = csim_default_world_def();
    csim_body_id id;
    def.filter = meddling_filter;
    STATUS(csim_create_world(&def, &locked_world, NULL), CSIM_OK);
    STATUS(add_box(locked_world, 0, 0, 0, CSIM_R(0.1), &id), CSIM_OK);
    STATUS(add_box(locked_world, CSIM_R(0.15), 0, 0, CSIM_R(0.1), &id), CSIM_OK);
    STATUS(csim_world_step(locked_world, CSIM_R(0.01)), CSIM_OK);
    STATUS(locked_status, CSIM_LOCKED);
    csim_destroy_world(locked_world);
}

/* What a step does not write must not be saved or hashed: worlds in blocks that held something else agree. */
static uint64_t hash_in_block_of(int byte) {
    csim_world_def def = csim_default_world_def();
    csim_tree_link_def link[2];
    csim_tree_def tree = csim_default_tree_def();
    csim_rigid_def body = csim_default_rigid_def();
    csim_shape ball = csim_sphere(CSIM_R(0.1));
    csim_body_id id;
    csim_world *w = NULL;
    uint64_t hash = 0;
    size_t bytes = 0;
    void *memory, *block;
    int i;
    def.capacity.bodies = 8, def.capacity.shapes = 8, def.capacity.trees = 1;
    def.capacity.tree_links = 2, def.capacity.coords = 6, def.capacity.nodes = 4;
    if (csim_world_bytes(&def, &bytes, NULL) != CSIM_OK || !(memory = malloc(bytes + 64))) return 0;
    block = (unsigned char *)memory + (64 - (uintptr_t)memory % 64);
    memset(block, byte, bytes);
    STATUS(csim_create_world_in(&def, block, bytes, &w, NULL), CSIM_OK);
    for (i = 0; i < 2; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i - 1;
        link[i].joint = i == 0 ? CSIM_TREE_FLOATING : CSIM_TREE_REVOLUTE;
        link[i].frame.position = csim_v3(0, 0, CSIM_R(0.3));
        link[i].shapes = &ball, link[i].shape_count = 1;
    }
    tree.links = link, tree.link_count = 2;
    body.shapes = &ball, body.shape_count = 1, body.pose.position = csim_v3(1, 0, CSIM_R(0.2));
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id), CSIM_OK);
    STATUS(csim_create_tree(w, &tree, &id), CSIM_OK);
    STATUS(csim_create_rigid(w, &body, &id), CSIM_OK);
    for (i = 0; i < 40; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    hash = csim_world_hash(w);
    csim_destroy_world(w);
    free(memory);
    return hash;
}

TEST(what_memory_held_before_does_not_show) {
    const uint64_t zeros = hash_in_block_of(0);
    CHECK(zeros != 0);
    CHECK(hash_in_block_of(0xff) == zeros); /* NaN, in every real */
    CHECK(hash_in_block_of(0x3f) == zeros); /* about 1 in a float, 5e-4 in a double */
}

/* A box of its own on the ground, after 30 steps: by the short calls, or by definitions. 0: something failed. */
static uint64_t hash_of_fallen_box(bool is_short) {
    const csim_vec3 position = csim_v3(CSIM_R(0.3), -1, CSIM_R(0.2));
    const csim_shape shape = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.2), CSIM_R(0.15)));
    csim_world_def def = csim_default_world_def();
    csim_rigid_def body = csim_default_rigid_def();
    csim_world *w;
    csim_body_id id;
    uint64_t hash;
    int i;
    if (csim_create_world(is_short ? NULL : &def, &w, NULL) != CSIM_OK) return 0;
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id), CSIM_OK);
    body.shapes = &shape, body.shape_count = 1, body.pose.position = position;
    STATUS(is_short ? csim_create_shape(w, shape, position, &id) : csim_create_rigid(w, &body, &id), CSIM_OK);
    for (i = 0; i < 30; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    CHECK(csim_world_stats(w).contacts == 4);
    hash = csim_world_hash(w);
    STATUS(csim_create_shape(w, csim_sphere(-1), position, &id), CSIM_OUT_OF_RANGE);
    STATUS(csim_create_shape(w, shape, position, NULL), CSIM_NULL_ARGUMENT);
    EQUAL(csim_world_hash(w), hash); /* what fails adds nothing */
    csim_destroy_world(w);
    return hash;
}

TEST(short_calls_do_what_the_long_ones_do) {
    csim_real x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    int tet[4] = {0, 1, 2, 3};
    const csim_soft_def plain = csim_default_soft_def();
    csim_soft_def soft;
    csim_mesh mesh;
    const uint64_t hash = hash_of_fallen_box(true);
    CHECK(hash != 0);
    CHECK(hash_of_fallen_box(false) == hash);
    STATUS(csim_create_world(NULL, NULL, NULL), CSIM_NULL_ARGUMENT);
    memset(&mesh, 0, sizeof mesh);
    mesh.vertices = x, mesh.vertex_count = 4, mesh.tets = tet, mesh.tet_count = 1;
    soft = csim_mesh_soft_def(&mesh);
    CHECK(soft.vertices == x && soft.vertex_count == 4 && soft.tets == tet && soft.tet_count == 1);
    soft.vertices = plain.vertices, soft.vertex_count = plain.vertex_count; /* the rest is the default */
    soft.tets = plain.tets, soft.tet_count = plain.tet_count;
    NEAR((double)soft.young, (double)plain.young, 0);
    EQUAL(soft.guard, plain.guard);
    CHECK(csim_mesh_soft_def(NULL).vertices == NULL);
}

/* A pyramid of boxes whose rows have a hair of air between them. Returns the iterations from step `from` on, and the
   world after `steps`. */
static csim_world *land_pyramid(int rows, csim_real friction, int steps, int from, int *later) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def box = csim_default_rigid_def();
    csim_shape shape = csim_box(csim_v3(CSIM_R(0.5), CSIM_R(0.5), CSIM_R(0.5)));
    csim_world *w = NULL;
    csim_body_id id;
    int row, k, step;
    def.solver.tolerance = CSIM_R(1e-3);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), friction, &id), CSIM_OK);
    box.shapes = &shape;
    box.shape_count = 1;
    box.mass = 1000;
    box.surface.friction = friction;
    for (row = 0; row < rows; row++)
        for (k = 0; k < rows - row; k++) {
            box.pose.position = csim_v3(CSIM_R(1.01 * (k - (rows - 1 - row) * 0.5)), 0, CSIM_R(0.5 + 1.001 * row));
            STATUS(csim_create_rigid(w, &box, &id), CSIM_OK);
        }
    for (step = 1, *later = 0; step <= steps; step++) {
        STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
        EQUAL(csim_world_stats(w).flags & CSIM_FLAG_UNCERTIFIED, 0);
        if (step >= from) *later += csim_world_stats(w).iterations;
    }
    return w;
}

/* It lands and comes to rest: solved to the end, a step leaves the next one little to do. Solved to the tolerance, or
   until the measure no longer falls, the boxes keep on trembling, at sixty iterations a step. */
TEST(pyramids_come_to_rest_in_few_iterations) {
    int later;
    csim_destroy_world(land_pyramid(16, CSIM_R(0.6), TOL(40, 2), 21, &later)); /* float is at its rounding there */
    printf("    pyramid of 136 boxes    %.1f iterations a step from the 21st on\n", later / 20.0);
    CHECK(later < 20 * 20);
}

/* High ones too, whatever the friction: no step stops with impulses that are on their way. */
SLOW_LONG_IN_FLOAT(high_pyramids_come_to_rest) {
    static const double friction[3] = {0.5, 0.61, 0.7};
    int i, later;
    for (i = 0; i < 3; i++) {
        csim_world *w = land_pyramid(40, CSIM_R(friction[i]), 14, 13, &later);
        CASE("friction %.2f", friction[i]);
        printf("    friction %.2f           %.1e m/s, %d iterations in the last two steps\n", friction[i],
               (double)csim_world_rms_speed(w), later);
        CHECK(csim_world_rms_speed(w) < TOL(1e-9, 1e-2)); /* float trembles at its rounding */
        EQUAL(TOL(later, 0), 0);
        csim_destroy_world(w);
    }
}
