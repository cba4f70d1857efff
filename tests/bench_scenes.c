/* bench_scenes: what a step of the scenes costs, beside what it gets right; and pairs that are run step by step in
   turn, so that a busy machine slows both. Processor time of one thread. CSV goes to the folder of the first argument;
   other arguments pick tables: scenes, papers, pairs, memory. */
#define _POSIX_C_SOURCE 200112L
#define CSIMI_KEEP_MACROS
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
#include "../examples/scenes/all.h"
#include <time.h>

static double bench_clock(void *user) {
    struct timespec t;
    (void)user;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static FILE *bench_csv(const char *folder, const char *name, const char *header) {
    char path[400];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
    fprintf(file, "%s\n", header);
    return file;
}

static int bench_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Sorts. */
static double bench_share(int count, double *x, double share) {
    if (count == 0) return 0;
    qsort(x, (size_t)count, sizeof *x, bench_order);
    return x[(int)(share * (count - 1) + 0.5)];
}

enum { BENCH_STEPS = 4000 };

/* One scene with its own settings, and what is kept of its steps. */
typedef struct bench_run {
    scene *s;
    int steps, contacts, rows; /* rows: steps with contacts but the first of them */
    double step_ms[BENCH_STEPS], solve_ms[BENCH_STEPS];
    double iterations, products, certificate, penetration, split[3];
    size_t scratch;
} bench_run;

static bool bench_open(bench_run *r, const char *name, const char *settings, double tolerance, double seconds) {
    scene_options o = scene_default_options();
    char why[SCENE_TEXT] = "", text[200], *word;
    memset(r, 0, sizeof *r);
    o.clock = bench_clock;
    o.tolerance = tolerance;
    o.seconds = seconds;
    snprintf(text, sizeof text, "%s", settings);
    for (word = strtok(text, " "); word; word = strtok(NULL, " ")) scene_set(&o, word);
    r->s = scene_open(name, &o, why, sizeof why);
    if (!r->s) printf("%s %s: %s\n", name, settings, why);
    return r->s != NULL;
}

static bool bench_step(bench_run *r) {
    double start = r->s->seconds;
    csim_step_stats t;
    double c;
    if (r->s->step >= r->s->steps || r->steps == BENCH_STEPS || !scene_step(r->s)) return false;
    t = csim_world_stats(r->s->world);
    r->step_ms[r->steps] = 1e3 * (r->s->seconds - start);
    r->steps++;
    r->split[0] += 1e3 * t.assembly_seconds;
    r->split[1] += 1e3 * t.collide_seconds;
    r->split[2] += 1e3 * t.solve_seconds;
    if (t.contacts == 0) return true;
    if (t.contacts > r->contacts) r->contacts = t.contacts;
    if (t.scratch_bytes > r->scratch) r->scratch = t.scratch_bytes;
    c = csim_certificate_worst(&t.certificate);
    if (c > r->certificate) r->certificate = c;
    if (t.penetration > r->penetration) r->penetration = t.penetration;
    r->solve_ms[r->rows] = 1e3 * t.solve_seconds;
    if (r->rows++ == 0) return true;
    r->iterations += t.iterations;
    r->products += t.products;
    return true;
}

static void bench_close(bench_run *r) {
    scene_close(r->s);
    r->s = NULL;
}

/* ---- scenes */

typedef struct bench_row {
    const char *scene, *settings;
    double seconds, tolerance; /* 0: the scene's */
    const char *peer;          /* of shared figures: one run each on a shared 2-core machine */
} bench_row;

static const bench_row bench_rows[] = {{"stack", "", 10, 0, "MuJoCo .042 ms, 16 mm; Jolt .05 ms, 6.3 mm"},
                                       {"heavy-stack", "variant=g", 10, 0, "MuJoCo tuned .21 ms, .85 mm; others fall"},
                                       {"heavy-stack", "variant=v", 10, 0, "ODE direct exact; MuJoCo tuned .21 mm"},
                                       {"card-house", "", 10, 0, "Jolt .24 ms, 1.36 mm; MuJoCo tuned .97 ms, .71 mm"},
                                       {"arch", "", 10, 0, "Jolt .10 ms, 12.5 mm; MuJoCo tuned 2.05 ms, 2.2 mm"},
                                       {"arch", "thickness=0.115", 10, 0, ""},
                                       {"pile", "", 4, 1e-3, "at rest: Jolt 4.6 ms; Bullet 20 ms, 2.2 mm"},
                                       {"ball", "", 1, 0, "real time: MuJoCo .027 at .05 ms; Bullet .006"},
                                       {"squeeze", "", 1, 0, ""},
                                       {"mat", "", 1, 0, "real time: MuJoCo .044, passes through the table"},
                                       {"soft-mat", "", 0, 0, ""},
                                       {"drop-mesh", "", 0, 0, ""},
                                       {"mix", "", 0, 0, ""}};

static void bench_scene_line(FILE *csv, const bench_row *row, bench_run *r) {
    csim_capacity used = csim_world_used(r->s->world);
    csim_step_stats t = csim_world_stats(r->s->world);
    double drift, total = 0, median, slow, rest, *step = r->step_ms, pace;
    int i, n = r->steps > 0 ? r->steps : 1, tail = r->steps < 50 ? r->steps : 50,
           dof = 3 * used.nodes + 6 * used.rigids;
    char label[80];
    for (i = 0; i < r->steps; i++) total += step[i];
    rest = bench_share(tail, step + r->steps - tail, 0.5);
    median = bench_share(r->steps, step, 0.5);
    slow = bench_share(r->steps, step, 0.9);
    pace = total > 0 ? 1e3 * r->steps * r->s->h / total : 0;
    scene_finish(r->s);
    drift = scene_figure_of(r->s, "drift_mm");
    snprintf(label, sizeof label, "%s%s%s", row->scene, row->settings[0] ? " " : "", row->settings);
    printf("%-22s %6d %6d %7.1f %8.1e %9.1e %9.2g %8.3f %8.3f %8.3f %8.0f %8.2f  %4.0f/%3.0f/%3.0f  %8.0f  %s\n", label,
           dof, r->contacts, r->iterations / (r->rows > 1 ? r->rows - 1 : 1), r->certificate, 1e3 * r->penetration,
           drift, median, slow, rest, 1e3 * r->steps / total, pace, 100 * r->split[0] / total,
           100 * r->split[1] / total, 100 * r->split[2] / total, (double)t.memory_bytes / dof, row->peer);
    fprintf(csv, "%s,%s,%d,%d,%d,%.2f,%.2f,%.3e,%.3e,%.4g,%.4f,%.4f,%.4f,%.1f,%.3f,%.4f,%.4f,%.4f,%lu,%lu,\"%s\"\n",
            row->scene, row->settings, r->steps, dof, r->contacts, r->iterations / (r->rows > 1 ? r->rows - 1 : 1),
            r->products / (r->rows > 1 ? r->rows - 1 : 1), r->certificate, 1e3 * r->penetration, drift, median, slow,
            rest, 1e3 * r->steps / total, pace, r->split[0] / n, r->split[1] / n, r->split[2] / n,
            (unsigned long)t.memory_bytes, (unsigned long)r->scratch, row->peer);
}

static void bench_scenes(const char *folder) {
    static bench_run r;
    size_t i;
    FILE *csv =
        bench_csv(folder, "scenes",
                  "scene,settings,steps,dof,most_contacts,mean_iterations,mean_products,max_certificate,"
                  "max_penetration_mm,drift_mm,median_ms,p90_ms,rest_ms,steps_per_s,realtime,assembly_ms,collide_ms,"
                  "solve_ms,memory_bytes,scratch_bytes,peers");
    printf("\nSteps of the scenes, %s, one thread. Peers: one run each on a shared 2-core machine, single thread, "
           "double but for\n"
           "Jolt (float32, WASM): trust orders of magnitude.\n"
           "%-22s %6s %6s %7s %8s %9s %9s %8s %8s %8s %8s %8s  %s  %8s  %s\n",
           csim_build_info(), "scene", "dof", "most", "mean", "largest", "depth", "drift", "median", "90 %", "at rest",
           "steps", "real", "assembly/", "world", "best peers");
    printf("%-22s %6s %6s %7s %8s %9s %9s %8s %8s %8s %8s %8s  %s  %8s\n", "", "", "cont.", "iter.", "cert.", "mm",
           "mm", "ms", "ms", "ms", "a s", "time", "coll/sol %", "B/dof");
    for (i = 0; i < sizeof bench_rows / sizeof *bench_rows; i++) {
        const bench_row *row = bench_rows + i;
        if (!bench_open(&r, row->scene, row->settings, row->tolerance, row->seconds)) continue;
        while (bench_step(&r)) {
        }
        if (r.s->failed)
            printf("%s: %s\n", row->scene, r.s->error);
        else
            bench_scene_line(csv, row, &r);
        fflush(stdout);
        bench_close(&r);
    }
    fclose(csv);
}

/* ---- papers: what assembly and collision cost beside the solve, and the memory, in the scenes of the papers */

static const bench_row bench_papers_rows[] = {
    {"mat-fold", "", 0, 0, ""},     {"soft-ball", "", 3, 0, ""},         {"cable-winding", "", 20, 0, ""},
    {"soft-gripper", "", 0, 0, ""}, {"quadruped", "", 2, 0, ""},         {"pneunet", "", 0, 0, ""},
    {"soft-mat", "", 1, 0, ""},     {"pinch", "payload=soft", 2, 0, ""}, {"jamming", "", 1, 0, ""},
    {"chairs", "", 0, 0, ""},       {"stretch", "", 0, 0, ""},           {"beam", "", 0, 0, ""},
    {"grasp", "", 0, 0, ""},        {"woven", "only=9", 0.5, 0, ""},     {"net", "", 0.5, 0, ""},
    {"table-pile", "", 3, 0, ""}};

static void bench_papers(const char *folder) {
    static bench_run r;
    size_t i;
    FILE *csv = bench_csv(folder, "papers", "scene,settings,assembly_ms,collide_ms,solve_ms,ratio,memory_bytes");
    printf("\nScenes of the papers, means over all steps; ratio: assembly + collision over the solve, aim 1 at most\n"
           "%-28s %10s %10s %10s %8s %10s\n", "scene", "assembly", "collide", "solve ms", "ratio", "memory MB");
    for (i = 0; i < sizeof bench_papers_rows / sizeof *bench_papers_rows; i++) {
        const bench_row *row = bench_papers_rows + i;
        double n, ratio, bytes;
        char label[80];
        if (!bench_open(&r, row->scene, row->settings, row->tolerance, row->seconds)) continue;
        while (bench_step(&r)) {
        }
        n = r.steps > 0 ? r.steps : 1;
        ratio = (r.split[0] + r.split[1]) / (r.split[2] > 0 ? r.split[2] : 1);
        bytes = (double)csim_world_stats(r.s->world).memory_bytes;
        snprintf(label, sizeof label, "%s %s", row->scene, row->settings);
        printf("%-28s %10.4f %10.4f %10.4f %8.2f %10.2f%s\n", label, r.split[0] / n, r.split[1] / n, r.split[2] / n,
               ratio, bytes / 1e6, ratio > 1 ? "  above" : "");
        fprintf(csv, "%s,%s,%.5f,%.5f,%.5f,%.4f,%.0f\n", row->scene, row->settings, r.split[0] / n, r.split[1] / n,
                r.split[2] / n, ratio, bytes);
        fflush(stdout);
        bench_close(&r);
    }
    fclose(csv);
}

/* ---- pairs: the same scene with two settings, in turn */

typedef struct bench_pair_row {
    const char *scene, *a, *b;
    double tolerance;
} bench_pair_row;

static const bench_pair_row bench_pair_rows[] = {
    {"ball-grip", "E=1e5 acceleration=coarse", "E=1e5 acceleration=chebyshev", 5e-5},
    {"ball-grip", "E=1e6 acceleration=coarse", "E=1e6 acceleration=chebyshev", 5e-5},
    {"ball-grip", "E=1e7 acceleration=coarse", "E=1e7 acceleration=chebyshev", 5e-5},
    {"ball-grip", "E=1e5 acceleration=coarse", "E=1e5 acceleration=chebyshev", 1e-6},
    {"ball-grip", "E=1e6 acceleration=coarse", "E=1e6 acceleration=chebyshev", 1e-6},
    {"ball-grip", "E=1e7 acceleration=coarse", "E=1e7 acceleration=chebyshev", 1e-6},
    {"soft-mat", "acceleration=coarse", "acceleration=chebyshev", 5e-5},
    {"ball-grip", "gain=30", "gain=1e3", 5e-5},
    {"ball-grip", "gain=1e4", "gain=1e3", 5e-5}};

/* A pair whose worlds touched in the same step. */
static void bench_pair(FILE *csv, const bench_pair_row *row, bench_run *a, bench_run *b) {
    static double ratio[BENCH_STEPS];
    double sum[2] = {0, 0}, median[2], products[2];
    int i, n = 0, turn = 0;
    for (; a->s->step < a->s->steps; turn = !turn) {
        bool ok = bench_step(turn ? a : b);
        if (!bench_step(turn ? b : a) || !ok) break;
    }
    for (i = 1; i < a->rows && i < b->rows; i++) {
        sum[0] += a->solve_ms[i];
        sum[1] += b->solve_ms[i];
        ratio[n++] = b->solve_ms[i] / a->solve_ms[i];
    }
    products[0] = a->products / (a->rows > 1 ? a->rows - 1 : 1);
    products[1] = b->products / (b->rows > 1 ? b->rows - 1 : 1);
    median[0] = bench_share(a->rows, a->solve_ms, 0.5);
    median[1] = bench_share(b->rows, b->solve_ms, 0.5);
    printf("%-10s %-28s %-28s %7.0e %7.1f %7.1f %8.2f %8.2f %8.2f %8.2f %9.1e %9.1e\n", row->scene, row->a, row->b,
           row->tolerance, products[0], products[1], median[0], median[1], bench_share(n, ratio, 0.5),
           sum[0] > 0 ? sum[1] / sum[0] : 0, a->certificate, b->certificate);
    fprintf(csv, "%s,%s,%s,%g,%.2f,%.2f,%.4f,%.4f,%.3f,%.3f,%.3e,%.3e\n", row->scene, row->a, row->b, row->tolerance,
            products[0], products[1], median[0], median[1], bench_share(n, ratio, 0.5),
            sum[0] > 0 ? sum[1] / sum[0] : 0, a->certificate, b->certificate);
}

static void bench_pairs(const char *folder) {
    static bench_run a, b;
    size_t i;
    FILE *csv = bench_csv(folder, "pairs",
                          "scene,a,b,tolerance,a_products,b_products,a_median_solve_ms,b_median_solve_ms,median_ratio,"
                          "ratio_of_sums,a_max_certificate,b_max_certificate");
    printf("\nPairs, stepped in turn: time of b over time of a (aim: Chebyshev over coarse at least 4.5)\n"
           "%-10s %-28s %-28s %7s %7s %7s %8s %8s %8s %8s %9s %9s\n",
           "scene", "a", "b", "tol", "prod a", "prod b", "ms a", "ms b", "median", "of sums", "cert a", "cert b");
    for (i = 0; i < sizeof bench_pair_rows / sizeof *bench_pair_rows; i++) {
        const bench_pair_row *row = bench_pair_rows + i;
        if (!bench_open(&a, row->scene, row->a, row->tolerance, 0)) continue;
        if (bench_open(&b, row->scene, row->b, row->tolerance, 0)) {
            bench_pair(csv, row, &a, &b);
            bench_close(&b);
        }
        bench_close(&a);
        fflush(stdout);
    }
    fclose(csv);
}

/* ---- memory of the solvers */

static csim_problem_size bench_size(csim_solver solver, int blocks, int matrix_blocks, int contacts) {
    csim_problem_size z;
    memset(&z, 0, sizeof z);
    z.rigid = solver == CSIM_SOLVER_SWEEP;
    z.blocks = blocks;
    z.matrix_blocks = matrix_blocks;
    z.contacts = contacts;
    z.terms = 4 * contacts; /* two rigid sides, or a vertex on a face */
    z.aggregates = z.rigid ? 0 : 24;
    return z;
}

/* Bytes of a workspace; of COND without the nodal problem, which is the virtual nodes. */
static double bench_bytes(csim_solver solver, int blocks, int matrix_blocks, int contacts) {
    csim_solver_params p = csim_default_solver_params();
    csim_problem_size z = bench_size(solver, blocks, matrix_blocks, contacts);
    csimi_arena nodal = csimi_arena_in(NULL, 0);
    p.solver = solver;
    if (!z.rigid) csimi_nodal_reserve(&nodal, z.blocks, z.contacts, z.terms);
    return (double)csim_solver_bytes(&z, &p) - (double)nodal.high;
}

static void bench_memory(const char *folder) {
    static const csim_solver solver[2] = {CSIM_SOLVER_COND, CSIM_SOLVER_SWEEP};
    FILE *csv = bench_csv(folder, "memory",
                          "solver,blocks,contacts,bytes,bytes_per_dof,bytes_per_contact,vectors_of_n,vectors_of_3nc");
    int i;
    printf("\nWorkspace of a solve (cond: beside the nodal problem), and its growth with a dof and with a contact\n"
           "%-8s %8s %8s %12s %8s %12s %14s %14s\n",
           "solver", "blocks", "contacts", "bytes", "B/dof", "B/contact", "vectors of n", "vectors of 3nc");
    for (i = 0; i < 2; i++) {
        const int blocks = 3000, matrix = i ? 6000 : 45000, contacts = 600;
        double all = bench_bytes(solver[i], blocks, matrix, contacts);
        double dof = (bench_bytes(solver[i], 2 * blocks, matrix, contacts) - all) / (3 * blocks);
        double contact = (bench_bytes(solver[i], blocks, matrix, 2 * contacts) - all) / contacts;
        double n = dof / (double)sizeof(csim_real), c = contact / (3 * (double)sizeof(csim_real));
        printf("%-8s %8d %8d %12.0f %8.1f %12.1f %14.1f %14.1f\n", i ? "sweep" : "cond", blocks, contacts, all, dof,
               contact, n, c);
        fprintf(csv, "%s,%d,%d,%.0f,%.2f,%.2f,%.2f,%.2f\n", i ? "sweep" : "cond", blocks, contacts, all, dof, contact,
                n, c);
    }
    fclose(csv);
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : ".";
    int i;
    for (i = 2; i < argc || i == 2; i++) {
        const char *table = i < argc ? argv[i] : "all";
        bool all = strcmp(table, "all") == 0;
        if (all || strcmp(table, "memory") == 0) bench_memory(folder);
        if (all || strcmp(table, "scenes") == 0) bench_scenes(folder);
        if (all || strcmp(table, "papers") == 0) bench_papers(folder);
        if (all || strcmp(table, "pairs") == 0) bench_pairs(folder);
    }
    return 0;
}
