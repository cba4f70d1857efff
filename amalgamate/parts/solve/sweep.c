/* solve/sweep: islands of rigid bodies (or of any small dense bodies, or small ones of soft bodies too), solved at the
   level of impulses without ever forming J A^-1 J'. Gauss-Seidel sweeps visit the contacts, solve each one exactly for
   its law with everything else held, and carry the change into the velocities of its bodies, taken as w = E v with
   A = E' E (solve/basis.c). The cascade:
     1  sweeps accelerated by Anderson's method, while they halve the measure every few sweeps
     2  Newton on the body velocities (solve/burst.c), where its factors fit into the memory of the ring, and sweeps
        between its steps on islands that are not small
     3  accelerated sweeps again, then a proximal loop of them: problems a little better conditioned than the true one,
        each solved around the last answer
   Each stage starts from the best impulses seen, and the measure is the contact figure of the certificate. */
#include "private.h"

enum { CSIMI_SWEEP_WINDOW = 19 }; /* f and p: with the other vectors it makes 50 of 3nc */
static const csimi_wide CSIMI_SWEEP_LAST = 8; /* rounding errors of an impulse: no measure is aimed at below that */
/* Rounding errors that are not worth a sweep. In float 1e4 are a thousandth, which may be all that was asked. */
#define CSIMI_SWEEP_ROUNDING (sizeof(csim_real) > sizeof(float) ? 1e4 : 200)
enum { CSIMI_SWEEP_BETWEEN = 20 }; /* plain sweeps after a step of Newton on a large island that has not done */
enum { CSIMI_SWEEP_IDLE = 40 }; /* such steps without a halving before the next stage ... */
static const csimi_wide CSIMI_SWEEP_KNOWN = CSIMI_WIDE(0.3); /* measure of a start that knows the answer */
enum { CSIMI_SWEEP_FEW = 8 }; /* contacts, for which a sweep is as cheap as a look */
/* Measure below which Newton does it at once; in float it cannot get far enough below for that. */
#define CSIMI_SWEEP_NEAR CSIMI_WIDE(sizeof(csim_real) < sizeof(double) ? 0.0 : 1e-3)
#define CSIMI_SWEEP_FINE(s) ((s)->start > CSIMI_SWEEP_KNOWN ? 10 : 30) /* ... and of those beyond what was asked */
#define CSIMI_SWEEP_FAILS(s) ((s)->start > CSIMI_SWEEP_KNOWN ? 2 : 10) /* ... of which so many may fail */
/* Coupled blocks beyond which factors of Newton fill, and numbers for that, a block. */
enum { CSIMI_SWEEP_FILLS = 128, CSIMI_SWEEP_FILL = 288 };
enum { CSIMI_SWEEP_PATIENCE = 100 }; /* sweeps without a halving before the next stage; 4 before Newton on bodies */

CSIMI_FN bool csimi_sweep_takes(const csim_problem *problem) { return csimi_bodies_take(problem); }

/* ---- a sweep */

/* One Gauss-Seidel pass over lambda and w. In the proximal loop extra (lambda - centre) is added to u. */
static void csimi_sweep_pass(void *problem) {
    csimi_sweep *s = (csimi_sweep *)problem;
    int m, k;
    for (m = 0; m < s->contact_count; ++m) {
        csimi_sweep_contact *c = s->contacts + m;
        csim_real *lambda = s->loop.x + 3 * (ptrdiff_t)m, u[3], next[3] = {0, 0, 0};
        const csim_real *W = c->local.W, *centre = s->loop.centre + 3 * (ptrdiff_t)m;
        csimi_contact_velocity(s, c, u);
        /* u without the contact's own impulse; the proximal term is part of the local model but for its centre */
        u[0] -= W[0] * lambda[0] + W[1] * lambda[1] + W[2] * lambda[2] + c->local.extra * centre[0];
        u[1] -= W[1] * lambda[0] + W[3] * lambda[1] + W[4] * lambda[2] + c->local.extra * centre[1];
        u[2] -= W[2] * lambda[0] + W[4] * lambda[1] + W[5] * lambda[2] + c->local.extra * centre[2];
        csimi_local_solve(&c->local, u, next);
        for (k = 0; k < 3; ++k) u[k] = next[k] - lambda[k];
        if (csimi_abs(u[0]) + csimi_abs(u[1]) + csimi_abs(u[2]) <= 0) continue; /* open, say: no body to tell */
        for (k = 0; k < 3; ++k) lambda[k] = next[k];
        csimi_pieces_push_wide(s->pieces + c->first, c->count, u, s->w);
    }
}

/* Back into the laws, which a combination of earlier impulses may leave. */
static void csimi_sweep_project(void *problem) {
    csimi_sweep *s = (csimi_sweep *)problem;
    int m;
    for (m = 0; m < s->contact_count; ++m)
        csimi_impulse_allow(s->contacts[m].local.contact, s->loop.x + 3 * (ptrdiff_t)m);
}

/* ---- the measure: the contact figure of certificate.h on lambda and w */

/* lambda - Project(lambda - rho u), with the friction set of the impulse at hand. */
static csim_real csimi_sweep_residual(const csimi_sweep *s, const csimi_sweep_contact *c, const csim_real *lambda) {
    const csim_contact *contact = c->local.contact;
    csim_real u[3], x[3], y[3];
    int k;
    csimi_contact_velocity(s, c, u);
    for (k = 0; k < 3; ++k) {
        /* its law is one of u + omega lambda */
        if (csimi_law_is(contact, CSIM_LAW_INVERTIBLE)) u[k] += contact->omega[k > 0] * lambda[k];
        x[k] = lambda[k] - c->rho * u[k];
    }
    if (csimi_law_is(contact, CSIM_LAW_STRICT) || csimi_law_is(contact, CSIM_LAW_ANISOTROPIC) ||
        csimi_law_is(contact, CSIM_LAW_INVERTIBLE)) {
        const csim_real normal = csimi_max(lambda[0], 0); /* radius by lambda_n itself, as the certificate has it */
        y[0] = csimi_max(x[0], 0);
        csimi_clip_ellipse(c->local.mu[0] * normal, c->local.mu[1] * normal, x + 1, y + 1);
    } else {
        csim_project(contact, 1, x, y);
    }
    for (k = 0; k < 3; ++k) x[k] = lambda[k] - y[k];
    return csimi_norm3(x);
}

/* Speeds that u of a contact is a difference of. */
static csim_real csimi_sweep_speed(const csimi_sweep *s, const csimi_sweep_contact *c) {
    csim_real speed = c->speed;
    int k;
    for (k = c->first; k < c->first + c->count; ++k) {
        csim_real term[3] = {0, 0, 0};
        csimi_pieces_velocity_wide(s->pieces + k, 1, s->w, term);
        speed += csimi_norm3(term);
    }
    return speed;
}

/* Worst natural residual over max(|lambda|, median, tiny). The speeds that tiny needs are looked at only where the
   other scales do not already settle it. */
static csimi_wide csimi_sweep_look(void *problem) {
    csimi_sweep *s = (csimi_sweep *)problem;
    csim_real floor, worst = 0;
    int m;
    for (m = 0; m < s->contact_count; ++m) s->norms[m] = csimi_norm3(s->loop.x + 3 * (ptrdiff_t)m);
    floor = csimi_impulse_floor(s->norms, s->contact_count);
    for (m = 0; m < s->contact_count; ++m) {
        const csimi_sweep_contact *c = s->contacts + m;
        const csim_real *lambda = s->loop.x + 3 * (ptrdiff_t)m;
        const csim_real residual = csimi_sweep_residual(s, c, lambda);
        csim_real scale = csimi_max(csimi_norm3(lambda), floor);
        if (residual <= worst * scale) continue; /* the scale below is no smaller: not the worst */
        scale = csimi_max(scale, CSIMI_IMPULSE_NOISE * c->rho * csimi_sweep_speed(s, c));
        worst = residual < CSIMI_HUGE ? csimi_max(worst, residual / scale) : CSIMI_HUGE; /* huge of a NaN, too */
    }
    return (csimi_wide)worst;
}

/* ---- stages */

static void csimi_sweep_moved(void *problem) { csimi_sweep_velocities((csimi_sweep *)problem); }
static void csimi_sweep_ready(void *problem, csimi_wide eps) { csimi_sweep_prepare((csimi_sweep *)problem, eps); }

/* Where the compliance of a large island begins: the better the start, the less. */
static csimi_wide csimi_sweep_eps(csimi_wide measure) {
    if (measure > CSIMI_WIDE(1e-2)) return CSIMI_WIDE(0.1);
    return measure > CSIMI_WIDE(1e-3) ? CSIMI_WIDE(1e-2) : CSIMI_WIDE(1e-3);
}

/* Stage 2: proximal steps by Newton, with eps falling while they converge. Below what was asked for it goes on while it
   gains, because what is left unsolved moves bodies and costs more in the next step than here. again: it has been there
   before and is near. */
static void csimi_sweep_burst(csimi_sweep *s, csimi_wide good, bool again) {
    const int budget = s->loop.sweeps + 200;
    csimi_wide fall = CSIMI_WIDE(0.1), halved = s->loop.best_measure;
    csimi_wide eps = halved > CSIMI_WIDE(1e-4) ? CSIMI_WIDE(1e-2) : CSIMI_WIDE(1e-3);
    int iterations, failures = 0, idle = 0;
    if (!s->planned) csimi_burst_plan(s);
    /* float is not as near: it may get lost from less compliance, for thirty factors */
    if (again || halved < CSIMI_SWEEP_NEAR / 10)
        eps = CSIMI_SWEEP_NEAR > 0 || !csimi_burst_is_dear(s) ? CSIMI_WIDE(1e-5) : CSIMI_WIDE(1e-4);
    s->convex = false; /* first with the exact law */
    csimi_stages_restore(&s->loop);
    while (!csimi_stages_done(&s->loop) && s->loop.sweeps < budget && failures < 7 && eps < 1) {
        if (csimi_burst_step(s, eps, &iterations)) {
            csimi_stages_look(&s->loop);
            /* solved with ease: nearer to the true problem */
            if (iterations < 8 && eps > CSIMI_WIDE(1e-8)) eps *= fall;
        } else if (!s->convex) {
            /* lost: convex steps instead, about the slip of the centre; if they get lost too, more compliance */
            s->convex = true;
            ++failures;
        } else {
            eps *= 10;
            fall = CSIMI_WIDE(0.3);
            ++failures;
        }
        csimi_stages_log(&s->loop);
        if (s->loop.best_measure < CSIMI_WIDE(0.5) * halved) {
            halved = s->loop.best_measure;
            idle = 0;
        } else if (++idle >= 10 && s->loop.best_measure <= good) {
            break;
        }
    }
    csimi_stages_restore(&s->loop);
}

/* What a step of Newton has not done plain sweeps do. */
static void csimi_sweep_between(csimi_sweep *s) {
    int k;
    for (k = 1; k <= CSIMI_SWEEP_BETWEEN && !csimi_stages_done(&s->loop); ++k) {
        csimi_sweep_pass(s);
        ++s->loop.sweeps;
        if (k % 10 == 0) csimi_stages_look(&s->loop);
    }
}

/* The same for islands that are not small, by the contacts that press: the exact law alone, and few steps of Newton, of
   which the best is kept. Beyond what was asked steps go on from their last centre: what is left there are impulses
   that travel far for speeds that are almost zero, at a measure that does not fall before they have arrived; one that
   stops on their way gives them back to the next step as speeds, and a pile that never rests. */
static void csimi_sweep_burst_large(csimi_sweep *s, csimi_wide good) {
    csimi_wide halved = s->loop.best_measure, eps = csimi_sweep_eps(halved);
    int iterations, idle = 0, fails = 0;
    s->convex = s->planned = false;
    csimi_stages_restore(&s->loop);
    while (!csimi_stages_done(&s->loop)) {
        bool there;
        if (idle >= (s->loop.best_measure <= good ? CSIMI_SWEEP_FINE(s) : CSIMI_SWEEP_IDLE)) break;
        s->fine = s->loop.best_measure <= good;
        there = csimi_burst_step(s, eps, &iterations);
        if (!(s->work > 0)) break; /* no plan fits, or its factor costs too much */
        csimi_stages_look(&s->loop);
        if (!there && s->loop.best_measure <= good) {
            /* good is met: only steps that began beyond it may fail, a few of them */
            if (!s->fine || ++fails > CSIMI_SWEEP_FAILS(s)) break;
            eps *= 4;
        } else if (!there) {
            if (eps < CSIMI_WIDE(0.5)) eps *= 8; /* easier, around what the step has left */
            csimi_sweep_between(s);
        } else if (iterations <= 4 && eps > CSIMI_WIDE(1e-8)) {
            eps *= CSIMI_WIDE(0.5);
        }
        csimi_stages_log(&s->loop);
        ++idle;
        if (s->loop.best_measure < CSIMI_WIDE(0.5) * halved) {
            halved = s->loop.best_measure;
            idle = 0;
            if (s->start <= CSIMI_SWEEP_KNOWN) fails = 0; /* a start that knows: what gains may fail again */
        }
    }
    csimi_stages_restore(&s->loop);
}

/* ---- set-up */

static void csimi_sweep_bind(csimi_sweep *s) {
    s->loop.problem = s;
    s->loop.pass = csimi_sweep_pass;
    s->loop.project = csimi_sweep_project;
    s->loop.moved = csimi_sweep_moved;
    s->loop.look = csimi_sweep_look;
    s->loop.prepare = csimi_sweep_ready;
}

/* Reals that the ring has at least, for Newton works there: small islands fit, whatever their graph. In double that is
   a quarter of a megabyte at most. */
static size_t csimi_sweep_ring(int n, int contacts) {
    /* no square of a large n: it may not fit a size_t */
    const size_t most = 32768, rows = (size_t)n, full = rows > 200 ? most : CSIMI_BURST_NUMBERS(rows);
    return contacts > 0 ? (full < most ? full : most) * (sizeof(csimi_wide) / sizeof(csim_real)) : 0;
}

/* Bytes behind the ring for the factor of a coupled A and the rows on it, which begin at the end: what they do not take
   Newton has, and it has something at least where many blocks fill the factors of its own. */
static size_t csimi_sweep_behind(const csimi_sweep *s, int pieces) {
#ifdef CSIMI_COUPLES
    csimi_arena arena = csimi_arena_counting();
    csimi_coupled c = s->basis.coupled;
    const bool fills = c.n > CSIMI_SWEEP_FILLS;
    if (!s->basis.couples) return 0;
    (void)csimi_coupled_layout_rows(&c, &arena, fills ? c.blocks - c.blocks / 6 : c.blocks, pieces);
    if (fills) (void)CSIMI_PUSH(&arena, csimi_wide, CSIMI_SWEEP_FILL * (size_t)c.n);
    return arena.high + CSIMI_ALIGN;
#else
    return (void)s, (void)pieces, 0;
#endif
}

static void csimi_sweep_layout(csimi_sweep *s, csimi_arena *arena, bool couples, const csim_problem_size *size,
                               int window) {
    const int n = size->blocks, contacts = size->contacts;
    const int pieces = csimi_basis_layout(&s->basis, arena, couples, size);
    size_t least, ring;
    s->v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    s->w = CSIMI_PUSH(arena, csimi_wide, 3 * (size_t)n);
    /* coupled: behind the ring, once their number is known */
    s->pieces = CSIMI_PUSH(arena, csimi_piece, couples ? 0 : pieces);
    s->contacts = CSIMI_PUSH(arena, csimi_sweep_contact, contacts);
    s->loop.x = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->norms = CSIMI_PUSH(arena, csim_real, contacts);
    s->order = CSIMI_PUSH(arena, int, n);
    s->place = CSIMI_PUSH(arena, int, n);
    s->envelope.first = CSIMI_PUSH(arena, int, n);
    s->envelope.start = CSIMI_PUSH(arena, size_t, n);
    csimi_stages_layout(&s->loop, arena, contacts, window, csimi_sweep_ring(n, contacts));
    s->scratch = s->loop.anderson.f; /* between stages: a certificate, the row of a contact while there are no stages */
    s->scratch_bytes = csim_certificate_bytes(n, contacts);
    least = csimi_most_bytes(s->scratch_bytes, contacts > 0 ? csimi_bodies_rows(n) * sizeof(csimi_wide) : 0);
    ring = s->loop.anderson.room * 2 * sizeof(csim_real);
    s->behind = csimi_sweep_behind(s, pieces);
    s->room = (least > ring ? least : ring) + s->behind;
    if (s->room > ring) csimi_push(arena, s->room - ring, 1); /* it goes on there */
    if (!couples) s->basis.bodies.rows = (csimi_wide *)s->scratch;
}

static int csimi_sweep_window(const csim_solver_params *params) {
    return params->window > 0 ? params->window : CSIMI_SWEEP_WINDOW;
}

static size_t csimi_sweep_count(const csim_problem_size *size, const csim_solver_params *params, bool couples) {
    csimi_arena arena = csimi_arena_counting();
    csimi_sweep s;
    csimi_sweep_layout(&s, &arena, couples, size, csimi_sweep_window(params));
    return arena.high;
}

CSIMI_FN size_t csimi_sweep_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    return csimi_sweep_count(size, params, false);
}

#ifdef CSIMI_COUPLES
/* Larger islands are left to COND: rows through a factor grow longer with it, products of A do not. */
enum {
    CSIMI_SWEEP_COUPLED_BLOCKS = 1024,
    CSIMI_SWEEP_COUPLED_MATRIX = 16 * CSIMI_SWEEP_COUPLED_BLOCKS,
    CSIMI_SWEEP_COUPLED_CONTACTS = 1024,
    CSIMI_SWEEP_COUPLED_TERMS = 8 * CSIMI_SWEEP_COUPLED_CONTACTS
};

CSIMI_FN bool csimi_sweep_couples(const csim_problem *problem) {
    return problem->A.n <= CSIMI_SWEEP_COUPLED_BLOCKS && problem->A.row[problem->A.n] <= CSIMI_SWEEP_COUPLED_MATRIX &&
           problem->contact_count <= CSIMI_SWEEP_COUPLED_CONTACTS &&
           csimi_pieces_count(problem) <= CSIMI_SWEEP_COUPLED_TERMS;
}

CSIMI_FN size_t csimi_sweep_coupled_bytes(const csim_problem_size *size, const csim_solver_params *params) {
    csim_problem_size s = *size;
    s.blocks = csimi_imin(s.blocks, CSIMI_SWEEP_COUPLED_BLOCKS);
    s.matrix_blocks = csimi_imin(s.matrix_blocks, CSIMI_SWEEP_COUPLED_MATRIX);
    s.contacts = csimi_imin(s.contacts, CSIMI_SWEEP_COUPLED_CONTACTS);
    s.terms = csimi_imin(s.terms, CSIMI_SWEEP_COUPLED_TERMS);
    return csimi_sweep_count(&s, params, true);
}

enum { CSIMI_SHELF_FILL = 2 }; /* blocks of L for one of A: cloth and cables have 1.2 to 1.8 */

CSIMI_FN size_t csimi_shelf_bytes(int n, int matrix_blocks) {
    const size_t matrix = (size_t)csimi_imin(matrix_blocks, CSIMI_SWEEP_COUPLED_MATRIX);
    csimi_arena arena = csimi_arena_counting();
    csimi_coupled c;
    (void)CSIMI_PUSH(&arena, csimi_coupled, 1);
    csimi_coupled_layout(&c, &arena, csimi_imin(n, CSIMI_SWEEP_COUPLED_BLOCKS), 0);
    (void)csimi_coupled_layout_rows(&c, &arena, CSIMI_SHELF_FILL * matrix, 0);
    return arena.high;
}
#endif

/* The certificate's rho where the sides have masses of their own, else 3 / tr W, which is the same for rigid bodies. */
static csim_real csimi_sweep_rho(const csimi_sweep_contact *c) {
    const csim_contact *contact = c->local.contact;
    const csim_real trace = c->local.W[0] + c->local.W[3] + c->local.W[5];
    csim_real mobility = 0;
    /* a side without a mass of its own */
    if ((contact->a.count > 0 && !(contact->mass[0] > 0)) || (contact->b.count > 0 && !(contact->mass[1] > 0)))
        return trace > 0 ? 3 / trace : 1;
    if (contact->a.count > 0) mobility += 1 / contact->mass[0];
    if (contact->b.count > 0) mobility += 1 / contact->mass[1];
    return 1 / mobility;
}

static void csimi_sweep_contacts(csimi_sweep *s) {
    csimi_wide sum = 0, weight = 0;
    int m, k, at = 0;
    for (k = 0; k < 3 * s->n; ++k) s->load += (csimi_wide)s->problem->b[k] * (csimi_wide)s->v[k];
    for (m = 0; m < s->contact_count; ++m) {
        csimi_sweep_contact *c = s->contacts + m;
        const csim_contact *contact = s->problem->contacts + m;
        csim_real scale, W[9];
        c->local.contact = contact;
        c->local.z = c->lag = 0;
        c->first = at;
        c->count = csimi_basis_rows(&s->basis, s->problem, m, s->pieces + at);
        at += c->count;
        c->speed = csimi_contact_motion(s->problem, contact, s->v, c->free) + csimi_norm3(contact->phi);
        for (k = 0; k < 3; ++k) c->phi[k] = c->free[k] += contact->phi[k];
        csimi_pieces_delassus(s->pieces + c->first, c->count, W);
        csimi_local_set(&c->local, W);
        c->rho = csimi_sweep_rho(c);
        sum += (csimi_wide)c->rho * (csimi_wide)c->speed * (csimi_wide)c->speed;
        weight += (csimi_wide)c->rho;
        /* metric of Anderson's sums: W times squares of impulses are energies, whatever the masses */
        scale = csimi_max((c->local.W[0] + c->local.W[3] + c->local.W[5]) / 3, CSIMI_TINY);
        for (k = 0; k < 3; ++k) {
            s->loop.metric[3 * (ptrdiff_t)m + k] = scale;
            s->loop.centre[3 * (ptrdiff_t)m + k] = 0;
        }
    }
    s->rms = weight > 0 ? (csim_real)csimi_sqrt64(sum / weight) : 0;
    csimi_sweep_prepare(s, 0);
}

static bool csimi_sweep_open(csimi_sweep *s) {
#ifdef CSIMI_COUPLES
    if (s->basis.couples) {
        csimi_coupled *c = &s->basis.coupled;
        csimi_arena rows = csimi_arena_counting();
        size_t ring;
        /* no more rows than the room behind the ring takes */
        if (!csimi_coupled_plan(c, s->problem, (int)(s->behind / sizeof(csimi_piece)))) return false;
        (void)csimi_coupled_layout_rows(c, &rows, c->factor.first[c->n], c->pieces);
        if (rows.high + CSIMI_ALIGN > s->behind) return false;
        /* rows of contacts lie at the very end; all before them is the ring's and Newton's */
        ring = (s->room - rows.high) / CSIMI_ALIGN * CSIMI_ALIGN;
        rows = csimi_arena_in((char *)s->scratch + ring, rows.high);
        s->pieces = csimi_coupled_layout_rows(c, &rows, c->factor.first[c->n], c->pieces);
        s->loop.anderson.room = ring / (2 * sizeof(csim_real));
        return csimi_coupled_open(c, s->problem);
    }
#endif
    return csimi_basis_open(&s->basis, s->problem);
}

/* ---- a solve */

/* Runs the stages until the measure is good. Leaves the best impulses, and w of any. again: good is smaller than what
   was asked. */
static void csimi_sweep_cascade(csimi_sweep *s, csimi_wide good, bool again) {
    /* newton: a plan that fits, or none as yet */
    const bool newton = s->work > 0 || !s->planned, near = s->contact_count > CSIMI_SWEEP_FEW && CSIMI_SWEEP_NEAR > 0;
    const bool large = csimi_burst_is_large(s), looks = newton && !again && (near || large);
    const csimi_wide eps = (csimi_wide)CSIMI_EPS;
    /* Newton is cheap near the answer, and what is left over becomes drift: 0.02 drifts a hundred times more */
    const csimi_wide tenth = CSIMI_WIDE(0.1) * good, coarse = (csimi_wide)CSIMI_SWEEP_ROUNDING * eps;
    csimi_wide beyond = CSIMI_WIDE(2e-4) * good + (tenth < coarse ? tenth : coarse);
    if (again && beyond < CSIMI_SWEEP_LAST * eps) beyond = CSIMI_SWEEP_LAST * eps;
    s->loop.target = newton && beyond < good ? beyond : good;
    s->loop.often = large;
    if (looks) {
        csimi_stages_look(&s->loop);
        s->start = s->loop.measure;
    }
    /* so near that Newton needs no sweeps before it; else sweeps, few where Newton on bodies is cheap. Where A couples
       them a factor of Newton costs as much as the dozen sweeps that do without it */
    if (!looks || s->basis.couples || !(s->start <= CSIMI_SWEEP_NEAR))
        csimi_stages_accelerated(&s->loop, newton && !s->basis.couples ? 4 : CSIMI_SWEEP_PATIENCE);
    if (newton && !csimi_stages_done(&s->loop)) {
        if (large)
            csimi_sweep_burst_large(s, good);
        else
            csimi_sweep_burst(s, good, again);
    }
    s->loop.target = good; /* the stages behind Newton aim at no more than was asked */
    if (!(again && s->loop.best_measure <= 16 * CSIMI_SWEEP_LAST * eps)) {
        if (newton && !csimi_stages_done(&s->loop)) csimi_stages_accelerated(&s->loop, CSIMI_SWEEP_PATIENCE);
        if (!csimi_stages_done(&s->loop)) csimi_stages_proximal(&s->loop);
    }
    CSIMI_MEMCPY(s->loop.x, s->loop.best, (size_t)s->loop.length * sizeof *s->loop.x);
}

/* Whether its own measure is good, and v a velocity. */
static bool csimi_sweep_met(const csimi_sweep *s, csimi_wide good) {
    return (s->contact_count == 0 || s->loop.best_measure <= good) && csimi_all_finite(s->v, 3 * s->n);
}

/* Solves, certifies, and goes on with a smaller target where the certificate is not content. */
static csim_result csimi_sweep_run(csimi_sweep *s, const csim_solver_params *params, csim_certificate *certificate) {
    /* a margin: the certificate comes to its figures by code of its own */
    double good = 0.9 * (double)params->tolerance;
    int trial;
    s->planned = false;
    /* a small island that may not fit is planned at once: the cascade asks whether it has a Newton */
    if (!csimi_burst_is_large(s) && !csimi_burst_fits(s)) csimi_burst_plan(s);
    for (trial = 0; trial < 5; ++trial, good = csimi_next_target(good, certificate, params->tolerance)) {
        s->loop.best_measure = (csimi_wide)CSIMI_HUGE;
        if (trial > 0) csimi_sweep_velocities(s); /* of the best impulses: w may be of others */
        if (s->contact_count > 0) {
            csimi_sweep_cascade(s, (csimi_wide)good, trial > 0);
            if (s->loop.broken) return CSIM_RESULT_NOT_FINITE;
        }
        /* exact for lambda: dynamics of the certificate is at rounding */
        csimi_basis_velocities(&s->basis, s->problem, s->loop.x, s->v, (csimi_wide *)s->scratch);
        if (!params->certify && trial == 0 && csimi_sweep_met(s, (csimi_wide)good))
            return csimi_leave_unchecked(s->contact_count > 0 ? s->loop.best_measure : 0, certificate);
        if (csimi_certify(s->problem, s->v, s->loop.x, s->scratch, s->scratch_bytes, certificate) != CSIM_OK)
            return CSIM_RESULT_NOT_FINITE;
        if (csim_certificate_worst(certificate) <= (double)params->tolerance) return CSIM_RESULT_CONVERGED;
        /* without contacts v is exact: nothing to go on with */
        if (csimi_stages_capped(&s->loop) || s->contact_count == 0) break;
    }
    return csimi_stages_capped(&s->loop) ? CSIM_RESULT_CAP : CSIM_RESULT_STALLED;
}

CSIMI_FN csim_status csimi_sweep_solve(const csim_problem *problem, const csim_solver_params *params,
                                       csimi_arena *arena, const csim_tasks *tasks, csim_solution *solution,
                                       csim_outcome *outcome, csim_error *error) {
    const size_t vector = 3 * (size_t)problem->contact_count * sizeof(csim_real), mark = arena->used;
    const bool couples = CSIMI_UNITES && !csimi_bodies_take(problem);
    const csim_problem_size size = csimi_basis_size(problem, couples);
    csimi_sweep s;
    CSIMI_MEMSET(&s, 0, sizeof s);
    s.problem = problem;
    csimi_sweep_bind(&s);
    s.loop.tasks = tasks;
    s.n = problem->A.n;
    s.contact_count = problem->contact_count;
    s.loop.cap = csimi_imax(params->max_iterations, 1);
    s.loop.most = params->solver == CSIM_SOLVER_SWEEP ? params->inner : 0;
    s.loop.history = params->history;
    s.loop.history_capacity = params->history ? params->history_capacity : 0;
    csimi_sweep_layout(&s, arena, couples, &size, csimi_sweep_window(params));
    if (arena->overflow)
        return csimi_deny(error, CSIM_CAPACITY, "csim_problem_solve", "workspace_bytes",
                          "csim_solver_bytes of the problem's size");
    if (!csimi_sweep_open(&s))
        return csimi_deny(error, CSIM_BAD_PROBLEM, "csim_problem_solve", "problem.A",
                          "for SWEEP: positive definite, in bodies of 1 to 4 neighbouring blocks (32 named ones)");
    csimi_basis_velocities(&s.basis, problem, NULL, s.v, (csimi_wide *)s.scratch); /* v = A^-1 b */
    csimi_sweep_contacts(&s);
    CSIMI_MEMCPY(s.loop.x, solution->lambda, vector);
    CSIMI_MEMCPY(s.loop.best, solution->lambda, vector);
    csimi_sweep_project(&s);
    csimi_sweep_velocities(&s);
    outcome->solver = CSIM_SOLVER_SWEEP;
    outcome->result = csimi_sweep_run(&s, params, &outcome->certificate);
    outcome->iterations = s.loop.sweeps;
    outcome->products = s.loop.factors;
    outcome->rejections = s.loop.rejections;
    outcome->residual = s.loop.best_measure;
    outcome->bytes = arena->used - mark;
    if (outcome->result != CSIM_RESULT_NOT_FINITE) csimi_solution_take(problem, s.v, s.loop.x, solution);
    csimi_pop(arena, mark);
    return CSIM_OK;
}

#undef CSIMI_SWEEP_ROUNDING
#undef CSIMI_SWEEP_NEAR
#undef CSIMI_SWEEP_FINE
#undef CSIMI_SWEEP_FAILS
