/* contact/nodalize: virtual nodes: with a diagonal W every contact is a scalar's (COND paper III-A). */
#include "private.h"

/* What is known of a nodal problem before its matrix: sizes, and the integers its pattern is built with. */
typedef struct csimi_nodal_plan {
    int n, virtual_count, contacts;
    int incidences; /* terms of all virtual sides */
    int capacity;   /* blocks of A at most */
    int *claimed;   /* [n] first contact on the block, as a node */
    int *first;     /* [n + 1] incident virtual nodes of each block ... */
    int *incident;  /* [incidences] */
    int *mark;      /* [n + virtual_count] last row that a column was added to */
    int *cursor;    /* [n] */
} csimi_nodal_plan;

static void csimi_nodal_layout(csimi_arena *arena, const csimi_nodal_plan *plan, csimi_nodal *nodal) {
    const int n = plan->n + plan->virtual_count, sides = plan->virtual_count;
    nodal->node_a = CSIMI_PUSH(arena, int, plan->contacts);
    nodal->node_b = CSIMI_PUSH(arena, int, plan->contacts);
    nodal->start = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    nodal->side = CSIMI_PUSH(arena, csim_side, sides);
    nodal->kappa = CSIMI_PUSH(arena, csim_real, sides);
    if (!sides) return; /* the given matrix, right side and contacts serve as they are */
    nodal->problem.b = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n);
    nodal->problem.contacts = CSIMI_PUSH(arena, csim_contact, plan->contacts);
    nodal->problem.terms = CSIMI_PUSH(arena, csim_term, 2 * (size_t)plan->contacts);
    nodal->problem.A.row = CSIMI_PUSH(arena, int, (size_t)n + 1);
    nodal->problem.A.diag = CSIMI_PUSH(arena, int, n);
    nodal->problem.A.col = CSIMI_PUSH(arena, int, plan->capacity);
    nodal->problem.A.val = CSIMI_PUSH(arena, csim_real, 9 * (size_t)plan->capacity);
}

static void csimi_nodal_layout_scratch(csimi_arena *arena, csimi_nodal_plan *plan) {
    const size_t n = (size_t)plan->n + (size_t)plan->virtual_count;
    plan->first = CSIMI_PUSH(arena, int, (size_t)plan->n + 1);
    plan->incident = CSIMI_PUSH(arena, int, plan->incidences);
    plan->mark = CSIMI_PUSH(arena, int, n);
    plan->cursor = CSIMI_PUSH(arena, int, plan->n);
}

CSIMI_FN void csimi_nodal_reserve(csimi_arena *arena, int blocks, int matrix_blocks, int contacts, int terms,
                                  int side) {
    /* k k + k + 1 blocks a side beside the diagonal ones; a k beyond 4 is counted k k / 4 times */
    const int most = side > 0 && side < 4 ? side + 1 : 6;
    csimi_nodal_plan plan;
    csimi_nodal nodal;
    size_t mark;
    CSIMI_MEMSET(&plan, 0, sizeof plan);
    plan.n = blocks;
    plan.contacts = contacts;
    plan.virtual_count = csimi_imin(2 * contacts, terms);
    plan.incidences = terms;
    plan.capacity = matrix_blocks + most * terms + plan.virtual_count;
    csimi_nodal_layout(arena, &plan, &nodal);
    mark = arena->used;
    csimi_nodal_layout_scratch(arena, &plan);
    (void)CSIMI_PUSH(arena, int, blocks); /* claimed */
    csimi_pop(arena, mark);
}

static csim_side csimi_nodal_given(const csim_contact *contact, int side) { return side ? contact->b : contact->a; }

/* A side that is one block with the identity: a node. */
static bool csimi_nodal_is_node(const csim_problem *problem, csim_side side) {
    const csim_real *J;
    if (side.count != 1) return false;
    J = problem->terms[side.first].J;
    return J[0] == 1 && J[4] == 1 && J[8] == 1 && J[1] == 0 && J[2] == 0 && J[3] == 0 && J[5] == 0 && J[6] == 0 &&
           J[7] == 0;
}

/* True when the side needs a virtual node; the first contact on a node claims it. */
static bool csimi_nodal_is_virtual(const csim_problem *problem, csim_side side, int tag, int *claimed) {
    int block;
    if (!side.count) return false;
    if (!csimi_nodal_is_node(problem, side)) return true;
    block = problem->terms[side.first].block;
    if (claimed[block] < 0) claimed[block] = tag;
    return claimed[block] != tag;
}

static void csimi_nodal_count(const csim_problem *problem, csimi_nodal_plan *plan) {
    int m, k;
    plan->n = problem->A.n;
    plan->contacts = problem->contact_count;
    plan->virtual_count = plan->incidences = 0;
    plan->capacity = problem->A.row[problem->A.n];
    for (m = 0; m < plan->n; ++m) plan->claimed[m] = -1;
    for (m = 0; m < plan->contacts; ++m)
        for (k = 0; k < 2; ++k) {
            const csim_side side = csimi_nodal_given(problem->contacts + m, k);
            if (!csimi_nodal_is_virtual(problem, side, 2 * m + k, plan->claimed)) continue;
            plan->virtual_count += 1;
            plan->incidences += side.count;
            plan->capacity += side.count * side.count + side.count + 1;
        }
}

/* tr(J D^-1 J') of one term, D the diagonal block it acts on; 1/kg. */
static double csimi_nodal_mobility(const csim_block_matrix *A, const csim_term *term) {
    const csim_real *D = A->val + 9 * (size_t)A->diag[term->block];
    csim_real inverse[9];
    double sum = 0;
    int i, j, k;
    if (!csimi_inverse3(D, inverse)) {
        CSIMI_MEMSET(inverse, 0, sizeof inverse);
        for (i = 0; i < 3; ++i) inverse[4 * i] = 1 / D[4 * i];
    }
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 3; ++j)
            for (k = 0; k < 3; ++k)
                sum += (double)term->J[3 * i + j] * (double)inverse[3 * j + k] * (double)term->J[3 * i + k];
    return sum;
}

/* m_eff = 3 / tr(J D^-1 J') of a side, kg. A side that moves with nothing (J = 0) counts as its first block. */
static csim_real csimi_nodal_mass(const csim_problem *problem, csim_side side) {
    const csim_term *term = problem->terms + side.first;
    double mobility = 0;
    int k;
    for (k = 0; k < side.count; ++k) mobility += csimi_nodal_mobility(&problem->A, term + k);
    return mobility > 0 ? (csim_real)(3 / mobility) : csimi_block_trace(&problem->A, term->block) / 3;
}

/* Velocity of a side's point. */
static void csimi_nodal_velocity(const csim_problem *problem, csim_side side, const csim_real *v, csim_real *u) {
    int k;
    u[0] = u[1] = u[2] = 0;
    for (k = side.first; k < side.first + side.count; ++k)
        csimi_addmul3(problem->terms[k].J, v + 3 * (size_t)problem->terms[k].block, u);
}

/* Mass a contact feels: 1 / (1/m_a + 1/m_b) over its moving sides. A coupling made for it slips by 1/gain of what the
   contact does, while one made for the mass of a heavy side alone would drown the light side in its rounding. */
static csim_real csimi_nodal_contact_mass(const csim_problem *problem, const csim_contact *contact) {
    double mobility = 0;
    int k;
    for (k = 0; k < 2; ++k) {
        const csim_side side = csimi_nodal_given(contact, k);
        if (side.count)
            mobility += 1 / (double)(contact->mass[k] > 0 ? contact->mass[k] : csimi_nodal_mass(problem, side));
    }
    return (csim_real)(1 / mobility);
}

/* Node or virtual node of one side; makes the virtual node's kappa, start velocity and shift. */
static int csimi_nodal_side(const csim_problem *problem, const csimi_nodal_plan *plan, int m, int k, csim_real gain,
                            csim_real kappa, const csim_real *share, bool shift, const csim_real *v,
                            const csim_real *lambda0, csimi_nodal *nodal) {
    csim_contact *contact = (csim_contact *)nodal->problem.contacts + m;
    const csim_side side = csimi_nodal_given(problem->contacts + m, k);
    const csim_real *l = lambda0 + 3 * (size_t)m;
    csim_real impulse[3] = {0, 0, 0}, *start;
    int i, node;
    if (!side.count) return -1;
    if (!csimi_nodal_is_virtual(problem, side, 2 * m + k, plan->claimed)) return problem->terms[side.first].block;
    if (!(contact->mass[k] > 0)) contact->mass[k] = csimi_nodal_mass(problem, side);
    node = nodal->virtual_count++;
    nodal->side[node] = side;
    if (!(kappa > 0)) kappa = gain * csimi_nodal_contact_mass(problem, problem->contacts + m);
    if (share) kappa *= share[m];
    nodal->kappa[node] = kappa;
    for (i = 0; shift && i < 3; ++i) contact->phi[i] -= l[i] / kappa;
    start = nodal->start + 3 * (size_t)(plan->n + node);
    csimi_nodal_velocity(problem, side, v, start);
    csimi_addmulT3(contact->R, l, impulse);
    for (i = 0; i < 3; ++i) start[i] += (k ? -impulse[i] : impulse[i]) / kappa;
    return plan->n + node;
}

/* The terms of a nodal contact: the identity on each node. */
static csim_side csimi_nodal_term(csimi_nodal *nodal, int slot, int node) {
    csim_term *term = (csim_term *)nodal->problem.terms + slot;
    csim_side side;
    side.first = slot;
    side.count = node >= 0;
    CSIMI_MEMSET(term, 0, sizeof *term);
    term->block = node < 0 ? 0 : node;
    term->J[0] = term->J[4] = term->J[8] = 1;
    return side;
}

/* ---- the pattern: a given row, and in their places the blocks and virtual nodes that reach it through virtual nodes.
   Virtual nodes have the largest numbers and are met in ascending order, so each of them goes to the end. */

/* Adds a column to the row under way, once. */
static void csimi_nodal_add(csimi_nodal_plan *plan, csim_block_matrix *A, int i, int j) {
    int k = A->row[i + 1];
    if (plan->mark[j] == i) return;
    plan->mark[j] = i;
    A->row[i + 1] += 1;
    for (; k > A->row[i] && A->col[k - 1] > j; --k) A->col[k] = A->col[k - 1];
    A->col[k] = j;
}

static void csimi_nodal_given_row(const csim_problem *problem, const csimi_nodal *nodal, csimi_nodal_plan *plan,
                                  csim_block_matrix *A, int i) {
    const csim_block_matrix *given = &problem->A;
    const int count = given->row[i + 1] - given->row[i], *col = given->col + given->row[i];
    int k, t;
    CSIMI_MEMCPY(A->col + A->row[i], col, (size_t)count * sizeof(int));
    A->row[i + 1] = A->row[i] + count;
    A->diag[i] = A->row[i] + given->diag[i] - given->row[i];
    if (plan->first[i] == plan->first[i + 1]) return;
    for (k = 0; k < count; ++k) plan->mark[col[k]] = i;
    for (k = plan->first[i]; k < plan->first[i + 1]; ++k) {
        const csim_side side = nodal->side[plan->incident[k]];
        for (t = side.first; t < side.first + side.count; ++t)
            csimi_nodal_add(plan, A, i, problem->terms[t].block);
    }
    for (k = plan->first[i]; k < plan->first[i + 1]; ++k) csimi_nodal_add(plan, A, i, plan->n + plan->incident[k]);
    A->diag[i] = csimi_pattern_find(A, i, i);
}

static void csimi_nodal_virtual_row(const csim_problem *problem, const csimi_nodal *nodal, csimi_nodal_plan *plan,
                                    csim_block_matrix *A, int i) {
    const csim_side side = nodal->side[i - plan->n];
    int t;
    A->row[i + 1] = A->row[i];
    for (t = side.first; t < side.first + side.count; ++t) csimi_nodal_add(plan, A, i, problem->terms[t].block);
    csimi_nodal_add(plan, A, i, i);
    A->diag[i] = A->row[i + 1] - 1;
}

/* Which virtual nodes hang on each block. */
static void csimi_nodal_incidence(const csim_problem *problem, const csimi_nodal *nodal, csimi_nodal_plan *plan) {
    int i, k;
    CSIMI_MEMSET(plan->first, 0, ((size_t)plan->n + 1) * sizeof(int));
    for (i = 0; i < plan->virtual_count; ++i)
        for (k = 0; k < nodal->side[i].count; ++k) plan->first[problem->terms[nodal->side[i].first + k].block + 1] += 1;
    for (i = 0; i < plan->n; ++i) plan->first[i + 1] += plan->first[i];
    CSIMI_MEMCPY(plan->cursor, plan->first, (size_t)plan->n * sizeof(int));
    for (i = 0; i < plan->virtual_count; ++i)
        for (k = 0; k < nodal->side[i].count; ++k)
            plan->incident[plan->cursor[problem->terms[nodal->side[i].first + k].block]++] = i;
}

static void csimi_nodal_pattern(const csim_problem *problem, csimi_nodal *nodal, csimi_nodal_plan *plan) {
    csim_block_matrix *A = &nodal->problem.A;
    int i;
    A->n = plan->n + plan->virtual_count;
    csimi_nodal_incidence(problem, nodal, plan);
    for (i = 0; i < A->n; ++i) plan->mark[i] = -1;
    A->row[0] = 0;
    for (i = 0; i < plan->n; ++i) csimi_nodal_given_row(problem, nodal, plan, A, i);
    for (; i < A->n; ++i) csimi_nodal_virtual_row(problem, nodal, plan, A, i);
    CONDSIM_ASSERT(A->row[A->n] <= plan->capacity);
}

/* ---- the values */

/* The rows of the given matrix, zero where virtual nodes add blocks. */
static void csimi_nodal_copy(const csim_block_matrix *given, csim_block_matrix *A) {
    int i, j, k;
    for (i = 0; i < given->n; ++i) {
        k = given->row[i];
        if (A->row[i + 1] - A->row[i] == given->row[i + 1] - k) { /* no virtual node hangs on this row */
            CSIMI_MEMCPY(A->val + 9 * (size_t)A->row[i], given->val + 9 * (size_t)k,
                         9 * sizeof(csim_real) * (size_t)(given->row[i + 1] - k));
            continue;
        }
        for (j = A->row[i]; j < A->row[i + 1]; ++j) {
            if (k < given->row[i + 1] && given->col[k] == A->col[j])
                CSIMI_MEMCPY(A->val + 9 * (size_t)j, given->val + 9 * (size_t)k++, 9 * sizeof(csim_real));
            else
                CSIMI_MEMSET(A->val + 9 * (size_t)j, 0, 9 * sizeof(csim_real));
        }
    }
    j = A->row[given->n];
    CSIMI_MEMSET(A->val + 9 * (size_t)j, 0, 9 * sizeof(csim_real) * (size_t)(A->row[A->n] - j));
}

static csim_real *csimi_nodal_block(const csim_block_matrix *A, int i, int j) {
    const int k = csimi_pattern_find(A, i, j);
    CONDSIM_ASSERT(k >= 0);
    return A->val + 9 * (size_t)k;
}

/* Adds kappa |J_v v_o - v_v|^2 / 2 of one virtual node to the quadratic form of A. */
static void csimi_nodal_couple(const csim_problem *problem, const csimi_nodal *nodal, int n, int node) {
    const csim_block_matrix *A = &nodal->problem.A;
    const csim_side side = nodal->side[node];
    const csim_real kappa = nodal->kappa[node];
    csim_real product[9], *to, *back;
    int s, t, i;
    for (s = side.first; s < side.first + side.count; ++s) {
        const csim_term *a = problem->terms + s;
        for (t = side.first; t < side.first + side.count; ++t) {
            csimi_matTmul(a->J, problem->terms[t].J, product);
            to = csimi_nodal_block(A, a->block, problem->terms[t].block);
            for (i = 0; i < 9; ++i) to[i] += kappa * product[i];
        }
        to = csimi_nodal_block(A, a->block, n + node);
        back = csimi_nodal_block(A, n + node, a->block);
        for (i = 0; i < 9; ++i) {
            to[3 * (i % 3) + i / 3] -= kappa * a->J[i];
            back[i] -= kappa * a->J[i];
        }
    }
    to = A->val + 9 * (size_t)A->diag[n + node];
    for (i = 0; i < 3; ++i) to[4 * i] += kappa;
}

/* Without virtual nodes the given problem is nodal already; only the nodes are named. */
static void csimi_nodal_plain(const csim_problem *problem, csimi_nodal *nodal) {
    int m;
    for (m = 0; m < problem->contact_count; ++m) {
        const csim_contact *c = problem->contacts + m;
        nodal->node_a[m] = c->a.count ? problem->terms[c->a.first].block : -1;
        nodal->node_b[m] = c->b.count ? problem->terms[c->b.first].block : -1;
    }
}

static void csimi_nodal_contacts(const csim_problem *problem, const csimi_nodal_plan *plan, csim_real gain,
                                 csim_real kappa, const csim_real *share, bool shift, const csim_real *v,
                                 const csim_real *lambda0, csimi_nodal *nodal) {
    csim_contact *contacts = (csim_contact *)nodal->problem.contacts;
    int m;
    CSIMI_MEMCPY(contacts, problem->contacts, (size_t)problem->contact_count * sizeof *contacts);
    for (m = 0; m < problem->contact_count; ++m) {
        nodal->node_a[m] = csimi_nodal_side(problem, plan, m, 0, gain, kappa, share, shift, v, lambda0, nodal);
        nodal->node_b[m] = csimi_nodal_side(problem, plan, m, 1, gain, kappa, share, shift, v, lambda0, nodal);
        contacts[m].a = csimi_nodal_term(nodal, 2 * m, nodal->node_a[m]);
        contacts[m].b = csimi_nodal_term(nodal, 2 * m + 1, nodal->node_b[m]);
    }
    nodal->problem.term_count = 2 * problem->contact_count;
}

/* Everything that needs the plan's integers, which the caller then gives back. */
static void csimi_nodal_build(const csim_problem *problem, csimi_nodal_plan *plan, csim_real gain, csim_real kappa,
                              const csim_real *share, bool shift, const csim_real *v, const csim_real *lambda0,
                              csimi_nodal *nodal) {
    int i;
    nodal->virtual_count = 0;
    csimi_nodal_contacts(problem, plan, gain, kappa, share, shift, v, lambda0, nodal);
    csimi_nodal_pattern(problem, nodal, plan);
    csimi_nodal_copy(&problem->A, &nodal->problem.A);
    for (i = 0; i < nodal->virtual_count; ++i) csimi_nodal_couple(problem, nodal, plan->n, i);
    CSIMI_MEMCPY((csim_real *)nodal->problem.b, problem->b, 3 * (size_t)plan->n * sizeof(csim_real));
    CSIMI_MEMSET((csim_real *)nodal->problem.b + 3 * (size_t)plan->n, 0,
                 3 * (size_t)plan->virtual_count * sizeof(csim_real));
}

CSIMI_FN csim_status csimi_nodalize(const csim_problem *problem, csim_real gain, csim_real kappa,
                                    const csim_real *share, bool shift, const csim_real *v, const csim_real *lambda0,
                                    csimi_arena *arena, csimi_nodal *nodal) {
    csimi_nodal_plan plan;
    size_t mark = arena->used;
    CSIMI_MEMSET(&plan, 0, sizeof plan);
    CSIMI_MEMSET(nodal, 0, sizeof *nodal);
    nodal->problem = *problem;
    plan.claimed = CSIMI_PUSH(arena, int, problem->A.n);
    if (arena->overflow) return CSIM_CAPACITY;
    csimi_nodal_count(problem, &plan);
    csimi_pop(arena, mark); /* the layout comes first; claimed is made again above it */
    csimi_nodal_layout(arena, &plan, nodal);
    mark = arena->used;
    csimi_nodal_layout_scratch(arena, &plan);
    plan.claimed = CSIMI_PUSH(arena, int, problem->A.n);
    if (arena->overflow) return CSIM_CAPACITY;
    CSIMI_MEMCPY(nodal->start, v, 3 * (size_t)plan.n * sizeof(csim_real));
    if (plan.virtual_count) {
        int i;
        for (i = 0; i < plan.n; ++i) plan.claimed[i] = -1;
        csimi_nodal_build(problem, &plan, gain, kappa, share, shift, v, lambda0, nodal);
    } else {
        csimi_nodal_plain(problem, nodal);
    }
    csimi_pop(arena, mark);
    return CSIM_OK;
}
