/* Single-line changes of the parts, for tests/mutate.sh.

       mutate list SEED COUNT             chooses COUNT of them, the same for the same seed and parts: tests/mutations.txt
       mutate apply LIST NUMBER FROM TO   copies the part of that line (from 1) from the tree FROM to TO with the change;
                                          prints its path; status 3 when the part no longer has that line

   A line of the list: path <tab> how many times the old text stood before it <tab> old text <tab> new text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512, MOST = 40000 };

typedef struct change {
    char path[64], old[LINE], fresh[LINE];
    int before;
} change;

static const char *const rooms[] = {"contact", "solve", "collide", "model", "store", "step", "world", "io"};
enum { ROOMS = sizeof rooms / sizeof *rooms };

/* What stands for what. Only changes of meaning: < for <= is the same program too often to tell anything. */
static const struct {
    const char *from, *to;
} swaps[] = {{" < ", " > "},
             {" > ", " < "},
             {" <= ", " > "},
             {" >= ", " < "},
             {" == ", " != "},
             {" != ", " == "},
             {" + ", " - "},
             {" - ", " + "},
             {" += ", " -= "},
             {" -= ", " += "},
             {" && ", " || "},
             {" || ", " && "},
             {"csimi_min(", "csimi_max("},
             {"csimi_max(", "csimi_min("},
             {"csimi_imin(", "csimi_imax("},
             {"csimi_imax(", "csimi_imin("},
             {"return true;", "return false;"},
             {"return false;", "return true;"},
             {"if (!", "if ("},
             {"CSIM_R(0.5) * ", "CSIM_R(0.75) * "},
             {"continue;", ";"},
             {"break;", ";"}};
enum { SWAPS = sizeof swaps / sizeof *swaps };

static change *all;
static int count;
static uint64_t state;

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}

static void add(const char *path, int before, const char *old, const char *fresh) {
    if (count == MOST) exit(2);
    snprintf(all[count].path, sizeof all[count].path, "%s", path);
    snprintf(all[count].old, LINE, "%s", old);
    snprintf(all[count].fresh, LINE, "%s", fresh);
    all[count++].before = before;
}

/* Lines of bodies: indented, no comment, no declaration of a constant table. */
static int is_code(const char *line) {
    return strncmp(line, "    ", 4) == 0 && !strstr(line, "/*") && !strstr(line, "*/") && line[4] != '*' && line[4] != '{' &&
           line[4] != '#' && !strstr(line, "static const") && !strchr(line, '"') && strchr(line, ';');
}

static void changes_of(const char *path) {
    static char lines[4000][LINE];
    char file[256];
    FILE *f;
    int n = 0, i, k, comment = 0;
    snprintf(file, sizeof file, "amalgamate/parts/%s", path);
    f = fopen(file, "r");
    if (!f) {
        fprintf(stderr, "mutate: cannot read %s\n", file);
        exit(2);
    }
    while (n < 4000 && fgets(lines[n], LINE, f)) {
        lines[n][strcspn(lines[n], "\n")] = 0;
        n++;
    }
    fclose(f);
    for (i = 0; i < n; i++) {
        int before = 0;
        if (comment) {
            comment = !strstr(lines[i], "*/");
            continue;
        }
        if (strstr(lines[i], "/*") && !strstr(lines[i], "*/")) comment = 1;
        if (!is_code(lines[i])) continue;
        for (k = 0; k < i; k++) before += strcmp(lines[k], lines[i]) == 0;
        for (k = 0; k < SWAPS; k++) {
            char fresh[2 * LINE];
            const char *at = strstr(lines[i], swaps[k].from);
            if (!at || (strstr(lines[i], "for (") && k < 8)) continue; /* a loop that never ends tells little */
            snprintf(fresh, sizeof fresh, "%.*s%s%s", (int)(at - lines[i]), lines[i], swaps[k].to,
                     at + strlen(swaps[k].from));
            add(path, before, lines[i], fresh);
        }
        if (strncmp(lines[i], "    csimi_", 10) == 0 && strchr(lines[i], '(') && !strchr(lines[i], '=') &&
            lines[i][strlen(lines[i]) - 1] == ';')
            add(path, before, lines[i], "    ;"); /* a call left out */
    }
}

static int list(uint64_t seed, int wanted) {
    char line[LINE], kind[16], path[64];
    FILE *parts = fopen("amalgamate/parts.list", "r");
    int r, first[ROOMS + 1], i, k;
    if (!parts) return 2;
    all = (change *)malloc(sizeof(change) * MOST);
    if (!all) return 2;
    for (r = 0; r < ROOMS; r++) {
        first[r] = count;
        rewind(parts);
        while (fgets(line, sizeof line, parts))
            if (sscanf(line, "%15s %63s", kind, path) == 2 && strcmp(kind, "body") == 0 &&
                strncmp(path, rooms[r], strlen(rooms[r])) == 0 && path[strlen(rooms[r])] == '/')
                changes_of(path);
    }
    first[ROOMS] = count;
    fclose(parts);
    state = 0x9e3779b97f4a7c15u ^ (seed * UINT64_C(0x2545f4914f6cdd1d));
    for (i = 0; i < 20; i++) draw();
    for (r = 0; r < ROOMS; r++) { /* as many of every room; none of a line twice */
        int n = first[r + 1] - first[r], most = wanted / ROOMS + (r < wanted % ROOMS);
        for (i = 0; i < most && i < n; i++) {
            change *a = all + first[r] + i, swap;
            int fresh = 1;
            k = first[r] + i + (int)(draw() % (uint64_t)(n - i));
            swap = *a;
            *a = all[k];
            all[k] = swap;
            for (k = first[r]; k < first[r] + i; k++)
                if (strcmp(all[k].path, a->path) == 0 && strcmp(all[k].old, a->old) == 0) fresh = 0;
            if (!fresh) {
                *a = all[first[r] + --n];
                i--;
                continue;
            }
            printf("%s\t%d\t%s\t%s\n", a->path, a->before, a->old, a->fresh);
        }
    }
    return 0;
}

static int apply(const char *name, int number, const char *from, const char *to) {
    char line[4 * LINE], file[8 * LINE], *path, *before, *old, *fresh;
    FILE *f = fopen(name, "r"), *g;
    int seen = 0, done = 0;
    while (f && number-- > 0)
        if (!fgets(line, sizeof line, f)) return 2;
    if (!f) return 2;
    fclose(f);
    line[strcspn(line, "\n")] = 0;
    path = line;
    if (!(before = strchr(path, '\t'))) return 2;
    *before++ = 0;
    if (!(old = strchr(before, '\t'))) return 2;
    *old++ = 0;
    if (!(fresh = strchr(old, '\t'))) return 2;
    *fresh++ = 0;
    snprintf(file, sizeof file, "%s/%s", from, path);
    if (!(f = fopen(file, "r"))) return 3;
    snprintf(file, sizeof file, "%s/%s", to, path);
    if (!(g = fopen(file, "w"))) return 2;
    {
        char text[LINE];
        while (fgets(text, sizeof text, f)) {
            text[strcspn(text, "\n")] = 0;
            if (strcmp(text, old) == 0 && seen++ == atoi(before)) {
                fprintf(g, "%s\n", fresh);
                done = 1;
            } else
                fprintf(g, "%s\n", text);
        }
    }
    fclose(f);
    fclose(g);
    printf("%s\n", path);
    return done ? 0 : 3;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "list") == 0) return list(strtoull(argv[2], NULL, 10), atoi(argv[3]));
    if (argc == 6 && strcmp(argv[1], "apply") == 0) return apply(argv[2], atoi(argv[3]), argv[4], argv[5]);
    fputs("mutate list SEED COUNT | apply LIST NUMBER FROM TO\n", stderr);
    return 2;
}
