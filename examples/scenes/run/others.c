/* For `make run`: the scenes of the other files, none. Their tables are empty here, so that the first command of a clone
   waits for the file of its own scene only. */
#include "../scene.h"

const scene_kind scene_rigid_kinds[1], scene_solid_kinds[1], scene_robot_kinds[1];
const scene_kind scene_contact_kinds[1], scene_paper_kinds[1], scene_shot_kinds[1], scene_level_kinds[1];
const scene_kind scene_play_kinds[1], scene_sleeper_kinds[1], scene_realtime_kinds[1], scene_cable_kinds[1];
