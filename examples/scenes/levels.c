/* levels: floors made of triangles, and what slides, rolls and walks on them. */
#include "../modes/modes.h"
#include "scene.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- floor-of-triangles: bodies of every kind go over a flat floor of small triangles at a steady speed, and the same
   bodies over a half-space, in a world of their own */

enum { LEVEL_KINDS = 13, LEVEL_MOST = 1024 };

typedef enum level_kind {
    LEVEL_BOX,
    LEVEL_HULL,
    LEVEL_STANDING, /* cylinder on its end */
    LEVEL_MESH,
    LEVEL_TREE,
    LEVEL_SOFT,
    LEVEL_CLOTH,
    LEVEL_CABLE,
    LEVEL_PARTICLE,
    LEVEL_REDUCED,
    LEVEL_BALL, /* the last three roll */
    LEVEL_CAPSULE,
    LEVEL_CYLINDER
} level_kind;

static const char *const level_names[LEVEL_KINDS][2] = {
    {"speed_box", "rise_box_um"}, {"speed_hull", "rise_hull_um"}, {"speed_standing", "rise_standing_um"},
    {"speed_mesh", "rise_mesh_um"}, {"speed_tree", "rise_tree_um"}, {"speed_soft", "rise_soft_um"},
    {"speed_cloth", "rise_cloth_um"}, {"speed_cable", "rise_cable_um"}, {"speed_particle", "rise_particle_um"},
    {"speed_reduced", "rise_reduced_um"}, {"speed_ball", "rise_ball_um"}, {"speed_capsule", "rise_capsule_um"},
    {"speed_cylinder", "rise_cylinder_um"},
};

typedef struct level_floor {
    csim_world *other; /* the same bodies on a half-space */
    csim_body_id id[LEVEL_MOST], twin[LEVEL_MOST];
    const csim_field *mesh; /* of the bodies that are meshes */
    csim_modes *modes;
    csim_vec3 velocity;
    double speed[LEVEL_KINDS], rise[LEVEL_KINDS]; /* largest change of the velocity, as a share; over the twin, m;
                                                     infinite: neither is a number any more */
    double other_seconds;
    int uncertified;
} level_floor;

static const scene_key level_floor_keys[] = {
    {"speed", "4", "of all bodies, m/s", NULL},
    {"direction", "0.4", "in which they go, rad from the x axis of the grid; --seed adds another", NULL},
    {"cell", "0.25", "side of the squares that two triangles make, m", NULL},
    {"floor", "heights", "a height field, the distances of a mesh, triangles as they are, or the half-space once more",
     "heights|mesh|triangles|half-space"},
    {"only", "-1", "one kind of body alone, 0..12; -1: all of them", NULL},
    {NULL, NULL, NULL, NULL}};

static const csim_field *level_field(scene *s, const csim_mesh_field_def *d) {
    const csim_field *f = NULL;
    csim_error error;
    size_t bytes = 0;
    void *block;
    error.text[0] = 0;
    if (csim_mesh_field_bytes(d, &bytes, &error) == CSIM_OK && (block = scene_block(s, bytes)) != NULL)
        csim_create_mesh_field_in(d, block, bytes, &f, &error);
    if (!f) scene_fail(s, "%s", error.text);
    return f;
}

/* n by n squares of two triangles each around the origin, open. */
static const csim_field *level_sheet(scene *s, int n, double cell) {
    csim_triangle_field_def d = csim_default_triangle_field_def();
    const int row = n + 1;
    csim_real *x = (csim_real *)scene_memory(s, sizeof *x * 3 * (size_t)(row * row));
    int *t = (int *)scene_memory(s, sizeof *t * 6 * (size_t)(n * n)), i, count = 0;
    const csim_field *f = NULL;
    csim_error error;
    size_t bytes = 0;
    void *block;
    if (!x || !t) return NULL;
    for (i = 0; i < row * row; i++) {
        x[3 * i] = (csim_real)(cell * (i % row - n / 2.0));
        x[3 * i + 1] = (csim_real)(cell * (i / row - n / 2.0));
        x[3 * i + 2] = 0;
    }
    for (i = 0; i < n * n; i++) {
        const int a = i / n * row + i % n;
        t[count++] = a, t[count++] = a + 1, t[count++] = a + row + 1;
        t[count++] = a, t[count++] = a + row + 1, t[count++] = a + row;
    }
    d.vertices = x;
    d.vertex_count = row * row;
    d.triangles = t;
    d.triangle_count = count / 3;
    error.text[0] = 0;
    if (csim_triangle_field_bytes(&d, &bytes, &error) == CSIM_OK && (block = scene_block(s, bytes)) != NULL)
        csim_create_triangle_field_in(&d, block, bytes, &f, &error);
    if (!f) scene_fail(s, "%s", error.text);
    return f;
}

/* The sides of a box of n by n squares above and below, one square high: 4 n n + 8 n triangles. */
static const csim_field *level_slab(scene *s, int n, double cell, double deep, int resolution) {
    csim_mesh_field_def d = csim_default_mesh_field_def();
    const int row = n + 1, layer = row * row;
    csim_real *x = (csim_real *)scene_memory(s, sizeof *x * 6 * (size_t)layer);
    int *t = (int *)scene_memory(s, sizeof *t * 3 * (size_t)(4 * n * n + 8 * n));
    int i, j, side, count = 0;
    if (!x || !t) return NULL;
    for (i = 0; i < 2 * layer; i++) {
        x[3 * i] = (csim_real)(cell * (i % layer % row - n / 2.0));
        x[3 * i + 1] = (csim_real)(cell * (i % layer / row - n / 2.0));
        x[3 * i + 2] = (csim_real)(i < layer ? 0 : -deep);
    }
#define LEVEL_TRIANGLE(a, b, c) (t[count++] = (a), t[count++] = (b), t[count++] = (c))
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) {
            const int a = j * row + i, b = a + layer;
            LEVEL_TRIANGLE(a, a + 1, a + row + 1);
            LEVEL_TRIANGLE(a, a + row + 1, a + row);
            LEVEL_TRIANGLE(b, b + row + 1, b + 1);
            LEVEL_TRIANGLE(b, b + row, b + row + 1);
        }
    for (side = 0; side < 4; side++)
        for (i = 0; i < n; i++) {
            static const int from[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
            static const int way[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
            const int a = (n * from[side][1] + i * way[side][1]) * row + n * from[side][0] + i * way[side][0];
            const int b = a + way[side][1] * row + way[side][0];
            LEVEL_TRIANGLE(a + layer, b + layer, b);
            LEVEL_TRIANGLE(a + layer, b, a);
        }
#undef LEVEL_TRIANGLE
    d.vertices = x;
    d.vertex_count = 2 * layer;
    d.triangles = t;
    d.triangle_count = count / 3;
    d.resolution = resolution;
    d.strict = true;
    return level_field(s, &d);
}

static csim_modes *level_modes(scene *s) {
    modes_def d = modes_default();
    csim_modes *m = NULL;
    csim_error error;
    scene_mesh mesh;
    if (!scene_mesh_box(&mesh, 3, 2, 2, scene_v3(-0.2, -0.15, -0.1), scene_v3(0.2, 0.15, 0.1))) return NULL;
    d.vertices = mesh.vertices;
    d.vertex_count = mesh.vertex_count;
    d.tets = mesh.tets;
    d.tet_count = mesh.tet_count;
    d.young = CSIM_R(1e6);
    d.modes = 4;
    d.derivatives = 0;
    d.linear = true;
    if (modes_create(&d, NULL, &m, &error) != CSIM_OK) scene_fail(s, "%s", error.text);
    scene_mesh_free(&mesh);
    return m;
}

/* Two boxes on a hinge, side by side. */
static csim_status level_tree(const level_floor *l, csim_world *world, csim_vec3 at, csim_body_id *id) {
    csim_tree_def d = csim_default_tree_def();
    csim_tree_link_def link[2];
    csim_shape box = csim_box(scene_v3(0.12, 0.1, 0.1));
    link[0] = link[1] = csim_default_tree_link_def();
    link[0].joint = CSIM_TREE_FLOATING;
    link[1].joint = CSIM_TREE_REVOLUTE;
    link[1].parent = 0;
    link[1].axis = csim_v3(0, 0, 1);
    link[1].frame.position = scene_v3(0.3, 0, 0);
    link[0].shapes = link[1].shapes = &box;
    link[0].shape_count = link[1].shape_count = 1;
    d.links = link;
    d.link_count = 2;
    d.pose.position = csim_add(at, scene_v3(-0.15, 0, 0.1));
    d.velocity = l->velocity;
    d.surface.friction = 0;
    return csim_create_tree(world, &d, id);
}

static csim_status level_soft(scene *s, csim_world *world, csim_vec3 at, csim_vec3 velocity, csim_body_id *id) {
    csim_soft_def d = csim_default_soft_def();
    csim_status status;
    scene_mesh mesh;
    if (!scene_mesh_box(&mesh, 3, 3, 2, scene_v3(-0.2, -0.2, 0), scene_v3(0.2, 0.2, 0.2))) {
        scene_fail(s, "out of memory");
        return CSIM_OUT_OF_MEMORY;
    }
    d.vertices = mesh.vertices;
    d.vertex_count = mesh.vertex_count;
    d.tets = mesh.tets;
    d.tet_count = mesh.tet_count;
    d.young = CSIM_R(3e5);
    d.pose.position = at;
    d.velocity = velocity;
    d.surface.friction = 0;
    status = csim_create_soft(world, &d, id);
    scene_mesh_free(&mesh);
    return status;
}

static csim_status level_cloth(csim_world *world, csim_vec3 at, csim_vec3 velocity, csim_body_id *id) {
    enum { SIDE = 4 };
    csim_cloth_def d = csim_default_cloth_def();
    csim_real x[3 * (SIDE + 1) * (SIDE + 1)];
    int t[6 * SIDE * SIDE], i, j, count = 0;
    for (j = 0; j <= SIDE; j++)
        for (i = 0; i <= SIDE; i++) {
            x[3 * (j * (SIDE + 1) + i)] = CSIM_R(0.1) * (csim_real)(i - SIDE / 2);
            x[3 * (j * (SIDE + 1) + i) + 1] = CSIM_R(0.1) * (csim_real)(j - SIDE / 2);
            x[3 * (j * (SIDE + 1) + i) + 2] = 0;
        }
    for (j = 0; j < SIDE; j++)
        for (i = 0; i < SIDE; i++) {
            const int a = j * (SIDE + 1) + i;
            t[count++] = a, t[count++] = a + 1, t[count++] = a + SIDE + 2;
            t[count++] = a, t[count++] = a + SIDE + 2, t[count++] = a + SIDE + 1;
        }
    d.vertices = x;
    d.vertex_count = (SIDE + 1) * (SIDE + 1);
    d.triangles = t;
    d.triangle_count = count / 3;
    d.thickness = CSIM_R(0.01);
    d.pose.position = csim_add(at, scene_v3(0, 0, 0.005));
    d.velocity = velocity;
    d.surface.friction = 0;
    return csim_create_cloth(world, &d, id);
}

static csim_status level_rigid(const level_floor *l, csim_world *world, level_kind kind, csim_vec3 at,
                               csim_body_id *id) {
    const csim_vec3 v = l->velocity, across = csim_v3(v.y, -v.x, 0); /* it rolls about -across */
    csim_rigid_def d = csim_default_rigid_def();
    csim_vec3 corner[8];
    csim_shape shape = csim_sphere(CSIM_R(0.2));
    double radius = 0.2;
    int i;
    for (i = 0; i < 8; i++)
        corner[i] = scene_v3((i & 1 ? 0.2 : -0.2) * (i & 4 ? 0.5 : 1), (i & 2 ? 0.2 : -0.2) * (i & 4 ? 0.6 : 1),
                             i & 4 ? 0.2 : -0.2);
    if (kind == LEVEL_BOX) shape = csim_box(scene_v3(0.25, 0.2, 0.2));
    if (kind == LEVEL_HULL) shape = csim_hull(corner, 8);
    if (kind == LEVEL_STANDING || kind == LEVEL_CYLINDER) shape = csim_cylinder(CSIM_R(0.2), CSIM_R(0.2));
    if (kind == LEVEL_CAPSULE) shape = csim_capsule(CSIM_R(0.2), CSIM_R(0.2));
    if (kind == LEVEL_MESH) shape = csim_field_shape(l->mesh);
    d.shapes = &shape;
    d.shape_count = 1;
    d.velocity = v;
    d.surface.friction = 0;
    if (kind >= LEVEL_BALL) {
        d.surface.friction = CSIM_R(0.5);
        d.pose.rotation = csim_quat_axis_angle(v, CSIM_R(1.5707963267948966));
        d.angular_velocity = csim_scale(CSIM_R(-1) / (csim_real)radius, across);
    } else {
        d.pose.rotation = csim_quat_axis_angle(csim_v3(0, 0, 1), CSIM_R(0.7));
    }
    d.pose.position = csim_add(at, scene_v3(0, 0, radius));
    return csim_create_rigid(world, &d, id);
}

static csim_status level_body(scene *s, csim_world *world, level_kind kind, csim_vec3 at, csim_body_id *id) {
    const level_floor *l = (const level_floor *)s->state;
    csim_cable_def cable = csim_default_cable_def();
    csim_particle_def particle = csim_default_particle_def();
    csim_reduced_def reduced = csim_default_reduced_def();
    switch (kind) {
    case LEVEL_TREE: return level_tree(l, world, at, id);
    case LEVEL_SOFT: return level_soft(s, world, at, l->velocity, id);
    case LEVEL_CLOTH: return level_cloth(world, at, l->velocity, id);
    case LEVEL_CABLE:
        cable.radius = CSIM_R(0.02);
        cable.start = csim_add(at, scene_v3(-0.25, -0.2, 0.02));
        cable.end = csim_add(at, scene_v3(0.25, 0.2, 0.02));
        cable.segments = 8;
        cable.velocity = l->velocity;
        cable.surface.friction = 0;
        return csim_create_cable(world, &cable, id);
    case LEVEL_PARTICLE:
        particle.radius = CSIM_R(0.05);
        particle.position = csim_add(at, scene_v3(0, 0, 0.05));
        particle.velocity = l->velocity;
        particle.surface.friction = 0;
        return csim_create_particle(world, &particle, id);
    case LEVEL_REDUCED:
        reduced.modes = l->modes;
        reduced.pose.position = csim_add(at, scene_v3(0, 0, 0.1));
        reduced.velocity = l->velocity;
        reduced.surface.friction = 0;
        return csim_create_reduced(world, &reduced, id);
    case LEVEL_BOX:
    case LEVEL_HULL:
    case LEVEL_STANDING:
    case LEVEL_MESH:
    case LEVEL_BALL:
    case LEVEL_CAPSULE:
    case LEVEL_CYLINDER: break;
    }
    return level_rigid(l, world, kind, at, id);
}

static level_kind level_kind_of(const scene *s, int i) {
    const int only = (int)scene_number(s, "only");
    return (level_kind)(only >= 0 && only < LEVEL_KINDS ? only : i % LEVEL_KINDS);
}

static void level_floor_ground(scene *s, double cell) {
    csim_rigid_def ground = scene_rigid_def(0, 0.5, 0, 0, 0);
    const char *floor = scene_text_of(s, "floor");
    csim_shape shape = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1));
    csim_body_id id;
    if (strcmp(floor, "heights") == 0) shape = scene_heights(s, 224, cell, NULL, NULL);
    if (strcmp(floor, "mesh") == 0) {
        const csim_field *f = level_slab(s, 158, cell, 4 * cell, 200);
        if (f) shape = csim_field_shape(f);
    }
    if (strcmp(floor, "triangles") == 0) {
        const csim_field *f = level_sheet(s, 224, cell);
        if (f) shape = csim_field_shape(f);
    }
    ground.motion = CSIM_STATIC;
    ground.shapes = &shape;
    ground.shape_count = 1;
    if (!s->failed) scene_ok(s, csim_create_rigid(s->world, &ground, &id));
    if (!s->failed) scene_ok(s, csim_create_ground(((level_floor *)s->state)->other, csim_v3(0, 0, 0), csim_v3(0, 0, 1),
                                                   CSIM_R(0.5), &id));
}

static void level_floor_build(scene *s) {
    level_floor *l = (level_floor *)s->state;
    const double cell = scene_number(s, "cell"), speed = scene_number(s, "speed");
    const double turn = scene_number(s, "direction") + 2.39996 * (double)(s->options.seed % 1000);
    csim_error error;
    int i, side;
    if (s->size > LEVEL_MOST || !(cell > 0)) scene_fail(s, "at most %d bodies, and cell > 0", (int)LEVEL_MOST);
    if (speed * s->h * s->steps > 24) s->steps = (int)(24 / (speed * s->h)); /* on the floor to the end */
    l->velocity = scene_v3(speed * cos(turn), speed * sin(turn), 0);
    l->mesh = level_slab(s, 4, 0.1, 0.2, 24);
    l->modes = level_modes(s);
    scene_begin(s);
    if (s->failed) return;
    if (csim_create_world(&s->def, &l->other, &error) != CSIM_OK) {
        scene_fail(s, "%s", error.text);
        return;
    }
    level_floor_ground(s, cell);
    side = (int)ceil(sqrt((double)s->size));
    for (i = 0; i < s->size && !s->failed; i++) { /* anywhere over the triangles, never near each other */
        const double x = 1.037 * (i % side - side / 2) - 0.5 * s->h * s->steps * (double)l->velocity.x;
        const double y = 1.013 * (i / side - side / 2) - 0.5 * s->h * s->steps * (double)l->velocity.y;
        const csim_vec3 at = scene_v3(x, y, 0);
        scene_ok(s, level_body(s, s->world, level_kind_of(s, i), at, l->id + i));
        if (!s->failed) scene_ok(s, level_body(s, l->other, level_kind_of(s, i), at, l->twin + i));
    }
}

static void level_worst(double *worst, double x) {
    if (!(x <= *worst)) *worst = x <= 1e300 ? x : INFINITY;
}

static void level_floor_measure(scene *s) {
    level_floor *l = (level_floor *)s->state;
    const double start = s->options.clock ? s->options.clock(NULL) : 0;
    const double speed = (double)csim_length(l->velocity);
    csim_pose a, b;
    int i;
    if (!(csim_world_stats(s->world).result == CSIM_RESULT_CONVERGED)) l->uncertified++;
    if (csim_world_step(l->other, (csim_real)s->h) != CSIM_OK) {
        scene_fail(s, "%s", csim_last_error(l->other));
        return;
    }
    if (s->options.clock) l->other_seconds += s->options.clock(NULL) - start;
    for (i = 0; i < s->size; i++) {
        const level_kind kind = level_kind_of(s, i);
        csim_vec3 d = l->velocity;
        csim_body_get_velocity(s->world, l->id[i], &d, NULL);
        d = csim_sub(d, l->velocity);
        a = b = csim_pose_identity();
        d.z = 0;
        level_worst(l->speed + kind, (double)csim_length(d) / speed);
        csim_body_get_pose(s->world, l->id[i], &a);
        csim_body_get_pose(l->other, l->twin[i], &b);
        level_worst(l->rise + kind, (double)a.position.z - (double)b.position.z);
    }
}

static void level_floor_finish(scene *s) {
    level_floor *l = (level_floor *)s->state;
    double speed = 0, rise = 0;
    int k;
    for (k = 0; k < LEVEL_KINDS; k++) {
        speed = fmax(speed, l->speed[k]);
        rise = fmax(rise, l->rise[k]);
    }
    scene_report(s, "speed_change", speed);
    scene_report(s, "rise_um", 1e6 * rise);
    for (k = 0; k < LEVEL_KINDS; k++) {
        if (scene_number(s, "only") >= 0 ? level_kind_of(s, 0) != (level_kind)k : s->size <= k) continue;
        scene_report(s, level_names[k][0], l->speed[k]);
        scene_report(s, level_names[k][1], 1e6 * l->rise[k]);
    }
    scene_report(s, "uncertified", l->uncertified);
    if (l->other_seconds > 0) scene_report(s, "over_half_space", s->seconds / l->other_seconds);
    if (l->other_seconds > 0) scene_report(s, "step_us", 1e6 * s->seconds / s->step);
    csim_destroy_world(l->other);
    l->other = NULL;
    modes_destroy(l->modes, NULL);
    l->modes = NULL;
}

const scene_kind scene_level_kinds[] = {
    {"floor-of-triangles",
     "--size bodies of every kind slide and roll over a flat floor of 100352 triangles, certified at 1e-8",
     "speed_change rise_um speed_box rise_box_um ... uncertified over_half_space step_us", 1.0 / 120, 4, 1e-8, 104,
     CSIM_BACKWARD_EULER, 0, sizeof(level_floor), level_floor_keys, level_floor_build, NULL, level_floor_measure,
     level_floor_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
