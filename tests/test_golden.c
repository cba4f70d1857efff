/* The same bits, whatever runs them: the state of a scene after some steps, hashed, against tests/golden.txt; then run
   again with a hook that shuffles the tasks, in one block of fixed memory, and with every tenth step taken twice from a
   saved state. The library's own sine and exponential make the number the same on every machine with IEEE arithmetic
   and low bytes first; -ffp-contract=off where the machine has fused multiply-add.

   GOLDEN=long   takes the long runs of the table; tests/audit.sh does so with many compilers
   GOLDEN=print  prints the lines of tests/golden.txt and compares with nothing: `make golden` */
#ifndef CONDSIM_OWN_MATH
#define CONDSIM_OWN_MATH
#endif
#include "check.h"

/* ---- the scenes, with worlds made in the way that the test wants */

typedef struct golden_way {
    bool shuffled, fixed, again;
    bool bounded; /* frames of fixed work, whose lines of the table say so */
    csim_capacity used; /* of an earlier run: the size of the block */
    void *block;
} golden_way;
static golden_way golden;

static csim_status golden_create_world(const csim_world_def *given, csim_world **world, csim_error *error) {
    csim_world_def def = *given;
    size_t bytes = 0;
    csim_status status;
    if (!golden.fixed) return csim_create_world(given, world, error);
    def.capacity = golden.used;
    if ((status = csim_world_bytes(&def, &bytes, error)) != CSIM_OK) return status;
    golden.block = malloc(bytes + 64);
    if (!golden.block) return CSIM_OUT_OF_MEMORY;
    return csim_create_world_in(&def, (char *)golden.block + (64 - (uintptr_t)golden.block % 64), bytes, world, error);
}
#undef csim_create_world
#define csim_create_world golden_create_world
#include "../examples/scenes/all.h"

/* The ranges in an order that is neither up nor down. */
static void golden_shuffle(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    static const int prime[] = {5, 7, 11, 13, 17, 19, 23, 29};
    long *calls = (long *)user;
    int ranges = (count + grain - 1) / grain, stride = 1, i;
    for (i = 0; i < 8; i++)
        if (ranges % prime[i]) stride = prime[i];
    for (i = 0; i < ranges; i++) {
        int k = (int)(((long)i * stride + *calls) % ranges), begin = k * grain;
        fn(context, begin, count - begin < grain ? count : begin + grain);
    }
    ++*calls;
}

/* ---- one run */

static void golden_again(scene *s, void *saved, size_t bytes) {
    uint64_t first = csim_world_hash(s->world);
    int step = s->step;
    CHECK(csim_world_restore(s->world, saved, bytes) == CSIM_OK);
    s->step--;
    CHECK(scene_step(s));
    CASE("step %d taken again from the saved state", step);
    CHECK(csim_world_hash(s->world) == first);
    CASE("%s", "");
}

static void *golden_save(scene *s, size_t *bytes) {
    void *saved;
    csim_world_save(s->world, NULL, bytes);
    saved = malloc(*bytes);
    CHECK(saved && csim_world_save(s->world, saved, bytes) == CSIM_OK);
    return saved;
}

/* Hash after the steps; golden says how they are taken. 0: it failed. */
static uint64_t golden_run(const char *name, int size, int steps) {
    scene_options options = scene_default_options();
    char why[SCENE_TEXT] = "";
    uint64_t hash = 0;
    long calls = 0;
    scene *s;
    options.steps = steps;
    options.size = size;
    if (golden.bounded) options.mode = 2;
    if (golden.shuffled) options.tasks.run = golden_shuffle, options.tasks.user = &calls;
    s = scene_open(name, &options, why, sizeof why);
    if (!s) printf("%s: %s\n", name, why);
    while (s && s->step < s->steps) {
        size_t bytes = 0;
        bool again = golden.again && s->step % 10 == 9;
        void *saved = again ? golden_save(s, &bytes) : NULL;
        if (!scene_step(s)) break;
        if (again) golden_again(s, saved, bytes);
        free(saved);
    }
    if (s && s->failed) printf("%s: %s\n", name, s->error);
    if (s && s->step == steps) hash = csim_world_hash(s->world);
    if (s) golden.used = csim_world_used(s->world);
    scene_close(s);
    free(golden.block);
    golden.block = NULL;
    CHECK(!golden.shuffled || calls > 0);
    return hash;
}

/* ---- the table */

static const char *golden_real(void) { return sizeof(csim_real) == 8 ? "double" : "float"; }

static bool golden_low_byte_first(void) {
    const int one = 1;
    return *(const char *)&one == 1;
}

static uint64_t golden_committed(const char *name, int steps) {
    FILE *file = fopen("tests/golden.txt", "r");
    char line[200], scene[40], real[20];
    unsigned long long hash, found = 0;
    int n;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%39s %d %19s %llx", scene, &n, real, &hash) == 4 && !strcmp(scene, name) && n == steps &&
            !strcmp(real, golden_real()))
            found = hash;
    if (file) fclose(file);
    return found;
}

static void golden_compare(const char *name, int steps, uint64_t hash) {
    const char *mode = getenv("GOLDEN");
    uint64_t wanted = golden_committed(name, steps);
    if (mode && strcmp(mode, "print") == 0) {
        printf("%s %d %s %016llx\n", name, steps, golden_real(), (unsigned long long)hash);
        return;
    }
    if (!golden_low_byte_first()) return; /* the bytes of the state are hashed as they lie */
    CASE("%s, %d steps, %s: %016llx, tests/golden.txt says %016llx; if the change is meant: make golden", name, steps,
         golden_real(), (unsigned long long)hash, (unsigned long long)wanted);
    CHECK(hash == wanted);
    CASE("%s", "");
}

/* size 0: the scene has none. */
static void golden_in(bool bounded, const char *name, int size, int steps) {
    uint64_t hash;
    char line[40];
    memset(&golden, 0, sizeof golden);
    golden.bounded = bounded;
    snprintf(line, sizeof line, "%s%s", name, bounded ? "-bounded" : "");
    hash = golden_run(name, size, steps);
    CHECK(hash != 0);
    golden_compare(line, steps, hash);
    golden.shuffled = true;
    CASE("%s, %d steps: shuffled tasks", name, steps);
    CHECK(golden_run(name, size, steps) == hash);
    golden.shuffled = false;
    golden.fixed = !bounded; /* bounded scenes reserve more than they have, which a block refuses */
    CASE("%s, %d steps: a block of fixed memory", name, steps);
    if (golden.fixed) CHECK(golden_run(name, size, steps) == hash);
    golden.fixed = false;
    golden.again = true;
    CHECK(golden_run(name, size, steps) == hash);
}

static void golden_scene(const char *name, int size, int steps) { golden_in(false, name, size, steps); }

static bool golden_long(void) { return getenv("GOLDEN") && strcmp(getenv("GOLDEN"), "long") == 0; }
static bool golden_print(void) { return getenv("GOLDEN") && strcmp(getenv("GOLDEN"), "print") == 0; }

TEST(golden_mix) { /* every kind of body, link and shape */
    if (!golden_long() || golden_print()) golden_scene("mix", 0, 100);
    if (golden_long() || golden_print()) golden_scene("mix", 0, 1000);
}

TEST(golden_grip) { /* large enough for loops of several ranges, coarse correction and Anderson */
    if (!golden_long() || golden_print()) golden_scene("ball-grip", 5, 20);
    if (golden_long() || golden_print()) golden_scene("ball-grip", 8, 60);
}

TEST(golden_house) { /* rigid bodies alone */
    if (!golden_long() || golden_print()) golden_scene("card-house", 0, 20);
    if (golden_long() || golden_print()) golden_scene("card-house", 0, 200);
}

TEST(golden_everything) { /* trees, cables, cloth, solids and the rest in one island */
    golden_scene("everything", 0, 24);
}

TEST(golden_reduced) { /* modes made on the spot, bodies of them, rigid ones */
    if (!golden_long() || golden_print()) golden_scene("reduced", 2, 60);
    if (golden_long() || golden_print()) golden_scene("reduced", 2, 300);
}

TEST(golden_bounded) { /* the same bodies in frames of fixed work; crates on hills, a blade and a lift */
    golden_in(true, "everything", 0, 24);
    golden_in(true, "crates", 30, 60);
}
