/* io/mesh: what is wrong with a mesh, what may go, and how the readers of files build one. */
#include "private.h"

/* ---- checking */

static void csimi_count_finding(csim_mesh_finding *finding, int index) {
    if (finding->count++ == 0) finding->first = index;
}

static bool csimi_indices_in_range(const int *v, int n, int vertex_count) {
    int i;
    for (i = 0; i < n; ++i)
        if (v[i] < 0 || v[i] >= vertex_count) return false;
    return true;
}

/* Volume and the square of the longest edge; in double, so that float coordinates lose nothing. */
static double csimi_check_volume(const csim_real *vertices, const int *v, double *longest2) {
    double e[6][3], length2; /* from a to b c d, then between these */
    int i, k;
    *longest2 = 0;
    for (i = 0; i < 6; ++i) {
        const csim_real *p = vertices + 3 * (size_t)v[i < 3 ? i + 1 : i < 5 ? 2 : 3];
        const csim_real *q = vertices + 3 * (size_t)v[i < 3 ? 0 : i < 4 ? 1 : i < 5 ? 3 : 1];
        for (k = 0; k < 3; ++k) e[i][k] = (double)p[k] - (double)q[k];
        length2 = e[i][0] * e[i][0] + e[i][1] * e[i][1] + e[i][2] * e[i][2];
        if (length2 > *longest2) *longest2 = length2;
    }
    return ((e[0][1] * e[1][2] - e[0][2] * e[1][1]) * e[2][0] + (e[0][2] * e[1][0] - e[0][0] * e[1][2]) * e[2][1] +
            (e[0][0] * e[1][1] - e[0][1] * e[1][0]) * e[2][2]) /
           6;
}

/* Which line of the report a tet in range belongs to; null: none, it is upright. */
static csim_mesh_finding *csimi_judge_tet(const csim_mesh *mesh, const int *v, csim_mesh_report *report) {
    double longest2, volume;
    int i;
    for (i = 0; i < 4; ++i)
        if (!csimi_all_finite(mesh->vertices + 3 * (size_t)v[i], 3)) return &report->degenerate_tets;
    volume = csimi_check_volume(mesh->vertices, v, &longest2);
    report->volume += volume;
    /* squared: no square root, and nothing overflows below 1e50; above, inf <= inf calls it degenerate */
    if (volume * volume <= 1e-24 * longest2 * longest2 * longest2) return &report->degenerate_tets;
    return volume < 0 ? &report->inverted_tets : NULL;
}

static void csimi_sorted_tet(const int *v, int *sorted) {
    int i, j;
    for (i = 0; i < 4; ++i) {
        for (j = i; j > 0 && sorted[j - 1] > v[i]; --j) sorted[j] = sorted[j - 1];
        sorted[j] = v[i];
    }
}

/* Slots of the open-addressed table: a power of two, half empty at least. */
static size_t csimi_check_slots(int tet_count) {
    size_t n = 2;
    while (n < 2 * (size_t)tet_count) n *= 2;
    return n;
}

/* Enters tet t; false when one with the same vertices is there. table holds tet + 1. */
static bool csimi_check_duplicate(const csim_mesh *mesh, int t, int *table, size_t slots) {
    int v[4], w[4], i;
    uint64_t hash = 0;
    size_t at;
    csimi_sorted_tet(mesh->tets + 4 * (size_t)t, v);
    for (i = 0; i < 4; ++i) {
        hash = (hash ^ (uint64_t)v[i]) * 0x9e3779b97f4a7c15u; /* Knuth's golden ratio */
        hash ^= hash >> 32;
    }
    for (at = (size_t)hash & (slots - 1); table[at]; at = (at + 1) & (slots - 1)) {
        csimi_sorted_tet(mesh->tets + 4 * (size_t)(table[at] - 1), w);
        if (v[0] == w[0] && v[1] == w[1] && v[2] == w[2] && v[3] == w[3]) return false;
    }
    table[at] = t + 1;
    return true;
}

static void csimi_check_elements(const csim_mesh *mesh, int *table, size_t slots, unsigned char *used,
                                 csim_mesh_report *report) {
    int t, i;
    for (t = 0; t < mesh->tet_count; ++t) {
        const int *v = mesh->tets + 4 * (size_t)t;
        csim_mesh_finding *finding;
        if (!csimi_indices_in_range(v, 4, mesh->vertex_count)) {
            csimi_count_finding(&report->out_of_range_tets, t);
            continue;
        }
        for (i = 0; i < 4; ++i) used[v[i]] = 1;
        finding = csimi_judge_tet(mesh, v, report);
        if (finding) csimi_count_finding(finding, t);
        if (!csimi_check_duplicate(mesh, t, table, slots)) csimi_count_finding(&report->duplicate_tets, t);
    }
    for (t = 0; t < mesh->triangle_count; ++t) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (!csimi_indices_in_range(v, 3, mesh->vertex_count))
            csimi_count_finding(&report->out_of_range_triangles, t);
        else
            for (i = 0; i < 3 && !mesh->tet_count; ++i) used[v[i]] = 1;
    }
    for (i = 0; i < mesh->vertex_count; ++i) {
        if (!csimi_all_finite(mesh->vertices + 3 * (size_t)i, 3)) csimi_count_finding(&report->not_finite_vertices, i);
        if (!used[i]) csimi_count_finding(&report->isolated_vertices, i);
    }
}

/* "csim_mesh_check: inverted tets: 3, the first is tet 12" */
static csim_status csimi_say_finding(csim_error *error, csim_mesh_finding finding, const char *many, const char *one) {
    const size_t capacity = sizeof error->text;
    csim_status status = csimi_fail(error, CSIM_BAD_MESH, "csim_mesh_check", many, false, 0, NULL);
    size_t n;
    if (!error) return status;
    n = csimi_append_text(error->text, capacity, 0, "csim_mesh_check: ");
    n = csimi_append_text(error->text, capacity, n, many);
    n = csimi_append_text(error->text, capacity, n, ": ");
    n = csimi_append_int(error->text, capacity, n, finding.count);
    n = csimi_append_text(error->text, capacity, n, ", the first is ");
    n = csimi_append_text(error->text, capacity, n, one);
    csimi_append_int(error->text, capacity, n, finding.first);
    return status;
}

static csim_status csimi_say_report(const csim_mesh *mesh, const csim_mesh_report *r, csim_error *error) {
    if (mesh->vertex_count == 0 || (mesh->tet_count == 0 && mesh->triangle_count == 0))
        return csimi_fail(error, CSIM_BAD_MESH, "csim_mesh_check", "no tets and no triangles", false, 0, NULL);
    if (r->out_of_range_tets.count)
        return csimi_say_finding(error, r->out_of_range_tets, "tets with an index out of range", "tet ");
    if (r->out_of_range_triangles.count)
        return csimi_say_finding(error, r->out_of_range_triangles, "triangles with an index out of range", "triangle ");
    if (r->not_finite_vertices.count)
        return csimi_say_finding(error, r->not_finite_vertices, "vertices that are not finite", "vertex ");
    if (r->inverted_tets.count) return csimi_say_finding(error, r->inverted_tets, "inverted tets", "tet ");
    if (r->degenerate_tets.count) return csimi_say_finding(error, r->degenerate_tets, "degenerate tets", "tet ");
    if (r->duplicate_tets.count) return csimi_say_finding(error, r->duplicate_tets, "duplicate tets", "tet ");
    if (r->isolated_vertices.count)
        return csimi_say_finding(error, r->isolated_vertices, "isolated vertices", "vertex ");
    return CSIM_OK;
}

static csim_status csimi_check_counts(const csim_mesh *mesh, csim_error *error) {
    const char *name = "csim_mesh_check";
    if (!mesh) return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "mesh", false, 0, NULL);
    if (mesh->vertex_count < 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, name, "vertex_count", true, mesh->vertex_count, "0 or more");
    if (mesh->tet_count < 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, name, "tet_count", true, mesh->tet_count, "0 or more");
    if (mesh->triangle_count < 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, name, "triangle_count", true, mesh->triangle_count, "0 or more");
    if (mesh->vertex_count && !mesh->vertices)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "vertices", false, 0, NULL);
    if (mesh->tet_count && !mesh->tets) return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "tets", false, 0, NULL);
    if (mesh->triangle_count && !mesh->triangles)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "triangles", false, 0, NULL);
    return CSIM_OK;
}

static csim_mesh_report csimi_empty_report(void) {
    const csim_mesh_finding none = {0, -1};
    csim_mesh_report r;
    r.not_finite_vertices = r.out_of_range_tets = r.degenerate_tets = r.inverted_tets = none;
    r.duplicate_tets = r.out_of_range_triangles = r.isolated_vertices = none;
    r.volume = 0;
    return r;
}

CSIM_API size_t csim_mesh_check_bytes(int vertex_count, int tet_count) {
    csimi_arena arena = csimi_arena_counting();
    if (vertex_count < 0 || tet_count < 0) return 0;
    csimi_push(&arena, csimi_check_slots(tet_count), sizeof(int));
    csimi_push(&arena, (size_t)vertex_count, 1);
    return arena.used > SIZE_MAX - 64 ? SIZE_MAX : arena.used + 64; /* the arena aligns the caller's block */
}

CSIM_API csim_status csim_mesh_check(const csim_mesh *mesh, void *scratch, size_t scratch_size,
                                     csim_mesh_report *report, csim_error *error) {
    csim_mesh_report found = csimi_empty_report();
    csim_status status = csimi_check_counts(mesh, error);
    csimi_heap heap;
    csimi_arena arena;
    size_t slots, size;
    int *table;
    unsigned char *used;
    if (report) *report = found;
    if (status != CSIM_OK) return status;
    size = csim_mesh_check_bytes(mesh->vertex_count, mesh->tet_count);
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    if (scratch && scratch_size < size)
        return csimi_fail(error, CSIM_CAPACITY, "csim_mesh_check", "scratch_size", true, (double)scratch_size,
                          "csim_mesh_check_bytes(vertex_count, tet_count) or more");
    arena = scratch ? csimi_arena_in(scratch, size) : csimi_arena_in(csimi_heap_alloc(&heap, size), size);
    slots = csimi_check_slots(mesh->tet_count);
    table = CSIMI_PUSH(&arena, int, slots);
    used = CSIMI_PUSH(&arena, unsigned char, mesh->vertex_count);
    if (!table || !used) return csimi_fail(error, CSIM_OUT_OF_MEMORY, "csim_mesh_check", "scratch", false, 0, NULL);
    CSIMI_MEMSET(table, 0, slots * sizeof(int));
    if (mesh->vertex_count) CSIMI_MEMSET(used, 0, (size_t)mesh->vertex_count);
    csimi_check_elements(mesh, table, slots, used, &found);
    if (!scratch) csimi_heap_free(&heap, arena.base, size);
    if (report) *report = found;
    return csimi_say_report(mesh, &found, error);
}

/* ---- compacting */

static bool csimi_mesh_in_range(const csim_mesh *mesh) {
    int i;
    for (i = 0; i < mesh->tet_count; ++i)
        if (!csimi_indices_in_range(mesh->tets + 4 * (size_t)i, 4, mesh->vertex_count)) return false;
    for (i = 0; i < mesh->triangle_count; ++i)
        if (!csimi_indices_in_range(mesh->triangles + 3 * (size_t)i, 3, mesh->vertex_count)) return false;
    return true;
}

/* new_index becomes the rank of each vertex that an element uses; the vertices move there. Returns how many stay. */
static int csimi_keep_used(csim_mesh *mesh, int *new_index) {
    const int *elements = mesh->tet_count ? mesh->tets : mesh->triangles;
    const size_t n = mesh->tet_count ? 4 * (size_t)mesh->tet_count : 3 * (size_t)mesh->triangle_count;
    size_t i;
    int v, k, kept = 0;
    for (v = 0; v < mesh->vertex_count; ++v) new_index[v] = -1;
    for (i = 0; i < n; ++i) new_index[elements[i]] = 0;
    for (v = 0; v < mesh->vertex_count; ++v) {
        if (new_index[v] < 0) continue;
        for (k = 0; k < 3; ++k)
            mesh->vertices[3 * (size_t)kept + (size_t)k] = mesh->vertices[3 * (size_t)v + (size_t)k];
        new_index[v] = kept++;
    }
    return kept;
}

CSIM_API int csim_mesh_compact(csim_mesh *mesh, int *new_index) {
    int i, kept, dropped, triangles = 0;
    if (!new_index || csimi_check_counts(mesh, NULL) != CSIM_OK || !csimi_mesh_in_range(mesh)) return -1;
    kept = csimi_keep_used(mesh, new_index);
    dropped = mesh->vertex_count - kept;
    for (i = 0; i < mesh->tet_count; ++i) {
        int *v = mesh->tets + 4 * (size_t)i;
        v[0] = new_index[v[0]];
        v[1] = new_index[v[1]];
        v[2] = new_index[v[2]];
        v[3] = new_index[v[3]];
    }
    for (i = 0; i < mesh->triangle_count; ++i) {
        const int *v = mesh->triangles + 3 * (size_t)i;
        int *w = mesh->triangles + 3 * (size_t)triangles;
        const int a = new_index[v[0]], b = new_index[v[1]], c = new_index[v[2]];
        if (a < 0 || b < 0 || c < 0) continue;
        w[0] = a;
        w[1] = b;
        w[2] = c;
        ++triangles;
    }
    mesh->vertex_count = kept;
    mesh->triangle_count = triangles;
    return dropped;
}

CSIM_API void csim_mesh_free(csim_mesh *mesh) {
    csimi_heap heap;
    if (!mesh) return;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    heap.hooks = mesh->allocator;
    heap.held = mesh->block_size;
    csimi_heap_free(&heap, mesh->block, mesh->block_size);
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
}

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

static csim_status csimi_reader_close(csimi_mesh_reader *r, csim_mesh *mesh) {
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

static csim_mesh_format csimi_guess_format(csimi_text t) {
    static const char *const obj[] = {"v", "vt", "vn", "f", "o", "g", "s", "mtllib", "usemtl"};
    const char *start = t.at;
    size_t i;
    csimi_text_space(&t);
    if (t.at < t.end && *t.at == '$') return CSIM_MESH_GMSH;
    if (t.at < t.end && *t.at == '<') return CSIM_MESH_VTU;
    if (csimi_text_accept(&t, "#") && csimi_text_accept(&t, "vtk")) return CSIM_MESH_VTK;
    t.at = start;
    t.comment = '#';
    for (i = 0; i < sizeof obj / sizeof obj[0]; ++i)
        if (csimi_text_accept(&t, obj[i])) return CSIM_MESH_OBJ;
    return CSIM_MESH_AUTO;
}

static void csimi_read_mesh(csimi_mesh_reader *r, csim_mesh_format format) {
    if (format == CSIM_MESH_AUTO) format = csimi_guess_format(r->text);
    switch (format) {
    case CSIM_MESH_GMSH: csimi_read_gmsh(r); return;
    case CSIM_MESH_VTK: csimi_read_vtk(r); return;
    case CSIM_MESH_VTU: csimi_read_vtu(r); return;
    case CSIM_MESH_OBJ: csimi_read_obj(r); return;
    case CSIM_MESH_AUTO: break;
    }
    csimi_text_expected(&r->text, "the first line of a Gmsh, VTK, VTU or OBJ file");
}

/* Null arguments; clears *mesh and *error. */
static csim_status csimi_begin_load(const char *name, bool has_input, const char *input, csim_mesh *mesh,
                                    csim_error *error) {
    if (error) {
        error->status = CSIM_OK;
        error->text[0] = 0;
    }
    if (!mesh) return csimi_fail(error, CSIM_NULL_ARGUMENT, name, "mesh", false, 0, NULL);
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    return has_input ? CSIM_OK : csimi_fail(error, CSIM_NULL_ARGUMENT, name, input, false, 0, NULL);
}

CSIM_API csim_status csim_mesh_load_text(const char *text, size_t size, csim_mesh_format format,
                                         const csim_allocator *allocator, csim_mesh *mesh, csim_error *error) {
    csimi_mesh_reader r;
    csim_status status = csimi_begin_load("csim_mesh_load_text", text != NULL, "text", mesh, error);
    if (status != CSIM_OK) return status;
    csimi_reader_open(&r, allocator);
    r.text = csimi_text_of("csim_mesh_load_text", text, size, error);
    csimi_read_mesh(&r, format);
    return csimi_reader_close(&r, mesh);
}

CSIM_API csim_status csim_mesh_load_tetgen(const char *node, size_t node_size, const char *ele, size_t ele_size,
                                           const csim_allocator *allocator, csim_mesh *mesh, csim_error *error) {
    csimi_mesh_reader r;
    csim_status status = csimi_begin_load("csim_mesh_load_tetgen", node && ele, node ? "ele" : "node", mesh, error);
    if (status != CSIM_OK) return status;
    csimi_reader_open(&r, allocator);
    r.text = csimi_text_of("csim_mesh_load_tetgen: node", node, node_size, error);
    if (csimi_read_tetgen_nodes(&r)) {
        r.text = csimi_text_of("csim_mesh_load_tetgen: ele", ele, ele_size, error);
        csimi_read_tetgen_elements(&r);
    }
    return csimi_reader_close(&r, mesh);
}

#ifndef CONDSIM_NO_STDIO
#include <stdio.h>

/* Of a long path the end, which tells files apart: an error has room for a sentence after it. */
static const char *csimi_path_tail(const char *path) {
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
    if (!ok) r->text.status = csimi_fail(error, CSIM_FILE_ERROR, r->text.name, NULL, false, 0, NULL);
    if (r->text.status != CSIM_OK) return false;
    r->text = csimi_text_of(r->text.name, (const char *)file->data, file->count, error);
    return true;
}

static bool csimi_ends_in(const char *path, size_t length, const char *ending) {
    size_t n = 0;
    while (ending[n]) ++n;
    if (length < n) return false;
    while (n-- > 0)
        if (path[--length] != ending[n]) return false;
    return true;
}

/* path ends in .node or .ele; errors name the file they are in. */
static void csimi_load_tetgen_files(csimi_mesh_reader *r, const char *path, size_t length, csimi_buffer *files,
                                    csim_error *error) {
    const size_t stem = length - (csimi_ends_in(path, length, ".ele") ? 4 : 5);
    char *name = (char *)csimi_heap_alloc(&r->heap, stem + 6);
    if (!name) {
        r->text.status = csimi_fail(error, CSIM_OUT_OF_MEMORY, csimi_path_tail(path), NULL, false, 0, NULL);
        return;
    }
    CSIMI_MEMCPY(name, path, stem);
    CSIMI_MEMCPY(name + stem, ".node", 6);
    if (csimi_open_text(r, name, &files[0], error) && csimi_read_tetgen_nodes(r)) {
        CSIMI_MEMCPY(name + stem, ".ele", 5);
        if (csimi_open_text(r, name, &files[1], error)) csimi_read_tetgen_elements(r);
    }
    csimi_heap_free(&r->heap, name, stem + 6);
    r->text.name = csimi_path_tail(path); /* the copy is gone */
}

CSIM_API csim_status csim_mesh_load_file(const char *path, const csim_allocator *allocator, csim_mesh *mesh,
                                         csim_error *error) {
    csimi_mesh_reader r;
    csimi_buffer files[2];
    size_t length = 0;
    csim_status status = csimi_begin_load("csim_mesh_load_file", path != NULL, "path", mesh, error);
    if (status != CSIM_OK) return status;
    csimi_reader_open(&r, allocator);
    CSIMI_MEMSET(files, 0, sizeof files);
    files[0].stride = files[1].stride = 1;
    while (path[length]) ++length;
    if (csimi_ends_in(path, length, ".node") || csimi_ends_in(path, length, ".ele"))
        csimi_load_tetgen_files(&r, path, length, files, error);
    else if (csimi_open_text(&r, path, &files[0], error))
        csimi_read_mesh(&r, CSIM_MESH_AUTO);
    status = csimi_reader_close(&r, mesh);
    csimi_buffer_free(&r, &files[0]);
    csimi_buffer_free(&r, &files[1]);
    return status;
}
#endif
#endif
