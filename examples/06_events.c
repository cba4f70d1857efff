/* A crate falls on a table, the table is taken away: who touches whom, how hard. Build: cc 06_events.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

static csim_body_id put(csim_world *world, csim_shape shape, csim_real height, csim_motion motion, char *name) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_body_id id;
    def.shapes = &shape;
    def.shape_count = 1;
    def.pose.position.z = height;
    def.motion = motion;
    def.user_data = name;
    csim_create_rigid(world, &def, &id);
    return id;
}

int main(void) {
    static char ground[] = "ground", table[] = "table", crate[] = "crate";
    csim_world_def def = csim_default_world_def();
    csim_world *world;
    csim_body_id taken;
    csim_error error;
    int step, i;

    if (csim_create_world(&def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    put(world, csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1)), 0, CSIM_STATIC, ground);
    taken = put(world, csim_box(csim_v3(1, 1, CSIM_R(0.05))), CSIM_R(0.95), CSIM_STATIC, table);
    put(world, csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.2), CSIM_R(0.2))), CSIM_R(1.7), CSIM_DYNAMIC, crate);
    for (step = 1; step <= 150; ++step) {
        csim_events events;
        if (step == 60) csim_destroy_body(world, taken);
        if (csim_world_step(world, CSIM_R(1) / 60) != CSIM_OK) return puts(csim_last_error(world)), 1;
        events = csim_world_events(world);
        for (i = 0; i < events.end_count; ++i)
            printf("%3d: %s and %s no longer touch\n", step, (char *)events.ends[i].user_data_a,
                   (char *)events.ends[i].user_data_b);
        for (i = 0; i < events.begin_count; ++i)
            printf("%3d: %s and %s touch\n", step, (char *)events.begins[i].user_data_a,
                   (char *)events.begins[i].user_data_b);
        for (i = 0; i < events.hit_count; ++i)
            printf("%3d: at %.1f m/s, %.0f N s\n", step, (double)events.hits[i].speed,
                   (double)csim_length(events.hits[i].impulse));
    }
    csim_destroy_world(world);
    return 0;
}
