#include "sat.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sat_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void sat_cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static void sat_rotate(const double *q, const double *v, double *r) {
    double t[3], u[3];
    int k;
    sat_cross(q + 1, v, t);
    for (k = 0; k < 3; k++) t[k] *= 2;
    sat_cross(q + 1, t, u);
    for (k = 0; k < 3; k++) r[k] = v[k] + q[0] * t[k] + u[k];
}

static void sat_unrotate(const double *q, const double *v, double *r) {
    double back[4];
    back[0] = q[0];
    back[1] = -q[1];
    back[2] = -q[2];
    back[3] = -q[3];
    sat_rotate(back, v, r);
}

/* Adds the direction unless a parallel one is there. */
static void sat_add_direction(double (*list)[3], int *count, const double *direction) {
    int i;
    for (i = 0; i < *count; i++)
        if (fabs(sat_dot(list[i], direction)) > 1 - 1e-12) return;
    memcpy(list[(*count)++], direction, 3 * sizeof(double));
}

static int sat_unit(double *v) {
    double length = sqrt(sat_dot(v, v));
    int k;
    if (length < 1e-14) return 0;
    for (k = 0; k < 3; k++) v[k] /= length;
    return 1;
}

/* Whether all points lie on one side of the plane through p; counts those on it. */
static int sat_supports(double (*points)[3], int count, const double *p, const double *normal, double size) {
    int i, above = 0, below = 0;
    for (i = 0; i < count; i++) {
        double d = sat_dot(points[i], normal) - sat_dot(p, normal);
        if (d > 1e-9 * size) above = 1;
        if (d < -1e-9 * size) below = 1;
    }
    return !(above && below);
}

static void sat_difference(const double *a, const double *b, double *c) {
    int k;
    for (k = 0; k < 3; k++) c[k] = a[k] - b[k];
}

/* Every side of every face, diagonals of faces included: harmless, an axis more. */
static void sat_find_faces(sat_shape *s, double (*points)[3], int count, double (*normal)[3], double (*edge)[3]) {
    int i, j, k;
    for (i = 0; i < count; i++)
        for (j = i + 1; j < count; j++)
            for (k = j + 1; k < count; k++) {
                double u[3], v[3], n[3];
                sat_difference(points[j], points[i], u);
                sat_difference(points[k], points[i], v);
                sat_cross(u, v, n);
                if (!sat_unit(n) || !sat_supports(points, count, points[i], n, s->bound)) continue;
                sat_add_direction(normal, &s->normal_count, n);
            }
    for (i = 0; i < count; i++)
        for (j = i + 1; j < count; j++) { /* an edge lies in two faces that are not parallel */
            double u[3];
            int faces = 0;
            sat_difference(points[j], points[i], u);
            if (!sat_unit(u)) continue;
            for (k = 0; k < s->normal_count; k++)
                if (fabs(sat_dot(u, normal[k])) < 1e-9 && sat_supports(points, count, points[i], normal[k], s->bound))
                    faces++;
            if (faces >= 2) sat_add_direction(edge, &s->edge_count, u);
        }
}

int sat_from_points(sat_shape *s, double (*points)[3], int count) {
    int most = count * count * count / 6 + 1, i;
    double(*normal)[3] = (double(*)[3])malloc(sizeof *normal * (size_t)most);
    double(*edge)[3] = (double(*)[3])malloc(sizeof *edge * (size_t)(count * count));
    memset(s, 0, sizeof *s);
    for (i = 0; i < count; i++) s->bound = fmax(s->bound, sqrt(sat_dot(points[i], points[i])));
    if (normal && edge) sat_find_faces(s, points, count, normal, edge);
    s->point_count = count;
    s->point = (double(*)[3])malloc(sizeof *s->point * (size_t)(count + s->normal_count + s->edge_count));
    if (normal && edge && s->point) {
        s->normal = s->point + count;
        s->edge = s->normal + s->normal_count;
        memcpy(s->point, points, sizeof *points * (size_t)count);
        memcpy(s->normal, normal, sizeof *normal * (size_t)s->normal_count);
        memcpy(s->edge, edge, sizeof *edge * (size_t)s->edge_count);
    } else {
        sat_free(s);
    }
    free(normal);
    free(edge);
    return s->point != NULL;
}

void sat_sphere(sat_shape *s, double radius) {
    memset(s, 0, sizeof *s);
    s->radius = s->bound = radius;
}

void sat_free(sat_shape *s) {
    free(s->point);
    memset(s, 0, sizeof *s);
}

static void sat_extent(const sat_shape *s, const sat_pose *pose, const double *n, double *low, double *high) {
    double centre = sat_dot(pose->position, n), local[3];
    int i;
    *low = centre - s->radius;
    *high = centre + s->radius;
    if (s->radius > 0) return;
    sat_unrotate(pose->rotation, n, local);
    *low = 1e30;
    *high = -1e30;
    for (i = 0; i < s->point_count; i++) {
        double d = centre + sat_dot(s->point[i], local);
        *low = fmin(*low, d);
        *high = fmax(*high, d);
    }
}

static double sat_overlap(const sat_shape *a, const sat_pose *pa, const sat_shape *b, const sat_pose *pb,
                          const double *axis) {
    double al, ah, bl, bh;
    sat_extent(a, pa, axis, &al, &ah);
    sat_extent(b, pb, axis, &bl, &bh);
    return fmin(ah - bl, bh - al);
}

/* Nearest point of a box-like polytope needs its faces; exact for boxes whose normals are the body axes. */
static double sat_sphere_box(const sat_shape *sphere, const sat_pose *ps, const sat_shape *box, const sat_pose *pb) {
    double offset[3], local[3], outside = 0, inside = 1e30;
    int k, i;
    sat_difference(ps->position, pb->position, offset);
    sat_unrotate(pb->rotation, offset, local);
    for (k = 0; k < 3; k++) {
        double half = 0, excess;
        for (i = 0; i < box->point_count; i++) half = fmax(half, box->point[i][k]);
        excess = fabs(local[k]) - half;
        if (excess > 0) outside += excess * excess;
        inside = fmin(inside, fmax(0, -excess));
    }
    return outside > 0 ? sphere->radius - sqrt(outside) : sphere->radius + inside;
}

static double sat_polytopes(const sat_shape *a, const sat_pose *pa, const sat_shape *b, const sat_pose *pb) {
    double best = 1e30, axis[3], u[3], v[3];
    int i, j;
    for (i = 0; i < a->normal_count && best >= -1e-3; i++) {
        sat_rotate(pa->rotation, a->normal[i], axis);
        best = fmin(best, sat_overlap(a, pa, b, pb, axis));
    }
    for (i = 0; i < b->normal_count && best >= -1e-3; i++) {
        sat_rotate(pb->rotation, b->normal[i], axis);
        best = fmin(best, sat_overlap(a, pa, b, pb, axis));
    }
    for (i = 0; i < a->edge_count; i++) {
        sat_rotate(pa->rotation, a->edge[i], u);
        for (j = 0; j < b->edge_count && best >= -1e-3; j++) {
            double length;
            sat_rotate(pb->rotation, b->edge[j], v);
            sat_cross(u, v, axis);
            length = sqrt(sat_dot(axis, axis));
            if (length < 1e-6) continue;
            axis[0] /= length;
            axis[1] /= length;
            axis[2] /= length;
            best = fmin(best, sat_overlap(a, pa, b, pb, axis));
        }
    }
    return best;
}

double sat_depth(const sat_shape *a, const sat_pose *pa, const sat_shape *b, const sat_pose *pb) {
    double offset[3], distance;
    sat_difference(pa->position, pb->position, offset);
    distance = sqrt(sat_dot(offset, offset));
    if (distance > a->bound + b->bound) return -1;
    if (a->radius > 0 && b->radius > 0) return a->radius + b->radius - distance;
    if (a->radius > 0) return sat_sphere_box(a, pa, b, pb);
    if (b->radius > 0) return sat_sphere_box(b, pb, a, pa);
    return sat_polytopes(a, pa, b, pb);
}

double sat_floor_depth(const sat_shape *a, const sat_pose *pose) {
    static const double up[3] = {0, 0, 1};
    double low, high;
    sat_extent(a, pose, up, &low, &high);
    return -low;
}
