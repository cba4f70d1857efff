/* From the tables of runs to a performance profile (Dolan and More 2002: the share of problems that a solver solves
   within tau times the quickest solver's time), a table problem by solver, and pictures. */
#include "fc3d.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOLVERS = 32, PROBLEMS = 128, STEPS = 81 };

typedef struct runs {
    int solver_count, problem_count;
    char solver[SOLVERS][32], problem[PROBLEMS][64];
    double seconds[PROBLEMS][SOLVERS]; /* 0: no run, negative: not solved */
    double error[PROBLEMS][SOLVERS];
} runs;

static int name_index(char *names, int width, int capacity, int *count, const char *name) {
    int k;
    for (k = 0; k < *count; ++k)
        if (strcmp(names + k * width, name) == 0) return k;
    if (*count == capacity) return -1;
    snprintf(names + *count * width, (size_t)width, "%s", name);
    return (*count)++;
}

/* Field k of a line of comma separated values. */
static void field(const char *line, int k, char *out, size_t size) {
    size_t length;
    for (; k > 0 && line; --k) {
        line = strchr(line, ',');
        if (line) ++line;
    }
    length = line ? strcspn(line, ",\r\n") : 0;
    if (length >= size) length = size - 1;
    if (length) memcpy(out, line, length);
    out[length] = 0;
}

/* Counts a run as solved only when the file's own measures say so, the larger of the two natural maps. */
static void take_line(runs *r, const char *line, double *tolerance) {
    char name[64], solver[32], status[32], number[32];
    int i, j;
    field(line, 0, name, sizeof name);
    field(line, 4, solver, sizeof solver);
    field(line, 6, status, sizeof status);
    if (strcmp(name, "problem") == 0 || !status[0]) return;
    i = name_index(r->problem[0], 64, PROBLEMS, &r->problem_count, name);
    j = name_index(r->solver[0], 32, SOLVERS, &r->solver_count, solver);
    if (i < 0 || j < 0) return;
    field(line, 5, number, sizeof number);
    *tolerance = strtod(number, NULL);
    field(line, 18, number, sizeof number);
    r->error[i][j] = strtod(number, NULL);
    field(line, 16, number, sizeof number);
    r->error[i][j] = fmax(r->error[i][j], strtod(number, NULL));
    field(line, 9, number, sizeof number);
    r->seconds[i][j] = strtod(number, NULL) + 1e-7;
    if (strcmp(status, "ok") != 0 || !(r->error[i][j] <= *tolerance * (1 + 1e-9))) r->seconds[i][j] *= -1;
}

static bool read_runs(const char *path, runs *r, double *tolerance) {
    char line[2048];
    FILE *f = fopen(path, "r");
    if (!f) return false;
    memset(r, 0, sizeof *r);
    while (fgets(line, sizeof line, f)) take_line(r, line, tolerance);
    fclose(f);
    return r->problem_count > 0;
}

static double quickest(const runs *r, int problem) {
    double best = 1e30;
    int j;
    for (j = 0; j < r->solver_count; ++j)
        if (r->seconds[problem][j] > 0 && r->seconds[problem][j] < best) best = r->seconds[problem][j];
    return best;
}

static double share(const runs *r, int solver, double tau) {
    int i, count = 0;
    for (i = 0; i < r->problem_count; ++i)
        if (r->seconds[i][solver] > 0 && r->seconds[i][solver] <= tau * quickest(r, i)) ++count;
    return (double)count / r->problem_count;
}

static double tau_of(int step) { return exp(log(1000.0) * step / (STEPS - 1)); }

static FILE *open_in(const char *directory, const char *name, double tolerance, const char *ending) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s-%g.%s", directory, name, tolerance, ending);
    return fopen(path, "w");
}

static bool write_profile(const runs *r, const char *directory, double tolerance) {
    FILE *f = open_in(directory, "profile", tolerance, "csv");
    int step, j;
    if (!f) return false;
    fputs("tau", f);
    for (j = 0; j < r->solver_count; ++j) fprintf(f, ",%s", r->solver[j]);
    for (step = 0; step < STEPS; ++step) {
        fprintf(f, "\n%.4g", tau_of(step));
        for (j = 0; j < r->solver_count; ++j) fprintf(f, ",%.4f", share(r, j, tau_of(step)));
    }
    fputc('\n', f);
    return fclose(f) == 0;
}

static void color(int j, char *out, size_t size) {
    static const char *const colors[10] = {"#d62728", "#1f77b4", "#2ca02c", "#ff7f0e", "#9467bd",
                                           "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"};
    snprintf(out, size, "%s", colors[j % 10]);
}

/* Shares as stepped lines over log tau. */
static bool write_picture(const runs *r, const char *directory, double tolerance) {
    const double left = 60, top = 40, width = 560, height = 320;
    FILE *f = open_in(directory, "profile", tolerance, "svg");
    int step, j;
    char ink[16];
    if (!f) return false;
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"420\" font-family=\"sans-serif\" "
               "font-size=\"12\">\n<rect width=\"800\" height=\"420\" fill=\"white\"/>\n");
    fprintf(f,
            "<text x=\"%g\" y=\"24\" font-size=\"14\">share of %d problems solved within tau of the quickest, "
            "tolerance %g</text>\n",
            left, r->problem_count, tolerance);
    for (step = 0; step <= 4; ++step)
        fprintf(f, "<path d=\"M%g %g h%g\" stroke=\"#ddd\"/><text x=\"%g\" y=\"%g\" text-anchor=\"end\">%d%%</text>\n",
                left, top + height - height * step / 4, width, left - 6, top + height - height * step / 4 + 4,
                25 * step);
    for (step = 0; step <= 3; ++step)
        fprintf(f, "<path d=\"M%g %g v%g\" stroke=\"#ddd\"/><text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%g</text>\n",
                left + width * step / 3, top, height, left + width * step / 3, top + height + 18, pow(10, step));
    for (j = 0; j < r->solver_count; ++j) {
        color(j, ink, sizeof ink);
        fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", ink);
        for (step = 0; step < STEPS; ++step)
            fprintf(f, "%s%.1f %.1f", step ? "L" : "M", left + width * step / (STEPS - 1),
                    top + height * (1 - share(r, j, tau_of(step))));
        fprintf(f, "\"/>\n<text x=\"%g\" y=\"%d\" fill=\"%s\">%s %.0f%%</text>\n", left + width + 14, 56 + 20 * j, ink,
                r->solver[j], 100 * share(r, j, 1e30));
    }
    fputs("</svg>\n", f);
    return fclose(f) == 0;
}

/* Bars of the time of each problem: the quickest of all and the first solver of the table. */
static bool write_times(const runs *r, const char *directory, double tolerance) {
    FILE *f = open_in(directory, "times", tolerance, "svg");
    int i;
    if (!f) return false;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"11\">\n<rect width=\"800\" height=\"%d\" fill=\"white\"/>\n<text x=\"10\" y=\"18\">seconds "
            "(log, 1e-6 to 10) at %g: %s, red where it was not solved; tick: the quickest solver</text>\n",
            20 * r->problem_count + 40, 20 * r->problem_count + 40, tolerance, r->solver[0]);
    for (i = 0; i < r->problem_count; ++i) {
        const double own = fabs(r->seconds[i][0]), best = quickest(r, i);
        fprintf(f,
                "<text x=\"250\" y=\"%d\" text-anchor=\"end\">%s</text><rect x=\"256\" y=\"%d\" width=\"%.1f\" "
                "height=\"12\" fill=\"%s\"/>",
                40 + 20 * i, r->problem[i], 30 + 20 * i, own > 1e-6 ? 75 * log10(own / 1e-6) : 0.5,
                r->seconds[i][0] > 0 ? "#1f77b4" : "#d62728");
        if (best < 1e29)
            fprintf(f, "<path d=\"M%.1f %d v16\" stroke=\"black\"/>", 256 + (best > 1e-6 ? 75 * log10(best / 1e-6) : 0),
                    28 + 20 * i);
        fputc('\n', f);
    }
    fputs("</svg>\n", f);
    return fclose(f) == 0;
}

/* Milliseconds, or in brackets the worse natural map. */
static bool write_table(const runs *r, const char *directory, double tolerance) {
    FILE *f = open_in(directory, "table", tolerance, "md");
    int i, j;
    if (!f) return false;
    fprintf(f, "Milliseconds at %g; in brackets the worse natural map where it was not reached.\n\n| problem |",
            tolerance);
    for (j = 0; j < r->solver_count; ++j) fprintf(f, " %s |", r->solver[j]);
    fputs("\n|---|", f);
    for (j = 0; j < r->solver_count; ++j) fputs("---|", f);
    for (i = 0; i < r->problem_count; ++i) {
        fprintf(f, "\n| %s |", r->problem[i]);
        for (j = 0; j < r->solver_count; ++j) {
            if (r->seconds[i][j] > 0)
                fprintf(f, " %.3g |", 1e3 * r->seconds[i][j]);
            else if (r->seconds[i][j] < 0)
                fprintf(f, " (%.1e) |", r->error[i][j]);
            else
                fputs(" (no end) |", f);
        }
    }
    fputs("\n| solved |", f);
    for (j = 0; j < r->solver_count; ++j)
        fprintf(f, " %.0f of %d |", share(r, j, 1e30) * r->problem_count, r->problem_count);
    fputc('\n', f);
    return fclose(f) == 0;
}

int fc3d_report(const char *directory, int file_count, char **files) {
    runs *r = (runs *)malloc(sizeof *r);
    int k, j, bad = 0;
    for (k = 0; k < file_count && r; ++k) {
        double tolerance = 0;
        if (!read_runs(files[k], r, &tolerance)) {
            fprintf(stderr, "condsim-fc3d: %s holds no runs\n", files[k]);
            bad = 2;
            continue;
        }
        if (!write_profile(r, directory, tolerance) || !write_picture(r, directory, tolerance) ||
            !write_times(r, directory, tolerance) || !write_table(r, directory, tolerance)) {
            fprintf(stderr, "condsim-fc3d: nothing can be written to %s\n", directory);
            bad = 2;
        }
        printf("tolerance %g:", tolerance);
        for (j = 0; j < r->solver_count; ++j) printf(" %s %.0f", r->solver[j], share(r, j, 1e30) * r->problem_count);
        printf(" of %d\n", r->problem_count);
    }
    free(r);
    return bad;
}
