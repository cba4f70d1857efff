/* condsim-scene: runs one scene and says what happened. */
#define _POSIX_C_SOURCE 200112L
#include "columns.h"
#include "picture.h"
#include "scene.h"
#include "threads.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNNER_FAILED = 1, RUNNER_USAGE = 2 };

typedef struct runner {
    const char *name; /* of the scene */
    const char *csv, *html, *out;
    bool list, summary, help;
    int threads;
    scene_options options;
} runner;

static double runner_clock(void *user) {
    (void)user;
#if defined(CLOCK_MONOTONIC)
    {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

/* ---- the command line */

static const char runner_usage[] = "usage: condsim-scene NAME [options]     run a scene\n"
                                   "       condsim-scene --list             every scene, its figures and keys\n"
                                   "\n"
                                   "  --solver auto|cond|sweep|pgs|apgd|... (docs/solvers.md)\n"
                                   "  --mode certified|balanced|bounded, --budget N   (docs/realtime.md)\n"
                                   "  --integrator euler|midpoint|two-step|half-step\n"
                                   "  --steps N   --seconds T    how long (one of them)\n"
                                   "  --h H                      step, s\n"
                                   "  --size N                   how large, where the scene has a size\n"
                                   "  --tol T                    certified tolerance, 1e-15..0.1\n"
                                   "  --threads N                worker threads: the same bits for any number\n"
                                   "  --seed K                   other jitter, where the scene has any\n"
                                   "  --set KEY=VALUE            may be repeated; keys in --list\n"
                                   "  --csv FILE                 one row a step; - is the screen\n"
                                   "  --html FILE                the motion as one page for a browser\n"
                                   "  --out DIR                  DIR/index.html and DIR/steps.csv; DIR must exist\n"
                                   "  --summary                  ends with name=value lines\n";

static const char runner_flags[] = "--solver, --mode, --budget, --integrator, --steps, --seconds, --h, --size, "
                                   "--tol, --threads, --seed, --set, --csv, --html, --out, --summary, --list, --help";

/* A number within [low, high], or a sentence. */
static bool runner_number(const char *flag, const char *text, double low, double high, bool whole, double *value) {
    char *end = NULL;
    *value = text ? strtod(text, &end) : 0;
    if (text && end != text && *end == 0 && *value >= low && *value <= high && (!whole || floor(*value) >= *value))
        return true;
    fprintf(stderr, "condsim-scene: %s is '%s'; it must be a %snumber in %g..%g\n", flag, text ? text : "",
            whole ? "whole " : "", low, high);
    return false;
}

static bool runner_word(const char *flag, const char *text, const char *const *words, int *value) {
    int i;
    for (i = 0; words[i]; i++)
        if (text && strcmp(text, words[i]) == 0) {
            *value = i;
            return true;
        }
    fprintf(stderr, "condsim-scene: %s is '%s'; allowed:", flag, text ? text : "");
    for (i = 0; words[i]; i++) fprintf(stderr, " %s", words[i]);
    fprintf(stderr, "\n");
    return false;
}

static bool runner_flag_with_number(runner *r, const char *flag, const char *value, bool *known) {
    scene_options *o = &r->options;
    double x = 0;
    bool ok = true;
    if (strcmp(flag, "--steps") == 0) {
        ok = runner_number(flag, value, 1, 1e9, true, &x);
        o->steps = (int)x;
    } else if (strcmp(flag, "--seconds") == 0) {
        ok = runner_number(flag, value, 1e-7, 1e7, false, &o->seconds);
    } else if (strcmp(flag, "--h") == 0) {
        ok = runner_number(flag, value, 1e-7, 1, false, &o->h);
    } else if (strcmp(flag, "--size") == 0) {
        ok = runner_number(flag, value, 1, 1e6, true, &x);
        o->size = (int)x;
    } else if (strcmp(flag, "--tol") == 0) {
        ok = runner_number(flag, value, 1e-15, 0.1, false, &o->tolerance);
    } else if (strcmp(flag, "--budget") == 0) {
        ok = runner_number(flag, value, 0, 2e9, true, &x);
        o->budget = (int)x;
    } else if (strcmp(flag, "--threads") == 0) {
        ok = runner_number(flag, value, 1, 256, true, &x);
        r->threads = (int)x;
    } else if (strcmp(flag, "--seed") == 0) {
        ok = runner_number(flag, value, 0, 9e15, true, &x);
        o->seed = (unsigned long long)x;
    } else {
        *known = false;
    }
    return ok;
}

static bool runner_flag_with_value(runner *r, const char *flag, const char *value, bool *known) {
    const char *solvers[CSIM_SOLVER_COUNT_ + 1];
    static const char *const integrators[] = {"euler", "midpoint", "two-step", "half-step", NULL};
    int word = 0;
    *known = true;
    for (word = 0; word < CSIM_SOLVER_COUNT_; word++) solvers[word] = csim_describe_solver((csim_solver)word).name;
    solvers[word] = NULL;
    if (strcmp(flag, "--solver") == 0) {
        if (!runner_word(flag, value, solvers, &word)) return false;
        r->options.solver = (csim_solver)word;
    } else if (strcmp(flag, "--mode") == 0) {
        static const char *const modes[] = {"certified", "balanced", "bounded", NULL};
        if (!runner_word(flag, value, modes, &word)) return false;
        r->options.mode = word;
    } else if (strcmp(flag, "--integrator") == 0) {
        if (!runner_word(flag, value, integrators, &word)) return false;
        r->options.integrator = word; /* in the order of csim_integrator */
    } else if (strcmp(flag, "--set") == 0) {
        if (value && scene_set(&r->options, value)) return true;
        fprintf(stderr, "condsim-scene: --set is '%s'; it must be KEY=VALUE, at most %d times\n", value ? value : "",
                SCENE_SETTINGS);
        return false;
    } else if (strcmp(flag, "--csv") == 0) {
        r->csv = value;
    } else if (strcmp(flag, "--html") == 0) {
        r->html = value;
    } else if (strcmp(flag, "--out") == 0) {
        r->out = value;
    } else {
        return runner_flag_with_number(r, flag, value, known);
    }
    if (value) return true;
    fprintf(stderr, "condsim-scene: %s needs a value\n", flag);
    return false;
}

static bool runner_parse(runner *r, int argc, char **argv) {
    int i;
    for (i = 1; i < argc; i++) {
        bool known = true;
        if (strcmp(argv[i], "--list") == 0) {
            r->list = true;
        } else if (strcmp(argv[i], "--summary") == 0) {
            r->summary = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            r->help = true;
        } else if (argv[i][0] == '-') {
            if (!runner_flag_with_value(r, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &known)) return false;
            if (!known) {
                fprintf(stderr, "condsim-scene: no flag '%s'; allowed: %s\n", argv[i], runner_flags);
                return false;
            }
            i++;
        } else if (r->name) {
            fprintf(stderr, "condsim-scene: one scene at a time, not both '%s' and '%s'\n", r->name, argv[i]);
            return false;
        } else {
            r->name = argv[i];
        }
    }
    return true;
}

/* ---- list */

static void runner_list_keys(const scene_key *k) {
    for (; k && k->name; k++)
        printf("    %s=%s%s%s%s  %s\n", k->name, k->value, k->choices && k->choices[0] != '*' ? " (" : "",
               k->choices && k->choices[0] != '*' ? k->choices : "", k->choices && k->choices[0] != '*' ? ")" : "",
               k->text);
}

static void runner_list(void) {
    int i;
    for (i = 0; i < scene_count(); i++) {
        const scene_kind *k = scene_kind_at(i);
        printf("%s: %s [h %g s, %g s", k->name, k->text, k->h, k->seconds);
        if (k->size) printf(", size %d", k->size);
        printf(", %s]; figures: %s%s%s%s%s\n", k->integrator == CSIM_MIDPOINT ? "midpoint" : "euler", k->figures,
               k->measures & SCENE_STANDS ? " stands drift_mm" : "",
               k->measures & SCENE_SAT ? " sat_mm sat_end_mm" : "", k->measures & SCENE_RESTS ? " rest_time_s" : "",
               k->measures & SCENE_PACE ? " products_mean realtime_factor" : "");
        runner_list_keys(k->keys);
    }
    printf("every scene:\n");
    runner_list_keys(scene_common_keys());
}

/* ---- running */

typedef struct runner_show {
    double start, next; /* s */
    bool shown;
} runner_show;

static void runner_progress(runner_show *show, const scene *s, const csim_step_stats *t) {
    double now = runner_clock(NULL), spent = now - show->start, left = spent * (s->steps - s->step) / s->step;
    double certificate = csim_certificate_worst(&t->certificate);
    if (now < show->next) return;
    show->next = now + 0.5;
    show->shown = true;
    fprintf(stderr, "\r%3d %%  step %d of %d  contacts %d  iterations %d  certificate %.1e  %.0f s left   ",
            (int)(100.0 * s->step / s->steps), s->step, s->steps, t->contacts, t->iterations, certificate, left);
    fflush(stderr);
}

static void runner_table(const scene *s, const column_sums *c, double seconds) {
    static const struct {
        const char *name, *unit;
        double factor;
        int column;
    } row[] = {{"contacts", "", 1, COLUMN_contacts},           {"iterations", "", 1, COLUMN_iterations},
               {"dynamics", "", 1, COLUMN_dynamics},           {"contact", "", 1, COLUMN_contact},
               {"penetration", "mm", 1e3, COLUMN_penetration}, {"assembly", "ms", 1, COLUMN_assembly_ms},
               {"collide", "ms", 1, COLUMN_collide_ms},        {"solve", "ms", 1, COLUMN_solve_ms}};
    size_t i;
    int f;
    printf("%s: %d steps of %g s, %g s simulated in %.2f s\n", s->kind->name, s->step, s->h, scene_time(s), seconds);
    printf("%-14s %12s %12s %12s\n", "", "mean", "max", "first");
    for (i = 0; i < sizeof row / sizeof row[0]; i++)
        printf("%-11s %2s %12.4g %12.4g %12.4g\n", row[i].name, row[i].unit,
               row[i].factor * columns_mean(c, row[i].column), row[i].factor * c->max[row[i].column],
               row[i].factor * c->first[row[i].column]);
    printf("%d steps with contacts, %d missed the tolerance (%d at the iteration cap, %d stalled); %.1f MB\n",
           c->contact_steps, c->uncertified, c->capped, c->stalled, 1e-6 * c->max[COLUMN_memory_bytes]);
    for (f = 0; f < s->figure_count; f++) printf("%s %.6g\n", s->figure[f].name, s->figure[f].value);
    if (s->note[0]) printf("%s\n", s->note);
}

static bool runner_open_csv(const char *path, FILE **file) {
    *file = NULL;
    if (!path) return true;
    *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!*file) {
        fprintf(stderr, "condsim-scene: cannot write %s\n", path);
        return false;
    }
    columns_write_header(*file);
    return true;
}

static bool runner_steps(scene *s, FILE *csv, picture *draw, column_sums *sums) {
    runner_show show;
    double spent = s->seconds;
    show.start = runner_clock(NULL);
    show.next = show.start + 1;
    show.shown = false;
    while (s->step < s->steps && scene_step(s)) {
        csim_step_stats t = csim_world_stats(s->world);
        double value[COLUMN_COUNT];
        columns_of(s->world, &t, value);
        value[COLUMN_step_ms] = 1e3 * (s->seconds - spent);
        spent = s->seconds;
        columns_add(sums, &t, value);
        if (csv) columns_write_row(csv, value);
        if (draw) picture_step(draw, s, &t);
        runner_progress(&show, s, &t);
    }
    if (show.shown) fprintf(stderr, "\n");
    if (s->failed) fprintf(stderr, "condsim-scene: step %d of %s: %s\n", s->step + 1, s->kind->name, s->error);
    return !s->failed;
}

static int runner_run(const runner *r, scene *s, const char *csv_path, const char *html_path) {
    FILE *csv;
    picture *draw = NULL;
    column_sums sums;
    char error[SCENE_TEXT];
    double start = runner_clock(NULL);
    bool ok;
    memset(&sums, 0, sizeof sums);
    if (!runner_open_csv(csv_path, &csv)) return RUNNER_FAILED;
    if (html_path && !(draw = picture_open(s, html_path, error, sizeof error))) {
        fprintf(stderr, "condsim-scene: %s\n", error);
        if (csv && csv != stdout) fclose(csv);
        return RUNNER_FAILED;
    }
    ok = runner_steps(s, csv, draw, &sums);
    scene_finish(s);
    if (draw && !picture_close(draw, s, error, sizeof error)) {
        fprintf(stderr, "condsim-scene: %s\n", error);
        ok = false;
    }
    if (csv && csv != stdout && fclose(csv) != 0) {
        fprintf(stderr, "condsim-scene: cannot write %s\n", csv_path);
        ok = false;
    }
    runner_table(s, &sums, runner_clock(NULL) - start);
    if (r->summary) {
        int i;
        columns_write_summary(stdout, &sums);
        for (i = 0; i < s->figure_count; i++) printf("%s=%.9g\n", s->figure[i].name, s->figure[i].value);
    }
    return ok ? 0 : RUNNER_FAILED;
}

static char *runner_path(const char *folder, const char *name) {
    char *path = (char *)malloc(strlen(folder) + strlen(name) + 2);
    if (path) sprintf(path, "%s/%s", folder, name);
    return path;
}

int main(int argc, char **argv) {
    runner r;
    scene *s;
    threads *workers = NULL;
    char why[SCENE_TEXT], *csv = NULL, *html = NULL;
    int code;
    memset(&r, 0, sizeof r);
    r.options = scene_default_options();
    r.options.clock = runner_clock;
    if (!runner_parse(&r, argc, argv)) return RUNNER_USAGE;
    if (r.list) {
        runner_list();
        return 0;
    }
    if (r.help || !r.name) {
        fputs(runner_usage, r.help ? stdout : stderr);
        return r.help ? 0 : RUNNER_USAGE;
    }
    if (r.threads > 1 && !(workers = threads_open(r.threads)))
        fprintf(stderr, "condsim-scene: this system gives no %d threads; going on with one\n", r.threads);
    r.options.tasks = threads_tasks(workers);
    s = scene_open(r.name, &r.options, why, sizeof why);
    if (!s) {
        fprintf(stderr, "condsim-scene: %s\n", why);
        threads_close(workers);
        return RUNNER_USAGE;
    }
    if (r.out) {
        csv = runner_path(r.out, "steps.csv");
        html = runner_path(r.out, "index.html");
    }
    code = runner_run(&r, s, r.csv ? r.csv : csv, r.html ? r.html : html);
    free(csv);
    free(html);
    scene_close(s);
    threads_close(workers);
    return code;
}
