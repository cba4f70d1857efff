/* Contact problems taken out of running scenes. The library is compiled here once more, for this file alone, so that its
   private stages can be called: the copy is what step/island.c would hand to a solver. */
#define CONDSIM_IMPLEMENTATION
#define CONDSIM_STATIC
#define CSIMI_KEEP_MACROS
#include "tables.h"
#include <stdio.h>

struct capture {
    csimi_island_work work; /* arrays in memory */
    void *memory;
    csim_contact *contacts; /* rows of their own: those of the world are gone with its step */
    csim_term *terms;
    int *row;
    csim_real *val;
    double h, dynamics_seconds;
    csim_reference *reference;
    csim_impulse_problem impulse;
    double matrix_seconds;
    csim_real *best; /* v of the reference */
    double best_certificate;
};

/* The clock of a world is read at the start of a step, when A and b are there, when the rows are there, and at the end:
   the third reading of a step is where a problem can be taken. scene_step reads it once before. */
static struct {
    csim_world *world;
    int reading, wanted;
    double start; /* of the step */
    capture *taken;
} hook;

enum { HOOK_ROWS_ARE_THERE = 4 };

static int hook_island(csim_world *w, csimi_step_frame *f) {
    const csimi_store *s = &w->store;
    const size_t bytes = sizeof(int) * ((size_t)f->blocks + 1) + 128; /* groups are no more than blocks */
    int *scratch = (int *)malloc(bytes), i, best = -1, most = 0;
    csimi_arena arena;
    f->island_count =
        csimi_islands(&s->A, f->skip, f->contact_count, f->contacts, f->terms, f->island, f->contact_island, scratch);
    csimi_sort_islands(f);
    csimi_aggregates(w, f);
    arena = csimi_arena_in(scratch, bytes);
    csimi_number_aggregates(f, &arena);
    free(scratch);
    for (i = 0; i < f->island_count; i++)
        if (f->island_contact_first[i + 1] - f->island_contact_first[i] > most) {
            most = f->island_contact_first[i + 1] - f->island_contact_first[i];
            best = i;
        }
    return best;
}

/* The rows of the island, packed: they are the world's, which gets them back. */
static void hook_matrix(csim_world *w, csimi_step_frame *f, int island, capture *c) {
    const int *block = f->island_blocks + f->island_first[island];
    csim_block_matrix *A = &c->work.problem.A;
    const size_t n = (size_t)A->n, count = (size_t)A->row[n];
    int *row = (int *)calloc(3 * n + count + 1, sizeof *row), *diag = row + n + 1, *col = diag + n, i, at = 0;
    c->work.structure.aggregate = (int *)memcpy(col + count, c->work.structure.aggregate, n * sizeof *row);
    c->row = row;
    c->val = (csim_real *)calloc(9 * count + 1, sizeof *c->val);
    for (i = 0; i < A->n; i++) {
        const int length = csimi_row_end(A, i) - A->row[i];
        row[i] = at;
        diag[i] = at + A->diag[i] - A->row[i];
        memcpy(col + at, A->col + A->row[i], (size_t)length * sizeof *col);
        memcpy(c->val + 9 * at, A->val + 9 * (size_t)A->row[i], 9 * (size_t)length * sizeof *c->val);
        at += length;
    }
    row[n] = at;
    csimi_island_matrix_back(w, &c->work, block, A->n);
    A->row = row, A->end = NULL, A->diag = diag, A->col = col, A->val = c->val;
}

static capture *hook_take(csim_world *w, csimi_step_frame *f) {
    const int island = hook_island(w, f);
    csimi_arena arena = csimi_arena_counting();
    csim_problem *p;
    capture *c;
    void *room;
    int i;
    if (island < 0) return NULL;
    c = (capture *)calloc(1, sizeof *c);
    csimi_island_room(w, f, island, &c->work, &arena);
    c->memory = malloc(arena.used + 64);
    arena = csimi_arena_in((void *)(((uintptr_t)c->memory + 63) / 64 * 64), arena.used);
    csimi_island_room(w, f, island, &c->work, &arena);
    csimi_to_islands(w, f);
    csimi_island_fill(w, f, island, &c->work);
    p = &c->work.problem;
    c->contacts = (csim_contact *)calloc((size_t)p->contact_count + 1, sizeof *c->contacts);
    c->terms = (csim_term *)calloc((size_t)p->term_count + 1, sizeof *c->terms);
    memcpy(c->contacts, p->contacts, (size_t)p->contact_count * sizeof *c->contacts);
    for (i = 0; i < 2 * p->contact_count; i++) { /* places of contacts are wider than their terms */
        const csim_side side = i % 2 ? p->contacts[i / 2].b : p->contacts[i / 2].a;
        memcpy(c->terms + side.first, p->terms + side.first, (size_t)side.count * sizeof *c->terms);
    }
    room = malloc(sizeof(int) * (size_t)f->contact_count + 128);
    arena = csimi_arena_in(room, sizeof(int) * (size_t)f->contact_count + 128);
    csimi_to_world(w, f, &arena);
    free(room);
    hook_matrix(w, f, island, c);
    p->contacts = c->contacts;
    p->terms = c->terms;
    c->h = (double)f->h;
    return c;
}

static double hook_clock(void *user) {
    (void)user;
    if (hook.world && hook.reading == 1) hook.start = page_seconds();
    if (hook.world && ++hook.reading == HOOK_ROWS_ARE_THERE && hook.wanted) {
        csimi_arena arena = csimi_arena_in(hook.world->store.scratch, hook.world->store.scratch_bytes);
        csimi_step_frame *frame = CSIMI_PUSH(&arena, csimi_step_frame, 1);
        double spent = page_seconds() - hook.start;
        if (frame->blocks > 0 && frame->contact_count > 0) hook.taken = hook_take(hook.world, frame);
        if (hook.taken) hook.taken->dynamics_seconds = spent;
    }
    return page_seconds();
}

static void settings_of(scene_options *o, const char *text) {
    char one[256];
    int used = 0;
    while (text && sscanf(text, " %255s%n", one, &used) == 1) {
        scene_set(o, one);
        text += used;
    }
}

int capture_scene(const capture_run *run, capture **out, char *why, size_t why_size) {
    scene_options o = scene_default_options();
    scene *s;
    int i, n = 0;
    o.size = run->size;
    o.h = run->h;
    o.integrator = run->integrator;
    o.clock = hook_clock;
    settings_of(&o, run->settings);
    s = scene_open(run->scene, &o, why, why_size);
    if (!s) return 0;
    hook.world = s->world;
    for (i = 0; i < run->count && !s->failed;) {
        hook.reading = 0;
        hook.taken = NULL;
        hook.wanted = s->step + 1 == run->steps[i];
        if (!scene_step(s)) break;
        if (hook.taken) out[n++] = hook.taken;
        if (hook.wanted) i++;
    }
    hook.world = NULL;
    if (n == 0) snprintf(why, why_size, "%s", s->failed ? s->error : "no contacts in the steps asked for");
    scene_close(s);
    return n;
}

void capture_free(capture *c) {
    csim_destroy_reference(c->reference);
    free(c->best);
    free(c->memory);
    free(c->contacts);
    free(c->terms);
    free(c->row);
    free(c->val);
    free(c);
}

int capture_contacts(const capture *c) { return c->work.problem.contact_count; }
int capture_blocks(const capture *c) { return c->work.problem.A.n; }
const csim_problem *capture_problem(const capture *c) { return &c->work.problem; }
const csim_real *capture_lambda(const capture *c) { return c->work.solution.lambda; }
double capture_h(const capture *c) { return c->h; }
double capture_dynamics_seconds(const capture *c) { return c->dynamics_seconds; }
double capture_matrix_seconds(const capture *c) { return c->matrix_seconds; }

csim_impulse_problem capture_impulse(capture *c) {
    if (!c->reference) {
        csim_error error;
        double start = page_seconds();
        if (csim_create_reference(&c->work.problem, NULL, &c->reference, &error) ||
            csim_reference_impulse(c->reference, &c->impulse, &error)) {
            fprintf(stderr, "tables: %s\n", error.text);
            exit(2);
        }
        c->matrix_seconds = page_seconds() - start;
    }
    return c->impulse;
}

void capture_velocity(capture *c, const csim_real *lambda, csim_real *v) {
    capture_impulse(c);
    csim_reference_velocity(c->reference, lambda, v);
}

void capture_slip(const capture *c, const csim_real *v, int contact, csim_real *u) {
    const csim_problem *p = &c->work.problem;
    const csim_contact *k = p->contacts + contact;
    csim_real sum[3] = {0, 0, 0}, y[3];
    int side, t, i;
    for (side = 0; side < 2; side++) {
        const csim_side *x = side ? &k->b : &k->a;
        for (t = x->first; t < x->first + x->count; t++) {
            csimi_mul3(p->terms[t].J, v + 3 * (size_t)p->terms[t].block, y);
            for (i = 0; i < 3; i++) sum[i] += side ? -y[i] : y[i];
        }
    }
    for (i = 0; i < 3; i++) u[i] = k->phi[i];
    csimi_addmul3(k->R, sum, u);
}

/* ---- solving */

double answer_certificate(const answer *a) { return csim_certificate_worst(&a->certificate); }

void answer_free(answer *a) {
    free(a->v);
    free(a->lambda);
    memset(a, 0, sizeof *a);
}

static void certify(const capture *c, answer *a) {
    const csim_problem *p = &c->work.problem;
    size_t bytes = csim_certificate_bytes(p->A.n, p->contact_count);
    char *scratch = (char *)malloc(bytes + 64);
    csim_problem_certify(p, a->v, a->lambda, scratch + 64 - (uintptr_t)scratch % 64, bytes, &a->certificate);
    free(scratch);
}

answer capture_solve(capture *c, const csim_solver_params *params, bool dense, bool cold) {
    const csim_problem *p = &c->work.problem;
    const size_t n = 3 * (size_t)p->A.n, m = 3 * (size_t)p->contact_count;
    csim_problem_size size = csim_problem_measure(p);
    csim_error error;
    csim_status status;
    answer a;
    size_t bytes;
    void *workspace;
    memset(&a, 0, sizeof a);
    a.v = (csim_real *)calloc(n + 1, sizeof(csim_real));
    a.lambda = (csim_real *)calloc(m + 1, sizeof(csim_real));
    if (!cold) {
        memcpy(a.v, c->work.solution.v, n * sizeof(csim_real));
        memcpy(a.lambda, c->work.solution.lambda, m * sizeof(csim_real));
    }
    if (dense) capture_impulse(c);
    bytes = dense ? csim_impulse_bytes(&c->impulse, params) : csim_solver_bytes(&size, params);
    workspace = malloc(bytes + 64);
    a.seconds = page_seconds();
    if (dense) {
        status = csim_impulse_solve(&c->impulse, params, workspace, bytes, NULL, a.lambda, &a.outcome, &error);
        csim_reference_velocity(c->reference, a.lambda, a.v);
    } else {
        csim_solution solution = csim_solution_of(NULL, NULL);
        solution.v = a.v;
        solution.lambda = a.lambda;
        status = csim_problem_solve(p, params, workspace, bytes, NULL, &solution, &a.outcome, &error);
    }
    a.seconds = page_seconds() - a.seconds;
    a.iterations = a.outcome.iterations;
    free(workspace);
    certify(c, &a);
    a.status = status;
    if (status != CSIM_OK) fprintf(stderr, "tables: %s\n", error.text);
    return a;
}

static answer solve_capped(capture *c, const csim_solver_params *params, bool dense, int iterations) {
    csim_solver_params capped = *params;
    capped.max_iterations = iterations;
    capped.tolerance = CSIM_R(1e-14);
    return capture_solve(c, &capped, dense, false);
}

/* |v_l - v_(l-1)| in the norm of D = diag A, over |b| in that of 1/D; a holds v_l. */
static double last_step(capture *c, const csim_solver_params *params, int l, answer *a) {
    const csim_problem *p = &c->work.problem;
    answer before = solve_capped(c, params, true, l - 1);
    double sum = 0, size = 0;
    int i;
    *a = solve_capped(c, params, true, l);
    for (i = 0; i < 3 * p->A.n; i++) {
        const double D = (double)p->A.val[9 * (size_t)p->A.diag[i / 3] + 4 * (size_t)(i % 3)];
        const double d = (double)(a->v[i] - before.v[i]);
        sum += D * d * d;
        size += (double)p->b[i] * (double)p->b[i] / D;
    }
    answer_free(&before);
    return sqrt(sum / size);
}

/* The history of COND holds its step, in the norm of 1/W, iteration by iteration. */
static answer stop_cond(capture *c, const csim_solver_params *params, double threshold, int most) {
    csim_solver_params p = *params;
    double *history = (double *)calloc((size_t)most + 1, sizeof(double));
    answer a;
    int l;
    p.history = history;
    p.history_capacity = most;
    p.max_iterations = most;
    p.tolerance = CSIM_R(1e-14);
    a = capture_solve(c, &p, false, false);
    for (l = 0; l < most && l < a.iterations && !(history[l] < threshold); l++) {
    }
    answer_free(&a);
    free(history);
    a = solve_capped(c, params, false, l < 2 ? 2 : l < most ? l : most);
    a.iterations = l;
    return a;
}

/* The others return the best iterate they saw: two equal ones in a row are no small step but a worse one between. */
answer capture_stop_by_step(capture *c, const csim_solver_params *params, bool dense, double threshold, int most) {
    int l;
    if (!dense) return stop_cond(c, params, threshold, most);
    for (l = 2;; l += 1 + l / 4) {
        answer a;
        double step = last_step(c, params, l < most ? l : most, &a);
        a.iterations = l < most ? l : most;
        if (l >= most || (step > 0 && step < threshold) || answer_certificate(&a) < 1e-12) return a;
        answer_free(&a);
    }
}

answer capture_certified(capture *c, const csim_solver_params *params, bool dense, double tolerance) {
    csim_solver_params p = *params;
    answer a;
    int round;
    p.tolerance = (csim_real)tolerance;
    for (round = 0;; round++) {
        a = capture_solve(c, &p, dense, false);
        if (answer_certificate(&a) <= tolerance || round == 3) return a;
        p.tolerance /= 10;
        answer_free(&a);
    }
}

/* Anderson's Gauss-Seidel through W, COND where it fails; the better of the two. */
static void make_best(capture *c) {
    csim_solver_params p = csim_default_solver_params();
    answer a, b;
    size_t n = 3 * (size_t)c->work.problem.A.n * sizeof(csim_real);
    p.tolerance = sizeof(csim_real) > 4 ? CSIM_R(1e-11) : CSIM_R(1e-6);
    p.max_iterations = 20000;
    p.solver = CSIM_SOLVER_COND;
    a = capture_solve(c, &p, false, false);
    if (answer_certificate(&a) > 1e-9) {
        p.solver = CSIM_SOLVER_ANDERSON;
        p.max_iterations = 3000;
        b = capture_solve(c, &p, true, false);
        if (answer_certificate(&b) < answer_certificate(&a)) {
            answer swap = a;
            a = b;
            b = swap;
        }
        answer_free(&b);
    }
    c->best = (csim_real *)malloc(n);
    memcpy(c->best, a.v, n);
    c->best_certificate = answer_certificate(&a);
    answer_free(&a);
}

double capture_best_certificate(capture *c) {
    if (!c->best) make_best(c);
    return c->best_certificate;
}

double capture_force_error(capture *c, const csim_real *v) {
    const csim_problem *p = &c->work.problem;
    int i, n = 3 * p->A.n;
    csim_real *d = (csim_real *)malloc(2 * (size_t)n * sizeof(csim_real)), *y = d + n;
    double sum = 0;
    if (!c->best) make_best(c);
    for (i = 0; i < n; i++) d[i] = v[i] - c->best[i];
    csimi_product(&p->A, d, y, NULL);
    for (i = 0; i < n; i++) sum += (double)y[i] * (double)y[i];
    free(d);
    return sqrt(sum) / c->h;
}

bool solver_named(const char *name, csim_solver *solver) {
    int i;
    for (i = 0; i < (int)CSIM_SOLVER_COUNT_; i++)
        if (strcmp(csim_describe_solver((csim_solver)i).name, name) == 0) {
            *solver = (csim_solver)i;
            return true;
        }
    return false;
}

void mean_add(mean *m, double x) {
    int k = m->count < MEAN_KEEPS ? m->count : 0;
    for (; k > 0 && m->kept[k - 1] > x; k--) m->kept[k] = m->kept[k - 1];
    if (m->count < MEAN_KEEPS) m->kept[k] = x;
    m->sum += x;
    m->max = m->count++ == 0 || x > m->max ? x : m->max;
}

double mean_share(const mean *m, double share) {
    const int n = m->count < MEAN_KEEPS ? m->count : MEAN_KEEPS;
    return n ? m->kept[(int)(share * (n - 1) + 0.5)] : NAN;
}

void spread_steps(int *steps, int first, int last, int count) {
    int k;
    for (k = 0; k < count; k++) steps[k] = first + (count > 1 ? (last - first) * k / (count - 1) : 0);
}

double mean_of(const mean *m) { return m->count ? m->sum / m->count : NAN; }
