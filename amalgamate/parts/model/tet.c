/* model/tet: linear tetrahedra: forces, tangents, energies, and the surface of a mesh of them. */
#include "private.h"

/* ---- Co-rotational linear elasticity: Psi(F) = mu |F - R|^2 + lambda/2 tr(R'F - I)^2, R the rotation of F. */

/* P = 2 mu (F - R) + lambda tr(R'F - I) R; R is stationary, so it does not appear in the derivative. */
static void csimi_tet_stress(const csim_real *F, const csim_real *R, csim_real mu, csim_real lambda, csim_real *P) {
    csim_real trace = -3;
    int i;
    for (i = 0; i < 9; i++) trace += R[i] * F[i];
    for (i = 0; i < 9; i++) P[i] = 2 * mu * (F[i] - R[i]) + lambda * trace * R[i];
}

CSIMI_FN csim_real csimi_corotational(const csim_real *F, csim_real mu, csim_real lambda, csim_real *P) {
    csim_real R[9], trace = -3, square = 0;
    int i;
    csimi_polar3(F, R);
    for (i = 0; i < 9; i++) {
        trace += R[i] * F[i];
        square += (F[i] - R[i]) * (F[i] - R[i]);
    }
    if (P) csimi_tet_stress(F, R, mu, lambda, P);
    return mu * square + lambda * trace * trace / 2;
}

/* F = Ds Dm^-1: the sum of (x_a - x_0) times the gradient of node a; x: positions, or velocities for dF/dt. */
static void csimi_tet_gradient(const csimi_state *s, const csim_real *x, int t, csim_real *F) {
    const int *node = s->tet + 4 * (size_t)t;
    const csim_real *G = s->tet_shape + 9 * (size_t)t, *x0 = x + 3 * (size_t)node[0];
    const csim_real *x1 = x + 3 * (size_t)node[1], *x2 = x + 3 * (size_t)node[2], *x3 = x + 3 * (size_t)node[3];
    int i, j;
    for (i = 0; i < 3; i++) {
        csim_real a = x1[i] - x0[i], b = x2[i] - x0[i], c = x3[i] - x0[i];
        for (j = 0; j < 3; j++) F[3 * i + j] = a * G[j] + b * G[3 + j] + c * G[6 + j];
    }
}

/* g[a] = M times the gradient of node a; node 0 has minus the sum of the others. */
static void csimi_tet_map(const csim_real *M, const csim_real *G, csim_real g[4][3]) {
    int a, c;
    for (a = 1; a < 4; a++) csimi_mul3(M, G + 3 * (a - 1), g[a]);
    for (c = 0; c < 3; c++) g[0][c] = -(g[1][c] + g[2][c] + g[3][c]);
}

/* Block (a, b) = lambda g_a g_b' + mu g_b g_a' + mu (g_a . g_b) I, and its transpose to (b, a). Row by row, written
   out: the loops over rows cost a third of the assembly where the compiler keeps them. */
static void csimi_tet_block(const csim_real *a, const csim_real *b, csim_real mu, csim_real lambda,
                            csim_real *CSIMI_RESTRICT ab, csim_real *CSIMI_RESTRICT ba) {
    csim_real m0 = mu * a[0], m1 = mu * a[1], m2 = mu * a[2], dot = m0 * b[0] + m1 * b[1] + m2 * b[2];
    csim_real l0 = lambda * a[0], l1 = lambda * a[1], l2 = lambda * a[2];
    csim_real k0 = l0 * b[0] + m0 * b[0] + dot, k1 = l0 * b[1] + m1 * b[0], k2 = l0 * b[2] + m2 * b[0];
    csim_real k3 = l1 * b[0] + m0 * b[1], k4 = l1 * b[1] + m1 * b[1] + dot, k5 = l1 * b[2] + m2 * b[1];
    csim_real k6 = l2 * b[0] + m0 * b[2], k7 = l2 * b[1] + m1 * b[2], k8 = l2 * b[2] + m2 * b[2] + dot;
    ab[0] += k0, ab[1] += k1, ab[2] += k2, ab[3] += k3, ab[4] += k4, ab[5] += k5, ab[6] += k6, ab[7] += k7, ab[8] += k8;
    ba[0] += k0, ba[1] += k3, ba[2] += k6, ba[3] += k1, ba[4] += k4, ba[5] += k7, ba[6] += k2, ba[7] += k5, ba[8] += k8;
}

/* The block (a, a), symmetric to the bit. */
static void csimi_tet_diagonal(const csim_real *g, csim_real mu, csim_real lambda, csim_real *aa) {
    csim_real square = mu * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]), sum = lambda + mu;
    int i;
    for (i = 0; i < 3; i++) {
        aa[3 * i] += sum * (g[i] * g[0]);
        aa[3 * i + 1] += sum * (g[i] * g[1]);
        aa[3 * i + 2] += sum * (g[i] * g[2]);
        aa[4 * i] += square;
    }
}

/* ---- Any material, activated or not: principal stretches, then the fibre. */

static bool csimi_tet_is_plain(const csimi_state *s, int t) {
    const csim_real *active = s->tet_active + 5 * (size_t)t;
    return s->tet_material[t] == CSIM_COROTATIONAL && !(active[0] < 0 || active[0] > 0) &&
           !(active[1] < 0 || active[1] > 0);
}

/* The energy T (|F a| - 1) of a fibre: energy per rest volume; direction d = F a / |F a|; T / |F a| for its tangent. */
static csim_real csimi_tet_fibre(const csim_real *F, const csim_real *active, csim_real *d, csim_real *slope) {
    csim_real Fa[3], length;
    int c;
    csimi_mul3(F, active + 2, Fa);
    length = csim_length(csimi_load3(Fa));
    for (c = 0; c < 3; c++) d[c] = length > 0 ? Fa[c] / length : 0;
    *slope = length > CSIM_R(1e-3) ? active[1] / length : 0;
    return active[1] * (length - 1);
}

/* What one element adds: forces per volume f[a] = P g_a, blocks from the stretches and the fibre. */
typedef struct csimi_tet_view {
    csimi_stretches d;
    csim_real U[9], y[4][3], f[4][3];    /* y: shape gradients in principal axes */
    csim_real fibre[3], slope, along[4]; /* along: shape gradients along the fibre */
} csimi_tet_view;

static csim_real csimi_tet_look(const csimi_state *s, int t, csimi_tet_view *view) {
    const csim_real *lame = s->tet_lame + 3 * (size_t)t, *G = s->tet_shape + 9 * (size_t)t;
    const csim_real *active = s->tet_active + 5 * (size_t)t;
    csim_real F[9], V[9], stretch[3], P[9], M[9], energy;
    int a, c, k;
    csimi_tet_gradient(s, s->x, t, F);
    csimi_svd3(F, view->U, stretch, V);
    energy = csimi_material(s->tet_material[t], stretch, lame[0], lame[1], active[0], &view->d);
    energy += csimi_tet_fibre(F, active, view->fibre, &view->slope);
    for (k = 0; k < 3; k++)
        for (c = 0; c < 3; c++) M[3 * k + c] = view->d.g[k] * V[3 * c + k];
    csimi_matmul(view->U, M, P);
    for (k = 0; k < 3; k++)
        for (c = 0; c < 3; c++) P[3 * k + c] += active[1] * view->fibre[k] * active[2 + c];
    csimi_tet_map(P, G, view->f);
    for (k = 0; k < 3; k++)
        for (c = 0; c < 3; c++) M[3 * k + c] = V[3 * c + k];
    csimi_tet_map(M, G, view->y);
    view->along[0] = 0;
    for (a = 1; a < 4; a++) {
        view->along[a] = csim_dot(csimi_load3(G + 3 * (a - 1)), csimi_load3(active + 2));
        view->along[0] -= view->along[a];
    }
    return energy;
}

typedef struct csimi_tet_job {
    const csimi_state *s;
    csimi_system *system;
    const csim_real *guess;     /* v*, or null */
    csim_real h, sigma, weight; /* s; 1; sigma h^2, s^2 */
} csimi_tet_job;

/* The force that belongs to the guess, K e - sigma h Je'K Je v*: P <- P - sigma h R (2 mu sym + lambda tr) R' dF/dt. */
static void csimi_tet_predict(const csimi_tet_job *job, int t, const csim_real *R, csim_real *P) {
    const csim_real *lame = job->s->tet_lame + 3 * (size_t)t;
    csim_real dF[9], D[9], S[9], scale = job->sigma * job->h, trace;
    int i, j;
    csimi_tet_gradient(job->s, job->guess, t, dF);
    csimi_matTmul(R, dF, D);
    trace = D[0] + D[4] + D[8];
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) S[3 * i + j] = lame[0] * (D[3 * i + j] + D[3 * j + i]) + (i == j ? lame[1] * trace : 0);
    csimi_matmul(R, S, D);
    for (i = 0; i < 9; i++) P[i] -= scale * D[i];
}

/* A += (sigma h^2 + h beta) Je'K Je with R frozen, b -= h Je'K e, on the rows marked in `mine`.
   Positive semidefinite whatever the state of the element, because both terms are squares of strains. */
/* Indices of the blocks of one element in A. */
static void csimi_tet_slots(const csimi_state *s, const csim_block_matrix *A, int t, int *slot) {
    const int *node = s->tet + 4 * (size_t)t;
    const unsigned char *place = s->tet_slot + 16 * (size_t)t;
    int k;
    for (k = 0; k < 16; k++)
        slot[k] = place[k] < 255 ? A->row[node[k / 4]] + place[k] : csimi_pattern_find(A, node[k / 4], node[k % 4]);
}

static void csimi_tet_add(const csimi_tet_job *job, int t, const bool *mine) {
    const csimi_state *s = job->s;
    const int *node = s->tet + 4 * (size_t)t;
    const csim_real *lame = s->tet_lame + 3 * (size_t)t, *G = s->tet_shape + 9 * (size_t)t;
    csim_real volume = s->tet_volume[t], weight = volume * (job->weight + job->h * lame[2]);
    csim_real mu = weight * lame[0], lambda = weight * lame[1], F[9], R[9], P[9], g[4][3], f[4][3];
    csim_real *val = job->system->A.val, sink[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    int a, b, c, slot[16];
    csimi_tet_slots(s, &job->system->A, t, slot);
    csimi_tet_gradient(s, s->x, t, F);
    csimi_polar3(F, R);
    csimi_tet_stress(F, R, lame[0], lame[1], P);
    if (job->guess) csimi_tet_predict(job, t, R, P);
    csimi_tet_map(R, G, g);
    csimi_tet_map(P, G, f);
    for (a = 0; a < 4; a++) {
        csim_real *rhs = job->system->b + 3 * (size_t)node[a];
        for (b = a + 1; b < 4; b++)
            csimi_tet_block(g[a], g[b], mu, lambda, mine[a] ? val + 9 * (size_t)slot[4 * a + b] : sink,
                            mine[b] ? val + 9 * (size_t)slot[4 * b + a] : sink);
        if (!mine[a]) continue;
        csimi_tet_diagonal(g[a], mu, lambda, val + 9 * (size_t)slot[5 * a]);
        for (c = 0; c < 3; c++) rhs[c] -= job->h * volume * f[a][c];
    }
}

/* The same for any material: projected tangent instead of squares of strains. */
static void csimi_tet_add_any(const csimi_tet_job *job, int t, const bool *mine) {
    const csimi_state *s = job->s;
    const int *node = s->tet + 4 * (size_t)t;
    csim_real volume = s->tet_volume[t], weight = volume * (job->weight + job->h * s->tet_lame[3 * (size_t)t + 2]);
    csim_real *val = job->system->A.val, K[9], pull, ahead = volume * job->weight;
    csimi_tet_view view;
    int a, b, i, j, slot[16];
    csimi_tet_slots(s, &job->system->A, t, slot);
    csimi_tet_look(s, t, &view);
    csimi_project_stretches(&view.d);
    pull = csimi_max(0, view.slope); /* a fibre that pushes has no stable tangent */
    for (a = 0; a < 4; a++) {
        csim_real *rhs = job->system->b + 3 * (size_t)node[a];
        for (b = a; b < 4; b++) {
            csim_real *ab = val + 9 * (size_t)slot[4 * a + b], *ba = val + 9 * (size_t)slot[4 * b + a];
            if (!mine[a] && !mine[b]) continue;
            csimi_stretch_block(&view.d, view.U, view.y[a], view.y[b], K);
            for (i = 0; i < 3; i++)
                for (j = 0; j < 3; j++)
                    K[3 * i + j] +=
                        pull * view.along[a] * view.along[b] * ((i == j ? 1 : 0) - view.fibre[i] * view.fibre[j]);
            for (i = 0; i < 3; i++)
                for (j = 0; j < 3; j++) {
                    if (a == b) /* symmetric to the bit */
                        ab[3 * i + j] += weight * ((K[3 * i + j] + K[3 * j + i]) / 2);
                    else if (mine[a])
                        ab[3 * i + j] += weight * K[3 * i + j];
                    if (a != b && mine[b]) ba[3 * j + i] += weight * K[3 * i + j];
                }
            if (!job->guess) continue; /* b += sigma h^2 K v* */
            for (i = 0; i < 9; i++) K[i] *= ahead;
            if (mine[a]) csimi_addmul3(K, job->guess + 3 * (size_t)node[b], rhs);
            if (mine[b] && a != b)
                csimi_addmulT3(K, job->guess + 3 * (size_t)node[a], job->system->b + 3 * (size_t)node[b]);
        }
        for (i = 0; mine[a] && i < 3; i++) rhs[i] -= job->h * volume * view.f[a][i];
    }
}

/* Assembles the rows [begin, end): all elements in order, each adding to the rows of this range only. A row thus gets
   the same sum whatever the ranges are, and no two ranges write the same row; elements across ranges are done twice,
   so nodes numbered by neighbourhood pay. */
static void csimi_tet_rows(void *context, int begin, int end) {
    const csimi_tet_job *job = (const csimi_tet_job *)context;
    int t, a;
    for (t = 0; t < job->s->tet_count; t++) {
        const int *node = job->s->tet + 4 * (size_t)t;
        bool mine[4];
        for (a = 0; a < 4; a++) mine[a] = node[a] >= begin && node[a] < end;
        if (!(mine[0] || mine[1] || mine[2] || mine[3])) continue;
        if (csimi_tet_is_plain(job->s, t))
            csimi_tet_add(job, t, mine);
        else
            csimi_tet_add_any(job, t, mine);
    }
}

CSIMI_FN void csimi_tet_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csimi_tet_job job;
    csimi_state at = *s;
    int n = s->node_count;
    if (step->guess) at.x = (csim_real *)(uintptr_t)step->guess_x; /* read only */
    job.s = &at;
    job.system = system;
    job.guess = step->guess;
    job.h = step->h;
    job.sigma = step->sigma;
    job.weight = step->sigma * step->h * step->h;
    if (step->tasks)
        csimi_parallel(step->tasks, n, csimi_imax(1024, n / 8 + 1), csimi_tet_rows, &job);
    else
        csimi_tet_rows(&job, 0, n);
}

CSIMI_FN int csimi_tet_couple(const csimi_state *s, int *pairs) {
    int t, a, b;
    for (t = 0; pairs && t < s->tet_count; t++)
        for (a = 0; a < 4; a++)
            for (b = a + 1; b < 4; b++) {
                *pairs++ = s->tet[4 * t + a];
                *pairs++ = s->tet[4 * t + b];
            }
    return 6 * s->tet_count;
}

CSIMI_FN void csimi_tet_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int t, a, b;
    for (t = 0; t < s->tet_count; t++)
        for (a = 0; a < 4; a++)
            for (b = 0; b < 4; b++) {
                const int i = s->tet[4 * t + a];
                const int place = csimi_pattern_find(pattern, i, s->tet[4 * t + b]) - pattern->row[i];
                s->tet_slot[16 * t + 4 * a + b] = (unsigned char)csimi_imin(place, 255);
            }
}

CSIMI_FN void csimi_tet_energy(const csimi_state *s, csimi_energy *energy) {
    int t;
    for (t = 0; t < s->tet_count; t++) {
        const csim_real *lame = s->tet_lame + 3 * (size_t)t;
        csimi_tet_view view;
        csim_real F[9], density;
        if (csimi_tet_is_plain(s, t)) {
            csimi_tet_gradient(s, s->x, t, F);
            density = csimi_corotational(F, lame[0], lame[1], NULL);
        } else {
            density = csimi_tet_look(s, t, &view);
        }
        energy->elastic += (double)s->tet_volume[t] * (double)density;
    }
}

/* ---- Preparing a mesh */

/* Edges 01, 02, 03 as columns of D; six times the volume in double; the square of the longest edge. */
static double csimi_tet_edges(const int *node, const csim_real *x, csim_real *D, double *longest) {
    double d[3][3], square;
    int a, b, c;
    for (a = 0; a < 3; a++)
        for (c = 0; c < 3; c++) {
            d[a][c] = (double)x[3 * node[a + 1] + c] - (double)x[3 * node[0] + c];
            D[3 * c + a] = (csim_real)d[a][c];
        }
    *longest = 0;
    for (a = 0; a < 4; a++)
        for (b = a + 1; b < 4; b++) {
            for (square = 0, c = 0; c < 3; c++) {
                double e = (double)x[3 * node[b] + c] - (double)x[3 * node[a] + c];
                square += e * e;
            }
            if (square > *longest) *longest = square;
        }
    return d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) + d[0][1] * (d[1][2] * d[2][0] - d[1][0] * d[2][2]) +
           d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
}

CSIMI_FN int csimi_tet_prepare(int count, const int *tet, const csim_real *x, const csim_real *density,
                               csim_real *shape, csim_real *volume, csim_real *node_mass) {
    int t, a;
    for (t = 0; t < count; t++) {
        csim_real D[9];
        double longest, size = csimi_tet_edges(tet + 4 * (size_t)t, x, D, &longest) / 6;
        if (!(size > 0 && size * size > 1e-24 * longest * longest * longest)) return t;
        if (!csimi_inverse3(D, shape + 9 * (size_t)t)) return t;
        volume[t] = (csim_real)size;
        for (a = 0; a < 4; a++) node_mass[tet[4 * t + a]] += density[t] * volume[t] / 4;
    }
    return -1;
}

/* Faces of a tet, outward and counter-clockwise. */
static const int csimi_tet_faces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

static void csimi_tet_face(const int *tet, int face, int *node, int *sorted) {
    int i, hold;
    for (i = 0; i < 3; i++) sorted[i] = node[i] = tet[4 * (face / 4) + csimi_tet_faces[face % 4][i]];
    for (i = 0; i < 3; i++) { /* three compare-exchanges sort three numbers */
        int p = i == 1 ? 1 : 0;
        if (sorted[p] <= sorted[p + 1]) continue;
        hold = sorted[p];
        sorted[p] = sorted[p + 1];
        sorted[p + 1] = hold;
    }
}

CSIMI_FN size_t csimi_tet_surface_scratch(int node_count, int tet_count) {
    return (size_t)node_count + 4 * (size_t)tet_count;
}

/* Lists of faces by their lowest node; a face that meets its twin takes it out of the list. What is left is the
   boundary. */
CSIMI_FN int csimi_tet_surface(int node_count, int tet_count, const int *tet, int *triangles, int capacity,
                               int *scratch) {
    enum { END = -1, INSIDE = -2 };
    int *head = scratch, *next = head + node_count, face, i, count = 0, node[3], sorted[3], other[3], twin[3];
    for (i = 0; i < node_count; i++) head[i] = END;
    for (face = 0; face < 4 * tet_count; face++) {
        int *link;
        csimi_tet_face(tet, face, node, sorted);
        for (link = &head[sorted[0]]; *link != END; link = &next[*link]) {
            csimi_tet_face(tet, *link, other, twin);
            if (twin[1] == sorted[1] && twin[2] == sorted[2]) break;
        }
        if (*link == END) {
            *link = face;
            next[face] = END;
        } else {
            i = *link;
            *link = next[i];
            next[i] = next[face] = INSIDE;
        }
    }
    for (face = 0; face < 4 * tet_count; face++) {
        if (next[face] == INSIDE) continue;
        csimi_tet_face(tet, face, node, sorted);
        for (i = 0; i < 3 && count < capacity; i++) triangles[3 * count + i] = node[i];
        count++;
    }
    return count;
}
