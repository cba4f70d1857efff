/* png: pictures with at most 256 colours as PNG files, one or a film of them (APNG, which browsers play). Knows nothing
   of condsim.h. All of it is here: the colours are chosen by cutting the cloud of them at medians, the bytes are packed
   by matches and Huffman codes (RFC 1951) in the wrapping of RFC 1950 and the PNG specification, third edition. */
#ifndef PNG_H
#define PNG_H

#include <stdbool.h>
#include <stddef.h>

typedef struct png_colours {
    unsigned char rgb[256][3]; /* [0] stands for "as in the frame before" */
    unsigned char *nearest;    /* of colours cut to 6 bits a channel: 2^18 indices */
    unsigned *count;           /* the cloud: how many of each */
} png_colours;

/* Take every picture, then choose once. false: out of memory. */
bool png_colours_open(png_colours *c);
void png_colours_take(png_colours *c, const unsigned char *rgb, int pixels);
void png_colours_choose(png_colours *c);
void png_colours_close(png_colours *c);

/* Indices of a picture. before: the indices shown last, or null; what looks the same within hold (levels, summed over
   the channels) keeps its index, so that what stands still costs nothing. */
void png_index(const png_colours *c, const unsigned char *rgb, int pixels, const unsigned char *before, int hold,
               unsigned char *index);

typedef struct png_film png_film;

/* frames 1: a plain PNG; more: they follow at so many a second, for ever. null: the file or memory is missing. */
png_film *png_open(const char *path, int width, int height, int frames, int per_second, const png_colours *c);
bool png_frame(png_film *f, const unsigned char *index); /* width x height, rows from above */
bool png_close(png_film *f);                             /* false: a call failed; the file is not whole */

/* The bytes packed as a zlib stream into memory of the caller's to free; null: out of memory. */
unsigned char *png_pack(const unsigned char *bytes, size_t count, size_t *packed);

#endif
