/* solve/chain: cables inside COND. A cable of n links is as stiff as its shortest edge and as slow as its length, so no
   diagonal serves it; but its matrix is a chain of 6x6 blocks, solved exactly in O(n).

   At p = F(v), which lies on the face of its active contacts, the chain is solved on that face: nodes that stick stand,
   nodes that slip keep to their tangent plane. Friction follows the normal impulse, lambda_t = rho lambda_n with rho as
   the projection left it, by a combination of rows; across rho it turns with the direction of slip. That is the
   semismooth Newton step of the contact law, so two maps settle a step whose contacts stay what they are. Contacts held
   by virtual nodes enter through their compliance instead; those between moving things, which couple chains, are
   solved with them by the matrix of their answers (Woodbury), one chain solve a row. */
#include "private.h"

#ifndef CONDSIM_NO_CABLE

/* Links of all cables together; 0: the problem names none, and this part is left out. */
CSIMI_FN int csimi_chains_links(const csim_structure *s) {
    return s && s->chain_count > 0 && s->chain_first && s->chain_block ? s->chain_first[s->chain_count] : 0;
}

CSIMI_FN void csimi_chains_layout(csimi_chains *c, csimi_arena *arena, int blocks, int contacts, int links) {
    c->links = links;
    if (!links) return;
    c->pivot = CSIMI_PUSH(arena, double, 36 * (size_t)links); /* a link: a node and the frame after it, 6 unknowns */
    c->cross = CSIMI_PUSH(arena, double, 36 * (size_t)links);
    c->x = CSIMI_PUSH(arena, double, 6 * (size_t)links);
    c->at = CSIMI_PUSH(arena, int, blocks);
    c->settled = CSIMI_PUSH(arena, unsigned char, blocks);
    c->face = CSIMI_PUSH(arena, int, 2 * (size_t)links);
    c->faces = CSIMI_PUSH(arena, csimi_chain_face, contacts);
    c->force = CSIMI_PUSH(arena, csim_real, 3 * (size_t)blocks);
    c->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->gamma = CSIMI_PUSH(arena, csim_real, contacts);
    c->give = CSIMI_PUSH(arena, csim_real, contacts);
    c->held = CSIMI_PUSH(arena, int, contacts);
    c->row = CSIMI_PUSH(arena, csimi_chain_row, CSIMI_CHAIN_ROWS); /* few: their matrix is dense */
    c->dense = CSIMI_PUSH(arena, double, CSIMI_CHAIN_ROWS *CSIMI_CHAIN_ROWS);
    c->answer = CSIMI_PUSH(arena, double, CSIMI_CHAIN_ROWS);
    c->pivoting = CSIMI_PUSH(arena, int, CSIMI_CHAIN_ROWS);
}

/* Whether blocks of a contact are all of chains or settled; with any, whether one of them is of a chain. */
static bool csimi_chains_hold(const csimi_chains *c, const csim_problem *problem, const csim_contact *contact,
                              bool any) {
    int side, k;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        for (k = s.first; k < s.first + s.count; ++k) {
            const int block = problem->terms[k].block;
            if (any ? c->at[block] >= 0 : c->at[block] < 0 && !c->settled[block]) return any;
        }
    }
    return !any;
}

/* A partner of chains is settled with them where A couples it with nothing and all its contacts are theirs. */
static void csimi_chains_settle(csimi_chains *c, const csim_problem *problem) {
    int i, m, side, k;
    /* a row of one block: the inverse of that block is all that A has to say of it */
    for (i = 0; i < problem->A.n; ++i)
        c->settled[i] = c->at[i] < 0 && csimi_row_end(&problem->A, i) - problem->A.row[i] == 1;
    for (m = 0; m < problem->contact_count; ++m) {
        if (csimi_chains_hold(c, problem, problem->contacts + m, true)) continue; /* a cable is in it */
        /* it touches no cable: the chain solve does not see what it does to its blocks */
        for (side = 0; side < 2; ++side) {
            const csim_side s = side ? problem->contacts[m].b : problem->contacts[m].a;
            for (k = s.first; k < s.first + s.count; ++k) c->settled[problem->terms[k].block] = 0;
        }
    }
}

CSIMI_FN void csimi_chains_bind(csimi_chains *c, const csim_problem *problem) {
    int i;
    c->structure = problem->structure;
    for (i = 0; i < problem->A.n; ++i) c->at[i] = -1;
    for (i = 0; i < 2 * c->links; ++i)
        if (c->structure->chain_block[i] >= 0) c->at[c->structure->chain_block[i]] = i;
    csimi_chains_settle(c, problem);
}

/* ---- the matrix */

/* Where the 3x3 block of two 3-blocks of the chain stands: inside a link or between neighbours; null elsewhere and
   above the diagonal. */
static double *csimi_chains_place(const csimi_chains *c, int row, int col) {
    const int i = row / 2, j = col / 2;
    const size_t inner = 18 * (size_t)(row % 2) + 3 * (size_t)(col % 2);
    if (i == j) return c->pivot + 36 * (size_t)i + inner;
    return j == i - 1 ? c->cross + 36 * (size_t)i + inner : NULL; /* (i - 1, i) is its transpose */
}

/* The blocks of A on the chains; what A couples beyond neighbouring links is left to the iteration. */
static void csimi_chains_matrix(csimi_chains *c, const csim_block_matrix *A) {
    int i, k, r;
    CSIMI_MEMSET(c->pivot, 0, 36 * (size_t)c->links * sizeof(double)); /* the last factor has overwritten it */
    CSIMI_MEMSET(c->cross, 0, 36 * (size_t)c->links * sizeof(double));
    for (i = 0; i < 2 * c->links; ++i) {
        const int block = c->structure->chain_block[i];
        double *D = csimi_chains_place(c, i, i);
        c->face[i] = -1; /* free, until a contact presses it onto a face */
        for (r = 0; r < 3 && block < 0; ++r) D[7 * r] = 1; /* nothing there: stands still */
        for (k = block < 0 ? 0 : A->row[block]; block >= 0 && k < csimi_row_end(A, block); ++k) {
            const int other = c->at[A->col[k]];
            double *to = other < 0 ? NULL : csimi_chains_place(c, i, other);
            for (r = 0; to && r < 9; ++r) to[6 * (r / 3) + r % 3] = (double)A->val[9 * (size_t)k + (size_t)r];
        }
    }
}

/* ---- contacts */

/* Share of a trial friction impulse that the projection let pass; below 1. */
static double csimi_chains_turn(const csim_real *trial, const csim_real *lambda) {
    const double t = csimi_sqrt64((double)(trial[1] * trial[1] + trial[2] * trial[2]));
    const double l = csimi_sqrt64((double)(lambda[1] * lambda[1] + lambda[2] * lambda[2])), turn = t > 0 ? l / t : 0;
    return turn < 0.999 ? turn : 0.999; /* 1 would make the stiffness turn / (1 - turn) infinite */
}

/* Unit tangent across the slip, world axes; false when nothing slips. */
static bool csimi_chains_across(const csim_real *R, const csim_real *lambda, double *across) {
    const double l = csimi_sqrt64((double)(lambda[1] * lambda[1] + lambda[2] * lambda[2]));
    int i;
    if (!(l > 0)) return false;
    /* n x lambda_t, of length one */
    for (i = 0; i < 3; ++i) across[i] = ((double)(lambda[1] * R[6 + i]) - (double)(lambda[2] * R[3 + i])) / l;
    return true;
}

/* D += scale a b', 3x3 inside rows of `stride`. */
static void csimi_chains_rank_one(double *D, int stride, double scale, const double *a, const double *b) {
    int i, j;
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 3; ++j) D[stride * i + j] += scale * a[i] * b[j];
}

/* The face of a node under one contact: right keeps the directions it may move in, left adds the friction that follows
   the normal impulse, left = right (1 - rho n'). */
static void csimi_chains_face(csimi_chains *c, const csim_contact *contact, int law, unsigned char rows, int m,
                              const csim_real *trial, bool follow) {
    csimi_chain_face *face = c->faces + m;
    const csim_real *l = c->lambda + 3 * (size_t)m;
    /* held by its normal alone: friction is at its bound, or there is none */
    const bool slips = rows == 1 && contact->law < CSIM_LAW_BILATERAL;
    double n[3], d[3], rho[3], across[3], size = 1;
    int i, k;
    for (i = 0; i < 9; ++i) face->right[i] = i % 4 == 0 ? 1 : 0;
    /* rho = lambda_t / lambda_n, world axes */
    for (i = 0; i < 3; ++i) {
        n[i] = d[i] = (double)contact->R[i];
        rho[i] = slips ? (double)(l[1] * contact->R[3 + i] + l[2] * contact->R[6 + i]) / (double)l[0] : 0;
    }
    if (slips && law == CSIM_LAW_PROXIMAL) { /* the impulse lies on a ray, and what it forbids is motion along it */
        for (i = 0; i < 3; ++i) d[i] += rho[i];
        size = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        follow = false; /* one direction is pushed along and held: left = right */
    }
    for (k = 0; k < 3; ++k) {
        double row[3];
        if (!(rows >> k & 1)) continue; /* bit k: row k is held */
        for (i = 0; i < 3; ++i) row[i] = k ? (double)contact->R[3 * k + i] : d[i];
        csimi_chains_rank_one(face->right, 3, k ? -1 : -1 / size, row, row);
    }
    for (i = 0; i < 9; ++i) face->left[i] = face->right[i];
    if (slips && follow) csimi_chains_rank_one(face->left, 3, -1, rho, n); /* right rho is rho, which is tangential */
    /* u holds the impulse's own effect gamma lambda, so lambda = turn (lambda - u / gamma) across the slip */
    if (slips && csimi_chains_across(contact->R, l, across)) {
        const double turn = csimi_chains_turn(trial, l);
        csimi_chains_rank_one(csimi_chains_place(c, c->at[c->held[m]], c->at[c->held[m]]), 6,
                              turn / ((1 - turn) * (double)c->gamma[m]), across, across);
    }
    c->face[c->at[c->held[m]]] = m; /* one contact at most claims a node, nodalize.c */
}

/* Stiffness R'D R of a contact that is held through its compliance, without the unsymmetric part. */
static void csimi_chains_stiffness(const csimi_chains *c, const csim_contact *contact, unsigned char rows, int m,
                                   const csim_real *trial, double *K) {
    const csim_real *l = c->lambda + 3 * (size_t)m;
    double scale = 1 / (double)c->gamma[m], row[3], across[3];
    int i, k;
    for (i = 0; i < 9; ++i) K[i] = 0;
    for (k = 0; k < 3; ++k) {
        if (!(rows >> k & 1)) continue;
        /* a node held directly: its impulse follows from its velocity through omega alone */
        if (contact->law == CSIM_LAW_INVERTIBLE)
            scale = 1 / ((c->held[m] >= 0 ? 0 : (double)c->gamma[m]) + (double)contact->omega[k ? 1 : 0]);
        for (i = 0; i < 3; ++i) row[i] = (double)contact->R[3 * k + i];
        csimi_chains_rank_one(K, 3, scale, row, row);
    }
    if (rows == 1 && contact->law < CSIM_LAW_BILATERAL && csimi_chains_across(contact->R, l, across))
        csimi_chains_rank_one(K, 3, scale * csimi_chains_turn(trial, l), across, across);
}

/* Adds Ja'K Jb of the terms that a side has in one chain. The other side is taken to stand still. */
static void csimi_chains_stiffen(csimi_chains *c, const csim_problem *problem, csim_side side, const double *K) {
    int p, q, i, j, k, e;
    for (p = side.first; p < side.first + side.count; ++p)
        for (q = side.first; q < side.first + side.count; ++q) {
            const csim_term *a = problem->terms + p, *b = problem->terms + q;
            const int row = c->at[a->block], col = c->at[b->block];
            double *to = row < 0 || col < 0 ? NULL : csimi_chains_place(c, row, col), KJ[9];
            if (!to) continue; /* above the diagonal, or no neighbours */
            for (i = 0; i < 9; ++i)
                for (KJ[i] = 0, k = 0; k < 3; ++k) KJ[i] += K[3 * (i / 3) + k] * (double)b->J[3 * k + i % 3];
            for (i = 0; i < 3; ++i)
                for (j = 0; j < 3; ++j)
                    for (e = 0; e < 3; ++e) to[6 * i + j] += (double)a->J[3 * e + i] * KJ[3 * e + j];
        }
}

/* ---- contacts between moving things */

/* One more row; the caller has seen to it that there is room for the three a contact takes at most. */
static csimi_chain_row *csimi_chains_row(csimi_chains *c, int m, int axis, double compliance) {
    csimi_chain_row *row = c->row + c->rows++;
    row->contact = m;
    row->axis = axis;
    row->compliance = compliance;
    return row;
}

/* Rows of contact m: what it holds, and the turning of friction across the slip. */
static void csimi_chains_rows(csimi_chains *c, const csim_contact *contact, unsigned char rows, int m,
                              const csim_real *trial, bool follow) {
    const csim_real *l = c->lambda + 3 * (size_t)m;
    const bool slips = rows == 1 && contact->law < CSIM_LAW_BILATERAL;
    const double turn = csimi_chains_turn(trial, l), gamma = (double)c->give[m];
    double across[3];
    int i, k;
    for (k = 0; k < 3; ++k) {
        csimi_chain_row *row;
        /* bit k: row k is held */
        if (!(rows >> k & 1)) continue;
        row = csimi_chains_row(c, m, k,
                               gamma + (contact->law == CSIM_LAW_INVERTIBLE ? (double)contact->omega[k ? 1 : 0] : 0));
        for (i = 0; i < 3; ++i) {
            row->in[i] = row->out[i] = (double)contact->R[3 * k + i];
            if (slips && follow) /* a push along the normal brings its friction along */
                row->out[i] += (double)(l[1] * contact->R[3 + i] + l[2] * contact->R[6 + i]) / (double)l[0];
        }
    }
    /* below it the row, of compliance gamma / turn, would hold next to nothing */
    if (slips && turn > 1e-3 && csimi_chains_across(contact->R, l, across)) {
        csimi_chain_row *row = csimi_chains_row(c, m, -1, (double)c->gamma[m] / turn);
        for (i = 0; i < 3; ++i) row->in[i] = row->out[i] = across[i];
    }
}

/* A^-1 of a block outside the chains as far as its diagonal tells; false: none. */
static bool csimi_chains_mobility(const csim_problem *problem, int block, csim_real *inverse) {
    return csimi_inverse3(problem->A.val + 9 * (size_t)problem->A.diag[block], inverse);
}

/* Adds scale times the impulse of a row to the right-hand side x of the chains, and its effect on other blocks to v. */
static void csimi_chains_scatter(csimi_chains *c, const csim_problem *problem, const csimi_chain_row *row, double scale,
                                 csim_real *v) {
    const csim_contact *contact = problem->contacts + row->contact;
    int side, k, i, e;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a; /* side b gets the reaction */
        for (k = s.first; k < s.first + s.count; ++k) {
            const csim_term *t = problem->terms + k;
            const int at = c->at[t->block];
            csim_real impulse[3], inverse[9];
            for (i = 0; i < 3; ++i) {
                double sum = 0;
                for (e = 0; e < 3; ++e) sum += (double)t->J[3 * e + i] * row->out[e];
                impulse[i] = (csim_real)((side ? -scale : scale) * sum);
                if (at >= 0) c->x[3 * at + i] += (double)impulse[i];
            }
            if (at < 0 && csimi_chains_mobility(problem, t->block, inverse)) /* no chain: moves at once */
                csimi_addmul3(inverse, impulse, v + 3 * (size_t)t->block);
        }
    }
}

/* Velocity of a row under v. */
static double csimi_chains_gather(const csim_problem *problem, const csimi_chain_row *row, const csim_real *v) {
    const csim_contact *contact = problem->contacts + row->contact;
    double sum = 0;
    int side, k, i;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        for (k = s.first; k < s.first + s.count; ++k) {
            csim_real u[3] = {0, 0, 0};
            csimi_addmul3(problem->terms[k].J, v + 3 * (size_t)problem->terms[k].block, u);
            for (i = 0; i < 3; ++i) sum += (side ? -1 : 1) * row->in[i] * (double)u[i];
        }
    }
    return sum;
}

/* Every chain by itself: x is its load, then its answer. */
static void csimi_chains_solve(const csimi_chains *c, const csimi_chain *chain) {
    int i;
    for (i = 0; i < c->structure->chain_count; ++i)
        csimi_chain_solve(chain, c->structure->chain_first[i], c->structure->chain_first[i + 1], c->x);
}

/* The solution x on the blocks of the chains, added to v. */
static void csimi_chains_spread(const csimi_chains *c, csim_real *v) {
    int i, k;
    for (i = 0; i < 2 * c->links; ++i) {
        const int block = c->structure->chain_block[i];
        for (k = 0; k < 3 && block >= 0; ++k) v[3 * block + k] += (csim_real)c->x[3 * i + k];
    }
}

/* Impulses of the rows for which p, moved by them, obeys the rows: answer. x holds what has moved p already. */
static bool csimi_chains_couple(csimi_chains *c, const csim_problem *problem, const csim_contact *nodal,
                                const csimi_chain *chain, const csim_real *p) {
    const size_t bytes = 3 * (size_t)problem->A.n * sizeof *c->force;
    const int m = c->rows;
    int i, j;
    CSIMI_MEMSET(c->force, 0, bytes);
    csimi_chains_spread(c, c->force); /* how far the chains have moved since p */
    for (i = 0; i < m; ++i) {
        const csimi_chain_row *row = c->row + i;
        const int k = 3 * row->contact + row->axis;
        if (row->axis < 0) /* across the slip: what p does there has its friction already */
            c->answer[i] = -csimi_chains_gather(problem, row, c->force);
        else /* u + phi + compliance (lambda + change) = 0; p has lambda already */
            c->answer[i] = -csimi_chains_gather(problem, row, p) - (double)nodal[row->contact].phi[row->axis] -
                           row->compliance * (double)c->lambda[k];
    }
    for (j = 0; j < m; ++j) { /* column j: what a unit of row j does to all rows */
        CSIMI_MEMSET(c->x, 0, 6 * (size_t)c->links * sizeof *c->x);
        CSIMI_MEMSET(c->force, 0, bytes);
        csimi_chains_scatter(c, problem, c->row + j, 1, c->force);
        csimi_chains_solve(c, chain);
        csimi_chains_spread(c, c->force);
        for (i = 0; i < m; ++i) c->dense[i * m + j] = csimi_chains_gather(problem, c->row + i, c->force);
        c->dense[j * m + j] += c->row[j].compliance;
    }
    if (!csimi_lu(m, c->dense, c->pivoting)) return false; /* unsymmetric where friction follows */
    csimi_lu_solve(m, c->dense, c->pivoting, c->answer);
    return true;
}

/* What each contact is to the chains: a face of its node, rows to be solved with them, or a stiffness. */
static void csimi_chains_contacts(csimi_chains *c, const csim_problem *problem, const unsigned char *law,
                                  const csim_real *trial, bool follow) {
    int m;
    c->rows = 0;
    for (m = 0; m < problem->contact_count; ++m) {
        const csim_contact *contact = problem->contacts + m;
        const unsigned char rows = csimi_coarse_rows(contact, c->lambda + 3 * (size_t)m);
        double K[9];
        if (!rows) continue; /* open */
        if (c->held[m] >= 0 && contact->law != CSIM_LAW_INVERTIBLE) {
            if (c->at[c->held[m]] >= 0) csimi_chains_face(c, contact, law[m], rows, m, trial + 3 * (size_t)m, follow);
            continue;
        }
        /* both sides move: a stiffness would take the other one to stand still */
        if (contact->a.count && contact->b.count && c->rows + 3 <= CSIMI_CHAIN_ROWS &&
            csimi_chains_hold(c, problem, contact, false)) {
            csimi_chains_rows(c, contact, rows, m, trial + 3 * (size_t)m, follow);
            continue;
        }
        csimi_chains_stiffness(c, contact, rows, m, trial + 3 * (size_t)m, K);
        csimi_chains_stiffen(c, problem, contact->a, K);
        csimi_chains_stiffen(c, problem, contact->b, K); /* joins no chains: each side by itself */
    }
}

/* ---- the correction */

/* force = b + J'lambda - A p on the blocks of chains. */
static void csimi_chains_imbalance(csimi_chains *c, const csim_problem *problem, const csim_real *p,
                                   const csim_tasks *tasks) {
    int m, side, k, i;
    csimi_product(&problem->A, p, c->force, tasks);
    for (i = 0; i < 3 * problem->A.n; ++i) c->force[i] = problem->b[i] - c->force[i];
    for (m = 0; m < problem->contact_count; ++m) {
        csim_real impulse[3] = {0, 0, 0};
        csimi_addmulT3(problem->contacts[m].R, c->lambda + 3 * (size_t)m, impulse);
        for (side = 0; side < 2; ++side) {
            const csim_side s = side ? problem->contacts[m].b : problem->contacts[m].a;
            for (i = 0; i < 3 && side; ++i) impulse[i] = -impulse[i];
            for (k = s.first; k < s.first + s.count; ++k)
                csimi_addmulT3(problem->terms[k].J, impulse, c->force + 3 * (size_t)problem->terms[k].block);
        }
    }
}

/* x = force on the blocks of the chains */
static void csimi_chains_load(csimi_chains *c) {
    int i, k;
    for (i = 0; i < 2 * c->links; ++i) {
        const int block = c->structure->chain_block[i];
        for (k = 0; k < 3; ++k) c->x[3 * i + k] = block >= 0 ? (double)c->force[3 * block + k] : 0;
    }
}

/* Settled partners (rigid bodies, particles, slides) are solved like the chains: the rows of contacts between them and
   a cable take them for settled. Others stand still meanwhile, and the coarse correction moves them. */
static void csimi_chains_partners(const csimi_chains *c, const csim_problem *problem, csim_real *p) {
    int i;
    for (i = 0; i < problem->A.n; ++i) {
        csim_real inverse[9];
        if (c->settled[i] && csimi_chains_mobility(problem, i, inverse))
            csimi_addmul3(inverse, c->force + 3 * (size_t)i, p + 3 * (size_t)i);
    }
}

CSIMI_FN bool csimi_chains_correct(csimi_chains *c, const csim_problem *problem, const csim_contact *nodal,
                                   const unsigned char *law, const csim_real *trial, bool follow, csim_real *p,
                                   const csim_tasks *tasks) {
    const csim_structure *s = c->structure;
    csimi_chain chain;
    int i;
    csimi_chains_imbalance(c, problem, p, tasks);
    csimi_chains_matrix(c, &problem->A);
    csimi_chains_contacts(c, problem, law, trial, follow); /* adds to the matrix */
    chain.pivot = c->pivot;
    chain.cross = c->cross;
    chain.face = c->face;
    chain.faces = c->faces;
    csimi_chains_load(c);
    for (i = 0; i < s->chain_count; ++i)
        if (!csimi_chain_factor(&chain, s->chain_first[i], s->chain_first[i + 1])) return false;
    csimi_chains_partners(c, problem, p);
    csimi_chains_solve(c, &chain);
    csimi_chains_spread(c, p);
    /* a singular matrix of answers leaves the rows to the iteration */
    if (!c->rows || !csimi_chains_couple(c, problem, nodal, &chain, p)) return true;
    CSIMI_MEMSET(c->x, 0, 6 * (size_t)c->links * sizeof *c->x);
    /* loads the chains with the answers, and moves what is no chain at once */
    for (i = 0; i < c->rows; ++i) csimi_chains_scatter(c, problem, c->row + i, c->answer[i], p);
    csimi_chains_solve(c, &chain);
    csimi_chains_spread(c, p);
    return true;
}
#endif
