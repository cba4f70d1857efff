/* Models: particles, rigid bodies, co-rotational tetrahedra, springs; driven by hand, without a world. */
#include "check.h"

/* ---- a small world of plain arrays */

typedef struct rig {
    csimi_state s;
    csimi_system system;
    csimi_step step;
    int n; /* blocks */
    csim_real *v, *rhs, *work;
    unsigned char *pinned; /* [n] */
} rig;

static void *zeros(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (!p) exit(3);
    return p;
}
#define REALS(count) ((csim_real *)zeros((size_t)(count), sizeof(csim_real)))
#define INTS(count) ((int *)zeros((size_t)(count), sizeof(int)))
#define BYTES(count) ((unsigned char *)zeros((size_t)(count), 1))

static csim_real *ones(int count) {
    csim_real *p = REALS(count);
    int i;
    for (i = 0; i < count; i++) p[i] = 1;
    return p;
}

static rig make_rig(int nodes, int rigids, int tets, int springs) {
    rig r;
    csimi_state *s = &r.s;
    int k;
    memset(&r, 0, sizeof r);
    s->node_count = nodes;
    s->x = REALS(3 * nodes);
    s->v = REALS(3 * nodes);
    s->node_mass = REALS(nodes);
    s->node_force = REALS(3 * nodes);
    s->node_damping = REALS(nodes);
    s->node_gravity = ones(nodes);
    s->node_mode = BYTES(nodes);
    s->rigid_count = rigids;
    s->com = REALS(3 * rigids);
    s->rotation = REALS(4 * rigids);
    s->velocity = REALS(6 * rigids);
    s->rigid_mass = REALS(rigids);
    s->rigid_gravity = ones(rigids);
    s->inertia = REALS(9 * rigids);
    s->wrench = REALS(6 * rigids);
    s->rigid_damping = REALS(2 * rigids);
    s->rigid_mode = BYTES(rigids);
    for (k = 0; k < rigids; k++) s->rotation[4 * k] = 1;
    s->tet_count = tets;
    s->tet = INTS(4 * tets);
    s->tet_shape = REALS(9 * tets);
    s->tet_volume = REALS(tets);
    s->tet_lame = REALS(3 * tets);
    s->tet_material = BYTES(tets);
    s->tet_active = REALS(5 * tets);
    s->tet_slot = BYTES(16 * tets);
    s->spring_count = springs;
    s->spring = (csimi_place *)zeros((size_t)(2 * springs), sizeof(csimi_place)); /* the ground */
    s->spring_data = REALS(3 * springs);
    s->spring_slot = INTS(CSIMI_SPRING_SLOTS * springs);
    r.step.h = CSIM_R(0.01);
    r.step.theta = r.step.sigma = 1;
    return r;
}

/* Pattern and arrays of the system, once counts and indices are set. */
static void finish_rig(rig *r) {
    const csimi_model *table = csimi_model_table();
    int m, pair_count = 0, used = 0, blocks, *pairs, *scratch;
    csim_block_matrix *A = &r->system.A;
    A->n = r->n = csimi_block_count(&r->s);
    for (m = 0; m < CSIMI_MODEL_COUNT; m++)
        if (table[m].couple) pair_count += table[m].couple(&r->s, NULL);
    pairs = INTS(2 * pair_count);
    for (m = 0; m < CSIMI_MODEL_COUNT; m++)
        if (table[m].couple) used += table[m].couple(&r->s, pairs + 2 * used);
    EQUAL(used, pair_count);
    scratch = INTS(csimi_pattern_scratch(r->n, pair_count));
    A->row = INTS(r->n + 1);
    A->diag = INTS(r->n);
    A->col = INTS(r->n + 2 * pair_count);
    csimi_pattern_build(r->n, pair_count, pairs, A->row, A->col, A->diag, r->n + 2 * pair_count, &blocks, scratch);
    A->val = REALS(9 * blocks);
    r->system.b = REALS(3 * r->n);
    r->system.vk = REALS(3 * r->n);
    r->v = REALS(3 * r->n);
    r->rhs = REALS(3 * r->n);
    r->work = REALS(21 * r->n);
    r->pinned = BYTES(r->n);
    for (m = 0; m < CSIMI_MODEL_COUNT; m++)
        if (table[m].bind) table[m].bind(&r->s, A);
    free(pairs);
    free(scratch);
}

static void free_rig(rig *r) {
    csimi_state *s = &r->s;
    void *blocks[] = {s->x,
                      s->v,
                      s->node_mass,
                      s->node_force,
                      s->node_damping,
                      s->node_gravity,
                      s->node_mode,
                      s->com,
                      s->rotation,
                      s->velocity,
                      s->rigid_mass,
                      s->inertia,
                      s->wrench,
                      s->rigid_damping,
                      s->rigid_gravity,
                      s->rigid_mode,
                      s->tet,
                      s->tet_shape,
                      s->tet_volume,
                      s->tet_lame,
                      s->tet_material,
                      s->tet_active,
                      s->tet_slot,
                      s->spring,
                      s->spring_data,
                      s->spring_slot,
                      r->system.A.row,
                      r->system.A.col,
                      r->system.A.diag,
                      r->system.A.val,
                      r->system.b,
                      r->system.vk,
                      r->v,
                      r->rhs,
                      r->work,
                      r->pinned};
    size_t i;
    for (i = 0; i < sizeof blocks / sizeof blocks[0]; i++) free(blocks[i]);
}

static void assemble(rig *r) {
    const csimi_model *table = csimi_model_table();
    csim_block_matrix *A = &r->system.A;
    int m;
    memset(A->val, 0, sizeof(csim_real) * 9 * (size_t)A->row[r->n]);
    memset(r->system.b, 0, sizeof(csim_real) * 3 * (size_t)r->n);
    memcpy(r->system.vk, r->s.v, sizeof(csim_real) * 3 * (size_t)r->s.node_count);
    memcpy(r->system.vk + 3 * r->s.node_count, r->s.velocity, sizeof(csim_real) * 6 * (size_t)r->s.rigid_count);
    for (m = 0; m < CSIMI_MODEL_COUNT; m++)
        if (table[m].prepare) table[m].prepare(&r->s, &r->step, r->system.vk);
    for (m = 0; m < CSIMI_MODEL_COUNT; m++)
        if (table[m].assemble) table[m].assemble(&r->s, &r->step, &r->system);
}

/* Gives the pinned blocks the velocity they have in v: their rows become the identity, their columns go right. */
static void apply_pins(rig *r) {
    csim_block_matrix *A = &r->system.A;
    int i, k, c;
    memcpy(r->rhs, r->system.b, sizeof(csim_real) * 3 * (size_t)r->n);
    for (i = 0; i < r->n; i++)
        for (k = A->row[i]; k < A->row[i + 1]; k++) {
            csim_real move[3] = {0, 0, 0};
            if (!r->pinned[i] && !r->pinned[A->col[k]]) continue;
            if (!r->pinned[i]) csimi_addmul3(A->val + 9 * k, r->v + 3 * A->col[k], move);
            for (c = 0; c < 3; c++) r->rhs[3 * i + c] -= move[c];
            for (c = 0; c < 9; c++) A->val[9 * k + c] = A->col[k] == i && c % 4 == 0;
        }
    for (i = 0; i < 3 * r->n; i++)
        if (r->pinned[i / 3]) r->rhs[i] = r->v[i];
}

static int solve(rig *r) {
    apply_pins(r);
    return csimi_pcg(&r->system.A, r->rhs, r->v, TOL(CSIM_R(1e-14), CSIM_R(1e-6)), 2000, r->work, NULL);
}

/* One step: assemble, solve without contacts, advance. */
static void take_step(rig *r) {
    const csimi_model *table = csimi_model_table();
    int m, i, nodes = 3 * r->s.node_count;
    assemble(r);
    CHECK(solve(r) >= 0);
    for (m = 0; m < CSIMI_MODEL_COUNT; m++)
        if (table[m].advance) table[m].advance(&r->s, &r->step, r->v, &r->s);
    for (i = 0; i < 3 * r->n; i++) {
        csim_real vk = r->system.vk[i], next = vk + (r->v[i] - vk) / r->step.theta;
        *(i < nodes ? r->s.v + i : r->s.velocity + (i - nodes)) = r->pinned[i / 3] ? CSIM_R(0) : next;
    }
}

static csimi_energy energy_of(const rig *r) {
    const csimi_model *table = csimi_model_table();
    csimi_energy e = {0, 0, 0};
    int m;
    for (m = 0; m < CSIMI_MODEL_COUNT; m++) table[m].energy(&r->s, &e);
    return e;
}
static double total(csimi_energy e) { return e.kinetic + e.gravity + e.elastic; }

static void use_midpoint(rig *r) { r->step.theta = r->step.sigma = CSIM_R(0.5); }
static csim_real uniform(void) { return CSIM_R(check_random(-1, 1)); }

static csim_quat random_quat(void) {
    csim_quat q;
    q.w = uniform();
    q.x = uniform();
    q.y = uniform();
    q.z = uniform();
    return csim_quat_normalize(q);
}

/* ---- meshes: a box of cells, six tets a cell (Kuhn), inner nodes moved by up to jitter of a cell */

enum { KUHN = 6 };

static int grid_node(const int *cells, int i, int j, int k) { return (k * (cells[1] + 1) + j) * (cells[0] + 1) + i; }
static bool on_boundary(const int *cells, int node) {
    int i = node % (cells[0] + 1), j = node / (cells[0] + 1) % (cells[1] + 1);
    int k = node / (cells[0] + 1) / (cells[1] + 1);
    return i == 0 || j == 0 || k == 0 || i == cells[0] || j == cells[1] || k == cells[2];
}

static void box_tets(const int *cells, int *tet) {
    static const int order[KUHN][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    int c, p, a, count = cells[0] * cells[1] * cells[2];
    for (c = 0; c < count; c++)
        for (p = 0; p < KUHN; p++) {
            int at[3], *t = tet + 4 * (KUHN * c + p);
            at[0] = c % cells[0];
            at[1] = c / cells[0] % cells[1];
            at[2] = c / cells[0] / cells[1];
            t[0] = grid_node(cells, at[0], at[1], at[2]);
            for (a = 0; a < 3; a++) {
                at[order[p][a]]++;
                t[a + 1] = grid_node(cells, at[0], at[1], at[2]);
            }
            if (p >= 3) { /* odd permutations are mirrored */
                a = t[2];
                t[2] = t[3];
                t[3] = a;
            }
        }
}

static rig box_rig(int nx, int ny, int nz, csim_real cell, double jitter, csim_real E, csim_real nu) {
    int cells[3] = {nx, ny, nz}, nodes = (nx + 1) * (ny + 1) * (nz + 1), tets = KUHN * nx * ny * nz, i, t;
    rig r = make_rig(nodes, 0, tets, 0);
    csim_real *density = REALS(tets);
    for (i = 0; i < nodes; i++) {
        csim_real move = on_boundary(cells, i) ? CSIM_R(0) : CSIM_R(jitter);
        r.s.x[3 * i] = cell * (CSIM_R(i % (nx + 1)) + move * uniform());
        r.s.x[3 * i + 1] = cell * (CSIM_R(i / (nx + 1) % (ny + 1)) + move * uniform());
        r.s.x[3 * i + 2] = cell * (CSIM_R(i / (nx + 1) / (ny + 1)) + move * uniform());
    }
    box_tets(cells, r.s.tet);
    for (t = 0; t < tets; t++) {
        density[t] = 1000;
        r.s.tet_lame[3 * t] = E / (2 * (1 + nu));
        r.s.tet_lame[3 * t + 1] = E * nu / ((1 + nu) * (1 - 2 * nu));
    }
    EQUAL(csimi_tet_prepare(tets, r.s.tet, r.s.x, density, r.s.tet_shape, r.s.tet_volume, r.s.node_mass), -1);
    free(density);
    finish_rig(&r);
    return r;
}

/* x <- Q x + c for all nodes */
static void move_nodes(rig *r, const csim_real *M, csim_vec3 shift) {
    int i;
    for (i = 0; i < r->s.node_count; i++) {
        csim_real y[3];
        csimi_mul3(M, r->s.x + 3 * i, y);
        csimi_store3(r->s.x + 3 * i, csim_add(csimi_load3(y), shift));
    }
}

static void shake_nodes(rig *r, double size) {
    int i;
    for (i = 0; i < 3 * r->s.node_count; i++) r->s.x[i] += CSIM_R(size) * uniform();
}

/* Forces alone: b / h with everything at rest and no gravity. */
static void forces(rig *r, csim_real *f) {
    int i;
    assemble(r);
    for (i = 0; i < 3 * r->n; i++) f[i] = r->system.b[i] / r->step.h;
}

static double largest(int count, const csim_real *x) {
    double worst = 0;
    int i;
    for (i = 0; i < count; i++) worst = fabs((double)x[i]) > worst ? fabs((double)x[i]) : worst;
    return worst;
}

/* ---- tetrahedra */

TEST(corotational_stress_is_the_gradient_of_its_energy) {
    const double step = TOL(1e-5, 3e-3); /* about the cube root of eps */
    int trial, i;
    for (trial = 0; trial < 500; trial++) {
        csim_real F[9], P[9], mu = 1, lambda = CSIM_R(check_random(0, 5));
        csim_mat3 Q = csim_quat_matrix(random_quat());
        for (i = 0; i < 9; i++) F[i] = Q.m[i] + CSIM_R(trial % 2 ? 0.3 : 0.05) * uniform();
        if (trial % 4 == 3)
            for (i = 0; i < 3; i++) F[i] = -F[i]; /* inverted */
        csimi_corotational(F, mu, lambda, P);
        for (i = 0; i < 9; i++) {
            csim_real keep = F[i], up, down;
            F[i] = keep + CSIM_R(step);
            up = csimi_corotational(F, mu, lambda, NULL);
            F[i] = keep - CSIM_R(step);
            down = csimi_corotational(F, mu, lambda, NULL);
            F[i] = keep;
            /* central difference: step^2 times third derivatives, which an inverted F has as 1/(s2 + s3)^2 */
            NEAR((double)(up - down) / (2 * step), P[i], TOL(1e-6, 1e-2) * (1 + 5 * (double)lambda));
        }
    }
}

/* A world of everything: solid, particles, rigid bodies, springs of every kind of end. */
static rig zoo(void) {
    rig box = box_rig(2, 1, 1, 1, 0, 1, CSIM_R(0.3)), r = make_rig(box.s.node_count, 3, box.s.tet_count, 12);
    csimi_state *s = &r.s;
    int i, k;
    memcpy(s->x, box.s.x, sizeof(csim_real) * 3 * (size_t)s->node_count);
    memcpy(s->node_mass, box.s.node_mass, sizeof(csim_real) * (size_t)s->node_count);
    memcpy(s->tet, box.s.tet, sizeof(int) * 4 * (size_t)s->tet_count);
    memcpy(s->tet_shape, box.s.tet_shape, sizeof(csim_real) * 9 * (size_t)s->tet_count);
    memcpy(s->tet_volume, box.s.tet_volume, sizeof(csim_real) * (size_t)s->tet_count);
    memcpy(s->tet_lame, box.s.tet_lame, sizeof(csim_real) * 3 * (size_t)s->tet_count);
    free_rig(&box);
    for (i = 0; i < s->node_count; i++) s->node_mass[i] /= 1000;
    for (k = 0; k < 3; k++) {
        csim_quat q = random_quat();
        s->rotation[4 * k] = q.w;
        s->rotation[4 * k + 1] = q.x;
        s->rotation[4 * k + 2] = q.y;
        s->rotation[4 * k + 3] = q.z;
        s->rigid_mass[k] = 1;
        for (i = 0; i < 3; i++) {
            s->com[3 * k + i] = 3 + 2 * uniform();
            s->inertia[9 * k + 4 * i] = CSIM_R(1 + i);
        }
        s->inertia[9 * k + 1] = s->inertia[9 * k + 3] = CSIM_R(0.2);
    }
    for (k = 0; k < 12; k++) {
        csimi_place *a = s->spring + 2 * k, *b = a + 1;
        csim_vec3 p = csim_v3(uniform(), uniform(), uniform()), q = csim_v3(uniform(), uniform(), uniform());
        if (k < 3 || k == 6) /* node-node, node-rigid, node-world, rigid-rigid, rigid-world, one body twice */
            *a = csimi_place_node(k);
        else
            *a = csimi_place_rigid(s, k % 3, csim_add(p, csimi_load3(s->com + 3 * (k % 3))));
        *b = csimi_place_ground(q);
        if (k == 0 || k == 6) *b = csimi_place_node(7 + k / 3);
        if (k == 1 || k == 3 || k == 7)
            *b = csimi_place_rigid(s, (k + 1) % 3, csim_add(q, csimi_load3(s->com + 3 * ((k + 1) % 3))));
        if (k == 5) *b = csimi_place_rigid(s, 2, csim_add(q, csimi_load3(s->com + 6)));
        if (k >= 9) { /* face-rigid, face-node of the same face, face-face with a common node */
            const int corner[3] = {k % 3, 3, 5}, other[3] = {5, 7, 8};
            const csim_real weight[3] = {CSIM_R(0.5), CSIM_R(0.2), CSIM_R(0.3)};
            const csimi_place rigid = *a;
            *a = csimi_place_face(corner, weight, k == 9 ? 0 : CSIM_R(0.4));
            *b = k == 9 ? rigid : k == 10 ? csimi_place_node(5) : csimi_place_face(other, weight, CSIM_R(-0.3));
            if (k == 11) a->local[4] = CSIM_R(0.3), a->local[5] = CSIM_R(-0.2); /* off its foot in the plane, too */
        }
        s->spring_data[3 * k] = k % 2 ? CSIM_R(0.5) : CSIM_R(2.5); /* pulled and pushed */
        s->spring_data[3 * k + 1] = CSIM_R(1 + k);
    }
    s->spring_data[3 * 6] = 0;
    finish_rig(&r);
    return r;
}

/* Moves scalar i of the blocks by d: a coordinate of a node or a centre, or a turn about a world axis. */
static void nudge(rig *r, int i, csim_real d) {
    csimi_state next = r->s;
    csimi_step step = r->step;
    step.h = 1;
    memset(r->v, 0, sizeof(csim_real) * 3 * (size_t)r->n);
    r->v[i] = d;
    csimi_point_advance(&r->s, &step, r->v, &next);
    csimi_rigid_advance(&r->s, &step, r->v, &next);
}

TEST(forces_are_the_gradient_of_the_energy) {
    const csim_real d = CSIM_R(TOL(1e-5, 1e-2));
    rig r = zoo();
    csim_real *f = REALS(3 * r.n);
    int i;
    shake_nodes(&r, 0.1);
    forces(&r, f);
    for (i = 0; i < 3 * r.n; i++) {
        double up, down;
        nudge(&r, i, d);
        up = energy_of(&r).elastic;
        nudge(&r, i, -2 * d);
        down = energy_of(&r).elastic;
        nudge(&r, i, d);
        NEAR(-(up - down) / (2 * (double)d), f[i], TOL(1e-6, 3e-3) * largest(3 * r.n, f));
    }
    free(f);
    free_rig(&r);
}

/* The matrix as a dense one; also checks that blocks (i, j) and (j, i) are transposes to the bit. */
static double *dense_of(const csim_block_matrix *A) {
    int n = 3 * A->n, i, k, c;
    double *H = (double *)zeros((size_t)n * (size_t)n, sizeof(double));
    bool symmetric = true;
    for (i = 0; i < A->n; i++)
        for (k = A->row[i]; k < A->row[i + 1]; k++)
            for (c = 0; c < 9; c++) {
                int j = A->col[k], t = csimi_pattern_find(A, j, i);
                H[n * (3 * i + c / 3) + 3 * j + c % 3] = (double)A->val[9 * k + c];
                symmetric = symmetric && A->val[9 * k + c] == A->val[9 * t + 3 * (c % 3) + c / 3];
            }
    CHECK(symmetric);
    return H;
}

TEST(matrix_is_symmetric_positive_definite) {
    int trial;
    for (trial = 0; trial < 40; trial++) {
        rig r = zoo();
        double *H;
        CASE("trial %d", trial);
        r.step.h = CSIM_R(trial % 3 ? 0.01 : 1);
        if (trial % 2) use_midpoint(&r);
        shake_nodes(&r, 0.1 * trial); /* up to four edge lengths: most elements inverted */
        assemble(&r);
        H = dense_of(&r.system.A);
        CHECK(csimi_cholesky(3 * r.n, H, NULL, NULL));
        free(H);
        free_rig(&r);
    }
}

/* Ranges in any order and of any length give the bits of one loop. */
static void backwards(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    int i, ranges = (count + grain - 1) / grain;
    for (i = ranges - 1; i >= 0; i--) fn(context, i * grain, csimi_imin(count, (i + 1) * grain));
    *(int *)user += ranges;
}

TEST(assembly_has_the_same_bits_in_pieces) {
    rig r = box_rig(15, 12, 12, 1, 0.2, 1000, CSIM_R(0.4));
    size_t blocks = sizeof(csim_real) * 9 * (size_t)r.system.A.row[r.n], rows = sizeof(csim_real) * 3 * (size_t)r.n;
    csim_real *val = REALS(9 * r.system.A.row[r.n]), *b = REALS(3 * r.n);
    int ranges = 0, mixed, t;
    csim_tasks tasks;
    tasks.run = backwards;
    tasks.user = &ranges;
    shake_nodes(&r, 0.2);
    for (mixed = 0; mixed < 2; mixed++) { /* co-rotational alone, then elements of every material in turn */
        CASE("mixed %d", mixed);
        for (t = 0; mixed && t < r.s.tet_count; t++) r.s.tet_material[t] = (unsigned char)(t % CSIM_MATERIAL_COUNT_);
        r.step.tasks = NULL;
        assemble(&r);
        memcpy(val, r.system.A.val, blocks);
        memcpy(b, r.system.b, rows);
        r.step.tasks = &tasks;
        assemble(&r);
        CHECK(ranges > 1);
        CHECK(memcmp(val, r.system.A.val, blocks) == 0);
        CHECK(memcmp(b, r.system.b, rows) == 0);
    }
    free(val);
    free(b);
    free_rig(&r);
}

/* Where nothing is strained the frozen rotation costs nothing: A without mass is the exact Hessian. */
TEST(tangent_of_a_turned_rest_shape_is_the_hessian) {
    const csim_real d = CSIM_R(TOL(1e-5, 3e-3));
    rig r = box_rig(1, 1, 1, 1, 0, 1, CSIM_R(0.3));
    csim_mat3 Q = csim_quat_matrix(random_quat());
    csim_real *up = REALS(3 * r.n), *down = REALS(3 * r.n);
    double *K;
    int n = 3 * r.n, i, j;
    memset(r.s.node_mass, 0, sizeof(csim_real) * (size_t)r.n);
    r.step.h = 1;
    move_nodes(&r, Q.m, csim_v3(1, 2, 3));
    assemble(&r);
    K = dense_of(&r.system.A);
    for (i = 0; i < n; i++) {
        r.s.x[i] += d;
        forces(&r, up);
        r.s.x[i] -= 2 * d;
        forces(&r, down);
        r.s.x[i] += d;
        for (j = 0; j < n; j++) NEAR(-(double)(up[j] - down[j]) / (2 * (double)d), K[n * i + j], TOL(1e-8, 1e-3));
    }
    free(K);
    free(up);
    free(down);
    free_rig(&r);
}

TEST(rotated_rest_shape_has_no_force_30) {
    int trial;
    const csim_real E = CSIM_R(1e6);
    rig r = box_rig(3, 2, 2, CSIM_R(0.5), 0.2, E, CSIM_R(0.45));
    csim_real *f = REALS(3 * r.n), *rest = REALS(3 * r.n);
    memcpy(rest, r.s.x, sizeof(csim_real) * 3 * (size_t)r.n);
    for (trial = 0; trial < 20; trial++) {
        csim_mat3 Q = csim_quat_matrix(random_quat());
        memcpy(r.s.x, rest, sizeof(csim_real) * 3 * (size_t)r.n);
        move_nodes(&r, Q.m, csim_v3(0, 0, 0));
        forces(&r, f);
        NEAR(largest(3 * r.n, f), 0, TOL(1e-12, 1e-5) * (double)E); /* faces of 0.1 m^2; the row's own tolerance */
        NEAR(energy_of(&r).elastic, 0, TOL(1e-22, 1e-8) * (double)E);
    }
    free(f);
    free(rest);
    free_rig(&r);
}

TEST(forces_turn_with_the_body_30) {
    int trial, i;
    for (trial = 0; trial < 10; trial++) {
        rig r = box_rig(2, 2, 1, 1, 0, 1000, CSIM_R(0.4));
        csim_mat3 Q = csim_quat_matrix(random_quat());
        csim_real *f = REALS(3 * r.n), *g = REALS(3 * r.n), y[3];
        shake_nodes(&r, 0.15);
        forces(&r, f);
        move_nodes(&r, Q.m, csim_v3(0, 0, 0));
        forces(&r, g);
        for (i = 0; i < r.n; i++) {
            csimi_mul3(Q.m, f + 3 * i, y);
            NEAR(csim_length(csim_sub(csimi_load3(y), csimi_load3(g + 3 * i))), 0, TOL(1e-11, 1e-2));
        }
        free(f);
        free(g);
        free_rig(&r);
    }
}

TEST(patch_test_30) {
    int cells[3] = {4, 4, 4}, i, c;
    rig r = box_rig(4, 4, 4, CSIM_R(0.25), 0.2, 1, CSIM_R(0.3));
    csim_real G[9], u[3];
    double worst = 0;
    for (i = 0; i < 9; i++) G[i] = uniform();
    memset(r.s.node_mass, 0, sizeof(csim_real) * (size_t)r.n);
    r.step.h = 1;
    for (i = 0; i < r.n; i++) {
        r.pinned[i] = on_boundary(cells, i);
        if (r.pinned[i]) csimi_mul3(G, r.s.x + 3 * i, r.v + 3 * i);
    }
    assemble(&r);
    CHECK(solve(&r) > 0);
    for (i = 0; i < r.n; i++) {
        csimi_mul3(G, r.s.x + 3 * i, u);
        for (c = 0; c < 3; c++)
            worst = fabs((double)(u[c] - r.v[3 * i + c])) > worst ? fabs((double)(u[c] - r.v[3 * i + c])) : worst;
    }
    NEAR(worst, 0, TOL(1e-12, 1e-5));
    free_rig(&r);
}

/* Large affine deformations: the inner nodes of a homogeneous body feel no force. */
TEST(affine_deformation_leaves_inner_nodes_free_30) {
    int cells[3] = {3, 3, 3}, trial, i, c;
    for (trial = 0; trial < 20; trial++) {
        rig r = box_rig(3, 3, 3, CSIM_R(0.333), 0.2, 1, CSIM_R(0.4));
        csim_mat3 M = csim_quat_matrix(random_quat());
        csim_real *f = REALS(3 * r.n);
        for (c = 0; c < 9; c++) M.m[c] += CSIM_R(0.5) * uniform();
        move_nodes(&r, M.m, csim_v3(0, 0, 0));
        forces(&r, f);
        CHECK(largest(3 * r.n, f) > 1e-3);
        for (i = 0; i < r.n; i++)
            if (!on_boundary(cells, i)) NEAR(largest(3, f + 3 * i), 0, TOL(1e-13, 1e-5));
        free(f);
        free_rig(&r);
    }
}

/* u = sin sin sin in all components on the unit cube, its body force lumped to the nodes. */
static double manufactured_error(int cells_a_side) {
    const double pi = 3.14159265358979323846;
    int n = cells_a_side, cells[3] = {n, n, n}, i, c;
    rig r = box_rig(n, n, n, CSIM_R(1) / CSIM_R(n), 0, 1, CSIM_R(0.25));
    double mu = 0.4, lambda = 0.4, error = 0;
    r.step.h = 1;
    for (i = 0; i < r.n; i++) {
        double s[3], k[3], volume = (double)r.s.node_mass[i] / 1000;
        for (c = 0; c < 3; c++) {
            s[c] = sin(pi * (double)r.s.x[3 * i + c]);
            k[c] = cos(pi * (double)r.s.x[3 * i + c]);
        }
        r.pinned[i] = on_boundary(cells, i);
        for (c = 0; c < 3; c++) {
            int d = (c + 1) % 3, e = (c + 2) % 3;
            double u = s[0] * s[1] * s[2], mixed = k[c] * k[d] * s[e] + k[c] * k[e] * s[d];
            r.s.node_force[3 * i + c] = CSIM_R(volume * pi * pi * (3 * mu * u + (lambda + mu) * (u - mixed)));
        }
        r.s.node_mass[i] = 0;
    }
    assemble(&r);
    solve(&r);
    for (i = 0; i < 3 * r.n; i++) {
        double u = 1;
        for (c = 0; c < 3; c++) u *= sin(pi * (double)r.s.x[i / 3 * 3 + c]);
        error += ((double)r.v[i] - u) * ((double)r.v[i] - u) / r.n;
    }
    free_rig(&r);
    return sqrt(error);
}

TEST(displacement_converges_with_order_two_30) {
    double coarse = manufactured_error(6), fine = manufactured_error(12), order = log(coarse / fine) / log(2.0);
    CASE("errors %g %g, order %g", coarse, fine, order);
    CHECK(fine < 0.05);
    CHECK(order > 1.8 && order < 2.3);
}

TEST(internal_forces_keep_momentum) {
    rig r = zoo();
    csim_real *f = REALS(3 * r.n);
    double force[3] = {0, 0, 0}, moment[3] = {0, 0, 0}, size = 0;
    int i, c, k;
    for (k = 0; k < r.s.spring_count; k++) /* without the springs that hold on to the world */
        if (r.s.spring[2 * k + 1].kind == CSIMI_PLACE_GROUND) r.s.spring_data[3 * k + 1] = 0;
    shake_nodes(&r, 0.3);
    forces(&r, f);
    for (i = 0; i < r.n; i++) {
        bool angular = i >= r.s.node_count && (i - r.s.node_count) % 2 == 1;
        const csim_real *x = i < r.s.node_count ? r.s.x + 3 * i : r.s.com + 3 * ((i - r.s.node_count) / 2);
        csim_vec3 m = angular ? csimi_load3(f + 3 * i) : csim_cross(csimi_load3(x), csimi_load3(f + 3 * i));
        moment[0] += (double)m.x;
        moment[1] += (double)m.y;
        moment[2] += (double)m.z;
        for (c = 0; c < 3; c++) {
            force[c] += angular ? 0 : (double)f[3 * i + c];
            size += fabs((double)f[3 * i + c]);
        }
    }
    for (c = 0; c < 3; c++) {
        NEAR(force[c], 0, TOL(1e-14, 1e-6) * size);
        NEAR(moment[c], 0, TOL(1e-13, 1e-5) * size); /* arms of up to 5 m */
    }
    free(f);
    free_rig(&r);
}

TEST(crushed_and_inverted_tets_stay_finite) {
    int kind, i;
    for (kind = 0; kind < 7; kind++) {
        rig r = box_rig(2, 2, 2, 1, 0.1, CSIM_R(1e6), CSIM_R(0.49));
        csim_real M[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        double *H;
        CASE("kind %d", kind);
        if (kind < 3) M[0] = kind == 0 ? CSIM_R(0) : kind == 1 ? CSIM_R(-1) : CSIM_R(-1e-9);
        if (kind == 3) M[0] = M[4] = 0;
        if (kind >= 4) M[0] = M[4] = M[8] = kind == 4 ? CSIM_R(0) : kind == 5 ? CSIM_R(-1) : CSIM_R(TOL(1e60, 1e8));
        move_nodes(&r, M, csim_v3(0, 0, 0));
        assemble(&r);
        CHECK(csimi_all_finite(r.system.b, 3 * r.n));
        CHECK(csimi_all_finite(r.system.A.val, 9 * r.system.A.row[r.n]));
        CHECK(kind == 6 || largest(3 * r.n, r.system.b) < 1e7);
        H = dense_of(&r.system.A);
        CHECK(csimi_cholesky(3 * r.n, H, NULL, NULL));
        free(H);
        for (i = 0; i < 3 && kind < 6; i++) take_step(&r);
        CHECK(csimi_all_finite(r.s.x, 3 * r.n));
        free_rig(&r);
    }
}

TEST(bad_tets_are_found) {
    int tet[8] = {0, 1, 2, 3, 0, 1, 2, 4};
    csim_real x[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, CSIM_R(0.3), CSIM_R(0.3), 0};
    csim_real density[2] = {6, 6}, shape[18], volume[2], mass[5] = {0, 0, 0, 0, 0};
    EQUAL(csimi_tet_prepare(2, tet, x, density, shape, volume, mass), 1); /* flat */
    NEAR(mass[0] + mass[1] + mass[2] + mass[3], 1, TOL(1e-15, 1e-6));
    x[14] = -1;
    EQUAL(csimi_tet_prepare(2, tet, x, density, shape, volume, mass), 1); /* inverted */
    x[14] = 1;
    EQUAL(csimi_tet_prepare(2, tet, x, density, shape, volume, mass), -1);
    x[3] = CSIM_R(NAN);
    EQUAL(csimi_tet_prepare(2, tet, x, density, shape, volume, mass), 0);
}

TEST(surface_is_closed_and_holds_the_volume) {
    rig r = box_rig(4, 3, 2, 1, 0.2, 1, CSIM_R(0.3));
    int *scratch = INTS(csimi_tet_surface_scratch(r.n, r.s.tet_count)), *triangle, count, again, i, j, a, b;
    double volume = 0;
    bool closed = true;
    count = csimi_tet_surface(r.n, r.s.tet_count, r.s.tet, NULL, 0, scratch);
    EQUAL(count, 2 * 2 * (4 * 3 + 3 * 2 + 4 * 2));
    triangle = INTS(3 * count);
    again = csimi_tet_surface(r.n, r.s.tet_count, r.s.tet, triangle, count, scratch);
    EQUAL(again, count);
    for (i = 0; i < count; i++) {
        csim_vec3 p = csimi_load3(r.s.x + 3 * triangle[3 * i]), q = csimi_load3(r.s.x + 3 * triangle[3 * i + 1]);
        volume += (double)csim_dot(p, csim_cross(q, csimi_load3(r.s.x + 3 * triangle[3 * i + 2]))) / 6;
        for (a = 0; a < 3; a++) { /* each edge once in the other direction */
            int opposite = 0;
            for (j = 0; j < count; j++)
                for (b = 0; b < 3; b++)
                    opposite += triangle[3 * j + b] == triangle[3 * i + (a + 1) % 3] &&
                                triangle[3 * j + (b + 1) % 3] == triangle[3 * i + a];
            closed = closed && opposite == 1;
        }
    }
    CHECK(closed);
    NEAR(volume, 24, TOL(1e-12, 1e-4));
    free(scratch);
    free(triangle);
    free_rig(&r);
}

/* ---- integrators */

TEST(free_fall_is_exact) {
    int midpoint, k;
    for (midpoint = 0; midpoint < 2; midpoint++) {
        rig r = make_rig(1, 1, 0, 0);
        double g = 9.81, h = 0.01, drop;
        int steps = 200;
        r.s.node_mass[0] = CSIM_R(0.3);
        r.s.rigid_mass[0] = 7;
        r.s.inertia[0] = r.s.inertia[4] = r.s.inertia[8] = 1;
        r.s.gravity[2] = CSIM_R(-g);
        finish_rig(&r);
        if (midpoint) use_midpoint(&r);
        for (k = 0; k < steps; k++) take_step(&r);
        drop = midpoint ? g * h * h * steps * steps / 2 : g * h * h * steps * (steps + 1) / 2;
        NEAR(r.s.x[2], -drop, TOL(1e-11, 1e-3)); /* 200 roundings of 20 m */
        NEAR(r.s.com[2], -drop, TOL(1e-11, 1e-3));
        NEAR(r.s.velocity[2], -g * h * steps, TOL(1e-12, 1e-3));
        free_rig(&r);
    }
}

/* A unit mass on a unit spring from x = 1, after one period. */
static double oscillator_error(bool midpoint, int steps) {
    rig r = make_rig(1, 0, 0, 1);
    double error, dx, dv;
    int k;
    r.s.node_mass[0] = 1;
    r.s.x[0] = 1;
    r.s.spring[0] = csimi_place_node(0);
    r.s.spring_data[1] = 1;
    finish_rig(&r);
    r.step.h = CSIM_R(6.283185307179586 / steps);
    if (midpoint) use_midpoint(&r);
    for (k = 0; k < steps; k++) take_step(&r);
    dx = (double)r.s.x[0] - 1;
    dv = (double)r.s.v[0];
    error = sqrt(dx * dx + dv * dv);
    if (midpoint) NEAR(total(energy_of(&r)), 0.5, TOL(1e-13, 1e-4)); /* constant M and K: kept to rounding */
    free_rig(&r);
    return error;
}

TEST(orders_of_the_integrators) {
    double e = log(oscillator_error(false, 4000) / oscillator_error(false, 8000)) / log(2.0);
    double m = log(oscillator_error(true, 100) / oscillator_error(true, 200)) / log(2.0);
    NEAR(e, 1, TOL(0.05, 0.1)); /* float: 8000 roundings against an error of 2e-3 */
    NEAR(m, 2, TOL(0.01, 0.05));
}

TEST(mass_damping_decays_as_the_formula_says) {
    rig r = make_rig(1, 1, 0, 0);
    double expected = 1;
    int k, c;
    r.s.node_mass[0] = 2;
    r.s.node_damping[0] = 3;
    r.s.v[0] = 1;
    r.s.rigid_mass[0] = 5;
    r.s.inertia[0] = r.s.inertia[4] = r.s.inertia[8] = 4;
    r.s.rigid_damping[0] = r.s.rigid_damping[1] = 3;
    for (c = 0; c < 6; c++) r.s.velocity[c] = 1;
    finish_rig(&r);
    for (k = 0; k < 50; k++) {
        take_step(&r);
        expected /= 1 + 3 * 0.01;
    }
    NEAR(r.s.v[0], expected, TOL(1e-13, 1e-5));
    for (c = 0; c < 6; c++) NEAR(r.s.velocity[c], expected, TOL(1e-13, 1e-5));
    free_rig(&r);
}

/* ---- springs */

/* In tension the tangent between two nodes is the exact Hessian. */
TEST(spring_tangent_is_the_hessian_in_tension) {
    const csim_real d = CSIM_R(TOL(1e-5, 3e-3));
    rig r = make_rig(2, 0, 0, 1);
    csim_real up[6], down[6];
    double *K;
    int i, j;
    for (i = 0; i < 6; i++) r.s.x[i] = uniform();
    r.s.spring[0] = csimi_place_node(0);
    r.s.spring[1] = csimi_place_node(1);
    r.s.spring_data[0] = CSIM_R(0.2);
    r.s.spring_data[1] = 3;
    finish_rig(&r);
    r.step.h = 1;
    assemble(&r);
    K = dense_of(&r.system.A);
    for (i = 0; i < 6; i++) {
        r.s.x[i] += d;
        forces(&r, up);
        r.s.x[i] -= 2 * d;
        forces(&r, down);
        r.s.x[i] += d;
        for (j = 0; j < 6; j++) NEAR(-(double)(up[j] - down[j]) / (2 * (double)d), K[6 * i + j], TOL(1e-8, 1e-3));
    }
    free(K);
    free_rig(&r);
}

TEST(spring_of_no_length_is_harmless) {
    int kind;
    for (kind = 0; kind < 4; kind++) {
        rig r = make_rig(2, 0, 0, 1);
        int k;
        r.s.node_mass[0] = r.s.node_mass[1] = 1;
        r.s.spring[0] = csimi_place_node(0);
        r.s.spring[1] = csimi_place_node(1);
        r.s.spring_data[0] = kind & 1 ? CSIM_R(1) : CSIM_R(0);
        r.s.spring_data[1] = 1000;
        r.s.spring_data[2] = 10;
        if (kind & 2) r.s.x[0] = TOL(CSIM_R(1e-300), CSIM_R(1e-38));
        finish_rig(&r);
        for (k = 0; k < 5; k++) take_step(&r);
        CHECK(csimi_all_finite(r.s.x, 6));
        NEAR(largest(6, r.s.x), 0, 1e-9);
        free_rig(&r);
    }
}

/* Overdamped: (m/h + c) v+ = m v / h along the axis, nothing across. */
TEST(spring_damping_acts_along_the_axis) {
    rig r = make_rig(1, 0, 0, 1);
    r.s.node_mass[0] = 2;
    r.s.x[0] = 1;
    r.s.v[0] = r.s.v[1] = 1;
    r.s.spring[0] = csimi_place_node(0);
    r.s.spring_data[0] = 1;
    r.s.spring_data[2] = 100;
    finish_rig(&r);
    take_step(&r);
    NEAR(r.s.v[0], 2 / (2 + 0.01 * 100), TOL(1e-14, 1e-6));
    NEAR(r.s.v[1], 1, TOL(1e-14, 1e-6));
    free_rig(&r);
}

/* ---- rigid bodies */

static rig spinning(double i1, double i2, double i3) {
    rig r = make_rig(0, 1, 0, 0);
    r.s.rigid_mass[0] = 1;
    r.s.inertia[0] = CSIM_R(i1);
    r.s.inertia[4] = CSIM_R(i2);
    r.s.inertia[8] = CSIM_R(i3);
    finish_rig(&r);
    return r;
}

static csim_quat rotation_of(const rig *r) {
    csim_quat q;
    q.w = r->s.rotation[0];
    q.x = r->s.rotation[1];
    q.y = r->s.rotation[2];
    q.z = r->s.rotation[3];
    return q;
}

static csim_vec3 angular_momentum(const rig *r) {
    csim_real I[9], L[3];
    csimi_rigid_inertia_world(&r->s, 0, I);
    csimi_mul3(I, r->s.velocity + 3, L);
    return csimi_load3(L);
}

static csim_vec3 body_rate(const rig *r) { return csim_unrotate(rotation_of(r), csimi_load3(r->s.velocity + 3)); }

static void set_rate(rig *r, double x, double y, double z) {
    r->s.velocity[3] = CSIM_R(x);
    r->s.velocity[4] = CSIM_R(y);
    r->s.velocity[5] = CSIM_R(z);
}

TEST(dzhanibekov_growth_rate_14) {
    double steps_of[2] = {1e-2, 1e-3}, sigma = 5 * sqrt((2.0 - 1) * (3.0 - 2) / (1.0 * 3));
    int k, n;
    NEAR(sigma, 2.886751, 1e-6);
    for (k = 0; k < 2; k++) {
        rig r = spinning(1, 2, 3);
        double h = steps_of[k], tiny = TOL(1e-6, 1e-2), rate;
        int steps = (int)(1 / h + 0.5);
        use_midpoint(&r);
        r.step.h = CSIM_R(h);
        set_rate(&r, tiny, 5, -tiny * sigma / 5); /* the growing solution: w1' = -w2 w3, w3' = -w2 w1 / 3 */
        for (n = 0; n < steps; n++) take_step(&r);
        rate = log(fabs((double)body_rate(&r).x) / tiny);
        CASE("h = %g, rate %.9g", h, rate);
        NEAR(rate, sigma, sigma * TOL(1e-4, 2e-2));
        NEAR(rate, sigma * (1 + h * h * sigma * sigma / 12), sigma * TOL(1e-6, 2e-2)); /* of the implicit midpoint */
        free_rig(&r);
    }
}

TEST(dzhanibekov_keeps_energy_and_momentum_14) {
    double steps_of[2] = {1e-2, 1e-3};
    int k;
    for (k = 0; k < 2; k++) {
        rig r = spinning(1, 2, 3);
        double energy, momentum, before = 1, worst_e = 0, worst_l = 0, worst_turn = 0;
        csim_vec3 start;
        int flips = 0, n;
        use_midpoint(&r);
        r.step.h = CSIM_R(steps_of[k]);
        set_rate(&r, 0.01, 5, 0.01);
        energy = energy_of(&r).kinetic;
        start = angular_momentum(&r);
        momentum = (double)csim_length(start);
        for (n = 0; flips < 100 && n < 1000000; n++) {
            double now, de, dl, turn;
            take_step(&r);
            turn = (double)csim_length(csim_sub(angular_momentum(&r), start)) / momentum;
            worst_turn = turn > worst_turn ? turn : worst_turn;
            now = (double)body_rate(&r).y;
            flips += now * before < 0;
            before = now;
            de = fabs(energy_of(&r).kinetic / energy - 1);
            dl = fabs((double)csim_length(angular_momentum(&r)) / momentum - 1);
            worst_e = de > worst_e ? de : worst_e;
            worst_l = dl > worst_l ? dl : worst_l;
        }
        CASE("h = %g, %d steps", steps_of[k], n);
        EQUAL(flips, 100);
        NEAR(worst_e, 0, TOL(1e-10, 5e-3)); /* the row asks 1e-6; float: 5e5 solves to 1e-6 each */
        NEAR(worst_l, 0, TOL(1e-10, 5e-3));
        /* its direction wobbles by half the turn of L in the body during a step, and does not drift: 1.45 h measured */
        NEAR(worst_turn, 0, 1.5 * steps_of[k] + TOL(0, 2e-2));
        free_rig(&r);
    }
}

/* Body-frame Euler equations by the classical Runge-Kutta method at a tiny step. */
static void euler_slope(const double *I, const double *w, double *d) {
    int i;
    for (i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        d[i] = (I[j] - I[k]) * w[j] * w[k] / I[i];
    }
}
static void reference_rate(const double *I, double time, double *w) {
    int n, i, steps = 20000;
    double h = time / steps, a[3], b[3], c[3], d[3], x[3];
    for (n = 0; n < steps; n++) {
        euler_slope(I, w, a);
        for (i = 0; i < 3; i++) x[i] = w[i] + h / 2 * a[i];
        euler_slope(I, x, b);
        for (i = 0; i < 3; i++) x[i] = w[i] + h / 2 * b[i];
        euler_slope(I, x, c);
        for (i = 0; i < 3; i++) x[i] = w[i] + h * c[i];
        euler_slope(I, x, d);
        for (i = 0; i < 3; i++) w[i] += h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
    }
}

static double rate_error(bool midpoint, int steps, double *wobble) {
    double I[3] = {1, 2, 3.5}, w[3] = {1, -2, 1.5};
    rig r = spinning(I[0], I[1], I[2]);
    csim_vec3 got, start;
    int n;
    set_rate(&r, w[0], w[1], w[2]);
    start = angular_momentum(&r);
    *wobble = 0;
    if (midpoint) use_midpoint(&r);
    r.step.h = CSIM_R(2.0 / steps);
    for (n = 0; n < steps; n++) {
        double turn;
        take_step(&r);
        turn = (double)(csim_length(csim_sub(angular_momentum(&r), start)) / csim_length(start));
        *wobble = turn > *wobble ? turn : *wobble;
    }
    reference_rate(I, 2, w);
    got = csim_sub(body_rate(&r), csim_v3(CSIM_R(w[0]), CSIM_R(w[1]), CSIM_R(w[2])));
    free_rig(&r);
    return (double)csim_length(got);
}

TEST(gyroscopic_update_follows_the_euler_equations) {
    double wobble[4], m[2], e[2];
    m[0] = rate_error(true, 40, wobble);
    m[1] = rate_error(true, 80, wobble + 1);
    e[0] = rate_error(false, 500, wobble + 2);
    e[1] = rate_error(false, 1000, wobble + 3);
    CASE("midpoint %g %g, backward Euler %g %g", m[0], m[1], e[0], e[1]);
    NEAR(log(m[0] / m[1]) / log(2.0), 2, 0.1);
    NEAR(log(e[0] / e[1]) / log(2.0), 1, 0.1);
    CASE("direction of L: %g %g %g %g", wobble[0], wobble[1], wobble[2], wobble[3]);
    CHECK(wobble[1] < 0.1 && wobble[1] < 0.6 * wobble[0]);
}

TEST(backward_euler_spin_never_gains_at_any_step) {
    double steps_of[4] = {1e-3, 0.1, 1, 100};
    int k, n;
    for (k = 0; k < 8; k++) { /* up to 4000 rad a step */
        rig r = spinning(1, 2, 3);
        double last, now;
        CASE("h = %g, theta = %g", steps_of[k % 4], k < 4 ? 1.0 : 0.5);
        if (k >= 4) use_midpoint(&r);
        r.step.h = CSIM_R(steps_of[k % 4]);
        set_rate(&r, 3, 5, -40);
        last = energy_of(&r).kinetic;
        for (n = 0; n < 200; n++) {
            take_step(&r);
            now = energy_of(&r).kinetic;
            CHECK(now <= last * (1 + TOL(1e-12, 1e-4)));
            last = now;
        }
        free_rig(&r);
    }
}

TEST(spin_about_a_principal_axis_is_steady) {
    rig r = spinning(1, 2, 3);
    int n;
    use_midpoint(&r);
    set_rate(&r, 0, 0, 100);
    for (n = 0; n < 1000; n++) take_step(&r);
    NEAR(r.s.velocity[5], 100, TOL(1e-10, 1e-2));
    NEAR(csim_length(csim_v3(r.s.velocity[3], r.s.velocity[4], 0)), 0, TOL(1e-10, 1e-2));
    NEAR(rotation_of(&r).w, cos(0.5 * 100 * 0.01 * 1000), TOL(1e-10, 1e-2));
    free_rig(&r);
}

TEST(wrench_turns_and_pushes) {
    rig r = spinning(1, 2, 4);
    r.s.wrench[0] = 3;
    r.s.wrench[5] = 8;
    take_step(&r);
    NEAR(r.s.velocity[0], 3 * 0.01, TOL(1e-15, 1e-8));
    NEAR(r.s.velocity[5], 2 * 0.01, TOL(1e-15, 1e-8));
    NEAR(r.s.com[0], 3e-4, TOL(1e-17, 1e-9));
    free_rig(&r);
}

/* A place moves as its terms say, and its mass is that of the terms: 3 / tr(J M^-1 J') with the dense mass matrix. */
TEST(place_terms_are_the_derivative_of_the_point) {
    const csim_real d = CSIM_R(TOL(1e-6, 1e-2));
    rig r = zoo();
    int k, i, c, t;
    r.s.rigid_inverse = REALS(9 * r.s.rigid_count);
    csimi_place_prepare(&r.s, NULL);
    for (i = 0; i < 3 * r.s.node_count; i++) r.s.v[i] = uniform();
    for (i = 0; i < 6 * r.s.rigid_count; i++) r.s.velocity[i] = uniform();
    for (k = 0; k < 2 * r.s.spring_count; k++) {
        const csimi_place *place = r.s.spring + k;
        csim_vec3 p = csimi_place_point(&r.s, place);
        csim_real J[9 * CSIMI_PLACE_TERMS], up[3], down[3], v[3] = {0, 0, 0};
        int block[CSIMI_PLACE_TERMS], count = csimi_place_terms(&r.s, place, p, block, J);
        double trace = 0;
        EQUAL(count, csimi_place_term_count(place));
        for (t = 0; t < count; t++) {
            const int b = block[t], body = (b - r.s.node_count) / 2;
            csim_real I[9], inverse[9] = {0};
            for (i = 0; i < 3; i++) {
                nudge(&r, 3 * b + i, d);
                csimi_store3(up, csimi_place_point(&r.s, place));
                nudge(&r, 3 * b + i, -2 * d);
                csimi_store3(down, csimi_place_point(&r.s, place));
                nudge(&r, 3 * b + i, d);
                for (c = 0; c < 3; c++)
                    NEAR((double)(up[c] - down[c]) / (2 * (double)d), J[9 * t + 3 * c + i], TOL(1e-8, 3e-4));
            }
            csimi_addmul3(J + 9 * t, b < r.s.node_count ? r.s.v + 3 * b : r.s.velocity + 3 * (b - r.s.node_count), v);
            for (i = 0; i < 3; i++)
                inverse[4 * i] = b < r.s.node_count ? 1 / r.s.node_mass[b] : 1 / r.s.rigid_mass[body];
            if (b >= r.s.node_count && (b - r.s.node_count) % 2 == 1) {
                csimi_rigid_inertia_world(&r.s, body, I);
                csimi_inverse3(I, inverse);
            }
            for (c = 0; c < 27; c++) /* (c / 9) row of J, (c / 3 % 3, c % 3) element of the inverse */
                trace += (double)(J[9 * t + 3 * (c / 9) + c / 3 % 3] * inverse[c % 9] * J[9 * t + 3 * (c / 9) + c % 3]);
        }
        csimi_store3(up, csimi_place_velocity(&r.s, place, p));
        for (c = 0; c < 3; c++) NEAR(up[c], v[c], TOL(1e-14, 1e-5)); /* rounding of sums of order 10 */
        NEAR(csimi_place_mass(&r.s, place, J), count ? 3 / trace : 0, TOL(1e-13, 1e-6));
        CHECK(csimi_place_free(&r.s, place) == (count > 0));
    }
    free(r.s.rigid_inverse);
    free_rig(&r);
}

/* Whatever lies beside a face: rigid motions of its corners move it rigidly, and along the offset it moves as its foot
   does, however the face deforms: else a gap that its contact closes would be another than the one that is there. */
TEST(what_is_beside_a_face_turns_with_it) {
    rig r = zoo();
    const int corner[3] = {0, 3, 5};
    int i, j, k;
    for (i = 0; i < 200; i++) {
        const csim_vec3 spin = csim_v3(uniform(), uniform(), uniform());
        const csim_vec3 drift = csim_v3(uniform(), uniform(), uniform());
        csim_vec3 off = csim_v3(uniform(), uniform(), uniform()), x, v, foot = csim_v3(0, 0, 0), slide = foot;
        csim_real weight[3];
        csimi_place p;
        weight[0] = CSIM_R(check_random(0, 1));
        weight[1] = i % 3 ? 0 : CSIM_R(check_random(0, 1)) * (1 - weight[0]); /* on an edge, or within */
        weight[2] = 1 - weight[0] - weight[1];
        off = csim_scale(CSIM_R(0.2), off);
        p = csimi_place_off_face(&r.s, corner, weight, off);
        for (k = 0; k < 3; k++) foot = csim_madd(foot, weight[k], csimi_load3(r.s.x + 3 * corner[k]));
        x = csimi_place_point(&r.s, &p);
        NEAR(csim_length(csim_sub(x, csim_add(foot, off))), 0, TOL(1e-15, 1e-6));
        CHECK(csim_length(csim_sub(x, foot)) > 0);
        for (j = 0; j < r.s.node_count; j++)
            csimi_store3(r.s.v + 3 * j, csim_add(drift, csim_cross(spin, csimi_load3(r.s.x + 3 * j))));
        v = csimi_place_velocity(&r.s, &p, x);
        NEAR(csim_length(csim_sub(v, csim_add(drift, csim_cross(spin, x)))), 0, TOL(1e-14, 1e-5));
        for (j = 0; j < 3 * r.s.node_count; j++) r.s.v[j] = uniform();
        for (k = 0; k < 3; k++) slide = csim_madd(slide, weight[k], csimi_load3(r.s.v + 3 * corner[k]));
        v = csimi_place_velocity(&r.s, &p, x);
        NEAR(csim_dot(csim_sub(v, slide), off), 0, TOL(1e-15, 1e-6));
    }
    free_rig(&r);
}

/* Directions turn with a body and with a triangle: a normal stays a normal. */
TEST(place_directions_turn_with_the_place) {
    rig r = zoo();
    csimi_state then = r.s;
    csim_real *x = REALS(3 * r.s.node_count), *q = REALS(4 * r.s.rigid_count);
    const int corner[3] = {0, 3, 5};
    const csim_real weight[3] = {CSIM_R(0.5), CSIM_R(0.2), CSIM_R(0.3)};
    const csimi_place face = csimi_place_face(corner, weight, 0), body = csimi_place_rigid(&r.s, 1, csim_v3(0, 0, 0));
    csim_vec3 n[2], d = csim_v3(1, 2, 3), turned;
    int i, k;
    memcpy(x, r.s.x, sizeof(csim_real) * 3 * (size_t)r.s.node_count);
    memcpy(q, r.s.rotation, sizeof(csim_real) * 4 * (size_t)r.s.rigid_count);
    then.x = x;
    then.rotation = q;
    for (i = 0; i < 3 * r.s.node_count; i++) r.s.x[i] += CSIM_R(0.3) * uniform();
    nudge(&r, 3 * (r.s.node_count + 3), CSIM_R(1.5)); /* body 1 about x */
    for (k = 0; k < 2; k++) {
        const csim_real *y = k ? r.s.x : x;
        csim_vec3 a = csimi_load3(y + 3 * corner[0]);
        n[k] = csim_normalize(
            csim_cross(csim_sub(csimi_load3(y + 3 * corner[1]), a), csim_sub(csimi_load3(y + 3 * corner[2]), a)));
    }
    turned = csimi_place_carry(&face, &then, &r.s, n[0]);
    NEAR(csim_length(csim_sub(turned, n[1])), 0, TOL(1e-15, 1e-6));
    NEAR(csim_length(csimi_place_carry(&face, &then, &r.s, d)), csim_length(d), TOL(1e-14, 1e-5));
    turned = csimi_place_carry(&body, &then, &r.s, d);
    NEAR(turned.x, 1, TOL(1e-14, 1e-5));
    NEAR(turned.y, 2 * cos(1.5) - 3 * sin(1.5), TOL(1e-14, 1e-5));
    NEAR(turned.z, 2 * sin(1.5) + 3 * cos(1.5), TOL(1e-14, 1e-5));
    free(x);
    free(q);
    free_rig(&r);
}

/* ---- row 33: an elastic bar, 1 m long, E = 1e5 Pa, density 1000, Poisson 0: c = 10 m/s, f1 = 2.5 Hz */

TEST(bar_axial_frequency_33) {
    rig r = box_rig(20, 1, 1, CSIM_R(0.05), 0, CSIM_R(1e5), 0);
    int i, n, crossings = 0;
    double first = 0, last = 0, before = 1, h = 1e-3, period;
    use_midpoint(&r);
    r.step.h = CSIM_R(h);
    for (i = 0; i < r.n; i++) {
        double x = (double)r.s.x[3 * i];
        r.pinned[i] = x < 1e-6;
        r.s.v[3 * i] = CSIM_R(0.01 * sin(1.5707963267948966 * x)); /* first mode */
    }
    before = 1;
    for (n = 1; n <= 1100; n++) {
        double now = 0;
        take_step(&r);
        for (i = 0; i < r.n; i++) /* the part of the first mode: no other crosses zero for it */
            now += (double)r.s.node_mass[i] * (double)r.s.v[3 * i] * sin(1.5707963267948966 * (i % 21) / 20);
        if (now * before < 0) {
            last = h * (n - now / (now - before));
            if (crossings++ == 0) first = last;
        }
        before = now;
    }
    period = 2 * (last - first) / (crossings - 1);
    CASE("period %g, %d crossings", period, crossings);
    NEAR(period, 0.4, 0.4 * TOL(2e-3, 5e-3)); /* space: (pi/40)^2/24; time: two samples of 2e-3 s a half period */
    free_rig(&r);
}

TEST(free_bar_keeps_momentum_and_never_gains_33) {
    int midpoint, i, c, n;
    for (midpoint = 0; midpoint < 2; midpoint++) {
        rig r = box_rig(10, 1, 1, CSIM_R(0.1), 0, CSIM_R(1e5), CSIM_R(0.3));
        double p0[3] = {0, 0, 0}, p[3], last, start, size = 0;
        CASE("midpoint %d", midpoint);
        if (midpoint) use_midpoint(&r);
        for (i = 0; i < 3 * r.n; i++) {
            r.s.v[i] = CSIM_R(0.2) * uniform() + CSIM_R(i % 3 == 0 ? 0.5 : 0);
            p0[i % 3] += (double)r.s.node_mass[i / 3] * (double)r.s.v[i];
            size += (double)r.s.node_mass[i / 3];
        }
        start = last = total(energy_of(&r));
        for (n = 0; n < 500; n++) {
            double now;
            take_step(&r);
            now = total(energy_of(&r));
            if (!midpoint)
                CHECK(now <= last * (1 + TOL(1e-12, 1e-5)));
            else
                CHECK(now <= start * 1.002); /* e at q_k, R frozen: energy swings by O(h^2), it does not grow */
            last = now;
        }
        memset(p, 0, sizeof p);
        for (i = 0; i < 3 * r.n; i++) p[i % 3] += (double)r.s.node_mass[i / 3] * (double)r.s.v[i];
        for (c = 0; c < 3; c++) NEAR(p[c], p0[c], TOL(1e-11, 1e-4) * size); /* tolerance of the solver, 500 steps */
        free_rig(&r);
    }
}

/* ---- row 13: a heavy top pinned by hand, I1 = 0.003 and I3 = 0.001 about the pin, m g l = 0.0981, w3 = 200, 30
   degrees. Three multipliers hold the pin: J v = -gap/h with the point of the body as the only constraint. */

static void solve_dense(int n, double *K, double *x) { /* Gauss with pivoting on n <= 9 unknowns */
    int i, j, k;
    for (k = 0; k < n; k++) {
        int best = k;
        for (i = k; i < n; i++)
            if (fabs(K[n * i + k]) > fabs(K[n * best + k])) best = i;
        for (j = 0; j < n; j++) {
            double t = K[n * k + j];
            K[n * k + j] = K[n * best + j];
            K[n * best + j] = t;
        }
        {
            double t = x[k];
            x[k] = x[best];
            x[best] = t;
        }
        for (i = 0; i < n; i++) {
            double f = i == k ? 0 : K[n * i + k] / K[n * k + k];
            for (j = k; j < n; j++) K[n * i + j] -= f * K[n * k + j];
            x[i] -= f * x[k];
        }
    }
    for (k = 0; k < n; k++) x[k] /= K[n * k + k];
}

static void step_top(rig *r, csim_vec3 pin_local) {
    csimi_place pin = csimi_place_ground(pin_local);
    csim_real point[3], J[9 * CSIMI_PLACE_TERMS];
    int block[CSIMI_PLACE_TERMS], i, j, k, c;
    double K[81], x[9];
    assemble(r);
    pin.kind = CSIMI_PLACE_RIGID;
    pin.item = 0;
    csimi_store3(point, csimi_place_point(&r->s, &pin));
    csimi_place_terms(&r->s, &pin, csimi_load3(point), block, J);
    memset(K, 0, sizeof K);
    for (i = 0; i < 2; i++)
        for (k = r->system.A.row[i]; k < r->system.A.row[i + 1]; k++)
            for (c = 0; c < 9; c++)
                K[9 * (3 * i + c / 3) + 3 * r->system.A.col[k] + c % 3] = (double)r->system.A.val[9 * k + c];
    for (i = 0; i < 2; i++)
        for (c = 0; c < 9; c++) {
            K[9 * (6 + c / 3) + 3 * i + c % 3] = (double)J[9 * i + c];
            K[9 * (3 * i + c % 3) + 6 + c / 3] = -(double)J[9 * i + c];
        }
    for (j = 0; j < 6; j++) x[j] = (double)r->system.b[j];
    for (j = 0; j < 3; j++) x[6 + j] = -(double)(point[j] / r->step.h);
    solve_dense(9, K, x);
    for (j = 0; j < 6; j++) {
        double vk = (double)r->system.vk[j];
        r->v[j] = CSIM_R(x[j]);
        r->s.velocity[j] = CSIM_R(vk + (x[j] - vk) / (double)r->step.theta);
    }
    csimi_rigid_advance(&r->s, &r->step, r->v, &r->s);
}

static rig make_top(bool midpoint, double h, double spin, double tilt, double precession) {
    const double m = 0.1, l = 0.1;
    rig r = spinning(0.003 - m * l * l, 0.003 - m * l * l, 0.001);
    csim_quat q = csim_quat_axis_angle(csim_v3(0, 1, 0), CSIM_R(tilt));
    csim_vec3 axis = csim_rotate(q, csim_v3(0, 0, 1)), com = csim_scale(CSIM_R(l), axis);
    csim_vec3 w = csim_madd(csim_v3(0, 0, CSIM_R(precession)), CSIM_R(spin - precession * cos(tilt)), axis);
    if (midpoint) use_midpoint(&r);
    r.step.h = CSIM_R(h);
    r.s.rigid_mass[0] = CSIM_R(m);
    r.s.gravity[2] = CSIM_R(-9.81);
    r.s.rotation[0] = q.w;
    r.s.rotation[1] = q.x;
    r.s.rotation[2] = q.y;
    r.s.rotation[3] = q.z;
    csimi_store3(r.s.com, com);
    csimi_store3(r.s.velocity, csim_cross(w, com));
    csimi_store3(r.s.velocity + 3, w);
    return r;
}

typedef struct top_motion {
    double rate, low, high; /* mean precession rad/s; smallest and largest tilt, rad */
} top_motion;

static top_motion watch_top(rig *r, double seconds) {
    const double pi = 3.14159265358979323846;
    top_motion motion = {0, 9, -9};
    csim_vec3 axis = csim_rotate(rotation_of(r), csim_v3(0, 0, 1));
    double last = atan2((double)axis.y, (double)axis.x), h = (double)r->step.h;
    int n, steps = (int)(seconds / h + 0.5);
    for (n = 0; n < steps; n++) {
        double now, turn, tilt;
        step_top(r, csim_v3(0, 0, CSIM_R(-0.1)));
        axis = csim_rotate(rotation_of(r), csim_v3(0, 0, 1));
        now = atan2((double)axis.y, (double)axis.x);
        tilt = atan2(sqrt((double)(axis.x * axis.x + axis.y * axis.y)), (double)axis.z);
        turn = now - last;
        motion.rate += (turn > pi ? turn - 2 * pi : turn < -pi ? turn + 2 * pi : turn) / (steps * h);
        motion.low = tilt < motion.low ? tilt : motion.low;
        motion.high = tilt > motion.high ? tilt : motion.high;
        last = now;
    }
    NEAR(csim_length(csimi_load3(r->s.com)), 0.1, TOL(1e-5, 1e-5)); /* the pin holds; the gap of one step is left */
    return motion;
}

TEST(heavy_top_precesses_13) {
    const double tilt = 3.14159265358979323846 / 6, A = 0.003 * cos(tilt), B = 0.001 * 200, C = 0.0981;
    double slow = (B - sqrt(B * B - 4 * A * C)) / (2 * A), fast = (B + sqrt(B * B - 4 * A * C)) / (2 * A);
    int midpoint, k;
    NEAR(slow, 0.493666, 1e-6);
    NEAR(fast, 76.48637, 1e-4);
    for (midpoint = 0; midpoint < 2; midpoint++) {
        double error[2];
        for (k = 0; k < 2; k++) {
            double h = k ? 5e-4 : 1e-3;
            rig r = make_top(midpoint, h, 200, tilt, slow);
            top_motion motion = watch_top(&r, 2);
            CASE("midpoint %d, h = %g, rate %.6g, tilt %.5f to %.5f", midpoint, h, motion.rate, motion.low,
                 motion.high);
            error[k] = fabs(motion.rate - slow);
            NEAR(motion.rate, slow, slow * 4000 * h * h); /* order two in both worlds, constant measured 3400 */
            NEAR(motion.low, tilt, 0.5 * h);
            NEAR(motion.high, tilt, 0.5 * h);
            free_rig(&r);
        }
        CHECK(error[1] < 0.4 * error[0]);
        if (midpoint) { /* the fast root, too, in the world that does not dissipate */
            rig r = make_top(true, 2.5e-4, 200, tilt, fast);
            top_motion motion = watch_top(&r, 0.2);
            CASE("fast: rate %.6g, tilt %.5f to %.5f", motion.rate, motion.low, motion.high);
            NEAR(motion.rate, fast, 0.02 * fast);
            free_rig(&r);
        }
    }
}

TEST(sleeping_top_wakes_below_the_critical_spin_13) {
    double critical = 2 * sqrt(0.003 * 0.0981) / 0.001;
    int k;
    NEAR(critical, 34.3103, 1e-4);
    for (k = 0; k < 2; k++) {
        rig r = make_top(true, 5e-4, critical * (k ? 1.03 : 0.97), 1e-3, 0);
        top_motion motion = watch_top(&r, 5);
        CASE("spin %g, tilt up to %g", critical * (k ? 1.03 : 0.97), motion.high);
        CHECK(k ? motion.high < 0.02 : motion.high > 0.2);
        free_rig(&r);
    }
}
