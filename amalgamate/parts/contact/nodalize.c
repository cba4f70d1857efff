/* contact/nodalize: virtual nodes: with a diagonal W every contact is a scalar's (COND paper III-A). */
#include "private.h"

enum { CSIMI_NODAL_GRAIN = 256 }; /* rows and couplings to a task */

static void csimi_nodal_layout(csimi_arena *arena, int blocks, int contacts, int sides, int terms, csimi_nodal *nodal) {
    const size_t n = (size_t)blocks + (size_t)sides;
    nodal->node_a = CSIMI_PUSH(arena, int, contacts);
    nodal->node_b = CSIMI_PUSH(arena, int, contacts);
    nodal->start = CSIMI_PUSH(arena, csim_real, 3 * n);
    if (!sides) return; /* the given right side and contacts serve as they are */
    nodal->problem.b = CSIMI_PUSH(arena, csim_real, 3 * n);
    nodal->problem.contacts = CSIMI_PUSH(arena, csim_contact, contacts);
    nodal->side = CSIMI_PUSH(arena, csim_side, sides);
    nodal->kappa = CSIMI_PUSH(arena, csim_real, sides);
    nodal->begin = CSIMI_PUSH(arena, int, sides);
    nodal->first = CSIMI_PUSH(arena, int, (size_t)blocks + 1);
    nodal->hung = CSIMI_PUSH(arena, csimi_hung, terms);
    nodal->pull = CSIMI_PUSH(arena, csim_real, 3 * (size_t)terms);
}

CSIMI_FN void csimi_nodal_reserve(csimi_arena *arena, int blocks, int contacts, int terms) {
    csimi_nodal nodal;
    size_t mark;
    csimi_nodal_layout(arena, blocks, contacts, csimi_imin(2 * contacts, terms), terms, &nodal);
    mark = arena->used;
    (void)CSIMI_PUSH(arena, int, blocks);
    csimi_pop(arena, mark);
}

static csim_side csimi_nodal_given(const csim_contact *contact, int side) { return side ? contact->b : contact->a; }

/* True when the side needs a virtual node: unless it is one block with the identity, a node, which the first contact on
   it claims. */
static bool csimi_nodal_is_virtual(const csim_problem *problem, csim_side side, int tag, int *claimed) {
    int block;
    if (!side.count) return false;
    if (side.count != 1 || !csimi_is_identity(problem->terms[side.first].J)) return true;
    block = problem->terms[side.first].block;
    if (claimed[block] < 0) claimed[block] = tag;
    return claimed[block] != tag;
}

/* Virtual nodes, and the terms of their sides. */
static void csimi_nodal_count(const csim_problem *problem, int *claimed, int *sides, int *terms) {
    int m, k;
    *sides = *terms = 0;
    for (m = 0; m < problem->A.n; ++m) claimed[m] = -1;
    for (m = 0; m < problem->contact_count; ++m)
        for (k = 0; k < 2; ++k) {
            const csim_side side = csimi_nodal_given(problem->contacts + m, k);
            if (!csimi_nodal_is_virtual(problem, side, 2 * m + k, claimed)) continue;
            *sides += 1;
            *terms += side.count;
        }
}

/* 1 / m_eff of a side. One that moves with nothing (J = 0) counts as its first block. */
static csimi_wide csimi_nodal_mobility(const csim_problem *problem, csim_side side, csim_real mass) {
    const csimi_wide mobility = csimi_side_mobility(problem, &side, mass);
    if (mobility > 0 || !side.count) return mobility;
    return 3 / (csimi_wide)csimi_block_trace(&problem->A, problem->terms[side.first].block);
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
    return (csim_real)(1 / (csimi_nodal_mobility(problem, contact->a, contact->mass[0]) +
                            csimi_nodal_mobility(problem, contact->b, contact->mass[1])));
}

/* Node or virtual node of one side; makes the virtual node's kappa, start velocity and shift. */
static int csimi_nodal_side(const csim_problem *problem, int *claimed, int m, int k, csim_real gain,
                            csim_real kappa, const csim_real *share, bool shift, const csim_real *v,
                            const csim_real *lambda0, csimi_nodal *nodal) {
    csim_contact *contact = (csim_contact *)nodal->problem.contacts + m;
    const csim_side side = csimi_nodal_given(problem->contacts + m, k);
    const csim_real *l = lambda0 + 3 * (size_t)m;
    csim_real impulse[3] = {0, 0, 0}, *start;
    int i, node;
    if (!side.count) return -1;
    if (!csimi_nodal_is_virtual(problem, side, 2 * m + k, claimed)) return problem->terms[side.first].block;
    if (!(contact->mass[k] > 0)) contact->mass[k] = (csim_real)(1 / csimi_nodal_mobility(problem, side, 0));
    node = nodal->virtual_count++;
    nodal->side[node] = side;
    nodal->begin[node] = node ? nodal->begin[node - 1] + nodal->side[node - 1].count : 0;
    if (!(kappa > 0)) kappa = gain * csimi_nodal_contact_mass(problem, problem->contacts + m);
    if (share) kappa *= share[m];
    nodal->kappa[node] = kappa;
    for (i = 0; shift && i < 3; ++i) contact->phi[i] -= l[i] / kappa;
    start = nodal->start + 3 * (size_t)(problem->A.n + node);
    csimi_nodal_velocity(problem, side, v, start);
    csimi_addmulT3(contact->R, l, impulse);
    for (i = 0; i < 3; ++i) start[i] += (k ? -impulse[i] : impulse[i]) / kappa;
    return problem->A.n + node;
}

/* What hangs on each block: sorted by blocks, in the order of the virtual nodes. */
static void csimi_nodal_hang(csimi_nodal *nodal) {
    const int n = nodal->problem.A.n;
    int *first = nodal->first, i, k;
    CSIMI_MEMSET(first, 0, ((size_t)n + 1) * sizeof(int));
    for (i = 0; i < nodal->virtual_count; ++i)
        for (k = 0; k < nodal->side[i].count; ++k) ++first[nodal->problem.terms[nodal->side[i].first + k].block];
    for (i = 1; i <= n; ++i) first[i] += first[i - 1]; /* ends, which become starts from behind */
    for (i = nodal->virtual_count - 1; i >= 0; --i)
        for (k = nodal->side[i].count - 1; k >= 0; --k) {
            csimi_hung *to = nodal->hung + --first[nodal->problem.terms[nodal->side[i].first + k].block];
            to->node = i;
            to->at = nodal->begin[i] + k;
        }
}

CSIMI_FN csim_status csimi_nodalize(const csim_problem *problem, csim_real gain, csim_real kappa,
                                    const csim_real *share, bool shift, const csim_real *v, const csim_real *lambda0,
                                    csimi_arena *arena, csimi_nodal *nodal) {
    const int n = problem->A.n;
    size_t mark = arena->used;
    int *claimed = CSIMI_PUSH(arena, int, n), sides, terms, i, m;
    CSIMI_MEMSET(nodal, 0, sizeof *nodal);
    nodal->problem = *problem;
    if (arena->overflow) return CSIM_CAPACITY;
    csimi_nodal_count(problem, claimed, &sides, &terms);
    csimi_pop(arena, mark); /* the layout comes first; claimed is made again above it */
    csimi_nodal_layout(arena, n, problem->contact_count, sides, terms, nodal);
    mark = arena->used;
    claimed = CSIMI_PUSH(arena, int, n);
    if (arena->overflow) return CSIM_CAPACITY;
    nodal->count = n + sides;
    CSIMI_MEMCPY(nodal->start, v, 3 * (size_t)n * sizeof *v);
    if (sides) { /* else the given problem is nodal already: only the nodes are named */
        csim_real *b = (csim_real *)nodal->problem.b;
        CSIMI_MEMCPY(b, problem->b, 3 * (size_t)n * sizeof *b);
        CSIMI_MEMSET(b + 3 * (size_t)n, 0, 3 * (size_t)sides * sizeof *b);
        CSIMI_MEMCPY((csim_contact *)nodal->problem.contacts, problem->contacts,
                     (size_t)problem->contact_count * sizeof *problem->contacts);
    }
    for (i = 0; i < n; ++i) claimed[i] = -1;
    for (m = 0; m < problem->contact_count; ++m) {
        nodal->node_a[m] = csimi_nodal_side(problem, claimed, m, 0, gain, kappa, share, shift, v, lambda0, nodal);
        nodal->node_b[m] = csimi_nodal_side(problem, claimed, m, 1, gain, kappa, share, shift, v, lambda0, nodal);
    }
    if (sides) csimi_nodal_hang(nodal);
    csimi_pop(arena, mark);
    return CSIM_OK;
}

/* ---- products. Each coupling pulls its virtual node and the blocks that it hangs on; what pulls a block is added up
   in one order, whoever computes it. */

static void csimi_nodal_pull(const csimi_nodal *nodal, const csim_real *x, csim_real *y, int begin, int end) {
    const csim_problem *p = &nodal->problem;
    int i, k;
    for (i = begin; i < end; ++i) {
        const csim_term *term = p->terms + nodal->side[i].first;
        const csim_real kappa = nodal->kappa[i], *own = x + 3 * (size_t)(p->A.n + i);
        csim_real *to = y + 3 * (size_t)(p->A.n + i), *pull = nodal->pull + 3 * (size_t)nodal->begin[i];
        csim_real r0 = 0, r1 = 0, r2 = 0;
        for (k = 0; k < nodal->side[i].count; ++k) {
            const csim_real *J = term[k].J, *from = x + 3 * (size_t)term[k].block;
            r0 += J[0] * from[0] + J[1] * from[1] + J[2] * from[2];
            r1 += J[3] * from[0] + J[4] * from[1] + J[5] * from[2];
            r2 += J[6] * from[0] + J[7] * from[1] + J[8] * from[2];
        }
        r0 = kappa * (r0 - own[0]), r1 = kappa * (r1 - own[1]), r2 = kappa * (r2 - own[2]);
        to[0] = -r0, to[1] = -r1, to[2] = -r2;
        for (k = 0; k < nodal->side[i].count; ++k, pull += 3) {
            const csim_real *J = term[k].J;
            pull[0] = J[0] * r0 + J[3] * r1 + J[6] * r2;
            pull[1] = J[1] * r0 + J[4] * r1 + J[7] * r2;
            pull[2] = J[2] * r0 + J[5] * r1 + J[8] * r2;
        }
    }
}

CSIMI_FN void csimi_nodal_rows(const csimi_nodal *nodal, const csim_real *x, csim_real *y, int begin, int end) {
    int i, k;
    end = csimi_imin(end, nodal->problem.A.n);
    csimi_product_rows(&nodal->problem.A, x, y, begin, end);
    for (i = begin; nodal->virtual_count && i < end; ++i)
        for (k = nodal->first[i]; k < nodal->first[i + 1]; ++k) {
            const csim_real *pull = nodal->pull + 3 * (size_t)nodal->hung[k].at;
            y[3 * i] += pull[0], y[3 * i + 1] += pull[1], y[3 * i + 2] += pull[2];
        }
}

typedef struct csimi_nodal_job {
    const csimi_nodal *nodal;
    const csim_real *x;
    csim_real *y;
    void (*run)(const csimi_nodal *nodal, const csim_real *x, csim_real *y, int begin, int end);
} csimi_nodal_job;

static void csimi_nodal_range(void *context, int begin, int end) {
    const csimi_nodal_job *job = (const csimi_nodal_job *)context;
    job->run(job->nodal, job->x, job->y, begin, end);
}

CSIMI_FN void csimi_nodal_product(const csimi_nodal *nodal, const csim_real *x, csim_real *y, bool rows,
                                  const csim_tasks *tasks) {
    csimi_nodal_job job;
    job.nodal = nodal, job.x = x, job.y = y, job.run = csimi_nodal_pull;
    if (nodal->virtual_count) csimi_parallel(tasks, nodal->virtual_count, CSIMI_NODAL_GRAIN, csimi_nodal_range, &job);
    job.run = csimi_nodal_rows;
    if (rows) csimi_parallel(tasks, nodal->problem.A.n, CSIMI_NODAL_GRAIN, csimi_nodal_range, &job);
}
