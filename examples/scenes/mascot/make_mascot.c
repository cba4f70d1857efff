/* Makes examples/scenes/mascot.msh, a small elephant, from nothing but the formula of its shape:

       cc -O2 make_mascot.c -lm && ./a.out > ../mascot.msh         figures of quality go to stderr

   The shape is a function of space, negative inside, blended from ellipsoids, capsules and discs. A body-centred cubic
   lattice is cut along its zero set by isosurface stuffing (Labelle and Shewchuk 2007); then vertices move, those of
   the surface along it, wherever that raises the smallest sine of a dihedral angle around them. The same on every run;
   another compiler's rounding leads to other positions of the same quality. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct vec {
    double x, y, z;
} vec;

static vec v3(double x, double y, double z) {
    vec v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}
static vec add(vec a, vec b, double s) { return v3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z); } /* a + s b */
static double dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec cross(vec a, vec b) { return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
static double length(vec a) { return sqrt(dot(a, a)); }

/* ---- the shape: x ahead, y to the left, z up, feet at z = 0; about a distance, in units of half the body */

static double ellipsoid(vec p, vec centre, vec radii) {
    const vec q = add(p, centre, -1);
    const vec a = v3(q.x / radii.x, q.y / radii.y, q.z / radii.z);
    const vec b = v3(a.x / radii.x, a.y / radii.y, a.z / radii.z);
    const double k = length(a);
    return k * (k - 1) / (length(b) + 1e-9);
}

/* From a with radius ra to b with radius rb. */
static double capsule(vec p, vec a, vec b, double ra, double rb) {
    const vec d = add(b, a, -1);
    double t = dot(add(p, a, -1), d) / dot(d, d);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return length(add(p, add(a, d, t), -1)) - (ra + t * (rb - ra));
}

/* An elliptic plate of half thickness t with round rim, its normal turned from y by yaw around z. */
static double plate(vec p, vec centre, double yaw, double rx, double rz, double t) {
    const vec q = add(p, centre, -1);
    const double x = cos(yaw) * q.x + sin(yaw) * q.y, y = -sin(yaw) * q.x + cos(yaw) * q.y;
    const double k = sqrt(x * x / (rx * rx) + q.z * q.z / (rz * rz));
    const double beyond = (k - 1) * (rx < rz ? rx : rz) + t;
    return (beyond > 0 ? sqrt(beyond * beyond + y * y) : fabs(y)) - t;
}

/* The smaller one, the crease between them rounded over a width w (Quilez). */
static double blend(double a, double b, double w) {
    const double h = w - fabs(a - b);
    return (a < b ? a : b) - (h > 0 ? h * h / (4 * w) : 0);
}

static double shape(vec p) {
    const vec m = v3(p.x, fabs(p.y), p.z); /* the left half, mirrored */
    double d = ellipsoid(m, v3(0, 0, 1.10), v3(0.90, 0.56, 0.56));
    d = blend(d, capsule(m, v3(0.48, 0.31, 0.70), v3(0.50, 0.33, 0.00), 0.22, 0.20), 0.10);
    d = blend(d, capsule(m, v3(-0.46, 0.31, 0.70), v3(-0.48, 0.33, 0.00), 0.22, 0.20), 0.10);
    d = blend(d, capsule(m, v3(-0.80, 0, 1.28), v3(-1.18, 0, 0.72), 0.12, 0.115), 0.08);
    d = blend(d, ellipsoid(m, v3(0.96, 0, 1.60), v3(0.46, 0.42, 0.46)), 0.12);
    d = blend(d, capsule(m, v3(1.28, 0, 1.46), v3(1.52, 0, 0.78), 0.19, 0.145), 0.12);
    d = blend(d, capsule(m, v3(1.52, 0, 0.78), v3(1.96, 0, 0.70), 0.145, 0.135), 0.04);
    d = blend(d, capsule(m, v3(1.96, 0, 0.70), v3(2.14, 0, 1.06), 0.135, 0.125), 0.04);
    d = blend(d, plate(m, v3(0.70, 0.66, 1.66), -0.80, 0.46, 0.54, 0.105), 0.06);
    return -blend(-d, p.z, 0.06); /* flat feet with a round rim */
}

static vec slope(vec p) {
    const double e = 1e-5;
    return v3((shape(v3(p.x + e, p.y, p.z)) - shape(v3(p.x - e, p.y, p.z))) / (2 * e),
              (shape(v3(p.x, p.y + e, p.z)) - shape(v3(p.x, p.y - e, p.z))) / (2 * e),
              (shape(v3(p.x, p.y, p.z + e)) - shape(v3(p.x, p.y, p.z - e))) / (2 * e));
}

static vec onto_surface(vec p) {
    int i;
    for (i = 0; i < 6; ++i) {
        const vec g = slope(p);
        p = add(p, g, -shape(p) / (dot(g, g) + 1e-9));
    }
    return p;
}

/* ---- the lattice: points of integer coordinates, all even or all odd, half a spacing apart */

enum { MAX_POINTS = 80000, MAX_TETS = 40000 };
static const double spacing = 0.19;
static const int size[3] = {49, 33, 33}, origin[3] = {20, 16, 4}; /* the origin is the lattice point origin */
static const int step[14][3] = {{2, 0, 0},  {-2, 0, 0},  {0, 2, 0},   {0, -2, 0},  {0, 0, 2},
                                {0, 0, -2}, {1, 1, 1},   {1, 1, -1},  {1, -1, 1},  {1, -1, -1},
                                {-1, 1, 1}, {-1, 1, -1}, {-1, -1, 1}, {-1, -1, -1}};

static vec point[MAX_POINTS];
static double value[MAX_POINTS];
static int cut[MAX_POINTS][14]; /* the vertex that cuts the edge in this direction; 0: none */
static bool on_surface[MAX_POINTS];
static int point_count, tets[MAX_TETS][4], tet_count;

static int lattice(int i, int j, int k) { return (k * size[1] + j) * size[0] + i; }
static bool inside_lattice(int i, int j, int k) {
    return i >= 0 && j >= 0 && k >= 0 && i < size[0] && j < size[1] && k < size[2];
}
static int neighbour(int p, int d) {
    const int i = p % size[0] + step[d][0], j = p / size[0] % size[1] + step[d][1],
              k = p / size[0] / size[1] + step[d][2];
    return inside_lattice(i, j, k) ? lattice(i, j, k) : -1;
}

static void sample(void) {
    int i, j, k;
    for (k = 0; k < size[2]; ++k)
        for (j = 0; j < size[1]; ++j)
            for (i = 0; i < size[0]; ++i) {
                const int p = lattice(i, j, k);
                point[p] =
                    v3((i - origin[0]) * spacing / 2, (j - origin[1]) * spacing / 2, (k - origin[2]) * spacing / 2);
                value[p] = shape(point[p]);
                if (value[p] <= 0 &&
                    (i < 2 || j < 2 || k < 2 || i + 2 >= size[0] || j + 2 >= size[1] || k + 2 >= size[2])) {
                    fprintf(stderr, "the shape leaves the lattice at %g %g %g\n", point[p].x, point[p].y, point[p].z);
                    exit(1);
                }
            }
    point_count = size[0] * size[1] * size[2];
}

static bool is_lattice_point(int p) {
    const int i = p % size[0], j = p / size[0] % size[1], k = p / size[0] / size[1];
    return i % 2 == j % 2 && j % 2 == k % 2;
}

static vec crossing(vec inside, vec outside) {
    int n;
    for (n = 0; n < 50; ++n) {
        const vec middle = add(add(inside, outside, 1), add(inside, outside, 1), -0.5);
        if (shape(middle) < 0)
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

static void cut_edges(void) {
    const int n = point_count;
    int p, d;
    for (p = 0; p < n; ++p)
        for (d = 0; d < 14 && is_lattice_point(p); ++d) {
            const int q = neighbour(p, d);
            if (q < 0 || !(value[p] < 0 && value[q] > 0)) continue;
            point[point_count] = crossing(point[p], point[q]);
            on_surface[point_count] = true;
            cut[p][d] = point_count++;
        }
}

/* Both ends of an edge know its cut. d ^ 1 turns a long step around, 19 - d a short one. */
static int cut_of(int p, int d) {
    const int q = neighbour(p, d);
    if (q < 0) return 0;
    return cut[p][d] ? cut[p][d] : cut[q][d < 6 ? d ^ 1 : 19 - d];
}

/* A lattice point with a cut too close moves onto it: what is left has angles bounded from below. */
static void warp(void) {
    const double share[2] = {0.24999, 0.41189}, edge[2] = {spacing, spacing * sqrt(0.75)};
    const int n = size[0] * size[1] * size[2];
    int p, d, e;
    for (p = 0; p < n; ++p) {
        double best = 1e9;
        int nearest = 0;
        for (d = 0; d < 14 && is_lattice_point(p); ++d) {
            const int c = cut_of(p, d);
            const double distance = c ? length(add(point[c], point[p], -1)) : 1e9;
            if (distance > share[d >= 6] * edge[d >= 6] || distance > best) continue;
            best = distance;
            nearest = c;
        }
        if (!nearest) continue;
        point[p] = point[nearest];
        value[p] = 0;
        on_surface[p] = true;
        for (e = 0; e < 14; ++e) {
            const int q = neighbour(p, e);
            cut[p][e] = 0;
            if (q >= 0) cut[q][e < 6 ? e ^ 1 : 19 - e] = 0;
        }
    }
}

/* ---- stencils */

static double volume6(int a, int b, int c, int d) {
    return dot(cross(add(point[b], point[a], -1), add(point[c], point[a], -1)), add(point[d], point[a], -1));
}

static void emit(int a, int b, int c, int d) {
    const bool upright = volume6(a, b, c, d) > 0;
    int *t = tets[tet_count++];
    t[0] = a;
    t[1] = b;
    t[2] = upright ? c : d;
    t[3] = upright ? d : c;
    if (tet_count == MAX_TETS) exit(1);
}

static int between(int p, int q) {
    int d;
    for (d = 0; d < 14; ++d)
        if (neighbour(p, d) == q) return cut_of(p, d);
    return 0;
}

/* A prism whose triangles are a b c and A B C. Diagonals of its sides start at the point that comes first of a b c, so
   that the prisms on both sides of a face agree. */
static void emit_prism(int a, int b, int c, int A, int B, int C) {
    int swap;
#define SWAP(x, y) (swap = x, x = y, y = swap)
    if (b < a) {
        SWAP(a, b);
        SWAP(A, B);
    }
    if (c < a) {
        SWAP(a, c);
        SWAP(A, C);
    }
    if (c < b) {
        SWAP(b, c);
        SWAP(B, C);
    }
#undef SWAP
    emit(a, b, c, C);
    emit(a, b, B, C);
    emit(a, A, B, C);
}

/* A quadrilateral side a b B A seen from apex: the diagonal as in emit_prism. */
static void emit_pyramid(int a, int b, int A, int B, int apex) {
    const int first = a < b ? a : b, across = a < b ? B : A, u = a < b ? b : a, w = a < b ? A : B;
    emit(first, u, across, apex);
    emit(first, across, w, apex);
}

/* Points inside first, then on the surface, then outside. */
static void stencil(int v[4]) {
    int i, j, in = 0, out = 0, swap;
    for (i = 0; i < 4; ++i)
        for (j = 3; j > i; --j)
            if ((value[v[j]] > 0) - (value[v[j]] < 0) < (value[v[j - 1]] > 0) - (value[v[j - 1]] < 0))
                swap = v[j], v[j] = v[j - 1], v[j - 1] = swap;
    for (i = 0; i < 4; ++i) {
        in += value[v[i]] < 0;
        out += value[v[i]] > 0;
    }
    if (in == 0) return;
    if (out == 0)
        emit(v[0], v[1], v[2], v[3]);
    else if (in == 1)
        emit(v[0], value[v[1]] > 0 ? between(v[0], v[1]) : v[1], value[v[2]] > 0 ? between(v[0], v[2]) : v[2],
             between(v[0], v[3]));
    else if (in == 3)
        emit_prism(v[0], v[1], v[2], between(v[0], v[3]), between(v[1], v[3]), between(v[2], v[3]));
    else if (out == 1)
        emit_pyramid(v[0], v[1], between(v[0], v[3]), between(v[1], v[3]), v[2]);
    else { /* two and two: the prism a ac ad, b bc bd; its third side is the surface, free to choose */
        const int a = v[0] < v[1] ? v[0] : v[1], b = v[0] < v[1] ? v[1] : v[0];
        const int ac = between(a, v[2]), ad = between(a, v[3]), bc = between(b, v[2]), bd = between(b, v[3]);
        emit(a, b, bc, bd);
        if (length(add(point[ac], point[bd], -1)) < length(add(point[ad], point[bc], -1))) {
            emit(a, ac, bc, bd);
            emit(a, ac, ad, bd);
        } else {
            emit(a, ad, bc, bd);
            emit(a, ac, ad, bc);
        }
    }
}

/* Every tetrahedron has one even and one odd long edge: around each even one there are four. */
static void fill(void) {
    static const int ring[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    int i[3], axis, r, side;
    for (i[2] = 0; i[2] < size[2]; i[2] += 2)
        for (i[1] = 0; i[1] < size[1]; i[1] += 2)
            for (i[0] = 0; i[0] < size[0]; i[0] += 2)
                for (axis = 0; axis < 3; ++axis)
                    for (r = 0; r < 4; ++r) {
                        int at[4][3], v[4], n;
                        memcpy(at[0], i, sizeof i);
                        memcpy(at[1], i, sizeof i);
                        at[1][axis] += 2;
                        for (side = 0; side < 2; ++side) {
                            int *o = at[2 + side];
                            o[axis] = i[axis] + 1;
                            o[(axis + 1) % 3] = i[(axis + 1) % 3] + ring[(r + side) % 4][0];
                            o[(axis + 2) % 3] = i[(axis + 2) % 3] + ring[(r + side) % 4][1];
                        }
                        for (n = 0; n < 4 && inside_lattice(at[n][0], at[n][1], at[n][2]); ++n)
                            v[n] = lattice(at[n][0], at[n][1], at[n][2]);
                        if (n == 4) stencil(v);
                    }
}

/* ---- quality */

static void renumber(void) {
    static int name[MAX_POINTS];
    int t, k, p, n = 0;
    for (t = 0; t < tet_count; ++t)
        for (k = 0; k < 4; ++k) name[tets[t][k]] = 1;
    for (p = 0; p < point_count; ++p) {
        if (!name[p]) continue;
        name[p] = n;
        point[n] = point[p];
        on_surface[n++] = on_surface[p];
    }
    point_count = n;
    for (t = 0; t < tet_count; ++t)
        for (k = 0; k < 4; ++k) tets[t][k] = name[tets[t][k]];
}

/* Smallest sine of the six dihedral angles: 3 V l / (2 A A'); negative when inverted. */
static double quality(const int *t) {
    static const int edge[6][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}};
    double worst = 2;
    int i;
    const double v6 = volume6(t[0], t[1], t[2], t[3]);
    for (i = 0; i < 6; ++i) {
        const vec e = add(point[t[edge[i][1]]], point[t[edge[i][0]]], -1);
        const double a = length(cross(e, add(point[t[edge[i][2]]], point[t[edge[i][0]]], -1)));
        const double b = length(cross(e, add(point[t[edge[i][3]]], point[t[edge[i][0]]], -1)));
        const double sine = v6 * length(e) / (a * b + 1e-30);
        if (sine < worst) worst = sine;
    }
    return worst;
}

static int *around[MAX_POINTS], degree[MAX_POINTS]; /* tets of a point */

static void find_around(void) {
    int t, k, p;
    for (t = 0; t < tet_count; ++t)
        for (k = 0; k < 4; ++k) ++degree[tets[t][k]];
    for (p = 0; p < point_count; ++p) around[p] = (int *)malloc(sizeof(int) * (size_t)degree[p]);
    memset(degree, 0, sizeof degree);
    for (t = 0; t < tet_count; ++t)
        for (k = 0; k < 4; ++k) around[tets[t][k]][degree[tets[t][k]]++] = t;
}

static double worst_around(int p) {
    double worst = 2, q;
    int i;
    for (i = 0; i < degree[p]; ++i)
        if ((q = quality(tets[around[p][i]])) < worst) worst = q;
    return worst;
}

static double chance(void) { /* -1 to 1 */
    static unsigned long long state = 88172645463325252u;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 33) / 1073741824.0 - 1;
}

static void improve(int sweeps) {
    int sweep, p, trial;
    for (sweep = 0; sweep < sweeps; ++sweep)
        for (p = 0; p < point_count; ++p) {
            double best = worst_around(p);
            for (trial = 0; trial < 8 && best < 0.62; ++trial) {
                const vec before = point[p];
                const double reach = spacing * 0.3 * pow(0.5, trial % 4);
                vec next = add(before, v3(chance(), chance(), chance()), reach);
                if (on_surface[p]) next = onto_surface(next);
                point[p] = next;
                if (length(add(next, before, -1)) < spacing && worst_around(p) > best)
                    best = worst_around(p);
                else
                    point[p] = before;
            }
        }
}

static void report(const char *when) {
    double worst = 2, sum = 0, volume = 0;
    int t, below = 0;
    for (t = 0; t < tet_count; ++t) {
        const double q = quality(tets[t]);
        if (q < worst) worst = q;
        below += q < sin(0.2);
        sum += q;
        volume += volume6(tets[t][0], tets[t][1], tets[t][2], tets[t][3]) / 6;
    }
    fprintf(stderr,
            "%s: %d vertices, %d tets, volume %.4f, smallest sine %.4f (%.1f degrees), mean %.3f, below 0.2: %d\n",
            when, point_count, tet_count, volume, worst, asin(worst) * 57.29577951308232, sum / tet_count, below);
}

static void write_mesh(double scale) {
    int p, t;
    printf("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n", point_count);
    for (p = 0; p < point_count; ++p) /* + 1e-9: no -0.00000 */
        printf("%d %.5f %.5f %.5f\n", p + 1, point[p].x * scale + 1e-9, point[p].y * scale + 1e-9,
               point[p].z * scale + 1e-9);
    printf("$EndNodes\n$Elements\n%d\n", tet_count);
    for (t = 0; t < tet_count; ++t)
        printf("%d 4 2 0 1 %d %d %d %d\n", t + 1, tets[t][0] + 1, tets[t][1] + 1, tets[t][2] + 1, tets[t][3] + 1);
    printf("$EndElements\n");
}

int main(void) {
    sample();
    cut_edges();
    warp();
    fill();
    renumber();
    find_around();
    report("stuffed");
    improve(60);
    report("improved");
    write_mesh(0.1); /* metres: 0.35 long, 0.22 high */
    return 0;
}
