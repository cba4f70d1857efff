/* Closest rays: among 4000 bodies, and into 1e5 triangles: a level of exact ones, cloth, heights. With BENCH_BOX3D
   (Makefile: where the optional shared folder is) the same rays by Box3D in the same run, in turns. name=value lines;
   times in ns of one ray, the best of many passes over the same rays. */
#define _POSIX_C_SOURCE 200112L
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef BENCH_BOX3D
#include "box3d/box3d.h"
#endif

enum { RAYS = 4096, PASSES = 40, SIDE = 224 };

static csim_vec3 origin[RAYS], way[RAYS];
static csim_real sheet_x[3 * (SIDE + 1) * (SIDE + 1)];
static int sheet_t[6 * SIDE * SIDE];
static long hits[2];
static uint64_t seed = 1;

static double uniform(double low, double high) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static csim_world *new_world(void) {
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_error error;
    if (csim_create_world(&d, &w, &error) != CSIM_OK) exit(1);
    return w;
}

static csim_pose box_pose(int k) {
    csim_pose p = csim_pose_identity();
    const double a = 0.7 * k;
    p.position = csim_v3((csim_real)(k % 16 * 1.3 + 0.2 * sin(a)), (csim_real)(k / 16 % 16 * 1.3 + 0.2 * cos(a)),
                         (csim_real)(k / 256 * 1.3));
    p.rotation = csim_quat_axis_angle(csim_v3(1, (csim_real)sin(a), CSIM_R(0.3)), (csim_real)a);
    return p;
}

static csim_world *crates(void) {
    csim_world *w = new_world();
    int k;
    for (k = 0; k < 4000; k++) {
        csim_rigid_def d = csim_default_rigid_def();
        const csim_shape s = csim_box(csim_v3(CSIM_R(0.4), CSIM_R(0.3), CSIM_R(0.5)));
        csim_body_id id;
        d.shapes = &s;
        d.shape_count = 1;
        d.pose = box_pose(k);
        if (csim_create_rigid(w, &d, &id) != CSIM_OK) exit(1);
    }
    csimi_bounds_tend(&w->store.look.tree, true); /* as the first step leaves it */
    return w;
}

static void make_sheet(void) {
    int i, j, n = 0;
    for (j = 0; j <= SIDE; j++)
        for (i = 0; i <= SIDE; i++) {
            csim_real *x = sheet_x + 3 * (i + (SIDE + 1) * j);
            x[0] = (csim_real)(0.1 * i);
            x[1] = (csim_real)(0.1 * j);
            x[2] = (csim_real)(sin(0.2 * i) * cos(0.15 * j) + 0.1 * sin(1.7 * i + j));
        }
    for (j = 0; j < SIDE; j++)
        for (i = 0; i < SIDE; i++) {
            const int a = i + (SIDE + 1) * j;
            sheet_t[n++] = a, sheet_t[n++] = a + 1, sheet_t[n++] = a + SIDE + 2;
            sheet_t[n++] = a, sheet_t[n++] = a + SIDE + 2, sheet_t[n++] = a + SIDE + 1;
        }
}

/* A field and a static body of it; its block is the program's. */
static csim_world *field_world(const csim_field *field) {
    const csim_shape s = csim_field_shape(field);
    csim_rigid_def d = csim_default_rigid_def();
    csim_world *w = new_world();
    csim_body_id id;
    d.motion = CSIM_STATIC;
    d.shapes = &s;
    d.shape_count = 1;
    if (csim_create_rigid(w, &d, &id) != CSIM_OK) exit(1);
    return w;
}

static char *block_of(size_t bytes) {
    char *block = (char *)malloc(bytes + 64);
    return block + (64 - (size_t)((uintptr_t)block % 64));
}

static csim_world *triangles_world(void) {
    csim_triangle_field_def d = csim_default_triangle_field_def();
    const csim_field *field = NULL;
    csim_error error;
    size_t bytes;
    d.vertices = sheet_x;
    d.vertex_count = (SIDE + 1) * (SIDE + 1);
    d.triangles = sheet_t;
    d.triangle_count = 2 * SIDE * SIDE;
    if (csim_triangle_field_bytes(&d, &bytes, &error) != CSIM_OK ||
        csim_create_triangle_field_in(&d, block_of(bytes), bytes, &field, &error) != CSIM_OK)
        printf("%s\n", error.text), exit(1);
    return field_world(field);
}

static csim_world *heights_world(void) {
    static csim_real z[(SIDE + 1) * (SIDE + 1)];
    csim_height_field_def h = csim_default_height_field_def();
    const csim_field *field = NULL;
    csim_error error;
    size_t bytes;
    int i;
    for (i = 0; i < (SIDE + 1) * (SIDE + 1); i++) z[i] = sheet_x[3 * i + 2];
    h.heights = z;
    h.count_x = h.count_y = SIDE + 1;
    h.cell = CSIM_R(0.1);
    if (csim_height_field_bytes(&h, &bytes, &error) != CSIM_OK ||
        csim_create_height_field_in(&h, block_of(bytes), bytes, &field, &error) != CSIM_OK)
        exit(1);
    return field_world(field);
}

static csim_world *cloth_world(void) {
    csim_cloth_def d = csim_default_cloth_def();
    csim_world *w = new_world();
    csim_body_id id;
    d.vertices = sheet_x;
    d.vertex_count = (SIDE + 1) * (SIDE + 1);
    d.triangles = sheet_t;
    d.triangle_count = 2 * SIDE * SIDE;
    if (csim_create_cloth(w, &d, &id) != CSIM_OK) printf("%s\n", csim_last_error(w)), exit(1);
    return w;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double own_pass(const csim_world *w) {
    csim_query_hit hit;
    double t = now();
    int k;
    hits[0] = 0;
    for (k = 0; k < RAYS; k++) hits[0] += csim_world_cast_ray(w, NULL, origin[k], way[k], &hit);
    return (now() - t) / RAYS;
}

#ifdef BENCH_BOX3D
static b3WorldId peer_world(void) {
    b3WorldDef d = b3DefaultWorldDef();
    return b3CreateWorld(&d);
}

static b3WorldId peer_crates(void) {
    b3WorldId w = peer_world();
    b3BoxHull hull = b3MakeBoxHull(0.4f, 0.3f, 0.5f);
    b3ShapeDef s = b3DefaultShapeDef();
    int k;
    for (k = 0; k < 4000; k++) {
        const csim_pose p = box_pose(k);
        b3BodyDef b = b3DefaultBodyDef();
        b.type = b3_dynamicBody;
        b.position.x = (float)p.position.x, b.position.y = (float)p.position.y, b.position.z = (float)p.position.z;
        b.rotation.v.x = (float)p.rotation.x, b.rotation.v.y = (float)p.rotation.y, b.rotation.v.z = (float)p.rotation.z;
        b.rotation.s = (float)p.rotation.w;
        b3CreateHullShape(b3CreateBody(w, &b), &s, &hull.base);
    }
    return w;
}

static b3WorldId peer_sheet(void) {
    static b3Vec3 x[(SIDE + 1) * (SIDE + 1)];
    static uint8_t material[2 * SIDE * SIDE];
    b3WorldId w = peer_world();
    b3MeshDef d;
    b3BodyDef b = b3DefaultBodyDef();
    b3ShapeDef s = b3DefaultShapeDef();
    const b3Vec3 scale = {1, 1, 1};
    int i;
    memset(&d, 0, sizeof d);
    for (i = 0; i < (SIDE + 1) * (SIDE + 1); i++)
        x[i].x = (float)sheet_x[3 * i], x[i].y = (float)sheet_x[3 * i + 1], x[i].z = (float)sheet_x[3 * i + 2];
    d.vertices = x;
    d.vertexCount = (SIDE + 1) * (SIDE + 1);
    d.indices = sheet_t;
    d.triangleCount = 2 * SIDE * SIDE;
    d.materialIndices = material;
    d.identifyEdges = true;
    b3CreateMeshShape(b3CreateBody(w, &b), &s, b3CreateMesh(&d, NULL, 0), scale);
    return w;
}

static double peer_pass(b3WorldId w) {
    double t;
    int k;
    hits[1] = 0;
    t = now();
    for (k = 0; k < RAYS; k++) {
        b3Pos o;
        b3Vec3 d;
        o.x = (float)origin[k].x, o.y = (float)origin[k].y, o.z = (float)origin[k].z;
        d.x = (float)way[k].x, d.y = (float)way[k].y, d.z = (float)way[k].z;
        hits[1] += b3World_CastRayClosest(w, o, d, b3DefaultQueryFilter()).hit;
    }
    return (now() - t) / RAYS;
}
#endif

#ifndef BENCH_BOX3D
typedef int b3WorldId;
static double peer_pass(b3WorldId w) { return 0 * w; }
#endif

static void measure(const char *name, const csim_world *w, b3WorldId peer, bool both) {
    double own = 1e300, other = 1e300;
    int k;
    for (k = 0; k < PASSES; k++) {
        own = fmin(own, own_pass(w));
        if (both) other = fmin(other, peer_pass(peer));
    }
    printf("%s_ns=%.1f\n%s_hits=%ld\n", name, own, name, hits[0]);
    if (both) printf("%s_peer_ns=%.1f\n%s_peer_hits=%ld\n%s_ratio=%.3f\n", name, other, name, hits[1], name, own / other);
}

static void draw_rays(double x, double y, double z, double low) {
    int k;
    for (k = 0; k < RAYS; k++) {
        const csim_vec3 to = csim_v3((csim_real)uniform(0, x), (csim_real)uniform(0, y),
                                     (csim_real)uniform(low, z));
        origin[k] = csim_v3((csim_real)uniform(-4, x + 4), (csim_real)uniform(-4, y + 4),
                            (csim_real)uniform(z + 1, z + 8));
        way[k] = csim_scale(CSIM_R(1.5), csim_sub(to, origin[k]));
    }
}

int main(void) {
    csim_world *w = crates();
    b3WorldId peer;
    bool both = false;
    memset(&peer, 0, sizeof peer);
#ifdef BENCH_BOX3D
    both = true;
    peer = peer_crates();
    b3World_Step(peer, 1e-6f, 1);
#endif
    draw_rays(20, 20, 20, 0);
    measure("ray_4000_bodies", w, peer, both);
    make_sheet();
    draw_rays(22, 22, 2, -1);
#ifdef BENCH_BOX3D
    peer = peer_sheet();
    b3World_Step(peer, 1e-6f, 1);
#endif
    measure("ray_100000_triangles", triangles_world(), peer, both);
    measure("ray_100000_triangles_cloth", cloth_world(), peer, both);
    measure("ray_100000_triangles_heights", heights_world(), peer, both);
    return 0;
}
