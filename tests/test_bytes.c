/* Bytes whose checksum is right and whose contents are wrong: snapshots, models, fields, problems, capacities. */
#include "check.h"
#include "hostile_world.h"

/* ---- snapshots */

/* Gives a changed snapshot its checksum again; offset: of the hash in the header. */
static void seal(unsigned char *bytes, size_t size) {
    const size_t at = 2 * sizeof(uint64_t) + 4 * sizeof(uint32_t); /* magic, four words, bytes, hash */
    uint64_t hash = 0;
    memcpy(bytes + at, &hash, sizeof hash);
    hash = csimi_fnv(CSIMI_FNV_START, bytes, size);
    memcpy(bytes + at, &hash, sizeof hash);
}

typedef struct saved {
    unsigned char *bytes, *work, *now;
    size_t size, header;
} saved;

static bool save(csim_world *w, saved *s) {
    size_t size = 0;
    memset(s, 0, sizeof *s);
    if (csim_world_save(w, NULL, &s->size)) return false;
    s->bytes = (unsigned char *)malloc(s->size);
    s->work = (unsigned char *)malloc(s->size);
    s->now = (unsigned char *)malloc(s->size);
#define CSIMI_X(axis, type, name, per, holds) size += sizeof(type) * (size_t)w->store.count.axis * (size_t)(per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    s->header = s->size - size;
    size = s->size;
    return csim_world_save(w, s->bytes, &size) == CSIM_OK;
}

static void drop(saved *s) {
    free(s->bytes);
    free(s->work);
    free(s->now);
}

/* `count` bytes at an offset replaced: refused, with a sentence, and the world is as it was. */
static void refused(csim_world *w, saved *s, size_t at, const void *with, size_t count, const char *what) {
    size_t size = s->size;
    csim_status status;
    memcpy(s->work, s->bytes, s->size);
    memcpy(s->work + at, with, count);
    seal(s->work, s->size);
    status = csim_world_restore(w, s->work, s->size);
    CASE("%s at byte %lu: %s", what, (unsigned long)at, csim_last_error(w));
    STATUS(status, CSIM_BAD_SNAPSHOT);
    CHECK(csim_last_error(w)[0] != 0);
    CHECK(csim_world_save(w, s->now, &size) == CSIM_OK && size == s->size && memcmp(s->now, s->bytes, size) == 0);
}

/* Every array has a rule that judges it: an index, a number, a choice that cannot be is found wherever it stands. */
TEST(forged_arrays_are_refused) {
    csim_world *w;
    saved s;
    size_t at;
    const int high = 0x7fffffff, low = -7;
    const unsigned char choice = 255;
    const csim_real zero = 0, nan = zero / zero;
    const double nan64 = (double)nan;
    REQUIRE(hostile_make());
    w = hostile_world();
    REQUIRE(w != NULL && save(w, &s));
    STATUS(csim_world_restore(w, s.bytes, s.size), CSIM_OK);
    at = s.header;
#define CSIMI_X(axis, type, name, per, holds)                                                              \
    {                                                                                                      \
        const int items = w->store.count.axis, mine = strcmp(#name, "body_list") ? items : w->live_bodies; \
        const size_t each = sizeof(type) * (size_t)(per);                                                  \
        int i;                                                                                             \
        CHECK(items > 0 || strcmp(#name, "ended_id") == 0 || strcmp(#name, "kept") == 0);                  \
        for (i = 0; i < mine; i += 1 + mine / 5) {                                                         \
            if (strcmp(#type, "int") == 0) {                                                               \
                refused(w, &s, at + each * (size_t)i, &high, sizeof high, #name);                          \
                refused(w, &s, at + each * (size_t)i, &low, sizeof low, #name);                            \
            } else if (strcmp(#type, "csim_real") == 0) {                                                  \
                refused(w, &s, at + each * (size_t)i, &nan, sizeof nan, #name);                            \
            } else if (strcmp(#type, "double") == 0) {                                                     \
                refused(w, &s, at + each * (size_t)i, &nan64, sizeof nan64, #name);                        \
            } else if (strcmp(#type, "unsigned char") == 0) {                                              \
                refused(w, &s, at + each * (size_t)i, &choice, 1, #name);                                  \
            }                                                                                              \
        }                                                                                                  \
        at += each * (size_t)items;                                                                        \
    }
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    drop(&s);
    csim_destroy_world(w);
    hostile_free();
}

/* Where the array of this member begins. */
static size_t array_at(const csim_world *w, const saved *s, const char *member) {
    size_t at = s->header;
#define CSIMI_X(axis, type, name, per, holds)  \
    if (strcmp(#name, member) == 0) return at; \
    at += sizeof(type) * (size_t)w->store.count.axis * (size_t)(per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    return 0;
}

/* The same for the members of records. */
TEST(forged_records_are_refused) {
    static const struct {
        const char *array, *member;
        size_t stride, offset;
    } ints[] = {
#define MEMBER(array, type, member) {array, #member, sizeof(type), offsetof(type, member)}
        MEMBER("body", csimi_body, kind),
        MEMBER("body", csimi_body, motion),
        MEMBER("body", csimi_body, next_free),
        MEMBER("body", csimi_body, rigid),
        MEMBER("body", csimi_body, tree),
        MEMBER("body", csimi_body, first_node),
        MEMBER("body", csimi_body, node_count),
        MEMBER("body", csimi_body, first_shape),
        MEMBER("body", csimi_body, shape_count),
        MEMBER("body", csimi_body, first_tet),
        MEMBER("body", csimi_body, tet_count),
        MEMBER("body", csimi_body, first_membrane),
        MEMBER("body", csimi_body, membrane_count),
        MEMBER("body", csimi_body, first_surface),
        MEMBER("body", csimi_body, surface_count),
        MEMBER("body", csimi_body, first_triangle),
        MEMBER("body", csimi_body, triangle_count),
        MEMBER("body", csimi_body, first_frame),
        MEMBER("body", csimi_body, frame_count),
        MEMBER("body", csimi_body, first_bend),
        MEMBER("body", csimi_body, bend_count),
        MEMBER("body", csimi_body, aggregate_count),
        MEMBER("body", csimi_body, matrix_blocks),
        MEMBER("shape", csim_geometry, kind),
        MEMBER("shape", csim_geometry, hull),
        MEMBER("hull", csim_hull_data, vertex_count),
        MEMBER("hull", csim_hull_data, face_count),
        MEMBER("hull", csim_hull_data, edge_count),
        MEMBER("hull", csim_hull_data, face_start[1]),
        MEMBER("hull", csim_hull_data, face_vertex),
        MEMBER("hull", csim_hull_data, edge_vertex),
        MEMBER("hull", csim_hull_data, edge_face),
        MEMBER("link", csimi_link, kind),
        MEMBER("link", csimi_link, next_free),
        MEMBER("link", csimi_link, item),
        MEMBER("link", csimi_link, body),
        MEMBER("state.bend", csimi_bend, end[0].frame),
        MEMBER("state.bend", csimi_bend, end[1].rigid),
        MEMBER("state.spring", csimi_place, kind),
        MEMBER("state.spring", csimi_place, item),
        MEMBER("joint", csimi_joint, kind),
        MEMBER("joint", csimi_joint, end[0].kind),
        MEMBER("joint", csimi_joint, gear),
        MEMBER("joint", csimi_joint, link),
        MEMBER("joint", csimi_joint, motor.kind),
        MEMBER("joint", csimi_joint, axes),
        MEMBER("axes", csimi_axes, axis[0].hold),
        MEMBER("axes", csimi_axes, axis[5].motor.kind),
        MEMBER("axes", csimi_axes, link),
        MEMBER("state.tree", csimi_tree, first_link),
        MEMBER("state.tree", csimi_tree, link_count),
        MEMBER("state.tree", csimi_tree, first_block),
        MEMBER("state.tree", csimi_tree, block_count),
        MEMBER("state.tree", csimi_tree, base_blocks),
        MEMBER("state.tree", csimi_tree, position_count),
        MEMBER("state.tree", csimi_tree, dof_count),
        MEMBER("state.tree", csimi_tree, modes),
        MEMBER("state.tree", csimi_tree, node_count),
        MEMBER("state.tree", csimi_tree, number_count),
        MEMBER("state.tree_link", csimi_tree_link, tree),
        MEMBER("state.tree_link", csimi_tree_link, parent),
        MEMBER("state.tree_link", csimi_tree_link, joint),
        MEMBER("state.tree_link", csimi_tree_link, coord),
        MEMBER("state.tree_link", csimi_tree_link, dofs),
        MEMBER("state.tree_link", csimi_tree_link, terms),
        MEMBER("state.tree_link", csimi_tree_link, slack),
        MEMBER("state.tree_link", csimi_tree_link, dof),
        MEMBER("state.tree_link", csimi_tree_link, position),
        MEMBER("contact", csim_contact_info, body_a),
        MEMBER("contact", csim_contact_info, state),
#undef MEMBER
    };
    const int high = 0x7ffffff0, low = -7;
    csim_world *w;
    saved s;
    size_t i;
    REQUIRE(hostile_make());
    w = hostile_world();
    REQUIRE(w != NULL && save(w, &s));
    for (i = 0; i < sizeof ints / sizeof ints[0]; i++) { /* of the second record: the first body is dead */
        const size_t at =
            array_at(w, &s, ints[i].array) + ints[i].offset + (strcmp(ints[i].array, "body") == 0 ? ints[i].stride : 0);
        refused(w, &s, at, &high, sizeof high, ints[i].member);
        refused(w, &s, at, &low, sizeof low, ints[i].member);
    }
    drop(&s);
    csim_destroy_world(w);
    hostile_free();
}

/* A removed tree takes its span along: counts are those of what is there. */
TEST(a_world_after_removals_comes_back) {
    csim_world *w;
    saved s;
    int i;
    REQUIRE(hostile_make());
    w = hostile_world();
    REQUIRE(w != NULL);
    for (i = 11; i > 0; i--) {
        STATUS(csim_destroy_body(w, hostile.body[i % hostile.bodies]), CSIM_OK);
        REQUIRE(save(w, &s));
        CASE("%d bodies left", csim_world_body_count(w));
        STATUS(csim_world_restore(w, s.bytes, s.size), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(0.005)), CSIM_OK);
        drop(&s);
    }
    csim_destroy_world(w);
    hostile_free();
}

/* ---- models and fields: hash and size right, numbers wrong */

TEST(forged_models_and_fields_are_refused) {
    const double nan64 = (double)(CSIM_R(0) * (CSIM_R(1) / CSIM_R(1e-300 * 1e-300)));
    const csim_modes *opened;
    const csim_field *field;
    csim_modes *m;
    csim_field *f;
    size_t bytes, at;
    REQUIRE(hostile_make());
    bytes = csim_modes_bytes(hostile.modes);
    m = (csim_modes *)malloc(bytes);
    memcpy(m, hostile.modes, bytes);
    STATUS(csim_open_modes(m, bytes, &opened, NULL), CSIM_OK);
    for (at = sizeof *m; at < sizeof *m + 8 * 40; at += 8) {
        memcpy(m, hostile.modes, bytes);
        memcpy((unsigned char *)m + at, &nan64, 8);
        m->hash = csimi_modes_hash(m);
        STATUS(csim_open_modes(m, bytes, &opened, NULL), CSIM_BAD_SNAPSHOT);
    }
    free(m);
    bytes = csim_field_get_info(hostile.field).bytes;
    f = (csim_field *)malloc(bytes);
    memcpy(f, hostile.field, bytes);
    STATUS(csim_open_field(f, bytes, &field, NULL), CSIM_OK);
    f->samples += 7;
    csimi_field_seal(f); /* as far as the size is not another */
    CHECK(csim_open_field(f, bytes, &field, NULL) == CSIM_BAD_SNAPSHOT);
    memcpy(f, hostile.field, bytes);
    f->cell = nan64;
    csimi_field_seal(f);
    STATUS(csim_open_field(f, bytes, &field, NULL), CSIM_BAD_SNAPSHOT);
    memcpy(f, hostile.field, bytes);
    f->n[0] = f->n[0] * f->n[1] * f->n[2];
    f->n[1] = f->n[2] = 1;
    csimi_field_seal(f);
    STATUS(csim_open_field(f, bytes, &field, NULL), CSIM_BAD_SNAPSHOT);
    free(f);
    hostile_free();
}

/* ---- capacities: every one to the end of its range, alone and all together */

TEST(capacities_of_the_documented_range_are_laid_out_or_refused) {
    csim_world_def def;
    csim_error error;
    int i, k, count = (int)(sizeof(csim_capacity) / sizeof(int)), fit = 0;
    for (i = 0; i <= count; i++) {
        int value[sizeof(csim_capacity) / sizeof(int)] = {0};
        size_t bytes = 0;
        csim_status status;
        for (k = 0; k < count; k++)
            if (k == i || i == count) value[k] = 50000000;
        def = csim_default_world_def();
        memcpy(&def.capacity, value, sizeof value);
        status = csim_world_bytes(&def, &bytes, &error);
        CASE("capacity %d: %s", i, status ? error.text : "fits");
        CHECK(status == CSIM_OK ? bytes > 50000000u : status == CSIM_OUT_OF_RANGE);
        fit += status == CSIM_OK;
    }
    CHECK(fit >= 12);
}

/* ---- problems */

TEST(problems_with_wrong_structure_are_refused) {
    int row[3] = {0, 1, 2}, col[2] = {0, 1}, diag[2] = {0, 1};
    csim_real val[18] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const csim_real b[6] = {0}, ones[6] = {1, 1, 1, 1, 1, 1};
    int aggregate[2] = {0, 1};
    csim_real radius[2] = {1, 1}, offset[6] = {0};
    csim_structure s;
    csim_problem p;
    csim_problem_size size;
    const csim_real zero = 0;
    memset(&p, 0, sizeof p);
    memset(&s, 0, sizeof s);
    p.A.n = 2;
    p.A.row = row;
    p.A.col = col;
    p.A.diag = diag;
    p.A.val = val;
    p.b = b;
    p.structure = &s;
    s.aggregate_count = 2;
    s.aggregate = aggregate;
    s.radius = radius;
    s.offset = offset;
    s.centre = ones;
    STATUS(csim_problem_check(&p, NULL), CSIM_OK);
    size = csim_problem_measure(&p);
    EQUAL(size.blocks, 2);
    aggregate[1] = 2;
    STATUS(csim_problem_check(&p, NULL), CSIM_BAD_PROBLEM);
    size = csim_problem_measure(&p);
    EQUAL(size.blocks, 0);
    aggregate[1] = -2;
    STATUS(csim_problem_check(&p, NULL), CSIM_BAD_PROBLEM);
    aggregate[1] = 1;
    radius[0] = -1;
    STATUS(csim_problem_check(&p, NULL), CSIM_BAD_PROBLEM);
    radius[0] = 1;
    offset[4] = zero / zero;
    STATUS(csim_problem_check(&p, NULL), CSIM_NOT_FINITE);
    size = csim_problem_measure(NULL);
    EQUAL(size.blocks, 0);
}

/* ---- meshes */

TEST(cells_without_corners_are_no_pointer_arithmetic) {
    static const char text[] = "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid><Piece NumberOfPoints=\"1\" "
                               "NumberOfCells=\"1\"><Points><DataArray NumberOfComponents=\"3\" format=\"ascii\">0 0 0"
                               "</DataArray></Points><Cells><DataArray Name=\"offsets\" format=\"ascii\">0</DataArray>"
                               "<DataArray Name=\"types\" format=\"ascii\">2</DataArray></Cells></Piece>"
                               "</UnstructuredGrid></VTKFile>";
    csim_mesh mesh;
    STATUS(csim_mesh_load_text(text, sizeof text - 1, CSIM_MESH_AUTO, NULL, &mesh, NULL), CSIM_BAD_MESH);
}
