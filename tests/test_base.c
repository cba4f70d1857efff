/* base: failures in words, memory, loops and sums. */
#include "check.h"

TEST(status_text_of_every_status) {
    int s;
    for (s = CSIM_OK; s > CSIM_STATUS_LAST_; --s) {
        CASE("status %d", s);
        CHECK(strlen(csim_status_text((csim_status)s)) > 10);
        CHECK(strstr(csim_status_text((csim_status)s), "not a status") == NULL);
    }
    CHECK(strstr(csim_status_text(CSIM_STATUS_LAST_), "not a status") != NULL);
    CHECK(strstr(csim_status_text((csim_status)77), "not a status") != NULL);
}

/* Against the floor of numbers small enough, and what no int holds: those end at a bound. */
TEST(no_number_out_of_range_becomes_an_index) {
    const csim_real zero = 0, one = 1, infinite = one / zero, most = CSIM_R(1e30);
    int i;
    for (i = 0; i < 1000; ++i) {
        const double x = check_random(0, 40);
        int k = (int)floor((double)CSIM_R(x));
        CASE("%.17g", x);
        EQUAL(csimi_cut(CSIM_R(x), 3, 30), k < 3 ? 3 : k > 30 ? 30 : k);
        EQUAL(csimi_cut(CSIM_R(-x), -30, -3), -k < -30 ? -30 : -k > -3 ? -3 : -k);
    }
    EQUAL(csimi_cut(zero / zero, 3, 30), 3);
    EQUAL(csimi_cut(infinite, 3, 30), 30);
    EQUAL(csimi_cut(-infinite, 3, 30), 3);
    EQUAL(csimi_cut(most, -INT32_MAX, INT32_MAX), INT32_MAX);
    EQUAL(csimi_cut(-most, -INT32_MAX, INT32_MAX), -INT32_MAX);
}

TEST(finite_reads_bits) {
    const csim_real zero = 0, one = 1, infinite = one / zero;
    csim_real x[37];
    int i;
    CHECK(csimi_finite(0) && csimi_finite(-1) && csimi_finite(CSIMI_HUGE) && csimi_finite(CSIMI_TINY));
    CHECK(!csimi_finite(infinite) && !csimi_finite(-infinite) && !csimi_finite(zero / zero));
    for (i = 0; i < 37; ++i) x[i] = (csim_real)i;
    CHECK(csimi_all_finite(x, 37) && csimi_all_finite(x, 0));
    for (i = 0; i < 37; ++i) {
        CASE("bad at %d", i);
        x[i] = i % 2 ? infinite : zero / zero;
        CHECK(!csimi_all_finite(x, 37) && csimi_all_finite(x, i));
        x[i] = 0;
    }
}

/* the C library is the judge; it writes e+06 where we write e+6 */
static void say_real(double value) {
    char ours[64], theirs[64];
    double back;
    csimi_append_real(ours, sizeof ours, 0, value);
    snprintf(theirs, sizeof theirs, "%g", value);
    back = strtod(ours, NULL);
    CASE("%s, printf says %s", ours, theirs);
    NEAR(back, strtod(theirs, NULL), 1.01e-5 * (value < 0 ? -value : value)); /* last digit may round either way */
    CHECK((strchr(ours, 'e') != NULL) == (strchr(theirs, 'e') != NULL));
    CHECK(strlen(ours) <= strlen(theirs));
}

TEST(append_real_like_printf) {
    static const double exact[] = {0,      1,          -1.5, 123456, 999999, 1e6,  1234567,
                                   0.0001, 0.00012345, 1e-5, 100,    1e5,    3e22, -2.5e-7};
    size_t i;
    int n, e;
    for (i = 0; i < sizeof exact / sizeof *exact; ++i) {
        char ours[64], theirs[64];
        csimi_append_real(ours, sizeof ours, 0, exact[i]);
        snprintf(theirs, sizeof theirs, "%g", exact[i]);
        CASE("%s, printf says %s", ours, theirs);
        CHECK(strtod(ours, NULL) == strtod(theirs, NULL)); /* six digits decide the same number */
        say_real(exact[i]);
    }
    for (e = -300; e <= 300; e += 7) {
        double scale = 1;
        for (n = 0; n < (e < 0 ? -e : e); ++n) scale *= e < 0 ? 0.1 : 10;
        for (n = 0; n < 20; ++n) say_real(check_random(-1, 1) * scale);
    }
    say_real(4.9406564584124654e-324);
    say_real(1.7976931348623157e308);
}

TEST(append_never_overruns) {
    char buffer[16];
    size_t capacity, length;
    for (capacity = 0; capacity < 12; ++capacity) {
        memset(buffer, '#', sizeof buffer);
        length = csimi_append_text(buffer, capacity, 0, "gap ");
        length = csimi_append_int(buffer, capacity, length, -1234567);
        length = csimi_append_real(buffer, capacity, length, 3.25);
        CASE("capacity %d", (int)capacity);
        CHECK(buffer[capacity] == '#');
        EQUAL(length, capacity ? capacity - 1 : 0);
        if (capacity) EQUAL(strlen(buffer), capacity - 1);
    }
    length = csimi_append_int(buffer, sizeof buffer, 0, -2147483647L - 1);
    CHECK(strcmp(buffer, "-2147483648") == 0 && length == 11);
}

TEST(fail_makes_a_sentence) {
    csim_error e;
    STATUS(csimi_fail(&e, CSIM_OUT_OF_RANGE, "csim_f", "def.mass", -3, "> 0 kg"), CSIM_OUT_OF_RANGE);
    CHECK(strcmp(e.text, "csim_f: def.mass is -3; allowed: > 0 kg") == 0);
    STATUS(e.status, CSIM_OUT_OF_RANGE);
    csimi_deny(&e, CSIM_NULL_ARGUMENT, "csim_f", "out", NULL);
    CHECK(strcmp(e.text, "csim_f: out: a pointer that must not be null is null") == 0);
    csimi_deny(&e, CSIM_LOCKED, "csim_f", NULL, NULL);
    CHECK(strncmp(e.text, "csim_f: the world", 17) == 0);
    STATUS(csimi_deny(NULL, CSIM_LOCKED, "csim_f", NULL, NULL), CSIM_LOCKED);
}

/* ---- memory */

static size_t lay_out(csimi_arena *arena, double **x, char **c) {
    *x = CSIMI_PUSH(arena, double, 100);
    *c = CSIMI_PUSH(arena, char, 7);
    return arena->high;
}

TEST(arena_counts_what_it_lays_out) {
    static unsigned char memory[2048];
    csimi_arena count = csimi_arena_counting(), real;
    double *x;
    char *c;
    unsigned char *base = memory + (64 - (uintptr_t)memory % 64) % 64;
    const size_t bytes = lay_out(&count, &x, &c);
    CHECK(x == NULL && c == NULL && !count.overflow);
    EQUAL(bytes, 832 + 64);
    real = csimi_arena_in(base, bytes);
    EQUAL(lay_out(&real, &x, &c), bytes);
    CHECK((unsigned char *)x == base && (unsigned char *)c == base + 832 && !real.overflow);
    csimi_pop(&real, 832);
    CHECK(CSIMI_PUSH(&real, char, 64) == c);
    CHECK(CSIMI_PUSH(&real, char, 1) == NULL && real.overflow);
    csimi_pop(&real, 0);
    CHECK(CSIMI_PUSH(&real, char, 1) == NULL && real.overflow); /* sticky */
    real = csimi_arena_in(base, bytes - 1);
    EQUAL(lay_out(&real, &x, &c), bytes); /* an overflow still says how much is needed */
    CHECK(real.overflow && x && !c);
    real = csimi_arena_in(base + 1, 200); /* starts at the next line of 64: 137 bytes are left */
    CHECK(CSIMI_PUSH(&real, char, 128) == (char *)base + 64 && !real.overflow);
    CHECK(CSIMI_PUSH(&real, char, 1) == NULL);
}

TEST(arena_refuses_sizes_that_overflow) {
    static unsigned char memory[256];
    csimi_arena arena = csimi_arena_in(memory, sizeof memory);
    csimi_arena count = csimi_arena_counting();
    csimi_arena none = csimi_arena_in(NULL, 100);
    CHECK(csimi_push(&arena, SIZE_MAX / 2, 3) == NULL && arena.overflow);
    csimi_push(&count, SIZE_MAX, 1);
    CHECK(count.overflow);
    count = csimi_arena_counting();
    csimi_push(&count, SIZE_MAX - 100, 1);
    csimi_push(&count, 100, 1);
    CHECK(count.overflow);
    CHECK(csimi_push(&none, 1, 1) == NULL && none.overflow);
}

typedef struct probe {
    size_t held, calls, shift;
    unsigned char memory[4096];
} probe;

static void *probe_alloc(void *user, size_t size, size_t align) {
    probe *p = (probe *)user;
    unsigned char *base = p->memory + (align - (uintptr_t)p->memory % align) % align;
    p->held += size;
    ++p->calls;
    return size > 1000 ? NULL : base + p->shift;
}
static void probe_free(void *user, void *block, size_t size) {
    (void)block;
    ((probe *)user)->held -= size;
}

TEST(heap_keeps_its_limits) {
    csimi_heap heap;
    static probe p;
    void *a, *b;
    memset(&heap, 0, sizeof heap);
    a = csimi_heap_alloc(&heap, 1000);
    b = csimi_heap_alloc(&heap, 0);
#ifndef CONDSIM_NO_HEAP
    REQUIRE(a && b);
    CHECK((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0 && a != b);
    memset(a, 1, 1000);
    EQUAL(heap.calls, 2);
#endif
    csimi_heap_free(&heap, a, 1000);
    csimi_heap_free(&heap, b, 0);
    csimi_heap_free(&heap, NULL, 5);
    EQUAL(heap.held, 0);
    CHECK(csimi_heap_alloc(&heap, SIZE_MAX) == NULL && csimi_heap_alloc(&heap, SIZE_MAX - 40) == NULL);
    EQUAL(heap.held, 0);

    memset(&heap, 0, sizeof heap);
    heap.hooks.alloc = probe_alloc;
    heap.hooks.free = probe_free;
    heap.hooks.user = &p;
    heap.hooks.byte_limit = 800;
    heap.hooks.allocation_limit = 3;
    a = csimi_heap_alloc(&heap, 500);
    CHECK(a && p.calls == 1 && p.held == 500);
    CHECK(csimi_heap_alloc(&heap, 301) == NULL && p.calls == 1);
    csimi_heap_free(&heap, a, 500);
    EQUAL(p.held, 0);
    p.shift = 8; /* a hook that ignores the alignment */
    CHECK(csimi_heap_alloc(&heap, 100) == NULL && p.held == 0);
    p.shift = 0;
    CHECK(csimi_heap_alloc(&heap, 100) != NULL && p.calls == 3);
    CHECK(csimi_heap_alloc(&heap, 100) == NULL && p.calls == 3);
}

/* ---- loops and sums */

static struct { int begin[4096], end[4096], count; } seen;

static void see(void *context, int begin, int end) {
    (void)context;
    seen.begin[seen.count] = begin;
    seen.end[seen.count++] = end;
}

static void run_backwards(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    int begin = (count - 1) / grain * grain;
    ++*(int *)user;
    for (; begin >= 0; begin -= grain) fn(context, begin, begin + grain < count ? begin + grain : count);
}

TEST(parallel_cuts_the_same_ranges) {
    static const int counts[] = {0, 1, 63, 64, 65, 1000, 4096};
    int used = 0, k, hook, i;
    csim_tasks tasks;
    tasks.run = run_backwards;
    tasks.user = &used;
    for (k = 0; k < 7; ++k) {
        for (hook = 0; hook < 2; ++hook) {
            int covered = 0;
            seen.count = 0;
            csimi_parallel(hook ? &tasks : NULL, counts[k], 64, see, NULL);
            CASE("count %d, hook %d", counts[k], hook);
            EQUAL(seen.count, (counts[k] + 63) / 64);
            for (i = 0; i < seen.count; ++i) {
                EQUAL(seen.begin[i] % 64, 0);
                CHECK(seen.end[i] > seen.begin[i] && seen.end[i] - seen.begin[i] <= 64 && seen.end[i] <= counts[k]);
                covered += seen.end[i] - seen.begin[i];
            }
            EQUAL(covered, counts[k]);
        }
    }
    EQUAL(used, 3); /* counts above one grain */
    seen.count = 0;
    csimi_parallel(NULL, 2147483647, 1 << 30, see, NULL);
    EQUAL(seen.end[seen.count - 1], 2147483647);
    EQUAL(seen.count, 2);
}

enum { SUM_MAX = 5 * CSIMI_CHUNK + 77 };
static csim_real sum_a[SUM_MAX], sum_b[SUM_MAX], sum_w[SUM_MAX];

TEST(sums_agree_with_long_double) {
    static const int counts[] = {0, 1, 7, 8, 9, 1023, 1024, 1025, 3 * 1024, SUM_MAX};
    int k, i;
    for (i = 0; i < SUM_MAX; ++i) {
        sum_a[i] = (csim_real)check_random(-1, 1);
        sum_b[i] = (csim_real)check_random(-1, 1);
        sum_w[i] = (csim_real)check_random(0, 2);
    }
    for (k = 0; k < 10; ++k) {
        long double dot = 0, weighted = 0, size = 0;
        for (i = 0; i < counts[k]; ++i) {
            const long double ab = (long double)sum_a[i] * sum_b[i];
            dot += ab;
            weighted += ab * sum_w[i];
            size += ab < 0 ? -ab : ab;
        }
        CASE("count %d", counts[k]);
        /* both builds add in double: 128 additions a lane and the tree above them */
        NEAR(csimi_sum_dot(counts[k], sum_a, sum_b), dot, 1e-16 * 140 * (double)size);
        NEAR(csimi_sum_weighted(counts[k], sum_w, sum_a, sum_b), weighted, 2e-16 * 140 * (double)size);
    }
}

/* Chunks summed apart, as threads would, and joined by csimi_tree_sum give the very same bits. */
TEST(sums_do_not_depend_on_who_adds) {
    double parts[6];
    int i, chunks;
    for (i = 0; i < SUM_MAX; ++i) {
        sum_a[i] = (csim_real)check_random(-1, 1);
        sum_b[i] = (csim_real)check_random(-1e3, 1e3);
    }
    for (chunks = 1; chunks <= 6; ++chunks) {
        const int count = chunks == 6 ? SUM_MAX : chunks * CSIMI_CHUNK;
        for (i = 0; i < chunks; ++i) {
            const int at = i * CSIMI_CHUNK, size = csimi_imin(CSIMI_CHUNK, count - at);
            parts[i] = csimi_sum_dot(size, sum_a + at, sum_b + at);
        }
        CASE("%d chunks", chunks);
        CHECK(csimi_tree_sum(chunks, parts) == csimi_sum_dot(count, sum_a, sum_b));
    }
    CHECK(csimi_tree_sum(0, parts) <= 0 && csimi_tree_sum(0, parts) >= 0);
}
