/* io/gmsh: the MSH formats 1.0, 2.x and 4.1, ASCII (Gmsh reference manual, chapter File formats). */
#include "private.h"

#ifndef CONDSIM_NO_LOADERS

/* Nodes of an element type that is passed over: points and lines; 0 for all others. */
static int csimi_gmsh_passed_over(int64_t type) {
    switch (type) {
    case 15: return 1;
    case 1: return 2;
    case 8: return 3;
    case 26: return 4;
    case 27: return 5;
    case 28: return 6;
    default: return 0;
    }
}

static const char *csimi_gmsh_type_name(int64_t type) {
    switch (type) {
    case 5: return " (hexahedron); allowed: tetrahedra, triangles, quadrangles, lines, points";
    case 6: return " (prism); allowed: tetrahedra, triangles, quadrangles, lines, points";
    case 7: return " (pyramid); allowed: tetrahedra, triangles, quadrangles, lines, points";
    case 9: return " (second-order triangle); allowed: first order";
    case 11: return " (second-order tetrahedron); allowed: first order";
    default: return "; allowed: tetrahedra, triangles, quadrangles, lines, points";
    }
}

/* Nodes per element of a type that can be read; 0 after a failure at the number just read. */
static int csimi_gmsh_nodes(csimi_text *t, int64_t type) {
    const int n = type == 2 ? 3 : type == 3 || type == 4 ? 4 : csimi_gmsh_passed_over(type);
    if (n == 0) csimi_text_fail_number(t, CSIM_UNSUPPORTED, "element type ", type, csimi_gmsh_type_name(type));
    return n;
}

static bool csimi_gmsh_element(csimi_mesh_reader *r, int64_t type, int nodes) {
    int v[6] = {0, 0, 0, 0, 0, 0}, k;
    for (k = 0; k < nodes; ++k)
        if (!csimi_read_id(r, &v[k])) return false;
    if (type == 4) return csimi_add_tet(r, v);
    if (type == 2) return csimi_add_triangle(r, v[0], v[1], v[2]);
    if (type == 3) return csimi_add_triangle(r, v[0], v[1], v[2]) && csimi_add_triangle(r, v[0], v[2], v[3]);
    return true;
}

/* ---- versions 1 and 2 */

static bool csimi_gmsh_nodes2(csimi_mesh_reader *r) {
    int64_t id;
    int count, i;
    if (!csimi_text_count(&r->text, 8, "number of nodes is ", &count)) return false;
    for (i = 0; i < count; ++i)
        if (!csimi_text_int(&r->text, &id) || !csimi_add_id(r, id) || !csimi_read_vertex(r)) return false;
    return true;
}

/* Version 2: id, type, number of tags, tags, nodes. Version 1: id, type, two tags, number of nodes, nodes. */
static bool csimi_gmsh_elements2(csimi_mesh_reader *r, int version) {
    csimi_text *t = &r->text;
    int64_t id, type, number, tags = 2, tag;
    int count, nodes, i;
    if (!csimi_text_count(t, 8, "number of elements is ", &count)) return false;
    for (i = 0; i < count; ++i) {
        if (!csimi_text_int(t, &id) || !csimi_text_int(t, &type)) return false;
        nodes = csimi_gmsh_nodes(t, type);
        if (version == 2 && !csimi_text_int(t, &tags)) return false;
        if (tags < 0)
            return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "number of tags is ", tags, "; allowed: 0 or more");
        for (; tags > 0; --tags)
            if (!csimi_text_int(t, &tag)) return false;
        if (version == 1) {
            tags = 2;
            if (!csimi_text_int(t, &number)) return false;
            if (number != nodes)
                return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "number of nodes is ", number,
                                              ", not what the element type has");
        }
        if (!csimi_gmsh_element(r, type, nodes)) return false;
    }
    return true;
}

/* ---- version 4.1: blocks of one geometric entity each */

static bool csimi_gmsh_nodes4(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int64_t dimension, parametric, number, sum = 0;
    csim_real parameter;
    int blocks, total, count, i, k;
    if (!csimi_text_count(t, 8, "number of node blocks is ", &blocks) ||
        !csimi_text_count(t, 8, "number of nodes is ", &total) || !csimi_text_int(t, &number) ||
        !csimi_text_int(t, &number))
        return false;
    for (; blocks > 0; --blocks) {
        if (!csimi_text_int(t, &dimension) || !csimi_text_int(t, &number)) return false;
        if (dimension < 0 || dimension > 3)
            return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "dimension is ", dimension, "; allowed: 0 to 3");
        if (!csimi_text_int(t, &parametric) || !csimi_text_count(t, 8, "number of nodes is ", &count)) return false;
        for (i = 0; i < count; ++i)
            if (!csimi_text_int(t, &number) || !csimi_add_id(r, number)) return false;
        for (i = 0; i < count; ++i) {
            if (!csimi_read_vertex(r)) return false;
            for (k = 0; parametric && k < (int)dimension; ++k)
                if (!csimi_text_real(t, &parameter)) return false;
        }
        sum += count;
    }
    return sum == total || csimi_text_fail_number(t, CSIM_PARSE_ERROR, "the blocks hold ", sum,
                                                  " nodes, which is not the number given above them");
}

static bool csimi_gmsh_elements4(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int64_t number, type, sum = 0;
    int blocks, total, count, nodes, i;
    if (!csimi_text_count(t, 8, "number of element blocks is ", &blocks) ||
        !csimi_text_count(t, 4, "number of elements is ", &total) || !csimi_text_int(t, &number) ||
        !csimi_text_int(t, &number))
        return false;
    for (; blocks > 0; --blocks) {
        if (!csimi_text_int(t, &number) || !csimi_text_int(t, &number) || !csimi_text_int(t, &type)) return false;
        nodes = csimi_gmsh_nodes(t, type);
        if (!csimi_text_count(t, 4, "number of elements is ", &count)) return false;
        for (i = 0; i < count; ++i)
            if (!csimi_text_int(t, &number) || !csimi_gmsh_element(r, type, nodes)) return false;
        sum += count;
    }
    return sum == total || csimi_text_fail_number(t, CSIM_PARSE_ERROR, "the blocks hold ", sum,
                                                  " elements, which is not the number given above them");
}

/* ---- sections */

static bool csimi_gmsh_format(csimi_text *t, int *version) {
    csim_real number;
    int64_t binary, size;
    if (!csimi_text_real(t, &number)) return false;
    *version = number >= 2 && number < 3 ? 2 : number > CSIM_R(4.05) && number < CSIM_R(4.15) ? 4 : 0;
    if (*version == 0) return csimi_text_fail(t, CSIM_UNSUPPORTED, "MSH version; allowed: 1.0, 2.0 to 2.2, 4.1");
    if (!csimi_text_int(t, &binary)) return false;
    if (binary) return csimi_text_fail(t, CSIM_UNSUPPORTED, "binary MSH; allowed: ASCII (Mesh.Binary = 0)");
    return csimi_text_int(t, &size) && csimi_text_need(t, "$EndMeshFormat");
}

/* A section of another kind, from its $Name to the line that begins with $End. */
static bool csimi_gmsh_pass_over(csimi_text *t) {
    const char *start = t->at;
    if (t->at == t->end || *t->at != '$') return csimi_text_expected(t, "a section, such as $Nodes");
    do csimi_text_next_line(t);
    while (t->at < t->end && !csimi_text_begins(t, "$End"));
    if (t->at < t->end) return csimi_text_skip_word(t);
    t->token = start;
    return csimi_text_fail(t, CSIM_PARSE_ERROR, "a section without its $End line");
}

static bool csimi_gmsh_node_section(csimi_mesh_reader *r, int version) {
    if (r->ids.count) return csimi_text_fail(&r->text, CSIM_PARSE_ERROR, "a second section of nodes");
    if (version == 4 ? !csimi_gmsh_nodes4(r) : !csimi_gmsh_nodes2(r)) return false;
    return csimi_text_need(&r->text, version == 1 ? "$ENDNOD" : "$EndNodes") && csimi_sort_ids(r);
}

static bool csimi_gmsh_element_section(csimi_mesh_reader *r, int version) {
    if (!r->ids.count) return csimi_text_fail(&r->text, CSIM_PARSE_ERROR, "elements before any nodes");
    if (version == 4 ? !csimi_gmsh_elements4(r) : !csimi_gmsh_elements2(r, version)) return false;
    return csimi_text_need(&r->text, version == 1 ? "$ENDELM" : "$EndElements");
}

CSIMI_FN bool csimi_read_gmsh(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    int version = 1;
    for (csimi_text_space(t); t->at < t->end; csimi_text_space(t)) {
        bool ok;
        if (csimi_text_accept(t, "$MeshFormat"))
            ok = csimi_gmsh_format(t, &version);
        else if (csimi_text_accept(t, version == 1 ? "$NOD" : "$Nodes"))
            ok = csimi_gmsh_node_section(r, version);
        else if (csimi_text_accept(t, version == 1 ? "$ELM" : "$Elements"))
            ok = csimi_gmsh_element_section(r, version);
        else
            ok = csimi_gmsh_pass_over(t);
        if (!ok) return false;
    }
    return t->status == CSIM_OK;
}

#endif
