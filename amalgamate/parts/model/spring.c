/* model/spring: springs and dampers along the line between two places. */
#include "private.h"

/* A spring as seen by the blocks: stretch direction and the terms of d = point a - point b, signs included. */
typedef struct csimi_spring_view {
    int count, block[2 * CSIMI_PLACE_TERMS];
    csim_real J[2 * CSIMI_PLACE_TERMS][9];
    csim_vec3 d;      /* m */
    csim_real length; /* m */
} csimi_spring_view;

static void csimi_spring_look(const csimi_state *s, int k, csimi_spring_view *view) {
    const csimi_place *end = s->spring + 2 * (size_t)k;
    csim_vec3 a = csimi_place_point(s, end), b = csimi_place_point(s, end + 1);
    int first, p, i;
    CSIMI_MEMSET(view, 0, sizeof *view);
    first = csimi_place_terms(s, end, a, view->block, view->J[0]);
    view->count = first + csimi_place_terms(s, end + 1, b, view->block + first, view->J[first]);
    for (p = first; p < view->count; p++)
        for (i = 0; i < 9; i++) view->J[p][i] = -view->J[p][i];
    view->d = csim_sub(a, b);
    view->length = csim_length(view->d);
}

/* One without stiffness and damping holds nothing, and couples nothing. */
static bool csimi_spring_holds(const csimi_state *s, int k) {
    return s->spring_data[3 * (size_t)k + 1] > 0 || s->spring_data[3 * (size_t)k + 2] > 0;
}

CSIMI_FN csim_real csimi_spring_length(const csimi_state *s, int k) {
    const csimi_place *end = s->spring + 2 * (size_t)k;
    return csim_length(csim_sub(csimi_place_point(s, end), csimi_place_point(s, end + 1)));
}

CSIMI_FN int csimi_spring_blocks(const csimi_place *ends) {
    int n = csimi_place_term_count(ends) + csimi_place_term_count(ends + 1);
    return n * (n - 1);
}

/* Force on end a and the weighted tangent: (w k + h c) e e' + w max(0, tension / length) (I - e e'), w = sigma h^2. At
   zero length there is no direction: no force, and the stiffness k all round. */
static void csimi_spring_law(const csimi_spring_view *view, const csim_real *data, csim_real w, csim_real h,
                             csim_vec3 *force, csim_real *K) {
    csim_real rest = data[0], stiffness = data[1], along = w * stiffness + h * data[2], across = w * stiffness;
    csim_vec3 e = csim_v3(0, 0, 0);
    csim_real d[3];
    int i, j;
    if (view->length > CSIMI_EPS * rest && view->length > CSIMI_TINY) {
        csim_real tension = stiffness * (view->length - rest);
        e = csim_scale(1 / view->length, view->d);
        across = w * csimi_max(0, tension / view->length);
        *force = csim_scale(-tension, e);
    } else
        *force = e;
    csimi_store3(d, e);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) K[3 * i + j] = (along - across) * d[i] * d[j] + (i == j ? across : 0);
}

CSIMI_FN csim_vec3 csimi_spring_impulse(const csimi_state *s, const csimi_step *step, int k, const csim_real *v) {
    csimi_spring_view view;
    csim_vec3 force;
    csim_real K[9], rate[3] = {0, 0, 0}, held[3];
    int p;
    if (!csimi_spring_holds(s, k)) return csim_v3(0, 0, 0);
    csimi_spring_look(s, k, &view);
    csimi_spring_law(&view, s->spring_data + 3 * (size_t)k, step->sigma * step->h * step->h, step->h, &force, K);
    for (p = 0; p < view.count; p++) csimi_addmul3(view.J[p], v + 3 * (size_t)view.block[p], rate);
    csimi_mul3(K, rate, held);
    return csim_sub(csim_scale(step->h, force), csimi_load3(held));
}

static csim_real *csimi_spring_block(const csimi_spring_view *view, int p, int q, const int *slot,
                                     const csim_block_matrix *A) {
    const int at = view->count <= CSIMI_SPRING_SIDE ? slot[CSIMI_SPRING_SIDE * p + q]
                                                    : csimi_pattern_find(A, view->block[p], view->block[q]);
    return A->val + 9 * (size_t)at;
}

/* Adds Jp'K Jq to block (p, q) and its transpose to (q, p); symmetric to the bit, also where both are one block. */
static void csimi_spring_add(const csimi_spring_view *view, int p, int q, const csim_real *K, const int *slot,
                             const csim_block_matrix *A) {
    csim_real KJ[9], M[9], *pq = csimi_spring_block(view, p, q, slot, A), *qp = csimi_spring_block(view, q, p, slot, A);
    csim_real own = p == q ? CSIM_R(0.5) : CSIM_R(1);
    int i, j;
    csimi_matmul(K, view->J[q], KJ);
    csimi_matTmul(view->J[p], KJ, M);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            if (pq == qp)
                pq[3 * i + j] += own * (M[3 * i + j] + M[3 * j + i]);
            else {
                pq[3 * i + j] += M[3 * i + j];
                qp[3 * i + j] += M[3 * j + i];
            }
}

CSIMI_FN void csimi_spring_assemble(const csimi_state *s, const csimi_step *step, csimi_system *system) {
    int k, p, q;
    for (k = 0; k < s->spring_count; k++) {
        csimi_spring_view view;
        csim_vec3 force;
        csim_real K[9], impulse[3];
        if (!csimi_spring_holds(s, k)) continue;
        csimi_spring_look(s, k, &view);
        csimi_spring_law(&view, s->spring_data + 3 * (size_t)k, step->sigma * step->h * step->h, step->h, &force, K);
        csimi_store3(impulse, csim_scale(step->h, force));
        for (p = 0; p < view.count; p++) {
            csimi_addmulT3(view.J[p], impulse, system->b + 3 * (size_t)view.block[p]);
            for (q = p; q < view.count; q++)
                csimi_spring_add(&view, p, q, K, s->spring_slot + CSIMI_SPRING_SLOTS * (size_t)k, &system->A);
        }
    }
}

CSIMI_FN int csimi_spring_couple(const csimi_state *s, int *pairs) {
    int k, p, q, count = 0;
    for (k = 0; k < s->spring_count; k++) {
        csimi_spring_view view;
        if (!csimi_spring_holds(s, k)) continue;
        csimi_spring_look(s, k, &view);
        for (p = 0; p < view.count; p++)
            for (q = p + 1; q < view.count; q++) {
                if (view.block[p] == view.block[q]) continue;
                if (pairs) {
                    pairs[2 * count] = view.block[p];
                    pairs[2 * count + 1] = view.block[q];
                }
                count++;
            }
    }
    return count;
}

CSIMI_FN void csimi_spring_bind(csimi_state *s, const csim_block_matrix *pattern) {
    int k, p, q;
    for (k = 0; k < s->spring_count; k++) {
        csimi_spring_view view;
        csimi_spring_look(s, k, &view);
        for (p = 0; p < CSIMI_SPRING_SIDE; p++)
            for (q = 0; q < CSIMI_SPRING_SIDE; q++)
                s->spring_slot[CSIMI_SPRING_SLOTS * k + CSIMI_SPRING_SIDE * p + q] =
                    p < view.count && q < view.count ? csimi_pattern_find(pattern, view.block[p], view.block[q]) : -1;
    }
}

CSIMI_FN void csimi_spring_energy(const csimi_state *s, csimi_energy *energy) {
    int k;
    for (k = 0; k < s->spring_count; k++) {
        double stretch = (double)csimi_spring_length(s, k) - (double)s->spring_data[3 * k];
        energy->elastic += (double)s->spring_data[3 * k + 1] * stretch * stretch / 2;
    }
}
