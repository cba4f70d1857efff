/* tables: the experiments of the five papers on this library, one table each, every one with a certificate column.

   A scene runs as always; of some of its steps the contact problem (A, b, rows, start) of the largest island is copied,
   and every solver is asked about the same copies. Built with CONDSIM_REFERENCE: Cholesky and the full W are there. */
#ifndef TABLES_H
#define TABLES_H

#include "condsim.h"
#include "scene.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- page.c: a table is a CSV file and a piece of Markdown in the folder that page_folder names */

void page_folder(const char *folder, bool fast, const char *only);
bool table_wanted(const char *file); /* its name begins with only, or only is null */
bool page_fast(void);
/* columns: names with commas between them, "certificate" among them. */
void table_open(const char *file, const char *title, const char *about, const char *columns);
/* Cells with commas between them; as many as columns. */
void table_row(const char *format, ...);
/* A line that says what is not there, and the reason. */
void table_missing(const char *what, const char *why);
void table_close(const char *reasons);
/* A picture beside the table: y over x, both logarithmic where asked; values <= 0 are left out there. */
typedef struct plot_line {
    char name[64];
    double *x, *y;
    int count;
} plot_line;
void page_plot(const char *file, const char *title, const char *x, const char *y, bool log_x, const plot_line *lines,
               int count);
/* Tables without rows or certificate, so far. */
int page_faults(void);
double page_seconds(void); /* of the processor: machines are shared */

/* ---- capture.c */

typedef struct capture capture;

/* Runs a scene and copies the problem of each step of the list (rising, from 1); a step without contacts gives none.
   Returns how many there are; why gets a sentence when the scene cannot be made. settings: "key=value key=value". */
typedef struct capture_run {
    const char *scene, *settings;
    int size;
    double h;       /* s; 0: the scene's */
    int integrator; /* -1: the scene's */
    const int *steps;
    int count;
} capture_run;
int capture_scene(const capture_run *run, capture **out, char *why, size_t why_size);
void capture_free(capture *c);
int capture_contacts(const capture *c);
int capture_blocks(const capture *c);
const csim_problem *capture_problem(const capture *c);
const csim_real *capture_lambda(const capture *c); /* the warm start */
double capture_h(const capture *c);
double capture_dynamics_seconds(const capture *c); /* of that step until its rows were there */
double capture_matrix_seconds(const capture *c);   /* factorisation and W, once they were needed */
csim_impulse_problem capture_impulse(capture *c);
void capture_velocity(capture *c, const csim_real *lambda, csim_real *v);
/* |A (v - v_best)| / h, N; best: the converged reference, made when first asked for. */
double capture_force_error(capture *c, const csim_real *v);
double capture_best_certificate(capture *c);
/* u = J v + phi of one contact. */
void capture_slip(const capture *c, const csim_real *v, int contact, csim_real *u);

/* What a solver made of a capture. */
typedef struct answer {
    csim_real *v, *lambda;
    csim_outcome outcome;
    csim_certificate certificate;
    double seconds;
    int iterations;
    csim_status status; /* not CSIM_OK: the solver refuses the problem */
} answer;
double answer_certificate(const answer *a); /* the largest of its four figures */
void answer_free(answer *a);
/* Solves at the velocity level, or through the full W for solvers of the impulse level when dense. cold: from zero. */
answer capture_solve(capture *c, const csim_solver_params *params, bool dense, bool cold);
/* COND's rule: the first iterate whose step is below the threshold, in the norm of A's diagonal over that of b; COND by
   its history, the others (dense) by pairs of runs, with l looked at in steps of a quarter. */
answer capture_stop_by_step(capture *c, const csim_solver_params *params, bool dense, double threshold, int most);
/* Tightens the solver's own tolerance until the certificate is met, three times. */
answer capture_certified(capture *c, const csim_solver_params *params, bool dense, double tolerance);
/* A solver by name; false: this build has none. */
bool solver_named(const char *name, csim_solver *solver);

/* Sums over captures. */
enum { MEAN_KEEPS = 32 };
typedef struct mean {
    double sum, max, kept[MEAN_KEEPS]; /* rising, the first so many */
    int count;
} mean;
void mean_add(mean *m, double x);
double mean_of(const mean *m);
double mean_share(const mean *m, double share); /* the value above that share of what is kept; 0.5: the median */
/* count numbers from first to last, evenly. */
void spread_steps(int *steps, int first, int last, int count);

/* ---- the tables, a file for each paper */
void tables_cond(void);
void tables_percontact(void);
void tables_lcp(void);
void tables_newton(void);
void tables_newton_floor(void); /* of the float build */
void tables_staggered(void);
void tables_scaling(void);

#endif
