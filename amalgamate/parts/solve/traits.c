/* solve/traits: what is known of each solver before it runs, the parameters, and where the answer of any goes. */
#include "private.h"

CSIMI_FN const csimi_solver_traits *csimi_solver_traits_of(csim_solver solver) {
    /* what a refused problem lacks, in words */
    static const char blocks[] =
        CSIMI_SAID("a problem of bodies of 1 to 4 blocks, W in blocks or dense, or at most 32 contacts");
    static const char newton[] = CSIMI_SAID("contacts of the laws strict, invertible, bilateral and box");
    static const char xpbd[] = CSIMI_SAID("bodies of 1 to 4 coupled blocks and cables (no chains of springs, cloth, "
                                          "solids) in backward Euler; no proximal law");
    static const char penalty[] = CSIMI_SAID("contacts of the laws strict, bilateral and box");
    static const char explicit_penalty[] = CSIMI_SAID("strict, anisotropic, bilateral and box laws in backward Euler");
#ifdef CONDSIM_REFERENCE
    static const char lemke[] = CSIMI_SAID("contacts of the laws strict, anisotropic and bilateral: no limits, motors "
                                           "or rolling resistance");
#endif
    static const char any[] = CSIMI_SAID("a positive definite A, with every contact on blocks that can move");
    /* in the order of csim_solver */
    static const csimi_solver_traits traits[CSIM_SOLVER_COUNT_] = {
        /* name; rows of W; laws; needs */
        {"auto", false, CSIMI_ALL_LAWS, any},
        {"cond", false, CSIMI_ALL_LAWS, any},
        {"sweep", false, CSIMI_ALL_LAWS, any},
        {"anderson", false, CSIMI_ALL_LAWS, any},
        {"proximal", false, CSIMI_ALL_LAWS, any},
        {"pgs", true, CSIMI_ALL_LAWS, blocks}, /* its sweeps read W row by row */
        {"apgd", false, CSIMI_ALL_LAWS, any},
        {"percontact", true, CSIMI_ALL_LAWS, blocks}, /* likewise */
        {"staggered", false, CSIMI_ALL_LAWS, any},
        {"ccs", false, CSIMI_ALL_LAWS, any},
        {"newton", false, CSIMI_NEWTON_LAWS, newton},
        {"newton-proximal", false, CSIMI_NEWTON_LAWS, newton},
        {"xpbd", false, CSIMI_XPBD_LAWS, xpbd},
        {"penalty", false, CSIMI_PENALTY_LAWS, penalty},
        {"penalty-explicit", false, CSIMI_PENALTY_EXPLICIT_LAWS, explicit_penalty},
        {"bounded", false, CSIMI_ALL_LAWS, any},
#ifdef CONDSIM_REFERENCE
        {"lemke", false, CSIMI_LEMKE_LAWS, lemke},
#endif
    };
    return traits + solver;
}

CSIMI_FN bool csimi_solver_rows(const csim_solver_params *params) {
    const bool newton = params->solver == CSIM_SOLVER_NEWTON || params->solver == CSIM_SOLVER_NEWTON_PROXIMAL;
    return csimi_solver_traits_of(params->solver)->rows ||
           (newton && params->newton.linear == CSIM_LINEAR_GAUSS_SEIDEL); /* not for a W as a product */
}

/* Those that follow positions or springs through the step. */
CSIMI_FN bool csimi_solver_gaps(csim_solver solver) {
    return solver == CSIM_SOLVER_XPBD || solver == CSIM_SOLVER_PENALTY || solver == CSIM_SOLVER_PENALTY_EXPLICIT;
}

CSIMI_FN bool csimi_solver_laws(csim_solver solver, const csim_contact *contacts, int count) {
    const unsigned laws = csimi_solver_traits_of(solver)->laws;
    int c;
    for (c = 0; c < count; ++c)
        if (!(laws >> contacts[c].law & 1u)) return false;
    return true;
}

CSIM_API csim_solver_params csim_default_solver_params(void) {
    csim_solver_params p;
    CSIMI_MEMSET(&p, 0, sizeof p);
    p.solver = CSIM_SOLVER_AUTO;
    /* 5e-5 is about 0.1 % of force, and most scenes need 2 to 100 iterations for it */
    p.tolerance = CSIM_R(5e-5);
    p.max_iterations = 3000;
    p.spring.gain = CSIM_R(1e3); /* costs COND nothing where it has its coarse part */
    p.cond.shift = true;
    p.certify = 1; /* every step */
    p.spring.damping = 1;
    return p;
}

/* ---- a certificate that is left out */

CSIMI_FN csim_result csimi_leave_unchecked(double measure, csim_certificate *certificate) {
    CSIMI_MEMSET(certificate, 0, sizeof *certificate);
    certificate->worst_contact = -1; /* none */
    certificate->contact = measure;
    /* not known, and so above any tolerance */
    certificate->dynamics = certificate->velocity = certificate->work = (double)CSIMI_HUGE;
    return CSIM_RESULT_UNCHECKED;
}

/* ---- parameters */

/* Leaves the function where a member is not fit. */
#define CSIMI_PARAM(member, fit, allowed)                                                                           \
    if (!(fit))                                                                                                     \
    return csimi_fail(error, world && !csimi_finite((csim_real)p->member) ? CSIM_NOT_FINITE : CSIM_OUT_OF_RANGE, fn, \
                      world ? "solver." #member : "params." #member, (double)p->member, allowed)

/* A NaN fails every test here: in a world it is CSIM_NOT_FINITE, in a single solve out of range like any other. */
CSIMI_FN csim_status csimi_solver_check(const csim_solver_params *p, bool world, const char *fn, csim_error *error) {
    /* unsigned: no negative one either */
    CSIMI_PARAM(solver, (unsigned)p->solver < (unsigned)CSIM_SOLVER_COUNT_, "a csim_solver");
    CSIMI_PARAM(tolerance, p->tolerance > 0 && p->tolerance <= CSIM_R(0.1), "above 0, at most 0.1");
    CSIMI_PARAM(max_iterations, p->max_iterations >= 1 && p->max_iterations <= 1000000, "1 to 1000000");
    CSIMI_PARAM(cond.weight, (unsigned)p->cond.weight < (unsigned)CSIM_WEIGHT_COUNT_, "a csim_weight");
    CSIMI_PARAM(cond.acceleration, (unsigned)p->cond.acceleration < (unsigned)CSIM_ACCELERATION_COUNT_,
                "a csim_acceleration");
    CSIMI_PARAM(window, p->window >= 0 && p->window <= 32, "0 to 32"); /* 0: the solver's own */
    CSIMI_PARAM(spring.gain, p->spring.gain >= 1 && p->spring.gain <= CSIM_R(1e8), "1 to 1e8");
    CSIMI_PARAM(spring.kappa, p->spring.kappa >= 0 && p->spring.kappa < CSIMI_HUGE, "0 or more, kg");
    CSIMI_PARAM(sigma, p->sigma >= 0 && p->sigma < CSIMI_HUGE, "0 or more");
    CSIMI_PARAM(impulse.contact_method, (unsigned)p->impulse.contact_method < (unsigned)CSIM_CONTACT_METHOD_COUNT_,
                "a csim_contact_method");
    /* one or two sides bound no area */
    CSIMI_PARAM(impulse.sides, p->impulse.sides == 0 || (p->impulse.sides >= 3 && p->impulse.sides <= 64),
                "0, or 3 to 64");
    CSIMI_PARAM(impulse.relaxation, p->impulse.relaxation >= 0 && p->impulse.relaxation <= 2, "0 to 2");
    CSIMI_PARAM(impulse.rho, p->impulse.rho >= 0 && p->impulse.rho < CSIMI_HUGE, "0 or more");
    CSIMI_PARAM(newton.ncp, (unsigned)p->newton.ncp < (unsigned)CSIM_NCP_COUNT_, "a csim_ncp");
    CSIMI_PARAM(newton.linear, (unsigned)p->newton.linear < (unsigned)CSIM_LINEAR_COUNT_, "a csim_linear");
    CSIMI_PARAM(inner, p->inner >= 0 && p->inner <= 1000000, "0 to 1000000");
    CSIMI_PARAM(newton.scaling, p->newton.scaling >= 0 && p->newton.scaling < CSIMI_HUGE, "0 or more, 1/kg");
    CSIMI_PARAM(substeps, p->substeps >= 0 && p->substeps <= 100000, "0 to 100000");
    CSIMI_PARAM(certify, p->certify >= 0 && p->certify <= 1000000000, "0 to 1e9"); /* 0: no certificate */
    CSIMI_PARAM(spring.damping, p->spring.damping >= 0 && p->spring.damping <= 1000, "0 to 1000");
    CSIMI_PARAM(history_capacity, p->history_capacity >= 0, "0 or more");
    return CSIM_OK;
}

#undef CSIMI_PARAM

CSIMI_FN void csimi_solution_take(const csim_problem *problem, const csim_real *v, const csim_real *lambda,
                                  csim_solution *solution) {
    CSIMI_MEMCPY(solution->v, v, 3 * (size_t)problem->A.n * sizeof *v);
    CSIMI_MEMCPY(solution->lambda, lambda, 3 * (size_t)problem->contact_count * sizeof *lambda);
}
