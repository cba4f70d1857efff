/* cond_scenes.h: small scenes for the tests and the benchmark of COND, made by hand and not by the library's models:
   linear elasticity of a structured tetrahedral block (or ball), rigid boxes, and contacts that live through steps.
   Backward Euler with a constant stiffness: A = M + (h^2 + h beta) K, b = M v + h f - h K (x - X). */
#ifndef COND_SCENES_H
#define COND_SCENES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct toy_contact {
    int node, body, ground_body; /* node, or body with arm; against ground_body with ground_arm, or fixed ground (-1) */
    csim_real arm[3], ground_arm[3], R[9];
    csim_real gap, mu, lambda[3];
} toy_contact;

typedef struct toy {
    int nodes, bodies, blocks;
    csim_real h, beta, damping;
    csim_real *X, *x, *v, *f; /* [3 nodes] rest and present positions; [3 blocks] velocity, external force */
    csim_real *mass;          /* [9 blocks] block diagonal of M */
    csim_real *centre;        /* [3 bodies] */
    csim_real *stiffness;     /* [blocks] of a spring that holds a driven body, N/m on its linear block */
    csim_block_matrix K, A;   /* same pattern */
    csim_real *b;
    toy_contact *contact;
    int contact_count, contact_capacity;
    csim_contact *row;
    csim_term *term;
    int *active, row_count, term_count;
    csim_real *lambda;
    int *aggregate, aggregates;
    csim_real *offset, *radius, *aggregate_centre;
    unsigned char *rotation;
    csim_structure structure;
    csim_problem problem;
    csim_solution solution;
    csim_real margin, sigma;
    csim_law law;
    void *workspace;
    size_t workspace_bytes;
    csim_outcome outcome;
} toy;

static void *toy_alloc(size_t count, size_t size) { return calloc(count + 1, size); }

/* ---- the mesh: nx ny nz cells of six tetrahedra; ball maps the cube onto a sphere */

static int toy_grid(int nx, int ny, int i, int j, int k) { return i + (nx + 1) * (j + (ny + 1) * k); }

static void toy_ball_map(csim_real *x) {
    const double a = 2 * (double)x[0] - 1, b = 2 * (double)x[1] - 1, c = 2 * (double)x[2] - 1;
    x[0] = (csim_real)(a * sqrt(1 - b * b / 2 - c * c / 2 + b * b * c * c / 3));
    x[1] = (csim_real)(b * sqrt(1 - a * a / 2 - c * c / 2 + a * a * c * c / 3));
    x[2] = (csim_real)(c * sqrt(1 - a * a / 2 - b * b / 2 + a * a * b * b / 3));
}

static const int toy_path[6][2] = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};

/* Corners of tetrahedron t of a cell: from its low corner to its high one along three axes in one of six orders. */
static void toy_tet(int nx, int ny, const int *cell, int t, int *node) {
    int c[3], s;
    for (s = 0; s < 3; ++s) c[s] = cell[s];
    node[0] = toy_grid(nx, ny, c[0], c[1], c[2]);
    for (s = 0; s < 2; ++s) {
        c[toy_path[t][s]] += 1;
        node[s + 1] = toy_grid(nx, ny, c[0], c[1], c[2]);
    }
    node[3] = toy_grid(nx, ny, cell[0] + 1, cell[1] + 1, cell[2] + 1);
}

/* Gradients of the four shape functions and the volume. */
static double toy_gradients(const csim_real *X, const int *node, double *g) {
    double e[9], det;
    int i, k;
    for (k = 0; k < 3; ++k)
        for (i = 0; i < 3; ++i) e[3 * k + i] = (double)X[3 * node[k + 1] + i] - (double)X[3 * node[0] + i];
    for (k = 0; k < 3; ++k) {
        const double *p = e + 3 * ((k + 1) % 3), *q = e + 3 * ((k + 2) % 3);
        g[3 * (k + 1)] = p[1] * q[2] - p[2] * q[1];
        g[3 * (k + 1) + 1] = p[2] * q[0] - p[0] * q[2];
        g[3 * (k + 1) + 2] = p[0] * q[1] - p[1] * q[0];
    }
    det = e[0] * g[3] + e[1] * g[4] + e[2] * g[5];
    for (i = 0; i < 3; ++i) g[i] = 0;
    for (k = 1; k < 4; ++k)
        for (i = 0; i < 3; ++i) {
            g[3 * k + i] /= det;
            g[i] -= g[3 * k + i];
        }
    return fabs(det) / 6;
}

static csim_real *toy_block(csim_block_matrix *A, int i, int j) {
    return A->val + 9 * (size_t)csimi_pattern_find(A, i, j);
}

static void toy_tet_stiffness(toy *s, const int *node, double young, double poisson, double density) {
    const double lame = young * poisson / ((1 + poisson) * (1 - 2 * poisson)), shear = young / (2 * (1 + poisson));
    double g[12], volume = toy_gradients(s->X, node, g), dot;
    int a, b, i, j;
    for (a = 0; a < 4; ++a) {
        for (i = 0; i < 3; ++i) s->mass[9 * node[a] + 4 * i] += (csim_real)(density * volume / 4);
        for (b = 0; b < 4; ++b) {
            csim_real *K = toy_block(&s->K, node[a], node[b]);
            dot = g[3 * a] * g[3 * b] + g[3 * a + 1] * g[3 * b + 1] + g[3 * a + 2] * g[3 * b + 2];
            for (i = 0; i < 3; ++i)
                for (j = 0; j < 3; ++j)
                    K[3 * i + j] += (csim_real)(volume * (lame * g[3 * a + i] * g[3 * b + j] +
                                                          shear * g[3 * a + j] * g[3 * b + i] + (i == j ? shear * dot : 0)));
        }
    }
}

static void toy_pattern(toy *s, int nx, int ny, int nz) {
    const int cells = nx * ny * nz;
    int *pair = (int *)toy_alloc((size_t)(cells * 36 + s->bodies) * 2, sizeof(int)), *scratch;
    int c[3], t, a, b, node[4], count = 0, capacity, needed = 0;
    for (c[2] = 0; c[2] < nz; ++c[2])
        for (c[1] = 0; c[1] < ny; ++c[1])
            for (c[0] = 0; c[0] < nx; ++c[0])
                for (t = 0; t < 6; ++t) {
                    toy_tet(nx, ny, c, t, node);
                    for (a = 0; a < 4; ++a)
                        for (b = 0; b < a; ++b, ++count) {
                            pair[2 * count] = node[a];
                            pair[2 * count + 1] = node[b];
                        }
                }
    for (a = 0; a < s->bodies; ++a, ++count) {
        pair[2 * count] = s->nodes + 2 * a;
        pair[2 * count + 1] = s->nodes + 2 * a + 1;
    }
    capacity = 40 * s->blocks;
    s->K.n = s->blocks;
    s->K.row = (int *)toy_alloc((size_t)s->blocks + 1, sizeof(int));
    s->K.diag = (int *)toy_alloc((size_t)s->blocks, sizeof(int));
    s->K.col = (int *)toy_alloc((size_t)capacity, sizeof(int));
    scratch = (int *)toy_alloc(csimi_pattern_scratch(s->blocks, count), sizeof(int));
    (void)csimi_pattern_build(s->blocks, count, pair, s->K.row, s->K.col, s->K.diag, capacity, &needed, scratch);
    s->K.val = (csim_real *)toy_alloc(9 * (size_t)s->K.row[s->blocks], sizeof(csim_real));
    s->A = s->K;
    s->A.val = (csim_real *)toy_alloc(9 * (size_t)s->K.row[s->blocks], sizeof(csim_real));
    free(pair);
    free(scratch);
}

/* An elastic block of nx ny nz cells (nx = 0: none) and room for rigid bodies. size: edge lengths; ball: radius in
   size[0]. at: low corner, or centre of the ball. */
static void toy_begin(toy *s, int nx, int ny, int nz, const double *size, const double *at, bool ball, double young,
                      double density, int bodies, double h) {
    int c[3], t, i, node[4];
    memset(s, 0, sizeof *s);
    s->nodes = nx > 0 ? (nx + 1) * (ny + 1) * (nz + 1) : 0;
    s->bodies = bodies;
    s->blocks = s->nodes + 2 * bodies;
    s->h = (csim_real)h;
    s->margin = CSIM_R(1e-3);
    s->X = (csim_real *)toy_alloc(3 * (size_t)s->nodes, sizeof(csim_real));
    s->x = (csim_real *)toy_alloc(3 * (size_t)s->nodes, sizeof(csim_real));
    s->v = (csim_real *)toy_alloc(3 * (size_t)s->blocks, sizeof(csim_real));
    s->f = (csim_real *)toy_alloc(3 * (size_t)s->blocks, sizeof(csim_real));
    s->b = (csim_real *)toy_alloc(3 * (size_t)s->blocks, sizeof(csim_real));
    s->mass = (csim_real *)toy_alloc(9 * (size_t)s->blocks, sizeof(csim_real));
    s->centre = (csim_real *)toy_alloc(3 * (size_t)bodies, sizeof(csim_real));
    s->stiffness = (csim_real *)toy_alloc((size_t)s->blocks, sizeof(csim_real));
    s->aggregate = (int *)toy_alloc((size_t)s->blocks, sizeof(int));
    s->offset = (csim_real *)toy_alloc(3 * (size_t)s->blocks, sizeof(csim_real));
    s->rotation = (unsigned char *)toy_alloc((size_t)s->blocks, 1);
    toy_pattern(s, nx, ny, nz);
    if (!s->nodes) return;
    for (c[2] = 0; c[2] <= nz; ++c[2])
        for (c[1] = 0; c[1] <= ny; ++c[1])
            for (c[0] = 0; c[0] <= nx; ++c[0]) {
                csim_real *X = s->X + 3 * toy_grid(nx, ny, c[0], c[1], c[2]);
                X[0] = (csim_real)c[0] / (csim_real)nx;
                X[1] = (csim_real)c[1] / (csim_real)ny;
                X[2] = (csim_real)c[2] / (csim_real)nz;
                if (ball) toy_ball_map(X);
                for (i = 0; i < 3; ++i) X[i] = (csim_real)at[i] + (csim_real)(ball ? size[0] : size[i]) * X[i];
            }
    memcpy(s->x, s->X, 3 * (size_t)s->nodes * sizeof(csim_real));
    for (c[2] = 0; c[2] < nz; ++c[2])
        for (c[1] = 0; c[1] < ny; ++c[1])
            for (c[0] = 0; c[0] < nx; ++c[0])
                for (t = 0; t < 6; ++t) {
                    toy_tet(nx, ny, c, t, node);
                    toy_tet_stiffness(s, node, young, 0.4, density);
                }
}

/* Rigid box k, mass m, edges a b c. */
static void toy_box(toy *s, int k, double m, const double *edge, double x, double y, double z) {
    const int block = s->nodes + 2 * k;
    int i;
    for (i = 0; i < 3; ++i) {
        const double p = edge[(i + 1) % 3], q = edge[(i + 2) % 3];
        s->mass[9 * block + 4 * i] = (csim_real)m;
        s->mass[9 * (block + 1) + 4 * i] = (csim_real)(m * (p * p + q * q) / 12);
    }
    s->centre[3 * k] = (csim_real)x;
    s->centre[3 * k + 1] = (csim_real)y;
    s->centre[3 * k + 2] = (csim_real)z;
    s->rotation[block + 1] = 1;
}

static void toy_gravity(toy *s, double g) {
    int i;
    for (i = 0; i < s->blocks; ++i)
        if (!s->rotation[i]) s->f[3 * i + 2] = (csim_real)(-g) * s->mass[9 * i];
}

/* A contact at a world point with normal n from b to a. node >= 0 or body >= 0 is side a; ground < 0: fixed. */
static toy_contact *toy_touch(toy *s, int node, int body, int ground, const csim_real *point, const csim_real *n,
                              double gap, double mu) {
    toy_contact *c;
    int i;
    if (s->contact_count == s->contact_capacity) {
        s->contact_capacity = 2 * s->contact_capacity + 64;
        s->contact = (toy_contact *)realloc(s->contact, (size_t)s->contact_capacity * sizeof *c);
    }
    c = s->contact + s->contact_count++;
    memset(c, 0, sizeof *c);
    c->node = node;
    c->body = body;
    c->ground_body = ground;
    c->gap = (csim_real)gap;
    c->mu = (csim_real)mu;
    csimi_frame(n, NULL, c->R);
    for (i = 0; i < 3; ++i) {
        if (body >= 0) c->arm[i] = point[i] - s->centre[3 * body + i];
        if (ground >= 0) c->ground_arm[i] = point[i] - s->centre[3 * ground + i];
    }
    return c;
}

/* Call when bodies and contacts are there: aggregates (count <= 0: n^(2/3)/6 of them) and all arrays of the problem. */
static void toy_finish(toy *s, int count) {
    const int rows = s->contact_count;
    int i, k, a;
    double n = (double)s->nodes;
    s->aggregates = 0;
    if (s->nodes) {
        int *scratch = (int *)toy_alloc(csimi_aggregate_scratch(s->nodes), sizeof(int));
        if (count <= 0) {
            count = (int)(exp(log(n) * 2 / 3) / 6);
            count = count < 4 ? 4 : count > 150 ? 150 : count;
        }
        s->aggregates = csimi_aggregate(s->nodes, s->K.row, s->K.col, s->X, count, s->aggregate, scratch);
        free(scratch);
    }
    s->radius = (csim_real *)toy_alloc((size_t)(s->aggregates + s->bodies), sizeof(csim_real));
    s->aggregate_centre = (csim_real *)toy_alloc(3 * (size_t)(s->aggregates + s->bodies), sizeof(csim_real));
    for (a = 0; a < s->aggregates; ++a) {
        double c[3] = {0, 0, 0}, square = 0;
        int members = 0;
        for (i = 0; i < s->nodes; ++i)
            if (s->aggregate[i] == a) {
                members += 1;
                for (k = 0; k < 3; ++k) c[k] += (double)s->X[3 * i + k];
            }
        for (k = 0; k < 3; ++k) s->aggregate_centre[3 * a + k] = (csim_real)(c[k] / members);
        for (i = 0; i < s->nodes; ++i)
            for (k = 0; k < 3 && s->aggregate[i] == a; ++k) {
                s->offset[3 * i + k] = s->X[3 * i + k] - s->aggregate_centre[3 * a + k];
                square += (double)(s->offset[3 * i + k] * s->offset[3 * i + k]);
            }
        s->radius[a] = (csim_real)sqrt(square / members);
    }
    for (k = 0; k < s->bodies; ++k) {
        const csim_real *M = s->mass + 9 * (s->nodes + 2 * k);
        for (i = 0; i < 3; ++i) s->aggregate_centre[3 * (s->aggregates + k) + i] = s->centre[3 * k + i];
        s->aggregate[s->nodes + 2 * k] = s->aggregate[s->nodes + 2 * k + 1] = s->aggregates + k;
        s->radius[s->aggregates + k] = (csim_real)sqrt((double)(M[9] + M[13] + M[17]) / (2 * (double)M[0]));
    }
    s->aggregates += s->bodies;
    s->structure.aggregate_count = s->aggregates;
    s->structure.aggregate = s->aggregate;
    s->structure.offset = s->offset;
    s->structure.radius = s->radius;
    s->structure.centre = s->aggregate_centre;
    s->structure.rotation = s->rotation;
    s->row = (csim_contact *)toy_alloc((size_t)rows, sizeof(csim_contact));
    s->term = (csim_term *)toy_alloc(4 * (size_t)rows, sizeof(csim_term));
    s->active = (int *)toy_alloc((size_t)rows, sizeof(int));
    s->lambda = (csim_real *)toy_alloc(3 * (size_t)rows, sizeof(csim_real));
}

/* ---- a step */

static void toy_matrix(toy *s) {
    const csim_real c = s->h * (s->h + s->beta);
    size_t i, blocks = (size_t)s->K.row[s->blocks];
    int k, j;
    for (i = 0; i < 9 * blocks; ++i) s->A.val[i] = c * s->K.val[i];
    for (k = 0; k < s->blocks; ++k)
        for (j = 0; j < 9; ++j) {
            csim_real *D = s->A.val + 9 * (size_t)s->A.diag[k] + j;
            *D += s->mass[9 * k + j] * (1 + (j % 4 == 0 ? s->h * s->damping : 0));
            if (j % 4 == 0) *D += s->h * s->h * s->stiffness[k];
        }
}

static void toy_load(toy *s) {
    csim_real *stretch = (csim_real *)toy_alloc(3 * (size_t)s->blocks, sizeof(csim_real));
    int i, j;
    for (i = 0; i < 3 * s->nodes; ++i) stretch[i] = s->x[i] - s->X[i];
    csimi_product(&s->K, stretch, s->b, NULL);
    for (i = 0; i < s->blocks; ++i)
        for (j = 0; j < 3; ++j)
            s->b[3 * i + j] = s->mass[9 * i + 4 * j] * s->v[3 * i + j] + s->h * (s->f[3 * i + j] - s->b[3 * i + j]);
    free(stretch);
}

static csim_side toy_side(toy *s, int node, int body, const csim_real *arm) {
    csim_side side;
    csim_term *t = s->term + s->term_count;
    side.first = s->term_count;
    side.count = node >= 0 ? 1 : body >= 0 ? 2 : 0;
    s->term_count += side.count;
    if (!side.count) return side;
    memset(t, 0, (size_t)side.count * sizeof *t);
    t->block = node >= 0 ? node : s->nodes + 2 * body;
    t->J[0] = t->J[4] = t->J[8] = 1;
    if (node < 0) {
        int i;
        t[1].block = t->block + 1;
        csimi_skew(arm, t[1].J);
        for (i = 0; i < 9; ++i) t[1].J[i] = -t[1].J[i];
    }
    return side;
}

static void toy_rows(toy *s) {
    int m, i;
    s->row_count = s->term_count = 0;
    for (m = 0; m < s->contact_count; ++m) {
        toy_contact *c = s->contact + m;
        csim_contact *r = s->row + s->row_count;
        if (c->gap > s->margin) {
            memset(c->lambda, 0, sizeof c->lambda);
            continue;
        }
        memset(r, 0, sizeof *r);
        r->law = s->law;
        r->a = toy_side(s, c->node, c->body, c->arm);
        r->b = toy_side(s, -1, c->ground_body, c->ground_arm);
        memcpy(r->R, c->R, sizeof r->R);
        r->phi[0] = (c->gap > 0 ? 1 : CSIM_R(0.8)) * c->gap / s->h;
        r->mu[0] = r->mu[1] = c->mu;
        for (i = 0; i < 3; ++i) s->lambda[3 * s->row_count + i] = c->lambda[i];
        s->active[s->row_count++] = m;
    }
}

/* Fills problem and solution (start: v of the last step). */
static void toy_problem(toy *s) {
    toy_matrix(s);
    toy_load(s);
    toy_rows(s);
    memset(&s->problem, 0, sizeof s->problem);
    s->problem.A = s->A;
    s->problem.b = s->b;
    s->problem.contact_count = s->row_count;
    s->problem.contacts = s->row;
    s->problem.term_count = s->term_count;
    s->problem.terms = s->term;
    s->problem.structure = &s->structure;
    s->problem.theta = 1;
    s->solution.v = s->v;
    s->solution.lambda = s->lambda;
}

static csim_status toy_solve(toy *s, const csim_solver_params *params) {
    csim_problem_size size = csim_problem_measure(&s->problem);
    const size_t bytes = csim_solver_bytes(&size, params);
    if (bytes > s->workspace_bytes) {
        free(s->workspace);
        s->workspace = malloc(bytes);
        s->workspace_bytes = bytes;
    }
    return csim_problem_solve(&s->problem, params, s->workspace, s->workspace_bytes, NULL, &s->solution, &s->outcome,
                              NULL);
}

static void toy_velocity(const toy *s, int node, int body, const csim_real *arm, csim_real sign, csim_real *u) {
    int i;
    for (i = 0; i < 3; ++i) {
        const csim_real *v = s->v + 3 * (size_t)(node >= 0 ? node : s->nodes + 2 * body), *w = v + 3;
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        if (node < 0 && body < 0) return;
        u[i] += sign * (v[i] + (node >= 0 ? 0 : w[j] * arm[k] - w[k] * arm[j]));
    }
}

/* Positions and gaps; the geometry of the contacts (frames, arms) stays as it was. */
static void toy_advance(toy *s) {
    int i, m;
    for (i = 0; i < 3 * s->nodes; ++i) s->x[i] += s->h * s->v[i];
    for (m = 0; m < s->row_count; ++m)
        for (i = 0; i < 3; ++i) s->contact[s->active[m]].lambda[i] = s->lambda[3 * m + i];
    for (m = 0; m < s->contact_count; ++m) {
        toy_contact *c = s->contact + m;
        csim_real u[3] = {0, 0, 0};
        toy_velocity(s, c->node, c->body, c->arm, 1, u);
        toy_velocity(s, -1, c->ground_body, c->ground_arm, -1, u);
        c->gap += s->h * (c->R[0] * u[0] + c->R[1] * u[1] + c->R[2] * u[2]);
    }
}

static csim_status toy_step(toy *s, const csim_solver_params *params) {
    csim_solver_params p = *params;
    csim_status status;
    p.sigma = s->sigma;
    toy_problem(s);
    status = toy_solve(s, &p);
    if (s->outcome.sigma > 0) s->sigma = s->outcome.sigma;
    toy_advance(s);
    return status;
}

static void toy_free(toy *s) {
    free(s->X), free(s->x), free(s->v), free(s->f), free(s->b), free(s->mass), free(s->centre), free(s->stiffness);
    free(s->K.row), free(s->K.col), free(s->K.diag), free(s->K.val), free(s->A.val);
    free(s->contact), free(s->row), free(s->term), free(s->active), free(s->lambda);
    free(s->aggregate), free(s->offset), free(s->radius), free(s->aggregate_centre), free(s->rotation);
    free(s->workspace);
}

/* ---- scenes */

/* The plates as good as kinematic: 200 kg in A against the 4 kg of the ball. */
static void toy_drive(toy *s, double close, double lift) {
    int k;
    for (k = 0; k < 2; ++k) {
        const int block = s->nodes + 2 * k;
        s->stiffness[block] = s->stiffness[block + 1] = 2e6;
        s->f[3 * block] = (csim_real)((k ? -close : close) * 2e6 * (double)s->h);
        s->f[3 * block + 2] = (csim_real)(lift * 2e6 * (double)s->h);
    }
}

/* A ball of radius 0.1 m held between two driven plates along x, lifted along z. */
static void toy_grip(toy *s, int cells, double young) {
    const double size[3] = {0.1, 0.1, 0.1}, at[3] = {0, 0, 0}, plate[3] = {0.02, 0.2, 0.2};
    int i, k;
    toy_begin(s, cells, cells, cells, size, at, true, young, 1000, 2, 0.01);
    for (k = 0; k < 2; ++k) {
        toy_box(s, k, 0.5, plate, k ? 0.11 : -0.11, 0, 0);
    }
    toy_gravity(s, 9.81);
    toy_drive(s, 0.1, 0.1);
    for (i = 0; i < s->nodes; ++i)
        for (k = 0; k < 2; ++k) {
            const csim_real x = s->X[3 * i], n[3] = {(csim_real)(k ? -1 : 1), 0, 0};
            const double gap = k ? 0.1 - (double)x : 0.1 + (double)x;
            if (gap < 0.012) toy_touch(s, i, -1, k, s->X + 3 * i, n, gap, 0.6);
        }
    s->beta = CSIM_R(1e-3);
    s->margin = CSIM_R(0.004);
    toy_finish(s, 0);
}

/* A thin mat of nx by nx by 1 cells dropped on the ground with a sideways velocity. */
static void toy_mat(toy *s, int nx, double young) {
    const double size[3] = {0.5, 0.5, 0.01}, at[3] = {0, 0, 0};
    const csim_real up[3] = {0, 0, 1};
    int i;
    toy_begin(s, nx, nx, 1, size, at, false, young, 1000, 0, 0.01);
    toy_gravity(s, 9.81);
    for (i = 0; i < s->nodes; ++i) {
        s->v[3 * i] = CSIM_R(0.3) * s->X[3 * i + 1];
        s->v[3 * i + 2] = CSIM_R(-0.5) * s->X[3 * i];
        if ((double)s->X[3 * i + 2] < 1e-9) toy_touch(s, i, -1, -1, s->X + 3 * i, up, 1e-3 + 0.02 * (double)s->X[3 * i], 0.5);
    }
    s->beta = CSIM_R(1e-3);
    toy_finish(s, 0);
}

/* An elastic cube of 0.2 m standing on the ground, pushed sideways. */
static void toy_cube(toy *s, int cells, double young, double push) {
    const double size[3] = {0.2, 0.2, 0.2}, at[3] = {0, 0, 0};
    const csim_real up[3] = {0, 0, 1};
    int i;
    toy_begin(s, cells, cells, cells, size, at, false, young, 1000, 0, 0.01);
    toy_gravity(s, 9.81);
    for (i = 0; i < s->nodes; ++i) {
        s->f[3 * i] = (csim_real)push * s->mass[9 * i];
        s->v[3 * i + 2] = CSIM_R(-0.2);
        if ((double)s->X[3 * i + 2] < 1e-9) toy_touch(s, i, -1, -1, s->X + 3 * i, up, 5e-4, 0.5);
    }
    s->beta = CSIM_R(1e-3);
    toy_finish(s, 0);
}

/* count boxes of 0.2 m on each other; masses grow by ratio from the bottom to the top. */
static void toy_stack(toy *s, int count, double ratio) {
    const double edge[3] = {0.2, 0.2, 0.2};
    const csim_real up[3] = {0, 0, 1};
    int k, c;
    toy_begin(s, 0, 0, 0, edge, edge, false, 0, 0, count, 0.01);
    for (k = 0; k < count; ++k)
        toy_box(s, k, count > 1 ? exp(log(ratio) * k / (count - 1)) : 1, edge, 0.01 * (k % 3), 0, 0.1 + 0.2 * k);
    toy_gravity(s, 9.81);
    for (k = 0; k < count; ++k)
        for (c = 0; c < 4; ++c) {
            csim_real p[3];
            p[0] = s->centre[3 * k] + CSIM_R(0.1) * (csim_real)(c % 2 ? 1 : -1);
            p[1] = CSIM_R(0.1) * (csim_real)(c / 2 ? 1 : -1);
            p[2] = CSIM_R(0.2) * (csim_real)k;
            toy_touch(s, -1, k, k - 1, p, up, 0, 0.5);
        }
    toy_finish(s, 0);
}

#endif
