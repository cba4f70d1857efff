/* demo_replay OUT.html [EXPECT.json] [BOXES]: a made-up motion that uses all of replay.h, to look at the page and to test it.
   EXPECT.json gets a few positions as they were recorded, for comparison with what the page reads back.
   BOXES adds a grid of that many boxes. Nothing here is physics. */
#include "../examples/scenes/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_RATE = 60, STEPS_PER_FRAME = 4, FRAMES = 180, FALLING = 14, BLOB_RINGS = 44, BLOB_SIDES = 88, CLOTH = 25, GRAINS = 60 };

static const double pi = 3.141592653589793;

/* A bounce: height above rest after time t from height h0, restitution e; grounded tells whether it rests. */
static double bounce(double h0, double e, double t, int *grounded) {
    const double g = 9.81;
    double fall = sqrt(2 * h0 / g), v;
    *grounded = 0;
    if (t < fall) return h0 - 0.5 * g * t * t;
    t -= fall;
    for (v = e * g * fall; v > 0.05; v *= e) {
        if (t < 2 * v / g) return v * t - 0.5 * g * t * t;
        t -= 2 * v / g;
    }
    *grounded = 1;
    return 0;
}

typedef struct body {
    int id;
    double x, y, rest, height, start, spin, mass;
} body;

static int blob_triangles(int *t) {
    int i, k, n = 0, sides = BLOB_SIDES, rings = BLOB_RINGS;
    for (i = 0; i < rings; ++i)
        for (k = 0; k < sides; ++k) {
            int a = i * sides + k, b = i * sides + (k + 1) % sides;
            if (i == 0) t[n++] = rings * sides, t[n++] = b, t[n++] = a;
            if (i + 1 < rings) t[n++] = a, t[n++] = b, t[n++] = b + sides, t[n++] = a, t[n++] = b + sides, t[n++] = a + sides;
            if (i + 1 == rings) t[n++] = rings * sides + 1, t[n++] = a, t[n++] = b;
        }
    return n / 3;
}

/* A ball that falls, flattens and wobbles, as radius times a shape. */
static void blob_positions(float *x, double time) {
    int grounded, i, k, n = 0;
    const double radius = 0.22;
    double h = bounce(0.45, 0.45, time, &grounded), hit = time - 0.303;
    double squash = hit > 0 ? 0.22 * exp(-2.2 * hit) * sin(21 * hit) + 0.08 * (1 - exp(-6 * hit)) : 0;
    for (i = 0; i < BLOB_RINGS + 2; ++i) {
        double polar = i < BLOB_RINGS ? pi * (i + 1) / (BLOB_RINGS + 1) : i == BLOB_RINGS ? 0 : pi;
        int sides = i < BLOB_RINGS ? BLOB_SIDES : 1;
        for (k = 0; k < sides; ++k, ++n) {
            double a = 2 * pi * k / BLOB_SIDES, wave = 1 + 0.03 * sin(3 * a + 9 * time) * sin(polar) * exp(-0.6 * time);
            double r = radius * wave * (1 + 0.5 * squash) * sin(polar), z = -radius * (1 - squash) * cos(polar);
            x[3 * n] = (float)(0.02 + r * cos(a));
            x[3 * n + 1] = (float)(0.05 + r * sin(a));
            x[3 * n + 2] = (float)(h + radius * (1 - squash) + z);
            if (x[3 * n + 2] < 0) x[3 * n + 2] = 0;
        }
    }
}

/* Its vertex 0 is in no triangle, as inner nodes of a solid are. */
static int cloth_triangles(int *t) {
    int i, j, n = 0;
    for (i = 0; i + 1 < CLOTH; ++i)
        for (j = 0; j + 1 < CLOTH; ++j) {
            int a = 1 + i * CLOTH + j;
            t[n++] = a, t[n++] = a + 1, t[n++] = a + CLOTH + 1, t[n++] = a, t[n++] = a + CLOTH + 1, t[n++] = a + CLOTH;
        }
    return n / 3;
}

static void cloth_positions(float *x, double time) {
    int i, j;
    x[0] = x[1] = x[2] = 100;
    for (i = 0, x += 3; i < CLOTH; ++i)
        for (j = 0; j < CLOTH; ++j, x += 3) {
            double u = (double)i / (CLOTH - 1), v = (double)j / (CLOTH - 1);
            x[0] = (float)(-0.95 + 0.5 * u);
            x[1] = (float)(-0.75 + 0.5 * v);
            x[2] = (float)(0.35 - 0.1 * u + 0.03 * sin(6 * u + 3 * time) * sin(5 * v + 2.1 * time));
        }
}

static void grain_positions(float *x, double time) {
    int i, grounded;
    for (i = 0; i < GRAINS; ++i, x += 3) {
        x[0] = (float)(0.55 + 0.045 * (i % 8) + 0.01 * sin(1.7 * i) * time);
        x[1] = (float)(-0.8 + 0.045 * (i / 8) + 0.01 * cos(2.3 * i) * time);
        x[2] = (float)(0.016 + bounce(0.2 + 0.013 * i, 0.4, time, &grounded));
    }
}

static int add_body(replay *r, int k) {
    replay_mesh m, part;
    float tip[3 * 12], up[3] = {0, 0, 0.06f};
    int i, id;
    switch (k % 6) {
    case 1: replay_mesh_sphere(&m, 0.07f); break;
    case 2: replay_mesh_capsule(&m, 0.05f, 0.05f); break;
    case 3: replay_mesh_cylinder(&m, 0.06f, 0.07f); break;
    case 4:
        for (i = 0; i < 12; ++i) {
            tip[3 * i] = (float)(0.085 * sin(2.4 * i + k) * sin(0.3 + 0.22 * i));
            tip[3 * i + 1] = (float)(0.085 * cos(2.4 * i + k) * sin(0.3 + 0.22 * i));
            tip[3 * i + 2] = (float)(0.085 * cos(0.3 + 0.22 * i));
        }
        replay_mesh_hull(&m, tip, 12);
        break;
    case 5: /* a hammer of two shapes */
        replay_mesh_box(&m, 0.03f, 0.03f, 0.06f);
        replay_mesh_box(&part, 0.09f, 0.04f, 0.03f);
        replay_mesh_add(&m, &part, up, NULL);
        replay_mesh_free(&part);
        break;
    default: replay_mesh_box(&m, 0.07f, 0.07f, 0.07f);
    }
    id = replay_piece(r, "falling body", REPLAY_AUTO, &m);
    replay_mesh_free(&m);
    return id;
}

static double body_height(const body *b, double time, int *grounded) {
    double t = time - b->start;
    if (t < 0) {
        *grounded = 0;
        return b->height;
    }
    return bounce(b->height, 0.5, t, grounded);
}

static void place_body(replay *r, const body *b, double time, float *position) {
    int grounded;
    float q[4];
    double h = body_height(b, time, &grounded), angle = b->spin * (1 - exp(-time));
    double tilt = 0.6 * exp(-3 * time) * b->spin;
    position[0] = (float)(b->x + 0.04 * time * (grounded ? 0.3 : 1)), position[1] = (float)b->y, position[2] = (float)(b->rest + h);
    q[0] = (float)(cos(angle / 2) * cos(tilt / 2)), q[1] = (float)(cos(angle / 2) * sin(tilt / 2));
    q[2] = (float)(sin(angle / 2) * sin(tilt / 2)), q[3] = (float)(sin(angle / 2) * cos(tilt / 2));
    replay_pose(r, b->id, position, q);
}

/* Four points under a body that touches; the first slide, then stick. */
static int touch(replay *r, const body *b, double time, const float *position) {
    int grounded, i;
    double h = body_height(b, time, &grounded);
    if (h > 0.004) return 0;
    for (i = 0; i < 4; ++i) {
        float p[3], f[3];
        p[0] = position[0] + (i & 1 ? 0.05f : -0.05f), p[1] = position[1] + (i & 2 ? 0.05f : -0.05f), p[2] = 0;
        f[0] = (float)(-b->mass * (time < 2 ? 0.8 : 0.1)), f[1] = 0;
        f[2] = (float)(b->mass * 9.81 / 4 * (grounded ? 1 : 2.5));
        replay_contact(r, p, f, i == 3 && time > 2.4 ? REPLAY_OPEN : time < 2 ? REPLAY_SLIP : REPLAY_STICK);
    }
    return 4;
}

static void say_vertex(FILE *out, const char *kind, int frame, int thing, int index, const float *x) {
    fprintf(out, "%s[\"%s\",%d,%d,%d,%.9g,%.9g,%.9g]", ftell(out) > 2 ? ",\n" : "", kind, frame, thing, index, (double)x[0],
            (double)x[1], (double)x[2]);
}

static void add_grid(replay *r, int boxes, int *first) {
    replay_mesh m;
    int i;
    replay_mesh_box(&m, 0.02f, 0.02f, 0.02f);
    for (i = 0; i < boxes; ++i) {
        int id = replay_piece(r, "small box", REPLAY_AUTO, &m);
        if (i == 0) *first = id;
    }
    replay_mesh_free(&m);
}

static void place_grid(replay *r, int boxes, int first, double time) {
    int i, grounded;
    for (i = 0; i < boxes; ++i) {
        float p[3], q[4] = {1, 0, 0, 0};
        double h = bounce(0.2 + 0.05 * (i / 100) + 0.003 * (i % 100), 0.4, time, &grounded), a = grounded ? 0 : 4 * h + 0.1 * (i % 7);
        p[0] = (float)(-0.45 + 0.1 * (i % 10)), p[1] = (float)(-0.45 + 0.1 * (i / 10 % 10));
        p[2] = (float)(0.02 + 0.04 * (i / 100) + h);
        q[0] = (float)cos(a / 2), q[2] = (float)sin(a / 2);
        replay_pose(r, first + i, p, q);
    }
}

int main(int argc, char **argv) {
    const char *expect_path = argc > 2 && argv[2][0] ? argv[2] : NULL;
    const int boxes = argc > 3 ? atoi(argv[3]) : 0, blob_count = BLOB_RINGS * BLOB_SIDES + 2;
    const float zero[3] = {0, 0, 0}, up[3] = {0, 0, 1};
    int *triangles = (int *)malloc(sizeof(int) * 6 * BLOB_SIDES * (BLOB_RINGS + 2));
    float *x = (float *)malloc(sizeof(float) * 3 * (size_t)blob_count);
    body bodies[FALLING];
    int i, s, blob, cloth, grains, first = 0, contacts = 0, most = 0;
    char error[256];
    replay *r;
    FILE *expect = expect_path ? fopen(expect_path, "wb") : NULL;
    if (argc < 2 || !triangles || !x) return 2;
    r = replay_open(argv[1], "Demo of the replay: <soft>, rigid & loose", FRAME_RATE);
    replay_note(r, "A made-up motion that shows everything the page can draw; no physics behind it.");
    replay_tolerance(r, 1e-3);
    replay_floor(r, zero, up);
    for (i = 0; i < FALLING && !boxes; ++i) {
        double ring = 0.55 + 0.22 * (i % 3), angle = 2.399963 * i;
        body b;
        b.id = add_body(r, i);
        b.x = ring * cos(angle), b.y = ring * sin(angle), b.rest = i % 6 == 2 ? 0.1 : i % 6 == 4 ? 0.085 : i % 6 == 5 ? 0.06 : 0.07;
        b.height = 0.25 + 0.07 * (i % 5), b.start = 0.05 * i, b.spin = 0.8 * sin(3.0 * i), b.mass = 1 + 0.2 * (i % 4);
        bodies[i] = b;
    }
    if (boxes) add_grid(r, boxes, &first);
    blob = cloth = grains = 0;
    if (!boxes) {
        blob = replay_surface(r, "blob", REPLAY_AUTO, blob_count, triangles, blob_triangles(triangles));
        cloth = replay_surface(r, "cloth", 0xd8728a, CLOTH * CLOTH + 1, triangles, cloth_triangles(triangles));
        grains = replay_points(r, "grains", 0xd3b354, GRAINS, 0.016f);
    }
    if (expect) fprintf(expect, "[\n");
    for (s = 0; s < FRAMES * STEPS_PER_FRAME; ++s) {
        double time = (double)s / (FRAME_RATE * STEPS_PER_FRAME), noise = fabs(sin(12.9898 * s) * 43758.5453);
        replay_values v;
        noise -= floor(noise);
        if (replay_due(r, time)) {
            int frame = replay_frame(r, time), keep = frame == 0 || frame == 47 || frame == FRAMES - 1;
            float p[3] = {0, 0, 0};
            contacts = 0;
            for (i = 0; i < FALLING && !boxes; ++i) {
                place_body(r, &bodies[i], time, p);
                contacts += touch(r, &bodies[i], time, p);
                if (expect && keep && i % 5 == 0) say_vertex(expect, "piece", frame, i, 0, p);
            }
            place_grid(r, boxes, first, time);
            if (!boxes) {
                blob_positions(x, time);
                replay_surface_vertices(r, blob, x);
                if (expect && keep) say_vertex(expect, "vertex", frame, blob, 1234, x + 3 * 1234);
                cloth_positions(x, time);
                replay_surface_vertices(r, cloth, x);
                if (expect && keep) say_vertex(expect, "vertex", frame, cloth, 77, x + 3 * 78);
                grain_positions(x, time);
                replay_point_positions(r, grains, x);
                if (expect && keep) say_vertex(expect, "point", frame, grains, 59, x + 3 * 59);
            }
            if (contacts > most) most = contacts;
        }
        v.time = time;
        v.contacts = contacts;
        v.iterations = contacts ? 12 + floor(30 * noise) : 0;
        v.residual = contacts ? 1e-3 * pow(10, -0.1 - 1.4 * noise) : NAN;
        v.penetration = contacts ? 4e-6 * (1 + noise) + 2e-4 * exp(-4 * fabs(time - 0.5)) : 0;
        v.kinetic = 14 * exp(-1.5 * time) * (1 + 0.9 * sin(14 * time)) / 1.9;
        v.potential = 22 + 16 * exp(-1.3 * time) - 0.5 * v.kinetic;
        v.solve_ms = 0.4;
        replay_step(r, &v);
    }
    if (expect) fprintf(expect, "\n]\n"), fclose(expect);
    replay_fact(r, "Steps", "%d", FRAMES * STEPS_PER_FRAME);
    replay_fact(r, "Most contacts", "%d", most);
    replay_fact(r, "Solver", "none");
    replay_fact(r, "Time step", "%.2f ms", 1000.0 / (FRAME_RATE * STEPS_PER_FRAME));
    replay_fact(r, "At rest after", "2.1 s");
    free(triangles);
    free(x);
    if (replay_close(r, error, sizeof error) != 0) {
        printf("%s\n", error);
        return 1;
    }
    return 0;
}
