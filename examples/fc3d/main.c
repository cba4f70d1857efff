/* condsim-fc3d: solves a frictional contact problem of a LOCAL or GLOBAL text file and prints one line of figures.

   condsim-fc3d FILE --solver NAME --tol T [--max-iter N] [--out r.txt] [--order SEED] [--seconds S] [--header]
                [--set FIELD=VALUE ...]            fields of csim_solver_params; words are numbers in their order
   condsim-fc3d --list                       the solvers, one a line
   condsim-fc3d --report DIR TABLE.csv ...   performance profile and pictures of finished runs */
#ifndef CONDSIM_LINKED
#define CONDSIM_IMPLEMENTATION
#endif
#include "condsim.h"
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options {
    const char *file, *solver, *out;
    double tolerance, seconds;
    int max_iterations;
    unsigned order;
    bool header;
    const char *set[8]; /* FIELD=VALUE */
    int set_count;
} options;

static void *get(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block) {
        fputs("condsim-fc3d: out of memory\n", stderr);
        exit(2);
    }
    return block;
}

/* ---- a run */

typedef struct run {
    csim_real *r, *v;
    void *workspace;
    size_t bytes;
    csim_outcome out;
    csim_status status;
    csim_error error;
    double seconds;
} run;

static void solve_once(const fc3d_model *m, const csim_solver_params *params, run *x) {
    memset(x->r, 0, (size_t)fc3d_model_contacts(m) * 3 * sizeof *x->r);
    x->status = fc3d_model_solve(m, params, x->workspace, x->bytes, x->v, x->r, &x->out, &x->error);
}

/* Solves again and again for the wanted time and takes the quickest run: others share the machine. */
static void solve_timed(const fc3d_model *m, const csim_solver_params *params, double seconds, run *x) {
    const clock_t start = clock();
    double best = 1e30;
    int batch = 1, k;
    bool short_run;
    do {
        const clock_t begin = clock();
        double once;
        for (k = 0; k < batch; ++k) solve_once(m, params, x);
        once = (double)(clock() - begin) / CLOCKS_PER_SEC;
        short_run = once < 1e-3 && batch < 1024; /* the clock has a grain of a microsecond */
        if (short_run)
            batch *= 2;
        else if (once / batch < best)
            best = once / batch;
    } while (short_run || (double)(clock() - start) / CLOCKS_PER_SEC < seconds);
    x->seconds = best;
}

static const char *result_name(const run *x) {
    static const char *const names[CSIM_RESULT_COUNT_] = {"ok", "unchecked", "cap", "stalled", "not-finite"};
    return x->status != CSIM_OK ? "refused" : names[x->out.result];
}

static void print_header(void) {
    puts("problem,kind,n,nc,solver,tol,status,iterations,products,seconds,bytes,norm_q,norm_r,norm_u,natural_map_abs,"
         "natural_map_q,natural_map_siconos,natural_map_ur,natural_map_scaled,worst_contact,min_un,max_complementarity,"
         "max_cone_violation,max_negative_rn,max_dissipation_violation,rel_penetration,rel_complementarity,"
         "rel_dissipation,contacts_open,contacts_stick,contacts_slip");
}

static void print_line(const options *o, const fc3d_problem *p, const run *x, const fc3d_measures *m) {
    const char *name = strrchr(o->file, '/');
    const int length = (int)strcspn(name ? name + 1 : o->file, ".");
    printf("%.*s,%s,%d,%d,%s,%g,%s,%d,%d,%.4g,%lu,", length, name ? name + 1 : o->file, p->global ? "GLOBAL" : "LOCAL",
           p->global ? p->n : 3 * p->nc, p->nc, o->solver, o->tolerance, result_name(x), x->out.iterations,
           x->out.products, x->seconds, (unsigned long)x->bytes);
    printf("%.9e,%.9e,%.9e,%.9e,%.9e,%.9e,%.9e,%.9e,%.3e,", m->norm_q, m->norm_r, m->norm_u, m->natural_map_abs,
           m->natural_map_q, m->natural_map_siconos, m->natural_map_ur, m->natural_map_scaled,
           x->out.certificate.contact);
    printf("%.9e,%.9e,%.9e,%.9e,%.9e,%.9e,%.9e,%.9e,%d,%d,%d\n", m->min_un, m->max_complementarity,
           m->max_cone_violation, m->max_negative_rn, m->max_dissipation_violation, m->rel_penetration,
           m->rel_complementarity, m->rel_dissipation, m->open, m->stick, m->slip);
}

static bool write_impulses(const char *path, const double *r, int nc) {
    FILE *f = fopen(path, "w");
    int c;
    if (!f) return false;
    for (c = 0; c < nc; ++c) fprintf(f, "%.17g %.17g %.17g\n", r[3 * c], r[3 * c + 1], r[3 * c + 2]);
    return fclose(f) == 0;
}

/* A random order of the contacts; seed 0: as in the file. order[c]: new place of contact c. */
static int *shuffle(unsigned seed, int nc) {
    int *order = (int *)get((size_t)nc, sizeof(int)), c;
    unsigned long long x = 0x9e3779b97f4a7c15ull ^ (0x2545f4914f6cdd1dull * (seed + 1ull));
    for (c = 0; c < nc; ++c) order[c] = c;
    for (c = nc - 1; c > 0 && seed; --c) {
        int other, swap;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        other = (int)((x >> 16) % (unsigned long long)(c + 1));
        swap = order[c];
        order[c] = order[other];
        order[other] = swap;
    }
    return order;
}

/* FIELD=VALUE of the parameters of solvers; the library says what is out of range. */
static bool read_parameter(csim_solver_params *p, const char *text) {
    const char *equals = strchr(text, '=');
    const size_t length = equals ? (size_t)(equals - text) : 0;
    char *end;
    double value;
    if (!equals || !equals[1]) return false;
    value = strtod(equals + 1, &end);
    if (*end || !(value > -1e9 && value < 1e9)) return false;
#define FIELD(name, field, type) \
    if (strlen(#name) == length && strncmp(text, #name, length) == 0) return (p->field = (type)value), true
    FIELD(ncp, newton.ncp, csim_ncp);
    FIELD(linear, newton.linear, csim_linear);
    FIELD(inner, inner, int);
    FIELD(scaling, newton.scaling, csim_real);
    FIELD(relaxation, impulse.relaxation, csim_real);
    FIELD(sides, impulse.sides, int);
    FIELD(window, window, int);
    FIELD(rho, impulse.rho, csim_real);
#undef FIELD
    return false;
}

static int solve_file(const options *o, csim_solver solver) {
    fc3d_problem p;
    fc3d_measures measures;
    csim_solver_params params;
    fc3d_model m;
    run x;
    double *r;
    int *order, c, k;
    bool ok = true;
    if (!fc3d_read(o->file, &p)) {
        fprintf(stderr, "condsim-fc3d: %s: %s\n", o->file, p.error);
        fc3d_free(&p);
        return 2;
    }
    order = shuffle(o->order, p.nc);
    if (o->order) fc3d_permute(&p, order);
    memset(&x, 0, sizeof x);
    fc3d_model_make(&p, &m);
    params = fc3d_params(&p, solver, o->tolerance, o->max_iterations);
    for (k = 0; k < o->set_count; ++k) (void)read_parameter(&params, o->set[k]); /* read_option has tried them */
    x.bytes = fc3d_model_bytes(&m, &params);
    x.workspace = get(x.bytes, 1);
    x.r = (csim_real *)get(3 * (size_t)p.nc, sizeof(csim_real));
    x.v = (csim_real *)get((size_t)p.n + 3, sizeof(csim_real));
    r = (double *)get(3 * (size_t)p.nc, sizeof(double));
    solve_timed(&m, &params, o->seconds, &x);
    if (x.status != CSIM_OK) fprintf(stderr, "condsim-fc3d: %s\n", x.error.text);
    for (k = 0; k < 3 * p.nc; ++k) r[k] = (double)x.r[k];
    fc3d_measure(&p, r, &measures);
    print_line(o, &p, &x, &measures);
    for (c = 0; c < p.nc; ++c) /* back into the order of the file */
        for (k = 0; k < 3; ++k) r[3 * c + k] = (double)x.r[3 * order[c] + k];
    if (o->out && !write_impulses(o->out, r, p.nc)) {
        fprintf(stderr, "condsim-fc3d: %s cannot be written\n", o->out);
        ok = false;
    }
    fc3d_model_free(&m);
    free(x.workspace);
    free(x.r);
    free(x.v);
    free(r);
    free(order);
    fc3d_free(&p);
    return !ok ? 2 : x.status == CSIM_OK && x.out.result == CSIM_RESULT_CONVERGED ? 0 : 1;
}

/* ---- the command line */

static void usage(FILE *to) {
    fputs("condsim-fc3d FILE --solver NAME --tol T [--max-iter N] [--out r.txt] [--order SEED] [--seconds S]\n"
          "             [--header] [--set FIELD=VALUE ...]\n"
          "condsim-fc3d --list\ncondsim-fc3d --report DIR TABLE.csv ...\ncondsim-fc3d --help\n"
          "exit status: 0 solved, 1 not solved, 2 unreadable or wrong\n",
          to);
}

/* What was wrong and what is allowed; gives the exit status. */
static int refuse(const char *flag, const char *value, const char *allowed) {
    fprintf(stderr, "condsim-fc3d: %s%s%s%s; allowed: %s\n", flag, value ? " is '" : "", value ? value : "",
            value ? "'" : "", allowed);
    return 2;
}

static int list_solvers(void) {
    int k;
    for (k = 0; k < CSIM_SOLVER_COUNT_; ++k) {
        const csim_solver_info info = csim_describe_solver((csim_solver)k);
        printf("%-15s %-4s %-4s %s\n", info.name, info.velocity ? "A" : "-", info.impulse ? "W" : "-", info.text);
    }
    return 0;
}

static csim_solver solver_of(const char *name) {
    int k;
    for (k = 0; k < CSIM_SOLVER_COUNT_; ++k)
        if (strcmp(name, csim_describe_solver((csim_solver)k).name) == 0) break;
    return (csim_solver)k;
}

/* Null, or what is allowed in the place of value. */
static const char *read_option(options *o, const char *flag, const char *value) {
    char *end = NULL;
    const char *allowed;
    bool ok = value[0] != 0;
    if (strcmp(flag, "--solver") == 0) {
        allowed = "a name that --list shows";
        o->solver = value;
        ok = solver_of(value) < CSIM_SOLVER_COUNT_;
    } else if (strcmp(flag, "--set") == 0) {
        csim_solver_params scratch = csim_default_solver_params();
        allowed =
            "FIELD=NUMBER, 8 times at most, FIELD one of ncp, linear, inner, scaling, relaxation, sides, window, rho";
        ok = o->set_count < 8 && read_parameter(&scratch, value);
        if (ok) o->set[o->set_count++] = value;
    } else if (strcmp(flag, "--out") == 0) {
        allowed = "a file to write";
        o->out = value;
    } else if (strcmp(flag, "--tol") == 0) {
        allowed = "a number above 0, at most 0.1";
        o->tolerance = strtod(value, &end);
        ok = ok && !*end && o->tolerance > 0 && o->tolerance <= 0.1;
    } else if (strcmp(flag, "--seconds") == 0) {
        allowed = "a number, 0 or more";
        o->seconds = strtod(value, &end);
        ok = ok && !*end && o->seconds >= 0;
    } else if (strcmp(flag, "--max-iter") == 0) {
        const long n = strtol(value, &end, 10);
        allowed = "a whole number, 1..1000000";
        o->max_iterations = (int)n;
        ok = ok && !*end && n > 0 && n <= 1000000;
    } else if (strcmp(flag, "--order") == 0) {
        const unsigned long n = strtoul(value, &end, 10);
        allowed = "a whole number, 0..999999999";
        o->order = (unsigned)n;
        ok = ok && !*end && n < 1000000000ul;
    } else {
        return "--solver, --set, --out, --tol, --seconds, --max-iter, --order, --header, --list, --report, --help";
    }
    return ok ? NULL : allowed;
}

int main(int argc, char **argv) {
    options o;
    const char *allowed;
    int k;
    memset(&o, 0, sizeof o);
    o.solver = "auto";
    o.tolerance = 1e-4;
    o.max_iterations = 100000;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) return usage(stdout), 0;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) return list_solvers();
    if (argc > 1 && strcmp(argv[1], "--report") == 0)
        return argc > 3 ? fc3d_report(argv[2], argc - 3, argv + 3) : refuse("--report", NULL, "DIR TABLE.csv ...");
    for (k = 1; k < argc; ++k) {
        if (strcmp(argv[k], "--header") == 0) {
            o.header = true;
        } else if (argv[k][0] == '-') {
            allowed = read_option(&o, argv[k], k + 1 < argc ? argv[k + 1] : "");
            if (allowed) return refuse(argv[k], k + 1 < argc ? argv[k + 1] : "", allowed);
            ++k;
        } else if (o.file) {
            return refuse(argv[k], NULL, "one file at a time");
        } else {
            o.file = argv[k];
        }
    }
    if (o.header) print_header();
    if (!o.file && !o.header) return usage(stderr), 2;
    return o.file ? solve_file(&o, solver_of(o.solver)) : 0;
}
