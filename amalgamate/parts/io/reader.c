/* io/reader: how the readers of files build a mesh: arrays that grow, names of vertices, whole files. */
#include "private.h"

#ifndef CONDSIM_NO_LOADERS

/* ---- growing arrays */

static bool csimi_buffer_grow(csimi_mesh_reader *r, csimi_buffer *buffer) {
    const size_t capacity = buffer->capacity ? 2 * buffer->capacity : 256;
    unsigned char *data = NULL;
    if (capacity <= SIZE_MAX / 2 / buffer->stride)
        data = (unsigned char *)csimi_heap_alloc(&r->heap, capacity * buffer->stride);
    if (!data) return csimi_text_fail(&r->text, CSIM_OUT_OF_MEMORY, csim_status_text(CSIM_OUT_OF_MEMORY));
    if (buffer->count) CSIMI_MEMCPY(data, buffer->data, buffer->count * buffer->stride);
    csimi_heap_free(&r->heap, buffer->data, buffer->capacity * buffer->stride);
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

CSIMI_FN void *csimi_buffer_push(csimi_mesh_reader *r, csimi_buffer *buffer) {
    void *item;
    if (r->text.status != CSIM_OK) return NULL;
    if (buffer->count >= INT32_MAX / 4) {
        csimi_text_fail(&r->text, CSIM_UNSUPPORTED, "more than 2^29 of one kind");
        return NULL;
    }
    if (buffer->count == buffer->capacity && !csimi_buffer_grow(r, buffer)) return NULL;
    item = buffer->data + buffer->count++ * buffer->stride;
    CSIMI_MEMSET(item, 0, buffer->stride);
    return item;
}

CSIMI_FN void csimi_buffer_free(csimi_mesh_reader *r, csimi_buffer *buffer) {
    csimi_heap_free(&r->heap, buffer->data, buffer->capacity * buffer->stride);
    buffer->data = NULL;
    buffer->count = buffer->capacity = 0;
}

CSIMI_FN bool csimi_push_int(csimi_mesh_reader *r, csimi_buffer *buffer, int value) {
    int *item = (int *)csimi_buffer_push(r, buffer);
    if (item) *item = value;
    return item != NULL;
}

CSIMI_FN bool csimi_read_vertex(csimi_mesh_reader *r) {
    csim_real x[3];
    void *item;
    if (!csimi_text_real(&r->text, &x[0]) || !csimi_text_real(&r->text, &x[1]) || !csimi_text_real(&r->text, &x[2]))
        return false;
    item = csimi_buffer_push(r, &r->vertices);
    if (item) CSIMI_MEMCPY(item, x, sizeof x);
    return item != NULL;
}

CSIMI_FN bool csimi_add_tet(csimi_mesh_reader *r, const int *v) {
    void *item = csimi_buffer_push(r, &r->tets);
    if (item) CSIMI_MEMCPY(item, v, 4 * sizeof(int));
    return item != NULL;
}

CSIMI_FN bool csimi_add_triangle(csimi_mesh_reader *r, int a, int b, int c) {
    int *item = (int *)csimi_buffer_push(r, &r->triangles);
    if (!item) return false;
    item[0] = a;
    item[1] = b;
    item[2] = c;
    return true;
}

/* ---- names of vertices */

CSIMI_FN bool csimi_add_id(csimi_mesh_reader *r, int64_t id) {
    csimi_vertex_id *item = (csimi_vertex_id *)csimi_buffer_push(r, &r->ids);
    if (!item) return false;
    item->id = id;
    item->index = (int)r->ids.count - 1;
    item->offset = (size_t)(r->text.token - r->text.begin);
    return true;
}

/* Puts a[root] where it belongs among its descendants in the heap a [n], largest on top. */
static void csimi_sift_id(csimi_vertex_id *a, size_t root, size_t n) {
    const csimi_vertex_id item = a[root];
    size_t child;
    for (; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && a[child + 1].id > a[child].id) ++child;
        if (a[child].id <= item.id) break;
        a[root] = a[child];
    }
    a[root] = item;
}

CSIMI_FN bool csimi_sort_ids(csimi_mesh_reader *r) {
    csimi_vertex_id *a = CSIMI_ITEMS(r->ids, csimi_vertex_id), swap;
    const size_t n = r->ids.count;
    size_t i;
    if (r->text.status != CSIM_OK) return false;
    for (i = 1; i < n && a[i - 1].id < a[i].id; ++i) continue;
    if (i >= n) return true;
    for (i = n / 2; i-- > 0;) csimi_sift_id(a, i, n);
    for (i = n; i-- > 1;) {
        swap = a[0];
        a[0] = a[i];
        a[i] = swap;
        csimi_sift_id(a, 0, i);
    }
    for (i = 1; i < n; ++i) {
        if (a[i - 1].id < a[i].id) continue;
        r->text.token = r->text.begin + (a[i].offset > a[i - 1].offset ? a[i].offset : a[i - 1].offset);
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "node ", a[i].id, " is given twice");
    }
    return true;
}

CSIMI_FN bool csimi_read_id(csimi_mesh_reader *r, int *index) {
    const csimi_vertex_id *a = CSIMI_ITEMS(r->ids, csimi_vertex_id);
    size_t low = 0, high = r->ids.count; /* a[low].id <= id < a[high].id */
    int64_t id;
    *index = 0;
    if (!csimi_text_int(&r->text, &id)) return false;
    if (high && id - a[0].id >= 0 && (uint64_t)(id - a[0].id) < high && a[id - a[0].id].id == id)
        low = (size_t)(id - a[0].id); /* no gaps: straight there */
    else
        while (high - low > 1) {
            const size_t middle = low + (high - low) / 2;
            if (a[middle].id <= id)
                low = middle;
            else
                high = middle;
        }
    if (!r->ids.count || a[low].id != id)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "node ", id, " is not among the nodes");
    *index = a[low].index;
    return true;
}

/* ---- from a text to a mesh */

CSIMI_FN void csimi_reader_open(csimi_mesh_reader *r, const csim_allocator *allocator) {
    CSIMI_MEMSET(r, 0, sizeof *r);
    if (allocator) r->heap.hooks = *allocator;
    r->vertices.stride = 3 * sizeof(csim_real);
    r->tets.stride = 4 * sizeof(int);
    r->triangles.stride = 3 * sizeof(int);
    r->ids.stride = sizeof(csimi_vertex_id);
    r->connectivity.stride = r->offsets.stride = r->types.stride = sizeof(int);
}

/* Moves a buffer into the arena; null when it is empty or the arena only counts. */
static void *csimi_pack(csimi_arena *arena, const csimi_buffer *buffer) {
    void *to = buffer->count ? csimi_push(arena, buffer->count, buffer->stride) : NULL;
    if (to) CSIMI_MEMCPY(to, buffer->data, buffer->count * buffer->stride);
    return to;
}

static void csimi_pack_mesh(csimi_arena *arena, const csimi_mesh_reader *r, csim_mesh *mesh) {
    mesh->vertex_count = (int)r->vertices.count;
    mesh->tet_count = (int)r->tets.count;
    mesh->triangle_count = (int)r->triangles.count;
    mesh->vertices = (csim_real *)csimi_pack(arena, &r->vertices);
    mesh->tets = (int *)csimi_pack(arena, &r->tets);
    mesh->triangles = (int *)csimi_pack(arena, &r->triangles);
}

CSIMI_FN csim_status csimi_reader_close(csimi_mesh_reader *r, csim_mesh *mesh) {
    csimi_text *t = &r->text;
    csimi_arena arena = csimi_arena_counting();
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    t->token = t->at;
    if (t->status == CSIM_OK && !r->tets.count && !r->triangles.count && !r->points_suffice)
        csimi_text_fail(t, CSIM_BAD_MESH, "there are no tets and no triangles");
    csimi_buffer_free(r, &r->ids);
    csimi_buffer_free(r, &r->connectivity);
    csimi_buffer_free(r, &r->offsets);
    csimi_buffer_free(r, &r->types);
    if (t->status == CSIM_OK) {
        csimi_pack_mesh(&arena, r, mesh);
        mesh->block_size = arena.used;
        mesh->block = arena.overflow ? NULL : csimi_heap_alloc(&r->heap, arena.used);
        mesh->allocator = r->heap.hooks;
        arena = csimi_arena_in(mesh->block, mesh->block_size);
        if (mesh->block)
            csimi_pack_mesh(&arena, r, mesh);
        else
            csimi_text_fail(t, CSIM_OUT_OF_MEMORY, csim_status_text(CSIM_OUT_OF_MEMORY));
    }
    if (t->status != CSIM_OK) CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    csimi_buffer_free(r, &r->vertices);
    csimi_buffer_free(r, &r->tets);
    csimi_buffer_free(r, &r->triangles);
    return t->status;
}

#ifndef CONDSIM_NO_STDIO
#include <stdio.h>

/* An error has room for a sentence after it. */
CSIMI_FN const char *csimi_path_tail(const char *path) {
    size_t length = 0;
    while (path[length]) ++length;
    return path + (length > 100 ? length - 100 : 0);
}

/* A whole file into file, and the reader's text onto it. */
CSIMI_FN bool csimi_open_text(csimi_mesh_reader *r, const char *path, csimi_buffer *file, csim_error *error) {
    FILE *stream = fopen(path, "rb");
    bool ok = stream != NULL;
    size_t got = 1;
    r->text = csimi_text_of(csimi_path_tail(path), "", 0, error);
    while (ok && got > 0) {
        if (file->count == file->capacity && !csimi_buffer_grow(r, file)) break;
        got = fread(file->data + file->count, 1, file->capacity - file->count, stream);
        file->count += got;
    }
    if (ok && ferror(stream)) ok = false;
    if (stream) fclose(stream);
    if (!ok) r->text.status = csimi_deny(error, CSIM_FILE_ERROR, r->text.name, NULL, NULL);
    if (r->text.status != CSIM_OK) return false;
    r->text = csimi_text_of(r->text.name, (const char *)file->data, file->count, error);
    return true;
}
#endif
#endif
