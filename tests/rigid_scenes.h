/* A small rigid world for the tests of the sweep solver: boxes, and corner points that press on planes of other bodies
   or of the ground. There is no collision: the scenes name their contacts. */
#ifndef RIGID_SCENES_H
#define RIGID_SCENES_H

#include <math.h>

typedef struct rig_body {
    double mass, inertia[3], x[3], q[4], v[3], w[3];
} rig_body;

/* Point pa of body a (its axes) on the plane through pb with normal nb of body b (its axes); b -1: the ground. */
typedef struct rig_corner {
    int a, b;
    double pa[3], pb[3], nb[3], mu;
} rig_corner;

typedef struct rig {
    int bodies, contacts;
    rig_body *body;
    rig_corner *corner;
    double h, gravity[3], stabilisation, penetration;
    csim_problem p;
    csim_structure structure;
    csim_contact *contact;
    csim_term *term;
    csim_real *b, *val, *v, *lambda;
    csim_real *move, *pulse; /* of the solution, where a test wants them */
    int *row, *col, *diag, *first;
    void *workspace;
    size_t bytes;
    csim_outcome out;
    double ms;
} rig;

static void *rig_alloc(int count, size_t size) { return calloc((size_t)count + 1, size); }

static void rig_init(rig *s, int bodies, int contacts) {
    memset(s, 0, sizeof *s);
    s->body = (rig_body *)rig_alloc(bodies, sizeof(rig_body));
    s->corner = (rig_corner *)rig_alloc(contacts, sizeof(rig_corner));
    s->contact = (csim_contact *)rig_alloc(contacts, sizeof(csim_contact));
    s->term = (csim_term *)rig_alloc(4 * contacts, sizeof(csim_term));
    s->b = (csim_real *)rig_alloc(6 * bodies, sizeof(csim_real));
    s->v = (csim_real *)rig_alloc(6 * bodies, sizeof(csim_real));
    s->val = (csim_real *)rig_alloc(18 * bodies, sizeof(csim_real));
    s->lambda = (csim_real *)rig_alloc(3 * contacts, sizeof(csim_real));
    s->row = (int *)rig_alloc(2 * bodies, sizeof(int));
    s->col = (int *)rig_alloc(2 * bodies, sizeof(int));
    s->diag = (int *)rig_alloc(2 * bodies, sizeof(int));
    s->first = (int *)rig_alloc(bodies, sizeof(int));
    s->h = 0.01;
    s->gravity[2] = -9.81;
    s->stabilisation = 0.8;
}

static void rig_free(rig *s) {
    free(s->body);
    free(s->corner);
    free(s->contact);
    free(s->term);
    free(s->b);
    free(s->v);
    free(s->val);
    free(s->lambda);
    free(s->row);
    free(s->col);
    free(s->diag);
    free(s->first);
    free(s->workspace);
    memset(s, 0, sizeof *s);
}

/* A box of half sizes hx, hy, hz. */
static int rig_box(rig *s, double mass, double hx, double hy, double hz, double x, double y, double z) {
    rig_body *b = s->body + s->bodies;
    b->mass = mass;
    b->inertia[0] = mass / 3 * (hy * hy + hz * hz);
    b->inertia[1] = mass / 3 * (hx * hx + hz * hz);
    b->inertia[2] = mass / 3 * (hx * hx + hy * hy);
    b->x[0] = x;
    b->x[1] = y;
    b->x[2] = z;
    b->q[0] = 1;
    return s->bodies++;
}

static void rig_touch(rig *s, int a, double px, double py, double pz, int b, double qx, double qy, double qz, double nx,
                      double ny, double nz, double mu) {
    rig_corner *c = s->corner + s->contacts++;
    c->a = a;
    c->b = b;
    c->pa[0] = px;
    c->pa[1] = py;
    c->pa[2] = pz;
    c->pb[0] = qx;
    c->pb[1] = qy;
    c->pb[2] = qz;
    c->nb[0] = nx;
    c->nb[1] = ny;
    c->nb[2] = nz;
    c->mu = mu;
}

static void rig_rotate(const double *q, const double *x, double *y) {
    csim_quat r;
    csim_vec3 v;
    r.w = CSIM_R(q[0]);
    r.x = CSIM_R(q[1]);
    r.y = CSIM_R(q[2]);
    r.z = CSIM_R(q[3]);
    v = csim_rotate(r, csim_v3(CSIM_R(x[0]), CSIM_R(x[1]), CSIM_R(x[2])));
    y[0] = (double)v.x;
    y[1] = (double)v.y;
    y[2] = (double)v.z;
}

static void rig_terms(csim_term *t, int block, const double *arm) {
    csim_real r[3];
    int k;
    for (k = 0; k < 3; k++) r[k] = CSIM_R(arm[k]);
    t[0].block = block;
    t[1].block = block + 1;
    csimi_skew(r, t[1].J);
    for (k = 0; k < 9; k++) {
        t[0].J[k] = k % 4 == 0 ? 1 : 0;
        t[1].J[k] = -t[1].J[k];
    }
}

static void rig_build_body(rig *s, int i) {
    const rig_body *b = s->body + i;
    double axes[3][3];
    int r, c, k;
    for (k = 0; k < 3; k++) {
        double e[3] = {0, 0, 0};
        e[k] = 1;
        rig_rotate(b->q, e, axes[k]);
    }
    for (r = 0; r < 3; r++) {
        double momentum = 0;
        for (c = 0; c < 3; c++) {
            double sum = 0;
            for (k = 0; k < 3; k++) sum += axes[k][r] * b->inertia[k] * axes[k][c];
            s->val[18 * i + 3 * r + c] = r == c ? CSIM_R(b->mass) : 0;
            s->val[18 * i + 9 + 3 * r + c] = CSIM_R(sum);
            momentum += sum * b->w[c];
        }
        s->b[6 * i + r] = CSIM_R(b->mass * (b->v[r] + s->h * s->gravity[r]));
        s->b[6 * i + 3 + r] = CSIM_R(momentum);
    }
    for (k = 0; k < 2; k++) s->row[2 * i + k] = s->col[2 * i + k] = s->diag[2 * i + k] = 2 * i + k;
    s->first[i] = 2 * i;
}

static void rig_build_contact(rig *s, int m) {
    const rig_corner *c = s->corner + m;
    csim_contact *out = s->contact + m;
    double arm[3], point[3], n[3], foot[3], gap = 0;
    csim_real normal[3];
    int k;
    memset(out, 0, sizeof *out);
    rig_rotate(s->body[c->a].q, c->pa, arm);
    for (k = 0; k < 3; k++) point[k] = s->body[c->a].x[k] + arm[k];
    out->a.first = s->p.term_count;
    out->a.count = 2;
    rig_terms(s->term + s->p.term_count, 2 * c->a, arm);
    s->p.term_count += 2;
    memcpy(n, c->nb, sizeof n);
    memcpy(foot, c->pb, sizeof foot);
    if (c->b >= 0) {
        rig_rotate(s->body[c->b].q, c->nb, n);
        rig_rotate(s->body[c->b].q, c->pb, foot);
        for (k = 0; k < 3; k++) foot[k] += s->body[c->b].x[k];
    }
    for (k = 0; k < 3; k++) gap += n[k] * (point[k] - foot[k]);
    if (c->b >= 0) {
        for (k = 0; k < 3; k++) arm[k] = point[k] - gap * n[k] - s->body[c->b].x[k];
        out->b.first = s->p.term_count;
        out->b.count = 2;
        rig_terms(s->term + s->p.term_count, 2 * c->b, arm);
        s->p.term_count += 2;
    }
    for (k = 0; k < 3; k++) {
        normal[k] = CSIM_R(n[k]);
    }
    csimi_frame(normal, NULL, out->R);
    out->phi[0] = CSIM_R((gap > 0 ? 1 : s->stabilisation) * gap / s->h);
    out->mu[0] = out->mu[1] = CSIM_R(c->mu);
    out->law = CSIM_LAW_STRICT;
    if (-gap > s->penetration) s->penetration = -gap;
}

/* The problem of the coming step. */
static void rig_build(rig *s) {
    int i;
    memset(&s->p, 0, sizeof s->p);
    s->penetration = 0;
    for (i = 0; i < s->bodies; i++) rig_build_body(s, i);
    s->row[2 * s->bodies] = 2 * s->bodies;
    s->first[s->bodies] = 2 * s->bodies;
    for (i = 0; i < s->contacts; i++) rig_build_contact(s, i);
    s->p.A.n = 2 * s->bodies;
    s->p.A.row = s->row;
    s->p.A.col = s->col;
    s->p.A.diag = s->diag;
    s->p.A.val = s->val;
    s->p.b = s->b;
    s->p.contact_count = s->contacts;
    s->p.contacts = s->contact;
    s->p.terms = s->term;
    s->p.theta = 1;
    memset(&s->structure, 0, sizeof s->structure);
    s->structure.body_count = s->bodies;
    s->structure.body_first = s->first;
    s->p.structure = &s->structure;
}

static csim_status rig_solve(rig *s, const csim_solver_params *params) {
    csim_problem_size size = csim_problem_measure(&s->p);
    const size_t need = csim_solver_bytes(&size, params);
    csim_solution solution = csim_solution_of(NULL, NULL);
    csim_status status;
    clock_t start;
    if (need > s->bytes) {
        free(s->workspace);
        s->workspace = malloc(need);
        s->bytes = need;
    }
    solution.v = s->v;
    solution.lambda = s->lambda;
    solution.move = s->move;
    solution.pulse = s->pulse;
    start = clock();
    status = csim_problem_solve(&s->p, params, s->workspace, s->bytes, NULL, &solution, &s->out, NULL);
    s->ms = 1e3 * (double)(clock() - start) / CLOCKS_PER_SEC;
    return status;
}

/* Positions by the velocities found. */
static void rig_move(rig *s) {
    int i, k;
    for (i = 0; i < s->bodies; i++) {
        rig_body *b = s->body + i;
        csim_quat q, turn;
        for (k = 0; k < 3; k++) {
            b->v[k] = (double)s->v[6 * i + k];
            b->w[k] = (double)s->v[6 * i + 3 + k];
            b->x[k] += s->h * b->v[k];
        }
        q.w = CSIM_R(b->q[0]);
        q.x = CSIM_R(b->q[1]);
        q.y = CSIM_R(b->q[2]);
        q.z = CSIM_R(b->q[3]);
        turn = csim_quat_exp(csim_v3(CSIM_R(s->h * b->w[0]), CSIM_R(s->h * b->w[1]), CSIM_R(s->h * b->w[2])));
        q = csim_quat_normalize(csim_quat_mul(turn, q));
        b->q[0] = (double)q.w;
        b->q[1] = (double)q.x;
        b->q[2] = (double)q.y;
        b->q[3] = (double)q.z;
    }
}

/* count unit boxes one on another, masses lowest to lowest * ratio upwards; four corners an interface. */
CHECK_MAYBE_UNUSED static void rig_stack(rig *s, int count, double lowest, double ratio, double mu) {
    int i, k;
    rig_init(s, count, 4 * count);
    for (i = 0; i < count; i++) {
        rig_box(s, lowest * (count > 1 ? pow(ratio, (double)i / (count - 1)) : 1), 0.5, 0.5, 0.5, 0, 0, 0.5 + i);
        for (k = 0; k < 4; k++)
            rig_touch(s, i, k & 1 ? 0.5 : -0.5, k & 2 ? 0.5 : -0.5, -0.5, i - 1, 0, 0, i ? 0.5 : 0, 0, 0, 1, mu);
    }
}

/* Bricks in bond: layers of nx, each box on two below where there are two; ny walls side by side, not touching. */
CHECK_MAYBE_UNUSED static void rig_wall(rig *s, int layers, int nx, int ny) {
    int l, i, j, side, k;
    rig_init(s, layers * nx * ny, 8 * layers * nx * ny);
    for (l = 0; l < layers; l++)
        for (j = 0; j < ny; j++)
            for (i = 0; i < nx; i++) {
                const int me = rig_box(s, 1, 0.49, 0.49, 0.49, i + (l % 2 ? 0.5 : 0), j, 0.49 + 0.98 * l);
                for (side = 0; side < 2; side++) {
                    const int below = l % 2 ? i + side : i - 1 + side;
                    const double lo = l == 0 || side == 0 ? -0.49 : 0.01, hi = l == 0 || side == 1 ? 0.49 : -0.01;
                    if (l == 0 ? side == 1 : below < 0 || below >= nx) continue;
                    for (k = 0; k < 4; k++)
                        rig_touch(s, me, k & 1 ? hi : lo, k & 2 ? 0.49 : -0.49, -0.49,
                                  l ? ((l - 1) * ny + j) * nx + below : -1, 0, 0, l ? 0.49 : 0, 0, 0, 1, 0.5);
                }
            }
}

#endif
