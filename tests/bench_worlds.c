/* Many small worlds: a thousand of ten boxes fall and lie, stepped one by one and by one call, whose threads are given.
   With a number, that run alone: bench_worlds 2. Lines: way, threads, ms a step of all, the hash of all. */
#define _POSIX_C_SOURCE 200112L
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include "../examples/scenes/threads.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORLDS = 1000, BODIES = 10, STEPS = 60 };

static csim_world *worlds[WORLDS];
static csim_status status[WORLDS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static csim_world *make(int k) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def body = csim_default_rigid_def();
    csim_shape cube = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.2), CSIM_R(0.2)));
    csim_world *w = NULL;
    csim_body_id id;
    int i;
    def.solver.tolerance = CSIM_R(1e-3);
    if (csim_create_world(&def, &w, NULL) != CSIM_OK) exit(1);
    csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id);
    body.shapes = &cube, body.shape_count = 1;
    for (i = 0; i < BODIES; i++) {
        body.pose.position = csim_v3(CSIM_R(0.45) * (csim_real)(i % 3) + CSIM_R(0.001) * (csim_real)((i * k) % 97), 0,
                                     CSIM_R(0.3) + CSIM_R(0.45) * (csim_real)(i / 3));
        csim_create_rigid(w, &body, &id);
    }
    return w;
}

/* count 0: one by one. */
static void run(int count) {
    const csim_real h = CSIM_R(1) / 60;
    threads *t = count > 1 ? threads_open(count) : NULL;
    const csim_tasks tasks = threads_tasks(t);
    unsigned long long hash = 0;
    double from;
    int i, k;
    for (i = 0; i < WORLDS; i++) worlds[i] = make(i);
    from = now();
    for (k = 0; k < STEPS; k++) {
        for (i = 0; i < WORLDS && count == 0; i++) status[i] = csim_world_step(worlds[i], h);
        if (count > 0) csim_worlds_step(worlds, WORLDS, h, &tasks, status);
    }
    from = now() - from;
    for (i = 0; i < WORLDS; i++) {
        hash = hash * 31 + csim_world_hash(worlds[i]);
        csim_destroy_world(worlds[i]);
    }
    printf("%s,%d,%.3f,%016llx\n", count ? "one call" : "one by one", count ? count : 1, from / STEPS, hash);
    threads_close(t);
}

int main(int argc, char **argv) {
    int i;
    if (argc > 1) {
        run(atoi(argv[1]));
        return 0;
    }
    for (i = 0; i < 9; i++) run(i % 3);
    return 0;
}
