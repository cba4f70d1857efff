/* paint: pictures of what examples/live/cast.c keeps, drawn by the processor alone, so that a command makes the same
   picture on any machine. Light of the sun with soft shadows, light of the sky from PAINT_SKIES directions, each with
   its shadows, on white ground. */
#ifndef PAINT_H
#define PAINT_H

#include "cast.h"
#include <stdbool.h>

enum { PAINT_FINE = 3 }; /* samples of a pixel, each way */

typedef struct paint_camera {
    double at[3], far;        /* looks at this point, m, from so far, m */
    double turn, tilt, angle; /* rad; angle: from the lower to the upper edge */
} paint_camera;

typedef struct paint paint;

paint *paint_open(int width, int height); /* null: out of memory */
void paint_close(paint *p);
/* Corners and normals of what the cast holds now: once after each new cast. */
bool paint_cast(paint *p, const cast *c);
/* Walls, floors, and land, which has a colour of its own. */
bool paint_is_still(const cast_item *item);
/* Low and high corner of what moves; of all, where nothing does. */
void paint_bounds(const cast *c, double low[3], double high[3]);
void paint_fit(paint_camera *camera, const double low[3], const double high[3], double aspect, double zoom);
/* rgb: width x height x 3, rows from above. */
bool paint_draw(paint *p, const cast *c, const paint_camera *camera, unsigned char *rgb);

#endif
