/* Memory for fields, of several tests. */
#ifndef FIELD_MEMORY_H
#define FIELD_MEMORY_H

/* A block aligned to 64 as long as the test runs. */
static void *block_of(size_t bytes) {
    static unsigned char *kept[64];
    static int at;
    unsigned char *p;
    free(kept[at % 64]);
    p = kept[at++ % 64] = (unsigned char *)malloc(bytes + 64);
    return p + (64 - (uintptr_t)p % 64) % 64;
}

#endif
