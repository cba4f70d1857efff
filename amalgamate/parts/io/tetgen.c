/* io/tetgen: .node and .ele files. */
#include "private.h"

#ifndef CONDSIM_NO_LOADERS

/* count, dimension 3, attributes, boundary markers 0 or 1; a node: id x y z, attributes, marker. The last two numbers
   of the first line may be missing. */
CSIMI_FN bool csimi_read_tetgen_nodes(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int64_t dimension, id;
    int count, i;
    t->comment = '#';
    if (!csimi_text_count(t, 8, "number of nodes is ", &count) || !csimi_text_int(t, &dimension)) return false;
    if (dimension != 3) return csimi_text_fail_number(t, CSIM_UNSUPPORTED, "dimension is ", dimension, "; allowed: 3");
    csimi_text_next_line(t);
    for (i = 0; i < count; ++i) {
        csimi_text_space(t);
        t->one_line = true;
        if (!csimi_text_int(t, &id) || !csimi_add_id(r, id) || !csimi_read_vertex(r)) return false;
        csimi_text_next_line(t); /* attributes and marker */
        t->one_line = false;
    }
    csimi_text_space(t);
    if (t->at < t->end) return csimi_text_expected(t, "the end after the last node");
    return csimi_sort_ids(r);
}

/* count, nodes per tet 4 (or 10), attributes; a tet: id, 4 nodes, attributes. */
CSIMI_FN bool csimi_read_tetgen_elements(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int64_t nodes, id;
    int count, i, k, v[4];
    t->comment = '#';
    if (!csimi_text_count(t, 10, "number of tetrahedra is ", &count) || !csimi_text_int(t, &nodes)) return false;
    if (nodes != 4)
        return csimi_text_fail_number(t, CSIM_UNSUPPORTED, "nodes per tetrahedron: ", nodes, "; allowed: 4");
    csimi_text_next_line(t);
    for (i = 0; i < count; ++i) {
        csimi_text_space(t);
        t->one_line = true;
        if (!csimi_text_int(t, &id)) return false;
        for (k = 0; k < 4; ++k)
            if (!csimi_read_id(r, &v[k])) return false;
        csimi_text_next_line(t); /* attributes */
        t->one_line = false;
        if (!csimi_add_tet(r, v)) return false;
    }
    csimi_text_space(t);
    return t->at == t->end || csimi_text_expected(t, "the end after the last tetrahedron");
}

#endif
