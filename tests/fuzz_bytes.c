/* fuzz_bytes: files, snapshots, models, fields and problems with damage in them, under a watcher (AddressSanitizer,
   UndefinedBehaviorSanitizer). What is refused leaves no trace and says why; what is taken can be used.

       fuzz_bytes FORMAT [seconds] [seed] [file...]      FORMAT: snapshot gmsh vtk vtu tetgen obj urdf modes field
   problem fc3d, or all, which shares the seconds out Files are inputs to begin with (tests/corpus/FORMAT); snapshots,
   models, fields and problems are made here. The same seed gives the same inputs. A file is tried as it is when seconds
   is 0. The last line is "N passed, N failed". */
#define _POSIX_C_SOURCE 200809L
#define CONDSIM_IMPLEMENTATION
#define CONDSIM_REFERENCE /* the sparse factor, for the tool that makes modes */
#define CSIMI_KEEP_MACROS
#include "../condsim.h"
#include "../examples/modes/modes.c"
#include "../examples/fc3d/problem.c"
#include "hostile_world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SEEDS = 64, LONGEST = 1 << 16 };

static uint64_t state;
static uint32_t draw(void) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}
static int below(int n) { return (int)(draw() % (uint32_t)n); }

static struct {
    unsigned char *bytes;
    size_t size;
} seeds[SEEDS];
static int seed_count;
static long tried, taken, failed;

static void complain(const char *what, const char *more) {
    if (++failed < 20) printf("FAILED: %s: %s\n", what, more);
}

/* ---- damage */

static int hostile_int(void) {
    static const int some[] = {0,   1,     -1,    2,       7,         127,        255,
                               256, 65535, 65536, 1000000, 100000000, 0x7fffffff, -0x7fffffff};
    return below(4) ? some[below(14)] : (int)draw();
}

static double hostile_real(void) {
    static const double some[] = {0, -0.0, 1, -1, 1e-300, 1e300, -1e300, 1e-30, 1e30, 1e9, 1e18, 0.5, 3, -7};
    const double zero = 0;
    switch (below(8)) {
    case 0: return zero / zero;
    case 1: return 1 / zero;
    case 2: return -1 / zero;
    default: return some[below(14)];
    }
}

/* One change to bytes that are records of numbers. */
static void damage_binary(unsigned char *p, size_t size) {
    const size_t at = (size_t)(((uint64_t)draw() << 31 | draw()) % size);
    const int x = hostile_int();
    const double y = hostile_real();
    const float z = (float)y;
    switch (below(7)) {
    case 0: p[at] ^= (unsigned char)(1 << below(8)); break;
    case 1: p[at] = (unsigned char)draw(); break;
    case 2:
        if (size >= 8) memcpy(p + at / 8 * 8 % (size - 7), &y, 8);
        break;
    case 3:
        if (size >= 4) memcpy(p + at / 4 * 4 % (size - 3), &z, 4);
        break;
    case 4: { /* an int a little off */
        int old;
        unsigned char *to = p + at / 4 * 4 % (size >= 4 ? size - 3 : 1);
        if (size < 4) break;
        memcpy(&old, to, 4);
        old = (int)((unsigned)old + (unsigned)below(5) - 2u);
        memcpy(to, &old, 4);
        break;
    }
    default:
        if (size >= 4) memcpy(p + at / 4 * 4 % (size - 3), &x, 4);
    }
}

/* One change to a text of at most LONGEST bytes; returns the new size. */
static size_t damage_text(unsigned char *p, size_t size) {
    static const char *const words[] = {"0",
                                        "-1",
                                        "1",
                                        "2147483647",
                                        "-2147483648",
                                        "99999999999999999999",
                                        "1e308",
                                        "1e-308",
                                        "nan",
                                        "inf",
                                        "$Elements",
                                        "$EndNodes",
                                        "CELLS",
                                        "POINTS",
                                        "<",
                                        ">",
                                        "/>",
                                        "\"",
                                        "\n",
                                        " ",
                                        "f",
                                        "v",
                                        "<link name=\"a\"/>",
                                        "<Piece ",
                                        "</Piece>",
                                        "1/2/3",
                                        "\\\n",
                                        "BINARY",
                                        "#",
                                        "\xff"};
    const size_t at = size ? (size_t)draw() % size : 0;
    size_t count = size ? (size_t)below(size - at > 64 ? 64 : (int)(size - at) + 1) : 0, end, n;
    char text[32];
    const char *word;
    switch (below(6)) {
    case 0:
        if (size) p[at] = (unsigned char)draw();
        return size;
    case 1: /* away */ memmove(p + at, p + at + count, size - at - count); return size - count;
    case 2: /* twice */
        if (size + count > LONGEST) return size;
        memmove(p + at + count, p + at, size - at);
        return size + count;
    case 3: /* another number for one that is there */
        for (n = at; n < size && !(p[n] >= '0' && p[n] <= '9'); n++) {
        }
        for (end = n; end < size && ((p[end] >= '0' && p[end] <= '9') || p[end] == '.' || p[end] == 'e'); end++) {
        }
        sprintf(text, below(2) ? "%d" : "%.3g", hostile_int(), hostile_real());
        if (below(2)) sprintf(text, "%d", below(12));
        count = strlen(text);
        if (size - (end - n) + count > LONGEST) return size;
        memmove(p + n + count, p + end, size - end);
        memcpy(p + n, text, count);
        return size - (end - n) + count;
    case 4: { /* a piece of another one */
        const int other = below(seed_count);
        const size_t from = seeds[other].size ? (size_t)draw() % seeds[other].size : 0;
        count =
            seeds[other].size - from > 200 ? (size_t)below(200) : (size_t)below((int)(seeds[other].size - from) + 1);
        if (size + count > LONGEST) return size;
        memmove(p + at + count, p + at, size - at);
        memcpy(p + at, seeds[other].bytes + from, count);
        return size + count;
    }
    default:
        word = words[below((int)(sizeof words / sizeof words[0]))];
        count = strlen(word);
        if (size + count > LONGEST) return size;
        memmove(p + at + count, p + at, size - at);
        memcpy(p + at, word, count);
        return size + count;
    }
}

/* ---- texts. Inputs lie in memory of their exact size, so that a byte beyond them is seen. */

static void use_mesh(const csim_mesh *m) {
    csim_error error;
    csim_mesh_report report;
    int *index = (int *)malloc(sizeof(int) * (size_t)(m->vertex_count + 1)), i;
    csim_mesh copy = *m;
    for (i = 0; i < 4 * m->tet_count; i++)
        if (m->tets[i] < 0 || m->tets[i] >= m->vertex_count) complain("a tet", "out of range");
    for (i = 0; i < 3 * m->triangle_count; i++)
        if (m->triangles[i] < 0 || m->triangles[i] >= m->vertex_count) complain("a triangle", "out of range");
    if (csim_mesh_check(m, NULL, 0, &report, &error) == CSIM_OK && m->tet_count > 0) {
        csim_world_def def = csim_default_world_def();
        csim_soft_def soft = csim_default_soft_def();
        csim_world *w = NULL;
        csim_body_id id;
        soft.vertices = m->vertices;
        soft.vertex_count = m->vertex_count;
        soft.tets = m->tets;
        soft.tet_count = m->tet_count;
        def.solver.max_iterations = 5;
        if (csim_create_world(&def, &w, NULL) == CSIM_OK) {
            if (csim_create_soft(w, &soft, &id) == CSIM_OK) (void)csim_world_step(w, CSIM_R(0.001));
            csim_destroy_world(w);
        }
    }
    (void)csim_mesh_compact(&copy, index);
    free(index);
}

static void try_mesh(const unsigned char *text, size_t size, csim_mesh_format format) {
    csim_mesh mesh;
    csim_error error;
    const csim_status status = csim_mesh_load_text((const char *)text, size, format, NULL, &mesh, &error);
    if (status == CSIM_OK) {
        taken++;
        use_mesh(&mesh);
    } else if (!error.text[0] || mesh.vertices || mesh.block) {
        complain("a mesh", "refused without a sentence, or something of it is left");
    }
    csim_mesh_free(&mesh);
}

/* Two texts in one, a form feed between them. */
static void try_tetgen(const unsigned char *text, size_t size) {
    const unsigned char *cut = (const unsigned char *)memchr(text, '\f', size);
    const size_t first = cut ? (size_t)(cut - text) : size;
    csim_mesh mesh;
    csim_error error;
    if (csim_mesh_load_tetgen((const char *)text, first, (const char *)text + (cut ? first + 1 : size),
                              cut ? size - first - 1 : 0, NULL, &mesh, &error) == CSIM_OK) {
        taken++;
        use_mesh(&mesh);
    } else if (!error.text[0]) {
        complain("tetgen", "refused without a sentence");
    }
    csim_mesh_free(&mesh);
}

static void try_urdf(const unsigned char *text, size_t size) {
    csim_urdf robot;
    csim_urdf_options options = {false, false};
    csim_error error;
    options.floating = size % 2 != 0;
    if (csim_urdf_load_text((const char *)text, size, &options, NULL, &robot, &error) == CSIM_OK) {
        csim_world_def def = csim_default_world_def();
        csim_world *w = NULL;
        csim_body_id id;
        taken++;
        def.solver.max_iterations = 5;
        if (csim_create_world(&def, &w, NULL) == CSIM_OK) {
            if (csim_create_tree(w, &robot.def, &id) == CSIM_OK) (void)csim_world_step(w, CSIM_R(0.001));
            csim_destroy_world(w);
        }
    } else if (!error.text[0] || robot.block) {
        complain("urdf", "refused without a sentence, or something of it is left");
    }
    csim_urdf_free(&robot);
}

static void try_fc3d(const unsigned char *text, size_t size) {
    static char path[64];
    fc3d_problem p;
    FILE *f;
    if (!path[0]) {
        int fd;
        strcpy(path, "/tmp/condsim-fuzz-XXXXXX");
        fd = mkstemp(path);
        if (fd >= 0) close(fd);
    }
    f = fopen(path, "wb");
    if (!f) return;
    fwrite(text, 1, size, f);
    fclose(f);
    if (fc3d_read(path, &p)) {
        double *r = (double *)calloc(3 * (size_t)p.nc, sizeof(double)),
               *u = (double *)calloc(3 * (size_t)p.nc, sizeof(double));
        taken++;
        fc3d_velocity(&p, r, u);
        free(r);
        free(u);
    } else if (!p.error[0]) {
        complain("fc3d", "refused without a sentence");
    }
    fc3d_free(&p);
    remove(path);
}

/* ---- snapshots */

static void seal(unsigned char *bytes, size_t size) {
    const size_t at = offsetof(csimi_snapshot_header, hash);
    uint64_t hash = 0;
    memcpy(bytes + at, &hash, sizeof hash);
    hash = csimi_fnv(CSIMI_FNV_START, bytes, size);
    memcpy(bytes + at, &hash, sizeof hash);
}

/* What a restored world is asked: steps, getters, removals in some order. */
static void use_world(csim_world *w) {
    csim_body_id ids[16];
    csim_pose pose;
    csim_vec3 v, o;
    csim_joint_state joint;
    int i, n = csim_world_bodies(w, ids, 16), k;
    for (i = 0; i < 2; i++) (void)csim_world_step(w, CSIM_R(0.002));
    (void)csim_world_totals(w);
    for (i = 0; i < n && i < 16; i++) {
        (void)csim_body_get_pose(w, ids[i], &pose);
        (void)csim_body_get_velocity(w, ids[i], &v, &o);
    }
    for (i = 0; i < hostile.links; i++) (void)csim_joint_get(w, hostile.link[i], &joint);
    for (k = below(4); k > 0 && n > 0; k--) {
        (void)csim_destroy_body(w, ids[below(n > 16 ? 16 : n)]);
        (void)csim_destroy_link(w, hostile.link[below(hostile.links)]);
        (void)csim_world_step(w, CSIM_R(0.002));
    }
}

static void *small_alloc(void *user, size_t size, size_t align) {
    void *p = NULL;
    (void)user;
    return size > (size_t)1 << 28 || posix_memalign(&p, align < 64 ? 64 : align, size) ? NULL : p;
}
static void small_free(void *user, void *block, size_t size) {
    (void)user;
    (void)size;
    free(block);
}

static void try_snapshot(unsigned char *bytes, size_t size) {
    csimi_snapshot_header h;
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    unsigned char *before = NULL, *after = NULL;
    size_t n = 0, m = 0;
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape = csim_field_shape(hostile.field);
    csim_body_id id;
    csim_status status;
    if (size >= sizeof h) memcpy(&h, bytes, sizeof h);
    if (size >= sizeof h && h.bytes == size && below(8)) { /* forged: with the checksum of what it has become */
        h.hash = csimi_snapshot_hash(&h, bytes, false);
        memcpy(bytes, &h, sizeof h);
    }
    def.solver.max_iterations = 4;
    def.allocator.alloc = small_alloc;
    def.allocator.free = small_free;
    if (csim_create_world(&def, &w, NULL) != CSIM_OK) return;
    d.shapes = &shape;
    d.shape_count = 1;
    (void)csim_create_rigid(w, &d, &id); /* so that its field is known */
    (void)csim_world_save(w, NULL, &n);
    before = (unsigned char *)malloc(n);
    (void)csim_world_save(w, before, &n);
    status = csim_world_restore(w, bytes, size);
    if (status == CSIM_OK) {
        taken++;
        w->stamp = hostile.body[0].world; /* ids of the world that was saved */
        use_world(w);
    } else {
        (void)csim_world_save(w, NULL, &m);
        after = (unsigned char *)malloc(m);
        (void)csim_world_save(w, after, &m);
        if (n != m || memcmp(before, after, n) != 0) complain("a refused snapshot", "changed the world");
        if (!csim_last_error(w)[0]) complain("a snapshot", "refused without a sentence");
    }
    free(before);
    free(after);
    csim_destroy_world(w);
}

/* ---- models and fields */

static void try_modes(unsigned char *bytes, size_t size) {
    const csim_modes *m = NULL;
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    csim_reduced_def r = csim_default_reduced_def();
    csim_body_id id;
    size_t full;
    if (size >= sizeof(csim_modes)) {
        csim_modes h;
        memcpy(&h, bytes, sizeof h);
        if (h.modes >= 1 && h.modes <= CSIM_MODES_MOST && h.vertex_count >= 0 && h.vertex_count < 1000 &&
            h.triangle_count >= 0 && h.triangle_count < 1000) {
            full = csim_modes_bytes((const csim_modes *)(const void *)bytes);
            if (full == size) {
                h.hash = csimi_modes_hash((const csim_modes *)(const void *)bytes);
                memcpy(bytes, &h, sizeof h);
            }
        }
    }
    if (csim_open_modes(bytes, size, &m, NULL) != CSIM_OK) return;
    taken++;
    def.solver.max_iterations = 5;
    if (csim_create_world(&def, &w, NULL) != CSIM_OK) return;
    (void)csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.6), &id);
    r.modes = m;
    if (csim_create_reduced(w, &r, &id) == CSIM_OK) (void)csim_world_step(w, CSIM_R(0.002));
    csim_destroy_world(w);
}

static void try_field(unsigned char *bytes, size_t size) {
    const csim_field *f = NULL;
    csim_field h;
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    csim_rigid_def d = csim_default_rigid_def();
    csim_particle_def p = csim_default_particle_def();
    csim_shape shape;
    csim_body_id id;
    if (size >= sizeof h) {
        memcpy(&h, bytes, sizeof h);
        if (h.bytes <= size && h.bytes > sizeof h) {
            const size_t from = offsetof(csim_field, hash) + sizeof h.hash;
            h.hash = csimi_fnv(CSIMI_FNV_START, bytes + from, (size_t)h.bytes - from);
            memcpy(bytes, &h, sizeof h);
        }
    }
    if (csim_open_field(bytes, size, &f, NULL) != CSIM_OK) return;
    taken++;
    def.solver.max_iterations = 5;
    if (csim_create_world(&def, &w, NULL) != CSIM_OK) return;
    shape = csim_field_shape(f);
    d.shapes = &shape;
    d.shape_count = 1;
    d.motion = CSIM_STATIC;
    p.position = csim_v3(CSIM_R(0.1), CSIM_R(0.05), CSIM_R(0.1));
    p.radius = CSIM_R(0.05);
    if (csim_create_rigid(w, &d, &id) == CSIM_OK && csim_create_particle(w, &p, &id) == CSIM_OK) {
        shape = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
        d.motion = CSIM_DYNAMIC;
        (void)csim_create_rigid(w, &d, &id);
        (void)csim_world_step(w, CSIM_R(0.002));
    }
    csim_destroy_world(w);
}

/* ---- bare problems: all arrays in one run of bytes, every array in memory of its own size when it is tried */

typedef struct bare {
    int n, stored, contacts, terms, aggregates, bodies, elastic;
} bare;

enum { BARE_ARRAYS = 17 };

/* Sizes of the arrays in the order in which they lie. */
static void bare_sizes(const bare *b, size_t *size) {
    const size_t n = (size_t)b->n, real = sizeof(csim_real);
    size[0] = (n + 1) * sizeof(int);
    size[1] = (size_t)b->stored * sizeof(int);
    size[2] = n * sizeof(int);
    size[3] = 9 * (size_t)b->stored * real;
    size[4] = 3 * n * real;
    size[5] = (size_t)b->contacts * sizeof(csim_contact);
    size[6] = (size_t)b->terms * sizeof(csim_term);
    size[7] = n * sizeof(int);
    size[8] = 3 * n * real;
    size[9] = (size_t)b->aggregates * real;
    size[10] = 3 * (size_t)b->aggregates * real;
    size[11] = n;
    size[12] = ((size_t)b->bodies + 1) * sizeof(int);
    size[13] = (size_t)b->elastic * sizeof(csim_elastic);
    size[14] = 2 * sizeof(int);
    size[15] = 8 * sizeof(int);
    size[16] = sizeof(csim_problem_size);
}

static void try_problem(const unsigned char *bytes, size_t size) {
    csim_problem p;
    csim_structure s;
    csim_solution x = csim_solution_of(NULL, NULL);
    csim_outcome out;
    csim_error error;
    csim_certificate certificate;
    csim_problem_size need;
    csim_solver_params params = csim_default_solver_params();
    void *a[BARE_ARRAYS], *work;
    size_t each[BARE_ARRAYS], at = sizeof(bare), room;
    bare b;
    int k;
    memcpy(&b, bytes, sizeof b);
    bare_sizes(&b, each);
    memset(&p, 0, sizeof p);
    memset(&s, 0, sizeof s);
    for (k = 0; k < BARE_ARRAYS; k++) {
        a[k] = malloc(each[k] + (each[k] == 0));
        if (at + each[k] <= size) memcpy(a[k], bytes + at, each[k]);
        at += each[k];
    }
    p.A.n = b.n;
    p.A.row = (int *)a[0];
    p.A.col = (int *)a[1];
    p.A.diag = (int *)a[2];
    p.A.val = (csim_real *)a[3];
    p.b = (csim_real *)a[4];
    p.contacts = (csim_contact *)a[5];
    p.contact_count = b.contacts;
    p.terms = (csim_term *)a[6];
    p.term_count = b.terms;
    p.theta = 1;
    s.aggregate_count = b.aggregates;
    s.aggregate = (int *)a[7];
    s.offset = (csim_real *)a[8];
    s.radius = (csim_real *)a[9];
    s.centre = (csim_real *)a[10];
    s.rotation = (unsigned char *)a[11];
    if (below(2)) s.body_count = b.bodies;
    s.body_first = (int *)a[12];
    if (below(4) == 0) s.elastic_count = b.elastic;
    s.elastic = (csim_elastic *)a[13];
    if (below(4) == 0) s.chain_count = 1;
    s.chain_first = (int *)a[14];
    s.chain_block = (int *)a[15];
    if (below(4)) p.structure = &s;
    /* the length of col and val is the caller's word: it is what row says */
    if (p.A.row[b.n] > b.stored || p.A.row[b.n] < 0) goto done;
    for (k = 0; k < b.n; k++)
        if (p.A.row[k] < 0 || p.A.row[k] > b.stored) goto done;
    if (s.chain_count && (s.chain_first[1] > 4 || s.chain_first[1] < 0)) goto done;
    for (k = 0; p.structure && k < b.bodies && s.body_count; k++)
        if (s.body_first[k] < 0) goto done;
    need = csim_problem_measure(&p);
    params.solver = below(2) ? CSIM_SOLVER_AUTO : (csim_solver)below(CSIM_SOLVER_COUNT_);
    params.max_iterations = 1 + below(8);
    params.impulse.by_impulse = !below(6);
    room = csim_solver_bytes(&need, &params);
    if (room > (size_t)1 << 27) goto done;
    work = malloc(room + 64);
    x.v = (csim_real *)calloc(3 * (size_t)b.n + 1, sizeof(csim_real));
    x.lambda = (csim_real *)calloc(3 * (size_t)b.contacts + 1, sizeof(csim_real));
    if (csim_problem_solve(&p, &params, work, room, NULL, &x, &out, &error) == CSIM_OK) {
        if (out.result != CSIM_RESULT_NOT_FINITE) taken++;
    } else if (!error.text[0]) {
        complain("a problem", "refused without a sentence");
    }
    free(work);
    room = csim_certificate_bytes(b.n, b.contacts);
    work = malloc(room + 64);
    (void)csim_problem_certify(&p, x.v, x.lambda, work, room + 64, &certificate);
    free(work);
    free(x.v);
    free(x.lambda);
done:
    for (k = 0; k < BARE_ARRAYS; k++) free(a[k]);
}

/* A chain of coupled rigid bodies in contact with the ground and each other. */
static unsigned char *make_problem(int bodies, size_t *size) {
    bare b;
    size_t each[BARE_ARRAYS], at = sizeof b;
    unsigned char *p, *a[BARE_ARRAYS];
    int i, k, q;
    b.n = 2 * bodies;
    b.stored = 4 * bodies;
    b.contacts = bodies + 2;
    b.terms = 4 * b.contacts;
    b.aggregates = bodies;
    b.bodies = bodies;
    b.elastic = 2;
    bare_sizes(&b, each);
    for (*size = at, k = 0; k < BARE_ARRAYS; k++) *size += each[k];
    p = (unsigned char *)calloc(*size, 1);
    memcpy(p, &b, sizeof b);
    for (k = 0; k < BARE_ARRAYS; k++) a[k] = p + at, at += each[k];
#define PUT(array, type, i, x)                                           \
    {                                                                    \
        type put = (type)(x);                                            \
        memcpy(a[array] + sizeof(type) * (size_t)(i), &put, sizeof put); \
    }
    for (i = 0; i <= b.n; i++) PUT(0, int, i, 2 * i)
    for (i = 0; i < b.n; i++) {
        PUT(1, int, 2 * i, i / 2 * 2)
        PUT(1, int, 2 * i + 1, i / 2 * 2 + 1)
        PUT(2, int, i, 2 * i + i % 2)
        for (k = 0; k < 9; k += 4) PUT(3, csim_real, 9 * (2 * i + i % 2) + k, i % 2 ? 0.1 : 1)
        PUT(7, int, i, i / 2)
        a[11][i] = (unsigned char)(i % 2);
    }
    for (i = 0; i < bodies; i++) PUT(9, csim_real, i, 0.3)
    for (i = 0; i <= bodies; i++) PUT(12, int, i, 2 * i)
    for (i = 0; i < b.contacts; i++) {
        csim_contact c;
        memset(&c, 0, sizeof c);
        c.law = (csim_law)(i % CSIM_LAW_COUNT_);
        c.R[0] = c.R[4] = c.R[8] = 1;
        c.phi[0] = CSIM_R(-0.1);
        c.mu[0] = c.mu[1] = CSIM_R(0.5);
        c.omega[0] = c.omega[1] = CSIM_R(0.1);
        c.hi[0] = c.hi[1] = c.hi[2] = 1;
        c.mask = 7;
        c.a.first = 4 * i;
        c.a.count = 2;
        c.b.first = 4 * i + 2;
        c.b.count = i % 2 ? 2 : 0;
        memcpy(a[5] + sizeof c * (size_t)i, &c, sizeof c);
        for (k = 0; k < 4; k++) {
            csim_term t;
            memset(&t, 0, sizeof t);
            t.block = (2 * ((i + k / 2) % bodies) + k % 2) % b.n;
            for (q = 0; q < 9; q++)
                t.J[q] = k % 2 ? CSIM_R(0.2) * (csim_real)(q % 3 == (q / 3 + 1) % 3) : (csim_real)(q % 4 == 0);
            memcpy(a[6] + sizeof t * (size_t)(4 * i + k), &t, sizeof t);
        }
    }
    PUT(14, int, 1, 2)
    for (i = 0; i < 8; i++) PUT(15, int, i, i < b.n ? i : -1)
    for (i = 0; i < b.elastic; i++) {
        csim_elastic e;
        memset(&e, 0, sizeof e);
        e.count = 2;
        for (k = 0; k < 2; k++) {
            e.term[k].block = 2 * (i + k) % b.n;
            for (q = 0; q < 9; q += 4) e.term[k].J[q] = k ? -1 : 1;
        }
        for (q = 0; q < 9; q += 4) e.K[q] = CSIM_R(0.01);
        memcpy(a[13] + sizeof e * (size_t)i, &e, sizeof e);
    }
#undef PUT
    return p;
}

/* ---- running */

static void add_seed(const void *bytes, size_t size) {
    if (seed_count == SEEDS || size == 0) return;
    seeds[seed_count].bytes = (unsigned char *)malloc(size);
    memcpy(seeds[seed_count].bytes, bytes, size);
    seeds[seed_count++].size = size;
}

static void add_file(const char *path) {
    static unsigned char text[LONGEST];
    FILE *f = fopen(path, "rb");
    size_t got = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    if (!f) complain(path, "cannot be read");
    add_seed(text, got);
}

static void forget_seeds(void) {
    while (seed_count > 0) free(seeds[--seed_count].bytes);
}

typedef enum format { SNAPSHOT, GMSH, VTK, VTU, TETGEN, OBJ, URDF, MODES, FIELD, PROBLEM, FC3D, FORMATS } format;
static const char *const names[FORMATS] = {"snapshot", "gmsh",  "vtk",   "vtu",     "tetgen", "obj",
                                           "urdf",     "modes", "field", "problem", "fc3d"};

static void try_one(format f, const unsigned char *bytes, size_t size) {
    unsigned char *exact = (unsigned char *)malloc(size + (size == 0));
    memcpy(exact, bytes, size);
    tried++;
    switch (f) {
    case SNAPSHOT: try_snapshot(exact, size); break;
    case GMSH: try_mesh(exact, size, CSIM_MESH_GMSH); break;
    case VTK: try_mesh(exact, size, CSIM_MESH_VTK); break;
    case VTU: try_mesh(exact, size, CSIM_MESH_VTU); break;
    case OBJ: try_mesh(exact, size, CSIM_MESH_OBJ); break;
    case TETGEN: try_tetgen(exact, size); break;
    case URDF: try_urdf(exact, size); break;
    case MODES: try_modes(exact, size); break;
    case FIELD: try_field(exact, size); break;
    case PROBLEM: try_problem(exact, size); break;
    case FC3D: try_fc3d(exact, size); break;
    case FORMATS: break;
    }
    free(exact);
}

static void make_seeds(format f) {
    size_t size = 0;
    unsigned char *bytes;
    csim_world *w;
    int i;
    if (f == SNAPSHOT && (w = hostile_world()) != NULL) {
        (void)csim_world_save(w, NULL, &size);
        bytes = (unsigned char *)malloc(size);
        (void)csim_world_save(w, bytes, &size);
        add_seed(bytes, size);
        free(bytes);
        csim_destroy_world(w);
    }
    if (f == MODES) add_seed(hostile.modes, csim_modes_bytes(hostile.modes));
    if (f == FIELD) add_seed(hostile.field, csim_field_get_info(hostile.field).bytes);
    for (i = 1; f == PROBLEM && i < 6; i++) {
        bytes = make_problem(i, &size);
        add_seed(bytes, size);
        free(bytes);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fuzz(format f, double seconds, unsigned long seed) {
    const double start = now();
    const bool text = f == GMSH || f == VTK || f == VTU || f == TETGEN || f == OBJ || f == URDF || f == FC3D;
    static unsigned char work[1 << 20];
    const long before = tried, kept = taken;
    int i;
    uint64_t round = 0;
    make_seeds(f);
    if (seed_count == 0) complain(names[f], "nothing to begin with: name files of tests/corpus");
    for (i = 0; i < seed_count; i++) try_one(f, seeds[i].bytes, seeds[i].size);
    while (seed_count > 0 && now() - start < seconds) {
        size_t size;
        int changes;
        state = seed * 1000003u + round++;
        (void)draw();
        i = below(seed_count);
        size = seeds[i].size;
        memcpy(work, seeds[i].bytes, size);
        for (changes = 1 + below(below(4) ? 2 : 8); changes > 0; changes--) {
            if (text)
                size = damage_text(work, size);
            else
                damage_binary(work + (f == PROBLEM ? sizeof(bare) : 0), size - (f == PROBLEM ? sizeof(bare) : 0));
        }
        if (f == SNAPSHOT) seal(work, size);
        try_one(f, work, size);
    }
    printf("%-9s %8ld inputs, %ld taken\n", names[f], tried - before, taken - kept);
    fflush(stdout);
    forget_seeds();
}

int main(int argc, char **argv) {
    const double seconds = argc > 2 ? atof(argv[2]) : 5;
    const unsigned long seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    const bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    int f, i, found = 0;
    if (!hostile_make()) return printf("the model or the field cannot be made\n0 passed, 1 failed\n"), 1;
    for (f = 0; f < FORMATS && argc > 1; f++) {
        if (!all && strcmp(argv[1], names[f]) != 0) continue;
        for (i = 4; i < argc; i++) { /* of all files those in a folder of that name */
            const char *at = strstr(argv[i], names[f]);
            if (!all || (at && at > argv[i] && at[-1] == '/')) add_file(argv[i]);
        }
        fuzz((format)f, all ? seconds / FORMATS : seconds, seed);
        found++;
    }
    hostile_free();
    if (!found) printf("usage: fuzz_bytes FORMAT [seconds] [seed] [file...]\n");
    printf("%ld passed, %ld failed\n", tried - failed, failed + !found);
    return failed > 0 || !found;
}
