/* condsim-tables FOLDER [fast] [TABLE]: writes the tables, or those whose names begin so; the float build writes the
   one that needs it. */
#include "tables.h"
#include <stdio.h>

int main(int argc, char **argv) {
    int i;
    bool fast = false;
    const char *only = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: condsim-tables FOLDER [fast] [TABLE]\n");
        return 2;
    }
    for (i = 2; i < argc; i++) {
        if (strcmp(argv[i], "fast") == 0)
            fast = true;
        else
            only = argv[i];
    }
    page_folder(argv[1], fast, only);
    if (sizeof(csim_real) == 4) {
        tables_newton_floor();
        return page_faults() ? 1 : 0;
    }
    tables_cond();
    tables_percontact();
    tables_lcp();
    tables_newton();
    tables_staggered();
    tables_scaling();
    return page_faults() ? 1 : 0;
}
