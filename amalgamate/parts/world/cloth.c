/* world/cloth: making cloth. */
#include "private.h"

CSIM_API csim_cloth_def csim_default_cloth_def(void) {
    CSIMI_BLANK(csim_cloth_def, d);
    d.pose = csim_pose_identity();
    d.scale = 1;
    d.young = CSIM_R(1e6);
    d.poisson = CSIM_R(0.3);
    d.thickness = CSIM_R(1e-3);
    d.density = 500;
    d.bending = -1;
    d.stiffness_damping = CSIM_R(1e-3);
    d.edge_contact = true;
    d.surface = csim_default_surface_def();
    return d;
}

/* ---- checks */

static csim_status csimi_check_cloth_mesh(csim_world *w, const csim_cloth_def *def) {
    static const char fn[] = "csim_create_cloth";
    int i;
    if (def->vertex_count < 3 || def->vertex_count > 20000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertex_count", (double)def->vertex_count, "3..2e7");
    if (def->triangle_count < 1 || def->triangle_count > 40000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "triangle_count", (double)def->triangle_count, "1..4e7");
    if (!def->vertices || !def->triangles)
        return csimi_missing(&w->error, fn, def->vertices ? "triangles" : "vertices");
    for (i = 0; i < 3 * def->vertex_count; i++)
        if (!csimi_finite(def->vertices[i]))
            return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, "vertices", (double)def->vertices[i], "finite numbers");
    for (i = 0; i < 3 * def->triangle_count; i++)
        if (def->triangles[i] < 0 || def->triangles[i] >= def->vertex_count)
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "triangles", (double)def->triangles[i],
                              "0..vertex_count - 1");
    return csimi_check_mesh_choices(w, fn, def->fixed, def->fixed_count, def->vertex_count, def->aggregates);
}

static csim_status csimi_check_cloth(csim_world *w, const csim_cloth_def *def) {
    static const char fn[] = "csim_create_cloth";
    static const csimi_field fields[] = {
        CSIMI_POSITIVE(csim_cloth_def, scale), CSIMI_ANY3(csim_cloth_def, velocity),
        CSIMI_POSITIVE(csim_cloth_def, young),
        CSIMI_FIELD("poisson", offsetof(csim_cloth_def, poisson), -1, 0.5, true, true, "above -1, below 0.5"),
        CSIMI_FIELD("thickness", offsetof(csim_cloth_def, thickness), 0, 1e3, true, false, "above 0, at most 1000"),
        CSIMI_POSITIVE(csim_cloth_def, density),
        CSIMI_WITHIN(csim_cloth_def, bending, -1e15, 1e15, "below 0 (from thickness) or 0..1e15"),
        CSIMI_AT_LEAST_0(csim_cloth_def, mass_damping), CSIMI_AT_LEAST_0(csim_cloth_def, stiffness_damping),
        CSIMI_AT_LEAST_0(csim_cloth_def, self_distance)};
    csim_status s;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_cloth_def()", def->guard)) != 0) return s;
    if ((s = csimi_check_pose(&w->error, fn, "pose", def->pose)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
    if (def->material != CSIM_COROTATIONAL && def->material != CSIM_ST_VENANT_KIRCHHOFF)
        return csimi_unfit(&w->error, fn, "material", (double)def->material,
                           "CSIM_COROTATIONAL or CSIM_ST_VENANT_KIRCHHOFF");
    return csimi_check_cloth_mesh(w, def);
}

/* ---- the mesh */

typedef struct csimi_cloth_work {
    csim_real *x, *mass;
    int *beyond, *pairs, *row, *col, *diag, *aggregate, *count, *ints;
} csimi_cloth_work;

enum { CSIMI_CLOTH_PAIRS = 15 }; /* of six nodes */

static void csimi_cloth_work_layout(csimi_cloth_work *m, int nodes, int triangles, csimi_arena *arena) {
    size_t n = (size_t)nodes, t = (size_t)triangles, ints = n + 3 * t;
    size_t pattern = csimi_pattern_scratch(nodes, CSIMI_CLOTH_PAIRS * triangles);
    if (csimi_aggregate_scratch(nodes) > ints) ints = csimi_aggregate_scratch(nodes);
    if (pattern > ints) ints = pattern;
    m->x = CSIMI_PUSH(arena, csim_real, 3 * n);
    m->mass = CSIMI_PUSH(arena, csim_real, n);
    m->beyond = CSIMI_PUSH(arena, int, 3 * t);
    m->pairs = CSIMI_PUSH(arena, int, 2 * CSIMI_CLOTH_PAIRS * t);
    m->row = CSIMI_PUSH(arena, int, n + 1);
    m->col = CSIMI_PUSH(arena, int, 2 * CSIMI_CLOTH_PAIRS * t + n);
    m->diag = CSIMI_PUSH(arena, int, n);
    m->aggregate = CSIMI_PUSH(arena, int, n);
    m->count = CSIMI_PUSH(arena, int, n + 1);
    m->ints = CSIMI_PUSH(arena, int, ints);
}

CSIMI_FN size_t csimi_cloth_scratch(const csimi_counts *n) {
    csimi_cloth_work work;
    csimi_arena arena = csimi_arena_counting();
    csimi_cloth_work_layout(&work, n->membranes > 0 ? n->nodes : 0, n->membranes, &arena);
    return arena.used;
}

/* Shapes, areas, masses and neighbours into the scratch and behind the counts. */
static csim_status csimi_study_triangles(csim_world *w, const csim_cloth_def *def, csimi_cloth_work *m) {
    static const char fn[] = "csim_create_cloth";
    csimi_store *s = &w->store;
    int i, k, bad, nv = def->vertex_count, nt = def->triangle_count;
    for (i = 0; i < 3 * nv; i++) m->x[i] = def->scale * def->vertices[i];
    for (i = 0; i < nv; i++) m->mass[i] = 0;
    for (i = 0; i < nt; i++) {
        const int *t = def->triangles + 3 * i;
        csim_real area = 0;
        if (!csimi_membrane_prepare(m->x + 3 * t[0], m->x + 3 * t[1], m->x + 3 * t[2],
                                    s->state.membrane_shape + 4 * (s->count.membranes + i), &area))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "triangles: index of a flat triangle", (double)i,
                              "no flat triangles");
        s->state.membrane_data[4 * (s->count.membranes + i)] = area * def->thickness;
        area *= def->thickness * def->density / 3;
        if (!csimi_weighs((double)area))
            return csimi_unfit(&w->error, fn, "density: a third of the mass of a triangle", (double)area, CSIMI_MASSES);
        for (k = 0; k < 3; k++) m->mass[t[k]] += area;
    }
    for (i = 0; i < nv; i++)
        if (!(m->mass[i] > 0))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertices: isolated vertex", (double)i,
                              "every vertex used by a triangle");
    if ((bad = csimi_cloth_neighbours(nv, nt, def->triangles, m->beyond, m->ints)) >= 0)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn,
                          "triangles: index of a flipped, repeated or third triangle at an edge", (double)bad,
                          "each edge in at most two triangles that run through it both ways");
    return CSIM_OK;
}

/* Graph and groups: what the matrix and the coarse correction need. */
static void csimi_study_graph(const csim_cloth_def *def, csimi_cloth_work *m, int *blocks, int *aggregates) {
    int i, a, b, pairs = 0, needed = 0, nv = def->vertex_count;
    for (i = 0; i < def->triangle_count; i++)
        for (a = 0; a < 6; a++)
            for (b = a + 1; b < 6; b++) {
                int p = a < 3 ? def->triangles[3 * i + a] : m->beyond[3 * i + a - 3];
                int q = b < 3 ? def->triangles[3 * i + b] : m->beyond[3 * i + b - 3];
                if (p < 0 || q < 0) continue;
                m->pairs[2 * pairs] = p;
                m->pairs[2 * pairs++ + 1] = q;
            }
    *blocks = csimi_pattern_build(nv, pairs, m->pairs, m->row, m->col, m->diag, 2 * pairs + nv, &needed, m->ints);
    *aggregates = csimi_aggregate(nv, m->row, m->col, m->x,
                                  def->aggregates ? csimi_imin(def->aggregates, nv) : csimi_default_aggregates(nv, 0),
                                  m->aggregate, m->ints);
}

/* ---- writing */

static void csimi_write_triangles(csimi_store *s, const csim_cloth_def *def, const csimi_cloth_work *m, int first) {
    csim_real mu = def->young / (2 * (1 + def->poisson));
    csim_real plane = def->young * def->poisson / (1 - def->poisson * def->poisson); /* 2 mu lambda / (lambda + 2 mu) */
    csim_real rigidity = def->bending >= 0 ? def->bending
                                           : def->young * def->thickness * def->thickness * def->thickness /
                                                 (12 * (1 - def->poisson * def->poisson));
    const int *internal = s->node_of_user + first;
    int i, k;
    for (i = 0; i < def->triangle_count; i++) {
        int t = s->count.membranes + i;
        csim_real *data = s->state.membrane_data + 4 * t;
        for (k = 0; k < 3; k++) {
            int beyond = m->beyond[3 * i + k];
            s->state.membrane[3 * t + k] = first + internal[def->triangles[3 * i + k]];
            s->state.membrane_beyond[3 * t + k] = beyond < 0 ? -1 : first + internal[beyond];
            s->triangle[3 * (s->count.triangles + i) + k] = def->triangles[3 * i + k];
        }
        csimi_fold_prepare(s->state.membrane_shape + 4 * t, data[0] / def->thickness, m->beyond + 3 * i, rigidity,
                           def->poisson, s->state.membrane_fold + 9 * t);
        csimi_fold_rest(&s->state, t);
        data[1] = mu;
        data[2] = plane;
        data[3] = def->stiffness_damping;
        s->state.membrane_material[t] = (unsigned char)def->material;
    }
}

static void csimi_write_cloth_nodes(csimi_store *s, const csim_cloth_def *def, const csimi_cloth_work *m, int slot) {
    int i, first = s->count.nodes;
    csim_pose pose = def->pose;
    pose.rotation = csim_quat_normalize(pose.rotation);
    for (i = 0; i < def->vertex_count; i++) {
        csimi_write_node(s, first + s->node_of_user[first + i], csim_pose_point(pose, csimi_load3(m->x + 3 * i)),
                         def->velocity, m->mass[i], def->mass_damping, CSIM_DYNAMIC, slot);
        s->surface_node[s->count.surface + i] = first + s->node_of_user[first + i];
    }
    for (i = 0; i < def->fixed_count; i++) csimi_fix_node(s, first + s->node_of_user[first + def->fixed[i]]);
}

CSIM_API csim_status csim_create_cloth(csim_world *w, const csim_cloth_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_cloth";
    csimi_counts need;
    csimi_store *s;
    csimi_cloth_work work;
    csimi_arena arena;
    csimi_body *b;
    int slot, first, pass, i, blocks = 0, aggregates = 0;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_cloth(w, def)) != 0) return status;
    s = &w->store;
    need = csimi_counts_with_body(w);
    need.nodes += def->vertex_count;
    need.surface += def->vertex_count;
    need.triangles += def->triangle_count;
    need.membranes += def->triangle_count;
    for (pass = 0; pass < 2; pass++) { /* room to study the mesh, then room for what the study found */
        if ((status = csimi_make_room(w, need, fn)) != 0) return status;
        arena = csimi_arena_in(s->scratch, s->scratch_bytes);
        csimi_cloth_work_layout(&work, def->vertex_count, def->triangle_count, &arena);
        if (arena.overflow)
            return csimi_fail(&w->error, CSIM_CAPACITY, fn, "scratch", (double)arena.used, "a larger block");
        if ((status = csimi_study_triangles(w, def, &work)) != 0) return status;
        csimi_study_graph(def, &work, &blocks, &aggregates);
        need.matrix_blocks = s->count.matrix_blocks + blocks;
        need.aggregates = s->count.aggregates + aggregates;
    }
    first = s->count.nodes;
    slot = csimi_take_body(w, CSIM_BODY_CLOTH, CSIM_DYNAMIC, &def->surface, def->user_data);
    b = s->body + slot;
    b->node_count = b->surface_count = def->vertex_count;
    b->triangle_count = b->membrane_count = def->triangle_count;
    b->matrix_blocks = blocks;
    b->aggregate_count = aggregates;
    b->radius = def->thickness / 2;
    csimi_order_nodes(s, def->vertex_count, aggregates, work.aggregate, work.count);
    csimi_write_cloth_nodes(s, def, &work, slot);
    csimi_write_triangles(s, def, &work, first);
    for (i = 0; i < def->vertex_count; i++) work.count[i] = i; /* every vertex is on the surface */
    csimi_write_surface(s, slot, work.x, work.count, work.pairs, (uint64_t *)(void *)work.col);
    b->corner_contact = def->corner_contact;
    b->edge_contact = def->edge_contact;
    if (def->self_collision)
        b->self_distance = def->self_distance > 0 ? def->self_distance
                                                  : csimi_max(b->edge, 2 * def->thickness + 4 * def->surface.thickness);
    s->count.nodes += def->vertex_count;
    s->count.surface += def->vertex_count;
    s->count.triangles += def->triangle_count;
    s->count.membranes += def->triangle_count;
    s->count.matrix_blocks += blocks;
    s->count.aggregates += aggregates;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}
