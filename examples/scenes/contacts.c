/* contacts: two-way contact between solids and everything else: heaps, a grip, a hopper, legs that stick and slip. */
#include "examples/modes/modes.h"
#include "scene.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONTACT_MATERIAL(young, friction)                                                      \
    {"mu", friction, "friction coefficient", NULL}, {"E", young, "Young's modulus, Pa", NULL}, \
        {"nu", "0.35", "Poisson's ratio", NULL}, {"rho", "1000", "density, kg/m^3", NULL}, {   \
        "beta", "2e-3", "stiffness-proportional damping, s", NULL                              \
    }

/* A soft ball or block of its own mesh at a place. */
static csim_body_id contact_solid(scene *s, bool ball, int cells, double size, csim_vec3 at, csim_quat turn) {
    csim_body_id id;
    csim_soft_def d;
    scene_mesh mesh;
    csim_vec3 half = scene_v3(size, size, size);
    bool made = ball ? scene_mesh_ball(&mesh, cells, 1, size)
                     : scene_mesh_box(&mesh, cells, cells, cells, csim_scale(-1, half), half);
    memset(&id, 0, sizeof id);
    if (!made) {
        scene_fail(s, "out of memory");
        return id;
    }
    d = scene_soft_def(s, &mesh, scene_number(s, "mu"), (double)at.x, (double)at.y, (double)at.z);
    d.pose.rotation = turn;
    d.corner_contact = true;
    id = scene_add_soft(s, &d);
    if (!s->failed) scene_watch(s, id);
    scene_mesh_free(&mesh);
    return id;
}

/* ---- heap: soft balls and blocks, boxes, spheres, cylinders and particles thrown into a pen */

static const scene_key heap_keys[] = {CONTACT_MATERIAL("1e5", "0.5"), {NULL, NULL, NULL, NULL}};

static void heap_walls(scene *s, double inside, double high) {
    int i;
    for (i = 0; i < 4; i++) {
        double x = i < 2 ? (i ? 1 : -1) * (inside + 0.02) : 0, y = i < 2 ? 0 : (i == 3 ? 1 : -1) * (inside + 0.02);
        csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), x, y, high);
        d.motion = CSIM_STATIC;
        scene_add_box(s, &d, i < 2 ? 0.02 : inside + 0.04, i < 2 ? inside + 0.04 : 0.02, high);
    }
}

static void heap_build(scene *s) {
    int i, count = s->size;
    s->rest_speed = 1e-3; /* as for every pile */
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    heap_walls(s, 0.14, 0.15);
    for (i = 0; i < count && !s->failed; i++) {
        double x = 0.075 * (i % 3 - 1) + 0.004 * (i % 5), y = 0.075 * (i / 3 % 3 - 1) - 0.003 * (i % 4),
               z = 0.06 + 0.075 * (i / 9);
        csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), x, y, z);
        d.density = 800;
        d.angular_damping = 2; /* balls have no rolling friction: they would turn for ever */
        d.pose.rotation = scene_turn(1, 0.4 * i, 0.3, 0.7 * i);
        switch (i % 6) {
        case 0: contact_solid(s, true, 2, 0.03, scene_v3(x, y, z), d.pose.rotation); break;
        case 1: scene_add_box(s, &d, 0.03, 0.025, 0.02); break;
        case 2: contact_solid(s, false, 2, 0.022, scene_v3(x, y, z), d.pose.rotation); break;
        case 3: scene_add_rigid(s, &d, csim_sphere(CSIM_R(0.025))); break;
        case 4: scene_add_rigid(s, &d, csim_cylinder(CSIM_R(0.02), CSIM_R(0.025))); break;
        default: {
            csim_particle_def p = csim_default_particle_def();
            csim_body_id id;
            p.position = scene_v3(x, y, z);
            p.radius = CSIM_R(0.015);
            p.mass = CSIM_R(0.02);
            p.surface.friction = (csim_real)scene_number(s, "mu");
            if (scene_ok(s, csim_create_particle(s->world, &p, &id))) scene_watch(s, id);
        }
        }
    }
}

/* ---- pinch: 45 g between a fixed plate and one that a drive presses with N: a rigid cube, a soft one, or a cable that
   hangs from the grip by its upper end; validation 19 */

enum { PINCH_CELLS = 4, PINCH_EDGES = 30, PINCH_HELD = 8 };

typedef struct pinch {
    csim_body_id payload, finger;
    csim_body_kind kind;
    csim_real *x;
    double half, from, since, slip;
} pinch;

static const scene_key pinch_keys[] = {CONTACT_MATERIAL("1e6", "0.7"),
                                       {"N", "12", "force of the grip, N", NULL},
                                       {"payload", "rigid", "what is held", "rigid|soft|cable"},
                                       {NULL, NULL, NULL, NULL}};

static const double pinch_mass = 0.045, pinch_z = 0.3, pinch_plate = 0.04;

/* Vertical, its first PINCH_HELD nodes between the plates. */
static csim_body_id pinch_cable(scene *s, double radius, double length) {
    csim_cable_def d = csim_default_cable_def();
    csim_body_id id;
    double top = pinch_z + 0.5 * (PINCH_HELD - 1) * length / PINCH_EDGES;
    memset(&id, 0, sizeof id);
    d.start = scene_v3(0, 0, top);
    d.end = scene_v3(0, 0, top - length);
    d.segments = PINCH_EDGES;
    d.radius = (csim_real)radius;
    d.density = (csim_real)(pinch_mass / (3.14159265358979 * radius * radius * length));
    d.young = (csim_real)scene_number(s, "E");
    d.poisson = (csim_real)scene_number(s, "nu");
    d.stiffness_damping = (csim_real)scene_number(s, "beta");
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) scene_ok(s, csim_create_cable(s->world, &d, &id));
    return id;
}

static csim_body_id pinch_finger(scene *s, double x) {
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def d = csim_default_tree_def();
    csim_shape pad = csim_box(scene_v3(0.01, pinch_plate, pinch_plate));
    csim_body_id id;
    memset(&id, 0, sizeof id);
    link.joint = CSIM_TREE_PRISMATIC;
    link.axis = csim_v3(-1, 0, 0);
    link.shapes = &pad;
    link.shape_count = 1;
    link.mass = CSIM_R(0.2);
    link.rate_gain = 1000;
    link.gravity_compensation = 1;
    d.links = &link;
    d.link_count = 1;
    d.pose.position = scene_v3(x, 0, pinch_z);
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) scene_ok(s, csim_create_tree(s->world, &d, &id));
    return id;
}

/* What gives is pressed gently: the force grows to N in the first tenth of a second. */
static void pinch_press(scene *s) {
    const pinch *p = (const pinch *)s->state;
    double share = p->kind == CSIM_RIGID ? 1 : 0.1 + 0.9 * scene_ease(scene_time(s) + s->h, 0, 0.1);
    csim_real force = (csim_real)(share * scene_number(s, "N"));
    scene_ok(s, csim_tree_add_forces(s->world, p->finger, &force));
}

static void pinch_build(scene *s) {
    pinch *p = (pinch *)s->state;
    const char *what = scene_text_of(s, "payload");
    double mu = scene_number(s, "mu");
    csim_rigid_def d = scene_rigid_def(pinch_mass, mu, 0, 0, pinch_z), plate;
    bool cable = strcmp(what, "cable") == 0;
    p->half = cable ? 0.006 : 0.5 * cbrt(pinch_mass / scene_number(s, "rho"));
    scene_begin(s);
    p->kind = cable ? CSIM_BODY_CABLE : strcmp(what, "soft") == 0 ? CSIM_SOFT : CSIM_RIGID;
    if (p->kind == CSIM_RIGID) p->payload = scene_add_box(s, &d, p->half, p->half, p->half);
    if (p->kind == CSIM_BODY_CABLE) p->payload = pinch_cable(s, p->half, 0.3);
    if (p->kind == CSIM_SOFT)
        p->payload = contact_solid(s, false, PINCH_CELLS, p->half, scene_v3(0, 0, pinch_z), csim_quat_identity());
    plate = scene_rigid_def(0, mu, -p->half - 0.01, 0, pinch_z);
    plate.motion = CSIM_STATIC;
    scene_add_box(s, &plate, 0.01, pinch_plate, pinch_plate);
    p->finger = pinch_finger(s, p->half + 0.01);
}

/* Height of what the plates hold: the body, the two held faces of the cube, the held nodes of the cable. */
static double pinch_height(scene *s, pinch *p) {
    const int n = PINCH_CELLS + 1, nodes = csim_body_node_count(s->world, p->payload);
    csim_pose pose = csim_pose_identity();
    double sum = 0;
    int i, held = 0;
    if (p->kind == CSIM_RIGID) {
        csim_body_get_pose(s->world, p->payload, &pose);
        return (double)pose.position.z;
    }
    if (!p->x) p->x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)nodes);
    if (!p->x) return 0;
    csim_body_get_nodes(s->world, p->payload, p->x, 3);
    for (i = 0; i < nodes; i++)
        if (p->kind == CSIM_BODY_CABLE ? i < PINCH_HELD : i % n == 0 || i % n == n - 1) {
            sum += (double)p->x[3 * i + 2];
            held++;
        }
    return sum / held;
}

/* Slip from one second on, when the payload has sagged into the grip. */
static void pinch_measure(scene *s) {
    pinch *p = (pinch *)s->state;
    double t = scene_time(s);
    if (t < 1 - s->h / 2) return;
    if (p->since > 0) {
        p->slip = 1e6 * fabs(pinch_height(s, p) - p->from) / (t - p->since);
    } else {
        p->from = pinch_height(s, p);
        p->since = t;
    }
}

static void pinch_finish(scene *s) {
    const pinch *p = (const pinch *)s->state;
    int i, count;
    const csim_contact_info *contact = csim_world_contacts(s->world, &count);
    double normal = 0, weight = 0;
    for (i = 0; i < count; i++) { /* impulse: on body_a */
        double sign = contact[i].body_a.index1 == p->payload.index1 ? 1 : -1;
        normal += (double)contact[i].normal_impulse / s->h;
        weight += sign * (double)contact[i].impulse.z / s->h;
    }
    scene_report(s, "slip_um_per_s", p->slip);
    scene_report(s, "normal_n", normal / 2);
    scene_report(s, "carried_n", weight);
}

/* ---- hopper (jamming): soft balls over a slot narrower than two of them */

typedef struct hopper {
    csim_body_id ball[64];
    int count;
} hopper;

static const scene_key hopper_keys[] = {CONTACT_MATERIAL("3e5", "0.6"),
                                        {"slot", "0.11", "width of the outlet, m; the balls are 0.06", NULL},
                                        {NULL, NULL, NULL, NULL}};

static void hopper_build(scene *s) {
    hopper *h = (hopper *)s->state;
    double slot = scene_number(s, "slot"), mu = scene_number(s, "mu");
    int i;
    scene_begin(s);
    for (i = 0; i < 2; i++) { /* slopes at 45 degrees, their lower edges at the slot */
        double side = i ? 1 : -1;
        csim_rigid_def d = scene_rigid_def(0, mu, side * (slot / 2 + 0.1 * sqrt(0.5) + 0.01 * sqrt(0.5)), 0,
                                           0.3 + 0.1 * sqrt(0.5) - 0.01 * sqrt(0.5));
        d.motion = CSIM_STATIC;
        d.pose.rotation = scene_turn(0, 1, 0, -side * 0.785398163397448);
        scene_add_box(s, &d, 0.1, 0.04, 0.01);
        d = scene_rigid_def(0, 0, 0, side * 0.052, 0.5);
        d.motion = CSIM_STATIC;
        scene_add_box(s, &d, 0.3, 0.02, 0.25); /* smooth walls before and behind: one ball deep */
    }
    h->count = s->size < 64 ? s->size : 64;
    for (i = 0; i < h->count && !s->failed; i++)
        h->ball[i] =
            contact_solid(s, true, 2, 0.03, scene_v3(0.064 * (i % 3 - 1) + 0.005 * (i % 2), 0, 0.42 + 0.062 * (i / 3)),
                          scene_turn(0, 1, 0, 0.5 * i));
}

static void hopper_finish(scene *s) {
    const hopper *h = (const hopper *)s->state;
    int i, through = 0;
    for (i = 0; i < h->count; i++) {
        csim_pose pose;
        if (csim_body_get_pose(s->world, h->ball[i], &pose) == CSIM_OK) through += (double)pose.position.z < 0.28;
    }
    scene_report(s, "through", through);
    scene_report(s, "balls", h->count);
    scene_report(s, "jammed", through < h->count);
}

/* ---- ellipse: the thin ellipse of the complementarity papers drops on a table */

static const scene_key ellipse_keys[] = {{"mu", "0.3", "friction coefficient", NULL}, {NULL, NULL, NULL, NULL}};

static void ellipse_build(scene *s) {
    csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), 0, 0, 8);
    csim_vec3 point[64];
    int i;
    for (i = 0; i < 64; i++) {
        double angle = 2 * 3.14159265358979323846 * (i / 2) / 32;
        point[i] = scene_v3(4 * cos(angle), i % 2 ? 0.5 : -0.5, 2 * sin(angle));
    }
    d.density = 1;
    d.angular_velocity = scene_v3(0, 3, 0);
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    scene_add_rigid(s, &d, csim_hull(point, 64));
}

/* ---- table-pile: a table on four legs and 53 bodies of all rigid shapes poured over it */

static const scene_key table_keys[] = {{"mu", "0.5", "friction coefficient", NULL}, {NULL, NULL, NULL, NULL}};

static void table_build(scene *s) {
    csim_rigid_def d = scene_rigid_def(20, scene_number(s, "mu"), 0, 0, 0.4);
    csim_shape part[5];
    csim_body_id id;
    int i;
    part[0] = csim_box(scene_v3(0.5, 0.35, 0.02));
    part[0].local.position = scene_v3(0, 0, 0.38);
    for (i = 0; i < 4; i++) {
        part[1 + i] = csim_box(scene_v3(0.025, 0.025, 0.38));
        part[1 + i].local.position = scene_v3(i % 2 ? 0.45 : -0.45, i / 2 ? 0.3 : -0.3, -0.02);
    }
    d.shapes = part;
    d.shape_count = 5;
    s->rest_speed = 1e-3;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    if (scene_ok(s, csim_create_rigid(s->world, &d, &id))) scene_watch(s, id);
    for (i = 0; i < s->size - 1 && !s->failed; i++) {
        d = scene_rigid_def(0, scene_number(s, "mu"), 0.11 * (i % 5 - 2) + 0.01 * (i % 3), 0.11 * (i / 5 % 4 - 1.5),
                            0.9 + 0.1 * (i / 20));
        d.density = 500;
        d.angular_damping = 2; /* balls have no rolling friction: they would roll for ever */
        d.pose.rotation = scene_turn(1, i, 0.5, 0.9 * i);
        if (i % 4 == 0)
            scene_add_box(s, &d, 0.04, 0.03, 0.02);
        else if (i % 4 == 1)
            scene_add_rigid(s, &d, csim_cylinder(CSIM_R(0.03), CSIM_R(0.03)));
        else if (i % 4 == 2)
            scene_add_rigid(s, &d, csim_capsule(CSIM_R(0.02), CSIM_R(0.03)));
        else
            scene_add_rigid(s, &d, csim_sphere(CSIM_R(0.03)));
    }
}

/* ---- chairs: four soft legs whose tops are drawn along: their feet stick and slip */

typedef struct chairs {
    csim_body_id leg[4];
    int slips;
    bool slipping[4];
} chairs;

static const scene_key chair_keys[] = {CONTACT_MATERIAL("2e5", "0.6"),
                                       {"speed", "0.05", "of the seat, m/s", NULL},
                                       {"press", "0.002", "how far the seat stands too low, m", NULL},
                                       {NULL, NULL, NULL, NULL}};

enum { CHAIR_ACROSS = 2, CHAIR_UP = 8 };

static void chairs_build(scene *s) {
    chairs *c = (chairs *)s->state;
    const int layer = (CHAIR_ACROSS + 1) * (CHAIR_ACROSS + 1), top = layer * CHAIR_UP;
    int i, k;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    for (i = 0; i < 4; i++) {
        scene_mesh mesh;
        csim_soft_def d;
        if (!scene_mesh_box(&mesh, CHAIR_ACROSS, CHAIR_ACROSS, CHAIR_UP, scene_v3(-0.01, -0.01, 0),
                            scene_v3(0.01, 0.01, 0.12))) {
            scene_fail(s, "out of memory");
            return;
        }
        d = scene_soft_def(s, &mesh, scene_number(s, "mu"), i % 2 ? 0.1 : -0.1, i / 2 ? 0.1 : -0.1,
                           -scene_number(s, "press") + 1e-4);
        c->leg[i] = scene_add_soft(s, &d);
        for (k = 0; k < layer && !s->failed; k++)
            scene_ok(s, csim_body_set_node_motion(s->world, c->leg[i], top + k, CSIM_KINEMATIC));
        scene_mesh_free(&mesh);
    }
}

static void chairs_draw(scene *s) {
    const chairs *c = (const chairs *)s->state;
    const int layer = (CHAIR_ACROSS + 1) * (CHAIR_ACROSS + 1), nodes = layer * (CHAIR_UP + 1);
    csim_real x[3 * (CHAIR_ACROSS + 1) * (CHAIR_ACROSS + 1) * (CHAIR_UP + 1)];
    double t = scene_time(s), speed = t < 0.3 ? 0 : scene_number(s, "speed");
    int i, k;
    for (i = 0; i < 4; i++) {
        csim_body_get_nodes(s->world, c->leg[i], x, 3);
        for (k = nodes - layer; k < nodes && !s->failed; k++)
            scene_ok(s, csim_body_set_node(s->world, c->leg[i], k, csim_v3(x[3 * k], x[3 * k + 1], x[3 * k + 2]),
                                           scene_v3(speed, 0, 0)));
    }
}

/* A foot slips when all of its contacts do. */
static void chairs_count(scene *s) {
    chairs *c = (chairs *)s->state;
    int i, k, count;
    const csim_contact_info *contact = csim_world_contacts(s->world, &count);
    for (i = 0; i < 4; i++) {
        int touching = 0, slipping = 0;
        for (k = 0; k < count; k++) {
            if (contact[k].body_a.index1 != c->leg[i].index1 || contact[k].state == CSIM_CONTACT_OPEN) continue;
            touching++;
            slipping += contact[k].state == CSIM_CONTACT_SLIP;
        }
        if (touching == 0) continue;
        if (slipping == touching && !c->slipping[i]) c->slips++;
        c->slipping[i] = slipping == touching;
    }
}

static void chairs_finish(scene *s) { scene_report(s, "slips", ((const chairs *)s->state)->slips); }

/* ---- everything: every kind of body, shape, material and joint falls into one pen */

enum { EVERYTHING_MOST = 40, EVERYTHING_CLOTH = 7, EVERYTHING_RING = 20, EVERYTHING_TUBE = 8 };

typedef struct everything {
    csim_body_id id[EVERYTHING_MOST];
    csim_body_kind kind[EVERYTHING_MOST];
    int count, uncertified;
} everything;

static const scene_key everything_keys[] = {CONTACT_MATERIAL("1e5", "0.5"),
                                            {"parts", "255",
                                             "sum of 1 rigid bodies, 2 particles, 4 solids, 8 reduced, 16 tree, 32 "
                                             "cable, 64 cloth, 128 joined bodies",
                                             NULL},
                                            {"mass", "1",
                                             "factor of the masses of rigid bodies and particles; --seed turns bodies",
                                             NULL},
                                            {NULL, NULL, NULL, NULL}};

static void everything_keep(scene *s, csim_status status, csim_body_id id) {
    everything *e = (everything *)s->state;
    if (s->failed || !scene_ok(s, status) || e->count == EVERYTHING_MOST) return;
    csim_body_get_kind(s->world, id, &e->kind[e->count]);
    e->id[e->count++] = id;
}

/* To a tenth of a micrometre: the same number whatever the sine of a machine is. */
static csim_real everything_round(double x) { return (csim_real)(floor(1e7 * x + 0.5) / 1e7); }

/* A ring, R 35 mm, r 13 mm: no hull holds its hole. */
static csim_shape everything_ring(scene *s) {
    static csim_real x[3 * EVERYTHING_RING * EVERYTHING_TUBE];
    static int triangle[6 * EVERYTHING_RING * EVERYTHING_TUBE];
    csim_mesh_field_def d = csim_default_mesh_field_def();
    csim_shape none = csim_sphere(CSIM_R(0.02));
    const csim_field *field = NULL;
    csim_error error;
    size_t bytes = 0;
    char *block;
    int i, k, n = 0;
    for (i = 0; i < EVERYTHING_RING; i++)
        for (k = 0; k < EVERYTHING_TUBE; k++, n += 3) {
            const double a = 6.283185307179586 * i / EVERYTHING_RING, b = 6.283185307179586 * k / EVERYTHING_TUBE;
            const int next = (i + 1) % EVERYTHING_RING * EVERYTHING_TUBE, on = (k + 1) % EVERYTHING_TUBE;
            const int at = i * EVERYTHING_TUBE;
            x[n] = everything_round(cos(a) * (0.035 + 0.013 * cos(b)));
            x[n + 1] = everything_round(sin(a) * (0.035 + 0.013 * cos(b)));
            x[n + 2] = everything_round(0.013 * sin(b));
            triangle[2 * n] = at + k, triangle[2 * n + 1] = next + k, triangle[2 * n + 2] = next + on;
            triangle[2 * n + 3] = at + k, triangle[2 * n + 4] = next + on, triangle[2 * n + 5] = at + on;
        }
    d.vertices = x;
    d.vertex_count = n / 3;
    d.triangles = triangle;
    d.triangle_count = 2 * n / 3;
    d.resolution = 32;
    if (csim_mesh_field_bytes(&d, &bytes, &error) != CSIM_OK) scene_fail(s, "%s", error.text);
    block = (char *)scene_memory(s, bytes + 64);
    if (s->failed) return none;
    block += 64 - (uintptr_t)block % 64;
    if (csim_create_mesh_field_in(&d, block, bytes, &field, &error) != CSIM_OK) scene_fail(s, "%s", error.text);
    return s->failed ? none : csim_field_shape(field);
}

/* One of each shape in a grid, and one of two shapes. */
static void everything_rigid(scene *s) {
    csim_vec3 corner[6];
    csim_shape shape[8];
    int i;
    for (i = 0; i < 6; i++)
        corner[i] = scene_v3(i / 2 == 0 ? 0.03 * (1 - 2 * (i % 2)) : 0, i / 2 == 1 ? 0.035 * (1 - 2 * (i % 2)) : 0,
                             i / 2 == 2 ? 0.025 * (1 - 2 * (i % 2)) : 0);
    shape[0] = csim_box(scene_v3(0.03, 0.025, 0.02));
    shape[1] = csim_cylinder(CSIM_R(0.022), CSIM_R(0.025));
    shape[2] = csim_capsule(CSIM_R(0.016), CSIM_R(0.025));
    shape[3] = csim_hull(corner, 6);
    shape[4] = everything_ring(s);
    shape[5] = csim_sphere(CSIM_R(0.022));
    shape[6] = csim_box(scene_v3(0.04, 0.01, 0.01)); /* a cross */
    shape[7] = csim_box(scene_v3(0.01, 0.04, 0.01));
    for (i = 0; i < 7 && !s->failed; i++) {
        csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), 0.07 * (i % 3 - 1) + 0.004 * i,
                                           0.07 * (i / 3 - 1) - 0.003 * i, 0.05 + 0.012 * i);
        csim_body_id id;
        d.pose.rotation = scene_turn(1, 0.4 * i, 0.3, 0.7 * i + 2.39996 * (double)(s->options.seed % 1000));
        d.density = (csim_real)(800 * scene_number(s, "mass"));
        d.angular_damping = 2; /* balls have no rolling friction: they would turn for ever */
        d.shapes = shape + i;
        d.shape_count = i == 6 ? 2 : 1;
        everything_keep(s, csim_create_rigid(s->world, &d, &id), id);
    }
}

static void everything_particles(scene *s) {
    csim_particle_def d = csim_default_particle_def();
    csim_body_id id;
    int i;
    d.radius = CSIM_R(0.015);
    d.mass = (csim_real)(0.02 * scene_number(s, "mass"));
    d.surface.friction = (csim_real)scene_number(s, "mu");
    for (i = 0; i < 3; i++) {
        d.position = scene_v3(0.09 - 0.05 * i, 0.09 - 0.08 * i, 0.13 + 0.02 * i);
        everything_keep(s, csim_create_particle(s->world, &d, &id), id);
    }
}

/* A block or ball of each material. */
static void everything_solids(scene *s) {
    static const csim_material material[3] = {CSIM_COROTATIONAL, CSIM_NEO_HOOKEAN, CSIM_ST_VENANT_KIRCHHOFF};
    int i;
    for (i = 0; i < 3 && !s->failed; i++) {
        const csim_vec3 half = scene_v3(0.024, 0.024, 0.024);
        scene_mesh mesh;
        csim_soft_def d;
        csim_body_id id;
        if (!(i == 0 ? scene_mesh_ball(&mesh, 2, 1, 0.03)
                     : scene_mesh_box(&mesh, 2, 2, 2, csim_scale(-1, half), half))) {
            scene_fail(s, "out of memory");
            return;
        }
        d = scene_soft_def(s, &mesh, scene_number(s, "mu"), 0.075 * (i - 1), 0.05 * (1 - i), 0.21);
        d.pose.rotation = scene_turn(1, 2, 3, i);
        d.material = material[i];
        everything_keep(s, csim_create_soft(s->world, &d, &id), id);
        scene_mesh_free(&mesh);
    }
}

static void everything_reduced(scene *s) {
    modes_def m = modes_default();
    csim_reduced_def d = csim_default_reduced_def();
    csim_modes *modes = NULL;
    csim_body_id id;
    csim_error error;
    scene_mesh mesh;
    if (s->failed) return;
    if (!scene_mesh_box(&mesh, 4, 2, 1, scene_v3(-0.05, -0.025, -0.0125), scene_v3(0.05, 0.025, 0.0125))) {
        scene_fail(s, "out of memory");
        return;
    }
    m.vertices = mesh.vertices;
    m.vertex_count = mesh.vertex_count;
    m.tets = mesh.tets;
    m.tet_count = mesh.tet_count;
    m.young = (csim_real)(5 * scene_number(s, "E"));
    m.modes = 5;
    m.derivatives = 3;
    if (modes_create(&m, NULL, &modes, &error) != CSIM_OK) scene_fail(s, "%s", error.text);
    d.modes = modes;
    d.pose.position = scene_v3(-0.03, -0.06, 0.28);
    d.pose.rotation = scene_turn(1, 1, 0, 0.6);
    d.stiffness_damping = (csim_real)scene_number(s, "beta");
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) everything_keep(s, csim_create_reduced(s->world, &d, &id), id);
    modes_destroy(modes, NULL);
    scene_mesh_free(&mesh);
}

/* A robot that nothing holds: a trunk, an arm with a slide in it, a leg on a ball. */
static void everything_tree(scene *s) {
    static const csim_tree_joint joint[4] = {CSIM_TREE_FLOATING, CSIM_TREE_REVOLUTE, CSIM_TREE_PRISMATIC,
                                             CSIM_TREE_BALL};
    csim_tree_link_def link[4];
    csim_shape shape[4];
    csim_tree_def d = csim_default_tree_def();
    csim_body_id id;
    int i;
    for (i = 0; i < 4; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = i == 3 ? 0 : i - 1;
        link[i].joint = joint[i];
        shape[i] = i ? csim_capsule(CSIM_R(0.011), CSIM_R(0.02)) : csim_box(scene_v3(0.025, 0.02, 0.012));
        if (i) shape[i].local.position = scene_v3(0, 0, 0.03);
        link[i].shapes = shape + i;
        link[i].shape_count = 1;
        link[i].damping = i ? CSIM_R(2e-3) : 0;
        link[i].frame.position = i == 1 ? scene_v3(0.03, 0, 0) : i == 2 ? scene_v3(0, 0, 0.05) : scene_v3(-0.03, 0, 0);
    }
    link[1].axis = csim_v3(0, 1, 0);
    link[1].lower = -1, link[1].upper = CSIM_R(1.5);
    link[2].lower = 0, link[2].upper = CSIM_R(0.02);
    link[2].damping = 1;
    d.links = link;
    d.link_count = 4;
    d.pose.position = scene_v3(0.05, -0.04, 0.29);
    d.pose.rotation = scene_turn(0, 1, 1, 0.5);
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) everything_keep(s, csim_create_tree(s->world, &d, &id), id);
}

static void everything_cable(scene *s) {
    csim_cable_def d = csim_default_cable_def();
    csim_body_id id;
    d.start = scene_v3(-0.11, 0.03, 0.33);
    d.end = scene_v3(0.11, 0.06, 0.35);
    d.segments = 8;
    d.radius = CSIM_R(0.008);
    d.young = CSIM_R(1e5); /* a cord of rubber */
    d.stiffness_damping = CSIM_R(0.01);
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) everything_keep(s, csim_create_cable(s->world, &d, &id), id);
}

static void everything_cloth(scene *s) {
    enum { N = EVERYTHING_CLOTH };
    csim_real x[3 * N * N];
    int triangle[6 * (N - 1) * (N - 1)], i, k, *t = triangle;
    csim_cloth_def d = csim_default_cloth_def();
    csim_body_id id;
    for (i = 0; i < N * N; i++) {
        x[3 * i] = (csim_real)(0.2 * (i % N / (N - 1.0) - 0.5));
        x[3 * i + 1] = (csim_real)(0.2 * (i / N / (N - 1.0) - 0.5));
        x[3 * i + 2] = 0;
    }
    for (k = 0; k + 1 < N; k++)
        for (i = 0; i + 1 < N; i++) {
            const int a = k * N + i, turned = (i + k) % 2; /* diagonals both ways */
            *t++ = a, *t++ = a + 1, *t++ = turned ? a + N + 1 : a + N;
            *t++ = turned ? a : a + 1, *t++ = a + N + 1, *t++ = a + N;
        }
    d.vertices = x;
    d.vertex_count = N * N;
    d.triangles = triangle;
    d.triangle_count = 2 * (N - 1) * (N - 1);
    d.pose.position = scene_v3(0, 0, 0.4);
    d.young = CSIM_R(1e5);
    d.thickness = CSIM_R(2e-3);
    d.stiffness_damping = CSIM_R(5e-3);
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) everything_keep(s, csim_create_cloth(s->world, &d, &id), id);
}

/* Two boxes on a hinge, one of them on a rope to a ball; a particle on a spring to it. */
static void everything_joined(scene *s) {
    csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), 0, 0, 0);
    csim_shape plate = csim_box(scene_v3(0.025, 0.03, 0.006)), ball = csim_sphere(CSIM_R(0.018));
    csim_particle_def p = csim_default_particle_def();
    csim_joint_def j = csim_default_joint_def();
    csim_spring_def spring = csim_default_spring_def();
    csim_body_id id[4];
    csim_link_id link;
    int i;
    d.density = (csim_real)(800 * scene_number(s, "mass"));
    d.angular_damping = 2;
    d.shape_count = 1;
    for (i = 0; i < 3 && !s->failed; i++) {
        d.shapes = i == 2 ? &ball : &plate;
        d.pose.position = i == 2 ? scene_v3(0.09, 0, 0.46) : scene_v3(-0.03 + 0.06 * i, 0, 0.46);
        everything_keep(s, csim_create_rigid(s->world, &d, id + i), id[i]);
    }
    p.position = scene_v3(-0.09, 0, 0.46);
    p.radius = CSIM_R(0.012);
    p.mass = (csim_real)(0.02 * scene_number(s, "mass"));
    if (!s->failed) everything_keep(s, csim_create_particle(s->world, &p, id + 3), id[3]);
    if (s->failed) return;
    j.kind = CSIM_JOINT_HINGE;
    j.a.body = id[0], j.b.body = id[1];
    j.a.point = j.b.point = scene_v3(0, 0, 0.46);
    j.axis = csim_v3(0, 1, 0);
    scene_ok(s, csim_create_joint(s->world, &j, &link));
    j = csim_default_joint_def();
    j.kind = CSIM_JOINT_ROPE;
    j.a.body = id[1], j.b.body = id[2];
    j.a.point = scene_v3(0.055, 0, 0.46), j.b.point = scene_v3(0.09, 0, 0.46);
    scene_ok(s, csim_create_joint(s->world, &j, &link));
    spring.a.body = id[0], spring.b.body = id[3];
    spring.a.point = scene_v3(-0.055, 0, 0.46);
    spring.stiffness = 50;
    spring.damping = CSIM_R(0.5);
    scene_ok(s, csim_create_spring(s->world, &spring, &link));
}

static void everything_build(scene *s) {
    static void (*const part[8])(scene *s) = {everything_rigid, everything_particles, everything_solids,
                                              everything_reduced, everything_tree, everything_cable,
                                              everything_cloth, everything_joined};
    int i;
    s->rest_speed = 1e-3; /* as for every pile */
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    heap_walls(s, 0.13, 0.12);
    for (i = 0; i < 8; i++)
        if ((int)scene_number(s, "parts") >> i & 1) part[i](s);
}

static void everything_measure(scene *s) {
    everything *e = (everything *)s->state;
    e->uncertified += (csim_world_stats(s->world).flags & CSIM_FLAG_UNCERTIFIED) != 0;
}

static int everything_index(const everything *e, csim_body_id id) {
    int i;
    for (i = 0; i < e->count && e->id[i].index1 != id.index1; i++) {}
    return i < e->count ? i : -1;
}

/* Who carries whom at the end: bodies in the largest cluster, kinds that touch another kind, pairs of kinds. */
static void everything_finish(scene *s) {
    const everything *e = (const everything *)s->state;
    const csim_contact_info *c;
    int cluster[EVERYTHING_MOST], size[EVERYTHING_MOST] = {0}, i, k, count, largest = 0, kinds = 0, pairs = 0;
    bool touch[CSIM_BODY_KIND_COUNT_][CSIM_BODY_KIND_COUNT_];
    memset(touch, 0, sizeof touch);
    for (i = 0; i < e->count; i++) cluster[i] = i;
    c = csim_world_contacts(s->world, &count);
    for (i = 0; i < count; i++) {
        const int a = everything_index(e, c[i].body_a), b = everything_index(e, c[i].body_b);
        int from;
        if (a < 0 || b < 0 || c[i].state == CSIM_CONTACT_OPEN) continue;
        touch[e->kind[a]][e->kind[b]] = touch[e->kind[b]][e->kind[a]] = true;
        for (from = cluster[a], k = 0; k < e->count; k++)
            if (cluster[k] == from) cluster[k] = cluster[b];
    }
    for (i = 0; i < e->count; i++)
        if (++size[cluster[i]] > largest) largest = size[cluster[i]];
    for (i = 0; i < CSIM_BODY_KIND_COUNT_; i++) {
        bool other = false;
        for (k = 0; k < CSIM_BODY_KIND_COUNT_; k++) {
            other = other || (k != i && touch[i][k]);
            pairs += k >= i && touch[i][k];
        }
        kinds += other;
    }
    scene_report(s, "bodies", e->count);
    scene_report(s, "in_heap", largest);
    scene_report(s, "kinds_touching", kinds);
    scene_report(s, "pairs_of_kinds", pairs);
    scene_report(s, "uncertified", e->uncertified);
    scene_report(s, "penetration_mm", 1e3 * csim_world_stats(s->world).penetration);
}

/* ---- */

enum { CONTACT_DOUBLE = CSIM_REAL_SIZE == 8 };

const scene_kind scene_contact_kinds[] = {
    {"heap", "--size bodies, a third of them soft, poured into a pen", "", 0.01, 4, 0, 18, CSIM_BACKWARD_EULER,
     SCENE_RESTS | SCENE_PACE, 0, heap_keys, heap_build, NULL, NULL, NULL},
    {"everything", "every kind of body, shape, material and joint falls into one pen",
     "bodies in_heap kinds_touching pairs_of_kinds uncertified penetration_mm", 0.01, 4, 0, 0, CSIM_BACKWARD_EULER,
     SCENE_RESTS | SCENE_PACE, sizeof(everything), everything_keys, everything_build, NULL, everything_measure,
     everything_finish},
    {"pinch", "45 g held between a plate and a pressed one: --set payload=, certified at 1e-8",
     "slip_um_per_s normal_n carried_n", 0.01, 5, CONTACT_DOUBLE ? 1e-8 : 0, 0, CSIM_BACKWARD_EULER, 0, sizeof(pinch),
     pinch_keys, pinch_build, pinch_press, pinch_measure, pinch_finish},
    {"jamming", "--size soft balls over a slot narrower than two of them", "through balls jammed", 0.01, 3, 0, 12,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(hopper), hopper_keys, hopper_build, NULL, NULL, hopper_finish},
    {"ellipse", "a thin ellipse of axes 8 and 4 drops from height 8, turning", "", 0.05, 15, 0, 0, CSIM_BACKWARD_EULER,
     SCENE_RESTS, 0, ellipse_keys, ellipse_build, NULL, NULL, NULL},
    {"table-pile", "--size - 1 bodies poured over a table", "", 0.01, 12, 1e-3, 54, CSIM_BACKWARD_EULER,
     SCENE_RESTS | SCENE_SAT, 0, table_keys, table_build, NULL, NULL, NULL},
    {"chairs", "four soft legs drawn along by their tops", "slips", 0.005, 3, 0, 0, CSIM_BACKWARD_EULER, 0,
     sizeof(chairs), chair_keys, chairs_build, chairs_draw, chairs_count, chairs_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
