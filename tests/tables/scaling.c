/* How solvers grow with the problem, and how their work spreads over the steps of a run. */
#include "tables.h"
#include <stdio.h>

/* ---- iterations, time and memory over size */

enum { SIZES = 5, ENTRANTS = 5, LOOKS = 3 };

typedef struct entrant {
    const char *name;
    csim_solver solver;
    csim_acceleration acceleration;
    bool dense; /* through the full W */
} entrant;

typedef struct growth {
    const char *scene, *settings;
    bool cold; /* from zero: a stack at rest is solved by what it did before */
    int size[SIZES], step[LOOKS];
    entrant entrant[ENTRANTS];
} growth;

static const growth growths[2] = {{"soft-mat",
                                   "E=7.5e4 mu=0.3",
                                   false,
                                   {6, 9, 13, 18, 25},
                                   {40, 100, 160},
                                   {{"COND coarse", CSIM_SOLVER_COND, CSIM_ACCELERATION_AUTO, false},
                                    {"COND Chebyshev", CSIM_SOLVER_COND, CSIM_ACCELERATION_CHEBYSHEV, false},
                                    {"CCS", CSIM_SOLVER_CCS, CSIM_ACCELERATION_AUTO, false},
                                    {"PGS through W", CSIM_SOLVER_PGS, CSIM_ACCELERATION_AUTO, true},
                                    {"APGD through W", CSIM_SOLVER_APGD, CSIM_ACCELERATION_AUTO, true}}},
                                  {"stack",
                                   "",
                                   true,
                                   {5, 10, 20, 40, 80},
                                   {2, 6, 12},
                                   {{"SWEEP", CSIM_SOLVER_SWEEP, CSIM_ACCELERATION_AUTO, false},
                                    {"COND coarse", CSIM_SOLVER_COND, CSIM_ACCELERATION_AUTO, false},
                                    {"PGS", CSIM_SOLVER_PGS, CSIM_ACCELERATION_AUTO, false},
                                    {"APGD", CSIM_SOLVER_APGD, CSIM_ACCELERATION_AUTO, false},
                                    {"NEWTON", CSIM_SOLVER_NEWTON, CSIM_ACCELERATION_AUTO, false}}}};

typedef struct curve {
    double blocks[SIZES], figure[3][SIZES]; /* iterations, ms, kB */
    int count;
} curve;

static void growth_entrant(const growth *g, const entrant *e, capture **c, int n, curve *line) {
    csim_solver_params p = csim_default_solver_params();
    mean iterations, time, matrix, bytes, contacts, worst;
    int i;
    memset(&iterations, 0, sizeof iterations);
    time = matrix = bytes = contacts = worst = iterations;
    p.solver = e->solver;
    p.cond.acceleration = e->acceleration;
    p.max_iterations = 10000;
    p.tolerance = CSIM_R(1e-4);
    for (i = 0; i < n; i++) {
        answer a = g->cold ? capture_solve(c[i], &p, e->dense, true) : capture_certified(c[i], &p, e->dense, 1e-4);
        const double rows = 3 * capture_contacts(c[i]), W = e->dense ? 1e3 * capture_matrix_seconds(c[i]) : 0;
        mean_add(&iterations, a.iterations);
        mean_add(&matrix, W);
        mean_add(&time, 1e3 * a.seconds + W);
        mean_add(&bytes, ((double)a.outcome.bytes + (e->dense ? rows * rows * sizeof(csim_real) : 0)) / 1024);
        mean_add(&contacts, capture_contacts(c[i]));
        mean_add(&worst, answer_certificate(&a));
        answer_free(&a);
    }
    table_row("%s,%d,%.0f,%s,%.0f,%.0f to %.0f,%.3g,%.3g,%.0f,%.1e", g->scene, capture_blocks(c[0]), mean_of(&contacts),
              e->name, mean_share(&iterations, 0.5), mean_share(&iterations, 0), iterations.max, mean_share(&time, 0.5),
              mean_share(&matrix, 0.5), bytes.max, worst.max);
    line->blocks[line->count] = capture_blocks(c[0]);
    line->figure[0][line->count] = mean_share(&iterations, 0.5);
    line->figure[1][line->count] = mean_share(&time, 0.5);
    line->figure[2][line->count++] = bytes.max;
}

static void growth_plots(const growth *g, curve *curves) {
    static const char *const what[3] = {"iterations", "ms", "kB"};
    int k, m;
    for (k = 0; k < 3; k++) {
        plot_line lines[ENTRANTS];
        char file[64], title[96];
        for (m = 0; m < ENTRANTS; m++) {
            snprintf(lines[m].name, sizeof lines[m].name, "%s", g->entrant[m].name);
            lines[m].x = curves[m].blocks;
            lines[m].y = curves[m].figure[k];
            lines[m].count = curves[m].count;
        }
        snprintf(file, sizeof file, "scaling-%s-%s", g->scene, what[k]);
        snprintf(title, sizeof title, "%s: %s at a certificate of 1e-4", g->scene, what[k]);
        page_plot(file, title, "blocks of three unknowns", what[k], true, lines, ENTRANTS);
    }
}

static void growth_table(void) {
    int k, s, m;
    if (!table_wanted("scaling")) return;
    table_open("scaling", "Iterations, time and memory over size",
               "Three steps of a run at each size, from the start of the step (stack: from zero), to a certificate of "
               "1e-4, at most 10 000 "
               "iterations; workspace, and W where it is used.",
               "scene,blocks,contacts,solver,iterations median,least to most,ms median,of that W ms,kB,certificate");
    for (k = 0; k < 2; k++) {
        static curve curves[ENTRANTS];
        memset(curves, 0, sizeof curves);
        for (s = 0; s < (page_fast() ? 2 : SIZES); s++) {
            const growth *g = growths + k;
            capture *c[LOOKS];
            char why[SCENE_TEXT];
            capture_run run = {g->scene, g->settings, g->size[s], 0, -1, g->step, page_fast() ? 1 : LOOKS};
            int n = capture_scene(&run, c, why, sizeof why);
            if (n == 0) table_missing(g->scene, why);
            for (m = 0; m < ENTRANTS && n > 0; m++) growth_entrant(g, g->entrant + m, c, n, curves + m);
            while (n > 0) capture_free(c[--n]);
        }
        growth_plots(growths + k, curves);
    }
    table_close(
        "The papers print no such table; the claim of COND is that time grows with the unknowns and not with the "
        "contacts, as nothing of the size of W is made. PGS and APGD of the mat pay for W before their first "
        "iteration, and their memory is its square.");
}

/* ---- the distribution over the steps of a run */

enum { MOST_STEPS = 1000, RUNS = 9 };

typedef struct pace {
    const char *scene, *settings, *name;
    csim_solver solver;
    int size, steps;
} pace;

static const pace paces[RUNS] = {
    {"soft-mat", "E=7.5e4 mu=0.3 iterations=5000", "COND coarse", CSIM_SOLVER_COND, 18, 190},
    {"soft-mat", "E=7.5e4 mu=0.3 iterations=5000 acceleration=chebyshev", "COND Chebyshev", CSIM_SOLVER_COND, 18, 190},
    {"ball-grip", "E=1e6 mu=0.5 iterations=5000", "COND coarse", CSIM_SOLVER_COND, 7, 140},
    {"ball-grip", "E=1e6 mu=0.5 iterations=5000 acceleration=chebyshev", "COND Chebyshev", CSIM_SOLVER_COND, 7, 140},
    {"cable-winding", "speed=10 iterations=5000", "COND coarse", CSIM_SOLVER_COND, 160, 540},
    {"cable-winding", "speed=10 iterations=5000 acceleration=chebyshev", "COND Chebyshev", CSIM_SOLVER_COND, 160, 540},
    {"card-house", "iterations=5000", "SWEEP", CSIM_SOLVER_AUTO, 0, 200},
    {"card-house", "iterations=5000", "APGD", CSIM_SOLVER_APGD, 0, 200},
    {"card-house", "iterations=5000", "PGS", CSIM_SOLVER_PGS, 0, 200}};

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void pace_row(const pace *k, plot_line *line) {
    static double iterations[MOST_STEPS], certificate[MOST_STEPS];
    scene_options o = scene_default_options();
    char why[SCENE_TEXT], one[256];
    const char *at = k->settings;
    int used = 0, n = 0, i, missed = 0;
    double sum = 0;
    scene *s;
    while (sscanf(at, " %255s%n", one, &used) == 1) {
        scene_set(&o, one);
        at += used;
    }
    o.solver = k->solver;
    o.size = page_fast() ? (k->size + 2) / 3 : k->size;
    o.steps = page_fast() ? 20 : k->steps;
    s = scene_open(k->scene, &o, why, sizeof why);
    while (s && n < o.steps && scene_step(s)) {
        const csim_step_stats t = csim_world_stats(s->world);
        if (t.contacts == 0) continue;
        iterations[n] = t.iterations;
        certificate[n++] = csim_certificate_worst(&t.certificate);
        missed += (t.flags & CSIM_FLAG_UNCERTIFIED) != 0;
        sum += t.iterations;
        if (s->step >= s->steps) break;
    }
    if (!s || s->failed || n == 0) {
        table_missing(k->scene, s && s->failed ? s->error : s ? "no contacts" : why);
        if (s) scene_close(s);
        return;
    }
    qsort(iterations, (size_t)n, sizeof *iterations, rising);
    qsort(certificate, (size_t)n, sizeof *certificate, rising);
#define SHARE(x, share) x[(int)((share) * (n - 1) + 0.5)]
    table_row("%s,%s,%d,%.1f,%.0f,%.0f,%.0f,%.0f,%.0f,%d,%.1e,%.1e", k->scene, k->name, n, sum / n, iterations[0],
              SHARE(iterations, 0.1), SHARE(iterations, 0.5), SHARE(iterations, 0.9), iterations[n - 1], missed,
              SHARE(certificate, 0.5), certificate[n - 1]);
#undef SHARE
    snprintf(line->name, sizeof line->name, "%s %s", k->scene, k->name);
    for (i = 0; i < n; i++) {
        line->x[i] = 100.0 * (i + 1) / n;
        line->y[i] = iterations[i];
    }
    line->count = n;
    scene_close(s);
}

static void pace_table(void) {
    static double x[RUNS][MOST_STEPS], y[RUNS][MOST_STEPS];
    plot_line lines[RUNS];
    int k, shown = 0;
    if (!table_wanted("steps")) return;
    table_open("steps", "Iterations over the steps of a run",
               "Whole runs at the default tolerance of 5e-5, steps with contacts; cap 5000 iterations.",
               "scene,solver,steps,mean,least,10 %,median,90 %,most,uncertified steps,certificate median,certificate");
    memset(lines, 0, sizeof lines);
    for (k = 0; k < RUNS; k++) {
        lines[shown].x = x[shown];
        lines[shown].y = y[shown];
        pace_row(paces + k, lines + shown);
        shown += lines[shown].count > 0;
    }
    page_plot("steps", "Iterations that a share of the steps stays below", "% of steps", "iterations", false, lines,
              shown);
    table_close(
        "A mean over steps says little of a step of which a robot waits for the end: the last columns do. Where "
        "bodies lie still a step starts from the answer, and counts are those of the certificate's check.");
}

void tables_scaling(void) {
    growth_table();
    pace_table();
}
