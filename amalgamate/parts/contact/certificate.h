/* contact/certificate: one honest measure for every solver, from the problem and (v, lambda) alone. */
#ifndef CSIM_CERTIFICATE_H
#define CSIM_CERTIFICATE_H

#include "problem.h"

/* How well (v, lambda) obeys the laws; 0 is perfect. */
typedef struct csim_certificate {
    double dynamics;        /* |A v - b - J'lambda|_{1/D} / max(|b|, |J'lambda|, tiny), D = diag A */
    double contact;         /* worst |lambda - P(lambda - rho u)| of a contact / max(|lambda_m|, median, tiny), P the
                               projection of its law; 1 / rho = sum over the sides of 1 / effective mass */
    double approach;        /* max(0, -u_n), m/s */
    double complementarity; /* max |lambda_n u_n|, J */
    double cone;            /* max(0, |lambda_t| - mu lambda_n), N s */
    double dissipation;     /* worst distance from stick or opposed slip, m/s */
    double dissipation_power;   /* max |mu lambda_n |u_t| + lambda_t . u_t|, J */
    double natural_map_scaled;  /* |r - P_K(r - rho (u + mu |u_t| n))| / |r| over all Coulomb contacts */
    double natural_map_siconos; /* the same with 1 for rho, in the caller's units, / max(|r|, |u|, |q|): the error of
                                   other software; q = J A^-1 b + phi is known, and counts, at the impulse level only */
    int worst_contact;      /* index behind the contact figure, -1: none */
} csim_certificate;

/* tiny: what rounding alone leaves. Impulses below 1e5 eps times the largest impulse, or times rho times the speeds
   that u is a difference of (phi, and of each side J v and J b / diag A), are measured against that bound instead of
   against themselves. The median is of the contacts that carry more than that: open ones have no say, whose number
   depends on the margins alone. approach to dissipation_power are over the friction laws; the invertible law is
   measured with u + omega lambda for u. */

/* Bytes of scratch csim_problem_certify needs for n blocks and contact_count contacts. */
CSIM_API size_t csim_certificate_bytes(int n, int contact_count);
/* Measures (v, lambda) on the problem. One product of A. scratch: csim_certificate_bytes, 64-aligned.
   Shares no code with the solvers. Always defined: no contacts gives zeros for the contact figures. */
CSIM_API csim_status csim_problem_certify(const csim_problem *problem, const csim_real *v, const csim_real *lambda,
                                          void *scratch, size_t scratch_bytes, csim_certificate *certificate);

#endif
