/* Rollback as a game over a network does it: every frame the last seven are taken back and done again, for
   the other player's input comes late. What the frames lead to is the same to the bit. Build: cc 15_rollback.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>
#include <stdlib.h>

enum { BACK = 7, FRAMES = 120, CRATES = 40 };

typedef struct game {
    csim_world *world;
    csim_body_id crate[CRATES], player;
} game;

static csim_body_id box(csim_world *world, csim_vec3 at, csim_real half) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape = csim_box(csim_v3(half, half, half));
    csim_body_id id = {0, 0, 0};
    d.shapes = &shape;
    d.shape_count = 1;
    d.density = 100;
    d.pose.position = at;
    csim_create_rigid(world, &d, &id);
    return id;
}

static bool game_begin(game *g) {
    csim_world_def def = csim_default_world_def();
    csim_body_id ground;
    int i;
    if (csim_create_world(&def, &g->world, NULL) != CSIM_OK) return false;
    csim_create_ground(g->world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground);
    for (i = 0; i < CRATES; ++i) { /* stacks of four */
        const csim_real x = (csim_real)(i / 4), z = CSIM_R(0.25) + CSIM_R(0.5) * (csim_real)(i % 4);
        g->crate[i] = box(g->world, csim_v3(x, 0, z), CSIM_R(0.25));
    }
    g->player = box(g->world, csim_v3(-2, 0, CSIM_R(0.4)), CSIM_R(0.4));
    return true;
}

/* All that a frame depends on beside the world: the input of that frame. */
static bool game_frame(game *g, int frame) {
    const csim_real push = frame % 60 < 30 ? 600 : -300;
    csim_body_add_force(g->world, g->player, csim_v3(push, 0, 0), csim_v3(0, 0, 0));
    return csim_world_step(g->world, CSIM_R(1) / 60) == CSIM_OK;
}

int main(void) {
    game straight, rolled;
    void *kept[BACK] = {0};
    size_t bytes[BACK] = {0}, room = 0;
    int frame, k, equal = 0, again = 0;
    if (!game_begin(&straight) || !game_begin(&rolled)) return 1;
    for (frame = 0; frame < FRAMES; ++frame) {
        const int slot = frame % BACK;
        bytes[slot] = 0;
        csim_world_keep(rolled.world, NULL, bytes + slot); /* how many it takes now */
        kept[slot] = realloc(kept[slot], bytes[slot]);
        if (!kept[slot] || csim_world_keep(rolled.world, kept[slot], bytes + slot) != CSIM_OK) return 1;
        room = bytes[slot] > room ? bytes[slot] : room;
        if (!game_frame(&rolled, frame) || !game_frame(&straight, frame)) return 1;
        if (frame >= BACK - 1) { /* an input of seven frames ago has come: back, and the seven again with it */
            const int from = frame - BACK + 1;
            const void *then = kept[from % BACK];
            if (csim_world_take_back(rolled.world, then, bytes[from % BACK]) != CSIM_OK) return 1;
            for (k = from; k <= frame; ++k) again += game_frame(&rolled, k);
        }
        equal += csim_world_hash(rolled.world) == csim_world_hash(straight.world);
    }
    printf("%d frames, %d of them done again; hashes equal after %d\n", FRAMES, again, equal);
    printf("a state of %d bodies takes less than %d kB\n", csim_world_body_count(rolled.world),
           (int)(room / 100000 + 1) * 100);
    for (k = 0; k < BACK; ++k) free(kept[k]);
    csim_destroy_world(straight.world);
    csim_destroy_world(rolled.world);
    return equal == FRAMES ? 0 : 1;
}
