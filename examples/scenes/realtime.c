/* realtime: scenes of mixed bodies that a budget is measured with: docs/realtime.md. */
#include "scene.h"
#include "../ragdoll.h"
#include <math.h>

/* ---- what all of them measure */

typedef struct pace {
    double spent, worst; /* s, of all steps before and of the slowest */
    long over;           /* work beyond the budget, visits */
    int uncertified, last;
    csim_body_id mover, lift;
} pace;

static void pace_after(scene *s) {
    pace *p = (pace *)s->state;
    const csim_step_stats stats = csim_world_stats(s->world);
    p->worst = fmax(p->worst, s->seconds - p->spent);
    p->spent = s->seconds;
    if (s->options.budget > 0 && (long)stats.work - s->options.budget > p->over)
        p->over = (long)stats.work - s->options.budget;
    if (!(stats.flags & CSIM_FLAG_UNCERTIFIED)) return;
    p->uncertified++;
    p->last = s->step;
}

static void pace_finish(scene *s) {
    const pace *p = (const pace *)s->state;
    scene_report(s, "rms_mm_per_s", 1e3 * csim_world_rms_speed(s->world));
    scene_report(s, "uncertified", p->uncertified);
    scene_report(s, "certified_from_s", p->last * s->h);
    scene_report(s, "work_over", (double)p->over);
    if (s->seconds > 0) {
        scene_report(s, "mean_ms", 1e3 * s->seconds / s->step);
        scene_report(s, "worst_ms", 1e3 * p->worst);
    }
}

static const scene_key pace_keys[] = {{"mu", "0.5", "friction coefficient", NULL}, {NULL, NULL, NULL, NULL}};
static const scene_key soft_pace_keys[] = {{"mu", "0.5", "friction coefficient", NULL},
                                           {"E", "5e4", "Young's modulus of what is soft, Pa", NULL},
                                           {"nu", "0.35", "Poisson's ratio", NULL},
                                           {"rho", "500", "density, kg/m^3", NULL},
                                           {"beta", "2e-3", "stiffness-proportional damping, s", NULL},
                                           {NULL, NULL, NULL, NULL}};

static const scene_key cargo_keys[] = {{"mu", "0.5", "friction coefficient", NULL},
                                       {"E", "1e8", "Young's modulus of the ropes, Pa", NULL},
                                       {"rho", "200", "density of the boxes, kg/m^3", NULL},
                                       {"beta", "2e-3", "stiffness-proportional damping, s", NULL},
                                       {NULL, NULL, NULL, NULL}};

static void pace_pen(scene *s, double inside, double high) {
    int i;
    for (i = 0; i < 4; i++) {
        const double side = (i % 2 ? 1 : -1) * (inside + 0.05);
        scene_add_static(s, csim_box(i < 2 ? scene_v3(0.05, inside + 0.1, high) : scene_v3(inside + 0.1, 0.05, high)),
                         scene_number(s, "mu"), i < 2 ? side : 0, i < 2 ? 0 : side, high, 0);
    }
}

/* ---- mixed-heap: --size boxes of .2 m fall on a soft ball of 223 nodes in a pen */

static void mixed_heap_build(scene *s) {
    unsigned long long seed = s->options.seed + 1;
    scene_mesh mesh;
    int i;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    pace_pen(s, 0.55, 1.3);
    if (!scene_mesh_ball(&mesh, 4, 1, 0.3)) {
        scene_fail(s, "out of memory");
        return;
    }
    {
        const csim_soft_def d = scene_soft_def(s, &mesh, scene_number(s, "mu"), 0, 0, 0.32);
        scene_watch(s, scene_add_soft(s, &d));
    }
    scene_mesh_free(&mesh);
    for (i = 0; i < s->size && !s->failed; i++) {
        const double x = 0.33 * (i % 3 - 1) + scene_draw(&seed, -0.03, 0.03);
        const double y = 0.33 * (i / 3 % 3 - 1) + scene_draw(&seed, -0.03, 0.03);
        csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), x, y, 0.8 + 0.3 * (i / 9));
        d.density = 300;
        d.pose.rotation = scene_turn(1, 0.3 * i, 0.5, scene_draw(&seed, -0.2, 0.2));
        scene_add_box(s, &d, 0.1, 0.1, 0.1);
    }
}

/* ---- crates: --size crates on hills, a bulldozer's blade and a lift */

static double crates_hill(void *user, double x, double y) {
    (void)user;
    return 0.3 * sin(0.7 * x) * cos(0.6 * y) + 0.05 * sin(3 * x + y);
}

static void crates_build(scene *s) {
    pace *p = (pace *)s->state;
    csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), 0, 0, 0);
    unsigned long long seed = s->options.seed + 1;
    int i;
    scene_begin(s);
    scene_add_static(s, scene_heights(s, 64, 0.25, crates_hill, NULL), scene_number(s, "mu"), 0, 0, 0, 0);
    for (i = 0; i < s->size && !s->failed; i++) {
        const double x = 0.7 * (i % 14 - 6.5), y = 0.7 * (i / 14 - 6.5);
        const int lifted = fabs(x - 3) < 1.4 && fabs(y - 3) < 1.4; /* begins above the lift */
        const double z = lifted ? 1.0 : 0.5 + crates_hill(NULL, x, y);
        csim_rigid_def c = scene_rigid_def(0, scene_number(s, "mu"), x, y, z);
        c.density = 200;
        c.pose.rotation = scene_turn(0, 0, 1, scene_draw(&seed, -1, 1));
        scene_add_box(s, &c, 0.2, 0.2, 0.15 + 0.05 * (i % 3));
    }
    d.motion = CSIM_KINEMATIC;
    d.pose.position = scene_v3(-6.5, 0, 0.5);
    p->mover = scene_add_box(s, &d, 0.1, 1.5, 1); /* both reach below the hills: nothing is pressed under them */
    d.pose.position = scene_v3(3, 3, -0.3);
    p->lift = scene_add_box(s, &d, 1, 1, 0.95);
}

static void crates_drive(scene *s) {
    const pace *p = (const pace *)s->state;
    const double t = scene_time(s);
    scene_ok(s, csim_body_set_velocity(s->world, p->mover, scene_v3(t < 6 ? 1.2 : 0, 0, 0), scene_v3(0, 0, 0)));
    scene_ok(s, csim_body_set_velocity(s->world, p->lift, scene_v3(0, 0, 0.6 * sin(1.5 * t)), scene_v3(0, 0, 0)));
}

/* ---- ragdoll-cape: a ragdoll hangs on a cable of 30 edges and wears a cape of 117 nodes */

static csim_body_id cape_cloth(scene *s, double top) {
    enum { ACROSS = 9, DOWN = 13 };
    csim_real x[3 * ACROSS * DOWN];
    int triangle[6 * (ACROSS - 1) * (DOWN - 1)], *t = triangle, i, k;
    csim_cloth_def d = csim_default_cloth_def();
    csim_body_id id;
    id.index1 = 0;
    for (i = 0; i < ACROSS * DOWN; i++) {
        x[3 * i] = CSIM_R(-0.16);
        x[3 * i + 1] = (csim_real)(0.5 * (i % ACROSS / (ACROSS - 1.0) - 0.5));
        x[3 * i + 2] = (csim_real)(top - 0.9 * (i / ACROSS) / (DOWN - 1.0));
    }
    for (k = 0; k + 1 < DOWN; k++)
        for (i = 0; i + 1 < ACROSS; i++) {
            const int a = ACROSS * k + i;
            *t++ = a, *t++ = a + ACROSS, *t++ = a + 1;
            *t++ = a + 1, *t++ = a + ACROSS, *t++ = a + ACROSS + 1;
        }
    d.vertices = x, d.vertex_count = ACROSS * DOWN;
    d.triangles = triangle, d.triangle_count = 2 * (ACROSS - 1) * (DOWN - 1);
    d.young = (csim_real)scene_number(s, "E");
    d.thickness = CSIM_R(2e-3);
    d.stiffness_damping = CSIM_R(5e-3);
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) scene_ok(s, csim_create_cloth(s->world, &d, &id));
    return id;
}

static void cape_build(scene *s) {
    ragdoll_def d = ragdoll_default();
    csim_cable_def c = csim_default_cable_def();
    csim_pin_def pin = csim_default_pin_def();
    csim_body_id cable, cape;
    csim_link_id link;
    csim_pose chest;
    ragdoll r;
    int i;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    d.friction = (csim_real)scene_number(s, "mu");
    d.pose.position = scene_v3(0, 0, 1);
    if (s->failed || !scene_ok(s, ragdoll_create(s->world, &d, &r))) return;
    scene_ok(s, csim_body_get_pose(s->world, r.part[1], &chest));
    cape = cape_cloth(s, (double)chest.position.z + 0.1);
    pin.a.body = r.part[1];
    pin.b.body = cape;
    for (i = 0; i < 9 && !s->failed; i += 2) { /* to the shoulders */
        pin.a.point = scene_v3(-0.16, 0.5 * (i / 8.0 - 0.5), (double)chest.position.z + 0.1);
        pin.b.node = i;
        scene_ok(s, csim_create_pin(s->world, &pin, &link));
    }
    c.start = csim_v3(chest.position.x + CSIM_R(-0.1), chest.position.y, chest.position.z + CSIM_R(0.1));
    c.end = scene_v3(1.2, 0, (double)c.start.z + 1.2);
    c.segments = 30;
    c.radius = CSIM_R(0.01);
    c.young = CSIM_R(1e7);
    c.end_end = CSIM_CABLE_PINNED;
    c.surface.friction = (csim_real)scene_number(s, "mu");
    if (s->failed || !scene_ok(s, csim_create_cable(s->world, &c, &cable))) return;
    for (i = 0; i < RAGDOLL_PARTS && !s->failed; i++) /* its end lies inside the chest */
        scene_ok(s, csim_create_exclusion(s->world, cable, r.part[i], &link));
    pin.b.body = cable;
    pin.b.node = 0;
    pin.a.point = c.start;
    scene_ok(s, csim_create_pin(s->world, &pin, &link));
}

/* ---- cargo-net: --size boxes fall into a net of 20 cables of 20 edges, pinned where they cross */

enum { CARGO_ROPES = 10, CARGO_EDGES = 20 };

/* Rope i of those along x or y, its ends held by the world. */
static csim_body_id cargo_rope(scene *s, int along_y, int i) {
    const double side = 0.2 * i - 0.9;
    csim_cable_def d = csim_default_cable_def();
    csim_body_id id;
    id.index1 = 0;
    d.start = scene_v3(along_y ? side : -1, along_y ? -1 : side, 1);
    d.end = scene_v3(along_y ? side : 1, along_y ? 1 : side, 1);
    d.segments = CARGO_EDGES;
    d.radius = CSIM_R(0.01);
    d.young = (csim_real)scene_number(s, "E");
    d.start_end = d.end_end = CSIM_CABLE_PINNED;
    d.stiffness_damping = (csim_real)scene_number(s, "beta");
    d.surface.friction = (csim_real)scene_number(s, "mu");
    d.surface.category = 2;
    d.surface.mask = 1; /* ropes touch boxes, not each other */
    if (!s->failed) scene_ok(s, csim_create_cable(s->world, &d, &id));
    return id;
}

static void cargo_build(scene *s) {
    csim_body_id rope[2][CARGO_ROPES];
    csim_pin_def pin = csim_default_pin_def();
    csim_link_id link;
    unsigned long long seed = s->options.seed + 1;
    int i, k;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    for (k = 0; k < 2; k++)
        for (i = 0; i < CARGO_ROPES; i++) rope[k][i] = cargo_rope(s, k, i);
    for (i = 0; i < CARGO_ROPES; i++)
        for (k = 0; k < CARGO_ROPES && !s->failed; k++) {
            pin.a.body = rope[0][i], pin.a.node = 1 + 2 * k;
            pin.b.body = rope[1][k], pin.b.node = 1 + 2 * i;
            scene_ok(s, csim_create_pin(s->world, &pin, &link));
        }
    for (i = 0; i < s->size && !s->failed; i++) {
        const double x = 0.3 * (i % 3 - 1), y = 0.3 * (i / 3 % 3 - 1), z = 1.3 + 0.35 * (i / 9);
        csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), x + scene_draw(&seed, -0.03, 0.03), y, z);
        double turn[3]; /* drawn one by one: compilers take arguments in either order */
        int j;
        for (j = 0; j < 3; j++) turn[j] = scene_draw(&seed, -1, 1);
        d.density = (csim_real)scene_number(s, "rho");
        d.pose.rotation = scene_turn(turn[0], 1, turn[1], turn[2]);
        scene_add_box(s, &d, 0.1, 0.1, 0.1);
    }
}

/* ---- */

#define PACE "rms_mm_per_s uncertified certified_from_s work_over mean_ms worst_ms"
const scene_kind scene_realtime_kinds[] = {
    {"mixed-heap", "--size boxes fall on a soft ball of 223 nodes", PACE, 1.0 / 60, 5, 1e-3, 50, CSIM_BACKWARD_EULER,
     SCENE_PACE, sizeof(pace), soft_pace_keys, mixed_heap_build, NULL, pace_after, pace_finish},
    {"crates", "--size crates on hills, pushed by a blade and borne by a lift", PACE, 1.0 / 60, 8, 1e-3, 200,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(pace), pace_keys, crates_build, crates_drive, pace_after, pace_finish},
    {"ragdoll-cape", "a ragdoll on a cable of 30 edges wears a cape of 117 nodes", PACE, 1.0 / 60, 8, 1e-3, 0,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(pace), soft_pace_keys, cape_build, NULL, pace_after, pace_finish},
    {"cargo-net", "--size boxes fall into a net of 400 edges of cables", PACE, 1.0 / 60, 6, 1e-3, 30,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(pace), cargo_keys, cargo_build, NULL, pace_after, pace_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
