/* A walker: slopes, stairs, a lift, a crate to push, a beam to crouch under, a soft mat. It is no body of the world: a
   few numbers, and functions of the world as it lies. Build: cc 07_character.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <stdio.h>

#define R(x) CSIM_R(x)

typedef struct walker {
    csim_vec3 feet, velocity; /* m, m/s */
    csim_real height;
    csim_vec3 carried;        /* velocity of what it stands on */
    bool stands;
} walker;

static const csim_real radius = R(0.3), skin = R(0.01), stair = R(0.35), steepest = R(0.7), tall = R(1.8), low = R(1.0);

static csim_mover capsule(const walker *c) {
    csim_mover m;
    m.a = csim_add(c->feet, csim_v3(0, 0, radius));
    m.b = csim_add(c->feet, csim_v3(0, 0, c->height - radius));
    m.radius = radius;
    return m;
}

static csim_vec3 move(csim_world *world, walker *c, csim_vec3 way) {
    const csim_mover m = capsule(c);
    const csim_vec3 gone = csim_world_move_capsule(world, NULL, &m, way, skin, NULL, 0, NULL);
    c->feet = csim_add(c->feet, gone);
    return gone;
}

/* Straight down, without sliding off an edge. */
static void drop(csim_world *world, walker *c, csim_real deep) {
    const csim_mover m = capsule(c);
    csim_query_hit hit;
    if (csim_world_cast_capsule(world, NULL, &m, csim_v3(0, 0, -deep), &hit))
        deep = hit.distance > skin ? hit.distance - skin : 0;
    c->feet.z -= deep;
}

/* What is under it that it can stand on. */
static bool ground(csim_world *world, const walker *c, csim_plane *found) {
    const csim_mover m = capsule(c);
    csim_plane p[8];
    int i, n = csim_world_capsule_planes(world, NULL, &m, 2 * skin, p, 8);
    for (i = 0; i < n; ++i)
        if (p[i].normal.z >= steepest) return *found = p[i], true;
    return false;
}

static csim_real level(csim_vec3 v) { return CSIM_R(v.x * v.x + v.y * v.y); }

/* Up a stair, on, and down again: kept when it leads farther and ends where one can stand. Round feet stand on an edge
   from a tread of 0.12 m on. */
static void climb(csim_world *world, walker *c, walker from, csim_vec3 way, csim_vec3 gone) {
    csim_plane p;
    csim_vec3 up = move(world, &from, csim_v3(0, 0, stair));
    csim_vec3 on = move(world, &from, csim_scale(R(0.12), csim_normalize(way)));
    drop(world, &from, up.z + stair);
    if (level(on) > level(gone) + R(1e-6) && ground(world, &from, &p)) *c = from;
}

static void walk(csim_world *world, walker *c, csim_vec3 wish, bool crouch, csim_real h) {
    const csim_mover m = capsule(c);
    walker from = *c;
    csim_plane p[8];
    csim_query_hit hit;
    csim_vec3 way, gone, side;
    int i, n;
    if (crouch || !csim_world_cast_capsule(world, NULL, &m, csim_v3(0, 0, tall - c->height), &hit))
        c->height = crouch ? low : tall; /* it stands up when there is room */
    c->velocity = csim_add(csim_v3(wish.x, wish.y, c->stands ? 0 : c->velocity.z - R(9.81) * h), c->carried);
    if (!c->stands) c->velocity.z -= c->carried.z;
    from = *c;
    way = csim_scale(h, c->velocity);
    side = csim_v3(way.x, way.y, 0);
    gone = move(world, c, way);
    if (c->stands && level(gone) < R(0.98) * level(side)) climb(world, c, from, side, gone);
    if (c->stands && !ground(world, c, p)) { /* over the edge of a stair, or down a slope */
        walker down = *c;
        drop(world, &down, stair);
        if (ground(world, &down, p)) *c = down;
        else if (c->feet.z > from.feet.z) c->feet.z = from.feet.z; /* too steep to walk up */
    }
    { /* it leans on what it meets, and weighs on what it stands on */
        const csim_mover now = capsule(c);
        n = csim_world_capsule_planes(world, NULL, &now, 2 * skin, p, 8);
    }
    for (i = 0; i < n; ++i)
        csim_body_add_force(world, p[i].body, csim_scale(p[i].normal.z >= steepest ? -700 : -300, p[i].normal),
                            csim_v3(0, 0, 0));
    c->stands = ground(world, c, p);
    c->carried = c->stands ? p[0].velocity : csim_v3(0, 0, 0);
}

static csim_body_id box(csim_world *world, csim_vec3 half, csim_vec3 at, csim_real tilt, csim_motion motion) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape shape = csim_box(half);
    csim_body_id id = {0, 0, 0};
    def.shapes = &shape;
    def.shape_count = 1;
    def.density = 200;
    def.motion = motion;
    def.pose.position = at;
    def.pose.rotation = csim_quat_axis_angle(csim_v3(0, 1, 0), tilt);
    csim_create_rigid(world, &def, &id);
    return id;
}

static void tell(const char *what, const walker *c) {
    printf("%-22s x %5.2f z %5.2f%s\n", what, (double)c->feet.x, (double)c->feet.z, c->stands ? "" : ", in the air");
}

int main(void) {
    csim_world_def def = csim_default_world_def();
    csim_soft_def mat = csim_default_soft_def();
    csim_world *world;
    csim_error error;
    csim_body_id id, crate, lift;
    csim_pose pose;
    csim_vec3 v = {2, 0, 0}, none = {0, 0, 0};
    walker c = {{0, 0, R(0.01)}, {0, 0, 0}, R(1.8), {0, 0, 0}, true};
    static const csim_real cube[24] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
    static const int tets[24] = {0, 1, 2, 6, 0, 2, 3, 6, 0, 3, 7, 6, 0, 7, 4, 6, 0, 4, 5, 6, 0, 5, 1, 6};
    int i;
    if (csim_create_world(&def, &world, &error) != CSIM_OK) return printf("%s\n", error.text), 1;
    csim_create_ground(world, none, csim_v3(0, 0, 1), R(0.5), &id);
    for (i = 0; i < 4; ++i) /* stairs of 0.25 m from x = 2 on */
        box(world, csim_v3(R(0.5), 1, R(0.125) * (csim_real)(i + 1)),
            csim_v3(R(2.5) + (csim_real)i, 0, R(0.125) * (csim_real)(i + 1)), 0, CSIM_STATIC);
    box(world, csim_v3(2, 1, R(0.1)), csim_v3(R(7.9), 0, R(0.4)), R(0.254), CSIM_STATIC); /* a ramp down */
    box(world, csim_v3(R(0.2), 1, R(0.1)), csim_v3(12, 0, R(1.3)), 0, CSIM_STATIC);      /* a beam 1.2 m up */
    crate = box(world, csim_v3(R(0.3), R(0.3), R(0.3)), csim_v3(15, 0, R(0.3)), 0, CSIM_DYNAMIC);
    lift = box(world, csim_v3(1, 1, R(0.05)), csim_v3(21, 0, R(0.05)), 0, CSIM_KINEMATIC);
    box(world, csim_v3(1, 1, R(0.1)), csim_v3(-4, 0, 0), R(-1.1), CSIM_STATIC); /* too steep */
    mat.vertices = cube;
    mat.vertex_count = 8;
    mat.tets = tets;
    mat.tet_count = 6;
    mat.young = R(1e5);
    mat.scale = 1;
    mat.pose.position = csim_v3(R(-2.5), R(2.5), 0);
    csim_create_soft(world, &mat, &id);

#define STEPS(n, wish, crouch)                       \
    for (i = 0; i < (n); ++i) {                      \
        walk(world, &c, (wish), (crouch), R(0.01));  \
        if (csim_world_step(world, R(0.01)) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1; \
    }
    STEPS(250, v, false);
    tell("up the stairs", &c);
    STEPS(250, v, false);
    tell("down the ramp", &c);
    STEPS(200, v, false);
    tell("stopped by the beam", &c);
    STEPS(100, v, true);
    tell("crouched under it", &c);
    STEPS(100, v, false);
    csim_body_get_pose(world, crate, &pose);
    printf("pushed the crate to    x %5.2f\n", (double)pose.position.x);
    c.feet = csim_v3(21, 0, R(0.11));
    csim_body_set_velocity(world, lift, csim_v3(R(0.5), 0, 1), none);
    STEPS(200, none, false);
    tell("up on the lift", &c);
    c.feet = csim_v3(-2, 3, R(1.2));
    c.stands = false;
    STEPS(200, none, false);
    tell("on the soft mat", &c);
    c.feet = csim_v3(-2, 0, R(0.01));
    STEPS(200, csim_v3(-2, 0, 0), false);
    tell("before the steep slope", &c);
    csim_destroy_world(world);
    return 0;
}
