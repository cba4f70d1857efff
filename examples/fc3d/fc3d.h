/* Frictional contact problems of other people's simulations: text files LOCAL (u = W r + q) and GLOBAL (M v = H r + f,
   u = H'v + b), and the measures their users compare by. Everything here is double and shares nothing with the library:
   it judges the library's answers. */
#ifndef FC3D_H
#define FC3D_H

#include <stdbool.h>
#include <stddef.h>

/* One entry of a sparse matrix. */
typedef struct fc3d_entry {
    int i, j;
    double x;
} fc3d_entry;

typedef struct fc3d_problem {
    bool global;
    int nc;        /* contacts */
    double *mu;    /* [nc] */
    double *q;     /* [3nc] u at r = 0; for GLOBAL computed from f and b */
    double *trace; /* [nc] of the diagonal blocks of W */
    /* LOCAL: blocks of W, by rows */
    int blocks;
    int *row, *col; /* [nc + 1], [blocks] */
    double *W;      /* [9 blocks] */
    /* GLOBAL */
    int n, m_count, h_count;
    double *f, *b;     /* [n], [3nc] */
    fc3d_entry *M, *H; /* H is n x 3nc */
    struct fc3d_factor *factor;
    char error[160];
} fc3d_problem;

/* Reads a file; false with a sentence in error. */
bool fc3d_read(const char *path, fc3d_problem *p);
void fc3d_free(fc3d_problem *p);
/* u [3nc] = W r + q, GLOBAL through M v = H r + f. */
void fc3d_velocity(const fc3d_problem *p, const double *r, double *u);
/* Renames the contacts: contact c becomes place order[c]. LOCAL and GLOBAL alike. */
bool fc3d_permute(fc3d_problem *p, const int *order);

typedef struct fc3d_measures {
    double norm_q, norm_r, norm_u;
    double natural_map_abs, natural_map_q, natural_map_siconos, natural_map_ur, natural_map_scaled;
    double min_un, max_complementarity, max_cone_violation, max_negative_rn, max_dissipation_violation;
    double rel_penetration, rel_complementarity, rel_dissipation;
    int open, stick, slip;
} fc3d_measures;
/* All measures of impulses r [3nc]. */
void fc3d_measure(const fc3d_problem *p, const double *r, fc3d_measures *m);

/* ---- report.c: the tables, profiles and pictures of a finished run; 0 when all went well */
int fc3d_report(const char *directory, int file_count, char **files);

#endif
