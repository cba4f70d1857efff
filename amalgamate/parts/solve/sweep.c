/* solve/sweep: islands of rigid bodies (or of any small dense bodies), solved at the level of impulses without ever
   forming J A^-1 J'. Gauss-Seidel sweeps visit the contacts, solve each one exactly for its law with everything else
   held, and carry the change into the velocities of its bodies. The cascade, after findings-impulse.md:
     1  sweeps accelerated by Anderson's method, while they halve the measure every few sweeps
     2  Newton on the body velocities (solve/newton.c), where its factors fit into the memory of the ring
     3  accelerated sweeps again, then a proximal loop of them: problems a little better conditioned than the true one,
        each solved around the last answer
   Each stage starts from the best impulses seen, and the measure is the contact figure of the certificate. */
#include "private.h"

#define CSIMI_SWEEP_WINDOW 19    /* f and p: with the other vectors it makes 50 of 3nc */
#define CSIMI_SWEEP_PATIENCE 100 /* sweeps without a halving before the next stage; 4 before Newton */

CSIMI_FN bool csimi_sweep_takes(const csim_problem *problem) { return csimi_bodies_take(problem); }

/* ---- velocities */

CSIMI_FN void csimi_contact_velocity(const csimi_sweep *s, const csimi_sweep_contact *c, csim_real *u) {
    u[0] = c->phi[0];
    u[1] = c->phi[1];
    u[2] = c->phi[2];
    csimi_pieces_velocity(s->pieces + c->first, c->count, s->v, u);
}

/* v from lambda anew: after a jump, and to shed the rounding of incremental updates. */
CSIMI_FN void csimi_sweep_velocities(csimi_sweep *s) {
    int m;
    CSIMI_MEMCPY(s->v, s->free_velocity, 3 * (size_t)s->n * sizeof *s->v);
    for (m = 0; m < s->contact_count; ++m)
        csimi_pieces_push(&s->bodies, s->pieces + s->contacts[m].first, s->contacts[m].count,
                          s->lambda + 3 * (ptrdiff_t)m, s->v);
}

/* ---- one contact: preparing its model */

/* ---- a sweep */

/* One Gauss-Seidel pass over lambda and v. In the proximal loop extra (lambda - centre) is added to u. */
static void csimi_sweep_pass(csimi_sweep *s) {
    int m, k;
    for (m = 0; m < s->contact_count; ++m) {
        csimi_sweep_contact *c = s->contacts + m;
        csim_real *lambda = s->lambda + 3 * (ptrdiff_t)m, u[3], next[3] = {0, 0, 0};
        const csim_real *W = c->local.W, *centre = s->centre + 3 * (ptrdiff_t)m;
        csimi_contact_velocity(s, c, u);
        u[0] -= W[0] * lambda[0] + W[1] * lambda[1] + W[2] * lambda[2] + c->local.extra * centre[0];
        u[1] -= W[1] * lambda[0] + W[3] * lambda[1] + W[4] * lambda[2] + c->local.extra * centre[1];
        u[2] -= W[2] * lambda[0] + W[4] * lambda[1] + W[5] * lambda[2] + c->local.extra * centre[2];
        csimi_local_solve(&c->local, u, next);
        for (k = 0; k < 3; ++k) u[k] = next[k] - lambda[k];
        if (csimi_abs(u[0]) + csimi_abs(u[1]) + csimi_abs(u[2]) <= 0) continue;
        for (k = 0; k < 3; ++k) lambda[k] = next[k];
        csimi_pieces_push(&s->bodies, s->pieces + c->first, c->count, u, s->v);
    }
    ++s->sweeps;
}

/* The nearest impulse the law allows. */
static void csimi_sweep_project(csimi_sweep *s) {
    int m;
    for (m = 0; m < s->contact_count; ++m) {
        const csim_contact *contact = s->contacts[m].contact;
        csim_real *lambda = s->lambda + 3 * (ptrdiff_t)m;
        if (contact->law == CSIM_LAW_STRICT || contact->law == CSIM_LAW_INVERTIBLE)
            csim_project_cone(contact->mu[0], lambda, lambda);
        else
            csim_project(contact, 1, lambda, lambda);
    }
}

/* ---- the measure: the contact figure of certificate.md on lambda and v */

static csim_real csimi_norm3(const csim_real *x) { return CSIMI_SQRT(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/* lambda - Project(lambda - rho u), with the friction set of the impulse at hand. */
static csim_real csimi_sweep_residual(const csimi_sweep *s, const csimi_sweep_contact *c, const csim_real *lambda) {
    const csim_contact *contact = c->contact;
    csim_real u[3], x[3], y[3];
    int k;
    csimi_contact_velocity(s, c, u);
    for (k = 0; k < 3; ++k) {
        if (contact->law == CSIM_LAW_INVERTIBLE) u[k] += contact->omega[k > 0] * lambda[k];
        x[k] = lambda[k] - c->rho * u[k];
    }
    if (contact->law == CSIM_LAW_STRICT || contact->law == CSIM_LAW_ANISOTROPIC ||
        contact->law == CSIM_LAW_INVERTIBLE) {
        const csim_real normal = csimi_max(lambda[0], 0);
        y[0] = csimi_max(x[0], 0);
        csim_project_ellipse(c->local.mu[0] * normal, c->local.mu[1] * normal, x + 1, y + 1);
    } else {
        csim_project(contact, 1, x, y);
    }
    for (k = 0; k < 3; ++k) x[k] = lambda[k] - y[k];
    return csimi_norm3(x);
}

/* Speeds that u of a contact is a difference of. */
static csim_real csimi_sweep_speed(const csimi_sweep *s, const csimi_sweep_contact *c) {
    csim_real speed = csimi_norm3(c->phi);
    int k;
    for (k = c->first; k < c->first + c->count; ++k) {
        csim_real term[3];
        csimi_mul3(s->pieces[k].J, s->v + 3 * (ptrdiff_t)s->pieces[k].block, term);
        speed += csimi_norm3(term);
    }
    return speed;
}

/* The lower middle value of x[count]; reorders x (Hoare's selection). */
CSIMI_FN csim_real csimi_median(csim_real *x, int count) {
    const int middle = (count - 1) / 2;
    int lo = 0, hi = count - 1;
    while (lo < hi) {
        const csim_real pivot = x[lo + (hi - lo) / 2];
        int i = lo, j = hi;
        while (i <= j) {
            while (x[i] < pivot) ++i;
            while (x[j] > pivot) --j;
            if (i <= j) {
                const csim_real swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (middle <= j)
            hi = j;
        else if (middle >= i)
            lo = i;
        else
            break;
    }
    return x[middle];
}

/* Worst natural residual over max(|lambda|, median, tiny), and keeps the best impulses seen. The speeds that tiny needs
   are looked at only where the other scales do not already settle it. */
static void csimi_sweep_measure(csimi_sweep *s) {
    const csim_real noise = CSIM_R(1e5) * CSIMI_EPS;
    csim_real most = 0, median, worst = 0;
    int m, carrying = 0;
    for (m = 0; m < s->contact_count; ++m) {
        s->norms[m] = csimi_norm3(s->lambda + 3 * (ptrdiff_t)m);
        most = csimi_max(most, s->norms[m]);
    }
    for (m = 0; m < s->contact_count; ++m) /* open contacts have no say: their number depends on the margins */
        if (s->norms[m] > noise * most) s->norms[carrying++] = s->norms[m];
    median = carrying > 0 ? csimi_median(s->norms, carrying) : 0;
    median = csimi_max(median, csimi_max(noise * most, CSIMI_TINY));
    for (m = 0; m < s->contact_count; ++m) {
        const csimi_sweep_contact *c = s->contacts + m;
        const csim_real *lambda = s->lambda + 3 * (ptrdiff_t)m;
        const csim_real residual = csimi_sweep_residual(s, c, lambda);
        csim_real scale = csimi_max(csimi_norm3(lambda), median);
        if (residual <= worst * scale) continue;
        scale = csimi_max(scale, noise * c->rho * csimi_sweep_speed(s, c));
        worst = residual < CSIMI_HUGE ? csimi_max(worst, residual / scale) : CSIMI_HUGE;
    }
    s->measure = (double)worst;
    if (!(s->measure < s->best_measure)) return;
    s->best_measure = s->measure;
    CSIMI_MEMCPY(s->best, s->lambda, 3 * (size_t)s->contact_count * sizeof *s->best);
}

/* ---- stages */

static bool csimi_sweep_done(const csimi_sweep *s) {
    return s->best_measure <= s->target || s->sweeps >= s->cap || s->broken;
}

/* Fills the history up to the last iteration. */
static void csimi_sweep_log(csimi_sweep *s) {
    for (; s->logged < csimi_imin(s->sweeps, s->history_capacity); ++s->logged) s->history[s->logged] = s->measure;
}

/* One sweep whose change goes into the next slot of the ring: f = g - r, p = g. Returns |f| in the metric. */
static double csimi_sweep_record(csimi_sweep *s) {
    const int length = 3 * s->contact_count;
    csim_real *f, *p;
    int i;
    csimi_anderson_slot(&s->anderson, &f, &p);
    CSIMI_MEMCPY(f, s->lambda, (size_t)length * sizeof *f);
    csimi_sweep_pass(s);
    for (i = 0; i < length; ++i) {
        f[i] = s->lambda[i] - f[i];
        p[i] = s->lambda[i];
    }
    return csimi_sqrt64(csimi_sum_weighted(length, s->metric, f, f));
}

/* Replaces lambda by Anderson's combination, made feasible. */
static void csimi_sweep_extrapolate(csimi_sweep *s) {
    csimi_anderson_step(&s->anderson, s->metric, s->lambda, s->tasks);
    if (s->anderson.count < 2) return;
    csimi_sweep_project(s);
    csimi_sweep_velocities(s);
}

/* Distance of lambda from the centre of the proximal step. */
static double csimi_sweep_travel(const csimi_sweep *s) {
    double sum = 0;
    int i;
    for (i = 0; i < 3 * s->contact_count; ++i) {
        const double way = (double)s->lambda[i] - (double)s->centre[i];
        sum += (double)s->metric[i] * way * way;
    }
    return csimi_sqrt64(sum);
}

/* Accelerated sweeps. eps 0: until measured good, or no halving of the measure for patience sweeps. eps > 0: one
   proximal step, until the change of a sweep is small against eps times the way from the centre, or budget sweeps.
   Ends on a plain sweep, never on an extrapolation. Returns the number of sweeps; false in *settled when it gave up. */
static int csimi_sweep_accelerated(csimi_sweep *s, double eps, int budget, bool *settled) {
    double least = (double)CSIMI_HUGE, halved = s->best_measure;
    int count = 0, since = 0;
    csimi_anderson_clear(&s->anderson);
    for (*settled = false;;) {
        const double change = csimi_sweep_record(s);
        ++count;
        ++since;
        s->broken = !(change < (double)CSIMI_HUGE);
        if (s->broken) break;
        if (s->sweeps == 1 || s->sweeps % 2 == 0) csimi_sweep_measure(s);
        csimi_sweep_log(s);
        if (csimi_sweep_done(s)) break;
        if (s->best_measure < 0.5 * halved) {
            halved = s->best_measure;
            since = 0;
        }
        if (eps > 0 ? count >= budget : since >= budget) break;
        if (eps > 0 && change < 0.2 * eps * csimi_sweep_travel(s)) {
            *settled = true;
            break;
        }
        if (change > 1.5 * least) { /* the extrapolation did harm: forget it */
            csimi_anderson_clear(&s->anderson);
            least = (double)CSIMI_HUGE;
            ++s->rejections;
        } else {
            if (change < least) least = change;
            csimi_sweep_extrapolate(s);
        }
    }
    return count;
}

CSIMI_FN void csimi_sweep_prepare(csimi_sweep *s, double eps) {
    int m;
    for (m = 0; m < s->contact_count; ++m)
        csimi_local_prepare(&s->contacts[m].local, s->contacts[m].contact, (csim_real)eps);
}

static void csimi_sweep_restore(csimi_sweep *s) {
    CSIMI_MEMCPY(s->lambda, s->best, 3 * (size_t)s->contact_count * sizeof *s->best);
    csimi_sweep_velocities(s);
}

/* Stage 3: W + eps I, solved around the last answer with eps as small as the inner sweeps bear. */
static void csimi_sweep_proximal(csimi_sweep *s) {
    double eps = 1e-2;
    csimi_sweep_restore(s);
    while (!csimi_sweep_done(s)) {
        bool settled;
        int count;
        CSIMI_MEMCPY(s->centre, s->lambda, 3 * (size_t)s->contact_count * sizeof *s->centre);
        csimi_sweep_prepare(s, eps);
        count = csimi_sweep_accelerated(s, eps, 200, &settled);
        if (!settled)
            eps = eps * 3 < 1 ? eps * 3 : 1;
        else if (count < 67)
            eps *= 0.1;
        else if (count < 133)
            eps *= 0.3;
        if (eps < 1e-9) eps = 1e-9;
    }
    csimi_sweep_prepare(s, 0);
}

/* Stage 2: proximal steps by Newton, with eps falling while they converge. Below what was asked for it goes on while it
   gains, because what is left unsolved moves bodies and costs more in the next step than here. */
static void csimi_sweep_newton(csimi_sweep *s, double good) {
    const int budget = s->sweeps + 200;
    double eps = s->best_measure > 1e-2 ? 1e-2 : 1e-3, fall = 0.1, halved = s->best_measure;
    int iterations, failures = 0, idle = 0;
    s->convex = false;
    csimi_sweep_restore(s);
    while (!csimi_sweep_done(s) && s->sweeps < budget && failures < 7 && eps < 1) {
        if (csimi_newton_step(s, eps, &iterations)) {
            csimi_sweep_measure(s);
            if (iterations < 8 && eps > 1e-8) eps *= fall;
        } else if (!s->convex) {
            s->convex = true;
            ++failures;
        } else {
            eps *= 10;
            fall = 0.3;
            ++failures;
        }
        csimi_sweep_log(s);
        if (s->best_measure < 0.5 * halved) {
            halved = s->best_measure;
            idle = 0;
        } else if (++idle >= 10 && s->best_measure <= good) {
            break;
        }
    }
    csimi_sweep_prepare(s, 0);
    csimi_sweep_restore(s);
}

/* ---- set-up */

/* Doubles that Newton gets besides the ring: small islands always fit, whatever their graph; a quarter of a megabyte.
 */
static size_t csimi_sweep_spare(int n, int contacts, int window) {
    const size_t most = 32768, rows = (size_t)n;
    const size_t full = rows > 200 ? most : 9 * rows * rows + 12 * rows + 64;
    const size_t ring = 6 * (size_t)window * (size_t)contacts * sizeof(csim_real) / sizeof(double);
    const size_t wanted = full < most ? full : most;
    return contacts > 0 && wanted > ring ? wanted : 0;
}

static void csimi_sweep_layout(csimi_sweep *s, csimi_arena *arena, int n, int inverse, int contacts, int terms,
                               int window) {
    const size_t vector = 3 * (size_t)contacts;
    csimi_bodies_layout(&s->bodies, arena, n, inverse);
    s->free_velocity = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->pieces = CSIMI_PUSH(arena, csimi_piece, terms);
    s->contacts = CSIMI_PUSH(arena, csimi_sweep_contact, contacts);
    s->lambda = CSIMI_PUSH(arena, csim_real, vector);
    s->best = CSIMI_PUSH(arena, csim_real, vector);
    s->centre = CSIMI_PUSH(arena, csim_real, vector);
    s->metric = CSIMI_PUSH(arena, csim_real, vector);
    s->norms = CSIMI_PUSH(arena, csim_real, contacts);
    s->order = CSIMI_PUSH(arena, int, n);
    s->place = CSIMI_PUSH(arena, int, n);
    s->envelope.first = CSIMI_PUSH(arena, int, n);
    s->envelope.start = CSIMI_PUSH(arena, size_t, n);
    s->spare_count = csimi_sweep_spare(n, contacts, window);
    s->spare = CSIMI_PUSH(arena, double, s->spare_count);
    csimi_anderson_layout(&s->anderson, arena, 3 * contacts, window);
}

static int csimi_sweep_window(const csim_solver_params *params) {
    return params->window > 0 ? params->window : CSIMI_SWEEP_WINDOW;
}

CSIMI_FN size_t csimi_sweep_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_sweep s;
    csimi_sweep_layout(&s, &arena, size->blocks, csimi_inverse_blocks_of(size), size->contacts, size->terms,
                       csimi_sweep_window(params));
    csimi_push(&arena, csim_certificate_bytes(size->blocks, size->contacts), 1);
    return arena.high;
}

/* The certificate's rho where the sides have masses of their own, else 3 / tr W, which is the same for rigid bodies. */
static csim_real csimi_sweep_rho(const csimi_sweep_contact *c) {
    const csim_contact *contact = c->contact;
    const csim_real trace = c->local.W[0] + c->local.W[3] + c->local.W[5];
    csim_real mobility = 0;
    if ((contact->a.count > 0 && !(contact->mass[0] > 0)) || (contact->b.count > 0 && !(contact->mass[1] > 0)))
        return trace > 0 ? 3 / trace : 1;
    if (contact->a.count > 0) mobility += 1 / contact->mass[0];
    if (contact->b.count > 0) mobility += 1 / contact->mass[1];
    return 1 / mobility;
}

static void csimi_sweep_contacts(csimi_sweep *s) {
    int m, k, at = 0;
    for (m = 0; m < s->contact_count; ++m) {
        csimi_sweep_contact *c = s->contacts + m;
        const csim_contact *contact = s->problem->contacts + m;
        csim_real scale, W[9];
        CSIMI_MEMSET(c, 0, sizeof *c);
        c->contact = contact;
        c->first = at;
        c->count = csimi_pieces_make(s->problem, &s->bodies, m, s->pieces + at);
        at += c->count;
        for (k = 0; k < 3; ++k) c->phi[k] = contact->phi[k];
        csimi_pieces_delassus(&s->bodies, s->pieces + c->first, c->count, W);
        csimi_local_set(&c->local, W);
        c->rho = csimi_sweep_rho(c);
        scale = csimi_max((c->local.W[0] + c->local.W[3] + c->local.W[5]) / 3, CSIMI_TINY);
        for (k = 0; k < 3; ++k) {
            s->metric[3 * (ptrdiff_t)m + k] = scale;
            s->centre[3 * (ptrdiff_t)m + k] = 0;
        }
    }
    csimi_sweep_prepare(s, 0);
}

static void csimi_sweep_free_velocity(csimi_sweep *s) {
    int i;
    for (i = 0; i < 3 * s->n; ++i) s->free_velocity[i] = 0;
    for (i = 0; i < s->n; ++i) csimi_body_push(&s->bodies, i, s->problem->b + 3 * (ptrdiff_t)i, s->free_velocity);
}

/* ---- the end of a solve */

CSIMI_FN void csimi_sweep_imbalance(const csimi_sweep *s, double *residual) {
    const csim_block_matrix *A = &s->problem->A;
    double lambda[3];
    int i, k, m, r, c;
    for (i = 0; i < 3 * s->n; ++i) residual[i] = s->changes ? 0 : (double)s->problem->b[i];
    for (m = 0; m < s->contact_count; ++m) {
        for (i = 0; i < 3; ++i)
            lambda[i] = (double)s->lambda[3 * m + i] - (s->changes ? (double)s->centre[3 * m + i] : 0);
        for (k = s->contacts[m].first; k < s->contacts[m].first + s->contacts[m].count; ++k) {
            const csim_real *J = s->pieces[k].J;
            double *y = residual + 3 * (ptrdiff_t)s->pieces[k].block;
            for (i = 0; i < 3; ++i)
                y[i] += (double)J[i] * lambda[0] + (double)J[3 + i] * lambda[1] + (double)J[6 + i] * lambda[2];
        }
    }
    for (i = 0; i < s->n; ++i)
        for (k = A->row[i]; k < A->row[i + 1]; ++k)
            for (r = 0; r < 3; ++r)
                for (c = 0; c < 3; ++c)
                    residual[3 * i + r] -=
                        (double)A->val[9 * (ptrdiff_t)k + 3 * r + c] * (double)s->v[3 * (ptrdiff_t)A->col[k] + c];
}

/* v from lambda with one step of refinement against A itself, so that dynamics is at rounding; residual [3n]. */
static void csimi_sweep_finish(csimi_sweep *s, double *residual) {
    int i, r;
    csimi_sweep_velocities(s);
    csimi_sweep_imbalance(s, residual);
    for (i = 0; i < s->n; ++i) {
        csim_real rest[3];
        for (r = 0; r < 3; ++r) rest[r] = (csim_real)residual[3 * i + r];
        csimi_body_push(&s->bodies, i, rest, s->v);
    }
}

/* Runs the stages until the measure is good. */
static void csimi_sweep_cascade(csimi_sweep *s, double good) {
    const bool newton = s->work > 0;
    /* Newton is cheap near the answer, and what is left over becomes drift: 0.02 drifts a hundred times more */
    const double beyond = 2e-4 * good + (0.1 * good < 1e4 * (double)CSIMI_EPS ? 0.1 * good : 1e4 * (double)CSIMI_EPS);
    bool settled;
    s->target = newton && beyond < good ? beyond : good;
    csimi_sweep_accelerated(s, 0, newton ? 4 : CSIMI_SWEEP_PATIENCE, &settled);
    if (newton && !csimi_sweep_done(s)) csimi_sweep_newton(s, good);
    s->target = good;
    if (newton && !csimi_sweep_done(s)) csimi_sweep_accelerated(s, 0, CSIMI_SWEEP_PATIENCE, &settled);
    if (!csimi_sweep_done(s)) csimi_sweep_proximal(s);
    csimi_sweep_restore(s);
}

static bool csimi_sweep_certified(const csim_certificate *c, const csim_solver_params *params) {
    return c->dynamics <= (double)params->tolerance && c->contact <= (double)params->tolerance;
}

/* Solves, certifies, and goes on with a smaller target where the certificate is not content. */
static csim_result csimi_sweep_run(csimi_sweep *s, const csim_solver_params *params, void *scratch, size_t bytes,
                                   csim_certificate *certificate) {
    double good = 0.9 * (double)params->tolerance;
    int trial;
    csimi_newton_plan(s);
    for (trial = 0; trial < 5; ++trial, good *= 0.3) {
        s->best_measure = (double)CSIMI_HUGE;
        if (s->contact_count > 0) {
            csimi_sweep_cascade(s, good);
            if (s->broken) return CSIM_RESULT_NOT_FINITE;
        }
        csimi_sweep_finish(s, (double *)scratch);
        if (csim_problem_certify(s->problem, s->v, s->lambda, scratch, bytes, certificate) != CSIM_OK)
            return CSIM_RESULT_NOT_FINITE;
        if (csimi_sweep_certified(certificate, params)) return CSIM_RESULT_CONVERGED;
        if (s->sweeps >= s->cap || s->contact_count == 0) break;
    }
    return s->sweeps >= s->cap ? CSIM_RESULT_CAP : CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_sweep_solve(const csim_problem *problem, const csim_solver_params *params,
                                       csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                       csim_outcome *outcome, csim_error *error) {
    const size_t vector = 3 * (size_t)problem->contact_count * sizeof(csim_real);
    const size_t bytes = csim_certificate_bytes(problem->A.n, problem->contact_count), mark = arena->used;
    csimi_sweep s;
    void *scratch;
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.problem = problem;
    s.tasks = tasks;
    s.n = problem->A.n;
    s.contact_count = problem->contact_count;
    s.cap = csimi_imax(params->max_iterations, 1);
    s.history = params->history;
    s.history_capacity = params->history ? params->history_capacity : 0;
    csimi_sweep_layout(&s, arena, s.n, csimi_bodies_inverse_blocks(problem), s.contact_count,
                       csimi_pieces_count(problem), csimi_sweep_window(params));
    scratch = csimi_push(arena, bytes, 1);
    if (arena->overflow)
        return csimi_fail(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes", false, 0,
                          "csim_solver_bytes of the problem's size");
    if (!csimi_sweep_takes(problem) || !csimi_bodies_open(&s.bodies, problem))
        return csimi_fail(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "problem.A", false, 0,
                          "for SWEEP: positive definite, in bodies of 1 to 4 neighbouring blocks (14 named ones)");
    csimi_sweep_contacts(&s);
    csimi_sweep_free_velocity(&s);
    CSIMI_MEMCPY(s.lambda, solution->lambda, vector);
    CSIMI_MEMCPY(s.best, solution->lambda, vector);
    csimi_sweep_project(&s);
    csimi_sweep_velocities(&s);
    outcome->solver = CSIM_SOLVER_SWEEP;
    outcome->result = csimi_sweep_run(&s, params, scratch, bytes, &outcome->certificate);
    outcome->iterations = s.sweeps;
    outcome->rejections = s.rejections;
    outcome->residual = s.best_measure;
    outcome->bytes = arena->used - mark;
    if (outcome->result != CSIM_RESULT_NOT_FINITE) {
        CSIMI_MEMCPY(solution->v, s.v, 3 * (size_t)s.n * sizeof(csim_real));
        CSIMI_MEMCPY(solution->lambda, s.lambda, vector);
    }
    csimi_pop(arena, mark);
    return CSIM_OK;
}

#undef CSIMI_SWEEP_WINDOW
#undef CSIMI_SWEEP_PATIENCE
