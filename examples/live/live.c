/* live: scenes for a page that one can play with. The page (live.html) calls these functions, compiled to WebAssembly;
   the same functions compiled for this machine run the same scenes to the same bits (main below). One at a time. */
#include "cast.h"
#include "picture.h"
#include "scene.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __wasm__
#define LIVE(name) __attribute__((export_name(#name)))
#else
#define LIVE(name)
#endif

enum { LIVE_PAST = 240, LIVE_PAST_BYTES = 128 << 20 }; /* snapshots kept, one a step, and what they take at most */
enum { LIVE_BUDGET = 50000 };                         /* visits of a step in real time: docs/realtime.md */

typedef struct live_row {
    const char *title, *about, *scene, *settings; /* settings: key=value key=value */
    int size;
    double tolerance, h;    /* 0: the scene's */
    double turn, tilt, far; /* of the eye: rad, rad, 1: all that moves fills the view */
    int ways;               /* LIVE_... */
} live_row;

/* The eye goes along with what moves; walls between it and them are not drawn; begins within a budget. */
enum { LIVE_FOLLOWS = 1, LIVE_WALLS = 2, LIVE_WITHIN = 4 };

static const live_row live_table[] = {
    {"Soft creature", "A soft animal of tetrahedra and three rigid bodies fall on a table.",
     "drop-mesh", "", 0, 1e-3, 1.0 / 60, -1.05, 0.36, 1, 0},
    {"House of cards", "It stands by friction alone, and for as long as you like.",
     "card-house", "", 4, 0, 0, -1.05, 0.36, 1, 0},
    {"Arch", "Stones without mortar. Take one out, if you can.", "arch", "", 21, 0, 0, -1.05, 0.36, 1, 0},
    {"Pile", "Five hundred boxes fall into a bin, of which two walls are not drawn.",
     "pile", "", 500, 1e-3, 1.0 / 60, -1.05, 0.55, 0.9, LIVE_FOLLOWS | LIVE_WALLS | LIVE_WITHIN},
    {"Heavy on light", "Ten boxes, 1 kg at the bottom, 1000 kg on top.",
     "heavy-stack", "", 10, 0, 0, -1.05, 0.36, 1, 0},
    {"Cable on a drum", "A cable is wound around a cylinder.",
     "cable-winding", "speed=2", 120, 1e-3, 0, -0.35, 0.30, 1.9, 0},
    {"Cloth on a ball", "A sheet falls on a sphere and hangs there by friction.",
     "cloth", "", 24, 1e-3, 1.0 / 60, -1.05, 0.36, 1, LIVE_FOLLOWS},
    {"Robot dog", "Eighteen degrees of freedom trot by the drives of the joints.",
     "quadruped", "task=trot urdf=none", 0, 1e-3, 0, -1.05, 0.36, 1, LIVE_FOLLOWS},
    {"Pneumatic fingers", "Three soft fingers are inflated, close round a ball and lift it.",
     "pneunet", "wide=2", 0, 1e-3, 1.0 / 60, -1.05, 0.36, 1, 0},
    {"Ragdolls on stairs", "Three bodies of fifteen parts on joints with limits are pushed down a staircase.",
     "ragdoll", "", 3, 1e-3, 1.0 / 60, -0.75, 0.30, 1.3, LIVE_FOLLOWS | LIVE_WITHIN},
    {"Car", "Five bodies on wheel joints drive round a circle over hills of 156 800 triangles.",
     "car", "alone=1", 0, 1e-3, 0, -0.6, 0.3, 1.7, LIVE_FOLLOWS},
    {"Glass in a hand", "Three jointed fingers close round a glass and lift it.",
     "grasp", "", 0, 1e-3, 0, -1.05, 0.36, 1, LIVE_FOLLOWS},
    {"Chain mail", "Rings that link rings catch a ball.", "net", "", 4, 1e-3, 1.0 / 240, -1.05, 0.5, 1.2, LIVE_FOLLOWS},
    {"Everything", "Robot, cloth, cable, solids and rigid bodies in one pen, of which two walls are not drawn.",
     "everything", "", 0, 1e-3, 1.0 / 60, -0.9, 0.6, 0.8, LIVE_FOLLOWS | LIVE_WALLS},
};

typedef struct live_state {
    scene *now;
    picture *drawn;
    int open, bodies; /* row of the table; bodies that are drawn */
    bool stale;       /* the cast is older than the world's bodies */
    char error[SCENE_TEXT];
    unsigned char *past[LIVE_PAST];
    size_t past_bytes[LIVE_PAST], past_all;
    int past_step[LIVE_PAST], past_first, past_count;
    double past_stiffness[LIVE_PAST], past_gravity[LIVE_PAST];
    csim_body_id ball; /* the last one thrown */
    csim_link_id mouse;
    csim_vec3 target; /* where the hand is */
    bool holds;
    double stiffness; /* of what is soft, over what the scene gave it */
    double gravity;   /* downwards, m/s^2 */
} live_state;

static live_state live;

LIVE(live_count) int live_count(void) { return (int)(sizeof live_table / sizeof *live_table); }
LIVE(live_title) const char *live_title(int i) { return live_table[i].title; }
LIVE(live_about) const char *live_about(int i) { return live_table[i].about; }
LIVE(live_error) const char *live_error(void) { return live.error; }

/* ---- what is drawn */

static bool live_draw(void) {
    if (live.drawn) picture_close(live.drawn, live.now, live.error, sizeof live.error);
    live.drawn = picture_open(live.now, "", live.error, sizeof live.error);
    live.stale = false;
    live.bodies = csim_world_body_count(live.now->world);
    return live.drawn != NULL;
}

LIVE(live_items) int live_items(void) { return cast_now()->count; }

/* kind, colour, vertices, triangles, then where the arrays lie. */
LIVE(live_item) intptr_t live_item(int i, int field) {
    const cast_item *item = cast_now()->item + i;
    switch (field) {
    case 0: return item->kind;
    case 1: return item->colour;
    case 2: return item->vertex_count;
    case 3: return item->triangle_count;
    case 4: return (intptr_t)item->vertex;
    case 5: return (intptr_t)item->triangle;
    default: return (intptr_t)item->pose;
    }
}
LIVE(live_radius) double live_radius(int i) { return (double)cast_now()->item[i].radius; }
LIVE(live_contact_count) int live_contact_count(void) { return cast_now()->contact_count; }
LIVE(live_contacts) const float *live_contacts(void) { return cast_now()->contact; }

/* ---- scenes */

LIVE(live_close) void live_close(void) {
    int i;
    if (live.drawn) picture_close(live.drawn, live.now, live.error, sizeof live.error);
    if (live.now) scene_close(live.now);
    for (i = 0; i < LIVE_PAST; i++) free(live.past[i]);
    memset(&live, 0, sizeof live);
    live.stiffness = 1;
}

static bool live_settings(scene_options *o, const char *text) {
    char one[64];
    while (*text) {
        const size_t n = strcspn(text, " ");
        snprintf(one, sizeof one, "%.*s", (int)n, text);
        if (n > 0 && !scene_set(o, one)) return false;
        text += n + (text[n] == ' ');
    }
    return true;
}

/* 1: within a budget, with bounded frames where it does not suffice; 0: certified. 0 when the world cannot. */
LIVE(live_mode) int live_mode(int within) {
    if (!live.now || csim_world_set_budget(live.now->world, within ? LIVE_BUDGET : 0) == CSIM_OK) return 1;
    return snprintf(live.error, sizeof live.error, "%s", csim_last_error(live.now->world)), 0;
}

/* 1: the scene is there. tolerance: 0 for that of the table. */
LIVE(live_open) int live_open(int i, double tolerance) {
    scene_options o = scene_default_options();
    live_close();
    if (i < 0 || i >= live_count()) return snprintf(live.error, sizeof live.error, "no scene %d", i), 0;
    live.open = i;
    o.size = live_table[i].size;
    o.h = live_table[i].h;
    o.tolerance = tolerance > 0 ? tolerance : live_table[i].tolerance;
    if (!live_settings(&o, live_table[i].settings)) return snprintf(live.error, sizeof live.error, "settings"), 0;
    live.now = scene_open(live_table[i].scene, &o, live.error, sizeof live.error);
    if (live.now) live.gravity = -(double)live.now->def.gravity.z;
    return live.now && live_mode((live_table[i].ways & LIVE_WITHIN) != 0) && live_draw();
}

LIVE(live_h) double live_h(void) { return live.now ? live.now->h : 0; }

/* turn, tilt, distance of the eye, LIVE_FOLLOWS and so on */
LIVE(live_view) double live_view(int field) {
    const live_row *row = live_table + live.open;
    return field == 0 ? row->turn : field == 1 ? row->tilt : field == 2 ? row->far : row->ways;
}

/* ---- steps forward and back */

static void live_forget(void) {
    const int at = live.past_first;
    free(live.past[at]);
    live.past[at] = NULL;
    live.past_all -= live.past_bytes[at];
    live.past_first = (at + 1) % LIVE_PAST;
    live.past_count--;
}

static void live_remember(void) {
    size_t need = 0;
    int at;
    csim_world_keep(live.now->world, NULL, &need);
    while (live.past_count > 0 && (live.past_count == LIVE_PAST || live.past_all + need > LIVE_PAST_BYTES)) live_forget();
    at = (live.past_first + live.past_count) % LIVE_PAST;
    live.past[at] = (unsigned char *)malloc(need);
    if (!live.past[at]) return;
    live.past_bytes[at] = need;
    if (csim_world_keep(live.now->world, live.past[at], &live.past_bytes[at]) != CSIM_OK) {
        free(live.past[at]);
        live.past[at] = NULL;
        return;
    }
    live.past_all += live.past_bytes[at];
    live.past_step[at] = live.now->step;
    live.past_stiffness[at] = live.stiffness;
    live.past_gravity[at] = live.gravity;
    live.past_count++;
}

LIVE(live_release) void live_release(void) {
    if (live.holds) csim_destroy_link(live.now->world, live.mouse);
    live.holds = false;
}

/* 1: done; 0: live_error says why not. */
LIVE(live_step) int live_step(void) {
    if (!live.now) return 0;
    live_remember();
    if (!scene_step(live.now)) return snprintf(live.error, sizeof live.error, "%s", live.now->error), 0;
    return 1;
}

/* The hands that a snapshot holds have let go since. */
static void live_drop(csim_world *w) {
    csim_link_id ids[8];
    csim_joint_state joint;
    int i, n = csim_world_joints(w, NULL, 0);
    csim_link_id *all = n > 8 ? (csim_link_id *)malloc(sizeof *all * (size_t)n) : ids;
    if (!all) return;
    csim_world_joints(w, all, n);
    for (i = 0; i < n; i++)
        if (csim_joint_get(w, all[i], &joint) == CSIM_OK && joint.kind == CSIM_JOINT_MOUSE)
            csim_destroy_link(w, all[i]);
    if (all != ids) free(all);
}

LIVE(live_back) int live_back(void) {
    const int at = (live.past_first + live.past_count - 1) % LIVE_PAST;
    if (!live.now || live.past_count == 0) return 0;
    live_release();
    if (csim_world_take_back(live.now->world, live.past[at], live.past_bytes[at]) != CSIM_OK) return 0;
    live_drop(live.now->world);
    free(live.past[at]);
    live.past[at] = NULL;
    live.past_all -= live.past_bytes[at];
    live.past_count--;
    live.now->step = live.past_step[at];
    live.stiffness = live.past_stiffness[at];
    live.gravity = live.past_gravity[at];
    live.stale = live.stale || csim_world_body_count(live.now->world) != live.bodies;
    return 1;
}

/* Brings the arrays of live_item and live_contacts to the world as it is now; 2: the items are others than before. */
LIVE(live_refresh) int live_refresh(void) {
    const bool others = live.stale;
    csim_step_stats stats;
    if (!live.now || (live.stale && !live_draw())) return 0;
    stats = csim_world_stats(live.now->world);
    picture_step(live.drawn, live.now, &stats);
    return others ? 2 : 1;
}

/* time s, contacts that touch, iterations, certificate, 1 when it is met, penetration m, energy J, bodies, past
   steps, gravity m/s^2, stiffness over the scene's */
LIVE(live_figure) double live_figure(int i) {
    csim_step_stats t;
    csim_totals e;
    if (!live.now) return 0;
    t = csim_world_stats(live.now->world);
    switch (i) {
    case 0: return scene_time(live.now);
    case 1: return t.touching;
    case 2: return t.iterations;
    case 3: return csim_certificate_worst(&t.certificate);
    case 4: return t.result == CSIM_RESULT_CONVERGED;
    case 5: return t.penetration;
    case 6: e = csim_world_totals(live.now->world); return e.kinetic + e.gravity + e.elastic;
    case 7: return csim_world_body_count(live.now->world);
    case 8: return live.past_count;
    case 9: return live.gravity;
    default: return live.stiffness;
    }
}

LIVE(live_hash) unsigned live_hash(int high) {
    const uint64_t h = live.now ? csim_world_hash(live.now->world) : 0;
    return (unsigned)(high ? h >> 32 : h & 0xffffffffu);
}

/* ---- what a hand can do */

LIVE(live_gravity) void live_gravity(double down) {
    if (live.now && csim_world_set_gravity(live.now->world, scene_v3(0, 0, -down)) == CSIM_OK) live.gravity = down;
}

LIVE(live_friction) void live_friction(double mu) {
    csim_body_id ids[2048];
    int i, n;
    if (!live.now) return;
    n = csim_world_bodies(live.now->world, ids, 2048);
    for (i = 0; i < n && i < 2048; i++) csim_body_set_friction(live.now->world, ids[i], (csim_real)mu);
}

/* Of all that is soft, over what the scene gave it; how many bodies that are. */
LIVE(live_stiffness) int live_stiffness(double factor) {
    csim_body_id ids[2048];
    csim_body_kind kind;
    int i, n, count = 0;
    if (!live.now) return 0;
    n = csim_world_bodies(live.now->world, ids, 2048);
    for (i = 0; i < n && i < 2048; i++) {
        if (csim_body_get_kind(live.now->world, ids[i], &kind) != CSIM_OK) continue;
        if (kind != CSIM_SOFT && kind != CSIM_BODY_CLOTH && kind != CSIM_BODY_CABLE) continue;
        csim_body_scale_stiffness(live.now->world, ids[i], (csim_real)(factor / live.stiffness));
        count++;
    }
    live.stiffness = factor;
    return count;
}

/* The node of a hit that weighs most in it; -1: the hit is on a rigid thing. */
static int live_node(const csim_query_hit *hit) {
    const int *triangles;
    int count, k, best = 0;
    for (k = 1; k < 3; k++)
        if (hit->weight[k] > hit->weight[best]) best = k;
    if (hit->part == CSIM_QUERY_EDGE) return hit->index + best;
    if (hit->part != CSIM_QUERY_TRIANGLE && hit->part != CSIM_QUERY_INSIDE) return -1;
    if (csim_body_surface(live.now->world, hit->body, &triangles, &count) != CSIM_OK) return -1;
    return triangles[3 * hit->index + best];
}

/* The mass of what hangs on a body by joints, kg. */
static double live_mass(const csim_world *w, csim_body_id start) {
    enum { MOST = 64 };
    csim_body_id seen[MOST];
    csim_link_id joints[MOST];
    csim_joint_state joint;
    csim_mass mass;
    double sum = 0;
    int n = csim_world_joints(w, NULL, 0), count = 1, i, k, side;
    seen[0] = start;
    if (n > MOST) n = 0; /* a crowd: each by itself is near enough */
    csim_world_joints(w, joints, n);
    for (i = 0; i < count; i++) {
        if (csim_body_get_mass(w, seen[i], &mass) == CSIM_OK) sum += (double)mass.mass;
        for (k = 0; k < 2 * n && count < MOST; k++) {
            csim_body_id other;
            if (csim_joint_get(w, joints[k / 2], &joint) != CSIM_OK) continue;
            other = k % 2 ? joint.a : joint.b;
            if ((k % 2 ? joint.b : joint.a).index1 != seen[i].index1 || other.index1 == 0) continue;
            for (side = 0; side < count && seen[side].index1 != other.index1; side++) continue;
            if (side == count) seen[count++] = other;
        }
    }
    return sum;
}

/* The first thing on the way, through walls that are not drawn; false where it cannot move. */
static bool live_look(const csim_world *w, csim_vec3 from, csim_vec3 way, csim_query_hit *hit) {
    enum { MOST = 16 };
    csim_query_hit hits[MOST];
    csim_motion motion = CSIM_STATIC;
    const int ways = live_table[live.open].ways;
    int i, n = csim_world_cast_ray_all(w, NULL, from, way, hits, MOST);
    for (i = 0; i < n && i < MOST; i++) {
        *hit = hits[i];
        if (csim_body_get_motion(w, hit->body, &motion) != CSIM_OK) return false;
        if (motion == CSIM_DYNAMIC) return true;
        if (!(ways & LIVE_WALLS)) return false;
    }
    return false;
}

/* A mouse joint at what the ray meets. The distance along the ray (of unit length) to it; 0: nothing that could move. */
LIVE(live_grab) double live_grab(double x, double y, double z, double dx, double dy, double dz) {
    const csim_real far = 1000;
    csim_joint_def mouse = csim_default_joint_def();
    csim_query_hit hit;
    csim_world *w;
    double mass;
    int node, k;
    if (!live.now) return 0;
    w = live.now->world;
    live_release();
    if (!live_look(w, scene_v3(x, y, z), csim_scale(far, scene_v3(dx, dy, dz)), &hit)) return 0;
    mass = live_mass(w, hit.body);
    node = live_node(&hit);
    mouse.kind = CSIM_JOINT_MOUSE;
    mouse.axis = csim_v3(1, 0, 0); /* its axes are those of the world */
    mouse.axis2 = csim_v3(0, 0, 1);
    mouse.a.body = hit.body;
    mouse.a.node = node >= 0 ? node : hit.link > 0 ? hit.link : 0;
    mouse.a.point = mouse.b.point = hit.point;
    for (k = CSIM_AXIS_X; k <= CSIM_AXIS_Z; k++) { /* swings at 2.8 Hz when it carries all of it */
        mouse.axes[k].spring.stiffness = (csim_real)(300 * mass);
        mouse.axes[k].spring.damping = (csim_real)(25 * mass);
    }
    if (csim_create_joint(w, &mouse, &live.mouse) != CSIM_OK)
        return snprintf(live.error, sizeof live.error, "%s", csim_last_error(w)), 0;
    live.holds = true;
    live.target = hit.point;
    return (double)(hit.fraction * far);
}

LIVE(live_drag) void live_drag(double x, double y, double z) {
    live.target = scene_v3(x, y, z);
    if (live.holds) csim_joint_set_anchor(live.now->world, live.mouse, live.target);
}

/* 1: something is held; x, y, z of the point where, and of the hand. */
LIVE(live_held) double live_held(int i) {
    const csim_real *target = &live.target.x;
    csim_axis_state axis;
    if (i == 0 || !live.holds) return live.holds;
    if (i > 3) return (double)target[i - 4];
    if (csim_joint_get_axis(live.now->world, live.mouse, (csim_axis)(CSIM_AXIS_X + i - 1), &axis) != CSIM_OK) return 0;
    return (double)(target[i - 1] + axis.position);
}

/* A ball of 1 kg at the speed of a throw. */
LIVE(live_throw) int live_throw(double x, double y, double z, double dx, double dy, double dz, double radius) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape ball = csim_sphere((csim_real)radius);
    if (!live.now) return 0;
    live_release();
    def.shapes = &ball;
    def.shape_count = 1;
    def.density = 500;
    def.pose.position = scene_v3(x, y, z);
    def.velocity = scene_v3(dx, dy, dz);
    if (csim_create_rigid(live.now->world, &def, &live.ball) != CSIM_OK)
        return snprintf(live.error, sizeof live.error, "%s", csim_last_error(live.now->world)), 0;
    live.stale = true;
    return 1;
}

#ifndef __wasm__
/* The native twin: condsim-live SCENE STEPS prints the hash of the world after so many steps; without, the titles. */
int main(int argc, char **argv) {
    const int i = argc > 1 ? atoi(argv[1]) : -1, steps = argc > 2 ? atoi(argv[2]) : 0;
    int k;
    for (k = 0; argc < 2 && k < live_count(); k++) printf("%d %s\n", k, live_title(k));
    if (argc < 2) return 0;
    if (!live_open(i, 0)) return printf("%s\n", live_error()), 1;
    for (k = 0; k < steps; k++)
        if (!live_step()) return printf("step %d: %s\n", k + 1, live_error()), 1;
    printf("%08x%08x\n", live_hash(1), live_hash(0));
    live_close();
    return 0;
}
#endif
