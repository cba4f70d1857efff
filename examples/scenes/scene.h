/* scene: the project's scenes, made from a name and options; used alike by the scene program, the tests and the
   benchmarks.

       scene_options options = scene_default_options();
       scene *s;
       scene_set(&options, "mu=0.3");
       s = scene_open("incline", &options, why, sizeof why);   null: why says what is wrong and what is allowed
       while (s->step < s->steps && scene_step(s)) ...         s->world is an ordinary world
       scene_finish(s);                                        fills s->figure[0 .. s->figure_count)
       scene_close(s);

   SI units, z up, floor z = 0 unless a scene says otherwise. */
#ifndef SCENE_H
#define SCENE_H

#include "condsim.h"
#include "mesh.h"
#include "sat.h"

enum { SCENE_TEXT = 300, SCENE_SETTINGS = 32, SCENE_FIGURES = 40 };

typedef struct scene scene;

/* A key of --set: what it may be is a number, unless choices says "a|b|c", or "*" for any text. */
typedef struct scene_key {
    const char *name, *value /* default */, *text, *choices;
} scene_key;

/* What the frame measures by itself for a scene. */
enum {
    SCENE_STANDS = 1, /* figures stands, drift_mm */
    SCENE_SAT = 2,    /* sat_mm, sat_end_mm: exact depth over all pairs of tracked bodies and the floor */
    SCENE_RESTS = 4,  /* rest_time_s, -1: moving at the end */
    SCENE_PACE = 8,   /* realtime_factor: simulated time over the time that the steps took, needs a clock; and
                         products_mean: products of A in a step with contacts */
};

/* One scene: a row of the table in its file. */
typedef struct scene_kind {
    const char *name, *text; /* one line */
    const char *figures;     /* names of its own figures */
    double h, seconds;       /* default step and length, s */
    double tolerance;        /* certified; 0: the library's */
    int size;                /* what --size means is in the text; 0: it has none */
    csim_integrator integrator;
    unsigned measures;
    size_t state_bytes;    /* of s->state, zeroed */
    const scene_key *keys; /* ends with a null name */
    void (*build)(scene *s);
    void (*before)(scene *s); /* each step: forces, grippers; may be null */
    void (*after)(scene *s);  /* each step: measures; may be null */
    void (*finish)(scene *s); /* figures; may be null */
} scene_kind;

typedef struct scene_setting {
    char key[32], value[256];
} scene_setting;

typedef struct scene_options {
    int integrator; /* csim_integrator; -1: the scene's */
    csim_solver solver;
    double h, seconds;       /* s; 0: the scene's */
    int steps, size;         /* 0: the scene's */
    double tolerance;        /* 0: the scene's */
    int mode, budget;        /* 0 certified, 1 balanced, 2 bounded; csim_world_def.budget, 0: the mode's */
    unsigned long long seed; /* 0: the one of the construction */
    csim_tasks tasks;
    double (*clock)(void *user);
    scene_setting set[SCENE_SETTINGS];
    int set_count;
} scene_options;

/* A body that the frame watches. */
typedef struct scene_body {
    csim_body_id id;
    bool dynamic, has_sat;
    sat_shape sat;
    sat_pose start, now;
} scene_body;

typedef struct scene_figure {
    const char *name;
    double value;
} scene_figure;

struct scene {
    const scene_kind *kind;
    scene_options options;
    csim_world_def def; /* of the world, for the build */
    csim_world *world;
    void *state;
    double h;
    int step, steps, size; /* steps done, to do */
    double scale;          /* a body that drops by more than a quarter of it has fallen, m */
    bool floor;            /* z = 0 is solid: for the depth */
    scene_mesh mesh;       /* of the main solid, if there is one; freed by the frame */
    void *memory;          /* of scene_memory */
    scene_body *body;
    int body_count, body_capacity;
    double drift, fell, sat, sat_end, rest_time, rest_speed;
    double hidden;         /* depth beyond the penetration that the step reported, m */
    double energy, gained; /* after the last step, J; the largest gain of a step, as a share of what there was */
    double seconds;  /* spent in steps */
    double products; /* of A in steps with contacts, and such steps but the first */
    int solves;
    scene_figure figure[SCENE_FIGURES];
    int figure_count;
    bool failed;
    char error[SCENE_TEXT]; /* why */
    char note[SCENE_TEXT];  /* what a reader of the output should know; may be empty */
};

/* ---- for users of scenes */

int scene_count(void);
const scene_kind *scene_kind_at(int index);
/* Keys that every scene takes; ends with a null name. */
const scene_key *scene_common_keys(void);
scene_options scene_default_options(void);
/* Adds "key=value"; false: no equals sign or no room. Whether the key exists shows in scene_open. */
bool scene_set(scene_options *options, const char *key_value);
scene *scene_open(const char *name, const scene_options *options, char *why, size_t why_size);
/* One step: drives, steps, measures; makes room and tries again when a capacity is full. false: s->error says why. */
bool scene_step(scene *s);
void scene_finish(scene *s);
/* A figure by name after scene_finish; NaN when there is none. */
double scene_figure_of(const scene *s, const char *name);
void scene_close(scene *s);

/* ---- for the files that hold scenes */

extern const scene_kind scene_rigid_kinds[], scene_soft_kinds[], scene_mixed_kinds[];
extern const scene_kind scene_solid_kinds[];
extern const scene_kind scene_robot_kinds[];
extern const scene_kind scene_contact_kinds[], scene_paper_kinds[];
extern const scene_kind scene_shot_kinds[], scene_level_kinds[], scene_play_kinds[], scene_sleeper_kinds[];
extern const scene_kind scene_realtime_kinds[], scene_rollback_kinds[];
extern const scene_kind scene_cable_kinds[]; /* end with a null name */

double scene_time(const scene *s); /* of the steps done, s */
/* The value of a key: as set, or its default. Keys are declared in the kind; asking for another is a bug. */
double scene_number(const scene *s, const char *key);
const char *scene_text_of(const scene *s, const char *key);
bool scene_is_set(const scene *s, const char *key);
void scene_fail(scene *s, const char *format, ...);
/* Keeps the first failure; true when all is well. */
bool scene_ok(scene *s, csim_status status);
/* Makes the world from s->def; every build calls it once, before the first body. */
void scene_begin(scene *s);
void scene_report(scene *s, const char *name, double value);
/* Zeroed memory that lives as long as the scene; null and a failed scene when there is none. */
void *scene_memory(scene *s, size_t bytes);

/* The same, aligned to 64. */
void *scene_block(scene *s, size_t bytes);
/* Heights over a square of across^2 cells with its middle at the origin, across even; height null: flat. */
csim_shape scene_heights(scene *s, int across, double cell, double (*height)(void *user, double x, double y),
                         void *user);

csim_vec3 scene_v3(double x, double y, double z);
csim_quat scene_turn(double x, double y, double z, double angle); /* axis, rad */
csim_rigid_def scene_rigid_def(double mass, double friction, double x, double y, double z);
/* Creates a rigid body of one shape and watches it. */
csim_body_id scene_add_rigid(scene *s, csim_rigid_def *def, csim_shape shape);
csim_body_id scene_add_box(scene *s, csim_rigid_def *def, double half_x, double half_y, double half_z);
void scene_add_ground(scene *s, double friction);
/* A shape that stands, turned about y by tilt; not watched. */
csim_body_id scene_add_static(scene *s, csim_shape shape, double friction, double x, double y, double z, double tilt);
/* The next of a row of numbers. One in an expression: compilers differ in which of two arguments comes first. */
double scene_draw(unsigned long long *seed, double low, double high);
/* Material of the scene's keys E, nu, rho, beta, as far as it has them; damping of its own only where beta says so. */
csim_soft_def scene_soft_def(const scene *s, const scene_mesh *mesh, double friction, double x, double y, double z);
csim_body_id scene_add_soft(scene *s, const csim_soft_def *def); /* not watched */
/* Creates the main solid from s->mesh; made: whether that mesh could be made. */
csim_body_id scene_add_main_solid(scene *s, bool made, double x, double y, double z);
/* A block of cells^3 cells; its lowest nodes come first. */
csim_body_id scene_add_soft_box(scene *s, int cells, csim_vec3 low, csim_vec3 high, double friction);
/* Volume of a tet, m^3, below 0 when inside out. */
double scene_tet_volume(const csim_real *x, const int *tet);
/* 0 before a, 1 after b, with no jump of the speed. */
double scene_ease(double t, double a, double b);
/* The figures inverted (tets inside out now), nodes, tets of the main solid. */
void scene_report_solid(scene *s, csim_body_id solid);
void scene_watch(scene *s, csim_body_id id); /* any other body */

#endif
