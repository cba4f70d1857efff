/* world/world: definitions and their checks, the three doors, ids. */
#include "private.h"

/* ---- defaults */

CSIM_API csim_world_def csim_default_world_def(void) {
    csim_world_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.gravity = csim_v3(0, 0, CSIM_R(-9.81));
    d.integrator = CSIM_BACKWARD_EULER;
    d.solver = csim_default_solver_params();
    d.law = CSIM_LAW_STRICT;
    d.omega[0] = d.omega[1] = CSIM_R(1e-3);
    d.contact_distance = CSIM_R(1e-3);
    d.stabilization = CSIM_R(0.8);
    d.push_out_speed = 1;
    d.restitution_threshold = CSIM_R(0.2);
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_surface_def csim_default_surface_def(void) {
    csim_surface_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.friction = CSIM_R(0.5);
    d.friction2 = -1;
    d.friction_direction = csim_v3(1, 0, 0);
    d.category = 1;
    d.mask = 0xffffffffu;
    return d;
}

CSIM_API csim_particle_def csim_default_particle_def(void) {
    csim_particle_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.mass = 1;
    d.surface = csim_default_surface_def();
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_rigid_def csim_default_rigid_def(void) {
    csim_rigid_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.pose = csim_pose_identity();
    d.density = 1000;
    d.surface = csim_default_surface_def();
    d.can_sleep = true;
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_soft_def csim_default_soft_def(void) {
    csim_soft_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.pose = csim_pose_identity();
    d.scale = 1;
    d.young = CSIM_R(1e5);
    d.poisson = CSIM_R(0.4);
    d.density = 1000;
    d.stiffness_damping = CSIM_R(1e-3);
    d.surface = csim_default_surface_def();
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_spring_def csim_default_spring_def(void) {
    csim_spring_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.rest_length = -1;
    d.stiffness = 1000;
    d.guard = CSIMI_GUARD;
    return d;
}

CSIM_API csim_pin_def csim_default_pin_def(void) {
    csim_pin_def d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.guard = CSIMI_GUARD;
    return d;
}

/* ---- checks */

CSIMI_FN csim_status csimi_check_guard(csim_error *error, const char *function, const char *def, uint32_t guard) {
    if (guard == CSIMI_GUARD) return CSIM_OK;
    return csimi_fail(error, CSIM_DEF_NOT_INITIALISED, function, "guard", true, (double)guard, def);
}

CSIMI_FN csim_status csimi_check_fields(csim_error *error, const char *function, const void *def,
                                        const csimi_field *fields, int count) {
    int i;
    for (i = 0; i < count; i++) {
        const csimi_field *f = fields + i;
        csim_real x;
        CSIMI_MEMCPY(&x, (const unsigned char *)def + f->offset, sizeof x);
        if (!csimi_finite(x)) return csimi_fail(error, CSIM_NOT_FINITE, function, f->name, true, (double)x, f->range);
        if ((double)x < f->lowest || (double)x > f->highest || (f->open_low && (double)x <= f->lowest) ||
            (f->open_high && (double)x >= f->highest))
            return csimi_fail(error, CSIM_OUT_OF_RANGE, function, f->name, true, (double)x, f->range);
    }
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_surface(csim_error *error, const char *function, const csim_surface_def *def) {
    static const csimi_field fields[] = {
        {"surface.friction", offsetof(csim_surface_def, friction), 0, 1e6, false, false, "0..1e6"},
        {"surface.friction2", offsetof(csim_surface_def, friction2), -1, 1e6, false, false, "-1 (isotropic) or 0..1e6"},
        {"surface.friction_direction.x", offsetof(csim_surface_def, friction_direction.x), -1e9, 1e9, false, false,
         "finite"},
        {"surface.friction_direction.y", offsetof(csim_surface_def, friction_direction.y), -1e9, 1e9, false, false,
         "finite"},
        {"surface.friction_direction.z", offsetof(csim_surface_def, friction_direction.z), -1e9, 1e9, false, false,
         "finite"},
        {"surface.restitution", offsetof(csim_surface_def, restitution), 0, 1, false, false, "0..1"},
        {"surface.thickness", offsetof(csim_surface_def, thickness), 0, 1e3, false, false, "0..1000"},
    };
    csim_status s = csimi_check_fields(error, function, def, fields, CSIMI_COUNT_OF(fields));
    if (s) return s;
    if (def->friction2 >= 0 && !(csim_length(def->friction_direction) > 0))
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "surface.friction_direction", true, 0,
                          "not the zero vector");
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_enum(csim_error *error, const char *function, const char *field, int value,
                                      int count) {
    char range[32];
    size_t length = csimi_append_text(range, sizeof range, 0, "0..");
    csimi_append_int(range, sizeof range, length, count - 1);
    if (value >= 0 && value < count) return CSIM_OK;
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, field, true, (double)value, range);
}


/* Numbers of a field that has several: none beyond most, each named field.x or the like. */
static csim_status csimi_check_parts(csim_error *error, const char *function, const char *field, const char *part,
                                     const csim_real *x, int count, csim_real most, const char *allowed) {
    char name[64], end[3] = {'.', 0, 0};
    int k;
    for (k = 0; k < count; k++) {
        const bool finite = csimi_finite(x[k]);
        if (finite && csimi_abs(x[k]) <= most) continue;
        end[1] = part[k];
        csimi_append_text(name, sizeof name, csimi_append_text(name, sizeof name, 0, field), end);
        return csimi_fail(error, finite ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, function, name, true, (double)x[k],
                          allowed);
    }
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_vec(csim_error *error, const char *function, const char *field, csim_vec3 v) {
    csim_real c[3];
    csimi_store3(c, v);
    return csimi_check_parts(error, function, field, "xyz", c, 3, CSIM_R(1e9), "-1e9..1e9");
}

CSIMI_FN csim_status csimi_check_turn(csim_error *error, const char *function, const char *field, csim_quat q) {
    const csim_real length2 = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    csim_real c[4];
    char name[64];
    csim_status s;
    csimi_store_quat(c, q);
    if ((s = csimi_check_parts(error, function, field, "wxyz", c, 4, 2, "a unit quaternion")) != 0) return s;
    if (length2 >= CSIM_R(0.998) && length2 <= CSIM_R(1.002)) return CSIM_OK;
    csimi_append_text(name, sizeof name, csimi_append_text(name, sizeof name, 0, field), " length squared");
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, name, true, (double)length2,
                      "a unit quaternion, 1 within 0.002");
}

CSIMI_FN csim_status csimi_check_pose(csim_error *error, const char *function, const char *field, csim_pose pose) {
    char name[64];
    const size_t length = csimi_append_text(name, sizeof name, 0, field);
    csim_status s;
    csimi_append_text(name, sizeof name, length, ".position");
    if ((s = csimi_check_vec(error, function, name, pose.position)) != 0) return s;
    csimi_append_text(name, sizeof name, length, ".rotation");
    return csimi_check_turn(error, function, name, pose.rotation);
}

CSIMI_FN csim_status csimi_check_solver_params(const csim_solver_params *p, const char *function, csim_error *error) {
    static const csimi_field fields[] = {
        {"solver.tolerance", offsetof(csim_solver_params, tolerance), 0, 0.1, true, false, "above 0, at most 0.1"},
        {"solver.gain", offsetof(csim_solver_params, gain), 1, 1e8, false, false, "1..1e8"},
        {"solver.kappa", offsetof(csim_solver_params, kappa), 0, 1e15, false, false, "0 (use gain) or up to 1e15"},
        {"solver.sigma", offsetof(csim_solver_params, sigma), 0, 1e15, false, false, "0 (estimate) or up to 1e15"},
    };
    csim_status s;
    if ((s = csimi_check_enum(error, function, "solver.solver", (int)p->solver, CSIM_SOLVER_COUNT_)) != 0) return s;
    if ((s = csimi_check_enum(error, function, "solver.weight", (int)p->weight, CSIM_WEIGHT_COUNT_)) != 0) return s;
    if ((s = csimi_check_enum(error, function, "solver.acceleration", (int)p->acceleration,
                              CSIM_ACCELERATION_COUNT_)) != 0)
        return s;
    if (p->max_iterations < 1 || p->max_iterations > 1000000)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "solver.max_iterations", true, (double)p->max_iterations,
                          "1..1e6");
    if (p->window < 0 || p->window > 32)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "solver.window", true, (double)p->window,
                          "0 (default) or 1..32");
    return csimi_check_fields(error, function, p, fields, CSIMI_COUNT_OF(fields));
}

static csim_status csimi_check_capacity(const csim_capacity *c, const char *function, csim_error *error) {
    static const char *const names[] = {
        "capacity.bodies",    "capacity.nodes",   "capacity.rigids",     "capacity.shapes", "capacity.hulls",
        "capacity.tets",      "capacity.surface", "capacity.triangles",  "capacity.links",  "capacity.matrix_blocks",
        "capacity.contacts",  "capacity.pairs",   "capacity.aggregates", "capacity.frames", "capacity.bends",
        "capacity.membranes", "capacity.trees",   "capacity.tree_links", "capacity.coords", "capacity.tree_span",
        "capacity.modal"};
    int value[21], i;
    value[0] = c->bodies;
    value[1] = c->nodes;
    value[2] = c->rigids;
    value[3] = c->shapes;
    value[4] = c->hulls;
    value[5] = c->tets;
    value[6] = c->surface;
    value[7] = c->triangles;
    value[8] = c->links;
    value[9] = c->matrix_blocks;
    value[10] = c->contacts;
    value[11] = c->pairs;
    value[12] = c->aggregates;
    value[13] = c->frames;
    value[14] = c->bends;
    value[15] = c->membranes;
    value[16] = c->trees;
    value[17] = c->tree_links;
    value[18] = c->coords;
    value[19] = c->tree_span;
    value[20] = c->modal;
    for (i = 0; i < 21; i++)
        if (value[i] < 0 || value[i] > 50000000)
            return csimi_fail(error, CSIM_OUT_OF_RANGE, function, names[i], true, (double)value[i],
                              "0 (default) or 1..5e7");
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_world_def(const csim_world_def *d, const char *function, csim_error *error) {
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_world_def, gravity),
        {"omega[0]", offsetof(csim_world_def, omega[0]), 0, 1e9, true, false, "above 0, at most 1e9"},
        {"omega[1]", offsetof(csim_world_def, omega[1]), 0, 1e9, true, false, "above 0, at most 1e9"},
        {"contact_distance", offsetof(csim_world_def, contact_distance), 0, 1e3, false, false, "0..1000"},
        CSIMI_UNIT(csim_world_def, stabilization),
        {"slop", offsetof(csim_world_def, slop), 0, 1e3, false, false, "0..1000"},
        CSIMI_AT_LEAST_0(csim_world_def, push_out_speed),
        CSIMI_AT_LEAST_0(csim_world_def, restitution_threshold),
    };
    csim_status s;
    if ((s = csimi_check_guard(error, function, "made by csim_default_world_def()", d->guard)) != 0) return s;
    if ((s = csimi_check_fields(error, function, d, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_enum(error, function, "integrator", (int)d->integrator, CSIM_INTEGRATOR_COUNT_)) != 0)
        return s;
    if ((s = csimi_check_enum(error, function, "on_uncertified", (int)d->on_uncertified, CSIM_UNCERTIFIED_COUNT_)) != 0)
        return s;
    if (d->law != CSIM_LAW_STRICT && d->law != CSIM_LAW_PROXIMAL && d->law != CSIM_LAW_INVERTIBLE)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, function, "law", true, (double)d->law,
                          "CSIM_LAW_STRICT, CSIM_LAW_PROXIMAL or CSIM_LAW_INVERTIBLE");
    if ((s = csimi_check_integrator(d, d->integrator, 0, 0, function, error)) != 0) return s;
    if ((d->allocator.alloc == NULL) != (d->allocator.free == NULL))
        return csimi_fail(error, CSIM_NULL_ARGUMENT, function, "allocator", false, 0,
                          "alloc and free both set, or both null");
    if ((s = csimi_check_capacity(&d->capacity, function, error)) != 0) return s;
    return csimi_check_solver_params(&d->solver, function, error);
}

/* ---- the three doors */

/* Zeros of a definition become these: enough for small scenes in a fixed block, a place to grow from on the heap. */
static csimi_counts csimi_first_capacity(const csim_world_def *def) {
    csim_capacity c = def->capacity;
    if (!c.bodies) c.bodies = 16;
    if (!c.rigids) c.rigids = c.bodies;
    if (!c.shapes) c.shapes = c.rigids;
    if (!c.nodes) c.nodes = c.bodies;
    if (!c.hulls) c.hulls = 0;
    if (!c.links) c.links = 0;
    if (!c.surface) c.surface = c.tets || c.frames || c.membranes || c.modal ? c.nodes : 0;
    if (!c.triangles) c.triangles = 2 * c.surface;
    if (!c.aggregates) c.aggregates = c.tets || c.membranes ? csimi_default_aggregates(c.nodes) : 0;
    if (!c.bends) c.bends = c.frames + c.links;
    if (!c.tree_span) c.tree_span = c.coords;
    if (!c.matrix_blocks)
        c.matrix_blocks = c.nodes + 4 * c.rigids + 5 * c.tets + 10 * c.membranes + 16 * c.links + 7 * c.frames +
                          2 * c.bends + c.tree_span * c.coords;
    if (!c.contacts) c.contacts = 16 * c.shapes + 2 * (c.surface > c.nodes ? c.surface : c.nodes) + 2 * c.frames;
    if (!c.pairs) c.pairs = 8 * (c.shapes + c.bodies) + 16 * c.frames;
    return csimi_counts_of(&c);
}

static uint32_t csimi_stamp_of(const csim_world *w) {
    uintptr_t p = (uintptr_t)w >> 4;
    uint32_t x = (uint32_t)(p ^ (p >> 16 >> 16));
    x *= 2654435769u;
    return x ? x : 1u;
}

static void csimi_start_world(csim_world *w, const csim_world_def *def) {
    CSIMI_MEMSET(w, 0, sizeof *w);
    w->def = *def;
    w->stamp = csimi_stamp_of(w);
    w->free_body = w->free_link = -1;
    w->pattern_stale = true;
    w->store.state.gravity[0] = def->gravity.x;
    w->store.state.gravity[1] = def->gravity.y;
    w->store.state.gravity[2] = def->gravity.z;
}

static size_t csimi_header_bytes(void) { return (sizeof(csim_world) + 63) / 64 * 64; }

CSIM_API csim_status csim_world_bytes(const csim_world_def *def, size_t *bytes, csim_error *error) {
    csimi_store store;
    csimi_arena arena = csimi_arena_counting();
    csim_status s;
    if (!def || !bytes)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_world_bytes", def ? "bytes" : "def", false, 0, "not null");
    if ((s = csimi_check_world_def(def, "csim_world_bytes", error)) != 0) return s;
    CSIMI_MEMSET(&store, 0, sizeof store);
    store.capacity = csimi_first_capacity(def);
    csimi_store_layout(&store, &def->solver, &arena);
    if (arena.overflow)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, "csim_world_bytes", "capacity", false, 0,
                          "sizes that fit in memory");
    *bytes = csimi_header_bytes() + arena.used;
    return CSIM_OK;
}

CSIM_API csim_status csim_create_world_in(const csim_world_def *def, void *block, size_t bytes, csim_world **world,
                                          csim_error *error) {
    size_t needed = 0;
    csim_world *w = (csim_world *)block;
    csimi_arena arena;
    csim_status s;
    if (!block || !world)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_create_world_in", block ? "world" : "block", false, 0,
                          "not null");
    if ((s = csim_world_bytes(def, &needed, error)) != 0) return s;
    if ((uintptr_t)block % 64 != 0)
        return csimi_fail(error, CSIM_OUT_OF_RANGE, "csim_create_world_in", "block", false, 0, "aligned to 64 bytes");
    if (bytes < needed)
        return csimi_fail(error, CSIM_CAPACITY, "csim_create_world_in", "bytes", true, (double)bytes,
                          "at least what csim_world_bytes says for this definition");
    csimi_start_world(w, def);
    w->store.capacity = csimi_first_capacity(def);
    w->block = (unsigned char *)block + csimi_header_bytes();
    w->block_bytes = needed - csimi_header_bytes();
    arena = csimi_arena_in(w->block, w->block_bytes);
    csimi_store_layout(&w->store, &def->solver, &arena);
    CSIMI_MEMSET((void *)w->store.body, 0, (size_t)(w->store.scratch - (unsigned char *)w->store.body));
    w->heap.held = needed;
    *world = w;
    return CSIM_OK;
}

CSIM_API csim_status csim_create_world(const csim_world_def *def, csim_world **world, csim_error *error) {
    csimi_heap heap;
    csimi_counts first;
    csim_world *w;
    csim_status s;
    if (!def || !world)
        return csimi_fail(error, CSIM_NULL_ARGUMENT, "csim_create_world", def ? "world" : "def", false, 0, "not null");
    if ((s = csimi_check_world_def(def, "csim_create_world", error)) != 0) return s;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    heap.hooks = def->allocator;
    w = (csim_world *)csimi_heap_alloc(&heap, csimi_header_bytes());
    if (!w)
        return csimi_fail(error, CSIM_OUT_OF_MEMORY, "csim_create_world", "bytes", true, (double)csimi_header_bytes(),
                          "what the allocator and its limits give");
    csimi_start_world(w, def);
    w->heap = heap;
    w->grows = true;
    first = csimi_first_capacity(def);
    s = csimi_ensure(w, &first, "csim_create_world");
    if (s) {
        if (error) *error = w->error;
        heap = w->heap;
        csimi_heap_free(&heap, w, csimi_header_bytes());
        return s;
    }
    *world = w;
    return CSIM_OK;
}

CSIM_API void csim_destroy_world(csim_world *w) {
    csimi_heap heap;
    if (!w || !w->grows) return;
    heap = w->heap;
    csimi_heap_free(&heap, w->block, w->block_bytes);
    csimi_heap_free(&heap, w, csimi_header_bytes());
}

CSIM_API csim_status csim_world_reserve(csim_world *w, const csim_capacity *capacity) {
    csimi_counts need;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (!capacity)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, "csim_world_reserve", "capacity", false, 0, "not null");
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_reserve", NULL, false, 0, NULL);
    if ((s = csimi_check_capacity(capacity, "csim_world_reserve", &w->error)) != 0) return s;
    need = csimi_counts_of(capacity);
    return csimi_ensure(w, &need, "csim_world_reserve");
}

CSIM_API csim_capacity csim_world_capacity(const csim_world *w) { return csimi_capacity_of(&w->store.capacity); }
CSIM_API csim_capacity csim_world_used(const csim_world *w) { return csimi_capacity_of(&w->high); }
CSIM_API const char *csim_last_error(const csim_world *w) { return w ? w->error.text : ""; }

/* ---- ids */

CSIMI_FN csim_body_id csimi_body_id_of(const csim_world *w, int slot) {
    csim_body_id id;
    CSIMI_MEMSET(&id, 0, sizeof id);
    if (slot < 0) return id;
    id.index1 = (uint32_t)slot + 1u;
    id.generation = w->store.body[slot].generation;
    id.world = w->stamp;
    return id;
}

CSIMI_FN csim_status csimi_find_body(const csim_world *w, csim_body_id id, const char *function, int *slot,
                                     csim_error *error) {
    if (id.index1 == 0) return csimi_fail(error, CSIM_STALE_ID, function, "id", true, 0, "an id made by a create call");
    if (id.world != w->stamp)
        return csimi_fail(error, CSIM_WRONG_WORLD, function, "id", true, (double)id.index1, "an id of this world");
    if (id.index1 > (uint32_t)w->store.count.bodies || !w->store.body[id.index1 - 1].alive ||
        w->store.body[id.index1 - 1].generation != id.generation)
        return csimi_fail(error, CSIM_STALE_ID, function, "id", true, (double)id.index1,
                          "an id whose body still exists");
    *slot = (int)(id.index1 - 1);
    return CSIM_OK;
}

CSIM_API bool csim_body_valid(const csim_world *w, csim_body_id id) {
    int slot;
    return w && csimi_find_body(w, id, "csim_body_valid", &slot, NULL) == CSIM_OK;
}

/* ---- settings */

CSIM_API csim_status csim_world_set_gravity(csim_world *w, csim_vec3 gravity) {
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_set_gravity", NULL, false, 0, NULL);
    if ((s = csimi_check_vec(&w->error, "csim_world_set_gravity", "gravity", gravity)) != 0) return s;
    w->def.gravity = gravity;
    csimi_store3(w->store.state.gravity, gravity);
    return CSIM_OK;
}

/* The scratch depends on the solver: a heap world lays itself out anew, a fixed block must have the room already. */
CSIM_API csim_status csim_world_set_solver(csim_world *w, const csim_solver_params *params) {
    csim_solver_params old;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (!params)
        return csimi_fail(&w->error, CSIM_NULL_ARGUMENT, "csim_world_set_solver", "params", false, 0, "not null");
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_set_solver", NULL, false, 0, NULL);
    if ((s = csimi_check_solver_params(params, "csim_world_set_solver", &w->error)) != 0) return s;
    old = w->def.solver;
    w->def.solver = *params;
    if (csimi_step_scratch(&w->store.capacity, params) > w->store.scratch_bytes) {
        csimi_counts need = w->store.capacity;
        need.pairs++; /* forces a new layout */
        s = csimi_ensure(w, &need, "csim_world_set_solver");
        if (s) w->def.solver = old;
    }
    return s;
}

CSIM_API csim_status csim_world_set_integrator(csim_world *w, csim_integrator integrator) {
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_set_integrator", NULL, false, 0, NULL);
    if ((s = csimi_check_enum(&w->error, "csim_world_set_integrator", "integrator", (int)integrator,
                              CSIM_INTEGRATOR_COUNT_)) != 0)
        return s;
    if ((s = csimi_check_integrator(&w->def, integrator, w->store.count.trees, w->store.count.joints,
                                    "csim_world_set_integrator", &w->error)) != 0)
        return s;
    w->def.integrator = integrator;
    return CSIM_OK;
}
