/* Reading LOCAL and GLOBAL files, and velocities from impulses. */
#include "fc3d.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* M factored piece by piece: the unknowns of one connected component are one dense matrix. */
typedef struct fc3d_factor {
    int count;           /* components */
    int *first, *member; /* [count + 1], [n] unknowns by component */
    int *pivot;          /* [n] */
    double **LU;         /* [count] */
} fc3d_factor;

static void *get(size_t count, size_t size) { return calloc(count ? count : 1, size); }

static bool fail(fc3d_problem *p, const char *text) {
    snprintf(p->error, sizeof p->error, "%s", text);
    return false;
}

/* Finite ones: x null, there is no memory for them. */
static bool numbers(FILE *f, double *x, int count) {
    int k;
    for (k = 0; k < count; ++k)
        if (!x || fscanf(f, "%lf", x + k) != 1 || !(fabs(x[k]) < 1e300)) return false;
    return true;
}

/* How many things of so many numbers each follow: no more than the rest of the file can hold, two bytes a number. */
static bool counted(FILE *f, int *count, int each) {
    long at, end;
    if (fscanf(f, "%d", count) != 1 || *count < 0) return false;
    at = ftell(f);
    if (at < 0 || fseek(f, 0, SEEK_END) != 0) return false;
    end = ftell(f);
    return fseek(f, at, SEEK_SET) == 0 && *count <= (end - at) / (2 * each);
}

/* ---- LOCAL */

static bool read_local(FILE *f, fc3d_problem *p) {
    int k, i, last = 0;
    if (!numbers(f, p->q, 3 * p->nc)) return fail(p, "q is short");
    if (!counted(f, &p->blocks, 11) || p->blocks < p->nc || p->blocks / p->nc > p->nc)
        return fail(p, "the number of blocks is wrong");
    p->row = (int *)get((size_t)p->nc + 1, sizeof(int));
    p->col = (int *)get((size_t)p->blocks, sizeof(int));
    p->W = (double *)get(9 * (size_t)p->blocks, sizeof(double));
    if (!p->row || !p->col || !p->W) return fail(p, "it is too large for this machine");
    for (k = 0; k < p->blocks; ++k) {
        if (fscanf(f, "%d %d", &i, p->col + k) != 2 || i < last || i >= p->nc || p->col[k] < 0 || p->col[k] >= p->nc)
            return fail(p, "a block of W has a wrong place");
        if (!numbers(f, p->W + 9 * (size_t)k, 9)) return fail(p, "W is short");
        if (p->col[k] == i) p->trace[i] += p->W[9 * k] + p->W[9 * k + 4] + p->W[9 * k + 8];
        for (; last < i; ++last) p->row[last + 1] = k;
    }
    for (; last < p->nc; ++last) p->row[last + 1] = p->blocks;
    return true;
}

/* ---- GLOBAL */

static bool read_entries(FILE *f, int rows, int columns, int *count, fc3d_entry **entries) {
    int k;
    if (!counted(f, count, 3)) return false;
    *entries = (fc3d_entry *)get((size_t)*count, sizeof(fc3d_entry));
    if (!*entries) *count = 0;
    if (!*entries) return false;
    for (k = 0; k < *count; ++k) {
        fc3d_entry *e = *entries + k;
        if (fscanf(f, "%d %d %lf", &e->i, &e->j, &e->x) != 3 || !(fabs(e->x) < 1e300)) return false;
        if (e->i < 0 || e->i >= rows || e->j < 0 || e->j >= columns) return false;
    }
    return true;
}

static int find(int *parent, int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/* Numbers the connected components of M; place[i] is the position of unknown i in its own. */
static void components(const fc3d_problem *p, fc3d_factor *F, int *of, int *place) {
    int *parent = (int *)get((size_t)p->n, sizeof(int)), i, k;
    for (i = 0; i < p->n; ++i) parent[i] = i;
    for (k = 0; k < p->m_count; ++k) {
        const int a = find(parent, p->M[k].i), b = find(parent, p->M[k].j);
        parent[a > b ? a : b] = a > b ? b : a;
    }
    for (i = 0; i < p->n; ++i) of[i] = find(parent, i) == i ? F->count++ : of[find(parent, i)];
    F->first = (int *)get((size_t)F->count + 2, sizeof(int));
    F->member = (int *)get((size_t)p->n, sizeof(int));
    for (i = 0; i < p->n; ++i) place[i] = F->first[of[i] + 2]++;
    for (k = 0; k < F->count; ++k) F->first[k + 2] += F->first[k + 1];
    for (i = 0; i < p->n; ++i) F->member[F->first[of[i] + 1]++] = i;
    free(parent);
}

enum { MOST_DENSE = 30000 }; /* unknowns of a component: an int counts its entries */

static bool factor_dense(int m, double *A, int *pivot) {
    int i, j, k;
    for (k = 0; k < m; ++k) {
        int best = k;
        for (i = k + 1; i < m; ++i)
            if (fabs(A[i * m + k]) > fabs(A[best * m + k])) best = i;
        pivot[k] = best;
        if (!(fabs(A[best * m + k]) > 0)) return false;
        for (j = 0; j < m && best != k; ++j) {
            const double x = A[k * m + j];
            A[k * m + j] = A[best * m + j];
            A[best * m + j] = x;
        }
        for (i = k + 1; i < m; ++i) {
            const double l = A[i * m + k] /= A[k * m + k];
            for (j = k + 1; j < m && fabs(l) > 0; ++j) A[i * m + j] -= l * A[k * m + j];
        }
    }
    return true;
}

static bool factor(fc3d_problem *p) {
    fc3d_factor *F = p->factor = (fc3d_factor *)get(1, sizeof *F);
    int *of = (int *)get((size_t)p->n, sizeof(int)), *place = (int *)get((size_t)p->n, sizeof(int)), k;
    bool ok = true;
    components(p, F, of, place);
    F->pivot = (int *)get((size_t)p->n, sizeof(int));
    F->LU = (double **)get((size_t)F->count, sizeof(double *));
    for (k = 0; k < F->count; ++k) {
        const size_t m = (size_t)(F->first[k + 1] - F->first[k]);
        F->LU[k] = m <= MOST_DENSE ? (double *)get(m * m, sizeof(double)) : NULL;
        ok = ok && F->LU[k];
    }
    for (k = 0; k < p->m_count && ok; ++k) {
        const fc3d_entry *e = p->M + k;
        const int c = of[e->i], m = F->first[c + 1] - F->first[c];
        F->LU[c][place[e->i] * m + place[e->j]] += e->x;
    }
    for (k = 0; k < F->count && ok; ++k)
        ok = factor_dense(F->first[k + 1] - F->first[k], F->LU[k], F->pivot + F->first[k]);
    free(of);
    free(place);
    return ok;
}

/* x <- M^-1 x */
static void solve(const fc3d_problem *p, double *x) {
    const fc3d_factor *F = p->factor;
    double *y = (double *)get((size_t)p->n, sizeof(double));
    int c, i, j;
    for (c = 0; c < F->count; ++c) {
        const int m = F->first[c + 1] - F->first[c], *member = F->member + F->first[c];
        const int *pivot = F->pivot + F->first[c];
        const double *A = F->LU[c];
        for (i = 0; i < m; ++i) y[i] = x[member[i]];
        for (i = 0; i < m; ++i) {
            const double t = y[i];
            y[i] = y[pivot[i]];
            y[pivot[i]] = t;
        }
        for (i = 0; i < m; ++i)
            for (j = 0; j < i; ++j) y[i] -= A[i * m + j] * y[j];
        for (i = m - 1; i >= 0; --i) {
            for (j = i + 1; j < m; ++j) y[i] -= A[i * m + j] * y[j];
            y[i] /= A[i * m + i];
        }
        for (i = 0; i < m; ++i) x[member[i]] = y[i];
    }
    free(y);
}

/* The traces of the diagonal blocks of W = H' M^-1 H, one column of H at a time. */
static void traces(fc3d_problem *p) {
    double *x = (double *)get((size_t)p->n, sizeof(double));
    int *head = (int *)get(3 * (size_t)p->nc, sizeof(int)), *next = (int *)get((size_t)p->h_count, sizeof(int)), j, k;
    for (j = 0; j < 3 * p->nc; ++j) head[j] = -1;
    for (k = 0; k < p->h_count; ++k) {
        next[k] = head[p->H[k].j];
        head[p->H[k].j] = k;
    }
    for (j = 0; j < 3 * p->nc; ++j) {
        memset(x, 0, (size_t)p->n * sizeof *x);
        for (k = head[j]; k >= 0; k = next[k]) x[p->H[k].i] += p->H[k].x;
        solve(p, x);
        for (k = head[j]; k >= 0; k = next[k]) p->trace[j / 3] += p->H[k].x * x[p->H[k].i];
    }
    free(x);
    free(head);
    free(next);
}

static bool read_global(FILE *f, fc3d_problem *p) {
    double *zero;
    p->f = (double *)get((size_t)p->n, sizeof(double));
    p->b = (double *)get(3 * (size_t)p->nc, sizeof(double));
    if (!numbers(f, p->f, p->n) || !numbers(f, p->b, 3 * p->nc)) return fail(p, "q or b is short");
    if (!read_entries(f, p->n, p->n, &p->m_count, &p->M)) return fail(p, "M is wrong");
    if (!read_entries(f, p->n, 3 * p->nc, &p->h_count, &p->H)) return fail(p, "H is wrong");
    if (!factor(p)) return fail(p, "M is singular, or a component of it is too large");
    zero = (double *)get(3 * (size_t)p->nc, sizeof(double));
    memcpy(p->q, p->b, 3 * (size_t)p->nc * sizeof(double));
    fc3d_velocity(p, zero, p->q);
    free(zero);
    traces(p);
    return true;
}

/* ---- both */

bool fc3d_read(const char *path, fc3d_problem *p) {
    FILE *f = fopen(path, "r");
    char word[16];
    bool ok;
    memset(p, 0, sizeof *p);
    if (!f) return fail(p, "it cannot be opened");
    ok = fscanf(f, "%15s", word) == 1 && (strcmp(word, "LOCAL") == 0 || strcmp(word, "GLOBAL") == 0);
    if (!ok) {
        fclose(f);
        return fail(p, "it begins with neither LOCAL nor GLOBAL");
    }
    p->global = word[0] == 'G';
    ok = (!p->global || (counted(f, &p->n, 1) && p->n > 0)) && counted(f, &p->nc, 1) && p->nc > 0;
    if (!ok) {
        fclose(f);
        return fail(p, "its sizes are wrong");
    }
    p->mu = (double *)get((size_t)p->nc, sizeof(double));
    p->q = (double *)get(3 * (size_t)p->nc, sizeof(double));
    p->trace = (double *)get((size_t)p->nc, sizeof(double));
    if (!numbers(f, p->mu, p->nc))
        ok = fail(p, "mu is short");
    else
        ok = p->global ? read_global(f, p) : read_local(f, p);
    fclose(f);
    return ok;
}

void fc3d_free(fc3d_problem *p) {
    int k;
    if (p->factor) {
        for (k = 0; p->factor->LU && k < p->factor->count; ++k) free(p->factor->LU[k]);
        free(p->factor->LU);
        free(p->factor->first);
        free(p->factor->member);
        free(p->factor->pivot);
        free(p->factor);
    }
    free(p->mu);
    free(p->q);
    free(p->trace);
    free(p->row);
    free(p->col);
    free(p->W);
    free(p->f);
    free(p->b);
    free(p->M);
    free(p->H);
    memset(p, 0, sizeof *p);
}

void fc3d_velocity(const fc3d_problem *p, const double *r, double *u) {
    int i, j, k;
    if (p->global) {
        double *x = (double *)get((size_t)p->n, sizeof(double));
        memcpy(x, p->f, (size_t)p->n * sizeof *x);
        for (k = 0; k < p->h_count; ++k) x[p->H[k].i] += p->H[k].x * r[p->H[k].j];
        solve(p, x);
        memcpy(u, p->b, 3 * (size_t)p->nc * sizeof *u);
        for (k = 0; k < p->h_count; ++k) u[p->H[k].j] += p->H[k].x * x[p->H[k].i];
        free(x);
        return;
    }
    for (i = 0; i < p->nc; ++i)
        for (j = 0; j < 3; ++j) {
            double sum = p->q[3 * i + j];
            for (k = p->row[i]; k < p->row[i + 1]; ++k) {
                const double *B = p->W + 9 * (size_t)k + 3 * j, *x = r + 3 * p->col[k];
                sum += B[0] * x[0] + B[1] * x[1] + B[2] * x[2];
            }
            u[3 * i + j] = sum;
        }
}

/* ---- another order of the contacts */

static void permute(double *x, int count, int width, const int *order) {
    double *y = (double *)get((size_t)count * (size_t)width, sizeof(double));
    int c;
    for (c = 0; c < count; ++c) memcpy(y + width * order[c], x + width * c, (size_t)width * sizeof *x);
    memcpy(x, y, (size_t)count * (size_t)width * sizeof *x);
    free(y);
}

static void permute_blocks(fc3d_problem *p, const int *order) {
    int *row = (int *)get((size_t)p->nc + 1, sizeof(int)), *col = (int *)get((size_t)p->blocks, sizeof(int)), i, k, at;
    double *W = (double *)get(9 * (size_t)p->blocks, sizeof(double));
    for (i = 0; i < p->nc; ++i) row[order[i] + 1] = p->row[i + 1] - p->row[i];
    for (i = 0; i < p->nc; ++i) row[i + 1] += row[i];
    for (i = 0; i < p->nc; ++i)
        for (k = p->row[i], at = row[order[i]]; k < p->row[i + 1]; ++k, ++at) {
            int slot = at; /* columns ascend inside a row */
            for (; slot > row[order[i]] && col[slot - 1] > order[p->col[k]]; --slot) {
                col[slot] = col[slot - 1];
                memcpy(W + 9 * slot, W + 9 * (slot - 1), 9 * sizeof *W);
            }
            col[slot] = order[p->col[k]];
            memcpy(W + 9 * slot, p->W + 9 * (size_t)k, 9 * sizeof *W);
        }
    free(p->row);
    free(p->col);
    free(p->W);
    p->row = row;
    p->col = col;
    p->W = W;
}

bool fc3d_permute(fc3d_problem *p, const int *order) {
    int k;
    permute(p->mu, p->nc, 1, order);
    permute(p->trace, p->nc, 1, order);
    permute(p->q, p->nc, 3, order);
    if (p->global) {
        permute(p->b, p->nc, 3, order);
        for (k = 0; k < p->h_count; ++k) p->H[k].j = 3 * order[p->H[k].j / 3] + p->H[k].j % 3;
    } else {
        permute_blocks(p, order);
    }
    return true;
}
