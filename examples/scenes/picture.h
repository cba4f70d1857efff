/* picture: draws a scene's world into a replay: every body that the world has, contacts, plots. */
#ifndef PICTURE_H
#define PICTURE_H

#include "replay.h"
#include "scene.h"

typedef struct picture picture;

picture *picture_open(const scene *s, const char *path, char *error, size_t error_size); /* null: error says why */
void picture_step(picture *p, const scene *s, const csim_step_stats *t);
/* facts: of the finished scene. false: error says why there is no file. */
bool picture_close(picture *p, const scene *s, char *error, size_t error_size);

#endif
