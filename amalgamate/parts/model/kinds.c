/* model/kinds: the kinds of models in the order in which a step runs through them. */
#include "private.h"

CSIMI_FN const csimi_model *csimi_model_table(void) {
    /* kinds that a build leaves out leave as many empty rows behind the others */
    static const csimi_model table[CSIMI_MODEL_COUNT] = {
#if CSIMI_HAS_NODES
        {"point", NULL, NULL, NULL, csimi_point_assemble, csimi_point_advance, csimi_point_energy},
#endif
#ifndef CONDSIM_NO_RIGID
        {"rigid", csimi_rigid_couple, NULL, csimi_rigid_prepare, csimi_rigid_assemble, csimi_rigid_advance,
         csimi_rigid_energy},
#else
        {"rigid", NULL, NULL, NULL, NULL, csimi_rigid_advance, NULL}, /* they stand */
#endif
#ifndef CONDSIM_NO_SOFT
        {"tet", csimi_tet_couple, csimi_tet_bind, NULL, csimi_tet_assemble, NULL, csimi_tet_energy},
#endif
#ifndef CONDSIM_NO_CLOTH
        {"cloth", csimi_cloth_couple, csimi_cloth_bind, NULL, csimi_cloth_assemble, NULL, csimi_cloth_energy},
#endif
#ifndef CONDSIM_NO_SPRINGS
        {"spring", csimi_spring_couple, csimi_spring_bind, NULL, csimi_spring_assemble, NULL, csimi_spring_energy},
#endif
#ifndef CONDSIM_NO_CABLE
        {"cable", csimi_cable_couple, csimi_cable_bind, csimi_cable_prepare, csimi_cable_assemble, csimi_cable_advance,
         csimi_cable_energy},
#endif
#if !defined(CONDSIM_NO_TREE) || !defined(CONDSIM_NO_REDUCED)
        {"tree", csimi_tree_couple, csimi_tree_bind, csimi_reduced_prepare, csimi_tree_assemble, csimi_tree_advance,
         csimi_tree_energy},
#endif
    };
    return table;
}
