/* The contract of condsim.h that can be read off its text: names, macros, lengths, comments. audit.sh does the rest,
   which needs compilers. Run from the root of the project. */
#define CHECK_NO_LIBRARY
#include "check.h"
#include <ctype.h>

/* lines of code: a guard against growth; what explains them does not count */
enum { MAX_LINES = 60000, MAX_NAMES = 20000, CODE_BUDGET = 48309, WARN_LENGTH = 60, MOST_LENGTH = 80 };

static char *header; /* the file, and the same with comments and strings blanked */
static char *code;
static const char *line_at[MAX_LINES]; /* into code */
static const char *text_at[MAX_LINES]; /* into header */
static int line_count, implementation_line;

/* Comments, strings and character constants become spaces; lines stay lines. */
static void blank(char *c) {
    while (*c) {
        char quote = 0;
        if (c[0] == '/' && c[1] == '*') {
            for (; *c && !(c[0] == '*' && c[1] == '/'); ++c)
                if (*c != '\n') *c = ' ';
            if (*c) c[0] = c[1] = ' ', c += 2;
            continue;
        }
        if (c[0] == '/' && c[1] == '/')
            while (*c && *c != '\n') *c++ = ' ';
        else if (*c == '"' || *c == '\'')
            for (quote = *c++; *c && *c != quote && *c != '\n'; ++c) {
                if (*c == '\\' && c[1] != '\n') *c++ = ' ';
                *c = ' ';
            }
        if (*c) ++c;
    }
}

static bool load(void) {
    FILE *file;
    size_t size;
    char *c;
    if (line_count) return true;
    file = fopen("condsim.h", "rb");
    if (!file) return false;
    header = (char *)calloc(1, 8 << 20);
    size = header ? fread(header, 1, (8 << 20) - 1, file) : 0;
    fclose(file);
    code = (char *)calloc(1, size + 1);
    if (!size || !code) return false;
    memcpy(code, header, size);
    blank(code);
    for (c = code; *c && line_count < MAX_LINES; ++c) {
        if (c != code && c[-1] != '\n') continue;
        text_at[line_count] = header + (c - code);
        line_at[line_count++] = c;
        if (strncmp(c, "#if defined(CONDSIM_IMPLEMENTATION)", 35) == 0) implementation_line = line_count;
    }
    return implementation_line > 0;
}

static int word_length(const char *c) {
    int n = 0;
    if (!isalpha((unsigned char)*c) && *c != '_') return 0;
    while (isalnum((unsigned char)c[n]) || c[n] == '_') ++n;
    return n;
}

static bool starts(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

/* Words of the language and of the three freestanding headers that may stand at file scope. */
static bool known(const char *name) {
    static const char *const words[] = {
        "auto",     "bool",      "char",     "const",     "double",   "enum",    "extern",   "float",
        "inline",   "int",       "long",     "short",     "signed",   "sizeof",  "static",   "struct",
        "typedef",  "union",     "unsigned", "void",      "volatile", "true",    "false",    "NULL",
        "size_t",   "int8_t",    "int16_t",  "int32_t",   "int64_t",  "uint8_t", "uint16_t", "uint32_t",
        "uint64_t", "uintptr_t", "intptr_t", "ptrdiff_t", "FILE",
        "__attribute__"};
    size_t i;
    for (i = 0; i < sizeof words / sizeof *words; ++i)
        if (strcmp(words[i], name) == 0) return true;
    return false;
}

/* ---- a walk over everything that is declared at file scope or in an enum */

typedef void visit_fn(const char *name, int line, bool in_enum);

static bool in_directive(int line) {
    const char *c = line_at[line] + strspn(line_at[line], " \t");
    if (*c == '#') return true;
    return line > 0 && line_at[line][-2] == '\\' && in_directive(line - 1);
}

static void walk(int first, int last, visit_fn *visit) {
    int line, braces = 0, parens = 0, enum_depth = -1, initialiser = -1;
    bool enum_seen = false, assigned = false;
    for (line = first; line < last; ++line) {
        const char *c = line_at[line];
        if (in_directive(line)) continue;
        for (; *c && *c != '\n'; ++c) {
            const int n = word_length(c);
            if (n) {
                char name[128];
                snprintf(name, sizeof name, "%.*s", n < 127 ? n : 127, c);
                if (strcmp(name, "enum") == 0) enum_seen = true;
                if (!parens && !assigned && (braces == 0 || braces == enum_depth)) visit(name, line, braces != 0);
                c += n - 1;
                continue;
            }
            if (isdigit((unsigned char)*c)) { /* 0x1p3, 1e5f */
                while (isalnum((unsigned char)c[1]) || c[1] == '.') ++c;
                continue;
            }
            if (*c == '(') ++parens;
            if (*c == ')') --parens;
            if (*c == '=' && (braces == 0 || braces == enum_depth)) assigned = true;
            if (*c == ',' && braces == enum_depth) assigned = false;
            if (*c == '{') {
                ++braces;
                if (assigned && initialiser < 0)
                    initialiser = braces;
                else if (enum_seen && braces == 1)
                    enum_depth = 1;
                enum_seen = false;
            }
            if (*c == '}') {
                if (braces == initialiser) initialiser = -1;
                if (braces == enum_depth) enum_depth = -1, assigned = false;
                --braces;
            }
            if (*c == ';' && braces == 0 && initialiser < 0) assigned = enum_seen = false;
        }
    }
    EQUAL(braces, 0);
    EQUAL(parens, 0);
}

static char public_names[MAX_NAMES][72];
static int public_count, visited;

static bool is_public(const char *name) {
    int i;
    for (i = 0; i < public_count; ++i)
        if (strcmp(public_names[i], name) == 0) return true;
    return false;
}

static void visit_public(const char *name, int line, bool in_enum) {
    ++visited;
    if (known(name)) return;
    CASE("condsim.h:%d: %s", line + 1, name);
    if (in_enum)
        CHECK(starts(name, "CSIM_") || starts(name, "CSIMI_"));
    else
        CHECK(starts(name, "csim_") || starts(name, "CSIM_") || starts(name, "CSIMI_"));
    if (public_count < MAX_NAMES && !is_public(name)) snprintf(public_names[public_count++], 72, "%.71s", name);
}

static void visit_private(const char *name, int line, bool in_enum) {
    ++visited;
    if (known(name) || starts(name, "csimi_") || starts(name, "CSIMI_") || starts(name, "__attribute__")) return;
    CASE("condsim.h:%d: %s is neither private nor declared in a public part", line + 1, name);
    CHECK(!in_enum && is_public(name));
}

TEST(names_at_file_scope) {
    REQUIRE(load());
    visited = 0;
    walk(0, implementation_line - 1, visit_public);
    CASE("public");
    CHECK(visited > 300 && public_count > 100);
    visited = 0;
    walk(implementation_line, line_count, visit_private);
    CASE("private");
    CHECK(visited > 300);
}

TEST(names_of_macros) {
    int line, count = 0;
    REQUIRE(load());
    for (line = 0; line < line_count; ++line) {
        char name[128];
        if (sscanf(line_at[line], " # define %127[A-Za-z0-9_]", name) != 1) continue;
        ++count;
        CASE("condsim.h:%d: %s", line + 1, name);
        if (starts(name, "csim_"))
            CHECK(strstr(line_at[line], "_float") != NULL); /* the renames of a float build */
        else
            CHECK(starts(name, "CSIM_") || starts(name, "CSIMI_") || starts(name, "CONDSIM_"));
    }
    CASE("%d macros", count);
    CHECK(count > 40);
}

TEST(line_budget_and_layout) {
    int line, tabs = 0, trailing = 0, bytes = 0, wide = 0, coded = 0;
    REQUIRE(load());
    for (line = 0; line < line_count; ++line) {
        const char *c = text_at[line];
        const size_t n = strcspn(c, "\n");
        size_t i;
        if (n && (c[n - 1] == ' ' || c[n - 1] == '\r')) trailing = line + 1;
        if (n > 120) wide = line + 1;
        for (i = 0; i < n; ++i) {
            if (c[i] == '\t') tabs = line + 1;
            if ((unsigned char)c[i] >= 0x80) bytes = line + 1;
        }
    }
    CASE("condsim.h:%d has a tab", tabs);
    CHECK(!tabs);
    CASE("condsim.h:%d ends in space", trailing);
    CHECK(!trailing);
    CASE("condsim.h:%d is wider than 120", wide);
    CHECK(!wide);
    CASE("condsim.h:%d is not ASCII, and some compilers guess the encoding of a file", bytes);
    CHECK(!bytes);
    CASE("lines of code");
    for (line = 0; line < line_count; ++line)
        coded += line_at[line][strspn(line_at[line], " \t")] > '\n';
    printf("note: %d lines of code of %d allowed, in %d lines, %d of them public\n", coded, CODE_BUDGET, line_count,
           implementation_line);
    CHECK(coded <= CODE_BUDGET);
    CHECK(coded > 1000);
}

/* A body opens at column 0 with a line that ends in "{" after a ")", and closes with "}" at column 0. */
TEST(length_of_functions) {
    int line, start = -1, count = 0, longest = 0;
    static int lengths[400];
    REQUIRE(load());
    for (line = implementation_line; line < line_count; ++line) {
        const char *c = line_at[line];
        const char *end = c + strcspn(c, "\n");
        while (end > c && end[-1] == ' ') --end;
        if (start < 0 && end - c > 2 && end[-1] == '{' && !in_directive(line)) {
            const char *before = end - 2;
            while (before > c && *before == ' ') --before;
            if (*before == ')' && !isspace((unsigned char)*c))
                start = line;
            else if (*before == ')' && line > 0)
                start = line - 1; /* a signature of two lines */
        } else if (start >= 0 && *c == '}') {
            const int length = line - start + 1;
            char name[80];
            snprintf(name, sizeof name, "%.79s", line_at[start]);
            name[strcspn(name, "\n{")] = 0;
            ++count;
            if (length > longest) longest = length;
            ++lengths[length < 399 ? length : 399];
            CASE("condsim.h:%d: %s has %d lines", start + 1, name, length);
            CHECK(length <= MOST_LENGTH);
            if (length > WARN_LENGTH) printf("note: %d lines: %s\n", length, name);
            start = -1;
        }
    }
    {
        int median = 0, below = 0;
        while (median < 399 && (below += lengths[median]) * 2 < count) ++median;
        printf("note: %d functions above one line, median %d lines, longest %d\n", count, median, longest);
    }
    CASE("functions found");
    CHECK(count > 30);
}

/* A declaration is documented by a comment above it or beside it; a run of declarations without blank lines shares
   the comment above the first. */
TEST(public_functions_are_documented) {
    int line, count = 0;
    bool documented = false;
    REQUIRE(load());
    for (line = 1; line < implementation_line; ++line) {
        const char *text = text_at[line], *above = text_at[line - 1];
        const size_t n = strcspn(above, "\n");
        const bool comment_above = n >= 2 && strncmp(above + n - 2, "*/", 2) == 0;
        const bool inline_fn = starts(text, "CSIM_INLINE");
        const char *beside = strstr(text, "/*");
        const bool comment_beside = beside && beside < text + strcspn(text, "\n");
        if (n == 0) documented = false;
        if (comment_above) documented = true;
        if (!starts(text, "CSIM_API") && !inline_fn) continue;
        ++count;
        {
            char name[100];
            const char *call = strchr(text, '(');
            const char *from = call ? call : text;
            while (from > text && (isalnum((unsigned char)from[-1]) || from[-1] == '_')) --from;
            snprintf(name, sizeof name, "%.*s", (int)strcspn(from, "(\n") < 99 ? (int)strcspn(from, "(\n") : 99, from);
            CASE("condsim.h:%d: %s has no comment", line + 1, name);
            /* one-line inline functions of a small algebra say all in their name and body */
            CHECK(documented || inline_fn || comment_beside);
        }
    }
    CASE("public functions found");
    CHECK(count > 30);
}

TEST(public_types_are_documented) {
    int line, count = 0;
    REQUIRE(load());
    for (line = 1; line < implementation_line; ++line) {
        const char *above = text_at[line - 1];
        const size_t n = strcspn(above, "\n");
        if (!starts(text_at[line], "typedef struct") && !starts(text_at[line], "typedef enum")) continue;
        ++count;
        CASE("condsim.h:%d: %.40s has no comment", line + 1, text_at[line]);
        CHECK(n >= 2 && strncmp(above + n - 2, "*/", 2) == 0);
    }
    CASE("public types found");
    CHECK(count > 30);
}

TEST(options_are_documented) {
    static const char *const options[] = {"CONDSIM_IMPLEMENTATION", "CONDSIM_STATIC",     "CONDSIM_FLOAT",
                                          "CONDSIM_NO_STDIO",       "CONDSIM_NO_LOADERS", "CONDSIM_NO_HEAP",
                                          "CONDSIM_OPENMP",         "CONDSIM_ASSERT",     "CONDSIM_MALLOC",
                                          "CONDSIM_MEMCPY",         "CONDSIM_SQRT",       "CONDSIM_OWN_MATH",
                                          "CONDSIM_ALLOW_FAST_MATH"};
    size_t i;
    REQUIRE(load());
    for (i = 0; i < sizeof options / sizeof *options; ++i) {
        const char *at = strstr(header, options[i]);
        CASE("%s", options[i]);
        CHECK(at && at < text_at[implementation_line - 1]);
    }
}
