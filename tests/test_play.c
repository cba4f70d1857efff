/* What games are made of, in numbers: car, ragdolls, a character, short. condsim-scene runs them at full length. */
#include "check.h"

#include "../examples/scenes/columns.h"
#include "../examples/scenes/scene.h"
#include "scene_run.h"

/* The jointed car and the tree drive the same way round the same hills, upright, on their wheels, on the circle. */
SLOW_LONG_IN_FLOAT(cars_of_joints_and_of_links_drive_over_triangles) {
    static const double step[2] = {1.0 / 100, 1.0 / 60};
    int i;
    for (i = 0; i < 2; i++) {
        scene_options o = scene_default_options();
        run r;
        o.h = step[i];
        o.seed = (unsigned long long)(5 * i);
        o.seconds = long_runs() ? 60 : 5;
        r = run_with("car", i ? "body=tree" : "", &o);
        CASE("step %g s", o.h);
        CHECK(figure(&r, "joints_way_m") > (long_runs() ? 550 : 25));
        NEAR(figure(&r, "tree_way_m") / figure(&r, "joints_way_m"), 1, 2e-3);
        CHECK(figure(&r, "joints_off_m") < 0.5 && figure(&r, "tree_off_m") < 0.5);
        CHECK(figure(&r, "joints_upright") > 0.9 && figure(&r, "tree_upright") > 0.9);
        CHECK(figure(&r, "joints_open_um") < TOL(1, 1e4));
        /* a wheel of 10 m/s meets the next slope one step late */
        CHECK(figure(&r, "joints_deep_mm") < 25 && figure(&r, "tree_deep_mm") < 25);
        CHECK(figure(&r, "joints_touching") > 2 && figure(&r, "tree_touching") > 2);
        CHECK(figure(&r, "joints_uncertified") <= TOL(5, 50) && figure(&r, "tree_uncertified") <= TOL(5, 50));
        scene_close(r.s);
    }
}

/* Joints stay closed and within their limits, nobody is in the stairs, energy only falls. */
SLOW_LONG_IN_FLOAT(ragdolls_fall_down_stairs_in_one_piece) {
    static const double step[2] = {1.0 / 100, 1.0 / 120};
    int i;
    for (i = 0; i < 2; i++) {
        scene_options o = scene_default_options();
        run r;
        o.h = step[i];
        o.size = long_runs() ? 4 : 2;
        o.seed = (unsigned long long)(3 * i);
        o.seconds = long_runs() ? 6 : 1.5;
        r = run_with("ragdoll", "", &o);
        CASE("step %g s", o.h);
        EQUAL((int)figure(&r, "down"), o.size);
        CHECK(figure(&r, "lowest_m") > 0.05);
        CHECK(figure(&r, "joint_open_um") < TOL(10, 1e4));
        CHECK(figure(&r, "over_limit_mrad") < TOL(1, 50));
        CHECK(figure(&r, "deep_mm") < 20); /* an edge met in the middle of a step */
        CHECK(figure(&r, "energy_gain_max") < TOL(1e-9, 1e-4));
        CHECK(figure(&r, "uncertified") <= TOL(2, 20));
        scene_close(r.s);
    }
}

/* The whole course, at three steps and speeds: up and down again, over the gap, against the wall and no farther. */
TEST(a_character_walks_the_course) {
    static const double step[3] = {1.0 / 100, 1.0 / 60, 1.0 / 200};
    static const char *const set[3] = {"", "speed=3", "period=9"};
    int i;
    for (i = 0; i < 3; i++) {
        scene_options o = scene_default_options();
        run r;
        o.h = step[i];
        o.seconds = 30;
        r = run_with("character", set[i], &o);
        CASE("step %g s", o.h);
        NEAR(figure(&r, "end_x_m"), 32.69, 0.05); /* a radius before the wall, whose foot is at 33.1 m */
        NEAR(figure(&r, "end_z_m"), 0.01, 0.011);
        NEAR(figure(&r, "highest_m"), 1.02, 0.02);
        CHECK(figure(&r, "arrived_s") > 10 && figure(&r, "arrived_s") < 25);
        CHECK(figure(&r, "pushed_m") > 3);
        CHECK(figure(&r, "slid_mm") < 1e3 * 2 * 1.6 * o.h); /* it knows the lift's speed of the step before */
        CHECK(figure(&r, "nearest_mm") > 0);
        scene_close(r.s);
    }
}

/* What is kept is the whole state: seven frames are done again in every one, and lead to the same bits and events; and
   the run that was never taken back is the same. */
SLOW_LONG_IN_FLOAT(frames_done_again_are_the_same) {
    static const char *const back[3] = {"back=7", "back=0", "back=1"};
    double hash[3];
    int i;
    for (i = 0; i < 3; i++) {
        scene_options o = scene_default_options();
        run r;
        CASE("%s", back[i]);
        o.mode = 2;
        o.budget = 50000;
        o.size = long_runs() ? 460 : 16;
        o.seconds = long_runs() ? 60 : 4;
        r = run_with("rollback", back[i], &o);
        EQUAL((int)figure(&r, "differ"), 0);
        EQUAL((int)figure(&r, "again"), i == 0 ? 7 * (r.s->steps - 6) : i == 1 ? 0 : r.s->steps);
        CHECK(figure(&r, "begins") > 50 && figure(&r, "ends") > 5 && figure(&r, "hits") > 5);
        CHECK(figure(&r, "sensed") > 0 && figure(&r, "most_asleep") >= 16);
        hash[i] = figure(&r, "hash");
        if (i > 0) NEAR(hash[i], hash[0], 0);
        scene_close(r.s);
    }
}
