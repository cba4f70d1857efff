/* solids: scenes of hyperelastic and activated solids and of cloth: stretch, cloth, pneunet, soft-gripper. */
#include "scene.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char solid_materials[] = "co-rotational|neo-hookean|stvk";

static csim_material solid_material(const scene *s) {
    const char *name = scene_text_of(s, "material");
    return strcmp(name, "neo-hookean") == 0 ? CSIM_NEO_HOOKEAN
           : strcmp(name, "stvk") == 0      ? CSIM_ST_VENANT_KIRCHHOFF
                                            : CSIM_COROTATIONAL;
}

/* Sets the velocity that takes a kinematic node to a place in one step. */
static void solid_drag(scene *s, csim_body_id body, int node, csim_vec3 now, csim_vec3 to) {
    if (!s->failed)
        scene_ok(s,
                 csim_body_set_node(s->world, body, node, now, csim_scale((csim_real)(1 / s->h), csim_sub(to, now))));
}

/* ---- stretch: the volume a material keeps; both ends of a block are held and moved apart, then wait */

typedef struct stretch {
    csim_body_id block;
    csim_real *x;
    double volume; /* at rest, m^3 */
} stretch;

static const scene_key stretch_keys[] = {{"material", "co-rotational", "law of the block", solid_materials},
                                         {"factor", "2", "how many times its length it gets", NULL},
                                         {"E", "1e5", "Young's modulus, Pa", NULL},
                                         {"nu", "0.45", "Poisson's ratio", NULL},
                                         {"rho", "1000", "density, kg/m^3", NULL},
                                         {"beta", "1e-2", "stiffness-proportional damping, s", NULL},
                                         {NULL, NULL, NULL, NULL}};

static double stretch_volume(const scene *s, const csim_real *x, double *least) {
    double sum = 0;
    int t;
    *least = 1e9;
    for (t = 0; t < s->mesh.tet_count; t++) {
        double now = scene_tet_volume(x, s->mesh.tets + 4 * t),
               rest = scene_tet_volume(s->mesh.vertices, s->mesh.tets + 4 * t);
        sum += now;
        if (now / rest < *least) *least = now / rest;
    }
    return sum;
}

static void stretch_build(scene *s) {
    stretch *o = (stretch *)s->state;
    int n = s->size < 2 ? 2 : s->size, v;
    csim_soft_def d;
    double least;
    s->def.gravity = csim_v3(0, 0, 0);
    scene_begin(s);
    if (!scene_mesh_box(&s->mesh, 3 * n, n, n, scene_v3(-0.15, -0.05, -0.05), scene_v3(0.15, 0.05, 0.05))) {
        scene_fail(s, "out of memory");
        return;
    }
    d = scene_soft_def(s, &s->mesh, 0.5, 0, 0, 0);
    d.material = solid_material(s);
    d.mass_damping = 5;
    o->block = scene_add_soft(s, &d);
    o->x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)s->mesh.vertex_count);
    o->volume = stretch_volume(s, s->mesh.vertices, &least);
    for (v = 0; v < s->mesh.vertex_count && !s->failed; v++)
        if (fabs((double)s->mesh.vertices[3 * v]) > 0.15 - 1e-6)
            scene_ok(s, csim_body_set_node_motion(s->world, o->block, v, CSIM_KINEMATIC));
}

static void stretch_pull(scene *s) {
    stretch *o = (stretch *)s->state;
    double t = scene_time(s) + s->h, way = 0.15 * (scene_number(s, "factor") - 1) * fmin(1, t / 2);
    int v;
    csim_body_get_nodes(s->world, o->block, o->x, 3);
    for (v = 0; v < s->mesh.vertex_count; v++) {
        const csim_real *X = s->mesh.vertices + 3 * v, *x = o->x + 3 * v;
        if (fabs((double)X[0]) < 0.15 - 1e-6) continue;
        solid_drag(s, o->block, v, csim_v3(x[0], x[1], x[2]),
                   csim_v3(X[0] + (csim_real)(X[0] > 0 ? way : -way), X[1], X[2]));
    }
}

static void stretch_finish(scene *s) {
    stretch *o = (stretch *)s->state;
    double least, volume;
    csim_body_get_nodes(s->world, o->block, o->x, 3);
    volume = stretch_volume(s, o->x, &least);
    scene_report(s, "volume_ratio", volume / o->volume);
    scene_report(s, "least_tet_ratio", least);
    scene_report_solid(s, o->block);
}

/* ---- cloth: a sheet falls on a sphere and hangs there */

typedef struct drape {
    csim_body_id sheet;
    int across;
    csim_real *x, *before;
    double deepest, creep; /* m, m/s: over the last second */
} drape;

static const double drape_radius = 0.15, drape_width = 0.5, drape_thickness = 1e-3;

static const scene_key drape_keys[] = {{"mu", "0.5", "friction coefficient", NULL},
                                       {"E", "1e5", "Young's modulus, Pa", NULL},
                                       {"nu", "0.3", "Poisson's ratio", NULL},
                                       {"rho", "300", "density, kg/m^3", NULL},
                                       {"beta", "5e-3", "stiffness-proportional damping, s", NULL},
                                       {"alpha", "2", "mass-proportional damping, 1/s", NULL},
                                       {NULL, NULL, NULL, NULL}};

static bool drape_mesh(scene *s, drape *o, int **triangles) {
    int n = o->across, i, j, k = 0;
    o->x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)(n * n));
    o->before = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)(n * n));
    *triangles = (int *)scene_memory(s, sizeof(int) * 6 * (size_t)((n - 1) * (n - 1)));
    if (s->failed) return false;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) {
            o->x[3 * (j * n + i)] = (csim_real)(drape_width * (i / (n - 1.0) - 0.5));
            o->x[3 * (j * n + i) + 1] = (csim_real)(drape_width * (j / (n - 1.0) - 0.5));
        }
    for (j = 0; j + 1 < n; j++)
        for (i = 0; i + 1 < n; i++) {
            int a = j * n + i, b = a + 1, c = a + n, d = c + 1;
            bool turned = (i + j) % 2; /* diagonals both ways: the sheet has no bias */
            int corner[6];
            corner[0] = a, corner[1] = b, corner[2] = turned ? d : c;
            corner[3] = turned ? a : b, corner[4] = d, corner[5] = c;
            memcpy(*triangles + k, corner, sizeof corner);
            k += 6;
        }
    return true;
}

static void drape_build(scene *s) {
    drape *o = (drape *)s->state;
    csim_cloth_def d = csim_default_cloth_def();
    csim_rigid_def ball = scene_rigid_def(0, scene_number(s, "mu"), 0, 0, drape_radius);
    int *triangles;
    ball.motion = CSIM_STATIC;
    o->across = s->size < 5 ? 5 : s->size;
    scene_begin(s);
    scene_add_rigid(s, &ball, csim_sphere((csim_real)drape_radius));
    if (!drape_mesh(s, o, &triangles)) return;
    d.vertices = o->x;
    d.vertex_count = o->across * o->across;
    d.triangles = triangles;
    d.triangle_count = 2 * (o->across - 1) * (o->across - 1);
    d.pose.position = scene_v3(0, 0, 2 * drape_radius + 0.02);
    d.young = (csim_real)scene_number(s, "E");
    d.poisson = (csim_real)scene_number(s, "nu");
    d.density = (csim_real)scene_number(s, "rho");
    d.thickness = (csim_real)drape_thickness;
    d.stiffness_damping = (csim_real)scene_number(s, "beta");
    d.mass_damping = (csim_real)scene_number(s, "alpha");
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) scene_ok(s, csim_create_cloth(s->world, &d, &o->sheet));
}

static void drape_measure(scene *s) {
    drape *o = (drape *)s->state;
    double left = s->steps * s->h - scene_time(s), moved = 0;
    int v, k;
    csim_body_get_nodes(s->world, o->sheet, o->x, 3);
    for (v = 0; v < o->across * o->across; v++) {
        const csim_real *x = o->x + 3 * v;
        double dx = (double)x[0], dy = (double)x[1], dz = (double)x[2] - drape_radius;
        o->deepest = fmax(o->deepest, drape_radius + drape_thickness / 2 - sqrt(dx * dx + dy * dy + dz * dz));
        for (dx = 0, k = 0; k < 3; k++) dx += pow((double)(x[k] - o->before[3 * v + k]), 2);
        moved = fmax(moved, sqrt(dx));
    }
    o->creep = moved / fmax(s->h, fmin(1, 1 - left));
    if (left > 1 - s->h / 2) memcpy(o->before, o->x, sizeof(csim_real) * 3 * (size_t)(o->across * o->across));
}

static void drape_finish(scene *s) {
    drape *o = (drape *)s->state;
    double lowest = 1e9;
    int v;
    for (v = 0; v < o->across * o->across; v++) lowest = fmin(lowest, (double)o->x[3 * v + 2]);
    scene_report(s, "surface_depth_mm", 1e3 * o->deepest);
    scene_report(s, "creep_um_per_s", 1e6 * o->creep);
    scene_report(s, "lowest_mm", 1e3 * lowest);
    scene_report(s, "nodes", o->across * o->across);
}

/* ---- pneunet: three fingers with inflated arches close round a ball and lift it

   A finger hangs along -z: a stiff layer on the side of the ball, behind it arches with gaps between them. Inflated
   arches push each other apart, so that the finger curls towards the ball. As in the paper, the air is a pressure in
   the elements of the arches. */

enum { PNEU_FINGERS = 3, PNEU_LONG = 26, PNEU_THICK = 4 }; /* cells of a finger: z, x */

typedef struct pneu_finger {
    csim_body_id id;
    csim_vec3 *hold; /* [roots] where they start */
} pneu_finger;

typedef struct pneunet {
    pneu_finger finger[PNEU_FINGERS];
    csim_body_id ball;
    scene_mesh mesh;
    csim_real *x;
    int *root, roots;   /* vertices at the palm */
    int *arch, arches;  /* tets */
    double start, slip; /* height of the ball, m; least of its rise less the palm's after the lift has begun */
    double rise;
} pneunet;

static const scene_key pneu_keys[] = {
    {"mu", "0.8", "friction coefficient", NULL},
    {"E", "1e6", "Young's modulus of the arches, Pa; the layer has five times as much", NULL},
    {"nu", "0.3", "Poisson's ratio", NULL},
    {"rho", "1100", "density, kg/m^3", NULL},
    {"beta", "5e-3", "stiffness-proportional damping, s", NULL},
    {"pressure", "4.5e5", "in the arches, Pa", NULL},
    {"mass", "0.05", "of the ball, kg", NULL},
    {"wide", "3", "cells across a finger", NULL},
    {NULL, NULL, NULL, NULL}};

static const double pneu_length = 0.13, pneu_width = 0.018, pneu_depth = 0.02, pneu_ball = 0.03, pneu_reach = 0.045;

/* Layer at i = 0; arches of three cells in z, gaps of one, the root solid. */
static bool pneu_keep(const void *user, int i, int j, int k) {
    (void)user, (void)j;
    return i == 0 || k >= PNEU_LONG - 2 || k % 4 != 3;
}

/* Tets 0 .. of the layer and the arches: Young's modulus of each, and the list of arches. */
static csim_real *pneu_young(scene *s, pneunet *o) {
    csim_real *young = (csim_real *)scene_memory(s, sizeof(csim_real) * (size_t)o->mesh.tet_count);
    int t, c;
    o->arch = (int *)scene_memory(s, sizeof(int) * (size_t)o->mesh.tet_count);
    if (s->failed) return NULL;
    for (t = 0; t < o->mesh.tet_count; t++) {
        double x = 0, z = 0;
        for (c = 0; c < 4; c++) {
            x += (double)o->mesh.vertices[3 * o->mesh.tets[4 * t + c]] / 4;
            z += (double)o->mesh.vertices[3 * o->mesh.tets[4 * t + c] + 2] / 4;
        }
        young[t] = (csim_real)scene_number(s, "E");
        if (x < pneu_depth / PNEU_THICK)
            young[t] *= 5;
        else if (z < -2 * pneu_length / PNEU_LONG)
            o->arch[o->arches++] = t;
    }
    return young;
}

static void pneu_add_finger(scene *s, pneunet *o, int f, const csim_real *young) {
    csim_soft_def d = scene_soft_def(s, &o->mesh, scene_number(s, "mu"), 0, 0, 0);
    double angle = 6.283185307179586 * f / PNEU_FINGERS;
    pneu_finger *finger = o->finger + f;
    int r;
    d.tet_young = young;
    d.pose.rotation = scene_turn(0, 0, 1, angle);
    d.pose.position = csim_rotate(d.pose.rotation, scene_v3(pneu_reach, 0, pneu_length + 0.016));
    finger->id = scene_add_soft(s, &d);
    finger->hold = (csim_vec3 *)scene_memory(s, sizeof(csim_vec3) * (size_t)o->roots);
    if (s->failed) return;
    csim_body_get_nodes(s->world, finger->id, o->x, 3);
    for (r = 0; r < o->roots; r++) {
        const csim_real *x = o->x + 3 * o->root[r];
        finger->hold[r] = csim_v3(x[0], x[1], x[2]);
        scene_ok(s, csim_body_set_node_motion(s->world, finger->id, o->root[r], CSIM_KINEMATIC));
    }
}

static void pneu_build(scene *s) {
    pneunet *o = (pneunet *)s->state;
    csim_rigid_def ball = scene_rigid_def(scene_number(s, "mass"), scene_number(s, "mu"), 0, 0, pneu_ball);
    csim_real *young;
    int v, f;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    o->ball = scene_add_rigid(s, &ball, csim_sphere((csim_real)pneu_ball));
    o->start = pneu_ball;
    if (!scene_mesh_cut(&s->mesh, PNEU_THICK, (int)fmax(1, scene_number(s, "wide")), PNEU_LONG, scene_v3(0, -pneu_width / 2, -pneu_length),
                        scene_v3(pneu_depth, pneu_width / 2, 0), pneu_keep, NULL, NULL)) {
        scene_fail(s, "out of memory");
        return;
    }
    o->mesh = s->mesh; /* the frame frees it */
    young = pneu_young(s, o);
    o->x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)o->mesh.vertex_count);
    o->root = (int *)scene_memory(s, sizeof(int) * (size_t)o->mesh.vertex_count);
    if (s->failed) return;
    for (v = 0; v < o->mesh.vertex_count; v++)
        if (o->mesh.vertices[3 * v + 2] > (csim_real)-1e-6) o->root[o->roots++] = v;
    for (f = 0; f < PNEU_FINGERS; f++) pneu_add_finger(s, o, f, young);
}

/* Inflate during the first second, lift by 0.1 m between 1.5 and 2.5 s. */
static void pneu_drive(scene *s) {
    pneunet *o = (pneunet *)s->state;
    double t = scene_time(s) + s->h, inflate = fmin(1, t), lift = 0.1 * scene_ease(t, 1.5, 2.5);
    csim_activation air = {0, 0, {0, 0, 0}};
    int f, r;
    air.pressure = (csim_real)(scene_number(s, "pressure") * inflate);
    for (f = 0; f < PNEU_FINGERS && !s->failed; f++) {
        pneu_finger *finger = o->finger + f;
        scene_ok(s, csim_soft_set_activation(s->world, finger->id, o->arch, o->arches, &air));
        csim_body_get_nodes(s->world, finger->id, o->x, 3);
        for (r = 0; r < o->roots; r++) {
            const csim_real *x = o->x + 3 * o->root[r];
            solid_drag(s, finger->id, o->root[r], csim_v3(x[0], x[1], x[2]),
                       csim_add(finger->hold[r], scene_v3(0, 0, lift)));
        }
    }
}

static void pneu_measure(scene *s) {
    pneunet *o = (pneunet *)s->state;
    double t = scene_time(s);
    csim_pose p = csim_pose_identity();
    csim_body_get_pose(s->world, o->ball, &p);
    o->rise = (double)p.position.z - o->start;
    o->slip = fmax(o->slip, 0.1 * scene_ease(t, 1.5, 2.5) - o->rise);
}

static void pneu_finish(scene *s) {
    pneunet *o = (pneunet *)s->state;
    scene_report(s, "rise_mm", 1e3 * o->rise);
    scene_report(s, "slip_mm", 1e3 * o->slip);
    scene_report(s, "lifted", o->rise > 0.08 ? 1 : 0);
    scene_report_solid(s, o->finger[0].id);
}

/* ---- soft-gripper: two soft jaws of 4896 nodes and 18180 tets in all squeeze a rigid part and lift it */

typedef struct gripper {
    csim_body_id jaw[2], part;
    csim_real *x;
    int *back, backs; /* vertices on the holder */
    double rise, slip, contacts;
    int counted;
} gripper;

static const scene_key gripper_keys[] = {
    {"mu", "2.1", "friction coefficient", NULL},
    {"E", "83e3", "Young's modulus, Pa", NULL},
    {"nu", "0.42", "Poisson's ratio", NULL},
    {"rho", "1000", "density, kg/m^3", NULL},
    {"beta", "1e-3", "stiffness-proportional damping, s", NULL},
    {"mass", "0.1", "of the part, kg", NULL},
    {"squeeze", "0.0015", "how far each jaw goes beyond the surface of the part, m", NULL},
    {NULL, NULL, NULL, NULL}};

static const double grip_part = 0.03, grip_thick = 0.024;

static void gripper_build(scene *s) {
    gripper *o = (gripper *)s->state;
    csim_rigid_def part = scene_rigid_def(scene_number(s, "mass"), scene_number(s, "mu"), 0, 0, 0.06);
    int v, j;
    scene_begin(s);
    part.pose.position.z = (csim_real)grip_part;
    scene_add_ground(s, 0.5);
    o->part = scene_add_rigid(s, &part, csim_sphere((csim_real)grip_part));
    if (!scene_mesh_box(&s->mesh, 3, 5, 101, scene_v3(0, -0.015, 0), scene_v3(grip_thick, 0.015, 0.12))) {
        scene_fail(s, "out of memory");
        return;
    }
    o->x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)s->mesh.vertex_count);
    o->back = (int *)scene_memory(s, sizeof(int) * (size_t)s->mesh.vertex_count);
    if (s->failed) return;
    for (v = 0; v < s->mesh.vertex_count; v++)
        if (s->mesh.vertices[3 * v] > (csim_real)(grip_thick - 1e-6)) o->back[o->backs++] = v;
    for (j = 0; j < 2; j++) {
        csim_soft_def d = scene_soft_def(s, &s->mesh, scene_number(s, "mu"), 0, 0, 0.001);
        d.pose.rotation = scene_turn(0, 0, 1, j ? 3.141592653589793 : 0);
        d.pose.position = scene_v3((j ? -1 : 1) * (grip_part + 0.002), 0, 0.001);
        o->jaw[j] = scene_add_soft(s, &d);
        for (v = 0; v < o->backs && !s->failed; v++)
            scene_ok(s, csim_body_set_node_motion(s->world, o->jaw[j], o->back[v], CSIM_KINEMATIC));
    }
}

/* Close until 0.5 s, lift by 5 cm between 0.7 and 1.7 s. */
static void gripper_drive(scene *s) {
    gripper *o = (gripper *)s->state;
    double t0 = scene_time(s), t = t0 + s->h, way = 0.002 + scene_number(s, "squeeze");
    double close = way * (scene_ease(t, 0, 0.5) - scene_ease(t0, 0, 0.5)) / s->h;
    double lift = 0.05 * (scene_ease(t, 0.7, 1.7) - scene_ease(t0, 0.7, 1.7)) / s->h;
    int j, v;
    for (j = 0; j < 2 && !s->failed; j++) {
        csim_body_get_nodes(s->world, o->jaw[j], o->x, 3);
        for (v = 0; v < o->backs; v++) {
            const csim_real *x = o->x + 3 * o->back[v];
            scene_ok(s, csim_body_set_node(s->world, o->jaw[j], o->back[v], csim_v3(x[0], x[1], x[2]),
                                           scene_v3(j ? close : -close, 0, lift)));
        }
    }
}

static void gripper_measure(scene *s) {
    gripper *o = (gripper *)s->state;
    double t = scene_time(s);
    csim_pose p = csim_pose_identity();
    csim_step_stats stats = csim_world_stats(s->world);
    csim_body_get_pose(s->world, o->part, &p);
    o->rise = (double)p.position.z - grip_part;
    o->slip = fmax(o->slip, 0.05 * scene_ease(t, 0.7, 1.7) - o->rise);
    if (t > 0.7) {
        o->contacts += stats.touching;
        o->counted++;
    }
}

static void gripper_finish(scene *s) {
    gripper *o = (gripper *)s->state;
    scene_report(s, "rise_mm", 1e3 * o->rise);
    scene_report(s, "slip_mm", 1e3 * o->slip);
    scene_report(s, "mean_touching", o->counted ? o->contacts / o->counted : 0);
    scene_report_solid(s, o->jaw[0]);
    scene_report(s, "all_nodes", 2.0 * s->mesh.vertex_count);
    scene_report(s, "all_tets", 2.0 * s->mesh.tet_count);
}

/* ---- */

const scene_kind scene_solid_kinds[] = {
    {"stretch", "a block (--size: cells across) is pulled to twice its length: which volume is left",
     "volume_ratio least_tet_ratio inverted nodes tets", 0.01, 3, 0, 6, CSIM_BACKWARD_EULER, 0, sizeof(stretch),
     stretch_keys, stretch_build, stretch_pull, NULL, stretch_finish},
    {"cloth", "a sheet of --size^2 vertices falls on a sphere and hangs there",
     "surface_depth_mm creep_um_per_s lowest_mm nodes", 0.01, 10, 1e-8, 50, CSIM_BACKWARD_EULER,
     SCENE_RESTS | SCENE_PACE, sizeof(drape), drape_keys, drape_build, NULL, drape_measure, drape_finish},
    {"pneunet", "three inflated fingers close round a ball and lift it", "rise_mm slip_mm lifted inverted nodes tets",
     0.01, 3, 0, 0, CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(pneunet), pneu_keys, pneu_build, pneu_drive, pneu_measure,
     pneu_finish},
    {"soft-gripper", "two soft jaws of 4896 nodes and 18180 tets squeeze a rigid part and lift it",
     "rise_mm slip_mm mean_touching inverted nodes tets all_nodes all_tets", 0.01, 2, 1e-6, 0, CSIM_BACKWARD_EULER,
     SCENE_PACE, sizeof(gripper), gripper_keys, gripper_build, gripper_drive, gripper_measure, gripper_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
