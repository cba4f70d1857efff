/* A file as the library's problem; model.h. */
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *room(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block) {
        fputs("fc3d: out of memory\n", stderr);
        exit(2);
    }
    return block;
}

static csim_real *reals(const double *x, size_t count) {
    csim_real *y = (csim_real *)room(count, sizeof *y);
    size_t k;
    for (k = 0; k < count; ++k) y[k] = CSIM_R(x[k]);
    return y;
}

/* ---- LOCAL */

static void make_local(const fc3d_problem *p, fc3d_model *m) {
    int i, k;
    m->W.n = p->nc;
    m->W.row = p->row;
    m->W.col = p->col;
    m->W.diag = (int *)room((size_t)p->nc, sizeof(int));
    m->W.val = reals(p->W, 9 * (size_t)p->blocks);
    for (i = 0; i < p->nc; ++i)
        for (k = p->row[i]; k < p->row[i + 1]; ++k)
            if (p->col[k] == i) m->W.diag[i] = k;
    m->q = reals(p->q, 3 * (size_t)p->nc);
    m->mu = reals(p->mu, (size_t)p->nc);
    m->local.contact_count = p->nc;
    m->local.W = &m->W;
    m->local.q = m->q;
    m->local.mu = m->mu;
}

/* ---- GLOBAL: A = M and b = f in blocks of three unknowns, a contact's rows of J = H' as terms */

static int by_place(const void *x, const void *y) {
    const fc3d_entry *a = (const fc3d_entry *)x, *b = (const fc3d_entry *)y;
    if (a->i / 3 != b->i / 3) return a->i < b->i ? -1 : 1;
    return a->j / 3 < b->j / 3 ? -1 : a->j / 3 > b->j / 3;
}

/* Entries of M, their mirror images and the diagonal as places, so that the pattern is symmetric and complete. */
static void make_matrix(const fc3d_problem *p, csim_block_matrix *A) {
    const int n = (p->n + 2) / 3, count = 2 * p->m_count + n;
    fc3d_entry *e = (fc3d_entry *)room((size_t)count, sizeof *e);
    int k, at = -1, i = -1;
    for (k = 0; k < p->m_count; ++k) {
        e[2 * k] = p->M[k];
        e[2 * k + 1].i = p->M[k].j;
        e[2 * k + 1].j = p->M[k].i;
    }
    for (k = 0; k < n; ++k) e[2 * p->m_count + k].i = e[2 * p->m_count + k].j = 3 * k;
    qsort(e, (size_t)count, sizeof *e, by_place);
    A->n = n;
    A->end = NULL;
    A->row = (int *)room((size_t)n + 1, sizeof(int));
    A->col = (int *)room((size_t)count, sizeof(int));
    A->diag = (int *)room((size_t)n, sizeof(int));
    A->val = (csim_real *)room(9 * (size_t)count, sizeof(csim_real));
    for (k = 0; k < count; ++k) {
        const int row = e[k].i / 3, col = e[k].j / 3;
        if (row != i || A->col[at] != col) A->col[++at] = col;
        for (; i < row; ++i) A->row[i + 1] = at;
        if (row == col) A->diag[row] = at;
        A->val[9 * (size_t)at + (size_t)(3 * (e[k].i % 3) + e[k].j % 3)] += CSIM_R(e[k].x);
    }
    A->row[n] = at + 1;
    for (k = p->n; k < 3 * n; ++k) A->val[9 * (size_t)A->diag[k / 3] + (size_t)(4 * (k % 3))] = 1; /* padding */
    free(e);
}

static int by_contact(const void *x, const void *y) {
    const fc3d_entry *a = (const fc3d_entry *)x, *b = (const fc3d_entry *)y;
    if (a->j / 3 != b->j / 3) return a->j < b->j ? -1 : 1;
    return a->i / 3 < b->i / 3 ? -1 : a->i / 3 > b->i / 3;
}

static void make_contacts(const fc3d_problem *p, fc3d_model *m) {
    fc3d_entry *e = (fc3d_entry *)room((size_t)p->h_count, sizeof *e);
    int c, k, terms = 0;
    memcpy(e, p->H, (size_t)p->h_count * sizeof *e);
    qsort(e, (size_t)p->h_count, sizeof *e, by_contact);
    m->terms = (csim_term *)room((size_t)p->h_count, sizeof *m->terms);
    m->contacts = (csim_contact *)room((size_t)p->nc, sizeof *m->contacts);
    for (c = 0, k = 0; c < p->nc; ++c) {
        csim_contact *contact = m->contacts + c;
        int i;
        contact->law = CSIM_LAW_STRICT;
        contact->mu[0] = CSIM_R(p->mu[c]);
        for (i = 0; i < 3; ++i) {
            contact->R[4 * i] = 1;
            contact->phi[i] = CSIM_R(p->b[3 * c + i]);
        }
        contact->a.first = terms;
        for (; k < p->h_count && e[k].j / 3 == c; ++k) {
            if (terms == contact->a.first || m->terms[terms - 1].block != e[k].i / 3)
                m->terms[terms++].block = e[k].i / 3;
            m->terms[terms - 1].J[3 * (e[k].j % 3) + e[k].i % 3] += CSIM_R(e[k].x);
        }
        contact->a.count = terms - contact->a.first;
    }
    m->problem.term_count = terms;
    free(e);
}

static void make_global(const fc3d_problem *p, fc3d_model *m) {
    const int n = (p->n + 2) / 3;
    int i;
    m->global = true;
    make_matrix(p, &m->problem.A);
    make_contacts(p, m);
    m->b = (csim_real *)room(3 * (size_t)n, sizeof(csim_real));
    for (i = 0; i < p->n; ++i) m->b[i] = CSIM_R(p->f[i]);
    m->problem.b = m->b;
    m->problem.contact_count = p->nc;
    m->problem.contacts = m->contacts;
    m->problem.terms = m->terms;
    m->problem.theta = 1;
}

/* ---- both */

void fc3d_model_make(const fc3d_problem *p, fc3d_model *m) {
    memset(m, 0, sizeof *m);
    (p->global ? make_global : make_local)(p, m);
}

void fc3d_model_free(fc3d_model *m) {
    if (m->global) {
        free(m->problem.A.row);
        free(m->problem.A.col);
        free(m->problem.A.diag);
        free(m->problem.A.val);
        free(m->b);
        free(m->contacts);
        free(m->terms);
    } else {
        free(m->W.diag);
        free(m->W.val);
        free(m->q);
        free(m->mu);
    }
}

int fc3d_model_contacts(const fc3d_model *m) { return m->global ? m->problem.contact_count : m->local.contact_count; }

csim_solver_params fc3d_params(const fc3d_problem *p, csim_solver solver, double tolerance, int max_iterations) {
    csim_solver_params params = csim_default_solver_params();
    params.solver = p->global && solver == CSIM_SOLVER_AUTO ? CSIM_SOLVER_SWEEP : solver;
    params.tolerance = CSIM_R(tolerance);
    params.max_iterations = max_iterations;
    params.impulse.by_impulse = true;
    return params;
}

size_t fc3d_model_bytes(const fc3d_model *m, const csim_solver_params *params) {
    csim_problem_size size;
    if (!m->global) return csim_impulse_bytes(&m->local, params);
    size = csim_problem_measure(&m->problem);
    return csim_solver_bytes(&size, params);
}

csim_status fc3d_model_solve(const fc3d_model *m, const csim_solver_params *params, void *workspace, size_t bytes,
                             csim_real *v, csim_real *r, csim_outcome *out, csim_error *error) {
    csim_solution solution = csim_solution_of(NULL, NULL);
    memset(out, 0, sizeof *out);
    if (!m->global) return csim_impulse_solve(&m->local, params, workspace, bytes, NULL, r, out, error);
    memset(v, 0, 3 * (size_t)m->problem.A.n * sizeof *v);
    solution.v = v;
    solution.lambda = r;
    return csim_problem_solve(&m->problem, params, workspace, bytes, NULL, &solution, out, error);
}
