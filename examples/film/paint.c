#include "paint.h"
#include "replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAINT_SUN = 2048, PAINT_SKY = 224, PAINT_SKIES = 64, PAINT_NOTHING = -1, PAINT_TILE = 8 };
#define PAINT_PI 3.14159265358979

typedef struct paint_vec {
    float x, y, z;
} paint_vec;

/* What the shadow of one direction falls into: heights along it, greater is nearer to the light. */
typedef struct paint_light {
    paint_vec to, right, up; /* to the light; across it */
    int size;
    float *height, *most; /* most: the greatest of each tile of PAINT_TILE^2 */
} paint_light;

typedef struct paint_triangle {
    paint_vec x[3], n[3];
    int item;
} paint_triangle;

struct paint {
    int width, height; /* of the picture */
    float *near;       /* 1 / depth of each sample */
    int *id;           /* its triangle */
    float **corner;    /* of each item that is a piece: position and normal of every corner, in its own axes */
    int items;
    replay_mesh ball; /* of points */
    paint_triangle *triangle;
    int triangles, room;
    paint_light sun, sky[PAINT_SKIES];
    paint_vec centre;
    float reach, ground; /* radius of what casts shadows; height of the ground */
    float scale;         /* samples across the picture at unit depth */
    bool has_ground;
    bool *glass; /* of each item: a fixed wall that would hide what is behind it */
};

typedef struct paint_view {
    paint_vec eye, right, up, ahead;
} paint_view;

static paint_vec paint_v(double x, double y, double z) {
    paint_vec v;
    v.x = (float)x, v.y = (float)y, v.z = (float)z;
    return v;
}
static paint_vec paint_of(const float *x) { return paint_v(x[0], x[1], x[2]); }
static paint_vec paint_add(paint_vec a, paint_vec b) { return paint_v(a.x + b.x, a.y + b.y, a.z + b.z); }
static paint_vec paint_sub(paint_vec a, paint_vec b) { return paint_v(a.x - b.x, a.y - b.y, a.z - b.z); }
static paint_vec paint_scale(double s, paint_vec a) { return paint_v(s * a.x, s * a.y, s * a.z); }
static float paint_dot(paint_vec a, paint_vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static paint_vec paint_cross(paint_vec a, paint_vec b) {
    return paint_v(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static paint_vec paint_unit(paint_vec a) {
    const double l = sqrt((double)paint_dot(a, a));
    return paint_scale(1 / (l > 0 ? l : 1), a);
}
static paint_vec paint_turn(const float *q, paint_vec v) { /* w first */
    const paint_vec u = paint_v(q[1], q[2], q[3]), t = paint_scale(2, paint_cross(u, v));
    return paint_add(paint_add(v, paint_scale(q[0], t)), paint_cross(u, t));
}

/* ---- opening */

static void paint_aim(paint_light *l, paint_vec to) {
    l->to = paint_unit(to);
    l->right = paint_unit(paint_cross(fabs((double)l->to.z) > 0.9 ? paint_v(1, 0, 0) : paint_v(0, 0, 1), l->to));
    l->up = paint_cross(l->to, l->right);
}

static bool paint_room(paint_light *l, int size) {
    const size_t tiles = (size_t)(size / PAINT_TILE);
    l->size = size;
    l->height = (float *)malloc(sizeof(float) * (size_t)size * (size_t)size);
    l->most = (float *)malloc(sizeof(float) * tiles * tiles);
    return l->height && l->most;
}

static bool paint_lights(paint *p) {
    bool ok = paint_room(&p->sun, PAINT_SUN);
    int i;
    paint_aim(&p->sun, paint_v(-0.35, -0.75, 1.25));
    for (i = 0; i < PAINT_SKIES; i++) { /* spread evenly over the upper half */
        const double z = (i + 0.5) / PAINT_SKIES, r = sqrt(1 - z * z), a = 2.399963 * i;
        ok = paint_room(p->sky + i, PAINT_SKY) && ok;
        paint_aim(p->sky + i, paint_v(r * cos(a), r * sin(a), z));
    }
    return ok;
}

static void paint_forget(paint *p) {
    int i;
    for (i = 0; i < p->items; i++) free(p->corner[i]);
    free(p->corner), free(p->glass);
    p->corner = NULL, p->glass = NULL;
    p->items = 0;
}

paint *paint_open(int width, int height) {
    paint *p = (paint *)calloc(1, sizeof *p);
    const size_t samples = (size_t)width * (size_t)height * PAINT_FINE * PAINT_FINE;
    if (!p) return NULL;
    p->width = width, p->height = height;
    p->near = (float *)malloc(samples * sizeof *p->near);
    p->id = (int *)malloc(samples * sizeof *p->id);
    if (p->near && p->id && paint_lights(p) && replay_mesh_sphere(&p->ball, 1) >= 0) return p;
    paint_close(p);
    return NULL;
}

void paint_close(paint *p) {
    int i;
    paint_forget(p);
    for (i = 0; i < PAINT_SKIES; i++) free(p->sky[i].height), free(p->sky[i].most);
    free(p->sun.height), free(p->sun.most), free(p->near), free(p->id), free(p->triangle);
    replay_mesh_free(&p->ball);
    free(p);
}

/* ---- the cast */

typedef struct paint_spot {
    float x[3];
    int index;
} paint_spot;

static int paint_order(const void *a, const void *b) {
    const paint_spot *s = (const paint_spot *)a, *t = (const paint_spot *)b;
    const int c = memcmp(s->x, t->x, sizeof s->x);
    return c ? c : s->index - t->index;
}

/* Vertices at one place get one number; false: out of memory. */
static bool paint_weld(const cast_item *item, int *same) {
    paint_spot *spot = (paint_spot *)calloc((size_t)item->vertex_count + 1, sizeof *spot);
    int i, k, last = 0;
    if (!spot) return false;
    for (i = 0; i < item->vertex_count; i++) {
        for (k = 0; k < 3; k++) /* no -0: bytes are compared */
            spot[i].x[k] = (float)(floor((double)item->vertex[3 * i + k] * 1e5 + 0.5) / 1e5) + 0.0f;
        spot[i].index = i;
    }
    qsort(spot, (size_t)item->vertex_count, sizeof *spot, paint_order);
    for (i = 0; i < item->vertex_count; i++) {
        if (i > 0 && memcmp(spot[i].x, spot[i - 1].x, sizeof spot[i].x) != 0) last = i;
        same[spot[i].index] = last;
    }
    free(spot);
    return true;
}

static paint_vec paint_face(const float *x, const int *t) { /* twice its area long */
    const paint_vec a = paint_of(x + 3 * t[0]);
    return paint_cross(paint_sub(paint_of(x + 3 * t[1]), a), paint_sub(paint_of(x + 3 * t[2]), a));
}

/* Normals of corners: those of the neighbouring triangles that turn away by less than 35 degrees. first: triangles
   around a welded vertex begin there in around. */
static void paint_creases(const cast_item *item, const int *same, const int *first, const int *around, float *out) {
    int i, k;
    for (i = 0; i < 3 * item->triangle_count; i++) {
        const int v = item->triangle[i];
        const paint_vec own = paint_unit(paint_face(item->vertex, item->triangle + i / 3 * 3));
        paint_vec n = paint_v(0, 0, 0);
        for (k = first[same[v]]; k < first[same[v] + 1]; k++) {
            const paint_vec other = paint_face(item->vertex, item->triangle + 3 * around[k]);
            if (paint_dot(paint_unit(other), own) > 0.82f) n = paint_add(n, other);
        }
        n = paint_unit(n);
        memcpy(out + 6 * i, item->vertex + 3 * v, 3 * sizeof *out);
        out[6 * i + 3] = n.x, out[6 * i + 4] = n.y, out[6 * i + 5] = n.z;
    }
}

static float *paint_corners(const cast_item *item) {
    const size_t nv = (size_t)item->vertex_count, nt = (size_t)item->triangle_count;
    int *same = (int *)calloc(nv + 1, sizeof *same), *first = (int *)calloc(nv + 2, sizeof *first);
    int *around = (int *)calloc(3 * nt + 1, sizeof *around), i;
    float *out = (float *)calloc(18 * nt + 1, sizeof *out);
    if (!same || !first || !around || !out || !paint_weld(item, same)) {
        free(out);
        out = NULL;
    } else {
        for (i = 0; i < 3 * item->triangle_count; i++) first[same[item->triangle[i]] + 1]++;
        for (i = 0; i < item->vertex_count; i++) first[i + 1] += first[i];
        for (i = 3 * item->triangle_count - 1; i >= 0; i--) around[--first[same[item->triangle[i]] + 1]] = i / 3;
        /* what counted down stands one place late now */
        for (i = 0; i < item->vertex_count; i++) first[i] = first[i + 1];
        first[item->vertex_count] = 3 * item->triangle_count;
        paint_creases(item, same, first, around, out);
    }
    free(same), free(first), free(around);
    return out;
}

/* ---- the triangles of a frame, as they lie in the world */

static paint_triangle *paint_more(paint *p, int count) {
    if (p->triangles + count > p->room) {
        const int room = 2 * (p->triangles + count);
        paint_triangle *more = (paint_triangle *)realloc(p->triangle, sizeof *more * (size_t)room);
        if (!more) return NULL;
        p->triangle = more, p->room = room;
    }
    p->triangles += count;
    return p->triangle + p->triangles - count;
}

static bool paint_piece(paint *p, const cast_item *item, int at) {
    paint_triangle *t = paint_more(p, item->triangle_count);
    const float *from = p->corner[at];
    int i, k;
    for (i = 0; t && i < item->triangle_count; i++, t++)
        for (t->item = at, k = 0; k < 3; k++, from += 6) {
            t->x[k] = paint_add(paint_of(item->pose), paint_turn(item->pose + 3, paint_of(from)));
            t->n[k] = paint_turn(item->pose + 3, paint_of(from + 3));
        }
    return item->triangle_count == 0 || t;
}

static bool paint_surface(paint *p, const cast_item *item, int at) {
    paint_triangle *t = paint_more(p, item->triangle_count);
    paint_vec *n = (paint_vec *)calloc((size_t)item->vertex_count + 1, sizeof *n);
    int i, k;
    for (i = 0; n && i < item->triangle_count; i++)
        for (k = 0; k < 3; k++) {
            paint_vec *to = n + item->triangle[3 * i + k];
            *to = paint_add(*to, paint_face(item->vertex, item->triangle + 3 * i));
        }
    for (i = 0; n && t && i < item->triangle_count; i++, t++)
        for (t->item = at, k = 0; k < 3; k++) {
            t->x[k] = paint_of(item->vertex + 3 * item->triangle[3 * i + k]);
            t->n[k] = paint_unit(n[item->triangle[3 * i + k]]);
        }
    free(n);
    return n && t;
}

static bool paint_points(paint *p, const cast_item *item, int at) {
    int i, j, k;
    for (i = 0; i < item->vertex_count; i++) {
        paint_triangle *t = paint_more(p, p->ball.triangle_count);
        if (!t) return false;
        for (j = 0; j < p->ball.triangle_count; j++, t++)
            for (t->item = at, k = 0; k < 3; k++) {
                t->n[k] = paint_of(p->ball.vertex + 3 * p->ball.triangle[3 * j + k]);
                t->x[k] = paint_add(paint_of(item->vertex + 3 * i), paint_scale((double)item->radius, t->n[k]));
            }
    }
    return true;
}

static void paint_take(double low[3], double high[3], const float *x, double r) {
    int k;
    for (k = 0; k < 3; k++) {
        if ((double)x[k] - r < low[k]) low[k] = (double)x[k] - r;
        if ((double)x[k] + r > high[k]) high[k] = (double)x[k] + r;
    }
}

bool paint_is_still(const cast_item *item) { return item->colour != REPLAY_AUTO; }

/* A fixed plate that stands upright and is as large as what moves. */
static bool paint_is_glass(const cast_item *item, double extent) {
    double low[3] = {1e9, 1e9, 1e9}, high[3] = {-1e9, -1e9, -1e9}, thin, wide;
    int i;
    if (item->colour != REPLAY_FIXED || item->kind != CAST_PIECE) return false;
    for (i = 0; i < item->vertex_count; i++) {
        const paint_vec x = paint_turn(item->pose + 3, paint_of(item->vertex + 3 * i));
        paint_take(low, high, &x.x, 0);
    }
    thin = fmin(high[0] - low[0], high[1] - low[1]), wide = fmax(high[0] - low[0], high[1] - low[1]);
    return thin < 0.5 * (high[2] - low[2]) && wide > 0.4 * extent && high[2] - low[2] > 0.12 * extent;
}

static bool paint_gather(paint *p, const cast *c) {
    bool ok = true;
    int i;
    p->triangles = 0;
    p->has_ground = false;
    for (i = 0; i < c->count && ok; i++) {
        const cast_item *item = c->item + i;
        if (item->kind == CAST_PIECE) ok = paint_piece(p, item, i);
        if (item->kind == CAST_SURFACE) ok = paint_surface(p, item, i);
        if (item->kind == CAST_POINTS) ok = paint_points(p, item, i);
        if (item->kind == CAST_FLOOR && item->pose[5] > 0.99f) p->has_ground = true, p->ground = item->pose[2];
    }
    return ok;
}

void paint_bounds(const cast *c, double low[3], double high[3]) {
    int i, k, still;
    for (k = 0; k < 3; k++) low[k] = 1e9, high[k] = -1e9;
    for (still = 0; still < 2 && low[0] > high[0]; still++)
        for (i = 0; i < c->count; i++) {
            const cast_item *item = c->item + i;
            if (paint_is_still(item) != (still == 1) || item->kind == CAST_FLOOR) continue;
            for (k = 0; k < item->vertex_count; k++) {
                paint_vec x = paint_of(item->vertex + 3 * k);
                if (item->kind == CAST_PIECE) x = paint_add(paint_of(item->pose), paint_turn(item->pose + 3, x));
                paint_take(low, high, &x.x, (double)item->radius);
            }
        }
}

bool paint_cast(paint *p, const cast *c) {
    double low[3], high[3];
    int i;
    paint_forget(p);
    paint_bounds(c, low, high);
    p->corner = (float **)calloc((size_t)c->count + 1, sizeof *p->corner);
    p->glass = (bool *)calloc((size_t)c->count + 1, sizeof *p->glass);
    if (!p->corner || !p->glass) return false;
    for (i = 0; i < c->count; i++, p->items++) {
        p->glass[i] = paint_is_glass(c->item + i, fmax(high[0] - low[0], high[1] - low[1]));
        if (c->item[i].kind == CAST_PIECE && !(p->corner[i] = paint_corners(c->item + i))) return false;
    }
    return true;
}

static paint_view paint_look(const paint_camera *c) {
    paint_view v;
    const paint_vec back = paint_v(cos(c->tilt) * cos(c->turn), cos(c->tilt) * sin(c->turn), sin(c->tilt));
    v.eye = paint_add(paint_v(c->at[0], c->at[1], c->at[2]), paint_scale(c->far, back));
    v.ahead = paint_scale(-1, back);
    v.right = paint_unit(paint_cross(v.ahead, paint_v(0, 0, 1)));
    v.up = paint_cross(v.right, v.ahead);
    return v;
}

void paint_fit(paint_camera *camera, const double low[3], const double high[3], double aspect, double zoom) {
    const double half = tan(camera->angle / 2) * zoom;
    paint_view v;
    int k;
    for (k = 0; k < 3; k++) camera->at[k] = (low[k] + high[k]) / 2;
    camera->far = 0;
    v = paint_look(camera);
    for (k = 0; k < 8; k++) {
        const paint_vec corner = paint_v(k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]);
        const paint_vec d = paint_sub(corner, paint_v(camera->at[0], camera->at[1], camera->at[2]));
        const double across = fabs((double)paint_dot(d, v.right)) / (half * aspect);
        const double above = fabs((double)paint_dot(d, v.up)) / half, need = across > above ? across : above;
        if (need - (double)paint_dot(d, v.ahead) > camera->far) camera->far = need - (double)paint_dot(d, v.ahead);
    }
}

/* ---- rasters */

/* Of glass two samples in nine are there. */
static bool paint_passes(int u, int v) {
    const int at = u % 3 + 3 * (v % 3);
    return at != 2 && at != 6;
}

/* Triangles of three corners (across, up, nearness) in pixels: what is nearest stays. id may be null. */
static void paint_raster(float (*x)[3], int width, int height, float *near, int *id, int own, bool glass) {
    const float area = (x[1][0] - x[0][0]) * (x[2][1] - x[0][1]) - (x[1][1] - x[0][1]) * (x[2][0] - x[0][0]);
    float low[2], high[2];
    int i, k, u, v, u0, u1, v0, v1;
    if (!(area > 1e-12f || area < -1e-12f)) return;
    for (k = 0; k < 2; k++)
        for (low[k] = high[k] = x[0][k], i = 1; i < 3; i++) {
            if (x[i][k] < low[k]) low[k] = x[i][k];
            if (x[i][k] > high[k]) high[k] = x[i][k];
        }
    if (!(low[0] < (float)width && low[1] < (float)height && high[0] > 0 && high[1] > 0)) return;
    u0 = low[0] > 0 ? (int)low[0] : 0, v0 = low[1] > 0 ? (int)low[1] : 0;
    u1 = high[0] < (float)width - 1 ? (int)high[0] : width - 1;
    v1 = high[1] < (float)height - 1 ? (int)high[1] : height - 1;
    for (v = v0; v <= v1; v++)
        for (u = u0; u <= u1; u++) {
            const float s = (float)u + 0.5f, t = (float)v + 0.5f;
            const float a = ((x[1][0] - s) * (x[2][1] - t) - (x[1][1] - t) * (x[2][0] - s)) / area;
            const float b = ((x[2][0] - s) * (x[0][1] - t) - (x[2][1] - t) * (x[0][0] - s)) / area, c = 1 - a - b;
            const float z = a * x[0][2] + b * x[1][2] + c * x[2][2];
            if (a < 0 || b < 0 || c < 0 || z <= near[v * width + u] || (glass && paint_passes(u, v))) continue;
            near[v * width + u] = z;
            if (id) id[v * width + u] = own;
        }
}

static void paint_shadow(const paint *p, paint_light *l) {
    const float scale = (float)l->size / (2 * p->reach), middle = (float)l->size / 2;
    int i, k;
    for (i = 0; i < l->size * l->size; i++) l->height[i] = -1e30f;
    for (i = 0; i < p->triangles; i++) {
        float x[3][3];
        if (p->glass[p->triangle[i].item]) continue;
        for (k = 0; k < 3; k++) {
            const paint_vec d = paint_sub(p->triangle[i].x[k], p->centre);
            x[k][0] = middle + scale * paint_dot(d, l->right), x[k][1] = middle + scale * paint_dot(d, l->up);
            x[k][2] = paint_dot(d, l->to);
        }
        paint_raster(x, l->size, l->size, l->height, NULL, 0, false);
    }
    for (i = 0; i < l->size * l->size; i++) {
        float *most = l->most + i / l->size / PAINT_TILE * (l->size / PAINT_TILE) + i % l->size / PAINT_TILE;
        const bool first = i % l->size % PAINT_TILE == 0 && i / l->size % PAINT_TILE == 0;
        if (first || l->height[i] > *most) *most = l->height[i];
    }
}

/* Whether nothing in the tiles from one place to another comes up to a height. */
static bool paint_free(const paint_light *l, int u0, int v0, int u1, int v1, float own) {
    int u, v;
    for (v = v0 / PAINT_TILE; v <= v1 / PAINT_TILE; v++)
        for (u = u0 / PAINT_TILE; u <= u1 / PAINT_TILE; u++)
            if (l->most[v * (l->size / PAINT_TILE) + u] >= own) return false;
    return true;
}

/* How much of the light comes to a point: mean over (2 wide)^2 neighbours, weighted so that it changes evenly. */
static float paint_lit(const paint *p, const paint_light *l, paint_vec x, paint_vec n, int wide) {
    const float texel = 2 * p->reach / (float)l->size, middle = (float)l->size / 2;
    const paint_vec d = paint_sub(paint_add(x, paint_scale(1.6 * (double)texel, n)), p->centre);
    const float u = middle + paint_dot(d, l->right) / texel - 0.5f, v = middle + paint_dot(d, l->up) / texel - 0.5f;
    const float facing = paint_dot(n, l->to), steep = facing > 0.3f ? sqrtf(1 - facing * facing) / facing : 3.2f;
    const float own = paint_dot(d, l->to) + texel * (0.4f + (float)wide * steep), fu = u - floorf(u),
                fv = v - floorf(v);
    const int u0 = (int)floorf(u), v0 = (int)floorf(v);
    float sum = 0, weight = 0;
    int i, k;
    if (u0 < wide || v0 < wide || u0 + wide >= l->size || v0 + wide >= l->size) return 1;
    if (paint_free(l, u0 + 1 - wide, v0 + 1 - wide, u0 + wide, v0 + wide, own)) return 1;
    for (k = 1 - wide; k <= wide; k++)
        for (i = 1 - wide; i <= wide; i++) {
            const float a = (float)wide - fabsf((float)i - fu), b = (float)wide - fabsf((float)k - fv);
            const float w = (a > 0 ? a : 0) * (b > 0 ? b : 0);
            weight += w;
            if (l->height[(v0 + k) * l->size + u0 + i] < own) sum += w;
        }
    return weight > 0 ? sum / weight : 1;
}

/* ---- colours */

static const float paint_palette[][3] = {{0.80f, 0.16f, 0.10f}, {0.06f, 0.24f, 0.58f}, {0.90f, 0.50f, 0.06f},
                                         {0.07f, 0.42f, 0.22f}, {0.34f, 0.16f, 0.52f}, {0.78f, 0.25f, 0.34f},
                                         {0.06f, 0.40f, 0.46f}, {0.60f, 0.42f, 0.20f}};
static const float paint_stone[3] = {0.58f, 0.61f, 0.66f};
static const float paint_white[3] = {0.84f, 0.86f, 0.89f};

static float paint_light_of(const paint *p, paint_vec x, paint_vec n, float *sun) {
    const float facing = paint_dot(n, p->sun.to);
    float sky = 0;
    int i;
    *sun = facing > 0 ? facing * paint_lit(p, &p->sun, x, n, 4) : 0;
    for (i = 0; i < PAINT_SKIES; i++) {
        const float f = paint_dot(n, p->sky[i].to);
        if (f > 0) sky += f * paint_lit(p, p->sky + i, x, n, 2);
    }
    return fminf(1, sky * 2.1f / PAINT_SKIES); /* a twentieth of the sky is not missed: even ground stays even */
}

static void paint_shade(const paint *p, const float *tint, paint_vec x, paint_vec n, paint_vec eye, bool shiny,
                        float *rgb) {
    static const float warm[3] = {0.74f, 0.70f, 0.63f}, cool[3] = {0.46f, 0.49f, 0.54f};
    float sun, sky = paint_light_of(p, x, n, &sun), gloss = 0;
    const float bounce = 0.16f * (0.5f - 0.5f * n.z);
    int k;
    if (shiny) {
        const float half = paint_dot(n, paint_unit(paint_add(p->sun.to, eye)));
        const float rim = 1 - paint_dot(n, eye);
        gloss = 0.22f * sun * (float)pow(half > 0 ? (double)half : 0, 48) + 0.05f * sky * rim * rim * rim;
    }
    for (k = 0; k < 3; k++) rgb[k] += tint[k] * (warm[k] * sun + cool[k] * sky + bounce) + gloss;
}

/* ---- the picture */

static void paint_project(paint *p, const paint_view *v) {
    const float scale = p->scale;
    const int width = p->width * PAINT_FINE, height = p->height * PAINT_FINE;
    int i, k;
    for (i = 0; i < width * height; i++) p->near[i] = 0, p->id[i] = PAINT_NOTHING;
    for (i = 0; i < p->triangles; i++) {
        float x[3][3];
        bool behind = false;
        for (k = 0; k < 3; k++) {
            const paint_vec d = paint_sub(p->triangle[i].x[k], v->eye);
            const float depth = paint_dot(d, v->ahead);
            if (depth < 1e-3f * p->reach) behind = true;
            x[k][0] = (float)width / 2 + scale * paint_dot(d, v->right) / depth;
            x[k][1] = (float)height / 2 - scale * paint_dot(d, v->up) / depth;
            x[k][2] = 1 / depth;
        }
        if (!behind) paint_raster(x, width, height, p->near, p->id, i, p->glass[p->triangle[i].item]);
    }
}

/* Own colours are written for screens, 0xRRGGBB; light adds in linear ones. */
static const float *paint_tint(const cast_item *item, float own[3]) {
    int k;
    if (item->colour == REPLAY_FIXED) return paint_stone;
    if (item->colour < 0) return paint_palette[item->like * 5 % 8];
    for (k = 0; k < 3; k++) own[k] = powf((float)(item->colour >> (16 - 8 * k) & 255) / 255, 2.2f);
    return own;
}

/* Light of one sample: of its triangle, of the ground, or of the page behind everything. */
static void paint_sample(const paint *p, const cast *c, const paint_view *v, int u, int w, int id, float *rgb) {
    const float across = ((float)u + 0.5f - (float)(p->width * PAINT_FINE) / 2) / p->scale;
    const float above = ((float)(p->height * PAINT_FINE) / 2 - (float)w - 0.5f) / p->scale;
    const paint_vec ray = paint_unit(
        paint_add(v->ahead, paint_add(paint_scale((double)across, v->right), paint_scale((double)above, v->up))));
    const paint_vec toward = paint_scale(-1, ray);
    if (id >= 0) {
        const paint_triangle *t = p->triangle + id;
        const cast_item *item = c->item + t->item;
        const paint_vec e1 = paint_sub(t->x[1], t->x[0]), e2 = paint_sub(t->x[2], t->x[0]);
        const paint_vec q = paint_cross(ray, e2), d = paint_sub(v->eye, t->x[0]), r = paint_cross(d, e1);
        float own[3];
        const float det = paint_dot(e1, q), a = paint_dot(d, q) / det, b = paint_dot(ray, r) / det;
        const paint_vec x = paint_add(v->eye, paint_scale((double)(paint_dot(e2, r) / det), ray));
        paint_vec n = paint_add(paint_scale((double)(1 - a - b), t->n[0]),
                                paint_add(paint_scale((double)a, t->n[1]), paint_scale((double)b, t->n[2])));
        n = paint_unit(n);
        if (paint_dot(n, paint_cross(e1, e2)) < 0) n = paint_scale(-1, n);
        if (paint_dot(paint_cross(e1, e2), toward) < 0) n = paint_scale(-1, n); /* the other side of a sheet */
        paint_shade(p, paint_tint(item, own), x, n, toward, !paint_is_still(item), rgb);
    } else {
        const float down = p->has_ground && ray.z < -1e-4f ? (p->ground - v->eye.z) / ray.z : -1;
        paint_vec x = paint_add(v->eye, paint_scale((double)(down > 0 ? down : 1e3f * p->reach), ray));
        if (down <= 0) x = paint_add(p->centre, paint_v(1e3 * (double)p->reach, 0, 0)); /* in full light */
        x.z = p->ground;
        paint_shade(p, paint_white, x, paint_v(0, 0, 1), toward, false, rgb);
    }
}

static unsigned char paint_byte(float linear) {
    const double x = linear < 0 ? 0 : linear > 1 ? 1 : (double)linear;
    return (unsigned char)(255 * (x < 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055) + 0.5);
}

/* A pixel: each triangle in it is lit once, and counts by its samples. */
static void paint_pixel(const paint *p, const cast *c, const paint_view *v, int px, int py, unsigned char *out) {
    const int width = p->width * PAINT_FINE;
    int done[PAINT_FINE * PAINT_FINE] = {0}, i, j, k;
    float sum[3] = {0, 0, 0};
    for (i = 0; i < PAINT_FINE * PAINT_FINE; i++) {
        const int u = px * PAINT_FINE + i % PAINT_FINE, w = py * PAINT_FINE + i / PAINT_FINE, id = p->id[w * width + u];
        float rgb[3] = {0, 0, 0};
        int count = 0;
        if (done[i]) continue;
        for (j = i; j < PAINT_FINE * PAINT_FINE; j++) {
            const int s = px * PAINT_FINE + j % PAINT_FINE, t = py * PAINT_FINE + j / PAINT_FINE;
            if (p->id[t * width + s] != id) continue;
            done[j] = 1;
            count++;
        }
        paint_sample(p, c, v, u, w, id, rgb);
        for (k = 0; k < 3; k++) sum[k] += (float)count * (rgb[k] < 1 ? rgb[k] : 1);
    }
    for (k = 0; k < 3; k++) out[k] = paint_byte(sum[k] / (PAINT_FINE * PAINT_FINE));
}

/* The sphere around what is in sight casts shadows: things that move, and what is fixed near them. */
static void paint_region(paint *p, const cast *c, const paint_camera *camera) {
    double low[3], high[3], r = 0;
    int k;
    paint_bounds(c, low, high);
    for (k = 0; k < 3; k++) r += (high[k] - low[k]) * (high[k] - low[k]) / 4;
    p->centre = paint_v((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2);
    p->reach = (float)(1.35 * sqrt(r));
    if (!p->has_ground) p->ground = -1e3f * p->reach;
    (void)camera;
}

bool paint_draw(paint *p, const cast *c, const paint_camera *camera, unsigned char *rgb) {
    paint_view v;
    int i, x, y;
    if (!paint_gather(p, c)) return false;
    paint_region(p, c, camera);
    paint_shadow(p, &p->sun);
    for (i = 0; i < PAINT_SKIES; i++) paint_shadow(p, p->sky + i);
    v = paint_look(camera);
    p->scale = (float)(p->height * PAINT_FINE / 2 / tan(camera->angle / 2));
    paint_project(p, &v);
    for (y = 0; y < p->height; y++)
        for (x = 0; x < p->width; x++) paint_pixel(p, c, &v, x, y, rgb + 3 * (y * p->width + x));
    return true;
}
