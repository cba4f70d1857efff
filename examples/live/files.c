/* Files of the live page: a page has no folder, so what scenes open by name is in the program (mascot.h, written by
   embed). The linker sends fopen here (--wrap=fopen). */
#include "mascot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode) {
    static char *text;
    static size_t size;
    int i;
    if (strcmp(path, "examples/scenes/mascot.msh") != 0 || mode[0] != 'r') return NULL;
    if (!text) {
        for (i = 0; mascot[i]; i++) size += strlen(mascot[i]);
        text = (char *)malloc(size + 1);
        if (!text) return NULL;
        for (i = 0, text[0] = 0, size = 0; mascot[i]; i++) {
            strcpy(text + size, mascot[i]);
            size += strlen(mascot[i]);
        }
    }
    return fmemopen(text, size, "r");
}
