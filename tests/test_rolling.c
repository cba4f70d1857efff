/* Rolling resistance, against motions worked out by hand: a couple of at most c N about the contact. */
#include "check.h"
#include "../amalgamate/parts/world/alter.h"
#include <math.h>

typedef struct lane {
    csim_world *w;
    csim_body_id id, ground;
} lane;

static csim_body_id lay_link(csim_world *w, const csim_rigid_def *d) {
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def t = csim_default_tree_def();
    csim_body_id id;
    link.joint = CSIM_TREE_FLOATING;
    link.shapes = d->shapes, link.shape_count = 1;
    t.links = &link, t.link_count = 1;
    t.pose = d->pose, t.velocity = d->velocity, t.angular_velocity = d->angular_velocity, t.surface = d->surface;
    STATUS(csim_create_tree(w, &t, &id), CSIM_OK);
    return id;
}

static bool as_links; /* lay makes trees of one link */

/* One body on a slope that goes down along x. */
static lane lay(csim_world_def def, csim_shape shape, double angle, double resistance, double speed) {
    const double r = (double)shape.radius;
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape ground = csim_half_space(csim_v3(0, 0, 0), csim_v3((csim_real)sin(angle), 0, (csim_real)cos(angle)));
    lane l;
    STATUS(csim_create_world(&def, &l.w, NULL), CSIM_OK);
    d.shapes = &ground, d.shape_count = 1, d.motion = CSIM_STATIC;
    STATUS(csim_create_rigid(l.w, &d, &l.ground), CSIM_OK);
    d = csim_default_rigid_def();
    d.shapes = &shape, d.shape_count = 1;
    d.surface.rolling_resistance = (csim_real)resistance;
    d.pose.position = csim_v3((csim_real)(r * sin(angle)), 0, (csim_real)(r * cos(angle)));
    if (shape.kind == CSIM_SHAPE_CYLINDER) d.pose.rotation = csim_quat_axis_angle(csim_v3(1, 0, 0), CSIM_R(1.5707963267948966));
    d.velocity = csim_v3((csim_real)(speed * cos(angle)), 0, (csim_real)(-speed * sin(angle)));
    d.angular_velocity = csim_v3(0, (csim_real)(speed / r), 0);
    if (as_links)
        l.id = lay_link(l.w, &d);
    else
        STATUS(csim_create_rigid(l.w, &d, &l.id), CSIM_OK);
    return l;
}

/* Down the slope. */
static double along(const lane *l, double angle) {
    csim_pose p;
    csim_body_get_pose(l->w, l->id, &p);
    return (double)p.position.x * cos(angle) - (double)p.position.z * sin(angle);
}

/* About the point of contact: (I + m r^2) alpha = -c m g, so a = c g / (r (1 + I / (m r^2))), and it stops after
   v^2 / 2a. Steps of backward Euler do so along the sum of their speeds, a step late. */
static void rolls_and_stops(int rules) {
    static const csim_integrator rule[] = {CSIM_BACKWARD_EULER, CSIM_MIDPOINT, CSIM_TWO_STEP, CSIM_HALF_STEP};
    const double c = 0.01, g = 9.81, v = 2, r = 0.1, h = 0.005;
    int round, i, k;
    for (round = 0; round < 2; round++)
        for (k = 0; k < rules; k++) {
            const double a = c * g / (r * (round ? 1.5 : 1.4));
            const csim_shape shape = round ? csim_cylinder(CSIM_R(0.1), CSIM_R(0.2)) : csim_sphere(CSIM_R(0.1));
            csim_world_def def = csim_reference_world_def();
            double exact = h * v, speed = v, rest;
            lane l;
            CASE("%s, integrator %d", round ? "cylinder" : "ball", k);
            def.integrator = rule[k];
            l = lay(def, shape, 0, c, v);
            for (; speed > a * h; exact += h * speed) speed -= a * h;
            for (i = 0; i < 800; i++) {
                STATUS(csim_world_step(l.w, (csim_real)h), CSIM_OK);
                CHECK(!(csim_world_stats(l.w).flags & CSIM_FLAG_UNCERTIFIED));
            }
            if (k == 0) NEAR(along(&l, 0), exact, TOL(1e-6, 2e-3));
            NEAR(along(&l, 0), v * v / (2 * a), 2 * h * v);
            rest = along(&l, 0);
            for (i = 0; i < 100; i++) STATUS(csim_world_step(l.w, (csim_real)h), CSIM_OK);
            NEAR(along(&l, 0), rest, TOL(1e-9, 1e-6));
            csim_destroy_world(l.w);
        }
}

TEST(what_rolls_stops_where_mechanics_says) { rolls_and_stops(4); }

TEST(links_that_roll_stop_where_bodies_do) {
    as_links = true;
    rolls_and_stops(1);
    as_links = false;
}

/* A slope holds a ball up to tan(angle) = c / r; beyond, a = (g sin - c g cos / r) / 1.4. */
TEST(slopes_hold_up_to_the_limit) {
    const double c = 0.02, g = 9.81, r = 0.1, h = 0.005;
    int round, i, turn;
    for (round = 0; round < 2; round++)
        for (turn = 0; turn < 2; turn++) {
            const double angle = atan((round ? 1.1 : 0.9) * c / r);
            const double a = (g * sin(angle) - c * g * cos(angle) / r) / 1.4;
            const double slip = h * g * sin(angle) / 1.4;
            csim_world_def def = csim_default_world_def();
            lane l;
            CASE("%s the limit, sleep %d", round ? "above" : "below", turn);
            def.can_sleep = turn != 0;
            l = lay(def, csim_sphere(CSIM_R(0.1)), angle, turn ? 0 : c, 0);
            if (turn) { /* by the ground's, set while it runs */
                csim_surface_def s;
                STATUS(csim_body_get_surface(l.w, l.ground, &s), CSIM_OK);
                s.rolling_resistance = (csim_real)c;
                STATUS(csim_body_set_shape_surface(l.w, l.ground, 0, &s), CSIM_OK);
            }
            for (i = 0; i < 400; i++) STATUS(csim_world_step(l.w, (csim_real)h), CSIM_OK);
            if (round)
                NEAR(along(&l, angle), a * 4 / 2, 0.02);
            else /* the first step knows no normal force: it moves by what gravity gives in it, and slows down */
                NEAR(along(&l, angle), 0, slip * (2 * h - slip / (2 * a)));
            EQUAL(csim_world_stats(l.w).asleep, turn && !round);
            csim_destroy_world(l.w);
        }
}

/* Between two bodies the couples are opposite: what is lost of turning by one is won by the other. */
TEST(couples_of_two_bodies_are_opposite) {
    csim_world_def def = csim_reference_world_def();
    csim_rigid_def d = csim_default_rigid_def();
    const csim_shape ball = csim_sphere(CSIM_R(0.1)), plank = csim_box(csim_v3(2, CSIM_R(0.3), CSIM_R(0.05)));
    csim_totals before, after;
    csim_world *w;
    csim_body_id a, b;
    csim_vec3 v[2];
    int i;
    def.gravity = csim_v3(0, 0, 0);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    d.shapes = &plank, d.shape_count = 1;
    STATUS(csim_create_rigid(w, &d, &b), CSIM_OK);
    d.shapes = &ball;
    d.surface.rolling_resistance = CSIM_R(0.02);
    d.pose.position.z = CSIM_R(0.15);
    d.velocity = csim_v3(1, 0, 0), d.angular_velocity = csim_v3(0, 10, 0);
    STATUS(csim_create_rigid(w, &d, &a), CSIM_OK);
    before = csim_world_totals(w);
    for (i = 0; i < 100; i++) { /* pressed together along the line of their centres */
        csim_pose p;
        csim_body_get_pose(w, a, &p);
        csim_body_add_force_at(w, a, csim_v3(0, 0, -100), p.position);
        csim_body_add_force_at(w, b, csim_v3(0, 0, 100), p.position);
        STATUS(csim_world_step(w, CSIM_R(0.002)), CSIM_OK);
    }
    after = csim_world_totals(w);
    for (i = 0; i < 3; i++) {
        NEAR(after.momentum[i], before.momentum[i], TOL(1e-6, 1e-2));
        NEAR(after.angular_momentum[i], before.angular_momentum[i], TOL(1e-6, 1e-2));
    }
    csim_body_get_velocity(w, a, &v[0], NULL), csim_body_get_velocity(w, b, &v[1], NULL);
    CHECK(v[0].x < CSIM_R(0.9) && v[1].x > CSIM_R(0.001)); /* and it does brake */
    csim_destroy_world(w);
}

/* A pair that resists takes the room of two contacts; saved worlds go on the same; every solver arrives. */
TEST(rolling_in_every_world) {
    csim_world_def def = csim_default_world_def();
    static double block[1 << 15];
    csim_surface_def bad = csim_default_surface_def();
    csim_rigid_def d = csim_default_rigid_def();
    const csim_shape ball = csim_sphere(CSIM_R(0.1));
    size_t bytes;
    csim_body_id id;
    csim_world *w;
    int i, k;
    for (k = 0; k <= (int)CSIM_SOLVER_BOUNDED; k++) {
        csim_world_def of = csim_default_world_def();
        void *saved;
        uint64_t hash;
        lane l;
        CASE("solver %d", k);
        of.solver.solver = (csim_solver)k;
        if (csim_create_world(&of, &w, NULL) != CSIM_OK) continue;
        csim_destroy_world(w);
        l = lay(of, ball, 0, 0.02, 1);
        for (i = 0; i < 40; i++) STATUS(csim_world_step(l.w, CSIM_R(0.005)), CSIM_OK);
        NEAR(along(&l, 0), 0.2 - 0.02 * 9.81 / 0.14 * 0.04 / 2, 0.01);
        bytes = 0, csim_world_save(l.w, NULL, &bytes);
        saved = malloc(bytes);
        csim_world_save(l.w, saved, &bytes);
        for (i = 0; i < 40; i++) STATUS(csim_world_step(l.w, CSIM_R(0.005)), CSIM_OK);
        hash = csim_world_hash(l.w);
        STATUS(csim_world_restore(l.w, saved, bytes), CSIM_OK);
        for (i = 0; i < 40; i++) STATUS(csim_world_step(l.w, CSIM_R(0.005)), CSIM_OK);
        CHECK(csim_world_hash(l.w) == hash);
        free(saved);
        csim_destroy_world(l.w);
    }
    CASE("%s", "");
    def.capacity.bodies = 2, def.capacity.contacts = 1;
    STATUS(csim_world_bytes(&def, &bytes, NULL), CSIM_OK);
    CHECK(bytes < sizeof block - 64);
    STATUS(csim_create_world_in(&def, (char *)block + (64 - (size_t)block % 64) % 64, bytes, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id), CSIM_OK);
    d.shapes = &ball, d.shape_count = 1, d.pose.position.z = CSIM_R(0.1);
    d.surface.rolling_resistance = CSIM_R(0.01);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_CAPACITY);
    CHECK(strstr(csim_last_error(w), "contacts") != NULL);
    bad.rolling_resistance = -1;
    STATUS(csim_body_set_surface(w, id, &bad), CSIM_OUT_OF_RANGE);
    CHECK(strstr(csim_last_error(w), "rolling_resistance") != NULL);
    csim_destroy_world(w);
}

#ifdef CONDSIM_REFERENCE
/* Pivots know no bounded rows: they say so, and the step changes nothing. */
TEST(lemke_refuses_what_resists_rolling) {
    csim_world_def def = csim_default_world_def();
    uint64_t before;
    lane l;
    int i;
    def.solver.solver = CSIM_SOLVER_LEMKE;
    l = lay(def, csim_sphere(CSIM_R(0.1)), 0, 0.01, 2);
    for (i = 0; i < 8; i++) { /* the rows come with the impulse of a step before */
        before = csim_world_hash(l.w);
        if (csim_world_step(l.w, CSIM_R(0.005)) != CSIM_OK) break;
    }
    CHECK(i > 0 && i < 8);
    STATUS(csim_world_step(l.w, CSIM_R(0.005)), CSIM_BAD_PROBLEM);
    CHECK(strstr(csim_last_error(l.w), "rolling") != NULL);
    CHECK(csim_world_hash(l.w) == before);
    csim_destroy_world(l.w);
}
#endif
