/* io/mesh: what is wrong with a mesh, and what may go. */
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
    csim_status status = csimi_deny(error, CSIM_BAD_MESH, "csim_mesh_check", many, NULL);
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
        return csimi_deny(error, CSIM_BAD_MESH, "csim_mesh_check", "no tets and no triangles", NULL);
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
    if (!mesh) return csimi_deny(error, CSIM_NULL_ARGUMENT, name, "mesh", NULL);
    if (mesh->vertex_count < 0) return csimi_unfit(error, name, "vertex_count", mesh->vertex_count, "0 or more");
    if (mesh->tet_count < 0) return csimi_unfit(error, name, "tet_count", mesh->tet_count, "0 or more");
    if (mesh->triangle_count < 0) return csimi_unfit(error, name, "triangle_count", mesh->triangle_count, "0 or more");
    if (mesh->vertex_count && !mesh->vertices) return csimi_deny(error, CSIM_NULL_ARGUMENT, name, "vertices", NULL);
    if (mesh->tet_count && !mesh->tets) return csimi_deny(error, CSIM_NULL_ARGUMENT, name, "tets", NULL);
    if (mesh->triangle_count && !mesh->triangles) return csimi_deny(error, CSIM_NULL_ARGUMENT, name, "triangles", NULL);
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
        return csimi_fail(error, CSIM_CAPACITY, "csim_mesh_check", "scratch_size", (double)scratch_size,
                          "csim_mesh_check_bytes(vertex_count, tet_count) or more");
    arena = scratch ? csimi_arena_in(scratch, size) : csimi_arena_in(csimi_heap_alloc(&heap, size), size);
    slots = csimi_check_slots(mesh->tet_count);
    table = CSIMI_PUSH(&arena, int, slots);
    used = CSIMI_PUSH(&arena, unsigned char, mesh->vertex_count);
    if (!table || !used) return csimi_deny(error, CSIM_OUT_OF_MEMORY, "csim_mesh_check", "scratch", NULL);
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
