/* solve/chain: cables inside COND. A cable of n links is as stiff as its shortest edge and as slow as its length, so no
   diagonal serves it; but its matrix is a chain of 6x6 blocks, solved exactly in O(n) (findings-cable-tree.md 5).

   At p = F(v), which lies on the face of its active contacts, the chain is solved on that face: nodes that stick stand,
   nodes that slip keep to their tangent plane. Friction follows the normal impulse, lambda_t = rho lambda_n with rho as
   the projection left it, by a combination of rows; across rho it turns with the direction of slip. That is the
   semismooth Newton step of the contact law, so two maps settle a step whose contacts stay what they are. Contacts held
   by virtual nodes enter through their compliance instead. */
#include "private.h"

CSIMI_FN int csimi_chains_links(const csim_structure *s) {
    return s && s->chain_count > 0 && s->chain_first && s->chain_block ? s->chain_first[s->chain_count] : 0;
}

CSIMI_FN void csimi_chains_layout(csimi_chains *c, csimi_arena *arena, int blocks, int contacts, int links) {
    c->links = links;
    if (!links) return;
    c->pivot = CSIMI_PUSH(arena, double, 36 * (size_t)links);
    c->cross = CSIMI_PUSH(arena, double, 36 * (size_t)links);
    c->x = CSIMI_PUSH(arena, double, 6 * (size_t)links);
    c->at = CSIMI_PUSH(arena, int, blocks);
    c->face = CSIMI_PUSH(arena, int, 2 * (size_t)links);
    c->faces = CSIMI_PUSH(arena, csimi_chain_face, contacts);
    c->force = CSIMI_PUSH(arena, csim_real, 3 * (size_t)blocks);
    c->lambda = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->gamma = CSIMI_PUSH(arena, csim_real, contacts);
    c->held = CSIMI_PUSH(arena, int, contacts);
}

CSIMI_FN void csimi_chains_bind(csimi_chains *c, const csim_problem *problem) {
    int i;
    c->structure = problem->structure;
    for (i = 0; i < problem->A.n; ++i) c->at[i] = -1;
    for (i = 0; i < 2 * c->links; ++i)
        if (c->structure->chain_block[i] >= 0) c->at[c->structure->chain_block[i]] = i;
}

/* ---- the matrix */

/* Where the 3x3 block of two 3-blocks of the chain stands: inside a link or between neighbours; null elsewhere and
   above the diagonal. */
static double *csimi_chains_place(const csimi_chains *c, int row, int col) {
    const int i = row / 2, j = col / 2;
    const size_t inner = 18 * (size_t)(row % 2) + 3 * (size_t)(col % 2);
    if (i == j) return c->pivot + 36 * (size_t)i + inner;
    return j == i - 1 ? c->cross + 36 * (size_t)i + inner : NULL;
}

static void csimi_chains_matrix(csimi_chains *c, const csim_block_matrix *A) {
    int i, k, r;
    CSIMI_MEMSET(c->pivot, 0, 36 * (size_t)c->links * sizeof(double));
    CSIMI_MEMSET(c->cross, 0, 36 * (size_t)c->links * sizeof(double));
    for (i = 0; i < 2 * c->links; ++i) {
        const int block = c->structure->chain_block[i];
        double *D = csimi_chains_place(c, i, i);
        c->face[i] = -1;
        for (r = 0; r < 3 && block < 0; ++r) D[7 * r] = 1; /* nothing there: stands still */
        for (k = block < 0 ? 0 : A->row[block]; block >= 0 && k < A->row[block + 1]; ++k) {
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
    const double l = csimi_sqrt64((double)(lambda[1] * lambda[1] + lambda[2] * lambda[2]));
    const double turn = t > 0 ? l / t : 0;
    return turn < 0.999 ? turn : 0.999;
}

/* Unit tangent across the slip, world axes; false when nothing slips. */
static bool csimi_chains_across(const csim_real *R, const csim_real *lambda, double *across) {
    const double l = csimi_sqrt64((double)(lambda[1] * lambda[1] + lambda[2] * lambda[2]));
    int i;
    if (!(l > 0)) return false;
    for (i = 0; i < 3; ++i) across[i] = ((double)(lambda[1] * R[6 + i]) - (double)(lambda[2] * R[3 + i])) / l;
    return true;
}

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
    const bool slips = rows == 1 && contact->law < CSIM_LAW_BILATERAL;
    double n[3], d[3], rho[3], across[3], size = 1;
    int i, k;
    for (i = 0; i < 9; ++i) face->right[i] = i % 4 == 0 ? 1 : 0;
    for (i = 0; i < 3; ++i) {
        n[i] = d[i] = (double)contact->R[i];
        rho[i] = slips ? (double)(l[1] * contact->R[3 + i] + l[2] * contact->R[6 + i]) / (double)l[0] : 0;
    }
    if (slips && law == CSIM_LAW_PROXIMAL) { /* the impulse lies on a ray, and what it forbids is motion along it */
        for (i = 0; i < 3; ++i) d[i] += rho[i];
        size = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        follow = false;
    }
    for (k = 0; k < 3; ++k) {
        double row[3];
        if (!(rows >> k & 1)) continue;
        for (i = 0; i < 3; ++i) row[i] = k ? (double)contact->R[3 * k + i] : d[i];
        csimi_chains_rank_one(face->right, 3, k ? -1 : -1 / size, row, row);
    }
    for (i = 0; i < 9; ++i) face->left[i] = face->right[i];
    if (slips && follow) csimi_chains_rank_one(face->left, 3, -1, rho, n);
    if (slips && csimi_chains_across(contact->R, l, across)) {
        const double turn = csimi_chains_turn(trial, l);
        csimi_chains_rank_one(csimi_chains_place(c, c->at[c->held[m]], c->at[c->held[m]]), 6,
                              turn / ((1 - turn) * (double)c->gamma[m]), across, across);
    }
    c->face[c->at[c->held[m]]] = m;
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
            if (!to) continue;
            for (i = 0; i < 9; ++i)
                for (KJ[i] = 0, k = 0; k < 3; ++k) KJ[i] += K[3 * (i / 3) + k] * (double)b->J[3 * k + i % 3];
            for (i = 0; i < 3; ++i)
                for (j = 0; j < 3; ++j)
                    for (e = 0; e < 3; ++e) to[6 * i + j] += (double)a->J[3 * e + i] * KJ[3 * e + j];
        }
}

static void csimi_chains_contacts(csimi_chains *c, const csim_problem *problem, const unsigned char *law,
                                  const csim_real *trial, bool follow) {
    int m;
    for (m = 0; m < problem->contact_count; ++m) {
        const csim_contact *contact = problem->contacts + m;
        const unsigned char rows = csimi_coarse_rows(contact, c->lambda + 3 * (size_t)m);
        double K[9];
        if (!rows) continue;
        if (c->held[m] >= 0 && contact->law != CSIM_LAW_INVERTIBLE) {
            if (c->at[c->held[m]] >= 0) csimi_chains_face(c, contact, law[m], rows, m, trial + 3 * (size_t)m, follow);
            continue;
        }
        csimi_chains_stiffness(c, contact, rows, m, trial + 3 * (size_t)m, K);
        csimi_chains_stiffen(c, problem, contact->a, K);
        csimi_chains_stiffen(c, problem, contact->b, K);
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

CSIMI_FN bool csimi_chains_correct(csimi_chains *c, const csim_problem *problem, const unsigned char *law,
                                   const csim_real *trial, bool follow, csim_real *p, const csim_tasks *tasks) {
    const csim_structure *s = c->structure;
    csimi_chain chain;
    int i, k;
    csimi_chains_imbalance(c, problem, p, tasks);
    csimi_chains_matrix(c, &problem->A);
    csimi_chains_contacts(c, problem, law, trial, follow);
    chain.pivot = c->pivot;
    chain.cross = c->cross;
    chain.face = c->face;
    chain.faces = c->faces;
    for (i = 0; i < 2 * c->links; ++i)
        for (k = 0; k < 3; ++k)
            c->x[3 * i + k] = s->chain_block[i] >= 0 ? (double)c->force[3 * s->chain_block[i] + k] : 0;
    for (i = 0; i < s->chain_count; ++i) {
        if (!csimi_chain_factor(&chain, s->chain_first[i], s->chain_first[i + 1])) return false;
        csimi_chain_solve(&chain, s->chain_first[i], s->chain_first[i + 1], c->x);
    }
    for (i = 0; i < 2 * c->links; ++i)
        for (k = 0; k < 3 && s->chain_block[i] >= 0; ++k) p[3 * s->chain_block[i] + k] += (csim_real)c->x[3 * i + k];
    return true;
}
