/* step/island: an island as a problem of its own, solved and certified. Whoever does it writes what is that island's
   alone; what islands share is gathered afterwards. */
#include "private.h"

static const double CSIMI_NEAR = 1e-3; /* figures up to which a missed solve is kept as it is */

/* The arrays of one island's problem; laid out for the largest that can be. */
typedef struct csimi_island_work {
    csim_problem problem;
    csim_structure structure;
    csim_solution solution;
    int *row, *end, *diag; /* of its rows in the world's A */
    csim_real *b, *offset, *radius, *centre;
    unsigned char *rotation;
    int *body_first;
    int *chain_first, *chain_block; /* [cables + 1], [2 links] */
    csim_elastic *elastic;          /* [elastic] */
} csimi_island_work;

static void csimi_island_layout(csimi_island_work *p, int blocks, int rows, int aggregates, int links, int elastic,
                                csimi_arena *arena) {
    size_t n = (size_t)blocks, united = CSIMI_UNITES ? n : 0;
    p->row = CSIMI_PUSH(arena, int, n + 1);
    p->end = CSIMI_PUSH(arena, int, n);
    p->diag = CSIMI_PUSH(arena, int, n);
    p->b = CSIMI_PUSH(arena, csim_real, 3 * n);
    p->solution.v = CSIMI_PUSH(arena, csim_real, 3 * n);
    p->solution.lambda = CSIMI_PUSH(arena, csim_real, CSIMI_IN_PLACE ? 0 : 3 * (size_t)rows);
    p->offset = CSIMI_PUSH(arena, csim_real, 3 * united);
    p->radius = CSIMI_PUSH(arena, csim_real, aggregates);
    p->centre = CSIMI_PUSH(arena, csim_real, 3 * (size_t)aggregates);
    p->rotation = CSIMI_PUSH(arena, unsigned char, united);
    p->body_first = CSIMI_PUSH(arena, int, n + 1);
    p->chain_first = CSIMI_PUSH(arena, int, (size_t)links + CSIMI_HAS_FAR); /* of cables */
    p->chain_block = CSIMI_PUSH(arena, int, 2 * (size_t)links);
    p->elastic = CSIMI_PUSH(arena, csim_elastic, elastic);
}

/* Elements that a solver is told, at most. */
static int csimi_most_elastic(const csimi_counts *n, const csim_solver_params *solver) {
    return solver->solver == CSIM_SOLVER_XPBD ? n->frames + n->bends : 0;
}

/* Links of all cables at most: an open one has one more than edges. */
static int csimi_most_links(const csimi_counts *n) { return n->frames + csimi_imin(n->frames, n->bodies); }

/* Rigid bodies of an island at most. */
static int csimi_most_rigids(const csimi_counts *n) {
    if (!CSIMI_HAS_RIGID) return 0; /* that move */
    return CSIMI_ALONE ? csimi_imin(n->rigids, 1) : n->rigids;
}

CSIMI_FN size_t csimi_island_shelf(const csimi_counts *n, const csim_solver_params *solver) {
#if defined(CSIMI_COUPLES) && !defined(CONDSIM_NO_SWEEP)
    if (n->joints > 0 && solver->solver == CSIM_SOLVER_AUTO && n->tets + n->membranes + n->links + n->frames > 0)
        return csimi_shelf_bytes(csimi_blocks_of(n), n->matrix_blocks);
#endif
    return (void)n, (void)solver, 0;
}

CSIMI_FN size_t csimi_island_scratch(const csimi_counts *n, const csim_solver_params *solver) {
    csimi_island_work p;
    csim_problem_size size;
    csimi_arena arena = csimi_arena_counting(), closing = csimi_arena_counting();
    const int joint_rows = CSIMI_JOINT_ROWS * n->joints + CSIMI_AXES_LINES * n->axes, rigids = csimi_most_rigids(n);
    int blocks = csimi_blocks_of(n) - 2 * (n->rigids - rigids), matrix_blocks = n->matrix_blocks;
    int rows = csimi_most_rows(n), aggregates = csimi_most_aggregates(n), merged, span;
    if (CSIMI_ALONE) matrix_blocks = csimi_imin(matrix_blocks, 4 * rigids); /* a body's 2 x 2 blocks */
    csimi_island_layout(&p, blocks, rows, aggregates, csimi_most_links(n), csimi_most_elastic(n, solver), &arena);
    size.blocks = blocks;
    size.matrix_blocks = matrix_blocks;
    size.contacts = rows;
    size.terms = csimi_most_terms(n);
    size.aggregates = aggregates;
    size.links = csimi_most_links(n);
    size.elastic = csimi_most_elastic(n, solver);
    /* nothing but small bodies and trees with a dense inverse */
    size.rigid = n->tets + n->membranes + n->links + n->frames == 0 && n->tree_span <= CSIMI_BODY_TREE;
    merged = n->joints > 0 && n->springs > 0 ? csimi_imin(2 * rigids, CSIMI_BODY_LARGEST) : 0;
    span = csimi_imax(csimi_imax(n->tree_span, merged), n->springs > 0 ? CSIMI_BODY_BLOCKS : 2); /* blocks of a body */
    size.factor_blocks = size.rigid ? n->nodes + 4 * rigids : 0; /* dense inverses: 1 a node, 2 x 2 a body */
    if (n->coords > 0 || merged)
        size.factor_blocks = 4 * (blocks - n->coords) + n->tree_span * n->coords + merged * 2 * rigids;
    size.reach_blocks = 2 * CSIMI_JOINT_ROWS * n->joints + 2 * CSIMI_AXES_LINES * n->axes; /* rows on the turning alone
                                                                                              of a rigid body */
    if (size.elastic > 0) size.reach_blocks += 3 * size.terms;
    if (n->coords > 0 || merged) /* sides of contacts beyond their terms; two sides of joints, a gear: two more */
        size.reach_blocks += 2 * (span - csimi_imin(span, csimi_most_side(n))) * n->contacts +
                             (span - 1) * n->tree_rows + span * 2 * (joint_rows + n->joints);
    if (solver->solver == CSIM_SOLVER_XPBD) /* its move and its gaps */
        CSIMI_PUSH(&arena, csim_real, 3 * (size_t)blocks + (size_t)rows + CSIMI_ALIGN);
#ifndef CONDSIM_TINY
    /* to try to stand */
    if (n->kept == 0 && (solver->solver == CSIM_SOLVER_AUTO || solver->solver == CSIM_SOLVER_SWEEP))
        CSIMI_PUSH(&arena, csim_real, 4 * (size_t)rows + 3 * (size_t)blocks);
#endif
    if (n->kept > 0) { /* worlds with bounded frames */
        csim_solver_params bounded = *solver;
        bounded.solver = CSIM_SOLVER_BOUNDED;
        csimi_push(&arena, csimi_most_bytes(csim_solver_bytes(&size, solver), csim_solver_bytes(&size, &bounded)), 1);
        CSIMI_PUSH(&arena, csim_real, 5 * (size_t)rows + 3 * (size_t)blocks);
        CSIMI_PUSH(&arena, uint64_t, 2 * (size_t)blocks);
    } else {
        size_t restrain = csimi_restrain_bytes(&size);
        if (restrain > 0) restrain += 3 * sizeof(csim_real) * (size_t)rows + CSIMI_ALIGN; /* where the solve began */
        csimi_push(&arena, csimi_most_bytes(csim_solver_bytes(&size, solver), restrain), 1);
    }
    if (n->joints > 0) { /* which islands are solved again, and why */
        CSIMI_PUSH(&closing, unsigned char, blocks);
        CSIMI_PUSH(&closing, csim_real, 4 * (size_t)blocks);
    }
    csimi_push(&arena, csimi_most_bytes(closing.used, csimi_curl_scratch(n)), 1); /* never both */
    return arena.used; /* union-find, before the first island, takes less than an island */
}

/* ---- aggregates: groups of the coarse correction of COND with their centres and radii, for the whole world */

#ifndef CONDSIM_NO_COND
/* Nodes of a solid are numbered by aggregate: each is a run of them. */
static void csimi_solid_aggregates(const csimi_store *s, csimi_step_frame *f, const csimi_body *b, int first) {
    int i = b->first_node, j, end = b->first_node + b->node_count;
    while (i < end) {
        int k = first + s->node_aggregate[i], start = i;
        csim_vec3 centre = csim_v3(0, 0, 0);
        csim_real square = 0;
        for (; i < end && first + s->node_aggregate[i] == k; i++) {
            centre = csim_add(centre, csimi_load3(s->state.x + 3 * i));
            f->aggregate_of[i] = k;
        }
        centre = csim_scale(1 / (csim_real)(i - start), centre);
        for (j = start; j < i; j++) {
            csim_vec3 d = csim_sub(csimi_load3(s->state.x + 3 * j), centre);
            square += csim_dot(d, d) / (csim_real)(i - start);
        }
        csimi_store3(f->aggregate_centre + 3 * k, centre);
        f->aggregate_radius[k] = csimi_max(CSIMI_SQRT(square), CSIM_R(1e-9)); /* > 0 also of a single node */
    }
}

#endif

/* Second block of a pair of coordinates, of which it takes the angular part. */
static bool csimi_second_of_pair(const csim_world *w, int coord) {
    return (coord - w->store.state.tree[w->store.coord_tree[coord]].first_block) % 2 == 1;
}

#ifndef CONDSIM_NO_COND
/* Coordinates of trees and reduced bodies are all coarse: a pair of blocks is taken for a rigid body at the base, so
   that its six modes are the six coordinates; the radius makes both blocks alike. */
static void csimi_tree_aggregates(const csim_world *w, csimi_step_frame *f, const csimi_tree *tree) {
    const csimi_state *s = &w->store.state;
    const int first = csimi_first_coord_block(s) + tree->first_block;
    int i;
    for (i = 0; i < tree->block_count; i += 2) {
        const int k = f->aggregates++;
        f->aggregate_of[first + i] = k;
        csimi_store3(f->aggregate_centre + 3 * k, csimi_load3(s->link_pose + 7 * tree->first_link));
        f->aggregate_radius[k] = 1;
        if (i + 1 == tree->block_count) break; /* an odd last block is alone */
        f->aggregate_of[first + i + 1] = k;
        f->aggregate_radius[k] =
            CSIMI_SQRT(csimi_block_trace(&w->store.A, first + i + 1) / csimi_block_trace(&w->store.A, first + i));
    }
}

static void csimi_find_aggregates(const csim_world *w, csimi_step_frame *f) {
    const csimi_store *s = &w->store;
    int i;
    for (i = 0; i < s->count.trees; i++) csimi_tree_aggregates(w, f, s->state.tree + i);
    for (i = 0; i < w->store.active_count; i++) {
        const csimi_body *b = s->body + s->active[i];
        if (b->aggregate_count > 0) {
            csimi_solid_aggregates(s, f, b, f->aggregates);
            f->aggregates += b->aggregate_count;
        } else if (CSIMI_HAS_RIGID && b->kind == CSIM_RIGID && b->motion == CSIM_DYNAMIC) {
            int block = s->count.nodes + 2 * b->rigid;
            const csim_real *I = s->state.inertia + 9 * b->rigid; /* tr I = 2 sum m r^2: rms radius */
            csim_real radius = CSIMI_SQRT((I[0] + I[4] + I[8]) / (2 * s->state.rigid_mass[b->rigid]));
            f->aggregate_of[block] = f->aggregate_of[block + 1] = f->aggregates;
            csimi_store3(f->aggregate_centre + 3 * f->aggregates, csimi_load3(s->state.com + 3 * b->rigid));
            f->aggregate_radius[f->aggregates++] = csimi_max(radius, CSIM_R(1e-9));
        }
    }
}
#endif

CSIMI_FN void csimi_aggregates(const csim_world *w, csimi_step_frame *f) {
    int i;
    for (i = 0; i < f->blocks && CSIMI_UNITES; i++) f->aggregate_of[i] = -1;
    f->aggregates = 0;
#ifdef CONDSIM_NO_COND
    (void)w;
#else
    csimi_find_aggregates(w, f);
#endif
}

/* ---- one island */

/* Exchanges two stored blocks of a row together with their columns. */
static void csimi_trade_blocks(const csim_block_matrix *A, int j, int k) {
    csim_real block[9];
    const int col = A->col[j];
    A->col[j] = A->col[k], A->col[k] = col;
    CSIMI_MEMCPY(block, A->val + 9 * (size_t)j, sizeof block);
    CSIMI_MEMCPY(A->val + 9 * (size_t)j, A->val + 9 * (size_t)k, sizeof block);
    CSIMI_MEMCPY(A->val + 9 * (size_t)k, block, sizeof block);
}

/* An island is solved on its rows of the world's A. While it is, their columns have the numbers of the island, and what
   is fixed or kinematic stands behind the row and acts on the right-hand side ... */
static void csimi_island_matrix(const csim_world *w, const csimi_step_frame *f, csimi_island_work *p, const int *block,
                                int n) {
    const csim_block_matrix *A = &w->store.A;
    /* solved again it goes on from where it is; solvers that walk through gaps always start at v_k */
    const csim_real *start = f->again && f->start != f->vk ? f->v : f->start;
    int i, j, k, r, count = 0;
    for (i = 0; i < n; i++) {
        const int g = block[i];
        csim_real *b = p->b + 3 * i, y[3];
        csimi_store3(b, csimi_load3(f->b + 3 * g));
        p->row[i] = A->row[g];
        p->end[i] = csimi_row_end(A, g);
        p->diag[i] = A->diag[g];
        for (k = p->row[i]; k < p->end[i]; k++) { /* what is given goes to the right-hand side: b - A v */
            if (!f->skip[A->col[k]]) continue;
            csimi_mul3(A->val + 9 * (size_t)k, f->v + 3 * A->col[k], y);
            for (r = 0; r < 3; r++) b[r] -= y[r];
        }
        for (k = p->end[i] - 1; k >= p->row[i]; k--) { /* from the end, so that what was moved is not met again */
            if (!f->skip[A->col[k]]) {
                A->col[k] = f->local[A->col[k]];
                continue;
            }
            for (j = k; j + 1 < p->end[i]; j++) csimi_trade_blocks(A, j, j + 1); /* the others keep their order */
            p->end[i]--;
            p->diag[i] -= k < p->diag[i]; /* it moved up by one */
        }
        count += p->end[i] - p->row[i];
        csimi_store3(p->solution.v + 3 * i, csimi_load3(start + 3 * g));
    }
    p->row[n] = count; /* all stored blocks: how many, not where they end */
    p->problem.A = *A;
    p->problem.A.n = n;
    p->problem.A.row = p->row;
    p->problem.A.end = p->end;
    p->problem.A.diag = p->diag;
    p->problem.b = p->b;
}

/* ... and afterwards the rows are as they were. */
static void csimi_island_matrix_back(const csim_world *w, const csimi_island_work *p, const int *block, int n) {
    const csim_block_matrix *A = &w->store.A;
    int i, j, k;
    for (i = 0; i < n; i++) {
        for (k = p->row[i]; k < p->end[i]; k++) A->col[k] = block[A->col[k]];
        for (k = p->end[i]; k < csimi_row_end(A, block[i]); k++)
            for (j = k; j > p->row[i] && A->col[j - 1] > A->col[j]; j--) csimi_trade_blocks(A, j - 1, j);
    }
}

/* Rows are solved where they are, and those of an island follow each other while islands are solved. */
static void csimi_island_contacts(const csimi_step_frame *f, csimi_island_work *p, int first, int count) {
    int i;
    p->problem.contact_count = count;
    p->problem.contacts = f->contacts + first;
    p->problem.terms = f->terms;
    p->problem.term_count = f->term_count;
    if (CSIMI_IN_PLACE) p->solution.lambda = f->lambda + 3 * (size_t)first; /* rows and impulses lie in island order */
    for (i = 0; i < count && !CSIMI_IN_PLACE; i++)
        csimi_store3(p->solution.lambda + 3 * i, csimi_load3(f->lambda + 3 * (size_t)f->island_contacts[first + i]));
}

/* Whether a block is the first of a point, a rigid body or a tree. */
static bool csimi_starts_body(const csim_world *w, int block) {
    const csimi_state *s = &w->store.state;
    const int coord = block - csimi_first_coord_block(s);
    if (coord >= s->coord_count) return true; /* massless */
    if (coord >= 0) {
        const csimi_tree *tree = s->tree + w->store.coord_tree[coord];
        return coord == tree->first_block + (tree->anchored ? tree->base_blocks : 0); /* an anchored base is given */
    }
    return block < s->node_count || block >= csimi_first_frame_block(s) || (block - s->node_count) % 2 == 0;
}

/* Bodies that A couples become one, where that is worth its while: rigid bodies on joints, which springs couple. False
   when bodies stay coupled, or a tree is too large for a dense inverse. */
static bool csimi_bodies_merge(const csim_world *w, csimi_island_work *p, const int *block, int n, bool joints,
                               int *bodies) {
    const csimi_state *s = &w->store.state;
    bool rigid = block[0] >= s->node_count;
    int k, i, count = 0, reach = 0;
    for (i = n - 1; i >= 0 && block[i] >= csimi_first_slack_block(s); i--) {
    }
    rigid = rigid && i >= 0 && block[i] < csimi_first_frame_block(s); /* numbers ascend: first and last tell */
    for (k = 0; k < *bodies; k++) {
        const int first = p->body_first[k], end = p->body_first[k + 1];
        if (first >= reach) /* nothing before it couples to it */
            p->body_first[count++] = first;
        else if (!rigid || !joints)
            return false;
        for (i = first, reach = csimi_imax(reach, end); i < end; i++) /* rows are symmetric */
            reach = csimi_imax(reach, p->problem.A.col[p->end[i] - 1] + 1);
        if (reach - p->body_first[count - 1] > (rigid ? CSIMI_BODY_LARGEST : CSIMI_BODY_TREE)) return false;
    }
    p->body_first[count] = n;
    *bodies = count;
    return true;
}

/* Aggregates of an island have numbers of their own in order of appearance. */
static void csimi_island_structure(const csim_world *w, const csimi_step_frame *f, csimi_island_work *p,
                                   const int *block, int n, bool joints) {
    const int *number = CSIMI_UNITES ? f->aggregate_number + (block - f->island_blocks) : NULL;
    const csimi_state *s = &w->store.state;
    int i, count = 0, bodies = 0, frames = csimi_first_frame_block(s), coords = csimi_first_coord_block(s);
    const int slacks = csimi_first_slack_block(s);
    for (i = 0; i < n; i++) {
        int g = block[i], a = CSIMI_UNITES ? f->aggregate_of[g] : -1;
        csim_vec3 offset = csim_v3(0, 0, 0);
        if (csimi_starts_body(w, g)) p->body_first[bodies++] = i; /* blocks of a body follow each other */
        if (!CSIMI_UNITES) continue;
        p->rotation[i] = g >= slacks   ? false
                         : g >= coords ? csimi_second_of_pair(w, g - coords)
                                       : g >= frames || (g >= s->node_count && (g - s->node_count) % 2 == 1);
        if (a >= 0) {
            if (number[i] == count) { /* its first block here: numbers are in order of appearance */
                csimi_store3(p->centre + 3 * count, csimi_load3(f->aggregate_centre + 3 * a));
                p->radius[count++] = f->aggregate_radius[a];
            }
            if (g < s->node_count) /* a body's blocks are its centre and its turn: offset 0 */
                offset = csim_sub(csimi_load3(s->x + 3 * g), csimi_load3(f->aggregate_centre + 3 * a));
        }
        csimi_store3(p->offset + 3 * i, offset);
    }
    p->body_first[bodies] = n;
    p->structure.aggregate_count = count;
    p->structure.aggregate = number;
    p->structure.offset = p->offset;
    p->structure.radius = p->radius;
    p->structure.centre = p->centre;
    p->structure.rotation = p->rotation;
    /* 0: A couples bodies, and solvers that want their dense inverses do not take it */
    p->structure.body_count = csimi_bodies_merge(w, p, block, n, joints, &bodies) ? bodies : 0;
    p->structure.body_first = p->body_first;
    p->problem.structure = &p->structure;
    p->problem.theta = f->theta;
}

#ifndef CONDSIM_NO_CABLE
/* Number inside the island of a block of the world, -1: it is not in it. */
static int csimi_island_local(const csimi_step_frame *f, int island, int block) {
    return f->island[block] == island ? f->local[block] : -1;
}

/* The cables of the island: node and frame after it, link by link. Nodes of a cable follow each other. */
static void csimi_island_chains(const csim_world *w, const csimi_step_frame *f, csimi_island_work *p, const int *block,
                                int n) {
    const csimi_store *s = &w->store;
    int i, k, last = -1, count = 0, links = 0, island = f->island[block[0]];
    for (i = 0; i < n && block[i] < s->count.nodes; i++) {
        int slot = s->node_body[block[i]];
        const csimi_body *b = s->body + slot;
        if (slot == last || b->kind != CSIM_BODY_CABLE) continue; /* a cable once, by the first of its nodes here */
        last = slot;
        p->chain_first[count++] = links;
        for (k = 0; k < b->node_count; k++, links++) {
            int frame = csimi_first_frame_block(&s->state) + b->first_frame + k;
            p->chain_block[2 * links] = csimi_island_local(f, island, b->first_node + k);
            p->chain_block[2 * links + 1] = k < b->frame_count ? csimi_island_local(f, island, frame) : -1;
        }
    }
    p->chain_first[count] = links;
    p->structure.chain_count = count;
    p->structure.chain_first = p->chain_first;
    p->structure.chain_block = p->chain_block;
}

/* A term of an element: J of one of its blocks, or what moves there by itself. */
static void csimi_island_term(const csimi_step_frame *f, csim_elastic *e, int block, const csim_real *J) {
    csim_term *t = e->term + e->count;
    if (f->skip[block]) {
        csimi_addmul3(J, f->v + 3 * (size_t)block, e->phi); /* what is given strains it too */
        return;
    }
    t->block = f->local[block];
    CSIMI_MEMCPY(t->J, J, sizeof t->J);
    e->count++;
}

/* Stretch and shear of an edge, from the blocks of A that nothing else couples: with S between the nodes and X between
   the second one and the frame, u = w_2 - w_1 + S^-1 X theta strains against S. What is left of the frame's block is
   the grounded part of the geometric stiffness and stays in A. */
static bool csimi_island_edge(const csim_world *w, const csimi_step_frame *f, int k, csim_elastic *e) {
    static const csim_real one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, minus[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
    const csimi_state *s = &w->store.state;
    const int *slot = s->edge_slot + 9 * (size_t)k, *node = s->edge_node + 2 * (size_t)k;
    csim_real inverse[9], J[9];
    int i;
    for (i = 0; i < 9; i++) e->K[i] = -w->store.A.val[9 * (size_t)slot[1] + (size_t)i];
    if (!csimi_inverse3(e->K, inverse)) return false; /* no stiffness: no element */
    csimi_matmul(inverse, w->store.A.val + 9 * (size_t)slot[5], J);
    csimi_island_term(f, e, node[0], minus);
    csimi_island_term(f, e, node[1], one);
    csimi_island_term(f, e, csimi_first_frame_block(s) + k, J);
    /* K = h^2 k + h beta k: the part of the damping is beta / (h + beta) */
    e->damping = s->edge_data[6 * (size_t)k + 4] / (f->h + s->edge_data[6 * (size_t)k + 4]);
    return true;
}

static bool csimi_island_bend(const csim_world *w, const csimi_step_frame *f, int k, csim_elastic *e) {
    static const csim_real one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, minus[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
    const csimi_state *s = &w->store.state;
    const int *slot = s->bend_slot + 4 * (size_t)k;
    const csim_real lag = s->bend_data[8 * (size_t)k + 7];
    int i;
    if (slot[1] < 0) return false; /* one end is the world */
    for (i = 0; i < 9; i++) e->K[i] = -w->store.A.val[9 * (size_t)slot[1] + (size_t)i];
    csimi_island_term(f, e, csimi_bend_block(s, s->bend[k].end), minus);
    csimi_island_term(f, e, csimi_bend_block(s, s->bend[k].end + 1), one);
    e->damping = lag / (f->h + lag);
    return true;
}

/* The elements of the cables of an island, for the solver that wants them. */
static void csimi_island_elements(const csim_world *w, const csimi_step_frame *f, csimi_island_work *p, int island) {
    const csimi_state *s = &w->store.state;
    const int count = csimi_most_elastic(&w->store.count, &w->def.solver);
    int i, at = 0;
    for (i = 0; i < count; i++) {
        const bool bend = i >= s->frame_count;
        const int k = bend ? i - s->frame_count : i;
        const int a = bend ? csimi_bend_block(s, s->bend[k].end) : csimi_first_frame_block(s) + k;
        const int b = bend ? csimi_bend_block(s, s->bend[k].end + 1) : s->edge_node[2 * (size_t)k];
        const int c = bend ? b : s->edge_node[2 * (size_t)k + 1];
        csim_elastic *e = p->elastic + at;
        if (!((a >= 0 && f->island[a] == island) || (b >= 0 && f->island[b] == island) ||
              (c >= 0 && f->island[c] == island)))
            continue;
        CSIMI_MEMSET(e, 0, sizeof *e);
        at += bend ? csimi_island_bend(w, f, k, e) : csimi_island_edge(w, f, k, e);
    }
    p->structure.elastic_count = at;
    p->structure.elastic = p->elastic;
}
#endif

/* What is left unsolved opens joints, so that islands of rigid bodies with joints are solved far beyond the tolerance
   where that is cheap: alone, or to a millionth beside contacts. Meeting the world's tolerance is enough all the
   same. */
static csim_real csimi_island_tolerance(const csim_world *w, const csimi_step_frame *f, const csim_problem *problem,
                                        const int *contact) {
    const csim_real asked = w->def.solver.tolerance;
    int i, joints = 0;
    /* rows of joints come last */
    for (i = problem->contact_count; i > 0 && contact[i - 1] >= f->first_joint_row; i--) joints++;
    if (joints == 0 || !csimi_bodies_take(problem)) return asked; /* elsewhere far is dear */
    return csimi_min(asked,
                     csimi_max(1000 * CSIMI_EPS, joints < problem->contact_count ? CSIM_R(1e-6) : CSIM_R(1e-11)));
}

/* Whether the step that is being done is to be certified. */
static bool csimi_certifies(const csim_world *w) {
    const int every = w->def.solver.certify;
    return every > 0 && ((uint32_t)w->steps + 1u) % (uint32_t)every == 0;
}

CSIMI_FN int csimi_island_aggregates(const csimi_step_frame *f, int island) {
    int k, most = 0;
    for (k = f->island_first[island]; k < f->island_first[island + 1] && CSIMI_UNITES; k++)
        most = csimi_imax(most, f->aggregate_number[k] + 1);
    return most;
}

/* Room in the arena for the problem of an island. */
static void csimi_island_room(const csim_world *w, const csimi_step_frame *f, int island, csimi_island_work *p,
                              csimi_arena *arena) {
    const int n = f->island_first[island + 1] - f->island_first[island];
    const int contacts = f->island_contact_first[island + 1] - f->island_contact_first[island];
    CSIMI_MEMSET(p, 0, sizeof *p);
    csimi_island_layout(p, n, contacts, csimi_island_aggregates(f, island), csimi_most_links(&w->store.count),
                        csimi_most_elastic(&w->store.count, &w->def.solver), arena);
}

static void csimi_island_fill(const csim_world *w, const csimi_step_frame *f, int island, csimi_island_work *p) {
    const int *block = f->island_blocks + f->island_first[island];
    const int *contact = f->island_contacts + f->island_contact_first[island];
    const int n = f->island_first[island + 1] - f->island_first[island];
    const int contacts = f->island_contact_first[island + 1] - f->island_contact_first[island];
#ifndef CONDSIM_NO_CABLE
    csimi_island_elements(w, f, p, island); /* from the blocks of A, where they are */
#endif
    csimi_island_matrix(w, f, p, block, n);
    csimi_island_contacts(f, p, f->island_contact_first[island], contacts);
    /* rows of joints come last, behind first_joint_row: the last row tells whether there are any */
    csimi_island_structure(w, f, p, block, n, contacts > 0 && contact[contacts - 1] >= f->first_joint_row);
#ifndef CONDSIM_NO_CABLE
    csimi_island_chains(w, f, p, block, n);
#endif
}

static csimi_within csimi_within_of(const csimi_step_frame *f, int island, csimi_island_work *p, csimi_arena *arena) {
    csimi_within c;
    CSIMI_MEMSET(&c, 0, sizeof c);
    c.problem = &p->problem;
    c.rows = f->contacts + f->island_contact_first[island];
    c.solution = &p->solution;
    c.block = f->island_blocks + f->island_first[island];
    c.contact = f->island_contacts + f->island_contact_first[island];
    c.n = p->problem.A.n;
    c.count = p->problem.contact_count;
    c.rotation = p->rotation;
    c.gap = CSIMI_PUSH(arena, csim_real, c.count);
    c.phi = CSIMI_PUSH(arena, csim_real, c.count);
    c.pulse = CSIMI_PUSH(arena, csim_real, 3 * (size_t)c.count);
    c.move = CSIMI_PUSH(arena, csim_real, 3 * (size_t)c.n);
    return c;
}

/* What a missed solve leaves is kept where it is near; far from its tolerance it is replaced by what gains nothing. */
static void csimi_keep_outcome(const csim_world *w, const csimi_step_frame *f, const csim_problem *problem,
                               const int *contact, const csimi_worker *worker, csim_solution *solution,
                               csim_outcome *outcome) {
    csimi_arena *arena = worker->arena;
    csim_outcome kept;
    csim_real *begun;
    int i;
    if (outcome->result != CSIM_RESULT_CAP && outcome->result != CSIM_RESULT_STALLED) return;
    if (csimi_keeps(w) || csimi_solver_gaps(w->def.solver.solver)) return;
    if (w->def.integrator == CSIM_HALF_STEP) return;
    if (!w->def.solver.cond.shift && outcome->virtual_nodes > 0 && outcome->result == CSIM_RESULT_STALLED)
        return; /* the nodal answer was asked for */
    if (csim_certificate_worst(&outcome->certificate) <= CSIMI_NEAR) return;
    kept = *outcome;
    begun = CSIMI_PUSH(arena, csim_real, 3 * (size_t)problem->contact_count);
    if (arena->overflow) return; /* what the solve left stays */
    for (i = 0; i < problem->contact_count; i++) csimi_store3(begun + 3 * i, csimi_load3(f->lambda + 3 * contact[i]));
    if (!csimi_restrain(problem, begun, arena, worker->tasks, solution, &kept)) return;
    *outcome = kept; /* with the certificate of what was put in its place */
    csimi_judge_outcome(outcome, w->def.solver.tolerance);
}

CSIMI_FN csim_status csimi_solve_island(const csim_world *w, csimi_step_frame *f, int island, csimi_worker *worker,
                                        csimi_answer *a) {
    csimi_island_work p;
    csim_solver_params params = w->def.solver;
    csim_status status = CSIM_OK, checked;
    csimi_arena *arena = worker->arena;
    size_t mark = arena->used;
    const int *block = f->island_blocks + f->island_first[island];
    const int *contact = f->island_contacts + f->island_contact_first[island];
    int n = f->island_first[island + 1] - f->island_first[island], i;
    int contacts = f->island_contact_first[island + 1] - f->island_contact_first[island];
    csimi_island_room(w, f, island, &p, arena);
    csimi_island_fill(w, f, island, &p);
    checked = csimi_check_own(&p.problem, worker->error);
    params.sigma = w->store.body[csimi_block_owner(&w->store, block[0])].sigma;
    params.certify = csimi_certifies(w);
    params.tolerance = csimi_island_tolerance(w, f, &p.problem, contact);
    p.solution.move = f->moves && !csimi_keeps(w) ? CSIMI_PUSH(arena, csim_real, 3 * (size_t)n) : NULL;
    if (params.solver == CSIM_SOLVER_XPBD) {
        csim_real *gap = CSIMI_PUSH(arena, csim_real, contacts); /* of joints, behind what was found, it is not read */
        for (i = 0; i < contacts; i++) gap[i] = contact[i] < f->found_count ? f->found[contact[i]].left : 0;
        p.problem.gap = gap;
    }
#ifndef CONDSIM_NO_SWEEP
    if (params.tolerance < w->def.solver.tolerance && params.solver == CSIM_SOLVER_AUTO)
        params.solver = CSIM_SOLVER_SWEEP; /* the virtual nodes of COND slip, and joints would open by it */
#endif
    if (w->def.integrator == CSIM_HALF_STEP) /* the rest is for what is not linear */
        params.tolerance = csimi_min(params.tolerance, csimi_max(params.tolerance / 4, 16 * CSIMI_EPS));
    if (csimi_keeps(w)) {
        csimi_within within = csimi_within_of(f, island, &p, arena);
        within.checked = checked;
        status = a->phase == CSIMI_PHASE_REST ? CSIM_OK : csimi_within_try(w, f, &within, &params, worker, a);
        a->phase =
            a->phase == CSIMI_PHASE_TRY && a->bounded && status == CSIM_OK ? CSIMI_PHASE_REST : CSIMI_PHASE_WHOLE;
        if (a->phase == CSIMI_PHASE_REST) {
            csimi_island_matrix_back(w, &p, block, n); /* until the rest is done it is the world's A again */
            csimi_pop(arena, mark);
            return CSIM_OK;
        }
        if (status == CSIM_OK) status = csimi_within_end(w, f, &within, &params, worker, a);
        p.solution.move = within.move;
    } else {
        csimi_stillness rest =
            csimi_island_rests(w, f, block, &p.problem, &params, checked, &p.solution, arena, &a->outcome);
        if (rest == CSIMI_ISLAND_SLOW)
            rest = csimi_island_stand(w, f, block, &p.problem, f->contacts + f->island_contact_first[island], &params,
                                      checked, worker, &p.solution, &a->outcome);
        if (rest != CSIMI_ISLAND_RESTS) {
            status = csimi_problem_solve(&p.problem, &params, arena, checked, worker->tasks, &p.solution, &a->outcome,
                                         worker->error);
            /* its answer is asked the same once more */
            (void)csimi_island_rests(w, f, block, &p.problem, &params, checked, &p.solution, arena, &a->outcome);
        }
    }
    if (status == CSIM_OK && a->outcome.result != CSIM_RESULT_NOT_FINITE) {
        csimi_judge_outcome(&a->outcome, w->def.solver.tolerance);
        csimi_keep_outcome(w, f, &p.problem, contact, worker, &p.solution, &a->outcome);
    }
    csimi_island_matrix_back(w, &p, block, n); /* before any return: A belongs to the world */
    if (status) return status;
    if (a->outcome.result == CSIM_RESULT_NOT_FINITE)
        return csimi_deny(worker->error, CSIM_NON_FINITE_RESULT, "csim_world_step", "an island's velocity",
                          "finite numbers; the step was undone");
    for (i = 0; i < n; i++) {
        if (a->outcome.result > CSIM_RESULT_UNCHECKED) f->missed[block[i]] = 1; /* not certified, though it was to be */
        csimi_store3(f->v + 3 * block[i], csimi_load3(p.solution.v + 3 * i));
        if (f->moves) /* positions go by it */
            csimi_store3(f->rep + 3 * block[i], csimi_load3(p.solution.move + 3 * i));
    }
    for (i = 0; i < contacts && !CSIMI_IN_PLACE; i++)
        csimi_store3(f->lambda + 3 * contact[i], csimi_load3(p.solution.lambda + 3 * i));
    csimi_pop(arena, mark);
    return CSIM_OK;
}
