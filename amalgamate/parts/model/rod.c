/* model/rod: Cosserat cables with positions at the nodes and frames on the edges. An edge stretches and
   shears, a bend element between two frames (or a frame and a body) bends and twists:

       Gamma = R'dx / l - e3,    kappa = 2 v / l - kappa0   with (s, v) = conj(q_a) q_b
       psi   = l/2 Gamma'C Gamma + l/2 kappa'D kappa

   Turns are increments in world axes, R <- exp([theta]x) R. */
#include "private.h"

/* R diag(d) R' for the frame q, symmetric to the bit. */
static void csimi_cable_turn(csim_quat q, const csim_real *d, csim_real *M) {
    csim_mat3 R = csim_quat_matrix(q);
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j <= i; j++)
            M[3 * i + j] = M[3 * j + i] = R.m[3 * i] * d[0] * R.m[3 * j] + R.m[3 * i + 1] * d[1] * R.m[3 * j + 1] +
                                          R.m[3 * i + 2] * d[2] * R.m[3 * j + 2];
}

CSIMI_FN void csimi_frame_inertia_world(const csimi_state *s, int k, csim_real *I) {
    csimi_cable_turn(csimi_load_quat(s->frame + 4 * (size_t)k), s->frame_inertia + 3 * (size_t)k, I);
}

/* ---- stretch and shear of an edge */

typedef struct csimi_edge_view {
    csim_real dx[3];     /* m */
    csim_real strain[3]; /* Gamma, edge axes */
    csim_real N[3];      /* N, force of the edge on its first node, world axes */
    csim_real length;    /* at rest, m */
} csimi_edge_view;

static csimi_edge_view csimi_edge_look(const csimi_state *s, int k) {
    const int *node = s->edge_node + 2 * (size_t)k;
    const csim_real *data = s->edge_data + 6 * (size_t)k;
    csim_quat q = csimi_load_quat(s->frame + 4 * (size_t)k);
    csimi_edge_view e;
    csim_vec3 force, d = csim_sub(csimi_load3(s->x + 3 * (size_t)node[1]), csimi_load3(s->x + 3 * (size_t)node[0]));
    e.length = data[0];
    csimi_store3(e.dx, d);
    csimi_store3(e.strain, csim_scale(1 / e.length, csim_unrotate(q, d)));
    e.strain[2] -= 1;
    force = csim_v3(data[1] * e.strain[0], data[2] * e.strain[1], data[3] * e.strain[2]);
    csimi_store3(e.N, csim_rotate(q, force));
    return e;
}

/* ---- geometric stiffness. With w = d dx - theta x dx the second variation is w'Kc w + 2 w'S theta + theta'G theta,
   S = -[N]x, G = (dx.N) I - (N dx' + dx N')/2. Completing the square, what remains for theta alone is G - Y with
   Y = S'Kc^-1 S: its negative part is dropped, everything else is kept. */

/* P = (G - Y)+ + Y */
static void csimi_edge_remainder(const csimi_edge_view *e, const csim_real *S, const csim_real *compliance,
                                 csim_real *P) {
    csim_real CS[9], Y[9], D[9], value[3], V[9], dot = csim_dot(csimi_load3(e->dx), csimi_load3(e->N));
    int i, j, k;
    csimi_matmul(compliance, S, CS);
    csimi_matTmul(S, CS, Y);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            D[3 * i + j] =
                (i == j ? dot : 0) - (e->N[i] * e->dx[j] + e->dx[i] * e->N[j]) / 2 - (Y[3 * i + j] + Y[3 * j + i]) / 2;
    csimi_eigen_sym3(D, value, V);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            P[3 * i + j] = (Y[3 * i + j] + Y[3 * j + i]) / 2;
            for (k = 0; k < 3; k++) P[3 * i + j] += csimi_max(value[k], 0) * V[3 * i + k] * V[3 * j + k];
        }
}

/* Tangent of an edge in (d dx, theta): stretch [9], cross [9] (d dx row), turn [9]. elastic and geometric weigh the
   two parts. */
static void csimi_edge_tangent(const csimi_state *s, int k, csim_real elastic, csim_real geometric,
                               csim_real *stretch, csim_real *cross, csim_real *turn) {
    const csim_real *data = s->edge_data + 6 * (size_t)k;
    csim_quat q = csimi_load_quat(s->frame + 4 * (size_t)k);
    csimi_edge_view e = csimi_edge_look(s, k);
    csim_real d[3], inverse[3], compliance[9], W[9], KW[9], S[9], WS[9], P[9], minus[3];
    int i, j;
    for (i = 0; i < 3; i++) {
        d[i] = elastic * data[1 + i] / e.length;
        inverse[i] = e.length / data[1 + i];
        minus[i] = -e.N[i];
    }
    csimi_cable_turn(q, d, stretch);
    csimi_cable_turn(q, inverse, compliance);
    csimi_skew(e.dx, W);
    csimi_skew(minus, S);
    csimi_matmul(stretch, W, KW);
    csimi_matTmul(W, KW, turn);
    csimi_matTmul(W, S, WS);
    csimi_edge_remainder(&e, S, compliance, P);
    for (i = 0; i < 9; i++) cross[i] = KW[i] + geometric * S[i];
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) turn[3 * i + j] += geometric * (WS[3 * i + j] + WS[3 * j + i] + P[3 * i + j]);
    for (i = 0; i < 3; i++)
        for (j = 0; j < i; j++) turn[3 * i + j] = turn[3 * j + i] = (turn[3 * i + j] + turn[3 * j + i]) / 2;
}

CSIMI_FN void csimi_edge_force(const csimi_state *s, int k, csim_real *force, csim_real *torque) {
    csimi_edge_view e = csimi_edge_look(s, k);
    csimi_store3(force, csimi_load3(e.N));
    if (torque) csimi_store3(torque, csim_cross(csimi_load3(e.dx), csimi_load3(e.N)));
}

static void csimi_cable_add(csim_real *to, csim_real scale, const csim_real *M) {
    int i;
    for (i = 0; i < 9; i++) to[i] += scale * M[i];
}

static void csimi_cable_add_transpose(csim_real *to, csim_real scale, const csim_real *M) {
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) to[3 * i + j] += scale * M[3 * j + i];
}

static void csimi_edge_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system, int k) {
    const int *node = s->edge_node + 2 * (size_t)k, *slot = s->edge_slot + 9 * (size_t)k;
    csim_real stretch[9], cross[9], turn[9], force[3], torque[3], *val = system->A.val, *b = system->b;
    csim_real weight = step->sigma * step->h * step->h, damping = step->h * s->edge_data[6 * (size_t)k + 4];
    int p, q, c, frame = csimi_first_frame_block(s) + k;
    csimi_edge_tangent(s, k, weight + damping, weight, stretch, cross, turn);
    csimi_edge_force(s, k, force, torque);
    for (p = 0; p < 2; p++)
        for (q = 0; q < 2; q++) csimi_cable_add(val + 9 * (size_t)slot[3 * p + q], p == q ? 1 : -1, stretch);
    for (p = 0; p < 2; p++) {
        csimi_cable_add(val + 9 * (size_t)slot[3 * p + 2], p ? 1 : -1, cross);
        csimi_cable_add_transpose(val + 9 * (size_t)slot[6 + p], p ? 1 : -1, cross);
    }
    csimi_cable_add(val + 9 * (size_t)slot[8], 1, turn);
    for (c = 0; c < 3; c++) {
        b[3 * (size_t)node[0] + (size_t)c] += step->h * force[c];
        b[3 * (size_t)node[1] + (size_t)c] -= step->h * force[c];
        b[3 * (size_t)frame + (size_t)c] += step->h * torque[c];
    }
}

/* ---- bending and twist between two frames */

static csim_quat csimi_bend_rotation(const csimi_state *s, const csimi_bend_end *end) {
    csim_quat own = csimi_load_quat(end->rotation);
    if (end->frame >= 0) return csimi_load_quat(s->frame + 4 * (size_t)end->frame);
    if (end->rigid >= 0) return csim_quat_mul(csimi_load_quat(s->rotation + 4 * (size_t)end->rigid), own);
    return own;
}

/* Block that turns with the end; -1: the world. */
CSIMI_FN int csimi_bend_block(const csimi_state *s, const csimi_bend_end *end) {
    if (end->frame >= 0) return csimi_first_frame_block(s) + end->frame;
    return end->rigid >= 0 ? s->node_count + 2 * end->rigid + 1 : -1;
}

/* conj(a) b with positive scalar part: the shorter way round. */
static csim_quat csimi_bend_between(csim_quat a, csim_quat b) {
    csim_quat q = csim_quat_mul(csim_quat_conj(a), b);
    if (q.w < 0) {
        q.w = -q.w;
        q.x = -q.x;
        q.y = -q.y;
        q.z = -q.z;
    }
    return q;
}

CSIMI_FN void csimi_bend_curvature(csim_quat a, csim_quat b, csim_real length, csim_real *kappa) {
    csim_quat q = csimi_bend_between(a, b);
    csimi_store3(kappa, csim_scale(2 / length, csim_v3(q.x, q.y, q.z)));
}

/* m = D kappa (section axes of end a), N m, and Jd = (s I - [v]x) R_a', so that l d kappa = Jd (theta_b - theta_a). */
static void csimi_bend_look(const csimi_state *s, int k, csim_real *kappa, csim_real *m, csim_real *Jd) {
    const csim_real *data = s->bend_data + 8 * (size_t)k;
    csim_quat a = csimi_bend_rotation(s, s->bend[k].end), b = csimi_bend_rotation(s, s->bend[k].end + 1);
    csim_quat q = csimi_bend_between(a, b);
    csim_mat3 R = csim_quat_matrix(a);
    csim_real T[9], v[3];
    int i;
    csimi_bend_curvature(a, b, data[0], kappa);
    for (i = 0; i < 3; i++) {
        kappa[i] -= data[4 + i];
        m[i] = data[1 + i] * kappa[i];
    }
    v[0] = -q.x;
    v[1] = -q.y;
    v[2] = -q.z;
    csimi_skew(v, T);
    for (i = 0; i < 9; i += 4) T[i] += q.w;
    csimi_matmulT(T, R.m, Jd);
}

/* Torque on end a (end b gets its negative) and tangent of theta_b - theta_a. Gauss-Newton: the geometric terms of
   bending are dropped: they are not positive definite, and small beside those of the tension. */
CSIMI_FN void csimi_bend_law(const csimi_state *s, int k, csim_real *torque, csim_real *K) {
    const csim_real *data = s->bend_data + 8 * (size_t)k;
    csim_real kappa[3], m[3], Jd[9];
    int i, j;
    csimi_bend_look(s, k, kappa, m, Jd);
    torque[0] = torque[1] = torque[2] = 0;
    csimi_addmulT3(Jd, m, torque);
    for (i = 0; i < 3; i++)
        for (j = 0; j <= i; j++)
            K[3 * i + j] = K[3 * j + i] =
                (Jd[i] * data[1] * Jd[j] + Jd[3 + i] * data[2] * Jd[3 + j] + Jd[6 + i] * data[3] * Jd[6 + j]) / data[0];
}

static void csimi_bend_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system, int k) {
    const int *slot = s->bend_slot + 4 * (size_t)k;
    csim_real torque[3], K[9], weight = step->h * (step->sigma * step->h + s->bend_data[8 * (size_t)k + 7]);
    int p, q, c;
    csimi_bend_law(s, k, torque, K);
    for (p = 0; p < 2; p++) {
        int block = csimi_bend_block(s, s->bend[k].end + p);
        if (block < 0) continue;
        for (c = 0; c < 3; c++) system->b[3 * (size_t)block + (size_t)c] += (p ? -step->h : step->h) * torque[c];
        for (q = 0; q < 2; q++)
            if (slot[2 * p + q] >= 0)
                csimi_cable_add(system->A.val + 9 * (size_t)slot[2 * p + q], p == q ? weight : -weight, K);
    }
}

/* ---- the entries of the table */

CSIMI_FN int csimi_cable_couple(const csimi_state *s, int *pairs) {
    int k, count = 0;
    for (k = 0; k < s->frame_count; k++) {
        int a = s->edge_node[2 * k], b = s->edge_node[2 * k + 1], f = csimi_first_frame_block(s) + k;
        if (pairs) {
            int *p = pairs + 2 * (size_t)count;
            p[0] = p[2] = a;
            p[1] = p[4] = b;
            p[3] = p[5] = f;
        }
        count += 3;
    }
    for (k = 0; k < s->bend_count; k++) {
        int a = csimi_bend_block(s, s->bend[k].end), b = csimi_bend_block(s, s->bend[k].end + 1);
        if (a < 0 || b < 0) continue;
        if (pairs) {
            pairs[2 * (size_t)count] = a;
            pairs[2 * (size_t)count + 1] = b;
        }
        count++;
    }
    return count;
}

CSIMI_FN void csimi_cable_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int k, p, q;
    for (k = 0; k < s->frame_count; k++) {
        int block[3];
        block[0] = s->edge_node[2 * k];
        block[1] = s->edge_node[2 * k + 1];
        block[2] = csimi_first_frame_block(s) + k;
        for (p = 0; p < 3; p++)
            for (q = 0; q < 3; q++) s->edge_slot[9 * k + 3 * p + q] = csimi_pattern_find(pattern, block[p], block[q]);
    }
    for (k = 0; k < s->bend_count; k++)
        for (p = 0; p < 2; p++)
            for (q = 0; q < 2; q++) {
                int a = csimi_bend_block(s, s->bend[k].end + p), b = csimi_bend_block(s, s->bend[k].end + q);
                s->bend_slot[4 * k + 2 * p + q] = a >= 0 && b >= 0 ? csimi_pattern_find(pattern, a, b) : -1;
            }
}

/* The gyroscopic update of rigid bodies, for the turning edges. */
CSIMI_FN void csimi_cable_prepare(const csimi_state *s, const csimi_step *step, csim_real *vk) {
    int k, first = csimi_first_frame_block(s);
    for (k = 0; k < s->frame_count; k++) {
        const csim_real *I = s->frame_inertia + 3 * (size_t)k;
        csim_real inertia[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        if (s->frame_mode[k] != CSIMI_FREE) continue;
        inertia[0] = I[0];
        inertia[4] = I[1];
        inertia[8] = I[2];
        csimi_gyro_turn(csimi_load_quat(s->frame + 4 * (size_t)k), inertia, step, vk + 3 * ((size_t)first + (size_t)k));
    }
}

CSIMI_FN void csimi_cable_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    csim_real h = step->h, inverse_theta = 1 / step->theta;
    int k, c, first = csimi_first_frame_block(s);
    for (k = 0; k < s->frame_count; k++) {
        csim_real *D = system->A.val + 9 * (size_t)s->edge_slot[9 * (size_t)k + 8], I[9], L[3];
        size_t at = 3 * ((size_t)first + (size_t)k);
        csimi_frame_inertia_world(s, k, I);
        csimi_mul3(I, system->vk + at, L);
        for (c = 0; c < 3; c++) system->b[at + (size_t)c] += inverse_theta * L[c] + h * s->frame_torque[3 * k + c];
        csimi_cable_add(D, inverse_theta + h * s->frame_damping[k], I);
        csimi_edge_assemble(s, step, system, k);
    }
    for (k = 0; k < s->bend_count; k++) csimi_bend_assemble(s, step, system, k);
}

CSIMI_FN void csimi_cable_advance(const csimi_state *s, const csimi_step *step, const csim_real *v, csimi_state *next) {
    int k;
    const csim_real *w = v + 3 * (size_t)csimi_first_frame_block(s);
    for (k = 0; k < s->frame_count; k++) {
        csim_quat turn = csim_quat_exp(csim_scale(step->h, csimi_load3(w + 3 * (size_t)k)));
        csim_quat q = csim_quat_mul(turn, csimi_load_quat(s->frame + 4 * (size_t)k));
        csimi_store_quat(next->frame + 4 * (size_t)k, csim_quat_normalize(q));
    }
}

CSIMI_FN void csimi_cable_energy(const csimi_state *s, csimi_energy *energy) {
    int k, c;
    for (k = 0; k < s->frame_count; k++) {
        csimi_edge_view e = csimi_edge_look(s, k);
        const csim_real *data = s->edge_data + 6 * (size_t)k, *w = s->frame_velocity + 3 * (size_t)k;
        csim_real I[9], L[3];
        csimi_frame_inertia_world(s, k, I);
        csimi_mul3(I, w, L);
        for (c = 0; c < 3; c++) {
            energy->kinetic += (double)w[c] * (double)L[c] / 2;
            energy->elastic += (double)e.length * (double)data[1 + c] * (double)e.strain[c] * (double)e.strain[c] / 2;
        }
    }
    for (k = 0; k < s->bend_count; k++) {
        const csim_real *data = s->bend_data + 8 * (size_t)k;
        csim_real kappa[3], m[3], Jd[9];
        csimi_bend_look(s, k, kappa, m, Jd);
        for (c = 0; c < 3; c++) energy->elastic += (double)data[0] * (double)m[c] * (double)kappa[c] / 2;
    }
}
