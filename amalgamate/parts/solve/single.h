/* solve/single: one contact alone. Stateless: no problem, no world, no workspace. */
#ifndef CSIM_SINGLE_H
#define CSIM_SINGLE_H

#include "../contact/law.h"

/* How a sliding contact is solved. Opening and sticking are the same for all. */
typedef enum csim_contact_method {
    CSIM_CONTACT_NEWTON,    /* exact Coulomb: friction opposes slip; safeguarded Newton on the slip multiplier */
    CSIM_CONTACT_BISECTION, /* maximal dissipation with u_n = 0 (Hwangbo et al., Algorithm 1) */
    CSIM_CONTACT_GOLDEN,    /* the same model by golden section on the energy (Preclik) */
    CSIM_CONTACT_QUARTIC,   /* the same model from the roots of a quartic */
    CSIM_CONTACT_METHOD_COUNT_
} csim_contact_method;

/* lambda[3] of one contact with u = W lambda + c, components n, t1, t2, friction coefficient mu >= 0:
     c_n >= 0                      lambda = 0, the contact opens
     lambda0 = -W^-1 c in the cone lambda = lambda0, it sticks
     else                          u_n = 0, |lambda_t| = mu lambda_n, and either u_t opposes lambda_t (Newton) or the
                                   energy 1/2 u' W^-1 u is least on that conic (the other three)
   W[9] row-major [1/kg], symmetric positive definite (of another W its symmetric part is taken); c[3] [m/s]; lambda in
   N s. The two laws agree where normal and tangent do not couple (W_nt = 0) or mu is 0.
   Fails, with lambda = 0 where there is a lambda: CSIM_NULL_ARGUMENT, CSIM_NOT_FINITE, CSIM_OUT_OF_RANGE (mu < 0,
   a diagonal entry of W not above 0, no such method). Hwangbo, Lee, Hutter 2018, section III-A. */
CSIM_API csim_status csim_solve_contact(const csim_real *W, const csim_real *c, csim_real mu,
                                        csim_contact_method method, csim_real *lambda);

#endif
