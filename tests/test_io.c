/* Mesh files: what each real file gives, small texts of every format, and damage of every kind to them. Real files are
   read from ../shared/real/meshes, seen from the root of the project, when it is there. */
#include "check.h"

#define MESHES "../shared/real/meshes/"
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- an allocator that counts, fails on demand, and looks for writes beyond a block */

typedef struct counter {
    long calls, held, fail_at; /* fail_at: the call that returns null; -1: none */
    long overruns;
} counter;

enum { GUARD = 64 };

static void *counted_alloc(void *user, size_t size, size_t align) {
    counter *c = (counter *)user;
    unsigned char *raw, *block;
    if (c->calls++ == c->fail_at) return NULL;
    raw = (unsigned char *)malloc(size + align + sizeof raw + GUARD);
    if (!raw) return NULL;
    block = raw + sizeof raw + align;
    block -= (uintptr_t)block % align;
    memcpy(block - sizeof raw, &raw, sizeof raw);
    memset(block, 0xcd, size); /* nothing may count on zeros */
    memset(block + size, 0xa5, GUARD);
    c->held += (long)size;
    return block;
}

static void counted_free(void *user, void *block, size_t size) {
    counter *c = (counter *)user;
    unsigned char *raw;
    int i;
    for (i = 0; i < GUARD; ++i) c->overruns += ((unsigned char *)block)[size + (size_t)i] != 0xa5;
    memcpy(&raw, (unsigned char *)block - sizeof raw, sizeof raw);
    free(raw);
    c->held -= (long)size;
}

static csim_allocator counted(counter *c) {
    csim_allocator a;
    memset(&a, 0, sizeof a);
    memset(c, 0, sizeof *c);
    c->fail_at = -1;
    a.alloc = counted_alloc;
    a.free = counted_free;
    a.user = c;
    return a;
}

/* ---- one mesh in every format: five points, two tets, one triangle */

static const double points[5][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1.5}};
static const int two_tets[8] = {0, 1, 2, 3, 1, 2, 3, 4};
static const int one_triangle[3] = {0, 2, 1};

static const char gmsh1[] = "$NOD\n5\n1 0 0 0\n2 1 0 0\n3 0 1. 0\n4 0 0 1e0\n5 1 1 1.5\n$ENDNOD\n"
                            "$ELM\n4\n1 15 1 1 1 1\n2 2 1 1 3 1 3 2\n3 4 1 1 4 1 2 3 4\n4 4 1 1 4 2 3 4 5\n$ENDELM\n";
static const char gmsh2[] =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"$Nodes inside\"\n$EndPhysicalNames\n"
    "$Nodes\n5\n10 0 0 0\n70 1 0 0\n30 0 1 0\n40 0 0 1\n-5 1 1 1.5\n$EndNodes\n"
    "$Elements\n5\n1 15 2 0 1 10\n2 1 0 10 70\n3 2 2 0 1 10 30 70\n4 4 2 0 1 10 70 30 40\n5 4 0 70 30 40 "
    "-5\n$EndElements\n"
    "$NodeData\n1\n\"x\"\n0\n$EndNodeData\n";
static const char gmsh4[] =
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n1 0 0 0\n1 0 0 0 0\n$EndEntities\n"
    "$Nodes\n3 5 1 5\n0 1 0 1\n1\n0 0 0\n2 1 1 2\n2\n3\n1 0 0 0.5 0.25\n0 1 0 0.5 0.75\n3 1 0 2\n4\n5\n0 0 1\n1 1 1.5\n"
    "$EndNodes\n$Elements\n3 4 1 4\n0 1 15 1\n1 1\n2 1 2 1\n2 1 3 2\n3 1 4 2\n3 1 2 3 4\n4 2 3 4 5\n$EndElements\n";
static const char vtk_ascii[] =
    "# vtk DataFile Version 3.0\na title\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 float\n0 0 0 1 0 0\n0 1 0 0 0 1\n"
    "1 1 1.5\n\nMETADATA\nINFORMATION 0\n\nCELLS 4 16\n1 0\n3 0 2 1\n4 0 1 2 3\n4 1 2 3 4\nCELL_TYPES 4\n1 5 10 10\n"
    "POINT_DATA 5\nSCALARS t float 1\nLOOKUP_TABLE default\n1 2 3 4 5\n";
static const char vtk_modern[] =
    "# vtk DataFile Version 5.1\na title\nASCII\nDATASET UNSTRUCTURED_GRID\nFIELD FieldData 1\nTIME 1 2 double\n0 1\n"
    "POINTS 5 double\n0 0 0 1 0 0 0 1 0 0 0 1 1 1 1.5\nCELLS 4 11\nOFFSETS vtktypeint64\n0 3 7 11\n"
    "CONNECTIVITY vtktypeint64\n0 2 1\n0 1 2 3\n1 2 3 4\nCELL_TYPES 3\n5\n10\n10\n";
static const char vtu[] =
    "<?xml version=\"1.0\"?>\n<!-- <Piece> --><VTKFile type='UnstructuredGrid' version=\"1.0\">\n<UnstructuredGrid>\n"
    "<Piece NumberOfPoints=\"5\" NumberOfCells=\"3\">\n<PointData><DataArray type=\"Float32\" Name=\"t>\" "
    "format=\"ascii\">"
    "1 2 3 4 5</DataArray></PointData>\n"
    "<Points>\n<DataArray type=\"Float32\" NumberOfComponents=\"3\" format=\"ascii\">\n0 0 0 1 0 0 0 1 0\n0 0 1 1 1 "
    "1.5\n"
    "</DataArray>\n</Points>\n<Cells>\n<DataArray type=\"Int32\" Name=\"connectivity\" format=\"ascii\">0 2 1 0 1 2 3 "
    "1 2 3 4"
    "</DataArray>\n<DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">\n3 7 11\n</DataArray>\n"
    "<DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">\n5 10 10\n</DataArray>\n</Cells>\n</Piece>\n"
    "</UnstructuredGrid>\n</VTKFile>\n";
static const char obj[] =
    "# a comment\nmtllib x.mtl\nv 0 0 0\nv 1 0 0 1.0\nv 0 1 0 0.5 0.5 0.5\nv 0 0 1\nv 1 1 \\\n1.5\n"
    "vt 0 0\nvn 0 0 1\ng #front\ns off\nf 1/1/1 3//1 -4\n";
static const char node[] =
    "# made by hand\n5 3 1 1\n  1 0 0 0 7.5 1\n2 1 0 0 7.5 0 # marker\n\n3 0 1 0 1 1\n4 0 0 1 1 1\n"
    "5 1 1 1.5 1 1\n# end\n";
static const char ele[] = "2 4 1\n1 1 2 3 4 9\n2 2 3 4 5 9\n";
static const char node_from_0[] = "5 3\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 1 1 1.5\n";
static const char ele_from_0[] = "2 4\n0 0 1 2 3\n1 1 2 3 4\n";

static void put_int(char *out, size_t *at, uint32_t x) {
    int i;
    for (i = 3; i >= 0; --i) out[(*at)++] = (char)(unsigned char)(x >> (8 * i));
}

/* vtk_ascii without its points and lines, in binary. */
static size_t vtk_binary(char *out) {
    static const char head[] =
        "# vtk DataFile Version 4.2\na title\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 float\n";
    static const int cells[14] = {3, 0, 2, 1, 4, 0, 1, 2, 3, 4, 1, 2, 3, 4};
    size_t at = sizeof head - 1, i;
    memcpy(out, head, at);
    for (i = 0; i < 15; ++i) {
        const float x = (float)points[i / 3][i % 3];
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        put_int(out, &at, bits);
    }
    at += (size_t)sprintf(out + at, "\nCELLS 3 14\n");
    for (i = 0; i < 14; ++i) put_int(out, &at, (uint32_t)cells[i]);
    at += (size_t)sprintf(out + at, "\nCELL_TYPES 3\n");
    put_int(out, &at, 5);
    put_int(out, &at, 10);
    put_int(out, &at, 10);
    out[at++] = '\n';
    return at;
}

static void put_wide(char *out, size_t *at, uint64_t x) {
    put_int(out, at, (uint32_t)(x >> 32));
    put_int(out, at, (uint32_t)x);
}

/* The same as version 5.1 writes it: double, 64-bit indices, two arrays; with a field in front. */
static size_t vtk_modern_binary(char *out) {
    static const int ends[4] = {0, 3, 7, 11}, corners[11] = {0, 2, 1, 0, 1, 2, 3, 1, 2, 3, 4};
    size_t at = (size_t)sprintf(out, "# vtk DataFile Version 5.1\na title\nBINARY\nDATASET UNSTRUCTURED_GRID\n"
                                     "FIELD FieldData 1\nnumbers 3 1 short\n"),
           i;
    memcpy(out + at, "abcdef\n", 7);
    at += 7;
    at += (size_t)sprintf(out + at, "POINTS 5 double\n");
    for (i = 0; i < 15; ++i) {
        uint64_t bits;
        memcpy(&bits, &points[i / 3][i % 3], sizeof bits);
        put_wide(out, &at, bits);
    }
    at += (size_t)sprintf(out + at, "\nCELLS 4 11\nOFFSETS vtktypeint64\n");
    for (i = 0; i < 4; ++i) put_wide(out, &at, (uint64_t)ends[i]);
    at += (size_t)sprintf(out + at, "\nCONNECTIVITY vtktypeint64\n");
    for (i = 0; i < 11; ++i) put_wide(out, &at, (uint64_t)corners[i]);
    at += (size_t)sprintf(out + at, "\nCELL_TYPES 3\n");
    put_int(out, &at, 5);
    put_int(out, &at, 10);
    put_int(out, &at, 10);
    out[at++] = '\n';
    return at;
}

typedef struct sample {
    const char *name, *text, *second; /* second: the .ele of a .node */
    size_t size, second_size;
    int tets, triangles;
} sample;

enum { SAMPLES = 11, TEXTS = 9 }; /* the last two are binary */

static sample make_sample(const char *name, const char *text, size_t size, int tets, int triangles) {
    sample s;
    s.name = name;
    s.text = text;
    s.size = size;
    s.second = NULL;
    s.second_size = 0;
    s.tets = tets;
    s.triangles = triangles;
    return s;
}

static const sample *all_samples(void) {
    static sample s[SAMPLES];
    static char binary[1024], modern[1024];
    s[0] = make_sample("gmsh 1", gmsh1, strlen(gmsh1), 2, 1);
    s[1] = make_sample("gmsh 2.2", gmsh2, strlen(gmsh2), 2, 1);
    s[2] = make_sample("gmsh 4.1", gmsh4, strlen(gmsh4), 2, 1);
    s[3] = make_sample("vtk", vtk_ascii, strlen(vtk_ascii), 2, 1);
    s[4] = make_sample("vtk 5.1", vtk_modern, strlen(vtk_modern), 2, 1);
    s[5] = make_sample("vtu", vtu, strlen(vtu), 2, 1);
    s[6] = make_sample("obj", obj, strlen(obj), 0, 1);
    s[7] = make_sample("tetgen", node, strlen(node), 2, 0);
    s[7].second = ele;
    s[7].second_size = strlen(ele);
    s[8] = make_sample("tetgen from 0", node_from_0, strlen(node_from_0), 2, 0);
    s[8].second = ele_from_0;
    s[8].second_size = strlen(ele_from_0);
    s[9] = make_sample("vtk binary", binary, vtk_binary(binary), 2, 1);
    s[10] = make_sample("vtk 5.1 binary", modern, vtk_modern_binary(modern), 2, 1);
    return s;
}

static csim_status load(const sample *s, const csim_allocator *allocator, csim_mesh *mesh, csim_error *error) {
    if (s->second) return csim_mesh_load_tetgen(s->text, s->size, s->second, s->second_size, allocator, mesh, error);
    return csim_mesh_load_text(s->text, s->size, CSIM_MESH_AUTO, allocator, mesh, error);
}

static void check_sample(const sample *s, const csim_mesh *mesh) {
    int i;
    EQUAL(mesh->vertex_count, 5);
    EQUAL(mesh->tet_count, s->tets);
    EQUAL(mesh->triangle_count, s->triangles);
    for (i = 0; i < 15 && mesh->vertex_count == 5; ++i) NEAR(mesh->vertices[i], points[i / 3][i % 3], 0);
    for (i = 0; i < 4 * mesh->tet_count; ++i) EQUAL(mesh->tets[i], two_tets[i]);
    for (i = 0; i < 3 * mesh->triangle_count; ++i) EQUAL(mesh->triangles[i], one_triangle[i]);
}

static bool is_zero(const csim_mesh *mesh) {
    csim_mesh zero;
    memset(&zero, 0, sizeof zero);
    return memcmp(mesh, &zero, sizeof zero) == 0;
}

/* Loads damaged bytes: any outcome will do, but it must be whole and leave nothing behind. */
static bool survive(const sample *s) {
    counter c;
    csim_allocator a = counted(&c);
    csim_mesh mesh;
    csim_error error;
    csim_status status;
    int i;
    memset(&mesh, 0x55, sizeof mesh);
    status = load(s, &a, &mesh, &error);
    if (error.status != status || strlen(error.text) >= sizeof error.text) return false;
    if (status == CSIM_OK) {
        if (error.text[0] || mesh.vertex_count <= 0) return false;
        for (i = 0; i < 4 * mesh.tet_count; ++i)
            if (mesh.tets[i] < 0 || mesh.tets[i] >= mesh.vertex_count) return false;
        for (i = 0; i < 3 * mesh.triangle_count; ++i)
            if (mesh.triangles[i] < 0 || mesh.triangles[i] >= mesh.vertex_count) return false;
        if (!csimi_all_finite(mesh.vertices, 3 * mesh.vertex_count)) return false;
        csim_mesh_free(&mesh);
    } else if (!error.text[0]) {
        return false;
    }
    return is_zero(&mesh) && c.held == 0 && c.overruns == 0;
}

/* A block of exactly this size, so that a sanitizer sees any step beyond it. */
static char *exact_copy(const char *text, size_t size) {
    char *copy = (char *)malloc(size ? size : 1);
    if (copy && size) memcpy(copy, text, size);
    return copy;
}

/* ---- numbers */

static double scan(const char *text) {
    csimi_text t = csimi_text_of("", text, strlen(text), NULL);
    double x = -1;
    return csimi_scan_real(&t, text, &x) == text + strlen(text) ? x : -1;
}

/* Representable numbers between x and y, both positive. */
static int64_t steps_between(double x, double y) {
    int64_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    return a < b ? b - a : a - b;
}

static void random_digits(char *out, int count) {
    for (; count > 0; --count) *out++ = (char)('0' + (int)check_random(0, 10));
    *out = 0;
}

TEST(numbers_within_one_step_of_strtod) {
    int i, off = 0;
    char whole[24], fraction[24], text[64];
    for (i = 0; i < 100000; ++i) {
        const int exponent = (int)check_random(-340, 330);
        double x, y;
        random_digits(whole, (int)check_random(1, 12));
        random_digits(fraction, (int)check_random(0, 12));
        sprintf(text, "%s.%se%d", whole, fraction, exponent);
        x = scan(text);
        y = strtod(text, NULL);
        CASE("%s", text);
        if (steps_between(x, y) > 1) CHECK(false);
        off += steps_between(x, y) != 0;
    }
    CASE("in all");
    CHECK(off < 2000); /* the error beyond half a step is 0.02 steps: wrong in 2% of the cases at most */
}

TEST(numbers_of_15_digits_are_nearest) {
    int i;
    char digits[24], text[64];
    for (i = 0; i < 50000; ++i) {
        random_digits(digits, (int)check_random(1, 16));
        sprintf(text, "%se%d", digits, (int)check_random(-22, 23));
        CASE("%s", text);
        if (steps_between(scan(text), strtod(text, NULL))) CHECK(false);
    }
    CHECK(i == 50000);
}

TEST(numbers_written_with_17_digits_come_back) {
    int i, off = 0;
    for (i = 0; i < 50000; ++i) {
        char text[40];
        double x = check_random(0, 1) * (i % 2 ? 1 : 1e-200), y;
        sprintf(text, "%.17g", x);
        y = scan(text);
        if (steps_between(x, y) > 1) CHECK(false);
        off += steps_between(x, y) != 0;
    }
    EQUAL(off, 0);
}

TEST(numbers_at_the_ends_of_the_range) {
    static const char *const texts[] = {"5e-324",
                                        "2.5e-324",
                                        "2.4e-324",
                                        "2.2250738585072014e-308",
                                        "2.2250738585072011e-308",
                                        "1.7976931348623157e308",
                                        "1.7976931348623159e308",
                                        "1e309",
                                        "1e-400",
                                        "0e999999999999999999999",
                                        "1e-99999999999999999999",
                                        "123456789012345678901234567890",
                                        "0.00000000000000000000000000000123456789",
                                        "9007199254740993",
                                        "18446744073709551616",
                                        "1e22",
                                        "1e23"};
    size_t i;
    char *many = (char *)malloc(2003);
    for (i = 0; i < LENGTH(texts); ++i) {
        CASE("%s", texts[i]);
        CHECK(steps_between(scan(texts[i]), strtod(texts[i], NULL)) <= 1);
    }
    REQUIRE(many);
    memset(many, '0', 2002);
    memcpy(many, "0.", 2);
    memcpy(many + 1990, "1e1990", 7);
    CASE("2000 digits");
    NEAR(scan(many), strtod(many, NULL), 1e-15); /* a few steps of 1 */
    memset(many, '7', 2000);
    memcpy(many + 1990, "e-1990", 7);
    NEAR(scan(many), strtod(many, NULL), 1e-15);
    free(many);
}

TEST(number_forms) {
    static const char *const good[] = {"1", "-1", "+1", "1.", ".5", "-.5e-3", "1E5", "1e+05", "-0", "007"};
    static const char *const bad[] = {"",    ".",   "-",    "e5",   "1e",  "1e+",   "1x",    "1.2.3", "--1",      "+-1",
                                      "nan", "inf", "-inf", "0x10", "1,5", "1_000", "1e5.0", "1d5",   "1\xc2\xb5"};
    csim_real x;
    int64_t n;
    size_t i;
    for (i = 0; i < LENGTH(good); ++i) {
        csimi_text t = csimi_text_of("", good[i], strlen(good[i]), NULL);
        CASE("%s", good[i]);
        CHECK(csimi_text_real(&t, &x) && t.at == t.end);
        NEAR(x, strtod(good[i], NULL), TOL(0, 1e-10)); /* float: the rounding of -0.0005 */
    }
    for (i = 0; i < LENGTH(bad); ++i) {
        csimi_text t = csimi_text_of("", bad[i], strlen(bad[i]), NULL);
        bool ok = csimi_text_real(&t, &x) && t.at == t.end;
        CASE("%s", bad[i]);
        CHECK(!ok);
        t = csimi_text_of("", bad[i], strlen(bad[i]), NULL);
        ok = csimi_text_int(&t, &n) && t.at == t.end;
        CHECK(!ok);
    }
}

/* ---- formats */

TEST(every_format_gives_the_same_mesh) {
    const sample *s = all_samples();
    int i;
    for (i = 0; i < SAMPLES; ++i) {
        csim_mesh mesh;
        csim_error error;
        CASE("%s", s[i].name);
        STATUS(load(&s[i], NULL, &mesh, &error), CSIM_OK);
        if (error.text[0]) printf("    %s\n", error.text);
        check_sample(&s[i], &mesh);
        CHECK(!error.text[0]);
        csim_mesh_free(&mesh);
        CHECK(is_zero(&mesh));
        csim_mesh_free(&mesh);
    }
    csim_mesh_free(NULL);
}

/* from, in every place, becomes to. */
static char *replace(const char *text, const char *from, const char *to) {
    const size_t nf = strlen(from), nt = strlen(to);
    char *out = (char *)malloc(strlen(text) * (nt + 1) + 1), *at = out;
    while (out && *text) {
        if (strncmp(text, from, nf) == 0) {
            memcpy(at, to, nt);
            at += nt;
            text += nf;
        } else {
            *at++ = *text++;
        }
    }
    if (out) *at = 0;
    return out;
}

TEST(line_ends_and_a_missing_last_one) {
    static const char *const ends[] = {"\r\n", "\r", "\n\n", " \t\n"};
    const sample *all = all_samples();
    size_t e;
    int i;
    for (i = 0; i < TEXTS; ++i)
        for (e = 0; e <= LENGTH(ends); ++e) {
            sample s = all[i];
            csim_mesh mesh;
            char *text = replace(s.text, "\n", e < LENGTH(ends) ? ends[e] : "\n");
            char *second = s.second ? replace(s.second, "\n", e < LENGTH(ends) ? ends[e] : "\n") : NULL;
            if (e >= 2 && (s.text == obj || s.text == vtk_ascii || s.text == vtk_modern) && e < LENGTH(ends)) {
                free(text); /* an empty line ends the VTK header, and a blank stands behind the backslash */
                free(second);
                continue;
            }
            s.size = strlen(text);
            s.second_size = second ? strlen(second) : 0;
            if (e == LENGTH(ends)) { /* no last line end */
                --s.size;
                if (second) --s.second_size;
            }
            s.text = text;
            s.second = second;
            CASE("%s, line end %d", s.name, (int)e);
            STATUS(load(&s, NULL, &mesh, NULL), CSIM_OK);
            check_sample(&s, &mesh);
            csim_mesh_free(&mesh);
            free(text);
            free(second);
        }
}

TEST(polygons_strips_and_pieces) {
    static const char poly[] =
        "# vtk DataFile Version 2.0\nt\nASCII\nDATASET POLYDATA\nPOINTS 6 float\n0 0 0 1 0 0 0 1 0\n"
        "1 1 0 0 2 0 1 2 0\nVERTICES 1 2\n1 0\nLINES 1 3\n2 0 1\nPOLYGONS 1 6\n5 0 1 3 5 4\n"
        "TRIANGLE_STRIPS 1 7\n6 0 1 2 3 4 5\n";
    static const int poly_triangles[] = {0, 1, 3, 0, 3, 5, 0, 5, 4, 0, 1, 2, 2, 1, 3, 2, 3, 4, 4, 3, 5};
    static const char quads[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\nf -1 -2 -3\n";
    static const int quad_triangles[] = {0, 1, 2, 0, 2, 3, 3, 2, 1};
    static const char gmsh_quad[] =
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n"
        "$EndNodes\n$Elements\n1\n1 3 0 1 2 3 4\n$EndElements";
    static const char pixel[] =
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 int\n0 0 0\n1 0 0\n"
        "0 1 0\n1 1 0\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n8\n";
    static const int pixel_triangles[] = {0, 1, 3, 0, 3, 2};
    csim_mesh mesh;
    int i;
    STATUS(csim_mesh_load_text(pixel, strlen(pixel), CSIM_MESH_AUTO, NULL, &mesh, NULL), CSIM_OK);
    EQUAL(mesh.triangle_count, 2);
    for (i = 0; i < 6 && mesh.triangle_count == 2; ++i) EQUAL(mesh.triangles[i], pixel_triangles[i]);
    csim_mesh_free(&mesh);
    STATUS(csim_mesh_load_text(poly, strlen(poly), CSIM_MESH_VTK, NULL, &mesh, NULL), CSIM_OK);
    EQUAL(mesh.triangle_count, 7);
    for (i = 0; i < 21 && mesh.triangle_count == 7; ++i) EQUAL(mesh.triangles[i], poly_triangles[i]);
    csim_mesh_free(&mesh);
    STATUS(csim_mesh_load_text(quads, strlen(quads), CSIM_MESH_OBJ, NULL, &mesh, NULL), CSIM_OK);
    EQUAL(mesh.triangle_count, 3);
    for (i = 0; i < 9 && mesh.triangle_count == 3; ++i) EQUAL(mesh.triangles[i], quad_triangles[i]);
    csim_mesh_free(&mesh);
    STATUS(csim_mesh_load_text(gmsh_quad, strlen(gmsh_quad), CSIM_MESH_AUTO, NULL, &mesh, NULL), CSIM_OK);
    EQUAL(mesh.triangle_count, 2);
    csim_mesh_free(&mesh);
    { /* two pieces are joined */
        const char *piece = strstr(vtu, "<Piece N"), *end = strstr(vtu, "</UnstructuredGrid>");
        char text[4096];
        sprintf(text, "%.*s%.*s%s", (int)(end - vtu), vtu, (int)(end - piece), piece, end);
        STATUS(csim_mesh_load_text(text, strlen(text), CSIM_MESH_VTU, NULL, &mesh, NULL), CSIM_OK);
        EQUAL(mesh.vertex_count, 10);
        EQUAL(mesh.tet_count, 4);
        for (i = 0; i < 16 && mesh.tet_count == 4; ++i) EQUAL(mesh.tets[i], two_tets[i % 8] + (i < 8 ? 0 : 5));
        csim_mesh_free(&mesh);
    }
}

/* ---- real files */

NEEDS(MESHES "liver.msh", real_files_have_their_known_outcome) {
    static const struct {
        const char *name;
        csim_status status;
        int vertices, tets, triangles;
        csim_status check;
        const char *error; /* what the loader or the check says after the name */
    } table[] = {
        {"single_tetra.msh", CSIM_OK, 4, 1, 0, CSIM_BAD_MESH, "inverted tets: 1, the first is tet 0"},
        {"6_tetra_bad.msh", CSIM_OK, 17, 6, 0, CSIM_BAD_MESH, "inverted tets: 1, the first is tet 5"},
        {"msh4_cube.msh", CSIM_OK, 14, 24, 24, CSIM_OK, ""},
        {"liver.msh", CSIM_OK, 181, 596, 0, CSIM_OK, ""},
        {"liver2.msh", CSIM_OK, 507, 1493, 860, CSIM_OK, ""},
        {"truthcylinder1.msh", CSIM_OK, 642, 2524, 706, CSIM_OK, ""},
        {"tshirt_0.msh", CSIM_OK, 2180, 0, 4265, CSIM_OK, ""},
        {"liver.vtk", CSIM_OK, 5008, 0, 10000, CSIM_OK, ""},
        {"Armadillo_Tetra_4406.vtu", CSIM_OK, 1446, 4406, 0, CSIM_OK, ""},
        {"raptorTetra_8418.vtu", CSIM_OK, 2996, 8418, 0, CSIM_BAD_MESH,
         "isolated vertices: 3, the first is vertex 2603"},
        {"bunny.obj", CSIM_OK, 2503, 0, 4968, CSIM_OK, ""},
        {"spot.obj", CSIM_OK, 2930, 0, 5856, CSIM_OK, ""},
        {"die.obj", CSIM_OK, 296, 0, 0, CSIM_BAD_MESH,
         "no tets and no triangles: a mesh is empty, inverted, degenerate or indexes outside its vertices"},
        {"SimpleBeamHexa.msh", CSIM_UNSUPPORTED, 0, 0, 0, CSIM_OK,
         "line 22: element type 5 (hexahedron); allowed: tetrahedra, triangles, quadrangles, lines, points"},
        {"Armadillo_Tetra_4406_for_test_broken.vtu", CSIM_PARSE_ERROR, 0, 0, 0, CSIM_OK,
         "line 1451: more points than NumberOfPoints, which is 1445"},
    };
    size_t i;
    for (i = 0; i < LENGTH(table); ++i) {
        char path[200];
        const char *said;
        csim_mesh mesh;
        csim_error error;
        counter c;
        csim_allocator a = counted(&c);
        CASE("%s", table[i].name);
        sprintf(path, MESHES "%s", table[i].name);
        STATUS(csim_mesh_load_file(path, &a, &mesh, &error), table[i].status);
        EQUAL(mesh.vertex_count, table[i].vertices);
        EQUAL(mesh.tet_count, table[i].tets);
        EQUAL(mesh.triangle_count, table[i].triangles);
        if (table[i].status == CSIM_OK) {
            STATUS(csim_mesh_check(&mesh, NULL, 0, NULL, &error), table[i].check);
            said = strstr(error.text, ": ");
        } else {
            said = strstr(error.text, table[i].name);
            said = said ? said + strlen(table[i].name) : NULL;
        }
        CHECK(strcmp(said ? said + 2 : "", table[i].error) == 0);
        if (strcmp(said ? said + 2 : "", table[i].error) != 0) printf("    %s\n", error.text);
        csim_mesh_free(&mesh);
        CHECK(c.held == 0 && c.overruns == 0);
    }
}

/* ---- refusals */

TEST(refusals_name_line_and_reason) {
    static const struct {
        const char *text;
        csim_status status;
        const char *error;
    } table[] = {
        {"", CSIM_PARSE_ERROR,
         "line 1: expected the first line of a Gmsh, VTK, VTU or OBJ file, found the end of the text"},
        {"solid cube\n", CSIM_PARSE_ERROR,
         "line 1: expected the first line of a Gmsh, VTK, VTU or OBJ file, found 'solid'"},
        {"$MeshFormat\n4 0 8\n$EndMeshFormat\n", CSIM_UNSUPPORTED,
         "line 2: MSH version; allowed: 1.0, 2.0 to 2.2, 4.1"},
        {"$MeshFormat\n2.2 1 8\n", CSIM_UNSUPPORTED, "line 2: binary MSH; allowed: ASCII (Mesh.Binary = 0)"},
        {"$NOD\n2\n1 0 0 0\n1 0 0 1\n$ENDNOD\n", CSIM_PARSE_ERROR, "line 4: node 1 is given twice"},
        {"$NOD\n1\n1 0 0 zero\n$ENDNOD\n", CSIM_PARSE_ERROR, "line 3: expected a number, found 'zero'"},
        {"$NOD\n1\n1 0 0 1e300\n$ENDNOD\n", CSIM_PARSE_ERROR,
         "line 3: expected a number of reasonable size, found '1e300'"},
        {"$NOD\n-1\n", CSIM_PARSE_ERROR, "line 2: number of nodes is -1; allowed: 0 or more"},
        {"$NOD\n1000000000\n1 0 0 0\n", CSIM_PARSE_ERROR,
         "line 2: number of nodes is 1000000000; the rest of the text cannot hold them"},
        {"$NOD\n99999999999999999999\n1 0 0 0\n", CSIM_PARSE_ERROR,
         "line 2: expected a whole number below 2^53, found '99999999999999999999'"},
        {"$NOD\n2\n1 0 0 0\n$ENDNOD\n$ELM\n", CSIM_PARSE_ERROR, "line 4: expected a whole number, found '$ENDNOD'"},
        {"$NOD\n1\n1 0 0 0\n2 0 0 0\n$ENDNOD\n", CSIM_PARSE_ERROR, "line 4: expected $ENDNOD, found '2'"},
        {"$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n1\n1 4 1 1 4 1 1 1 7\n$ENDELM\n", CSIM_PARSE_ERROR,
         "line 7: node 7 is not among the nodes"},
        {"$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n1\n1 4 1 1 3 1 1 1\n$ENDELM\n", CSIM_PARSE_ERROR,
         "line 7: number of nodes is 3, not what the element type has"},
        {"$NOD\n1\n1 0 0 0\n$ENDNOD\n", CSIM_BAD_MESH, "line 5: there are no tets and no triangles"},
        {"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n1\n1 15 -1 1\n$EndElements\n",
         CSIM_PARSE_ERROR, "line 10: number of tags is -1; allowed: 0 or more"},
        {"$ELM\n1\n1 15 1 1 1 1\n$ENDELM\n", CSIM_PARSE_ERROR, "line 1: elements before any nodes"},
        {"$NOD\n1\n1 0 0 0\n$ENDNOD\n$Other\n1 2 3\n", CSIM_PARSE_ERROR, "line 5: a section without its $End line"},
        {"# vtk DataFile Version 3.0\nt\nASCII\nDATASET STRUCTURED_GRID\n", CSIM_UNSUPPORTED,
         "line 4: kind of DATASET; allowed: UNSTRUCTURED_GRID, POLYDATA"},
        {"# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 1 float\n0 0 0\nCELLS 1 9\n"
         "8 0 0 0 0 0 0 0 0\nCELL_TYPES 1\n12\n",
         CSIM_UNSUPPORTED, "line 10: cell type 12 (hexahedron); allowed: tetrahedra, polygons, lines, points"},
        {"# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n0 0 0\nPOLYGONS 1 4\n3 0 0 1\n",
         CSIM_PARSE_ERROR, "line 8: point 1 is not among the points"},
        {"# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n0 0 0\nPOLYGONS 1 4\n4 0 0 0\n",
         CSIM_PARSE_ERROR, "line 8: number of corners is 4; allowed: 0 to what is left of the list"},
        {"<VTKFile type=\"PolyData\">\n</VTKFile>\n", CSIM_UNSUPPORTED,
         "line 1: type of VTKFile; allowed: UnstructuredGrid"},
        {"<VTKFile type=\"UnstructuredGrid\">\n<Piece NumberOfPoints=\"1\" NumberOfCells=\"0\"><Points>\n"
         "<DataArray format=\"appended\" offset=\"0\">",
         CSIM_UNSUPPORTED, "line 3: DataArray at byte 87 is binary, appended or compressed; allowed: format=\"ascii\""},
        {"<VTKFile type=\"UnstructuredGrid\">\n<Piece NumberOfPoints=\"many\" NumberOfCells=\"0\">\n", CSIM_PARSE_ERROR,
         "line 2: NumberOfPoints or NumberOfCells is not a whole number of 0 or more"},
        {"<VTKFile type=\"UnstructuredGrid\">\n", CSIM_PARSE_ERROR,
         "line 2: expected </VTKFile>, found the end of the text"},
        {"<VTKFile type=\"UnstructuredGrid\">\n<Piece\n<Points>", CSIM_PARSE_ERROR,
         "line 2: an element does not end with >"},
        {"<VTKFile type=\"UnstructuredGrid\">\n<!-- <Piece>", CSIM_PARSE_ERROR, "line 2: a comment does not end"},
        {"v 0 0 0\nf 1 1\n", CSIM_PARSE_ERROR, "line 2: expected three vertices or more, found the end of the line"},
        {"v 0 0 0\nf 1 1 2\n", CSIM_PARSE_ERROR, "line 2: vertex 2 is not among the vertices so far"},
        {"v 0 0 0\nf 1 1 0\n", CSIM_PARSE_ERROR, "line 2: vertex 0 is not among the vertices so far"},
        {"v 0 0 0\nf 1 1 -2\n", CSIM_PARSE_ERROR, "line 2: vertex -2 is not among the vertices so far"},
        {"v 0 0\nv 0 0 0\n", CSIM_PARSE_ERROR, "line 1: expected a number, found the end of the line"},
        {"f 1 2 3\n", CSIM_PARSE_ERROR, "line 1: vertex 1 is not among the vertices so far"},
        {"o nothing\n", CSIM_BAD_MESH, "line 2: there are no tets and no triangles"},
    };
    size_t i;
    for (i = 0; i < LENGTH(table); ++i) {
        csim_mesh mesh;
        csim_error error;
        const char *said;
        CASE("%.60s", table[i].text);
        STATUS(csim_mesh_load_text(table[i].text, strlen(table[i].text), CSIM_MESH_AUTO, NULL, &mesh, &error),
               table[i].status);
        CHECK(is_zero(&mesh));
        EQUAL(error.status, table[i].status);
        said = strncmp(error.text, "csim_mesh_load_text: ", 21) == 0 ? error.text + 21 : error.text;
        CHECK(strcmp(said, table[i].error) == 0);
        if (strcmp(said, table[i].error) != 0) printf("    %s\n", said);
    }
}

TEST(tetgen_refusals_name_the_text) {
    csim_mesh mesh;
    csim_error error;
    STATUS(csim_mesh_load_tetgen("1 2\n1 0 0\n", 10, "", 0, NULL, &mesh, &error), CSIM_UNSUPPORTED);
    CHECK(strcmp(error.text, "csim_mesh_load_tetgen: node: line 1: dimension is 2; allowed: 3") == 0);
    STATUS(csim_mesh_load_tetgen("1 3\n1 0 0\n2 0 0 0\n", 19, "", 0, NULL, &mesh, &error), CSIM_PARSE_ERROR);
    CHECK(strcmp(error.text, "csim_mesh_load_tetgen: node: line 2: expected a number, found the end of the line") == 0);
    STATUS(csim_mesh_load_tetgen("1 3\n1 0 0 0\n", 12, "1 10 0\n1 1 1 1 1\n", 17, NULL, &mesh, &error),
           CSIM_UNSUPPORTED);
    CHECK(strcmp(error.text, "csim_mesh_load_tetgen: ele: line 1: nodes per tetrahedron: 10; allowed: 4") == 0);
    STATUS(csim_mesh_load_tetgen("1 3\n1 0 0 0\n", 12, "1 4 0\n1 1 1 1 2\n", 16, NULL, &mesh, &error),
           CSIM_PARSE_ERROR);
    CHECK(strcmp(error.text, "csim_mesh_load_tetgen: ele: line 2: node 2 is not among the nodes") == 0);
}

TEST(null_arguments) {
    csim_mesh mesh;
    csim_error error;
    STATUS(csim_mesh_load_text(NULL, 0, CSIM_MESH_AUTO, NULL, &mesh, &error), CSIM_NULL_ARGUMENT);
    STATUS(csim_mesh_load_text(gmsh1, 3, CSIM_MESH_AUTO, NULL, NULL, &error), CSIM_NULL_ARGUMENT);
    STATUS(csim_mesh_load_text(gmsh1, 3, CSIM_MESH_AUTO, NULL, &mesh, NULL), CSIM_PARSE_ERROR);
    STATUS(csim_mesh_load_tetgen(node, 3, NULL, 0, NULL, &mesh, &error), CSIM_NULL_ARGUMENT);
    STATUS(csim_mesh_load_file(NULL, NULL, &mesh, &error), CSIM_NULL_ARGUMENT);
    CHECK(is_zero(&mesh));
}

/* ---- damage */

TEST(cut_short_at_every_length) {
    const sample *all = all_samples();
    int i;
    size_t n;
    for (i = 0; i < SAMPLES; ++i) {
        for (n = 0; n < all[i].size; ++n) {
            sample s = all[i];
            char *copy = exact_copy(s.text, n);
            s.text = copy;
            s.size = n;
            CASE("%s cut to %d bytes", s.name, (int)n);
            CHECK(survive(&s));
            free(copy);
        }
        for (n = 0; n < all[i].second_size; ++n) {
            sample s = all[i];
            char *copy = exact_copy(s.second, n);
            s.second = copy;
            s.second_size = n;
            CASE("%s, second text cut to %d bytes", s.name, (int)n);
            CHECK(survive(&s));
            free(copy);
        }
    }
}

/* One to four bytes become others, mostly such as mean something. */
static void damage(char *text, size_t size) {
    static const char telling[] = "0123456789-+.eE \n\r\t<>/\"'$#\\\xff";
    int k, count = 1 + (int)check_random(0, 4);
    for (k = 0; k < count && size; ++k) {
        const size_t at = (size_t)check_random(0, (double)size);
        text[at] = check_random(0, 1) < 0.7 ? telling[(size_t)check_random(0, sizeof telling - 1)]
                                            : (char)(unsigned char)check_random(0, 256);
    }
}

TEST(bytes_flipped_22000_times) {
    const sample *all = all_samples();
    int i, n;
    for (i = 0; i < SAMPLES; ++i)
        for (n = 0; n < 2000; ++n) {
            sample s = all[i];
            char *text = exact_copy(s.text, s.size), *second = s.second ? exact_copy(s.second, s.second_size) : NULL;
            if (second && n % 2)
                damage(second, s.second_size);
            else
                damage(text, s.size);
            s.text = text;
            s.second = second;
            CASE("%s, damage %d", s.name, n);
            CHECK(survive(&s));
            free(text);
            free(second);
        }
}

TEST(wrong_format_is_refused) {
    const sample *all = all_samples();
    int i, format;
    for (i = 0; i < SAMPLES; ++i)
        for (format = CSIM_MESH_GMSH; format <= CSIM_MESH_OBJ; ++format) {
            csim_mesh mesh;
            csim_status status;
            status = csim_mesh_load_text(all[i].text, all[i].size, (csim_mesh_format)format, NULL, &mesh, NULL);
            CASE("%s as format %d", all[i].name, format);
            CHECK((status == CSIM_OK) == (!all[i].second && mesh.vertex_count == 5));
            csim_mesh_free(&mesh);
        }
}

TEST(every_allocation_may_fail) {
    const sample *all = all_samples();
    int i;
    long n;
    for (i = 0; i < SAMPLES; ++i)
        for (n = 0;; ++n) {
            counter c;
            csim_allocator a = counted(&c);
            csim_mesh mesh;
            csim_error error;
            csim_status status;
            c.fail_at = n;
            CASE("%s, allocation %ld fails", all[i].name, n);
            status = load(&all[i], &a, &mesh, &error);
            if (status == CSIM_OK) { /* n is beyond the last one */
                CHECK(n >= 3 && c.held == (long)mesh.block_size);
                csim_mesh_free(&mesh);
                CHECK(c.held == 0 && c.overruns == 0);
                break;
            }
            EQUAL(status, CSIM_OUT_OF_MEMORY);
            CHECK(is_zero(&mesh) && c.held == 0 && c.overruns == 0 && error.text[0]);
            REQUIRE(n < 100);
        }
}

TEST(byte_limit_is_kept) {
    csim_allocator a;
    csim_mesh mesh;
    memset(&a, 0, sizeof a);
    a.byte_limit = 1000; /* less than the first buffer */
    STATUS(csim_mesh_load_text(gmsh2, strlen(gmsh2), CSIM_MESH_AUTO, &a, &mesh, NULL), CSIM_OUT_OF_MEMORY);
    a.byte_limit = 100000;
    STATUS(csim_mesh_load_text(gmsh2, strlen(gmsh2), CSIM_MESH_AUTO, &a, &mesh, NULL), CSIM_OK);
    csim_mesh_free(&mesh);
}

/* A mesh large enough for every buffer to grow several times, with ids falling and with gaps. */
TEST(a_long_mesh_with_scattered_ids) {
    enum { N = 3000 };
    char *text = (char *)malloc(N * 120), *at = text;
    counter c;
    csim_allocator a = counted(&c);
    csim_mesh mesh;
    int i, wrong = 0;
    REQUIRE(text);
    at += sprintf(at, "$NOD\n%d\n", N);
    for (i = 0; i < N; ++i) at += sprintf(at, "%d %d.5 0 1\n", 7 * ((i * 1237) % N) - 5000, i);
    at += sprintf(at, "$ENDNOD\n$ELM\n%d\n", N);
    for (i = 0; i < N; ++i) {
        const int id = 7 * ((i * 1237) % N) - 5000, next = 7 * (((i + 1) % N * 1237) % N) - 5000;
        at += sprintf(at, "%d 2 0 0 3 %d %d %d\n", i, id, next, id);
    }
    at += sprintf(at, "$ENDELM\n");
    STATUS(csim_mesh_load_text(text, (size_t)(at - text), CSIM_MESH_AUTO, &a, &mesh, NULL), CSIM_OK);
    EQUAL(mesh.vertex_count, N);
    EQUAL(mesh.triangle_count, N);
    for (i = 0; i < mesh.triangle_count; ++i) {
        wrong += mesh.triangles[3 * i] != i || mesh.triangles[3 * i + 1] != (i + 1) % N;
        wrong += mesh.vertices[3 * i] != CSIM_R(i) + CSIM_R(0.5);
    }
    EQUAL(wrong, 0);
    csim_mesh_free(&mesh);
    CHECK(c.held == 0 && c.overruns == 0);
    free(text);
}

/* What the library makes itself is one block, given back. */
TEST(made_meshes_are_one_block) {
    counter c;
    csim_allocator a = counted(&c);
    csim_mesh mesh;
    STATUS(csim_mesh_make_box(csim_v3(1, 1, 1), 2, 3, 4, &a, &mesh, NULL), CSIM_OK);
    EQUAL(c.calls, 1);
    csim_mesh_free(&mesh);
    STATUS(csim_mesh_make_sheet(1, 2, 3, 4, &a, &mesh, NULL), CSIM_OK);
    EQUAL(c.calls, 2);
    csim_mesh_free(&mesh);
    CHECK(c.held == 0 && c.overruns == 0);
}

/* Names without a value are passed over, at the end of a tag too, behind which nothing is read. */
TEST(attributes_without_a_value) {
    static const char text[] = "flag name='a' other = \"b\" last='c'";
    csimi_xml_tag tag;
    csimi_slice value;
    memset(&tag, 0, sizeof tag);
    tag.attributes.begin = text;
    tag.attributes.end = text + strlen(text) - strlen("='c'");
    CHECK(csimi_xml_attribute(&tag, "name", &value) && csimi_slice_is(value, "a"));
    CHECK(csimi_xml_attribute(&tag, "other", &value) && csimi_slice_is(value, "b"));
    CHECK(!csimi_xml_attribute(&tag, "flag", &value));
    CHECK(!csimi_xml_attribute(&tag, "last", &value));
}

/* ---- files */

static bool write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    fputs(text, file);
    return fclose(file) == 0;
}

TEST(files) {
    char base[64], path[80], longest[400];
    csim_mesh mesh;
    csim_error error;
    counter c;
    csim_allocator a = counted(&c);
    const sample *s = all_samples();
    long n;
    STATUS(csim_mesh_load_file("no/such/file.msh", NULL, &mesh, &error), CSIM_FILE_ERROR);
    CHECK(strcmp(error.text, "no/such/file.msh: a file cannot be opened, read or written") == 0);
    STATUS(csim_mesh_load_file("tests", NULL, &mesh, &error), CSIM_FILE_ERROR); /* a directory */
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    STATUS(csim_mesh_load_file(longest, NULL, &mesh, &error), CSIM_FILE_ERROR);
    CHECK(strstr(error.text, "cannot be opened") != NULL);
    sprintf(base, "build/test_io_%d", CSIM_REAL_SIZE); /* both builds run at once */
    sprintf(path, "%s.node", base);
    REQUIRE(write_file(path, node));
    STATUS(csim_mesh_load_file(path, NULL, &mesh, &error), CSIM_FILE_ERROR); /* the other one is missing */
    CHECK(strstr(error.text, ".ele: ") != NULL);
    sprintf(path, "%s.ele", base);
    CHECK(write_file(path, ele));
    for (n = 0;; ++n) {
        a = counted(&c);
        c.fail_at = n;
        CASE("allocation %ld fails", n);
        if (csim_mesh_load_file(path, &a, &mesh, &error) == CSIM_OK) break;
        EQUAL(error.status, CSIM_OUT_OF_MEMORY);
        CHECK(is_zero(&mesh) && c.held == 0 && c.overruns == 0);
        REQUIRE(n < 100);
    }
    CASE("both there");
    check_sample(&s[7], &mesh);
    csim_mesh_free(&mesh);
    CHECK(c.held == 0 && c.overruns == 0);
    remove(path);
    sprintf(path, "%s.node", base);
    remove(path);
}

/* ---- the check of a mesh */

static csim_mesh own_mesh(int vertex_count, csim_real *vertices, int tet_count, int *tets) {
    csim_mesh mesh;
    memset(&mesh, 0, sizeof mesh);
    mesh.vertex_count = vertex_count;
    mesh.vertices = vertices;
    mesh.tet_count = tet_count;
    mesh.tets = tets;
    return mesh;
}

TEST(check_finds_each_fault) {
    csim_real x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 5, 5, 5, 0.5, 0.5, 0};
    int tets[] = {
        0, 1, 2, 3, /* upright */ 1, 2, 3, 4, /* upright */ 0, 2, 1,  4, /* inverted */ 3, 1, 0, 2, /* doubled */
        0, 1, 2, 6, /* flat */ 0,    1, 2, 7, /* outside */ 0, 1, -1, 2, /* outside */ 1,  1, 2, 3 /* flat */};
    int triangles[] = {0, 1, 2, 0, 1, 7};
    csim_mesh mesh = own_mesh(7, x, 8, tets);
    csim_mesh_report r;
    csim_error error;
    unsigned char scratch[2048];
    const size_t bytes = csim_mesh_check_bytes(7, 8);
    REQUIRE(bytes <= sizeof scratch - 1);
    mesh.triangles = triangles;
    mesh.triangle_count = 2;
    STATUS(csim_mesh_check(&mesh, scratch + 1, bytes, &r, &error), CSIM_BAD_MESH);
    EQUAL(r.inverted_tets.count, 1);
    EQUAL(r.inverted_tets.first, 2);
    EQUAL(r.duplicate_tets.count, 1);
    EQUAL(r.duplicate_tets.first, 3);
    EQUAL(r.degenerate_tets.count, 2);
    EQUAL(r.degenerate_tets.first, 4);
    EQUAL(r.out_of_range_tets.count, 2);
    EQUAL(r.out_of_range_tets.first, 5);
    EQUAL(r.out_of_range_triangles.count, 1);
    EQUAL(r.out_of_range_triangles.first, 1);
    EQUAL(r.isolated_vertices.count, 1);
    EQUAL(r.isolated_vertices.first, 5);
    EQUAL(r.not_finite_vertices.count, 0);
    EQUAL(r.not_finite_vertices.first, -1);
    CHECK(strcmp(error.text, "csim_mesh_check: tets with an index out of range: 2, the first is tet 5") == 0);
    NEAR(r.volume, 1.0 / 6 + 2.0 / 6 - 1.0 / 6 + 1.0 / 6, 1e-15); /* exact coordinates: a rounding or two of 1/6 */
    STATUS(csim_mesh_check(&mesh, scratch, bytes - 1, &r, &error), CSIM_CAPACITY);
    mesh.tet_count = 2;
    mesh.triangle_count = 0;
    mesh.vertex_count = 5;
    STATUS(csim_mesh_check(&mesh, NULL, 0, &r, &error), CSIM_OK);
    x[4] = CSIM_R(1) / CSIM_R(0.0 * x[0] + 0.0); /* infinite */
    STATUS(csim_mesh_check(&mesh, NULL, 0, &r, &error), CSIM_BAD_MESH);
    EQUAL(r.not_finite_vertices.count, 1);
    EQUAL(r.not_finite_vertices.first, 1);
    EQUAL(r.degenerate_tets.count, 2);
}

TEST(check_refuses_bad_arguments) {
    csim_mesh mesh = own_mesh(-1, NULL, 0, NULL);
    csim_mesh_report r;
    STATUS(csim_mesh_check(NULL, NULL, 0, &r, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_mesh_check(&mesh, NULL, 0, &r, NULL), CSIM_OUT_OF_RANGE);
    mesh.vertex_count = 1;
    STATUS(csim_mesh_check(&mesh, NULL, 0, &r, NULL), CSIM_NULL_ARGUMENT);
    mesh.vertex_count = 0;
    STATUS(csim_mesh_check(&mesh, NULL, 0, NULL, NULL), CSIM_BAD_MESH);
    EQUAL(csim_mesh_check_bytes(-1, 3), 0);
    CHECK(csim_mesh_check_bytes(INT32_MAX, INT32_MAX) > (size_t)INT32_MAX);
}

/* The threshold of a degenerate tet does not depend on the unit of length. */
TEST(degenerate_is_relative_to_the_edges) {
    static const double scales[] = {1e-6, 1, 1e6};
    size_t i;
    for (i = 0; i < LENGTH(scales); ++i) {
        const csim_real s = CSIM_R(scales[i]);
        csim_real x[12] = {0, 0, 0, s, 0, 0, 0, s, 0, 0, 0, 0};
        int tet[4] = {0, 1, 2, 3};
        csim_mesh mesh = own_mesh(4, x, 1, tet);
        csim_mesh_report r;
        CASE("scale %g", scales[i]);
        x[11] = s * CSIM_R(1.6e-11); /* volume 2.7e-12 s^3, longest edge cubed 2.8 s^3: just below */
        csim_mesh_check(&mesh, NULL, 0, &r, NULL);
        EQUAL(r.degenerate_tets.count, 1);
        x[11] = s * CSIM_R(1.8e-11); /* just above */
        STATUS(csim_mesh_check(&mesh, NULL, 0, &r, NULL), CSIM_OK);
        x[11] = -x[11];
        csim_mesh_check(&mesh, NULL, 0, &r, NULL);
        EQUAL(r.inverted_tets.count, 1);
    }
}

/* Every pair of equal tets among many random ones, against a comparison of each with each. */
TEST(duplicates_against_all_pairs) {
    enum { N = 300 };
    csim_real x[30];
    static int tets[4 * N];
    csim_mesh mesh = own_mesh(10, x, N, tets);
    csim_mesh_report r;
    int i, j, k, equal = 0;
    for (i = 0; i < 30; ++i) x[i] = CSIM_R(check_random(-1, 1));
    for (i = 0; i < 4 * N; ++i) tets[i] = (int)check_random(0, 10);
    for (i = 0; i < N; ++i) {
        bool found = false;
        for (j = 0; j < i && !found; ++j) {
            int a[10] = {0}, same = 0;
            for (k = 0; k < 4; ++k) {
                ++a[tets[4 * i + k]];
                --a[tets[4 * j + k]];
            }
            for (k = 0; k < 10; ++k) same += a[k] == 0;
            found = same == 10;
        }
        equal += found;
    }
    csim_mesh_check(&mesh, NULL, 0, &r, NULL);
    CHECK(equal > 10);
    EQUAL(r.duplicate_tets.count, equal);
}

TEST(compact_drops_isolated_vertices) {
    csim_real x[] = {9, 9, 9, 0, 0, 0, 8, 8, 8, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7, 7, 7};
    int tet[] = {1, 3, 4, 5}, triangles[] = {1, 3, 4, 0, 1, 3, 5, 4, 3}, map[7], i;
    static const int wanted[7] = {-1, 0, -1, 1, 2, 3, -1};
    csim_mesh mesh = own_mesh(7, x, 1, tet);
    csim_mesh_report r;
    mesh.triangles = triangles;
    mesh.triangle_count = 3;
    EQUAL(csim_mesh_compact(&mesh, NULL), -1);
    EQUAL(csim_mesh_compact(&mesh, map), 3);
    for (i = 0; i < 7; ++i) EQUAL(map[i], wanted[i]);
    EQUAL(mesh.vertex_count, 4);
    EQUAL(mesh.triangle_count, 2); /* the one on vertex 0 is gone */
    EQUAL(triangles[3], 3);
    NEAR(x[3], 1, 0);
    STATUS(csim_mesh_check(&mesh, NULL, 0, &r, NULL), CSIM_OK);
    EQUAL(csim_mesh_compact(&mesh, map), 0);
    tet[2] = 4;
    EQUAL(csim_mesh_compact(&mesh, map), -1);
    csim_mesh_free(&mesh);
    CHECK(is_zero(&mesh));
}

/* ---- the mesh of the main scene */

static int compare_three(const void *p, const void *q) {
    const int *a = (const int *)p, *b = (const int *)q;
    int i;
    for (i = 0; i < 2; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return a[2] < b[2] ? -1 : a[2] > b[2];
}

static void sort_three(int *a) {
    int i, j, swap;
    for (i = 0; i < 2; ++i)
        for (j = 0; j < 2 - i; ++j)
            if (a[j] > a[j + 1]) {
                swap = a[j];
                a[j] = a[j + 1];
                a[j + 1] = swap;
            }
}

static double smallest_dihedral_sine(const csim_mesh *mesh, const int *t) {
    static const int edge[6][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}};
    double smallest = 2;
    int i, k;
    for (i = 0; i < 6; ++i) {
        double e[3], a[3], b[3], n[3], m[3], nm[3], length = 0, nn = 0, mm = 0, cross = 0;
        for (k = 0; k < 3; ++k) {
            const double origin = (double)mesh->vertices[3 * t[edge[i][0]] + k];
            e[k] = (double)mesh->vertices[3 * t[edge[i][1]] + k] - origin;
            a[k] = (double)mesh->vertices[3 * t[edge[i][2]] + k] - origin;
            b[k] = (double)mesh->vertices[3 * t[edge[i][3]] + k] - origin;
            length += e[k] * e[k];
        }
        for (k = 0; k < 3; ++k) {
            const int u = (k + 1) % 3, v = (k + 2) % 3;
            n[k] = e[u] * a[v] - e[v] * a[u];
            m[k] = e[u] * b[v] - e[v] * b[u];
        }
        for (k = 0; k < 3; ++k) {
            const int u = (k + 1) % 3, v = (k + 2) % 3;
            nm[k] = n[u] * m[v] - n[v] * m[u];
            nn += n[k] * n[k];
            mm += m[k] * m[k];
            cross += nm[k] * nm[k];
        }
        if (length > 0 && sqrt(cross / (nn * mm)) < smallest) smallest = sqrt(cross / (nn * mm));
    }
    return smallest;
}

/* Sound, closed, in one piece, without holes, and without thin tets. */
TEST(mascot_is_a_good_mesh) {
    static const int face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    csim_mesh mesh;
    csim_error error;
    csim_mesh_report r;
    int(*faces)[3], (*edges)[3], n = 0, edge_count = 0, i, j, k, bad = 0, surface = 0, outer_edges = 0,
                                 outer_vertices = 0;
    char *outer;
    double smallest = 2;
    FILE *there = fopen("examples/scenes/mascot.msh", "rb");
    REQUIRE(there); /* run from the root of the project */
    fclose(there);
    STATUS(csim_mesh_load_file("examples/scenes/mascot.msh", NULL, &mesh, &error), CSIM_OK);
    STATUS(csim_mesh_check(&mesh, NULL, 0, &r, &error), CSIM_OK);
    CHECK(mesh.tet_count > 2000 && mesh.tet_count < 5000);
    for (i = 0; i < mesh.tet_count; ++i) {
        const double s = smallest_dihedral_sine(&mesh, mesh.tets + 4 * i);
        if (s < smallest) smallest = s;
    }
    CHECK(smallest > 0.5); /* no dihedral angle below 30 or above 150 degrees */
    faces = (int(*)[3])malloc(sizeof(int[3]) * 4 * (size_t)mesh.tet_count);
    edges = (int(*)[3])malloc(sizeof(int[3]) * 12 * (size_t)mesh.tet_count);
    outer = (char *)calloc((size_t)mesh.vertex_count, 1);
    REQUIRE(faces && edges && outer);
    for (i = 0; i < mesh.tet_count; ++i)
        for (j = 0; j < 4; ++j, ++n) {
            for (k = 0; k < 3; ++k) faces[n][k] = mesh.tets[4 * i + face[j][k]];
            sort_three(faces[n]);
        }
    qsort(faces, (size_t)n, sizeof faces[0], compare_three);
    for (i = 0; i < n; i = j) {
        for (j = i + 1; j < n && compare_three(faces[i], faces[j]) == 0; ++j) continue;
        bad += j - i > 2;
        if (j - i > 1) continue;
        ++surface;
        for (k = 0; k < 3; ++k) {
            int *e = edges[edge_count++];
            e[0] = faces[i][k == 2 ? 0 : k];
            e[1] = faces[i][k == 2 ? 2 : k + 1];
            e[2] = 0;
            outer[faces[i][k]] = 1;
        }
    }
    EQUAL(bad, 0);
    qsort(edges, (size_t)edge_count, sizeof edges[0], compare_three);
    for (i = 0; i < edge_count; i = j) {
        for (j = i + 1; j < edge_count && compare_three(edges[i], edges[j]) == 0; ++j) continue;
        bad += j - i != 2;
        ++outer_edges;
    }
    EQUAL(bad, 0); /* every edge of the surface has two triangles */
    for (i = 0; i < mesh.vertex_count; ++i) outer_vertices += outer[i];
    EQUAL(outer_vertices - outer_edges + surface, 2); /* Euler: one sphere */
    free(faces);
    free(edges);
    free(outer);
    csim_mesh_free(&mesh);
}

/* Faces of tets that only one tet has; each must lie on a side of the box. */
static int open_faces(const csim_mesh *m, csim_vec3 half, int *stray) {
    static const int face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    const int count = 4 * m->tet_count;
    int i, j, k, n = 0;
    *stray = 0;
    for (i = 0; i < count; ++i) {
        const int *a = m->tets + 4 * (i / 4);
        bool shared = false, side = false;
        for (j = 0; j < count && !shared; ++j) {
            const int *b = m->tets + 4 * (j / 4);
            int same = 0, p, q;
            if (i == j) continue;
            for (p = 0; p < 3; ++p)
                for (q = 0; q < 3; ++q) same += a[face[i % 4][p]] == b[face[j % 4][q]];
            shared = same == 3;
        }
        if (shared) continue;
        ++n;
        for (k = 0; k < 3; ++k) {
            const csim_real h = k == 0 ? half.x : k == 1 ? half.y : half.z;
            int low = 0, high = 0, p;
            for (p = 0; p < 3; ++p) {
                const csim_real x = m->vertices[3 * a[face[i % 4][p]] + k];
                low += !(x > -h), high += !(x < h);
            }
            side = side || low == 3 || high == 3;
        }
        *stray += !side;
    }
    return n;
}

TEST(box_of_tets_fills_its_box_and_neighbours_share_their_faces) {
    const csim_vec3 half = csim_v3(CSIM_R(0.3), 1, 2);
    csim_mesh mesh;
    csim_mesh_report report;
    csim_error error;
    int stray;
    STATUS(csim_mesh_make_box(half, 3, 2, 4, NULL, &mesh, &error), CSIM_OK);
    EQUAL(mesh.vertex_count, 4 * 3 * 5);
    EQUAL(mesh.tet_count, 6 * 3 * 2 * 4);
    STATUS(csim_mesh_check(&mesh, NULL, 0, &report, &error), CSIM_OK); /* upright, none twice, no vertex alone */
    NEAR(report.volume, 8 * 0.3 * 1 * 2, TOL(1e-14, 1e-6));
    EQUAL(open_faces(&mesh, half, &stray), 2 * 2 * (3 * 2 + 2 * 4 + 4 * 3));
    EQUAL(stray, 0);
    csim_mesh_free(&mesh);
    CHECK(mesh.block == NULL);
}

TEST(made_meshes_refuse_what_is_no_box_by_name) {
    csim_mesh mesh;
    csim_error error;
    STATUS(csim_mesh_make_box(csim_v3(1, -1, 1), 1, 1, 1, NULL, &mesh, &error), CSIM_OUT_OF_RANGE);
    CHECK(strstr(error.text, "half.y is -1") != NULL);
    STATUS(csim_mesh_make_box(csim_v3(1, 1, 1), 1, 0, 1, NULL, &mesh, &error), CSIM_OUT_OF_RANGE);
    CHECK(strstr(error.text, "ny is 0") != NULL);
    STATUS(csim_mesh_make_box(csim_v3(1, 1, 1), 1000, 1000, 1000, NULL, &mesh, &error), CSIM_OUT_OF_RANGE);
    STATUS(csim_mesh_make_box(csim_v3(1, 1, 1), 1, 1, 1, NULL, NULL, &error), CSIM_NULL_ARGUMENT);
    STATUS(csim_mesh_make_sheet(CSIM_R(NAN), 1, 1, 1, NULL, &mesh, &error), CSIM_OUT_OF_RANGE);
    STATUS(csim_mesh_make_sheet(1, 1, 1, 2000000, NULL, &mesh, NULL), CSIM_OUT_OF_RANGE);
    CHECK(mesh.block == NULL && mesh.vertex_count == 0);
}

TEST(made_sheet_is_a_cloth_and_made_box_a_solid) {
    csim_world_def def = csim_default_world_def();
    csim_cloth_def cloth = csim_default_cloth_def();
    csim_soft_def soft = csim_default_soft_def();
    csim_body_id id;
    csim_world *world;
    csim_mesh mesh;
    csim_mass mass;
    REQUIRE(csim_create_world(&def, &world, NULL) == CSIM_OK);
    STATUS(csim_mesh_make_sheet(1, CSIM_R(0.5), 5, 4, NULL, &mesh, NULL), CSIM_OK);
    cloth.vertices = mesh.vertices, cloth.vertex_count = mesh.vertex_count;
    cloth.triangles = mesh.triangles, cloth.triangle_count = mesh.triangle_count;
    STATUS(csim_create_cloth(world, &cloth, &id), CSIM_OK); /* refuses triangles that are flipped or flat */
    STATUS(csim_body_get_mass(world, id, &mass), CSIM_OK);
    NEAR(mass.mass, 2 * 1 * 0.5, TOL(1e-13, 1e-6)); /* 0.5 kg/m^2 */
    csim_mesh_free(&mesh);
    STATUS(csim_mesh_make_box(csim_v3(1, 1, CSIM_R(0.5)), 2, 2, 1, NULL, &mesh, NULL), CSIM_OK);
    soft = csim_mesh_soft_def(&mesh);
    STATUS(csim_create_soft(world, &soft, &id), CSIM_OK);
    STATUS(csim_body_get_mass(world, id, &mass), CSIM_OK);
    NEAR(mass.mass, 4000, TOL(1e-9, 1e-2));
    csim_mesh_free(&mesh);
    csim_destroy_world(world);
}
