/* solve/traits: what is known of each solver before it runs, and the parameters. */
#include "private.h"

CSIMI_FN const csimi_solver_traits *csimi_solver_traits_of(csim_solver solver) {
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
    static const csimi_solver_traits traits[CSIM_SOLVER_COUNT_] = {
        /* name; rows of W; laws; needs */
        {"auto", false, CSIMI_ALL_LAWS, any},
        {"cond", false, CSIMI_ALL_LAWS, any},
        {"sweep", false, CSIMI_ALL_LAWS, any},
        {"anderson", false, CSIMI_ALL_LAWS, any},
        {"proximal", false, CSIMI_ALL_LAWS, any},
        {"pgs", true, CSIMI_ALL_LAWS, blocks},
        {"apgd", false, CSIMI_ALL_LAWS, any},
        {"percontact", true, CSIMI_ALL_LAWS, blocks},
        {"staggered", false, CSIMI_ALL_LAWS, any},
        {"ccs", false, CSIMI_ALL_LAWS, any},
        {"newton", false, CSIMI_NONSMOOTH_LAWS, newton},
        {"newton-proximal", false, CSIMI_NONSMOOTH_LAWS, newton},
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
    return csimi_solver_traits_of(params->solver)->rows || (newton && params->linear == CSIM_LINEAR_GAUSS_SEIDEL);
}

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
    p.tolerance = CSIM_R(5e-5);
    p.max_iterations = 3000;
    p.gain = CSIM_R(1e3);
    p.shift = true;
    p.geometric = true;
    p.certify = 1;
    p.damping = 1;
    return p;
}

/* ---- a certificate that is left out */

CSIMI_FN csim_result csimi_leave_unchecked(double measure, csim_certificate *certificate) {
    CSIMI_MEMSET(certificate, 0, sizeof *certificate);
    certificate->worst_contact = -1;
    certificate->contact = measure;
    certificate->dynamics = certificate->velocity = certificate->work = (double)CSIMI_HUGE;
    return CSIM_RESULT_UNCHECKED;
}

/* ---- parameters */

static csim_status csimi_solver_range(csim_error *error, const char *field, double value, const char *allowed) {
    return csimi_fail(error, CSIM_OUT_OF_RANGE, "csim_problem_solve", field, true, value, allowed);
}

CSIMI_FN csim_status csimi_solver_check(const csim_solver_params *p, csim_error *error) {
    if ((unsigned)p->solver >= (unsigned)CSIM_SOLVER_COUNT_)
        return csimi_solver_range(error, "params.solver", (double)(int)p->solver, "a csim_solver");
    if (!(p->tolerance > 0 && p->tolerance <= CSIM_R(0.1)))
        return csimi_solver_range(error, "params.tolerance", (double)p->tolerance, "above 0, at most 0.1");
    if (p->max_iterations < 1 || p->max_iterations > 1000000)
        return csimi_solver_range(error, "params.max_iterations", (double)p->max_iterations, "1 to 1000000");
    if ((unsigned)p->weight >= (unsigned)CSIM_WEIGHT_COUNT_)
        return csimi_solver_range(error, "params.weight", (double)(int)p->weight, "a csim_weight");
    if ((unsigned)p->acceleration >= (unsigned)CSIM_ACCELERATION_COUNT_)
        return csimi_solver_range(error, "params.acceleration", (double)(int)p->acceleration, "a csim_acceleration");
    if (p->window < 0 || p->window > 32)
        return csimi_solver_range(error, "params.window", (double)p->window, "0 to 32");
    if (!(p->gain >= 1 && p->gain <= CSIM_R(1e8)))
        return csimi_solver_range(error, "params.gain", (double)p->gain, "1 to 1e8");
    if (!(p->kappa >= 0 && p->kappa < CSIMI_HUGE))
        return csimi_solver_range(error, "params.kappa", (double)p->kappa, "0 or more, kg");
    if (!(p->sigma >= 0 && p->sigma < CSIMI_HUGE))
        return csimi_solver_range(error, "params.sigma", (double)p->sigma, "0 or more");
    if ((unsigned)p->contact_method >= (unsigned)CSIM_CONTACT_METHOD_COUNT_)
        return csimi_solver_range(error, "params.contact_method", (double)(int)p->contact_method,
                                  "a csim_contact_method");
    if (p->sides < 0 || p->sides > 64 || p->sides == 1 || p->sides == 2)
        return csimi_solver_range(error, "params.sides", p->sides, "0, or 3 to 64");
    if (!(p->relaxation >= 0 && p->relaxation <= 2))
        return csimi_solver_range(error, "params.relaxation", (double)p->relaxation, "0 to 2");
    if (!(p->rho >= 0 && p->rho < CSIMI_HUGE))
        return csimi_solver_range(error, "params.rho", (double)p->rho, "0 or more");
    if ((unsigned)p->ncp >= (unsigned)CSIM_NCP_COUNT_)
        return csimi_solver_range(error, "params.ncp", (double)(int)p->ncp, "a csim_ncp");
    if ((unsigned)p->linear >= (unsigned)CSIM_LINEAR_COUNT_)
        return csimi_solver_range(error, "params.linear", (double)(int)p->linear, "a csim_linear");
    if (p->inner < 0 || p->inner > 1000000)
        return csimi_solver_range(error, "params.inner", (double)p->inner, "0 to 1000000");
    if (!(p->scaling >= 0 && p->scaling < CSIMI_HUGE))
        return csimi_solver_range(error, "params.scaling", (double)p->scaling, "0 or more, 1/kg");
    if (p->substeps < 0 || p->substeps > 100000)
        return csimi_solver_range(error, "params.substeps", (double)p->substeps, "0 to 100000");
    if (p->certify < 0 || p->certify > 1000000000)
        return csimi_solver_range(error, "params.certify", (double)p->certify, "0 to 1e9");
    if (!(p->damping >= 0 && p->damping <= 1000))
        return csimi_solver_range(error, "params.damping", (double)p->damping, "0 to 1000");
    if (p->history_capacity < 0)
        return csimi_solver_range(error, "params.history_capacity", (double)p->history_capacity, "0 or more");
    return CSIM_OK;
}
