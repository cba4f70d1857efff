// The engine of `make peers`: condsim under the harness of the optional shared folder (peers/engines/scenes.h), whose
// main() runs a scene and prints a line. Options key=value: mode=bounded|balanced|certified, budget=VISITS (0: the
// mode's), tol=, sub= (substeps), maxit=, threads=. Its figures stand before the line's.
#include "condsim.h"

#include "scenes.h"
extern "C" {
#include "threads.h"
}

static csim_world *world;
static csim_body_id *bodies;
static long uncertified, bounded, work;
static int steps, last_missed;
static double rms3, pushed;

static csim_real real(double x) { return (csim_real)x; }
static csim_vec3 vec(const double *x) { return csim_v3(real(x[0]), real(x[1]), real(x[2])); }
static const char *eng_name(void) { return sizeof(csim_real) == 8 ? "condsim-f64" : "condsim-f32"; }

static void die(const char *text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static csim_world_def definition(const Scene *s) {
    const char *mode = opts("mode", "certified");
    csim_world_def d = strcmp(mode, "balanced") ? csim_default_world_def() : csim_balanced_world_def();
    d.gravity = vec(s->g);
    d.solver.tolerance = real(optd("tol", strcmp(mode, "certified") ? 1e-3 : 5e-5));
    d.solver.max_iterations = (int)optd("maxit", d.solver.max_iterations);
    d.solver.substeps = (int)optd("sub", 0);
    if (!strcmp(mode, "bounded")) d.solver.solver = CSIM_SOLVER_BOUNDED;
    if (optd("budget", 0) > 0) d.budget = (int)optd("budget", 0);
    if (optd("threads", 1) > 1) d.tasks = threads_tasks(threads_open((int)optd("threads", 1)));
    return d;
}

static void create_body(const Scene *s, const Body *b, csim_body_id *id) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape;
    csim_vec3 corner[8];
    int k;
    for (k = 0; k < b->nv; k++) corner[k] = vec(b->v[k]);
    shape = b->type == S_SPHERE ? csim_sphere(real(b->half[0]))
            : b->type == S_BOX  ? csim_box(vec(b->half))
                                : csim_hull(corner, b->nv);
    d.shapes = &shape;
    d.shape_count = 1;
    d.surface.friction = real(s->mu);
    d.motion = b->mass > 0 ? CSIM_DYNAMIC : CSIM_STATIC;
    d.pose.position = vec(b->p);
    d.pose.rotation.w = real(b->q[0]);
    d.pose.rotation.x = real(b->q[1]);
    d.pose.rotation.y = real(b->q[2]);
    d.pose.rotation.z = real(b->q[3]);
    d.pose.rotation = csim_quat_normalize(d.pose.rotation);
    d.mass = b->mass > 0 ? real(b->mass) : 0;
    for (k = 0; k < 3 && b->mass > 0; k++) d.inertia.m[4 * k] = real(b->inertia[k]);
    if (csim_create_rigid(world, &d, id)) die(csim_last_error(world));
}

static void eng_create(Scene *s) {
    const csim_world_def d = definition(s);
    csim_error error;
    csim_body_id ground;
    int i;
    if (csim_create_world(&d, &world, &error)) die(error.text);
    bodies = (csim_body_id *)calloc((size_t)s->nb, sizeof *bodies);
    if (s->floor && csim_create_ground(world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), real(s->mu), &ground))
        die(csim_last_error(world));
    for (i = 0; i < s->nb; i++) create_body(s, s->b + i, bodies + i);
}

static void eng_step(Scene *s, double dt) {
    csim_step_stats t;
    if (s->fbody >= 0) csim_body_add_force(world, bodies[s->fbody], vec(s->fext), csim_v3(0, 0, 0));
    if (csim_world_step(world, real(dt))) die(csim_last_error(world));
    t = csim_world_stats(world);
    steps++;
    if (t.flags & CSIM_FLAG_UNCERTIFIED) {
        uncertified++;
        last_missed = steps;
    }
    bounded += t.bounded;
    work = t.work > work ? t.work : work;
    pushed = t.pushed > pushed ? t.pushed : pushed;
    if (steps == (int)(3 / dt + 0.5)) rms3 = csim_world_rms_speed(world);
    if (steps != (int)(s->T / dt + 0.5)) return;
    if (last_missed == steps)
        printf("certified_from_s=never,");
    else
        printf("certified_from_s=%.2f,", last_missed * dt);
    printf("uncertified=%ld,rms3s=%.3g,mem_mb=%.2f,bounded=%ld,work=%ld,pushed_mm=%.3f,", uncertified, rms3,
           (double)t.memory_bytes / 1e6, bounded, work, pushed * 1e3);
}

static void eng_pose(int i, double p[3], double q[4]) {
    csim_pose x;
    csim_body_get_pose(world, bodies[i], &x);
    p[0] = x.position.x;
    p[1] = x.position.y;
    p[2] = x.position.z;
    q[0] = x.rotation.w;
    q[1] = x.rotation.x;
    q[2] = x.rotation.y;
    q[3] = x.rotation.z;
}

static int eng_ncon(void) { return csim_world_stats(world).touching; }
static double eng_iters(void) { return csim_world_stats(world).iterations; }
