/* collide/trianglefield: making a level of triangles: checks, corners in one place made one, the order of the tree,
   neighbours, and what is flat. Corners in one place are one corner, so that the lists of any modeller do. */
#include "private.h"

CSIM_API csim_triangle_field_def csim_default_triangle_field_def(void) {
    csim_triangle_field_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.scale = 1;
    d.depth = CSIM_R(0.1);
    d.guard = CSIMI_FIELD_GUARD;
    return d;
}

typedef struct csimi_triangles_build {
    const csim_triangle_field_def *def;
    csim_field *field;
    csim_real *x;
    int *face, *beyond, *name, *order, *weld;
    uint64_t *key, *other; /* [max(3 triangles, vertices)] in one piece */
    csimi_surface surface;
} csimi_triangles_build;

static csim_status csimi_check_triangles(const csim_triangle_field_def *d, const char *fn, csim_error *error) {
    csim_status status;
    if (!d) return csimi_missing(error, fn, "def");
    if (d->guard != CSIMI_FIELD_GUARD)
        return csimi_deny(error, CSIM_DEF_NOT_INITIALISED, fn, "def", "made by csim_default_triangle_field_def()");
    if ((status = csimi_check_mesh_list(d->vertices, d->vertex_count, d->triangles, d->triangle_count, d->scale, fn,
                                        error)) != CSIM_OK)
        return status;
    if (!csimi_finite(d->depth)) return csimi_deny(error, CSIM_NOT_FINITE, fn, "depth", "finite");
    if (!(d->depth >= 0) || d->depth > CSIM_R(1e6))
        return csimi_unfit(error, fn, "depth", (double)d->depth, "0..1e6 m");
    return CSIM_OK;
}

/* The field with its sizes, then room to work in. */
static void csimi_triangles_layout(csimi_triangles_build *b, csimi_arena *arena) {
    const size_t triangles = (size_t)b->def->triangle_count, vertices = (size_t)b->def->vertex_count;
    csim_field sizes;
    char *block;
    CSIMI_MEMSET(&sizes, 0, sizeof sizes);
    sizes.n[0] = b->def->vertex_count;
    sizes.n[1] = b->def->triangle_count;
    block = CSIMI_PUSH(arena, char, csimi_triangles_used(&sizes) + 8);
    b->key = CSIMI_PUSH(arena, uint64_t, 2 * (3 * triangles > vertices ? 3 * triangles : vertices));
    b->order = CSIMI_PUSH(arena, int, triangles);
    b->weld = CSIMI_PUSH(arena, int, vertices);
    if (!block) return;
    b->field = (csim_field *)(void *)block;
    CSIMI_MEMSET(b->field, 0, sizeof *b->field);
    b->field->n[0] = sizes.n[0];
    b->field->n[1] = sizes.n[1];
    b->field->n[2] = CSIMI_FIELD_TRIANGLES;
    b->x = (csim_real *)(void *)(b->field + 1);
    b->surface.box = (float *)(void *)(b->x + csimi_triangles_reals(b->field));
    b->face = (int *)(void *)(b->surface.box + 6 * (size_t)csimi_surface_boxes(sizes.n[1]));
    b->beyond = b->face + 3 * triangles;
    b->name = b->face + 6 * triangles;
    b->surface.count = sizes.n[1];
    b->surface.triangle = b->face;
    b->surface.x = b->x;
}

/* Sorts keys whose upper halves are hashes. */
static const uint64_t *csimi_triangles_sort(csimi_triangles_build *b, int count) {
    uint64_t *key = b->key, *other = b->key + count;
    csimi_radix_sort(count, &key, &other);
    return key;
}

static bool csimi_same_place(const csim_real *a, const csim_real *b) {
    const csim_vec3 d = csim_sub(csimi_load3(a), csimi_load3(b));
    return !(csim_dot(d, d) > 0) && !(csimi_abs(d.x) + csimi_abs(d.y) + csimi_abs(d.z) > 0);
}

/* The first vertex in the same place, for each. */
static void csimi_triangles_weld(csimi_triangles_build *b) {
    const int count = b->def->vertex_count;
    const uint64_t *key;
    int i, j, k;
    for (i = 0; i < count; i++) {
        csim_real x[3];
        for (k = 0; k < 3; k++) x[k] = b->x[3 * (size_t)i + (size_t)k] + 0; /* -0 is 0 */
        b->key[i] = (csimi_fnv(CSIMI_FNV_START, x, sizeof x) & 0xffffffff00000000ull) | (uint32_t)i;
        b->weld[i] = i;
    }
    key = csimi_triangles_sort(b, count);
    for (i = 0; i < count; i = j) {
        const uint64_t hash = key[i] >> 32;
        int distinct = i;
        for (j = i + 1; j < count && key[j] >> 32 == hash; j++) {
            const int own = (int)(key[j] & 0xffffffffu);
            for (k = i; k <= distinct && b->weld[own] == own; k++) {
                const int first = (int)(key[k] & 0xffffffffu);
                if (b->weld[first] == first && csimi_same_place(b->x + 3 * (size_t)first, b->x + 3 * (size_t)own))
                    b->weld[own] = first;
            }
            if (b->weld[own] == own) distinct = j;
        }
    }
}

static uint64_t csimi_seam_hash(uint64_t low, uint64_t high) {
    uint64_t h = (low << 32 | high) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
    return (h * 0xbf58476d1ce4e5b9ull) & 0xffffffff00000000ull;
}

static void csimi_seam_ends(const csimi_triangles_build *b, int edge, int *low, int *high) {
    const int u = b->face[edge], v = b->face[edge % 3 == 2 ? edge - 2 : edge + 1];
    *low = csimi_imin(u, v);
    *high = csimi_imax(u, v);
}

/* The edges of a run of equal hashes that have the ends of edge key[i]: paired where they are two. */
static void csimi_triangles_pair(csimi_triangles_build *b, const uint64_t *key, int i, int end) {
    const int own = (int)(key[i] & 0xffffffffu);
    int low, high, last = own, found = 1, j;
    if (b->beyond[own] != CSIMI_TRIANGLES_NO_EDGE) return;
    csimi_seam_ends(b, own, &low, &high);
    for (j = i + 1; j < end; j++) {
        const int other = (int)(key[j] & 0xffffffffu);
        int u, v;
        csimi_seam_ends(b, other, &u, &v);
        if (u != low || v != high) continue;
        found++;
        b->beyond[other] = found == 2 ? own : CSIMI_TRIANGLES_CROWD;
        if (found == 2) last = other;
    }
    b->beyond[own] = found == 1 ? CSIMI_TRIANGLES_NO_EDGE : found == 2 ? last : CSIMI_TRIANGLES_CROWD;
    if (found > 2) b->beyond[last] = CSIMI_TRIANGLES_CROWD;
    b->field->open += found == 1;
    b->field->crowded += found > 2;
    b->field->flipped += found == 2 && b->face[own] == b->face[last];
}

static void csimi_triangles_join(csimi_triangles_build *b) {
    const int count = 3 * b->def->triangle_count;
    const uint64_t *key;
    int i, j, k;
    for (i = 0; i < count; i++) {
        int low, high;
        csimi_seam_ends(b, i, &low, &high);
        b->key[i] = csimi_seam_hash((uint64_t)low, (uint64_t)high) | (uint32_t)i;
        b->beyond[i] = CSIMI_TRIANGLES_NO_EDGE;
    }
    key = csimi_triangles_sort(b, count);
    for (i = 0; i < count; i = j) {
        for (j = i + 1; j < count && key[j] >> 32 == key[i] >> 32; j++) {
        }
        for (k = i; k < j; k++) csimi_triangles_pair(b, key, k, j);
    }
}

/* Whether all edges that go round from an edge at a corner are flat. */
static bool csimi_ring_flat(const csimi_triangles *t, int place, int k) {
    const int *face = t->surface.triangle, v = face[3 * (size_t)place + (size_t)k];
    int edge = 3 * place + k, steps;
    for (steps = 0; steps < CSIMI_TRIANGLES_RING; steps++) {
        const int other = t->beyond[edge];
        int at;
        if (other < 0 || !(t->name[edge / 3] >> (24 + edge % 3) & 1)) return false;
        at = face[other] == v ? other % 3 : (other % 3 + 1) % 3;
        edge = other - other % 3 + (at == other % 3 ? (at + 2) % 3 : at);
        if (other / 3 == place) return true;
    }
    return false;
}

/* Normals; marks edges between triangles of one plane, to the rounding of float corners, and corners among them. */
static void csimi_triangles_flatten(csimi_triangles_build *b) {
    const csimi_triangles t = csimi_triangles_of(b->field);
    csim_real *normal = b->x + 3 * (size_t)b->def->vertex_count;
    int i, k;
    for (i = 0; i < t.surface.count; i++) {
        const csim_vec3 n = csimi_triangle_normal(&t.surface, i);
        csimi_store3(normal + 3 * (size_t)i, n);
        for (k = 0; k < 3; k++)
            if (csimi_triangle_fold(&t, 3 * i + k, n) == CSIMI_FOLD_FLAT) b->name[i] |= 1 << (24 + k);
    }
    for (i = 0; i < 3 * t.surface.count; i++)
        if (csimi_ring_flat(&t, i / 3, i % 3)) b->name[i / 3] |= 1 << (27 + i % 3);
}

/* Vertices in the order in which triangles of the tree name them: those of a leaf lie beside each other. */
static void csimi_triangles_number(csimi_triangles_build *b) {
    const csim_triangle_field_def *d = b->def;
    int *number = b->weld, next = 0, i, k;
    for (i = 0; i < d->vertex_count; i++) number[i] = -1;
    for (i = 0; i < 3 * d->triangle_count + d->vertex_count; i++) {
        const int vertex = i < 3 * d->triangle_count ? b->face[i] : i - 3 * d->triangle_count; /* last: named by none */
        if (number[vertex] < 0) {
            number[vertex] = next;
            for (k = 0; k < 3; k++) b->x[3 * next + k] = d->scale * d->vertices[3 * vertex + k];
            next++;
        }
        if (i < 3 * d->triangle_count) b->face[i] = number[vertex];
    }
}

/* Corners, the order of the tree, neighbours; the number of a flat triangle, or -1. */
static int csimi_triangles_set(csimi_triangles_build *b) {
    const csim_triangle_field_def *d = b->def;
    csim_real largest = 0;
    int i, k;
    for (i = 0; i < 3 * d->vertex_count; i++) {
        b->x[i] = d->scale * d->vertices[i];
        largest = csimi_max(largest, csimi_abs(b->x[i]));
    }
    b->field->error = (double)(CSIM_R(1.2e-7) * largest);
    csimi_triangles_weld(b);
    csimi_surface_split(d->triangle_count, d->triangles, b->x, b->order, b->key);
    for (i = 0; i < d->triangle_count; i++) {
        csim_vec3 e[3];
        csim_real longest = 0;
        b->name[i] = b->order[i];
        for (k = 0; k < 3; k++) b->face[3 * i + k] = b->weld[d->triangles[3 * b->order[i] + k]];
        for (k = 0; k < 3; k++) {
            e[k] = csim_sub(csimi_load3(b->x + 3 * (size_t)b->face[3 * i + (k + 1) % 3]),
                            csimi_load3(b->x + 3 * (size_t)b->face[3 * i + k]));
            longest = csimi_max(longest, csim_dot(e[k], e[k]));
            b->field->cell += (double)csim_length(e[k]) / (3 * (double)d->triangle_count);
        }
        if (!(csim_length(csim_cross(e[0], e[1])) > 16 * CSIMI_EPS * longest) || !(longest > CSIMI_TINY))
            return b->order[i];
    }
    csimi_triangles_number(b);
    csimi_surface_refit(&b->surface);
    csimi_triangles_join(b);
    csimi_triangles_flatten(b);
    return -1;
}

CSIM_API csim_status csim_triangle_field_bytes(const csim_triangle_field_def *def, size_t *bytes, csim_error *error) {
    static const char fn[] = "csim_triangle_field_bytes";
    csimi_triangles_build b;
    csimi_arena arena = csimi_arena_counting();
    csim_status s = csimi_check_triangles(def, fn, error);
    if (s) return s;
    if (!bytes) return csimi_missing(error, fn, "bytes");
    CSIMI_MEMSET(&b, 0, sizeof b);
    b.def = def;
    csimi_triangles_layout(&b, &arena);
    if (arena.overflow)
        return csimi_unfit(error, fn, "triangle_count", (double)def->triangle_count, "what memory can hold");
    *bytes = arena.used;
    return CSIM_OK;
}

CSIM_API csim_status csim_create_triangle_field_in(const csim_triangle_field_def *def, void *block, size_t bytes,
                                                   const csim_field **field, csim_error *error) {
    static const char fn[] = "csim_create_triangle_field_in";
    csimi_triangles_build b;
    csimi_arena arena;
    size_t needed = 0;
    int k, flat;
    csim_status s = csim_triangle_field_bytes(def, &needed, error);
    if (s) return s;
    if ((s = csimi_check_block(fn, block, bytes, needed, field, error)) != 0) return s;
    CSIMI_MEMSET(&b, 0, sizeof b);
    b.def = def;
    arena = csimi_arena_in(block, bytes);
    csimi_triangles_layout(&b, &arena);
    b.field->lower[0] = def->two_sided ? 1 : 0;
    b.field->lower[1] = (double)def->depth;
    b.field->samples = (int32_t)sizeof(csim_real);
    flat = csimi_triangles_set(&b);
    if (flat >= 0)
        return csimi_fail(error, CSIM_BAD_MESH, fn, "triangles: index of a triangle without area", (double)flat,
                          "three corners that are not in one line");
    for (k = 0; k < 3; k++) {
        b.field->low[k] = (double)b.surface.box[1 + 4 * k];
        b.field->high[k] = (double)b.surface.box[13 + 4 * k];
    }
    csimi_field_seal(b.field);
    *field = b.field;
    return CSIM_OK;
}
