/* robots: articulated trees: a quadruped, an arm, an arm that folds a soft mat, a gripper with a soft ball. */
#include "scene.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what they share */

typedef struct robot_pace {
    double contacts, iterations;
    int steps, uncertified;
} robot_pace;

static void robot_count(scene *s, robot_pace *p) {
    csim_step_stats t = csim_world_stats(s->world);
    p->contacts += t.touching;
    p->iterations += t.iterations;
    p->uncertified += (t.flags & CSIM_FLAG_UNCERTIFIED) != 0;
    p->steps++;
}

static void robot_report(scene *s, const robot_pace *p) {
    double n = p->steps > 0 ? p->steps : 1;
    scene_report(s, "contacts_mean", p->contacts / n);
    scene_report(s, "iterations_mean", p->iterations / n);
    scene_report(s, "uncertified", p->uncertified);
    if (s->seconds > 0) scene_report(s, "step_us", 1e6 * s->seconds / n);
}

static csim_tree_link_def robot_link(int parent, csim_tree_joint joint, double x, double y, double z) {
    csim_tree_link_def d = csim_default_tree_link_def();
    d.parent = parent;
    d.joint = joint;
    d.frame.position = scene_v3(x, y, z);
    return d;
}

static csim_body_id robot_create(scene *s, const csim_tree_def *d) {
    csim_body_id id;
    memset(&id, 0, sizeof id);
    if (!s->failed) scene_ok(s, csim_create_tree(s->world, d, &id));
    return id;
}

/* ---- quadruped */

static const scene_key quadruped_keys[] = {
    {"task", "trot",
     "trot: in place; hang: in the air by its back; drop: falls on its side, limp; random: any targets; feet: limp, "
     "and nothing but its feet stops at the ground, from which it hangs upside down (Hwangbo's task hang)",
     "trot|hang|drop|random|feet"},
    {"urdf", "../shared/real/robots/anymal.urdf", "file; when it is missing a built-in robot of that size", "*"},
    {"mu", "0.8", "friction coefficient", NULL},
    {"kp", "300", "stiffness of the drives, N m/rad", NULL},
    {"kd", "10", "damping of the drives, N m s/rad", NULL},
    {"self", "0", "1: legs and body touch each other too", "0|1"},
    {"effort", "0", "1: the limits of effort of the file hold", "0|1"},
    {NULL, NULL, NULL, NULL}};

typedef struct quadruped {
    csim_body_id robot;
    robot_pace pace;
    int leg[4]; /* first link of each: HAA, then HFE, KFE */
    double lowest, highest;
    double *took; /* [steps] seconds of each step, where there is a clock */
    double before;
    unsigned random;
} quadruped;

/* A box with four legs of three joints: 30 kg. */
static void quadruped_built_in(csim_tree_link_def *link, csim_shape *shape) {
    int i;
    link[0] = robot_link(-1, CSIM_TREE_FLOATING, 0, 0, 0);
    shape[0] = csim_box(scene_v3(0.27, 0.12, 0.13));
    link[0].mass = 21;
    for (i = 0; i < 4; i++) {
        double front = i < 2 ? 1 : -1, left = i % 2 ? -1 : 1;
        csim_tree_link_def *l = link + 1 + 3 * i;
        csim_shape *c = shape + 1 + 3 * i;
        l[0] = robot_link(0, CSIM_TREE_REVOLUTE, 0.27 * front, 0.12 * left, 0);
        l[0].axis = csim_v3(1, 0, 0);
        l[1] = robot_link(1 + 3 * i, CSIM_TREE_REVOLUTE, 0.06 * front, 0.08 * left, 0);
        l[2] = robot_link(2 + 3 * i, CSIM_TREE_REVOLUTE, 0, 0.03 * left, -0.25);
        l[1].axis = l[2].axis = csim_v3(0, 1, 0);
        c[0] = csim_sphere(CSIM_R(0.05));
        c[1] = csim_capsule(CSIM_R(0.03), CSIM_R(0.09));
        c[1].local.position = scene_v3(0, 0, -0.12);
        c[2] = csim_capsule(CSIM_R(0.025), CSIM_R(0.13));
        c[2].local.position = scene_v3(0, 0, -0.16);
        l[0].mass = CSIM_R(1.1);
        l[1].mass = CSIM_R(1.5);
        l[2].mass = CSIM_R(0.4);
    }
    for (i = 0; i < 13; i++) {
        link[i].shapes = shape + i;
        link[i].shape_count = 1;
    }
}

/* Where the four legs begin: links that hang on the root, by quadrant: left front, right front, left hind, right hind.
 */
static void quadruped_legs(quadruped *q, const csim_tree_def *d) {
    int i;
    for (i = 1; i < d->link_count; i++)
        if (d->links[i].parent == 0) {
            csim_vec3 p = d->links[i].frame.position;
            q->leg[(p.x < 0 ? 2 : 0) + (p.y < 0)] = i;
        }
}

static int quadruped_below(const csim_tree_def *d, int link) {
    int i;
    for (i = link + 1; i < d->link_count; i++)
        if (d->links[i].parent == link) return i;
    return link;
}

/* Bent knees, forward in front and backward behind. */
static double quadruped_pose(int leg, int joint, double bend) {
    double way = leg < 2 ? 1 : -1;
    return joint == 0 ? 0 : joint == 1 ? way * (0.4 + bend) : -2 * way * (0.4 + bend);
}

/* The ball or, where there is none, the capsule of a shank stays; other links keep no shape. */
static void quadruped_feet(csim_tree_link_def *link, bool last) {
    int i, best = -1;
    for (i = 0; i < link->shape_count && last; i++)
        if (best < 0 || link->shapes[i].kind == CSIM_SHAPE_SPHERE) best = i;
    if (best >= 0) link->shapes += best;
    link->shape_count = best >= 0;
}

static void quadruped_stand(scene *s, quadruped *q, csim_tree_link_def *links, const csim_tree_def *d) {
    const bool feet = strcmp(scene_text_of(s, "task"), "feet") == 0;
    const bool limp = feet || strcmp(scene_text_of(s, "task"), "drop") == 0;
    int leg, joint, link;
    quadruped_legs(q, d);
    for (link = 0; link < d->link_count && feet; link++) quadruped_feet(links + link, quadruped_below(d, link) == link);
    for (leg = 0; leg < 4; leg++)
        for (joint = 0, link = q->leg[leg]; joint < 3; joint++, link = quadruped_below(d, link)) {
            links[link].position = links[link].target = (csim_real)quadruped_pose(leg, joint, 0);
            links[link].stiffness = (csim_real)(limp ? 0 : scene_number(s, "kp"));
            links[link].rate_gain = (csim_real)(limp ? 0.1 : scene_number(s, "kd"));
            if (links[link].effort > 0 && scene_number(s, "effort") < 1) links[link].effort = 0;
        }
}

/* Height of the lowest ball or capsule end over z = 0. */
static double quadruped_foot(const scene *s, csim_body_id id) {
    double low = 1e9;
    int i, count = csim_body_shape_count(s->world, id);
    for (i = 0; i < count; i++) {
        const csim_geometry *g;
        csim_pose pose;
        csim_vec3 a, b;
        int link = 0;
        if (csim_body_shape(s->world, id, i, &g, NULL) != CSIM_OK) continue;
        if (g->kind != CSIM_SHAPE_SPHERE && g->kind != CSIM_SHAPE_CAPSULE) continue;
        csim_tree_shape_link(s->world, id, i, &link);
        csim_tree_link_pose(s->world, id, link, &pose);
        pose = csim_pose_mul(pose, g->local);
        a = csim_pose_point(pose, csim_v3(0, 0, g->half_height));
        b = csim_pose_point(pose, csim_v3(0, 0, -g->half_height));
        low = fmin(low, fmin((double)a.z, (double)b.z) - (double)g->radius);
    }
    return low;
}

static void quadruped_place(scene *s, quadruped *q, const char *task) {
    csim_pose pose = csim_pose_identity();
    csim_spring_def d = csim_default_spring_def();
    csim_link_id id;
    if (s->failed) return;
    pose.position.z = (csim_real)(1 - quadruped_foot(s, q->robot)); /* the soles at z = 0 */
    if (strcmp(task, "feet") == 0) pose.position.z = 1;
    if (strcmp(task, "drop") == 0) {
        pose.position.z += CSIM_R(0.3);
        pose.rotation = scene_turn(1, 0.3, 0, 1);
    }
    if (strcmp(task, "hang") == 0) pose.position.z += CSIM_R(0.5);
    csim_body_set_pose(s->world, q->robot, pose);
    if (strcmp(task, "hang") != 0) return;
    d.a.body = q->robot;
    d.a.point = csim_add(pose.position, scene_v3(0, 0, 0.2));
    d.b.point = csim_add(d.a.point, scene_v3(0, 0, 0.5));
    d.stiffness = 2000;
    d.damping = 200;
    scene_ok(s, csim_create_spring(s->world, &d, &id));
}

static void quadruped_build(scene *s) {
    quadruped *q = (quadruped *)s->state;
    csim_tree_link_def link[13];
    csim_shape shape[13];
    csim_tree_def d = csim_default_tree_def();
    csim_urdf_options options;
    csim_urdf urdf;
    csim_error error;
    memset(&options, 0, sizeof options);
    options.floating = true;
    q->lowest = 1e9;
    q->random = 1;
    if (csim_urdf_load_file(scene_text_of(s, "urdf"), &options, NULL, &urdf, &error) == CSIM_OK) {
        d = urdf.def;
        quadruped_stand(s, q, urdf.links, &d);
    } else if (error.status != CSIM_FILE_ERROR) {
        scene_fail(s, "%s", error.text);
        return;
    } else {
        snprintf(s->note, sizeof s->note, "no %s: the built-in quadruped runs", scene_text_of(s, "urdf"));
        quadruped_built_in(link, shape);
        d.links = link;
        d.link_count = 13;
        quadruped_stand(s, q, link, &d);
    }
    d.surface.friction = (csim_real)scene_number(s, "mu");
    d.no_self_contact = scene_number(s, "self") < 1;
    d.pose.position = csim_v3(0, 0, 1);
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    q->robot = robot_create(s, &d);
    quadruped_place(s, q, scene_text_of(s, "task"));
    csim_urdf_free(&urdf);
    if (s->options.clock) q->took = (double *)scene_memory(s, sizeof *q->took * (size_t)s->steps);
    s->floor = false;
}

static double quadruped_random(quadruped *q) {
    q->random = q->random * 1664525u + 1013904223u;
    return (double)(q->random >> 8) / 8388608.0 - 1;
}

/* Diagonal legs take turns: a foot is lifted for half of a period of 0.5 s. */
static void quadruped_drive(scene *s) {
    quadruped *q = (quadruped *)s->state;
    const char *task = scene_text_of(s, "task");
    int leg, joint, link, links = 0;
    double t = scene_time(s);
    if (strcmp(task, "drop") == 0 || strcmp(task, "feet") == 0) return;
    if (strcmp(task, "random") == 0 && s->step % 100 != 0) return;
    csim_tree_sizes(s->world, q->robot, &links, NULL, NULL);
    for (leg = 0; leg < 4; leg++) {
        double phase = sin(2 * 3.14159265358979 * t / 0.5) * (leg == 0 || leg == 3 ? 1 : -1);
        double bend = 0.2 * fmax(0, phase) * fmin(1, t);
        for (joint = 0, link = q->leg[leg]; joint < 3; joint++, link++) {
            double target = quadruped_pose(leg, joint, bend);
            if (strcmp(task, "random") == 0) target = quadruped_pose(leg, joint, 0) + 0.6 * quadruped_random(q);
            if (link < links) scene_ok(s, csim_tree_set_target(s->world, q->robot, link, (csim_real)target, 0));
        }
    }
}

static void quadruped_measure(scene *s) {
    quadruped *q = (quadruped *)s->state;
    csim_pose pose;
    if (q->took && q->pace.steps < s->steps) q->took[q->pace.steps] = s->seconds - q->before;
    q->before = s->seconds;
    robot_count(s, &q->pace);
    if (csim_body_get_pose(s->world, q->robot, &pose) != CSIM_OK) return;
    q->lowest = fmin(q->lowest, (double)pose.position.z);
    q->highest = fmax(q->highest, (double)pose.position.z);
}

static int quadruped_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts x. */
static double quadruped_median(double *x, int count) {
    qsort(x, (size_t)count, sizeof *x, quadruped_order);
    return x[count / 2];
}

static void quadruped_finish(scene *s) {
    quadruped *q = (quadruped *)s->state;
    csim_mass mass;
    csim_real M[64 * 64];
    int rates = 0, i, k;
    robot_report(s, &q->pace);
    scene_report(s, "lowest_m", q->lowest);
    scene_report(s, "highest_m", q->highest);
    csim_tree_sizes(s->world, q->robot, NULL, NULL, &rates);
    scene_report(s, "dof", rates);
    if (csim_body_get_mass(s->world, q->robot, &mass) == CSIM_OK) scene_report(s, "mass_kg", (double)mass.mass);
    if (!s->options.clock || s->seconds <= 0 || rates > 64 || !q->took) return;
    { /* medians: other programs on the machine have no say. The mass matrix alone, with the kinematics it needs */
        double step = quadruped_median(q->took, q->pace.steps), matrix[201];
        for (i = 0; i < 201; i++) {
            double start = s->options.clock(NULL);
            for (k = 0; k < 10; k++) csim_tree_mass_matrix(s->world, q->robot, M);
            matrix[i] = (s->options.clock(NULL) - start) / 10;
        }
        scene_report(s, "step_us_median", 1e6 * step);
        scene_report(s, "mass_matrix_us", 1e6 * quadruped_median(matrix, 201));
        scene_report(s, "step_over_mass_matrix", step / matrix[100]);
    }
}

/* ---- arm: seven joints like a Panda's */

enum { ARM_LINKS = 8, ARM_TIP = 7 };

/* Fills ARM_LINKS links and shapes; link 0 stands still, the tip is link 7. Frames as in the data sheet of the Panda.
 */
static void arm_links(csim_tree_link_def *link, csim_shape *shape, double kp, double kd) {
    static const double at[7][4] = {/* x y z, turn about x in right angles */
                                    {0, 0, 0.333, 0},        {0, 0, 0, -1}, {0, -0.316, 0, 1}, {0.0825, 0, 0, 1},
                                    {-0.0825, 0.384, 0, -1}, {0, 0, 0, 1},  {0.088, 0, 0, 1}};
    static const double range[7][2] = {{-2.8973, 2.8973}, {-1.7628, 1.7628}, {-2.8973, 2.8973}, {-3.0718, -0.0698},
                                       {-2.8973, 2.8973}, {-0.0175, 3.7525}, {-2.8973, 2.8973}};
    static const double mass[7] = {4.97, 0.65, 3.23, 3.59, 1.23, 1.67, 0.74}, effort[7] = {87, 87, 87, 87, 12, 12, 12};
    /* capsules: centre and half length along the link's z or y */
    static const double body[7][5] = {{0, 0, -0.1, 0.1, 0}, {0, 0, 0, 0.08, 0},    {0, 0, -0.12, 0.09, 0},
                                      {0, 0, 0, 0.06, 0},   {0, 0, -0.2, 0.12, 0}, {0.04, 0, 0, 0.05, 0},
                                      {0, 0, 0.05, 0.03, 0}};
    int i;
    link[0] = robot_link(-1, CSIM_TREE_FIXED, 0, 0, 0);
    shape[0] = csim_cylinder(CSIM_R(0.08), CSIM_R(0.07));
    shape[0].local.position = scene_v3(0, 0, 0.07);
    for (i = 0; i < 7; i++) {
        csim_tree_link_def *l = link + 1 + i;
        *l = robot_link(i, CSIM_TREE_REVOLUTE, at[i][0], at[i][1], at[i][2]);
        l->frame.rotation = scene_turn(1, 0, 0, at[i][3] * 1.5707963267948966);
        l->lower = (csim_real)range[i][0];
        l->upper = (csim_real)range[i][1];
        l->mass = (csim_real)mass[i];
        l->effort = (csim_real)effort[i];
        l->stiffness = (csim_real)kp;
        l->rate_gain = (csim_real)kd;
        l->gravity_compensation = 1;
        l->armature = CSIM_R(0.1);
        shape[i + 1] = csim_capsule(CSIM_R(0.05), (csim_real)body[i][3]);
        shape[i + 1].local.position = scene_v3(body[i][0], body[i][1], body[i][2]);
    }
    for (i = 0; i < ARM_LINKS; i++) {
        link[i].shapes = shape + i;
        link[i].shape_count = 1;
    }
}

static const double arm_home[7] = {0, -0.3, 0, -2.2, 0, 1.9, 0.785};
static const double arm_tool = 0.107; /* flange along z of the last link */

static void arm_start(csim_tree_link_def *link, const double *q) {
    int i;
    for (i = 0; i < 7; i++) link[i + 1].position = link[i + 1].target = (csim_real)q[i];
}

/* Gauss elimination with pivots; 6 x 6. */
static void arm_solve6(double A[6][7]) {
    int i, j, k;
    for (k = 0; k < 6; k++) {
        int best = k;
        for (i = k + 1; i < 6; i++)
            if (fabs(A[i][k]) > fabs(A[best][k])) best = i;
        for (j = 0; j < 7; j++) {
            double swap = A[k][j];
            A[k][j] = A[best][j];
            A[best][j] = swap;
        }
        for (i = 0; i < 6; i++) {
            double f = i == k ? 0 : A[i][k] / A[k][k];
            for (j = k; j < 7; j++) A[i][j] -= f * A[k][j];
        }
    }
    for (k = 0; k < 6; k++) A[k][6] /= A[k][k];
}

/* Turns the targets so that the tool's tip and a point 0.1 m behind it go where they should (damped least squares on
   the Jacobians of both points at the present pose). */
static void arm_reach(scene *s, csim_body_id arm, csim_vec3 tip, csim_vec3 behind, double *target) {
    csim_pose pose;
    csim_vec3 at[2], to[2];
    csim_real J[2][3 * 7];
    double A[6][7], e[6];
    csim_real q[7];
    int i, j, k;
    if (s->failed || csim_tree_get_state(s->world, arm, q, NULL) != CSIM_OK ||
        csim_tree_link_pose(s->world, arm, ARM_TIP, &pose) != CSIM_OK)
        return;
    at[0] = csim_pose_point(pose, scene_v3(0, 0, arm_tool));
    at[1] = csim_pose_point(pose, scene_v3(0, 0, arm_tool - 0.1));
    to[0] = tip;
    to[1] = behind;
    for (i = 0; i < 2; i++) {
        csim_vec3 d = csim_sub(to[i], at[i]);
        csim_tree_jacobian(s->world, arm, ARM_TIP, at[i], J[i]);
        e[3 * i] = (double)d.x;
        e[3 * i + 1] = (double)d.y;
        e[3 * i + 2] = (double)d.z;
    }
    for (i = 0; i < 6; i++) {
        for (j = 0; j < 6; j++) {
            A[i][j] = i == j ? 1e-4 : 0;
            for (k = 0; k < 7; k++) A[i][j] += (double)(J[i / 3][7 * (i % 3) + k] * J[j / 3][7 * (j % 3) + k]);
        }
        A[i][6] = e[i];
    }
    arm_solve6(A);
    for (k = 0; k < 7; k++) {
        double step = 0;
        for (i = 0; i < 6; i++) step += (double)J[i / 3][7 * (i % 3) + k] * A[i][6];
        target[k] = (double)q[k] + step;
        scene_ok(s, csim_tree_set_target(s->world, arm, 1 + k, (csim_real)target[k], (csim_real)(step / (4 * s->h))));
    }
}

typedef struct arm_scene {
    csim_body_id arm, mat;
    robot_pace pace;
    double target[7], worst, deepest;
    csim_vec3 grip; /* where the mat is held at first */
} arm_scene;

static const scene_key arm_keys[] = {{"kp", "600", "stiffness of the drives, N m/rad", NULL},
                                     {"kd", "50", "damping of the drives, N m s/rad", NULL},
                                     {"radius", "0.12", "of the circle that the tool draws, m", NULL},
                                     {NULL, NULL, NULL, NULL}};

static void arm_build(scene *s) {
    arm_scene *a = (arm_scene *)s->state;
    csim_tree_link_def link[ARM_LINKS];
    csim_shape shape[ARM_LINKS];
    csim_tree_def d = csim_default_tree_def();
    memcpy(a->target, arm_home, sizeof a->target);
    arm_links(link, shape, scene_number(s, "kp"), scene_number(s, "kd"));
    arm_start(link, arm_home);
    d.links = link;
    d.link_count = ARM_LINKS;
    d.no_self_contact = true;
    scene_begin(s);
    a->arm = robot_create(s, &d);
}

static csim_vec3 arm_circle(const scene *s, double t) {
    double r = scene_number(s, "radius") * fmin(1, t), w = 2 * 3.14159265358979 / 4;
    return scene_v3(0.5 + r * sin(w * t), r * cos(w * t), 0.4);
}

static void arm_drive(scene *s) {
    arm_scene *a = (arm_scene *)s->state;
    csim_vec3 tip = arm_circle(s, scene_time(s) + s->h);
    arm_reach(s, a->arm, tip, csim_add(tip, scene_v3(0, 0, 0.1)), a->target);
}

static void arm_measure(scene *s) {
    arm_scene *a = (arm_scene *)s->state;
    csim_pose pose;
    robot_count(s, &a->pace);
    if (scene_time(s) < 2 || csim_tree_link_pose(s->world, a->arm, ARM_TIP, &pose) != CSIM_OK) return;
    a->worst = fmax(a->worst, (double)csim_length(csim_sub(csim_pose_point(pose, scene_v3(0, 0, arm_tool)),
                                                           arm_circle(s, scene_time(s)))));
}

static void arm_finish(scene *s) {
    arm_scene *a = (arm_scene *)s->state;
    robot_report(s, &a->pace);
    scene_report(s, "track_error_mm", 1e3 * a->worst);
}

/* ---- mat-fold: the arm takes one edge of a soft mat and lays it on the other */

static const scene_key robot_mat_keys[] = {{"mu", "0.5", "friction coefficient", NULL},
                                     {"E", "1e5", "Young's modulus, Pa", NULL},
                                     {"nu", "0.3", "Poisson's ratio", NULL},
                                     {"rho", "500", "density, kg/m^3", NULL},
                                     {"beta", "5e-3", "stiffness-proportional damping, s", NULL},
                                     {NULL, NULL, NULL, NULL}};

static const double mat_x0 = 0.3, mat_x1 = 0.6, mat_half = 0.1, mat_thick = 0.01;

/* The node of the mat nearest to a point. */
static int mat_node(const scene_mesh *m, csim_vec3 x) {
    double best = 1e300;
    int i, at = 0;
    for (i = 0; i < m->vertex_count; i++) {
        csim_vec3 v = csim_v3(m->vertices[3 * i], m->vertices[3 * i + 1], m->vertices[3 * i + 2]);
        double d = (double)csim_length(csim_sub(v, x));
        if (d < best) {
            best = d;
            at = i;
        }
    }
    return at;
}

static void robot_mat_build(scene *s) {
    arm_scene *a = (arm_scene *)s->state;
    csim_tree_link_def link[ARM_LINKS];
    csim_shape shape[ARM_LINKS];
    csim_tree_def d = csim_default_tree_def();
    csim_rigid_def table = scene_rigid_def(0, scene_number(s, "mu"), 0.45, 0, -0.02);
    double start[7] = {0, 0.35, 0, -2.05, 0, 2.4, 0.785};
    int nx = s->size < 4 ? 4 : s->size, side, i;
    bool made = scene_mesh_box(&s->mesh, nx, (2 * nx + 2) / 3, 1, scene_v3(mat_x0, -mat_half, 0),
                               scene_v3(mat_x1, mat_half, mat_thick));
    memcpy(a->target, start, sizeof a->target);
    arm_links(link, shape, 2000, 200);
    arm_start(link, start);
    for (i = 0; i < ARM_LINKS; i++) link[i].effort = 0;
    d.links = link;
    d.link_count = ARM_LINKS;
    d.no_self_contact = true;
    d.surface.mask = 0; /* the arm holds the mat and touches nothing */
    scene_begin(s);
    table.motion = CSIM_STATIC;
    scene_add_box(s, &table, 0.4, 0.3, 0.02);
    a->arm = robot_create(s, &d);
    a->mat = scene_add_main_solid(s, made, 0, 0, 0);
    a->grip = scene_v3(mat_x1, 0, mat_thick);
    for (i = 0; i < 100 && !s->failed; i++) { /* the arm is put where the mat is, without time passing */
        csim_real q[7];
        arm_reach(s, a->arm, a->grip, csim_add(a->grip, scene_v3(0, 0, 0.1)), a->target);
        for (side = 0; side < 7; side++) q[side] = (csim_real)a->target[side];
        scene_ok(s, csim_tree_set_state(s->world, a->arm, q, NULL));
    }
    for (side = 0; side < 2 && !s->failed; side++) {
        csim_pin_def pin = csim_default_pin_def();
        csim_link_id id;
        pin.a.body = a->mat;
        pin.a.node = mat_node(&s->mesh, scene_v3(mat_x1, side ? mat_half / 2 : -mat_half / 2, mat_thick));
        pin.b.body = a->arm;
        pin.b.node = ARM_TIP;
        pin.b.point = csim_v3(s->mesh.vertices[3 * pin.a.node], s->mesh.vertices[3 * pin.a.node + 1],
                              s->mesh.vertices[3 * pin.a.node + 2]);
        scene_ok(s, csim_create_pin(s->world, &pin, &id));
    }
}

/* Half a circle about the middle of the mat, from 0.3 s to 2.3 s; down to where the other half lies. */
static void robot_mat_drive(scene *s) {
    arm_scene *a = (arm_scene *)s->state;
    double x = fmin(1, fmax(0, (scene_time(s) - 0.3) / 2)), angle = 3.14159265358979 * x * x * (3 - 2 * x);
    double r = (mat_x1 - mat_x0) / 2, lift = mat_thick * (1 + 1.5 * angle / 3.14159265358979);
    csim_vec3 tip = scene_v3((mat_x0 + mat_x1) / 2 + 0.95 * r * cos(angle) + 0.05 * r, 0, lift + 0.95 * r * sin(angle));
    arm_reach(s, a->arm, tip, csim_add(tip, scene_v3(0, 0, 0.1)), a->target);
}

static void robot_mat_measure(scene *s) {
    arm_scene *a = (arm_scene *)s->state;
    robot_count(s, &a->pace);
    a->deepest = fmax(a->deepest, csim_world_stats(s->world).penetration);
}

static void robot_mat_finish(scene *s) {
    arm_scene *a = (arm_scene *)s->state;
    int n = csim_body_node_count(s->world, a->mat), i, count = 0;
    csim_real *x = (csim_real *)scene_memory(s, sizeof(csim_real) * 3 * (size_t)(n > 0 ? n : 1));
    double edge = 0;
    robot_report(s, &a->pace);
    if (x && csim_body_get_nodes(s->world, a->mat, x, 3) == CSIM_OK) {
        for (i = 0; i < n; i++)
            if ((double)s->mesh.vertices[3 * i] > mat_x1 - 1e-6) {
                edge += (double)x[3 * i];
                count++;
            }
        scene_report(s, "edge_moved_m", mat_x1 - edge / (count > 0 ? count : 1));
    }
    scene_report(s, "deepest_mm", 1e3 * a->deepest);
    scene_report_solid(s, a->mat);
}

/* ---- soft-ball: a body of six degrees of freedom with two sliding fingers holds a soft ball, lifts and shakes it */

typedef struct soft_ball {
    csim_body_id hand, ball;
    robot_pace pace;
    double mass, slip, start;
    bool lifted;
} soft_ball;

static const scene_key soft_ball_keys[] = {{"mu", "0.5", "friction coefficient", NULL},
                                           {"force", "12", "of each finger, N", NULL},
                                           {"shake", "5", "largest acceleration up and down, m/s^2", NULL},
                                           {"E", "1e6", "Young's modulus, Pa", NULL},
                                           {"nu", "0.35", "Poisson's ratio", NULL},
                                           {"rho", "1000", "density, kg/m^3", NULL},
                                           {"beta", "2e-3", "stiffness-proportional damping, s", NULL},
                                           {NULL, NULL, NULL, NULL}};

enum { HAND_X, HAND_Y, HAND_Z, HAND_WRIST, HAND_LEFT, HAND_RIGHT, HAND_LINKS };
static const double ball_radius = 0.05, finger_half = 0.01, finger_pad = 0.04;

static void soft_ball_build(scene *s) {
    soft_ball *b = (soft_ball *)s->state;
    csim_tree_link_def link[HAND_LINKS];
    csim_shape pad = csim_box(scene_v3(finger_half, finger_pad, finger_pad));
    csim_shape palm = csim_box(scene_v3(0.1, 0.03, 0.02));
    csim_tree_def d = csim_default_tree_def();
    csim_mass mass;
    int core = s->size < 2 ? 2 : s->size, i;
    scene_begin(s);
    scene_add_ground(s, scene_number(s, "mu"));
    b->ball = scene_add_main_solid(s, scene_mesh_ball(&s->mesh, core, (core + 3) / 4, ball_radius), 0, 0, ball_radius);
    for (i = 0; i < HAND_LINKS; i++) {
        link[i] = robot_link(i - 1, i == HAND_WRIST ? CSIM_TREE_BALL : CSIM_TREE_PRISMATIC, 0, 0, 0);
        link[i].stiffness = 1e6;
        link[i].rate_gain = 1e4;
        link[i].gravity_compensation = 1;
        link[i].mass = CSIM_R(0.1);
    }
    link[HAND_X].axis = csim_v3(1, 0, 0);
    link[HAND_Y].axis = csim_v3(0, 1, 0);
    link[HAND_Z].frame.position = scene_v3(0, 0, ball_radius);
    palm.local.position = scene_v3(0, 0, 0.12);
    link[HAND_WRIST].shapes = &palm;
    link[HAND_WRIST].shape_count = 1;
    link[HAND_WRIST].mass = 1;
    for (i = HAND_LEFT; i <= HAND_RIGHT; i++) { /* position > 0 closes */
        double side = i == HAND_LEFT ? -1 : 1;
        link[i].parent = HAND_WRIST;
        link[i].frame.position = scene_v3(side * (ball_radius + finger_half + 0.002), 0, 0);
        link[i].axis = scene_v3(-side, 0, 0);
        link[i].shapes = &pad;
        link[i].shape_count = 1;
        link[i].mass = CSIM_R(0.2);
        link[i].stiffness = 1e4;
        link[i].rate_gain = 20;
        link[i].effort = (csim_real)scene_number(s, "force");
        link[i].target = CSIM_R(0.03); /* deep inside: the drive gives all it has */
        link[i].damping = 5;
    }
    d.links = link;
    d.link_count = HAND_LINKS;
    d.no_self_contact = true;
    d.surface.friction = (csim_real)scene_number(s, "mu");
    b->hand = robot_create(s, &d);
    if (!s->failed && csim_body_get_mass(s->world, b->ball, &mass) == CSIM_OK) b->mass = (double)mass.mass;
}

/* Lift by 0.2 m from 0.3 s to 0.9 s, then a sine of 1 Hz about there whose acceleration grows to its peak in 4 s. */
static double soft_ball_height(const scene *s, double t) {
    double x = fmin(1, fmax(0, (t - 0.3) / 0.6)), w = 2 * 3.14159265358979;
    double z = 0.2 * x * x * x * (10 - 15 * x + 6 * x * x);
    double e = fmin(1, fmax(0, (t - 1) / 4));
    if (t > 1) z += scene_number(s, "shake") / (w * w) * sin(w * (t - 1)) * e * e * (3 - 2 * e);
    return z;
}

static void soft_ball_drive(scene *s) {
    const soft_ball *b = (const soft_ball *)s->state;
    double t = scene_time(s);
    double z = soft_ball_height(s, t + s->h), rate = (z - soft_ball_height(s, t)) / s->h;
    scene_ok(s, csim_tree_set_target(s->world, b->hand, HAND_Z, (csim_real)z, (csim_real)rate));
}

static double soft_ball_below(const scene *s) {
    const soft_ball *b = (const soft_ball *)s->state;
    csim_pose ball = csim_pose_identity(), hand = ball;
    csim_body_get_pose(s->world, b->ball, &ball);
    csim_tree_link_pose(s->world, b->hand, HAND_LEFT, &hand);
    return (double)(hand.position.z - ball.position.z);
}

static void soft_ball_measure(scene *s) {
    soft_ball *b = (soft_ball *)s->state;
    robot_count(s, &b->pace);
    if (!b->lifted && scene_time(s) >= 1) {
        b->lifted = true;
        b->start = soft_ball_below(s);
    }
    if (b->lifted) b->slip = fmax(b->slip, soft_ball_below(s) - b->start);
}

static void soft_ball_finish(scene *s) {
    soft_ball *b = (soft_ball *)s->state;
    robot_report(s, &b->pace);
    scene_report(s, "slip_mm", 1e3 * b->slip);
    scene_report(s, "below_hand_mm", 1e3 * soft_ball_below(s));
    scene_report(s, "held", b->slip < 0.002 && soft_ball_below(s) < 0.02 ? 1 : 0);
    /* two fingers carry the weight and the inertia of the ball */
    scene_report(s, "mu_statics", b->mass * (9.81 + scene_number(s, "shake")) / (2 * scene_number(s, "force")));
    scene_report_solid(s, b->ball);
}

#define ROBOT_FIGURES "contacts_mean iterations_mean uncertified step_us"

const scene_kind scene_robot_kinds[] = {
    {"quadruped", "an ANYmal or a robot of its size trots, hangs, falls or fidgets; --set task=",
     ROBOT_FIGURES " lowest_m highest_m dof mass_kg step_us_median mass_matrix_us step_over_mass_matrix", 0.001, 5, 0,
     0,
     CSIM_BACKWARD_EULER, 0, sizeof(quadruped), quadruped_keys, quadruped_build, quadruped_drive, quadruped_measure,
     quadruped_finish},
    {"arm", "an arm of seven joints draws a circle with its tool", ROBOT_FIGURES " track_error_mm", 0.002, 10, 0, 0,
     CSIM_BACKWARD_EULER, 0, sizeof(arm_scene), arm_keys, arm_build, arm_drive, arm_measure, arm_finish},
    {"mat-fold", "an arm takes one edge of a soft mat and lays it on the other; --size cells along the mat",
     ROBOT_FIGURES " edge_moved_m deepest_mm inverted nodes tets", 0.01, 3, 0, 18, CSIM_BACKWARD_EULER, SCENE_PACE,
     sizeof(arm_scene), robot_mat_keys, robot_mat_build, robot_mat_drive, robot_mat_measure, robot_mat_finish},
    {"soft-ball", "a hand of six degrees of freedom with two sliding fingers lifts a soft ball and shakes it",
     ROBOT_FIGURES " slip_mm below_hand_mm held mu_statics inverted nodes tets", 0.01, 11, 0, 4, CSIM_BACKWARD_EULER,
     SCENE_PACE, sizeof(soft_ball), soft_ball_keys, soft_ball_build, soft_ball_drive, soft_ball_measure,
     soft_ball_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
