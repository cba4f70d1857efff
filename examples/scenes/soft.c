/* soft: scenes of solids. ball, squeeze and mat are S7 of the comparison with other engines. */
#include "scene.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- solids in general */

static bool scene_has_key(const scene *s, const char *name) {
    const scene_key *k;
    for (k = s->kind->keys; k && k->name; k++)
        if (strcmp(k->name, name) == 0) return true;
    return false;
}

csim_soft_def scene_soft_def(const scene *s, const scene_mesh *mesh, double friction, double x, double y, double z) {
    csim_soft_def d = csim_default_soft_def();
    d.vertices = mesh->vertices;
    d.vertex_count = mesh->vertex_count;
    d.tets = mesh->tets;
    d.tet_count = mesh->tet_count;
    d.pose.position = scene_v3(x, y, z);
    d.surface.friction = (csim_real)friction;
    if (scene_has_key(s, "E")) d.young = (csim_real)scene_number(s, "E");
    if (scene_has_key(s, "nu")) d.poisson = (csim_real)scene_number(s, "nu");
    if (scene_has_key(s, "rho")) d.density = (csim_real)scene_number(s, "rho");
    if (scene_has_key(s, "beta")) d.stiffness_damping = (csim_real)scene_number(s, "beta");
    return d;
}

csim_body_id scene_add_soft(scene *s, const csim_soft_def *def) {
    csim_body_id id;
    memset(&id, 0, sizeof id);
    if (!s->failed) scene_ok(s, csim_create_soft(s->world, def, &id));
    return id;
}

csim_body_id scene_add_soft_box(scene *s, int cells, csim_vec3 low, csim_vec3 high, double friction) {
    csim_body_id id;
    scene_mesh mesh;
    csim_soft_def d;
    memset(&id, 0, sizeof id);
    if (!scene_mesh_box(&mesh, cells, cells, cells, low, high)) {
        scene_fail(s, "out of memory");
        return id;
    }
    d = scene_soft_def(s, &mesh, friction, 0, 0, 0);
    id = scene_add_soft(s, &d);
    scene_mesh_free(&mesh);
    return id;
}

csim_body_id scene_add_main_solid(scene *s, bool made, double x, double y, double z) {
    csim_body_id none;
    csim_soft_def d;
    memset(&none, 0, sizeof none);
    if (!made) {
        scene_fail(s, "out of memory");
        return none;
    }
    d = scene_soft_def(s, &s->mesh, scene_number(s, "mu"), x, y, z);
    return scene_add_soft(s, &d);
}

double scene_tet_volume(const csim_real *x, const int *tet) {
    double e[3][3];
    int i, k;
    for (i = 0; i < 3; i++)
        for (k = 0; k < 3; k++) e[i][k] = (double)x[3 * tet[i + 1] + k] - (double)x[3 * tet[0] + k];
    return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
            e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

void scene_report_solid(scene *s, csim_body_id solid) {
    csim_real *x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)s->mesh.vertex_count);
    int t, inverted = 0;
    if (!x) return;
    csim_body_get_nodes(s->world, solid, x, 3);
    for (t = 0; t < s->mesh.tet_count; t++) inverted += scene_tet_volume(x, s->mesh.tets + 4 * t) <= 0;
    scene_report(s, "inverted", inverted);
    scene_report(s, "nodes", s->mesh.vertex_count);
    scene_report(s, "tets", s->mesh.tet_count);
}

/* ---- ball, squeeze, mat: S7 */

typedef struct soft_one {
    csim_body_id solid, plate;
} soft_one;

#define SOFT_KEYS(young)                                                                     \
    {"mu", "0.5", "friction coefficient", NULL}, {"E", young, "Young's modulus, Pa", NULL},  \
        {"nu", "0.35", "Poisson's ratio", NULL}, {"rho", "1000", "density, kg/m^3", NULL}, { \
        "beta", "0", "stiffness-proportional damping, s", NULL                               \
    }

static const scene_key ball_keys[] = {SOFT_KEYS("1e6"), {NULL, NULL, NULL, NULL}};
static const scene_key mat_keys[] = {SOFT_KEYS("1e5"), {NULL, NULL, NULL, NULL}};

/* --size: cells along an edge of the core. */
static bool soft_ball_mesh(scene *s) {
    int core = s->size < 2 ? 2 : s->size;
    return scene_mesh_ball(&s->mesh, core, (3 * core + 4) / 7, 0.05);
}

static void ball_build(scene *s) {
    soft_one *o = (soft_one *)s->state;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    o->solid = scene_add_main_solid(s, soft_ball_mesh(s), 0, 0, 0.10);
}

/* The plate comes down by 3 cm at 6 cm/s. */
static void squeeze_build(scene *s) {
    soft_one *o = (soft_one *)s->state;
    csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), 0, 0, 0.1115);
    d.motion = CSIM_KINEMATIC;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    o->solid = scene_add_main_solid(s, soft_ball_mesh(s), 0, 0, 0.0505);
    o->plate = scene_add_box(s, &d, 0.1, 0.1, 0.01);
}

static void squeeze_press(scene *s) {
    const soft_one *o = (const soft_one *)s->state;
    double left = 0.03 - 0.06 * scene_time(s), speed = fmin(0.06, fmax(0, left) / s->h);
    scene_ok(s, csim_body_set_velocity(s->world, o->plate, scene_v3(0, 0, -speed), csim_v3(0, 0, 0)));
}

/* nodes x nodes x 2, as the comparison and the fold have it. */
static bool soft_mat_mesh(scene *s) {
    int cells = s->size < 7 ? 6 : s->size - 1;
    return scene_mesh_box(&s->mesh, cells, cells, 1, scene_v3(-0.13, -0.13, 0), scene_v3(0.13, 0.13, 0.01));
}

static void mat_build(scene *s) {
    soft_one *o = (soft_one *)s->state;
    double mu = scene_number(s, "mu");
    csim_rigid_def d = scene_rigid_def(0, mu, 0, 0, 0.02);
    d.motion = CSIM_STATIC;
    scene_begin(s);
    scene_add_ground(s, mu);
    o->solid = scene_add_main_solid(s, soft_mat_mesh(s), 0, 0, 0.06);
    scene_add_box(s, &d, 0.08, 0.08, 0.02);
}

static void soft_finish(scene *s) { scene_report_solid(s, ((const soft_one *)s->state)->solid); }

/* ---- soft-mat: dropped on a table, two corners gripped, dragged, folded over. The flap is held above the rest: a
   solid does not touch itself. */

enum { FOLD_PATCH = 3, FOLD_NODES = FOLD_PATCH * FOLD_PATCH * 2 };

typedef struct fold_gripper {
    csim_body_id jaw; /* for the picture: touches nothing */
    int node[FOLD_NODES];
    csim_vec3 hold[FOLD_NODES]; /* in the gripper's axes */
    csim_vec3 start;
} fold_gripper;

typedef struct fold {
    csim_body_id mat;
    csim_real *x;
    int across; /* nodes along an edge */
    fold_gripper gripper[2];
    bool gripped;
} fold;

static const scene_key fold_keys[] = {
    SOFT_KEYS("1e5"),
    {"grip", "0.3", "time at which the grippers close, s; later than the end: only dropped", NULL},
    {NULL, NULL, NULL, NULL}};

static void fold_build(scene *s) {
    fold *f = (fold *)s->state;
    int g;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    f->mat = scene_add_main_solid(s, soft_mat_mesh(s), 0, 0, 0.02);
    f->across = s->size < 7 ? 7 : s->size;
    f->x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)s->mesh.vertex_count);
    for (g = 0; g < 2; g++) {
        csim_rigid_def jaw = scene_rigid_def(0, 0, -0.16, g ? 0.12 : -0.12, 0.1);
        jaw.motion = CSIM_KINEMATIC;
        jaw.surface.mask = 0;
        f->gripper[g].jaw = scene_add_box(s, &jaw, 0.02, 0.012, 0.008);
    }
}

/* 0 before a, 1 after b, with no jump of the speed. */
double scene_ease(double t, double a, double b) {
    double x = fmin(1, fmax(0, (t - a) / (b - a)));
    return x * x * (3 - 2 * x);
}

/* Where a gripper is: drags along -x just above the table, then swings over and comes down half way. */
static csim_pose fold_pose(const fold_gripper *g, double t) {
    double drag = scene_ease(t, 0, 0.4), swing = scene_ease(t, 0.5, 1.5), angle = 2.6 * swing;
    csim_pose p;
    p.position =
        csim_add(g->start, scene_v3(-0.05 * drag + 0.09 * (1 - cos(angle)) * 0.9, 0,
                                    0.01 * drag + 0.11 * sin(fmin(angle, 1.8)) - 0.03 * scene_ease(t, 1.2, 1.6)));
    p.rotation = scene_turn(0, 1, 0, angle);
    return p;
}

static void fold_grip(scene *s, fold *f) {
    int across = f->across, g, i, j, k;
    csim_body_get_nodes(s->world, f->mat, f->x, 3);
    for (g = 0; g < 2; g++) {
        fold_gripper *grip = f->gripper + g;
        int n = 0, middle = (g ? across - 2 : 1) * across + 1;
        grip->start = csim_v3(f->x[3 * middle], f->x[3 * middle + 1], f->x[3 * middle + 2] + CSIM_R(0.005));
        for (k = 0; k < 2; k++)
            for (j = 0; j < FOLD_PATCH; j++)
                for (i = 0; i < FOLD_PATCH; i++, n++) {
                    int node = (k * across + (g ? across - FOLD_PATCH + j : j)) * across + i;
                    grip->node[n] = node;
                    grip->hold[n] =
                        csim_sub(csim_v3(f->x[3 * node], f->x[3 * node + 1], f->x[3 * node + 2]), grip->start);
                    scene_ok(s, csim_body_set_node_motion(s->world, f->mat, node, CSIM_KINEMATIC));
                }
    }
    f->gripped = true;
}

static void fold_move(scene *s) {
    fold *f = (fold *)s->state;
    double t = scene_time(s) + s->h - scene_number(s, "grip");
    int g, i;
    if (t < s->h / 2) return;
    if (!f->gripped) fold_grip(s, f);
    csim_body_get_nodes(s->world, f->mat, f->x, 3);
    for (g = 0; g < 2 && !s->failed; g++) {
        const fold_gripper *grip = f->gripper + g;
        csim_pose to = fold_pose(grip, t);
        csim_body_set_pose(s->world, grip->jaw, to);
        for (i = 0; i < FOLD_NODES; i++) {
            const csim_real *x = f->x + 3 * grip->node[i];
            csim_vec3 now = csim_v3(x[0], x[1], x[2]), way = csim_sub(csim_pose_point(to, grip->hold[i]), now);
            scene_ok(s,
                     csim_body_set_node(s->world, f->mat, grip->node[i], now, csim_scale((csim_real)(1 / s->h), way)));
        }
    }
}

static void fold_finish(scene *s) { scene_report_solid(s, ((const fold *)s->state)->mat); }

/* ---- */

const scene_kind scene_soft_kinds[] = {
    {"soft-mat", "a mat of --size^2 x 2 nodes is dropped, dragged and folded by two grippers", "inverted nodes tets",
     0.01, 2.2, 0, 27, CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(fold), fold_keys, fold_build, fold_move, NULL,
     fold_finish},
    {"ball", "a soft ball (--size: cells along an edge of its core) falls on the floor", "inverted nodes tets", 0.01, 1,
     0, 7, CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(soft_one), ball_keys, ball_build, NULL, NULL, soft_finish},
    {"squeeze", "the ball under a plate that comes down by 3 cm", "inverted nodes tets", 0.01, 1, 0, 7,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(soft_one), ball_keys, squeeze_build, squeeze_press, NULL, soft_finish},
    {"mat", "a mat of --size^2 x 2 nodes falls on a smaller box", "inverted nodes tets", 0.01, 1, 0, 27,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(soft_one), mat_keys, mat_build, NULL, NULL, soft_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
