/* The rooms of amalgamate/parts, computed from the sources: which file defines each function, and which files use it.
   Fails where files stand in a circle, where a room uses a later one (the order is that of parts.list; a private header
   counts by what it includes and what its inline functions call), and where two parts have the same name.

       rooms [folder of the repository]      -v prints every arrow between rooms with the number of functions it carries */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 256, NAMES = 8192, ROOMS = 32 };

typedef struct {
    char path[128], *text;
    int room, body; /* body: a .c file; public headers are of no room */
} part;

typedef struct {
    char name[64];
    int file;
} function;

static part parts[FILES];
static function functions[NAMES];
static char rooms[ROOMS][32];
static int part_count, function_count, room_count, failures, arrows;
static const char *carried[FILES][FILES]; /* one function that file a has of file b */
static int between[ROOMS][ROOMS];

static void die(const char *what, const char *which) {
    fprintf(stderr, "rooms: %s: %s\n", what, which);
    exit(1);
}

static char *read_file(const char *root, const char *path) {
    char name[512], *text;
    long size = 0;
    FILE *f;
    snprintf(name, sizeof name, "%s/amalgamate/%s", root, path);
    f = fopen(name, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0) die("cannot read", name);
    rewind(f);
    text = (char *)calloc(1, (size_t)size + 2);
    if (!text || fread(text, 1, (size_t)size, f) != (size_t)size) die("cannot read", name);
    fclose(f);
    return text;
}

/* Comments and the insides of strings become blanks; lines of #include stay, they are read before. */
static void blank(char *p) {
    while (*p) {
        if (p[0] == '/' && p[1] == '*') {
            while (*p && !(p[0] == '*' && p[1] == '/')) {
                if (*p != '\n') *p = ' ';
                ++p;
            }
            if (*p) p[0] = p[1] = ' ';
        } else if (*p == '"' || *p == '\'') {
            const char quote = *p++;
            while (*p && *p != quote && *p != '\n') {
                if (*p == '\\' && p[1]) *p++ = ' ';
                *p++ = ' ';
            }
        }
        if (*p) ++p;
    }
}

static int room_of(const char *path) {
    const size_t length = strcspn(path, "/");
    int i;
    for (i = 0; i < room_count; ++i)
        if (strlen(rooms[i]) == length && strncmp(rooms[i], path, length) == 0) return i;
    return -1;
}

/* Rooms in the order of their first private or body line. */
static void read_list(const char *root) {
    char *list = read_file(root, "parts.list"), *line, kind[16], path[112], below[128];
    for (line = strtok(list, "\n"); line; line = strtok(NULL, "\n")) {
        part *p = parts + part_count;
        if (line[0] == '#' || sscanf(line, "%15s %111s", kind, path) != 2) continue;
        if (part_count == FILES || room_count == ROOMS) die("too many parts", path);
        snprintf(below, sizeof below, "parts/%s", path);
        strcpy(p->path, path);
        p->text = read_file(root, below);
        p->body = strcmp(kind, "body") == 0;
        p->room = -1;
        if (strcmp(kind, "public") != 0) {
            if (room_of(path) < 0) sprintf(rooms[room_count++], "%.*s", (int)strcspn(path, "/") & 31, path);
            p->room = room_of(path);
        }
        ++part_count;
    }
    free(list);
}

/* ---- what is written twice, what is included */

static int same_room(const char *a, const char *b) {
    const size_t n = strcspn(a, "/");
    return n == strcspn(b, "/") && strncmp(a, b, n) == 0;
}

/* private.h is in every room; a header and its body share a name. */
static void check_names(void) {
    int i, k;
    for (i = 0; i < part_count; ++i)
        for (k = 0; k < i; ++k) {
            const char *a = strchr(parts[i].path, '/') + 1, *b = strchr(parts[k].path, '/') + 1;
            const size_t n = strcspn(a, ".");
            if (n != strcspn(b, ".") || strncmp(a, b, n) != 0 || strcmp(a, "private.h") == 0) continue;
            if (strcmp(a, b) != 0 && same_room(parts[i].path, parts[k].path)) continue;
            printf("FAIL two parts have one name: %s, %s\n", parts[k].path, parts[i].path);
            ++failures;
        }
}

static void check_includes(const part *p) {
    const char *at = p->text;
    char room[64];
    while ((at = strstr(at, "#include \"../")) != NULL) {
        const char *name = at + 13;
        at = name;
        sprintf(room, "%.*s", (int)strcspn(name, "\"") & 63, name);
        if (strstr(room, "/private.h") && room_of(room) > p->room) {
            printf("FAIL %s includes %s of a later room\n", p->path, room);
            ++failures;
        }
    }
}

/* ---- functions */

/* absent.c answers for the parts that a switch leaves out, under their names: it is never there together with them. */
static int stands_in(const part *p) { return strcmp(p->path, "world/absent.c") == 0; }

static int by_name(const void *a, const void *b) {
    return strcmp(((const function *)a)->name, ((const function *)b)->name);
}

static int is_word(int c) { return isalnum(c) || c == '_'; }

/* The identifier at p into word; returns its length, 0: none of ours. */
static size_t ours(const char *p, char *word) {
    size_t n = 0;
    if (strncmp(p, "csim_", 5) != 0 && strncmp(p, "csimi_", 6) != 0) return 0;
    while (is_word((unsigned char)p[n]) && n < 63) ++n;
    memcpy(word, p, n);
    word[n] = 0;
    return n;
}

/* Lines that begin with CSIMI_FN or CSIM_API define what stands before their first bracket, if a body follows. */
static void find_functions(int file) {
    const char *p = parts[file].text;
    for (; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : p) {
        const char *open, *end, *name;
        if (strncmp(p, "CSIMI_FN ", 9) != 0 && strncmp(p, "CSIM_API ", 9) != 0) continue;
        open = strchr(p, '(');
        end = open ? strpbrk(open, ";{") : NULL;
        if (!end || *end != '{') continue;
        for (name = open; name > p && is_word((unsigned char)name[-1]);) --name;
        if (function_count == NAMES) die("too many functions", parts[file].path);
        if (ours(name, functions[function_count].name)) functions[function_count++].file = file;
    }
}

static void find_uses(int file) {
    const part *p = parts + file;
    const char *at = p->text;
    function key;
    while (*at) {
        const function *f;
        size_t n;
        if (at > p->text && is_word((unsigned char)at[-1])) {
            ++at;
            continue;
        }
        n = ours(at, key.name);
        f = n ? (const function *)bsearch(&key, functions, (size_t)function_count, sizeof key, by_name) : NULL;
        at += n ? n : 1;
        if (!f || f->file == file) continue;
        if (parts[f->file].room > p->room) {
            printf("FAIL %s uses %s of %s, a later room\n", p->path, f->name, parts[f->file].path);
            ++failures;
        }
        if (!p->body || carried[file][f->file]) continue;
        carried[file][f->file] = f->name;
        ++between[p->room][parts[f->file].room];
        ++arrows;
    }
}

/* ---- circles: what is left when all that uses nothing left, and all that nothing left uses, has been taken away. */

static int stands_alone(const unsigned char *gone, int file) {
    int k, uses = 0, used = 0;
    for (k = 0; k < part_count; ++k) {
        if (gone[k]) continue;
        uses |= carried[file][k] != NULL;
        used |= carried[k][file] != NULL;
    }
    return !uses || !used;
}

static void check_circles(void) {
    unsigned char gone[FILES] = {0};
    int i, k, changed = 1;
    while (changed)
        for (changed = i = 0; i < part_count; ++i)
            if (!gone[i] && stands_alone(gone, i)) gone[i] = 1, changed = 1;
    for (i = 0; i < part_count; ++i)
        for (k = 0; k < part_count; ++k)
            if (!gone[i] && !gone[k] && carried[i][k]) {
                printf("FAIL in a circle of files: %s -> %s (%s)\n", parts[i].path, parts[k].path, carried[i][k]);
                ++failures;
            }
}

int main(int argc, char **argv) {
    const int verbose = argc > 1 && strcmp(argv[argc - 1], "-v") == 0;
    int i, k;
    read_list(argc > 1 + verbose ? argv[1] : ".");
    check_names();
    for (i = 0; i < part_count; ++i) {
        if (parts[i].room >= 0) check_includes(parts + i);
        blank(parts[i].text);
        if (parts[i].body && !stands_in(parts + i)) find_functions(i);
    }
    qsort(functions, (size_t)function_count, sizeof *functions, by_name);
    for (i = 0; i < part_count; ++i)
        if (parts[i].room >= 0 && !stands_in(parts + i)) find_uses(i);
    check_circles();
    for (i = 0; verbose && i < room_count; ++i)
        for (k = 0; k < room_count; ++k)
            if (i != k && between[i][k]) printf("%s -> %s: %d arrows\n", rooms[i], rooms[k], between[i][k]);
    if (function_count < 100 || arrows < 100) die("found next to nothing", "is this the repository?");
    printf("%s rooms: %d rooms, %d parts, %d shared functions, %d arrows between files, %d faults\n",
           failures ? "FAIL" : "ok", room_count, part_count, function_count, arrows, failures);
    for (i = 0; i < part_count; ++i) free(parts[i].text);
    return failures != 0;
}
