/* step/rounds: splits the step into islands and has them solved, one after the other or, where there are threads, in
   groups side by side. What islands share is gathered in their order, so that any number of threads gives the same
   bits. */
#include "private.h"

enum { CSIMI_GROUPS = 32,       /* side by side at most */
       CSIMI_GROUP_LEAST = 64,  /* blocks and contacts of a group: fewer are not worth a thread's while */
       CSIMI_ANSWERS = 1024 };  /* islands of a round at most */

/* Sorts blocks and contacts by island, keeping their order inside. */
static void csimi_sort_islands(csimi_step_frame *f) {
    int i, rest;
    /* counting sort: sizes one place up, their sums as starts */
    for (i = 0; i <= f->island_count; i++) f->island_first[i] = f->island_contact_first[i] = 0;
    for (i = 0; i < f->blocks; i++)
        if (f->island[i] >= 0) f->island_first[f->island[i] + 1]++;
    for (i = 0; i < f->contact_count; i++)
        if (f->contact_island[i] >= 0) f->island_contact_first[f->contact_island[i] + 1]++;
    for (i = 0; i < f->island_count; i++) {
        f->island_first[i + 1] += f->island_first[i];
        f->island_contact_first[i + 1] += f->island_contact_first[i];
    }
    for (i = 0; i < f->blocks; i++) {
        int g = f->island[i];
        if (g < 0) continue; /* fixed or kinematic: no unknown */
        f->local[i] = f->island_first[g];
        f->island_blocks[f->island_first[g]++] = i; /* filling moves each start to its end */
    }
    rest = f->island_contact_first[f->island_count]; /* what acts on nothing that moves */
    for (i = 0; i < f->contact_count; i++) {
        const int g = f->contact_island[i];
        f->island_contacts[g >= 0 ? f->island_contact_first[g]++ : rest++] = i;
    }
    for (i = f->island_count; i > 0; i--) { /* ends are the starts of the next: one place up */
        f->island_first[i] = f->island_first[i - 1];
        f->island_contact_first[i] = f->island_contact_first[i - 1];
    }
    f->island_first[0] = f->island_contact_first[0] = 0;
    for (i = 0; i < f->blocks; i++)
        if (f->island[i] >= 0) f->local[i] -= f->island_first[f->island[i]]; /* from the start of its island */
}

/* Numbers of aggregates in their islands, in order of appearance. */
static void csimi_number_aggregates(csimi_step_frame *f, csimi_arena *arena) {
    const size_t mark = arena->used;
    int *number = CSIMI_PUSH(arena, int, f->aggregates), i, k, count;
    for (i = 0; i < f->island_count; i++) {
        for (k = f->island_first[i]; k < f->island_first[i + 1]; k++)
            if (f->aggregate_of[f->island_blocks[k]] >= 0) number[f->aggregate_of[f->island_blocks[k]]] = -1;
        for (k = f->island_first[i], count = 0; k < f->island_first[i + 1]; k++) {
            const int a = f->aggregate_of[f->island_blocks[k]];
            if (a >= 0 && number[a] < 0) number[a] = count++;
            f->aggregate_number[k] = a < 0 ? -1 : number[a];
        }
    }
    csimi_pop(arena, mark);
}

/* ---- rows in the order of their islands, and terms with the numbers of blocks in them */

/* Row from[k] goes to place k, circle by circle; the places of those that are done are marked by their complements. */
static void csimi_order_rows(const csimi_step_frame *f, int *from) {
    int i, k, next;
    for (i = 0; i < f->contact_count; i++) {
        csim_contact row;
        csim_vec3 lambda;
        if (from[i] < 0 || from[i] == i) continue;
        row = f->contacts[i];
        lambda = csimi_load3(f->lambda + 3 * i);
        for (k = i; from[k] != i; from[k] = ~next, k = next) { /* k: the place that is free */
            next = from[k];
            f->contacts[k] = f->contacts[next];
            /* impulses move where islands are solved on them in place; else each copies its own by island_contacts */
            if (CSIMI_IN_PLACE) csimi_store3(f->lambda + 3 * k, csimi_load3(f->lambda + 3 * next));
        }
        f->contacts[k] = row;
        if (CSIMI_IN_PLACE) csimi_store3(f->lambda + 3 * k, lambda);
        from[k] = ~i;
    }
    /* marks off: the order is kept, for islands name their rows by it */
    for (i = 0; i < f->contact_count; i++) from[i] = from[i] < 0 ? ~from[i] : from[i];
}

/* Islands see arrays of their own, without a copy: rows one behind the other, blocks numbered from 0. Any thread
   numbers any terms. */
static void csimi_terms_to_islands(void *context, int k, int end) {
    csimi_step_frame *f = ((const csimi_stage *)context)->f;
    for (; k < end; k++) {
        f->term_block[k] = f->terms[k].block; /* numbers in islands repeat: kept to go back */
        f->terms[k].block = f->local[f->terms[k].block];
    }
}

static void csimi_terms_to_world(void *context, int k, int end) {
    csimi_step_frame *f = ((const csimi_stage *)context)->f;
    for (; k < end; k++) f->terms[k].block = f->term_block[k];
}

static void csimi_to_islands(csim_world *w, csimi_step_frame *f) {
    csimi_share(w, f, f->term_count, 4096, csimi_terms_to_islands);
    csimi_order_rows(f, f->island_contacts);
}

static void csimi_to_world(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    const size_t mark = arena->used;
    int *back = CSIMI_PUSH(arena, int, f->contact_count), k;
    csimi_share(w, f, f->term_count, 4096, csimi_terms_to_world);
    for (k = 0; k < f->contact_count; k++) back[f->island_contacts[k]] = k; /* the inverse order */
    csimi_order_rows(f, back);
    csimi_pop(arena, mark);
}

/* Islands in the low halves of the order; null: as they are. */
static int csimi_ordered(const uint64_t *order, int i) { return order ? (int)(order[i] & 0xffffffffu) : i; }

/* ---- one after the other */

/* What islands share. */
static void csimi_gather(const csim_world *w, csimi_step_frame *f, int island, const csimi_answer *a) {
    const csim_outcome *o = &a->outcome;
    const int blocks = f->island_first[island + 1] - f->island_first[island];
    csim_step_stats *t = f->stats;
    if (csimi_keeps(w)) csimi_within_gather(w, f, island, a);
    /* by the owner of its first block: the estimate finds its island again in the next step */
    f->sigma_of_body[csimi_block_owner(&w->store, f->island_blocks[f->island_first[island]])] = o->sigma;
    /* figures of an unchecked solve are huge and tell nothing */
    if (o->result != CSIM_RESULT_UNCHECKED) csimi_worse(&t->certificate, &o->certificate);
    /* only islands with contacts are told; one that is solved again has been counted */
    if (f->island_contact_first[island + 1] > f->island_contact_first[island] && !f->again) {
        t->islands++;
        t->largest_island = csimi_imax(t->largest_island, blocks);
    }
    t->iterations = csimi_imax(t->iterations, o->iterations);
    t->total_iterations += o->iterations;
    t->products += o->products;
    t->rejections += o->rejections;
    t->virtual_nodes += o->virtual_nodes;
    if (o->virtual_slip > t->virtual_slip) t->virtual_slip = o->virtual_slip;
    if (o->result > t->result) t->result = o->result; /* results are ordered from good to bad */
    if (o->result == CSIM_RESULT_CAP) t->flags |= CSIM_FLAG_CAP;
    if (o->result == CSIM_RESULT_STALLED) t->flags |= CSIM_FLAG_STALLED;
    if (o->result == CSIM_RESULT_UNCHECKED) t->flags |= CSIM_FLAG_UNCHECKED;
    if (o->result > CSIM_RESULT_UNCHECKED) t->flags |= CSIM_FLAG_UNCERTIFIED;
    csimi_note_known(w, f, island, o);
}

static void csimi_spend(csimi_step_frame *f, const csimi_answer *a) {
    /* what was kept for this island is free for the next ones, less what it took */
    f->reserved -= a->own;
    f->work += a->spent;
}

static csim_status csimi_solve_one(csim_world *w, csimi_step_frame *f, int island, csimi_arena *arena) {
    csimi_worker worker = {arena, &w->def.tasks, &w->error};
    csimi_answer answer;
    csim_status status;
    CSIMI_MEMSET(&answer, 0, sizeof answer);
    if (arena->shelf) arena->shelf->island = island;
    status = csimi_solve_island(w, f, island, &worker, &answer);
    if (status != CSIM_OK) return status;
    csimi_spend(f, &answer);
    csimi_gather(w, f, island, &answer);
    return CSIM_OK;
}

/* ---- side by side */

#if CSIMI_SIDE_BY_SIDE
/* Islands first <= i < end of the order, solved one after the other by one thread, in memory of its own. */
typedef struct csimi_group {
    int first, end;
    int size; /* blocks and contacts */
    csim_status status;
    csimi_worker worker;
    csimi_arena arena;
    csim_error error;
} csimi_group;

typedef struct csimi_round {
    csim_world *world;
    csimi_step_frame *frame;
    const uint64_t *order;
    csimi_group *group;
    csimi_answer *answer; /* of the first group's first island on */
    csimi_phase phase;    /* that is done side by side */
    int largest;          /* group, which is begun with */
} csimi_round;

static void csimi_group_solve(void *context, int begin, int end) {
    const csimi_round *r = (const csimi_round *)context;
    for (; begin < end; begin++) {
        /* the largest group is begun first: begun last, all others would wait for it */
        csimi_group *g = r->group + (begin == 0 ? r->largest : begin <= r->largest ? begin - 1 : begin);
        csim_status status = CSIM_OK;
        int i;
        g->worker.tasks = NULL; /* threads are taken: products inside are not spread once more */
        for (i = g->first; i < g->end; i++) {
            csimi_answer *answer = r->answer + (i - r->group->first);
            /* REST: those that trying has certified are done */
            if (answer->phase == r->phase)
                status = csimi_solve_island(r->world, r->frame, csimi_ordered(r->order, i), &g->worker, answer);
            if (status == CSIM_OK) continue;
            g->status = status;
            g->end = i; /* the rest of the group is left: the step fails */
        }
    }
}

/* A budget is handed on from island to island: what it certifies is done in their order, and only what is left, their
   bounded frames, side by side. */
static bool csimi_group_try(const csimi_round *r, csimi_group *g) {
    int i;
    for (i = g->first; i < g->end; i++) {
        csimi_answer *answer = r->answer + (i - r->group->first);
        answer->phase = CSIMI_PHASE_TRY; /* which leaves REST where a bounded frame is to follow */
        g->status = csimi_solve_island(r->world, r->frame, csimi_ordered(r->order, i), &g->worker, answer);
        if (g->status) g->end = i;
        if (g->status) return false;
        csimi_spend(r->frame, answer);
    }
    return true;
}

/* Makes room for what this island holds, as a world that is nothing else. */
static void csimi_island_widen(const csim_world *w, const csimi_step_frame *f, int island, csimi_counts *most) {
    const csimi_state *s = &w->store.state;
    int nodes = 0, rigid = 0, coords = 0, slacks = 0, entries = 0, rows = 0, k;
    for (k = f->island_first[island]; k < f->island_first[island + 1]; k++) {
        const int block = f->island_blocks[k];
        nodes += block < s->node_count;
        rigid += block >= s->node_count && block < csimi_first_frame_block(s);
        coords += block >= csimi_first_coord_block(s) && block < csimi_first_slack_block(s);
        slacks += block >= csimi_first_slack_block(s);
        entries += csimi_row_end(&w->store.A, block) - w->store.A.row[block];
    }
    for (k = f->island_contact_first[island]; k < f->island_contact_first[island + 1]; k++)
        rows += f->island_contacts[k] >= f->first_joint_row; /* of joints and trees, which are not told apart here */
    most->nodes = csimi_imax(most->nodes, nodes);
    most->rigids = csimi_imax(most->rigids, (rigid + 1) / 2);
    most->coords = csimi_imax(most->coords, coords);
    most->aggregates = csimi_imax(most->aggregates, csimi_island_aggregates(f, island));
    most->matrix_blocks = csimi_imax(most->matrix_blocks, entries);
    most->contacts = csimi_imax(most->contacts, f->island_contact_first[island + 1] - f->island_contact_first[island]);
    most->joints = csimi_imax(most->joints, csimi_imin(rows, w->store.capacity.joints));
    most->tree_rows = csimi_imax(most->tree_rows, csimi_imin(rows, w->store.capacity.tree_rows));
    most->axes = csimi_imax(most->axes, csimi_imin(rows + slacks, w->store.capacity.axes));
}

/* The next islands, a thirty-second of all or more; the bytes that they need, one after the other. Of nodes and cables,
   whose products are spread over threads, an island of more than half of all is solved alone: SIZE_MAX. */
static size_t csimi_group_of(const csimi_round *r, int first, int last, csimi_group *g) {
    const csimi_step_frame *f = r->frame;
    const int all = f->island_first[f->island_count] + f->island_contact_first[f->island_count];
    const int share = csimi_imax(all / CSIMI_GROUPS, CSIMI_GROUP_LEAST);
    const bool spreads = r->world->store.count.nodes + r->world->store.count.frames > 0;
    csimi_counts most = r->world->store.capacity;
    most.nodes = most.rigids = most.coords = most.aggregates = most.matrix_blocks = most.contacts = 0;
    most.joints = most.tree_rows = most.axes = 0;
    CSIMI_MEMSET(g, 0, sizeof *g);
    for (g->first = g->end = first; g->end < last && g->size < share; g->end++) {
        const int island = csimi_ordered(r->order, g->end), *block = f->island_first + island;
        const int *contact = f->island_contact_first + island, own = block[1] - block[0] + contact[1] - contact[0];
        /* a large island ends the group before it, and makes one of its own */
        if ((spreads && 2 * own > all) || (g->size > 0 && own > share)) break;
        g->size += own;
        csimi_island_widen(r->world, f, island, &most);
    }
    return g->size > 0 ? csimi_island_scratch(&most, &r->world->def.solver) : SIZE_MAX;
}

/* As many groups as there is memory for, from island *first of the order on; *first: the next one. */
static csim_status csimi_solve_round(csim_world *w, csimi_step_frame *f, const uint64_t *order, int *first,
                                     csimi_arena *arena) {
    const int begin = *first;
    const size_t mark = arena->used;
    csimi_round r;
    int i, k, groups = 0, last = csimi_imin(f->island_count, begin + CSIMI_ANSWERS);
    r.world = w;
    r.frame = f;
    r.order = order;
    r.largest = 0;
    r.group = CSIMI_PUSH(arena, csimi_group, CSIMI_GROUPS);
    r.answer = CSIMI_PUSH(arena, csimi_answer, last - begin);
    /* with a budget, attempts come in order and rests side by side; BOUNDED by name has no attempts */
    r.phase = csimi_keeps(w) && w->def.solver.solver != CSIM_SOLVER_BOUNDED ? CSIMI_PHASE_REST : CSIMI_PHASE_WHOLE;
    if (!arena->overflow) CSIMI_MEMSET(r.answer, 0, (size_t)(last - begin) * sizeof *r.answer);
    for (i = begin; i < last && groups < CSIMI_GROUPS && !arena->overflow; i = r.group[groups++].end) {
        csimi_group *g = r.group + groups;
        const size_t bytes = csimi_group_of(&r, i, last, g), left = arena->size - arena->used;
        if (left < 2 * CSIMI_ALIGN || bytes > left - 2 * CSIMI_ALIGN) break;
        g->arena = csimi_arena_in(csimi_push(arena, bytes, 1), bytes); /* no thread meets another in memory */
        g->worker.arena = &g->arena;
        g->worker.tasks = &w->def.tasks;
        g->worker.error = &g->error;
        if (g->size > r.group[r.largest].size) r.largest = groups;
        if (r.phase == CSIMI_PHASE_REST && !csimi_group_try(&r, g)) last = g->end;
    }
    arena->overflow = false; /* no room for any: they are solved one after the other */
    csimi_parallel(&w->def.tasks, groups, 1, csimi_group_solve, &r);
    for (k = 0; k < groups; k++) {
        for (i = r.group[k].first; i < r.group[k].end; i++) {
            /* trying has told already what it spent */
            if (r.phase == CSIMI_PHASE_WHOLE) csimi_spend(f, r.answer + (i - begin));
            csimi_gather(w, f, csimi_ordered(order, i), r.answer + (i - begin)); /* in order, after all threads */
        }
        *first = i; /* where the next round goes on */
        if (!r.group[k].status) continue;
        w->error = r.group[k].error;
        return r.group[k].status;
    }
    csimi_pop(arena, mark);
    return CSIM_OK;
}
#endif

CSIMI_FN csim_status csimi_solve_islands(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    const csimi_store *s = &w->store;
    size_t mark = arena->used;
    const uint64_t *order = NULL;
    int i, *scratch;
    csim_status status;
    for (i = 0; i < f->contact_count; i++)
        if (f->contacts[i].a.count + f->contacts[i].b.count == 0) /* nothing free: no impulse */
            f->lambda[3 * i] = f->lambda[3 * i + 1] = f->lambda[3 * i + 2] = 0;
    for (i = 0; i < s->active_count; i++) f->sigma_of_body[s->active[i]] = 0;
    csimi_begin_known(w, f);
    scratch = CSIMI_PUSH(arena, int, f->blocks);
    f->island_count =
        csimi_islands(&s->A, f->skip, f->contact_count, f->contacts, f->terms, f->island, f->contact_island, scratch);
    csimi_pop(arena, mark);
    csimi_sort_islands(f);
    csimi_aggregates(w, f);
    if (CSIMI_UNITES) csimi_number_aggregates(f, arena);
    csimi_to_islands(w, f);
    f->stats->certificate.worst_contact = -1; /* numbers in an island mean nothing outside of it */
    if (csimi_keeps(w)) csimi_within_open(w, f);
    if (csimi_keeps(w)) order = csimi_within_order(f, CSIMI_PUSH(arena, uint64_t, 2 * (size_t)f->island_count));
    for (i = 0; i < f->island_count;) {
#if CSIMI_SIDE_BY_SIDE
        /* what a round has no room for, or leaves because it is large, is solved below with all of the memory */
        if (csimi_has_threads(w) && (status = csimi_solve_round(w, f, order, &i, arena)) != 0) return status;
#endif
        if (i < f->island_count && (status = csimi_solve_one(w, f, csimi_ordered(order, i++), arena)) != 0)
            return status;
    }
    csimi_tell_known(w, f);
    csimi_to_world(w, f, arena);
    csimi_pop(arena, mark);
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_solve_again(csim_world *w, csimi_step_frame *f, const unsigned char *again,
                                       csimi_arena *arena) {
    csim_status status;
    int i;
    csimi_to_islands(w, f); /* islands are those of before: joints and forces changed, not who touches whom */
    for (i = 0; i < f->island_count; i++)
        if (again[i] && (status = csimi_solve_one(w, f, i, arena)) != 0) return status;
    csimi_to_world(w, f, arena);
    return CSIM_OK;
}
