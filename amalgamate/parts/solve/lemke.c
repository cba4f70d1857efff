/* solve/lemke: Coulomb friction in a polygon as a linear complementarity problem (Stewart and Trinkle; Anitescu and
   Potra), solved by Lemke's complementary pivots with the lexicographic ratio test, which cannot cycle. Reference
   build: the tableau is dense, O((contacts (2 + sides))^2). Unknowns of a contact:

       0 <= lambda_n    complementary to  u_n
       0 <= beta_j      complementary to  d_j . u_t + s      lambda_t = sum beta_j d_j, d_j on the ellipse of mu1, mu2
       0 <= s           complementary to  lambda_n - sum beta_j

   and of a bilateral contact, for each component it holds, impulses of either sign: +u and -u complementary to 0 <= x+,
   x-. The polygon lies inside the disk: the measure of this solver's answer is that of another law. */
#include "private.h"

#ifdef CONDSIM_REFERENCE

enum { CSIMI_LEMKE_SIDES = 8 };

typedef struct csimi_lemke {
    csimi_watch watch;
    csimi_delassus *W;
    int sides, n, width;  /* unknowns; numbers in a row: q, inverse of the basis [n], unknowns [n], z0 */
    int *contact;         /* [n] */
    csim_real *direction; /* [3n] impulse of a unit of each unknown; 0: a slack s */
    int *basis;           /* [n] of each row: k < n: w_k, n <= k < 2n: z_(k - n), 2n: z0 */
    double *tableau;      /* [n width] */
    csim_real *x, *u;     /* [3 contacts] */
} csimi_lemke;

static int csimi_lemke_sides(const csim_solver_params *params) {
    return params->impulse.sides >= 3 ? params->impulse.sides : CSIMI_LEMKE_SIDES;
}

static void csimi_lemke_layout(csimi_lemke *s, csimi_arena *arena, int contacts, int sides) {
    const size_t n = (size_t)contacts * (size_t)csimi_imax(6, sides + 2);
    csimi_watch_layout(&s->watch, arena, contacts);
    s->contact = CSIMI_PUSH(arena, int, n);
    s->direction = CSIMI_PUSH(arena, csim_real, 3 * n);
    s->basis = CSIMI_PUSH(arena, int, n);
    s->tableau = CSIMI_PUSH(arena, double, n *(2 * n + 2));
    s->x = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->u = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
}

CSIMI_FN size_t csimi_lemke_bytes(int contacts, const csim_solver_params *params) {
    csimi_arena arena = csimi_arena_counting();
    csimi_lemke s;
    csimi_lemke_layout(&s, &arena, contacts, csimi_lemke_sides(params));
    return arena.high;
}

/* ---- the problem */

/* One more unknown of contact c: a unit of it is the impulse (n, t1, t2). */
static void csimi_lemke_unknown(csimi_lemke *s, int c, csim_real n, csim_real t1, csim_real t2) {
    csim_real *d = s->direction + 3 * (size_t)s->n;
    d[0] = n;
    d[1] = t1;
    d[2] = t2;
    s->contact[s->n++] = c;
}

/* False: a law that has no such form. */
static bool csimi_lemke_unknowns(csimi_lemke *s) {
    int c, k;
    s->n = 0;
    for (c = 0; c < s->W->contacts; c++) {
        const csim_contact *law = s->W->laws + c;
        const csim_real mu2 = law->mu[law->law == CSIM_LAW_ANISOTROPIC];
        if (law->law == CSIM_LAW_BILATERAL) {
            for (k = 0; k < 3; k++)
                if (law->mask >> k & 1u) {
                    csimi_lemke_unknown(s, c, CSIM_R(k == 0), CSIM_R(k == 1), CSIM_R(k == 2));
                    csimi_lemke_unknown(s, c, -CSIM_R(k == 0), -CSIM_R(k == 1), -CSIM_R(k == 2));
                }
        } else if (law->law == CSIM_LAW_STRICT || law->law == CSIM_LAW_ANISOTROPIC) {
            csimi_lemke_unknown(s, c, 1, 0, 0);
            if (!(law->mu[0] > 0 || mu2 > 0)) continue; /* no friction: no beta, no s */
            if (!(law->mu[0] > 0 && mu2 > 0)) { /* along one axis: a segment, of two corners */
                csimi_lemke_unknown(s, c, 0, law->mu[0], mu2);
                csimi_lemke_unknown(s, c, 0, -law->mu[0], -mu2);
            }
            for (k = 0; law->mu[0] > 0 && mu2 > 0 && k < s->sides; k++) {
                const csim_real angle = 2 * CSIMI_PI * (csim_real)k / (csim_real)s->sides;
                csimi_lemke_unknown(s, c, 0, law->mu[0] * CSIMI_COS(angle), mu2 * CSIMI_SIN(angle));
            }
            csimi_lemke_unknown(s, c, 0, 0, 0);
        } else {
            return false;
        }
    }
    s->width = 2 * s->n + 2;
    return true;
}

static bool csimi_lemke_is(const csimi_lemke *s, int i, int kind) { /* 0: s, 1: lambda_n or bilateral, 2: beta */
    const csim_real *d = s->direction + 3 * (size_t)i;
    const bool bilateral = s->W->laws[s->contact[i]].law == CSIM_LAW_BILATERAL;
    if (d[0] == 0 && d[1] == 0 && d[2] == 0) return kind == 0;
    return bilateral || d[0] != 0 ? kind == 1 : kind == 2;
}

/* w = M z + q as rows [q | I | -M | -1]: w_i = direction_i . u, and the couplings of beta and s. */
static void csimi_lemke_fill(csimi_lemke *s) {
    const int n = s->n;
    int i, j, k;
    for (i = 0; i < n * s->width; i++) s->tableau[i] = 0;
    for (j = 0; j < n; j++) {
        const csim_real *d = s->direction + 3 * (size_t)j;
        for (k = 0; k < 3 * s->W->contacts; k++) s->x[k] = 0;
        for (k = 0; k < 3; k++) s->x[3 * s->contact[j] + k] = d[k];
        csimi_delassus_product(s->W, s->x, s->u); /* column j of W */
        for (i = 0; i < n; i++) {
            const csim_real *e = s->direction + 3 * (size_t)i, *u = s->u + 3 * (size_t)s->contact[i];
            double m = (double)(e[0] * u[0] + e[1] * u[1] + e[2] * u[2]);
            if (s->contact[i] == s->contact[j]) {
                if (csimi_lemke_is(s, i, 2) && csimi_lemke_is(s, j, 0)) m += 1;
                if (csimi_lemke_is(s, i, 0) && csimi_lemke_is(s, j, 2)) m -= 1;
                if (csimi_lemke_is(s, i, 0) && csimi_lemke_is(s, j, 1)) m += 1;
            }
            s->tableau[(size_t)s->width * (size_t)i + (size_t)(1 + n + j)] = -m;
        }
    }
    for (i = 0; i < n; i++) {
        const csim_real *e = s->direction + 3 * (size_t)i, *q = s->W->q + 3 * (size_t)s->contact[i];
        double *row = s->tableau + (size_t)s->width * (size_t)i;
        /* the first basis is w: its inverse is the identity, and z0 enters every row alike */
        row[0] = (double)(e[0] * q[0] + e[1] * q[1] + e[2] * q[2]);
        row[1 + i] = 1;
        row[1 + 2 * n] = -1;
        s->basis[i] = i;
    }
}

/* ---- pivots */

/* Whether row i leaves before row j when column enters: row / pivot element, compared number by number. */
static bool csimi_lemke_before(const csimi_lemke *s, int i, int j, int column) {
    const double *a = s->tableau + (size_t)s->width * (size_t)i, *b = s->tableau + (size_t)s->width * (size_t)j;
    int k;
    for (k = 0; k <= s->n; k++) {
        const double x = a[k] * b[column], y = b[k] * a[column]; /* both elements are positive */
        if (x != y) return x < y;
    }
    return false;
}

/* The row that leaves when column grows, -1: none does. z0 leaves whenever it may. */
static int csimi_lemke_leaving(const csimi_lemke *s, int column, double least) {
    int i, best = -1;
    for (i = 0; i < s->n; i++) {
        if (!(s->tableau[(size_t)s->width * (size_t)i + (size_t)column] > least)) continue;
        if (best < 0 || csimi_lemke_before(s, i, best, column)) best = i;
    }
    for (i = 0; i < s->n && best >= 0; i++) {
        const double *a = s->tableau + (size_t)s->width * (size_t)i;
        const double *b = s->tableau + (size_t)s->width * (size_t)best;
        if (s->basis[i] == 2 * s->n && a[column] > least &&
            a[0] * b[column] <= b[0] * a[column] + least * a[column] * b[column])
            return i;
    }
    return best;
}

static void csimi_lemke_pivot(csimi_lemke *s, int row, int column) {
    double *a = s->tableau + (size_t)s->width * (size_t)row;
    const double scale = 1 / a[column];
    int i, k;
    for (k = 0; k < s->width; k++) a[k] *= scale;
    a[column] = 1; /* exactly: columns of a basis are unit vectors */
    for (i = 0; i < s->n; i++) {
        double *b = s->tableau + (size_t)s->width * (size_t)i, f = b[column];
        if (i == row || f == 0) continue;
        for (k = 0; k < s->width; k++) b[k] -= f * a[k];
        b[column] = 0;
    }
    s->basis[row] = column - 1;
}

/* True: a complementary solution was reached. */
static bool csimi_lemke_run(csimi_lemke *s, int cap) {
    const double least = 4096 * 2.3e-16; /* pivots below are taken for rounding */
    int i, row = -1, column = 1 + 2 * s->n, left;
    for (i = 0; i < s->n;
         i++) { /* z0 enters where q is most negative; of rows that tie the last, as the ratio test says */
        const double q = s->tableau[(size_t)s->width * (size_t)i];
        if (q < 0 && (row < 0 || q <= s->tableau[(size_t)s->width * (size_t)row])) row = i;
    }
    if (row < 0) return true; /* nothing touches */
    while (s->watch.iterations < cap) {
        left = s->basis[row];
        csimi_lemke_pivot(s, row, column);
        ++s->watch.iterations;
        if (left == 2 * s->n) return true; /* z0 is out: complementary */
        column = 1 + (left < s->n ? left + s->n : left - s->n); /* its complement enters */
        row = csimi_lemke_leaving(s, column, least);
        if (row < 0) return false; /* a ray */
    }
    return false;
}

CSIMI_FN bool csimi_lemke_solve(csimi_impulse_run *run) {
    csimi_lemke s;
    int i, k;
    s.sides = csimi_lemke_sides(run->params);
    csimi_lemke_layout(&s, run->arena, run->W->contacts, s.sides);
    csimi_watch_open(&s.watch, run, 1);
    s.W = run->W;
    if (!csimi_lemke_unknowns(&s)) return csimi_watch_close(&s.watch);
    csimi_lemke_fill(&s);
    if (csimi_lemke_run(&s, s.watch.cap)) {
        for (i = 0; i < 3 * s.W->contacts; i++) s.x[i] = 0;
        for (i = 0; i < s.n; i++) {
            const int z = s.basis[i] - s.n;
            if (z < 0 || z >= s.n) continue; /* w and z0 are no impulses */
            for (k = 0; k < 3; k++)
                s.x[3 * s.contact[z] + k] += (csim_real)s.tableau[(size_t)s.width * (size_t)i] * s.direction[3 * z + k];
        }
        csimi_delassus_project(s.W, s.x); /* rounding of pivots: friction of 1e-18 where nothing presses */
        csimi_watch_look(&s.watch, s.x, NULL);
    }
    return csimi_watch_close(&s.watch);
}

#endif
