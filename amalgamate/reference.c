/* Writes the reference of the interface from the public headers: docs/reference/.

       reference [--check] [root]

   Reads root/amalgamate/parts.list and the public parts it names. Each part becomes a page docs/reference/NAME.md with an
   entry a declaration: its comment, its text, what it uses, what uses it, and the pages of the manual that speak of it.
   docs/reference/index.md lists every name. At the end of each manual page, between two marks, stand the declarations
   it speaks of. With --check nothing is written: the program says which file is not what would be written. */
#define PROGRAM "reference"
#include "text.h"
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>

enum { MAX_PAGES = 64, MAX_ENTRIES = 2048, MAX_NAMES = 4096, MAX_MANUAL = 128, MAX_USERS = 16, WIDTH = 118 };

typedef struct entry {
    int page;
    char *comment, *code, *words; /* words: the code without comments */
    int first_name, name_count;
    const char *section; /* of the page, or null */
} entry;

typedef struct name {
    char *word;
    int entry;
} name;

typedef struct page {
    char file[64], title[64]; /* world-world.md, world/world */
    char *intro;
} page;

typedef struct manual {
    char path[256]; /* below docs/ */
    char *body;     /* up to the mark */
} manual;

static const char mark[] = "<!-- declarations, written by make docs -->";
static const char *root = ".";
static bool checking;
static int stale;
static page pages[MAX_PAGES];
static entry entries[MAX_ENTRIES];
static name names[MAX_NAMES];
static manual manuals[MAX_MANUAL];
static int page_count, entry_count, name_count, manual_count;

/* ---- text */

static char *copy(const char *data, size_t size) {
    char *c = (char *)malloc(size + 1);
    if (!c) fail("out of memory");
    memcpy(c, data, size);
    c[size] = 0;
    return c;
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    text t = {NULL, 0, 0};
    char buffer[4096];
    size_t n;
    if (!file) return NULL;
    append_bytes(&t, "", 0);
    while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) append_bytes(&t, buffer, n);
    fclose(file);
    return t.data;
}

static void write_file(const char *path, const char *data) {
    char *now = read_file(path);
    FILE *file;
    const bool same = now && strcmp(now, data) == 0;
    free(now);
    if (same) return;
    if (checking) {
        printf("%s is stale: make docs\n", path);
        stale++;
        return;
    }
    file = fopen(path, "wb");
    if (!file || fwrite(data, 1, strlen(data), file) != strlen(data)) fail("cannot write %s", path);
    fclose(file);
}

static int word_length(const char *c) {
    int n = 0;
    if (!isalpha((unsigned char)*c) && *c != '_') return 0;
    while (isalnum((unsigned char)c[n]) || c[n] == '_') ++n;
    return n;
}

static bool is_public(const char *word, int n) {
    return n > 5 && (strncmp(word, "csim_", 5) == 0 || strncmp(word, "CSIM_", 5) == 0);
}

static int find_name_from(const char *word, int n, int first, int end) {
    int i;
    for (i = first; i < end; i++)
        if (strncmp(names[i].word, word, (size_t)n) == 0 && !names[i].word[n]) return i;
    return -1;
}

static int find_name(const char *word, int n) { return find_name_from(word, n, 0, name_count); }

/* ---- a header as entries */

static void add_name(const char *word, int n, int to) {
    if (!is_public(word, n) || find_name(word, n) >= 0) return;
    if (n > 2 && strncmp(word + n - 2, "_H", 2) == 0) return; /* include guards */
    if (name_count == MAX_NAMES) fail("more than %d names", MAX_NAMES);
    names[name_count].word = copy(word, (size_t)n);
    names[name_count++].entry = to;
}

/* The code with its comments blanked. */
static char *without_comments(const char *code) {
    char *c = copy(code, strlen(code)), *at = c;
    while ((at = strstr(at, "/*")) != NULL) {
        const char *end = strstr(at, "*/");
        while (*at && at != end) *at++ = ' ';
        if (*at) at[0] = at[1] = ' ';
    }
    return c;
}

/* Names a declaration introduces: a macro, a function, a type with its enumerators, an enumeration without a name. */
static void names_of(const char *code, int to) {
    const char *c = code, *last = NULL, *brace = strchr(code, '{'), *paren = strchr(code, '(');
    int n, length = 0;
    while (isspace((unsigned char)*c)) ++c;
    if (*c == '#') {
        c += strspn(c, "# \t");
        if (strncmp(c, "define", 6) != 0) return;
        c += 6 + strspn(c + 6, " \t");
        if (strncmp(c, "CSIM_", 5) != 0) return; /* renamed functions */
        add_name(c, word_length(c), to);
        while ((c = strstr(c, " X(")) != NULL) { /* a list of enumerators without their prefix */
            char word[128];
            c += 3;
            snprintf(word, sizeof word, "CSIM_%.*s", word_length(c), c);
            add_name(word, (int)strlen(word), to);
        }
        return;
    }
    if (strncmp(c, "typedef", 7) != 0 && strncmp(c, "enum", 4) != 0 && paren) {
        for (last = paren; last > code && isspace((unsigned char)last[-1]); --last) continue;
        for (c = last; c > code && (isalnum((unsigned char)c[-1]) || c[-1] == '_'); --c) continue;
        add_name(c, (int)(last - c), to);
        return;
    }
    for (c = code; *c; c += n ? n : 1) { /* of a type: the last word; of a pointer to functions: (*name) */
        n = word_length(c);
        if (n) last = c, length = n;
        if (!brace && *c == '(' && c[1] == '*') {
            add_name(c + 2, word_length(c + 2), to);
            return;
        }
    }
    if (strncmp(code + strspn(code, " \n"), "typedef", 7) == 0 && last) add_name(last, length, to);
    if (brace && strstr(code, "enum") && strstr(code, "enum") < brace)
        for (c = brace; *c; c += n ? n : 1) {
            n = word_length(c);
            if (n && strncmp(c, "CSIM_", 5) == 0) add_name(c, n, to);
        }
}

/* The text of a comment without its stars and indentation. */
static char *comment_text(const char *c, size_t size) {
    text t = {NULL, 0, 0};
    size_t i;
    append_bytes(&t, "", 0);
    if (size < 4) return t.data;
    for (i = 2; i < size - 2; i++) {
        append_bytes(&t, c + i, 1);
        if (c[i] == '\n')
            while (i + 1 < size - 2 && strncmp(c + i + 1, "   ", 3) == 0 && t.data[t.size - 1] == '\n') {
                i += 3;
                break;
            }
    }
    while (t.size && isspace((unsigned char)t.data[t.size - 1])) t.data[--t.size] = 0;
    while (isspace((unsigned char)*t.data)) memmove(t.data, t.data + 1, strlen(t.data));
    return t.data;
}

/* Inline functions are shown without their bodies. */
static char *declaration(const char *c, size_t size) {
    char *code = copy(c, size), *brace = strchr(code, '{');
    if (brace && strncmp(code, "CSIM_INLINE", 11) == 0) {
        while (brace > code && isspace((unsigned char)brace[-1])) --brace;
        strcpy(brace, ";\n");
        memmove(code, code + 12, strlen(code + 12) + 1);
    } else if (strncmp(code, "CSIM_API", 8) == 0)
        memmove(code, code + 9, strlen(code + 9) + 1);
    return code;
}

/* Past a directive with its continued lines, or past a declaration with a remark behind it on its line. */
static const char *past_item(const char *c) {
    int braces = 0, parens = 0;
    const char *start = c;
    if (*c == '#') {
        while (*c && !(*c == '\n' && c[-1] != '\\')) ++c;
        return *c ? c + 1 : c;
    }
    for (; *c; ++c) {
        if (c[0] == '/' && c[1] == '*') {
            c = strstr(c, "*/");
            if (!c) fail("a comment does not end: %.60s", start);
            ++c;
            continue;
        }
        if (*c == '(') ++parens;
        if (*c == ')') --parens;
        if (*c == '{') ++braces;
        if (*c == '}' && --braces == 0 && strncmp(start, "CSIM_INLINE", 11) == 0) break;
        if (*c == ';' && braces == 0 && parens == 0) break;
    }
    while (*c && *c != '\n') {
        if (c[0] == '/' && c[1] == '*') {
            const char *end = strstr(c, "*/");
            if (end) c = end + 1;
        }
        ++c;
    }
    return *c ? c + 1 : c;
}

static void add_entry(int on, char *comment, const char *c, size_t size, const char *section, bool joins) {
    char *code = declaration(c, size), *words = without_comments(code);
    const int before = name_count;
    entry *e;
    names_of(words, joins ? entry_count - 1 : entry_count);
    if (name_count == before) return;
    if (joins) { /* the declarations under one comment */
        text t = {NULL, 0, 0};
        e = entries + entry_count - 1;
        append(&t, "");
        append_bytes(&t, e->code, strlen(e->code));
        append_bytes(&t, code, strlen(code));
        e->code = t.data;
        e->words = without_comments(t.data);
        e->name_count = name_count - e->first_name;
        return;
    }
    if (entry_count == MAX_ENTRIES) fail("more than %d entries", MAX_ENTRIES);
    e = entries + entry_count++;
    e->page = on;
    e->comment = comment;
    e->code = code;
    e->words = words;
    e->section = section;
    e->first_name = before;
    e->name_count = name_count - before;
}

static char *section_title(const char *c, size_t size) {
    const char *end;
    c += 8;
    end = strstr(c, " --");
    if (!end) end = c + size - 10;
    return copy(c, (size_t)(end - c));
}

static void read_part(const char *path) {
    char full[512], *source, *comment = NULL, *section = NULL;
    const char *c;
    bool joins = false;
    page *p = pages + page_count;
    snprintf(full, sizeof full, "%s/amalgamate/parts/%s", root, path);
    source = read_file(full);
    if (!source) fail("cannot read %s", full);
    if (page_count == MAX_PAGES) fail("more than %d pages", MAX_PAGES);
    snprintf(p->title, sizeof p->title, "%.*s", (int)strcspn(path, "."), path);
    snprintf(p->file, sizeof p->file, "%.*s.md", (int)strcspn(path, "."), path);
    if (strchr(p->file, '/')) *strchr(p->file, '/') = '-'; /* a name may be in two rooms */
    for (c = source; *c;) {
        const char *end;
        if (*c == '\n') {
            if (comment && !p->intro) p->intro = comment; /* the first comment of the file, with nothing under it */
            comment = NULL, joins = false, ++c;
            continue;
        }
        if (c[0] == '/' && c[1] == '*') {
            end = strstr(c, "*/");
            if (!end) fail("%s: a comment does not end", path);
            end += 2;
            if (strncmp(c, "/* ----", 7) == 0)
                section = section_title(c, (size_t)(end - c));
            else
                comment = comment_text(c, (size_t)(end - c));
            if (!p->intro && comment) p->intro = comment, comment = NULL;
            joins = false;
            c = *end == '\n' ? end + 1 : end;
            continue;
        }
        end = past_item(c);
        if (*c != '#' || strncmp(c, "#define", 7) == 0) {
            const int before = entry_count;
            add_entry(page_count, comment, c, (size_t)(end - c), section, joins && entry_count > 0);
            if (entry_count > before) joins = true;
            comment = NULL;
        }
        c = end;
    }
    ++page_count;
}

static void read_parts(void) {
    char path[512], kind[32], part[256], *list, *line;
    snprintf(path, sizeof path, "%s/amalgamate/parts.list", root);
    list = read_file(path);
    if (!list) fail("cannot read %s", path);
    for (line = strtok(list, "\n"); line; line = strtok(NULL, "\n"))
        if (sscanf(line, "%31s %255s", kind, part) == 2 && strcmp(kind, "public") == 0) {
            read_part(part);
        }
}

/* ---- the manual */

static int compare_manuals(const void *a, const void *b) {
    return strcmp(((const manual *)a)->path, ((const manual *)b)->path);
}

static void read_manual(const char *folder) {
    char path[1024];
    struct dirent *item;
    DIR *dir;
    snprintf(path, sizeof path, "%s/docs/%s", root, folder);
    dir = opendir(path);
    while (dir && (item = readdir(dir)) != NULL) {
        const size_t n = strlen(item->d_name);
        manual *m = manuals + manual_count;
        char *end;
        if (n < 4 || strcmp(item->d_name + n - 3, ".md") != 0) continue;
        if (manual_count == MAX_MANUAL) fail("more than %d manual pages", MAX_MANUAL);
        snprintf(m->path, sizeof m->path, "%s%.128s", folder, item->d_name);
        snprintf(path, sizeof path, "%s/docs/%s", root, m->path);
        m->body = read_file(path);
        if (!m->body) fail("cannot read %s", path);
        end = strstr(m->body, mark);
        if (end) *end = 0;
        for (end = m->body + strlen(m->body); end > m->body && end[-1] == '\n'; --end) continue;
        *end = 0;
        ++manual_count;
    }
    if (dir) closedir(dir);
}

/* ---- writing */

static bool mentions(const char *body, const entry *e) {
    const char *c = body;
    int n;
    for (; *c; c += n ? n : 1) {
        n = word_length(c);
        if (is_public(c, n) && find_name_from(c, n, e->first_name, e->first_name + e->name_count) >= 0) return true;
    }
    return false;
}

/* Items of a list of links, wrapped. */
static void item(text *t, const char *lead, int *column, const char *format, ...) {
    char link[512];
    va_list list;
    va_start(list, format);
    vsnprintf(link, sizeof link, format, list);
    va_end(list);
    if (*column == 0) {
        append(t, "\n%s: %s", lead, link);
        *column = (int)(strlen(lead) + 2 + strlen(link));
    } else if (*column + 2 + (int)strlen(link) > WIDTH) {
        append(t, ",\n%s", link);
        *column = (int)strlen(link);
    } else {
        append(t, ", %s", link);
        *column += 2 + (int)strlen(link);
    }
}

static const char *lead_name(const entry *e) { return names[e->first_name].word; }

/* A link from page `from`; the anchor is the heading of the entry. */
static void link_entry(text *t, const char *lead, int *column, int from, const entry *e) {
    item(t, lead, column, "[%s](%s#%s)", lead_name(e), e->page == from ? "" : pages[e->page].file, lead_name(e));
}

/* Comments wrap anew; lines that are set in stay as they are, as code. */
static void put_comment(text *t, const char *c) {
    int column = 0;
    bool quoted = false;
    while (*c) {
        const size_t n = strcspn(c, "\n");
        if (n == 0 || strncmp(c, "  ", 2) == 0) {
            if (n && !quoted) append(t, "%s```text\n", column ? "\n" : ""), quoted = true;
            if (!n) append(t, "%s%s\n", quoted ? "```\n" : "", column ? "\n" : ""), quoted = false;
            if (n) append_bytes(t, c, n), append(t, "\n");
            column = 0;
        } else {
            const char *end = c + n;
            if (quoted) append(t, "```\n"), quoted = false;
            while (c < end) {
                const int w = (int)strcspn(c, " \n");
                int i, extra = 0;
                for (i = 0; i < w; i++) extra += c[i] == '<' || c[i] == '*' || c[i] == '_' || c[i] == '|';
                if (column && column + 1 + w + extra > WIDTH) append(t, "\n"), column = 0;
                if (column) append(t, " "), ++column;
                for (i = 0; i < w; i++) {
                    if (c[i] == '<' || c[i] == '*' || c[i] == '|') append(t, "\\");
                    append_bytes(t, c + i, 1);
                }
                column += w + extra;
                c += w;
                while (c < end && *c == ' ') ++c;
            }
            c = end;
            if (*c) ++c;
            continue;
        }
        c += n;
        if (*c) ++c;
    }
    if (quoted) append(t, "```");
    append(t, "\n");
}

static void put_entry(text *t, int k) {
    const entry *e = entries + k;
    int i, column = 0, users = 0;
    append(t, "\n### %s\n", lead_name(e));
    for (i = 1; i < e->name_count; i++)
        if (!strstr(e->words, "enum")) append(t, "<a id=\"%s\"></a>\n", names[e->first_name + i].word);
    append(t, "\n");
    if (e->comment) put_comment(t, e->comment), append(t, "\n");
    append(t, "```c\n");
    append_bytes(t, e->code, strlen(e->code));
    if (e->code[strlen(e->code) - 1] != '\n') append(t, "\n");
    append(t, "```\n");
    for (i = 0; i < entry_count; i++)
        if (i != k && mentions(e->words, entries + i)) link_entry(t, "Uses", &column, e->page, entries + i);
    if (column) append(t, "\n");
    column = 0;
    for (i = 0; i < entry_count; i++)
        if (i != k && mentions(entries[i].words, e) && ++users <= MAX_USERS)
            link_entry(t, "Used by", &column, e->page, entries + i);
    if (users > MAX_USERS) item(t, "Used by", &column, "and %d more", users - MAX_USERS);
    if (column) append(t, "\n");
    column = 0;
    for (i = 0; i < manual_count; i++)
        if (mentions(manuals[i].body, e)) item(t, "Pages", &column, "[%s](../%s)", manuals[i].path, manuals[i].path);
    if (column) append(t, "\n");
}

static void put_page(int at) {
    char path[512];
    const char *section = NULL;
    text t = {NULL, 0, 0};
    int k;
    append(&t, "# %s\n\nWritten by `make docs` from amalgamate/parts/%s.h. [All names](index.md)\n\n", pages[at].title,
        pages[at].title);
    if (pages[at].intro) {
        const size_t n = strlen(pages[at].title); /* "room/name: what it holds" */
        put_comment(&t, pages[at].intro + (strncmp(pages[at].intro, pages[at].title, n) == 0 ? n + 2 : 0));
    }
    for (k = 0; k < entry_count; k++) {
        if (entries[k].page != at) continue;
        if (entries[k].section && entries[k].section != section) append(&t, "\n## %s\n", section = entries[k].section);
        put_entry(&t, k);
    }
    snprintf(path, sizeof path, "%s/docs/reference/%s", root, pages[at].file);
    write_file(path, t.data);
    free(t.data);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(names[*(const int *)a].word, names[*(const int *)b].word);
}

static void put_index(void) {
    static int order[MAX_NAMES];
    char path[512];
    text t = {NULL, 0, 0};
    int i, k;
    append(&t, "# Reference\n\nEvery public declaration of condsim.h, written by `make docs` from its comments.\n\n");
    append(&t, "| page | declarations |\n|---|---|\n");
    for (i = 0; i < page_count; i++) {
        int n = 0;
        for (k = 0; k < entry_count; k++) n += entries[k].page == i;
        if (n) append(&t, "| [%s](%s) | %d |\n", pages[i].title, pages[i].file, n);
    }
    append(&t, "\n## All names\n\n");
    for (i = 0; i < name_count; i++) order[i] = i;
    qsort(order, (size_t)name_count, sizeof *order, compare_names);
    for (i = 0; i < name_count; i++) {
        const entry *e = entries + names[order[i]].entry;
        append(&t, "- [%s](%s#%s)\n", names[order[i]].word, pages[e->page].file, lead_name(e));
    }
    snprintf(path, sizeof path, "%s/docs/reference/index.md", root);
    write_file(path, t.data);
    free(t.data);
}

static void put_manual(const manual *m) {
    char path[512];
    text t = {NULL, 0, 0};
    int k, column = 0;
    const char *up = strchr(m->path, '/') ? "../" : "";
    append_bytes(&t, m->body, strlen(m->body));
    append(&t, "\n");
    for (k = 0; k < entry_count; k++) {
        if (!mentions(m->body, entries + k)) continue;
        if (!column) append(&t, "\n%s\n", mark);
        item(&t, "Reference", &column, "[%s](%sreference/%s#%s)", lead_name(entries + k), up,
             pages[entries[k].page].file, lead_name(entries + k));
    }
    if (column) append(&t, "\n");
    snprintf(path, sizeof path, "%s/docs/%s", root, m->path);
    write_file(path, t.data);
    free(t.data);
}

int main(int argc, char **argv) {
    static const char *const folders[] = {"", "learn/", "method/", "results/"};
    int i;
    for (i = 1; i < argc; i++)
        if (strcmp(argv[i], "--check") == 0)
            checking = true;
        else
            root = argv[i];
    read_parts();
    for (i = 0; i < 4; i++) read_manual(folders[i]);
    qsort(manuals, (size_t)manual_count, sizeof *manuals, compare_manuals);
    for (i = 0; i < page_count; i++) put_page(i);
    put_index();
    for (i = 0; i < manual_count; i++) put_manual(manuals + i);
    printf("%d names in %d entries on %d pages\n", name_count, entry_count, page_count);
    return stale ? 1 : 0;
}
