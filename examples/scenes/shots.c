/* shots: bodies thrown at thin walls, each in a lane of its own: does anything pass through? */
#include "scene.h"
#include <math.h>
#include <string.h>

enum { SHOTS_MOST = 256, SHOT_NODES = 64 };

typedef struct shot {
    csim_body_id wall, body[2];
    int bodies;
    bool passed, aside; /* aside: it has been beside its wall, and may go round it */
} shot;

typedef struct shots {
    shot shot[SHOTS_MOST];
    unsigned long long random;
    double half; /* of the wall's thickness, m */
} shots;

static const double shots_side = 2 /* half of a wall's side */, shots_apart = 6;

static const scene_key shots_keys[] = {
    {"kind", "capsule", "what is thrown: 26 cm long, but for the ball of 6 cm",
     "capsule|ball|rod|plate|link|cable|cloth|soft"},
    {"speed", "20", "m/s", NULL},
    {"spin", "0", "about a random axis, rad/s", NULL},
    {"wall", "0.02", "its thickness, m", NULL},
    {"motion", "static", "of the wall; dynamic: a tonne, kinematic: it comes along at a tenth of the speed",
     "static|dynamic|kinematic"},
    {"mu", "0.5", "friction coefficient", NULL},
    {NULL, NULL, NULL, NULL}};

static double shots_draw(shots *all, double low, double high) {
    all->random = all->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + (high - low) * (double)(all->random >> 11) / 9007199254740992.0;
}

static csim_vec3 shots_direction(shots *all) {
    double z = shots_draw(all, -1, 1), a = shots_draw(all, 0, 6.283185307179586), r = sqrt(1 - z * z);
    return scene_v3(r * cos(a), r * sin(a), z);
}

static void shots_rigid(scene *s, shot *t, csim_rigid_def *d, csim_shape shape) {
    if (s->failed || t->bodies == 2) return;
    t->body[t->bodies++] = scene_add_rigid(s, d, shape);
}

/* Two rods on a ball joint. */
static void shots_link(scene *s, shot *t, csim_rigid_def *d) {
    const csim_vec3 middle = d->pose.position, along = csim_rotate(d->pose.rotation, scene_v3(0, 0, 0.065));
    csim_pin_def pin = csim_default_pin_def();
    csim_link_id id;
    d->pose.position = csim_sub(middle, along);
    shots_rigid(s, t, d, csim_capsule(CSIM_R(0.02), CSIM_R(0.045)));
    d->pose.position = csim_add(middle, along);
    shots_rigid(s, t, d, csim_capsule(CSIM_R(0.02), CSIM_R(0.045)));
    pin.a.body = t->body[0];
    pin.b.body = t->body[1];
    pin.a.point = pin.b.point = middle;
    if (!s->failed) scene_ok(s, csim_create_pin(s->world, &pin, &id));
}

static void shots_cable(scene *s, shot *t, csim_pose at, double mu) {
    const csim_vec3 along = csim_rotate(at.rotation, scene_v3(0.13, 0, 0));
    csim_cable_def d = csim_default_cable_def();
    d.start = csim_sub(at.position, along);
    d.end = csim_add(at.position, along);
    d.segments = 12;
    d.surface.friction = (csim_real)mu;
    if (!s->failed) scene_ok(s, csim_create_cable(s->world, &d, &t->body[t->bodies++]));
}

static void shots_cloth(scene *s, shot *t, csim_pose at, double mu) {
    enum { CELLS = 5, SIDE = CELLS + 1 };
    csim_real x[3 * SIDE * SIDE];
    int triangle[6 * CELLS * CELLS], i, j, n = 0;
    csim_cloth_def d = csim_default_cloth_def();
    for (j = 0; j < SIDE; j++)
        for (i = 0; i < SIDE; i++) {
            x[3 * (j * SIDE + i)] = (csim_real)(0.26 * ((double)i / CELLS - 0.5));
            x[3 * (j * SIDE + i) + 1] = (csim_real)(0.26 * ((double)j / CELLS - 0.5));
            x[3 * (j * SIDE + i) + 2] = 0;
        }
    for (j = 0; j < CELLS; j++)
        for (i = 0; i < CELLS; i++) {
            int a = j * SIDE + i;
            triangle[n++] = a, triangle[n++] = a + 1, triangle[n++] = a + SIDE + 1;
            triangle[n++] = a, triangle[n++] = a + SIDE + 1, triangle[n++] = a + SIDE;
        }
    d.vertices = x;
    d.vertex_count = SIDE * SIDE;
    d.triangles = triangle;
    d.triangle_count = n / 3;
    d.pose = at;
    d.surface.friction = (csim_real)mu;
    if (!s->failed) scene_ok(s, csim_create_cloth(s->world, &d, &t->body[t->bodies++]));
}

static void shots_soft(scene *s, shot *t, csim_pose at, double mu) {
    scene_mesh mesh;
    csim_soft_def d;
    if (!scene_mesh_box(&mesh, 4, 1, 1, scene_v3(-0.13, -0.03, -0.03), scene_v3(0.13, 0.03, 0.03))) {
        scene_fail(s, "out of memory");
        return;
    }
    d = csim_default_soft_def();
    d.vertices = mesh.vertices;
    d.vertex_count = mesh.vertex_count;
    d.tets = mesh.tets;
    d.tet_count = mesh.tet_count;
    d.young = CSIM_R(3e5);
    d.pose = at;
    d.surface.friction = (csim_real)mu;
    t->body[t->bodies++] = scene_add_soft(s, &d);
    scene_mesh_free(&mesh);
}

static void shots_throw(scene *s, shots *all, shot *t, csim_pose at) {
    const char *kind = scene_text_of(s, "kind");
    const double mu = scene_number(s, "mu"), speed = scene_number(s, "speed"), spin = scene_number(s, "spin");
    csim_rigid_def d = scene_rigid_def(0, mu, 0, 0, 0);
    const csim_vec3 turn = csim_scale((csim_real)spin, shots_direction(all));
    int i;
    d.pose = at;
    if (strcmp(kind, "capsule") == 0) shots_rigid(s, t, &d, csim_capsule(CSIM_R(0.02), CSIM_R(0.11)));
    if (strcmp(kind, "ball") == 0) shots_rigid(s, t, &d, csim_sphere(CSIM_R(0.03)));
    if (strcmp(kind, "rod") == 0) shots_rigid(s, t, &d, csim_box(scene_v3(0.01, 0.01, 0.13)));
    if (strcmp(kind, "plate") == 0) shots_rigid(s, t, &d, csim_box(scene_v3(0.13, 0.13, 0.005)));
    if (strcmp(kind, "link") == 0) shots_link(s, t, &d);
    if (strcmp(kind, "cable") == 0) shots_cable(s, t, at, mu);
    if (strcmp(kind, "cloth") == 0) shots_cloth(s, t, at, mu);
    if (strcmp(kind, "soft") == 0) shots_soft(s, t, at, mu);
    for (i = 0; i < t->bodies && !s->failed; i++) {
        csim_pose own = csim_pose_identity();
        csim_vec3 arm, v = scene_v3(speed, 0, 0);
        csim_body_get_pose(s->world, t->body[i], &own);
        arm = csim_sub(own.position, at.position);
        scene_ok(s, csim_body_set_velocity(s->world, t->body[i], csim_add(v, csim_cross(turn, arm)), turn));
    }
}

static void shots_wall(scene *s, shots *all, shot *t, double y) {
    const char *motion = scene_text_of(s, "motion");
    csim_rigid_def d = scene_rigid_def(1000, scene_number(s, "mu"), 0, y, 0);
    d.motion = motion[0] == 's' ? CSIM_STATIC : motion[0] == 'd' ? CSIM_DYNAMIC : CSIM_KINEMATIC;
    t->wall = scene_add_box(s, &d, all->half, shots_side, shots_side);
    if (motion[0] == 'k' && !s->failed)
        scene_ok(s, csim_body_set_velocity(s->world, t->wall, scene_v3(-0.1 * scene_number(s, "speed"), 0, 0),
                                           csim_v3(0, 0, 0)));
}

static void shots_build(scene *s) {
    shots *all = (shots *)s->state;
    const double speed = scene_number(s, "speed"), wall = scene_number(s, "wall");
    int i, k;
    if (!(speed > 0) || !(wall > 0) || s->size > SHOTS_MOST)
        scene_fail(s, "shots need speed > 0, wall > 0 and a size of 1..%d", (int)SHOTS_MOST);
    all->half = wall / 2;
    all->random = s->options.seed ? s->options.seed * 0x9E3779B97F4A7C15ULL : 20260101;
    if (s->options.steps == 0 && !(s->options.seconds > 0)) s->steps = (int)((1 / speed + 0.4) / s->h) + 1;
    s->def.gravity = csim_v3(0, 0, 0);
    s->def.capacity.bodies = 2 * s->size;
    scene_begin(s);
    for (i = 0; i < s->size && !s->failed; i++) {
        csim_pose at;
        double draw[3];
        const double y = shots_apart * i;
        const csim_vec3 axis = shots_direction(all);
        at.rotation = csim_quat_axis_angle(axis, (csim_real)shots_draw(all, 0, 3.14159));
        /* the first touch falls anywhere in a step */
        for (k = 2; k >= 0; k--) draw[k] = k ? shots_draw(all, -0.3, 0.3) : shots_draw(all, 0, 1);
        at.position = scene_v3(-0.3 - all->half - draw[0] * speed * s->h, y + draw[1], draw[2]);
        shots_wall(s, all, all->shot + i, y);
        shots_throw(s, all, all->shot + i, at);
    }
}

/* Whether a point is beyond the far side of its wall, and has not come there round its edges. */
static bool shots_beyond(const scene *s, const shots *all, shot *t, csim_vec3 x) {
    csim_pose wall = csim_pose_identity();
    csim_vec3 local;
    csim_body_get_pose(s->world, t->wall, &wall);
    local = csim_pose_local(wall, x);
    if (fabs((double)local.y) > shots_side || fabs((double)local.z) > shots_side) t->aside = true;
    return !t->aside && !((double)local.x <= all->half);
}

static void shots_measure(scene *s) {
    shots *all = (shots *)s->state;
    int i, b, k;
    for (i = 0; i < s->size; i++) {
        shot *t = all->shot + i;
        for (b = 0; b < t->bodies && !t->passed; b++) {
            csim_real x[3 * SHOT_NODES];
            csim_pose pose = csim_pose_identity();
            const int nodes = csim_body_node_count(s->world, t->body[b]);
            csim_body_get_pose(s->world, t->body[b], &pose);
            if (shots_beyond(s, all, t, pose.position)) t->passed = true;
            if (nodes == 0 || nodes > SHOT_NODES) continue;
            csim_body_get_nodes(s->world, t->body[b], x, 3);
            for (k = 0; k < nodes; k++)
                if (shots_beyond(s, all, t, csim_v3(x[3 * k], x[3 * k + 1], x[3 * k + 2]))) t->passed = true;
        }
    }
}

static void shots_finish(scene *s) {
    const shots *all = (const shots *)s->state;
    int i, passed = 0;
    for (i = 0; i < s->size; i++) passed += all->shot[i].passed;
    scene_report(s, "passed_through", passed);
}

const scene_kind scene_shot_kinds[] = {
    {"shots", "--size bodies are thrown at thin walls, each in its own lane, without gravity", "passed_through",
     1.0 / 60, 0.5, 0, 50, CSIM_BACKWARD_EULER, SCENE_SAT, sizeof(shots), shots_keys, shots_build, NULL, shots_measure,
     shots_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
