/* world/step: one step, from its first line to its last. Read csim_world_step at the end of this file first.

       models -> A, b ; shapes -> contacts -> rows -> islands -> solve -> certify -> integrate -> measure -> commit

   Everything is computed in scratch; the commit at the end only copies, so a step that fails leaves no trace. */
#include "private.h"

#define CSIMI_BOND_PASSES 24   /* of the correction; each takes a digit or more off */
#define CSIMI_SETTLE_PASSES 30 /* of Newton's method in half-step worlds; it doubles the digits in two to four */
#define CSIMI_TURN CSIM_R(0.5)   /* rad: of an edge of a cable in a step */
#define CSIMI_TURN_PASSES 30

/* ---- the pattern of A, rebuilt after bodies or links changed */

static int csimi_count_pairs(const csimi_state *s) {
    const csimi_model *table = csimi_model_table();
    int i, n = 0;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].couple) n += table[i].couple(s, NULL);
    return n;
}

static int csimi_most_pairs(const csimi_counts *n) {
    /* trees store more blocks than pairs */
    return 6 * n->tets + 15 * n->membranes + n->rigids + CSIMI_SPRING_SLOTS / 2 * n->springs + 3 * n->frames +
           n->bends + (n->coords > 0 ? n->matrix_blocks / 2 : 0);
}

CSIMI_FN size_t csimi_pattern_build_scratch(const csimi_counts *n) {
    csimi_arena arena = csimi_arena_counting();
    int pairs = csimi_most_pairs(n);
    CSIMI_PUSH(&arena, int, 2 * (size_t)pairs);
    CSIMI_PUSH(&arena, int, csimi_pattern_scratch(csimi_blocks_of(n), pairs));
    return arena.used;
}

CSIMI_FN csim_status csimi_build_pattern(csim_world *w, csimi_arena *arena) {
    csimi_store *s = &w->store;
    const csimi_model *table = csimi_model_table();
    size_t mark = arena->used;
    int i, at = 0, needed = 0, count, total = csimi_count_pairs(&s->state), blocks = csimi_block_count(&s->state);
    int *pairs = CSIMI_PUSH(arena, int, 2 * (size_t)total);
    int *scratch = CSIMI_PUSH(arena, int, csimi_pattern_scratch(blocks, total));
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].couple) at += table[i].couple(&s->state, pairs + 2 * at);
    s->A.n = blocks;
    count = csimi_pattern_build(blocks, total, pairs, s->A.row, s->A.col, s->A.diag, s->capacity.matrix_blocks, &needed,
                                scratch);
    csimi_pop(arena, mark);
    w->high.matrix_blocks = csimi_imax(w->high.matrix_blocks, count < 0 ? needed : count);
    if (count < 0)
        return csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "matrix_blocks needed", true, (double)needed,
                          "at most capacity.matrix_blocks; call csim_world_reserve");
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].bind) table[i].bind(&s->state, &s->A);
    w->pattern_stale = false;
    return CSIM_OK;
}

/* ---- stages */

/* The frame of this step: numbers of the integrator, working copies, velocities of all blocks. */
static void csimi_begin_frame(csim_world *w, csimi_step_frame *f, csim_real h, csimi_arena *arena) {
    csimi_store *s = &w->store;
    const csimi_state *t = &s->state;
    csimi_state own;
    int i, k;
    csimi_frame_layout(f, &s->capacity, arena);
    if (f->joint) CSIMI_MEMCPY(f->joint, s->joint, sizeof *s->joint * (size_t)s->count.joints);
    f->h = h;
    f->theta = f->sigma = csimi_is_middle(w) ? CSIM_R(0.5) : CSIM_R(1.0);
    if (w->def.integrator == CSIM_TWO_STEP) f->sigma = 0; /* explicit forces */
    f->blocks = csimi_block_count(t);
    own = f->next;
    f->next = *t; /* shares what a step does not change */
    f->next.x = own.x;
    f->next.v = own.v;
    f->next.com = own.com;
    f->next.rotation = own.rotation;
    f->next.velocity = own.velocity;
    f->next.frame = own.frame;
    f->next.frame_velocity = own.frame_velocity;
    f->next.link_position = own.link_position;
    f->next.link_pose = own.link_pose;
    f->next.coord_rate = own.coord_rate;
    f->next.coord_position = own.coord_position;
    for (i = 0; i < t->node_count; i++) {
        f->skip[i] = t->node_mode[i] != CSIMI_FREE;
        for (k = 0; k < 3; k++) {
            f->vk[3 * i + k] = t->v[3 * i + k];
            f->rep[3 * i + k] = s->node_rep[3 * i + k];
        }
    }
    for (i = 0; i < t->rigid_count; i++) {
        int block = t->node_count + 2 * i;
        f->skip[block] = f->skip[block + 1] = t->rigid_mode[i] != CSIMI_FREE;
        for (k = 0; k < 6; k++) {
            f->vk[3 * block + k] = t->velocity[6 * i + k];
            f->rep[3 * block + k] = s->rigid_rep[6 * i + k];
        }
    }
    for (i = 0; i < t->frame_count; i++) {
        int block = csimi_first_frame_block(t) + i;
        f->skip[block] = t->frame_mode[i] != CSIMI_FREE;
        for (k = 0; k < 3; k++) {
            f->vk[3 * block + k] = t->frame_velocity[3 * i + k];
            f->rep[3 * block + k] = s->frame_rep[3 * i + k];
        }
    }
    for (i = 0; i < t->coord_count; i++) {
        int block = csimi_first_coord_block(t) + i;
        const csimi_tree *tree = t->tree + s->coord_tree[i];
        f->skip[block] = tree->mode != CSIMI_FREE || (tree->anchored && i < tree->first_block + tree->base_blocks);
        for (k = 0; k < 3; k++) {
            f->vk[3 * block + k] = t->coord_rate[3 * i + k];
            f->rep[3 * block + k] = s->coord_rep[3 * i + k];
        }
    }
    for (i = 0; i < 3 * f->blocks; i++) f->v[i] = f->vk[i]; /* stays for fixed and kinematic blocks */
}

static void csimi_prepare(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    const csimi_model *table = csimi_model_table();
    int i;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].prepare) table[i].prepare(&w->store.state, step, f->vk);
}

CSIMI_FN void csimi_assemble(csim_world *w, csimi_step_frame *f, const csimi_step *step, const csimi_state *at) {
    csimi_store *s = &w->store;
    const csimi_model *table = csimi_model_table();
    csimi_system system;
    int i;
    CSIMI_MEMSET(s->A.val, 0, sizeof(csim_real) * 9 * (size_t)s->A.row[s->A.n]);
    for (i = 0; i < 3 * f->blocks; i++) f->b[i] = 0;
    system.A = s->A;
    system.b = f->b;
    system.vk = f->vk;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].assemble) table[i].assemble(at, step, &system);
}

/* Elastic forces of midpoint worlds belong to the middle of the step: q_k + h/2 v*. */
static void csimi_guess(csim_world *w, csimi_step_frame *f, csimi_step *step, const csim_real *v) {
    const csimi_state *s = &w->store.state;
    int i;
    for (i = 0; i < 3 * f->blocks; i++) f->v_end[i] = f->skip[i / 3] ? f->v[i] : v[i];
    for (i = 0; i < 3 * s->node_count; i++) f->next.x[i] = s->x[i] + step->sigma * step->h * f->v_end[i];
    step->guess = f->v_end;
    step->guess_x = f->next.x;
}

/* One Newton step on the implicit midpoint rule: the rotations of the elements move on by half a step with the first
   solution, which is dropped; the work it took stays counted. Frozen at q_k they lag behind, and a swinging solid gains
   energy without bound. */
static void csimi_move_on(csim_world *w, csimi_step_frame *f, csimi_step *step) {
    csim_step_stats *stats = &f->stats;
    const int pairs = stats->pairs, contacts = stats->contacts, products = stats->products;
    const int rejections = stats->rejections;
    const long iterations = stats->total_iterations;
    if (w->def.integrator == CSIM_MIDPOINT) {
        csimi_guess(w, f, step, f->v);
        csimi_assemble(w, f, step, &w->store.state);
        csimi_bonds_stiffen(w, f);
    }
    CSIMI_MEMCPY(f->rep, f->v, sizeof(csim_real) * 3 * (size_t)f->blocks);
    CSIMI_MEMSET(stats, 0, sizeof *stats);
    stats->pairs = pairs;
    stats->contacts = contacts;
    stats->products = products;
    stats->rejections = rejections;
    stats->total_iterations = iterations;
}

CSIMI_FN void csimi_advance(csim_world *w, const csimi_step *step, csim_real h, const csim_real *v,
                            csimi_state *next) {
    const csimi_model *table = csimi_model_table();
    csimi_step part = *step;
    int i;
    part.h = h;
    for (i = 0; i < CSIMI_MODEL_COUNT; i++)
        if (table[i].advance) table[i].advance(&w->store.state, &part, v, next);
}

/* Islands whose joints do not hold at the end of the step are solved again with corrected rows. */
static csim_status csimi_close_joints(csim_world *w, csimi_step_frame *f, const csimi_step *step, csimi_arena *arena) {
    size_t mark = arena->used;
    csim_real *miss = CSIMI_PUSH(arena, csim_real, 3 * (size_t)f->blocks), *before = miss + f->blocks;
    unsigned char *again = CSIMI_PUSH(arena, unsigned char, f->blocks);
    csim_status status = CSIM_OK;
    int pass;
    for (pass = 0; pass < f->island_count; pass++) {
        again[pass] = csimi_is_middle(w) ? CSIMI_AGAIN_TURNED : CSIMI_AGAIN_ON;
        before[pass] = CSIMI_HUGE;
    }
    f->again = true;
    for (pass = 0; pass < CSIMI_BOND_PASSES && status == CSIM_OK; pass++) {
        const bool late = 3 * pass > 2 * CSIMI_BOND_PASSES;
        csimi_advance(w, step, f->h, f->v, &f->next);
        if (!csimi_bonds_correct(w, f, again, miss, before, before + f->blocks, late)) break;
        csimi_advance(w, step, f->h / 2, f->v, &f->next);
        csimi_bonds_middle(w, f, again, pass == 0);
        status = csimi_solve_again(w, f, again, arena);
    }
    csimi_pop(arena, mark);
    return status;
}

/* v_{k+1} = v_k + (v - v_k) / theta, positions by v; of a two-step world the second half of the way. */
static csim_status csimi_integrate(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    csimi_store *s = &w->store;
    int i, k, frames = 3 * csimi_first_frame_block(&s->state);
    for (i = 0; i < 3 * f->blocks; i++) f->v_end[i] = f->vk[i] + (f->v[i] - f->vk[i]) / f->theta;
    for (i = 0; i < f->blocks; i++)
        if (f->skip[i])
            for (k = 0; k < 3; k++) f->v_end[3 * i + k] = f->v[3 * i + k];
    csimi_advance(w, step, w->def.integrator == CSIM_TWO_STEP ? f->h / 2 : f->h, f->moves ? f->rep : f->v, &f->next);
    for (i = 0; i < 3 * s->count.nodes; i++) f->next.v[i] = f->v_end[i];
    for (i = 0; i < 6 * s->count.rigids; i++) f->next.velocity[i] = f->v_end[3 * s->count.nodes + i];
    for (i = 0; i < 3 * s->count.frames; i++) f->next.frame_velocity[i] = f->v_end[frames + i];
    for (i = 0; i < 3 * s->count.coords; i++)
        f->next.coord_rate[i] = f->v_end[3 * csimi_first_coord_block(&s->state) + i];
    csimi_reduced_step_velocities(w, f);
    if (csimi_all_finite(f->v_end, 3 * f->blocks) && csimi_all_finite(f->next.x, 3 * s->count.nodes) &&
        csimi_all_finite(f->next.com, 3 * s->count.rigids) && csimi_all_finite(f->next.rotation, 4 * s->count.rigids) &&
        csimi_all_finite(f->next.frame, 4 * s->count.frames) &&
        csimi_all_finite(f->next.link_pose, 7 * s->count.tree_links))
        return CSIM_OK;
    return csimi_fail(&w->error, CSIM_NON_FINITE_RESULT, "csim_world_step", "velocity or position", false, 0,
                      "finite numbers; the step was undone");
}

static void csimi_commit(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    csimi_store *s = &w->store;
    size_t nodes = (size_t)s->count.nodes, rigids = (size_t)s->count.rigids, frames = (size_t)s->count.frames;
    size_t real = sizeof(csim_real);
    size_t links = (size_t)s->count.tree_links, coords = (size_t)s->count.coords;
    int i;
    csimi_tree_keep_rows(w, f, step);
    CSIMI_MEMCPY(s->state.x, f->next.x, real * 3 * nodes);
    CSIMI_MEMCPY(s->state.v, f->next.v, real * 3 * nodes);
    CSIMI_MEMCPY(s->node_rep, f->v, real * 3 * nodes);
    CSIMI_MEMCPY(s->state.com, f->next.com, real * 3 * rigids);
    CSIMI_MEMCPY(s->state.rotation, f->next.rotation, real * 4 * rigids);
    CSIMI_MEMCPY(s->state.velocity, f->next.velocity, real * 6 * rigids);
    CSIMI_MEMCPY(s->rigid_rep, f->v + 3 * nodes, real * 6 * rigids);
    CSIMI_MEMCPY(s->state.frame, f->next.frame, real * 4 * frames);
    CSIMI_MEMCPY(s->state.frame_velocity, f->next.frame_velocity, real * 3 * frames);
    CSIMI_MEMCPY(s->frame_rep, f->v + 3 * (nodes + 2 * rigids), real * 3 * frames);
    CSIMI_MEMSET(s->state.frame_torque, 0, real * 3 * frames);
    CSIMI_MEMCPY(s->state.link_position, f->next.link_position, real * 7 * links);
    CSIMI_MEMCPY(s->state.link_pose, f->next.link_pose, real * 7 * links);
    CSIMI_MEMCPY(s->state.coord_rate, f->next.coord_rate, real * 3 * coords);
    CSIMI_MEMCPY(s->state.coord_position, f->next.coord_position, real * 3 * coords);
    CSIMI_MEMCPY(s->coord_rep, f->v + 3 * csimi_first_coord_block(&s->state), real * 3 * coords);
    CSIMI_MEMSET(s->state.coord_force, 0, real * 3 * coords);
    CSIMI_MEMSET(s->state.node_force, 0, real * 3 * nodes);
    CSIMI_MEMSET(s->state.wrench, 0, real * 6 * rigids);
    for (i = 0; i < s->count.bodies; i++) s->body[i].sigma = f->sigma_of_body[i];
    csimi_bonds_commit(w, f);
    CSIMI_MEMCPY(s->contact, f->info, sizeof(csim_contact_info) * (size_t)f->found_count);
    CSIMI_MEMCPY(s->ended_id, f->ended, sizeof(uint64_t) * (size_t)f->ended_count);
    s->count.contacts = f->found_count;
    s->count.ended = f->ended_count;
    w->time += (double)f->h;
    w->last_h = (double)f->h;
}

static double csimi_now(const csim_world *w) { return w->def.clock ? w->def.clock(w->def.clock_user) : 0; }

/* Half-step worlds solve their nonlinear equations by Newton's method: true when v is to be improved once more. A step
   that stays above the tolerance says so. */
static bool csimi_unsettled(csim_world *w, csimi_step_frame *f, const csimi_step *step, int pass, double *before) {
    const double tolerance = (double)w->def.solver.tolerance;
    double rest;
    csimi_linearise(w, f, step, f->v);
    rest = csimi_imbalance(w, f);
    if (rest > tolerance && pass < CSIMI_SETTLE_PASSES && (pass < 6 || rest < 0.9 * *before)) {
        *before = rest;
        return true;
    }
    if (rest > f->stats.certificate.dynamics) f->stats.certificate.dynamics = rest;
    if (rest > tolerance) f->stats.flags |= CSIM_FLAG_CAP | CSIM_FLAG_UNCERTIFIED;
    return false;
}

static bool csimi_has_elements(const csimi_counts *n) { return n->tets + n->membranes > 0; }
static bool csimi_is_elastic(const csimi_counts *n) { return csimi_has_elements(n) || n->springs + n->frames > 0; }

/* Solvers that walk through gaps know one integrator; the anchors of PENALTY bear any that solves a step once. */
static bool csimi_solver_fits(const csim_world *w) {
    if (!csimi_solver_gaps(w->def.solver.solver) || w->def.integrator == CSIM_BACKWARD_EULER) return true;
    return w->def.solver.solver == CSIM_SOLVER_PENALTY && w->def.integrator == CSIM_MIDPOINT &&
           !csimi_has_elements(&w->store.count);
}

/* A and b, before contacts are known. */
static void csimi_begin_forces(csim_world *w, csimi_step_frame *f, csimi_step *step) {
    const bool faces = csimi_has_elements(&w->store.count);
    csimi_prepare(w, f, step);
    f->moves = w->def.solver.solver == CSIM_SOLVER_XPBD;
    f->start = csimi_solver_gaps(w->def.solver.solver) ? f->vk : f->rep;
    if (f->moves) CSIMI_MEMCPY(f->rep, f->v, sizeof(csim_real) * 3 * (size_t)f->blocks);
    if (w->def.integrator == CSIM_HALF_STEP && csimi_is_elastic(&w->store.count)) {
        csimi_linearise(w, f, step, f->rep);
        return;
    }
    if (w->def.integrator == CSIM_MIDPOINT && faces) csimi_guess(w, f, step, f->rep);
    csimi_assemble(w, f, step, &w->store.state);
    csimi_bonds_stiffen(w, f);
}

/* Along d = v - v*, at v* + share d: d (A0 v - b0 - h f(q) - J'lambda), the slope of the potential that backward Euler
   minimises, less the work of the contacts. Leaves A and b of that place. */
static double csimi_turn_slope(csim_world *w, csimi_step_frame *f, const csimi_step *step, csim_real share) {
    const csim_real *pushed = f->aim + 3 * (size_t)f->blocks;
    double slope = 0;
    int i;
    for (i = 0; i < 3 * f->blocks; i++) f->rep[i] = f->aim[i] + share * (f->v[i] - f->aim[i]);
    csimi_linearise(w, f, step, f->rep);
    csimi_bonds_stiffen(w, f);
    csimi_product(&w->store.A, f->v_end, f->frozen, step->tasks);
    for (i = 0; i < 3 * f->blocks; i++)
        if (!f->skip[i / 3]) slope += (double)(f->v[i] - f->aim[i]) * (double)(f->frozen[i] - f->b[i] - pushed[i]);
    return slope;
}

/* One linearisation bears turns of about a radian. Backward Euler worlds in which edges of cables turn farther than
   CSIMI_TURN go on by Newton's method: forces at q_k + h v*, v* following the solution as far as the slope falls along
   it. Most steps never get here. */
static bool csimi_cables_turn(csim_world *w, csimi_step_frame *f, const csimi_step *step, int pass) {
    const csimi_state *s = &w->store.state;
    const int first = 3 * csimi_first_frame_block(s), end = first + 3 * s->frame_count;
    csim_real most = 0, share;
    double begin, slope;
    int i, look;
    if (s->frame_count == 0 || pass > CSIMI_TURN_PASSES) return false;
    if (f->stats.flags & CSIM_FLAG_UNCERTIFIED) return false; /* v is no place to go on from */
    if (pass == 1) CSIMI_MEMSET(f->aim, 0, sizeof(csim_real) * 3 * (size_t)f->blocks);
    for (i = first; i < end; i += 3)
        if (!f->skip[i / 3])
            most = csimi_max(most, csim_length(csim_sub(csimi_load3(f->v + i), csimi_load3(f->aim + i))));
    most *= step->h;
    if (!(most > CSIMI_TURN)) return false;
    csimi_pushes(f, f->aim + 3 * (size_t)f->blocks);
    begin = csimi_turn_slope(w, f, step, 0);
    share = csimi_min(1, 2 * CSIMI_TURN / most);
    for (look = 0; look < 8; look++) {
        slope = csimi_turn_slope(w, f, step, share);
        if (!(slope > -0.3 * begin)) break;
        share *= csimi_max(CSIM_R(0.1), (csim_real)(-begin / (slope - begin)));
    }
    CSIMI_MEMCPY(f->aim, f->v_end, sizeof(csim_real) * 3 * (size_t)f->blocks);
    return true;
}

/* Whether the islands are to be solved once more with other forces: a midpoint world moves its elements on once, a
   half-step world goes on until forces and motion agree. */
static bool csimi_goes_on(csim_world *w, csimi_step_frame *f, const csimi_step *step, int pass, double *before) {
    switch (w->def.integrator) {
    case CSIM_MIDPOINT: return pass == 1 && csimi_has_elements(&w->store.count);
    case CSIM_HALF_STEP: return csimi_is_elastic(&w->store.count) && csimi_unsettled(w, f, step, pass, before);
    case CSIM_BACKWARD_EULER: return csimi_cables_turn(w, f, step, pass);
    case CSIM_TWO_STEP:
    case CSIM_INTEGRATOR_COUNT_: break;
    }
    return false;
}

static csim_status csimi_solve_step(csim_world *w, csimi_step_frame *f, csimi_step *step, csimi_arena *arena) {
    csim_status status = csimi_solve_islands(w, f, arena);
    double before = 0;
    int pass;
    for (pass = 1; status == CSIM_OK && csimi_goes_on(w, f, step, pass, &before); pass++) {
        csimi_move_on(w, f, step);
        status = csimi_solve_islands(w, f, arena);
    }
    return status;
}

/* Solves, and solves again with rows for the drives that asked more than their effort. */
static csim_status csimi_solve_bounded(csim_world *w, csimi_step_frame *f, csimi_step *step, csimi_arena *arena) {
    csim_status status = csimi_solve_step(w, f, step, arena);
    int pass;
    for (pass = 0; status == CSIM_OK && csimi_tree_overruns(w, f, step, pass); pass++) {
        csimi_move_on(w, f, step);
        csimi_assemble(w, f, step, &w->store.state);
        csimi_bonds_stiffen(w, f);
        if (f->contact_count > f->first_joint_row) f->term_count = f->contacts[f->first_joint_row].a.first;
        f->contact_count = f->first_joint_row;
        csimi_tree_rows(w, f, step);
        status = csimi_solve_step(w, f, step, arena);
    }
    return status;
}

/* Everything of a step but its commit. */
static csim_status csimi_compute_step(csim_world *w, csimi_step_frame *f, csimi_step *step, csimi_arena *arena) {
    csim_status status;
    double t0 = csimi_now(w), t1, t2, t3;
    csimi_tree_choose_bounds(w);
    csimi_begin_forces(w, f, step);
    t1 = csimi_now(w);
    if ((status = csimi_detect(w, f, arena)) != 0) return status;
    csimi_rows(w, f, arena);
    csimi_tree_rows(w, f, step);
    t2 = csimi_now(w);
    if ((status = csimi_solve_bounded(w, f, step, arena)) != 0) return status;
    if (w->store.count.joints > 0 && !csimi_solver_gaps(w->def.solver.solver) &&
        (status = csimi_close_joints(w, f, step, arena)) != 0)
        return status;
    t3 = csimi_now(w);
    if ((f->stats.flags & CSIM_FLAG_UNCERTIFIED) && w->def.on_uncertified == CSIM_REJECT_UNCERTIFIED)
        return csimi_fail(&w->error, CSIM_UNCERTIFIED, "csim_world_step", "certificate", true,
                          f->stats.certificate.dynamics > f->stats.certificate.contact ? f->stats.certificate.dynamics
                                                                                       : f->stats.certificate.contact,
                          "at most solver.tolerance");
    if ((status = csimi_integrate(w, f, step)) != 0) return status;
    csimi_measure(w, f, arena);
    csimi_report_contacts(w, f);
    f->stats.assembly_seconds = t1 - t0;
    f->stats.collide_seconds = t2 - t1;
    f->stats.solve_seconds = t3 - t2;
    return CSIM_OK;
}

/* The step between locking and unlocking. A two-step world is half a step ahead of itself while it computes. */
static csim_status csimi_run_step(csim_world *w, csimi_step_frame *f, csim_real h, csimi_arena *arena) {
    const bool ahead = w->def.integrator == CSIM_TWO_STEP;
    csimi_step step;
    csim_status status;
    if (!csimi_solver_fits(w))
        return csimi_fail(&w->error, CSIM_BAD_PROBLEM, "csim_world_step", "solver.solver", true,
                          (double)(int)w->def.solver.solver,
                          "in worlds of backward Euler only; PENALTY also in midpoint worlds without solids and cloth");
    if (w->pattern_stale && (status = csimi_build_pattern(w, arena)) != 0) return status;
    csimi_begin_frame(w, f, h, arena);
    CSIMI_MEMSET(&step, 0, sizeof step);
    step.h = h;
    step.theta = f->theta;
    step.sigma = f->sigma;
#ifdef CONDSIM_OPENMP
    step.tasks = &w->def.tasks;
#else
    step.tasks = w->def.tasks.run ? &w->def.tasks : NULL; /* split rows cost some elements twice */
#endif
    if (ahead) {
        csimi_advance(w, &step, h / 2, f->vk, &f->drift);
        csimi_exchange(w, f);
    }
    status = csimi_compute_step(w, f, &step, arena);
    if (ahead) csimi_exchange(w, f);
    if (status == CSIM_OK) csimi_commit(w, f, &step);
    return status;
}

CSIM_API csim_status csim_world_step(csim_world *w, csim_real h) {
    csimi_step_frame *frame; /* in scratch: too large for small stacks */
    csimi_arena arena;
    csim_status status;
    uint64_t steps;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_fail(&w->error, CSIM_LOCKED, "csim_world_step", NULL, false, 0, NULL);
    if (!csimi_finite(h))
        return csimi_fail(&w->error, CSIM_NOT_FINITE, "csim_world_step", "h", true, (double)h, "1e-7..1 s");
    if (h < CSIM_R(1e-7) || h > 1)
        return csimi_fail(&w->error, CSIM_OUT_OF_RANGE, "csim_world_step", "h", true, (double)h, "1e-7..1 s");
    arena = csimi_arena_in(w->store.scratch, w->store.scratch_bytes);
    w->locked = true;
    steps = w->stats.step;
    frame = CSIMI_PUSH(&arena, csimi_step_frame, 1);
    CSIMI_MEMSET(frame, 0, sizeof *frame);
    status = csimi_run_step(w, frame, h, &arena);
    csimi_tree_forget_bounds(w);
    if (status && frame->joint)
        CSIMI_MEMCPY(w->store.joint, frame->joint, sizeof *frame->joint * (size_t)w->store.count.joints);
    w->locked = false;
    if (!status && arena.overflow)
        status = csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "scratch", true, (double)arena.high,
                            "a larger block");
    w->stats = frame->stats;
    w->stats.step = steps + (status ? 0u : 1u);
    w->stats.time = w->time;
    w->stats.scratch_bytes = arena.high;
    w->stats.memory_bytes = w->heap.held;
    return status;
}

#undef CSIMI_BOND_PASSES
#undef CSIMI_SETTLE_PASSES
#undef CSIMI_TURN
#undef CSIMI_TURN_PASSES
