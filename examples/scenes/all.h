/* all: every scene in one piece, for a program that is compiled by one command. */
#ifndef SCENE_ALL_H
#define SCENE_ALL_H

#include "scene.c"
#include "mesh.c"
#include "sat.c"
#include "rigid.c"
#include "soft.c"
#include "solids.c"
#include "mixed.c"
#include "cables.c"
#include "robots.c"
#include "contacts.c"
#include "papers.c"
#include "shots.c"
#include "sleepers.c"
#include "levels.c"
#include "play.c"
#include "realtime.c"
#include "rollback.c"

#endif
