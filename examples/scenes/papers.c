/* papers: scenes of the papers with bodies of several kinds: a stiff beam pushed into a slot, chain mail that catches a
   ball, a hand that takes a glass, woven strips on pegs. */
#include "scene.h"
#include <math.h>
#include <string.h>

static const double paper_pi = 3.14159265358979323846, paper_g = 9.81;

static void paper_velocity(scene *s, csim_body_id id, double x, double y, double z) {
    if (!s->failed) scene_ok(s, csim_body_set_velocity(s->world, id, scene_v3(x, y, z), csim_v3(0, 0, 0)));
}

/* How fast something that goes by way between the times a and b goes in this step. */
static double paper_speed(const scene *s, double a, double b, double way) {
    double t = scene_time(s);
    return way * (scene_ease(t + s->h, a, b) - scene_ease(t, a, b)) / s->h;
}

static csim_pose paper_pose(const scene *s, csim_body_id id) {
    csim_pose pose = csim_pose_identity();
    csim_body_get_pose(s->world, id, &pose);
    return pose;
}

/* ---- beam: 16 rigid bodies on ball joints that springs make stiff, held at one end and pushed into a slot that is
   narrower than its aim is good. The flexible beam of the non-smooth Newton paper. */

enum { BEAM_BODIES = 16, BEAM_JOINTS = BEAM_BODIES - 1 };
static const double beam_length = 0.03 /* of a body */, beam_half = 0.01, beam_mass = 0.01, beam_z = 0.3;

typedef struct beam {
    csim_body_id hand, body[BEAM_BODIES];
    csim_link_id joint[BEAM_BODIES]; /* the first one welds the beam to the hand */
    double sag, open, slot, certified;
} beam;

static const scene_key beam_keys[] = {{"mu", "0.2", "friction coefficient", NULL},
                                      {"stiffness", "100", "of each joint against bending, N m/rad", NULL},
                                      {"aim", "0.004", "how far the slot lies above the hand, m", NULL},
                                      {"play", "0.001", "of the beam in the slot, m", NULL},
                                      {NULL, NULL, NULL, NULL}};

static void beam_spring(scene *s, csim_body_id a, csim_vec3 from, csim_body_id b, csim_vec3 to, double stiffness) {
    csim_spring_def d = csim_default_spring_def();
    csim_link_id id;
    d.a.body = a;
    d.a.point = from;
    d.b.body = b;
    d.b.point = to;
    d.stiffness = (csim_real)stiffness;
    d.damping = (csim_real)(5e-3 * stiffness);
    if (!s->failed) scene_ok(s, csim_create_spring(s->world, &d, &id));
}

/* Joint k between bodies k - 1 and k. Four springs along the beam at (+-a, +-a), which resist bending by 4 k a^2, and
   four across its sides, which resist twist and, the two above and below, bending by 2 k a^2 l^2 / (l^2 + 4 a^2). */
static void beam_joint(scene *s, beam *b, int k, double x) {
    const double a = beam_half, l = beam_length, share = l * l / (l * l + 4 * a * a);
    const double stiffness = scene_number(s, "stiffness") / (4 * a * a * (1 + 0.5 * share));
    csim_joint_def d = csim_default_joint_def();
    int i;
    d.a.body = b->body[k - 1];
    d.b.body = b->body[k];
    d.a.point = d.b.point = scene_v3(x, 0, beam_z);
    if (!s->failed) scene_ok(s, csim_create_joint(s->world, &d, &b->joint[k]));
    for (i = 0; i < 4; i++) {
        double y = i % 2 ? a : -a, z = i / 2 ? a : -a;
        csim_vec3 from = scene_v3(x - l / 2, y, beam_z + z);
        beam_spring(s, b->body[k - 1], from, b->body[k], scene_v3(x + l / 2, y, beam_z + z), stiffness);
        beam_spring(s, b->body[k - 1], from, b->body[k],
                    i % 3 ? scene_v3(x + l / 2, y, beam_z - z) : scene_v3(x + l / 2, -y, beam_z + z), stiffness);
    }
}

/* Two jaws with slopes before them. */
static void beam_slot(scene *s, double x, double z) {
    double half = beam_half + 0.5 * scene_number(s, "play");
    int side;
    for (side = -1; side <= 1; side += 2) {
        csim_rigid_def d = scene_rigid_def(1, scene_number(s, "mu"), x + 0.06, 0, z + side * (half + 0.02));
        d.motion = CSIM_STATIC;
        scene_add_box(s, &d, 0.06, 0.03, 0.02);
        d.pose.rotation = scene_turn(0, 1, 0, side * paper_pi / 6); /* its lower edge at the mouth */
        d.pose.position = scene_v3(x - 0.03 * cos(paper_pi / 6) + 0.005 * sin(paper_pi / 6), 0,
                                   z + side * (half + 0.03 * sin(paper_pi / 6) + 0.005 * cos(paper_pi / 6)));
        scene_add_box(s, &d, 0.03, 0.03, 0.005);
    }
}

static void beam_build(scene *s) {
    beam *b = (beam *)s->state;
    csim_rigid_def d = scene_rigid_def(1, scene_number(s, "mu"), -0.04, 0, beam_z);
    csim_joint_def weld = csim_default_joint_def();
    int k;
    scene_begin(s);
    d.motion = CSIM_KINEMATIC;
    d.surface.group = 1; /* what is jointed does not collide */
    b->hand = scene_add_box(s, &d, 0.04, 0.02, 0.02);
    d.motion = CSIM_DYNAMIC;
    d.mass = (csim_real)beam_mass;
    for (k = 0; k < BEAM_BODIES; k++) {
        d.pose.position = scene_v3(beam_length * (k + 0.5), 0, beam_z);
        b->body[k] = scene_add_box(s, &d, beam_length / 2, beam_half, beam_half);
        if (k > 0) beam_joint(s, b, k, beam_length * k);
    }
    weld.kind = CSIM_JOINT_WELD;
    weld.a.body = b->hand;
    weld.b.body = b->body[0];
    weld.a.point = weld.b.point = scene_v3(0, 0, beam_z);
    if (!s->failed) scene_ok(s, csim_create_joint(s->world, &weld, &b->joint[0]));
    b->slot = beam_length * BEAM_BODIES + 0.08;
    beam_slot(s, b->slot, beam_z + scene_number(s, "aim"));
}

static void beam_drive(scene *s) { paper_velocity(s, ((beam *)s->state)->hand, paper_speed(s, 1, 2.5, 0.18), 0, 0); }

static csim_vec3 beam_tip(const scene *s, const beam *b) {
    return csim_pose_point(paper_pose(s, b->body[BEAM_BODIES - 1]), scene_v3(beam_length / 2, 0, 0));
}

static void beam_measure(scene *s) {
    beam *b = (beam *)s->state;
    int k;
    for (k = 0; k < BEAM_BODIES; k++) {
        csim_joint_state state;
        if (csim_joint_get(s->world, b->joint[k], &state) == CSIM_OK) b->open = fmax(b->open, (double)state.error);
    }
    if (scene_time(s) < 1 + s->h / 2) b->sag = beam_z - (double)beam_tip(s, b).z;
}

/* Bodies beyond a joint turn it by their moment over its stiffness. */
static double beam_statics(double stiffness) {
    const double l = beam_length;
    double sag = 0;
    int j, k;
    for (j = 1; j <= BEAM_JOINTS; j++) {
        double moment = 0;
        for (k = j; k < BEAM_BODIES; k++) moment += beam_mass * paper_g * (k + 0.5 - j) * l;
        sag += moment / stiffness * (BEAM_BODIES - j) * l;
    }
    return sag;
}

static void beam_finish(scene *s) {
    const beam *b = (const beam *)s->state;
    scene_report(s, "sag_mm", 1e3 * b->sag);
    scene_report(s, "statics_sag_mm", 1e3 * beam_statics(scene_number(s, "stiffness")));
    scene_report(s, "inserted_mm", 1e3 * ((double)beam_tip(s, b).x - b->slot));
    scene_report(s, "tip_off_mm", 1e3 * ((double)beam_tip(s, b).z - beam_z - scene_number(s, "aim")));
    scene_report(s, "joint_open_m", b->open);
}

/* ---- net: chain mail of --size^2 flat rings, neighbours linked by upright ones, hung by its corners; a ball falls in.
   Nothing but contact holds it together. */

enum { NET_CORNERS = 8, NET_MOST = 12 };
static const double net_ring = 0.011, net_wire = 0.0015, net_pitch = 0.0254, net_height = 0.3;
static const double net_upright = 0.0103; /* radius of the upright ones: four of them meet in a flat one */

typedef struct net {
    csim_body_id flat[NET_MOST][NET_MOST], link[2][NET_MOST][NET_MOST]; /* link[0][i][j]: from flat i j along x */
    csim_body_id ball;
    int n;
} net;

static const scene_key net_keys[] = {{"mu", "0.3", "friction coefficient", NULL},
                                     {"drop", "0.06", "height of the ball over the net, m", NULL},
                                     {"mass", "0.1", "of the ball, kg", NULL},
                                     {NULL, NULL, NULL, NULL}};

/* Sides, not corners, lie on the axes. */
static csim_vec3 net_corner(double radius, int k) {
    double angle = 2 * paper_pi * (k + 0.5) / NET_CORNERS, r = radius / cos(paper_pi / NET_CORNERS);
    return scene_v3(r * cos(angle), r * sin(angle), 0);
}

/* A ring of capsules about the axis z of its own. */
static csim_body_id net_add(scene *s, double radius, csim_vec3 at, csim_quat turn, bool fixed) {
    csim_rigid_def d = scene_rigid_def(0, scene_number(s, "mu"), (double)at.x, (double)at.y, (double)at.z);
    csim_shape part[NET_CORNERS];
    csim_body_id id;
    int k;
    memset(&id, 0, sizeof id);
    for (k = 0; k < NET_CORNERS; k++) {
        csim_vec3 a = net_corner(radius, k), b = net_corner(radius, k + 1);
        part[k] = csim_capsule((csim_real)net_wire, (csim_real)(0.5 * csim_length(csim_sub(b, a))));
        part[k].local.position = csim_scale(CSIM_R(0.5), csim_add(a, b));
        part[k].local.rotation = scene_turn(-(double)(b.y - a.y), (double)(b.x - a.x), 0, paper_pi / 2);
    }
    d.pose.rotation = turn;
    d.density = 7800;
    d.shapes = part;
    d.shape_count = NET_CORNERS;
    d.motion = fixed ? CSIM_STATIC : CSIM_DYNAMIC;
    d.linear_damping = d.angular_damping = 2; /* of wire that rubs and gives */
    if (!s->failed && scene_ok(s, csim_create_rigid(s->world, &d, &id))) scene_watch(s, id);
    return id;
}

static void net_build(scene *s) {
    net *m = (net *)s->state;
    csim_rigid_def ball = scene_rigid_def(scene_number(s, "mass"), scene_number(s, "mu"), 0, 0, 0);
    int n = s->size < 2 ? 2 : s->size > NET_MOST ? NET_MOST : s->size, i, j;
    double half = 0.5 * (n - 1) * net_pitch, radius = 0.02;
    m->n = n;
    s->rest_speed = 1e-2;
    scene_begin(s);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            double x = i * net_pitch - half, y = j * net_pitch - half;
            bool corner = (i == 0 || i == n - 1) && (j == 0 || j == n - 1);
            m->flat[i][j] = net_add(s, net_ring, scene_v3(x, y, net_height), csim_quat_identity(), corner);
            if (i < n - 1) /* upright, in the plane x z */
                m->link[0][i][j] = net_add(s, net_upright, scene_v3(x + net_pitch / 2, y, net_height),
                                           scene_turn(1, 0, 0, paper_pi / 2), false);
            if (j < n - 1)
                m->link[1][i][j] = net_add(s, net_upright, scene_v3(x, y + net_pitch / 2, net_height),
                                           scene_turn(0, 1, 0, paper_pi / 2), false);
        }
    ball.pose.position = scene_v3(0.004, 0.003, net_height + radius + scene_number(s, "drop"));
    ball.angular_damping = 2; /* balls have no rolling friction: they would turn for ever */
    m->ball = scene_add_rigid(s, &ball, csim_sphere((csim_real)radius));
}

/* Part of 4 pi that segment b sees of segment a: the quadrilateral of directions between them, signed. */
static double net_solid_angle(const csim_vec3 *a, const csim_vec3 *b) {
    csim_vec3 r[4], n[4];
    double sum = 0, side;
    int k;
    r[0] = csim_sub(b[0], a[0]), r[1] = csim_sub(b[1], a[0]);
    r[2] = csim_sub(b[1], a[1]), r[3] = csim_sub(b[0], a[1]);
    for (k = 0; k < 4; k++) n[k] = csim_normalize(csim_cross(r[k], r[(k + 1) % 4]));
    for (k = 0; k < 4; k++) sum += asin(fmax(-1, fmin(1, (double)csim_dot(n[k], n[(k + 1) % 4]))));
    side = (double)csim_dot(csim_cross(csim_sub(b[1], b[0]), csim_sub(a[1], a[0])), r[0]);
    return side > 0 ? sum : -sum;
}

/* Gauss' linking number of two rings: +-1 as long as one goes through the other. */
static double net_linking(const scene *s, csim_body_id upright, csim_body_id flat) {
    csim_pose p = paper_pose(s, upright), q = paper_pose(s, flat);
    double sum = 0;
    int i, j;
    for (i = 0; i < NET_CORNERS; i++)
        for (j = 0; j < NET_CORNERS; j++) {
            csim_vec3 a[2], b[2];
            a[0] = csim_pose_point(p, net_corner(net_upright, i));
            a[1] = csim_pose_point(p, net_corner(net_upright, i + 1));
            b[0] = csim_pose_point(q, net_corner(net_ring, j));
            b[1] = csim_pose_point(q, net_corner(net_ring, j + 1));
            sum += net_solid_angle(a, b);
        }
    return sum / (4 * paper_pi);
}

static void net_finish(scene *s) {
    const net *m = (const net *)s->state;
    int i, j, axis, pairs = 0, linked = 0, end;
    for (axis = 0; axis < 2; axis++)
        for (i = 0; i < m->n - (axis == 0); i++)
            for (j = 0; j < m->n - (axis == 1); j++)
                for (end = 0; end < 2; end++, pairs++) {
                    csim_body_id flat = m->flat[i + (axis == 0 ? end : 0)][j + (axis == 1 ? end : 0)];
                    linked += fabs(fabs(net_linking(s, m->link[axis][i][j], flat)) - 1) < 1e-3;
                }
    scene_report(s, "rings", s->body_count - 1);
    scene_report(s, "links", pairs);
    scene_report(s, "links_whole", linked);
    scene_report(s, "ball_below_corners_mm", 1e3 * (net_height - (double)paper_pose(s, m->ball).position.z));
}

/* ---- grasp: a hand of three fingers with hinges closes on a glass and lifts it; h = 2.5 ms. Joints and contacts are
   both constraints here, as in the constraint-stabilised scheme: --set stabilization= is its gamma. */

enum { GRASP_FINGERS = 3, GRASP_STAVES = 12 };
static const double glass_radius = 0.034, glass_height = 0.12, glass_wall = 0.003, finger_radius = 0.008;

typedef struct grasp {
    csim_body_id palm, glass, bone[GRASP_FINGERS][2];
    csim_link_id hinge[GRASP_FINGERS][2];
    double open, open_angle, deepest, held, lowest;
} grasp;

static const scene_key grasp_keys[] = {{"mu", "0.5", "friction coefficient", NULL},
                                       {"torque", "0.5", "of each finger's root, N m; a third of it farther out", NULL},
                                       {"mass", "0.2", "of the glass, kg", NULL},
                                       {NULL, NULL, NULL, NULL}};

static void grasp_glass(scene *s, grasp *g) {
    csim_rigid_def d = scene_rigid_def(scene_number(s, "mass"), scene_number(s, "mu"), 0, 0, glass_height / 2);
    csim_shape part[GRASP_STAVES + 1];
    int k;
    for (k = 0; k < GRASP_STAVES; k++) {
        double angle = 2 * paper_pi * (k + 0.5) / GRASP_STAVES, r = glass_radius - glass_wall / 2;
        part[k] = csim_box(scene_v3(glass_wall / 2, glass_radius * tan(paper_pi / GRASP_STAVES), glass_height / 2));
        part[k].local.position = scene_v3(r * cos(angle), r * sin(angle), 0);
        part[k].local.rotation = scene_turn(0, 0, 1, angle);
    }
    part[k] = csim_cylinder((csim_real)(glass_radius - glass_wall), CSIM_R(0.002));
    part[k].local.position = scene_v3(0, 0, 0.002 - glass_height / 2);
    d.shapes = part;
    d.shape_count = GRASP_STAVES + 1;
    if (!s->failed && scene_ok(s, csim_create_rigid(s->world, &d, &g->glass))) scene_watch(s, g->glass);
}

/* A finger from the palm along x in two bones, on hinges about z; it curls towards y = 0. */
static void grasp_finger(scene *s, grasp *g, int f) {
    static const double height[GRASP_FINGERS] = {0.045, 0.085, 0.065}, length[2] = {0.07, 0.056};
    double y = f < 2 ? 0.058 : -0.058, x = -0.052;
    int k;
    for (k = 0; k < 2; k++) {
        csim_rigid_def d = scene_rigid_def(k ? 0.05 : 0.1, scene_number(s, "mu"), x + length[k] / 2, y, height[f]);
        csim_joint_def hinge = csim_default_joint_def();
        d.pose.rotation = scene_turn(0, 1, 0, paper_pi / 2);
        d.surface.group = 1;
        g->bone[f][k] = scene_add_rigid(s, &d, csim_capsule((csim_real)finger_radius, (csim_real)(length[k] / 2)));
        hinge.kind = CSIM_JOINT_HINGE;
        hinge.a.body = g->bone[f][k];
        hinge.b.body = k ? g->bone[f][0] : g->palm;
        hinge.a.point = hinge.b.point = scene_v3(x, y, height[f]);
        hinge.axis = csim_v3(0, 0, f < 2 ? CSIM_R(-1) : 1);
        hinge.motor.kind = CSIM_MOTOR_VELOCITY;
        hinge.motor.target = CSIM_R(1.5);
        hinge.motor.force = (csim_real)(scene_number(s, "torque") / (k ? 3 : 1));
        if (!s->failed) scene_ok(s, csim_create_joint(s->world, &hinge, &g->hinge[f][k]));
        x += length[k];
    }
}

static void grasp_build(scene *s) {
    grasp *g = (grasp *)s->state;
    csim_rigid_def palm = scene_rigid_def(1, scene_number(s, "mu"), -0.065, 0, 0.065);
    int f;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    palm.motion = CSIM_KINEMATIC;
    palm.surface.group = 1;
    g->palm = scene_add_box(s, &palm, 0.012, 0.07, 0.04);
    grasp_glass(s, g);
    for (f = 0; f < GRASP_FINGERS; f++) grasp_finger(s, g, f);
}

static void grasp_drive(scene *s) { paper_velocity(s, ((grasp *)s->state)->palm, 0, 0, paper_speed(s, 1.2, 2, 0.1)); }

/* Height of the glass over the palm. */
static double grasp_height(const scene *s, const grasp *g) {
    return (double)(paper_pose(s, g->glass).position.z - paper_pose(s, g->palm).position.z);
}

static void grasp_measure(scene *s) {
    grasp *g = (grasp *)s->state;
    int f, k;
    g->deepest = fmax(g->deepest, csim_world_stats(s->world).penetration);
    for (f = 0; f < GRASP_FINGERS; f++)
        for (k = 0; k < 2; k++) {
            csim_joint_state state;
            if (csim_joint_get(s->world, g->hinge[f][k], &state) != CSIM_OK) continue;
            g->open = fmax(g->open, (double)state.error);
            g->open_angle = fmax(g->open_angle, (double)state.error_angle);
        }
    if (scene_time(s) < 1.2) g->held = grasp_height(s, g);
}

static void grasp_finish(scene *s) {
    const grasp *g = (const grasp *)s->state;
    double slip = g->held - grasp_height(s, g), rise = (double)paper_pose(s, g->glass).position.z - glass_height / 2;
    scene_report(s, "lifted_mm", 1e3 * rise);
    scene_report(s, "slip_mm", 1e3 * slip);
    scene_report(s, "held", rise > 0.09 ? 1 : 0);
    scene_report(s, "penetration_mm", 1e3 * g->deepest);
    scene_report(s, "penetration_end_mm", 1e3 * csim_world_stats(s->world).penetration);
    scene_report(s, "joint_open_m", g->open);
    scene_report(s, "joint_open_rad", g->open_angle);
}

/* ---- woven: strips woven over and under each other hang on pegs by friction alone, nine times: three coefficients of
   friction by three stiffnesses. Those hold whose bending presses hard enough. */

enum { WOVEN_STRIPS = 3, WOVEN_ALONG = 20, WOVEN_ACROSS = 2 };
static const double woven_pitch = 0.03, woven_width = 0.012, woven_thick = 0.004, woven_length = 0.1;
static const double woven_apart = 0.16, woven_peg = 0.004;

typedef struct woven {
    csim_body_id strip[9][2 * WOVEN_STRIPS]; /* the upright ones first */
    double start[9][2 * WOVEN_STRIPS];
} woven;

static const scene_key woven_keys[] = {{"mu", "0.3", "middle coefficient of friction; others: 0.2 less and more", NULL},
                                       {"E", "2e6", "middle Young's modulus, Pa", NULL},
                                       {"ratio", "4", "of neighbouring moduli", NULL},
                                       {"only", "0", "1 to 9: this piece alone, counted as they are listed", NULL},
                                       {"drag", "20", "of the air, 1/s: what falls does so slowly", NULL},
                                       {"nu", "0.4", "Poisson's ratio", NULL},
                                       {"rho", "1000", "density, kg/m^3", NULL},
                                       {"beta", "2e-3", "stiffness-proportional damping, s", NULL},
                                       {NULL, NULL, NULL, NULL}};

/* Puts the nodes of a straight strip where the weave leads it: a wave of half the thickness, flat where it meets
   others, up or down by its number. */
static void woven_wave(scene *s, csim_body_id id, const scene_mesh *mesh, csim_vec3 centre, bool upright, int number) {
    double sign = (number % 2 ? -1 : 1) * (upright ? 1 : -1);
    int v;
    for (v = 0; v < mesh->vertex_count && !s->failed; v++) {
        const csim_real *x = mesh->vertices + 3 * v;
        double along = (double)x[0], shape = fmax(-1, fmin(1, 2 * cos(paper_pi * along / woven_pitch)));
        double wave = sign * 0.51 * woven_thick * shape;
        csim_vec3 at = upright ? scene_v3((double)x[1], (double)x[2] + wave, along)
                               : scene_v3(along, wave - (double)x[2], (double)x[1]); /* turned, not mirrored */
        scene_ok(s, csim_body_set_node(s->world, id, v, csim_add(centre, at), csim_v3(0, 0, 0)));
    }
}

static void woven_composite(scene *s, woven *w, int which, double mu, double young, csim_vec3 centre) {
    scene_mesh mesh;
    csim_soft_def d;
    int i;
    if (!scene_mesh_box(&mesh, WOVEN_ALONG, WOVEN_ACROSS, 1,
                        scene_v3(-woven_length / 2, -woven_width / 2, -woven_thick / 2),
                        scene_v3(woven_length / 2, woven_width / 2, woven_thick / 2))) {
        scene_fail(s, "out of memory");
        return;
    }
    d = scene_soft_def(s, &mesh, mu, 0, 0, 0);
    d.young = (csim_real)young;
    d.mass_damping = (csim_real)scene_number(s, "drag");
    for (i = 0; i < 2 * WOVEN_STRIPS; i++) {
        bool upright = i < WOVEN_STRIPS;
        double off = woven_pitch * (i % WOVEN_STRIPS - 1);
        d.pose.position = csim_add(centre, upright ? scene_v3(off, 0, 0) : scene_v3(0, 0, off));
        d.corner_contact = i == 2 * WOVEN_STRIPS - 1; /* lies on the pegs */
        w->strip[which][i] = scene_add_soft(s, &d);
        woven_wave(s, w->strip[which][i], &mesh, d.pose.position, upright, i % WOVEN_STRIPS);
    }
    for (i = -1; i <= 1 && !s->failed; i += 2) {
        csim_rigid_def peg = scene_rigid_def(1, mu, (double)centre.x + i * woven_pitch / 2, (double)centre.y,
                                             (double)centre.z + woven_pitch - woven_width / 2 - woven_peg);
        peg.motion = CSIM_STATIC;
        peg.pose.rotation = scene_turn(1, 0, 0, paper_pi / 2);
        scene_add_rigid(s, &peg, csim_cylinder((csim_real)woven_peg, CSIM_R(0.02)));
    }
    scene_mesh_free(&mesh);
}

static double woven_height(const scene *s, csim_body_id id) { return (double)paper_pose(s, id).position.z; }

static void woven_build(scene *s) {
    woven *w = (woven *)s->state;
    int which, i, only = (int)scene_number(s, "only");
    scene_begin(s);
    for (which = 0; which < 9 && !s->failed; which++) {
        if (only > 0 && which != only - 1) continue;
        double mu = fmax(0, scene_number(s, "mu") + 0.2 * (which % 3 - 1));
        double young = scene_number(s, "E") * pow(scene_number(s, "ratio"), which / 3 - 1);
        woven_composite(s, w, which, mu, young, scene_v3(woven_apart * (which % 3 - 1), 0, woven_apart * (which / 3)));
        for (i = 0; i < 2 * WOVEN_STRIPS && !s->failed; i++) w->start[which][i] = woven_height(s, w->strip[which][i]);
    }
}

/* holds_<friction><stiffness>, 1 low to 3 high: no strip sank by more than half a pitch. */
static void woven_finish(scene *s) {
    static const char *const name[9] = {"holds_11", "holds_21", "holds_31", "holds_12", "holds_22",
                                        "holds_32", "holds_13", "holds_23", "holds_33"};
    const woven *w = (const woven *)s->state;
    int which, i, count = 0;
    for (which = 0; which < 9; which++) {
        double sank = 0;
        if (w->strip[which][0].index1 == 0) continue; /* --set only= */
        for (i = 0; i < 2 * WOVEN_STRIPS; i++)
            sank = fmax(sank, w->start[which][i] - woven_height(s, w->strip[which][i]));
        scene_report(s, name[which], sank < woven_pitch / 2);
        count += sank < woven_pitch / 2;
    }
    scene_report(s, "holding", count);
}

/* ---- linkage: closed loops and a chain of hard joints for as long as one likes: validation 34 */

enum { LINKAGE_LINKS = 50 };

typedef struct linkage {
    csim_link_id joint[LINKAGE_LINKS + 4];
    int joints;
    double open, open_angle;
} linkage;

static const scene_key linkage_keys[] = {
    {"kind", "four-bar", "four-bar, crank: driven at one turn a second; chain: 50 links of 1 kg that carry a load",
     "four-bar|crank|chain"},
    {"load", "50000", "at the end of the chain, kg", NULL},
    {NULL, NULL, NULL, NULL}};

/* A bar from a to b in the plane y = 0. */
static csim_body_id linkage_bar(scene *s, csim_vec3 a, csim_vec3 b, double mass) {
    csim_vec3 way = csim_sub(b, a);
    csim_rigid_def d = scene_rigid_def(mass, 0.5, 0.5 * (double)(a.x + b.x), 0, 0.5 * (double)(a.z + b.z));
    d.pose.rotation = scene_turn(0, 1, 0, atan2((double)way.x, (double)way.z));
    d.surface.mask = 0;
    return scene_add_box(s, &d, 0.02, 0.02, 0.5 * (double)csim_length(way));
}

static void linkage_join(scene *s, csim_joint_kind kind, csim_body_id a, csim_body_id b, csim_vec3 at, bool driven) {
    linkage *l = (linkage *)s->state;
    csim_joint_def d = csim_default_joint_def();
    d.kind = kind;
    d.a.body = a;
    d.b.body = b;
    d.a.point = d.b.point = at;
    d.axis = kind == CSIM_JOINT_SLIDER ? csim_v3(1, 0, 0) : csim_v3(0, 1, 0);
    if (driven) {
        d.motor.kind = CSIM_MOTOR_VELOCITY;
        d.motor.target = (csim_real)(2 * paper_pi);
        d.motor.force = 1000;
    }
    if (!s->failed) scene_ok(s, csim_create_joint(s->world, &d, &l->joint[l->joints++]));
}

/* A crank of 0.3 and what follows it: a coupler of 0.9 on a rocker of 0.7 that stands 1 beside, or on a slide. */
static void linkage_crank(scene *s, bool slide) {
    const double c = 0.9, r = 0.7, x = 1, z = -0.3, d = sqrt(x * x + z * z);
    const double along = (c * c - r * r + d * d) / (2 * d), up = sqrt(c * c - along * along);
    csim_vec3 a = scene_v3(0, 0, 0.3), o = scene_v3(0, 0, 0), g = scene_v3(1, 0, 0), b;
    csim_body_id none, crank, rod, last;
    memset(&none, 0, sizeof none);
    b = slide ? scene_v3(sqrt(c * c - 0.09), 0, 0)
              : scene_v3((along * x - up * z) / d, 0, 0.3 + (along * z + up * x) / d);
    crank = linkage_bar(s, o, a, 1);
    rod = linkage_bar(s, a, b, 2);
    last = slide ? linkage_bar(s, csim_sub(b, scene_v3(0.05, 0, 0)), csim_add(b, scene_v3(0.05, 0, 0)), 1)
                 : linkage_bar(s, b, g, 1);
    linkage_join(s, CSIM_JOINT_HINGE, crank, none, o, true);
    linkage_join(s, CSIM_JOINT_HINGE, crank, rod, a, false);
    linkage_join(s, CSIM_JOINT_HINGE, rod, last, b, false);
    linkage_join(s, slide ? CSIM_JOINT_SLIDER : CSIM_JOINT_HINGE, last, none, slide ? b : g, false);
}

static void linkage_chain(scene *s) {
    csim_body_id before;
    csim_rigid_def load = scene_rigid_def(scene_number(s, "load"), 0.5, 0.1 * LINKAGE_LINKS, 0, 0);
    int i;
    memset(&before, 0, sizeof before);
    for (i = 0; i <= LINKAGE_LINKS; i++) {
        csim_body_id link;
        load.surface.mask = 0;
        link = i < LINKAGE_LINKS ? linkage_bar(s, scene_v3(0.1 * i, 0, 0), scene_v3(0.1 * (i + 1), 0, 0), 1)
                                 : scene_add_box(s, &load, 0.5, 0.5, 0.5);
        linkage_join(s, CSIM_JOINT_BALL, link, before, scene_v3(0.1 * i, 0, 0), false);
        before = link;
    }
}

static void linkage_build(scene *s) {
    const char *kind = scene_text_of(s, "kind");
    scene_begin(s);
    if (strcmp(kind, "chain") == 0)
        linkage_chain(s);
    else
        linkage_crank(s, strcmp(kind, "crank") == 0);
}

static void linkage_measure(scene *s) {
    linkage *l = (linkage *)s->state;
    int i;
    for (i = 0; i < l->joints; i++) {
        csim_joint_state state;
        if (csim_joint_get(s->world, l->joint[i], &state) != CSIM_OK) continue;
        l->open = fmax(l->open, (double)state.error);
        l->open_angle = fmax(l->open_angle, (double)state.error_angle);
    }
}

static void linkage_finish(scene *s) {
    const linkage *l = (const linkage *)s->state;
    csim_joint_state state;
    memset(&state, 0, sizeof state);
    csim_joint_get(s->world, l->joint[0], &state);
    scene_report(s, "closure_m", l->open);
    scene_report(s, "closure_rad", l->open_angle);
    scene_report(s, "turns", (double)state.position / (2 * paper_pi));
}

/* ---- */

const scene_kind scene_paper_kinds[] = {
    {"beam", "16 bodies on stiff joints, held at one end, are pushed into a slot beside their aim",
     "sag_mm statics_sag_mm inserted_mm tip_off_mm joint_open_m", 0.01, 3.5, 0, 0,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(beam), beam_keys, beam_build, beam_drive, beam_measure, beam_finish},
    {"net", "chain mail of --size^2 rings and the rings that link them catches a ball",
     "rings links links_whole ball_below_corners_mm", 0.002, 3, 1e-3, 5, CSIM_BACKWARD_EULER, SCENE_RESTS | SCENE_PACE,
     sizeof(net), net_keys, net_build, NULL, NULL, net_finish},
    {"grasp", "a hand of three fingers on hinges closes round a glass and lifts it; --set stabilization= is gamma",
     "lifted_mm slip_mm held penetration_mm penetration_end_mm joint_open_m joint_open_rad", 0.0025, 2.5, 0, 0,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(grasp), grasp_keys, grasp_build, grasp_drive, grasp_measure, grasp_finish},
    {"woven", "nine pieces of woven strips hang on pegs: friction grows to the right, stiffness upwards",
     "holds_11 holds_21 holds_31 holds_12 holds_22 holds_32 holds_13 holds_23 holds_33 holding", 0.005, 1, 1e-3, 0,
     CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(woven), woven_keys, woven_build, NULL, NULL, woven_finish},
    {"linkage", "a driven four-bar, a slider-crank or a chain with a load on hard joints; --set kind=",
     "closure_m closure_rad turns", 0.005, 10, 0, 0, CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(linkage), linkage_keys,
     linkage_build, NULL, linkage_measure, linkage_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
