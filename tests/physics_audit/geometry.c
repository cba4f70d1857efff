/* geometry: depths of boxes, balls and capsules by separating axes and nearest points. */
#include "audit.h"
#include <math.h>
#include <string.h>

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void column(const double *R, int k, double *out) {
    int i;
    for (i = 0; i < 3; i++) out[i] = R[3 * i + k];
}

void rotation_of(const double *q, double *R) {
    double w = q[0], x = q[1], y = q[2], z = q[3], n = w * w + x * x + y * y + z * z, s = 2 / n;
    R[0] = 1 - s * (y * y + z * z);
    R[1] = s * (x * y - w * z);
    R[2] = s * (x * z + w * y);
    R[3] = s * (x * y + w * z);
    R[4] = 1 - s * (x * x + z * z);
    R[5] = s * (y * z - w * x);
    R[6] = s * (x * z - w * y);
    R[7] = s * (y * z + w * x);
    R[8] = 1 - s * (x * x + y * y);
}

static void into_axes(const solid *s, const double *p, double *local) {
    double d[3], axis[3];
    int k;
    for (k = 0; k < 3; k++) d[k] = p[k] - s->x[k];
    for (k = 0; k < 3; k++) {
        column(s->R, k, axis);
        local[k] = dot(axis, d);
    }
}

double point_gap(const solid *s, const double *p) {
    double q[3], out = 0, in = -1e300;
    int k;
    into_axes(s, p, q);
    if (s->kind == SOLID_BALL) return sqrt(dot(q, q)) - s->radius;
    if (s->kind == SOLID_CAPSULE) {
        q[2] -= fmax(-s->half_height, fmin(s->half_height, q[2]));
        return sqrt(dot(q, q)) - s->radius;
    }
    for (k = 0; k < 3; k++) {
        double excess = fabs(q[k]) - s->half[k];
        if (excess > 0) out += excess * excess;
        in = fmax(in, excess);
    }
    return out > 0 ? sqrt(out) : in;
}

/* Extent of a solid along a unit axis, about its centre. */
static double reach(const solid *s, const double *axis) {
    double sum = 0, e[3];
    int k;
    if (s->kind == SOLID_BALL) return s->radius;
    for (k = 0; k < 3; k++) {
        column(s->R, k, e);
        if (s->kind == SOLID_CAPSULE && k < 2) continue;
        sum += fabs(dot(e, axis)) * (s->kind == SOLID_BOX ? s->half[k] : s->half_height);
    }
    return sum + (s->kind == SOLID_CAPSULE ? s->radius : 0);
}

double floor_depth(const solid *s) {
    static const double up[3] = {0, 0, 1};
    return reach(s, up) - s->x[2];
}

static double overlap_along(const solid *a, const solid *b, const double *axis) {
    double d[3];
    int k;
    for (k = 0; k < 3; k++) d[k] = b->x[k] - a->x[k];
    return reach(a, axis) + reach(b, axis) - fabs(dot(d, axis));
}

/* Two boxes: three faces each and nine pairs of edges. */
static double box_box(const solid *a, const solid *b) {
    double best = 1e300, u[3], v[3], n[3], size;
    int i, j;
    for (i = 0; i < 6; i++) {
        column(i < 3 ? a->R : b->R, i % 3, u);
        best = fmin(best, overlap_along(a, b, u));
    }
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            column(a->R, i, u);
            column(b->R, j, v);
            n[0] = u[1] * v[2] - u[2] * v[1];
            n[1] = u[2] * v[0] - u[0] * v[2];
            n[2] = u[0] * v[1] - u[1] * v[0];
            size = sqrt(dot(n, n));
            if (size < 1e-6) continue;
            n[0] /= size;
            n[1] /= size;
            n[2] /= size;
            best = fmin(best, overlap_along(a, b, n));
        }
    return best;
}

/* A point of the inner segment of a capsule (t in -1..1). */
static void along_capsule(const solid *c, double t, double *p) {
    double axis[3];
    int k;
    column(c->R, 2, axis);
    for (k = 0; k < 3; k++) p[k] = c->x[k] + t * c->half_height * axis[k];
}

/* The distance of a point to a convex solid is convex along a segment: golden section finds the nearest place. */
static double capsule_convex(const solid *c, const solid *b) {
    const double golden = 0.6180339887498949;
    double low = -1, high = 1, p[3];
    int i;
    for (i = 0; i < 60; i++) {
        double m = high - golden * (high - low), n = low + golden * (high - low), pm[3], pn[3];
        along_capsule(c, m, pm);
        along_capsule(c, n, pn);
        if (point_gap(b, pm) < point_gap(b, pn))
            high = n;
        else
            low = m;
    }
    along_capsule(c, (low + high) / 2, p);
    return c->radius - point_gap(b, p);
}

double solid_depth(const solid *a, const solid *b) {
    if (a->kind == SOLID_BALL) return a->radius - point_gap(b, a->x);
    if (b->kind == SOLID_BALL) return b->radius - point_gap(a, b->x);
    if (a->kind == SOLID_CAPSULE) return capsule_convex(a, b);
    if (b->kind == SOLID_CAPSULE) return capsule_convex(b, a);
    return box_box(a, b);
}

static void segment_weights(const double *p, const double *a, const double *b, double *weight) {
    double u[3], d[3], t;
    int k;
    for (k = 0; k < 3; k++) {
        u[k] = b[k] - a[k];
        d[k] = p[k] - a[k];
    }
    t = dot(u, u) > 0 ? fmax(0, fmin(1, dot(u, d) / dot(u, u))) : 0;
    weight[0] = 1 - t;
    weight[1] = t;
    weight[2] = 0;
}

static double weighted_distance(const double *p, const double *a, const double *b, const double *c,
                                const double *weight) {
    double d[3];
    int k;
    for (k = 0; k < 3; k++) d[k] = weight[0] * a[k] + weight[1] * b[k] + weight[2] * c[k] - p[k];
    return sqrt(dot(d, d));
}

void nearest_weights(const double *p, const double *a, const double *b, const double *c, double *weight) {
    double u[3], v[3], d[3], uu, uv, vv, du, dv, det, best, edge[3];
    int k;
    segment_weights(p, a, b, weight);
    if (!c) return;
    for (k = 0; k < 3; k++) {
        u[k] = b[k] - a[k];
        v[k] = c[k] - a[k];
        d[k] = p[k] - a[k];
    }
    uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), du = dot(d, u), dv = dot(d, v);
    det = uu * vv - uv * uv;
    if (det > 0) {
        double s = (du * vv - dv * uv) / det, t = (dv * uu - du * uv) / det;
        if (s >= 0 && t >= 0 && s + t <= 1) {
            weight[0] = 1 - s - t;
            weight[1] = s;
            weight[2] = t;
            return;
        }
    }
    best = weighted_distance(p, a, b, c, weight);
    segment_weights(p, a, c, edge);
    edge[2] = edge[1];
    edge[1] = 0;
    if (weighted_distance(p, a, b, c, edge) < best) {
        best = weighted_distance(p, a, b, c, edge);
        memcpy(weight, edge, sizeof edge);
    }
    segment_weights(p, b, c, edge);
    edge[2] = edge[1];
    edge[1] = edge[0];
    edge[0] = 0;
    if (weighted_distance(p, a, b, c, edge) < best) memcpy(weight, edge, sizeof edge);
}
