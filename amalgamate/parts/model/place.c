/* model/place: material points of everything that moves; the one file that knows their kinds apart. */
#include "private.h"

static void csimi_place_scaled_identity(csim_real a, csim_real *J) {
    J[1] = J[2] = J[3] = J[5] = J[6] = J[7] = 0;
    J[0] = J[4] = J[8] = a;
}

/* The kind of a place, one of those that this build can make: code for the others is left out. */
CSIMI_KNOWN csimi_place_kind csimi_place_kind_of(const csimi_place *p) {
#if CSIMI_HAS_MESHES
    return p->kind;
#else
    if (p->kind == CSIMI_PLACE_RIGID) return CSIMI_PLACE_RIGID; /* links hold on to what stands, too */
    if (CSIMI_HAS_NODES && p->kind == CSIMI_PLACE_NODE) return CSIMI_PLACE_NODE;
    return CSIMI_HAS_TREES && p->kind == CSIMI_PLACE_LINK ? CSIMI_PLACE_LINK : CSIMI_PLACE_GROUND;
#endif
}

/* ---- making */

static csimi_place csimi_place_of(csimi_place_kind kind) {
#if CSIMI_HAS_FAR
    static const csimi_place none = {CSIMI_PLACE_GROUND, -1, {0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}};
#else
    static const csimi_place none = {CSIMI_PLACE_GROUND, -1, {0, 0, 0}};
#endif
    csimi_place p = none;
    p.kind = kind;
    return p;
}

CSIMI_FN csimi_place csimi_place_ground(csim_vec3 point) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_GROUND);
    csimi_store3(p.local, point);
    return p;
}

CSIMI_FN csimi_place csimi_place_node(int node) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_NODE);
    p.item = node;
    return p;
}

CSIMI_FN csimi_place csimi_place_rigid(const csimi_state *s, int k, csim_vec3 point) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_RIGID);
    csim_vec3 arm = csim_sub(point, csimi_load3(s->com + 3 * (size_t)k));
    p.item = k;
    csimi_store3(p.local, csim_unrotate(csimi_load_quat(s->rotation + 4 * (size_t)k), arm));
    return p;
}

static csim_vec3 csimi_node_acceleration(const csimi_state *s, int node) {
    if (s->node_mode[node] != CSIMI_FREE) return csim_v3(0, 0, 0);
    return csim_madd(csim_scale(s->node_gravity[node], csimi_load3(s->gravity)), 1 / s->node_mass[node],
                     csimi_load3(s->node_force + 3 * (size_t)node));
}

/* tr(J I^-1 J'), J of an arm: skew, so that its diagonal adds nothing. */
static csim_real csimi_arm_mobility(csim_real trace, const csim_real *J, const csim_real *inverse) {
    trace += (J[1] * inverse[4] + J[2] * inverse[7]) * J[1];
    trace += (J[1] * inverse[5] + J[2] * inverse[8]) * J[2];
    trace += (J[3] * inverse[0] + J[5] * inverse[6]) * J[3];
    trace += (J[3] * inverse[2] + J[5] * inverse[8]) * J[5];
    trace += (J[6] * inverse[0] + J[7] * inverse[3]) * J[6];
    return trace + (J[6] * inverse[1] + J[7] * inverse[4]) * J[7];
}

/* ---- links, edges, faces and vertices of reduced bodies */

#if CSIMI_HAS_FAR
CSIMI_FN csimi_place csimi_place_follow(const csimi_state *s, csimi_place p) {
    const int node = p.kind == CSIMI_PLACE_NODE ? p.item : p.kind == CSIMI_PLACE_FACE ? p.node[0] : -1;
    if (node < 0 || s->node_tree[node] < 0) return p;
    p.node[p.kind == CSIMI_PLACE_NODE ? 0 : 3] = s->tree[s->node_tree[node]].block_count;
    if (p.kind == CSIMI_PLACE_NODE) p.kind = CSIMI_PLACE_VERTEX;
    return p;
}

/* x = x_i + t dx + a e1 + b e2 + c e3, in the axes of the edge. A sheared edge has dx off its third axis; c is 0 but
   for what is far beyond its ends and for edges so bent that they run against their axes: there t is the nearest. */
CSIMI_FN csimi_place csimi_place_edge(const csimi_state *s, int k, csim_vec3 point) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_EDGE);
    csim_quat q = csimi_load_quat(s->frame + 4 * (size_t)k);
    csim_vec3 first, along, off;
    csim_real t;
    p.item = k;
    p.node[0] = s->edge_node[2 * k];
    p.node[1] = s->edge_node[2 * k + 1];
    first = csimi_load3(s->x + 3 * (size_t)p.node[0]);
    along = csim_unrotate(q, csim_sub(csimi_load3(s->x + 3 * (size_t)p.node[1]), first));
    off = csim_unrotate(q, csim_sub(point, first));
    t = along.z > 0 ? off.z / along.z : -2;
    if (!(t >= -1 && t <= 2)) {
        const csim_real square = csim_dot(along, along);
        t = square > 0 ? csimi_clamp(csim_dot(off, along) / square, 0, 1) : CSIM_R(0.5);
        p.local[3] = off.z - t * along.z;
    }
    csimi_store3(p.local, csim_v3(off.x - t * along.x, off.y - t * along.y, t));
    return p;
}

/* Where the place is off the line of its edge, world axes. */
static csim_vec3 csimi_edge_offset(const csimi_state *s, const csimi_place *p) {
    return csim_rotate(csimi_load_quat(s->frame + 4 * (size_t)p->item), csim_v3(p->local[0], p->local[1], p->local[3]));
}

/* Share of a value at the two nodes. */
static csim_vec3 csimi_edge_between(const csimi_place *p, const csim_real *a) {
    csim_vec3 x = csim_scale(1 - p->local[2], csimi_load3(a + 3 * (size_t)p->node[0]));
    return csim_madd(x, p->local[2], csimi_load3(a + 3 * (size_t)p->node[1]));
}

CSIMI_FN csimi_place csimi_place_face(const int *node, const csim_real *weight, csim_real height) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_FACE);
    int k;
    for (k = 0; k < 3; k++) {
        p.node[k] = node[k];
        p.local[k] = weight[k];
    }
    p.local[3] = height;
    return p;
}

CSIMI_FN csimi_place csimi_place_link(const csimi_state *s, int link, csim_vec3 point) {
    csimi_place p = csimi_place_of(CSIMI_PLACE_LINK);
    p.item = link;
    p.node[0] = s->tree_link[link].terms;
    csimi_store3(p.local, csim_pose_local(csimi_link_pose(s, link), point));
    return p;
}

/* Corners, unit normal and twice the area of a face. */
typedef struct csimi_face {
    csim_vec3 x[3], n;
    csim_real area;
} csimi_face;

static csimi_face csimi_face_of(const csimi_state *s, const csimi_place *p) {
    csimi_face f;
    int k;
    for (k = 0; k < 3; k++) f.x[k] = csimi_load3(s->x + 3 * (size_t)p->node[k]);
    f.n = csim_cross(csim_sub(f.x[1], f.x[0]), csim_sub(f.x[2], f.x[0]));
    f.area = csim_length(f.n);
    f.n = csim_normalize(f.n);
    return f;
}

/* What the place is off its foot by, in the plane of the face: along its first edge and across. */
static csim_vec3 csimi_face_beside(const csimi_face *f, const csimi_place *p) {
    const csim_vec3 u = csim_normalize(csim_sub(f->x[1], f->x[0]));
    return csim_madd(csim_scale(p->local[4], u), p->local[5], csim_cross(f->n, u));
}

static bool csimi_face_off(const csimi_place *p) { return !(p->local[3] == 0 && p->local[4] == 0 && p->local[5] == 0); }

CSIMI_FN csimi_place csimi_place_off_face(const csimi_state *s, const int *node, const csim_real *weight,
                                          csim_vec3 off) {
    csimi_place p = csimi_place_face(node, weight, 0);
    const csimi_face f = csimi_face_of(s, &p);
    const csim_vec3 u = csim_normalize(csim_sub(f.x[1], f.x[0]));
    if (!(f.area > 0) || csim_dot(off, off) > f.area) return p; /* farther off than the triangle is large */
    p.local[3] = csim_dot(off, f.n);
    p.local[4] = csim_dot(off, u);
    p.local[5] = csim_dot(off, csim_cross(f.n, u));
    return p;
}

/* v = sum w v_k + omega x (height n + t), t beside the foot in the plane: what lies off the face turns with it, so that
   rigid motions move the point rigidly and forces on it keep angular momentum, and so that along the offset it moves as
   its foot does. omega x n = dn: N = (x1 - x0) x (x2 - x0) changes by dx_k x (opposite edge), and n by the part of
   dN / |N| across n; omega x t = -n (dn . t) + (omega . n) n x t, where omega . n is the turn of the first edge, u. */
static void csimi_face_terms(const csimi_state *s, const csimi_place *p, csim_real *J) {
    csimi_face f;
    csim_real off[9], skew[9], turn[9], edge[3], n[3], t[3], across[3], around[3];
    csim_vec3 u;
    int k, i;
    for (k = 0; k < 3; k++) csimi_place_scaled_identity(p->local[k], J + 9 * k);
    if (!csimi_face_off(p)) return;
    f = csimi_face_of(s, p);
    if (!(f.area > 0)) return;
    u = csim_sub(f.x[1], f.x[0]);
    csimi_store3(n, f.n);
    csimi_store3(t, csimi_face_beside(&f, p));
    csimi_store3(around, csim_cross(f.n, csimi_load3(t)));
    csimi_store3(across, csim_scale(1 / csim_dot(u, u), csim_cross(f.n, u)));
    for (i = 0; i < 9; i++) { /* (height I - n t') (I - n n'), where t' n = 0 */
        off[i] = (p->local[3] * ((csim_real)(i % 4 == 0) - n[i / 3] * n[i % 3]) - n[i / 3] * t[i % 3]) / f.area;
        turn[i] = around[i / 3] * across[i % 3];
        J[i] -= turn[i];
        J[9 + i] += turn[i];
    }
    for (k = 0; k < 3; k++) {
        csimi_store3(edge, csim_sub(f.x[(k + 2) % 3], f.x[(k + 1) % 3])); /* dx x o = [-o]x dx, o = x(k+1) - x(k+2) */
        csimi_skew(edge, skew);
        csimi_matmul(off, skew, turn);
        for (i = 0; i < 9; i++) J[9 * k + i] += turn[i];
    }
}

/* As if its joints were free. */
static csim_vec3 csimi_tree_fall(const csimi_state *s, int tree) {
    return csim_scale(s->tree[tree].mode == CSIMI_FREE ? s->tree[tree].gravity : 0, csimi_load3(s->gravity));
}

/* The direction's parts along and across the edges of the triangle, put together again with the edges of now. */
static csim_vec3 csimi_face_carry(const csimi_place *p, const csimi_state *then, const csimi_state *now, csim_vec3 d) {
    csim_real R[2][9], local[3], world[3];
    int k;
    for (k = 0; k < 2; k++) {
        csimi_face f = csimi_face_of(k ? now : then, p);
        csim_real n[3], hint[3];
        if (!(f.area > 0)) return d;
        csimi_store3(n, f.n);
        csimi_store3(hint, csim_sub(f.x[1], f.x[0]));
        csimi_frame(n, hint, R[k]);
    }
    csimi_store3(world, d);
    csimi_mul3(R[0], world, local);
    world[0] = world[1] = world[2] = 0;
    csimi_addmulT3(R[1], local, world);
    return csimi_load3(world);
}

/* Links are the only such places of builds without meshes. */
CSIMI_KNOWN bool csimi_on_link(const csimi_place *p) { return !CSIMI_HAS_MESHES || p->kind == CSIMI_PLACE_LINK; }

static csim_vec3 csimi_far_point(const csimi_state *s, const csimi_place *p) {
    csim_vec3 x = csim_v3(0, 0, 0);
    int k;
    if (csimi_on_link(p)) return csim_pose_point(csimi_link_pose(s, p->item), csimi_load3(p->local));
    if (p->kind == CSIMI_PLACE_VERTEX) return csimi_load3(s->x + 3 * (size_t)p->item);
    if (p->kind == CSIMI_PLACE_EDGE) return csim_add(csimi_edge_between(p, s->x), csimi_edge_offset(s, p));
    for (k = 0; k < 3; k++) x = csim_madd(x, p->local[k], csimi_load3(s->x + 3 * (size_t)p->node[k]));
    if (csimi_face_off(p)) {
        const csimi_face f = csimi_face_of(s, p);
        x = csim_add(csim_madd(x, p->local[3], f.n), csimi_face_beside(&f, p));
    }
    return x;
}

static csim_vec3 csimi_far_velocity(const csimi_state *s, const csimi_place *p, csim_vec3 point) {
    csim_real J[27], v[3] = {0, 0, 0};
    int k;
    if (csimi_on_link(p)) return csimi_link_velocity(s, p->item, point, s->coord_rate, NULL);
    if (p->kind == CSIMI_PLACE_VERTEX) return csimi_load3(s->v + 3 * (size_t)p->item);
    if (p->kind == CSIMI_PLACE_EDGE)
        return csim_add(csimi_edge_between(p, s->v),
                        csim_cross(csimi_load3(s->frame_velocity + 3 * (size_t)p->item), csimi_edge_offset(s, p)));
    csimi_face_terms(s, p, J);
    for (k = 0; k < 3; k++) csimi_addmul3(J + 9 * k, s->v + 3 * (size_t)p->node[k], v);
    return csimi_load3(v);
}

static csim_vec3 csimi_far_acceleration(const csimi_state *s, const csimi_place *p) {
    csim_vec3 a = csim_v3(0, 0, 0);
    int k;
    if (csimi_on_link(p)) return csimi_tree_fall(s, s->tree_link[p->item].tree);
    if (p->kind == CSIMI_PLACE_VERTEX) return csimi_tree_fall(s, s->node_tree[p->item]);
    if (p->kind == CSIMI_PLACE_EDGE) {
        a = csim_scale(1 - p->local[2], csimi_node_acceleration(s, p->node[0]));
        return csim_madd(a, p->local[2], csimi_node_acceleration(s, p->node[1]));
    }
    if (p->node[3] > 0) return csimi_tree_fall(s, s->node_tree[p->node[0]]);
    for (k = 0; k < 3; k++) a = csim_madd(a, p->local[k], csimi_node_acceleration(s, p->node[k]));
    return a;
}

static int csimi_far_term_count(const csimi_place *p) {
    if (csimi_on_link(p) || p->kind == CSIMI_PLACE_VERTEX) return p->node[0];
    return p->kind == CSIMI_PLACE_FACE && p->node[3] > 0 ? p->node[3] : 3;
}

static int csimi_far_terms(const csimi_state *s, const csimi_place *p, csim_vec3 point, int *block, csim_real *J) {
    csim_real x[3], W[27];
    int k;
    if (csimi_on_link(p)) return csimi_link_terms(s, p->item, point, block, J);
    if (p->kind == CSIMI_PLACE_VERTEX) {
        csimi_place_scaled_identity(1, W);
        return csimi_reduced_terms(s, 1, &p->item, W, block, J);
    }
    if (p->kind == CSIMI_PLACE_EDGE) {
        block[0] = p->node[0];
        block[1] = p->node[1];
        block[2] = csimi_first_frame_block(s) + p->item;
        csimi_place_scaled_identity(1 - p->local[2], J);
        csimi_place_scaled_identity(p->local[2], J + 9);
        csimi_store3(x, csim_scale(-1, csimi_edge_offset(s, p)));
        csimi_skew(x, J + 18);
        return 3;
    }
    csimi_face_terms(s, p, W);
    if (p->node[3] > 0) return csimi_reduced_terms(s, 3, p->node, W, block, J);
    for (k = 0; k < 3; k++) block[k] = p->node[k];
    CSIMI_MEMCPY(J, W, sizeof W);
    return 3;
}

static csim_real csimi_far_mass(const csimi_state *s, const csimi_place *p) {
    csim_real trace = 0, x[3], J[27], I[9], inverse[9];
    int k;
    if (csimi_on_link(p)) return 0; /* from A, as of vertices */
    if (p->kind == CSIMI_PLACE_EDGE) {
        for (k = 0; k < 2; k++) {
            csim_real share = k ? p->local[2] : 1 - p->local[2];
            if (s->node_mode[p->node[k]] == CSIMI_FREE) trace += 3 * share * share / s->node_mass[p->node[k]];
        }
        csimi_frame_inertia_world(s, p->item, I);
        csimi_store3(x, csim_scale(-1, csimi_edge_offset(s, p)));
        csimi_skew(x, J);
        if (s->frame_mode[p->item] == CSIMI_FREE && csimi_inverse3(I, inverse))
            trace = csimi_arm_mobility(trace, J, inverse);
    } else if (p->kind == CSIMI_PLACE_FACE && p->node[3] == 0) {
        csimi_face_terms(s, p, J);
        for (k = 0; k < 27; k++)
            if (s->node_mode[p->node[k / 9]] == CSIMI_FREE) trace += J[k] * J[k] / s->node_mass[p->node[k / 9]];
    }
    return trace > 0 ? 3 / trace : 0;
}

static bool csimi_far_free(const csimi_state *s, const csimi_place *p) {
    const int *node = p->node;
    if (csimi_on_link(p)) return s->tree[s->tree_link[p->item].tree].mode == CSIMI_FREE;
    if (p->kind == CSIMI_PLACE_VERTEX) return s->tree[s->node_tree[p->item]].mode == CSIMI_FREE;
    if (p->kind == CSIMI_PLACE_FACE && node[3] > 0) return s->tree[s->node_tree[node[0]]].mode == CSIMI_FREE;
    if (s->node_mode[node[0]] == CSIMI_FREE || s->node_mode[node[1]] == CSIMI_FREE) return true;
    return (p->kind == CSIMI_PLACE_EDGE ? s->frame_mode[p->item] : s->node_mode[node[2]]) == CSIMI_FREE;
}

static bool csimi_far_same(const csimi_place *a, const csimi_place *b) {
    return a->kind != CSIMI_PLACE_FACE ||
           (a->node[0] == b->node[0] && a->node[1] == b->node[1] && a->node[2] == b->node[2]);
}

static csim_vec3 csimi_far_carry(const csimi_place *p, const csimi_state *then, const csimi_state *now, csim_vec3 d) {
    if (csimi_on_link(p))
        return csim_rotate(csimi_link_pose(now, p->item).rotation,
                           csim_unrotate(csimi_link_pose(then, p->item).rotation, d));
    if (p->kind == CSIMI_PLACE_EDGE)
        return csim_rotate(csimi_load_quat(now->frame + 4 * (size_t)p->item),
                           csim_unrotate(csimi_load_quat(then->frame + 4 * (size_t)p->item), d));
    return p->kind == CSIMI_PLACE_FACE ? csimi_face_carry(p, then, now, d) : d;
}

/* Edges are of contacts alone, which no step outlives. */
static void csimi_far_shift(csimi_place *p, int first_node, int node_count) {
    int k;
    for (k = 0; k < 3; k++)
        if (p->node[k] >= first_node + node_count) p->node[k] -= node_count;
}
#else
CSIMI_FN csimi_place csimi_place_follow(const csimi_state *s, csimi_place p) { return (void)s, p; }
CSIMI_FN csimi_place csimi_place_edge(const csimi_state *s, int k, csim_vec3 point) {
    return (void)s, (void)k, csimi_place_ground(point);
}
CSIMI_FN csimi_place csimi_place_face(const int *node, const csim_real *weight, csim_real height) {
    return (void)weight, (void)height, csimi_place_node(node[0]);
}
CSIMI_FN csimi_place csimi_place_off_face(const csimi_state *s, const int *node, const csim_real *w, csim_vec3 off) {
    return (void)s, (void)off, csimi_place_face(node, w, 0);
}
CSIMI_FN csimi_place csimi_place_link(const csimi_state *s, int link, csim_vec3 point) {
    return csimi_place_edge(s, link, point);
}
static csim_vec3 csimi_far_point(const csimi_state *s, const csimi_place *p) { return (void)s, csimi_load3(p->local); }
static csim_vec3 csimi_far_velocity(const csimi_state *s, const csimi_place *p, csim_vec3 at) {
    return (void)at, csimi_far_point(s, p);
}
static csim_vec3 csimi_far_acceleration(const csimi_state *s, const csimi_place *p) { return csimi_far_point(s, p); }
static int csimi_far_term_count(const csimi_place *p) { return (void)p, 0; }
static int csimi_far_terms(const csimi_state *s, const csimi_place *p, csim_vec3 at, int *block, csim_real *J) {
    return (void)s, (void)p, (void)at, (void)block, (void)J, 0;
}
static csim_real csimi_far_mass(const csimi_state *s, const csimi_place *p) { return (void)s, (void)p, CSIM_R(0); }
static bool csimi_far_free(const csimi_state *s, const csimi_place *p) { return (void)s, (void)p, false; }
static bool csimi_far_same(const csimi_place *a, const csimi_place *b) { return (void)a, (void)b, true; }
static csim_vec3 csimi_far_carry(const csimi_place *p, const csimi_state *then, const csimi_state *now, csim_vec3 d) {
    return (void)p, (void)then, (void)now, d;
}
static void csimi_far_shift(csimi_place *p, int first, int count) { (void)p, (void)first, (void)count; }
#endif

CSIMI_FN bool csimi_place_has_axes(const csimi_place *p) {
    return p->kind == CSIMI_PLACE_RIGID || p->kind == CSIMI_PLACE_LINK || p->kind == CSIMI_PLACE_GROUND;
}

CSIMI_FN csim_quat csimi_place_axes(const csimi_state *s, const csimi_place *p) {
    if (p->kind == CSIMI_PLACE_RIGID) return csimi_load_quat(s->rotation + 4 * (size_t)p->item);
    return p->kind == CSIMI_PLACE_LINK ? csimi_link_pose(s, p->item).rotation : csim_pose_identity().rotation;
}

CSIMI_FN csimi_place csimi_place_beside(const csimi_state *s, const csimi_place *p, csim_vec3 point) {
    if (p->kind == CSIMI_PLACE_RIGID) return csimi_place_rigid(s, p->item, point);
    return p->kind == CSIMI_PLACE_LINK ? csimi_place_link(s, p->item, point) : csimi_place_ground(point);
}

/* ---- where it is and how it moves */

CSIMI_FN csim_vec3 csimi_place_point(const csimi_state *s, const csimi_place *p) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    if (kind == CSIMI_PLACE_GROUND) return csimi_load3(p->local);
    if (kind == CSIMI_PLACE_NODE) return csimi_load3(s->x + 3 * (size_t)p->item);
    if (kind == CSIMI_PLACE_RIGID)
        return csim_add(csimi_load3(s->com + 3 * (size_t)p->item),
                        csim_rotate(csimi_load_quat(s->rotation + 4 * (size_t)p->item), csimi_load3(p->local)));
    return csimi_far_point(s, p);
}

CSIMI_FN csim_vec3 csimi_place_velocity(const csimi_state *s, const csimi_place *p, csim_vec3 point) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    if (kind == CSIMI_PLACE_GROUND) return csim_v3(0, 0, 0);
    if (kind == CSIMI_PLACE_NODE) return csimi_load3(s->v + 3 * (size_t)p->item);
    if (kind == CSIMI_PLACE_RIGID) {
        const csim_real *twist = s->velocity + 6 * (size_t)p->item;
        csim_vec3 arm = csim_sub(point, csimi_load3(s->com + 3 * (size_t)p->item));
        return csim_add(csimi_load3(twist), csim_cross(csimi_load3(twist + 3), arm));
    }
    return csimi_far_velocity(s, p, point);
}

CSIMI_FN csim_vec3 csimi_place_acceleration(const csimi_state *s, const csimi_place *p) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    if (kind == CSIMI_PLACE_NODE) return csimi_node_acceleration(s, p->item);
    if (kind != CSIMI_PLACE_RIGID) return kind == CSIMI_PLACE_GROUND ? csim_v3(0, 0, 0) : csimi_far_acceleration(s, p);
    if (s->rigid_mode[p->item] != CSIMI_FREE) return csim_v3(0, 0, 0);
    return csim_madd(csim_scale(s->rigid_gravity[p->item], csimi_load3(s->gravity)), 1 / s->rigid_mass[p->item],
                     csimi_load3(s->wrench + 6 * (size_t)p->item));
}

CSIMI_FN int csimi_place_terms(const csimi_state *s, const csimi_place *p, csim_vec3 point, int *block, csim_real *J) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    csim_real minus_r[3];
    if (kind == CSIMI_PLACE_GROUND) return 0;
    if (kind != CSIMI_PLACE_NODE && kind != CSIMI_PLACE_RIGID) return csimi_far_terms(s, p, point, block, J);
    csimi_place_scaled_identity(1, J);
    block[0] = kind == CSIMI_PLACE_NODE ? p->item : s->node_count + 2 * p->item;
    if (kind == CSIMI_PLACE_NODE) return 1;
    block[1] = block[0] + 1;
    /* -[r]x for r = point - centre of mass: the angular term of the point's velocity */
    csimi_store3(minus_r, csim_sub(csimi_load3(s->com + 3 * (size_t)p->item), point));
    csimi_skew(minus_r, J + 9);
    return 2;
}

CSIMI_FN int csimi_place_term_count(const csimi_place *p) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    if (kind == CSIMI_PLACE_GROUND) return 0;
    if (kind == CSIMI_PLACE_NODE) return 1;
    return kind == CSIMI_PLACE_RIGID ? 2 : csimi_far_term_count(p);
}

/* ---- mass */

static void csimi_place_prepare_range(void *context, int begin, int end) {
    const csimi_state *s = (const csimi_state *)context;
    int k;
    for (; CSIMI_HAS_RIGID && begin < end; begin++) {
        csim_real I[9], *inverse = s->rigid_inverse + 9 * (size_t)begin;
        for (k = 0; k < 9; k++) inverse[k] = 0;
        if (s->rigid_mode[begin] != CSIMI_FREE) continue;
        csimi_rigid_inertia_world(s, begin, I);
        csimi_inverse3(I, inverse);
    }
}

CSIMI_FN void csimi_place_prepare(csimi_state *s, const csim_tasks *tasks) {
    csimi_parallel(tasks, s->rigid_count, CSIMI_RIGID_GRAIN, csimi_place_prepare_range, s);
}

CSIMI_FN csim_real csimi_place_mass(const csimi_state *s, const csimi_place *p, const csim_real *J) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    csim_real trace;
    if (!csimi_place_free(s, p)) return 0;
    if (kind == CSIMI_PLACE_NODE) return s->node_mass[p->item];
    if (kind != CSIMI_PLACE_RIGID) return csimi_far_mass(s, p);
    trace = csimi_arm_mobility(3 / s->rigid_mass[p->item], J + 9, s->rigid_inverse + 9 * (size_t)p->item);
    return trace > 0 ? 3 / trace : 0;
}

CSIMI_FN bool csimi_place_free(const csimi_state *s, const csimi_place *p) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    if (kind == CSIMI_PLACE_GROUND) return false;
    if (kind == CSIMI_PLACE_NODE) return s->node_mode[p->item] == CSIMI_FREE;
    return kind == CSIMI_PLACE_RIGID ? s->rigid_mode[p->item] == CSIMI_FREE : csimi_far_free(s, p);
}

/* ---- identity, turning, bookkeeping */

CSIMI_FN bool csimi_place_same(const csimi_place *a, const csimi_place *b) {
    return a->kind == b->kind && a->item == b->item && csimi_far_same(a, b);
}

CSIMI_FN csim_vec3 csimi_place_carry(const csimi_place *p, const csimi_state *then, const csimi_state *now,
                                     csim_vec3 direction) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    if (kind == CSIMI_PLACE_RIGID)
        return csim_rotate(csimi_load_quat(now->rotation + 4 * (size_t)p->item),
                           csim_unrotate(csimi_load_quat(then->rotation + 4 * (size_t)p->item), direction));
    if (kind == CSIMI_PLACE_GROUND || kind == CSIMI_PLACE_NODE) return direction;
    return csimi_far_carry(p, then, now, direction);
}

CSIMI_FN void csimi_place_shift(csimi_place *p, int first_node, int node_count) {
    const csimi_place_kind kind = csimi_place_kind_of(p);
    if (kind == CSIMI_PLACE_NODE || kind == CSIMI_PLACE_VERTEX)
        p->item -= p->item >= first_node + node_count ? node_count : 0;
    else if (kind == CSIMI_PLACE_FACE)
        csimi_far_shift(p, first_node, node_count);
}

CSIMI_FN void csimi_place_shift_links(csimi_place *p, int first_link, int link_count) {
    if (p->kind == CSIMI_PLACE_LINK && p->item >= first_link + link_count) p->item -= link_count;
}
