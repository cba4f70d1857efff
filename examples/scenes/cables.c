/* cables: scenes of cables. */
#include "scene.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cable-winding: the cable benchmark of the COND paper. Its end follows a path of 5500 samples around a cylinder;
   the other end is clamped straight below the first sample, where the line touches the cylinder. */

enum { WINDING_SAMPLES = 5500 };

typedef struct winding {
    csim_body_id cable;
    double path[WINDING_SAMPLES][3], speed, stride; /* samples a step */
    int edges, last, steps, certified, capped;
    double contacts, iterations, most_contacts, most_iterations, solve, assembly, deepest, fastest, force[6];
    csim_real *values;
} winding;

static const scene_key winding_keys[] = {{"path", "", "file with the 16500 coordinates of the end; empty: the paper's",
                                          "*"},
                                         {"speed", "1", "samples of the path in 10 ms", NULL},
                                         {"mu", "1.3", "friction coefficient", NULL},
                                         {"E", "2.954e6", "Young's modulus, Pa", NULL},
                                         {"nu", "0.49", "Poisson's ratio", NULL},
                                         {"rho", "1259", "density, kg/m^3", NULL},
                                         {"beta", "0", "stiffness-proportional damping, s", NULL},
                                         {NULL, NULL, NULL, NULL}};

/* What the recording of the paper holds (INRoL/inrol_sim_cablewinding), to the 1 um it is written in: 499 samples along
   a line, then a taut length that shrinks in proportion to the turn about a post of WINDING_POST and climbs. */
#define WINDING_POST 0.022
static void winding_paper(winding *w) {
    const int first = 499;
    int i;
    for (i = 0; i < WINDING_SAMPLES; i++) {
        double *x = w->path[i];
        if (i < first) {
            x[0] = 0.492 + WINDING_POST;
            x[1] = 0.1973041 - 1.9588286e-4 * i;
            x[2] = 0.1005244 + 5.2444497e-4 * i;
        } else {
            double turn = 0.0025 * (i - first), taut = 0.3257354 - 4.74485377e-5 * i;
            x[0] = 0.492 + WINDING_POST * cos(turn) - taut * sin(turn);
            x[1] = -0.2025 + WINDING_POST * sin(turn) + taut * cos(turn);
            x[2] = 0.3589512 + 6.55555548e-6 * i;
        }
    }
}
#undef WINDING_POST

static bool winding_read(winding *w, const char *path) {
    FILE *file = fopen(path, "r");
    int i, got = 0;
    if (!file) return false;
    for (i = 0; i < 3 * WINDING_SAMPLES; i++) got += fscanf(file, "%lf", &w->path[i / 3][i % 3]) == 1;
    fclose(file);
    return got == 3 * WINDING_SAMPLES;
}

static csim_vec3 winding_point(const winding *w, double sample) {
    int i = (int)sample;
    double t = sample - i;
    if (i >= WINDING_SAMPLES - 1) i = WINDING_SAMPLES - 2, t = 1;
    return scene_v3(w->path[i][0] + t * (w->path[i + 1][0] - w->path[i][0]),
                    w->path[i][1] + t * (w->path[i + 1][1] - w->path[i][1]),
                    w->path[i][2] + t * (w->path[i + 1][2] - w->path[i][2]));
}

static void winding_build(scene *s) {
    winding *w = (winding *)s->state;
    csim_cable_def d = csim_default_cable_def();
    csim_rigid_def post = scene_rigid_def(1, scene_number(s, "mu"), 0.4920, -0.2025, 0.25);
    const char *path = scene_text_of(s, "path");
    if (!path[0])
        winding_paper(w);
    else if (!winding_read(w, path))
        scene_fail(s, "path: %s cannot be read, or holds fewer than %d numbers", path, 3 * WINDING_SAMPLES);
    w->speed = scene_number(s, "speed");
    w->stride = w->speed * s->h / 0.01;
    if (s->options.steps == 0 && s->options.seconds <= 0) s->steps = (int)(WINDING_SAMPLES / w->stride);
    w->edges = s->size;
    w->values = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)(s->size + 1));
    scene_begin(s);
    post.motion = CSIM_STATIC;
    scene_add_rigid(s, &post, csim_cylinder(CSIM_R(0.02), CSIM_R(0.5)));
    d.start = scene_v3(0.514, w->path[0][1] - 0.4, 0.1005);
    d.end = scene_v3(w->path[0][0], w->path[0][1], w->path[0][2]);
    d.segments = s->size;
    d.radius = CSIM_R(0.002);
    d.density = (csim_real)scene_number(s, "rho");
    d.young = (csim_real)scene_number(s, "E");
    d.poisson = (csim_real)scene_number(s, "nu");
    d.stiffness_damping = (csim_real)scene_number(s, "beta");
    d.start_end = CSIM_CABLE_CLAMPED;
    d.surface.friction = (csim_real)scene_number(s, "mu");
    if (!s->failed) scene_ok(s, csim_create_cable(s->world, &d, &w->cable));
    if (!s->failed) scene_ok(s, csim_body_set_node_motion(s->world, w->cable, s->size, CSIM_KINEMATIC));
}

static void winding_drive(scene *s) {
    winding *w = (winding *)s->state;
    csim_vec3 now = winding_point(w, s->step * w->stride), next = winding_point(w, (s->step + 1) * w->stride);
    csim_vec3 v = csim_scale((csim_real)(1 / s->h), csim_sub(next, now));
    scene_ok(s, csim_body_set_node(s->world, w->cable, w->edges, now, v));
}

static double winding_force(scene *s) {
    winding *w = (winding *)s->state;
    const csim_real *f = w->values + 3 * (w->edges - 1);
    csim_cable_get_forces(s->world, w->cable, w->values, 3);
    return sqrt((double)(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]));
}

static void winding_measure(scene *s) {
    static const int sample[6] = {1000, 2000, 3000, 4000, 5000, 5499};
    winding *w = (winding *)s->state;
    csim_step_stats t = csim_world_stats(s->world);
    int i, n;
    w->steps++;
    w->certified += !(t.flags & CSIM_FLAG_UNCERTIFIED);
    w->contacts += t.touching;
    w->iterations += t.iterations;
    w->most_contacts = fmax(w->most_contacts, t.touching);
    w->most_iterations = fmax(w->most_iterations, t.iterations);
    w->deepest = fmax(w->deepest, t.penetration);
    w->solve += t.solve_seconds;
    w->assembly += t.assembly_seconds + t.collide_seconds;
    csim_body_get_node_velocities(s->world, w->cable, w->values, 3);
    for (n = 0; n < w->edges; n++) {
        const csim_real *v = w->values + 3 * n;
        w->fastest = fmax(w->fastest, sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])));
    }
    for (i = 0; i < 6; i++)
        if (s->step * w->stride <= sample[i] + 1e-9) w->force[i] = winding_force(s);
}

static void winding_finish(scene *s) {
    static const char *const name[5] = {"force_1000_n", "force_2000_n", "force_3000_n", "force_4000_n", "force_5000_n"};
    winding *w = (winding *)s->state;
    double n = w->steps > 0 ? w->steps : 1;
    int i;
    scene_report(s, "end_force_n", winding_force(s));
    scene_report(s, "certified", w->certified == w->steps);
    scene_report(s, "uncertified_steps", w->steps - w->certified);
    scene_report(s, "penetration_mm", 1e3 * w->deepest);
    scene_report(s, "iterations_mean", w->iterations / n);
    scene_report(s, "iterations_max", w->most_iterations);
    scene_report(s, "contacts_mean", w->contacts / n);
    scene_report(s, "contacts_max", w->most_contacts);
    scene_report(s, "speed_max", w->fastest);
    if (s->options.clock) scene_report(s, "solve_ms", 1e3 * w->solve / n);
    if (s->options.clock) scene_report(s, "assembly_ms", 1e3 * w->assembly / n);
    for (i = 0; i < 5; i++) scene_report(s, name[i], w->force[i]);
}

/* ---- capstan: a string drawn over a drum. Every node slips, its normal bisects the edges, and each multiplies the
   tension by (1 + mu tan(d/2)) / (1 - mu tan(d/2)), d the angle between nodes: the discrete form of exp(mu angle). */

typedef struct capstan {
    csim_body_id string;
    csim_vec3 pull[2], last;
    double exact, limit, ratio;
    int nodes;
    csim_real *values;
} capstan;

enum { CAPSTAN_DOUBLE = CSIM_REAL_SIZE == 8 };

static const scene_key capstan_keys[] = {{"mu", "0.3", "friction coefficient", NULL},
                                         {"angle", "3.14159265358979", "angle of wrap, rad", NULL},
                                         {NULL, NULL, NULL, NULL}};

/* n nodes on the unit circle and one beyond at either end, on the lines of the outer edges. */
static void capstan_points(capstan *c, double delta, csim_real *x) {
    double chord = 2 * sin(delta / 2);
    int i, side;
    for (i = 0; i < c->nodes; i++) {
        x[3 * i + 3] = (csim_real)cos((i + 0.5) * delta);
        x[3 * i + 4] = (csim_real)sin((i + 0.5) * delta);
    }
    for (side = 0; side < 2; side++) {
        int end = side ? c->nodes + 1 : 0, near = side ? c->nodes : 1;
        double sign = side ? 1 : -1, a = (near - 0.5 + sign * 0.5) * delta;
        c->pull[side] = scene_v3(-sign * sin(a), sign * cos(a), 0);
        x[3 * end] = x[3 * near] + (csim_real)(2 * chord) * c->pull[side].x;
        x[3 * end + 1] = x[3 * near + 1] + (csim_real)(2 * chord) * c->pull[side].y;
    }
}

static void capstan_build(scene *s) {
    capstan *c = (capstan *)s->state;
    double mu = scene_number(s, "mu"), angle = scene_number(s, "angle"), t;
    csim_rigid_def drum = scene_rigid_def(1, mu, 0, 0, 0);
    csim_cable_def d = csim_default_cable_def();
    csim_real *x;
    c->nodes = s->size;
    t = mu * tan(angle / c->nodes / 2);
    c->exact = pow((1 + t) / (1 - t), c->nodes);
    c->limit = exp(mu * angle);
    c->values = x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)(c->nodes + 2));
    if (!(angle / c->nodes < 1)) scene_fail(s, "angle / size is %g rad: allowed: below 1", angle / c->nodes);
    if (s->failed) return;
    s->def.gravity = csim_v3(0, 0, 0);
    scene_begin(s);
    drum.motion = CSIM_STATIC;
    scene_add_rigid(s, &drum, csim_cylinder(CSIM_R(0.9), CSIM_R(0.3)));
    capstan_points(c, angle / c->nodes, x);
    d.points = x;
    d.point_count = c->nodes + 2;
    d.radius = CSIM_R(0.1);
    d.density = CSIM_R(0.03);
    d.self_contact = false;
    d.stretch_stiffness = d.shear_stiffness = CAPSTAN_DOUBLE ? CSIM_R(1e8) : CSIM_R(1e4);
    d.bend_stiffness = d.twist_stiffness = 0;
    d.strain = 1 / d.stretch_stiffness;
    d.surface.friction = (csim_real)mu;
    if (!s->failed) scene_ok(s, csim_create_cable(s->world, &d, &c->string));
    if (!s->failed) scene_ok(s, csim_body_set_node_motion(s->world, c->string, c->nodes + 1, CSIM_KINEMATIC));
    c->last = scene_v3((double)x[3 * c->nodes + 3], (double)x[3 * c->nodes + 4], 0);
}

/* One end is held by 1 N along its edge, the other drawn off slowly. */
static void capstan_drive(scene *s) {
    capstan *c = (capstan *)s->state;
    csim_vec3 v = csim_scale(CAPSTAN_DOUBLE ? CSIM_R(2e-7) : CSIM_R(1e-3), c->pull[1]);
    scene_ok(s, csim_body_set_node(s->world, c->string, c->nodes + 1, c->last, v));
    c->last = csim_madd(c->last, (csim_real)s->h, v);
    scene_ok(s, csim_body_add_node_force(s->world, c->string, 0, c->pull[0]));
}

static void capstan_finish(scene *s) {
    capstan *c = (capstan *)s->state;
    csim_cable_get_tensions(s->world, c->string, c->values);
    c->ratio = (double)c->values[c->nodes];
    scene_report(s, "ratio", c->ratio);
    scene_report(s, "discrete_ratio", c->exact);
    scene_report(s, "error", fabs(c->ratio / c->exact - 1));
    scene_report(s, "continuous_ratio", c->limit);
}

/* ---- catenary: a chain of length 1.2 m hangs between two points 1 m apart */

typedef struct catenary {
    csim_body_id chain;
    int edges;
    csim_real *values;
} catenary;

static const scene_key catenary_keys[] = {{"EI", "1e-6", "bending stiffness, N m^2", NULL},
                                          {"beta", "0", "stiffness-proportional damping, s", NULL},
                                          {NULL, NULL, NULL, NULL}};

static void catenary_build(scene *s) {
    catenary *c = (catenary *)s->state;
    csim_cable_def d = csim_default_cable_def();
    int i;
    c->edges = s->size + s->size % 2;
    c->values = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)(c->edges + 1));
    scene_begin(s);
    for (i = 0; i <= c->edges && !s->failed; i++) { /* falls from a V */
        double t = (double)i / c->edges;
        c->values[3 * i] = (csim_real)(t - 0.5);
        c->values[3 * i + 2] = (csim_real)(1 - sqrt(0.36 - 0.25) * (t < 0.5 ? 2 * t : 2 - 2 * t));
    }
    d.points = c->values;
    d.point_count = c->edges + 1;
    d.density = (csim_real)(1 / (9.81 * 3.14159265358979 * 25e-6)); /* 1 N/m */
    d.stretch_stiffness = d.shear_stiffness = CAPSTAN_DOUBLE ? CSIM_R(1e5) : CSIM_R(1e3);
    d.bend_stiffness = d.twist_stiffness = (csim_real)scene_number(s, "EI");
    d.stiffness_damping = (csim_real)scene_number(s, "beta");
    d.start_end = d.end_end = CSIM_CABLE_PINNED;
    if (!s->failed) scene_ok(s, csim_create_cable(s->world, &d, &c->chain));
}

static void catenary_finish(scene *s) {
    catenary *c = (catenary *)s->state;
    csim_body_get_nodes(s->world, c->chain, c->values, 3);
    scene_report(s, "sag_m", 1 - (double)c->values[3 * (c->edges / 2) + 2]);
    scene_report(s, "sag_error_mm", 1e3 * (1 - (double)c->values[3 * (c->edges / 2) + 2] - 0.292344));
    csim_cable_get_forces(s->world, c->chain, c->values, 3);
    scene_report(s, "pull_n", fabs((double)c->values[3 * (c->edges / 2)]));
}

/* ---- */

const scene_kind scene_cable_kinds[] = {
    {"cable-winding", "a cable is wound around a cylinder by the path of a paper (--size: edges)",
     "end_force_n certified uncertified_steps penetration_mm iterations_mean iterations_max contacts_mean contacts_max "
     "speed_max solve_ms assembly_ms force_1000_n force_2000_n force_3000_n force_4000_n force_5000_n",
     0.01, 55, 0, 160, CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(winding), winding_keys, winding_build, winding_drive,
     winding_measure, winding_finish},
    {"capstan", "a string is drawn over a drum (--size: nodes on it)", "ratio discrete_ratio error continuous_ratio",
     0.01, 4, CAPSTAN_DOUBLE ? 1e-10 : 2e-5, 16, CSIM_BACKWARD_EULER, SCENE_PACE, sizeof(capstan), capstan_keys,
     capstan_build, capstan_drive, NULL, capstan_finish},
    {"catenary", "a chain falls into its catenary (--size: edges)", "sag_m sag_error_mm pull_n", 0.01, 10, 0, 80,
     CSIM_BACKWARD_EULER, SCENE_RESTS | SCENE_PACE, sizeof(catenary), catenary_keys, catenary_build, NULL, NULL,
     catenary_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
