/* contact/problem: is this a problem at all? */
#include "private.h"
#include "problem.h"

/* Where in the problem a value stands, for the sentence: contacts[12].mu[0]. */
typedef struct csimi_spot {
    csim_error *error;
    char field[64];
} csimi_spot;

static csim_status csimi_problem_fail(csimi_spot *place, csim_status status, const char *array, long index,
                                      const char *member, double value, const char *allowed) {
    size_t length = csimi_append_text(place->field, sizeof place->field, 0, array);
    if (index >= 0) {
        length = csimi_append_text(place->field, sizeof place->field, length, "[");
        length = csimi_append_int(place->field, sizeof place->field, length, index);
        length = csimi_append_text(place->field, sizeof place->field, length, "]");
    }
    csimi_append_text(place->field, sizeof place->field, length, member);
    return csimi_fail(place->error, status, "csim_problem_check", place->field, value, allowed);
}

static csim_status csimi_bad(csimi_spot *place, const char *array, long index, const char *member, double value,
                             const char *allowed) {
    return csimi_problem_fail(place, CSIM_BAD_PROBLEM, array, index, member, value, allowed);
}

static csim_status csimi_check_finite(csimi_spot *place, const char *array, long index, const char *member,
                                      const csim_real *x, int count) {
    int k;
    for (k = 0; k < count; ++k)
        if (!csimi_finite(x[k]))
            return csimi_problem_fail(place, CSIM_NOT_FINITE, array, index, member, (double)x[k], "a finite number");
    return CSIM_OK;
}

static csim_status csimi_check_pointers(const csim_problem *p, csim_error *error) {
    const char *name = NULL;
    if (p->A.n > 0)
        name = !p->A.row ? "A.row" : !p->A.col ? "A.col" : !p->A.diag ? "A.diag" : !p->A.val ? "A.val" : !p->b ? "b"
                                                                                                              : NULL;
    if (p->contact_count > 0 && !p->contacts) name = "contacts";
    if (p->term_count > 0 && !p->terms) name = "terms";
    return name ? csimi_missing(error, "csim_problem_check", name) : CSIM_OK;
}

static csim_status csimi_check_row(csimi_spot *place, const csim_block_matrix *A, int i) {
    const int begin = A->row[i], end = csimi_row_end(A, i), diag = A->diag[i];
    int k;
    if (begin < 0 || end < begin)
        return csimi_bad(place, A->end ? "A.end" : "A.row", A->end ? i : i + 1, "", end,
                         "no less than the row's beginning, which is 0 or more");
    for (k = begin; k < end; ++k)
        if (A->col[k] < 0 || A->col[k] >= A->n || (k > begin && A->col[k] <= A->col[k - 1]))
            return csimi_bad(place, "A.col", k, "", A->col[k], "0 to n - 1, ascending inside a row");
    if (diag < begin || diag >= end || A->col[diag] != i)
        return csimi_bad(place, "A.diag", i, "", diag, "the index of block (i, i)");
    return CSIM_OK;
}

/* Numbers of a matrix whose rows are sound. */
static csim_status csimi_check_values(csimi_spot *place, const csim_block_matrix *A) {
    ptrdiff_t j;
    int i, k;
    for (i = 0; i < A->n; ++i) {
        if (csimi_all_finite(A->val + 9 * (ptrdiff_t)A->row[i], 9 * (csimi_row_end(A, i) - A->row[i]))) continue;
        for (j = A->row[i]; csimi_all_finite(A->val + 9 * j, 9);) ++j; /* the row has one that is not */
        return csimi_check_finite(place, "A.val, block ", (long)j, "", A->val + 9 * j, 9);
    }
    for (i = 0; i < A->n; ++i)
        for (k = 0; k < 9; k += 4)
            if (!(A->val[9 * (ptrdiff_t)A->diag[i] + k] > 0))
                return csimi_bad(place, "A.val, diagonal of row ", (long)i, "",
                                 (double)A->val[9 * (ptrdiff_t)A->diag[i] + k],
                                 "greater than 0 (A is positive definite)");
    return CSIM_OK;
}

/* Rows that are sound by themselves: where block (i, j) is, block (j, i) is. */
static csim_status csimi_check_mirror(csimi_spot *place, const csim_block_matrix *A) {
    int i, k;
    for (i = 0; i < A->n; ++i)
        for (k = A->row[i]; k < csimi_row_end(A, i); ++k)
            if (csimi_pattern_find(A, A->col[k], i) < 0)
                return csimi_bad(place, "A.col", k, "", A->col[k], "a column whose row has the mirrored block");
    return CSIM_OK;
}

static csim_status csimi_check_rows(csimi_spot *place, const csim_problem *p) {
    csim_status status = CSIM_OK;
    ptrdiff_t blocks = 0;
    int i;
    if (p->A.n > 0 && !p->A.end && p->A.row[0] != 0) return csimi_bad(place, "A.row", 0, "", p->A.row[0], "0");
    for (i = 0; i < p->A.n && status == CSIM_OK; ++i) {
        status = csimi_check_row(place, &p->A, i);
        if (status == CSIM_OK) blocks += csimi_row_end(&p->A, i) - p->A.row[i];
    }
    if (status == CSIM_OK && p->A.n > 0 && blocks != p->A.row[p->A.n])
        return csimi_bad(place, "A.row", p->A.n, "", p->A.row[p->A.n], "the number of blocks of all rows");
    return status == CSIM_OK ? csimi_check_mirror(place, &p->A) : status;
}

static csim_status csimi_check_matrix(csimi_spot *place, const csim_problem *p) {
    csim_status status = csimi_check_values(place, &p->A);
    int i;
    if (status != CSIM_OK || csimi_all_finite(p->b, 3 * p->A.n)) return status;
    for (i = 0; i < p->A.n && status == CSIM_OK; ++i)
        status = csimi_check_finite(place, "b, block ", i, "", p->b + 3 * (ptrdiff_t)i, 3);
    return status;
}

static csim_status csimi_check_side(csimi_spot *place, const csim_problem *p, int m, const csim_side *side,
                                    const char *first, const char *count) {
    if (side->count < 0 || side->count > p->term_count)
        return csimi_bad(place, "contacts", m, count, side->count, "0 to term_count");
    if (side->count > 0 && (side->first < 0 || side->first > p->term_count - side->count))
        return csimi_bad(place, "contacts", m, first, side->first, "0 to term_count - count");
    return CSIM_OK;
}

/* Rows of R orthonormal to what a chain of float rotations keeps. */
static csim_status csimi_check_frame(csimi_spot *place, int m, const csim_real *R) {
    static const unsigned char a[6] = {0, 3, 6, 0, 0, 3}, b[6] = {0, 3, 6, 3, 6, 6};
    csim_real off = 0;
    csim_status status;
    int k;
    for (k = 0; k < 6 && csimi_abs(off) <= CSIM_R(1e-3); ++k)
        off = csim_dot(csimi_load3(R + a[k]), csimi_load3(R + b[k])) - (k < 3 ? 1 : 0);
    if (csimi_abs(off) <= CSIM_R(1e-3)) return CSIM_OK;
    status = csimi_check_finite(place, "contacts", m, ".R", R, 9);
    return status != CSIM_OK ? status
                             : csimi_bad(place, "contacts", m, ".R", (double)(off + (k <= 3 ? 1 : 0)),
                                         "orthonormal rows (products of two rows 0, of one with itself 1)");
}

static csim_status csimi_check_friction(csimi_spot *place, const csim_contact *c, int m) {
    int k, count = csimi_law_is(c, CSIM_LAW_ANISOTROPIC) ? 2 : 1;
    csim_status status = CSIM_OK;
    if (!(csimi_law_is(c, CSIM_LAW_ANISOTROPIC) || csimi_law_is(c, CSIM_LAW_INVERTIBLE)) && c->mu[0] >= 0 &&
        csimi_finite(c->mu[0]))
        return CSIM_OK;
    status = csimi_check_finite(place, "contacts", m, ".mu", c->mu, count);
    for (k = 0; k < count && status == CSIM_OK; ++k)
        if (c->mu[k] < 0)
            status = csimi_bad(place, "contacts", m, k ? ".mu[1]" : ".mu[0]", (double)c->mu[k], "0 or more");
    if (!csimi_law_is(c, CSIM_LAW_INVERTIBLE) || status != CSIM_OK) return status;
    status = csimi_check_finite(place, "contacts", m, ".omega", c->omega, 2);
    for (k = 0; k < 2 && status == CSIM_OK; ++k)
        if (!(c->omega[k] > 0))
            status = csimi_bad(place, "contacts", m, k ? ".omega[1]" : ".omega[0]", (double)c->omega[k],
                               "greater than 0 (invertible law)");
    return status;
}

static csim_status csimi_check_law(csimi_spot *place, const csim_contact *c, int m) {
    int k;
    if (csimi_law_of(c) != c->law)
        return csimi_problem_fail(place, CSIM_UNSUPPORTED, "contacts", m, ".law", (double)c->law,
                                  "CSIM_LAW_STRICT, or builds without CONDSIM_NO_LAWS");
    switch (csimi_law_of(c)) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_PROXIMAL:
    case CSIM_LAW_ANISOTROPIC:
    case CSIM_LAW_INVERTIBLE: return csimi_check_friction(place, c, m);
    case CSIM_LAW_BILATERAL:
        if (c->mask > 7u) return csimi_bad(place, "contacts", m, ".mask", (double)c->mask, "0 to 7");
        return CSIM_OK;
    case CSIM_LAW_BOX: /* infinite bounds are allowed */
        for (k = 0; k < 3; ++k)
            if (!(c->lo[k] <= c->hi[k])) return csimi_bad(place, "contacts", m, ".lo", (double)c->lo[k], "at most hi");
        return CSIM_OK;
    case CSIM_LAW_COUNT_:
    default: break;
    }
    return csimi_bad(place, "contacts", m, ".law", (double)c->law, "a value of csim_law");
}

static csim_status csimi_check_sides(csimi_spot *place, const csim_problem *p, int m) {
    const csim_contact *c = p->contacts + m;
    csim_status status = csimi_check_side(place, p, m, &c->a, ".a.first", ".a.count");
    if (status == CSIM_OK) status = csimi_check_side(place, p, m, &c->b, ".b.first", ".b.count");
    if (status == CSIM_OK && c->a.count + c->b.count == 0)
        status = csimi_bad(place, "contacts", m, ".a.count", 0, "at least one term in a or b (nothing can move)");
    return status;
}

static csim_status csimi_check_contact(csimi_spot *place, const csim_problem *p, int m) {
    const csim_contact *c = p->contacts + m;
    csim_status status = csimi_check_frame(place, m, c->R);
    int k;
    if (status == CSIM_OK) status = csimi_check_finite(place, "contacts", m, ".phi", c->phi, 3);
    if (status == CSIM_OK) status = csimi_check_finite(place, "contacts", m, ".mass", c->mass, 2);
    for (k = 0; k < 2 && status == CSIM_OK; ++k)
        if (c->mass[k] < 0)
            status = csimi_bad(place, "contacts", m, ".mass", (double)c->mass[k], "0 (take it from A) or more");
    return status == CSIM_OK ? csimi_check_law(place, c, m) : status;
}

static csim_status csimi_check_blocks(csimi_spot *place, const csim_problem *p) {
    int k;
    for (k = 0; k < p->term_count; ++k)
        if (p->terms[k].block < 0 || p->terms[k].block >= p->A.n)
            return csimi_bad(place, "terms", k, ".block", p->terms[k].block, "0 to n - 1");
    return CSIM_OK;
}

static csim_status csimi_check_terms(csimi_spot *place, const csim_problem *p, csim_side side) {
    csim_status status = CSIM_OK;
    int k;
    for (k = side.first; k < side.first + side.count && status == CSIM_OK; ++k)
        status = csimi_check_finite(place, "terms", k, ".J", p->terms[k].J, 9);
    return status;
}

static csim_status csimi_check_chains(csimi_spot *place, const csim_problem *p) {
    const csim_structure *s = p->structure;
    int k;
    if (!s || s->chain_count <= 0) return CSIM_OK;
    if (!s->chain_first || !s->chain_block)
        return csimi_missing(place->error, "csim_problem_check",
                             s->chain_first ? "structure.chain_block" : "structure.chain_first");
    for (k = 0; k <= s->chain_count; ++k)
        if (s->chain_first[k] < (k ? s->chain_first[k - 1] : 0) || (k == 0 && s->chain_first[0] != 0))
            return csimi_bad(place, "structure.chain_first", k, "", s->chain_first[k],
                             "0, then at least the entry before");
    for (k = 0; k < 2 * s->chain_first[s->chain_count]; ++k)
        if (s->chain_block[k] < -1 || s->chain_block[k] >= p->A.n)
            return csimi_bad(place, "structure.chain_block", k, "", s->chain_block[k], "-1 to n - 1");
    return CSIM_OK;
}

static csim_status csimi_check_aggregates(csimi_spot *place, const csim_problem *p) {
    const csim_structure *s = p->structure;
    csim_status status = CSIM_OK;
    int k;
    if (!s || s->aggregate_count <= 0) return CSIM_OK;
    for (k = 0; s->aggregate && k < p->A.n; ++k)
        if (s->aggregate[k] < -1 || s->aggregate[k] >= s->aggregate_count)
            return csimi_bad(place, "structure.aggregate", k, "", s->aggregate[k], "-1 to aggregate_count - 1");
    for (k = 0; s->offset && k < p->A.n && status == CSIM_OK; ++k)
        status = csimi_check_finite(place, "structure.offset", k, "", s->offset + 3 * (ptrdiff_t)k, 3);
    for (k = 0; s->radius && k < s->aggregate_count && status == CSIM_OK; ++k) {
        status = csimi_check_finite(place, "structure.radius", k, "", s->radius + k, 1);
        if (status == CSIM_OK && !(s->radius[k] >= 0)) /* 0: of a single block */
            status = csimi_bad(place, "structure.radius", k, "", (double)s->radius[k], "0 or more");
    }
    for (k = 0; s->centre && k < s->aggregate_count && status == CSIM_OK; ++k)
        status = csimi_check_finite(place, "structure.centre", k, "", s->centre + 3 * (ptrdiff_t)k, 3);
    return status;
}

static csim_status csimi_check_structure(csimi_spot *place, const csim_problem *p) {
    const csim_structure *s = p->structure;
    int k;
    if (!s || !s->body_first || s->body_count <= 0) return CSIM_OK;
    if (s->body_first[0] != 0) return csimi_bad(place, "structure.body_first", 0, "", s->body_first[0], "0");
    for (k = 0; k < s->body_count; ++k)
        if (s->body_first[k + 1] <= s->body_first[k])
            return csimi_bad(place, "structure.body_first", k + 1, "", s->body_first[k + 1],
                             "greater than the entry before");
    if (s->body_first[k] != p->A.n)
        return csimi_bad(place, "structure.body_first", k, "", s->body_first[k],
                         "n for the last entry: bodies cover all blocks");
    return CSIM_OK;
}

static csim_status csimi_check_elastic(csimi_spot *place, const csim_problem *p, int e) {
    const csim_elastic *element = p->structure->elastic + e;
    csim_status status = CSIM_OK;
    int k;
    if (element->count < 1 || element->count > 3)
        return csimi_bad(place, "structure.elastic", e, ".count", element->count, "1 to 3");
    if (!(element->damping >= 0 && element->damping <= 1))
        return csimi_bad(place, "structure.elastic", e, ".damping", (double)element->damping, "0 to 1");
    for (k = 0; k < element->count && status == CSIM_OK; ++k) {
        if (element->term[k].block < 0 || element->term[k].block >= p->A.n)
            return csimi_bad(place, "structure.elastic", e, ".term.block", element->term[k].block, "0 to n - 1");
        status = csimi_check_finite(place, "structure.elastic", e, ".term.J", element->term[k].J, 9);
    }
    if (status == CSIM_OK) status = csimi_check_finite(place, "structure.elastic", e, ".K", element->K, 9);
    return status == CSIM_OK ? csimi_check_finite(place, "structure.elastic", e, ".phi", element->phi, 3) : status;
}

static csim_status csimi_check_elastics(csimi_spot *place, const csim_problem *p) {
    csim_status status = CSIM_OK;
    int e, count = p->structure ? p->structure->elastic_count : 0;
    if (count > 0 && !p->structure->elastic)
        return csimi_missing(place->error, "csim_problem_check", "structure.elastic");
    for (e = 0; e < count && status == CSIM_OK; ++e) status = csimi_check_elastic(place, p, e);
    return status;
}

static csim_status csimi_check_numbers(const csim_problem *problem, csim_error *error) {
    csimi_spot place;
    csim_status status;
    int m;
    place.error = error;
    status = csimi_check_matrix(&place, problem);
    for (m = 0; m < problem->contact_count && status == CSIM_OK; ++m) {
        status = csimi_check_terms(&place, problem, problem->contacts[m].a);
        if (status == CSIM_OK) status = csimi_check_terms(&place, problem, problem->contacts[m].b);
        if (status == CSIM_OK) status = csimi_check_contact(&place, problem, m);
    }
    return status;
}

CSIMI_FN csim_status csimi_check_own(const csim_problem *problem, csim_error *error) {
    csimi_spot place;
    csim_status status;
    int m, k;
    place.error = error;
    status = csimi_check_matrix(&place, problem);
    for (m = 0; m < problem->contact_count && status == CSIM_OK; ++m) {
        const csim_contact *c = problem->contacts + m;
        csim_real sum = c->mass[0] + c->mass[1];
        for (k = 0; k < 3; ++k) sum += c->phi[k] + (c->R[k] + c->R[3 + k] + c->R[6 + k]);
        status = csimi_finite(sum) ? csimi_check_law(&place, c, m) : CSIM_NOT_FINITE;
    }
    return status;
}

CSIM_API csim_status csim_problem_check(const csim_problem *problem, csim_error *error) {
    csimi_spot place;
    csim_status status;
    int m;
    place.error = error;
    if (!problem) return csimi_missing(error, "csim_problem_check", "problem");
    if (problem->A.n < 0) return csimi_bad(&place, "A.n", -1, "", problem->A.n, "0 or more");
    if (problem->contact_count < 0)
        return csimi_bad(&place, "contact_count", -1, "", problem->contact_count, "0 or more");
    if (problem->term_count < 0) return csimi_bad(&place, "term_count", -1, "", problem->term_count, "0 or more");
    status = csimi_check_pointers(problem, error);
    if (status == CSIM_OK) status = csimi_check_rows(&place, problem);
    if (status == CSIM_OK) status = csimi_check_blocks(&place, problem);
    for (m = 0; m < problem->contact_count && status == CSIM_OK; ++m) status = csimi_check_sides(&place, problem, m);
    if (status == CSIM_OK) status = csimi_check_numbers(problem, error);
    if (status == CSIM_OK) status = csimi_check_aggregates(&place, problem);
    if (status == CSIM_OK) status = csimi_check_structure(&place, problem);
    if (status == CSIM_OK) status = csimi_check_chains(&place, problem);
    return status == CSIM_OK ? csimi_check_elastics(&place, problem) : status;
}

CSIMI_FN csim_status csimi_check_contact_law(const csim_contact *contact, int m, csim_error *error) {
    csimi_spot place;
    place.error = error;
    return csimi_check_law(&place, contact, m);
}
