/* fuzz_api: random sequences of legal and illegal calls. Every call must return a status, a failed call must leave the
   saved state as it was, a step that says it worked must leave finite numbers, nothing may leak or overrun (run it
   under the sanitizers).

       fuzz_api [seconds] [seed]          default 5 s, seed 1; prints a table of statuses and "N passed, N failed" */
#define CONDSIM_IMPLEMENTATION
#define CONDSIM_REFERENCE /* the sparse factor, for the tool that makes modes */
#define CSIMI_KEEP_MACROS
#include "../condsim.h"
#include "../examples/modes/modes.c"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 48
enum { MODELS = 3, FIELDS = 5 }; /* made once: a soft body in modes, a linear one, one held; two meshes, heights, two
                                    levels of triangles, of one side and of two */
static csim_modes *model[MODELS];
static const csim_field *field[FIELDS];

static uint64_t state;
static uint32_t draw(void) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}
static int below(int n) { return (int)(draw() % (uint32_t)n); }
static csim_real uniform(double lo, double hi) { return (csim_real)(lo + (hi - lo) * (double)draw() / 2147483648.0); }

/* Mostly sane numbers, sometimes hostile ones. */
static csim_real number(double lo, double hi) {
    static const double hostile[] = {0, -1, 1e-30, 1e30, -1e12, 1e-7, 4e-320, 0.5, 1e9};
    volatile csim_real zero = 0;
    if (below(60)) return uniform(lo, hi);
    switch (below(12)) {
    case 0: return zero / zero;
    case 1: return 1 / zero;
    case 2: return -1 / zero;
    default: return (csim_real)hostile[below(9)];
    }
}
static csim_vec3 vector(double size) { return csim_v3(number(-size, size), number(-size, size), number(-size, size)); }

typedef struct arena {
    size_t live, calls, fail_after;
} arena;
static void *arena_alloc(void *user, size_t size, size_t align) {
    arena *a = (arena *)user;
    void *p = NULL;
    if (a->fail_after && ++a->calls > a->fail_after) return NULL;
    if (size > (size_t)1 << 30) return NULL; /* counts of a damaged snapshot: no machine has that much */
    if (posix_memalign(&p, align < 64 ? 64 : align, size)) return NULL;
    a->live++;
    return p;
}
static void arena_free(void *user, void *block, size_t size) {
    (void)size;
    if (block) ((arena *)user)->live--;
    free(block);
}

static long count_of[32], calls, failed, steps, uncertified;

static void complain(const char *what, const csim_world *w) {
    failed++;
    if (failed < 20) printf("FAILED: %s (last error: %s)\n", what, w ? csim_last_error(w) : "");
}

static csim_status note(csim_status s) {
    calls++;
    if (s > CSIM_OK || s <= CSIM_STATUS_LAST_)
        failed++;
    else
        count_of[-(int)s]++;
    return s;
}

typedef struct session {
    csim_world *w;
    csim_body_id body[MOST];
    csim_link_id link[MOST];
    int bodies, links;
    unsigned char *saved;
    size_t saved_bytes;
    csim_recording recording; /* of all steps, where `log` is */
    double *log, *scratch;
} session;

static csim_body_id any_body(const session *s) {
    csim_body_id id;
    if (s->bodies && below(20)) return s->body[below(s->bodies)];
    memset(&id, 0, sizeof id);
    if (below(2)) {
        id.index1 = draw() % 100;
        id.generation = draw() % 3;
        id.world = s->bodies ? s->body[0].world : draw();
    }
    return id;
}

static void keep_body(session *s, csim_status status, csim_body_id id) {
    if (note(status) == CSIM_OK) s->body[s->bodies < MOST ? s->bodies++ : below(MOST)] = id;
}

static csim_surface_def surface(void) {
    csim_surface_def d = csim_default_surface_def();
    d.friction = number(0, 1.5);
    d.restitution = number(0, 1);
    d.thickness = below(4) ? 0 : number(0, 0.01);
    if (!below(5)) d.friction2 = number(0, 1);
    if (!below(5)) d.friction_direction = vector(1);
    if (!below(8)) d.mask = draw();
    if (!below(5)) d.rolling_resistance = number(0, 0.05);
    d.group = below(10) ? 0 : below(3);
    return d;
}

static csim_shape some_shape(void) {
    static csim_vec3 point[24];
    csim_shape shape;
    int k;
    switch (below(9)) {
    case 7: shape = csim_field_shape(field[below(FIELDS)]); break;
    case 0: shape = csim_sphere(number(0.02, 0.2)); break;
    case 1: shape = csim_capsule(number(0.02, 0.1), number(0, 0.2)); break;
    case 2: shape = csim_cylinder(number(0.02, 0.1), number(0.02, 0.2)); break;
    case 3:
        for (k = 0; k < 24; k++) point[k] = vector(0.15);
        shape = csim_hull(point, below(24));
        break;
    case 4:
        if (!below(4)) {
            shape = csim_half_space(vector(1), vector(1));
            break;
        } /* fall through */
    default: shape = csim_box(csim_v3(number(0.02, 0.2), number(0.02, 0.2), number(0.02, 0.2))); break;
    }
    shape.sensor = !below(8);
    if (below(2)) shape.local.position = vector(0.1);
    if (!below(3)) shape.local.rotation = csim_quat_axis_angle(vector(1), number(-3, 3));
    return shape;
}

static void reshape(session *s, csim_body_id id) {
    const csim_shape shape = some_shape();
    int number_of = 0;
    switch (below(5)) {
    case 0: note(csim_body_set_shape(s->w, id, below(5) - 1, below(3) ? &shape : NULL)); break;
    case 1: note(csim_body_set_shape_enabled(s->w, id, below(5) - 1, below(2) != 0)); break;
    case 2: note(csim_body_set_density(s->w, id, number(10, 8000))); break;
    default: note(csim_body_add_shape(s->w, id, below(40) ? &shape : NULL, below(2) ? &number_of : NULL)); break;
    }
}

static void create_rigid(session *s) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape[3];
    csim_body_id id;
    int i, k;
    d.shape_count = below(8) ? 1 + below(2) : below(4);
    for (i = 0; i < 3; i++) shape[i] = some_shape();
    d.shapes = below(40) ? shape : NULL;
    d.pose.position = csim_v3(number(-1, 1), number(-1, 1), number(0, 2));
    d.pose.rotation = below(30) ? csim_quat_axis_angle(vector(1), uniform(-3, 3)) : d.pose.rotation;
    d.velocity = vector(2);
    d.angular_velocity = vector(5);
    d.density = number(10, 8000);
    d.mass = below(3) ? 0 : number(0.01, 100);
    d.motion = (csim_motion)(below(5) ? 0 : below(4));
    if (!below(10))
        for (k = 0; k < 9; k++) d.inertia.m[k] = k % 4 == 0 ? number(0.01, 1) : number(-0.01, 0.01);
    d.linear_damping = below(4) ? 0 : number(0, 2);
    d.surface = surface();
    if (!below(100)) d.guard = draw();
    keep_body(s, csim_create_rigid(s->w, below(200) ? &d : NULL, &id), id);
}

static void create_soft(session *s) {
    static csim_real x[3 * 27];
    static int tets[4 * 48];
    csim_soft_def d = csim_default_soft_def();
    csim_body_id id;
    int i, j, k, n = 0, t = 0, side = 2 + below(2);
    for (k = 0; k < side; k++)
        for (j = 0; j < side; j++)
            for (i = 0; i < side; i++) {
                x[n++] = uniform(-0.01, 0.01) + CSIM_R(0.1) * (csim_real)i;
                x[n++] = uniform(-0.01, 0.01) + CSIM_R(0.1) * (csim_real)j;
                x[n++] = uniform(-0.01, 0.01) + CSIM_R(0.1) * (csim_real)k;
            }
    for (k = 0; k + 1 < side; k++)
        for (j = 0; j + 1 < side; j++)
            for (i = 0; i + 1 < side; i++) {
                static const int path[6][2] = {{1, 2}, {2, 4}, {4, 1}, {2, 1}, {4, 2}, {1, 4}};
                int p;
                for (p = 0; p < 6; p++) {
                    int bit[4], q;
                    bit[0] = 0;
                    bit[1] = path[p][0];
                    bit[2] = path[p][0] | path[p][1];
                    bit[3] = 7;
                    for (q = 0; q < 4; q++)
                        tets[4 * t + q] =
                            (i + (bit[q] & 1)) + side * ((j + (bit[q] >> 1 & 1)) + side * (k + (bit[q] >> 2 & 1)));
                    if (p >= 3) { /* odd permutations */
                        int swap = tets[4 * t + 1];
                        tets[4 * t + 1] = tets[4 * t + 2];
                        tets[4 * t + 2] = swap;
                    }
                    t++;
                }
            }
    if (!below(30)) tets[below(4 * t)] = below(40) - 3;
    if (!below(30)) x[below(n)] = number(-1, 1);
    d.vertices = x;
    d.vertex_count = n / 3;
    d.tets = tets;
    d.tet_count = below(30) ? t : below(t + 1);
    d.pose.position = csim_v3(number(-1, 1), number(-1, 1), number(0, 2));
    d.pose.rotation = csim_quat_axis_angle(vector(1), uniform(-3, 3));
    d.young = number(1e3, 1e6);
    d.poisson = number(0, 0.49);
    d.density = number(100, 3000);
    d.stiffness_damping = number(0, 0.01);
    d.velocity = vector(2);
    d.aggregates = below(4) ? 0 : below(9);
    d.surface = surface();
    d.material = (csim_material)(below(10) ? below(CSIM_MATERIAL_COUNT_) : below(9) - 2);
    d.self_collision = !below(3);
    d.self_distance = below(4) ? 0 : number(0, 0.1);
    d.corner_contact = !below(4);
    keep_body(s, csim_create_soft(s->w, &d, &id), id);
}

static void create_cloth(session *s) {
    enum { SIDE = 4 };
    csim_real x[3 * SIDE * SIDE];
    int tri[6 * SIDE * SIDE], i, j, t = 0;
    csim_cloth_def d = csim_default_cloth_def();
    csim_body_id id;
    for (i = 0; i < SIDE * SIDE; i++) {
        x[3 * i] = CSIM_R(0.1) * (csim_real)(i % SIDE);
        x[3 * i + 1] = CSIM_R(0.1) * (csim_real)(i / SIDE);
        x[3 * i + 2] = below(20) ? uniform(-0.01, 0.01) : number(-1, 1);
    }
    for (j = 0; j + 1 < SIDE; j++)
        for (i = 0; i + 1 < SIDE; i++, t += 6) {
            const int a = SIDE * j + i;
            tri[t] = a;
            tri[t + 1] = tri[t + 3] = a + 1;
            tri[t + 2] = tri[t + 5] = a + SIDE;
            tri[t + 4] = a + SIDE + 1;
        }
    if (!below(20)) tri[below(t)] = below(40) - 3;
    d.vertices = x;
    d.vertex_count = SIDE * SIDE;
    d.triangles = tri;
    d.triangle_count = below(30) ? t / 3 : below(t / 3 + 1);
    d.pose.position = csim_v3(number(-1, 1), number(-1, 1), number(0, 2));
    d.young = number(1e3, 1e6);
    d.poisson = number(0, 0.49);
    d.thickness = number(0.001, 0.01);
    d.density = number(100, 3000);
    d.bending = below(2) ? d.bending : number(0, 1e-2);
    d.material = (csim_material)(below(10) ? below(2) * 2 : below(9) - 2);
    d.self_collision = !below(3);
    d.surface = surface();
    keep_body(s, csim_create_cloth(s->w, &d, &id), id);
}

static void create_cable(session *s) {
    csim_cable_def d = csim_default_cable_def();
    csim_real x[3 * 12], angle;
    csim_body_id id;
    int i, count = 2 + below(10);
    for (i = 0; i < count; i++) {
        angle = CSIM_R(0.5) * (csim_real)i;
        x[3 * i] = CSIM_R(0.2) * (csim_real)i * (below(40) ? CSIM_R(1) : number(-1, 1));
        x[3 * i + 1] = CSIM_R(0.1) * (angle - angle * angle * angle / 6);
        x[3 * i + 2] = 1 + uniform(-0.02, 0.02);
    }
    if (below(2)) {
        d.points = x;
        d.point_count = count;
        d.closed = !below(3);
    } else {
        d.start = vector(1);
        d.end = vector(1);
        d.segments = below(30) ? 1 + below(12) : below(40) - 20;
    }
    d.radius = number(0.002, 0.05);
    d.density = number(100, 3000);
    d.young = number(1e4, 1e7);
    d.poisson = number(0, 0.5);
    if (!below(3)) d.bend_stiffness = number(0, 1);
    if (!below(3)) d.strain = number(-0.1, 0.2);
    d.rest_as_drawn = !below(3);
    d.rest_curvature = below(3) ? d.rest_curvature : vector(2);
    d.start_end = (csim_cable_end)(below(20) ? below(3) : below(9) - 3);
    d.end_end = (csim_cable_end)below(3);
    d.self_contact = below(2) != 0;
    d.surface = surface();
    keep_body(s, csim_create_cable(s->w, &d, &id), id);
}

static void create_tree(session *s) {
    csim_tree_link_def link[10];
    csim_shape shape[12]; /* two for the last */
    csim_tree_def d = csim_default_tree_def();
    csim_body_id id;
    int i;
    for (i = 0; i < 10; i++) {
        link[i] = csim_default_tree_link_def();
        link[i].parent = below(60) ? (i ? below(i) : -1) : below(12) - 2;
        link[i].joint = (csim_tree_joint)(below(60) ? (i ? below(4) : below(5)) : below(9) - 2);
        link[i].frame.position = vector(0.2);
        if (below(2)) link[i].frame.rotation = csim_quat_axis_angle(vector(1), number(-3, 3));
        if (below(2)) link[i].axis = vector(1);
        link[i].position = number(-0.5, 0.5);
        link[i].rate = number(-2, 2);
        link[i].mass = below(3) ? number(0.1, 3) : 0;
        shape[i] = shape[i + 2] = below(2) ? csim_sphere(number(0.02, 0.1)) : csim_capsule(number(0.02, 0.1), number(0, 0.1));
        link[i].shapes = below(5) ? shape + i : NULL;
        link[i].shape_count = below(20) ? link[i].shapes != NULL : below(3);
        link[i].damping = number(0, 1);
        link[i].armature = link[i].joint == CSIM_TREE_FLOATING ? 0 : number(0.01, 0.1);
        if (link[i].joint == CSIM_TREE_REVOLUTE || link[i].joint == CSIM_TREE_PRISMATIC) {
            if (!below(3)) link[i].lower = -(link[i].upper = number(0, 1));
            link[i].friction = below(3) ? 0 : number(0, 1);
            link[i].effort = below(3) ? 0 : number(0, 10);
            link[i].effort_later = below(2) != 0;
            if (!below(3)) link[i].limit.stiffness = number(0, 1e4), link[i].limit.damping = number(0, 10);
            link[i].stiffness = below(2) ? 0 : number(0, 100);
            link[i].rate_gain = below(2) ? 0 : number(0, 10);
        }
        link[i].target = number(-1, 1);
    }
    d.links = link;
    d.link_count = below(40) ? 1 + below(10) : below(12) - 1;
    d.pose.position = csim_v3(number(-1, 1), number(-1, 1), number(0.5, 2));
    d.motion = (csim_motion)(below(8) ? 0 : below(4));
    d.no_self_contact = below(2) != 0;
    d.reactions = below(2) != 0;
    d.surface = surface();
    keep_body(s, csim_create_tree(s->w, &d, &id), id);
}

static void create_reduced(session *s) {
    csim_reduced_def d = csim_default_reduced_def();
    csim_real q[CSIM_MODES_MOST], rate[CSIM_MODES_MOST];
    csim_body_id id;
    int k;
    for (k = 0; k < CSIM_MODES_MOST; k++) q[k] = uniform(-0.02, 0.02), rate[k] = uniform(-0.5, 0.5);
    if (!below(10)) q[below(4)] = number(-1, 1);
    d.modes = below(60) ? model[below(MODELS)] : NULL;
    d.pose.position = csim_v3(number(-1, 1), number(-1, 1), number(0, 2));
    d.pose.rotation = csim_quat_axis_angle(vector(1), uniform(-3, 3));
    if (below(3)) d.velocity = vector(2), d.angular_velocity = vector(4);
    if (below(2)) d.q = q;
    if (!below(3)) d.rate = rate;
    d.motion = (csim_motion)(below(6) ? 0 : below(5) - 1);
    d.mass_damping = below(3) ? 0 : number(0, 2);
    d.stiffness_damping = number(0, 0.01);
    d.corner_contact = below(2) != 0;
    d.surface = surface();
    keep_body(s, csim_create_reduced(s->w, &d, &id), id);
}

static void create_particle(session *s) {
    csim_particle_def d = csim_default_particle_def();
    csim_body_id id;
    d.position = csim_v3(number(-1, 1), number(-1, 1), number(0, 2));
    d.velocity = vector(3);
    d.mass = number(0.01, 10);
    d.radius = below(2) ? 0 : number(0, 0.1);
    d.motion = (csim_motion)(below(5) ? 0 : below(4));
    d.surface = surface();
    keep_body(s, csim_create_particle(s->w, &d, &id), id);
}

static csim_attachment attachment(const session *s) {
    csim_attachment a;
    a.body = any_body(s);
    a.point = vector(1);
    a.node = below(10) ? below(8) : below(100) - 10;
    return a;
}

static csim_axis_def some_axis(void) {
    csim_axis_def a = csim_default_joint_def().axes[0];
    a.hold = below(4) ? CSIM_HOLD_AS_KIND : (csim_hold)(below(5) - 1);
    a.limited = !below(3);
    a.lower = number(-1, 0);
    a.upper = number(0, 1);
    if (!below(3)) a.limit.stiffness = number(0, 1e4), a.limit.damping = number(0, 10);
    if (!below(3)) a.spring.stiffness = number(0, 1e6), a.spring.damping = number(0, 10);
    if (!below(3)) a.spring.frequency = number(0, 10), a.spring.ratio = number(0, 2);
    a.target = number(-1, 1);
    a.rate = below(2) ? 0 : number(-1, 1);
    a.spring_force = below(2) ? 0 : number(0, 10);
    a.motor.kind = (csim_motor_kind)(below(3) ? 0 : below(4));
    a.motor.target = number(-1, 1);
    a.motor.force = number(0, 10);
    return a;
}

static void create_link(session *s) {
    csim_link_id id;
    csim_status status;
    if (!below(3)) {
        csim_joint_def d = csim_default_joint_def();
        d.kind = (csim_joint_kind)(below(20) ? below(CSIM_JOINT_COUNT_) : below(12) - 2);
        d.a = attachment(s);
        d.b = attachment(s);
        d.axis = vector(1);
        d.length = below(2) ? -1 : number(0, 1);
        d.limited = !below(3);
        d.lower = number(-1, 0);
        d.upper = number(0, 1);
        d.motor.kind = (csim_motor_kind)(below(2) ? 0 : below(4));
        d.motor.target = number(-1, 1);
        d.motor.force = number(0, 10);
        if (s->links) d.first = s->link[below(s->links)], d.second = s->link[below(s->links)];
        d.ratio = number(-2, 2);
        d.break_force = below(3) ? 0 : number(0, 100);
        d.collide = below(2) != 0;
        if (below(2)) d.axes[below(6)] = some_axis();
        if (below(2)) d.axes[below(6)] = some_axis();
        if (!below(4)) d.axis2 = vector(1), d.cone[0] = number(0, 2), d.cone[1] = number(0, 2);
        status = csim_create_joint(s->w, &d, &id);
    } else if (!below(8)) {
        status = csim_create_exclusion(s->w, any_body(s), any_body(s), &id);
    } else if (!below(6)) {
        csim_clamp_def d = csim_default_clamp_def();
        d.cable = any_body(s);
        d.body = any_body(s);
        d.at_end = below(2) != 0;
        status = csim_create_clamp(s->w, &d, &id);
    } else if (below(2)) {
        csim_spring_def d = csim_default_spring_def();
        d.a = attachment(s);
        d.b = attachment(s);
        d.stiffness = number(0, 1e4);
        d.damping = number(0, 10);
        if (below(2)) d.rest_length = number(0, 1);
        d.break_force = below(3) ? 0 : number(0, 100);
        status = csim_create_spring(s->w, &d, &id);
    } else {
        csim_pin_def d = csim_default_pin_def();
        d.a = attachment(s);
        d.b = attachment(s);
        status = csim_create_pin(s->w, &d, &id);
    }
    if (note(status) == CSIM_OK) s->link[s->links < MOST ? s->links++ : below(MOST)] = id;
}

static void check_finite(session *s) {
    int i, count = csim_world_body_count(s->w);
    csim_body_id ids[256];
    csim_world_bodies(s->w, ids, 256);
    for (i = 0; i < count && i < 256; i++) {
        csim_pose p;
        if (csim_body_get_pose(s->w, ids[i], &p) != CSIM_OK) complain("a listed body has no pose", s->w);
        if (!(p.position.x - p.position.x == 0 && p.position.y - p.position.y == 0 && p.position.z - p.position.z == 0))
            complain("a step said it worked and left a non-finite position", s->w);
    }
}

static void step(session *s) {
    const csim_real h = below(30) ? uniform(0.001, 0.02) : number(0, 0.1);
    const csim_status status = note(s->log ? csim_record_step(&s->recording, s->w, h) : csim_world_step(s->w, h));
    const csim_step_stats t = csim_world_stats(s->w);
    const csim_events e = csim_world_events(s->w);
    int i;
    if (status == CSIM_CAPACITY) {
        csim_capacity c = csim_world_used(s->w);
        note(csim_world_reserve(s->w, &c));
        return;
    }
    if (status) return;
    steps++;
    if (t.result != CSIM_RESULT_CONVERGED) uncertified++;
    if (!(t.penetration >= 0)) complain("penetration is not a number", s->w);
    for (i = 0; i < e.move_count; i++)
        if (!csim_body_valid(s->w, e.moves[i].body)) complain("what moved is not there", s->w);
    check_finite(s);
}

/* The setters of trees, cables, joints and reduced bodies. */
static void change_part(session *s, csim_body_id id) {
    csim_real x[64], y[64];
    int k;
    for (k = 0; k < 64; k++) x[k] = number(-1, 1), y[k] = number(-3, 3);
    switch (below(12)) {
    case 0: note(csim_tree_set_state(s->w, id, below(3) ? x : NULL, below(3) ? y : NULL)); break;
    case 1: note(csim_tree_set_gravity_compensation(s->w, id, below(12) - 1, number(0, 1))); break;
    case 2: note(csim_tree_add_forces(s->w, id, x)); break;
    case 3: note(csim_tree_add_link_force(s->w, id, below(12) - 1, vector(1), vector(10), vector(1))); break;
    case 4:
        note(csim_tree_set_ball_target(s->w, id, below(12) - 1, csim_quat_axis_angle(vector(1), number(-3, 3)),
                                       vector(1)));
        break;
    case 5: note(csim_reduced_set_state(s->w, id, below(3) ? x : NULL, below(3) ? y : NULL)); break;
    case 6: note(csim_reduced_get_state(s->w, id, x, y)); break;
    case 7:
        note(csim_cable_set_frame(s->w, id, below(14) - 1, csim_quat_axis_angle(vector(1), number(-3, 3)), vector(4)));
        break;
    case 8: note(csim_cable_set_frame_motion(s->w, id, below(14) - 1, (csim_motion)(below(5) - 1))); break;
    case 9: note(csim_body_set_node(s->w, id, below(30) - 2, vector(1), vector(2))); break;
    case 10:
        if (s->links) {
            const csim_link_id link = s->link[below(s->links)];
            const csim_axis_def a = some_axis();
            csim_axis_state state;
            note(csim_joint_set_axis(s->w, link, (csim_axis)(below(8) - 1), &a));
            note(csim_joint_get_axis(s->w, link, (csim_axis)below(6), &state));
            note(csim_joint_set_anchor(s->w, link, vector(1)));
        }
        break;
    default:
        if (s->links) {
            csim_motor m;
            m.kind = (csim_motor_kind)(below(5) - 1);
            m.target = number(-1, 1);
            m.speed = number(0.1, 10);
            m.force = number(0, 10);
            note(csim_joint_set_motor(s->w, s->link[below(s->links)], &m));
        }
    }
}

static csim_mass some_mass(void) {
    csim_mass m;
    int k;
    memset(&m, 0, sizeof m);
    m.mass = number(0.01, 10);
    m.centre = below(2) ? csim_v3(0, 0, 0) : vector(0.1);
    for (k = 0; k < 9; k++) m.inertia.m[k] = k % 4 == 0 ? number(0.01, 1) : below(4) ? 0 : number(-0.01, 0.01);
    return m;
}

/* The setters that every kind of body has, those of shapes, of sleep and of links. */
static void change_more(session *s, csim_body_id id) {
    const csim_surface_def d = surface();
    const csim_mass m = some_mass();
    csim_pose pose = csim_pose_identity();
    csim_softness soft;
    const csim_shape shape = some_shape();
    int number_of, shape_of = below(5) - 1, link = below(12) - 1;
    memset(&soft, 0, sizeof soft);
    switch (below(20)) {
    case 0: note(csim_body_set_surface(s->w, id, below(40) ? &d : NULL)); break;
    case 1: note(csim_body_set_shape_surface(s->w, id, shape_of, below(4) ? &d : NULL)); break;
    case 2: note(csim_body_set_restitution(s->w, id, number(0, 1))); break;
    case 3: note(csim_body_set_filter(s->w, id, draw(), draw(), below(3))); break;
    case 4: note(csim_body_set_shape_sensor(s->w, id, shape_of, below(2) != 0)); break;
    case 5: note(csim_body_set_shape_user_data(s->w, id, shape_of, s)); break;
    case 6: note(csim_body_set_user_data(s->w, id, s)); break;
    case 7:
    case 8: note(csim_body_set_mass(s->w, id, below(40) ? &m : NULL)); break;
    case 9:
    case 10: note(csim_body_set_enabled(s->w, id, below(2) != 0)); break;
    case 11:
        pose.position = vector(2);
        pose.rotation = csim_quat_axis_angle(vector(1), number(-3, 3));
        note(csim_body_move_to(s->w, id, pose, number(0.001, 0.1)));
        break;
    case 12: note(csim_body_set_awake(s->w, id, below(2) != 0)); break;
    case 13: note(csim_body_set_can_sleep(s->w, id, below(2) != 0)); break;
    case 14: note(csim_world_set_budget(s->w, below(20) ? below(3000) : -1)); break;
    case 15: note(csim_tree_add_shape(s->w, id, link, &shape, below(2) ? &number_of : NULL)); break;
    case 16: note(csim_tree_set_link_mass(s->w, id, link, &m)); break;
    case 17: note(csim_tree_set_link_density(s->w, id, link, number(10, 8000))); break;
    default:
        if (below(2)) soft.stiffness = number(0, 1e5), soft.damping = number(0, 10);
        if (below(2)) soft.frequency = number(0, 10), soft.ratio = number(0, 2);
        note(csim_tree_set_limit_softness(s->w, id, link, below(40) ? &soft : NULL));
    }
}

/* ---- what is read: into memory of just the size that is asked for, and nothing of the world changes */

static csim_real *room(int count) { return (csim_real *)malloc(sizeof(csim_real) * (size_t)(count > 0 ? count : 1)); }

static void read_tree(const csim_world *w, csim_body_id id) {
    int positions = 0, rates = 0, links = 0, i;
    csim_real *q, *v, *M, a, b;
    csim_pose pose;
    csim_vec3 force, torque;
    if (note(csim_tree_sizes(w, id, &links, &positions, &rates))) return;
    q = room(positions), v = room(rates), M = room(rates * rates);
    note(csim_tree_get_state(w, id, q, v));
    note(csim_tree_mass_matrix(w, id, M));
    note(csim_tree_bias(w, id, v));
    note(csim_tree_inverse_dynamics(w, id, v, M));
    free(M);
    M = room(3 * rates);
    for (i = -1; i <= links; i++) {
        int parent;
        note(csim_tree_jacobian(w, id, i, vector(1), M));
        note(csim_tree_get_effort(w, id, i, &a, below(2) ? &b : NULL));
        note(csim_tree_get_reaction(w, id, i, &force, &torque));
        note(csim_tree_link_pose(w, id, i, &pose));
        note(csim_tree_link_velocity(w, id, i, vector(1), &force, &torque));
        note(csim_tree_link_parent(w, id, i, &parent));
    }
    free(q), free(v), free(M);
}

static void read_nodes(const csim_world *w, csim_body_id id) {
    const int nodes = csim_body_node_count(w, id), edges = csim_cable_edge_count(w, id);
    csim_real *x = room(3 * nodes), *e = room(4 * edges), r;
    const int *triangle;
    int count, i;
    note(csim_body_get_nodes(w, id, x, 3));
    note(csim_body_get_node_velocities(w, id, x, 3));
    note(csim_cable_get_radius(w, id, &r));
    note(csim_cable_get_frames(w, id, e, 4));
    note(csim_cable_get_spins(w, id, e, 3));
    note(csim_cable_get_forces(w, id, e, 3));
    note(csim_cable_get_tensions(w, id, e));
    note(csim_cable_get_moments(w, id, x, 3));
    if (note(csim_body_surface(w, id, &triangle, &count)) == CSIM_OK)
        for (i = 0; i < 3 * count; i++)
            if (triangle[i] < 0 || triangle[i] >= nodes) complain("a surface names a node that there is not", w);
    free(x), free(e);
}

static void read_body(const csim_world *w, csim_body_id id) {
    csim_vec3 a, b;
    csim_mass m;
    csim_real x, y;
    csim_surface_def d;
    csim_body_kind kind;
    csim_motion motion;
    bool yes;
    void *data;
    const csim_geometry *g;
    const csim_hull_data *hull;
    csim_link_id link[8];
    csim_contact_info contact[8];
    int i, of;
    note(csim_body_get_velocity(w, id, &a, below(2) ? &b : NULL));
    note(csim_body_get_end_velocity(w, id, &a, &b));
    note(csim_body_get_mass(w, id, &m));
    note(csim_body_get_kind(w, id, &kind));
    note(csim_body_get_motion(w, id, &motion));
    note(csim_body_get_bounded(w, id, &yes));
    note(csim_body_get_enabled(w, id, &yes));
    note(csim_body_is_awake(w, id, &yes));
    note(csim_body_get_user_data(w, id, &data));
    note(csim_body_get_surface(w, id, &d));
    note(csim_body_get_damping(w, id, &x, &y));
    note(csim_body_get_gravity_scale(w, id, &x));
    for (i = -1; i <= csim_body_shape_count(w, id) && i < 6; i++) {
        note(csim_body_shape(w, id, i, &g, &hull));
        note(csim_body_get_shape_surface(w, id, i, &d));
        note(csim_body_get_shape_sensor(w, id, i, &yes));
        note(csim_body_get_shape_enabled(w, id, i, &yes));
        note(csim_body_get_shape_user_data(w, id, i, &data));
        note(csim_body_get_shape_link(w, id, i, &of));
    }
    csim_body_links(w, id, link, below(9));
    csim_body_joints(w, id, link, below(9));
    csim_body_contacts(w, id, contact, below(9));
    read_nodes(w, id);
    read_tree(w, id);
}

static void read_links(const session *s) {
    csim_link_id link[8];
    csim_joint_state joint;
    csim_spring_state spring;
    csim_world_links(s->w, link, below(9));
    csim_world_joints(s->w, link, below(9));
    csim_world_broken(s->w, link, below(9));
    if (!s->links) return;
    note(csim_joint_get(s->w, s->link[below(s->links)], &joint));
    note(csim_spring_get(s->w, s->link[below(s->links)], &spring));
}

static void read_world(const csim_world *w) {
    const csim_totals t = csim_world_totals(w);
    int i, count;
    const csim_contact_info *c = csim_world_contacts(w, &count);
    for (i = 0; i < count; i++)
        if (!(c[i].normal_impulse >= 0) || !csim_body_valid(w, c[i].body_a)) complain("a contact of nothing", w);
    csim_world_sleeping_contacts(w, &count);
    csim_world_ended(w, &count);
    if (t.mass < 0 || t.kinetic < 0) complain("masses or energies below 0", w); /* beyond 1e154 m/s they are none */
    if (csim_world_rms_speed(w) < 0) complain("a speed below 0", w);
}

/* ---- queries, the capsule of a character, drawing */

static bool now_and_then(void *user, csim_body_id body, void *data, csim_query_part part, int index) {
    (void)user, (void)data, (void)part;
    return (body.index1 + (unsigned)index) % 3 != 0;
}

static void check_hit(const csim_world *w, const csim_query_hit *h) {
    if (!csim_body_valid(w, h->body)) complain("a query told a body that there is not", w);
    if (!(h->fraction >= 0 && h->fraction <= 1)) complain("a hit before or beyond the way", w);
}

static void ask(const csim_world *w) {
    csim_query_def d = csim_default_query_def();
    csim_query_hit hit[6];
    csim_plane plane[CSIM_PLANES_MOST];
    csim_mover mover;
    csim_pose pose = csim_pose_identity();
    const csim_shape shape = some_shape();
    const csim_vec3 from = vector(2), way = vector(4);
    const int most = below(7), planes = 1 + below(CSIM_PLANES_MOST);
    int i, n = 0, first, count;
    if (!below(4)) d.mask = draw();
    if (!below(3)) d.accept = now_and_then;
    d.sensors = below(2) != 0;
    d.inside = below(2) != 0;
    pose.position = vector(2);
    pose.rotation = csim_quat_axis_angle(csim_v3(1, 1, 0), uniform(-3, 3));
    first = csim_world_cast_ray(w, &d, from, way, hit);
    if (first) check_hit(w, hit);
    count = csim_world_cast_ray_all(w, &d, from, way, hit, most);
    for (i = 0; i < most && i < count; i++) check_hit(w, hit + i);
    if (csim_world_ray_meets(w, &d, from, way) != (first != 0)) complain("a ray meets and does not", w);
    if ((count > 0) != (first != 0) && !d.inside) complain("all hits of a ray are none", w);
    if (csim_world_cast_shape(w, &d, &shape, pose, way, hit)) check_hit(w, hit);
    csim_world_overlap_shape(w, &d, &shape, pose, hit, most);
    csim_world_overlap_box(w, &d, from, csim_add(from, csim_v3(number(0, 1), number(0, 1), number(0, 1))), hit, most);
    if (csim_world_closest_point(w, &d, from, number(0, 2), hit)) check_hit(w, hit);
    mover.a = vector(1), mover.b = csim_add(mover.a, csim_v3(0, 0, number(0, 1)));
    mover.radius = number(0.05, 0.4);
    n = csim_world_capsule_planes(w, &d, &mover, number(0, 0.5), plane, planes);
    if (n > planes) complain("more planes than there is room for", w);
    csim_slide(plane, n, number(0, 0.01), way);
    csim_world_cast_capsule(w, &d, &mover, way, hit);
    csim_world_move_capsule(w, &d, &mover, way, number(0, 0.01), plane, planes, &n);
}

static void draw_point(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 at) {
    (void)kind, (void)colour, (void)at;
    ++*(long *)user;
}
static void draw_line(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 from, csim_vec3 to) {
    draw_point(user, kind, colour, csim_add(from, to));
}
static void draw_triangle(void *user, csim_draw_kind kind, uint32_t colour, csim_vec3 a, csim_vec3 b, csim_vec3 c) {
    draw_point(user, kind, colour, csim_add(a, csim_add(b, c)));
}

static void draw_all(const csim_world *w) {
    csim_draw d = csim_default_draw();
    const int bodies = csim_world_used(w).bodies - !below(10);
    int *islands = (int *)malloc(sizeof(int) * (size_t)(bodies > 0 ? bodies : 1));
    long drawn = 0;
    d.point = below(10) ? draw_point : NULL;
    d.line = draw_line;
    d.triangle = draw_triangle;
    d.user = &drawn;
    d.kinds = below(3) ? ~0u : draw();
    if (!below(3)) d.size = number(0, 1);
    if (!below(3)) d.around = vector(1), d.within = number(0, 2);
    d.triangles = below(100);
    if (below(3)) d.islands = islands, d.island_count = bodies;
    note(csim_world_draw(w, &d));
    free(islands);
}

/* What reads leaves the world as it was. */
static void look(session *s) {
    const uint64_t before = csim_world_hash(s->w);
    switch (below(5)) {
    case 0: read_body(s->w, any_body(s)); break;
    case 1: read_links(s); break;
    case 2: read_world(s->w); break;
    case 3: ask(s->w); break;
    default: draw_all(s->w);
    }
    if (csim_world_hash(s->w) != before) complain("a call that reads changed the world", s->w);
}

static csim_solver_params some_solver(void) {
    csim_solver_params p = csim_default_solver_params();
    p.max_iterations = below(4) ? 200 : 1 + below(50);
    p.solver = below(4) ? CSIM_SOLVER_AUTO : (csim_solver)below(CSIM_SOLVER_COUNT_);
    if (p.solver == CSIM_SOLVER_STAGGERED) p.max_iterations = 1 + p.max_iterations % 2; /* of 200 products, each a CG */
    if (!below(4)) p.cond.weight = (csim_weight)below(CSIM_WEIGHT_COUNT_);
    if (!below(4)) p.cond.acceleration = (csim_acceleration)below(CSIM_ACCELERATION_COUNT_);
    if (!below(4)) p.spring.gain = number(1, 1e4);
    if (!below(6)) p.spring.kappa = number(0, 100);
    if (!below(6)) p.cond.shift = false;
    if (!below(10)) p.tolerance = number(1e-9, 1e-3);
    return p;
}

/* Bytes of a model or field, whole, cut or with one of them changed: opened or refused. */
static void reopen(void) {
    const bool modes = below(2) != 0;
    const int which = below(MODELS);
    const size_t size = modes ? csim_modes_bytes(model[which]) : csim_field_get_info(field[which]).bytes;
    unsigned char *copy = (unsigned char *)malloc(size + 8);
    const csim_modes *m;
    const csim_field *f;
    csim_error error;
    size_t length = below(3) ? size : (size_t)below((int)size);
    memcpy(copy, modes ? (const void *)model[which] : (const void *)field[which], size);
    if (below(2)) copy[below((int)size)] = (unsigned char)draw();
    note(modes ? csim_open_modes(copy, length, &m, &error) : csim_open_field(copy, length, &f, &error));
    free(copy);
}

static void change(session *s) {
    csim_pose pose = csim_pose_identity();
    csim_body_id id = any_body(s);
    switch (below(40)) {
    case 13:
    case 14: change_part(s, id); break;
    default: change_more(s, id); break;
    case 15: {
        csim_solver_params p = some_solver();
        note(csim_world_set_solver(s->w, &p));
        break;
    }
    case 16: reopen(); break;
    case 8: note(csim_tree_set_target(s->w, id, below(12) - 1, number(-1, 1), number(-1, 1))); break;
    case 9: note(csim_tree_set_drive(s->w, id, below(12) - 1, number(0, 100), number(0, 10), number(0, 5))); break;
    case 17: note(csim_tree_set_limits(s->w, id, below(12) - 1, number(-2, 1), number(-1, 2))); break;
    case 18: note(csim_tree_set_friction(s->w, id, below(12) - 1, number(0, 3), number(0, 3))); break;
    case 19: note(csim_tree_add_link_impulse(s->w, id, below(12) - 1, vector(1), vector(1))); break;
    case 10: note(csim_cable_add_torque(s->w, id, below(12) - 1, vector(1))); break;
    case 11: {
        csim_activation a;
        a.pressure = number(-1e3, 1e3);
        a.tension = number(-1e3, 1e3);
        a.fibre = vector(1);
        note(csim_soft_set_activation(s->w, id, NULL, 0, &a));
        note(csim_body_scale_stiffness(s->w, id, number(0, 2)));
        break;
    }
    case 12:
        if (s->links)
            note(csim_joint_set_limits(s->w, s->link[below(s->links)], below(2) != 0, number(-1, 0), number(0, 1)));
        break;
    case 0: note(csim_body_set_velocity(s->w, id, vector(3), vector(3))); break;
    case 1: note(csim_body_add_force(s->w, id, vector(100), below(3) ? csim_v3(0, 0, 0) : vector(1))); break;
    case 2:
        pose.position = vector(2);
        pose.rotation = csim_quat_axis_angle(vector(1), number(-3, 3));
        note(csim_body_set_pose(s->w, id, pose));
        break;
    case 3: note(csim_body_set_motion(s->w, id, (csim_motion)below(4))); break;
    case 4: note(csim_body_set_node_motion(s->w, id, below(30) - 2, (csim_motion)below(4))); break;
    case 5: note(csim_body_add_node_force(s->w, id, below(30) - 2, vector(10))); break;
    case 6: note(csim_world_set_gravity(s->w, vector(10))); break;
    case 7: note(csim_world_set_integrator(s->w, (csim_integrator)below(5))); break;
    case 20: reshape(s, id); break;
    case 21: note(csim_body_add_force_at(s->w, id, vector(10), vector(2))); break;
    case 22: note(csim_body_add_impulse_at(s->w, id, vector(1), vector(2))); break;
    case 23: note(csim_body_set_damping(s->w, id, number(0, 5), number(0, 5))); break;
    case 24: note(csim_body_set_gravity_scale(s->w, id, number(-2, 2))); break;
    case 25: note(csim_body_set_friction(s->w, id, number(0, 1))); break;
    }
}

/* Kept, gone on, taken back: the same hash, and the same steps again. */
static void roll_back(session *s) {
    const uint64_t before = csim_world_hash(s->w);
    const int count = 1 + below(4);
    uint64_t after[2] = {0, 0};
    size_t bytes = 0;
    void *kept;
    int i, round;
    note(csim_world_keep(s->w, NULL, &bytes));
    kept = malloc(bytes);
    note(csim_world_keep(s->w, kept, &bytes));
    for (round = 0; round < 2; round++) {
        bool all = true;
        for (i = 0; i < count; i++) all = all && note(csim_world_step(s->w, CSIM_R(0.01))) == CSIM_OK;
        after[round] = all ? csim_world_hash(s->w) : 0;
        if (note(csim_world_take_back(s->w, kept, bytes))) break;
        if (csim_world_hash(s->w) != before) complain("what was taken back is another world", s->w);
    }
    if (after[0] && after[1] && after[0] != after[1]) complain("the same steps led elsewhere", s->w);
    free(kept);
}

static void snapshot(session *s) {
    size_t bytes = 0;
    if (s->saved && below(2)) {
        bool damaged = !below(3);
        size_t at = (size_t)below((int)s->saved_bytes), length = below(5) ? s->saved_bytes : at;
        unsigned char old = s->saved[at];
        if (damaged) s->saved[at] = (unsigned char)draw();
        if (note(csim_world_restore(s->w, s->saved, length)) == CSIM_OK && !(damaged && s->saved[at] != old))
            check_finite(s);
        s->saved[at] = old;
        return;
    }
    note(csim_world_save(s->w, NULL, &bytes));
    free(s->saved);
    s->saved = (unsigned char *)malloc(bytes);
    s->saved_bytes = bytes;
    note(csim_world_save(s->w, s->saved, &s->saved_bytes));
}

static void act(session *s) {
    switch (below(20)) {
    case 19: create_reduced(s); break;
    case 16: create_cloth(s); break;
    case 17: create_cable(s); break;
    case 18: create_tree(s); break;
    case 0: create_rigid(s); break;
    case 1: create_soft(s); break;
    case 2: create_particle(s); break;
    case 3: create_link(s); break;
    case 4: note(csim_destroy_body(s->w, any_body(s))); break;
    case 5:
        if (s->links) note(csim_destroy_link(s->w, s->link[below(s->links)]));
        break;
    case 6:
    case 7: change(s); break;
    case 8: snapshot(s); break;
    case 9:
        if (below(4))
            look(s);
        else
            roll_back(s);
        break;
    default: step(s); break;
    }
}

/* A step that began has put who woke among those who are awake: other bytes, the same world, now and a step later. */
static void same_world(session *s, const unsigned char *bytes, size_t count) {
    uint64_t hash[2];
    size_t grown = 0;
    unsigned char *now;
    csim_world_save(s->w, NULL, &grown);
    now = (unsigned char *)malloc(grown);
    csim_world_save(s->w, now, &grown);
    hash[0] = csim_world_hash(s->w);
    if (grown != count) complain("a failed call changed the size of the world", s->w);
    if (note(csim_world_restore(s->w, bytes, count)) == CSIM_OK) {
        const bool stepped = note(csim_world_step(s->w, CSIM_R(0.003))) == CSIM_OK;
        hash[1] = csim_world_hash(s->w);
        if (note(csim_world_restore(s->w, bytes, count)) == CSIM_OK && csim_world_hash(s->w) != hash[0])
            complain("a failed call changed the world", s->w);
        if (note(csim_world_restore(s->w, now, grown)) == CSIM_OK &&
            (note(csim_world_step(s->w, CSIM_R(0.003))) == CSIM_OK) == stepped && csim_world_hash(s->w) != hash[1])
            complain("a failed call changed what follows", s->w);
    }
    free(now);
}

/* A failed call must leave the saved bytes as they were. */
static void act_checked(session *s) {
    size_t before = 0, after = 0;
    unsigned char *p, *q;
    long ok = count_of[0], all = calls;
    csim_world_save(s->w, NULL, &before);
    p = (unsigned char *)malloc(before);
    csim_world_save(s->w, p, &before);
    act(s);
    if (calls == all + 1 && count_of[0] == ok) {
        csim_world_save(s->w, NULL, &after);
        q = (unsigned char *)malloc(after);
        csim_world_save(s->w, q, &after);
        if (before != after || memcmp(p, q, before)) same_world(s, p, before);
        free(q);
    }
    free(p);
}

enum { LOG_ROOM = 1 << 19 }; /* doubles */

static void record(session *s) {
    s->log = (double *)malloc(sizeof(double) * LOG_ROOM);
    s->scratch = (double *)malloc(sizeof(double) * LOG_ROOM);
    note(csim_record_start(&s->recording, s->log, sizeof(double) * LOG_ROOM, s->scratch, sizeof(double) * LOG_ROOM,
                           below(3) ? below(20) : 0));
}

/* Another world of the same settings goes through the log, forth and back, to the same hashes. */
static void play_back(session *s, const csim_world_def *def) {
    csim_world *w = NULL;
    csim_replay replay;
    uint64_t end;
    if (note(csim_replay_open(&replay, s->log, s->recording.used, s->scratch, sizeof(double) * LOG_ROOM))) return;
    if (note(csim_create_world(def, &w, NULL)) == CSIM_OK) {
        if (note(csim_replay_seek(&replay, w, replay.steps)) == CSIM_OK) {
            if (replay.differs) complain("a replay is another world", w);
            end = csim_world_hash(w);
            note(csim_replay_seek(&replay, w, replay.steps / 2));
            if (note(csim_replay_seek(&replay, w, replay.steps)) == CSIM_OK && csim_world_hash(w) != end)
                complain("a replay that went back is another world", w);
        }
        csim_destroy_world(w);
    }
    s->log[below((int)(s->recording.used / 8 + 1))] = uniform(-1, 1); /* damaged: refused, or another world */
    if (note(csim_replay_open(&replay, s->log, s->recording.used, s->scratch, sizeof(double) * LOG_ROOM))) return;
    if (note(csim_create_world(def, &w, NULL))) return;
    note(csim_replay_seek(&replay, w, replay.steps));
    csim_destroy_world(w);
}

static time_t end; /* of the seconds asked for: a session ends with them, for one step may take many */
static bool late(void) { return difftime(time(NULL), end) >= 0; }

static void run_session(void) {
    csim_world_def def = csim_default_world_def();
    session s;
    arena a;
    csim_body_id id;
    csim_error error;
    unsigned char *raw = NULL;
    int i, acts = 20 + below(150);
    memset(&s, 0, sizeof s);
    memset(&a, 0, sizeof a);
    if (!below(3)) a.fail_after = 1 + draw() % 40;
    def.allocator.alloc = arena_alloc;
    def.allocator.free = arena_free;
    def.allocator.user = &a;
    def.integrator = (csim_integrator)below(CSIM_INTEGRATOR_COUNT_);
    def.solver = some_solver();
    def.law = below(6) ? CSIM_LAW_STRICT : below(2) ? CSIM_LAW_PROXIMAL : CSIM_LAW_INVERTIBLE;
    if (!below(5)) def.on_uncertified = CSIM_REJECT_UNCERTIFIED;
    if (!below(2) && def.integrator == CSIM_BACKWARD_EULER) {
        def.solver.solver = below(2) ? CSIM_SOLVER_AUTO : CSIM_SOLVER_BOUNDED;
        def.budget = below(3000);
    }
    def.can_sleep = below(3) != 0;
    if (below(2)) def.sleep_time = number(0, 0.1), def.sleep_speed = number(0, 1), def.sleep_drift = number(0, 1);
    def.follow_paths = !below(3);
    if (!below(3)) def.contact_distance = number(0, 0.05);
    if (!below(3)) def.stabilization = number(0, 1), def.slop = number(0, 1e-3), def.push_out_speed = number(0, 3);
    if (!below(3)) def.touch_distance = number(0, 0.01), def.hit_speed = number(0, 1);
    if (!below(4)) {
        size_t bytes = 0;
        def.capacity.bodies = 1 + below(20);
        def.capacity.nodes = below(60);
        def.capacity.tets = below(60);
        def.capacity.links = below(8);
        if (below(2)) csim_reduced_needs(model[below(MODELS)], &def.capacity);
        def.capacity.contacts = 1 + below(100);
        if (note(csim_world_bytes(&def, &bytes, &error))) return;
        raw = (unsigned char *)malloc(bytes + 64);
        note(csim_create_world_in(&def, raw + 64 - (uintptr_t)raw % 64, bytes, &s.w, &error));
    } else {
        note(csim_create_world(&def, &s.w, &error));
    }
    if (s.w) {
        if (!raw && !a.fail_after && !below(3)) record(&s);
        if (note(csim_create_ground(s.w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.6), &id)) == CSIM_OK)
            s.body[s.bodies++] = id;
        for (i = 0; i < acts && !late(); i++) {
            if (below(10))
                act(&s);
            else
                act_checked(&s);
        }
        csim_destroy_world(s.w);
        if (s.log && !late()) play_back(&s, &def);
    }
    if (a.live) complain("memory leaked", NULL);
    free(s.log), free(s.scratch);
    free(s.saved);
    free(raw);
}

/* A box of tets for the models; its surface, and that surface with a hole, for the fields; hills. */
static void make_things(void) {
    static csim_real x[24], heights[36];
    static const int tets[24] = {0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7};
    static const int faces[36] = {0, 3, 1, 0, 2, 3, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                  2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    static const int fixed[4] = {0, 1, 2, 3};
    static uint64_t memory[FIELDS][1 << 17];
    csim_error error;
    int i;
    for (i = 0; i < 8; i++)
        x[3 * i] = CSIM_R(0.2) * (i & 1), x[3 * i + 1] = CSIM_R(0.1) * (i >> 1 & 1),
              x[3 * i + 2] = CSIM_R(0.1) * (i >> 2);
    for (i = 0; i < 36; i++) heights[i] = uniform(-0.1, 0.1);
    for (i = 0; i < MODELS; i++) {
        modes_def d = modes_default();
        d.vertices = x, d.vertex_count = 8;
        d.tets = tets, d.tet_count = 6;
        d.modes = 4;
        d.derivatives = i == 1 ? 0 : 2;
        d.linear = i == 1;
        d.fixed = i == 2 ? fixed : NULL, d.fixed_count = i == 2 ? 4 : 0;
        if (modes_create(&d, NULL, &model[i], &error)) printf("%s\n", error.text), exit(1);
    }
    for (i = 0; i < FIELDS; i++) {
        void *block = (void *)(((uintptr_t)memory[i] + 63) / 64 * 64);
        csim_mesh_field_def m = csim_default_mesh_field_def();
        csim_height_field_def h = csim_default_height_field_def();
        csim_triangle_field_def t = csim_default_triangle_field_def();
        m.vertices = x, m.vertex_count = 8;
        m.triangles = faces, m.triangle_count = 12 - i;
        m.resolution = 8;
        t.vertices = x, t.vertex_count = 8;
        t.triangles = faces, t.triangle_count = 12 - i;
        t.two_sided = i == 4;
        h.heights = heights, h.count_x = h.count_y = 6;
        h.cell = CSIM_R(0.5);
        if (i < 2    ? csim_create_mesh_field_in(&m, block, sizeof memory[i] - 64, &field[i], &error)
            : i == 2 ? csim_create_height_field_in(&h, block, sizeof memory[i] - 64, &field[i], &error)
                     : csim_create_triangle_field_in(&t, block, sizeof memory[i] - 64, &field[i], &error))
            printf("%s\n", error.text), exit(1);
    }
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 5;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    long sessions = 0;
    int i;
    make_things();
    end = time(NULL) + (time_t)seconds;
    while (!late()) {
        state = seed * 1000003u + (uint64_t)sessions;
        run_session();
        sessions++;
    }
    printf("%ld sessions, %ld calls, %ld steps (%ld without certificate)\n", sessions, calls, steps, uncertified);
    for (i = 0; i < 32; i++)
        if (count_of[i]) printf("  %9ld  %s\n", count_of[i], csim_status_text((csim_status)-i));
    printf("%ld passed, %ld failed\n", calls - failed, failed);
    for (i = 0; i < MODELS; i++) modes_destroy(model[i], NULL);
    return failed ? 1 : 0;
}
