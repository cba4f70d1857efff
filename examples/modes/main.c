/* condsim-modes: makes the model of a reduced body from a tetrahedral mesh, or tells what is in one. */
#include "modes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void) {
    puts("condsim-modes MESH -o FILE [young=1e5] [poisson=0.4] [density=1000] [modes=8] [derivatives=8] [linear=0]\n"
         "              [scale=1] [fix=x|y|z<VALUE ...]   vertices below a coordinate (after scale) never move\n"
         "condsim-modes FILE");
    return 2;
}

static int fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
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

/* key=value, and fix=x<0.1. */
static bool option(modes_def *d, double *scale, const char *text, const csim_mesh *mesh, int *fixed) {
    static const char *const keys[] = {"young=", "poisson=", "density=", "modes=", "derivatives=", "linear=", "scale="};
    int k, i;
    for (k = 0; k < 7; k++)
        if (strncmp(text, keys[k], strlen(keys[k])) == 0) {
            const double x = atof(text + strlen(keys[k]));
            if (k == 0) d->young = (csim_real)x;
            if (k == 1) d->poisson = (csim_real)x;
            if (k == 2) d->density = (csim_real)x;
            if (k == 3) d->modes = (int)x;
            if (k == 4) d->derivatives = (int)x;
            if (k == 5) d->linear = x > 0;
            if (k == 6) *scale = x;
            return true;
        }
    if (strncmp(text, "fix=", 4) != 0 || text[4] < 'x' || text[4] > 'z' || text[5] != '<') return false;
    for (i = 0; i < mesh->vertex_count; i++)
        if (*scale * (double)mesh->vertices[3 * i + (text[4] - 'x')] < atof(text + 6)) fixed[d->fixed_count++] = i;
    d->fixed = fixed;
    return true;
}

int main(int argc, char **argv) {
    modes_def d = modes_default();
    csim_mesh mesh;
    csim_modes *m = NULL;
    csim_error e;
    double scale = 1;
    int *fixed, i;
    FILE *f;
    if (argc == 2 && argv[1][0] != '-') return show(argv[1]);
    if (argc < 4 || strcmp(argv[2], "-o") != 0) return usage();
    if (csim_mesh_load_file(argv[1], NULL, &mesh, &e) != CSIM_OK) return fail(argv[1], e.text);
    fixed = (int *)malloc(sizeof(int) * (size_t)(mesh.vertex_count * argc));
    if (!fixed) return fail(argv[1], "out of memory");
    for (i = 4; i < argc; i++)
        if (!option(&d, &scale, argv[i], &mesh, fixed)) return usage();
    for (i = 0; i < 3 * mesh.vertex_count; i++) mesh.vertices[i] *= (csim_real)scale;
    d.vertices = mesh.vertices;
    d.vertex_count = mesh.vertex_count;
    d.tets = mesh.tets;
    d.tet_count = mesh.tet_count;
    if (modes_create(&d, NULL, &m, &e) != CSIM_OK) return fail(argv[1], e.text);
    f = fopen(argv[3], "wb");
    if (!f || fwrite(m, 1, csim_modes_bytes(m), f) != csim_modes_bytes(m) || fclose(f) != 0)
        return fail(argv[3], "cannot be written");
    tell(m);
    modes_destroy(m, NULL);
    csim_mesh_free(&mesh);
    free(fixed);
    return 0;
}
