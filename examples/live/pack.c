/* pack PAGE PROGRAM OUT: the page with the program in the place of @@WASM@@, in base 64. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    unsigned char *data = NULL;
    size_t room = 0, n;
    *size = 0;
    if (!file) return NULL;
    do {
        if (*size + 4097 > room) data = (unsigned char *)realloc(data, room = 2 * room + 8192);
        if (!data) return NULL;
        n = fread(data + *size, 1, 4096, file);
        *size += n;
    } while (n > 0);
    data[*size] = 0;
    fclose(file);
    return data;
}

static void put_base64(FILE *out, const unsigned char *data, size_t size) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i;
    for (i = 0; i < size; i += 3) {
        const unsigned rest = (unsigned)(size - i), bits = (unsigned)data[i] << 16 | (rest > 1 ? data[i + 1] << 8 : 0) |
                                                           (rest > 2 ? data[i + 2] : 0);
        fputc(digit[bits >> 18], out);
        fputc(digit[bits >> 12 & 63], out);
        fputc(rest > 1 ? digit[bits >> 6 & 63] : '=', out);
        fputc(rest > 2 ? digit[bits & 63] : '=', out);
    }
}

int main(int argc, char **argv) {
    static const char mark[] = "@@WASM@@";
    size_t page_size, program_size;
    unsigned char *page, *program;
    const char *at;
    FILE *out;
    if (argc < 4) return fprintf(stderr, "usage: pack PAGE PROGRAM OUT\n"), 2;
    page = read_all(argv[1], &page_size);
    program = read_all(argv[2], &program_size);
    at = page ? strstr((const char *)page, mark) : NULL;
    if (!at || !program) return fprintf(stderr, "pack: cannot use %s\n", !at ? argv[1] : argv[2]), 1;
    out = fopen(argv[3], "wb");
    if (!out) return fprintf(stderr, "pack: cannot write %s\n", argv[3]), 1;
    fwrite(page, 1, (size_t)(at - (const char *)page), out);
    put_base64(out, program, program_size);
    fputs(at + strlen(mark), out);
    free(page);
    free(program);
    return fclose(out) != 0;
}
