#include "cast.h"
#include "replay.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* replay.h's handle is this one record: the page shows one world. */
struct replay {
    cast shown;
    int failed;
};

static replay cast_only;

const cast *cast_now(void) { return &cast_only.shown; }

replay *replay_open(const char *path, const char *title, double frame_rate) {
    replay *r = &cast_only;
    int i;
    (void)path, (void)title, (void)frame_rate;
    for (i = 0; i < r->shown.count; i++) {
        free(r->shown.item[i].vertex);
        free(r->shown.item[i].triangle);
    }
    r->shown.count = r->shown.contact_count = 0;
    r->failed = 0;
    return r;
}

/* A new item with room for its arrays, or null: the failure is kept. */
static cast_item *cast_add(replay *r, int kind, int colour, int vertex_count, const int *triangle, int triangle_count) {
    cast *c = &r->shown;
    cast_item *item;
    if (c->count == c->room) {
        const int room = 2 * c->room + 64;
        cast_item *more = (cast_item *)realloc(c->item, sizeof *more * (size_t)room);
        if (!more) return r->failed = REPLAY_NO_MEMORY, (cast_item *)NULL;
        c->item = more;
        c->room = room;
    }
    item = c->item + c->count;
    memset(item, 0, sizeof *item);
    item->kind = kind;
    item->colour = colour;
    item->vertex_count = vertex_count;
    item->triangle_count = triangle_count;
    item->like = c->count;
    item->vertex = (float *)calloc((size_t)vertex_count * 3 + 1, sizeof *item->vertex);
    item->triangle = (int *)calloc((size_t)triangle_count * 3 + 1, sizeof *item->triangle);
    item->pose[3] = 1;
    if (!item->vertex || !item->triangle) {
        free(item->vertex);
        free(item->triangle);
        return r->failed = REPLAY_NO_MEMORY, (cast_item *)NULL;
    }
    if (triangle) memcpy(item->triangle, triangle, sizeof *triangle * (size_t)triangle_count * 3);
    c->count++;
    return item;
}

int replay_piece(replay *r, const char *name, int colour, const replay_mesh *mesh) {
    cast_item *item = cast_add(r, CAST_PIECE, colour, mesh->vertex_count, mesh->triangle, mesh->triangle_count);
    (void)name;
    if (!item) return r->failed;
    memcpy(item->vertex, mesh->vertex, sizeof(float) * 3 * (size_t)mesh->vertex_count);
    return r->shown.count - 1;
}

int replay_surface(replay *r, const char *name, int colour, int vertex_count, const int *triangle, int triangle_count) {
    (void)name;
    return cast_add(r, CAST_SURFACE, colour, vertex_count, triangle, triangle_count) ? r->shown.count - 1 : r->failed;
}

int replay_points(replay *r, const char *name, int colour, int count, float radius) {
    cast_item *item = cast_add(r, CAST_POINTS, colour, count, NULL, 0);
    (void)name;
    if (!item) return r->failed;
    item->radius = radius;
    return r->shown.count - 1;
}

int replay_floor(replay *r, const float point[3], const float normal[3]) {
    cast_item *item = cast_add(r, CAST_FLOOR, REPLAY_FIXED, 0, NULL, 0);
    if (!item) return r->failed;
    memcpy(item->pose, point, sizeof(float) * 3);
    memcpy(item->pose + 3, normal, sizeof(float) * 3);
    return 0;
}

int cast_stay(int piece) {
    const cast_item from = cast_only.shown.item[piece];
    cast_item *item = cast_add(&cast_only, CAST_PIECE, from.colour, from.vertex_count, from.triangle, from.triangle_count);
    if (!item) return -1;
    memcpy(item->vertex, from.vertex, sizeof(float) * 3 * (size_t)from.vertex_count);
    memcpy(item->pose, from.pose, sizeof from.pose);
    item->like = from.like;
    return 0;
}

int cast_plate(int floor, float reach) {
    const cast_item at = cast_only.shown.item[floor];
    const float *n = at.pose + 3, thick = 0.02f * reach;
    float half[3], length = 0, q[4] = {1 + n[2], -n[1], n[0], 0}; /* turns z into n */
    replay_mesh box;
    cast_item *item;
    int k, ok;
    half[0] = half[1] = reach, half[2] = thick;
    memset(&box, 0, sizeof box);
    replay_mesh_box(&box, half[0], half[1], half[2]);
    ok = replay_piece(&cast_only, "floor", REPLAY_FIXED, &box);
    replay_mesh_free(&box);
    if (ok < 0) return -1;
    item = cast_only.shown.item + ok;
    for (k = 0; k < 4; k++) length += q[k] * q[k];
    for (k = 0; k < 4; k++) item->pose[3 + k] = q[k] / sqrtf(length);
    for (k = 0; k < 3; k++) item->pose[k] = at.pose[k] - thick * n[k];
    return 0;
}

int replay_frame(replay *r, double time) {
    (void)time;
    r->shown.contact_count = 0;
    return 0;
}

int replay_pose(replay *r, int piece, const float position[3], const float quaternion[4]) {
    if (piece < 0 || piece >= r->shown.count) return REPLAY_BAD_CALL;
    memcpy(r->shown.item[piece].pose, position, sizeof(float) * 3);
    memcpy(r->shown.item[piece].pose + 3, quaternion, sizeof(float) * 4);
    return 0;
}

int replay_surface_vertices(replay *r, int surface, const float *vertex) {
    cast_item *item = r->shown.item + surface;
    if (surface < 0 || surface >= r->shown.count) return REPLAY_BAD_CALL;
    memcpy(item->vertex, vertex, sizeof *vertex * 3 * (size_t)item->vertex_count);
    return 0;
}

int replay_point_positions(replay *r, int points, const float *position) {
    return replay_surface_vertices(r, points, position);
}

int replay_contact(replay *r, const float point[3], const float force[3], int state) {
    float *to = r->shown.contact + CAST_CONTACT_NUMBERS * r->shown.contact_count;
    if (r->shown.contact_count == CAST_CONTACTS) return 0;
    memcpy(to, point, sizeof(float) * 3);
    memcpy(to + 3, force, sizeof(float) * 3);
    to[6] = (float)state;
    r->shown.contact_count++;
    return 0;
}

/* What a page that is played live has no use for. */
int replay_due(const replay *r, double time) { return (void)r, (void)time, 1; }
int replay_step(replay *r, const replay_values *values) { return (void)values, r->failed; }
int replay_note(replay *r, const char *note) { return (void)note, r->failed; }
int replay_tolerance(replay *r, double tolerance) { return (void)tolerance, r->failed; }
int replay_camera(replay *r, const float eye[3], const float target[3]) {
    return (void)eye, (void)target, r->failed;
}
int replay_contact_limit(replay *r, int limit) { return (void)limit, r->failed; }
int replay_fact(replay *r, const char *name, const char *format, ...) {
    return (void)name, (void)format, r->failed;
}

int replay_close(replay *r, char *error, size_t error_size) {
    if (r->failed && error) snprintf(error, error_size, "out of memory");
    return r->failed;
}
