/* play: what games are made of: a car on a terrain of triangles, ragdolls on stairs, a character on a course. */
#include "scene.h"

#include "../ragdoll.h"
#include "../vehicle.h"
#include "../walker.h"
#include <math.h>
#include <string.h>

/* ---- car: sixty seconds round a circle over hills of 156 800 triangles; the same car twice, of bodies and joints, and
   as a tree, each in a world of its own */

enum { CAR_WAYS = 2, CAR_ACROSS = 280 };

typedef struct car_run {
    csim_world *world;
    vehicle car;
    csim_vec3 last;
    double way, upright, open, off, deep, seconds;
    long touching;
    int uncertified;
} car_run;

typedef struct car {
    double phase[3], hills;
    car_run run[CAR_WAYS]; /* bodies and joints, the tree */
    int shown;             /* the one in the scene's world */
} car;

static const double car_circle = 45, car_cell = 0.5;

static const scene_key car_keys[] = {{"body", "joints", "which of the two cars is shown", "joints|tree"},
                                     {"speed", "10", "of the car, m/s", NULL},
                                     {"hills", "1", "height of the hills: 0 is flat, 1 rolling country", NULL},
                                     {"mu", "1", "friction of tyres and ground", NULL},
                                     {"alone", "0", "1: only the car that is shown", "0|1"},
                                     {NULL, NULL, NULL, NULL}};

static double car_height(void *user, double x, double y) {
    const car *c = (const car *)user;
    return c->hills * (0.9 * sin(0.13 * x + c->phase[0]) * cos(0.11 * y + c->phase[1]) +
                       0.1 * sin(0.9 * x + 0.4 * y + c->phase[2]) + 0.03 * sin(2.3 * x - 1.9 * y));
}

/* Of the triangle there, from the heights at its corners. */
static double car_ground(const car *c, double x, double y) {
    const double i = floor(x / car_cell), j = floor(y / car_cell), u = x / car_cell - i, v = y / car_cell - j;
    double z[4];
    int k;
    for (k = 0; k < 4; k++) z[k] = car_height((void *)c, car_cell * (i + k % 2), car_cell * (j + k / 2));
    return v > u ? z[0] + u * (z[3] - z[2]) + v * (z[2] - z[0]) : z[0] + u * (z[1] - z[0]) + v * (z[3] - z[1]);
}

static void car_build(scene *s) {
    car *c = (car *)s->state;
    vehicle_def d = vehicle_default();
    csim_rigid_def ground = scene_rigid_def(0, scene_number(s, "mu"), 0, 0, 0);
    csim_body_id id;
    csim_shape hills;
    unsigned long long seed = s->options.seed + 1;
    double high = -1e9;
    int i;
    for (i = 0; i < 3; i++) c->phase[i] = scene_draw(&seed, 0, 6.28);
    c->hills = scene_number(s, "hills");
    c->shown = strcmp(scene_text_of(s, "body"), "tree") == 0;
    hills = scene_heights(s, CAR_ACROSS, car_cell, car_height, c);
    ground.motion = CSIM_STATIC;
    ground.shapes = &hills;
    ground.shape_count = 1;
    d.friction = (csim_real)scene_number(s, "mu");
    for (i = -4; i <= 4; i++) high = fmax(high, car_ground(c, car_circle + 0.5 * (i % 3 - 1), 0.5 * i));
    d.pose.position = scene_v3(car_circle, 0, high + (double)(d.radius + d.drop));
    d.pose.rotation = scene_turn(0, 0, 1, 1.5707963267948966);
    scene_begin(s);
    for (i = 0; i < CAR_WAYS && !s->failed; i++) {
        car_run *r = c->run + i;
        csim_error error;
        csim_status status;
        if (i != c->shown && scene_number(s, "alone") > 0) continue; /* without a world */
        r->world = s->world;
        if (i != c->shown && csim_create_world(&s->def, &r->world, &error) != CSIM_OK) {
            r->world = NULL;
            scene_fail(s, "%s", error.text);
            return;
        }
        status = csim_create_rigid(r->world, &ground, &id);
        if (status == CSIM_OK) status = (i ? vehicle_create_tree : vehicle_create)(r->world, &d, &r->car);
        if (status != CSIM_OK) scene_fail(s, "%s", csim_last_error(r->world));
        r->upright = 1;
        r->last = d.pose.position;
    }
}

/* Steers at a point of the circle ahead. */
static void car_steer(scene *s, car_run *r) {
    csim_pose pose = csim_pose_identity();
    double angle, ahead, left, to[2];
    csim_vec3 local;
    csim_body_get_pose(r->world, r->car.chassis, &pose);
    angle = atan2((double)pose.position.y, (double)pose.position.x) + 7 / car_circle;
    to[0] = car_circle * cos(angle);
    to[1] = car_circle * sin(angle);
    local = csim_pose_local(pose, scene_v3(to[0], to[1], (double)pose.position.z));
    left = (double)local.y;
    ahead = (double)(local.x * local.x + local.y * local.y);
    if (vehicle_drive(r->world, &r->car, (csim_real)fmax(-0.5, fmin(0.5, 2 * 2.6 * left / fmax(ahead, 1))),
                      (csim_real)scene_number(s, "speed"), 1) != CSIM_OK)
        scene_fail(s, "%s", csim_last_error(r->world));
}

static void car_before(scene *s) {
    car *c = (car *)s->state;
    car_steer(s, c->run + c->shown);
}

static csim_pose car_wheel(const car_run *r, int wheel) {
    csim_pose p = csim_pose_identity();
    if (r->car.tree)
        csim_tree_link_pose(r->world, r->car.chassis, r->car.spin[wheel], &p);
    else
        csim_body_get_pose(r->world, r->car.wheel[wheel], &p);
    return p;
}

/* How deep the circles of the wheels are in the triangles: points all round them, straight down. */
static double car_depth(const car *c, const car_run *r) {
    const vehicle_def d = vehicle_default();
    double deep = 0;
    int wheel, i;
    for (wheel = 0; wheel < 4; wheel++) {
        const csim_pose p = car_wheel(r, wheel);
        for (i = 0; i < 3 * 90; i++) {
            const double a = i * 6.283185307179586 / 90;
            const double across = (i / 90 - 1) * (double)d.width / 2;
            const csim_vec3 x =
                csim_pose_point(p, scene_v3((double)d.radius * cos(a), across, (double)d.radius * sin(a)));
            deep = fmax(deep, car_ground(c, (double)x.x, (double)x.y) - (double)x.z);
        }
    }
    return deep;
}

static void car_look(scene *s, car *c, car_run *r) {
    const csim_step_stats t = csim_world_stats(r->world);
    csim_pose p = csim_pose_identity();
    csim_joint_state joint;
    csim_vec3 gone;
    int i;
    csim_body_get_pose(r->world, r->car.chassis, &p);
    gone = csim_sub(p.position, r->last);
    r->last = p.position;
    r->way += hypot((double)gone.x, (double)gone.y);
    r->upright = fmin(r->upright, (double)csim_rotate(p.rotation, csim_v3(0, 0, 1)).z);
    r->touching += t.touching;
    r->uncertified += (t.flags & CSIM_FLAG_UNCERTIFIED) != 0;
    if (scene_time(s) > 3) r->off = fmax(r->off, fabs(hypot((double)p.position.x, (double)p.position.y) - car_circle));
    if (s->step % 10 == 0) r->deep = fmax(r->deep, car_depth(c, r));
    for (i = 0; i < 4 && !r->car.tree; i++)
        if (csim_joint_get(r->world, r->car.joint[i], &joint) == CSIM_OK) r->open = fmax(r->open, (double)joint.error);
    if (!(r->way < 1e9)) r->off = INFINITY;
}

static void car_after(scene *s) {
    car *c = (car *)s->state;
    car_run *other = c->run + !c->shown;
    const double start = s->options.clock ? s->options.clock(NULL) : 0;
    car_look(s, c, c->run + c->shown);
    if (!other->world) return;
    car_steer(s, other);
    if (csim_world_step(other->world, (csim_real)s->h) != CSIM_OK) scene_fail(s, "%s", csim_last_error(other->world));
    if (s->options.clock) other->seconds += s->options.clock(NULL) - start;
    car_look(s, c, other);
}

static void car_finish(scene *s) {
    static const char *const name[CAR_WAYS][8] = {
        {"joints_way_m", "joints_off_m", "joints_upright", "joints_deep_mm", "joints_touching", "joints_uncertified",
         "joints_us", "joints_open_um"},
        {"tree_way_m", "tree_off_m", "tree_upright", "tree_deep_mm", "tree_touching", "tree_uncertified", "tree_us",
         NULL}};
    car *c = (car *)s->state;
    const double steps = s->step > 0 ? s->step : 1;
    int i;
    c->run[c->shown].seconds = s->seconds;
    for (i = 0; i < CAR_WAYS; i++) {
        const car_run *r = c->run + i;
        if (!r->world) continue;
        scene_report(s, name[i][0], r->way);
        scene_report(s, name[i][1], r->off);
        scene_report(s, name[i][2], r->upright);
        scene_report(s, name[i][3], 1e3 * r->deep);
        scene_report(s, name[i][4], (double)r->touching / steps);
        scene_report(s, name[i][5], r->uncertified);
        if (s->seconds > 0) scene_report(s, name[i][6], 1e6 * r->seconds / steps);
        if (name[i][7]) scene_report(s, name[i][7], 1e6 * r->open);
    }
    if (s->seconds > 0 && c->run[!c->shown].world)
        scene_report(s, "tree_over_joints", c->run[1].seconds / c->run[0].seconds);
    csim_destroy_world(c->run[!c->shown].world);
    c->run[!c->shown].world = NULL;
}

/* ---- ragdoll: --size bodies are pushed down a staircase */

enum { RAGDOLL_STAIRS = 14, RAGDOLL_MOST = 24 };

typedef struct ragdolls {
    ragdoll body[RAGDOLL_MOST];
    double open, over, deep;
    int uncertified;
} ragdolls;

static const double stair_rise = 0.17, stair_tread = 0.3;

static const scene_key ragdoll_keys[] = {{"mu", "0.5", "friction of bodies and stairs", NULL},
                                         {"push", "2.5", "speed at the start, m/s", NULL},
                                         {NULL, NULL, NULL, NULL}};

/* Distance of a point to the stairs, worked out from their profile alone; below 0: under their surface by so much. */
static double stair_distance(double x, double z) {
    double best = z;
    int i;
    for (i = -1; i < RAGDOLL_STAIRS - 1; i++) { /* -1: the landing */
        const double top = stair_rise * (RAGDOLL_STAIRS - 1 - i), end = stair_tread * (i + 1);
        const double start = i < 0 ? -1e9 : end - stair_tread;
        const double across = fmax(0, fmax(start - x, x - end)), above = fmax(0, z - top);
        best = fmin(best, across > 0 || above > 0 ? hypot(across, above) : z - top);
    }
    return best;
}

static void ragdoll_build(scene *s) {
    ragdolls *r = (ragdolls *)s->state;
    const double mu = scene_number(s, "mu"), top = stair_rise * RAGDOLL_STAIRS;
    unsigned long long seed = s->options.seed + 7;
    int i, k;
    if (s->size > RAGDOLL_MOST) scene_fail(s, "at most %d ragdolls", (int)RAGDOLL_MOST);
    s->rest_speed = 1e-3;
    scene_begin(s);
    scene_add_ground(s, mu);
    scene_add_static(s, csim_box(scene_v3(2, 8, top / 2)), mu, -2, 0, top / 2, 0);
    for (i = 0; i < RAGDOLL_STAIRS - 1; i++) {
        const double z = stair_rise * (RAGDOLL_STAIRS - 1 - i);
        scene_add_static(s, csim_box(scene_v3(stair_tread / 2, 8, z / 2)), mu, stair_tread * (i + 0.5), 0, z / 2, 0);
    }
    for (i = 0; i < s->size && !s->failed; i++) {
        ragdoll_def d = ragdoll_default();
        double aside, spin[3];
        d.height = (csim_real)scene_draw(&seed, 1.5, 1.9);
        d.mass = (csim_real)(22 * (double)(d.height * d.height));
        d.friction = (csim_real)mu;
        d.pose.position = scene_v3(-0.4 - 0.5 * (i % 2), 1.1 * (i - (s->size - 1) / 2.0), top + 0.02);
        d.pose.rotation = scene_turn(0, 0, 1, scene_draw(&seed, -3.1, 3.1));
        aside = scene_draw(&seed, -0.3, 0.3);
        d.velocity = scene_v3(scene_number(s, "push") * scene_draw(&seed, 0.8, 1.3), aside, 0.5);
        for (k = 2; k >= 0; k--) spin[k] = k == 1 ? scene_draw(&seed, 0.5, 2) : scene_draw(&seed, -1, 1);
        d.spin = scene_v3(spin[0], spin[1], spin[2]);
        scene_ok(s, ragdoll_create(s->world, &d, r->body + i));
    }
}

/* How far a joint is beyond its limits, rad. */
static double ragdoll_over(const csim_world *world, const ragdoll *r, int i) {
    const ragdoll_part p = ragdoll_part_of(i);
    csim_axis_state twist, y, z;
    double over, swing;
    if (csim_joint_get_axis(world, r->joint[i], CSIM_AXIS_TWIST, &twist) != CSIM_OK) return INFINITY;
    over = fmax((double)(twist.position - (p.hinge ? p.upper : p.twist)),
                (double)((p.hinge ? p.lower : -p.twist) - twist.position));
    if (p.hinge) return over;
    csim_joint_get_axis(world, r->joint[i], CSIM_AXIS_SWING_Y, &y);
    csim_joint_get_axis(world, r->joint[i], CSIM_AXIS_SWING_Z, &z);
    swing = hypot((double)(y.position / p.reach), (double)(z.position / p.aside)) - 1;
    return fmax(over, swing * fmin((double)p.reach, (double)p.aside));
}

/* How deep points of the axes of a part's capsules are, with their radius, in the stairs. */
static double ragdoll_depth(const csim_world *world, csim_body_id id) {
    const csim_geometry *g;
    csim_pose pose;
    double deep = 0;
    int i, k;
    if (csim_body_get_pose(world, id, &pose) != CSIM_OK) return 0;
    for (i = 0; csim_body_shape(world, id, i, &g, NULL) == CSIM_OK; i++)
        for (k = -2; k <= 2; k++) {
            const csim_vec3 axis = csim_v3(0, 0, g->half_height * CSIM_R(0.5) * (csim_real)k);
            const csim_vec3 x = csim_pose_point(pose, csim_pose_point(g->local, axis));
            deep = fmax(deep, (double)g->radius - stair_distance((double)x.x, (double)x.z));
        }
    return deep;
}

static void ragdoll_after(scene *s) {
    ragdolls *r = (ragdolls *)s->state;
    csim_joint_state joint;
    int i, k;
    r->uncertified += (csim_world_stats(s->world).flags & CSIM_FLAG_UNCERTIFIED) != 0;
    for (i = 0; i < s->size; i++)
        for (k = 0; k < RAGDOLL_PARTS; k++) {
            r->deep = fmax(r->deep, ragdoll_depth(s->world, r->body[i].part[k]));
            if (k == 0 || csim_joint_get(s->world, r->body[i].joint[k], &joint) != CSIM_OK) continue;
            r->open = fmax(r->open, (double)joint.error);
            r->over = fmax(r->over, ragdoll_over(s->world, r->body + i, k));
        }
}

static void ragdoll_finish(scene *s) {
    const ragdolls *r = (const ragdolls *)s->state;
    double farthest = 0, lowest = 1e9;
    csim_pose pose;
    int i, down = 0;
    for (i = 0; i < s->size; i++) {
        if (csim_body_get_pose(s->world, r->body[i].part[0], &pose) != CSIM_OK) continue;
        farthest = fmax(farthest, (double)pose.position.x);
        lowest = fmin(lowest, (double)pose.position.z);
        down += (double)pose.position.z < stair_rise * RAGDOLL_STAIRS - 0.3;
    }
    scene_report(s, "joint_open_um", 1e6 * r->open);
    scene_report(s, "over_limit_mrad", 1e3 * r->over);
    scene_report(s, "deep_mm", 1e3 * r->deep);
    scene_report(s, "down", down);
    scene_report(s, "farthest_m", farthest);
    scene_report(s, "lowest_m", lowest);
    scene_report(s, "uncertified", r->uncertified);
    if (s->seconds > 0) scene_report(s, "step_us", 1e6 * s->seconds / s->step);
}

/* ---- character: a course of triangles, stairs, a lift that crosses a gap, a ramp, a beam, a crate and a wall */

typedef struct character {
    walker walker;
    csim_body_id lift, crate, shown;
    double carried, offset, nearest, highest, arrived;
    bool riding;
} character;

static const double course_gap = 12, course_far = 17, course_top = 1;

static const scene_key character_keys[] = {{"speed", "2", "of the walk, m/s", NULL},
                                           {"period", "6", "of the lift, s", NULL},
                                           {NULL, NULL, NULL, NULL}};

static double character_bumps(void *user, double x, double y) {
    (void)user;
    return fabs(x) > 2.9 || fabs(y) > 2.9 ? -0.05 : 0.12 * sin(2.1 * x) * sin(1.7 * y + 0.6) + 0.05 * sin(7 * x);
}

static void character_build(scene *s) {
    character *c = (character *)s->state;
    csim_rigid_def d = scene_rigid_def(0, 0.5, 0, 0, 0);
    csim_shape seen = csim_capsule(walker_radius, walker_tall / 2 - walker_radius);
    int i;
    scene_begin(s);
    scene_add_ground(s, 0.5);
    scene_add_static(s, scene_heights(s, 48, 0.125, character_bumps, NULL), 0.5, 4, 0, 0, 0);
    for (i = 0; i < 4; i++) /* stairs of a quarter of a metre */
        scene_add_static(s, csim_box(scene_v3(0.25, 1.5, 0.125 * (i + 1))), 0.5, 7.75 + 0.5 * i, 0, 0.125 * (i + 1), 0);
    scene_add_static(s, csim_box(scene_v3(1.25, 1.5, 0.5)), 0.5, 10.75, 0, 0.5, 0);
    scene_add_static(s, csim_box(scene_v3(1, 1.5, 0.5)), 0.5, course_far + 1, 0, 0.5, 0);
    scene_add_static(s, csim_box(scene_v3(2.05, 1.5, 0.1)), 0.5, course_far + 3.96, 0, 0.405, 0.2527); /* down to 0 */
    scene_add_static(s, csim_box(scene_v3(0.2, 1.5, 0.1)), 0.5, 25, 0, 1.3, 0); /* 1.2 m above ground */
    scene_add_static(s, csim_box(scene_v3(1, 1.5, 0.1)), 0.5, 34, 0, 0.7, -1.1);                       /* too steep */
    d.density = 200;
    d.pose.position = scene_v3(28, 0, 0.3);
    c->crate = scene_add_box(s, &d, 0.3, 0.3, 0.3);
    d.motion = CSIM_KINEMATIC;
    d.pose.position = scene_v3(course_gap + 1, 0, course_top - 0.1);
    c->lift = scene_add_box(s, &d, 1, 1, 0.1);
    seen.sensor = true; /* what is seen of the walker touches nothing */
    d.pose.position = scene_v3(0, 0, 0.91);
    c->shown = scene_add_rigid(s, &d, seen);
    c->walker.feet = scene_v3(0, 0, 0.01);
    c->walker.height = walker_tall;
    c->walker.stands = true;
    c->nearest = 1e9;
}

/* Where the lift is and how fast: over the gap and back. */
static double character_lift(const scene *s, double t, double *speed) {
    const double w = 6.283185307179586 / scene_number(s, "period"), reach = (course_far - course_gap - 2) / 2;
    *speed = reach * w * sin(w * t);
    return course_gap + 1 + reach * (1 - cos(w * t));
}

/* Which way it goes: on, unless it waits for the lift or rides on it. */
static double character_wish(const scene *s, const character *c) {
    const double x = (double)c->walker.feet.x, speed = scene_number(s, "speed");
    double v, lift = character_lift(s, scene_time(s), &v);
    if (x > course_gap - 0.6 && x < course_gap && lift - 1 > course_gap + 0.05) return 0;
    if (x > course_gap && x < course_far && fabs(x - lift) < 0.3 && lift + 1 < course_far - 0.05) return 0;
    return speed;
}

static void character_before(scene *s) {
    character *c = (character *)s->state;
    const double x = (double)c->walker.feet.x;
    const csim_vec3 none = csim_v3(0, 0, 0);
    csim_pose pose = csim_pose_identity();
    csim_mover m;
    csim_plane p[8];
    double v, wish = character_wish(s, c), lift = character_lift(s, scene_time(s), &v);
    bool on = x > course_gap + 0.1 && x < course_far - 0.1;
    int i, n;
    lift = (character_lift(s, scene_time(s) + s->h, &v) - lift) / s->h; /* as far as it goes in this step */
    scene_ok(s, csim_body_set_velocity(s->world, c->lift, scene_v3(lift, 0, 0), none));
    walker_walk(s->world, &c->walker, scene_v3(wish, 0, 0), x > 24 && x < 26, (csim_real)s->h);
    if (on && wish <= 0) { /* it stands still on what moves */
        csim_body_get_pose(s->world, c->lift, &pose);
        v = (double)(c->walker.feet.x - pose.position.x) - lift * s->h; /* the lift goes in the step to come */
        if (c->riding) c->carried = fmax(c->carried, fabs(v - c->offset));
        if (!c->riding) c->offset = v;
    }
    c->riding = on && wish <= 0;
    m = walker_capsule(&c->walker);
    n = csim_world_capsule_planes(s->world, NULL, &m, walker_skin, p, 8);
    for (i = 0; i < n; i++) c->nearest = fmin(c->nearest, (double)p[i].gap);
    c->highest = fmax(c->highest, (double)c->walker.feet.z);
    if (c->arrived <= 0 && x > 31) c->arrived = scene_time(s);
    pose.position = csim_add(c->walker.feet, csim_v3(0, 0, c->walker.height / 2));
    scene_ok(s, csim_body_set_pose(s->world, c->shown, pose));
}

static void character_finish(scene *s) {
    const character *c = (const character *)s->state;
    csim_pose pose = csim_pose_identity();
    csim_body_get_pose(s->world, c->crate, &pose);
    scene_report(s, "end_x_m", (double)c->walker.feet.x);
    scene_report(s, "end_z_m", (double)c->walker.feet.z);
    scene_report(s, "highest_m", c->highest);
    scene_report(s, "arrived_s", c->arrived);
    scene_report(s, "pushed_m", (double)pose.position.x - 28);
    scene_report(s, "slid_mm", 1e3 * c->carried);
    scene_report(s, "nearest_mm", 1e3 * c->nearest);
}

const scene_kind scene_play_kinds[] = {
    {"car", "a car of four sprung wheels drives round a circle over hills of 156800 triangles; as bodies and as a tree",
     "joints_way_m joints_off_m joints_upright joints_deep_mm joints_touching joints_uncertified joints_us "
     "joints_open_um tree_... tree_over_joints",
     1.0 / 100, 60, 0, 0, CSIM_BACKWARD_EULER, 0, sizeof(car), car_keys, car_build, car_before, car_after, car_finish},
    {"ragdoll", "--size bodies of 15 capsules on joints with limits are pushed down a staircase",
     "joint_open_um over_limit_mrad deep_mm down farthest_m lowest_m uncertified step_us", 1.0 / 100, 6, 0, 4,
     CSIM_BACKWARD_EULER, SCENE_RESTS, sizeof(ragdolls), ragdoll_keys, ragdoll_build, NULL, ragdoll_after,
     ragdoll_finish},
    {"character",
     "a character walks over bumps, up stairs, on a lift over a gap, down a ramp, under a beam, against a crate",
     "end_x_m end_z_m highest_m arrived_s pushed_m slid_mm nearest_mm", 1.0 / 100, 40, 0, 0, CSIM_BACKWARD_EULER, 0,
     sizeof(character), character_keys, character_build, character_before, NULL, character_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
