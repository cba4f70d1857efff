/* The writer of replays: meshes are closed and have the volume of their shape, wrong calls are refused with a sentence.
   What it packs is read back in a browser by check_replay.js. */
#define CHECK_NO_LIBRARY
#include "check.h"
#include "../examples/scenes/replay.c"
#include "../examples/scenes/replay_mesh.c"

static double mesh_volume(const replay_mesh *m) {
    double sum = 0;
    int t;
    for (t = 0; t < m->triangle_count; ++t) {
        const float *a = m->vertex + 3 * m->triangle[3 * t], *b = m->vertex + 3 * m->triangle[3 * t + 1];
        const float *c = m->vertex + 3 * m->triangle[3 * t + 2];
        sum += (double)a[0] * ((double)b[1] * (double)c[2] - (double)b[2] * (double)c[1]) +
               (double)a[1] * ((double)b[2] * (double)c[0] - (double)b[0] * (double)c[2]) +
               (double)a[2] * ((double)b[0] * (double)c[1] - (double)b[1] * (double)c[0]);
    }
    return sum / 6;
}

/* Each directed edge has exactly one partner the other way round. */
static int mesh_is_closed(const replay_mesh *m) {
    int i, j, n = 3 * m->triangle_count;
    for (i = 0; i < n; ++i) {
        int a = m->triangle[i], b = m->triangle[i % 3 == 2 ? i - 2 : i + 1], partners = 0;
        for (j = 0; j < n; ++j)
            if (m->triangle[j] == b && m->triangle[j % 3 == 2 ? j - 2 : j + 1] == a) ++partners;
        if (partners != 1) return 0;
    }
    return 1;
}

static void expect_mesh(replay_mesh *m, const char *name, double volume, double tolerance) {
    CASE("%s", name);
    CHECK(mesh_is_closed(m));
    NEAR(mesh_volume(m), volume, tolerance);
    replay_mesh_free(m);
}

TEST(replay_meshes_are_closed_and_full) {
    const double pi = 3.141592653589793;
    const float aside[3] = {3, 0, 0}, quarter[4] = {0.70710678f, 0, 0, 0.70710678f};
    replay_mesh m, box;
    replay_mesh_box(&m, 0.5f, 1, 1.5f);
    expect_mesh(&m, "box", 6, 1e-6); /* float vertices */
    /* Facets of 32 sides lose a part of order (2 pi / 32)^2 of a curved body: 2 % here. */
    replay_mesh_sphere(&m, 1);
    expect_mesh(&m, "sphere", 4 * pi / 3, 0.1);
    replay_mesh_capsule(&m, 1, 2);
    expect_mesh(&m, "capsule", 4 * pi / 3 + 4 * pi, 0.3);
    replay_mesh_cylinder(&m, 1, 2);
    expect_mesh(&m, "cylinder", 4 * pi, 0.1);
    replay_mesh_box(&m, 1, 1, 1);
    replay_mesh_box(&box, 0.5f, 1, 1);
    replay_mesh_add(&m, &box, aside, quarter);
    replay_mesh_free(&box);
    NEAR((double)m.vertex[3 * 8], 4, 1e-6); /* turned by 90 degrees, its y half size 1 lies along x */
    expect_mesh(&m, "two boxes", 12, 1e-5);
}

static double torus(const void *user, const float p[3]) {
    const double *tube = (const double *)user;
    const double out = sqrt((double)p[0] * (double)p[0] + (double)p[1] * (double)p[1]) - 1;
    return sqrt(out * out + (double)p[2] * (double)p[2]) - *tube;
}

/* A ring of radius 1 with a tube of 0.3: closed, wound outwards, its vertices on the surface to the square of a cell. */
TEST(replay_mesh_of_a_distance) {
    const double tube = 0.3, pi = 3.141592653589793, never = -1;
    const float low[3] = {-1.3f, -1.3f, -0.3f}, high[3] = {1.3f, 1.3f, 0.3f};
    replay_mesh m;
    double worst = 0;
    int i;
    EQUAL(replay_mesh_level(&m, torus, &tube, low, high, 26), 0);
    for (i = 0; i < m.vertex_count; ++i) worst = fmax(worst, fabs(torus(&tube, m.vertex + 3 * i)));
    CHECK(worst < 0.1 * 0.1 / (2 * tube));
    EQUAL(m.triangle_count, 2 * m.vertex_count); /* Euler's number of a ring is 0 */
    expect_mesh(&m, "ring", 2 * pi * pi * tube * tube, 0.1); /* six cells across the tube */
    EQUAL(replay_mesh_level(&m, torus, &never, low, high, 26), REPLAY_BAD_CALL);
    EQUAL(replay_mesh_level(&m, torus, &tube, low, low, 52), REPLAY_BAD_CALL);
    EQUAL(replay_mesh_level(&m, torus, &tube, low, high, 1), REPLAY_BAD_CALL);
}

TEST(replay_hull_of_points) {
    float p[3 * 128];
    replay_mesh m;
    int i, round;
    for (i = 0; i < 27; ++i) p[3 * i] = (float)(i % 3), p[3 * i + 1] = (float)(i / 3 % 3), p[3 * i + 2] = (float)(i / 9);
    EQUAL(replay_mesh_hull(&m, p, 27), 0); /* a cube with points inside edges and faces, which are no corners */
    EQUAL(m.triangle_count, 12);
    expect_mesh(&m, "cube of 27 points", 8, 1e-5);
    for (i = 0; i < 12; ++i) {
        double a = 3.141592653589793 * (i % 6) / 3;
        p[3 * i] = (float)cos(a), p[3 * i + 1] = (float)sin(a), p[3 * i + 2] = (float)(i / 6);
    }
    EQUAL(replay_mesh_hull(&m, p, 12), 0);
    EQUAL(m.triangle_count, 20);
    expect_mesh(&m, "prism", 1.5 * 1.7320508, 1e-5);
    for (round = 0; round < 20; ++round) { /* on a sphere every point is a corner: Euler says 2 V - 4 triangles */
        int n = 6 + 3 * round;
        for (i = 0; i < n; ++i) {
            double x = check_random(-1, 1), y = check_random(-1, 1), z = check_random(-1, 1), l = sqrt(x * x + y * y + z * z);
            p[3 * i] = (float)(x / l), p[3 * i + 1] = (float)(y / l), p[3 * i + 2] = (float)(z / l);
        }
        CASE("%d points on a sphere", n);
        EQUAL(replay_mesh_hull(&m, p, n), 0);
        EQUAL(m.triangle_count, 2 * n - 4);
        CHECK(mesh_is_closed(&m));
        CHECK(mesh_volume(&m) > 0);
        replay_mesh_free(&m);
    }
    for (i = 0; i < 12; ++i) p[3 * i + 2] = 0;
    CHECK(replay_mesh_hull(&m, p, 12) < 0); /* flat */
    CHECK(replay_mesh_hull(&m, p, 3) < 0);
    CHECK(m.vertex == NULL);
}

static const char *scratch(void) { return "replay-test.html"; }

TEST(replay_refuses_wrong_calls) {
    const float where[3] = {0, 0, 0}, turned[4] = {1, 0, 0, 0}, bad[3] = {0, (float)NAN, 0};
    const int triangle[3] = {0, 1, 7};
    char error[256];
    int kind;
    CHECK(replay_close(NULL, error, sizeof error) == REPLAY_NO_MEMORY);
    for (kind = 0; kind < 7; ++kind) {
        replay *r = replay_open(kind == 0 ? "no-such-folder/x.html" : scratch(), "wrong", 60);
        replay_mesh m;
        int want = kind == 0 ? REPLAY_NO_FILE : kind == 4 ? REPLAY_NOT_FINITE : REPLAY_BAD_CALL;
        CASE("kind %d", kind);
        replay_mesh_box(&m, 1, 1, 1);
        replay_piece(r, "box", REPLAY_AUTO, &m);
        if (kind == 1) replay_surface(r, "sheet", REPLAY_AUTO, 3, triangle, 1);
        if (kind == 2) replay_pose(r, 0, where, turned);
        replay_frame(r, 1);
        if (kind == 3) replay_pose(r, 1, where, turned);
        if (kind == 4) replay_pose(r, 0, bad, turned);
        if (kind == 5) replay_piece(r, "late", REPLAY_AUTO, &m);
        if (kind == 6) replay_frame(r, 1);
        replay_mesh_free(&m);
        EQUAL(replay_frame(r, 2), want);
        EQUAL(replay_close(r, error, sizeof error), want);
        CHECK(strlen(error) > 20);
    }
    remove(scratch());
}

/* Decodes one block stream as the page does, independent of the packer's tables. */
static size_t unpack(const unsigned char *b, size_t at, int n, const int32_t *last, const int32_t *before, int32_t *now) {
    int i = 0, k, w, how, bit;
    while (i < n) {
        int end = i + 32 < n ? i + 32 : n, count = end - i;
        w = b[at] & 63, how = b[at] >> 6, ++at, bit = 0;
        for (; i < end; ++i) {
            uint32_t v = 0;
            for (k = 0; k < w; ++k, ++bit) v |= (uint32_t)(b[at + (size_t)bit / 8] >> bit % 8 & 1) << k;
            v = v >> 1 ^ (0u - (v & 1));
            v += how == 0 ? (uint32_t)last[i] : how == 1 ? 2 * (uint32_t)last[i] - (uint32_t)before[i] : i ? (uint32_t)now[i - 1] : 0;
            now[i] = (int32_t)v;
        }
        at += (size_t)(count * w + 7) / 8;
    }
    return at;
}

TEST(replay_packing_loses_nothing) {
    enum { FRAMES = 40, MOST = 150 };
    static int32_t sent[FRAMES][MOST], got[FRAMES + 2][MOST];
    int counts[FRAMES], f, i, wrong = 0;
    bytes out = {NULL, 0, 0};
    track t = {NULL, NULL, NULL, NULL, 0};
    size_t at = 0;
    memset(sent, 0, sizeof sent);
    memset(got, 0, sizeof got);
    for (f = 0; f < FRAMES; ++f) { /* counts that change, values up to the clamp, still ones, smooth ones */
        counts[f] = f % 9 == 5 ? 0 : 1 + (int)check_random(0, MOST - 1);
        track_room(&t, counts[f]);
        for (i = 0; i < counts[f]; ++i) {
            sent[f][i] = f % 4 == 0 ? (int32_t)check_random(-268435456.0, 268435456.0) : f % 4 == 1 ? 7 * i * f : f % 4 == 2 ? f * f * i : 5;
            t.now[i] = (uint32_t)sent[f][i];
        }
        pack(&t, counts[f], &out);
    }
    for (f = 0; f < FRAMES; ++f) {
        at = unpack((const unsigned char *)out.data, at, counts[f], got[f + 1], got[f], got[f + 2]);
        for (i = 0; i < MOST; ++i) wrong += got[f + 2][i] != sent[f][i];
    }
    EQUAL(wrong, 0);
    CHECK(at == out.size);
    free(out.data);
    free(t.memory);
}
