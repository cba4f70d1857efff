/* What a build with switches still does (tests/switches.sh): small scenes, each with the features it uses. A line is
   "NAME HASH", or "NAME refused", when the library says CSIM_UNSUPPORTED with a sentence, which it must do exactly when
   one of the features of the scene is left out. Ends with "N wrong". */
#define CONDSIM_IMPLEMENTATION
#include "condsim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char left_out[] = " "
#ifdef CONDSIM_NO_SOFT
    "soft "
#endif
#ifdef CONDSIM_NO_CABLE
    "cable "
#endif
#ifdef CONDSIM_NO_CLOTH
    "cloth "
#endif
#ifdef CONDSIM_NO_TREE
    "tree "
#endif
#ifdef CONDSIM_NO_REDUCED
    "reduced "
#endif
#ifdef CONDSIM_NO_JOINTS
    "joints "
#endif
#ifdef CONDSIM_NO_PARTICLES
    "particles "
#endif
#ifdef CONDSIM_NO_RIGID
    "rigid "
#endif
#ifdef CONDSIM_NO_CHARACTER
    "character "
#endif
#ifdef CONDSIM_NO_QUERIES
    "queries "
#endif
#ifdef CONDSIM_NO_RECORD
    "record "
#endif
#ifdef CONDSIM_NO_DRAW
    "draw "
#endif
#ifdef CONDSIM_NO_EVENTS
    "events "
#endif
#ifdef CONDSIM_NO_PATHS
    "paths "
#endif
#ifdef CONDSIM_NO_SLEEP
    "sleep "
#endif
#ifdef CONDSIM_NO_SPRINGS
    "springs "
#endif
#ifdef CONDSIM_NO_LAWS
    "laws "
#endif
#ifdef CONDSIM_NO_ROUND
    "round "
#endif
#ifdef CONDSIM_NO_BOXES
    "boxes "
#endif
#ifdef CONDSIM_NO_STACKS
    "stacks "
#endif
#ifdef CONDSIM_NO_CYLINDERS
    "cylinders "
#endif
#ifdef CONDSIM_NO_HULLS
    "hulls "
#endif
#ifdef CONDSIM_NO_FIELDS
    "fields "
#endif
#ifdef CONDSIM_NO_COND
    "cond "
#endif
#ifdef CONDSIM_NO_SWEEP
    "sweep "
#endif
#ifdef CONDSIM_NO_RESTRAINT
    "restraint "
#endif
#ifdef CONDSIM_NO_BOUNDED
    "bounded "
#endif
#ifdef CONDSIM_NO_IMPULSE
    "impulse "
#endif
#ifdef CONDSIM_NO_PGS
    "pgs "
#endif
#ifdef CONDSIM_NO_APGD
    "apgd "
#endif
#ifdef CONDSIM_NO_PERCONTACT
    "percontact "
#endif
#ifdef CONDSIM_NO_STAGGERED
    "staggered "
#endif
#ifdef CONDSIM_NO_CCS
    "ccs "
#endif
#ifdef CONDSIM_NO_NEWTON
    "newton "
#endif
#ifdef CONDSIM_NO_XPBD
    "xpbd "
#endif
#ifdef CONDSIM_NO_PENALTY
    "penalty "
#endif
#ifdef CONDSIM_NO_SNAPSHOTS
    "snapshots "
#endif
#ifdef CONDSIM_NO_STATISTICS
    "statistics "
#endif
    ;

enum { STEPS = 12 };
#define R(x) CSIM_R(x)
static const csim_real cube[24] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1};
static const int cube_tets[24] = {0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7};
static const int cube_faces[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                   2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};

/* ---- scenes: the first failure, or the hash of the world after some steps */

typedef struct stage {
    csim_world *world;
    csim_body_id id, other;
    csim_link_id link;
    csim_solver solver;
    uint64_t more; /* hashed too */
} stage;

static csim_status box_at(stage *s, csim_real x, csim_real z, csim_body_id *id) {
    csim_rigid_def def = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(R(0.1), R(0.1), R(0.1)));
    def.shapes = &box, def.shape_count = 1;
    def.pose.position = csim_v3(x, 0, z);
    def.velocity = csim_v3(R(0.3), 0, 0);
    return csim_create_rigid(s->world, &def, id);
}
static csim_status shape_at(stage *s, csim_shape shape) {
    csim_rigid_def def = csim_default_rigid_def();
    def.shapes = &shape, def.shape_count = 1;
    def.pose.position = csim_v3(0, 0, R(0.11));
    return csim_create_rigid(s->world, &def, &s->id);
}
static csim_status particle_at(stage *s, csim_real x, csim_body_id *id) {
    csim_particle_def def = csim_default_particle_def();
    def.radius = R(0.05);
    def.position = csim_v3(x, 0, R(0.06));
    return csim_create_particle(s->world, &def, id);
}
static csim_status boxes(stage *s) {
    const csim_status status = box_at(s, 0, R(0.11), &s->id);
    return status ? status : box_at(s, R(0.02), R(0.32), &s->other);
}
static csim_status missed(stage *s) { /* steps miss; without restraint they leave something else, and nobody says so */
    const csim_status status = boxes(s);
    return status || !strstr(left_out, " restraint ") ? status : CSIM_UNSUPPORTED;
}
static csim_status grained(stage *s) { /* slides along the grain */
    csim_surface_def surface = csim_default_surface_def();
    csim_shape shape = csim_box(csim_v3(R(0.1), R(0.1), R(0.1)));
    surface.friction = R(0.2), surface.friction2 = R(0.8);
    surface.friction_direction = csim_v3(1, 1, 0);
    shape.surface = &surface;
    return shape_at(s, shape);
}
static csim_status particles(stage *s) {
    const csim_status status = particle_at(s, 0, &s->id);
    return status ? status : particle_at(s, R(0.3), &s->other);
}
static csim_status round_shapes(stage *s) {
    const csim_status status = shape_at(s, csim_sphere(R(0.1)));
    return status ? status : shape_at(s, csim_capsule(R(0.05), R(0.1)));
}
static csim_status drums(stage *s) { /* one on its rim on the ground, one across it */
    csim_rigid_def def = csim_default_rigid_def();
    const csim_shape shape = csim_cylinder(R(0.1), R(0.15));
    const csim_status status = shape_at(s, shape);
    def.shapes = &shape, def.shape_count = 1;
    def.pose.position = csim_v3(0, 0, R(0.45));
    def.pose.rotation.x = def.pose.rotation.w = R(0.70710678);
    return status ? status : csim_create_rigid(s->world, &def, &s->other);
}
static csim_status spring(stage *s) {
    csim_spring_def def = csim_default_spring_def();
    const csim_status status = particles(s);
    def.a.body = s->id, def.b.body = s->other;
    def.rest_length = R(0.35);
    return status ? status : csim_create_spring(s->world, &def, &s->link);
}
static csim_status joint(stage *s) {
    csim_joint_def def = csim_default_joint_def();
    const csim_status status = boxes(s);
    if (status) return status;
    def.a.body = s->id, def.b.body = s->other;
    def.a.point = def.b.point = csim_v3(0, 0, R(0.21));
    return csim_create_joint(s->world, &def, &s->link);
}
static csim_status character(stage *s) {
    csim_query_def def = csim_default_query_def();
    csim_mover m = {{0, 0, R(0.5)}, {0, 0, 1}, R(0.3)};
    csim_error error;
    csim_vec3 gone;
    csim_status status = shape_at(s, csim_box(csim_v3(R(0.1), R(0.1), R(0.1))));
    memset(&error, 0, sizeof error);
    def.error = &error;
    gone = csim_world_move_capsule(s->world, &def, &m, csim_v3(1, R(0.5), -1), R(0.01), NULL, 0, NULL);
    s->more ^= (uint64_t)(1e6 * ((double)gone.x + 3 * (double)gone.z));
    return status ? status : error.status;
}
static csim_status asked(stage *s) {
    csim_query_def def = csim_default_query_def();
    csim_status status = boxes(s);
    csim_query_hit hit;
    csim_error error;
    memset(&error, 0, sizeof error);
    def.error = &error;
    if (csim_world_cast_ray(s->world, &def, csim_v3(R(0.05), 0, 1), csim_v3(0, 0, -2), &hit))
        s->more = (uint64_t)(1e5 * (double)hit.fraction);
    return status ? status : error.status;
}
static csim_status recorded(stage *s) {
    static double log[1 << 13], scratch[1 << 13];
    csim_recording r;
    csim_status status = shape_at(s, csim_box(csim_v3(R(0.1), R(0.1), R(0.1))));
    memset(&r, 0, sizeof r);
    (void)csim_record_start(&r, log, sizeof log, scratch, sizeof scratch, 0);
    return status ? status : csim_record_step(&r, s->world, R(0.01));
}
static void count_line(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 from, csim_vec3 to) {
    *(uint64_t *)user += 1 + kind + colour + (uint64_t)(1e3 * (from.x + to.z + 2));
}
static csim_status drawn(stage *s) {
    csim_draw def = csim_default_draw();
    const csim_status status = shape_at(s, csim_box(csim_v3(R(0.1), R(0.1), R(0.1))));
    def.line = count_line, def.user = &s->more, def.ground = 1;
    return status ? status : csim_world_draw(s->world, &def);
}
static csim_status soft(stage *s) {
    csim_soft_def def = csim_default_soft_def();
    def.vertices = cube, def.vertex_count = 8, def.tets = cube_tets, def.tet_count = 6, def.scale = R(0.2);
    def.pose.position = csim_v3(0, 0, R(0.01));
    return csim_create_soft(s->world, &def, &s->id);
}
static csim_status cloth(stage *s) {
    csim_cloth_def def = csim_default_cloth_def();
    csim_status status = shape_at(s, csim_sphere(R(0.1)));
    def.vertices = cube, def.vertex_count = 4, def.triangles = cube_faces, def.triangle_count = 2, def.scale = R(0.3);
    def.pose.position = csim_v3(R(-0.1), R(-0.1), R(0.23));
    return status ? status : csim_create_cloth(s->world, &def, &s->other);
}
static csim_status cable(stage *s) {
    csim_cable_def def = csim_default_cable_def();
    def.start = csim_v3(0, 0, R(0.02)), def.end = csim_v3(R(0.5), 0, R(0.1));
    def.segments = 6;
    return csim_create_cable(s->world, &def, &s->id);
}
static csim_status tree(stage *s) {
    csim_tree_link_def link[2];
    csim_tree_def def = csim_default_tree_def();
    csim_shape box = csim_box(csim_v3(R(0.1), R(0.02), R(0.02)));
    link[0] = link[1] = csim_default_tree_link_def();
    link[0].joint = CSIM_TREE_FLOATING;
    link[1].parent = 0, link[1].joint = CSIM_TREE_REVOLUTE, link[1].axis = csim_v3(0, 1, 0);
    link[1].frame.position = csim_v3(R(0.22), 0, 0);
    link[0].shapes = link[1].shapes = &box, link[0].shape_count = link[1].shape_count = 1;
    def.links = link, def.link_count = 2;
    def.pose.position = csim_v3(0, 0, R(0.03));
    return csim_create_tree(s->world, &def, &s->id);
}
static csim_status reduced(stage *s) { /* modes are made elsewhere: here it is only asked whether bodies of them are there */
    csim_reduced_def def = csim_default_reduced_def();
    const csim_status status = csim_create_reduced(s->world, &def, &s->id);
    return status == CSIM_UNSUPPORTED ? status : CSIM_OK;
}
static csim_status hull(stage *s) {
    csim_vec3 corner[8];
    int i;
    for (i = 0; i < 8; ++i)
        corner[i] = csim_v3(R(0.2) * (cube[3 * i] - R(0.5)), R(0.2) * (cube[3 * i + 1] - R(0.5)),
                            R(0.18) * (cube[3 * i + 2] - R(0.5)));
    return shape_at(s, csim_hull(corner, 8));
}
static csim_status heights(stage *s) {
    static csim_real height[9] = {0, R(0.02), 0, R(0.01), 0, R(0.03), 0, 0, R(0.01)};
    static double block[4096];
    csim_height_field_def def = csim_default_height_field_def();
    csim_rigid_def ground = csim_default_rigid_def();
    const csim_field *field = NULL;
    csim_error error;
    csim_status status;
    csim_shape shape;
    def.heights = height, def.count_x = def.count_y = 3;
    status = csim_create_height_field_in(&def, (void *)(((uintptr_t)block + 63) & ~(uintptr_t)63), sizeof block - 64,
                                         &field, &error);
    if (status) return status;
    shape = csim_field_shape(field);
    ground.shapes = &shape, ground.shape_count = 1, ground.motion = CSIM_STATIC;
    ground.pose.position = csim_v3(-1, -1, 0);
    status = csim_create_rigid(s->world, &ground, &s->other);
    return status ? status : shape_at(s, csim_sphere(R(0.1)));
}
static csim_status saved(stage *s) {
    static unsigned char bytes[65536];
    size_t size = sizeof bytes, i;
    csim_status status = boxes(s);
    if (status) return status;
    if ((status = csim_world_save(s->world, bytes, &size)) != 0) return status;
    for (i = 0; i < 16; ++i) s->more = s->more * 31 + (i < 8 ? 0u : bytes[size - i]);
    return csim_world_restore(s->world, bytes, size);
}
static csim_status by_impulse(stage *s) {
    static double work[8192];
    const csim_real W[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, q[3] = {-1, R(0.3), R(0.9)}, mu[1] = {R(0.5)};
    csim_solver_params params = csim_default_solver_params();
    csim_impulse_problem problem;
    csim_real r[3] = {0, 0, 0};
    csim_outcome outcome;
    csim_status status;
    memset(&problem, 0, sizeof problem);
    problem.contact_count = 1, problem.dense = W, problem.q = q, problem.mu = mu;
    status = csim_impulse_solve(&problem, &params, work, sizeof work, NULL, r, &outcome, NULL);
    s->more = (uint64_t)(r[0] * 1000 + r[2] * 10);
    return status;
}
static csim_status measured(stage *s) {
    const csim_status status = boxes(s);
    const csim_totals totals = csim_world_totals(s->world);
    if (status) return status;
    s->more = (uint64_t)(totals.mass * 16);
    return totals.mass > 0 ? CSIM_OK : CSIM_UNSUPPORTED;
}

/* Two boxes close above the ground: steps until something was told. */
static csim_status told(stage *s) {
    csim_status status = boxes(s);
    int i;
    for (i = 0; i < STEPS && !status; ++i) {
        status = csim_world_step(s->world, R(0.01));
        s->more += (uint64_t)(csim_world_events(s->world).begin_count + 16 * csim_world_events(s->world).move_count);
    }
    return status ? status : s->more ? CSIM_OK : CSIM_UNSUPPORTED;
}

/* Sent to bed before it came to rest. */
static csim_status asleep(stage *s) {
    csim_status status = boxes(s);
    bool awake = true;
    if (!status) status = csim_body_set_awake(s->world, s->id, false);
    if (!status) status = csim_world_step(s->world, R(0.01));
    if (!status) status = csim_body_is_awake(s->world, s->id, &awake);
    s->more = awake;
    return status;
}

/* A rod that spins in flight; its path is followed (play sets that). */
static csim_status followed(stage *s) {
    const csim_status status = shape_at(s, csim_capsule(R(0.01), R(0.2)));
    csim_body_set_velocity(s->world, s->id, csim_v3(0, 0, R(-1)), csim_v3(R(60), R(3), 0));
    return status;
}

typedef struct scene {
    const char *name, *uses; /* features, each with a space on both sides */
    csim_solver solver;
    csim_status (*build)(stage *s);
} scene;

static const scene scenes[] = {
    {"boxes-sweep", " sweep boxes stacks rigid ", CSIM_SOLVER_SWEEP, boxes},
    {"boxes-cond", " cond boxes stacks rigid ", CSIM_SOLVER_COND, boxes},
    {"particles-sweep", " particles sweep ", CSIM_SOLVER_SWEEP, particles},
    {"particles-cond", " particles cond ", CSIM_SOLVER_COND, particles},
    {"round-sweep", " sweep round rigid ", CSIM_SOLVER_SWEEP, round_shapes},
    {"round-cond", " cond round rigid ", CSIM_SOLVER_COND, round_shapes},
    {"spring-cond", " springs particles cond ", CSIM_SOLVER_COND, spring},
    {"spring-sweep", " springs particles sweep ", CSIM_SOLVER_SWEEP, spring},
    {"joint-sweep", " joints sweep boxes stacks rigid ", CSIM_SOLVER_SWEEP, joint},
    {"joint-cond", " joints cond boxes stacks rigid ", CSIM_SOLVER_COND, joint},
    {"soft", " soft cond ", CSIM_SOLVER_COND, soft},
    {"soft-sweep", " soft sweep impulse ", CSIM_SOLVER_SWEEP, soft},
    {"cloth", " cloth cond round rigid ", CSIM_SOLVER_COND, cloth},
    {"cable", " cable cond ", CSIM_SOLVER_COND, cable},
    {"tree-sweep", " tree sweep boxes stacks ", CSIM_SOLVER_SWEEP, tree},
    {"tree-cond", " tree cond boxes stacks ", CSIM_SOLVER_COND, tree},
    {"reduced", " reduced ", CSIM_SOLVER_AUTO, reduced},
    {"drums", " cylinders sweep rigid ", CSIM_SOLVER_SWEEP, drums},
    {"hull", " hulls sweep rigid ", CSIM_SOLVER_SWEEP, hull},
    {"heights", " fields sweep round rigid ", CSIM_SOLVER_SWEEP, heights},
    {"bounded", " bounded boxes stacks rigid ", CSIM_SOLVER_BOUNDED, boxes},
    {"anderson", " impulse boxes stacks rigid ", CSIM_SOLVER_ANDERSON, boxes},
    {"proximal", " impulse boxes stacks rigid ", CSIM_SOLVER_PROXIMAL, boxes},
    {"pgs", " pgs boxes stacks rigid ", CSIM_SOLVER_PGS, boxes},
    {"apgd", " apgd boxes stacks rigid ", CSIM_SOLVER_APGD, boxes},
    {"percontact", " percontact boxes stacks rigid ", CSIM_SOLVER_PERCONTACT, boxes},
    {"staggered", " staggered boxes stacks rigid ", CSIM_SOLVER_STAGGERED, boxes},
    {"ccs", " ccs boxes stacks rigid ", CSIM_SOLVER_CCS, boxes},
    {"newton", " newton boxes stacks restraint rigid ", CSIM_SOLVER_NEWTON, missed},
    {"newton-proximal", " newton boxes stacks restraint rigid ", CSIM_SOLVER_NEWTON_PROXIMAL, missed},
    {"xpbd", " xpbd boxes stacks rigid ", CSIM_SOLVER_XPBD, boxes},
    {"penalty", " penalty soft cond ", CSIM_SOLVER_PENALTY, soft},
    {"penalty-explicit", " penalty boxes stacks rigid ", CSIM_SOLVER_PENALTY_EXPLICIT, boxes},
    {"impulse", " impulse ", CSIM_SOLVER_AUTO, by_impulse},
    {"character", " character sweep boxes round rigid ", CSIM_SOLVER_SWEEP, character},
    {"asked", " queries sweep boxes stacks rigid ", CSIM_SOLVER_SWEEP, asked},
    {"drawn", " draw sweep boxes rigid ", CSIM_SOLVER_SWEEP, drawn},
    {"recorded", " record snapshots sweep boxes rigid ", CSIM_SOLVER_SWEEP, recorded},
    {"grained", " laws sweep boxes rigid ", CSIM_SOLVER_SWEEP, grained},
    {"told", " events sweep boxes stacks rigid ", CSIM_SOLVER_SWEEP, told},
    {"asleep", " sleep sweep boxes stacks rigid ", CSIM_SOLVER_SWEEP, asleep},
    {"followed", " paths sweep round rigid ", CSIM_SOLVER_SWEEP, followed},
    {"saved", " snapshots sweep boxes stacks rigid ", CSIM_SOLVER_SWEEP, saved},
    {"measured", " statistics sweep boxes stacks rigid ", CSIM_SOLVER_SWEEP, measured},
};

/* A word of uses that is also one of left_out. */
static bool lacks(const char *uses) {
    char word[32];
    for (++uses; *uses; uses = strchr(uses, ' ') + 1) {
        const size_t n = strcspn(uses, " ");
        word[0] = ' ';
        memcpy(word + 1, uses, n + 1);
        word[n + 2] = 0;
        if (strstr(left_out, word)) return true;
    }
    return false;
}

static csim_status play(const scene *of, uint64_t *hash, csim_error *error) {
    csim_world_def def = csim_default_world_def();
    stage s;
    csim_body_id ground;
    csim_status status;
    int i;
    memset(&s, 0, sizeof s);
    memset(error, 0, sizeof *error);
    def.solver.solver = of->solver;
    def.solver.max_iterations = 200;
    def.can_sleep = of->build == asleep;
    def.follow_paths = of->build == followed;
    if ((status = csim_create_world(&def, &s.world, error)) != 0) return status;
    status = csim_create_ground(s.world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), R(0.5), &ground);
    if (!status) status = of->build(&s);
    for (i = 0; i < STEPS && !status; ++i) status = csim_world_step(s.world, R(0.01));
    *hash = csim_world_hash(s.world) ^ s.more;
    strcpy(error->text, csim_last_error(s.world));
    csim_destroy_world(s.world);
    return status;
}

int main(void) {
    size_t i, wrong = 0;
    for (i = 0; i < sizeof scenes / sizeof scenes[0]; ++i) {
        uint64_t hash = 0;
        csim_error error;
        const csim_status status = play(scenes + i, &hash, &error);
        const bool lacking = lacks(scenes[i].uses);
        /* a solver that meets a scene it has only a part for says that it does not take it */
        const bool refused = status == CSIM_UNSUPPORTED || (lacking && status == CSIM_BAD_PROBLEM);
        if (refused != lacking || (status && !refused)) {
            printf("%s: status %d, %s; left out:%s\n", scenes[i].name, (int)status, error.text, left_out);
            ++wrong;
        } else if (refused)
            printf("%s refused\n", scenes[i].name);
        else
            printf("%s %08lx%08lx\n", scenes[i].name, (unsigned long)(hash >> 32), (unsigned long)(hash & 0xffffffffu));
    }
    printf("%d wrong\n", (int)wrong);
    return wrong != 0;
}
