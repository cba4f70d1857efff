/* Cables: energy, forces and tangents against differences, and the world against exact answers of rods and ropes. */
#define CHECK_ALONE
#include "check.h"
#include <math.h>

/* ---- the model by itself, on plain arrays */

enum { EDGES = 4, NODES = EDGES + 1, BLOCKS = NODES + EDGES, SIZE = 3 * BLOCKS, BENDS = EDGES + 1 };

typedef struct rod {
    csimi_state s;
    csimi_system system;
    csimi_step step;
    csim_real x[3 * NODES], v[3 * NODES], mass[NODES], force[3 * NODES], damping[NODES];
    csim_real frame[4 * EDGES], turn[3 * EDGES], inertia[3 * EDGES], torque[3 * EDGES], frame_damping[EDGES];
    csim_real edge_data[6 * EDGES], bend_data[8 * BENDS], b[SIZE], vk[SIZE], val[9 * BLOCKS * BLOCKS];
    unsigned char node_mode[NODES], frame_mode[EDGES];
    int edge_node[2 * EDGES], edge_slot[9 * EDGES], bend_slot[4 * BENDS];
    csimi_bend bend[BENDS];
    int row[BLOCKS + 1], col[BLOCKS * BLOCKS], diag[BLOCKS];
} rod;

static csim_quat random_turn(double angle) {
    return csim_quat_exp(csim_v3((csim_real)check_random(-angle, angle), (csim_real)check_random(-angle, angle),
                                 (csim_real)check_random(-angle, angle)));
}

static csim_vec3 random_vector(double size) {
    return csim_v3((csim_real)check_random(-size, size), (csim_real)check_random(-size, size),
                   (csim_real)check_random(-size, size));
}

static void rod_pattern(rod *r) {
    int pairs[2 * (3 * EDGES + BENDS)], scratch[2 * (BLOCKS + 3 * EDGES + BENDS) + 1], needed, count;
    count = csimi_cable_couple(&r->s, pairs);
    r->system.A.n = BLOCKS;
    r->system.A.row = r->row;
    r->system.A.col = r->col;
    r->system.A.diag = r->diag;
    r->system.A.val = r->val;
    csimi_pattern_build(BLOCKS, count, pairs, r->row, r->col, r->diag, BLOCKS * BLOCKS, &needed, scratch);
    csimi_cable_bind(&r->s, &r->system.A);
}

/* A bent, twisted, sheared chain with rest curvature, both ends clamped to the world; stretched by `stretch`. */
static void make_rod(rod *r, double stretch, double shear) {
    csimi_state *s = &r->s;
    csim_quat q = random_turn(1);
    int i, k;
    memset(r, 0, sizeof *r);
    s->node_count = NODES;
    s->frame_count = EDGES;
    s->bend_count = BENDS;
    s->x = r->x;
    s->v = r->v;
    s->node_mass = r->mass;
    s->node_force = r->force;
    s->node_damping = r->damping;
    s->node_mode = r->node_mode;
    s->frame = r->frame;
    s->frame_velocity = r->turn;
    s->frame_inertia = r->inertia;
    s->frame_torque = r->torque;
    s->frame_damping = r->frame_damping;
    s->frame_mode = r->frame_mode;
    s->edge_node = r->edge_node;
    s->edge_data = r->edge_data;
    s->edge_slot = r->edge_slot;
    s->bend = r->bend;
    s->bend_data = r->bend_data;
    s->bend_slot = r->bend_slot;
    for (i = 0; i < EDGES; i++) {
        csim_real length = (csim_real)check_random(0.08, 0.12);
        csim_vec3 along = csim_add(csim_scale((csim_real)(1 + stretch), csim_v3(0, 0, 1)), random_vector(shear));
        if (i) q = csim_quat_mul(random_turn(0.3), q);
        csimi_store_quat(r->frame + 4 * i, csim_quat_normalize(q));
        csimi_store3(r->x + 3 * (i + 1),
                     csim_add(csimi_load3(r->x + 3 * i), csim_scale(length, csim_rotate(q, along))));
        r->edge_node[2 * i] = i;
        r->edge_node[2 * i + 1] = i + 1;
        r->edge_data[6 * i] = length;
        for (k = 0; k < 3; k++) r->edge_data[6 * i + 1 + k] = (csim_real)check_random(20, 40);
        r->inertia[3 * i] = CSIM_R(1e-3);
        r->inertia[3 * i + 1] = CSIM_R(1.5e-3);
        r->inertia[3 * i + 2] = CSIM_R(2e-3);
    }
    for (i = 0; i < NODES; i++) r->mass[i] = CSIM_R(0.5);
    for (i = 0; i < BENDS; i++) {
        csimi_bend_end *end = r->bend[i].end;
        end[0].rigid = end[1].rigid = -1;
        end[0].frame = i - 1;
        end[1].frame = i < EDGES ? i : -1;
        csimi_store_quat(end[0].rotation, csim_quat_mul(random_turn(0.3), csimi_load_quat(r->frame)));
        csimi_store_quat(end[1].rotation, csim_quat_mul(random_turn(0.3), csimi_load_quat(r->frame + 4 * (EDGES - 1))));
        r->bend_data[8 * i] = i == 0 || i == EDGES ? CSIM_R(0.05) : CSIM_R(0.1);
        for (k = 0; k < 3; k++) {
            r->bend_data[8 * i + 1 + k] = (csim_real)check_random(0.1, 0.3);
            r->bend_data[8 * i + 4 + k] = (csim_real)check_random(-1, 1);
        }
    }
    r->step.h = r->step.theta = 1;
    rod_pattern(r);
    r->system.b = r->b;
    r->system.vk = r->vk;
}

static double rod_energy(const rod *r) {
    csimi_energy e;
    memset(&e, 0, sizeof e);
    csimi_cable_energy(&r->s, &e);
    return e.elastic;
}

/* Moves block i / 3 along coordinate i % 3. */
static void rod_move(rod *r, int i, csim_real by) {
    csim_real d[3] = {0, 0, 0};
    int block = i / 3;
    d[i % 3] = by;
    if (block < NODES) {
        r->x[i] += by;
    } else {
        csim_real *q = r->frame + 4 * (block - NODES);
        csimi_store_quat(q, csim_quat_normalize(csim_quat_mul(csim_quat_exp(csimi_load3(d)), csimi_load_quat(q))));
    }
}

/* b and A of the elastic part alone: masses are left out of both. */
static void rod_assemble(rod *r, csim_real sigma) {
    csim_real inertia[3 * EDGES];
    memcpy(inertia, r->inertia, sizeof inertia);
    memset(r->inertia, 0, sizeof r->inertia);
    memset(r->b, 0, sizeof r->b);
    memset(r->val, 0, sizeof r->val);
    r->step.sigma = sigma;
    csimi_cable_assemble(&r->s, &r->step, &r->system);
    memcpy(r->inertia, inertia, sizeof inertia);
}

static void rod_dense(const rod *r, double *K) {
    int i, j, k;
    memset(K, 0, sizeof(double) * SIZE * SIZE);
    for (i = 0; i < BLOCKS; i++)
        for (k = r->row[i]; k < r->row[i + 1]; k++)
            for (j = 0; j < 9; j++) K[(3 * i + j / 3) * SIZE + 3 * r->col[k] + j % 3] = (double)r->val[9 * k + j];
}

static double largest(int n, const double *a) {
    double most = 0;
    int i;
    for (i = 0; i < n; i++) most = fabs(a[i]) > most ? fabs(a[i]) : most;
    return most;
}

/* Central differences: truncation goes with eps^2, rounding with unit / eps. */
static const double DIFFERENCE = TOL(1e-5, 1e-2);

TEST(cable_force_is_minus_the_gradient_of_its_energy) {
    static rod r, moved;
    int trial, i;
    for (trial = 0; trial < 20; trial++) {
        double g[SIZE], f[SIZE];
        make_rod(&r, check_random(-0.3, 0.3), 0.2);
        rod_assemble(&r, 0);
        for (i = 0; i < SIZE; i++) {
            double up, down;
            moved = r;
            moved.s.x = moved.x;
            moved.s.frame = moved.frame;
            rod_move(&moved, i, (csim_real)DIFFERENCE);
            up = rod_energy(&moved);
            memcpy(moved.x, r.x, sizeof r.x);
            memcpy(moved.frame, r.frame, sizeof r.frame);
            rod_move(&moved, i, (csim_real)-DIFFERENCE);
            down = rod_energy(&moved);
            g[i] = -(up - down) / (2 * DIFFERENCE);
            f[i] = (double)r.b[i];
        }
        CASE("trial %d", trial);
        for (i = 0; i < SIZE; i++) NEAR(f[i], g[i], TOL(1e-6, 2e-2) * largest(SIZE, g));
    }
}

/* The second variation in formulas, nothing projected: w'Kc w + 2 w'S theta + theta'G theta for an edge,
   delta'K delta - (v.m)/2 |delta|^2 + M.(theta_b x theta_a) for a bend. */
static void exact_edge(const rod *r, int k, double *H) {
    const csim_real *data = r->edge_data + 6 * k, *x = r->x + 3 * k;
    csim_mat3 R = csim_quat_matrix(csimi_load_quat(r->frame + 4 * k));
    double dx[3], N[3] = {0, 0, 0}, B[6][9], Q[6][6], dot = 0;
    int i, j, a, b;
    for (i = 0; i < 3; i++) dx[i] = (double)x[3 + i] - (double)x[i];
    for (j = 0; j < 3; j++) {
        double gamma = j == 2 ? -1 : 0;
        for (i = 0; i < 3; i++) gamma += (double)R.m[3 * i + j] * dx[i] / (double)data[0];
        for (i = 0; i < 3; i++) N[i] += (double)R.m[3 * i + j] * (double)data[1 + j] * gamma;
    }
    for (i = 0; i < 3; i++) dot += dx[i] * N[i];
    memset(B, 0, sizeof B);
    memset(Q, 0, sizeof Q);
    for (i = 0; i < 3; i++) { /* (w, theta) = B (x_i, x_j, theta), w = x_j - x_i + [dx]x theta */
        int p = (i + 1) % 3, q = (i + 2) % 3;
        B[i][i] = -1;
        B[i][3 + i] = 1;
        B[i][6 + q] += dx[p];
        B[i][6 + p] -= dx[q];
        B[3 + i][6 + i] = 1;
        Q[i][3 + q] -= N[p]; /* S = -[N]x */
        Q[i][3 + p] += N[q];
        Q[3 + q][i] -= N[p];
        Q[3 + p][i] += N[q];
        for (j = 0; j < 3; j++) {
            for (a = 0; a < 3; a++)
                Q[i][j] += (double)R.m[3 * i + a] * (double)data[1 + a] * (double)R.m[3 * j + a] / (double)data[0];
            Q[3 + i][3 + j] += (i == j ? dot : 0) - (N[i] * dx[j] + dx[i] * N[j]) / 2;
        }
    }
    for (a = 0; a < 9; a++)
        for (b = 0; b < 9; b++) {
            int row = (a < 6 ? 3 * k + a : 3 * (NODES + k) + a - 6),
                col = (b < 6 ? 3 * k + b : 3 * (NODES + k) + b - 6);
            for (i = 0; i < 6; i++)
                for (j = 0; j < 6; j++) H[row * SIZE + col] += B[i][a] * Q[i][j] * B[j][b];
        }
}

/* The two terms of a bend that the library drops. */
static void exact_bend_geometry(const rod *r, int k, double *H) {
    csim_real kappa[3], m[3], Jd[9], M[3] = {0, 0, 0};
    double vm = 0, cross[9];
    int i, block[2], end, p, q;
    csimi_bend_look(&r->s, k, kappa, m, Jd);
    csimi_addmulT3(Jd, m, M);
    for (i = 0; i < 3; i++)
        vm +=
            0.5 * (double)r->bend_data[8 * k] * ((double)kappa[i] + (double)r->bend_data[8 * k + 4 + i]) * (double)m[i];
    for (end = 0; end < 2; end++) block[end] = csimi_bend_block(&r->s, r->bend[k].end + end);
    cross[0] = cross[4] = cross[8] = 0;
    cross[1] = -(double)M[2], cross[3] = (double)M[2];
    cross[2] = (double)M[1], cross[6] = -(double)M[1];
    cross[5] = -(double)M[0], cross[7] = (double)M[0];
    for (p = 0; p < 2; p++)
        for (q = 0; q < 2; q++)
            for (i = 0; i < 9 && block[p] >= 0 && block[q] >= 0; i++) {
                double *to = H + (3 * block[p] + i / 3) * SIZE + 3 * block[q] + i % 3;
                if (i % 4 == 0) *to += (p == q ? -0.5 : 0.5) * vm;
                if (p != q) *to += (p ? -0.5 : 0.5) * cross[i];
            }
}

static void difference_hessian(const rod *r, double *H) {
    static rod moved;
    int i, j, sign;
    memset(H, 0, sizeof(double) * SIZE * SIZE);
    for (i = 0; i < SIZE; i++)
        for (sign = -1; sign <= 1; sign += 2) {
            moved = *r;
            moved.s.x = moved.x;
            moved.s.frame = moved.frame;
            moved.system.b = moved.b;
            moved.system.A.val = moved.val;
            rod_move(&moved, i, (csim_real)(sign * DIFFERENCE));
            rod_assemble(&moved, 0);
            for (j = 0; j < SIZE; j++) {
                double d = -sign * (double)moved.b[j] / (2 * DIFFERENCE) / 2;
                H[j * SIZE + i] += d; /* turns do not commute: the second variation is the symmetric part */
                H[i * SIZE + j] += d;
            }
        }
}

TEST(cable_tangent_is_the_second_variation_but_for_what_softens) {
    static rod r;
    static double K[SIZE * SIZE], H[SIZE * SIZE], D[SIZE * SIZE];
    int trial, i, k;
    for (trial = 0; trial < 12; trial++) {
        const bool pure = trial < 4; /* tension without shear: nothing of an edge is dropped */
        double scale;
        CASE("trial %d", trial);
        make_rod(&r, pure ? check_random(0.1, 0.3) : check_random(-0.3, 0.3), pure ? 0 : 0.2);
        rod_assemble(&r, 1);
        rod_dense(&r, K);
        difference_hessian(&r, D);
        scale = largest(SIZE * SIZE, D);
        memset(H, 0, sizeof H);
        for (k = 0; k < BENDS; k++) exact_bend_geometry(&r, k, H);
        for (k = 0; k < BENDS; k++) { /* the kept part of bends, as assembled */
            csim_real torque[3], G[9];
            int p, q, block[2];
            csimi_bend_law(&r.s, k, torque, G);
            for (p = 0; p < 2; p++) block[p] = csimi_bend_block(&r.s, r.bend[k].end + p);
            for (p = 0; p < 2; p++)
                for (q = 0; q < 2; q++)
                    for (i = 0; i < 9 && block[p] >= 0 && block[q] >= 0; i++)
                        H[(3 * block[p] + i / 3) * SIZE + 3 * block[q] + i % 3] += (p == q ? 1 : -1) * (double)G[i];
        }
        for (k = 0; k < EDGES; k++) exact_edge(&r, k, H);
        for (i = 0; i < SIZE * SIZE; i++) NEAR(H[i], D[i], TOL(1e-6, 2e-2) * scale);
        for (i = 0; i < SIZE * SIZE; i++) D[i] = K[i] - H[i]; /* what was clamped or dropped */
        for (k = 0; k < BENDS; k++) {
            static double G[SIZE * SIZE];
            memset(G, 0, sizeof G);
            exact_bend_geometry(&r, k, G);
            for (i = 0; i < SIZE * SIZE; i++) D[i] += G[i];
        }
        if (pure)
            for (i = 0; i < SIZE * SIZE; i++) NEAR(D[i], 0, TOL(1e-9, 1e-4) * scale);
        for (i = 0; i < SIZE; i++) D[i * SIZE + i] += TOL(1e-9, 1e-4) * scale;
        CHECK(csimi_cholesky(SIZE, D)); /* the tangent majorises the true one of the edges: only softening is dropped */
    }
}

TEST(cable_tangent_is_symmetric_and_positive) {
    static rod r;
    static double K[SIZE * SIZE];
    int trial, i, j;
    for (trial = 0; trial < 60; trial++) {
        double scale;
        CASE("trial %d", trial);
        make_rod(&r, check_random(-0.9, 2), check_random(0, 2)); /* crushed, stretched, sheared out of any sense */
        r.step.sigma = 1;
        rod_assemble(&r, 1);
        rod_dense(&r, K);
        scale = largest(SIZE * SIZE, K);
        for (i = 0; i < SIZE; i++)
            for (j = 0; j < i; j++) CHECK(K[i * SIZE + j] == K[j * SIZE + i]);
        for (i = 0; i < SIZE; i++) K[i * SIZE + i] += TOL(1e-12, 1e-5) * scale;
        CHECK(csimi_cholesky(SIZE, K));
    }
}
