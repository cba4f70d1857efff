/* model/tet: linear tetrahedra: forces, tangents, energies, and the surface of a mesh of them. */
#include "private.h"

/* ---- Co-rotational linear elasticity: Psi(F) = mu |F - R|^2 + lambda/2 tr(R'F - I)^2, R the rotation of F. */

/* P = 2 mu (F - R) + lambda tr(R'F - I) R; R is stationary, so it does not appear in the derivative. */
static void csimi_tet_stress(const csim_real *F, const csim_real *R, csim_real mu, csim_real lambda, csim_real *P) {
    csim_real trace = R[0] * F[0] + R[1] * F[1] + R[2] * F[2] + R[3] * F[3] + R[4] * F[4] + R[5] * F[5] + R[6] * F[6] +
                      R[7] * F[7] + R[8] * F[8];
    int i;
    for (i = 0; i < 9; i++) P[i] = 2 * mu * (F[i] - R[i]) + lambda * (trace - 3) * R[i];
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
    int i;
    for (i = 0; i < 3; i++, F += 3) {
        csim_real a = x1[i] - x0[i], b = x2[i] - x0[i], c = x3[i] - x0[i];
        F[0] = a * G[0] + b * G[3] + c * G[6];
        F[1] = a * G[1] + b * G[4] + c * G[7];
        F[2] = a * G[2] + b * G[5] + c * G[8];
    }
}

/* g[a] = M times the gradient of node a; node 0 has minus the sum of the others. */
static void csimi_tet_map(const csim_real *M, const csim_real *G, csim_real g[4][3]) {
    int a, c;
    for (a = 1; a < 4; a++) csimi_mul3(M, G + 3 * (a - 1), g[a]);
    for (c = 0; c < 3; c++) g[0][c] = -(g[1][c] + g[2][c] + g[3][c]);
}

/* Row a of the blocks of one element, and column a but for the diagonal: block (a, b) = lambda g_a g_b' + mu g_b g_a' +
   mu (g_a . g_b) I, its transpose (b, a), and (a, a) symmetric to the bit. Written out: the loops over rows cost a
   third of the assembly where the compiler keeps them. */
static void csimi_tet_cross(const csim_real g[4][3], int a, csim_real mu, csim_real lambda, csim_real *const *block) {
    csim_real m0 = mu * g[a][0], m1 = mu * g[a][1], m2 = mu * g[a][2], l0 = lambda * g[a][0], l1 = lambda * g[a][1];
    csim_real l2 = lambda * g[a][2], x = g[a][0], y = g[a][1], z = g[a][2], dot = m0 * x + m1 * y + m2 * z;
    csim_real *CSIMI_RESTRICT aa = block[5 * a], xy = (l0 + m0) * y, xz = (l0 + m0) * z, yz = (l1 + m1) * z;
    int b;
    aa[0] += (l0 + m0) * x + dot, aa[1] += xy, aa[2] += xz;
    aa[3] += xy, aa[4] += (l1 + m1) * y + dot, aa[5] += yz;
    aa[6] += xz, aa[7] += yz, aa[8] += (l2 + m2) * z + dot;
    for (b = a + 1; b < 4; b++) {
        csim_real *CSIMI_RESTRICT ab = block[4 * a + b], *CSIMI_RESTRICT ba = block[4 * b + a], k[9];
        x = g[b][0], y = g[b][1], z = g[b][2], dot = m0 * x + m1 * y + m2 * z;
        k[0] = l0 * x + m0 * x + dot, k[1] = l0 * y + m1 * x, k[2] = l0 * z + m2 * x;
        k[3] = l1 * x + m0 * y, k[4] = l1 * y + m1 * y + dot, k[5] = l1 * z + m2 * y;
        k[6] = l2 * x + m0 * z, k[7] = l2 * y + m1 * z, k[8] = l2 * z + m2 * z + dot;
        ab[0] += k[0], ab[1] += k[1], ab[2] += k[2], ab[3] += k[3], ab[4] += k[4];
        ab[5] += k[5], ab[6] += k[6], ab[7] += k[7], ab[8] += k[8];
        ba[0] += k[0], ba[1] += k[3], ba[2] += k[6], ba[3] += k[1], ba[4] += k[4];
        ba[5] += k[7], ba[6] += k[2], ba[7] += k[5], ba[8] += k[8];
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
/* The blocks of one element in A; those of rows that are not `mine` go into the sink [27], which keeps those before, on
   and behind the diagonal apart. */
static void csimi_tet_places(const csimi_state *s, const csim_block_matrix *A, int t, const bool *mine, csim_real *sink,
                             csim_real **block) {
    const int *node = s->tet + 4 * (size_t)t;
    const unsigned char *place = s->tet_slot + 16 * (size_t)t;
    int a, b;
    for (a = 0; a < 4; a++, place += 4, block += 4) {
        csim_real *row = A->val + 9 * (size_t)A->row[node[a]];
        if (!mine[a]) {
            for (b = 0; b < 4; b++) block[b] = sink + 9 * (b > a ? 2 : b == a);
            continue;
        }
        for (b = 0; b < 4; b++)
            block[b] =
                place[b] < 255 ? row + 9 * place[b] : A->val + 9 * (size_t)csimi_pattern_find(A, node[a], node[b]);
    }
}

static void csimi_tet_add(const csimi_tet_job *job, int t, const bool *mine) {
    const csimi_state *s = job->s;
    const int *node = s->tet + 4 * (size_t)t;
    const csim_real *lame = s->tet_lame + 3 * (size_t)t, *G = s->tet_shape + 9 * (size_t)t;
    csim_real volume = s->tet_volume[t], weight = volume * (job->weight + job->h * lame[2]), push = job->h * volume;
    csim_real F[9], R[9], P[9], g[4][3], f[4][3], sink[27] = {0}, *block[16];
    int a;
    csimi_tet_places(s, &job->system->A, t, mine, sink, block);
    csimi_tet_gradient(s, s->x, t, F);
    csimi_polar3(F, R);
    csimi_tet_stress(F, R, lame[0], lame[1], P);
    if (job->guess) csimi_tet_predict(job, t, R, P);
    csimi_tet_map(R, G, g);
    csimi_tet_map(P, G, f);
    for (a = 0; a < 4; a++) {
        csim_real *rhs = mine[a] ? job->system->b + 3 * (size_t)node[a] : sink;
        csimi_tet_cross((const csim_real(*)[3])g, a, weight * lame[0], weight * lame[1], block);
        rhs[0] -= push * f[a][0], rhs[1] -= push * f[a][1], rhs[2] -= push * f[a][2];
    }
}

/* The same for any material: projected tangent instead of squares of strains. */
static void csimi_tet_add_any(const csimi_tet_job *job, int t, const bool *mine) {
    const csimi_state *s = job->s;
    const int *node = s->tet + 4 * (size_t)t;
    csim_real volume = s->tet_volume[t], weight = volume * (job->weight + job->h * s->tet_lame[3 * (size_t)t + 2]);
    csim_real K[9], pull, ahead = volume * job->weight, sink[27] = {0}, *block[16];
    csimi_tet_view view;
    int a, b, i, j;
    csimi_tet_places(s, &job->system->A, t, mine, sink, block);
    csimi_tet_look(s, t, &view);
    csimi_project_stretches(&view.d);
    pull = csimi_max(0, view.slope); /* a fibre that pushes has no stable tangent */
    for (a = 0; a < 4; a++) {
        csim_real *rhs = job->system->b + 3 * (size_t)node[a];
        for (b = a; b < 4; b++) {
            csim_real *ab = block[4 * a + b], *ba = block[4 * b + a];
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
                    else
                        ab[3 * i + j] += weight * K[3 * i + j], ba[3 * j + i] += weight * K[3 * i + j];
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
