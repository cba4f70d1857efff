/* rigid: scenes of rigid bodies. Constructions S1 to S6 of the comparison with other engines. */
#include "scene.h"
#include <math.h>
#include <string.h>

static const double scene_g = 9.81, scene_pi = 3.14159265358979323846;

/* The generator of the comparison's jitter: the same boxes lie the same way in every engine. */
static double scene_random(unsigned long long *x) {
    *x = *x * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*x >> 11) / 9007199254740992.0;
}

/* ---- sliding-box: a cube pushed along y (COND Table I; S1), or along the diagonal (S1d) */

typedef struct sliding_box {
    csim_body_id box;
    double force[2], acceleration;
    double along[2];                                  /* unit direction of the push */
    double error_y, error_z, error_x, error_analytic; /* m s: integrals of |error| */
    double last[4];
} sliding_box;

static const scene_key sliding_box_keys[] = {{"mu", "0.2", "friction coefficient", NULL},
                                             {"force", "2", "push, N", NULL},
                                             {"direction", "y", "y: S1, diagonal: S1d", "y|diagonal"},
                                             {NULL, NULL, NULL, NULL}};

static void sliding_box_build(scene *s) {
    sliding_box *b = (sliding_box *)s->state;
    double mu = scene_number(s, "mu"), force = scene_number(s, "force");
    csim_rigid_def d = scene_rigid_def(0.5, mu, 0, 0, 0.1);
    bool diagonal = strcmp(scene_text_of(s, "direction"), "diagonal") == 0;
    b->along[0] = diagonal ? sqrt(0.5) : 0;
    b->along[1] = diagonal ? sqrt(0.5) : 1;
    b->acceleration = fmax(0, force / 0.5 - mu * scene_g);
    b->force[0] = force * b->along[0];
    b->force[1] = force * b->along[1];
    scene_begin(s);
    scene_add_ground(s, mu);
    b->box = scene_add_box(s, &d, 0.1, 0.1, 0.1);
}

static void sliding_box_push(scene *s) {
    const sliding_box *b = (const sliding_box *)s->state;
    scene_ok(s, csim_body_add_force(s->world, b->box, scene_v3(b->force[0], b->force[1], 0), csim_v3(0, 0, 0)));
}

/* One step of the trapezoid rule for |error|. */
static void scene_integrate(double *sum, double *last, double error, double h) {
    *sum += h * (fabs(*last) + fabs(error)) / 2;
    *last = error;
}

static void sliding_box_measure(scene *s) {
    sliding_box *b = (sliding_box *)s->state;
    const double *x = s->body[0].now.position;
    double t = scene_time(s), exact = 0.5 * b->acceleration * t * t;
    double discrete = s->def.integrator == CSIM_BACKWARD_EULER ? exact + 0.5 * b->acceleration * t * s->h : exact;
    double y = x[0] * b->along[0] + x[1] * b->along[1], across = x[0] * b->along[1] - x[1] * b->along[0];
    scene_integrate(&b->error_y, b->last, y - discrete, s->h);
    scene_integrate(&b->error_z, b->last + 1, x[2] - 0.1, s->h);
    scene_integrate(&b->error_x, b->last + 2, across, s->h);
    scene_integrate(&b->error_analytic, b->last + 3, y - exact, s->h);
}

static void sliding_box_finish(scene *s) {
    const sliding_box *b = (const sliding_box *)s->state;
    double per_mm = 1e3 / scene_time(s);
    scene_report(s, "error_y_mm", per_mm * b->error_y);
    scene_report(s, "error_z_mm", per_mm * b->error_z);
    scene_report(s, "error_x_mm", per_mm * b->error_x);
    scene_report(s, "error_continuous_mm", per_mm * b->error_analytic);
}

/* ---- incline: gravity tilted about a cube, or about a soft block (S2) */

enum { INCLINE_CELLS = 4 };

typedef struct incline {
    csim_body_id body;
    double down[2]; /* unit direction of the slope */
    double exact;   /* acceleration, m/s^2 */
    double settle;  /* creep is measured from here, s */
    bool soft, started;
    csim_real start[3 * 256], now[3 * 256];
    double first, creep, way; /* m along the slope */
} incline;

static const scene_key incline_keys[] = {
    {"mu", "0.5", "friction coefficient", NULL},
    {"angle", "26.0650511770779894", "of the slope, degrees; default: half a degree below the friction angle", NULL},
    {"direction", "x", "down the slope, in the box's axes", "x|diagonal"},
    {"body", "rigid", "what lies on the slope", "rigid|soft"},
    {"settle", "5", "creep is measured from this time, s", NULL},
    {"E", "1e5", "soft block: Young's modulus, Pa", NULL},
    {"nu", "0.4", "soft block: Poisson's ratio", NULL},
    {NULL, NULL, NULL, NULL}};

static void incline_build(scene *s) {
    incline *c = (incline *)s->state;
    double mu = scene_number(s, "mu"), angle = scene_number(s, "angle") * scene_pi / 180;
    bool diagonal = strcmp(scene_text_of(s, "direction"), "diagonal") == 0;
    csim_rigid_def d = scene_rigid_def(0.5, mu, 0, 0, 0.1);
    c->down[0] = diagonal ? sqrt(0.5) : 1;
    c->down[1] = diagonal ? sqrt(0.5) : 0;
    c->exact = fmax(0, scene_g * (sin(angle) - mu * cos(angle)));
    c->settle = scene_number(s, "settle");
    c->soft = strcmp(scene_text_of(s, "body"), "soft") == 0;
    s->def.gravity =
        scene_v3(scene_g * sin(angle) * c->down[0], scene_g * sin(angle) * c->down[1], -scene_g * cos(angle));
    scene_begin(s);
    scene_add_ground(s, mu);
    if (c->soft)
        c->body = scene_add_soft_box(s, INCLINE_CELLS, scene_v3(-0.1, -0.1, 0), scene_v3(0.1, 0.1, 0.2), mu);
    else
        c->body = scene_add_box(s, &d, 0.1, 0.1, 0.1);
}

/* Largest motion down the slope of the box, or of the block's lowest nodes. */
static double incline_way(scene *s, incline *c) {
    int i, floor_nodes = (INCLINE_CELLS + 1) * (INCLINE_CELLS + 1);
    double way = 0;
    if (!c->soft) {
        const scene_body *b = s->body;
        return (b->now.position[0] - b->start.position[0]) * c->down[0] +
               (b->now.position[1] - b->start.position[1]) * c->down[1];
    }
    csim_body_get_nodes(s->world, c->body, c->now, 3);
    if (!c->started) memcpy(c->start, c->now, sizeof c->start);
    c->started = true;
    for (i = 0; i < floor_nodes; i++) {
        double d = (double)(c->now[3 * i] - c->start[3 * i]) * c->down[0] +
                   (double)(c->now[3 * i + 1] - c->start[3 * i + 1]) * c->down[1];
        if (fabs(d) > fabs(way)) way = d;
    }
    return way;
}

static void incline_measure(scene *s) {
    incline *c = (incline *)s->state;
    if (c->soft && c->started && fabs(scene_time(s) - c->settle) < s->h / 2) c->started = false; /* measure from here */
    c->way = incline_way(s, c);
    if (fabs(scene_time(s) - c->settle) < s->h / 2) c->first = c->way;
    if (scene_time(s) > c->settle) c->creep = fmax(c->creep, fabs(c->way - c->first));
}

static void incline_finish(scene *s) {
    const incline *c = (const incline *)s->state;
    double t = scene_time(s), ahead = s->def.integrator == CSIM_BACKWARD_EULER ? s->h : 0;
    if (t > c->settle) {
        scene_report(s, "creep_m", c->creep);
        scene_report(s, "creep_m_per_s", c->creep / (t - c->settle));
    }
    scene_report(s, "acceleration", 2 * c->way / (t * (t + ahead)));
    scene_report(s, "acceleration_exact", c->exact);
}

/* ---- stacks of cubes (S3) */

static const scene_key stack_keys[] = {{"mu", "0.5", "friction coefficient", NULL}, {NULL, NULL, NULL, NULL}};

static const scene_key heavy_stack_keys[] = {
    {"mu", "0.5", "friction coefficient", NULL},
    {"variant", "g", "g: masses 1 to 1000 in a geometric row; v: 1 kg under 1000 kg; p: 1, 10, .. 1e4", "g|v|p"},
    {NULL, NULL, NULL, NULL}};

static void stack_add(scene *s, int level, double mass) {
    csim_rigid_def d = scene_rigid_def(mass, scene_number(s, "mu"), 0, 0, 0.1 + 0.2 * level);
    scene_add_box(s, &d, 0.1, 0.1, 0.1);
}

static void stack_build(scene *s) {
    int i;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    for (i = 0; i < s->size; i++) stack_add(s, i, 1);
}

static void heavy_stack_build(scene *s) {
    char variant = scene_text_of(s, "variant")[0];
    int i;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    if (variant == 'v') {
        stack_add(s, 0, 1);
        stack_add(s, 1, 1000);
    } else if (variant == 'p') {
        for (i = 0; i < 5; i++) stack_add(s, i, pow(10, i));
    } else {
        for (i = 0; i < s->size; i++) stack_add(s, i, pow(1000, i / fmax(1, s->size - 1)));
    }
}

/* ---- tower: boxes and balls at random on each other, whose masses span a ratio */

static const scene_key tower_keys[] = {{"ratio", "1000", "of the heaviest to the lightest body, which is 1 kg", NULL},
                                       {"seed", "0", "another tower; 0: as --seed", NULL},
                                       {"mu", "0", "friction coefficient; 0: 0.3 to 0.8 at random", NULL},
                                       {NULL, NULL, NULL, NULL}};

static void tower_build(scene *s) {
    const double ratio = scene_number(s, "ratio"), mu = scene_number(s, "mu");
    unsigned long long x = (unsigned long long)scene_number(s, "seed");
    double top = 0;
    int i, count, light, heavy;
    x = (x ? x : s->options.seed) * 0x9E3779B97F4A7C15ULL + 1;
    for (i = 0; i < 4; i++) scene_random(&x);
    if (!(ratio >= 1)) scene_fail(s, "ratio of tower must be 1 or more");
    count = s->options.size > 0 ? s->size : 3 + (int)(6 * scene_random(&x));
    light = (int)(count * scene_random(&x));
    heavy = (light + 1 + (int)((count - 1) * scene_random(&x))) % count;
    scene_begin(s);
    scene_add_ground(s, 0.5);
    for (i = 0; i < count && !s->failed; i++) {
        const double a = 0.05 + 0.1 * scene_random(&x), b = 0.05 + 0.1 * scene_random(&x);
        const double c = 0.05 + 0.1 * scene_random(&x), share = scene_random(&x);
        const double mass = i == light ? 1 : i == heavy ? ratio : pow(ratio, share);
        const double left = 0.04 * scene_random(&x) - 0.02, ahead = 0.04 * scene_random(&x) - 0.02;
        csim_rigid_def d =
            scene_rigid_def(mass, mu > 0 ? mu : 0.3 + 0.5 * scene_random(&x), ahead, left, top + c + 1e-3);
        d.pose.rotation = scene_turn(0, 0, 1, scene_pi * scene_random(&x));
        if (scene_random(&x) < 0.3)
            scene_add_rigid(s, &d, csim_sphere((csim_real)c));
        else
            scene_add_box(s, &d, a, b, c);
        top += 2 * c + 1e-3;
    }
}

/* ---- card-house (S4) */

static const scene_key card_house_keys[] = {{"mu", "0.8", "friction coefficient", NULL},
                                            {"lean", "22.5", "of the cards, degrees", NULL},
                                            {"gap", "0.002", "between neighbouring frames, m", NULL},
                                            {"mass", "1", "of a card, kg", NULL},
                                            {NULL, NULL, NULL, NULL}};

static void card_house_build(scene *s) {
    const double length = 1, width = 0.7, t = 0.02, mass = scene_number(s, "mass"), mu = scene_number(s, "mu");
    const double a = scene_number(s, "lean") * scene_pi / 180, gap = scene_number(s, "gap");
    const double pitch = 2 * (length * sin(a) + t * cos(a)) + gap, height = length * cos(a) + t * sin(a);
    int level, j, side;
    s->scale = length;
    scene_begin(s);
    scene_add_ground(s, mu);
    for (level = 0; level < s->size; level++) {
        int frames = s->size - level;
        double z0 = level * (height + t);
        for (j = 0; j < frames; j++)
            for (side = -1; side <= 1; side += 2) {
                csim_rigid_def d = scene_rigid_def(
                    mass, mu, (j - (frames - 1) * 0.5) * pitch + side * (t / 2 * cos(a) + length / 2 * sin(a)), 0,
                    z0 + t / 2 * sin(a) + length / 2 * cos(a));
                d.pose.rotation = scene_turn(0, 1, 0, -side * a);
                scene_add_box(s, &d, t / 2, width / 2, length / 2);
            }
        for (j = 0; j + 1 < frames; j++) {
            csim_rigid_def d = scene_rigid_def(mass, mu, (j - (frames - 2) * 0.5) * pitch, 0, z0 + height + t / 2);
            scene_add_box(s, &d, (pitch - gap) / 2, width / 2, t / 2);
        }
    }
}

/* ---- arch (S5): stones with straight chords, 8 vertices each */

static const scene_key arch_keys[] = {
    {"mu", "0.6", "friction coefficient", NULL},
    {"thickness", "0.2", "radial, m, at mean radius 1; 0.115 is the thin one, 0.1075 cannot stand", NULL},
    {NULL, NULL, NULL, NULL}};

static void arch_build(scene *s) {
    const double t = scene_number(s, "thickness"), mu = scene_number(s, "mu"), depth = 0.4;
    const double inner = 1 - t / 2, outer = 1 + t / 2, half = scene_pi / s->size / 2;
    const double height = t * cos(half), a = 2 * inner * sin(half), b = 2 * outer * sin(half);
    const double centroid = inner * cos(half) + height / 3 * (a + 2 * b) / (a + b);
    csim_vec3 points[8];
    int i, k;
    s->scale = t;
    for (i = 0; i < 8; i++) { /* body axes at the centre of mass: x radial, y depth */
        double r = i & 1 ? outer : inner;
        points[i] =
            scene_v3(r * cos(half) - centroid, i & 2 ? depth / 2 : -depth / 2, (i & 4 ? 1 : -1) * r * sin(half));
    }
    scene_begin(s);
    scene_add_ground(s, mu);
    for (k = 0; k < s->size; k++) {
        double phi = (k + 0.5) * 2 * half;
        csim_rigid_def d = scene_rigid_def(0, mu, centroid * cos(phi), 0, centroid * sin(phi));
        d.density = 2000;
        d.pose.rotation = scene_turn(0, 1, 0, -phi);
        scene_add_rigid(s, &d, csim_hull(points, 8));
    }
}

/* ---- pile (S6): boxes or spheres fall into a bin */

static const scene_key pile_keys[] = {{"mu", "0.5", "friction coefficient", NULL},
                                      {"shape", "box", "box: S6, sphere: S6s", "box|sphere"},
                                      {NULL, NULL, NULL, NULL}};

static void pile_bin(scene *s, double mu) {
    const double w = 0.6;
    int k;
    for (k = 0; k < 4; k++) {
        double x = k == 0 ? w + 0.1 : k == 1 ? -w - 0.1 : 0, y = k == 2 ? w + 0.1 : k == 3 ? -w - 0.1 : 0;
        csim_rigid_def d = scene_rigid_def(0, mu, x, y, 1.5);
        d.motion = CSIM_STATIC;
        scene_add_box(s, &d, k < 2 ? 0.1 : w + 0.2, k < 2 ? w + 0.2 : 0.1, 1.5);
    }
}

static void pile_build(scene *s) {
    const bool spheres = strcmp(scene_text_of(s, "shape"), "sphere") == 0;
    const double pitch = spheres ? 0.13 : 0.145, mu = scene_number(s, "mu");
    const int across = spheres ? 9 : 8;
    unsigned long long x = s->options.seed ? s->options.seed : 12345;
    int i, k;
    s->scale = 0.1;
    s->rest_speed = 1e-3;
    scene_begin(s);
    scene_add_ground(s, mu);
    pile_bin(s, mu);
    for (i = 0; i < s->size; i++) {
        double place[2], turn[4], length = 1;
        csim_rigid_def d;
        place[0] = (i % across - (across - 1) * 0.5) * pitch + 0.01 * (scene_random(&x) - 0.5);
        place[1] = (i / across % across - (across - 1) * 0.5) * pitch + 0.01 * (scene_random(&x) - 0.5);
        turn[0] = 1;
        for (k = 1; k < 4; k++) {
            turn[k] = 0.14 * (scene_random(&x) - 0.5);
            length += turn[k] * turn[k];
        }
        length = sqrt(length);
        d = scene_rigid_def(spheres ? 0.5 : 1, mu, place[0], place[1], 0.1 + pitch * 1.2 * (i / (across * across)));
        if (spheres) {
            scene_add_rigid(s, &d, csim_sphere(CSIM_R(0.05)));
            continue;
        }
        d.pose.rotation.w = (csim_real)(turn[0] / length);
        d.pose.rotation.x = (csim_real)(turn[1] / length);
        d.pose.rotation.y = (csim_real)(turn[2] / length);
        d.pose.rotation.z = (csim_real)(turn[3] / length);
        scene_add_box(s, &d, 0.05, 0.05, 0.05);
    }
}

/* ---- bounce: a ball dropped from rest; apex n is e^2n H */

enum { BOUNCE_APEXES = 5 };

typedef struct bounce {
    double radius, last, apex[BOUNCE_APEXES + 1], lowest;
    int bounces;
    bool falling;
} bounce;

static const scene_key bounce_keys[] = {{"restitution", "0.8", "of the ball", NULL},
                                        {"height", "1", "of its lowest point, m", NULL},
                                        {NULL, NULL, NULL, NULL}};

static void bounce_build(scene *s) {
    bounce *b = (bounce *)s->state;
    csim_rigid_def d = scene_rigid_def(1, 0.5, 0, 0, scene_number(s, "height") + 0.05);
    b->radius = 0.05;
    b->last = b->apex[0] = scene_number(s, "height");
    b->falling = true;
    d.surface.restitution = (csim_real)scene_number(s, "restitution");
    scene_begin(s);
    scene_add_ground(s, 0.5);
    scene_add_rigid(s, &d, csim_sphere((csim_real)b->radius));
}

static void bounce_measure(scene *s) {
    bounce *b = (bounce *)s->state;
    csim_pose pose;
    double z;
    csim_body_get_pose(s->world, s->body[0].id, &pose);
    z = (double)pose.position.z - b->radius;
    b->lowest = fmin(b->lowest, z);
    if (b->bounces <= BOUNCE_APEXES && !b->falling) b->apex[b->bounces] = fmax(b->apex[b->bounces], z);
    if (fabs(z - b->last) < 1e-6) return; /* at rest, or turning */
    if (z > b->last && b->falling) {
        b->falling = false;
        if (++b->bounces <= BOUNCE_APEXES) b->apex[b->bounces] = z;
    } else if (z < b->last) {
        b->falling = true;
    }
    b->last = z;
}

static void bounce_finish(scene *s) {
    static const char *const names[] = {"apex_0_m", "apex_1_m", "apex_2_m", "apex_3_m", "apex_4_m", "apex_5_m"};
    const bounce *b = (const bounce *)s->state;
    int i;
    for (i = 1; i <= BOUNCE_APEXES; i++) scene_report(s, names[i], b->apex[i]);
    scene_report(s, "bounces", b->bounces);
    scene_report(s, "lowest_mm", 1e3 * b->lowest);
}

/* ---- anisotropic: a box slides freely on ground that brakes differently along x and y */

typedef struct anisotropic {
    csim_body_id box;
    double power, path_error, stop;
} anisotropic;

static const scene_key anisotropic_keys[] = {
    {"mu1", "0.2", "friction coefficient along x", NULL}, {"mu2", "0.4", "along y", NULL}, {NULL, NULL, NULL, NULL}};

static void anisotropic_build(scene *s) {
    anisotropic *a = (anisotropic *)s->state;
    double mu1 = scene_number(s, "mu1"), mu2 = scene_number(s, "mu2");
    csim_rigid_def d = scene_rigid_def(0.5, mu1 * mu1, 0, 0, 0.1); /* the pair's is the geometric mean with 1 */
    d.surface.friction2 = (csim_real)(mu2 * mu2);
    d.velocity = scene_v3(1, 1, 0);
    a->power = mu1 * mu1 / (mu2 * mu2);
    scene_begin(s);
    scene_add_ground(s, 1);
    a->box = scene_add_box(s, &d, 0.1, 0.1, 0.1);
}

static void anisotropic_measure(scene *s) {
    anisotropic *a = (anisotropic *)s->state;
    csim_vec3 v, w;
    csim_body_get_end_velocity(s->world, a->box, &v, &w);
    if (csim_length(v) > CSIM_R(1e-6)) {
        a->stop = scene_time(s);
        a->path_error = fmax(a->path_error, fabs((double)v.x - pow(fabs((double)v.y), a->power)));
    }
}

static void anisotropic_finish(scene *s) {
    const anisotropic *a = (const anisotropic *)s->state;
    scene_report(s, "stop_time_s", a->stop);
    scene_report(s, "x_m", s->body[0].now.position[0]);
    scene_report(s, "y_m", s->body[0].now.position[1]);
    scene_report(s, "path_error_m_per_s", a->path_error);
}

/* ---- */

/* sliding-box and incline are compared with exact paths to 1e-9 m: their steps are solved further than others. */
enum { RIGID_DOUBLE = CSIM_REAL_SIZE == 8 };

const scene_kind scene_rigid_kinds[] = {
    {"sliding-box", "a cube on a plane, pushed from rest against friction, certified at 1e-10",
     "error_y_mm error_z_mm error_x_mm error_continuous_mm", 0.01, 1, RIGID_DOUBLE ? 1e-10 : 0, 0, CSIM_MIDPOINT,
     SCENE_SAT, sizeof(sliding_box), sliding_box_keys, sliding_box_build, sliding_box_push, sliding_box_measure,
     sliding_box_finish},
    {"incline", "a cube or a soft block on a slope, by tilted gravity, certified at 1e-10",
     "creep_m creep_m_per_s acceleration acceleration_exact", 0.01, 10, RIGID_DOUBLE ? 1e-10 : 0, 0,
     CSIM_BACKWARD_EULER, SCENE_SAT, sizeof(incline), incline_keys, incline_build, NULL, incline_measure,
     incline_finish},
    {"stack", "--size cubes of 1 kg on each other", "", 0.01, 10, 0, 10, CSIM_BACKWARD_EULER, SCENE_STANDS | SCENE_SAT,
     0, stack_keys, stack_build, NULL, NULL, NULL},
    {"heavy-stack", "heavy cubes on light ones (--size: of variant g)", "", 0.01, 10, 0, 10, CSIM_BACKWARD_EULER,
     SCENE_STANDS | SCENE_SAT, 0, heavy_stack_keys, heavy_stack_build, NULL, NULL, NULL},
    {"tower", "boxes and balls on each other at random, 3 to 8 of them or --size", "", 1.0 / 60, 4.5, 0, 8,
     CSIM_BACKWARD_EULER, SCENE_STANDS | SCENE_SAT, 0, tower_keys, tower_build, NULL, NULL, NULL},
    {"card-house", "a house of cards with --size levels", "", 0.01, 10, 0, 4, CSIM_BACKWARD_EULER,
     SCENE_STANDS | SCENE_SAT, 0, card_house_keys, card_house_build, NULL, NULL, NULL},
    {"arch", "a semicircular arch of --size stones", "", 0.01, 10, 0, 21, CSIM_BACKWARD_EULER, SCENE_STANDS | SCENE_SAT,
     0, arch_keys, arch_build, NULL, NULL, NULL},
    {"pile", "--size boxes or spheres fall into a bin, certified at 1e-3", "", 0.01, 5, 1e-3, 1000, CSIM_BACKWARD_EULER,
     SCENE_SAT | SCENE_RESTS, 0, pile_keys, pile_build, NULL, NULL, NULL},
    {"bounce", "a ball dropped on the floor", "apex_1_m .. apex_5_m bounces lowest_mm", 0.01, 6, 0, 0,
     CSIM_BACKWARD_EULER, SCENE_RESTS, sizeof(bounce), bounce_keys, bounce_build, NULL, bounce_measure, bounce_finish},
    {"anisotropic", "a box slides out where friction depends on the direction",
     "stop_time_s x_m y_m path_error_m_per_s", 0.001, 0.7, 0, 0, CSIM_BACKWARD_EULER, SCENE_SAT, sizeof(anisotropic),
     anisotropic_keys, anisotropic_build, NULL, anisotropic_measure, anisotropic_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
