/* Joins the parts of the library into one header.

       amalgamate [--check] [root]

   Reads root/amalgamate/parts.list, the parts it names, manual.txt and LICENSE, and writes root/condsim.h, or with
   --check says whether that file is what would be written. Parts go in the order of the list; #include "..." lines
   go away, after a check that they name a part that comes earlier; everything else stays as it is. The output
   depends on the parts alone: no time, no path, LF only. */
#define PROGRAM "amalgamate"
#include "text.h"
#include <stdbool.h>
#include <stdint.h>
#if defined(__unix__) || defined(__APPLE__)
#include <dirent.h>
#define HAVE_DIRENT
#endif

enum { MAX_PARTS = 512, MAX_NAMES = 1024, MAX_STATICS = 4096, MAX_PATH = 1024 };
enum { PUBLIC, PRIVATE, BODY, KINDS };

typedef struct part {
    int kind;
    char path[256];     /* below amalgamate/parts/ */
    char features[256]; /* names, one of which keeps it; empty: always there */
    bool cold;          /* what runs now and then: compiled for size */
    char *source;
} part;

static const char *const kind_names[KINDS] = {"public", "private", "body"};
static const char *root = ".";
static part parts[MAX_PARTS];
static int part_count;
static text out;

/* ---- text */

/* A file below root, zero-terminated, without carriage returns; null when it cannot be opened. */
static char *read_file(const char *name) {
    char path[MAX_PATH], buffer[4096];
    text t = {NULL, 0, 0};
    size_t got, i;
    FILE *file;
    snprintf(path, sizeof path, "%s/%s", root, name);
    file = fopen(path, "rb");
    if (!file) return NULL;
    append_bytes(&t, "", 0);
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
        for (i = 0; i < got; ++i)
            if (buffer[i] != '\r') append_bytes(&t, buffer + i, 1);
    fclose(file);
    return t.data;
}

static char *need_file(const char *name) {
    char *data = read_file(name);
    if (!data) fail("cannot read %s", name);
    return data;
}

static size_t line_length(const char *line) {
    const size_t n = strcspn(line, "\n");
    return n + (line[n] == '\n');
}

/* If line is "#<word> rest": where rest starts; else null. Takes spaces around '#' as the language does. */
static const char *directive(const char *line, const char *word) {
    line += strspn(line, " \t");
    if (*line != '#') return NULL;
    line += 1 + strspn(line + 1, " \t");
    if (strncmp(line, word, strlen(word)) != 0) return NULL;
    line += strlen(word);
    return *line == ' ' || *line == '\t' ? line + strspn(line, " \t") : NULL;
}

/* ---- the list */

static int find_part(const char *path) {
    int i;
    for (i = 0; i < part_count; ++i)
        if (strcmp(parts[i].path, path) == 0) return i;
    return -1;
}

static void read_list(void) {
    const char *line = need_file("amalgamate/parts.list");
    int number = 1, kind, k;
    for (; *line; line += line_length(line), ++number) {
        char word[16], path[256], features[256] = "", file[MAX_PATH];
        if (*line == '#' || *line == '\n') continue;
        if (sscanf(line, "%15s %255[^ \n]%*[ ]%255[^\n]", word, path, features) < 2)
            fail("parts.list:%d: not \"kind path features\"", number);
        for (kind = KINDS, k = 0; k < KINDS; ++k)
            if (strcmp(word, kind_names[k]) == 0) kind = k;
        if (kind == KINDS) fail("parts.list:%d: %s is not public, private or body", number, word);
        if (find_part(path) >= 0) fail("parts.list:%d: %s is listed twice", number, path);
        if (part_count == MAX_PARTS) fail("more than %d parts", MAX_PARTS);
        if (part_count && parts[part_count - 1].kind > kind) fail("parts.list:%d: %s after a later kind", number, path);
        snprintf(file, sizeof file, "amalgamate/parts/%s", path);
        parts[part_count].kind = kind;
        strcpy(parts[part_count].path, path);
        parts[part_count].cold = strncmp(features, "cold", 4) == 0 && (features[4] == ' ' || features[4] == 0);
        strcpy(parts[part_count].features, features + (parts[part_count].cold ? 4 + (features[4] == ' ') : 0));
        parts[part_count].source = read_file(file);
        if (!parts[part_count].source) fail("%s is listed but missing", file);
        ++part_count;
    }
}

#ifdef HAVE_DIRENT
/* A file that lies in a room but not in the list would be left out without a word. */
static void check_unlisted(const char *room) {
    char path[MAX_PATH];
    const struct dirent *entry;
    DIR *dir;
    snprintf(path, sizeof path, "%s/amalgamate/parts/%s", root, room);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        const size_t n = strlen(entry->d_name);
        if (n < 3 || (strcmp(entry->d_name + n - 2, ".c") != 0 && strcmp(entry->d_name + n - 2, ".h") != 0)) continue;
        snprintf(path, sizeof path, "%s/%s", room, entry->d_name);
        if (find_part(path) < 0) fail("amalgamate/parts/%s is not in amalgamate/parts.list", path);
    }
    if (dir) closedir(dir);
}

static void check_all_listed(void) {
    int i;
    for (i = 0; i < part_count; ++i) {
        char room[256];
        strcpy(room, parts[i].path);
        if (strchr(room, '/')) *strchr(room, '/') = 0;
        check_unlisted(room);
    }
}
#else
static void check_all_listed(void) {}
#endif

/* ---- includes between parts */

/* "world/step.c" including "../base/private.h" means "base/private.h". */
static void resolve(const char *from, const char *include, char *path) {
    char *slash;
    strcpy(path, from);
    slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    else
        *path = 0;
    for (; strncmp(include, "../", 3) == 0; include += 3) {
        slash = strrchr(path, '/');
        if (slash)
            *slash = 0;
        else
            *path = 0;
    }
    if (*path) strcat(path, "/");
    strcat(path, include);
}

static void check_include(int from, const char *include, int line) {
    char path[512], name[200];
    int target;
    if (sscanf(include, "\"%199[^\"]\"", name) != 1) fail("%s:%d: cannot read this include", parts[from].path, line);
    resolve(parts[from].path, name, path);
    target = find_part(path);
    if (target < 0) fail("%s:%d: %s is included but not in amalgamate/parts.list", parts[from].path, line, path);
    if (target >= from) fail("%s:%d: %s comes later in amalgamate/parts.list", parts[from].path, line, path);
}

/* ---- names that are static to one part but meet in one file */

/* If the line opens what is static to its part, a function or data: its name. */
static bool static_name(const char *line, char *name) {
    const char *end = line + strcspn(line, "(=;[\n"), *start;
    if (strncmp(line, "static ", 7) != 0 || *end == '\n' || *end == 0) return false;
    while (end > line && end[-1] == ' ') --end;
    for (start = end; start > line && strchr(" *", start[-1]) == NULL;) --start;
    if (end - start >= 64) return false;
    memcpy(name, start, (size_t)(end - start));
    name[end - start] = 0;
    return true;
}

static void check_unique(void) {
    static char names[MAX_STATICS][64];
    static int owner[MAX_STATICS];
    int count = 0, clashes = 0, i, k;
    for (i = 0; i < part_count; ++i) {
        const char *line = parts[i].source;
        for (; *line; line += line_length(line)) {
            char name[64];
            if (!static_name(line, name)) continue;
            for (k = 0; k < count; ++k) {
                if (owner[k] == i || strcmp(names[k], name) != 0) continue;
                fprintf(stderr, "amalgamate: %s is in %s and in %s: rename one\n", name, parts[owner[k]].path,
                        parts[i].path);
                ++clashes;
            }
            if (count == MAX_STATICS) fail("more than %d static names", MAX_STATICS);
            owner[count] = i;
            strcpy(names[count++], name);
        }
    }
    if (clashes) fail("%d names are there twice", clashes);
}

/* ---- writing */

static uint64_t hash_of_parts(void) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    int i;
    for (i = 0; i < part_count; ++i) {
        const char *strings[4], *c;
        int k;
        strings[0] = parts[i].path;
        strings[1] = parts[i].features;
        strings[2] = parts[i].source;
        strings[3] = parts[i].cold ? "cold" : "";
        for (k = 0; k < 4; ++k)
            for (c = strings[k]; *c; ++c) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    }
    return hash;
}

static int version_number(const char *name) {
    const int config = find_part("base/config.h");
    const char *at = config < 0 ? NULL : strstr(parts[config].source, name);
    if (!at) fail("base/config.h does not define %s", name);
    return atoi(at + strlen(name));
}

/* A text as the inside of a comment. */
static void append_comment(const char *line) {
    for (; *line; line += line_length(line)) {
        if (*line != '\n') append(&out, "   ");
        append_bytes(&out, line, line_length(line));
    }
}

/* "tree reduced": #if !defined(CONDSIM_NO_TREE) || !defined(CONDSIM_NO_REDUCED) */
static void append_condition(const part *p) {
    const char *word = p->features;
    int count = 0;
    append(&out, "#if");
    while (*word) {
        size_t n = strcspn(word, " "), i;
        append(&out, "%s !defined(CONDSIM_NO_", !count ? "" : count % 3 ? " ||" : " || \\\n   ");
        ++count;
        for (i = 0; i < n; ++i) append(&out, "%c", word[i] >= 'a' && word[i] <= 'z' ? word[i] - 'a' + 'A' : word[i]);
        append(&out, ")");
        word += n;
        word += strspn(word, " ");
    }
    append(&out, "\n");
}

/* Parts that are compiled for size stand in runs, with one mark where a run begins and one where it ends. */
static void append_gap(bool cold) {
    static bool within;
    append(&out, cold == within ? "\n" : cold ? "CSIMI_COLD\n" : "CSIMI_WARM\n");
    within = cold;
}

/* Whether a word is the mark by which a part keeps from being read twice, of which the joined file has none. */
static bool is_guard(const char *word) {
    const size_t n = word ? strcspn(word, " \n") : 0;
    return n > 2 && memcmp(word + n - 2, "_H", 2) == 0;
}

/* The directive that ends it, or null: the part has no such mark. */
static const char *guard_end(const char *line) {
    const char *last = NULL;
    bool guarded = false;
    for (; *line; line += line_length(line)) {
        guarded = guarded || is_guard(directive(line, "ifndef"));
        if (*line == '#') last = line;
    }
    return guarded ? last : NULL;
}

static void append_part(int index) {
    const part *p = &parts[index];
    const char *line = p->source, *end = guard_end(line);
    int number = 1;
    append_gap(p->cold);
    append(&out, "/* ==== begin %s %.*s */\n", p->path, (int)(100 - strlen(p->path)),
           "====================================================================================================");
    if (*p->features) append_condition(p);
    for (; *line; line += line_length(line), ++number) {
        const char *include = directive(line, "include");
        if (include && *include == '"')
            check_include(index, include, number);
        else if (line == end || is_guard(directive(line, "ifndef")) || is_guard(directive(line, "define")))
            continue;
        else if (*line != '\n' || memcmp(out.data + out.size - 2, "\n\n", 2) != 0) /* none where an include was */
            append_bytes(&out, line, line_length(line));
    }
    if (out.data[out.size - 1] != '\n') append(&out, "\n");
    while (end && out.data[out.size - 2] == '\n') out.data[--out.size] = 0;
    if (*p->features) append(&out, "#endif\n");
}

static void append_kind(int kind) {
    int i;
    for (i = 0; i < part_count; ++i)
        if (parts[i].kind == kind) append_part(i);
}

static bool has_name(char names[][64], int count, const char *name) {
    int i;
    for (i = 0; i < count; ++i)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* Private macros of the implementation end with it, except those that the public part needs again. */
static void append_undefs(void) {
    static char names[MAX_NAMES][64];
    int count = 0, i;
    for (i = 0; i < part_count; ++i) {
        const char *line = parts[i].source;
        for (; *line; line += line_length(line)) {
            const char *name = directive(line, "define");
            char word[64];
            if (!name || sscanf(name, "%63[A-Za-z0-9_]", word) != 1 || strncmp(word, "CSIMI_", 6) != 0 ||
                is_guard(word))
                continue;
            if (has_name(names, count, word)) continue;
            if (count == MAX_NAMES) fail("more than %d private macros", MAX_NAMES);
            strcpy(names[count++], word);
            if (parts[i].kind != PUBLIC) append(&out, "#undef %s\n", word);
        }
    }
}

static const char *const warnings_off = /* styles that C needs and C++ frowns on */
    "#if defined(__cplusplus) && defined(__GNUC__)\n"
    "#pragma GCC diagnostic push\n"
    "#pragma GCC diagnostic ignored \"-Wold-style-cast\"\n"
    "#pragma GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"\n"
    "#ifndef __clang__\n"
    "#pragma GCC diagnostic ignored \"-Wuseless-cast\"\n"
    "#endif\n"
    "#endif\n";
static const char *const warnings_on = "#if defined(__cplusplus) && defined(__GNUC__)\n"
                                       "#pragma GCC diagnostic pop\n"
                                       "#endif\n";

static void write_header(void) {
    append(&out, "/* condsim.h %d.%d.%d: frictional contact, single-header C library\n",
           version_number("CSIM_VERSION_MAJOR"), version_number("CSIM_VERSION_MINOR"),
           version_number("CSIM_VERSION_PATCH"));
    append(&out, "   SPDX-License-Identifier: MIT (text at the end of this file)\n");
    append(&out, "   Hash of the parts: %016llx\n\n", (unsigned long long)hash_of_parts());
    append_comment(need_file("amalgamate/manual.txt"));
    append(&out, "*/\n\n%s\n", warnings_off);
    append(&out, "#if !defined(CONDSIM_H) && !defined(CSIM_CONFIG_H) /* nor one of the parts */\n#define CONDSIM_H\n");
    append_kind(PUBLIC);
    append(&out, "\n#endif /* CONDSIM_H */\n\n");
    append(&out, "#if defined(CONDSIM_IMPLEMENTATION) && !defined(CONDSIM_IMPLEMENTED)\n");
    append(&out, "#define CONDSIM_IMPLEMENTED\n#define CSIMI_AMALGAMATED 1\n");
    append_kind(PRIVATE);
    append_kind(BODY);
    append_gap(false);
    append(&out, "#ifndef CSIMI_KEEP_MACROS /* the library's own tests keep them */\n#undef CSIMI_AMALGAMATED\n");
    append_undefs();
    append(&out, "#endif\n\n#endif /* CONDSIM_IMPLEMENTATION */\n\n%s\n/*\n", warnings_on);
    append_comment(need_file("LICENSE"));
    append(&out, "*/\n");
}

int main(int argc, char **argv) {
    char path[MAX_PATH];
    bool check = false;
    FILE *file;
    int i;
    for (i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--check") == 0)
            check = true;
        else
            root = argv[i];
    }
    read_list();
    check_all_listed();
    check_unique();
    write_header();
    if (check) {
        const char *old = read_file("condsim.h");
        if (!old) fail("condsim.h is missing: run `make header`");
        if (strcmp(old, out.data) != 0) fail("condsim.h is stale: run `make header`");
        return 0;
    }
    snprintf(path, sizeof path, "%s/condsim.h", root);
    file = fopen(path, "wb");
    if (!file || fwrite(out.data, 1, out.size, file) != out.size || fclose(file) != 0) fail("cannot write %s", path);
    return 0;
}
