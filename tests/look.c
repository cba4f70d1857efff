/* look: what is in the two pictures of examples/samples/window, before and after a drag: ground, light and shadow, each
   box in its colour, and that the top box (teal) went to the right while the lowest (red) did not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 960, HIGH = 600 };

static unsigned char *read_ppm(const char *path) {
    unsigned char *rgb = (unsigned char *)malloc(3 * WIDE * HIGH);
    int w = 0, h = 0, most = 0;
    FILE *f = fopen(path, "rb");
    if (!f || !rgb || fscanf(f, "P6 %d %d %d", &w, &h, &most) != 3 || w != WIDE || h != HIGH) exit(2);
    fgetc(f);
    if (fread(rgb, 3, WIDE * HIGH, f) != WIDE * HIGH) exit(2);
    fclose(f);
    return rgb;
}

/* Pixels with the hue of a colour, whatever light falls on it, and their mean place across. */
static int find(const unsigned char *rgb, unsigned colour, double *across) {
    const double c[3] = {(double)(colour >> 16), (double)(colour >> 8 & 255), (double)(colour & 255)};
    int i, k, count = 0;
    for (*across = 0, i = 0; i < WIDE * HIGH; i++) {
        double along = 0, cc = 0, off = 0;
        for (k = 0; k < 3; k++) along += c[k] * rgb[3 * i + k], cc += c[k] * c[k];
        for (along /= cc, k = 0; k < 3; k++) off += (rgb[3 * i + k] - along * c[k]) * (rgb[3 * i + k] - along * c[k]);
        if (along < 0.3 || along > 1.2 || off > 150) continue;
        count++;
        *across += i % WIDE;
    }
    if (count) *across /= count;
    return count;
}

int main(int argc, char **argv) {
    static const unsigned boxes[6] = {0xd95f3b, 0x3f7fd0, 0xeab53c, 0x4ca878, 0x8d69c0, 0x55a5b0};
    unsigned char *still, *drag;
    double at[2];
    int i, shadow;
    if (argc != 3) return 2;
    still = read_ppm(argv[1]), drag = read_ppm(argv[2]);
    for (i = 0; i < 6; i++)
        if (find(still, boxes[i], at) < 400) return printf("box %d is not in the picture\n", i), 1;
    for (i = shadow = 0; i < WIDE * HIGH; i++) shadow += memcmp(still + 3 * i, "\275\302\317", 3) == 0;
    if (shadow < 2000) return printf("no shadow on the ground: %d pixels\n", shadow), 1;
    find(still, boxes[0], at), find(drag, boxes[0], at + 1);
    if (at[1] - at[0] > 60) return printf("the lowest box went along\n"), 1;
    find(still, boxes[5], at), find(drag, boxes[5], at + 1);
    if (at[1] - at[0] < 60) return printf("the top box did not move: %.0f to %.0f\n", at[0], at[1]), 1;
    printf("six boxes with light and shadow; the top one went from pixel %.0f to %.0f\n", at[0], at[1]);
    free(still), free(drag);
    return 0;
}
