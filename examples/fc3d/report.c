#include "fc3d.h"
int fc3d_report(const char *directory, int file_count, char **files) {
    (void)directory;
    (void)file_count;
    (void)files;
    return 0;
}
