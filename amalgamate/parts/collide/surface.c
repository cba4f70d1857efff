/* collide/surface: closest points of deforming triangle surfaces. The tree is implicit: its leaves are runs of four
   triangles in a fixed order, so that a step only renews the boxes, from the leaves up, in linear time. */
#include "private.h"

enum { CSIMI_SURFACE_LEAF = 4 };
enum { CSIMI_SURFACE_DEPTH = 64 }; /* of the stack of a query: two entries a level */

/* ---- one triangle */

/* Nearest point on the segment a b: weight of b. */
static csim_real csimi_closest_on_segment(csim_vec3 p, csim_vec3 a, csim_vec3 b) {
    csim_vec3 e = csim_sub(b, a);
    csim_real ee = csim_dot(e, e);
    return ee > 0 ? csimi_clamp(csim_dot(csim_sub(p, a), e) / ee, 0, 1) : 0;
}

/* The nearest of the three edges: what is left when the triangle's plane does not decide. */
static int csimi_closest_edge(csim_vec3 p, const csim_vec3 *corner, csim_real *weight) {
    csim_real best = CSIMI_HUGE;
    int k, feature = 4;
    csimi_store3(weight, csim_v3(1, 0, 0)); /* where no distance is finite, none is nearest */
    for (k = 0; k < 3; ++k) {
        int next = (k + 1) % 3;
        csim_real t = csimi_closest_on_segment(p, corner[k], corner[next]);
        csim_vec3 d = csim_sub(p, csim_madd(corner[k], t, csim_sub(corner[next], corner[k])));
        csim_real d2 = csim_dot(d, d);
        if (!(d2 < best)) continue;
        best = d2;
        weight[k] = 1 - t;
        weight[next] = t;
        weight[(k + 2) % 3] = 0;
        feature = t > 0 && t < 1 ? 1 + k : t > 0 ? 4 + next : 4 + k;
    }
    return feature;
}

CSIMI_FN int csimi_closest_triangle(csim_vec3 p, csim_vec3 a, csim_vec3 b, csim_vec3 c, csim_real *weight) {
    csim_vec3 corner[3], n = csim_cross(csim_sub(b, a), csim_sub(c, a));
    csim_real nn = csim_dot(n, n), w[3], edge[3], most = 0;
    csim_vec3 inner = csim_v3(0, 0, 0), outer = inner;
    int k, feature;
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
    for (k = 0; k < 3; ++k) { /* areas of the triangles that p's foot makes with the edges */
        csim_vec3 q = corner[(k + 1) % 3], r = corner[(k + 2) % 3];
        w[k] = csim_dot(n, csim_cross(csim_sub(r, q), csim_sub(p, q)));
    }
    if (!(nn > 0 && w[0] > 0 && w[1] > 0 && w[2] > 0)) return csimi_closest_edge(p, corner, weight);
    for (k = 0; k < 3; ++k) {
        csim_vec3 e = csim_sub(corner[(k + 1) % 3], corner[k]);
        weight[k] = w[k] / (w[0] + w[1] + w[2]);
        inner = csim_madd(inner, weight[k], corner[k]);
        most = csimi_max(most, csim_dot(e, e));
    }
    if (nn > CSIMI_EPS * most * most) return 0;
    feature = csimi_closest_edge(p, corner, edge); /* a sliver: its plane is made of rounding */
    for (k = 0; k < 3; ++k) outer = csim_madd(outer, edge[k], corner[k]);
    inner = csim_sub(p, inner);
    outer = csim_sub(p, outer);
    if (csim_dot(inner, inner) < csim_dot(outer, outer)) return 0;
    CSIMI_MEMCPY(weight, edge, sizeof edge);
    return feature;
}

/* ---- the tree */

CSIMI_FN int csimi_surface_leaves(int count) {
    int leaves = 1;
    while (leaves * CSIMI_SURFACE_LEAF < count) leaves *= 2;
    return leaves;
}

CSIMI_FN int csimi_surface_boxes(int count) { return csimi_imax(4, 2 * csimi_surface_leaves(count)); }

/* Sorts [count] keys whose upper halves are codes, and reads off the order. */
static void csimi_order_by(int count, uint64_t *keys, int *order) {
    uint64_t *key = keys, *other = keys + count;
    int i;
    csimi_radix_sort(count, &key, &other);
    for (i = 0; i < count; ++i) order[i] = (int)(key[i] & 0xffffffffu);
}

CSIMI_FN void csimi_order_points(int count, const float *x, int *order, uint64_t *keys) {
    float lower[3] = {0, 0, 0}, size = 0;
    int i, k;
    for (k = 0; k < 3 && count > 0; ++k) {
        float upper = lower[k] = x[k];
        for (i = 1; i < count; ++i) {
            const float c = x[3 * (size_t)i + (size_t)k];
            if (c < lower[k]) lower[k] = c;
            if (c > upper) upper = c;
        }
        if (upper - lower[k] > size) size = upper - lower[k];
    }
    for (i = 0; i < count; ++i) {
        uint32_t code = 0;
        for (k = 0; k < 3 && size > 0; ++k) {
            const csim_real cell = (csim_real)((x[3 * (size_t)i + (size_t)k] - lower[k]) / size * 1023);
            code |= csimi_spread_bits((uint32_t)csimi_cut(cell, 0, 1023)) << k;
        }
        keys[i] = (uint64_t)code << 32 | (uint32_t)i;
    }
    csimi_order_by(count, keys, order);
}

CSIMI_FN void csimi_surface_order(int count, const int *triangle, const csim_real *x, int *order, uint64_t *keys) {
    csim_real lower[3], upper[3], size = 0;
    int i, k;
    for (k = 0; k < 3; ++k) {
        lower[k] = CSIMI_HUGE;
        upper[k] = -CSIMI_HUGE;
        for (i = 0; i < 3 * count; ++i) {
            lower[k] = csimi_min(lower[k], x[3 * (size_t)triangle[i] + (size_t)k]);
            upper[k] = csimi_max(upper[k], x[3 * (size_t)triangle[i] + (size_t)k]);
        }
        size = csimi_max(size, upper[k] - lower[k]);
    }
    for (i = 0; i < count; ++i) {
        uint32_t code = 0;
        for (k = 0; k < 3; ++k) {
            const int *t = triangle + 3 * (size_t)i;
            csim_real sum = x[3 * t[0] + k] + x[3 * t[1] + k] + x[3 * t[2] + k] - 3 * lower[k];
            csim_real cell = size > 0 ? sum / (3 * size) * 1023 : 0;
            code |= csimi_spread_bits((uint32_t)csimi_cut(cell, 0, 1023)) << k;
        }
        keys[i] = (uint64_t)code << 32 | (uint32_t)i;
    }
    csimi_order_by(count, keys, order);
}

/* Three times where a triangle is along an axis. */
static csim_real csimi_split_place(const int *triangle, const csim_real *x, int i, int axis) {
    const int *t = triangle + 3 * (size_t)i;
    return x[3 * (size_t)t[0] + (size_t)axis] + x[3 * (size_t)t[1] + (size_t)axis] + x[3 * (size_t)t[2] + (size_t)axis];
}

static void csimi_sort_few(int count, uint64_t *key) {
    int i, k;
    for (i = 1; i < count; ++i) {
        const uint64_t x = key[i];
        for (k = i; k > 0 && key[k - 1] > x; --k) key[k] = key[k - 1];
        key[k] = x;
    }
}

/* Along the axis in which they spread most. */
static void csimi_split_sort(int count, int *order, const int *triangle, const csim_real *x, uint64_t *keys) {
    uint64_t *key = keys, *other = keys + count;
    csim_real low[3], high[3];
    int i, k, axis = 0;
    for (k = 0; k < 3; ++k) {
        low[k] = high[k] = csimi_split_place(triangle, x, order[0], k);
        for (i = 1; i < count; ++i) {
            const csim_real c = csimi_split_place(triangle, x, order[i], k);
            low[k] = csimi_min(low[k], c);
            high[k] = csimi_max(high[k], c);
        }
        if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
    }
    for (i = 0; i < count; ++i) {
        const csim_real size = high[axis] - low[axis], c = csimi_split_place(triangle, x, order[i], axis) - low[axis];
        key[i] = (uint64_t)(size > 0 ? csimi_min(c / size, 1) * CSIM_R(4e9) : 0) << 32 | (uint32_t)order[i];
    }
    if (count <= 64)
        csimi_sort_few(count, key);
    else
        csimi_radix_sort(count, &key, &other);
    for (i = 0; i < count; ++i) order[i] = (int)(key[i] & 0xffffffffu);
}

CSIMI_FN void csimi_surface_split(int count, const int *triangle, const csim_real *x, int *order, uint64_t *keys) {
    int first[CSIMI_SURFACE_DEPTH], size[CSIMI_SURFACE_DEPTH], top = 0, i;
    for (i = 0; i < count; ++i) order[i] = i;
    first[0] = 0;
    size[top++] = count;
    while (top > 0) { /* the lower half of the leaves is full: what goes there is on one side */
        const int from = first[--top], n = size[top], half = csimi_surface_leaves(n) / 2 * CSIMI_SURFACE_LEAF;
        if (n <= CSIMI_SURFACE_LEAF) continue;
        csimi_split_sort(n, order + from, triangle, x, keys);
        first[top] = from;
        size[top++] = half;
        first[top] = from + half;
        size[top++] = n - half;
    }
}

/* ---- boxes. Floats, for what a walk reads is what it takes; a number goes outward to the next that holds it. */

static float csimi_box_outward(csim_real x, float sign) {
    const float f = (float)csimi_clamp(x, -CSIM_R(1e30), CSIM_R(1e30));
    return (csim_real)(sign * f) >= (csim_real)sign * x ? f : f + sign * ((f < 0 ? -f : f) * 1.2e-7f + 1e-37f);
}

static void csimi_box_empty(float *box) {
    int k;
    for (k = 0; k < 3; ++k) {
        box[4 * k] = 1e30f;
        box[12 + 4 * k] = -1e30f;
    }
}

/* lower and upper: one in every stride numbers. */
static void csimi_box_add(float *box, const float *lower, const float *upper, int stride) {
    int k;
    for (k = 0; k < 3; ++k) {
        if (lower[stride * k] < box[4 * k]) box[4 * k] = lower[stride * k];
        if (upper[stride * k] > box[12 + 4 * k]) box[12 + 4 * k] = upper[stride * k];
    }
}

static void csimi_box_leaf(const csimi_surface *s, int leaf, float *box) {
    csim_real lower[3] = {CSIMI_HUGE, CSIMI_HUGE, CSIMI_HUGE}, upper[3] = {-CSIMI_HUGE, -CSIMI_HUGE, -CSIMI_HUGE};
    int i, k;
    csimi_box_empty(box);
    if (CSIMI_SURFACE_LEAF * leaf >= s->count) return;
    for (i = 3 * CSIMI_SURFACE_LEAF * leaf; i < 3 * csimi_imin(CSIMI_SURFACE_LEAF * (leaf + 1), s->count); ++i)
        for (k = 0; k < 3; ++k) {
            const csim_real x = s->x[3 * (size_t)s->triangle[i] + (size_t)k];
            lower[k] = csimi_min(lower[k], x);
            upper[k] = csimi_max(upper[k], x);
        }
    for (k = 0; k < 3; ++k) {
        box[4 * k] = csimi_box_outward(lower[k], -1);
        box[12 + 4 * k] = csimi_box_outward(upper[k], 1);
    }
}

CSIMI_FN void csimi_surface_refit(csimi_surface *s) {
    int i;
    s->leaves = csimi_surface_leaves(s->count);
    for (i = 0; i < 4; i++) csimi_box_empty(s->box + csimi_surface_box(i)); /* that is no node */
    for (i = 0; i < s->leaves; ++i) csimi_box_leaf(s, i, s->box + csimi_surface_box(s->leaves + i));
    for (i = s->leaves - 1; i > 0; --i) {
        float *box = s->box + csimi_surface_box(i);
        const float *child = s->box + csimi_surface_box(2 * i);
        csimi_box_empty(box);
        csimi_box_add(box, child, child + 12, 4);
        csimi_box_add(box, child + 1, child + 13, 4);
    }
}

CSIMI_FN void csimi_surface_bounds(const csimi_surface *s, csim_vec3 *lower, csim_vec3 *upper) {
    const float *box = s->box + csimi_surface_box(1);
    *lower = csim_v3((csim_real)box[0], (csim_real)box[4], (csim_real)box[8]);
    *upper = csim_v3((csim_real)box[12], (csim_real)box[16], (csim_real)box[20]);
}

/* Squared distance to a box; an empty one is far. */
static csim_real csimi_box_distance2(const float *box, const csim_real *p) {
    csim_real sum = 0;
    int k;
    for (k = 0; k < 3; ++k) {
        csim_real d = csimi_max(csimi_max((csim_real)box[4 * k] - p[k], p[k] - (csim_real)box[12 + 4 * k]), 0);
        sum += d * d;
    }
    return sum;
}

CSIMI_FN csimi_surface_walk csimi_surface_walk_in(const csimi_surface *s, csim_vec3 lower, csim_vec3 upper) {
    csimi_surface_walk w;
    w.surface = s;
    csimi_store3(w.lower, lower);
    csimi_store3(w.upper, upper);
    w.stack[0] = 1;
    w.top = s->count > 0;
    w.next = w.end = 0;
    return w;
}

CSIMI_FN int csimi_surface_walk_next(csimi_surface_walk *w) {
    while (w->next >= w->end && w->top > 0) {
        const int node = w->stack[--w->top];
        const float *box = w->surface->box + csimi_surface_box(node);
        int k;
        for (k = 0; k < 3 && (csim_real)box[4 * k] <= w->upper[k] && (csim_real)box[12 + 4 * k] >= w->lower[k]; ++k) {
        }
        if (k < 3) continue;
        if (node < w->surface->leaves) {
            CONDSIM_ASSERT(w->top + 2 <= CSIMI_SURFACE_DEPTH);
            w->stack[w->top++] = 2 * node + 1;
            w->stack[w->top++] = 2 * node;
            continue;
        }
        w->next = CSIMI_SURFACE_LEAF * (node - w->surface->leaves);
        w->end = csimi_imin(w->next + CSIMI_SURFACE_LEAF, w->surface->count);
    }
    return w->next < w->end ? w->next++ : -1;
}

CSIMI_FN void csimi_surface_stretch(csimi_surface *s, int triangle, csim_vec3 p) {
    csim_real x[3];
    float lower[3], upper[3];
    int node = s->leaves + triangle / CSIMI_SURFACE_LEAF, k;
    csimi_store3(x, p);
    for (k = 0; k < 3; ++k) {
        lower[k] = csimi_box_outward(x[k], -1);
        upper[k] = csimi_box_outward(x[k], 1);
    }
    for (; node > 0; node /= 2) csimi_box_add(s->box + csimi_surface_box(node), lower, upper, 1);
}

static const float CSIMI_RAY_ROOM = 1.2e-6f; /* relative: of ten roundings of floats */

/* What waits: bits of where the ray enters, which are in order as numbers >= 0 are, and below them what is left from
   the node to the largest number: of those as far away the one of the lower number waits longest. */
static uint64_t csimi_surface_wait(float enter, int node) {
    uint32_t bits;
    CSIMI_MEMCPY(&bits, &enter, sizeof bits);
    return (uint64_t)bits << 32 | ~(uint32_t)node;
}

static int csimi_surface_waiting(uint64_t waiting) { return (int)~(uint32_t)waiting; }

CSIMI_FN void csimi_surface_ray_along(csimi_surface_ray *r, const csimi_surface *s, csim_vec3 origin, csim_vec3 way,
                                      csim_vec3 half, csim_real most) {
    csim_real x[3], wide[3], inverse[3];
    const bool odd = (s->leaves & 0x2aaaaaaa) != 0; /* so many levels above the leaves */
    int k;
    r->surface = s;
    csimi_store3(x, origin);
    csimi_store3(wide, half);
    csimi_ray_inverse(way, inverse);
    for (k = 0; k < 3; ++k) {
        const bool up = inverse[k] > 0;
        wide[k] += (csim_real)CSIMI_RAY_ROOM * csimi_abs(x[k]);
        if (s->count > 0)
            wide[k] += (csim_real)CSIMI_RAY_ROOM *
                       (csimi_abs((csim_real)s->box[1 + 4 * k]) + csimi_abs((csim_real)s->box[13 + 4 * k]));
        r->slab.inverse[k] = (float)inverse[k];
        r->slab.in[k] = up ? 4 * k : 12 + 4 * k;
        r->slab.out[k] = up ? 12 + 4 * k : 4 * k;
        r->slab.from[k] = (float)(up ? x[k] + wide[k] : x[k] - wide[k]);
        r->slab.to[k] = (float)(up ? x[k] - wide[k] : x[k] + wide[k]);
    }
    r->most = most;
    r->stack[0] = csimi_surface_wait(0, odd ? 3 : 1); /* levels are gone down by twos, to that of the leaves */
    r->stack[1] = csimi_surface_wait(0, 2);
    r->top = s->count == 0 ? 0 : odd ? 2 : 1;
    r->next = r->end = 0;
    r->met = 0;
}

/* Where the ray enters each of four boxes, with room for the roundings of both sides, and which it meets, as bits; an
   empty box is far. Not by vectors where floats are counted in long double (x87): a scalar does not fit one there. */
#if defined(__GNUC__) && !defined(CONDSIM_TINY) && !(defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0)
typedef float csimi_four __attribute__((vector_size(16)));
typedef int csimi_four_bits __attribute__((vector_size(16)));

static csimi_four csimi_four_at(const float *x) {
    csimi_four v;
    CSIMI_MEMCPY(&v, x, sizeof v);
    return v;
}

#ifdef __SSE__ /* one instruction each, which compilers do not make of the others */
#define CSIMI_FOUR_MORE(a, b) ((csimi_four)__builtin_ia32_maxps(a, b))
#define CSIMI_FOUR_LESS(a, b) ((csimi_four)__builtin_ia32_minps(a, b))
#define CSIMI_FOUR_SIGNS(x) ((unsigned)__builtin_ia32_movmskps((csimi_four)(x)))
#else
static csimi_four csimi_four_pick(csimi_four_bits first, csimi_four a, csimi_four b) {
    return (csimi_four)((first & (csimi_four_bits)a) | (~first & (csimi_four_bits)b));
}

#define CSIMI_FOUR_MORE(a, b) csimi_four_pick((a) > (b), a, b)
#define CSIMI_FOUR_LESS(a, b) csimi_four_pick((a) < (b), a, b)
#define CSIMI_FOUR_SIGNS(x) ((unsigned)(((x)[0] & 1) | ((x)[1] & 2) | ((x)[2] & 4) | ((x)[3] & 8)))
#endif

static unsigned csimi_surface_slab_meets(const csimi_surface_slab *r, const float *four, float last, float *enter) {
    csimi_four first = {0, 0, 0, 0}, end = {last, last, last, last};
    csimi_four_bits met;
    int k;
    for (k = 0; k < 3; ++k) {
        const csimi_four a = (csimi_four_at(four + r->in[k]) - r->from[k]) * r->inverse[k];
        const csimi_four b = (csimi_four_at(four + r->out[k]) - r->to[k]) * r->inverse[k];
        first = CSIMI_FOUR_MORE(a, first);
        end = CSIMI_FOUR_LESS(b, end);
    }
    met = first <= end * (1 + CSIMI_RAY_ROOM);
    CSIMI_MEMCPY(enter, &first, sizeof first);
    return CSIMI_FOUR_SIGNS(met);
}
#undef CSIMI_FOUR_MORE
#undef CSIMI_FOUR_LESS
#undef CSIMI_FOUR_SIGNS
#else
static unsigned csimi_surface_slab_meets(const csimi_surface_slab *r, const float *four, float last, float *enter) {
    unsigned met = 0;
    int c, k;
    for (c = 0; c < 4; ++c) {
        float end = last;
        enter[c] = 0;
        for (k = 0; k < 3; ++k) {
            const float a = (four[r->in[k] + c] - r->from[k]) * r->inverse[k];
            const float b = (four[r->out[k] + c] - r->to[k]) * r->inverse[k];
            enter[c] = a > enter[c] ? a : enter[c];
            end = b < end ? b : end;
        }
        met |= (unsigned)(enter[c] <= end * (1 + CSIMI_RAY_ROOM)) << c;
    }
    return met;
}
#endif

/* Puts the children that a ray meets, as bits, on the stack, the farthest first; returns the nearest. */
static int csimi_surface_ray_push(csimi_surface_ray *r, int child, unsigned met, const float *enter) {
    const int from = r->top;
    int c, at;
    for (c = 0; met != 0; c++, met >>= 1) {
        uint64_t waiting;
        if (!(met & 1u)) continue;
        CONDSIM_ASSERT(r->top < 64); /* 3 of two levels of a tree of 2^31 leaves, and one more */
        waiting = csimi_surface_wait(enter[c], child + c);
        for (at = r->top++; at > from && r->stack[at - 1] < waiting; at--) r->stack[at] = r->stack[at - 1];
        r->stack[at] = waiting;
    }
    return csimi_surface_waiting(r->stack[--r->top]);
}

CSIMI_FN bool csimi_surface_ray_leaf(csimi_surface_ray *r) {
    const csimi_surface_slab slab = r->slab;
    const float *box = r->surface->box, most = csimi_box_outward(r->most, 1) * (1 + CSIMI_RAY_ROOM);
    const int leaves = r->surface->leaves;
    const uint64_t last = csimi_surface_wait(most, 0);
    while (r->top > 0) {
        const uint64_t waiting = r->stack[--r->top];
        int node = csimi_surface_waiting(waiting);
        if (waiting > last) continue;
        while (node > 0 && node < leaves) {
            float enter[4];
            const unsigned met = csimi_surface_slab_meets(&slab, box + 24 * (size_t)node, most, enter);
            node *= 4;
            if (met == 0)
                node = 0;
            else if ((met & (met - 1)) == 0) /* most often one */
                node += (int)((met >> 1) - (met >> 3));
            else
                node = csimi_surface_ray_push(r, node, met, enter);
        }
        if (node == 0) continue;
        r->next = CSIMI_SURFACE_LEAF * (node - leaves);
        r->end = csimi_imin(r->next + CSIMI_SURFACE_LEAF, r->surface->count);
        if (r->next < r->end) return true;
    }
    return false;
}

CSIMI_FN int csimi_surface_ray_next(csimi_surface_ray *r) {
    return r->next < r->end || csimi_surface_ray_leaf(r) ? r->next++ : -1;
}

/* ---- queries */

typedef struct csimi_surface_query {
    const csimi_surface *surface;
    const csimi_surface_skip *skip;
    csimi_surface_hit *hit;
    csim_real p[3], best; /* squared distance to beat */
} csimi_surface_query;

static csim_vec3 csimi_surface_corner(const csimi_surface *s, int triangle, int k) {
    return csimi_load3(s->x + 3 * (size_t)s->triangle[3 * triangle + k]);
}

static csim_vec3 csimi_surface_point(csim_vec3 a, csim_vec3 b, csim_vec3 c, const csim_real *w) {
    return csim_madd(csim_madd(csim_scale(w[0], a), w[1], b), w[2], c);
}

static bool csimi_surface_skips(const csimi_surface_query *q, int triangle) {
    const int *t = q->surface->triangle + 3 * (size_t)triangle;
    const csim_real *rest;
    csim_vec3 p, d;
    csim_real w[3];
    if (!q->skip || q->skip->vertex < 0) return false;
    if (t[0] == q->skip->vertex || t[1] == q->skip->vertex || t[2] == q->skip->vertex) return true;
    rest = q->skip->rest;
    p = csimi_load3(rest + 3 * (size_t)q->skip->vertex);
    csimi_closest_triangle(p, csimi_load3(rest + 3 * (size_t)t[0]), csimi_load3(rest + 3 * (size_t)t[1]),
                           csimi_load3(rest + 3 * (size_t)t[2]), w);
    d = csim_sub(p, csimi_surface_point(csimi_load3(rest + 3 * (size_t)t[0]), csimi_load3(rest + 3 * (size_t)t[1]),
                                        csimi_load3(rest + 3 * (size_t)t[2]), w));
    return csim_dot(d, d) < q->skip->radius * q->skip->radius;
}

/* Whether no triangle around the edge or corner that p is nearest to is nearer still: by more than rounding makes of
   corners as far from the origin as p, as all of them have the same point. */
static bool csimi_surface_least(const csimi_surface_query *q, int triangle, int feature, csim_real d2) {
    const csimi_surface *s = q->surface;
    const int *own = s->triangle + 3 * (size_t)triangle;
    const int u = own[(feature - 1) % 3], v = feature < 4 ? own[feature % 3] : u;
    const csim_real *x = s->x + 3 * (size_t)u;
    const csim_vec3 p = csimi_load3(q->p);
    const csim_real least = d2 - 64 * CSIMI_EPS * (d2 + CSIMI_SQRT(d2 * csim_dot(p, p))) - CSIMI_TINY;
    int stack[CSIMI_SURFACE_DEPTH], top = 0, i;
    stack[top++] = 1;
    while (top > 0) {
        const int node = stack[--top], first = CSIMI_SURFACE_LEAF * (node - s->leaves);
        if (csimi_box_distance2(s->box + csimi_surface_box(node), x) > 0) continue;
        if (node < s->leaves) {
            stack[top++] = 2 * node + 1;
            stack[top++] = 2 * node;
            continue;
        }
        for (i = first; i < csimi_imin(first + CSIMI_SURFACE_LEAF, s->count); ++i) {
            const int *t = s->triangle + 3 * (size_t)i;
            csim_vec3 a, b, c, d;
            csim_real w[3];
            if ((t[0] != u && t[1] != u && t[2] != u) || (t[0] != v && t[1] != v && t[2] != v)) continue;
            a = csimi_surface_corner(s, i, 0), b = csimi_surface_corner(s, i, 1), c = csimi_surface_corner(s, i, 2);
            csimi_closest_triangle(p, a, b, c, w);
            d = csim_sub(p, csimi_surface_point(a, b, c, w));
            if (csim_dot(d, d) < least) return false;
        }
    }
    return true;
}

/* What a sheet has not been met with yet. */
static bool csimi_surface_new(const csimi_surface_query *q, int triangle, int feature, csim_vec3 d, csim_real d2) {
    int k;
    for (k = 0; k < q->skip->met_count; k++) {
        const csim_real along = csim_dot(d, q->skip->met[k]);
        if (along > 0 && along * along > (q->skip->crossed[k] ? CSIM_R(0.25) : CSIM_R(0.88)) * d2) return false;
    }
    return feature == 0 || csimi_surface_least(q, triangle, feature, d2);
}

static void csimi_surface_try(csimi_surface_query *q, int triangle) {
    csim_vec3 a = csimi_surface_corner(q->surface, triangle, 0), b = csimi_surface_corner(q->surface, triangle, 1);
    csim_vec3 c = csimi_surface_corner(q->surface, triangle, 2), p = csimi_load3(q->p), point, d;
    csim_real w[3], d2;
    int feature = csimi_closest_triangle(p, a, b, c, w);
    point = csimi_surface_point(a, b, c, w);
    d = csim_sub(p, point);
    d2 = csim_dot(d, d);
    if (d2 > q->best || (d2 >= q->best && q->hit->triangle >= 0 && q->hit->triangle < triangle)) return;
    if (csimi_surface_skips(q, triangle)) return;
    if (q->skip && q->skip->sheet && !csimi_surface_new(q, triangle, feature, d, d2)) return;
    q->best = d2;
    q->hit->triangle = triangle;
    q->hit->feature = feature;
    q->hit->point = point;
    CSIMI_MEMCPY(q->hit->weight, w, sizeof w);
}

/* Visits what is nearer than the best, the nearer child first. */
static void csimi_surface_descend(csimi_surface_query *q) {
    const csimi_surface *s = q->surface;
    int stack[CSIMI_SURFACE_DEPTH], top = 0, i;
    stack[top++] = 1;
    while (top > 0) {
        int node = stack[--top];
        csim_real left, right;
        if (csimi_box_distance2(s->box + csimi_surface_box(node), q->p) > q->best) continue;
        if (node >= s->leaves) {
            int first = CSIMI_SURFACE_LEAF * (node - s->leaves);
            for (i = first; i < csimi_imin(first + CSIMI_SURFACE_LEAF, s->count); ++i) csimi_surface_try(q, i);
            continue;
        }
        left = csimi_box_distance2(s->box + csimi_surface_box(2 * node), q->p);
        right = csimi_box_distance2(s->box + csimi_surface_box(2 * node + 1), q->p);
        CONDSIM_ASSERT(top + 2 <= CSIMI_SURFACE_DEPTH);
        stack[top++] = 2 * node + (left <= right); /* the farther one waits below */
        stack[top++] = 2 * node + (left > right);
    }
}

CSIMI_FN csim_vec3 csimi_triangle_normal(const csimi_surface *s, int triangle) {
    csim_vec3 a = csimi_surface_corner(s, triangle, 0);
    return csim_normalize(csim_cross(csim_sub(csimi_surface_corner(s, triangle, 1), a),
                                     csim_sub(csimi_surface_corner(s, triangle, 2), a)));
}

/* The angle of the triangle at corner k. */
static csim_real csimi_corner_angle(const csimi_surface *s, int triangle, int k) {
    csim_vec3 a = csimi_surface_corner(s, triangle, k), e = csim_sub(csimi_surface_corner(s, triangle, (k + 1) % 3), a),
              f = csim_sub(csimi_surface_corner(s, triangle, (k + 2) % 3), a);
    return CSIMI_ATAN2(csim_length(csim_cross(e, f)), csim_dot(e, f));
}

/* The triangle's part of the normal of the feature with vertices u and v (v = u: a corner). around: a sum that is zero
   when triangles close around the feature, edges being run through both ways. */
static csim_vec3 csimi_feature_normal_part(const csimi_surface *s, int triangle, int u, int v, int *around) {
    const int *t = s->triangle + 3 * (size_t)triangle;
    int k, at_u = -1, at_v = -1;
    for (k = 0; k < 3; ++k) {
        if (t[k] == u) at_u = k;
        if (t[k] == v) at_v = k;
    }
    if (at_u < 0 || at_v < 0) return csim_v3(0, 0, 0);
    *around += u == v ? t[(at_u + 1) % 3] - t[(at_u + 2) % 3] : (at_u + 1) % 3 == at_v ? 1 : -1;
    return csim_scale(u == v ? csimi_corner_angle(s, triangle, at_u) : 1, csimi_triangle_normal(s, triangle));
}

/* The normal of an edge or corner: a walk through the tree to everything that touches one of its vertices. */
static csim_vec3 csimi_feature_normal(const csimi_surface *s, int u, int v, bool *border) {
    csim_vec3 sum = csim_v3(0, 0, 0);
    int around = 0;
    const csim_real *p = s->x + 3 * (size_t)u;
    int stack[CSIMI_SURFACE_DEPTH], top = 0, i;
    stack[top++] = 1;
    while (top > 0) {
        int node = stack[--top];
        if (csimi_box_distance2(s->box + csimi_surface_box(node), p) > 0) continue;
        if (node >= s->leaves) {
            int first = CSIMI_SURFACE_LEAF * (node - s->leaves);
            for (i = first; i < csimi_imin(first + CSIMI_SURFACE_LEAF, s->count); ++i)
                sum = csim_add(sum, csimi_feature_normal_part(s, i, u, v, &around));
            continue;
        }
        CONDSIM_ASSERT(top + 2 <= CSIMI_SURFACE_DEPTH);
        stack[top++] = 2 * node + 1;
        stack[top++] = 2 * node;
    }
    *border = around != 0;
    return csim_normalize(sum);
}

CSIMI_FN bool csimi_surface_nearest(const csimi_surface *s, csim_vec3 p, csim_real within,
                                    const csimi_surface_skip *skip, csimi_surface_hit *hit) {
    csimi_surface_query q;
    int f, t;
    q.surface = s;
    q.skip = skip;
    q.hit = hit;
    q.best = within < CSIMI_SQRT(CSIMI_HUGE) ? within * within : CSIMI_HUGE;
    csimi_store3(q.p, p);
    hit->triangle = -1;
    if (s->count == 0) return false;
    csimi_surface_descend(&q);
    if (hit->triangle < 0) return false;
    f = hit->feature;
    t = 3 * hit->triangle;
    hit->distance = CSIMI_SQRT(q.best);
    hit->border = false;
    if (f == 0)
        hit->normal = csimi_triangle_normal(s, hit->triangle);
    else if (f < 4)
        hit->normal = csimi_feature_normal(s, s->triangle[t + f - 1], s->triangle[t + f % 3], &hit->border);
    else
        hit->normal = csimi_feature_normal(s, s->triangle[t + f - 4], s->triangle[t + f - 4], &hit->border);
    hit->inside = csim_dot(hit->normal, csim_sub(p, hit->point)) < 0;
    return true;
}
