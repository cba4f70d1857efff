#include "png.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- colours */

enum { PNG_CELLS = 1 << 18, PNG_COLOURS = 255 };

static int png_cell(const unsigned char *rgb) { return rgb[0] >> 2 << 12 | rgb[1] >> 2 << 6 | rgb[2] >> 2; }
static int png_channel(int cell, int channel) { return cell >> (12 - 6 * channel) & 63; }

bool png_colours_open(png_colours *c) {
    memset(c, 0, sizeof *c);
    c->nearest = (unsigned char *)calloc(PNG_CELLS, 1);
    c->count = (unsigned *)calloc(PNG_CELLS, sizeof *c->count);
    return c->nearest && c->count;
}

void png_colours_close(png_colours *c) {
    free(c->nearest);
    free(c->count);
    memset(c, 0, sizeof *c);
}

void png_colours_take(png_colours *c, const unsigned char *rgb, int pixels) {
    int i;
    for (i = 0; i < pixels; i++) c->count[png_cell(rgb + 3 * i)]++;
}

typedef struct png_box {
    int first, last, axis; /* cells [first, last); the widest channel */
    double spread;         /* variance along it times the weight */
} png_box;

static int png_axis; /* of the comparison that qsort calls */
static int png_compare(const void *a, const void *b) {
    const int x = *(const int *)a, y = *(const int *)b, d = png_channel(x, png_axis) - png_channel(y, png_axis);
    return d ? d : x - y;
}

/* What fills most of a picture, such as its ground, must not take all the colours. */
static double png_weight(unsigned count) { return pow((double)count, 0.7); }

static void png_measure(const png_colours *c, const int *cell, png_box *b) {
    int axis, i;
    b->spread = -1;
    for (axis = 0; axis < 3; axis++) {
        double w = 0, s = 0, q = 0;
        for (i = b->first; i < b->last; i++) {
            const double weight = png_weight(c->count[cell[i]]), x = png_channel(cell[i], axis);
            w += weight, s += weight * x, q += weight * x * x;
        }
        if (w > 0 && q - s * s / w > b->spread) b->spread = q - s * s / w, b->axis = axis;
    }
}

static int png_half(const png_colours *c, const int *cell, const png_box *b) {
    double all = 0, part = 0;
    int i;
    for (i = b->first; i < b->last; i++) all += png_weight(c->count[cell[i]]);
    for (i = b->first; i < b->last - 1; i++)
        if ((part += png_weight(c->count[cell[i]])) >= all / 2) break;
    return i + 1 < b->last ? i + 1 : b->last - 1;
}

static void png_mean(png_colours *c, const int *cell, const png_box *b, int index) {
    double w = 0, s[3] = {0, 0, 0};
    int i, k;
    for (i = b->first; i < b->last; i++) {
        w += c->count[cell[i]];
        for (k = 0; k < 3; k++) s[k] += (double)c->count[cell[i]] * (4 * png_channel(cell[i], k) + 2);
    }
    for (k = 0; k < 3; k++) c->rgb[index][k] = (unsigned char)(s[k] / (w > 0 ? w : 1));
    for (i = b->first; i < b->last; i++) c->nearest[cell[i]] = (unsigned char)index;
}

/* The nearest of the colours may lie in another box than the one that holds the cell. */
static void png_nearest(png_colours *c, int cell, int colours) {
    int i, k, best = 1 << 30;
    for (i = 1; i <= colours; i++) {
        int d = 0;
        for (k = 0; k < 3; k++) {
            const int e = 4 * png_channel(cell, k) + 2 - c->rgb[i][k];
            d += e * e;
        }
        if (d < best) best = d, c->nearest[cell] = (unsigned char)i;
    }
}

void png_colours_choose(png_colours *c) {
    png_box box[PNG_COLOURS];
    int *cell = (int *)malloc(sizeof *cell * PNG_CELLS), cells = 0, boxes = 1, i;
    for (i = 0; cell && i < PNG_CELLS; i++)
        if (c->count[i]) cell[cells++] = i;
    if (cells == 0) {
        free(cell);
        return;
    }
    box[0].first = 0, box[0].last = cells, box[0].axis = 0;
    png_measure(c, cell, box);
    while (boxes < PNG_COLOURS) {
        int widest = 0;
        for (i = 1; i < boxes; i++)
            if (box[i].spread > box[widest].spread) widest = i;
        if (box[widest].spread <= 0 || box[widest].last - box[widest].first < 2) break;
        png_axis = box[widest].axis;
        qsort(cell + box[widest].first, (size_t)(box[widest].last - box[widest].first), sizeof *cell, png_compare);
        box[boxes] = box[widest];
        box[boxes].first = box[widest].last = png_half(c, cell, box + widest);
        png_measure(c, cell, box + widest);
        png_measure(c, cell, box + boxes++);
    }
    for (i = 0; i < boxes; i++) png_mean(c, cell, box + i, i + 1);
    for (i = 0; i < cells; i++) png_nearest(c, cell[i], boxes);
    free(cell);
}

void png_index(const png_colours *c, const unsigned char *rgb, int pixels, const unsigned char *before, int hold,
               unsigned char *index) {
    int i, k;
    for (i = 0; i < pixels; i++) {
        index[i] = c->nearest[png_cell(rgb + 3 * i)];
        if (before) {
            int far = 0;
            for (k = 0; k < 3; k++) far += abs(rgb[3 * i + k] - c->rgb[before[i]][k]);
            if (far <= hold) index[i] = before[i];
        }
    }
}

/* ---- the file */

struct png_film {
    FILE *file;
    int width, height, frames, per_second;
    int done, sequence;
    unsigned char *shown, *row; /* indices of the frame before; rows with their filters */
    bool failed;
};

static unsigned png_crc(unsigned crc, const unsigned char *bytes, size_t count) {
    size_t i;
    int k;
    for (i = 0; i < count; i++)
        for (crc ^= bytes[i], k = 0; k < 8; k++) crc = crc & 1 ? 0xedb88320u ^ crc >> 1 : crc >> 1;
    return crc;
}

static void png_number(unsigned char *to, unsigned value) {
    to[0] = (unsigned char)(value >> 24), to[1] = (unsigned char)(value >> 16);
    to[2] = (unsigned char)(value >> 8), to[3] = (unsigned char)value;
}

/* A chunk of up to two pieces. */
static void png_chunk(png_film *f, const char *name, const unsigned char *a, size_t na, const unsigned char *b,
                      size_t nb) {
    unsigned char length[4], crc[4];
    unsigned sum = png_crc(0xffffffffu, (const unsigned char *)name, 4);
    sum = png_crc(png_crc(sum, a, na), b, nb);
    png_number(length, (unsigned)(na + nb));
    png_number(crc, ~sum);
    if (fwrite(length, 1, 4, f->file) != 4 || fwrite(name, 1, 4, f->file) != 4) f->failed = true;
    if ((na && fwrite(a, 1, na, f->file) != na) || (nb && fwrite(b, 1, nb, f->file) != nb)) f->failed = true;
    if (fwrite(crc, 1, 4, f->file) != 4) f->failed = true;
}

png_film *png_open(const char *path, int width, int height, int frames, int per_second, const png_colours *c) {
    static const unsigned char signature[8] = {137, 'P', 'N', 'G', 13, 10, 26, 10}, clear[1] = {0};
    unsigned char head[13] = {0}, film[8] = {0};
    png_film *f = (png_film *)calloc(1, sizeof *f);
    if (!f) return NULL;
    f->width = width, f->height = height, f->frames = frames, f->per_second = per_second;
    f->shown = (unsigned char *)calloc((size_t)width * (size_t)height, 1);
    f->row = (unsigned char *)calloc((size_t)(width + 1) * (size_t)height, 1);
    f->file = fopen(path, "wb");
    if (!f->file || !f->shown || !f->row) return png_close(f), (png_film *)NULL;
    f->failed = fwrite(signature, 1, 8, f->file) != 8;
    png_number(head, (unsigned)width), png_number(head + 4, (unsigned)height);
    head[8] = 8, head[9] = 3; /* eight bits, a palette */
    png_chunk(f, "IHDR", head, 13, NULL, 0);
    png_number(film, (unsigned)frames);
    if (frames > 1) png_chunk(f, "acTL", film, 8, NULL, 0);
    png_chunk(f, "PLTE", c->rgb[0], sizeof c->rgb, NULL, 0);
    if (frames > 1) png_chunk(f, "tRNS", clear, 1, NULL, 0);
    return f;
}

/* The rectangle in which a frame differs from the one before; at least one pixel. */
static void png_changed(const png_film *f, const unsigned char *index, int box[4]) {
    int x, y;
    box[0] = f->width, box[1] = f->height, box[2] = box[3] = 0;
    for (y = 0; y < f->height; y++)
        for (x = 0; x < f->width; x++) {
            if (index[y * f->width + x] == f->shown[y * f->width + x]) continue;
            if (x < box[0]) box[0] = x;
            if (y < box[1]) box[1] = y;
            if (x >= box[2]) box[2] = x + 1;
            if (y >= box[3]) box[3] = y + 1;
        }
    if (box[2] == 0) box[0] = box[1] = 0, box[2] = box[3] = 1;
}

static void png_control(png_film *f, const int box[4]) {
    unsigned char control[26] = {0};
    png_number(control, (unsigned)f->sequence++);
    png_number(control + 4, (unsigned)(box[2] - box[0])), png_number(control + 8, (unsigned)(box[3] - box[1]));
    png_number(control + 12, (unsigned)box[0]), png_number(control + 16, (unsigned)box[1]);
    control[21] = 1, control[22] = 0, control[23] = (unsigned char)f->per_second; /* 1 / per_second s */
    control[25] = f->done > 0;                                                    /* drawn over what is there */
    png_chunk(f, "fcTL", control, 26, NULL, 0);
}

bool png_frame(png_film *f, const unsigned char *index) {
    int box[4] = {0, 0, 0, 0}, x, y;
    size_t bytes = 0, packed = 0;
    unsigned char *out, number[4];
    box[2] = f->width, box[3] = f->height;
    if (f->done) png_changed(f, index, box);
    for (y = box[1]; y < box[3]; y++) {
        f->row[bytes++] = 0; /* no filter: neighbouring indices say nothing of colours */
        for (x = box[0]; x < box[2]; x++) {
            const int at = y * f->width + x;
            f->row[bytes++] = f->done && index[at] == f->shown[at] ? 0 : index[at];
        }
    }
    out = png_pack(f->row, bytes, &packed);
    if (!out) return f->failed = true, false;
    if (f->frames > 1) png_control(f, box);
    if (f->done) png_number(number, (unsigned)f->sequence++);
    png_chunk(f, f->done ? "fdAT" : "IDAT", number, f->done ? 4 : 0, out, packed);
    free(out);
    memcpy(f->shown, index, (size_t)f->width * (size_t)f->height);
    f->done++;
    return !f->failed;
}

bool png_close(png_film *f) {
    bool ok = f->file && !f->failed && f->done == f->frames;
    if (f->file) {
        png_chunk(f, "IEND", NULL, 0, NULL, 0);
        if (fclose(f->file) != 0 || f->failed) ok = false;
    }
    free(f->shown);
    free(f->row);
    free(f);
    return ok;
}
