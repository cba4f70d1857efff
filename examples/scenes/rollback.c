/* rollback: a scene of everything that a game is made of, in which every frame the last seven are taken back and done
   again. What came before must come again: hashes of the state and of what was told, the same to the bit. */
#include "scene.h"

#include "../ragdoll.h"
#include "../vehicle.h"
#include "../walker.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROLLBACK_MOST = 16, ROLLBACK_ACROSS = 48, ROLLBACK_TIMES = 4000 };

/* What the game itself holds: kept with the world. */
typedef struct rollback_game {
    walker player;
    csim_body_id shot; /* comes and goes */
} rollback_game;

typedef struct rollback_frame {
    void *bytes;
    size_t size, room;
    rollback_game game;
    uint64_t hash, told; /* after the frame */
} rollback_frame;

typedef struct rollback {
    rollback_frame frame[ROLLBACK_MOST]; /* by number, modulo back */
    rollback_game game;
    vehicle cars[2];
    csim_body_id lift, crate, gate;
    int back, differ, again;
    size_t bytes;
    double keep[ROLLBACK_TIMES], take_back[ROLLBACK_TIMES]; /* s */
    int keeps, takes;
    long begins, ends, hits, sensed, slept, moved;
    int most_asleep;
} rollback;

static const scene_key rollback_keys[] = {{"back", "7", "frames that are done again in each; 0: none", NULL},
                                          {"mu", "0.6", "friction coefficient", NULL},
                                          {"E", "5e4", "Young's modulus of what is soft, Pa", NULL},
                                          {"nu", "0.35", "Poisson's ratio", NULL},
                                          {"rho", "500", "density, kg/m^3", NULL},
                                          {"beta", "2e-3", "stiffness-proportional damping, s", NULL},
                                          {NULL, NULL, NULL, NULL}};

/* ---- the world */

/* A floor of triangles, hills around the middle of it. */
static double rollback_height(double x, double y) {
    return 0.25 * fmax(0, sin(0.5 * x)) * fmax(0, sin(0.5 * y)) * (x > 0 && y > 0);
}

static void rollback_level(scene *s) {
    csim_triangle_field_def d = csim_default_triangle_field_def();
    csim_rigid_def ground = scene_rigid_def(0, scene_number(s, "mu"), 0, 0, 0);
    const int row = ROLLBACK_ACROSS + 1, squares = ROLLBACK_ACROSS * ROLLBACK_ACROSS;
    csim_real *x = (csim_real *)scene_memory(s, sizeof *x * 3 * (size_t)(row * row));
    int *t = (int *)scene_memory(s, sizeof *t * 6 * (size_t)squares), i, count = 0;
    const csim_field *f = NULL;
    csim_error error;
    size_t bytes = 0;
    void *block;
    if (!x || !t) return;
    for (i = 0; i < row * row; i++) {
        x[3 * i] = (csim_real)(i % row - 24);
        x[3 * i + 1] = (csim_real)(i / row - 24);
        x[3 * i + 2] = (csim_real)rollback_height((double)x[3 * i], (double)x[3 * i + 1]);
    }
    for (i = 0; i < squares; i++) {
        const int a = i / ROLLBACK_ACROSS * row + i % ROLLBACK_ACROSS;
        t[count++] = a, t[count++] = a + 1, t[count++] = a + row + 1;
        t[count++] = a, t[count++] = a + row + 1, t[count++] = a + row;
    }
    d.vertices = x, d.vertex_count = row * row;
    d.triangles = t, d.triangle_count = count / 3;
    error.text[0] = 0;
    if (csim_triangle_field_bytes(&d, &bytes, &error) == CSIM_OK && (block = scene_block(s, bytes)) != NULL)
        csim_create_triangle_field_in(&d, block, bytes, &f, &error);
    if (!f) {
        scene_fail(s, "%s", error.text);
        return;
    }
    ground.motion = CSIM_STATIC;
    scene_add_rigid(s, &ground, csim_field_shape(f));
}

static void rollback_sheet(scene *s) {
    enum { SIDE = 7 };
    csim_real x[3 * SIDE * SIDE];
    int triangle[6 * (SIDE - 1) * (SIDE - 1)], *t = triangle, i;
    csim_cloth_def d = csim_default_cloth_def();
    csim_body_id id;
    for (i = 0; i < SIDE * SIDE; i++) {
        x[3 * i] = (csim_real)(-12 + 0.15 * (i % SIDE));
        x[3 * i + 1] = (csim_real)(-12 + 0.15 * (double)(i / SIDE));
        x[3 * i + 2] = CSIM_R(0.8);
    }
    for (i = 0; i < (SIDE - 1) * (SIDE - 1); i++) {
        const int a = i / (SIDE - 1) * SIDE + i % (SIDE - 1);
        *t++ = a, *t++ = a + 1, *t++ = a + SIDE + 1;
        *t++ = a, *t++ = a + SIDE + 1, *t++ = a + SIDE;
    }
    d.vertices = x, d.vertex_count = SIDE * SIDE;
    d.triangles = triangle, d.triangle_count = 2 * (SIDE - 1) * (SIDE - 1);
    d.young = (csim_real)scene_number(s, "E");
    d.thickness = CSIM_R(2e-3);
    d.stiffness_damping = CSIM_R(5e-3);
    if (!s->failed) scene_ok(s, csim_create_cloth(s->world, &d, &id));
}

/* A cable from a post to a hanging crate. */
static void rollback_rope(scene *s) {
    csim_cable_def c = csim_default_cable_def();
    csim_pin_def pin = csim_default_pin_def();
    csim_rigid_def d = scene_rigid_def(5, scene_number(s, "mu"), -6, -12, 1.3);
    csim_body_id cable, crate = scene_add_box(s, &d, 0.15, 0.15, 0.15);
    csim_link_id link;
    c.start = scene_v3(-6, -12, 1.45);
    c.end = scene_v3(-7.5, -12, 2.5);
    c.segments = 12;
    c.radius = CSIM_R(0.02);
    c.young = CSIM_R(1e7);
    c.end_end = CSIM_CABLE_PINNED;
    if (s->failed || !scene_ok(s, csim_create_cable(s->world, &c, &cable))) return;
    scene_ok(s, csim_create_exclusion(s->world, cable, crate, &link));
    pin.a.body = cable;
    pin.a.node = 0;
    pin.b.body = crate;
    pin.b.point = c.start;
    scene_ok(s, csim_create_pin(s->world, &pin, &link));
}

static void rollback_build(scene *s) {
    rollback *r = (rollback *)s->state;
    const double mu = scene_number(s, "mu");
    vehicle_def car = vehicle_default();
    ragdoll_def doll = ragdoll_default();
    csim_rigid_def d = scene_rigid_def(0, mu, -12, 0, 0.1);
    csim_shape gate = csim_box(scene_v3(1, 1, 1));
    scene_mesh mesh;
    ragdoll limbs;
    int i;
    r->back = (int)scene_number(s, "back");
    if (r->back < 0 || r->back > ROLLBACK_MOST) {
        scene_fail(s, "back is %d; allowed: 0..%d", r->back, ROLLBACK_MOST);
        return;
    }
    s->def.can_sleep = true;
    scene_begin(s);
    rollback_level(s);
    d.motion = CSIM_KINEMATIC;
    r->lift = scene_add_box(s, &d, 1, 1, 0.1);
    gate.sensor = true;
    d.motion = CSIM_STATIC;
    d.pose.position = scene_v3(3, -8, 0.5);
    r->gate = scene_add_rigid(s, &d, gate);
    d.pose.position = scene_v3(-11.5, -11.5, 0.2);
    scene_add_rigid(s, &d, csim_sphere(CSIM_R(0.3)));
    for (i = 0; i < 4; i++) { /* nobody leaves */
        d.pose.position = scene_v3(i < 2 ? 23.5 * (2 * i - 1) : 0, i < 2 ? 0 : 23.5 * (2 * i - 5), 0.75);
        scene_add_rigid(s, &d, csim_box(i < 2 ? scene_v3(0.2, 23.7, 0.75) : scene_v3(23.7, 0.2, 0.75)));
    }
    for (i = 0; i < s->size && !s->failed; i++) { /* stacks of four */
        csim_rigid_def c = scene_rigid_def(20, mu, -22 + 0.9 * (i / 4 % 18), 6 + 0.9 * (double)(i / 72),
                                           0.25 + 0.501 * (i % 4));
        const csim_body_id id = scene_add_box(s, &c, 0.25, 0.25, 0.25);
        if (i == 3) r->crate = id;
    }
    if (s->failed) return;
    car.pose.position = scene_v3(6, 6, 1.3);
    scene_ok(s, vehicle_create(s->world, &car, r->cars));
    car.pose.position = scene_v3(6, 12, 1.3);
    scene_ok(s, vehicle_create_tree(s->world, &car, r->cars + 1));
    doll.pose.position = scene_v3(0, -8, 1);
    scene_ok(s, ragdoll_create(s->world, &doll, &limbs));
    rollback_rope(s);
    rollback_sheet(s);
    if (s->failed) return;
    if (!scene_mesh_ball(&mesh, 3, 1, 0.3)) {
        scene_fail(s, "out of memory");
        return;
    }
    {
        const csim_soft_def soft = scene_soft_def(s, &mesh, mu, -9, -6, 1);
        scene_add_soft(s, &soft);
    }
    scene_mesh_free(&mesh);
    memset(&r->game, 0, sizeof r->game);
    r->game.player.feet = scene_v3(0, -3, 0.02);
    r->game.player.height = walker_tall;
}

/* ---- the game: all that a frame depends on is its number, the world, and rollback_game */

static void rollback_play(scene *s, int frame) {
    rollback *r = (rollback *)s->state;
    const double t = frame * s->h;
    csim_world *w = s->world;
    csim_rigid_def d = scene_rigid_def(2, 0.5, 3, -4, 0.6);
    csim_pose lift = csim_pose_identity();
    csim_shape ball = csim_sphere(CSIM_R(0.15));
    int i;
    for (i = 0; i < 2; i++)
        scene_ok(s, vehicle_drive(w, r->cars + i, (csim_real)(0.3 * sin(0.7 * t + i)),
                                  (csim_real)(fmod(t, 12) < 8 ? 3 * sin(0.5 * t) : 0), 1));
    lift.position = scene_v3(-12, 0, 0.1 + 0.5 * (1 - cos(0.8 * (t + s->h))));
    scene_ok(s, csim_body_move_to(w, r->lift, lift, (csim_real)s->h));
    walker_walk(w, &r->game.player, scene_v3(2 * cos(0.4 * t), 2 * sin(0.4 * t), 0), frame % 300 > 250,
                (csim_real)s->h);
    if (frame % 90 == 45) { /* a shot through the gate at the doll; the last one is gone */
        if (csim_body_valid(w, r->game.shot)) scene_ok(s, csim_destroy_body(w, r->game.shot));
        d.shapes = &ball, d.shape_count = 1;
        d.velocity = scene_v3(-1, -9, 1.5);
        scene_ok(s, csim_create_rigid(w, &d, &r->game.shot));
    }
    if (frame % 240 == 200) /* what slept wakes */
        scene_ok(s, csim_body_add_impulse_at(w, r->crate, scene_v3(8, 3, 20), scene_v3(-22, 6, 1.8)));
}

static uint64_t rollback_mix(uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15ull; }

static uint64_t rollback_touches(uint64_t h, const csim_touch_event *e, int count) {
    int i;
    for (i = 0; i < count; i++)
        h = rollback_mix(h, e[i].body_a.index1 + 1000003u * (uint64_t)e[i].body_b.index1 + 7u * (uint64_t)e[i].shape_a);
    return rollback_mix(h, (uint64_t)count);
}

/* What the events of the last step are; first: counted too. */
static uint64_t rollback_told(scene *s, bool first) {
    rollback *r = (rollback *)s->state;
    const csim_events e = csim_world_events(s->world);
    const csim_step_stats stats = csim_world_stats(s->world);
    uint64_t h = rollback_touches(1, e.begins, e.begin_count);
    h = rollback_touches(h, e.ends, e.end_count);
    h = rollback_touches(h, e.sensor_begins, e.sensor_begin_count);
    h = rollback_touches(h, e.sensor_ends, e.sensor_end_count);
    h = rollback_mix(h, (uint64_t)e.hit_count + 1000u * (uint64_t)e.move_count + 1000000u * (uint64_t)e.sleep_count);
    if (!first) return h;
    r->begins += e.begin_count, r->ends += e.end_count, r->hits += e.hit_count;
    r->sensed += e.sensor_begin_count, r->slept += stats.fell_asleep, r->moved += e.move_count;
    if (stats.asleep > r->most_asleep) r->most_asleep = stats.asleep;
    return h;
}

/* ---- back and again */

static double rollback_now(const scene *s) { return s->options.clock ? s->options.clock(NULL) : 0; }

/* Before the frame of this number. */
static void rollback_keep(scene *s, int number) {
    rollback *r = (rollback *)s->state;
    rollback_frame *f = r->frame + number % r->back;
    double start;
    size_t need = 0;
    scene_ok(s, csim_world_keep(s->world, NULL, &need));
    if (need > f->room) {
        f->room = 2 * need; /* once */
        f->bytes = scene_memory(s, f->room);
        if (!f->bytes) return;
    }
    f->size = f->room;
    start = rollback_now(s);
    scene_ok(s, csim_world_keep(s->world, f->bytes, &f->size));
    r->keep[r->keeps++ % ROLLBACK_TIMES] = rollback_now(s) - start;
    if (f->size > r->bytes) r->bytes = f->size;
    f->game = r->game;
}

static void rollback_before(scene *s) {
    const rollback *r = (const rollback *)s->state;
    if (r->back > 0) rollback_keep(s, s->step);
    if (!s->failed) rollback_play(s, s->step);
}

static void rollback_after(scene *s) {
    rollback *r = (rollback *)s->state;
    const int last = s->step - 1, from = s->step - r->back;
    rollback_frame *f;
    double start;
    int k;
    const uint64_t told = rollback_told(s, true);
    if (r->back == 0) return;
    f = r->frame + last % r->back;
    f->told = told;
    f->hash = csim_world_hash(s->world);
    if (from < 0) return;
    f = r->frame + from % r->back;
    start = rollback_now(s);
    scene_ok(s, csim_world_take_back(s->world, f->bytes, f->size));
    r->take_back[r->takes++ % ROLLBACK_TIMES] = rollback_now(s) - start;
    r->game = f->game;
    for (k = from; k <= last && !s->failed; k++) {
        rollback_play(s, k);
        scene_ok(s, csim_world_step(s->world, (csim_real)s->h));
        f = r->frame + k % r->back;
        r->again++;
        r->differ += csim_world_hash(s->world) != f->hash || rollback_told(s, false) != f->told;
    }
}

static int rollback_order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static double rollback_median_us(double *seconds, int count) {
    const int n = count < ROLLBACK_TIMES ? count : ROLLBACK_TIMES;
    qsort(seconds, (size_t)n, sizeof *seconds, rollback_order);
    return n > 0 ? 1e6 * seconds[n / 2] : 0;
}

/* The same without steps between, that leave nothing of it in the caches of the processor. */
static double rollback_repeated_us(scene *s) {
    rollback *r = (rollback *)s->state;
    rollback_frame *f = r->frame;
    int i;
    for (i = 0; i < 200 && !s->failed; i++) {
        const double start = rollback_now(s);
        f->size = f->room;
        scene_ok(s, csim_world_keep(s->world, f->bytes, &f->size));
        scene_ok(s, csim_world_take_back(s->world, f->bytes, f->size));
        r->keep[i] = rollback_now(s) - start;
    }
    return rollback_median_us(r->keep, 200);
}

static void rollback_finish(scene *s) {
    rollback *r = (rollback *)s->state;
    scene_report(s, "bodies", csim_world_body_count(s->world));
    scene_report(s, "again", r->again);
    scene_report(s, "differ", r->differ);
    scene_report(s, "hash", (double)(csim_world_hash(s->world) >> 12));
    scene_report(s, "walker_x_m", (double)r->game.player.feet.x);
    scene_report(s, "begins", (double)r->begins);
    scene_report(s, "ends", (double)r->ends);
    scene_report(s, "hits", (double)r->hits);
    scene_report(s, "sensed", (double)r->sensed);
    scene_report(s, "fell_asleep", (double)r->slept);
    scene_report(s, "most_asleep", r->most_asleep);
    scene_report(s, "kilobytes", 1e-3 * (double)r->bytes);
    if (!s->options.clock || r->takes == 0) return;
    scene_report(s, "us_keep", rollback_median_us(r->keep, r->keeps));
    scene_report(s, "us_take_back", rollback_median_us(r->take_back, r->takes));
    scene_report(s, "us_both", rollback_repeated_us(s));
}

const scene_kind scene_rollback_kinds[] = {
    {"rollback",
     "a game of --size crates and one of everything; every frame the last seven are taken back and done again",
     "bodies again differ hash walker_x_m begins ends hits sensed fell_asleep most_asleep kilobytes us_keep us_take_back "
     "us_both",
     1.0 / 60, 8, 1e-3, 460, CSIM_BACKWARD_EULER, 0, sizeof(rollback), rollback_keys, rollback_build, rollback_before,
     rollback_after, rollback_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
