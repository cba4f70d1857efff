/* walker: a controller of a character, to copy and to change: slopes, stairs, lifts, pushing, crouching. It is no body
   of the world: a few numbers, and functions of the world as it lies (docs/characters.md). SI units, z up; include
   condsim.h before this. */
#ifndef WALKER_H
#define WALKER_H

typedef struct walker {
    csim_vec3 feet, velocity; /* m, m/s */
    csim_real height;
    csim_vec3 carried;        /* velocity of what it stands on */
    bool stands;
} walker;

static const csim_real walker_radius = CSIM_R(0.3), walker_skin = CSIM_R(0.01), walker_stair = CSIM_R(0.35);
static const csim_real walker_steepest = CSIM_R(0.7), walker_tall = CSIM_R(1.8), walker_low = CSIM_R(1.0);

static csim_mover walker_capsule(const walker *c) {
    csim_mover m;
    m.a = csim_add(c->feet, csim_v3(0, 0, walker_radius));
    m.b = csim_add(c->feet, csim_v3(0, 0, c->height - walker_radius));
    m.radius = walker_radius;
    return m;
}

static csim_vec3 walker_move(csim_world *world, walker *c, csim_vec3 way) {
    const csim_mover m = walker_capsule(c);
    const csim_vec3 gone = csim_world_move_capsule(world, NULL, &m, way, walker_skin, NULL, 0, NULL);
    c->feet = csim_add(c->feet, gone);
    return gone;
}

/* Straight down, without sliding off an edge. */
static void walker_drop(csim_world *world, walker *c, csim_real deep) {
    const csim_mover m = walker_capsule(c);
    csim_query_hit hit;
    if (csim_world_cast_capsule(world, NULL, &m, csim_v3(0, 0, -deep), &hit))
        deep = hit.distance > walker_skin ? hit.distance - walker_skin : 0;
    c->feet.z -= deep;
}

/* What is under it that it can stand on. */
static bool walker_ground(csim_world *world, const walker *c, csim_plane *found) {
    const csim_mover m = walker_capsule(c);
    csim_plane p[8];
    int i, n = csim_world_capsule_planes(world, NULL, &m, 2 * walker_skin, p, 8);
    for (i = 0; i < n; ++i)
        if (p[i].normal.z >= walker_steepest) return *found = p[i], true;
    return false;
}

static csim_real walker_level(csim_vec3 v) { return CSIM_R(v.x * v.x + v.y * v.y); }

/* Up a stair, on, and down again: kept when it leads farther and ends where one can stand. Round feet stand on an
   edge from a tread of 0.12 m on. */
static void walker_climb(csim_world *world, walker *c, walker from, csim_vec3 way, csim_vec3 gone) {
    csim_plane p;
    csim_vec3 up = walker_move(world, &from, csim_v3(0, 0, walker_stair));
    csim_vec3 on = walker_move(world, &from, csim_scale(CSIM_R(0.12), csim_normalize(way)));
    walker_drop(world, &from, up.z + walker_stair);
    if (walker_level(on) > walker_level(gone) + CSIM_R(1e-6) && walker_ground(world, &from, &p)) *c = from;
}

static void walker_walk(csim_world *world, walker *c, csim_vec3 wish, bool crouch, csim_real h) {
    const csim_mover m = walker_capsule(c);
    walker from = *c;
    csim_plane p[8];
    csim_query_hit hit;
    csim_vec3 way, gone, side;
    int i, n;
    if (crouch || !csim_world_cast_capsule(world, NULL, &m, csim_v3(0, 0, walker_tall - c->height), &hit))
        c->height = crouch ? walker_low : walker_tall; /* it stands up when there is room */
    c->velocity = csim_add(csim_v3(wish.x, wish.y, c->stands ? 0 : c->velocity.z - CSIM_R(9.81) * h), c->carried);
    if (!c->stands) c->velocity.z -= c->carried.z;
    from = *c;
    way = csim_scale(h, c->velocity);
    side = csim_v3(way.x, way.y, 0);
    gone = walker_move(world, c, way);
    if (c->stands && walker_level(gone) < CSIM_R(0.98) * walker_level(side)) walker_climb(world, c, from, side, gone);
    if (c->stands && !walker_ground(world, c, p)) { /* over the edge of a stair, or down a slope */
        walker down = *c;
        walker_drop(world, &down, walker_stair);
        if (walker_ground(world, &down, p)) *c = down;
        else if (c->feet.z > from.feet.z) c->feet.z = from.feet.z; /* too steep to walk up */
    }
    { /* it leans on what it meets, and weighs on what it stands on */
        const csim_mover now = walker_capsule(c);
        n = csim_world_capsule_planes(world, NULL, &now, 2 * walker_skin, p, 8);
    }
    for (i = 0; i < n; ++i)
        csim_body_add_force(world, p[i].body, csim_scale(p[i].normal.z >= walker_steepest ? -700 : -300, p[i].normal),
                            csim_v3(0, 0, 0));
    c->stands = walker_ground(world, c, p);
    c->carried = c->stands ? p[0].velocity : csim_v3(0, 0, 0);
}

#endif
