/* solve/coarse: the rigid modes of aggregates as a second, small space.

   An aggregate moves with velocity t and angular velocity w about its centre: Z_i (t, w) = t + w x o_i for a point at
   offset o_i, w for the angular block of a rigid body. A virtual node follows its side, J_v Z, so that its coupling
   costs nothing in Z'AZ and cancels from it: H0 is made of the given problem's A, whatever the gain. A group of
   aggregates has 6 unknowns y = (velocity, angular velocity times radius); as a rule one aggregate is one group. */
#include "private.h"

enum {
    CSIMI_COARSE_SIDES = 16,  /* aggregates one contact may touch */
    CSIMI_COARSE_HALVINGS = 12 /* of a Newton step */
};

CSIMI_FN void csimi_coarse_layout(csimi_coarse *c, csimi_arena *arena, int blocks, int contacts, int aggregates) {
    const size_t groups = (size_t)csimi_imin(aggregates, CSIMI_COARSE_GROUPS), m = 6 * groups;
    c->aggregates = aggregates;
    c->groups = (int)groups;
    c->first = CSIMI_PUSH(arena, int, (size_t)aggregates + 1);
    c->member = CSIMI_PUSH(arena, int, blocks);
    c->group = CSIMI_PUSH(arena, int, aggregates);
    c->group_first = CSIMI_PUSH(arena, int, groups + 1);
    c->group_member = CSIMI_PUSH(arena, int, aggregates);
    c->arm = CSIMI_PUSH(arena, csim_real, 3 * (size_t)aggregates);
    c->radius = CSIMI_PUSH(arena, csim_real, groups);
    c->motion = CSIMI_PUSH(arena, double, 6 * (size_t)aggregates);
    c->slot = CSIMI_PUSH(arena, int, aggregates);
    c->jacobian = CSIMI_PUSH(arena, double, 18 * CSIMI_COARSE_SIDES);
    c->y = CSIMI_PUSH(arena, double, m);
    c->g = CSIMI_PUSH(arena, double, m);
    c->change = CSIMI_PUSH(arena, double, m);
    c->step = CSIMI_PUSH(arena, double, m);
    c->pivot = CSIMI_PUSH(arena, int, m); /* row exchanges of Newton's unsymmetric factor */
    c->reach = CSIMI_PUSH(arena, int, 2 * m);
    c->trial = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->delta = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    c->H0 = CSIMI_PUSH(arena, double, 18 * groups * (groups + 1)); /* 36 g (g + 1) / 2: its lower blocks */
    c->factor = CSIMI_PUSH(arena, double, m *m);
    c->closed = CSIMI_PUSH(arena, unsigned char, contacts);
    c->used = CSIMI_PUSH(arena, unsigned char, contacts);
}

/* ---- groups */

/* Interleaved bits of a position inside its bounding box: neighbours in the order are neighbours in space. */
static uint32_t csimi_coarse_key(const csim_real *x, const csim_real *lo, csim_real scale) {
    uint32_t key = 0, cell[3];
    int i, bit;
    for (i = 0; i < 3; ++i) cell[i] = (uint32_t)csimi_cut((x[i] - lo[i]) * scale * CSIM_R(1023.0), 0, 1023);
    for (bit = 9; bit >= 0; --bit) /* 10 bits an axis, 30 of the 32 */
        for (i = 0; i < 3; ++i) key = key << 1 | (cell[i] >> bit & 1);
    return key;
}

/* Shell sort of order by (key, index). */
static void csimi_coarse_sort(int count, const uint32_t *key, int *order) {
    int gap, i, j;
    for (gap = 1; gap < count / 3;) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (i = gap; i < count; ++i) {
            const int x = order[i];
            for (j = i; j >= gap; j -= gap) {
                const int other = order[j - gap];
                if (key[other] < key[x] || (key[other] == key[x] && other < x)) break; /* ties by index */
                order[j] = other;
            }
            order[j] = x;
        }
}

/* Aggregates along a space-filling curve, so that a run of them is a neighbourhood. */
static void csimi_coarse_order(csimi_coarse *c) {
    const csim_real *x = c->structure->centre;
    csim_real lo[3] = {0, 0, 0}, hi[3] = {0, 0, 0}, extent;
    uint32_t *key = (uint32_t *)(void *)c->slot; /* free until members are listed */
    int a, i;
    for (a = 0; a < c->aggregates; ++a)
        for (i = 0; i < 3; ++i) {
            lo[i] = a ? csimi_min(lo[i], x[3 * a + i]) : x[i];
            hi[i] = a ? csimi_max(hi[i], x[3 * a + i]) : x[i];
        }
    /* one scale for all axes; aggregates that are all in one place must not divide by 0 */
    extent = csimi_max(csimi_max(hi[0] - lo[0], hi[1] - lo[1]), csimi_max(hi[2] - lo[2], CSIMI_TINY));
    for (a = 0; a < c->aggregates; ++a) {
        key[a] = csimi_coarse_key(x + 3 * a, lo, 1 / extent);
        c->group_member[a] = a;
    }
    csimi_coarse_sort(c->aggregates, key, c->group_member);
}

/* Centre and radius of group g from those of its members. */
static void csimi_coarse_measure(csimi_coarse *c, int g) {
    const csim_structure *s = c->structure;
    double centre[3] = {0, 0, 0}, square = 0;
    const int begin = c->group_first[g], end = c->group_first[g + 1];
    int k, i;
    for (k = begin; k < end; ++k)
        for (i = 0; i < 3; ++i) centre[i] += (double)s->centre[3 * c->group_member[k] + i] / (end - begin);
    for (k = begin; k < end; ++k) {
        const int a = c->group_member[k];
        for (i = 0; i < 3; ++i) {
            c->arm[3 * a + i] = s->centre[3 * a + i] - (csim_real)centre[i];
            square += (double)(c->arm[3 * a + i] * c->arm[3 * a + i]);
        }
        square += (double)(s->radius[a] * s->radius[a]); /* mean squares add about the common centre */
    }
    c->radius[g] = CSIMI_SQRT((csim_real)(square / (end - begin)));
}

/* One group an aggregate, or as many aggregates to a group as keep the dense matrix small, neighbours together. */
static void csimi_coarse_gather(csimi_coarse *c) {
    int g, k;
    for (k = 0; k < c->aggregates; ++k) c->group_member[k] = k;
    CSIMI_MEMSET(c->arm, 0, 3 * (size_t)c->aggregates * sizeof *c->arm);
    if (c->groups < c->aggregates) csimi_coarse_order(c);
    for (g = 0; g <= c->groups; ++g)
        /* floor(aggregates g / groups), without the product that could overflow */
        c->group_first[g] = c->aggregates / c->groups * g + c->aggregates % c->groups * g / c->groups;
    for (g = 0; g < c->groups; ++g) {
        for (k = c->group_first[g]; k < c->group_first[g + 1]; ++k) c->group[c->group_member[k]] = g;
        if (c->groups < c->aggregates)
            csimi_coarse_measure(c, g);
        else
            c->radius[g] = c->structure->radius[g];
        if (!(c->radius[g] > 0)) c->radius[g] = 1; /* a single block has none, and turns are divided by it */
    }
}

/* Blocks listed by aggregate. */
static void csimi_coarse_members(csimi_coarse *c, int blocks) {
    const int *aggregate = c->structure->aggregate;
    int i;
    CSIMI_MEMSET(c->first, 0, ((size_t)c->aggregates + 1) * sizeof *c->first);
    for (i = 0; i < blocks; ++i)
        if (aggregate[i] >= 0) c->first[aggregate[i] + 1] += 1;
    for (i = 0; i < c->aggregates; ++i) {
        c->first[i + 1] += c->first[i];
        c->slot[i] = c->first[i];
    }
    for (i = 0; i < blocks; ++i)
        if (aggregate[i] >= 0) c->member[c->slot[aggregate[i]]++] = i; /* they ascend, so sums keep their order */
}

CSIMI_FN bool csimi_coarse_usable(const csim_structure *s) {
    return s && s->aggregate_count > 0 && s->aggregate && s->offset && s->radius &&
           (s->aggregate_count <= CSIMI_COARSE_GROUPS || s->centre); /* centres tell which to group */
}

/* Whether a block is an angular velocity: it moves with w alone, wherever it is. */
static bool csimi_coarse_turns(const csimi_coarse *c, int block) {
    return c->structure->rotation && c->structure->rotation[block];
}

typedef struct csimi_coarse_job {
    const csimi_coarse *coarse;
    const csim_block_matrix *A;
} csimi_coarse_job;

/* ---- H0 = Z'AZ: rows of 6 x 6 blocks one behind the other, each up to its diagonal block */

/* Row of H0: before group g stand 1 + .. + g blocks of 36 numbers, and its rows have 6 (g + 1) each. */
static double *csimi_coarse_h(const csimi_coarse *c, size_t row) {
    const size_t g = row / 6;
    return c->H0 + 6 * (g + 1) * (3 * g + row % 6);
}

/* S += A_ij Z_j, 3x6. */
static void csimi_coarse_right(const csimi_coarse *c, const csim_real *A, int j, double *S) {
    const csim_real *o = c->structure->offset + 3 * (size_t)j;
    const bool turns = csimi_coarse_turns(c, j);
    const csim_real x = o[0], y = o[1], z = o[2];
    int r;
    for (r = 0; r < 3; ++r, A += 3, S += 6) {
        const csim_real a0 = A[0], a1 = A[1], a2 = A[2];
        if (turns) {
            S[3] += (double)a0, S[4] += (double)a1, S[5] += (double)a2;
            continue;
        }
        S[0] += (double)a0, S[1] += (double)a1, S[2] += (double)a2;
        S[3] += (double)(a2 * y - a1 * z); /* row of -A [o]x = (o x A_r) */
        S[4] += (double)(a0 * z - a2 * x);
        S[5] += (double)(a1 * x - a0 * y);
    }
}

/* moment[4 e + k] = sum over blocks [begin, end) of entry e of A_ij times 1, x, y, z (k = 0 .. 3), o_j = (x, y, z). */
static void csimi_coarse_moments(const csimi_coarse *c, const csim_block_matrix *A, int begin, int end,
                                 double *moment) {
    csimi_quad M[9];
    int j;
    CSIMI_MEMSET(M, 0, sizeof M);
    for (j = begin; j < end; ++j) {
        const csim_real *a = A->val + 9 * (size_t)j, *o = c->structure->offset + 3 * (size_t)A->col[j];
        csimi_quad w;
        CSIMI_QUAD_SET(w, 1, (double)o[0], (double)o[1], (double)o[2]);
        CSIMI_QUAD_ADD(M[0], w, (double)a[0]), CSIMI_QUAD_ADD(M[1], w, (double)a[1]);
        CSIMI_QUAD_ADD(M[2], w, (double)a[2]), CSIMI_QUAD_ADD(M[3], w, (double)a[3]);
        CSIMI_QUAD_ADD(M[4], w, (double)a[4]), CSIMI_QUAD_ADD(M[5], w, (double)a[5]);
        CSIMI_QUAD_ADD(M[6], w, (double)a[6]), CSIMI_QUAD_ADD(M[7], w, (double)a[7]);
        CSIMI_QUAD_ADD(M[8], w, (double)a[8]);
    }
    CSIMI_MEMCPY(moment, M, sizeof M);
}

/* Sums of a and of o x a from the moments of the three entries of a. */
static void csimi_coarse_turn(const double *moment, double *sum) {
    sum[0] = moment[0], sum[1] = moment[4], sum[2] = moment[8];
    sum[3] = moment[10] - moment[7], sum[4] = moment[3] - moment[9], sum[5] = moment[5] - moment[2];
}

/* S = sum A_ij Z_j, 3x6, over blocks [begin, end) of points; row r of -A [o]x is o x A_r. */
static void csimi_coarse_run(const csimi_coarse *c, const csim_block_matrix *A, int begin, int end, double *S) {
    double moment[36];
    int r;
    csimi_coarse_moments(c, A, begin, end, moment);
    for (r = 0; r < 3; ++r) csimi_coarse_turn(moment + 12 * r, S + 6 * r); /* o x once a run, not once a block */
}

/* P += Z_i' S, 6x6 with rows of `stride` numbers, turns about the centre of the group. */
static void csimi_coarse_left(const csimi_coarse *c, int i, const double *S, double *CSIMI_RESTRICT P, size_t stride) {
    const csim_real *o = c->structure->offset + 3 * (size_t)i;
    const csim_real *d = c->arm + 3 * (size_t)c->structure->aggregate[i];
    const double x = (double)(o[0] + d[0]), y = (double)(o[1] + d[1]), z = (double)(o[2] + d[2]);
    double *turn = P + 3 * stride;
    size_t k;
    if (csimi_coarse_turns(c, i)) {
        for (k = 0; k < 6; ++k) { /* the rows of w */
            turn[k] += S[k];
            turn[stride + k] += S[6 + k];
            turn[2 * stride + k] += S[12 + k];
        }
        return;
    }
    for (k = 0; k < 6; ++k) {
        P[k] += S[k];
        P[stride + k] += S[6 + k];
        P[2 * stride + k] += S[12 + k];
        turn[k] += y * S[12 + k] - z * S[6 + k]; /* o x each column of S */
        turn[stride + k] += z * S[k] - x * S[12 + k];
        turn[2 * stride + k] += x * S[6 + k] - y * S[k];
    }
}

/* Turns about the centre of aggregate a, the last three columns of Y [6 rows], become turns about that of its group:
   t = y_t + w x arm. */
static void csimi_coarse_carry(const csimi_coarse *c, int a, int rows, double *Y) {
    const csim_real *d = c->arm + 3 * (size_t)a;
    int r;
    for (r = 0; r < rows; ++r, Y += 6) {
        Y[3] = Y[3] + (double)d[1] * Y[2] - (double)d[2] * Y[1];
        Y[4] = Y[4] + (double)d[2] * Y[0] - (double)d[0] * Y[2];
        Y[5] = Y[5] + (double)d[0] * Y[1] - (double)d[1] * Y[0];
    }
}

/* One block row: A_ij Z_j by runs of equal aggregate (points of one are numbered together as a rule), times Z_i', to
   the rows of H0 of its group, which begin at H and have `stride` numbers. */
static void csimi_coarse_row(const csimi_coarse *c, const csim_block_matrix *A, int i, double *H, size_t stride) {
    const int *aggregate = c->structure->aggregate, group = c->group[aggregate[i]];
    double S[18];
    int j, next;
    for (j = A->row[i]; j < csimi_row_end(A, i); j = next) {
        const int b = aggregate[A->col[j]];
        const bool turns = csimi_coarse_turns(c, A->col[j]);
        for (next = j + 1; !turns && next < csimi_row_end(A, i) && aggregate[A->col[next]] == b; ++next)
            if (csimi_coarse_turns(c, A->col[next])) break;
        if (b < 0 || c->group[b] > group) continue; /* H is symmetric */
        if (turns) {
            CSIMI_MEMSET(S, 0, sizeof S);
            csimi_coarse_right(c, A->val + 9 * (size_t)j, A->col[j], S);
        } else {
            csimi_coarse_run(c, A, j, next, S);
            if (c->groups < c->aggregates) csimi_coarse_carry(c, b, 3, S);
        }
        csimi_coarse_left(c, i, S, H + 6 * (size_t)c->group[b], stride);
    }
}

/* Columns of Y (rows x 6, in motions of aggregate a) turned to the unknowns of its group, w = y_r / L. */
static void csimi_coarse_to_group(const csimi_coarse *c, int a, int rows, double *Y) {
    const double scale = 1 / (double)c->radius[c->group[a]];
    int k;
    csimi_coarse_carry(c, a, rows, Y);
    for (k = 0; k < 6 * rows; ++k)
        if (k % 6 >= 3) Y[k] *= scale;
}

CSIMI_FN void csimi_coarse_open(csimi_coarse *c, const csim_problem *problem) {
    c->structure = problem->structure;
    csimi_coarse_gather(c);
    csimi_coarse_members(c, problem->A.n);
    CSIMI_MEMSET(c->closed, 0, (size_t)problem->contact_count);
    CSIMI_MEMSET(c->used, 0, (size_t)problem->contact_count); /* none is known to press */
    c->built = c->ready = false; /* the matrices at hand are those of another A */
}

/* Rows of H0 of groups [begin, end). */
static void csimi_coarse_build_range(void *context, int begin, int end) {
    const csimi_coarse_job *job = (const csimi_coarse_job *)context;
    const csimi_coarse *c = job->coarse;
    int g, h, k, i, r;
    for (g = begin; g < end; ++g) {
        const size_t stride = 6 * ((size_t)g + 1);
        double *H = csimi_coarse_h(c, 6 * (size_t)g);
        CSIMI_MEMSET(H, 0, 6 * stride * sizeof *H);
        for (k = c->group_first[g]; k < c->group_first[g + 1]; ++k) {
            const int a = c->group_member[k];
            for (i = c->first[a]; i < c->first[a + 1]; ++i) csimi_coarse_row(c, job->A, c->member[i], H, stride);
        }
        for (r = 0; r < 6; ++r) /* the unknowns of turns are angular velocity times radius */
            for (h = 0; h <= g; ++h)
                for (k = 0; k < 6; ++k) {
                    double *x = H + stride * (size_t)r + 6 * (size_t)h + k;
                    if (k >= 3) *x *= 1 / (double)c->radius[h];
                    if (r >= 3) *x *= 1 / (double)c->radius[g];
                }
    }
}

CSIMI_FN void csimi_coarse_build(csimi_coarse *c, const csim_problem *problem, const csim_tasks *tasks) {
    csimi_coarse_job job;
    job.coarse = c;
    job.A = &problem->A;
    c->built = true;
    csimi_parallel(tasks, c->groups, CSIMI_COARSE_GRAIN, csimi_coarse_build_range, &job);
}

/* ---- H = H0 + contact stiffness */

/* Rows of the contact's velocity in the motions of the aggregates it touches: G = R sum +-J Z. Returns how many. */
static int csimi_coarse_contact(csimi_coarse *c, const csim_problem *problem, const csim_contact *contact, int *name) {
    int count = 0, side, k, i, j, r;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        for (k = s.first; k < s.first + s.count; ++k) {
            const int block = problem->terms[k].block, a = c->structure->aggregate[block];
            csim_real RJ[9];
            if (a < 0) continue; /* not in the coarse space */
            for (j = 0; j < count && name[j] != a; ++j) {
            }
            if (j == CSIMI_COARSE_SIDES) continue; /* the rest only makes H a little softer */
            if (j == count) {
                name[count++] = a;
                CSIMI_MEMSET(c->jacobian + 18 * j, 0, 18 * sizeof(double));
            }
            csimi_matmul(contact->R, problem->terms[k].J, RJ);
            for (i = 0; i < 9 && side; ++i) RJ[i] = -RJ[i]; /* u = R (a - b) */
            csimi_coarse_right(c, RJ, block, c->jacobian + 18 * j);
        }
    }
    for (r = 0; r < count; ++r) csimi_coarse_to_group(c, name[r], 3, c->jacobian + 18 * r);
    return count;
}

/* Derivative D of the projection at the trial impulse of a contact that slips. Across the direction of slip the clipped
   impulse still turns; along it the strict law follows the normal impulse, which makes D unsymmetric: that entry is
   left out where a symmetric factor is wanted. */
static void csimi_coarse_slip(csim_real mu, bool proximal, bool whole, const csim_real *trial, const csim_real *lambda,
                              double *D) {
    const double t = csimi_sqrt64((double)(trial[1] * trial[1] + trial[2] * trial[2]));
    const double l = csimi_sqrt64((double)(lambda[1] * lambda[1] + lambda[2] * lambda[2]));
    double e[2], turn, along = 1;
    int i, j;
    D[0] = 1;
    if (!(t > 0 && lambda[0] > 0)) return; /* no direction of slip */
    e[0] = (double)trial[1] / t, e[1] = (double)trial[2] / t;
    turn = l < t ? l / t : 1; /* the share of friction that the clip lets pass */
    if (proximal) along = 1 / (1 + (double)(mu * mu)); /* 1 / |(1, mu e)|^2: projection on that ray */
    D[0] = along;
    for (i = 0; i < 2; ++i) {
        if (proximal || whole) D[3 + 3 * i] = along * (double)mu * e[i]; /* friction follows the normal impulse */
        if (proximal) D[1 + i] = along * (double)mu * e[i];
        for (j = 0; j < 2; ++j)
            D[4 + 3 * i + j] = turn * ((i == j ? 1 : 0) - e[i] * e[j]) +
                               (proximal ? along * (double)(mu * mu) * e[i] * e[j] : 0);
    }
}

/* D of a contact: one on the rows it holds, or the derivative of its projection where it slips. */
static void csimi_coarse_derivative(const csimi_coarse *c, const csim_contact *contact,
                                    const csimi_coarse_contacts *contacts, int m, double *D) {
    const csim_real *trial = contacts->trial + 3 * (size_t)m;
    csim_real lambda[3];
    int i;
    for (i = 0; i < 9; ++i) D[i] = i % 4 == 0 && (c->used[m] >> (i / 4) & 1) ? 1 : 0;
    if (c->used[m] != 1 || contact->law >= CSIM_LAW_BILATERAL) return; /* it sticks, or is open, or a row of a joint */
    /* Newton takes it at its own iterate y, whose trial and change balance has left */
    for (i = 0; i < 3; ++i) lambda[i] = contacts->lambda[3 * m + i] + (contacts->newton ? c->delta[3 * m + i] : 0);
    if (contacts->newton) trial = c->trial + 3 * (size_t)m;
    csimi_coarse_slip(contact->mu[0], contacts->law[m] == CSIM_LAW_PROXIMAL, contacts->newton > 0, trial, lambda, D);
}

/* factor += stiffness G'D G of one contact; the lower triangle of blocks, all of them for Newton. */
static void csimi_coarse_stiffen(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts,
                                 int contact) {
    const size_t m = 6 * (size_t)c->groups;
    const double stiffness = contacts->stiffen / (double)contacts->gamma[contact];
    double D[9], DG[18];
    int name[CSIMI_COARSE_SIDES], a, b, i, j, r;
    const int count = csimi_coarse_contact(c, problem, problem->contacts + contact, name);
    csimi_coarse_derivative(c, problem->contacts + contact, contacts, contact, D);
    for (b = 0; b < count; ++b) {
        const size_t h = (size_t)c->group[name[b]];
        const double *G = c->jacobian + 18 * b;
        for (r = 0; r < 3; ++r)
            for (j = 0; j < 6; ++j)
                DG[6 * r + j] = stiffness * (D[3 * r] * G[j] + D[3 * r + 1] * G[6 + j] + D[3 * r + 2] * G[12 + j]);
        for (a = 0; a < count; ++a) {
            const size_t g = (size_t)c->group[name[a]];
            const double *P = c->jacobian + 18 * a;
            if (h > g && !contacts->newton) continue; /* Cholesky reads the lower triangle */
            for (i = 0; i < 6; ++i)
                for (j = 0; j < 6; ++j)
                    c->factor[(6 * g + (size_t)i) * m + 6 * h + (size_t)j] +=
                        P[i] * DG[j] + P[6 + i] * DG[6 + j] + P[12 + i] * DG[12 + j];
        }
    }
}

/* H0 ends at its diagonal blocks. */
static void csimi_coarse_mirror(csimi_coarse *c) {
    const size_t m = 6 * (size_t)c->groups;
    size_t i, j;
    for (i = 0; i < m; ++i)
        for (j = 0; j < i / 6 * 6; ++j) c->factor[j * m + i] = c->factor[i * m + j]; /* Newton's LU reads all */
}

CSIMI_FN bool csimi_coarse_factor(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts,
                                  const csim_tasks *tasks) {
    const int m = 6 * c->groups;
    double largest = 0;
    int i;
    for (i = 0; i < m; ++i) /* what lies above, the factorisation writes before it reads */
        CSIMI_MEMCPY(c->factor + (size_t)i * (size_t)m, csimi_coarse_h(c, (size_t)i),
                     sizeof(double[6]) * (size_t)(i / 6 + 1));
    if (contacts->newton) csimi_coarse_mirror(c);
    for (i = 0; i < problem->contact_count; ++i)
        if (c->used[i]) csimi_coarse_stiffen(c, problem, contacts, i);
    /* rows without mass, as the turns of a group that is a single point, must not make H singular */
    for (i = 0; i < m; ++i) {
        const double d = c->factor[(size_t)i * (size_t)m + (size_t)i];
        if (d > largest) largest = d;
    }
    for (i = 0; i < m; ++i) {
        double *d = c->factor + (size_t)i * (size_t)m + (size_t)i;
        *d = *d * (1 + 1e-10) + 1e-13 * largest;
    }
    c->ready = !contacts->newton && csimi_cholesky(m, c->factor, c->reach, tasks); /* Newton's serves one step */
    return contacts->newton ? csimi_lu(m, c->factor, c->pivot) : c->ready;
}

/* ---- the correction p += scale Z H^-1 Z' M f */

/* motion += Z_block' x */
static void csimi_coarse_gain(csimi_coarse *c, int block, const csim_real *x) {
    const csim_real *o = c->structure->offset + 3 * (size_t)block;
    const int a = c->structure->aggregate[block];
    double *g;
    if (a < 0) return; /* not in the coarse space */
    g = c->motion + 6 * (size_t)a;
    if (csimi_coarse_turns(c, block)) {
        g[3] += (double)x[0], g[4] += (double)x[1], g[5] += (double)x[2];
        return;
    }
    g[0] += (double)x[0], g[1] += (double)x[1], g[2] += (double)x[2];
    g[3] += (double)(o[1] * x[2] - o[2] * x[1]);
    g[4] += (double)(o[2] * x[0] - o[0] * x[2]);
    g[5] += (double)(o[0] * x[1] - o[1] * x[0]);
}

/* x = Z_block motion */
static void csimi_coarse_move(const csimi_coarse *c, int block, csim_real *x) {
    const csim_real *o = c->structure->offset + 3 * (size_t)block;
    const int a = c->structure->aggregate[block];
    csim_real w[3];
    const double *g;
    x[0] = x[1] = x[2] = 0;
    if (a < 0) return;
    g = c->motion + 6 * (size_t)a;
    w[0] = (csim_real)g[3], w[1] = (csim_real)g[4], w[2] = (csim_real)g[5];
    if (csimi_coarse_turns(c, block)) {
        x[0] = w[0], x[1] = w[1], x[2] = w[2];
        return;
    }
    x[0] = (csim_real)g[0] + w[1] * o[2] - w[2] * o[1];
    x[1] = (csim_real)g[1] + w[2] * o[0] - w[0] * o[2];
    x[2] = (csim_real)g[2] + w[0] * o[1] - w[1] * o[0];
}

/* Forces M f of aggregates [begin, end) gathered about their centres. */
static void csimi_coarse_restrict(void *context, int begin, int end) {
    csimi_coarse *c = (csimi_coarse *)context;
    int a, k, i;
    for (a = begin; a < end; ++a) {
        double moment[12], turn[3] = {0, 0, 0}, *motion = c->motion + 6 * (size_t)a;
        csimi_quad F[3];
        CSIMI_MEMSET(F, 0, sizeof F);
        /* sums of M f times 1 and o; moments of the whole aggregate are made of them once */
        for (k = c->first[a]; k < c->first[a + 1]; ++k) {
            const size_t at = 3 * (size_t)c->member[k];
            const csim_real *f = c->f + at, *M = c->metric + at, *o = c->structure->offset + at;
            const double x = (double)M[0] * (double)f[0], y = (double)M[1] * (double)f[1];
            const double z = (double)M[2] * (double)f[2];
            csimi_quad w;
            CSIMI_QUAD_SET(w, 1, (double)o[0], (double)o[1], (double)o[2]);
            if (csimi_coarse_turns(c, c->member[k])) {
                turn[0] += x, turn[1] += y, turn[2] += z; /* the force on w is a torque */
                continue;
            }
            CSIMI_QUAD_ADD(F[0], w, x), CSIMI_QUAD_ADD(F[1], w, y), CSIMI_QUAD_ADD(F[2], w, z);
        }
        CSIMI_MEMCPY(moment, F, sizeof F);
        csimi_coarse_turn(moment, motion);
        for (i = 0; i < 3; ++i) motion[3 + i] += turn[i];
    }
}

/* Motions of aggregates [begin, end) to their blocks, p += Z y. */
static void csimi_coarse_prolong(void *context, int begin, int end) {
    csimi_coarse *c = (csimi_coarse *)context;
    const unsigned char *turns = c->structure->rotation;
    int a, k;
    for (a = begin; a < end; ++a) {
        const double *g = c->motion + 6 * (size_t)a;
        const csim_real t0 = (csim_real)g[0], t1 = (csim_real)g[1], t2 = (csim_real)g[2];
        const csim_real w0 = (csim_real)g[3], w1 = (csim_real)g[4], w2 = (csim_real)g[5];
        for (k = c->first[a]; k < c->first[a + 1]; ++k) {
            const size_t i = 3 * (size_t)c->member[k];
            const csim_real *o = c->structure->offset + i;
            csim_real *p = c->p + i;
            if (turns && turns[c->member[k]]) {
                p[0] += w0, p[1] += w1, p[2] += w2;
                continue;
            }
            p[0] += t0 + w1 * o[2] - w2 * o[1];
            p[1] += t1 + w2 * o[0] - w0 * o[2];
            p[2] += t2 + w0 * o[1] - w1 * o[0];
        }
    }
}

/* Forces on virtual nodes belong to the blocks they hang on. */
static void csimi_coarse_restrict_virtual(csimi_coarse *c, const csimi_nodal *nodal, const csim_term *terms, int n) {
    int k, t, i;
    for (k = 0; k < nodal->virtual_count; ++k) {
        const csim_side side = nodal->side[k];
        csim_real force[3], x[3];
        for (i = 0; i < 3; ++i) force[i] = c->metric[3 * (n + k) + i] * c->f[3 * (n + k) + i];
        for (t = side.first; t < side.first + side.count; ++t) {
            x[0] = x[1] = x[2] = 0;
            csimi_addmulT3(terms[t].J, force, x);
            csimi_coarse_gain(c, terms[t].block, x);
        }
    }
}

/* Virtual nodes go with the sides that the correction moves, so that their couplings are not strained. */
static void csimi_coarse_prolong_virtual(csimi_coarse *c, const csimi_nodal *nodal, const csim_term *terms, int n) {
    int k, t;
    for (k = 0; k < nodal->virtual_count; ++k) {
        const csim_side side = nodal->side[k];
        for (t = side.first; t < side.first + side.count; ++t) {
            csim_real x[3];
            csimi_coarse_move(c, terms[t].block, x);
            csimi_addmul3(terms[t].J, x, c->p + 3 * (size_t)(n + k));
        }
    }
}

/* y = sum of T_a' motion_a over the members of each group; and back, motion_a = scale T_a y. */
static void csimi_coarse_collect(csimi_coarse *c, double *y) {
    int a, i;
    for (i = 0; i < 6 * c->groups; ++i) y[i] = 0;
    for (a = 0; a < c->aggregates; ++a) {
        double *to = y + 6 * (size_t)c->group[a], *g = c->motion + 6 * (size_t)a;
        csimi_coarse_to_group(c, a, 1, g);
        for (i = 0; i < 6; ++i) to[i] += g[i];
    }
}

static void csimi_coarse_spread(csimi_coarse *c, double scale) {
    int a, i;
    for (a = 0; a < c->aggregates; ++a) {
        const double *y = c->y + 6 * (size_t)c->group[a], turn = scale / (double)c->radius[c->group[a]];
        const csim_real *d = c->arm + 3 * (size_t)a;
        double *g = c->motion + 6 * (size_t)a;
        for (i = 0; i < 3; ++i) g[3 + i] = turn * y[3 + i]; /* w = y_r / L */
        g[0] = scale * y[0] + g[4] * (double)d[2] - g[5] * (double)d[1];
        g[1] = scale * y[1] + g[5] * (double)d[0] - g[3] * (double)d[2];
        g[2] = scale * y[2] + g[3] * (double)d[1] - g[4] * (double)d[0];
    }
}

/* ---- the active set after the correction */

CSIMI_FN unsigned char csimi_coarse_rows(const csim_contact *contact, const csim_real *l) {
    const csim_real *mu = contact->mu, second = contact->law == CSIM_LAW_ANISOTROPIC ? mu[1] : mu[0];
    int i, bits = 0;
    if (contact->law == CSIM_LAW_BILATERAL) return (unsigned char)(contact->mask & 7);
    if (contact->law == CSIM_LAW_BOX) {
        /* inside its limits a row is held; at one it gives way */
        for (i = 0; i < 3; ++i) bits |= (l[i] > contact->lo[i] && l[i] < contact->hi[i]) << i;
        return (unsigned char)bits;
    }
    if (!(l[0] > 0)) return 0; /* open */
    if (!(mu[0] > 0 && second > 0)) return 1; /* no friction along some axis: slip */
    /* a clipped impulse is on its bound but for rounding, so what is hardly inside slips */
    return l[1] * l[1] / (mu[0] * mu[0]) + l[2] * l[2] / (second * second) < l[0] * l[0] * CSIM_R(0.999999) ? 7 : 1;
}

/* Impulse of contact m after the motion now in c->motion, by the one-shot contact itself; its change goes to delta. */
static unsigned char csimi_coarse_predict(csimi_coarse *c, const csim_problem *problem,
                                          const csimi_coarse_contacts *contacts, int m) {
    const csim_contact *contact = problem->contacts + m;
    const csim_real scale = 1 / contacts->gamma[m];
    csim_real u[3] = {0, 0, 0}, d[3], x[3], l[3];
    int side, k, i;
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        x[0] = x[1] = x[2] = 0;
        for (k = s.first; k < s.first + s.count; ++k) {
            csimi_coarse_move(c, problem->terms[k].block, d);
            csimi_addmul3(problem->terms[k].J, d, x);
        }
        for (i = 0; i < 3; ++i) u[i] += side ? -x[i] : x[i];
    }
    csimi_mul3(contact->R, u, d);
    for (i = 0; i < 3; ++i) l[i] = c->trial[3 * m + i] = contacts->trial[3 * m + i] - scale * d[i];
    csimi_project_as(contacts->law[m], contact, contacts->gamma[m], l);
    for (i = 0; i < 3; ++i) c->delta[3 * m + i] = l[i] - contacts->lambda[3 * m + i];
    return csimi_coarse_rows(contact, l);
}

/* Adds the rows that y would close to the set of the factor; true when there are any. */
static bool csimi_coarse_look(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts) {
    bool changed = false;
    int k;
    csimi_coarse_spread(c, 1);
    for (k = 0; k < problem->contact_count; ++k) {
        const unsigned char rows = csimi_coarse_predict(c, problem, contacts, k);
        changed = changed || (rows & ~c->used[k]);
        c->used[k] |= rows; /* rows join, none leaves */
    }
    return changed;
}

/* motion += Z'J' delta */
static void csimi_coarse_load(csimi_coarse *c, const csim_problem *problem, int m) {
    const csim_contact *contact = problem->contacts + m;
    csim_real force[3] = {0, 0, 0}, x[3];
    int side, k, i;
    csimi_addmulT3(contact->R, c->delta + 3 * (size_t)m, force);
    for (side = 0; side < 2; ++side) {
        const csim_side s = side ? contact->b : contact->a;
        for (k = s.first; k < s.first + s.count; ++k) {
            x[0] = x[1] = x[2] = 0;
            csimi_addmulT3(problem->terms[k].J, force, x);
            csimi_coarse_gain(c, problem->terms[k].block, x);
        }
        for (i = 0; i < 3; ++i) force[i] = -force[i]; /* reaction on side b */
    }
}

/* change = g + Z'J'(Project(trial - J Z y / gamma) - lambda) - H0 y: what is left of the coarse imbalance once
   the contacts answer to y. used becomes the set met there. Returns the squared size of change over g. */
static double csimi_coarse_balance(csimi_coarse *c, const csim_problem *problem,
                                   const csimi_coarse_contacts *contacts) {
    const size_t m = 6 * (size_t)c->groups;
    double left = 0, whole = 0;
    size_t i, j;
    int k;
    csimi_coarse_spread(c, 1);
    /* the motions must be read by all contacts before they become loads */
    for (k = 0; k < problem->contact_count; ++k) c->used[k] = csimi_coarse_predict(c, problem, contacts, k);
    CSIMI_MEMSET(c->motion, 0, 6 * (size_t)c->aggregates * sizeof *c->motion);
    for (k = 0; k < problem->contact_count; ++k) csimi_coarse_load(c, problem, k);
    csimi_coarse_collect(c, c->change);
    for (i = 0; i < m; ++i) {
        const double *H = csimi_coarse_h(c, i);
        double sum = c->g[i] - H[i] * c->y[i];
        for (j = 0; j < i; ++j) { /* below the diagonal each entry counts twice */
            sum -= H[j] * c->y[j];
            c->change[j] -= H[j] * c->y[i];
        }
        c->change[i] += sum;
    }
    for (i = 0; i < m; ++i) {
        const double d = csimi_coarse_h(c, i)[i];
        left += d > 0 ? c->change[i] * c->change[i] / d : 0; /* (N s)^2 / kg */
        whole += d > 0 ? c->g[i] * c->g[i] / d : 0;
    }
    return whole > 0 ? left / whole : 0; /* a share, without units */
}

static void csimi_coarse_shift(csimi_coarse *c, double by) {
    int i;
    for (i = 0; i < 6 * c->groups; ++i) c->y[i] += by * c->step[i];
}

/* Newton for the coarse contact problem, change(y) = 0: steps that leave more imbalance are halved, or not taken. */
static void csimi_coarse_newton(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts,
                                const csim_tasks *tasks) {
    const int m = 6 * c->groups;
    double size, next, taken;
    int k, half;
    CSIMI_MEMSET(c->y, 0, (size_t)m * sizeof *c->y);
    size = csimi_coarse_balance(c, problem, contacts);
    for (k = 0; k < contacts->newton && size > 1e-8; ++k, size = next) { /* of squares: 1e-4 of the imbalance */
        if (!csimi_coarse_factor(c, problem, contacts, tasks)) return; /* of the set balance met */
        csimi_lu_solve(m, c->factor, c->pivot, c->change);
        CSIMI_MEMCPY(c->step, c->change, (size_t)m * sizeof *c->step);
        csimi_coarse_shift(c, taken = 1);
        next = csimi_coarse_balance(c, problem, contacts);
        for (half = 0; half < CSIMI_COARSE_HALVINGS && !(next < size); ++half) {
            csimi_coarse_shift(c, -0.5 * taken);
            taken *= 0.5;
            next = csimi_coarse_balance(c, problem, contacts);
        }
        if (next < size) continue;
        csimi_coarse_shift(c, -taken); /* back to the y that leaves the least imbalance */
        return;
    }
}

/* y = H^-1 g. The first time the contacts that y would close join the set: before any impulse is known H is soft there,
   and one step through a contact takes the iteration far away. */
static void csimi_coarse_linear(csimi_coarse *c, const csim_problem *problem, const csimi_coarse_contacts *contacts,
                                const csim_tasks *tasks) {
    const int m = 6 * c->groups;
    int k;
    for (k = 0; k <= contacts->looks; ++k) { /* looks 0: contacts are not asked */
        CSIMI_MEMCPY(c->y, c->g, (size_t)m * sizeof *c->y);
        csimi_cholesky_solve(m, c->factor, c->reach, c->y);
        if (k == contacts->looks || !csimi_coarse_look(c, problem, contacts)) return;
        if (!csimi_coarse_factor(c, problem, contacts, tasks)) return;
    }
}

CSIMI_FN void csimi_coarse_apply(csimi_coarse *c, const csim_problem *problem, const csimi_nodal *nodal,
                                 const csimi_coarse_contacts *contacts, double scale, const csim_real *metric,
                                 const csim_real *f, csim_real *p, const csim_tasks *tasks) {
    c->f = f, c->p = p, c->metric = metric; /* for the ranges that run in parallel */
    csimi_parallel(tasks, c->aggregates, CSIMI_COARSE_GRAIN, csimi_coarse_restrict, c);
    csimi_coarse_restrict_virtual(c, nodal, problem->terms, problem->A.n); /* adds to what restrict has set */
    csimi_coarse_collect(c, c->g);
    if (contacts->newton)
        csimi_coarse_newton(c, problem, contacts, tasks);
    else
        csimi_coarse_linear(c, problem, contacts, tasks);
    csimi_coarse_spread(c, scale);
    csimi_parallel(tasks, c->aggregates, CSIMI_COARSE_GRAIN, csimi_coarse_prolong, c);
    csimi_coarse_prolong_virtual(c, nodal, problem->terms, problem->A.n);
}
