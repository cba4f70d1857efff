/* The lowest vibrations of a tetrahedral mesh and the exact energy of St. Venant-Kirchhoff's solid in their subspace.
   Everything is double; the mesh as the world's solids see it (linear elements, lumped masses).

   An offline tool that uses the library's own sparse factor and mesh functions: it is compiled with a copy of the
   library of its own, or, with CONDSIM_LINKED, sees the private headers of the parts. Only the bytes it makes pass to
   others. */
#ifdef CONDSIM_LINKED
#include "../../amalgamate/parts/io/private.h"
#elif !defined(CONDSIM_IMPLEMENTATION)
#define CONDSIM_IMPLEMENTATION
#define CONDSIM_STATIC
#ifndef CONDSIM_REFERENCE
#define CONDSIM_REFERENCE
#endif
#define CSIMI_KEEP_MACROS
#endif
#include "modes.h"

enum { MODES_FREE = 6, MODES_GUARD = 0x4d4443 }; /* columns kept for free motions, used or not */

modes_def modes_default(void) {
    modes_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.young = CSIM_R(1e5);
    d.poisson = CSIM_R(0.4);
    d.density = 1000;
    d.modes = d.derivatives = 8;
    d.guard = MODES_GUARD;
    return d;
}

/* ---- all eigenvectors of a small symmetric matrix, by cyclic Jacobi rotations */

/* Rotates rows (stride 1) or columns (stride n) p and q of A. */
static void modes_jacobi_turn(int n, double *p, double *q, int stride, double c, double s) {
    int k;
    for (k = 0; k < n; k++) {
        double *x = p + (size_t)k * (size_t)stride, *y = q + (size_t)k * (size_t)stride, a = *x;
        *x = c * a - s * *y;
        *y = s * a + c * *y;
    }
}

static double modes_hypot(double x, double y) { /* squares may be beyond the floats */
    double a = x < 0 ? -x : x, b = y < 0 ? -y : y, hold = a;
    if (a < b) {
        a = b;
        b = hold;
    }
    return a > 0 ? a * csimi_sqrt64(1 + b / a * (b / a)) : 0;
}

/* One sweep; the sum of squares it has rotated away. */
static double modes_jacobi_sweep(int n, double *A, double *V) {
    const size_t m = (size_t)n;
    double away = 0;
    int p, q;
    for (p = 0; p < n; p++)
        for (q = p + 1; q < n; q++) {
            const double off = A[m * (size_t)p + (size_t)q],
                         difference = A[(m + 1) * (size_t)q] - A[(m + 1) * (size_t)p];
            double t, c;
            if (!(off < 0 || off > 0)) continue;
            away += off * off;
            t = modes_hypot(difference, 2 * off);
            t = 2 * off / (difference < 0 ? difference - t : difference + t); /* the smaller angle */
            c = 1 / csimi_sqrt64(1 + t * t);
            modes_jacobi_turn(n, A + m * (size_t)p, A + m * (size_t)q, 1, c, t * c);
            modes_jacobi_turn(n, A + p, A + q, n, c, t * c);
            modes_jacobi_turn(n, V + p, V + q, n, c, t * c);
        }
    return away;
}

static void modes_eigen_sym(int n, double *A, double *eigenvalues, double *V) {
    const size_t m = (size_t)n;
    double size = 0;
    int i, j, k, sweep;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            V[m * (size_t)i + (size_t)j] = i == j;
            size += A[m * (size_t)i + (size_t)j] * A[m * (size_t)i + (size_t)j];
        }
    for (sweep = 0; sweep < 40 && modes_jacobi_sweep(n, A, V) > 1e-34 * size; sweep++) {
    }
    for (i = 0; i < n; i++) eigenvalues[i] = A[(m + 1) * (size_t)i];
    for (i = 0; i < n; i++) { /* ascending */
        int least = i;
        double hold;
        for (k = i + 1; k < n; k++)
            if (eigenvalues[k] < eigenvalues[least]) least = k;
        if (least == i) continue;
        hold = eigenvalues[i];
        eigenvalues[i] = eigenvalues[least];
        eigenvalues[least] = hold;
        modes_jacobi_turn(n, V + i, V + least, n, 0, 1);
    }
}

typedef struct modes_work {
    const modes_def *def;
    int n, t, size;          /* vertices, tets, 3 n */
    int free_motions, modes; /* modes: columns of the result */
    int block, columns;      /* vectors that are improved together; columns of S */
    double mu, lambda, mass, centre[3];
    double stiffest;                           /* about the largest eigenvalue */
    double *x, *gradient, *volume, *node_mass; /* [3 n], [9 t] rows: gradients of nodes 1, 2, 3; [t], [n] */
    double *m;                                 /* [size] masses, 0: held */
    int *triangles, *ints, *pairs, *place;
    int triangle_count;
    csim_block_matrix A;
    csim_real *rhs;        /* [size] */
    double *S, *K;         /* [columns][size] vectors and K times them */
    double *T;             /* [2 block][size] */
    double *H, *V, *value; /* [columns^2], [columns] */
    double *Gram;          /* of the polynomial */
    csimi_factor factor;
} modes_work;

/* ---- checks */

static csim_status modes_range(csim_error *e, const char *field, double value, const char *allowed) {
    return csimi_fail(e, value > -1e300 && value < 1e300 ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, "modes_create", field,
                      value, allowed);
}

static csim_status modes_check_modes_def(const modes_def *d, csim_error *e) {
    static const char fn[] = "modes_create";
    int i;
    if (d->guard != MODES_GUARD)
        return csimi_fail(e, CSIM_DEF_NOT_INITIALISED, fn, "guard", (double)d->guard,
                          "made by csim_default_modes_def()");
    if (d->vertex_count < 4 || d->vertex_count > 2000000)
        return csimi_fail(e, CSIM_BAD_MESH, fn, "vertex_count", (double)d->vertex_count, "4..2e6");
    if (d->tet_count < 1 || d->tet_count > 5000000)
        return csimi_fail(e, CSIM_BAD_MESH, fn, "tet_count", (double)d->tet_count, "1..5e6");
    if (!d->vertices || !d->tets)
        return csimi_missing(e, fn, d->vertices ? "tets" : "vertices");
    if (!(d->young > 0 && d->young <= CSIM_R(1e15)))
        return modes_range(e, "young", (double)d->young, "above 0, at most 1e15");
    if (!(d->poisson > -1 && d->poisson < CSIM_R(0.5)))
        return modes_range(e, "poisson", (double)d->poisson, "above -1, below 0.5");
    if (!(d->density > 0 && d->density <= CSIM_R(1e15)))
        return modes_range(e, "density", (double)d->density, "above 0, at most 1e15");
    if (d->modes < 1 || d->modes > CSIM_MODES_MOST) return modes_range(e, "modes", (double)d->modes, "1..24");
    if (d->derivatives < 0 || d->modes + d->derivatives > CSIM_MODES_MOST)
        return modes_range(e, "derivatives", (double)d->derivatives, "0..24 - modes");
    if (d->fixed_count < 0 || (d->fixed_count > 0 && !d->fixed))
        return modes_range(e, "fixed_count", (double)d->fixed_count, "0, or the length of fixed");
    for (i = 0; i < d->fixed_count; i++)
        if (d->fixed[i] < 0 || d->fixed[i] >= d->vertex_count)
            return modes_range(e, "fixed", (double)d->fixed[i], "0..vertex_count - 1");
    for (i = 0; i < 3 * d->vertex_count; i++)
        if (!csimi_finite(d->vertices[i]) || csimi_abs(d->vertices[i]) > CSIM_R(1e9))
            return modes_range(e, "vertices", (double)d->vertices[i], "finite numbers in -1e9..1e9");
    for (i = 0; i < 4 * d->tet_count; i++)
        if (d->tets[i] < 0 || d->tets[i] >= d->vertex_count)
            return csimi_fail(e, CSIM_BAD_MESH, fn, "tets", (double)d->tets[i], "0..vertex_count - 1");
    return CSIM_OK;
}

/* ---- memory */

/* Pairs of the lowest modes whose derivatives are made. */
static int modes_derivatives(const modes_def *d) {
    const int n = csimi_imin(d->modes, 10);
    return d->derivatives > 0 && !d->linear ? n * (n + 1) / 2 : 0;
}

static void modes_layout(modes_work *w, csimi_arena *arena) {
    const size_t n = (size_t)w->n, t = (size_t)w->t, r = (size_t)w->modes, pairs = r * (r + 1) / 2;
    const size_t surface = csimi_tet_surface_scratch(w->n, w->t), pattern = csimi_pattern_scratch(w->n, 6 * w->t);
    const size_t columns = (size_t)w->columns;
    w->x = CSIMI_PUSH(arena, double, 3 * n);
    w->gradient = CSIMI_PUSH(arena, double, 9 * t);
    w->volume = CSIMI_PUSH(arena, double, t);
    w->node_mass = CSIMI_PUSH(arena, double, n);
    w->m = CSIMI_PUSH(arena, double, 3 * n);
    w->triangles = CSIMI_PUSH(arena, int, 12 * t);
    w->ints = CSIMI_PUSH(arena, int, surface > pattern ? surface : pattern);
    w->pairs = CSIMI_PUSH(arena, int, 12 * t);
    w->place = CSIMI_PUSH(arena, int, n);
    w->A.row = CSIMI_PUSH(arena, int, n + 1);
    w->A.end = NULL;
    w->A.diag = CSIMI_PUSH(arena, int, n);
    w->A.col = CSIMI_PUSH(arena, int, 12 * t + n);
    w->A.val = CSIMI_PUSH(arena, csim_real, 9 * (12 * t + n));
    w->rhs = CSIMI_PUSH(arena, csim_real, 3 * n);
    w->S = CSIMI_PUSH(arena, double, columns * 3 * n);
    w->K = CSIMI_PUSH(arena, double, columns * 3 * n);
    w->T = CSIMI_PUSH(arena, double, 2 * (size_t)w->block * 3 * n);
    w->H = CSIMI_PUSH(arena, double, columns *columns);
    w->V = CSIMI_PUSH(arena, double, columns *columns);
    w->value = CSIMI_PUSH(arena, double, columns);
    w->Gram = CSIMI_PUSH(arena, double, 16 * (r + pairs) + (r + pairs) * (r + pairs));
    csimi_factor_layout(&w->factor, arena, w->n);
}

/* ---- vectors */

static double *modes_column(const modes_work *w, double *S, int k) { return S + (size_t)k * (size_t)w->size; }

static double modes_mass_dot(const modes_work *w, const double *a, const double *b) {
    double s[4] = {0, 0, 0, 0};
    int i = 0, k;
    for (; i + 4 <= w->size; i += 4)
        for (k = 0; k < 4; k++) s[k] += w->m[i + k] * a[i + k] * b[i + k];
    for (; i < w->size; i++) s[0] += w->m[i] * a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static double modes_plain_dot(int n, const double *a, const double *b) {
    double s[4] = {0, 0, 0, 0};
    int i = 0, k;
    for (; i + 4 <= n; i += 4)
        for (k = 0; k < 4; k++) s[k] += a[i + k] * b[i + k];
    for (; i < n; i++) s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void modes_take_out(const modes_work *w, double factor, const double *a, double *x) {
    int i;
    for (i = 0; i < w->size; i++) x[i] -= factor * a[i];
}

/* Mass-orthonormal columns [from, to) of S against each other and those before, starting at column `first`; what
   depends on them is dropped. Returns the end of those kept. */
static int modes_orthonormalise(modes_work *w, int first, int from, int to) {
    int kept = from, j, k, pass, i;
    for (j = from; j < to; j++) {
        double *x = modes_column(w, w->S, j), *out = modes_column(w, w->S, kept), before, after;
        before = modes_mass_dot(w, x, x);
        if (!(before > 0 && before < 1e300)) continue;
        for (pass = 0; pass < 3; pass++)
            for (k = first; k < kept; k++)
                modes_take_out(w, modes_mass_dot(w, modes_column(w, w->S, k), x), modes_column(w, w->S, k), x);
        after = modes_mass_dot(w, x, x);
        if (!(after > 1e-20 * before)) continue;
        after = 1 / csimi_sqrt64(after);
        for (i = 0; i < w->size; i++) out[i] = after * x[i];
        kept++;
    }
    return kept;
}

/* ---- elasticity at rest */

/* Displacement gradient D of tet t, row-major, and its shape gradients g[4]. */
static void modes_gradient(const modes_work *w, int t, const double *u, double g[4][3], double *D) {
    const int *node = w->def->tets + 4 * (size_t)t;
    int a, i, j;
    for (j = 0; j < 3; j++) g[0][j] = 0;
    for (a = 1; a < 4; a++)
        for (j = 0; j < 3; j++) {
            g[a][j] = w->gradient[9 * (size_t)t + (size_t)(3 * (a - 1) + j)];
            g[0][j] -= g[a][j];
        }
    for (i = 0; i < 9; i++) D[i] = 0;
    for (a = 0; a < 4; a++)
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++) D[3 * i + j] += u[3 * node[a] + i] * g[a][j];
}

/* Stress 2 mu sym(D) + lambda tr(D). */
static void modes_stress(const modes_work *w, const double *D, double *P) {
    const double trace = w->lambda * (D[0] + D[4] + D[8]);
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) P[3 * i + j] = w->mu * (D[3 * i + j] + D[3 * j + i]) + (i == j ? trace : 0);
}

static void modes_push(const modes_work *w, int t, double g[4][3], const double *P, double *y) {
    const int *node = w->def->tets + 4 * (size_t)t;
    const double volume = w->volume[t];
    int a, i;
    for (a = 0; a < 4; a++)
        for (i = 0; i < 3; i++)
            y[3 * node[a] + i] += volume * (P[3 * i] * g[a][0] + P[3 * i + 1] * g[a][1] + P[3 * i + 2] * g[a][2]);
}

static void modes_hold(const modes_work *w, double *y) {
    int i;
    for (i = 0; i < w->size; i++)
        if (!(w->m[i] > 0)) y[i] = 0;
}

/* y = K x */
static void modes_product(const modes_work *w, const double *x, double *y) {
    double g[4][3], D[9], P[9];
    int t;
    for (t = 0; t < w->size; t++) y[t] = 0;
    for (t = 0; t < w->t; t++) {
        modes_gradient(w, t, x, g, D);
        modes_stress(w, D, P);
        modes_push(w, t, g, P, y);
    }
    modes_hold(w, y);
}

/* y = d2 f / da db of the inner force at rest, f = -dV/du: gradient of F S with S from Green's strain. */
static void modes_second(const modes_work *w, const double *a, const double *b, double *y) {
    double g[4][3], Da[9], Db[9], Sa[9], Sb[9], E[9], P[9];
    int t, i, j, k;
    for (i = 0; i < w->size; i++) y[i] = 0;
    for (t = 0; t < w->t; t++) {
        modes_gradient(w, t, a, g, Da);
        modes_gradient(w, t, b, g, Db);
        modes_stress(w, Da, Sa);
        modes_stress(w, Db, Sb);
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++)
                for (E[3 * i + j] = 0, k = 0; k < 3; k++) E[3 * i + j] += Da[3 * k + i] * Db[3 * k + j];
        modes_stress(w, E, P);
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++)
                for (k = 0; k < 3; k++) P[3 * i + j] += Da[3 * i + k] * Sb[3 * k + j] + Db[3 * i + k] * Sa[3 * k + j];
        for (i = 0; i < 9; i++) P[i] = -P[i];
        modes_push(w, t, g, P, y);
    }
    modes_hold(w, y);
}

/* K + shift M as blocks, held vertices with a unit diagonal. */
static void modes_matrix(modes_work *w, double shift) {
    int t, a, b, i, j;
    for (i = 0; i < 9 * w->A.row[w->n]; i++) w->A.val[i] = 0;
    for (t = 0; t < w->t; t++) {
        const int *node = w->def->tets + 4 * (size_t)t;
        const double volume = w->volume[t];
        double g[4][3], D[9];
        modes_gradient(w, t, w->S, g, D);
        for (a = 0; a < 4; a++)
            for (b = 0; b < 4; b++) {
                const size_t slot = 9 * (size_t)csimi_pattern_find(&w->A, node[a], node[b]);
                const double across = w->mu * (g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2]);
                if (!(w->m[3 * node[a]] > 0) || !(w->m[3 * node[b]] > 0)) continue;
                for (i = 0; i < 3; i++)
                    for (j = 0; j < 3; j++)
                        w->A.val[slot + (size_t)(3 * i + j)] +=
                            (csim_real)(volume * (w->lambda * g[a][i] * g[b][j] + w->mu * g[a][j] * g[b][i] +
                                                  (i == j ? across : 0)));
            }
    }
    for (i = 0, w->stiffest = 0; i < w->size; i++) {
        csim_real *D = w->A.val + 9 * (size_t)w->A.diag[i / 3] + 4 * (size_t)(i % 3);
        if (w->m[i] > 0 && 2 * (double)*D > w->stiffest * w->m[i]) w->stiffest = 2 * (double)*D / w->m[i];
        *D += (csim_real)(w->m[i] > 0 ? shift * w->m[i] : 1);
    }
}

/* x <- (K + shift M)^-1 x without its free motions. */
static void modes_precondition(modes_work *w, double *x) {
    int i, k;
    for (i = 0; i < w->size; i++) w->rhs[i] = (csim_real)x[i];
    csimi_factor_solve(&w->factor, w->rhs, w->rhs);
    for (i = 0; i < w->size; i++) x[i] = (double)w->rhs[i];
    for (k = 0; k < w->free_motions; k++)
        modes_take_out(w, modes_mass_dot(w, modes_column(w, w->S, k), x), modes_column(w, w->S, k), x);
}

/* ---- the mesh */

/* Shape gradients, volume and a quarter of the mass at each corner of tet t; false when it is inverted or flat. */
static bool modes_shape(modes_work *w, int t) {
    const int *node = w->def->tets + 4 * (size_t)t;
    double edge[3][3], area[3][3], longest = 0, six = 0;
    int a, b, c;
    for (a = 0; a < 4; a++)
        for (b = a + 1; b < 4; b++) {
            double square = 0, e;
            for (c = 0; c < 3; c++) {
                e = w->x[3 * node[b] + c] - w->x[3 * node[a] + c];
                square += e * e;
                if (a == 0) edge[b - 1][c] = e;
            }
            if (square > longest) longest = square;
        }
    for (a = 0; a < 3; a++)
        for (c = 0; c < 3; c++) {
            const double *p = edge[(a + 1) % 3], *q = edge[(a + 2) % 3];
            area[a][c] = p[(c + 1) % 3] * q[(c + 2) % 3] - p[(c + 2) % 3] * q[(c + 1) % 3];
        }
    for (c = 0; c < 3; c++) six += edge[0][c] * area[0][c];
    if (!(six > 0 && six * six > 36e-24 * longest * longest * longest)) return false;
    for (a = 0; a < 9; a++) w->gradient[9 * (size_t)t + (size_t)a] = area[a / 3][a % 3] / six;
    w->volume[t] = six / 6;
    for (a = 0; a < 4; a++) w->node_mass[node[a]] += (double)w->def->density * six / 24;
    return true;
}

static csim_status modes_mesh(modes_work *w, csim_error *e) {
    static const char fn[] = "modes_create";
    static const int edge[12] = {0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3};
    const modes_def *d = w->def;
    int i, c, bad, needed = 0;
    for (i = 0; i < 3 * w->n; i++) w->x[i] = (double)d->vertices[i];
    for (i = 0; i < w->n; i++) w->node_mass[i] = 0;
    for (bad = 0; bad < w->t && modes_shape(w, bad); bad++) {
    }
    if (bad < w->t)
        return csimi_fail(e, CSIM_BAD_MESH, fn, "tets: index of an inverted or flat tet", (double)bad,
                          "no inverted or flat tets");
    for (c = 0; c < 3; c++) w->centre[c] = 0;
    for (i = 0, w->mass = 0; i < w->n; i++) {
        if (!(w->node_mass[i] > 0))
            return csimi_fail(e, CSIM_BAD_MESH, fn, "vertices: isolated vertex", (double)i,
                              "every vertex used by a tet");
        w->mass += w->node_mass[i];
        for (c = 0; c < 3; c++) {
            w->m[3 * i + c] = w->node_mass[i];
            w->centre[c] += w->node_mass[i] * w->x[3 * i + c];
        }
    }
    for (c = 0; c < 3; c++) w->centre[c] /= w->mass;
    for (i = 0; i < d->fixed_count; i++)
        for (c = 0; c < 3; c++) w->m[3 * d->fixed[i] + c] = 0;
    w->triangle_count = csimi_tet_surface(w->n, w->t, d->tets, w->triangles, 4 * w->t, w->ints);
    for (i = 0; i < w->t; i++)
        for (c = 0; c < 12; c++) w->pairs[12 * i + c] = d->tets[4 * i + edge[c]];
    w->A.n = w->n;
    (void)csimi_pattern_build(w->n, 6 * w->t, w->pairs, w->A.row, w->A.col, w->A.diag, 12 * w->t + w->n, &needed,
                              w->ints);
    return CSIM_OK;
}

/* Translations and rotations about the centre of mass, orthonormal, in the first columns; none of a held body. */
static bool modes_free_motions(modes_work *w) {
    int i, k;
    w->free_motions = w->def->fixed_count > 0 ? 0 : MODES_FREE;
    for (k = 0; k < MODES_FREE; k++) {
        double *u = modes_column(w, w->S, k);
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        for (i = 0; i < w->size; i++) u[i] = 0;
        for (i = 0; i < w->n; i++) {
            if (k < 3) u[3 * i + k] = 1;
            if (k >= 3) u[3 * i + b] = w->x[3 * i + a] - w->centre[a];
            if (k >= 3) u[3 * i + a] = w->centre[b] - w->x[3 * i + b];
        }
    }
    return w->free_motions == 0 || modes_orthonormalise(w, 0, 0, MODES_FREE) == MODES_FREE;
}

/* ---- eigenvectors */

/* S = sum of columns [first, last) of S by V [.. x count columns, rows of width stride], into T. */
static void modes_combine(const modes_work *w, const double *S, int first, int rows, int start, int count, double *T) {
    int i, j, k, width = rows;
    for (j = 0; j < count; j++) {
        double *out = T + (size_t)j * (size_t)w->size;
        for (i = 0; i < w->size; i++) out[i] = 0;
        for (k = start; k < rows; k++)
            modes_take_out(w, -w->V[(size_t)width * (size_t)k + (size_t)j], S + (size_t)(first + k) * (size_t)w->size,
                           out);
    }
}

/* Rayleigh-Ritz on columns [first, first + count): H = S'KS, its eigenvalues to value and vectors to V. */
static void modes_ritz(modes_work *w, int first, int count) {
    int i, j;
    for (i = 0; i < count; i++) {
        modes_product(w, modes_column(w, w->S, first + i), modes_column(w, w->K, first + i));
        for (j = 0; j <= i; j++)
            w->H[count * i + j] = w->H[count * j + i] =
                modes_plain_dot(w->size, modes_column(w, w->S, first + j), modes_column(w, w->K, first + i));
    }
    modes_eigen_sym(count, w->H, w->value, w->V);
}

/* Residuals of the Ritz vectors to columns [to, to + block); how many of the first `wanted` have not converged. */
static int modes_residuals(modes_work *w, int first, int to, int wanted) {
    int i, j, open = 0;
    for (j = 0; j < w->block; j++) {
        const double *x = modes_column(w, w->S, first + j), *Kx = modes_column(w, w->K, first + j);
        double *r = modes_column(w, w->S, to + j), square = 0, least;
        for (i = 0; i < w->size; i++) {
            r[i] = Kx[i] - w->value[j] * w->m[i] * x[i];
            if (w->m[i] > 0) square += r[i] * r[i] / w->m[i];
        }
        least = 1e-9 * w->value[j] + 1e-15 * w->stiffest; /* rounding of the product */
        open += j < wanted && !(square <= least * least);
    }
    return open;
}

/* The lowest eigenvectors to columns [6, 6 + block): in each turn the best of what is there, of the preconditioned
   residuals and of the last changes (Knyazev 2001). */
static bool modes_lowest(modes_work *w, int wanted) {
    const int first = MODES_FREE, m = w->block;
    size_t bytes = sizeof(double) * (size_t)w->size;
    uint32_t seed = 1;
    int i, j, turn, count, kept = 0;
    for (j = 0; j < m; j++) {
        double *x = modes_column(w, w->S, first + j);
        for (i = 0; i < w->size; i++) {
            seed = seed * 1664525u + 1013904223u;
            x[i] = w->m[i] * ((double)(seed >> 8) / 16777216.0 - 0.5);
        }
        modes_precondition(w, x);
        for (i = 0; i < w->size; i++) x[i] *= w->m[i];
        modes_precondition(w, x);
    }
    count = modes_orthonormalise(w, first - w->free_motions, first, first + m) - first;
    if (count < m) return false;
    for (turn = 0; turn < 200; turn++) {
        modes_ritz(w, first, count);
        modes_combine(w, w->S, first, count, m, m, modes_column(w, w->T, m)); /* without what was there */
        kept = count > m ? m : 0;
        modes_combine(w, w->S, first, count, 0, m, w->T);
        for (j = 0; j < m; j++) CSIMI_MEMCPY(modes_column(w, w->S, first + j), modes_column(w, w->T, j), bytes);
        modes_combine(w, w->K, first, count, 0, m, w->T);
        for (j = 0; j < m; j++) CSIMI_MEMCPY(modes_column(w, w->K, first + j), modes_column(w, w->T, j), bytes);
        for (j = 0; j < kept; j++)
            CSIMI_MEMCPY(modes_column(w, w->S, first + 2 * m + j), modes_column(w, w->T, m + j), bytes);
        if (modes_residuals(w, first, first + m, wanted) == 0) return true;
        for (j = 0; j < m; j++) modes_precondition(w, modes_column(w, w->S, first + m + j));
        count = modes_orthonormalise(w, first - w->free_motions, first, first + 2 * m + kept) - first;
        if (count < m) return false;
    }
    return false;
}

/* K x = b by conjugate gradients with the factor, b without free motions; work[3][size]. */
static void modes_solve(modes_work *w, const double *b, double *x, double *work) {
    double *r = work, *p = modes_column(w, work, 1), *z = modes_column(w, work, 2);
    double rz = 0, last, start = 0, alpha;
    int i, turn;
    for (i = 0; i < w->size; i++) {
        r[i] = b[i];
        x[i] = p[i] = 0;
    }
    for (turn = 0; turn < 200; turn++) {
        for (i = 0; i < w->size; i++) z[i] = r[i];
        modes_precondition(w, z);
        last = rz;
        rz = modes_plain_dot(w->size, r, z);
        if (turn == 0) start = rz;
        if (!(rz > 1e-24 * start)) return;
        for (i = 0; i < w->size; i++) p[i] = z[i] + (turn > 0 ? rz / last : 0) * p[i];
        modes_product(w, p, z);
        alpha = rz / modes_plain_dot(w->size, p, z);
        for (i = 0; i < w->size; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * z[i];
        }
    }
}

/* Leading mass-weighted principal axes of the derivatives K^-1 f'' of pairs of modes, each weighed as large as the
   modes of a given energy make it, to the columns behind the modes. Barbic and James 2005, 4. */
static bool modes_bend(modes_work *w, int first, int modes, int derivatives) {
    const int n = csimi_imin(modes, 10), to = first + modes, pairs = n * (n + 1) / 2;
    int i, j, k, l, count = 0;
    for (i = 0; i < n; i++)
        for (j = i; j < n; j++) {
            double *x = modes_column(w, w->S, to + count++);
            const double weight = w->value[0] / w->value[i] * (w->value[0] / w->value[j]);
            modes_second(w, modes_column(w, w->S, first + i), modes_column(w, w->S, first + j), w->K);
            for (k = 0; k < w->free_motions; k++) { /* f'' of a free body has a resultant: the rest of it */
                const double *free = modes_column(w, w->S, k);
                const double part = modes_plain_dot(w->size, free, w->K);
                for (l = 0; l < w->size; l++) w->K[l] -= part * w->m[l] * free[l];
            }
            modes_solve(w, w->K, x, modes_column(w, w->K, 1));
            for (k = first - w->free_motions; k < to; k++)
                modes_take_out(w, modes_mass_dot(w, modes_column(w, w->S, k), x), modes_column(w, w->S, k), x);
            for (l = 0; l < w->size; l++) x[l] *= weight;
        }
    for (i = 0; i < pairs; i++)
        for (j = 0; j <= i; j++)
            w->H[pairs * i + j] = w->H[pairs * j + i] =
                -modes_mass_dot(w, modes_column(w, w->S, to + i), modes_column(w, w->S, to + j)); /* largest first */
    modes_eigen_sym(pairs, w->H, w->value, w->V);
    if (pairs < derivatives) return false;
    modes_combine(w, w->S, to, pairs, 0, derivatives, w->K);
    CSIMI_MEMCPY(modes_column(w, w->S, to), w->K, sizeof(double) * (size_t)w->size * (size_t)derivatives);
    return modes_orthonormalise(w, first - w->free_motions, to, to + derivatives) == to + derivatives;
}

/* ---- the polynomial */

/* Place of the product q_i q_j among the pairs, any order. */
static int modes_pair_place(int n, int i, int j) {
    const int a = csimi_imin(i, j), b = csimi_imax(i, j);
    return a * n - a * (a - 1) / 2 + b - a;
}

/* Strains of one tet as seven numbers whose dot product is the energy, 1/2 |sum|^2: of q_i at i, of products behind.
   E = sym D + D'D / 2. */
static void modes_strains(const modes_work *w, int t, int n, const double *D, double *e) {
    const double volume = w->volume[t], shear = csimi_sqrt64(2 * w->mu * volume);
    const double bulk = csimi_sqrt64((w->lambda + w->mu * 2 / 3) * volume);
    int i, j, k, p, at = 0;
    for (i = -1; i < n; i++)
        for (j = csimi_imax(i, 0); j < n; j++, at++) {
            double E[9], trace, *out = e + 7 * at;
            for (p = 0; p < 9; p++) {
                const int a = p / 3, b = p % 3;
                if (i < 0) { /* the linear ones come first */
                    E[p] = (D[9 * j + 3 * a + b] + D[9 * j + 3 * b + a]) / 2;
                    continue;
                }
                for (E[p] = 0, k = 0; k < 3; k++)
                    E[p] +=
                        (D[9 * i + 3 * k + a] * D[9 * j + 3 * k + b] + D[9 * i + 3 * k + b] * D[9 * j + 3 * k + a]) /
                        (i == j ? 4 : 2);
            }
            trace = (E[0] + E[4] + E[8]) / 3;
            for (p = 0; p < 3; p++) {
                out[p] = shear * (E[4 * p] - trace);
                out[3 + p] = shear * 1.41421356237309504880 * E[p == 0 ? 5 : p == 1 ? 2 : 1];
            }
            out[6] = bulk * 3 * trace;
        }
}

/* Coefficient of the product of four of (1, q): half the square of all strains, over the different ways to split the
   product into two of them. A strain of one mode k stands for the pair (0, k). */
static double modes_coefficient(const double *Gram, int n, const int *at) {
    static const int split[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}};
    int pass, side, seen[3], all = n + n * (n + 1) / 2, i;
    double sum = 0;
    for (pass = 0; pass < 3; pass++) {
        int P[2];
        for (side = 0; side < 2; side++) {
            const int a = at[split[pass][2 * side]], b = at[split[pass][2 * side + 1]];
            P[side] = b == 0 ? -1 : a == 0 ? b - 1 : n + modes_pair_place(n, a - 1, b - 1);
        }
        seen[pass] = csimi_imin(P[0], P[1]) * all + csimi_imax(P[0], P[1]);
        if (csimi_imin(P[0], P[1]) < 0) continue; /* nothing but 1: no strain at rest */
        for (i = 0; i < pass && seen[i] != seen[pass]; i++) {
        }
        if (i == pass) sum += Gram[seen[pass]] * (P[0] == P[1] ? 0.5 : 1);
    }
    return sum;
}

/* Dot products of all strains over the mesh, then the coefficients. */
static void modes_polynomial(modes_work *w, int first, int n, double *quartic) {
    const int all = n + n * (n + 1) / 2;
    double *e = w->Gram, *D = e + 7 * all, *Gram = D + 9 * n, g[4][3];
    int t, i, j, p, at[4];
    for (i = 0; i < all * all; i++) Gram[i] = 0;
    for (t = 0; t < w->t; t++) {
        for (i = 0; i < n; i++) modes_gradient(w, t, modes_column(w, w->S, first + i), g, D + 9 * i);
        modes_strains(w, t, n, D, e);
        for (i = 0; i < all; i++)
            for (j = i; j < all; j++)
                for (p = 0; p < 7; p++) Gram[all * i + j] += e[7 * i + p] * e[7 * j + p];
    }
    for (i = 0; i < n; i++) /* the modes are orthogonal */
        for (j = i; j < n; j++) Gram[all * i + j] = i == j ? w->value[i] : 0;
    for (at[0] = 0; at[0] <= n; at[0]++)
        for (at[1] = at[0]; at[1] <= n; at[1]++)
            for (at[2] = at[1]; at[2] <= n; at[2]++)
                for (at[3] = at[2]; at[3] <= n; at[3]++) *quartic++ = modes_coefficient(Gram, n, at);
}

/* ---- the result */

/* Moments of the rest shape and the modes, and first moments. */
static void modes_moments(const modes_work *w, int n, double *moments) {
    double *first = moments + 9 * (n + 1) * (n + 1), u[3 * (CSIM_MODES_MOST + 1)];
    int i, k, l, c;
    for (i = 0; i < w->n; i++) {
        for (c = 0; c < 3; c++) {
            u[c] = w->x[3 * i + c] - w->centre[c];
            for (k = 0; k < n; k++)
                u[3 * (1 + k) + c] = w->S[(size_t)(MODES_FREE + k) * (size_t)w->size + (size_t)(3 * i + c)];
        }
        for (k = 0; k <= n; k++)
            for (l = 0; l <= n; l++)
                for (c = 0; c < 9; c++)
                    moments[9 * ((n + 1) * k + l) + c] += w->node_mass[i] * u[3 * k + c / 3] * u[3 * l + c % 3];
        for (k = 0; k < 3 * n; k++) first[k] += w->node_mass[i] * u[3 + k];
    }
}

/* Surface vertices first; place: of each vertex of the mesh. */
static int modes_order_vertices(modes_work *w) {
    int i, surface = 0, inner;
    for (i = 0; i < w->n; i++) w->place[i] = -1;
    for (i = 0; i < 3 * w->triangle_count; i++) w->place[w->triangles[i]] = 0;
    for (i = 0; i < w->n; i++)
        if (w->place[i] == 0) w->place[i] = surface++;
    for (i = 0, inner = surface; i < w->n; i++)
        if (w->place[i] < 0) w->place[i] = inner++;
    return surface;
}

static void modes_write(modes_work *w, csim_modes *out) {
    const int n = w->modes;
    double *numbers = (double *)(void *)(out + 1), *rest, *shape;
    csim_modes_view view = csimi_modal_view(n, out->linear != 0, w->n, numbers);
    int *order = (int *)(uintptr_t)csim_modes_arrays(out).vertex, i, c, k;
    for (k = 0; k < n; k++) numbers[k] = w->value[k];
    modes_moments(w, n, numbers + n);
    if (!out->linear) modes_polynomial(w, MODES_FREE, n, numbers + (view.quartic - numbers));
    rest = numbers + (view.rest - numbers);
    shape = numbers + (view.shape - numbers);
    for (i = 0; i < w->n; i++)
        for (order[w->place[i]] = i, c = 0; c < 3; c++) {
            rest[3 * w->place[i] + c] = w->x[3 * i + c] - w->centre[c];
            for (k = 0; k < n; k++)
                shape[(size_t)(3 * w->place[i] + c) * (size_t)n + (size_t)k] =
                    modes_column(w, w->S, MODES_FREE + k)[3 * i + c];
        }
    for (i = 0; i < 3 * w->triangle_count; i++) order[w->n + i] = w->place[w->triangles[i]];
    out->hash = csimi_modes_hash(out);
}

/* Factor of K + shift M; a shift too small for rounding is raised. */
static csim_status modes_factor(modes_work *w, csimi_heap *heap, unsigned char **block, size_t *bytes, csim_error *e) {
    csimi_arena arena = csimi_arena_counting();
    double low[3], high[3], diagonal = 0, shift;
    int i, c, turn;
    for (c = 0; c < 3; c++) low[c] = high[c] = w->x[c];
    for (i = 0; i < 3 * w->n; i++) {
        if (w->x[i] < low[i % 3]) low[i % 3] = w->x[i];
        if (w->x[i] > high[i % 3]) high[i % 3] = w->x[i];
    }
    for (c = 0; c < 3; c++) diagonal += (high[c] - low[c]) * (high[c] - low[c]);
    shift = 1e-4 * (double)w->def->young / ((double)w->def->density * diagonal);
    csimi_factor_plan(&w->factor, &w->A, NULL);
    csimi_factor_layout_blocks(&w->factor, &arena, w->factor.first[w->factor.n]);
    *bytes = arena.used;
    *block = arena.overflow ? NULL : (unsigned char *)csimi_heap_alloc(heap, arena.used);
    if (!*block)
        return csimi_fail(e, CSIM_OUT_OF_MEMORY, "modes_create", "bytes", (double)arena.used,
                          "what the allocator and its limits give");
    arena = csimi_arena_in(*block, *bytes);
    csimi_factor_layout_blocks(&w->factor, &arena, w->factor.first[w->factor.n]);
    for (turn = 0; turn < 5; turn++, shift *= 100) {
        modes_matrix(w, shift);
        if (csimi_factor_compute(&w->factor, &w->A)) return CSIM_OK;
    }
    return csimi_deny(e, CSIM_NON_FINITE_RESULT, "modes_create", "the factor", "a better shaped mesh");
}

/* Basis in columns [6, 6 + modes) of S, diagonal at rest, squares of frequencies in value. */
static csim_status modes_basis(modes_work *w, csim_error *e) {
    static const char fn[] = "modes_create";
    const int first = MODES_FREE, asked = w->def->modes;
    bool converged;
    if (!modes_free_motions(w))
        return csimi_deny(e, CSIM_BAD_MESH, fn, "vertices", "a body with extent in all directions");
    converged = modes_lowest(w, asked);
    if (!(w->value[0] > 1e-12 * w->stiffest))
        return w->def->fixed_count > 0
                   ? modes_range(e, "fixed_count", (double)w->def->fixed_count, "0, or three vertices off one line")
                   : csimi_deny(e, CSIM_BAD_MESH, fn, "tets", "one piece, joined by faces");
    if (!converged)
        return csimi_fail(e, CSIM_NON_FINITE_RESULT, fn, "modes", (double)asked, "a number that converges");
    if (w->modes > asked && !modes_bend(w, first, asked, w->modes - asked))
        return modes_range(e, "derivatives", (double)w->def->derivatives, "fewer: these modes have not as many");
    modes_ritz(w, first, w->modes);
    modes_combine(w, w->S, first, w->modes, 0, w->modes, w->T);
    CSIMI_MEMCPY(modes_column(w, w->S, first), w->T, sizeof(double) * (size_t)w->size * (size_t)w->modes);
    return CSIM_OK;
}

/* Sizes of a definition whose fields are in range. */
static csim_status modes_sizes(modes_work *w, const modes_def *d, csim_error *e) {
    const double young = (double)d->young, poisson = (double)d->poisson;
    int most = 3 * (d->vertex_count - d->fixed_count) - (d->fixed_count > 0 ? 0 : 6), wanted;
    CSIMI_MEMSET(w, 0, sizeof *w);
    w->def = d;
    w->n = d->vertex_count;
    w->t = d->tet_count;
    w->size = 3 * d->vertex_count;
    w->mu = young / (2 * (1 + poisson));
    w->lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
    w->modes = d->modes + (d->linear ? 0 : d->derivatives);
    if (w->modes > most) return modes_range(e, "modes", (double)d->modes, "fewer than the mesh can move in");
    wanted = d->modes + d->modes / 2 + 4;
    w->block = csimi_imin(most, csimi_imax(wanted, (w->modes + 1) / 2));
    w->columns = MODES_FREE + csimi_imax(3 * w->block, w->modes + modes_derivatives(d));
    return CSIM_OK;
}

csim_status modes_create(const modes_def *def, const csim_allocator *allocator, csim_modes **modes, csim_error *error) {
    modes_work w;
    csimi_heap heap;
    csimi_arena arena = csimi_arena_counting();
    unsigned char *block = NULL, *factor = NULL;
    size_t bytes, factor_bytes = 0;
    csim_modes head, *out;
    csim_status s;
    if (!def || !modes)
        return csimi_missing(error, "modes_create", def ? "modes" : "def");
    if ((s = modes_check_modes_def(def, error)) != 0) return s;
    if ((s = modes_sizes(&w, def, error)) != 0) return s;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    if (allocator) heap.hooks = *allocator;
    modes_layout(&w, &arena);
    bytes = arena.used;
    block = arena.overflow ? NULL : (unsigned char *)csimi_heap_alloc(&heap, bytes);
    if (!block)
        return csimi_fail(error, CSIM_OUT_OF_MEMORY, "modes_create", "bytes", (double)bytes,
                          "what the allocator and its limits give");
    arena = csimi_arena_in(block, bytes);
    modes_layout(&w, &arena);
    s = modes_mesh(&w, error);
    if (!s) s = modes_factor(&w, &heap, &factor, &factor_bytes, error);
    if (!s) s = modes_basis(&w, error);
    if (!s) {
        CSIMI_MEMSET(&head, 0, sizeof head);
        head.magic = CSIMI_MODES_MAGIC;
        head.version = CSIMI_MODES_VERSION;
        head.vertex_count = w.n;
        head.surface_count = modes_order_vertices(&w);
        head.triangle_count = w.triangle_count;
        head.modes = w.modes;
        head.linear = def->linear;
        head.anchored = def->fixed_count > 0;
        head.mass = w.mass;
        CSIMI_MEMCPY(head.centre, w.centre, sizeof head.centre);
        out = (csim_modes *)csimi_heap_alloc(&heap, csim_modes_bytes(&head));
        if (!out) {
            s = csimi_fail(error, CSIM_OUT_OF_MEMORY, "modes_create", "bytes", (double)csim_modes_bytes(&head),
                           "what the allocator and its limits give");
        } else {
            CSIMI_MEMSET(out, 0, csim_modes_bytes(&head));
            *out = head;
            modes_write(&w, out);
            *modes = out;
        }
    }
    csimi_heap_free(&heap, factor, factor_bytes);
    csimi_heap_free(&heap, block, bytes);
    return s;
}

void modes_destroy(csim_modes *modes, const csim_allocator *allocator) {
    csimi_heap heap;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    if (!modes) return;
    if (allocator) heap.hooks = *allocator;
    heap.held = csim_modes_bytes(modes);
    csimi_heap_free(&heap, modes, csim_modes_bytes(modes));
}
