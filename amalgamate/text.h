/* What the programs here share: an end with a sentence, and text that grows. PROGRAM is the name it ends under. */
#ifndef TEXT_H
#define TEXT_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *data;
    size_t size, capacity;
} text;

static void fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs(PROGRAM ": ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(1);
}

static void append_bytes(text *t, const char *data, size_t size) {
    if (t->size + size + 1 > t->capacity) {
        t->capacity = 2 * (t->size + size + 1);
        t->data = (char *)realloc(t->data, t->capacity);
        if (!t->data) fail("out of memory");
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = 0;
}

static void append(text *t, const char *format, ...) {
    char line[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    append_bytes(t, line, strlen(line));
}
#endif
