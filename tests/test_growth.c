/* A heap world that finds more than it has room for makes the room in the step and does it, to the bit as if the room
   had been there; a fixed block says so, and so does an allocator that gives no more. Snapshots in larger buffers. */
#include "check.h"

/* An allocator that can be told to refuse, and counts. */
typedef struct purse {
    int calls, most; /* most: calls that are answered, < 0: all */
} purse;

static void *purse_alloc(void *user, size_t bytes, size_t align) {
    purse *p = (purse *)user;
    unsigned char *raw;
    p->calls++;
    if (p->most >= 0 && p->calls > p->most) return NULL;
    raw = (unsigned char *)malloc(bytes + align + sizeof(void *));
    if (raw) {
        unsigned char *block = raw + sizeof(void *);
        block += (align - (size_t)((uintptr_t)block % align)) % align;
        memcpy(block - sizeof raw, &raw, sizeof raw);
        return block;
    }
    return NULL;
}

static void purse_free(void *user, void *block, size_t bytes) {
    void *raw;
    (void)user;
    (void)bytes;
    memcpy(&raw, (unsigned char *)block - sizeof raw, sizeof raw);
    free(raw);
}

enum { BALLS = 80 };

/* Balls in a knot, all of them overlapping: 3160 pairs and contacts, twice what create calls expect; with resistance
   to rolling twice as many rows. */
static csim_real rolling;
static csim_world *knot(purse *p, bool sleeps, int room, void *block, size_t bytes) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_shape ball = csim_sphere(1);
    int i;
    d.can_sleep = sleeps;
    d.solver.max_iterations = 5;
    d.solver.tolerance = CSIM_R(0.01);
    d.allocator.alloc = p ? purse_alloc : NULL;
    d.allocator.free = p ? purse_free : NULL;
    d.allocator.user = p;
    d.capacity.bodies = BALLS;
    d.capacity.contacts = d.capacity.pairs = room;
    if (block)
        STATUS(csim_create_world_in(&d, block, bytes, &w, NULL), CSIM_OK);
    else
        STATUS(csim_create_world(&d, &w, NULL), CSIM_OK);
    for (i = 0; i < BALLS && w; i++) {
        csim_rigid_def r = csim_default_rigid_def();
        csim_body_id id;
        r.shapes = &ball;
        r.shape_count = 1;
        r.surface.rolling_resistance = rolling;
        r.pose.position = csim_v3(CSIM_R(0.1) * (csim_real)(i % 5), CSIM_R(0.11) * (csim_real)(i / 5 % 4),
                                  CSIM_R(0.12) * (csim_real)(i / 20));
        STATUS(csim_create_rigid(w, &r, &id), CSIM_OK);
    }
    return w;
}

TEST(a_step_makes_the_room_it_needs) {
    int round, i;
    for (round = 0; round < 4; round++) {
        const bool sleeps = round % 2 != 0;
        purse p = {0, -1};
        csim_world *w, *roomy;
        int calls;
        rolling = round < 2 ? 0 : CSIM_R(0.01);
        w = knot(&p, sleeps, 0, NULL, 0);
        roomy = knot(NULL, sleeps, 20000, NULL, 0);
        calls = p.calls;
        CASE("%s, rolling %g", sleeps ? "can sleep" : "cannot sleep", (double)rolling);
        CHECK(csim_world_capacity(w).contacts < BALLS * (BALLS - 1) / 2);
        for (i = 0; i < 5; i++) {
            csim_step_stats s;
            STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
            STATUS(csim_world_step(roomy, CSIM_R(0.001)), CSIM_OK);
            s = csim_world_stats(w);
            EQUAL(s.flags & (CSIM_FLAG_CONTACTS_FULL | CSIM_FLAG_PAIRS_FULL), 0);
            EQUAL(s.contacts, csim_world_stats(roomy).contacts);
            CHECK(csim_world_hash(w) == csim_world_hash(roomy));
            if (i == 0) CHECK(s.contacts > 3000 && p.calls > calls);
            CHECK(p.calls <= calls + (rolling > 0 ? 4 : 2)); /* once, for rows of rolling too: what it has made stays */
        }
        csim_destroy_world(w);
        csim_destroy_world(roomy);
    }
    rolling = 0;
}

static csim_body_id fall(csim_world *w, csim_real x, csim_real z) {
    csim_rigid_def r = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_body_id id = {0, 0, 0};
    r.shapes = &box;
    r.shape_count = 1;
    r.pose.position = csim_v3(x, 0, z);
    STATUS(csim_create_rigid(w, &r, &id), CSIM_OK);
    return id;
}

/* Boxes in two columns and a cable over them, which fall asleep, are woken, added to and taken from. */
TEST(a_world_that_reserves_steps_as_one_that_does_not) {
    int sleeps, i, k, woken = 0;
    for (sleeps = 0; sleeps < 2; sleeps++) {
        csim_world_def d = csim_default_world_def();
        csim_cable_def cable = csim_default_cable_def();
        csim_world *w[2]; /* the first reserves before every step */
        csim_body_id box[2][8], id;
        d.can_sleep = sleeps;
        cable.start = csim_v3(CSIM_R(-0.6), CSIM_R(0.5), CSIM_R(0.3));
        cable.end = csim_v3(CSIM_R(0.6), CSIM_R(0.5), CSIM_R(0.3));
        CASE("%s", sleeps ? "can sleep" : "cannot sleep");
        for (k = 0; k < 2; k++) {
            STATUS(csim_create_world(&d, w + k, NULL), CSIM_OK);
            STATUS(csim_create_ground(w[k], csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id), CSIM_OK);
            STATUS(csim_create_cable(w[k], &cable, &id), CSIM_OK);
            for (i = 0; i < 4; i++) box[k][i] = fall(w[k], CSIM_R(i % 2), CSIM_R(0.11 + 0.22 * (i / 2)));
        }
        for (i = 0; i < 500; i++) {
            csim_capacity c = csim_world_capacity(w[0]);
            for (k = 0; k < 2; k++) {
                if (i == 150 || i == 400) box[k][4 + i / 400] = fall(w[k], 0, CSIM_R(0.8));
                if (i == 350) STATUS(csim_body_set_awake(w[k], box[k][1], true), CSIM_OK);
                if (i == 352) STATUS(csim_destroy_body(w[k], box[k][3]), CSIM_OK);
            }
            if (i == 352) c.contacts += 50;
            woken += csim_world_stats(w[0]).asleep > 0;
            STATUS(csim_world_reserve(w[0], &c), CSIM_OK);
            CHECK(!w[0]->pattern_stale && (i > 0 || w[1]->pattern_stale));
            CHECK(csim_world_hash(w[0]) == csim_world_hash(w[1]));
            for (k = 0; k < 2; k++) STATUS(csim_world_step(w[k], CSIM_R(0.01)), CSIM_OK);
            CHECK(csim_world_hash(w[0]) == csim_world_hash(w[1]));
            EQUAL(csim_world_stats(w[0]).asleep, csim_world_stats(w[1]).asleep);
        }
        for (k = 0; k < 2; k++) csim_destroy_world(w[k]);
    }
    CHECK(woken > 100);
}

TEST(an_allocator_that_gives_no_more_leaves_the_world_as_it_was) {
    purse p = {0, -1};
    csim_world *w = knot(&p, true, 0, NULL, 0), *whole = knot(NULL, true, 20000, NULL, 0);
    const uint64_t hash = csim_world_hash(w);
    int i;
    p.most = p.calls;
    for (i = 0; i < 3; i++) {
        STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OUT_OF_MEMORY);
        CHECK(csim_world_hash(w) == hash);
        CHECK(strstr(csim_last_error(w), "csim_world_step") && strstr(csim_last_error(w), "bytes"));
        EQUAL((int)csim_world_stats(w).step, 0);
        CHECK(csim_world_stats(w).flags & (CSIM_FLAG_CONTACTS_FULL | CSIM_FLAG_PAIRS_FULL));
    }
    p.most = -1; /* and then it does */
    STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
    STATUS(csim_world_step(whole, CSIM_R(0.001)), CSIM_OK);
    CHECK(csim_world_hash(w) == csim_world_hash(whole));
    csim_destroy_world(w);
    csim_destroy_world(whole);
}

TEST(a_fixed_block_says_what_it_lacks) {
    csim_world_def d = csim_default_world_def();
    size_t bytes = 0;
    void *block;
    csim_world *w;
    uint64_t hash;
    d.capacity.bodies = BALLS;
    d.capacity.contacts = d.capacity.pairs = 3200;
    STATUS(csim_world_bytes(&d, &bytes, NULL), CSIM_OK);
    block = malloc(bytes + 64);
    REQUIRE(block);
    w = knot(NULL, false, 3000, (void *)(((uintptr_t)block + 63) / 64 * 64), bytes);
    REQUIRE(w);
    hash = csim_world_hash(w);
    STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_CAPACITY);
    CHECK(csim_world_hash(w) == hash);
    EQUAL(csim_world_capacity(w).contacts, 3000);
    EQUAL(csim_world_stats(w).pairs, BALLS * (BALLS - 1) / 2);
    free(block);
}

/* A buffer may be larger than the snapshot in it, and what stands behind it does not matter. */
TEST(restore_takes_a_buffer_larger_than_the_snapshot) {
    csim_world *w = knot(NULL, false, 0, NULL, 0);
    size_t size = 0, room;
    unsigned char *bytes;
    uint64_t hash;
    STATUS(csim_world_save(w, NULL, &size), CSIM_OK);
    room = size + 1000;
    bytes = (unsigned char *)malloc(room);
    REQUIRE(bytes);
    memset(bytes, 0xab, room);
    STATUS(csim_world_save(w, bytes, &room), CSIM_OK);
    EQUAL((long)room, (long)size);
    hash = csim_world_hash(w);
    STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
    STATUS(csim_world_restore(w, bytes, size - 1), CSIM_BAD_SNAPSHOT);
    STATUS(csim_world_restore(w, bytes, size + 1000), CSIM_OK);
    CHECK(csim_world_hash(w) == hash);
    STATUS(csim_world_restore(w, bytes, size), CSIM_OK);
    free(bytes);
    csim_destroy_world(w);
}

/* What is kept is for its own world alone, and neither call takes the bytes of the other pair. */
TEST(what_is_kept_is_taken_back) {
    csim_world *w = knot(NULL, false, 0, NULL, 0), *other = knot(NULL, false, 0, NULL, 0);
    size_t size = 0, small;
    unsigned char *kept, *saved;
    uint64_t hash, later;
    int k;
    STATUS(csim_world_keep(w, NULL, &size), CSIM_OK);
    kept = (unsigned char *)malloc(size);
    saved = (unsigned char *)malloc(size);
    REQUIRE(kept && saved);
    STATUS(csim_world_save(w, saved, &size), CSIM_OK);
    STATUS(csim_world_keep(w, kept, &size), CSIM_OK);
    hash = csim_world_hash(w);
    STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
    later = csim_world_hash(w);
    STATUS(csim_world_restore(w, kept, size), CSIM_BAD_SNAPSHOT);
    STATUS(csim_world_take_back(w, saved, size), CSIM_BAD_SNAPSHOT);
    CHECK(strstr(csim_last_error(w), "csim_world_take_back") != NULL);
    STATUS(csim_world_take_back(other, kept, size), CSIM_BAD_SNAPSHOT);
    STATUS(csim_world_take_back(w, kept, size - 1), CSIM_BAD_SNAPSHOT);
    CHECK(strstr(csim_last_error(w), "csim_world_take_back") != NULL);
    STATUS(csim_world_take_back(w, kept, 8), CSIM_BAD_SNAPSHOT);
    CHECK(strstr(csim_last_error(w), "csim_world_take_back") != NULL);
    STATUS(csim_world_take_back(w, NULL, size), CSIM_NULL_ARGUMENT);
    CHECK(strstr(csim_last_error(w), "csim_world_take_back") != NULL);
    small = size - 1;
    STATUS(csim_world_keep(w, kept, &small), CSIM_CAPACITY);
    CHECK(csim_world_hash(w) == later);
    for (k = 0; k < 3; k++) { /* again and again, a body more in between too */
        csim_body_id id;
        STATUS(csim_world_take_back(w, kept, size), CSIM_OK);
        CHECK(csim_world_hash(w) == hash);
        STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
        CHECK(csim_world_hash(w) == later);
        if (k == 1) STATUS(csim_create_ground(w, csim_v3(0, 0, -9), csim_v3(0, 0, 1), 1, &id), CSIM_OK);
    }
    free(kept);
    free(saved);
    csim_destroy_world(w);
    csim_destroy_world(other);
}

static bool ray_down(const csim_world *w, csim_real x, csim_body_id expected) {
    csim_query_hit hit;
    return csim_world_cast_ray(w, NULL, csim_v3(x, 0, 9), csim_v3(0, 0, -20), &hit) && hit.body.index1 == expected.index1;
}

/* Rays find bodies where they were, whatever moved, came, went, grew or was switched off since. */
TEST(rays_see_what_is_taken_back) {
    const csim_shape ball = csim_sphere(CSIM_R(0.3)), large = csim_sphere(3);
    csim_pose far = csim_pose_identity();
    int change;
    for (change = 0; change < 6; change++) {
        csim_world *w = NULL;
        csim_body_id id[2], more;
        csim_rigid_def d = csim_default_rigid_def();
        size_t size = 0;
        void *kept;
        int k;
        CASE("change %d", change);
        STATUS(csim_create_world(NULL, &w, NULL), CSIM_OK);
        d.shapes = &ball, d.shape_count = 1;
        for (k = 0; k < 2; k++) {
            d.pose.position.x = CSIM_R(4.0 * k);
            STATUS(csim_create_rigid(w, &d, id + k), CSIM_OK);
        }
        STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
        STATUS(csim_world_keep(w, NULL, &size), CSIM_OK);
        kept = malloc(size);
        REQUIRE(kept);
        STATUS(csim_world_keep(w, kept, &size), CSIM_OK);
        far.position = csim_v3(20, 0, 0);
        d.pose = far;
        if (change == 0) STATUS(csim_body_set_pose(w, id[1], far), CSIM_OK);
        if (change == 1) STATUS(csim_destroy_body(w, id[1]), CSIM_OK);
        if (change == 2) STATUS(csim_create_rigid(w, &d, &more), CSIM_OK);
        if (change == 3) STATUS(csim_body_set_shape(w, id[1], 0, &large), CSIM_OK);
        if (change == 4) STATUS(csim_body_set_shape_enabled(w, id[1], 0, false), CSIM_OK);
        if (change == 5) {
            STATUS(csim_destroy_body(w, id[1]), CSIM_OK);
            STATUS(csim_create_rigid(w, &d, &more), CSIM_OK);
        }
        STATUS(csim_world_take_back(w, kept, size), CSIM_OK);
        CHECK(ray_down(w, 0, id[0]) && ray_down(w, 4, id[1]));
        CHECK(!csim_world_ray_meets(w, NULL, csim_v3(20, 0, 9), csim_v3(0, 0, -20)));
        CHECK(!csim_world_ray_meets(w, NULL, csim_v3(6, 0, 9), csim_v3(0, 0, -20)));
        free(kept);
        csim_destroy_world(w);
    }
}

/* Sizes are counted in ints: every capacity of the documented range is laid out or refused, whatever the others are. */
TEST(capacities_that_ints_cannot_count_are_refused) {
    int i, laid = 0, refused = 0;
    for (i = 0; i < 20000; i++) {
        csim_world_def d = csim_default_world_def();
        size_t bytes = 0;
        csim_status status;
        int *field = (int *)&d.capacity, k;
        for (k = 0; k < (int)(sizeof d.capacity / sizeof(int)); k++)
            field[k] = (int)pow(10, (double)check_random(0, CSIM_R(7.69))) - 1;
        d.can_sleep = i % 2 != 0;
        d.budget = i % 3 == 0 ? 1000 : 0;
        status = csim_world_bytes(&d, &bytes, NULL);
        laid += status == CSIM_OK;
        refused += status == CSIM_OUT_OF_RANGE;
        CHECK(status == CSIM_OK || status == CSIM_OUT_OF_RANGE);
        if (status == CSIM_OK) CHECK(bytes > sizeof(csim_real) * 4 * (size_t)d.capacity.nodes);
    }
    CHECK(laid > 100 && refused > 100);
}
