/* Hard contact problems of rigid piles, with the start their world gave: ../shared/impact (or the folder named), packed
   by xz, of which each is solved by AUTO at 1e-3 and 5e-5. Lines: problem, bodies, contacts, tolerance, result,
   iterations, worst figure of the certificate, ms of one thread (the least of three), MB of workspace. */
#define _POSIX_C_SOURCE 200112L
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 3 };

static const char *const problems[] = {"mass300_s24_0",  "mass300_s36_0",  "pen1000_s180_7", "pen1000_s240_0",
                                       "pen1000_s240_9", "pen1000_s24_0",  "pen1000_s36_0",  "pen1000_s48_14",
                                       "pen1000_s48_4",  "pen1000_s59_11", "stack40_s2_0",   "tumble300_s120_0",
                                       "tumble300_s50_0"};

typedef struct loaded {
    csim_problem p;
    csim_real *v, *lambda; /* the start */
    void *memory[9];
    int held;
} loaded;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void *room(loaded *l, int count, size_t size) {
    void *memory = calloc((size_t)count + 1, size);
    if (!memory) exit(1);
    return l->memory[l->held++] = memory;
}

static void take(FILE *f, void *to, size_t size, size_t count) {
    if (fread(to, size, count, f) != count) {
        fprintf(stderr, "bench_impact: a file ends early\n");
        exit(1);
    }
}

/* Bodies: the lower triangle of the 6x6 block of A, b[6], v[6]. */
static void read_bodies(loaded *l, FILE *f, int bodies) {
    csim_block_matrix *A = &l->p.A;
    const int n = 2 * bodies;
    int *row = (int *)room(l, n + 1, sizeof *row), *col = (int *)room(l, 2 * n, sizeof *col);
    int *diag = (int *)room(l, n, sizeof *diag), i, k, r, c;
    csim_real *val = (csim_real *)room(l, 18 * n, sizeof *val), *b = (csim_real *)room(l, 3 * n, sizeof *b);
    l->v = (csim_real *)room(l, 3 * n, sizeof *l->v);
    for (i = 0; i < bodies; i++) {
        double d[33], L[6][6];
        take(f, d, sizeof *d, 33);
        for (r = k = 0; r < 6; r++)
            for (c = 0; c <= r; c++, k++) L[r][c] = L[c][r] = d[k];
        for (k = 0; k < 4; k++) { /* four blocks: row 2 i + k / 2, column 2 i + k % 2 */
            col[4 * i + k] = 2 * i + k % 2;
            for (r = 0; r < 9; r++) val[9 * (4 * i + k) + r] = (csim_real)L[3 * (k / 2) + r / 3][3 * (k % 2) + r % 3];
        }
        for (k = 0; k < 2; k++) {
            row[2 * i + k] = 4 * i + 2 * k;
            diag[2 * i + k] = 4 * i + 3 * k;
        }
        for (k = 0; k < 6; k++) {
            b[6 * i + k] = (csim_real)d[21 + k];
            l->v[6 * i + k] = (csim_real)d[27 + k];
        }
    }
    row[n] = 4 * bodies;
    A->n = n;
    A->row = row, A->col = col, A->diag = diag, A->val = val;
    l->p.b = b;
}

/* Contacts: body[2] (-1 static), float J[2][3][6] with its sign, double phi[3], mu, mass[2], lambda[3]. */
static void read_contacts(loaded *l, FILE *f, int count) {
    csim_contact *contact = (csim_contact *)room(l, count, sizeof *contact);
    csim_term *term = (csim_term *)room(l, 4 * count, sizeof *term);
    int i, k, q, r, at = 0;
    l->lambda = (csim_real *)room(l, 3 * count, sizeof *l->lambda);
    for (i = 0; i < count; i++) {
        csim_contact *c = contact + i;
        int body[2];
        float J[36];
        double d[9];
        take(f, body, sizeof *body, 2);
        take(f, J, sizeof *J, 36);
        take(f, d, sizeof *d, 9);
        c->law = CSIM_LAW_STRICT;
        c->mu[0] = c->mu[1] = (csim_real)d[3];
        for (k = 0; k < 3; k++) {
            c->R[4 * k] = 1; /* J is in the contact frame already */
            c->phi[k] = (csim_real)d[k];
            l->lambda[3 * i + k] = (csim_real)d[6 + k];
        }
        for (q = 0; q < 2; q++) {
            csim_side *side = q ? &c->b : &c->a;
            side->first = at;
            c->mass[q] = (csim_real)d[4 + q];
            for (k = 0; k < 2 && body[q] >= 0; k++, at++) {
                term[at].block = 2 * body[q] + k;
                for (r = 0; r < 9; r++)
                    term[at].J[r] = (csim_real)(q ? -1 : 1) * (csim_real)J[18 * q + 6 * (r / 3) + 3 * k + r % 3];
            }
            side->count = at - side->first;
        }
    }
    l->p.contacts = contact;
    l->p.contact_count = count;
    l->p.terms = term;
    l->p.term_count = at;
}

static bool load(loaded *l, const char *folder, const char *name) {
    char command[1024];
    int head[4], i;
    FILE *f;
    memset(l, 0, sizeof *l);
    snprintf(command, sizeof command, "xz -dc '%s/%s.p2.xz'", folder, name);
    if (!(f = popen(command, "r"))) return false;
    if (fread(head, sizeof *head, 4, f) != 4) {
        pclose(f);
        return false;
    }
    read_bodies(l, f, head[1]);
    read_contacts(l, f, head[2]);
    for (i = 0; i < 4096 && fgetc(f) != EOF; i++) {
    }
    return pclose(f) == 0;
}

static const char *const result[] = {"converged", "unchecked", "cap", "stalled", "not finite"};

static void solve(const loaded *l, const char *name, double tolerance) {
    const size_t n = 3 * (size_t)l->p.A.n * sizeof(csim_real), m = 3 * (size_t)l->p.contact_count * sizeof(csim_real);
    csim_solver_params params = csim_default_solver_params();
    csim_problem_size size = csim_problem_measure(&l->p);
    csim_real *v = (csim_real *)malloc(n + 1), *lambda = (csim_real *)malloc(m + 1);
    csim_outcome outcome;
    csim_error error;
    size_t bytes;
    double least = 1e300;
    void *work;
    int i;
    params.tolerance = (csim_real)tolerance;
    bytes = csim_solver_bytes(&size, &params);
    if (!v || !lambda || !(work = malloc(bytes))) exit(1);
    for (i = 0; i < RUNS; i++) {
        csim_solution s;
        double from;
        memset(&s, 0, sizeof s);
        s.v = (csim_real *)memcpy(v, l->v, n);
        s.lambda = (csim_real *)memcpy(lambda, l->lambda, m);
        from = now();
        if (csim_problem_solve(&l->p, &params, work, bytes, NULL, &s, &outcome, &error) != CSIM_OK) exit(1);
        from = now() - from;
        least = from < least ? from : least;
    }
    printf("%s,%d,%d,%g,%s,%d,%.2e,%.2f,%.1f\n", name, l->p.A.n / 2, l->p.contact_count, tolerance,
           result[outcome.result], outcome.iterations, (double)csim_certificate_worst(&outcome.certificate), least,
           1e-6 * (double)bytes);
    fflush(stdout);
    free(work);
    free(lambda);
    free(v);
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : "../shared/impact";
    const int count = (int)(sizeof problems / sizeof *problems);
    int i, k;
    printf("problem,bodies,contacts,tolerance,result,iterations,worst,ms,MB\n");
    for (k = 0; k < 2; k++)
        for (i = 0; i < count; i++) {
            loaded l;
            if (!load(&l, folder, problems[i])) {
                fprintf(stderr, "bench_impact: no %s/%s.p2.xz, or no xz; left out\n", folder, problems[i]);
                continue;
            }
            solve(&l, problems[i], k ? 5e-5 : 1e-3);
            while (l.held > 0) free(l.memory[--l.held]);
        }
    return 0;
}
