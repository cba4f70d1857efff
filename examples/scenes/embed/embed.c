/* embed FILE HEADER NAME [--check]: writes a text file as an array of C string literals, one a line; with --check
   only compares, and fails when HEADER is not what it would write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *data;
    size_t size, room;
} text;

static void die(const char *what, const char *path) {
    fprintf(stderr, "embed: %s %s\n", what, path);
    exit(1);
}

static void put(text *out, const char *data, size_t size) {
    if (out->size + size > out->room) {
        out->room = 2 * (out->size + size);
        out->data = (char *)realloc(out->data, out->room);
        if (!out->data) die("no memory for", "the output");
    }
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void put_text(text *out, const char *line) { put(out, line, strlen(line)); }

static int read_file(const char *path, text *out) {
    char block[4096];
    size_t size;
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    while ((size = fread(block, 1, sizeof block, file)) > 0) put(out, block, size);
    fclose(file);
    return 1;
}

static void put_escaped(text *out, char c) {
    char octal[8];
    if (c == '\n') {
        put_text(out, "\\n\",\n");
    } else if (c == '"' || c == '\\' || c == '?') { /* "??" would be a trigraph */
        put(out, "\\", 1);
        put(out, &c, 1);
    } else if ((unsigned char)c < 32 || (unsigned char)c > 126) {
        snprintf(octal, sizeof octal, "\\%03o", (unsigned)(unsigned char)c);
        put_text(out, octal);
    } else {
        put(out, &c, 1);
    }
}

int main(int argc, char **argv) {
    text in = {NULL, 0, 0}, out = {NULL, 0, 0}, old = {NULL, 0, 0};
    int fresh = 1;
    size_t i;
    FILE *file;
    if (argc < 4) die("usage: embed FILE HEADER NAME [--check], not", argc > 1 ? argv[1] : "nothing");
    if (!read_file(argv[1], &in)) die("cannot read", argv[1]);
    put_text(&out, "/* Written by embed.c; edit the page it was made of instead. */\nstatic const char *const ");
    put_text(&out, argv[3]);
    put_text(&out, "[] = {\n");
    for (i = 0; i < in.size; ++i) {
        if (in.data[i] == '\r') continue;
        if (fresh) put(&out, "\"", 1);
        put_escaped(&out, in.data[i]);
        fresh = in.data[i] == '\n';
    }
    if (!fresh) put_text(&out, "\\n\",\n");
    put_text(&out, "0};\n");
    if (argc > 4 && strcmp(argv[4], "--check") == 0) {
        if (!read_file(argv[2], &old) || old.size != out.size || memcmp(old.data, out.data, out.size) != 0)
            die("stale, run embed again:", argv[2]);
        return 0;
    }
    file = fopen(argv[2], "wb");
    if (!file || fwrite(out.data, 1, out.size, file) != out.size || fclose(file) != 0) die("cannot write", argv[2]);
    return 0;
}
