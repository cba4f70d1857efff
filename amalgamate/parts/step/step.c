/* step/step: one step, from its first line to its last. Read csim_world_step at the end of this file first.

       models -> A, b ; shapes -> contacts -> rows -> islands -> solve -> certify -> integrate -> measure -> commit

   Everything is computed in scratch; the commit at the end only copies, so a step that fails leaves no trace. */
#include "private.h"

enum { CSIMI_JOINT_PASSES = 24 }; /* of the correction; each takes a digit or more off */
enum { CSIMI_SETTLE_PASSES = 30 }; /* of Newton's method in half-step worlds; it doubles the digits in two to four */

/* ---- stages */

/* The next state shares what a step does not change. */
static void csimi_begin_next(const csimi_store *s, csimi_step_frame *f) {
    const csimi_state *now = &s->state;
    const csimi_state own = f->next;
    f->next = *now;
/* until it is done its velocities are those of the start: csimi_linearise takes forces at places on the way */
#define CSIMI_X(kind, axis, per, velocity, rep, force) \
    f->next.velocity = own.velocity;                   \
    if (s->count.axis > 0)                             \
        CSIMI_MEMCPY(own.velocity, now->velocity, sizeof(csim_real) * 3 * (per) * (size_t)s->count.axis);
    CSIMI_UNKNOWNS(CSIMI_X)
#undef CSIMI_X
#define CSIMI_X(axis, name, per) f->next.name = own.name;
    CSIMI_POSITIONS(CSIMI_X)
#undef CSIMI_X
}

/* The frame of this step: numbers of the integrator, working copies, velocities of all blocks. */
static void csimi_begin_frame(csim_world *w, csimi_step_frame *f, csim_real h, csimi_arena *arena) {
    csimi_store *s = &w->store;
    csimi_span span[CSIMI_SPANS];
    int i;
    csimi_frame_layout(f, &s->capacity, arena); /* by capacity: what is found later does not move it */
    /* a step writes its rows into joints: from the copy a failed one is undone */
    if (f->joint) CSIMI_MEMCPY(f->joint, s->joint, sizeof *s->joint * (size_t)s->count.joints);
    if (f->axes) CSIMI_MEMCPY(f->axes, s->axes, sizeof *s->axes * (size_t)s->count.axes);
    f->h = h;
    /* v = (v_k + v_{k+1}) / 2 in midpoint and half-step worlds, v_{k+1} in the others */
    f->theta = f->sigma = csimi_is_middle(w) ? CSIM_R(0.5) : CSIM_R(1.0);
    if (w->def.integrator == CSIM_TWO_STEP) f->sigma = 0; /* explicit forces */
    f->blocks = csimi_block_count(&s->state);
    csimi_begin_next(s, f);
    csimi_spans(s, &s->state, span);
    for (i = 0; i < CSIMI_SPANS; i++) { /* velocities of one kind and last representatives */
        CSIMI_MEMCPY(f->vk + 3 * (size_t)span[i].first, span[i].velocity, csimi_span_bytes(span + i));
        CSIMI_MEMCPY(f->rep + 3 * (size_t)span[i].first, span[i].rep, csimi_span_bytes(span + i));
    }
    csimi_mark_held(s, f->skip);
    CSIMI_MEMSET(f->missed, 0, (size_t)f->blocks);
    CSIMI_MEMCPY(f->v, f->vk, sizeof(csim_real) * 3 * (size_t)f->blocks); /* stays for fixed and kinematic blocks */
}

/* Elastic forces of midpoint worlds belong to the middle of the step: q_k + h/2 v*. */
static void csimi_guess(csim_world *w, csimi_step_frame *f, csimi_step *step, const csim_real *v) {
    const csimi_state *s = &w->store.state;
    int i;
    for (i = 0; i < 3 * f->blocks; i++) f->v_end[i] = f->skip[i / 3] ? f->v[i] : v[i]; /* given: as they are led */
    /* tetrahedra and membranes have nodes alone */
    for (i = 0; i < 3 * s->node_count; i++) f->next.x[i] = s->x[i] + step->sigma * step->h * f->v_end[i];
    step->guess = f->v_end; /* v* of sigma h^2 K v* in b */
    step->guess_x = f->next.x;
}

/* One Newton step on the implicit midpoint rule: the rotations of the elements move on by half a step with the first
   solution, which is dropped; the work it took stays counted. Frozen at q_k they lag behind, and a swinging solid gains
   energy without bound. */
static void csimi_move_on(csim_world *w, csimi_step_frame *f, csimi_step *step) {
    csim_step_stats *stats = f->stats;
    const int pairs = stats->pairs, contacts = stats->contacts, products = stats->products;
    const int rejections = stats->rejections;
    const long iterations = stats->total_iterations;
    if (w->def.integrator == CSIM_MIDPOINT) {
        csimi_guess(w, f, step, f->v);
        csimi_assemble(w, f, step, &w->store.state);
        csimi_joints_stiffen(w, f);
    }
    /* the next solve starts at the dropped solution */
    CSIMI_MEMCPY(f->rep, f->v, sizeof(csim_real) * 3 * (size_t)f->blocks);
    CSIMI_MEMSET(stats, 0, sizeof *stats);
    stats->pairs = pairs; /* found once: contacts stay those of the start */
    stats->contacts = contacts;
    stats->products = products;
    stats->rejections = rejections;
    stats->total_iterations = iterations;
}

#ifndef CONDSIM_NO_JOINTS
/* Islands with a frame of the bounded solver keep it. */
static void csimi_begin_closing(const csim_world *w, const csimi_step_frame *f, csimi_closing *c, csimi_arena *arena) {
    const size_t most = (size_t)f->blocks;
    int i;
    c->again = CSIMI_PUSH(arena, unsigned char, most);
    c->miss = CSIMI_PUSH(arena, csim_real, 4 * most);
    c->before = c->miss + most;
    c->moved = c->before + most;
    c->share = c->moved + most;
    for (i = 0; i < f->island_count; i++) {
        const int leader = csimi_block_owner(&w->store, f->island_blocks[f->island_first[i]]);
        c->again[i] = csimi_is_middle(w) ? CSIMI_AGAIN_TURNED : CSIMI_AGAIN_ON;
        if (csimi_keeps(w) && f->pace[leader].bounded) c->again[i] = CSIMI_AGAIN_NO;
        c->before[i] = CSIMI_HUGE; /* no pass has been before */
    }
    csimi_joints_begin(w, f, c);
}

/* Islands whose joints do not hold at the end of the step are solved again with corrected rows. */
static CSIMI_NOINLINE csim_status csimi_close_joints(csim_world *w, csimi_step_frame *f, const csimi_step *step,
                                                     csimi_arena *arena) {
    size_t mark = arena->used;
    csimi_closing closing;
    csim_status status = CSIM_OK;
    int pass;
    csimi_begin_closing(w, f, &closing, arena);
    f->again = true; /* islands start where they are */
    for (pass = 0; pass < CSIMI_JOINT_PASSES && status == CSIM_OK && !csimi_spent(w, f); pass++) {
        const bool late = 3 * pass > 2 * CSIMI_JOINT_PASSES; /* the last third */
        csimi_advance(w, step, f->h, f->v, &f->next); /* the end of the step, where joints must hold ... */
        if (!csimi_joints_correct(w, f, &closing, late)) break;
        csimi_advance(w, step, f->h / 2, f->v, &f->next); /* ... and its middle, whose rows may close it */
        csimi_joints_middle(w, f, closing.again, pass == 0);
        status = csimi_solve_again(w, f, closing.again, arena);
    }
    csimi_pop(arena, mark);
    return status;
}
#endif

/* The state is the next one, v its representative, and forces have had their effect. */
static void csimi_commit_state(csimi_store *s, const csimi_step_frame *f) {
    csimi_span span[CSIMI_SPANS], next[CSIMI_SPANS];
    int i;
    csimi_spans(s, &s->state, span);
    csimi_spans(s, &f->next, next);
    for (i = 0; i < CSIMI_SPANS; i++) {
        CSIMI_MEMCPY(span[i].velocity, next[i].velocity, csimi_span_bytes(span + i));
        CSIMI_MEMCPY(span[i].rep, f->v + 3 * (size_t)span[i].first, csimi_span_bytes(span + i));
        CSIMI_MEMSET(span[i].force, 0, csimi_span_bytes(span + i)); /* for one step only */
    }
#define CSIMI_X(axis, name, per) \
    CSIMI_MEMCPY(s->state.name, f->next.name, sizeof(csim_real) * (per) * (size_t)s->count.axis);
    CSIMI_POSITIONS(CSIMI_X)
#undef CSIMI_X
}

static void csimi_commit_contacts(void *context, int begin, int end) {
    const csimi_step_frame *f = ((const csimi_stage *)context)->f;
    csimi_store *s = &((const csimi_stage *)context)->w->store;
    CSIMI_MEMCPY(s->contact + begin, f->info + begin, sizeof *f->info * (size_t)(end - begin));
#ifndef CONDSIM_NO_BOUNDED
    for (; begin < csimi_imin(end, s->count.kept); begin++) s->kept[begin] = f->kept[begin].kept;
#endif
}

static CSIMI_NOINLINE void csimi_commit(csim_world *w, csimi_step_frame *f, const csimi_step *step) {
    csimi_store *s = &w->store;
    int i;
    /* these read the state at both ends of the step: before it is the next one */
    csimi_tree_keep_rows(w, f, step);
    csimi_mark_moved(w, f);
    csimi_mark_stirred(w, f);
    csimi_trees_react(w, f, step);
    csimi_springs_commit(w, f);
    csimi_commit_state(s, f);
    /* what the next solve of each island takes for its largest eigenvalue */
    for (i = 0; i < s->active_count; i++) s->body[s->active[i]].sigma = f->sigma_of_body[s->active[i]];
    csimi_joints_commit(w, f);
    csimi_keep_known(w, f);
    s->count.kept = csimi_keeps(w) ? f->found_count : 0;
    for (i = 0; i < s->active_count && csimi_keeps(w); i++) s->body[s->active[i]].pace = f->pace[s->active[i]];
    csimi_meets_clear(&s->meets, s->contact, s->count.contacts); /* while the contacts it lists are there */
    csimi_share(w, f, f->found_count, 1024, csimi_commit_contacts);
    CSIMI_MEMCPY(s->ended_id, f->ended, sizeof(uint64_t) * (size_t)f->ended_count);
    s->count.contacts = f->found_count;
    s->count.ended = f->ended_count;
    for (i = 0; i < s->count.contacts; i++) csimi_meets_add(s, &s->meets, s->contact, i);
    csimi_look_step(w, f->driven); /* boxes that queries look at follow the poses; driven: paths are done with it */
    csimi_tell_step(w, f);
    w->time += (double)f->h;
    w->last_h = (double)f->h;
}

static double csimi_now(const csim_world *w) { return w->def.clock ? w->def.clock(w->def.clock_user) : 0; }

/* Half-step worlds solve their nonlinear equations by Newton's method: true when v is to be improved once more. A step
   that stays above the tolerance says so. */
static bool csimi_unsettled(csim_world *w, csimi_step_frame *f, const csimi_step *step, int pass, double *before) {
    const double tolerance = (double)w->def.solver.tolerance;
    double rest;
    csimi_linearise(w, f, step, f->v); /* A and b about v itself: what is left over is the error of v */
    rest = csimi_imbalance(w, f);
    /* from the sixth pass on each has to take off a tenth at least */
    if (rest > tolerance && pass < CSIMI_SETTLE_PASSES && (pass < 6 || rest < 0.9 * *before)) {
        *before = rest;
        return true;
    }
    if (rest > f->stats->certificate.dynamics) f->stats->certificate.dynamics = rest; /* of the nonlinear equations */
    if (rest > tolerance) {
        f->stats->flags |= CSIM_FLAG_CAP | CSIM_FLAG_UNCERTIFIED;
        if (f->stats->result < CSIM_RESULT_CAP) f->stats->result = CSIM_RESULT_CAP;
    }
    return false;
}

/* What a build leaves out is in no world of it: whole stages go with it. */
static bool csimi_has_elements(const csimi_counts *n) {
#if defined(CONDSIM_NO_SOFT) && defined(CONDSIM_NO_CLOTH)
    (void)n;
    return false;
#else
    return n->tets + n->membranes > 0;
#endif
}

static bool csimi_is_elastic(const csimi_counts *n) {
#if defined(CONDSIM_NO_SPRINGS) && defined(CONDSIM_NO_CABLE)
    return csimi_has_elements(n);
#else
    return csimi_has_elements(n) || n->springs + n->frames > 0;
#endif
}

/* Solvers that walk through gaps know one integrator; the anchors of PENALTY bear any that solves a step once. */
static bool csimi_solver_fits(const csim_world *w) {
    if (w->def.integrator == CSIM_BACKWARD_EULER) return true;
    if (csimi_keeps(w)) return false;
    if (!csimi_solver_gaps(w->def.solver.solver)) return true;
    return w->def.solver.solver == CSIM_SOLVER_PENALTY && w->def.integrator == CSIM_MIDPOINT &&
           !csimi_has_elements(&w->store.count); /* which solve twice in a midpoint step */
}

/* A and b, before contacts are known. */
static void csimi_begin_forces(csim_world *w, csimi_step_frame *f, csimi_step *step) {
    const bool faces = csimi_has_elements(&w->store.count);
    int i;
    /* gyroscopic motion changes v_k before b is made of it */
    csimi_prepare(w, f, step);
    f->moves = w->def.solver.solver == CSIM_SOLVER_XPBD;
    f->start = csimi_solver_gaps(w->def.solver.solver) ? f->vk : f->rep;
    if (csimi_keeps(w)) { /* rep starts a certified solve, and then is the velocity by which positions go */
        f->moves = true;
        for (i = 0; i < f->blocks; i++)
            if (!f->skip[i]) csimi_store3(f->v + 3 * i, csimi_load3(f->rep + 3 * i));
    }
    if (f->moves) CSIMI_MEMCPY(f->rep, f->v, sizeof(csim_real) * 3 * (size_t)f->blocks); /* given: as led */
    if (w->def.integrator == CSIM_HALF_STEP && csimi_is_elastic(&w->store.count)) {
        csimi_linearise(w, f, step, f->rep);
        return;
    }
    if (w->def.integrator == CSIM_MIDPOINT && faces) csimi_guess(w, f, step, f->rep);
    csimi_assemble(w, f, step, &w->store.state); /* forces at q_k, or at the guess */
    csimi_joints_stiffen(w, f);
}

/* Whether the islands are to be solved once more with other forces: a midpoint world moves its elements on once, a
   half-step world goes on until forces and motion agree. */
static bool csimi_goes_on(csim_world *w, csimi_step_frame *f, const csimi_step *step, csimi_curl *curl, int pass,
                          double *before) {
    switch (w->def.integrator) {
    case CSIM_MIDPOINT: return pass == 1 && csimi_has_elements(&w->store.count); /* once: one Newton step */
    case CSIM_HALF_STEP: return csimi_is_elastic(&w->store.count) && csimi_unsettled(w, f, step, pass, before);
#ifndef CONDSIM_NO_CABLE
    case CSIM_BACKWARD_EULER: return csimi_cables_curl(w, f, step, curl, pass);
#else
    case CSIM_BACKWARD_EULER:
#endif
    case CSIM_TWO_STEP: /* forces at q', which v does not change */
    case CSIM_INTEGRATOR_COUNT_: break;
    }
    return false;
}

/* Solves the islands once more: those of cables that turn, or all of them. */
static csim_status csimi_solve_on(csim_world *w, csimi_step_frame *f, csimi_step *step, const csimi_curl *curl,
                                  csimi_arena *arena) {
    csim_status status;
    if (w->def.integrator != CSIM_BACKWARD_EULER || csimi_keeps(w)) {
        csimi_move_on(w, f, step);
        return csimi_solve_islands(w, f, arena);
    }
    f->again = true;
    status = csimi_solve_again(w, f, curl->on, arena); /* the others stay */
    f->again = false;
    return status;
}

static csim_status csimi_solve_step(csim_world *w, csimi_step_frame *f, csimi_step *step, csimi_arena *arena) {
    const size_t mark = arena->used;
    csim_status status;
    csimi_curl curl;
    double before = 0;
    int pass;
    csimi_curl_begin(w, f, &curl, arena);
    status = csimi_solve_islands(w, f, arena);
    for (pass = 1; status == CSIM_OK && !csimi_spent(w, f) && csimi_goes_on(w, f, step, &curl, pass, &before); pass++)
        status = csimi_solve_on(w, f, step, &curl, arena);
    csimi_pop(arena, mark);
    return status;
}

/* Solves, and solves again with rows for the drives that asked more than their effort. */
static csim_status csimi_solve_bounded(csim_world *w, csimi_step_frame *f, csimi_step *step, csimi_arena *arena) {
    csim_status status = csimi_solve_step(w, f, step, arena);
    int pass;
    for (pass = 0; status == CSIM_OK && !csimi_spent(w, f) && csimi_tree_overruns(w, f, step, pass); pass++) {
        csimi_move_on(w, f, step);
        csimi_assemble(w, f, step, &w->store.state);
        csimi_joints_stiffen(w, f);
        /* rows of trees stand behind all others: they and their terms are cut off and made anew */
        if (f->contact_count > f->first_tree_row) f->term_count = f->contacts[f->first_tree_row].a.first;
        f->contact_count = f->first_tree_row;
        if ((status = csimi_tree_rows(w, f, step)) == CSIM_OK) status = csimi_solve_step(w, f, step, arena);
    }
    return status;
}

/* The islands, in the room of what is reported afterwards too. */
static csim_status csimi_solve_all(csim_world *w, csimi_step_frame *f, csimi_step *step, csimi_arena *arena) {
    const size_t mark = arena->used, bytes = csimi_island_shelf(&w->store.capacity, &w->def.solver);
    csim_status status;
    csimi_pop(arena, f->solved_in); /* what lies from there on is written after the solve */
    f->shelf.room = csimi_arena_in(csimi_push(arena, bytes, 1), bytes);
    arena->shelf = &f->shelf;
    status = csimi_solve_bounded(w, f, step, arena);
#ifndef CONDSIM_NO_JOINTS
    if (status == CSIM_OK && w->store.count.joints > 0 && !csimi_solver_gaps(w->def.solver.solver))
        status = csimi_close_joints(w, f, step, arena);
#endif
    arena->shelf = NULL;
    csimi_pop(arena, mark); /* it is reserved again */
    return status;
}

/* Everything of a step but its commit. */
static csim_status csimi_compute_step(csim_world *w, csimi_step_frame *f, csimi_step *step, csimi_arena *arena) {
    csim_status status;
    double t0 = csimi_now(w), t1, t2, t3;
    csimi_tree_choose_bounds(w); /* before A, which holds the others in another way */
    csimi_begin_forces(w, f, step);
    t1 = csimi_now(w);
    if ((status = csimi_detect(w, f, arena)) != 0) return status;
    csimi_rows(w, f, arena);
    if ((status = csimi_tree_rows(w, f, step)) != 0) return status;
    t2 = csimi_now(w);
    csimi_note_told(w, f); /* before the solve takes the room of the rest */
    if ((status = csimi_solve_all(w, f, step, arena)) != 0) return status;
    t3 = csimi_now(w);
    if ((f->stats->flags & CSIM_FLAG_UNCERTIFIED) && w->def.on_uncertified == CSIM_REJECT_UNCERTIFIED)
        return csimi_fail(&w->error, CSIM_UNCERTIFIED, "csim_world_step", "certificate",
                          csim_certificate_worst(&f->stats->certificate), "at most solver.tolerance");
    status = csimi_can_shorten(w, f) ? csimi_shorten(w, f, step, arena) : csimi_integrate(w, f, step);
    if (status) return status;
    csimi_look_unseen(w, f, arena); /* says whom hold_paths follows */
    /* two-step worlds have gone half of the way before the contacts were found */
    csimi_hold_paths(w, f, w->def.integrator == CSIM_TWO_STEP ? f->h / 2 : f->h, arena);
    if (f->stats->stopped > 0 && csimi_can_shorten(w, f) && csimi_stand_still(w, f, step)) {
        f->stats->stopped = 0;
        f->stats->stopped_short = 0; /* what was held has gone elsewhere */
        csimi_look_unseen(w, f, arena);
        csimi_hold_paths(w, f, f->h, arena);
    }
    if (f->stats->stopped > 0) csimi_look_unseen(w, f, arena); /* at the poses held */
    csimi_trees_settle(&w->store.state, step, f->vk, f->v, &f->next); /* rates that fit the final poses */
    csimi_measure(w, f, arena);
    csimi_report_contacts(w, f);
    if ((status = csimi_find_touching(w, f, arena)) != 0) return status;
    f->stats->work = f->work;
    f->stats->assembly_seconds = t1 - t0;
    f->stats->collide_seconds = t2 - t1;
    f->stats->solve_seconds = t3 - t2;
    return CSIM_OK;
}

/* The step between locking and unlocking. A two-step world is half a step ahead of itself while it computes. */
static csim_status csimi_run_step(csim_world *w, csimi_step_frame *f, csim_real h, csimi_arena *arena) {
    const bool ahead = w->def.integrator == CSIM_TWO_STEP;
    csimi_step step;
    csim_status status;
    size_t mark;
    if (w->pattern_stale && (status = csimi_build_pattern(w, arena)) != 0) return status; /* of who is up */
    csimi_begin_frame(w, f, h, arena);
    mark = arena->used;
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
        csimi_go_ahead(w, f, &step);
        csimi_exchange(w, f); /* the world stands there until it is put back */
    }
    status = csimi_compute_step(w, f, &step, arena);
    if (ahead) csimi_exchange(w, f); /* also after a failure: it is where it was */
    if (status != CSIM_OK) return status;
    csimi_commit(w, f, &step);
    csimi_pop(arena, mark); /* what touches is told */
    csimi_fall_asleep(w, f, arena);
    return CSIM_OK;
}

/* ---- scratch */

/* Not inlined: the frame is a kilobyte of pointers, and the stages have layouts of their own. */
static CSIMI_NOINLINE size_t csimi_count_frame(const csimi_counts *n, csimi_arena *arena) {
    csimi_step_frame frame;
    CSIMI_PUSH(arena, csimi_step_frame, 1);
    csimi_frame_layout(&frame, n, arena);
    return arena->used - frame.solved_in; /* bytes behind solved_in, whose room a solve takes */
}

/* Whether ints can count all that a step makes of these counts: contacts with their terms, pairs of blocks, blocks of
   bodies and of what contacts reach. The stages below count in ints. */
static bool csimi_countable(const csimi_counts *n) {
    /* a block has nine numbers, which are counted too */
    const int64_t most = INT32_MAX / 9, links = CSIMI_PLACE_TERMS * (2 * CSIMI_PLACE_TERMS - 1);
    const int64_t all =
        n->contacts + (int64_t)CSIMI_JOINT_ROWS * n->joints + n->tree_rows + (int64_t)CSIMI_AXES_LINES * n->axes;
    const int64_t side = csimi_imax(n->tets + n->membranes + n->frames > 0 ? 3 : 2,
                                    csimi_imin(n->tree_span, CSIMI_PLACE_TERMS));
    const int64_t span = csimi_imax(n->tree_span, CSIMI_BODY_LARGEST);
    int axis[CSIMI_AXES], i;
    CSIMI_MEMCPY(axis, n, sizeof axis); /* the counts are ints, one behind the other */
    for (i = 0; i < CSIMI_AXES; i++)
        if (axis[i] > most) return false;
    /* in turn: terms; blocks of A; blocks of trees and those that rows reach; bodies that springs and joints merge */
    return 2 * side * n->contacts + 2 * (side > 4 ? side : 4) * CSIMI_JOINT_ROWS * (int64_t)n->joints +
                   n->tree_rows + (2 * side + 1) * CSIMI_AXES_LINES * n->axes <=
               (INT32_MAX - n->matrix_blocks) / 9 &&
           (int64_t)6 * n->tets + (int64_t)15 * n->membranes + n->rigids + links * n->springs + (int64_t)3 * n->frames +
                   n->bends + n->matrix_blocks <=
               INT32_MAX / 2 &&
           (n->coords == 0 || (4 * (int64_t)csimi_blocks_of(n) + (int64_t)n->tree_span * n->coords <= most &&
                               span * (2 * all + 2 * (int64_t)n->joints) <= INT32_MAX / 2)) &&
           (n->joints == 0 || n->springs == 0 ||
            span * (2 * (int64_t)n->rigids + 2 * all + 2 * (int64_t)n->joints) <= INT32_MAX / 2);
}

CSIMI_FN size_t csimi_step_scratch(const csimi_counts *n, const csim_solver_params *solver) {
    csimi_arena arena = csimi_arena_counting();
    size_t most, solve, shelf, later;
    if (!csimi_countable(n)) return SIZE_MAX;
    /* stages come one after the other: each has the room of the largest */
    most = csimi_pattern_build_scratch(n);
    later = csimi_count_frame(n, &arena);
    most = csimi_most_bytes(most, csimi_detect_scratch(n));
    most = csimi_most_bytes(most, csimi_rows_scratch(n));
    most = csimi_most_bytes(most, csimi_path_scratch(n));
    most = csimi_most_bytes(most, csimi_encounters_scratch(n));
    most = csimi_most_bytes(most, csimi_unseen_scratch(n));
    most = csimi_most_bytes(most, csimi_sleep_scratch(n));
    solve = csimi_island_scratch(n, solver);
    shelf = csimi_island_shelf(n, solver);
    solve = solve < SIZE_MAX - shelf ? solve + shelf : SIZE_MAX;
    most = csimi_most_bytes(most, solve > later ? solve - later : 0); /* it begins where those later bytes do */
    csimi_push(&arena, most, 1);
    return arena.overflow ? SIZE_MAX : arena.used;
}

/* ---- the step */

CSIMI_FN void csimi_plan_step(csim_world *w) {
    csimi_arena arena = csimi_arena_in(w->store.scratch, w->store.scratch_bytes);
    csimi_counts all;
    csimi_open_day(w, &all);
    if (w->pattern_stale) (void)csimi_build_pattern(w, &arena); /* the step tells what it lacks */
    csimi_close_day(w, &all, false);
}

/* One attempt of a step, which a sleeper that is touched ends. The frame is in scratch: too large for small stacks. */
static csim_status csimi_try_step(csim_world *w, csim_real h, csimi_arena *arena, csimi_step_frame **frame) {
    csimi_counts all;
    csim_status status;
    csimi_open_day(w, &all);
    *arena = csimi_arena_in(w->store.scratch, w->store.scratch_bytes);
    *frame = CSIMI_PUSH(arena, csimi_step_frame, 1);
    CSIMI_MEMSET(*frame, 0, sizeof **frame); /* scratch holds what was there before */
    CSIMI_MEMSET(&w->stats, 0, sizeof w->stats);
    (*frame)->stats = &w->stats;
    status = csimi_run_step(w, *frame, h, arena);
    csimi_tree_forget_bounds(w); /* no state of the world */
    if (status && (*frame)->joint)
        CSIMI_MEMCPY(w->store.joint, (*frame)->joint, sizeof *w->store.joint * (size_t)w->store.count.joints);
    if (status && (*frame)->axes)
        CSIMI_MEMCPY(w->store.axes, (*frame)->axes, sizeof *w->store.axes * (size_t)w->store.count.axes);
    csimi_close_day(w, &all, status == CSIM_OK);
    return status;
}

/* A step that is not certified, and missed nothing it knows of, has no figures. */
static void csimi_tell_unchecked(csim_step_stats *stats) {
    if (!(stats->flags & CSIM_FLAG_UNCHECKED) || (stats->flags & CSIM_FLAG_UNCERTIFIED)) return;
    (void)csimi_leave_unchecked((double)CSIMI_HUGE, &stats->certificate);
}

static void csimi_keep_stats(csim_world *w, csim_status status) {
    csim_step_stats *stats = &w->stats;
    if (!status) w->missed = stats->flags & CSIM_FLAG_UNCERTIFIED ? w->missed + 1 : 0;
    if (!status) w->unchecked = stats->flags & CSIM_FLAG_UNCHECKED ? w->unchecked + 1 : 0;
    w->steps += status ? 0u : 1u; /* steps that were done count */
    stats->uncertified = w->missed;
    stats->unchecked = w->unchecked;
    csimi_tell_unchecked(stats);
    stats->step = w->steps;
    stats->time = w->time;
    stats->memory_bytes = w->heap.held;
}

/* Room for what an attempt found: CSIMI_AGAIN; the step is undone, and nothing else changes when there is none. */
static csim_status csimi_grow(csim_world *w) {
    const csim_step_stats *found = &w->stats;
    const csimi_counts *have = &w->store.capacity;
    csimi_counts need = w->store.count;
    csim_status status;
    if (found->flags & CSIM_FLAG_CONTACTS_FULL) /* with those of sleepers and rows of rolling */
        need.contacts = need.ended = w->def.capacity.contacts;
    if (found->flags & CSIM_FLAG_PAIRS_FULL) need.pairs = csimi_imax(found->pairs, w->def.capacity.pairs);
    need.matrix_blocks = csimi_imax(need.matrix_blocks, w->def.capacity.matrix_blocks);
    /* more room for these would not help */
    if (need.contacts <= have->contacts && need.pairs <= have->pairs && need.matrix_blocks <= have->matrix_blocks)
        return CSIM_CAPACITY;
    status = csimi_ensure(w, &need, "csim_world_step");
    return status ? status : CSIMI_AGAIN; /* tried once more */
}

/* Whether a step has nothing to do: nobody is up, and the last one left no contact. */
static bool csimi_all_asleep(const csim_world *w) {
    return w->asleep > 0 && !w->bed_stale && !w->pattern_stale && csimi_in_bed(w) == w->live_bodies &&
           w->store.count.contacts + w->store.count.ended + w->store.count.touches == 0 &&
           w->store.told.hit_count + w->store.told.move_count + w->store.told.break_count +
                   w->store.told.sleep_count == 0;
}

static csim_status csimi_pass_time(csim_world *w, csim_real h) {
    if (w->asleep > 0) { /* else the figures of the last step are those of this one */
        CSIMI_MEMSET(&w->stats, 0, sizeof w->stats);
        w->stats.certificate.worst_contact = -1;
        w->stats.asleep = w->asleep;
    }
    w->time += (double)h;
    w->last_h = (double)h;
    csimi_keep_stats(w, CSIM_OK);
    return CSIM_OK;
}

CSIM_API csim_status csim_world_step(csim_world *w, csim_real h) {
    csimi_step_frame *frame;
    csimi_arena arena;
    csim_status status;
    bool full;
    if (!w) return CSIM_NULL_ARGUMENT;
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, "csim_world_step", NULL, NULL);
    if (!csimi_finite(h)) return csimi_fail(&w->error, CSIM_NOT_FINITE, "csim_world_step", "h", (double)h, "1e-7..1 s");
    if (h < CSIM_R(1e-7) || h > 1) return csimi_unfit(&w->error, "csim_world_step", "h", (double)h, "1e-7..1 s");
    if (!csimi_solver_fits(w))
        return csimi_fail(&w->error, CSIM_BAD_PROBLEM, "csim_world_step", "solver.solver",
                          (double)(int)w->def.solver.solver,
                          "(and a budget) in worlds of backward Euler only; PENALTY also in midpoint ones without "
                          "solids and cloth");
    if (csimi_step_is_known(w, h) || csimi_all_asleep(w)) return csimi_pass_time(w, h);
    w->locked = true; /* callbacks may not change the world */
    do {
        status = csimi_try_step(w, h, &arena, &frame);
        full = status == CSIM_CAPACITY && w->grow;
        if (!status && arena.overflow) /* committed: it is not to be tried again */
            status = csimi_fail(&w->error, CSIM_CAPACITY, "csim_world_step", "scratch", (double)arena.high,
                                "a larger block");
        csimi_keep_stats(w, status);
        if (full) status = csimi_grow(w);
    } while (status == CSIMI_AGAIN);
    w->locked = false;
    if (status) csimi_sleep_on(w); /* whom it woke sleep on */
    w->stats.scratch_bytes = arena.high;
    if (!status) csimi_compare_step(w); /* whether it ended as the one before did */
    return status;
}

/* ---- many worlds */

typedef struct csimi_flock {
    csim_world *const *world;
    csim_status *status;
    csim_real h;
} csimi_flock;

static void csimi_flock_range(void *context, int begin, int end) {
    const csimi_flock *f = (const csimi_flock *)context;
    for (; begin < end; begin++) f->status[begin] = csim_world_step(f->world[begin], f->h);
}

CSIM_API csim_status csim_worlds_step(csim_world *const *worlds, int count, csim_real h, const csim_tasks *tasks,
                                      csim_status *status) {
    csimi_flock f;
    int i;
    if (count < 0) return CSIM_OUT_OF_RANGE;
    if (count > 0 && (!worlds || !status)) return CSIM_NULL_ARGUMENT;
    f.world = worlds;
    f.status = status;
    f.h = h;
    csimi_parallel(tasks, count, 1, csimi_flock_range, &f); /* a world at a time */
    for (i = 0; i < count && status[i] == CSIM_OK;) i++;
    return i < count ? status[i] : CSIM_OK;
}
