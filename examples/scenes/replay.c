/* replay: see replay.h. Frames are kept as floats until the end, because only then the bounds to quantise within are
   known. The page gets a JSON head and one block of bytes in base64:

       shapes (vertices, triangles), triangles of surfaces, times of frames, values of steps (floats),
       then the frames, coded as in "Packing" below. */
#include "replay.h"
#include "viewer_page.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_VALUES = 8, CONTACT_VALUES = 7, POSE_VALUES = 7 };

/* ---- growing memory */

typedef struct bytes {
    char *data;
    size_t size, room;
} bytes;

static void *grow(bytes *b, size_t size) {
    char *at;
    if (b->size + size > b->room) {
        size_t room = b->room * 2 > b->size + size ? b->room * 2 : b->size + size + 256;
        char *data = (char *)realloc(b->data, room);
        if (!data) return NULL;
        b->data = data;
        b->room = room;
    }
    at = b->data + b->size;
    b->size += size;
    return at;
}

static int append(bytes *b, const void *data, size_t size) {
    void *at = grow(b, size);
    if (!at) return REPLAY_NO_MEMORY;
    if (size > 0) memcpy(at, data, size);
    return 0;
}

static int append_text(bytes *b, const char *text) { return append(b, text, strlen(text)); }

/* 32-bit words, low byte first whatever the machine. */
static int append_words(bytes *b, const void *words, size_t count) {
    const char *from = (const char *)words;
    unsigned char *to = (unsigned char *)grow(b, 4 * count);
    size_t i;
    if (!to && count) return REPLAY_NO_MEMORY;
    for (i = 0; i < count; ++i, from += 4, to += 4) {
        uint32_t v;
        memcpy(&v, from, 4);
        to[0] = (unsigned char)(v & 255), to[1] = (unsigned char)(v >> 8 & 255);
        to[2] = (unsigned char)(v >> 16 & 255), to[3] = (unsigned char)(v >> 24);
    }
    return 0;
}

/* For short pieces: numbers and punctuation. */
static int print_to(bytes *b, const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return append_text(b, text);
}

/* A JSON string; "<" is written as an escape because it could end the script element it stands in. */
static int append_json(bytes *b, const char *text) {
    int bad = append(b, "\"", 1);
    for (; *text && !bad; ++text) {
        unsigned char c = (unsigned char)*text;
        if (c < 32 || c == '"' || c == '\\' || c == '<' || c == 127)
            bad = print_to(b, "\\u%04x", (unsigned)c);
        else
            bad = append(b, text, 1);
    }
    return bad ? bad : append(b, "\"", 1);
}

/* ---- the record */

/* A deformable surface or a set of points: count positions a frame. A surface keeps only the vertices its triangles
   use, since solids hand over their inner nodes too. */
typedef struct cloth {
    int count;
    int given;     /* positions the caller passes */
    int *used;     /* [count] which of them are kept, ascending; NULL: all */
    size_t offset; /* first float in a frame */
} cloth;

struct replay {
    FILE *file;
    char *path, *note, *title;
    double frame_rate, tolerance;
    int status;
    char error[256];
    int contact_limit, most_contacts;
    int has_camera;
    float camera[6];
    int shape_count, piece_count, surface_count, points_count, floor_count;
    bytes shapes;                                           /* replay_mesh */
    bytes surfaces, points;                                 /* cloth */
    bytes surface_triangles;                                /* int */
    bytes piece_json, surface_json, points_json, floor_json, fact_json;
    bytes steps;                                            /* float x STEP_VALUES */
    bytes times;                                            /* float */
    bytes frames;                                           /* float x frame_floats */
    bytes contacts;                                         /* float x CONTACT_VALUES */
    bytes contact_counts;                                   /* int */
    size_t frame_floats;
    int frame_count;
    double last_time, first_time;
};

static int fail(replay *r, int status, const char *format, ...) {
    va_list list;
    if (!r) return REPLAY_NO_MEMORY;
    if (r->status) return r->status;
    va_start(list, format);
    vsnprintf(r->error, sizeof r->error, format, list);
    va_end(list);
    r->status = status;
    return status;
}

static int no_memory(replay *r) { return fail(r, REPLAY_NO_MEMORY, "replay: out of memory"); }

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = (char *)malloc(size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

replay *replay_open(const char *path, const char *title, double frame_rate) {
    replay *r = (replay *)calloc(1, sizeof *r);
    if (!r) return NULL;
    r->frame_rate = frame_rate > 0 ? frame_rate : 60;
    r->contact_limit = 4000;
    r->path = copy_text(path);
    r->title = copy_text(title);
    if (!r->path || !r->title) {
        no_memory(r);
        return r;
    }
    r->file = fopen(path, "wb");
    if (!r->file) fail(r, REPLAY_NO_FILE, "replay: cannot open %s for writing", path);
    return r;
}

int replay_note(replay *r, const char *note) {
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    free(r->note);
    r->note = copy_text(note);
    return r->note ? 0 : no_memory(r);
}

int replay_tolerance(replay *r, double tolerance) {
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    r->tolerance = tolerance > 0 && tolerance < 1e30 ? tolerance : 0;
    return 0;
}

int replay_contact_limit(replay *r, int limit) {
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    if (limit < 1) return fail(r, REPLAY_BAD_CALL, "replay: contact limit %d, must be at least 1", limit);
    r->contact_limit = limit;
    return 0;
}

int replay_fact(replay *r, const char *name, const char *format, ...) {
    char value[256];
    va_list list;
    int bad;
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    va_start(list, format);
    vsnprintf(value, sizeof value, format, list);
    va_end(list);
    bad = append_text(&r->fact_json, r->fact_json.size ? ",[" : "[") || append_json(&r->fact_json, name) ||
          append_text(&r->fact_json, ",") || append_json(&r->fact_json, value) || append_text(&r->fact_json, "]");
    return bad ? no_memory(r) : 0;
}

static int finite_floats(const float *x, size_t count) {
    size_t i;
    for (i = 0; i < count; ++i)
        if (!(x[i] >= -1e30f && x[i] <= 1e30f)) return 0;
    return 1;
}

int replay_camera(replay *r, const float eye[3], const float target[3]) {
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    if (!finite_floats(eye, 3) || !finite_floats(target, 3))
        return fail(r, REPLAY_NOT_FINITE, "replay: camera is not finite");
    memcpy(r->camera, eye, 3 * sizeof(float));
    memcpy(r->camera + 3, target, 3 * sizeof(float));
    r->has_camera = 1;
    return 0;
}

/* ---- the cast */

static int cast_open(replay *r, const char *what) {
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    if (r->frame_count) return fail(r, REPLAY_BAD_CALL, "replay: %s added after the first frame", what);
    return 0;
}

int replay_floor(replay *r, const float point[3], const float normal[3]) {
    int bad = cast_open(r, "floor");
    if (bad) return bad;
    if (!finite_floats(point, 3) || !finite_floats(normal, 3))
        return fail(r, REPLAY_NOT_FINITE, "replay: floor is not finite");
    if (print_to(&r->floor_json, "%s{\"p\":[%.9g,%.9g,%.9g],\"n\":[%.9g,%.9g,%.9g]}", r->floor_count ? "," : "",
                 (double)point[0], (double)point[1], (double)point[2], (double)normal[0], (double)normal[1],
                 (double)normal[2]))
        return no_memory(r);
    return r->floor_count++;
}

static int same_mesh(const replay_mesh *a, const replay_mesh *b) {
    return a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count &&
           memcmp(a->vertex, b->vertex, 3 * sizeof(float) * (size_t)a->vertex_count) == 0 &&
           memcmp(a->triangle, b->triangle, 3 * sizeof(int) * (size_t)a->triangle_count) == 0;
}

static int check_triangles(replay *r, const char *name, const int *triangle, int count, int vertex_count) {
    int i;
    if (vertex_count < 1 || count < 1)
        return fail(r, REPLAY_BAD_CALL, "replay: %s has %d vertices, %d triangles", name, vertex_count, count);
    for (i = 0; i < 3 * count; ++i)
        if (triangle[i] < 0 || triangle[i] >= vertex_count)
            return fail(r, REPLAY_BAD_CALL, "replay: %s, triangle %d: vertex %d is not in 0..%d", name, i / 3,
                        triangle[i], vertex_count - 1);
    return 0;
}

/* Index of an equal mesh among those stored, or of a new copy. */
static int find_shape(replay *r, const replay_mesh *mesh) {
    const replay_mesh *known = (const replay_mesh *)(const void *)r->shapes.data;
    replay_mesh copy;
    int i;
    for (i = r->shape_count - 1; i >= 0; --i)
        if (same_mesh(&known[i], mesh)) return i;
    if (replay_mesh_copy(&copy, mesh->vertex, mesh->vertex_count, mesh->triangle, mesh->triangle_count))
        return no_memory(r);
    if (append(&r->shapes, &copy, sizeof copy)) {
        replay_mesh_free(&copy);
        return no_memory(r);
    }
    return r->shape_count++;
}

static int cast_json(bytes *json, const char *name, int colour) {
    return append_text(json, json->size ? ",{\"name\":" : "{\"name\":") || append_json(json, name) ||
           print_to(json, ",\"colour\":%d", colour == REPLAY_FIXED ? -2 : colour < 0 ? -1 : colour & 0xffffff);
}

int replay_piece(replay *r, const char *name, int colour, const replay_mesh *mesh) {
    int shape, bad = cast_open(r, "piece");
    if (!bad) bad = check_triangles(r, name, mesh->triangle, mesh->triangle_count, mesh->vertex_count);
    if (bad) return bad;
    if (!finite_floats(mesh->vertex, 3 * (size_t)mesh->vertex_count))
        return fail(r, REPLAY_NOT_FINITE, "replay: mesh of %s is not finite", name);
    shape = find_shape(r, mesh);
    if (shape < 0) return shape;
    if (cast_json(&r->piece_json, name, colour) || print_to(&r->piece_json, ",\"shape\":%d}", shape))
        return no_memory(r);
    return r->piece_count++;
}

/* Appends the triangles, renumbered over the vertices they use. */
static int keep_used(replay *r, cloth *c, const int *triangle, int triangle_count) {
    int *number = (int *)malloc(2 * sizeof(int) * (size_t)c->given);
    int *to = (int *)grow(&r->surface_triangles, 3 * sizeof(int) * (size_t)triangle_count);
    int i;
    if (!number || !to) {
        free(number);
        return REPLAY_NO_MEMORY;
    }
    c->used = number; /* the first half stays; the second numbers the vertices */
    number += c->given;
    for (i = 0; i < c->given; ++i) number[i] = -1;
    for (i = 0; i < 3 * triangle_count; ++i) number[triangle[i]] = 0;
    for (i = 0; i < c->given; ++i)
        if (number[i] == 0) {
            number[i] = c->count;
            c->used[c->count++] = i;
        }
    for (i = 0; i < 3 * triangle_count; ++i) to[i] = number[triangle[i]];
    return 0;
}

int replay_surface(replay *r, const char *name, int colour, int vertex_count, const int *triangle, int triangle_count) {
    cloth made = {0, 0, NULL, 0};
    int bad = cast_open(r, "surface");
    if (!bad) bad = check_triangles(r, name, triangle, triangle_count, vertex_count);
    if (bad) return bad;
    made.given = vertex_count;
    if (keep_used(r, &made, triangle, triangle_count)) return no_memory(r);
    if (append(&r->surfaces, &made, sizeof made)) {
        free(made.used);
        return no_memory(r);
    }
    ++r->surface_count;
    if (cast_json(&r->surface_json, name, colour) ||
        print_to(&r->surface_json, ",\"count\":%d,\"triangles\":%d}", made.count, triangle_count))
        return no_memory(r);
    return r->surface_count - 1;
}

int replay_points(replay *r, const char *name, int colour, int count, float radius) {
    cloth made = {0, 0, NULL, 0};
    int bad = cast_open(r, "points");
    if (bad) return bad;
    if (count < 1 || !(radius > 0 && radius < 1e30f))
        return fail(r, REPLAY_BAD_CALL, "replay: %s: %d points of radius %g", name, count, (double)radius);
    made.count = made.given = count;
    if (append(&r->points, &made, sizeof made) || cast_json(&r->points_json, name, colour) ||
        print_to(&r->points_json, ",\"count\":%d,\"radius\":%.9g}", count, (double)radius))
        return no_memory(r);
    return r->points_count++;
}

/* ---- steps and frames */

static float plain(double x) { return x > -1e30 && x < 1e30 ? (float)x : (float)NAN; }

int replay_step(replay *r, const replay_values *v) {
    float x[STEP_VALUES];
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    x[0] = plain(v->time), x[1] = plain(v->residual), x[2] = plain(v->penetration), x[3] = plain(v->kinetic);
    x[4] = plain(v->potential), x[5] = plain(v->contacts), x[6] = plain(v->iterations), x[7] = plain(v->solve_ms);
    return append(&r->steps, x, sizeof x) ? no_memory(r) : 0;
}

/* Counted from the first frame, so that frames do not drift when steps and frames do not divide. */
int replay_due(const replay *r, double time) {
    if (!r || r->status) return 0;
    return r->frame_count == 0 || (time - r->first_time) * r->frame_rate > (double)r->frame_count - 1e-6;
}

static cloth *cloths(const bytes *b) { return (cloth *)(void *)b->data; }

/* A frame is: poses of pieces, positions of surfaces, positions of points. */
static void lay_out_frame(replay *r) {
    int i;
    r->frame_floats = (size_t)POSE_VALUES * (size_t)r->piece_count;
    for (i = 0; i < r->surface_count; ++i) {
        cloths(&r->surfaces)[i].offset = r->frame_floats;
        r->frame_floats += 3 * (size_t)cloths(&r->surfaces)[i].count;
    }
    for (i = 0; i < r->points_count; ++i) {
        cloths(&r->points)[i].offset = r->frame_floats;
        r->frame_floats += 3 * (size_t)cloths(&r->points)[i].count;
    }
}

static float *frame_data(const replay *r, int frame) {
    return (float *)(void *)r->frames.data + r->frame_floats * (size_t)frame;
}

static float *contact_data(const replay *r) { return (float *)(void *)r->contacts.data; }
static int *contact_counts(const replay *r) { return (int *)(void *)r->contact_counts.data; }

/* Keeps at most contact_limit of the contacts of the last frame, evenly picked. */
static void thin_contacts(replay *r) {
    const size_t size = CONTACT_VALUES * sizeof(float);
    int *count, i;
    float *first;
    if (r->frame_count == 0) return;
    count = contact_counts(r) + (r->frame_count - 1);
    if (*count > r->most_contacts) r->most_contacts = *count;
    if (*count <= r->contact_limit) return;
    first = contact_data(r) + (r->contacts.size / sizeof(float) - CONTACT_VALUES * (size_t)*count);
    for (i = 0; i < r->contact_limit; ++i) {
        size_t from = (size_t)((double)i * *count / r->contact_limit);
        memmove(first + CONTACT_VALUES * (size_t)i, first + CONTACT_VALUES * from, size);
    }
    r->contacts.size -= size * (size_t)(*count - r->contact_limit);
    *count = r->contact_limit;
}

int replay_frame(replay *r, double time) {
    float *now;
    const int none = 0;
    const float stamp = (float)time;
    int i;
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    if (!(time > -1e30 && time < 1e30)) return fail(r, REPLAY_NOT_FINITE, "replay: time of a frame is not finite");
    if (r->frame_count && time <= r->last_time)
        return fail(r, REPLAY_BAD_CALL, "replay: frame at %g s after one at %g s", time, r->last_time);
    if (r->frame_count == 0) lay_out_frame(r);
    thin_contacts(r);
    if (append(&r->times, &stamp, sizeof stamp) || append(&r->contact_counts, &none, sizeof none)) return no_memory(r);
    if (!grow(&r->frames, r->frame_floats * sizeof(float)) && r->frame_floats) return no_memory(r);
    if (r->frame_count == 0) {
        now = frame_data(r, 0);
        for (i = 0; (size_t)i < r->frame_floats; ++i) now[i] = 0;
        for (i = 0; i < r->piece_count; ++i) now[POSE_VALUES * i + 3] = 1;
        r->first_time = time;
    } else if (r->frame_floats) {
        memcpy(frame_data(r, r->frame_count), frame_data(r, r->frame_count - 1), r->frame_floats * sizeof(float));
    }
    r->last_time = time;
    return r->frame_count++;
}

static int check_frame(replay *r, const char *what, int id, int count) {
    if (!r || r->status) return fail(r, REPLAY_NO_MEMORY, "");
    if (r->frame_count == 0) return fail(r, REPLAY_BAD_CALL, "replay: %s %d set before the first frame", what, id);
    if (id < 0 || id >= count) return fail(r, REPLAY_BAD_CALL, "replay: there is no %s %d", what, id);
    return 0;
}

int replay_pose(replay *r, int id, const float position[3], const float quaternion[4]) {
    int bad = check_frame(r, "piece", id, r ? r->piece_count : 0);
    float *to;
    if (bad) return bad;
    if (!finite_floats(position, 3) || !finite_floats(quaternion, 4))
        return fail(r, REPLAY_NOT_FINITE, "replay: pose of piece %d at %g s is not finite", id, r->last_time);
    to = frame_data(r, r->frame_count - 1) + POSE_VALUES * id;
    memcpy(to, position, 3 * sizeof(float));
    memcpy(to + 3, quaternion, 4 * sizeof(float));
    return 0;
}

static int set_positions(replay *r, const char *what, const bytes *list, int count, int id, const float *x) {
    int bad = check_frame(r, what, id, count);
    const cloth *c;
    float *to;
    int i;
    if (bad) return bad;
    c = cloths(list) + id;
    if (!finite_floats(x, 3 * (size_t)c->given))
        return fail(r, REPLAY_NOT_FINITE, "replay: %s %d at %g s is not finite", what, id, r->last_time);
    to = frame_data(r, r->frame_count - 1) + c->offset;
    for (i = 0; i < c->count; ++i) memcpy(to + 3 * i, x + 3 * (c->used ? c->used[i] : i), 3 * sizeof(float));
    return 0;
}

int replay_surface_vertices(replay *r, int surface, const float *vertex) {
    return r ? set_positions(r, "surface", &r->surfaces, r->surface_count, surface, vertex) : REPLAY_NO_MEMORY;
}

int replay_point_positions(replay *r, int points, const float *position) {
    return r ? set_positions(r, "points", &r->points, r->points_count, points, position) : REPLAY_NO_MEMORY;
}

int replay_contact(replay *r, const float point[3], const float force[3], int state) {
    float x[CONTACT_VALUES];
    int bad = check_frame(r, "contact", 0, 1);
    if (bad) return bad;
    memcpy(x, point, 3 * sizeof(float));
    memcpy(x + 3, force, 3 * sizeof(float));
    x[6] = state == REPLAY_STICK || state == REPLAY_SLIP ? (float)state : (float)REPLAY_OPEN;
    if (!finite_floats(x, 6))
        return fail(r, REPLAY_NOT_FINITE, "replay: a contact at %g s is not finite", r->last_time);
    if (append(&r->contacts, x, sizeof x)) return no_memory(r);
    ++contact_counts(r)[r->frame_count - 1];
    return 0;
}

/* ---- Packing: integers against what the last frames let expect, 32 of them in a block of just enough bits.
   A block starts with one byte: width in bits (6) and predictor (2), which is the best of
       0: the value of the last frame    1: that plus its last change    2: the neighbour before it.
   Values at rest cost a byte for 32; no table is needed to read it. */

typedef struct track {
    uint32_t *memory; /* three frames, which rotate */
    uint32_t *now, *last, *before;
    int room; /* values in each; those beyond the count of a frame are zero */
} track;

static int track_room(track *t, int count) {
    int room = count > 2 * t->room ? count : 2 * t->room;
    uint32_t *memory;
    if (count <= t->room && t->memory) return 0;
    memory = (uint32_t *)calloc(3 * (size_t)room + 1, sizeof *memory);
    if (!memory) return REPLAY_NO_MEMORY;
    if (t->memory) {
        memcpy(memory + room, t->last, sizeof *memory * (size_t)t->room);
        memcpy(memory + 2 * room, t->before, sizeof *memory * (size_t)t->room);
        free(t->memory);
    }
    t->memory = t->now = memory;
    t->last = memory + room;
    t->before = memory + 2 * room;
    t->room = room;
    return 0;
}

static uint32_t guess(const track *t, int i, int predictor) {
    if (predictor == 0) return t->last[i];
    if (predictor == 1) return 2 * t->last[i] - t->before[i];
    return i ? t->now[i - 1] : 0;
}

/* Small for small differences of either sign: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
static uint32_t fold(uint32_t difference) { return (difference << 1) ^ (0u - (difference >> 31)); }

static int block_width(const track *t, int first, int count, int predictor) {
    uint32_t all = 0;
    int i, width = 0;
    for (i = first; i < first + count; ++i) all |= fold(t->now[i] - guess(t, i, predictor));
    for (; all; all >>= 1) ++width;
    return width;
}

static int pack_block(const track *t, int first, int count, bytes *out) {
    int width = 33, predictor = 0, i, w;
    uint64_t bits = 0;
    int held = 0;
    unsigned char *to;
    for (i = 0; i < 3; ++i) {
        w = block_width(t, first, count, i);
        if (w < width) width = w, predictor = i;
    }
    to = (unsigned char *)grow(out, 1 + (size_t)(count * width + 7) / 8);
    if (!to) return REPLAY_NO_MEMORY;
    *to++ = (unsigned char)(predictor << 6 | width);
    for (i = first; i < first + count; ++i) {
        bits |= (uint64_t)fold(t->now[i] - guess(t, i, predictor)) << held;
        for (held += width; held >= 8; held -= 8, bits >>= 8) *to++ = (unsigned char)(bits & 255);
    }
    if (held > 0) *to = (unsigned char)(bits & 255);
    return 0;
}

/* Packs now[0..count) and makes it the last frame; what is beyond count is zero from then on. */
static int pack(track *t, int count, bytes *out) {
    uint32_t *spare = t->before;
    int i, bad = 0;
    for (i = 0; i < count && !bad; i += 32) bad = pack_block(t, i, count - i < 32 ? count - i : 32, out);
    for (i = count; i < t->room; ++i) t->now[i] = 0;
    t->before = t->last;
    t->last = t->now;
    t->now = spare;
    return bad;
}

static uint32_t quantise(double x, double quantum) {
    double q = x / quantum;
    const double most = 268435456.0; /* differences of differences still fit 32 bits */
    q = q > most ? most : q < -most ? -most : q;
    return (uint32_t)(int32_t)(q < 0 ? q - 0.5 : q + 0.5);
}

/* ---- the frames as integers */

typedef struct scale {
    double place;   /* quantum of poses and centres, m */
    double contact; /* of contact points, m */
    double force;   /* N */
    double most;    /* largest force, N */
} scale;

static double widest(const replay *r, int first, int last) {
    float low[3] = {1e30f, 1e30f, 1e30f}, high[3] = {-1e30f, -1e30f, -1e30f}, w;
    int f, k;
    size_t i, poses = (size_t)POSE_VALUES * (size_t)r->piece_count;
    for (f = first; f < last; ++f) {
        const float *x = frame_data(r, f);
        for (i = 0; i < r->frame_floats; i += i < poses ? POSE_VALUES : 3)
            for (k = 0; k < 3; ++k) {
                if (x[i + (size_t)k] < low[k]) low[k] = x[i + (size_t)k];
                if (x[i + (size_t)k] > high[k]) high[k] = x[i + (size_t)k];
            }
    }
    w = 0;
    for (k = 0; k < 3; ++k)
        if (high[k] - low[k] > w) w = high[k] - low[k];
    return (double)w;
}

static double widest_shape(const replay *r) {
    const replay_mesh *m = (const replay_mesh *)(const void *)r->shapes.data;
    float w = 0;
    int s, i;
    for (s = 0; s < r->shape_count; ++s)
        for (i = 0; i < 3 * m[s].vertex_count; ++i)
            if (fabsf(m[s].vertex[i]) > w) w = fabsf(m[s].vertex[i]);
    return 2 * (double)w;
}

/* Something that flies away must not coarsen what stays: the scene counts as at most 64 times its first frame. */
static scale find_scale(const replay *r) {
    scale s;
    const float *c = contact_data(r);
    size_t i, count = r->contacts.size / (CONTACT_VALUES * sizeof(float));
    double begin = r->frame_count ? widest(r, 0, 1) + widest_shape(r) : 1;
    double all = r->frame_count ? widest(r, 0, r->frame_count) : 1;
    if (begin < 1e-6) begin = 1e-6;
    if (all < begin) all = begin;
    if (all > 64 * begin) all = 64 * begin;
    s.place = all / 4194304;
    s.contact = all / 32768;
    s.most = 0;
    for (i = 0; i < count; ++i, c += CONTACT_VALUES) {
        double f = sqrt((double)c[3] * (double)c[3] + (double)c[4] * (double)c[4] + (double)c[5] * (double)c[5]);
        if (f > s.most) s.most = f;
    }
    s.force = s.most > 0 ? s.most / 4096 : 1;
    return s;
}

/* Component by component, all bodies of one component together: neighbours in a block then move alike. */
static int pack_poses(const replay *r, track *t, const scale *s, int frame, bytes *out) {
    int i, k, n = r->piece_count;
    const float *x = frame_data(r, frame);
    if (track_room(t, POSE_VALUES * n)) return REPLAY_NO_MEMORY;
    for (i = 0; i < n; ++i, x += POSE_VALUES) {
        double length = sqrt((double)x[3] * (double)x[3] + (double)x[4] * (double)x[4] + (double)x[5] * (double)x[5] +
                             (double)x[6] * (double)x[6]);
        double dot = 0, sign;
        for (k = 0; k < 4; ++k) dot += (double)x[3 + k] * (double)(int32_t)t->last[(3 + k) * n + i];
        sign = (dot < 0 ? -32767 : 32767) / (length > 1e-9 ? length : 1); /* q and -q are one rotation: stay near */
        for (k = 0; k < 3; ++k) t->now[k * n + i] = quantise((double)x[k], s->place);
        for (k = 3; k < 7; ++k) t->now[k * n + i] = quantise((double)x[k] * sign, 1);
    }
    return pack(t, POSE_VALUES * n, out);
}

static void centre_of(const float *x, int count, double centre[3]) {
    int i, k;
    for (k = 0; k < 3; ++k) {
        centre[k] = 0;
        for (i = 0; i < count; ++i) centre[k] += (double)x[3 * i + k];
        centre[k] /= count;
    }
}

/* 16 bits over the largest distance from the centre that any vertex ever has along an axis. */
static double cloth_quantum(const replay *r, const cloth *c) {
    double most = 1e-9, centre[3];
    int f, i, k;
    for (f = 0; f < r->frame_count; ++f) {
        const float *x = frame_data(r, f) + c->offset;
        centre_of(x, c->count, centre);
        for (i = 0; i < c->count; ++i)
            for (k = 0; k < 3; ++k)
                if (fabs((double)x[3 * i + k] - centre[k]) > most) most = fabs((double)x[3 * i + k] - centre[k]);
    }
    return most / 32766;
}

static int pack_cloth(const replay *r, const cloth *c, double quantum, track *t, const scale *s, int frame,
                      bytes *out) {
    const float *x = frame_data(r, frame) + c->offset;
    double centre[3];
    int i, k, n = c->count;
    if (track_room(t, 3 * n + 3)) return REPLAY_NO_MEMORY;
    centre_of(x, n, centre);
    for (k = 0; k < 3; ++k) {
        t->now[3 * n + k] = quantise(centre[k], s->place);
        centre[k] = s->place * (double)(int32_t)t->now[3 * n + k];
        for (i = 0; i < n; ++i) t->now[k * n + i] = quantise((double)x[3 * i + k] - centre[k], quantum);
    }
    return pack(t, 3 * n + 3, out);
}

static int pack_contacts(const float *x, int count, track *tracks, const scale *s, bytes *out) {
    int i, k;
    uint32_t n = (uint32_t)count;
    if (append_words(out, &n, 1)) return REPLAY_NO_MEMORY;
    for (k = 0; k < CONTACT_VALUES; ++k) {
        if (track_room(&tracks[k], count)) return REPLAY_NO_MEMORY;
        for (i = 0; i < count; ++i)
            tracks[k].now[i] = quantise((double)x[CONTACT_VALUES * i + k], k < 3 ? s->contact : k < 6 ? s->force : 1);
        if (pack(&tracks[k], count, out)) return REPLAY_NO_MEMORY;
    }
    return 0;
}

static int pack_frames(const replay *r, const scale *s, const double *quantum, track *tracks, bytes *out) {
    int soft = r->surface_count + r->points_count, f, i, bad = 0;
    const float *contact = contact_data(r);
    for (f = 0; f < r->frame_count && !bad; ++f) {
        bad = pack_poses(r, &tracks[0], s, f, out);
        for (i = 0; i < soft && !bad; ++i) {
            const cloth *c =
                i < r->surface_count ? cloths(&r->surfaces) + i : cloths(&r->points) + (i - r->surface_count);
            bad = pack_cloth(r, c, quantum[i], &tracks[1 + i], s, f, out);
        }
        if (!bad) bad = pack_contacts(contact, contact_counts(r)[f], &tracks[1 + soft], s, out);
        contact += CONTACT_VALUES * contact_counts(r)[f];
    }
    return bad;
}

/* ---- the page */

static int write_static(const replay *r, bytes *blob) {
    const replay_mesh *m = (const replay_mesh *)(const void *)r->shapes.data;
    int i, bad = 0;
    for (i = 0; i < r->shape_count && !bad; ++i)
        bad = append_words(blob, m[i].vertex, 3 * (size_t)m[i].vertex_count) ||
              append_words(blob, m[i].triangle, 3 * (size_t)m[i].triangle_count);
    if (!bad) bad = append_words(blob, r->surface_triangles.data, r->surface_triangles.size / 4);
    if (!bad) bad = append_words(blob, r->times.data, r->times.size / 4);
    if (!bad) bad = append_words(blob, r->steps.data, r->steps.size / 4);
    return bad ? REPLAY_NO_MEMORY : 0;
}

static int head_list(bytes *head, const char *name, const bytes *items) {
    return print_to(head, ",\n\"%s\":[", name) || append(head, items->data, items->size) || append_text(head, "]");
}

static int write_head(const replay *r, const scale *s, const double *quantum, bytes *head) {
    const replay_mesh *m = (const replay_mesh *)(const void *)r->shapes.data;
    int i, bad, soft = r->surface_count + r->points_count;
    bad = append_text(head, "{\"title\":") || append_json(head, r->title) || append_text(head, ",\n\"note\":") ||
          append_json(head, r->note ? r->note : "") ||
          print_to(head, ",\n\"tolerance\":%.9g,\"frames\":%d,\"steps\":%lu", r->tolerance, r->frame_count,
                   (unsigned long)(r->steps.size / (STEP_VALUES * sizeof(float)))) ||
          print_to(head, ",\n\"place\":%.17g,\"contact\":%.17g,\"force\":%.17g,\"most\":%.9g", s->place, s->contact,
                   s->force, s->most) ||
          print_to(head, ",\n\"mostContacts\":%d,\"contactLimit\":%d", r->most_contacts, r->contact_limit);
    if (!bad && r->has_camera)
        bad = print_to(head, ",\n\"camera\":{\"eye\":[%.9g,%.9g,%.9g],\"target\":[%.9g,%.9g,%.9g]}",
                       (double)r->camera[0], (double)r->camera[1], (double)r->camera[2], (double)r->camera[3],
                       (double)r->camera[4], (double)r->camera[5]);
    if (!bad) bad = append_text(head, ",\n\"shapes\":[");
    for (i = 0; i < r->shape_count && !bad; ++i)
        bad = print_to(head, "%s[%d,%d]", i ? "," : "", m[i].vertex_count, m[i].triangle_count);
    if (!bad) bad = append_text(head, "],\n\"quanta\":[");
    for (i = 0; i < soft && !bad; ++i) bad = print_to(head, "%s%.17g", i ? "," : "", quantum[i]);
    if (!bad)
        bad = append_text(head, "]") || head_list(head, "pieces", &r->piece_json) ||
              head_list(head, "surfaces", &r->surface_json) || head_list(head, "points", &r->points_json) ||
              head_list(head, "floors", &r->floor_json) || head_list(head, "facts", &r->fact_json) ||
              append_text(head, "}\n");
    return bad ? REPLAY_NO_MEMORY : 0;
}

static void write_base64(FILE *file, const bytes *blob) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *x = (const unsigned char *)blob->data;
    char line[101];
    size_t i, k = 0;
    for (i = 0; i < blob->size; i += 3) {
        size_t left = blob->size - i;
        uint32_t v = (uint32_t)x[i] << 16 | (uint32_t)(left > 1 ? x[i + 1] : 0) << 8 |
                     (uint32_t)(left > 2 ? x[i + 2] : 0);
        line[k++] = digit[v >> 18];
        line[k++] = digit[v >> 12 & 63];
        line[k++] = left > 1 ? digit[v >> 6 & 63] : '=';
        line[k++] = left > 2 ? digit[v & 63] : '=';
        if (k == 100) {
            line[k++] = '\n';
            fwrite(line, 1, k, file);
            k = 0;
        }
    }
    fwrite(line, 1, k, file);
}

/* The title of the file: text, not markup. */
static void write_title(FILE *file, const char *text) {
    for (; *text; ++text) {
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else
            fputc(*text, file);
    }
    fputc('\n', file);
}

static int write_page(replay *r, const bytes *head, const bytes *blob) {
    int i;
    for (i = 0; viewer_page[i]; ++i) {
        if (strcmp(viewer_page[i], "@@TITLE@@\n") == 0)
            write_title(r->file, r->title);
        else if (strcmp(viewer_page[i], "@@HEAD@@\n") == 0)
            fwrite(head->data, 1, head->size, r->file);
        else if (strcmp(viewer_page[i], "@@DATA@@\n") == 0)
            write_base64(r->file, blob);
        else
            fputs(viewer_page[i], r->file);
    }
    if (ferror(r->file)) return fail(r, REPLAY_NO_FILE, "replay: cannot write %s", r->path);
    return 0;
}

static int finish(replay *r) {
    int soft = r->surface_count + r->points_count, i, bad;
    size_t tracks = 1 + (size_t)soft + CONTACT_VALUES;
    track *t = (track *)calloc(tracks, sizeof *t);
    double *quantum = (double *)calloc((size_t)soft + 1, sizeof *quantum);
    bytes head = {NULL, 0, 0}, blob = {NULL, 0, 0};
    scale s;
    thin_contacts(r);
    s = find_scale(r);
    bad = !t || !quantum;
    for (i = 0; i < soft && !bad; ++i)
        quantum[i] = cloth_quantum(r, i < r->surface_count ? cloths(&r->surfaces) + i
                                                           : cloths(&r->points) + (i - r->surface_count));
    if (!bad)
        bad = write_static(r, &blob) || pack_frames(r, &s, quantum, t, &blob) || write_head(r, &s, quantum, &head);
    bad = bad ? no_memory(r) : write_page(r, &head, &blob);
    for (i = 0; t && i < (int)tracks; ++i) free(t[i].memory);
    free(t);
    free(quantum);
    free(head.data);
    free(blob.data);
    return bad;
}

int replay_close(replay *r, char *error, size_t error_size) {
    bytes *owned[14];
    int i, status;
    if (!r) {
        if (error && error_size) snprintf(error, error_size, "replay: out of memory");
        return REPLAY_NO_MEMORY;
    }
    if (!r->status) finish(r);
    if (r->file && fclose(r->file) != 0) fail(r, REPLAY_NO_FILE, "replay: cannot write %s", r->path);
    if (error && error_size) snprintf(error, error_size, "%s", r->error);
    status = r->status;
    for (i = 0; i < r->shape_count; ++i) replay_mesh_free((replay_mesh *)(void *)r->shapes.data + i);
    for (i = 0; i < r->surface_count; ++i) free(cloths(&r->surfaces)[i].used);
    owned[0] = &r->shapes, owned[1] = &r->surfaces, owned[2] = &r->points, owned[3] = &r->surface_triangles;
    owned[4] = &r->piece_json, owned[5] = &r->surface_json, owned[6] = &r->points_json, owned[7] = &r->floor_json;
    owned[8] = &r->fact_json, owned[9] = &r->steps, owned[10] = &r->times, owned[11] = &r->frames;
    owned[12] = &r->contacts, owned[13] = &r->contact_counts;
    for (i = 0; i < 14; ++i) free(owned[i]->data);
    free(r->path);
    free(r->title);
    free(r->note);
    free(r);
    return status;
}
