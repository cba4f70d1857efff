/* solve/restrain: what is kept of a solve that missed. A best iterate may be far from obeying A v = b + J'lambda, or
   hold impulses that fit no motion, and either puts energy into a world. What is returned here does not: impulses that
   obey their laws, as combinations s_1 lambda_1 + s_2 lambda_2 of the best iterate and of the start (s >= 0, sum <= 1:
   the laws are convex and hold 0), and the exact motion under them, v = A^-1 (b + J'lambda), with s the least of

       q(s) = lambda'W lambda / 2 + lambda'(J A^-1 b + phi).

   There lambda'(u + phi) <= 0 (s times the slope of q along itself), so that contacts do the work -lambda'phi at most:
   what stabilisation asked for, and nothing where gaps are open. */
#include "private.h"

enum { CSIMI_RESTRAIN_STARTS = 2 };

/* Where less than this is left of all impulses together, one of them is far too large, and its share would take the
   floor away from under everything else: bodies would fall through. */
#define CSIMI_RESTRAIN_LEAST CSIMI_WIDE(0.5)

typedef struct csimi_restrainer {
    csim_real *lambda[CSIMI_RESTRAIN_STARTS]; /* [3 contacts] */
    csim_real *v[CSIMI_RESTRAIN_STARTS];      /* [3n] A^-1 J'lambda */
    csim_real *free, *load, *krylov;      /* [3n] A^-1 b; [3n]; [21n] */
    csimi_wide *sum;                          /* [3n] */
    void *scratch;
    size_t scratch_bytes;
} csimi_restrainer;

static void csimi_restrain_layout(csimi_restrainer *k, csimi_arena *arena, int n, int contacts) {
    int i;
    for (i = 0; i < CSIMI_RESTRAIN_STARTS; ++i) {
        k->lambda[i] = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
        k->v[i] = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    }
    k->free = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    k->load = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
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

/* y = A^-1 (share b + J'lambda), twice: the second time for what the first left. */
static bool csimi_restrain_motion(const csim_problem *p, csimi_restrainer *k, bool with_b, const csim_real *lambda,
                                  csim_real *y, const csim_tasks *tasks, int *products) {
    const int m = 3 * p->A.n;
    int pass, i, count;
    CSIMI_MEMSET(y, 0, (size_t)m * sizeof *y);
    for (pass = 0; pass < 2; ++pass) {
        csimi_problem_load(p, lambda, k->sum);
        if (!with_b)
            for (i = 0; i < m; ++i) k->sum[i] -= (csimi_wide)p->b[i];
        csimi_less_product(&p->A, y, k->sum);
        for (i = 0; i < m; ++i) k->load[i] = (csim_real)k->sum[i];
        CSIMI_MEMSET(k->krylov, 0, (size_t)m * sizeof *y);
        count = csimi_pcg(&p->A, k->load, k->krylov, CSIM_R(1e-8), 2 * m + 200, k->krylov + m, tasks);
        if (count < 0) return false;
        *products += count + 1;
        for (i = 0; i < m; ++i) y[i] += k->krylov[i];
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
    csimi_wide best = 0;
    int i;
    s[0] = s[1] = 0;
    for (i = 0; i < 4; ++i) {
        csimi_wide x[2], value;
        if (i == 3) {
            if (!(det > CSIMI_WIDE_SMALL * G[0][0] * G[1][1])) break;
            x[0] = (g[1] * G[0][1] - g[0] * G[1][1]) / det;
            x[1] = (g[0] * G[0][1] - g[1] * G[0][0]) / det;
            if (!(x[0] >= 0 && x[1] >= 0 && x[0] + x[1] <= 1)) break;
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

CSIMI_FN bool csimi_restrain(const csim_problem *p, const csim_real *start, csimi_arena *arena, const csim_tasks *tasks,
                             csim_solution *solution, csim_outcome *outcome) {
    const size_t mark = arena->used;
    csimi_restrainer k;
    csimi_wide G[2][2], g[2], s[2] = {0, 0};
    int i, j;
    bool ok;
    csimi_restrain_layout(&k, arena, p->A.n, p->contact_count);
    ok = !arena->overflow && csimi_restrain_motion(p, &k, true, NULL, k.free, tasks, &outcome->products);
    csimi_restrain_feasible(p, solution->lambda, k.lambda[0]);
    csimi_restrain_feasible(p, start, k.lambda[1]);
    for (i = 0; i < 2 && ok; ++i) {
        ok = csimi_restrain_motion(p, &k, false, k.lambda[i], k.v[i], tasks, &outcome->products);
        g[i] = csimi_restrain_work(p, k.lambda[i], k.free, true);
        for (j = 0; j <= i; ++j) G[i][j] = G[j][i] = csimi_restrain_work(p, k.lambda[i], k.v[j], false);
    }
    if (ok) csimi_restrain_shares(G, g, s);
    if (ok && s[0] + s[1] >= CSIMI_RESTRAIN_LEAST) {
        for (i = 0; i < 3 * p->contact_count; ++i)
            solution->lambda[i] = (csim_real)(s[0] * (csimi_wide)k.lambda[0][i] + s[1] * (csimi_wide)k.lambda[1][i]);
        for (i = 0; i < 3 * p->A.n; ++i)
            solution->v[i] =
                (csim_real)((csimi_wide)k.free[i] + s[0] * (csimi_wide)k.v[0][i] + s[1] * (csimi_wide)k.v[1][i]);
        ok = csimi_all_finite(solution->v, 3 * p->A.n) &&
             csim_problem_certify(p, solution->v, solution->lambda, k.scratch, k.scratch_bytes,
                                  &outcome->certificate) == CSIM_OK;
    }
    csimi_pop(arena, mark);
    return ok && s[0] + s[1] >= CSIMI_RESTRAIN_LEAST;
}

#undef CSIMI_RESTRAIN_LEAST
