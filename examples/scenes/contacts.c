/* contacts: two-way contact between solids and everything else: heaps, a grip, a hopper, legs that stick and slip. */
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

/* ---- */

enum { CONTACT_DOUBLE = CSIM_REAL_SIZE == 8 };

const scene_kind scene_contact_kinds[] = {
    {"heap", "--size bodies, a third of them soft, poured into a pen", "", 0.01, 4, 0, 18, CSIM_BACKWARD_EULER,
     SCENE_RESTS | SCENE_PACE, 0, heap_keys, heap_build, NULL, NULL, NULL},
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
