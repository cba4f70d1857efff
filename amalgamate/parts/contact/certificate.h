/* contact/certificate: one honest measure for every solver, from the problem and (v, lambda) alone. */
#ifndef CSIM_CERTIFICATE_H
#define CSIM_CERTIFICATE_H

#include "problem.h"

/* How well (v, lambda) obeys the laws; 0 is perfect. The first four are relative; certified at a tolerance means that
   none of them is above it (csim_certificate_worst). */
typedef struct csim_certificate {
    double dynamics;        /* |A v - b - J'lambda|_{1/D} / max(|b|, |J'lambda|, tiny), D = diag A */
    double contact;         /* impulses: worst |r_m| / max(|lambda_m|, median, tiny), r_m = lambda - P(lambda - rho u),
                               P the projection of its law; 1 / rho = sum over the sides of 1 / effective mass */
    double velocity;        /* velocities: worst (|r_m| / rho_m - rounded_m), m/s, / max(speed_m, rms of all speeds,
                               tiny) */
    double work;            /* energy: what all contacts do that their laws do not allow, J, less 2 |lambda_m| rounded_m
                               of each, / energy */
    double energy;          /* J: what passes through the step: the largest of |b|^2_{1/D}, v'A v and the sum of
                               |lambda_m| speed_m */
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
   depends on the margins alone. speed_m: the sum of those speeds, so never less than h g where weight acts; the rms is
   weighed by rho. rounded_m: eps times the sum over the sides of |J| |J'lambda| / diag A, all contacts added without
   signs: the last bits of impulses; 0 where it is above a hundredth of what it is held against. work sums
   |lambda_n u_n| and |mu lambda_n |u_t| + lambda_t . u_t| over the friction laws, and |lambda . u| over proximal
   contacts; joints, limits and motors have no say there, whose impulses may be any multiple of what moves. approach to
   dissipation_power are over the friction laws; the invertible law is measured with u + omega lambda for u. */

/* The largest of dynamics, contact, velocity and work; huge for a null pointer, no number where dynamics is none. */
CSIM_API double csim_certificate_worst(const csim_certificate *certificate);

/* Bytes of scratch csim_problem_certify needs for n blocks and contact_count contacts. */
CSIM_API size_t csim_certificate_bytes(int n, int contact_count);
/* Measures (v, lambda) on the problem. One product of A. scratch: csim_certificate_bytes, 64-aligned. Shares no code
   with the solvers. No contacts: zeros for the contact figures. Fails, with huge figures: CSIM_NULL_ARGUMENT,
   CSIM_CAPACITY of scratch, CSIM_NOT_FINITE, CSIM_BAD_PROBLEM (csim_problem_check). */
CSIM_API csim_status csim_problem_certify(const csim_problem *problem, const csim_real *v, const csim_real *lambda,
                                          void *scratch, size_t scratch_bytes, csim_certificate *certificate);

#endif
