/* io/load: meshes from a text or a file of any format. */
#include "private.h"

#ifndef CONDSIM_NO_LOADERS

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
    if (!mesh) return csimi_deny(error, CSIM_NULL_ARGUMENT, name, "mesh", NULL);
    CSIMI_MEMSET(mesh, 0, sizeof *mesh);
    return has_input ? CSIM_OK : csimi_deny(error, CSIM_NULL_ARGUMENT, name, input, NULL);
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
        r->text.status = csimi_deny(error, CSIM_OUT_OF_MEMORY, csimi_path_tail(path), NULL, NULL);
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
