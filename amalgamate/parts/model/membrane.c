/* model/membrane: triangles that stretch as membranes and bend about their edges.

   Membrane: F = Ds Dm^-1 (3 x 2) = U diag(s) V', one of the laws of material.c in plane stress.

   Bending: in each triangle the curvature tensor of Morley's element, with the slope at the middle of an edge taken
   half way between the two triangles that share it: kappa = sum over the edges of |e| theta_e / (2 A) m_e m_e', theta_e
   the dihedral angle and m_e the normal of the edge in the triangle (Morley 1968; Gingold et al. 2004). The energy of
   a plate, A D / 2 ((1 - nu) kappa : kappa + nu (tr kappa)^2), is then a quadratic form Q in three angles. It is exact
   for every constant curvature on meshes whose neighbours form parallelograms. At a free edge the slope is not known:
   it takes the value of least energy, so Q is condensed once. The tangent J'Q J (J = d theta / dx) drops the second
   derivatives of the angles and is positive semidefinite in every state. */
#include "private.h"

/* ---- membranes */

static void csimi_membrane_map(const csim_real *M, const csim_real *G, csim_real g[3][3]) {
    int c;
    for (c = 0; c < 3; c++) {
        g[1][c] = M[3 * c] * G[0] + M[3 * c + 1] * G[1];
        g[2][c] = M[3 * c] * G[2] + M[3 * c + 1] * G[3];
        g[0][c] = -(g[1][c] + g[2][c]);
    }
}

/* Columns f0, f1 of F: turned by the angle that makes them orthogonal (one-sided Jacobi), they are the principal
   directions. Fills the stretches, the frame U = (u0, u1, normal) and the first two columns of V. */
static void csimi_membrane_axes(csim_vec3 f0, csim_vec3 f1, csim_real *stretch, csim_real *U, csim_real *V) {
    csim_real a = csim_dot(f0, f0), b = csim_dot(f1, f1), g = csim_dot(f0, f1), c = 1, s = 0;
    csim_vec3 p, q, n;
    if (csimi_abs(g) > CSIMI_TINY) {
        csim_real tau = (b - a) / (2 * g), t = 1 / (csimi_abs(tau) + CSIMI_SQRT(1 + tau * tau));
        if (tau < 0) t = -t;
        c = 1 / CSIMI_SQRT(1 + t * t);
        s = t * c;
    }
    p = csim_sub(csim_scale(c, f0), csim_scale(s, f1));
    q = csim_add(csim_scale(s, f0), csim_scale(c, f1));
    stretch[0] = csim_length(p);
    stretch[1] = csim_length(q);
    p = stretch[0] > CSIMI_TINY ? csim_scale(1 / stretch[0], p) : csim_v3(1, 0, 0);
    q = csim_madd(q, -csim_dot(p, q), p);
    if (!(csim_length(q) > CSIMI_EPS * (stretch[0] + stretch[1]))) { /* a line: any normal will do */
        csim_real line[3], R[9];
        csimi_store3(line, p);
        csimi_frame(line, NULL, R);
        q = csimi_load3(R + 3);
    }
    q = csim_normalize(q);
    n = csim_cross(p, q);
    U[0] = p.x, U[1] = q.x, U[2] = n.x;
    U[3] = p.y, U[4] = q.y, U[5] = n.y;
    U[6] = p.z, U[7] = q.z, U[8] = n.z;
    CSIMI_MEMSET(V, 0, 9 * sizeof(csim_real));
    V[0] = c, V[1] = s, V[3] = -s, V[4] = c;
    V[8] = 1;
}

typedef struct csimi_membrane_view {
    csimi_stretches d;
    csim_real U[9], y[3][3], f[3][3]; /* y: shape gradients in principal axes; f: P times them */
} csimi_membrane_view;

static csim_real csimi_membrane_look(const csimi_state *s, int t, csimi_membrane_view *view) {
    const int *node = s->membrane + 3 * (size_t)t;
    const csim_real *G = s->membrane_shape + 4 * (size_t)t, *data = s->membrane_data + 4 * (size_t)t;
    csim_vec3 x0 = csimi_load3(s->x + 3 * (size_t)node[0]);
    csim_vec3 e1 = csim_sub(csimi_load3(s->x + 3 * (size_t)node[1]), x0);
    csim_vec3 e2 = csim_sub(csimi_load3(s->x + 3 * (size_t)node[2]), x0);
    csim_vec3 f0 = csim_add(csim_scale(G[0], e1), csim_scale(G[2], e2));
    csim_vec3 f1 = csim_add(csim_scale(G[1], e1), csim_scale(G[3], e2));
    csim_real stretch[2], V[9], P[9], M[9], energy;
    int i, j;
    csimi_membrane_axes(f0, f1, stretch, view->U, V);
    energy = csimi_membrane_material(s->membrane_material[t], stretch, data[1], data[2], &view->d);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            M[3 * i + j] = V[3 * j + i];
            P[3 * i + j] = view->U[3 * i] * view->d.g[0] * V[3 * j] + view->U[3 * i + 1] * view->d.g[1] * V[3 * j + 1];
        }
    csimi_membrane_map(P, G, view->f);
    csimi_membrane_map(M, G, view->y);
    return energy;
}

/* ---- bending */

/* The dihedral angle about the edge e = x1 -> x2 between the triangle with corner p and the one with corner q, 0 when
   flat, and its derivatives; false for triangles without a normal. Bridson et al. 2003. */
static bool csimi_dihedral(csim_vec3 p, csim_vec3 x1, csim_vec3 x2, csim_vec3 q, csim_real *angle,
                           csim_vec3 *gradient) {
    csim_vec3 e = csim_sub(x2, x1), n1 = csim_cross(e, csim_sub(p, x1)), n2 = csim_cross(csim_sub(q, x1), e);
    csim_real e2 = csim_dot(e, e), length = CSIMI_SQRT(e2), a1 = csim_length(n1), a2 = csim_length(n2), t1, t2;
    csim_vec3 g1, g2;
    if (!(a1 > CSIM_R(1e-6) * e2) || !(a2 > CSIM_R(1e-6) * e2)) return false;
    g1 = csim_scale(length / (a1 * a1), n1); /* n / height */
    g2 = csim_scale(length / (a2 * a2), n2);
    *angle = CSIMI_ATAN2(csim_dot(csim_cross(n1, n2), e) / length, csim_dot(n1, n2));
    t1 = csim_dot(csim_sub(p, x1), e) / e2;
    t2 = csim_dot(csim_sub(q, x1), e) / e2;
    gradient[0] = csim_scale(-1, g1);
    gradient[1] = csim_add(csim_scale(1 - t1, g1), csim_scale(1 - t2, g2));
    gradient[2] = csim_add(csim_scale(t1, g1), csim_scale(t2, g2));
    gradient[3] = csim_scale(-1, g2);
    return true;
}

/* Angles of the three edges less their rest values, and the derivatives by the six nodes (corner a, then the corner
   beyond the edge that faces it). */
typedef struct csimi_fold_view {
    csim_real angle[3];
    csim_vec3 J[3][6];
} csimi_fold_view;

static void csimi_fold_look(const csimi_state *s, int t, csimi_fold_view *view) {
    const int *node = s->membrane + 3 * (size_t)t, *beyond = s->membrane_beyond + 3 * (size_t)t;
    const csim_real *fold = s->membrane_fold + 9 * (size_t)t;
    int a, k;
    CSIMI_MEMSET(view, 0, sizeof *view);
    for (a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3, corner[4];
        csim_vec3 g[4];
        corner[0] = a, corner[1] = b, corner[2] = c, corner[3] = 3 + a;
        if (beyond[a] < 0) continue;
        if (!csimi_dihedral(csimi_load3(s->x + 3 * (size_t)node[a]), csimi_load3(s->x + 3 * (size_t)node[b]),
                            csimi_load3(s->x + 3 * (size_t)node[c]), csimi_load3(s->x + 3 * (size_t)beyond[a]),
                            view->angle + a, g))
            continue;
        view->angle[a] -= fold[6 + a];
        for (k = 0; k < 4; k++) view->J[a][corner[k]] = g[k];
    }
}

/* Entry (a, b) of Q, stored as 00, 11, 22, 12, 20, 01. */
static csim_real csimi_fold_form(const csim_real *fold, int a, int b) { return fold[a == b ? a : 6 - a - b]; }

/* Q times the angles: moments about the edges. */
static void csimi_fold_moments(const csim_real *fold, const csim_real *angle, csim_real *moment) {
    int a;
    for (a = 0; a < 3; a++)
        moment[a] = csimi_fold_form(fold, a, 0) * angle[0] + csimi_fold_form(fold, a, 1) * angle[1] +
                    csimi_fold_form(fold, a, 2) * angle[2];
}

/* ---- assembly */

static int csimi_membrane_node(const csimi_state *s, int t, int k) {
    return k < 3 ? s->membrane[3 * t + k] : s->membrane_beyond[3 * t + k - 3];
}

/* Numbers of one assembly. */
typedef struct csimi_cloth_job {
    const csimi_state *s;
    csimi_system *system;
    const csim_real *guess; /* v*, or null */
    csim_real h, weight;    /* s; sigma h^2, s^2 */
} csimi_cloth_job;

/* Adds scale (sigma h^2 + h beta) K to the block of local nodes (m, n) and its transpose to (n, m), the diagonal
   symmetric to the bit, and sigma h^2 K v* to the right-hand side. Where three triangles meet, one node lies beyond two
   edges: both blocks are on the diagonal. */
CSIM_INLINE void csimi_cloth_block(const csimi_cloth_job *job, int t, int m, int n, csim_real scale,
                                   const csim_real *K) {
    const int *slot = job->s->membrane_slot + 36 * (size_t)t;
    csim_real *ab = job->system->A.val + 9 * (size_t)slot[6 * m + n];
    csim_real *ba = job->system->A.val + 9 * (size_t)slot[6 * n + m];
    csim_real weight = scale * (job->weight + job->h * job->s->membrane_data[4 * (size_t)t + 3]), M[9];
    int i, a, b;
    if (ab == ba) {
        const csim_real share = m == n ? CSIM_R(0.5) : 1;
        for (i = 0; i < 9; i++) ab[i] += weight * ((K[i] + K[3 * (i % 3) + i / 3]) * share);
    } else {
        for (i = 0; i < 9; i++) M[i] = weight * K[i];
        for (i = 0; i < 9; i++) ab[i] += M[i];
        for (i = 0; i < 9; i++) ba[i] += M[3 * (i % 3) + i / 3];
    }
    if (!job->guess) return;
    a = csimi_membrane_node(job->s, t, m), b = csimi_membrane_node(job->s, t, n);
    for (i = 0; i < 9; i++) M[i] = scale * job->weight * K[i];
    csimi_addmul3(M, job->guess + 3 * (size_t)b, job->system->b + 3 * (size_t)a);
    if (m != n) csimi_addmulT3(M, job->guess + 3 * (size_t)a, job->system->b + 3 * (size_t)b);
}

static void csimi_membrane_add(const csimi_cloth_job *job, int t) {
    const csimi_state *s = job->s;
    const int *node = s->membrane + 3 * (size_t)t;
    csim_real volume = s->membrane_data[4 * (size_t)t], K[9];
    csimi_membrane_view view;
    int a, b, c;
    csimi_membrane_look(s, t, &view);
    csimi_project_stretches(&view.d);
    for (a = 0; a < 3; a++) {
        for (c = 0; c < 3; c++) job->system->b[3 * node[a] + c] -= job->h * volume * view.f[a][c];
        for (b = a; b < 3; b++) {
            csimi_stretch_block(&view.d, view.U, view.y[a], view.y[b], K);
            csimi_cloth_block(job, t, a, b, volume, K);
        }
    }
}

static void csimi_fold_add(const csimi_cloth_job *job, int t) {
    const csimi_state *s = job->s;
    const csim_real *fold = s->membrane_fold + 9 * (size_t)t;
    const int *slot = s->membrane_slot + 36 * (size_t)t;
    csim_real moment[3], K[9];
    csimi_fold_view view;
    int a, m, n;
    csimi_fold_look(s, t, &view);
    csimi_fold_moments(fold, view.angle, moment);
    for (m = 0; m < 6; m++) {
        csim_real *b = job->system->b + 3 * (size_t)csimi_imax(0, csimi_membrane_node(s, t, m));
        csim_vec3 QJ[3];
        if (slot[7 * m] < 0) continue;
        for (a = 0; a < 3; a++) {
            csimi_store3(b, csim_madd(csimi_load3(b), -job->h * moment[a], view.J[a][m]));
            QJ[a] = csim_add(csim_add(csim_scale(csimi_fold_form(fold, a, 0), view.J[0][m]),
                                      csim_scale(csimi_fold_form(fold, a, 1), view.J[1][m])),
                             csim_scale(csimi_fold_form(fold, a, 2), view.J[2][m]));
        }
        for (n = m; n < 6; n++) { /* (Q J_m)' J_n: a corner beyond an edge turns this one alone */
            const int end = n < 3 ? 3 : n - 2;
            if (slot[6 * m + n] < 0) continue;
            CSIMI_MEMSET(K, 0, sizeof K);
            for (a = n < 3 ? 0 : n - 3; a < end; a++) {
                csim_vec3 p = QJ[a], q = view.J[a][n];
                K[0] += p.x * q.x, K[1] += p.x * q.y, K[2] += p.x * q.z;
                K[3] += p.y * q.x, K[4] += p.y * q.y, K[5] += p.y * q.z;
                K[6] += p.z * q.x, K[7] += p.z * q.y, K[8] += p.z * q.z;
            }
            csimi_cloth_block(job, t, m, n, 1, K);
        }
    }
}

CSIMI_FN void csimi_cloth_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csimi_cloth_job job;
    csimi_state at = *s;
    int t;
    if (step->guess) at.x = (csim_real *)(uintptr_t)step->guess_x; /* read only */
    job.s = &at;
    job.system = system;
    job.guess = step->guess;
    job.h = step->h;
    job.weight = step->sigma * step->h * step->h;
    for (t = 0; t < s->membrane_count; t++) {
        csimi_membrane_add(&job, t);
        csimi_fold_add(&job, t);
    }
}

CSIMI_FN void csimi_cloth_energy(const csimi_state *s, csimi_energy *energy) {
    int t, a;
    for (t = 0; t < s->membrane_count; t++) {
        csimi_membrane_view membrane;
        csimi_fold_view fold;
        csim_real moment[3];
        energy->elastic += (double)s->membrane_data[4 * (size_t)t] * (double)csimi_membrane_look(s, t, &membrane);
        csimi_fold_look(s, t, &fold);
        csimi_fold_moments(s->membrane_fold + 9 * (size_t)t, fold.angle, moment);
        for (a = 0; a < 3; a++) energy->elastic += (double)moment[a] * (double)fold.angle[a] / 2;
    }
}

CSIMI_FN int csimi_cloth_couple(const csimi_state *s, int *pairs) {
    int t, m, n, count = 0;
    for (t = 0; t < s->membrane_count; t++)
        for (m = 0; m < 6; m++)
            for (n = m + 1; n < 6; n++) {
                int i = csimi_membrane_node(s, t, m), j = csimi_membrane_node(s, t, n);
                if (i < 0 || j < 0) continue;
                if (pairs) {
                    pairs[2 * count] = i;
                    pairs[2 * count + 1] = j;
                }
                count++;
            }
    return count;
}

CSIMI_FN void csimi_cloth_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int t, m, n;
    for (t = 0; t < s->membrane_count; t++)
        for (m = 0; m < 6; m++)
            for (n = 0; n < 6; n++) {
                int i = csimi_membrane_node(s, t, m), j = csimi_membrane_node(s, t, n);
                s->membrane_slot[36 * t + 6 * m + n] = i < 0 || j < 0 ? -1 : csimi_pattern_find(pattern, i, j);
            }
}

/* ---- preparing a mesh */

/* Corner beyond each edge. Half-edges are kept in lists by their first vertex; an edge that runs the same way in two
   triangles is a flipped or a third one. */
CSIMI_FN int csimi_cloth_neighbours(int vertices, int count, const int *triangle, int *beyond, int *scratch) {
    int *head = scratch, *next = head + vertices, t, a, k;
    for (k = 0; k < vertices; k++) head[k] = -1;
    for (t = 0; t < count; t++)
        for (a = 0; a < 3; a++) {
            int from = triangle[3 * t + (a + 1) % 3], to = triangle[3 * t + (a + 2) % 3];
            for (k = head[from]; k >= 0; k = next[k])
                if (triangle[3 * (k / 3) + (k % 3 + 2) % 3] == to) return t;
            next[3 * t + a] = head[from];
            head[from] = 3 * t + a;
        }
    for (t = 0; t < count; t++)
        for (a = 0; a < 3; a++) {
            int from = triangle[3 * t + (a + 1) % 3], to = triangle[3 * t + (a + 2) % 3];
            beyond[3 * t + a] = -1;
            for (k = head[to]; k >= 0; k = next[k])
                if (triangle[3 * (k / 3) + (k % 3 + 2) % 3] == from) beyond[3 * t + a] = triangle[k];
        }
    return -1;
}

CSIMI_FN bool csimi_membrane_prepare(const csim_real *x0, const csim_real *x1, const csim_real *x2, csim_real *shape,
                                     csim_real *area) {
    csim_vec3 e1 = csim_sub(csimi_load3(x1), csimi_load3(x0)), e2 = csim_sub(csimi_load3(x2), csimi_load3(x0));
    csim_vec3 e3 = csim_sub(e2, e1), n = csim_cross(e1, e2), u, v;
    csim_real twice = csim_length(n),
              longest = csimi_max(csim_dot(e1, e1), csimi_max(csim_dot(e2, e2), csim_dot(e3, e3)));
    csim_real a, b, c;
    if (!(twice > CSIM_R(1e-6) * longest)) return false;
    u = csim_normalize(e1);
    v = csim_normalize(csim_cross(n, u));
    a = csim_dot(u, e1);
    b = csim_dot(u, e2);
    c = csim_dot(v, e2);
    shape[0] = 1 / a; /* inverse of [a b; 0 c] */
    shape[1] = -b / (a * c);
    shape[2] = 0;
    shape[3] = 1 / c;
    *area = twice / 2;
    return true;
}

/* Takes the angle k out of the form by minimising over it: Q <- Q - Q_k Q_k' / Q_kk. */
static void csimi_fold_condense(csim_real Q[3][3], int k) {
    csim_real pivot = Q[k][k], row[3];
    int i, j;
    for (i = 0; i < 3; i++) row[i] = Q[k][i];
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) Q[i][j] = i == k || j == k || !(pivot > 0) ? 0 : Q[i][j] - row[i] * row[j] / pivot;
}

CSIMI_FN void csimi_fold_prepare(const csim_real *shape, csim_real area, const int *beyond, csim_real rigidity,
                                 csim_real poisson, csim_real *fold) {
    csim_real g[3][2], Q[3][3];
    int a, b;
    for (a = 0; a < 2; a++) { /* gradient of corner a is -|e| m / (2 A): |e| / (2 A) m m' has its length */
        g[1][a] = shape[a];
        g[2][a] = shape[2 + a];
        g[0][a] = -(g[1][a] + g[2][a]);
    }
    for (a = 0; a < 3; a++)
        for (b = 0; b < 3; b++) {
            csim_real la = CSIMI_SQRT(g[a][0] * g[a][0] + g[a][1] * g[a][1]);
            csim_real lb = CSIMI_SQRT(g[b][0] * g[b][0] + g[b][1] * g[b][1]);
            csim_real cosine = (g[a][0] * g[b][0] + g[a][1] * g[b][1]) / (la * lb);
            Q[a][b] = area * rigidity * la * lb * ((1 - poisson) * cosine * cosine + poisson);
        }
    for (a = 0; a < 3; a++)
        if (beyond[a] < 0) csimi_fold_condense(Q, a);
    for (a = 0; a < 3; a++) {
        fold[a] = Q[a][a];
        fold[3 + a] = Q[(a + 1) % 3][(a + 2) % 3];
        fold[6 + a] = 0;
    }
}

CSIMI_FN void csimi_fold_rest(csimi_state *s, int t) {
    csimi_fold_view view;
    int a;
    csimi_fold_look(s, t, &view);
    for (a = 0; a < 3; a++) s->membrane_fold[9 * (size_t)t + 6 + (size_t)a] += view.angle[a];
}
