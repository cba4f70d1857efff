/* sleepers: stacks of crates fall asleep; one crate is hit, and wakes its stack alone. What steps cost meanwhile. */
#include "scene.h"

#include <math.h>

/* crates in a stack; steps asleep before the hit; crates exchanged */
enum { SLEEPERS_HIGH = 4, SLEEPERS_WAIT = 100, SLEEPERS_CHANGES = 1000 };

typedef struct sleepers {
    csim_body_id *crate;
    int asleep_at, hit_at, woke, most_awake, most_islands;
    double before;          /* seconds at the end of the last step */
    double asleep, struck;  /* seconds: of steps with all asleep, of steps after the hit */
    double falling;         /* of the last hundred steps with all awake */
    int asleep_steps, struck_steps, falling_steps;
} sleepers;

static void sleepers_build(scene *s) {
    sleepers *p = (sleepers *)s->state;
    const int side = (int)(0.5 + sqrt((double)s->size / SLEEPERS_HIGH));
    int i;
    s->def.can_sleep = true;
    s->def.capacity.bodies = s->size + 1;
    s->def.capacity.contacts = 40 * s->size;
    s->def.capacity.pairs = 8 * s->size;
    scene_begin(s);
    scene_add_ground(s, 0.5);
    p->crate = (csim_body_id *)scene_memory(s, sizeof *p->crate * (size_t)s->size);
    p->asleep_at = p->hit_at = -1;
    for (i = 0; i < s->size && !s->failed; i++) {
        const int stack = i / SLEEPERS_HIGH;
        csim_rigid_def d = scene_rigid_def(50, 0.5, 0.8 * (stack % side), 0.8 * (double)(stack / side),
                                           0.25 + 0.502 * (i % SLEEPERS_HIGH));
        p->crate[i] = scene_add_box(s, &d, 0.25, 0.25, 0.25);
    }
}

static void sleepers_hit(scene *s) {
    sleepers *p = (sleepers *)s->state;
    if (p->hit_at >= 0 || p->asleep_at < 0 || s->step < p->asleep_at + SLEEPERS_WAIT) return;
    p->hit_at = s->step;
    scene_ok(s, csim_body_set_velocity(s->world, p->crate[s->size / 2], scene_v3(0.5, 0, 0.5), scene_v3(0, 0, 0)));
}

static void sleepers_look(scene *s) {
    sleepers *p = (sleepers *)s->state;
    const csim_step_stats stats = csim_world_stats(s->world);
    const double seconds = s->seconds - p->before;
    p->before = s->seconds;
    if (stats.asleep == 0 && p->asleep_at < 0) {
        p->falling += seconds;
        p->falling_steps++;
    } else if (p->hit_at < 0 && stats.awake == 0) {
        if (p->asleep_at < 0) { /* this one was still spent awake */
            p->asleep_at = s->step;
            return;
        }
        p->asleep += seconds;
        p->asleep_steps++;
    } else if (p->hit_at >= 0 && stats.awake > 0) {
        p->struck += seconds;
        p->struck_steps++;
        p->woke += stats.woke;
        if (stats.awake > p->most_awake) p->most_awake = stats.awake;
        if (stats.islands > p->most_islands) p->most_islands = stats.islands;
    }
}

static double sleepers_mean(double seconds, int steps) { return steps > 0 ? 1e6 * seconds / steps : 0; }

/* Crates go and come again, without steps between: what one costs. */
static void sleepers_exchange(scene *s) {
    sleepers *p = (sleepers *)s->state;
    double (*now)(void *user) = s->options.clock;
    double destroyed = 0, created = 0;
    int i;
    for (i = 0; i < SLEEPERS_CHANGES; i++) {
        const int k = (int)((unsigned)i * 7919u % (unsigned)s->size);
        csim_pose pose;
        csim_rigid_def d;
        double then;
        scene_ok(s, csim_body_get_pose(s->world, p->crate[k], &pose));
        d = scene_rigid_def(50, 0.5, 0, 0, 0);
        d.pose = pose;
        then = now ? now(NULL) : 0;
        scene_ok(s, csim_destroy_body(s->world, p->crate[k]));
        destroyed += now ? now(NULL) - then : 0;
        then = now ? now(NULL) : 0;
        p->crate[k] = scene_add_box(s, &d, 0.25, 0.25, 0.25);
        created += now ? now(NULL) - then : 0;
    }
    scene_report(s, "us_destroy", 1e6 * destroyed / SLEEPERS_CHANGES);
    scene_report(s, "us_create", 1e6 * created / SLEEPERS_CHANGES);
}

static void sleepers_finish(scene *s) {
    const sleepers *p = (const sleepers *)s->state;
    scene_report(s, "asleep_after_s", p->asleep_at < 0 ? -1 : p->asleep_at * s->h);
    scene_report(s, "us_awake", sleepers_mean(p->falling, p->falling_steps));
    scene_report(s, "us_asleep", sleepers_mean(p->asleep, p->asleep_steps));
    scene_report(s, "us_after_hit", sleepers_mean(p->struck, p->struck_steps));
    scene_report(s, "woke", p->woke);
    scene_report(s, "islands_awake", p->most_islands);
    scene_report(s, "asleep_at_end", csim_world_stats(s->world).asleep);
    sleepers_exchange(s);
}

const scene_kind scene_sleeper_kinds[] = {
    {"sleepers", "--size crates in stacks of four fall asleep; one of them is hit",
     "asleep_after_s us_awake us_asleep us_after_hit woke islands_awake us_destroy us_create asleep_at_end",
     0.01, 4, 0, 4000,
     CSIM_BACKWARD_EULER, SCENE_STANDS, sizeof(sleepers), NULL, sleepers_build, sleepers_hit, sleepers_look,
     sleepers_finish},
    {NULL, NULL, NULL, 0, 0, 0, 0, CSIM_BACKWARD_EULER, 0, 0, NULL, NULL, NULL, NULL, NULL}};
