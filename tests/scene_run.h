/* scene_run: runs a scene to its end inside a test. After check.h and the files of scenes. */
#ifndef SCENE_RUN_H
#define SCENE_RUN_H

#include <math.h>

typedef struct run {
    scene *s;
    column_sums sums;
} run;

CHECK_MAYBE_UNUSED static bool long_runs(void) {
    return check_long();
}

/* Settings are words "key=value"; h, seconds, tolerance 0: the scene's. A failure is checked and leaves s null. */
static run run_with(const char *name, const char *settings, const scene_options *options) {
    scene_options o = *options;
    char text[256], why[SCENE_TEXT] = "", *word;
    run r;
    memset(&r, 0, sizeof r);
    snprintf(text, sizeof text, "%s", settings);
    for (word = strtok(text, " "); word; word = strtok(NULL, " ")) CHECK(scene_set(&o, word));
    r.s = scene_open(name, &o, why, sizeof why);
    if (!r.s) {
        CASE("%s %s: %s", name, settings, why);
        CHECK(r.s != NULL);
        return r;
    }
    while (r.s->step < r.s->steps && scene_step(r.s)) {
        csim_step_stats t = csim_world_stats(r.s->world);
        double value[COLUMN_COUNT];
        columns_of(r.s->world, &t, value);
        columns_add(&r.sums, &t, value);
    }
    scene_finish(r.s);
    CASE("%s %s: %s", name, settings, r.s->error);
    CHECK(!r.s->failed);
    return r;
}

static run run_scene(const char *name, const char *settings, double h, double seconds, double tolerance,
                     int integrator) {
    scene_options o = scene_default_options();
    o.h = h;
    o.seconds = seconds;
    o.tolerance = tolerance;
    o.integrator = integrator;
    return run_with(name, settings, &o);
}

static double figure(const run *r, const char *name) { return r->s ? scene_figure_of(r->s, name) : NAN; }

#endif
