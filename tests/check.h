/* check.h: the test harness. One test program is one file:

       #include "check.h"                  brings condsim.h with its private functions

   With CONDSIM_LINKED (the Makefile) the bodies come from the library of the parts that every program shares; otherwise
   the program has its own. A test of functions that are static to a part includes that part after check.h, under #ifdef
   CONDSIM_LINKED: its copy takes the place of the library's.

       TEST(box_slides_3) {                registers itself; runs in the order of the file
           CASE("mu = %g", mu);            said with every failure until the next CASE
           CHECK(count == 4);              a condition
           NEAR(x, 1.5, TOL(1e-12, 1e-5)); |x - 1.5| <= tolerance; prints both values and the difference
           EQUAL(count, 4);                integers, with both values printed
           STATUS(csim_f(...), CSIM_OK);   a status, with its sentence printed
           REQUIRE(p != NULL);             like CHECK, and leaves the test when it fails
           FIGURE("sag_off", off);         says sag_off=... for a page, with CONDSIM_FIGURES=1 (make figures)
       }
       DOUBLE_TEST(name) {...}             what only double resolves: say why in a comment
       LONG_TEST(name) {...}               only with CONDSIM_LONG=1 in the environment (make long), which check_long() tells
       LONG_IN_FLOAT(name) {...}           so in float: seconds, and the same code as in double
       SLOW_TEST(name) {...}               many seconds: --slow (make check) runs these alone, CONDSIM_SLOW=1 these too, or ask for its name
       SLOW_IN_FLOAT(name) {...}           such a one in float alone
       SLOW_LONG_IN_FLOAT(name) {...}      such a one in double; in float only with CONDSIM_LONG=1
       NEEDS("../shared/file", name) {...} only with --shared (make test-shared), which names the file when it is not there

   TOL(double build, float build) picks a tolerance; say beside it why it has its size. check_random(lo, hi) draws
   numbers that are the same in every run. Command line: parts of test names to run; --list; -q (failures and slow
   tests only); --first (up to the first that fails). Programs run from the root of the project. The last line is
   "N passed, N failed". C99 and C++11; registration needs gcc or clang in C. */
#ifndef CHECK_H
#define CHECK_H

#if defined(CONDSIM_LINKED) && !defined(CHECK_NO_LIBRARY)
#define CHECK_NO_BODIES
#define CSIMI_KEEP_MACROS
#include <assert.h>
#include "../amalgamate/parts/io/mesh.h"
#include "../amalgamate/parts/io/stb_ds.h"
#include "../amalgamate/parts/io/private.h"
#include "../amalgamate/parts/world/private.h"
#include "../amalgamate/parts/world/cable.h"
#include "../amalgamate/parts/solve/reference.h"
#endif

#if !defined(CHECK_NO_LIBRARY) && !defined(CHECK_NO_BODIES)
#ifndef CSIMI_KEEP_MACROS
#define CSIMI_KEEP_MACROS /* leaves CSIMI_EPS, CSIMI_PUSH ... defined for the tests */
#endif
#ifndef CONDSIM_IMPLEMENTATION
#define CONDSIM_IMPLEMENTATION
#endif
#ifndef CONDSIM_STATIC
#define CONDSIM_STATIC /* the compiler drops what a test does not use: compiles in half the time */
#endif
#ifndef CONDSIM_ASSERT
#include <assert.h>
#define CONDSIM_ASSERT(x) assert(x) /* the library's own invariants are checked in every test */
#endif
#include "../condsim.h"
#endif

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__GNUC__) || defined(__clang__)
#define CHECK_MAYBE_UNUSED __attribute__((unused))
#define CHECK_FORMAT(a, b) __attribute__((format(printf, a, b)))
#else
#define CHECK_MAYBE_UNUSED
#define CHECK_FORMAT(a, b)
#endif

typedef struct check_test {
    const char *name;
    void (*run)(void);
    int line, longer; /* longer: 1 asks for CONDSIM_LONG=1, 2 for that or --slow */
    const char *needs;
    struct check_test *next;
} check_test;

static struct {
    check_test *first;
    const char *running;
    char subcase[256];
    long failures, checks; /* of the running test */
    uint64_t random;
} check;

/* Constructors of one file run in any order: the list is kept sorted by line. */
static void check_register(check_test *test) {
    check_test **at = &check.first;
    while (*at && (*at)->line < test->line) at = &(*at)->next;
    test->next = *at;
    *at = test;
}

#ifdef __cplusplus
#define CHECK_TEST(name, longer, needs)                                                             \
    static void test_##name(void);                                                                  \
    static check_test check_data_##name = {#name, test_##name, __LINE__, longer, needs, NULL};      \
    static const struct check_enter_##name {                                                        \
        check_enter_##name() { check_register(&check_data_##name); }                                \
    } check_entered_##name;                                                                         \
    static void test_##name(void)
#else
#define CHECK_TEST(name, longer, needs)                                                                       \
    static void test_##name(void);                                                                            \
    static check_test check_data_##name = {#name, test_##name, __LINE__, longer, needs, NULL};                \
    __attribute__((constructor)) static void check_enter_##name(void) { check_register(&check_data_##name); } \
    static void test_##name(void)
#endif
#define TEST(name) CHECK_TEST(name, 0, NULL)
#define LONG_TEST(name) CHECK_TEST(name, 1, NULL)
#define NEEDS(file, name) CHECK_TEST(name, 0, file)
#define LONG_IN_FLOAT(name) CHECK_TEST(name, CSIM_REAL_SIZE == 4, NULL)
#define SLOW_TEST(name) CHECK_TEST(name, 2, NULL)
#define SLOW_IN_FLOAT(name) CHECK_TEST(name, CSIM_REAL_SIZE == 4 ? 2 : 0, NULL)
#define SLOW_LONG_IN_FLOAT(name) CHECK_TEST(name, CSIM_REAL_SIZE == 4 ? 1 : 2, NULL)
#ifdef CONDSIM_FLOAT
#define DOUBLE_TEST(name) CHECK_MAYBE_UNUSED static void test_##name(void)
#else
#define DOUBLE_TEST(name) TEST(name)
#endif

CHECK_MAYBE_UNUSED CHECK_FORMAT(1, 2) static void check_case(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(check.subcase, sizeof check.subcase, format, list);
    va_end(list);
}

/* Counts a check; says where it failed. True when the caller should print more. */
CHECK_MAYBE_UNUSED static bool check_failed(bool ok, const char *file, int line, const char *text) {
    ++check.checks;
    if (ok) return false;
    if (++check.failures > 20) return false; /* a broken loop should not fill the screen */
    printf("%s:%d: %s: %s", file, line, check.running, text);
    if (check.subcase[0]) printf(" [%s]", check.subcase);
    printf("\n");
    return true;
}

CHECK_MAYBE_UNUSED static bool check_near(double x, double y, double tolerance, const char *file, int line,
                                          const char *text) {
    const double difference = x > y ? x - y : y - x;
    const bool ok = difference <= tolerance || (x <= y && x >= y); /* the second: equal infinities */
    if (check_failed(ok, file, line, text))
        printf("    %.17g and %.17g differ by %.3g, allowed %.3g\n", x, y, difference, tolerance);
    return ok;
}

CHECK_MAYBE_UNUSED static bool check_equal(long long x, long long y, const char *file, int line, const char *text) {
    if (check_failed(x == y, file, line, text)) printf("    %lld and %lld\n", x, y);
    return x == y;
}

static bool check_asked(const char *variable) {
    const char *text = getenv(variable);
    return text && strcmp(text, "1") == 0;
}

CHECK_MAYBE_UNUSED static bool check_long(void) { return check_asked("CONDSIM_LONG"); }

/* Uniform in [low, high), from a xorshift that every test starts anew. */
CHECK_MAYBE_UNUSED static double check_random(double low, double high) {
    check.random ^= check.random << 13;
    check.random ^= check.random >> 7;
    check.random ^= check.random << 17;
    return low + (high - low) * ((double)(check.random >> 11) / 9007199254740992.0);
}

#define CASE(...) check_case(__VA_ARGS__)
#define CHECK(condition) ((void)check_failed((condition), __FILE__, __LINE__, #condition))
#define NEAR(x, y, tolerance) \
    ((void)check_near((double)(x), (double)(y), (double)(tolerance), __FILE__, __LINE__, #x " near " #y))
#define EQUAL(x, y) ((void)check_equal((long long)(x), (long long)(y), __FILE__, __LINE__, #x " == " #y))
#define REQUIRE(condition)                                            \
    do {                                                              \
        const bool check_ok = (condition);                            \
        (void)check_failed(check_ok, __FILE__, __LINE__, #condition); \
        if (!check_ok) return;                                        \
    } while (0)
#ifdef CONDSIM_FLOAT
#define TOL(for_double, for_float) (for_float)
#else
#define TOL(for_double, for_float) (for_double)
#endif

/* A figure of a page: of one key the largest counts. */
CHECK_MAYBE_UNUSED static void check_figure(const char *key, double value) {
    if (check_asked("CONDSIM_FIGURES")) printf("\n%s=%.9g\n", key, value < 0 ? -value : value);
}
#define FIGURE(key, value) check_figure(key, (double)(value))

#ifndef CHECK_NO_LIBRARY
CHECK_MAYBE_UNUSED static bool check_status(csim_status status, csim_status wanted, const char *file, int line,
                                            const char *text) {
    if (check_failed(status == wanted, file, line, text))
        printf("    status %d (%s), wanted %d\n", (int)status, csim_status_text(status), (int)wanted);
    return status == wanted;
}
#define STATUS(call, wanted) ((void)check_status((call), (wanted), __FILE__, __LINE__, #call " is " #wanted))
#endif

static bool check_wanted(const check_test *test, bool shared, bool slow, int argc, char **argv) {
    int i, filters = 0;
    if ((test->needs != NULL) != shared || (slow && test->longer != 2)) return false;
    if (test->longer == 1 && !check_long()) return false;
    for (i = 1; i < argc; ++i) {
        if (argv[i][0] == '-') continue;
        ++filters;
        if (strstr(test->name, argv[i])) return true;
    }
    return filters == 0 && (test->longer != 2 || slow || check_long() || check_asked("CONDSIM_SLOW"));
}

static bool check_there(const check_test *test) {
    FILE *file = test->needs ? fopen(test->needs, "rb") : NULL;
    if (file) fclose(file);
    return file || !test->needs;
}

int main(int argc, char **argv) {
    int passed = 0, failed = 0, lacking = 0, i;
    bool quiet = false, list = false, shared = false, slow = false, first = false;
    check_test *test;
    for (i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--list") == 0)
            list = true;
        else if (strcmp(argv[i], "-q") == 0)
            quiet = true;
        else if (strcmp(argv[i], "--shared") == 0)
            shared = true;
        else if (strcmp(argv[i], "--slow") == 0)
            slow = true;
        else if (strcmp(argv[i], "--first") == 0)
            first = true;
        else if (argv[i][0] == '-') {
            printf("usage: %s [-q] [--list] [--shared] [--slow] [--first] [part of a test name ...]\n", argv[0]);
            return 2;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 1024); /* keeps what was said when a test crashes */
    for (test = check.first; test && !(first && failed); test = test->next) {
        clock_t start = clock();
        double ms;
        if (!check_wanted(test, shared, slow, argc, argv)) continue;
        if (list) {
            printf("%s\n", test->name);
            continue;
        }
        if (!check_there(test)) {
            printf("lacks %s: %s\n", test->needs, test->name);
            ++lacking;
            continue;
        }
        check.running = test->name;
        check.subcase[0] = 0;
        check.failures = check.checks = 0;
        check.random = 0x9e3779b97f4a7c15u;
        test->run();
        if (!check.checks) check_failed(false, __FILE__, test->line, "it checks nothing");
        ms = 1e3 * (double)(clock() - start) / CLOCKS_PER_SEC;
        if (check.failures)
            ++failed;
        else
            ++passed;
        if (check.failures || !quiet || ms > 500)
            printf("%s %8.1f ms %7ld checks  %s\n", check.failures ? "FAIL" : "ok  ", ms, check.checks, test->name);
    }
    if (list) return 0;
    if (lacking) printf("%d not run\n", lacking);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

#endif
