/* condsim-tables FOLDER [fast] [float]: writes the tables; the float build writes the one that needs it. */
#include "tables.h"
#include <stdio.h>

int main(int argc, char **argv) {
    int i;
    bool fast = false;
    const char *only = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: condsim-tables FOLDER [fast] [cond|percontact|lcp|newton|staggered]\n");
        return 2;
    }
    for (i = 2; i < argc; i++) {
        if (strcmp(argv[i], "fast") == 0)
            fast = true;
        else
            only = argv[i];
    }
    page_folder(argv[1], fast);
    if (sizeof(csim_real) == 4) {
        tables_newton_floor();
        return page_faults() ? 1 : 0;
    }
    if (!only || strcmp(only, "cond") == 0) tables_cond();
    if (!only || strcmp(only, "percontact") == 0) tables_percontact();
    if (!only || strcmp(only, "lcp") == 0) tables_lcp();
    if (!only || strcmp(only, "newton") == 0) tables_newton();
    if (!only || strcmp(only, "staggered") == 0) tables_staggered();
    return page_faults() ? 1 : 0;
}
