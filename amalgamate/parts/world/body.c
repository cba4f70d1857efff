/* world/body: making and removing bodies and links. A create call checks everything, then makes room, then writes
   behind the counts, and raises the counts last: until then nothing has changed. */
#include "private.h"

/* ---- room */

/* Contacts and pairs that a heap world reserves for what it holds: a first program never meets a full capacity. */
static void csimi_expect_contacts(csimi_counts *n) {
    n->contacts = 16 * n->shapes + 2 * n->surface + 6 * n->nodes / (n->tets > 0 ? 6 : 1) + 32;
    n->pairs = 12 * (n->shapes + n->bodies) + 16 * n->frames + 32;
    n->ended = n->contacts;
}

/* Room for what the counts plus the additions need. */
CSIMI_FN csim_status csimi_make_room(csim_world *w, csimi_counts need, const char *function) {
    need.bodies = csimi_imax(need.bodies, 1);
    if (w->grows) {
        csimi_expect_contacts(&need);
    } else {
        need.contacts = need.ended = need.pairs = 0;
    }
    return csimi_ensure(w, &need, function);
}

CSIMI_FN csim_status csimi_start_create(csim_world *w, const void *def, const void *id, const char *function) {
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, function, NULL, false, 0, NULL);
    if (!def) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, function, "def", false, 0, "not null");
    if (!id) return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, function, "id", false, 0, "not null");
    return CSIM_OK;
}

CSIMI_FN csimi_counts csimi_counts_with_body(const csim_world *w) {
    csimi_counts need = w->store.count;
    if (w->free_body < 0) need.bodies++;
    return need;
}

/* Takes a slot for a body whose data has been written behind the counts. */
CSIMI_FN int csimi_take_body(csim_world *w, csim_body_kind kind, csim_motion motion, const csim_surface_def *surface,
                             void *user_data) {
    csimi_store *s = &w->store;
    int slot = w->free_body;
    csimi_body *b;
    uint32_t generation = 1;
    if (slot >= 0) {
        w->free_body = s->body[slot].next_free;
        generation = s->body[slot].generation;
    } else {
        slot = s->count.bodies++;
    }
    b = s->body + slot;
    CSIMI_MEMSET(b, 0, sizeof *b);
    b->generation = generation;
    b->alive = true;
    b->kind = kind;
    b->motion = motion;
    b->next_free = b->rigid = b->tree = -1;
    b->first_node = s->count.nodes;
    b->first_shape = s->count.shapes;
    b->first_tet = s->count.tets;
    b->first_membrane = s->count.membranes;
    b->first_surface = s->count.surface;
    b->first_triangle = s->count.triangles;
    b->first_frame = s->count.frames;
    b->first_bend = s->count.bends;
    b->surface = *surface;
    b->user_data = user_data;
    s->body_list[w->live_bodies++] = slot;
    return slot;
}

CSIMI_FN unsigned char csimi_mode_of(csim_motion motion) {
    return motion == CSIM_DYNAMIC ? CSIMI_FREE : motion == CSIM_STATIC ? CSIMI_FIXED : CSIMI_KINEMATIC;
}

static void csimi_note_high(csim_world *w) {
    const csimi_counts *c = &w->store.count;
    csimi_counts *h = &w->high;
#define CSIMI_X(axis) h->axis = csimi_imax(h->axis, c->axis);
    CSIMI_WORLD_AXES(
        CSIMI_X) /* matrix_blocks as creation counts them: the same calls fit, the pattern may share some */
#undef CSIMI_X
}

CSIMI_FN void csimi_finish_create(csim_world *w, int slot, csim_body_id *id) {
    csimi_sync_state(&w->store);
    csimi_note_high(w);
    w->pattern_stale = true;
    *id = csimi_body_id_of(w, slot);
}

/* ---- particles */

/* Writes node i of the store. */
CSIMI_FN void csimi_write_node(csimi_store *s, int i, csim_vec3 x, csim_vec3 v, csim_real mass, csim_real damping,
                               csim_motion motion, int slot) {
    csimi_store3(s->state.x + 3 * i, x);
    csimi_store3(s->state.v + 3 * i, v);
    csimi_store3(s->node_rep + 3 * i, v);
    csimi_store3(s->state.node_force + 3 * i, csim_v3(0, 0, 0));
    s->state.node_mass[i] = mass;
    s->state.node_damping[i] = damping;
    s->state.node_mode[i] = csimi_mode_of(motion);
    s->node_body[i] = slot;
    s->state.node_tree[i] = -1;
}

CSIM_API csim_status csim_create_particle(csim_world *w, const csim_particle_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_particle";
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_particle_def, position),
        CSIMI_ANY3(csim_particle_def, velocity),
        {"mass", offsetof(csim_particle_def, mass), (double)CSIMI_TINY, 1e15, true, false,
         "above " CSIMI_TINY_WORD ", at most 1e15"},
        CSIMI_AT_LEAST_0(csim_particle_def, radius),
        CSIMI_AT_LEAST_0(csim_particle_def, damping),
    };
    csimi_counts need;
    csimi_store *s;
    int slot, node;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_particle_def()", def->guard)) != 0)
        return status;
    if ((status = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if ((status = csimi_check_enum(&w->error, fn, "motion", (int)def->motion, CSIM_MOTION_COUNT_)) != 0) return status;
    if ((status = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return status;
    need = csimi_counts_with_body(w);
    need.nodes++;
    need.matrix_blocks++;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    slot = csimi_take_body(w, CSIM_PARTICLE, def->motion, &def->surface, def->user_data);
    node = s->count.nodes++;
    csimi_write_node(s, node, def->position, def->motion == CSIM_STATIC ? csim_v3(0, 0, 0) : def->velocity, def->mass,
                     def->damping, def->motion, slot);
    s->node_user[node] = s->node_of_user[node] = 0;
    s->node_aggregate[node] = -1;
    s->body[slot].node_count = 1;
    s->body[slot].radius = def->radius;
    s->body[slot].matrix_blocks = 1;
    s->count.matrix_blocks++;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}

/* ---- rigid bodies */

CSIMI_FN void csimi_add_mass(csim_mass *sum, const csim_mass *part) {
    csim_real m = sum->mass + part->mass;
    csim_vec3 centre =
        csim_scale(1 / m, csim_add(csim_scale(sum->mass, sum->centre), csim_scale(part->mass, part->centre)));
    int k, piece;
    for (piece = 0; piece < 2; piece++) {
        const csim_mass *p = piece ? part : sum;
        csim_vec3 d = csim_sub(p->centre, centre);
        csim_real dd = csim_dot(d, d), c[3];
        c[0] = d.x;
        c[1] = d.y;
        c[2] = d.z;
        for (k = 0; k < 9; k++) { /* Steiner */
            csim_real steiner = p->mass * ((k % 4 == 0 ? dd : 0) - c[k / 3] * c[k % 3]);
            if (piece)
                sum->inertia.m[k] += p->inertia.m[k] + steiner;
            else
                sum->inertia.m[k] += steiner;
        }
    }
    sum->mass = m;
    sum->centre = centre;
}

CSIMI_FN bool csimi_rigid_weighs(csim_real mass, const csim_real *I) {
    return csimi_weighs((double)mass) && csimi_weighs((double)I[0]) && csimi_weighs((double)I[4]) &&
           csimi_weighs((double)I[8]);
}

/* Mass, centre and inertia of a rigid definition; false fields keep zero for bodies that never move freely. */
CSIMI_FN csim_status csimi_rigid_mass(const csim_rigid_def *def, const char *fn, csim_mass *mass, csim_error *error) {
    csim_real given = 0;
    int i, k;
    CSIMI_MEMSET(mass, 0, sizeof *mass);
    for (i = 0; i < def->shape_count; i++) {
        csim_mass part;
        csim_status s;
        if (csimi_only_static(def->shapes[i].kind)) continue;
        if ((s = csim_shape_mass(def->shapes + i, def->density, &part, error)) != 0) return s;
        if (mass->mass > 0)
            csimi_add_mass(mass, &part);
        else
            *mass = part;
    }
    for (k = 0; k < 9; k++) given += csimi_abs(def->inertia.m[k]);
    if (def->mass > 0 && mass->mass > 0) {
        csim_real scale = def->mass / mass->mass;
        for (k = 0; k < 9; k++) mass->inertia.m[k] *= scale;
    }
    if (def->mass > 0) mass->mass = def->mass;
    if (mass->mass > 0 && !csimi_weighs((double)mass->mass))
        return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "mass", true, (double)mass->mass, CSIMI_MASSES);
    if (given > 0) {
        csim_real eigenvalue[3], V[9];
        for (k = 0; k < 3; k++) {
            csim_real a = def->inertia.m[3 * k + (k + 1) % 3], b = def->inertia.m[3 * ((k + 1) % 3) + k];
            if (csimi_abs(a - b) > CSIM_R(1e-5) * given)
                return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "inertia", true, (double)(a - b), "a symmetric matrix");
        }
        csimi_eigen_sym3(def->inertia.m, eigenvalue, V);
        if (!csimi_weighs((double)eigenvalue[0]))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "inertia (smallest eigenvalue)", true,
                              (double)eigenvalue[0], CSIMI_MASSES);
        mass->inertia = def->inertia;
        mass->centre = def->centre;
    }
    if (def->motion == CSIM_DYNAMIC) {
        if (!(mass->mass > 0))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "mass", true, (double)mass->mass,
                              "above 0, or shapes to take it from");
        if (!(mass->inertia.m[0] > 0))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "inertia", true, 0, "given, or shapes to take it from");
        if (!csimi_rigid_weighs(mass->mass, mass->inertia.m))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, fn, "inertia", true, (double)mass->inertia.m[0], CSIMI_MASSES);
    }
    return CSIM_OK;
}

static csim_status csimi_check_rigid(csim_world *w, const csim_rigid_def *def, csim_mass *mass, int *hulls) {
    static const char fn[] = "csim_create_rigid";
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_rigid_def, velocity),
        CSIMI_ANY3(csim_rigid_def, angular_velocity),
        CSIMI_POSITIVE(csim_rigid_def, density),
        CSIMI_AT_LEAST_0(csim_rigid_def, mass),
        CSIMI_ANY9(csim_rigid_def, inertia),
        CSIMI_ANY3(csim_rigid_def, centre),
        CSIMI_AT_LEAST_0(csim_rigid_def, linear_damping),
        CSIMI_AT_LEAST_0(csim_rigid_def, angular_damping),
    };
    csim_status s;
    int i;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_rigid_def()", def->guard)) != 0) return s;
    if ((s = csimi_check_pose(&w->error, fn, "pose", def->pose)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "motion", (int)def->motion, CSIM_MOTION_COUNT_)) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
    if (def->shape_count < 0 || def->shape_count > 10000)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "shape_count", true, (double)def->shape_count, "0..10000");
    if (def->shape_count > 0 && !def->shapes)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, "shapes", false, 0, "not null when shape_count > 0");
    *hulls = 0;
    for (i = 0; i < def->shape_count; i++) {
        *hulls += def->shapes[i].kind == CSIM_SHAPE_HULL;
        if (csimi_only_static(def->shapes[i].kind) && def->motion != CSIM_STATIC)
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "motion", true, (double)def->motion,
                              "CSIM_STATIC for a body with a half-space or heights");
    }
    return csimi_rigid_mass(def, fn, mass, &w->error);
}

CSIM_API csim_status csim_create_rigid(csim_world *w, const csim_rigid_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_rigid";
    csimi_counts need;
    csimi_store *s;
    csimi_body *b;
    csim_mass mass;
    csim_real velocity[6];
    int hulls = 0, slot, i, k;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_rigid(w, def, &mass, &hulls)) != 0) return status;
    need = csimi_counts_with_body(w);
    need.rigids++;
    need.shapes += def->shape_count;
    need.hulls += hulls;
    need.matrix_blocks += 4;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    need = w->store.capacity;
    for (i = 0; i < def->shape_count && w->grows; i++) need.contacts += def->shapes[i].field ? 96 : 0;
    if ((status = csimi_ensure(w, &need, fn)) != 0) return status;
    s = &w->store;
    for (i = 0, hulls = s->count.hulls; i < def->shape_count; i++) {
        csim_geometry *g = s->shape + s->count.shapes + i;
        bool hull = def->shapes[i].kind == CSIM_SHAPE_HULL;
        if ((status = csim_shape_bake(def->shapes + i, g, hull ? s->hull + hulls : NULL, &w->error)) != 0)
            return status;
        g->hull = hull ? hulls++ : -1;
    }
    slot = csimi_take_body(w, CSIM_RIGID, def->motion, &def->surface, def->user_data);
    b = s->body + slot;
    b->shape_count = def->shape_count;
    b->matrix_blocks = 4;
    b->can_sleep = def->can_sleep;
    b->rigid = s->count.rigids++;
    for (i = 0; i < def->shape_count; i++) {
        s->shape_body[s->count.shapes + i] = slot;
        s->shape_link[s->count.shapes + i] = -1;
    }
    s->count.shapes += def->shape_count;
    s->count.hulls = hulls;
    s->count.matrix_blocks += 4;
    csimi_store3(b->centre, mass.centre);
    i = b->rigid;
    s->rigid_body[i] = slot;
    {
        csim_pose pose = def->pose;
        pose.rotation = csim_quat_normalize(pose.rotation);
        csimi_store3(s->state.com + 3 * i, csim_pose_point(pose, mass.centre));
        s->state.rotation[4 * i] = pose.rotation.w;
        s->state.rotation[4 * i + 1] = pose.rotation.x;
        s->state.rotation[4 * i + 2] = pose.rotation.y;
        s->state.rotation[4 * i + 3] = pose.rotation.z;
    }
    csimi_store3(velocity, def->velocity);
    csimi_store3(velocity + 3, def->angular_velocity);
    for (k = 0; k < 6; k++) {
        csim_real x = def->motion == CSIM_STATIC ? 0 : velocity[k];
        s->state.velocity[6 * i + k] = s->rigid_rep[6 * i + k] = x;
        s->state.wrench[6 * i + k] = 0;
    }
    s->state.rigid_mass[i] = mass.mass;
    for (k = 0; k < 9; k++) s->state.inertia[9 * i + k] = mass.inertia.m[k];
    s->state.rigid_damping[2 * i] = def->linear_damping;
    s->state.rigid_damping[2 * i + 1] = def->angular_damping;
    s->state.rigid_mode[i] = csimi_mode_of(def->motion);
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}

CSIM_API csim_status csim_create_ground(csim_world *w, csim_vec3 point, csim_vec3 normal, csim_real friction,
                                        csim_body_id *id) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape shape;
    csim_status s = csimi_start_create(w, &def, id, "csim_create_ground");
    if (s) return s;
    if ((s = csimi_check_vec(&w->error, "csim_create_ground", "point", point)) != 0) return s;
    if ((s = csimi_check_vec(&w->error, "csim_create_ground", "normal", normal)) != 0) return s;
    if (!(csim_length(normal) > 0))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, "csim_create_ground", "normal", true, 0, "not the zero vector");
    shape = csim_half_space(point, normal);
    def.motion = CSIM_STATIC;
    def.shapes = &shape;
    def.shape_count = 1;
    def.surface.friction = friction;
    return csim_create_rigid(w, &def, id);
}

/* ---- solids */

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

CSIMI_FN csim_status csimi_check_mesh_choices(csim_world *w, const char *fn, const int *fixed, int fixed_count,
                                              int vertex_count, int aggregates) {
    int i;
    if (fixed_count < 0 || (fixed_count > 0 && !fixed))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "fixed_count", true, (double)fixed_count,
                          "0, or the length of fixed");
    for (i = 0; i < fixed_count; i++)
        if (fixed[i] < 0 || fixed[i] >= vertex_count)
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "fixed", true, (double)fixed[i], "0..vertex_count - 1");
    if (aggregates < 0 || aggregates > 1000)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "aggregates", true, (double)aggregates,
                          "0 (by size) or 1..1000");
    return CSIM_OK;
}

static csim_status csimi_check_soft(csim_world *w, const csim_soft_def *def) {
    static const char fn[] = "csim_create_soft";
    static const csimi_field fields[] = {
        CSIMI_POSITIVE(csim_soft_def, scale),
        CSIMI_ANY3(csim_soft_def, velocity),
        CSIMI_POSITIVE(csim_soft_def, young),
        {"poisson", offsetof(csim_soft_def, poisson), -1, 0.5, true, true, "above -1, below 0.5"},
        CSIMI_POSITIVE(csim_soft_def, density),
        CSIMI_AT_LEAST_0(csim_soft_def, mass_damping),
        CSIMI_AT_LEAST_0(csim_soft_def, stiffness_damping),
        CSIMI_AT_LEAST_0(csim_soft_def, self_distance),
    };
    csim_status s;
    int i, k;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_soft_def()", def->guard)) != 0) return s;
    if ((s = csimi_check_pose(&w->error, fn, "pose", def->pose)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &def->surface)) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "material", (int)def->material, CSIM_MATERIAL_COUNT_)) != 0) return s;
    if (def->vertex_count < 4 || def->vertex_count > 20000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertex_count", true, (double)def->vertex_count, "4..2e7");
    if (def->tet_count < 1 || def->tet_count > 40000000)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tet_count", true, (double)def->tet_count, "1..4e7");
    if (!def->vertices || !def->tets)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, fn, def->vertices ? "tets" : "vertices", false, 0, "not null");
    if ((s = csimi_check_mesh_choices(w, fn, def->fixed, def->fixed_count, def->vertex_count, def->aggregates)) != 0)
        return s;
    for (i = 0; i < 3 * def->vertex_count; i++)
        if (!csimi_finite(def->vertices[i]))
            return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, "vertices", true, (double)def->vertices[i],
                              "finite numbers");
    for (i = 0; i < 4 * def->tet_count; i++)
        if (def->tets[i] < 0 || def->tets[i] >= def->vertex_count)
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets", true, (double)def->tets[i], "0..vertex_count - 1");
    for (i = 0; def->tet_material && i < def->tet_count; i++)
        if ((s = csimi_check_enum(&w->error, fn, "tet_material", (int)def->tet_material[i], CSIM_MATERIAL_COUNT_)) != 0)
            return s;
    for (k = 0; k < 3; k++) {
        const csim_real *a = k == 0 ? def->tet_young : k == 1 ? def->tet_poisson : def->tet_density;
        static const char *const names[3] = {"tet_young", "tet_poisson", "tet_density"};
        for (i = 0; a && i < def->tet_count; i++)
            if (!csimi_finite(a[i]) || (k == 1 ? a[i] <= -1 || a[i] >= CSIM_R(0.5) : a[i] <= 0 || a[i] > CSIM_R(1e15)))
                return csimi_fail(&w->error, csimi_finite(a[i]) ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, fn, names[k],
                                  true, (double)a[i], k == 1 ? "above -1, below 0.5" : "above 0, at most 1e15");
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

/* Default number of aggregates: n^(2/3) / 6 between 4 and 150, findings of the coarse correction. */
CSIMI_FN int csimi_default_aggregates(int nodes) {
    int k = (int)(CSIMI_EXP(CSIM_R(2.0 / 3.0) * CSIMI_LOG((csim_real)nodes)) / 6);
    k = csimi_imin(150, csimi_imax(4, k));
    return nodes < 16 ? 1 : csimi_imin(k, nodes / 4);
}

/* Numbers a mesh leads to. */
typedef struct csimi_mesh_counts {
    int surface, triangles, blocks, aggregates;
} csimi_mesh_counts;

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
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets: index of an inverted or flat tet", true, (double)bad,
                          "no inverted or flat tets");
    for (i = 0; i < nt; i++)
        if (!csimi_weighs((double)m->density[i] * (double)s->state.tet_volume[s->count.tets + i] / 4))
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn,
                              def->tet_density ? "tet_density: a quarter of the mass of a tet"
                                               : "density: a quarter of the mass of a tet",
                              true, (double)(m->density[i] * s->state.tet_volume[s->count.tets + i] / 4), CSIMI_MASSES);
    for (i = 0; i < nv; i++)
        if (!(m->mass[i] > 0))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "vertices: isolated vertex", true, (double)i,
                              "every vertex used by a tet");
    if ((bad = csimi_duplicate_tet(def, m)) >= 0)
        return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "tets: duplicate tet", true, (double)bad, "every tet once");
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
                                      def->aggregates ? csimi_imin(def->aggregates, nv) : csimi_default_aggregates(nv),
                                      m->aggregate, m->ints);
    return CSIM_OK;
}

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
            return csimi_fail(&w->error, CSIM_CAPACITY, fn, "scratch", true, (double)arena.used, "a larger block");
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

/* ---- links */

static csim_status csimi_attach(csim_world *w, const csim_attachment *at, const char *function, csimi_place *place,
                                int *slot) {
    csimi_store *s = &w->store;
    csim_status status;
    const csimi_body *b;
    if ((status = csimi_check_vec(&w->error, function, "attachment.point", at->point)) != 0) return status;
    *slot = -1;
    *place = csimi_place_ground(at->point);
    if (at->body.index1 == 0) return CSIM_OK;
    if ((status = csimi_find_body(w, at->body, function, slot, &w->error)) != 0) return status;
    b = s->body + *slot;
    if (b->kind == CSIM_RIGID) {
        *place = csimi_place_rigid(&s->state, b->rigid, at->point);
        return CSIM_OK;
    }
    if (b->kind == CSIM_BODY_TREE) {
        const csimi_tree *tree = s->state.tree + b->tree;
        if (at->node < 0 || at->node >= tree->link_count)
            return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, function, "attachment.node", true, (double)at->node,
                              "a link of the tree, 0..link_count - 1");
        *place = csimi_place_link(&s->state, tree->first_link + at->node, at->point);
        return CSIM_OK;
    }
    if (at->node < 0 || at->node >= b->node_count)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, function, "attachment.node", true, (double)at->node,
                          "0..node count of the body - 1");
    *place = csimi_place_follow(&s->state, csimi_place_node(b->first_node + s->node_of_user[b->first_node + at->node]));
    return CSIM_OK;
}

/* Takes a link slot; item is its place among the springs or joints. */
CSIMI_FN int csimi_take_link(csim_world *w, csimi_link_kind kind, int item, const int *bodies, csim_real break_force) {
    csimi_store *s = &w->store;
    int slot = w->free_link;
    csimi_link *l;
    uint32_t generation = 1;
    if (slot >= 0) {
        w->free_link = s->link[slot].next_free;
        generation = s->link[slot].generation;
    } else {
        slot = s->count.links++;
    }
    l = s->link + slot;
    CSIMI_MEMSET(l, 0, sizeof *l);
    l->generation = generation;
    l->alive = true;
    l->kind = kind;
    l->next_free = -1;
    l->item = item;
    l->body[0] = bodies[0];
    l->body[1] = bodies[1];
    l->break_force = break_force;
    return slot;
}

CSIMI_FN void csimi_finish_link(csim_world *w, int slot, csim_link_id *id) {
    csimi_sync_state(&w->store);
    csimi_note_high(w);
    w->pattern_stale = true;
    id->index1 = (uint32_t)slot + 1u;
    id->generation = w->store.link[slot].generation;
    id->world = w->stamp;
}

CSIMI_FN csim_status csimi_link_ends(csim_world *w, const csim_attachment *a, const csim_attachment *b,
                                     const char *function, csimi_place *ends, int *bodies) {
    csim_status s;
    if ((s = csimi_attach(w, a, function, ends, bodies)) != 0) return s;
    if ((s = csimi_attach(w, b, function, ends + 1, bodies + 1)) != 0) return s;
    if (bodies[0] < 0 && bodies[1] < 0)
        return csimi_fail(&w->error, CSIM_STALE_ID, function, "a and b", false, 0, "at least one body");
    if (bodies[0] == bodies[1] && csimi_place_same(ends, ends + 1))
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, function, "b", false, 0, "another body or node than a");
    return CSIM_OK;
}

CSIM_API csim_status csim_create_spring(csim_world *w, const csim_spring_def *def, csim_link_id *id) {
    static const char fn[] = "csim_create_spring";
    static const csimi_field fields[] = {
        {"rest_length", offsetof(csim_spring_def, rest_length), -1e9, 1e9, false, false,
         "below 0 (as it is now) or 0..1e9"},
        CSIMI_AT_LEAST_0(csim_spring_def, stiffness),
        CSIMI_AT_LEAST_0(csim_spring_def, damping),
        CSIMI_AT_LEAST_0(csim_spring_def, break_force),
    };
    csimi_place ends[2];
    csimi_counts need;
    csimi_store *s;
    int bodies[2], item, k;
    csim_real length;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_spring_def()", def->guard)) != 0)
        return status;
    if ((status = csimi_check_fields(&w->error, fn, def, fields, CSIMI_COUNT_OF(fields))) != 0) return status;
    if ((status = csimi_link_ends(w, &def->a, &def->b, fn, ends, bodies)) != 0) return status;
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    need.springs++;
    need.matrix_blocks += csimi_spring_blocks(ends);
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    item = s->count.springs++;
    for (k = 0; k < 2; k++) s->state.spring[2 * item + k] = ends[k];
    length = csim_length(csim_sub(csimi_place_point(&s->state, ends), csimi_place_point(&s->state, ends + 1)));
    s->state.spring_data[3 * item] = def->rest_length < 0 ? length : def->rest_length;
    s->state.spring_data[3 * item + 1] = def->stiffness;
    s->state.spring_data[3 * item + 2] = def->damping;
    s->count.matrix_blocks += csimi_spring_blocks(ends);
    k = csimi_take_link(w, CSIMI_SPRING, item, bodies, def->break_force);
    s->spring_link[item] = k;
    csimi_finish_link(w, k, id);
    return CSIM_OK;
}

CSIM_API csim_status csim_create_exclusion(csim_world *w, csim_body_id a, csim_body_id b, csim_link_id *id) {
    static const char fn[] = "csim_create_exclusion";
    csimi_counts need;
    int bodies[2], slot;
    csim_status status = csimi_start_create(w, &a, id, fn);
    if (status) return status;
    if ((status = csimi_find_body(w, a, fn, bodies, &w->error)) != 0) return status;
    if ((status = csimi_find_body(w, b, fn, bodies + 1, &w->error)) != 0) return status;
    if (bodies[0] == bodies[1])
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, fn, "b", true, (double)b.index1, "another body than a");
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    slot = csimi_take_link(w, CSIMI_EXCLUSION, -1, bodies, 0);
    w->store.link[slot].apart = true;
    csimi_finish_link(w, slot, id);
    return CSIM_OK;
}

/* ---- removal */

CSIMI_FN csim_status csimi_find_link(const csim_world *w, csim_link_id id, const char *fn, int *slot,
                                     csim_error *error) {
    if (id.index1 == 0) return csimi_fail(error, CSIM_STALE_ID, fn, "id", true, 0, "an id made by a create call");
    if (id.world != w->stamp)
        return csimi_fail(error, CSIM_WRONG_WORLD, fn, "id", true, (double)id.index1, "an id of this world");
    if (id.index1 > (uint32_t)w->store.count.links || !w->store.link[id.index1 - 1].alive ||
        w->store.link[id.index1 - 1].generation != id.generation)
        return csimi_fail(error, CSIM_STALE_ID, fn, "id", true, (double)id.index1, "an id whose link still exists");
    *slot = (int)(id.index1 - 1);
    return CSIM_OK;
}

CSIM_API bool csim_link_valid(const csim_world *w, csim_link_id id) {
    int slot;
    return w && csimi_find_link(w, id, "csim_link_valid", &slot, NULL) == CSIM_OK;
}

/* Bend elements [first, first + n) have gone: those behind them move up. */
static void csimi_shift_bends(csimi_store *s, int first, int n) {
    int i;
    for (i = 0; i < s->count.bodies; i++)
        if (s->body[i].alive && s->body[i].first_bend > first) s->body[i].first_bend -= n;
}

static void csimi_drop_one(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    csimi_link *l = s->link + slot;
    int i;
    static const csimi_axis axis[] = {CSIMI_AXIS_springs, CSIMI_AXIS_joints, CSIMI_AXIS_bends, CSIMI_AXIS_bends};
    if (l->kind == CSIMI_SPRING) s->count.matrix_blocks -= csimi_spring_blocks(s->state.spring + 2 * l->item);
    csimi_remove(s, axis[l->kind], l->item, l->item >= 0);
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == l->kind && s->link[i].item > l->item) s->link[i].item--;
    if (l->kind == CSIMI_CLAMP) {
        csimi_shift_bends(s, l->item, 1);
        s->count.matrix_blocks -= 2;
    }
    l->alive = false;
    l->generation++;
    l->next_free = w->free_link;
    w->free_link = slot;
    w->pattern_stale = true;
}

/* A link, and first the gears that hold on to it. */
static void csimi_drop_link(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    int i;
    for (i = s->count.joints - 1; i >= 0; i--)
        if (s->joint[i].gear[0] == slot || s->joint[i].gear[1] == slot) csimi_drop_one(w, s->joint[i].link);
    csimi_drop_one(w, slot);
}

CSIM_API csim_status csim_destroy_link(csim_world *w, csim_link_id id) {
    int slot;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_destroy_link", NULL, false, 0, NULL);
    if ((s = csimi_find_link(w, id, "csim_destroy_link", &slot, &w->error)) != 0) return s;
    csimi_drop_link(w, slot);
    return CSIM_OK;
}

/* Contacts of a body that goes end now: their ids are reported, so that begin and end always pair up. */
static void csimi_end_contacts(csim_world *w, csim_body_id id) {
    csimi_store *s = &w->store;
    int i, kept = 0;
    for (i = 0; i < s->count.contacts; i++) {
        csim_contact_info c = s->contact[i];
        if (c.body_a.index1 == id.index1 || c.body_b.index1 == id.index1) {
            if (c.state != CSIM_CONTACT_OPEN && s->count.ended < s->capacity.ended)
                s->ended_id[s->count.ended++] = c.id;
        } else {
            s->contact[kept++] = c;
        }
    }
    s->count.contacts = kept;
}

static void csimi_shift_place(csimi_place *p, const csimi_body *gone) {
    csimi_place_shift(p, gone->first_node, gone->node_count, gone->rigid);
}

static void csimi_shift_cables(csimi_store *s, const csimi_body *gone) {
    int i, side;
    for (i = 0; i < 2 * s->count.frames; i++)
        if (s->state.edge_node[i] > gone->first_node) s->state.edge_node[i] -= gone->node_count;
    for (i = 0; i < s->count.bends; i++)
        for (side = 0; side < 2; side++) {
            csimi_bend_end *e = s->state.bend[i].end + side;
            if (e->frame > gone->first_frame) e->frame -= gone->frame_count;
            if (gone->rigid >= 0 && e->rigid > gone->rigid) e->rigid--;
        }
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == CSIMI_CLAMP && s->link[i].item > gone->first_bend)
            s->link[i].item -= gone->bend_count;
    csimi_shift_bends(s, gone->first_bend, gone->bend_count);
}

static void csimi_shift_indices(csim_world *w, const csimi_body *gone, int hulls, int first_hull) {
    csimi_store *s = &w->store;
    int i;
    for (i = 0; i < s->count.bodies; i++) {
        csimi_body *b = s->body + i;
        if (!b->alive) continue;
        if (b->first_node > gone->first_node) b->first_node -= gone->node_count;
        if (b->first_shape > gone->first_shape) b->first_shape -= gone->shape_count;
        if (b->first_tet > gone->first_tet) b->first_tet -= gone->tet_count;
        if (b->first_membrane > gone->first_membrane) b->first_membrane -= gone->membrane_count;
        if (b->first_surface > gone->first_surface) b->first_surface -= gone->surface_count;
        if (b->first_triangle > gone->first_triangle) b->first_triangle -= gone->triangle_count;
        if (b->first_frame > gone->first_frame) b->first_frame -= gone->frame_count;
        if (gone->rigid >= 0 && b->rigid > gone->rigid) b->rigid--;
    }
    csimi_shift_cables(s, gone);
    for (i = 0; i < s->count.trees; i++)
        if (s->state.tree[i].first_node > gone->first_node) s->state.tree[i].first_node -= gone->node_count;
    for (i = 0; i < s->count.tets * 4; i++)
        if (s->state.tet[i] > gone->first_node) s->state.tet[i] -= gone->node_count;
    for (i = 0; i < s->count.membranes * 3; i++) {
        if (s->state.membrane[i] > gone->first_node) s->state.membrane[i] -= gone->node_count;
        if (s->state.membrane_beyond[i] > gone->first_node) s->state.membrane_beyond[i] -= gone->node_count;
    }
    for (i = 0; i < s->count.surface; i++)
        if (s->surface_node[i] > gone->first_node) s->surface_node[i] -= gone->node_count;
    for (i = 0; i < s->count.shapes; i++)
        if (s->shape[i].hull > first_hull) s->shape[i].hull -= hulls;
    for (i = 0; i < 2 * s->count.springs; i++) csimi_shift_place(s->state.spring + i, gone);
    for (i = 0; i < s->count.joints; i++) {
        csimi_shift_place(s->joint[i].end, gone);
        csimi_shift_place(s->joint[i].end + 1, gone);
    }
}

CSIM_API csim_status csim_destroy_body(csim_world *w, csim_body_id id) {
    csimi_store *s;
    csimi_body gone;
    int slot, i, hulls = 0, first_hull = 0;
    csim_status status;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_destroy_body", NULL, false, 0, NULL);
    if ((status = csimi_find_body(w, id, "csim_destroy_body", &slot, &w->error)) != 0) return status;
    s = &w->store;
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && (s->link[i].body[0] == slot || s->link[i].body[1] == slot)) csimi_drop_link(w, i);
    gone = s->body[slot];
    csimi_end_contacts(w, id);
    for (i = 0; i < gone.shape_count; i++)
        if (s->shape[gone.first_shape + i].hull >= 0) {
            if (hulls == 0) first_hull = s->shape[gone.first_shape + i].hull;
            hulls++;
        }
    s->count.matrix_blocks -= gone.matrix_blocks;
    s->count.aggregates -= gone.aggregate_count;
    csimi_remove(s, CSIMI_AXIS_nodes, gone.first_node, gone.node_count);
    if (gone.rigid >= 0) csimi_remove(s, CSIMI_AXIS_rigids, gone.rigid, 1);
    if (gone.tree >= 0) csimi_tree_forget(s, gone.tree);
    csimi_remove(s, CSIMI_AXIS_shapes, gone.first_shape, gone.shape_count);
    csimi_remove(s, CSIMI_AXIS_hulls, first_hull, hulls);
    csimi_remove(s, CSIMI_AXIS_tets, gone.first_tet, gone.tet_count);
    csimi_remove(s, CSIMI_AXIS_membranes, gone.first_membrane, gone.membrane_count);
    csimi_remove(s, CSIMI_AXIS_surface, gone.first_surface, gone.surface_count);
    csimi_remove(s, CSIMI_AXIS_triangles, gone.first_triangle, gone.triangle_count);
    csimi_remove(s, CSIMI_AXIS_frames, gone.first_frame, gone.frame_count);
    csimi_remove(s, CSIMI_AXIS_bends, gone.first_bend, gone.bend_count);
    s->body[slot].alive = false;
    s->body[slot].generation++;
    s->body[slot].next_free = w->free_body;
    w->free_body = slot;
    for (i = 0; i < w->live_bodies && s->body_list[i] != slot; i++) {
    }
    for (; i + 1 < w->live_bodies; i++) s->body_list[i] = s->body_list[i + 1];
    w->live_bodies--;
    csimi_shift_indices(w, &gone, hulls, first_hull);
    csimi_sync_state(s);
    w->pattern_stale = true;
    return CSIM_OK;
}
