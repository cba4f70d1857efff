/* world/soft: making solids of tetrahedra, and what all bodies with a mesh share. */
#include "private.h"

#ifndef CONDSIM_NO_SOFT
/* Scratch while a mesh is looked at; all sizes linear. */
typedef struct csimi_mesh_work {
    csim_real *x, *density, *mass;
    int *triangles, *pairs, *row, *col, *diag, *aggregate, *count;
    int *ints; /* shared by surface, pattern, aggregates */
} csimi_mesh_work;

static void csimi_mesh_work_layout(csimi_mesh_work *m, int nodes, int tets, csimi_arena *arena) {
    size_t n = (size_t)nodes, t = (size_t)tets, ints = csimi_tet_surface_scratch(nodes, tets);
    size_t pattern = csimi_pattern_scratch(nodes, 6 * tets), groups = csimi_aggregate_scratch(nodes);
    if (pattern > ints) ints = pattern;
    if (groups > ints) ints = groups;
    if (16 * t + n + 1 > ints) ints = 16 * t + n + 1; /* two 64-bit keys for each of 4 triangles a tet */
    m->x = CSIMI_PUSH(arena, csim_real, 3 * n);
    m->density = CSIMI_PUSH(arena, csim_real, t);
    m->mass = CSIMI_PUSH(arena, csim_real, n);
    m->triangles = CSIMI_PUSH(arena, int, 12 * t);
    m->pairs = CSIMI_PUSH(arena, int, 12 * t);
    m->row = CSIMI_PUSH(arena, int, n + 1);
    m->col = CSIMI_PUSH(arena, int, 12 * t + n);
    m->diag = CSIMI_PUSH(arena, int, n);
    m->aggregate = CSIMI_PUSH(arena, int, n);
    m->count = CSIMI_PUSH(arena, int, n + 1);
    m->ints = CSIMI_PUSH(arena, int, ints);
}

CSIMI_FN size_t csimi_mesh_scratch(const csimi_counts *n) {
    csimi_mesh_work work;
    csimi_arena arena = csimi_arena_counting();
    csimi_mesh_work_layout(&work, n->tets > 0 ? n->nodes : 0, n->tets, &arena);
    return arena.used;
}
#endif

CSIMI_FN csim_status csimi_check_mesh_choices(csim_world *w, const char *fn, const int *fixed, int fixed_count,
                                              int vertex_count, int aggregates) {
    int i;
    if (fixed_count < 0 || (fixed_count > 0 && !fixed))
        return csimi_unfit(&w->error, fn, "fixed_count", (double)fixed_count, "0, or the length of fixed");
    for (i = 0; i < fixed_count; i++)
        if (fixed[i] < 0 || fixed[i] >= vertex_count)
            return csimi_unfit(&w->error, fn, "fixed", (double)fixed[i], "0..vertex_count - 1");
    if (aggregates < 0 || aggregates > 1000)
        return csimi_unfit(&w->error, fn, "aggregates", (double)aggregates, "0 (by size) or 1..1000");
    return CSIM_OK;
}

#ifndef CONDSIM_NO_SOFT
static csim_status csimi_check_soft(csim_world *w, const csim_soft_def *def) {
    static const char fn[] = "csim_create_soft";
    static const csimi_field fields[] = {
        CSIMI_POSITIVE(csim_soft_def, scale),
        CSIMI_ANY3(csim_soft_def, velocity),
        CSIMI_POSITIVE(csim_soft_def, young),
        CSIMI_FIELD("poisson", offsetof(csim_soft_def, poisson), -1, 0.5, true, true, "above -1, below 0.5"),
        CSIMI_POSITIVE(csim_soft_def, density),
        CSIMI_AT_LEAST_0(csim_soft_def, mass_damping),
        CSIMI_AT_LEAST_0(csim_soft_def, stiffness_damping),
        CSIMI_AT_LEAST_0(csim_soft_def, self_distance)};
    csim_status s;
    int i, k;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_soft_def()", def->guard)) != 0) return s;
    if ((s = csimi_check_pose(&w->error, fn, "pose", def->pose)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "material", (int)def->material, CSIM_MATERIAL_COUNT_)) != 0) return s;
    if (def->vertex_count < 4 || def->vertex_count > 20000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertex_count", (double)def->vertex_count, "4..2e7");
    if (def->tet_count < 1 || def->tet_count > 40000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tet_count", (double)def->tet_count, "1..4e7");
    if (!def->vertices || !def->tets) return csimi_missing(&w->error, fn, def->vertices ? "tets" : "vertices");
    if ((s = csimi_check_mesh_choices(w, fn, def->fixed, def->fixed_count, def->vertex_count, def->aggregates)) != 0)
        return s;
    for (i = 0; i < 3 * def->vertex_count; i++)
        if (!csimi_finite(def->vertices[i]))
            return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, "vertices", (double)def->vertices[i], "finite numbers");
    for (i = 0; i < 4 * def->tet_count; i++)
        if (def->tets[i] < 0 || def->tets[i] >= def->vertex_count)
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets", (double)def->tets[i], "0..vertex_count - 1");
    for (i = 0; def->tet_material && i < def->tet_count; i++)
        if ((s = csimi_check_enum(&w->error, fn, "tet_material", (int)def->tet_material[i], CSIM_MATERIAL_COUNT_)) != 0)
            return s;
    for (k = 0; k < 3; k++) {
        const csim_real *a = k == 0 ? def->tet_young : k == 1 ? def->tet_poisson : def->tet_density;
        static const char *const names[3] = {"tet_young", "tet_poisson", "tet_density"};
        for (i = 0; a && i < def->tet_count; i++)
            if (!csimi_finite(a[i]) || (k == 1 ? a[i] <= -1 || a[i] >= CSIM_R(0.5) : a[i] <= 0 || a[i] > CSIM_R(1e15)))
                return csimi_fail(&w->error, csimi_finite(a[i]) ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, fn, names[k],
                                  (double)a[i], k == 1 ? "above -1, below 0.5" : "above 0, at most 1e15");
    }
    return CSIM_OK;
}

static void csimi_sort_tet(int *a) {
    int i, j;
    for (i = 1; i < 4; i++) {
        int x = a[i];
        for (j = i; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

/* The first tet that repeats an earlier one, or -1. Buckets by the smallest vertex. */
static int csimi_duplicate_tet(const csim_soft_def *def, csimi_mesh_work *m) {
    int i, j, k, *first = m->count, *sorted = m->ints; /* sorted: 4 per tet, in bucket order */
    for (i = 0; i <= def->vertex_count; i++) first[i] = 0;
    for (i = 0; i < def->tet_count; i++) sorted[4 * i] = -1; /* no vertex: the search stops at the bucket before */
    for (i = 0; i < def->tet_count; i++) {
        int q[4];
        for (k = 0; k < 4; k++) q[k] = def->tets[4 * i + k];
        csimi_sort_tet(q);
        first[q[0] + 1]++;
    }
    for (i = 0; i < def->vertex_count; i++) first[i + 1] += first[i];
    for (i = 0; i < def->tet_count; i++) {
        int q[4], at;
        for (k = 0; k < 4; k++) q[k] = def->tets[4 * i + k];
        csimi_sort_tet(q);
        at = first[q[0]]++;
        for (j = at - 1; j >= 0 && sorted[4 * j] == q[0]; j--)
            if (sorted[4 * j + 1] == q[1] && sorted[4 * j + 2] == q[2] && sorted[4 * j + 3] == q[3]) return i;
        for (k = 0; k < 4; k++) sorted[4 * at + k] = q[k];
    }
    return -1;
}
#endif

/* Default number of aggregates: n^(2/3) / 6 between 4 and 150, findings of the coarse correction; up to twice that for
   what is thin, which bends and whose coarse factor stays small. flat: 0 for a ball or a beam, 1 for a sheet. */
CSIMI_FN int csimi_default_aggregates(int nodes, csim_real flat) {
    int k = (int)((1 + flat) * CSIMI_EXP(CSIM_R(2.0 / 3.0) * CSIMI_LOG((csim_real)nodes)) / 6);
    k = csimi_imin(150, csimi_imax(4, k));
    return nodes < 16 ? 1 : csimi_imin(k, nodes / 4);
}

#ifndef CONDSIM_NO_SOFT
/* Numbers a mesh leads to. */
typedef struct csimi_mesh_counts {
    int surface, triangles, blocks, aggregates;
} csimi_mesh_counts;

/* How flat points lie: 1 less the thickness over the smaller width, as roots of their principal moments. */
static csim_real csimi_flatness(const csim_real *x, int n) {
    double sum[3] = {0, 0, 0}, square[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    csim_real S[9], moment[3], V[9];
    int i, a, b;
    for (i = 0; i < n; i++)
        for (a = 0; a < 3; a++) sum[a] += (double)x[3 * i + a] / n;
    for (i = 0; i < n; i++)
        for (a = 0; a < 3; a++)
            for (b = 0; b < 3; b++)
                square[3 * a + b] += ((double)x[3 * i + a] - sum[a]) * ((double)x[3 * i + b] - sum[b]);
    for (a = 0; a < 9; a++) S[a] = (csim_real)square[a];
    csimi_eigen_sym3(S, moment, V);
    return moment[0] < moment[1] ? 1 - CSIMI_SQRT(csimi_max(0, moment[0]) / moment[1]) : 0;
}

/* Rest shape, masses, surface and graph of a checked definition into the scratch and behind the counts. */
static csim_status csimi_study_mesh(csim_world *w, const csim_soft_def *def, csimi_mesh_work *m,
                                    csimi_mesh_counts *out) {
    static const char fn[] = "csim_create_soft";
    csimi_store *s = &w->store;
    int i, k, bad, needed = 0, nv = def->vertex_count, nt = def->tet_count;
    for (i = 0; i < 3 * nv; i++) m->x[i] = def->scale * def->vertices[i];
    for (i = 0; i < nt; i++) m->density[i] = def->tet_density ? def->tet_density[i] : def->density;
    for (i = 0; i < nv; i++) m->mass[i] = 0;
    bad = csimi_tet_prepare(nt, def->tets, m->x, m->density, s->state.tet_shape + 9 * s->count.tets,
                            s->state.tet_volume + s->count.tets, m->mass);
    if (bad >= 0)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets: index of an inverted or flat tet", (double)bad,
                          "no inverted or flat tets");
    for (i = 0; i < nt; i++)
        if (!csimi_weighs((double)m->density[i] * (double)s->state.tet_volume[s->count.tets + i] / 4))
            return csimi_unfit(&w->error, fn,
                               def->tet_density ? "tet_density: a quarter of the mass of a tet"
                                                : "density: a quarter of the mass of a tet",
                               (double)(m->density[i] * s->state.tet_volume[s->count.tets + i] / 4), CSIMI_MASSES);
    for (i = 0; i < nv; i++)
        if (!(m->mass[i] > 0))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertices: isolated vertex", (double)i,
                              "every vertex used by a tet");
    if ((bad = csimi_duplicate_tet(def, m)) >= 0)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets: duplicate tet", (double)bad, "every tet once");
    out->triangles = csimi_tet_surface(nv, nt, def->tets, m->triangles, 4 * nt, m->ints);
    for (i = 0; i < nv; i++) m->count[i] = 0;
    for (i = 0; i < 3 * out->triangles; i++) m->count[m->triangles[i]] = 1;
    for (i = 0, out->surface = 0; i < nv; i++) out->surface += m->count[i];
    for (i = 0; i < nt; i++) {
        static const int edge[12] = {0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3};
        for (k = 0; k < 12; k++) m->pairs[12 * i + k] = def->tets[4 * i + edge[k]];
    }
    out->blocks = csimi_pattern_build(nv, 6 * nt, m->pairs, m->row, m->col, m->diag, 12 * nt + nv, &needed, m->ints);
    out->aggregates = csimi_aggregate(nv, m->row, m->col, m->x,
                                      def->aggregates ? csimi_imin(def->aggregates, nv)
                                                      : csimi_default_aggregates(nv, csimi_flatness(m->x, nv)),
                                      m->aggregate, m->ints);
    return CSIM_OK;
}
#endif

CSIMI_FN void csimi_order_nodes(csimi_store *s, int nv, int groups, const int *aggregate, int *count) {
    int i, first = s->count.nodes;
    for (i = 0; i <= nv; i++) count[i] = 0;
    for (i = 0; i < nv; i++) count[aggregate[i] + 1]++;
    for (i = 0; i < groups; i++) count[i + 1] += count[i];
    for (i = 0; i < nv; i++) {
        int at = count[aggregate[i]]++;
        s->node_user[first + at] = i;
        s->node_of_user[first + i] = at;
        s->node_aggregate[first + at] = aggregate[i];
    }
}

CSIMI_FN void csimi_fix_node(csimi_store *s, int node) {
    s->state.node_mode[node] = CSIMI_FIXED;
    csimi_store3(s->state.v + 3 * node, csim_v3(0, 0, 0));
    csimi_store3(s->node_rep + 3 * node, csim_v3(0, 0, 0));
}

#ifndef CONDSIM_NO_SOFT
static void csimi_write_tets(csimi_store *s, const csim_soft_def *def, int first_node) {
    int i, k;
    for (i = 0; i < def->tet_count; i++) {
        int t = s->count.tets + i;
        csim_real young = def->tet_young ? def->tet_young[i] : def->young;
        csim_real poisson = def->tet_poisson ? def->tet_poisson[i] : def->poisson;
        for (k = 0; k < 4; k++)
            s->state.tet[4 * t + k] = first_node + s->node_of_user[first_node + def->tets[4 * i + k]];
        s->state.tet_lame[3 * t] = young / (2 * (1 + poisson));
        s->state.tet_lame[3 * t + 1] = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
        s->state.tet_lame[3 * t + 2] = def->stiffness_damping;
        s->state.tet_material[t] = (unsigned char)(def->tet_material ? def->tet_material[i] : def->material);
        for (k = 0; k < 5; k++) s->state.tet_active[5 * t + k] = 0;
    }
}

CSIM_API csim_status csim_create_soft(csim_world *w, const csim_soft_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_soft";
    csimi_counts need;
    csimi_store *s;
    csimi_mesh_work work;
    csimi_mesh_counts counts = {0, 0, 0, 0};
    csimi_arena arena;
    int slot, i, first, pass;
    csim_pose pose;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_soft(w, def)) != 0) return status;
    s = &w->store;
    need = csimi_counts_with_body(w);
    need.nodes += def->vertex_count;
    need.tets += def->tet_count;
    for (pass = 0; pass < 2; pass++) { /* room to study the mesh, then room for what the study found */
        if ((status = csimi_make_room(w, need, fn)) != 0) return status;
        arena = csimi_arena_in(s->scratch, s->scratch_bytes);
        csimi_mesh_work_layout(&work, def->vertex_count, def->tet_count, &arena);
        if (arena.overflow)
            return csimi_fail(&w->error, CSIM_CAPACITY, fn, "scratch", (double)arena.used, "a larger block");
        if ((status = csimi_study_mesh(w, def, &work, &counts)) != 0) return status;
        need.surface = s->count.surface + counts.surface;
        need.triangles = s->count.triangles + counts.triangles;
        need.matrix_blocks = s->count.matrix_blocks + counts.blocks;
        need.aggregates = s->count.aggregates + counts.aggregates;
    }
    first = s->count.nodes;
    slot = csimi_take_body(w, CSIM_SOFT, CSIM_DYNAMIC, &def->surface, def->user_data);
    s->body[slot].node_count = def->vertex_count;
    s->body[slot].tet_count = def->tet_count;
    s->body[slot].surface_count = counts.surface;
    s->body[slot].triangle_count = counts.triangles;
    s->body[slot].matrix_blocks = counts.blocks;
    s->body[slot].aggregate_count = counts.aggregates;
    csimi_order_nodes(s, def->vertex_count, counts.aggregates, work.aggregate, work.count);
    pose = def->pose;
    pose.rotation = csim_quat_normalize(pose.rotation);
    for (i = 0; i < def->vertex_count; i++)
        csimi_write_node(s, first + s->node_of_user[first + i], csim_pose_point(pose, csimi_load3(work.x + 3 * i)),
                         def->velocity, work.mass[i], def->mass_damping, CSIM_DYNAMIC, slot);
    for (i = 0; i < def->fixed_count; i++) csimi_fix_node(s, first + s->node_of_user[first + def->fixed[i]]);
    csimi_write_tets(s, def, first);
    for (i = 0; i < 3 * counts.triangles; i++) s->triangle[3 * s->count.triangles + i] = work.triangles[i];
    for (i = 0; i < def->vertex_count; i++) work.count[i] = -1;
    for (i = 0; i < 3 * counts.triangles; i++) work.count[work.triangles[i]] = 0;
    for (i = 0; i < def->vertex_count; i++)
        if (work.count[i] == 0) {
            work.count[i] = s->count.surface - s->body[slot].first_surface;
            s->surface_node[s->count.surface++] = first + s->node_of_user[first + i];
        }
    csimi_write_surface(s, slot, work.x, work.count, work.pairs, (uint64_t *)(void *)work.ints);
    s->body[slot].corner_contact = def->corner_contact;
    if (def->self_collision)
        s->body[slot].self_distance = def->self_distance > 0 ? def->self_distance : 2 * s->body[slot].edge;
    s->count.nodes += def->vertex_count;
    s->count.tets += def->tet_count;
    s->count.triangles += counts.triangles;
    s->count.matrix_blocks += counts.blocks;
    s->count.aggregates += s->body[slot].aggregate_count;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}
#endif

CSIMI_FN void csimi_write_surface(csimi_store *s, int slot, const csim_real *rest, const int *index, int *order,
                                  uint64_t *keys) {
    csimi_body *b = s->body + slot;
    const int *triangle = s->triangle + 3 * (size_t)b->first_triangle;
    int *face = s->face + 3 * (size_t)b->first_triangle, i, k;
    double sum = 0;
    csimi_surface_order(b->triangle_count, triangle, rest, order, keys);
    CSIMI_MEMCPY(s->face_triangle + b->first_triangle, order, sizeof *order * (size_t)b->triangle_count);
    for (i = 0; i < b->triangle_count; i++)
        for (k = 0; k < 3; k++) {
            const int *t = triangle + 3 * (size_t)order[i];
            face[3 * i + k] = index[t[k]];
            csimi_store3(s->surface_rest + 3 * ((size_t)b->first_surface + (size_t)index[t[k]]),
                         csimi_load3(rest + 3 * (size_t)t[k]));
            sum += (double)csim_length(
                csim_sub(csimi_load3(rest + 3 * (size_t)t[k]), csimi_load3(rest + 3 * (size_t)t[(k + 1) % 3])));
        }
    b->edge = (csim_real)(sum / (3 * b->triangle_count));
}
