/* mixed: solids and rigid bodies together, and one of everything. */
#include "examples/modes/modes.h"
#include "scene.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- drop-mesh: somebody's mesh falls on a table, with rigid bodies around it */

static const scene_key drop_mesh_keys[] = {
    {"mesh", "examples/scenes/mascot.msh", "file: Gmsh, VTK, VTU or TetGen", "*"},
    {"scale", "0", "of the mesh; 0: 0.2 m along its longest side", NULL},
    {"height", "0.1", "of its lowest point over the table, m", NULL},
    {"mu", "0.5", "friction coefficient", NULL},
    {"E", "1e5", "Young's modulus, Pa", NULL},
    {"nu", "0.4", "Poisson's ratio", NULL},
    {"rho", "1000", "density, kg/m^3", NULL},
    {"beta", "1e-3", "stiffness-proportional damping, s", NULL},
    {"others", "3", "rigid bodies that fall beside it", NULL},
    {NULL, NULL, NULL, NULL}};

typedef struct drop_mesh {
    csim_body_id solid;
    double low[3], high[3]; /* bounds of the mesh as it is in the file */
} drop_mesh;

static bool drop_mesh_copy(scene *s, const csim_mesh *from) {
    scene_mesh *m = &s->mesh;
    size_t vertices = sizeof(csim_real) * 3 * (size_t)from->vertex_count,
           tets = sizeof(int) * 4 * (size_t)from->tet_count;
    m->vertices = (csim_real *)malloc(vertices + 1);
    m->tets = (int *)malloc(tets + 1);
    if (!m->vertices || !m->tets) return false;
    memcpy(m->vertices, from->vertices, vertices);
    memcpy(m->tets, from->tets, tets);
    m->vertex_count = from->vertex_count;
    m->tet_count = from->tet_count;
    return true;
}

/* Reads the file; vertices that no tet uses are dropped, worse faults are refused with the loader's sentence. */
static void drop_mesh_load(scene *s) {
    const char *path = scene_text_of(s, "mesh");
    csim_error error;
    csim_mesh mesh;
    int *index;
    memset(&mesh, 0, sizeof mesh);
    memset(&error, 0, sizeof error);
    if (csim_mesh_load_file(path, NULL, &mesh, &error) != CSIM_OK) {
        scene_fail(s, "%s", error.text);
        return;
    }
    index = (int *)malloc(sizeof(int) * (size_t)(mesh.vertex_count + 1));
    if (mesh.tet_count == 0)
        scene_fail(s, "%s has no tets, only %d triangles", path, mesh.triangle_count);
    else if (!index || csim_mesh_compact(&mesh, index) < 0 || !drop_mesh_copy(s, &mesh))
        scene_fail(s, "%s: out of memory, or a tet names a vertex that is not there", path);
    else if (csim_mesh_check(&mesh, NULL, 0, NULL, &error) != CSIM_OK)
        scene_fail(s, "%s: %s", path, error.text);
    free(index);
    csim_mesh_free(&mesh);
}

static void drop_mesh_bounds(const scene_mesh *m, double *low, double *high) {
    int i, k;
    for (k = 0; k < 3; k++) {
        low[k] = 1e300;
        high[k] = -1e300;
        for (i = 0; i < m->vertex_count; i++) {
            low[k] = fmin(low[k], (double)m->vertices[3 * i + k]);
            high[k] = fmax(high[k], (double)m->vertices[3 * i + k]);
        }
    }
}

static void drop_mesh_others(scene *s, double reach) {
    static const double away[3][2] = {{-1, -0.5}, {1, -0.4}, {0.1, 1}};
    int i, count = (int)scene_number(s, "others");
    for (i = 0; i < count && i < 3; i++) {
        csim_rigid_def d =
            scene_rigid_def(0, scene_number(s, "mu"), (reach + 0.05) * away[i][0], (reach + 0.05) * away[i][1], 0.08);
        d.density = 600;
        if (i == 0) {
            d.pose.rotation = scene_turn(1, 0.3, 0.2, 0.4);
            scene_add_box(s, &d, 0.03, 0.025, 0.02);
        } else if (i == 1) {
            scene_add_rigid(s, &d, csim_cylinder(CSIM_R(0.025), CSIM_R(0.03)));
        } else {
            csim_vec3 corner[4];
            corner[0] = scene_v3(0.04, 0, -0.02);
            corner[1] = scene_v3(-0.02, 0.035, -0.02);
            corner[2] = scene_v3(-0.02, -0.035, -0.02);
            corner[3] = scene_v3(0, 0, 0.035);
            scene_add_rigid(s, &d, csim_hull(corner, 4));
        }
    }
}

static void drop_mesh_build(scene *s) {
    drop_mesh *m = (drop_mesh *)s->state;
    double scale = scene_number(s, "scale"), longest, mu = scene_number(s, "mu");
    csim_rigid_def table = scene_rigid_def(0, mu, 0, 0, -0.02);
    csim_soft_def d;
    drop_mesh_load(s);
    if (s->failed) return;
    drop_mesh_bounds(&s->mesh, m->low, m->high);
    longest = fmax(m->high[0] - m->low[0], fmax(m->high[1] - m->low[1], m->high[2] - m->low[2]));
    if (scale <= 0) scale = 0.2 / longest;
    longest *= scale;
    scene_begin(s);
    table.motion = CSIM_STATIC;
    scene_add_box(s, &table, 2 * longest, 2 * longest, 0.02);
    d = scene_soft_def(s, &s->mesh, mu, -scale * (m->low[0] + m->high[0]) / 2, -scale * (m->low[1] + m->high[1]) / 2,
                       scene_number(s, "height") - scale * m->low[2]);
    d.scale = (csim_real)scale;
    m->solid = scene_add_soft(s, &d);
    drop_mesh_others(s, longest / 2);
}

static void drop_mesh_finish(scene *s) { scene_report_solid(s, ((const drop_mesh *)s->state)->solid); }

/* ---- reduced: the mesh moves in a few modes; --size of it fall on the table beside rigid bodies */

static const scene_key reduced_keys[] = {
    {"mesh", "examples/scenes/mascot.msh", "file: Gmsh, VTK, VTU or TetGen", "*"},
    {"scale", "0", "of the mesh; 0: 0.2 m along its longest side", NULL},
    {"height", "0.1", "of its lowest point over the table, m", NULL},
    {"mu", "0.5", "friction coefficient", NULL},
    {"E", "3e5", "Young's modulus, Pa", NULL},
    {"nu", "0.4", "Poisson's ratio", NULL},
    {"rho", "1000", "density, kg/m^3", NULL},
    {"beta", "1e-3", "stiffness-proportional damping, s", NULL},
    {"modes", "8", "lowest vibrations", NULL},
    {"derivatives", "6", "modal derivatives", NULL},
    {"linear", "0", "1: forces linear in the modes", "0|1"},
    {"others", "3", "rigid bodies that fall beside it", NULL},
    {NULL, NULL, NULL, NULL}};

typedef struct reduced_drop {
    double first_hz, before, gain, strain;
    int modes;
} reduced_drop;

static csim_modes *reduced_modes(scene *s, reduced_drop *r) {
    modes_def d = modes_default();
    csim_modes *m = NULL;
    csim_error error;
    d.vertices = s->mesh.vertices;
    d.vertex_count = s->mesh.vertex_count;
    d.tets = s->mesh.tets;
    d.tet_count = s->mesh.tet_count;
    d.young = (csim_real)scene_number(s, "E");
    d.poisson = (csim_real)scene_number(s, "nu");
    d.density = (csim_real)scene_number(s, "rho");
    d.modes = (int)scene_number(s, "modes");
    d.derivatives = (int)scene_number(s, "derivatives");
    d.linear = scene_number(s, "linear") > 0;
    if (modes_create(&d, NULL, &m, &error) != CSIM_OK) {
        scene_fail(s, "%s", error.text);
        return NULL;
    }
    r->modes = m->modes;
    r->first_hz = sqrt(csim_modes_arrays(m).squares[0]) / 6.283185307179586;
    return m;
}

static void reduced_build(scene *s) {
    reduced_drop *r = (reduced_drop *)s->state;
    double low[3], high[3], longest, scale = scene_number(s, "scale"), mu = scene_number(s, "mu");
    csim_rigid_def table = scene_rigid_def(0, mu, 0, 0, -0.02);
    csim_modes *m;
    int i, k;
    drop_mesh_load(s);
    if (s->failed) return;
    drop_mesh_bounds(&s->mesh, low, high);
    longest = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    if (scale <= 0) scale = 0.2 / longest;
    longest *= scale;
    for (i = 0; i < s->mesh.vertex_count; i++)
        for (k = 0; k < 3; k++) /* about the middle of its foot */
            s->mesh.vertices[3 * i + k] =
                (csim_real)(scale * ((double)s->mesh.vertices[3 * i + k] - (k < 2 ? (low[k] + high[k]) / 2 : low[2])));
    m = reduced_modes(s, r);
    if (!m) return;
    scene_begin(s);
    table.motion = CSIM_STATIC;
    scene_add_box(s, &table, 2 * longest, 2 * longest, 0.02);
    for (i = 0; i < s->size && !s->failed; i++) {
        csim_reduced_def d = csim_default_reduced_def();
        csim_body_id id;
        d.modes = m;
        d.pose.position = scene_v3(0.15 * longest * i, 0.1 * longest * i,
                                   scene_number(s, "height") + 1.1 * longest * i);
        d.pose.rotation = scene_turn(0.3, 0.5, 1, 0.7 * i);
        d.stiffness_damping = (csim_real)scene_number(s, "beta");
        d.surface.friction = (csim_real)mu;
        d.corner_contact = true;
        scene_ok(s, csim_create_reduced(s->world, &d, &id));
    }
    modes_destroy(m, NULL);
    drop_mesh_others(s, longest / 2);
}

static void reduced_after(scene *s) {
    reduced_drop *r = (reduced_drop *)s->state;
    const csim_totals t = csim_world_totals(s->world);
    const double energy = t.kinetic + t.gravity + t.elastic;
    if (s->step > 1) r->gain = fmax(r->gain, energy - r->before);
    r->before = energy;
    r->strain = fmax(r->strain, t.elastic);
}

static void reduced_finish(scene *s) {
    const reduced_drop *r = (const reduced_drop *)s->state;
    const csim_contact_info *c;
    double carried = 0;
    int i, count = 0;
    c = csim_world_contacts(s->world, &count);
    for (i = 0; i < count; i++) { /* by what does not move */
        csim_motion a = CSIM_DYNAMIC, b = CSIM_DYNAMIC;
        csim_body_get_motion(s->world, c[i].body_a, &a);
        csim_body_get_motion(s->world, c[i].body_b, &b);
        carried += (b == CSIM_STATIC ? 1 : a == CSIM_STATIC ? -1 : 0) * (double)c[i].impulse.z;
    }
    scene_report(s, "modes", r->modes);
    scene_report(s, "first_hz", r->first_hz);
    scene_report(s, "strain_mj", 1e3 * r->strain);
    scene_report(s, "energy_gain_mj", 1e3 * r->gain);
    scene_report(s, "carried", carried / (s->h * 9.81 * csim_world_totals(s->world).mass));
}

/* ---- ball-grip: a soft ball between two plates that close, lift it and hold it */

typedef struct ball_grip {
    csim_body_id ball, plate[2], carriage[2];
    double slip;
    bool dynamic;
} ball_grip;

static const scene_key ball_grip_keys[] = {
    {"mu", "0.5", "friction coefficient", NULL},
    {"E", "1e6", "Young's modulus, Pa", NULL},
    {"nu", "0.35", "Poisson's ratio", NULL},
    {"rho", "1000", "density, kg/m^3", NULL},
    {"beta", "0", "stiffness-proportional damping, s", NULL},
    {"depth", "0.015", "how far each plate goes in, m", NULL},
    {"drive", "spring",
     "spring: free plates on stiff springs, so that contacts have virtual nodes; kinematic: fixed ones",
     "spring|kinematic"},
    {"stiffness", "1e6", "of the drive along the grip, N/m", NULL},
    {NULL, NULL, NULL, NULL}};

static const double grip_radius = 0.05, grip_gap = 0.005, grip_half = 0.01, grip_pad = 0.045;

static void ball_grip_spring(scene *s, const ball_grip *b, int side, csim_vec3 on_plate, csim_vec3 on_carriage,
                             double stiffness) {
    csim_spring_def d = csim_default_spring_def();
    csim_link_id id;
    d.a.body = b->plate[side];
    d.a.point = on_plate;
    d.b.body = b->carriage[side];
    d.b.point = on_carriage;
    d.stiffness = (csim_real)stiffness;
    d.damping = (csim_real)(2 * sqrt(stiffness * 0.2)); /* critical for its share of the plate */
    if (!s->failed) scene_ok(s, csim_create_spring(s->world, &d, &id));
}

/* Six springs hold the plate in all six ways: three along the grip, two up, one across. */
static void ball_grip_mount(scene *s, const ball_grip *b, int side, csim_vec3 c) {
    const double out = side ? 0.4 : -0.4, k = scene_number(s, "stiffness"), p = grip_pad;
    const double at[3][2] = {{0, p}, {-p, -p}, {p, -p}};
    int i;
    for (i = 0; i < 3; i++) {
        csim_vec3 on = csim_add(c, scene_v3(0, at[i][0], at[i][1]));
        ball_grip_spring(s, b, side, on, csim_add(on, scene_v3(out, 0, 0)), k / 3);
    }
    for (i = 0; i < 2; i++) {
        csim_vec3 on = csim_add(c, scene_v3(0, i ? p : -p, 0));
        ball_grip_spring(s, b, side, on, csim_add(on, scene_v3(0, 0, 0.4)), k / 3);
    }
    ball_grip_spring(s, b, side, c, csim_add(c, scene_v3(0, 0.4, 0)), k / 3);
}

static void ball_grip_build(scene *s) {
    ball_grip *b = (ball_grip *)s->state;
    int core = s->size < 2 ? 2 : s->size, side;
    b->dynamic = strcmp(scene_text_of(s, "drive"), "spring") == 0;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    b->ball = scene_add_main_solid(s, scene_mesh_ball(&s->mesh, core, (core + 3) / 4, grip_radius), 0, 0, grip_radius);
    for (side = 0; side < 2; side++) {
        double x = (side ? 1 : -1) * (grip_radius + grip_gap + grip_half);
        csim_rigid_def plate = scene_rigid_def(0.5, scene_number(s, "mu"), x, 0, grip_radius);
        csim_rigid_def carriage = scene_rigid_def(1, 0, x, 0, grip_radius);
        plate.motion = b->dynamic ? CSIM_DYNAMIC : CSIM_KINEMATIC;
        b->plate[side] = scene_add_box(s, &plate, grip_half, grip_pad, grip_pad);
        if (!b->dynamic) {
            b->carriage[side] = b->plate[side];
            continue;
        }
        carriage.motion = CSIM_KINEMATIC;
        carriage.inertia.m[0] = carriage.inertia.m[4] = carriage.inertia.m[8] = 1;
        if (!s->failed) scene_ok(s, csim_create_rigid(s->world, &carriage, &b->carriage[side]));
        ball_grip_mount(s, b, side, plate.pose.position);
    }
}

/* Distance gone after time t by something that moves between a and b, with no jump of the speed. */
static double grip_way(double t, double a, double b, double way) {
    double x = fmin(1, fmax(0, (t - a) / (b - a)));
    return way * x * x * (3 - 2 * x);
}

static void ball_grip_drive(scene *s) {
    const ball_grip *b = (const ball_grip *)s->state;
    double t = scene_time(s), depth = scene_number(s, "depth") + grip_gap;
    double in = (grip_way(t + s->h, 0, 0.3, depth) - grip_way(t, 0, 0.3, depth)) / s->h;
    double up = (grip_way(t + s->h, 0.4, 0.9, 0.1) - grip_way(t, 0.4, 0.9, 0.1)) / s->h;
    int side;
    for (side = 0; side < 2; side++)
        scene_ok(
            s, csim_body_set_velocity(s->world, b->carriage[side], scene_v3(side ? -in : in, 0, up), csim_v3(0, 0, 0)));
}

static bool grip_same(csim_body_id a, csim_body_id b) { return a.index1 == b.index1 && a.generation == b.generation; }

/* Slip of the ball in the plates: the mean of the vertical slip weighted by the normal impulse, summed over time from
   the start of the lift. */
static void ball_grip_measure(scene *s) {
    ball_grip *b = (ball_grip *)s->state;
    int count = 0, i;
    const csim_contact_info *c = csim_world_contacts(s->world, &count);
    double slip = 0, weight = 0;
    if (scene_time(s) < 0.4) return;
    for (i = 0; i < count; i++) {
        bool of_ball = grip_same(c[i].body_a, b->ball);
        csim_body_id other = of_ball ? c[i].body_b : c[i].body_a;
        if (!grip_same(other, b->plate[0]) && !grip_same(other, b->plate[1])) continue;
        slip += (double)(c[i].normal_impulse * c[i].slip.z) * (of_ball ? 1 : -1);
        weight += (double)c[i].normal_impulse;
    }
    if (weight > 0) b->slip += s->h * slip / weight;
}

static void ball_grip_finish(scene *s) {
    const ball_grip *b = (const ball_grip *)s->state;
    csim_pose ball, plate;
    memset(&ball, 0, sizeof ball);
    plate = ball;
    csim_body_get_pose(s->world, b->ball, &ball);
    csim_body_get_pose(s->world, b->plate[0], &plate);
    scene_report(s, "slip_mm", 1e3 * fabs(b->slip));
    scene_report(s, "lifted_mm", 1e3 * ((double)ball.position.z - grip_radius));
    scene_report(s, "below_plates_mm", 1e3 * ((double)plate.position.z - (double)ball.position.z));
    scene_report_solid(s, b->ball);
}

/* ---- mix: one of everything */

typedef struct mix {
    csim_body_id sweeper;
} mix;

static const scene_key mix_keys[] = {{"mu", "0.5", "friction coefficient", NULL},
                                     {"E", "5e4", "Young's modulus, Pa", NULL},
                                     {"nu", "0.4", "Poisson's ratio", NULL},
                                     {NULL, NULL, NULL, NULL}};

static void mix_rigids(scene *s, double mu) {
    csim_vec3 corner[6];
    int i;
    for (i = 0; i < 6; i++)
        corner[i] = scene_v3(i == 0   ? 0.05
                             : i == 1 ? -0.05
                                      : 0,
                             i == 2   ? 0.06
                             : i == 3 ? -0.06
                                      : 0,
                             i == 4   ? 0.04
                             : i == 5 ? -0.04
                                      : 0);
    for (i = 0; i < 5; i++) {
        csim_rigid_def d = scene_rigid_def(0, mu, -0.4 + 0.2 * i, 0.25, 0.15 + 0.05 * i);
        d.density = 300;
        d.surface.restitution = (csim_real)(0.15 * i);
        d.angular_velocity = scene_v3(1, 0.5 * i, -1);
        scene_add_rigid(s, &d,
                        i == 0   ? csim_sphere(CSIM_R(0.05))
                        : i == 1 ? csim_capsule(CSIM_R(0.03), CSIM_R(0.05))
                        : i == 2 ? csim_box(csim_v3(CSIM_R(0.05), CSIM_R(0.04), CSIM_R(0.03)))
                        : i == 3 ? csim_cylinder(CSIM_R(0.04), CSIM_R(0.03))
                                 : csim_hull(corner, 6));
    }
}

/* Three particles on a string of springs that hangs from the world, its last one in a ball joint with a box. */
static void mix_chain(scene *s, double mu) {
    csim_body_id last, bead;
    csim_link_id link;
    csim_rigid_def box = scene_rigid_def(0.3, mu, 0.42, -0.25, 0.4);
    int i;
    memset(&last, 0, sizeof last);
    for (i = 0; i < 3 && !s->failed; i++) {
        csim_particle_def p = csim_default_particle_def();
        csim_spring_def d = csim_default_spring_def();
        p.position = scene_v3(0.1 + 0.1 * i, -0.25, 0.4);
        p.mass = CSIM_R(0.1);
        p.radius = CSIM_R(0.02);
        p.surface.friction = (csim_real)mu;
        scene_ok(s, csim_create_particle(s->world, &p, &bead));
        d.a.body = last;
        d.a.point = scene_v3(0, -0.25, 0.4);
        d.b.body = bead;
        d.stiffness = 200;
        d.damping = CSIM_R(0.5);
        if (!s->failed) scene_ok(s, csim_create_spring(s->world, &d, &link));
        last = bead;
    }
    scene_add_box(s, &box, 0.05, 0.03, 0.03);
    if (!s->failed) {
        csim_pin_def pin = csim_default_pin_def();
        pin.a.body = s->body[s->body_count - 1].id;
        pin.a.point = scene_v3(0.3, -0.25, 0.4);
        pin.b.body = last;
        scene_ok(s, csim_create_pin(s->world, &pin, &link));
    }
}

/* A solid hung up by two fixed nodes, one that falls on the floor, and a slope that stands still. */
static void mix_solids(scene *s, double mu) {
    static const int fixed[2] = {0, 1};
    csim_rigid_def slope = scene_rigid_def(0, mu, -0.45, -0.1, 0.02);
    scene_mesh mesh;
    csim_soft_def d;
    if (!scene_mesh_box(&mesh, 3, 2, 2, scene_v3(-0.09, -0.06, 0), scene_v3(0.09, 0.06, 0.1))) {
        scene_fail(s, "out of memory");
        return;
    }
    d = scene_soft_def(s, &mesh, mu, -0.3, -0.05, 0.2);
    d.pose.rotation = scene_turn(1, 1, 0, 0.3);
    scene_add_soft(s, &d);
    d.pose.position = scene_v3(0.55, 0.1, 0.3);
    d.fixed = fixed;
    d.fixed_count = 2;
    scene_add_soft(s, &d);
    scene_mesh_free(&mesh);
    slope.motion = CSIM_STATIC;
    slope.pose.rotation = scene_turn(0, 1, 0, 0.3);
    scene_add_box(s, &slope, 0.15, 0.15, 0.02);
}

static void mix_build(scene *s) {
    mix *m = (mix *)s->state;
    double mu = scene_number(s, "mu");
    csim_rigid_def sweeper = scene_rigid_def(0, mu, -0.7, 0.25, 0.08);
    scene_begin(s);
    scene_add_ground(s, mu);
    mix_rigids(s, mu);
    mix_chain(s, mu);
    mix_solids(s, mu);
    sweeper.motion = CSIM_KINEMATIC;
    m->sweeper = scene_add_box(s, &sweeper, 0.03, 0.2, 0.07);
}

/* Back and forth through the rigid bodies, so that nothing comes to rest. */
static void mix_sweep(scene *s) {
    const mix *m = (const mix *)s->state;
    double speed = fmod(scene_time(s), 4) < 2 ? 0.2 : -0.2;
    scene_ok(s, csim_body_set_velocity(s->world, m->sweeper, scene_v3(speed, 0, 0), csim_v3(0, 0, 0)));
}

/* ---- */

/* A certificate of 5e-5 lets the softest motions of a solid drift at about 1e-4 m/s, the speed that counts as rest. */
enum { MIXED_DOUBLE = CSIM_REAL_SIZE == 8 };

const scene_kind scene_mixed_kinds[] = {
    {"drop-mesh", "a tetrahedral mesh falls on a table beside rigid bodies, certified at 1e-5", "inverted nodes tets",
     0.01, 6, MIXED_DOUBLE ? 1e-5 : 0, 0, CSIM_BACKWARD_EULER, SCENE_RESTS | SCENE_PACE, sizeof(drop_mesh),
     drop_mesh_keys, drop_mesh_build, NULL, NULL, drop_mesh_finish},
    {"reduced", "--size bodies of one mesh that move in a few modes fall on a table beside rigid bodies",
     "modes first_hz strain_mj energy_gain_mj carried", 0.005, 4, 5e-5, 2, CSIM_BACKWARD_EULER,
     SCENE_RESTS | SCENE_PACE, sizeof(reduced_drop), reduced_keys, reduced_build, NULL, reduced_after, reduced_finish},
    {"ball-grip", "a soft ball is squeezed by two plates and lifted",
     "slip_mm lifted_mm below_plates_mm inverted nodes tets", 0.01, 1.5, 0, 8, CSIM_BACKWARD_EULER, SCENE_PACE,
     sizeof(ball_grip), ball_grip_keys, ball_grip_build, ball_grip_drive, ball_grip_measure, ball_grip_finish},
    {"mix", "one of everything: particles, springs, pins, rigid bodies of every shape, solids, moving and fixed things",
     "", 0.01, 4, 0, 0, CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(mix), mix_keys, mix_build, mix_sweep, NULL, NULL},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
