/* condsim-modes: makes the model of a reduced body from a tetrahedral mesh, or tells what is in one. */
#include "modes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *to) {
    fputs("condsim-modes MESH -o FILE [young=1e5] [poisson=0.4] [density=1000] [modes=8] [derivatives=8] [linear=0|1]\n"
          "              [scale=1] [fix=x|y|z<VALUE ...]   vertices below a coordinate (after scale) never move\n"
          "condsim-modes FILE                              what is in a model\n"
          "condsim-modes --help\n"
          "exit status: 0 done, 1 the mesh or a file does not do, 2 wrong\n",
          to);
}

static int fail(const char *what, const char *why) {
    fprintf(stderr, "condsim-modes: %s%s%s\n", what, what[0] ? ": " : "", why);
    return 1;
}

static void tell(const csim_modes *m) {
    const csim_modes_view v = csim_modes_arrays(m);
    const double pi = 3.14159265358979323846;
    int k;
    printf("vertices=%d surface=%d triangles=%d mass_kg=%.9g bytes=%lu %s %s\n", m->vertex_count, m->surface_count,
           m->triangle_count, m->mass, (unsigned long)csim_modes_bytes(m), m->linear ? "linear" : "nonlinear",
           m->anchored ? "anchored" : "floating");
    for (k = 0; k < v.modes; k++) {
        double w = v.squares[k], root = w > 1 ? w : 1;
        int turn;
        for (turn = 0; turn < 60; turn++) root = (root + w / root) / 2;
        printf("%2d %14.6f Hz\n", k + 1, root / (2 * pi));
    }
}

static int show(const char *path) {
    FILE *f = fopen(path, "rb");
    const csim_modes *m = NULL;
    csim_error e;
    double *bytes; /* aligned for the model */
    long size;
    int status = 1;
    if (!f) return fail(path, "cannot be read");
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    bytes = (double *)malloc(size > 0 ? (size_t)size : 1);
    if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size)
        fail(path, "cannot be read");
    else if (csim_open_modes(bytes, (size_t)size, &m, &e) != CSIM_OK)
        fail(path, e.text);
    else
        status = 0;
    fclose(f);
    if (status == 0) tell(m);
    free(bytes);
    return status;
}

/* Null, or what is allowed in the place of a key=value that is no fix=. */
static const char *option(modes_def *d, double *scale, const char *text) {
    static const struct {
        const char *key, *allowed; /* modes_create has the ranges of the others */
    } known[] = {{"young=", "a number"},        {"poisson=", "a number"},         {"density=", "a number"},
                 {"modes=", "1..24, whole"},    {"derivatives=", "0..23, whole"}, {"linear=", "0 or 1"},
                 {"scale=", "a number above 0"}};
    const char *value = strchr(text, '=');
    char *end = NULL;
    const double x = value ? strtod(value + 1, &end) : 0;
    const bool number = value && value[1] && !*end, whole = number && x >= 0 && x < 25 && x <= (int)x;
    int k;
    for (k = 0; k < 7; k++)
        if (strncmp(text, known[k].key, strlen(known[k].key)) == 0) break;
    if (k == 7) return "young, poisson, density, modes, derivatives, linear, scale = NUMBER, fix=x|y|z<NUMBER";
    if (!number || (k >= 3 && k <= 5 && !whole) || (k == 5 && x > 1) || (k == 6 && !(x > 0))) return known[k].allowed;
    if (k == 0) d->young = (csim_real)x;
    if (k == 1) d->poisson = (csim_real)x;
    if (k == 2) d->density = (csim_real)x;
    if (k == 3) d->modes = (int)x;
    if (k == 4) d->derivatives = (int)x;
    if (k == 5) d->linear = x > 0;
    if (k == 6) *scale = x;
    return NULL;
}

/* Reads fix=x<0.1. */
static bool read_fix(const char *text, int *axis, double *limit) {
    char *end;
    if (strncmp(text, "fix=", 4) != 0 || text[4] < 'x' || text[4] > 'z' || text[5] != '<' || !text[6]) return false;
    *axis = text[4] - 'x';
    *limit = strtod(text + 6, &end);
    return !*end;
}

/* The vertices that any fix= holds, each once. */
static int hold(const csim_mesh *mesh, int argc, char **argv, int *fixed) {
    int i, k, axis, count = 0;
    double limit;
    for (i = 0; i < mesh->vertex_count; i++)
        for (k = 4; k < argc; k++)
            if (read_fix(argv[k], &axis, &limit) && (double)mesh->vertices[3 * i + axis] < limit) {
                fixed[count++] = i;
                break;
            }
    return count;
}

/* A file that cannot be finished is refused by its hash. */
static bool write_model(const char *path, const csim_modes *m) {
    const size_t bytes = csim_modes_bytes(m);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(m, 1, bytes, f) == bytes;
    if (f) ok = fclose(f) == 0 && ok;
    return ok;
}

int main(int argc, char **argv) {
    modes_def d = modes_default();
    csim_mesh mesh;
    csim_modes *m = NULL;
    csim_error e;
    double scale = 1, limit;
    int *fixed, i, axis, status = 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout), 0;
    if (argc == 2 && argv[1][0] != '-') return show(argv[1]);
    if (argc < 4 || strcmp(argv[2], "-o") != 0) return usage(stderr), 2;
    for (i = 4; i < argc; i++) {
        const char *allowed = read_fix(argv[i], &axis, &limit) ? NULL : option(&d, &scale, argv[i]);
        if (allowed) return fprintf(stderr, "condsim-modes: %s; allowed: %s\n", argv[i], allowed), 2;
    }
    if (csim_mesh_load_file(argv[1], NULL, &mesh, &e) != CSIM_OK) return fail("", e.text); /* it begins with the path */
    fixed = (int *)malloc(sizeof(int) * (size_t)mesh.vertex_count);
    for (i = 0; i < 3 * mesh.vertex_count; i++) mesh.vertices[i] *= (csim_real)scale;
    if (fixed) d.fixed_count = hold(&mesh, argc, argv, fixed);
    d.fixed = fixed;
    d.vertices = mesh.vertices;
    d.vertex_count = mesh.vertex_count;
    d.tets = mesh.tets;
    d.tet_count = mesh.tet_count;
    if (!fixed)
        status = fail(argv[1], "out of memory");
    else if (modes_create(&d, NULL, &m, &e) != CSIM_OK)
        status = fail(argv[1], e.text);
    else if (!write_model(argv[3], m))
        status = fail(argv[3], "cannot be written");
    else
        tell(m);
    modes_destroy(m, NULL);
    csim_mesh_free(&mesh);
    free(fixed);
    return status;
}
