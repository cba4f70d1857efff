/* collide/polytope: contact points of boxes and hulls. Separating axes over faces and edge pairs decide the normal; the
   points are then enumerated one by one (corners over a face, crossings of edges), so that no polygon is ever stored.
   Shapes that are apart and no axis tells how far also get the nearest pair of their edges.

   Everything happens in the frame of the first polytope, a; the end maps it to the world. side 0 is a, side 1 is b. */
#include "private.h"

static const csim_real csimi_box_normal[18] = {-1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1};
static const short csimi_box_face_start[7] = {0, 4, 8, 12, 16, 20, 24};
/* corner i has the signs of its bits; faces counter-clockwise from outside */
static const unsigned char csimi_box_face_vertex[24] = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4,
                                                        2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
static const unsigned char csimi_box_edge_vertex[24] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3,
                                                        4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7};
static const unsigned char csimi_box_edge_face[24] = {2, 4, 3, 4, 2, 5, 3, 5, 0, 4, 1, 4,
                                                      0, 5, 1, 5, 0, 2, 1, 2, 0, 3, 1, 3};

static const csimi_polytope csimi_box_form = {
    8, 6, 12, NULL, csimi_box_normal, NULL, csimi_box_face_start, csimi_box_face_vertex, csimi_box_edge_vertex,
    csimi_box_edge_face, true, {0}, {0}, 0};

static void csimi_polytope_box(csimi_polytope *p, csim_vec3 half) {
    int i;
    *p = csimi_box_form;
    for (i = 0; i < 8; i++)
        csimi_store3(p->box_vertex + 3 * i,
                     csim_v3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z));
    p->box_offset[0] = p->box_offset[1] = half.x;
    p->box_offset[2] = p->box_offset[3] = half.y;
    p->box_offset[4] = p->box_offset[5] = half.z;
    p->vertex = p->box_vertex;
    p->offset = p->box_offset;
    p->size = 2 * csimi_max(half.x, csimi_max(half.y, half.z));
}

CSIMI_FN void csimi_polytope_of(csimi_polytope *p, const csim_geometry *g, const csim_hull_data *hulls) {
    const csim_hull_data *h;
    if (csimi_shape_is(g, CSIM_SHAPE_BOX)) {
        csimi_polytope_box(p, g->half);
        return;
    }
    h = hulls + g->hull;
    p->box = false;
    p->vertex_count = h->vertex_count;
    p->face_count = h->face_count;
    p->edge_count = h->edge_count;
    p->vertex = h->vertex;
    p->normal = h->normal;
    p->offset = h->offset;
    p->face_start = h->face_start;
    p->face_vertex = h->face_vertex;
    p->edge_vertex = h->edge_vertex;
    p->edge_face = h->edge_face;
    p->size = 2 * g->bound;
}

static const short csimi_facet_face_start[2] = {0, 3};
static const unsigned char csimi_facet_face_vertex[3] = {0, 1, 2};
static const unsigned char csimi_facet_edge_vertex[6] = {0, 1, 1, 2, 2, 0};
static const unsigned char csimi_facet_edge_face[6] = {0, 1, 0, 2, 0, 3};
static const csimi_polytope csimi_facet_form = {
    3, 1, 3, NULL, NULL, NULL, csimi_facet_face_start, csimi_facet_face_vertex, csimi_facet_edge_vertex,
    csimi_facet_edge_face, false, {0}, {0}, 0};

CSIMI_FN void csimi_polytope_facet(csimi_polytope *p, const csimi_facet *f) {
    *p = csimi_facet_form;
    p->vertex = f->vertex;
    p->normal = f->normal;
    p->offset = &f->offset;
    p->size = f->size;
}

enum { CSIMI_TURNED = 8 }; /* corners of b that are turned once: all of a box, and small stacks bear them */

/* Both polytopes, b's pose in the frame of a, and the points found so far, in the frame of a, normals from a to b. */
typedef struct csimi_pair {
    csimi_polytope a, b;
    csim_real R[9], t[3]; /* x_a = R x_b + t */
    csim_real vertex_b[3 * CSIMI_TURNED]; /* first corners of b in the frame of a, by csimi_turn_corners */
    csim_real margin;
    csim_real tie;   /* differences of separation below this are no differences */
    csim_real slack; /* points this far apart are one point; as far outside a face is still on it */
    csim_real least; /* smallest gap so far */
    csim_real floor; /* points deeper than this are none: another axis says they overlap less */
    csim_touch *touches;
    int count, capacity;
} csimi_pair;

static const csimi_polytope *csimi_polytope_on(const csimi_pair *p, int side) { return side == 0 ? &p->a : &p->b; }

static csim_vec3 csimi_turn_b(const csimi_pair *p, const csim_real *x) {
    csim_real y[3];
    csimi_mul3(p->R, x, y);
    return csimi_load3(y);
}
static csim_vec3 csimi_turn_corner(const csimi_pair *p, int i) {
    return csim_add(csimi_turn_b(p, p->b.vertex + 3 * i), csimi_load3(p->t));
}
/* Of pairs that faces of a do not part: all that follows asks for corners again and again. */
static void csimi_turn_corners(csimi_pair *p) {
    int i;
    for (i = 0; i < csimi_imin(p->b.vertex_count, CSIMI_TURNED); i++)
        csimi_store3(p->vertex_b + 3 * i, csimi_turn_corner(p, i));
}
static csim_vec3 csimi_corner(const csimi_pair *p, int side, int i) {
    if (side == 1 && i >= CSIMI_TURNED) return csimi_turn_corner(p, i);
    return csimi_load3((side == 0 ? p->a.vertex : p->vertex_b) + 3 * i);
}
static csim_vec3 csimi_normal_of(const csimi_pair *p, int side, int face) {
    return side == 0 ? csimi_load3(p->a.normal + 3 * face) : csimi_turn_b(p, p->b.normal + 3 * face);
}
/* n . x on the plane of a face with normal n */
static csim_real csimi_offset_of(const csimi_pair *p, int side, int face, csim_vec3 n) {
    return side == 0 ? p->a.offset[face] : p->b.offset[face] + csim_dot(n, csimi_load3(p->t));
}

/* Smallest n . x of a polytope in its own frame. */
static csim_real csimi_lowest(const csimi_polytope *p, csim_vec3 n) {
    csim_real least = CSIMI_HUGE;
    int i;
    if (p->box) return -csimi_abs(n.x) * p->offset[0] - csimi_abs(n.y) * p->offset[2] - csimi_abs(n.z) * p->offset[4];
    for (i = 0; i < p->vertex_count; i++)
        least = csimi_min(least, n.x * p->vertex[3 * i] + n.y * p->vertex[3 * i + 1] + n.z * p->vertex[3 * i + 2]);
    return least;
}

static csim_real csimi_level(const csimi_pair *p, int side, csim_vec3 n) {
    csim_real y[3] = {0, 0, 0}, x[3];
    if (side == 0) return csimi_lowest(&p->a, n);
    csimi_store3(x, n);
    csimi_addmulT3(p->R, x, y);
    return csim_dot(n, csimi_load3(p->t)) + csimi_lowest(&p->b, csimi_load3(y));
}

/* Gap between the supporting planes of a and b along the unit direction n from a to b: never above their distance. */
static csim_real csimi_separation(const csimi_pair *p, csim_vec3 n) {
    return csimi_level(p, 1, n) + csimi_level(p, 0, csim_scale(-1, n));
}

/* ---- axes */

typedef struct csimi_axis_found {
    csim_real separation;
    int a, b; /* a face of a or of b; or an edge of each; -1: none */
} csimi_axis_found;

/* The face of one side that the other is farthest in front of; the first of those that tie. */
static csimi_axis_found csimi_best_face(const csimi_pair *p, int side) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    csimi_axis_found best;
    int i, face = 0;
    best.separation = -CSIMI_HUGE;
    for (i = 0; i < q->face_count && best.separation <= p->margin; i++) {
        csim_vec3 n = csimi_normal_of(p, side, i);
        csim_real s = csimi_level(p, 1 - side, n) - csimi_offset_of(p, side, i, n);
        if (!(s > best.separation + p->tie)) continue;
        best.separation = s;
        face = i;
    }
    best.a = side == 0 ? face : -1;
    best.b = side == 1 ? face : -1;
    return best;
}

static csim_vec3 csimi_edge(const csimi_pair *p, int side, int e, csim_vec3 *start) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    *start = csimi_corner(p, side, q->edge_vertex[2 * e]);
    return csim_sub(csimi_corner(p, side, q->edge_vertex[2 * e + 1]), *start);
}

/* Unit normal of two edges on the side of out; zero where they are parallel: then the faces beside them tell more. */
static csim_vec3 csimi_edge_normal(csim_vec3 ea, csim_vec3 eb, csim_vec3 out) {
    csim_vec3 n = csim_cross(ea, eb);
    csim_real square = csim_dot(n, n);
    if (square <= CSIM_R(1e-6) * csim_dot(ea, ea) * csim_dot(eb, eb)) return csim_v3(0, 0, 0);
    return csim_scale((csim_dot(n, out) < 0 ? -1 : 1) / CSIMI_SQRT(square), n);
}

/* Directions of the edges of box a, as bits, whose pairs with edges of box b along its axis l cannot beat best:
   csimi_try_edges believes no pair beyond the separation along the cross product of the two directions. Its own leans
   from n, which is not of unit length, by what rounding moves the corners of b over the length of their edge. */
static unsigned csimi_hopeless(const csimi_pair *p, int l, csim_real best) {
    const csim_real *ha = p->a.offset, *hb = p->b.offset, *R = p->R, *t = p->t;
    const csim_real scale = csimi_abs(t[0]) + csimi_abs(t[1]) + csimi_abs(t[2]) + p->a.size + p->b.size;
    const csim_real rounding = 32 * CSIMI_EPS * scale * (scale / hb[2 * l]);
    unsigned bits = 0;
    int u, m;
    for (u = 0; u < 3; u++) { /* n has parts along axes u and v of a, and lies across the third, k */
        const int v = u == 2 ? 0 : u + 1, k = 3 - u - v;
        const csim_real nu = -R[3 * v + l], nv = R[3 * u + l];
        csim_real gap = csimi_abs(nu * t[u] + nv * t[v]) - csimi_abs(nu) * ha[2 * u] - csimi_abs(nv) * ha[2 * v];
        for (m = 0; m < 3; m++) gap -= csimi_abs(nu * R[3 * u + m] + nv * R[3 * v + m]) * hb[2 * m];
        if (gap + rounding < (best + p->tie) * CSIMI_SQRT(nu * nu + nv * nv)) bits |= 1u << k;
    }
    return bits;
}

/* Edge j of b against all of a, but the directions passed over. A pair is a face of the Minkowski difference when the
   arc between the face normals at the edge of a crosses the arc at the mirrored edge of b (Gregorius, GDC 2013). */
static void csimi_try_edges(const csimi_pair *p, int j, unsigned over, csimi_axis_found *best) {
    const csimi_polytope *a = &p->a;
    csim_vec3 xb, eb = csimi_edge(p, 1, j, &xb);
    csim_vec3 b1 = csimi_normal_of(p, 1, p->b.edge_face[2 * j]), b2 = csimi_normal_of(p, 1, p->b.edge_face[2 * j + 1]);
    int i;
    for (i = 0; i < a->edge_count; i++) {
        csim_vec3 xa, ea, a1, a2, n;
        csim_real s;
        if ((over >> (i >> 2 & 3) & 1) != 0) continue;
        ea = csimi_edge(p, 0, i, &xa);
        if (csim_dot(b1, ea) * csim_dot(b2, ea) >= 0) continue;
        a1 = csimi_load3(a->normal + 3 * a->edge_face[2 * i]);
        a2 = csimi_load3(a->normal + 3 * a->edge_face[2 * i + 1]);
        if (csim_dot(a1, eb) * csim_dot(a2, eb) >= 0) continue;
        n = csimi_edge_normal(ea, eb, csim_add(a1, a2));
        if (csim_dot(n, csim_add(b1, b2)) >= 0) continue; /* opposite each other on the sphere */
        s = csim_dot(n, csim_sub(xb, xa));
        if (s > best->separation + p->tie) s = csimi_min(s, csimi_separation(p, n)); /* n is rounded: may claim more */
        if (!(s > best->separation + p->tie)) continue;
        best->separation = s;
        best->a = i;
        best->b = j;
    }
}

/* The edge pair that beats the faces most; edges -1: none does. */
static csimi_axis_found csimi_best_edges(const csimi_pair *p, csim_real faces) {
    csimi_axis_found best = {faces, -1, -1};
    unsigned over = 0;
    int j;
    for (j = 0; j < p->b.edge_count && best.separation <= p->margin; j++) {
        /* edges of boxes are parallel by fours */
        if (p->a.box && p->b.box && (j & 3) == 0) over = csimi_hopeless(p, j >> 2, best.separation);
        if (over != 7) csimi_try_edges(p, j, over, &best);
    }
    return best;
}

/* ---- emitting points */

/* Names of points: a corner against the other shape, or a pair of edges by their corners. */
static uint32_t csimi_name_corner(int side, int corner) { return 0x40000000u | (uint32_t)side << 8 | (uint32_t)corner; }

static uint32_t csimi_name_edges(int a1, int a2, int b1, int b2) {
    uint32_t lo_a = (uint32_t)csimi_imin(a1, a2), hi_a = (uint32_t)csimi_imax(a1, a2);
    uint32_t lo_b = (uint32_t)csimi_imin(b1, b2), hi_b = (uint32_t)csimi_imax(b1, b2);
    return 0x80000000u | lo_a << 18 | hi_a << 12 | lo_b << 6 | hi_b;
}

static bool csimi_same_point(const csimi_pair *p, const csim_touch *s, const csim_touch *t) {
    csim_vec3 a = csim_sub(s->point_a, t->point_a), b = csim_sub(s->point_b, t->point_b);
    return s->feature == t->feature || csim_dot(a, a) + csim_dot(b, b) < 8 * p->slack * p->slack;
}

/* A contact, n from a to b. Of two that are the same point the first stays, or the nearer one. */
static void csimi_emit(csimi_pair *p, csim_vec3 xa, csim_vec3 xb, csim_vec3 n, csim_real gap, uint32_t feature) {
    const csim_touch t = {xa, xb, n, gap, feature};
    int i;
    if (!(gap <= p->margin) || gap < p->floor) return;
    for (i = 0; i < csimi_imin(p->count, p->capacity); i++) {
        if (!csimi_same_point(p, p->touches + i, &t)) continue;
        if (gap >= p->touches[i].gap - p->tie) return;
        break;
    }
    p->least = csimi_min(p->least, gap);
    if (i < p->capacity) p->touches[i] = t;
    if (i >= csimi_imin(p->count, p->capacity)) p->count++;
}

/* ---- face against face */

/* The reference face (of side) and the face it meets. */
typedef struct csimi_meeting {
    int side;
    int face[2];      /* of a and of b */
    csim_vec3 n;      /* outward from the reference face */
    csim_real offset; /* n . x on its plane */
    csim_vec3 m;      /* outward of the incident face */
    csim_real level;  /* m . x on its plane */
} csimi_meeting;

static int csimi_face_size(const csimi_polytope *q, int face) { return q->face_start[face + 1] - q->face_start[face]; }
static int csimi_face_corner(const csimi_polytope *q, int face, int k) {
    int n = csimi_face_size(q, face);
    return q->face_vertex[q->face_start[face] + (k < n ? k : k - n)];
}

/* The corner that reaches least far along n. */
static int csimi_lowest_corner(const csimi_pair *p, int side, csim_vec3 n) {
    csim_real least = CSIMI_HUGE, s;
    int i, lowest = 0;
    for (i = 0; i < csimi_polytope_on(p, side)->vertex_count; i++) {
        s = csim_dot(n, csimi_corner(p, side, i));
        if (s < least) {
            least = s;
            lowest = i;
        }
    }
    return lowest;
}

/* Of the faces at the corner that reaches least far along n, the one that looks most against n. */
static int csimi_incident_face(const csimi_pair *p, int side, csim_vec3 n) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    int i, k, best = 0, lowest = csimi_lowest_corner(p, side, n);
    csim_real least = 2;
    for (i = 0; i < q->face_count; i++) {
        csim_real d = csim_dot(n, csimi_normal_of(p, side, i));
        if (!(d < least - CSIM_R(1e-4))) continue; /* the same of two that tie when things tremble */
        for (k = q->face_start[i]; k < q->face_start[i + 1]; k++)
            if (q->face_vertex[k] == lowest) break;
        if (k == q->face_start[i + 1]) continue;
        least = d;
        best = i;
    }
    return best;
}

/* Whether x lies inside the walls that stand on the edges of a face along the direction up (outward of the face). */
static bool csimi_over(const csimi_pair *p, int side, int face, csim_vec3 up, csim_vec3 x) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    int k, n = csimi_face_size(q, face);
    csim_vec3 u = csimi_corner(p, side, csimi_face_corner(q, face, n - 1));
    for (k = 0; k < n; k++) {
        csim_vec3 w = csimi_corner(p, side, csimi_face_corner(q, face, k)), wall = csim_cross(up, csim_sub(w, u));
        csim_real d = csim_dot(wall, csim_sub(x, u));
        if (d < 0 && d * d > p->slack * p->slack * csim_dot(wall, wall)) return false;
        u = w;
    }
    return true;
}

/* A point x of the incident face with its foot on the reference plane. */
static void csimi_emit_on(csimi_pair *p, const csimi_meeting *f, csim_vec3 x, csim_real gap, uint32_t feature) {
    csim_vec3 foot = csim_madd(x, -gap, f->n);
    if (f->side == 0)
        csimi_emit(p, foot, x, f->n, gap, feature);
    else
        csimi_emit(p, x, foot, csim_scale(-1, f->n), gap, feature);
}

/* Corners of one side's face over the other's. */
static void csimi_emit_corners(csimi_pair *p, const csimi_meeting *f, int owner) {
    const csimi_polytope *q = csimi_polytope_on(p, owner);
    csim_vec3 up = owner == f->side ? csim_scale(-1, f->n) : f->n; /* outward of the other face */
    csim_real slope = csim_dot(f->m, f->n);
    int k, n = csimi_face_size(q, f->face[owner]);
    if (owner == f->side && slope > CSIM_R(-0.1)) return; /* an upright incident face: its own corners say all */
    for (k = 0; k < n; k++) {
        int v = csimi_face_corner(q, f->face[owner], k);
        csim_vec3 x = csimi_corner(p, owner, v);
        csim_real gap = owner == f->side ? (f->level - csim_dot(f->m, x)) / slope : csim_dot(f->n, x) - f->offset;
        if (!(gap <= p->margin) || !csimi_over(p, 1 - owner, f->face[1 - owner], up, x)) continue;
        csimi_emit_on(p, f, owner == f->side ? csim_madd(x, gap, f->n) : x, gap, csimi_name_corner(owner, v));
    }
}

/* Where the edges of the incident face cross the reference edge from corner a1 to a2, seen along n. */
static void csimi_emit_crossings(csimi_pair *p, const csimi_meeting *f, int a1, int a2) {
    const csimi_polytope *r = csimi_polytope_on(p, 1 - f->side);
    int j, face = f->face[1 - f->side], n = csimi_face_size(r, face), b1 = csimi_face_corner(r, face, n - 1), b2;
    csim_vec3 u = csimi_corner(p, f->side, a1), e = csim_sub(csimi_corner(p, f->side, a2), u);
    csim_vec3 wall = csim_normalize(csim_cross(f->n, e)), x1 = csimi_corner(p, 1 - f->side, b1), x2, x;
    csim_real s1 = csim_dot(wall, csim_sub(x1, u)), s2, along, length;
    for (j = 0; j < n; j++, b1 = b2, x1 = x2, s1 = s2) {
        b2 = csimi_face_corner(r, face, j);
        x2 = csimi_corner(p, 1 - f->side, b2);
        s2 = csim_dot(wall, csim_sub(x2, u));
        if (!((s1 > p->slack && s2 < -p->slack) || (s1 < -p->slack && s2 > p->slack))) continue;
        x = csim_madd(x1, s1 / (s1 - s2), csim_sub(x2, x1));
        length = csim_length(e);
        along = csim_dot(csim_sub(x, u), e) / length;
        if (along <= p->slack || along >= length - p->slack) continue; /* the corners say that */
        csimi_emit_on(p, f, x, csim_dot(f->n, x) - f->offset,
                      f->side == 0 ? csimi_name_edges(a1, a2, b1, b2) : csimi_name_edges(b1, b2, a1, a2));
    }
}

/* The corners of b come before those of a whichever has the reference face, so that names stay when faces tie. */
static CSIMI_NOINLINE void csimi_emit_face(csimi_pair *p, int side, int face) {
    const csimi_polytope *q = csimi_polytope_on(p, side);
    csimi_meeting f;
    int i, n = csimi_face_size(q, face);
    f.side = side;
    f.n = csimi_normal_of(p, side, face);
    f.offset = csimi_offset_of(p, side, face, f.n);
    f.face[side] = face;
    f.face[1 - side] = csimi_incident_face(p, 1 - side, f.n);
    f.m = csimi_normal_of(p, 1 - side, f.face[1 - side]);
    f.level = csimi_offset_of(p, 1 - side, f.face[1 - side], f.m);
    csimi_emit_corners(p, &f, 1);
    csimi_emit_corners(p, &f, 0);
    for (i = 0; i < n; i++)
        csimi_emit_crossings(p, &f, csimi_face_corner(q, face, i), csimi_face_corner(q, face, i + 1));
}

/* ---- edge against edge */

/* Closest points of two segments p + s d, q + t e, s and t in [0, 1]. */
CSIMI_FN void csimi_closest_segments(csim_vec3 p, csim_vec3 d, csim_vec3 q, csim_vec3 e, csim_real *s, csim_real *t) {
    csim_vec3 r = csim_sub(p, q);
    csim_real a = csim_dot(d, d), b = csim_dot(d, e), c = csim_dot(e, e), f = csim_dot(d, r), g = csim_dot(e, r);
    csim_real det = a * c - b * b;
    *s = 0;
    if (a > 0 && c > 0 && det > 16 * CSIMI_EPS * a * c) *s = csimi_clamp((b * g - c * f) / det, 0, 1);
    *t = c > 0 ? csimi_clamp((b * *s + g) / c, 0, 1) : 0;
    *s = a > 0 ? csimi_clamp((b * *t - f) / a, 0, 1) : 0;
}

/* Nearest points of an edge pair; its name is that of a corner where the nearest point is one. */
static uint32_t csimi_edge_points(const csimi_pair *p, int i, int j, csim_vec3 *xa, csim_vec3 *xb) {
    const unsigned char *va = p->a.edge_vertex + 2 * i, *vb = p->b.edge_vertex + 2 * j;
    csim_vec3 ea = csimi_edge(p, 0, i, xa), eb = csimi_edge(p, 1, j, xb);
    csim_real s, t;
    csimi_closest_segments(*xa, ea, *xb, eb, &s, &t);
    *xa = csim_madd(*xa, s, ea);
    *xb = csim_madd(*xb, t, eb);
    if (t <= 0 || t >= 1) return csimi_name_corner(1, vb[t >= 1]);
    if (s <= 0 || s >= 1) return csimi_name_corner(0, va[s >= 1]);
    return csimi_name_edges(va[0], va[1], vb[0], vb[1]);
}

/* Unit direction of a pair of edges, from a to b. */
static csim_vec3 csimi_pair_normal(const csimi_pair *p, csimi_axis_found e) {
    const csimi_polytope *a = &p->a;
    csim_vec3 x;
    return csimi_edge_normal(
        csimi_edge(p, 0, e.a, &x), csimi_edge(p, 1, e.b, &x),
        csim_add(csimi_normal_of(p, 0, a->edge_face[2 * e.a]), csimi_normal_of(p, 0, a->edge_face[2 * e.a + 1])));
}

/* The crossing of two edges that overlap; of two apart only where it lies inside both. n: their direction. */
static void csimi_emit_edges(csimi_pair *p, csimi_axis_found e, csim_vec3 n) {
    csim_vec3 xa, xb;
    uint32_t name = csimi_edge_points(p, e.a, e.b, &xa, &xb);
    if (e.separation > 0 && !(name & 0x80000000u)) return;
    csimi_emit(p, xa, xb, n, csim_dot(n, csim_sub(xb, xa)), name);
}

/* Corners of one side that reach as far along n as any: at most two are told. Returns how many there are. */
static int csimi_support(const csimi_pair *p, int side, csim_vec3 n, int *two) {
    csim_real most = -csimi_level(p, side, csim_scale(-1, n));
    int i, count = 0;
    for (i = 0; i < csimi_polytope_on(p, side)->vertex_count; i++)
        if (csim_dot(n, csimi_corner(p, side, i)) > most - p->slack) {
            if (count < 2) two[count] = i;
            count++;
        }
    return count;
}

/* Two parallel edges that meet along n and nothing else: both ends of their overlap. False: not this case. */
static bool csimi_emit_parallel(csimi_pair *p, csim_vec3 n) {
    int va[2], vb[2], k;
    csim_vec3 u, w, e, d;
    csim_real length, s0, s1;
    if (csimi_support(p, 0, n, va) != 2 || csimi_support(p, 1, csim_scale(-1, n), vb) != 2) return false;
    u = csimi_corner(p, 0, va[0]);
    w = csimi_corner(p, 1, vb[0]);
    e = csim_sub(csimi_corner(p, 0, va[1]), u);
    d = csim_sub(csimi_corner(p, 1, vb[1]), w);
    length = csim_length(e);
    e = csim_scale(1 / length, e);
    s0 = csim_dot(e, csim_sub(w, u));
    s1 = s0 + csim_dot(e, d);
    if (csim_length(csim_cross(e, d)) > CSIM_R(1e-3) * csim_length(d)) return false;
    if (csimi_max(s0, s1) < 0 || csimi_min(s0, s1) > length) return false;
    for (k = 0; k < 2; k++) { /* an end of b where it lies on a, else the end of a */
        bool high = (s1 > s0) == (k == 1), inside;
        csim_real s = high ? s1 : s0;
        csim_vec3 xa, xb;
        inside = k == 0 ? s >= -p->slack : s <= length + p->slack;
        if (!inside) s = k == 0 ? 0 : length;
        xa = csim_madd(u, csimi_clamp(s, 0, length), e);
        xb = csim_madd(w, (s - s0) / (s1 - s0), d);
        csimi_emit(p, xa, xb, n, csim_dot(n, csim_sub(xb, xa)),
                   inside ? csimi_name_corner(1, vb[high]) : csimi_name_corner(0, va[k]));
    }
    return true;
}

/* ---- what no axis tells */

/* How far the nearer end of an edge stays behind the supporting plane with n . x = level. */
static csim_real csimi_behind(const csimi_pair *p, int side, int e, csim_vec3 n, csim_real level) {
    csim_vec3 x, d = csimi_edge(p, side, e, &x);
    return csim_dot(n, x) + csimi_min(0, csim_dot(n, d)) - level;
}

/* The nearest pair of edges of polytopes that are apart, unless a point found is as near. n: an axis that separates
   them; only edges near its planes can be near each other. */
static CSIMI_NOINLINE void csimi_emit_nearest(csimi_pair *p, csim_vec3 n) {
    csim_real most = csimi_min(p->margin, p->least - p->tie), behind_b, d;
    csim_real top = csimi_level(p, 0, csim_scale(-1, n)), bottom = csimi_level(p, 1, n), separation = top + bottom;
    csim_vec3 xa, xb, na = csim_v3(0, 0, 0), nb = na;
    uint32_t name = 0, found = 0;
    int i, j;
    for (j = 0; j < p->b.edge_count; j++) {
        behind_b = csimi_behind(p, 1, j, n, bottom);
        if (separation + behind_b > most) continue;
        for (i = 0; i < p->a.edge_count; i++) {
            if (separation + behind_b + csimi_behind(p, 0, i, csim_scale(-1, n), top) > most) continue;
            name = csimi_edge_points(p, i, j, &xa, &xb);
            d = csim_length(csim_sub(xb, xa));
            if (!(d < most)) continue;
            most = d;
            na = xa;
            nb = xb;
            found = name;
        }
    }
    if (!found) return;
    if (most > p->tie) n = csim_scale(1 / most, csim_sub(nb, na)); /* else that is mostly rounding */
    if (!csimi_emit_parallel(p, n)) csimi_emit(p, na, nb, n, csim_dot(n, csim_sub(nb, na)), found);
}

/* ---- all together */

static void csimi_emit_axis(csimi_pair *p, csimi_axis_found fa, csimi_axis_found fb, csimi_axis_found e) {
    csim_vec3 na = csimi_normal_of(p, 0, fa.a), nb = csimi_normal_of(p, 1, fb.b), n;
    bool second = fb.separation > fa.separation + p->tie;
    csim_real best = csimi_max(e.separation, csimi_max(fa.separation, fb.separation));
    int face = second ? fb.b : fa.a;
    n = second ? csim_scale(-1, nb) : na;
    if (e.a >= 0) {
        csim_vec3 axis = csimi_pair_normal(p, e);
        csimi_emit_edges(p, e, axis);
        if (p->count == 0) csimi_emit_nearest(p, axis);
        if (csim_dot(axis, n) > CSIM_R(0.95)) { /* nearly flat: the faces may follow within the same step */
            p->floor = best;
            csimi_emit_face(p, second, face);
        }
    } else {
        /* where both faces tie at a pair of parallel edges, any normal between them would do: the bisector, so that
           what looks symmetric is, while the overlap is shallow */
        csim_vec3 middle = csim_normalize(csim_sub(na, nb));
        bool tied = csimi_abs(fa.separation - fb.separation) <= p->slack && csim_dot(na, nb) > CSIM_R(-0.999) &&
                    csimi_separation(p, middle) > best - 250 * p->tie;
        if (!tied || !csimi_emit_parallel(p, middle)) csimi_emit_face(p, second, face);
        if (best > 0 && p->least > best + p->tie) csimi_emit_nearest(p, n);
    }
}

static void csimi_pair_to_world(csimi_pair *p, csim_pose world) {
    int i;
    for (i = 0; i < csimi_imin(p->count, p->capacity); i++) {
        csim_touch *t = p->touches + i;
        t->point_a = csim_pose_point(world, t->point_a);
        t->point_b = csim_pose_point(world, t->point_b);
        t->normal = csim_scale(-1, csim_rotate(world.rotation, t->normal));
    }
}

static void csimi_pair_set(csimi_pair *p, csim_pose pose_a, csim_pose pose_b, csim_real margin, csim_touch *touches,
                           int capacity) {
    const csim_mat3 R = csim_quat_matrix(csim_quat_mul(csim_quat_conj(pose_a.rotation), pose_b.rotation));
    CSIMI_MEMCPY(p->R, R.m, sizeof p->R);
    csimi_store3(p->t, csim_unrotate(pose_a.rotation, csim_sub(pose_b.position, pose_a.position)));
    p->margin = margin;
    p->tie = csimi_max(CSIM_R(4e-6) * csimi_min(p->a.size, p->b.size),
                       16 * CSIMI_EPS * csimi_max(p->a.size, p->b.size));
    p->slack = 8 * p->tie;
    p->least = CSIMI_HUGE;
    p->floor = -CSIMI_HUGE;
    p->touches = touches;
    p->count = 0;
    p->capacity = capacity;
}

/* Returns the separation of the best axis. */
static csim_real csimi_pair_meet(csimi_pair *p) {
    csimi_axis_found fa, fb, e;
    fa = csimi_best_face(p, 0);
    if (fa.separation > p->margin) return fa.separation;
    csimi_turn_corners(p);
    fb = csimi_best_face(p, 1);
    if (fb.separation > p->margin) return fb.separation;
    e = csimi_best_edges(p, csimi_max(fa.separation, fb.separation));
    if (e.separation > p->margin) return e.separation;
    csimi_emit_axis(p, fa, fb, e);
    return csimi_max(e.separation, csimi_max(fa.separation, fb.separation));
}

CSIMI_FN CSIMI_NOINLINE int csimi_collide_polytopes(const csim_geometry *a, csim_pose pose_a, const csim_geometry *b,
                                                    csim_pose pose_b, const csim_hull_data *hulls, csim_real margin,
                                                    csim_touch *touches, int capacity) {
    csimi_pair p;
    csimi_polytope_of(&p.a, a, hulls);
    csimi_polytope_of(&p.b, b, hulls);
    csimi_pair_set(&p, pose_a, pose_b, margin, touches, capacity);
    csimi_pair_meet(&p);
    csimi_pair_to_world(&p, pose_a);
    return p.count;
}

#ifndef CONDSIM_NO_FIELDS
/* ---- one triangle of a level */

/* Touches in the world whose normals the surface has there stay. Returns whether others would do as the triangle's. */
static bool csimi_facet_touches(const csimi_facet *f, csim_touch *touches, int *count) {
    bool wanted = false, snaps;
    int i, kept = 0;
    for (i = 0; i < *count; i++) {
        if (csimi_facet_allows(f, touches[i].normal, &snaps))
            touches[kept++] = touches[i];
        else
            wanted = wanted || snaps;
    }
    *count = kept;
    return wanted && kept == 0;
}

/* How far the shape is beyond the edges of the triangle, in its plane; *k: the edge. */
static csim_real csimi_beyond_edges(const csimi_pair *p, int *k) {
    csim_real most = -CSIMI_HUGE;
    int i;
    for (i = 0; i < 3; i++) {
        const csim_vec3 out = csimi_normal_of(p, 1, 1 + i);
        const csim_real s = csimi_level(p, 0, out) - csim_dot(out, csimi_corner(p, 1, i));
        if (!(s > most)) continue;
        most = s;
        *k = i;
    }
    return most;
}

/* Touches of the pair whose normals the surface has; whether the triangle's own would do where there are none. */
static bool csimi_facet_keep(csimi_pair *p, csim_pose pose, const csimi_facet *f, int *count) {
    csimi_pair_to_world(p, pose);
    *count = csimi_imin(p->count, p->capacity);
    return csimi_facet_touches(f, p->touches, count);
}

/* How far apart they are at least by the best axis, less than 0 where they overlap; n: from the triangle. */
CSIMI_FN CSIMI_NOINLINE csim_real csimi_facet_gap(const csim_geometry *g, csim_pose pose, const csimi_facet *f,
                                                  const csim_hull_data *hulls, csim_vec3 *n) {
    csimi_pair p;
    csimi_axis_found fa, fb, e;
    csim_vec3 axis;
    csim_real best, beside;
    int k = 0;
    csimi_polytope_of(&p.a, g, hulls);
    csimi_polytope_facet(&p.b, f);
    csimi_pair_set(&p, pose, csim_pose_identity(), CSIMI_HUGE, NULL, 0);
    csimi_turn_corners(&p);
    fa = csimi_best_face(&p, 0);
    fb = csimi_best_face(&p, 1);
    e = csimi_best_edges(&p, csimi_max(fa.separation, fb.separation));
    beside = csimi_beyond_edges(&p, &k);
    best = csimi_max(e.separation, csimi_max(fa.separation, fb.separation));
    axis = fa.separation > fb.separation ? csim_scale(-1, csimi_normal_of(&p, 0, fa.a)) : csimi_normal_of(&p, 1, 0);
    if (e.a >= 0) axis = csim_scale(-1, csimi_pair_normal(&p, e));
    if (beside > best) axis = csimi_normal_of(&p, 1, 1 + k);
    *n = csim_rotate(pose.rotation, axis);
    return csimi_max(best, beside);
}

/* The side that is shown has axes to the front alone. What is beside the triangle and reaches behind it meets what is
   beyond its edge; where nothing is, the edge. */
CSIMI_FN CSIMI_NOINLINE int csimi_collide_facet(const csim_geometry *g, csim_pose pose, const csimi_facet *f,
                                                const csim_hull_data *hulls, csim_real margin, csim_touch *touches,
                                                int capacity) {
    const csim_pose level = csim_pose_identity();
    csimi_pair p;
    csim_real best, beside;
    int count, k = 0;
    bool snaps;
    csimi_polytope_of(&p.a, g, hulls);
    csimi_polytope_facet(&p.b, f);
    csimi_pair_set(&p, pose, level, margin, touches, capacity);
    csimi_turn_corners(&p);
    beside = csimi_beyond_edges(&p, &k);
    if (beside > margin) return 0;
    best = csimi_pair_meet(&p);
    if (beside > best + p.tie) {
        const csimi_fold fold = csimi_facet_fold(f, k);
        if (fold == CSIMI_FOLD_CONVEX || (beside > 0 && fold != CSIMI_FOLD_BORDER)) return 0;
        if (fold == CSIMI_FOLD_BORDER && beside > 0) {
            csimi_pair_set(&p, pose, level, margin, touches, capacity);
            csimi_emit_nearest(&p, csim_scale(-1, csimi_normal_of(&p, 1, 1 + k)));
        }
        best = beside;
        snaps = fold != CSIMI_FOLD_BORDER;
    } else {
        snaps = false;
    }
    if (snaps || csimi_facet_keep(&p, pose, f, &count)) {
        csimi_pair_set(&p, pose, level, margin, touches, capacity);
        p.floor = 4 * csimi_min(best, 0) - p.slack;
        csimi_emit_face(&p, 1, 0); /* what is over the triangle, along its own normal */
        csimi_facet_keep(&p, pose, f, &count);
    }
    return count;
}
#endif
