/* world/world: the checks of a definition, the three doors, settings. */
#include "private.h"

/* No step asks again. */
static csim_status csimi_check_solver_params(const csim_solver_params *p, const char *function, csim_error *error) {
    const csim_status s = csimi_solver_check(p, true, function, error);
    if (s || csimi_solver_there(p)) return s;
    return csimi_fail(error, CSIM_UNSUPPORTED, function, "solver.solver", (double)(int)p->solver, CSIMI_SOLVERS_THERE);
}

static csim_status csimi_check_capacity(const csim_capacity *c, const char *function, csim_error *error) {
#define CSIMI_X(member) "capacity." #member,
    static const char *const names[] = {CSIMI_CAPACITY_MEMBERS(CSIMI_X)};
#undef CSIMI_X
#define CSIMI_X(member) c->member,
    const int value[] = {CSIMI_CAPACITY_MEMBERS(CSIMI_X)};
#undef CSIMI_X
    int i;
    for (i = 0; i < (int)(sizeof value / sizeof *value); i++)
        if (value[i] < 0 || value[i] > 50000000)
            return csimi_unfit(error, function, names[i], (double)value[i], "0 (default) or 1..5e7");
    return CSIM_OK;
}

static csim_status csimi_check_paths(bool follow, const char *function, csim_error *error) {
#ifdef CONDSIM_NO_PATHS
    if (follow)
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "follow_paths", 1, "builds without CONDSIM_NO_PATHS");
#else
    (void)follow, (void)function, (void)error;
#endif
    return CSIM_OK;
}

static csim_status csimi_check_budget(const csim_solver_params *solver, int budget, const char *function,
                                      csim_error *error) {
    if (budget < 0) return csimi_unfit(error, function, "budget", (double)budget, "0 (none) or visits of contacts");
    if (budget > 0 && solver->solver != CSIM_SOLVER_AUTO && solver->solver != CSIM_SOLVER_BOUNDED)
        return csimi_unfit(error, function, "budget", (double)budget,
                           "0 with a solver that is neither CSIM_SOLVER_AUTO nor CSIM_SOLVER_BOUNDED");
    return CSIM_OK;
}

static csim_status csimi_check_world_def(const csim_world_def *d, const char *function, csim_error *error) {
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_world_def, gravity),
        CSIMI_FIELD("omega[0]", offsetof(csim_world_def, omega[0]), 0, 1e9, true, false, "above 0, at most 1e9"),
        CSIMI_FIELD("omega[1]", offsetof(csim_world_def, omega[1]), 0, 1e9, true, false, "above 0, at most 1e9"),
        CSIMI_WITHIN(csim_world_def, contact_distance, 0, 1e3, "0..1000"), CSIMI_UNIT(csim_world_def, stabilization),
        CSIMI_WITHIN(csim_world_def, slop, 0, 1e3, "0..1000"), CSIMI_AT_LEAST_0(csim_world_def, push_out_speed),
        CSIMI_AT_LEAST_0(csim_world_def, restitution_threshold),
        CSIMI_WITHIN(csim_world_def, touch_distance, 0, 1e3, "0..1000"), CSIMI_AT_LEAST_0(csim_world_def, hit_speed),
        CSIMI_AT_LEAST_0(csim_world_def, sleep_speed), CSIMI_AT_LEAST_0(csim_world_def, sleep_drift),
        CSIMI_WITHIN(csim_world_def, sleep_time, 0, 1e6, "0..1e6")};
    csim_status s;
    if ((s = csimi_check_guard(error, function, "made by csim_default_world_def()", d->guard)) != 0) return s;
    if ((s = csimi_check_fields(error, function, d, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if ((s = csimi_check_enum(error, function, "integrator", (int)d->integrator, CSIM_INTEGRATOR_COUNT_)) != 0)
        return s;
    if ((s = csimi_check_enum(error, function, "on_uncertified", (int)d->on_uncertified, CSIM_UNCERTIFIED_COUNT_)) != 0)
        return s;
    if (d->law != CSIM_LAW_STRICT && d->law != CSIM_LAW_PROXIMAL && d->law != CSIM_LAW_INVERTIBLE)
        return csimi_unfit(error, function, "law", (double)d->law,
                           "CSIM_LAW_STRICT, CSIM_LAW_PROXIMAL or CSIM_LAW_INVERTIBLE");
#ifdef CONDSIM_NO_LAWS
    if (d->law != CSIM_LAW_STRICT)
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "law", (double)d->law, "builds without CONDSIM_NO_LAWS");
#endif
    if ((s = csimi_check_integrator(d, d->integrator, 0, 0, function, error)) != 0) return s;
    if ((d->allocator.alloc == NULL) != (d->allocator.free == NULL))
        return csimi_deny(error, CSIM_NULL_ARGUMENT, function, "allocator", "alloc and free both set, or both null");
    if ((s = csimi_check_capacity(&d->capacity, function, error)) != 0) return s;
    if ((s = csimi_check_budget(&d->solver, d->budget, function, error)) != 0) return s;
    if ((s = csimi_check_paths(d->follow_paths, function, error)) != 0) return s;
    return csimi_check_solver_params(&d->solver, function, error);
}

/* ---- the three doors */

/* Zeros of a definition become these: enough for small scenes in a fixed block, a place to grow from on the heap. */
static bool csimi_bounds_frames(const csim_solver_params *solver, int budget) {
    return solver->solver == CSIM_SOLVER_BOUNDED || budget > 0;
}

/* Blocks beside the diagonal of meshes of tetrahedra, two an edge: V - E + F - T = 1 of a ball, where faces inside
   belong to two, gives nodes + tets + nodes of the surface. A mesh of few tets may share nothing. */
static int64_t csimi_tet_blocks(const csim_capacity *c) {
    const int64_t edges = (int64_t)c->nodes + c->tets + csimi_imin(c->surface, c->nodes), most = (int64_t)6 * c->tets;
    return 2 * (edges < most ? edges : most);
}

static csimi_counts csimi_first_capacity(const csim_world_def *def) {
    csim_capacity c = def->capacity;
    csimi_counts n;
    if (!c.bodies) c.bodies = 16;
    if (!c.rigids) c.rigids = c.bodies;
    if (!c.shapes) c.shapes = c.rigids;
    if (!c.nodes && CSIMI_HAS_NODES) c.nodes = c.bodies;
    if (!c.hulls) c.hulls = 0;
    if (!c.links) c.links = 0;
    if (!c.surface) c.surface = c.tets || c.frames || c.membranes || c.modal ? c.nodes : 0;
    if (!c.triangles) c.triangles = 2 * c.surface;
    if (!c.aggregates) c.aggregates = c.tets || c.membranes ? csimi_default_aggregates(c.nodes, c.tets ? 1 : 0) : 0;
    if (!c.bends) c.bends = c.frames + c.links;
    if (!c.tree_span) c.tree_span = c.coords;
    if (!c.tree_rows) c.tree_rows = csimi_most_items((int64_t)CSIMI_TREE_JOINT_ROWS * c.tree_links);
    if (!c.matrix_blocks)
        c.matrix_blocks = csimi_most_items(
            c.nodes + (int64_t)4 * c.rigids + csimi_tet_blocks(&c) + (int64_t)10 * c.membranes + (int64_t)16 * c.links +
            (int64_t)4 * c.axes + (int64_t)7 * c.frames + (int64_t)2 * c.bends + (int64_t)c.tree_span * c.coords);
    if (!c.contacts)
        c.contacts = csimi_most_items((int64_t)16 * c.shapes + (int64_t)2 * csimi_imax(c.surface, c.nodes) +
                                      (int64_t)2 * c.frames);
    if (!c.pairs) c.pairs = csimi_most_items((int64_t)8 * (c.shapes + c.bodies) + (int64_t)16 * c.frames);
    n = csimi_counts_of(&c);
    n.kept = csimi_bounds_frames(&def->solver, def->budget) ? n.contacts : 0;
#ifndef CONDSIM_NO_SLEEP
    n.slept = def->can_sleep ? n.contacts : 0;
    n.slept_kept = def->can_sleep ? n.kept : 0;
    n.slept_touches = def->can_sleep ? n.touches : 0;
#endif
    return n;
}

static uint32_t csimi_stamp_of(const csim_world *w) {
    uintptr_t p = (uintptr_t)w >> 4;
    uint32_t x = (uint32_t)(p ^ (p >> 16 >> 16));
    x *= 2654435769u;
    return x ? x : 1u;
}

/* Steps and create calls work in the same scratch, one after the other. */
static size_t csimi_world_scratch(const csimi_counts *n, const csim_solver_params *solver) {
    size_t most = csimi_step_scratch(n, solver);
    if (most == SIZE_MAX) return most;
    most = csimi_most_bytes(most, csimi_bed_scratch(n));
    most = csimi_most_bytes(most, n->hulls > 0 ? sizeof(csim_hull_data) : 0); /* reshape.c */
    most = csimi_most_bytes(most, csimi_mesh_scratch(n));
    most = csimi_most_bytes(most, csimi_cloth_scratch(n));
    most = csimi_most_bytes(most, csimi_tree_scratch(n));
    return csimi_most_bytes(most, csimi_reduced_scratch(n));
}

static void csimi_start_world(csim_world *w, const csim_world_def *def) {
    CSIMI_MEMSET(w, 0, sizeof *w);
    w->def = *def;
    CSIMI_MEMSET(&w->def.capacity, 0, sizeof w->def.capacity);
    w->scratch = csimi_world_scratch;
    w->stamp = csimi_stamp_of(w);
    w->free_body = w->free_link = -1;
    w->pattern_stale = true;
    w->store.state.gravity[0] = def->gravity.x;
    w->store.state.gravity[1] = def->gravity.y;
    w->store.state.gravity[2] = def->gravity.z;
}

static size_t csimi_header_bytes(void) { return (sizeof(csim_world) + CSIMI_ALIGN - 1) / CSIMI_ALIGN * CSIMI_ALIGN; }

/* Not inlined: a kilobyte of pointers, which the layouts of the stages need not lie under. SIZE_MAX: too much. */
static CSIMI_NOINLINE size_t csimi_store_bytes(const csimi_counts *capacity, size_t scratch) {
    csimi_store store;
    csimi_arena arena = csimi_arena_counting();
    CSIMI_MEMSET(&store, 0, sizeof store);
    store.capacity = *capacity;
    csimi_store_layout(&store, scratch, &arena);
    return arena.overflow ? SIZE_MAX : arena.used;
}

CSIM_API csim_status csim_world_bytes(const csim_world_def *def, size_t *bytes, csim_error *error) {
    csimi_counts capacity;
    size_t used;
    csim_status s;
    if (!def || !bytes) return csimi_missing(error, "csim_world_bytes", def ? "bytes" : "def");
    if ((s = csimi_check_world_def(def, "csim_world_bytes", error)) != 0) return s;
    capacity = csimi_first_capacity(def);
    used = csimi_store_bytes(&capacity, csimi_world_scratch(&capacity, &def->solver));
    if (used > SIZE_MAX - csimi_header_bytes())
        return csimi_deny(error, CSIM_OUT_OF_RANGE, "csim_world_bytes", "capacity", "sizes that fit in memory");
    *bytes = csimi_header_bytes() + used;
    return CSIM_OK;
}

CSIM_API csim_status csim_create_world_in(const csim_world_def *def, void *block, size_t bytes, csim_world **world,
                                          csim_error *error) {
    size_t needed = 0;
    csim_world *w = (csim_world *)block;
    csimi_arena arena;
    csim_status s;
    if (!block || !world) return csimi_missing(error, "csim_create_world_in", block ? "world" : "block");
    if ((s = csim_world_bytes(def, &needed, error)) != 0) return s;
    if ((uintptr_t)block % 64 != 0)
        return csimi_deny(error, CSIM_OUT_OF_RANGE, "csim_create_world_in", "block", "aligned to 64 bytes");
    if (bytes < needed)
        return csimi_fail(error, CSIM_CAPACITY, "csim_create_world_in", "bytes", (double)bytes,
                          "at least what csim_world_bytes says for this definition");
    csimi_start_world(w, def);
    w->store.capacity = csimi_first_capacity(def);
    w->block = (unsigned char *)block + csimi_header_bytes();
    w->block_bytes = needed - csimi_header_bytes();
    arena = csimi_arena_in(w->block, w->block_bytes);
    csimi_store_layout(&w->store, csimi_world_scratch(&w->store.capacity, &def->solver), &arena);
    CSIMI_MEMSET((void *)w->store.body, 0, (size_t)(w->store.scratch - (unsigned char *)w->store.body));
    csimi_look_clear(&w->store.look, &w->store.capacity);
    csimi_meets_anew(&w->store);
    w->heap.held = needed;
    *world = w;
    return CSIM_OK;
}

CSIM_API csim_status csim_create_world(const csim_world_def *def, csim_world **world, csim_error *error) {
    const csim_world_def standard = csim_default_world_def();
    csimi_heap heap;
    csimi_counts first;
    csim_world *w;
    csim_status s;
    if (!world) return csimi_missing(error, "csim_create_world", "world");
    if (!def) def = &standard;
    if ((s = csimi_check_world_def(def, "csim_create_world", error)) != 0) return s;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    heap.hooks = def->allocator;
    w = (csim_world *)csimi_heap_alloc(&heap, csimi_header_bytes());
    if (!w)
        return csimi_fail(error, CSIM_OUT_OF_MEMORY, "csim_create_world", "bytes", (double)csimi_header_bytes(),
                          "what the allocator and its limits give");
    csimi_start_world(w, def);
    w->heap = heap;
    w->grow = csimi_grow_store;
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
    if (!w || !w->grow) return;
    heap = w->heap;
    csimi_heap_free(&heap, w->block, w->block_bytes);
    csimi_heap_free(&heap, w, csimi_header_bytes());
}

CSIM_API csim_status csim_world_reserve(csim_world *w, const csim_capacity *capacity) {
    const volatile unsigned char *page;
    csimi_counts need;
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (!capacity) return csimi_missing(&w->error, "csim_world_reserve", "capacity");
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, "csim_world_reserve", NULL, NULL);
    if ((s = csimi_check_capacity(capacity, "csim_world_reserve", &w->error)) != 0) return s;
    need = csimi_counts_of(capacity);
    if ((s = csimi_ensure(w, &need, "csim_world_reserve")) != 0) return s;
    CSIMI_MEMSET(w->store.scratch, 0, w->store.scratch_bytes); /* steps do not wait for pages */
    /* nor for those that a system maps anew since the block of before went back to it */
    for (page = w->block; page && page < w->store.scratch; page += 4096) (void)*page;
    csimi_plan_step(w);
    return CSIM_OK;
}

CSIM_API csim_capacity csim_world_capacity(const csim_world *w) { return csimi_capacity_of(&w->store.capacity); }

CSIM_API csim_capacity csim_world_used(const csim_world *w) { return w->def.capacity; }

CSIM_API const char *csim_last_error(const csim_world *w) { return w ? w->error.text : ""; }

/* ---- settings */

CSIM_API csim_status csim_world_set_gravity(csim_world *w, csim_vec3 gravity) {
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, "csim_world_set_gravity", NULL, NULL);
    if ((s = csimi_check_vec(&w->error, "csim_world_set_gravity", "gravity", gravity)) != 0) return s;
    if (gravity.x != w->def.gravity.x || gravity.y != w->def.gravity.y || gravity.z != w->def.gravity.z)
        csimi_wake_all(w);
    w->def.gravity = gravity;
    csimi_store3(w->store.state.gravity, gravity);
    return CSIM_OK;
}

/* The scratch depends on the solver, and worlds with bounded frames keep more of a contact: a heap world lays itself
   out anew, a fixed block must have the room already. */
CSIMI_FN csim_status csimi_set_solver(csim_world *w, const csim_solver_params *params, int budget,
                                      const char *function) {
    const csim_solver_params old = w->def.solver;
    const int old_budget = w->def.budget;
    csimi_counts need = w->store.capacity;
    csim_status s;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, function, NULL, NULL);
    if ((s = csimi_check_solver_params(params, function, &w->error)) != 0) return s;
    if ((s = csimi_check_budget(params, budget, function, &w->error)) != 0) return s;
    w->def.solver = *params;
    w->def.budget = budget;
    w->scattered = true; /* bounded frames keep manifolds of their own */
    if (csimi_bounds_frames(params, budget)) need.kept = need.contacts;
    if (need.slept > 0) need.slept_kept = need.kept;
    if (csimi_world_scratch(&need, params) > w->store.scratch_bytes) need.pairs++; /* forces a new layout */
    s = csimi_ensure(w, &need, function);
    if (s) {
        w->def.solver = old;
        w->def.budget = old_budget;
    }
    return s;
}

CSIM_API csim_status csim_world_set_solver(csim_world *w, const csim_solver_params *params) {
    if (!w) return CSIM_NULL_ARGUMENT;
    if (!params) return csimi_missing(&w->error, "csim_world_set_solver", "params");
    return csimi_set_solver(w, params, w->def.budget, "csim_world_set_solver");
}

CSIM_API csim_status csim_world_set_budget(csim_world *w, int budget) {
    const csim_solver_params params = w ? w->def.solver : csim_default_solver_params();
    return w ? csimi_set_solver(w, &params, budget, "csim_world_set_budget") : CSIM_NULL_ARGUMENT;
}

CSIM_API csim_status csim_world_set_integrator(csim_world *w, csim_integrator integrator) {
    csim_status s;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, "csim_world_set_integrator", NULL, NULL);
    if ((s = csimi_check_enum(&w->error, "csim_world_set_integrator", "integrator", (int)integrator,
                              CSIM_INTEGRATOR_COUNT_)) != 0)
        return s;
    if ((s = csimi_check_integrator(&w->def, integrator, w->store.count.trees, w->store.count.joints,
                                    "csim_world_set_integrator", &w->error)) != 0)
        return s;
    if (integrator != w->def.integrator) csimi_wake_all(w);
    w->def.integrator = integrator;
    return CSIM_OK;
}
