/* io/vtk: legacy VTK files, ASCII and binary, and VTK XML unstructured grids with ASCII arrays (VTK file formats,
   www.vtk.org). Both end in three int arrays: corners of all cells, where each cell ends, and its type. */
#include "private.h"

#ifndef CONDSIM_NO_LOADERS

/* ---- cells */

enum {
    CSIMI_VTK_TRIANGLE = 5,
    CSIMI_VTK_STRIP = 6,
    CSIMI_VTK_POLYGON = 7,
    CSIMI_VTK_PIXEL = 8,
    CSIMI_VTK_QUAD = 9,
    CSIMI_VTK_TET = 10
};

static bool csimi_vtk_fail_type(csimi_text *t, int type) {
    const char *why = type == 12   ? " (hexahedron); allowed: tetrahedra, polygons, lines, points"
                      : type == 11 ? " (voxel); allowed: tetrahedra, polygons, lines, points"
                      : type == 13 ? " (wedge); allowed: tetrahedra, polygons, lines, points"
                      : type == 14 ? " (pyramid); allowed: tetrahedra, polygons, lines, points"
                      : type == 24 ? " (second-order tetrahedron); allowed: first order"
                                   : "; allowed: tetrahedra, polygons, lines, points";
    return csimi_text_fail_number(t, CSIM_UNSUPPORTED, "cell type ", type, why);
}

/* One cell with n corners v. */
static bool csimi_vtk_cell(csimi_mesh_reader *r, int type, const int *v, int n) {
    const int corners = type == CSIMI_VTK_TRIANGLE ? 3 : type >= CSIMI_VTK_PIXEL && type <= CSIMI_VTK_TET ? 4 : n;
    int i;
    if (type >= 0 && type <= 4) return true; /* points and lines */
    if (type < 0 || type > CSIMI_VTK_TET) return csimi_vtk_fail_type(&r->text, type);
    if (n != corners || n < 3)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "a cell with ", n, " corners, not what its type has");
    if (type == CSIMI_VTK_TET) return csimi_add_tet(r, v);
    if (type == CSIMI_VTK_PIXEL)
        return csimi_add_triangle(r, v[0], v[1], v[3]) && csimi_add_triangle(r, v[0], v[3], v[2]);
    for (i = 2; i < n; ++i) {
        const int a = type == CSIMI_VTK_STRIP ? i - 2 + i % 2 : 0;
        const int b = type == CSIMI_VTK_STRIP ? i - 1 - i % 2 : i - 1;
        if (!csimi_add_triangle(r, v[a], v[b], v[i])) return false;
    }
    return true;
}

/* Cell c of the arrays. */
static bool csimi_vtk_stored_cell(csimi_mesh_reader *r, size_t c, int type) {
    const int *ends = CSIMI_ITEMS(r->offsets, int), *corners = CSIMI_ITEMS(r->connectivity, int);
    const int begin = c ? ends[c - 1] : 0;
    return csimi_vtk_cell(r, type, corners ? corners + begin : NULL, ends[c] - begin); /* cells may have no corners */
}

/* A corner: an index below the number of vertices, counted from base. */
static bool csimi_vtk_push_corner(csimi_mesh_reader *r, int64_t index, size_t base) {
    if (index < 0 || index >= (int64_t)(r->vertices.count - base))
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "point ", index, " is not among the points");
    return csimi_push_int(r, &r->connectivity, (int)index + (int)base);
}

/* Where a cell ends in the corners. */
static bool csimi_vtk_push_end(csimi_mesh_reader *r, int64_t end) {
    const size_t n = r->offsets.count;
    const int before = n ? CSIMI_ITEMS(r->offsets, int)[n - 1] : 0;
    if (end < before || end > INT32_MAX / 4)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "offset ", end, "; allowed: none that falls");
    return csimi_push_int(r, &r->offsets, (int)end);
}

/* ---- legacy files */

typedef struct csimi_vtk_type {
    const char *name;
    int size;  /* bytes in a binary file */
    char kind; /* i: signed, u: unsigned, f: floating */
} csimi_vtk_type;

/* A type's name; null after a failure. */
static const csimi_vtk_type *csimi_vtk_read_type(csimi_text *t) {
    static const csimi_vtk_type types[] = {
        {"float", 4, 'f'},         {"double", 8, 'f'},         {"int", 4, 'i'},
        {"vtkIdType", 4, 'i'},     {"long", 8, 'i'},           {"vtktypeint64", 8, 'i'},
        {"vtktypeint32", 4, 'i'},  {"short", 2, 'i'},          {"char", 1, 'i'},
        {"unsigned_char", 1, 'u'}, {"unsigned_short", 2, 'u'}, {"unsigned_int", 4, 'u'},
        {"unsigned_long", 8, 'u'}, {"vtktypeuint64", 8, 'u'}};
    size_t i;
    for (i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (csimi_text_accept(t, types[i].name)) return &types[i];
    csimi_text_expected(t, "a data type, such as float or int");
    return NULL;
}

static bool csimi_vtk_big_endian(csimi_text *t, int size, uint64_t *bits) {
    int i;
    t->token = t->at;
    *bits = 0;
    if (t->end - t->at < size) return csimi_text_fail(t, CSIM_PARSE_ERROR, "the binary data are cut short");
    for (i = 0; i < size; ++i) *bits = *bits << 8 | (unsigned char)*t->at++;
    return true;
}

static bool csimi_vtk_int(csimi_text *t, const csimi_vtk_type *type, bool binary, int64_t *value) {
    uint64_t bits;
    if (!binary) return csimi_text_int(t, value);
    *value = 0;
    if (!csimi_vtk_big_endian(t, type->size, &bits)) return false;
    if (type->kind == 'i' && bits >> (8 * type->size - 1) & 1) /* extend the sign */
        bits |= type->size < 8 ? ~(uint64_t)0 << (8 * type->size) : 0;
    CSIMI_MEMCPY(value, &bits, sizeof bits);
    return true;
}

static bool csimi_vtk_real(csimi_text *t, const csimi_vtk_type *type, bool binary, csim_real *value) {
    uint64_t bits;
    uint32_t bits32;
    int64_t whole;
    float single;
    double x;
    *value = 0;
    if (!binary) return csimi_text_real(t, value);
    if (type->kind != 'f') {
        if (!csimi_vtk_int(t, type, binary, &whole)) return false;
        *value = (csim_real)whole;
        return true;
    }
    if (!csimi_vtk_big_endian(t, type->size, &bits)) return false;
    bits32 = (uint32_t)bits;
    CSIMI_MEMCPY(&single, &bits32, sizeof single);
    CSIMI_MEMCPY(&x, &bits, sizeof x);
    if (type->size == 4) x = (double)single;
    if (!(x <= (double)CSIMI_HUGE && x >= -(double)CSIMI_HUGE))
        return csimi_text_fail(t, CSIM_PARSE_ERROR, "a binary coordinate that is not finite or too large");
    *value = (csim_real)x;
    return true;
}

typedef struct csimi_vtk_file {
    csimi_mesh_reader *r;
    bool binary, modern; /* modern: from version 5.1 cells are two arrays, offsets and corners */
} csimi_vtk_file;

static size_t csimi_vtk_bytes(const csimi_vtk_file *f, const csimi_vtk_type *type) {
    return f->binary ? (size_t)type->size : 2;
}

static bool csimi_vtk_points(csimi_vtk_file *f) {
    csimi_text *t = &f->r->text;
    const csimi_vtk_type *type;
    int count, i, k;
    if (f->r->vertices.count) return csimi_text_fail(t, CSIM_PARSE_ERROR, "a second POINTS");
    if (!csimi_text_count(t, 1, "number of points is ", &count)) return false;
    type = csimi_vtk_read_type(t);
    if (!type || !csimi_text_check_count(t, count, 3 * csimi_vtk_bytes(f, type), "number of points is ", &count))
        return false;
    csimi_text_next_line(t);
    for (i = 0; i < count; ++i) {
        csim_real *x = (csim_real *)csimi_buffer_push(f->r, &f->r->vertices);
        for (k = 0; k < 3; ++k)
            if (!x || !csimi_vtk_real(t, type, f->binary, &x[k])) return false;
    }
    return true;
}

/* Up to version 4: count, size, then for each cell its number of corners and the corners. */
static bool csimi_vtk_old_cells(csimi_vtk_file *f, int count, int size) {
    static const csimi_vtk_type type = {"int", 4, 'i'};
    csimi_mesh_reader *r = f->r;
    csimi_text *t = &r->text;
    int64_t corners, index;
    csimi_text_next_line(t);
    if (!csimi_text_check_count(t, count, csimi_vtk_bytes(f, &type), "number of cells is ", &count)) return false;
    for (; count > 0; --count) {
        if (!csimi_vtk_int(t, &type, f->binary, &corners)) return false;
        size -= 1;
        if (corners < 0 || corners > size)
            return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "number of corners is ", corners,
                                          "; allowed: 0 to what is left of the list");
        for (size -= (int)corners; corners > 0; --corners)
            if (!csimi_vtk_int(t, &type, f->binary, &index) || !csimi_vtk_push_corner(r, index, 0)) return false;
        if (!csimi_vtk_push_end(r, (int64_t)r->connectivity.count)) return false;
    }
    return true;
}

/* From 5.1: count is one more than the cells; OFFSETS type, then CONNECTIVITY type. */
static bool csimi_vtk_new_cells(csimi_vtk_file *f, int count, int size) {
    csimi_text *t = &f->r->text;
    const csimi_vtk_type *type;
    int64_t value;
    int i;
    if (!csimi_text_need(t, "OFFSETS") || !(type = csimi_vtk_read_type(t))) return false;
    csimi_text_next_line(t);
    for (i = 0; i < count; ++i) {
        if (!csimi_vtk_int(t, type, f->binary, &value)) return false;
        if (i == 0 ? value != 0 : !csimi_vtk_push_end(f->r, value))
            return csimi_text_fail(t, CSIM_PARSE_ERROR, "the first offset is not 0");
    }
    if (count > 0 && value != size)
        return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "the last offset is ", value, ", not the number of corners");
    if (!csimi_text_need(t, "CONNECTIVITY") || !(type = csimi_vtk_read_type(t))) return false;
    csimi_text_next_line(t);
    for (i = 0; i < size; ++i)
        if (!csimi_vtk_int(t, type, f->binary, &value) || !csimi_vtk_push_corner(f->r, value, 0)) return false;
    return true;
}

/* A list of cells into the arrays, which it replaces. */
static bool csimi_vtk_cells(csimi_vtk_file *f) {
    csimi_text *t = &f->r->text;
    int count, size;
    f->r->connectivity.count = f->r->offsets.count = 0;
    if (!csimi_text_count(t, 1, "number of cells is ", &count) ||
        !csimi_text_count(t, 1, "size of the cell list is ", &size))
        return false;
    return f->modern ? csimi_vtk_new_cells(f, count, size) : csimi_vtk_old_cells(f, count, size);
}

static bool csimi_vtk_cell_types(csimi_vtk_file *f) {
    static const csimi_vtk_type int_type = {"int", 4, 'i'};
    csimi_text *t = &f->r->text;
    int64_t type;
    int count, c;
    if (!csimi_text_count(t, 1, "number of cell types is ", &count)) return false;
    if ((size_t)count != f->r->offsets.count)
        return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "number of cell types is ", count,
                                      ", not that of the cells");
    csimi_text_next_line(t);
    for (c = 0; c < count; ++c) {
        if (!csimi_vtk_int(t, &int_type, f->binary, &type)) return false;
        if (type < 0 || type > 255) type = 255; /* no such type */
        if (!csimi_vtk_stored_cell(f->r, (size_t)c, (int)type)) return false;
    }
    return true;
}

/* VERTICES, LINES, POLYGONS, TRIANGLE_STRIPS of POLYDATA */
static bool csimi_vtk_poly_cells(csimi_vtk_file *f, int type) {
    size_t c;
    if (!csimi_vtk_cells(f)) return false;
    for (c = 0; c < f->r->offsets.count; ++c)
        if (!csimi_vtk_stored_cell(f->r, c, type)) return false;
    return true;
}

/* FIELD name n, then n arrays: name, components, tuples, type, values. */
static bool csimi_vtk_pass_over_field(csimi_vtk_file *f) {
    csimi_text *t = &f->r->text;
    const csimi_vtk_type *type;
    int64_t value;
    csim_real number;
    int arrays, components, tuples, i, k;
    if (!csimi_text_skip_word(t) || !csimi_text_count(t, 2, "number of arrays is ", &arrays)) return false;
    for (; arrays > 0; --arrays) {
        if (!csimi_text_skip_word(t) || !csimi_text_count(t, 1, "number of components is ", &components) ||
            !csimi_text_count(t, 1, "number of tuples is ", &tuples) || !(type = csimi_vtk_read_type(t)))
            return false;
        csimi_text_next_line(t);
        for (i = 0; i < tuples && components; ++i)
            for (k = 0; k < components; ++k)
                if (f->binary ? !csimi_vtk_int(t, type, true, &value) : !csimi_text_real(t, &number)) return false;
    }
    return true;
}

/* METADATA goes on to an empty line. */
static void csimi_vtk_pass_over_metadata(csimi_text *t) {
    do csimi_text_next_line(t);
    while (csimi_text_more_on_line(t));
}

static bool csimi_vtk_header(csimi_vtk_file *f) {
    csimi_text *t = &f->r->text;
    csim_real version;
    if (!csimi_text_need(t, "#") || !csimi_text_need(t, "vtk") || !csimi_text_need(t, "DataFile") ||
        !csimi_text_need(t, "Version") || !csimi_text_real(t, &version))
        return false;
    f->modern = version >= CSIM_R(5.05);
    csimi_text_next_line(t);
    csimi_text_next_line(t); /* title */
    f->binary = csimi_text_accept(t, "BINARY");
    if (!f->binary && !csimi_text_accept(t, "ASCII")) return csimi_text_expected(t, "ASCII or BINARY");
    return true;
}

CSIMI_FN bool csimi_read_vtk(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    csimi_vtk_file f;
    bool poly, ok = true, done = false;
    f.r = r;
    f.binary = f.modern = false;
    if (!csimi_vtk_header(&f)) return false;
    if (csimi_text_accept(t, "FIELD") && !csimi_vtk_pass_over_field(&f)) return false;
    if (!csimi_text_need(t, "DATASET")) return false;
    poly = csimi_text_accept(t, "POLYDATA");
    if (!poly && !csimi_text_accept(t, "UNSTRUCTURED_GRID"))
        return csimi_text_fail(t, CSIM_UNSUPPORTED, "kind of DATASET; allowed: UNSTRUCTURED_GRID, POLYDATA");
    for (csimi_text_space(t); ok && !done && t->at < t->end; csimi_text_space(t)) {
        if (csimi_text_accept(t, "POINTS"))
            ok = csimi_vtk_points(&f);
        else if (csimi_text_accept(t, "METADATA"))
            csimi_vtk_pass_over_metadata(t);
        else if (csimi_text_accept(t, "FIELD"))
            ok = csimi_vtk_pass_over_field(&f);
        else if (!poly && csimi_text_accept(t, "CELLS"))
            ok = csimi_vtk_cells(&f);
        else if (!poly && csimi_text_accept(t, "CELL_TYPES"))
            ok = csimi_vtk_cell_types(&f);
        else if (poly && csimi_text_accept(t, "VERTICES"))
            ok = csimi_vtk_poly_cells(&f, 2);
        else if (poly && csimi_text_accept(t, "LINES"))
            ok = csimi_vtk_poly_cells(&f, 4);
        else if (poly && csimi_text_accept(t, "POLYGONS"))
            ok = csimi_vtk_poly_cells(&f, CSIMI_VTK_POLYGON);
        else if (poly && csimi_text_accept(t, "TRIANGLE_STRIPS"))
            ok = csimi_vtk_poly_cells(&f, CSIMI_VTK_STRIP);
        else if (csimi_text_accept(t, "POINT_DATA") || csimi_text_accept(t, "CELL_DATA"))
            done = true; /* fields follow */
        else
            ok = csimi_text_expected(t, "POINTS, CELLS, CELL_TYPES or POLYGONS");
    }
    return ok;
}

/* ---- XML files */

static bool csimi_xml_is(const csimi_xml_tag *tag, const char *name, const char *value) {
    csimi_slice found;
    return csimi_xml_attribute(tag, name, &found) && csimi_slice_is(found, value);
}

/* A whole number in an attribute; -1 after a failure. */
static int64_t csimi_xml_count(csimi_text *t, const csimi_xml_tag *tag, const char *name) {
    csimi_slice found;
    csimi_text value;
    int64_t number;
    if (!csimi_xml_attribute(tag, name, &found)) {
        csimi_text_fail(t, CSIM_PARSE_ERROR, "<Piece> without NumberOfPoints or NumberOfCells");
        return -1;
    }
    value = csimi_text_of("", found.begin, (size_t)(found.end - found.begin), NULL);
    if (csimi_text_int(&value, &number) && value.at == value.end && number >= 0) return number;
    csimi_text_fail(t, CSIM_PARSE_ERROR, "NumberOfPoints or NumberOfCells is not a whole number of 0 or more");
    return -1;
}

typedef struct csimi_vtu_file {
    csimi_mesh_reader *r;
    size_t base;           /* vertices of the pieces before */
    int64_t points, cells; /* of this piece */
    char section;          /* P: in Points, C: in Cells, 0: elsewhere */
} csimi_vtu_file;

static bool csimi_vtu_points(csimi_vtu_file *f) {
    csimi_text *t = &f->r->text;
    const int64_t before = (int64_t)(f->r->vertices.count - f->base);
    if (before) return csimi_text_fail(t, CSIM_PARSE_ERROR, "a second array of points in one piece");
    for (csimi_text_space(t); t->at < t->end && *t->at != '<'; csimi_text_space(t)) {
        if ((int64_t)(f->r->vertices.count - f->base) == f->points)
            return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "more points than NumberOfPoints, which is ", f->points,
                                          "");
        if (!csimi_read_vertex(f->r)) return false;
    }
    if ((int64_t)(f->r->vertices.count - f->base) == f->points) return true;
    return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "fewer points than NumberOfPoints, which is ", f->points, "");
}

/* One array of Cells. Points come first in every file VTK writes; corners are checked against them. */
static bool csimi_vtu_cells(csimi_vtu_file *f, const csimi_xml_tag *tag) {
    csimi_mesh_reader *r = f->r;
    csimi_text *t = &r->text;
    const bool corners = csimi_xml_is(tag, "Name", "connectivity"), ends = csimi_xml_is(tag, "Name", "offsets");
    int64_t value;
    bool ok = true;
    if (!corners && !ends && !csimi_xml_is(tag, "Name", "types")) return true;
    for (csimi_text_space(t); ok && t->at < t->end && *t->at != '<'; csimi_text_space(t)) {
        if (!csimi_text_int(t, &value)) return false;
        if (corners)
            ok = csimi_vtk_push_corner(r, value, f->base);
        else if (ends)
            ok = csimi_vtk_push_end(r, value);
        else
            ok = csimi_push_int(r, &r->types, value < 0 || value > 255 ? 255 : (int)value);
    }
    return ok;
}

/* Binary and appended arrays are refused where they stand. */
static bool csimi_vtu_array(csimi_vtu_file *f, const csimi_xml_tag *tag) {
    csimi_text *t = &f->r->text;
    if (!f->section) return true;
    if (!csimi_xml_is(tag, "format", "ascii"))
        return csimi_text_fail_number(t, CSIM_UNSUPPORTED, "DataArray at byte ", t->token - t->begin,
                                      " is binary, appended or compressed; allowed: format=\"ascii\"");
    if (f->section == 'C') return csimi_vtu_cells(f, tag);
    if (!csimi_xml_is(tag, "NumberOfComponents", "3"))
        return csimi_text_fail(t, CSIM_PARSE_ERROR, "NumberOfComponents of the points is not 3");
    return csimi_vtu_points(f);
}

static bool csimi_vtu_begin_piece(csimi_vtu_file *f, const csimi_xml_tag *tag) {
    csimi_mesh_reader *r = f->r;
    r->connectivity.count = r->offsets.count = r->types.count = 0;
    f->base = r->vertices.count;
    f->points = csimi_xml_count(&r->text, tag, "NumberOfPoints");
    f->cells = csimi_xml_count(&r->text, tag, "NumberOfCells");
    return r->text.status == CSIM_OK;
}

static bool csimi_vtu_end_piece(csimi_vtu_file *f) {
    csimi_mesh_reader *r = f->r;
    const size_t n = r->offsets.count, corners = n ? (size_t)CSIMI_ITEMS(r->offsets, int)[n - 1] : 0;
    size_t c;
    if ((int64_t)(r->vertices.count - f->base) != f->points)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "a piece without its points, of which it has ",
                                      f->points, "");
    if ((int64_t)n != f->cells || r->types.count != n)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR,
                                      "offsets or types are not as many as NumberOfCells, which is ", f->cells, "");
    if (corners != r->connectivity.count)
        return csimi_text_fail_number(&r->text, CSIM_PARSE_ERROR, "the last offset is ", (int64_t)corners,
                                      ", not the number of corners");
    for (c = 0; c < n; ++c)
        if (!csimi_vtk_stored_cell(r, c, CSIMI_ITEMS(r->types, int)[c])) return false;
    return true;
}

static bool csimi_vtu_tag(csimi_vtu_file *f, const csimi_xml_tag *tag) {
    const bool opens = !tag->closing && !tag->empty;
    if (csimi_slice_is(tag->name, "VTKFile") && opens && !csimi_xml_is(tag, "type", "UnstructuredGrid"))
        return csimi_text_fail(&f->r->text, CSIM_UNSUPPORTED, "type of VTKFile; allowed: UnstructuredGrid");
    if (csimi_slice_is(tag->name, "Points")) f->section = opens ? 'P' : 0;
    if (csimi_slice_is(tag->name, "Cells")) f->section = opens ? 'C' : 0;
    if (csimi_slice_is(tag->name, "DataArray") && opens) return csimi_vtu_array(f, tag);
    if (csimi_slice_is(tag->name, "Piece") && opens) return csimi_vtu_begin_piece(f, tag);
    if (csimi_slice_is(tag->name, "Piece") && tag->closing) return csimi_vtu_end_piece(f);
    return true;
}

CSIMI_FN bool csimi_read_vtu(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    csimi_vtu_file f;
    csimi_xml_tag tag;
    CSIMI_MEMSET(&f, 0, sizeof f);
    f.r = r;
    while (csimi_xml_next(t, &tag)) {
        if (!csimi_vtu_tag(&f, &tag)) return false;
        if (tag.closing && csimi_slice_is(tag.name, "VTKFile")) return t->status == CSIM_OK;
        if (csimi_slice_is(tag.name, "AppendedData")) break; /* bytes follow */
    }
    t->at = t->end;
    return csimi_text_expected(t, "</VTKFile>");
}

#endif
