/* contact/law: the closed-form projections, one function per law. Stateless. */
#ifndef CSIM_LAW_H
#define CSIM_LAW_H

#include "problem.h"

/* lambda = Project(trial): the impulse of one contact from the trial impulse -u / gamma (COND paper eq. 23-26).
   gamma [1/kg] is needed by the invertible law (trial is then rescaled by gamma / (gamma + omega)) and ignored by the
   others. All three components in, all three out; in place allowed. */
CSIM_API void csim_project(const csim_contact *contact, csim_real gamma, const csim_real *trial, csim_real *lambda);
/* Euclidean projection on the friction cone |lambda_t| <= mu lambda_n. */
CSIM_API void csim_project_cone(csim_real mu, const csim_real *trial, csim_real *lambda);
/* Nearest point of the ellipse (t1/a)^2 + (t2/b)^2 <= 1; a, b >= 0. */
CSIM_API void csim_project_ellipse(csim_real a, csim_real b, const csim_real *trial, csim_real *t);
/* Invertible law: the impulse that belongs to the velocity u = J v + phi, without solving anything. */
CSIM_API void csim_inverse_contact(const csim_contact *contact, const csim_real *u, csim_real *lambda);

#endif
