/* condsim-fc3d: solves a frictional contact problem of a LOCAL or GLOBAL text file and prints one line of figures.

   condsim-fc3d FILE --solver NAME --tol T [--max-iter N] [--out r.txt] [--order SEED] [--seconds S] [--header]
   condsim-fc3d --list                       the solvers, one a line
   condsim-fc3d --report DIR TABLE.csv ...   performance profile and pictures of finished runs */
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
#include "fc3d.h"
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
} options;

/* What a file turns into for the library: one of the two levels. */
typedef struct model {
    bool global;
    csim_impulse_problem local;
    csim_block_matrix W;
    csim_real *q, *mu;
    csim_problem problem;
    csim_real *b;
    csim_contact *contacts;
    csim_term *terms;
    csim_structure structure;
} model;

static void *get(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block) {
        fputs("condsim-fc3d: out of memory\n", stderr);
        exit(2);
    }
    return block;
}

static csim_real *reals(const double *x, size_t count) {
    csim_real *y = (csim_real *)get(count, sizeof *y);
    size_t k;
    for (k = 0; k < count; ++k) y[k] = CSIM_R(x[k]);
    return y;
}

/* ---- LOCAL */

static void make_local(const fc3d_problem *p, model *m) {
    int i, k;
    m->W.n = p->nc;
    m->W.row = p->row;
    m->W.col = p->col;
    m->W.diag = (int *)get((size_t)p->nc, sizeof(int));
    m->W.val = reals(p->W, 9 * (size_t)p->blocks);
    for (i = 0; i < p->nc; ++i)
        for (k = p->row[i]; k < p->row[i + 1]; ++k)
            if (p->col[k] == i) m->W.diag[i] = k;
    m->q = reals(p->q, 3 * (size_t)p->nc);
    m->mu = reals(p->mu, (size_t)p->nc);
    m->local.contact_count = p->nc;
    m->local.W = &m->W;
    m->local.q = m->q;
    m->local.mu = m->mu;
}

/* ---- GLOBAL: A = M and b = f in blocks of three unknowns, a contact's rows of J = H' as terms */

static int by_place(const void *x, const void *y) {
    const fc3d_entry *a = (const fc3d_entry *)x, *b = (const fc3d_entry *)y;
    if (a->i / 3 != b->i / 3) return a->i < b->i ? -1 : 1;
    return a->j / 3 < b->j / 3 ? -1 : a->j / 3 > b->j / 3;
}

/* Entries of M, their mirror images and the diagonal as places, so that the pattern is symmetric and complete. */
static void make_matrix(const fc3d_problem *p, csim_block_matrix *A) {
    const int n = (p->n + 2) / 3, count = 2 * p->m_count + n;
    fc3d_entry *e = (fc3d_entry *)get((size_t)count, sizeof *e);
    int k, at = -1, i = -1;
    for (k = 0; k < p->m_count; ++k) {
        e[2 * k] = p->M[k];
        e[2 * k + 1].i = p->M[k].j;
        e[2 * k + 1].j = p->M[k].i;
    }
    for (k = 0; k < n; ++k) e[2 * p->m_count + k].i = e[2 * p->m_count + k].j = 3 * k;
    qsort(e, (size_t)count, sizeof *e, by_place);
    A->n = n;
    A->row = (int *)get((size_t)n + 1, sizeof(int));
    A->col = (int *)get((size_t)count, sizeof(int));
    A->diag = (int *)get((size_t)n, sizeof(int));
    A->val = (csim_real *)get(9 * (size_t)count, sizeof(csim_real));
    for (k = 0; k < count; ++k) {
        const int row = e[k].i / 3, col = e[k].j / 3;
        if (row != i || A->col[at] != col) A->col[++at] = col;
        for (; i < row; ++i) A->row[i + 1] = at;
        if (row == col) A->diag[row] = at;
        A->val[9 * (size_t)at + (size_t)(3 * (e[k].i % 3) + e[k].j % 3)] += CSIM_R(e[k].x);
    }
    A->row[n] = at + 1;
    for (k = p->n; k < 3 * n; ++k) A->val[9 * (size_t)A->diag[k / 3] + (size_t)(4 * (k % 3))] = 1; /* padding */
    free(e);
}

static int by_contact(const void *x, const void *y) {
    const fc3d_entry *a = (const fc3d_entry *)x, *b = (const fc3d_entry *)y;
    if (a->j / 3 != b->j / 3) return a->j < b->j ? -1 : 1;
    return a->i / 3 < b->i / 3 ? -1 : a->i / 3 > b->i / 3;
}

static void make_contacts(const fc3d_problem *p, model *m) {
    fc3d_entry *e = (fc3d_entry *)get((size_t)p->h_count, sizeof *e);
    int c, k, terms = 0;
    memcpy(e, p->H, (size_t)p->h_count * sizeof *e);
    qsort(e, (size_t)p->h_count, sizeof *e, by_contact);
    m->terms = (csim_term *)get((size_t)p->h_count, sizeof *m->terms);
    m->contacts = (csim_contact *)get((size_t)p->nc, sizeof *m->contacts);
    for (c = 0, k = 0; c < p->nc; ++c) {
        csim_contact *contact = m->contacts + c;
        int i;
        contact->law = CSIM_LAW_STRICT;
        contact->mu[0] = CSIM_R(p->mu[c]);
        for (i = 0; i < 3; ++i) {
            contact->R[4 * i] = 1;
            contact->phi[i] = CSIM_R(p->b[3 * c + i]);
        }
        contact->a.first = terms;
        for (; k < p->h_count && e[k].j / 3 == c; ++k) {
            if (terms == contact->a.first || m->terms[terms - 1].block != e[k].i / 3)
                m->terms[terms++].block = e[k].i / 3;
            m->terms[terms - 1].J[3 * (e[k].j % 3) + e[k].i % 3] += CSIM_R(e[k].x);
        }
        contact->a.count = terms - contact->a.first;
    }
    m->problem.term_count = terms;
    free(e);
}

static void make_global(const fc3d_problem *p, model *m) {
    const int n = (p->n + 2) / 3;
    int i;
    m->global = true;
    make_matrix(p, &m->problem.A);
    make_contacts(p, m);
    m->b = (csim_real *)get(3 * (size_t)n, sizeof(csim_real));
    for (i = 0; i < p->n; ++i) m->b[i] = CSIM_R(p->f[i]);
    m->problem.b = m->b;
    m->problem.contact_count = p->nc;
    m->problem.contacts = m->contacts;
    m->problem.terms = m->terms;
    m->problem.theta = 1;
}

static void free_model(model *m) {
    if (m->global) {
        free(m->problem.A.row);
        free(m->problem.A.col);
        free(m->problem.A.diag);
        free(m->problem.A.val);
        free(m->b);
        free(m->contacts);
        free(m->terms);
    } else {
        free(m->W.diag);
        free(m->W.val);
        free(m->q);
        free(m->mu);
    }
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

static void solve_once(const model *m, const csim_solver_params *params, run *x) {
    csim_solution solution;
    memset(&x->out, 0, sizeof x->out);
    memset(x->r, 0, (size_t)(m->global ? m->problem.contact_count : m->local.contact_count) * 3 * sizeof *x->r);
    if (!m->global) {
        x->status = csim_impulse_solve(&m->local, params, x->workspace, x->bytes, NULL, x->r, &x->out, &x->error);
        return;
    }
    memset(x->v, 0, 3 * (size_t)m->problem.A.n * sizeof *x->v);
    solution.v = x->v;
    solution.lambda = x->r;
    x->status = csim_problem_solve(&m->problem, params, x->workspace, x->bytes, NULL, &solution, &x->out, &x->error);
}

/* Solves again and again for the wanted time and takes the quickest run: others share the machine. */
static void solve_timed(const model *m, const csim_solver_params *params, double seconds, run *x) {
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
    static const char *const names[CSIM_RESULT_COUNT_] = {"ok", "cap", "stalled", "not-finite"};
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

static int solve_file(const options *o, csim_solver solver) {
    fc3d_problem p;
    fc3d_measures measures;
    csim_solver_params params = csim_default_solver_params();
    model m;
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
    memset(&m, 0, sizeof m);
    memset(&x, 0, sizeof x);
    if (p.global)
        make_global(&p, &m);
    else
        make_local(&p, &m);
    /* files are judged by r alone, so AUTO means that of the impulse level on GLOBAL ones too */
    params.solver = p.global && solver == CSIM_SOLVER_AUTO ? CSIM_SOLVER_SWEEP : solver;
    params.tolerance = CSIM_R(o->tolerance);
    params.max_iterations = o->max_iterations;
    if (p.global) {
        const csim_problem_size size = csim_problem_measure(&m.problem);
        x.bytes = csim_solver_bytes(&size, &params);
    } else {
        x.bytes = csim_impulse_bytes(&m.local, &params);
    }
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
    free_model(&m);
    free(x.workspace);
    free(x.r);
    free(x.v);
    free(r);
    free(order);
    fc3d_free(&p);
    return !ok ? 2 : x.status == CSIM_OK && x.out.result == CSIM_RESULT_CONVERGED ? 0 : 1;
}

/* ---- the command line */

static int usage(const char *what) {
    if (what) fprintf(stderr, "condsim-fc3d: %s\n", what);
    fputs(
        "condsim-fc3d FILE --solver NAME --tol T [--max-iter N] [--out r.txt] [--order SEED] [--seconds S] [--header]\n"
        "condsim-fc3d --list\ncondsim-fc3d --report DIR TABLE.csv ...\n"
        "exit status: 0 solved, 1 not solved, 2 unreadable or wrong\n",
        stderr);
    return 2;
}

static int list_solvers(void) {
    int k;
    for (k = 0; k < CSIM_SOLVER_COUNT_; ++k) {
        const csim_solver_info info = csim_describe_solver((csim_solver)k);
        printf("%-10s %-4s %-4s %s\n", info.name, info.velocity ? "A" : "-", info.impulse ? "W" : "-", info.text);
    }
    return 0;
}

static csim_solver solver_of(const char *name) {
    int k;
    for (k = 0; k < CSIM_SOLVER_COUNT_; ++k)
        if (strcmp(name, csim_describe_solver((csim_solver)k).name) == 0) break;
    return (csim_solver)k;
}

static bool read_option(options *o, const char *flag, const char *value) {
    char *end = NULL;
    bool ok = value[0] != 0;
    if (strcmp(flag, "--solver") == 0) {
        o->solver = value;
    } else if (strcmp(flag, "--out") == 0) {
        o->out = value;
    } else if (strcmp(flag, "--tol") == 0) {
        o->tolerance = strtod(value, &end);
        ok = ok && !*end && o->tolerance > 0;
    } else if (strcmp(flag, "--seconds") == 0) {
        o->seconds = strtod(value, &end);
        ok = ok && !*end && o->seconds >= 0;
    } else if (strcmp(flag, "--max-iter") == 0) {
        const long n = strtol(value, &end, 10);
        o->max_iterations = (int)n;
        ok = ok && !*end && n > 0 && n <= 1000000;
    } else if (strcmp(flag, "--order") == 0) {
        const unsigned long n = strtoul(value, &end, 10);
        o->order = (unsigned)n;
        ok = ok && !*end && n < 1000000000ul;
    } else {
        ok = false;
    }
    return ok;
}

int main(int argc, char **argv) {
    options o;
    csim_solver solver;
    int k;
    memset(&o, 0, sizeof o);
    o.solver = "auto";
    o.tolerance = 1e-4;
    o.max_iterations = 100000;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) return list_solvers();
    if (argc > 3 && strcmp(argv[1], "--report") == 0) return fc3d_report(argv[2], argc - 3, argv + 3);
    for (k = 1; k < argc; ++k) {
        if (strcmp(argv[k], "--header") == 0) {
            o.header = true;
        } else if (argv[k][0] == '-') {
            if (k + 1 >= argc || !read_option(&o, argv[k], argv[k + 1])) return usage(argv[k]);
            ++k;
        } else if (o.file) {
            return usage("one file, please");
        } else {
            o.file = argv[k];
        }
    }
    if (o.header) print_header();
    if (!o.file) return o.header ? 0 : usage("no file");
    solver = solver_of(o.solver);
    if (solver >= CSIM_SOLVER_COUNT_) return usage("no solver of that name; --list shows them");
    return solve_file(&o, solver);
}
