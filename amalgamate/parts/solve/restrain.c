/* solve/restrain: what is kept of a solve that missed. A best iterate may be far from obeying A v = b + J'lambda, or
   hold impulses that fit no motion, and either puts energy into a world. What is returned here does not: impulses that
   obey their laws, as combinations s_1 lambda_1 + s_2 lambda_2 of the best iterate and of the start (s >= 0, sum <= 1:
   the laws are convex and hold 0), and the exact motion under them, v = A^-1 (b + J'lambda), with s the least of

       q(s) = lambda'W lambda / 2 + lambda'(J A^-1 b + phi).

   There lambda'(u + phi) <= 0 (s times the slope of q along itself), so that contacts do the work -lambda'phi at most:
   what stabilisation asked for, and nothing where gaps are open.

   One impulse that is far too large makes the share of its iterate small, and that would take the floor away from under
   everything else: bodies would fall through. From there on every contact goes its own way, by steps that each lower q,
   so that the others press again. Whatever a solve left, lambda'(u + phi) <= 0 holds of what is kept.

   Of a body squeezed between two walls the best iterate's impulses grow without end, and no share of them is of use.
   Where they are far larger than what is asked of contacts, in their place comes the answer where every contact gives
   way, by give = CSIMI_GIVE times its mobility: the least over v of

       v'A v / 2 - b'v + sum of give lambda'(t - lambda / 2),   t = -(J v + phi + slip n) / give,   lambda = P(t)

   with P the projection on the cone or the box of the law. It is convex, its slope is A v - b - J'lambda, and Newton's
   method with a line search gets there. slip is mu |u_t| of the pass before (de Saxce), so that what slides does not
   lift, as contacts of the proximal law do. The compliant problem is that of Castro, Permenter and Han 2022. */
#include "private.h"

/* Where less than this is left of the best iterate, one of its impulses is far too large. */
#define CSIMI_RESTRAIN_LEAST CSIMI_WIDE(0.5)
#define CSIMI_GIVE CSIM_R(1e-3) /* of the mobility: as soft as a virtual node of gain 1000 */
#define CSIMI_GIVE_FAR CSIMI_WIDE(100) /* squares of impulses, over those that suffice: of no use */
/* passes of the slip, Newton steps of a pass, conjugate gradients of a step; products of A in all */
enum { CSIMI_GIVE_PASSES = 3, CSIMI_GIVE_STEPS = 30, CSIMI_GIVE_INNER = 100, CSIMI_GIVE_PRODUCTS = 2000 };
enum { CSIMI_SPREAD_STEPS = 10 }; /* of contacts on their own; a solve with A each */

typedef struct csimi_restrainer {
    const csim_problem *p;
    csim_real *give, *slip;   /* [contacts] 1/kg; m/s */
    csim_real *lambda, *rows; /* [3 contacts] */
    csim_real *G;             /* [9 contacts] derivative of lambda by -J v */
    csim_real *v, *next, *way, *own, *free; /* [3n] */
    csim_real *krylov;        /* [21n] */
    csimi_wide *sum;          /* [3n] */
    void *scratch;
    size_t scratch_bytes;
    int products;
} csimi_restrainer;

static void csimi_restrain_layout(csimi_restrainer *k, csimi_arena *arena, int n, int contacts) {
    k->give = CSIMI_PUSH(arena, csim_real, contacts);
    k->slip = CSIMI_PUSH(arena, csim_real, contacts);
    k->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    k->rows = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    k->G = CSIMI_PUSH(arena, csim_real, 9 * (size_t)contacts);
    k->v = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    k->next = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    k->way = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    k->own = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    k->free = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    k->krylov = CSIMI_PUSH(arena, csim_real, 21 * (size_t)n);
    k->sum = CSIMI_PUSH(arena, csimi_wide, 3 * (size_t)n);
    k->scratch_bytes = csim_certificate_bytes(n, contacts);
    k->scratch = csimi_push(arena, k->scratch_bytes, 1);
}

CSIMI_FN size_t csimi_restrain_bytes(const csim_problem_size *size) {
    csimi_arena arena = csimi_arena_counting();
    csimi_restrainer k;
    csimi_restrain_layout(&k, &arena, size->blocks, size->contacts);
    return arena.high;
}

static bool csimi_restrain_is_cone(const csim_contact *c) {
    return !csimi_law_is(c, CSIM_LAW_BILATERAL) && !csimi_law_is(c, CSIM_LAW_BOX);
}

static csim_real csimi_restrain_friction(const csim_contact *c) {
    return csimi_law_is(c, CSIM_LAW_ANISOTROPIC) ? csimi_min(c->mu[0], c->mu[1]) : c->mu[0];
}

/* The nearest point of the impulses a law allows; of an elliptic cone those of the round one inside it. */
static void csimi_restrain_project(const csim_contact *c, const csim_real *t, csim_real *lambda) {
    if (csimi_restrain_is_cone(c))
        csim_project_cone(csimi_restrain_friction(c), t, lambda);
    else
        csim_project(c, 1, t, lambda);
}

/* How far a contact gives way: by the masses of its sides, or the diagonal of A, and what its law gives already. */
static void csimi_restrain_open(csimi_restrainer *k) {
    const csim_problem *p = k->p;
    int c, i, side, at;
    for (c = 0; c < p->contact_count; ++c) {
        const csim_contact *contact = p->contacts + c;
        csim_real mobility = 0;
        for (side = 0; side < 2; ++side) {
            const csim_side *s = side ? &contact->b : &contact->a;
            if (s->count > 0 && contact->mass[side] > 0) mobility += 1 / contact->mass[side];
            for (at = s->first; at < s->first + s->count && !(contact->mass[side] > 0); ++at)
                for (i = 0; i < 9; ++i) { /* tr(J D^-1 J') / 3, D the diagonal of A */
                    const csim_term *t = p->terms + at;
                    mobility += t->J[i] * t->J[i] / p->A.val[9 * (ptrdiff_t)p->A.diag[t->block] + 4 * (i % 3)] / 3;
                }
        }
        k->give[c] = mobility > 0 ? CSIMI_GIVE * mobility : 1; /* no side moves: any number will do */
        if (csimi_law_is(contact, CSIM_LAW_INVERTIBLE)) k->give[c] += csimi_max(contact->omega[0], contact->omega[1]);
        k->slip[c] = 0;
    }
}

/* t of a contact. */
static void csimi_restrain_trial(const csimi_restrainer *k, int c, const csim_real *v, csim_real *t) {
    const csim_contact *contact = k->p->contacts + c;
    csim_real u[3];
    int i;
    (void)csimi_contact_motion(k->p, contact, v, u);
    u[0] += k->slip[c];
    for (i = 0; i < 3; ++i) t[i] = -(u[i] + contact->phi[i]) / k->give[c];
}

/* What is minimised, at v; leaves lambda, and in sum the slope b + J'lambda - A v down which it goes. */
static csimi_wide csimi_restrain_value(csimi_restrainer *k, const csim_real *v) {
    const csim_problem *p = k->p;
    csimi_wide value = 0;
    int c, i;
    for (c = 0; c < p->contact_count; ++c) {
        csim_real t[3], *lambda = k->lambda + 3 * (ptrdiff_t)c;
        csimi_restrain_trial(k, c, v, t);
        csimi_restrain_project(p->contacts + c, t, lambda);
        for (i = 0; i < 3; ++i)
            value += (csimi_wide)k->give[c] * (csimi_wide)lambda[i] * ((csimi_wide)t[i] - (csimi_wide)lambda[i] / 2);
    }
    csimi_problem_load(p, k->lambda, k->sum);
    for (i = 0; i < 3 * p->A.n; ++i) value += (csimi_wide)v[i] * (k->sum[i] / 2 - (csimi_wide)p->b[i]);
    csimi_less_product(&p->A, v, k->sum); /* the slope */
    for (i = 0; i < 3 * p->A.n; ++i) value -= (csimi_wide)v[i] * k->sum[i] / 2; /* v'(b + J'lambda - sum) = v'A v */
    ++k->products;
    return value;
}

/* G of every contact at v. */
static void csimi_restrain_derivative(csimi_restrainer *k) {
    int c, i;
    for (c = 0; c < k->p->contact_count; ++c) {
        const csim_contact *contact = k->p->contacts + c;
        const csim_real *l = k->lambda + 3 * (ptrdiff_t)c, mu = csimi_restrain_friction(contact);
        csim_real t[3], *G = k->G + 9 * (ptrdiff_t)c;
        csimi_wide at[3], D[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        const bool cone = csimi_restrain_is_cone(contact), none = cone && !(l[0] > 0);
        csimi_restrain_trial(k, c, k->v, t);
        for (i = 0; i < 3; ++i) {
            at[i] = (csimi_wide)t[i];
            D[4 * i] = none || l[i] < t[i] || l[i] > t[i] ? 0 : 1; /* derivative of a clip: 1 where t passed through */
        }
        if (cone && !none && t[1] * t[1] + t[2] * t[2] > mu * l[0] * mu * l[0]) /* t is off the cone */
            csimi_cone_derivative((csimi_wide)mu, at, D);
        for (i = 0; i < 9; ++i) G[i] = (csim_real)D[i] / k->give[c]; /* t falls by J v / give */
    }
}

/* y = (A + J'G J) x */
static void csimi_restrain_product(void *context, const csim_real *x, csim_real *y) {
    csimi_restrainer *k = (csimi_restrainer *)context;
    const csim_problem *p = k->p;
    int c, i;
    for (c = 0; c < p->contact_count; ++c) {
        csim_real u[3], *row = k->rows + 3 * (ptrdiff_t)c;
        (void)csimi_contact_motion(p, p->contacts + c, x, u);
        csimi_mul3(k->G + 9 * (ptrdiff_t)c, u, row);
        for (i = 0; i < 3; ++i) row[i] = -row[i]; /* so that b - sum is (A + J'G J) x */
    }
    csimi_problem_load(p, k->rows, k->sum);
    csimi_less_product(&p->A, x, k->sum);
    for (i = 0; i < 3 * p->A.n; ++i) y[i] = (csim_real)((csimi_wide)p->b[i] - k->sum[i]);
    ++k->products;
}

/* Inverses of the diagonal blocks of A + J'G J. */
static bool csimi_restrain_diagonal(csimi_restrainer *k, csim_real *inverse) {
    const csim_problem *p = k->p;
    int c, i, side, at;
    for (i = 0; i < p->A.n; ++i)
        CSIMI_MEMCPY(inverse + 9 * (ptrdiff_t)i, p->A.val + 9 * (ptrdiff_t)p->A.diag[i], 9 * sizeof *inverse);
    for (c = 0; c < p->contact_count; ++c)
        for (side = 0; side < 2; ++side) {
            const csim_contact *contact = p->contacts + c;
            const csim_side *s = side ? &contact->b : &contact->a;
            for (at = s->first; at < s->first + s->count; ++at) {
                csim_real J[9], GJ[9], *D = inverse + 9 * (ptrdiff_t)p->terms[at].block;
                csimi_matmul(contact->R, p->terms[at].J, J);
                csimi_matmul(k->G + 9 * (ptrdiff_t)c, J, GJ);
                for (i = 0; i < 9; ++i) /* of this block with itself: it only preconditions */
                    D[i] += J[i / 3] * GJ[i % 3] + J[3 + i / 3] * GJ[3 + i % 3] + J[6 + i / 3] * GJ[6 + i % 3];
            }
        }
    for (i = 0; i < p->A.n; ++i) {
        csim_real D[9];
        CSIMI_MEMCPY(D, inverse + 9 * (ptrdiff_t)i, sizeof D);
        if (!csimi_inverse3(D, inverse + 9 * (ptrdiff_t)i)) return false;
    }
    return true;
}

/* Newton's method from v, to where the value falls no more. */
static void csimi_restrain_descend(csimi_restrainer *k) {
    const int m = 3 * k->p->A.n;
    csimi_wide value = csimi_restrain_value(k, k->v);
    int step, look, i;
    for (step = 0; step < CSIMI_GIVE_STEPS && k->products < CSIMI_GIVE_PRODUCTS; ++step) {
        csimi_wide fall = 0, next = value;
        csim_real share = 1;
        csimi_restrain_derivative(k);
        if (!csimi_restrain_diagonal(k, k->krylov + 4 * m)) break; /* where csimi_gradients reads them */
        for (i = 0; i < m; ++i) k->next[i] = (csim_real)k->sum[i], k->way[i] = 0;
        if (csimi_gradients(k->p->A.n, csimi_restrain_product, k, k->next, k->way, CSIM_R(1e-3), CSIMI_GIVE_INNER,
                            k->krylov) < 0)
            break;
        for (i = 0; i < m; ++i) fall += (csimi_wide)k->way[i] * (csimi_wide)k->next[i];
        for (look = 0; look < 12; ++look, share /= 2) {
            for (i = 0; i < m; ++i) k->next[i] = k->v[i] + share * k->way[i];
            next = csimi_restrain_value(k, k->next);
            if (next < value - CSIMI_WIDE(1e-4) * (csimi_wide)share * fall) break; /* Armijo's rule */
        }
        if (look == 12) break; /* no share of the way lowers the value */
        CSIMI_MEMCPY(k->v, k->next, (size_t)m * sizeof *k->v); /* lambda and sum belong to it already */
        if (value - next <= 4 * (csimi_wide)CSIMI_EPS * (next < 0 ? -next : next)) break;
        value = next;
    }
    (void)csimi_restrain_value(k, k->v); /* a look that failed left its own lambda */
}

/* y = A^-1 (b + J'lambda), b only where asked for; solved twice: the second time for what the first left. Roughly,
   where one pass is to do. */
static bool csimi_restrain_motion(csimi_restrainer *k, bool with_b, const csim_real *lambda, csim_real *y, int passes,
                                  const csim_tasks *tasks) {
    const csim_real rest = passes > 1 ? CSIM_R(1e-8) : CSIM_R(1e-3);
    const csim_problem *p = k->p;
    const int m = 3 * p->A.n;
    int pass, i, count;
    CSIMI_MEMSET(y, 0, (size_t)m * sizeof *y);
    for (pass = 0; pass < passes; ++pass) {
        csimi_problem_load(p, lambda, k->sum);
        if (!with_b)
            for (i = 0; i < m; ++i) k->sum[i] -= (csimi_wide)p->b[i];
        csimi_less_product(&p->A, y, k->sum);
        for (i = 0; i < m; ++i) k->next[i] = (csim_real)k->sum[i];
        CSIMI_MEMSET(k->way, 0, (size_t)m * sizeof *y);
        count = csimi_pcg(&p->A, k->next, k->way, rest, 2 * m + 200, k->krylov, tasks);
        if (count < 0) return false;
        k->products += count + 1;
        for (i = 0; i < m; ++i) y[i] += k->way[i];
    }
    return true;
}

/* x . (J v + phi), phi only where asked for. */
static csimi_wide csimi_restrain_work(const csim_problem *p, const csim_real *x, const csim_real *v, bool phi) {
    csimi_wide sum = 0;
    int c, i;
    for (c = 0; c < p->contact_count; ++c) {
        csim_real u[3];
        (void)csimi_contact_motion(p, p->contacts + c, v, u);
        for (i = 0; i < 3; ++i)
            sum += (csimi_wide)x[3 * c + i] * ((csimi_wide)u[i] + (phi ? (csimi_wide)p->contacts[c].phi[i] : 0));
    }
    return sum;
}

/* Least of s'G s / 2 + g's over the triangle s >= 0, s_1 + s_2 <= 1: inside, or on one of its sides. */
static void csimi_restrain_shares(csimi_wide G[2][2], const csimi_wide *g, csimi_wide *s) {
    static const csimi_wide from[3][2] = {{0, 0}, {0, 0}, {1, 0}}, way[3][2] = {{1, 0}, {0, 1}, {-1, 1}};
    const csimi_wide det = G[0][0] * G[1][1] - G[0][1] * G[0][1];
    csimi_wide best = 0; /* of no impulses at all */
    int i;
    s[0] = s[1] = 0;
    for (i = 0; i < 4; ++i) {
        csimi_wide x[2], value;
        if (i == 3) {
            if (!(det > CSIMI_WIDE_SMALL * G[0][0] * G[1][1])) break; /* both act nearly alike: the sides are enough */
            x[0] = (g[1] * G[0][1] - g[0] * G[1][1]) / det;
            x[1] = (g[0] * G[0][1] - g[1] * G[0][0]) / det;
            if (!(x[0] >= 0 && x[1] >= 0 && x[0] + x[1] <= 1)) break; /* the least is on a side */
        } else {
            const csimi_wide *a = from[i], *d = way[i];
            const csimi_wide curve = d[0] * (G[0][0] * d[0] + 2 * G[0][1] * d[1]) + G[1][1] * d[1] * d[1];
            const csimi_wide slope = d[0] * (G[0][0] * a[0] + G[0][1] * a[1] + g[0]) +
                                 d[1] * (G[0][1] * a[0] + G[1][1] * a[1] + g[1]);
            csimi_wide t = slope < 0 && curve > 0 ? -slope / curve : 0;
            if (t > 1) t = 1;
            x[0] = a[0] + t * d[0];
            x[1] = a[1] + t * d[1];
        }
        value = (x[0] * (G[0][0] * x[0] + 2 * G[0][1] * x[1]) + G[1][1] * x[1] * x[1]) / 2 + g[0] * x[0] + g[1] * x[1];
        if (!(value < best)) continue;
        best = value;
        s[0] = x[0];
        s[1] = x[1];
    }
}

/* Whether v, which a solve has left without the exact motion of its impulses, gains nothing by itself: beside b the
   impulses do the work v'(A v - b) on it, and up to a thousandth of b'A^-1 b is no matter. */
static bool csimi_restrain_harmless(csimi_restrainer *k, const csim_real *v, const csim_tasks *tasks) {
    const csim_problem *p = k->p;
    const int n = 3 * p->A.n;
    if (!csimi_all_finite(v, n)) return false;
    csimi_product(&p->A, v, k->own, tasks);
    k->products++;
    return csimi_sum_dot(n, v, k->own) - csimi_sum_dot(n, v, p->b) <=
           CSIMI_WIDE(1e-3) * csimi_sum_dot(n, p->b, k->free);
}

/* As much of the impulses in rows as contacts gain nothing by, v their motion: none where they gain at once. */
static void csimi_restrain_shrink(csimi_restrainer *k) {
    const csimi_wide free = csimi_restrain_work(k->p, k->rows, k->free, true);
    const csimi_wide work = csimi_restrain_work(k->p, k->rows, k->v, true);
    const csim_real share = !(work > 0) ? 1 : free < 0 ? (csim_real)(free / (free - work)) : 0;
    int i;
    for (i = 0; i < 3 * k->p->contact_count; ++i) k->rows[i] *= share;
    for (i = 0; i < 3 * k->p->A.n; ++i) k->v[i] = k->free[i] + share * (k->v[i] - k->free[i]);
}

/* Down q from the impulses in rows, v their motion: every contact goes where its law would have it if its mobility were
   all there is, and all of them by that share of the way at which q is least. */
static bool csimi_restrain_spread(csimi_restrainer *k, const csim_tasks *tasks) {
    const csim_problem *p = k->p;
    int step, c, i;
    for (step = 0; step < CSIMI_SPREAD_STEPS; ++step) {
        csimi_wide fall = 0, curve, share;
        for (c = 0; c < p->contact_count; ++c) {
            const csim_real *lambda = k->rows + 3 * (ptrdiff_t)c;
            csim_real u[3], t[3], *way = k->lambda + 3 * (ptrdiff_t)c;
            (void)csimi_contact_motion(p, p->contacts + c, k->v, u);
            for (i = 0; i < 3; ++i) {
                u[i] += p->contacts[c].phi[i];
                t[i] = lambda[i] - CSIMI_GIVE / k->give[c] * u[i];
            }
            csimi_restrain_project(p->contacts + c, t, way);
            for (i = 0; i < 3; ++i) {
                way[i] -= lambda[i];
                fall -= (csimi_wide)way[i] * (csimi_wide)u[i];
            }
        }
        if (!(fall > 0)) break;
        if (!csimi_restrain_motion(k, false, k->lambda, k->own, 1, tasks)) return false;
        curve = csimi_restrain_work(p, k->lambda, k->own, false);
        share = curve > fall ? fall / curve : 1;
        for (i = 0; i < 3 * p->contact_count; ++i) k->rows[i] += (csim_real)share * k->lambda[i];
        for (i = 0; i < 3 * p->A.n; ++i) k->v[i] += (csim_real)share * k->own[i];
    }
    if (!csimi_restrain_motion(k, false, k->rows, k->v, 2, tasks)) return false;
    for (i = 0; i < 3 * p->A.n; ++i) k->v[i] += k->free[i];
    csimi_restrain_shrink(k);
    return true;
}

static void csimi_restrain_feasible(const csim_problem *p, const csim_real *from, csim_real *to) {
    int c;
    for (c = 0; c < p->contact_count; ++c) {
        csim_contact law = p->contacts[c];
        if (law.law == CSIM_LAW_INVERTIBLE) law.law = CSIM_LAW_STRICT; /* the same cone */
        if (csimi_all_finite(from + 3 * c, 3))
            csim_project(&law, 0, from + 3 * c, to + 3 * c);
        else
            to[3 * c] = to[3 * c + 1] = to[3 * c + 2] = 0;
    }
}

/* Whether impulses are far larger than what moves b, and masses by phi: a pass over the contacts tells it. */
static bool csimi_restrain_doubts(csimi_restrainer *k, const csim_real *lambda) {
    const csim_problem *p = k->p;
    csimi_wide asked = csimi_sum_dot(3 * p->A.n, p->b, p->b);
    int c;
    csimi_restrain_open(k);
    for (c = 0; c < p->contact_count; ++c) {
        const csimi_wide mass = (csimi_wide)(CSIMI_GIVE / k->give[c]); /* effective mass, kg */
        asked += mass * mass * csimi_sum_dot(3, p->contacts[c].phi, p->contacts[c].phi);
    }
    return csimi_sum_dot(3 * p->contact_count, lambda, lambda) > CSIMI_GIVE_FAR * asked;
}

/* The answer where contacts give way. */
static void csimi_restrain_giving(csimi_restrainer *k) {
    int pass, c;
    CSIMI_MEMSET(k->v, 0, 3 * (size_t)k->p->A.n * sizeof *k->v);
    for (pass = 0; pass < CSIMI_GIVE_PASSES; ++pass) {
        csimi_restrain_descend(k);
        for (c = 0; c < k->p->contact_count; ++c) {
            const csim_contact *contact = k->p->contacts + c;
            /* what is of u + omega lambda slides by that */
            const csim_real omega = csimi_law_is(contact, CSIM_LAW_INVERTIBLE) ? contact->omega[1] : 0;
            csim_real u[3];
            int i;
            (void)csimi_contact_motion(k->p, contact, k->v, u);
            for (i = 1; i < 3; ++i) /* ground that moves slides too */
                u[i] += contact->phi[i] + omega * k->lambda[3 * (ptrdiff_t)c + i];
            if (csimi_restrain_is_cone(contact) && !csimi_law_is(contact, CSIM_LAW_PROXIMAL))
                k->slip[c] = csimi_restrain_friction(contact) * CSIMI_SQRT(u[1] * u[1] + u[2] * u[2]);
        }
    }
}

CSIMI_FN bool csimi_restrain(const csim_problem *p, const csim_real *start, csimi_arena *arena, const csim_tasks *tasks,
                             csim_solution *solution, csim_outcome *outcome) {
    const size_t mark = arena->used;
    const int m = 3 * p->contact_count;
    csimi_restrainer k;
    csimi_wide G[2][2], g[2], s[2] = {0, 0};
    csim_real *lambda[2], *v[2];
    int i, j;
    bool ok, gives = false;
    csimi_restrain_layout(&k, arena, p->A.n, p->contact_count);
    k.p = p;
    k.products = 0;
    lambda[0] = k.rows, lambda[1] = k.lambda;
    v[0] = k.v, v[1] = k.own;
    ok = !arena->overflow && m > 0; /* without contacts nothing puts energy in */
    if (ok) {
        csimi_restrain_feasible(p, solution->lambda, k.rows);
        if (csimi_restrain_doubts(&k, k.rows)) {
            csimi_restrain_giving(&k);
            csimi_restrain_feasible(p, solution->lambda, k.rows); /* rows was scratch in there */
            gives = csimi_sum_dot(m, k.rows, k.rows) > CSIMI_GIVE_FAR * csimi_sum_dot(m, k.lambda, k.lambda);
            if (gives) CSIMI_MEMCPY(k.rows, k.lambda, (size_t)m * sizeof *start);
        }
        csimi_restrain_feasible(p, start, k.lambda);
        ok = csimi_restrain_motion(&k, true, NULL, k.free, 2, tasks);
    }
    for (i = 0; i < 2 && ok; ++i) {
        ok = csimi_restrain_motion(&k, false, lambda[i], v[i], 2, tasks);
        g[i] = csimi_restrain_work(p, lambda[i], k.free, true); /* lambda'(J A^-1 b + phi) */
        for (j = 0; j <= i; ++j) G[i][j] = G[j][i] = csimi_restrain_work(p, lambda[i], v[j], false);
    }
    if (ok) csimi_restrain_shares(G, g, s);
    if (ok) { /* in place of the first, until it is certified */
        for (i = 0; i < m; ++i)
            k.rows[i] = (csim_real)(s[0] * (csimi_wide)lambda[0][i] + s[1] * (csimi_wide)lambda[1][i]);
        for (i = 0; i < 3 * p->A.n; ++i)
            k.v[i] = (csim_real)((csimi_wide)k.free[i] + s[0] * (csimi_wide)v[0][i] + s[1] * (csimi_wide)v[1][i]);
        if (s[0] < CSIMI_RESTRAIN_LEAST)
            ok = (gives || !csimi_restrain_harmless(&k, solution->v, tasks)) && csimi_restrain_spread(&k, tasks);
        outcome->products += k.products;
        ok = ok && csimi_certify(p, k.v, k.rows, k.scratch, k.scratch_bytes, &outcome->certificate) == CSIM_OK;
    }
    if (ok) csimi_solution_take(p, k.v, k.rows, solution);
    csimi_pop(arena, mark);
    return ok;
}

#undef CSIMI_RESTRAIN_LEAST
#undef CSIMI_GIVE
#undef CSIMI_GIVE_FAR
