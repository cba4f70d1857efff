/* worlds: what is stepped, from a seed, and how its state is read. */
#include "audit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double audit_pi = 3.14159265358979323846;

typedef unsigned long long random_state;

static double uniform(random_state *s, double low, double high) {
    *s = *s * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + (high - low) * (double)(*s >> 11) / 9007199254740992.0;
}

static int choose(random_state *s, int low, int high) { return (int)floor(uniform(s, low, high + 1 - 1e-9)); }

static random_state seeded(unsigned long long seed) {
    random_state s = seed * 0x9E3779B97F4A7C15ULL + 12345;
    int i;
    for (i = 0; i < 5; i++) uniform(&s, 0, 1);
    return s;
}

static csim_vec3 v3(double x, double y, double z) { return csim_v3((csim_real)x, (csim_real)y, (csim_real)z); }

static audit_world *open_world(double h) {
    audit_world *w = (audit_world *)calloc(1, sizeof *w);
    csim_body_id ground;
    if (!w) return NULL;
    w->h = h;
    w->rigid_only = true;
    w->def = csim_default_world_def();
    if (csim_create_world(&w->def, &w->world, NULL) == CSIM_OK &&
        csim_create_ground(w->world, v3(0, 0, 0), v3(0, 0, 1), (csim_real)0.5, &ground) == CSIM_OK)
        return w;
    close_world(w);
    return NULL;
}

void close_world(audit_world *w) {
    if (w) csim_destroy_world(w->world);
    free(w);
}

/* ---- bodies */

static void solid_inertia(const solid *s, double m, double *I) {
    double r = s->radius, l = 2 * s->half_height, ball, rod;
    const double *a = s->half;
    if (s->kind == SOLID_BOX) {
        I[0] = m * (a[1] * a[1] + a[2] * a[2]) / 3;
        I[1] = m * (a[0] * a[0] + a[2] * a[2]) / 3;
        I[2] = m * (a[0] * a[0] + a[1] * a[1]) / 3;
    } else if (s->kind == SOLID_BALL) {
        I[0] = I[1] = I[2] = 0.4 * m * r * r;
    } else { /* a rod of length l and two half balls */
        rod = m * l / (l + 4 * r / 3);
        ball = m - rod;
        I[2] = rod * r * r / 2 + ball * 0.4 * r * r;
        I[0] = I[1] = rod * (3 * r * r + l * l) / 12 + ball * (0.4 * r * r + l * l / 4 + 3 * l * r / 8);
    }
}

static csim_shape shape_of(const solid *s) {
    if (s->kind == SOLID_BOX) return csim_box(v3(s->half[0], s->half[1], s->half[2]));
    if (s->kind == SOLID_BALL) return csim_sphere((csim_real)s->radius);
    return csim_capsule((csim_real)s->radius, (csim_real)s->half_height);
}

static body *add_solid(audit_world *w, const solid *s, double mass, double friction, csim_quat turn, bool fixed) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape = shape_of(s);
    body *b = w->body + w->count;
    if (w->count == AUDIT_BODIES) return NULL;
    b->kind = BODY_RIGID;
    b->shape = *s;
    b->mass = mass;
    b->friction = friction;
    b->fixed = fixed;
    b->partner = -1;
    solid_inertia(s, mass, b->inertia);
    d.pose.position = v3(s->x[0], s->x[1], s->x[2]);
    d.pose.rotation = turn;
    d.mass = (csim_real)mass;
    d.motion = fixed ? CSIM_STATIC : CSIM_DYNAMIC;
    d.shapes = &shape;
    d.shape_count = 1;
    d.surface.friction = (csim_real)friction;
    if (csim_create_rigid(w->world, &d, &b->id) != CSIM_OK) return NULL;
    w->count++;
    return b;
}

static solid random_solid(random_state *r, int kinds, double low, double high) {
    solid s;
    int k;
    memset(&s, 0, sizeof s);
    s.kind = (solid_kind)choose(r, 0, kinds - 1);
    for (k = 0; k < 3; k++) s.half[k] = uniform(r, low, high) / 2;
    s.radius = uniform(r, low, high) / 2;
    if (s.kind == SOLID_CAPSULE) s.radius /= 2;
    s.half_height = uniform(r, low, high) / 2;
    return s;
}

audit_world *stack_world(unsigned long long seed, double ratio, double h) {
    random_state r = seeded(seed);
    audit_world *w = open_world(h);
    int count = choose(&r, 3, 8), light, heavy, i;
    double top = 0;
    if (!w) return NULL;
    light = choose(&r, 0, count - 1); /* the ends of the range are always there */
    heavy = (light + choose(&r, 1, count - 1)) % count;
    for (i = 0; i < count; i++) {
        solid s = random_solid(&r, 1, 0.1, 0.3);
        double mass = exp(uniform(&r, 0, 1) * log(ratio)), reach;
        if (uniform(&r, 0, 1) < 0.3) s.kind = SOLID_BALL;
        if (i == light) mass = 1;
        if (i == heavy) mass = ratio;
        reach = s.kind == SOLID_BALL ? s.radius : s.half[2];
        s.x[0] = uniform(&r, -0.02, 0.02);
        s.x[1] = uniform(&r, -0.02, 0.02);
        s.x[2] = top + reach + 1e-3;
        top = s.x[2] + reach;
        if (!add_solid(w, &s, mass, uniform(&r, 0.3, 0.8),
                       csim_quat_axis_angle(v3(0, 0, 1), (csim_real)uniform(&r, 0, audit_pi)), false)) {
            close_world(w);
            return NULL;
        }
    }
    return w;
}

/* ---- heaps */

enum { BLOCK_CELLS = 2, SHEET_CELLS = 6 };

static int block_node(int i, int j, int k) { return (k * (BLOCK_CELLS + 1) + j) * (BLOCK_CELLS + 1) + i; }

static double tet_volume(const csim_real *x, const int *t) {
    double e[9];
    int i, k;
    for (i = 0; i < 3; i++)
        for (k = 0; k < 3; k++) e[3 * i + k] = (double)(x[3 * t[i + 1] + k] - x[3 * t[0] + k]);
    return (e[0] * (e[4] * e[8] - e[5] * e[7]) - e[1] * (e[3] * e[8] - e[5] * e[6]) +
            e[2] * (e[3] * e[7] - e[4] * e[6])) / 6;
}

/* Each cell is six tets about its diagonal. */
static void block_tets(body *b) {
    static const int path[6][2] = {{1, 3}, {3, 2}, {2, 6}, {6, 4}, {4, 5}, {5, 1}};
    int i, j, k, t;
    for (k = 0; k < BLOCK_CELLS; k++)
        for (j = 0; j < BLOCK_CELLS; j++)
            for (i = 0; i < BLOCK_CELLS; i++)
                for (t = 0; t < 6; t++) {
                    int *tet = b->tet + 4 * b->tets++, a = path[t][0], c = path[t][1];
                    tet[0] = block_node(i, j, k);
                    tet[1] = block_node(i + (a & 1), j + (a >> 1 & 1), k + (a >> 2));
                    tet[2] = block_node(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
                    tet[3] = block_node(i + 1, j + 1, k + 1);
                }
}

static bool add_block(audit_world *w, random_state *r, double z) {
    csim_soft_def d = csim_default_soft_def();
    csim_real x[3 * AUDIT_NODES];
    body *b = w->body + w->count;
    double size = uniform(r, 0.15, 0.3);
    int i, j, k, t;
    b->kind = BODY_SOFT;
    for (k = 0; k <= BLOCK_CELLS; k++)
        for (j = 0; j <= BLOCK_CELLS; j++)
            for (i = 0; i <= BLOCK_CELLS; i++) {
                csim_real *p = x + 3 * b->nodes++;
                p[0] = (csim_real)(size * ((double)i / BLOCK_CELLS - 0.5));
                p[1] = (csim_real)(size * ((double)j / BLOCK_CELLS - 0.5));
                p[2] = (csim_real)(size * (double)k / BLOCK_CELLS + z);
            }
    block_tets(b);
    d.density = (csim_real)uniform(r, 300, 2000);
    d.young = (csim_real)exp(uniform(r, log(3e4), log(1e6)));
    for (t = 0; t < b->tets; t++) {
        double m = tet_volume(x, b->tet + 4 * t);
        if (m < 0) {
            i = b->tet[4 * t];
            b->tet[4 * t] = b->tet[4 * t + 1];
            b->tet[4 * t + 1] = i;
        }
        for (i = 0; i < 4; i++) b->node_mass[b->tet[4 * t + i]] += fabs(m) * (double)d.density / 4;
    }
    b->friction = uniform(r, 0.2, 1);
    d.vertices = x;
    d.vertex_count = b->nodes;
    d.tets = b->tet;
    d.tet_count = b->tets;
    d.surface.friction = (csim_real)b->friction;
    w->rigid_only = false;
    w->count++;
    return csim_create_soft(w->world, &d, &b->id) == CSIM_OK;
}

static bool add_cable(audit_world *w, random_state *r, double z) {
    csim_cable_def d = csim_default_cable_def();
    body *b = w->body + w->count++;
    double edge, length = uniform(r, 0.4, 0.8), angle = uniform(r, 0, audit_pi);
    int i;
    b->kind = BODY_CABLE;
    d.segments = choose(r, 8, 20);
    d.radius = (csim_real)uniform(r, 0.004, 0.01);
    d.start = v3(-length / 2 * cos(angle), -length / 2 * sin(angle), z);
    d.end = v3(length / 2 * cos(angle), length / 2 * sin(angle), z + uniform(r, 0, 0.1));
    edge = (double)csim_length(csim_sub(d.end, d.start)) / d.segments;
    b->nodes = d.segments + 1;
    b->thickness = (double)d.radius;
    b->friction = uniform(r, 0.2, 1);
    d.surface.friction = (csim_real)b->friction;
    for (i = 0; i < d.segments; i++) {
        double m = (double)d.density * audit_pi * b->thickness * b->thickness * edge / 2;
        b->node_mass[i] += m;
        b->node_mass[i + 1] += m;
    }
    w->rigid_only = false;
    return csim_create_cable(w->world, &d, &b->id) == CSIM_OK;
}

static bool add_sheet(audit_world *w, random_state *r, double z) {
    csim_cloth_def d = csim_default_cloth_def();
    csim_real x[3 * AUDIT_NODES];
    int triangle[6 * SHEET_CELLS * SHEET_CELLS], n = SHEET_CELLS + 1, i, j, k, at = 0;
    body *b = w->body + w->count++;
    double size = uniform(r, 0.3, 0.6), cell = size / SHEET_CELLS;
    b->kind = BODY_CLOTH;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) {
            csim_real *p = x + 3 * b->nodes++;
            p[0] = (csim_real)(cell * i - size / 2);
            p[1] = (csim_real)(cell * j - size / 2);
            p[2] = (csim_real)z;
        }
    d.thickness = (csim_real)uniform(r, 1e-3, 4e-3);
    for (j = 0; j < SHEET_CELLS; j++)
        for (i = 0; i < SHEET_CELLS; i++) {
            int c[6];
            c[0] = j * n + i, c[1] = c[0] + 1, c[2] = c[1] + n, c[3] = c[0], c[4] = c[2], c[5] = c[0] + n;
            for (k = 0; k < 6; k++) {
                triangle[at++] = c[k];
                b->node_mass[c[k]] += (double)d.density * (double)d.thickness * cell * cell / 6;
            }
        }
    b->thickness = (double)d.thickness / 2;
    b->friction = uniform(r, 0.2, 1);
    d.vertices = x;
    d.vertex_count = b->nodes;
    d.triangles = triangle;
    d.triangle_count = at / 3;
    d.self_collision = uniform(r, 0, 1) < 0.5;
    d.surface.friction = (csim_real)b->friction;
    w->rigid_only = false;
    return csim_create_cloth(w->world, &d, &b->id) == CSIM_OK;
}

/* Boxes in a row, each pinned to the next at the middle of the gap. */
static bool add_chain(audit_world *w, random_state *r, double z) {
    int count = choose(r, 2, 4), i;
    double half = uniform(r, 0.03, 0.06), y = uniform(r, -0.1, 0.1);
    const body *last = NULL;
    for (i = 0; i < count; i++) {
        csim_pin_def pin = csim_default_pin_def();
        csim_link_id link;
        solid s;
        body *b;
        memset(&s, 0, sizeof s);
        s.kind = SOLID_BOX;
        s.half[0] = s.half[1] = s.half[2] = half;
        s.x[0] = 2.4 * half * (i - 0.5 * (count - 1));
        s.x[1] = y;
        s.x[2] = z;
        b = add_solid(w, &s, uniform(r, 0.5, 3), 0.5, csim_quat_identity(), false);
        if (!b) return false;
        if (last) {
            pin.a.body = last->id;
            pin.b.body = b->id;
            pin.a.point = pin.b.point = v3(s.x[0] - 1.2 * half, y, z);
            b->partner = (int)(last - w->body);
            if (csim_create_pin(w->world, &pin, &link) != CSIM_OK) return false;
        }
        last = b;
    }
    w->linked = true;
    return true;
}

audit_world *heap_world(unsigned long long seed, double h) {
    random_state r = seeded(seed + 1000003);
    audit_world *w = open_world(h);
    int rigid = choose(&r, 3, 8), parts = choose(&r, 1, 15), i;
    double z = 0.2;
    bool ok = w != NULL;
    for (i = 0; i < rigid && ok; i++) {
        solid s = random_solid(&r, 3, 0.08, 0.25);
        s.x[0] = uniform(&r, -0.1, 0.1);
        s.x[1] = uniform(&r, -0.1, 0.1);
        s.x[2] = z;
        z += 0.45;
        ok = add_solid(w, &s, exp(uniform(&r, 0, log(30))), uniform(&r, 0.2, 1),
                       csim_quat_axis_angle(v3(uniform(&r, -1, 1), uniform(&r, -1, 1), 1.1),
                                            (csim_real)uniform(&r, 0, audit_pi)),
                       false) != NULL;
    }
    if (ok && parts & 1) ok = add_chain(w, &r, z), z += 0.25;
    if (ok && parts & 2) ok = add_block(w, &r, z), z += 0.45;
    if (ok && parts & 4) ok = add_cable(w, &r, z), z += 0.25;
    if (ok && parts & 8) ok = add_sheet(w, &r, z);
    if (ok) return w;
    close_world(w);
    return NULL;
}

/* ---- reading */

static void read_rigid(const audit_world *w, const body *b, moment *m) {
    csim_pose pose = csim_pose_identity();
    csim_vec3 v = csim_v3(0, 0, 0), o = csim_v3(0, 0, 0);
    double q[4];
    csim_body_get_pose(w->world, b->id, &pose);
    csim_body_get_end_velocity(w->world, b->id, &v, &o);
    q[0] = (double)pose.rotation.w, q[1] = (double)pose.rotation.x;
    q[2] = (double)pose.rotation.y, q[3] = (double)pose.rotation.z;
    rotation_of(q, m->R);
    m->x[0] = (double)pose.position.x, m->x[1] = (double)pose.position.y, m->x[2] = (double)pose.position.z;
    m->v[0] = (double)v.x, m->v[1] = (double)v.y, m->v[2] = (double)v.z;
    m->w[0] = (double)o.x, m->w[1] = (double)o.y, m->w[2] = (double)o.z;
}

static void read_nodes(const audit_world *w, const body *b, moment *m) {
    csim_real out[3 * AUDIT_NODES];
    int i;
    csim_body_get_nodes(w->world, b->id, out, 3);
    for (i = 0; i < 3 * b->nodes; i++) m->node[i] = (double)out[i];
    csim_body_get_node_velocities(w->world, b->id, out, 3);
    for (i = 0; i < 3 * b->nodes; i++) m->speed[i] = (double)out[i];
}

static void add_mass(audit_state *s, double mass, const double *x, const double *v, double g) {
    int k;
    s->kinetic += mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 2;
    s->gravity += mass * g * x[2];
    for (k = 0; k < 3; k++) s->momentum[k] += mass * v[k];
}

void read_state(const audit_world *w, audit_state *s) {
    csim_totals t = csim_world_totals(w->world);
    double g = -(double)w->def.gravity.z;
    int i, k, j;
    memset(s, 0, sizeof *s);
    for (i = 0; i < w->count; i++) {
        const body *b = w->body + i;
        moment *m = s->body + i;
        if (b->kind != BODY_RIGID) {
            read_nodes(w, b, m);
            for (k = 0; k < b->nodes; k++) add_mass(s, b->node_mass[k], m->node + 3 * k, m->speed + 3 * k, g);
            continue;
        }
        read_rigid(w, b, m);
        if (b->fixed) continue;
        add_mass(s, b->mass, m->x, m->v, g);
        for (k = 0; k < 3; k++) {
            double turn = 0;
            for (j = 0; j < 3; j++) turn += m->R[3 * j + k] * m->w[j];
            s->kinetic += b->inertia[k] * turn * turn / 2;
        }
    }
    s->elastic = t.elastic;
    s->total = w->rigid_only ? s->kinetic + s->gravity : t.kinetic + t.gravity + t.elastic;
}
