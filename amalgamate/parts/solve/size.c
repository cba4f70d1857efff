/* solve/size: the sizes of a problem, for the memory of those who solve it. */
#include "private.h"

CSIM_API csim_problem_size csim_problem_measure(const csim_problem *problem) {
    csim_problem_size none; /* a problem that the check refuses has no size */
    CSIMI_MEMSET(&none, 0, sizeof none);
    return csim_problem_check(problem, NULL) == CSIM_OK ? csimi_problem_measure(problem) : none;
}

CSIMI_FN csim_problem_size csimi_problem_measure(const csim_problem *problem) {
    csim_problem_size size;
    const csim_structure *s = problem->structure;
    int m;
    CSIMI_MEMSET(&size, 0, sizeof size);
    size.blocks = problem->A.n;
    size.matrix_blocks = problem->A.n > 0 ? problem->A.row[problem->A.n] : 0; /* a number, wherever the rows lie */
    size.contacts = problem->contact_count;
    for (m = 0; m < problem->contact_count; ++m)
        size.terms += problem->contacts[m].a.count + problem->contacts[m].b.count;
    /* a given structure counts where COND can use it; else the pairs of blocks that COND would group by itself */
    size.aggregates = csimi_coarse_usable(s) ? s->aggregate_count : csimi_cond_pairs(problem);
    size.links = csimi_chains_links(s);
    size.elastic = s ? csimi_imax(s->elastic_count, 0) : 0;
    size.rigid = csimi_bodies_take(problem); /* SWEEP takes it on its bodies */
    size.factor_blocks = csimi_bodies_factor_blocks(problem);
    size.reach_blocks = csimi_bodies_reach_blocks(problem);
    return size;
}
