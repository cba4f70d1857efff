/* Tables as CSV and Markdown, pictures as SVG. */
#define _POSIX_C_SOURCE 200112L
#include "tables.h"
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static struct {
    const char *folder, *only;
    bool fast;
    FILE *csv, *md;
    char name[64], pictures[1024], missing[1024]; /* missing: why, below the table */
    int columns, rows, faults;
    bool certified; /* has the column */
} page;

double page_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void page_folder(const char *folder, bool fast, const char *only) {
    page.folder = folder;
    page.only = only;
    page.fast = fast;
}

bool table_wanted(const char *file) { return !page.only || strncmp(file, page.only, strlen(page.only)) == 0; }

bool page_fast(void) { return page.fast; }
int page_faults(void) { return page.faults; }

static FILE *page_open(const char *name, const char *ending) {
    char path[512];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s.%s", page.folder, name, ending);
    file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "tables: cannot write %s\n", path);
        exit(2);
    }
    return file;
}

static void page_cells(const char *text) {
    fputs("| ", page.md);
    for (; *text; text++) {
        if (*text == ',')
            fputs(" | ", page.md);
        else
            fputc(*text, page.md);
    }
    fputs(" |\n", page.md);
}

void table_open(const char *file, const char *title, const char *about, const char *columns) {
    const char *at = columns;
    int i;
    snprintf(page.name, sizeof page.name, "%s", file);
    page.csv = page_open(file, "csv");
    page.md = page_open(file, "md");
    page.rows = 0;
    page.pictures[0] = page.missing[0] = 0;
    page.certified = strstr(columns, "certificate") != NULL;
    for (page.columns = 1; (at = strchr(at, ',')) != NULL; at++) page.columns++;
    fprintf(page.md, "## %s\n%s\n\n", title, about);
    fprintf(page.csv, "%s\n", columns);
    page_cells(columns);
    for (i = 0; i < page.columns; i++) fputs("|---", page.md);
    fputs("|\n", page.md);
    fprintf(stderr, "tables: %s\n", title);
}

void table_row(const char *format, ...) {
    char text[1024], *at = text;
    int cells = 1;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (at = text; (at = strstr(at, "nan")) != NULL; at++) /* nothing to take a mean of */
        if (at > text && (at[-1] == ',' || at[-1] == '-')) memcpy(at, "-  ", 3);
    for (at = text; (at = strchr(at, ',')) != NULL;) {
        cells++;
        at++;
    }
    if (cells != page.columns) {
        fprintf(stderr, "tables: %s has %d columns, a row has %d cells: %s\n", page.name, page.columns, cells, text);
        page.faults++;
    }
    fprintf(page.csv, "%s\n", text);
    page_cells(text);
    fflush(page.md);
    page.rows++;
}

void table_missing(const char *what, const char *why) {
    const size_t used = strlen(page.missing);
    int i;
    fprintf(page.csv, "%s", what);
    fprintf(page.md, "| %s: missing", what);
    snprintf(page.missing + used, sizeof page.missing - used, "\nMissing: %s: %s.\n", what, why);
    for (i = 1; i < page.columns; i++) {
        fputs(i == 1 ? ",missing" : ",", page.csv);
        fputs(" | ", page.md);
    }
    fputs("\n", page.csv);
    fputs(" |\n", page.md);
    page.rows++;
}

void table_close(const char *reasons) {
    if (page.rows == 0 || !page.certified) {
        fprintf(stderr, "tables: %s has %s\n", page.name, page.rows ? "no certificate column" : "no rows");
        page.faults++;
    }
    fprintf(page.md, "%s%s\n%s\n\n", page.missing, page.pictures, reasons);
    fclose(page.csv);
    fclose(page.md);
}

/* ---- pictures */

typedef struct plot_axis {
    double low, high;
    bool log;
} plot_axis;

static double plot_at(const plot_axis *a, double value) {
    double x = a->log ? log10(value) : value;
    return (x - a->low) / (a->high - a->low);
}

static bool plot_shows(const plot_axis *a, double value) { return isfinite(value) && (!a->log || value > 0); }

static plot_axis plot_range(const plot_line *lines, int count, bool log, bool of_x) {
    plot_axis a;
    int i, k;
    a.low = 1e300;
    a.high = -1e300;
    a.log = log;
    for (i = 0; i < count; i++)
        for (k = 0; k < lines[i].count; k++) {
            double value = of_x ? lines[i].x[k] : lines[i].y[k], x;
            if (!plot_shows(&a, value)) continue;
            x = log ? log10(value) : value;
            a.low = fmin(a.low, x);
            a.high = fmax(a.high, x);
        }
    if (log) {
        a.low = floor(a.low);
        a.high = ceil(a.high);
    }
    if (!(a.high > a.low)) a.high = a.low + 1;
    return a;
}

void page_plot(const char *file, const char *title, const char *x, const char *y, bool log_x, const plot_line *lines,
               int count) {
    static const char *const colors[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                         "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"};
    plot_axis ax = plot_range(lines, count, log_x, true), ay = plot_range(lines, count, true, false);
    FILE *f = page_open(file, "svg");
    int i, k;
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"420\" font-family=\"sans-serif\" "
               "font-size=\"12\">\n<rect width=\"720\" height=\"420\" fill=\"white\"/>\n");
    fprintf(f, "<text x=\"60\" y=\"20\" font-size=\"14\">%s</text>\n", title);
    fprintf(f, "<rect x=\"60\" y=\"30\" width=\"440\" height=\"340\" fill=\"none\" stroke=\"#444\"/>\n");
    fprintf(
        f, "<text x=\"240\" y=\"405\">%s</text>\n<text x=\"14\" y=\"220\" transform=\"rotate(-90 14 220)\">%s</text>\n",
        x, y);
    for (k = (int)ay.low; k <= (int)ay.high; k++) {
        double at = 370 - 340 * (k - ay.low) / (ay.high - ay.low);
        fprintf(f, "<path d=\"M60 %.1fH500\" stroke=\"#ddd\"/><text x=\"22\" y=\"%.1f\">1e%d</text>\n", at, at + 4, k);
    }
    for (k = 0; k <= 4; k++) {
        double value = ax.low + (ax.high - ax.low) * k / 4;
        fprintf(f, "<text x=\"%.1f\" y=\"386\">%.3g</text>\n", 54 + 440.0 * k / 4, log_x ? pow(10, value) : value);
    }
    for (i = 0; i < count; i++) {
        const char *color = colors[i % 8];
        fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" points=\"", color);
        for (k = 0; k < lines[i].count; k++)
            if (plot_shows(&ax, lines[i].x[k]) && plot_shows(&ay, lines[i].y[k]))
                fprintf(f, "%.1f,%.1f ", 60 + 440 * plot_at(&ax, lines[i].x[k]),
                        370 - 340 * plot_at(&ay, lines[i].y[k]));
        fprintf(f, "\"/>\n<text x=\"510\" y=\"%d\" fill=\"%s\">%s</text>\n", 44 + 18 * i, color, lines[i].name);
    }
    fputs("</svg>\n", f);
    fclose(f);
    k = (int)strlen(page.pictures);
    snprintf(page.pictures + k, sizeof page.pictures - (size_t)k, "\n![%s](%s.svg)\n", title, file);
}
