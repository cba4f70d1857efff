/* collide/rayfour: which triangles of a leaf a ray may meet, all of them looked at at once. */
#include "private.h"

/* What csimi_ray_triangle asks, in the same formulas; it decides about those that are told, and where there are no
   vectors about all. */
#if defined(__GNUC__) && !defined(CONDSIM_TINY) && !(defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0)
typedef csim_real csimi_abreast __attribute__((vector_size(4 * CSIM_REAL_SIZE)));
#if CSIM_REAL_SIZE == 8
typedef int64_t csimi_abreast_bits __attribute__((vector_size(32)));
#define CSIMI_ABREAST_SIZE INT64_MAX /* all but the sign */
#else
typedef int32_t csimi_abreast_bits __attribute__((vector_size(16)));
#define CSIMI_ABREAST_SIZE INT32_MAX
#endif
typedef struct csimi_abreast3 {
    csimi_abreast x, y, z;
} csimi_abreast3;

/* Absolute values, added up. Vectors go in and out by address: how they are passed is a compiler's choice. */
static void csimi_abreast_sum(const csimi_abreast3 *a, csimi_abreast *sum) {
    *sum = (csimi_abreast)((csimi_abreast_bits)a->x & CSIMI_ABREAST_SIZE) +
           (csimi_abreast)((csimi_abreast_bits)a->y & CSIMI_ABREAST_SIZE) +
           (csimi_abreast)((csimi_abreast_bits)a->z & CSIMI_ABREAST_SIZE);
}

static void csimi_abreast_from(const csimi_abreast3 *a, csim_vec3 origin, csimi_abreast3 *d) {
    d->x = a->x - origin.x;
    d->y = a->y - origin.y;
    d->z = a->z - origin.z;
}

static void csimi_abreast_cross(const csimi_abreast3 *a, const csimi_abreast3 *b, csimi_abreast3 *n) {
    n->x = a->y * b->z - a->z * b->y;
    n->y = a->z * b->x - a->x * b->z;
    n->z = a->x * b->y - a->y * b->x;
}

/* Twice the area along the normal. */
static void csimi_abreast_normal(const csimi_abreast3 *corner, csimi_abreast3 *n) {
    csimi_abreast3 e[2];
    int k;
    for (k = 0; k < 2; k++) {
        e[k].x = corner[k + 1].x - corner[0].x;
        e[k].y = corner[k + 1].y - corner[0].y;
        e[k].z = corner[k + 1].z - corner[0].z;
    }
    csimi_abreast_cross(e, e + 1, n);
}

static void csimi_abreast_corner(const csimi_surface *s, const int *const *triangle, int k, csimi_abreast3 *to) {
    const csim_real *a = s->x + 3 * (size_t)triangle[0][k], *b = s->x + 3 * (size_t)triangle[1][k],
                    *c = s->x + 3 * (size_t)triangle[2][k], *d = s->x + 3 * (size_t)triangle[3][k];
    const csimi_abreast3 x = {{a[0], b[0], c[0], d[0]}, {a[1], b[1], c[1], d[1]}, {a[2], b[2], c[2], d[2]}};
    *to = x;
}

/* Those are left that the ray passes between the three sides of, within rounding. */
static void csimi_abreast_inside(const csimi_abreast3 *d, csim_vec3 way, const csimi_abreast_bits *up,
                                 csimi_abreast_bits *met) {
    const csim_real room = 8 * CSIMI_EPS * (csimi_abs(way.x) + csimi_abs(way.y) + csimi_abs(way.z));
    csimi_abreast size[3];
    int k;
    for (k = 0; k < 3; k++) csimi_abreast_sum(d + k, size + k);
    for (k = 0; k < 3; k++) {
        const csimi_abreast seam = room * size[(k + 1) % 3] * size[(k + 2) % 3];
        csimi_abreast3 n;
        csimi_abreast side;
        csimi_abreast_cross(d + (k + 1) % 3, d + (k + 2) % 3, &n);
        side = way.x * n.x + way.y * n.y + way.z * n.z;
        *met &= ~((*up & (side < -seam)) | (~*up & (side > seam)));
    }
}

static unsigned csimi_ray_four(const csimi_surface *s, int first, int end, csim_vec3 origin, csim_vec3 way, bool both,
                               csim_real most) {
    const int *triangle[4];
    csimi_abreast3 corner[3], d[3], n;
    csimi_abreast rise, fraction;
    csimi_abreast_bits met, up;
    int k;
    for (k = 0; k < 4; k++) triangle[k] = s->triangle + 3 * (size_t)csimi_imin(first + k, end - 1);
    for (k = 0; k < 3; k++) {
        csimi_abreast_corner(s, triangle, k, corner + k);
        csimi_abreast_from(corner + k, origin, d + k);
    }
    csimi_abreast_normal(corner, &n);
    rise = n.x * way.x + n.y * way.y + n.z * way.z;
    up = rise > 0;
    fraction = (n.x * d[0].x + n.y * d[0].y + n.z * d[0].z) / rise;
    met = (both ? (rise < 0) | up : rise < 0) & (fraction >= 0) & (fraction <= most);
    csimi_abreast_inside(d, way, &up, &met);
    return (unsigned)((met[0] & 1) | (met[1] & 2) | (met[2] & 4) | (met[3] & 8)) & ((1u << (end - first)) - 1);
}
#undef CSIMI_ABREAST_SIZE
#else
static unsigned csimi_ray_four(const csimi_surface *s, int first, int end, csim_vec3 origin, csim_vec3 way, bool both,
                               csim_real most) {
    (void)s, (void)first, (void)end, (void)origin, (void)way, (void)both, (void)most;
    return 15;
}
#endif

CSIMI_FN int csimi_surface_ray_met(csimi_surface_ray *r, csim_vec3 origin, csim_vec3 way, bool both) {
    for (;;) {
        while (r->met != 0) {
            const bool met = r->met & 1u;
            r->met >>= 1;
            if (r->next++ < r->end && met) return r->next - 1;
        }
        if (!csimi_surface_ray_leaf(r)) return -1;
        r->met = csimi_ray_four(r->surface, r->next, r->end, origin, way, both, r->most);
    }
}
