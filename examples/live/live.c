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

enum { LIVE_PAST = 240 }; /* snapshots kept, one a step */

typedef struct live_row {
    const char *title, *about, *scene, *settings; /* settings: key=value key=value */
    int size;
    double tolerance, h; /* 0: the scene's */
} live_row;

static const live_row live_table[] = {
    {"Soft creature", "A soft animal of tetrahedra and three rigid bodies fall on a table.", "drop-mesh", "", 0, 1e-3,
     0},
    {"House of cards", "It stands by friction alone, and for as long as you like.", "card-house", "", 4, 0, 0},
    {"Arch", "Stones without mortar. Take one out, if you can.", "arch", "", 21, 0, 0},
    {"Pile", "Boxes and balls fall into a bin.", "pile", "", 200, 1e-3, 0},
    {"Heavy on light", "Ten boxes, 1 kg at the bottom, 1000 kg on top.", "heavy-stack", "", 10, 0, 0},
    {"Cable on a drum", "A cable is wound around a cylinder.", "cable-winding", "", 120, 1e-3, 0},
    {"Cloth on a ball", "A sheet falls on a sphere and hangs there by friction.", "cloth", "", 24, 1e-3, 0},
    {"Robot dog", "Eighteen degrees of freedom trot by the drives of the joints.", "quadruped", "task=trot", 0, 1e-3,
     0},
    {"Pneumatic fingers", "Three soft fingers are inflated, close round a ball and lift it.", "pneunet", "", 0, 1e-3,
     0},
    {"Glass in a hand", "Three jointed fingers close round a glass and lift it.", "grasp", "", 0, 1e-3, 0},
    {"Chain mail", "Rings that link rings catch a ball.", "net", "", 4, 1e-3, 0},
    {"Everything", "Robot, cloth, cable, solids and rigid bodies in one pen.", "everything", "", 0, 1e-3, 0},
};

typedef struct live_state {
    scene *now;
    picture *drawn;
    int open; /* row of the table */
    bool stale; /* the cast is older than the world's bodies */
    char error[SCENE_TEXT];
    unsigned char *past[LIVE_PAST];
    size_t past_bytes[LIVE_PAST], past_room[LIVE_PAST];
    int past_step[LIVE_PAST], past_first, past_count;
    csim_body_id hand, ball; /* the particle that draws; the last ball thrown */
    csim_link_id string;
    bool holds;
    csim_vec3 target;
    csim_real friction; /* < 0: as the scene has it */
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
    live.friction = -1;
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
    return live.now && live_draw();
}

LIVE(live_h) double live_h(void) { return live.now ? live.now->h : 0; }

/* ---- steps forward and back */

static void live_remember(void) {
    const int at = (live.past_first + live.past_count) % LIVE_PAST;
    size_t need = 0;
    csim_world_save(live.now->world, NULL, &need);
    if (need > 8u << 20) return; /* a large world has no past here */
    if (need > live.past_room[at]) {
        unsigned char *more = (unsigned char *)realloc(live.past[at], need);
        if (!more) return;
        live.past[at] = more;
        live.past_room[at] = need;
    }
    live.past_bytes[at] = need;
    if (csim_world_save(live.now->world, live.past[at], &live.past_bytes[at]) != CSIM_OK) return;
    live.past_step[at] = live.now->step;
    if (live.past_count < LIVE_PAST)
        live.past_count++;
    else
        live.past_first = (live.past_first + 1) % LIVE_PAST;
}

/* Snapshots know the bodies of their moment: what is held lets go first, a ball thrown later ends the way back. */
LIVE(live_release) void live_release(void) {
    if (!live.holds) return;
    csim_destroy_link(live.now->world, live.string);
    csim_destroy_body(live.now->world, live.hand);
    live.holds = false;
    live.past_count = 0;
    live.stale = true;
}

/* The hand moves to its target within a step, at most at 20 m/s. */
static void live_pull(void) {
    csim_pose pose;
    csim_vec3 way;
    csim_real speed;
    if (!live.holds || csim_body_get_pose(live.now->world, live.hand, &pose) != CSIM_OK) return;
    way = csim_scale((csim_real)(1 / live.now->h), csim_sub(live.target, pose.position));
    speed = csim_length(way);
    if (speed > 20) way = csim_scale(20 / speed, way);
    csim_body_set_velocity(live.now->world, live.hand, way, csim_v3(0, 0, 0));
}

/* 1: done; 0: live_error says why not. */
LIVE(live_step) int live_step(void) {
    if (!live.now) return 0;
    live_remember();
    live_pull();
    if (!scene_step(live.now)) return snprintf(live.error, sizeof live.error, "%s", live.now->error), 0;
    return 1;
}

LIVE(live_back) int live_back(void) {
    const int at = (live.past_first + live.past_count - 1) % LIVE_PAST;
    if (!live.now || live.past_count == 0) return 0;
    if (csim_world_restore(live.now->world, live.past[at], live.past_bytes[at]) != CSIM_OK) return 0;
    live.past_count--;
    live.now->step = live.past_step[at];
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
   steps */
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
    default: return live.past_count;
    }
}

LIVE(live_hash) unsigned live_hash(int high) {
    const uint64_t h = live.now ? csim_world_hash(live.now->world) : 0;
    return (unsigned)(high ? h >> 32 : h & 0xffffffffu);
}

/* ---- what a hand can do */

LIVE(live_gravity) void live_gravity(double x, double y, double z) {
    if (live.now) csim_world_set_gravity(live.now->world, scene_v3(x, y, z));
}

LIVE(live_friction) void live_friction(double mu) {
    csim_body_id ids[2048];
    int i, n;
    if (!live.now) return;
    n = csim_world_bodies(live.now->world, ids, 2048);
    for (i = 0; i < n && i < 2048; i++) csim_body_set_friction(live.now->world, ids[i], (csim_real)mu);
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

/* A soft string from what the ray meets to a particle that touches nothing and follows the hand. The distance along the
   ray (of unit length) to what was met; 0: nothing that could move. */
LIVE(live_grab) double live_grab(double x, double y, double z, double dx, double dy, double dz) {
    const csim_real far = 1000;
    csim_particle_def hand = csim_default_particle_def();
    csim_spring_def string = csim_default_spring_def();
    csim_motion motion = CSIM_STATIC;
    csim_mass mass;
    csim_query_hit hit;
    csim_world *w;
    int node;
    if (!live.now) return 0;
    w = live.now->world;
    live_release();
    if (!csim_world_cast_ray(w, NULL, scene_v3(x, y, z), csim_scale(far, scene_v3(dx, dy, dz)), &hit)) return 0;
    if (csim_body_get_motion(w, hit.body, &motion) != CSIM_OK || motion != CSIM_DYNAMIC) return 0;
    if (csim_body_get_mass(w, hit.body, &mass) != CSIM_OK) return 0;
    node = live_node(&hit);
    hand.motion = CSIM_KINEMATIC;
    hand.position = live.target = hit.point;
    hand.surface.mask = 0;
    if (csim_create_particle(w, &hand, &live.hand) != CSIM_OK) return 0;
    string.a.body = live.hand;
    string.a.point = hit.point;
    string.b.body = hit.body;
    string.b.point = hit.point;
    string.b.node = node >= 0 ? node : hit.link > 0 ? hit.link : 0;
    string.rest_length = 0;
    string.stiffness = 300 * mass.mass; /* swings at 2.8 Hz when it carries all of the body */
    string.damping = 25 * mass.mass;
    if (csim_create_spring(w, &string, &live.string) != CSIM_OK) {
        snprintf(live.error, sizeof live.error, "%s", csim_last_error(w));
        csim_destroy_body(w, live.hand);
        return 0;
    }
    live.holds = live.stale = true;
    live.past_count = 0;
    return (double)(hit.fraction * far);
}

LIVE(live_drag) void live_drag(double x, double y, double z) { live.target = scene_v3(x, y, z); }

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
    live.past_count = 0;
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
