/* condsim for JavaScript: flat functions over condsim.h, compiled to WebAssembly; index.mjs gives them types. A world
   hands out small numbers for its bodies; all numbers that cross are doubles, ints and places in memory. */
#define CONDSIM_OWN_MATH
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name)))

typedef struct shim {
    csim_world *world;
    csim_body_id *body;
    int count, room;
    csim_error error;
    double number[16]; /* answers of more than one number */
} shim;

EXPORT(alloc) void *shim_alloc(int bytes) { return malloc((size_t)bytes); }
EXPORT(release) void shim_release(void *p) { free(p); }

EXPORT(world_create) shim *shim_create(double x, double y, double z, double tolerance, int sleeps) {
    csim_world_def def = csim_default_world_def();
    shim *s = (shim *)calloc(1, sizeof *s);
    if (!s) return NULL;
    def.gravity = csim_v3(x, y, z);
    if (tolerance > 0) def.solver.tolerance = tolerance;
    def.can_sleep = sleeps != 0;
    csim_create_world(&def, &s->world, &s->error);
    return s;
}

EXPORT(world_destroy) void shim_destroy(shim *s) {
    if (s->world) csim_destroy_world(s->world);
    free(s->body);
    free(s);
}

EXPORT(world_ok) int shim_ok(const shim *s) { return s->world != NULL; }
EXPORT(world_error) const char *shim_error(const shim *s) { return s->world ? csim_last_error(s->world) : s->error.text; }

/* The number of a new body, or the status, which is below zero. */
static int shim_number(shim *s, csim_status status, csim_body_id id) {
    if (status != CSIM_OK) return status;
    if (s->count == s->room) {
        csim_body_id *more = (csim_body_id *)realloc(s->body, sizeof *more * (size_t)(2 * s->room + 16));
        if (!more) return CSIM_OUT_OF_MEMORY;
        s->body = more;
        s->room = 2 * s->room + 16;
    }
    s->body[s->count] = id;
    return s->count++;
}

static csim_body_id shim_body(const shim *s, int body) {
    csim_body_id none;
    memset(&none, 0, sizeof none);
    return body >= 0 && body < s->count ? s->body[body] : none;
}

EXPORT(ground) int shim_ground(shim *s, double x, double y, double z, double nx, double ny, double nz, double mu) {
    csim_body_id id;
    csim_status status = csim_create_ground(s->world, csim_v3(x, y, z), csim_v3(nx, ny, nz), mu, &id);
    return shim_number(s, status, id);
}

/* in: kind (0 sphere, 1 capsule, 2 box, 3 cylinder), three sizes, motion, density, mass, friction, restitution,
   position, quaternion w first, velocity, angular velocity. */
EXPORT(rigid) int shim_rigid(shim *s, const double *in) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape shape;
    csim_body_id id;
    switch ((int)in[0]) {
    case 0: shape = csim_sphere(in[1]); break;
    case 1: shape = csim_capsule(in[1], in[2]); break;
    case 3: shape = csim_cylinder(in[1], in[2]); break;
    default: shape = csim_box(csim_v3(in[1], in[2], in[3])); break;
    }
    def.shapes = &shape;
    def.shape_count = 1;
    def.motion = (csim_motion)(int)in[4];
    def.density = in[5];
    def.mass = in[6];
    def.surface.friction = in[7];
    def.surface.restitution = in[8];
    def.pose.position = csim_v3(in[9], in[10], in[11]);
    def.pose.rotation.w = in[12], def.pose.rotation.x = in[13], def.pose.rotation.y = in[14], def.pose.rotation.z = in[15];
    def.velocity = csim_v3(in[16], in[17], in[18]);
    def.angular_velocity = csim_v3(in[19], in[20], in[21]);
    return shim_number(s, csim_create_rigid(s->world, &def, &id), id);
}

EXPORT(soft) int shim_soft(shim *s, const double *vertices, int vertex_count, const int *tets, int tet_count,
                           const double *in) { /* young, poisson, density, friction, position */
    csim_soft_def def = csim_default_soft_def();
    csim_body_id id;
    def.vertices = vertices, def.vertex_count = vertex_count, def.tets = tets, def.tet_count = tet_count;
    def.young = in[0], def.poisson = in[1], def.density = in[2], def.surface.friction = in[3];
    def.pose.position = csim_v3(in[4], in[5], in[6]);
    return shim_number(s, csim_create_soft(s->world, &def, &id), id);
}

EXPORT(destroy) int shim_destroy_body(shim *s, int body) { return csim_destroy_body(s->world, shim_body(s, body)); }
EXPORT(step) int shim_step(shim *s, double h) { return csim_world_step(s->world, h); }

/* time, result (0 converged), contacts, touching, iterations, penetration, dynamics, contact figure */
EXPORT(stats) const double *shim_stats(shim *s) {
    const csim_step_stats t = csim_world_stats(s->world);
    s->number[0] = t.time, s->number[1] = t.result, s->number[2] = t.contacts, s->number[3] = t.touching;
    s->number[4] = t.iterations, s->number[5] = t.penetration, s->number[6] = t.certificate.dynamics;
    s->number[7] = t.certificate.contact;
    return s->number;
}

/* position, quaternion, velocity, angular velocity; null: no such body */
EXPORT(state) const double *shim_state(shim *s, int body) {
    csim_pose pose;
    csim_vec3 v, w;
    const csim_body_id id = shim_body(s, body);
    double *o = s->number;
    if (csim_body_get_pose(s->world, id, &pose) != CSIM_OK) return NULL;
    if (csim_body_get_velocity(s->world, id, &v, &w) != CSIM_OK) v = w = csim_v3(0, 0, 0);
    o[0] = pose.position.x, o[1] = pose.position.y, o[2] = pose.position.z;
    o[3] = pose.rotation.w, o[4] = pose.rotation.x, o[5] = pose.rotation.y, o[6] = pose.rotation.z;
    o[7] = v.x, o[8] = v.y, o[9] = v.z, o[10] = w.x, o[11] = w.y, o[12] = w.z;
    return o;
}

EXPORT(set_velocity) int shim_set_velocity(shim *s, int body, double x, double y, double z, double a, double b, double c) {
    return csim_body_set_velocity(s->world, shim_body(s, body), csim_v3(x, y, z), csim_v3(a, b, c));
}

EXPORT(add_force) int shim_add_force(shim *s, int body, double x, double y, double z, double a, double b, double c) {
    return csim_body_add_force(s->world, shim_body(s, body), csim_v3(x, y, z), csim_v3(a, b, c));
}

EXPORT(node_count) int shim_node_count(shim *s, int body) { return csim_body_node_count(s->world, shim_body(s, body)); }
EXPORT(nodes) int shim_nodes(shim *s, int body, double *out) {
    return csim_body_get_nodes(s->world, shim_body(s, body), out, 3);
}

static int shim_find(const shim *s, csim_body_id id) {
    int i;
    for (i = 0; i < s->count; i++)
        if (s->body[i].index1 == id.index1 && s->body[i].generation == id.generation) return i;
    return -1;
}

EXPORT(contact_count) int shim_contact_count(shim *s) {
    int n;
    csim_world_contacts(s->world, &n);
    return n;
}

/* body a, body b, began, touches, point, normal, normal impulse */
EXPORT(contact) const double *shim_contact(shim *s, int i) {
    int n;
    const csim_contact_info *c = csim_world_contacts(s->world, &n);
    double *o = s->number;
    if (i < 0 || i >= n) return NULL;
    c += i;
    o[0] = shim_find(s, c->body_a), o[1] = shim_find(s, c->body_b), o[2] = c->began;
    o[3] = c->state != CSIM_CONTACT_OPEN, o[4] = c->point.x, o[5] = c->point.y, o[6] = c->point.z;
    o[7] = c->normal.x, o[8] = c->normal.y, o[9] = c->normal.z, o[10] = c->normal_impulse;
    return o;
}

/* body, point, normal, distance; null: nothing */
static const double *shim_hit(shim *s, bool met, const csim_query_hit *hit) {
    double *o = s->number;
    if (!met) return NULL;
    o[0] = shim_find(s, hit->body), o[1] = hit->point.x, o[2] = hit->point.y, o[3] = hit->point.z;
    o[4] = hit->normal.x, o[5] = hit->normal.y, o[6] = hit->normal.z, o[7] = hit->distance;
    return o;
}

EXPORT(ray) const double *shim_ray(shim *s, double x, double y, double z, double a, double b, double c) {
    csim_query_hit hit;
    return shim_hit(s, csim_world_cast_ray(s->world, NULL, csim_v3(x, y, z), csim_v3(a, b, c), &hit), &hit);
}

EXPORT(closest) const double *shim_closest(shim *s, double x, double y, double z, double within) {
    csim_query_hit hit;
    return shim_hit(s, csim_world_closest_point(s->world, NULL, csim_v3(x, y, z), within, &hit), &hit);
}

/* Numbers of the bodies in a box into out, at most so many; how many there are. */
EXPORT(overlap_box) int shim_overlap(shim *s, const double *box, double *out, int most) {
    csim_query_hit *hit = (csim_query_hit *)malloc(sizeof *hit * (size_t)(most > 0 ? most : 1));
    int i, n;
    if (!hit) return CSIM_OUT_OF_MEMORY;
    n = csim_world_overlap_box(s->world, NULL, csim_v3(box[0], box[1], box[2]), csim_v3(box[3], box[4], box[5]), hit, most);
    for (i = 0; i < n && i < most; i++) out[i] = shim_find(s, hit[i].body);
    free(hit);
    return n;
}

/* Events of the last step. kind 0: began to touch, 1: no longer do, 2: hit, 3: fell asleep or woke. */
EXPORT(event_count) int shim_event_count(shim *s, int kind) {
    const csim_events e = csim_world_events(s->world);
    return kind == 0 ? e.begin_count : kind == 1 ? e.end_count : kind == 2 ? e.hit_count : e.sleep_count;
}

/* bodies a and b (3: body and asleep); of hits speed, point, normal, impulse; of touches whether it is that of the
   bodies, whose first shapes touch or whose last no longer do */
EXPORT(event) const double *shim_event(shim *s, int kind, int i) {
    const csim_events e = csim_world_events(s->world);
    double *o = s->number;
    if (i < 0 || i >= shim_event_count(s, kind)) return NULL;
    if (kind < 2) {
        const csim_touch_event *t = (kind == 0 ? e.begins : e.ends) + i;
        o[0] = shim_find(s, t->body_a), o[1] = shim_find(s, t->body_b), o[2] = t->bodies;
    } else if (kind == 2) {
        const csim_hit_event *h = e.hits + i;
        o[0] = shim_find(s, h->body_a), o[1] = shim_find(s, h->body_b), o[2] = h->speed;
        o[3] = h->point.x, o[4] = h->point.y, o[5] = h->point.z, o[6] = h->normal.x, o[7] = h->normal.y;
        o[8] = h->normal.z, o[9] = h->impulse.x, o[10] = h->impulse.y, o[11] = h->impulse.z;
    } else {
        o[0] = shim_find(s, e.sleeps[i].body), o[1] = e.sleeps[i].asleep;
    }
    return o;
}

EXPORT(save_bytes) int shim_save_bytes(shim *s) {
    size_t n = 0;
    csim_world_save(s->world, NULL, &n);
    return (int)n;
}
EXPORT(save) int shim_save(shim *s, void *to, int bytes) {
    size_t n = (size_t)bytes;
    return csim_world_save(s->world, to, &n);
}
EXPORT(restore) int shim_restore(shim *s, const void *from, int bytes) {
    return csim_world_restore(s->world, from, (size_t)bytes);
}
EXPORT(hash_half) unsigned shim_hash(shim *s, int high) {
    const uint64_t h = csim_world_hash(s->world);
    return (unsigned)(high ? h >> 32 : h & 0xffffffffu);
}
EXPORT(version) const char *shim_version(void) { return csim_build_info(); }
EXPORT(status_text) const char *shim_status_text(int status) { return csim_status_text((csim_status)status); }
