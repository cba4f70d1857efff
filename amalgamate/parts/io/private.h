/* io/private: a cursor over text with one way to fail, growing arrays, and the reader all mesh formats fill. */
#ifndef CSIMI_IO_PRIVATE_H
#define CSIMI_IO_PRIVATE_H

#include "../world/private.h"
#include "mesh.h"
#include "urdf.h"

#ifndef CONDSIM_NO_LOADERS

/* ---- text.c */

/* Reads a text that may be anything. The first failure sticks in status and moves the cursor to the end, so that
   whatever follows fails too and loops end. Every function that returns bool returns false after a failure. */
typedef struct csimi_text {
    const char *name; /* error sentences begin with it */
    const char *begin, *at, *end;
    const char *token; /* begin of what was read last: the line an error names */
    char comment;      /* starts a comment up to the end of the line; 0: there are none */
    bool one_line;     /* while set, nothing is read beyond the line */
    bool joins_lines;  /* a backslash before the end of a line joins the next one to it */
    csim_status status;
    csim_error *error; /* may be null */
} csimi_text;

CSIMI_FN csimi_text csimi_text_of(const char *name, const char *text, size_t size, csim_error *error);
/* Each says "name: line N: " and a sentence, keeps the status, and returns false. */
CSIMI_FN bool csimi_text_fail(csimi_text *t, csim_status status, const char *sentence);
CSIMI_FN bool csimi_text_fail_number(csimi_text *t, csim_status status, const char *before, int64_t number,
                                     const char *after);
CSIMI_FN bool csimi_text_expected(csimi_text *t, const char *what); /* "expected what, found ..." at the cursor */
/* Passes over blanks and comments; the same without leaving the line (true: something is left on it);
   everything up to the next line. */
CSIMI_FN bool csimi_is_space(char c);
CSIMI_FN void csimi_text_space(csimi_text *t);
CSIMI_FN bool csimi_text_more_on_line(csimi_text *t);
CSIMI_FN void csimi_text_next_line(csimi_text *t);
/* Whether the next word is this one, upper or lower case; takes it if so. */
CSIMI_FN bool csimi_text_accept(csimi_text *t, const char *word);
CSIMI_FN bool csimi_text_begins(const csimi_text *t, const char *word); /* the same, of any beginning, takes nothing */
CSIMI_FN bool csimi_text_need(csimi_text *t, const char *word);
CSIMI_FN bool csimi_text_skip_word(csimi_text *t);
/* Numbers end at a blank or at a mark that cannot be part of one, such as / and <. */
CSIMI_FN bool csimi_text_int(csimi_text *t, int64_t *value);
CSIMI_FN bool csimi_text_real(csimi_text *t, csim_real *value);
/* Past the number at p, or null. */
CSIMI_FN const char *csimi_scan_real(const csimi_text *t, const char *p, double *value);
/* A count of things of which each takes at least so many bytes of the rest of the text: refused when negative or more
   than fit, so that nothing is ever sized by a number that merely stands in a file. */
CSIMI_FN bool csimi_text_count(csimi_text *t, size_t bytes_each, const char *things, int *count);
CSIMI_FN bool csimi_text_check_count(csimi_text *t, int64_t value, size_t bytes_each, const char *things, int *count);

/* ---- xml.c */

typedef struct csimi_slice {
    const char *begin, *end;
} csimi_slice;

typedef struct csimi_xml_tag {
    csimi_slice name, attributes;
    bool closing, empty; /* </name>, <name/> */
} csimi_xml_tag;

CSIMI_FN bool csimi_slice_is(csimi_slice s, const char *word);
CSIMI_FN bool csimi_slices_equal(csimi_slice a, csimi_slice b);
/* The next tag; comments, declarations and text are passed over. False at the end of the text and after a failure. */
CSIMI_FN bool csimi_xml_next(csimi_text *t, csimi_xml_tag *tag);
/* The value of an attribute; false: there is none. */
CSIMI_FN bool csimi_xml_attribute(const csimi_xml_tag *tag, const char *name, csimi_slice *value);

/* ---- reader.c */

/* An array that grows, at most INT_MAX / 4 items. */
typedef struct csimi_buffer {
    unsigned char *data;
    size_t count, capacity, stride; /* in items; bytes per item */
} csimi_buffer;

typedef struct csimi_vertex_id {
    int64_t id;
    int index;
    size_t offset; /* in the text */
} csimi_vertex_id;

typedef struct csimi_mesh_reader {
    csimi_text text;
    csimi_heap heap;
    csimi_buffer vertices, tets, triangles;    /* csim_real[3], int[4], int[3] */
    csimi_buffer ids;                          /* csimi_vertex_id: names of the vertices in the file */
    csimi_buffer connectivity, offsets, types; /* int: cells read before their kind is known (VTK) */
    bool points_suffice;                       /* a mesh may be vertices alone */
} csimi_mesh_reader;

/* One zeroed item more; null (the text has failed) when memory is out. */
CSIMI_FN void *csimi_buffer_push(csimi_mesh_reader *r, csimi_buffer *buffer);
CSIMI_FN void csimi_buffer_free(csimi_mesh_reader *r, csimi_buffer *buffer);
CSIMI_FN void csimi_reader_open(csimi_mesh_reader *r, const csim_allocator *allocator);
/* All arrays into one block of mesh, or the failure of the text; frees what the reader holds. */
CSIMI_FN csim_status csimi_reader_close(csimi_mesh_reader *r, csim_mesh *mesh);
#ifndef CONDSIM_NO_STDIO
CSIMI_FN const char *csimi_path_tail(const char *path); /* of a long path the end, which tells files apart */
/* A whole file into file, and the reader's text onto it. */
CSIMI_FN bool csimi_open_text(csimi_mesh_reader *r, const char *path, csimi_buffer *file, csim_error *error);
#endif
CSIMI_FN bool csimi_push_int(csimi_mesh_reader *r, csimi_buffer *buffer, int value);
#define CSIMI_ITEMS(buffer, type) ((type *)(void *)(buffer).data)

/* The next three numbers as a vertex; a vertex's name; after the last name: sorts, and refuses one given twice. */
CSIMI_FN bool csimi_read_vertex(csimi_mesh_reader *r);
CSIMI_FN bool csimi_add_id(csimi_mesh_reader *r, int64_t id);
CSIMI_FN bool csimi_sort_ids(csimi_mesh_reader *r);
/* The next number as a vertex by its name. */
CSIMI_FN bool csimi_read_id(csimi_mesh_reader *r, int *index);
CSIMI_FN bool csimi_add_tet(csimi_mesh_reader *r, const int *v);
CSIMI_FN bool csimi_add_triangle(csimi_mesh_reader *r, int a, int b, int c);

/* ---- one file each: read the whole text, or fail. csimi_read_elements reads .ele after .node. */
CSIMI_FN bool csimi_read_gmsh(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_vtk(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_vtu(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_obj(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_tetgen_nodes(csimi_mesh_reader *r);
CSIMI_FN bool csimi_read_tetgen_elements(csimi_mesh_reader *r);

#endif
#endif
