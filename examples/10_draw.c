/* A stack of crates under a door, drawn: here into a text, in a game on its screen. Build: cc 10_draw.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

static const char *const name[CSIM_DRAW_KIND_COUNT_] = {"shapes", "surfaces", "joints", "limits", "contacts",
                                                        "impulses", "bounds", "centres", "islands", "sleep"};

typedef struct counter {
    int lines[CSIM_DRAW_KIND_COUNT_], points[CSIM_DRAW_KIND_COUNT_];
    csim_vec3 floor; /* impulses that are drawn there, m */
} counter;

static void point(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 at) {
    (void)colour, (void)at;
    ((counter *)user)->points[kind]++;
}

static void line(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 from, csim_vec3 to) {
    counter *c = (counter *)user;
    (void)colour;
    c->lines[kind]++;
    if (kind == CSIM_DRAW_IMPULSES && from.z < CSIM_R(0.1)) c->floor = csim_add(c->floor, csim_sub(to, from));
}

int main(void) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def body = csim_default_rigid_def();
    csim_joint_def hinge = csim_default_joint_def();
    csim_draw draw = csim_default_draw();
    csim_shape crate = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.2), CSIM_R(0.2)));
    counter count = {{0}, {0}, {0, 0, 0}};
    int islands[16], i;
    csim_world *world;
    csim_error error;
    csim_body_id id;
    csim_link_id link;
    if (csim_create_world(&def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id);
    body.shapes = &crate;
    body.shape_count = 1;
    for (i = 0; i < 3; ++i) {
        body.pose.position = csim_v3(0, 0, CSIM_R(0.2) + CSIM_R(0.4) * (csim_real)i);
        csim_create_rigid(world, &body, &id);
    }
    body.pose.position = csim_v3(2, 0, 1);
    csim_create_rigid(world, &body, &hinge.a.body);
    hinge.kind = CSIM_JOINT_HINGE;
    hinge.a.point = hinge.b.point = csim_v3(CSIM_R(1.8), 0, 1);
    hinge.limited = true;
    hinge.upper = 1;
    csim_create_joint(world, &hinge, &link);
    for (i = 0; i < 20; ++i) csim_world_step(world, CSIM_R(0.01));

    draw.point = point;
    draw.line = line;
    draw.user = &count;
    draw.kinds |= 1u << CSIM_DRAW_BOUNDS | 1u << CSIM_DRAW_ISLANDS;
    draw.islands = islands;
    draw.island_count = 16;
    draw.per_impulse = CSIM_R(0.1);
    if (csim_world_draw(world, &draw) != CSIM_OK) return 1;
    for (i = 0; i < CSIM_DRAW_KIND_COUNT_; ++i)
        if (count.lines[i] + count.points[i])
            printf("%-9s %3d lines, %2d points\n", name[i], count.lines[i], count.points[i]);
    printf("the floor bears %.1f kg\n", (double)count.floor.z / (0.1 * 9.81 * 0.01)); /* per_impulse g h */
    csim_destroy_world(world);
    return 0;
}
