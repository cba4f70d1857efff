/* model/modal: bodies that deform in a few modes and carry a floating frame (Barbic and James 2005).

   A point of the body is c + R y, y = X + U q: c the centre of mass, R the frame, U mass-orthonormal and orthogonal to
   rigid motions (sum m U = 0, sum m X x U = 0: the frame of Tisserand). With angular velocity R nu, U_0 = X, q_0 = 1
   and the moments N_kl = sum m U_k U_l', 2 T = m |v|^2 + nu.I nu + 2 nu.G q' + |q'|^2,    I = tr(B) 1 - B, B = sum_kl
   q_k q_l N_kl, and column l of G is sum_k q_k axial(N_kl), axial(a b') = a x b. */
#include "private.h"

enum { CSIMI_REDUCED_MOST = 3 + CSIM_MODES_MOST, CSIMI_REDUCED_HATS = 1 + CSIM_MODES_MOST };

/* ---- the numbers of a model */

CSIMI_FN size_t csimi_modal_constants(int modes, bool linear) {
    const size_t n = (size_t)modes, four = (n + 1) * (n + 2) / 2 * (n + 3) / 3 * (n + 4) / 4;
    return n + 9 * (n + 1) * (n + 1) + 3 * n + (linear ? 0 : four);
}

CSIMI_FN csim_modes_view csimi_modal_view(int modes, bool linear, int points, const double *at) {
    const size_t n = (size_t)modes;
    csim_modes_view m;
    CSIMI_MEMSET(&m, 0, sizeof m);
    m.modes = modes;
    m.linear = linear;
    m.squares = at;
    m.moments = m.squares + n;
    m.first = m.moments + 9 * (n + 1) * (n + 1);
    m.quartic = m.first + 3 * n;
    m.rest = at + csimi_modal_constants(modes, linear);
    m.shape = m.rest + 3 * (size_t)points;
    return m;
}

/* ---- elasticity: V = sum d q_i q_j q_k q_l over products in order of (1, q). Its second derivatives H there are
   homogeneous: V = q.H q / 12 and the gradient is H q / 3. */

static void csimi_modal_quartic(const double *d, int n, const double *q, double *H) {
    int i, j, k, l;
    for (i = 0; i < n * n; i++) H[i] = 0;
    for (i = 0; i < n; i++)
        for (j = i; j < n; j++)
            for (k = j; k < n; k++) {
                const double ij = q[i] * q[j], ik = q[i] * q[k], jk = q[j] * q[k];
                double sum = 0;
                for (l = k; l < n; l++) {
                    const double x = *d++;
                    sum += x * q[l];
                    H[n * k + l] += x * ij;
                    H[n * j + l] += x * ik;
                    H[n * i + l] += x * jk;
                }
                H[n * j + k] += sum * q[i];
                H[n * i + k] += sum * q[j];
                H[n * i + j] += sum * q[k];
            }
    for (i = 0; i < n; i++) {
        H[(n + 1) * i] *= 2; /* both orders of a pair fall on the diagonal */
        for (j = i + 1; j < n; j++) H[n * j + i] = H[n * i + j];
    }
}

CSIMI_FN double csimi_modal_elastic(const csim_modes_view *m, const double *q, double *gradient, double *H,
                                    double *work) {
    const int n = m->modes;
    double hat[CSIMI_REDUCED_HATS], energy = 0;
    int i, j;
    hat[0] = 1;
    for (i = 0; i < n; i++) hat[1 + i] = q[i];
    if (!m->linear) csimi_modal_quartic(m->quartic, n + 1, hat, work);
    for (i = 0; i <= n; i++) {
        double force = m->linear && i > 0 ? m->squares[i - 1] * q[i - 1] : 0;
        for (j = 0; !m->linear && j <= n; j++) force += work[(n + 1) * i + j] * hat[j] / 3;
        energy += force * hat[i] / (m->linear ? 2 : 4);
        if (gradient && i > 0) gradient[i - 1] = force;
    }
    for (i = 0; H && i < n * n; i++)
        H[i] = !m->linear ? work[(n + 1) * (1 + i / n) + 1 + i % n] : i % (n + 1) == 0 ? m->squares[i / n] : 0;
    return energy;
}

/* ---- a model as bytes */

CSIM_API csim_modes_view csim_modes_arrays(const csim_modes *m) {
    csim_modes_view v =
        csimi_modal_view(m->modes, m->linear != 0, m->vertex_count, (const double *)(const void *)(m + 1));
    v.vertex = (const int *)(const void *)(v.shape + 3 * (size_t)m->vertex_count * (size_t)m->modes);
    v.triangle = v.vertex + m->vertex_count;
    return v;
}

CSIM_API size_t csim_modes_bytes(const csim_modes *m) {
    const size_t n = (size_t)m->vertex_count, numbers = csimi_modal_constants(m->modes, m->linear != 0);
    const size_t ints = n + 3 * (size_t)m->triangle_count;
    return sizeof *m + sizeof(double) * (numbers + 3 * n * (1 + (size_t)m->modes)) + (ints + ints % 2) * sizeof(int);
}

CSIMI_FN uint64_t csimi_modes_hash(const csim_modes *m) {
    const size_t head = offsetof(csim_modes, vertex_count);
    return csimi_fnv(CSIMI_FNV_START, (const unsigned char *)m + head, csim_modes_bytes(m) - head);
}

/* What is wrong with an aligned model of that many bytes, null: nothing. */
static const char *csimi_modes_fault(const csim_modes *m, size_t size) {
    csim_modes_view v;
    const double *x;
    int i;
    if (size < sizeof *m) return "at least a header";
    if (m->magic != CSIMI_MODES_MAGIC) return "a model of condsim-modes, from a machine of the same byte order";
    if (m->version != CSIMI_MODES_VERSION) return "a model of this version";
    if (m->modes < 1 || m->modes > CSIM_MODES_MOST || m->vertex_count < 4 || m->vertex_count > 2000000 ||
        m->surface_count < 4 || m->surface_count > m->vertex_count || m->triangle_count < 4 ||
        m->triangle_count > 20000000 || (m->linear | 1) != 1 || (m->anchored | 1) != 1)
        return "counts of a body";
    if (size != csim_modes_bytes(m)) return "as many bytes as the model says";
    if (m->hash != csimi_modes_hash(m)) return "undamaged bytes";
    v = csim_modes_arrays(m);
    if (!(m->mass > 0 && m->mass < 1e300)) return "a mass above 0";
    for (i = 0; i < 3; i++)
        if (!(m->centre[i] > -1e300 && m->centre[i] < 1e300)) return "a finite centre";
    for (x = v.squares; x < (const double *)(const void *)v.vertex; x++)
        if (!(*x > -1e300 && *x < 1e300)) return "finite numbers";
    for (i = 0; i < m->modes; i++)
        if (!(v.squares[i] > 0 && v.squares[i] < 1e300)) return "frequencies above 0";
    for (i = 0; i < m->vertex_count; i++)
        if (v.vertex[i] < 0 || v.vertex[i] >= m->vertex_count) return "vertices in 0..vertex_count - 1";
    for (i = 0; i < 3 * m->triangle_count; i++)
        if (v.triangle[i] < 0 || v.triangle[i] >= m->surface_count) return "triangles of 0..surface_count - 1";
    return NULL;
}

CSIM_API csim_status csim_open_modes(const void *bytes, size_t size, const csim_modes **modes, csim_error *error) {
    const char *fault;
    if (!bytes || !modes) return csimi_missing(error, "csim_open_modes", bytes ? "modes" : "bytes");
    if ((uintptr_t)bytes % 8)
        return csimi_unfit(error, "csim_open_modes", "bytes: address modulo 8", (double)((uintptr_t)bytes % 8), "0");
    fault = csimi_modes_fault((const csim_modes *)bytes, size);
    if (fault) return csimi_fail(error, CSIM_BAD_SNAPSHOT, "csim_open_modes", "size", (double)size, fault);
    *modes = (const csim_modes *)bytes;
    return CSIM_OK;
}

/* ---- inertia at q */

static double csimi_dot64(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Q_l [9 (modes + 1)] = first N_0l + sum_k a_k N_kl */
static void csimi_modal_contract(const csim_modes_view *m, double first, const double *a, double *Q) {
    const int row = 9 * (m->modes + 1);
    int i, k;
    for (i = 0; i < row; i++) Q[i] = first * m->moments[i];
    for (k = 0; k < m->modes; k++)
        for (i = 0; i < row; i++) Q[i] += a[k] * m->moments[row * (1 + k) + i];
}

/* out += s axial(A) */
static void csimi_axial_add(double s, const double *A, double *out) {
    out[0] += s * (A[5] - A[7]);
    out[1] += s * (A[6] - A[2]);
    out[2] += s * (A[1] - A[3]);
}

/* out += s (tr(A) 1 - sym(A)) x */
static void csimi_inertia_add(double s, const double *A, const double *x, double *out) {
    const double trace = A[0] + A[4] + A[8];
    int i, j;
    for (i = 0; i < 3; i++)
        for (out[i] += s * trace * x[i], j = 0; j < 3; j++) out[i] -= s * (A[3 * i + j] + A[3 * j + i]) / 2 * x[j];
}

/* Momenta of w = (nu, q'), angular in body axes and modal, at B and the columns of G. */
static void csimi_modal_momenta(int n, const double *B, const double *G, const double *w, double *P) {
    int k, c;
    P[0] = P[1] = P[2] = 0;
    csimi_inertia_add(1, B, w, P);
    for (k = 0; k < n; k++) {
        for (c = 0; c < 3; c++) P[c] += G[3 * k + c] * w[3 + k];
        P[3 + k] = w[3 + k] + csimi_dot64(G + 3 * k, w);
    }
}

/* ---- a step of a body alone. For midpoint worlds, with w = (nu, q'), bars for means over the step and P = M(q) w,

       exp(h nu-) L_1 = L_0 + h torque
       p_1 - p_0 = h/2 w_0.dM/dq(q-) w_1 - h integral_0^1 dV/dq(q_0 + s (q_1 - q_0)) ds + h force
       q_1 = q_0 + h q'-,  R_1 = R_0 exp(h nu-)

   M is quadratic in q and V quartic (two Gauss points are exact), so that w-.(P_1 - P_0) - w_0.(M_1 - M_0) w_1 / 2 is
   the change of T and a free body keeps energy and angular momentum to rounding (Gonzalez 1996; the averaged force is
   that of Quispel and McLaren 2008). Backward Euler takes all at the end of the step, and keeps angular momentum. */

typedef struct csimi_reduced_work {
    csim_modes_view m;
    double h, theta, alpha, beta;
    bool anchored, pushed; /* by the user */
    csim_pose frame;
    double force[3]; /* on the centre of mass, N */
    double q0[CSIM_MODES_MOST], w0[CSIMI_REDUCED_MOST], P0[CSIMI_REDUCED_MOST], push[CSIMI_REDUCED_MOST];
    double z[CSIMI_REDUCED_MOST], w1[CSIMI_REDUCED_MOST], P1[CSIMI_REDUCED_MOST], r[CSIMI_REDUCED_MOST]; /* r: misfit */
    double q1[CSIM_MODES_MOST], qe[CSIM_MODES_MOST], gradient[CSIM_MODES_MOST];
    double B[9], G[3 * CSIM_MODES_MOST], Q[9 * CSIMI_REDUCED_HATS], Qe[9 * CSIMI_REDUCED_HATS]; /* at q1, at qe */
    double Ra[9 * CSIMI_REDUCED_HATS], Rb[9 * CSIMI_REDUCED_HATS]; /* of rates: dG/dq_k q' = -axial(R_k), both ends */
    double K[CSIM_MODES_MOST * CSIM_MODES_MOST];                   /* h^2 times the tangent of the averaged force */
    double H[CSIM_MODES_MOST * CSIM_MODES_MOST], poly[CSIMI_REDUCED_HATS * CSIMI_REDUCED_HATS];
    double J[CSIMI_REDUCED_MOST * CSIMI_REDUCED_MOST], A[CSIMI_REDUCED_MOST * CSIMI_REDUCED_MOST];
    double step[CSIMI_REDUCED_MOST], dz[CSIMI_REDUCED_MOST];
    int pivot[CSIMI_REDUCED_MOST];
} csimi_reduced_work;

CSIMI_FN size_t csimi_reduced_work_bytes(void) { return sizeof(csimi_reduced_work); }

static void csimi_load64(csim_vec3 v, double *out) { out[0] = (double)v.x, out[1] = (double)v.y, out[2] = (double)v.z; }
static csim_vec3 csimi_from64(const double *x) { return csim_v3((csim_real)x[0], (csim_real)x[1], (csim_real)x[2]); }
static csim_modes_view csimi_reduced_view(const csimi_state *s, const csimi_tree *tree) {
    return csimi_modal_view(tree->modes, tree->linear, tree->node_count, s->modal + tree->first_number);
}

/* B, G and momenta P1 at q1 and the rates w1. */
static void csimi_reduced_inertia(csimi_reduced_work *w) {
    const int n = w->m.modes;
    int i, k;
    csimi_modal_contract(&w->m, 1, w->q1, w->Q);
    for (i = 0; i < 9; i++)
        for (w->B[i] = w->Q[i], k = 0; k < n; k++) w->B[i] += w->q1[k] * w->Q[9 * (1 + k) + i];
    for (k = 0; k < n; k++) {
        w->G[3 * k] = w->G[3 * k + 1] = w->G[3 * k + 2] = 0;
        csimi_axial_add(1, w->Q + 9 * (1 + k), w->G + 3 * k);
    }
    csimi_modal_momenta(n, w->B, w->G, w->w1, w->P1);
}

/* The body as it is at these rates, in the scratch. */
static csimi_reduced_work *csimi_reduced_load(const csimi_state *s, int t, const csim_real *rate) {
    const csimi_tree *tree = s->tree + t;
    csimi_reduced_work *w = s->reduced_work;
    int k;
    w->m = csimi_reduced_view(s, tree);
    w->frame = csimi_link_pose(s, tree->first_link);
    csimi_load64(csim_unrotate(w->frame.rotation, csimi_load3(rate + 3)), w->w1);
    for (k = 0; k < tree->modes; k++) {
        w->q1[k] = (double)s->coord_position[3 * tree->first_block + 6 + k];
        w->w1[3 + k] = (double)rate[6 + k];
    }
    csimi_reduced_inertia(w);
    return w;
}

/* What does not depend on the rates that are looked for: start, momenta and outer forces, body axes. */
static csimi_reduced_work *csimi_reduced_start(const csimi_state *s, int t, const csimi_step *step) {
    const csimi_tree *tree = s->tree + t;
    const csim_real *force = s->coord_force + 3 * (size_t)tree->first_block;
    csimi_reduced_work *w = csimi_reduced_load(s, t, s->coord_rate + 3 * (size_t)tree->first_block);
    csim_vec3 torque = csimi_load3(force + 3), f = csimi_load3(force);
    double body[3];
    int i, k, c, n = tree->modes;
    w->h = (double)step->h;
    w->theta = (double)step->theta;
    w->alpha = (double)tree->mass_damping;
    w->beta = (double)tree->stiffness_damping;
    w->anchored = tree->anchored;
    w->pushed = csim_dot(f, f) + csim_dot(torque, torque) > 0;
    CSIMI_MEMCPY(w->q0, w->q1, sizeof w->q0);
    CSIMI_MEMCPY(w->w0, w->w1, sizeof w->w0);
    CSIMI_MEMCPY(w->P0, w->P1, sizeof w->P0);
    csimi_load64(csim_unrotate(w->frame.rotation, csim_scale(tree->gravity, csimi_load3(s->gravity))), body);
    for (k = 0; k < n; k++) w->push[3 + k] = w->anchored ? w->h * csimi_dot64(w->m.first + 3 * k, body) : 0;
    for (i = 0; i < tree->node_count; i++) {
        const csim_vec3 at = csimi_load3(s->node_force + 3 * (size_t)(tree->first_node + i));
        const csim_vec3 x = csimi_load3(s->x + 3 * (size_t)(tree->first_node + i));
        if (!(csim_dot(at, at) > 0)) continue;
        w->pushed = true;
        csimi_load64(csim_unrotate(w->frame.rotation, at), body);
        f = csim_add(f, at);
        torque = csim_add(torque, csim_cross(csim_sub(x, w->frame.position), at));
        for (c = 0; c < 3; c++)
            for (k = 0; k < n; k++)
                w->push[3 + k] += w->h * body[c] * w->m.shape[(size_t)(3 * i + c) * (size_t)n + (size_t)k];
    }
    csimi_load64(f, w->force);
    csimi_load64(csim_scale(step->h, csim_unrotate(w->frame.rotation, torque)), w->push);
    return w;
}

/* The averaged force, and its tangent where that is wanted. */
static void csimi_reduced_elasticity(csimi_reduced_work *w, bool tangent) {
    static const double gauss[2] = {0.21132486540518711775, 0.78867513459481288225}; /* (1 -+ 1/sqrt 3) / 2 */
    const int n = w->m.modes, points = w->theta < 1 ? 2 : 1;
    int g, i;
    for (i = 0; i < n; i++) w->gradient[i] = 0;
    for (i = 0; tangent && i < n * n; i++) w->K[i] = 0;
    for (g = 0; g < points; g++) {
        const double s = points == 2 ? gauss[g] : 1, share = 1.0 / points;
        for (i = 0; i < n; i++) w->qe[i] = w->q0[i] + s * (w->q1[i] - w->q0[i]);
        (void)csimi_modal_elastic(&w->m, w->qe, w->step, tangent ? w->H : NULL, w->poly);
        for (i = 0; i < n; i++) w->gradient[i] += share * w->step[i];
        for (i = 0; tangent && i < n * n; i++) w->K[i] += share * s * w->h * w->h * w->H[i];
    }
}

/* exp(h nu-) x */
static void csimi_reduced_turn(const csimi_reduced_work *w, const double *x, double *out) {
    double angle[3];
    int c;
    for (c = 0; c < 3; c++) angle[c] = w->h * w->z[c];
    csimi_load64(csim_rotate(csim_quat_exp(csimi_from64(angle)), csimi_from64(x)), out);
}

/* w->r = what the equations above miss at the rates w->z. */
static void csimi_reduced_misfit(csimi_reduced_work *w, bool tangent) {
    const int n = w->m.modes;
    const bool midpoint = w->theta < 1;
    const double *wa = midpoint ? w->w0 : w->w1, *wb = w->w1;
    double turned[3];
    int k, c;
    for (k = 0; k < 3 + n; k++) w->w1[k] = w->w0[k] + (w->z[k] - w->w0[k]) / w->theta;
    for (k = 0; k < n; k++) w->q1[k] = w->q0[k] + w->h * w->z[3 + k];
    csimi_reduced_elasticity(w, tangent);
    for (k = 0; k < n; k++) w->qe[k] = midpoint ? (w->q0[k] + w->q1[k]) / 2 : w->q1[k];
    csimi_reduced_inertia(w);
    csimi_modal_contract(&w->m, 1, w->qe, w->Qe);
    csimi_modal_contract(&w->m, 0, wa + 3, w->Ra);
    csimi_modal_contract(&w->m, 0, wb + 3, w->Rb);
    csimi_modal_momenta(n, w->B, w->G, w->z, w->r); /* for the damping */
    for (k = 0; k < 3 + n; k++) w->r[k] *= w->h * w->alpha;
    csimi_reduced_turn(w, w->P1, turned);
    for (c = 0; c < 3; c++) w->r[c] = w->anchored ? 0 : w->r[c] + turned[c] - w->P0[c] - w->push[c];
    for (k = 0; k < n; k++) { /* w_a.dM/dq_k w_b / 2 */
        double x[3] = {0, 0, 0}, y[3] = {0, 0, 0};
        csimi_inertia_add(1, w->Qe + 9 * (1 + k), wb, x);
        csimi_axial_add(-0.5, w->Rb + 9 * (1 + k), x);
        csimi_axial_add(-0.5, w->Ra + 9 * (1 + k), y);
        w->r[3 + k] +=
            w->P1[3 + k] - w->P0[3 + k] - w->push[3 + k] +
            w->h * (w->gradient[k] - csimi_dot64(wa, x) - csimi_dot64(wb, y) + w->beta * w->m.squares[k] * w->z[3 + k]);
    }
}

/* A = (1/theta + h alpha) M(q_1) + h beta diag(w^2) + K, symmetric. */
static void csimi_reduced_tangent(csimi_reduced_work *w, double *A) {
    const int n = w->m.modes, size = 3 + n;
    const double c1 = 1 / w->theta + w->h * w->alpha;
    int k, l;
    for (k = 0; k < 3; k++) {
        double x[3] = {0, 0, 0}, y[3] = {0, 0, 0};
        x[k] = c1;
        csimi_inertia_add(1, w->B, x, y);
        for (l = 0; l < size; l++) A[size * k + l] = A[size * l + k] = l < 3 ? y[l] : c1 * w->G[3 * (l - 3) + k];
    }
    for (k = 0; k < n; k++) {
        for (l = 0; l < n; l++) A[size * (3 + k) + 3 + l] = (w->K[n * k + l] + w->K[n * l + k]) / 2;
        A[(size + 1) * (3 + k)] += c1 + w->h * w->beta * w->m.squares[k];
    }
    for (k = 0; w->anchored && k < 3; k++)
        for (l = 0; l < size; l++) A[size * k + l] = A[size * l + k] = k == l;
}

/* The derivative of the misfit: A and what turning adds to it, up to (h nu)^2. */
static void csimi_reduced_jacobian(csimi_reduced_work *w) {
    const int n = w->m.modes, size = 3 + n;
    const double h = w->h, part = w->theta < 1 ? 0.5 / w->theta : 1, *wa = w->theta < 1 ? w->w0 : w->w1;
    double L[3];
    int k, l, c;
    csimi_reduced_tangent(w, w->J);
    if (w->anchored) return;
    for (k = 0; k < n; k++) {
        double x[3] = {0, 0, 0}, y[3] = {0, 0, 0}, *row = w->J + size * (3 + k);
        csimi_inertia_add(2 * h, w->Q + 9 * (1 + k), w->w1, x);
        csimi_axial_add(-h, w->Rb + 9 * (1 + k), x);
        csimi_inertia_add(2 * h * part, w->Qe + 9 * (1 + k), wa, y);
        csimi_axial_add(-h * part, w->Ra + 9 * (1 + k), y);
        for (c = 0; c < 3; c++) {
            w->J[size * c + 3 + k] += x[c];
            row[c] -= y[c];
        }
        for (l = 0; l < n; l++) {
            const double *N = w->m.moments + 9 * ((n + 1) * (1 + k) + 1 + l);
            double gamma[3] = {0, 0, 0}, bend[3] = {0, 0, 0};
            csimi_axial_add(h, N, gamma);
            csimi_inertia_add(h * h * w->theta, N, w->w1, bend);
            row[3 + l] -= csimi_dot64(gamma, w->w1) + csimi_dot64(wa, bend) + part * csimi_dot64(gamma, wa);
        }
    }
    for (l = 0; l < size; l++) { /* exp(h nu-) on the columns of L_1 */
        double x[3], turned[3];
        for (c = 0; c < 3; c++) x[c] = w->J[size * c + l];
        csimi_reduced_turn(w, x, turned);
        for (c = 0; c < 3; c++) w->J[size * c + l] = turned[c];
    }
    csimi_reduced_turn(w, w->P1, L);
    for (c = 0; c < 3; c++) { /* and its own change with nu-: -h [L]x */
        w->J[size * c + (c + 1) % 3] += h * L[(c + 2) % 3];
        w->J[size * c + (c + 2) % 3] -= h * L[(c + 1) % 3];
    }
}

/* Square of a misfit or of rates, angular parts weighed to match the modal ones. */
static double csimi_reduced_size(const csimi_reduced_work *w, const double *x, bool momenta) {
    const double *N = w->m.moments, inertia = (N[0] + N[4] + N[8]) * 2 / 3;
    double sum = csimi_dot64(x, x) * (momenta ? 1 / inertia : inertia);
    int k;
    for (k = 3; k < 3 + w->m.modes; k++) sum += x[k] * x[k];
    return sum;
}

/* Newton's method from z to rounding; a step that does not bring the misfit down is halved. */
static void csimi_reduced_solve(csimi_reduced_work *w) {
    const int size = 3 + w->m.modes;
    double misfit, moved, last = 1e300;
    int iteration, halving, k;
    csimi_reduced_misfit(w, true);
    for (iteration = 0; iteration < 30; iteration++, last = moved) {
        csimi_reduced_jacobian(w);
        if (!csimi_lu(size, w->J, w->pivot)) return;
        misfit = csimi_reduced_size(w, w->r, true);
        CSIMI_MEMCPY(w->dz, w->r, sizeof w->dz);
        csimi_lu_solve(size, w->J, w->pivot, w->dz);
        /* from rest the first move is finite too */
        moved = csimi_reduced_size(w, w->dz, false) / (csimi_reduced_size(w, w->z, false) + 1e-200);
        if (!(moved < 1e300) || (moved < 1e4 * (double)(CSIMI_EPS * CSIMI_EPS) && moved > last / 4)) return;
        for (k = 0; k < size; k++) w->z[k] -= w->dz[k];
        csimi_reduced_misfit(w, true);
        for (halving = 0; halving < 8 && csimi_reduced_size(w, w->r, true) > 4 * misfit && moved > 1e-12; halving++) {
            for (k = 0; k < size; k++) w->z[k] += w->dz[k] /= 2;
            csimi_reduced_misfit(w, true);
        }
        if (moved < (double)(CSIMI_EPS * CSIMI_EPS)) return;
    }
}

/* The most that the free motion accelerates a node, m/s^2, but for weight; arms are those at rest. */
static csim_real csimi_reduced_hurry(csimi_reduced_work *w, int nodes, csim_real mass) {
    const csim_vec3 f = csim_unrotate(w->frame.rotation, csimi_from64(w->force));
    csim_real most = 0;
    int i, k, n = w->m.modes;
    for (k = 0; k < 3 + n; k++) w->dz[k] = (w->z[k] - w->w0[k]) / (w->theta * w->h); /* z: of the mean velocity */
    for (i = 0; i < 3 * nodes; i += 3) {
        csim_vec3 a = csim_cross(csimi_from64(w->dz), csimi_from64(w->m.rest + i));
        if (!w->anchored) a = csim_madd(a, 1 / mass, f);
        for (k = 0; k < n; k++) {
            const double *u = w->m.shape + (size_t)i * (size_t)n + k;
            a = csim_madd(a, (csim_real)w->dz[3 + k], csim_v3((csim_real)u[0], (csim_real)u[n], (csim_real)u[2 * n]));
        }
        most = csimi_max(most, csim_length(a));
    }
    return most;
}

/* Rates of the free motion to coord_free, and the angular velocity at the start turned on, so that v_k + (v - v_k) /
   theta is that of the axes at the end. Nobody asks for the free linear rates: in place of the first of them stands how
   much the nodes of a body that the user pushes are accelerated. */
CSIMI_FN void csimi_reduced_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk) {
    int t, k;
    for (t = 0; t < s->tree_count; t++) {
        const csimi_tree *tree = s->tree + t;
        csim_real *free, *start = vk + 3 * (size_t)(csimi_first_coord_block(s) + tree->first_block);
        csimi_reduced_work *w;
        double turned[3];
        if (tree->modes == 0 || tree->mode != CSIMI_FREE) continue;
        w = csimi_reduced_start(s, t, step);
        CSIMI_MEMCPY(w->z, w->w0, sizeof w->z);
        csimi_reduced_solve(w);
        free = s->coord_free + 3 * (size_t)tree->first_block;
        csimi_store3(free + 3, csim_rotate(w->frame.rotation, csimi_from64(w->z)));
        for (k = 0; k < w->m.modes; k++) free[6 + k] = (csim_real)w->z[3 + k];
        free[0] = w->pushed ? csimi_reduced_hurry(w, tree->node_count, s->tree_link[tree->first_link].mass) : 0;
        csimi_reduced_turn(w, w->w0, turned);
        csimi_store3(start + 3, csim_rotate(w->frame.rotation, csimi_from64(turned)));
    }
}

/* A that is positive definite: K gives way to that at rest, by halves, while half of M does not outweigh it. */
static void csimi_reduced_definite(csimi_reduced_work *w) {
    const int n = w->m.modes, size = 3 + n;
    const double c1 = 1 / w->theta + w->h * w->alpha;
    int k, turn;
    for (turn = 0;; turn++) {
        csimi_reduced_tangent(w, w->A);
        CSIMI_MEMCPY(w->J, w->A, sizeof w->J);
        for (k = 3; k < size; k++) w->J[(size + 1) * k] -= c1 / 2;
        if (csimi_cholesky(size, w->J, NULL, NULL) || turn == 8) return;
        for (k = 0; k < n * n; k++) {
            const double rest = k % (n + 1) == 0 ? w->h * w->h * w->theta * w->m.squares[k / n] : 0;
            w->K[k] = turn < 7 ? (w->K[k] + rest) / 2 : rest;
        }
    }
}

/* Rates after an impulse at a triangle of nodes: M(q) change = J' impulse; the linear ones are those of the centre of
   mass, which no mode moves. */
CSIMI_FN void csimi_reduced_push(csimi_state *s, int t, const int *node, const csim_real *weight, csim_vec3 impulse) {
    const csimi_tree *tree = s->tree + t;
    csim_real *rate = s->coord_rate + 3 * (size_t)tree->first_block;
    csimi_reduced_work *w = csimi_reduced_load(s, t, rate);
    const int n = w->m.modes, size = 3 + n;
    csim_vec3 point = csim_v3(0, 0, 0);
    double body[3], x[CSIMI_REDUCED_MOST];
    int i, k, c;
    w->theta = 1;
    w->h = w->alpha = w->beta = 0;
    w->anchored = tree->anchored;
    for (k = 0; k < n * n; k++) w->K[k] = 0;
    csimi_reduced_tangent(w, w->A); /* M */
    csimi_load64(csim_unrotate(w->frame.rotation, impulse), body);
    for (k = 0; k < n; k++) x[3 + k] = 0;
    for (i = 0; i < 3; i++) {
        const size_t row = 3 * (size_t)(node[i] - tree->first_node);
        point = csim_madd(point, weight[i], csimi_load3(s->x + 3 * (size_t)node[i]));
        for (c = 0; c < 3; c++)
            for (k = 0; k < n; k++)
                x[3 + k] += (double)weight[i] * body[c] * w->m.shape[(row + (size_t)c) * (size_t)n + (size_t)k];
    }
    csimi_load64(csim_unrotate(w->frame.rotation, csim_cross(csim_sub(point, w->frame.position), impulse)), x);
    for (c = 0; w->anchored && c < 3; c++) x[c] = 0;
    if (!csimi_cholesky(size, w->A, NULL, NULL)) return;
    csimi_cholesky_solve(size, w->A, NULL, x);
    if (!w->anchored)
        csimi_store3(rate, csim_madd(csimi_load3(rate), 1 / s->tree_link[tree->first_link].mass, impulse));
    csimi_store3(rate + 3, csim_add(csimi_load3(rate + 3), csim_rotate(w->frame.rotation, csimi_from64(x))));
    for (k = 0; k < n; k++) rate[6 + k] += (csim_real)x[3 + k];
}

/* Adds to one entry of the matrix of a tree, on or below the diagonal, padded coordinates. */
static void csimi_tree_entry(const csimi_state *s, const csimi_tree *tree, int row, int col, csim_real m,
                               csim_real *val) {
    const csimi_tree_row to = csimi_tree_row_of(s, tree, row, val);
    csimi_tree_row_add(&to, col, m);
}

/* A and b = A z - misfit(z): the equations of the free motion made linear at its own rates. */
CSIMI_FN void csimi_reduced_assemble(const csimi_state *s, int t, const csimi_step *step, csimi_system *system) {
    const csimi_tree *tree = s->tree + t;
    const size_t block = (size_t)(csimi_first_coord_block(s) + tree->first_block);
    const csim_real *vk = system->vk + 3 * block;
    const csim_real *at = s->coord_free + 3 * (size_t)tree->first_block;
    csim_real *b = system->b + 3 * block, *val = system->A.val;
    csimi_reduced_work *w = csimi_reduced_start(s, t, step);
    const int n = w->m.modes, size = 3 + n;
    const csim_real mass = s->tree_link[tree->first_link].mass;
    double body[3][3];
    int i, j, k;
    csimi_load64(csim_unrotate(w->frame.rotation, csimi_load3(at + 3)), w->z);
    for (k = 0; k < n; k++) w->z[3 + k] = (double)at[6 + k];
    csimi_reduced_misfit(w, true);
    csimi_reduced_definite(w);
    for (i = 0; i < size; i++)
        for (w->step[i] = -w->r[i], j = 0; j < size; j++) w->step[i] += w->A[size * i + j] * w->z[j];
    for (i = 0; i < 3; i++) {
        csim_real e[3] = {0, 0, 0};
        e[i] = 1;
        csimi_load64(csim_unrotate(w->frame.rotation, csimi_load3(e)), body[i]); /* world axis i in the body */
        csimi_tree_entry(s, tree, i, i, mass * (1 / step->theta + step->h * tree->mass_damping), val);
        b[i] += mass / step->theta * vk[i] + step->h * ((csim_real)w->force[i] + mass * tree->gravity * s->gravity[i]);
        b[3 + i] += (csim_real)csimi_dot64(body[i], w->step);
    }
    for (i = 0; i < 3; i++)
        for (j = 0; j <= i; j++) {
            double sum = 0;
            for (k = 0; k < 9; k++) sum += body[i][k / 3] * w->A[size * (k / 3) + k % 3] * body[j][k % 3];
            csimi_tree_entry(s, tree, 3 + i, 3 + j, (csim_real)sum, val);
        }
    for (k = 0; k < n; k++) {
        b[6 + k] += (csim_real)w->step[3 + k];
        for (i = 0; i < 3; i++)
            csimi_tree_entry(s, tree, 6 + k, 3 + i, (csim_real)csimi_dot64(body[i], w->A + size * (3 + k)), val);
        for (j = 0; j <= k; j++) csimi_tree_entry(s, tree, 6 + k, 6 + j, (csim_real)w->A[size * (3 + k) + 3 + j], val);
    }
}

/* ---- motion and points */

CSIMI_FN void csimi_reduced_follow(const csimi_state *s, int t, const csim_real *rate, csim_real *x) {
    const csimi_tree *tree = s->tree + t;
    const csim_modes_view m = csimi_reduced_view(s, tree);
    const csim_pose frame = csimi_link_pose(s, tree->first_link);
    const csim_real *q = s->coord_position + 3 * (size_t)tree->first_block + 6;
    int i, c, k;
    for (i = 0; i < tree->node_count; i++) {
        double y[3], u[3];
        csim_vec3 at;
        for (c = 0; c < 3; c++) {
            const double *row = m.shape + (size_t)(3 * i + c) * (size_t)m.modes;
            y[c] = m.rest[3 * i + c];
            for (u[c] = 0, k = 0; k < m.modes; k++) {
                y[c] += row[k] * (double)q[k];
                if (rate) u[c] += row[k] * (double)rate[6 + k];
            }
        }
        at = csim_rotate(frame.rotation, csimi_from64(y));
        if (rate)
            at = csim_add(csim_add(csimi_load3(rate), csim_cross(csimi_load3(rate + 3), at)),
                          csim_rotate(frame.rotation, csimi_from64(u)));
        else
            at = csim_add(frame.position, at);
        csimi_store3(x + 3 * (size_t)(tree->first_node + i), at);
    }
}

CSIMI_FN void csimi_reduced_advance(const csimi_state *s, int t, const csimi_step *step, const csim_real *rate,
                                    csimi_state *next) {
    const csimi_tree *tree = s->tree + t;
    const csim_real *q = s->link_position + 7 * (size_t)tree->first_link, h = step->h;
    csim_real *to = next->link_position + 7 * (size_t)tree->first_link;
    const size_t first = 3 * (size_t)tree->first_block;
    csim_quat turn = csim_quat_exp(csim_scale(h, csimi_load3(rate + 3)));
    int k;
    csimi_store3(to, csim_madd(csimi_load3(q), h, csimi_load3(rate)));
    csimi_store_quat(to + 3, csim_quat_normalize(csim_quat_mul(turn, csimi_load_quat(q + 3))));
    for (k = 0; k < 3 * tree->block_count; k++)
        next->coord_position[first + (size_t)k] =
            k < 6 || k >= 6 + tree->modes ? 0 : s->coord_position[first + (size_t)k] + h * rate[k];
    csimi_tree_forward(s, t, next->link_position, next->link_pose);
    csimi_reduced_follow(next, t, NULL, next->x);
}

CSIMI_FN csimi_tree_totals csimi_reduced_measure(const csimi_state *s, int t, const csim_real *rate) {
    const csimi_tree *tree = s->tree + t;
    const csimi_reduced_work *w = csimi_reduced_load(s, t, rate);
    double v[3], moment[3] = {0, 0, 0};
    csimi_tree_totals sum;
    int k, c;
    CSIMI_MEMSET(&sum, 0, sizeof sum);
    sum.mass = s->tree_link[tree->first_link].mass;
    sum.origin = w->frame.position;
    sum.momentum.v = csim_scale(sum.mass, csimi_load3(rate));
    sum.momentum.w = csim_rotate(w->frame.rotation, csimi_from64(w->P1));
    csimi_load64(csimi_load3(rate), v);
    sum.kinetic = (double)sum.mass * csimi_dot64(v, v) / 2;
    for (k = 0; k < 3 + tree->modes; k++) sum.kinetic += w->w1[k] * w->P1[k] / 2;
    for (k = 0; k < tree->modes; k++)
        for (c = 0; c < 3; c++) moment[c] += w->m.first[3 * k + c] * w->q1[k];
    sum.first_moment = csim_rotate(w->frame.rotation, csimi_from64(moment));
    return sum;
}

CSIMI_FN double csimi_reduced_elastic(const csimi_state *s, int t) {
    csimi_reduced_work *w = csimi_reduced_load(s, t, s->coord_rate + 3 * (size_t)s->tree[t].first_block);
    return csimi_modal_elastic(&w->m, w->q1, NULL, NULL, w->poly);
}

/* A node moves with [1, -[x - c]x, R U]. */
CSIMI_FN int csimi_reduced_terms(const csimi_state *s, int count, const int *node, const csim_real *W, int *block,
                                 csim_real *J) {
    const csimi_tree *tree = s->tree + s->node_tree[node[0]];
    const csim_modes_view m = csimi_reduced_view(s, tree);
    const csim_pose frame = csimi_link_pose(s, tree->first_link);
    int a, c, k;
    for (k = 0; k < 9 * tree->block_count; k++) J[k] = 0;
    for (k = 0; k < tree->block_count; k++) block[k] = csimi_first_coord_block(s) + tree->first_block + k;
    for (a = 0; a < count; a++) {
        const size_t row = (size_t)(3 * (node[a] - tree->first_node)) * (size_t)m.modes;
        csim_real arm[3], skew[9], turn[9];
        csimi_store3(arm, csim_sub(frame.position, csimi_load3(s->x + 3 * (size_t)node[a])));
        csimi_skew(arm, skew);
        csimi_matmul(W + 9 * a, skew, turn);
        for (k = 0; k < 9; k++) {
            J[k] += W[9 * a + k];
            J[9 + k] += turn[k];
        }
        for (k = 0; k < m.modes; k++) {
            double u[3];
            csim_real column[3], y[3] = {0, 0, 0};
            for (c = 0; c < 3; c++) u[c] = m.shape[row + (size_t)(c * m.modes + k)];
            csimi_store3(column, csim_rotate(frame.rotation, csimi_from64(u)));
            csimi_addmul3(W + 9 * a, column, y);
            for (c = 0; c < 3; c++) J[9 * (2 + k / 3) + 3 * c + k % 3] += y[c];
        }
    }
    return tree->block_count;
}
