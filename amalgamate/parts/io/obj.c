/* io/obj: v and f lines of Wavefront OBJ; everything else is passed over. */
#include "private.h"

#ifndef CONDSIM_NO_LOADERS

/* One corner: v, v/vt, v//vn or v/vt/vn; counted from 1, or back from -1, the last vertex so far. */
static bool csimi_obj_corner(csimi_mesh_reader *r, int *vertex) {
    csimi_text *t = &r->text;
    const int64_t count = (int64_t)r->vertices.count;
    int64_t index, other;
    int k;
    if (!csimi_text_int(t, &index)) return false;
    if (index == 0 || index > count || index < -count)
        return csimi_text_fail_number(t, CSIM_PARSE_ERROR, "vertex ", index, " is not among the vertices so far");
    *vertex = (int)(index > 0 ? index - 1 : count + index);
    for (k = 0; k < 2 && t->at < t->end && *t->at == '/'; ++k) {
        ++t->at;
        if (k == 0 && t->at < t->end && *t->at == '/') continue;
        if (!csimi_text_more_on_line(t)) return csimi_text_expected(t, "an index after /");
        if (!csimi_text_int(t, &other)) return false;
    }
    return true;
}

static bool csimi_obj_face(csimi_mesh_reader *r) {
    int first = 0, last = 0, next = 0, n;
    for (n = 0; csimi_text_more_on_line(&r->text); ++n) {
        if (!csimi_obj_corner(r, &next)) return false;
        if (n == 0) first = next;
        if (n >= 2 && !csimi_add_triangle(r, first, last, next)) return false;
        last = next;
    }
    return n >= 3 || csimi_text_expected(&r->text, "three vertices or more");
}

CSIMI_FN bool csimi_read_obj(csimi_mesh_reader *r) {
    csimi_text *t = &r->text;
    t->comment = '#';
    t->joins_lines = true;
    for (csimi_text_space(t); t->at < t->end; csimi_text_space(t)) {
        t->one_line = true;
        if (csimi_text_accept(t, "v")) {
            if (!csimi_read_vertex(r)) return false;
        } else if (csimi_text_accept(t, "f") && !csimi_obj_face(r)) {
            return false;
        }
        while (csimi_text_more_on_line(t)) /* w, colours, and lines of other kinds */
            if (!csimi_text_skip_word(t)) return false;
        t->one_line = false;
    }
    r->points_suffice = r->vertices.count > 0; /* meant for a hull */
    return t->status == CSIM_OK;
}

#endif
